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

/* Behind the string whose quote is at p. */
static const char *string_end(const char *p, const char *end) {
    for (p++; p < end && *p != '"'; p++) p += *p == '\\';
    return p < end ? p + 1 : end;
}
static const char *value_end(const char *p, const char *end) {
    int64_t depth = 0;
    while (p < end) {
        char c = *p;
        if (c == '"') {
            p = string_end(p, end);
        } else if (c == '{' || c == '[') {
            depth++;
            p++;
            continue;
        } else if (c == '}' || c == ']') {
            if (depth == 0) return p;
            depth--;
            p++;
        } else if (depth == 0) {
            while (p < end && *p != ',' && *p != '}' && *p != ']' && !is_blank(*p)) p++;
            return p;
        } else {
            p++;
            continue;
        }
        if (depth == 0) return p;
    }
    return end;
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

/* Keys in jsonb's order are walked up to the first that is longer than the one that is looked for. An escaped key is
 * no longer than its text in quotes, so that a text that is longer by its quotes may still be the key. */
bool json_find(Slice object, Slice key, bool sorted, Slice *value) {
    JsonIter it = json_iter(object);
    Slice k, v;
    bool found = false;
    while (json_next(&it, &k, &v)) {
        if (sorted && k.len - 2 > key.len && !memchr(k.ptr, '\\', (size_t)k.len)) return false;
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
