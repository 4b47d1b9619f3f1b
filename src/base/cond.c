/* cond.c - see cond.h. */
#include <time.h>

#include "base/cond.h"

void cond_init(pthread_cond_t *c) {
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(c, &attr);
    pthread_condattr_destroy(&attr);
}
void cond_wait(pthread_cond_t *c, Mutex *m) {
    lock_order_wait(m);
    pthread_cond_wait(c, &m->pthread);
}
bool cond_wait_until(pthread_cond_t *c, Mutex *m, int64_t at_ns) {
    struct timespec t = {.tv_sec = at_ns / 1000000000, .tv_nsec = at_ns % 1000000000};
    lock_order_wait(m);
    return pthread_cond_timedwait(c, &m->pthread, &t) == 0;
}
