/* system_relation.c - the table of system relations. See system_relation.h. */
#include "catalog/system_relation.h"

#include "types/oid.h"

#define SYSTEM_RELATION(oid_, kind_, schema_, name_, fill_, columns_) \
    {.oid = oid_, .kind = kind_, .schema = #schema_, .name = #name_, .columns = columns_},
#define SYSTEM_VIEW(oid_, schema_, name_, columns_, sql_) \
    {.oid = oid_, .kind = 'v', .schema = #schema_, .name = #name_, .columns = columns_, .sql = sql_},
#pragma GCC diagnostic ignored "-Woverlength-strings" /* of what ISO C asks of a compiler; queries are longer */
static const SystemRelation all_relations[] = {
#include "catalog/system_relations.def"
#include "catalog/system_views.def"
};

int system_relations(const SystemRelation **all) {
    *all = all_relations;
    return (int)ARRAY_LEN(all_relations);
}

int system_relation_find(const char *schema, const char *name) {
    if (!schema) schema = "pg_catalog";
    for (int i = 0; i < (int)ARRAY_LEN(all_relations); i++)
        if (strcmp(all_relations[i].name, name) == 0 && strcmp(all_relations[i].schema, schema) == 0) return i;
    return -1;
}

bool system_schema(const char *name) {
    return strcmp(name, "pg_catalog") == 0 || strcmp(name, "information_schema") == 0;
}

/* A type as the table has it: "_int2" is an array. */
static Type column_type(Slice name) {
    Type t = type_make(T_TEXT);
    Err none = {0};
    const bool array = name.len > 0 && name.ptr[0] == '_';
    if (array) name = (Slice){name.ptr + 1, name.len - 1};
    const Status found = type_from_name(name, 0, NULL, &t, &none);
    dbg_assert(found == ST_OK);
    (void)found;
    return array ? type_array_of(t) : t;
}

SystemColumn *system_relation_columns(const SystemRelation *r, Arena *a, int32_t *n) {
    int32_t count = 1;
    for (const char *p = r->columns; *p; p++) count += *p == ',';
    SystemColumn *cols = arena_array(a, SystemColumn, count);
    const char *p = r->columns;
    for (int32_t i = 0; cols && i < count; i++) {
        const char *space = strchr(p, ' '), *end = strchr(p, ',');
        if (!end) end = p + strlen(p);
        cols[i].not_null = end[-1] == '!';
        cols[i].type = column_type((Slice){space + 1, end - space - 1 - cols[i].not_null});
        if (!(cols[i].name = arena_strndup(a, p, space - p))) return NULL;
        p = *end ? end + 2 : end;
    }
    *n = count;
    return cols;
}
