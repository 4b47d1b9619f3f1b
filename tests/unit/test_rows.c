/* test_rows.c - the row store: order, gaps, strings, spilling under tiny limits, out of memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/pool.h"
#include "base/vfs.h"
#include "exec/rows.h"

static uint64_t rng_state;
static uint64_t rnd(void) {
    rng_state = rng_state * 6364136223846793005ULL + 1442695040888963407ULL;
    return rng_state >> 33;
}

enum { N_COLS = 8, BATCH = 100 };
static const CellSpec cells[N_COLS] = {
    {.phys = PH_I64},
    {.phys = PH_STR, .nullable = true},
    {.phys = PH_BOOL},
    {.phys = PH_I16, .nullable = true},
    {.phys = PH_I128},
    {.phys = PH_I32},
    {.phys = PH_F64, .nullable = true},
    {.phys = PH_STR, .stable_str = true},
};

/* Contents of row `id`, computable again. */
static int64_t text_of(int64_t id, char *buf) {
    int64_t len = id * 7 % 40;
    for (int64_t i = 0; i < len; i++) buf[i] = (char)('a' + (id + i) % 26);
    return len;
}
static const char stable[] = "a string that outlives everything";

typedef struct Batch {
    int64_t i64[BATCH];
    Str str[BATCH], fixed[BATCH];
    uint8_t b[BATCH], v1[BATCH], v3[BATCH], v6[BATCH];
    int16_t i16[BATCH];
    int128_t i128[BATCH];
    int32_t i32[BATCH];
    double f64[BATCH];
    char text[BATCH][40];
    Vec cols[N_COLS];
} Batch;

static void make_batch(Batch *b, int64_t first, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        int64_t id = first + i;
        b->i64[i] = id;
        b->v1[i] = id % 5 != 0;
        b->str[i] = str_make(b->text[i], text_of(id, b->text[i]));
        b->fixed[i] = str_make(stable, id % 30);
        b->b[i] = id & 1;
        b->v3[i] = id % 3 != 0;
        b->i16[i] = (int16_t)(id % 1000);
        b->i128[i] = (int128_t)id << 70;
        b->i32[i] = (int32_t)(id * 3);
        b->v6[i] = id % 11 != 0;
        b->f64[i] = (double)id / 2;
    }
    b->cols[0] = (Vec){.data = b->i64, .phys = PH_I64};
    b->cols[1] = (Vec){.data = b->str, .valid = b->v1, .phys = PH_STR};
    b->cols[2] = (Vec){.data = b->b, .phys = PH_BOOL};
    b->cols[3] = (Vec){.data = b->i16, .valid = b->v3, .phys = PH_I16};
    b->cols[4] = (Vec){.data = b->i128, .phys = PH_I128};
    b->cols[5] = (Vec){.data = b->i32, .phys = PH_I32};
    b->cols[6] = (Vec){.data = b->f64, .valid = b->v6, .phys = PH_F64};
    b->cols[7] = (Vec){.data = b->fixed, .phys = PH_STR};
}

static void check_str(Str s, const char *want, int64_t len) {
    assert_int_equal(s.len, len);
    Str w = str_make(want, len);
    assert_true(str_eq(s, w));
}

static void check_cells(int64_t id, const void *const *cell, const bool *null) {
    char buf[40];
    assert_int_equal(*(const int64_t *)cell[0], id);
    assert_int_equal(null[1], id % 5 == 0);
    if (!null[1]) check_str(*(const Str *)cell[1], buf, text_of(id, buf));
    assert_int_equal(*(const uint8_t *)cell[2], id & 1);
    assert_int_equal(null[3], id % 3 == 0);
    if (!null[3]) assert_int_equal(*(const int16_t *)cell[3], id % 1000);
    assert_true(*(const int128_t *)cell[4] == (int128_t)id << 70);
    assert_int_equal(*(const int32_t *)cell[5], (int32_t)(id * 3));
    assert_int_equal(null[6], id % 11 == 0);
    if (!null[6]) assert_true(*(const double *)cell[6] == (double)id / 2);
    check_str(*(const Str *)cell[7], stable, id % 30);
}

/* Reads by runs (rows_load), marks every id, and optionally checks that ids ascend. */
static void check_runs(RowStore *r, int64_t n, bool ascending) {
    uint8_t *seen = calloc(1, (size_t)n + 1);
    const RowLayout *l = rows_layout(r);
    int64_t total = 0, last = -1;
    static char data[N_COLS][BATCH * 16] __attribute__((aligned(16)));
    static uint8_t valid[N_COLS][BATCH];
    Err e;
    err_clear(&e);
    for (int64_t k = 0; k < rows_n_runs(r); k++) {
        RowRun run;
        assert_int_equal(rows_run_open(r, k, &run, &e), ST_OK);
        for (int64_t first = 0; first < run.n; first += BATCH) {
            int64_t m = MIN_OF(run.n - first, BATCH);
            int32_t pos[BATCH];
            const char *ptr[BATCH];
            for (int64_t i = 0; i < m; i++) {
                pos[i] = (int32_t)(first + i);
                ptr[i] = run.rows + (first + i) * run.width;
            }
            Vec out[N_COLS];
            for (int32_t c = 0; c < N_COLS; c++) {
                out[c] = (Vec){.data = data[c], .valid = valid[c], .phys = cells[c].phys};
                if (k % 3 == 0) {
                    rows_load(l, c, &run, first, NULL, m, &out[c]);
                } else if (k % 3 == 1) {
                    rows_load(l, c, &run, 0, pos, m, &out[c]);
                } else {
                    rows_gather(l, c, ptr, m, &out[c]);
                }
            }
            for (int64_t i = 0; i < m; i++) {
                const void *cell[N_COLS];
                bool null[N_COLS];
                for (int32_t c = 0; c < N_COLS; c++) {
                    cell[c] = data[c] + i * phys_size(cells[c].phys);
                    null[c] = out[c].valid && !out[c].valid[i];
                }
                int64_t id = *(const int64_t *)cell[0];
                check_cells(id, cell, null);
                assert_int_equal(seen[id], 0);
                seen[id] = 1;
                if (ascending) assert_true(id > last);
                last = id;
                total++;
            }
        }
        rows_run_close(r, &run);
    }
    assert_int_equal(total, n);
    assert_int_equal(rows_count(r), n);
    free(seen);
}

static void check_cells_random(RowStore *r, int64_t n, bool ordered) {
    Err e;
    err_clear(&e);
    for (int k = 0; k < 500 && n; k++) {
        int64_t row = (int64_t)(rnd() % (uint64_t)n);
        const void *cell[N_COLS];
        bool null[N_COLS];
        for (int32_t c = 0; c < N_COLS; c++) assert_int_equal(rows_cell(r, row, c, &cell[c], &null[c], &e), ST_OK);
        int64_t id = *(const int64_t *)cell[0];
        if (ordered) assert_int_equal(id, row);
        check_cells(id, cell, null);
    }
}

typedef struct Fill {
    RowStore *r;
    _Atomic int64_t next;
    int64_t n, morsel;
    _Atomic int failed;
} Fill;

static void fill(void *ctx, int worker) {
    Fill *f = ctx;
    Batch *b = malloc(sizeof *b);
    Err e;
    err_clear(&e);
    for (;;) {
        int64_t m = atomic_fetch_add(&f->next, 1), first = m * f->morsel;
        if (first >= f->n) break;
        int64_t end = MIN_OF(first + f->morsel, f->n);
        while (first < end) {
            int64_t k = MIN_OF(end - first, BATCH);
            make_batch(b, first, k);
            if (rows_append(f->r, worker, m, k, b->cols, &e) != ST_OK) {
                fprintf(stderr, "%s\n", e.message);
                atomic_store(&f->failed, 1);
                goto out;
            }
            first += k;
        }
    }
out:
    free(b);
}

static void run_case(int64_t n, int64_t morsel, int threads, int64_t limit, bool ordered) {
    MemAccount acct;
    mem_account_init(&acct, NULL, "query", limit, "memory_limit");
    Err e;
    err_clear(&e);
    Arena *a = arena_new(NULL, &e);
    RowLayout l;
    assert_int_equal(row_layout_init(&l, a, N_COLS, cells, 8), ST_OK);
    assert_int_equal(l.width % 16, 0);
    RowStore *r;
    assert_int_equal(rows_new(&l, threads, &acct, vfs_posix(), NULL, &r, &e), ST_OK);
    arena_free(a); /* the store has its own layout */
    Pool *pool = pool_new(threads, &e);
    Fill f = {.r = r, .n = n, .morsel = morsel};
    pool_run(pool, threads, fill, &f);
    assert_int_equal(f.failed, 0);
    assert_int_equal(rows_finish(r, ordered, &e), ST_OK);
    check_runs(r, n, ordered);
    check_cells_random(r, n, ordered);
    if (limit) assert_true(atomic_load(&acct.peak) <= limit);
    rows_free(r);
    assert_int_equal(atomic_load(&acct.used), 0);
    pool_free(pool);
}

static void test_memory(void **s) {
    (void)s;
    run_case(0, 10, 1, 0, true);
    run_case(1, 10, 1, 0, true);
    run_case(5000, 77, 1, 0, true);
    run_case(50000, 1000, 2, 0, true);
    run_case(50000, 13, 3, 0, true);
    run_case(50000, 1000, 2, 0, false);
}
static void test_spill(void **s) {
    (void)s;
    run_case(20000, 1000, 1, 1 << 20, true);
    run_case(20000, 1000, 2, 1 << 20, false);
    run_case(50000, 500, 3, 1 << 21, true);
    run_case(20000, 1000, 1, 200 << 10, false);
    run_case(5000, 5000, 1, 64 << 10, false);
}

static void test_out_of_memory(void **s) {
    (void)s;
    Err e;
    Batch *b = malloc(sizeof *b);
    make_batch(b, 0, BATCH);
    /* too small for any row */
    MemAccount acct;
    mem_account_init(&acct, NULL, "query", 6000, "memory_limit");
    err_clear(&e);
    Arena *a = arena_new(NULL, &e);
    RowLayout l;
    assert_int_equal(row_layout_init(&l, a, N_COLS, cells, 0), ST_OK);
    RowStore *r = NULL;
    assert_int_equal(rows_new(&l, 1, &acct, vfs_posix(), NULL, &r, &e), ST_OK);
    assert_int_equal(rows_append(r, 0, 0, BATCH, b->cols, &e), ST_ERROR);
    assert_string_equal(e.sqlstate, "53400");
    rows_free(r);
    assert_int_equal(atomic_load(&acct.used), 0);
    /* every allocation fails once */
    for (int64_t step = 1; step < 60; step++) {
        mem_account_init(&acct, NULL, "query", 300 << 10, "memory_limit");
        err_clear(&e);
        mem_fail_at(step);
        Status st = rows_new(&l, 1, &acct, vfs_posix(), NULL, &r, &e);
        for (int k = 0; st == ST_OK && k < 60; k++) st = rows_append(r, 0, k, BATCH, b->cols, &e);
        if (st == ST_OK) st = rows_finish(r, true, &e);
        mem_fail_at(0);
        if (st == ST_OK) assert_int_equal(rows_count(r), 6000);
        assert_int_equal(st != ST_OK, err_is_set(&e));
        rows_free(r);
        r = NULL;
        assert_int_equal(atomic_load(&acct.used), 0);
    }
    arena_free(a);
    free(b);
}

static void test_const(void **s) {
    (void)s;
    Err e;
    err_clear(&e);
    MemAccount acct;
    mem_account_init(&acct, NULL, "query", 0, NULL);
    Arena *a = arena_new(&acct, &e);
    CellSpec c[2] = {{.phys = PH_STR, .nullable = true}, {.phys = PH_I32, .nullable = true}};
    RowLayout l;
    assert_int_equal(row_layout_init(&l, a, 2, c, 0), ST_OK);
    RowStore *r;
    assert_int_equal(rows_new(&l, 1, &acct, vfs_posix(), NULL, &r, &e), ST_OK);
    char text[] = "constant text";
    Str str = str_make(text, 13);
    int32_t i = 7;
    uint8_t no = 0;
    Vec v[2] = {{.data = &str, .phys = PH_STR, .is_const = true},
                {.data = &i, .valid = &no, .phys = PH_I32, .is_const = true}};
    assert_int_equal(rows_append(r, 0, 0, 3000, v, &e), ST_OK);
    memset(text, 'x', sizeof text - 1);
    assert_int_equal(rows_finish(r, true, &e), ST_OK);
    for (int64_t k = 0; k < 3000; k++) {
        const void *cell;
        bool null;
        assert_int_equal(rows_cell(r, k, 0, &cell, &null, &e), ST_OK);
        assert_false(null);
        check_str(*(const Str *)cell, "constant text", 13);
        assert_int_equal(rows_cell(r, k, 1, &cell, &null, &e), ST_OK);
        assert_true(null && cell == NULL);
    }
    rows_free(r);
    arena_free(a);
    assert_int_equal(atomic_load(&acct.used), 0);
}

int main(void) {
    rng_state = 42;
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_memory), cmocka_unit_test(test_spill),
                                       cmocka_unit_test(test_out_of_memory), cmocka_unit_test(test_const)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
