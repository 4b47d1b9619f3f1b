/* load_int.h - a load of a table: what load.c (rows in, tablets out) and load_end.c (tablets into the table) share.
 *
 * A TableLoad is owned by the caller of load_begin and lives until load_cancel. Memory is charged to the table's
 * account. Its mutex guards the buffers, pieces and protos; dictionaries have locks of their own; a LoadWorker belongs
 * to its thread, except for `order` and `started`, which the others read.
 */
#ifndef STELE_STORAGE_LOAD_INT_H
#define STELE_STORAGE_LOAD_INT_H

#include <stdatomic.h>

#include "base/mutex.h"
#include "storage/storage_int.h"

enum {
    RAW_ROWS = 16384,  /* of a worker's buffer */
    DICT_CHUNK = 4096, /* entries of a dictionary that are allocated together */
};

/* A dictionary that all workers of a load share: look-ups take no lock, additions do. */
typedef struct LoadSlots {
    struct LoadSlots *older;
    int64_t n;
    _Atomic uint64_t s[];
} LoadSlots;
typedef struct LoadDict {
    Mutex mu;
    MemAccount *acct;
    _Atomic(LoadSlots *) slots;
    Str **chunks;
    int64_t n_chunks;
    _Atomic int32_t n;
    StrHeap heap;
    _Atomic int64_t rows;
    _Atomic bool given_up;
} LoadDict;

static inline Str load_dict_entry(const LoadDict *d, int32_t code) {
    return d->chunks[code / DICT_CHUNK][code % DICT_CHUNK];
}

typedef struct RawCol {
    void *cells;        /* RAW_ROWS of them; strings: Str, or int32 codes */
    uint8_t *valid;     /* RAW_ROWS bytes; NULL for columns that are NOT NULL */
    _Atomic bool nulls; /* there are some: before, valid says nothing */
    bool codes;
    StrHeap heap;
} RawCol;
typedef struct RawBuf {
    struct RawBuf *next;
    int64_t refs, used;
    RawCol cols[];
} RawBuf;
typedef struct LoadPiece {
    int64_t order, seq;
    bool last; /* of its order */
    RawBuf *buf;
    int64_t start, n;
    int64_t str_bytes; /* of the column with most, at most */
} LoadPiece;
typedef struct LoadCacheCell {
    Str s;
    int32_t code;
} LoadCacheCell;
typedef struct LoadWorker {
    RawBuf *buf;
    int64_t piece_start, seq;
    _Atomic int64_t order;
    _Atomic bool started;
    LoadCacheCell *caches; /* CACHE per column, strings only */
} LoadWorker;
typedef struct LoadProto { /* a tablet whose dictionaries are not final yet */
    int group;             /* 0 absorbed, 1 loaded */
    int64_t order, seq, start;
    int64_t rows;
    Tablet *tablet; /* string columns: codes of the load's dictionary, or plain; no checksum */
    EncCol cols[];  /* those with COL_REPLACES in `flags` come in place of the tablet's */
} LoadProto;
enum { COL_REPLACES = 0x80 };
struct TableLoad {
    Table *t;
    MemAccount *acct;
    int n_workers, n_cols, group;
    LoadWorker *workers;
    LoadDict *dicts; /* per column; chunks NULL for other types */
    Mutex mu;
    RawBuf *free_bufs;
    int64_t n_free;
    LoadPiece *pieces; /* sorted by order, seq */
    int64_t n_pieces, cap_pieces, n_ready, pending_rows;
    int64_t next_order, next_seq;
    bool any_taken; /* the highest piece taken so far: */
    int64_t max_order, max_seq;
    LoadProto **protos;
    int64_t n_protos, cap_protos;
    /* finishing */
    const struct MergeOptions *merge; /* it is a merge; NULL: it is not */
    Dict **final;                     /* per column: dictionary of the result; NULL = plain */
    int32_t **remap;
    int64_t *remap_n;
    _Atomic int64_t next_proto;
    _Atomic bool failed;
    Err err;
    Mutex err_mu;
};

/* By row from number `first` on; NULL: no row that is there is NULL. */
static inline const uint8_t *load_valid(const RawCol *r, int64_t first) {
    return atomic_load_explicit(&r->nulls, memory_order_acquire) ? r->valid + first : NULL;
}
static inline bool load_is_str(const TableLoad *l, int c) { return type_phys(l->t->cols[c].type) == PH_STR; }
static inline int64_t load_cell_size(const TableLoad *l, int c) { return phys_size(type_phys(l->t->cols[c].type)); }

/* Ends the pieces and orders of all workers. */
Status load_seal(TableLoad *l, Err *e);
/* Encodes the waiting pieces that make full tablets; with `flush` all of them. Several threads may share in it. */
Status load_encode(TableLoad *l, bool flush, Err *e);

#endif
