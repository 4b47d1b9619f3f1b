/* sql_names.c - see sql_names.h. */
#include "catalog/sql_names.h"

#include "base/key.h"
#include "types/func.h"

char *quote_name(Arena *a, const char *name) {
    const Str s = str_make(name, (int64_t)strlen(name));
    char *q = arena_alloc(a, (int64_t)s.len * 2 + 3);
    if (q) q[name_quote(s, q)] = 0;
    return q;
}

char *quote_relation(Arena *a, const char *key) {
    const char *name = quote_name(a, key);
    return name ? arena_printf(a, "%s%s", key_has_schema(key) ? "" : "\"" KEY_PUBLIC "\".", name) : NULL;
}

char *quote_string(Arena *a, const char *text) {
    char *out = arena_alloc(a, 2 * (int64_t)strlen(text) + 4), *w = out;
    if (!out) return NULL;
    if (strchr(text, '\\')) *w++ = 'E';
    *w++ = '\'';
    for (const char *p = text; *p; p++) {
        if (*p == '\'' || *p == '\\') *w++ = *p;
        *w++ = *p;
    }
    *w++ = '\'';
    *w = 0;
    return out;
}
