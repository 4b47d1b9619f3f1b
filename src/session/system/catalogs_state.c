/* catalogs_state.c - rows of catalogs of what goes with other objects or with the session: triggers of foreign keys,
 * statistics of tables, prepared statements, elements of arrays. */
#include "session/core/plancache.h"
#include "session/ddl/definition.h"
#include "session/ddl/prepared.h"
#include "session/system/definitions.h"
#include "session/system/system_int.h"

/* ---- triggers ---- */

/* PostgreSQL keeps foreign keys by four triggers each, which a client may look for; nothing here runs them. */
static int64_t action_function(char action, bool update) {
    const int64_t of_delete = action == 'c'   ? 1646
                              : action == 'r' ? 1648
                              : action == 'n' ? 1650
                              : action == 'd' ? 1652
                                              : 1654;
    return of_delete + update;
}
enum { AFTER_ROW = 1, ON_INSERT = 4, ON_DELETE = 8, ON_UPDATE = 16 };
static Status trigger_row(SystemRows *r, const SysConstraint *k, const SysClass *on, int part, int64_t function,
                          int64_t type) {
    const char *number = arena_printf(r->c->arena, "%d", part);
    const int64_t oid = number ? object_derived(r->o, 'g', k->oid, number) : 0;
    const char *name =
        arena_printf(r->c->arena, "RI_ConstraintTrigger_%c_%lld", on == k->of ? 'c' : 'a', (long long)oid);
    const ForeignKey *f = k->reference;
    if (!number || !name) return err_oom(r->err);
    return system_row(r, "ii0siicbiiibb0vs---", oid, on->oid, name, function, type, 'O', true,
                      on == k->of ? k->foreign->oid : k->of->oid, k->index ? k->index->oid : 0, k->oid, f->deferrable,
                      f->deferred, system_vector(r, 14, 0, NULL), "");
}
Status system_fill_trigger(Session *s, SystemRows *r) {
    (void)s;
    for (int64_t i = 0; i < r->o->constraints.len; i++) {
        const SysConstraint *k = &r->o->constraints.items[i];
        if (!k->reference || !k->of || !k->foreign) continue;
        const ForeignKey *f = k->reference;
        TRY(trigger_row(r, k, k->foreign, 0, action_function(f->on_delete, false), AFTER_ROW | ON_DELETE));
        TRY(trigger_row(r, k, k->foreign, 1, action_function(f->on_update, true), AFTER_ROW | ON_UPDATE));
        TRY(trigger_row(r, k, k->of, 2, 1644, AFTER_ROW | ON_INSERT));
        TRY(trigger_row(r, k, k->of, 3, 1645, AFTER_ROW | ON_UPDATE));
    }
    return ST_OK;
}

/* ---- policies ---- */

static Status policy_row(SystemRows *r, const SysClass *c, const Policy *p) {
    const int64_t everybody = 0;
    return system_row(r, "isicbvss", object_derived(r->o, 'p', c->oid, p->name), p->name, c->oid, p->command,
                      !p->restrictive,
                      p->n_roles ? system_vector(r, 5, p->n_roles, p->roles) : system_vector(r, 5, 1, &everybody),
                      p->using_sql, p->check_sql);
}
Status system_fill_policy(Session *s, SystemRows *r) {
    (void)s;
    for (int64_t i = 0; i < r->o->c->row_security.n; i++) {
        const RowSecurity *x = r->o->c->row_security.items[i];
        const SysClass *c = object_class_of_key(r->o, x->table);
        for (int k = 0; c && k < x->n_policies; k++) TRY(policy_row(r, c, &x->policies[k]));
    }
    return ST_OK;
}

/* ---- statistics ---- */

/* How many rows there are; what statements have done is not counted. */
Status system_fill_stat_all_tables(Session *s, SystemRows *r) {
    (void)s;
    for (int64_t i = 0; i < r->o->classes.len; i++) {
        const SysClass *c = &r->o->classes.items[i];
        if (c->kind != 'r' && c->kind != 'm') continue;
        const int64_t rows = c->table ? c->table->live_rows : 0;
        TRY(system_row(r,
                       "iss000000"
                       "00i000----0000",
                       c->oid, object_schema_name(r->o, c->space), c->name, rows));
    }
    return ST_OK;
}

/* ---- prepared statements ---- */

Status system_fill_prepared_statements(Session *s, SystemRows *r) {
    const char *name;
    const SqlText *t;
    for (int64_t i = 0; session_prepared_nth(s, i, &name, &t); i++) {
        int64_t *types = arena_array(r->c->arena, int64_t, t->n_params + 1);
        const char *sql = arena_strndup(r->c->arena, t->sql.ptr, t->sql.len);
        if (!types || !sql) return err_oom(r->err);
        for (int32_t k = 0; k < t->n_params; k++)
            types[k] = object_type_oid(r->o, t->param_types[k], k < t->n_domains ? t->param_domains[k] : 0);
        TRY(system_row(r, "ss-v100", name, sql, system_vector(r, 3, t->n_params, types)));
    }
    return ST_OK;
}

/* ---- elements of arrays ---- */

static Status element_row(SystemRows *r, const SysClass *c, int32_t k) {
    const int64_t array = object_type_oid(r->o, c->cols[k].type, c->cols[k].domain);
    const SysType *t = object_type(r->o, array), *e = t ? object_type(r->o, t->element) : NULL;
    const char *id = arena_printf(r->c->arena, "%d", (int)k + 1),
               *own = id ? arena_printf(r->c->arena, "a%s", id) : NULL;
    const char *database = r->o->s->info.database;
    if (!own) return err_oom(r->err);
    if (!e) return ST_OK;
    return system_row(r,
                      "ssssss-----"
                      "----------sss----s",
                      database, object_schema_name(r->o, c->space), c->name,
                      c->kind == 'c' ? "USER-DEFINED TYPE" : "TABLE", id,
                      e->builtin ? object_type_shown(r->o, e->oid, -1, false) : "USER-DEFINED", database,
                      object_schema_name(r->o, e->space), e->name, own);
}
Status system_fill_element_types(Session *s, SystemRows *r) {
    (void)s;
    for (int64_t i = 0; i < r->o->classes.len; i++) {
        SysClass *c = &r->o->classes.items[i];
        if (c->system || c->kind == 'i' || c->kind == 'S') continue;
        TRY(object_columns(r->o, c));
        for (int32_t k = 0; k < c->n_cols; k++)
            if (c->cols[k].type.id == T_ARRAY && !c->cols[k].domain) TRY(element_row(r, c, k));
    }
    return ST_OK;
}
