/* storage_int.h - what the files of src/storage share.
 *
 * Ownership: a Tablet owns its block, its delete bitmap and its column array; a Table owns its
 * tablets, dictionaries, statistics arena and key indexes. Everything is charged to the
 * table's account. TableState is all of a table's data at once; truncate and rebuilds swap
 * states, so that undo is swapping back.
 */
#ifndef STELE_STORAGE_STORAGE_INT_H
#define STELE_STORAGE_STORAGE_INT_H

#include "base/hash.h"
#include "storage/keyindex.h"
#include "storage/row_home.h"
#include "storage/table.h"
#include "storage/table_file.h"
#include "storage/tablet.h"
#include "storage/tablet_block.h"

static_assert((int)ENC_FOR == TABLET_FOR && (int)ENC_PLAIN == TABLET_PLAIN && (int)ENC_STR == TABLET_STR, "one enum");

enum { DICT_MAX_ENTRIES = 1 << 20 };

/* Takes over `bytes` with a count of 1; NULL: out of memory, they stay the caller's. */
SharedBytes *shared_new(MemAccount *acct, void *bytes, int64_t size, Err *e);
void shared_drop(SharedBytes *s);
/* Nothing else uses them: they are the caller's alone again, and there is no count. */
bool shared_take_back(SharedBytes *s);

/* Entries and slots are only added to, so that versions share them (dict_freeze) while the table's dictionary grows: a
 * lookup passes over codes from n on. */
struct DictImpl {
    MemAccount *acct;
    uint64_t id;          /* in this process; a frozen one has that of its base */
    _Atomic int64_t refs; /* dict_free gives up one */
    Dict *base;           /* frozen, or forked: whose entries these are; counted */
    bool forked;          /* its arrays are another one's, which goes on adding to them */
    int64_t cap;          /* of entries */
    uint64_t *slots;      /* hash << 32 | code + 1; relaxed atomics */
    int64_t n_slots;
    SharedBytes *entries_share, *slots_share; /* NULL: not shared */
    StrHeap heap;
};
/* Of a table with so many rows, a dictionary has at most so many entries when it is made anew. */
enum { DICT_SMALL = 1024 }; /* so few entries are always worth a dictionary */
static inline int64_t dict_keeps(int64_t rows) { return MAX_OF(rows / 3, (int64_t)DICT_SMALL); }
Dict *dict_new(MemAccount *acct, Err *e);
void dict_free(Dict *d);
static inline uint64_t dict_id(const Dict *d) { return d->impl->id; }
/* The dictionary as it is now, for readers that run while it grows. dict_free. */
Dict *dict_freeze(Dict *d, Err *e);
/* A dictionary that begins as a frozen one, and gets entries of its own. dict_free. */
Dict *dict_fork(Dict *frozen, MemAccount *acct, Err *e);
/* Code of s, added at the unordered end when it is new; -1 on failure. */
int32_t dict_add(Dict *d, Str s, Err *e);
/* One that is not in it yet, and for which there is room (dict_reserve). */
Status dict_push(Dict *d, Str s, Err *e);
/* Room for n entries, so that adding them costs no rehashing. */
Status dict_reserve(Dict *d, int64_t n, Err *e);

/* ---- encoding (encode.c) ---- */
typedef struct ColSeg {   /* a run of rows of one column, to be encoded */
    const void *cells;    /* of the column's phys; Str for strings; int32 codes */
    const uint8_t *valid; /* bytes or NULL */
    int64_t n;
} ColSeg;
typedef struct EncCol {
    uint8_t encoding, width, phys, flags;
    int64_t base, min, max, null_count;
    void *data;
    int64_t data_bytes; /* payload; the allocation has TABLET_GUARD more */
    uint64_t *validity;
    int64_t validity_bytes;
    char *var;
    int64_t var_bytes;
} EncCol;
Status enc_fixed(MemAccount *a, uint8_t phys, const ColSeg *segs, int64_t n_segs, int64_t rows, EncCol *out, Err *e);
/* codes through remap[] when given; marks the column as codes */
Status enc_codes(MemAccount *a, const int32_t *remap, const ColSeg *segs, int64_t n_segs, int64_t rows, EncCol *out,
                 Err *e);
Status enc_strings(MemAccount *a, const ColSeg *segs, int64_t n_segs, int64_t rows, EncCol *out, Err *e);
void enc_release(MemAccount *a, EncCol *c);
/* Codes become remap[code] where they are. False: they stay, since they would get another width, have more than 8 bits,
 * or some are NULL. */
bool enc_remap_bytes(EncCol *c, int64_t rows, const int32_t *remap);
/* ---- blocks (tablet.c) ---- */
/* One block of the columns' bytes; the columns are copied and stay the caller's. */
Status tablet_build(MemAccount *a, int64_t table_id, int64_t rows, int n_cols, const EncCol *cols, Tablet **out,
                    Err *e);
/* The same, but for the block's checksum: its codes may still change, then it is sealed. */
Status tablet_lay_out(MemAccount *a, int64_t table_id, int64_t rows, int n_cols, const EncCol *cols, Tablet **out,
                      Err *e);
void tablet_seal(Tablet *t);
/* Other codes of a column that has codes: as many, of the same width, and NULL where these are. */
void tablet_put_codes(Tablet *t, int col, const EncCol *c);
/* A column that is still packed, as the block has it: bytes are the block's. */
EncCol tablet_packed_column(const Tablet *tab, int col);
/* Takes over `bytes` (mem_alloc, size) on success. XX001 with the offset inside the block when malformed. `what` names
 * the file. */
Status tablet_open_block(MemAccount *a, void *bytes, int64_t size, const char *what, int64_t at, Tablet **out, Err *e);
Status tablet_check_block(const void *bytes, int64_t size, const char *what, int64_t at, Err *e);
/* What it gets besides its block is charged to the table's accounts; before it has any. */
void tablet_join(const Table *t, Tablet *tab);
Status tablet_new_delta(const Table *t, Tablet **out, Err *e);
/* The patch of a row (patches.h), to be written, of a column that is packed or whose cells versions share. One of 16
 * bytes in a packed column of 8 is no patch of it: the column is opened before. 53200: all is equal to what it was. */
Status tablet_patch_cell(const Table *t, Tablet *tab, int col, int64_t row, void **cell, Err *e);
/* Rows of the column that have new cells; how many may before it is opened, or its shared cells are copied. */
static inline int64_t tablet_patched_rows(const Tablet *tab, int col) {
    const Patches *p = tab->cols[col].patches;
    return p ? p->n : 0;
}
static inline int64_t tablet_patch_limit(const Tablet *tab, int col) {
    enum { SHARE_PACKED = 20, SHARE_OPEN = 64, ALWAYS = 16 };
    return MAX_OF(tab->rows / (tab->cols[col].is_delta ? SHARE_OPEN : SHARE_PACKED), (int64_t)ALWAYS);
}
/* Opens a column of a main tablet: from here on its cells are plain and change in place. Rows stay where they are; the
 * block keeps its bytes, for what has been read from them. 53200: it is as it was. */
Status tablet_open_column(const Table *t, Tablet *tab, int col, Err *e);
/* The same in steps, for cells that come from elsewhere: places for open columns; the column counts as open, its view
 * lacks the cells. */
Status tablet_ensure_open_columns(Tablet *tab, Err *e);
void tablet_mark_open(Tablet *tab, int col);
Status delta_reserve(Tablet *tab, int64_t rows, Err *e);
/* Shares the column's cells: versions see rows that are there now, more may be appended. logs: undo logs name the
 * table; what they may write to can be unshared without memory then. */
Status delta_share(Tablet *tab, int col, bool logs, Err *e);
/* The row's cell may become any value of the column's cells without asking for memory (undo_show): one of 16 bytes is
 * in an open column then. */
Status table_reserve_cell(Table *t, int64_t rowid, int col, Err *e);
/* Before cells are changed or moved: they are not shared, or copied. Cannot fail for cells that an undo log has. */
Status delta_unshare(Tablet *tab, int col, Err *e);
/* Before cells of an open column are updated. Afterwards it has no patches, and its cells are its own; or versions
 * share these, and new ones go to patches (tablet_patch_cell), but for rows that are not published. fresh: how many
 * rows get a patch that they have not; crowded: too many. */
Status delta_begin_update(Tablet *tab, int col, int64_t fresh, bool crowded, Err *e);
/* A tablet with open or patched columns as a main block (for files). */
Status tablet_encode(const Table *t, const Tablet *tab, MemAccount *a, Tablet **out, Err *e);
/* The tablet as a main block, some columns as they are in cols[]. What is needed meanwhile is charged to tmp. */
Status tablet_encode_with(const Table *t, const Tablet *tab, const bool *is_set, const EncCol *cols, MemAccount *tmp,
                          MemAccount *a, Tablet **out, Err *e);
/* A tablet that begins as `of`, one of a version's, which stays as long as it. */
Status tablet_fork(const Table *t, const Tablet *of, Tablet **out, Err *e);
void tablet_free(Tablet *tab); /* when no version has it */
Status tablet_ensure_deleted(Tablet *tab, Err *e);

static inline bool phys_is_int(uint8_t p) { return p <= PH_I128; }

/* ---- table ---- */
typedef struct TableState {
    alignas(16) int64_t n_tablets; /* the statistics behind it hold 128-bit values */
    int64_t cap_tablets;
    Tablet **tablets;
    int64_t live_rows, changed_rows, dead_text, generation;
    Dict **dicts;        /* per column */
    ColumnStats *stats;  /* per column */
    HashIndex **indexes; /* by number (table_index) */
    Arena *stats_arena;  /* bytes of most common values */
} TableState;

struct TableImpl {
    int64_t cap_tablets;
    int64_t changed_rows;            /* since the last merge */
    int64_t dead_text;               /* bytes of strings that were overwritten, likewise */
    int64_t looked;                  /* how much had changed when table_is_wasteful looked last */
    TableFiles files;                /* table_file.h */
    _Atomic int64_t undo_open;       /* undo records of this table; added to under the shared lock too (undo_rows.h) */
    _Atomic int64_t undo_pending;    /* those of logs that make it differ from what is committed */
    int64_t analysed;                /* tablets read for statistics so far; tests */
    int64_t contents;                /* the last number given to Table.content */
    int64_t generation, generations; /* of the state that the table holds: names what rowids mean; the last one given */
    Arena *stats_arena;
    Arena *names;
    MemAccount *parent;
    MemAccount *homes; /* of rows that bulks change; NULL: parent */
    MemAccount parts[N_TABLE_PARTS];
    struct TableVersions *versions; /* table_version.c; NULL: it has none */
    struct TableFork *fork;         /* table_fork.c; NULL: it is none */
    _Atomic int64_t forks;          /* of versions of it, which name its rows by their numbers */
    const Table *version;           /* the Table of a version that this belongs to; NULL: of the writer */
    _Atomic int32_t held;           /* by loads: the last of these and of the owner frees it */
};
/* A fork (table_fork.h). */
struct TableFork {
    const Table *of; /* the version */
    int64_t n_of;    /* tablets of it; those behind them are the fork's own */
};
/* The tablet is the fork's own from here on. */
Status fork_own_tablet(Table *t, int64_t i, Err *e);
/* Before a tablet changes in place. */
static inline Status table_own_tablet(Table *t, int64_t i, Err *e) {
    return t->impl->fork ? fork_own_tablet(t, i, e) : ST_OK;
}
/* New rows may go to the table's last tablet. */
static inline bool table_last_takes_rows(const Table *t) {
    if (t->n_tablets == 0 || (t->impl->fork && t->n_tablets <= t->impl->fork->n_of)) return false;
    const Tablet *tab = t->tablets[t->n_tablets - 1];
    return tab->is_delta && !tab->block->has_home;
}
int128_t vec_int(const Vec *v, int64_t i); /* row_change.c: an integer or boolean */
/* The shared cells of an open column of a version's tablet. */
SharedBytes *version_cells(const Tablet *tab, int col);
/* What is left when the data has gone, names and the Table: by its owner, and once by each that has raised impl->held.
 */
void table_free_end(Table *t);
/* The table's data has gone: it is retired, and freed with its last version. */
void table_versions_end(Table *t);

static inline MemAccount *table_part(const Table *t, TablePart p) { return &t->impl->parts[p]; }
static inline uint8_t column_phys(const Column *c) { return c->dict ? (uint8_t)PH_I32 : (uint8_t)type_phys(c->type); }
static inline void table_changed(Table *t) {
    t->version++;
    t->content = ++t->impl->contents;
}
static inline int64_t rowid_make(int64_t tablet, int64_t row) { return tablet << 32 | row; }
static inline HashIndex **table_index(Table *t, int k) {
    return k < t->n_keys ? &t->keys[k].index : &t->exprs[k - t->n_keys].index;
}

/* ---- undo log (undo.c; read by undo_net.c) ---- */
typedef enum UndoKind {
    UNDO_APPEND,
    UNDO_DELETE,
    UNDO_UPDATE,
    UNDO_STATE,
    UNDO_TABLETS,
    UNDO_ADD, /* undo_rows.h */
    UNDO_LOCK,
    UNDO_PIECES /* pieces.h */
} UndoKind;
/* An addition's owner has read the row: in the statement under way, or before. */
typedef enum AddRead { ADD_UNREAD, ADD_READ_NOW, ADD_READ } AddRead;
typedef struct UndoRecord {
    UndoKind kind;
    Table *t;             /* NULL: it is gone */
    int64_t tablet, rows; /* APPEND: tablet and its rows before; TABLETS: number of tablets afterwards and before */
    int64_t n;            /* rows concerned */
    int64_t *rowids;      /* DELETE, UPDATE, ADD, LOCK */
    bool moved;           /* DELETE: the rows before it that were appended are what its rows became */
    int col;              /* UPDATE, ADD */
    int32_t cell_size;
    void *cells;                /* hidden: the new ones; ADD: what was added */
    uint8_t *valid;             /* ADD: it was added, since the cell is not NULL */
    uint8_t read;               /* ADD: AddRead */
    int64_t read_ts;            /* ADD_READ: of the last commit before it was read */
    bool deferred;              /* ADD, hidden: the table has no room for the new cells yet */
    TableState *state;          /* before the change; hidden: after it */
    struct TablePieces *pieces; /* PIECES */
    int64_t content;            /* of the table, likewise */
    int64_t generation;         /* of the state that rowids are of */
} UndoRecord;
struct UndoLog {
    MemAccount *acct;
    Arena *arena;
    bool hidden, committed;
    bool overflowed; /* shown elsewhere, a sum was beyond its type */
    bool has_unread; /* some ADD may be ADD_UNREAD; its owner's */
    VEC(UndoRecord) recs;
    uint64_t *seen;          /* undo_move: cells that UPDATE records name, by hash: record << 32 | place + 1 */
    int seen_bits;           /* log2 of its slots */
    int64_t n_seen, seen_to; /* entries; records that are in it */
};

/* A record of a change that comes. */
UndoRecord *undo_push(UndoLog *u, UndoKind kind, Table *t, Err *e);
/* row_change.c: of an UPDATE of the column's old cells, of no rows yet. */
UndoRecord *push_update(Table *t, int64_t n, int64_t *ids, int col, UndoLog *undo, Err *e);
int128_t undo_added(const UndoRecord *r, int64_t i);              /* what an ADD has added */
void undo_cell_value(const UndoRecord *r, int64_t i, Value *out); /* of a shown UPDATE; bytes are the table's */
void *undo_alloc(UndoLog *u, int64_t bytes, Err *e);

/* Moves the table's data out, leaving it empty (but usable); and back. */
Status table_state_take(Table *t, TableState **out, Err *e);
void table_state_exchange(Table *t, TableState *s); /* what it holds now goes to s */
void table_state_put(Table *t, TableState *s);      /* frees what the table holds now; consumes s */
void table_state_free(Table *t, TableState *s);
Status table_add_tablet(Table *t, Tablet *tab, Err *e);
Status undo_add_state(UndoLog *u, Table *t, TableState *s, Err *e);
Status undo_add_tablets(UndoLog *u, Table *t, int64_t old_n, int64_t new_n, int64_t rows, Err *e);
/* Debug: rows first .. first + n - 1 of vectors are cells of the columns cols[] (NULL: of all, in order) as they are.
 */
bool table_vecs_agree(const Table *t, int n_cols, const int *cols, int64_t first, int64_t n, const Vec *vecs);

/* ---- statistics (stats.c) ---- */
void stats_reset(Table *t);
/* `rows_may_return`: undo may bring back rows that are gone now; ranges then stay wide enough for them. */
Status stats_compute(Table *t, Pool *pool, bool rows_may_return, Err *e);
/* The same after tablets from number `first` on have come: only these are read, unless the table has doubled since all
 * of it was, or statistics lack what that needs. */
Status stats_extend(Table *t, int64_t first, Pool *pool, bool rows_may_return, Err *e);
/* Behind a merge: the first `settled` tablets have rows that were there when the statistics `old` were last computed,
 * and which have not changed since. Only the others are read where that suffices. */
Status stats_merged(Table *t, const ColumnStats *old, int64_t settled, Pool *pool, Err *e);
static inline void cell_summary_add(CellSummary *s, int128_t v) {
    if (v != (int64_t)v) {
        s->wide = true;
        return;
    }
    int64_t x = (int64_t)v;
    if (!s->has_range) s->min = s->max = x;
    s->has_range = true;
    s->min = MIN_OF(s->min, x);
    s->max = MAX_OF(s->max, x);
}
static inline void cell_summary_join(CellSummary *all, const CellSummary *one) {
    all->n += one->n;
    all->nulls += one->nulls;
    all->wide = all->wide || one->wide;
    all->bytes += one->bytes;
    if (!one->has_range) return;
    cell_summary_add(all, one->min);
    cell_summary_add(all, one->max);
}
/* A string's cell of an open or patched column; its validity is the caller's. */
Status tablet_write_string(Table *t, Tablet *tab, int col, void *cell, Str text, CellSummary *s, Err *e);
/* Bits of its own of an open or patched column. */
Status tablet_ensure_validity(Tablet *tab, int col, Err *e);
void tablet_widen(Tablet *tab, int col, const CellSummary *s); /* min and max of the tablet's column take it in */
/* New cells of column `col` come into the table; rows_before = rows stored before them, deleted ones too. */
void stats_widen(Table *t, int col, const CellSummary *s, int64_t rows_before);
/* A column is unique by a constraint of its own. */
bool stats_key_column(const Table *t, int col);

/* Everything live goes through a load, which decides the form of all columns anew (load_end.c). */
struct MergeOptions;
Status load_rebuild(Table *t, const struct MergeOptions *o, Err *e);

/* Runs fn(ctx, worker) on the pool, or here when there is none. */
static inline void pool_run_or_here(Pool *p, int workers, PoolFn fn, void *ctx) {
    if (p && workers > 1) pool_run(p, workers, fn, ctx);
    else fn(ctx, 0);
}

#endif
