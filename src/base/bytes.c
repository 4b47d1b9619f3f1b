/* bytes.c - see bytes.h. */
#include "base/bytes.h"

enum { PADDING_MAX = 64 };

static bool make_room(BytesOut *o, int64_t n) {
    if (o->failed) return false;
    if (o->len + n > o->cap) {
        int64_t cap = MAX_OF(o->cap * 2, align_up(o->len + n, 4096));
        char *p = mem_realloc(o->acct, o->p, o->cap, cap, o->e);
        if (!p) {
            o->failed = true;
            return false;
        }
        o->p = p;
        o->cap = cap;
    }
    return true;
}
char *bytes_put_room(BytesOut *o, int64_t n) {
    if (!make_room(o, n)) return NULL;
    o->len += n;
    return o->p + o->len - n;
}
void bytes_put(BytesOut *o, const void *data, int64_t n) {
    if (!make_room(o, n)) return;
    if (n) memcpy(o->p + o->len, data, (size_t)n);
    o->len += n;
}
void bytes_put_bool(BytesOut *o, bool v) { bytes_put(o, &(uint8_t){v}, 1); }
void bytes_put_i64(BytesOut *o, int64_t v) { bytes_put(o, &v, 8); }
void bytes_put_short(BytesOut *o, int64_t v) {
    uint64_t u = (uint64_t)v << 1 ^ (uint64_t)(v >> 63); /* small of either sign */
    uint8_t buf[10];
    int n = 0;
    for (; u >= 0x80; u >>= 7) buf[n++] = (uint8_t)(u | 0x80);
    buf[n++] = (uint8_t)u;
    bytes_put(o, buf, n);
}
void bytes_put_f64(BytesOut *o, double v) { bytes_put(o, &v, 8); }
void bytes_put_block(BytesOut *o, const char *s, int64_t n) {
    bytes_put_i64(o, n);
    bytes_put(o, s, n);
}
void bytes_put_text(BytesOut *o, const char *s) {
    if (s) bytes_put_block(o, s, (int64_t)strlen(s));
    else bytes_put_i64(o, -1);
}
void bytes_put_name(BytesOut *o, const char *s) {
    const int64_t n = s ? (int64_t)strlen(s) : -1;
    bytes_put_short(o, n);
    if (n > 0) bytes_put(o, s, n);
}
void bytes_put_padding(BytesOut *o, int64_t align) {
    static const char zero[PADDING_MAX];
    bytes_put(o, zero, align_up(o->len, align) - o->len);
}
void bytes_out_release(BytesOut *o) {
    if (o->p) mem_free(o->acct, o->p, o->cap);
    o->p = NULL;
    o->len = o->cap = 0;
}

void bytes_get(BytesIn *in, void *out, int64_t n) {
    if (in->failed || n > in->len - in->at) {
        in->failed = true;
        memset(out, 0, (size_t)n);
        return;
    }
    memcpy(out, in->p + in->at, (size_t)n);
    in->at += n;
}
int64_t bytes_get_i64(BytesIn *in) {
    int64_t v;
    bytes_get(in, &v, 8);
    return v;
}
int64_t bytes_get_short(BytesIn *in) {
    uint64_t u = 0;
    uint8_t byte = 0x80;
    for (int shift = 0; byte & 0x80; shift += 7) {
        if (shift > 63) in->failed = true;
        bytes_get(in, &byte, 1);
        if (in->failed) return 0;
        u |= (uint64_t)(byte & 0x7f) << shift;
    }
    return (int64_t)(u >> 1 ^ (~(u & 1) + 1));
}
int64_t bytes_get_short_count(BytesIn *in, int64_t max) {
    const int64_t n = bytes_get_short(in);
    if (n >= 0 && n <= max) return n;
    in->failed = true;
    return 0;
}
double bytes_get_f64(BytesIn *in) {
    double v;
    bytes_get(in, &v, 8);
    return v;
}
bool bytes_get_bool(BytesIn *in) {
    uint8_t v;
    bytes_get(in, &v, 1);
    if (v > 1) in->failed = true;
    return v == 1;
}
int64_t bytes_get_count(BytesIn *in, int64_t max) {
    int64_t n = bytes_get_i64(in);
    if (n < 0 || n > max) {
        in->failed = true;
        return 0;
    }
    return n;
}
const char *bytes_get_block(BytesIn *in, int64_t *n) {
    *n = bytes_get_count(in, in->len - in->at);
    if (in->failed || *n > in->len - in->at) {
        in->failed = true;
        *n = 0;
        return "";
    }
    in->at += *n;
    return in->p + in->at - *n;
}
char *bytes_get_text(BytesIn *in, bool may_be_null) {
    int64_t n = 0;
    if (may_be_null && in->len - in->at >= 8) {
        memcpy(&n, in->p + in->at, 8);
        if (n == -1) {
            in->at += 8;
            return NULL;
        }
    }
    const char *s = bytes_get_block(in, &n);
    if (memchr(s, 0, (size_t)n)) in->failed = true;
    char *c = in->failed ? NULL : arena_strndup(in->arena, s, n);
    if (!c) in->failed = true;
    return c ? c : (char *)"";
}
char *bytes_get_name(BytesIn *in, bool may_be_null) {
    const int64_t n = bytes_get_short(in);
    if (n == -1 && may_be_null && !in->failed) return NULL;
    if (n < 0 || n > in->len - in->at || memchr(in->p + in->at, 0, (size_t)n)) in->failed = true;
    char *c = in->failed ? NULL : arena_strndup(in->arena, in->p + in->at, n);
    if (!c) in->failed = true;
    else in->at += n;
    return c ? c : (char *)"";
}
