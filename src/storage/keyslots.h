/* keyslots.h - the slots of a unique index: open addressing over 8-byte entries. keyindex.c and exprindex.c only.
 *
 *     entry   28 bits of hash (the tag) << 36 | row number + 1; 0: free
 *     row     tablet << 17 | offset: 2^19 tablets of 2^17 rows
 *
 * Linear probing from the place that the tag names, at most half of the slots taken. An entry is a hint: who finds one
 * with its tag looks at the row. Entries do not change and do not go; growing and sweeping (keyslots_reserve,
 * keyslots_sweep) make another array, for which entries move by their own bits, without reading rows. So readers of
 * versions need no lock (keyindex.h).
 */
#ifndef STELE_STORAGE_KEYSLOTS_H
#define STELE_STORAGE_KEYSLOTS_H

#include "storage/storage_int.h"

enum { ROW_BITS = 36, TAG_BITS = 28, OFFSET_BITS = 17 };
static_assert(TABLET_ROWS == 1 << OFFSET_BITS, "row numbers");

static inline uint64_t tag_of(uint64_t hash) { return hash_constant ? 0 : hash >> (64 - TAG_BITS); }
static inline uint64_t entry_tag(uint64_t entry) { return entry >> ROW_BITS; }
static inline uint64_t entry_make(uint64_t hash, int64_t rowid) {
    uint64_t row = (uint64_t)((rowid >> 32) << OFFSET_BITS | (rowid & 0xffffffff));
    return tag_of(hash) << ROW_BITS | (row + 1);
}
static inline int64_t entry_rowid(uint64_t entry) {
    int64_t r = (int64_t)(entry & ((UINT64_C(1) << ROW_BITS) - 1)) - 1;
    return rowid_make(r >> OFFSET_BITS, r & (TABLET_ROWS - 1));
}
/* The first slot of a search. */
static inline int64_t slot_of(const HashIndex *x, uint64_t tag) {
    return (int64_t)(x->bits <= TAG_BITS ? tag >> (TAG_BITS - x->bits) : tag << (x->bits - TAG_BITS));
}
/* The next entry with this tag at or after slot *at, which moves behind it; 0: there is none. */
static inline uint64_t keyslots_next(const HashIndex *x, uint64_t tag, int64_t *at) {
    if (x->bits == 0) return 0;
    const int64_t mask = (INT64_C(1) << x->bits) - 1;
    uint64_t entry;
    do {
        entry = __atomic_load_n(&x->slots[*at & mask], __ATOMIC_RELAXED);
        ++*at;
    } while (entry && entry_tag(entry) != tag);
    return entry;
}
/* Whether a row is there and not deleted. */
static inline bool row_live(const Table *t, int64_t rowid) {
    int64_t tablet = rowid >> 32, row = rowid & 0xffffffff;
    if (tablet >= t->n_tablets) return false;
    const Tablet *tab = t->tablets[tablet];
    return row < tab->rows && !tablet_row_deleted(tab, row);
}

/* What a sweep of index number k keeps: whether a live row still has the entry's key. */
typedef bool (*KeyIsAlive)(const Table *t, int k, uint64_t entry);

void keyslots_put(HashIndex *x, uint64_t entry); /* there is room; one that is there already stays alone */
void keyslots_drop(HashIndex *x);
/* Room for `more` entries. When most are of no live row, stale ones go. 53200: nothing has changed. */
Status keyslots_reserve(const Table *t, int k, HashIndex *x, KeyIsAlive alive, int64_t more, Err *e);
/* Stale entries go when they are many; without memory they stay. */
void keyslots_sweep(const Table *t, int k, HashIndex *x, KeyIsAlive alive);
/* 54000: a row's number needs more bits than an entry has. */
Status keyslots_check_rows(const Table *t, int64_t n, const int64_t *rowids, Err *e);

#endif
