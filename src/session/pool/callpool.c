/* callpool.c - see callpool.h. */
#include "base/mutex.h"
#include "session/pool/callpool.h"

#include <pthread.h>
#include <stdio.h>

#include "base/cond.h"
#include "base/log.h"
#include "session/pool/callsets.h"
#include "session/pl/pl_run.h"
#include "session/core/plancache.h"
#include "sql/bind/bind.h"

enum {
    POLL_NS = 50000000 /* how often waiting threads look for cancellation */,
    EXPIRE_NS = 10000000 /* the keeper for entries whose time is up */,
    HISTOGRAM = 512
};

struct CallSettings {
    _Atomic int64_t refs;
    Settings settings;
    int64_t n;
    uint8_t bytes[SETTINGS_BULK_BYTES]; /* the settings that concern bulks: settings_for_bulks */
};
struct CallBulk {
    _Atomic int64_t refs;
    BulkResult *result;
    Err err; /* of the whole bulk */
};
/* Of a session. It waits on a mutex of its own, so that woken threads do not contend for the pool's. */
typedef struct CallClient {
    _Atomic int64_t refs;
    Mutex mutex;
    pthread_cond_t wake;
    bool woken;
    struct CallClient *next; /* to be woken */
    CallSettings *settings;
    int64_t window; /* in which it was seen last */
} CallClient;

/* Entries of the next bulk, gathered while a bulk runs; they are pending again as soon as that is done, and may be
 * withdrawn. */
typedef struct PrefetchedCalls {
    Arena *arena; /* NULL: there is nothing */
    int64_t catalog_version;
    int64_t n, first, last; /* entries: how many, and the numbers of the first and the last; numbers grow, so these are
                               the same when all three are */
    int32_t n_groups;
    BulkCalls *groups;
    uint64_t ticket; /* CallPipeline */
} PrefetchedCalls;

struct CallPool {
    Database *db;
    Mutex mutex;
    CallEntry *first, **last;   /* what has come and is not in: */
    CallSets sets;              /* older ones, that wait for each other; empty where bulks are cut by arrival */
    int64_t n_calls;            /* pending, of both */
    int64_t submitted;          /* entries so far */
    PrefetchedCalls prefetched; /* the leader's */
    bool busy;                  /* a thread leads: it cuts and runs a bulk */
    CallEntry *running;         /* the entries of the bulk that runs */
    _Atomic bool stopping;      /* some of them are to stop */
    int32_t n_waiting;          /* threads that wait for a pending entry */
    int64_t window, window_ns;  /* number and begin of the current stretch of bulk_interval */
    int32_t seen;               /* threads that have waited in it */
    int32_t expected;           /* threads that are likely to come: those of the stretch before, or of this one */
    int64_t expired_ns;         /* the keeper has looked for those whose time is up */
    Session *runner;            /* the leader's, while busy */
    CallSettings *runner_settings;
    pthread_cond_t keeper_wake;
    pthread_t keeper;
    bool keeper_on;
    _Atomic bool stop;
    CallBulk gone; /* of entries whose routine is gone; never freed */
    CallPoolStats stats;
    int64_t histogram[HISTOGRAM];
};

static void settings_release(CallSettings *x) {
    if (!x || atomic_fetch_sub(&x->refs, 1) > 1) return;
    setting_texts_release(x->settings.client.texts);
    mem_free(NULL, x, (int64_t)sizeof *x);
}

static void client_wake(CallClient *c) {
    mutex_lock(&c->mutex);
    c->woken = true;
    pthread_cond_signal(&c->wake);
    mutex_unlock(&c->mutex);
}
/* Until it was woken since it last waited, or the time has come. */
static void client_wait(CallClient *c, int64_t at_ns) {
    mutex_lock(&c->mutex);
    while (!c->woken && cond_wait_until(&c->wake, &c->mutex, at_ns)) {}
    c->woken = false;
    mutex_unlock(&c->mutex);
}
static void client_release(CallClient *c) {
    if (!c || atomic_fetch_sub(&c->refs, 1) > 1) return;
    settings_release(c->settings);
    pthread_cond_destroy(&c->wake);
    mutex_destroy(&c->mutex);
    mem_free(NULL, c, (int64_t)sizeof *c);
}

CallPool *call_pool_new(Database *db, Err *e) {
    CallPool *p = mem_calloc(NULL, (int64_t)sizeof *p, e);
    if (!p) return NULL;
    if (session_new(db, &p->runner, e) != ST_OK) {
        mem_free(NULL, p, (int64_t)sizeof *p);
        return NULL;
    }
    p->db = db;
    p->last = &p->first;
    p->sets.account = &db->parts[DB_CALLS];
    p->expected = 1;
    atomic_store(&p->gone.refs, 1);
    err_set(&p->gone.err, ERR_UNDEFINED_FUNCTION, "the routine has been dropped or replaced");
    mutex_init(&p->mutex, RANK_CALL_POOL);
    cond_init(&p->keeper_wake);
    return p;
}

bool call_pool_runs_on(const CallPool *p, const Session *s) { return p->runner == s; }

void call_pool_free(CallPool *p) {
    if (!p) return;
    if (p->keeper_on) {
        mutex_lock(&p->mutex);
        atomic_store(&p->stop, true);
        pthread_cond_signal(&p->keeper_wake);
        mutex_unlock(&p->mutex);
        pthread_join(p->keeper, NULL);
    }
    session_free(p->runner);
    settings_release(p->runner_settings);
    arena_free(p->prefetched.arena);
    callsets_free(&p->sets);
    pthread_cond_destroy(&p->keeper_wake);
    mutex_destroy(&p->mutex);
    mem_free(NULL, p, (int64_t)sizeof *p);
}

/* ---- latencies: eight buckets to the power of two ------------------------------------------------------------ */
static int bucket_of(int64_t ns) {
    uint64_t v = (uint64_t)MAX_OF(ns, INT64_C(8));
    int e = 63 - __builtin_clzll(v);
    return e * 8 + (int)(v >> (e - 3) & 7);
}
static int64_t bucket_end(int b) { return (int64_t)((UINT64_C(8) + (uint64_t)(b & 7) + 1) << (b / 8 - 3)); }
static int64_t quantile(const CallPool *p, double q) {
    int64_t total = 0, sum = 0;
    for (int i = 0; i < HISTOGRAM; i++) total += p->histogram[i];
    for (int i = 0; i < HISTOGRAM && total > 0; i++)
        if ((double)(sum += p->histogram[i]) >= q * (double)total) return MIN_OF(bucket_end(i), p->stats.max_ns);
    return 0;
}

void call_pool_stats(Session *s, bool reset, CallPoolStats *out) {
    CallPool *p = session_call_pool(s);
    *out = (CallPoolStats){0};
    if (!p) return;
    mutex_lock(&p->mutex);
    *out = p->stats;
    out->p50_ns = quantile(p, 0.5);
    out->p99_ns = quantile(p, 0.99);
    out->waiting = p->n_calls;
    if (reset) {
        p->stats = (CallPoolStats){0};
        memset(p->histogram, 0, sizeof p->histogram);
    }
    mutex_unlock(&p->mutex);
}

/* ---- forming a bulk -------------------------------------------------------------------------------------------- */
static bool same_settings(const CallSettings *a, const CallSettings *b) {
    return a == b || (a->n == b->n && memcmp(a->bytes, b->bytes, (size_t)a->n) == 0);
}

typedef enum Due { DUE_NOT, DUE_SIZE, DUE_TIME, DUE_ALL, DUE_TURN } Due;
static CallEntry *oldest(const CallPool *p) { return p->sets.first ? p->sets.first : p->first; }
static int64_t due_at(const CallPool *p) {
    return oldest(p)->arrived_ns + oldest(p)->settings->settings.bulk.interval_us * 1000;
}
static Due due(const CallPool *p, int64_t now) {
    if (p->busy || !oldest(p)) return DUE_NOT;
    if (p->sets.first) return DUE_TURN; /* those that they waited for are done */
    if (p->n_calls >= p->first->settings->settings.bulk.size) return DUE_SIZE;
    if (p->n_waiting >= p->expected) return DUE_ALL;
    return now >= due_at(p) ? DUE_TIME : DUE_NOT;
}

/* The lead is free: wakes a thread that may find a bulk due. */
static void pass_on(CallPool *p) {
    for (int i = 0; i < 2 && p->n_waiting > 0; i++)
        for (CallEntry *x = i ? p->first : p->sets.first; x; x = x->next) {
            if (!x->waited) continue;
            client_wake(x->client);
            return;
        }
    if (oldest(p)) pthread_cond_signal(&p->keeper_wake);
}

/* Entries of the next bulk, in order; they run from now on. */
static CallEntry *take(CallPool *p, Due why, int64_t *n_calls) {
    CallEntry *list = p->first, *x = list;
    int64_t now = clock_ns();
    int32_t waited = 0;
    *n_calls = 0;
    if (!list) return NULL;
    int64_t size = list->settings->settings.bulk.size, apart = session_bulk_apart(p->db, list->routine);
    CallEntry **end = &p->first;
    for (; x && (x == list ||
                 (*n_calls + x->n <= size && x->serial == list->serial && same_settings(x->settings, list->settings) &&
                  session_bulk_apart(p->db, x->routine) == apart));
         x = x->next) {
        atomic_store(&x->state, CALL_RUNNING);
        x->begun_ns = now;
        waited += x->waited;
        *n_calls += x->n;
        end = &x->next;
    }
    *end = NULL;
    p->first = x;
    if (!x) p->last = &p->first;
    p->n_calls -= *n_calls;
    p->n_waiting -= waited;
    if (why == DUE_TIME) p->expected = MAX_OF(waited + p->n_waiting, 1); /* some have left */
    return list;
}

/* Columns of all calls of each routine, and their numbers. One entry alone lends its own columns. */
static Status gather(Session *s, Arena *a, CallEntry *list, int64_t n_calls, int32_t *n_out, BulkCalls **out) {
    enum { ROUTINES_MAX = 1 << 12 };
    VEC(BulkCalls) groups = {0};
    int32_t last = -1;
    bool alone = !list->next;
    for (CallEntry *x = list; x; x = x->next) {
        int32_t k = last;
        if (k < 0 || groups.items[k].routine->id != x->routine)
            for (k = 0; k < groups.len && groups.items[k].routine->id != x->routine;) k++;
        if (k == groups.len) {
            const Routine *r = session_bulk_routine_by_id(s->db, x->routine);
            if (!r) return err_internal(&s->err, "a routine of the pool is gone");
            if (k == ROUTINES_MAX || !vec_push(a, &groups, ((BulkCalls){.routine = r}))) return err_oom(&s->err);
        }
        last = k;
        x->group = k;
        x->first = groups.items[k].n;
        groups.items[k].n += x->n;
    }
    *n_out = (int32_t)groups.len;
    *out = groups.items;
    if (alone) {
        groups.items[0].params = list->params;
        return ST_OK;
    }
    bool numbered = groups.len > 1;
    Vec **cols = arena_array(a, Vec *, groups.len);
    uint32_t **numbers = arena_array(a, uint32_t *, groups.len);
    if (!cols || !numbers) return err_oom(&s->err);
    for (CallEntry *x = list; x; x = x->next) { /* columns of the first entry's shape */
        BulkCalls *c = &groups.items[x->group];
        if (c->params) continue;
        int n = 0;
        for (int i = 0; i < c->routine->n_params; i++)
            n += c->routine->param_modes[i] == 'i' || c->routine->param_modes[i] == 'b';
        Vec *v = cols[x->group] = arena_array(a, Vec, n + 1);
        if (!v) return err_oom(&s->err);
        for (int i = 0; i < n; i++) {
            v[i] = (Vec){.phys = x->params[i].phys,
                         .type = x->params[i].type,
                         .data = arena_alloc(a, c->n * phys_size((Phys)x->params[i].phys)),
                         .valid = arena_alloc(a, c->n)};
            if (!v[i].data || !v[i].valid) return err_oom(&s->err);
        }
        v[n].valid = NULL;
        c->params = v;
        if (numbered && !(numbers[x->group] = arena_alloc(a, c->n * 4))) return err_oom(&s->err);
        c->calls = numbers[x->group];
    }
    if (n_calls > UINT32_MAX) return err_set(&s->err, ERR_PROGRAM_LIMIT, "a bulk of more than %u calls", UINT32_MAX);
    uint32_t number = 0;
    for (CallEntry *x = list; x; x = x->next) {
        BulkCalls *c = &groups.items[x->group];
        int n = 0;
        for (int i = 0; i < c->routine->n_params; i++)
            n += c->routine->param_modes[i] == 'i' || c->routine->param_modes[i] == 'b';
        for (int i = 0; i < n; i++) {
            Vec *v = &cols[x->group][i];
            int64_t size = phys_size((Phys)v->phys);
            memcpy((char *)v->data + x->first * size, x->params[i].data, (size_t)(x->n * size));
            if (x->params[i].valid) memcpy(v->valid + x->first, x->params[i].valid, (size_t)x->n);
            else memset(v->valid + x->first, 1, (size_t)x->n);
        }
        for (int64_t i = 0; i < x->n; i++, number++)
            if (numbered) numbers[x->group][x->first + i] = number;
    }
    return ST_OK;
}

/* Takes entries whose routine is gone out of the list: they fail alone. */
static CallEntry *sort_out(CallPool *p, CallEntry **list) {
    CallEntry *gone = NULL, **at = list;
    int64_t known = 0; /* no routine's id */
    while (*at) {
        CallEntry *x = *at;
        if (x->routine == known || session_bulk_routine_by_id(p->db, x->routine)) {
            known = x->routine;
            at = &x->next;
            continue;
        }
        *at = x->next;
        x->next = gone;
        gone = x;
    }
    return gone;
}

/* Results reach their entries. Under the mutex. Whose threads wait for them is added to the list of those to be woken
 * afterwards. */
static void deliver(CallPool *p, CallEntry *list, CallBulk *b, CallClient **wake) {
    int64_t now = clock_ns();
    for (CallEntry *x = list, *next; x; x = next) {
        next = x->next;
        x->next = NULL;
        x->bulk = b;
        atomic_fetch_add(&b->refs, 1);
        x->done_ns = now;
        p->histogram[bucket_of(now - x->arrived_ns)] += x->n;
        p->stats.max_ns = MAX_OF(p->stats.max_ns, now - x->arrived_ns);
        /* The submitter may take its entry away as soon as it is done. */
        bool waited = x->waited;
        CallClient *c = x->client;
        x->waited = false;
        atomic_store(&x->state, CALL_DONE);
        if (!waited) continue;
        atomic_fetch_add(&c->refs, 1); /* its session may be gone then */
        c->next = *wake;
        *wake = c;
    }
}
static void wake_all(CallClient *list) {
    for (CallClient *c = list, *next; c; c = next) {
        next = c->next;
        client_wake(c);
        client_release(c);
    }
}

static CallBulk *bulk_new(void) {
    CallBulk *b = mem_calloc(NULL, (int64_t)sizeof *b, NULL);
    if (b) atomic_store(&b->refs, 1);
    return b;
}
static void bulk_release(CallBulk *b) {
    if (!b || atomic_fetch_sub(&b->refs, 1) > 1) return;
    if (b->result) bulk_result_free(b->result);
    mem_free(NULL, b, (int64_t)sizeof *b);
}

/* ---- what comes next ---- */
/* Back to the queue, in its order. Under the mutex. */
static void queue_again(CallPool *p, CallEntry *list) {
    CallEntry **at = &p->first;
    while (list) {
        CallEntry *x = list;
        list = x->next;
        while (*at && (*at)->number < x->number) at = &(*at)->next;
        x->next = *at;
        if (!*at) p->last = &x->next;
        *at = x;
        at = &x->next;
    }
}
static void pend_again(CallPool *p, CallEntry *list) {
    for (CallEntry *x = list; x; x = x->next) {
        atomic_store(&x->state, CALL_PENDING);
        p->n_calls += x->n;
        p->n_waiting += x->waited;
    }
}
static void put_back(CallPool *p, CallEntry *list) {
    pend_again(p, list);
    queue_again(p, list);
}
static PrefetchedCalls describe(const CallEntry *list) {
    PrefetchedCalls x = {.first = list->number};
    for (; list; list = list->next) {
        x.n++;
        x.last = list->number;
    }
    return x;
}
/* While a bulk runs a full one is waiting: its columns are gathered then, and its arguments go to the device. */
typedef struct NextCalls {
    CallPool *p;
    const CallSettings *set;
    CallEntry *list;
    PrefetchedCalls prefetched;
} NextCalls;
static void calls_sent(void *ctx) {
    NextCalls *x = ctx;
    mutex_lock(&x->p->mutex);
    put_back(x->p, x->list);
    mutex_unlock(&x->p->mutex);
    x->list = NULL;
}
/* What footprints of the next bulk read may be written by this one where it is another's (session_bulk_apart). */
static bool is_apart(const CallPool *p) {
    return !p->running ||
           session_bulk_apart(p->db, p->running->routine) != session_bulk_apart(p->db, p->first->routine);
}
static bool next_calls(void *ctx, int32_t *n_groups, const BulkCalls **groups) {
    NextCalls *x = ctx;
    CallPool *p = x->p;
    Session *s = p->runner;
    int64_t n_calls = 0;
    mutex_lock(&p->mutex);
    if (!x->prefetched.arena && p->first && p->n_calls >= p->first->settings->settings.bulk.size &&
        same_settings(p->first->settings, x->set) && !is_apart(p))
        x->list = take(p, DUE_SIZE, &n_calls);
    mutex_unlock(&p->mutex);
    if (!x->list) return false;
    Err e = {0}, before;
    err_copy(&before, &s->err);
    x->prefetched = describe(x->list);
    x->prefetched.catalog_version = catalog_definitions(&p->db->catalog);
    x->prefetched.arena = arena_new(&p->db->parts[DB_CALLS], &e);
    bool ok = x->prefetched.arena &&
              gather(s, x->prefetched.arena, x->list, n_calls, &x->prefetched.n_groups, &x->prefetched.groups) == ST_OK;
    err_copy(&s->err, &before);
    if (x->prefetched.arena) arena_set_err(x->prefetched.arena, NULL); /* it stays */
    if (!ok) {
        arena_free(x->prefetched.arena);
        x->prefetched = (PrefetchedCalls){0};
        calls_sent(x);
        return false;
    }
    *n_groups = x->prefetched.n_groups;
    *groups = x->prefetched.groups;
    return true;
}
/* The entries are those that were gathered. */
static bool was_gathered(const CallPool *p, const CallEntry *list) {
    const PrefetchedCalls *x = &p->prefetched;
    if (!x->arena || !list || x->catalog_version != catalog_definitions(&p->db->catalog)) return false;
    const PrefetchedCalls now = describe(list);
    return now.n == x->n && now.first == x->first && now.last == x->last;
}

/* ---- cancelling ---- */
static bool session_stops(const Session *s) {
    return atomic_load_explicit(&s->cancel, memory_order_relaxed) || (s->deadline_ns && clock_ns() > s->deadline_ns);
}
/* Under the mutex. Nothing happens to entries that do not run. */
static void stop_entry(CallPool *p, CallEntry *x) {
    if (atomic_load(&x->stop)) return;
    for (const CallEntry *y = p->running; y; y = y->next) {
        if (y != x) continue;
        atomic_store(&x->stop, true);
        atomic_store(&p->stopping, true);
        atomic_store(&p->runner->cancel, true); /* where calls run one at a time */
        return;
    }
}
/* Stops the entries that the leader waits for when it is to be cancelled: as it runs the bulk it cannot check that
 * itself in call_wait. Under the mutex.
 */
static void stop_leader(CallPool *p, const Session *l) {
    if (!l || !session_stops(l)) return;
    for (CallEntry *x = p->running; x; x = x->next)
        if (x->waited && x->client == l->call_client) stop_entry(p, x);
}
typedef struct RunStop {
    CallPool *p;
    const Session *leader;
    _Atomic bool seen; /* the leader's cancellation has been passed on */
} RunStop;
static bool any_stops(void *ctx) {
    RunStop *r = ctx;
    CallPool *p = r->p;
    if (r->leader && !atomic_load_explicit(&r->seen, memory_order_relaxed) && session_stops(r->leader) &&
        !atomic_exchange(&r->seen, true)) {
        mutex_lock(&p->mutex);
        stop_leader(p, r->leader);
        mutex_unlock(&p->mutex);
    }
    return atomic_load_explicit(&p->stopping, memory_order_relaxed);
}
static bool call_stops(void *ctx, int32_t group, int64_t call) {
    const RunStop *r = ctx;
    for (CallEntry *x = r->p->running; x; x = x->next)
        if (x->group == group && call >= x->first && call < x->first + x->n) return atomic_load(&x->stop);
    return false;
}
/* A bulk was undone because of entries that are to stop: the others run again. Under the mutex. */
static CallEntry *spare_others(CallPool *p, CallEntry *list) {
    CallEntry *stopped = NULL, **end = &stopped, *others = NULL, **other = &others;
    for (CallEntry *x = list, *next; x; x = next) {
        next = x->next;
        x->next = NULL;
        CallEntry ***to = atomic_load(&x->stop) ? &end : &other;
        **to = x;
        *to = &x->next;
    }
    if (others) {
        queue_again(p, callsets_clear(&p->sets)); /* they may have to wait for these */
        put_back(p, others);
    }
    return stopped;
}

/* What a bulk is made of. */
typedef struct Cut {
    CallEntry *list;
    Due why;
    int64_t n_calls, plan_ns; /* plan: until the operations of new entries were known */
    bool by_sets;             /* bulk_cut = zero_set */
    bool apart;               /* and no two of the calls conflict */
    bool began;               /* the session has begun a statement */
} Cut;

/* The pool's session is as the submitter's was. */
static void use_settings(CallPool *p, CallSettings *set) {
    Session *s = p->runner;
    err_clear(&s->err);
    if (p->runner_settings != set) {
        atomic_fetch_add(&set->refs, 1);
        settings_release(p->runner_settings);
        p->runner_settings = set;
        s->settings = set->settings;
    }
    session_begin_clock(s);
}
/* Their owners can stop them from now on. Under the mutex. */
static void begin_running(CallPool *p, const Session *l, CallEntry *list) {
    p->running = list;
    atomic_store(&p->stopping, false);
    atomic_store(&p->runner->cancel, l && atomic_load(&l->cancel));
    p->runner->deadline_ns = l ? l->deadline_ns : 0;
}

/* Entries that wait for others must not have others' changes in between. */
static bool may_be_sliced(const Cut *cut, const CallEntry *list) {
    for (const CallEntry *x = list; x; x = x->next)
        if (x->serial) return false;
    return !cut->by_sets;
}
/* Runs the entries on the pool's session, which holds the lock; the lock is released. `l`: as of lead. */
static void run(CallPool *p, const Session *l, const Cut *cut, CallBulk *b) {
    Session *s = p->runner;
    CallEntry *list = cut->list;
    NextCalls next = {.p = p, .set = list->settings};
    use_settings(p, list->settings);
    Status st = session_bulk_ready(s); /* statements are known under this catalog then */
    CallEntry *lost = st == ST_OK ? sort_out(p, &list) : NULL;
    mutex_lock(&p->mutex);
    begin_running(p, l, list);
    mutex_unlock(&p->mutex);
    PrefetchedCalls now = p->prefetched;
    if (!was_gathered(p, list)) {
        arena_free(now.arena);
        now = (PrefetchedCalls){0};
    }
    p->prefetched = (PrefetchedCalls){0};
    RunStop stops = {.p = p, .leader = l};
    const BulkStop stop = {any_stops, call_stops, &stops};
    if (list) {
        if (!now.arena && st == ST_OK)
            st = (now.arena = arena_new(&p->db->parts[DB_CALLS], &s->err))
                     ? gather(s, now.arena, list, cut->n_calls, &now.n_groups, &now.groups)
                     : ST_ERROR;
        static const char *const reasons[] = {
            [DUE_NOT] = "", [DUE_SIZE] = "size", [DUE_TIME] = "time", [DUE_ALL] = "all wait", [DUE_TURN] = "zero set"};
        CallPipeline pipeline = {.next = cut->by_sets ? NULL : next_calls,
                                 .why_cut = reasons[cut->why],
                                 .apart = cut->apart,
                                 .whole = !may_be_sliced(cut, list),
                                 .sent = calls_sent,
                                 .ctx = &next,
                                 .stop = &stop,
                                 .ticket = now.ticket};
        if (st == ST_OK) st = session_bulk_run_sliced(s, now.n_groups, now.groups, &pipeline, &b->result);
        next.prefetched.ticket = pipeline.next_ticket;
        p->prefetched = next.prefetched;
        arena_free(now.arena);
    }
    if (s->lock == LOCK_EXCLUSIVE) p->sets.state = session_bulk_state(s); /* bulks do not count */
    st = session_end_statement(s, st);
    if (b->result) {
        b->result->stats.footprint_ns += cut->plan_ns;
        b->result->stats.total_ns += cut->plan_ns;
    }
    if (st != ST_OK) {
        if (err_is_set(&s->err)) err_copy(&b->err, &s->err);
        else err_oom(&b->err);
    }
    CallClient *wake = NULL;
    mutex_lock(&p->mutex);
    if (strcmp(b->err.sqlstate, ERR_QUERY_CANCELED) == 0) {
        stop_leader(p, l);
        list = spare_others(p, list);
    }
    p->running = NULL;
    callsets_done(&p->sets);
    if (b->result && b->result->stats.prefetched) p->stats.sent_ahead++;
    if (b->result && b->result->stats.foot_prefetched) p->stats.footprints_ahead++;
    deliver(p, list, b, &wake);
    deliver(p, lost, &p->gone, &wake);
    mutex_unlock(&p->mutex);
    wake_all(wake);
}

/* ---- bulk_cut = zero_set ---- */
static bool by_sets(const CallEntry *x) {
    const Settings *set = &x->settings->settings;
    return strcmp(set->bulk.cut, "zero_set") == 0 && strcmp(set->bulk.order, "timestamp") == 0 &&
           (strcmp(set->bulk.strategy, "auto") == 0 || strcmp(set->bulk.strategy, "kset") == 0);
}
static bool may_enter(const CallPool *p, const CallEntry *x, const CallEntry *head, int64_t n_calls) {
    const CallSets *z = &p->sets;
    return !x->serial && x->number != z->barrier && by_sets(x) && same_settings(x->settings, head->settings) &&
           (n_calls == 0 || n_calls + x->n <= head->settings->settings.bulk.size) &&
           session_bulk_bounded(p->runner, x->routine);
}
/* Entries that have come and may enter, in order. */
static CallEntry *take_new(CallPool *p, int64_t *n_calls) {
    const CallEntry *head = oldest(p);
    CallEntry *list = p->first, **end = &p->first;
    *n_calls = 0;
    for (CallEntry *x = list; x && may_enter(p, x, head, p->sets.n_calls + *n_calls); x = x->next) {
        atomic_store(&x->state, CALL_RUNNING);
        *n_calls += x->n;
        p->n_waiting -= x->waited;
        end = &x->next;
    }
    if (end == &p->first) return NULL;
    p->first = *end;
    *end = NULL;
    if (!p->first) p->last = &p->first;
    p->n_calls -= *n_calls;
    return list;
}
/* What entries are going to do, without the mutex; links stay as they are, since others look through the entries.
 * *rest: the first one that could not enter; NULL: there is none. */
static Status find_out(CallPool *p, const Session *l, CallEntry *list, int64_t n_calls, CallEntry **rest) {
    Session *s = p->runner;
    int32_t n_groups;
    BulkCalls *groups;
    BulkOps ops;
    RunStop stops = {.p = p, .leader = l};
    const BulkStop stop = {any_stops, call_stops, &stops};
    Arena *a = arena_new(&p->db->parts[DB_CALLS], &s->err);
    *rest = list;
    Status st = a ? gather(s, a, list, n_calls, &n_groups, &groups) : ST_ERROR;
    if (st == ST_OK) st = session_bulk_ops(s, n_groups, groups, &stop, a, &ops);
    int64_t call = 0;
    for (CallEntry *x; st == ST_OK && (x = *rest); call += x->n) {
        for (int64_t i = 0; i < x->n; i++)
            if (ops.failed[call + i]) p->sets.barrier = x->number;
        if (p->sets.barrier == x->number) break;
        st =
            callsets_plan(&p->sets, x, ops.start[call + x->n] - ops.start[call], ops.ops + ops.start[call], a, &s->err);
        if (st != ST_OK) break;
        *rest = x->next;
    }
    arena_free(a);
    return st;
}
/* The list ends before `rest`; under the mutex. Its first entry; NULL: `rest` is. */
static CallEntry *cut_before(CallEntry *list, const CallEntry *rest) {
    CallEntry *first = list, **at = &first;
    while (*at != rest) at = &(*at)->next;
    *at = NULL;
    return first;
}
/* New entries enter. Under the lock, and the mutex, which is released meanwhile. Entries that do not enter now do so
 * later; those that are in run before them. */
static void enter_new(CallPool *p, const Session *l, Cut *cut) {
    Session *s = p->runner;
    CallSets *z = &p->sets;
    int64_t began = clock_ns(), n_calls;
    uint64_t state = 0;
    CallSettings *set = oldest(p)->settings;
    atomic_fetch_add(&set->refs, 1); /* its submitter may withdraw it */
    mutex_unlock(&p->mutex);
    arena_free(p->prefetched.arena);
    p->prefetched = (PrefetchedCalls){0};
    use_settings(p, set);
    settings_release(set);
    cut->began = true;
    Status st = session_bulk_plan(s, &state);
    mutex_lock(&p->mutex);
    if (st != ST_OK || state != z->state) queue_again(p, callsets_clear(z));
    z->state = state;
    CallEntry *list = st == ST_OK && oldest(p) ? take_new(p, &n_calls) : NULL, *rest;
    if (!list) return;
    begin_running(p, l, list);
    mutex_unlock(&p->mutex);
    st = find_out(p, l, list, n_calls, &rest);
    if (st != ST_OK) err_clear(&s->err); /* running them finds the same error */
    mutex_lock(&p->mutex);
    p->running = NULL;
    for (CallEntry *x = list; x; x = x->next) atomic_store(&x->stop, false); /* it can be withdrawn again */
    CallEntry *in = cut_before(list, rest);
    pend_again(p, in);
    put_back(p, rest);
    for (CallEntry *x = in, *next; x; x = next) {
        next = x->next;
        callsets_enter(z, x);
    }
    cut->plan_ns = clock_ns() - began;
}
/* Under the lock, and the mutex, which may be released meanwhile. */
static Cut cut_bulk(CallPool *p, const Session *l, Due why) {
    Cut cut = {0};
    const CallEntry *head = oldest(p);
    if (!head) return cut;
    bool alone = !p->sets.first && !head->next && head->n == 1; /* no other entry can conflict */
    if (by_sets(head) && !alone) {
        enter_new(p, l, &cut);
        cut.list = callsets_take(&p->sets, &cut.apart);
        cut.by_sets = cut.list != NULL;
    }
    int32_t waited = 0;
    for (CallEntry *x = cut.list; x; x = x->next) {
        atomic_store(&x->state, CALL_RUNNING);
        x->begun_ns = clock_ns();
        waited += x->waited;
        cut.n_calls += x->n;
    }
    if (!cut.list) {
        dbg_assert(!p->sets.first);
        cut.apart = false;
        cut.list = take(p, why, &cut.n_calls);
        return cut;
    }
    p->n_calls -= cut.n_calls;
    p->n_waiting -= waited;
    if (why == DUE_TIME) p->expected = MAX_OF(waited + p->n_waiting, 1);
    return cut;
}

/* Leads: under the mutex, which is released meanwhile. `l`: the leader's session, NULL the keeper. On an error (of
 * waiting for the lock) nothing was taken. */
static Status lead(CallPool *p, Session *l, Due why, Err *e) {
    Session *s = p->runner;
    int64_t limit_ms =
        l ? l->settings.txn.lock_timeout_ms : POLL_NS / 1000000; /* the keeper looks at its entries in between */
    bool by_statement = false;
    p->busy = true;
    mutex_unlock(&p->mutex);
    if (l && l->deadline_ns) {
        int64_t left = MAX_OF((l->deadline_ns - clock_ns() + 999999) / 1000000, INT64_C(1));
        by_statement = limit_ms <= 0 || left < limit_ms;
        if (by_statement) limit_ms = left;
    }
    CallBulk *b = bulk_new();
    Status st = b ? session_pool_lock(s, limit_ms, l ? &l->cancel : &p->stop, e) : err_oom(e);
    if (st != ST_OK && by_statement && strcmp(e->sqlstate, ERR_LOCK_NOT_AVAILABLE) == 0) {
        err_clear(e);
        err_set(e, ERR_QUERY_CANCELED, "canceling statement due to statement timeout");
    }
    mutex_lock(&p->mutex);
    if (l) atomic_store(&l->leads, s);
    Cut cut = st == ST_OK ? cut_bulk(p, l, why) : (Cut){0};
    cut.why = why;
    if (cut.list) {
        int64_t *const reasons[] = {[DUE_SIZE] = &p->stats.by_size,
                                    [DUE_TIME] = &p->stats.by_time,
                                    [DUE_ALL] = &p->stats.by_all,
                                    [DUE_TURN] = &p->stats.by_turn};
        p->stats.bulks++;
        p->stats.calls += cut.n_calls;
        p->stats.largest = MAX_OF(p->stats.largest, cut.n_calls);
        *reasons[why] += 1;
    }
    mutex_unlock(&p->mutex);
    if (cut.list) run(p, l, &cut, b);
    else if (cut.began) (void)session_end_statement(s, ST_OK); /* all were withdrawn */
    else if (st == ST_OK) session_unlock(s);
    if (l) atomic_store(&l->leads, NULL);
    bulk_release(b);
    mutex_lock(&p->mutex);
    p->busy = false;
    pass_on(p);
    return st;
}

/* ---- the pool's thread ------------------------------------------------------------------------------------------ */
/* An entry has waited for others' transactions and bulks for longer than its lock_timeout allows. */
static bool expired(const CallEntry *x, int64_t now) {
    const Settings *set = &x->settings->settings;
    return set->txn.lock_timeout_ms > 0 &&
           now - x->arrived_ns >= set->txn.lock_timeout_ms * 1000000 + set->bulk.interval_us * 1000;
}
static Status lock_timed_out(Err *e) {
    err_set(e, ERR_LOCK_NOT_AVAILABLE, "canceling statement due to lock timeout");
    err_hint(e, "Another transaction holds the database; raise lock_timeout or end that transaction.");
    return ST_ERROR;
}
/* Takes a pending entry out of where it is. Under the mutex. */
static void take_out(CallPool *p, CallEntry *x) {
    if (x->plan) {
        callsets_leave(&p->sets, x);
    } else {
        CallEntry **at = &p->first;
        while (*at != x) at = &(*at)->next;
        *at = x->next;
        if (!*at) p->last = at;
    }
    p->n_calls -= x->n;
}
/* Entries without a waiting thread fail when their time is up (waiting threads check their own). False: out of memory,
 * later perhaps. */
static bool expire(CallPool *p) {
    int64_t now = clock_ns();
    if (now - p->expired_ns < EXPIRE_NS) return true; /* there may be many */
    p->expired_ns = now;
    for (int i = 0; i < 2; i++)
        for (CallEntry *x = i ? p->first : p->sets.first, *next; x; x = next) {
            next = x->next;
            if (x->waited || !expired(x, now)) continue;
            CallBulk *b = bulk_new();
            if (!b) return false;
            take_out(p, x);
            x->next = NULL;
            (void)lock_timed_out(&b->err);
            CallClient *wake = NULL;
            deliver(p, x, b, &wake);
            bulk_release(b);
        }
    return true;
}

static void *keep(void *arg) {
    CallPool *p = arg;
    mutex_lock(&p->mutex);
    while (!atomic_load(&p->stop)) {
        int64_t now = clock_ns(), wake = now + INT64_C(3600000000000);
        Due why = due(p, now);
        Err e = {0};
        bool led = why != DUE_NOT && lead(p, NULL, why, &e) == ST_OK;
        (void)expire(p);
        if (led) continue;
        if (oldest(p))
            wake = why == DUE_NOT && !p->busy ? MAX_OF(MIN_OF(due_at(p), now + POLL_NS), now) : now + POLL_NS;
        if (why == DUE_NOT || strcmp(e.sqlstate, ERR_LOCK_NOT_AVAILABLE) != 0)
            (void)cond_wait_until(&p->keeper_wake, &p->mutex, wake);
    }
    mutex_unlock(&p->mutex);
    return NULL;
}

/* ---- submitting and waiting ---------------------------------------------------------------------------------------
 */
static CallClient *client_of(Session *s) {
    CallClient *c = s->call_client;
    if (!c) {
        if (!(c = mem_calloc(NULL, (int64_t)sizeof *c, &s->err))) return NULL;
        atomic_init(&c->refs, 1);
        c->window = -2;
        mutex_init(&c->mutex, RANK_CALL_WAIT);
        cond_init(&c->wake);
        s->call_client = c;
    }
    if (c->settings && memcmp(&c->settings->settings, &s->settings, sizeof s->settings) == 0) return c;
    CallSettings *set = mem_alloc(NULL, (int64_t)sizeof *set, &s->err);
    if (!set) return NULL;
    atomic_init(&set->refs, 1);
    memcpy(&set->settings, &s->settings, sizeof s->settings);
    if (s->settings.client.texts) atomic_fetch_add(&s->settings.client.texts->refs, 1);
    set->n = settings_for_bulks(&s->settings, set->bytes);
    settings_release(c->settings);
    c->settings = set;
    return c;
}
void call_session_free(Session *s) {
    CallClient *c = s->call_client;
    if (!c) return;
    CallPool *p = session_call_pool(s);
    if (p) {
        mutex_lock(&p->mutex);
        if (c->window == p->window) p->seen--;
        if (c->window >= p->window - 1) p->expected = MAX_OF(p->expected - 1, 1); /* it is not waited for any more */
        mutex_unlock(&p->mutex);
    }
    client_release(c);
    s->call_client = NULL;
}

static Status in_block(Session *s) {
    if (s->state == 'E')
        return err_set(&s->err, ERR_FAILED_TRANSACTION,
                       "current transaction is aborted, commands ignored until end of transaction block");
    return err_set(&s->err, ERR_ACTIVE_TRANSACTION,
                   "calls cannot be submitted to the pool, nor waited for, inside a transaction block");
}

Status call_submit(Session *s, CallEntry *x, bool keeper) {
    CallPool *p;
    if (s->state != 'I') return in_block(s);
    if (atomic_load(&x->state) != CALL_NEW)
        return err_set(&s->err, ERR_NOT_IN_STATE, "the calls have been submitted already");
    TRY(session_call_pool_make(s, &p));
    CallClient *c = client_of(s);
    if (!c) return ST_ERROR;
    x->next = x->prev = NULL;
    x->plan = NULL;
    x->client = c;
    x->settings = c->settings;
    atomic_fetch_add(&x->settings->refs, 1);
    x->waited = false;
    atomic_store(&x->stop, false);
    x->bulk = NULL;
    x->arrived_ns = clock_ns();
    mutex_lock(&p->mutex);
    x->number = ++p->submitted;
    if (keeper && !p->keeper_on) {
        int r = pthread_create(&p->keeper, NULL, keep, p);
        p->keeper_on = r == 0;
        if (r != 0) {
            mutex_unlock(&p->mutex);
            settings_release(x->settings);
            return err_errno(&s->err, r, "start a thread for", "the pool of calls");
        }
    }
    atomic_store(&x->state, CALL_PENDING);
    *p->last = x;
    p->last = &x->next;
    p->n_calls += x->n;
    if (keeper && (oldest(p) == x || p->n_calls >= p->first->settings->settings.bulk.size))
        pthread_cond_signal(&p->keeper_wake);
    mutex_unlock(&p->mutex);
    return ST_OK;
}

/* Takes a pending entry out of the queue. Under the mutex. */
static void withdraw(CallPool *p, CallEntry *x) {
    take_out(p, x);
    if (x->waited) p->n_waiting--;
    x->waited = false;
    atomic_store(&x->state, CALL_NEW);
    settings_release(x->settings);
    if (!p->busy) pass_on(p);
}

/* A thread comes to wait for a call. */
static void see(CallPool *p, CallClient *c) {
    int64_t now = clock_ns(), length = c->settings->settings.bulk.interval_us * 1000;
    if (now - p->window_ns >= length) {
        p->expected = now - p->window_ns < 2 * length ? MAX_OF(p->seen, 1) : 1;
        p->seen = 0;
        p->window++;
        p->window_ns = now;
    }
    if (c->window == p->window) return;
    c->window = p->window;
    p->seen++;
    p->expected = MAX_OF(p->expected, p->seen);
}

static Status wait_done(Session *s, CallEntry *x, int64_t timeout_us, bool *done) {
    CallPool *p = session_call_pool(s);
    *done = false;
    if (s->state != 'I') return in_block(s);
    *done = atomic_load(&x->state) == CALL_DONE;
    if (*done) return ST_OK;
    if (!p || atomic_load(&x->state) == CALL_NEW)
        return err_set(&s->err, ERR_NOT_IN_STATE, "the calls have not been submitted");
    int64_t until = timeout_us < 0 ? INT64_MAX : clock_ns() + timeout_us * 1000;
    Status st = ST_OK;
    mutex_lock(&p->mutex);
    CallState state = atomic_load(&x->state);
    x->waited = state != CALL_DONE;
    if (state == CALL_PENDING) {
        p->n_waiting++;
        see(p, x->client);
    }
    while (st == ST_OK && (state = atomic_load(&x->state)) != CALL_DONE) { /* with the mutex */
        int64_t now = clock_ns(), wake = now + POLL_NS;
        if (state == CALL_PENDING) {
            if (atomic_load(&s->cancel))
                st = err_set(&s->err, ERR_QUERY_CANCELED, "canceling statement due to user request");
            else if (s->deadline_ns && now >= s->deadline_ns)
                st = err_set(&s->err, ERR_QUERY_CANCELED, "canceling statement due to statement timeout");
            else if (expired(x, now)) st = lock_timed_out(&s->err);
            if (st != ST_OK) break;
            Due why = due(p, now);
            if (why != DUE_NOT && now < until) {
                st = lead(p, s, why, &s->err);
                continue;
            }
            if (s->deadline_ns) wake = MIN_OF(wake, s->deadline_ns);
            if (!p->busy) wake = MIN_OF(wake, MAX_OF(due_at(p), now));
        } else if (session_stops(s)) {
            stop_entry(p, x);
        }
        if (now >= until) break;
        mutex_unlock(&p->mutex);
        client_wait(x->client, MIN_OF(wake, until));
        if (atomic_load(&x->state) == CALL_DONE) {
            *done = true;
            return ST_OK;
        }
        mutex_lock(&p->mutex);
    }
    state = atomic_load(&x->state);
    if (st != ST_OK && state == CALL_PENDING) {
        withdraw(p, x);
    } else if (state != CALL_DONE && x->waited) {
        x->waited = false;
        if (state == CALL_PENDING) {
            p->n_waiting--;
            if (!p->busy) pass_on(p); /* its time was up: others may have relied on this thread */
        }
    }
    mutex_unlock(&p->mutex);
    *done = state == CALL_DONE;
    if (*done) err_clear(&s->err); /* leading failed, but another thread had run the entry */
    return *done ? ST_OK : st;
}
Status call_wait(Session *s, CallEntry *x, int64_t timeout_us, bool *done) {
    const Status st = wait_done(s, x, timeout_us, done);
    if (*done) session_sees_now(s);
    return st;
}

void call_release(Session *s, CallEntry *x) {
    CallPool *p = session_call_pool(s);
    if (!p || atomic_load(&x->state) == CALL_NEW) return;
    mutex_lock(&p->mutex);
    for (CallState state; (state = atomic_load(&x->state)) != CALL_DONE;) { /* what is only being gathered comes back */
        if (state == CALL_PENDING) {
            withdraw(p, x);
            mutex_unlock(&p->mutex);
            return;
        }
        x->waited = true;
        stop_entry(p, x);
        mutex_unlock(&p->mutex);
        client_wait(x->client, clock_ns() + POLL_NS);
        mutex_lock(&p->mutex);
    }
    mutex_unlock(&p->mutex);
    bulk_release(x->bulk);
    settings_release(x->settings);
    x->bulk = NULL;
    atomic_store(&x->state, CALL_NEW);
}

const Err *call_entry_fault(const CallEntry *x) { return err_is_set(&x->bulk->err) ? &x->bulk->err : NULL; }
const CallError *call_entry_error(const CallEntry *x, int64_t call) {
    return x->bulk->result ? x->bulk->result->errors[x->group][x->first + call] : NULL;
}
const Vec *call_entry_outs(const CallEntry *x, int64_t *first) {
    *first = x->first;
    return x->bulk->result ? x->bulk->result->outs[x->group] : NULL;
}
void call_entry_notices(Session *s, const CallEntry *x) {
    if (x->bulk->result) session_bulk_notices(s, x->bulk->result, x->group, x->first, x->n);
}
const BulkStats *call_entry_stats(const CallEntry *x) { return x->bulk->result ? &x->bulk->result->stats : NULL; }

/* ---- CALL
 * ------------------------------------------------------------------------------------------------------------ */
struct CallText {
    Arena *arena;
    NameDeps deps;         /* names that what follows was made from, */
    uint64_t generation;   /* and session_bulk_generation */
    int64_t routine;       /* 0: it runs in the ordinary way */
    const BoundCall *call; /* NULL: a statement: */
    const Type *in_types;
    char tags[2][sizeof((Statement *)0)->tag]; /* of no row, and of one */
    int32_t n_ins, n_outs;                     /* outs: without the number of rows */
    bool nulls_apart;   /* with a parameter that is NULL the statement runs in the ordinary way */
    const char **names; /* of OUT values */
    Type *types;
};
void call_text_free(struct CallText *t) {
    if (t) arena_free(t->arena);
}

/* A fresh CallText, under a lock that lets bulks stay ahead of their tables. */
static Status text_make(Session *s, const AstStmt *ast, const AstFunc *call, int32_t n_params, const Type *param_types,
                        struct CallText **out) {
    Arena *a = arena_new(&s->kept.account, &s->err);
    struct CallText *t = a ? arena_new_of(a, struct CallText) : NULL;
    BoundCall *b = NULL;
    bool compilable = false;
    NameReads reads;
    Status st = t ? ST_OK : err_oom(&s->err);
    for (int again = 0; st == ST_OK && again < 2;
         again++) { /* with the lock shared, and alone when procedures must be compiled first */
        s->bulk.under_way = true;
        st = again ? session_begin_write(s) : session_lock(s, LOCK_SHARED);
        s->bulk.under_way = false;
        if (st != ST_OK) break;
        t->arena = a;
        name_reads_begin(&reads, &s->db->catalog);
        st = pl_call_bind(s, call, ast->kind == AST_CALL, a, n_params, param_types, &b);
        bool known = st != ST_OK || !b || session_bulk_known(s, b->routine->id, &compilable);
        if (!known && again) st = session_bulk_compilable(s, b->routine->id, &compilable);
        name_reads_end(&reads);
        if (st == ST_OK && !name_deps_keep(&reads, a, &t->deps)) st = err_oom(&s->err);
        if (st == ST_OK) t->generation = session_bulk_generation(s);
        st = session_end_statement(s, st);
        if (known) break;
    }
    if (st == ST_OK && compilable) {
        const Routine *r = b->routine;
        t->call = b;
        t->routine = r->id;
        t->names = arena_array(a, const char *, r->n_params + 1);
        t->types = arena_array(a, Type, r->n_params + 1);
        if (!t->names || !t->types) st = err_oom(&s->err);
        for (int i = 0; st == ST_OK && i < r->n_params; i++) {
            t->n_ins += r->param_modes[i] == 'i' || r->param_modes[i] == 'b';
            if (r->param_modes[i] == 'i') continue;
            t->types[t->n_outs] = r->param_types[i];
            const char *name = r->param_names[i] ? r->param_names[i] : arena_printf(a, "column%d", (int)t->n_outs + 1);
            if (!name) st = err_oom(&s->err);
            t->names[t->n_outs++] = name;
        }
        if (st == ST_OK && ast->kind == AST_SELECT) { /* all are IN */
            const char *alias = AST_AS_CONST(AstSelect, ast)->targets[0].alias;
            t->types[0] = r->ret;
            t->names[0] = alias ? arena_strdup(a, alias) : name_of_key(r->name);
            t->n_outs = 1;
            if (!t->names[0]) st = err_oom(&s->err);
        }
    }
    if (st != ST_OK) {
        arena_free(a);
        return st;
    }
    *out = t;
    return ST_OK;
}

/* Likewise of a statement on one row. */
static Status statement_make(Session *s, SqlText *text, int32_t n_params, const Type *param_types,
                             struct CallText **out) {
    Arena *a = arena_new(&s->kept.account, &s->err);
    struct CallText *t = a ? arena_new_of(a, struct CallText) : NULL;
    const BoundStmt *b = NULL;
    const Type *types = NULL;
    const Routine *r = NULL;
    NameReads reads;
    Status st = t ? ST_OK : err_oom(&s->err);
    for (int again = 0; st == ST_OK && again < 2; again++) {
        bool known = true;
        s->bulk.under_way = true;
        st = again ? session_begin_write(s) : session_lock(s, LOCK_SHARED);
        s->bulk.under_way = false;
        if (st != ST_OK) break;
        *t = (struct CallText){.arena = a};
        name_reads_begin(&reads, &s->db->catalog);
        st = point_for_pool(s, text, n_params, param_types, &b, &types, &t->nulls_apart);
        if (st == ST_OK && b) {
            BulkText x = {.sql = text->sql,
                          .n_params = n_params,
                          .n_results = b->n_result,
                          .param_types = b->param_types,
                          .result_types = types};
            CallPool *pool;
            if (again) st = session_call_pool_make(s, &pool);
            if (st == ST_OK) st = session_bulk_statement(s, &x, again, &known, &r);
        }
        name_reads_end(&reads);
        if (st == ST_OK && !name_deps_keep(&reads, a, &t->deps)) st = err_oom(&s->err);
        t->generation = session_bulk_generation(s);
        if (st == ST_OK && r) {
            for (int k = 0; k < 2; k++) pl_point_tag(b, k == 1, t->tags[k], (int64_t)sizeof t->tags[k]);
            t->n_ins = n_params;
            t->n_outs = b->n_result;
            t->names = arena_array(a, const char *, b->n_result + 1);
            t->types = arena_array(a, Type, b->n_result + 1);
            Type *ins = arena_array(a, Type, n_params + 1);
            if (!t->names || !t->types || !ins) st = err_oom(&s->err);
            for (int32_t i = 0; st == ST_OK && i < b->n_result; i++) {
                t->types[i] = types[i];
                if (!(t->names[i] = arena_strdup(a, b->names[i]))) st = err_oom(&s->err);
            }
            for (int32_t i = 0; st == ST_OK && i < n_params; i++) ins[i] = b->param_types[i];
            t->in_types = ins;
            t->routine = r->id;
        }
        st = session_end_statement(s, st);
        if (known) break;
    }
    if (st != ST_OK) {
        arena_free(a);
        return st;
    }
    *out = t;
    return ST_OK;
}

static Status take_error(Session *s, const struct CallText *t, const CallError *e) {
    call_error_tell(e, &s->err);
    if (e->context) err_context(&s->err, "%s", e->context);
    if (t->call && e->line > 0 && e->place)
        err_context(&s->err, "PL/pgSQL function %s line %d at %s", t->call->routine->sql, (int)e->line, e->place);
    return ST_ERROR;
}
static Status no_room_for_outs(Err *e) {
    return err_set(e, ERR_OUT_OF_MEMORY, "out of memory for the result; the statement has been executed");
}
/* The call has been executed, which is not undone any more. */
static Status take_outs(Session *s, Statement *st, const AstStmt *ast, const struct CallText *t, const CallEntry *x) {
    session_is_past_cancel(s);
    Value *values = arena_array(st->run_arena, Value, t->n_outs + 1);
    int64_t row;
    const Vec *outs = call_entry_outs(x, &row);
    if (!values) return no_room_for_outs(&s->err);
    bool there = t->n_outs > 0;
    if (!t->call) there = ((const int64_t *)outs++->data)[row] > 0; /* the number of rows comes first */
    for (int32_t i = 0; there && i < t->n_outs; i++) {
        const Vec *v = &outs[i];
        Value cell = {.type = t->types[i], .is_null = v->valid && !v->valid[row]};
        if (!cell.is_null)
            memcpy(value_cell(&cell), (const char *)v->data + row * phys_size((Phys)v->phys),
                   (size_t)phys_size((Phys)v->phys));
        values[i] = cell;
        if (!cell.is_null && v->phys == PH_STR && value_copy(st->run_arena, &cell, &values[i]) != ST_OK)
            return no_room_for_outs(&s->err);
    }
    st->n_cols = t->n_outs;
    st->names = t->names;
    st->types = t->types;
    st->values = values;
    st->affected = there;
    st->n_rows = there && t->n_outs > 0;
    st->show_rows = t->n_outs > 0;
    st->has_shape = true;
    if (t->call) snprintf(st->tag, sizeof st->tag, ast->kind == AST_SELECT ? "SELECT 1" : "CALL");
    else memcpy(st->tag, t->tags[there], sizeof st->tag);
    return ST_OK;
}

/* The message, if it is an image that found no room. */
static const char *no_room_text(const char *sqlstate, const char *message) {
    bool room = strcmp(sqlstate, ERR_OUT_OF_MEMORY) != 0 && strcmp(sqlstate, ERR_LIMIT_EXCEEDED) != 0;
    return room ? NULL : message;
}
Status call_statement(Session *s, Statement *st, SqlText *text, const AstFunc *call, int32_t n_params,
                      const Type *param_types, const Value *params, bool *done) {
    const AstStmt *ast = text->ast;
    struct CallText **slot = &text->call;
    *done = false;
    if (s->settings.bulk.interval_us <= 0 || s->state != 'I' || s->lock != LOCK_NONE || session_read_only(s))
        return ST_OK;
    if (s->path.temp.made) return ST_OK; /* names may mean something else than in bulks */
    if (atomic_load(&txn_lock_hub(s->db->txn_lock)->row_holders) > 0)
        return ST_OK; /* it may have to wait for rows, which bulks do not (transaction_rows.c) */
    if (!call && ast->kind == AST_SELECT && !session_bulk_unapplied(s))
        return ST_OK; /* readers need not wait for each other */
    if (!*slot || (*slot)->generation != session_bulk_generation(s) ||
        !name_deps_hold(&(*slot)->deps, &s->db->catalog)) {
        call_text_free(*slot);
        *slot = NULL;
        TRY(call ? text_make(s, ast, call, n_params, param_types, slot)
                 : statement_make(s, text, n_params, param_types, slot));
    }
    const struct CallText *t = *slot;
    if (!t->routine) return ST_OK;
    for (int32_t i = 0; t->nulls_apart && i < n_params; i++)
        if (params[i].is_null) return ST_OK;
    Arena *a = st->run_arena;
    Value *args = arena_array(a, Value, t->n_ins + 1);
    Vec *vecs = arena_array(a, Vec, t->n_ins + 1);
    uint8_t *valid = arena_alloc(a, t->n_ins + 1);
    if (!args || !vecs || !valid) return err_oom(&s->err);
    TRY(t->call ? pl_call_values(s, t->call, a, n_params, params, args)
                : point_params(s, a, t->in_types, t->n_ins, n_params, params, args));
    for (int32_t i = 0; i < t->n_ins; i++) {
        Phys phys = type_phys(args[i].type);
        if (args[i].is_null) args[i] = (Value){.type = args[i].type, .is_null = true};
        valid[i] = !args[i].is_null;
        vecs[i] = (Vec){.data = value_cell(&args[i]), .valid = &valid[i], .phys = (uint8_t)phys, .type = args[i].type};
    }
    CallEntry e = {.routine = t->routine, .n = 1, .params = vecs};
    bool over;
    TRY(call_submit(s, &e, false));
    TRY(call_wait(s, &e, -1, &over));
    Status out = ST_OK;
    const Err *whole = call_entry_fault(&e);
    const CallError *own = whole ? NULL : call_entry_error(&e, 0);
    const char *no_room = whole                                ? no_room_text(whole->sqlstate, whole->message)
                          : own && own == e.bulk->result->rest ? no_room_text(own->sqlstate, own->message)
                                                               : NULL;
    *done = true;
    call_entry_notices(s, &e);
    if (e.bulk == &session_call_pool(s)->gone || (own && own == e.bulk->result->gone)) {
        *done = false; /* the ordinary way says what there is now */
        call_text_free(*slot);
        *slot = NULL;                 /* a statement may have been forgotten */
    } else if (no_room && !t->call) { /* nothing has changed: it needs no image the ordinary way */
        log_write(LOG_INFO, "a statement does not join the pool of calls any more: %s", no_room);
        (*slot)->routine = 0;
        *done = false;
    } else if (whole) {
        err_copy(&s->err, whole);
        out = ST_ERROR;
    } else {
        out = own ? take_error(s, t, own) : take_outs(s, st, ast, t, &e);
    }
    call_release(s, &e);
    return out;
}
