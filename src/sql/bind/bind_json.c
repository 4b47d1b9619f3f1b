/* bind_json.c - calls of JSON's functions that are more than a call: rows as arguments, aggregates, rows of parts.
 *
 * There is no type of rows (bind_row.c): a row that is an argument of one of these functions becomes JSON at once.
 */
#include "sql/bind/bind_int.h"

static bool is_one_of(const char *name, const char *const *names, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        if (strcmp(name, names[i]) == 0) return true;
    return false;
}

/* ---- rows as arguments ----------------------------------------------------------------- */

bool bind_takes_json_rows(const AstFunc *f) {
    static const char *const names[] = {
        "to_json",           "to_jsonb",           "row_to_json",      "json_agg",
        "jsonb_agg",         "json_build_object",  "json_build_array", "json_object_agg",
        "jsonb_build_array", "jsonb_build_object", "jsonb_object_agg"};
    return !f->name.schema && is_one_of(f->name.name, names, ARRAY_LEN(names));
}

/* Of those that PostgreSQL declares for any element. */
static Status check_typed(Binder *b, const AstFunc *f, const Expr *arg) {
    static const char *const names[] = {"to_json", "to_jsonb", "json_agg", "jsonb_agg"};
    if (arg->type.id != T_UNKNOWN || !is_one_of(f->name.name, names, ARRAY_LEN(names))) return ST_OK;
    return err_at(b->err, bind_pos(b, f->location), ERR_DATATYPE_MISMATCH,
                  "could not determine polymorphic type because input has type unknown");
}

Expr **bind_json_args(Binder *b, Query *q, const AstFunc *f, bool *first_is_row) {
    Expr **args = arena_array(b->a, Expr *, f->n_args + 1);
    *first_is_row = false;
    for (int64_t i = 0; args && i < f->n_args; i++) {
        RowValue row;
        bool is_row;
        if (bind_row_value(b, q, f->args[i], &row, &is_row) != ST_OK) return NULL;
        args[i] = is_row ? bind_row_json(b, &row, expr_bool(b->c, false), f->location) : bind_expr(b, q, f->args[i]);
        if (!args[i] || check_typed(b, f, args[i]) != ST_OK) return NULL;
        *first_is_row |= is_row && i == 0;
    }
    return args;
}

Expr *bind_row_to_json(Binder *b, Query *q, const AstFunc *f) {
    RowValue row;
    bool is_row = false;
    if (f->n_args && bind_row_value(b, q, f->args[0], &row, &is_row) != ST_OK) return NULL;
    if (!is_row || f->n_args > 2) {
        Expr **args = bind_list(b, q, f->args, f->n_args);
        return args ? bind_call(b, "row_to_json", false, (int)f->n_args, args, f->location) : NULL;
    }
    Expr *lines =
        f->n_args > 1 ? bind_bool(b, bind_expr(b, q, f->args[1]), "row_to_json", f->location) : expr_bool(b->c, false);
    return lines ? bind_row_json(b, &row, lines, f->location) : NULL;
}

/* ---- subscripts ------------------------------------------------------------------------------ */

/* A key or an index, as a text: both are names of a path. index: gets which one it is; or NULL. */
static Expr *json_subscript(Binder *b, Query *q, const AstSubscript *s, bool *index) {
    if (index) *index = false;
    if (s->is_slice) {
        const AstExpr *at = s->upper ? s->upper : s->lower;
        err_at(b->err, bind_pos(b, at ? at->location : s->location), ERR_DATATYPE_MISMATCH,
               "jsonb subscript does not support slices");
        return NULL;
    }
    Expr *e = bind_expr(b, q, s->upper);
    if (!e) return NULL;
    const Type text = type_make(T_TEXT);
    if (e->type.id == T_UNKNOWN || cast_exists(e->type, text, CAST_IMPLICIT))
        return bind_coerce(b, e, text, CAST_IMPLICIT, s->upper->location);
    if (cast_exists(e->type, type_make(T_INT4), CAST_IMPLICIT)) {
        if (index) *index = true;
        return bind_coerce(b, e, text, CAST_EXPLICIT, s->upper->location);
    }
    err_at(b->err, bind_pos(b, s->upper->location), ERR_DATATYPE_MISMATCH, "subscript type %s is not supported",
           type_plain_name(e->type));
    err_hint(b->err, "jsonb subscript must be coercible to either integer or text.");
    return NULL;
}

/* args[first..]: the path. *index: the first is a number. */
static Status json_path(Binder *b, Query *q, const AstSubscripts *s, Expr **args, int first, bool *index) {
    for (int64_t i = 0; i < s->n; i++)
        if (!(args[first + i] = json_subscript(b, q, s->items[i], i == 0 ? index : NULL))) return ST_ERROR;
    return ST_OK;
}

Expr *bind_json_subscripts(Binder *b, Query *q, const AstSubscripts *s, Expr *value, int64_t location) {
    Expr **args = arena_array(b->a, Expr *, s->n + 1);
    bool index;
    if (!args || json_path(b, q, s, args, 1, &index) != ST_OK) return NULL;
    args[0] = value;
    return bind_call(b, "jsonb_extract_path", false, (int)(s->n + 1), args, location);
}

Expr *bind_json_set(Binder *b, Query *q, Expr *base, const AstSubscripts *s, Expr *value, int64_t location) {
    Expr **args = arena_array(b->a, Expr *, s->n + 3);
    bool index;
    if (!value || !args || json_path(b, q, s, args, 3, &index) != ST_OK) return NULL;
    args[0] = base;
    args[1] = value;
    if (!(args[2] = expr_bool(b->c, index))) return NULL;
    return bind_call(b, "jsonb_assign", false, (int)(s->n + 3), args, location);
}

/* ---- aggregates --------------------------------------------------------------------------- */

Expr *bind_json_entry(Binder *b, const AggCall *call, bool row, int64_t location) {
    Expr *args[2] = {call->arg, call->arg2 ? call->arg2 : expr_bool(b->c, row)};
    if (!args[1]) return NULL;
    return bind_call(b, call->arg2 ? "json_pair_entry" : "json_entry", false, 2, args, location);
}

Expr *bind_json_entries(Binder *b, const AggCall *call, Expr *entries, int64_t location) {
    const char *name = arena_printf(b->a, "%s_entries", call->func->name);
    return name && entries ? bind_call(b, name, false, 1, &entries, location) : NULL;
}

/* ---- rows of parts ---------------------------------------------------------------------------- */

/* Functions that give rows, by the one that gives an array of JSON arrays or pairs, "<name>_array". */
enum { EACH_COLUMNS = 5 };
typedef struct EachFunc {
    const char *name;
    int n_args, n_cols;
    struct {
        const char *name;
        uint8_t type; /* T_PARTS: the array's elements */
    } cols[EACH_COLUMNS];
} EachFunc;
#define T_PARTS T_VOID
static const EachFunc each_funcs[] = {
    {"json_each", 1, 2, {{"key", T_TEXT}, {"value", T_PARTS}}},
    {"jsonb_each", 1, 2, {{"key", T_TEXT}, {"value", T_PARTS}}},
    {"json_each_text", 1, 2, {{"key", T_TEXT}, {"value", T_TEXT}}},
    {"jsonb_each_text", 1, 2, {{"key", T_TEXT}, {"value", T_TEXT}}},
    {"aclexplode",
     1,
     4,
     {{"grantor", T_OID}, {"grantee", T_OID}, {"privilege_type", T_TEXT}, {"is_grantable", T_BOOL}}},
    {"pg_get_keywords",
     0,
     5,
     {{"word", T_TEXT}, {"catcode", T_TEXT}, {"barelabel", T_BOOL}, {"catdesc", T_TEXT}, {"baredesc", T_TEXT}}},
    {"pg_options_to_table", 1, 2, {{"option_name", T_TEXT}, {"option_value", T_TEXT}}},
    {"pg_identify_object", 3, 4, {{"type", T_TEXT}, {"schema", T_TEXT}, {"name", T_TEXT}, {"identity", T_TEXT}}},
};
static const EachFunc *each_func(const AstFunc *f) {
    for (int64_t i = 0; i < ARRAY_LEN(each_funcs); i++)
        if (!f->name.schema && strcmp(each_funcs[i].name, f->name.name) == 0) return &each_funcs[i];
    return NULL;
}
bool bind_is_json_each(const AstFunc *f) { return each_func(f) != NULL; }

/* Rows of the array that the function's "_array" makes of its arguments. */
static Status rows_of_parts(Binder *b, const AstFunc *f, int n_args, Expr *const *args, RowsFunc *out) {
    const char *name = arena_printf(b->a, "%s_array", f->name.name);
    Expr **copy = arena_array(b->a, Expr *, n_args + 1);
    bool fits = f->n_args == n_args;
    if (!name || !copy) return ST_ERROR;
    for (int i = 0; i < n_args && fits; i++) fits = (copy[i] = bind_copy(b, args[i])) != NULL;
    if (err_is_set(b->err)) return ST_ERROR;
    out->kind = ROWS_ARRAY;
    out->location = f->location;
    out->n_args = 1;
    if (!(out->args = arena_array(b->a, Expr *, 1))) return ST_ERROR;
    out->args[0] = fits ? bind_call(b, name, false, n_args, copy, f->location) : NULL;
    return out->args[0] ? ST_OK : bind_no_function(b, f, args);
}

Status bind_json_each(Binder *b, const AstFunc *f, Expr *const *args, RowsFunc *out) {
    const EachFunc *x = each_func(f);
    *out = (RowsFunc){.pairs = true, .n_cols = x->n_cols};
    TRY(rows_of_parts(b, f, x->n_args, args, out));
    const Type each = type_element(out->args[0]->type);
    if (!(out->types = arena_array(b->a, Type, x->n_cols)) || !(out->cols = arena_array(b->a, ColId, x->n_cols)))
        return ST_ERROR;
    for (int32_t i = 0; i < out->n_cols; i++) {
        out->types[i] = x->cols[i].type == T_PARTS ? each : type_make((TypeId)x->cols[i].type);
        out->cols[i] = plan_new_col(b->c, x->cols[i].name, out->types[i], true);
        if (out->cols[i] <= 0) return ST_ERROR;
    }
    return ST_OK;
}

Expr *bind_json_pair_part(Binder *b, Expr *pair, int32_t k, Type t, int64_t location) {
    Value at = {.type = type_make(T_INT4)};
    at.u.i32 = k;
    Expr *i = expr_const(b->c, &at);
    Expr *part = i ? bind_op(b, type_is_json(t) ? "->" : "->>", pair, i, location) : NULL;
    return type_is_json(t) || type_is_text(t) ? part : bind_coerce(b, part, t, CAST_EXPLICIT, location);
}

bool bind_is_json_record(const AstFunc *f) {
    static const char *const names[] = {"json_to_record", "jsonb_to_record", "json_to_recordset", "jsonb_to_recordset"};
    return !f->name.schema && is_one_of(f->name.name, names, ARRAY_LEN(names));
}

Status bind_json_record(Binder *b, const AstFunc *f, Expr *const *args, RowsFunc *out) {
    out->members = true;
    return rows_of_parts(b, f, 1, args, out);
}

Expr *bind_json_member(Binder *b, Expr *object, const char *name, Type t, int64_t location) {
    const Value none = {.type = t, .is_null = true};
    Expr *args[3] = {object, bind_text_const(b, slice_of(name), location), expr_const(b->c, &none)};
    if (!args[1] || !args[2]) return NULL;
    const char *call = object->type.id == T_JSONB ? "jsonb_populate_member" : "json_populate_member";
    return bind_coerce(b, bind_call(b, call, false, 3, args, location), t, CAST_ASSIGNMENT, location);
}
