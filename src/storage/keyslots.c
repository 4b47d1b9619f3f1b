/* keyslots.c - see keyslots.h. */
#include "storage/keyslots.h"

enum { MIN_BITS = 6, SWEEP_MIN = 1024 };

void keyslots_drop(HashIndex *x) {
    if (x->share) shared_drop(x->share);
    else if (x->slots) mem_free(x->acct, x->slots, INT64_C(8) << x->bits);
    x->share = NULL;
}

void keyslots_put(HashIndex *x, uint64_t entry) {
    const int64_t mask = (INT64_C(1) << x->bits) - 1;
    int64_t i = slot_of(x, entry_tag(entry));
    while (x->slots[i]) {
        if (x->slots[i] == entry) return; /* of a row that had the same place and key */
        i = (i + 1) & mask;
    }
    __atomic_store_n(&x->slots[i], entry, __ATOMIC_RELAXED);
    x->used++;
}

/* What a sweep leaves. Rows that are deleted or hidden may come back while there is undo; those whose place is gone do
 * not. */
static bool stays(const Table *t, int k, uint64_t entry, KeyIsAlive alive) {
    if (t->impl->undo_open == 0) return alive(t, k, entry);
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

/* Other slots, for the entries and `more`; stale entries go when they are many. Versions keep the old ones. */
static Status rebuild(const Table *t, int k, HashIndex *x, KeyIsAlive alive, bool sweep, int64_t more, Err *e) {
    int64_t n = x->bits ? INT64_C(1) << x->bits : 0, left = x->used;
    if (sweep) {
        left = 0;
        for (int64_t i = 0; i < n; i++) left += x->slots[i] && stays(t, k, x->slots[i], alive);
    }
    HashIndex y = *x;
    y.bits = left > x->used / 2 && more > 0
                 ? x->bits + 1
                 : MIN_BITS; /* little has gone: it grows, else the next rows would come here again */
    y.bits = MAX_OF(y.bits, MIN_BITS);
    while (INT64_C(1) << y.bits < (left + more) * 2) y.bits++;
    y.slots = mem_calloc(x->acct, INT64_C(8) << y.bits, e);
    if (!y.slots) return ST_ERROR;
    y.share = NULL;
    y.used = 0;
    for (int64_t i = 0; i < n; i++) {
        uint64_t entry = x->slots[i];
        if (entry && (!sweep || stays(t, k, entry, alive))) keyslots_put(&y, entry);
    }
    y.sweep_at = next_look(y.used);
    keyslots_drop(x);
    *x = y;
    return ST_OK;
}

Status keyslots_reserve(const Table *t, int k, HashIndex *x, KeyIsAlive alive, int64_t more, Err *e) {
    if (x->bits && (x->used + more) * 2 <= INT64_C(1) << x->bits) return ST_OK;
    return rebuild(t, k, x, alive, is_stale(t, x), more, e);
}

void keyslots_sweep(const Table *t, int k, HashIndex *x, KeyIsAlive alive) {
    Err quiet = {0};
    if (x->bits && is_stale(t, x)) (void)rebuild(t, k, x, alive, true, 0, &quiet);
}

Status keyslots_check_rows(const Table *t, int64_t n, const int64_t *rowids, Err *e) {
    for (int64_t i = 0; i < n; i++)
        if (rowids[i] >> 32 >= INT64_C(1) << (ROW_BITS - OFFSET_BITS))
            return err_set(e, ERR_PROGRAM_LIMIT, "table \"%s\" is too large for a key", t->name);
    return ST_OK;
}
