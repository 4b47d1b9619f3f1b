/* blocks.h - an input cut into blocks of whole records, for COPY FROM and for files read as tables.
 *
 * Cutting is the only part of reading that is sequential: for CSV the state of the quotes is known here alone. It runs
 * at memory speed, many times faster than parsing. Blocks are read rather than mapped: the buffer stays in cache,
 * memory stays small, and a file that shrinks meanwhile is an end of file, not a signal.
 *
 * One thread at a time (the callers' lock); a block belongs to the worker that has it.
 */
#ifndef STELE_IO_BLOCKS_H
#define STELE_IO_BLOCKS_H

#include "io/copy_int.h"
#include "io/input.h"
#include "io/json_array.h"

typedef struct Block {
    char *buf;
    int64_t cap, len; /* len bytes, whole records, COPY_PAD zeros behind them */
    CopyCut cut;
    bool sentinel;
} Block;

typedef struct Blocks {
    /* set by the caller */
    const CopyOptions *o;
    MemAccount *account;
    Input *input; /* or, NULL, `read` */
    CopyRead read;
    void *read_ctx;
    CopyEol eol;        /* EOL_UNKNOWN: found out */
    bool marker;        /* a line `\.` ends the data */
    bool strip_bom;     /* bytes that say "UTF-8" in front */
    int64_t skip_lines; /* in front, whatever is in them */
    JsonArray json;     /* of COPY_JSON: its layout; an array becomes lines */
    /* its own */
    bool begun, eof, done;
    char *carry; /* what follows the last block's records */
    int64_t carry_len, carry_cap;
} Blocks;

/* The next whole records; len 0 at the end. 54000, 22P04, 08006 ... */
Status blocks_next(Blocks *in, Block *b, Err *e);
void blocks_release(Blocks *in); /* not the input */
void block_release(Block *b, MemAccount *account);
static inline char blocks_eol(const Blocks *in) { return in->eol == EOL_CR ? '\r' : '\n'; }

#endif
