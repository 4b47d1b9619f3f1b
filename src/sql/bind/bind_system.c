/* bind_system.c - system relations in FROM (catalog/system_relation.h). See bind.h.
 *
 * One that is a view is bound like any other. Others become LP_VALUES whose rows the session makes when the plan is
 * about to run (session/system), as the rows of a routine are (PlanValues.routine_id, which is below 0 for them). Names
 * of pg_catalog are reserved (session_add_table): else what a view reads would change with a table that comes later.
 */
#include "catalog/system_relation.h"
#include "sql/bind/bind_int.h"

Status sql_refuse_system_relation(const char *name, Err *e) {
    if (system_relation_find(NULL, name) < 0) return ST_OK;
    return err_set(e, ERR_INSUFFICIENT_PRIVILEGE, "permission denied: \"%s\" is a system catalog", name);
}

static Plan *system_view(Binder *b, const SystemRelation *r, int64_t location, Rel *rel) {
    View *v = arena_new_of(b->a, View);
    if (!v) return NULL;
    /* Only read. */
    v->name = (char *)(uintptr_t)r->name;
    v->sql = (char *)(uintptr_t)r->sql;
    return bind_view(b, v, location, rel);
}

/* A catalog's rows with one more column, which * does not show. */
static Plan *with_tableoid(Binder *b, const SystemRelation *r, Rel *rel, Plan *rows) {
    const Value oid = {.type = type_make(T_OID), .u.i64 = r->oid};
    Proj proj = {0};
    for (int32_t i = 0; i < rel->n; i++)
        if (!vec_push(b->a, &proj.ids, rel->cols[i]) || !vec_push(b->a, &proj.exprs, expr_col(b->c, rel->cols[i])))
            return NULL;
    rel->names[rel->n] = "tableoid";
    rel->cols[rel->n++] = bind_proj_add(b, &proj, NULL, expr_const(b->c, &oid), "tableoid");
    return rel->cols[rel->n - 1] ? bind_proj_plan(b, &proj, rows) : NULL;
}

Plan *bind_system_rows(Binder *b, int relation, int64_t location, Rel *rel) {
    const SystemRelation *all;
    (void)system_relations(&all);
    const SystemRelation *r = &all[relation];
    int32_t n;
    if (r->sql) return system_view(b, r, location, rel);
    const SystemColumn *cols = system_relation_columns(r, b->a, &n);
    Plan *p = plan_new(b->c, LP_VALUES, 0);
    if (!cols || !p || !(p->out_cols = arena_array(b->a, ColId, n)) || !(rel->cols = arena_array(b->a, ColId, n + 1)) ||
        !(rel->names = arena_array(b->a, const char *, n + 1)))
        return NULL;
    for (int32_t i = 0; i < n; i++) {
        if (!(p->out_cols[i] = plan_new_col(b->c, cols[i].name, cols[i].type, !cols[i].not_null))) return NULL;
        rel->cols[i] = p->out_cols[i];
        rel->names[i] = cols[i].name;
    }
    p->n_out = n;
    p->values.routine_id = -1 - relation;
    b->c->reads_system = true;
    p->alias = r->name;
    rel->n = n;
    return rel->plan = r->kind == 'r' ? with_tableoid(b, r, rel, p) : p;
}
