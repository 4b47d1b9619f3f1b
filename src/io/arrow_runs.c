/* arrow_runs.c - run-end encoded columns of Arrow batches become cells.
 *
 * Such a column has two children: where each run ends (integers in ascending order), and the value of each run. Its
 * offset and length count rows, not runs. Only the runs that have rows of the range are looked at. */
#include "base/stack.h"
#include "io/arrow_int.h"

/* Child k of the column from its own row `first` on. */
static ArrowColumn child_of(const ArrowColumn *c, int k, int64_t first, int64_t n) {
    ArrowColumn x = *c;
    x.schema = c->schema->children[k];
    x.array = c->array->children[k];
    x.first = arrow_start(first, x.array);
    x.n = n;
    x.within = NULL;
    return x;
}

static int64_t end_at(const ArrowColumn *ends, int64_t run) {
    int64_t v;
    (void)arrow_int_at(ends->schema->format[0], ends->array->buffers[1], ends->first + run, &v);
    return v;
}

/* The run that has row `row`, if ends are in order. */
static int64_t find_run(const ArrowColumn *ends, int64_t row) {
    int64_t lo = 0, hi = ends->n;
    while (lo < hi) {
        int64_t mid = (lo + hi) / 2;
        if (end_at(ends, mid) <= row) lo = mid + 1;
        else hi = mid;
    }
    return lo;
}

/* How many runs from `run` on have all rows of the column, if ends are in order. */
static Status count_runs(const ArrowColumn *c, const ArrowColumn *ends, int64_t run, int64_t *n, Err *e) {
    int64_t at = c->first, last = c->first + c->n;
    for (*n = 0; at < last; ++*n) {
        int64_t end = run + *n < ends->n ? end_at(ends, run + *n) : 0;
        if (end <= at) return arrow_malformed(c, "its run ends", e);
        at = end;
    }
    return ST_OK;
}

/* Behind the last row of the run, counted from the column's first. */
static int64_t run_end(const ArrowColumn *c, const ArrowColumn *ends, int64_t run) {
    return MIN_OF(end_at(ends, run) - c->first, c->n);
}
/* Which of n runs have a row that is within. */
static void runs_within(const ArrowColumn *c, const ArrowColumn *ends, int64_t first, int64_t n, uint8_t *within) {
    memset(within, 0, (size_t)n);
    for (int64_t run = 0, i = 0; run < n; run++)
        for (const int64_t end = run_end(c, ends, first + run); i < end; i++) within[run] |= c->within[i];
}

Status arrow_runs(const ArrowColumn *c, Arena *a, char *cells, uint8_t *valid, Err *e) {
    int64_t size = phys_size(type_phys(c->type)), n = 0;
    TRY(stack_check(e));
    if (c->schema->n_children != 2) return arrow_malformed(c, "the number of its children", e);
    const struct ArrowArray *all = c->array->children[0];
    ArrowColumn ends = child_of(c, 0, 0, all ? all->length : 0);
    TRY(arrow_check(&ends, e));
    const char *format = ends.schema->format;
    if (ends.schema->dictionary || !format[0] || format[1] || !strchr("sil", format[0]))
        return arrow_malformed(c, "its run ends", e);
    const int64_t first = find_run(&ends, c->first);
    TRY(count_runs(c, &ends, first, &n, e));

    ArrowColumn values = child_of(c, 1, first, n);
    char *value = arena_calloc(a, n * size + 16);
    uint8_t *there = arena_alloc(a, n + 1), *within = c->within ? arena_alloc(a, n + 1) : NULL;
    if (!value || !there || (c->within && !within)) return err_is_set(e) ? ST_ERROR : err_oom(e);
    if (within) runs_within(c, &ends, first, n, within);
    values.within = within;
    TRY(arrow_check(&values, e));
    TRY(arrow_convert(&values, a, value, there, e));
    for (int64_t run = 0, i = 0; run < n; run++)
        for (const int64_t end = run_end(c, &ends, first + run); i < end; i++) {
            valid[i] = there[run] && (!c->within || c->within[i]);
            if (valid[i]) memcpy(cells + i * size, value + run * size, (size_t)size);
        }
    return ST_OK;
}
