/* advisory.c - advisory locks. See advisory.h. */
#include "session/core/advisory.h"

#include <stdio.h>

#include "base/hash.h"
#include "base/stack.h"
#include "session/core/transaction_int.h"
#include "session/system/objects.h"

/* A session's share of a lock, in one mode. */
typedef struct AdvisoryHold {
    struct AdvisoryHold *next, **link; /* of its slot of the hub */
    struct AdvisoryHold *next_own;
    Session *session;
    AdvisoryKey key;
    bool shared;
    int64_t n_session, n_txn; /* how often it was taken */
} AdvisoryHold;

/* A session that waits. */
typedef struct AdvisoryWait {
    struct AdvisoryWait *next; /* younger */
    Session *session;
    AdvisoryWish wish;
    int64_t since_micros;
} AdvisoryWait;

/* A lock of the transaction, in the order of their taking, the newest first. */
typedef struct Taken {
    struct Taken *before;
    AdvisoryKey key;
    bool shared;
    int64_t nth;
} Taken;

/* What a call has given to the statement. */
typedef enum CallKind { CALL_LOCK, CALL_UNLOCK, CALL_UNLOCK_ALL } CallKind;
typedef struct Given {
    struct Given *next;
    CallKind kind;
    AdvisoryWish wish;
    bool result;
} Given;

struct SessionAdvisory {
    AdvisoryHold *holds;
    Taken *taken;
    Given *given, **end, **at; /* of the statement under way: the first; behind the last; the next call's */
    AdvisoryWait wait;         /* in the hub's list, when the session waits; what it has stepped back for */
    int64_t row_wait;          /* a transaction that it waits for; 0: none */
};

static bool same_key(AdvisoryKey a, AdvisoryKey b) { return a.number == b.number && a.parts == b.parts; }
static AdvisoryHold **slot_of(TxnHub *h, AdvisoryKey k) {
    return &h->advisory.holds[hash_u64((uint64_t)k.number + (uint64_t)k.parts) % ADVISORY_SLOTS];
}
static const char *mode_name(bool shared) { return shared ? "ShareLock" : "ExclusiveLock"; }
static int64_t session_number(const Session *s) { return s->read.slot->session; }

static struct SessionAdvisory *own_of(Session *s) {
    TxnHub *h = transaction_hub(s);
    if (s->numbers.advisory) return s->numbers.advisory;
    struct SessionAdvisory *x = mem_calloc(&s->account, (int64_t)sizeof *x, &s->err);
    if (!x) return NULL;
    x->end = x->at = &x->given;
    mutex_lock(&h->mutex);
    s->numbers.advisory = x;
    mutex_unlock(&h->mutex);
    return x;
}
static AdvisoryHold *find_own(const Session *s, AdvisoryKey k, bool shared) {
    AdvisoryHold *x = s->numbers.advisory->holds;
    while (x && !(same_key(x->key, k) && x->shared == shared)) x = x->next_own;
    return x;
}

/* ---- under the hub's mutex ---- */

static bool conflict(const Session *s, const AdvisoryWish *w, const Session *other, AdvisoryKey k, bool shared) {
    return other != s && same_key(w->key, k) && !(w->shared && shared);
}
/* The next session, from `place` on, that the wish has to wait for: holders, and those that wait already, unless they
 * may wait for a lock of the session's. NULL: none. */
typedef struct Blockers {
    const AdvisoryHold *hold;
    const AdvisoryWait *wait;
} Blockers;
static Blockers blockers_of(const TxnHub *h, const Session *s, const AdvisoryWish *w) {
    const AdvisoryWait *wait = h->advisory.waits;
    if (find_own(s, w->key, true) || find_own(s, w->key, false)) wait = NULL;
    return (Blockers){*slot_of((TxnHub *)(uintptr_t)h, w->key), wait};
}
static const Session *next_blocker(Blockers *b, const Session *s, const AdvisoryWish *w) {
    for (; b->hold; b->hold = b->hold->next)
        if (conflict(s, w, b->hold->session, b->hold->key, b->hold->shared)) {
            const Session *x = b->hold->session;
            b->hold = b->hold->next;
            return x;
        }
    for (; b->wait && b->wait->session != s; b->wait = b->wait->next)
        if (conflict(s, w, b->wait->session, b->wait->wish.key, b->wait->wish.shared)) {
            const Session *x = b->wait->session;
            b->wait = b->wait->next;
            return x;
        }
    return NULL;
}
static const Session *blocker(const TxnHub *h, const Session *s, const AdvisoryWish *w) {
    const AdvisoryHold *own = find_own(s, w->key, w->shared);
    Blockers b = blockers_of(h, s, w);
    return own ? NULL : next_blocker(&b, s, w);
}

static void unlink_wait(TxnHub *h, const AdvisoryWait *w) {
    AdvisoryWait **at = &h->advisory.waits;
    while (*at && *at != w) at = &(*at)->next;
    if (*at) *at = w->next;
}
static void link_wait(TxnHub *h, AdvisoryWait *w) {
    AdvisoryWait **at = &h->advisory.waits;
    while (*at) at = &(*at)->next;
    w->next = NULL;
    *at = w;
}
static bool is_waiting(const TxnHub *h, const struct SessionAdvisory *x) {
    const AdvisoryWait *w = h->advisory.waits;
    while (w && w != &x->wait) w = w->next;
    return w != NULL;
}

/* The transaction that a session's transaction waits for. */
static const Session *row_holder(const TxnHub *h, const Session *s) {
    int64_t id = s->numbers.advisory ? s->numbers.advisory->row_wait : 0;
    for (const Txn *x = h->open; x && !id; x = x->next)
        if (x->session == s) id = x->waits_for;
    const Txn *x = id ? transaction_find_open(h, id) : NULL;
    return x ? x->session : NULL;
}
enum { DEPTH = 100 /* of sessions that wait for each other */ };
static bool reaches(const TxnHub *h, const Session *from, const Session *to, int depth) {
    if (from == to) return true;
    if (depth == DEPTH || stack_stop()) return false;
    const Session *x = row_holder(h, from);
    if (x && reaches(h, x, to, depth + 1)) return true;
    if (!from->numbers.advisory || !is_waiting(h, from->numbers.advisory)) return false;
    const AdvisoryWish *w = &from->numbers.advisory->wait.wish;
    Blockers b = blockers_of(h, from, w);
    while ((x = next_blocker(&b, from, w)))
        if (reaches(h, x, to, depth + 1)) return true;
    return false;
}
bool advisory_reaches(const TxnHub *h, const Session *from, const Session *to) { return reaches(h, from, to, 0); }
void advisory_note_row_wait(Session *s, int64_t txn) {
    if (s->numbers.advisory) s->numbers.advisory->row_wait = txn;
}

static Status deadlock(Session *s, const AdvisoryWish *w, const Session *other) {
    const uint64_t n = (uint64_t)w->key.number;
    err_set(&s->err, ERR_DEADLOCK_DETECTED, "deadlock detected");
    err_detail(&s->err,
               "Session %lld waits for %s on advisory lock [%d,%u,%u,%d]; blocked by session %lld, which waits for "
               "this one.",
               (long long)session_number(s), mode_name(w->shared), (int)OID_DATABASE, (unsigned)(n >> 32), (unsigned)n,
               (int)w->key.parts, (long long)session_number(other));
    err_hint(&s->err, "The transaction might succeed if retried.");
    return ST_ERROR;
}
static bool still_blocked(const TxnHub *h, void *ctx) {
    const AdvisoryWait *w = ctx;
    return blocker(h, w->session, &w->wish) != NULL;
}
/* With the mutex; its wish stands in `wait`. */
static Status wait_here(Session *s, TxnHub *h) {
    AdvisoryWait *wait = &s->numbers.advisory->wait;
    const AdvisoryWish *w = &wait->wish;
    const Session *x;
    wait->session = s;
    wait->since_micros = s->info.now_micros;
    Blockers b = blockers_of(h, s, w);
    if (!find_own(s, w->key, w->shared))
        while ((x = next_blocker(&b, s, w)))
            if (advisory_reaches(h, x, s)) return deadlock(s, w, x);
    link_wait(h, wait);
    atomic_store(&s->block.waits, true);
    const Status st = transaction_wait_while(s, h, still_blocked, wait, NULL);
    atomic_store(&s->block.waits, false);
    unlink_wait(h, wait);
    if (st != ST_OK) pthread_cond_broadcast(&h->ended); /* those behind it may go on */
    return st;
}

/* ---- taking and freeing ---- */

/* Both are there, or neither. */
static Status make_hold(Session *s, const AdvisoryWish *w, AdvisoryHold **hold, Taken **taken) {
    *hold = mem_calloc(&s->account, (int64_t)sizeof **hold, &s->err);
    *taken = w->of_txn ? mem_calloc(&s->account, (int64_t)sizeof **taken, &s->err) : NULL;
    if (*hold && (*taken || !w->of_txn)) return ST_OK;
    mem_free(&s->account, *hold, (int64_t)sizeof **hold);
    return ST_ERROR;
}
/* With the mutex. hold: used when there is none yet, and then set to NULL. */
static void take(Session *s, TxnHub *h, const AdvisoryWish *w, AdvisoryHold **hold, Taken *taken) {
    struct SessionAdvisory *own = s->numbers.advisory;
    AdvisoryHold *x = find_own(s, w->key, w->shared);
    if (!x) {
        AdvisoryHold **slot = slot_of(h, w->key);
        x = *hold;
        *hold = NULL;
        *x = (AdvisoryHold){.next = *slot, .link = slot, .next_own = own->holds, s, w->key, w->shared};
        if (x->next) x->next->link = &x->next;
        own->holds = *slot = x;
    }
    *(w->of_txn ? &x->n_txn : &x->n_session) += 1;
    if (!w->of_txn) return;
    *taken = (Taken){own->taken, w->key, w->shared, own->taken ? own->taken->nth + 1 : 1};
    own->taken = taken;
}
/* It may be held no more. */
static void drop_unused(Session *s, AdvisoryHold *x) {
    TxnHub *h = transaction_hub(s);
    if (x->n_session > 0 || x->n_txn > 0) return;
    mutex_lock(&h->mutex);
    AdvisoryHold **own = &s->numbers.advisory->holds;
    while (*own != x) own = &(*own)->next_own;
    *own = x->next_own;
    *x->link = x->next;
    if (x->next) x->next->link = x->link;
    pthread_cond_broadcast(&h->ended);
    mutex_unlock(&h->mutex);
    mem_free(&s->account, x, (int64_t)sizeof *x);
}
static void free_last_taken(Session *s) {
    Taken *t = s->numbers.advisory->taken;
    AdvisoryHold *x = find_own(s, t->key, t->shared);
    s->numbers.advisory->taken = t->before;
    x->n_txn--;
    drop_unused(s, x);
    mem_free(&s->account, t, (int64_t)sizeof *t);
}
int64_t advisory_mark(const Session *s) {
    return s->numbers.advisory && s->numbers.advisory->taken ? s->numbers.advisory->taken->nth : 0;
}
void advisory_back_to(Session *s, int64_t mark) {
    while (advisory_mark(s) > mark) free_last_taken(s);
}

/* ---- what a statement has had ---- */

static void forget_given(Session *s, Given **from) {
    struct SessionAdvisory *own = s->numbers.advisory;
    Given *g = *from;
    *from = NULL;
    own->end = from;
    while (g) {
        Given *next = g->next;
        mem_free(&s->account, g, (int64_t)sizeof *g);
        g = next;
    }
}
/* It has taken another way than before: what it had from here on was for nothing. */
static void take_back(Session *s) {
    struct SessionAdvisory *own = s->numbers.advisory;
    for (const Given *g = *own->at; g; g = g->next) {
        AdvisoryHold *x = g->kind == CALL_LOCK && g->result ? find_own(s, g->wish.key, g->wish.shared) : NULL;
        if (!x || g->wish.of_txn || x->n_session == 0) continue; /* those of the transaction end with it */
        x->n_session--;
        drop_unused(s, x);
    }
    forget_given(s, own->at);
}
/* The result that the call has had in an earlier run of the statement. */
static const Given *given_before(Session *s, CallKind kind, const AdvisoryWish *w) {
    struct SessionAdvisory *own = s->numbers.advisory;
    const Given *g = *own->at;
    const AdvisoryWish *had = g ? &g->wish : NULL;
    if (g && g->kind == kind && same_key(had->key, w->key) && had->shared == w->shared && had->of_txn == w->of_txn &&
        had->tries == w->tries) {
        own->at = &(*own->at)->next;
        return g;
    }
    if (g) take_back(s);
    return NULL;
}
/* Kept as long as the statement can run again. */
static Status note_given(Session *s, CallKind kind, const AdvisoryWish *w, bool result) {
    struct SessionAdvisory *own = s->numbers.advisory;
    if (!s->block.can_wait) return ST_OK;
    Given *g = mem_calloc(&s->account, (int64_t)sizeof *g, &s->err);
    if (!g) return ST_ERROR;
    *g = (Given){NULL, kind, *w, result};
    *own->end = g;
    own->end = own->at = &g->next;
    return ST_OK;
}
void advisory_begin_statement(Session *s, bool again) {
    if (!s->numbers.advisory) return;
    if (!again) forget_given(s, &s->numbers.advisory->given);
    s->numbers.advisory->at = &s->numbers.advisory->given;
}

/* ---- calls ---- */

/* It has the database lock, and can give it up and run again. */
static bool can_step_back(const Session *s) {
    return s->lock != LOCK_NONE && s->block.can_wait && !transaction_pinned(s) && !s->catalog_undo;
}
static Status step_back(Session *s, const AdvisoryWish *w) {
    s->numbers.advisory->wait.wish = *w;
    s->block.holder = ADVISORY_HOLDER;
    return err_set(&s->err, ERR_LOCK_NOT_AVAILABLE, "the statement waits for an advisory lock");
}
static Status take_or_wait(Session *s, const AdvisoryWish *w, bool waits, bool *got) {
    TxnHub *h = transaction_hub(s);
    AdvisoryHold *hold;
    Taken *taken;
    TRY(make_hold(s, w, &hold, &taken));
    mutex_lock(&h->mutex);
    Status st = ST_OK;
    *got = !blocker(h, s, w);
    if (!*got && waits) {
        s->numbers.advisory->wait.wish = *w;
        st = wait_here(s, h);
        *got = st == ST_OK;
    }
    if (*got) take(s, h, w, &hold, taken);
    mutex_unlock(&h->mutex);
    if (!*got) mem_free(&s->account, taken, (int64_t)sizeof *taken);
    mem_free(&s->account, hold, (int64_t)sizeof *hold);
    return st;
}
Status advisory_lock(Session *s, const AdvisoryWish *w, bool *got) {
    if (!own_of(s)) return ST_ERROR;
    const Given *g = given_before(s, CALL_LOCK, w);
    if (g) return *got = g->result, ST_OK;
    TRY(take_or_wait(s, w, !w->tries && !can_step_back(s), got));
    if (!*got && !w->tries) return step_back(s, w);
    return note_given(s, CALL_LOCK, w, *got);
}
Status advisory_wait(Session *s) {
    const AdvisoryWish w = s->numbers.advisory->wait.wish;
    bool got;
    err_clear(&s->err);
    TRY(take_or_wait(s, &w, true, &got));
    return note_given(s, CALL_LOCK, &w, true);
}
Status advisory_unlock(Session *s, AdvisoryKey key, bool shared, bool *had) {
    const AdvisoryWish w = {.key = key, .shared = shared};
    if (!own_of(s)) return ST_ERROR;
    const Given *g = given_before(s, CALL_UNLOCK, &w);
    if (g) return *had = g->result, ST_OK;
    AdvisoryHold *x = find_own(s, key, shared);
    *had = x && x->n_session > 0;
    if (*had) {
        x->n_session--;
        drop_unused(s, x);
    } else {
        session_notice_text(s, "WARNING", "01000", "you don't own a lock of type %s", mode_name(shared));
    }
    return note_given(s, CALL_UNLOCK, &w, *had);
}
static void free_session_locks(Session *s) {
    AdvisoryHold *x = s->numbers.advisory->holds;
    while (x) {
        AdvisoryHold *next = x->next_own;
        x->n_session = 0;
        drop_unused(s, x);
        x = next;
    }
}
Status advisory_unlock_all(Session *s) {
    const AdvisoryWish w = {0};
    if (!own_of(s)) return ST_ERROR;
    if (given_before(s, CALL_UNLOCK_ALL, &w)) return ST_OK;
    free_session_locks(s);
    return note_given(s, CALL_UNLOCK_ALL, &w, true);
}
void advisory_end_session(Session *s) {
    TxnHub *h = transaction_hub(s);
    struct SessionAdvisory *x = s->numbers.advisory;
    if (!x) return;
    advisory_back_to(s, 0);
    free_session_locks(s);
    forget_given(s, &x->given);
    mutex_lock(&h->mutex);
    s->numbers.advisory = NULL;
    mutex_unlock(&h->mutex);
    mem_free(&s->account, x, (int64_t)sizeof *x);
}

Status advisory_list(Session *s, Arena *a, int64_t *n, AdvisoryInfo **out) {
    TxnHub *h = transaction_hub(s);
    VEC(AdvisoryInfo) all = {0};
    bool ok = true;
    mutex_lock(&h->mutex);
    for (int64_t i = 0; i < ADVISORY_SLOTS; i++)
        for (const AdvisoryHold *x = h->advisory.holds[i]; x && ok; x = x->next)
            ok = vec_push(a, &all, ((AdvisoryInfo){x->key, x->shared, true, session_number(x->session), 0}));
    for (const AdvisoryWait *w = h->advisory.waits; w && ok; w = w->next)
        ok = vec_push(
            a, &all, ((AdvisoryInfo){w->wish.key, w->wish.shared, false, session_number(w->session), w->since_micros}));
    mutex_unlock(&h->mutex);
    *n = all.len;
    *out = all.items;
    return ok ? ST_OK : err_oom(&s->err);
}
