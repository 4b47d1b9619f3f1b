/* test_table_version.c - versions of tables: what is pinned stays as it was while the table is appended to, updated,
 * deleted from, merged, truncated and dropped; lookups by key; sharing; out of memory; readers beside a writer. */
#include "unit.h"

#include <pthread.h>
#include <stdlib.h>

#include "storage/storage_int.h"
#include "storage/table_version.h"
#include "unit_random.h"
#include "unit_versions.h"

enum { ID, BALANCE, NAME, FLAG, N_COLS };

static Table *make_table(const char *name) {
    ColumnDef cols[N_COLS] = {{.name = "id", .type = type_make(T_INT8), .not_null = true},
                              {.name = "balance", .type = type_make(T_INT8)},
                              {.name = "name", .type = type_make(T_TEXT)},
                              {.name = "flag", .type = type_make(T_BOOL)}};
    KeyDef keys[] = {{.name = "pk", .primary = true, .n_cols = 1, .cols = (int[]){ID}},
                     {.name = "named", .n_cols = 2, .cols = (int[]){NAME, ID}}};
    Table *t = NULL;
    Err e = {0};
    assert_int_equal(table_new(&root, name, N_COLS, cols, 2, keys, 0, NULL, &t, &e), ST_OK);
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
static int64_t waiting(void) {
    EpochStats s;
    reclaim();
    epoch_stats(domain, &s);
    return s.waiting;
}

/* ---- writing ---- */
static int64_t name_of(char *buf, int64_t id, int64_t kinds) {
    return snprintf(buf, 32, "name of %d", (int)(id % kinds));
}
/* Rows first, first + 1, ... with one balance; every 5th name and every 3rd flag is NULL. */
static Status append_status(Table *t, int64_t first, int64_t n, int64_t balance, int64_t kinds, UndoLog *undo, Err *e) {
    int64_t *ids = calloc((size_t)n, 8);
    Str *names = calloc((size_t)n, sizeof *names);
    char(*texts)[32] = calloc((size_t)n, 32);
    uint8_t *valid = calloc((size_t)n, 1), *flags = calloc((size_t)n, 1), *flag_valid = calloc((size_t)n, 1);
    for (int64_t i = 0; i < n; i++) {
        ids[i] = first + i;
        names[i] = str_make(texts[i], name_of(texts[i], first + i, kinds));
        valid[i] = (first + i) % 5 != 0;
        if (!valid[i]) memset(&names[i], 0, sizeof names[i]);
        flags[i] = (first + i) % 3 == 1;
        flag_valid[i] = (first + i) % 3 != 0;
    }
    Vec v[N_COLS] = {{.data = ids, .phys = PH_I64, .type = type_make(T_INT8)},
                     {.data = &balance, .phys = PH_I64, .is_const = true, .type = type_make(T_INT8)},
                     {.data = names, .valid = valid, .phys = PH_STR, .type = type_make(T_TEXT)},
                     {.data = flags, .valid = flag_valid, .phys = PH_BOOL, .type = type_make(T_BOOL)}};
    Status st = table_append(t, n, v, undo, NULL, e);
    free(ids);
    free(names);
    free(texts);
    free(valid);
    free(flags);
    free(flag_valid);
    return st;
}
static void append(Table *t, int64_t first, int64_t n, int64_t balance, int64_t kinds, UndoLog *undo) {
    Err e = {0};
    if (append_status(t, first, n, balance, kinds, undo, &e) != ST_OK) fail_msg("%s", e.message);
}
static int64_t balance_at(const Table *t, int64_t rowid) {
    Value v;
    table_value(t, rowid, BALANCE, &v);
    return v.u.i64;
}
static bool row_lives(const Table *t, int64_t rowid) {
    int64_t tab = rowid >> 32, row = rowid & 0xffffffff;
    return tab < t->n_tablets && row < t->tablets[tab]->rows && !tablet_row_deleted(t->tablets[tab], row);
}
static void set_balance(Table *t, int64_t rowid, int64_t balance, UndoLog *undo) {
    Vec v = {.data = &balance, .phys = PH_I64, .type = type_make(T_INT8)};
    assert_int_equal(table_update(t, 1, &rowid, 1, (int[]){BALANCE}, &v, undo, NULL), ST_OK);
}
/* Both keys have the column. */
static void set_id(Table *t, int64_t rowid, int64_t id, UndoLog *undo) {
    Vec v = {.data = &id, .phys = PH_I64, .type = type_make(T_INT8)};
    assert_int_equal(table_update(t, 1, &rowid, 1, (int[]){ID}, &v, undo, NULL), ST_OK);
}
static void delete_row(Table *t, int64_t rowid, UndoLog *undo) {
    int64_t done;
    assert_int_equal(table_delete(t, 1, &rowid, undo, &done, NULL), ST_OK);
}
static int64_t a_row(const Table *t) { /* -1: there is none */
    for (int tries = 0; t->n_tablets && tries < 100; tries++) {
        int64_t tab = rnd_below(t->n_tablets);
        if (t->tablets[tab]->rows == 0) continue;
        int64_t rowid = rowid_make(tab, rnd_below(t->tablets[tab]->rows));
        if (row_lives(t, rowid)) return rowid;
    }
    return -1;
}
static void publish(Table *t) {
    TableVersion *v = NULL;
    Err e = {0};
    if (table_version_prepare(t, &v, &e) != ST_OK) fail_msg("%s", e.message);
    table_versions_install(domain, 1, &v);
}

/* ---- reading, by the functions that scans use ---- */
typedef struct Digest {
    int64_t rows, sum;
    uint64_t hash; /* of rows in any order */
} Digest;
enum { VECTOR = 1000 };
static Digest digest(const Table *t) {
    Digest d = {0};
    static _Thread_local int32_t pos[VECTOR];
    static _Thread_local int64_t ids[VECTOR], balances[VECTOR];
    static _Thread_local Str names[VECTOR];
    static _Thread_local uint8_t flags[VECTOR], valid[N_COLS][VECTOR];
    for (int64_t k = 0; k < t->n_tablets; k++) {
        const Tablet *tab = t->tablets[k];
        for (int64_t first = 0; first < tab->rows; first += VECTOR) {
            bool same, nulls;
            int64_t n = MIN_OF(VECTOR, tab->rows - first);
            n = tablet_live_rows(tab, first, n, pos, &same);
            if (same)
                for (int64_t i = 0; i < n; i++) pos[i] = (int32_t)(first + i);
            memset(valid, 1, sizeof valid);
            tablet_decode(t, tab, ID, 0, pos, n, PH_I64, ids, valid[ID], &nulls);
            tablet_decode(t, tab, BALANCE, 0, pos, n, PH_I64, balances, valid[BALANCE], &nulls);
            tablet_decode(t, tab, NAME, 0, pos, n, PH_STR, names, valid[NAME], &nulls);
            tablet_decode(t, tab, FLAG, 0, pos, n, PH_BOOL, flags, valid[FLAG], &nulls);
            for (int64_t i = 0; i < n; i++) {
                uint64_t h = hash_u64((uint64_t)ids[i]) ^ hash_u64((uint64_t)balances[i] * 3);
                h ^= valid[NAME][i] ? hash_bytes(names[i].ptr, names[i].len) : 1;
                d.hash += hash_u64(h ^ (valid[FLAG][i] ? 2u + flags[i] : 0));
                d.sum += balances[i];
            }
            d.rows += n;
        }
    }
    return d;
}
static void assert_same(Digest a, Digest b) {
    assert_int_equal(a.rows, b.rows);
    assert_int_equal(a.sum, b.sum);
    assert_int_equal(a.hash, b.hash);
}
static void verify(const Table *view) {
    Err e = {0};
    if (table_version_verify(view, &e) != ST_OK) fail_msg("%s", e.message);
}

/* What has a name stays what it was: open cells with an id that was seen before begin as they did then. */
enum { SEEN_IDS = 256 };
typedef struct SeenCells {
    uint64_t id;
    int64_t bytes;
    char *cells;
} SeenCells;
static SeenCells seen[SEEN_IDS];
static int64_t seen_again;
static void check_ids(const Table *view) {
    for (int64_t i = 0; i < view->n_tablets; i++)
        for (int c = 0; c < N_COLS; c++) {
            const OpenCells x = table_version_cells(view, i, c);
            const TabletColumn *tc = &view->tablets[i]->cols[c];
            SeenCells *s = &seen[x.id % SEEN_IDS];
            if (x.id == 0) continue;
            const int64_t bytes = view->tablets[i]->rows * phys_size((Phys)tc->phys);
            assert_true(tc->is_delta && bytes <= x.bytes);
            seen_again += s->id == x.id;
            if (s->id == x.id) assert_memory_equal(s->cells, tc->data, (size_t)MIN_OF(bytes, s->bytes));
            if (s->id == x.id && bytes <= s->bytes) continue;
            if (s->id > x.id) continue; /* of an old version: its place has gone to others */
            *s = (SeenCells){x.id, bytes, realloc(s->cells, (size_t)bytes + 1)};
            memcpy(s->cells, tc->data, (size_t)bytes);
        }
}
static void forget_ids(void) {
    for (int i = 0; i < SEEN_IDS; i++) {
        free(seen[i].cells);
        seen[i] = (SeenCells){0};
    }
}

/* ---- reading by key ---- */
static int64_t find_id(const Table *t, int64_t id) {
    Value v = {.type = type_make(T_INT8), .u.i64 = id};
    return table_lookup(t, 0, &v);
}
static int64_t find_named(const Table *t, Value name, int64_t id) {
    Value v[2] = {name, {.type = type_make(T_INT8), .u.i64 = id}};
    return table_lookup(t, 1, v);
}
/* Where each id below n is, as a scan finds it; -1: nowhere. The others are left out. */
static int64_t *places(const Table *t, int64_t n) {
    int64_t *at = malloc((size_t)(n ? n : 1) * 8);
    for (int64_t i = 0; i < n; i++) at[i] = -1;
    for (int64_t k = 0; k < t->n_tablets; k++)
        for (int64_t row = 0; row < t->tablets[k]->rows; row++) {
            if (tablet_row_deleted(t->tablets[k], row)) continue;
            int64_t id = column_i64(&t->tablets[k]->cols[ID], row);
            if (id < n) at[id] = rowid_make(k, row);
        }
    return at;
}
/* Whether both keys find the id where it is, and not with another name. */
static bool finds(const Table *t, const int64_t *at, int64_t id) {
    Value name = {.type = type_make(T_TEXT), .u.str = str_make("no such name", 12)};
    bool ok = find_id(t, id) == at[id] && find_named(t, name, id) == -1;
    if (at[id] < 0) return ok;
    table_value(t, at[id], NAME, &name);
    return ok && find_named(t, name, id) == (name.is_null ? -1 : at[id]);
}
static void assert_finds_all(const Table *t, const int64_t *at, int64_t n) {
    for (int64_t id = 0; id < n; id++) assert_true(finds(t, at, id));
}

/* ---- cases ---- */
static void test_versions(void **state) {
    (void)state;
    Table *t = make_table("t");
    EpochSlot *a = slot(), *b = slot();
    epoch_pin(a, "statement", 0);
    assert_null(table_version_at(t, a));
    append(t, 0, 100, 10, 7, NULL);
    publish(t);
    assert_null(table_version_at(t, a)); /* not in its epoch */
    epoch_unpin(a);
    uint64_t p = epoch_pin(a, "statement", 0);
    const Table *v = table_version_at(t, a);
    assert_int_equal(table_version_birth(v), p);
    assert_int_equal(v->live_rows, 100);
    assert_same(digest(v), digest(t));
    append(t, 100, 50, 10, 7, NULL); /* behind the published rows */
    assert_int_equal(digest(v).rows, 100);
    publish(t);
    assert_ptr_equal(table_version_at(t, a), v);
    epoch_pin_narrow(a);
    assert_ptr_equal(table_version_at(t, a), v);
    epoch_pin(b, "statement", 0);
    const Table *w = table_version_at(t, b);
    assert_int_equal(digest(w).rows, 150);
    assert_ptr_equal(w->tablets[0]->cols[BALANCE].data == v->tablets[0]->cols[BALANCE].data, false); /* it grew */
    verify(v);
    verify(w);
    set_balance(t, rowid_make(0, 3), 99, NULL);
    assert_int_equal(balance_at(v, rowid_make(0, 3)), 10);
    assert_int_equal(balance_at(w, rowid_make(0, 3)), 10);
    publish(t);
    assert_int_equal(waiting(), 2);
    assert_true(epoch_unpin(a));
    assert_int_equal(waiting(), 1);
    assert_true(epoch_unpin(b));
    assert_int_equal(waiting(), 0);
    epoch_unregister(a);
    epoch_unregister(b);
    table_free(t);
}

/* A column of a main tablet is opened after it was published, is published open, and changes again. */
static void test_opened(void **state) {
    (void)state;
    Table *t = make_table("t");
    EpochSlot *a = slot(), *b = slot();
    append(t, 0, 1000, 10, 7, NULL);
    assert_int_equal(table_merge(t, NULL, NULL), ST_OK);
    publish(t);
    epoch_pin(a, "statement", 0);
    const Table *v = table_version_at(t, a);
    Digest packed = digest(v);
    for (int i = 0; i < 10; i++) set_balance(t, rowid_make(0, i), 20 + i, NULL);
    assert_true(t->tablets[0]->cols[BALANCE].patches && !v->tablets[0]->cols[BALANCE].patches);
    for (int i = 0; i < 100; i++) set_balance(t, rowid_make(0, 500 + i), 30 + i, NULL);
    assert_true(t->n_tablets == 1 && t->tablets[0]->cols[BALANCE].is_delta);
    assert_false(v->tablets[0]->cols[BALANCE].is_delta);
    assert_same(digest(v), packed);
    publish(t);
    epoch_pin(b, "statement", 0);
    const Table *w = table_version_at(t, b);
    Digest open = digest(w);
    assert_same(open, digest(t));
    const TabletColumn *now = &t->tablets[0]->cols[BALANCE], *then = &w->tablets[0]->cols[BALANCE];
    assert_ptr_equal(then->data, now->data);
    for (int i = 0; i < 16; i++) { /* few new cells are beside shared ones */
        set_balance(t, rowid_make(0, 600 + i), 99, NULL);
        assert_ptr_equal(then->data, now->data);
        assert_int_equal(now->patches->n, i + 1);
    }
    assert_same(digest(w), open);
    set_balance(t, rowid_make(0, 700), 99, NULL); /* more are not worth it */
    assert_true(then->data != now->data && !now->patches);
    assert_same(digest(w), open);
    assert_same(digest(v), packed);
    verify(v);
    verify(w);
    publish(t);
    epoch_unpin(a);
    epoch_unpin(b);
    assert_int_equal(waiting(), 0);
    epoch_unregister(a);
    epoch_unregister(b);
    table_free(t);
}

/* Few changes of cells that a version shares lie beside them; rows that none has change in place, also when they go
 * again. Undoing takes no memory. */
static void test_beside_shared(void **state) {
    (void)state;
    Table *t = make_table("t");
    EpochSlot *a = slot();
    UndoLog *u = undo_new(&root, NULL);
    append(t, 0, 100, 10, 7, NULL);
    publish(t);
    epoch_pin(a, "statement", 0);
    const Table *v = table_version_at(t, a);
    const TabletColumn *c = &t->tablets[0]->cols[BALANCE];
    const Digest was = digest(v);
    append(t, 100, 5, 10, 7, u);
    set_balance(t, 102, 77, u);
    assert_null(c->patches);
    set_balance(t, 3, 78, u);
    set_balance(t, 102, 79, u);
    assert_int_equal(c->patches->n, 1);
    assert_true(balance_at(t, 3) == 78 && balance_at(t, 102) == 79);
    assert_same(digest(v), was);
    atomic_store(&root.limit, atomic_load(&root.used));
    undo_rollback(u, 0);
    atomic_store(&root.limit, 0);
    assert_int_equal(t->tablets[0]->rows, 100);
    assert_int_equal(table_verify(t, NULL), ST_OK);
    assert_same(digest(t), was);
    append(t, 100, 5, 20, 7, NULL);
    assert_int_equal(balance_at(t, 102), 20);
    set_balance(t, 4, 80, NULL);
    assert_int_equal(c->patches->n, 2);
    assert_same(digest(v), was);
    const void *cells = c->data;
    const uint64_t id = table_version_cells(v, 0, BALANCE).id;
    assert_true(id != 0);
    assert_int_equal(table_version_cells(t, 0, BALANCE).id, 0);
    epoch_unpin(a);
    (void)epoch_boundary_begin(domain);
    table_versions_unpublish(t);
    epoch_boundary_end(domain);
    assert_int_equal(waiting(), 0);
    set_balance(t, 5, 81, NULL); /* nobody else has the cells: all are where they belong again */
    assert_null(c->patches);
    assert_true(balance_at(t, 3) == 10 && balance_at(t, 4) == 80 && balance_at(t, 5) == 81 && balance_at(t, 6) == 10);
    assert_int_equal(table_verify(t, NULL), ST_OK);
    publish(t); /* the same memory, but not the same cells */
    v = table_version_current(t);
    assert_ptr_equal(v->tablets[0]->cols[BALANCE].data, cells);
    assert_true(table_version_cells(v, 0, BALANCE).id > id);
    undo_free(u);
    epoch_unregister(a);
    table_free(t);
}

/* Only what changed is copied. */
static void test_sharing(void **state) {
    (void)state;
    Table *t = make_table("t");
    EpochSlot *s[4];
    const Table *v[4];
    append(t, 0, 1000, 10, 7, NULL);
    assert_int_equal(table_merge(t, NULL, NULL), ST_OK);
    assert_non_null(t->cols[NAME].dict);
    append(t, 1000, 100, 10, 7, NULL);
    for (int i = 0; i < 4; i++) {
        int64_t row = rowid_make(0, 1), done;
        if (i == 1) set_balance(t, rowid_make(1, 5), 11, NULL);
        if (i == 2) assert_int_equal(table_delete(t, 1, &row, NULL, &done, NULL), ST_OK);
        if (i == 3) append(t, 1100, 1, 10, 7, NULL);
        publish(t);
        s[i] = slot();
        epoch_pin(s[i], "statement", 0);
        v[i] = table_version_at(t, s[i]);
        verify(v[i]);
    }
    assert_ptr_equal(v[0]->tablets[0], v[1]->tablets[0]);
    assert_ptr_not_equal(v[0]->tablets[1], v[1]->tablets[1]);
    assert_ptr_equal(v[0]->tablets[1]->cols[BALANCE].data, v[1]->tablets[1]->cols[BALANCE].data); /* beside it */
    assert_null(v[0]->tablets[1]->cols[BALANCE].patches);
    assert_int_equal(v[1]->tablets[1]->cols[BALANCE].patches->n, 1);
    assert_ptr_equal(v[1]->tablets[1]->cols[BALANCE].patches, v[3]->tablets[1]->cols[BALANCE].patches);
    assert_ptr_equal(v[0]->tablets[1]->cols[ID].data, v[1]->tablets[1]->cols[ID].data);
    assert_ptr_not_equal(v[1]->tablets[0], v[2]->tablets[0]);
    assert_ptr_equal(v[1]->tablets[0]->cols[ID].data, v[2]->tablets[0]->cols[ID].data); /* the bitmap only */
    assert_ptr_equal(v[1]->tablets[1], v[2]->tablets[1]);
    assert_ptr_equal(v[2]->tablets[1]->cols[BALANCE].data, v[3]->tablets[1]->cols[BALANCE].data); /* appended behind */
    assert_ptr_equal(v[0]->cols[NAME].dict, v[3]->cols[NAME].dict);
    for (int i = 0; i < 4; i++) {
        epoch_unpin(s[i]);
        epoch_unregister(s[i]);
    }
    /* Nothing else uses the cells any more but the current version; without it there is nothing to copy. */
    table_free(t);
}

static void test_dictionary(void **state) {
    (void)state;
    Table *t = make_table("t");
    EpochSlot *s = slot();
    append(t, 0, 1000, 10, 7, NULL);
    assert_int_equal(table_merge(t, NULL, NULL), ST_OK);
    publish(t);
    epoch_pin(s, "statement", 0);
    const Table *v = table_version_at(t, s);
    Digest before = digest(v);
    const Dict *d = v->cols[NAME].dict;
    int32_t n = d->n;
    for (int64_t i = 0; i < 20; i++) { /* it grows several times */
        append(t, 1000 + i * 100, 100, 10, 500, NULL);
        if (i % 3 == 0) publish(t);
    }
    assert_true(t->cols[NAME].dict->n > 400);
    assert_int_equal(d->n, n);
    assert_int_equal(dict_find(d, str_make("name of 3", 9)), dict_find(t->cols[NAME].dict, str_make("name of 3", 9)));
    assert_true(dict_find(t->cols[NAME].dict, str_make("name of 444", 11)) >= 0);
    assert_int_equal(dict_find(d, str_make("name of 444", 11)), -1);
    assert_same(digest(v), before);
    verify(v);
    assert_int_equal(table_merge(t, NULL, NULL), ST_OK); /* another dictionary */
    publish(t);
    assert_same(digest(v), before);
    epoch_unpin(s);
    epoch_unregister(s);
    table_free(t);
}

/* Keys as of a version: after growth, deletes, updates of keys, sweeps, a merge and a truncation of the table. */
static void test_keys(void **state) {
    (void)state;
    enum { N = 8000 };
    Table *t = make_table("t");
    EpochSlot *s = slot();
    publish(t);
    epoch_pin(s, "statement", 0);
    const Table *empty = table_version_at(t, s);
    assert_null(empty->keys[0].index->now.slots);
    append(t, 0, 1000, 10, 7, NULL);
    assert_int_equal(table_merge(t, NULL, NULL), ST_OK);
    append(t, 1000, 500, 10, 7, NULL);
    publish(t);
    EpochSlot *s2 = slot();
    epoch_pin(s2, "statement", 0);
    const Table *v = table_version_at(t, s2);
    int64_t *at = places(v, N);
    const HashIndex *now = t->keys[0].index, *then = v->keys[0].index;
    assert_int_equal(then->sorted_tablets, 1);
    assert_ptr_equal(then->now.slots, now->now.slots);
    assert_finds_all(v, at, N);
    append(t, 1500, 1, 10, 7, NULL); /* in the same slots, behind the version's rows */
    assert_ptr_equal(then->now.slots, now->now.slots);
    assert_int_equal(find_id(t, 1500), rowid_make(1, 500));
    assert_int_equal(find_id(v, 1500), -1);
    set_id(t, rowid_make(1, 3), 7000, NULL); /* in place; the version's row has the old key */
    set_id(t, rowid_make(0, 4), 7001, NULL); /* moves */
    delete_row(t, rowid_make(1, 9), NULL);
    set_id(t, rowid_make(1, 10), 1009, NULL); /* a key that the version has elsewhere */
    assert_ptr_equal(then->now.slots, now->now.slots);
    assert_int_equal(find_id(t, 7000), rowid_make(1, 3));
    assert_finds_all(v, at, N);
    verify(v);
    append(t, 1501, 3000, 10, 7, NULL);
    assert_ptr_not_equal(then->now.slots, now->now.slots); /* grown */
    assert_finds_all(v, at, N);
    publish(t);
    for (int64_t row = 0; row < t->tablets[1]->rows; row++)
        if (row_lives(t, rowid_make(1, row))) delete_row(t, rowid_make(1, row), NULL);
    int64_t used = now->used;
    append(t, 1000, 2000, 10, 7, NULL);
    assert_true(now->used < used); /* swept */
    assert_finds_all(v, at, N);
    publish(t);
    assert_int_equal(table_merge(t, NULL, NULL), ST_OK);
    publish(t);
    assert_finds_all(v, at, N);
    assert_int_equal(table_truncate(t, NULL, NULL), ST_OK);
    publish(t);
    assert_finds_all(v, at, N);
    verify(v);
    free(at);
    assert_int_equal(find_id(empty, 1), -1);
    epoch_unpin(s);
    epoch_unpin(s2);
    assert_int_equal(waiting(), 0);
    epoch_unregister(s);
    epoch_unregister(s2);
    table_free(t);
}

/* Slots belong to the last version that has them, or to the table when no version does. */
static void test_slots_are_freed(void **state) {
    (void)state;
    Table *t = make_table("t");
    EpochSlot *s = slot();
    append(t, 0, 1000, 10, 7, NULL);
    publish(t);
    epoch_pin(s, "statement", 0);
    const Table *v = table_version_at(t, s);
    epoch_pin_narrow(s);
    const SharedBytes *share = v->keys[0].index->now.share;
    assert_int_equal(atomic_load(&share->refs), 2);
    append(t, 1000, 1, 10, 7, NULL);
    publish(t);
    assert_int_equal(atomic_load(&share->refs), 3);
    append(t, 1001, 5000, 10, 7, NULL);
    publish(t);
    reclaim();
    assert_int_equal(atomic_load(&share->refs), 1); /* of the pinned version */
    table_free(t);
    assert_int_equal(find_id(v, 999), rowid_make(0, 999));
    assert_int_equal(find_id(v, 1000), -1);
    epoch_unpin(s);
    assert_int_equal(waiting(), 0);
    epoch_unregister(s);
}

static void test_uncommitted(void **state) {
    (void)state;
    Table *t = make_table("t");
    TableVersion *v = NULL;
    Err e = {0};
    UndoLog *u = undo_new(&root, NULL);
    append(t, 0, 10, 10, 7, u);
    assert_int_equal(table_version_prepare(t, &v, &e), ST_ERROR);
    assert_string_equal(e.sqlstate, ERR_NOT_IN_STATE);
    undo_forget(u);
    publish(t);
    EpochSlot *s = slot();
    epoch_pin(s, "statement", 0);
    const Table *before = table_version_at(t, s);
    Digest d = digest(before);
    for (int64_t i = 0; i < 10; i++) set_balance(t, rowid_make(0, i), -1, u);
    append(t, 10, 1000, 10, 7, u);
    assert_same(digest(before), d);
    undo_rollback(u, 0);
    assert_same(digest(before), d);
    publish(t);
    assert_same(digest(t), d);
    undo_free(u);
    epoch_unpin(s);
    epoch_unregister(s);
    table_free(t);
}

/* The log of the transaction that commits counts as committed while versions are made with it. */
static void test_committing(void **state) {
    (void)state;
    Table *t = make_table("t");
    append(t, 0, 10, 10, 7, NULL);
    publish(t);
    EpochSlot *s = slot();
    epoch_pin(s, "statement", 0);
    const Table *before = table_version_at(t, s);
    Digest d = digest(before);
    UndoLog *u = undo_new(&root, NULL);
    TableVersion *v = NULL;
    set_balance(t, rowid_make(0, 1), 11, u);
    append(t, 10, 5, 10, 7, u);
    delete_row(t, rowid_make(0, 2), u);
    Digest changed = digest(t);
    assert_false(table_is_committed(t));
    assert_int_equal(table_version_prepare(t, &v, NULL), ST_ERROR);
    undo_set_committed(u, true);
    assert_true(table_is_committed(t));
    assert_int_equal(table_version_prepare(t, &v, NULL), ST_OK);
    table_version_discard(v); /* of another table there was none */
    undo_set_committed(u, false);
    assert_false(table_is_committed(t));
    undo_rollback(u, 0);
    assert_same(digest(t), d);
    assert_int_equal(t->tablets[0]->rows, 15); /* a version might have seen them */
    publish(t);
    set_balance(t, rowid_make(0, 1), 11, u);
    append(t, 10, 5, 10, 7, u);
    delete_row(t, rowid_make(0, 2), u);
    undo_set_committed(u, true);
    publish(t);
    assert_same(digest(t), changed);
    /* Kept to go back behind it: hidden, the table is not as committed. */
    undo_hide(u);
    assert_same(digest(t), d);
    assert_false(table_is_committed(t));
    undo_show(u, false);
    assert_true(table_is_committed(t));
    UndoLog *kept = undo_new(&root, NULL), *next = undo_new(&root, NULL);
    int64_t bytes;
    set_balance(t, rowid_make(0, 3), 12, next);
    undo_set_committed(next, true);
    assert_int_equal(undo_move(u, kept, true, &bytes, NULL), ST_OK);
    assert_int_equal(undo_move(next, kept, true, &bytes, NULL), ST_OK);
    assert_true(table_is_committed(t));
    publish(t);
    undo_free(kept);
    undo_free(next);
    undo_free(u);
    assert_true(table_is_committed(t));
    assert_false(table_has_undo(t));
    assert_same(digest(before), d);
    epoch_unpin(s);
    epoch_unregister(s);
    table_free(t);
}

/* Cells and rows of a log that is hidden are published; what it writes later is not in the version. */
static void test_hidden_log(void **state) {
    (void)state;
    Table *t = make_table("t");
    append(t, 0, 100, 10, 7, NULL);
    UndoLog *u = undo_new(&root, NULL);
    for (int64_t i = 0; i < 10; i++) set_balance(t, rowid_make(0, i), 1000, u);
    append(t, 100, 10, 1000, 7, u);
    delete_row(t, rowid_make(0, 50), u);
    Digest own = digest(t);
    assert_int_equal(undo_reserve(u, 0, NULL), ST_OK);
    undo_hide(u);
    assert_true(table_is_committed(t));
    assert_true(table_has_undo(t));
    publish(t);
    EpochSlot *s = slot();
    epoch_pin(s, "statement", 0);
    const Table *v = table_version_at(t, s);
    Digest d = digest(v);
    int64_t *at = places(v, 200);
    assert_int_equal(d.rows, 100);
    assert_int_equal(find_id(v, 105), -1);
    const void *ids = t->tablets[0]->cols[ID].data, *balances = t->tablets[0]->cols[BALANCE].data;
    mem_fail_at(1); /* and it needs no memory */
    undo_show(u, false);
    mem_fail_at(0);
    assert_same(digest(t), own);
    assert_same(digest(v), d);
    assert_ptr_equal(t->tablets[0]->cols[ID].data, ids);
    assert_ptr_not_equal(t->tablets[0]->cols[BALANCE].data, balances);
    undo_rollback(u, 0);
    assert_same(digest(t), d);
    append(t, 200, 10, 77, 7, NULL); /* not into rows that the version has */
    assert_int_equal(find_id(t, 200), rowid_make(0, 110));
    assert_same(digest(v), d);
    assert_finds_all(v, at, 200);
    verify(v);
    publish(t);
    free(at);
    undo_free(u);
    epoch_unpin(s);
    epoch_unregister(s);
    table_free(t);
}

/* Dropped, its versions stay for those who read them. */
static void test_drop(void **state) {
    (void)state;
    Table *t = make_table("t");
    append(t, 0, 1000, 10, 7, NULL);
    publish(t);
    EpochSlot *s = slot(), *cursor = slot();
    epoch_pin(s, "statement", 0);
    const Table *v = table_version_at(t, s);
    epoch_pin_narrow(s);
    epoch_pin_copy(cursor, s, "cursor", 0);
    epoch_unpin(s);
    table_free(t);
    assert_int_equal(waiting(), 2); /* the version, and the table's own memory */
    assert_int_equal(digest(v).sum, 10000);
    assert_string_equal(v->cols[NAME].name, "name");
    verify(v);
    epoch_unpin(cursor);
    assert_int_equal(waiting(), 0);
    epoch_unregister(s);
    epoch_unregister(cursor);
}

/* Each allocation of publishing fails once. */
static void test_out_of_memory(void **state) {
    (void)state;
    Table *t = make_table("t");
    append(t, 0, 1000, 10, 7, NULL);
    assert_int_equal(table_merge(t, NULL, NULL), ST_OK);
    append(t, 1000, 100, 10, 7, NULL);
    publish(t);
    EpochSlot *s = slot();
    epoch_pin(s, "statement", 0);
    const Table *v = table_version_at(t, s);
    Digest before = digest(v);
    int64_t n = 0, *at = places(v, 6000);
    for (bool ok = false; !ok; n++) {
        TableVersion *next = NULL;
        Err e = {0};
        set_balance(t, rowid_make(1, 7), n, NULL);
        append(t, 2000 + n * 150, 150, 10, 5000, NULL); /* slots grow and must be shared anew */
        mem_fail_at(n + 1);
        ok = table_version_prepare(t, &next, &e) == ST_OK;
        mem_fail_at(0);
        if (!ok) assert_string_equal(e.sqlstate, ERR_OUT_OF_MEMORY);
        assert_same(digest(v), before);
        assert_finds_all(v, at, 6000);
        if (ok && n % 2 == 0) table_version_discard(next);
        else if (ok) table_versions_install(domain, 1, &next);
    }
    assert_true(n > 4);
    /* And each of an update that has to copy, since the version before it shares the column. */
    publish(t);
    n = 0;
    for (bool ok = false; !ok;) {
        int64_t row = rowid_make(1, 9), x = 5;
        Vec b = {.data = &x, .phys = PH_I64, .type = type_make(T_INT8)};
        Digest was = digest(t);
        mem_fail_at(++n);
        ok = table_update(t, 1, &row, 1, (int[]){BALANCE}, &b, NULL, NULL) == ST_OK;
        mem_fail_at(0);
        if (!ok) assert_same(digest(t), was);
        assert_true(n < 100);
        assert_same(digest(v), before);
    }
    assert_true(n > 1);
    /* And each of an append for which the slots grow. */
    publish(t);
    const uint64_t *slots = t->keys[0].index->now.slots;
    n = 0;
    for (bool ok = false; !ok;) {
        Digest was = digest(t);
        mem_fail_at(++n);
        ok = append_status(t, 10000, 9000, 10, 7, NULL, NULL) == ST_OK;
        mem_fail_at(0);
        if (!ok) assert_same(digest(t), was);
        assert_true(n < 200);
        assert_finds_all(v, at, 6000);
    }
    assert_ptr_not_equal(t->keys[0].index->now.slots, slots);
    assert_int_equal(find_id(v, 10000), -1);
    free(at);
    publish(t);
    epoch_unpin(s);
    epoch_unregister(s);
    table_free(t);
}

/* Random changes, each followed by a version; up to PINS of them are kept and must stay what they were. */
enum { PINS = 12, KEYS = 100 };
/* Rows get other ids: new ones, or ones that no row has any more. */
static void change_ids(Table *t, int64_t *next_id, UndoLog *u) {
    for (int i = 0; i < 20; i++) {
        int64_t row = a_row(t), id = rnd() % 2 ? rnd_below(*next_id + 1) : *next_id;
        if (row < 0 || find_id(t, id) >= 0) continue;
        set_id(t, row, id, u);
        *next_id = MAX_OF(*next_id, id + 1);
    }
}
/* Many rows and few of them left, in the end: slots are swept. */
static void churn(Table *t, int64_t *next_id, UndoLog *u) {
    int64_t first = t->n_tablets ? t->tablets[t->n_tablets - 1]->rows : 0;
    append(t, *next_id, 2000, 10, 7, u);
    *next_id += 2000;
    for (int64_t i = 0, row; i < 1900; i++)
        if ((row = rowid_make(t->n_tablets - 1, first + i)), row_lives(t, row)) delete_row(t, row, u);
}
static void change(Table *t, int64_t *next_id) {
    UndoLog *u = undo_new(&root, NULL);
    int64_t rows[50], n = 0, done;
    switch (rnd_below(12)) {
    case 0:
    case 1:
    case 2: {
        int64_t k = 1 + rnd_below(300);
        append(t, *next_id, k, 10, 3 + *next_id / 10, u);
        *next_id += k;
        break;
    }
    case 3:
    case 4:
    case 5:
        for (int i = 0; i < 20; i++) {
            int64_t row = a_row(t);
            if (row >= 0) set_balance(t, row, rnd_below(1000), u);
        }
        break;
    case 6:
    case 7:
        for (; n < 50; n++) rows[n] = MAX_OF(a_row(t), 0);
        if (t->n_tablets) assert_int_equal(table_delete(t, n, rows, u, &done, NULL), ST_OK);
        break;
    case 8: assert_int_equal(table_merge(t, NULL, NULL), ST_OK); break;
    case 9:
    case 10:
        if (rnd() % 32 == 0) churn(t, next_id, u);
        else change_ids(t, next_id, u);
        break;
    default:
        if (rnd() % 8 == 0) assert_int_equal(table_truncate(t, u, NULL), ST_OK);
    }
    if (rnd() % 4 == 0) undo_rollback(u, 0);
    undo_free(u);
}
static void test_random(void **state) {
    (void)state;
    Table *t = make_table("t");
    int64_t next_id = 0;
    EpochSlot *s[PINS];
    const Table *v[PINS] = {0};
    Digest want[PINS];
    int64_t *at[PINS], ids[PINS], sweeps = 0;
    for (int i = 0; i < PINS; i++) s[i] = slot();
    for (int step = 0; step < 1500; step++) {
        int64_t used = t->keys[0].index->used, generation = t->impl->generation;
        change(t, &next_id);
        sweeps += generation == t->impl->generation && t->keys[0].index->used < used;
        publish(t);
        int i = (int)rnd_below(PINS);
        check_ids(table_version_current(t));
        if (v[i]) {
            assert_same(digest(v[i]), want[i]);
            check_ids(v[i]);
            for (int k = 0; k < KEYS && ids[i]; k++) assert_true(finds(v[i], at[i], rnd_below(ids[i])));
            if (next_id > ids[i]) assert_int_equal(find_id(v[i], ids[i] + rnd_below(next_id - ids[i])), -1);
            if (step % 10 == 0) verify(v[i]);
            free(at[i]);
            epoch_unpin(s[i]);
            v[i] = NULL;
        } else {
            epoch_pin(s[i], "statement", 0);
            v[i] = table_version_at(t, s[i]);
            want[i] = digest(v[i]);
            assert_same(want[i], digest(t));
            at[i] = places(t, ids[i] = next_id);
            if (step % 3) epoch_pin_narrow(s[i]);
        }
    }
    for (int i = 0; i < PINS; i++) {
        if (v[i]) {
            assert_finds_all(v[i], at[i], ids[i]);
            free(at[i]);
            epoch_unpin(s[i]);
        }
        epoch_unregister(s[i]);
    }
    assert_true(sweeps > 3);
    assert_true(seen_again > 1000);
    forget_ids();
    assert_int_equal(waiting(), 0);
    table_free(t);
}

/* ---- transactions side by side: between their steps they are hidden, and versions are published ---- */
enum { TXNS = 3 };
typedef struct Side {
    Table *t;
    UndoLog *log[TXNS];
    Digest committed; /* of the table without any of them */
    int64_t next_id, commits, failures;
    bool beside; /* of other threads, which may allocate: memory does not fail */
} Side;
static void side_fails_at(const Side *x, int64_t n) { mem_fail_at(x->beside ? 0 : n); }
static void side_begin(Side *x, Table *t) {
    *x = (Side){.t = t, .next_id = 1000};
    append(t, 0, x->next_id, 10, 7, NULL);
    publish(t);
    for (int i = 0; i < TXNS; i++) x->log[i] = undo_new(&root, NULL);
    x->committed = digest(t);
}
/* Rows that one of them may change are a residue class, so that they do not meet. */
static int64_t side_row(const Side *x, int i) {
    for (int tries = 0; tries < 20; tries++) {
        int64_t row = a_row(x->t);
        if (row >= 0 && row % TXNS == i) return row;
    }
    return -1;
}
static void side_change(Side *x, int i) {
    UndoLog *u = x->log[i];
    for (int64_t k = rnd_below(10), row; k >= 0; k--)
        if ((row = side_row(x, i)) >= 0) set_balance(x->t, row, rnd_below(1000), u);
    for (int64_t k = rnd_below(5), row; k > 0; k--)
        if ((row = side_row(x, i)) >= 0) set_id(x->t, row, x->next_id++, u);
    for (int64_t k = rnd_below(5), row; k > 0; k--)
        if ((row = side_row(x, i)) >= 0) delete_row(x->t, row, u);
    if (rnd() % 2) return;
    append(x->t, x->next_id, 8, 10, 9, u);
    x->next_id += 8;
}
/* Now and then a step of publishing has no memory: then the transaction is rolled back. */
static void side_commit(Side *x, UndoLog *u) {
    TableVersion *v = NULL;
    undo_set_committed(u, true);
    if (rnd() % 3 == 0) side_fails_at(x, 1 + rnd_below(8));
    Status st = table_version_prepare(x->t, &v, NULL);
    side_fails_at(x, st == ST_OK ? 0 : 1); /* rolling back needs none */
    if (st == ST_OK) {
        undo_forget(u);
        table_versions_install(domain, 1, &v);
        x->commits++;
        x->committed = digest(x->t);
    } else {
        undo_set_committed(u, false);
        undo_rollback(u, 0);
        x->failures++;
    }
    side_fails_at(x, 0);
}
static void side_step(Side *x) {
    int i = (int)rnd_below(TXNS);
    UndoLog *u = x->log[i];
    if (undo_mark(u) > 0 && rnd() % 10 == 0) { /* elsewhere, by others, while it is hidden */
        undo_abandon(u);
    } else {
        side_fails_at(x, 1);
        if (undo_mark(u) > 0) undo_show(u, true);
        side_fails_at(x, 0);
        side_change(x, i);
        int64_t what = rnd_below(8);
        side_fails_at(x, what == 0);
        if (what == 0) undo_rollback(u, 0);
        side_fails_at(x, 0);
        if (what > 0 && what < 4) side_commit(x, u);
        if (what >= 4 && undo_mark(u) > 0) {
            assert_int_equal(undo_reserve(u, 0, NULL), ST_OK);
            side_fails_at(x, 1);
            undo_hide(u);
            side_fails_at(x, 0);
        }
    }
    assert_true(table_is_committed(x->t));
    assert_same(digest(x->t), x->committed);
    if (rnd() % 3 == 0) publish(x->t); /* the same, from other cells */
    bool none = true;
    for (int k = 0; k < TXNS; k++) none = none && undo_mark(x->log[k]) == 0;
    if (none && rnd() % 3 == 0) {
        assert_int_equal(table_merge(x->t, NULL, NULL), ST_OK);
        publish(x->t);
    }
}
static void side_end(Side *x) {
    for (int i = 0; i < TXNS; i++) {
        if (undo_mark(x->log[i]) > 0) undo_abandon(x->log[i]);
        undo_free(x->log[i]);
    }
    assert_false(table_has_undo(x->t));
    assert_int_equal(table_verify(x->t, NULL), ST_OK);
}
static void test_side_by_side(void **state) {
    (void)state;
    Side x;
    side_begin(&x, make_table("t"));
    EpochSlot *s[PINS];
    const Table *v[PINS] = {0};
    Digest want[PINS];
    int64_t *at[PINS];
    for (int i = 0; i < PINS; i++) s[i] = slot();
    for (int step = 0; step < 2000; step++) {
        side_step(&x);
        int i = (int)rnd_below(PINS);
        if (v[i]) {
            assert_same(digest(v[i]), want[i]);
            assert_finds_all(v[i], at[i], 1000);
            if (step % 10 == 0) verify(v[i]);
            free(at[i]);
            epoch_unpin(s[i]);
            v[i] = NULL;
        } else {
            epoch_pin(s[i], "statement", 0);
            v[i] = table_version_at(x.t, s[i]);
            want[i] = digest(v[i]);
            assert_same(want[i], x.committed);
            at[i] = places(v[i], 1000);
            if (step % 3) epoch_pin_narrow(s[i]);
        }
    }
    assert_true(x.commits > 100 && x.failures > 20);
    for (int i = 0; i < PINS; i++) {
        if (v[i]) {
            free(at[i]);
            epoch_unpin(s[i]);
        }
        epoch_unregister(s[i]);
    }
    side_end(&x);
    assert_int_equal(waiting(), 0);
    table_free(x.t);
}

/* A pin of a cursor and ten thousand versions: what waits is bounded by what it sees. */
static void test_long_pin(void **state) {
    (void)state;
    Table *t = make_table("t");
    append(t, 0, 2000, 10, 7, NULL);
    publish(t);
    EpochSlot *s = slot();
    epoch_pin(s, "cursor", 0);
    const Table *v = table_version_at(t, s);
    epoch_pin_narrow(s);
    Digest d = digest(v);
    int64_t most = 0;
    for (int64_t i = 0; i < 2000; i++) {
        set_balance(t, rowid_make(0, i % 2000), i, NULL);
        publish(t);
        if (i == 10) most = atomic_load(&root.used);
        if (i > 10) assert_true(atomic_load(&root.used) < most + (64 << 10));
    }
    assert_int_equal(waiting(), 1);
    assert_same(digest(v), d);
    epoch_unpin(s);
    epoch_unregister(s);
    table_free(t);
}

/* ---- readers beside a writer: the sum over two tables is the same in every version ---- */
enum { READERS = 3, SCANS = 200, STEPS = 600, ROWS = 1500 };
typedef struct Stress {
    Table *a, *b;
    int64_t total;
    _Atomic int64_t bad, versions;
} Stress;
static void *read_sums(void *arg) {
    Stress *x = arg;
    EpochSlot *s = slot(), *cursor = slot();
    const Table *old = NULL;
    Digest want = {0};
    for (int64_t i = 0; i < SCANS; i++) {
        epoch_pin(s, "statement", 0);
        const Table *a = table_version_at(x->a, s);
        if (i % 2) epoch_pin_narrow(s);
        const Table *b = table_version_at(x->b, s);
        if (i % 4 == 0) epoch_pin_narrow(s);
        if (digest(a).sum + digest(b).sum != x->total) x->bad++;
        if (a->cols[NAME].dict && dict_find(a->cols[NAME].dict, str_make("name of 1", 9)) < 0) x->bad++;
        if (i % 20 == 0) {
            if (old) {
                Digest now = digest(old);
                if (now.hash != want.hash || now.rows != want.rows) x->bad++;
                epoch_unpin(cursor);
            }
            epoch_pin_copy(cursor, s, "cursor", 0);
            old = b;
            want = digest(b);
        }
        if (epoch_unpin(s)) epoch_reclaim(domain, 4);
        x->versions++;
    }
    if (old) epoch_unpin(cursor);
    epoch_unregister(s);
    epoch_unregister(cursor);
    return NULL;
}
/* Moves money from rows of one table to rows of the other; now and then rows come, go, and are merged. */
static void transfer(Stress *x, int64_t step, int64_t *next_id) {
    Table *from = step % 2 ? x->a : x->b, *to = step % 2 ? x->b : x->a;
    for (int i = 0; i < 5; i++) {
        int64_t r = a_row(from), w = a_row(to), amount = rnd_below(100);
        if (r < 0 || w < 0) continue;
        set_balance(from, r, balance_at(from, r) - amount, NULL);
        set_balance(to, w, balance_at(to, w) + amount, NULL);
    }
    if (step % 7 == 0) {
        append(from, *next_id, 20, 0, 3 + step / 20, NULL);
        *next_id += 20;
    }
    if (step % 11 == 0) { /* a row's money goes with it to the other table */
        int64_t r = a_row(from), done;
        append(to, *next_id, 1, balance_at(from, r), 5, NULL);
        ++*next_id;
        assert_int_equal(table_delete(from, 1, &r, NULL, &done, NULL), ST_OK);
    }
    if (step % 50 == 49) assert_int_equal(table_merge(from, NULL, NULL), ST_OK);
}
static void test_stress(void **state) {
    (void)state;
    Stress x = {.a = make_table("a"), .b = make_table("b"), .total = 2 * ROWS * 1000};
    pthread_t t[READERS];
    int64_t next_id = ROWS;
    append(x.a, 0, ROWS, 1000, 7, NULL);
    append(x.b, 0, ROWS, 1000, 7, NULL);
    for (int64_t step = 0; step <= STEPS; step++) {
        if (step) transfer(&x, step, &next_id);
        TableVersion *v[2];
        assert_int_equal(table_version_prepare(x.a, &v[0], NULL), ST_OK);
        assert_int_equal(table_version_prepare(x.b, &v[1], NULL), ST_OK);
        table_versions_install(domain, 2, v);
        for (int i = 0; step == 0 && i < READERS; i++) assert_int_equal(pthread_create(&t[i], NULL, read_sums, &x), 0);
    }
    for (int i = 0; i < READERS; i++) pthread_join(t[i], NULL);
    assert_int_equal(x.bad, 0);
    assert_int_equal(x.versions, READERS * SCANS);
    assert_int_equal(waiting(), 0);
    table_free(x.a);
    table_free(x.b);
    assert_int_equal(waiting(), 0);
}

/* ---- lookups beside a writer ---- */
enum { IDS = 6000, LOOKUPS = 300, KEY_SCANS = 60 };
typedef struct KeyStress {
    Table *t;
    _Atomic int64_t bad, reading;
    int64_t next_id, sweeps, grows;
} KeyStress;
static uint64_t step_random(uint64_t *x) { return hash_u64(*x += UINT64_C(0x9e3779b97f4a7c15)); }
static void *read_keys(void *arg) {
    KeyStress *x = arg;
    EpochSlot *s = slot(), *cursor = slot();
    const Table *old = NULL;
    int64_t *old_at = NULL;
    uint64_t random = (uint64_t)(uintptr_t)s;
    for (int64_t i = 0; i < KEY_SCANS; i++) {
        epoch_pin(s, "statement", 0);
        const Table *v = table_version_at(x->t, s);
        epoch_pin_narrow(s);
        int64_t *at = places(v, IDS);
        for (int64_t k = 0; k < LOOKUPS; k++) {
            if (!finds(v, at, (int64_t)(step_random(&random) % IDS))) x->bad++;
            if (old && !finds(old, old_at, (int64_t)(step_random(&random) % IDS))) x->bad++;
        }
        Err e = {0};
        if (i % 20 == 19 && table_version_verify(v, &e) != ST_OK) x->bad++;
        if (i % 10 == 0) {
            if (old) epoch_unpin(cursor);
            free(old_at);
            epoch_pin_copy(cursor, s, "cursor", 0);
            old = v;
            old_at = at;
        } else {
            free(at);
        }
        if (epoch_unpin(s)) epoch_reclaim(domain, 4);
    }
    if (old) epoch_unpin(cursor);
    free(old_at);
    epoch_unregister(s);
    epoch_unregister(cursor);
    x->reading--;
    return NULL;
}
/* A transaction: rows come, with ids that were there before or not; rows go; keys change; some of it is undone. */
static void change_keys(KeyStress *x) {
    Table *t = x->t;
    UndoLog *u = undo_new(&root, NULL);
    for (int i = 0; i < 3; i++) {
        int64_t id = rnd_below(IDS), n = 1 + rnd_below(100);
        for (int64_t k = id; k < id + n; k++)
            if (find_id(t, k) < 0) append(t, k, 1, 10, 3 + k / 10, u);
        for (int64_t k = 0, row; k < 150; k++)
            if ((row = find_id(t, rnd_below(IDS))) >= 0) delete_row(t, row, u);
        for (int64_t k = 0, row; k < 20; k++) {
            int64_t to = rnd_below(IDS);
            if ((row = a_row(t)) >= 0 && find_id(t, to) < 0) set_id(t, row, to, u);
        }
        if (rnd() % 8 == 0) undo_rollback(u, 0);
    }
    if (rnd() % 40 == 0) append(t, x->next_id += 4000, 4000, 10, 7, u);
    if (rnd() % 40 == 0) assert_int_equal(table_truncate(t, u, NULL), ST_OK);
    if (rnd() % 5 == 0) undo_rollback(u, 0);
    undo_free(u);
    if (rnd() % 30 == 0) assert_int_equal(table_merge(t, NULL, NULL), ST_OK);
}
static void test_key_stress(void **state) {
    (void)state;
    KeyStress x = {.t = make_table("t"), .reading = READERS, .next_id = IDS};
    pthread_t t[READERS];
    append(x.t, 0, IDS / 2, 10, 7, NULL);
    publish(x.t);
    for (int i = 0; i < READERS; i++) assert_int_equal(pthread_create(&t[i], NULL, read_keys, &x), 0);
    for (int64_t step = 0; step < 300 || x.reading > 0; step++) {
        int64_t used = x.t->keys[0].index->used, bits = x.t->keys[0].index->now.bits,
                generation = x.t->impl->generation;
        change_keys(&x);
        publish(x.t);
        if (generation != x.t->impl->generation) continue;
        x.sweeps += x.t->keys[0].index->used < used;
        x.grows += x.t->keys[0].index->now.bits > bits;
    }
    for (int i = 0; i < READERS; i++) pthread_join(t[i], NULL);
    assert_int_equal(x.bad, 0);
    assert_true(x.sweeps > 0 && x.grows > 0);
    assert_int_equal(table_verify(x.t, NULL), ST_OK);
    table_free(x.t);
    assert_int_equal(waiting(), 0);
}

static void test_side_stress(void **state) {
    (void)state;
    Side side;
    KeyStress x = {.t = make_table("t"), .reading = READERS};
    pthread_t t[READERS];
    side_begin(&side, x.t);
    side.beside = true;
    for (int i = 0; i < READERS; i++) assert_int_equal(pthread_create(&t[i], NULL, read_keys, &x), 0);
    for (int64_t step = 0; step < 300 || x.reading > 0; step++) side_step(&side);
    for (int i = 0; i < READERS; i++) pthread_join(t[i], NULL);
    assert_int_equal(x.bad, 0);
    side_end(&side);
    table_free(x.t);
    assert_int_equal(waiting(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_versions, versions_setup, versions_teardown),
        cmocka_unit_test_setup_teardown(test_opened, versions_setup, versions_teardown),
        cmocka_unit_test_setup_teardown(test_beside_shared, versions_setup, versions_teardown),
        cmocka_unit_test_setup_teardown(test_sharing, versions_setup, versions_teardown),
        cmocka_unit_test_setup_teardown(test_dictionary, versions_setup, versions_teardown),
        cmocka_unit_test_setup_teardown(test_keys, versions_setup, versions_teardown),
        cmocka_unit_test_setup_teardown(test_slots_are_freed, versions_setup, versions_teardown),
        cmocka_unit_test_setup_teardown(test_uncommitted, versions_setup, versions_teardown),
        cmocka_unit_test_setup_teardown(test_committing, versions_setup, versions_teardown),
        cmocka_unit_test_setup_teardown(test_hidden_log, versions_setup, versions_teardown),
        cmocka_unit_test_setup_teardown(test_drop, versions_setup, versions_teardown),
        cmocka_unit_test_setup_teardown(test_out_of_memory, versions_setup, versions_teardown),
        cmocka_unit_test_setup_teardown(test_random, versions_setup, versions_teardown),
        cmocka_unit_test_setup_teardown(test_side_by_side, versions_setup, versions_teardown),
        cmocka_unit_test_setup_teardown(test_long_pin, versions_setup, versions_teardown),
        cmocka_unit_test_setup_teardown(test_stress, versions_setup, versions_teardown),
        cmocka_unit_test_setup_teardown(test_key_stress, versions_setup, versions_teardown),
        cmocka_unit_test_setup_teardown(test_side_stress, versions_setup, versions_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
