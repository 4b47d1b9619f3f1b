/* epoch.c - see epoch.h for the design and the proof.
 *
 * Retired objects wait in one of three places. `young` has those whose death is still to come: the next step moves them
 * to `fresh`, a queue of those that have not been looked at, or whose reason to wait has changed. An object that was
 * found waiting for a pin lies in the list of that pin's slot, with what the slot's word was then; as soon as the word
 * is another one the whole list goes back to `fresh`. So an object is looked at once, and once more for each change of
 * a pin that it waits for: a pin of minutes costs nothing while it lasts, whatever waits for it.
 *
 * Slots come in blocks, which are linked to a list and live as long as the domain. A slot is two cache lines: one that
 * its holder writes, one for the domain.
 */
#include "base/epoch.h"
#include "base/mutex.h"

enum { SLOTS = 32 }; /* of a block */

typedef struct Reservation {
    uint64_t word, lower, upper;
    EpochSlot *slot;
} Reservation;

typedef struct SlotBlock {
    EpochSlot slots[SLOTS];
    Reservation active[SLOTS]; /* pins as the last scan loaded them */
    int64_t n_active;
    struct SlotBlock *next;
} SlotBlock;

typedef struct NodeList {
    EpochNode *first, *last;
} NodeList;

typedef struct EpochState {
    MemAccount *acct;
    Mutex boundary; /* taken before `lock` */
    Mutex lock;     /* a leaf: everything below, and steps of `now` */
    SlotBlock *blocks;
    EpochSlot *free_slots;
    int64_t registered;
    NodeList young, fresh;
    int64_t waiting, waiting_bytes, freed, freed_bytes;
} EpochState;

/* ---- lists of retired objects ---- */
static void list_push(EpochNode **first, EpochNode **last, EpochNode *n) {
    n->next = NULL;
    if (*last) (*last)->next = n;
    else *first = n;
    *last = n;
}
static void list_append(NodeList *to, EpochNode **first, EpochNode **last) {
    if (!*first) return;
    if (to->last) to->last->next = *first;
    else to->first = *first;
    to->last = *last;
    *first = *last = NULL;
}
static EpochNode *list_pop(NodeList *l) {
    EpochNode *n = l->first;
    l->first = n->next;
    if (!l->first) l->last = NULL;
    return n;
}
/* Without locks: the functions may take any, and retire. */
static void free_all(EpochNode *n) {
    for (EpochNode *next; n; n = next) {
        next = n->next; /* it lies in the object */
        n->free(n);
    }
}

/* ---- domains and slots ---- */
Status epoch_domain_new(MemAccount *a, EpochDomain **out, Err *e) {
    EpochDomain *d = mem_calloc(a, (int64_t)(sizeof(EpochDomain) + sizeof(EpochState)), e);
    if (!d) return ST_ERROR;
    d->state = (EpochState *)(void *)(d + 1);
    d->state->acct = a;
    mutex_init(&d->state->boundary, RANK_EPOCH_BOUNDARY);
    mutex_init(&d->state->lock, RANK_EPOCH);
    atomic_store(&d->now, 1);
    *out = d;
    return ST_OK;
}

void epoch_domain_free(EpochDomain *d) {
    if (!d) return;
    EpochState *s = d->state;
    dbg_assert(s->registered == 0);
    for (SlotBlock *b = s->blocks; b; b = b->next)
        for (int i = 0; i < SLOTS; i++) list_append(&s->fresh, &b->slots[i].held, &b->slots[i].held_last);
    list_append(&s->fresh, &s->young.first, &s->young.last);
    while (s->fresh.first) { /* freeing them may retire others */
        EpochNode *n = s->fresh.first;
        s->fresh = (NodeList){NULL, NULL};
        free_all(n);
        list_append(&s->fresh, &s->young.first, &s->young.last);
    }
    for (SlotBlock *b = s->blocks, *next; b; b = next) {
        next = b->next;
        mem_free(s->acct, b, (int64_t)sizeof *b);
    }
    mutex_destroy(&s->boundary);
    mutex_destroy(&s->lock);
    mem_free(s->acct, d, (int64_t)(sizeof(EpochDomain) + sizeof(EpochState)));
}

static EpochSlot *pop_slot(EpochState *s, int64_t session) { /* with the lock; NULL: none is free */
    EpochSlot *slot = s->free_slots;
    if (!slot) return NULL;
    s->free_slots = slot->next_free;
    slot->session = session;
    slot->used = true;
    s->registered++;
    return slot;
}
Status epoch_register(EpochDomain *d, int64_t session, EpochSlot **out, Err *e) {
    EpochState *s = d->state;
    mutex_lock(&s->lock);
    *out = pop_slot(s, session);
    mutex_unlock(&s->lock);
    if (*out) return ST_OK;
    SlotBlock *b = mem_calloc(s->acct, (int64_t)sizeof *b, e);
    if (!b) return ST_ERROR;
    mutex_lock(&s->lock);
    b->next = s->blocks;
    s->blocks = b;
    for (int i = SLOTS - 1; i >= 0; i--) {
        b->slots[i].domain = d;
        b->slots[i].next_free = s->free_slots;
        s->free_slots = &b->slots[i];
    }
    *out = pop_slot(s, session);
    mutex_unlock(&s->lock);
    return ST_OK;
}
void epoch_unregister(EpochSlot *slot) {
    if (!slot) return;
    EpochState *s = slot->domain->state;
    dbg_assert(slot->depth == 0 && slot->used);
    mutex_lock(&s->lock);
    slot->used = false;
    slot->next_free = s->free_slots;
    s->free_slots = slot;
    s->registered--;
    mutex_unlock(&s->lock);
}

/* ---- pins ---- */
uint64_t epoch_pin_nested(EpochSlot *s) {
    uint64_t p = epoch_pinned(s);
    if (!epoch_is_open(s)) {
        atomic_exchange_explicit(&s->reserved, p << EPOCH_SPAN_BITS | EPOCH_OPEN, memory_order_seq_cst);
        (void)atomic_load_explicit(&s->domain->now, memory_order_seq_cst); /* N of Lemma 2 */
    }
    return p;
}
bool epoch_unpin_nested(EpochSlot *s) {
    if (s->depth == 1 && s->narrow) atomic_store_explicit(&s->reserved, s->narrow, memory_order_release);
    return atomic_load_explicit(&s->blocks, memory_order_relaxed);
}
void epoch_pin_narrow(EpochSlot *s) {
    if (s->depth != 1 || s->narrow) return;
    uint64_t p = epoch_pinned(s), span = epoch_now(s->domain) - p;
    if (span >= EPOCH_OPEN) return; /* cannot be written down: it stays open, which holds more */
    s->narrow = p << EPOCH_SPAN_BITS | span;
    atomic_store_explicit(&s->reserved, s->narrow, memory_order_release);
}
void epoch_pin_copy(EpochSlot *to, const EpochSlot *from, const char *label, int64_t since_ns) {
    dbg_assert(to->depth == 0 && from->depth > 0 && to->domain == from->domain);
    EpochState *s = to->domain->state;
    atomic_store_explicit(&to->label, label, memory_order_relaxed);
    atomic_store_explicit(&to->since_ns, since_ns, memory_order_relaxed);
    to->depth = 1;
    to->narrow = from->narrow;
    uint64_t word = from->narrow ? from->narrow : atomic_load_explicit(&from->reserved, memory_order_relaxed);
    mutex_lock(&s->lock); /* Lemma 5 */
    atomic_store_explicit(&to->reserved, word, memory_order_seq_cst);
    mutex_unlock(&s->lock);
}

/* ---- boundaries and retiring ---- */
static void step(EpochDomain *d) { /* with the boundary's mutex */
    EpochState *s = d->state;
    mutex_lock(&s->lock);
    atomic_fetch_add_explicit(&d->now, 1, memory_order_seq_cst);
    list_append(&s->fresh, &s->young.first, &s->young.last); /* died with this step: death is now + 1 when retired */
    mutex_unlock(&s->lock);
}
uint64_t epoch_boundary_begin(EpochDomain *d) {
    mutex_lock(&d->state->boundary);
    return epoch_now(d) + 1;
}
void epoch_boundary_end(EpochDomain *d) {
    step(d);
    mutex_unlock(&d->state->boundary);
}

void epoch_retire(EpochDomain *d, EpochNode *n, int64_t bytes, void (*free_fn)(EpochNode *n)) {
    EpochState *s = d->state;
    n->bytes = bytes;
    n->free = free_fn;
    mutex_lock(&s->lock);
    n->death = epoch_now(d) + 1;
    list_push(&s->young.first, &s->young.last, n);
    s->waiting++;
    s->waiting_bytes += bytes;
    mutex_unlock(&s->lock);
}

/* ---- reclaiming ---- */
static Reservation reservation(EpochSlot *slot, uint64_t word) {
    uint64_t lower = word >> EPOCH_SPAN_BITS, span = word & EPOCH_OPEN;
    return (Reservation){word, lower, span == EPOCH_OPEN ? UINT64_MAX : lower + span, slot};
}
static bool intersects(const Reservation *r, const EpochNode *n) { return r->lower < n->death && n->birth <= r->upper; }

/* Loads all pins. What waits for one that has changed is looked at again. */
static void scan_slots(EpochState *s) {
    for (SlotBlock *b = s->blocks; b; b = b->next) {
        b->n_active = 0;
        for (int i = 0; i < SLOTS; i++) {
            EpochSlot *slot = &b->slots[i];
            uint64_t word = atomic_load_explicit(&slot->reserved, memory_order_seq_cst);
            if (slot->held && slot->held_at != word) {
                list_append(&s->fresh, &slot->held, &slot->held_last);
                slot->held_bytes = 0;
                atomic_store_explicit(&slot->blocks, false, memory_order_relaxed);
            }
            if (word) b->active[b->n_active++] = reservation(slot, word);
        }
    }
}
/* A pin that sees the object; NULL: none does. */
static const Reservation *find_pin(const EpochState *s, const EpochNode *n) {
    for (const SlotBlock *b = s->blocks; b; b = b->next)
        for (int64_t i = 0; i < b->n_active; i++)
            if (intersects(&b->active[i], n)) return &b->active[i];
    return NULL;
}
static void hold(const Reservation *r, EpochNode *n) {
    EpochSlot *slot = r->slot;
    list_push(&slot->held, &slot->held_last, n);
    slot->held_at = r->word;
    slot->held_bytes += n->bytes;
    atomic_store_explicit(&slot->blocks, true, memory_order_relaxed);
}

/* What was retired outside of a boundary, or in one that has not ended, dies with the next step. */
static void step_if_needed(EpochDomain *d) {
    EpochState *s = d->state;
    mutex_lock(&s->lock);
    bool needed = s->young.first != NULL;
    mutex_unlock(&s->lock);
    if (!needed || !mutex_try(&s->boundary)) return; /* the boundary in progress ends with a step */
    step(d);
    mutex_unlock(&s->boundary);
}

bool epoch_reclaim(EpochDomain *d, int64_t most) {
    EpochState *s = d->state;
    NodeList dead = {NULL, NULL};
    step_if_needed(d);
    mutex_lock(&s->lock);
    scan_slots(s);
    for (; most > 0 && s->fresh.first; most--) {
        EpochNode *n = list_pop(&s->fresh);
        const Reservation *r = find_pin(s, n);
        if (r) {
            hold(r, n);
        } else {
            list_push(&dead.first, &dead.last, n);
            s->waiting--;
            s->waiting_bytes -= n->bytes;
            s->freed++;
            s->freed_bytes += n->bytes;
        }
    }
    bool more = s->fresh.first != NULL;
    mutex_unlock(&s->lock);
    free_all(dead.first);
    return more;
}

/* ---- views ---- */
static bool pin_info(EpochSlot *slot, EpochPinInfo *out) { /* with the lock; false: no pin */
    uint64_t word = atomic_load_explicit(&slot->reserved, memory_order_acquire);
    if (!word) return false;
    Reservation r = reservation(slot, word);
    *out = (EpochPinInfo){.session = slot->session,
                          .label = atomic_load_explicit(&slot->label, memory_order_relaxed),
                          .since_ns = atomic_load_explicit(&slot->since_ns, memory_order_relaxed),
                          .lower = r.lower,
                          .upper = r.upper,
                          .held_bytes = slot->held_bytes};
    return true;
}
static int64_t collect_pins(EpochState *s, EpochPinInfo *out, int64_t most, EpochPinInfo *oldest) {
    int64_t n = 0;
    EpochPinInfo one;
    for (SlotBlock *b = s->blocks; b; b = b->next) {
        for (int i = 0; i < SLOTS; i++) {
            if (!pin_info(&b->slots[i], &one)) continue;
            if (n < most) out[n] = one;
            if (oldest && (n == 0 || one.lower < oldest->lower)) *oldest = one;
            n++;
        }
    }
    return n;
}
void epoch_stats(EpochDomain *d, EpochStats *out) {
    EpochState *s = d->state;
    memset(out, 0, sizeof *out);
    mutex_lock(&s->lock);
    out->now = epoch_now(d);
    out->slots = s->registered;
    out->pins = collect_pins(s, NULL, 0, &out->oldest);
    out->waiting = s->waiting;
    out->waiting_bytes = s->waiting_bytes;
    out->freed = s->freed;
    out->freed_bytes = s->freed_bytes;
    mutex_unlock(&s->lock);
}
int64_t epoch_pins(EpochDomain *d, EpochPinInfo *out, int64_t most) {
    mutex_lock(&d->state->lock);
    int64_t n = collect_pins(d->state, out, most, NULL);
    mutex_unlock(&d->state->lock);
    return n;
}
int64_t epoch_held_bytes(EpochDomain *d, const char *label) {
    int64_t bytes = 0;
    EpochPinInfo one;
    mutex_lock(&d->state->lock);
    for (SlotBlock *b = d->state->blocks; b; b = b->next)
        for (int i = 0; i < SLOTS; i++)
            if (pin_info(&b->slots[i], &one) && one.label == label) bytes += one.held_bytes;
    mutex_unlock(&d->state->lock);
    return bytes;
}
void epoch_pin_label(EpochSlot *s, const char *label) { atomic_store_explicit(&s->label, label, memory_order_relaxed); }

/* ---- verification ---- */
static Status verify_list(const EpochNode *first, const EpochNode *last, uint64_t now, int64_t *n, int64_t *bytes,
                          Err *e) {
    for (; first; first = first->next) {
        if (first->birth > first->death || first->death > now + 1)
            return err_internal(e, "retired object lives from %llu to %llu, now is %llu",
                                (unsigned long long)first->birth, (unsigned long long)first->death,
                                (unsigned long long)now);
        if (!first->next && first != last) return err_internal(e, "list of retired objects ends elsewhere");
        ++*n;
        *bytes += first->bytes;
    }
    return ST_OK;
}
static Status verify(const EpochState *s, uint64_t now, Err *e) {
    int64_t n = 0, bytes = 0, used = 0;
    TRY(verify_list(s->fresh.first, s->fresh.last, now, &n, &bytes, e));
    TRY(verify_list(s->young.first, s->young.last, now, &n, &bytes, e));
    for (SlotBlock *b = s->blocks; b; b = b->next) {
        for (int i = 0; i < SLOTS; i++) {
            EpochSlot *slot = &b->slots[i];
            int64_t before = bytes;
            used += slot->used;
            TRY(verify_list(slot->held, slot->held_last, now, &n, &bytes, e));
            Reservation r = reservation(slot, slot->held_at);
            for (const EpochNode *x = slot->held; x; x = x->next)
                if (!intersects(&r, x)) return err_internal(e, "an object waits for a pin that does not see it");
            if (slot->held_bytes != bytes - before) return err_internal(e, "bytes that wait for a pin");
        }
    }
    if (n != s->waiting || bytes != s->waiting_bytes || used != s->registered)
        return err_internal(e, "%lld objects of %lld bytes wait, not %lld of %lld", (long long)n, (long long)bytes,
                            (long long)s->waiting, (long long)s->waiting_bytes);
    return ST_OK;
}
Status epoch_verify(EpochDomain *d, Err *e) {
    mutex_lock(&d->state->lock);
    Status st = verify(d->state, epoch_now(d), e);
    mutex_unlock(&d->state->lock);
    return st;
}
