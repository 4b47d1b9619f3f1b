/* keyindex.h - from the key of a unique index to its row: PRIMARY KEY, UNIQUE, CREATE UNIQUE INDEX.
 *
 * Indexes of a table are numbered: its keys (columns), then those whose keys are computed (exprindex.h).
 *
 * Two forms side by side, split by tablet:
 *   sorted   the first `sorted_tablets` tablets are main, their first key column is an
 *            integer without NULLs, non-decreasing over all of them, with short runs of equal values:
 *            no storage at all; a lookup searches the tablets' zone maps, then the column, then
 *            the run.
 *   hash     rows of all other tablets, and all rows of computed keys: keyslots.h.
 *
 * Entries are hints: a lookup always compares the row's key and checks that the row is there and not deleted. Therefore
 * deletes, in-place updates, undo, hiding and showing never touch the index: undone entries are skipped, and an old
 * key's entry comes back to life with its row. Stale entries are swept when they are more than half: all of them when
 * the table's last undo has gone (keyindex_settled), those of rows whose place is gone when the index would grow.
 *
 * Keys with a NULL in any column are never entered (UNIQUE treats NULLs as distinct).
 *
 * Several live rows may have one key while a constraint is deferrable: they are entered without a look at each other
 * (keyindex_check_row looks), and a lookup finds one of them.
 *
 * Versions of the table (table_version.h) look keys up without a lock while the table's one writer goes on. They share
 * the arrays of slots, which are only added to: an entry never changes and never goes, growing and sweeping move to
 * another array, step by step, and the last count frees the old one. So an entry that was there when the version was
 * published is found on the way that it was entered by. Entries that come later are hints like all others: rows that
 * the version does not have, or that have another key in it, are passed over. Nothing is read through an entry but what
 * the version has, so the slots are relaxed atomics: what a lookup must find was there before the version was
 * published.
 */
#ifndef STELE_STORAGE_KEYINDEX_H
#define STELE_STORAGE_KEYINDEX_H

#include "storage/table.h"
#include "storage/tablet_block.h"

enum { KEYINDEX_MAX_RUN = 64, KEYINDEX_MAX_COLS = 32 };

typedef struct KeySlots {
    uint64_t *slots;    /* relaxed atomics; only the writer of the table stores */
    SharedBytes *share; /* NULL: the slots are this index's alone */
    int bits;           /* log2 of slots; 0 = none */
} KeySlots;
typedef struct HashIndex {
    MemAccount *acct;
    int64_t sorted_tablets;
    KeySlots now;
    KeySlots old;                  /* whose entries are on their way to `now`, slot by slot; bits 0: none */
    int64_t moved;                 /* slots of old that are done */
    bool sweeping;                 /* stale entries do not come along */
    int64_t used, sweep_at;        /* entries, once; sweep_at: from how many on stale ones are looked for */
    int64_t due;                   /* slots that a sweep is to move for rows that were entered since it moved some */
    const struct HashIndex *below; /* of a fork (table_fork.h): its version's, which has the rows of that; else NULL */
} HashIndex;

HashIndex *keyindex_new(MemAccount *acct, Err *e);
void keyindex_free(HashIndex *x);
/* The index as it is now, for readers that run while the table changes. Shares the slots of x: keyindex_thaw. On an
 * error nothing has changed for readers. */
Status keyindex_freeze(HashIndex *x, HashIndex *frozen, Err *e);
void keyindex_thaw(HashIndex *frozen); /* one that is all zero is fine */
/* Enters all rows of tablets [first, n) of key k and checks uniqueness: 23505. */
Status keyindex_add_tablets(Table *t, int k, int64_t first, Err *e);
/* Enters stored rows, one after the other, and checks uniqueness. */
Status keyindex_add_rows(Table *t, int k, int64_t n, const int64_t *rowids, Err *e);
/* The table has no undo any more, perhaps: stale entries may go. With the lock alone. */
void keyindex_settled(Table *t);
/* That no other row has the key of a row that has been entered before: 23505. A row that is not there is fine. */
Status keyindex_check_row(Table *t, int k, int64_t rowid, Err *e);
/* A live row with this key, or -1. NULLs: -1. Values have the key columns' types. */
int64_t keyindex_lookup(const Table *t, int k, const Value *vals);
Status keyindex_verify(const Table *t, int k, Err *e);

#endif
