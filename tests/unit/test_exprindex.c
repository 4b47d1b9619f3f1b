/* test_exprindex.c - unique indexes with computed keys against a model: random inserts, updates, deletes, rollbacks,
 * loads and merges, failing allocations and failing keys. The key of a row (a, b) is (a % 1000, b), of rows with a >= 0
 * only; it cannot be computed of rows with a = 13. */
#include "unit.h"

#include "storage/exprindex.h"
#include "storage/keyslots.h"
#include "unit_random.h"

enum { KEYS = 1000, MAX_ROWS = 4096 };
static MemAccount root;

static int freed;
static Status key(KeyProgram *p, const KeyRow *row, Arena *a, Value *parts, bool *in, Err *e) {
    (void)p, (void)a;
    int64_t v[2];
    bool null[2];
    for (int c = 0; c < 2; c++) {
        Value x;
        if (row->rowid >= 0) {
            table_value(row->table, row->rowid, c, &x);
            v[c] = x.u.i64;
            null[c] = x.is_null;
        } else {
            v[c] = ((const int64_t *)row->vals[c].data)[row->at];
            null[c] = row->vals[c].valid && !row->vals[c].valid[row->at];
        }
    }
    *in = !null[0] && v[0] >= 0;
    if (v[0] == 13) return err_set(e, ERR_DIVISION_BY_ZERO, "division by zero");
    parts[0] = (Value){.type = type_make(T_INT8), .u.i64 = v[0] % KEYS};
    parts[1] = (Value){.type = type_make(T_INT8), .u.i64 = v[1], .is_null = null[1]};
    return ST_OK;
}
static void key_free(KeyProgram *p) {
    (void)p;
    freed++;
}
static const int cols[] = {0, 1};

static Table *make(bool nulls_not_distinct, KeyProgram *p) {
    Err e = {0};
    Table *t;
    ColumnDef defs[] = {{.name = "a", .type = type_make(T_INT8)}, {.name = "b", .type = type_make(T_INT8)}};
    const char *const parts[] = {"(a % 1000)", "b"};
    ExprIndexDef x = {"i", 2, parts, "a >= 0", nulls_not_distinct};
    *p = (KeyProgram){key, key_free, 2, cols};
    assert_int_equal(table_new(&root, "t", 2, defs, 0, NULL, 0, NULL, &t, &e), ST_OK);
    assert_int_equal(table_add_exprs(t, 1, &x, &e), ST_OK);
    assert_int_equal(exprindex_set_program(t, 0, p, &e), ST_OK);
    return t;
}

typedef struct Row {
    int64_t a, b;
    bool null_b;
} Row;
static Status insert(Table *t, int64_t n, const Row *rows, UndoLog *u, Err *e) {
    int64_t a[64], b[64];
    uint8_t valid[64];
    for (int64_t i = 0; i < n; i++) {
        a[i] = rows[i].a;
        b[i] = rows[i].null_b ? 0 : rows[i].b;
        valid[i] = !rows[i].null_b;
    }
    Vec v[] = {{.data = a, .phys = PH_I64, .type = type_make(T_INT8)},
               {.data = b, .valid = valid, .phys = PH_I64, .type = type_make(T_INT8)}};
    return table_append(t, n, v, u, NULL, e);
}

/* The rows that the table has, by looking at all. */
static int64_t rows_of(const Table *t, Row *out, int64_t *ids) {
    int64_t n = 0;
    for (int64_t k = 0; k < t->n_tablets; k++)
        for (int64_t r = 0; r < t->tablets[k]->rows; r++) {
            Value a, b;
            if (tablet_row_deleted(t->tablets[k], r)) continue;
            table_value(t, rowid_make(k, r), 0, &a);
            table_value(t, rowid_make(k, r), 1, &b);
            out[n] = (Row){a.u.i64, b.u.i64, b.is_null};
            ids[n++] = rowid_make(k, r);
        }
    return n;
}
static bool same_key(const Row *x, const Row *y, bool nulls_equal) {
    if (x->a < 0 || y->a < 0 || x->a % KEYS != y->a % KEYS || x->null_b != y->null_b) return false;
    return x->null_b ? nulls_equal : x->b == y->b;
}
static bool has_key(const Row *rows, int64_t n, const Row *x, bool nulls_equal) {
    for (int64_t i = 0; i < n; i++)
        if (same_key(&rows[i], x, nulls_equal)) return true;
    return false;
}
static void verify(const Table *t) {
    Err e = {0};
    if (table_verify(t, &e) != ST_OK) fail_msg("%s", e.message);
}

static Row any_row(void) { return (Row){rnd_below(3000) - 300, rnd_below(3), rnd_below(9) == 0}; }

/* Inserts one to three rows; what the table does is what the model says. */
static void step_insert(Table *t, UndoLog *u, bool nulls_equal, Row *rows, int64_t n) {
    Row some[3];
    int64_t k = 1 + rnd_below(3);
    bool fails = false, twice = false;
    Err e = {0};
    for (int64_t i = 0; i < k; i++) {
        some[i] = any_row();
        fails |= some[i].a == 13;
        twice |= has_key(rows, n, &some[i], nulls_equal) || has_key(some, i, &some[i], nulls_equal);
    }
    Status st = insert(t, k, some, u, &e);
    assert_int_equal(st == ST_OK, !fails && !twice);
    if (st != ST_OK && !fails) assert_string_equal(e.sqlstate, ERR_UNIQUE_VIOLATION);
}
static void step_update(Table *t, UndoLog *u, bool nulls_equal, Row *rows, const int64_t *ids, int64_t n) {
    if (n == 0) return;
    const int64_t at = rnd_below(n);
    Row new = any_row(), old = rows[at];
    uint8_t valid = !new.null_b;
    Vec v[] = {{.data = &new.a, .phys = PH_I64, .type = type_make(T_INT8)},
               {.data = &new.b, .valid = &valid, .phys = PH_I64, .type = type_make(T_INT8)}};
    Err e = {0};
    rows[at] = (Row){-1, 0, false};
    const bool ok = new.a != 13 && !has_key(rows, n, &new, nulls_equal);
    assert_int_equal(table_update(t, 1, &ids[at], 2, cols, v, u, &e) == ST_OK, ok);
    rows[at] = old;
}

static void run(bool nulls_equal) {
    static Row rows[MAX_ROWS];
    static int64_t ids[MAX_ROWS];
    KeyProgram p;
    Table *t = make(nulls_equal, &p);
    Err e = {0};
    UndoLog *u = undo_new(&root, &e);
    for (int i = 0; i < 1500; i++) {
        int64_t n = rows_of(t, rows, ids), done;
        switch (rnd_below(12)) {
        case 0:
            if (n > 0) assert_int_equal(table_delete(t, 1, &ids[rnd_below(n)], u, &done, &e), ST_OK);
            break;
        case 1: undo_rollback(u, 0); break;
        case 2:
            undo_forget(u);
            if (rnd_below(20) == 0) assert_int_equal(table_merge(t, NULL, &e), ST_OK);
            break;
        case 3:
            if (undo_reserve(u, 0, &e) != ST_OK) fail();
            undo_hide(u);
            verify(t);
            undo_show(u, false);
            break;
        case 4:
        case 5: step_update(t, u, nulls_equal, rows, ids, n); break;
        default: step_insert(t, u, nulls_equal, rows, n);
        }
        if (i % 50 == 0) verify(t);
    }
    undo_rollback(u, 0);
    verify(t);
    undo_free(u);
    freed = 0;
    table_free(t);
    assert_int_equal(freed, 1);
}
static void test_model(void **state) {
    (void)state;
    run(false);
    run(true);
}

/* Whatever allocation fails, the row is not there and the table is whole. */
static void test_memory(void **state) {
    (void)state;
    KeyProgram p;
    Table *t = make(false, &p);
    for (int64_t i = 0; i < 40; i++) { /* through the first growth of the slots */
        Row row = {i + 100, 1, false};
        Status st = ST_ERROR;
        for (int64_t n = 1; st != ST_OK; n++) {
            Err e = {0};
            mem_fail_at(n);
            st = insert(t, 1, &row, NULL, &e);
            mem_fail_at(0);
            if (st != ST_OK) assert_string_equal(e.sqlstate, ERR_OUT_OF_MEMORY);
            assert_int_equal(t->live_rows, i + (st == ST_OK));
        }
        verify(t);
    }
    table_free(t);
}

/* Deleted keys do not pile up in the slots. */
static void test_sweep(void **state) {
    (void)state;
    KeyProgram p;
    Table *t = make(false, &p);
    Err e = {0};
    for (int64_t i = 0; i < 20000; i++) {
        Row row = {KEYS + i % KEYS, i, false};
        int64_t done, *id = (int64_t[]){0};
        assert_int_equal(insert(t, 1, &row, NULL, &e), ST_OK);
        *id = rowid_make(t->n_tablets - 1, t->tablets[t->n_tablets - 1]->rows - 1);
        assert_int_equal(table_delete(t, 1, id, NULL, &done, &e), ST_OK);
    }
    assert_true(t->exprs[0].index->used < 4096);
    verify(t);
    table_free(t);
}

/* The most that entering one row costs, in slots that are moved: never all of them. */
static void test_growth(void **state) {
    (void)state;
    KeyProgram p;
    Table *t = make(false, &p);
    const HashIndex *x = t->exprs[0].index;
    Err e = {0};
    int64_t moves = 0;
    for (int64_t i = 0; i < 40000; i++) {
        Row row = {KEYS + i % KEYS, i, false};
        const int64_t moved = x->moved, old = x->old.bits;
        assert_int_equal(insert(t, 1, &row, NULL, &e), ST_OK);
        const int64_t from = x->moved < moved ? 0 : moved; /* less: another move has begun */
        assert_true(x->moved <= from + KEYSLOTS_STEP);
        moves += !old && x->old.bits;
        if (x->old.bits && i % 97 == 0) verify(t); /* in the middle of a move */
    }
    assert_true(moves >= 8);
    assert_int_equal(x->used, 40000);
    verify(t);
    table_free(t);
}

int main(void) {
    mem_account_init(&root, NULL, "test", 0, NULL);
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_model), cmocka_unit_test(test_memory),
                                       cmocka_unit_test(test_sweep), cmocka_unit_test(test_growth)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
