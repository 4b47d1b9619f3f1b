/* compile_foreign.c - foreign keys: what is looked at, and done, behind a statement that changes keys.
 *
 * A statement has events, one for each foreign key that it may concern: rows that refer to others are written; keys
 * that others refer to go, or change (session/core/constraints.h says it for one call at a time, and in which order).
 * The values that an event needs are kept in variables before the row changes. Of a statement that changes one row,
 * events follow the change where it stands, so what is known of the row is known of them. Of one that may change
 * several they follow the statement: the values of all rows are in a buffer, and each event goes through it.
 *
 * That a key is there is a lookup in the referenced table's unique key. That no row refers to one, and what actions
 * change, is an SQL statement on the referencing table, which is compiled as any other: by an index on the columns that
 * refer. So footprints, locks and kernels need nothing for foreign keys. */
#include "catalog/foreign_key.h"
#include "catalog/sql_names.h"
#include "sql/parse/parse.h"
#include "sql/pl/compile_rows.h"

enum { EVENTS_MAX = 64 /* of a statement, with those of its actions */ };

typedef struct CpEvent {
    const ForeignKey *f;
    const Table *child, *parent;
    CpEventKind kind;
    struct CpEvents *of;
    int32_t cols[32], ref[32]; /* of the child; of the parent */
} CpEvent;
struct CpEvents {
    const Table *table;
    int32_t n;
    CpEvent *items;
    int32_t *old, *now; /* by column: variable of the value before and after; -1: it is not kept */
    CpBuffer *buffer;   /* NULL: one row */
    int64_t rows_from;
    bool sorted;
    int32_t *from; /* by column: the routine's variable that the new value is of; -1 none */
};
/* Events of a statement, with those of the actions that follow. */
struct CpQueue {
    VEC(CpEvent *) list;
};

bool cp_events_keep(const CpEvents *e, int32_t col) { return e && (e->old[col] >= 0 || e->now[col] >= 0); }

/* ---- which events ---------------------------------------------------------------------------- */
static bool columns_of(const Table *t, int n, char *const *names, int32_t *cols) {
    for (int i = 0; i < n; i++)
        if ((cols[i] = table_find_column(t, slice_of(names[i]))) < 0) return false;
    return true;
}
static bool same_values(Type a, Type b) {
    return type_eq(a, b) || (type_is_integer(a) && type_is_integer(b)) ||
           (type_is_text(a) && type_is_text(b) && (a.id == T_CHAR) == (b.id == T_CHAR));
}
static bool sets_one(int32_t n, const int32_t *cols, int32_t n_set, const int32_t *set) {
    for (int32_t i = 0; i < n; i++)
        for (int32_t k = 0; k < n_set; k++)
            if (cols[i] == set[k]) return true;
    return false;
}
/* What cannot be said in bulk of the event. */
static Status check_event(Cp *c, const CpEvent *x) {
    const ForeignKey *f = x->f;
    const char action = x->kind == CP_KEY_DELETED ? f->on_delete : f->on_update;
    if (foreign_parent_key(x->parent, f) < 0)
        return cp_refuse(c, "foreign key \"%s\", whose key is deferrable", f->name);
    if (f->deferred && (x->kind == CP_KEY_WRITTEN || action == 'a'))
        return cp_refuse(c, "a change of table \"%s\", whose foreign key \"%s\" is initially deferred",
                         x->of->table->name, f->name);
    for (int i = 0; i < f->n_cols; i++)
        if (!same_values(x->child->cols[x->cols[i]].type, x->parent->cols[x->ref[i]].type))
            return cp_refuse(c, "foreign key \"%s\", whose columns have different types", f->name);
    return ST_OK;
}
/* Rows of the table may change by actions of foreign keys. */
static bool actions_change(const Catalog *k, const char *table) {
    bool any = false;
    for (int64_t i = 0; i < k->n_foreign; i++) {
        const ForeignKey *f = k->foreign[i];
        any |= strcmp(f->table, table) == 0 && (!strchr("ar", f->on_delete) || !strchr("ar", f->on_update));
    }
    return any;
}
/* What an action of f sets are references by f: to nothing, or to the key that has just come. */
static bool refers_well(const Cp *c, const ForeignKey *f, const ForeignKey *by, char action) {
    if (f != by) return false;
    return action == 'n' ? !f->match_full || f->n_set_cols == 0
                         : action == 'c' && !actions_change(c->reg->catalog, f->ref_table);
}
static Status add_event(Cp *c, CpEvents *e, const ForeignKey *f, CpEventKind kind, int32_t n_set, const int32_t *set) {
    const Catalog *k = c->reg->catalog;
    CpEvent x = {.f = f,
                 .kind = kind,
                 .of = e,
                 .child = catalog_table(k, slice_of(f->table)),
                 .parent = catalog_table(k, slice_of(f->ref_table))};
    if (!x.child || !x.parent || !columns_of(x.child, f->n_cols, f->cols, x.cols) ||
        !columns_of(x.parent, f->n_cols, f->ref_cols, x.ref))
        return ST_OK;
    const int32_t *cols = kind == CP_KEY_WRITTEN ? x.cols : x.ref;
    if (set && !sets_one(f->n_cols, cols, n_set, set)) return ST_OK;
    TRY(check_event(c, &x));
    if (kind == CP_KEY_WRITTEN && set && f->not_valid)
        return cp_refuse(c, "an update of columns of foreign key \"%s\", which is not valid", f->name);
    for (int i = 0; i < f->n_cols; i++) {
        int32_t *old = &e->old[cols[i]], *now = &e->now[cols[i]];
        const Type t = e->table->cols[cols[i]].type;
        if (kind != CP_KEY_WRITTEN && *old < 0 && (*old = cp_var_new(c, NULL, t)) < 0) return ST_ERROR;
        if (kind != CP_KEY_DELETED && *now < 0 && (*now = cp_var_new(c, NULL, t)) < 0) return ST_ERROR;
    }
    e->items[e->n++] = x;
    return ST_OK;
}
/* by, action: whose action the statement is; NULL: none's. */
static Status begin(Cp *c, const Table *t, int32_t n_set, const int32_t *set, CpChange change, bool single,
                    const ForeignKey *by, char action, CpEvents **out) {
    const Catalog *k = c->reg->catalog;
    CpEvents *e = arena_new_of(c->arena, CpEvents);
    *out = NULL;
    if (!catalog_may_have_foreign(k, t->name)) return ST_OK;
    if (!e) return cp_oom(c);
    *e = (CpEvents){.table = t,
                    .items = arena_array(c->arena, CpEvent, 2 * k->n_foreign + 1),
                    .old = arena_array(c->arena, int32_t, t->n_cols + 1),
                    .now = arena_array(c->arena, int32_t, t->n_cols + 1),
                    .from = arena_array(c->arena, int32_t, t->n_cols + 1),
                    .rows_from = c->query.rows.len};
    if (!e->items || !e->old || !e->now || !e->from) return cp_oom(c);
    for (int i = 0; i <= t->n_cols; i++) e->old[i] = e->now[i] = e->from[i] = -1;
    for (int64_t i = 0; change != CP_INSERTS && i < k->n_foreign; i++)
        if (strcmp(k->foreign[i]->ref_table, t->name) == 0)
            TRY(add_event(c, e, k->foreign[i], change == CP_DELETES_ROWS ? CP_KEY_DELETED : CP_KEY_UPDATED, n_set,
                          set));
    for (int64_t i = 0; change != CP_DELETES_ROWS && i < k->n_foreign; i++)
        if (strcmp(k->foreign[i]->table, t->name) == 0 && !refers_well(c, k->foreign[i], by, action))
            TRY(add_event(c, e, k->foreign[i], CP_KEY_WRITTEN, n_set, set));
    if (e->n == 0) return ST_OK;
    *out = e;
    if (single && !c->events) return ST_OK;
    if (!(e->buffer = cp_buffer_new(c, 0))) return ST_ERROR;
    c->no_locks = true;
    return cp_buffer_clear(c, e->buffer);
}
Status cp_events_begin(Cp *c, const Table *t, int32_t n_set, const int32_t *set, CpChange change, bool single,
                       CpEvents **out) {
    return begin(c, t, n_set, set, change, single, NULL, 0, out);
}

/* ---- the values of a row ----------------------------------------------------------------------- */
static Expr *var_expr(Cp *c, int32_t var) {
    Expr *e = var < 0 ? NULL : expr_col(&c->ctx, c->vars.items[var].col);
    if (!e) c->oom = true;
    return e;
}
/* A column that the statement does not set is read as well. */
Status cp_touch_column(Cp *c, const Scan *s, int32_t col) {
    const int32_t g = s->table->group[col];
    CpTouch x = {.item = {.kind = OPK_READ, .col = -1}, .group = g};
    if (c->dry || g == NO_GROUP) return ST_OK;
    c->no_locks = true;
    return cp_touch(c, s, &x, 0);
}
Status cp_events_values(Cp *c, CpEvents *e, Scan *s, ColId rowid, const ColId *now) {
    for (int i = 0; e && i < e->table->n_cols; i++) {
        Expr *old = NULL, *v = NULL;
        const Type t = e->table->cols[i].type;
        if (e->old[i] >= 0 && !(old = cp_scan_value(c, s, rowid, i))) return ST_ERROR;
        if (e->now[i] >= 0 && now[i] && !(v = expr_col(&c->ctx, now[i]))) return cp_oom(c);
        if (v && !e->buffer) e->from[i] = cp_variable_of(c, now[i]);
        if (e->now[i] >= 0 && !now[i]) {
            TRY(cp_touch_column(c, s, i));
            if (!(v = cp_scan_value(c, s, rowid, i))) return ST_ERROR;
        }
        if (old) TRY(cp_store(c, e->old[i], cp_lower_as(c, old, t)));
        if (v) TRY(cp_assign(c, e->now[i], v));
    }
    return ST_OK;
}
static Status settle(Cp *c, CpEvents *e);
Status cp_events_row(Cp *c, CpEvents *e, bool single) {
    if (!e) return ST_OK;
    if (!e->buffer)
        return single ? settle(c, e) : cp_refuse(c, "rows of table \"%s\" by more than a key", e->table->name);
    TRY(cp_buffer_row(c, e->buffer));
    TRY(cp_buffer_ties(c, e->buffer, e->rows_from));
    for (int i = 0; i < e->table->n_cols; i++) {
        if (e->old[i] >= 0) TRY(cp_buffer_column(c, e->buffer, cp_load(c, e->old[i])));
        if (e->now[i] >= 0) TRY(cp_buffer_column(c, e->buffer, cp_load(c, e->now[i])));
    }
    return cp_buffer_add(c, e->buffer);
}

/* ---- errors ------------------------------------------------------------------------------------ */
static const char *names_of(Cp *c, int n, char *const *names) {
    const char *t = "";
    for (int i = 0; t && i < n; i++) t = arena_printf(c->arena, "%s%s%s", t, i ? ", " : "", names[i]);
    return t ? t : (c->oom = true, NULL);
}
/* The error of a key, whose values are in these variables, in the order of f's columns. */
static Status raise_key(Cp *c, const CpEvent *x, const char *format, char *const *names, const Table *t,
                        const int32_t *cols, const int32_t *vars, const char *after) {
    const int n = x->f->n_cols;
    KeyDetail *key = arena_new_of(c->arena, KeyDetail);
    Type *types = arena_array(c->arena, Type, n);
    RaiseSite site = {.sqlstate = ERR_FOREIGN_KEY_VIOLATION,
                      .format = format,
                      .n = n,
                      .args = arena_array(c->arena, Reg, n + 1),
                      .key = key,
                      .names = cp_table_names(c, x->f->table, EF_CONSTRAINT, x->f->name)};
    if (!key || !types || !format || !after || !site.args || !site.names) return cp_oom(c);
    for (int i = 0; i < n; i++) {
        types[i] = t->cols[cols[i]].type;
        if (!(site.args[i] = cp_load(c, vars[cols[i]]))) return ST_ERROR;
    }
    *key = (KeyDetail){.names = names_of(c, n, names), .after = after, .types = types};
    return key->names ? cp_raise_site(c, &site) : ST_ERROR;
}
static const char *written_text(Cp *c, const ForeignKey *f) {
    return arena_printf(c->arena, "insert or update on table \"%s\" violates foreign key constraint \"%s\"", f->table,
                        f->name);
}
static Status raise_no_parent(Cp *c, const CpEvent *x) {
    const char *after = arena_printf(c->arena, "is not present in table \"%s\".", x->f->ref_table);
    return raise_key(c, x, written_text(c, x->f), x->f->cols, x->child, x->cols, x->of->now, after);
}
static Status raise_referenced(Cp *c, const CpEvent *x) {
    const ForeignKey *f = x->f;
    const char *after = arena_printf(c->arena, "is still referenced from table \"%s\".", f->table),
               *text = arena_printf(
                   c->arena, "update or delete on table \"%s\" violates foreign key constraint \"%s\" on table \"%s\"",
                   f->ref_table, f->name, f->table);
    return raise_key(c, x, text, f->ref_cols, x->parent, x->ref, x->of->old, after);
}
const char *cp_plain_text(Cp *c, const char *s) {
    char *out = s ? arena_array(c->arena, char, 2 * (int64_t)strlen(s) + 1) : NULL, *to = out;
    if (!out) return c->oom = true, NULL;
    for (; *s; s++) {
        if (*s == '%') *to++ = '%';
        *to++ = *s;
    }
    *to = 0;
    key_names_only(out);
    return out;
}
static Status raise_mixed(Cp *c, const CpEvent *x) {
    RaiseSite site = {.sqlstate = ERR_FOREIGN_KEY_VIOLATION,
                      .format = cp_plain_text(c, written_text(c, x->f)),
                      .detail = "MATCH FULL does not allow mixing of null and nonnull key values.",
                      .names = cp_table_names(c, x->f->table, EF_CONSTRAINT, x->f->name)};
    return site.format && site.names ? cp_raise_site(c, &site) : cp_oom(c);
}

/* ---- values of the other side's type ------------------------------------------------------------ */
/* Whether the value of the variable is one of the type; 0: all of its type's are. */
static Reg fits(Cp *c, int32_t var, Type to) {
    const Type from = c->vars.items[var].type;
    if (!type_is_integer(from) || phys_size(type_phys(from)) <= phys_size(type_phys(to))) return 0;
    const Range r = range_of_type(to);
    const Phys p = type_phys(from);
    Value lo = {.type = from}, hi = {.type = from};
    if (p == PH_I32) lo.u.i32 = (int32_t)r.lo, hi.u.i32 = (int32_t)r.hi;
    else lo.u.i64 = (int64_t)r.lo, hi.u.i64 = (int64_t)r.hi;
    const Reg v = cp_load(c, var), least = lower_const(&c->low, &c->pipe, &lo),
              most = lower_const(&c->low, &c->pipe, &hi);
    if (!v || !least || !most) return c->oom = true, 0;
    return cp_emit(c, OP_AND, PH_BOOL, type_make(T_BOOL), true,
                   cp_cmp(c, OP_GE, p, v, lower_canonical(&c->low, &c->pipe, least, from)),
                   cp_cmp(c, OP_LE, p, v, lower_canonical(&c->low, &c->pipe, most, from)), 0);
}
/* A value as the parent's column has it; one that it cannot have is no key there. */
static Expr *as_parent(Cp *c, const CpEvent *x, int i) {
    const int32_t var = x->of->now[x->cols[i]];
    const Type to = x->parent->cols[x->ref[i]].type;
    const int64_t before = c->pipe.b.instrs.len;
    const Reg ok = fits(c, var, to);
    if (!ok && c->pipe.b.instrs.len != before) return NULL;
    if (ok && (cp_control(c, OP_P_IF, cp_test(c, OP_IS_FALSE, ok), 0) != ST_OK || raise_no_parent(c, x) != ST_OK ||
               cp_control(c, OP_P_ENDIF, 0, 0) != ST_OK))
        return NULL;
    Expr *e = cp_cast(c, var_expr(c, var), to);
    if (!e || e->kind == EX_COL) return e;
    const int32_t as = cp_var_new(c, NULL, to);
    return as >= 0 && cp_assign(c, as, e) == ST_OK ? var_expr(c, as) : NULL;
}
/* The parent's value as one of the child's column, in a variable; *open: conditions that it is one. */
static Status as_child(Cp *c, const CpEvent *x, int i, int32_t to, int32_t *open) {
    const int32_t var = x->of->old[x->ref[i]];
    const int64_t before = c->pipe.b.instrs.len;
    const Reg ok = fits(c, var, c->vars.items[to].type);
    if (!ok && c->pipe.b.instrs.len != before) return ST_ERROR;
    if (ok) {
        TRY(cp_control(c, OP_P_IF, ok, 0));
        ++*open;
    }
    return cp_assign(c, to, var_expr(c, var));
}

/* ---- rows that refer ------------------------------------------------------------------------------ */
/* Looks for the parent's row with these values, in the order of f's columns: `missing` where there is none. */
static Status look_up(Cp *c, const CpEvent *x, Expr *const *values, CpPart missing, void *ctx) {
    const KeyConstraint *k = &x->parent->keys[foreign_parent_key(x->parent, x->f)];
    Scan *s = arena_new_of(c->arena, Scan);
    Table *t = (Table *)(uintptr_t)x->parent;
    if (!s) return cp_oom(c);
    *s = (Scan){.row = -1,
                .index = (int32_t)(k - x->parent->keys),
                .unique = true,
                .n_key = k->n_cols,
                .plan = plan_new(&c->ctx, LP_SCAN, 0),
                .conds = arena_new_of(c->arena, Conds),
                .needed = arena_new_of(c->arena, ColSet),
                .key_cols = arena_array(c->arena, int32_t, k->n_cols + 1),
                .eq = arena_array(c->arena, Expr *, t->n_cols + 1)};
    if (!s->plan || !s->conds || !s->needed || !s->key_cols || !s->eq || (s->number = cp_table(c, t)) < 0)
        return cp_oom(c);
    s->plan->scan.table = t;
    s->table = c->reg_tables.items[s->number];
    for (int j = 0; j < k->n_cols; j++) s->key_cols[j] = k->cols[j];
    for (int i = 0; i < x->f->n_cols; i++) s->eq[x->ref[i]] = values[i];
    TRY(cp_touch_read(c, s));
    if ((s->row = cp_var_new(c, NULL, type_make(T_INT8))) < 0) return ST_ERROR;
    TRY(cp_store(c, s->row, cp_find_row(c, s, OP_ROW_FIND)));
    TRY(cp_control(c, OP_P_IF, cp_cmp(c, OP_GE, PH_I64, cp_load(c, s->row), cp_int(c, PH_I64, 0)), 0));
    s->found = true;
    TRY(cp_touch_read(c, s));
    TRY(cp_control(c, OP_P_ELSE, 0, 0));
    TRY(missing(c, ctx));
    return cp_control(c, OP_P_ENDIF, 0, 0);
}
/* ---- rows of the call's own ---- */
Status cp_own_row(Cp *c, const Table *t, const ColId *values) {
    const CpFlow *f = &c->flow;
    int32_t *vars = arena_array(c->arena, int32_t, t->n_cols + 1);
    CpOwnRow x = {.table = t, .vars = vars, .statement = f->n_statements, .depth = f->brackets.len};
    if (c->dry || !catalog_may_have_foreign(c->reg->catalog, t->name)) return ST_OK;
    if (!vars) return cp_oom(c);
    if (x.depth > 0) x.bracket = f->brackets.items[x.depth - 1];
    for (int i = 0; i < t->n_cols; i++) {
        vars[i] = cp_variable_of(c, values[i]);
        if (vars[i] >= 0 && !type_eq(c->vars.items[vars[i]].type, t->cols[i].type)) vars[i] = -1;
    }
    return vec_push(c->arena, &c->flow.own, x) ? ST_OK : cp_oom(c);
}
/* The call has inserted the parent's row, on every way that leads here, by variables that it has not assigned since, in
 * a table that no procedure deletes from. */
static bool has_put_parent(Cp *c, const CpEvent *x) {
    const CpFlow *f = &c->flow;
    const int32_t number = cp_table(c, (Table *)(uintptr_t)x->parent);
    if (c->dry || number < 0 || c->reg_tables.items[number]->deleted) return false;
    for (int64_t i = 0; i < f->own.len; i++) {
        const CpOwnRow *own = &f->own.items[i];
        bool same = own->table == x->parent && own->depth <= f->brackets.len &&
                    (own->depth == 0 || f->brackets.items[own->depth - 1] == own->bracket);
        for (int k = 0; same && k < x->f->n_cols; k++) {
            const int32_t var = own->vars[x->ref[k]];
            same = var >= 0 && var == x->of->from[x->cols[k]] && f->stored[var] < own->statement;
        }
        if (same) return true;
    }
    return false;
}
static Status no_parent(Cp *c, void *ctx) { return raise_no_parent(c, ctx); }
static Status check_parent(Cp *c, const CpEvent *x) {
    Expr *values[32] = {0};
    if (has_put_parent(c, x)) return ST_OK;
    for (int i = 0; i < x->f->n_cols; i++)
        if (!(values[i] = as_parent(c, x, i))) return ST_ERROR;
    return look_up(c, x, values, no_parent, (void *)(uintptr_t)x);
}
/* Whether one (OR) or all (AND) of the event's new values are NULL. */
static Reg nulls(Cp *c, const CpEvent *x, Opcode op) {
    Reg r = 0;
    for (int i = 0; i < x->f->n_cols; i++) {
        const Reg one = cp_test(c, OP_IS_NULL, cp_load(c, x->of->now[x->cols[i]]));
        r = r ? cp_emit(c, op, PH_BOOL, type_make(T_BOOL), false, r, one, 0) : one;
        if (!r) return 0;
    }
    return r;
}
static Status check_written(Cp *c, const CpEvent *x) {
    int32_t open = 0;
    if (x->f->match_full && x->f->n_cols > 1) {
        TRY(cp_control(c, OP_P_IF, nulls(c, x, OP_OR), 0));
        TRY(cp_control(c, OP_P_IF, cp_test(c, OP_IS_FALSE, nulls(c, x, OP_AND)), 0));
        TRY(raise_mixed(c, x));
        TRY(cp_control(c, OP_P_ENDIF, 0, 0));
        TRY(cp_control(c, OP_P_ENDIF, 0, 0));
    }
    for (int i = 0; i < x->f->n_cols; i++) {
        if (x->child->cols[x->cols[i]].not_null) continue; /* what stores the row has found a NULL */
        TRY(cp_control(c, OP_P_IF, cp_test(c, OP_IS_NOT_NULL, cp_load(c, x->of->now[x->cols[i]])), 0));
        open++;
    }
    TRY(check_parent(c, x));
    while (open-- > 0) TRY(cp_control(c, OP_P_ENDIF, 0, 0));
    return ST_OK;
}

/* ---- keys that have gone ----------------------------------------------------------------------------- */
/* An SQL statement whose parameters are these variables. */
typedef struct Params {
    Cp *c;
    const int32_t *vars;
} Params;
static bool param_to_column(void *ctx, Expr *e) {
    const Params *p = ctx;
    if (e->kind != EX_PARAM) return true;
    const ColId col = p->c->vars.items[p->vars[e->u.param - 1]].col;
    e->kind = EX_COL;
    e->u.col = col;
    return true;
}
static Status param_slot(void *ctx, Expr **slot) {
    (void)expr_walk(*slot, param_to_column, ctx);
    return ST_OK;
}
static Status params_to_columns(Params *p, Plan *plan) {
    TRY(cp_stack(p->c));
    TRY(plan_each_expr(plan, param_slot, p));
    for (int32_t i = 0; i < plan->n_children; i++) TRY(params_to_columns(p, plan->children[i]));
    return ST_OK;
}
BoundStmt *cp_bind_text(Cp *c, const char *sql, int32_t n, const int32_t *vars) {
    AstStmt **list;
    int64_t n_stmts;
    BoundStmt *b;
    Params p = {c, vars};
    Type *types = arena_array(c->arena, Type, n + 1);
    PlanVariables *variables = c->ctx.variables;
    if (!sql || !types) return (void)cp_oom(c), NULL;
    for (int32_t i = 0; i < n; i++) types[i] = c->vars.items[vars[i]].type;
    c->ctx.variables = NULL;
    Status st = sql_parse(c->arena, slice_of(sql), &list, &n_stmts, &c->scratch);
    if (st == ST_OK) st = sql_bind(&c->ctx, list[0], n, types, &b);
    c->ctx.variables = variables;
    if (st != ST_OK) return (void)cp_refuse_error(c), NULL;
    Plan **plan = b->plan->kind == LP_AGG ? &b->plan->children[0] : &b->plan;
    if (cp_prepare_plan(c, plan, b->kind == STMT_SELECT ? NULL : b->table) != ST_OK ||
        params_to_columns(&p, b->plan) != ST_OK || !cp_entry(c, (ColId)c->ctx.cols.len))
        return NULL;
    return b;
}
/* "c.a = $1 and c.b = $2" */
static const char *refers_text(Cp *c, const ForeignKey *f) {
    const char *t = "";
    for (int i = 0; t && i < f->n_cols; i++) {
        const char *col = quote_name(c->arena, f->cols[i]);
        t = col ? arena_printf(c->arena, "%s%sc.%s = $%d", t, i ? " and " : "", col, i + 1) : NULL;
    }
    return t;
}
/* What an action sets: parameters behind those of the condition, NULL, or defaults. */
static const char *sets_text(Cp *c, const CpEvent *x, char action) {
    const ForeignKey *f = x->f;
    const bool some = x->kind == CP_KEY_DELETED && f->n_set_cols > 0;
    const char *t = "";
    for (int i = 0; t && i < (some ? f->n_set_cols : f->n_cols); i++) {
        const char *col = quote_name(c->arena, some ? f->set_cols[i] : f->cols[i]),
                   *v = action == 'c'   ? arena_printf(c->arena, "$%d", f->n_cols + i + 1)
                        : action == 'n' ? "null"
                                        : "default";
        t = col && v ? arena_printf(c->arena, "%s%s%s = %s", t, i ? ", " : "", col, v) : NULL;
    }
    return t;
}
static Status referring_row(Cp *c, void *ctx) { return raise_referenced(c, ctx); }

/* What is done for one key of the event: it is looked for, or an action's statement follows. */
typedef struct Gone {
    const CpEvent *x;
    char action;
    int32_t *vars; /* of parameters: the old key, then the new one */
    BoundStmt *b;
    CpEvents *events; /* of the action's statement */
} Gone;
static Status gone_prepare(Cp *c, const CpEvent *x, char action, Gone *g) {
    const ForeignKey *f = x->f;
    const int n = f->n_cols;
    const bool deletes = action == 'c' && x->kind == CP_KEY_DELETED, sets = action == 'c' && x->kind == CP_KEY_UPDATED;
    const char *table = quote_relation(c->arena, f->table), *where = refers_text(c, f);
    *g = (Gone){.x = x, .action = action, .vars = arena_array(c->arena, int32_t, 2 * n)};
    if (!table || !where || !g->vars) return cp_oom(c);
    for (int i = 0; i < n; i++) {
        if ((g->vars[i] = cp_var_new(c, NULL, x->child->cols[x->cols[i]].type)) < 0) return ST_ERROR;
        if (sets) g->vars[n + i] = x->of->now[x->ref[i]];
    }
    const bool looks = action == 'a' || action == 'r';
    const char *set = looks || deletes ? "" : sets_text(c, x, action),
               *sql = looks     ? arena_printf(c->arena, "select 1 from %s as c where %s", table, where)
                      : deletes ? arena_printf(c->arena, "delete from %s as c where %s", table, where)
                      : set     ? arena_printf(c->arena, "update %s as c set %s where %s", table, set, where)
                                : NULL;
    if (!sql || !(g->b = cp_bind_text(c, sql, sets ? 2 * n : n, g->vars))) return c->reason ? ST_ERROR : cp_oom(c);
    c->no_locks = true;
    if (looks) return ST_OK;
    return begin(c, x->child, g->b->n_set, deletes ? NULL : g->b->set_cols, deletes ? CP_DELETES_ROWS : CP_UPDATES,
                 false, f, action, &g->events);
}
static Status gone_statement(Cp *c, Gone *g) {
    int32_t open = 0;
    for (int i = 0; i < g->x->f->n_cols; i++) TRY(as_child(c, g->x, i, g->vars[i], &open));
    if (g->action == 'a' || g->action == 'r') {
        c->any_order++; /* the same error for each row that refers */
        TRY(cp_rows(c, g->b->plan, 0, NULL, referring_row, (void *)(uintptr_t)g->x, NULL));
        c->any_order--;
    } else if (g->b->kind == STMT_DELETE) TRY(cp_delete_rows(c, g->b, g->events));
    else TRY(cp_update_rows(c, g->b, g->events));
    while (open-- > 0) TRY(cp_control(c, OP_P_ENDIF, 0, 0));
    return ST_OK;
}
/* NO ACTION leaves a key alone that another row has by now. */
static bool may_be_back(Cp *c, const CpEvent *x, char action) {
    const int32_t number = cp_table(c, (Table *)(uintptr_t)x->parent);
    bool written = number < 0 || x->kind == CP_KEY_UPDATED;
    for (int i = 0; !written && i < x->f->n_cols; i++) written |= c->reg_tables.items[number]->written[x->ref[i]];
    return action == 'a' && written;
}
static Status gone_now(Cp *c, void *ctx) { return gone_statement(c, ctx); }
static Status gone_key(Cp *c, Gone *g) {
    const CpEvent *x = g->x;
    Expr *values[32] = {0};
    if (!may_be_back(c, x, g->action)) return gone_statement(c, g);
    for (int i = 0; i < x->f->n_cols; i++)
        if (!(values[i] = var_expr(c, x->of->old[x->ref[i]]))) return ST_ERROR;
    return look_up(c, x, values, gone_now, g);
}
/* A key without NULLs has gone, or is another one now. */
static Status gone_row(Cp *c, void *ctx) {
    Gone *g = ctx;
    const CpEvent *x = g->x;
    int32_t open = 0;
    Reg same = 0;
    for (int i = 0; i < x->f->n_cols; i++) {
        if (x->parent->cols[x->ref[i]].not_null) continue;
        TRY(cp_control(c, OP_P_IF, cp_test(c, OP_IS_NOT_NULL, cp_load(c, x->of->old[x->ref[i]])), 0));
        open++;
    }
    for (int i = 0; x->kind == CP_KEY_UPDATED && i < x->f->n_cols; i++) {
        const int32_t col = x->ref[i];
        const Phys p = type_phys(x->parent->cols[col].type);
        const Reg one = cp_cmp(c, OP_EQ, p, cp_load(c, x->of->old[col]), cp_load(c, x->of->now[col]));
        same = same ? cp_emit(c, OP_AND, PH_BOOL, type_make(T_BOOL), true, same, one, 0) : one;
        if (!same) return ST_ERROR;
    }
    if (same) {
        TRY(cp_control(c, OP_P_IF, cp_test(c, OP_IS_TRUE, same), 0));
        TRY(cp_control(c, OP_P_ELSE, 0, 0));
        open++;
    }
    TRY(gone_key(c, g));
    while (open-- > 0) TRY(cp_control(c, OP_P_ENDIF, 0, 0));
    return ST_OK;
}

/* ---- events, one after the other ------------------------------------------------------------------------ */
/* The values of the buffer's row `at` go to their variables. */
static Status read_row(Cp *c, const CpEvents *e, int32_t at) {
    int32_t col = 0;
    for (int i = 0; i < e->table->n_cols; i++) {
        if (e->old[i] >= 0) TRY(cp_store(c, e->old[i], cp_buffer_get(c, e->buffer, at, col++)));
        if (e->now[i] >= 0) TRY(cp_store(c, e->now[i], cp_buffer_get(c, e->buffer, at, col++)));
    }
    return ST_OK;
}
static Status each_row(Cp *c, CpEvents *e, CpPart row, void *ctx) {
    const Type i8 = type_make(T_INT8);
    if (!e->buffer) return row(c, ctx);
    const int32_t loop = c->flow.next_block++, at = cp_var_new(c, NULL, i8);
    if (at < 0) return ST_ERROR;
    if (!e->sorted) TRY(cp_buffer_sort(c, e->buffer));
    e->sorted = true;
    TRY(cp_store_int(c, at, 0));
    TRY(cp_control(c, OP_P_LOOP, 0, loop));
    TRY(cp_leave_if(c, cp_cmp(c, OP_GE, PH_I64, cp_load(c, at), cp_load(c, e->buffer->count)), loop));
    TRY(read_row(c, e, at));
    TRY(cp_add_one(c, at));
    TRY(row(c, ctx));
    return cp_control(c, OP_P_ENDLOOP, 0, loop);
}
static Status written_row(Cp *c, void *ctx) { return check_written(c, ctx); }
static Status run_event(Cp *c, CpEvent *x) {
    const char action = x->kind == CP_KEY_DELETED ? x->f->on_delete : x->f->on_update;
    Gone g;
    if (x->kind == CP_KEY_WRITTEN) return each_row(c, x->of, written_row, x);
    TRY(gone_prepare(c, x, action, &g));
    TRY(each_row(c, x->of, gone_row, &g));
    TRY(cp_events_end(c, g.events));
    if (action != 'd') return ST_OK;
    /* A row may have had the default before: nothing has become of its key. */
    TRY(gone_prepare(c, x, 'a', &g));
    return each_row(c, x->of, gone_row, &g);
}

CpQuery cp_query_apart(Cp *c) {
    const CpQuery was = c->query;
    c->query = (CpQuery){.rows = was.rows, .ctes = was.ctes, .write_tables = was.write_tables};
    c->query.in_scope = colset_new(&c->ctx);
    return was;
}
void cp_query_back(Cp *c, const CpQuery *was) {
    CpQuery q = *was;
    q.write_tables = c->query.write_tables;
    c->query = q;
}
static Status push_events(Cp *c, CpEvents *e) {
    for (int32_t i = 0; i < e->n; i++) {
        CpEvent *x = &e->items[i];
        if (!vec_push(c->arena, &c->events->list, x)) return cp_oom(c);
    }
    return ST_OK;
}
/* The events of the statement, and those that follow from them. What is compiled around stays as it is. */
static Status settle(Cp *c, CpEvents *e) {
    TRY(cp_stack(c));
    struct CpQueue q = {{0}};
    const CpQuery was = cp_query_apart(c);
    c->events = &q;
    TRY(push_events(c, e));
    for (int64_t i = 0; i < q.list.len; i++) {
        if (i == EVENTS_MAX) return cp_refuse(c, "actions of foreign keys that follow one another without end");
        TRY(run_event(c, q.list.items[i]));
    }
    cp_query_back(c, &was);
    c->events = NULL;
    return ST_OK;
}
Status cp_events_end(Cp *c, CpEvents *e) {
    if (!e || !e->buffer) return ST_OK;
    return c->events ? push_events(c, e) : settle(c, e);
}
