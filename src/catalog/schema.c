/* schema.c - see schema.h. */
#include "catalog/schema.h"

#include "base/hash.h"
#include "catalog/catalog_int.h"
#include "catalog/names.h"
#include "catalog/system_relation.h"
#include "types/func.h"

/* ---- definitions ---- */
static int64_t schema_bytes(const Schema *x) { return (int64_t)(sizeof *x + strlen(x->name) + 1); }
Schema *schema_new(const Schema *like, Err *e) {
    Schema *x = mem_calloc(NULL, schema_bytes(like), e);
    if (!x) return NULL;
    x->id = like->id;
    x->name = (char *)(x + 1);
    memcpy(x->name, like->name, strlen(like->name) + 1);
    return x;
}
void schema_free(Schema *x) {
    if (x) mem_free(NULL, x, schema_bytes(x));
}
static void reclaim(EpochNode *n) { schema_free((Schema *)(void *)n); }
void schema_retire(EpochDomain *d, Schema *x) { epoch_retire(d, &x->node, schema_bytes(x), reclaim); }

/* Any name may mean something else when a schema of a path comes or goes; of a temporary one, for those alone that have
 * asked for it. */
static void changed(Catalog *c, const Schema *x) {
    if (schema_is_temporary(x->name)) catalog_changed(c, x->name, NULL, 0);
    else catalog_changed_all(c);
}
Status catalog_add_schema(Catalog *c, Schema *x, Err *e) {
    TRY(catalog_room(c, &c->schemas, c->n_schemas, &c->room.schemas, e));
    if (x->id == 0) x->id = ++c->next_id;
    c->schemas[c->n_schemas++] = x;
    changed(c, x);
    return ST_OK;
}
void catalog_remove_schema(Catalog *c, const Schema *x) {
    for (int64_t i = 0; i < c->n_schemas; i++) {
        if (c->schemas[i] != x) continue;
        memmove(&c->schemas[i], &c->schemas[i + 1], (size_t)(--c->n_schemas - i) * sizeof *c->schemas);
        changed(c, x);
        return;
    }
}
Schema *catalog_schema(const Catalog *c, const char *name) {
    for (int64_t i = 0; i < c->n_schemas; i++)
        if (strcmp(c->schemas[i]->name, name) == 0) return c->schemas[i];
    return NULL;
}
bool catalog_has_schema(const Catalog *c, const char *name) {
    if (strcmp(name, SCHEMA_TEMP) == 0) return temp_schema_now() != NULL;
    return strcmp(name, KEY_PUBLIC) == 0 || catalog_schema(c, name) || system_schema(name);
}

/* ---- temporary objects ---- */
static _Thread_local const TempSchema *temp_in_force;

const TempSchema *temp_schema_use(const TempSchema *t) {
    const TempSchema *was = temp_in_force;
    temp_in_force = t;
    return was;
}
const char *temp_schema_now(void) {
    const TempSchema *t = temp_in_force;
    if (!t || search_path_now()->no_temp) return NULL;
    name_read(slice_of(t->name)); /* it comes with another meaning of all names, for this session */
    return t->made ? t->name : NULL;
}
const char *schema_meant(const char *schema) { return strcmp(schema, SCHEMA_TEMP) == 0 ? temp_schema_now() : schema; }
bool schema_is_others(const char *schema) {
    return schema_is_temporary(schema) && (!temp_in_force || strcmp(schema, temp_in_force->name) != 0);
}
bool key_is_others(const char *key) {
    return key_is_temporary(key) && (!temp_in_force || !key_is_in(key, temp_in_force->name));
}

/* ---- search_path ---- */
static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v'; }
static const char *skip_blanks(const char *p) {
    while (is_blank(*p)) p++;
    return p;
}
/* An identifier at *at, folded or out of its quotes, to out[], at most n bytes with a NUL. Its bytes; 0: there is none,
 * or it is too long. */
static int64_t identifier(const char **at, char *out, int64_t n) {
    const char *p = *at;
    int64_t len = 0;
    if (*p == '"') {
        for (p++; *p && (*p != '"' || p[1] == '"') && len < n; p++) {
            out[len++] = *p;
            p += *p == '"';
        }
        if (*p++ != '"') return 0;
    } else {
        for (; *p && *p != ',' && !is_blank(*p) && len < n; p++)
            out[len++] = *p >= 'A' && *p <= 'Z' ? (char)(*p + 32) : *p;
    }
    if (len == 0 || len >= n) return 0;
    out[len] = 0;
    *at = p;
    return len;
}
bool search_path_parse(const char *text, const char *user, SearchPath *out) {
    int64_t used = 0;
    const char *p = skip_blanks(text);
    *out = (SearchPath){0};
    for (bool more = *p != 0; more;) {
        if (out->n == SEARCH_PATH_NAMES) return false;
        char *name = out->names + used;
        p = skip_blanks(p);
        const bool empty = p[0] == '"' && p[1] == '"' && p[2] != '"'; /* a name of no schema */
        int64_t len = empty ? 0 : identifier(&p, name, SEARCH_PATH_BYTES - used);
        if (empty) p += 2;
        else if (len == 0) return false;
        if (len && user && strcmp(name, "$user") == 0) {
            len = (int64_t)strlen(user);
            if (used + len >= SEARCH_PATH_BYTES) return false;
            memcpy(name, user, (size_t)len + 1);
        }
        if (len) out->has_catalog |= strcmp(name, "pg_catalog") == 0;
        if (len) out->has_temp |= strcmp(name, SCHEMA_TEMP) == 0;
        if (len) out->at[out->n++] = (uint16_t)used;
        if (len) used += len + 1;
        p = skip_blanks(p);
        more = *p == ',';
        p += more;
    }
    out->hash = hash_bytes(out->names, used) | 1;
    return *p == 0;
}

const char *search_path_first(const Catalog *c) {
    const SearchPath *p = search_path_now();
    for (int i = 0; i < p->n; i++) {
        const char *name = search_path_name(p, i);
        if (strcmp(name, SCHEMA_TEMP) == 0 || catalog_has_schema(c, name)) return name;
    }
    return NULL;
}
void search_path_keep_existing(const Catalog *c, SearchPath *p) {
    int32_t n = 0;
    for (int32_t i = 0; i < p->n; i++) {
        const char *name = search_path_name(p, i);
        if (strcmp(name, SCHEMA_TEMP) == 0 || catalog_has_schema(c, name)) p->at[n++] = p->at[i];
    }
    p->n = n;
}
const char *search_path_text(const SearchPath *p, Arena *a) {
    char *out = arena_alloc(a, 3 * SEARCH_PATH_BYTES), *at = out;
    if (!out || (p->n == 1 && strcmp(search_path_name(p, 0), KEY_PUBLIC) == 0)) return NULL;
    *at = 0;
    for (int i = 0; i < p->n; i++) {
        if (i) *at++ = ',', *at++ = ' ';
        at += name_put_quoted(search_path_name(p, i), at) - 1;
    }
    return out;
}

/* A key that nothing has, by which messages know what was written. */
static const char *key_of_nothing(Arena *a, const char *schema, const char *name) {
    return arena_printf(a, "%c%s%c%s", KEY_MARK, schema, KEY_MARK, name);
}
static Status in_schema(const Catalog *c, Arena *a, const char *given, const char *name, RelationName *out) {
    const char *schema = schema_meant(given);
    if (!schema || schema_is_others(schema)) { /* whatever is there: not the key of that */
        const char *shown = arena_printf(a, "%s.%s", given, name);
        out->key = shown ? key_of_nothing(a, "", shown) : NULL;
        return out->key ? ST_OK : ST_ERROR;
    }
    out->system = system_schema(schema) ? system_relation_find(schema, name) : -1;
    if (out->system >= 0) return ST_OK;
    const bool is_public = strcmp(schema, KEY_PUBLIC) == 0;
    if (is_public && !catalog_relation_exists(c, slice_of(name))) out->key = key_of_nothing(a, schema, name);
    else out->key = key_make(a, schema, name);
    return out->key ? ST_OK : ST_ERROR;
}
/* The name in the session's temporary schema. *found false: that has none. */
static Status search_temp(const Catalog *c, Arena *a, const char *name, RelationName *out, bool *found) {
    const char *temp = temp_schema_now(), *key = temp ? key_make(a, temp, name) : NULL;
    *found = key && catalog_relation_exists(c, slice_of(key));
    if (*found) out->key = key;
    return temp && !key ? ST_ERROR : ST_OK;
}
Status catalog_search(const Catalog *c, Arena *a, const char *schema, const char *name, RelationName *out) {
    const SearchPath *p = search_path_now();
    bool found = false;
    *out = (RelationName){.system = -1, .key = name};
    if (key_has_schema(name)) return ST_OK;
    if (schema) return in_schema(c, a, schema, name, out);
    if (!p->pinned) name_read_path(p->hash);
    if (!p->has_temp) TRY(search_temp(c, a, name, out, &found));
    if (found) return ST_OK;
    if (!p->has_catalog && (out->system = system_relation_find(NULL, name)) >= 0) return ST_OK;
    const char *last = NULL; /* a schema whose names have not been looked at, unless there is another one behind it */
    for (int i = 0; i < p->n; i++) {
        const char *in = search_path_name(p, i);
        const bool temp = strcmp(in, SCHEMA_TEMP) == 0;
        if (!temp && (schema_is_others(in) || !catalog_has_schema(c, in))) continue;
        if (last && !system_schema(last)) {
            if (!(out->key = key_make(a, last, name))) return ST_ERROR;
            if (catalog_relation_exists(c, slice_of(out->key))) return ST_OK;
        }
        last = NULL;
        if (temp) TRY(search_temp(c, a, name, out, &found));
        if (found) return ST_OK;
        if (system_schema(in) && (out->system = system_relation_find(in, name)) >= 0) return ST_OK;
        if (!temp) last = in;
    }
    if (last && !system_schema(last)) {
        if (!(out->key = key_make(a, last, name))) return ST_ERROR;
        if (!key_has_schema(out->key) || catalog_relation_exists(c, slice_of(out->key))) return ST_OK;
    }
    out->key = key_of_nothing(a, "", name);
    return out->key ? ST_OK : ST_ERROR;
}

char *catalog_shown(const Catalog *c, Arena *a, const char *key) {
    RelationName r;
    const char *name = name_of_key(key);
    const Slice schema = schema_of_key(key);
    if (catalog_search(c, a, NULL, name, &r) != ST_OK) return NULL;
    const bool visible = r.system < 0 && strcmp(r.key, key) == 0;
    char *out = arena_alloc(a, 2 * (schema.len + (int64_t)strlen(name)) + 8), *at = out;
    if (!out) return NULL;
    if (!visible) {
        const char *in = arena_strndup(a, schema.ptr, schema.len);
        if (!in) return NULL;
        at += name_put_quoted(in, at);
        at[-1] = '.';
    }
    (void)name_put_quoted(name, at);
    return out;
}
