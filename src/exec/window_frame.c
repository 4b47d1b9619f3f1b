/* window_frame.c - which rows a frame has.
 *
 * ROWS counts rows and GROUPS counts groups of peers. RANGE with an offset looks for the first row whose key is not
 * before (for the end: is behind) the current row's key plus or minus the offset, by binary search among the rows whose
 * key is not NULL; a row whose key is NULL has the other such rows in its frame. Keys and offsets are compared as
 * 128-bit integers (intervals: as microseconds with months of 30 days), floats as PostgreSQL's in_range does.
 */
#include <math.h>

#include "exec/window_int.h"

#define INT128_MAX_ ((int128_t)(((uint128_t)1 << 127) - 1))

int win_frame(const Batch *b, const Part *p, int64_t row, Stretch out[3]) {
    int64_t from = b->frame_start[row], to = b->frame_end[row];
    Stretch cut[2] = {{row, row}, {to, to}};
    int n = 0;
    switch (p->c->frame.exclude) {
    case WX_CURRENT_ROW: cut[0] = (Stretch){row, row + 1}; break;
    case WX_GROUP: cut[0] = (Stretch){b->peer_start[row], b->peer_end[row]}; break;
    case WX_TIES:
        cut[0] = (Stretch){b->peer_start[row], row};
        cut[1] = (Stretch){row + 1, b->peer_end[row]};
        break;
    default: out[0] = (Stretch){from, to}; return from < to;
    }
    for (int i = 0; i < 2; i++) {
        int64_t end = MIN_OF(cut[i].from, to);
        if (from < end) out[n++] = (Stretch){from, end};
        from = MAX_OF(from, cut[i].to);
    }
    if (from < to) out[n++] = (Stretch){from, to};
    return n;
}

/* ---- offsets -------------------------------------------------------------------------------------- */

static Status bad_offset(Err *e) {
    return err_set(e, ERR_FRAME_OFFSET, "invalid preceding or following size in window function");
}

/* An offset of ROWS or GROUPS; all rows have the same one. */
static Status count_offset(const Batch *b, int32_t column, const char *which, int64_t *out) {
    const WinCol *c = &b->in[column];
    if (win_null(c, 0)) return err_set(b->e, ERR_NULL_NOT_ALLOWED, "frame %s offset must not be null", which);
    *out = win_int(c, 0);
    if (*out < 0) return err_set(b->e, ERR_FRAME_OFFSET, "frame %s offset must not be negative", which);
    return ST_OK;
}

/* at + by within [lo, hi]. */
static int64_t moved(int64_t at, int64_t by, int64_t lo, int64_t hi) {
    int64_t r;
    if (__builtin_add_overflow(at, by, &r)) r = by < 0 ? lo : hi;
    return MAX_OF(lo, MIN_OF(r, hi));
}

/* ---- RANGE with offsets ---------------------------------------------------------------------------- */

typedef struct RangeSearch {
    const Batch *b;
    const WinCol *key;
    int64_t first, last; /* rows of the partition whose key is not NULL */
    bool desc, nulls_first;
    bool minus;         /* the offset is subtracted */
    bool floats, below; /* below: keys up to the bound are asked for, else keys from it on */
    int key_digits;     /* numeric: digits that keys, and the offset, get more */
    double float_offset;
    int128_t int_offset;
    Interval interval;
} RangeSearch;

static int128_t scaled(int128_t v, int digits) {
    int128_t r;
    if (digits <= 0 || v == 0) return v;
    if (__builtin_mul_overflow(v, pow10_i128[digits], &r)) return v < 0 ? -INT128_MAX_ : INT128_MAX_;
    return r;
}
static int128_t added(int128_t a, int128_t b) {
    int128_t r;
    if (__builtin_add_overflow(a, b, &r)) return b < 0 ? -INT128_MAX_ : INT128_MAX_;
    return r;
}

static double float_key(const WinCol *c, int64_t row) {
    if (c->phys == PH_F64) return *(const double *)(const void *)win_cell(c, row);
    return (double)*(const float *)(const void *)win_cell(c, row);
}
static int64_t date_micros(int32_t d) {
    return d == DATE_NEG_INF ? TS_NEG_INF : d == DATE_POS_INF ? TS_POS_INF : d * USECS_PER_DAY;
}
static int64_t time_key(const WinCol *c, int64_t row) {
    int64_t v = win_int(c, row);
    return c->type.id == T_DATE ? date_micros((int32_t)v) : v;
}
static int128_t int_key(const RangeSearch *s, int64_t row) {
    const WinCol *c = s->key;
    if (c->type.id == T_INTERVAL) {
        Interval v;
        memcpy(&v, win_cell(c, row), sizeof v);
        return interval_cmp_value(&v);
    }
    if (c->type.id == T_DATE) return time_key(c, row);
    if (c->phys == PH_I128) {
        int128_t v;
        memcpy(&v, win_cell(c, row), sizeof v);
        return scaled(v, s->key_digits);
    }
    return scaled(win_int(c, row), s->key_digits);
}

static Status interval_bound(const RangeSearch *s, int64_t row, int128_t *out) {
    Interval v, o = s->interval;
    memcpy(&v, win_cell(s->key, row), sizeof v);
    int sign = s->minus ? -1 : 1;
    if (__builtin_add_overflow(v.months, sign * o.months, &v.months) ||
        __builtin_add_overflow(v.days, sign * o.days, &v.days) ||
        __builtin_add_overflow(v.micros, sign * o.micros, &v.micros))
        return err_set(s->b->e, ERR_DATETIME_OVERFLOW, "interval out of range");
    *out = interval_cmp_value(&v);
    return ST_OK;
}

/* The row's key plus or minus the offset. */
static Status int_bound(const RangeSearch *s, int64_t row, int128_t *out) {
    TypeId t = (TypeId)s->key->type.id;
    if (t == T_INTERVAL) return interval_bound(s, row, out);
    if (t == T_TIME || t == T_TIMETZ) {
        const int128_t by = (int128_t)s->interval.micros * (t == T_TIMETZ ? TIMETZ_STEP : 1);
        *out = added(win_int(s->key, row), s->minus ? -by : by);
        return ST_OK;
    }
    if (t != T_DATE && t != T_TIMESTAMP && t != T_TIMESTAMPTZ) {
        *out = added(int_key(s, row), s->minus ? -s->int_offset : s->int_offset);
        return ST_OK;
    }
    const int sign = s->minus ? -1 : 1;
    int64_t ts = time_key(s->key, row), r;
    if (t == T_TIMESTAMPTZ ? timestamptz_add_interval(s->b->env->zone, ts, &s->interval, sign, &r)
                           : timestamp_add_interval(ts, &s->interval, sign, &r))
        return err_set(s->b->e, ERR_DATETIME_OVERFLOW, "timestamp out of range");
    *out = r;
    return ST_OK;
}

static bool float_in_range(const RangeSearch *s, double v, double base) {
    if (isnan(v)) return isnan(base) || !s->below;
    if (isnan(base)) return s->below;
    if (isinf(s->float_offset) && isinf(base) && (s->minus ? base > 0 : base < 0)) return true;
    double bound = s->minus ? base - s->float_offset : base + s->float_offset;
    return s->below ? v <= bound : v >= bound;
}

/* The first row of [first, last) for which "is in range" is `want`; the rows for which it is not come first. */
static Status search(const RangeSearch *s, int64_t row, bool want, int64_t *out) {
    int128_t bound = 0;
    double base = s->floats ? float_key(s->key, row) : 0;
    if (!s->floats) TRY(int_bound(s, row, &bound));
    int64_t lo = s->first, hi = s->last;
    while (lo < hi) {
        int64_t mid = lo + (hi - lo) / 2;
        bool in = s->floats  ? float_in_range(s, float_key(s->key, mid), base)
                  : s->below ? int_key(s, mid) <= bound
                             : int_key(s, mid) >= bound;
        if (in == want) hi = mid;
        else lo = mid + 1;
    }
    *out = lo;
    return ST_OK;
}

static Status range_offset(RangeSearch *s, int32_t column, Type type, const char *which) {
    const Batch *b = s->b;
    const WinCol *c = &b->in[column];
    if (win_null(c, 0)) return err_set(b->e, ERR_NULL_NOT_ALLOWED, "frame %s offset must not be null", which);
    if (type.id == T_FLOAT8) {
        s->floats = true;
        s->float_offset = float_key(c, 0);
        return isnan(s->float_offset) || s->float_offset < 0 ? bad_offset(b->e) : ST_OK;
    }
    if (type.id == T_INTERVAL) {
        memcpy(&s->interval, win_cell(c, 0), sizeof s->interval);
        const uint8_t key = s->key->type.id;
        bool negative =
            key == T_TIME || key == T_TIMETZ ? s->interval.micros < 0 : interval_cmp_value(&s->interval) < 0;
        return negative ? bad_offset(b->e) : ST_OK;
    }
    int128_t v = 0;
    if (c->phys == PH_I128) memcpy(&v, win_cell(c, 0), sizeof v);
    else v = win_int(c, 0);
    if (v < 0) return bad_offset(b->e);
    int more = s->key->type.id == T_NUMERIC ? (int)type.scale - (int)s->key->type.scale : 0;
    s->key_digits = MAX_OF(more, 0);
    s->int_offset = scaled(v, MAX_OF(-more, 0));
    return ST_OK;
}

static Status range_bounds(Batch *b, const Part *p, bool end) {
    const WinClause *c = p->c;
    bool preceding = (end ? c->frame.end : c->frame.start) == WB_PRECEDING;
    RangeSearch s = {.b = b,
                     .key = &b->in[c->keys[c->n_partition]],
                     .first = p->lo,
                     .last = p->hi,
                     .desc = c->desc,
                     .minus = preceding != c->desc,
                     .below = end != c->desc};
    while (s.first < s.last && win_null(s.key, s.first)) s.first++;
    while (s.first < s.last && win_null(s.key, s.last - 1)) s.last--;
    if (s.first < s.last || win_null(&b->in[end ? c->end_offset : c->start_offset], 0))
        TRY(range_offset(&s, end ? c->end_offset : c->start_offset, end ? c->end_type : c->start_type,
                         end ? "ending" : "starting"));
    int64_t *out = end ? b->frame_end : b->frame_start;
    for (int64_t i = p->from; i < p->to; i++) {
        if (i > p->from && b->peer_start[i] != i) out[i] = out[i - 1];
        else if (win_null(s.key, i)) out[i] = end ? b->peer_end[i] : b->peer_start[i];
        else TRY(search(&s, i, !end, &out[i]));
        if ((i & (STOP_ROWS - 1)) == 0) TRY(query_stop_check(b->env->stop, b->e));
    }
    return ST_OK;
}

/* ---- bounds ------------------------------------------------------------------------------------------ */

static void rows_bounds(Batch *b, const Part *p, bool end, int64_t by) {
    int64_t *out = end ? b->frame_end : b->frame_start;
    for (int64_t i = p->from; i < p->to; i++) out[i] = moved(i + end, by, p->lo, p->hi);
}

static void groups_bounds(Batch *b, const Part *p, bool end, int64_t by) {
    int64_t *out = end ? b->frame_end : b->frame_start;
    for (int64_t i = p->from; i < p->to; i++) out[i] = b->group_start[moved(b->group[i] + end, by, 0, b->n_groups)];
}

static Status bounds(Batch *b, const Part *p, bool end) {
    const WinClause *c = p->c;
    uint8_t bound = end ? c->frame.end : c->frame.start;
    int64_t *out = end ? b->frame_end : b->frame_start, by = 0;
    if (bound == WB_UNBOUNDED_PRECEDING || bound == WB_UNBOUNDED_FOLLOWING) {
        for (int64_t i = p->from; i < p->to; i++) out[i] = bound == WB_UNBOUNDED_PRECEDING ? p->lo : p->hi;
    } else if (bound == WB_CURRENT_ROW) {
        for (int64_t i = p->from; i < p->to; i++)
            out[i] = c->frame.mode == WM_ROWS ? i + end : end ? b->peer_end[i] : b->peer_start[i];
    } else if (c->frame.mode == WM_RANGE) {
        return range_bounds(b, p, end);
    } else {
        TRY(count_offset(b, end ? c->end_offset : c->start_offset, end ? "ending" : "starting", &by));
        if (bound == WB_PRECEDING) by = -by;
        if (c->frame.mode == WM_ROWS) rows_bounds(b, p, end, by);
        else groups_bounds(b, p, end, by);
    }
    return ST_OK;
}

Status win_frames(Batch *b, const Part *p) {
    TRY(bounds(b, p, false));
    TRY(bounds(b, p, true));
    for (int64_t i = p->from; i < p->to; i++) b->frame_end[i] = MAX_OF(b->frame_end[i], b->frame_start[i]);
    return ST_OK;
}
