/* mutex.c - see mutex.h. */
#include <stdio.h>
#include <stdlib.h>

#include "base/mutex.h"

bool mutex_init(Mutex *m, LockRank rank) {
    *m = (Mutex)MUTEX_INITIALIZER(rank);
    (void)rank;
    return pthread_mutex_init(&m->pthread, NULL) == 0;
}
bool mutex_init_recursive(Mutex *m, LockRank rank) {
    pthread_mutexattr_t attr;
    *m = (Mutex)MUTEX_INITIALIZER(rank);
    (void)rank;
#ifdef STELE_DEBUG
    m->recursive = true;
#endif
    if (pthread_mutexattr_init(&attr) != 0) return false;
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
    bool ok = pthread_mutex_init(&m->pthread, &attr) == 0;
    pthread_mutexattr_destroy(&attr);
    return ok;
}

#ifdef STELE_DEBUG
enum { HELD_MAX = 64 };

/* The thread's locks, in the order in which it took them. */
static _Thread_local struct {
    int n;
    const Mutex *lock[HELD_MAX];
} held;

static const char *rank_name(LockRank r) {
    static const char *const names[] = {
#define X(name, text) text,
        LOCK_RANKS(X)
#undef X
    };
    return names[r];
}
static _Noreturn void out_of_order(const char *what, LockRank asked, LockRank has) {
    fprintf(stderr, "lock order: %s of \"%s\" by a thread that holds \"%s\" (base/mutex.h has the order)\n", what,
            rank_name(asked), rank_name(has));
    abort();
}
static bool holds(const Mutex *m) {
    for (int i = 0; i < held.n; i++)
        if (held.lock[i] == m) return true;
    return false;
}

void lock_order_check(LockRank rank) {
    for (int i = 0; i < held.n; i++)
        if (held.lock[i]->rank >= rank) out_of_order("locking", rank, held.lock[i]->rank);
}
void lock_order_before(const Mutex *m) {
    if (!m->recursive || !holds(m)) lock_order_check(m->rank);
}
void lock_order_locked(const Mutex *m) {
    if (held.n == HELD_MAX) {
        fprintf(stderr, "lock order: a thread holds more than %d locks\n", HELD_MAX);
        abort();
    }
    held.lock[held.n++] = m;
}
void lock_order_unlocked(const Mutex *m) {
    int i = held.n;
    while (i > 0 && held.lock[i - 1] != m) i--;
    if (i == 0) {
        fprintf(stderr, "lock order: unlocking \"%s\", which the thread does not hold\n", rank_name(m->rank));
        abort();
    }
    for (held.n--; i - 1 < held.n; i++) held.lock[i - 1] = held.lock[i];
}
void lock_order_wait(const Mutex *m) {
    if (!holds(m)) {
        fprintf(stderr, "lock order: waiting with \"%s\", which the thread does not hold\n", rank_name(m->rank));
        abort();
    }
    for (int i = 0; i < held.n; i++)
        if (held.lock[i] != m && held.lock[i]->rank >= m->rank)
            out_of_order("waiting with", m->rank, held.lock[i]->rank);
}
#endif
