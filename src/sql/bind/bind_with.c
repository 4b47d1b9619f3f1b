/* bind_with.c - WITH.
 *
 * A definition is bound once; each reference is an LP_CTE_SCAN. When the body is done, a definition with a single
 * reference is put in its place (PostgreSQL's rule), one without references is dropped.
 *
 * Members of WITH RECURSIVE may name each other in any order: one that is named before its turn is bound there and
 * then. The list that stands for the scope is in the order in which they were done, so that each definition has those
 * that it names around it.
 */
#include "sql/bind/bind_int.h"

/* WITH RECURSIVE while its members are bound. */
struct WithScope {
    SelectEnv env;
    Cte *current; /* whose query is being bound */
    VEC(Cte *) done;
};

/* A member's query; what it names is in env. */
static Status bind_member(Binder *b, const SelectEnv *env, Cte *c) {
    const AstCte *a = c->ast;
    bool bound = a->query->kind != AST_SELECT;
    Rel r;
    TRY(stack_check_at(b->err, bind_pos(b, a->location)));
    c->binding = true;
    if (bound) {
        c->recursion = REC_CHANGES;
        TRY(bind_change_member(b, a, env->ctes, c, &r));
    } else if (c->scope) {
        TRY(bind_recursive(b, env, a, c, &bound, &r));
    }
    if (!bound && (a->search || a->cycle))
        return err_at(b->err, bind_pos(b, a->location), ERR_SYNTAX, "WITH query is not recursive");
    if (!bound) {
        c->recursion = REC_NO_FORM;
        TRY(bind_select(b, env, AST_AS_CONST(AstSelect, a->query), &r));
    }
    if (a->n_columns > r.n)
        return err_at(b->err, bind_pos(b, a->location), ERR_INVALID_COLUMN_REFERENCE,
                      "WITH query \"%s\" has %d columns available but %lld columns specified", a->name, r.n,
                      (long long)a->n_columns);
    c->binding = false;
    c->id = ++b->c->n_ctes;
    c->n = r.n;
    c->plan = r.plan;
    c->cols = r.cols;
    if (!(c->names = arena_array(b->a, const char *, r.n + 1))) return ST_ERROR;
    for (int32_t k = 0; k < r.n; k++) c->names[k] = k < a->n_columns ? a->columns[k] : r.names[k];
    return ST_OK;
}

Status bind_member_of_with(Binder *b, Cte *c) {
    struct WithScope *s = c->scope;
    if (!s || (c->binding && s->current == c)) return ST_OK;
    if (c->binding)
        return err_at(b->err, bind_pos(b, c->location), ERR_FEATURE_NOT_SUPPORTED,
                      "mutual recursion between WITH items is not implemented");
    if (c->names) return ST_OK; /* done */
    Cte *current = s->current;
    uint8_t context = b->rec_context;
    const AstSelect *step = b->step;
    b->rec_context = REC_IN_PLACE;
    b->step = NULL;
    s->current = c;
    TRY(bind_member(b, &s->env, c));
    s->current = current;
    b->rec_context = context;
    b->step = step;
    return vec_push(b->a, &s->done, c) ? ST_OK : ST_ERROR;
}

static Cte *new_member(Binder *b, const AstWith *w, const AstCte *a, Cte *next, const Cte *before) {
    for (const Cte *c = next; c != before; c = c->next)
        if (strcmp(c->name, a->name) == 0) {
            err_at(b->err, bind_pos(b, a->location), ERR_DUPLICATE_ALIAS,
                   "WITH query name \"%s\" specified more than once", a->name);
            return NULL;
        }
    Cte *c = arena_new_of(b->a, Cte);
    if (!c) return NULL;
    *c = (Cte){.next = next, .name = a->name, .location = a->location, .ast = a};
    c->beside = w == b->top && b->changes;
    c->materialized = a->materialized == AST_MAT_ALWAYS;
    c->inlined = a->materialized == AST_MAT_NEVER;
    return c;
}

static Status bind_with_recursive(Binder *b, const SelectEnv *env, const AstWith *w, Cte **ctes) {
    Cte *before = *ctes, *all = before;
    struct WithScope *s = arena_new_of(b->a, struct WithScope);
    if (!s) return ST_ERROR;
    for (int64_t i = 0; i < w->n_ctes; i++) {
        if (!(all = new_member(b, w, &w->ctes[i], all, before))) return ST_ERROR;
        all->scope = s;
    }
    s->env = *env;
    s->env.ctes = all;
    for (int64_t i = 0; i < w->n_ctes; i++) { /* in the order of the text */
        Cte *c = all;
        for (int64_t k = w->n_ctes - 1; k > i; k--) c = c->next;
        TRY(bind_member_of_with(b, c));
    }
    for (int64_t i = 0; i < s->done.len; i++) {
        s->done.items[i]->next = before;
        before = s->done.items[i];
    }
    *ctes = before;
    return ST_OK;
}

static Status bind_members(Binder *b, Query *outer, const AstWith *w, Cte **ctes, Query *sibling) {
    SelectEnv env = {.outer = outer, .sibling = sibling};
    const Cte *before = *ctes;
    TRY(bind_check_changes(b, w));
    if (w->recursive) return bind_with_recursive(b, &env, w, ctes);
    for (int64_t i = 0; i < w->n_ctes; i++) {
        Cte *c = new_member(b, w, &w->ctes[i], *ctes, before);
        env.ctes = *ctes;
        if (!c) return ST_ERROR;
        TRY(bind_member(b, &env, c));
        *ctes = c;
    }
    return ST_OK;
}
Status bind_with(Binder *b, Query *outer, const AstWith *w, Cte **ctes, Query *sibling) {
    if (!w) return ST_OK;
    return bind_members(b, outer, w, ctes, sibling);
}

static Status stop_volatile(void *ctx, Expr **slot) {
    (void)ctx;
    return expr_is_volatile(*slot) ? ST_ERROR : ST_OK;
}
static bool plan_is_volatile(Plan *p) {
    if (stack_stop()) return true;
    if (plan_each_expr(p, stop_volatile, NULL) != ST_OK) return true;
    for (int32_t i = 0; i < p->n_children; i++)
        if (plan_is_volatile(p->children[i])) return true;
    return false;
}

Plan *bind_wrap_cte(Binder *b, Cte *c, Plan *body) {
    if (c->refs == 1 && !c->materialized && !b->no_inline && !plan_is_volatile(c->plan)) {
        Plan *s = c->scan;
        Expr **exprs = arena_array(b->a, Expr *, c->n + 1);
        Plan **child = arena_array(b->a, Plan *, 1);
        if (!exprs || !child) return NULL;
        for (int32_t i = 0; i < c->n; i++)
            if (!(exprs[i] = expr_col(b->c, s->cte.cols[i]))) return NULL;
        child[0] = c->plan;
        s->kind = LP_PROJECT;
        s->n_children = 1;
        s->children = child;
        s->n_exprs = c->n;
        s->exprs = exprs;
        s->cte.id = 0;
        s->cte.cols = NULL;
        return body;
    }
    Plan *p = plan_new(b->c, LP_CTE, 2);
    if (!p) return NULL;
    p->cte.id = c->id;
    p->cte.materialized = c->materialized;
    p->cte.inlined = c->inlined;
    p->alias = c->name;
    p->children[0] = c->plan;
    p->children[1] = body;
    return p;
}

Plan *bind_wrap_ctes(Binder *b, Cte *ctes, const Cte *until, Plan *body) {
    for (Cte *c = ctes; body && c != until; c = c->next) {
        if (c->beside) body = bind_place_cte(b, c, body);
        else if (c->refs > 0) body = bind_wrap_cte(b, c, body);
    }
    return body;
}
