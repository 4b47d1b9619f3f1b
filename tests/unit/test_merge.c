/* Merges (storage/merge.h): random tables of several tablets against a model of their rows; the dictionary maps against
 * a sorted set; merges that are stopped, or run out of memory, at every step. */
#include <stdlib.h>

#include "unit.h"
#include "unit_random.h"

#include "base/hash.h"
#include "db/database.h"
#include "session/core/session.h"
#include "storage/merge.h"
#include "storage/merge_dict.h"
#include "storage/storage_int.h"

enum { ROWS_MAX = 450000, BATCH = 2000, TEXT = 24, N_COLS = 5 };

/* A row of the model; values by number, < 0: NULL. */
typedef struct Row {
    int64_t id, kind, number, note;
    double share;
} Row;
static Row rows[ROWS_MAX];
static int64_t n_rows, last_id;
static MemAccount root;

static Str kind_text(int64_t kind, char *buf) { /* not in the order of the numbers */
    return str_make(buf, snprintf(buf, TEXT, "%08x", (unsigned)hash_u64((uint64_t)kind)));
}
static Str note_text(int64_t note, char *buf) {
    return str_make(buf, note % 50 == 0 ? 0 : snprintf(buf, TEXT, "note %d of a row", (int)note));
}
static Type type(TypeId id) { return (Type){.id = (uint8_t)id, .precision = id == T_NUMERIC ? 30 : 0}; }
static Table *make_table(void) {
    static const int pk[] = {0};
    const KeyDef key = {"t_pkey", true, 1, pk};
    const ColumnDef defs[N_COLS] = {{.name = "id", .type = type(T_INT8), .not_null = true},
                                    {.name = "kind", .type = type(T_TEXT)},
                                    {.name = "number", .type = type(T_NUMERIC)},
                                    {.name = "note", .type = type(T_TEXT)},
                                    {.name = "share", .type = type(T_FLOAT8)}};
    Table *t = NULL;
    Err e = {0};
    mem_account_init(&root, NULL, "test", 0, NULL);
    assert_int_equal(table_new(&root, "t", N_COLS, defs, 1, &key, 0, NULL, &t, &e), ST_OK);
    n_rows = last_id = 0;
    return t;
}

/* Cells of model rows [first, first + n). */
static struct {
    int64_t id[BATCH];
    int128_t number[BATCH];
    Str kind[BATCH], note[BATCH];
    double share[BATCH];
    uint8_t has_kind[BATCH], has_number[BATCH];
    char text[2][BATCH][TEXT];
} cells;
static void fill(Vec *v, int64_t first, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        const Row *r = &rows[first + i];
        cells.id[i] = r->id;
        cells.has_kind[i] = r->kind >= 0;
        cells.kind[i] = r->kind >= 0 ? kind_text(r->kind, cells.text[0][i]) : (Str){"", 0, 0};
        cells.has_number[i] = r->number >= 0;
        cells.number[i] = r->number >= 0 ? r->number : 0;
        cells.note[i] = note_text(r->note, cells.text[1][i]);
        cells.share[i] = r->share;
    }
    v[0] = (Vec){.data = cells.id, .phys = PH_I64, .type = type(T_INT8)};
    v[1] = (Vec){.data = cells.kind, .valid = cells.has_kind, .phys = PH_STR, .type = type(T_TEXT)};
    v[2] = (Vec){.data = cells.number, .valid = cells.has_number, .phys = PH_I128, .type = type(T_NUMERIC)};
    v[3] = (Vec){.data = cells.note, .phys = PH_STR, .type = type(T_TEXT)};
    v[4] = (Vec){.data = cells.share, .phys = PH_F64, .type = type(T_FLOAT8)};
}
static void new_rows(int64_t n, int64_t kinds) {
    assert_true(n_rows + n <= ROWS_MAX);
    for (int64_t i = 0; i < n; i++) {
        const uint64_t h = rnd();
        rows[n_rows + i] = (Row){++last_id, h % 20 ? (int64_t)(h >> 8) % kinds : -1, (int64_t)(h >> 20) % 5000 - 100,
                                 last_id, (double)(h % 1000) / 8};
    }
}
static void load_more(Table *t, int64_t n, int64_t kinds) {
    TableLoad *l;
    Err e = {0};
    Vec v[N_COLS];
    int64_t done;
    new_rows(n, kinds);
    assert_int_equal(load_begin(t, 1, &l, &e), ST_OK);
    for (int64_t at = 0; at < n; at += BATCH) {
        const int64_t m = MIN_OF((int64_t)BATCH, n - at);
        fill(v, n_rows + at, m);
        assert_int_equal(load_add(l, 0, at / BATCH, m, v, &e), ST_OK);
    }
    assert_int_equal(load_finish(l, NULL, NULL, &done, &e), ST_OK);
    load_cancel(l);
    n_rows += n;
}
static void append_more(Table *t, int64_t n, int64_t kinds) {
    Err e = {0};
    Vec v[N_COLS];
    new_rows(n, kinds);
    for (int64_t at = 0; at < n; at += BATCH) {
        const int64_t m = MIN_OF((int64_t)BATCH, n - at);
        fill(v, n_rows + at, m);
        assert_int_equal(table_append(t, m, v, NULL, NULL, &e), ST_OK);
    }
    n_rows += n;
}

/* ---- the model's rows in the table ---- */
static int64_t rowid_of(const Table *t, int64_t id) {
    Value v = {.type = type(T_INT8)};
    v.u.i64 = id;
    return table_lookup(t, 0, &v);
}
static void check_cell(const Table *t, int64_t rowid, int col, bool there, Str text, int128_t number) {
    Value v;
    table_value(t, rowid, col, &v);
    assert_int_equal(v.is_null, !there);
    if (!there) return;
    if (type_phys(t->cols[col].type) == PH_STR) assert_true(str_eq(v.u.str, text));
    else assert_true(v.u.i128 == number);
}
static void check_row(const Table *t, int64_t rowid, const Row *r) {
    char buf[TEXT];
    Value v;
    table_value(t, rowid, 0, &v);
    assert_true(v.u.i64 == r->id);
    check_cell(t, rowid, 1, r->kind >= 0, kind_text(MAX_OF(r->kind, 0), buf), 0);
    check_cell(t, rowid, 2, r->number >= 0, (Str){"", 0, 0}, r->number);
    check_cell(t, rowid, 3, true, note_text(r->note, buf), 0);
    table_value(t, rowid, 4, &v);
    assert_true(v.u.f64 == r->share);
}
static void check(const Table *t) {
    Err e = {0};
    if (table_verify(t, &e) != ST_OK) fail_msg("%s", e.message);
    assert_int_equal(t->live_rows, n_rows);
    for (int64_t i = 0; i < n_rows; i++) {
        const int64_t at = rowid_of(t, rows[i].id);
        assert_true(at >= 0);
        check_row(t, at, &rows[i]);
    }
}
static void check_packed(const Table *t) {
    check(t);
    for (int64_t i = 0; i < t->n_tablets; i++) {
        assert_false(tablet_has_open(t->tablets[i]) || tablet_has_patches(t->tablets[i]));
        assert_int_equal(t->tablets[i]->n_deleted, 0);
    }
    for (int c = 0; c < t->n_cols; c++) {
        const Dict *d = t->cols[c].dict;
        if (!d) continue;
        assert_int_equal(d->n, d->n_sorted);
        for (int32_t i = 1; i < d->n; i++) assert_true(str_cmp(d->entries[i - 1], d->entries[i]) < 0);
    }
    int64_t last = -1;
    for (int64_t i = 0; i < n_rows; i++) {
        const int64_t at = rowid_of(t, rows[i].id);
        assert_true(at > last);
        last = at;
    }
}

/* ---- changes ---- */
static void delete_some(Table *t, int64_t first, int64_t n, int one_in) {
    Err e = {0};
    int64_t to = first, done;
    for (int64_t i = first; i < n_rows; i++) {
        if (i < first + n && rnd_below(one_in) == 0) {
            const int64_t at = rowid_of(t, rows[i].id);
            assert_int_equal(table_delete(t, 1, &at, NULL, &done, &e), ST_OK);
        } else {
            rows[to++] = rows[i];
        }
    }
    n_rows = to;
}
static void update_some(Table *t, int64_t first, int64_t n, int one_in, int64_t kinds) {
    static const int set[] = {1, 3};
    Err e = {0};
    for (int64_t i = first; i < MIN_OF(first + n, n_rows); i++) {
        if (rnd_below(one_in) != 0) continue;
        rows[i].kind = (int64_t)(rnd() % (uint64_t)kinds);
        rows[i].note = ++last_id;
        Vec v[N_COLS];
        fill(v, i, 1);
        const Vec two[] = {v[1], v[3]};
        const int64_t at = rowid_of(t, rows[i].id);
        assert_int_equal(table_update(t, 1, &at, 2, set, two, NULL, &e), ST_OK);
    }
}
static MergeFigures merge(Table *t, Pool *pool) {
    Err e = {0};
    MergeFigures f;
    if (table_merge_with(t, &(MergeOptions){.pool = pool, .figures = &f}, &e) != ST_OK) fail_msg("%s", e.message);
    check_packed(t);
    return f;
}

/* Settled tablets stay, or only their codes become others. */
static void test_settled(void **state) {
    (void)state;
    Err e = {0};
    Pool *pool = pool_new(2, &e);
    Table *t = make_table();
    load_more(t, 2 * TABLET_ROWS + 40000, 500);
    append_more(t, 10000, 500);
    const Tablet *first = t->tablets[0], *second = t->tablets[1];
    const Dict *dict = t->cols[1].dict;
    assert_non_null(dict);
    assert_null(t->cols[3].dict);
    MergeFigures f = merge(t, pool); /* no new kinds: codes stay */
    assert_int_equal(f.kept, 2);
    assert_int_equal(f.made, 1);
    assert_ptr_equal(t->tablets[0], first);
    assert_ptr_equal(t->tablets[1], second);
    assert_ptr_equal(t->cols[1].dict, dict);
    assert_true(t->cols[0].stats.unique && t->cols[0].stats.sorted && t->cols[0].stats.max == last_id);

    append_more(t, 5000, 600); /* new ones */
    f = merge(t, pool);
    assert_int_equal(f.kept, 0);
    assert_true(f.entries_out > 500 && f.entries_out <= 600);
    assert_ptr_not_equal(t->cols[1].dict, dict);

    delete_some(t, TABLET_ROWS + 10, 1000, 3); /* of the second one */
    update_some(t, 20, 2000, 50, 700);         /* of the first */
    f = merge(t, pool);
    assert_true(t->cols[0].stats.unique);

    update_some(t, 0, 1, 1, 800);
    rows[0].kind = 900; /* the only row that has it */
    Vec v[N_COLS];
    static const int set[] = {1};
    int64_t at = rowid_of(t, rows[0].id);
    fill(v, 0, 1);
    assert_int_equal(table_update(t, 1, &at, 1, set, &v[1], NULL, &e), ST_OK);
    merge(t, pool);
    char buf[TEXT];
    assert_true(dict_find(t->cols[1].dict, kind_text(900, buf)) >= 0);
    rows[0].kind = 1;
    at = rowid_of(t, rows[0].id);
    fill(v, 0, 1);
    assert_int_equal(table_update(t, 1, &at, 1, set, &v[1], NULL, &e), ST_OK);
    merge(t, pool);
    assert_int_equal(dict_find(t->cols[1].dict, kind_text(900, buf)), -1); /* no row has it any more */
    table_free(t);
    pool_free(pool);
    assert_int_equal(atomic_load(&root.used), 0);
}

static void test_random(void **state) {
    (void)state;
    Err e = {0};
    Pool *pool = pool_new(3, &e);
    for (int round = 0; round < 3; round++) {
        Table *t = make_table();
        rng = 88172645463325252ULL + (uint64_t)round;
        const int64_t kinds = round == 0 ? 40 : round == 1 ? 5000 : 100000;
        load_more(t, TABLET_ROWS + (int64_t)(rnd() % 100000), kinds);
        for (int step = 0; step < 6; step++) {
            const int64_t first = (int64_t)(rnd() % (uint64_t)n_rows);
            switch (rnd_below(4)) {
            case 0: append_more(t, 1 + (int64_t)(rnd() % 20000), kinds + 100 * step); break;
            case 1: delete_some(t, first, 20000, 1 + (int)(rnd() % 40)); break;
            case 2: update_some(t, first, 5000, 1 + (int)(rnd() % 200), kinds + 100 * step); break;
            default: load_more(t, 1 + (int64_t)(rnd() % 30000), kinds);
            }
            if (rnd_below(2) == 0) merge(t, rnd_below(2) ? pool : NULL);
        }
        merge(t, pool);
        table_free(t);
        assert_int_equal(atomic_load(&root.used), 0);
    }
    pool_free(pool);
}

/* ---- merges that do not come to their end ---- */
typedef struct Stop {
    int64_t calls, at;
    double done;
} Stop;
static bool stop(void *ctx, double done) {
    Stop *s = ctx;
    assert_true(done >= s->done && done <= 1);
    s->done = done;
    return ++s->calls == s->at;
}
static void is_untouched(const Table *t, const Table *was, Tablet *const *tablets) {
    assert_int_equal(t->n_tablets, was->n_tablets);
    assert_int_equal(t->live_rows, was->live_rows);
    for (int64_t i = 0; i < t->n_tablets; i++) assert_ptr_equal(t->tablets[i], tablets[i]);
    for (int c = 0; c < t->n_cols; c++) assert_ptr_equal(t->cols[c].dict, was->cols[c].dict);
}
static void test_ended(void **state) {
    (void)state;
    Err e = {0};
    Table *t = make_table();
    load_more(t, TABLET_ROWS + 3000, 300);
    append_more(t, 3000, 400);
    delete_some(t, 5, 400, 4);
    update_some(t, TABLET_ROWS + 100, 500, 9, 450);
    Tablet *tablets[8];
    Column cols[N_COLS];
    Table was = *t;
    memcpy(tablets, t->tablets, (size_t)t->n_tablets * sizeof *tablets);
    memcpy(cols, t->cols, sizeof cols);
    was.cols = cols;
    const int64_t generation = table_generation(t);
    int64_t n = 1;
    for (;; n++) { /* stopped at the n-th call */
        Stop s = {.at = n};
        err_clear(&e);
        if (n > 200) break;
        const Status st = table_merge_with(t, &(MergeOptions){.stop = stop, .ctx = &s}, &e);
        if (st == ST_OK) break;
        assert_string_equal(e.sqlstate, ERR_QUERY_CANCELED);
        is_untouched(t, &was, tablets);
        assert_int_equal(table_generation(t), generation);
    }
    assert_in_range(n, 10, 200);
    check_packed(t);

    append_more(t, 3000, 500);
    delete_some(t, 5, 400, 4);
    was = *t;
    memcpy(tablets, t->tablets, (size_t)t->n_tablets * sizeof *tablets);
    memcpy(cols, t->cols, sizeof cols);
    was.cols = cols;
    for (n = 1;; n++) { /* memory runs out */
        err_clear(&e);
        mem_fail_at(n);
        const Status st = table_merge(t, NULL, &e);
        mem_fail_at(0);
        if (st == ST_OK) break;
        assert_string_equal(e.sqlstate, ERR_OUT_OF_MEMORY);
        is_untouched(t, &was, tablets);
    }
    assert_true(n > 20);
    check_packed(t);
    table_free(t);
    assert_int_equal(atomic_load(&root.used), 0);
}

/* ---- the maps of dictionaries ---- */
static int by_text(const void *a, const void *b) { return str_cmp(*(const Str *)a, *(const Str *)b); }
static void test_maps(void **state) {
    (void)state;
    enum { MOST = 600 };
    static char bytes[MOST][12];
    for (int round = 0; round < 400; round++) {
        Err e = {0};
        Str all[MOST], left[MOST];
        uint8_t used[MOST];
        int n = 0;
        mem_account_init(&root, NULL, "test", 0, NULL);
        Dict *d = dict_new(&root, &e);
        const int most = (int)rnd_below(MOST), length = 1 + (int)rnd_below(11);
        int spread = 1 + (int)rnd_below(3000);
        while (n < most) { /* many with the same first bytes */
            const int len = (int)rnd_below(length + 1);
            for (int i = 0; i < len; i++) bytes[n][i] = i < len - 2 ? 'x' : (char)(rnd_below(spread) % 256);
            all[n] = str_make(bytes[n], len);
            bool there = false;
            for (int i = 0; i < n; i++) there |= str_eq(all[i], all[n]);
            if (there && ++spread > 0 && rnd_below(50) == 0) break;
            if (!there) n++;
        }
        const int sorted = n ? (int)rnd_below(n + 1) : 0;
        qsort(all, (size_t)sorted, sizeof *all, by_text);
        for (int i = 0; i < n; i++) assert_int_equal(dict_add(d, all[i], &e), i);
        d->n_sorted = sorted;
        int m = 0;
        for (int i = 0; i < n; i++)
            if ((used[i] = round % 3 == 0 || rnd_below(4) != 0)) left[m++] = all[i];
        qsort(left, (size_t)m, sizeof *left, by_text);
        DictMaps x;
        DictTimes times;
        assert_int_equal(dict_maps_make(&root, d, round % 3 ? used : NULL, &x, &times, &e), ST_OK);
        assert_int_equal(x.n, m);
        bool same = true;
        for (int i = 0; i < n; i++) {
            assert_int_equal(x.map[i] >= 0, used[i]);
            if (!used[i]) continue;
            assert_true(str_eq(left[x.map[i]], all[i]));
            assert_int_equal(x.order[x.map[i]], i);
            same &= x.map[i] == i;
        }
        assert_int_equal(x.same, same);
        Dict *out;
        assert_int_equal(dict_of_maps(&root, d, &x, &out, &e), ST_OK);
        for (int i = 0; i < m; i++) assert_true(str_eq(out->entries[i], left[i]) && dict_find(out, left[i]) == i);
        assert_true(out->n == m && out->n_sorted == m);
        dict_free(out);
        dict_maps_free(&root, &x);
        dict_free(d);
        assert_int_equal(atomic_load(&root.used), 0);
    }
}

/* ---- VACUUM ---- */
typedef struct Progress {
    int64_t calls, stop_at;
    double last;
} Progress;
static bool progress(void *ctx, double fraction) {
    Progress *p = ctx;
    assert_true(fraction >= p->last && fraction <= 1);
    p->last = fraction;
    return ++p->calls == p->stop_at;
}
static Status run_sql(Session *s, const char *sql) {
    Statement *st;
    int64_t used;
    if (statement_prepare(s, slice_of(sql), &st, &used) != ST_OK) return ST_ERROR;
    const Status done = statement_run(st);
    statement_free(st);
    return done;
}
/* It shows its progress; cancelled, with others that read a version, it has changed nothing. */
static void test_vacuum(void **state) {
    (void)state;
    Database *db;
    Session *s, *other;
    Err e = {0};
    Progress p = {0};
    assert_int_equal(database_open(NULL, vfs_posix(), 2, 0, &db, &e), ST_OK);
    assert_int_equal(session_new(db, &s, &e), ST_OK);
    assert_int_equal(session_new(db, &other, &e), ST_OK);
    assert_int_equal(run_sql(s, "set auto_merge = off"), ST_OK);
    assert_int_equal(
        run_sql(s, "create table t as select i, 'text ' || i % 1000 as s from generate_series(1, 200000) i"), ST_OK);
    assert_int_equal(run_sql(s, "insert into t select i, 'more ' || i % 70 from generate_series(1, 5000) i"), ST_OK);
    assert_int_equal(run_sql(s, "delete from t where i % 1000 = 3"), ST_OK);
    assert_int_equal(run_sql(other, "select count(s) from t"), ST_OK);
    const Table *t = catalog_table(&db->catalog, slice_of("t"));
    const int64_t generation = table_generation(t), rows = t->live_rows, tablets = t->n_tablets;
    s->client.progress = progress;
    s->client.progress_ctx = &p;
    for (p.stop_at = 1; p.stop_at < 100; p.stop_at++) {
        p.calls = 0;
        p.last = 0;
        if (run_sql(s, "vacuum t") == ST_OK) break;
        assert_string_equal(s->err.sqlstate, ERR_QUERY_CANCELED);
        atomic_store(&s->cancel, false);
        assert_true(table_generation(t) == generation && t->live_rows == rows && t->n_tablets == tablets);
        assert_int_equal(table_verify(t, &e), ST_OK);
        assert_int_equal(run_sql(other, "select count(s) from t"), ST_OK);
    }
    assert_in_range(p.stop_at, 4, 99);
    assert_true(table_generation(t) != generation && t->live_rows == rows);
    assert_int_equal(table_verify(t, &e), ST_OK);
    session_free(s);
    session_free(other);
    database_close(db);
}

/* Packed tablets that an UPDATE has exchanged have other values than when statistics were computed. */
static void test_exchanged(void **state) {
    (void)state;
    Database *db;
    Session *s;
    Err e = {0};
    assert_int_equal(database_open(NULL, vfs_posix(), 2, 0, &db, &e), ST_OK);
    assert_int_equal(session_new(db, &s, &e), ST_OK);
    static const char *const sql[] = {"set auto_merge = off",
                                      "create table t as select i, i as v, i as w from generate_series(1, 300000) i",
                                      "set snapshot = version",
                                      "update t set v = 7 where i > 1000 and i <= 262144",
                                      "insert into t select i, i, i from generate_series(400001, 400100) i",
                                      "vacuum t"};
    for (size_t i = 0; i < sizeof sql / sizeof *sql; i++)
        if (run_sql(s, sql[i]) != ST_OK) fail_msg("%s: %s", sql[i], s->err.message);
    const Table *t = catalog_table(&db->catalog, slice_of("t"));
    assert_int_equal(table_verify(t, &e), ST_OK);
    assert_false(t->cols[1].stats.unique || t->cols[1].stats.sorted);
    assert_true(t->cols[2].stats.unique && t->cols[2].stats.sorted);
    session_free(s);
    database_close(db);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_maps),   cmocka_unit_test(test_settled),
                                       cmocka_unit_test(test_ended),  cmocka_unit_test(test_random),
                                       cmocka_unit_test(test_vacuum), cmocka_unit_test(test_exchanged)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
