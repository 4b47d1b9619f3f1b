/* bytes.h - bytes of files: a buffer that grows while it is written, and a reader that stops at the end.
 *
 * Numbers are as they are in memory (little-endian). Both remember a failure, so that a caller may write or read a
 * whole structure and look once. A failed reader gives zeros and empty texts, which are safe to go on with.
 */
#ifndef STELE_BASE_BYTES_H
#define STELE_BASE_BYTES_H

#include "base/base.h"
#include "base/err.h"
#include "base/mem.h"

/* Starts as {.acct = ..., .e = ...}; `e` gets the error when memory is out. */
typedef struct BytesOut {
    MemAccount *acct;
    char *p;
    int64_t len, cap;
    bool failed;
    Err *e;
} BytesOut;
void bytes_put(BytesOut *o, const void *data, int64_t n);
char *bytes_put_room(BytesOut *o, int64_t n); /* n bytes that the caller fills in, before the next call; NULL: failed */
void bytes_put_bool(BytesOut *o, bool v);     /* a byte: 0 or 1 */
void bytes_put_i64(BytesOut *o, int64_t v);
/* Seven bits a byte, the lowest first, the eighth set where more follow; small numbers of either sign are short. */
void bytes_put_short(BytesOut *o, int64_t v);
void bytes_put_f64(BytesOut *o, double v);
void bytes_put_name(BytesOut *o, const char *s);             /* short length, bytes; NULL is length -1 */
void bytes_put_block(BytesOut *o, const char *s, int64_t n); /* i64 length, bytes */
void bytes_put_text(BytesOut *o, const char *s);             /* likewise; NULL is length -1 */
void bytes_put_padding(BytesOut *o, int64_t align);          /* zeros up to a multiple of align, a power of 2 <= 64 */
void bytes_out_release(BytesOut *o);

/* Starts as {.p = ..., .len = ..., .arena = ...}; the bytes are the caller's. */
typedef struct BytesIn {
    const char *p;
    int64_t len, at;
    bool failed;
    Arena *arena; /* of texts; not needed for others */
} BytesIn;
void bytes_get(BytesIn *in, void *out, int64_t n);
int64_t bytes_get_i64(BytesIn *in);
int64_t bytes_get_short(BytesIn *in);
int64_t bytes_get_short_count(BytesIn *in, int64_t max); /* fails outside of 0 ... max */
double bytes_get_f64(BytesIn *in);
bool bytes_get_bool(BytesIn *in);                     /* fails when it is neither 0 nor 1 */
int64_t bytes_get_count(BytesIn *in, int64_t max);    /* fails outside of 0 ... max */
const char *bytes_get_block(BytesIn *in, int64_t *n); /* in the reader's bytes */
/* A copy in the arena. Fails at a NUL inside, and at NULL where there must be a text. */
char *bytes_get_text(BytesIn *in, bool may_be_null);
char *bytes_get_name(BytesIn *in, bool may_be_null); /* likewise, of bytes_put_name */

#endif
