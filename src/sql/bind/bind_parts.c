/* bind_parts.c - functions whose rows are parts of a text, a JSON value or an array: regexp_matches,
 * regexp_split_to_table, string_to_table, json_array_elements, json_object_keys, jsonb_path_query, generate_subscripts.
 *
 * They are unnest (bind_rows.c) over functions that give all parts as an array.
 */
#include "sql/bind/bind_int.h"

typedef struct PartsFunc {
    const char *name, *array; /* the function of the array */
    bool matches;             /* its elements are bytes of arrays */
    int least, most;          /* arguments */
    const char *column;       /* NULL: called as the function */
} PartsFunc;
static const PartsFunc parts_funcs[] = {
    {"regexp_matches", "regexp_matches_all", true, 2, 3, NULL},
    {"regexp_split_to_table", "regexp_split_rows", false, 2, 3, NULL},
    {"string_to_table", "string_to_array", false, 2, 3, NULL},
    {"json_array_elements", "json_array_elements_array", false, 1, 1, "value"},
    {"jsonb_array_elements", "jsonb_array_elements_array", false, 1, 1, "value"},
    {"json_array_elements_text", "json_array_elements_text_array", false, 1, 1, "value"},
    {"jsonb_array_elements_text", "jsonb_array_elements_text_array", false, 1, 1, "value"},
    {"json_object_keys", "json_object_keys_array", false, 1, 1, NULL},
    {"jsonb_object_keys", "jsonb_object_keys_array", false, 1, 1, NULL},
    {"json_populate_recordset", "json_populate_recordset_array", false, 2, 3, NULL},
    {"jsonb_populate_recordset", "jsonb_populate_recordset_array", false, 2, 2, NULL},
    {"jsonb_path_query", "jsonb_path_query_items", false, 2, 4, NULL},
    {"jsonb_path_query_tz", "jsonb_path_query_items_tz", false, 2, 4, NULL},
    {"generate_subscripts", "subscripts_array", false, 2, 3, NULL},
    {"pg_partition_ancestors", "partition_ancestors_array", false, 1, 1, NULL},
};

static const PartsFunc *parts_func(const AstFunc *f) {
    for (int64_t i = 0; i < ARRAY_LEN(parts_funcs); i++)
        if (!f->name.schema && strcmp(parts_funcs[i].name, f->name.name) == 0) return &parts_funcs[i];
    return NULL;
}
bool bind_is_parts(const AstFunc *f) { return parts_func(f) != NULL; }

Status bind_no_function(Binder *b, const AstFunc *f, Expr *const *args) {
    const char *types = "";
    if (err_is_set(b->err) && strcmp(b->err->sqlstate, ERR_UNDEFINED_FUNCTION) != 0) return ST_ERROR;
    for (int64_t i = 0; i < f->n_args && types; i++)
        types = arena_printf(b->a, "%s%s%s", types, i ? ", " : "", type_plain_name(args[i]->type));
    if (!types) return ST_ERROR;
    err_clear(b->err);
    err_at(b->err, bind_pos(b, f->location), ERR_UNDEFINED_FUNCTION, "function %s(%s) does not exist", f->name.name,
           types);
    err_hint(b->err,
             "No function matches the given name and argument types. You might need to add explicit type casts.");
    return ST_ERROR;
}

Status bind_parts(Binder *b, const AstFunc *f, Expr **args, const char *name, RowsFunc *out) {
    const PartsFunc *p = parts_func(f);
    if (f->n_args < p->least || f->n_args > p->most) return bind_no_function(b, f, args);
    Expr *array = bind_call(b, p->array, false, (int)f->n_args, args, f->location);
    if (!array) return bind_no_function(b, f, args);
    if (p->column) name = p->column;
    return bind_rows_array(b, array, p->matches ? "regexp_match_of" : NULL, name, f->location, out);
}
