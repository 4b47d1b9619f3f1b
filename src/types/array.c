/* array.c - blobs of one-dimensional arrays: building, reading, order, text. The layout is array.h's.
 */
#include "types/array.h"

#include <math.h>

#include "types/type_int.h"

static Status no_memory(Err *e) { return err_is_set(e) ? ST_ERROR : err_oom(e); }

ArrayView array_view(Str blob) {
    ArrayHead h;
    ArrayView v = {0, PH_BOOL, NULL, blob.ptr, blob.ptr};
    if (blob.len < sizeof h) return v;
    memcpy(&h, blob.ptr, sizeof h);
    v.n = h.n;
    v.phys = (Phys)h.phys;
    if (h.has_nulls) v.valid = (const uint8_t *)blob.ptr + sizeof h;
    v.cells = blob.ptr + h.data;
    v.text = v.cells + 4 * v.n;
    return v;
}

Status array_view_of(Str blob, Phys phys, ArrayView *out, Err *e) {
    *out = array_view(blob);
    if (out->n == 0 || out->phys == phys) return ST_OK;
    return err_internal(e, "an array of %s where one of %s is read", phys_name(out->phys), phys_name(phys));
}

static int64_t data_offset(int64_t n, bool has_nulls) {
    return (int64_t)sizeof(ArrayHead) + (has_nulls ? (n + 15) / 16 * 16 : 0);
}

Status array_build(Arena *a, Phys phys, int64_t n, const void *cells, const uint8_t *valid, Str *out, Err *e) {
    bool nulls = false;
    for (int64_t i = 0; valid && i < n && !nulls; i++) nulls = !valid[i];
    if (n > ARRAY_MAX_ELEMENTS)
        return err_set(e, ERR_PROGRAM_LIMIT, "array size exceeds the maximum allowed (%d)", ARRAY_MAX_ELEMENTS);
    int64_t data = data_offset(n, nulls), w = phys == PH_STR ? 4 : phys_size(phys), bytes = data + n * w;
    const Str *s = cells;
    for (int64_t i = 0; phys == PH_STR && i < n; i++)
        if (!nulls || valid[i]) bytes += s[i].len;
    if (bytes > INT64_C(1073741823))
        return err_set(e, ERR_PROGRAM_LIMIT, "array size exceeds the maximum allowed (%lld bytes)", 1073741823LL);
    char *p = arena_alloc(a, bytes);
    if (!p) return no_memory(e);
    ArrayHead h = {
        .n = (int32_t)n, .phys = (uint8_t)phys, .has_nulls = nulls, .data = (uint32_t)data, .bytes = (uint32_t)bytes};
    memcpy(p, &h, sizeof h);
    if (nulls) {
        memcpy(p + sizeof h, valid, (size_t)n);
        memset(p + sizeof h + n, 0, (size_t)(data - (int64_t)sizeof h - n));
    }
    if (phys == PH_STR) {
        uint32_t at = 0;
        char *text = p + data + 4 * n;
        for (int64_t i = 0; i < n; i++) {
            if (!nulls || valid[i]) {
                if (s[i].len) memcpy(text + at, s[i].ptr, s[i].len);
                at += s[i].len;
            }
            memcpy(p + data + 4 * i, &at, 4);
        }
    } else {
        if (n) memcpy(p + data, cells, (size_t)(n * w));
        for (int64_t i = 0; nulls && i < n; i++)
            if (!valid[i]) memset(p + data + i * w, 0, (size_t)w);
        /* Equal floats get equal bytes. */
        if (phys == PH_F64) {
            double *d = (double *)(void *)(p + data);
            for (int64_t i = 0; i < n; i++) d[i] = isnan(d[i]) ? (double)NAN : d[i] == 0 ? 0 : d[i];
        } else if (phys == PH_F32) {
            float *d = (float *)(void *)(p + data);
            for (int64_t i = 0; i < n; i++) d[i] = isnan(d[i]) ? NAN : d[i] == 0 ? 0 : d[i];
        }
    }
    *out = str_make(p, bytes);
    return ST_OK;
}

Status array_slice(Arena *a, Str blob, int64_t from, int64_t to, Str *out, Err *e) {
    ArrayView v = array_view(blob);
    if (from == 0 && to == v.n && blob.len >= sizeof(ArrayHead)) {
        *out = blob;
        return ST_OK;
    }
    int64_t n = to - from, w = phys_size(v.phys);
    if (v.phys != PH_STR) return array_build(a, v.phys, n, v.cells + from * w, v.valid ? v.valid + from : NULL, out, e);
    Str *s = arena_array(a, Str, n + 1);
    if (!s) return no_memory(e);
    for (int64_t i = 0; i < n; i++) array_get(&v, from + i, &s[i]);
    return array_build(a, v.phys, n, s, v.valid ? v.valid + from : NULL, out, e);
}

int array_cmp(Str x, Str y) {
    ArrayView a = array_view(x), b = array_view(y);
    int64_t n = MIN_OF(a.n, b.n);
    for (int64_t i = 0; i < n; i++) {
        bool an = array_is_null(&a, i), bn = array_is_null(&b, i);
        if (an || bn) {
            if (an != bn) return an ? 1 : -1;
            continue;
        }
        Value p, q; /* room for any cell */
        array_get(&a, i, &p.u);
        array_get(&b, i, &q.u);
        int c = cell_cmp(a.phys, &p.u, &q.u);
        if (c) return c;
    }
    return (a.n > b.n) - (a.n < b.n);
}

bool array_ok(Str blob, Phys phys) {
    ArrayHead h;
    if (blob.len < sizeof h) return false;
    memcpy(&h, blob.ptr, sizeof h);
    if (h.n < 0 || h.n > ARRAY_MAX_ELEMENTS || h.has_nulls > 1 || h.zero || h.bytes != blob.len || h.phys != phys)
        return false;
    if (h.data != data_offset(h.n, h.has_nulls)) return false;
    if (phys != PH_STR) return h.data + h.n * phys_size(phys) == blob.len;
    int64_t text = (int64_t)blob.len - h.data - 4 * (int64_t)h.n;
    uint32_t last = 0;
    for (int64_t i = 0; i < h.n && text >= 0; i++) {
        uint32_t end;
        memcpy(&end, blob.ptr + h.data + 4 * i, 4);
        if (end < last || end > text) return false;
        last = end;
    }
    return last == text;
}

/* ---- text in ------------------------------------------------------------------------------ */

static Status malformed(Slice text, const char *detail, Err *e) {
    err_set(e, ERR_INVALID_TEXT, "malformed array literal: \"%.*s\"", (int)MIN_OF(text.len, 512),
            text.len ? text.ptr : "");
    return err_detail(e, "%s", detail), ST_ERROR;
}

static bool bound(const char **p, const char *end, int64_t *out) {
    const char *q = *p;
    bool neg = q < end && *q == '-';
    if (q < end && (*q == '-' || *q == '+')) q++;
    const char *first = q;
    int64_t v = 0;
    while (q < end && is_digit(*q) && v <= INT32_MAX) v = v * 10 + (*q++ - '0');
    *p = q;
    *out = neg ? -v : v;
    return q > first && v <= INT32_MAX;
}

/* "[1:3]=": *n is the number of elements it announces, -1 without one. */
static Status dimensions(Slice text, const char **at, const char *end, int64_t *n, Err *e) {
    const char *p = *at;
    *n = -1;
    if (p == end || *p != '[') return ST_OK;
    int64_t lo = 1, hi;
    p++;
    if (!bound(&p, end, &hi)) return malformed(text, "\"[\" must introduce explicitly-specified array dimensions.", e);
    if (p < end && *p == ':') {
        lo = hi;
        p++;
        if (!bound(&p, end, &hi)) return malformed(text, "Missing array dimension value.", e);
    }
    if (p == end || *p != ']') return malformed(text, "Missing \"]\" after array dimensions.", e);
    p++;
    if (hi < lo) return err_set(e, ERR_ARRAY_SUBSCRIPT, "upper bound cannot be less than lower bound");
    while (p < end && is_blank(*p)) p++;
    if (p < end && *p == '[')
        return err_set(e, ERR_FEATURE_NOT_SUPPORTED, "arrays of several dimensions are not supported");
    if (p == end || *p != '=') return malformed(text, "Missing \"=\" after array dimensions.", e);
    if (lo != 1)
        return err_set(e, ERR_FEATURE_NOT_SUPPORTED, "arrays whose first subscript is not 1 are not supported");
    p++;
    while (p < end && is_blank(*p)) p++;
    *n = hi;
    *at = p;
    return ST_OK;
}

/* One element from *at up to its delimiter, unescaped into buf; *len = -1 for NULL. */
static Status element(Slice text, const char **at, const char *end, char *buf, int64_t *len, Err *e) {
    const char *p = *at;
    int64_t n = 0, keep = 0;
    bool quoted = false, escaped = false;
    while (p < end && is_blank(*p)) p++;
    if (p < end && *p == '"') {
        quoted = true;
        for (p++; p < end && *p != '"'; p++) {
            if (*p == '\\' && ++p == end) break;
            buf[n++] = *p;
        }
        if (p >= end) return malformed(text, "Unexpected end of input.", e);
        p++;
        keep = n;
        while (p < end && is_blank(*p)) p++;
        if (p < end && *p != ',' && *p != '}') return malformed(text, "Unexpected array element.", e);
    }
    for (; p < end && *p != ',' && *p != '}'; p++) {
        if (*p == '{') return malformed(text, "Unexpected \"{\" character.", e);
        if (*p == '"') return malformed(text, "Unexpected array element.", e);
        bool esc = *p == '\\';
        if (esc && ++p == end) break;
        escaped |= esc;
        buf[n++] = *p;
        if (esc || !is_blank(*p)) keep = n;
    }
    if (p >= end) return malformed(text, "Unexpected end of input.", e);
    if (!quoted && !keep)
        return malformed(text, *p == ',' ? "Unexpected \",\" character." : "Unexpected \"}\" character.", e);
    bool null = !quoted && !escaped && keep == 4;
    for (int i = 0; null && i < 4; i++) null = to_lower(buf[i]) == "null"[i];
    *len = null ? -1 : keep;
    *at = p;
    return ST_OK;
}

Status array_from_text(Type t, Slice text, const struct SessionInfo *session, Arena *a, Str *out, Err *e) {
    Type et = type_element(t);
    Phys phys = type_phys(et);
    int64_t w = phys_size(phys), announced, n = 0, cap = 1;
    const char *p = text.ptr, *end = text.ptr + text.len;
    while (p < end && is_blank(*p)) p++;
    TRY(dimensions(text, &p, end, &announced, e));
    if (p == end || *p != '{')
        return malformed(text,
                         announced >= 0 ? "Array contents must start with \"{\"."
                                        : "Array value must start with \"{\" or dimension information.",
                         e);
    p++;
    while (p < end && is_blank(*p)) p++;
    if (p < end && *p == '{')
        return err_set(e, ERR_FEATURE_NOT_SUPPORTED, "arrays of several dimensions are not supported");
    for (const char *q = p; q < end; q++) cap += *q == ',';
    char *cells = arena_calloc(a, cap * w), *buf = arena_alloc(a, text.len + 1);
    uint8_t *valid = arena_alloc(a, cap);
    if (!cells || !buf || !valid) return no_memory(e);
    bool more = p < end && *p != '}';
    if (p == end) return malformed(text, "Unexpected end of input.", e);
    while (more) {
        int64_t len = -1;
        TRY(element(text, &p, end, buf, &len, e));
        valid[n] = len >= 0;
        if (len >= 0) TRY(cell_from_text(et, (Slice){buf, len}, session, a, cells + n * w, e));
        if (len > 0 && phys == PH_STR) buf += len; /* the cell may point there */
        n++;
        more = *p == ',';
        if (more) p++;
    }
    for (p++; p < end; p++)
        if (!is_blank(*p)) return malformed(text, "Junk after closing right brace.", e);
    if (announced >= 0 && announced != n)
        return malformed(text, "Specified array dimensions do not match array contents.", e);
    return array_build(a, phys, n, cells, valid, out, e);
}

/* ---- text out ------------------------------------------------------------------------------- */

static bool needs_quotes(const char *s, int64_t n) {
    if (n == 0) return true;
    bool null = n == 4;
    for (int i = 0; null && i < 4; i++) null = to_lower(s[i]) == "null"[i];
    for (int64_t i = 0; i < n && !null; i++)
        null = s[i] == '"' || s[i] == '\\' || s[i] == '{' || s[i] == '}' || s[i] == ',' || is_blank(s[i]);
    return null;
}

Status array_to_text(Type t, Str blob, TextForm form, Arena *a, Str *out, Err *e) {
    ArrayView v = array_view(blob);
    int64_t len = 0, cap = 64;
    char *p = arena_alloc(a, cap);
    if (!p) return no_memory(e);
    p[len++] = '{';
    for (int64_t i = 0; i < v.n; i++) {
        const char *s = "NULL";
        int64_t n = 4;
        bool quote = false;
        if (!array_is_null(&v, i)) {
            Value x = {.type = type_element(t)};
            array_get(&v, i, value_cell(&x));
            if (!(s = value_to_text_form(a, &x, form, &n))) return no_memory(e);
            quote = needs_quotes(s, n);
        }
        if (len + 2 * n + 5 > cap) {
            cap = 2 * (len + 2 * n) + 64;
            char *q = arena_alloc(a, cap);
            if (!q) return no_memory(e);
            memcpy(q, p, (size_t)len);
            p = q;
        }
        if (i) p[len++] = ',';
        if (quote) p[len++] = '"';
        for (int64_t k = 0; k < n; k++) {
            if (quote && (s[k] == '"' || s[k] == '\\')) p[len++] = '\\';
            p[len++] = s[k];
        }
        if (quote) p[len++] = '"';
    }
    p[len++] = '}';
    p[len] = 0;
    if (len > UINT32_MAX) return err_set(e, ERR_LIMIT_EXCEEDED, "text of %lld bytes is too long", (long long)len);
    *out = str_make(p, len);
    return ST_OK;
}
