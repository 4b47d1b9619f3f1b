/* pieces.c - see pieces.h. */
#include "storage/pieces_int.h"

#include "base/mutex.h"
#include "storage/table_version.h"

enum {
    LEAST_OPEN = TABLET_ROWS / 8, /* rows of an open tablet that is packed: smaller ones take more rows */
    LEAST_SHARE = 20,             /* of a tablet's rows that change, one in so many, */
    LEAST_ROWS = 16               /* and these */
};

/* ---- what they are ---- */
static void free_piece(TablePieces *p, Piece *x) {
    const int64_t sums = (int64_t)sizeof(CellSummary) * p->n_set;
    tablet_free(x->tablet);
    tablet_free(x->origin);
    if (x->deleted) mem_free(table_part(p->table, TABLE_OPEN), x->deleted, DELETED_BYTES);
    if (x->rows) mem_free(p->acct, x->rows, PIECE_ROWS_BYTES);
    if (x->cells) mem_free(p->acct, x->cells, sums);
}
static void drop_made(TablePieces *p) {
    if (p->made) p->drop_made(p->made);
    p->made = NULL;
}
void pieces_keep_made(TablePieces *p, void *made, void (*drop)(void *made)) {
    p->made = made;
    p->drop_made = drop;
}
void pieces_free(TablePieces *p) {
    if (!p) return;
    drop_made(p);
    Table *t = p->table;
    const bool held = p->held;
    for (int64_t i = 0; i < p->n; i++) free_piece(p, &p->items[i]);
    for (int i = 0; p->dicts && i < p->n_set; i++) dict_free(p->dicts[i]);
    if (p->dicts) mem_free(p->acct, p->dicts, p->n_set * (int64_t)sizeof *p->dicts);
    if (p->set) mem_free(p->acct, p->set, p->n_set * (int64_t)sizeof *p->set);
    if (p->coded) mem_free(p->acct, p->coded, p->n_set * (int64_t)sizeof *p->coded);
    if (p->places) mem_free(p->acct, p->places, p->n_rows * 8);
    if (p->rest) mem_free(p->acct, p->rest, p->n_rest * 8);
    if (p->items) mem_free(p->acct, p->items, p->cap * (int64_t)sizeof *p->items);
    mem_free(p->acct, p, (int64_t)sizeof *p);
    if (held) table_free_end(t);
}
int64_t pieces_rows(const TablePieces *p) {
    int64_t n = 0;
    for (int64_t i = 0; i < p->n; i++) n += p->items[i].n;
    return n;
}
bool pieces_set_column(const TablePieces *p, int col) {
    for (int i = 0; i < p->n_set; i++)
        if (p->set[i] == col) return true;
    return false;
}
static bool row_bit(const uint64_t *bits, int64_t row) { return bits[row >> 6] >> (row & 63) & 1; }
static const Piece *find_piece(const TablePieces *p, int64_t rowid) {
    int64_t lo = 0, hi = p->n;
    while (lo < hi) {
        const int64_t mid = lo + (hi - lo) / 2;
        if (p->items[mid].number < rowid >> 32) lo = mid + 1;
        else hi = mid;
    }
    const Piece *x = lo < p->n && p->items[lo].number == rowid >> 32 ? &p->items[lo] : NULL;
    return x && row_bit(x->rows, rowid & 0xffffffff) ? x : NULL;
}
bool pieces_have_row(const TablePieces *p, int64_t rowid) { return find_piece(p, rowid) != NULL; }
void pieces_list_rows(const TablePieces *p, int64_t *rowids) {
    int64_t n = 0;
    for (int64_t i = 0; i < p->n; i++)
        for (int64_t w = 0; w < PIECE_ROWS_BYTES / 8; w++)
            for (uint64_t bits = p->items[i].rows[w]; bits; bits &= bits - 1)
                rowids[n++] = rowid_make(p->items[i].number, w * 64 + __builtin_ctzll(bits));
}
void pieces_old_value(const TablePieces *p, int64_t rowid, int col, Value *out) {
    const Column *c = &p->table->cols[col];
    const int32_t pos = (int32_t)(rowid & 0xffffffff);
    uint8_t valid = 1;
    bool nulls = false;
    *out = (Value){.type = c->type};
    tablet_decode(p->table, find_piece(p, rowid)->tablet, col, 0, &pos, 1, (uint8_t)type_phys(c->type), value_cell(out),
                  &valid, &nulls);
    out->is_null = nulls && !valid;
}
int64_t pieces_bytes(const TablePieces *p) {
    int64_t bytes = (int64_t)sizeof *p;
    for (int64_t i = 0; i < p->n; i++) {
        const Piece *x = &p->items[i];
        bytes += (int64_t)sizeof *x + PIECE_ROWS_BYTES + (x->deleted ? DELETED_BYTES : 0);
        if (x->tablet) bytes += tablet_bytes(x->tablet);
    }
    return bytes;
}
static void swap_deleted(const TablePieces *p, Piece *x) {
    Tablet *tab = p->table->tablets[x->number];
    uint64_t *bits = tab->block->deleted;
    const int64_t more = p->shown ? -x->n : x->n;
    tab->deleted = tab->block->deleted = x->deleted;
    x->deleted = bits;
    tab->n_deleted += more;
    tab->block->changes++;
    p->table->live_rows -= more;
}
void pieces_swap(TablePieces *p) {
    for (int64_t i = 0; i < p->n; i++) {
        Piece *x = &p->items[i];
        Tablet **at = &p->table->tablets[x->number], *tab = *at;
        if (p->deletes) {
            swap_deleted(p, x);
        } else {
            *at = x->tablet;
            x->tablet = tab;
        }
    }
    p->shown = !p->shown;
}

/* ---- making them ---- */
typedef struct Making {
    const PieceInput *in;
    TablePieces *p;
    Mutex lock; /* of new strings, and of the error */
    _Atomic int64_t next;
    _Atomic bool failed;
    Err *e;
} Making;
/* Of a worker: cells of one tablet. */
typedef struct PieceCells {
    char *cells; /* TABLET_ROWS of 16 bytes */
    uint8_t *valid;
    EncCol *cols; /* by column */
    bool *is_set;
} PieceCells;

static int64_t place_of(const TablePieces *p, int64_t i) { return p->places ? p->places[i] : i; }

static int32_t code_of(Making *m, int set, const Dict *dict, Str text, Err *e) {
    int32_t code = dict_find(dict, text);
    if (code >= 0) return code;
    mutex_lock(&m->lock);
    code = dict_add(m->p->dicts[set], text, e);
    mutex_unlock(&m->lock);
    return code < 0 ? code : dict->n + code;
}
/* Value `at` of the vector, which is not NULL, as the column's cell. */
static Status put_cell(Making *m, int set, int64_t at, uint8_t phys, char *cell, CellSummary *s, Err *e) {
    const Vec *v = &m->in->set->vals[set];
    const Column *c = &m->in->version->cols[m->p->set[set]];
    const int64_t size = phys_size((Phys)phys);
    if (c->dict) {
        const Str text = ((const Str *)v->data)[at];
        const int32_t code = code_of(m, set, c->dict, text, e);
        if (code < 0) return ST_ERROR;
        memcpy(cell, &code, sizeof code);
        cell_summary_add(s, code);
        s->bytes += text.len;
    } else if (phys_is_int(phys)) {
        const int128_t x = vec_int(v, at);
        memcpy(cell, &x, (size_t)size); /* little-endian */
        cell_summary_add(s, x);
    } else {
        memcpy(cell, (const char *)v->data + at * size, (size_t)size);
        if (phys == PH_STR) s->bytes += ((const Str *)v->data)[at].len;
    }
    return ST_OK;
}
/* The column's cells with the new ones. */
static Status make_cells(Making *m, const Piece *x, int set, PieceCells *w, bool *nulls, Err *e) {
    const Vec *v = &m->in->set->vals[set];
    const int col = m->p->set[set];
    const uint8_t phys = x->was->cols[col].phys;
    const int64_t size = phys_size((Phys)phys);
    CellSummary s = {.n = x->n};
    memset(w->valid, 1, (size_t)x->was->rows);
    *nulls = false;
    if (x->n < x->was->rows)
        tablet_decode(m->in->version, x->was, col, 0, NULL, x->was->rows, phys, w->cells, w->valid, nulls);
    for (int64_t i = x->first; i < x->end; i++) {
        const int64_t at = place_of(m->p, i), row = m->in->rowids[at] & 0xffffffff, k = v->is_const ? 0 : at;
        w->valid[row] = !v->valid || v->valid[k];
        if (w->valid[row]) {
            TRY(put_cell(m, set, k, phys, w->cells + row * size, &s, e));
        } else {
            memset(w->cells + row * size, 0, (size_t)size);
            s.nulls++;
            *nulls = true;
        }
    }
    x->cells[set] = s;
    return ST_OK;
}
/* *fits false: it would have too many bytes of strings. */
static Status make_column(Making *m, const Piece *x, int set, PieceCells *w, bool *fits, Err *e) {
    const int col = m->p->set[set];
    bool nulls;
    TRY(make_cells(m, x, set, w, &nulls, e));
    *fits = x->cells[set].bytes < (double)(TABLET_TEXT_BYTES / 2);
    if (!*fits) return ST_OK;
    const ColSeg seg = {w->cells, nulls ? w->valid : NULL, x->was->rows};
    EncCol *out = &w->cols[col];
    w->is_set[col] = true;
    if (m->in->version->cols[col].dict) return enc_codes(m->p->acct, NULL, &seg, 1, seg.n, out, e);
    const uint8_t phys = x->was->cols[col].phys;
    return phys == PH_STR ? enc_strings(m->p->acct, &seg, 1, seg.n, out, e)
                          : enc_fixed(m->p->acct, phys, &seg, 1, seg.n, out, e);
}
static void mark_rows(const Making *m, Piece *x) {
    x->n = 0;
    for (int64_t i = x->first; i < x->end; i++) {
        const int64_t row = m->in->rowids[place_of(m->p, i)] & 0xffffffff;
        x->n += !row_bit(x->rows, row);
        x->rows[row >> 6] |= UINT64_C(1) << (row & 63);
    }
}
static Status make_tablet(Making *m, Piece *x, PieceCells *w, Err *e) {
    const Table *v = m->in->version;
    Status st = ST_OK;
    bool fits = true;
    memset(w->is_set, 0, (size_t)v->n_cols);
    memset(w->cols, 0, sizeof *w->cols * (size_t)v->n_cols);
    for (int i = 0; st == ST_OK && fits && i < m->p->n_set; i++) st = make_column(m, x, i, w, &fits, e);
    if (st == ST_OK && fits)
        st = tablet_encode_with(v, x->was, w->is_set, w->cols, m->p->acct, table_part(m->p->table, TABLE_PACKED),
                                &x->tablet, e);
    for (int c = 0; c < v->n_cols; c++)
        if (w->is_set[c]) enc_release(m->p->acct, &w->cols[c]);
    if (st != ST_OK || !fits) return st;
    tablet_join(m->p->table, x->tablet);
    if (!x->was->deleted) return ST_OK;
    TRY(tablet_ensure_deleted(x->tablet, e));
    memcpy(x->tablet->block->deleted, x->was->deleted, DELETED_BYTES);
    x->tablet->n_deleted = x->was->n_deleted;
    return ST_OK;
}
static Status make_deleted(Making *m, Piece *x, Err *e) {
    x->deleted = mem_calloc(table_part(m->p->table, TABLE_OPEN), DELETED_BYTES, e);
    if (!x->deleted) return ST_ERROR;
    if (x->was->deleted) memcpy(x->deleted, x->was->deleted, DELETED_BYTES);
    for (int64_t w = 0; w < DELETED_BYTES / 8; w++) x->deleted[w] |= x->rows[w];
    return ST_OK;
}
static Status make_piece(Making *m, Piece *x, PieceCells *w, Err *e) {
    x->rows = mem_calloc(m->p->acct, PIECE_ROWS_BYTES, e);
    if (!x->rows) return ST_ERROR;
    mark_rows(m, x);
    if (m->p->deletes) return make_deleted(m, x, e);
    x->cells = mem_calloc(m->p->acct, (int64_t)sizeof(CellSummary) * m->p->n_set, e);
    return x->cells ? make_tablet(m, x, w, e) : ST_ERROR;
}
static Status cells_room(Arena *a, const Making *m, PieceCells *w) {
    if (m->p->deletes) return ST_OK;
    w->cells = arena_alloc(a, (int64_t)TABLET_ROWS * 16);
    w->valid = arena_alloc(a, TABLET_ROWS);
    w->cols = arena_array(a, EncCol, m->in->version->n_cols + 1);
    w->is_set = arena_array(a, bool, m->in->version->n_cols + 1);
    return w->cells && w->valid && w->cols && w->is_set ? ST_OK : ST_ERROR;
}
static void make_worker(void *ctx, int worker) {
    (void)worker;
    Making *m = ctx;
    Err e = {0};
    Arena *a = arena_new(m->p->acct, &e);
    PieceCells w = {0};
    if (a) arena_set_err(a, &e);
    Status st = a ? cells_room(a, m, &w) : ST_ERROR;
    for (int64_t i; st == ST_OK && !atomic_load(&m->failed) && (i = atomic_fetch_add(&m->next, 1)) < m->p->n;) {
        if (atomic_load(m->in->cancel)) st = err_set(&e, ERR_QUERY_CANCELED, "canceling statement due to user request");
        else st = make_piece(m, &m->p->items[i], &w, &e);
    }
    arena_free(a);
    if (st == ST_OK) return;
    mutex_lock(&m->lock);
    if (!atomic_exchange(&m->failed, true)) err_copy(m->e, &e);
    mutex_unlock(&m->lock);
}

/* ---- which ---- */
static bool is_worth(const PieceInput *in, const Tablet *tab, int64_t n) {
    const struct TabletBlock *b = tab->block;
    if (n < LEAST_ROWS || n < tab->rows / LEAST_SHARE) return false;
    if (!in->set) return true;
    return !b->has_home && !(tab->is_delta && tab->rows < LEAST_OPEN) && tablet_text_bytes(tab) < TABLET_TEXT_BYTES / 2;
}
/* How many rows each tablet has; *ordered: they come tablet by tablet. false: some row is none of the version's. */
static bool count_rows(const PieceInput *in, int64_t *counts, bool *ordered) {
    const Table *v = in->version;
    *ordered = true;
    for (int64_t i = 0; i < in->n; i++) {
        const int64_t number = in->rowids[i] >> 32;
        if (number < 0 || number >= v->n_tablets || (in->rowids[i] & 0xffffffff) >= v->tablets[number]->rows)
            return false;
        *ordered = *ordered && (i == 0 || number >= in->rowids[i - 1] >> 32);
        counts[number]++;
    }
    return true;
}
static void make_item(const PieceInput *in, int64_t number, int64_t first, int64_t n, Piece *x) {
    *x = (Piece){.number = number, .was = in->version->tablets[number], .first = first, .end = first + n};
    x->origin = table_version_tablet(in->version, number, &x->changes);
    atomic_fetch_add_explicit(&x->origin->block->refs, 1, memory_order_relaxed);
}
/* Rows by tablet, from counts[k] on those of tablet k, which are counted there. */
static void order_rows(const PieceInput *in, int64_t *at, int64_t *places) {
    for (int64_t i = 0; i < in->n; i++) places[at[in->rowids[i] >> 32]++] = i;
}
/* The pieces, of tablets with so many of the rows, and the rows of the other tablets. */
static Status choose(const PieceInput *in, TablePieces *p, int64_t *counts, bool ordered, Err *e) {
    const Table *v = in->version;
    int64_t at = 0, n = 0;
    for (int64_t k = 0; k < v->n_tablets; k++) {
        const bool is = is_worth(in, v->tablets[k], counts[k]);
        p->cap += is;
        p->n_rest += is ? 0 : counts[k];
    }
    if (p->cap == 0) return ST_OK;
    p->items = mem_calloc(p->acct, p->cap * (int64_t)sizeof *p->items, e);
    if (p->n_rest > 0) p->rest = mem_alloc(p->acct, p->n_rest * 8, e);
    if (!ordered) p->places = mem_alloc(p->acct, p->n_rows * 8, e);
    if (!p->items || (p->n_rest > 0 && !p->rest) || (!ordered && !p->places)) return ST_ERROR;
    for (int64_t k = 0; k < v->n_tablets; k++) {
        const int64_t rows = counts[k];
        if (is_worth(in, v->tablets[k], rows)) make_item(in, k, at, rows, &p->items[p->n++]);
        counts[k] = at;
        at += rows;
    }
    if (p->places) order_rows(in, counts, p->places);
    at = 0;
    for (int64_t i = 0; i <= p->n; i++) { /* what lies between the pieces */
        const int64_t end = i < p->n ? p->items[i].first : p->n_rows;
        for (; at < end; at++) p->rest[n++] = place_of(p, at);
        if (i < p->n) at = p->items[i].end;
    }
    return ST_OK;
}
static Status new_dicts(const PieceInput *in, TablePieces *p, Err *e) {
    for (int i = 0; i < p->n_set; i++) {
        const Dict *d = in->version->cols[p->set[i]].dict;
        p->coded[i] = d ? d->n : 0;
        if (d && !(p->dicts[i] = dict_new(p->acct, e))) return ST_ERROR;
    }
    return ST_OK;
}
static Status begin(const PieceInput *in, TablePieces *p, Err *e) {
    p->n_set = in->set ? in->set->n_cols : 0;
    if (p->n_set == 0) return ST_OK;
    p->set = mem_alloc(p->acct, p->n_set * (int64_t)sizeof *p->set, e);
    p->dicts = mem_calloc(p->acct, p->n_set * (int64_t)sizeof *p->dicts, e);
    p->coded = mem_calloc(p->acct, p->n_set * (int64_t)sizeof *p->coded, e);
    if (!p->set || !p->dicts || !p->coded) return ST_ERROR;
    for (int i = 0; i < p->n_set; i++) p->set[i] = in->set->cols[i];
    return new_dicts(in, p, e);
}
/* No row is refused, and none moves. */
static bool stays(const PieceInput *in) {
    const Table *v = in->version;
    if (!in->set) return true;
    for (int k = 0; k < table_indexes(v); k++)
        for (int i = 0; i < in->set->n_cols; i++)
            if (table_index_reads(v, k, in->set->cols[i])) return false;
    return rows_passing(v, in->set) == in->n;
}
static Status make(const PieceInput *in, TablePieces *p, int64_t *counts, Err *e) {
    bool ordered;
    if (!count_rows(in, counts, &ordered)) return ST_OK;
    TRY(choose(in, p, counts, ordered, e));
    if (p->n == 0) return ST_OK;
    Making m = {.in = in, .p = p, .e = e};
    mutex_init(&m.lock, RANK_LOAD_DICT);
    pool_run_or_here(in->pool, (int)MIN_OF((int64_t)in->workers, p->n), make_worker, &m);
    mutex_destroy(&m.lock);
    return atomic_load(&m.failed) ? ST_ERROR : ST_OK;
}
Status pieces_make(const PieceInput *in, TablePieces **out, Err *e) {
    *out = NULL;
    if (in->n == 0 || !stays(in)) return ST_OK;
    MemAccount *a = &in->table->account;
    const int64_t bytes = MAX_OF(in->version->n_tablets, 1) * 8;
    int64_t *counts = mem_calloc(a, bytes, e);
    TablePieces *p = mem_calloc(a, (int64_t)sizeof *p, e);
    Status st = counts && p ? ST_OK : ST_ERROR;
    if (p) {
        *p = (TablePieces){.table = in->table, .acct = a, .held = true, .deletes = !in->set, .n_rows = in->n};
        atomic_fetch_add(&in->table->impl->held, 1);
    }
    if (st == ST_OK) st = begin(in, p, e);
    if (st == ST_OK) st = make(in, p, counts, e);
    if (counts) mem_free(a, counts, bytes);
    if (st != ST_OK || p->n == 0) pieces_free(p);
    else *out = p;
    return st;
}

/* ---- applying them ---- */
static bool dicts_fit(const TablePieces *p) {
    for (int i = 0; i < p->n_set; i++)
        if (p->dicts[i] && p->dicts[i]->n > 0 && p->table->cols[p->set[i]].dict->n != p->coded[i]) return false;
    return true;
}
/* The new strings get the codes that the pieces have of them. */
static Status add_strings(TablePieces *p, Err *e) {
    for (int i = 0; i < p->n_set; i++)
        for (int32_t k = 0; p->dicts[i] && k < p->dicts[i]->n; k++)
            if (dict_add(p->table->cols[p->set[i]].dict, p->dicts[i]->entries[k], e) < 0) return ST_ERROR;
    return ST_OK;
}
static bool fits(const TablePieces *p, const Piece *x) {
    const Table *t = p->table;
    return x->number < t->n_tablets && t->tablets[x->number] == x->origin && x->origin->block->changes == x->changes &&
           (p->deletes || x->tablet);
}
/* Pieces that cannot be used go; their rows are among the rest. */
static Status sort_out(TablePieces *p, bool all, Err *e) {
    int64_t more = 0, n = 0;
    for (int64_t i = 0; i < p->n; i++)
        if (all || !fits(p, &p->items[i])) more += p->items[i].end - p->items[i].first;
    if (more > 0) {
        int64_t *rest = mem_realloc(p->acct, p->rest, p->n_rest * 8, (p->n_rest + more) * 8, e);
        if (!rest) return ST_ERROR;
        p->rest = rest;
    }
    for (int64_t i = 0; i < p->n; i++) {
        Piece *x = &p->items[i];
        if (!all && fits(p, x)) {
            p->items[n++] = *x;
            continue;
        }
        for (int64_t at = x->first; at < x->end; at++) p->rest[p->n_rest++] = place_of(p, at);
        free_piece(p, x);
    }
    p->n = n;
    return ST_OK;
}
static void widen_stats(const TablePieces *p) {
    for (int i = 0; i < p->n_set; i++) {
        CellSummary all = {0};
        for (int64_t k = 0; k < p->n; k++) cell_summary_join(&all, &p->items[k].cells[i]);
        stats_widen(p->table, p->set[i], &all, p->table->live_rows + 1);
        ColumnStats *s = &p->table->cols[p->set[i]].stats;
        s->full_unique = s->full_sorted = false; /* packed tablets have other values now (stats_merged) */
    }
}
/* They are the log's from here on. */
static Status show(TablePieces *p, UndoLog *undo, Err *e) {
    UndoRecord *r = undo_push(undo, UNDO_PIECES, p->table, e);
    if (!r) return ST_ERROR;
    r->pieces = p;
    r->n = pieces_rows(p);
    pieces_swap(p);
    widen_stats(p);
    for (int64_t i = 0; i < p->n; i++) {
        tablet_free(p->items[i].origin);
        p->items[i].origin = NULL;
    }
    p->held = false;
    table_free_end(p->table);
    return ST_OK;
}
static Status apply_rest(Table *t, int64_t n, const int64_t *rest, const int64_t *rowids, const NewRows *set,
                         UndoLog *undo, int64_t *done, Err *e) {
    *done = 0;
    if (n == 0) return ST_OK;
    if (set) return rows_update_some(t, set, rowids, n, rest, undo, e);
    int64_t *ids = mem_alloc(&t->account, n * 8, e);
    if (!ids) return ST_ERROR;
    for (int64_t i = 0; i < n; i++) ids[i] = rowids[rest[i]];
    const Status st = table_delete(t, n, ids, undo, done, e);
    mem_free(&t->account, ids, n * 8);
    return st;
}
static bool others_have_logs(const Table *t, const UndoLog *u) {
    int64_t own = 0;
    for (int64_t k = 0; k < u->recs.len; k++) own += u->recs.items[k].t == t;
    return t->impl->undo_open > own;
}
/* What was made beforehand is of use: every row was there, once, and is where it was. */
static void look_at_made(TablePieces *p, const UndoLog *u, int64_t mark) {
    int64_t n = 0, col = -1;
    bool stayed = mark == 0;
    for (int64_t k = mark; k < u->recs.len; k++) {
        const UndoRecord *r = &u->recs.items[k];
        const bool updates = r->kind == UNDO_UPDATE;
        stayed &= updates || r->kind == UNDO_PIECES || (r->kind == UNDO_DELETE && !r->moved);
        if (updates && col < 0) col = r->col;
        if (!updates || r->col == col) n += r->n;
    }
    p->made_of = u->recs.len;
    if (!stayed || n != p->n_rows) drop_made(p);
}
void *undo_made(const UndoLog *u, const Table **t) {
    const UndoRecord *first = u->recs.len > 0 ? &u->recs.items[0] : NULL;
    if (!first || !first->t || first->kind != UNDO_PIECES || first->pieces->made_of != u->recs.len) return NULL;
    *t = first->t;
    return first->pieces->made;
}
Status pieces_apply(TablePieces *p, const int64_t *rowids, const NewRows *set, UndoLog *undo, int64_t *done, Err *e) {
    Table *t = p->table;
    MemAccount *a = p->acct;
    const int64_t mark = undo_mark(undo);
    Status st = sort_out(p, others_have_logs(t, undo) || !dicts_fit(p), e);
    if (st == ST_OK && p->n > 0) st = add_strings(p, e);
    const int64_t rows = pieces_rows(p), n_rest = p->n_rest;
    int64_t *rest = p->rest, more = 0;
    p->rest = NULL;
    p->n_rest = 0;
    const bool shown = st == ST_OK && p->n > 0 && (st = show(p, undo, e)) == ST_OK;
    if (!shown) pieces_free(p);
    if (st == ST_OK) st = apply_rest(t, n_rest, rest, rowids, set, undo, &more, e);
    if (rest) mem_free(a, rest, n_rest * 8);
    if (st != ST_OK) {
        undo_rollback(undo, mark);
        return ST_ERROR;
    }
    if (shown) look_at_made(p, undo, mark);
    if (!set) t->impl->changed_rows += rows;
    *done = rows + more;
    table_changed(t);
    return ST_OK;
}

/* ---- as cells ---- */
/* Strings of old cells stay with the tablet. */
static Status keep_strings(Tablet *tab, int64_t n, Str *cells, const uint8_t *valid, Err *e) {
    for (int64_t i = 0; i < n; i++)
        if (valid[i] && !strheap_add(&tab->block->heap, cells[i], &cells[i], e)) return ST_ERROR;
    return ST_OK;
}
/* The column's cells of x's rows, n of them by now in the record, which are open from here on. */
static Status unpack_column(const TablePieces *p, const Piece *x, int col, UndoRecord *r, Err *e) {
    Table *t = p->table;
    Tablet *tab = t->tablets[x->number];
    const uint8_t phys = column_phys(&t->cols[col]);
    int32_t *pos = mem_alloc(p->acct, x->n * 4, e);
    bool nulls;
    if (!pos) return ST_ERROR;
    for (int64_t i = 0; i < x->n; i++) pos[i] = (int32_t)(r->rowids[r->n + i] & 0xffffffff);
    char *cells = (char *)r->cells + r->n * r->cell_size;
    uint8_t *valid = r->valid + r->n;
    memset(valid, 1, (size_t)x->n);
    tablet_decode(t, x->tablet, col, 0, pos, x->n, phys, cells, valid, &nulls);
    mem_free(p->acct, pos, x->n * 4);
    TRY(tablet_open_column(t, tab, col, e));
    if (x->tablet->cols[col].validity || tab->cols[col].validity) TRY(tablet_ensure_validity(tab, col, e));
    if (phys == PH_STR) TRY(keep_strings(tab, x->n, (Str *)(void *)cells, valid, e));
    for (int64_t i = 0; i < x->n; i++)
        if (!valid[i]) memset(cells + i * r->cell_size, 0, (size_t)r->cell_size);
    DeltaCol *d = &tab->block->delta[col];
    d->updated = d->updated_cells = true;
    r->n += x->n;
    return ST_OK;
}
static Status unpack_columns(UndoLog *u, const TablePieces *p, int64_t *ids, Err *e) {
    for (int i = 0; i < p->n_set; i++) {
        UndoRecord *r = push_update(p->table, pieces_rows(p), ids, p->set[i], u, e);
        if (!r) return ST_ERROR;
        for (int64_t j = 0; j < p->n; j++) TRY(unpack_column(p, &p->items[j], p->set[i], r, e));
    }
    return ST_OK;
}
/* Records from number `from` on go directly behind record k: later ones of the log may be about the same cells. */
static void put_behind(UndoLog *u, int64_t k, int64_t from) {
    for (int64_t at = k + 1; from < u->recs.len; at++, from++) {
        const UndoRecord r = u->recs.items[from];
        memmove(&u->recs.items[at + 1], &u->recs.items[at], (size_t)(from - at) * sizeof r);
        u->recs.items[at] = r;
    }
}
/* Record k gives way to others directly behind it. */
static Status unpack(UndoLog *u, int64_t k, Err *e) {
    TablePieces *p = u->recs.items[k].pieces;
    int64_t *ids = undo_alloc(u, pieces_rows(p) * 8, e), behind = u->recs.len;
    if (!ids) return ST_ERROR;
    pieces_list_rows(p, ids);
    if (unpack_columns(u, p, ids, e) != ST_OK) {
        for (; behind < u->recs.len; behind++) u->recs.items[behind].n = 0; /* the pieces say it all */
        return ST_ERROR;
    }
    UndoRecord *r = &u->recs.items[k];
    r->pieces = NULL;
    r->kind = p->deletes ? UNDO_DELETE : UNDO_LOCK;
    r->rowids = ids;
    pieces_free(p);
    put_behind(u, k, behind);
    return ST_OK;
}
Status undo_unpack_pieces(UndoLog *u, Err *e) {
    for (int64_t k = 0; k < u->recs.len; k++)
        if (u->recs.items[k].t && u->recs.items[k].kind == UNDO_PIECES) TRY(unpack(u, k, e));
    return ST_OK;
}
