/* cond.h - condition variables with mutexes of base/mutex.h; waits may end at a time of clock_ns (base/log.h). */
#ifndef STELE_BASE_COND_H
#define STELE_BASE_COND_H

#include "base/mutex.h"
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

void cond_init(pthread_cond_t *c);
/* With the mutex held, as pthread_cond_wait. It is the last in the order of all that the thread holds. */
void cond_wait(pthread_cond_t *c, Mutex *m);
/* The same. False: it is at_ns. May return earlier for no reason. */
bool cond_wait_until(pthread_cond_t *c, Mutex *m, int64_t at_ns);

#endif
