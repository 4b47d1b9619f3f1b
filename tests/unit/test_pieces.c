/* test_pieces.c - columns computed anew beside a table, and delete bitmaps (storage/pieces.h): what table_update and
 * table_delete of the same rows come to, whatever has changed since the version; rolled back, hidden, shown, as cells;
 * out of memory. */
#include "unit.h"

#include <stdlib.h>

#include "storage/pieces_int.h"
#include "storage/table_version.h"
#include "unit_random.h"
#include "unit_versions.h"

enum { ID, AMOUNT, KIND, NOTE, WIDE, N_COLS };
enum { ROWS = 2 * TABLET_ROWS + 5000 };
static EpochSlot *pin;
static const _Atomic bool no_cancel;

static Type ty(TypeId id) {
    Type t;
    memset(&t, 0, sizeof t);
    t.id = (uint8_t)id;
    if (id == T_NUMERIC) t.precision = 30;
    return t;
}
static int setup(void **state) { return versions_setup(state) != 0 || epoch_register(domain, 1, &pin, NULL) != ST_OK; }
static int teardown(void **state) {
    epoch_unregister(pin);
    while (epoch_reclaim(domain, EPOCH_BATCH)) {}
    return versions_teardown(state);
}

/* Values of rows, made from numbers. */
typedef struct Cells {
    Vec v[N_COLS];
    int64_t *amounts;
    int128_t *wide;
    Str *kinds, *notes;
    char (*texts)[32];
    uint8_t *valid;
} Cells;
static void make_cells(Cells *c, int64_t n, int64_t *ids, int64_t kinds, bool wide) {
    *c = (Cells){.amounts = calloc((size_t)n, 8),
                 .wide = calloc((size_t)n, 16),
                 .kinds = calloc((size_t)n, sizeof(Str)),
                 .notes = calloc((size_t)n, sizeof(Str)),
                 .texts = calloc((size_t)n * 2, 32),
                 .valid = calloc((size_t)n, 1)};
    for (int64_t i = 0; i < n; i++) {
        c->valid[i] = rnd_below(7) != 0;
        c->amounts[i] = rnd_below(1000);
        c->wide[i] = (int128_t)rnd_below(1000) << (wide && rnd_below(50) == 0 ? 70 : 0);
        c->kinds[i] = str_make(c->texts[2 * i], snprintf(c->texts[2 * i], 32, "kind %d", (int)rnd_below(kinds)));
        c->notes[i] =
            str_make(c->texts[2 * i + 1], snprintf(c->texts[2 * i + 1], 32, "note %d", (int)rnd_below(1 << 30)));
    }
    c->v[ID] = (Vec){.data = ids, .phys = PH_I64, .type = ty(T_INT8)};
    c->v[AMOUNT] = (Vec){.data = c->amounts, .valid = c->valid, .phys = PH_I64, .type = ty(T_INT8)};
    c->v[KIND] = (Vec){.data = c->kinds, .valid = c->valid, .phys = PH_STR, .type = ty(T_TEXT)};
    c->v[NOTE] = (Vec){.data = c->notes, .valid = c->valid, .phys = PH_STR, .type = ty(T_TEXT)};
    c->v[WIDE] = (Vec){.data = c->wide, .phys = PH_I128, .type = ty(T_NUMERIC)};
}
static void free_cells(Cells *c) {
    free(c->amounts);
    free(c->wide);
    free(c->kinds);
    free(c->notes);
    free(c->texts);
    free(c->valid);
}

/* Packed tablets, and one that is open. */
static Table *make_table(uint64_t seed) {
    ColumnDef cols[N_COLS] = {{.name = "id", .type = ty(T_INT8), .not_null = true},
                              {.name = "amount", .type = ty(T_INT8)},
                              {.name = "kind", .type = ty(T_TEXT)},
                              {.name = "note", .type = ty(T_TEXT)},
                              {.name = "wide", .type = ty(T_NUMERIC)}};
    KeyDef key = {.name = "pk", .primary = true, .n_cols = 1, .cols = (int[]){ID}};
    Table *t = NULL;
    Err e = {0};
    assert_int_equal(table_new(&root, "t", N_COLS, cols, 1, &key, 0, NULL, &t, &e), ST_OK);
    assert_int_equal(table_versions_enable(t, domain, &e), ST_OK);
    int64_t *ids = calloc(ROWS, 8);
    for (int64_t i = 0; i < ROWS; i++) ids[i] = i;
    Cells c;
    rng = seed;
    make_cells(&c, ROWS, ids, 50, false);
    TableLoad *l;
    assert_int_equal(load_begin(t, 1, &l, &e), ST_OK);
    assert_int_equal(load_add(l, 0, 0, ROWS, c.v, &e), ST_OK);
    assert_int_equal(load_finish(l, NULL, NULL, NULL, &e), ST_OK);
    load_cancel(l);
    for (int64_t i = 0; i < ROWS; i++) ids[i] += ROWS;
    assert_int_equal(table_append(t, 30000, c.v, NULL, NULL, &e), ST_OK);
    assert_non_null(t->cols[KIND].dict);
    assert_null(t->cols[NOTE].dict);
    free_cells(&c);
    free(ids);
    return t;
}
static void publish(Table *t) {
    TableVersion *v = NULL;
    Err e = {0};
    if (table_version_prepare(t, &v, &e) != ST_OK) fail_msg("%s", e.message);
    table_versions_install(domain, 1, &v);
}
static void verify(const Table *t) {
    Err e = {0};
    if (table_verify(t, &e) != ST_OK) fail_msg("%s", e.message);
}
static void assert_equal_tables(const Table *a, const Table *b) {
    assert_int_equal(a->n_tablets, b->n_tablets);
    assert_int_equal(a->live_rows, b->live_rows);
    for (int64_t k = 0; k < a->n_tablets; k++) {
        assert_int_equal(a->tablets[k]->rows, b->tablets[k]->rows);
        for (int64_t r = 0; r < a->tablets[k]->rows; r++) {
            const int64_t id = rowid_make(k, r);
            assert_int_equal(tablet_row_deleted(a->tablets[k], r), tablet_row_deleted(b->tablets[k], r));
            if (tablet_row_deleted(a->tablets[k], r)) continue;
            for (int c = 0; c < N_COLS; c++) {
                Value x, y;
                table_value(a, id, c, &x);
                table_value(b, id, c, &y);
                if (x.is_null != y.is_null || (!x.is_null && value_cmp(&x, &y) != 0))
                    fail_msg("tablet %d row %d column %d differs", (int)k, (int)r, c);
            }
        }
    }
}

/* Rows of the table: a share of those of each tablet, sometimes in another order, some twice. */
static int64_t some_rows(const Table *t, int64_t *out) {
    int64_t n = 0;
    for (int64_t k = 0; k < t->n_tablets; k++) {
        const int64_t share = rnd_below(4) == 0 ? 1000 : 1 + rnd_below(3);
        for (int64_t r = 0; r < t->tablets[k]->rows; r++)
            if (!tablet_row_deleted(t->tablets[k], r) && rnd_below(share) == 0) out[n++] = rowid_make(k, r);
    }
    for (int64_t i = 0; i < n && rnd_below(2); i += 1 + rnd_below(9)) {
        const int64_t other = rnd_below(n), kept = out[i];
        out[i] = out[other];
        out[other] = kept;
    }
    return n;
}
static TablePieces *make(const Table *version, Table *t, int64_t n, const int64_t *rowids, const NewRows *set) {
    TablePieces *p = NULL;
    Err e = {0};
    const PieceInput in = {
        .version = version, .table = t, .n = n, .rowids = rowids, .set = set, .workers = 1, .cancel = &no_cancel};
    if (pieces_make(&in, &p, &e) != ST_OK) fail_msg("%s", e.message);
    return p;
}
/* What others have done since the version. */
static void meddle(Table *t, Table *twin) {
    const int64_t id = rowid_make(rnd_below(3), rnd_below(5000)), x = rnd_below(100);
    const Vec v = {.data = (void *)(uintptr_t)&x, .phys = PH_I64, .type = ty(T_INT8)};
    const Str kind = str_make("another kind", 12);
    const Vec k = {.data = (void *)(uintptr_t)&kind, .phys = PH_STR, .type = ty(T_TEXT)};
    Table *const both[] = {t, twin};
    const int64_t what = rnd_below(6);
    for (int i = 0; i < 2; i++) {
        if (what == 0) assert_int_equal(table_update(both[i], 1, &id, 1, (int[]){AMOUNT}, &v, NULL, NULL), ST_OK);
        if (what == 1) assert_int_equal(table_update(both[i], 1, &id, 1, (int[]){KIND}, &k, NULL, NULL), ST_OK);
        if (what == 2) assert_int_equal(table_delete(both[i], 1, &id, NULL, NULL, NULL), ST_OK);
    }
}
static void what_happens(Table *t, UndoLog *u, bool *gone) {
    Err e = {0};
    *gone = false;
    const int64_t what = rnd_below(5);
    if (what == 0) {
        undo_rollback(u, 0);
        *gone = true;
    } else if (what == 1) {
        if (undo_unpack_pieces(u, &e) != ST_OK) fail_msg("%s", e.message);
    }
    if (what == 1 || what == 2) {
        assert_int_equal(undo_reserve(u, 0, &e), ST_OK);
        undo_hide(u);
        verify(t);
        undo_show(u, false);
    }
}
static void test_random(void **state) {
    (void)state;
    Table *t = make_table(5), *twin = make_table(5);
    int64_t *rowids = calloc(ROWS + 30000, 8), swapped = 0, pieces_of_none = 0;
    int *const sets[] = {(int[]){AMOUNT}, (int[]){KIND, AMOUNT}, (int[]){NOTE}, (int[]){WIDE, NOTE, KIND}};
    const int n_sets[] = {1, 2, 1, 3};
    for (int round = 0; round < 30; round++) {
        rng = (uint64_t)round * 77777 + 12345;
        publish(t);
        epoch_pin(pin, "statement", 0);
        const Table *v = table_version_at(t, pin);
        const int64_t n = some_rows(v, rowids);
        const int set = (int)rnd_below(5);
        Cells c;
        make_cells(&c, n, rowids, 50 + round, round % 3 == 0);
        Vec vals[N_COLS];
        for (int i = 0; set < 4 && i < n_sets[set]; i++) vals[i] = c.v[sets[set][i]];
        const NewRows x = {
            .n = n, .n_cols = set < 4 ? n_sets[set] : 0, .cols = set < 4 ? sets[set] : NULL, .vals = vals};
        TablePieces *p = make(v, t, n, rowids, set < 4 ? &x : NULL);
        epoch_unpin(pin);
        meddle(t, twin);
        Err e = {0};
        UndoLog *u = undo_new(&root, &e);
        int64_t done = 0;
        bool gone;
        if (!p) pieces_of_none++;
        if (p && pieces_apply(p, rowids, set < 4 ? &x : NULL, u, &done, &e) != ST_OK) fail_msg("%s", e.message);
        for (int64_t i = 0; i < u->recs.len; i++) swapped += u->recs.items[i].kind == UNDO_PIECES;
        verify(t);
        what_happens(t, u, &gone);
        undo_forget(u);
        undo_free(u);
        verify(t);
        if (p && !gone && set < 4) assert_int_equal(rows_update(twin, &x, rowids, NULL, &e), ST_OK);
        if (p && !gone && set == 4) assert_int_equal(table_delete(twin, n, rowids, NULL, NULL, &e), ST_OK);
        assert_equal_tables(t, twin);
        free_cells(&c);
    }
    assert_true(swapped > 10 && pieces_of_none < 10);
    free(rowids);
    table_free(t);
    table_free(twin);
}

/* Net changes and old cells are those of the rows. */
static void test_log(void **state) {
    (void)state;
    Table *t = make_table(9);
    Err e = {0};
    int64_t *rowids = calloc(ROWS + 30000, 8), n = 0, n_net;
    for (int64_t r = 0; r < TABLET_ROWS; r += 2) rowids[n++] = rowid_make(1, r);
    Cells c;
    make_cells(&c, n, rowids, 60, false);
    Value old, was;
    table_value(t, rowids[7], AMOUNT, &old);
    publish(t);
    epoch_pin(pin, "statement", 0);
    const NewRows x = {.n = n, .n_cols = 1, .cols = (int[]){AMOUNT}, .vals = &c.v[AMOUNT]};
    TablePieces *p = make(table_version_at(t, pin), t, n, rowids, &x);
    epoch_unpin(pin);
    UndoLog *u = undo_new(&root, &e);
    int64_t done;
    assert_int_equal(pieces_apply(p, rowids, &x, u, &done, &e), ST_OK);
    assert_int_equal(done, n);
    assert_int_equal(undo_mark(u), 1);
    Arena *a = arena_new(&root, &e);
    for (int unpacked = 0; unpacked < 2; unpacked++) {
        NetChange *net;
        UndoCells *cells;
        assert_int_equal(undo_net(u, a, &n_net, &net), ST_OK);
        assert_int_equal(n_net, 1);
        assert_int_equal(net->n_updated, n);
        assert_memory_equal(net->updated, rowids, (size_t)n * 8);
        assert_true(net->set[AMOUNT] && !net->set[ID] && net->n_deleted == 0 && !net->whole);
        assert_int_equal(undo_cells(u, a, &cells), ST_OK);
        assert_true(undo_cells_find(cells, t, rowids[7], AMOUNT, &was));
        assert_true(was.is_null == old.is_null && (old.is_null || was.u.i64 == old.u.i64));
        assert_false(undo_cells_find(cells, t, rowids[7] + 1, AMOUNT, &was));
        assert_false(undo_cells_find(cells, t, rowids[7], KIND, &was));
        assert_int_equal(undo_unpack_pieces(u, &e), ST_OK);
    }
    arena_free(a);
    undo_free(u);
    free_cells(&c);
    free(rowids);
    table_free(t);
}

static void test_out_of_memory(void **state) {
    (void)state;
    Table *t = make_table(3), *twin = make_table(3);
    Err e = {0};
    int64_t *rowids = calloc(ROWS + 30000, 8), n = 0;
    for (int64_t r = 0; r < 40000; r++) rowids[n++] = rowid_make(0, r);
    Cells c;
    make_cells(&c, n, rowids, 70, false);
    Vec vals[] = {c.v[KIND], c.v[NOTE]};
    const NewRows x = {.n = n, .n_cols = 2, .cols = (int[]){KIND, NOTE}, .vals = vals};
    publish(t);
    epoch_pin(pin, "statement", 0);
    const PieceInput in = {.version = table_version_at(t, pin),
                           .table = t,
                           .n = n,
                           .rowids = rowids,
                           .set = &x,
                           .workers = 1,
                           .cancel = &no_cancel};
    TablePieces *p = NULL;
    int64_t steps = 0;
    for (bool ok = false; !ok;) {
        mem_fail_at(++steps);
        ok = pieces_make(&in, &p, &e) == ST_OK;
        mem_fail_at(0);
        if (!ok) assert_string_equal(e.sqlstate, ERR_OUT_OF_MEMORY);
        err_clear(&e);
    }
    assert_true(steps > 10);
    for (bool ok = false; !ok;) {
        int64_t done;
        UndoLog *u = undo_new(&root, &e);
        if (!p) assert_int_equal(pieces_make(&in, &p, &e), ST_OK);
        mem_fail_at(steps-- % 10 + 1);
        ok = pieces_apply(p, rowids, &x, u, &done, &e) == ST_OK;
        mem_fail_at(0);
        p = NULL;
        if (!ok) assert_int_equal(undo_mark(u), 0);
        undo_free(u);
        verify(t);
        if (!ok) assert_equal_tables(t, twin);
        err_clear(&e);
    }
    epoch_unpin(pin);
    assert_int_equal(rows_update(twin, &x, rowids, NULL, &e), ST_OK);
    assert_equal_tables(t, twin);
    free_cells(&c);
    free(rowids);
    table_free(t);
    table_free(twin);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(test_random, setup, teardown),
                                       cmocka_unit_test_setup_teardown(test_log, setup, teardown),
                                       cmocka_unit_test_setup_teardown(test_out_of_memory, setup, teardown)};
    return cmocka_run_group_tests_name("pieces", tests, NULL, NULL);
}
