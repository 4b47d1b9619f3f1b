/* plan.c - construction, walks, column sets and verification of bound trees.
 *
 * Nothing here rewrites plans. Out of memory shows as NULL (or a set that misses ids) with the arena's Err set. Walks
 * recurse until there is too little stack left (base/stack.h): what such a walk returned means nothing, and the next
 * stack_check() fails.
 *
 * Scoping: a subquery inside an expression, and the right side of a dependent join, see the columns of the
 * level around them. plan_free_cols is what they use of it.
 */
#include "sql/plan/plan.h"

#include <stdlib.h>

ColId plan_new_col(PlanCtx *c, const char *name, Type type, bool nullable) {
    if (c->cols.len == 0) {
        ColInfo none = {.name = "", .col = -1};
        if (!vec_push(c->arena, &c->cols, none)) return 0;
    }
    if (c->cols.len >= INT32_MAX) {
        err_set(c->err, ERR_TOO_MANY_COLUMNS, "query has too many columns");
        return 0;
    }
    ColInfo info = {.name = name ? name : "?column?", .type = type, .nullable = nullable, .col = -1};
    if (!vec_push(c->arena, &c->cols, info)) return 0;
    return (ColId)(c->cols.len - 1);
}

/* ---- construction ---------------------------------------------------------- */

Expr *expr_new(PlanCtx *c, ExprKind kind, Type type, int32_t n_args) {
    Expr *e = arena_new_of(c->arena, Expr);
    if (!e) return NULL;
    e->kind = (uint8_t)kind;
    e->type = type;
    e->n_args = n_args;
    if (n_args > 0 && !(e->args = arena_array(c->arena, Expr *, n_args))) return NULL;
    return e;
}

Expr *expr_col(PlanCtx *c, ColId id) {
    Expr *e = expr_new(c, EX_COL, c->cols.items[id].type, 0);
    if (e) e->u.col = id;
    if (e) e->domain = c->cols.items[id].domain;
    return e;
}

Expr *expr_const(PlanCtx *c, const Value *v) {
    dbg_assert(value_agrees(v->type, v));
    Expr *e = expr_new(c, EX_CONST, v->type, 0);
    if (e) e->u.value = *v;
    return e;
}

Expr *expr_bool(PlanCtx *c, bool value) {
    Value v = {.type = type_make(T_BOOL)};
    v.u.b = value;
    return expr_const(c, &v);
}

Plan *plan_new(PlanCtx *c, PlanKind kind, int32_t n_children) {
    Plan *p = arena_new_of(c->arena, Plan);
    if (!p) return NULL;
    p->kind = (uint8_t)kind;
    p->n_children = n_children;
    p->limit.rows = -1;
    if (n_children > 0 && !(p->children = arena_array(c->arena, Plan *, n_children))) return NULL;
    return p;
}

/* ---- every expression of a node ---------------------------------------------- */

Status plan_each_expr(Plan *p, Status (*fn)(void *ctx, Expr **slot), void *ctx) {
#define SLOT(s)                    \
    do {                           \
        if (s) TRY(fn(ctx, &(s))); \
    } while (0)
    for (int32_t i = 0; i < p->n_exprs; i++) SLOT(p->exprs[i]);
    for (int32_t i = 0; i < p->n_conds; i++) SLOT(p->conds[i]);
    for (int64_t r = 0; r < p->values.n_rows && p->values.rows; r++)
        for (int32_t i = 0; p->values.rows[r] && i < p->n_out; i++) SLOT(p->values.rows[r][i]);
    for (int32_t i = 0; i < p->agg.n_calls; i++) {
        SLOT(p->agg.calls[i].arg);
        SLOT(p->agg.calls[i].arg2);
        SLOT(p->agg.calls[i].filter);
    }
    for (int32_t i = 0; i < p->sort.n; i++) SLOT(p->sort.keys[i].expr);
    for (int32_t i = 0; i < p->win.n_calls; i++)
        for (int k = 0; k < 3; k++) SLOT(p->win.calls[i].args[k]);
    SLOT(p->win.start_offset);
    SLOT(p->win.end_offset);
    SLOT(p->limit.rows_expr);
    SLOT(p->limit.offset_expr);
#undef SLOT
    return ST_OK;
}

/* ---- copies ------------------------------------------------------------------- */

/* Columns and CTEs defined inside a copied subquery get new ids: one id never has two producers. */
typedef struct Copy {
    PlanCtx *c;
    VEC(ColMap) cols;
    VEC(ColMap) ctes;
    bool failed;
} Copy;

static Expr *copy_expr(Copy *k, const Expr *e);
static Plan *copy_plan(Copy *k, const Plan *p);

static ColId copy_col(Copy *k, ColId id) {
    for (int64_t i = k->cols.len; i-- > 0;)
        if (k->cols.items[i].from == id) return k->cols.items[i].to;
    return id;
}

static ColId fresh_col(Copy *k, ColId id) {
    if (id <= 0) return id;
    ColInfo info = k->c->cols.items[id];
    ColId to = plan_new_col(k->c, info.name, info.type, info.nullable);
    ColMap m = {id, to};
    if (!to || !vec_push(k->c->arena, &k->cols, m)) {
        k->failed = true;
        return id;
    }
    k->c->cols.items[to] = info;
    return to;
}

static ColId *fresh_cols(Copy *k, const ColId *ids, int32_t n) {
    if (!ids) return NULL;
    ColId *out = arena_array(k->c->arena, ColId, n);
    if (!out) k->failed = true;
    for (int32_t i = 0; out && i < n; i++) {
        /* A projection passes a column through under its own id. */
        ColId had = copy_col(k, ids[i]);
        out[i] = had != ids[i] ? had : fresh_col(k, ids[i]);
    }
    return out;
}

static ColId *mapped_cols(Copy *k, const ColId *ids, int32_t n) {
    if (!ids) return NULL;
    ColId *out = arena_array(k->c->arena, ColId, n);
    if (!out) k->failed = true;
    for (int32_t i = 0; out && i < n; i++) out[i] = copy_col(k, ids[i]);
    return out;
}

static Expr **copy_list(Copy *k, Expr *const *list, int32_t n) {
    if (!list) return NULL;
    Expr **out = arena_array(k->c->arena, Expr *, n);
    if (!out) k->failed = true;
    for (int32_t i = 0; out && i < n; i++) out[i] = copy_expr(k, list[i]);
    return out;
}

static Expr *copy_expr(Copy *k, const Expr *e) {
    if (!e) return NULL;
    Expr *n = stack_check(k->c->err) == ST_OK ? arena_new_of(k->c->arena, Expr) : NULL;
    if (!n) {
        k->failed = true;
        return NULL;
    }
    *n = *e;
    n->hash = 0;
    n->args = copy_list(k, e->args, e->n_args);
    if (e->kind == EX_COL) n->u.col = copy_col(k, e->u.col);
    if (e->kind == EX_AGG) n->u.agg.filter = copy_expr(k, e->u.agg.filter);
    if (e->kind == EX_SUBQUERY) {
        int64_t mark = k->cols.len, cte_mark = k->ctes.len;
        n->u.sub.plan = copy_plan(k, e->u.sub.plan);
        n->u.sub.cols = mapped_cols(k, e->u.sub.cols, e->u.sub.n_cols);
        n->u.sub.compare = copy_list(k, e->u.sub.compare, e->u.sub.n_cols);
        k->cols.len = mark;
        k->ctes.len = cte_mark;
    }
    return n;
}

static Plan *copy_plan(Copy *k, const Plan *p) {
    Plan *n = stack_check(k->c->err) == ST_OK ? arena_new_of(k->c->arena, Plan) : NULL;
    if (!n) {
        k->failed = true;
        return NULL;
    }
    *n = *p;
    if (p->kind == LP_CTE) {
        ColMap m = {(ColId)p->cte.id, (ColId)(n->cte.id = ++k->c->n_ctes)};
        if (!vec_push(k->c->arena, &k->ctes, m)) k->failed = true;
    } else if (p->kind == LP_SETOP && p->cte.id) {
        ColMap m = {(ColId)p->cte.id, (ColId)(n->cte.id = ++k->c->n_ctes)};
        if (!vec_push(k->c->arena, &k->ctes, m)) k->failed = true;
        n->out_cols = fresh_cols(k, p->out_cols, p->n_out); /* the step scans them */
    } else if (p->kind == LP_CTE_SCAN) {
        for (int64_t i = 0; i < k->ctes.len; i++)
            if (k->ctes.items[i].from == p->cte.id) n->cte.id = k->ctes.items[i].to;
        n->cte.cols = mapped_cols(k, p->cte.cols, p->n_out);
    }
    if (p->n_children) {
        n->children = arena_array(k->c->arena, Plan *, p->n_children);
        if (!n->children) k->failed = true;
        for (int32_t i = 0; n->children && i < p->n_children; i++) n->children[i] = copy_plan(k, p->children[i]);
    }
    if (k->failed) return n;
    n->exprs = copy_list(k, p->exprs, p->n_exprs);
    n->conds = copy_list(k, p->conds, p->n_conds);
    if (p->values.cells) {
        n->values.cells = arena_array(k->c->arena, Vec, p->n_out + 1);
        if (!n->values.cells) k->failed = true;
        else memcpy(n->values.cells, p->values.cells, (size_t)p->n_out * sizeof *n->values.cells);
    }
    if (p->values.rows) {
        n->values.rows = arena_array(k->c->arena, Expr **, p->values.n_rows);
        if (!n->values.rows) k->failed = true;
        for (int64_t r = 0; n->values.rows && r < p->values.n_rows; r++)
            n->values.rows[r] = copy_list(k, p->values.rows[r], p->n_out);
    }
    if (p->set.cols) {
        n->set.cols = arena_array(k->c->arena, ColId *, p->n_children);
        if (!n->set.cols) k->failed = true;
        for (int32_t i = 0; n->set.cols && i < p->n_children; i++)
            n->set.cols[i] = mapped_cols(k, p->set.cols[i], p->n_out);
    }
    n->out_cols = fresh_cols(k, p->out_cols, p->n_out);
    if (p->scan.cols) { /* pruning changes it in place */
        n->scan.cols = arena_array(k->c->arena, int32_t, p->n_out + 1);
        if (!n->scan.cols) k->failed = true;
        else memcpy(n->scan.cols, p->scan.cols, (size_t)p->n_out * sizeof *n->scan.cols);
    }
    if (p->agg.calls) {
        n->agg.calls = arena_array(k->c->arena, AggCall, p->agg.n_calls);
        if (!n->agg.calls) k->failed = true;
        for (int32_t i = 0; n->agg.calls && i < p->agg.n_calls; i++) {
            n->agg.calls[i] = p->agg.calls[i];
            n->agg.calls[i].arg = copy_expr(k, p->agg.calls[i].arg);
            n->agg.calls[i].arg2 = copy_expr(k, p->agg.calls[i].arg2);
            n->agg.calls[i].filter = copy_expr(k, p->agg.calls[i].filter);
            n->agg.calls[i].out = fresh_col(k, p->agg.calls[i].out);
        }
    }
    if (p->sort.keys) {
        n->sort.keys = arena_array(k->c->arena, SortKey, p->sort.n);
        if (!n->sort.keys) k->failed = true;
        for (int32_t i = 0; n->sort.keys && i < p->sort.n; i++) {
            n->sort.keys[i] = p->sort.keys[i];
            n->sort.keys[i].expr = copy_expr(k, p->sort.keys[i].expr);
        }
    }
    if (p->win.calls) {
        n->win.calls = arena_array(k->c->arena, WinCall, p->win.n_calls);
        if (!n->win.calls) k->failed = true;
        for (int32_t i = 0; n->win.calls && i < p->win.n_calls; i++) {
            n->win.calls[i] = p->win.calls[i];
            for (int j = 0; j < 3; j++) n->win.calls[i].args[j] = copy_expr(k, p->win.calls[i].args[j]);
            n->win.calls[i].out = fresh_col(k, p->win.calls[i].out);
        }
    }
    n->win.start_offset = copy_expr(k, p->win.start_offset);
    n->win.end_offset = copy_expr(k, p->win.end_offset);
    n->limit.rows_expr = copy_expr(k, p->limit.rows_expr);
    n->limit.offset_expr = copy_expr(k, p->limit.offset_expr);
    n->join.mark_col = fresh_col(k, p->join.mark_col);
    n->count_col = p->count_col > 0 ? copy_col(k, p->count_col) : 0;
    return n;
}

Expr *expr_copy(PlanCtx *c, const Expr *e) {
    Copy k = {.c = c};
    Expr *n = copy_expr(&k, e);
    return k.failed ? NULL : n;
}

/* ---- comparison and walks ------------------------------------------------------- */

static bool value_same(const Value *a, const Value *b) {
    if (!type_eq(a->type, b->type) || a->is_null != b->is_null) return false;
    if (a->is_null) return true;
    Phys p = type_phys(a->type);
    if (p == PH_STR) return str_eq(a->u.str, b->u.str);
    /* Bytes, not values: 0.0 and -0.0, 1 month and 30 days are different constants. */
    return memcmp(value_cell_const(a), value_cell_const(b), (size_t)phys_size(p)) == 0;
}

bool expr_equal(const Expr *a, const Expr *b) {
    if (stack_stop()) return false;
    if (a == b) return true;
    if (!a || !b || a->kind != b->kind || a->n_args != b->n_args || !type_eq(a->type, b->type)) return false;
    switch ((ExprKind)a->kind) {
    case EX_CONST: return value_same(&a->u.value, &b->u.value);
    case EX_PARAM: return a->u.param == b->u.param;
    case EX_COL: return a->u.col == b->u.col;
    case EX_FUNC:
        if (a->u.func != b->u.func) return false;
        break;
    case EX_CAST:
        if (a->cast_ctx != b->cast_ctx) return false;
        break;
    case EX_AGG:
        if (a->u.agg.func != b->u.agg.func || a->u.agg.distinct != b->u.agg.distinct ||
            !expr_equal(a->u.agg.filter, b->u.agg.filter))
            return false;
        break;
    case EX_SUBQUERY: return false; /* plans are not compared */
    default: break;
    }
    for (int32_t i = a->n_args; i-- > 0;) /* constants are on the right, where many conditions differ at once */
        if (!expr_equal(a->args[i], b->args[i])) return false;
    return true;
}

bool expr_walk(Expr *e, bool (*fn)(void *ctx, Expr *e), void *ctx) {
    if (stack_stop()) return false;
    if (!e) return true;
    for (int32_t i = 0; i < e->n_args; i++)
        if (!expr_walk(e->args[i], fn, ctx)) return false;
    if (e->kind == EX_AGG && !expr_walk(e->u.agg.filter, fn, ctx)) return false;
    if (e->kind == EX_SUBQUERY && e->u.sub.compare)
        for (int32_t i = 0; i < e->u.sub.n_cols; i++)
            if (!expr_walk(e->u.sub.compare[i], fn, ctx)) return false;
    return fn(ctx, e);
}

static bool visit_node(void *ctx, Expr *e) {
    const PlanVisitor *v = ctx;
    if (e->kind == EX_SUBQUERY) plan_visit(v, e->u.sub.plan);
    if (v->expr) v->expr(v->ctx, e);
    return true;
}
void expr_visit(const PlanVisitor *v, Expr *e) {
    PlanVisitor copy = *v;
    (void)expr_walk(e, visit_node, &copy);
}
static Status visit_slot(void *ctx, Expr **slot) {
    expr_visit(ctx, *slot);
    return ST_OK;
}
void plan_visit(const PlanVisitor *v, Plan *p) {
    PlanVisitor copy = *v;
    if (stack_stop()) return;
    if (v->plan) v->plan(v->ctx, p);
    (void)plan_each_expr(p, visit_slot, &copy);
    for (int32_t i = 0; i < p->n_children; i++) plan_visit(v, p->children[i]);
}

typedef struct Remap {
    int64_t n;
    const ColMap *map;
} Remap;

static void remap_plan(Plan *p, const Remap *m);
static bool remap_fn(void *ctx, Expr *e) {
    const Remap *m = ctx;
    if (e->kind == EX_COL) {
        for (int64_t i = 0; i < m->n; i++)
            if (m->map[i].from == e->u.col) {
                e->u.col = m->map[i].to;
                break;
            }
    } else if (e->kind == EX_SUBQUERY) {
        remap_plan(e->u.sub.plan, m);
    }
    return true;
}
static Status remap_slot(void *ctx, Expr **slot) {
    expr_walk(*slot, remap_fn, ctx);
    return ST_OK;
}
/* Only uses are renamed; what the subplan itself produces has ids of its own. */
static void remap_plan(Plan *p, const Remap *m) {
    if (stack_stop()) return;
    Remap copy = *m;
    plan_each_expr(p, remap_slot, &copy);
    for (int32_t i = 0; i < p->n_children; i++) remap_plan(p->children[i], m);
}

void expr_remap(Expr *e, int64_t n, const ColMap *map) {
    Remap m = {n, map};
    expr_walk(e, remap_fn, &m);
}

static bool plan_any(Plan *p, bool (*fn)(void *ctx, Expr *e));
static bool not_volatile(void *ctx, Expr *e) {
    (void)ctx;
    if (e->kind == EX_FUNC) return !(e->u.func->flags & FN_VOLATILE);
    if (e->kind == EX_SUBQUERY) return !plan_any(e->u.sub.plan, not_volatile);
    return true;
}
typedef struct Any {
    bool (*fn)(void *ctx, Expr *e);
} Any;
static Status any_slot(void *ctx, Expr **slot) { return expr_walk(*slot, ((Any *)ctx)->fn, NULL) ? ST_OK : ST_ERROR; }
/* True when fn returned false somewhere in the plan. */
static bool plan_any(Plan *p, bool (*fn)(void *ctx, Expr *e)) {
    if (stack_stop()) return true;
    Any a = {fn};
    if (plan_each_expr(p, any_slot, &a) != ST_OK) return true;
    for (int32_t i = 0; i < p->n_children; i++)
        if (plan_any(p->children[i], fn)) return true;
    return false;
}
/* The walks below never change anything; expr_walk's signature is for those that do. */
static Expr *unconst(const Expr *e) { return (Expr *)(uintptr_t)e; }
static Plan *unconst_plan(const Plan *p) { return (Plan *)(uintptr_t)p; }

bool expr_is_volatile(const Expr *e) { return e && !expr_walk(unconst(e), not_volatile, NULL); }

static bool cast_is_total(Type from, Type to) {
    if (from.id == T_UNKNOWN) return false;
    if (cast_is_noop(from, to)) return true;
    if (type_is_integer(from)) {
        if (type_is_integer(to)) return to.id >= from.id;
        if (to.id == T_FLOAT4 || to.id == T_FLOAT8 || to.id == T_TEXT) return true;
        if (to.id == T_NUMERIC) return to.precision - to.scale >= type_as_numeric(from).precision;
    }
    if (from.id == T_NUMERIC) {
        if (to.id == T_NUMERIC) /* rounding may carry into one more digit */
            return to.precision - to.scale >= from.precision - from.scale + (to.scale < from.scale ? 1 : 0);
        return to.id == T_FLOAT8 || to.id == T_TEXT;
    }
    if (to.id == T_DECIMAL && type_is_number(from)) return true;
    if (from.id == T_FLOAT4 && to.id == T_FLOAT8) return true;
    return to.id == T_TEXT && from.id != T_VOID;
}

static bool cannot_fail(void *ctx, Expr *e) {
    (void)ctx;
    switch ((ExprKind)e->kind) {
    case EX_FUNC: return !(e->u.func->flags & FN_CAN_FAIL);
    case EX_CAST: return cast_is_total(e->args[0]->type, e->type);
    case EX_SUBQUERY: return e->subquery != SQ_SCALAR && !plan_any(e->u.sub.plan, cannot_fail);
    default: return true;
    }
}
bool expr_can_fail(const Expr *e) { return e && !expr_walk(unconst(e), cannot_fail, NULL); }
bool expr_itself_fails(const Expr *e) { return !cannot_fail(NULL, unconst(e)); }

/* ---- column sets ------------------------------------------------------------------ */

ColSet colset_new(PlanCtx *c) {
    ColSet s = {.n_words = c->cols.len / 64 + 1};
    s.bits = arena_array(c->arena, uint64_t, s.n_words);
    if (!s.bits) s.n_words = 0;
    return s;
}

static bool colset_reserve(PlanCtx *c, ColSet *s, int64_t n_words) {
    if (n_words <= s->n_words) return true;
    int64_t n = MAX_OF(n_words, s->n_words * 2);
    uint64_t *bits = arena_array(c->arena, uint64_t, n);
    if (!bits) return false;
    if (s->n_words) memcpy(bits, s->bits, (size_t)s->n_words * sizeof *bits);
    s->bits = bits;
    s->n_words = n;
    return true;
}

void colset_add(PlanCtx *c, ColSet *s, ColId id) {
    if (id <= 0 || !colset_reserve(c, s, id / 64 + 1)) return;
    s->bits[id / 64] |= UINT64_C(1) << (id % 64);
}

bool colset_has(const ColSet *s, ColId id) {
    return id > 0 && id / 64 < s->n_words && (s->bits[id / 64] >> (id % 64) & 1);
}

void colset_add_all(PlanCtx *c, ColSet *s, const ColSet *other) {
    int64_t n = other->n_words;
    while (n > 0 && !other->bits[n - 1]) n--;
    if (!colset_reserve(c, s, n)) return;
    for (int64_t i = 0; i < n; i++) s->bits[i] |= other->bits[i];
}

bool colset_subset(const ColSet *a, const ColSet *of) {
    for (int64_t i = 0; i < a->n_words; i++)
        if (a->bits[i] & ~(i < of->n_words ? of->bits[i] : 0)) return false;
    return true;
}

bool colset_intersects(const ColSet *a, const ColSet *b) {
    for (int64_t i = 0; i < MIN_OF(a->n_words, b->n_words); i++)
        if (a->bits[i] & b->bits[i]) return true;
    return false;
}

static void colset_remove_all(ColSet *s, const ColSet *other) {
    for (int64_t i = 0; i < MIN_OF(s->n_words, other->n_words); i++) s->bits[i] &= ~other->bits[i];
}

typedef struct Collect {
    PlanCtx *c;
    ColSet *out;
} Collect;

static bool collect_fn(void *ctx, Expr *e) {
    Collect *k = ctx;
    if (e->kind == EX_COL) {
        colset_add(k->c, k->out, e->u.col);
    } else if (e->kind == EX_SUBQUERY) {
        plan_free_cols(k->c, e->u.sub.plan, k->out);
    }
    return true;
}

/* expr_walk also enters `compare`, which names the subquery's own columns: those are taken out again. */
static bool has_compare(void *ctx, Expr *e) {
    (void)ctx;
    return !(e->kind == EX_SUBQUERY && e->u.sub.compare);
}
static void produced(PlanCtx *c, const Plan *p, ColSet *out);
static bool produced_fn(void *ctx, Expr *e) {
    Collect *k = ctx;
    if (e->kind == EX_SUBQUERY) produced(k->c, e->u.sub.plan, k->out);
    return true;
}

void expr_cols(PlanCtx *c, const Expr *e, ColSet *out) {
    if (!e) return;
    if (expr_walk(unconst(e), has_compare, NULL)) {
        Collect k = {c, out};
        expr_walk(unconst(e), collect_fn, &k);
        return;
    }
    ColSet used = colset_new(c), made = colset_new(c);
    Collect ku = {c, &used}, km = {c, &made};
    expr_walk(unconst(e), collect_fn, &ku);
    expr_walk(unconst(e), produced_fn, &km);
    colset_remove_all(&used, &made);
    colset_add_all(c, out, &used);
}

void plan_outputs(PlanCtx *c, const Plan *p, ColSet *out) {
    if (stack_stop()) return;
    switch ((PlanKind)p->kind) {
    case LP_SCAN:
    case LP_VALUES:
    case LP_SERIES:
    case LP_STREAM:
    case LP_PROJECT:
    case LP_SETOP:
    case LP_CTE_SCAN:
        for (int32_t i = 0; i < p->n_out; i++) colset_add(c, out, p->out_cols[i]);
        return;
    case LP_AGG:
        for (int32_t i = 0; i < p->agg.n_keys; i++) colset_add(c, out, p->out_cols[i]);
        for (int32_t i = 0; i < p->agg.n_calls; i++) colset_add(c, out, p->agg.calls[i].out);
        return;
    case LP_FILTER:
    case LP_SORT:
    case LP_LIMIT:
    case LP_REPEAT:
        if (p->kind == LP_REPEAT && p->n_out) colset_add(c, out, p->out_cols[0]);
        plan_outputs(c, p->children[0], out);
        return;
    case LP_WINDOW:
        for (int32_t i = 0; i < p->agg.n_calls; i++) colset_add(c, out, p->agg.calls[i].out);
        for (int32_t i = 0; i < p->win.n_calls; i++) colset_add(c, out, p->win.calls[i].out);
        plan_outputs(c, p->children[0], out);
        return;
    case LP_JOIN:
        plan_outputs(c, p->children[0], out);
        if (p->join.kind == JN_MARK) colset_add(c, out, p->join.mark_col);
        else if (p->join.kind != JN_SEMI && p->join.kind != JN_ANTI) plan_outputs(c, p->children[1], out);
        return;
    case LP_CTE: plan_outputs(c, p->children[1], out); return;
    }
}

bool plan_yields(const Plan *p, ColId id) {
    if (stack_stop()) return false;
    switch ((PlanKind)p->kind) {
    case LP_SCAN:
    case LP_VALUES:
    case LP_SERIES:
    case LP_STREAM:
    case LP_PROJECT:
    case LP_SETOP:
    case LP_CTE_SCAN:
    case LP_AGG:
        for (int32_t i = 0; i < (p->kind == LP_AGG ? p->agg.n_keys : p->n_out); i++)
            if (p->out_cols[i] == id) return true;
        for (int32_t i = 0; i < p->agg.n_calls; i++)
            if (p->agg.calls[i].out == id) return true;
        return false;
    case LP_FILTER:
    case LP_SORT:
    case LP_LIMIT:
    case LP_REPEAT:
        return (p->kind == LP_REPEAT && p->n_out && p->out_cols[0] == id) || plan_yields(p->children[0], id);
    case LP_WINDOW:
        for (int32_t i = 0; i < p->agg.n_calls; i++)
            if (p->agg.calls[i].out == id) return true;
        for (int32_t i = 0; i < p->win.n_calls; i++)
            if (p->win.calls[i].out == id) return true;
        return plan_yields(p->children[0], id);
    case LP_JOIN:
        if (p->join.kind == JN_MARK && p->join.mark_col == id) return true;
        if (p->join.kind != JN_MARK && p->join.kind != JN_SEMI && p->join.kind != JN_ANTI &&
            plan_yields(p->children[1], id))
            return true;
        return plan_yields(p->children[0], id);
    case LP_CTE: return plan_yields(p->children[1], id);
    }
    return false;
}

/* Everything that comes into being anywhere inside p, subqueries included. */
static Status produced_slot(void *ctx, Expr **slot) {
    expr_walk(*slot, produced_fn, ctx);
    return ST_OK;
}
static void produced(PlanCtx *c, const Plan *p, ColSet *out) {
    if (stack_stop()) return;
    for (int32_t i = 0; p->out_cols && i < p->n_out; i++) {
        /* A projection's pass-through produces nothing. */
        if (p->kind == LP_PROJECT && p->exprs[i]->kind == EX_COL && p->exprs[i]->u.col == p->out_cols[i]) continue;
        colset_add(c, out, p->out_cols[i]);
    }
    for (int32_t i = 0; i < p->agg.n_calls; i++) colset_add(c, out, p->agg.calls[i].out);
    for (int32_t i = 0; i < p->win.n_calls; i++) colset_add(c, out, p->win.calls[i].out);
    colset_add(c, out, p->join.mark_col);
    Collect k = {c, out};
    plan_each_expr(unconst_plan(p), produced_slot, &k);
    for (int32_t i = 0; i < p->n_children; i++) produced(c, p->children[i], out);
}

static Status used_slot(void *ctx, Expr **slot) {
    expr_walk(*slot, collect_fn, ctx);
    return ST_OK;
}
static void used(PlanCtx *c, const Plan *p, ColSet *out) {
    if (stack_stop()) return;
    Collect k = {c, out};
    plan_each_expr(unconst_plan(p), used_slot, &k);
    for (int32_t i = 0; p->set.cols && i < p->n_children; i++)
        for (int32_t j = 0; j < p->n_out; j++) colset_add(c, out, p->set.cols[i][j]);
    for (int32_t i = 0; i < p->n_children; i++) used(c, p->children[i], out);
}

void plan_free_cols(PlanCtx *c, const Plan *p, ColSet *out) {
    ColSet u = colset_new(c), made = colset_new(c);
    used(c, p, &u);
    produced(c, p, &made);
    colset_remove_all(&u, &made);
    colset_add_all(c, out, &u);
}

/* ---- verification -------------------------------------------------------------------- */

typedef struct CteDef {
    const struct CteDef *next;
    int64_t id;
    ColSet outputs;
} CteDef;

typedef struct Verify {
    PlanCtx *c;
    Err *e;
    const ColSet *scope; /* columns an expression may use here */
    const CteDef *ctes;
} Verify;

static Status verify_plan(Verify *v, const Plan *p, const ColSet *outer);

static Status verify_expr(Verify *v, const Expr *e) {
    TRY(stack_check(v->e));
    if (!e) return err_internal(v->e, "plan: missing expression");
    for (int32_t i = 0; i < e->n_args; i++) TRY(verify_expr(v, e->args[i]));
    switch ((ExprKind)e->kind) {
    case EX_COL:
        if (e->u.col <= 0 || e->u.col >= v->c->cols.len) return err_internal(v->e, "plan: no column %d", e->u.col);
        if (!colset_has(v->scope, e->u.col))
            return err_internal(v->e, "plan: column %d (%s) is not produced below its use", e->u.col,
                                v->c->cols.items[e->u.col].name);
        if (e->type.id != v->c->cols.items[e->u.col].type.id ||
            e->type.scale != v->c->cols.items[e->u.col].type.scale ||
            type_phys(e->type) != type_phys(v->c->cols.items[e->u.col].type))
            return err_internal(v->e, "plan: column %d (%s) is used with another type", e->u.col,
                                v->c->cols.items[e->u.col].name);
        break;
    case EX_CONST:
        if (!type_eq(e->type, e->u.value.type)) return err_internal(v->e, "plan: constant and its type differ");
        if (!value_agrees(e->type, &e->u.value)) return err_internal(v->e, "plan: constant that its type cannot hold");
        break;
    case EX_FUNC:
        if (!e->u.func || (e->u.func->flags & FN_AGGREGATE))
            return err_internal(v->e, "plan: function node without a function");
        break;
    case EX_CAST:
        if (e->n_args != 1) return err_internal(v->e, "plan: cast with %d arguments", e->n_args);
        break;
    case EX_AND:
    case EX_OR:
    case EX_NOT:
        for (int32_t i = 0; i < e->n_args; i++)
            if (e->args[i]->type.id != T_BOOL)
                return err_internal(v->e, "plan: argument of AND, OR or NOT is not boolean");
        break;
    case EX_CASE:
        for (int32_t i = 0; i + 1 < e->n_args; i += 2)
            if (e->args[i]->type.id != T_BOOL) return err_internal(v->e, "plan: condition of CASE is not boolean");
        for (int32_t i = 1; i < e->n_args; i += 2)
            if (!type_eq(e->args[i]->type, e->type)) return err_internal(v->e, "plan: result of CASE has another type");
        if ((e->n_args & 1) && !type_eq(e->args[e->n_args - 1]->type, e->type))
            return err_internal(v->e, "plan: result of CASE has another type");
        break;
    case EX_NULLIF:
        if (e->n_args != 3) return err_internal(v->e, "plan: NULLIF with %d arguments", e->n_args);
        break;
    case EX_COALESCE:
        for (int32_t i = 0; i < e->n_args; i++)
            if (!type_eq(e->args[i]->type, e->type))
                return err_internal(v->e, "plan: argument of COALESCE has another type");
        break;
    case EX_IN:
    case EX_DISTINCT:
    case EX_NOT_DISTINCT:
        for (int32_t i = 1; i < e->n_args; i++)
            if (type_phys(e->args[i]->type) != type_phys(e->args[0]->type) ||
                e->args[i]->type.scale != e->args[0]->type.scale)
                return err_internal(v->e, "plan: compared values have different types");
        break;
    case EX_AGG: return err_internal(v->e, "plan: aggregate outside of an aggregation");
    case EX_SUBQUERY: {
        TRY(verify_plan(v, e->u.sub.plan, v->scope));
        ColSet in = colset_new(v->c);
        plan_outputs(v->c, e->u.sub.plan, &in);
        for (int32_t i = 0; i < e->u.sub.n_cols; i++)
            if (!colset_has(&in, e->u.sub.cols[i]))
                return err_internal(v->e, "plan: subquery does not yield column %d", e->u.sub.cols[i]);
        if (e->u.sub.compare) {
            colset_add_all(v->c, &in, v->scope);
            const ColSet *save = v->scope;
            v->scope = &in;
            for (int32_t i = 0; i < e->u.sub.n_cols; i++) TRY(verify_expr(v, e->u.sub.compare[i]));
            v->scope = save;
        }
        break;
    }
    default: break;
    }
    return ST_OK;
}

/* A column takes expressions of its type; text of a literal's type is text. */
static Status verify_column_of(const Verify *v, ColId id, Type type) {
    Type want = v->c->cols.items[id].type;
    if (type_same_cells(want, type) && type_phys(want) == type_phys(type)) return ST_OK;
    return err_internal(v->e, "plan: column %d (%s) has values of another type", id, v->c->cols.items[id].name);
}

static Status verify_slot(void *ctx, Expr **slot) { return verify_expr(ctx, *slot); }

static Status verify_plan(Verify *v, const Plan *p, const ColSet *outer) {
    TRY(stack_check(v->e));
    if (!p) return err_internal(v->e, "plan: missing operator");
    const CteDef *ctes = v->ctes;
    CteDef def;
    ColSet right_outer;
    for (int32_t i = 0; i < p->n_children; i++) {
        const ColSet *scope = outer;
        if (p->kind == LP_JOIN && i == 1 && p->join.dependent) {
            right_outer = colset_new(v->c);
            colset_add_all(v->c, &right_outer, outer);
            plan_outputs(v->c, p->children[0], &right_outer);
            scope = &right_outer;
        }
        TRY(verify_plan(v, p->children[i], scope));
        if (p->kind == LP_CTE && i == 0) {
            def = (CteDef){.next = v->ctes, .id = p->cte.id, .outputs = colset_new(v->c)};
            plan_outputs(v->c, p->children[0], &def.outputs);
            v->ctes = &def;
        }
        if (p->kind == LP_SETOP && p->cte.id && i == 0) {
            def = (CteDef){.next = v->ctes, .id = p->cte.id, .outputs = colset_new(v->c)};
            plan_outputs(v->c, p, &def.outputs);
            v->ctes = &def;
        }
    }
    v->ctes = ctes;
    ColSet in = colset_new(v->c);
    colset_add_all(v->c, &in, outer);
    if (p->kind != LP_CTE)
        for (int32_t i = 0; i < p->n_children; i++) plan_outputs(v->c, p->children[i], &in);
    if (p->kind == LP_SCAN) /* conditions of a scan use its own columns */
        plan_outputs(v->c, p, &in);
    const ColSet *save = v->scope;
    v->scope = &in;
    TRY(plan_each_expr(unconst_plan(p), verify_slot, v));
    v->scope = save;
    for (int32_t i = 0; i < p->n_conds; i++)
        if (p->conds[i]->type.id != T_BOOL) return err_internal(v->e, "plan: condition is not boolean");
    switch ((PlanKind)p->kind) {
    case LP_PROJECT:
        if (p->n_exprs != p->n_out)
            return err_internal(v->e, "plan: projection of %d columns has %d expressions", p->n_out, p->n_exprs);
        for (int32_t i = 0; i < p->n_out; i++) {
            Type a = v->c->cols.items[p->out_cols[i]].type, b = p->exprs[i]->type;
            if (a.id != b.id || a.scale != b.scale || type_phys(a) != type_phys(b))
                return err_internal(v->e, "plan: projected column %d (%s) has another type", p->out_cols[i],
                                    v->c->cols.items[p->out_cols[i]].name);
        }
        break;
    case LP_VALUES:
        for (int64_t r = 0; p->values.rows && r < p->values.n_rows; r++)
            for (int32_t i = 0; i < p->n_out; i++) TRY(verify_column_of(v, p->out_cols[i], p->values.rows[r][i]->type));
        for (int32_t i = 0; p->values.cells && i < p->n_out; i++)
            TRY(verify_column_of(v, p->out_cols[i], p->values.cells[i].type));
        break;
    case LP_AGG:
        for (int32_t i = 0; i < p->agg.n_keys && i < p->n_exprs; i++)
            TRY(verify_column_of(v, p->out_cols[i], p->exprs[i]->type));
        if (p->n_exprs != p->agg.n_keys)
            return err_internal(v->e, "plan: aggregation with %d keys has %d expressions", p->agg.n_keys, p->n_exprs);
        break;
    case LP_SETOP:
        for (int32_t i = 0; i < p->n_children; i++) {
            ColSet o = colset_new(v->c);
            plan_outputs(v->c, p->children[i], &o);
            for (int32_t j = 0; j < p->n_out; j++) {
                ColId id = p->set.cols[i][j];
                if (!colset_has(&o, id))
                    return err_internal(v->e, "plan: set operation uses column %d that its input lacks", id);
                Type a = v->c->cols.items[id].type, b = v->c->cols.items[p->out_cols[j]].type;
                if (a.id != b.id || a.scale != b.scale || type_phys(a) != type_phys(b))
                    return err_internal(v->e, "plan: columns of a set operation have different types");
            }
        }
        break;
    case LP_CTE_SCAN: {
        const CteDef *d = v->ctes;
        while (d && d->id != p->cte.id) d = d->next;
        if (!d) return err_internal(v->e, "plan: no definition of CTE %lld in scope", (long long)p->cte.id);
        for (int32_t i = 0; i < p->n_out; i++)
            if (!colset_has(&d->outputs, p->cte.cols[i]))
                return err_internal(v->e, "plan: CTE does not yield column %d", p->cte.cols[i]);
        break;
    }
    case LP_SORT:
    case LP_WINDOW:
        for (int32_t i = 0; i < p->sort.n; i++)
            if (p->sort.keys[i].expr->kind != EX_COL) return err_internal(v->e, "plan: sort key is not a column");
        for (int32_t i = 0; i < p->n_exprs; i++)
            if (p->exprs[i]->kind != EX_COL) return err_internal(v->e, "plan: partition key is not a column");
        break;
    default: break;
    }
    return ST_OK;
}

/* ---- sharing ------------------------------------------------------------------------------ */

/* Rules change operators, their arrays and expressions in place, which is right only where each belongs to one
 * operator. */
typedef struct Range {
    uintptr_t from, to;
    const char *what;
} Range;
typedef struct Ranges {
    PlanCtx *c;
    VEC(Range) v;
} Ranges;

static Status add_range(Ranges *r, const void *from, int64_t bytes, const char *what) {
    if (!from || bytes <= 0) return ST_OK;
    Range x = {(uintptr_t)from, (uintptr_t)from + (uintptr_t)bytes, what};
    return vec_push(r->c->arena, &r->v, x) ? ST_OK : err_oom(r->c->err);
}
#define ADD_RANGE(r, array, n, what) TRY(add_range((r), (array), (int64_t)sizeof *(array) * (int64_t)(n), (what)))

static Status plan_ranges(Ranges *r, const Plan *p);
static Status expr_ranges(Ranges *r, const Expr *e) {
    TRY(stack_check(r->c->err));
    if (!e) return ST_OK;
    ADD_RANGE(r, e, 1, "an expression");
    ADD_RANGE(r, e->args, e->n_args, "arguments of an expression");
    for (int32_t i = 0; i < e->n_args; i++) TRY(expr_ranges(r, e->args[i]));
    if (e->kind == EX_AGG) return expr_ranges(r, e->u.agg.filter);
    if (e->kind != EX_SUBQUERY) return ST_OK;
    ADD_RANGE(r, e->u.sub.cols, e->u.sub.n_cols, "columns of a subquery");
    if (e->u.sub.compare) {
        ADD_RANGE(r, e->u.sub.compare, e->u.sub.n_cols, "comparisons with a subquery");
        for (int32_t i = 0; i < e->u.sub.n_cols; i++) TRY(expr_ranges(r, e->u.sub.compare[i]));
    }
    return plan_ranges(r, e->u.sub.plan);
}
static Status slot_ranges(void *ctx, Expr **slot) { return expr_ranges(ctx, *slot); }
static Status plan_ranges(Ranges *r, const Plan *p) {
    TRY(stack_check(r->c->err));
    if (!p) return ST_OK;
    ADD_RANGE(r, p, 1, "an operator");
    ADD_RANGE(r, p->children, p->n_children, "inputs");
    ADD_RANGE(r, p->out_cols, p->n_out, "columns");
    ADD_RANGE(r, p->exprs, p->n_exprs, "a list of expressions");
    ADD_RANGE(r, p->conds, p->n_conds, "conditions");
    ADD_RANGE(r, p->scan.cols, p->n_out, "columns of a scan");
    ADD_RANGE(r, p->values.cells, p->n_out, "cells");
    ADD_RANGE(r, p->values.rows, p->values.n_rows, "rows");
    for (int64_t i = 0; p->values.rows && i < p->values.n_rows; i++) ADD_RANGE(r, p->values.rows[i], p->n_out, "a row");
    ADD_RANGE(r, p->agg.calls, p->agg.n_calls, "aggregates");
    ADD_RANGE(r, p->sort.keys, p->sort.n, "sort keys");
    ADD_RANGE(r, p->win.calls, p->win.n_calls, "window functions");
    ADD_RANGE(r, p->cte.cols, p->n_out, "columns of a CTE");
    ADD_RANGE(r, p->set.cols, p->set.cols ? p->n_children : 0, "columns of set operations");
    for (int32_t i = 0; p->set.cols && i < p->n_children; i++)
        ADD_RANGE(r, p->set.cols[i], p->n_out, "columns of a set operation");
    ADD_RANGE(r, p->scan.runtime, p->scan.n_runtime, "runtime filters");
    TRY(plan_each_expr(unconst_plan(p), slot_ranges, r));
    for (int32_t i = 0; i < p->n_children; i++) TRY(plan_ranges(r, p->children[i]));
    return ST_OK;
}
static int by_address(const void *x, const void *y) {
    const Range *a = x, *b = y;
    return a->from < b->from ? -1 : a->from > b->from;
}
Status plan_verify_unshared(PlanCtx *c, const Plan *p, Err *e) {
    Ranges r = {.c = c};
    TRY(plan_ranges(&r, p));
    if (r.v.len > 1) qsort(r.v.items, (size_t)r.v.len, sizeof *r.v.items, by_address);
    for (int64_t i = 1; i < r.v.len; i++)
        if (r.v.items[i].from < r.v.items[i - 1].to)
            return err_internal(e, "plan: %s and %s share memory", r.v.items[i - 1].what, r.v.items[i].what);
    return ST_OK;
}

static Status verify_target(const PlanCtx *c, const Table *t, int32_t n, const int32_t *cols, const ColId *ids,
                            Err *e) {
    for (int32_t i = 0; i < n; i++) {
        const Column *col = &t->cols[cols ? cols[i] : i];
        Type have = c->cols.items[ids[i]].type;
        if (!type_same_cells(col->type, have) || type_phys(col->type) != type_phys(have))
            return err_internal(e, "plan: values of another type for column \"%s\"", col->name);
    }
    return ST_OK;
}
Status stmt_verify(const PlanCtx *c, const BoundStmt *s, Err *e) {
    if (s->kind == STMT_INSERT || s->merge) TRY(verify_target(c, s->table, s->table->n_cols, NULL, s->values, e));
    if (s->kind == STMT_UPDATE) TRY(verify_target(c, s->table, s->n_set, s->set_cols, s->values, e));
    return s->hit ? verify_target(c, s->table, s->n_set, s->set_cols, s->set_values, e) : ST_OK;
}

Status plan_verify(PlanCtx *c, const Plan *p, Err *e) {
    Verify v = {.c = c, .e = e};
    TRY(plan_verify_unshared(c, p, e));
    ColSet none = colset_new(c);
    v.scope = &none;
    return verify_plan(&v, p, &none);
}
