/* dict.c - string heaps and the dictionaries of columns.
 *
 * A dictionary only grows while it lives: entries [0, n_sorted) are ordered, new ones follow in order of
 * arrival. Their bytes never move, so a Str handed out stays valid as long as the dictionary; the
 * `entries` array itself may move when a change adds entries, which the exclusive lock covers. Readers of a version
 * (table_version.h) take no lock: they have a frozen dictionary, a header with counts on the arrays, which the table's
 * dictionary replaces when it outgrows them.
 */
#include "storage/storage_int.h"

enum { HEAP_MIN = 4096, HEAP_MAX = 1 << 18 };

bool strheap_add(StrHeap *h, Str s, Str *out, Err *e) {
    if ((int64_t)s.len > h->left) {
        int64_t size = h->total ? MIN_OF(h->total, HEAP_MAX) : HEAP_MIN;
        int64_t need = (int64_t)sizeof(StrChunk) + s.len;
        bool own = need > size;
        if (own) size = need;
        StrChunk *c = mem_alloc_raw(h->acct, size, e);
        if (!c) return false;
        c->size = size;
        h->total += size;
        c->next = h->chunks;
        h->chunks = c;
        if (own) { /* the current chunk keeps its free room */
            memcpy(c + 1, s.ptr, s.len);
            *out = s;
            out->ptr = (const char *)(c + 1);
            return true;
        }
        h->free = (char *)(c + 1);
        h->left = size - (int64_t)sizeof(StrChunk);
    }
    *out = s;
    if (s.len == 0) {
        out->ptr = "";
        return true;
    }
    memcpy(h->free, s.ptr, s.len);
    out->ptr = h->free;
    h->free += s.len;
    h->left -= s.len;
    return true;
}

void strheap_free(StrHeap *h) {
    for (StrChunk *c = h->chunks, *next; c; c = next) {
        next = c->next;
        mem_free(h->acct, c, c->size);
    }
    h->chunks = NULL;
    h->free = NULL;
    h->left = 0;
    h->total = 0;
}

static uint32_t str_hash(Str s) { return hash_constant ? 0 : (uint32_t)(hash_bytes(s.ptr, s.len) >> 32); }

static _Atomic uint64_t last_id;
Dict *dict_new(MemAccount *acct, Err *e) {
    Dict *d = mem_calloc(acct, (int64_t)(sizeof(Dict) + sizeof(struct DictImpl)), e);
    if (!d) return NULL;
    d->impl = (struct DictImpl *)(void *)(d + 1);
    d->impl->acct = acct;
    d->impl->id = atomic_fetch_add_explicit(&last_id, 1, memory_order_relaxed) + 1;
    atomic_init(&d->impl->refs, 1);
    d->impl->heap.acct = acct;
    return d;
}

void dict_free(Dict *d) {
    for (Dict *base; d; d = base) {
        struct DictImpl *x = d->impl;
        if (atomic_fetch_sub_explicit(&x->refs, 1, memory_order_acq_rel) > 1) return;
        base = x->base;
        if (x->entries_share) shared_drop(x->entries_share);
        else if (d->entries) mem_free(x->acct, d->entries, x->cap * (int64_t)sizeof(Str));
        if (x->slots_share) shared_drop(x->slots_share);
        else if (x->slots) mem_free(x->acct, x->slots, x->n_slots * 8);
        strheap_free(&x->heap);
        mem_free(x->acct, d, (int64_t)(sizeof(Dict) + sizeof(struct DictImpl)));
    }
}

Dict *dict_freeze(Dict *d, Err *e) {
    struct DictImpl *x = d->impl;
    if (d->entries && !x->entries_share)
        x->entries_share = shared_new(x->acct, d->entries, x->cap * (int64_t)sizeof(Str), e);
    if (x->slots && !x->slots_share) x->slots_share = shared_new(x->acct, x->slots, x->n_slots * 8, e);
    if ((d->entries && !x->entries_share) || (x->slots && !x->slots_share)) return NULL;
    Dict *f = dict_new(x->acct, e);
    if (!f) return NULL;
    f->impl->id = x->id;
    f->n = d->n;
    f->n_sorted = d->n_sorted;
    f->entries = d->entries;
    f->impl->slots = x->slots;
    f->impl->n_slots = x->n_slots;
    f->impl->entries_share = x->entries_share;
    f->impl->slots_share = x->slots_share;
    f->impl->base = d;
    if (x->entries_share) atomic_fetch_add_explicit(&x->entries_share->refs, 1, memory_order_relaxed);
    if (x->slots_share) atomic_fetch_add_explicit(&x->slots_share->refs, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&x->refs, 1, memory_order_relaxed);
    return f;
}

Dict *dict_fork(Dict *frozen, MemAccount *acct, Err *e) {
    Dict *f = dict_new(acct, e);
    if (!f) return NULL;
    const struct DictImpl *x = frozen->impl;
    f->n = frozen->n;
    f->n_sorted = frozen->n_sorted;
    f->entries = frozen->entries;
    f->impl->slots = x->slots;
    f->impl->n_slots = x->n_slots;
    f->impl->entries_share = x->entries_share;
    f->impl->slots_share = x->slots_share;
    f->impl->base = frozen;
    f->impl->forked = true;
    if (x->entries_share) atomic_fetch_add_explicit(&x->entries_share->refs, 1, memory_order_relaxed);
    if (x->slots_share) atomic_fetch_add_explicit(&x->slots_share->refs, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&frozen->impl->refs, 1, memory_order_relaxed);
    return f;
}

static int64_t find_slot(const Dict *d, Str s, uint32_t hash) {
    const struct DictImpl *x = d->impl;
    int64_t mask = x->n_slots - 1;
    for (int64_t i = hash & mask;; i = (i + 1) & mask) {
        uint64_t v = __atomic_load_n(&x->slots[i], __ATOMIC_RELAXED);
        if (!v) return i;
        int64_t code = (int64_t)(uint32_t)v - 1;
        if (v >> 32 == hash && code < d->n && str_eq(d->entries[code], s)) return i;
    }
}

int32_t dict_find(const Dict *d, Str s) {
    if (!d->impl->n_slots) return -1;
    uint64_t v = __atomic_load_n(&d->impl->slots[find_slot(d, s, str_hash(s))], __ATOMIC_RELAXED);
    int64_t code = (int64_t)(uint32_t)v - 1; /* where there was none, one that is not this dictionary's may be by now */
    return v && code < d->n ? (int32_t)code : -1;
}

/* Before the array moves: it is not shared, or copied. */
static Status unshare_entries(Dict *d, Err *e) {
    struct DictImpl *x = d->impl;
    if (!x->entries_share) return ST_OK;
    if (!shared_take_back(x->entries_share)) {
        Str *entries = mem_alloc(x->acct, x->cap * (int64_t)sizeof(Str), e);
        if (!entries) return ST_ERROR;
        memcpy(entries, d->entries, (size_t)d->n * sizeof(Str));
        shared_drop(x->entries_share);
        d->entries = entries;
    }
    x->entries_share = NULL;
    return ST_OK;
}

Status dict_reserve(Dict *d, int64_t n, Err *e) {
    struct DictImpl *x = d->impl;
    if (n > INT32_MAX / 2) return err_set(e, ERR_PROGRAM_LIMIT, "dictionary exceeds %d entries", INT32_MAX / 2);
    if (n > x->cap) {
        int64_t cap = MAX_OF(n, x->cap * 2);
        if (cap < 16) cap = 16;
        TRY(unshare_entries(d, e));
        Str *entries = mem_realloc(x->acct, d->entries, x->cap * (int64_t)sizeof(Str), cap * (int64_t)sizeof(Str), e);
        if (!entries) return ST_ERROR;
        d->entries = entries;
        x->cap = cap;
    }
    if (n * 2 > x->n_slots) {
        int64_t n_slots = 32;
        while (n_slots < n * 2) n_slots *= 2;
        uint64_t *slots = mem_calloc(x->acct, n_slots * 8, e);
        if (!slots) return ST_ERROR;
        for (int64_t i = 0; i < x->n_slots; i++) {
            if (!x->slots[i]) continue;
            int64_t k = (int64_t)(x->slots[i] >> 32) & (n_slots - 1);
            while (slots[k]) k = (k + 1) & (n_slots - 1);
            slots[k] = x->slots[i];
        }
        if (x->slots_share) shared_drop(x->slots_share);
        else if (x->slots) mem_free(x->acct, x->slots, x->n_slots * 8);
        x->slots_share = NULL;
        x->slots = slots;
        x->n_slots = n_slots;
    }
    return ST_OK;
}

/* A forked one gets arrays of its own, before its first entry. Slots of the others' may name codes that it has not. */
static Status own_arrays(Dict *d, Err *e) {
    struct DictImpl *x = d->impl;
    const int64_t cap = MAX_OF(d->n, 16), n_slots = MAX_OF(x->n_slots, 32), mask = n_slots - 1;
    Str *entries = mem_alloc(x->acct, cap * (int64_t)sizeof(Str), e);
    uint64_t *slots = entries ? mem_calloc(x->acct, n_slots * 8, e) : NULL;
    if (!slots) {
        mem_free(x->acct, entries, cap * (int64_t)sizeof(Str));
        return ST_ERROR;
    }
    if (d->n > 0) memcpy(entries, d->entries, (size_t)d->n * sizeof(Str));
    for (int64_t i = 0; i < x->n_slots; i++) {
        const uint64_t v = __atomic_load_n(&x->slots[i], __ATOMIC_RELAXED);
        if (!v || (int64_t)(uint32_t)v > d->n) continue;
        int64_t k = (int64_t)(v >> 32) & mask;
        while (slots[k]) k = (k + 1) & mask;
        slots[k] = v;
    }
    shared_drop(x->entries_share);
    shared_drop(x->slots_share);
    x->entries_share = x->slots_share = NULL;
    d->entries = entries;
    x->slots = slots;
    x->cap = cap;
    x->n_slots = n_slots;
    x->forked = false;
    return ST_OK;
}

int32_t dict_add(Dict *d, Str s, Err *e) {
    uint32_t hash = str_hash(s);
    if (d->impl->n_slots) {
        uint64_t v = __atomic_load_n(&d->impl->slots[find_slot(d, s, hash)], __ATOMIC_RELAXED);
        if (v && (int64_t)(uint32_t)v <= d->n) return (int32_t)((uint32_t)v - 1);
    }
    if (d->impl->forked && own_arrays(d, e) != ST_OK) return -1;
    if (dict_reserve(d, (int64_t)d->n + 1, e) != ST_OK) return -1;
    Str copy;
    if (!strheap_add(&d->impl->heap, s, &copy, e)) return -1;
    int64_t slot = find_slot(d, s, hash);
    d->entries[d->n] = copy;
    __atomic_store_n(&d->impl->slots[slot], (uint64_t)hash << 32 | (uint32_t)(d->n + 1), __ATOMIC_RELAXED);
    return d->n++;
}

Status dict_push(Dict *d, Str s, Err *e) {
    struct DictImpl *x = d->impl;
    const uint32_t hash = str_hash(s);
    const int64_t mask = x->n_slots - 1;
    int64_t i = hash & mask;
    if (!strheap_add(&x->heap, s, &d->entries[d->n], e)) return ST_ERROR;
    while (x->slots[i]) i = (i + 1) & mask;
    x->slots[i] = (uint64_t)hash << 32 | (uint32_t)(++d->n);
    return ST_OK;
}

int32_t dict_lower_bound(const Dict *d, Str s, bool after) {
    int32_t lo = 0, hi = d->n_sorted;
    while (lo < hi) {
        int32_t mid = lo + (hi - lo) / 2;
        int c = str_cmp(d->entries[mid], s);
        if (c < 0 || (after && c == 0)) lo = mid + 1;
        else hi = mid;
    }
    return lo;
}
