/* epochs.c - what a pin costs (src/base/epoch.h) beside a pthread read lock and an atomic count; docs/notes/epochs.md.
 *
 *     gcc -std=c17 -O2 -D_GNU_SOURCE -Isrc bench/epochs.c src/base/{epoch,mem,err,log}.c -lpthread -o epochs
 *
 * Processor time of the threads, so that it can be read on a machine that others use: nanoseconds per operation, the
 * best of several runs.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/epoch.h"

enum { LOOPS = 5 * 1000 * 1000, THREADS = 2, REPEATS = 7 };
static EpochDomain *domain;
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static struct {
    alignas(64) _Atomic int64_t refs;
    alignas(64) _Atomic int64_t value; /* what is protected */
} shared;
static int kind;

static int64_t cpu_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}
static void *run(void *arg) {
    int64_t *sum = arg, start = cpu_ns();
    EpochSlot *s = NULL;
    if (epoch_register(domain, 1, &s, NULL) != ST_OK) return NULL;
    for (int64_t i = 0; i < LOOPS; i++) {
        switch (kind) {
        case 0:
            epoch_pin(s, "bench", 0);
            *sum += atomic_load_explicit(&shared.value, memory_order_acquire);
            epoch_unpin(s);
            break;
        case 1:
            epoch_pin(s, "bench", 0);
            *sum += atomic_load_explicit(&shared.value, memory_order_acquire);
            epoch_pin_narrow(s);
            epoch_unpin(s);
            break;
        case 2:
            pthread_rwlock_rdlock(&lock);
            *sum += atomic_load_explicit(&shared.value, memory_order_acquire);
            pthread_rwlock_unlock(&lock);
            break;
        default:
            atomic_fetch_add_explicit(&shared.refs, 1, memory_order_acquire);
            *sum += atomic_load_explicit(&shared.value, memory_order_acquire);
            atomic_fetch_sub_explicit(&shared.refs, 1, memory_order_release);
        }
    }
    epoch_unregister(s);
    sum[1] = cpu_ns() - start;
    return NULL;
}
int main(void) {
    static const char *names[] = {"pin, unpin", "pin, narrow, unpin", "pthread_rwlock, read", "atomic count"};
    if (epoch_domain_new(NULL, &domain, NULL) != ST_OK) return 1;
    for (kind = 0; kind < 4; kind++) {
        for (int n = 1; n <= THREADS; n++) {
            double best = 1e9;
            for (int r = 0; r < REPEATS; r++) {
                pthread_t t[THREADS];
                int64_t sums[THREADS][16] = {{0}}, ns_all = 0;
                for (int i = 0; i < n; i++)
                    if (pthread_create(&t[i], NULL, run, sums[i]) != 0) return 1;
                for (int i = 0; i < n; i++) pthread_join(t[i], NULL);
                for (int i = 0; i < n; i++) ns_all += sums[i][1];
                double ns = (double)ns_all / LOOPS / n;
                best = ns < best ? ns : best;
            }
            printf("%-24s %d threads: %6.1f ns\n", names[kind], n, best);
        }
    }
    epoch_domain_free(domain);
    return 0;
}
