/* json_value.c - parts of JSON text in place, and the order of jsonb.
 *
 * The text was checked when it became a value, so that nothing here looks for errors; reads stay within it all the
 * same, since files may be damaged.
 */
#include "base/stack.h"
#include "types/dec.h"
#include "types/json.h"

static bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }
static const char *skip_blanks(const char *p, const char *end) {
    while (p < end && is_blank(*p)) p++;
    return p;
}

Slice json_trim(Slice v) {
    const char *p = skip_blanks(v.ptr, v.ptr + v.len), *end = v.ptr + v.len;
    while (end > p && is_blank(end[-1])) end--;
    return (Slice){p, end - p};
}

JsonType json_type(Slice v) {
    switch (v.len ? *v.ptr : 0) {
    case '{': return JT_OBJECT;
    case '[': return JT_ARRAY;
    case '"': return JT_STRING;
    case 't':
    case 'f': return JT_BOOL;
    case 'n': return JT_NULL;
    default: return JT_NUMBER;
    }
}

/* ---- walking ------------------------------------------------------------------------------ */

/* Eight bytes at once, the first one lowest: the high bit of each that is c, exact up to the first such. */
#define EACH_BYTE UINT64_C(0x0101010101010101)
static inline uint64_t load8(const char *p) {
    uint64_t w;
    memcpy(&w, p, sizeof w);
    return w;
}
static inline uint64_t bytes_equal(uint64_t w, unsigned char c) {
    const uint64_t x = w ^ EACH_BYTE * c;
    return (x - EACH_BYTE) & ~x & EACH_BYTE << 7;
}
static inline int first_byte(uint64_t found) { return __builtin_ctzll(found) / 8; }

/* Behind the string whose quote is at p. */
static const char *string_end(const char *p, const char *end) {
    p++;
    while (end - p >= 8) {
        const uint64_t w = load8(p), found = bytes_equal(w, '"') | bytes_equal(w, '\\');
        p += found ? first_byte(found) : 8;
        if (!found) continue;
        if (*p == '"') return p + 1;
        p += 2;
    }
    for (; p < end && *p != '"'; p++) p += *p == '\\';
    return p < end ? p + 1 : end;
}
/* The next quote, bracket or brace. */
static const char *next_mark(const char *p, const char *end) {
    while (end - p >= 8) {
        const uint64_t w = load8(p), braces = w | EACH_BYTE * 0x20; /* of brackets, too */
        const uint64_t found = bytes_equal(w, '"') | bytes_equal(braces, '{') | bytes_equal(braces, '}');
        if (found) return p + first_byte(found);
        p += 8;
    }
    while (p < end && *p != '"' && (*p | 0x20) != '{' && (*p | 0x20) != '}') p++;
    return p;
}
/* Behind the container that begins at p. */
static const char *container_end(const char *p, const char *end) {
    int64_t depth = 0;
    while ((p = next_mark(p, end)) < end) {
        if (*p == '"') {
            p = string_end(p, end);
            continue;
        }
        depth += (*p | 0x20) == '{' ? 1 : -1;
        p++;
        if (depth == 0) return p;
    }
    return end;
}
static const char *value_end(const char *p, const char *end) {
    if (p >= end) return end;
    if (*p == '"') return string_end(p, end);
    if (*p == '{' || *p == '[') return container_end(p, end);
    while (p < end && *p != ',' && *p != '}' && *p != ']' && !is_blank(*p)) p++;
    return p;
}

JsonIter json_iter(Slice container) {
    JsonIter it = {.p = container.ptr + MIN_OF(container.len, 1), .end = container.ptr + container.len};
    it.object = container.len > 0 && *container.ptr == '{';
    return it;
}

bool json_next(JsonIter *it, Slice *key, Slice *value) {
    const char *p = skip_blanks(it->p, it->end);
    if (p < it->end && *p == ',') p = skip_blanks(p + 1, it->end);
    *key = (Slice){p, 0};
    if (p >= it->end || *p == '}' || *p == ']') return false;
    if (it->object) {
        *key = (Slice){p, string_end(p, it->end) - p};
        p = skip_blanks(p + key->len, it->end);
        p = skip_blanks(p + (p < it->end), it->end); /* the colon */
    }
    it->p = value_end(p, it->end);
    *value = (Slice){p, it->p - p};
    return true;
}

int64_t json_count(Slice container) {
    JsonIter it = json_iter(container);
    Slice key, value;
    int64_t n = 0;
    while (json_next(&it, &key, &value)) n++;
    return n;
}

/* Whether the text has no character that JSON escapes. */
static bool is_plain(Slice text) {
    for (int64_t i = 0; i < text.len; i++)
        if (text.ptr[i] == '"' || text.ptr[i] == '\\' || (unsigned char)text.ptr[i] < 0x20) return false;
    return true;
}
/* Of jsonb, in which one blank follows each comma and colon, and a key that needs no escapes. Keys are walked up to the
 * first that is longer; an escaped key is no longer than its text, so that a longer text may be a shorter key. */
static bool find_plain(Slice object, Slice key, Slice *value) {
    const char *p = object.ptr + 1, *end = object.ptr + object.len;
    while (p < end && *p == '"') {
        const bool found = end - p > key.len + 1 && p[key.len + 1] == '"' &&
                           (key.len == 0 || memcmp(p + 1, key.ptr, (size_t)key.len) == 0);
        const char *name = p, *behind = found ? p + key.len + 2 : string_end(p, end);
        if (behind - name - 2 > key.len && !memchr(name, '\\', (size_t)(behind - name))) return false;
        p = behind + 2;
        if (p >= end) return false;
        behind = value_end(p, end);
        *value = (Slice){p, behind - p};
        if (found) return true;
        p = behind + 2;
    }
    return false;
}

bool json_find(Slice object, Slice key, bool sorted, Slice *value) {
    if (sorted && is_plain(key)) return find_plain(object, key, value);
    JsonIter it = json_iter(object);
    Slice k, v;
    bool found = false;
    while (json_next(&it, &k, &v)) {
        if (!json_string_is(k, key)) continue;
        *value = v;
        if (sorted) return true;
        found = true;
    }
    return found;
}

bool json_element(Slice array, int64_t i, Slice *value) {
    if (i < 0) i += json_count(array);
    if (i < 0) return false;
    JsonIter it = json_iter(array);
    Slice key;
    while (json_next(&it, &key, value))
        if (i-- == 0) return true;
    return false;
}

Status json_as_text(Arena *a, Slice value, Str *out, Err *e) {
    if (json_type(value) == JT_STRING) return json_unescape(a, value, out, e);
    *out = str_make(value.ptr, value.len);
    return ST_OK;
}

/* ---- order -------------------------------------------------------------------------------------- */

/* A value's key is a byte for its type, in jsonb's order, and:
 *   string          its bytes and a 0; there is no 0 in a text
 *   number          numeric's key (types/dec.h)
 *   boolean         a byte
 *   array, object   how many elements or members, big-endian, and these one behind the other; a member is the text of
 *                   its key, a 0, and its value
 * An empty array by itself is below everything, as in PostgreSQL, which has always had it there. */
enum { KEY_EMPTY_ARRAY = 1, KEY_FIRST_TYPE = 2 };

static void put_byte(JsonOut *o, int byte) { json_put(o, &(char){(char)byte}, 1); }
static Status put_string_key(JsonOut *o, Slice string, Err *e) {
    Str text;
    TRY(json_unescape(o->a, string, &text, e));
    json_put(o, text.ptr, text.len);
    put_byte(o, 0);
    return ST_OK;
}

static Status put_key(JsonOut *o, Slice value, Err *e) {
    JsonType t = json_type(value);
    put_byte(o, KEY_FIRST_TYPE + (int)t);
    if (t == JT_STRING) return put_string_key(o, value, e);
    if (t == JT_NUMBER) {
        Dec d;
        Str stored;
        TRY(dec_parse(o->a, value, &d, e));
        TRY(dec_encode(o->a, &d, &stored, e));
        Str key = dec_key(stored);
        json_put(o, key.ptr, key.len);
    }
    if (t == JT_BOOL) put_byte(o, *value.ptr == 't');
    if (t < JT_ARRAY) return ST_OK;
    TRY(stack_check_depth(e));
    int64_t n = 0, at = o->len;
    json_put(o, "\0\0\0\0", 4);
    JsonIter it = json_iter(value);
    Slice key, part;
    for (; json_next(&it, &key, &part); n++) {
        if (it.object) TRY(put_string_key(o, key, e));
        TRY(put_key(o, part, e));
    }
    for (int i = 0; i < 4 && !o->failed; i++) o->p[at + i] = (char)(n >> (8 * (3 - i)));
    return ST_OK;
}

Status jsonb_key(Arena *a, Str value, Str *out, Err *e) {
    JsonOut o = {.a = a};
    Slice v = {value.ptr, value.len};
    if (slice_eq(v, slice_of("[]"))) put_byte(&o, KEY_EMPTY_ARRAY);
    else TRY(put_key(&o, v, e));
    return json_done(&o, out, e);
}

/* Numbers are outside of strings, and the only ones to begin with a digit or a sign there. */
Status jsonb_least_scale(Arena *a, Str value, Str *out, Err *e) {
    JsonOut o = {.a = a};
    const char *p = value.ptr, *end = p + value.len, *from = p;
    while (p < end) {
        if (*p == '"') {
            p = string_end(p, end);
            continue;
        }
        if (*p != '-' && (*p < '0' || *p > '9')) {
            p++;
            continue;
        }
        const char *last = value_end(p, end);
        bool point = memchr(p, '.', (size_t)(last - p)) != NULL;
        json_put(&o, from, p - from);
        from = p;
        p = last;
        while (point && (last[-1] == '0' || last[-1] == '.')) point = *--last != '.';
        json_put(&o, from, last - from);
        from = p;
    }
    json_put(&o, from, end - from);
    return json_done(&o, out, e);
}
