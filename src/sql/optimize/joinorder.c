/* joinorder.c - the order of inner joins, the places of semi joins, the sides hash tables are built on.
 *
 * A region is a maximal tree of inner joins. Its leaves are joined by dynamic programming over subsets (up to DP_MAX
 * leaves; greedily beyond), bushy trees included, cross products only where nothing connects. Equalities form classes:
 * a class with members on both sides of a join gives one condition, so a transitive equality costs nothing and connects
 * what it can.
 *
 * Cost: a row put into a hash table costs about three probes; probing a larger table costs more (cache misses); rows
 * made cost a little. An inner join's children end as probe side (left) and build side (right).
 *
 * Semi and anti joins above a region are tried on the leaf they filter and stay where the total is cheaper. All other
 * joins are fixed points with regions of their own below.
 *
 * Paper: Moerkotte and Neumann, "Analysis of two existing and one new dynamic programming algorithm" (DPsub here:
 * regions are small). */
#include <math.h>

#include "sql/optimize/optimize_int.h"

enum { DP_MAX = 12, REGION_MAX = 60 };

typedef struct Member {
    int rel;
    ColId col;
    double nd;
} Member;
typedef struct EqClass {
    VEC(Member) m;
    uint64_t rels;
} EqClass;
typedef struct Pred {
    Expr *e;
    uint64_t rels;
    double sel;
} Pred;
typedef struct Node { /* of a join tree */
    uint64_t set;
    int left, right; /* nodes; -1 leaf */
} Node;
typedef struct Graph {
    Opt *o;
    int n;
    Plan **rels;
    ColSet *outs;
    VEC(EqClass) classes;
    VEC(Pred) preds;
    double *corr; /* n x n: correction for pairs with several equalities */
    VEC(Node) nodes;
    double cost, rows; /* of the best tree */
    double kept;       /* kept_rows() */
    int root;
} Graph;
typedef struct Region {
    PlanVec leaves;
    ExprVec pool;
} Region;

static Plan *order(Opt *o, Plan *p);

static bool is_region(const Plan *p) {
    if (p->kind == LP_JOIN) return p->join.kind == JN_INNER;
    if (p->kind != LP_FILTER || p->children[0]->kind != LP_JOIN || p->children[0]->join.kind != JN_INNER) return false;
    for (int32_t i = 0; i < p->n_conds; i++)
        if (expr_is_volatile(p->conds[i]) || opt_is_domain_fallible(p->conds[i])) return false;
    return true;
}
static Status collect(Opt *o, Plan *p, Region *g) {
    TRY(stack_check(o->err));
    if (!is_region(p)) {
        Plan *l = order(o, p);
        return l && vec_push(o->a, &g->leaves, l) ? ST_OK : ST_ERROR;
    }
    for (int32_t i = 0; i < p->n_children; i++) TRY(collect(o, p->children[i], g));
    for (int32_t i = 0; i < p->n_conds; i++) TRY(opt_push(o, &g->pool, p->conds[i]));
    return ST_OK;
}

/* ---- the graph --------------------------------------------------------------------------------- */
static uint64_t rels_of(const Graph *g, const Expr *e) {
    uint64_t s = 0;
    for (int i = 0; i < g->n; i++)
        if (opt_uses(g->o, e, &g->outs[i])) s |= UINT64_C(1) << i;
    return s;
}
static int rel_of_col(const Graph *g, ColId id) {
    for (int i = 0; i < g->n; i++)
        if (colset_has(&g->outs[i], id)) return i;
    return -1;
}
static Status class_add(Graph *g, EqClass *k, ColId id) {
    for (int64_t i = 0; i < k->m.len; i++)
        if (k->m.items[i].col == id) return ST_OK;
    Member m = {rel_of_col(g, id), id, opt_col_distinct(g->o, id)};
    if (m.rel < 0) {
        err_internal(g->o->err, "column %d of a join condition has no producer", (int)id);
        return stack_failed(g->o->err); /* where the sets of columns were cut short, that is why */
    }
    if (m.nd <= 0) m.nd = g->rels[m.rel]->est_rows;
    if (m.nd < 1) m.nd = 1;
    k->rels |= UINT64_C(1) << m.rel;
    return vec_push(g->o->a, &k->m, m) ? ST_OK : ST_ERROR;
}
static Status add_equality(Graph *g, ColId a, ColId b) {
    EqClass *ka = NULL, *kb = NULL;
    for (int64_t i = 0; i < g->classes.len; i++)
        for (int64_t j = 0; j < g->classes.items[i].m.len; j++) {
            if (g->classes.items[i].m.items[j].col == a) ka = &g->classes.items[i];
            if (g->classes.items[i].m.items[j].col == b) kb = &g->classes.items[i];
        }
    if (ka && kb && ka != kb) { /* merge */
        for (int64_t j = 0; j < kb->m.len; j++) TRY(class_add(g, ka, kb->m.items[j].col));
        *kb = g->classes.items[--g->classes.len];
        return ST_OK;
    }
    if (!ka && !kb) {
        EqClass none = {0};
        if (!vec_push(g->o->a, &g->classes, none)) return ST_ERROR;
        ka = &g->classes.items[g->classes.len - 1];
    }
    EqClass *k = ka ? ka : kb;
    TRY(class_add(g, k, a));
    return class_add(g, k, b);
}
static double pred_sel(Graph *g, Expr *e, uint64_t rels) {
    double s = opt_selectivity(g->o, 1, &e);
    if (e->kind == EX_OR) /* what its implied parts on the leaves have filtered already */
        for (int i = 0; i < g->n; i++) {
            if (!(rels >> i & 1)) continue;
            Expr *d = NULL;
            if (opt_derive_or(g->o, e, &g->outs[i], &d) == ST_OK && d) {
                double x = opt_selectivity(g->o, 1, &d);
                if (x > s && x > 0) s /= x;
            }
        }
    return s > 1 ? 1 : s < 1e-9 ? 1e-9 : s;
}
static Status add_leaf_filter(Graph *g, int rel, Expr *e) {
    ExprVec v = {0};
    TRY(opt_push(g->o, &v, e));
    Plan *p = g->rels[rel];
    for (const Plan *q = p; q; q = q->n_children ? q->children[0] : NULL) { /* already there? */
        bool through = q->kind == LP_FILTER || q->kind == LP_SCAN;
        for (int32_t i = 0; through && i < q->n_conds; i++)
            if (expr_equal(q->conds[i], e)) return ST_OK;
        if (!through && !(q->kind == LP_JOIN && (q->join.kind == JN_SEMI || q->join.kind == JN_ANTI))) break;
    }
    if (p->kind == LP_SCAN) {
        Expr **c = arena_array(g->o->a, Expr *, p->n_conds + 1);
        if (!c) return ST_ERROR;
        for (int32_t i = 0; i < p->n_conds; i++) c[i] = p->conds[i];
        c[p->n_conds++] = e;
        p->conds = c;
    } else if (!(g->rels[rel] = p = opt_filter(g->o, p, &v))) return ST_ERROR;
    return opt_estimate_node(g->o, p);
}
/* Conditions on one leaf move from the pool into the leaf. */
static Status graph_init(Graph *g, Opt *o, Region *r) {
    int64_t kept = 0;
    memset(g, 0, sizeof *g);
    g->o = o;
    g->n = (int)r->leaves.len;
    g->rels = arena_array(o->a, Plan *, g->n);
    g->outs = arena_array(o->a, ColSet, g->n);
    g->corr = arena_array(o->a, double, g->n * g->n);
    if (!g->rels || !g->outs || !g->corr) return ST_ERROR;
    for (int i = 0; i < g->n; i++) {
        g->rels[i] = r->leaves.items[i];
        g->outs[i] = opt_outputs(o, g->rels[i]);
    }
    for (int64_t i = 0; i < r->pool.len; i++) {
        Expr *e = r->pool.items[i];
        uint64_t rels = rels_of(g, e);
        if (__builtin_popcountll(rels) == 1 && !expr_is_volatile(e) && !opt_is_domain_fallible(e)) {
            TRY(add_leaf_filter(g, __builtin_ctzll(rels), e));
            continue;
        }
        r->pool.items[kept++] = e;
        if (opt_is_op(e, "=") && e->args[0]->kind == EX_COL && e->args[1]->kind == EX_COL &&
            type_eq(e->args[0]->type, e->args[1]->type) && __builtin_popcountll(rels) == 2) {
            TRY(add_equality(g, e->args[0]->u.col, e->args[1]->u.col));
            continue;
        }
        Pred p = {e, rels, pred_sel(g, e, rels)};
        if (!vec_push(o->a, &g->preds, p)) return ST_ERROR;
    }
    r->pool.len = kept;
    /* two members in one leaf: a filter there, and one member less */
    for (int64_t k = 0; k < g->classes.len; k++) {
        EqClass *c = &g->classes.items[k];
        for (int64_t i = 0; i < c->m.len; i++)
            for (int64_t j = i + 1; j < c->m.len; j++) {
                if (c->m.items[i].rel != c->m.items[j].rel) continue;
                Expr *e = opt_op(o, "=", opt_col(o, c->m.items[i].col), opt_col(o, c->m.items[j].col));
                if (!e) return ST_ERROR;
                TRY(add_leaf_filter(g, c->m.items[i].rel, e));
                c->m.items[j--] = c->m.items[--c->m.len];
            }
    }
    /* pairs joined on several columns: known keys, otherwise damped */
    for (int i = 0; i < g->n; i++)
        for (int j = 0; j < g->n; j++) {
            g->corr[i * g->n + j] = 1;
            if (i >= j) continue;
            double nds[8], product = 1;
            int n = 0;
            ColSet ki = colset_new(o->c), kj = colset_new(o->c);
            for (int64_t k = 0; k < g->classes.len && n < 8; k++) {
                const EqClass *c = &g->classes.items[k];
                double a = 0, b = 0;
                for (int64_t m = 0; m < c->m.len; m++) {
                    if (c->m.items[m].rel == i) {
                        a = c->m.items[m].nd;
                        colset_add(o->c, &ki, c->m.items[m].col);
                    }
                    if (c->m.items[m].rel == j) b = c->m.items[m].nd;
                }
                if (a <= 0 || b <= 0) continue;
                for (int64_t m = 0; m < c->m.len; m++)
                    if (c->m.items[m].rel == j) colset_add(o->c, &kj, c->m.items[m].col);
                nds[n] = a > b ? a : b;
                product *= nds[n++];
            }
            if (n < 2) continue;
            double domain;
            if (opt_unique(o, g->rels[i], &ki)) domain = opt_domain_rows(o, g->rels[i]);
            else if (opt_unique(o, g->rels[j], &kj)) domain = opt_domain_rows(o, g->rels[j]);
            else {
                double top = 0;
                for (int k = 0; k < n; k++) top = nds[k] > top ? nds[k] : top;
                domain = top * sqrt(product / top);
                /* a side cannot have more different pairs than rows; the smaller side's are assumed to be the domain */
                double ri = opt_domain_rows(o, g->rels[i]), rj = opt_domain_rows(o, g->rels[j]),
                       cap = ri < rj ? ri : rj;
                if (domain > cap) domain = cap > top ? cap : top;
            }
            if (domain < 1) domain = 1;
            g->corr[i * g->n + j] = product > domain ? product / domain : 1;
        }
    return ST_OK;
}
static double card(const Graph *g, uint64_t set) {
    double rows = 1;
    for (uint64_t s = set; s; s &= s - 1) rows *= g->rels[__builtin_ctzll(s)]->est_rows;
    for (int64_t k = 0; k < g->classes.len; k++) {
        const EqClass *c = &g->classes.items[k];
        if (__builtin_popcountll(c->rels & set) < 2) continue;
        double least = 0;
        bool first = true;
        for (int64_t m = 0; m < c->m.len; m++) {
            if (!(set >> c->m.items[m].rel & 1)) continue;
            double nd = c->m.items[m].nd;
            if (first || nd < least) least = nd;
            first = false;
            rows /= nd;
        }
        rows *= least;
    }
    for (int64_t i = 0; i < g->preds.len; i++)
        if (g->preds.items[i].rels && (g->preds.items[i].rels & ~set) == 0) rows *= g->preds.items[i].sel;
    for (uint64_t s = set; s; s &= s - 1)
        for (uint64_t t = s & (s - 1); t; t &= t - 1) rows *= g->corr[__builtin_ctzll(s) * g->n + __builtin_ctzll(t)];
    return rows < 1 ? 1 : rows;
}
/* Leaves that share a class or a two-sided condition with leaf i. */
static uint64_t neighbours(const Graph *g, int i) {
    uint64_t bit = UINT64_C(1) << i, s = 0;
    for (int64_t k = 0; k < g->classes.len; k++)
        if (g->classes.items[k].rels & bit) s |= g->classes.items[k].rels;
    for (int64_t k = 0; k < g->preds.len; k++)
        if ((g->preds.items[k].rels & bit) && __builtin_popcountll(g->preds.items[k].rels) == 2)
            s |= g->preds.items[k].rels;
    return s & ~bit;
}
/* Conditions over three and more leaves connect what they complete. */
static bool hyper_connected(const Graph *g, uint64_t a, uint64_t b) {
    for (int64_t i = 0; i < g->preds.len; i++) {
        uint64_t r = g->preds.items[i].rels;
        if ((r & a) && (r & b) && !(r & ~(a | b))) return true;
    }
    return false;
}
static bool connected(const Graph *g, uint64_t a, uint64_t b) {
    for (uint64_t s = a; s; s &= s - 1)
        if (neighbours(g, __builtin_ctzll(s)) & b) return true;
    return hyper_connected(g, a, b);
}
static double probe_cost(double build) { return build > 4096 ? 1 + 0.15 * log2(build / 4096) : 1; }
static double hash_cost(double build, double probe, double out) {
    return build * 3 + probe * probe_cost(build) + out * 0.5;
}
static double join_cost(const Graph *g, double a, double b, double out, bool cross) {
    double x = hash_cost(a, b, out), y = hash_cost(b, a, out);
    double c = x < y ? x : y;
    return cross ? c + a * b + g->kept : c;
}
/* Rows of unions, which are kept before they are joined. A join with one key lets scans below skip most of them
 * (runtime_filter.c), one with a product of two relations does not. */
static double kept_rows(const Graph *g) {
    double n = 0;
    for (int i = 0; i < g->n; i++) {
        const Plan *p = g->rels[i];
        while (p->kind == LP_PROJECT || p->kind == LP_FILTER) p = p->children[0];
        if (p->kind == LP_SETOP) n += p->est_rows;
    }
    return n;
}

static int add_node(Graph *g, uint64_t set, int l, int r) {
    Node n = {set, l, r};
    return vec_push(g->o->a, &g->nodes, n) ? (int)g->nodes.len - 1 : -1;
}
typedef struct Dp {
    double cost, rows;
    uint32_t left; /* best split */
    uint32_t near; /* neighbours of its leaves */
} Dp;
static int dp_tree(Graph *g, const Dp *t, uint32_t s) {
    if (stack_stop()) return -1;
    if ((s & (s - 1)) == 0) return add_node(g, s, -1, -1);
    int l = dp_tree(g, t, t[s].left), r = dp_tree(g, t, s & ~t[s].left);
    return l < 0 || r < 0 ? -1 : add_node(g, s, l, r);
}
static Status solve_dp(Graph *g) {
    uint32_t full = (UINT32_C(1) << g->n) - 1;
    Dp *t = arena_array(g->o->a, Dp, (int64_t)full + 1);
    if (!t) return ST_ERROR;
    bool hyper = false;
    for (int64_t i = 0; i < g->preds.len; i++) hyper |= __builtin_popcountll(g->preds.items[i].rels) > 2;
    for (uint32_t s = 1; s <= full; s++) {
        t[s].rows = card(g, s);
        t[s].near = (uint32_t)neighbours(g, __builtin_ctz(s)) | t[s & (s - 1)].near;
        if ((s & (s - 1)) == 0) {
            t[s].cost = g->rels[__builtin_ctz(s)]->est_cost;
            t[s].rows = g->rels[__builtin_ctz(s)]->est_rows;
            continue;
        }
        t[s].cost = INFINITY;
        for (int pass = 0; pass < 2 && t[s].left == 0; pass++)
            for (uint32_t a = (s - 1) & s; a; a = (a - 1) & s) {
                uint32_t b = s & ~a;
                if (a < b) break; /* every split once */
                bool con = (t[a].near & b) || (hyper && hyper_connected(g, a, b));
                if (pass == 0 && !con) continue;
                double c = t[a].cost + t[b].cost + join_cost(g, t[a].rows, t[b].rows, t[s].rows, !con);
                if (c < t[s].cost) {
                    t[s].cost = c;
                    t[s].left = a;
                }
            }
    }
    g->cost = t[full].cost;
    g->rows = t[full].rows;
    g->root = dp_tree(g, t, full);
    return g->root < 0 ? ST_ERROR : ST_OK;
}
static Status solve_greedy(Graph *g) {
    int *tree = arena_array(g->o->a, int, g->n), n = g->n;
    double *rows = arena_array(g->o->a, double, g->n);
    if (!tree || !rows) return ST_ERROR;
    g->cost = 0;
    for (int i = 0; i < n; i++) {
        if ((tree[i] = add_node(g, UINT64_C(1) << i, -1, -1)) < 0) return ST_ERROR;
        rows[i] = g->rels[i]->est_rows;
        g->cost += g->rels[i]->est_cost;
    }
    while (n > 1) {
        int bi = 0, bj = 1;
        double best = INFINITY;
        bool best_con = false;
        for (int i = 0; i < n; i++)
            for (int j = i + 1; j < n; j++) {
                uint64_t a = g->nodes.items[tree[i]].set, b = g->nodes.items[tree[j]].set;
                bool con = connected(g, a, b);
                if (best_con && !con) continue;
                double out = card(g, a | b), c = out + 0.001 * join_cost(g, rows[i], rows[j], out, !con);
                if ((con && !best_con) || c < best) {
                    best = c;
                    best_con = con;
                    bi = i;
                    bj = j;
                }
            }
        uint64_t s = g->nodes.items[tree[bi]].set | g->nodes.items[tree[bj]].set;
        double out = card(g, s);
        g->cost += join_cost(g, rows[bi], rows[bj], out, !best_con);
        if ((tree[bi] = add_node(g, s, tree[bi], tree[bj])) < 0) return ST_ERROR;
        rows[bi] = out;
        tree[bj] = tree[n - 1];
        rows[bj] = rows[n - 1];
        n--;
    }
    g->rows = rows[0];
    g->root = tree[0];
    return ST_OK;
}
static Status solve(Graph *g) {
    g->kept = kept_rows(g);
    if (g->n == 1) {
        g->cost = g->rels[0]->est_cost;
        g->rows = g->rels[0]->est_rows;
        g->root = add_node(g, 1, -1, -1);
        return g->root < 0 ? ST_ERROR : ST_OK;
    }
    return g->n <= DP_MAX ? solve_dp(g) : solve_greedy(g);
}
static Plan *build_tree(Graph *g, int node) {
    if (stack_check(g->o->err) != ST_OK) return NULL;
    Opt *o = g->o;
    Node nd = g->nodes.items[node];
    if (nd.left < 0) return g->rels[__builtin_ctzll(nd.set)];
    Plan *l = build_tree(g, nd.left), *r = build_tree(g, nd.right);
    if (!l || !r) return NULL;
    uint64_t ls = g->nodes.items[nd.left].set, rs = g->nodes.items[nd.right].set;
    double out = card(g, nd.set);
    if (rule_on(o->c, RULE_BUILD_SIDE) &&
        hash_cost(l->est_rows, r->est_rows, out) < hash_cost(r->est_rows, l->est_rows, out)) {
        Plan *x = l;
        l = r;
        r = x;
        uint64_t y = ls;
        ls = rs;
        rs = y;
    }
    ExprVec conds = {0};
    for (int64_t k = 0; k < g->classes.len; k++) {
        const EqClass *c = &g->classes.items[k];
        const Member *a = NULL, *b = NULL;
        for (int64_t m = 0; m < c->m.len; m++) {
            const Member *x = &c->m.items[m];
            if ((ls >> x->rel & 1) && (!a || x->nd > a->nd)) a = x;
            if ((rs >> x->rel & 1) && (!b || x->nd > b->nd)) b = x;
        }
        if (a && b && opt_push(o, &conds, opt_op(o, "=", opt_col(o, a->col), opt_col(o, b->col))) != ST_OK) return NULL;
    }
    for (int64_t i = 0; i < g->preds.len; i++) {
        uint64_t p = g->preds.items[i].rels;
        bool here = __builtin_popcountll(p) <= 1 ? node == g->root : !(p & ~nd.set) && (p & ~ls) && (p & ~rs);
        if (here && opt_push(o, &conds, g->preds.items[i].e) != ST_OK) return NULL;
    }
    Plan *j = opt_join(o, JN_INNER, l, r, &conds);
    if (!j) return NULL;
    j->est_rows = out;
    j->est_cost = l->est_cost + r->est_cost + hash_cost(r->est_rows, l->est_rows, out);
    return j;
}

/* ---- semi joins over a region ------------------------------------------------------------------------ */
static bool has_equi(Opt *o, const Plan *p) {
    ColSet l = opt_outputs(o, p->children[0]), r = opt_outputs(o, p->children[1]);
    for (int32_t i = 0; i < p->n_conds; i++) {
        Expr *a, *b;
        bool ns;
        if (opt_equi(o, p->conds[i], &l, &r, &a, &b, &ns)) return true;
    }
    return false;
}
/* Build side of the joins that are not inner. */
static void choose_build(Opt *o, Plan *p) {
    p->join.build_left = false;
    if (!rule_on(o->c, RULE_BUILD_SIDE) || p->join.kind == JN_MARK || p->join.kind == JN_SINGLE || !has_equi(o, p))
        return;
    double l = p->children[0]->est_rows, r = p->children[1]->est_rows;
    if (p->join.kind == JN_FULL || p->join.kind == JN_RIGHT || p->join.kind == JN_INNER) p->join.build_left = l < r;
    else p->join.build_left = l * 4 <= r && r > 1000;
}
static double semi_cost(double l, double r, double out) {
    double x = hash_cost(r, l, out), y = hash_cost(l, r, out);
    return l * 4 <= r && y < x ? y : x;
}
static Plan *rebuild_semi(Opt *o, Plan *s, Plan *left) {
    s->children[0] = left;
    choose_build(o, s);
    return opt_estimate_node(o, s) == ST_OK ? s : NULL;
}
/* Leaf that the semi join's condition is about, -1 when there are several. */
static int semi_leaf(Opt *o, const Plan *s, const Region *r) {
    int leaf = -1;
    for (int64_t i = 0; i < r->leaves.len; i++) {
        ColSet outs = opt_outputs(o, r->leaves.items[i]);
        bool uses = false;
        for (int32_t k = 0; k < s->n_conds; k++) uses |= opt_uses(o, s->conds[k], &outs);
        if (!uses) continue;
        if (leaf >= 0) return -1;
        leaf = (int)i;
    }
    return leaf;
}
static Plan *order_region(Opt *o, Plan *p, PlanVec *semis) {
    Region r = {0};
    if (collect(o, p, &r) != ST_OK) return NULL;
    if (r.leaves.len > REGION_MAX) { /* as written */
        Plan *cur = r.leaves.items[0];
        ColSet have = opt_outputs(o, cur);
        bool *placed = arena_array(o->a, bool, r.pool.len + 1);
        if (!placed) return NULL;
        for (int64_t i = 1; i < r.leaves.len; i++) {
            ColSet outs = opt_outputs(o, r.leaves.items[i]);
            colset_add_all(o->c, &have, &outs);
            ExprVec conds = {0};
            for (int64_t k = 0; k < r.pool.len; k++)
                if (!placed[k] && (opt_within(o, r.pool.items[k], &have) || i == r.leaves.len - 1)) {
                    placed[k] = true;
                    if (opt_push(o, &conds, r.pool.items[k]) != ST_OK) return NULL;
                }
            if (!(cur = opt_join(o, JN_INNER, cur, r.leaves.items[i], &conds)) || opt_estimate_node(o, cur) != ST_OK)
                return NULL;
        }
        for (int64_t i = semis->len - 1; i >= 0 && cur; i--) cur = rebuild_semi(o, semis->items[i], cur);
        return cur;
    }
    Graph g;
    if (graph_init(&g, o, &r) != ST_OK || solve(&g) != ST_OK) return NULL;
    /* innermost first; each either moves to its leaf or stays above */
    for (int64_t i = semis->len - 1; i >= 0; i--) {
        Plan *s = semis->items[i];
        for (int k = 0; k < g.n; k++) r.leaves.items[k] = g.rels[k]; /* with the filters graph_init added */
        int leaf = semi_leaf(o, s, &r);
        bool movable = leaf >= 0 && r.leaves.len > 1;
        for (int32_t k = 0; k < s->n_conds && movable; k++)
            movable = !expr_is_volatile(s->conds[k]) && !opt_is_domain_fallible(s->conds[k]);
        if (!movable) continue;
        Plan *old = r.leaves.items[leaf];
        double right = s->children[1]->est_rows;
        s->children[0] = old;
        if (opt_estimate_node(o, s) != ST_OK) return NULL;
        double f = old->est_rows > 0 ? s->est_rows / old->est_rows : 1;
        double stay = g.cost + semi_cost(g.rows, right, g.rows * f);
        s->est_cost = old->est_cost + s->children[1]->est_cost * 0 + semi_cost(old->est_rows, right, s->est_rows);
        r.leaves.items[leaf] = s;
        Graph h;
        if (graph_init(&h, o, &r) != ST_OK || solve(&h) != ST_OK) return NULL;
        if (h.cost < stay) {
            choose_build(o, s);
            g = h;
            semis->items[i] = NULL;
        } else r.leaves.items[leaf] = old;
    }
    Plan *t = build_tree(&g, g.root);
    if (t && g.n == 1) { /* conditions without any column */
        ExprVec v = {0};
        for (int64_t i = 0; i < g.preds.len; i++)
            if (opt_push(o, &v, g.preds.items[i].e) != ST_OK) return NULL;
        Plan *f = opt_filter(o, t, &v);
        if (!f) return NULL;
        if (f != t && opt_estimate_node(o, f) != ST_OK) return NULL;
        t = f;
    }
    for (int64_t i = semis->len - 1; i >= 0 && t; i--)
        if (semis->items[i]) t = rebuild_semi(o, semis->items[i], t);
    return t;
}

static Plan *order(Opt *o, Plan *p) {
    if (stack_check(o->err) != ST_OK) return NULL;
    PlanVec semis = {0};
    Plan *q = p;
    if (rule_on(o->c, RULE_JOIN_ORDER)) {
        while (q->kind == LP_JOIN && (q->join.kind == JN_SEMI || q->join.kind == JN_ANTI)) {
            if (!vec_push(o->a, &semis, q)) return NULL;
            q = q->children[0];
        }
        if (is_region(q)) {
            for (int64_t i = 0; i < semis.len; i++)
                if (!(semis.items[i]->children[1] = order(o, semis.items[i]->children[1]))) return NULL;
            return order_region(o, q, &semis);
        }
    }
    for (int32_t i = 0; i < p->n_children; i++) {
        if (!(p->children[i] = order(o, p->children[i]))) return NULL;
        if (p->kind == LP_CTE && i == 0 && opt_note_cte(o, p) != ST_OK) return NULL;
    }
    if (p->kind == LP_JOIN) {
        if (p->join.kind == JN_INNER) {
            if (rule_on(o->c, RULE_BUILD_SIDE) && p->children[0]->est_rows < p->children[1]->est_rows) {
                Plan *x = p->children[0];
                p->children[0] = p->children[1];
                p->children[1] = x;
            }
        } else choose_build(o, p);
    }
    return opt_estimate_node(o, p) == ST_OK ? p : NULL;
}
Plan *opt_join_order(Opt *o, Plan *p) { return order(o, p); }
