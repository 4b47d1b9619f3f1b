/* bind_domain.c - values that become ones of a domain.
 *
 * A domain is its base type with conditions (catalog.h). A value of the base type becomes one of the domain by
 *
 *     CASE WHEN <condition> IS FALSE THEN <error> .. ELSE value END
 *
 * with the value in the place of VALUE in each condition, so that every executor, the folding of constants and the
 * compiler of bulks have it as they have any other expression; equal parts are computed once. A value that such a CASE
 * has made gives its conditions to the next one, so that casts of casts grow with their number only. A volatile value
 * may be computed once only, and copies of a large one, which may have such values in it, would grow with the power of
 * their depth: these go through a function that asks the session (SessionInfo.check_domain).
 *
 * Order, as in PostgreSQL: NOT NULL of the domain or any of its parents, then the conditions of the farthest parent,
 * by name, and so on down to the domain's own. Messages name the domain that the value becomes one of.
 */
#include <stdio.h>

#include "sql/bind/bind_int.h"

enum { CHAIN_MAX = 64, COPIED_NODES = 128 };

/* ---- functions ---- */

static void copy_arg(const Vec *v, char *out, size_t size) {
    const Str *s = v->data;
    snprintf(out, size, "%.*s", (int)s->len, s->ptr);
}
/* args: the message, the domain, the condition; without one it is NOT NULL. */
static Status refuse_kernel(FuncCtx *ctx, int64_t n, const Vec *args, int nargs, Vec *out) {
    char message[512], domain[128], check[128];
    (void)out;
    if (n == 0) return ST_OK;
    copy_arg(&args[0], message, sizeof message);
    copy_arg(&args[1], domain, sizeof domain);
    if (nargs > 2) copy_arg(&args[2], check, sizeof check);
    err_set(ctx->err, nargs > 2 ? ERR_CHECK_VIOLATION : ERR_NOT_NULL_VIOLATION, "%s", message);
    err_names(ctx->err,
              &(ErrNames){
                  .of = {[EF_SCHEMA] = "public", [EF_DATATYPE] = domain, [EF_CONSTRAINT] = nargs > 2 ? check : NULL}});
    ctx->error_row = 0;
    return ST_ERROR;
}
static const FuncDef refuse_def = {.name = "domain_refuse",
                                   .flags = FN_CAN_FAIL | FN_VARIADIC,
                                   .ret = T_VOID,
                                   .nargs = 1,
                                   .args = {T_TEXT},
                                   .kernel = refuse_kernel,
                                   .doc = "internal: the error of a value that a domain does not have"};

/* args: the value, the domain's id. */
static Status check_kernel(FuncCtx *ctx, int64_t n, const Vec *args, int nargs, Vec *out) {
    (void)nargs;
    if (!ctx->session || !ctx->session->check_domain)
        return err_set(ctx->err, ERR_FEATURE_NOT_SUPPORTED, "volatile values cannot become ones of a domain here");
    for (int64_t i = 0; i < n; i++) {
        Value v, id;
        bind_arg_value(&args[0], i, &v);
        bind_arg_value(&args[1], i, &id);
        if (ctx->session->check_domain(ctx->session->setting_ctx, id.u.i64, &v, ctx->err) != ST_OK) {
            ctx->error_row = i;
            return ST_ERROR;
        }
        bind_put_value(out, i, &v);
    }
    return ST_OK;
}
static const FuncDef check_def = {.name = "domain_check",
                                  .flags = FN_CAN_FAIL | FN_VOLATILE,
                                  .ret = T_VOID,
                                  .nargs = 2,
                                  .args = {T_VOID, T_INT8},
                                  .kernel = check_kernel,
                                  .doc = "internal: a value as one of a domain"};

/* ---- conditions ---- */

typedef struct Placed {
    Binder *b;
    ColId value;
    const Expr *by;
} Placed;
/* A copy of the value in every place of VALUE. */
static Expr *place(Placed *p, Expr *e) {
    if (stack_check(p->b->err) != ST_OK) return NULL;
    if (e->kind == EX_COL && e->u.col == p->value) return bind_copy(p->b, p->by);
    for (int32_t i = 0; i < e->n_args; i++)
        if (!(e->args[i] = place(p, e->args[i]))) return NULL;
    return e;
}

static Expr *condition(Binder *b, const char *sql, Type type, const Expr *value) {
    PlanVariables *variables = b->c->variables;
    Query *q = arena_new_of(b->a, Query);
    Placed p = {.b = b, .value = plan_new_col(b->c, "value", type, true), .by = value};
    NsCol col = {"value", p.value};
    NsItem item = {.cols = &col, .n_cols = 1, .cols_visible = true};
    if (!q || !p.value || bind_add_item(b, q, &item) != ST_OK) return NULL;
    q->clause = "check constraints";
    q->no_subqueries = "check constraint";
    b->c->variables = NULL; /* VALUE is none */
    const int64_t domains = b->c->domain_ids.len, enums = b->c->type_numbers.len, routines = b->c->routine_ids.len;
    Expr *e = bind_bool(b, bind_text_expr(b, q, sql, NULL), "CHECK", 0);
    if (b->c->own_names) {
        b->c->domain_ids.len = domains;
        b->c->type_numbers.len = enums;
        b->c->routine_ids.len = routines;
    }
    b->c->variables = variables;
    return e ? place(&p, e) : NULL;
}

/* The error of a condition; check NULL: of NOT NULL. */
static Expr *refusal(Binder *b, const Domain *d, const char *check, Type type) {
    const char *shown = domain_shown(b->a, d);
    const char *message = !shown ? NULL
                          : check
                              ? arena_printf(b->a, "value for domain %s violates check constraint \"%s\"", shown, check)
                              : arena_printf(b->a, "domain %s does not allow null values", shown);
    Expr *e = expr_new(b->c, EX_FUNC, type, check ? 3 : 2);
    if (!e || !message) return NULL;
    const char *const texts[] = {message, d->name, check};
    e->u.func = &refuse_def;
    for (int i = 0; i < e->n_args; i++) {
        const char *text = arena_strdup(b->a, texts[i]);
        if (!text || !(e->args[i] = bind_text_const(b, slice_of(text), 0))) return NULL;
    }
    return e;
}

typedef struct Conditions {
    Binder *b;
    const Domain *domain;
    const Expr *value;
    ExprVec args; /* of the CASE */
} Conditions;
static Status add(Conditions *k, Expr *when, const char *check) {
    Expr *then = when ? refusal(k->b, k->domain, check, k->value->type) : NULL;
    return then && vec_push(k->b->a, &k->args, when) && vec_push(k->b->a, &k->args, then) ? ST_OK : ST_ERROR;
}
/* One domain's own conditions, by name. */
static Status add_checks(Conditions *k, const Domain *d) {
    const char *last = NULL;
    for (;;) {
        int best = -1;
        for (int i = 0; i < d->n_checks; i++)
            if ((!last || strcmp(d->checks[i].name, last) > 0) &&
                (best < 0 || strcmp(d->checks[i].name, d->checks[best].name) < 0))
                best = i;
        if (best < 0) return ST_OK;
        last = d->checks[best].name;
        Expr *e = condition(k->b, d->checks[best].sql, k->value->type, k->value);
        TRY(add(k, bind_unary(k->b, EX_IS_FALSE, e, 0), last));
    }
}

static Expr *marked(Binder *b, Expr *e, const Domain *d) {
    Expr *x = e ? arena_new_of(b->a, Expr) : NULL; /* e itself may be another's */
    if (!x) return NULL;
    *x = *e;
    x->domain = d->id;
    return x;
}

static Expr *checked_once(Binder *b, Expr *e, const Domain *d) {
    Expr *x = expr_new(b->c, EX_FUNC, e->type, 2);
    if (!x || !(x->args[1] = bind_int8_const(b, d->id))) return NULL;
    x->args[0] = e;
    x->u.func = &check_def;
    b->c->one_thread = true;
    return x;
}

/* ---- values ---- */

static void count_expr(void *ctx, Expr *e) { *(int64_t *)ctx += e != NULL; }
static void count_plan(void *ctx, Plan *p) { *(int64_t *)ctx += p != NULL; }
static bool is_large(Expr *e) {
    int64_t n = 0;
    expr_visit(&(PlanVisitor){.ctx = &n, .expr = count_expr, .plan = count_plan}, e);
    return n > COPIED_NODES;
}

/* A value that has become one of a domain: its conditions come first, and what they are of is left in *e. */
static Status take_conditions(Conditions *k, Expr **e) {
    const Expr *x = *e;
    if (x->kind != EX_CASE || x->n_args < 3) return ST_OK;
    const Expr *then = x->args[1];
    if (then->kind != EX_FUNC || then->u.func != &refuse_def) return ST_OK;
    for (int32_t i = 0; i + 1 < x->n_args; i++)
        if (!vec_push(k->b->a, &k->args, x->args[i])) return ST_ERROR;
    *e = x->args[x->n_args - 1];
    return ST_OK;
}

Expr *bind_domain(Binder *b, Expr *e, const Domain *d, int64_t location) {
    if (!e || !d || e->domain == d->id) return e;
    if (stack_check_at(b->err, bind_pos(b, location)) != ST_OK) return NULL; /* a condition may have a cast to it */
    const Domain *chain[CHAIN_MAX];
    int n = 0;
    bool not_null = false, any = false;
    for (const Domain *x = d; x; x = catalog_domain_by_id(b->c->catalog, x->parent)) {
        if (n == CHAIN_MAX) {
            err_at(b->err, bind_pos(b, location), ERR_PROGRAM_LIMIT, "domain \"%s\" has too many parents", d->name);
            return NULL;
        }
        not_null |= x->not_null;
        any |= x->not_null || x->n_checks > 0;
        chain[n++] = x;
    }
    if (!any) return marked(b, e, d);
    if (expr_is_volatile(e) || is_large(e)) return marked(b, checked_once(b, e, d), d);
    Conditions k = {.b = b, .domain = d};
    if (take_conditions(&k, &e) != ST_OK) return NULL;
    k.value = e;
    if (not_null && add(&k, bind_unary(b, EX_IS_NULL, bind_copy(b, e), 0), NULL) != ST_OK) return NULL;
    while (n-- > 0)
        if (add_checks(&k, chain[n]) != ST_OK) return NULL;
    Expr *x = expr_new(b->c, EX_CASE, e->type, (int32_t)k.args.len + 1);
    if (!x) return NULL;
    memcpy(x->args, k.args.items, sizeof(Expr *) * (size_t)k.args.len);
    x->args[k.args.len] = e;
    x->location = location;
    x->domain = d->id;
    return x;
}

/* ---- entry points ---- */

const char *sql_column_default(const Catalog *c, const Column *col) {
    const Domain *d = col->default_sql ? NULL : catalog_domain_by_id(c, col->domain);
    return d ? d->default_sql : col->default_sql;
}

Status sql_bind_domain(PlanCtx *c, int64_t domain, Expr **e) {
    Binder b;
    binder_init(&b, c);
    const Domain *d = catalog_domain_by_id(c->catalog, domain);
    if (!d) return ST_OK;
    Expr *x = bind_domain(&b, *e, d, 0);
    if (!x) return err_is_set(c->err) ? ST_ERROR : err_oom(c->err);
    *e = x;
    bind_null_expr(c, *e);
    return stack_check(c->err);
}

Status sql_bind_domain_check(PlanCtx *c, const Domain *d, const char *sql) {
    Binder b;
    binder_init(&b, c);
    b.params_ok = false;
    const Value none = {.type = d->type, .is_null = true};
    Expr *value = expr_const(c, &none);
    if (value && condition(&b, sql, d->type, value)) return stack_check(c->err);
    return err_is_set(c->err) ? ST_ERROR : err_oom(c->err);
}
