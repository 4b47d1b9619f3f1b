/* base.h - the vocabulary every other file of Stele shares.
 *
 * Integers, slices, compiler attributes and assertion levels. Nothing here
 * allocates. GNU extensions that earn their place (128-bit integers, branch
 * hints) are spelled here and nowhere else, so that `-Wpedantic` stays on.
 *
 * Assertion levels:
 *   dbg_assert(x)  debug builds only; for invariants that are costly to check
 *   In release code a broken invariant is reported with err_internal() (XX000)
 *   and fails the statement, never the process.
 */
#ifndef STELE_BASE_BASE_H
#define STELE_BASE_BASE_H

#include <assert.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

__extension__ typedef __int128 int128_t;
__extension__ typedef unsigned __int128 uint128_t;

#define INT128_MAX ((int128_t)(~(uint128_t)0 >> 1))
#define INT128_MIN (-INT128_MAX - 1)

#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define ALWAYS_INLINE static inline __attribute__((always_inline))
#define NOINLINE __attribute__((noinline))
#define PRINTF_LIKE(f, a) __attribute__((format(printf, f, a)))
#define WARN_UNUSED __attribute__((warn_unused_result))
#define UNUSED __attribute__((unused))
#define ARRAY_LEN(a) ((int64_t)(sizeof(a) / sizeof((a)[0])))
#define MIN_OF(a, b) ((a) < (b) ? (a) : (b))
#define MAX_OF(a, b) ((a) > (b) ? (a) : (b))

#ifdef STELE_DEBUG
#define dbg_assert(x) assert(x)
#else
#define dbg_assert(x) ((void)0)
#endif

/* Outcome of a call. ST_ERROR means that the Err passed along tells the story. */
typedef enum Status { ST_OK = 0, ST_ERROR = 1 } Status;

/* Return from a Status function as soon as a callee fails. */
#define TRY(expr)                                       \
    do {                                                \
        if (UNLIKELY((expr) != ST_OK)) return ST_ERROR; \
    } while (0)

/* A borrowed run of bytes; not NUL-terminated. */
typedef struct Slice {
    const char *ptr;
    int64_t len;
} Slice;

static inline Slice slice_of(const char *s) { return (Slice){s, s ? (int64_t)strlen(s) : 0}; }
static inline bool slice_eq(Slice a, Slice b) {
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, (size_t)a.len) == 0);
}

static inline int64_t align_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

#endif
