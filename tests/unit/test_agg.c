/* test_agg.c - aggregation against a naive model: every aggregate and physical type, every form, NULLs, constants,
 * several workers, colliding hashes, little memory. */
#include "unit.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/vfs.h"
#include "exec/agg.h"

/* ---- random cells ------------------------------------------------------------------- */

static uint64_t rng = 88172645463325252u;
static uint64_t rnd(void) {
    rng ^= rng << 13;
    rng ^= rng >> 7;
    rng ^= rng << 17;
    return rng;
}
static int64_t size_of(uint8_t p) { return phys_size((Phys)p); }

/* Strings of a few forms; storage lives as long as the test. */
static char pool_bytes[1 << 16];
static Str random_str(int64_t distinct) {
    int64_t k = (int64_t)(rnd() % (uint64_t)distinct);
    char *p = pool_bytes + k * 24;
    int len = snprintf(p, 24, "%s%lld", k % 3 ? "prefix" : "", (long long)k);
    return str_make(p, k % 7 == 0 ? MIN_OF(len, 3) : len);
}
/* range: 0..range-1 around -range/2 */
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
    case PH_F32: *(float *)out = v == 3 ? NAN : v == 0 ? (rnd() & 1 ? -0.0f : 0.0f) : (float)v; break;
    case PH_F64: *(double *)out = v == 3 ? (double)NAN : v == 0 ? (rnd() & 1 ? -0.0 : 0.0) : (double)v; break;
    case PH_STR: {
        Str s = random_str(MIN_OF(range, 2000));
        memcpy(out, &s, sizeof s);
        break;
    }
    case PH_INTERVAL: {
        Interval i = {v, 0, 0};
        if (v % 2 == 0) i = (Interval){0, (int32_t)v, 0};
        if (v % 60 == 0) i = (Interval){0, 0, (int32_t)(v / 30)};
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
static Col column_new(uint8_t phys, int64_t n, int64_t range, int null_percent) {
    Col c = {aligned_alloc(64, (size_t)align_up(n * 16 + 64, 64)), null_percent ? malloc((size_t)n) : NULL, phys};
    for (int64_t i = 0; i < n; i++) {
        random_cell(phys, range, c.data + i * size_of(phys));
        if (c.valid) c.valid[i] = (int)(rnd() % 100) >= null_percent;
    }
    return c;
}
static void column_free(Col *c) {
    free(c->data);
    free(c->valid);
}
static Vec column_vec(const Col *c, int64_t first) {
    return (Vec){
        .data = c->data + first * size_of(c->phys), .valid = c->valid ? c->valid + first : NULL, .phys = c->phys};
}
static bool is_valid(const Col *c, int64_t i) { return !c->valid || c->valid[i]; }
static const void *cell(const Col *c, int64_t i) { return c->data + i * size_of(c->phys); }

/* ---- running ------------------------------------------------------------------------------ */

enum { MAX_COLS = 24, VECTOR = 1000 };
typedef struct Case {
    AggSpec spec;
    KeySpec keys[8];
    AggCell aggs[MAX_COLS];
    Col key_cols[8], in_cols[MAX_COLS], in2;
    int64_t n;
    int workers;
    AggTable *t;
    _Atomic int64_t next;
    _Atomic bool failed;
    int64_t vector;
} Case;

static void add_rows(Case *c, int worker, int64_t first, int64_t n, Err *e) {
    Vec k[8], in[MAX_COLS], in2[MAX_COLS];
    memset(in, 0, sizeof in);
    memset(in2, 0, sizeof in2);
    for (int32_t i = 0; i < c->spec.n_keys; i++) k[i] = column_vec(&c->key_cols[i], first);
    for (int32_t i = 0; i < c->spec.n_aggs; i++) {
        if (c->aggs[i].op != AO_COUNT_STAR) in[i] = column_vec(&c->in_cols[i], first);
        if (c->aggs[i].op == AO_STRING_AGG) in2[i] = column_vec(&c->in2, first);
    }
    if (agg_add(c->t, worker, n, k, in, in2, e) != ST_OK) c->failed = true;
}
static void work(void *ctx, int worker) {
    Case *c = ctx;
    Err e;
    err_clear(&e);
    for (;;) {
        int64_t first = atomic_fetch_add(&c->next, c->vector);
        if (first >= c->n || c->failed) return;
        add_rows(c, worker, first, MIN_OF(c->vector, c->n - first), &e);
        if (c->failed) printf("agg_add: %s\n", e.message);
    }
}

/* Naive: rows sorted by key, then folded. */
static Case *sort_case;
static int compare_keys(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    for (int32_t i = 0; i < sort_case->spec.n_keys; i++) {
        const Col *c = &sort_case->key_cols[i];
        bool xv = is_valid(c, x), yv = is_valid(c, y);
        if (xv != yv) return xv ? -1 : 1;
        int d = xv ? cell_cmp((Phys)c->phys, cell(c, x), cell(c, y)) : 0;
        if (d) return d;
    }
    return 0;
}
static int compare_rows(const void *a, const void *b) {
    int d = compare_keys(a, b);
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return d ? d : x < y ? -1 : x > y;
}

typedef struct Got { /* one result group */
    int64_t row;     /* a row of the input with these keys: index into an extra column set */
    alignas(16) char v[MAX_COLS][16];
    bool is[MAX_COLS];
    char *text[MAX_COLS];
} Got;
static Case *got_case;
static Col got_keys[8];
static int compare_got(const void *a, const void *b) {
    const Got *x = a, *y = b;
    for (int32_t i = 0; i < got_case->spec.n_keys; i++) {
        const Col *c = &got_keys[i];
        bool xv = is_valid(c, x->row), yv = is_valid(c, y->row);
        if (xv != yv) return xv ? -1 : 1;
        int d = xv ? cell_cmp((Phys)c->phys, cell(c, x->row), cell(c, y->row)) : 0;
        if (d) return d;
    }
    return 0;
}

static double as_double(uint8_t phys, const void *p) {
    return phys == PH_F32 ? (double)*(const float *)p : *(const double *)p;
}
static int128_t as_int(uint8_t phys, const void *p) {
    int64_t v = 0;
    if (phys == PH_I128) {
        int128_t w;
        memcpy(&w, p, sizeof w);
        return w;
    }
    cell_as_i64((Phys)phys, p, &v);
    return v;
}

static void check_group(Case *c, const int64_t *rows, int64_t n, const Got *g) {
    for (int32_t a = 0; a < c->spec.n_aggs; a++) {
        const AggCell *spec = &c->aggs[a];
        const Col *col = &c->in_cols[a];
        const char *v = g->v[a];
        int64_t seen = 0;
        int128_t sum = 0, band = -1, bor = 0;
        double fsum = 0;
        const void *min = NULL, *max = NULL;
        bool any_nan = false;
        for (int64_t i = 0; i < n && spec->op != AO_COUNT_STAR; i++) {
            if (!is_valid(col, rows[i])) continue;
            const void *x = cell(col, rows[i]);
            seen++;
            if (col->phys == PH_F32 || col->phys == PH_F64) {
                fsum += as_double(col->phys, x);
                any_nan |= isnan(as_double(col->phys, x));
            } else if (col->phys <= PH_I128) {
                sum += as_int(col->phys, x);
                band &= as_int(col->phys, x);
                bor |= as_int(col->phys, x);
            }
            if (!min || cell_cmp((Phys)col->phys, x, min) < 0) min = x;
            if (!max || cell_cmp((Phys)col->phys, x, max) > 0) max = x;
        }
        switch ((AggOp)spec->op) {
        case AO_COUNT_STAR:
            assert_true(g->is[a]);
            assert_int_equal(*(const int64_t *)(const void *)v, n);
            continue;
        case AO_COUNT:
            assert_true(g->is[a]);
            assert_int_equal(*(const int64_t *)(const void *)v, seen);
            continue;
        case AO_VAR: {
            bool samp = spec->arg == AGG_VAR_SAMP || spec->arg == AGG_STDDEV_SAMP;
            assert_int_equal(g->is[a], seen > (samp ? 1 : 0));
            if (!g->is[a]) continue;
            double mean = fsum / (double)seen, m2 = 0;
            for (int64_t i = 0; i < n; i++)
                if (is_valid(col, rows[i])) {
                    double d = as_double(col->phys, cell(col, rows[i])) - mean;
                    m2 += d * d;
                }
            double want = m2 / (double)(samp ? seen - 1 : seen);
            if (spec->arg == AGG_STDDEV_POP || spec->arg == AGG_STDDEV_SAMP) want = sqrt(want);
            double got = *(const double *)(const void *)v;
            if (any_nan) assert_true(isnan(got));
            else assert_true(fabs(got - want) <= 1e-9 * (1 + fabs(want)));
            continue;
        }
        case AO_ANY: {
            /* one of the group's values or NULL */
            bool hit = false;
            for (int64_t i = 0; i < n && !hit; i++)
                hit = g->is[a] ? is_valid(col, rows[i]) && cell_cmp((Phys)col->phys, v, cell(col, rows[i])) == 0
                               : !is_valid(col, rows[i]);
            if (n) assert_true(hit);
            else assert_false(g->is[a]);
            continue;
        }
        default: break;
        }
        assert_int_equal(g->is[a], seen > 0);
        if (!seen) continue;
        switch ((AggOp)spec->op) {
        case AO_SUM_I64:
        case AO_SUM_I64_CHECKED: assert_true(*(const int64_t *)(const void *)v == (int64_t)sum); break;
        case AO_SUM_I128: assert_true(as_int(PH_I128, v) == sum); break;
        case AO_SUM_F64: {
            double got = *(const double *)(const void *)v;
            if (any_nan) assert_true(isnan(got));
            else assert_true(fabs(got - fsum) < 1e-6);
            break;
        }
        case AO_MIN: assert_int_equal(cell_cmp((Phys)col->phys, v, min), 0); break;
        case AO_MAX: assert_int_equal(cell_cmp((Phys)col->phys, v, max), 0); break;
        case AO_BOOL_AND:
        case AO_BIT_AND: assert_true(as_int(col->phys, v) == (col->phys == PH_BOOL ? band & 1 : band)); break;
        case AO_BOOL_OR:
        case AO_BIT_OR: assert_true(as_int(col->phys, v) == bor); break;
        case AO_STRING_AGG: {
            /* pieces in any order across workers: lengths must add up; exact for one worker */
            const Str *s = (const Str *)(const void *)v;
            int64_t total = 0, k = 0, at = 0;
            for (int64_t i = 0; i < n; i++) {
                if (!is_valid(col, rows[i])) continue;
                const Str *p = cell(col, rows[i]), *d = cell(&c->in2, rows[i]);
                int64_t dl = k && is_valid(&c->in2, rows[i]) ? d->len : 0;
                if (c->workers == 1) {
                    assert_memory_equal(s->ptr + at, d->ptr, (size_t)dl);
                    assert_memory_equal(s->ptr + at + dl, p->ptr, p->len);
                    at += dl + p->len;
                }
                k++;
                total += dl + p->len;
            }
            if (c->workers == 1) assert_int_equal(s->len, total);
            else assert_true(s->len > 0 || total == 0);
            break;
        }
        default: break;
        }
    }
}

static int64_t spills, turns; /* cases that went to disk, and whose partitions were read in turns */
static int64_t taken;         /* of the limit, by others */

static void run_case(Case *c, int workers, int64_t limit) {
    Err e;
    err_clear(&e);
    c->spec.keys = c->keys;
    c->spec.aggs = c->aggs;
    c->workers = workers;
    if (!c->vector) c->vector = VECTOR;
    MemAccount acct;
    mem_account_init(&acct, NULL, "query", limit, "memory_limit");
    assert_true(mem_try_charge(&acct, taken));
    if (taken) atomic_store(&acct.reserve, 1 << 20); /* as a query's */
    Pool *pool = pool_new(workers, &e);
    assert_int_equal(agg_new(&c->spec, workers, pool, workers, c->vector, &acct, vfs_posix(), NULL, &c->t, &e), ST_OK);
    atomic_store(&c->next, 0);
    atomic_store(&c->failed, false);
    if (workers == 1) work(c, 0);
    else pool_run(pool, workers, work, c);
    assert_false(c->failed);
    if (agg_finish(c->t, &e) != ST_OK) printf("agg_finish: %s %s\n", e.message, e.detail), fail();

    /* expected */
    int64_t *rows = malloc((size_t)MAX_OF(c->n, 1) * 8);
    for (int64_t i = 0; i < c->n; i++) rows[i] = i;
    sort_case = c;
    qsort(rows, (size_t)c->n, 8, compare_rows);
    int64_t groups = 0;
    for (int64_t i = 0; i < c->n; i++) groups += i == 0 || compare_keys(&rows[i - 1], &rows[i]) != 0;
    if (c->spec.one_group) groups = 1;

    /* read everything */
    Got *got = calloc((size_t)MAX_OF(groups, 1), sizeof *got);
    for (int32_t i = 0; i < c->spec.n_keys; i++)
        got_keys[i] = (Col){malloc((size_t)MAX_OF(groups, 1) * 16), malloc((size_t)MAX_OF(groups, 1)), c->keys[i].phys};
    enum { STEP = 777 };
    char *buf = aligned_alloc(64, (STEP * 16 + 63) / 64 * 64);
    uint8_t valid[STEP];
    Arena *arena = arena_new(NULL, &e);
    int64_t n = 0;
    for (int64_t m = 0; m < agg_n_morsels(c->t); m++) {
        AggMorsel mo;
        if (agg_morsel_open(c->t, m, &mo, &e) != ST_OK) printf("open: %s %s\n", e.message, e.detail), fail();
        assert_true(n + mo.n <= groups);
        for (int64_t at = 0; at < mo.n; at += STEP) {
            int64_t k = MIN_OF((int64_t)STEP, mo.n - at);
            int32_t pos[STEP];
            for (int64_t i = 0; i < k; i++) pos[i] = (int32_t)(at + i);
            for (int32_t col = 0; col < c->spec.n_keys + c->spec.n_aggs; col++) {
                uint8_t phys = col < c->spec.n_keys ? c->keys[col].phys : c->aggs[col - c->spec.n_keys].out_phys;
                Vec v = {.data = buf, .valid = valid, .phys = phys};
                if (agg_load(c->t, col, &mo, at, at & 1 ? pos : NULL, k, &v, arena, &e) != ST_OK)
                    printf("load: %s\n", e.message), fail();
                for (int64_t i = 0; i < k; i++) {
                    Got *g = &got[n + at + i];
                    bool is = !v.valid || v.valid[i];
                    char *to = col < c->spec.n_keys ? got_keys[col].data + (n + at + i) * size_of(phys)
                                                    : g->v[col - c->spec.n_keys];
                    memcpy(to, buf + i * size_of(phys), (size_t)size_of(phys));
                    if (phys == PH_STR && is) { /* gone when the morsel closes */
                        Str s;
                        memcpy(&s, to, sizeof s);
                        s.ptr = arena_strndup(arena, s.ptr, s.len);
                        memcpy(to, &s, sizeof s);
                    }
                    if (col < c->spec.n_keys) got_keys[col].valid[n + at + i] = is;
                    else g->is[col - c->spec.n_keys] = is;
                    g->row = n + at + i;
                }
            }
        }
        n += mo.n;
        agg_morsel_close(c->t, &mo);
    }
    assert_int_equal(n, groups);
    got_case = c;
    qsort(got, (size_t)n, sizeof *got, compare_got);
    int64_t at = 0;
    for (int64_t g = 0; g < groups; g++) {
        int64_t end = at + 1;
        while (end < c->n && compare_keys(&rows[at], &rows[end]) == 0) end++;
        if (c->n == 0) end = 0;
        for (int32_t i = 0; i < c->spec.n_keys; i++) {
            bool is = is_valid(&c->key_cols[i], rows[at]);
            assert_int_equal(is, is_valid(&got_keys[i], got[g].row));
            if (is)
                assert_int_equal(
                    cell_cmp((Phys)c->keys[i].phys, cell(&c->key_cols[i], rows[at]), cell(&got_keys[i], got[g].row)),
                    0);
        }
        check_group(c, rows + at, end - at, &got[g]);
        at = end;
    }
    char *text = agg_text(c->t, arena);
    assert_non_null(text);
    if (strstr(text, "spilled")) spills++;
    if (strstr(text, "spilled") && !strstr(text, "in 64 partitions")) turns++;
    agg_free(c->t);
    pool_free(pool);
    arena_free(arena);
    if (limit) assert_true(atomic_load(&acct.peak) < limit + (8 << 20));
    mem_discharge(&acct, taken);
    assert_int_equal(atomic_load(&acct.used), 0);
    for (int32_t i = 0; i < c->spec.n_keys; i++) column_free(&got_keys[i]);
    free(got);
    free(rows);
    free(buf);
}

static void add_agg(Case *c, uint8_t op, uint8_t in, uint8_t out, uint8_t arg, int64_t range, int nulls) {
    int32_t i = c->spec.n_aggs++;
    c->aggs[i] = (AggCell){.op = op, .in_phys = in, .out_phys = out, .in_nullable = nulls > 0, .arg = arg};
    if (op != AO_COUNT_STAR) c->in_cols[i] = column_new(in, c->n, range, nulls);
    if (op == AO_STRING_AGG && !c->in2.data) c->in2 = column_new(PH_STR, c->n, 10, 5);
}
static void add_key(Case *c, uint8_t phys, int64_t range, int nulls, bool ranged) {
    int32_t i = c->spec.n_keys++;
    c->keys[i] = (KeySpec){
        .phys = phys, .nullable = nulls > 0, .has_range = ranged, .min = -(range / 2), .max = range - 1 - range / 2};
    c->key_cols[i] = column_new(phys, c->n, range, nulls);
}
static void free_case(Case *c) {
    for (int32_t i = 0; i < c->spec.n_keys; i++) column_free(&c->key_cols[i]);
    for (int32_t i = 0; i < c->spec.n_aggs; i++) column_free(&c->in_cols[i]);
    column_free(&c->in2);
    free(c);
}
static Case *new_case(int64_t n) {
    Case *c = calloc(1, sizeof *c);
    c->n = n;
    return c;
}

static void all_aggs(Case *c, int set, int nulls) {
    switch (set) {
    case 0:
        add_agg(c, AO_COUNT_STAR, 0, PH_I64, 0, 1, 0);
        for (uint8_t p = PH_I16; p <= PH_I64; p++) {
            add_agg(c, AO_SUM_I64, p, PH_I64, 0, 20000, nulls);
            add_agg(c, AO_SUM_I128, p, PH_I128, 0, 20000, nulls);
            add_agg(c, AO_SUM_I64_CHECKED, p, PH_I64, 0, 20000, nulls);
            add_agg(c, AO_BIT_AND, p, p, 0, 20000, nulls);
            add_agg(c, AO_BIT_OR, p, p, 0, 20000, nulls);
        }
        add_agg(c, AO_SUM_I128, PH_I64, PH_I128, 0, INT64_MAX, nulls);
        add_agg(c, AO_SUM_I128, PH_I128, PH_I128, 0, 20000, nulls);
        add_agg(c, AO_SUM_F64, PH_F32, PH_F64, 0, 20000, nulls);
        add_agg(c, AO_SUM_F64, PH_F64, PH_F64, 0, 20000, nulls);
        add_agg(c, AO_BOOL_AND, PH_BOOL, PH_BOOL, 0, 2, nulls);
        add_agg(c, AO_BOOL_OR, PH_BOOL, PH_BOOL, 0, 2, nulls);
        break;
    case 1:
        for (uint8_t p = 0; p < PH_COUNT_; p++) {
            add_agg(c, AO_MIN, p, p, 0, 1000, nulls);
            add_agg(c, AO_MAX, p, p, 0, 1000, nulls);
        }
        break;
    default:
        for (uint8_t p = 0; p < PH_COUNT_; p++) add_agg(c, AO_ANY, p, p, 0, 1000, nulls);
        for (uint8_t p = PH_I32; p < PH_COUNT_; p += 2) add_agg(c, AO_COUNT, p, PH_I64, 0, 1000, nulls);
        add_agg(c, AO_VAR, PH_F64, PH_F64, AGG_VAR_POP, 1000, nulls);
        add_agg(c, AO_VAR, PH_F64, PH_F64, AGG_VAR_SAMP, 1000, nulls);
        add_agg(c, AO_VAR, PH_F64, PH_F64, AGG_STDDEV_SAMP, 1000, nulls);
        add_agg(c, AO_VAR, PH_F32, PH_F64, AGG_STDDEV_POP, 1000, nulls);
        add_agg(c, AO_STRING_AGG, PH_STR, PH_STR, 0, 200, nulls);
    }
}

/* kinds of keys */
static void some_keys(Case *c, int kind, int nulls) {
    switch (kind) {
    case 0: c->spec.one_group = true; break;
    case 1: add_key(c, PH_I32, 4, nulls, true); break;
    case 2:
        add_key(c, PH_BOOL, 2, nulls, false);
        add_key(c, PH_I16, 20, nulls, true);
        break;
    case 3:
        add_key(c, PH_I32, 30, nulls, true);
        add_key(c, PH_I64, 40, nulls, true);
        break;
    case 4: add_key(c, PH_I64, 100000, nulls, true); break;
    case 5:
        add_key(c, PH_I32, 1000, nulls, false);
        add_key(c, PH_I16, 3, 0, false);
        break;
    case 6: add_key(c, PH_I64, 1000, 0, false); break;
    case 7: add_key(c, PH_I64, 500, 20, false); break;
    case 8: add_key(c, PH_STR, 700, nulls, false); break;
    case 9:
        add_key(c, PH_F64, 40, nulls, false);
        add_key(c, PH_STR, 20, nulls, false);
        add_key(c, PH_INTERVAL, 61, nulls, false);
        break;
    case 10:
        add_key(c, PH_I128, 10, nulls, false);
        add_key(c, PH_UUID, 10, nulls, false);
        add_key(c, PH_F32, 10, nulls, false);
        add_key(c, PH_BOOL, 2, nulls, false);
        add_key(c, PH_I16, 2, nulls, false);
        add_key(c, PH_I32, 2, nulls, false);
        break;
    default: add_key(c, PH_I32, 1 << 20, nulls, true); break;
    }
}
enum { KEY_KINDS = 12 };

static void test_matrix(void **state) {
    (void)state;
    for (int kind = 0; kind < KEY_KINDS; kind++)
        for (int set = 0; set < 3; set++)
            for (int nulls = 0; nulls <= 30; nulls += 30) {
                Case *c = new_case(20011);
                some_keys(c, kind, nulls);
                all_aggs(c, set, nulls);
                run_case(c, 1, 0);
                run_case(c, 3, 0);
                c->vector = 37;
                run_case(c, 2, 0);
                free_case(c);
            }
}
static void test_constant_hash(void **state) {
    (void)state;
    hash_constant = true;
    for (int kind = 4; kind < KEY_KINDS; kind++) {
        Case *c = new_case(1500);
        some_keys(c, kind, 10);
        all_aggs(c, kind % 3, 10);
        run_case(c, 1, 0);
        run_case(c, 2, 0);
        free_case(c);
    }
    hash_constant = false;
}
static void test_empty(void **state) {
    (void)state;
    for (int kind = 0; kind < KEY_KINDS; kind++)
        for (int set = 0; set < 3; set++) {
            Case *c = new_case(0);
            some_keys(c, kind, 0);
            all_aggs(c, set, 0);
            run_case(c, 1, 0);
            run_case(c, 2, 0);
            free_case(c);
        }
}
static void test_little_memory(void **state) {
    (void)state;
    for (int kind = 4; kind < KEY_KINDS; kind++)
        for (int set = 0; set < 3; set++) {
            Case *c = new_case(60000);
            some_keys(c, kind, 10);
            all_aggs(c, set, 10);
            run_case(c, 1, 3 << 20);
            run_case(c, 2, 4 << 20);
            free_case(c);
        }
    assert_true(spills >= 6);
}
/* Others have taken all that there is: what it needs to get on is taken beyond the limit, and not more. */
static void test_no_memory(void **state) {
    (void)state;
    taken = 4 << 20;
    for (int kind = 4; kind < KEY_KINDS; kind++)
        for (int set = 0; set < 3; set++) {
            Case *c = new_case(20000);
            some_keys(c, kind, 10);
            all_aggs(c, set, 10);
            run_case(c, 1, taken + (16 << 10));
            run_case(c, 3, taken + (16 << 10));
            free_case(c);
        }
    Case *c = new_case(500000); /* partitions of more than a worker may take */
    add_key(c, PH_STR, 1 << 30, 10, false);
    add_key(c, PH_I64, 1 << 30, 10, false);
    add_agg(c, AO_COUNT_STAR, PH_I32, PH_I64, 0, 10, 0);
    run_case(c, 2, taken + (16 << 10));
    free_case(c);
    assert_true(turns > 0);
    taken = 0;
}

/* Constant vectors, including NULL ones. */
static void test_constants(void **state) {
    (void)state;
    Err e;
    for (int null = 0; null < 2; null++) {
        err_clear(&e);
        KeySpec key = {.phys = PH_I32, .nullable = true, .has_range = true, .min = 5, .max = 9};
        AggCell aggs[] = {{.op = AO_SUM_I64, .in_phys = PH_I32, .out_phys = PH_I64, .in_nullable = true},
                          {.op = AO_COUNT, .in_phys = PH_I32, .out_phys = PH_I64, .in_nullable = true},
                          {.op = AO_MAX, .in_phys = PH_STR, .out_phys = PH_STR, .in_nullable = true},
                          {.op = AO_COUNT_STAR, .out_phys = PH_I64}};
        AggSpec spec = {.n_keys = 1, .keys = &key, .n_aggs = 4, .aggs = aggs};
        AggTable *t;
        assert_int_equal(agg_new(&spec, 1, NULL, 1, 1024, NULL, vfs_posix(), NULL, &t, &e), ST_OK);
        int32_t seven = 7, three = 3;
        uint8_t valid = !null;
        Str s = str_make("constant", 8);
        Vec k = {.data = &seven, .valid = &valid, .phys = PH_I32, .is_const = true};
        Vec in[4] = {{.data = &three, .valid = &valid, .phys = PH_I32, .is_const = true},
                     {.data = &three, .valid = &valid, .phys = PH_I32, .is_const = true},
                     {.data = &s, .valid = &valid, .phys = PH_STR, .is_const = true},
                     {0}};
        assert_int_equal(agg_add(t, 0, 1000, &k, in, NULL, &e), ST_OK);
        assert_int_equal(agg_add(t, 0, 10, &k, in, NULL, &e), ST_OK);
        assert_int_equal(agg_finish(t, &e), ST_OK);
        assert_int_equal(agg_groups(t), 1);
        AggMorsel m;
        assert_int_equal(agg_morsel_open(t, 0, &m, &e), ST_OK);
        assert_int_equal(m.n, 1);
        int64_t out;
        uint8_t ok;
        int32_t got;
        Vec v = {.data = &got, .valid = &ok, .phys = PH_I32};
        agg_load(t, 0, &m, 0, NULL, 1, &v, NULL, &e);
        if (null) assert_false(v.valid[0]);
        else assert_int_equal(got, 7);
        v = (Vec){.data = &out, .valid = &ok, .phys = PH_I64};
        agg_load(t, 1, &m, 0, NULL, 1, &v, NULL, &e);
        if (null) assert_false(v.valid[0]);
        else assert_int_equal(out, 3030);
        v = (Vec){.data = &out, .valid = &ok, .phys = PH_I64};
        agg_load(t, 2, &m, 0, NULL, 1, &v, NULL, &e);
        assert_int_equal(out, null ? 0 : 1010);
        v = (Vec){.data = &out, .valid = &ok, .phys = PH_I64};
        agg_load(t, 4, &m, 0, NULL, 1, &v, NULL, &e);
        assert_int_equal(out, 1010);
        agg_morsel_close(t, &m);
        agg_free(t);
    }
}

static const char *one_error(uint8_t op, uint8_t phys, uint8_t out, const void *cells, int64_t n, int workers) {
    static Err e;
    err_clear(&e);
    AggCell a = {.op = op, .in_phys = phys, .out_phys = out};
    AggSpec spec = {.n_aggs = 1, .aggs = &a, .one_group = true};
    AggTable *t;
    assert_int_equal(agg_new(&spec, workers, NULL, 1, 1024, NULL, NULL, NULL, &t, &e), ST_OK);
    Status s = ST_OK;
    for (int64_t i = 0; i < n && s == ST_OK; i++) {
        Vec v = {.data = (char *)(uintptr_t)cells + i * size_of(phys), .phys = phys};
        s = agg_add(t, (int)(i % workers), 1, NULL, &v, NULL, &e);
    }
    if (s == ST_OK) s = agg_finish(t, &e);
    AggMorsel m;
    if (s == ST_OK && (s = agg_morsel_open(t, 0, &m, &e)) == ST_OK) {
        alignas(16) char buf[16];
        uint8_t ok;
        Vec v = {.data = buf, .valid = &ok, .phys = out};
        s = agg_load(t, 0, &m, 0, NULL, 1, &v, NULL, &e);
        agg_morsel_close(t, &m);
    }
    agg_free(t);
    return s == ST_OK ? "" : e.sqlstate;
}
static void test_errors(void **state) {
    (void)state;
    int64_t big[3] = {INT64_MAX, INT64_MAX, INT64_MAX};
    int128_t wide[3] = {pow10_i128[38] - 1, 0, 1};
    for (int workers = 1; workers <= 2; workers++) {
        assert_string_equal(one_error(AO_SUM_I64_CHECKED, PH_I64, PH_I64, big, 2, workers), ERR_NUMERIC_RANGE);
        assert_string_equal(one_error(AO_SUM_I64_CHECKED, PH_I64, PH_I64, big, 1, workers), "");
        assert_string_equal(one_error(AO_SUM_I128, PH_I64, PH_I128, big, 3, workers), "");
        assert_string_equal(one_error(AO_SUM_I128, PH_I128, PH_I128, wide, 2, workers), "");
        assert_string_equal(one_error(AO_SUM_I128, PH_I128, PH_I128, wide, 3, workers), ERR_NUMERIC_RANGE);
        assert_string_equal(one_error(AO_SINGLE, PH_I64, PH_I64, big, 1, workers), "");
        assert_string_equal(one_error(AO_SINGLE, PH_I64, PH_I64, big, 2, workers), ERR_CARDINALITY);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_constants), cmocka_unit_test(test_errors),        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_matrix),    cmocka_unit_test(test_constant_hash), cmocka_unit_test(test_little_memory),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
