/* test_join.c - the join table against a nested loop: all forms, key types, NULLs, duplicates, constants, spilling,
 * threads. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/hash.h"
#include "base/pool.h"
#include "base/vfs.h"
#include "exec/join.h"

static uint64_t rng_state;
static uint64_t rnd(void) {
    rng_state = rng_state * 6364136223846793005ULL + 1442695040888963407ULL;
    return rng_state >> 33;
}

enum { MAX_KEYS = 40, VECTOR = 128 };

typedef struct Case {
    int32_t n_keys;
    uint8_t phys[MAX_KEYS];
    bool nullable[MAX_KEYS], null_equal[MAX_KEYS];
    int64_t n_build, n_probe, domain, stride; /* key number k stands for value base + k * stride */
    int64_t base;
    bool distinct; /* no two build rows have the same key (if the domain allows) */
    bool skew;     /* half of the build rows share one key */
    bool exists, track, const_probe, const_build, has_range;
    int threads;
    int64_t limit;
    bool expect_partitioned;
} Case;

/* Key number k of a column as a cell; some numbers have two spellings that are equal. */
static void make_cell(uint8_t phys, int64_t base, int64_t k, int64_t stride, bool other, char *text, void *out) {
    int64_t v = (int64_t)((uint64_t)base + (uint64_t)k * (uint64_t)stride); /* wraps */
    switch (phys) {
    case PH_BOOL: *(uint8_t *)out = k & 1; break;
    case PH_I16: *(int16_t *)out = (int16_t)v; break;
    case PH_I32: *(int32_t *)out = (int32_t)v; break;
    case PH_I64: *(int64_t *)out = v; break;
    case PH_I128: *(int128_t *)out = ((int128_t)k << 64) + (uint64_t)v; break;
    case PH_F32: *(float *)out = k == 0 ? (other ? -0.0F : 0.0F) : k == 1 ? (other ? -NAN : NAN) : (float)k / 4; break;
    case PH_F64:
        *(double *)out = k == 0 ? (other ? -0.0 : 0.0) : k == 1 ? (other ? -(double)NAN : (double)NAN) : (double)k / 4;
        break;
    case PH_STR: {
        int n = snprintf(text, 32, k % 3 ? "%lld" : "some longer text %lld", (long long)k);
        *(Str *)out = k == 5 ? (Str){0} : str_make(text, n);
        break;
    }
    case PH_INTERVAL: {
        Interval iv = {k * 1000, (int32_t)k + 60, 0};
        if (other) iv = (Interval){k * 1000 + USECS_PER_DAY, (int32_t)k - 1, 2};
        *(Interval *)out = iv;
        break;
    }
    default: {
        uint64_t u[2] = {(uint64_t)k * 77, (uint64_t)k};
        memcpy(out, u, 16);
    }
    }
}

typedef struct Side {
    int64_t n;
    int64_t *key[MAX_KEYS]; /* key numbers, -1 = NULL */
    char *cells[MAX_KEYS];
    uint8_t *valid[MAX_KEYS];
    char (*text[MAX_KEYS])[32];
} Side;

static int64_t pick(const Case *c, int32_t col, int64_t row, bool build) {
    uint64_t dom = (uint64_t)(c->phys[col] == PH_BOOL ? 2 : c->domain);
    if (build && c->distinct && col == 0) return row % c->domain;
    if (c->skew && rnd() % 2) return 3 % (int64_t)dom;
    return (int64_t)(rnd() % dom);
}

static void make_side(Side *s, const Case *c, int64_t n, bool build) {
    *s = (Side){.n = n};
    for (int32_t k = 0; k < c->n_keys; k++) {
        int64_t size = phys_size(c->phys[k]);
        s->key[k] = malloc((size_t)n * 8 + 8);
        s->cells[k] = aligned_alloc(16, (size_t)align_up(n * size + 16, 16));
        s->valid[k] = malloc((size_t)n + 1);
        s->text[k] = malloc((size_t)n * 32 + 32);
        for (int64_t i = 0; i < n; i++) {
            bool constant = build ? c->const_build : c->const_probe;
            /* constant vectors: all rows of a vector have the key of its first row */
            int64_t key = constant && i % VECTOR ? s->key[k][i - 1] : pick(c, k, i, build);
            bool same = constant && i % VECTOR;
            if (c->nullable[k] && !same && rnd() % 10 == 0) key = -1;
            s->key[k][i] = key;
            s->valid[k][i] = key >= 0;
            make_cell(c->phys[k], c->base, key < 0 ? 0 : key, c->stride, rnd() & 1, s->text[k][i],
                      s->cells[k] + i * size);
        }
    }
}
static void free_side(Side *s) {
    for (int k = 0; k < MAX_KEYS; k++) {
        free(s->key[k]);
        free(s->cells[k]);
        free(s->valid[k]);
        free(s->text[k]);
    }
}
static void side_vecs(const Side *s, const Case *c, int64_t first, bool constant, Vec *v) {
    for (int32_t k = 0; k < c->n_keys; k++) {
        v[k] = (Vec){.data = s->cells[k] + first * phys_size(c->phys[k]), .phys = c->phys[k], .is_const = constant};
        if (c->nullable[k]) v[k].valid = s->valid[k] + first;
    }
}

static bool keys_match(const Case *c, const Side *a, int64_t i, const Side *b, int64_t k) {
    for (int32_t col = 0; col < c->n_keys; col++) {
        int64_t x = a->key[col][i], y = b->key[col][k];
        if (x != y) return false;
        if (x < 0 && !c->null_equal[col]) return false;
    }
    return true;
}

typedef struct BuildJob {
    const Case *c;
    const Side *s;
    JoinTable *j;
    _Atomic int64_t next;
    _Atomic int failed;
    Err first_error;
} BuildJob;

static void build_worker(void *ctx, int worker) {
    BuildJob *b = ctx;
    Err e;
    err_clear(&e);
    int64_t id[VECTOR];
    Str str[VECTOR];
    uint8_t valid[VECTOR];
    char text[VECTOR][32];
    for (;;) {
        int64_t first = atomic_fetch_add(&b->next, VECTOR);
        if (first >= b->s->n || atomic_load(&b->failed)) return;
        int64_t n = MIN_OF(b->s->n - first, VECTOR);
        Vec keys[MAX_KEYS], payload[2];
        side_vecs(b->s, b->c, first, b->c->const_build, keys);
        for (int64_t i = 0; i < n; i++) {
            id[i] = first + i;
            valid[i] = (first + i) % 4 != 0;
            str[i] = str_make(text[i], snprintf(text[i], 32, "payload %lld", (long long)(first + i)));
        }
        payload[0] = (Vec){.data = id, .phys = PH_I64};
        payload[1] = (Vec){.data = str, .valid = valid, .phys = PH_STR};
        if (join_build(b->j, worker, n, keys, payload, &e) != ST_OK) {
            if (!atomic_exchange(&b->failed, 1)) err_copy(&b->first_error, &e);
            return;
        }
    }
}

static int compare_i64(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* Payload of matched rows, checked against their ids. */
static void check_rows(const JoinTable *j, const Case *c, const Side *build, int64_t n, const int64_t *rows,
                       int64_t *ids) {
    Str str[VECTOR];
    uint8_t valid[VECTOR];
    static char cell[VECTOR * 16] __attribute__((aligned(16)));
    Vec id = {.data = ids, .valid = valid, .phys = PH_I64};
    join_load(j, 0, n, rows, &id);
    for (int64_t i = 0; i < n; i++) {
        if (rows[i] < 0) {
            assert_non_null(id.valid);
            assert_int_equal(id.valid[i], 0);
            ids[i] = -1;
        }
    }
    Vec s = {.data = str, .valid = valid, .phys = PH_STR};
    join_load(j, 1, n, rows, &s);
    for (int64_t i = 0; i < n; i++) {
        bool null = s.valid && !s.valid[i];
        assert_int_equal(null, rows[i] < 0 || ids[i] % 4 == 0);
        if (null) continue;
        char want[32];
        int len = snprintf(want, sizeof want, "payload %lld", (long long)ids[i]);
        assert_true(str_eq(str[i], str_make(want, len)));
    }
    for (int32_t k = 0; k < c->n_keys; k++) {
        Vec key = {.data = cell, .valid = valid, .phys = c->phys[k]};
        join_load(j, 2 + k, n, rows, &key);
        for (int64_t i = 0; i < n; i++) {
            if (rows[i] < 0) continue;
            bool null = key.valid && !key.valid[i];
            assert_int_equal(null, build->key[k][ids[i]] < 0);
            int64_t size = phys_size(c->phys[k]);
            if (!null)
                assert_int_equal(cell_cmp((Phys)c->phys[k], cell + i * size, build->cells[k] + ids[i] * size), 0);
        }
    }
}

typedef struct Found {
    int64_t *probe, *build;
    int64_t n, cap;
} Found;
static void found(Found *f, int64_t probe, int64_t build) {
    if (f->n == f->cap) {
        f->cap = f->cap ? f->cap * 2 : 1024;
        f->probe = realloc(f->probe, (size_t)f->cap * 8);
        f->build = realloc(f->build, (size_t)f->cap * 8);
    }
    f->probe[f->n] = probe;
    f->build[f->n++] = build;
}

/* Probes rows first..first+n-1 (map[i]: their numbers) in all ways. */
static void probe_vector(JoinTable *j, JoinProbe *p, const Case *c, const Side *build, int64_t n, const Vec *keys,
                         const int64_t *map, Found *f, uint8_t *semi) {
    int64_t match[VECTOR], rows[VECTOR], ids[VECTOR];
    int32_t idx[VECTOR];
    join_probe_first(p, n, keys, match);
    if (c->exists) {
        for (int64_t i = 0; i < n; i++) {
            assert_true(match[i] == 0 || match[i] == -1);
            semi[map[i]] = match[i] == 0;
        }
        join_probe_begin(p, n, keys);
        int64_t count = 0, got, last = -1;
        while ((got = join_probe_next(p, 7, idx, rows)) > 0) {
            for (int64_t k = 0; k < got; k++) {
                assert_true(idx[k] > last && match[idx[k]] == 0);
                last = idx[k];
            }
            count += got;
        }
        for (int64_t i = 0; i < n; i++) count -= match[i] == 0;
        assert_int_equal(count, 0);
        return;
    }
    check_rows(j, c, build, n, match, ids);
    int64_t caps[] = {VECTOR, 1, 5, 64};
    int64_t cap = caps[rnd() % 4], got, last = -1, per = 0, seen_first = 0;
    join_probe_begin(p, n, keys);
    bool has[VECTOR] = {0};
    int64_t first_id[VECTOR];
    memcpy(first_id, ids, sizeof ids);
    while ((got = join_probe_next(p, cap, idx, rows)) > 0) {
        assert_true(got <= cap);
        check_rows(j, c, build, got, rows, ids);
        if (c->track) join_mark_matched(j, got, rows);
        for (int64_t k = 0; k < got; k++) {
            assert_true(idx[k] >= last);
            per = idx[k] == last ? per + 1 : 1;
            if (join_is_unique(j)) assert_int_equal(per, 1);
            last = idx[k];
            has[idx[k]] = true;
            seen_first += ids[k] == first_id[idx[k]];
            found(f, map[idx[k]], ids[k]);
        }
    }
    for (int64_t i = 0; i < n; i++) {
        assert_int_equal(has[i], match[i] >= 0);
        seen_first -= has[i];
        semi[map[i]] |= has[i];
    }
    assert_int_equal(seen_first, 0); /* the first match is among the matches */
}

/* A case while it runs. */
typedef struct Trial {
    const Case *c;
    Side build, probe;
    MemAccount acct;
    Err e;
    Pool *pool;
    KeySpec keys[MAX_KEYS]; /* the table refers to them */
    CellSpec payload[2];
    JoinSpec spec;
    JoinTable *j;
    JoinProbe *p;
    Found f;          /* the pairs that were found */
    uint8_t *semi;    /* by probe row: it has a match */
    uint8_t *matched; /* by build row: it has one */
    int64_t *map;     /* by row of a probed vector: its number on the probe side */
} Trial;

static void build_table(Trial *t) {
    const Case *c = t->c;
    for (int32_t k = 0; k < c->n_keys; k++)
        t->keys[k] = (KeySpec){.phys = c->phys[k],
                               .nullable = c->nullable[k],
                               .null_equal = c->null_equal[k],
                               .has_range = c->has_range,
                               .min = c->base,
                               .max = c->has_range ? c->base + c->domain * c->stride : 0};
    t->payload[0] = (CellSpec){.phys = PH_I64};
    t->payload[1] = (CellSpec){.phys = PH_STR, .nullable = true};
    t->spec = (JoinSpec){.n_keys = c->n_keys,
                         .keys = t->keys,
                         .n_payload = 2,
                         .payload = t->payload,
                         .exists_only = c->exists,
                         .track_matched = c->track,
                         .has_null_mark = true,
                         .est_rows = (double)c->n_build};
    int threads = MAX_OF(c->threads, 1);
    Pool *pool = t->pool = pool_new(threads, &t->e);
    BuildJob b = {.c = c, .s = &t->build};
    assert_int_equal(join_new(&t->spec, threads, pool, threads, &t->acct, vfs_posix(), NULL, &b.j, &t->e), ST_OK);
    t->j = b.j;
    pool_run(pool, threads, build_worker, &b);
    if (b.failed) fail_msg("build: %s", b.first_error.message);
    if (join_finish(t->j, &t->e) != ST_OK)
        fail_msg("finish (%d threads, phys %d, %d keys): %s %s", threads, c->phys[0], c->n_keys, t->e.message,
                 t->e.detail);
    assert_int_equal(join_is_partitioned(t->j), c->expect_partitioned);
    Arena *a = arena_new(NULL, &t->e);
    char *text = join_text(t->j, a);
    assert_non_null(text);
    if (getenv("STELE_TEST_VERBOSE")) printf("    %s\n", text);
    arena_free(a);
}

static void probe_whole(Trial *t) {
    for (int64_t first = 0; first < t->c->n_probe; first += VECTOR) {
        int64_t n = MIN_OF(t->c->n_probe - first, VECTOR);
        Vec v[MAX_KEYS];
        side_vecs(&t->probe, t->c, first, t->c->const_probe, v);
        for (int64_t i = 0; i < n; i++) t->map[i] = first + i;
        probe_vector(t->j, t->p, t->c, &t->build, n, v, t->map, &t->f, t->semi);
    }
}
/* Each partition with the probe rows that belong to it. */
static void probe_partitions(Trial *t) {
    int32_t *part = malloc((size_t)t->c->n_probe * 4 + 4);
    Vec v[MAX_KEYS];
    for (int64_t first = 0; first < t->c->n_probe; first += VECTOR) {
        side_vecs(&t->probe, t->c, first, t->c->const_probe, v);
        join_partition_of(t->j, MIN_OF(t->c->n_probe - first, VECTOR), v, part + first);
    }
    Side piece;
    make_side(&piece, t->c, VECTOR, false);
    for (int32_t k = 0; k < join_n_partitions(t->j); k++) {
        if (join_partition_load(t->j, k, &t->e) != ST_OK) fail_msg("load: %s %s", t->e.message, t->e.detail);
        assert_true(join_partition_resident(t->j, k));
        int64_t n = 0;
        for (int64_t i = 0; i <= t->c->n_probe; i++) {
            if (i < t->c->n_probe && part[i] == k) {
                for (int32_t q = 0; q < t->c->n_keys; q++) {
                    int64_t size = phys_size(t->c->phys[q]);
                    memcpy(piece.cells[q] + n * size, t->probe.cells[q] + i * size, (size_t)size);
                    piece.valid[q][n] = t->probe.valid[q][i];
                }
                t->map[n++] = i;
            }
            if (n == VECTOR || (i == t->c->n_probe && n)) {
                side_vecs(&piece, t->c, 0, false, v);
                probe_vector(t->j, t->p, t->c, &t->build, n, v, t->map, &t->f, t->semi);
                n = 0;
            }
        }
    }
    free_side(&piece);
    free(part);
}

/* Pairs come partition by partition: brings them into probe order (stable insertion by counting). */
static void order_pairs(Trial *t) {
    int64_t *start = calloc((size_t)t->c->n_probe + 2, 8), *pb = malloc((size_t)t->f.n * 8 + 8),
            *bb = malloc((size_t)t->f.n * 8 + 8);
    for (int64_t k = 0; k < t->f.n; k++) start[t->f.probe[k] + 1]++;
    for (int64_t i = 0; i < t->c->n_probe; i++) start[i + 1] += start[i];
    for (int64_t k = 0; k < t->f.n; k++) {
        int64_t to = start[t->f.probe[k]]++;
        pb[to] = t->f.probe[k];
        bb[to] = t->f.build[k];
    }
    free(t->f.probe);
    free(t->f.build);
    t->f.probe = pb;
    t->f.build = bb;
    free(start);
}

/* Against the nested loop. */
static void check_pairs(Trial *t) {
    const Case *c = t->c;
    bool null_key = false, any_dup = false;
    for (int64_t k = 0; k < c->n_build; k++)
        for (int32_t q = 0; q < c->n_keys; q++) null_key |= t->build.key[q][k] < 0;
    assert_int_equal(join_has_null_key(t->j), null_key);
    int64_t at = 0;
    int64_t *want = malloc((size_t)c->n_build * 8 + 8), *got = malloc((size_t)c->n_build * 8 + 8);
    if (c->expect_partitioned) order_pairs(t);
    for (int64_t i = 0; i < c->n_probe; i++) {
        int64_t nw = 0, ng = 0;
        for (int64_t k = 0; k < c->n_build; k++)
            if (keys_match(c, &t->probe, i, &t->build, k)) want[nw++] = k;
        assert_int_equal(t->semi[i], nw > 0);
        any_dup |= nw > 1;
        if (c->exists) continue;
        while (at < t->f.n && t->f.probe[at] == i) {
            assert_true(ng < c->n_build);
            got[ng++] = t->f.build[at++];
        }
        assert_int_equal(ng, nw);
        qsort(got, (size_t)ng, 8, compare_i64);
        assert_memory_equal(got, want, (size_t)nw * 8);
        for (int64_t k = 0; k < nw; k++) t->matched[want[k]] = 1;
    }
    if (!c->exists) {
        assert_int_equal(at, t->f.n);
        if (any_dup) assert_false(join_is_unique(t->j));
    }
    free(want);
    free(got);
}

/* The build rows with a match, and those without one. */
static void check_matched(Trial *t) {
    for (int which = 0; which < 2; which++) {
        int64_t count = 0;
        uint8_t *seen = calloc(1, (size_t)t->c->n_build + 1);
        int32_t parts = t->c->expect_partitioned ? join_n_partitions(t->j) : 1;
        for (int32_t k = 0; k < parts; k++) {
            if (t->c->expect_partitioned) assert_int_equal(join_partition_load(t->j, k, &t->e), ST_OK);
            for (int64_t m = 0; m < join_n_morsels(t->j); m++) {
                int64_t cursor = 0, rows[VECTOR], ids[VECTOR], n;
                while ((n = join_morsel_rows(t->j, m, which == 1, &cursor, 50, rows)) > 0) {
                    check_rows(t->j, t->c, &t->build, n, rows, ids);
                    for (int64_t i = 0; i < n; i++) {
                        assert_int_equal(t->matched[ids[i]], which);
                        assert_int_equal(seen[ids[i]], 0);
                        seen[ids[i]] = 1;
                        count++;
                    }
                }
            }
        }
        for (int64_t i = 0; i < t->c->n_build; i++) count -= t->matched[i] == which;
        assert_int_equal(count, 0);
        free(seen);
    }
    assert_int_equal(join_rows(t->j), t->c->n_build);
}

static void run_case(const Case *c) {
    Trial t = {.c = c};
    make_side(&t.build, c, c->n_build, true);
    make_side(&t.probe, c, c->n_probe, false);
    mem_account_init(&t.acct, NULL, "query", c->limit, "memory_limit");
    err_clear(&t.e);
    build_table(&t);
    t.semi = calloc(1, (size_t)c->n_probe + 1);
    t.map = malloc(((size_t)c->n_probe + VECTOR) * 8);
    t.matched = calloc(1, (size_t)c->n_build + 1);
    assert_int_equal(join_probe_new(t.j, VECTOR, NULL, &t.p, &t.e), ST_OK);
    if (c->expect_partitioned) probe_partitions(&t);
    else probe_whole(&t);
    join_probe_free(t.p);
    check_pairs(&t);
    if (c->track) check_matched(&t);
    free(t.matched);
    free(t.map);
    free(t.semi);
    free(t.f.probe);
    free(t.f.build);
    join_free(t.j);
    assert_int_equal(atomic_load(&t.acct.used), 0);
    pool_free(t.pool);
    free_side(&t.build);
    free_side(&t.probe);
}

static const uint8_t int_phys[] = {PH_BOOL, PH_I16, PH_I32, PH_I64};

static void all_flags(Case c) {
    for (int m = 0; m < 8; m++) {
        c.exists = m & 1;
        c.track = (m & 2) && !c.exists;
        c.null_equal[0] = m & 4;
        run_case(&c);
    }
}

static void test_dense(void **s) {
    (void)s;
    for (int p = 0; p < 4; p++) {
        for (int nullable = 0; nullable < 2; nullable++) {
            int64_t domain = int_phys[p] == PH_BOOL ? 2 : 500;
            Case c = {.n_keys = 1,
                      .phys = {int_phys[p]},
                      .nullable = {nullable},
                      .n_build = 300,
                      .n_probe = 700,
                      .domain = domain,
                      .stride = 1,
                      .base = int_phys[p] == PH_BOOL ? 0 : -100,
                      .threads = 1};
            all_flags(c); /* duplicates */
            c.n_build = domain;
            c.distinct = true;
            all_flags(c); /* full */
            c.stride = int_phys[p] == PH_BOOL ? 1 : 7;
            all_flags(c); /* gaps */
            c.distinct = false;
            c.skew = true;
            c.const_probe = true;
            all_flags(c);
            c.const_build = true;
            c.const_probe = false;
            all_flags(c);
            c.const_build = false;
            c.has_range = true;
            all_flags(c);
            c.n_build = 0;
            all_flags(c);
            c.n_build = 1;
            all_flags(c);
        }
    }
}

static void test_hash_int(void **s) {
    (void)s;
    for (int nullable = 0; nullable < 2; nullable++) {
        for (int distinct = 0; distinct < 2; distinct++) {
            Case c = {.n_keys = 1,
                      .phys = {PH_I64},
                      .nullable = {nullable},
                      .n_build = 400,
                      .n_probe = 700,
                      .domain = 500,
                      .stride = 1000000007,
                      .base = -77,
                      .distinct = distinct,
                      .threads = 1};
            all_flags(c);
            c.const_probe = true;
            all_flags(c);
            c.const_probe = false;
            c.skew = true;
            all_flags(c);
        }
    }
    /* the whole of 64 bits */
    Case c = {.n_keys = 1,
              .phys = {PH_I64},
              .n_build = 300,
              .n_probe = 500,
              .domain = 200,
              .stride = INT64_MAX / 100,
              .base = INT64_MIN,
              .threads = 1};
    all_flags(c);
    Case c32 = {.n_keys = 1,
                .phys = {PH_I32},
                .n_build = 300,
                .n_probe = 500,
                .domain = 200,
                .stride = 20000000,
                .base = INT32_MIN,
                .threads = 1};
    all_flags(c32);
}

static void test_generic(void **s) {
    (void)s;
    for (uint8_t p = 0; p < PH_COUNT_; p++) {
        for (int nullable = 0; nullable < 2; nullable++) {
            Case c = {.n_keys = 1,
                      .phys = {p},
                      .nullable = {nullable},
                      .n_build = 200,
                      .n_probe = 300,
                      .domain = 100,
                      .stride = 3,
                      .threads = 1};
            all_flags(c);
            c.n_keys = 2;
            c.phys[1] = PH_I32;
            c.domain = 20;
            c.nullable[1] = !nullable;
            all_flags(c);
            c.null_equal[1] = true;
            c.const_probe = true;
            all_flags(c);
        }
    }
    Case many = {.n_keys = MAX_KEYS, .n_build = 200, .n_probe = 300, .domain = 2, .stride = 3, .threads = 1};
    for (int k = 0; k < MAX_KEYS; k++) many.phys[k] = k < 3 ? PH_STR : PH_BOOL;
    for (int k = 3; k < MAX_KEYS; k++) many.nullable[k] = many.null_equal[k] = k % 9 == 0;
    many.skew = true;
    all_flags(many);
}

static void test_constant_hash(void **s) {
    (void)s;
    hash_constant = true;
    Case c = {.n_keys = 1,
              .phys = {PH_I64},
              .nullable = {true},
              .n_build = 300,
              .n_probe = 300,
              .domain = 200,
              .stride = 1000000007,
              .threads = 1};
    all_flags(c);
    c.n_keys = 2;
    c.phys[1] = PH_STR;
    c.domain = 15;
    all_flags(c);
    hash_constant = false;
}

static void test_threads(void **s) {
    (void)s;
    for (int t = 2; t <= 3; t++) {
        Case c = {.n_keys = 1,
                  .phys = {PH_I32},
                  .n_build = 40000,
                  .n_probe = 300,
                  .domain = 60000,
                  .stride = 1,
                  .threads = t};
        run_case(&c);
        c.distinct = true;
        run_case(&c);
        c.domain = 40000;
        run_case(&c);
        c.track = true;
        run_case(&c);
        c.track = false;
        c.exists = true;
        run_case(&c);
        c.has_range = true;
        run_case(&c);
        c.exists = false;
        c.distinct = false;
        c.skew = true;
        c.n_probe = 50;
        run_case(&c);
        c.stride = 30000;
        run_case(&c);
        c.nullable[0] = c.null_equal[0] = true;
        c.track = true;
        run_case(&c);
        c.skew = false;
        c.phys[0] = PH_STR;
        c.n_probe = 200;
        run_case(&c);
        c.n_keys = 2;
        c.phys[1] = PH_I64;
        c.domain = 200;
        run_case(&c);
    }
}

static void test_spill(void **s) {
    (void)s;
    for (int t = 1; t <= 3; t++) {
        for (int k = 0; k < 12; k++) {
            Case c = {.n_keys = 1 + k % 2,
                      .phys = {k % 3 ? PH_I32 : PH_STR, PH_I64},
                      .nullable = {k % 4 == 0},
                      .n_build = 30000,
                      .n_probe = 300,
                      .domain = k % 2 ? 150 : 50000,
                      .stride = 1,
                      .threads = t,
                      .limit = 2 << 20,
                      .expect_partitioned = true};
            c.track = k % 4 < 2;
            c.null_equal[0] = k >= 8;
            run_case(&c);
        }
        Case c = {.n_keys = 1,
                  .phys = {PH_I64},
                  .n_build = 60000,
                  .n_probe = 300,
                  .domain = 100000,
                  .stride = 100000,
                  .threads = t,
                  .limit = 2 << 20,
                  .exists = true,
                  .expect_partitioned = true};
        run_case(&c);
    }
}

static void test_failing_memory(void **s) {
    (void)s;
    Case c = {.n_keys = 1, .phys = {PH_I32}, .n_build = 4000, .domain = 4000, .stride = 1, .threads = 1};
    KeySpec key = {.phys = PH_I32};
    CellSpec payload[2] = {{.phys = PH_I64}, {.phys = PH_STR, .nullable = true}};
    JoinSpec spec = {.n_keys = 1, .keys = &key, .n_payload = 2, .payload = payload, .track_matched = true};
    for (int kind = 0; kind < 3; kind++) {
        c.stride = kind == 1 ? 100000 : 1;
        Side build;
        make_side(&build, &c, c.n_build, true);
        int64_t ok = 0;
        for (int64_t step = 1; step < 400 && ok < 3; step++) {
            MemAccount acct;
            mem_account_init(&acct, NULL, "query", kind == 2 ? 700 << 10 : 0, "memory_limit");
            BuildJob b = {.c = &c, .s = &build};
            Err e;
            err_clear(&e);
            mem_fail_at(step);
            Status st = join_new(&spec, 1, NULL, 1, &acct, vfs_posix(), NULL, &b.j, &e);
            if (st == ST_OK) {
                build_worker(&b, 0);
                st = b.failed ? ST_ERROR : join_finish(b.j, &e);
                if (b.failed) err_copy(&e, &b.first_error);
            }
            mem_fail_at(0);
            assert_int_equal(st != ST_OK, err_is_set(&e));
            ok += st == ST_OK;
            join_free(b.j);
            assert_int_equal(atomic_load(&acct.used), 0);
        }
        free_side(&build);
    }
    /* nothing fits at all */
    MemAccount acct;
    mem_account_init(&acct, NULL, "query", 16 << 10, "memory_limit");
    Side build;
    make_side(&build, &c, c.n_build, true);
    BuildJob b = {.c = &c, .s = &build};
    Err e;
    err_clear(&e);
    if (join_new(&spec, 1, NULL, 1, &acct, vfs_posix(), NULL, &b.j, &e) == ST_OK) {
        build_worker(&b, 0);
        assert_int_equal(b.failed, 1);
        assert_string_equal(b.first_error.sqlstate, "53400");
        join_free(b.j);
    }
    assert_int_equal(atomic_load(&acct.used), 0);
    free_side(&build);
}

int main(void) {
    rng_state = 7;
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_dense),         cmocka_unit_test(test_hash_int),
                                       cmocka_unit_test(test_generic),       cmocka_unit_test(test_constant_hash),
                                       cmocka_unit_test(test_threads),       cmocka_unit_test(test_spill),
                                       cmocka_unit_test(test_failing_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
