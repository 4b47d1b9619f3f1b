/* bind_groups.c - GROUPING SETS, ROLLUP, CUBE and GROUPING().
 *
 * GROUP BY is expanded to a list of sets of keys. One set is ordinary grouping. Several are made of operators that
 * there are anyway, so that every executor has them, in one pass over the input: each row comes once per set, with the
 * set's number, and is grouped by that number and by the keys, of which those that are not in the set are NULL:
 *
 *   AGG number, CASE WHEN number in (sets with k) THEN k END ...  >  REPEAT n_sets  >  PROJECT keys  >  input
 *
 * (sql/optimize/grouping_sets.c groups the input by all keys first, where that leaves less to repeat.) The set () has a
 * row even if there is no input: its number comes from a VALUES, joined with the groups by FULL JOIN. The sets are in
 * the order of their sizes, so that those of a ROLLUP that have a key are number < n.
 *
 * GROUPING() is a column of its level like an aggregate's, and is computed of the set's number when the keys are known.
 */
#include "sql/bind/bind_int.h"

enum { SETS_MAX = 4096, CUBE_MAX = 12, GROUPING_MAX = 31 }; /* PostgreSQL's limits */

/* ---- sets --------------------------------------------------------------------------- */

static Status too_many(Binder *b, const AstGroupItem *g) {
    int64_t location = g->kind == AST_GROUP_EXPR ? g->expr->location : g->location;
    return err_at(b->err, bind_pos(b, location), ERR_STATEMENT_TOO_COMPLEX,
                  "too many grouping sets present (maximum %d)", SETS_MAX);
}

static bool set_has(const KeySet *s, ColId key) {
    for (int64_t i = 0; i < s->len; i++)
        if (s->items[i] == key) return true;
    return false;
}

static Status set_add_all(Binder *b, KeySet *s, const KeySet *other) {
    for (int64_t i = 0; i < other->len; i++)
        if (!set_has(s, other->items[i]) && !vec_push(b->a, s, other->items[i])) return ST_ERROR;
    return ST_OK;
}

static Status sets_add(Binder *b, KeySets *sets, KeySet s, const AstGroupItem *g) {
    if (sets->len >= SETS_MAX) return too_many(b, g);
    return vec_push(b->a, sets, s) ? ST_OK : ST_ERROR;
}

typedef struct Expansion {
    Binder *b;
    Query *q;
    const TargetVec *targets;
    ExprVec *keys;
} Expansion;

/* The sets of keys of each item of ROLLUP or CUBE. */
static KeySet *item_keys(Expansion *x, const AstGroupItem *g) {
    KeySet *parts = arena_array(x->b->a, KeySet, g->n_items + 1);
    for (int64_t i = 0; parts && i < g->n_items; i++) {
        parts[i] = (KeySet){0};
        if (bind_group_key(x->b, x->q, g->items[i].expr, x->targets, x->keys, &parts[i]) != ST_OK) return NULL;
    }
    return parts;
}

static Status expand_rollup(Expansion *x, const AstGroupItem *g, KeySets *out) {
    KeySet *parts = item_keys(x, g);
    if (!parts) return ST_ERROR;
    for (int64_t n = g->n_items; n >= 0; n--) {
        KeySet s = {0};
        for (int64_t i = 0; i < n; i++) TRY(set_add_all(x->b, &s, &parts[i]));
        TRY(sets_add(x->b, out, s, g));
    }
    return ST_OK;
}

static Status expand_cube(Expansion *x, const AstGroupItem *g, KeySets *out) {
    if (g->n_items > CUBE_MAX)
        return err_at(x->b->err, bind_pos(x->b, g->location), ERR_TOO_MANY_COLUMNS, "CUBE is limited to %d elements",
                      CUBE_MAX);
    KeySet *parts = item_keys(x, g);
    if (!parts) return ST_ERROR;
    for (int64_t without = 0; without < INT64_C(1) << g->n_items; without++) {
        KeySet s = {0};
        for (int64_t i = 0; i < g->n_items; i++)
            if (!(without >> i & 1)) TRY(set_add_all(x->b, &s, &parts[i]));
        TRY(sets_add(x->b, out, s, g));
    }
    return ST_OK;
}

static Status expand(Expansion *x, const AstGroupItem *g, KeySets *out) {
    TRY(stack_check(x->b->err));
    KeySet s = {0};
    switch (g->kind) {
    case AST_GROUP_EMPTY: return sets_add(x->b, out, s, g);
    case AST_GROUP_EXPR:
        TRY(bind_group_key(x->b, x->q, g->expr, x->targets, x->keys, &s));
        return sets_add(x->b, out, s, g);
    case AST_GROUP_ROLLUP: return expand_rollup(x, g, out);
    case AST_GROUP_CUBE: return expand_cube(x, g, out);
    case AST_GROUP_SETS:
        for (int64_t i = 0; i < g->n_items; i++) TRY(expand(x, &g->items[i], out));
        return ST_OK;
    }
    return ST_OK;
}

static Status cross_sets(Binder *b, KeySets *sets, const KeySets *with, const AstGroupItem *first) {
    KeySets all = {0};
    if (sets->len * with->len > SETS_MAX) return too_many(b, first);
    for (int64_t i = 0; i < sets->len; i++)
        for (int64_t j = 0; j < with->len; j++) {
            KeySet s = {0};
            TRY(set_add_all(b, &s, &sets->items[i]));
            TRY(set_add_all(b, &s, &with->items[j]));
            if (!vec_push(b->a, &all, s)) return ST_ERROR;
        }
    *sets = all;
    return ST_OK;
}

static bool same_set(const KeySet *a, const KeySet *b) {
    for (int64_t i = 0; i < a->len; i++)
        if (!set_has(b, a->items[i])) return false;
    return a->len == b->len;
}

static void drop_duplicates(KeySets *sets) {
    int64_t n = 0;
    for (int64_t i = 0; i < sets->len; i++) {
        bool twice = false;
        for (int64_t j = 0; j < n && !twice; j++) twice = same_set(&sets->items[j], &sets->items[i]);
        if (!twice) sets->items[n++] = sets->items[i];
    }
    sets->len = n;
}

/* By size, the largest first; sets of a size stay in their order. */
static Status sort_sets(Binder *b, KeySets *sets, int64_t n_keys) {
    KeySets sorted = {0};
    for (int64_t n = n_keys; n >= 0; n--)
        for (int64_t i = 0; i < sets->len; i++)
            if (sets->items[i].len == n && !vec_push(b->a, &sorted, sets->items[i])) return ST_ERROR;
    *sets = sorted;
    return ST_OK;
}

Status bind_group_sets(Binder *b, Query *q, const AstSelect *s, const TargetVec *targets, ExprVec *keys,
                       KeySets *sets) {
    Expansion x = {b, q, targets, keys};
    *sets = (KeySets){0};
    if (!vec_push(b->a, sets, (KeySet){0})) return ST_ERROR;
    for (int64_t i = 0; i < s->n_group_by; i++) {
        KeySets mine = {0};
        TRY(expand(&x, &s->group_by[i], &mine));
        TRY(cross_sets(b, sets, &mine, &s->group_by[0]));
    }
    if (s->group_distinct) drop_duplicates(sets);
    return sort_sets(b, sets, keys->len);
}

bool bind_in_all_sets(const KeySets *sets, int64_t key) {
    for (int64_t i = 0; i < sets->len; i++)
        if (!set_has(&sets->items[i], (ColId)key)) return false;
    return true;
}

/* ---- GROUPING() ------------------------------------------------------------------------- */

Expr *bind_grouping(Binder *b, Query *q, const AstList *l) {
    if (l->n_items > GROUPING_MAX) {
        err_at(b->err, bind_pos(b, l->location), ERR_TOO_MANY_ARGUMENTS, "GROUPING must have fewer than 32 arguments");
        return NULL;
    }
    bool srf = q->srf_ok;
    q->srf_ok = false;
    Expr **args = bind_list(b, q, l->items, l->n_items);
    q->srf_ok = srf;
    if (!args) return NULL;
    Query *level = bind_agg_level(b, q, l->n_items, args, l->location);
    if (!level) return NULL;
    if (level->clause) {
        err_at(b->err, bind_pos(b, l->location), ERR_GROUPING, "grouping operations are not allowed in %s",
               level->clause);
        return NULL;
    }
    ColId id = 0; /* equal ones share it */
    for (int64_t i = 0; i < level->groupings.len && !id; i++) {
        const GroupingCall *o = &level->groupings.items[i];
        bool same = o->n == l->n_items;
        for (int64_t k = 0; k < o->n && same; k++) same = expr_equal(o->args[k], args[k]);
        if (same) id = o->out;
    }
    if (!id) {
        GroupingCall g = {.n = l->n_items, .args = args};
        if (!(id = g.out = plan_new_col(b->c, "grouping", type_make(T_INT4), false)) ||
            bind_own(b, level, id, true) != ST_OK || !vec_push(b->a, &level->groupings, g))
            return NULL;
    }
    Expr *e = expr_col(b->c, id);
    if (e) e->location = l->location;
    return e;
}

Status bind_grouping_keys(Binder *b, Query *q, const ExprVec *keys) {
    for (int64_t i = 0; i < q->groupings.len; i++) {
        GroupingCall *g = &q->groupings.items[i];
        if (!(g->keys = arena_array(b->a, int32_t, g->n + 1))) return ST_ERROR;
        for (int64_t k = 0; k < g->n; k++) {
            int64_t j = 0;
            while (j < keys->len && !expr_equal(g->args[k], keys->items[j])) j++;
            if (j == keys->len)
                return err_at(b->err, bind_pos(b, g->args[k]->location), ERR_GROUPING,
                              "arguments to GROUPING must be grouping expressions of the associated query level");
            g->keys[k] = (int32_t)j;
        }
    }
    return ST_OK;
}

/* ---- the plan ------------------------------------------------------------------------------ */

/* Whether the set with that number has the key. always: all have it, and the value means nothing. */
static Expr *in_set(Binder *b, const KeySets *sets, ColId number, ColId key, bool *always) {
    int64_t n = 0, first = -1, last = -1;
    for (int64_t i = 0; i < sets->len; i++) {
        if (!set_has(&sets->items[i], key)) continue;
        if (first < 0) first = i;
        last = i;
        n++;
    }
    *always = n == sets->len;
    Expr *col = expr_col(b->c, number);
    if (*always || !col) return col;
    if (first == 0 && last == n - 1) return bind_op(b, "<", col, bind_int8_const(b, n), 0);
    if (last == sets->len - 1 && first == sets->len - n) return bind_op(b, ">=", col, bind_int8_const(b, first), 0);
    Expr *e = expr_new(b->c, EX_IN, type_make(T_BOOL), (int32_t)(n + 1));
    if (!e) return NULL;
    e->args[0] = col;
    n = 1;
    for (int64_t i = 0; i < sets->len; i++)
        if (set_has(&sets->items[i], key) && !(e->args[n++] = bind_int8_const(b, i))) return NULL;
    return e;
}

static Expr *case_of(Binder *b, Expr *when, Expr *then, Expr *otherwise) {
    Expr *e = when && then && otherwise ? expr_new(b->c, EX_CASE, then->type, 3) : NULL;
    if (!e) return NULL;
    e->args[0] = when;
    e->args[1] = then;
    e->args[2] = otherwise;
    return e;
}

static Expr *int4_const(Binder *b, int32_t i) {
    Value v = {.type = type_make(T_INT4)};
    v.u.i32 = i;
    return expr_const(b->c, &v);
}

/* Bit k from the right is 1 where the k-th argument from the right is not in the set. */
static Expr *grouping_value(Binder *b, const GroupingCall *g, const KeySets *sets, ColId number) {
    Expr *sum = NULL;
    for (int64_t i = 0; i < g->n; i++) {
        bool always = true;
        Expr *in = sets->len > 1 ? in_set(b, sets, number, g->keys[i], &always) : NULL;
        if (sets->len > 1 && !in) return NULL;
        if (always) continue;
        Expr *bit = case_of(b, in, int4_const(b, 0), int4_const(b, (int32_t)(INT32_C(1) << (g->n - 1 - i))));
        if (!bit) return NULL;
        sum = sum ? bind_op(b, "+", sum, bit, 0) : bit;
        if (!sum) return NULL;
    }
    return sum ? sum : int4_const(b, 0);
}

/* All columns of the child, to be passed on. */
static Status pass_all(Binder *b, const Plan *child, Proj *proj) {
    ColSet out = colset_new(b->c);
    plan_outputs(b->c, child, &out);
    ColId n = (ColId)b->c->cols.len;
    for (ColId id = 1; id < n; id++) {
        if (!colset_has(&out, id)) continue;
        Expr *e = expr_col(b->c, id);
        if (!e || !vec_push(b->a, &proj->ids, id) || !vec_push(b->a, &proj->exprs, e)) return ST_ERROR;
    }
    return ST_OK;
}

static Plan *repeat(Binder *b, Proj *proj, Plan *child, int64_t n, ColId number) {
    ColId count = bind_proj_add(b, proj, NULL, bind_int8_const(b, n), "sets");
    Plan *p = count ? bind_proj_plan(b, proj, child) : NULL, *r = plan_new(b->c, LP_REPEAT, 1);
    if (!p || !r || (number && !(r->out_cols = arena_array(b->a, ColId, 1)))) return NULL;
    r->children[0] = p;
    r->count_col = count;
    r->repeats = n;
    if (!number) return r;
    r->out_cols[0] = number;
    r->n_out = 1;
    return r;
}

/* The sets as text, for EXPLAIN. */
static const char *sets_text(Binder *b, const KeySets *sets, const ColId *ids) {
    const char *text = "";
    for (int64_t i = 0; i < sets->len && text; i++) {
        text = arena_printf(b->a, "%s%s(", text, i ? ", " : "");
        for (int64_t k = 0; k < sets->items[i].len && text; k++)
            text =
                arena_printf(b->a, "%s%s%s", text, k ? ", " : "", b->c->cols.items[ids[sets->items[i].items[k]]].name);
        if (text) text = arena_printf(b->a, "%s)", text);
        if (i == 15 && sets->len > 16 && text)
            return arena_printf(b->a, "%s, .. (%lld sets)", text, (long long)sets->len);
    }
    return text;
}

/* The rows of the aggregation, and one for each set () that has none. number: the column of the set's number, here and
 * there; counts are 0 then. */
static Plan *with_empty(Binder *b, Plan *agg, const KeySets *sets, int64_t first, ColId *number) {
    Proj proj = {0};
    Plan *v = plan_new(b->c, LP_VALUES, 0);
    ColId id = plan_new_col(b->c, "empty set", type_make(T_INT8), false);
    if (!v || !id || !(v->out_cols = bind_ids(b, 1, &id))) return NULL;
    v->n_out = 1;
    v->values.n_rows = sets->len - first;
    if (!(v->values.rows = arena_array(b->a, Expr **, v->values.n_rows))) return NULL;
    for (int64_t i = first; i < sets->len; i++) {
        Expr **row = arena_array(b->a, Expr *, 1);
        if (!row || !(row[0] = bind_int8_const(b, i))) return NULL;
        v->values.rows[i - first] = row;
    }
    Expr *all = expr_new(b->c, EX_COALESCE, type_make(T_INT8), 2);
    if (!all || !(all->args[0] = expr_col(b->c, *number)) || !(all->args[1] = expr_col(b->c, id))) return NULL;
    ColId whole = bind_proj_add(b, &proj, NULL, all, "set");
    Expr *cond = bind_op(b, "=", expr_col(b->c, *number), expr_col(b->c, id), 0);
    if (!whole || !cond) return NULL;
    for (int32_t i = 1; i < agg->agg.n_keys; i++) {
        Expr *e = expr_col(b->c, agg->out_cols[i]);
        if (!e || !vec_push(b->a, &proj.ids, agg->out_cols[i]) || !vec_push(b->a, &proj.exprs, e)) return NULL;
    }
    for (int32_t i = 0; i < agg->agg.n_calls; i++) {
        AggCall *c = &agg->agg.calls[i];
        ColId out = c->out;
        Expr *e;
        if (agg_is_count(c->kind)) {
            const ColInfo info = b->c->cols.items[out];
            if (!(c->out = plan_new_col(b->c, info.name, info.type, false))) return NULL;
            if (!(e = expr_new(b->c, EX_COALESCE, info.type, 2))) return NULL;
            if (!(e->args[0] = expr_col(b->c, c->out)) || !(e->args[1] = bind_int8_const(b, 0))) return NULL;
        } else if (!(e = expr_col(b->c, out))) {
            return NULL;
        }
        if (!vec_push(b->a, &proj.ids, out) || !vec_push(b->a, &proj.exprs, e)) return NULL;
    }
    *number = whole;
    Plan *j = bind_join(b, JN_FULL, agg, v);
    if (!j || !(j->conds = arena_array(b->a, Expr *, 1))) return NULL;
    j->conds[0] = cond;
    j->n_conds = 1;
    return bind_proj_plan(b, &proj, j);
}

/* The input's rows once per set, and in place of the keys what the aggregation groups by. */
static Plan *expand_rows(Binder *b, Plan *agg, const KeySets *sets, ColId number) {
    Plan *child = agg->children[0];
    int32_t n = agg->agg.n_keys;
    Proj proj = {0};
    if (pass_all(b, child, &proj) != ST_OK) return NULL;
    Expr **exprs = arena_array(b->a, Expr *, n + 2);
    ColId *out = arena_array(b->a, ColId, n + 2), set = plan_new_col(b->c, "set", type_make(T_INT8), false);
    if (!exprs || !out || !set || !(exprs[0] = expr_col(b->c, number))) return NULL;
    out[0] = set;
    for (int32_t i = 0; i < n; i++) {
        Expr *k = agg->exprs[i];
        const char *name = b->c->cols.items[agg->out_cols[i]].name;
        bool always, is_col = k->kind == EX_COL && plan_yields(child, k->u.col);
        ColId id = is_col ? k->u.col : bind_proj_add(b, &proj, NULL, k, name);
        Expr *in = in_set(b, sets, number, i, &always);
        if (!id || !in || !(exprs[i + 1] = expr_col(b->c, id))) return NULL;
        if (!always && !(exprs[i + 1] = case_of(b, in, exprs[i + 1], bind_null(b, k->type)))) return NULL;
        out[i + 1] = agg->out_cols[i];
    }
    agg->agg.sets = sets_text(b, sets, agg->out_cols);
    agg->exprs = exprs;
    agg->out_cols = out;
    agg->agg.n_keys = agg->n_exprs = agg->n_out = n + 1;
    return agg->agg.sets ? repeat(b, &proj, child, sets->len, number) : NULL;
}

static Plan *add_groupings(Binder *b, const Query *q, Plan *p, const KeySets *sets, ColId number) {
    Proj proj = {0};
    if (pass_all(b, p, &proj) != ST_OK) return NULL;
    for (int64_t i = 0; i < q->groupings.len; i++) {
        const GroupingCall *g = &q->groupings.items[i];
        Expr *e = grouping_value(b, g, sets, number);
        if (!e || !vec_push(b->a, &proj.ids, g->out) || !vec_push(b->a, &proj.exprs, e)) return NULL;
    }
    return bind_proj_plan(b, &proj, p);
}

Plan *bind_grouping_plan(Binder *b, const Query *q, Plan *agg, const KeySets *sets) {
    Plan *p = agg;
    ColId set = 0;
    if (sets->len == 0 || (sets->len == 1 && !q->groupings.len)) return p;
    if (sets->len > 1 && sets->items[0].len == 0) { /* () several times */
        Proj proj = {0};
        if (pass_all(b, agg, &proj) != ST_OK || !(p = repeat(b, &proj, agg, sets->len, 0))) return NULL;
    } else if (sets->len > 1) {
        ColId number = plan_new_col(b->c, "number", type_make(T_INT8), false);
        int64_t first = sets->len;
        if (!number || !(agg->children[0] = expand_rows(b, agg, sets, number))) return NULL;
        set = agg->out_cols[0];
        while (sets->items[first - 1].len == 0) first--;
        if (first < sets->len && !(p = with_empty(b, agg, sets, first, &set))) return NULL;
    }
    return q->groupings.len ? add_groupings(b, q, p, sets, set) : p;
}
