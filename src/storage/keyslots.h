/* keyslots.h - the slots of a unique index: open addressing over 8-byte entries. keyindex.c and exprindex.c only.
 *
 *     entry   28 bits of hash (the tag) << 36 | row number + 1; 0: free
 *     row     tablet << 17 | offset: 2^19 tablets of 2^17 rows
 *
 * Linear probing from the place that the tag names, at most half of the slots taken. An entry is a hint: who finds one
 * with its tag looks at the row. Entries do not change and do not go, so readers of versions need no lock
 * (keyindex.h).
 *
 * Growing and sweeping move to another array, by entries' own bits, without reading rows (a sweep reads them). No
 * insert pays for all of that: it begins with an empty array, and each row that is entered from then on moves the
 * entries of KEYSLOTS_STEP slots. New entries go to the new array; a search looks in both. The new array has room for
 * all entries of the old one and for those that come meanwhile, so it is done before that is full.
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
static inline int64_t slot_of(const KeySlots *k, uint64_t tag) {
    return (int64_t)(k->bits <= TAG_BITS ? tag >> (TAG_BITS - k->bits) : tag << (k->bits - TAG_BITS));
}
/* A search for entries with a tag. */
typedef struct SlotSearch {
    const HashIndex *x;
    const KeySlots *in;
    uint64_t tag;
    int64_t at;
} SlotSearch;
static inline SlotSearch keyslots_search(const HashIndex *x, uint64_t hash) {
    const uint64_t tag = tag_of(hash);
    return (SlotSearch){x, &x->now, tag, x->now.bits ? slot_of(&x->now, tag) : 0};
}
/* The next entry, 0: there is none. One that is on its way may come twice. */
static inline uint64_t keyslots_next(SlotSearch *s) {
    while (s->in->bits) {
        const int64_t mask = (INT64_C(1) << s->in->bits) - 1;
        for (uint64_t entry; (entry = __atomic_load_n(&s->in->slots[s->at & mask], __ATOMIC_RELAXED)) != 0;) {
            s->at++;
            if (entry_tag(entry) == s->tag) return entry;
        }
        if (s->in == &s->x->old || !s->x->old.bits) return 0;
        s->in = &s->x->old;
        s->at = slot_of(s->in, s->tag);
    }
    return 0;
}
/* Where there is room. False: it is there, of a row that had the same place and key. */
static inline bool slots_put(KeySlots *k, uint64_t entry) {
    const int64_t mask = (INT64_C(1) << k->bits) - 1;
    int64_t i = slot_of(k, entry_tag(entry));
    while (k->slots[i]) {
        if (k->slots[i] == entry) return false;
        i = (i + 1) & mask;
    }
    __atomic_store_n(&k->slots[i], entry, __ATOMIC_RELAXED);
    return true;
}
static inline void keyslots_put(HashIndex *x, uint64_t entry) { x->used += slots_put(&x->now, entry); }
/* Whether a row is there and not deleted. */
static inline bool row_live(const Table *t, int64_t rowid) {
    int64_t tablet = rowid >> 32, row = rowid & 0xffffffff;
    if (tablet >= t->n_tablets) return false;
    const Tablet *tab = t->tablets[tablet];
    return row < tab->rows && !tablet_row_deleted(tab, row);
}

/* What a sweep keeps: whether a live row still has the entry's key. */
typedef struct KeySweep {
    bool (*alive)(void *ctx, uint64_t entry);
    void *ctx;
} KeySweep;

enum { KEYSLOTS_STEP = 8 };
void keyslots_drop(HashIndex *x);
/* Room for `more` entries, and KEYSLOTS_STEP * more slots of a move. When most entries are of no live row, a move that
 * leaves stale ones behind begins; while there is undo its slots wait for keyslots_sweep, since with undo next to no
 * entry is known to be stale. 53200: all entries are there. */
Status keyslots_reserve(const Table *t, HashIndex *x, const KeySweep *sweep, int64_t more, Err *e);
/* Without open undo. A part of a move without stale entries, which begins when these are many: some slots, and those
 * that rows entered since the last call would have moved, up to a million (some 5 ms). Without memory they stay. */
void keyslots_sweep(const Table *t, HashIndex *x, const KeySweep *sweep);

#endif
