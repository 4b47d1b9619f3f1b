/* codec.h - blocks of files, compressed each for itself, whose size decompressed is known: those of Parquet and Arrow.
 *
 * One thread at a time. What the libraries need is charged to the account.
 */
#ifndef STELE_IO_CODEC_H
#define STELE_IO_CODEC_H

#include "base/err.h"
#include "base/mem.h"

enum { CODEC_PAD = 64 };
/* A buffer that is kept for the next block. */
typedef struct IoBuffer {
    uint8_t *p;
    int64_t cap;
} IoBuffer;
/* Room for n bytes and CODEC_PAD more, which are zero; what was in it is lost. 64-byte aligned. */
Status io_buffer(IoBuffer *b, MemAccount *account, int64_t n, Err *e);
void io_buffer_release(IoBuffer *b, MemAccount *account);

typedef enum Codec {
    CODEC_NONE,
    CODEC_SNAPPY,
    CODEC_GZIP,
    CODEC_BROTLI,
    CODEC_LZ4, /* one block, or blocks in Hadoop's frames */
    CODEC_LZ4_BLOCK,
    CODEC_LZ4_FRAME,
    CODEC_ZSTD,
    CODEC_UNKNOWN
} Codec;
const char *codec_name(Codec c);

typedef struct Codecs Codecs; /* what they keep from block to block */
Codecs *codecs_new(MemAccount *account, Err *e);
void codecs_free(Codecs *c); /* NULL is fine */
/* n bytes at `from` are `size` bytes at `to`; behind both are CODEC_PAD more, which may be read and written. 22P04
 * where they are not; 0A000 for CODEC_UNKNOWN. */
Status codec_decompress(Codecs *c, Codec codec, const void *from, int64_t n, void *to, int64_t size, Err *e);

#endif
