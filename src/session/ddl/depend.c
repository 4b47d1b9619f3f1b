/* depend.c - what is there only because something else is: DROP refuses because of it (2BP01), or takes it along
 * (CASCADE).
 *
 * Nothing is kept of dependencies but what views read (View.sources). Everything else is found by binding texts of the
 * catalog again, which is exact and costs little where definitions are few; never by searching texts. A dependency
 * through another view is that view's.
 */
#include <stdio.h>

#include "session/ddl/access.h"
#include "session/ddl/depend.h"
#include "session/ddl/utility_int.h"
#include "sql/bind/bind.h"
#include "sql/parse/parse.h"
#include "sql/pl/pl.h"

void dependents_init(Dependents *d, Session *s, Statement *st) {
    *d = (Dependents){.s = s, .st = st, .a = st->run_arena};
}

static const char *shown(const Dependents *d, const char *key) {
    const char *name = catalog_shown(&d->s->db->catalog, d->a, key);
    return name ? name : name_of_key(key); /* the arena has said that there is no memory */
}
const char *dependents_called(Dependents *d, const char *kind, const char *key) {
    return arena_printf(d->a, "%s %s", kind, shown(d, key));
}

const char *dependents_routine(Dependents *d, const Routine *r) {
    const char *text = pl_signature_text(d->a, r);
    if (!text || search_path_has(schema_of_key(r->name))) return text ? name_of_key(text) : NULL;
    return key_has_schema(text) ? keys_dotted(d->a, text) : arena_printf(d->a, "public.%s", text);
}

static bool spares_view(const Dependents *d, const View *v) {
    for (int64_t i = 0; i < d->spared_views.len; i++)
        if (d->spared_views.items[i] == v) return true;
    return false;
}
static bool spares_table(const Dependents *d, const char *name) {
    for (int64_t i = 0; i < d->spared_tables.len; i++)
        if (strcmp(d->spared_tables.items[i]->name, name) == 0) return true;
    return false;
}
Status dependents_spare_view(Dependents *d, const View *v) {
    return spares_view(d, v) || vec_push(d->a, &d->spared_views, v) ? ST_OK : ST_ERROR;
}
Status dependents_spare_table(Dependents *d, const Table *t) {
    return spares_table(d, t->name) || vec_push(d->a, &d->spared_tables, t) ? ST_OK : ST_ERROR;
}

/* ---- finding ------------------------------------------------------------------------------------- */

/* It goes with a schema. */
static bool goes_with_schema(const Dependents *d, const Dependent *x) {
    const char *key = x->view      ? x->view->name
                      : x->foreign ? x->foreign->table
                      : x->routine ? x->routine->name
                      : x->domain  ? x->domain->name
                      : x->range   ? x->range->name
                                   : x->table;
    for (int64_t i = 0; key && i < d->schemas.len; i++)
        if (key_is_in(key, d->schemas.items[i])) return true;
    return false;
}
static Status add(Dependents *d, Dependent x, const char *on) {
    if (goes_with_schema(d, &x)) return ST_OK;
    for (int64_t i = 0; i < d->found.len; i++) {
        const Dependent *y = &d->found.items[i];
        const bool of_domain =
            x.kind == DEPENDENT_DOMAIN_CHECK || x.kind == DEPENDENT_DOMAIN_DEFAULT || x.kind == DEPENDENT_ATTRIBUTE;
        if (x.kind == y->kind && x.view == y->view && x.foreign == y->foreign && strcmp(x.what, y->what) == 0 &&
            !(of_domain && strcmp(x.table, y->table) != 0))
            return ST_OK;
    }
    if (!(x.line = arena_printf(d->a, "%s depends on %s", x.what, on))) return ST_ERROR;
    return vec_push(d->a, &d->found, x) ? ST_OK : ST_ERROR;
}
Status dependents_of_schema(Dependents *d, const char *what, const char *schema) {
    if (!what) return ST_ERROR;
    Dependent x = {.kind = DEPENDENT_CONTENT, .what = what};
    x.line = arena_printf(d->a, "%s depends on schema %s", what, schema);
    return x.line && vec_push(d->a, &d->found, x) ? ST_OK : ST_ERROR;
}
static Status add_foreign(Dependents *d, ForeignKey *f, const char *on) {
    const char *what = arena_printf(d->a, "constraint %s on table %s", f->name, shown(d, f->table));
    return what ? add(d, (Dependent){.kind = DEPENDENT_FOREIGN, .foreign = f, .what = what}, on) : ST_ERROR;
}

static bool reads(const View *v, const char *relation) {
    for (int i = 0; i < v->n_sources; i++)
        if (strcmp(v->sources[i].relation, relation) == 0) return true;
    return false;
}

static Status add_readers(Dependents *d, const char *relation, const char *on);
static Status of_row_type(Dependents *d, const Table *t);
/* A view, and the views that read it. */
static Status add_view(Dependents *d, View *v, const char *on) {
    TRY(stack_check(&d->s->err));
    for (int64_t i = 0; i < d->found.len; i++)
        if (d->found.items[i].view == v) return ST_OK;
    const char *what = arena_printf(d->a, v->materialized ? "materialized view %s" : "view %s", shown(d, v->name));
    if (!what) return ST_ERROR;
    if (!spares_view(d, v)) TRY(add(d, (Dependent){.kind = DEPENDENT_VIEW, .view = v, .what = what}, on));
    return spares_view(d, v) ? ST_OK : add_readers(d, v->name, what);
}
static Status add_readers(Dependents *d, const char *relation, const char *on) {
    const Catalog *k = &d->s->db->catalog;
    for (int64_t i = 0; i < k->n_views; i++)
        if (reads(k->views[i], relation) && strcmp(k->views[i]->name, relation) != 0) TRY(add_view(d, k->views[i], on));
    return ST_OK;
}

/* Views that a condition is true of, by themselves: of none of the views that they read. */
static Status add_views_of(Dependents *d, const bool *holds, const char *on) {
    const Catalog *k = &d->s->db->catalog;
    if (err_is_set(&d->s->err)) return ST_ERROR; /* memory ran out where texts were bound */
    for (int64_t i = 0; i < k->n_views; i++) {
        bool direct = holds[i];
        for (int64_t j = 0; j < k->n_views && direct; j++)
            direct = !(holds[j] && j != i && reads(k->views[i], k->views[j]->name));
        if (direct) TRY(add_view(d, k->views[i], on));
    }
    return ST_OK;
}

Status dependents_of_view(Dependents *d, const View *v) {
    const char *on = arena_printf(d->a, v->materialized ? "materialized view %s" : "view %s", shown(d, v->name));
    if (!on) return ST_ERROR;
    if (v->materialized) TRY(of_row_type(d, catalog_table(&d->s->db->catalog, slice_of(v->name))));
    return add_readers(d, v->name, on);
}

static Status of_owned_sequences(Dependents *d, const Table *t, const char *column);
Status dependents_of_table(Dependents *d, const Table *t) {
    const Catalog *k = &d->s->db->catalog;
    const char *on = arena_printf(d->a, "table %s", shown(d, t->name));
    if (!on) return ST_ERROR;
    for (int64_t i = 0; i < k->n_foreign; i++)
        if (strcmp(k->foreign[i]->ref_table, t->name) == 0 && strcmp(k->foreign[i]->table, t->name) != 0 &&
            !spares_table(d, k->foreign[i]->table))
            TRY(add_foreign(d, k->foreign[i], on));
    TRY(of_row_type(d, t));
    TRY(of_owned_sequences(d, t, NULL));
    return add_readers(d, t->name, on);
}

/* The view as it is when its sources have lost a column that it does not use. */
static Status without_column(Arena *a, const View *v, const char *table, const char *column, View *out) {
    *out = *v;
    if (!(out->sources = arena_array(a, ViewSource, v->n_sources + 1))) return ST_ERROR;
    for (int i = 0; i < v->n_sources; i++) {
        const ViewSource *from = &v->sources[i];
        ViewSource *to = &out->sources[i];
        *to = *from;
        if (strcmp(from->relation, table) != 0) continue;
        to->n_cols = 0;
        to->cols = arena_array(a, char *, from->n_cols + 1);
        to->names = arena_array(a, char *, from->n_cols + 1);
        if (!to->cols || !to->names) return ST_ERROR;
        for (int c = 0; c < from->n_cols; c++) {
            if (strcmp(from->cols[c], column) == 0) continue;
            to->cols[to->n_cols] = from->cols[c];
            to->names[to->n_cols++] = from->names[c];
        }
    }
    return ST_OK;
}

typedef struct UsedCols {
    PlanCtx *c;
    ColSet set;
} UsedCols;
static void add_used(void *ctx, Expr *e) {
    UsedCols *u = ctx;
    if (e->kind == EX_COL) colset_add(u->c, &u->set, e->u.col);
}

/* The columns of the table that what is bound names; n_result: of the view. false: the view does not bind. */
static bool bound_columns(Session *s, Arena *a, const View *v, const Table *t, bool *uses, int32_t *n_result) {
    PlanCtx c;
    BoundStmt *b;
    memset(uses, 0, (size_t)t->n_cols);
    if (!try_view(s, a, v, &c, &b)) return false;
    UsedCols used = {&c, colset_new(&c)};
    plan_visit(&(PlanVisitor){.ctx = &used, .expr = add_used}, b->plan);
    for (int32_t k = 0; k < b->n_result; k++) colset_add(&c, &used.set, b->result[k]);
    for (ColId id = 1; id < c.cols.len; id++)
        if (c.cols.items[id].table == t && c.cols.items[id].col >= 0 && colset_has(&used.set, id))
            uses[c.cols.items[id].col] = true;
    *n_result = b->n_result;
    return true;
}
/* What binding has already left out, such as the condition of a constant, names the column. */
static bool fails_without(Session *s, Arena *a, const View *v, const Table *t, int col, int32_t n_result) {
    PlanCtx c;
    BoundStmt *b;
    View rest;
    return without_column(a, v, t->name, t->cols[col].name, &rest) != ST_OK || !try_view(s, a, &rest, &c, &b) ||
           b->n_result != n_result;
}
bool view_uses_column(Session *s, Arena *a, const View *v, const Table *t, int col) {
    bool *uses = arena_array(a, bool, t->n_cols + 1);
    int32_t n;
    if (!uses || !bound_columns(s, a, v, t, uses, &n)) return false;
    return uses[col] || (reads(v, t->name) && fails_without(s, a, v, t, col, n));
}
const bool *view_used_columns(Session *s, Arena *a, const View *v, const Table *t) {
    bool *uses = arena_array(a, bool, t->n_cols + 1);
    int32_t n;
    if (!uses || !bound_columns(s, a, v, t, uses, &n) || !reads(v, t->name)) return uses;
    for (int i = 0; i < t->n_cols; i++) uses[i] = uses[i] || fails_without(s, a, v, t, i, n);
    return uses;
}

bool text_uses_column(Session *s, Arena *a, const Table *t, const char *sql, int col) {
    PlanCtx c;
    BoundStmt *b;
    const char *table = quote_relation(a, t->name);
    if (!table || !try_query(s, a, arena_printf(a, "select (%s\n) from %s", sql, table), &c, &b)) return false;
    UsedCols used = {&c, colset_new(&c)};
    plan_visit(&(PlanVisitor){.ctx = &used, .expr = add_used}, b->plan);
    for (int32_t k = 0; k < b->n_result; k++) colset_add(&c, &used.set, b->result[k]);
    for (ColId id = 1; id < c.cols.len; id++)
        if (c.cols.items[id].table == t && c.cols.items[id].col == col && colset_has(&used.set, id)) return true;
    return false;
}
static Status add_generated(Dependents *d, const Table *t, int col, const char *on) {
    for (int i = 0; i < t->n_cols; i++) {
        const Column *g = &t->cols[i];
        if (g->kind != COLUMN_GENERATED || i == col || !text_uses_column(d->s, d->a, t, g->default_sql, col)) continue;
        Dependent y = {.kind = DEPENDENT_COLUMN, .table = t->name, .name = g->name};
        y.what = arena_printf(d->a, "column %s of table %s", g->name, shown(d, t->name));
        TRY(y.what ? add(d, y, on) : ST_ERROR);
    }
    return ST_OK;
}
static Status of_column_in_policies(Dependents *d, const Table *t, int col, const char *on) {
    const RowSecurity *x = catalog_row_security(&d->s->db->catalog, t->name);
    for (int i = 0; x && i < x->n_policies; i++) {
        if (!policy_uses_column(d->s, d->a, t, &x->policies[i], col)) continue;
        Dependent y = {.kind = DEPENDENT_POLICY, .table = t->name, .name = x->policies[i].name};
        y.what = arena_printf(d->a, "policy %s on table %s", y.name, shown(d, t->name));
        if (!y.what) return ST_ERROR;
        TRY(add(d, y, on));
    }
    return err_is_set(&d->s->err) ? ST_ERROR : ST_OK;
}
Status dependents_of_column(Dependents *d, const Table *t, int col) {
    const Catalog *k = &d->s->db->catalog;
    const char *name = t->cols[col].name, *on = arena_printf(d->a, "column %s of table %s", name, shown(d, t->name));
    bool *holds = arena_array(d->a, bool, k->n_views + 1);
    if (!on || !holds) return ST_ERROR;
    for (int64_t i = 0; i < k->n_foreign; i++) {
        ForeignKey *f = k->foreign[i];
        bool mine = false, theirs = false;
        for (int c = 0; c < f->n_cols; c++) {
            mine |= strcmp(f->table, t->name) == 0 && strcmp(f->cols[c], name) == 0;
            theirs |= strcmp(f->ref_table, t->name) == 0 && strcmp(f->ref_cols[c], name) == 0;
        }
        if (theirs && !mine) TRY(add_foreign(d, f, on));
    }
    for (int i = 0; i < t->n_keys; i++) { /* a key goes with a column that it includes */
        const IndexDef *def = catalog_index_def(k, t->name, t->keys[i].name);
        for (int c = 0; def && c < def->n_include; c++)
            if (strcmp(def->include[c], name) == 0) TRY(dependents_of_key(d, t, i));
    }
    TRY(of_owned_sequences(d, t, name));
    TRY(add_generated(d, t, col, on));
    TRY(of_column_in_policies(d, t, col, on));
    for (int64_t i = 0; i < k->n_views; i++) holds[i] = view_uses_column(d->s, d->a, k->views[i], t, col);
    return add_views_of(d, holds, on);
}

Status dependents_of_key(Dependents *d, const Table *t, int key) {
    const Catalog *k = &d->s->db->catalog;
    const char *on = arena_printf(d->a, "constraint %s on table %s", name_of_key(t->keys[key].name), shown(d, t->name));
    const char *index = arena_printf(d->a, "index %s", shown(d, t->keys[key].name));
    bool *holds = arena_array(d->a, bool, k->n_views + 1);
    if (!on || !index || !holds) return ST_ERROR;
    for (int64_t i = 0; i < k->n_foreign; i++)
        if (foreign_is_of_key(k->foreign[i], t, key)) TRY(add_foreign(d, k->foreign[i], index));
    for (int64_t i = 0; i < k->n_views; i++) {
        PlanCtx c;
        BoundStmt *b;
        if (!try_view(d->s, d->a, k->views[i], &c, &b)) continue;
        for (int64_t j = 0; j < c.grouped_keys.len; j++)
            holds[i] |= c.grouped_keys.items[j].table == t && c.grouped_keys.items[j].key == key;
    }
    return add_views_of(d, holds, on);
}

static bool calls(const PlanCtx *c, const Routine *r) {
    for (int64_t j = 0; j < c->routine_ids.len; j++)
        if (c->routine_ids.items[j] == r->id) return true;
    return false;
}
/* Binds an expression over rows of the table: a DEFAULT, a CHECK, a part of an index. False: there is none (NULL), or
 * it does not bind. */
static bool try_text(Dependents *d, const Table *t, const char *sql, PlanCtx *c, BoundStmt **b) {
    const char *table = sql ? quote_relation(d->a, t->name) : NULL;
    return table && try_query(d->s, d->a, arena_printf(d->a, "select (%s\n) from %s", sql, table), c, b);
}
static bool text_calls(Dependents *d, const Table *t, const char *sql, const Routine *r) {
    PlanCtx c;
    BoundStmt *b;
    return try_text(d, t, sql, &c, &b) && calls(&c, r);
}
/* Of the definitions of its indexes; unique ones call none. */
static Status of_routine_in_indexes(Dependents *d, const Table *t, const Routine *r, const char *on) {
    const Catalog *k = &d->s->db->catalog;
    for (int64_t i = 0; i < k->n_index_defs; i++) {
        const IndexDef *x = k->index_defs[i];
        if (strcmp(x->table, t->name) != 0) continue;
        bool yes = text_calls(d, t, x->where, r);
        for (int p = 0; p < x->n_parts && !yes; p++) yes = text_calls(d, t, x->parts[p].text, r);
        if (!yes) continue;
        const char *what = arena_printf(d->a, "index %s", shown(d, x->name));
        if (!what) return ST_ERROR;
        TRY(add(d, (Dependent){.kind = DEPENDENT_INDEX, .table = t->name, .name = x->name, .what = what}, on));
    }
    return ST_OK;
}
static Status of_routine_in_table(Dependents *d, const Table *t, const Routine *r, const char *on) {
    for (int i = 0; i < t->n_cols; i++) {
        if (!text_calls(d, t, t->cols[i].default_sql, r)) continue;
        const char *what =
            arena_printf(d->a, "default value for column %s of table %s", t->cols[i].name, shown(d, t->name));
        if (!what) return ST_ERROR;
        TRY(add(d, (Dependent){.kind = DEPENDENT_DEFAULT, .table = t->name, .name = t->cols[i].name, .what = what},
                on));
    }
    for (int i = 0; i < t->n_checks; i++) {
        if (!text_calls(d, t, t->checks[i].sql, r)) continue;
        const char *what = arena_printf(d->a, "constraint %s on table %s", t->checks[i].name, shown(d, t->name));
        if (!what) return ST_ERROR;
        TRY(add(d, (Dependent){.kind = DEPENDENT_CHECK, .table = t->name, .name = t->checks[i].name, .what = what},
                on));
    }
    return of_routine_in_indexes(d, t, r, on);
}

static bool is_defined_as(Type t, int32_t number) {
    if (t.id == T_ARRAY) t = type_element(t);
    return type_is_defined(t) && t.length == number;
}
/* The default of a domain, or a condition of VALUE, bound; false: there is none (NULL), or it does not bind. */
bool try_domain_text(Session *s, Arena *a, const Domain *x, const char *sql, PlanCtx *c, BoundStmt **b) {
    char type[TYPE_NAME_MAX];
    const char *query =
        sql ? arena_printf(a, "select (%s\n) from (select null::%s as value) v", sql, type_full_name(x->type, &type))
            : NULL;
    if (!query || !try_query(s, a, query, c, b)) return false;
    for (int64_t i = 0; i < c->type_numbers.len; i++) { /* without the one in FROM */
        if (!is_defined_as(x->type, c->type_numbers.items[i])) continue;
        c->type_numbers.items[i] = c->type_numbers.items[--c->type_numbers.len];
        break;
    }
    return true;
}
static Status add_domain_default(Dependents *d, const Domain *x, const char *on) {
    const char *shown = domain_shown(d->a, x);
    const char *what = shown ? arena_printf(d->a, "default value for type %s", shown) : NULL;
    if (!what) return ST_ERROR;
    return add(d, (Dependent){.kind = DEPENDENT_DOMAIN_DEFAULT, .table = x->name, .what = what, .direct = true}, on);
}
static Status add_domain_check(Dependents *d, const Domain *x, const char *name, const char *on) {
    const char *what = arena_printf(d->a, "constraint %s", name);
    if (!what) return ST_ERROR;
    const Dependent y = {.kind = DEPENDENT_DOMAIN_CHECK, .table = x->name, .name = name, .what = what, .direct = true};
    return add(d, y, on);
}
static bool domain_text_calls(Dependents *d, const Domain *x, const char *sql, const Routine *r) {
    PlanCtx c;
    BoundStmt *b;
    return try_domain_text(d->s, d->a, x, sql, &c, &b) && calls(&c, r);
}
static Status of_routine_in_domain(Dependents *d, const Domain *x, const Routine *r, const char *on) {
    if (domain_text_calls(d, x, x->default_sql, r)) TRY(add_domain_default(d, x, on));
    for (int i = 0; i < x->n_checks; i++)
        if (domain_text_calls(d, x, x->checks[i].sql, r)) TRY(add_domain_check(d, x, x->checks[i].name, on));
    return ST_OK;
}

/* Defaults of views' columns, for changes through these, that `depends` is true of. */
typedef bool (*BoundTest)(const Dependents *d, const PlanCtx *c, const BoundStmt *b, const void *ctx);
static Status of_view_defaults(Dependents *d, BoundTest depends, const void *ctx, const char *on) {
    const Catalog *k = &d->s->db->catalog;
    for (int64_t i = 0; i < k->n_views; i++) {
        View *v = k->views[i];
        PlanCtx c, of_default;
        BoundStmt *b, *value;
        if (v->n_defaults == 0 || spares_view(d, v) || !try_view(d->s, d->a, v, &c, &b)) continue;
        for (int n = 0; n < v->n_defaults && n < b->n_result; n++) {
            const char *sql = v->defaults[n] ? arena_printf(d->a, "select (%s\n)", v->defaults[n]) : NULL;
            if (!sql || !try_query(d->s, d->a, sql, &of_default, &value)) continue;
            if (!depends(d, &of_default, value, ctx)) continue;
            Dependent y = {.kind = DEPENDENT_DEFAULT, .table = v->name, .name = b->names[n], .direct = true};
            y.what = arena_printf(d->a, "default value for column %s of view %s", y.name, shown(d, v->name));
            TRY(y.what ? add(d, y, on) : ST_ERROR);
        }
    }
    return ST_OK;
}
static bool default_calls(const Dependents *d, const PlanCtx *c, const BoundStmt *b, const void *routine) {
    (void)d, (void)b;
    return calls(c, routine);
}

static Status of_routine_in_aggregate(Dependents *d, Routine *x, const Routine *r, const char *on) {
    Err none = {0};
    PlanCtx c;
    if (x == r || !routine_is_aggregate(x)) return ST_OK;
    plan_ctx_init(d->s, d->a, &c);
    c.err = &none;
    if (sql_bind_aggregate(&c, x) != ST_OK || !calls(&c, r)) return ST_OK;
    const char *sig = dependents_routine(d, x), *what = sig ? arena_printf(d->a, "function %s", sig) : NULL;
    if (!what) return ST_ERROR;
    TRY(add(d, (Dependent){.kind = DEPENDENT_ROUTINE, .routine = x, .what = what, .direct = true}, on));
    return dependents_of_routine(d, x);
}
Status dependents_of_routine(Dependents *d, const Routine *r) {
    const Catalog *k = &d->s->db->catalog;
    TRY(stack_check(&d->s->err));
    const char *sig = dependents_routine(d, r);
    const char *on = sig ? arena_printf(d->a, "%s %s", r->is_procedure ? "procedure" : "function", sig) : NULL;
    bool *holds = arena_array(d->a, bool, k->n_views + 1);
    if (!on || !holds) return ST_ERROR;
    for (int64_t i = 0; i < k->n_tables; i++) TRY(of_routine_in_table(d, k->tables[i], r, on));
    for (int64_t i = 0; i < k->n_domains; i++) TRY(of_routine_in_domain(d, k->domains[i], r, on));
    for (int64_t i = 0; i < k->n_routines; i++) TRY(of_routine_in_aggregate(d, k->routines[i], r, on));
    TRY(of_view_defaults(d, default_calls, r, on));
    for (int64_t i = 0; i < k->n_views; i++) {
        PlanCtx c;
        BoundStmt *b;
        holds[i] = try_view(d->s, d->a, k->views[i], &c, &b) && calls(&c, r);
    }
    return add_views_of(d, holds, on);
}

/* ---- sequences ---- */

static bool names_sequence(const PlanCtx *c, const Sequence *q) {
    for (int64_t i = 0; i < c->sequences.named.len; i++)
        if (c->sequences.named.items[i].sequence == q->id) return true;
    return false;
}
static bool text_names(Dependents *d, const Table *t, const char *sql, const Sequence *q) {
    PlanCtx c;
    BoundStmt *b;
    return try_text(d, t, sql, &c, &b) && names_sequence(&c, q);
}
static bool domain_text_names(Dependents *d, const Domain *x, const char *sql, const Sequence *q) {
    PlanCtx c;
    BoundStmt *b;
    return try_domain_text(d->s, d->a, x, sql, &c, &b) && names_sequence(&c, q);
}
static Status of_sequence_in_table(Dependents *d, const Table *t, const Sequence *q, const char *but, const char *on) {
    for (int i = 0; i < t->n_cols; i++) {
        if (but && strcmp(t->cols[i].name, but) == 0) continue;
        if (t->cols[i].kind == COLUMN_GENERATED || !text_names(d, t, t->cols[i].default_sql, q)) continue;
        Dependent y = {.kind = DEPENDENT_DEFAULT, .table = t->name, .name = t->cols[i].name};
        y.what = arena_printf(d->a, "default value for column %s of table %s", t->cols[i].name, shown(d, t->name));
        TRY(y.what ? add(d, y, on) : ST_ERROR);
    }
    for (int i = 0; i < t->n_checks; i++) {
        if (!text_names(d, t, t->checks[i].sql, q)) continue;
        Dependent y = {.kind = DEPENDENT_CHECK, .table = t->name, .name = t->checks[i].name};
        y.what = arena_printf(d->a, "constraint %s on table %s", t->checks[i].name, shown(d, t->name));
        TRY(y.what ? add(d, y, on) : ST_ERROR);
    }
    return ST_OK;
}
static bool default_names(const Dependents *d, const PlanCtx *c, const BoundStmt *b, const void *sequence) {
    (void)d, (void)b;
    return names_sequence(c, sequence);
}
Status dependents_of_sequence(Dependents *d, const Sequence *q, const char *table, const char *column) {
    const Catalog *k = &d->s->db->catalog;
    const char *on = arena_printf(d->a, "sequence %s", shown(d, q->name));
    bool *holds = arena_array(d->a, bool, k->n_views + 1);
    if (!on || !holds) return ST_ERROR;
    for (int64_t i = 0; i < k->n_tables; i++) {
        const bool mine = table && strcmp(k->tables[i]->name, table) == 0;
        if (spares_table(d, k->tables[i]->name) || (mine && !column)) continue;
        TRY(of_sequence_in_table(d, k->tables[i], q, mine ? column : NULL, on));
    }
    for (int64_t i = 0; i < k->n_domains; i++)
        if (domain_text_names(d, k->domains[i], k->domains[i]->default_sql, q))
            TRY(add_domain_default(d, k->domains[i], on));
    TRY(of_view_defaults(d, default_names, q, on));
    for (int64_t i = 0; i < k->n_views; i++) {
        PlanCtx c;
        BoundStmt *b;
        holds[i] = try_view(d->s, d->a, k->views[i], &c, &b) && names_sequence(&c, q);
        if (d->renames && reads(k->views[i], q->name)) holds[i] = false; /* it reads it as a table: it follows */
    }
    return add_views_of(d, holds, on);
}
/* Of those that go with the table, or a column of it. */
static Status of_owned_sequences(Dependents *d, const Table *t, const char *column) {
    const Catalog *k = &d->s->db->catalog;
    for (int64_t i = 0; i < k->n_sequences; i++) {
        const Sequence *q = k->sequences[i];
        if (!q->owner_table || strcmp(q->owner_table, t->name) != 0) continue;
        if (!column || strcmp(q->owner_column, column) == 0) TRY(dependents_of_sequence(d, q, t->name, column));
    }
    return ST_OK;
}

/* ---- types ---- */

typedef struct NamesType {
    NamedType x;
    int32_t code;
    bool label;  /* the value of the enumerated type with that code */
    bool value;  /* a value of it */
    bool named;  /* its name */
    bool column; /* a column of that type */
} NamesType;
static int32_t number_of(NamedType x) {
    return x.enumerated ? x.enumerated->number : x.composite ? x.composite->number : x.range ? x.range->number : 0;
}
static bool is_of(Type t, int64_t domain, NamedType x) {
    if (x.domain) return domain == x.domain->id;
    return domain == 0 && is_defined_as(t, number_of(x)); /* else it is the domain's business */
}
static void add_names(void *ctx, Expr *e) {
    NamesType *n = ctx;
    if (n->x.enumerated && e->kind == EX_CONST && is_defined_as(e->type, n->x.enumerated->number) &&
        !e->u.value.is_null)
        n->label |= e->type.id == T_ARRAY || e->u.value.u.i32 == n->code; /* an array may have it */
    if (is_of(e->type, e->domain, n->x)) *(e->kind == EX_COL ? &n->column : &n->value) = true;
}
static void names_in_plan(NamesType *n, const PlanCtx *c, Plan *p) {
    plan_visit(&(PlanVisitor){.ctx = n, .expr = add_names}, p);
    for (int64_t i = 0; n->x.domain && i < c->domain_ids.len; i++)
        n->named |= c->domain_ids.items[i] == n->x.domain->id;
    for (int64_t i = 0; !n->x.domain && i < c->type_numbers.len; i++)
        n->named |= c->type_numbers.items[i] == number_of(n->x);
    if (n->x.domain) n->value = n->named; /* a domain is in a text by its name only */
}
/* Whether a bound text depends on the type. A domain is in it by its name; values of an enumerated type may be without,
 * but then the text goes with the columns of the type that it has. For another name only texts with the name count. */
static bool depends(const Dependents *d, const NamesType *n) {
    if (n->x.domain || d->renames) return n->named;
    return (n->value || n->named) && !n->column;
}
/* A DEFAULT or CHECK of a table, or a part of an index. */
static bool text_depends(Dependents *d, const Table *t, const char *sql, NamedType x) {
    PlanCtx c;
    BoundStmt *b;
    NamesType n = {.x = x};
    if (!try_text(d, t, sql, &c, &b)) return false;
    names_in_plan(&n, &c, b->plan);
    return depends(d, &n);
}
static bool index_depends(Dependents *d, const Table *t, const IndexDef *e, NamedType x) {
    bool yes = text_depends(d, t, e->where, x);
    for (int p = 0; p < e->n_parts && !yes; p++) yes = text_depends(d, t, e->parts[p].text, x);
    return yes;
}

static Status of_type_in_column(Dependents *d, const Table *t, int i, NamedType x, const char *on) {
    const Column *c = &t->cols[i];
    Dependent y = {.table = t->name, .name = c->name, .direct = true};
    const bool of_type = is_of(c->type, c->domain, x);
    View *kept = of_type && !d->renames ? catalog_matview(&d->s->db->catalog, slice_of(t->name)) : NULL;
    if (kept) return add_view(d, kept, on); /* its columns do not go by themselves */
    if (of_type) {
        y.kind = DEPENDENT_COLUMN;
        if (!(y.what = arena_printf(d->a, "column %s of table %s", c->name, t->name))) return ST_ERROR;
        TRY(add(d, y, on));
        TRY(dependents_of_column(d, t, i));
    }
    if ((of_type && !d->renames) || !text_depends(d, t, c->default_sql, x)) return ST_OK;
    const bool column = c->kind == COLUMN_GENERATED && !d->renames; /* it goes with what it is computed by */
    y.kind = column ? DEPENDENT_COLUMN : DEPENDENT_DEFAULT;
    y.what = arena_printf(d->a, column ? "column %s of table %s" : "default value for column %s of table %s", c->name,
                          shown(d, t->name));
    return y.what ? add(d, y, on) : ST_ERROR;
}
static Status of_type_in_table(Dependents *d, const Table *t, NamedType x, const char *on) {
    for (int i = 0; i < t->n_cols; i++) TRY(of_type_in_column(d, t, i, x, on));
    for (int i = 0; i < t->n_checks; i++) {
        if (!text_depends(d, t, t->checks[i].sql, x)) continue;
        Dependent y = {.kind = DEPENDENT_CHECK, .table = t->name, .name = t->checks[i].name, .direct = true};
        y.what = arena_printf(d->a, "constraint %s on table %s", t->checks[i].name, shown(d, t->name));
        if (!y.what) return ST_ERROR;
        TRY(add(d, y, on));
    }
    const Catalog *k = &d->s->db->catalog;
    for (int64_t i = 0; i < k->n_index_defs; i++) {
        const IndexDef *e = k->index_defs[i];
        if (strcmp(e->table, t->name) != 0 || !index_depends(d, t, e, x)) continue;
        Dependent y = {.kind = DEPENDENT_INDEX, .table = t->name, .name = e->name, .direct = true};
        if (!(y.what = arena_printf(d->a, "index %s", e->name))) return ST_ERROR;
        TRY(add(d, y, on));
    }
    return ST_OK;
}

static Status of_type_in_routine(Dependents *d, Routine *r, NamedType x, const char *on) {
    bool uses = is_of(r->ret, r->ret_domain, x);
    for (int i = 0; i < r->n_params; i++) uses |= is_of(r->param_types[i], r->param_domains[i], x);
    if (!uses) return ST_OK;
    const char *sig = pl_signature_text(d->a, r);
    const char *what = sig ? arena_printf(d->a, "%s %s", r->is_procedure ? "procedure" : "function", sig) : NULL;
    if (!what) return ST_ERROR;
    TRY(add(d, (Dependent){.kind = DEPENDENT_ROUTINE, .routine = r, .what = what, .direct = true}, on));
    return dependents_of_routine(d, r);
}

/* Of other tables and of routines; texts with the table's name are found as readers of it. */
static Status of_row_type(Dependents *d, const Table *t) {
    const Catalog *k = &d->s->db->catalog;
    NamedType x = {0};
    Type type;
    TRY(catalog_row_type(k, t, &type, &d->s->err));
    x.composite = composite_of(type);
    const char *on = arena_printf(d->a, "type %s", type_plain_name(type));
    if (!on) return ST_ERROR;
    for (int64_t i = 0; i < k->n_tables; i++)
        if (k->tables[i] != t && !spares_table(d, k->tables[i]->name)) TRY(of_type_in_table(d, k->tables[i], x, on));
    for (int64_t i = 0; i < k->n_routines; i++) TRY(of_type_in_routine(d, k->routines[i], x, on));
    return ST_OK;
}

static bool spares_domain(const Dependents *d, const Domain *x) {
    for (int64_t i = 0; i < d->spared_domains.len; i++)
        if (d->spared_domains.items[i] == x) return true;
    return false;
}
static bool domain_text_depends(Dependents *d, const Domain *y, const char *sql, NamedType x) {
    PlanCtx c;
    BoundStmt *b;
    NamesType n = {.x = x};
    if (!try_domain_text(d->s, d->a, y, sql, &c, &b)) return false;
    names_in_plan(&n, &c, b->plan);
    return depends(d, &n);
}
static Status of_type_in_domain(Dependents *d, Domain *y, NamedType x, const char *on) {
    const bool over = x.domain ? y->parent == x.domain->id : y->parent == 0 && is_of(y->type, 0, x);
    if (spares_domain(d, y)) return ST_OK;
    if (over) {
        const char *shown = domain_shown(d->a, y), *what = shown ? arena_printf(d->a, "type %s", shown) : NULL;
        if (!what) return ST_ERROR;
        TRY(add(d, (Dependent){.kind = DEPENDENT_DOMAIN, .domain = y, .what = what, .direct = true}, on));
        if (!d->renames) return dependents_of_type(d, (NamedType){.domain = y});
    }
    if (domain_text_depends(d, y, y->default_sql, x)) TRY(add_domain_default(d, y, on));
    for (int i = 0; i < y->n_checks; i++)
        if (domain_text_depends(d, y, y->checks[i].sql, x)) TRY(add_domain_check(d, y, y->checks[i].name, on));
    return ST_OK;
}

static Status of_type_in_composite(Dependents *d, const CompositeType *y, NamedType x, const char *on) {
    for (int32_t i = 0; i < y->n; i++) {
        if (!is_of(y->fields[i].type, y->fields[i].domain, x)) continue;
        Dependent z = {.kind = DEPENDENT_ATTRIBUTE, .table = y->name, .name = y->fields[i].name, .direct = true};
        z.what = arena_printf(d->a, "column %s of composite type %s", z.name, type_plain_name(composite_type(y)));
        if (!z.what) return ST_ERROR;
        TRY(add(d, z, on));
    }
    return ST_OK;
}

static Status of_type_in_range(Dependents *d, const RangeType *y, NamedType x, const char *on) {
    if (!is_of(y->subtype, 0, x)) return ST_OK;
    const char *what = arena_printf(d->a, "type %s", type_plain_name(range_type(y)));
    if (!what) return ST_ERROR;
    TRY(add(d, (Dependent){.kind = DEPENDENT_RANGE, .range = y, .what = what, .direct = true}, on));
    return d->renames ? ST_OK : dependents_of_type(d, (NamedType){.range = y});
}

static bool default_of_type(const Dependents *d, const PlanCtx *c, const BoundStmt *b, const void *type) {
    NamesType n = {.x = *(const NamedType *)type};
    names_in_plan(&n, c, b->plan);
    return depends(d, &n);
}
Status dependents_of_type(Dependents *d, NamedType x) {
    const Catalog *k = &d->s->db->catalog;
    TRY(stack_check(&d->s->err));
    const CompositeType *y;
    const RangeType *z;
    x.multi = false;
    const char *shown = named_type_shown(d->a, &x);
    const char *on = shown ? arena_printf(d->a, "type %s", shown) : NULL;
    bool *holds = arena_array(d->a, bool, k->n_views + 1);
    if (!on || !holds) return ST_ERROR;
    for (int64_t i = 0; i < k->n_domains; i++) TRY(of_type_in_domain(d, k->domains[i], x, on));
    for (int64_t i = 0; (y = composite_nth(k->rows, i)) != NULL; i++) TRY(of_type_in_composite(d, y, x, on));
    for (int64_t i = 0; (z = range_nth(k->ranges, i)) != NULL; i++) TRY(of_type_in_range(d, z, x, on));
    for (int64_t i = 0; i < k->n_tables; i++) TRY(of_type_in_table(d, k->tables[i], x, on));
    for (int64_t i = 0; i < k->n_routines; i++) TRY(of_type_in_routine(d, k->routines[i], x, on));
    TRY(of_view_defaults(d, default_of_type, &x, on));
    for (int64_t i = 0; i < k->n_views; i++) {
        PlanCtx c;
        BoundStmt *b;
        NamesType n = {.x = x};
        if (try_view(d->s, d->a, k->views[i], &c, &b)) names_in_plan(&n, &c, b->plan);
        holds[i] = d->renames ? n.named : n.value || n.named;
    }
    TRY(add_views_of(d, holds, on));
    for (int64_t i = 0; i < d->found.len; i++)
        for (int64_t v = 0; v < k->n_views && d->found.items[i].view; v++)
            d->found.items[i].direct |= holds[v] && d->found.items[i].view == k->views[v];
    return ST_OK;
}

static bool text_has_label(Dependents *d, const Table *t, const char *sql, NamesType n) {
    PlanCtx c;
    BoundStmt *b;
    if (!try_text(d, t, sql, &c, &b)) return false;
    names_in_plan(&n, &c, b->plan);
    return n.label;
}
/* A default is bound as its column's type, which an untyped literal gets from there. */
static const char *default_text(Dependents *d, const Column *c) {
    char type[TYPE_NAME_MAX];
    return c->default_sql ? arena_printf(d->a, "(%s\n)::%s", c->default_sql, type_full_name(c->type, &type)) : NULL;
}
static const char *label_in_table(Dependents *d, const Table *t, NamesType n) {
    for (int i = 0; i < t->n_cols; i++)
        if (text_has_label(d, t, default_text(d, &t->cols[i]), n))
            return arena_printf(d->a, "default value for column %s of table %s", t->cols[i].name, shown(d, t->name));
    for (int i = 0; i < t->n_checks; i++)
        if (text_has_label(d, t, t->checks[i].sql, n))
            return arena_printf(d->a, "constraint %s on table %s", t->checks[i].name, shown(d, t->name));
    const Catalog *k = &d->s->db->catalog;
    for (int64_t i = 0; i < k->n_index_defs; i++) {
        const IndexDef *e = k->index_defs[i];
        if (strcmp(e->table, t->name) != 0) continue;
        bool has = text_has_label(d, t, e->where, n);
        for (int p = 0; p < e->n_parts && !has; p++) has = text_has_label(d, t, e->parts[p].text, n);
        if (has) return arena_printf(d->a, "index %s", shown(d, e->name));
    }
    return NULL;
}
static const char *label_in_domain(Dependents *d, const Domain *x, NamesType none) {
    PlanCtx c;
    BoundStmt *b;
    char type[TYPE_NAME_MAX];
    NamesType n = none;
    const char *value =
        x->default_sql ? arena_printf(d->a, "(%s\n)::%s", x->default_sql, type_full_name(x->type, &type)) : NULL;
    if (try_domain_text(d->s, d->a, x, value, &c, &b)) names_in_plan(&n, &c, b->plan);
    if (n.label) return arena_printf(d->a, "default value for type %s", x->name);
    for (int i = 0; i < x->n_checks; i++) {
        n = none;
        if (try_domain_text(d->s, d->a, x, x->checks[i].sql, &c, &b)) names_in_plan(&n, &c, b->plan);
        if (n.label) return arena_printf(d->a, "constraint %s of type %s", x->checks[i].name, x->name);
    }
    return NULL;
}
Status dependents_naming_label(Dependents *d, const EnumType *x, int32_t code, const char **what) {
    const Catalog *k = &d->s->db->catalog;
    const NamesType none = {.x = {.enumerated = x}, .code = code};
    *what = NULL;
    for (int64_t i = 0; i < k->n_tables && !*what; i++) *what = label_in_table(d, k->tables[i], none);
    for (int64_t i = 0; i < k->n_domains && !*what; i++) *what = label_in_domain(d, k->domains[i], none);
    for (int64_t i = 0; i < k->n_views && !*what; i++) {
        PlanCtx c;
        BoundStmt *b;
        NamesType n = none;
        if (try_view(d->s, d->a, k->views[i], &c, &b)) names_in_plan(&n, &c, b->plan);
        if (n.label) *what = arena_printf(d->a, "view %s", shown(d, k->views[i]->name));
    }
    return err_is_set(&d->s->err) ? ST_ERROR : ST_OK;
}

static bool text_knows(Dependents *d, const Table *t, const char *sql, NamedType x, bool by_name) {
    PlanCtx c;
    BoundStmt *b;
    NamesType n = {.x = x};
    if (!try_text(d, t, sql, &c, &b)) return false;
    names_in_plan(&n, &c, b->plan);
    return n.named || (!by_name && (n.value || n.column));
}
static const char *knows_in_table(Dependents *d, const Table *t, NamedType x, bool by_name) {
    for (int i = 0; i < t->n_cols; i++)
        if (text_knows(d, t, t->cols[i].default_sql, x, by_name))
            return arena_printf(d->a, "default value for column %s of table %s", t->cols[i].name, shown(d, t->name));
    for (int i = 0; i < t->n_checks; i++)
        if (text_knows(d, t, t->checks[i].sql, x, by_name))
            return arena_printf(d->a, "constraint %s on table %s", t->checks[i].name, shown(d, t->name));
    const Catalog *k = &d->s->db->catalog;
    for (int64_t i = 0; i < k->n_index_defs; i++) {
        const IndexDef *e = k->index_defs[i];
        if (strcmp(e->table, t->name) != 0) continue;
        bool knows = text_knows(d, t, e->where, x, by_name);
        for (int p = 0; p < e->n_parts && !knows; p++) {
            /* A column alone does not know the fields of its type. */
            const bool column = index_part_column(t, e->parts[p].text) >= 0;
            knows = !column && text_knows(d, t, e->parts[p].text, x, by_name);
        }
        if (knows) return arena_printf(d->a, "index %s", shown(d, e->name));
    }
    return NULL;
}
Status dependents_knowing_fields(Dependents *d, const CompositeType *x, bool by_name, const char **what) {
    const Catalog *k = &d->s->db->catalog;
    const NamedType type = {.composite = x};
    *what = NULL;
    for (int64_t i = 0; i < k->n_tables && !*what; i++) *what = knows_in_table(d, k->tables[i], type, by_name);
    for (int64_t i = 0; i < k->n_views && !*what; i++) {
        PlanCtx c;
        BoundStmt *b;
        NamesType n = {.x = type};
        if (try_view(d->s, d->a, k->views[i], &c, &b)) names_in_plan(&n, &c, b->plan);
        if (n.named || (!by_name && (n.value || n.column)))
            *what = arena_printf(d->a, "view %s", shown(d, k->views[i]->name));
    }
    return err_is_set(&d->s->err) ? ST_ERROR : ST_OK;
}

/* ---- dropping ------------------------------------------------------------------------------------ */

/* One per line, at most as many as PostgreSQL tells. */
static char *list(const Dependents *d, bool cascades) {
    enum { TOLD_MAX = 100 };
    char *t = arena_strdup(d->a, "");
    for (int64_t i = 0; t && i < d->found.len && i < TOLD_MAX; i++)
        t = arena_printf(d->a, "%s%s%s%s", t, i ? "\n" : "", cascades ? "drop cascades to " : "",
                         cascades ? d->found.items[i].what : d->found.items[i].line);
    int64_t more = d->found.len - TOLD_MAX;
    if (t && more > 0)
        t = arena_printf(d->a, "%s\nand %lld other object%s%s", t, (long long)more, more > 1 ? "s" : "",
                         cascades ? " (see server log for list)" : "");
    return t;
}

static Status refuse(Dependents *d, const char *what) {
    const char *lines = list(d, false);
    if (!lines) return err_oom(&d->s->err);
    if (what) err_set(&d->s->err, ERR_DEPENDENT_OBJECTS, "cannot drop %s because other objects depend on it", what);
    else
        err_set(&d->s->err, ERR_DEPENDENT_OBJECTS,
                "cannot drop desired object(s) because other objects depend on them");
    err_detail(&d->s->err, "%s", lines);
    err_hint(&d->s->err, "Use DROP ... CASCADE to drop the dependent objects too.");
    return ST_ERROR;
}

/* It may have gone with a column. */
static Status take_index(Dependents *d, const Dependent *x) {
    AstName name = {.name = x->name};
    const bool there = catalog_index_def(&d->s->db->catalog, x->table, x->name) != NULL;
    return there ? drop_index(d->s, d->st, &(AstDrop){.object = AST_OBJ_INDEX, .n_names = 1, .names = &name}) : ST_OK;
}
static Status take_along(Dependents *d, const Dependent *x) {
    Domain *domain;
    const RangeType *range;
    bool multi;
    switch (x->kind) {
    case DEPENDENT_CONTENT: return ST_OK;
    case DEPENDENT_VIEW: return x->view->materialized ? matview_drop(d->s, x->view) : session_drop_view(d->s, x->view);
    case DEPENDENT_FOREIGN: return session_drop_foreign(d->s, x->foreign);
    case DEPENDENT_ROUTINE: return session_drop_routine(d->s, x->routine);
    case DEPENDENT_DOMAIN: /* as it is by now */
        domain = catalog_domain_by_id(&d->s->db->catalog, x->domain->id);
        return domain ? session_drop_domain(d->s, domain) : ST_OK;
    case DEPENDENT_DOMAIN_CHECK: return domain_drop_check(d->s, d->st, x->table, x->name);
    case DEPENDENT_DOMAIN_DEFAULT: return domain_drop_default(d->s, d->st, x->table);
    case DEPENDENT_INDEX: return take_index(d, x);
    case DEPENDENT_POLICY: return policy_drop(d->s, d->a, x->table, x->name);
    case DEPENDENT_RANGE: /* as it is by now */
        range = range_find(d->s->db->catalog.ranges, slice_of(x->range->name), &multi);
        return range && !multi ? session_put_range(d->s, range, NULL) : ST_OK;
    case DEPENDENT_ATTRIBUTE: return composite_drop_attribute(d->s, d->st, x->table, x->name);
    case DEPENDENT_COLUMN:
        if (!catalog_table(&d->s->db->catalog, slice_of(x->table))) return ST_OK; /* it has gone with another one */
        return alter_table_cmd(d->s, d->st, x->table,
                               &(AstAlterCmd){.kind = AST_ALTER_DROP_COLUMN, .name = x->name, .cascade = true});
    case DEPENDENT_DEFAULT:
    case DEPENDENT_CHECK: {
        AstAlterCmd cmd = {.kind = x->kind == DEPENDENT_DEFAULT ? AST_ALTER_DROP_DEFAULT : AST_ALTER_DROP_CONSTRAINT,
                           .name = x->name};
        View *v = catalog_view(&d->s->db->catalog, slice_of(x->table));
        if (v) return view_alter(d->s, d->st, v, &(AstAlterTable){.n_cmds = 1, .cmds = &cmd});
        if (!catalog_table(&d->s->db->catalog, slice_of(x->table))) return ST_OK;
        return alter_table_cmd(d->s, d->st, x->table, &cmd);
    }
    }
    return ST_OK;
}

static bool goes_late(const Dependent *x) {
    return x->kind == DEPENDENT_COLUMN || x->kind == DEPENDENT_DOMAIN || x->kind == DEPENDENT_ATTRIBUTE ||
           x->kind == DEPENDENT_RANGE;
}

Status dependents_drop(Dependents *d, const char *what, bool cascade) {
    TRY(stack_check(&d->s->err));
    if (d->found.len == 0) return ST_OK;
    if (!cascade) return refuse(d, what);
    if (d->quiet) {
        /* what goes was not named */
    } else if (d->found.len == 1) {
        session_notice_text(d->s, "NOTICE", "00000", "drop cascades to %s", d->found.items[0].what);
    } else {
        const char *lines = list(d, true),
                   *message = arena_printf(d->a, "drop cascades to %lld other objects", (long long)d->found.len);
        if (!lines || !message) return err_oom(&d->s->err);
        session_notice(d->s, &(SessionNotice){"NOTICE", "00000", message, lines, "", ""});
    }
    for (int64_t i = 0; i < d->found.len; i++) /* columns and types last: what depends on them is gone by then */
        if (!goes_late(&d->found.items[i])) TRY(take_along(d, &d->found.items[i]));
    for (int64_t i = 0; i < d->found.len; i++)
        if (goes_late(&d->found.items[i])) TRY(take_along(d, &d->found.items[i]));
    return ST_OK;
}

/* ---- what views read ----------------------------------------------------------------------------- */

Status view_find_sources(Session *s, Arena *a, View *v, Err *e) {
    PlanCtx c;
    BoundStmt *b;
    plan_ctx_init(s, a, &c);
    c.err = e;
    c.views.keep_sources = true;
    TRY(sql_bind_view(&c, v, &b));
    v->n_sources = (int)c.views.sources.len;
    v->sources = c.views.sources.items;
    return ST_OK;
}

Status views_fill_sources(Session *s, Arena *a) {
    const Catalog *k = &s->db->catalog;
    for (int64_t i = 0; i < k->n_views; i++) {
        View full = *k->views[i];
        Err e = {0};
        if (full.n_sources > 0) continue;
        Status r = view_find_sources(s, a, &full, &e);
        if (r != ST_OK && gave_up(&e)) return err_copy(&s->err, &e), ST_ERROR;
        if (r != ST_OK || full.n_sources == 0) continue;
        TRY(view_replace(s, k->views[i], &full));
    }
    return ST_OK;
}

Status view_replace(Session *s, View *old, const View *like) {
    View *v = view_new(like, &s->err);
    if (!v) return ST_ERROR;
    if (session_replace_view(s, old, v) == ST_OK) return ST_OK;
    view_free(v);
    return ST_ERROR;
}

Status views_drop_column(Session *s, Arena *a, const char *table, const char *column) {
    const Catalog *k = &s->db->catalog;
    for (int64_t i = 0; i < k->n_views; i++) {
        View rest;
        if (!reads(k->views[i], table)) continue;
        TRY(without_column(a, k->views[i], table, column, &rest));
        TRY(view_replace(s, k->views[i], &rest));
    }
    return ST_OK;
}

Status views_rename(Session *s, Arena *a, const char *relation, const char *column, const char *new_name) {
    const Catalog *k = &s->db->catalog;
    char *name = (char *)(uintptr_t)new_name;
    for (int64_t i = 0; i < k->n_views; i++) {
        if (!reads(k->views[i], relation)) continue;
        View v = *k->views[i];
        ViewSource *sources = arena_array(a, ViewSource, v.n_sources + 1);
        if (!sources) return ST_ERROR;
        memcpy(sources, v.sources, sizeof *sources * (size_t)v.n_sources);
        v.sources = sources;
        for (int q = 0; q < v.n_sources; q++) {
            if (strcmp(sources[q].relation, relation) != 0) continue;
            if (!column) {
                sources[q].relation = name;
                continue;
            }
            char **cols = arena_array(a, char *, sources[q].n_cols + 1);
            if (!cols) return ST_ERROR;
            for (int c = 0; c < sources[q].n_cols; c++)
                cols[c] = strcmp(sources[q].cols[c], column) == 0 ? name : sources[q].cols[c];
            sources[q].cols = cols;
        }
        TRY(view_replace(s, k->views[i], &v));
    }
    return ST_OK;
}
