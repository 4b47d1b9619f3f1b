/* load_end.c - the end of a load: finished tablets, and where it pays the table's old rows, become the table's new
 * state.
 *
 *  1. load_finish decides what becomes of the new rows. Few of them are appended to the delta. If they dominate, the
 *     old rows are fed through the same load (absorbed) and everything becomes new. In between, new tablets are added
 *     and the dictionaries get an unordered tail. A merge of columns whose
 *     form is open (merge.c) is an absorption with no new rows.
 *  2. Each string column gets its final form: a sorted dictionary, the table's own, or plain strings. Codes of the
 *     load's dictionaries are rewritten, a tablet to a worker: where they are, unless a column gets another form or
 *     width, which takes a new block.
 *  3. Key indexes and statistics are built, and the new state is swapped in as a whole, or nothing changes.
 *
 * Thread rules: one thread, which runs the steps on the pool; the table is changed by it alone.
 */
#include <stdlib.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "base/mutex.h"
#include "storage/load_int.h"
#include "storage/merge.h"

enum { SMALL_LOAD = 10000 }; /* so few rows go to the delta of a table with many */
/* After a load that built so much, the allocator gives its free pages back. */
#define TRIM_ROWS 500000

/* ---- parallel steps: the first error wins ---- */
static void step_failed(TableLoad *l, const Err *e) {
    mutex_lock(&l->err_mu);
    if (!atomic_load(&l->failed)) err_copy(&l->err, e);
    atomic_store(&l->failed, true);
    mutex_unlock(&l->err_mu);
}
static Status run_step(TableLoad *l, Pool *pool, PoolFn fn, Err *e) {
    int workers = pool ? MIN_OF(pool_threads(pool), l->n_workers) : 1;
    atomic_store(&l->next_proto, 0);
    pool_run_or_here(pool, workers, fn, l);
    if (!atomic_load(&l->failed)) return ST_OK;
    err_copy(e, &l->err);
    return ST_ERROR;
}

/* The pieces that are left. */
static void encode_worker(void *ctx, int worker) {
    (void)worker;
    Err e = {0};
    if (load_encode(ctx, true, &e) != ST_OK) step_failed(ctx, &e);
}

/* ---- absorbing the table's rows ---- */
enum { ABSORB_BATCH = 2048 };
static Status absorb_tablet(TableLoad *l, int worker, int64_t tn, Vec *cols, Err *e) {
    const Table *t = l->t;
    const Tablet *tab = t->tablets[tn];
    int32_t pos[ABSORB_BATCH];
    TRY(load_add(l, worker, tn, 0, NULL, e));
    for (int64_t first = 0; first < tab->rows; first += ABSORB_BATCH) {
        bool identity;
        int64_t n = tablet_live_rows(tab, first, MIN_OF(ABSORB_BATCH, tab->rows - first), pos, &identity);
        for (int c = 0; c < t->n_cols; c++) {
            bool nulls;
            uint8_t *valid = (uint8_t *)cols[c].data + ABSORB_BATCH * 16;
            tablet_decode(t, tab, c, first, identity ? NULL : pos, n, cols[c].phys, cols[c].data, valid, &nulls);
            cols[c].valid = nulls ? valid : NULL;
        }
        TRY(load_add(l, worker, tn, n, cols, e));
    }
    return ST_OK;
}
static void absorb_worker(void *ctx, int worker) {
    TableLoad *l = ctx;
    const Table *t = l->t;
    Err e = {0};
    int64_t per = ABSORB_BATCH * 17, vec_bytes = (int64_t)sizeof(Vec) * MAX_OF(t->n_cols, 1);
    Vec *cols = mem_calloc(l->acct, vec_bytes, &e);
    char *mem = mem_alloc(l->acct, per * MAX_OF(t->n_cols, 1), &e);
    Status st = cols && mem ? ST_OK : ST_ERROR;
    for (int c = 0; st == ST_OK && c < t->n_cols; c++)
        cols[c] = (Vec){.data = mem + c * per, .phys = (uint8_t)type_phys(t->cols[c].type), .type = t->cols[c].type};
    while (st == ST_OK && !atomic_load(&l->failed)) {
        int64_t i = atomic_fetch_add(&l->next_proto, 1);
        if (i >= t->n_tablets) break;
        if (worker == 0 && l->merge && merge_stops(l->merge, (double)i / (double)t->n_tablets)) {
            st = merge_stopped(&e);
            break;
        }
        st = absorb_tablet(l, worker, i, cols, &e);
    }
    if (st != ST_OK) step_failed(l, &e);
    if (cols) mem_free(l->acct, cols, vec_bytes);
    if (mem) mem_free(l->acct, mem, per * MAX_OF(t->n_cols, 1));
}
static Status absorb(TableLoad *l, Pool *pool, Err *e) {
    l->group = 0;
    l->next_order = l->next_seq = 0;
    l->n_ready = 0;
    l->any_taken = false;
    TRY(run_step(l, pool, absorb_worker, e));
    TRY(load_seal(l, e));
    return run_step(l, pool, encode_worker, e);
}

/* ---- final form ---- */
typedef struct SortEntry {
    Str s;
    int32_t code;
} SortEntry;
static int entry_cmp(const void *a, const void *b) {
    return str_cmp(((const SortEntry *)a)->s, ((const SortEntry *)b)->s);
}

static Status remap_new(TableLoad *l, int c, Err *e) {
    int32_t n = atomic_load(&l->dicts[c].n);
    l->remap_n[c] = MAX_OF(n, 1);
    l->remap[c] = mem_alloc(l->acct, l->remap_n[c] * 4, e);
    return l->remap[c] ? ST_OK : ST_ERROR;
}
/* A fresh ordered dictionary from the load's. */
static Status sorted_dict(TableLoad *l, int c, Err *e) {
    LoadDict *d = &l->dicts[c];
    int32_t n = atomic_load(&d->n);
    Status st = ST_ERROR;
    int64_t bytes = (int64_t)sizeof(SortEntry) * MAX_OF(n, 1);
    SortEntry *s = mem_alloc(l->acct, bytes, e);
    Dict *dict = l->final[c] = dict_new(table_part(l->t, TABLE_TEXTS), e);
    if (!s || !dict || remap_new(l, c, e) != ST_OK || dict_reserve(dict, n, e) != ST_OK) goto done;
    for (int32_t i = 0; i < n; i++) s[i] = (SortEntry){load_dict_entry(d, i), i};
    if (n) qsort(s, (size_t)n, sizeof *s, entry_cmp);
    for (int32_t i = 0; i < n; i++) {
        if (dict_add(dict, s[i].s, e) < 0) goto done;
        l->remap[c][s[i].code] = i;
    }
    dict->n_sorted = dict->n;
    st = ST_OK;
done:
    if (s) mem_free(l->acct, s, bytes);
    return st;
}

/* Strings of a finished plain column into the table's dictionary: one thread. */
static Status intern_plain(TableLoad *l, int c, LoadProto *p, Err *e) {
    const TabletColumn *v = &p->tablet->cols[c];
    int64_t bytes = MAX_OF(p->rows, 1) * 5;
    int32_t *codes = mem_alloc(l->acct, bytes, e);
    if (!codes) return ST_ERROR;
    uint8_t *valid = (uint8_t *)(codes + p->rows);
    Status st = ST_OK;
    for (int64_t r = 0; r < p->rows && st == ST_OK; r++) {
        valid[r] = column_row_valid(v, r);
        codes[r] = valid[r] ? dict_add(l->final[c], column_str(v, r), e) : 0;
        if (codes[r] < 0) st = ST_ERROR;
    }
    ColSeg seg = {codes, v->validity ? valid : NULL, p->rows};
    if (st == ST_OK) st = enc_codes(l->acct, NULL, &seg, 1, p->rows, &p->cols[c], e);
    if (st == ST_OK) p->cols[c].flags |= COL_REPLACES;
    mem_free(l->acct, codes, bytes);
    return st;
}

/* `fresh`: the result replaces the table's data, so every column's form is free. */
static Status decide_dicts(TableLoad *l, bool fresh, int64_t rows, Err *e) {
    int64_t m = MAX_OF(l->n_cols, 1);
    l->final = mem_calloc(l->acct, m * (int64_t)sizeof(Dict *), e);
    l->remap = mem_calloc(l->acct, m * (int64_t)sizeof(int32_t *), e);
    l->remap_n = mem_calloc(l->acct, m * 8, e);
    if (!l->final || !l->remap || !l->remap_n) return ST_ERROR;
    for (int c = 0; c < l->n_cols; c++) {
        if (!load_is_str(l, c)) continue;
        LoadDict *d = &l->dicts[c];
        bool coded = !atomic_load(&d->given_up);
        int32_t n = atomic_load(&d->n);
        if (fresh) {
            if (coded && n > 0 && n <= dict_keeps(rows)) TRY(sorted_dict(l, c, e));
            continue;
        }
        if (!l->t->cols[c].dict) continue;
        l->final[c] = l->t->cols[c].dict;
        TRY(remap_new(l, c, e));
        for (int32_t i = 0; i < n; i++) {
            l->remap[c][i] = dict_add(l->final[c], load_dict_entry(d, i), e);
            if (l->remap[c][i] < 0) return ST_ERROR;
        }
        for (int64_t i = 0; i < l->n_protos; i++) {
            LoadProto *p = l->protos[i];
            if (p->tablet->cols[c].encoding == ENC_STR) TRY(intern_plain(l, c, p, e));
        }
    }
    return ST_OK;
}

/* Provisional codes of a proto's column to final codes, in the tablet if they are as wide, or to plain strings. */
static Status finish_codes(TableLoad *l, int c, LoadProto *p, Err *e) {
    const TabletColumn *v = &p->tablet->cols[c];
    bool plain = l->final[c] == NULL;
    EncCol now = tablet_packed_column(p->tablet, c);
    if (!plain && enc_remap_bytes(&now, p->rows, l->remap[c])) {
        tablet_put_codes(p->tablet, c, &now);
        return ST_OK;
    }
    int64_t cell = plain ? (int64_t)sizeof(Str) : 4, bytes = MAX_OF(p->rows, 1) * (cell + 1);
    char *mem = mem_alloc(l->acct, bytes, e);
    if (!mem) return ST_ERROR;
    uint8_t *valid = (uint8_t *)mem + p->rows * cell;
    for (int64_t r = 0; r < p->rows; r++) {
        int32_t code = (int32_t)((uint64_t)v->base + for_code(v, r));
        valid[r] = column_row_valid(v, r);
        if (!plain) ((int32_t *)(void *)mem)[r] = code;
        else ((Str *)(void *)mem)[r] = valid[r] ? load_dict_entry(&l->dicts[c], code) : (Str){"", 0, 0};
    }
    ColSeg seg = {mem, v->validity ? valid : NULL, p->rows};
    EncCol out;
    Status st = plain ? enc_strings(l->acct, &seg, 1, p->rows, &out, e)
                      : enc_codes(l->acct, l->remap[c], &seg, 1, p->rows, &out, e);
    mem_free(l->acct, mem, bytes);
    if (st != ST_OK) return st;
    if (!plain && out.width == v->width) {
        tablet_put_codes(p->tablet, c, &out);
        enc_release(l->acct, &out);
        return ST_OK;
    }
    p->cols[c] = out;
    p->cols[c].flags |= COL_REPLACES;
    return ST_OK;
}
/* The tablet anew with the columns that replace others. */
static Status replace_columns(TableLoad *l, LoadProto *p, Err *e) {
    int64_t bytes = l->n_cols * (int64_t)sizeof(EncCol);
    EncCol *cols = mem_alloc(l->acct, bytes, e);
    if (!cols) return ST_ERROR;
    for (int c = 0; c < l->n_cols; c++) {
        cols[c] = p->cols[c].flags & COL_REPLACES ? p->cols[c] : tablet_packed_column(p->tablet, c);
        cols[c].flags &= (uint8_t)~COL_REPLACES;
    }
    Tablet *tab;
    Status st = tablet_lay_out(table_part(l->t, TABLE_PACKED), l->t->id, p->rows, l->n_cols, cols, &tab, e);
    mem_free(l->acct, cols, bytes);
    if (st != ST_OK) return ST_ERROR;
    tablet_free(p->tablet);
    p->tablet = tab;
    for (int c = 0; c < l->n_cols; c++) enc_release(l->acct, &p->cols[c]);
    return ST_OK;
}
static Status finish_proto(TableLoad *l, LoadProto *p, Err *e) {
    bool replaced = false;
    for (int c = 0; c < l->n_cols; c++) {
        bool is_final = !load_is_str(l, c) || p->tablet->cols[c].encoding == ENC_STR;
        if (!is_final) TRY(finish_codes(l, c, p, e));
        replaced |= (p->cols[c].flags & COL_REPLACES) != 0;
    }
    if (replaced) TRY(replace_columns(l, p, e));
    tablet_seal(p->tablet);
    tablet_join(l->t, p->tablet);
    return ST_OK;
}
static void finish_worker(void *ctx, int worker) {
    (void)worker;
    TableLoad *l = ctx;
    Err e = {0};
    for (int64_t i; !atomic_load(&l->failed) && (i = atomic_fetch_add(&l->next_proto, 1)) < l->n_protos;) {
        if (finish_proto(l, l->protos[i], &e) == ST_OK) continue;
        step_failed(l, &e);
        return;
    }
}
static int proto_cmp(const void *x, const void *y) {
    const LoadProto *a = *(LoadProto *const *)x, *b = *(LoadProto *const *)y;
    if (a->group != b->group) return a->group < b->group ? -1 : 1;
    if (a->order != b->order) return a->order < b->order ? -1 : 1;
    if (a->seq != b->seq) return a->seq < b->seq ? -1 : 1;
    return a->start < b->start ? -1 : a->start > b->start;
}

/* ---- the swap ---- */
static Status install_tablets(TableLoad *l, Pool *pool, bool rows_may_return, Err *e) {
    Table *t = l->t;
    int64_t first = t->n_tablets;
    for (int64_t i = 0; i < l->n_protos; i++) {
        TRY(table_add_tablet(t, l->protos[i]->tablet, e));
        l->protos[i]->tablet = NULL;
        t->live_rows += l->protos[i]->rows;
    }
    for (int k = 0; k < table_indexes(t); k++) TRY(keyindex_add_tablets(t, k, first, e));
    return stats_extend(t, first, pool, rows_may_return, e);
}
static Status install_fresh(TableLoad *l, Pool *pool, UndoLog *undo, Err *e) {
    Table *t = l->t;
    TableState *old;
    TRY(table_state_take(t, &old, e));
    for (int c = 0; c < l->n_cols; c++) {
        t->cols[c].dict = l->final[c];
        l->final[c] = NULL;
    }
    if (install_tablets(l, pool, false, e) != ST_OK || (undo && undo_add_state(undo, t, old, e) != ST_OK)) {
        table_state_put(t, old);
        return ST_ERROR;
    }
    if (!undo) table_state_free(t, old);
    return ST_OK;
}
static Status install_more(TableLoad *l, Pool *pool, UndoLog *undo, int64_t rows, Err *e) {
    Table *t = l->t;
    UndoLog *log = undo ? undo : undo_new(l->acct, e);
    if (!log) return ST_ERROR;
    int64_t mark = undo_mark(log), before = t->live_rows;
    bool tail = false;
    for (int c = 0; c < l->n_cols; c++)
        tail = tail || (t->cols[c].dict && t->cols[c].dict->n > t->cols[c].dict->n_sorted);
    Status st = undo_add_tablets(log, t, t->n_tablets, t->n_tablets + l->n_protos, rows, e);
    if (st == ST_OK) {
        st = install_tablets(l, pool, t->impl->undo_open > 1, e);
        if (st != ST_OK) {
            t->live_rows = before + rows; /* what the record will take off */
            undo_rollback(log, mark);
        } else if (tail) {
            t->impl->changed_rows += rows; /* a merge would order the dictionary */
        }
    }
    if (!undo) undo_free(log);
    return st;
}

/* Few rows for a table with many: the delta takes them. */
static Status append_small(TableLoad *l, UndoLog *undo, Err *e) {
    Table *t = l->t;
    UndoLog *log = undo ? undo : undo_new(l->acct, e);
    if (!log) return ST_ERROR;
    int64_t mark = undo_mark(log), vec_bytes = (int64_t)sizeof(Vec) * MAX_OF(l->n_cols, 1),
            str_bytes = RAW_ROWS * (int64_t)sizeof(Str) * MAX_OF(l->n_cols, 1);
    Vec *cols = mem_calloc(l->acct, vec_bytes, e);
    Str *strs = mem_alloc(l->acct, str_bytes, e);
    Status st = cols && strs ? ST_OK : ST_ERROR;
    for (int64_t i = 0; i < l->n_pieces && st == ST_OK; i++) {
        const LoadPiece *p = &l->pieces[i];
        if (p->n == 0) continue;
        for (int c = 0; c < l->n_cols; c++) {
            const RawCol *r = &p->buf->cols[c];
            cols[c] = (Vec){.phys = (uint8_t)type_phys(t->cols[c].type), .type = t->cols[c].type};
            cols[c].valid = (uint8_t *)load_valid(r, p->start);
            cols[c].data = (char *)r->cells + p->start * load_cell_size(l, c);
            if (!r->codes) continue;
            Str *out = strs + (int64_t)c * RAW_ROWS;
            for (int64_t k = 0; k < p->n; k++)
                out[k] = cols[c].valid && !cols[c].valid[k]
                             ? (Str){"", 0, 0}
                             : load_dict_entry(&l->dicts[c], ((const int32_t *)r->cells)[p->start + k]);
            cols[c].data = out;
        }
        st = table_append(t, p->n, cols, log, NULL, e);
    }
    if (st != ST_OK) undo_rollback(log, mark);
    if (cols) mem_free(l->acct, cols, vec_bytes);
    if (strs) mem_free(l->acct, strs, str_bytes);
    if (!undo) undo_free(log);
    return st;
}

static Status finish(TableLoad *l, Pool *pool, UndoLog *undo, bool rebuild, int64_t *rows_out, Err *e) {
    Table *t = l->t;
    TRY(load_seal(l, e));
    int64_t rows = l->pending_rows;
    for (int64_t i = 0; i < l->n_protos; i++) rows += l->protos[i]->rows;
    *rows_out = rows;
    if (rows == 0 && !rebuild) return ST_OK;
    bool fresh = rebuild || t->n_tablets == 0 || t->live_rows <= 2 * rows;
    if (!fresh && l->n_protos == 0 && rows < SMALL_LOAD) return append_small(l, undo, e);
    TRY(run_step(l, pool, encode_worker, e));
    if (fresh && t->live_rows > 0) TRY(absorb(l, pool, e));
    if (l->n_protos) qsort(l->protos, (size_t)l->n_protos, sizeof *l->protos, proto_cmp);
    TRY(decide_dicts(l, fresh, fresh ? rows + t->live_rows : rows, e));
    TRY(run_step(l, pool, finish_worker, e));
    TRY(fresh ? install_fresh(l, pool, undo, e) : install_more(l, pool, undo, rows, e));
#ifdef __GLIBC__
    /* a merge does so itself, when the load has gone */
    if (!rebuild && (fresh ? t->live_rows : rows) > TRIM_ROWS) malloc_trim(0);
#endif
    table_changed(t);
    return ST_OK;
}

Status load_finish(TableLoad *l, Pool *pool, UndoLog *undo, int64_t *rows, Err *e) {
    int64_t n = 0;
    TRY(finish(l, pool, undo, false, &n, e));
    if (rows) *rows = n;
    return ST_OK;
}

Status load_rebuild(Table *t, const MergeOptions *o, Err *e) {
    TableLoad *l;
    int64_t rows;
    TRY(load_begin(t, o->pool ? pool_threads(o->pool) : 1, &l, e));
    l->merge = o;
    Status st = finish(l, o->pool, NULL, true, &rows, e);
    load_cancel(l);
    return st;
}
