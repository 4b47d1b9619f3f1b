/* flatbuf_out.h - writing flatbuffers (https://flatbuffers.dev/internals/), front to back: what an offset leads to lies
 * behind it, so that a field is made first and what it has follows. Positions are from the buffer's beginning. Nothing
 * needs to look at errors but the end: once memory was refused all of these do nothing. */
#ifndef STELE_IO_FLATBUF_OUT_H
#define STELE_IO_FLATBUF_OUT_H

#include "base/mem.h"

typedef struct FlatbufOut {
    MemAccount *account;
    Err *e;
    uint8_t *p;
    int64_t n, cap;
    bool failed; /* e says why */
} FlatbufOut;

/* Empty again, with the offset to the root table at 0. */
void fbo_begin(FlatbufOut *f);
void fbo_release(FlatbufOut *f);
/* A number of `size` bytes, little-endian. */
void fbo_set(FlatbufOut *f, int64_t at, uint64_t v, int size);
/* The table that the offset at `from` leads to, of n fields of sizes[i] bytes (0: the table lacks it); fields[i]: where
 * they are. All are 0. */
void fbo_table(FlatbufOut *f, int64_t from, int n, const uint8_t *sizes, int64_t *fields);
void fbo_string(FlatbufOut *f, int64_t from, const char *s, int64_t len);
/* A vector of n elements of so many bytes, 4 or more; where the first one is. */
int64_t fbo_vector(FlatbufOut *f, int64_t from, int64_t n, int64_t size);

#endif
