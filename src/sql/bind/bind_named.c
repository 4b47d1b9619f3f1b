/* bind_named.c - routines by name, as DROP, EXPLAIN PROCEDURE and bulk_call have them; bulk_call in FROM. */
#include <stdio.h>

#include "catalog/names.h"
#include "sql/bind/bind_int.h"
#include "sql/parse/parse.h"
#include "types/composite.h"

enum { PARAMS_MAX = 100 };

Status sql_routine_type(const Catalog *c, const AstTypeName *t, Type *out, int64_t *domain, Err *e) {
    const PolyType poly =
        t->schema || t->array_dims || t->percent_type ? POLY_NONE : type_poly_named(slice_of(t->name));
    *domain = 0;
    if (poly != POLY_NONE) return *out = type_poly(poly), ST_OK;
    if (!t->percent_type) {
        const Domain *d;
        if (!t->schema && strcmp(t->name, "refcursor") == 0 && !t->array_dims) /* a cursor's name */
            return *out = type_make(T_TEXT), ST_OK;
        TRY(sql_bind_type(c, t, out, &d, e));
        *domain = d ? d->id : 0;
        return ST_OK;
    }
    if (!t->schema)
        return err_at(e, t->location, ERR_SYNTAX, "improper %%TYPE reference (too few dotted names): %s", t->name);
    const Table *tab = catalog_table(c, slice_of(t->schema));
    if (!tab) return err_at(e, t->location, ERR_UNDEFINED_TABLE, "relation \"%s\" does not exist", t->schema);
    int k = table_find_column(tab, slice_of(t->name));
    if (k < 0)
        return err_at(e, t->location, ERR_UNDEFINED_COLUMN, "column \"%s\" of relation \"%s\" does not exist", t->name,
                      t->schema);
    *out = composite_field_type(tab->cols[k].type);
    *domain = tab->cols[k].domain;
    return ST_OK;
}

bool sql_same_identity(const Routine *r, int n, const Type *types) {
    int k = 0;
    for (int i = 0; i < r->n_params; i++) {
        if (r->param_modes[i] != 'i' && r->param_modes[i] != 'b') continue;
        Type t = r->param_types[i];
        const Type x = t.id == T_ARRAY ? type_element(t) : t;
        if (k == n || t.id != types[k].id || (type_is_poly(t) && !type_eq(t, types[k]))) return false;
        const Type y = t.id == T_ARRAY ? type_element(types[k]) : types[k];
        if (x.id != y.id || (type_is_defined(x) && !type_eq(x, y))) return false;
        k++;
    }
    return k == n;
}

bool sql_same_inputs(const Routine *r, const Routine *other) {
    Type types[PARAMS_MAX];
    int n = 0;
    for (int i = 0; i < other->n_params; i++)
        if ((other->param_modes[i] == 'i' || other->param_modes[i] == 'b') && n < PARAMS_MAX)
            types[n++] = other->param_types[i];
    return sql_same_identity(r, n, types);
}

static const char *kind_word(char what) {
    return what == 'f' ? "function" : what == 'p' ? "procedure" : what == 'a' ? "aggregate" : "routine";
}
/* Whether a statement on such a kind of routine can mean r. */
static bool is_of_kind(const Routine *r, char what) {
    return what == 'f'   ? !r->is_procedure && !routine_is_aggregate(r)
           : what == 'p' ? r->is_procedure
           : what == 'a' ? routine_is_aggregate(r)
                         : true;
}

/* f(integer,text): as DROP's messages have it. */
static char *call_text(Arena *a, const char *name, int n, const Type *types) {
    char *t = arena_printf(a, "%s(", name), buf[TYPE_NAME_MAX];
    for (int i = 0; t && i < n; i++) t = arena_printf(a, "%s%s%s", t, i ? "," : "", type_name(types[i], &buf));
    return t ? arena_printf(a, "%s)", t) : NULL;
}

Status sql_find_routine(const Catalog *c, Arena *a, char what, const AstFuncSignature *q, Routine **out,
                        const char **missing, Err *e) {
    Type types[PARAMS_MAX];
    int64_t domain;
    int n = 0;
    Routine *found = NULL;
    int64_t hits = 0;
    int place = 0;
    bool all_ins = true;
    *out = NULL;
    name_read(slice_of(q->name.name));
    if (!q->name.schema && !search_path_now()->pinned) name_read_path(search_path_now()->hash);
    for (int64_t i = 0; q->has_args && i < q->n_params; i++) {
        all_ins &= q->params[i].mode == AST_PARAM_IN;
        if (q->params[i].mode == AST_PARAM_OUT || q->params[i].mode == AST_PARAM_TABLE) continue;
        if (n == PARAMS_MAX)
            return err_set(e, ERR_TOO_MANY_ARGUMENTS, "functions cannot have more than %d arguments", PARAMS_MAX);
        TRY(sql_routine_type(c, q->params[i].type, &types[n++], &domain, e));
    }
    for (int64_t i = 0; i < c->n_routines; i++) {
        Routine *r = c->routines[i];
        const int at = sql_routine_place(r, q->name.schema, q->name.name);
        if (at < 0) continue;
        if (q->has_args && !sql_same_identity(r, n, types)) {
            /* DROP PROCEDURE p(int, int) may name the OUT parameters too */
            bool same = r->is_procedure && what != 'f' && all_ins && r->n_params == n;
            for (int k = 0; same && k < n; k++) same = r->param_types[k].id == types[k].id;
            if (!same) continue;
        }
        if (!q->has_args && !is_of_kind(r, what)) continue;
        bool hidden = found && at > place && (q->has_args || sql_same_inputs(found, r));
        const bool hides = found && at < place && (q->has_args || sql_same_inputs(found, r));
        if (hidden) continue;
        hits = hides ? hits : hits + 1;
        place = at;
        found = r;
    }
    if (hits > 1) {
        err_at(e, q->name.location, ERR_AMBIGUOUS_FUNCTION, "%s name \"%s\" is not unique", kind_word(what),
               q->name.name);
        err_hint(e, "Specify the argument list to select the %s unambiguously.", kind_word(what));
        return ST_ERROR;
    }
    const char *name = q->name.schema ? arena_printf(a, "%s.%s", q->name.schema, q->name.name) : q->name.name;
    char *text = !name ? NULL : q->has_args ? call_text(a, name, n, types) : arena_strdup(a, name);
    if (!text) return stack_failed(e);
    if (found && what == 'f' && routine_is_aggregate(found)) {
        err_set(e, ERR_WRONG_OBJECT_TYPE, "\"%s\" is an aggregate function", name);
        err_hint(e, "Use DROP AGGREGATE to drop aggregate functions.");
        return ST_ERROR;
    }
    if (found && what == 'a' && !routine_is_aggregate(found))
        return err_set(e, ERR_WRONG_OBJECT_TYPE, "function %s is not an aggregate", text);
    if (found && !is_of_kind(found, what))
        return err_set(e, ERR_WRONG_OBJECT_TYPE, "%s is not a %s", text, kind_word(what));
    *missing = text;
    *out = found;
    return ST_OK;
}
Status sql_no_routine(char what, const AstFuncSignature *q, const char *missing, Err *e) {
    if (q->has_args) return err_set(e, ERR_UNDEFINED_FUNCTION, "%s %s does not exist", kind_word(what), missing);
    return err_set(e, ERR_UNDEFINED_FUNCTION, "could not find a %s named \"%s\"", kind_word(what), missing);
}
Status sql_named_routine(const Catalog *c, Arena *a, Slice name, const Routine **out, Err *e) {
    AstFuncSignature *q;
    Routine *r;
    const char *missing;
    Status st = sql_parse_signature(a, name, &q, e);
    if (st != ST_OK) err_context(e, "name of a routine \"%.*s\"", (int)MIN_OF(name.len, INT64_C(64)), name.ptr);
    else if (q->name.schema && !catalog_has_schema(c, q->name.schema))
        st = err_set(e, ERR_UNDEFINED_SCHEMA, "schema \"%s\" does not exist", q->name.schema);
    else st = sql_find_routine(c, a, 'r', q, &r, &missing, e);
    if (st == ST_OK && !r) st = sql_no_routine('r', q, missing, e);
    if (st != ST_OK) e->position = 0; /* not of the statement */
    else *out = r;
    return st;
}

/* ---- bulk_call ------------------------------------------------------------------------------------------ */
bool sql_is_bulk_call(const AstFunc *f) {
    return strcmp(f->name.name, "bulk_call") == 0 && (!f->name.schema || strcmp(f->name.schema, "public") == 0);
}

Status sql_bulk_arguments(const AstFunc *f, int64_t position, Err *e) {
    if (f->n_args == 2) return ST_OK;
    err_at(e, position, ERR_UNDEFINED_FUNCTION, "bulk_call takes two arguments");
    err_hint(e, "bulk_call('procedure', 'query with a row for each call, in order')");
    return ST_ERROR;
}

Status sql_bulk_columns(Arena *a, const Routine *r, int32_t *n_cols, const char ***names, Type **types) {
    static const struct {
        const char *name;
        TypeId type;
    } fixed[] = {{"call", T_INT8}, {"sqlstate", T_TEXT}, {"message", T_TEXT}, {"detail", T_TEXT},
                 {"hint", T_TEXT}, {"line", T_INT4},     {"context", T_TEXT}};
    const int first = (int)ARRAY_LEN(fixed);
    int32_t k = first;
    *names = arena_array(a, const char *, r->n_params + first + 1);
    *types = arena_array(a, Type, r->n_params + first + 1);
    if (!*names || !*types) return ST_ERROR;
    for (int i = 0; i < first; i++) (*names)[i] = fixed[i].name, (*types)[i] = type_make(fixed[i].type);
    for (int i = 0; i < r->n_params; i++) {
        if (r->param_modes[i] == 'i') continue;
        (*names)[k] =
            r->param_names[i] ? arena_strdup(a, r->param_names[i]) : arena_printf(a, "column%d", (int)k - first + 1);
        (*types)[k++] = r->param_types[i];
    }
    if (k == first && r->ret.id != T_VOID) (*names)[k] = arena_strdup(a, name_of_key(r->name)), (*types)[k++] = r->ret;
    for (int32_t i = first; i < k; i++)
        if (!(*names)[i]) return ST_ERROR;
    *n_cols = k;
    return ST_OK;
}

/* Rows of a bulk that the session runs before the plan is made. It runs once: no place where what stands there may be
 * bound twice, or never. */
Plan *bind_bulk_rows(Binder *b, Query *q, const AstFunc *f) {
    const char *wrong = b->c->variables ? "bulk_call in a routine"
                        : b->fixed_pos  ? "bulk_call in a view"
                        : q->outer      ? "bulk_call in a subquery of an expression, or LATERAL"
                                        : NULL;
    const Routine *r;
    const char **names;
    Type *types;
    int32_t n;
    if (wrong) return bind_unsupported(b, f->location, wrong), NULL;
    if (sql_bulk_arguments(f, bind_pos(b, f->location), b->err) != ST_OK) return NULL;
    if (f->args[0]->kind != AST_STRING_LIT) {
        err_at(b->err, bind_pos(b, f->args[0]->location), ERR_FEATURE_NOT_SUPPORTED,
               "bulk_call in FROM takes the procedure as a string literal");
        return NULL;
    }
    if (sql_named_routine(b->c->catalog, b->a, AST_AS_CONST(AstLiteral, f->args[0])->text, &r, b->err) != ST_OK)
        return NULL;
    if (r->returns_set) {
        err_at(b->err, bind_pos(b, f->location), ERR_WRONG_OBJECT_TYPE,
               "function \"%s\" returns a set, and cannot be called in a bulk", r->name);
        return NULL;
    }
    Expr *query = bind_expr(b, q, f->args[1]);
    if (!query || !(query = bind_coerce(b, query, type_make(T_TEXT), CAST_IMPLICIT, f->args[1]->location))) return NULL;
    ColSet used = colset_new(b->c);
    expr_cols(b->c, query, &used);
    for (int64_t w = 0; w < used.n_words; w++)
        if (used.bits[w]) return bind_unsupported(b, f->args[1]->location, "bulk_call with columns as arguments"), NULL;
    Plan *p = plan_new(b->c, LP_VALUES, 0);
    Expr **exprs = arena_array(b->a, Expr *, 1);
    if (!p || !exprs || sql_bulk_columns(b->a, r, &n, &names, &types) != ST_OK ||
        !(p->out_cols = arena_array(b->a, ColId, n)))
        return NULL;
    exprs[0] = query;
    p->exprs = exprs;
    p->n_exprs = 1;
    p->n_out = n;
    p->values.routine_id = r->id;
    p->values.bulk = true;
    p->alias = "bulk_call";
    for (int32_t i = 0; i < n; i++)
        if (!(p->out_cols[i] = plan_new_col(b->c, names[i], types[i], i > 0))) return NULL;
    b->c->n_bulks++;
    return p;
}
