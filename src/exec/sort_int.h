/* sort_int.h - inside of the sort: what sort.c and sort_short.c share.
 */
#ifndef STELE_EXEC_SORT_INT_H
#define STELE_EXEC_SORT_INT_H

#include "base/mutex.h"
#include "exec/rows_int.h"
#include "exec/sort.h"

enum { HEADER = 32, BATCH = 1024, POLL_ROWS = 1 << 15 };

typedef struct Header {
    uint128_t key; /* first, for alignment */
    uint64_t order, seq;
} Header;
static_assert(sizeof(Header) == HEADER, "row header");

typedef struct Entry {
    uint64_t hi, lo;
    const char *row;
} Entry;

typedef struct SortKey {
    KeySpec spec;
    bool desc, nulls_first, exact;
    bool by_text;   /* codes of an unordered dictionary */
    int bits;       /* of the value as far as it is packed, without the NULL bit */
    int full_bits;  /* of the whole value */
    int shift;      /* of the value's lowest bit in the packed number */
    int null_shift; /* -1 */
    bool packed;
    int32_t col; /* column of the inner layout when it must be compared in full, else -1 */
} SortKey;

/* Rows of one morsel in one page, of a sort by short keys. */
typedef struct SortStretch {
    uint64_t order;
    int64_t first, seq; /* row in the page; place among the worker's */
    RowPage *page;
    int64_t n;
} SortStretch;

typedef struct SortWorker {
    RowStore *rows;
    SortStretch *stretches; /* of a sort by short keys, which has entries only to spill */
    int64_t n_stretches, cap_stretches;
    uint64_t earlier; /* stretches that are on disk */
    Entry *e;
    int64_t n, cap;
    uint64_t last_order, seq;
    bool unordered; /* entries did not come in order of arrival */
    bool bounded;
    uint128_t bound;
    int64_t stored;  /* rows in the store, dropped ones included */
    RowStore **runs; /* on disk, each sorted */
    int64_t n_runs, cap_runs;
    /* scratch of one vector */
    uint128_t *key;
    int32_t *sel;
    int64_t scratch;
    Vec *vecs;
    char pad[64];
} SortWorker;

struct Sorter {
    Arena *arena;
    SortKey *keys;
    int32_t n_keys, n_cols, n_inner;
    RowLayout inner, outer, brief; /* brief: of rows with short keys, which have the key before them, in 64 bits */
    int32_t cells;                 /* of a brief row: where it goes on as an outer one */
    bool exact;                    /* the packed number decides */
    bool is_short;                 /* ... and its upper 64 bits do, and all rows are wanted */
    int used_bits;
    int64_t limit, offset, top; /* top: rows to keep, -1 all */
    int workers, threads;
    Pool *pool;
    MemAccount *acct;
    Vfs *vfs;
    const char *temp_dir;
    const QueryStop *stop;
    int64_t reserve, share; /* share: what one worker may hold, so that it cannot starve the others */
    SortWorker *w;
    _Atomic uint64_t bound_hi; /* rows beyond cannot be among the first `top` */
};

/* Stretches in order, when they did not come so. */
void short_order(SortWorker *w);
/* A stretch more: the last n rows of the page. */
Status short_note(Sorter *s, SortWorker *w, uint64_t order, RowPage *page, int64_t n, Err *e);
/* All workers' rows, which are in memory, into `out` in order. */
Status short_finish(Sorter *s, RowStore *out, Err *e);
void short_free(Sorter *s, SortWorker *w);

#endif
