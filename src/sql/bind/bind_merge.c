/* bind_merge.c - MERGE.
 *
 * The plan joins the source with the table, the source on the outside when there is a WHEN NOT MATCHED. Above the join
 * each row gets the number of its WHEN clause, the first whose condition it meets; rows without one, or whose clause
 * does nothing, go. Above that stands the row as it will be, column by column: CASE by the clause's number, so that of
 * each row only what its own clause wants is computed. Then come CHECK constraints. What is done with the rows:
 * session/core/merge.c.
 */
#include "sql/bind/bind_int.h"

typedef struct Clause {
    const AstMergeWhen *ast;
    Expr *condition; /* NULL: none */
    Expr **row;      /* what its INSERT or UPDATE makes of each column; NULL: nothing */
} Clause;

typedef struct Merge {
    Binder *b;
    const AstMerge *ast;
    DmlTarget g; /* a table */
    Table *t;
    NsItem target;
    Query *matched;     /* the table first, and the source */
    Query *not_matched; /* the source alone */
    Clause *clauses;
    Plan *plan;
    bool outer; /* it has rows of the source that match nothing */
    BoundStmt *out;
} Merge;

static Status check_clauses(Binder *b, const AstMerge *s) {
    bool last[2] = {false, false};
    if (s->with && s->with->recursive)
        return err_set(b->err, ERR_SYNTAX, "WITH RECURSIVE is not supported for MERGE statement");
    for (int64_t i = 0; i < s->n_whens; i++) {
        const AstMergeWhen *w = &s->whens[i];
        if (last[w->matched])
            return err_set(b->err, ERR_SYNTAX, "unreachable WHEN clause specified after unconditional WHEN clause");
        last[w->matched] = !w->condition;
    }
    return ST_OK;
}

static Status merge_target(Binder *b, const AstFromTable *f, DmlTarget *g) {
    View *v;
    Table *t;
    AstName n = f->name;
    if (!n.location) n.location = f->location;
    int system;
    TRY(bind_relation_name(b, &n, &system));
    if (system >= 0) return sql_refuse_system_relation(n.name, b->err);
    const Sequence *q = bind_find_sequence(b, &n);
    if (!q) TRY(bind_find_table(b, &n, &t, &v));
    const bool matview = !q && !v && catalog_matview(b->c->catalog, slice_of(n.name));
    if (!q && !v && !matview) return bind_dml_target(b, &f->name, f->location, STMT_MERGE, g);
    err_set(b->err, ERR_FEATURE_NOT_SUPPORTED, "cannot execute MERGE on relation \"%s\"",
            q   ? q->name
            : v ? v->name
                : t->name);
    err_detail(b->err, "This operation is not supported for %s.", q ? "sequences" : v ? "views" : "materialized views");
    return ST_ERROR;
}

static const char *source_name(const AstFrom *f) {
    switch ((int)f->kind) {
    case AST_FROM_TABLE: {
        const AstFromTable *x = AST_AS_CONST(AstFromTable, f);
        return x->alias.name ? x->alias.name : x->name.name;
    }
    case AST_FROM_SUBQUERY: return AST_AS_CONST(AstFromSubquery, f)->alias.name;
    case AST_FROM_FUNC: return AST_AS_CONST(AstFromFunc, f)->alias.name;
    default: return AST_AS_CONST(AstFromJoin, f)->alias.name;
    }
}

/* The join, and the levels that names are looked up in. */
static Status bind_sides(Merge *m, Cte *ctes) {
    Binder *b = m->b;
    const AstMerge *s = m->ast;
    Plan *scan;
    Query *q = m->matched = bind_target_query(b, s->table, &m->g, ctes, &scan, &m->out->rowid, &m->target);
    Query *alone = m->not_matched = arena_new_of(b->a, Query);
    if (!q || !alone) return ST_ERROR;
    const char *name = source_name(s->using_item);
    if (name && strcmp(name, m->target.name) == 0) {
        err_set(b->err, ERR_DUPLICATE_ALIAS, "name \"%s\" specified more than once", name);
        err_detail(b->err, "The name is used both as MERGE target table and data source.");
        return ST_ERROR;
    }
    q->ns.items[0].lateral_bad = q->ns.items[0].target = true;
    Plan *source = bind_from(b, q, &s->using_item, 1, NULL);
    q->ns.items[0].lateral_bad = q->ns.items[0].target = false;
    if (!source) return ST_ERROR;
    alone->ctes = ctes;
    alone->sibling = q;
    for (int64_t i = 1; i < q->ns.len; i++)
        if (!vec_push(b->a, &alone->ns, q->ns.items[i])) return ST_ERROR;
    q->clause = "JOIN conditions";
    Expr *on = bind_bool(b, bind_expr(b, q, s->on), "JOIN/ON", s->on->location);
    for (int64_t i = 0; i < s->n_whens; i++) m->outer |= !s->whens[i].matched;
    if (!on || !(m->plan = bind_join(b, m->outer ? JN_LEFT : JN_INNER, source, scan))) return ST_ERROR;
    m->plan->n_conds = on->kind == EX_AND ? on->n_args : 1;
    if (!(m->plan->conds = arena_array(b->a, Expr *, m->plan->n_conds))) return ST_ERROR;
    for (int32_t i = 0; i < m->plan->n_conds; i++) m->plan->conds[i] = on->kind == EX_AND ? on->args[i] : on;
    return ST_OK;
}

/* Conditions and values of one clause. set: NULL, or by column whether an UPDATE sets it. */
static Status bind_clause(Merge *m, const AstMergeWhen *w, bool *set, Clause *x) {
    Binder *b = m->b;
    Query *q = w->matched ? m->matched : m->not_matched;
    x->ast = w;
    for (int64_t i = 0; i < m->not_matched->ns.len; i++) {
        const NsItem *it = &m->not_matched->ns.items[i];
        for (int32_t k = 0; k < it->n_cols; k++) TRY(bind_own(b, q, it->cols[k].id, false));
    }
    if (w->condition) {
        q->clause = "MERGE WHEN conditions";
        x->condition = bind_bool(b, bind_expr(b, q, w->condition), "WHEN", w->condition->location);
        if (!x->condition) return ST_ERROR;
    }
    if (w->action != AST_MERGE_INSERT && w->action != AST_MERGE_UPDATE) return ST_OK;
    if (!(x->row = arena_array(b->a, Expr *, m->t->n_cols + 1))) return ST_ERROR;
    if (w->action == AST_MERGE_INSERT) {
        q->clause = "VALUES";
        return bind_values_row(b, q, w->insert, &m->g, x->row);
    }
    SetVec sets = {0};
    q->clause = "UPDATE";
    TRY(bind_sets(b, q, &m->g, w->set, w->n_set, &sets, &m->plan));
    for (int64_t i = 0; i < sets.len; i++) {
        x->row[sets.items[i].col] = sets.items[i].value;
        set[sets.items[i].col] = true;
    }
    return ST_OK;
}

static Status bind_clauses(Merge *m) {
    Binder *b = m->b;
    const AstMerge *s = m->ast;
    BoundStmt *out = m->out;
    const int n_cols = m->t->n_cols;
    bool *set = arena_array(b->a, bool, n_cols + 1);
    m->clauses = arena_array(b->a, Clause, s->n_whens + 1);
    out->set_cols = arena_array(b->a, int32_t, n_cols + 1);
    if (!set || !m->clauses || !out->set_cols) return ST_ERROR;
    for (int64_t i = 0; i < s->n_whens; i++) TRY(bind_clause(m, &s->whens[i], set, &m->clauses[i]));
    bool updates = false;
    for (int64_t i = 0; i < s->n_whens; i++) updates |= s->whens[i].action == AST_MERGE_UPDATE;
    for (int c = 0; c < n_cols; c++)
        if (set[c] || (updates && m->t->cols[c].kind == COLUMN_GENERATED)) out->set_cols[out->n_set++] = c;
    return ST_OK;
}

/* Whether the row is one for the clause, unless an earlier one takes it. */
static Expr *takes_row(Merge *m, const Clause *x) {
    Binder *b = m->b;
    if (!m->outer) return x->condition ? x->condition : expr_bool(b->c, true);
    const ExprKind test = x->ast->matched ? EX_IS_NOT_NULL : EX_IS_NULL;
    Expr *both[2] = {bind_unary(b, test, expr_col(b->c, m->out->rowid), 0), x->condition};
    return x->condition ? bind_nary(b, EX_AND, 2, both, 0) : both[0];
}
/* CASE WHEN conditions THEN the clause's number END: NULL where nothing is done. */
static Expr *clause_number(Merge *m) {
    Binder *b = m->b;
    const Type type = type_make(T_INT8);
    const int64_t n = m->ast->n_whens;
    Expr *e = expr_new(b->c, EX_CASE, type, (int32_t)(2 * n + 1));
    for (int64_t i = 0; e && i < n; i++) {
        const Clause *x = &m->clauses[i];
        e->args[2 * i] = takes_row(m, x);
        e->args[2 * i + 1] = x->ast->action == AST_MERGE_NOTHING ? bind_null(b, type) : bind_int8_const(b, i);
        if (!e->args[2 * i] || !e->args[2 * i + 1]) return NULL;
    }
    return e && (e->args[2 * n] = bind_null(b, type)) ? e : NULL;
}

/* Adds the clauses' numbers to the rows, of which those without one go. */
static Status number_rows(Merge *m, BoundMerge *merge) {
    Binder *b = m->b;
    Proj all = {0};
    ColSet produced = colset_new(b->c);
    plan_outputs(b->c, m->plan, &produced);
    for (ColId id = 1; id < b->c->cols.len; id++)
        if (colset_has(&produced, id)) TRY(bind_pass(b, &all, id));
    if (!(merge->clause = bind_proj_add(b, &all, NULL, clause_number(m), "clause"))) return ST_ERROR;
    m->plan = bind_filter(b, bind_proj_plan(b, &all, m->plan),
                          bind_unary(b, EX_IS_NOT_NULL, expr_col(b->c, merge->clause), 0));
    return m->plan ? ST_OK : ST_ERROR;
}

static Expr *is_clause(Merge *m, ColId clause, int64_t i) {
    return bind_op(m->b, "=", expr_col(m->b->c, clause), bind_int8_const(m->b, i), 0);
}

/* Column c of the row as it will be; where no clause says anything, as it is. */
static Expr *column_value(Merge *m, ColId clause, int c) {
    Binder *b = m->b;
    int32_t n = 0, k = 0;
    for (int64_t i = 0; i < m->ast->n_whens; i++) n += m->clauses[i].row && m->clauses[i].row[c];
    Expr *old = expr_col(b->c, m->target.cols[c].id);
    Expr *e = n > 0 ? expr_new(b->c, EX_CASE, m->t->cols[c].type, 2 * n + 1) : NULL;
    if (n == 0) return old;
    for (int64_t i = 0; e && i < m->ast->n_whens; i++) {
        Expr **row = m->clauses[i].row;
        if (!row || !row[c]) continue;
        if (!(e->args[2 * k] = is_clause(m, clause, i))) return NULL;
        e->args[2 * k++ + 1] = row[c];
    }
    return e && (e->args[2 * n] = old) ? e : NULL;
}

/* Whether the row is one that is stored: CHECK constraints are for these. */
static Expr *is_stored(Merge *m, ColId clause) {
    Binder *b = m->b;
    Expr **any = arena_array(b->a, Expr *, m->ast->n_whens + 1);
    int64_t n = 0;
    for (int64_t i = 0; any && i < m->ast->n_whens; i++)
        if (m->clauses[i].row && !(any[n++] = is_clause(m, clause, i))) return NULL;
    if (!any || n == 0) return any ? expr_bool(b->c, false) : NULL;
    return n == 1 ? any[0] : bind_nary(b, EX_OR, n, any, 0);
}

/* The rows as they will be, and what their CHECK constraints say. */
static Status bind_rows(Merge *m, const BoundMerge *merge) {
    Binder *b = m->b;
    BoundStmt *out = m->out;
    Proj news = {0}, all = {0};
    if (!(out->values = arena_array(b->a, ColId, m->t->n_cols + 1))) return ST_ERROR;
    TRY(bind_pass(b, &news, out->rowid));
    TRY(bind_pass(b, &news, merge->clause));
    for (int c = 0; c < m->t->n_cols; c++)
        if (!(out->values[c] = bind_proj_add(b, &news, NULL, column_value(m, merge->clause, c), m->t->cols[c].name)))
            return ST_ERROR;
    ColId stored = bind_proj_add(b, &news, NULL, is_stored(m, merge->clause), "stored");
    if (!stored || !(m->plan = bind_proj_plan(b, &news, m->plan))) return ST_ERROR;
    if (bind_has_generated(m->t) && !(m->plan = bind_computed(b, m->t, out->values, NULL, m->plan))) return ST_ERROR;
    TRY(bind_pass(b, &all, out->rowid));
    TRY(bind_pass(b, &all, merge->clause));
    for (int c = 0; c < m->t->n_cols; c++) TRY(bind_pass(b, &all, out->values[c]));
    TRY(bind_checks(b, m->t, out->values, stored, NULL, &all, out));
    return (m->plan = bind_proj_plan(b, &all, m->plan)) ? ST_OK : ST_ERROR;
}

Status bind_merge(Binder *b, const AstMerge *s, BoundStmt *out) {
    static const StmtKind kinds[] = {[AST_MERGE_NOTHING] = STMT_SELECT,
                                     [AST_MERGE_INSERT] = STMT_INSERT,
                                     [AST_MERGE_UPDATE] = STMT_UPDATE,
                                     [AST_MERGE_DELETE] = STMT_DELETE};
    Merge m = {.b = b, .ast = s, .out = out};
    Cte *ctes = NULL;
    BoundMerge *merge = arena_new_of(b->a, BoundMerge);
    if (!merge || !(merge->kinds = arena_array(b->a, StmtKind, s->n_whens + 1))) return ST_ERROR;
    TRY(check_clauses(b, s));
    TRY(bind_with(b, NULL, s->with, &ctes, NULL));
    TRY(merge_target(b, s->table, &m.g));
    m.t = m.g.t;
    TRY(bind_sides(&m, ctes));
    TRY(bind_clauses(&m));
    TRY(number_rows(&m, merge));
    TRY(bind_rows(&m, merge));
    for (int64_t i = 0; i < s->n_whens; i++) merge->kinds[i] = kinds[s->whens[i].action];
    out->kind = STMT_MERGE;
    out->table = m.t;
    out->merge = merge;
    out->plan = bind_wrap_ctes(b, ctes, NULL, m.plan);
    return out->plan ? ST_OK : ST_ERROR;
}
