/* window_call.c - the functions of a window over one partition, but for aggregates (window_agg.c).
 */
#include "exec/window_int.h"

/* ---- ranks -------------------------------------------------------------------------------------------- */

static void put_float(WinCol *out, int64_t row, double v) {
    memcpy(out->data + row * out->size, &v, sizeof v);
    out->valid[row] = 1;
}

static void row_numbers(const Part *p, CallState *s, WinCol *out) {
    int64_t base = p->continues ? s->rows : 0, *y = (int64_t *)(void *)out->data;
    for (int64_t i = p->from; i < p->to; i++) y[i] = base + i - p->from + 1;
    memset(out->valid + p->from, 1, (size_t)(p->to - p->from));
    s->rows = base + p->to - p->from;
}

static void ranks(const Batch *b, const Part *p, CallState *s, WinCol *out) {
    int64_t base = p->continues ? s->rows : 0, rank = p->continues ? s->rank : 0, *y = (int64_t *)(void *)out->data;
    if (s->call->func == WF_RANK)
        for (int64_t i = p->from; i < p->to; i++) y[i] = rank = b->new_peer[i] ? base + i - p->from + 1 : rank;
    else
        for (int64_t i = p->from; i < p->to; i++) y[i] = rank += b->new_peer[i];
    memset(out->valid + p->from, 1, (size_t)(p->to - p->from));
    s->rank = rank;
    s->rows = base + p->to - p->from;
}

/* Of whole partitions. */
static void percent_ranks(const Batch *b, const Part *p, WinCol *out) {
    double n = (double)(p->to - p->from);
    int64_t before = 0;
    for (int64_t i = p->from; i < p->to; i++) {
        if (b->new_peer[i]) before = i - p->from;
        put_float(out, i, n > 1 ? (double)before / (n - 1) : 0);
    }
}
static void cume_dists(const Batch *b, const Part *p, WinCol *out) {
    double n = (double)(p->to - p->from);
    for (int64_t i = p->from; i < p->to; i++) put_float(out, i, (double)(i - p->from + 1) / n);
    win_spread(b, p, out);
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
    else memset(out->data + row * out->size, 0, (size_t)out->size);
}

/* A string that outlives the batch. */
static Status keep_str(CallState *s, Err *e) {
    Str v;
    memcpy(&v, s->value, sizeof v);
    if (!v.len) return ST_OK;
    char *to = agg_heap_alloc(&s->heap, v.len, e);
    if (!to) return ST_ERROR;
    memcpy(to, v.ptr, v.len);
    v.ptr = to;
    memcpy(s->value, &v, sizeof v);
    return ST_OK;
}

/* The same distance for all rows: stretches of cells. */
static void shift(const Part *p, int64_t by, const WinCol *value, const WinCol *other, WinCol *out) {
    int64_t size = out->size, from = MIN_OF(MAX_OF(p->from, p->lo - by), p->to);
    int64_t to = MAX_OF(MIN_OF(p->to, p->hi - by), from);
    memcpy(out->data + from * size, value->data + (from + by) * size, (size_t)((to - from) * size));
    if (value->valid) memcpy(out->valid + from, value->valid + from + by, (size_t)(to - from));
    else memset(out->valid + from, 1, (size_t)(to - from));
    for (int64_t i = p->from; i < from; i++) put_value(out, i, other ? other : value, other ? i : -1);
    for (int64_t i = to; i < p->to; i++) put_value(out, i, other ? other : value, other ? i : -1);
}

static void lag_lead(const Batch *b, const Part *p, const WinCell *call, WinCol *out) {
    const WinCol *value = &b->in[call->arg[0]], *offset = call->arg[1] < 0 ? NULL : &b->in[call->arg[1]];
    const WinCol *other = call->arg[2] < 0 ? NULL : &b->in[call->arg[2]];
    if (!offset) {
        shift(p, call->func == WF_LAG ? -1 : 1, value, other, out);
        return;
    }
    for (int64_t i = p->from; i < p->to; i++) {
        int64_t by = win_null(offset, i) ? 0 : win_int(offset, i), at;
        if (__builtin_add_overflow(i, call->func == WF_LAG ? -by : by, &at)) at = -1;
        if (win_null(offset, i)) put_value(out, i, value, -1);
        else if (at >= p->lo && at < p->hi) put_value(out, i, value, at);
        else put_value(out, i, other ? other : value, other ? i : -1);
    }
}

/* first_value and last_value of frames that grow up to the current row. */
static Status first_value(Batch *b, const Part *p, CallState *s, WinCol *out) {
    const WinCol *value = &b->in[s->call->arg[0]];
    if (!p->continues) {
        s->is_null = win_null(value, p->from);
        memcpy(s->value, win_cell(value, p->from), (size_t)value->size);
        if (s->copies) {
            agg_heap_free(&s->heap);
            if (value->phys == PH_STR && !s->call->out.stable_str && !s->is_null) TRY(keep_str(s, b->e));
        }
    }
    memset(out->valid + p->from, !s->is_null, (size_t)(p->to - p->from));
    if (s->is_null) memset(s->value, 0, (size_t)value->size);
    for (int64_t i = p->from; i < p->to; i++) memcpy(out->data + i * out->size, s->value, (size_t)out->size);
    return ST_OK;
}
static void last_value(Batch *b, const Part *p, const CallState *s, WinCol *out) {
    shift(p, 0, &b->in[s->call->arg[0]], NULL, out);
    if (p->c->frame.mode != WM_ROWS) win_spread(b, p, out);
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

Status win_call(Batch *b, const Part *p, CallState *s, WinCol *out) {
    const WinCell *call = s->call;
    bool grows = win_grows(p->c);
    switch ((WinFunc)call->func) {
    case WF_ROW_NUMBER: row_numbers(p, s, out); return ST_OK;
    case WF_RANK:
    case WF_DENSE_RANK: ranks(b, p, s, out); return ST_OK;
    case WF_PERCENT_RANK: percent_ranks(b, p, out); return ST_OK;
    case WF_CUME_DIST: cume_dists(b, p, out); return ST_OK;
    case WF_NTILE: return ntile(b, p, call, out);
    case WF_LAG:
    case WF_LEAD: lag_lead(b, p, call, out); return ST_OK;
    case WF_FIRST_VALUE: return grows ? first_value(b, p, s, out) : frame_values(b, p, call, out);
    case WF_LAST_VALUE:
        if (!grows) return frame_values(b, p, call, out);
        last_value(b, p, s, out);
        return ST_OK;
    case WF_NTH_VALUE: return frame_values(b, p, call, out);
    case WF_AGG: return win_aggregate(b, p, s, out);
    }
    return err_internal(b->e, "window function %d", call->func);
}
