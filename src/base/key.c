/* key.c - see key.h. */
#include "base/key.h"

const char *name_of_key(const char *key) {
    if (!key_has_schema(key)) return key;
    const char *end = strchr(key + 1, KEY_MARK);
    return end ? end + 1 : key + strlen(key); /* a damaged file's: no schema is called so */
}

Slice schema_of_key(const char *key) {
    if (!key_has_schema(key)) return slice_of(KEY_PUBLIC);
    const char *end = strchr(key + 1, KEY_MARK);
    return (Slice){key + 1, end ? end - (key + 1) : 0};
}

bool key_is_in(const char *key, const char *schema) { return slice_eq(schema_of_key(key), slice_of(schema)); }

static const char *make(Arena *a, Slice schema, const char *name) {
    if (slice_eq(schema, slice_of(KEY_PUBLIC))) return name;
    const int64_t n = (int64_t)strlen(name);
    char *key = arena_alloc(a, schema.len + n + 3);
    if (!key) return NULL;
    key[0] = key[schema.len + 1] = KEY_MARK;
    if (schema.len) memcpy(key + 1, schema.ptr, (size_t)schema.len);
    memcpy(key + schema.len + 2, name, (size_t)n + 1);
    return key;
}
const char *key_make(Arena *a, const char *schema, const char *name) {
    return schema ? make(a, slice_of(schema), name) : name;
}
const char *key_beside(Arena *a, const char *key, const char *name) { return make(a, schema_of_key(key), name); }

const char *keys_dotted(Arena *a, const char *text) {
    if (!strchr(text, KEY_MARK)) return text;
    char *out = arena_strdup(a, text), *at = out;
    for (const char *p = text; out && *p; p++) {
        const char *end = *p == KEY_MARK ? strchr(p + 1, KEY_MARK) : NULL;
        for (const char *q = p + 1; end && q < end; q++) *at++ = *q;
        *at++ = end ? '.' : *p;
        p = end ? end : p;
    }
    if (out) *at = 0;
    return out;
}

void key_names_only(char *text) {
    for (char *mark = strchr(text, KEY_MARK); mark; mark = strchr(mark, KEY_MARK)) {
        char *end = strchr(mark + 1, KEY_MARK);
        if (end) memmove(mark, end + 1, strlen(end + 1) + 1);
        else *mark = 0; /* the text was cut inside of a schema's name */
    }
}
