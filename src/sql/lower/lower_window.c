/* lower_window.c - windows to segments: a sort, then one pass over its rows for all windows that share it.
 *
 * The rows are sorted by partition keys, then order keys, and carry what is needed above, the keys, and all that calls
 * and frames read. A second segment, which has no program, makes of them rows with the calls' columns (exec/window.h).
 * Without keys the rows are materialised in the order in which they come.
 */
#include "sql/lower/lower_int.h"

typedef struct WindowWork {
    Plan *top; /* of n_chain windows that share a sort */
    int32_t n_chain;
    const Plan *longest; /* whose keys the sort has */
    Plan *child;         /* below them */
    Pipe *cp, *np;       /* the rows before and after */
    VEC(Reg) regs;       /* columns of the rows before */
    WindowSpec spec;
    VEC(CellSpec) out; /* columns of the rows after */
    SortSpec sort;
    VEC(Reg) sort_regs;
} WindowWork;

static void find_chain(WindowWork *w, Plan *p) {
    w->longest = plan_window_sort(p, &w->n_chain);
    w->top = w->child = p;
    for (int32_t i = 0; i < w->n_chain; i++) w->child = w->child->children[0];
}

/* ---- columns of the rows before -------------------------------------------------------------- */

/* -1 on error. */
static int32_t add_reg(Lower *l, WindowWork *w, Reg r) {
    if (!r) return -1;
    for (int32_t i = 0; i < w->regs.len; i++)
        if (w->regs.items[i] == r) return i;
    return vec_push(l->arena, &w->regs, r) ? (int32_t)w->regs.len - 1 : -1;
}

static Status collect_cols(void *ctx, Expr **slot) {
    void **k = ctx;
    expr_cols(((Lower *)k[0])->c, *slot, k[1]);
    return ST_OK;
}

static Status lower_input(Lower *l, WindowWork *w, const ColSet *needed) {
    ColSet in = colset_new(l->c);
    colset_add_all(l->c, &in, needed);
    void *k[2] = {l, &in};
    for (Plan *p = w->top; p != w->child; p = p->children[0]) TRY(plan_each_expr(p, collect_cols, k));
    w->cp = lower_plan(l, w->child, &in);
    return w->cp ? lower_scan_ranges_flush(l, w->cp) : ST_ERROR;
}

static Status lower_passed(Lower *l, WindowWork *w, const ColSet *needed) {
    int32_t n;
    ColId *ids = lower_needed_of(l, w->child, needed, &n);
    w->spec.n_pass = n;
    w->spec.pass = arena_array(l->arena, int32_t, n + 1);
    if (!ids || !w->spec.pass) return ST_ERROR;
    for (int32_t i = 0; i < n; i++) {
        Reg r = lower_col(l, w->cp, ids[i]);
        if ((w->spec.pass[i] = add_reg(l, w, r)) < 0) return ST_ERROR;
        CellSpec c = pipe_cell_spec(w->cp, r);
        if (!vec_push(l->arena, &w->out, c)) return ST_ERROR;
        *pipe_col(w->np, ids[i]) = pipe_source_entry(i, &c, l->c->cols.items[ids[i]].type, lower_range(w->cp, r));
    }
    return ST_OK;
}

/* ---- windows ------------------------------------------------------------------------------------- */

static bool has_range_offset(const Plan *p) {
    return p->win.frame.mode == WM_RANGE && (p->win.start_offset || p->win.end_offset);
}

/* A column that is a partition key twice is one. */
static Status lower_keys(Lower *l, WindowWork *w, const Plan *p, WinClause *c) {
    c->n_order = p->sort.n;
    c->keys = arena_array(l->arena, int32_t, plan_window_keys(p) + 1);
    if (!c->keys) return ST_ERROR;
    for (int32_t i = 0; i < plan_window_keys(p); i++) {
        SortKey k = plan_window_key(p, i);
        Reg r = lower_expr(l, w->cp, k.expr);
        if (i >= p->n_exprs && has_range_offset(p)) { /* values that offsets are added to */
            r = lower_canonical(l, w->cp, r, k.expr->type);
            c->desc = k.desc;
            c->nulls_first = k.nulls_first;
        }
        int32_t column = add_reg(l, w, r), at = i < p->n_exprs ? c->n_partition : c->n_partition + i - p->n_exprs;
        if (column < 0) return ST_ERROR;
        c->keys[at] = column;
        if (i >= p->n_exprs) continue;
        int32_t same = 0;
        while (same < c->n_partition && c->keys[same] != column) same++;
        c->n_partition += same == c->n_partition;
    }
    return ST_OK;
}

static Status lower_offset(Lower *l, WindowWork *w, Expr *e, int32_t *column, Type *type) {
    *column = -1;
    if (!e) return ST_OK;
    *type = e->type;
    Reg r = lower_canonical(l, w->cp, lower_expr(l, w->cp, e), e->type);
    return (*column = add_reg(l, w, r)) < 0 ? ST_ERROR : ST_OK;
}

static Type result_type(Lower *l, const WinCall *call) { return l->c->cols.items[call->out].type; }

/* A function of values gives cells as its argument has them; with a default both are as the type has them. */
static Status lower_call(Lower *l, WindowWork *w, const WinCall *call, WinCell *cell) {
    Type type = result_type(l, call);
    bool value = call->func >= WF_LAG && call->func <= WF_NTH_VALUE;
    Range range = {type_phys(type) == PH_I64 && !value, 0, INT64_MAX};
    *cell = (WinCell){.func = call->func, .arg = {-1, -1, -1}, .out = {.phys = (uint8_t)type_phys(type), .type = type}};
    cell->out.nullable = call->func > WF_CUME_DIST;
    cell->same_offset = value && call->args[1] && call->args[1]->kind == EX_CONST;
    for (int k = 0; k < 3 && call->args[k]; k++) {
        Reg r = lower_expr(l, w->cp, call->args[k]);
        if (!value || k > 0 || call->args[2]) r = lower_canonical(l, w->cp, r, call->args[k]->type);
        if ((cell->arg[k] = add_reg(l, w, r)) < 0) return ST_ERROR;
        if (!value || k > 0) continue;
        cell->out = pipe_cell_spec(w->cp, r);
        cell->out.type = type;
        cell->out.nullable = true;
        range = lower_range(w->cp, r);
        if (call->args[2]) {
            cell->out.stable_str = false;
            range = range_of_type(type);
        }
        range.lo = MIN_OF(range.lo, 0);
        range.hi = MAX_OF(range.hi, 0);
    }
    int32_t column = (int32_t)w->out.len;
    *pipe_col(w->np, call->out) = pipe_source_entry(column, &cell->out, type, range);
    return vec_push(l->arena, &w->out, cell->out) ? ST_OK : ST_ERROR;
}

static Status lower_agg_cell(Lower *l, WindowWork *w, const AggCall *call, WinCell *cell) {
    int32_t column = (int32_t)w->out.len;
    Reg reg, reg2;
    *cell = (WinCell){.func = WF_AGG, .arg = {-1, -1, -1}};
    TRY(lower_plain_agg(l, w->child, call, w->cp, w->np, column, &cell->agg, &reg, &reg2));
    if (reg && (cell->arg[0] = add_reg(l, w, reg)) < 0) return ST_ERROR;
    if (reg2 && (cell->arg[1] = add_reg(l, w, reg2)) < 0) return ST_ERROR;
    const ColEntry *e = pipe_col(w->np, call->out);
    cell->out = (CellSpec){
        .phys = e->phys, .type = e->type, .nullable = e->nullable, .stable_str = e->stable_str, .dict = e->dict};
    return vec_push(l->arena, &w->out, cell->out) ? ST_OK : ST_ERROR;
}

static Status lower_clause(Lower *l, WindowWork *w, const Plan *p, WinClause *c) {
    *c = (WinClause){.frame = p->win.frame, .n_calls = p->win.n_calls + p->agg.n_calls};
    c->calls = arena_array(l->arena, WinCell, c->n_calls + 1);
    if (!c->calls) return ST_ERROR;
    TRY(lower_keys(l, w, p, c));
    TRY(lower_offset(l, w, p->win.start_offset, &c->start_offset, &c->start_type));
    TRY(lower_offset(l, w, p->win.end_offset, &c->end_offset, &c->end_type));
    for (int32_t i = 0; i < p->win.n_calls; i++) TRY(lower_call(l, w, &p->win.calls[i], &c->calls[i]));
    for (int32_t i = 0; i < p->agg.n_calls; i++)
        TRY(lower_agg_cell(l, w, &p->agg.calls[i], &c->calls[p->win.n_calls + i]));
    return ST_OK;
}

/* ---- the sort --------------------------------------------------------------------------------------- */

/* Keys that come twice order nothing. */
static Status lower_sort(Lower *l, WindowWork *w) {
    const Plan *p = w->longest;
    w->sort = (SortSpec){.limit = -1};
    w->sort.keys = arena_calloc(l->arena, (int64_t)sizeof(w->sort.keys[0]) * (plan_window_keys(p) + 1));
    if (!w->sort.keys) return ST_ERROR;
    for (int32_t i = 0; i < plan_window_keys(p); i++) {
        SortKey k = plan_window_key(p, i);
        bool twice = false;
        for (int32_t j = 0; j < i && !twice; j++) twice = expr_equal(plan_window_key(p, j).expr, k.expr);
        if (twice) continue;
        int32_t at = w->sort.n_keys++;
        Reg r = lower_sort_key(l, w->cp, lower_expr(l, w->cp, k.expr), k.expr->type, &w->sort.keys[at].key);
        w->sort.keys[at].desc = k.desc;
        w->sort.keys[at].nulls_first = k.nulls_first;
        if (!r || !vec_push(l->arena, &w->sort_regs, r)) return ST_ERROR;
    }
    return ST_OK;
}

/* The segment that fills the rows before: their store, -1 on error. */
static int32_t seal_input(Lower *l, WindowWork *w) {
    int32_t n = (int32_t)w->regs.len, sort = -1;
    w->spec.n_in = n;
    w->spec.in = arena_array(l->arena, CellSpec, n + 1);
    if (!w->spec.in) return -1;
    for (int32_t i = 0; i < n; i++) w->spec.in[i] = pipe_cell_spec(w->cp, w->regs.items[i]);
    if (w->sort.n_keys) {
        sort = (int32_t)l->sorts.len;
        w->sort.n_cols = n;
        w->sort.cols = w->spec.in;
        if (!vec_push(l->arena, &l->sorts, w->sort)) return -1;
    }
    int32_t store = lower_rows_spec(l, n, w->spec.in, -1, 0, true, sort);
    if (store < 0) return -1;
    Sink sink = {.kind = sort < 0 ? SINK_ROWS : SINK_SORT,
                 .id = store,
                 .n_keys = w->sort.n_keys,
                 .keys = w->sort_regs.items,
                 .n_regs = n,
                 .regs = w->regs.items,
                 .limit = -1};
    const char *what = arena_printf(l->arena, sort < 0 ? "rows #%d" : "sort #%d", (int)(sort < 0 ? store : sort));
    return what && pipe_seal(l, w->cp, &sink, what) == ST_OK ? store : -1;
}

Pipe *lower_window(Lower *l, Plan *p, const ColSet *needed) {
    WindowWork work = {0}, *w = &work;
    find_chain(w, p);
    w->spec.n_clauses = w->n_chain;
    w->spec.clauses = arena_array(l->arena, WinClause, w->n_chain + 1);
    w->np = pipe_new(l, SRC_ROWS, "");
    if (!w->spec.clauses || !w->np || lower_input(l, w, needed) != ST_OK || lower_passed(l, w, needed) != ST_OK)
        return NULL;
    const Plan *window = p;
    for (int32_t i = 0; i < w->n_chain; i++, window = window->children[0])
        if (lower_clause(l, w, window, &w->spec.clauses[i]) != ST_OK) return NULL;
    if (lower_sort(l, w) != ST_OK) return NULL;
    int32_t from = seal_input(l, w), id = (int32_t)l->windows.len, to = -1;
    if (from >= 0 && vec_push(l->arena, &l->windows, w->spec))
        to = lower_rows_spec(l, (int32_t)w->out.len, w->out.items, -1, 0, true, -1);
    if (to < 0) return NULL;
    l->rows.items[to].window = id;
    Pipe *wp = pipe_new(l, SRC_ROWS, arena_printf(l->arena, "rows #%d", (int)from));
    if (!wp) return NULL;
    wp->source.id = from;
    Sink sink = {.kind = SINK_WINDOW, .id = to, .limit = -1};
    if (pipe_seal(l, wp, &sink, arena_printf(l->arena, "window #%d, rows #%d", (int)id, (int)to)) != ST_OK) return NULL;
    w->np->label = arena_printf(l->arena, "rows #%d", (int)to);
    w->np->source.id = to;
    w->np->source.est_rows = p->est_rows;
    return w->np->label ? w->np : NULL;
}
