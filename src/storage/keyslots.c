/* keyslots.c - see keyslots.h. */
#include "storage/keyslots.h"

enum { MIN_BITS = 6, SWEEP_MIN = 1024, MOST_DUE = 1 << 20 };

static void drop(MemAccount *acct, KeySlots *k) {
    if (k->share) shared_drop(k->share);
    else if (k->slots) mem_free(acct, k->slots, INT64_C(8) << k->bits);
    *k = (KeySlots){0};
}
void keyslots_drop(HashIndex *x) {
    drop(x->acct, &x->now);
    drop(x->acct, &x->old);
}

/* What a sweep leaves. Rows that are deleted or hidden may come back while there is undo; those whose place is gone do
 * not. */
static bool stays(const Table *t, const KeySweep *sweep, uint64_t entry) {
    if (t->impl->undo_open == 0) return sweep->alive(sweep->ctx, entry);
    int64_t id = entry_rowid(entry);
    return id >> 32 < t->n_tablets && (id & 0xffffffff) < t->tablets[id >> 32]->rows;
}

static int64_t next_look(int64_t used) { return used + used / 4 + SWEEP_MIN; }
/* More than half of the entries are of no live row. Counting costs a look at each tablet: not again until there are a
 * quarter more. */
static bool is_stale(const Table *t, HashIndex *x) {
    if (x->used < x->sweep_at) return false;
    int64_t live = t->live_rows;
    for (int64_t i = 0; i < x->sorted_tablets && i < t->n_tablets; i++)
        live -= t->tablets[i]->rows - t->tablets[i]->n_deleted;
    if (x->used > 2 * live + SWEEP_MIN) return true;
    x->sweep_at = next_look(x->used);
    return false;
}

/* ---- moving ---- */
static int64_t slots_of(const KeySlots *k) { return k->bits ? INT64_C(1) << k->bits : 0; }
static int bits_for(int64_t entries) {
    int bits = MIN_BITS;
    while (INT64_C(1) << bits < entries * 2) bits++;
    return bits;
}
static Status begin(HashIndex *x, int bits, bool sweep, Err *e) {
    KeySlots more = {.bits = bits};
    more.slots = mem_calloc(x->acct, INT64_C(8) << bits, e);
    if (!more.slots) return ST_ERROR;
    x->old = x->now;
    x->now = more;
    x->moved = 0;
    x->sweeping = sweep;
    return ST_OK;
}
/* Moves the entries of n slots. */
static void step(const Table *t, HashIndex *x, const KeySweep *sweep, int64_t n) {
    if (!x->old.bits) return;
    const int64_t end = MIN_OF(slots_of(&x->old), x->moved + n);
    for (; x->moved < end; x->moved++) {
        const uint64_t entry = x->old.slots[x->moved];
        /* One that goes, or that has been entered anew meanwhile, was counted. */
        if (entry && ((x->sweeping && !stays(t, sweep, entry)) || !slots_put(&x->now, entry))) x->used--;
    }
    if (x->moved < slots_of(&x->old)) return;
    drop(x->acct, &x->old);
    if (x->sweeping && t->impl->undo_open == 0) x->sweep_at = next_look(x->used); /* else little has gone, perhaps */
    x->sweeping = false;
}
/* To more slots: entries and `more` take more than half of those that are there. */
static Status move(const Table *t, HashIndex *x, const KeySweep *sweep, int64_t more, Err *e) {
    step(t, x, sweep, INT64_MAX / 2);
    if ((x->used + more) * 2 <= slots_of(&x->now)) return ST_OK;
    return begin(x, bits_for(x->used + more), is_stale(t, x), e);
}

Status keyslots_reserve(const Table *t, HashIndex *x, const KeySweep *sweep, int64_t more, Err *e) {
    enum { SPARSE = 16 }; /* slots to an entry: a sweep has left much room */
    if ((x->used + more) * 2 > slots_of(&x->now)) TRY(move(t, x, sweep, more, e));
    else if (!x->old.bits && x->now.bits > MIN_BITS && (x->used + more) * SPARSE <= slots_of(&x->now))
        TRY(begin(x, bits_for((x->used + more) * 2), false, e));
    const int64_t slots = more * KEYSLOTS_STEP;
    x->due = MIN_OF(x->due + slots, (int64_t)MOST_DUE);
    if (!x->sweeping || t->impl->undo_open == 0) step(t, x, sweep, slots);
    return ST_OK;
}

void keyslots_sweep(const Table *t, HashIndex *x, const KeySweep *sweep) {
    enum { SOME = 16384 };
    const int64_t meanwhile = slots_of(&x->now) / KEYSLOTS_STEP; /* entries that may come before all slots are moved */
    if (!x->old.bits && x->now.bits && is_stale(t, x)) (void)begin(x, bits_for(x->used + meanwhile), true, NULL);
    if (x->sweeping) step(t, x, sweep, SOME + x->due);
    x->due = 0;
}
