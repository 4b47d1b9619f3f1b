/* cond.h - condition variables whose waits end at a time of clock_ns (base/log.h). */
#ifndef STELE_BASE_COND_H
#define STELE_BASE_COND_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

void cond_init(pthread_cond_t *c);
/* With the mutex held, as pthread_cond_wait. False: it is at_ns. May return earlier for no reason. */
bool cond_wait_until(pthread_cond_t *c, pthread_mutex_t *m, int64_t at_ns);

#endif
