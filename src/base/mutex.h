/* mutex.h - mutexes with a rank. All mutexes of the library are these (tools/lint.py checks); docs/LOCKS.md says of
 * each what it protects.
 *
 * The ranks are one order of all locks: a thread that holds a lock takes those of higher rank only, so that no threads
 * wait for each other in a circle. Builds with STELE_DEBUG keep a list of each thread's locks and end the process when
 * a thread takes one out of order, naming both. Other builds contain the pthread calls and nothing else.
 *
 * mutex_try never waits and is allowed in any order. */
#ifndef STELE_BASE_MUTEX_H
#define STELE_BASE_MUTEX_H

#include <pthread.h>
#include <stdbool.h>

/* Lowest rank first: what is taken before what. */
#define LOCK_RANKS(X)                                \
    X(SESSION, "calls of a session")                 \
    X(DATABASE, "database lock")                     \
    X(DATABASE_STATE, "state of the database lock")  \
    X(CALL_POOL, "pool of calls")                    \
    X(CALL_WAIT, "caller of the pool of calls")      \
    X(UPKEEP, "upkeep of tables")                    \
    X(DEVICE_HUB_MAKING, "making of device hubs")    \
    X(DEVICE_SLOT, "registry entry of a device")     \
    X(DEVICE_HUB, "device hub")                      \
    X(BULK_CONSTANTS, "constants of bulk modules")   \
    X(DEVICE_ROWS, "views of rows on devices")       \
    X(DEV_PIPE, "device pipeline")                   \
    X(DEV_RESIDENCY, "device residency")             \
    X(DEV_MAP, "device host maps")                   \
    X(DEV_RUNTIME, "device runtime")                 \
    X(COPY, "COPY's workers")                        \
    X(COPY_FAIL, "COPY's failures")                  \
    X(LOAD, "bulk load")                             \
    X(LOAD_DICT, "bulk load's dictionary")           \
    X(LOAD_ERR, "bulk load's error")                 \
    X(SORT, "sort")                                  \
    X(AGG_JOB, "aggregation's merge")                \
    X(AGG, "aggregation")                            \
    X(JOIN, "join")                                  \
    X(ROWS, "row store")                             \
    X(HEAP_OF_IMAGE, "heap of an image")             \
    X(CODE_CACHE, "code cache")                      \
    X(CODE_SWEEP, "code cache's files")              \
    X(HOST_MODULE, "host device's module")           \
    X(HOST_QUEUE, "host device's queue")             \
    X(HOST_EVENT, "host device's event")             \
    X(NULL_DEVICE, "null device")                    \
    X(OPENCL_MODULE, "OpenCL module")                \
    X(OPENCL_KERNEL, "OpenCL kernel")                \
    X(OPENCL, "OpenCL device")                       \
    X(CUDA_MAP, "CUDA registered regions")           \
    X(SUBALLOC, "CUDA suballocator")                 \
    X(CUDA, "CUDA device")                           \
    X(CUDA_API, "CUDA driver's functions")           \
    X(NVRTC, "NVRTC's functions")                    \
    X(PUBLISHING, "publishing of versions")          \
    X(EPOCH_BOUNDARY, "boundary of an epoch domain") \
    X(VERSIONS, "versions of tables")                \
    X(EPOCH, "epoch domain")                         \
    X(TABLET_WATCH, "watches of tablets")            \
    X(TXN_HUB, "open transactions")                  \
    X(FUNCTIONS, "functions of clients")             \
    X(ADBC, "options of ADBC's handles")             \
    X(SEQUENCE, "numbers of a sequence")             \
    X(REDO_LOG, "redo log")                          \
    X(ENUMS, "enumerated types")                     \
    X(ZONES, "time zones")                           \
    X(POOL, "worker pool")                           \
    X(MEM_KEPT, "kept memory")                       \
    X(BULK_LOG, "list of bulks")                     \
    X(LOG, "log")

typedef enum LockRank {
#define X(name, text) RANK_##name,
    LOCK_RANKS(X)
#undef X
} LockRank;

typedef struct Mutex {
    pthread_mutex_t pthread;
#ifdef STELE_DEBUG
    LockRank rank;
    bool recursive;
#endif
} Mutex;

bool mutex_init(Mutex *m, LockRank rank); /* false: out of memory */
bool mutex_init_recursive(Mutex *m, LockRank rank);
static inline void mutex_destroy(Mutex *m) { pthread_mutex_destroy(&m->pthread); }

#ifdef STELE_DEBUG
#define MUTEX_INITIALIZER(r) \
    { .pthread = PTHREAD_MUTEX_INITIALIZER, .rank = (r) }
/* Before a lock of this rank is waited for that is not a Mutex and may be given back by another thread: the thread
 * holds none of this rank or a higher one. */
void lock_order_check(LockRank rank);
/* Before and after the pthread call that locks m; before the one that unlocks it. */
void lock_order_before(const Mutex *m);
void lock_order_locked(const Mutex *m);
void lock_order_unlocked(const Mutex *m);
/* Before a wait that unlocks m and locks it again: m is the last that the thread has taken. */
void lock_order_wait(const Mutex *m);
#else
#define MUTEX_INITIALIZER(r) \
    { .pthread = PTHREAD_MUTEX_INITIALIZER }
static inline void lock_order_check(LockRank rank) { (void)rank; }
static inline void lock_order_before(const Mutex *m) { (void)m; }
static inline void lock_order_locked(const Mutex *m) { (void)m; }
static inline void lock_order_unlocked(const Mutex *m) { (void)m; }
static inline void lock_order_wait(const Mutex *m) { (void)m; }
#endif

static inline void mutex_lock(Mutex *m) {
    lock_order_before(m);
    pthread_mutex_lock(&m->pthread);
    lock_order_locked(m);
}
static inline bool mutex_try(Mutex *m) {
    if (pthread_mutex_trylock(&m->pthread) != 0) return false;
    lock_order_locked(m);
    return true;
}
static inline void mutex_unlock(Mutex *m) {
    lock_order_unlocked(m);
    pthread_mutex_unlock(&m->pthread);
}

#endif
