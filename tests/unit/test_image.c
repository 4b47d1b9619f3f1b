/* test_image.c - images against a naive model: random reads, updates, inserts, deletes and their undo, synchronised
 * with the table now and then; inserts by several threads; failing memory. */
#include "unit.h"
#include "unit_random.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/hash.h"
#include "storage/row_home.h"
#include "storage/table_version.h"
#include "txn/store/image.h"

enum { ID, CODE, GRP, AMOUNT, NAME, NOTE, FLAG, BIG, SIDE, N_COLS };
enum {
    MAX_ID = 3000,
    KEY_ID = 0,
    KEY_CODE = 1,
    KEY_PAIR = 2,
    BY_GRP = 3,
    BY_NAME = 4,
    GRP_BY_ID = 5,
    NAME_BY_SIDE = 6
};
static MemAccount root;
static Err err;

/* One row of the model. Texts stand for a number. */
typedef struct Row {
    bool live;
    int64_t id;
    int32_t code; /* -1 NULL */
    int32_t grp;  /* -1 NULL */
    int64_t amount;
    int32_t name;
    int32_t note; /* -1 NULL */
    uint8_t flag;
    int128_t big;
    int64_t side; /* not in images without inserts */
} Row;
static Row model[MAX_ID], before[MAX_ID];

typedef struct Cells {
    int64_t id, amount, side;
    int32_t grp;
    uint8_t flag;
    alignas(16) int128_t big;
    Str code, name, note;
    char code_buf[40], name_buf[40], note_buf[64];
    const void *ptr[N_COLS];
} Cells;
static void fill_cells(const Row *r, Cells *c) {
    c->id = r->id;
    c->amount = r->amount;
    c->side = r->side;
    c->grp = r->grp;
    c->flag = r->flag;
    c->big = r->big;
    c->code = str_make(c->code_buf, snprintf(c->code_buf, sizeof c->code_buf, "code-%d", r->code));
    c->name = str_make(c->name_buf,
                       snprintf(c->name_buf, sizeof c->name_buf, "%.*sname %d", r->name % 7, "xyzxyzxyz", r->name));
    c->note = str_make(
        c->note_buf,
        r->note == 0 ? 0 : snprintf(c->note_buf, sizeof c->note_buf, "a note of some length, number %d", r->note));
    const void *ptr[N_COLS] = {&c->id,
                               r->code < 0 ? NULL : &c->code,
                               r->grp < 0 ? NULL : &c->grp,
                               &c->amount,
                               &c->name,
                               r->note < 0 ? NULL : &c->note,
                               &c->flag,
                               &c->big,
                               &c->side};
    memcpy(c->ptr, ptr, sizeof ptr);
}
static Row random_row(int64_t id) {
    return (Row){.live = true,
                 .id = id,
                 .code = rnd() % 4 ? (int32_t)rnd_below(100000) : -1,
                 .grp = rnd() % 9 ? (int32_t)rnd_below(40) : -1,
                 .amount = (int64_t)rnd() % 1000000,
                 .name = (int32_t)rnd_below(30),
                 .note = rnd() % 3 ? (int32_t)rnd_below(100000) : -1,
                 .flag = rnd() & 1,
                 .big = rnd() % 3 ? (int128_t)rnd() * 1000000007 : (int64_t)rnd_below(100),
                 .side = rnd_below(1000)};
}

static Table *make_table(int n_keys) {
    static const ColumnDef defs[N_COLS] = {
        {.name = "id", .type = {.id = T_INT8}, .not_null = true},
        {.name = "code", .type = {.id = T_TEXT}},
        {.name = "grp", .type = {.id = T_INT4}},
        {.name = "amount", .type = {.id = T_NUMERIC, .precision = 15, .scale = 2}, .not_null = true},
        {.name = "name", .type = {.id = T_VARCHAR}, .not_null = true},
        {.name = "note", .type = {.id = T_TEXT}},
        {.name = "flag", .type = {.id = T_BOOL}, .not_null = true},
        {.name = "big", .type = {.id = T_NUMERIC, .precision = 38, .scale = 0}, .not_null = true},
        {.name = "side", .type = {.id = T_INT8}, .not_null = true},
    };
    static const int pk[] = {ID}, code[] = {CODE}, pair[] = {GRP, ID};
    KeyDef keys[] = {{"t_pkey", true, 1, pk}, {"t_code", false, 1, code}, {"t_pair", false, 2, pair}};
    Table *t = NULL;
    assert_int_equal(table_new(&root, "t", N_COLS, defs, n_keys, keys, 0, NULL, &t, &err), ST_OK);
    return t;
}
typedef struct Batch {
    Vec cols[N_COLS];
    char *mem;
    Cells *cells;
} Batch;
static void batch_make(Batch *b, int64_t n, const Row *rows) {
    b->cells = calloc((size_t)n, sizeof *b->cells);
    b->mem = calloc((size_t)(N_COLS * n + 1), 32);
    const Type types[N_COLS] = {type_make(T_INT8),   type_make(T_TEXT),    type_make(T_INT4),
                                type_numeric(15, 2), type_make(T_VARCHAR), type_make(T_TEXT),
                                type_make(T_BOOL),   type_numeric(38, 0),  type_make(T_INT8)};
    static const Phys phys[N_COLS] = {PH_I64, PH_STR, PH_I32, PH_I64, PH_STR, PH_STR, PH_BOOL, PH_I128, PH_I64};
    for (int64_t i = 0; i < n; i++) fill_cells(&rows[i], &b->cells[i]);
    for (int c = 0; c < N_COLS; c++) {
        char *data = b->mem + c * n * 32;
        uint8_t *valid = (uint8_t *)data + n * 16;
        for (int64_t i = 0; i < n; i++) {
            valid[i] = b->cells[i].ptr[c] != NULL;
            if (valid[i]) memcpy(data + i * phys_size(phys[c]), b->cells[i].ptr[c], (size_t)phys_size(phys[c]));
        }
        bool nullable = c == CODE || c == GRP || c == NOTE;
        b->cols[c] = (Vec){.data = data, .valid = nullable ? valid : NULL, .phys = (uint8_t)phys[c], .type = types[c]};
    }
}
static void batch_free(Batch *b) {
    free(b->mem);
    free(b->cells);
}
static bool code_is_free(int32_t code) {
    for (int64_t i = 0; code >= 0 && i < MAX_ID; i++)
        if (model[i].live && model[i].code == code) return false;
    return true;
}
/* Rows [from, to) go to the table: as main tablets, or to the delta. */
static void add_rows(Table *t, int64_t from, int64_t to, bool bulk) {
    for (int64_t i = from; i < to; i++) {
        model[i] = random_row(i);
        model[i].live = false;
        if (!code_is_free(model[i].code)) model[i].code = -1;
        model[i].live = true;
    }
    Batch b;
    batch_make(&b, to - from, model + from);
    if (bulk) {
        TableLoad *l;
        int64_t rows;
        assert_int_equal(load_begin(t, 1, &l, &err), ST_OK);
        assert_int_equal(load_add(l, 0, 0, to - from, b.cols, &err), ST_OK);
        assert_int_equal(load_finish(l, NULL, NULL, &rows, &err), ST_OK);
        load_cancel(l);
    } else {
        assert_int_equal(table_append(t, to - from, b.cols, NULL, NULL, &err), ST_OK);
    }
    batch_free(&b);
}

static bool all_cols[N_COLS] = {true, true, true, true, true, true, true, true, true};
static int32_t group_cols[] = {GRP}, group_name[] = {NAME, FLAG};
typedef __typeof__(*((ImageNeed *)0)->groups) Group;
static Group all_groups[] = {{1, group_cols, 0, false},
                             {2, group_name, 0, false},
                             {1, group_cols, 1 + ID, false},
                             {2, group_name, 1 + SIDE, true}};
static Image *make_image(Table *t, bool inserts, Pool *pool) {
    static bool writes[N_COLS] = {[AMOUNT] = true, [NOTE] = true, [BIG] = true};
    bool cols[N_COLS] = {[AMOUNT] = true, [NOTE] = true, [BIG] = true};
    ImageNeed need = {.table = t,
                      .cols = inserts ? all_cols : cols,
                      .writes = writes,
                      .inserts = inserts,
                      .n_groups = 4,
                      .groups = all_groups};
    Image *im = NULL;
    if (image_make(&need, &root, pool, &im, &err) != ST_OK) fail_msg("%s", err.message);
    return im;
}

/* ---- model against image ---- */
static int64_t find_id(const Image *im, int64_t id) { return image_find(im, KEY_ID, (const void *const[]){&id}); }
static void check_row(const Image *im, int64_t r, const Row *want) {
    Cells c;
    fill_cells(want, &c);
    for (int i = 0; i < N_COLS; i++) {
        const ImageColumn *col = &im->cols[i];
        if (!col->used) continue;
        bool valid = image_is_valid(col, r);
        assert_int_equal(valid, c.ptr[i] != NULL);
        if (valid) assert_int_equal(cell_cmp((Phys)col->phys, image_cell(col, r), c.ptr[i]), 0);
    }
}
static int64_t int_at(const Image *im, int col, int64_t row) {
    return *(const int64_t *)(const void *)image_cell(&im->cols[col], row);
}
/* All rows of ordered groups, in order. */
static void check_order(const Image *im) {
    int64_t listed = 0, live = 0;
    for (int32_t g = 0; g < 40; g++) {
        int64_t want = 0;
        for (int64_t r = image_first(im, GRP_BY_ID, (const void *const[]){&g}); r >= 0;
             r = image_next(im, GRP_BY_ID, r), want++) {
            while (want < MAX_ID && !(model[want].live && model[want].grp == g)) want++;
            assert_int_equal(int_at(im, ID, r), want);
        }
        while (want < MAX_ID && !(model[want].live && model[want].grp == g)) want++;
        assert_int_equal(want, MAX_ID);
    }
    for (int32_t k = 0; k < 60; k++) {
        Row m = {.name = k / 2};
        Cells c;
        fill_cells(&m, &c);
        uint8_t flag = k & 1;
        int64_t side = INT64_MAX, row = -1;
        for (int64_t r = image_first(im, NAME_BY_SIDE, (const void *const[]){&c.name, &flag}); r >= 0;
             r = image_next(im, NAME_BY_SIDE, r), listed++) {
            assert_true(int_at(im, SIDE, r) < side || (int_at(im, SIDE, r) == side && r > row));
            side = int_at(im, SIDE, r);
            row = r;
        }
    }
    for (int64_t i = 0; i < MAX_ID; i++) live += model[i].live;
    assert_int_equal(listed, live);
}
static void check_image(const Image *im) {
    if (image_verify(im, false, &err) != ST_OK) fail_msg("%s", err.message);
    static int64_t ids[MAX_ID], rows[MAX_ID], by_code[MAX_ID], by_pair[MAX_ID];
    static Str codes[MAX_ID];
    static uint8_t valid[MAX_ID], grp_valid[MAX_ID];
    static int32_t grps[MAX_ID];
    static Cells cells[MAX_ID];
    int64_t per_grp[40] = {0};
    for (int64_t i = 0; i < MAX_ID; i++) {
        fill_cells(&model[i], &cells[i]);
        ids[i] = i;
        codes[i] = cells[i].code;
        valid[i] = model[i].code >= 0;
        grps[i] = model[i].grp;
        grp_valid[i] = model[i].grp >= 0;
        if (model[i].live && model[i].grp >= 0) per_grp[model[i].grp]++;
    }
    Vec key = {.data = ids, .phys = PH_I64}, code = {.data = codes, .valid = valid, .phys = PH_STR};
    Vec pair[2] = {{.data = grps, .valid = grp_valid, .phys = PH_I32}, key};
    image_find_many(im, KEY_ID, MAX_ID, &key, rows);
    image_find_many(im, KEY_CODE, MAX_ID, &code, by_code);
    image_find_many(im, KEY_PAIR, MAX_ID, pair, by_pair);
    for (int64_t i = 0; i < MAX_ID; i++) {
        assert_int_equal(rows[i] >= 0, model[i].live);
        assert_int_equal(find_id(im, i), rows[i]);
        if (!valid[i]) assert_int_equal(by_code[i], -1);
        if (!grp_valid[i]) assert_int_equal(by_pair[i], -1);
        if (!model[i].live) continue;
        check_row(im, rows[i], &model[i]);
        if (valid[i]) {
            assert_int_equal(by_code[i], rows[i]);
            assert_int_equal(image_find(im, KEY_CODE, (const void *const[]){&codes[i]}), rows[i]);
        }
        if (grp_valid[i]) assert_int_equal(by_pair[i], rows[i]);
    }
    Vec one = {.data = &ids[7], .phys = PH_I64, .is_const = true};
    int64_t same[3];
    image_find_many(im, KEY_ID, 3, &one, same);
    assert_true(same[0] == rows[7] && same[2] == rows[7]);
    int32_t every[41];
    for (int32_t g = 0; g <= 40; g++) every[g] = g;
    Vec grp = {.data = every, .phys = PH_I32};
    image_find_many(im, BY_GRP, 41, &grp, rows);
    image_prefetch_keys(im, 3, 38, (const Vec[]){grp, key, grp}, GRP + 1, (const int32_t[]){[ID] = 1, [GRP] = 2});
    assert_int_equal(rows[40], -1);
    for (int32_t g = 0; g < 40; g++) {
        int64_t n = 0, last = INT64_MAX;
        assert_int_equal(image_first(im, BY_GRP, (const void *const[]){&g}), rows[g]);
        for (int64_t r = image_first(im, BY_GRP, (const void *const[]){&g}); r >= 0;
             r = image_next(im, BY_GRP, r), n++) {
            assert_true(r < last); /* newest first */
            last = r;
            assert_int_equal(*(const int32_t *)(const void *)image_cell(&im->cols[GRP], r), g);
        }
        assert_int_equal(n, per_grp[g]);
    }
    check_order(im);
}
/* What a scan of the table sees. */
static void check_table(const Table *t) {
    if (table_verify(t, &err) != ST_OK) fail_msg("%s", err.message);
    int64_t live = 0;
    for (int64_t i = 0; i < MAX_ID; i++) live += model[i].live;
    assert_int_equal(t->live_rows, live);
    for (int64_t k = 0; k < t->n_tablets; k++) {
        const Tablet *tab = t->tablets[k];
        for (int32_t r = 0; r < tab->rows; r++) {
            if (tab->deleted && (tab->deleted[r >> 6] >> (r & 63) & 1)) continue;
            alignas(16) char cell[N_COLS][16];
            uint8_t valid[N_COLS];
            for (int c = 0; c < N_COLS; c++) {
                bool nulls;
                valid[c] = 1;
                tablet_decode(t, tab, c, 0, &r, 1, (uint8_t)type_phys(t->cols[c].type), cell[c], &valid[c], &nulls);
                valid[c] = !nulls || valid[c];
            }
            int64_t id;
            memcpy(&id, cell[ID], 8);
            assert_true(id >= 0 && id < MAX_ID && model[id].live);
            Cells want;
            fill_cells(&model[id], &want);
            for (int c = 0; c < N_COLS; c++) {
                assert_int_equal(valid[c], want.ptr[c] != NULL);
                if (valid[c] && cell_cmp(type_phys(t->cols[c].type), cell[c], want.ptr[c]) != 0)
                    fail_msg("id %d column %d differs", (int)id, c);
            }
        }
    }
}

/* ---- random operations ---- */
static void set_cell(Image *im, int64_t r, int col, const void *cell) {
    ImageColumn *c = &im->cols[col];
    int64_t size = phys_size((Phys)c->phys);
    image_set_valid(c, r, cell != NULL);
    if (cell) memcpy(image_cell(c, r), cell, (size_t)size);
    else memset(image_cell(c, r), 0, (size_t)size);
    im->dirty[r] |= DIRTY_UPDATED;
}
static void random_update(Image *im) {
    int64_t id = rnd_below(MAX_ID), r = find_id(im, id);
    if (r < 0) return;
    Row *m = &model[id];
    m->amount += rnd_below(1000);
    if (rnd() & 1) m->note = rnd() % 3 ? (int32_t)rnd_below(100000) : -1;
    m->big += 12345;
    Cells c;
    fill_cells(m, &c);
    set_cell(im, r, AMOUNT, &c.amount);
    set_cell(im, r, BIG, &c.big);
    if (m->note >= 0) c.note.ptr = row_text_put(im, c.note.ptr, c.note.len, NULL);
    set_cell(im, r, NOTE, m->note < 0 ? NULL : &c.note);
}
static void random_insert(Image *im) {
    Row m = random_row(rnd_below(MAX_ID));
    Cells c;
    fill_cells(&m, &c);
    int32_t conflict = 99, want = model[m.id].live ? KEY_ID : !code_is_free(m.code) ? KEY_CODE : -1;
    int64_t r = image_insert(im, c.ptr, &conflict, &err);
    assert_int_equal(conflict, want);
    assert_int_equal(r >= 0, want < 0);
    if (r < 0) return;
    assert_int_equal(im->live[r], ROW_LIVE);
    if (rnd() % 5 == 0) image_delete(im, r); /* its call failed later */
    else model[m.id] = m;
}
static void random_delete(Image *im) {
    int64_t id = rnd_below(MAX_ID), r = find_id(im, id);
    if (r < 0) return;
    image_delete(im, r);
    assert_int_equal(find_id(im, id), -1);
    if (rnd() % 4 == 0) image_undelete(im, r);
    else model[id].live = false;
}

static void random_operations(void **state) {
    (void)state;
    for (int round = 0; round < 6; round++) {
        hash_constant = round == 5;
        Pool *pool = round & 1 ? pool_new(3, &err) : NULL;
        memset(model, 0, sizeof model);
        Table *t = make_table(3);
        add_rows(t, 0, round == 5 ? 100 : 1200, true);
        add_rows(t, 1200, round == 5 ? 1220 : 1500, false);
        bool inserts = round != 4;
        Image *im = make_image(t, inserts, pool);
        check_image(im);
        for (int step = 0; step < (round == 5 ? 4 : 40); step++) {
            int64_t n = rnd_below(200);
            assert_int_equal(image_reserve(im, n, &err), ST_OK);
            for (int64_t i = 0; i < n; i++) {
                switch (rnd() % 3) {
                case 0: random_update(im); break;
                case 1:
                    if (inserts) {
                        random_insert(im);
                        break;
                    } /* fallthrough */
                default: random_delete(im);
                }
            }
            check_image(im);
            switch (rnd() % 6) {
            case 0:
            case 1:
                if (image_sync(im, NULL, &err) != ST_OK) fail_msg("%s", err.message);
                assert_false(image_is_dirty(im));
                if (image_verify(im, true, &err) != ST_OK) fail_msg("%s", err.message);
                check_table(t);
                break;
            case 2: { /* synchronised inside a transaction that ends well or not */
                assert_int_equal(image_sync(im, NULL, &err), ST_OK);
                memcpy(before, model, sizeof model);
                for (int64_t i = 0; i < 20; i++) random_update(im), random_delete(im);
                UndoLog *u = undo_new(&root, &err);
                assert_int_equal(image_sync(im, u, &err), ST_OK);
                check_table(t);
                if (rnd() & 1) {
                    undo_forget(u);
                } else {
                    undo_rollback(u, 0);
                    assert_true(im->version != t->content);
                    memcpy(model, before, sizeof model);
                    image_free(im);
                    im = make_image(t, inserts, pool);
                    check_table(t);
                }
                undo_free(u);
                break;
            }
            case 3: /* merged, and a new image of the result */
                assert_int_equal(image_sync(im, NULL, &err), ST_OK);
                assert_int_equal(table_merge(t, pool, &err), ST_OK);
                image_free(im);
                im = make_image(t, inserts, pool);
                check_image(im);
                if (image_verify(im, true, &err) != ST_OK) fail_msg("%s", err.message);
                break;
            default: break;
            }
        }
        image_free(im);
        table_free(t);
        pool_free(pool);
        hash_constant = false;
        assert_int_equal(atomic_load(&root.used), 0);
    }
}

/* ---- tables whose cells are in the image's rows ---- */
static int64_t cells_at_home(const Image *im) {
    int64_t n = 0;
    for (int64_t k = 0; k < im->table->n_tablets; k++)
        for (int c = 0; c < im->n_cols; c++) n += tablet_home(im->table->tablets[k], c) != NULL;
    return n;
}
/* Once without memory at some step, perhaps; then as ever. */
static Status with_failures(Status (*step)(Image *im), Image *im) {
    if (rnd() % 4 == 0) {
        mem_fail_at(1 + rnd_below(40));
        (void)step(im);
        mem_fail_at(0);
        err_clear(&err);
    }
    return step(im);
}
static Status settle_step(Image *im) { return home_settle(im, &err); }
static Status sync_step(Image *im) { return image_sync(im, NULL, &err); }
static Status gather_step(Image *im) { return image_gather_texts(im, 1000, &err); }
static void settle(Image *im) {
    for (int i = 0; i < 10 && !home_is_settled(im); i++) /* it waits some bulks after it was left */
        assert_int_equal(home_settle(im, &err), ST_OK);
    assert_true(home_is_settled(im));
}
static void table_agrees(Image *im) {
    if (with_failures(sync_step, im) != ST_OK) fail_msg("%s", err.message);
    check_table(im->table);
    check_image(im);
    if (image_verify(im, true, &err) != ST_OK) fail_msg("%s", err.message);
    if (table_verify(im->table, &err) != ST_OK) fail_msg("%s", err.message);
}
/* A row whose last cells are larger than all others. */
static void random_last_words(Image *im, int64_t step) {
    int64_t id = rnd_below(MAX_ID), r = find_id(im, id);
    if (r < 0) return;
    set_cell(im, r, AMOUNT, &(int64_t){INT64_C(1000000000) + step});
    image_delete(im, r);
    model[id].live = false;
}
/* Inserts, updates and deletes by calls, with the table's cells in the image's rows or not, by turns. */
static void at_home(void **state) {
    (void)state;
    int64_t homed = 0, left = 0, texts = 0;
    for (int round = 0; round < 6; round++) {
        Pool *pool = pool_new(2, &err);
        memset(model, 0, sizeof model);
        Table *t = make_table(3);
        if (round & 1) add_rows(t, 0, 700, round & 2);
        Image *im = make_image(t, true, pool);
        for (int step = 0; step < 60; step++) {
            assert_int_equal(image_reserve(im, 400, &err), ST_OK);
            for (int64_t i = rnd() % 300; i > 0; i--) random_insert(im);
            for (int64_t i = rnd() % 200; i > 0; i--) random_update(im);
            for (int64_t i = rnd() % 60; i > 0; i--) random_delete(im);
            random_last_words(im, step);
            if (rnd() % 4 == 0 && home_is_settled(im)) assert_int_equal(home_leave(im, &err), ST_OK), left++;
            if (rnd() % 8 == 0) {
                assert_int_equal(room_trim(im, &err), ST_OK);
                check_image(im);
            }
            table_agrees(im); /* also what calls did before the table got its cells */
            if (rnd() % 2 && !home_is_settled(im)) {
                assert_int_equal(with_failures(settle_step, im), ST_OK);
                settle(im);
            }
            if (home_is_settled(im)) table_agrees(im);
            homed += cells_at_home(im);
            for (int64_t k = 0; k < t->n_tablets; k++) texts += tablet_home(t->tablets[k], NOTE) != NULL;
            if (rnd() % 10 == 0) { /* as devices have them: not where the table has its cells */
                assert_int_equal(with_failures(gather_step, im), ST_OK);
                assert_false(home_is_settled(im));
            }
            if (rnd() % 12 == 0) { /* the rows stay when the image goes, and the next one takes them over */
                image_free(im);
                check_table(t);
                im = make_image(t, true, pool);
                check_image(im);
            }
            if (rnd() % 20 == 0) {
                assert_int_equal(table_merge(t, pool, &err), ST_OK);
                image_free(im);
                im = make_image(t, true, pool);
                assert_int_equal(cells_at_home(im), 0);
            }
        }
        image_free(im);
        check_table(t); /* cells outlive the image */
        table_free(t);
        pool_free(pool);
        assert_int_equal(atomic_load(&root.used), 0);
    }
    assert_true(homed > 0 && left > 0 && texts > 0);
}

/* ---- versions of tables whose cells are in the image's rows ---- */
static uint64_t digest(const Table *t) {
    uint64_t sum = 0;
    for (int64_t k = 0; k < t->n_tablets; k++)
        for (int64_t r = 0; r < t->tablets[k]->rows; r++)
            for (int c = 0; c < t->n_cols && !tablet_row_deleted(t->tablets[k], r); c++) {
                Value v;
                table_value(t, k << 32 | r, c, &v);
                const bool text = !v.is_null && type_phys(v.type) == PH_STR;
                const int64_t bytes = v.is_null ? 0 : text ? v.u.str.len : phys_size(type_phys(v.type));
                sum = sum * 31 + hash_bytes(text ? v.u.str.ptr : value_cell_const(&v), bytes) + v.is_null;
            }
    return sum;
}
enum { PINS = 4 };
typedef struct Pins {
    EpochDomain *domain;
    EpochSlot *slot[PINS];
    const Table *version[PINS];
    uint64_t want[PINS];
    int64_t patched, copied, out_of_memory; /* columns of versions at home, publications that found no memory */
} Pins;
static void count_copies(Pins *p, const Table *t, const Table *version) {
    for (int64_t k = 0; k < t->n_tablets; k++)
        for (int c = 0; c < t->n_cols; c++)
            if (tablet_home(t->tablets[k], c)) {
                const TabletColumn *x = &version->tablets[k]->cols[c];
                assert_true(x->stride == 0 && x->data != t->tablets[k]->cols[c].data);
                if (x->patches) p->patched++;
                else p->copied++;
            }
}
/* A version of the table as it is, which one of the pins sees from now on. */
static void publish(Pins *p, Table *t) {
    TableVersion *v = NULL;
    const int i = (int)rnd_below(PINS);
    for (int64_t fail_at = rnd() % 4 ? 0 : 1 + rnd_below(40);; fail_at = 0) {
        mem_fail_at(fail_at);
        Status st = table_version_prepare(t, &v, &err);
        mem_fail_at(0);
        if (st == ST_OK && rnd() % 8) break;
        if (st == ST_OK) table_version_discard(v);
        else p->out_of_memory++;
        err_clear(&err);
    }
    if (p->version[i]) {
        assert_true(digest(p->version[i]) == p->want[i]);
        epoch_unpin(p->slot[i]);
    }
    table_versions_install(p->domain, 1, &v);
    epoch_pin(p->slot[i], "statement", 0);
    p->version[i] = table_version_at(t, p->slot[i]);
    p->want[i] = digest(p->version[i]);
    assert_true(p->want[i] == digest(t));
    if (table_version_verify(p->version[i], &err) != ST_OK) fail_msg("%s", err.message);
    count_copies(p, t, p->version[i]);
}
/* A row by SQL, in the image's cells: it stands, or is undone. */
static void update_by_sql(Table *t) {
    if (t->n_tablets == 0) return;
    const int64_t k = rnd_below(t->n_tablets), row = rnd_below(t->tablets[k]->rows + 1);
    if (row == t->tablets[k]->rows || tablet_row_deleted(t->tablets[k], row)) return;
    UndoLog *u = undo_new(&root, &err);
    int64_t rowid = k << 32 | row;
    Value id;
    table_value(t, rowid, ID, &id);
    Row m = model[id.u.i64];
    Cells c;
    m.amount = rnd_below(1000);
    m.note = (int32_t)rnd_below(100000);
    fill_cells(&m, &c);
    Vec v[] = {{.data = &c.amount, .phys = PH_I64, .type = t->cols[AMOUNT].type},
               {.data = &c.note, .phys = PH_STR, .type = t->cols[NOTE].type}};
    assert_int_equal(table_update(t, 1, &rowid, 2, (int[]){AMOUNT, NOTE}, v, u, &err), ST_OK);
    if (rnd() % 2) undo_rollback(u, 0);
    else model[id.u.i64] = m;
    undo_free(u);
}
/* Another thread looks at the current version again and again, while the writer goes on. */
typedef struct Looker {
    pthread_t thread;
    const Table *table;
    EpochSlot *slot;
    _Atomic bool stop;
    int64_t looks, wrong;
} Looker;
static void *look(void *arg) {
    Looker *l = arg;
    while (!atomic_load(&l->stop)) {
        epoch_pin(l->slot, "statement", 0);
        const Table *v = table_version_at(l->table, l->slot);
        l->wrong += v && digest(v) != digest(v);
        l->looks += v != NULL;
        epoch_unpin(l->slot);
    }
    return NULL;
}
/* What a version holds stays, whatever calls and SQL change in the cells that it was made of; and it costs copies of
 * columns only when much has changed. */
static void versions_at_home(void **state) {
    (void)state;
    Pins p = {0};
    for (int round = 0; round < 2; round++) {
        Pool *pool = pool_new(2, &err);
        assert_int_equal(epoch_domain_new(&root, &p.domain, &err), ST_OK);
        for (int i = 0; i < PINS; i++) assert_int_equal(epoch_register(p.domain, 1, &p.slot[i], &err), ST_OK);
        memset(p.version, 0, sizeof p.version);
        memset(model, 0, sizeof model);
        Table *t = make_table(3);
        assert_int_equal(table_versions_enable(t, p.domain, &err), ST_OK);
        add_rows(t, 0, 2000, round & 1);
        publish(&p, t);
        Looker l = {.table = t};
        assert_int_equal(epoch_register(p.domain, 1, &l.slot, &err), ST_OK);
        assert_int_equal(pthread_create(&l.thread, NULL, look, &l), 0);
        Image *im = make_image(t, true, pool);
        for (int step = 0; step < 60; step++) {
            const int64_t much = rnd() % 10 == 0 ? 300 : 12;
            assert_int_equal(image_reserve(im, 400, &err), ST_OK);
            for (int64_t i = rnd_below(much); i > 0; i--) random_insert(im);
            for (int64_t i = rnd_below(much); i > 0; i--) random_update(im);
            for (int64_t i = rnd_below(4); i > 0; i--) random_delete(im);
            table_agrees(im);
            if (rnd() % 10 == 0 && home_is_settled(im)) assert_int_equal(home_leave(im, &err), ST_OK);
            else if (!home_is_settled(im)) settle(im);
            if (rnd() % 6 == 0) {
                update_by_sql(t);
                image_free(im);
                check_table(t);
                im = make_image(t, true, pool);
                settle(im);
            }
            publish(&p, t);
        }
        atomic_store(&l.stop, true);
        pthread_join(l.thread, NULL);
        assert_true(l.looks > 0 && l.wrong == 0);
        epoch_unregister(l.slot);
        image_free(im);
        for (int i = 0; i < PINS; i++) {
            if (p.version[i]) assert_true(digest(p.version[i]) == p.want[i]);
            epoch_unpin(p.slot[i]);
            epoch_unregister(p.slot[i]);
        }
        table_free(t);
        epoch_domain_free(p.domain);
        pool_free(pool);
        assert_int_equal(atomic_load(&root.used), 0);
    }
    assert_true(p.patched > 20 && p.copied > 20 && p.out_of_memory > 0);
}

static void small_tables(void **state) {
    (void)state;
    memset(model, 0, sizeof model);
    for (int n_keys = 0; n_keys <= 3; n_keys++) {
        Table *t = make_table(n_keys);
        ImageNeed need = {.table = t, .cols = all_cols, .inserts = true};
        Image *im = NULL;
        assert_int_equal(image_make(&need, &root, NULL, &im, &err), ST_OK);
        assert_false(image_is_dirty(im));
        assert_int_equal(image_sync(im, NULL, &err), ST_OK);
        assert_int_equal(image_reserve(im, 1, &err), ST_OK);
        Row m = random_row(5);
        Cells c;
        fill_cells(&m, &c);
        int32_t conflict;
        int64_t r = image_insert(im, c.ptr, &conflict, &err);
        assert_int_equal(r, 0);
        check_row(im, r, &m);
        assert_true(image_is_dirty(im));
        assert_int_equal(image_sync(im, NULL, &err), ST_OK);
        assert_int_equal(t->live_rows, 1);
        assert_int_equal(image_verify(im, true, &err), ST_OK);
        /* no more than was reserved */
        Err e = {0};
        while ((r = image_insert(im, c.ptr, &conflict, &e)) >= 0 || conflict >= 0) {}
        assert_int_equal(conflict, -1);
        assert_string_equal(e.sqlstate, ERR_INTERNAL);
        /* a stale image is not written back */
        Err e2 = {0};
        im->dirty[0] = DIRTY_UPDATED;
        assert_int_equal(table_truncate(t, NULL, &err), ST_OK);
        assert_int_equal(image_sync(im, NULL, &e2), ST_ERROR);
        assert_string_equal(e2.sqlstate, ERR_INTERNAL);
        image_free(im);
        table_free(t);
    }
    Table *t = make_table(1);
    bool writes[N_COLS] = {[ID] = true};
    ImageNeed need = {.table = t, .cols = all_cols, .writes = writes};
    Image *im = NULL;
    Err e = {0};
    assert_int_equal(image_make(&need, &root, NULL, &im, &e), ST_ERROR);
    assert_string_equal(e.sqlstate, ERR_FEATURE_NOT_SUPPORTED);
    image_free(NULL);
    table_free(t);
    assert_int_equal(atomic_load(&root.used), 0);
}

/* Rows of (a, b, c) with a = from, from + 1, ..., of which one in seven dies again. */
static void insert_and_delete(Image *im, int32_t from, int32_t n) {
    assert_int_equal(image_reserve(im, n, &err), ST_OK);
    for (int32_t a = from; a < from + n; a++) {
        int64_t b = (int64_t)a << 32;
        int32_t c = a % 3, conflict;
        int64_t r = image_insert(im, (const void *const[]){&a, a % 5 ? &b : NULL, &c}, &conflict, &err);
        assert_true(r >= 0);
        if (a % 7 == 0) image_delete(im, r);
    }
}
/* Runs of rows that have a number of the table each. */
static int64_t listed_runs(const Image *im) {
    int64_t n = 0;
    for (int64_t r = 0; r < atomic_load(&im->rows); r += ROWID_RUN) n += im->rowids[r / ROWID_RUN].ids != NULL;
    return n;
}
/* Row numbers of the table take memory only where tablets end and where rows have moved. */
static void numbers_follow(void **state) {
    (void)state;
    static const ColumnDef defs[] = {{.name = "a", .type = {.id = T_INT4}, .not_null = true},
                                     {.name = "b", .type = {.id = T_INT8}},
                                     {.name = "c", .type = {.id = T_INT4}, .not_null = true}};
    static const int pk[] = {0};
    KeyDef key = {"p", true, 1, pk};
    Table *t = NULL;
    assert_int_equal(table_new(&root, "f", 3, defs, 1, &key, 0, NULL, &t, &err), ST_OK);
    enum { N = 200000, MORE = 20000, BULKS = 4 };
    int32_t *a = malloc(N * 4);
    int64_t *b = malloc(N * 8), loaded;
    for (int32_t i = 0; i < N; i++) a[i] = i, b[i] = i;
    Vec cols[3] = {{.data = a, .phys = PH_I32, .type = defs[0].type},
                   {.data = b, .phys = PH_I64, .type = defs[1].type},
                   {.data = a, .phys = PH_I32, .type = defs[2].type}};
    TableLoad *l;
    assert_int_equal(load_begin(t, 1, &l, &err), ST_OK);
    assert_int_equal(load_add(l, 0, 0, N, cols, &err), ST_OK);
    assert_int_equal(load_finish(l, NULL, NULL, &loaded, &err), ST_OK);
    load_cancel(l);
    bool need_cols[3] = {true, true, true}, writes[3] = {false, true, false};
    ImageNeed need = {.table = t, .cols = need_cols, .writes = writes, .inserts = true};
    Image *im = NULL;
    assert_int_equal(image_make(&need, &root, NULL, &im, &err), ST_OK);
    assert_int_equal(listed_runs(im), 0);
    /* one row is updated, and stays where it is: bulks and devices know rows by their places */
    *(int64_t *)(void *)image_cell(&im->cols[1], 5000) = -1;
    im->dirty[5000] = DIRTY_UPDATED;
    for (int bulk = 0; bulk < BULKS; bulk++) {
        assert_int_equal(image_sync(im, NULL, &err), ST_OK);
        if (image_verify(im, true, &err) != ST_OK) fail_msg("%s", err.message);
        if (bulk == 0) assert_int_equal(listed_runs(im), 0);
        settle(im);
        insert_and_delete(im, N + bulk * MORE, MORE); /* these become tablets where they are */
    }
    assert_int_equal(image_sync(im, NULL, &err), ST_OK);
    if (image_verify(im, true, &err) != ST_OK) fail_msg("%s", err.message);
    assert_true(listed_runs(im) <= 2 * t->n_tablets);
    image_free(im);
    table_free(t);
    free(a);
    free(b);
    assert_int_equal(atomic_load(&root.used), 0);
}
/* Several tablets, deleted rows among them, more rows than a batch. */
static void many_tablets(void **state) {
    (void)state;
    static const ColumnDef defs[] = {{.name = "a", .type = {.id = T_INT4}, .not_null = true},
                                     {.name = "b", .type = {.id = T_INT8}},
                                     {.name = "c", .type = {.id = T_INT4}, .not_null = true}};
    static const int pk[] = {0};
    KeyDef key = {"p", true, 1, pk};
    Table *t = NULL;
    assert_int_equal(table_new(&root, "m", 3, defs, 1, &key, 0, NULL, &t, &err), ST_OK);
    enum { N = 300000 };
    int32_t *a = malloc(N * 4), *three = malloc(N * 4);
    int64_t *b = malloc(N * 8), *rows = malloc(N * 8);
    uint8_t *valid = malloc(N);
    for (int64_t i = 0; i < N; i++)
        a[i] = (int32_t)(i * 7919 % N), b[i] = i * 3, three[i] = (int32_t)(i % 3), valid[i] = i % 11 != 0;
    Vec cols[3] = {{.data = a, .phys = PH_I32, .type = defs[0].type},
                   {.data = b, .valid = valid, .phys = PH_I64, .type = defs[1].type},
                   {.data = three, .phys = PH_I32, .type = defs[2].type}};
    TableLoad *l;
    int64_t loaded, done;
    assert_int_equal(load_begin(t, 1, &l, &err), ST_OK);
    assert_int_equal(load_add(l, 0, 0, N - 1000, cols, &err), ST_OK);
    assert_int_equal(load_finish(l, NULL, NULL, &loaded, &err), ST_OK);
    load_cancel(l);
    Vec rest[3] = {{.data = a + N - 1000, .phys = PH_I32, .type = defs[0].type},
                   {.data = b + N - 1000, .valid = valid + N - 1000, .phys = PH_I64, .type = defs[1].type},
                   {.data = three + N - 1000, .phys = PH_I32, .type = defs[2].type}};
    assert_int_equal(table_append(t, 1000, rest, NULL, NULL, &err), ST_OK);
    int64_t gone[2000];
    for (int64_t i = 0; i < 2000; i++) gone[i] = (i & 1) << 32 | i * 40;
    assert_int_equal(table_delete(t, 2000, gone, NULL, &done, &err), ST_OK);
    Pool *pool = pool_new(4, &err);
    bool need_cols[3] = {true, true, true}, writes[3] = {false, true, false};
    int32_t by_c[] = {2};
    Group ordered[] = {{1, by_c, 1, true}}; /* entered by all threads */
    ImageNeed need = {
        .table = t, .cols = need_cols, .writes = writes, .inserts = true, .n_groups = 1, .groups = ordered};
    Image *im = NULL;
    assert_int_equal(image_make(&need, &root, pool, &im, &err), ST_OK);
    assert_int_equal(atomic_load(&im->rows), N); /* dead rows of tablets come along while they are few */
    assert_int_equal(image_verify(im, true, &err), ST_OK);
    assert_true(listed_runs(im) <= t->n_tablets);
    Vec find = {.data = a, .phys = PH_I32};
    image_find_many(im, 0, N, &find, rows);
    int64_t missing = 0;
    for (int64_t i = 0; i < N; i++) {
        missing += rows[i] < 0;
        if (rows[i] >= 0)
            assert_int_equal(valid[i] ? *(int64_t *)(void *)image_cell(&im->cols[1], rows[i]) : 0, valid[i] ? b[i] : 0);
    }
    assert_int_equal(missing, 2000);
    for (int32_t g = 0, last = INT32_MAX; g < 3; g++, last = INT32_MAX)
        for (int64_t r = image_first(im, 1, (const void *const[]){&g}); r >= 0; r = image_next(im, 1, r), missing++) {
            int32_t v = *(const int32_t *)(const void *)image_cell(&im->cols[0], r);
            assert_true(v < last);
            last = v;
        }
    assert_int_equal(missing, N);
    /* every row changes: more moves than a batch and a tablet hold */
    for (int64_t r = 0; r < N - 2000; r++) {
        *(int64_t *)(void *)image_cell(&im->cols[1], r) = r;
        image_set_valid(&im->cols[1], r, r % 5 != 0);
        im->dirty[r] = DIRTY_UPDATED;
    }
    for (int again = 0; again < 5; again++) {
        if (image_sync(im, NULL, &err) != ST_OK) fail_msg("%s", err.message);
        if (image_verify(im, true, &err) != ST_OK) fail_msg("%s", err.message);
        if (table_verify(t, &err) != ST_OK) fail_msg("%s", err.message);
        if (again == 1) settle(im); /* from here on all threads bring the table's own cells up to date */
        for (int64_t r = 0; r < N - 2000; r += 3) {
            *(int64_t *)(void *)image_cell(&im->cols[1], r) = -r * again;
            image_set_valid(&im->cols[1], r, (r + again) % 4 != 0);
            im->dirty[r] = DIRTY_UPDATED;
        }
        if (again > 1) insert_and_delete(im, N * again, 20000);
    }
    assert_true(cells_at_home(im) > 0);
    assert_true(t->cols[1].stats.has_range && t->cols[1].stats.min <= -3 * (N - 2003));
    image_free(im);
    pool_free(pool);
    table_free(t);
    free(a);
    free(b);
    free(three);
    free(rows);
    free(valid);
    assert_int_equal(atomic_load(&root.used), 0);
}

/* Rows come and go for ever: the image keeps its size, and what is not yet in the table is not lost. */
/* Room that is not needed goes back, also when gaps have been closed, and comes again. */
static void room_shrinks(void **state) {
    (void)state;
    enum { MUCH = 200000 };
    memset(model, 0, sizeof model);
    Table *t = make_table(3);
    add_rows(t, 0, 300, true);
    Image *im = make_image(t, true, NULL);
    const int64_t small = atomic_load(&root.used), cap = im->cap;
    for (int round = 0; round < 2; round++) {
        assert_int_equal(image_reserve(im, MUCH, &err), ST_OK);
        assert_true(im->cap >= MUCH && atomic_load(&root.used) > small + MUCH * 64);
        for (int i = 0; i < 100; i++) random_insert(im), random_update(im), random_delete(im);
        check_image(im);
        if (round == 0) {
            assert_int_equal(room_trim(im, &err), ST_OK);
        } else { /* numbers that were given and not used are gaps */
            assert_true(image_claim(im, im->cap - atomic_load(&im->rows), &err) >= 0);
            assert_int_equal(image_reserve(im, MUCH / 4, &err), ST_OK);
            assert_true(im->cap < MUCH / 2);
            assert_int_equal(room_trim(im, &err), ST_OK);
        }
        check_image(im);
        assert_true(im->cap <= cap + 200);
        assert_in_range(atomic_load(&root.used), 1, small + 300000);
    }
    image_free(im);
    table_free(t);
    assert_int_equal(atomic_load(&root.used), 0);
}
static void gaps_close(void **state) {
    (void)state;
    memset(model, 0, sizeof model);
    Table *t = make_table(3);
    add_rows(t, 0, 300, true);
    Image *im = make_image(t, true, NULL);
    int64_t max_cap = im->cap, generation = im->generation, closed = 0;
    for (int step = 0; step < 200; step++) {
        int64_t rows = atomic_load(&im->rows);
        assert_int_equal(image_reserve(im, 120, &err), ST_OK);
        closed += atomic_load(&im->rows) < rows;
        check_image(im);
        for (int i = 0; i < 60; i++) {
            int64_t id = rnd_below(300), r = find_id(im, id);
            if (r >= 0) image_delete(im, r), model[id].live = false;
            random_insert(im);
            if (model[2000 + i].live || rnd() % 2) continue;
            Row m = random_row(2000 + i);
            m.code = -1;
            Cells c;
            int32_t conflict;
            fill_cells(&m, &c);
            assert_true(image_insert(im, c.ptr, &conflict, &err) >= 0);
            model[2000 + i] = m;
        }
        for (int64_t id = 0; id < MAX_ID; id++) { /* few stay */
            int64_t r = find_id(im, id);
            if (r < 0 || rnd() % 8) continue;
            image_delete(im, r);
            model[id].live = false;
        }
        random_update(im);
        if (step % 7 == 0) {
            assert_int_equal(image_sync(im, NULL, &err), ST_OK);
            if (image_verify(im, true, &err) != ST_OK) fail_msg("%s", err.message);
        }
    }
    assert_true(closed > 10 && im->generation > generation);
    assert_true(im->cap < max_cap * 6);
    assert_int_equal(image_sync(im, NULL, &err), ST_OK);
    check_table(t);
    image_free(im);
    table_free(t);
    assert_int_equal(atomic_load(&root.used), 0);
}

/* A queue: rows come, and the first one goes, in several orders; calls fail and give back what they took, rows die and
 * come again. */
static int64_t queue_first(Image *im, int32_t index, int32_t g) {
    return image_first(im, index, (const void *const[]){&g});
}
enum { G, K, N_NO, QUEUE_COLS, QUEUE_GROUPS = 3, ROUNDS = 300, STEPS = 60, MANY = 40000 };
/* The model: all rows, by number, and how many there are. */
typedef struct QueueRow {
    int16_t k;
    int32_t g;
    bool live;
} QueueRow;
static QueueRow queue_rows[MANY];

static int32_t queue_number(const Image *im, int64_t row) {
    return *(const int32_t *)(const void *)image_cell(&im->cols[N_NO], row);
}

/* Rows may have other numbers: the model follows them. How many there are. */
static int64_t queue_follow(Image *im) {
    int64_t now = atomic_load(&im->rows);
    for (int64_t r = 0; r < now; r++) {
        queue_rows[r].g = *(const int32_t *)(const void *)image_cell(&im->cols[G], r);
        queue_rows[r].k = *(const int16_t *)(const void *)image_cell(&im->cols[K], r);
        queue_rows[r].live = im->live[r] == ROW_LIVE;
    }
    return now;
}

/* Row n comes, by one of five ways in which k may run. */
static void queue_insert(Image *im, int64_t n, int kind, int32_t number) {
    int32_t g = (int32_t)rnd_below(QUEUE_GROUPS), conflict;
    int16_t k = kind == 0   ? (int16_t)(number / 2)
                : kind == 1 ? (int16_t)(-number / 2)
                : kind == 2 ? (int16_t)rnd_below(30000)
                : kind == 3 ? (int16_t)rnd_below(5)
                            : (int16_t)(rnd_below(2) ? 30000 : rnd_below(100));
    assert_int_equal(image_insert_at(im, n, (const void *const[]){&g, &k, &number}, &conflict, &err), n);
    queue_rows[n] = (QueueRow){k, g, true};
    if (rnd_below(10) == 0) { /* its call failed and ran again, with a look between */
        image_delete(im, n);
        if (rnd_below(2)) (void)queue_first(im, 1, g), (void)queue_first(im, 2, g);
        assert_int_equal(image_insert_at(im, n, (const void *const[]){&g, &k, &number}, &conflict, &err), n);
    }
}

/* The first row of a group by the model: the least k, the greatest, or the least number. */
static int64_t queue_best(int64_t n, int32_t index, int32_t from) {
    int64_t best = -1;
    for (int64_t i = 0; i <= n; i++) {
        const QueueRow *r = &queue_rows[i];
        if (!r->live || r->g != from) continue;
        if (best < 0 || (index == 1 && r->k < queue_rows[best].k) || (index == 2 && r->k > queue_rows[best].k))
            best = i;
    }
    return best;
}

/* The first one from a value on, by image and model. */
static void queue_check_after(Image *im, int64_t n, int32_t index, int32_t from, int32_t number) {
    int64_t v = index == 3 ? rnd_below(number + 2) : rnd_below(10) ? rnd_below(200) - 100 : rnd_below(30002), want = -1;
    bool at = rnd_below(2);
    for (int64_t i = 0; i <= n; i++) {
        int64_t mine = index == 3 ? queue_number(im, i) : queue_rows[i].k, sign = index == 2 ? -1 : 1;
        if (!queue_rows[i].live || queue_rows[i].g != from || !((at && mine == v) || mine * sign > v * sign)) continue;
        int64_t best = want < 0 ? 0 : index == 3 ? queue_number(im, want) : queue_rows[want].k;
        if (want < 0 || mine * sign < best * sign) want = i;
    }
    assert_int_equal(image_first_after(im, index, (const void *const[]){&from}, v, at), want);
}

/* The first row of some group is looked for and goes; sometimes it comes back. */
static void queue_dequeue(Image *im, int64_t n, int32_t number) {
    int32_t index = 1 + (int32_t)rnd_below(3), from = (int32_t)rnd_below(QUEUE_GROUPS);
    int64_t r = queue_first(im, index, from);
    assert_int_equal(r, queue_best(n, index, from));
    if (rnd_below(4) == 0) queue_check_after(im, n, index, from, number);
    if (r < 0) return;
    image_delete(im, r);
    if (rnd_below(5) == 0) { /* several are taken and given back, the last one first or not */
        int64_t second = queue_first(im, index, from);
        if (second >= 0) image_delete(im, second), (void)queue_first(im, index, from);
        if (rnd_below(2)) image_undelete(im, r);
        if (second >= 0) image_undelete(im, second);
        if (im->live[r] == ROW_DEAD && rnd_below(2)) image_undelete(im, r);
    }
    queue_rows[r].live = im->live[r] == ROW_LIVE;
}

/* What is dead is not walked for ever. */
static void queue_drain(Image *im) {
    for (int32_t g = 0; g < QUEUE_GROUPS; g++)
        for (int64_t r; (r = queue_first(im, 1, g)) >= 0;) image_delete(im, r);
    for (int32_t g = 0; g < QUEUE_GROUPS; g++) {
        assert_int_equal(queue_first(im, 2, g), -1);
        assert_int_equal(queue_first(im, 3, g), -1);
    }
    if (image_verify(im, false, &err) != ST_OK) fail_msg("%s", err.message);
    for (int64_t i = 0; i <= im->indexes[2].mask; i++) {
        if (!im->indexes[2].slots[i]) continue;
        const int64_t *next = im->indexes[2].next;
        int64_t anchor = (int64_t)(im->indexes[2].slots[i] & 0xffffffffff) - 1, first = next[4 * anchor + 1] - 1,
                steps = 0;
        for (int64_t r = next[4 * anchor + 3] - 1; r != first && steps < 1000; r = next[4 * r] - 1) steps++;
        assert_true(steps < 200);
    }
}

static void queues(void **state) {
    (void)state;
    static const ColumnDef defs[] = {{.name = "g", .type = {.id = T_INT4}, .not_null = true},
                                     {.name = "k", .type = {.id = T_INT2}, .not_null = true},
                                     {.name = "n", .type = {.id = T_INT4}, .not_null = true}};
    static const int pk[] = {N_NO};
    static int32_t by_g[] = {G};
    static bool cols[QUEUE_COLS] = {true, true, true}, writes[QUEUE_COLS];
    KeyDef key = {"p", true, 1, pk};
    for (int kind = 0; kind < 5; kind++) {
        Table *t = NULL;
        Group orders[] = {{1, by_g, 1 + K, false}, {1, by_g, 1 + K, true}, {1, by_g, 1 + N_NO, false}};
        ImageNeed need = {.cols = cols, .writes = writes, .inserts = true, .n_groups = 3, .groups = orders};
        assert_int_equal(table_new(&root, "q", QUEUE_COLS, defs, 1, &key, 0, NULL, &t, &err), ST_OK);
        need.table = t;
        Image *im = NULL;
        assert_int_equal(image_make(&need, &root, NULL, &im, &err), ST_OK);
        int64_t n = 0, generation = im->generation;
        for (int round = 0; round < ROUNDS; round++) {
            assert_int_equal(image_reserve(im, STEPS, &err), ST_OK);
            if (im->generation != generation) n = queue_follow(im);
            generation = im->generation;
            int64_t base = image_claim(im, STEPS, &err);
            assert_true(base == n);
            for (int step = 0; step < STEPS; step++, n++) {
                int32_t number = (int32_t)(round * STEPS + step);
                queue_insert(im, n, kind, number);
                for (int left = (int)rnd_below(round < 100 ? 2 : 4); left > 0; left--) queue_dequeue(im, n, number);
            }
            if (round % 10 == 0 && image_verify(im, false, &err) != ST_OK) fail_msg("%s", err.message);
        }
        queue_drain(im);
        image_free(im);
        table_free(t);
        assert_int_equal(atomic_load(&root.used), 0);
    }
}

/* ---- threads ---- */
enum { THREADS = 4, PER_THREAD = 4000, KEYS = 6000 };
typedef struct Race {
    Image *im;
    _Atomic int64_t next;
    _Atomic int32_t winners[KEYS];
    _Atomic int64_t lost[2], found;
} Race;
static void race_work(void *ctx, int worker) {
    Race *x = ctx;
    Err e = {0};
    (void)worker;
    for (int64_t part; (part = atomic_fetch_add(&x->next, 1)) < THREADS;) {
        uint64_t seed = 77; /* all threads insert the same keys in nearly the same order */
        for (int64_t i = 0; i < PER_THREAD; i++) {
            seed = hash_u64(seed + 1);
            int64_t id = (int64_t)(seed % KEYS);
            Row m = {true,
                     id,
                     (int32_t)((id + part) % KEYS),
                     (int32_t)(id % 50),
                     1,
                     (int32_t)(part + id % 4),
                     (int32_t)i,
                     0,
                     0,
                     part};
            Cells c;
            fill_cells(&m, &c);
            int32_t conflict;
            int64_t r = image_insert(x->im, c.ptr, &conflict, &e);
            if (r >= 0) {
                if (i % 3 == 0) image_undelete(x->im, r); /* as after the undo of a delete */
                atomic_fetch_add(&x->winners[id], 1);
                atomic_fetch_add(&x->found, find_id(x->im, id) == r);
            } else {
                atomic_fetch_add(&x->lost[conflict], 1);
            }
        }
    }
}
static void threads_insert(void **state) {
    (void)state;
    Pool *pool = pool_new(THREADS, &err);
    for (int round = 0; round < 4; round++) {
        Table *t = make_table(2);
        ImageNeed need = {.table = t, .cols = all_cols, .inserts = true, .n_groups = 4, .groups = all_groups};
        Race x = {0};
        assert_int_equal(image_make(&need, &root, pool, &x.im, &err), ST_OK);
        assert_int_equal(image_reserve(x.im, (int64_t)THREADS * PER_THREAD, &err), ST_OK);
        pool_run(pool, THREADS, race_work, &x);
        int64_t won = 0;
        for (int64_t k = 0; k < KEYS; k++) {
            assert_true(x.winners[k] <= 1);
            won += x.winners[k];
        }
        assert_int_equal(x.found, won);
        assert_true(won > KEYS / 4);
        assert_int_equal(won + x.lost[0] + x.lost[1], (int64_t)THREADS * PER_THREAD);
        if (image_verify(x.im, false, &err) != ST_OK) fail_msg("%s", err.message);
        int64_t listed = 0;
        for (int32_t g = 0; g < 50; g++)
            for (int64_t r = image_first(x.im, 2, (const void *const[]){&g}); r >= 0; r = image_next(x.im, 2, r))
                listed++;
        assert_int_equal(listed, won);
        for (int32_t g = 0; g < 50; g++) {
            int64_t last = -1;
            for (int64_t r = image_first(x.im, 4, (const void *const[]){&g}); r >= 0;
                 r = image_next(x.im, 4, r), listed--) {
                assert_true(int_at(x.im, ID, r) > last);
                last = int_at(x.im, ID, r);
            }
        }
        assert_int_equal(listed, 0);
        if (image_sync(x.im, NULL, &err) != ST_OK) fail_msg("%s", err.message); /* the table checks the keys itself */
        assert_int_equal(t->live_rows, won);
        assert_int_equal(image_verify(x.im, true, &err), ST_OK);
        image_free(x.im);
        table_free(t);
    }
    pool_free(pool);
    assert_int_equal(atomic_load(&root.used), 0);
}

/* ---- expected rows ---- */
/* What images ask the system to back with pages. */
static _Atomic int n_populated;
static struct {
    const char *p;
    size_t n;
} populated[1024];
int madvise(void *p, size_t n, int advice) {
    enum { POPULATE_WRITE = 23 };
    if (advice == POPULATE_WRITE) {
        int i = atomic_fetch_add(&n_populated, 1);
        assert_true(i < ARRAY_LEN(populated));
        populated[i].p = p;
        populated[i].n = n;
    }
    return (int)syscall(SYS_madvise, p, n, advice);
}
static bool is_populated(const void *array, int64_t bytes) {
    const char *at = array, *end = at + bytes;
    for (bool more = true; more && at < end;) {
        more = false;
        for (int i = 0; i < atomic_load(&n_populated); i++)
            if (populated[i].p <= at && at < populated[i].p + populated[i].n) {
                at = populated[i].p + populated[i].n;
                more = true;
            }
    }
    return at >= end;
}
static void check_populated(const Image *im) {
    assert_true(is_populated(im->live, im->cap) && is_populated(im->dirty, im->cap));
    for (int k = 0; k < ROW_PIECES; k++)
        assert_true(im->pieces[k].rows && is_populated(im->pieces[k].rows, im->cap * im->pieces[k].stride));
    for (int i = 0; i < im->n_indexes; i++) {
        const ImageIndex *x = &im->indexes[i];
        assert_true(is_populated(x->slots, (x->mask + 1) * 8));
        if (!x->unique) assert_true(is_populated(x->next, im->cap * 8 * image_next_cells(x)));
    }
}
/* Rows whose keys tell their numbers: a key of each width, modulo 2^64; keys beside them, again, NULL. */
enum { DENSE_ROWS = 40, DENSE_MOST = 400, DENSE_COLS = 3 };
typedef struct DenseKey {
    int16_t a;
    int32_t b;
    int64_t c;
} DenseKey;
/* Row 10 has no b; the others have b = 7 + r. */
static DenseKey dense_key(int64_t r) {
    return (DenseKey){(int16_t)(r - 20), (int32_t)(7 + r), (int64_t)((uint64_t)(INT64_MAX - 5) + (uint64_t)r)};
}
static Table *dense_table(int64_t n) {
    static const ColumnDef defs[] = {{.name = "a", .type = {.id = T_INT2}, .not_null = true},
                                     {.name = "b", .type = {.id = T_INT4}},
                                     {.name = "c", .type = {.id = T_TIMESTAMP}, .not_null = true}};
    static const int cols[] = {0, 1, 2};
    static const KeyDef keys[] = {{"p", true, 1, cols}, {"b", false, 1, cols + 1}, {"c", false, 1, cols + 2}};
    int16_t a[DENSE_MOST];
    int32_t b[DENSE_MOST];
    int64_t c[DENSE_MOST];
    uint8_t valid[DENSE_MOST];
    for (int64_t r = 0; r < n; r++) {
        const DenseKey k = dense_key(r);
        a[r] = k.a;
        b[r] = r == 10 ? 0 : k.b;
        c[r] = k.c;
        valid[r] = r != 10;
    }
    const Vec vecs[] = {{.data = a, .phys = PH_I16, .type = type_make(T_INT2)},
                        {.data = b, .valid = valid, .phys = PH_I32, .type = type_make(T_INT4)},
                        {.data = c, .phys = PH_I64, .type = type_make(T_TIMESTAMP)}};
    Table *t;
    assert_int_equal(table_new(&root, "dense", DENSE_COLS, defs, 3, keys, 0, NULL, &t, &err), ST_OK);
    if (table_append(t, n, vecs, NULL, NULL, &err) != ST_OK) fail_msg("%s", err.message);
    return t;
}
static void expect_dense(const Image *im, int64_t a, int64_t b, int64_t c) {
    if (image_verify(im, false, &err) != ST_OK) fail_msg("%s", err.message);
    assert_int_equal(im->indexes[0].dense, a);
    assert_int_equal(im->indexes[1].dense, b);
    assert_int_equal(im->indexes[2].dense, c);
}
/* The row of key r; -1: none. All ways to find it agree. */
static int64_t dense_find_all(const Image *im, int64_t r, bool has_b) {
    DenseKey k = dense_key(r);
    const void *keys[] = {&k.a, &k.b, &k.c};
    const int64_t row = image_find(im, 0, &keys[0]);
    for (int32_t i = 0; i < 3; i++) {
        uint8_t valid[] = {1, 0, 1};
        int64_t rows[3];
        char three[3 * 8];
        const int64_t size = phys_size((Phys)im->cols[i].phys);
        for (int n = 0; n < 3; n++) memcpy(three + n * size, keys[i], (size_t)size);
        assert_int_equal(image_find(im, i, &keys[i]), i == 1 && !has_b ? -1 : row);
        image_find_many(im, i, 3, &(Vec){.data = three, .valid = valid, .phys = im->cols[i].phys}, rows);
        assert_true(rows[0] == (i == 1 && !has_b ? -1 : row) && rows[1] == -1 && rows[2] == rows[0]);
    }
    return row;
}
static int64_t dense_insert(Image *im, int64_t r, int32_t want) {
    const DenseKey k = dense_key(r);
    int32_t conflict;
    const int64_t row = image_insert(im, (const void *const[]){&k.a, &k.b, &k.c}, &conflict, &err);
    assert_int_equal(conflict, want);
    return row;
}
static void dense_rows(void **state) {
    (void)state;
    enum { GONE = 15 };
    Table *t = dense_table(DENSE_ROWS);
    Image *im = NULL;
    ImageNeed need = {.table = t, .inserts = true, .writes = (bool[DENSE_COLS]){false}};
    assert_int_equal(image_make(&need, &root, NULL, &im, &err), ST_OK);
    expect_dense(im, DENSE_ROWS, 10, DENSE_ROWS);
    for (int64_t r = -3; r < DENSE_ROWS + 3; r++)
        assert_int_equal(dense_find_all(im, r, r != 10), r >= 0 && r < DENSE_ROWS ? r : -1);
    assert_int_equal(dense_insert(im, 3, 0), -1);
    image_delete(im, 3);
    assert_int_equal(dense_find_all(im, 3, true), -1);
    image_undelete(im, 3);
    assert_int_equal(dense_find_all(im, 3, true), 3);
    image_delete(im, 3);
    const int64_t again = dense_insert(im, 3, -1), behind = dense_insert(im, DENSE_ROWS, -1);
    assert_true(again >= DENSE_ROWS && behind > again);
    assert_int_equal(dense_find_all(im, 3, true), again);
    assert_int_equal(dense_find_all(im, DENSE_ROWS, true), behind);
    assert_int_equal(dense_insert(im, 3, 0), -1);
    expect_dense(im, DENSE_ROWS, 10, DENSE_ROWS);
    assert_int_equal(image_sync(im, NULL, &err), ST_OK);
    for (int64_t r = 0; r < GONE; r++) image_delete(im, r == 3 ? again : r);
    assert_int_equal(image_sync(im, NULL, &err), ST_OK);
    assert_int_equal(image_reserve(im, im->cap, &err), ST_OK); /* gaps are closed */
    expect_dense(im, DENSE_ROWS - GONE + 1, DENSE_ROWS - GONE + 1, DENSE_ROWS - GONE + 1);
    for (int64_t r = -3; r < DENSE_ROWS + 3; r++)
        assert_int_equal(dense_find_all(im, r, true), r >= GONE && r <= DENSE_ROWS ? r - GONE : -1);
    assert_int_equal(image_verify(im, true, &err), ST_OK);
    image_free(im);
    table_free(t);
    assert_int_equal(root.used, 0);
}

/* Gaps close and leave rows whose keys do not follow one another: all of them need entries then, whatever fails. */
static void dense_rows_apart(void **state) {
    (void)state;
    Table *t = dense_table(DENSE_MOST);
    Image *im = NULL;
    ImageNeed need = {.table = t, .inserts = true, .writes = (bool[DENSE_COLS]){false}};
    assert_int_equal(image_make(&need, &root, NULL, &im, &err), ST_OK);
    expect_dense(im, DENSE_MOST, 10, DENSE_MOST);
    for (int64_t r = 0; r < DENSE_MOST; r += 2) image_delete(im, r);
    assert_int_equal(image_sync(im, NULL, &err), ST_OK);
    for (int64_t at = 1, over = 0; !over; at++) {
        mem_fail_at(at);
        const Status st = image_reserve(im, im->cap + 1 - atomic_load(&im->rows), &err);
        over = mem_fail_at(0) > 0;
        assert_int_equal(st == ST_OK, over);
        if (!over) assert_string_equal(err.sqlstate, ERR_OUT_OF_MEMORY);
        err_clear(&err);
        if (image_verify(im, true, &err) != ST_OK) fail_msg("%s", err.message);
    }
    assert_int_equal(atomic_load(&im->rows), DENSE_MOST / 2);
    expect_dense(im, 0, 0, 0); /* one is too few */
    for (int64_t r = -3; r < DENSE_MOST + 3; r++)
        assert_int_equal(dense_find_all(im, r, true), r >= 0 && r < DENSE_MOST && r % 2 ? r / 2 : -1);
    image_free(im);
    table_free(t);
    assert_int_equal(root.used, 0);
}

/* Room for the rows that a table expects is there from the beginning, and more later as ever. */
static void expected_rows(void **state) {
    (void)state;
    static const int64_t expected[] = {0, 100, 2500,
                                       400000}; /* fewer than there are; some more; arrays of several pieces */
    for (int i = 0; i < 8; i++) {
        Pool *pool = i & 1 ? pool_new(3, &err) : NULL;
        memset(model, 0, sizeof model);
        Table *t = make_table(3);
        add_rows(t, 0, 1200, true);
        add_rows(t, 1200, 1500, false);
        t->expected_rows = expected[i / 2];
        atomic_store(&n_populated, 0);
        Image *im = make_image(t, true, pool);
        int64_t usual = 1500 + 1500 / 4 + 64;
        assert_int_equal(im->cap, MAX_OF(usual, t->expected_rows));
        assert_int_equal(im->indexes[KEY_ID].dense, 1500);
        for (int k = 0; k < im->n_indexes; k++) { /* room for all, and no more than a power of two takes */
            int64_t slots = im->indexes[k].mask + 1, entries = im->cap - im->indexes[k].dense;
            assert_true(slots / 10 * 7 >= entries && (slots == 64 || slots / 20 * 7 < entries));
        }
        if (t->expected_rows > 0) check_populated(im);
        else assert_int_equal(atomic_load(&n_populated), 0);
        check_image(im);
        assert_false(image_is_dirty(im));
        int64_t cap = im->cap, generation = im->generation;
        assert_int_equal(image_reserve(im, cap - 1500, &err), ST_OK); /* nothing moves for these */
        assert_true(im->cap == cap && im->generation == generation);
        for (int n = 0; n < 300; n++) random_update(im), random_insert(im), random_delete(im);
        check_image(im);
        assert_int_equal(image_sync(im, NULL, &err), ST_OK);
        assert_int_equal(image_verify(im, true, &err), ST_OK);
        int64_t rows = atomic_load(&im->rows);
        assert_int_equal(image_reserve(im, cap - rows + 1, &err), ST_OK); /* one more than was expected */
        assert_true(im->cap > cap || atomic_load(&im->rows) < rows);
        for (int n = 0; n < 300; n++) {
            assert_int_equal(image_reserve(im, 1, &err), ST_OK);
            random_insert(im), random_delete(im);
        }
        check_image(im);
        assert_int_equal(image_sync(im, NULL, &err), ST_OK);
        assert_int_equal(image_verify(im, true, &err), ST_OK);
        check_table(t);
        image_free(im);
        atomic_store(&n_populated, 0);
        im = make_image(t, false, pool); /* nobody inserts: no room is wanted */
        assert_true(im->cap < 1500 + 600 && atomic_load(&n_populated) == 0);
        image_free(im);
        table_free(t);
        pool_free(pool);
    }
    /* more than there is */
    Table *t = make_table(1);
    t->expected_rows = EXPECTED_ROWS_MAX;
    MemAccount small;
    mem_account_init(&small, &root, "images", INT64_C(1) << 30, "memory_limit");
    Err e = {0};
    Image *im = NULL;
    ImageNeed need = {.table = t, .cols = all_cols, .inserts = true};
    assert_int_equal(image_make(&need, &small, NULL, &im, &e), ST_ERROR);
    assert_string_equal(e.sqlstate, ERR_OUT_OF_MEMORY);
    assert_string_equal(e.message, "no room to open table \"t\" for a bulk: memory limit of images exceeded");
    assert_non_null(strstr(e.detail, "bytes"));
    assert_non_null(strstr(e.hint, "\"memory_limit\""));
    assert_non_null(strstr(e.context, "table \"t\" with room for the 1099511627774 rows"));
    assert_int_equal(atomic_load(&small.used), 0);
    t->expected_rows = 1000;
    for (int64_t n = 1;; n++) {
        Err e2 = {0};
        mem_fail_at(n);
        Status st = image_make(&need, &root, NULL, &im, &e2);
        mem_fail_at(0);
        if (st == ST_OK) break;
        assert_string_equal(e2.sqlstate, ERR_OUT_OF_MEMORY);
    }
    assert_int_equal(im->cap, 1000);
    image_free(im);
    table_free(t);
    assert_int_equal(atomic_load(&root.used), 0);
}

/* Memory of claimed rows is there before they are written, and the rows that are there stay as they are. */
static void claimed_rows(void **state) {
    (void)state;
    enum { MANY = 60000, FEW = 100 };
    Pool *pool = pool_new(3, &err);
    memset(model, 0, sizeof model);
    Table *t = make_table(3);
    add_rows(t, 0, 1500, true);
    Image *im = make_image(t, true, pool);
    assert_int_equal(image_reserve(im, MANY + FEW, &err), ST_OK);
    atomic_store(&n_populated, 0);
    int64_t first = image_claim(im, FEW, &err);
    rows_touch(im, first, FEW, pool, 3); /* not worth it */
    assert_int_equal(atomic_load(&n_populated), 0);
    first = image_claim(im, MANY, &err);
    assert_int_equal(first, 1500 + FEW);
    rows_touch(im, first, MANY, pool, 1); /* one worker writes as soon as it would touch */
    rows_touch(im, first, MANY, NULL, 3);
    assert_int_equal(atomic_load(&n_populated), 0);
    rows_touch(im, first, MANY, pool, 3);
    assert_true(is_populated(im->live + first, MANY) && is_populated(im->dirty + first, MANY));
    for (int k = 0; k < ROW_PIECES; k++)
        assert_true(is_populated(im->pieces[k].rows + first * im->pieces[k].stride, MANY * im->pieces[k].stride));
    for (int64_t r = first; r < first + MANY; r++) assert_true(im->live[r] == ROW_DEAD && im->dirty[r] == 0);
    check_image(im);
    assert_false(image_is_dirty(im));
    for (int n = 0; n < 300; n++) {
        assert_int_equal(image_reserve(im, 1, &err), ST_OK);
        random_update(im), random_insert(im), random_delete(im);
    }
    check_image(im);
    image_free(im);
    table_free(t);
    pool_free(pool);
    assert_int_equal(atomic_load(&root.used), 0);
}

/* ---- memory ---- */
static void failing_memory(void **state) {
    (void)state;
    memset(model, 0, sizeof model);
    Table *t = make_table(3);
    add_rows(t, 0, 800, true);
    add_rows(t, 800, 900, false);
    int64_t used = atomic_load(&root.used), n;
    Image *im = NULL;
    ImageNeed need = {.table = t, .cols = all_cols, .inserts = true, .n_groups = 4, .groups = all_groups};
    for (n = 1;; n++) {
        Err e = {0};
        mem_fail_at(n);
        Status st = image_make(&need, &root, NULL, &im, &e);
        mem_fail_at(0);
        if (st == ST_OK) break;
        assert_string_equal(e.sqlstate, ERR_OUT_OF_MEMORY);
        assert_int_equal(atomic_load(&root.used), used);
    }
    assert_true(n > 16);
    for (n = 1;; n++) {
        Err e = {0};
        mem_fail_at(n);
        Status st = image_reserve(im, 5000, &e);
        mem_fail_at(0);
        check_image(im);
        if (st == ST_OK) break;
        assert_string_equal(e.sqlstate, ERR_OUT_OF_MEMORY);
    }
    assert_true(n > 4); /* what has grown stays so: each try gets further */
    /* a string without room: the insert leaves nothing */
    Row m = random_row(2000);
    Cells c;
    fill_cells(&m, &c);
    int32_t conflict;
    Err e = {0};
    mem_fail_at(1);
    assert_int_equal(image_insert(im, c.ptr, &conflict, &e), -1);
    mem_fail_at(0);
    assert_int_equal(conflict, -1);
    assert_string_equal(e.sqlstate, ERR_OUT_OF_MEMORY);
    check_image(im);
    for (int i = 0; i < 300; i++) random_update(im), random_insert(im), random_delete(im);
    memcpy(before, model, sizeof model);
    for (n = 1;; n++) {
        Err e2 = {0};
        UndoLog *u = n & 1 ? undo_new(&root, &err) : NULL;
        mem_fail_at(n);
        Status st = image_sync(im, u, &e2);
        mem_fail_at(0);
        if (u) undo_forget(u);
        undo_free(u);
        check_image(im);
        if (st == ST_OK) break;
        assert_string_equal(e2.sqlstate, ERR_OUT_OF_MEMORY);
        assert_true(image_is_dirty(im));
        if (table_verify(t, &err) != ST_OK) fail_msg("%s", err.message);
    }
    assert_true(n > 10);
    check_table(t);
    assert_int_equal(image_verify(im, true, &err), ST_OK);
    image_free(im);
    /* an account with a limit */
    MemAccount small;
    mem_account_init(&small, &root, "images", 100000, NULL);
    Err e3 = {0};
    assert_int_equal(image_make(&need, &small, NULL, &im, &e3), ST_ERROR);
    assert_string_equal(e3.sqlstate, ERR_OUT_OF_MEMORY);
    assert_int_equal(atomic_load(&small.used), 0);
    table_free(t);
    assert_int_equal(atomic_load(&root.used), 0);
}

int main(void) {
    mem_account_init(&root, NULL, "test", 0, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_operations), cmocka_unit_test(at_home),          cmocka_unit_test(versions_at_home),
        cmocka_unit_test(small_tables),      cmocka_unit_test(many_tablets),     cmocka_unit_test(room_shrinks),
        cmocka_unit_test(gaps_close),        cmocka_unit_test(queues),           cmocka_unit_test(threads_insert),
        cmocka_unit_test(dense_rows),        cmocka_unit_test(dense_rows_apart), cmocka_unit_test(expected_rows),
        cmocka_unit_test(failing_memory),    cmocka_unit_test(claimed_rows),     cmocka_unit_test(numbers_follow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
