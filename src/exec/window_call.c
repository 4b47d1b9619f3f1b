/* window_call.c - the functions of a window over one partition.
 *
 * Aggregates use the states of grouped ones (agg_int.h). A frame that starts where the partition does and leaves
 * nothing out only grows: one state takes row after row, in order, as PostgreSQL does. Short frames are added up row by
 * row, too. Of others the state is merged from a tree of states over blocks of rows, so that a frame costs the
 * logarithm of its length; strings that are put together are not, since their length is the frame's anyway.
 *
 * A tree has states over rows that are together in no frame: if adding up fails there (22003), the partition does
 * without a tree.
 */
#include "exec/window_int.h"

enum { BLOCK = 16, SHORT_FRAME = 64 };

/* ---- aggregates ------------------------------------------------------------------------------------- */

typedef struct Adder {
    Batch *b;
    AggCol c;
    AggHeap *heap;
    int64_t width;
    const WinCol *in, *in2;
    char *state;
    char *tree;             /* node k has nodes 2k and 2k + 1 below it; leaf nodes from n_leaves on */
    int64_t n_leaves, base; /* base: the row that is the first of leaf 0 */
    bool no_tree;
} Adder;

static void clear_state(const Adder *s, char *state) {
    memset(state, 0, (size_t)s->width);
    agg_cell_template(&s->c, state);
}

static Vec rows_of(const WinCol *c, int64_t from) {
    if (!c) return (Vec){0};
    return (Vec){
        .data = c->data + from * c->size, .valid = c->valid ? c->valid + from : NULL, .phys = c->phys, .type = c->type};
}

static Status add_rows(const Adder *s, char *state, int64_t from, int64_t to, Err *e) {
    char *same[SHORT_FRAME];
    int64_t most = MIN_OF(to - from, (int64_t)SHORT_FRAME);
    for (int64_t i = 0; i < most; i++) same[i] = state;
    for (; from < to; from += most) {
        most = MIN_OF(to - from, (int64_t)SHORT_FRAME);
        Vec in = rows_of(s->in, from), in2 = rows_of(s->in2, from);
        TRY(s->c.update(&s->c, s->heap, most, same, s->in ? &in : NULL, s->in2 ? &in2 : NULL, e));
    }
    return ST_OK;
}

static Status merge(const Adder *s, char *to, const char *from, Err *e) {
    return s->c.merge(&s->c, s->heap, 1, &to, &from, e);
}

static Status fill_tree(const Adder *s, int64_t to, Err *e) {
    for (int64_t k = 2 * s->n_leaves - 1; k > 0; k--) {
        char *node = s->tree + k * s->width;
        clear_state(s, node);
        if (k < s->n_leaves) {
            TRY(merge(s, node, node + k * s->width, e));
            TRY(merge(s, node, node + (k + 1) * s->width, e));
            continue;
        }
        int64_t from = s->base + (k - s->n_leaves) * BLOCK;
        if (from < to) TRY(add_rows(s, node, from, MIN_OF(from + BLOCK, to), e));
        if ((k & (STOP_ROWS - 1)) == 0) TRY(query_stop_check(s->b->env->stop, e));
    }
    return ST_OK;
}

static Status make_tree(Adder *s, const Part *p) {
    if (s->tree || s->no_tree) return ST_OK;
    s->base = p->from;
    for (s->n_leaves = 1; s->n_leaves * BLOCK < p->to - p->from;) s->n_leaves *= 2;
    if (!(s->tree = arena_alloc(s->b->a, 2 * s->n_leaves * s->width))) return ST_ERROR;
    Err e;
    err_clear(&e);
    if (fill_tree(s, p->to, &e) == ST_OK) return ST_OK;
    if (strcmp(e.sqlstate, ERR_NUMERIC_RANGE) != 0) {
        err_copy(s->b->e, &e);
        return ST_ERROR;
    }
    s->tree = NULL;
    s->no_tree = true;
    return ST_OK;
}

/* Blocks [lo, hi): from the left up, then from the right down, so that rows come in order. */
static Status add_blocks(const Adder *s, int64_t lo, int64_t hi) {
    int64_t right[64], n = 0;
    for (lo += s->n_leaves, hi += s->n_leaves; lo < hi; lo /= 2, hi /= 2) {
        if (lo & 1) TRY(merge(s, s->state, s->tree + lo++ * s->width, s->b->e));
        if (hi & 1) right[n++] = --hi;
    }
    while (n-- > 0) TRY(merge(s, s->state, s->tree + right[n] * s->width, s->b->e));
    return ST_OK;
}

static Status add_stretch(Adder *s, const Part *p, int64_t from, int64_t to) {
    if (to - from > SHORT_FRAME && s->c.op != AO_STRING_AGG) TRY(make_tree(s, p));
    if (to - from <= SHORT_FRAME || !s->tree) return add_rows(s, s->state, from, to, s->b->e);
    int64_t lo = (from - s->base + BLOCK - 1) / BLOCK, hi = (to - s->base) / BLOCK;
    TRY(add_rows(s, s->state, from, s->base + lo * BLOCK, s->b->e));
    TRY(add_blocks(s, lo, hi));
    return add_rows(s, s->state, s->base + hi * BLOCK, to, s->b->e);
}

static Status put_result(const Adder *s, WinCol *out, int64_t row) {
    const char *state = s->state;
    Vec v = {.data = out->data + row * out->size, .valid = out->valid + row, .phys = out->phys, .type = out->type};
    TRY(agg_cell_load(&s->c, &state, 0, NULL, 1, &v, s->b->a, s->b->e));
    if (!v.valid) out->valid[row] = 1;
    return ST_OK;
}

static void copy_result(WinCol *out, int64_t from, int64_t to) {
    memcpy(out->data + to * out->size, out->data + from * out->size, (size_t)out->size);
    out->valid[to] = out->valid[from];
}

static Status growing_frames(Adder *s, const Part *p, WinCol *out) {
    const Batch *b = s->b;
    int64_t end = p->from;
    for (int64_t i = p->from; i < p->to; i++) {
        if (i > p->from && b->frame_end[i] == end) {
            copy_result(out, i - 1, i);
            continue;
        }
        TRY(add_rows(s, s->state, end, b->frame_end[i], b->e));
        end = b->frame_end[i];
        TRY(put_result(s, out, i));
        if ((i & (STOP_ROWS - 1)) == 0) TRY(query_stop_check(b->env->stop, b->e));
    }
    return ST_OK;
}

static Status moving_frames(Adder *s, const Part *p, WinCol *out) {
    const Batch *b = s->b;
    for (int64_t i = p->from; i < p->to; i++) {
        bool same = i > p->from && p->c->frame.exclude == WX_NONE && b->frame_start[i] == b->frame_start[i - 1] &&
                    b->frame_end[i] == b->frame_end[i - 1];
        if (same) {
            copy_result(out, i - 1, i);
            continue;
        }
        Stretch part[3];
        int n = win_frame(b, p, i, part);
        clear_state(s, s->state);
        for (int k = 0; k < n; k++) TRY(add_stretch(s, p, part[k].from, part[k].to));
        TRY(put_result(s, out, i));
        if ((i & 255) == 0) TRY(query_stop_check(b->env->stop, b->e));
    }
    return ST_OK;
}

static Status aggregate(Batch *b, const Part *p, const WinCell *call, AggHeap *heap, WinCol *out) {
    Adder s = {.b = b,
               .heap = heap,
               .in = call->arg[0] < 0 ? NULL : &b->in[call->arg[0]],
               .in2 = call->arg[1] < 0 ? NULL : &b->in[call->arg[1]]};
    AggCell cell = call->agg;
    cell.stable_str = true; /* the batch's strings stay where they are */
    TRY(agg_col_init(&s.c, &cell, true, b->e));
    s.width = agg_cell_bytes(&s.c);
    if (s.c.seen >= 0) s.c.seen = (int32_t)s.width++;
    s.width = align_up(s.width, 16);
    if (!(s.state = arena_alloc(b->a, s.width))) return ST_ERROR;
    clear_state(&s, s.state);
    bool grows = p->c->frame.start == WB_UNBOUNDED_PRECEDING && p->c->frame.exclude == WX_NONE;
    return grows ? growing_frames(&s, p, out) : moving_frames(&s, p, out);
}

/* ---- ranks -------------------------------------------------------------------------------------------- */

static void put_int(WinCol *out, int64_t row, int64_t v) {
    memcpy(out->data + row * out->size, &v, sizeof v);
    out->valid[row] = 1;
}
static void put_float(WinCol *out, int64_t row, double v) {
    memcpy(out->data + row * out->size, &v, sizeof v);
    out->valid[row] = 1;
}

static void ranks(const Batch *b, const Part *p, uint8_t func, WinCol *out) {
    double n = (double)(p->to - p->from);
    for (int64_t i = p->from; i < p->to; i++) {
        int64_t rank = func == WF_ROW_NUMBER ? i - p->from : b->peer_start[i] - p->from;
        switch (func) {
        case WF_ROW_NUMBER:
        case WF_RANK: put_int(out, i, rank + 1); break;
        case WF_DENSE_RANK: put_int(out, i, b->group[i] + 1); break;
        case WF_PERCENT_RANK: put_float(out, i, n > 1 ? (double)rank / (n - 1) : 0); break;
        default: put_float(out, i, (double)(b->peer_end[i] - p->from) / n); break;
        }
    }
}

/* As even as possible; the first buckets have one row more. */
static Status ntile(Batch *b, const Part *p, const WinCell *call, WinCol *out) {
    const WinCol *arg = &b->in[call->arg[0]];
    int64_t n = p->to - p->from, buckets = win_null(arg, p->from) ? 1 : win_int(arg, p->from);
    if (buckets <= 0) return err_set(b->e, ERR_INVALID_NTILE, "argument of ntile must be greater than zero");
    int64_t size = n / buckets, more = n % buckets, large = more * (size + 1);
    for (int64_t i = 0; i < n; i++) {
        int32_t v = (int32_t)(i < large ? i / (size + 1) : more + (i - large) / size) + 1;
        memcpy(out->data + (p->from + i) * out->size, &v, sizeof v);
        out->valid[p->from + i] = !win_null(arg, p->from);
    }
    return ST_OK;
}

/* ---- values of other rows --------------------------------------------------------------------------------- */

/* from -1: NULL */
static void put_value(WinCol *out, int64_t row, const WinCol *value, int64_t from) {
    out->valid[row] = from >= 0 && !win_null(value, from);
    if (out->valid[row]) memcpy(out->data + row * out->size, win_cell(value, from), (size_t)out->size);
}

static void lag_lead(const Batch *b, const Part *p, const WinCell *call, WinCol *out) {
    const WinCol *value = &b->in[call->arg[0]], *offset = call->arg[1] < 0 ? NULL : &b->in[call->arg[1]];
    const WinCol *other = call->arg[2] < 0 ? NULL : &b->in[call->arg[2]];
    for (int64_t i = p->from; i < p->to; i++) {
        int64_t by = !offset ? 1 : win_null(offset, i) ? 0 : win_int(offset, i);
        int64_t at = call->func == WF_LAG ? i - by : i + by;
        if (offset && win_null(offset, i)) put_value(out, i, value, -1);
        else if (at >= p->from && at < p->to) put_value(out, i, value, at);
        else put_value(out, i, other ? other : value, other ? i : -1);
    }
}

/* The frame's n-th row, -1 none. */
static int64_t nth_row(const Stretch *part, int n_parts, int64_t n) {
    for (int k = 0; k < n_parts; k++) {
        if (n <= part[k].to - part[k].from) return part[k].from + n - 1;
        n -= part[k].to - part[k].from;
    }
    return -1;
}

/* EXCLUDE TIES of a frame without the current row: PostgreSQL counts as if the current row were among the frame's
 * peers, which are left out; it comes to nothing where it counts to the current row. n 0: the last row. */
static int64_t nth_row_without_ties(const Batch *b, int64_t row, int64_t n) {
    int64_t from = b->frame_start[row], to = b->frame_end[row], peer = b->peer_start[row], behind = b->peer_end[row];
    int64_t at = n ? from + MIN_OF(n - 1, to - from) : to - 1;
    if (n && at >= peer && behind > from) {
        if (at == MAX_OF(peer, from)) return -1;
        at += behind - MAX_OF(peer, from) - 1;
    } else if (n == 0 && at < behind && peer < to) {
        return -1; /* the frame ends among the peers */
    }
    return at >= from && at < to && (at < peer || at >= behind) ? at : -1;
}

/* n 0: the last row. */
static int64_t frame_row(const Batch *b, const Part *p, int64_t row, int64_t n) {
    bool inside = b->frame_start[row] <= row && row < b->frame_end[row];
    if (p->c->frame.exclude == WX_TIES && !inside) return nth_row_without_ties(b, row, n);
    Stretch part[3];
    int n_parts = win_frame(b, p, row, part);
    if (n == 0) return n_parts ? part[n_parts - 1].to - 1 : -1;
    return nth_row(part, n_parts, n);
}

static Status frame_values(Batch *b, const Part *p, const WinCell *call, WinCol *out) {
    const WinCol *value = &b->in[call->arg[0]], *number = call->arg[1] < 0 ? NULL : &b->in[call->arg[1]];
    for (int64_t i = p->from; i < p->to; i++) {
        int64_t n = call->func == WF_FIRST_VALUE ? 1 : 0;
        if (number && !win_null(number, i) && (n = win_int(number, i)) <= 0)
            return err_set(b->e, ERR_INVALID_NTH_VALUE, "argument of nth_value must be greater than zero");
        put_value(out, i, value, number && win_null(number, i) ? -1 : frame_row(b, p, i, n));
    }
    return ST_OK;
}

Status win_call(Batch *b, const Part *p, const WinCell *call, AggHeap *heap, WinCol *out) {
    switch ((WinFunc)call->func) {
    case WF_AGG: return aggregate(b, p, call, heap, out);
    case WF_NTILE: return ntile(b, p, call, out);
    case WF_LAG:
    case WF_LEAD: lag_lead(b, p, call, out); return ST_OK;
    case WF_FIRST_VALUE:
    case WF_LAST_VALUE:
    case WF_NTH_VALUE: return frame_values(b, p, call, out);
    default: ranks(b, p, call->func, out); return ST_OK;
    }
}
