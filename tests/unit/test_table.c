/* test_table.c - tables against a naive model: random appends, updates, deletes, bulk loads, merges,
 * truncations and rollbacks over all types, with every invariant verified on the way. */
#include <stdarg.h>
#include <setjmp.h>
#include <stdlib.h>
#include <cmocka.h>
#include <stdio.h>

#include "storage/storage_int.h"
#include "storage/table_file.h"
#include "unit_random.h"

enum { MAX_ID = 4000, N_COLS = 17, STR_BUF = 64 };

static Type ty(TypeId id, int precision, int scale) {
    Type t;
    memset(&t, 0, sizeof t);
    t.id = (uint8_t)id;
    t.precision = (uint8_t)precision;
    t.scale = (uint8_t)scale;
    return t;
}
static ColumnDef defs[N_COLS];
static void init_defs(void) {
    static const struct {
        const char *name;
        TypeId id;
        int p, s;
    } d[N_COLS] = {{"id", T_INT8, 0, 0},   {"b", T_BOOL, 0, 0},       {"i2", T_INT2, 0, 0},      {"i4", T_INT4, 0, 0},
                   {"i8", T_INT8, 0, 0},   {"n15", T_NUMERIC, 15, 2}, {"n38", T_NUMERIC, 38, 4}, {"f4", T_FLOAT4, 0, 0},
                   {"f8", T_FLOAT8, 0, 0}, {"low", T_TEXT, 0, 0},     {"high", T_VARCHAR, 0, 0}, {"d", T_DATE, 0, 0},
                   {"t", T_TIME, 6, 0},    {"ts", T_TIMESTAMP, 6, 0}, {"iv", T_INTERVAL, 0, 0},  {"u", T_UUID, 0, 0},
                   {"uq", T_INT4, 0, 0}};
    for (int i = 0; i < N_COLS; i++)
        defs[i] = (ColumnDef){.name = d[i].name, .type = ty(d[i].id, d[i].p, d[i].s), .not_null = i == 0};
}

/* The cell that a seed stands for; seed 0 is NULL. */
static void gen(int col, uint64_t seed, char *str, void *cell) {
    uint64_t h = hash_u64(seed);
    switch (col) {
    case 0: memcpy(cell, &(int64_t){(int64_t)seed - 1}, 8); break;
    case 1: *(uint8_t *)cell = h & 1; break;
    case 2: memcpy(cell, &(int16_t){(int16_t)h}, 2); break;
    case 3: memcpy(cell, &(int32_t){(int32_t)(h % 1000)}, 4); break;
    case 4: memcpy(cell, &(int64_t){(int64_t)h}, 8); break;
    case 5: memcpy(cell, &(int64_t){(int64_t)(h % 100000) - 50000}, 8); break;
    case 6: {
        int128_t v = (int64_t)h;
        if (seed % 7 == 0) v *= 1000000007;
        memcpy(cell, &v, 16);
        break;
    }
    case 7: memcpy(cell, &(float){(float)(h % 1000) / 8}, 4); break;
    case 8: memcpy(cell, &(double){(double)(h % 100000) / 16}, 8); break;
    case 9:
    case 10: {
        int n = snprintf(str, STR_BUF, col == 9 ? "value %d" : "some longer text %d",
                         (int)(h % (col == 9 ? 12 : 100000000)));
        Str s = str_make(str, h % 31 == 0 ? 0 : n);
        memcpy(cell, &s, 16);
        break;
    }
    case 11: memcpy(cell, &(int32_t){(int32_t)(h % 9000)}, 4); break;
    case 12: memcpy(cell, &(int64_t){(int64_t)(h % 86400000000)}, 8); break;
    case 13: memcpy(cell, &(int64_t){(int64_t)(h >> 8)}, 8); break;
    case 14: memcpy(cell, &(Interval){(int64_t)(h % 1000), (int32_t)(h % 30), (int32_t)(h % 12)}, 16); break;
    case 15:
        memcpy(cell, &h, 8);
        memcpy((char *)cell + 8, &seed, 8);
        break;
    default: memcpy(cell, &(int32_t){(int32_t)seed}, 4);
    }
}

typedef struct Model {
    bool live[MAX_ID];
    uint64_t seed[MAX_ID][N_COLS];
} Model;
static Model model, saved;

typedef struct Batch {
    Vec cols[N_COLS];
    char *mem, *strs;
} Batch;
static void batch_free(Batch *b) {
    free(b->mem);
    free(b->strs);
}
/* Vectors of the seeds of rows ids[0..n). */
static void batch_fill(Batch *b, int64_t n, uint64_t (*seeds)[N_COLS]) {
    int64_t per = n * 17 + 64;
    per = (per + 15) / 16 * 16;
    b->mem = calloc((size_t)(per * N_COLS), 1);
    b->strs = malloc((size_t)(n * N_COLS * STR_BUF + 1));
    for (int c = 0; c < N_COLS; c++) {
        Phys p = type_phys(defs[c].type);
        char *data = b->mem + c * per;
        uint8_t *valid = (uint8_t *)data + n * 16;
        bool nulls = false;
        for (int64_t i = 0; i < n; i++) {
            valid[i] = seeds[i][c] != 0;
            nulls = nulls || !valid[i];
            char cell[16] = {0};
            if (valid[i]) gen(c, seeds[i][c], b->strs + (i * N_COLS + c) * STR_BUF, cell);
            memcpy(data + i * phys_size(p), cell, (size_t)phys_size(p));
        }
        b->cols[c] = (Vec){.data = data, .valid = nulls ? valid : NULL, .phys = (uint8_t)p, .type = defs[c].type};
    }
}
static uint64_t rnd_seed(int col) { return col != 0 && col != 16 && rnd() % 5 == 0 ? 0 : 1 + rnd() % 1000000; }

static MemAccount root;
static Table *make_table(void) {
    static const int pk[] = {0}, uq[] = {16};
    static const int multi[] = {3, 9, 0};
    KeyDef keys[] = {{"t_pkey", true, 1, pk}, {"t_uq", false, 1, uq}, {"t_multi", false, 3, multi}};
    Table *t = NULL;
    Err e = {0};
    init_defs();
    assert_int_equal(table_new(&root, "t", N_COLS, defs, 3, keys, 0, NULL, &t, &e), ST_OK);
    return t;
}

static int64_t id_rowid[MAX_ID];
static void compare(Table *t) {
    Err e = {0};
    if (table_verify(t, &e) != ST_OK) fail_msg("%s", e.message);
    static bool seen[MAX_ID];
    memset(seen, 0, sizeof seen);
    static char buf[N_COLS][1024 * 16];
    static uint8_t valid[N_COLS][1024];
    int64_t live = 0;
    for (int64_t k = 0; k < t->n_tablets; k++) {
        const Tablet *tab = t->tablets[k];
        for (int64_t first = 0; first < tab->rows; first += 1024) {
            int32_t pos[1024];
            bool ident;
            int64_t n = tablet_live_rows(tab, first, MIN_OF(1024, tab->rows - first), pos, &ident);
            bool nulls[N_COLS];
            for (int c = 0; c < N_COLS; c++)
                tablet_decode(t, tab, c, first, ident ? NULL : pos, n, (uint8_t)type_phys(defs[c].type), buf[c],
                              valid[c], &nulls[c]);
            for (int64_t i = 0; i < n; i++) {
                int64_t id;
                memcpy(&id, buf[0] + i * 8, 8);
                assert_true(id >= 0 && id < MAX_ID && model.live[id] && !seen[id]);
                seen[id] = true;
                live++;
                id_rowid[id] = rowid_make(k, ident ? first + i : pos[i]);
                for (int c = 0; c < N_COLS; c++) {
                    uint64_t seed = model.seed[id][c];
                    Phys p = type_phys(defs[c].type);
                    bool v = !nulls[c] || valid[c][i];
                    assert_int_equal(v, seed != 0);
                    char cell[16] = {0}, str[STR_BUF];
                    const char *got = buf[c] + i * phys_size(p);
                    if (!v) {
                        if (p != PH_STR) assert_memory_equal(got, cell, (size_t)phys_size(p));
                        continue;
                    }
                    gen(c, seed, str, cell);
                    if (cell_cmp(p, got, cell) != 0) fail_msg("column %d of id %d differs", c, (int)id);
                }
                Value key = {.type = defs[0].type};
                key.u.i64 = id;
                assert_int_equal(table_lookup(t, 0, &key), id_rowid[id]);
            }
        }
    }
    int64_t want = 0;
    for (int i = 0; i < MAX_ID; i++) want += model.live[i];
    assert_int_equal(live, want);
    Value absent = {.type = defs[0].type};
    absent.u.i64 = MAX_ID + 5;
    assert_int_equal(table_lookup(t, 0, &absent), -1);
}

static int64_t pick(int64_t want, bool live, int64_t *ids) {
    int64_t n = 0;
    for (int64_t i = rnd_below(MAX_ID), k = 0; k < MAX_ID && n < want; k++, i = (i + 1) % MAX_ID)
        if (model.live[i] == live && (n == 0 || rnd() % 4)) ids[n++] = i;
    return n;
}
static uint64_t unique_value;
static void new_seeds(int64_t id, uint64_t *s) {
    for (int c = 0; c < N_COLS; c++) s[c] = rnd_seed(c);
    s[0] = (uint64_t)id + 1;
    s[16] = ++unique_value;
}

static uint64_t seeds[MAX_ID][N_COLS];
static int64_t ids[MAX_ID], rowids[MAX_ID];

static void op_append(Table *t, UndoLog *u, bool bulk, Pool *pool) {
    Err e = {0};
    int64_t n = pick(1 + rnd_below(bulk ? 1500 : 200), false, ids);
    if (n == 0) return;
    for (int64_t i = 0; i < n; i++) new_seeds(ids[i], seeds[i]);
    bool dup = rnd() % 6 == 0, null = rnd() % 9 == 0;
    if (null) seeds[rnd_below(n)][0] = 0;
    else if (dup) {
        for (int64_t i = 0; i < MAX_ID; i++)
            if (model.live[i]) {
                seeds[n - 1][16] = model.seed[i][16];
                break;
            }
        bool real = false;
        for (int64_t i = 0; i < MAX_ID; i++) real = real || (model.live[i] && model.seed[i][16] == seeds[n - 1][16]);
        dup = real && seeds[n - 1][16] != 0;
    }
    Batch b;
    batch_fill(&b, n, seeds);
    Status st = ST_OK;
    if (bulk) {
        TableLoad *l = NULL;
        int64_t rows = 0, mid = n / 2;
        assert_int_equal(load_begin(t, 2, &l, &e), ST_OK);
        Vec half[N_COLS];
        for (int c = 0; c < N_COLS; c++) {
            half[c] = b.cols[c];
            half[c].data = (char *)half[c].data + mid * phys_size((Phys)half[c].phys);
            if (half[c].valid) half[c].valid += mid;
        }
        st = load_add(l, 1, 1, n - mid, half, &e);
        if (st == ST_OK) st = load_add(l, 0, 0, mid, b.cols, &e);
        if (st == ST_OK) st = load_finish(l, pool, u, &rows, &e);
        if (st == ST_OK) assert_int_equal(rows, n);
        load_cancel(l);
    } else {
        st = table_append(t, n, b.cols, u, rowids, &e);
    }
    batch_free(&b);
    if (null || dup) {
        assert_int_equal(st, ST_ERROR);
        assert_string_equal(e.sqlstate, null ? ERR_NOT_NULL_VIOLATION : ERR_UNIQUE_VIOLATION);
        return;
    }
    if (st != ST_OK) fail_msg("%s %s", e.message, e.detail);
    for (int64_t i = 0; i < n; i++) {
        model.live[ids[i]] = true;
        memcpy(model.seed[ids[i]], seeds[i], sizeof seeds[i]);
    }
}
static void op_delete(Table *t, UndoLog *u) {
    Err e = {0};
    int64_t n = pick(1 + rnd_below(rnd() % 10 ? 50 : 1000), true, ids), done = 0;
    for (int64_t i = 0; i < n; i++) rowids[i] = id_rowid[ids[i]];
    assert_int_equal(table_delete(t, n, rowids, u, &done, &e), ST_OK);
    assert_int_equal(done, n);
    for (int64_t i = 0; i < n; i++) model.live[ids[i]] = false;
}
static void op_update(Table *t, UndoLog *u) {
    Err e = {0};
    int64_t n = pick(1 + rnd_below(300), true, ids);
    if (n == 0) return;
    int set[N_COLS], n_set = 0;
    for (int c = 1; c < N_COLS; c++)
        if (rnd() % 3 == 0) set[n_set++] = c;
    if (n_set == 0) set[n_set++] = 10;
    for (int64_t i = 0; i < n; i++) {
        rowids[i] = id_rowid[ids[i]];
        for (int c = 0; c < N_COLS; c++) seeds[i][c] = rnd_seed(c);
        /* unique values rotate among the rows: only right when checked at the end */
        seeds[i][16] = model.seed[ids[(i + 1) % n]][16];
    }
    bool clash = false;
    for (int s = 0; s < n_set; s++) clash = clash || set[s] == 16;
    clash = clash && rnd() % 4 == 0 && n > 1 && seeds[0][16] != 0;
    if (clash) seeds[1][16] = seeds[0][16];
    Batch b;
    batch_fill(&b, n, seeds);
    Vec vals[N_COLS];
    for (int s = 0; s < n_set; s++) vals[s] = b.cols[set[s]];
    Status st = table_update(t, n, rowids, n_set, set, vals, u, &e);
    batch_free(&b);
    if (clash) {
        assert_int_equal(st, ST_ERROR);
        return;
    }
    if (st != ST_OK) fail_msg("%s %s", e.message, e.detail);
    for (int64_t i = 0; i < n; i++)
        for (int s = 0; s < n_set; s++) model.seed[ids[i]][set[s]] = seeds[i][set[s]];
}

static void run_random(uint64_t seed, int steps) {
    rng = seed * 0x9e3779b97f4a7c15ULL + 1;
    Err e = {0};
    mem_account_init(&root, NULL, "test", 0, NULL);
    Pool *pool = pool_new(2, &e);
    memset(&model, 0, sizeof model);
    Table *t = make_table();
    UndoLog *u = NULL;
    for (int i = 0; i < steps; i++) {
        switch (rnd_below(15)) {
        case 0:
        case 1:
        case 2: op_append(t, u, false, pool); break;
        case 3: op_append(t, u, true, pool); break;
        case 4:
        case 5: op_delete(t, u); break;
        case 6:
        case 7:
        case 8: op_update(t, u); break;
        case 9:
            if (!u) {
                if (table_merge(t, pool, &e) != ST_OK) fail_msg("%s", e.message);
                for (int64_t k = 0; k < t->n_tablets; k++) assert_false(t->tablets[k]->is_delta);
            }
            break;
        case 10: assert_int_equal(table_analyze(t, pool, &e), ST_OK); break;
        case 11:
            if (rnd() % 6 == 0) {
                assert_int_equal(table_truncate(t, u, &e), ST_OK);
                memset(model.live, 0, sizeof model.live);
            }
            break;
        case 12:
            if (!u) {
                u = undo_new(&root, &e);
                saved = model;
            }
            break;
        case 13:
            if (u) { /* out of the table and back */
                Model now = model;
                int64_t content = t->content;
                bool elsewhere = rnd() % 2;
                assert_int_equal(undo_reserve(u, 0, &e), ST_OK);
                undo_hide(u);
                model = saved;
                compare(t);
                undo_show(u, elsewhere);
                model = now;
                assert_true(elsewhere ? undo_mark(u) == 0 || t->content > content : t->content == content);
                assert_int_equal(undo_check_keys(u, &e), ST_OK);
            }
            break;
        default:
            if (u) {
                if (rnd() % 2) {
                    undo_rollback(u, 0);
                    model = saved;
                } else {
                    undo_forget(u);
                }
                undo_free(u);
                u = NULL;
            }
        }
        compare(t);
    }
    undo_free(u);
    table_free(t);
    pool_free(pool);
    assert_int_equal(atomic_load(&root.used), 0);
}
static void test_random(void **state) {
    (void)state;
    for (uint64_t s = 1; s <= 6; s++) run_random(s, 120);
}

static void some_change(Table *t, UndoLog *u, Pool *pool, int only) {
    Err e = {0};
    switch (only >= 0 ? only : (int)rnd_below(12)) {
    case 0:
    case 1:
    case 2: op_append(t, u, false, pool); break;
    case 3:
    case 4: op_delete(t, u); break;
    case 5: op_append(t, u, true, pool); break;
    case 6:
        assert_int_equal(table_truncate(t, u, &e), ST_OK);
        memset(model.live, 0, sizeof model.live);
        break;
    case 7: assert_int_equal(table_analyze(t, pool, &e), ST_OK); break;
    default: op_update(t, u);
    }
    compare(t);
}
/* Kept logs: the table goes back behind any of them and forward again, with changes on top that are taken back, or come
 * out and stay so while others are made. */
static void run_versions(uint64_t seed) {
    enum { VERSIONS = 8 };
    static Model models[VERSIONS + 1];
    UndoLog *logs[VERSIONS];
    int64_t contents[VERSIONS + 1];
    rng = seed * 0x9e3779b97f4a7c15ULL + 1;
    Err e = {0};
    mem_account_init(&root, NULL, "test", 0, NULL);
    Pool *pool = pool_new(2, &e);
    memset(&model, 0, sizeof model);
    Table *t = make_table();
    op_append(t, NULL, rnd() % 2, pool);
    if (rnd() % 2) op_append(t, NULL, true, pool);
    compare(t);
    models[0] = model;
    contents[0] = t->content;
    int n = 0, view = 0;
    for (int step = 0; step < 60; step++) {
        int to = rnd_below(2) ? n : (int)rnd_below(n + 1);
        for (; view > to; view--) undo_hide(logs[view - 1]);
        for (; view < to; view++) undo_show(logs[view], false);
        model = models[view];
        bool whole = false; /* of those, the record came in the middle of the change */
        for (int i = view; i < n; i++) whole = whole || undo_is_whole(logs[i], 0);
        if (!whole) assert_int_equal(t->content, contents[view]);
        compare(t);
        UndoLog *u = undo_new(&root, &e);
        for (int64_t i = rnd_below(4); i >= 0; i--) some_change(t, u, pool, view < n ? (int)rnd_below(5) : -1);
        assert_int_equal(undo_reserve(u, 0, &e), ST_OK);
        if (view == n && n < VERSIONS && undo_mark(u) > 0 && rnd() % 2) { /* committed */
            undo_hide(u);
            contents[n] = t->content; /* a load that failed leaves a new one */
            undo_show(u, false);
            logs[n++] = u;
            view = n;
            models[n] = model;
            contents[n] = t->content;
            continue;
        }
        if (rnd() % 2) { /* it steps aside for a change of somebody else, and never comes back */
            undo_hide(u);
            if (view == n) contents[n] = t->content;
            for (; view > 0 && rnd() % 2; view--) undo_hide(logs[view - 1]);
            model = models[view];
            compare(t);
            UndoLog *other = undo_new(&root, &e);
            some_change(t, other, pool, view < n ? (int)rnd_below(5) : -1);
            if (rnd() % 2) {
                assert_int_equal(undo_reserve(other, 0, &e), ST_OK);
                undo_hide(other);
                undo_abandon(u);
                undo_abandon(other);
            } else {
                undo_abandon(u);
                undo_rollback(other, 0);
            }
            undo_free(other);
        } else {
            undo_rollback(u, 0);
        }
        undo_free(u);
        model = models[view];
        compare(t);
        if (view == n) contents[n] = t->content; /* a load that was taken back leaves a new one */
        if (n > 1 && rnd() % 4 == 0) {           /* two versions become one */
            int k = (int)rnd_below(n - 1);
            if (view == k + 1) continue;
            int64_t bytes, both = undo_bytes(logs[k]) + undo_bytes(logs[k + 1]);
            assert_int_equal(undo_move(logs[k + 1], logs[k], view > k, &bytes, &e), ST_OK);
            assert_true(undo_bytes(logs[k]) <= both);
            undo_free(logs[k + 1]);
            for (int i = k + 1; i < n - 1; i++) logs[i] = logs[i + 1];
            for (int i = k + 1; i < n; i++) models[i] = models[i + 1], contents[i] = contents[i + 1];
            if (view > k) view--;
            n--;
        }
    }
    for (; view < n; view++) undo_show(logs[view], false);
    model = models[n];
    compare(t);
    for (int i = 0; i < n; i++) undo_free(logs[i]);
    assert_false(table_has_undo(t));
    if (table_merge(t, pool, &e) != ST_OK) fail_msg("%s", e.message);
    compare(t);
    table_free(t);
    pool_free(pool);
    assert_int_equal(atomic_load(&root.used), 0);
}
static void test_versions(void **state) {
    (void)state;
    for (uint64_t s = 1; s <= 8; s++) run_versions(s);
}
static void test_constant_hash(void **state) {
    (void)state;
    hash_constant = true;
    run_random(77, 12);
    hash_constant = false;
}

/* Rows of ids below `n` are there, with seeds[]. */
static void model_has(int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        model.live[i] = true;
        memcpy(model.seed[i], seeds[i], sizeof seeds[i]);
    }
}
/* Rows 0 to 299 get the values that they have; one more allocation succeeds each time. */
static void update_until_it_works(Table *t, int n_set, const int *set, const Vec *vals) {
    Err e = {0};
    for (int64_t i = 0; i < 300; i++) rowids[i] = id_rowid[i];
    for (int64_t n = 1;; n++) {
        err_clear(&e);
        mem_fail_at(n);
        Status st = table_update(t, 300, rowids, n_set, set, vals, NULL, &e);
        mem_fail_at(0);
        if (st == ST_OK) break;
        compare(t);
    }
}
/* A failing allocation at every step leaves the table as it was. */
static void test_out_of_memory(void **state) {
    (void)state;
    mem_account_init(&root, NULL, "test", 0, NULL);
    memset(&model, 0, sizeof model);
    rng = 4711;
    Table *t = make_table();
    Err e = {0};
    for (int64_t i = 0; i < 300; i++) {
        new_seeds(i, seeds[i]);
        ids[i] = i;
    }
    Batch b;
    batch_fill(&b, 300, seeds);
    for (int64_t n = 1;; n++) {
        err_clear(&e);
        mem_fail_at(n);
        Status st = table_append(t, 300, b.cols, NULL, NULL, &e);
        mem_fail_at(0);
        if (st == ST_OK) break;
        assert_string_equal(e.sqlstate, ERR_OUT_OF_MEMORY);
        compare(t);
    }
    model_has(300);
    compare(t);
    for (int64_t n = 1;; n++) {
        err_clear(&e);
        mem_fail_at(n);
        Status st = table_merge(t, NULL, &e);
        mem_fail_at(0);
        if (st == ST_OK) break;
        compare(t);
    }
    compare(t);
    int set[] = {10, 3};
    Vec vals[] = {b.cols[10], b.cols[3]};
    update_until_it_works(t, 2, set, vals);
    assert_int_equal(table_merge(t, NULL, &e), ST_OK);
    compare(t);
    int stay[] = {10, 8, 6}; /* no column of a key: main's columns are opened */
    Vec cells[] = {b.cols[10], b.cols[8], b.cols[6]};
    update_until_it_works(t, 3, stay, cells);
    compare(t);
    assert_int_equal(t->n_tablets, 1);
    batch_free(&b);
    table_free(t);
    assert_int_equal(atomic_load(&root.used), 0);
}

/* What the table and its model are after `n` rows from `first` on got new values in these columns. */
static void update_rows_of(Table *t, UndoLog *u, int64_t first, int64_t n, int n_set, const int *set) {
    Err e = {0};
    Batch b;
    Vec vals[N_COLS];
    for (int64_t i = 0; i < n; i++) {
        rowids[i] = id_rowid[first + i];
        for (int c = 0; c < N_COLS; c++) seeds[i][c] = rnd_seed(c);
    }
    batch_fill(&b, n, seeds);
    for (int s = 0; s < n_set; s++) vals[s] = b.cols[set[s]];
    if (table_update(t, n, rowids, n_set, set, vals, u, &e) != ST_OK) fail_msg("%s %s", e.message, e.detail);
    batch_free(&b);
    for (int64_t i = 0; i < n; i++)
        for (int s = 0; s < n_set; s++) model.seed[first + i][set[s]] = seeds[i][set[s]];
    compare(t);
}
static Table *save_and_load(const Table *t) {
    const char *path = "/tmp/stele_test_table";
    Err e = {0};
    Table *again = make_table();
    if (table_file_save(t, vfs_posix(), path, &root, &e) != ST_OK) fail_msg("%s", e.message);
    if (table_file_load(again, vfs_posix(), path, &root, &e) != ST_OK) fail_msg("%s", e.message);
    remove(path);
    return again;
}
/* Main tablets: where few rows change the column is patched, where many do it is opened, each by itself; rows move only
 * with a key. */
static void test_open_columns(void **state) {
    (void)state;
    enum { ROWS = 3000 };
    Err e = {0};
    mem_account_init(&root, NULL, "test", 0, NULL);
    memset(&model, 0, sizeof model);
    rng = 99;
    Table *t = make_table();
    Batch b;
    for (int64_t i = 0; i < ROWS; i++) new_seeds(i, seeds[i]);
    model_has(ROWS);
    batch_fill(&b, ROWS, seeds);
    assert_int_equal(table_append(t, ROWS, b.cols, NULL, NULL, &e), ST_OK);
    batch_free(&b);
    assert_int_equal(table_merge(t, NULL, &e), ST_OK);
    compare(t);
    const Tablet *tab = t->tablets[0];
    int64_t first_row = id_rowid[0];
    update_rows_of(t, NULL, 0, 20, 1, (int[]){4});
    assert_true(tab->n_deleted == 0 && !tab->cols[4].is_delta && tab->cols[4].patches && id_rowid[0] == first_row);
    int64_t here = id_rowid[100], changed = table_delta_rows(t);
    update_rows_of(t, NULL, 100, 1000, 3, (int[]){4, 10, 1});
    assert_true(tab->n_deleted == 0 && tab->cols[4].is_delta && tab->cols[10].is_delta && !tab->cols[5].is_delta);
    assert_int_equal(id_rowid[100], here);
    assert_int_equal(table_delta_rows(t), changed);
    update_rows_of(t, NULL, 2000, 1, 1, (int[]){10});
    assert_int_equal(tab->n_deleted, 0);
    update_rows_of(t, NULL, 500, 500, 2, (int[]){4, 9}); /* 9 is in a key: rows move */
    assert_true(tab->n_deleted == 500 && !tab->cols[9].is_delta);

    UndoLog *u = undo_new(&root, &e);
    Model before = model;
    update_rows_of(t, u, 1200, 800, 2, (int[]){4, 14});
    assert_true(tab->cols[14].is_delta);
    Model after = model;
    assert_int_equal(undo_reserve(u, 0, &e), ST_OK);
    undo_hide(u);
    model = before;
    compare(t);
    undo_show(u, false);
    model = after;
    compare(t);
    undo_rollback(u, 0);
    model = before;
    compare(t);
    undo_free(u);

    Table *again = save_and_load(t);
    compare(again);
    assert_false(tablet_has_open(again->tablets[0]));
    table_free(again);
    compare(t);
    assert_int_equal(table_merge(t, NULL, &e), ST_OK);
    assert_true(t->n_tablets == 1 && !tablet_has_open(t->tablets[0]));
    compare(t);
    table_free(t);
    assert_int_equal(atomic_load(&root.used), 0);
}

/* Big loads in odd chunks and orders keep row order; the statistics are exact. */
static void test_bulk_order(void **state) {
    (void)state;
    enum { ROWS = 700000, CHUNK = 3000 };
    mem_account_init(&root, NULL, "test", 0, NULL);
    Err e = {0};
    Pool *pool = pool_new(2, &e);
    for (int variant = 0; variant < 4; variant++) {
        ColumnDef cd[] = {{.name = "k", .type = ty(T_INT4, 0, 0), .not_null = true},
                          {.name = "s", .type = ty(T_TEXT, 0, 0)},
                          {.name = "h", .type = ty(T_TEXT, 0, 0)}};
        static const int pk[] = {0};
        KeyDef key = {"k_pkey", true, 1, pk};
        Table *t = NULL;
        TableLoad *l = NULL;
        assert_int_equal(table_new(&root, "big", 3, cd, 1, &key, 0, NULL, &t, &e), ST_OK);
        assert_int_equal(load_begin(t, 2, &l, &e), ST_OK);
        int64_t n_chunks = (ROWS + CHUNK - 1) / CHUNK;
        static int32_t k[CHUNK];
        static Str s[CHUNK], h[CHUNK];
        static char text[CHUNK][24];
        static uint8_t valid[CHUNK];
        for (int64_t c = 0; c < n_chunks; c++) {
            int64_t chunk = c;
            /* 0: in order; 1: pairs swapped; 2: numbers with gaps; 3: the first chunk comes last */
            if (variant == 1) chunk = (c ^ 1) < n_chunks ? c ^ 1 : c;
            if (variant == 3) chunk = (c + 1) % n_chunks;
            int64_t first = chunk * CHUNK, n = MIN_OF(CHUNK, ROWS - first);
            for (int64_t i = 0; i < n; i++) {
                k[i] = (int32_t)(first + i) * 2;
                s[i] = str_make(&"abcdefghij"[(first + i) % 7], 3);
                int len = snprintf(text[i], sizeof text[i], "row %d", (int)(first + i));
                h[i] = str_make(text[i], len);
                valid[i] = (first + i) % 10 != 0;
            }
            Vec v[] = {{.data = k, .phys = PH_I32, .type = cd[0].type},
                       {.data = s, .valid = valid, .phys = PH_STR, .type = cd[1].type},
                       {.data = h, .phys = PH_STR, .type = cd[2].type}};
            assert_int_equal(load_add(l, (int)(c & 1), variant == 2 ? chunk * 5 : chunk, n, v, &e), ST_OK);
        }
        int64_t rows;
        if (load_finish(l, pool, NULL, &rows, &e) != ST_OK) fail_msg("%s %s", e.message, e.detail);
        load_cancel(l);
        assert_int_equal(rows, ROWS);
        if (table_verify(t, &e) != ST_OK) fail_msg("%s", e.message);
        assert_non_null(t->cols[1].dict);
        assert_null(t->cols[2].dict);
        assert_int_equal(t->cols[1].dict->n, 7);
        int64_t row = 0;
        for (int64_t i = 0; i < t->n_tablets; i++)
            for (int64_t r = 0; r < t->tablets[i]->rows; r++, row++)
                if (column_i64(&t->tablets[i]->cols[0], r) != row * 2) fail_msg("variant %d row %d", variant, (int)row);
        const ColumnStats *st = &t->cols[0].stats;
        assert_true(st->unique && st->sorted && st->has_range && st->min == 0 && st->max == 2 * (ROWS - 1));
        assert_true(st->distinct == ROWS);
        assert_true(t->cols[2].stats.unique && !t->cols[2].stats.sorted);
        assert_true(t->cols[1].stats.distinct == 7 && t->cols[1].stats.null_count == ROWS / 10 &&
                    t->cols[1].stats.n_mcv == 7);
        assert_int_equal(t->keys[0].index->used, 0); /* sorted: no storage */
        Value key_value = {.type = cd[0].type};
        for (int32_t i = 0; i < 2000; i++) {
            key_value.u.i32 = i * 700;
            int64_t id = table_lookup(t, 0, &key_value);
            assert_true(id >= 0 && column_i64(&t->tablets[id >> 32]->cols[0], id & 0xffffffff) == i * 700);
            key_value.u.i32++;
            assert_int_equal(table_lookup(t, 0, &key_value), -1);
        }
        table_free(t);
        assert_int_equal(atomic_load(&root.used), 0);
    }
    pool_free(pool);
}

/* Rows [first, first + n) of a table with a key by its values only, repeated numbers, few texts, many texts and floats.
 */
static void load_rows(Table *t, Pool *pool, int64_t first, int64_t n) {
    enum { CHUNK = 2000 };
    static int64_t k[CHUNK], v[CHUNK];
    static Str s[CHUNK], h[CHUNK];
    static double f[CHUNK];
    static char text[CHUNK][24];
    static uint8_t valid[CHUNK];
    Err e = {0};
    TableLoad *l = NULL;
    int64_t rows = 0;
    assert_int_equal(load_begin(t, 1, &l, &e), ST_OK);
    for (int64_t at = 0; at < n; at += CHUNK) {
        int64_t m = MIN_OF((int64_t)CHUNK, n - at);
        for (int64_t i = 0; i < m; i++) {
            int64_t row = first + at + i;
            k[i] = row * 3;
            v[i] = (int64_t)(hash_u64((uint64_t)row) % 5000);
            s[i] = str_make(&"abcdefghij"[row % 7], 3);
            h[i] = str_make(text[i], snprintf(text[i], sizeof text[i], "row %d", (int)row));
            f[i] = (double)(row % 333) / 8;
            valid[i] = row % 10 != 0;
        }
        Vec vecs[] = {{.data = k, .phys = PH_I64, .type = t->cols[0].type},
                      {.data = v, .valid = valid, .phys = PH_I64, .type = t->cols[1].type},
                      {.data = s, .valid = valid, .phys = PH_STR, .type = t->cols[2].type},
                      {.data = h, .phys = PH_STR, .type = t->cols[3].type},
                      {.data = f, .phys = PH_F64, .type = t->cols[4].type}};
        assert_int_equal(load_add(l, 0, at / CHUNK, m, vecs, &e), ST_OK);
    }
    if (load_finish(l, pool, NULL, &rows, &e) != ST_OK) fail_msg("%s %s", e.message, e.detail);
    load_cancel(l);
    assert_int_equal(rows, n);
}
static bool about(double a, double b) { return a > b * 0.95 && a < b * 1.05; }

/* Many loads read each tablet a few times for statistics, not once per load, and arrive at what reading everything
 * finds. */
static void test_many_loads(void **state) {
    (void)state;
    enum { LOADS = 60, N = 12000 };
    Err e = {0};
    mem_account_init(&root, NULL, "test", 0, NULL);
    Pool *pool = pool_new(2, &e);
    ColumnDef cd[] = {{.name = "k", .type = ty(T_INT8, 0, 0), .not_null = true},
                      {.name = "v", .type = ty(T_INT8, 0, 0)},
                      {.name = "s", .type = ty(T_TEXT, 0, 0)},
                      {.name = "h", .type = ty(T_TEXT, 0, 0)},
                      {.name = "f", .type = ty(T_FLOAT8, 0, 0)}};
    Table *t = NULL;
    assert_int_equal(table_new(&root, "loaded", 5, cd, 0, NULL, 0, NULL, &t, &e), ST_OK);
    for (int i = 0; i < LOADS; i++) {
        load_rows(t, pool, (int64_t)i * N, N);
        if (table_verify(t, &e) != ST_OK) fail_msg("%s", e.message);
    }
    assert_true(t->n_tablets > LOADS / 2);
    if (t->impl->analysed > 5 * t->n_tablets)
        fail_msg("%lld tablets were read for statistics of %lld", (long long)t->impl->analysed,
                 (long long)t->n_tablets);
    ColumnStats found[5];
    for (int c = 0; c < 5; c++) found[c] = t->cols[c].stats;
    for (int c = 0; c < 5; c++) found[c].sketch = NULL;
    int n_mcv = found[2].n_mcv;
    assert_int_equal(table_analyze(t, pool, &e), ST_OK);
    for (int c = 0; c < 5; c++) {
        const ColumnStats *st = &t->cols[c].stats;
        assert_int_equal(found[c].has_range, st->has_range);
        assert_int_equal(found[c].min, st->min);
        assert_int_equal(found[c].max, st->max);
        assert_int_equal(found[c].null_count, st->null_count);
        assert_true(about(found[c].avg_width, st->avg_width));
        if (!about(found[c].distinct, st->distinct))
            fail_msg("column %d: %f different values, not %f", c, found[c].distinct, st->distinct);
    }
    assert_true(found[0].unique && found[0].sorted);
    assert_true(!found[1].unique && !found[1].sorted);
    assert_int_equal(n_mcv, 7);
    /* A repeated value ends uniqueness. */
    load_rows(t, pool, (int64_t)LOADS * N - 20, N);
    assert_true(!t->cols[0].stats.unique && !t->cols[0].stats.sorted);
    table_free(t);
    pool_free(pool);
    assert_int_equal(atomic_load(&root.used), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random),        cmocka_unit_test(test_versions),
                                       cmocka_unit_test(test_constant_hash), cmocka_unit_test(test_out_of_memory),
                                       cmocka_unit_test(test_bulk_order),    cmocka_unit_test(test_many_loads),
                                       cmocka_unit_test(test_open_columns)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
