/* test_sort.c - sorting and top-N against qsort: every physical type, directions, NULLs, ties in order of arrival,
 * several workers, offsets and limits, little memory. */
#include "unit.h"

#include <math.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/vfs.h"
#include "exec/sort.h"

static uint64_t rng = 88172645463325252u;
static uint64_t rnd(void) {
    rng ^= rng << 13;
    rng ^= rng >> 7;
    rng ^= rng << 17;
    return rng;
}
static int64_t size_of(uint8_t p) { return phys_size((Phys)p); }

static char pool_bytes[3000 * 48];
static void random_cell(uint8_t phys, int64_t range, void *out) {
    int64_t v = (int64_t)(rnd() % (uint64_t)range) - range / 2;
    switch ((Phys)phys) {
    case PH_BOOL: *(uint8_t *)out = (uint8_t)(rnd() & 1); break;
    case PH_I16: *(int16_t *)out = (int16_t)v; break;
    case PH_I32: *(int32_t *)out = (int32_t)v; break;
    case PH_I64: *(int64_t *)out = v; break;
    case PH_I128: {
        int128_t w = (int128_t)v * ((int128_t)1 << 70);
        memcpy(out, &w, sizeof w);
        break;
    }
    case PH_F32: *(float *)out = v == 3 ? NAN : v == 0 ? (rnd() & 1 ? -0.0f : 0.0f) : (float)v / 3; break;
    case PH_F64: *(double *)out = v == 3 ? (double)NAN : v == 0 ? (rnd() & 1 ? -0.0 : 0.0) : (double)v / 3; break;
    case PH_STR: {
        int64_t k = (int64_t)(rnd() % (uint64_t)MIN_OF(range, 3000));
        char *p = pool_bytes + k * 48;
        int len = snprintf(p, 48, "%s%lld", k % 3 ? "a long common prefix " : "", (long long)k);
        Str s = str_make(p, k % 7 == 0 ? MIN_OF(len, 3) : len);
        memcpy(out, &s, sizeof s);
        break;
    }
    case PH_INTERVAL: {
        Interval i = {v, 0, 0};
        if (v % 2 == 0) i = (Interval){0, (int32_t)v, 0};
        memcpy(out, &i, sizeof i);
        break;
    }
    case PH_UUID: {
        Uuid u = {{0}};
        memcpy(u.bytes + 8, &v, 8);
        memcpy(out, &u, sizeof u);
        break;
    }
    default: break;
    }
}

typedef struct Col {
    char *data;
    uint8_t *valid;
    uint8_t phys;
} Col;
static Col col_new(uint8_t phys, int64_t n, int64_t range, int null_percent) {
    Col c = {aligned_alloc(64, (size_t)align_up(n * 16 + 64, 64)), null_percent ? malloc((size_t)n + 1) : NULL, phys};
    for (int64_t i = 0; i < n; i++) {
        random_cell(phys, range, c.data + i * size_of(phys));
        if (c.valid) c.valid[i] = (int)(rnd() % 100) >= null_percent;
    }
    return c;
}
static void col_free(Col *c) {
    free(c->data);
    free(c->valid);
}
static Vec col_vec(const Col *c, int64_t first) {
    return (Vec){
        .data = c->data + first * size_of(c->phys), .valid = c->valid ? c->valid + first : NULL, .phys = c->phys};
}
static bool is_valid(const Col *c, int64_t i) { return !c->valid || c->valid[i]; }

enum { MAX_KEYS = 6, MORSEL = 3000 };
typedef struct Key {
    KeySpec key;
    bool desc, nulls_first;
} Key;
typedef struct Case {
    SortSpec spec;
    Key keys[MAX_KEYS];
    Col key_cols[MAX_KEYS];
    Col text;
    CellSpec cols[3]; /* row number, text, first key */
    int64_t n, vector;
    int64_t *ids;
    Sorter *s;
    _Atomic int64_t next;
    _Atomic bool failed;
} Case;

static void work(void *ctx, int worker) {
    Case *c = ctx;
    Err e;
    err_clear(&e);
    for (;;) {
        int64_t first = atomic_fetch_add(&c->next, MORSEL), end = MIN_OF(first + MORSEL, c->n);
        if (first >= c->n || c->failed) return;
        for (int64_t at = first; at < end; at += c->vector) {
            int64_t n = MIN_OF(c->vector, end - at);
            Vec k[MAX_KEYS], v[3];
            for (int32_t i = 0; i < c->spec.n_keys; i++) k[i] = col_vec(&c->key_cols[i], at);
            v[0] = (Vec){.data = c->ids + at, .phys = PH_I64};
            v[1] = col_vec(&c->text, at);
            v[2] = col_vec(&c->key_cols[0], at);
            if (sort_add(c->s, worker, first / MORSEL, n, k, v, &e) != ST_OK) {
                printf("sort_add: %s %s\n", e.message, e.detail);
                c->failed = true;
                return;
            }
        }
    }
}

static Case *sort_case;
static int compare(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    for (int32_t i = 0; i < sort_case->spec.n_keys; i++) {
        const Col *c = &sort_case->key_cols[i];
        const Key *k = &sort_case->keys[i];
        bool xv = is_valid(c, x), yv = is_valid(c, y);
        if (xv != yv) return xv == k->nulls_first ? 1 : -1;
        if (!xv) continue;
        int d = cell_cmp((Phys)c->phys, c->data + x * size_of(c->phys), c->data + y * size_of(c->phys));
        if (d) return k->desc ? -d : d;
    }
    return x < y ? -1 : x > y;
}

static void run_case(Case *c, int workers, int64_t limit, int64_t offset, int64_t memory) {
    Err e;
    err_clear(&e);
    c->spec.keys = (void *)c->keys;
    c->spec.cols = c->cols;
    c->spec.limit = limit;
    c->spec.offset = offset;
    if (!c->vector) c->vector = 1000;
    MemAccount acct;
    mem_account_init(&acct, NULL, "query", memory, "memory_limit");
    Pool *pool = pool_new(workers, &e);
    assert_int_equal(sort_new(&c->spec, workers, pool, workers, &acct, vfs_posix(), NULL, &c->s, &e), ST_OK);
    atomic_store(&c->next, 0);
    atomic_store(&c->failed, false);
    pool_run(pool, workers, work, c);
    assert_false(c->failed);
    RowStore *r = NULL;
    if (sort_finish(c->s, &r, &e) != ST_OK) printf("sort_finish: %s %s\n", e.message, e.detail), fail();
    sort_free(c->s);
    int64_t *want = malloc((size_t)c->n * 8 + 8);
    for (int64_t i = 0; i < c->n; i++) want[i] = i;
    sort_case = c;
    qsort(want, (size_t)c->n, 8, compare);
    int64_t first = MIN_OF(offset, c->n), end = limit >= 0 && limit < c->n - first ? first + limit : c->n;
    assert_int_equal(rows_count(r), end - first);
    for (int64_t i = 0; i < end - first; i++) {
        const void *cell;
        bool null;
        assert_int_equal(rows_cell(r, i, 0, &cell, &null, &e), ST_OK);
        int64_t id = *(const int64_t *)cell;
        assert_int_equal(id, want[first + i]);
        assert_int_equal(rows_cell(r, i, 1, &cell, &null, &e), ST_OK);
        assert_int_equal(null, !is_valid(&c->text, id));
        if (!null) assert_true(str_eq(*(const Str *)cell, ((const Str *)(const void *)c->text.data)[id]));
    }
    free(want);
    rows_free(r);
    pool_free(pool);
    assert_int_equal(atomic_load(&acct.used), 0);
}

static Case *new_case(int64_t n) {
    Case *c = calloc(1, sizeof *c);
    c->n = n;
    c->ids = malloc((size_t)n * 8 + 8);
    for (int64_t i = 0; i < n; i++) c->ids[i] = i;
    c->text = col_new(PH_STR, n, 3000, 10);
    c->spec.n_cols = 2;
    c->cols[0] = (CellSpec){.phys = PH_I64};
    c->cols[1] = (CellSpec){.phys = PH_STR, .nullable = true};
    return c;
}
static void add_key(Case *c, uint8_t phys, int64_t range, int nulls, bool ranged, bool desc, bool nulls_first) {
    int32_t i = c->spec.n_keys++;
    c->keys[i] = (Key){
        {.phys = phys, .nullable = nulls > 0, .has_range = ranged, .min = -(range / 2), .max = range - 1 - range / 2},
        desc,
        nulls_first};
    c->key_cols[i] = col_new(phys, c->n, range, nulls);
}
static void free_case(Case *c) {
    for (int32_t i = 0; i < c->spec.n_keys; i++) col_free(&c->key_cols[i]);
    col_free(&c->text);
    free(c->ids);
    free(c);
}
static void some_keys(Case *c, int kind, bool desc, bool nulls_first, int nulls) {
    if (kind < PH_COUNT_) {
        add_key(c, (uint8_t)kind, 1000, nulls, kind % 2, desc, nulls_first);
        return;
    }
    switch (kind - PH_COUNT_) {
    case 0: break; /* no keys: order of arrival */
    case 1:
        add_key(c, PH_I32, 5, nulls, true, desc, nulls_first);
        add_key(c, PH_I64, 100, nulls, true, !desc, nulls_first);
        break;
    case 2:
        add_key(c, PH_I64, 5, nulls, false, desc, nulls_first);
        add_key(c, PH_F64, 100, nulls, false, !desc, !nulls_first);
        add_key(c, PH_I32, 100, 0, false, !desc, !nulls_first);
        break;
    case 3:
        add_key(c, PH_STR, 40, nulls, false, desc, nulls_first);
        add_key(c, PH_I32, 100, nulls, false, !desc, !nulls_first);
        break;
    case 4:
        add_key(c, PH_BOOL, 2, nulls, false, desc, nulls_first);
        add_key(c, PH_STR, 300, nulls, false, !desc, nulls_first);
        add_key(c, PH_STR, 10, nulls, false, desc, nulls_first);
        break;
    default:
        add_key(c, PH_F64, 10, nulls, false, desc, nulls_first);
        add_key(c, PH_I64, 10, nulls, false, desc, nulls_first);
        add_key(c, PH_I128, 10, nulls, false, !desc, nulls_first);
        add_key(c, PH_UUID, 10, nulls, false, desc, !nulls_first);
    }
}
enum { KINDS = PH_COUNT_ + 6 };

static void test_matrix(void **state) {
    (void)state;
    for (int kind = 0; kind < KINDS; kind++)
        for (int mode = 0; mode < 6; mode++) {
            Case *c = new_case(mode == 5 ? 40000 : 7001);
            some_keys(c, kind, mode & 1, mode & 2, mode < 2 ? 0 : 20);
            run_case(c, 1, -1, 0, 0);
            run_case(c, 3, -1, 0, 0);
            run_case(c, 2, 10, 0, 0);
            run_case(c, 2, 100, 50, 0);
            run_case(c, 1, 3, 6999, 0);
            run_case(c, 2, -1, 6000, 0);
            run_case(c, 1, 0, 0, 0);
            c->vector = 13;
            run_case(c, 2, 500, 1, 0);
            free_case(c);
        }
}
/* Short keys that lie unevenly: few values, most of them alike, some far away. */
static void test_uneven(void **state) {
    (void)state;
    for (int mode = 0; mode < 4; mode++) {
        Case *c = new_case(60000);
        add_key(c, PH_I64, 1000, mode & 1 ? 5 : 0, true, mode & 2, false);
        c->keys[0].key.min = -(INT64_C(1) << 60);
        c->keys[0].key.max = INT64_C(1) << 60;
        int64_t *v = (int64_t *)(void *)c->key_cols[0].data;
        for (int64_t i = 0; i < c->n; i++)
            if (v[i] > 490) v[i] <<= 50;
            else if (mode < 2) v[i] %= 3;
        run_case(c, 1, -1, 0, 0);
        run_case(c, 3, -1, 0, 0);
        run_case(c, 2, -1, 0, 8 << 20);
        free_case(c);
    }
}
static void test_edges(void **state) {
    (void)state;
    for (int64_t n = 0; n < 30; n += 1 + n / 3) {
        Case *c = new_case(n);
        add_key(c, PH_I32, 3, 10, true, true, true);
        run_case(c, 2, -1, 0, 0);
        run_case(c, 1, 5, 2, 0);
        run_case(c, 1, INT64_MAX, 1, 0);
        run_case(c, 1, 5, INT64_MAX, 0);
        free_case(c);
    }
}
static void test_little_memory(void **state) {
    (void)state;
    for (int kind = 0; kind < KINDS; kind += 2) {
        Case *c = new_case(50000);
        some_keys(c, kind, kind & 2, kind & 4, 10);
        run_case(c, 1, -1, 0, 2 << 20);
        run_case(c, 2, -1, 7, 3 << 20);
        run_case(c, 2, 200, 7, 2 << 20);
        free_case(c);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_uneven),
        cmocka_unit_test(test_edges),
        cmocka_unit_test(test_matrix),
        cmocka_unit_test(test_little_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
