/* test_table_fork.c - forks of table versions: what is changed in them is seen there and nowhere else, whatever becomes
 * of the table meanwhile; lookups by key; undo; out of memory; what a fork has become, applied to the table. */
#include "unit.h"

#include <pthread.h>
#include <stdlib.h>

#include "storage/storage_int.h"
#include "storage/table_fork.h"
#include "storage/table_version.h"
#include "unit_random.h"
#include "unit_versions.h"

enum { ID, BALANCE, NAME, N_COLS };
enum { IDS = 4000 /* that rows may have */, KINDS = 40 /* of names that are there from the beginning */ };

static Table *make_table(void) {
    ColumnDef cols[N_COLS] = {{.name = "id", .type = type_make(T_INT8), .not_null = true},
                              {.name = "balance", .type = type_make(T_INT8)},
                              {.name = "name", .type = type_make(T_TEXT)}};
    KeyDef keys[] = {{.name = "pk", .primary = true, .n_cols = 1, .cols = (int[]){ID}},
                     {.name = "named", .n_cols = 2, .cols = (int[]){NAME, ID}}};
    Table *t = NULL;
    Err e = {0};
    assert_int_equal(table_new(&root, "t", N_COLS, cols, 2, keys, 0, NULL, &t, &e), ST_OK);
    assert_int_equal(table_versions_enable(t, domain, &e), ST_OK);
    return t;
}
static EpochSlot *slot(void) {
    EpochSlot *s = NULL;
    assert_int_equal(epoch_register(domain, 1, &s, NULL), ST_OK);
    return s;
}
static void reclaim(void) {
    while (epoch_reclaim(domain, EPOCH_BATCH)) {}
}
static void publish(Table *t) {
    TableVersion *v = NULL;
    Err e = {0};
    if (table_version_prepare(t, &v, &e) != ST_OK) fail_msg("%s", e.message);
    table_versions_install(domain, 1, &v);
}

/* ---- what rows should be ---- */
typedef struct Row {
    bool there, null; /* null: its balance */
    int64_t balance;
    int32_t name; /* < 0: NULL */
} Row;
typedef struct Model {
    Row rows[IDS];
} Model;
static Str name_of(char *buf, int32_t name) {
    return str_make(buf, snprintf(buf, 32, name < KINDS ? "name %d" : "a new name %d", (int)name));
}
static void cells_of(Vec *v, int64_t *id, Row *r, Str *name, char *buf, uint8_t *valid) {
    *name = r->name < 0 ? str_make("", 0) : name_of(buf, r->name);
    valid[0] = !r->null;
    valid[1] = r->name >= 0;
    if (r->null) r->balance = 0;
    v[ID] = (Vec){.data = id, .phys = PH_I64, .type = type_make(T_INT8)};
    v[BALANCE] = (Vec){.data = &r->balance, .valid = valid, .phys = PH_I64, .type = type_make(T_INT8)};
    v[NAME] = (Vec){.data = name, .valid = valid + 1, .phys = PH_STR, .type = type_make(T_TEXT)};
}
static int64_t find(const Table *t, int64_t id) {
    Value v = {.type = type_make(T_INT8), .u.i64 = id};
    return table_lookup(t, 0, &v);
}
static int64_t find_named(const Table *t, int32_t name, int64_t id) {
    char buf[32];
    Value v[2] = {{.type = type_make(T_TEXT), .u.str = name_of(buf, name)}, {.type = type_make(T_INT8), .u.i64 = id}};
    return table_lookup(t, 1, v);
}
/* The table has the model's rows and no others; keys find them, and do not find others. */
static void assert_is(const Table *t, const Model *m) {
    Err e = {0};
    int64_t rows = 0;
    if (table_verify(t, &e) != ST_OK) fail_msg("%s", e.message);
    for (int64_t id = 0; id < IDS; id++) {
        const Row *r = &m->rows[id];
        const int64_t at = find(t, id);
        Value v;
        char buf[32];
        rows += r->there;
        assert_true((at >= 0) == r->there);
        if (!r->there) {
            assert_int_equal(find_named(t, (int32_t)(id % KINDS), id), -1);
            continue;
        }
        table_value(t, at, ID, &v);
        assert_int_equal(v.u.i64, id);
        table_value(t, at, BALANCE, &v);
        assert_true(v.is_null == r->null && (r->null || v.u.i64 == r->balance));
        table_value(t, at, NAME, &v);
        assert_true(v.is_null == (r->name < 0) && (r->name < 0 || str_eq(v.u.str, name_of(buf, r->name))));
        if (r->name >= 0) assert_int_equal(find_named(t, r->name, id), at);
    }
    assert_int_equal(t->live_rows, rows);
}

/* ---- changes ---- */
static Row new_row(void) { return (Row){true, rnd_below(9) == 0, rnd_below(1000), (int32_t)rnd_below(2 * KINDS) - 4}; }
static Status insert(Table *t, Model *m, int64_t id, Row r, UndoLog *u, Err *e) {
    Vec v[N_COLS];
    Str name;
    char buf[32];
    uint8_t valid[2];
    cells_of(v, &id, &r, &name, buf, valid);
    const Status st = table_append(t, 1, v, u, NULL, e);
    if (st == ST_OK) m->rows[id] = r;
    return st;
}
/* One change of rows whose id is `part` modulo 2; what it does to the model. */
static Status change(Table *t, Model *m, int64_t part, UndoLog *u, Err *e) {
    const int64_t id = rnd_below(IDS / 2) * 2 + part, other = rnd_below(IDS / 2) * 2 + part;
    int64_t at = find(t, id), to = other, done;
    Row r = new_row();
    Vec v[N_COLS];
    Str name;
    char buf[32];
    uint8_t valid[2];
    if (!m->rows[id].there) return insert(t, m, id, r, u, e);
    cells_of(v, &to, &r, &name, buf, valid);
    Status st;
    switch (rnd_below(8)) {
    case 0:
        st = table_delete(t, 1, &at, u, &done, e);
        if (st == ST_OK) m->rows[id].there = false;
        return st;
    case 1: /* another key */
        st = table_update(t, 1, &at, 1, (int[]){ID}, &v[ID], u, e);
        if (st != ST_OK) return m->rows[other].there && strcmp(e->sqlstate, ERR_UNIQUE_VIOLATION) == 0 ? ST_OK : st;
        r = m->rows[id];
        m->rows[id].there = false;
        m->rows[other] = r;
        return ST_OK;
    case 2: /* a key that is there */
        if (insert(t, m, id, r, u, e) == ST_OK) fail_msg("two rows with one key");
        return strcmp(e->sqlstate, ERR_UNIQUE_VIOLATION) == 0 ? ST_OK : ST_ERROR;
    case 3:
        st = table_update(t, 1, &at, 2, (int[]){BALANCE, NAME}, &v[BALANCE], u, e);
        if (st != ST_OK) return st;
        m->rows[id] = r;
        return ST_OK;
    default:
        st = table_update(t, 1, &at, 1, (int[]){BALANCE}, &v[BALANCE], u, e);
        if (st != ST_OK) return st;
        m->rows[id].null = r.null;
        m->rows[id].balance = r.balance;
        return ST_OK;
    }
}
static void changes(Table *t, Model *m, int64_t part, int64_t n, UndoLog *u) {
    for (int64_t i = 0; i < n; i++) {
        Err e = {0};
        if (change(t, m, part, u, &e) != ST_OK) fail_msg("%s", e.message);
    }
}
/* Updates of the balances of many rows at once, which open columns. */
static void change_many(Table *t, Model *m, int64_t part, UndoLog *u) {
    enum { MANY = 300 };
    int64_t rows[MANY], balances[MANY], n = 0;
    for (int64_t id = part; id < IDS && n < MANY; id += 2 * (1 + rnd_below(3))) {
        if (!m->rows[id].there) continue;
        rows[n] = find(t, id);
        m->rows[id].null = false;
        balances[n++] = m->rows[id].balance = rnd_below(1 << 20);
    }
    Vec v = {.data = balances, .phys = PH_I64, .type = type_make(T_INT8)};
    assert_int_equal(table_update(t, n, rows, 1, (int[]){BALANCE}, &v, u, NULL), ST_OK);
}
/* A table in all the forms that there are. */
static Table *make_filled(Model *m) {
    Table *t = make_table();
    memset(m, 0, sizeof *m);
    for (int64_t id = 0; id < IDS; id++) {
        Row r = new_row();
        r.name = r.name >= KINDS ? 0 : r.name;
        if (rnd_below(3) > 0) assert_int_equal(insert(t, m, id, r, NULL, NULL), ST_OK);
        if (id == IDS / 2) assert_int_equal(table_merge(t, NULL, NULL), ST_OK);
    }
    changes(t, m, rnd_below(2), 100, NULL);
    if (rnd_below(2)) change_many(t, m, 0, NULL);
    publish(t);
    changes(t, m, 1, 50, NULL);
    publish(t);
    return t;
}

/* ---- cases ---- */
/* Random changes of the fork, and of the table beside it, undone and not; then the table gets the fork's. */
static void test_random(void **state) {
    (void)state;
    static Model table, fork, marked;
    for (int round = 0; round < 12; round++) {
        Table *t = make_filled(&table), *f = NULL;
        EpochSlot *s = slot();
        int64_t mark = 0;
        UndoLog *u = undo_new(&root, NULL), *to = undo_new(&root, NULL);
        epoch_pin(s, "transaction", 0);
        const Table *v = table_version_at(t, s);
        fork = marked = table;
        const Model version = table;
        assert_true(table_can_fork(v));
        assert_int_equal(table_fork_new(v, &root, &f, NULL), ST_OK);
        assert_ptr_equal(table_fork_of(f), v);
        assert_null(table_fork_of(t));
        assert_true(table_has_undo(t)); /* rows keep their numbers */
        assert_is(f, &fork);
        for (int i = 0; i < 12; i++) {
            changes(f, &fork, 0, rnd_below(60), u);
            if (rnd_below(4) == 0) change_many(f, &fork, 0, u);
            changes(t, &table, 1, rnd_below(60), NULL);
            if (rnd_below(4) == 0) publish(t);
            if (rnd_below(3) == 0) {
                undo_rollback(u, mark);
                fork = marked;
            } else if (rnd_below(2)) {
                mark = undo_mark(u);
                marked = fork;
            }
            assert_is(f, &fork);
        }
        assert_is(t, &table);
        assert_is(v, &version);
        assert_int_equal(table_fork_apply(f, u, t, to, NULL), ST_OK);
        Model both = table;
        for (int64_t id = 0; id < IDS; id += 2) both.rows[id] = fork.rows[id];
        assert_is(t, &both);
        if (round % 2) {
            undo_rollback(to, 0);
            assert_is(t, &table);
        }
        undo_drop_table(u, f);
        undo_free(u);
        table_fork_free(f);
        undo_free(to);
        assert_false(table_has_undo(t));
        epoch_unpin(s);
        epoch_unregister(s);
        table_free(t);
        reclaim();
    }
}

/* What a fork takes is given back with it, and is little for little. */
static void test_memory(void **state) {
    (void)state;
    static Model m;
    Table *t = make_filled(&m), *f = NULL;
    EpochSlot *s = slot();
    epoch_pin(s, "transaction", 0);
    const Table *v = table_version_at(t, s);
    const int64_t used = atomic_load(&root.used);
    UndoLog *u = undo_new(&root, NULL);
    assert_int_equal(table_fork_new(v, &root, &f, NULL), ST_OK);
    changes(f, &m, 0, 3, u);
    assert_true(atomic_load(&root.used) - used < 300 << 10);
    change_many(f, &m, 1, u);
    undo_drop_table(u, f);
    undo_free(u);
    table_fork_free(f);
    assert_int_equal(atomic_load(&root.used), used);
    epoch_unpin(s);
    epoch_unregister(s);
    table_free(t);
    reclaim();
}

/* Each allocation fails once: the fork stays what it was. */
static void test_out_of_memory(void **state) {
    (void)state;
    static Model m, was;
    Table *t = make_filled(&m), *f = NULL;
    EpochSlot *s = slot();
    UndoLog *u = undo_new(&root, NULL);
    epoch_pin(s, "transaction", 0);
    const Table *v = table_version_at(t, s);
    int64_t n = 0;
    for (bool ok = false; !ok;) {
        Err e = {0};
        mem_fail_at(++n);
        ok = table_fork_new(v, &root, &f, &e) == ST_OK;
        mem_fail_at(0);
        if (!ok) assert_string_equal(e.sqlstate, ERR_OUT_OF_MEMORY);
    }
    assert_true(n > 4);
    for (int i = 0; i < 400; i++) {
        Err e = {0};
        was = m;
        mem_fail_at(1 + i % 20);
        const Status st = change(f, &m, 0, u, &e);
        mem_fail_at(0);
        if (st == ST_OK) continue;
        assert_string_equal(e.sqlstate, ERR_OUT_OF_MEMORY);
        m = was;
    }
    assert_is(f, &m);
    undo_drop_table(u, f);
    undo_free(u);
    table_fork_free(f);
    epoch_unpin(s);
    epoch_unregister(s);
    table_free(t);
    reclaim();
}

/* A writer changes and publishes the table while forks of its versions are made, changed, read and dropped. */
enum { FORKERS = 2 };
typedef struct Beside {
    Table *t;
    _Atomic int working, bad;
} Beside;
static void *fork_beside(void *arg) {
    Beside *b = arg;
    EpochSlot *s = slot();
    for (int round = 0; round < 30; round++) {
        Table *f = NULL;
        UndoLog *u = undo_new(&root, NULL);
        epoch_pin(s, "transaction", 0);
        const Table *v = table_version_at(b->t, s);
        int64_t sum = 0, balance = round, again = 0;
        bool ok = table_fork_new(v, &root, &f, NULL) == ST_OK;
        for (int64_t id = 0; ok && id < IDS; id += 7) {
            int64_t at = find(f, id);
            Vec x = {.data = &balance, .phys = PH_I64, .type = type_make(T_INT8)};
            if (at < 0) continue;
            ok = table_update(f, 1, &at, 1, (int[]){BALANCE}, &x, u, NULL) == ST_OK && find(f, id) == at;
            sum += balance;
        }
        for (int64_t id = 0; ok && id < IDS; id += 7) {
            Value x;
            int64_t at = find(f, id);
            if (at < 0) continue;
            table_value(f, at, BALANCE, &x);
            again += x.u.i64;
        }
        Err e = {0};
        if (!ok || sum != again || table_verify(f, &e) != ST_OK) atomic_fetch_add(&b->bad, 1);
        undo_drop_table(u, f);
        undo_free(u);
        table_fork_free(f);
        epoch_unpin(s);
    }
    epoch_unregister(s);
    atomic_fetch_sub(&b->working, 1);
    return NULL;
}
static void test_beside(void **state) {
    (void)state;
    static Model m;
    Beside b = {.t = make_filled(&m), .working = FORKERS};
    pthread_t threads[FORKERS];
    for (int i = 0; i < FORKERS; i++) assert_int_equal(pthread_create(&threads[i], NULL, fork_beside, &b), 0);
    while (atomic_load(&b.working) > 0) {
        changes(b.t, &m, rnd_below(2), 20, NULL);
        if (rnd_below(8) == 0) change_many(b.t, &m, 0, NULL);
        publish(b.t);
        reclaim();
    }
    for (int i = 0; i < FORKERS; i++) pthread_join(threads[i], NULL);
    assert_int_equal(b.bad, 0);
    assert_is(b.t, &m);
    table_free(b.t);
    reclaim();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_random, versions_setup, versions_teardown),
        cmocka_unit_test_setup_teardown(test_memory, versions_setup, versions_teardown),
        cmocka_unit_test_setup_teardown(test_out_of_memory, versions_setup, versions_teardown),
        cmocka_unit_test_setup_teardown(test_beside, versions_setup, versions_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
