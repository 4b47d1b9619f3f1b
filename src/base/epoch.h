/* epoch.h - epoch-based reclamation: freeing what readers may still use, without a lock that a reader takes.
 *
 * An object that readers reach through a pointer (a table version, a catalogue entry, a plan, a device copy) is never
 * changed, only replaced: the writer exchanges the pointer and retires the old object. It is freed when no pin can see
 * it. A pin costs a reader one exchange on a cache line that only it writes and a load of a line that is written once
 * per bulk.
 *
 * What it follows. Epochs and pins are Fraser's (Practical Lock-Freedom, 2004). Classic epochs free nothing retired
 * since the oldest pin, so that a cursor that a client reads for minutes would hold all that bulks replace meanwhile.
 * Therefore objects have a lifetime [birth, death) and pins are intervals, as in Hazard Eras (Ramalhete and Correia,
 * 2017) and interval-based reclamation (Wen et al., 2018: 2GEIBR): an object waits only while its lifetime intersects
 * the interval of some pin. A pin is born open, [lower, infinity), which protects every pointer that is loaded under
 * it; once the statement has resolved what it reads, epoch_pin_narrow makes it [lower, now]. From then on a pin holds
 * what was alive in that interval, however long it lasts and whatever is replaced meanwhile. Interval collection of
 * versions is also what SAP HANA does (Lee et al., 2016).
 *
 *     epoch      0 ..... 5 ..... 6 ..... 7 ..... 8 ..... 9        the domain's counter; one step per boundary
 *     version A          [===============)                        born 5, died 7
 *     version B                          [=======)                born 7, died 8: freed: no pin intersects it
 *     version C                                  [=========       born 8, current
 *     cursor             |5---6|                                  narrowed pin [5, 6]: holds A
 *     statement                                  |8------->       open pin [8, inf): holds C and what dies later
 *
 * Slots. A pin lives in a slot, which belongs to the holder (a session, a cursor, a checkpoint), not to a thread: it
 * may be taken on one thread and released on another, with the happens-before that handing over a session has anyhow.
 * A slot is used by one thread at a time. Workers of a statement run under the statement's pin. Slots are registered
 * once (which may run out of memory); pins never fail. A cursor that outlives its statement registers another slot
 * and pins at the statement's epoch with epoch_pin_copy.
 *
 * Nesting. Pins of one slot nest: the inner one has the epoch of the outer one. While the inner one lasts the slot is
 * open, even if the outer one was narrowed before; what was found under the inner one is used under it only.
 *
 * Boundaries. epoch_boundary_begin .. epoch_boundary_end replaces any number of objects as one step: all of them are
 * born in the epoch that the boundary opens, and a reader that pins epoch p and takes from each chain of versions the
 * one with birth <= p sees all of the step or nothing. Boundaries are serialised by a mutex; readers do not wait.
 *
 * ---- Why nothing is freed early ----
 * `now` is the epoch counter; A(d) is the step of it to d, an acquire-release read-modify-write that is also
 * sequentially consistent, made under the domain's lock. slot.reserved is the pin. S is the single order of
 * sequentially consistent operations. The rules of use are:
 *
 * 1. Birth: epoch_now() loaded before the object is published; readers use whichever object they find. Or, of versions
 *    that are published at a boundary, the epoch that opens; readers use the one with birth <= p. Pointers are
 * published by a release store and loaded by an acquire load.
 * 2. Retire: the object is unlinked (no root leads to it) before epoch_retire, which gives it death = now + 1 under the
 *    domain's lock.
 * 3. Pin: p = now; X: exchange(reserved, [p, inf)), sequentially consistent; N: load now, sequentially consistent;
 * again until N reads p. Loads of roots come after that.
 * 4. Reclaim: looks only at objects with death <= now, which it knows by the domain's lock, and then loads each slot
 *    (L), sequentially consistent; it frees an object whose lifetime intersects no interval that was loaded.
 *
 * Lemma 1. A reader whose N read n >= d finds no object that died at d. The object was unlinked before the critical
 * section of its retirement, that section came before the one of A(d) (it read now < d), and N reads A(d) or a later
 * step of the same release sequence: the unlinking happens before every load of a root that follows N. So a reader with
 * pin p reaches objects with death > p only.
 *
 * Lemma 2. A scan for an object with death d that does not see the pin made by X comes before it: L <S X. A(d) happens
 * before L, so A(d) <S L <S X <S N and N reads at least d. By Lemma 1 the reader does not reach the object. A scan that
 * does see it finds [p, inf) and p < d: the lifetime intersects it and the object stays. For nested pins, whose N need
 * not be p, the same holds since only N >= d was used. A slot that the scan does not know was registered under the
 * domain's lock after it: A(d) happens before N.
 *
 * Lemma 3. Narrowing to [p, q], q = now loaded before the store: an object that the reader reached before has birth b
 * <= q, since its publisher loaded now = b before the release store that the reader acquired (rule 1, coherence), and
 * death > p: its lifetime intersects [p, q]. Of versions it uses the one with birth <= p, which died after p as well.
 *
 * Lemma 4. The store that narrows or releases is a release store and L an acquire load: what the reader did with an
 * object happens before its being freed.
 *
 * Lemma 5. A pin that is copied to another slot (epoch_pin_copy) is in at least one of them whenever a scan loads both:
 * copies and scans exclude each other by the domain's lock, and the first pin ends after the copy.
 *
 * Snapshot. N reads p after X, so no step to p + 1 came before X in S: by Lemma 2's argument every scan for an object
 * that died after p sees the pin. So all that was alive at p stays reachable by epoch for as long as the pin lasts,
 * whether or not it was loaded while the pin was open.
 *
 * Locks. The boundary's mutex, then whatever the installer locks, then the domain's lock, a leaf. The domain's lock is
 * acquired to retire, reclaim, register and by views; never by pins. Objects are freed without any of them.
 *
 * Out of memory cannot happen but in epoch_domain_new and epoch_register: the node lies in the object.
 */
#ifndef STELE_BASE_EPOCH_H
#define STELE_BASE_EPOCH_H

#include <stdatomic.h>

#include "base/base.h"
#include "base/err.h"
#include "base/mem.h"

/* Lies in an object that is retired, best at its beginning. */
typedef struct EpochNode {
    struct EpochNode *next;            /* the domain's, once retired */
    uint64_t birth, death;             /* death: the domain's */
    int64_t bytes;                     /* that freeing it gives back, about */
    void (*free)(struct EpochNode *n); /* runs once, on any thread, without locks; may retire other objects */
} EpochNode;

enum { EPOCH_SPAN_BITS = 16, EPOCH_LINE = 64 };
#define EPOCH_OPEN ((UINT64_C(1) << EPOCH_SPAN_BITS) - 1) /* as a span: to infinity */

typedef struct EpochDomain {
    alignas(EPOCH_LINE) _Atomic uint64_t now; /* from 1; 2^48 of them */
    struct EpochState *state;
} EpochDomain;

typedef struct EpochSlot {
    /* Of the holder; the domain reads it. */
    alignas(EPOCH_LINE) _Atomic uint64_t reserved; /* lower << EPOCH_SPAN_BITS | upper - lower; 0: no pin */
    EpochDomain *domain;
    uint64_t narrow; /* what a pin goes back to when an inner one ends; 0: open */
    int64_t depth;
    const char *_Atomic label;
    _Atomic int64_t since_ns;
    _Atomic bool blocks; /* something waits for this pin */
    /* Of the domain, under its lock. */
    alignas(EPOCH_LINE) int64_t session;
    EpochNode *held, *held_last; /* found waiting for this pin */
    uint64_t held_at;            /* what `reserved` was then */
    int64_t held_bytes;
    bool used;
    struct EpochSlot *next_free;
} EpochSlot;

/* One per database. The account pays for slots. */
Status epoch_domain_new(MemAccount *a, EpochDomain **out, Err *e);
/* Frees all that waits. No slot is registered any more. NULL is fine. */
void epoch_domain_free(EpochDomain *d);

/* Session: names the holder in views (any number; 0: the database itself). */
Status epoch_register(EpochDomain *d, int64_t session, EpochSlot **out, Err *e);
void epoch_unregister(EpochSlot *s); /* not pinned; NULL is fine */

/* ---- readers ---- */
uint64_t epoch_pin_nested(EpochSlot *s);
bool epoch_unpin_nested(EpochSlot *s);
static inline uint64_t epoch_now(const EpochDomain *d) { return atomic_load_explicit(&d->now, memory_order_acquire); }
static inline uint64_t epoch_pinned(const EpochSlot *s) { /* the slot's epoch; 0: none */
    return atomic_load_explicit(&s->reserved, memory_order_relaxed) >> EPOCH_SPAN_BITS;
}
static inline bool epoch_is_open(const EpochSlot *s) { /* pointers may be loaded */
    return (atomic_load_explicit(&s->reserved, memory_order_relaxed) & EPOCH_OPEN) == EPOCH_OPEN;
}
/* Pins the present epoch, and returns it. `label` says what for, lives as long as the domain ("statement", "cursor");
 * since_ns is when that began, on clock_ns, which the caller has anyhow; 0: unknown. */
static inline uint64_t epoch_pin(EpochSlot *s, const char *label, int64_t since_ns) {
    if (UNLIKELY(s->depth++ > 0)) return epoch_pin_nested(s);
    atomic_store_explicit(&s->label, label, memory_order_relaxed);
    atomic_store_explicit(&s->since_ns, since_ns, memory_order_relaxed);
    uint64_t p = epoch_now(s->domain);
    for (;;) {
        atomic_exchange_explicit(&s->reserved, p << EPOCH_SPAN_BITS | EPOCH_OPEN, memory_order_seq_cst);
        uint64_t now = atomic_load_explicit(&s->domain->now, memory_order_seq_cst);
        if (LIKELY(now == p)) return p;
        p = now;
    }
}
/* True: something was waiting for this pin; a call of epoch_reclaim may free it. */
static inline bool epoch_unpin(EpochSlot *s) {
    if (UNLIKELY(--s->depth > 0)) return epoch_unpin_nested(s);
    s->narrow = 0;
    atomic_store_explicit(&s->reserved, 0, memory_order_release);
    return atomic_load_explicit(&s->blocks, memory_order_relaxed);
}
/* From here on no root is loaded under this pin (but under a nested one): it holds what is alive in [its epoch, now].
 * Inside of another pin of the slot nothing changes. */
void epoch_pin_narrow(EpochSlot *s);
/* Pins in `to`, which holds no pin, what `from` has pinned and narrowed: a cursor takes over its statement's snapshot.
 */
void epoch_pin_copy(EpochSlot *to, const EpochSlot *from, const char *label, int64_t since_ns);

/* ---- writers ---- */
/* The epoch that opens: births of what is installed. Until the end, readers pin the epoch before it. What is replaced
 * is retired between the two and dies in the epoch that opens. Both on one thread: they hold a mutex. */
uint64_t epoch_boundary_begin(EpochDomain *d);
void epoch_boundary_end(EpochDomain *d);
/* The object is unlinked; its birth is set. Cannot fail. */
void epoch_retire(EpochDomain *d, EpochNode *n, int64_t bytes, void (*free_fn)(EpochNode *n));

/* Looks at up to `most` retired objects, frees those that no pin sees, and returns true when there are others to look
 * at already. What waits for a pin is not looked at again before that pin changes. Called at boundaries, after a pin
 * that something waited for, when idle, and when memory is short; from any thread. */
bool epoch_reclaim(EpochDomain *d, int64_t most);
enum { EPOCH_BATCH = 64 }; /* `most` for those who have other things to do */

/* ---- views: at any time, from any thread ---- */
typedef struct EpochPinInfo {
    int64_t session;
    const char *label;
    int64_t since_ns;
    uint64_t lower, upper; /* upper: UINT64_MAX when open */
    int64_t held_bytes;    /* that were found waiting for this pin (others may hold them too) */
} EpochPinInfo;
typedef struct EpochStats {
    uint64_t now;
    int64_t slots, pins;            /* registered; pinned */
    int64_t waiting, waiting_bytes; /* retired and not freed */
    int64_t freed, freed_bytes;     /* since the start */
    EpochPinInfo oldest;            /* of pins > 0: the one with the smallest epoch */
} EpochStats;
void epoch_stats(EpochDomain *d, EpochStats *out);
/* Fills up to `most` of them; returns how many pins there are. */
int64_t epoch_pins(EpochDomain *d, EpochPinInfo *out, int64_t most);
/* Bytes that were found waiting for pins with this very label; and another label for a pin, from any thread. */
int64_t epoch_held_bytes(EpochDomain *d, const char *label);
void epoch_pin_label(EpochSlot *s, const char *label);
/* Debug: lists, counts and lifetimes. */
Status epoch_verify(EpochDomain *d, Err *e);

#endif
