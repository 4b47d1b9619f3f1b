/* window_batch.c - the columns of a batch, and where partitions and peers begin.
 *
 * Strings of rows that are in memory stay where they are. Those of a page that was read back from disk are copied, so
 * that the page need not stay.
 */
#include <math.h>

#include "exec/window_int.h"

/* ---- columns -------------------------------------------------------------------------------------------- */

Status win_col_new(Batch *b, const CellSpec *s, int64_t n, WinCol *c) {
    *c = (WinCol){.size = phys_size((Phys)s->phys), .phys = s->phys, .type = s->type};
    if (!(c->data = win_alloc(b->space, n * c->size + 1, b->e))) return ST_ERROR;
    if (s->nullable && !(c->valid = win_alloc(b->space, n + 1, b->e))) return ST_ERROR;
    return ST_OK;
}

static Status copy_strings(Batch *b, WinCol *c, int64_t at, int64_t n) {
    Str *s = (Str *)(void *)c->data;
    for (int64_t i = at; i < at + n; i++)
        if (!win_null(c, i)) TRY(win_copy_str(b->space, &s[i], b->e));
    return ST_OK;
}

/* Rows [first, first + n) of a run to rows [at, at + n). */
static Status load_run(Batch *b, const RowLayout *l, const RowRun *run, int64_t first, int64_t n, int64_t at) {
    for (int32_t i = 0; i < b->spec->n_in; i++) {
        WinCol *c = &b->in[i];
        Vec v = {
            .data = c->data + at * c->size, .valid = c->valid ? c->valid + at : NULL, .phys = c->phys, .type = c->type};
        rows_load(l, i, run, first, NULL, n, &v);
        if (c->valid && !v.valid) memset(c->valid + at, 1, (size_t)n);
        if (run->pin && c->phys == PH_STR && !l->cols[i].stable_str) TRY(copy_strings(b, c, at, n));
    }
    return ST_OK;
}

/* The last run that begins at or before the row. */
static int64_t run_of(const RowStore *r, int64_t row) {
    int64_t lo = 0, hi = rows_n_runs(r);
    while (hi - lo > 1) {
        int64_t mid = lo + (hi - lo) / 2;
        if (rows_run_start(r, mid) <= row) lo = mid;
        else hi = mid;
    }
    return lo;
}

Status win_load(Batch *b, RowStore *in, int64_t first, int64_t n) {
    const RowLayout *l = rows_layout(in);
    b->n = n;
    if (!(b->in = arena_array(b->space->a, WinCol, b->spec->n_in + 1))) return ST_ERROR;
    for (int32_t c = 0; c < b->spec->n_in; c++) TRY(win_col_new(b, &l->cols[c], n, &b->in[c]));
    for (int64_t r = run_of(in, first); n > 0 && r < rows_n_runs(in) && rows_run_start(in, r) < first + n; r++) {
        RowRun run;
        TRY(query_stop_check(b->env->stop, b->e));
        TRY(rows_run_open(in, r, &run, b->e));
        int64_t start = rows_run_start(in, r), from = MAX_OF(first, start), to = MIN_OF(first + n, start + run.n);
        Status st = load_run(b, l, &run, from - start, to - from, from - first);
        rows_run_close(in, &run);
        TRY(st);
    }
    return ST_OK;
}

/* ---- equality of keys ---------------------------------------------------------------------------------- */

static bool equal_floats(double a, double b) { return a == b || (isnan(a) && isnan(b)); }

static bool equal_cells(const WinCol *c, int64_t x, int64_t y) {
    if (win_null(c, x) || win_null(c, y)) return win_null(c, x) && win_null(c, y);
    const void *p = win_cell(c, x), *q = win_cell(c, y);
    switch ((Phys)c->phys) {
    case PH_F32: return equal_floats((double)*(const float *)p, (double)*(const float *)q);
    case PH_F64: return equal_floats(*(const double *)p, *(const double *)q);
    case PH_STR: return str_eq(*(const Str *)p, *(const Str *)q);
    case PH_INTERVAL: return interval_cmp_value(p) == interval_cmp_value(q);
    default: return memcmp(p, q, (size_t)c->size) == 0;
    }
}

bool win_equal_keys(const WinCol *cols, int32_t n, const int32_t *keys, int64_t x, int64_t y) {
    for (int32_t i = 0; i < n; i++)
        if (!equal_cells(&cols[keys[i]], x, y)) return false;
    return true;
}

#define MARK_INT(T)                                                                                                 \
    do {                                                                                                            \
        const T *x = (const T *)(const void *)c->data;                                                              \
        const uint8_t *v = c->valid;                                                                                \
        if (!v)                                                                                                     \
            for (int64_t i = 1; i < n; i++) mark[i] |= x[i] != x[i - 1];                                            \
        else                                                                                                        \
            for (int64_t i = 1; i < n; i++) mark[i] |= (uint8_t)((v[i] != v[i - 1]) | (v[i] & (x[i] != x[i - 1]))); \
    } while (0)

static void mark_changes(const WinCol *c, int64_t n, uint8_t *mark) {
    switch ((Phys)c->phys) {
    case PH_BOOL: MARK_INT(uint8_t); break;
    case PH_I16: MARK_INT(int16_t); break;
    case PH_I32: MARK_INT(int32_t); break;
    case PH_I64: MARK_INT(int64_t); break;
    default:
        for (int64_t i = 1; i < n; i++)
            if (!mark[i]) mark[i] = !equal_cells(c, i - 1, i);
    }
}

void win_mark(Batch *b, const WinClause *c) {
    memset(b->new_part, 0, (size_t)b->n);
    for (int32_t i = 0; i < c->n_partition; i++) mark_changes(&b->in[c->keys[i]], b->n, b->new_part);
    b->new_part[0] = 1;
    if (!b->new_peer) return;
    memcpy(b->new_peer, b->new_part, (size_t)b->n);
    for (int32_t i = 0; i < c->n_order; i++) mark_changes(&b->in[c->keys[c->n_partition + i]], b->n, b->new_peer);
}
