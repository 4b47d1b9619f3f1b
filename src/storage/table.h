/* table.h - a table's data: main tablets, delta, delete bitmaps, dictionaries, statistics.
 *
 * A table is a sequence of tablets (storage/tablet.h describes the bytes). Main tablets
 * are immutable and encoded; the last tablets may be delta tablets: uncompressed, changed in
 * place and appended to. Scans treat both alike through TabletColumn.
 *
 * Row identity: rowid = tablet index << 32 | offset in tablet.
 *
 * A column of a main tablet is packed, patched (packed, with new cells of single rows beside it: storage/patches.h) or
 * open (plain cells, as in a delta tablet). A change of few rows patches it, one of many opens it. Open cells that
 * versions share are patched by a change of few rows, too.
 *
 * Dictionaries belong to a column of the table and are shared by its tablets: entries
 * [0, n_sorted) are in binary order, so codes below n_sorted compare like their strings; the
 * entries after that were added by the delta and are unordered. A column either is
 * dictionary-coded in every tablet or in none (`Column.dict`), main and delta alike.
 *
 * Encodings of integer-like columns (bool, int2/4/8, numeric <= 18 digits, dates and times) and of
 * dictionary codes in main: frame of reference: value = base + code, codes packed at a
 * width of 0, 1, 2, 4, 8, 16, 24, 32 or 64 bits: never across a byte boundary in an awkward way, so
 * that any position is one load away.
 *
 * Thread rules: reads need the database's shared lock, changes its exclusive lock
 * (session layer). Nothing here locks.
 */
#ifndef STELE_STORAGE_TABLE_H
#define STELE_STORAGE_TABLE_H

#include "base/pool.h"
#include "base/vfs.h"
#include "types/func.h"
#include "types/type.h"

enum { TABLET_ROWS = 131072 };                     /* rows of a full tablet; also the morsel's upper bound */
#define EXPECTED_ROWS_MAX ((INT64_C(1) << 40) - 2) /* as many as an image can have (txn/store/image.h) */

typedef enum ColEncoding {
    ENC_FOR,   /* base + packed code, `width` bits (0: constant) */
    ENC_PLAIN, /* cells of the column's phys, except PH_STR */
    ENC_STR /* row i: bytes [offsets[i], offsets[i+1]) of the tablet's variable-size area (main), or Str cells (delta)
             */
} ColEncoding;

/* A column of one tablet as a scan sees it: borrowed pointers, valid under the lock. */
typedef struct TabletColumn {
    uint8_t encoding; /* ColEncoding: of packed cells */
    uint8_t width;    /* ENC_FOR: bits of a code */
    uint8_t phys;     /* logical phys of the column; PH_I32 codes when dictionary-coded */
    bool is_delta;    /* open: plain cells, or Str cells, that are changed in place; else bytes of the tablet's block */
    int32_t stride;   /* of cells: bytes from one to the next; 0: side by side */
    int64_t base;     /* ENC_FOR */
    const void *data; /* packed codes / cells / Str cells (open) */
    const uint32_t *offsets;  /* ENC_STR, packed: n+1 offsets from var_base (a tablet's strings stay below 4 GiB) */
    const char *var_base;     /* ENC_STR, packed */
    struct Patches *patches;  /* cells that hold instead of those in `data`; NULL: none */
    const uint64_t *validity; /* bit i set = not NULL, patched rows too; NULL pointer = no NULLs */
    bool has_minmax;          /* min and max (as int64, or codes) of the non-NULL values */
    int64_t min, max;
    int64_t null_count;
} TabletColumn;

typedef struct Tablet {
    int64_t rows;            /* including deleted ones */
    const uint64_t *deleted; /* bit set = row deleted; NULL = none */
    int64_t n_deleted;
    bool is_delta; /* open in all columns from the beginning: rows may be appended */
    TabletColumn *cols;
    struct TabletBlock *block; /* owner of the bytes (storage internal) */
} Tablet;

/* ---- watches: what is kept elsewhere for a main tablet's bytes (devices that have its pages registered) ----
 * A watch is linked to the tablet's block by its owner, which has its memory, and called once, before the bytes are
 * freed: dropped or truncated tables, merges, rolled back loads, closing the database, and versions that had it last.
 * It is not linked any more then. Delta tablets have no such bytes and are not watched.
 *
 * These may be called from any thread; the tablet must not be freed meanwhile. `gone` runs on the thread that frees,
 * without locks of this folder. Watches of an owner that goes away must be gone before it: nothing frees watched
 * tablets while that happens. */
typedef struct TabletWatch {
    struct TabletWatch *next; /* of the tablet; storage's while linked */
    const void *owner;        /* by which it is found again */
    void (*gone)(struct TabletWatch *w);
} TabletWatch;
void tablet_watch(Tablet *t, TabletWatch *w);
TabletWatch *tablet_watched(const Tablet *t, const void *owner); /* NULL: none */
/* By the block, since a tablet of a version may have gone. false: it was not linked, `gone` has been called or is about
 * to be. */
bool tablet_unwatch(struct TabletBlock *b, TabletWatch *w);

typedef struct Dict {
    Str *entries; /* n of them, bytes owned by the dictionary */
    int32_t n, n_sorted;
    struct DictImpl *impl; /* hash for lookups */
} Dict;
/* Code of a string, or -1. */
int32_t dict_find(const Dict *d, Str s);
/* First code in [0, n_sorted] whose entry is >= s (or > s when `after`). */
int32_t dict_lower_bound(const Dict *d, Str s, bool after);

typedef struct ColumnStats {
    bool has_range;   /* min,max below hold for every row now in the table (conservative) */
    int64_t min, max; /* as cell_as_i64; for dictionary columns of codes: 0..n-1 */
    int64_t null_count;
    double distinct;  /* estimate, >= 1 when rows > 0 */
    bool unique;      /* exact: no two rows have the same non-NULL value (data property or constraint) */
    double avg_width; /* bytes */
    bool sorted;      /* non-decreasing in row order over the whole table */
    struct {
        Value value;
        double fraction;
    } mcv[8];
    int n_mcv;
    /* For the next load (stats.c): which values there are, as an estimator's registers, and the rows of the table when
     * all of them were last read. Not saved. */
    const uint8_t *sketch;         /* NULL: none */
    bool full_unique, full_sorted; /* `unique` and `sorted` when they were last computed */
    uint8_t sketch_phys;
    int64_t full_rows;
} ColumnStats;

/* Where the values of a column come from; the codes are PostgreSQL's. */
typedef enum ColumnKind {
    COLUMN_PLAIN = 0,
    COLUMN_ALWAYS = 'a',     /* GENERATED ALWAYS AS IDENTITY */
    COLUMN_BY_DEFAULT = 'd', /* GENERATED BY DEFAULT AS IDENTITY */
    COLUMN_GENERATED = 's'   /* GENERATED ALWAYS AS (..) STORED */
} ColumnKind;
static inline bool column_is_identity(uint8_t kind) { return kind == COLUMN_ALWAYS || kind == COLUMN_BY_DEFAULT; }
typedef struct Column {
    char *name;
    Type type;
    bool not_null;
    char *default_sql; /* NULL = none; of a generated column what it is computed by */
    uint8_t kind;      /* ColumnKind */
    int64_t domain;    /* the domain that its values are of (catalog.h), whose base type is `type`; 0: none */
    Dict *dict;        /* NULL: not dictionary-coded */
    ColumnStats stats;
} Column;

typedef struct KeyConstraint {
    char *name;
    bool primary;
    int n_cols;
    int *cols;
    struct HashIndex *index; /* storage/keyindex.h */
    bool is_index;           /* made by CREATE UNIQUE INDEX: no constraint */
    bool deferrable;         /* rows may have the same key for a while: what changes them looks later
                                (undo_check_deferrable), and nothing may conclude that they differ */
    bool deferred;           /* INITIALLY DEFERRED */
} KeyConstraint;

/* A unique index whose key is computed from the row: by expressions, by a predicate that leaves rows out, or with NULLs
 * that are equal. (Unique indexes of plain columns are KeyConstraints.) Storage has the rows' entries; what computes a
 * key comes from above (exprindex.h). */
typedef struct ExprIndex {
    char *name;
    int n_parts;
    char **parts; /* SQL: a column's name, quoted where it must be, f(...), or (expression) */
    char *where;  /* SQL of the predicate; NULL: all rows */
    bool nulls_not_distinct;
    int n_cols;
    int *cols; /* columns that parts and predicate read, ascending */
    struct KeyProgram *program;
    struct HashIndex *index; /* storage/keyindex.h */
} ExprIndex;

typedef struct CheckConstraint {
    char *name;
    char *sql; /* expression text, bound per statement */
} CheckConstraint;

typedef struct Table {
    char *name;
    int64_t id;
    int64_t version; /* grows with every change of data or shape: plans are valid for one version */
    int64_t content; /* names what it holds, row by row: a change gives it a number that was never there, undoing the
                        change the old one back */
    int n_cols;
    Column *cols;
    int n_keys;
    KeyConstraint *keys;
    int n_checks;
    CheckConstraint *checks;
    int n_exprs;
    ExprIndex *exprs; /* unique indexes with computed keys */
    int64_t n_tablets;
    Tablet **tablets;
    int64_t live_rows;
    bool unlogged;         /* as the catalog shows it; it has no effect */
    char on_commit;        /* what a transaction that ends does to it: 'd' deletes its rows, 'x' drops it; 0: nothing */
    int64_t expected_rows; /* WITH (expected_rows = N): its image gets room for so many rows when it is made, with the
                              system's memory behind it; 0: as it comes */
    int64_t logged;  /* generation + 1 that the redo log goes on from (db/redo.h); 0: it has nothing of the table */
    bool takes_over; /* it is being built of another table's rows: when two have one key, the key cannot be made */
    const struct DeviceRows *on_device; /* a view of rows that only a device has (exec/device/device_rows.h); NULL: the
                                           host has them */
    MemAccount account;
    struct TableImpl *impl;
} Table;

/* What a table's memory is, beside names, statistics and what statements need: accounts below the table's. */
typedef enum TablePart {
    TABLE_PACKED,   /* columns of main tablets */
    TABLE_OPEN,     /* open cells of its own, patches, validity and deleted rows of open tablets */
    TABLE_TEXTS,    /* strings of open columns, dictionaries */
    TABLE_INDEX,    /* slots of keys */
    TABLE_VERSIONS, /* what versions for readers do not share with it */
    N_TABLE_PARTS,
} TablePart;
int64_t table_part_bytes(const Table *t, TablePart p);
int64_t table_charged(const Table *t); /* all that is charged for it, but rows of bulks */

typedef struct ColumnDef {
    const char *name;
    Type type;
    bool not_null;
    const char *default_sql;
    int64_t domain; /* 0: none */
    uint8_t kind;   /* ColumnKind */
} ColumnDef;
typedef struct KeyDef {
    const char *name;
    bool primary;
    int n_cols;
    const int *cols;
    bool is_index;
    bool deferrable, deferred;
} KeyDef;
typedef struct ExprIndexDef {
    const char *name;
    int n_parts;
    const char *const *parts;
    const char *where; /* NULL: none */
    bool nulls_not_distinct;
} ExprIndexDef;
typedef struct CheckDef {
    const char *name;
    const char *sql;
} CheckDef;

/* Everything is copied. The table is freed by table_free. */
Status table_new(MemAccount *parent, const char *name, int n_cols, const ColumnDef *cols, int n_keys,
                 const KeyDef *keys, int n_checks, const CheckDef *checks, Table **out, Err *e);
/* Indexes with computed keys, copied, for a table without rows. Rows can be stored as soon as each has its program
 * (exprindex_set_program). */
Status table_add_exprs(Table *t, int n, const ExprIndexDef *defs, Err *e);
void table_free(Table *t);
/* Names what row numbers mean: another one since a merge, a TRUNCATE or a load that replaces the data, until that is
 * undone. */
int64_t table_generation(const Table *t);
int table_find_column(const Table *t, Slice name); /* -1 */
/* Unique indexes by number: those of keys, then those whose keys are computed. */
static inline int table_indexes(const Table *t) { return t->n_keys + t->n_exprs; }
bool table_index_reads(const Table *t, int k, int col); /* column `col` has a part in its key, or in its predicate */
bool tablet_has_open(const Tablet *t);                  /* some column is open: changed in place */
bool tablet_has_patches(const Tablet *t);               /* some column is patched */
int64_t table_loose_rows(const Table *t);               /* that are open, patched or deleted, about */
int64_t tablet_bytes(const Tablet *t);                  /* of its columns, strings and deleted bitmap */

/* ---- reading ------------------------------------------------------------- */
/* Decodes `n` rows at positions pos[i] (NULL: first, first+1, ...) of a tablet's column into cells of `phys`
 * (integer columns: PH_I16, PH_I32, PH_I64, PH_I128 or PH_BOOL as the caller wishes, values known to fit; dictionary
 * columns: PH_I32 = codes, PH_STR = strings). valid[] is filled and *has_nulls set; valid untouched when there are no
 * NULLs in the column. The fastest loops of the system: specialised per (width, phys), compiled for several instruction
 * sets. */
void tablet_decode(const Table *t, const Tablet *tab, int col, int64_t first, const int32_t *pos, int64_t n,
                   uint8_t phys, void *out, uint8_t *valid, bool *has_nulls);
/* Positions (relative to the tablet) among rows [first, first+n) or pos[0..n) whose value is within [lo, hi]
 * (negate: outside; NULL never passes). Integer-like and dictionary columns (bounds are codes). Returns their number;
 * out has room for n. Runs on packed codes without decoding. out may equal pos. */
int64_t tablet_filter_range(const Tablet *tab, int col, int64_t first, const int32_t *pos, int64_t n, int64_t lo,
                            int64_t hi, bool negate, int32_t *out);
/* The same with a byte mask over dictionary codes: passes where mask[code] != 0. mask[n_codes] answers NULL rows. */
int64_t tablet_filter_codes(const Tablet *tab, int col, int64_t first, const int32_t *pos, int64_t n,
                            const uint8_t *mask, int64_t n_codes, int32_t *out);
/* Drops deleted rows from [first, first+n): returns count, fills out; no-op (returns n, *identity = true) when none is
 * deleted. */
int64_t tablet_live_rows(const Tablet *tab, int64_t first, int64_t n, int32_t *out, bool *identity);

/* ---- changing (exclusive lock) ---------------------------------------------- */
/* Undo log of a transaction: what to reverse. Tables it names must live until undo_rollback or undo_forget (or
 * undo_drop_table): a dropped table is freed after the log has forgotten it. */
typedef struct UndoLog UndoLog;
UndoLog *undo_new(MemAccount *acct, Err *e);
void undo_free(UndoLog *u);
int64_t undo_mark(const UndoLog *u);
/* Reverses everything after the mark, newest first. Cannot fail. */
void undo_rollback(UndoLog *u, int64_t mark);
void undo_forget(UndoLog *u);        /* commit */
bool table_has_undo(const Table *t); /* some log names the table, or a fork: it cannot be merged */
/* The log is shown, and its changes count as committed from here on, before it is forgotten or kept to go back behind
 * it: versions are published with them (table_version.h). false takes that back, so that it can be rolled back when
 * publishing has failed. */
void undo_set_committed(UndoLog *u, bool committed);
/* The table is as committed: logs that are not committed are hidden, those that are committed are shown. */
bool table_is_committed(const Table *t);

/* ---- a log's changes out of the tables and back (undo.c) ----
 * undo_hide: the tables are as before the log's changes; undo_show: as after them. Rowids and marks stay what they are.
 * Neither can fail once memory has been reserved. What was changed on top of the log's changes must be hidden first and
 * shown last. elsewhere: what is shown now is on top of other changes than when it was hidden, which name none of its
 * rows; it does not look at keys then: undo_check_keys. */
Status undo_reserve(UndoLog *u, int64_t mark,
                    Err *e); /* for what was logged after the mark, while it is shown and the newest */
void undo_hide(UndoLog *u);
void undo_show(UndoLog *u, bool elsewhere);
bool undo_is_hidden(const UndoLog *u);
void undo_abandon(UndoLog *u);                    /* hidden, it is forgotten: its changes never happened */
Status undo_check_keys(const UndoLog *u, Err *e); /* shown: no other row has a key of its rows, else 23505; deferrable
                                                      keys apart: */
Status table_check_deferrable(Table *t, Err *e);  /* ... no row has one of another row */
/* ... of what was logged after the mark, a deferrable key of the table (t NULL: of all tables; key -1: each). */
Status undo_check_deferrable(const UndoLog *u, int64_t mark, const Table *t, int key, Err *e);
/* Committed logs that are kept to go back behind them. */
/* What comes after `to` is added to it; on an error nothing happened. Both are shown, or both are hidden. Shown, cells
 * that `to` has already are left out. *bytes: by how much it grew. */
Status undo_move(UndoLog *from, UndoLog *to, bool shown, int64_t *bytes, Err *e);
int64_t undo_bytes(const UndoLog *u); /* memory held by it, old states of tables too */
bool undo_names_table(const UndoLog *u, const Table *t);
void undo_drop_table(UndoLog *u, const Table *t); /* shown or hidden: the table goes away with all there is of it */

/* ---- net changes: what a log comes to ----
 * Rows that were there before the log began and are gone or changed, and rows that are new; a row that moved from main
 * to the delta is a gone and a new one. */
typedef struct NetChange {
    Table *table;
    int64_t id;             /* the table's */
    int64_t content_before; /* the table's content when the log began */
    bool whole;             /* truncated, rebuilt, or bulk-loaded: the lists here are incomplete */
    bool replaced;          /* truncated or rebuilt: nothing is known of rows */
    int64_t n_deleted, n_updated, n_inserted;
    int64_t *deleted, *updated, *inserted; /* rowids; the first two ascending */
    int64_t n_tablets, *tablets;           /* that were loaded: their rows are not in `inserted` */
    uint8_t *set;                          /* by column: `updated` rows have changed there */
} NetChange;
/* By table; everything in the arena. ST_ERROR: out of memory (the arena's Err). */
Status undo_net(const UndoLog *u, Arena *a, int64_t *n, NetChange **out);
int64_t undo_rows(const UndoLog *u);                /* that its records name, often more than once */
bool undo_is_whole(const UndoLog *u, int64_t mark); /* some are, of those after the mark */
/* A cell of a row that is there physically: strings are borrowed. */
void table_value(const Table *t, int64_t rowid, int col, Value *out);
/* Cells as they were before the log's changes, to be looked up: in the arena. While the log is shown and unchanged. */
typedef struct UndoCells UndoCells;
Status undo_cells(const UndoLog *u, Arena *a, UndoCells **out);
bool undo_cells_find(const UndoCells *x, const Table *t, int64_t rowid, int col,
                     Value *out); /* false: the log did not update it */

/* Appends n rows; cols[i] are vectors of type_phys cells (PH_STR bytes are copied). Checks NOT NULL (23502), char
 * lengths are the caller's cast; keys (23505 with PostgreSQL's detail "Key (a)=(1) already exists."). On error nothing
 * of the call remains. rowids may be NULL. */
Status table_append(Table *t, int64_t n, const Vec *cols, UndoLog *undo, int64_t *rowids, Err *e);
/* Deletes rows by rowid; a row already deleted is skipped (counted in *n_done once). */
Status table_delete(Table *t, int64_t n, const int64_t *rowids, UndoLog *undo, int64_t *n_done, Err *e);
/* Updates columns set_cols[] of rows; vals[i] holds the new values. Rows stay where they are: open cells change in
 * place, a packed column is patched, or opened when more than a 20th of its rows have new cells. But a row of a main
 * tablet moves to the delta, in the order given, when a column of a key is set, or its tablet has no room for strings.
 * Key checks happen as if all rows changed at once (statement end), as SQL demands. */
Status table_update(Table *t, int64_t n, const int64_t *rowids, int n_set, const int *set_cols, const Vec *vals,
                    UndoLog *undo, Err *e);
Status table_truncate(Table *t, UndoLog *undo, Err *e); /* undo NULL: immediate */
/* Turns delta into main, drops deleted rows (rowids change), rebuilds dictionaries, statistics and key indexes. No open
 * undo. */
Status table_merge(Table *t, Pool *pool, Err *e);
/* Recomputes statistics (ANALYZE). */
Status table_analyze(Table *t, Pool *pool, Err *e);
/* Rows changed since the last merge; the session merges when it is large against the table. */
int64_t table_delta_rows(const Table *t);
/* Bytes that a merge would give back, about: of deleted rows, overwritten strings, and entries of dictionaries that are
 * more than those keep. Rows of bulks do not count. */
int64_t table_garbage(const Table *t);
bool table_is_wasteful(Table *t); /* an eighth of its memory; quick when little has changed since it was called last */

/* Bulk load: workers fill tablets in parallel; becomes visible as a whole (load_finish), or not at all. Key
 * constraints are checked at the end. load_add takes up to any n rows in any chunking; `order` fixes the rows' final
 * order (chunks of lower order come first). load_begin and load_finish under the database lock, held alone, which may
 * be given up between them: the names and types of a table that is freed meanwhile last as long as the load. */
typedef struct TableLoad TableLoad;
Status load_begin(Table *t, int workers, TableLoad **out, Err *e);
int load_columns(const TableLoad *b); /* of its table */
Status load_add(TableLoad *b, int worker, int64_t order, int64_t n, const Vec *cols, Err *e);
/* Encodes, builds dictionaries and statistics, appends the tablets to the table. With an undo log the load can be
 * rolled back. */
Status load_finish(TableLoad *b, Pool *pool, UndoLog *undo, int64_t *rows, Err *e);
void load_cancel(TableLoad *b); /* frees; also after finish */

/* Point lookup by a key constraint: rowid or -1. `key` cells in constraint order. */
int64_t table_lookup(const Table *t, int key, const Value *vals);

/* Debug: checks every invariant of the table, tablets and indexes. */
Status table_verify(const Table *t, Err *e);

#endif
