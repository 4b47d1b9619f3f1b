/* log.h - diagnostics for the embedding program; the library itself never prints. */
#ifndef STELE_BASE_LOG_H
#define STELE_BASE_LOG_H
#include "base/base.h"
typedef enum LogLevel { LOG_DEBUG, LOG_INFO, LOG_WARNING, LOG_ERROR } LogLevel;
typedef void (*LogFn)(void *ctx, LogLevel level, const char *message);
void log_set(LogFn fn, void *ctx); /* NULL = silent, the default */
void log_write(LogLevel level, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Monotonic clock in nanoseconds. */
int64_t clock_ns(void);
int64_t clock_thread_ns(void); /* processor time of this thread */
#endif
