/* test_patches.c - the patched form of packed columns (storage/patches.h) against plain arrays: random updates,
 * savepoints, rollbacks, hidden logs, versions that are pinned, saves and merges; readers of all kinds after each. */
#include "unit.h"

#include <stdlib.h>

#include "storage/storage_int.h"
#include "storage/table_file.h"
#include "storage/table_version.h"
#include "unit_random.h"
#include "unit_versions.h"

enum { ID, NUMBER, CONSTANT, WORD, TEXT, NARROW, WIDE, DOUBLE, FLAG, N_COLS, ROWS = 3000, TEXT_SIZE = 64 };

/* A cell is what a seed stands for; 0: NULL. */
typedef struct Model {
    int64_t seed[ROWS][N_COLS];
} Model;

static Table *make_table(void) {
    ColumnDef cols[N_COLS] = {{.name = "id", .type = type_make(T_INT8), .not_null = true},
                              {.name = "number", .type = type_make(T_INT8)},
                              {.name = "constant", .type = type_make(T_INT2)},
                              {.name = "word", .type = type_make(T_TEXT)},
                              {.name = "text", .type = type_make(T_TEXT)},
                              {.name = "narrow", .type = type_numeric(38, 0)},
                              {.name = "wide", .type = type_numeric(38, 0)},
                              {.name = "double", .type = type_make(T_FLOAT8)},
                              {.name = "flag", .type = type_make(T_BOOL)}};
    KeyDef key = {.name = "pk", .primary = true, .n_cols = 1, .cols = (int[]){ID}};
    Table *t = NULL;
    Err e = {0};
    assert_int_equal(table_new(&root, "t", N_COLS, cols, 1, &key, 0, NULL, &t, &e), ST_OK);
    assert_int_equal(table_versions_enable(t, domain, &e), ST_OK);
    return t;
}

static int64_t new_seed(int col) {
    if (col == CONSTANT) return rnd_below(4) ? 1 : rnd_below(3);
    if (col == ID || rnd_below(12) > 0) return 1 + rnd_below(1 << 20);
    return 0;
}
static void cell_of(int col, int64_t seed, char *text, void *cell) {
    int128_t wide;
    memset(cell, 0, 16);
    switch (col) {
    case ID: memcpy(cell, &seed, 8); break;
    case NUMBER: memcpy(cell, &(int64_t){seed % 5000 - 100}, 8); break;
    case CONSTANT: memcpy(cell, &(int16_t){(int16_t)(seed == 1 ? 5 : 300)}, 2); break;
    case WORD:
    case TEXT: {
        int n = col == WORD ? snprintf(text, TEXT_SIZE, "word %d", (int)(seed % 7))
                            : snprintf(text, TEXT_SIZE, "a longer text with number %d", (int)seed);
        Str s = str_make(text, seed % 50 == 0 ? 0 : n);
        memcpy(cell, &s, sizeof s);
        break;
    }
    case NARROW:
    case WIDE:
        wide = seed % 1000;
        if (col == WIDE ? seed % 3 == 0 : seed % 4096 == 1) wide *= (int128_t)1 << 70;
        memcpy(cell, &wide, sizeof wide);
        break;
    case DOUBLE: memcpy(cell, &(double){(double)seed / 8}, 8); break;
    default: *(uint8_t *)cell = seed & 1;
    }
}

/* Rows of cells, as table_append and table_update want them. */
typedef struct Cells {
    alignas(16) char data[ROWS * 16];
    char text[ROWS][TEXT_SIZE];
    uint8_t valid[ROWS];
} Cells;
static Vec vec_of(const Table *t, int col, int64_t n, const int64_t *seeds, Cells *c) {
    Phys phys = type_phys(t->cols[col].type);
    for (int64_t i = 0; i < n; i++) {
        char cell[16] = {0};
        c->valid[i] = seeds[i] != 0;
        if (seeds[i] != 0) cell_of(col, seeds[i], c->text[i], cell);
        memcpy(c->data + i * phys_size(phys), cell, (size_t)phys_size(phys));
    }
    return (Vec){.data = c->data, .valid = c->valid, .phys = (uint8_t)phys, .type = t->cols[col].type};
}
static void fill(Table *t, Model *m) {
    static Cells cells[N_COLS];
    int64_t seeds[ROWS];
    Vec cols[N_COLS];
    for (int c = 0; c < N_COLS; c++) {
        for (int64_t i = 0; i < ROWS; i++) {
            int64_t seed = c == ID ? i + 1 : c == CONSTANT ? 1 : new_seed(c);
            if (c == NARROW) seed &= ~INT64_C(4095) | 4094; /* none is wide before it is updated */
            m->seed[i][c] = seeds[i] = seed;
        }
        cols[c] = vec_of(t, c, ROWS, seeds, &cells[c]);
    }
    Err e = {0};
    if (table_append(t, ROWS, cols, NULL, NULL, &e) != ST_OK) fail_msg("%s", e.message);
    assert_int_equal(table_merge(t, NULL, &e), ST_OK);
}

/* ---- comparing ---- */
static void check_cell(const Table *t, int col, int64_t row, int64_t seed, bool valid, const char *cell) {
    char text[TEXT_SIZE], want[16];
    if (valid != (seed != 0)) fail_msg("column %d row %d is NULL on one side", col, (int)row);
    if (!valid) return;
    cell_of(col, seed, text, want);
    Phys phys = type_phys(t->cols[col].type);
    bool same = phys == PH_STR ? str_cmp(*(const Str *)(const void *)cell, *(const Str *)(const void *)want) == 0
                               : memcmp(cell, want, (size_t)phys_size(phys)) == 0;
    if (!same) fail_msg("column %d row %d differs", col, (int)row);
}
/* By ranges of any place and length, and by positions in ascending and in other order. */
static void check_column(const Table *t, const Model *m, int col) {
    static alignas(16) char cells[ROWS * 16];
    static uint8_t valid[ROWS];
    static int32_t pos[ROWS];
    const Tablet *tab = t->tablets[0];
    Phys phys = type_phys(t->cols[col].type);
    for (int way = 0; way < 3; way++) {
        int64_t first = way == 0 ? 0 : rnd_below(ROWS), n = way == 0 ? ROWS : 1 + rnd_below(ROWS - first), k = 0;
        bool nulls = false;
        for (int64_t i = first; i < first + n; i++)
            if (way == 1 && rnd_below(3) == 0) pos[k++] = (int32_t)i;
        for (; way == 2 && k < 100; k++) pos[k] = (int32_t)rnd_below(ROWS);
        tablet_decode(t, tab, col, first, way ? pos : NULL, way ? k : n, (uint8_t)phys, cells, valid, &nulls);
        for (int64_t i = 0; i < (way ? k : n); i++) {
            int64_t row = way ? pos[i] : first + i;
            check_cell(t, col, row, m->seed[row][col], !nulls || valid[i], cells + i * phys_size(phys));
        }
    }
}
static bool in_range(int col, int64_t seed, int64_t lo, int64_t hi) {
    char cell[16], text[TEXT_SIZE];
    int128_t v = 0;
    if (seed == 0) return false;
    cell_of(col, seed, text, cell);
    memcpy(&v, cell, sizeof v);
    if (col == NUMBER) v = (int64_t)v;
    return v >= lo && v <= hi;
}
static void check_filters(const Table *t, const Model *m, int col) {
    static int32_t pos[ROWS], got[ROWS];
    const int64_t lo = rnd_below(6000) - 500, hi = lo + rnd_below(3000);
    const bool negate = rnd_below(2), listed = rnd_below(2);
    int64_t first = rnd_below(ROWS), n = 1 + rnd_below(ROWS - first), k = 0, at = 0;
    for (int64_t i = first; listed && i < first + n; i++)
        if (rnd_below(2)) pos[k++] = (int32_t)i;
    if (listed) memcpy(got, pos, sizeof got);
    int64_t found =
        tablet_filter_range(t->tablets[0], col, first, listed ? got : NULL, listed ? k : n, lo, hi, negate, got);
    for (int64_t i = 0; i < (listed ? k : n); i++) {
        int64_t row = listed ? pos[i] : first + i, seed = m->seed[row][col];
        if (seed == 0 || in_range(col, seed, lo, hi) == negate) continue;
        if (at >= found || got[at++] != row) fail_msg("column %d row %d is not found", col, (int)row);
    }
    assert_int_equal(at, found);
}
/* Of the words of the dictionary those that are not "word 3", and NULLs. */
static void check_codes(const Table *t, const Model *m) {
    static int32_t got[ROWS];
    static uint8_t mask[ROWS + 1];
    const Dict *d = t->cols[WORD].dict;
    int64_t at = 0;
    assert_true(d && d->n <= ROWS);
    memset(mask, 1, sizeof mask);
    int32_t code = dict_find(d, str_make("word 3", 6));
    if (code >= 0) mask[code] = 0;
    mask[d->n] = 1;
    int64_t found = tablet_filter_codes(t->tablets[0], WORD, 0, NULL, ROWS, mask, d->n, got);
    for (int64_t i = 0; i < ROWS; i++) {
        int64_t seed = m->seed[i][WORD];
        if (seed != 0 && seed % 7 == 3 && seed % 50 != 0) continue;
        if (at >= found || got[at++] != i) fail_msg("row %d has its word", (int)i);
    }
    assert_int_equal(at, found);
}
static void check(const Table *t, const Model *m) {
    Err e = {0};
    assert_int_equal(t->n_tablets, 1); /* no row has left its place */
    assert_int_equal(t->live_rows, ROWS);
    for (int c = 0; c < N_COLS; c++) check_column(t, m, c);
    check_filters(t, m, NUMBER);
    check_filters(t, m, NARROW);
    check_filters(t, m, WIDE);
    check_codes(t, m);
    if ((table_version_birth(t) ? table_version_verify(t, &e) : table_verify(t, &e)) != ST_OK)
        fail_msg("%s", e.message);
}
static void check_saved(const Table *t, const Model *m) {
    const char *path = "/tmp/stele_test_patches";
    Err e = {0};
    Table *again = make_table();
    if (table_file_save(t, vfs_posix(), path, &root, &e) != ST_OK) fail_msg("%s", e.message);
    if (table_file_load(again, vfs_posix(), path, &root, &e) != ST_OK) fail_msg("%s", e.message);
    remove(path);
    check(again, m);
    assert_true(!tablet_has_open(again->tablets[0]) && !tablet_has_patches(again->tablets[0]));
    table_free(again);
}

/* ---- changing ---- */
static Status update_rows(Table *t, Model *m, int64_t n, UndoLog *undo, Err *e) {
    static Cells cells[N_COLS];
    int64_t ids[ROWS], seeds[N_COLS][ROWS];
    int set[N_COLS], n_set = 0;
    Vec vals[N_COLS];
    for (int64_t i = 0, row = rnd_below(ROWS); i < n; i++) ids[i] = (row + 7 * i) % ROWS;
    for (int c = NUMBER; c < N_COLS; c++)
        if (rnd_below(3) == 0 || (c == N_COLS - 1 && n_set == 0)) set[n_set++] = c;
    for (int s = 0; s < n_set; s++) {
        for (int64_t i = 0; i < n; i++) seeds[s][i] = new_seed(set[s]);
        vals[s] = vec_of(t, set[s], n, seeds[s], &cells[s]);
    }
    TRY(table_update(t, n, ids, n_set, set, vals, undo, e));
    for (int s = 0; s < n_set; s++)
        for (int64_t i = 0; i < n; i++) m->seed[ids[i]][set[s]] = seeds[s][i];
    return ST_OK;
}
static void update(Table *t, Model *m, int64_t n, UndoLog *undo) {
    Err e = {0};
    if (update_rows(t, m, n, undo, &e) != ST_OK) fail_msg("%s", e.message);
}
static void publish(Table *t) {
    TableVersion *v = NULL;
    Err e = {0};
    if (table_version_prepare(t, &v, &e) != ST_OK) fail_msg("%s", e.message);
    table_versions_install(domain, 1, &v);
}

/* A reader: its version has what was published. */
typedef struct Reader {
    EpochSlot *slot;
    bool pinned;
    Model model;
} Reader;
static void reader_turn(Reader *r, const Table *t, const Model *published) {
    if (r->pinned) {
        check(table_version_at(t, r->slot), &r->model);
        epoch_unpin(r->slot);
    } else {
        epoch_pin(r->slot, "statement", 0);
        r->model = *published;
    }
    r->pinned = !r->pinned;
}

static void test_random(void **state) {
    (void)state;
    static Model now, before, mark_model, published;
    static Reader readers[3];
    Table *t = make_table();
    fill(t, &now);
    check(t, &now);
    publish(t);
    published = now;
    for (int i = 0; i < ARRAY_LEN(readers); i++)
        assert_int_equal(epoch_register(domain, 1, &readers[i].slot, NULL), ST_OK);
    UndoLog *log = undo_new(&root, NULL);
    bool open = false;
    int64_t mark = 0, patched = 0, open_patched = 0;
    for (int step = 0; step < 500; step++) {
        int64_t what = rnd_below(20), n = rnd_below(5) ? 1 + rnd_below(3) : 1 + rnd_below(60);
        if (!open && what < 3) {
            open = true;
            before = mark_model = now;
            mark = 0;
        }
        if (what < 10) update(t, &now, n, open ? log : NULL);
        if (open && what == 10) mark = undo_mark(log), mark_model = now;
        if (open && what == 11) undo_rollback(log, mark), now = mark_model;
        if (open && what == 12) { /* hidden, published as others see it, and shown again */
            assert_int_equal(undo_reserve(log, 0, NULL), ST_OK);
            undo_hide(log);
            check(t, &before);
            publish(t);
            published = before;
            reader_turn(&readers[rnd_below(3)], t, &published);
            undo_show(log, false);
        }
        if (open && what == 13) undo_rollback(log, 0), now = before, open = false;
        if (open && what == 14) { /* committed, and published before the log is forgotten */
            undo_set_committed(log, true);
            publish(t);
            published = now;
            undo_forget(log);
            open = false;
        }
        if (!open && what == 15) publish(t), published = now;
        if (what >= 16 && what < 18) reader_turn(&readers[rnd_below(3)], t, &published);
        if (what == 18) check_saved(t, &now);
        if (!open && what == 19 && rnd_below(3) == 0) assert_int_equal(table_merge(t, NULL, NULL), ST_OK);
        check(t, &now);
        patched += tablet_has_patches(t->tablets[0]);
        for (int c = 0; c < t->n_cols; c++)
            open_patched += t->tablets[0]->cols[c].is_delta && t->tablets[0]->cols[c].patches;
    }
    assert_true(patched > 200 && open_patched > 200);
    undo_free(log);
    for (int i = 0; i < ARRAY_LEN(readers); i++) {
        if (readers[i].pinned) reader_turn(&readers[i], t, &published);
        epoch_unregister(readers[i].slot);
    }
    table_free(t);
    while (epoch_reclaim(domain, EPOCH_BATCH)) {}
}

/* A column with few patches is patched; the one row too many opens it; a value that its codes cannot have does, too. */
static void test_forms(void **state) {
    (void)state;
    Table *t = make_table();
    static Model m;
    fill(t, &m);
    Tablet *tab = t->tablets[0];
    int64_t limit = tablet_patch_limit(tab, NUMBER), ids[ROWS], seeds[ROWS];
    static Cells cells;
    assert_int_equal(limit, ROWS / 20);
    for (int64_t i = 0; i <= limit; i++) ids[i] = i, seeds[i] = i + 1;
    Vec v = vec_of(t, NUMBER, limit, seeds, &cells);
    assert_int_equal(table_update(t, limit, ids, 1, (int[]){NUMBER}, &v, NULL, NULL), ST_OK);
    assert_true(tab->cols[NUMBER].patches && tab->cols[NUMBER].patches->n == limit);
    assert_int_equal(table_update(t, limit, ids, 1, (int[]){NUMBER}, &v, NULL, NULL), ST_OK);
    const int64_t bytes = tablet_bytes(tab), packed = tab->block->size;
    assert_true(bytes - packed >= limit * 8 && bytes - packed < limit * 64);
    assert_int_equal(table_update(t, 1, &ids[limit], 1, (int[]){NUMBER}, &v, NULL, NULL), ST_OK);
    assert_true(!tab->cols[NUMBER].patches && tab->cols[NUMBER].is_delta);
    v = vec_of(t, NARROW, 1, (int64_t[]){4097}, &cells);
    assert_true(tab->cols[NARROW].encoding == ENC_FOR);
    assert_int_equal(table_update(t, 1, ids, 1, (int[]){NARROW}, &v, NULL, NULL), ST_OK);
    assert_true(tab->cols[NARROW].is_delta && !tab->cols[NARROW].has_minmax);
    assert_int_equal(table_delta_rows(t), 0); /* nothing for a merge to gain */
    v = vec_of(t, ID, 1, (int64_t[]){ROWS + 1}, &cells);
    assert_int_equal(table_update(t, 1, ids, 1, (int[]){ID}, &v, NULL, NULL), ST_OK); /* a key: the row moves */
    assert_true(tab->n_deleted == 1 && t->n_tablets == 2);
    table_free(t);
    while (epoch_reclaim(domain, EPOCH_BATCH)) {}
}

/* Whatever allocation fails, the table stays as it was. */
static void test_out_of_memory(void **state) {
    (void)state;
    static Model now, was;
    Table *t = make_table();
    fill(t, &now);
    publish(t);
    for (int i = 0; i < 40; i++) {
        int64_t limit = atomic_load(&root.used);
        Status st = ST_ERROR;
        Err e = {0};
        was = now;
        while (st != ST_OK) {
            atomic_store(&root.limit, limit);
            st = update_rows(t, &now, 1 + rnd_below(20), NULL, &e);
            atomic_store(&root.limit, 0);
            if (st != ST_OK) check(t, &was);
            limit += 1 + rnd_below(3000);
        }
        check(t, &now);
        if (i % 3 == 0) publish(t);
    }
    table_free(t);
    while (epoch_reclaim(domain, EPOCH_BATCH)) {}
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_random, versions_setup, versions_teardown),
        cmocka_unit_test_setup_teardown(test_forms, versions_setup, versions_teardown),
        cmocka_unit_test_setup_teardown(test_out_of_memory, versions_setup, versions_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
