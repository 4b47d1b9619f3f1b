/* recode.h - texts of files and clients in other encodings than UTF-8, for COPY's option ENCODING: what is read becomes
 * UTF-8, what is written the encoding.
 */
#ifndef STELE_IO_RECODE_H
#define STELE_IO_RECODE_H

#include "base/encoding.h"
#include "io/copy.h"

typedef struct Recode Recode;
/* Of what `read` gives, or for what `write` takes (the other NULL). 0A000: the C library has not the encoding, which
 * has a name there. */
Status recode_new(const TextEncoding *encoding, CopyRead read, CopyWrite write, void *ctx, MemAccount *account,
                  Recode **out, Err *e);
/* For CopyRead and CopyWrite; ctx: the Recode. */
int64_t recode_read(void *ctx, char *buf, int64_t size);
bool recode_write(void *ctx, const char *data, int64_t size);
/* Writing: all that was given is complete. Its own failure, which is why reading or writing stopped, in place of e's:
 * 22021, 22P05. NULL is fine. */
Status recode_end(Recode *r, Status st, Err *e);

#endif
