/* host_queue.c - queues, events and launches of the host device.
 *
 * A queue is a list of items and a thread, started with the first item that needs it, that takes them in order. A
 * launch runs on that thread and on the pool's free workers, which take groups from a counter; so queues overlap, and a
 * thread that waits in sync can call its poll while kernels run. Small copies, fills and event records on a queue with
 * nothing to do are done at once by the caller.
 *
 * Waking a thread takes 10 us, or some hundred on a virtual machine whose processor has gone idle. So a thread that
 * waits in finish runs itself what the queue's thread has not begun; the queue's thread, once it is awake, calls the
 * poll meanwhile.
 *
 * Kernels of different queues make progress independently of each other, because each has its queue's thread at least
 * (info.concurrent). The groups of one launch need not: with the pool busy elsewhere they run one after the other. A
 * kernel must not wait for a later group.
 *
 * Events count recordings. A wait remembers how many had been asked for when it was queued and is over when that many
 * have passed, so a wait only ever depends on items that were queued before it and cannot deadlock.
 *
 * Locks: a queue's lock and an event's lock are leaves; neither is held while an item runs or a poll is called.
 */
#include <errno.h>
#include <signal.h>
#include <time.h>

#include "base/cond.h"
#include "base/log.h"
#include "base/mutex.h"
#include "device/host/host_int.h"

enum {
    INLINE_BYTES =
        1 << 20, /* copies up to this size do not go through the queue's thread when it is idle (about 100 us) */
    POLL_MS = 5,
    CHUNKS_PER_WORKER = 16, /* groups are taken from the counter in this many portions per worker */
    CHUNK_MAX = 64,
};

typedef enum ItemKind { ITEM_COPY, ITEM_FILL, ITEM_LAUNCH, ITEM_RECORD, ITEM_WAIT } ItemKind;

typedef struct Item {
    struct Item *next;
    int64_t size; /* of this block */
    ItemKind kind;
    uint8_t byte;
    void *dst;
    const void *src;
    int64_t n; /* bytes, or groups */
    KernelFn fn;
    uint8_t *lmem;
    int64_t lmem_stride;
    DevEvent *event; /* holds a reference */
    int64_t turn;    /* which recording */
    uint64_t params[];
} Item;

/* Local memory, one part per worker. A launch that needs more makes a new block; the old one stays until earlier
 * launches are through. */
typedef struct LocalBlock {
    struct LocalBlock *older;
    int64_t size; /* with this header */
} LocalBlock;
enum { LOCAL_ALIGN = 64 };

struct DevQueue {
    HostDevice *host;
    Mutex lock;          /* guards the following */
    pthread_cond_t work; /* for the queue's thread: an item, or stop */
    pthread_cond_t idle; /* for sync: nothing left */
    Item *first, *last;
    bool busy; /* an item is being run */
    bool stop;
    bool here; /* ... by the thread that waits in finish, whose poll this is; polling: the queue's thread is in it */
    bool polling;
    DevPoll poll;
    void *poll_ctx;
    /* The owner's only. */
    bool started;
    pthread_t thread;
    LocalBlock *local;
};

struct DevEvent {
    MemAccount *account;
    _Atomic int64_t refs; /* the owner and queued items */
    Mutex lock;
    pthread_cond_t passing;
    int64_t recorded, passed; /* recordings asked for, done */
    int64_t ns;               /* clock at the last that passed */
};

/* ---- events --------------------------------------------------------------------------------------- */

static void event_unref(DevEvent *ev) {
    if (atomic_fetch_sub(&ev->refs, 1) != 1) return;
    pthread_cond_destroy(&ev->passing);
    mutex_destroy(&ev->lock);
    mem_free(ev->account, ev, (int64_t)sizeof *ev);
}

static void event_pass(DevEvent *ev, int64_t turn) {
    int64_t now = clock_ns();
    mutex_lock(&ev->lock);
    if (turn > ev->passed) {
        ev->passed = turn;
        ev->ns = now;
    }
    pthread_cond_broadcast(&ev->passing);
    mutex_unlock(&ev->lock);
}

/* Waits until the caller's poll is due; true when it is. */
static bool wait_for_poll(pthread_cond_t *c, Mutex *lock) {
    return !cond_wait_until(c, lock, clock_ns() + POLL_MS * INT64_C(1000000));
}

static void event_await(DevEvent *ev, int64_t turn) {
    mutex_lock(&ev->lock);
    while (ev->passed < turn) cond_wait(&ev->passing, &ev->lock);
    mutex_unlock(&ev->lock);
}

Status host_event_new(Device *d, DevEvent **out, Err *e) {
    HostDevice *h = host_of(d);
    DevEvent *ev = *out = mem_calloc(h->account, (int64_t)sizeof *ev, e);
    if (!ev) return ST_ERROR;
    ev->account = h->account;
    atomic_init(&ev->refs, 1);
    mutex_init(&ev->lock, RANK_HOST_EVENT);
    cond_init(&ev->passing);
    return ST_OK;
}

void host_event_free(Device *d, DevEvent *ev) {
    (void)d;
    if (ev) event_unref(ev);
}

Status host_event_sync(Device *d, DevEvent *ev, DevPoll poll, void *ctx, Err *e) {
    (void)d;
    (void)e;
    Status st = ST_OK;
    mutex_lock(&ev->lock);
    int64_t turn = ev->recorded;
    while (ev->passed < turn && st == ST_OK) {
        if (!poll) {
            cond_wait(&ev->passing, &ev->lock);
            continue;
        }
        if (!wait_for_poll(&ev->passing, &ev->lock)) continue;
        mutex_unlock(&ev->lock);
        bool go_on = poll(ctx);
        mutex_lock(&ev->lock);
        if (!go_on && ev->passed < turn) st = ST_ERROR;
    }
    mutex_unlock(&ev->lock);
    return st;
}

static bool event_time(DevEvent *ev, int64_t *ns) {
    mutex_lock(&ev->lock);
    bool ok = ev->recorded > 0 && ev->passed == ev->recorded;
    *ns = ev->ns;
    mutex_unlock(&ev->lock);
    return ok;
}

Status host_event_ns(Device *d, DevEvent *from, DevEvent *to, int64_t *ns, Err *e) {
    int64_t a, b;
    if (!event_time(from, &a) || !event_time(to, &b))
        return err_internal(e, "device \"%s\": an event that has not passed was asked for its time", d->info.id);
    *ns = b - a;
    return ST_OK;
}

/* ---- running items -------------------------------------------------------------------------------- */

typedef struct Launch {
    const Item *item;
    Pool *pool;
    int64_t chunk;
    _Atomic int64_t next;
} Launch;

static void run_groups(void *arg, int worker) {
    Launch *l = arg;
    const Item *it = l->item;
    KernelCtx ctx = {.ngroups = (uint64_t)it->n, .lmem = it->lmem ? it->lmem + worker * it->lmem_stride : NULL};
    for (;;) {
        pool_help(l->pool);
        int64_t at = atomic_fetch_add_explicit(&l->next, l->chunk, memory_order_relaxed);
        if (at >= it->n) break;
        int64_t end = MIN_OF(it->n, at + l->chunk);
        for (; at < end; at++) {
            ctx.gid = (uint64_t)at;
            it->fn(it->params, &ctx);
        }
    }
}

static void run_item(DevQueue *q, Item *it) {
    switch (it->kind) {
    case ITEM_COPY: memmove(it->dst, it->src, (size_t)it->n); break;
    case ITEM_FILL: memset(it->dst, it->byte, (size_t)it->n); break;
    case ITEM_LAUNCH: {
        HostDevice *h = q->host;
        int64_t workers = MIN_OF(it->n, h->threads), chunk = it->n / (workers * CHUNKS_PER_WORKER);
        Launch l = {.item = it, .pool = h->pool, .chunk = chunk < 1 ? 1 : MIN_OF(chunk, CHUNK_MAX)};
        if (workers > 1) {
            pool_run(h->pool, (int)workers, run_groups, &l);
        } else {
            run_groups(&l, 0);
        }
        break;
    }
    case ITEM_RECORD: event_pass(it->event, it->turn); break;
    case ITEM_WAIT: event_await(it->event, it->turn); break;
    }
}

static void item_free(DevQueue *q, Item *it) {
    if (it->event) event_unref(it->event);
    mem_free(q->host->account, it, it->size);
}

/* With the lock held. */
static void run_first(DevQueue *q) {
    Item *it = q->first;
    q->first = it->next;
    if (!q->first) q->last = NULL;
    q->busy = true;
    mutex_unlock(&q->lock);
    run_item(q, it);
    item_free(q, it);
    mutex_lock(&q->lock);
    q->busy = false;
    if (!q->first) pthread_cond_broadcast(&q->idle);
}
static void *queue_main(void *arg) {
    DevQueue *q = arg;
    mutex_lock(&q->lock);
    while (q->first || !q->stop) {
        if (q->here && q->poll) {
            if (!wait_for_poll(&q->idle, &q->lock) || !q->here || !q->poll) continue;
            q->polling = true;
            mutex_unlock(&q->lock);
            (void)q->poll(q->poll_ctx);
            mutex_lock(&q->lock);
            q->polling = false;
            pthread_cond_broadcast(&q->idle);
        } else if (q->here || !q->first) {
            cond_wait(&q->work, &q->lock);
        } else {
            run_first(q);
        }
    }
    mutex_unlock(&q->lock);
    return NULL;
}

/* ---- queues --------------------------------------------------------------------------------------- */

static bool queue_idle(DevQueue *q) {
    mutex_lock(&q->lock);
    bool idle = !q->first && !q->busy;
    mutex_unlock(&q->lock);
    return idle;
}

static Item *item_new(DevQueue *q, ItemKind kind, int32_t n_params, Err *e) {
    int64_t size = (int64_t)sizeof(Item) + (int64_t)sizeof(uint64_t) * n_params;
    Item *it = mem_alloc(q->host->account, size, e);
    if (it) *it = (Item){.kind = kind, .size = size};
    return it;
}

/* Starts the thread if there is none, and hands the item over. Takes the item in any case. */
static Status enqueue(DevQueue *q, Item *it, Err *e) {
    if (!q->started) {
        /* No signals: they are the embedding program's business. */
        sigset_t all, old;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &old);
        int rc = pthread_create(&q->thread, NULL, queue_main, q);
        pthread_sigmask(SIG_SETMASK, &old, NULL);
        if (rc) {
            item_free(q, it);
            return err_set(e, ERR_INSUFFICIENT_RESOURCES, "device \"%s\": could not start a queue's thread: %s",
                           q->host->device.info.id,
                           rc == EAGAIN ? "resource temporarily unavailable" : "no permission");
        }
        q->started = true;
    }
    mutex_lock(&q->lock);
    if (q->last) {
        q->last->next = it;
    } else {
        q->first = it;
    }
    q->last = it;
    pthread_cond_signal(&q->work);
    mutex_unlock(&q->lock);
    return ST_OK;
}

Status host_queue_new(Device *d, DevQueue **out, Err *e) {
    HostDevice *h = host_of(d);
    DevQueue *q = *out = mem_calloc(h->account, (int64_t)sizeof *q, e);
    if (!q) return ST_ERROR;
    q->host = h;
    mutex_init(&q->lock, RANK_HOST_QUEUE);
    pthread_cond_init(&q->work, NULL);
    cond_init(&q->idle);
    return ST_OK;
}

void host_queue_free(Device *d, DevQueue *q) {
    (void)d;
    if (!q) return;
    if (q->started) {
        mutex_lock(&q->lock);
        q->stop = true;
        pthread_cond_signal(&q->work);
        mutex_unlock(&q->lock);
        pthread_join(q->thread, NULL); /* it empties the list first */
    }
    while (q->local) {
        LocalBlock *b = q->local;
        q->local = b->older;
        mem_free(q->host->account, b, b->size);
    }
    pthread_cond_destroy(&q->idle);
    pthread_cond_destroy(&q->work);
    mutex_destroy(&q->lock);
    mem_free(q->host->account, q, (int64_t)sizeof *q);
}

Status host_sync(DevQueue *q, DevPoll poll, void *ctx, Err *e) {
    (void)e;
    if (!q->started) return ST_OK;
    Status st = ST_OK;
    mutex_lock(&q->lock);
    while (q->first || q->busy) {
        if (!poll) {
            cond_wait(&q->idle, &q->lock);
            continue;
        }
        if (!wait_for_poll(&q->idle, &q->lock)) continue;
        mutex_unlock(&q->lock);
        bool go_on = poll(ctx);
        mutex_lock(&q->lock);
        if (!go_on && (q->first || q->busy)) {
            st = ST_ERROR;
            break;
        }
    }
    mutex_unlock(&q->lock);
    return st;
}

Status host_finish(DevQueue *q, DevPoll poll, void *ctx, Err *e) {
    if (!q->started) return ST_OK;
    mutex_lock(&q->lock);
    q->here = q->first && !q->busy;
    q->poll = poll;
    q->poll_ctx = ctx;
    if (q->here) {
        while (q->first) run_first(q);
        q->here = false;
        pthread_cond_broadcast(&q->idle);
        while (q->polling) cond_wait(&q->idle, &q->lock);
    }
    mutex_unlock(&q->lock);
    return host_sync(q, poll, ctx, e);
}

static Status copy_bytes(DevQueue *q, void *dst, const void *src, int64_t n, Err *e) {
    if (n < 0) return err_internal(e, "device \"%s\": copy of %lld bytes", q->host->device.info.id, (long long)n);
    if (n == 0) return ST_OK;
    if (n <= INLINE_BYTES && queue_idle(q)) {
        memmove(dst, src, (size_t)n);
        return ST_OK;
    }
    Item *it = item_new(q, ITEM_COPY, 0, e);
    if (!it) return ST_ERROR;
    it->dst = dst;
    it->src = src;
    it->n = n;
    return enqueue(q, it, e);
}

static void *at_address(DevPtr p) { return (void *)(uintptr_t)p; }

Status host_copy_in(DevQueue *q, DevPtr dst, const void *src, int64_t n, Err *e) {
    return copy_bytes(q, at_address(dst), src, n, e);
}
Status host_copy_out(DevQueue *q, void *dst, DevPtr src, int64_t n, Err *e) {
    return copy_bytes(q, dst, at_address(src), n, e);
}
Status host_copy(DevQueue *q, DevPtr dst, DevPtr src, int64_t n, Err *e) {
    return copy_bytes(q, at_address(dst), at_address(src), n, e);
}

Status host_fill(DevQueue *q, DevPtr dst, uint8_t byte, int64_t n, Err *e) {
    if (n < 0) return err_internal(e, "device \"%s\": fill of %lld bytes", q->host->device.info.id, (long long)n);
    if (n == 0) return ST_OK;
    if (n <= INLINE_BYTES && queue_idle(q)) {
        memset(at_address(dst), byte, (size_t)n);
        return ST_OK;
    }
    Item *it = item_new(q, ITEM_FILL, 0, e);
    if (!it) return ST_ERROR;
    it->dst = at_address(dst);
    it->byte = byte;
    it->n = n;
    return enqueue(q, it, e);
}

/* Local memory of at least `stride` bytes for each worker. */
static Status local_memory(DevQueue *q, int64_t stride, uint8_t **out, Err *e) {
    int64_t need = stride * q->host->threads + LOCAL_ALIGN;
    if (!q->local || q->local->size < need) {
        int64_t size =
            q->local ? MAX_OF(need, q->local->size * 2) : need; /* old blocks together stay smaller than the newest */
        LocalBlock *b = mem_alloc(q->host->account, size, e);
        if (!b) return ST_ERROR;
        *b = (LocalBlock){.older = q->local, .size = size};
        q->local = b;
    }
    *out = (uint8_t *)q->local + LOCAL_ALIGN;
    return ST_OK;
}

Status host_launch(DevQueue *q, DevKernel *k, int64_t groups, int32_t group_size, int64_t local_bytes,
                   const uint64_t *params, int32_t n_params, Err *e) {
    const DeviceInfo *info = &q->host->device.info;
    if (group_size != 1 || groups < 0)
        return err_internal(e, "device \"%s\": launch of %lld groups of %d", info->id, (long long)groups, group_size);
    if (n_params < 0 || n_params > DEV_PARAMS_MAX)
        return err_internal(e, "device \"%s\": launch with %d parameters", info->id, n_params);
    if (local_bytes < 0 || local_bytes > info->local_bytes)
        return err_internal(e, "device \"%s\": launch with %lld bytes of local memory", info->id,
                            (long long)local_bytes);
    if (groups == 0) return ST_OK;
    Item *it = item_new(q, ITEM_LAUNCH, n_params, e);
    if (!it) return ST_ERROR;
    it->fn = k->fn;
    it->n = groups;
    if (n_params) memcpy(it->params, params, sizeof(uint64_t) * (size_t)n_params);
    if (local_bytes > 0) {
        it->lmem_stride = align_up(local_bytes, LOCAL_ALIGN);
        if (local_memory(q, it->lmem_stride, &it->lmem, e) != ST_OK) {
            item_free(q, it);
            return ST_ERROR;
        }
    }
    return enqueue(q, it, e);
}

Status host_event_record(DevQueue *q, DevEvent *ev, Err *e) {
    Item *it = NULL;
    if (!queue_idle(q) && !(it = item_new(q, ITEM_RECORD, 0, e))) return ST_ERROR;
    mutex_lock(&ev->lock);
    int64_t turn = ++ev->recorded;
    mutex_unlock(&ev->lock);
    if (!it) {
        event_pass(ev, turn);
        return ST_OK;
    }
    it->event = ev;
    it->turn = turn;
    atomic_fetch_add(&ev->refs, 1);
    return enqueue(q, it, e); /* cannot fail: a queue that is not idle has its thread */
}

Status host_event_wait(DevQueue *q, DevEvent *ev, Err *e) {
    mutex_lock(&ev->lock);
    int64_t turn = ev->recorded;
    bool over = ev->passed >= turn;
    mutex_unlock(&ev->lock);
    if (over) return ST_OK;
    Item *it = item_new(q, ITEM_WAIT, 0, e);
    if (!it) return ST_ERROR;
    it->event = ev;
    it->turn = turn;
    atomic_fetch_add(&ev->refs, 1);
    return enqueue(q, it, e);
}
