/* pool.c - worker threads: see pool.h for the contract.
 *
 * One mutex guards a queue of jobs. A job lives on the stack of its pool_run() and is in the queue as long as more
 * workers may join it. Idle threads sleep on `wake`, take the oldest job and the next worker number, and run. The
 * caller runs as worker 0, then takes its job out of the queue (work is gone when any worker has returned) and sleeps
 * on the job's own condition until the joined workers have left. Because the caller always works itself, a pool_run()
 * from inside a worker cannot deadlock.
 *
 * Jobs often follow each other closely, and waking a thread takes longer than many of them. So a worker that has just
 * run looks for the next job for SPIN_NS before it sleeps, the caller for as long whether its workers are done, and
 * threads that are awake take the lock, which is held for moments only, by trying. With more threads than processors no
 * thread spins.
 *
 * An urgent job goes before all others in the queue. Threads that are busy with other jobs see by `urgent` that one is
 * there, and run a worker's share of it on top of what they are doing (pool_help).
 */
#include "base/cond.h"
#include "base/mutex.h"
#include "base/pool.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/machine.h"
#include "base/mem.h"

enum { SPIN_NS = 50 * 1000, TRIES = 2000 };

typedef struct Job {
    struct Job *next;
    PoolFn fn;
    void *ctx;
    int wanted;          /* workers in all */
    int joined;          /* worker numbers given out, the caller's 0 included */
    _Atomic int running; /* pool threads inside fn; changes under the lock */
    bool queued, urgent;
    pthread_cond_t done;
} Job;

struct Pool {
    Mutex lock;
    pthread_cond_t wake;
    Job *first;           /* the queue, urgent ones first */
    _Atomic bool waiting; /* a job is there, or the end; for threads that spin */
    _Atomic int urgent;   /* urgent jobs in the queue */
    _Atomic int sleeping;
    bool stop, spins;
    int threads; /* caller included */
    int at_once;
    int started;
    int64_t bytes;
    pthread_t ids[];
};

#if defined(__x86_64__)
#define PAUSE() __builtin_ia32_pause()
#else
#define PAUSE() ((void)0)
#endif

static _Thread_local int urgent_depth; /* what this thread runs is urgent */
void pool_urgent_begin(void) { urgent_depth++; }
void pool_urgent_end(void) { urgent_depth--; }

static void lock_soon(Pool *p) {
    for (int i = 0; p->spins && i < TRIES; i++) {
        if (mutex_try(&p->lock)) return;
        PAUSE();
    }
    mutex_lock(&p->lock);
}

static void unlink_job(Pool *p, Job *job) {
    if (!job->queued) return;
    Job **at = &p->first;
    while (*at != job) at = &(*at)->next;
    *at = job->next;
    job->queued = false;
    if (job->urgent) p->urgent--;
    atomic_store_explicit(&p->waiting, p->first || p->stop, memory_order_relaxed);
}

/* Until there may be a job; the lock is given up and taken again. */
static void look_out(Pool *p) {
    mutex_unlock(&p->lock);
    int64_t end = clock_ns() + SPIN_NS;
    while (!atomic_load_explicit(&p->waiting, memory_order_relaxed) && clock_ns() < end)
        for (int i = 0; i < 16; i++) PAUSE();
    lock_soon(p);
}

/* The first job's next worker, with the lock held before and afterwards. */
static void run_first(Pool *p) {
    Job *job = p->first;
    const bool urgent = job->urgent;
    int worker = job->joined++;
    job->running++;
    if (job->joined == job->wanted) unlink_job(p, job);
    mutex_unlock(&p->lock);
    urgent_depth += urgent;
    job->fn(job->ctx, worker);
    urgent_depth -= urgent;
    lock_soon(p);
    /* Signalled under the lock: the job's stack frame is gone as soon as its owner sees 0 under it. */
    if (--job->running == 0) pthread_cond_signal(&job->done);
}
void pool_help(Pool *p) {
    static _Thread_local int64_t own_until; /* clock_ns; the thread's own work is as long as what it helped with */
    if (!p || atomic_load_explicit(&p->urgent, memory_order_relaxed) == 0 || urgent_depth > 0) return;
    if (atomic_load_explicit(&p->sleeping, memory_order_relaxed) > 0) return; /* there are others, who are woken */
    const int64_t began = clock_ns();
    if (began < own_until) return;
    lock_soon(p);
    if (p->first && p->first->urgent) run_first(p);
    mutex_unlock(&p->lock);
    const int64_t now = clock_ns();
    own_until = now + (now - began);
}

static void *worker_main(void *arg) {
    Pool *p = arg;
    bool worked = false;
    mutex_lock(&p->lock);
    for (;;) {
        if (worked && p->spins && !p->first && !p->stop) look_out(p);
        while (!p->first && !p->stop) {
            p->sleeping++;
            cond_wait(&p->wake, &p->lock);
            p->sleeping--;
        }
        worked = true;
        if (!p->first) break; /* stop, and nothing left to join */
        run_first(p);
    }
    mutex_unlock(&p->lock);
    return NULL;
}

Pool *pool_new(int threads, Err *e) {
    if (threads < 1) threads = 1;
    int64_t bytes = (int64_t)sizeof(Pool) + (int64_t)sizeof(pthread_t) * threads;
    Pool *p = mem_calloc(NULL, bytes, e);
    if (!p) return NULL;
    p->bytes = bytes;
    p->threads = threads;
    p->at_once = MIN_OF(threads, cpu_count());
    p->spins = threads > 1 && threads == p->at_once;
    mutex_init(&p->lock, RANK_POOL);
    pthread_cond_init(&p->wake, NULL);
    /* Workers take no signals: they are the embedding program's business. */
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int rc = 0;
    while (p->started < threads - 1) {
        rc = pthread_create(&p->ids[p->started], NULL, worker_main, p);
        if (rc) break;
        p->started++;
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (rc) {
        err_set(e, ERR_INSUFFICIENT_RESOURCES, "could not start worker thread %d of %d: %s", p->started + 1,
                threads - 1, rc == EAGAIN ? "resource temporarily unavailable" : "no permission");
        pool_free(p);
        return NULL;
    }
    return p;
}

void pool_free(Pool *p) {
    if (!p) return;
    mutex_lock(&p->lock);
    p->stop = true;
    atomic_store(&p->waiting, true);
    pthread_cond_broadcast(&p->wake);
    mutex_unlock(&p->lock);
    for (int i = 0; i < p->started; i++) pthread_join(p->ids[i], NULL);
    pthread_cond_destroy(&p->wake);
    mutex_destroy(&p->lock);
    mem_free(NULL, p, p->bytes);
}

int pool_threads(const Pool *p) { return p->threads; }
int pool_at_once(const Pool *p) { return p->at_once; }

void pool_run(Pool *p, int workers, PoolFn fn, void *ctx) {
    if (workers > p->threads) workers = p->threads;
    if (workers <= 1) {
        fn(ctx, 0);
        return;
    }
    Job job = {.fn = fn, .ctx = ctx, .wanted = workers, .joined = 1, .queued = true, .urgent = urgent_depth > 0};
    pthread_cond_init(&job.done, NULL);
    lock_soon(p);
    Job **at = &p->first;
    while (*at && (!job.urgent || (*at)->urgent)) at = &(*at)->next;
    job.next = *at;
    *at = &job;
    if (job.urgent) p->urgent++;
    atomic_store_explicit(&p->waiting, true, memory_order_relaxed);
    if (workers - 1 >= p->sleeping) {
        if (p->sleeping > 0) pthread_cond_broadcast(&p->wake);
    } else {
        for (int i = 1; i < workers; i++) pthread_cond_signal(&p->wake);
    }
    mutex_unlock(&p->lock);

    fn(ctx, 0);

    lock_soon(p);
    unlink_job(p, &job);
    if (p->spins && job.running > 0) { /* they are about to be done */
        mutex_unlock(&p->lock);
        int64_t end = clock_ns() + SPIN_NS;
        while (atomic_load_explicit(&job.running, memory_order_relaxed) > 0 && clock_ns() < end)
            for (int i = 0; i < 16; i++) PAUSE();
        lock_soon(p);
    }
    while (job.running > 0) cond_wait(&job.done, &p->lock);
    mutex_unlock(&p->lock);
    pthread_cond_destroy(&job.done);
}
