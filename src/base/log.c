/* log.c - diagnostics handed to the embedding program: see log.h.
 *
 * The sink is a pair (function, context) that must change together, hence the lock;
 * it is not held while the sink runs, so that a sink may call log_set().
 */
#include "base/log.h"
#include "base/mutex.h"

#include <stdarg.h>
#include <stdio.h>
#include <time.h>

static Mutex lock = MUTEX_INITIALIZER(RANK_LOG);
static LogFn sink;
static void *sink_ctx;

void log_set(LogFn fn, void *ctx) {
    mutex_lock(&lock);
    sink = fn;
    sink_ctx = ctx;
    mutex_unlock(&lock);
}

void log_write(LogLevel level, const char *fmt, ...) {
    mutex_lock(&lock);
    LogFn fn = sink;
    void *ctx = sink_ctx;
    mutex_unlock(&lock);
    if (!fn) return;
    char text[1024];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (n >= 0) fn(ctx, level, text);
}

static int64_t clock_of(clockid_t id) {
    struct timespec t;
    clock_gettime(id, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}
int64_t clock_ns(void) { return clock_of(CLOCK_MONOTONIC); }
int64_t clock_thread_ns(void) { return clock_of(CLOCK_THREAD_CPUTIME_ID); }
