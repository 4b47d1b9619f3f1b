/* window_agg.c - aggregates of a window over one partition.
 *
 * They use the states of grouped aggregates (agg_int.h). A frame that starts where the partition does and leaves
 * nothing out only grows: one state takes row after row, in order, as PostgreSQL does; where it ends at the current
 * row, sums, counts and extremes of plain numbers have loops of their own, and what the last of several peers gets goes
 * to all of them. Short frames are added up row by row, too. Of others the state is merged from a tree of states over
 * blocks of rows, so that a frame costs the logarithm of its length; strings that are put together are not, since their
 * length is the frame's anyway.
 *
 * A tree has states over rows that are together in no frame: if adding up fails there (22003), the partition does
 * without a tree.
 */
#include <math.h>

#include "exec/window_int.h"

enum { BLOCK = 16, SHORT_FRAME = 64 };

typedef struct Adder {
    Batch *b;
    CallState *k;
    int64_t width;
    const WinCol *in, *in2;
    char *tree;             /* node k has nodes 2k and 2k + 1 below it; leaf nodes from n_leaves on */
    int64_t n_leaves, base; /* base: the row that is the first of leaf 0 */
    bool no_tree;
} Adder;

static void clear_state(const Adder *s, char *state) {
    memset(state, 0, (size_t)s->width);
    agg_cell_template(&s->k->c, state);
}

static Vec rows_of(const WinCol *c, int64_t from) {
    if (!c) return (Vec){0};
    return (Vec){
        .data = c->data + from * c->size, .valid = c->valid ? c->valid + from : NULL, .phys = c->phys, .type = c->type};
}

static Status add_rows(const Adder *s, AggHeap *heap, char *state, int64_t from, int64_t to, Err *e) {
    char *same[SHORT_FRAME];
    int64_t most = MIN_OF(to - from, (int64_t)SHORT_FRAME);
    for (int64_t i = 0; i < most; i++) same[i] = state;
    for (; from < to; from += most) {
        most = MIN_OF(to - from, (int64_t)SHORT_FRAME);
        Vec in = rows_of(s->in, from), in2 = rows_of(s->in2, from);
        TRY(s->k->c.update(&s->k->c, heap, most, same, s->in ? &in : NULL, s->in2 ? &in2 : NULL, e));
    }
    return ST_OK;
}

static Status merge(const Adder *s, AggHeap *heap, char *to, const char *from, Err *e) {
    return s->k->c.merge(&s->k->c, heap, 1, &to, &from, e);
}

static Status fill_tree(const Adder *s, int64_t to, Err *e) {
    for (int64_t k = 2 * s->n_leaves - 1; k > 0; k--) {
        char *node = s->tree + k * s->width;
        clear_state(s, node);
        if (k < s->n_leaves) {
            TRY(merge(s, &s->k->tree_heap, node, node + k * s->width, e));
            TRY(merge(s, &s->k->tree_heap, node, node + (k + 1) * s->width, e));
            continue;
        }
        int64_t from = s->base + (k - s->n_leaves) * BLOCK;
        if (from < to) TRY(add_rows(s, &s->k->tree_heap, node, from, MIN_OF(from + BLOCK, to), e));
        if ((k & (STOP_ROWS - 1)) == 0) TRY(query_stop_check(s->b->env->stop, e));
    }
    return ST_OK;
}

static Status make_tree(Adder *s, const Part *p) {
    if (s->tree || s->no_tree) return ST_OK;
    s->base = p->lo;
    for (s->n_leaves = 1; s->n_leaves * BLOCK < p->hi - p->lo;) s->n_leaves *= 2;
    if (!(s->tree = win_alloc(s->b->space, 2 * s->n_leaves * s->width, s->b->e))) return ST_ERROR;
    Err e;
    err_clear(&e);
    if (fill_tree(s, p->hi, &e) == ST_OK) return ST_OK;
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
        if (lo & 1) TRY(merge(s, &s->k->heap, s->k->state, s->tree + lo++ * s->width, s->b->e));
        if (hi & 1) right[n++] = --hi;
    }
    while (n-- > 0) TRY(merge(s, &s->k->heap, s->k->state, s->tree + right[n] * s->width, s->b->e));
    return ST_OK;
}

static Status add_stretch(Adder *s, const Part *p, int64_t from, int64_t to) {
    if (to - from > SHORT_FRAME && s->k->c.op != AO_STRING_AGG) TRY(make_tree(s, p));
    if (to - from <= SHORT_FRAME || !s->tree) return add_rows(s, &s->k->heap, s->k->state, from, to, s->b->e);
    int64_t lo = (from - s->base + BLOCK - 1) / BLOCK, hi = (to - s->base) / BLOCK;
    TRY(add_rows(s, &s->k->heap, s->k->state, from, s->base + lo * BLOCK, s->b->e));
    TRY(add_blocks(s, lo, hi));
    return add_rows(s, &s->k->heap, s->k->state, s->base + hi * BLOCK, to, s->b->e);
}

static Status put_result(const Adder *s, WinCol *out, int64_t row) {
    const char *state = s->k->state;
    Vec v = {.data = out->data + row * out->size, .valid = out->valid + row, .phys = out->phys, .type = out->type};
    TRY(agg_cell_load(&s->k->c, &state, 0, NULL, 1, &v, s->b->space->a, s->b->e));
    if (!v.valid) out->valid[row] = 1;
    if (!s->k->copies || s->k->call->out.stable_str || out->phys != PH_STR || !out->valid[row]) return ST_OK;
    return win_copy_str(s->b->space, (Str *)(void *)(out->data + row * out->size), s->b->e);
}

static void copy_result(WinCol *out, int64_t from, int64_t to) {
    memcpy(out->data + to * out->size, out->data + from * out->size, (size_t)out->size);
    out->valid[to] = out->valid[from];
}

/* ---- frames that grow up to the current row --------------------------------------------------------- */

/* In order: what each row adds. False: it is not for here, or does not fit; rows up to *at are done. */
#define RUNNING(T, S, OUT, STEP)                        \
    do {                                                \
        const T *x = (const T *)(const void *)in->data; \
        OUT *y = (OUT *)(void *)out->data;              \
        S acc;                                          \
        memcpy(&acc, cell, sizeof acc);                 \
        int64_t i = *at;                                \
        for (; i < to; i++) {                           \
            if (!valid || valid[i]) {                   \
                T v = x[i];                             \
                STEP;                                   \
                seen = 1;                               \
            }                                           \
            y[i] = seen ? (OUT)acc : 0;                 \
            out->valid[i] = seen;                       \
        }                                               \
        memcpy(cell, &acc, sizeof acc);                 \
        *at = i;                                        \
    } while (0)
#define RUNNING_SUM(S, OUT, STEP)                                 \
    do {                                                          \
        if (c->in == PH_I16) RUNNING(int16_t, S, OUT, STEP);      \
        else if (c->in == PH_I32) RUNNING(int32_t, S, OUT, STEP); \
        else if (c->in == PH_I64) RUNNING(int64_t, S, OUT, STEP); \
        else return false;                                        \
    } while (0)
#define ADD_CHECKED                                           \
    int64_t sum;                                              \
    if (__builtin_add_overflow(acc, (int64_t)v, &sum)) break; \
    acc = sum
#define LEAST acc = v < acc ? v : acc
#define GREATEST acc = v > acc ? v : acc

static bool running_sum(const AggCol *c, char *cell, const WinCol *in, int64_t to, WinCol *out, int64_t *at,
                        uint8_t *seen_byte) {
    const uint8_t *valid = in->valid;
    uint8_t seen = *seen_byte;
    bool wide = c->out == PH_I128;
    if (c->op == AO_SUM_I64 && wide) RUNNING_SUM(int64_t, int128_t, acc += v);
    else if (c->op == AO_SUM_I64) RUNNING_SUM(int64_t, int64_t, acc += v);
    else if (c->op == AO_SUM_I64_CHECKED && !wide) RUNNING_SUM(int64_t, int64_t, ADD_CHECKED);
    else if (c->op == AO_SUM_I128 && wide) RUNNING_SUM(int128_t, int128_t, acc += v); /* 2^63 of 64 bits fit */
    else if (c->op == AO_SUM_F64 && c->in == PH_F64) RUNNING(double, double, double, acc += v);
    else return false;
    *seen_byte = seen;
    return *at == to;
}

static bool running_extreme(const AggCol *c, char *cell, const WinCol *in, int64_t to, WinCol *out, int64_t *at,
                            uint8_t *seen_byte) {
    const uint8_t *valid = in->valid;
    uint8_t seen = *seen_byte;
    bool least = c->op == AO_MIN;
    if (c->in == PH_I16 && least) RUNNING(int16_t, int16_t, int16_t, LEAST);
    else if (c->in == PH_I16) RUNNING(int16_t, int16_t, int16_t, GREATEST);
    else if (c->in == PH_I32 && least) RUNNING(int32_t, int32_t, int32_t, LEAST);
    else if (c->in == PH_I32) RUNNING(int32_t, int32_t, int32_t, GREATEST);
    else if (c->in == PH_I64 && least) RUNNING(int64_t, int64_t, int64_t, LEAST);
    else if (c->in == PH_I64) RUNNING(int64_t, int64_t, int64_t, GREATEST);
    else return false;
    *seen_byte = seen;
    return *at == to;
}

static bool running_count(const AggCol *c, char *cell, const WinCol *in, int64_t to, WinCol *out, int64_t *at) {
    int64_t n, *y = (int64_t *)(void *)out->data;
    const uint8_t *valid = c->op == AO_COUNT && in ? in->valid : NULL;
    memcpy(&n, cell, sizeof n);
    for (int64_t i = *at; i < to; i++) y[i] = n += valid ? valid[i] : 1;
    memset(out->valid + *at, 1, (size_t)(to - *at));
    memcpy(cell, &n, sizeof n);
    *at = to;
    return true;
}

/* Rows [*at, to) in a loop for the aggregate and its type, if there is one. */
static bool running(const Adder *s, int64_t to, WinCol *out, int64_t *at) {
    const AggCol *c = &s->k->c;
    char *cell = s->k->state + c->off;
    uint8_t *seen = c->seen >= 0 ? (uint8_t *)s->k->state + c->seen : NULL;
    switch ((AggOp)c->op) {
    case AO_COUNT_STAR:
    case AO_COUNT: return c->out == PH_I64 && running_count(c, cell, s->in, to, out, at);
    case AO_SUM_I64:
    case AO_SUM_I64_CHECKED:
    case AO_SUM_I128:
    case AO_SUM_F64: return seen && running_sum(c, cell, s->in, to, out, at, seen);
    case AO_MIN:
    case AO_MAX: return seen && c->out == c->in && running_extreme(c, cell, s->in, to, out, at, seen);
    default: return false;
    }
}

void win_spread(const Batch *b, const Part *p, WinCol *out) {
    for (int64_t i = p->to - 1; i-- > p->from;)
        if (!b->new_peer[i + 1]) copy_result(out, i + 1, i);
}

static Status frames_to_here(Adder *s, const Part *p, WinCol *out) {
    const Batch *b = s->b;
    bool peers = p->c->frame.mode != WM_ROWS;
    int64_t at = p->from;
    if (!running(s, p->to, out, &at)) {
        for (int64_t i = at; i < p->to; i++) {
            if ((i & (STOP_ROWS - 1)) == 0) TRY(query_stop_check(b->env->stop, b->e));
            if (peers && i + 1 < p->to && !b->new_peer[i + 1]) continue;
            TRY(add_rows(s, &s->k->heap, s->k->state, at, i + 1, b->e));
            TRY(put_result(s, out, i));
            at = i + 1;
        }
    }
    if (peers) win_spread(b, p, out);
    return ST_OK;
}

/* ---- other frames ------------------------------------------------------------------------------------ */

static Status growing_frames(Adder *s, const Part *p, WinCol *out) {
    const Batch *b = s->b;
    int64_t end = p->from;
    for (int64_t i = p->from; i < p->to; i++) {
        if (i > p->from && b->frame_end[i] == end) {
            copy_result(out, i - 1, i);
            continue;
        }
        TRY(add_rows(s, &s->k->heap, s->k->state, end, b->frame_end[i], b->e));
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
        if (s->k->copies) agg_heap_free(&s->k->heap);
        clear_state(s, s->k->state);
        for (int k = 0; k < n; k++) TRY(add_stretch(s, p, part[k].from, part[k].to));
        TRY(put_result(s, out, i));
        if ((i & 255) == 0) TRY(query_stop_check(b->env->stop, b->e));
    }
    return ST_OK;
}

Status win_agg_init(CallState *s, Arena *a, Err *e) {
    AggCell cell = s->call->agg;
    cell.stable_str |= !s->copies;
    TRY(agg_col_init(&s->c, &cell, true, e));
    s->width = agg_cell_bytes(&s->c);
    if (s->c.seen >= 0) s->c.seen = (int32_t)s->width++;
    s->width = align_up(s->width, 16);
    return (s->state = arena_alloc(a, s->width)) ? ST_OK : ST_ERROR;
}

Status win_aggregate(Batch *b, const Part *p, CallState *k, WinCol *out) {
    const WinCell *call = k->call;
    Adder s = {.b = b,
               .k = k,
               .width = k->width,
               .in = call->arg[0] < 0 ? NULL : &b->in[call->arg[0]],
               .in2 = call->arg[1] < 0 ? NULL : &b->in[call->arg[1]]};
    if (!p->continues) {
        if (k->copies) agg_heap_free(&k->heap);
        clear_state(&s, k->state);
    }
    if (win_grows(p->c)) return frames_to_here(&s, p, out);
    bool grows = p->c->frame.start == WB_UNBOUNDED_PRECEDING && p->c->frame.exclude == WX_NONE;
    Status st = grows ? growing_frames(&s, p, out) : moving_frames(&s, p, out);
    if (k->copies) agg_heap_free(&k->tree_heap);
    return st;
}
