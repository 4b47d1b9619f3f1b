/* input.h - the bytes of a file in order, decompressed: gzip (.gz, several members too) and zstd (.zst) by their first
 * bytes, everything else as it is.
 *
 * One thread at a time. What decompressing needs is charged to the account.
 */
#ifndef STELE_IO_INPUT_H
#define STELE_IO_INPUT_H

#include "base/vfs.h"

typedef struct Input Input;
/* 58P01, 42501 ... as PostgreSQL words them for COPY; 42809 for a directory. */
Status input_open(Vfs *vfs, MemAccount *account, const char *path, Input **out, Err *e);
/* Reads `want` bytes; fewer only at the end. 22P04: damaged compressed data. */
Status input_read(Input *in, char *to, int64_t want, int64_t *got, Err *e);
bool input_at_end(const Input *in);      /* the last read came to the end */
int64_t input_size(const Input *in);     /* of the file, compressed; 0 where it is unknown (a pipe) */
int64_t input_position(const Input *in); /* bytes of the file that were read */
bool input_compressed(const Input *in);
void input_close(Input *in); /* NULL is fine */

#endif
