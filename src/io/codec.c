/* codec.c - decompression of blocks. See codec.h. */
#include "io/codec_int.h"

#include <brotli/decode.h>
#include <lz4.h>
#include <lz4frame.h>
#include <zlib.h>
#include <zstd.h>

enum {
    GZIP_BYTES = 48 << 10 /* that zlib takes, about */,
    BROTLI_BYTES = 17 << 20 /* its largest window, and tables */
};

struct Codecs {
    MemAccount *account;
    ZSTD_DCtx *zstd;
    int64_t charged;
    z_stream gzip;
    bool gzip_ready;
};

Status io_buffer(IoBuffer *b, MemAccount *account, int64_t n, Err *e) {
    int64_t want = n + CODEC_PAD;
    if (b->cap < want) {
        io_buffer_release(b, account);
        want += want / 4;
        if (!(b->p = mem_alloc_raw(account, want, e))) return ST_ERROR;
        b->cap = want;
    }
    memset(b->p + n, 0, CODEC_PAD);
    return ST_OK;
}

void io_buffer_release(IoBuffer *b, MemAccount *account) {
    if (b->p) mem_free(account, b->p, b->cap);
    *b = (IoBuffer){0};
}

const char *codec_name(Codec c) {
    static const char *const names[] = {"none", "snappy", "gzip", "brotli", "LZ4", "LZ4", "LZ4", "zstd", "unknown"};
    static_assert(ARRAY_LEN(names) == CODEC_UNKNOWN + 1, "one name each");
    return names[c];
}

Codecs *codecs_new(MemAccount *account, Err *e) {
    Codecs *c = mem_calloc(account, (int64_t)sizeof *c, e);
    if (c) c->account = account;
    return c;
}

void codecs_free(Codecs *c) {
    if (!c) return;
    if (c->gzip_ready) (void)inflateEnd(&c->gzip);
    (void)ZSTD_freeDCtx(c->zstd);
    if (c->charged) mem_discharge(c->account, c->charged);
    mem_free(c->account, c, (int64_t)sizeof *c);
}

static Status damaged(Codec codec, const char *why, Err *e) {
    return err_set(e, ERR_BAD_COPY, "data compressed with %s is damaged%s%s", codec_name(codec), *why ? ": " : "", why);
}

static Status charge(Codecs *c, int64_t bytes, Err *e) {
    TRY(mem_charge(c->account, bytes, e));
    c->charged += bytes;
    return ST_OK;
}

static Status with_zstd(Codecs *c, const void *from, int64_t n, void *to, int64_t size, Err *e) {
    if (!c->zstd) {
        if (!(c->zstd = ZSTD_createDCtx())) return err_oom(e);
        TRY(charge(c, (int64_t)ZSTD_sizeof_DCtx(c->zstd), e));
    }
    size_t r = ZSTD_decompressDCtx(c->zstd, to, (size_t)size, from, (size_t)n);
    if (ZSTD_isError(r)) return damaged(CODEC_ZSTD, ZSTD_getErrorName(r), e);
    return (int64_t)r == size ? ST_OK : damaged(CODEC_ZSTD, "it is shorter than it should be", e);
}

/* One member after the other, until `size` bytes are there. */
static Status with_gzip(Codecs *c, const void *from, int64_t n, void *to, int64_t size, Err *e) {
    z_stream *z = &c->gzip;
    if (n > INT32_MAX || size > INT32_MAX) return damaged(CODEC_GZIP, "it is too large", e);
    if (!c->gzip_ready) {
        TRY(charge(c, GZIP_BYTES, e));
        if (inflateInit2(z, 15 + 32) != Z_OK) return err_oom(e);
        c->gzip_ready = true;
    }
    z->next_in = (Bytef *)(uintptr_t)from;
    z->avail_in = (uInt)n;
    z->next_out = to;
    z->avail_out = (uInt)size;
    int r = Z_STREAM_END;
    while (r == Z_STREAM_END && z->avail_out > 0) {
        if (inflateReset(z) != Z_OK) return damaged(CODEC_GZIP, "stream error", e);
        if (z->avail_in == 0) return damaged(CODEC_GZIP, "it is shorter than it should be", e);
        r = inflate(z, Z_FINISH);
    }
    if (r == Z_MEM_ERROR) return err_oom(e);
    if (z->avail_out == 0 && (r == Z_STREAM_END || r == Z_BUF_ERROR || r == Z_OK)) return ST_OK;
    return damaged(CODEC_GZIP, z->msg ? z->msg : "it is shorter than it should be", e);
}

static Status with_brotli(Codecs *c, const void *from, int64_t n, void *to, int64_t size, Err *e) {
    size_t got = (size_t)size;
    TRY(mem_charge(c->account, BROTLI_BYTES, e));
    BrotliDecoderResult r = BrotliDecoderDecompress((size_t)n, from, &got, to);
    mem_discharge(c->account, BROTLI_BYTES);
    return r == BROTLI_DECODER_RESULT_SUCCESS && (int64_t)got == size ? ST_OK : damaged(CODEC_BROTLI, "", e);
}

static bool lz4_block(const void *from, int64_t n, void *to, int64_t size) {
    if (n > INT32_MAX || size > INT32_MAX) return false;
    return LZ4_decompress_safe(from, to, (int)n, (int)size) == size;
}

static int64_t big_endian(const uint8_t *p) {
    return (int64_t)((uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3]);
}

/* Blocks that Hadoop puts their sizes, decompressed and compressed, in front of. */
static bool lz4_hadoop(const uint8_t *from, int64_t n, uint8_t *to, int64_t size) {
    while (n >= 8) {
        int64_t big = big_endian(from), small = big_endian(from + 4);
        if (small > n - 8 || big > size || !lz4_block(from + 8, small, to, big)) return false;
        from += 8 + small;
        n -= 8 + small;
        to += big;
        size -= big;
    }
    return n == 0 && size == 0;
}

static Status with_lz4_frame(Codecs *c, const uint8_t *from, int64_t n, void *to, int64_t size, Err *e) {
    LZ4F_dctx *x = NULL;
    /* two buffers of a block, by the fourth bits of the frame's descriptor */
    int64_t block = n > 5 ? INT64_C(1) << (8 + 2 * (from[5] >> 4 & 7)) : 0, needs = 2 * block + (192 << 10);
    size_t in = (size_t)n, out = (size_t)size, r = 1;
    TRY(mem_charge(c->account, needs, e));
    if (LZ4F_isError(LZ4F_createDecompressionContext(&x, LZ4F_VERSION))) {
        mem_discharge(c->account, needs);
        return err_oom(e);
    }
    r = LZ4F_decompress(x, to, &out, from, &in, NULL);
    (void)LZ4F_freeDecompressionContext(x);
    mem_discharge(c->account, needs);
    if (LZ4F_isError(r)) return damaged(CODEC_LZ4_FRAME, LZ4F_getErrorName(r), e);
    return r == 0 && (int64_t)out == size ? ST_OK : damaged(CODEC_LZ4_FRAME, "it has another size than it should", e);
}

Status codec_decompress(Codecs *c, Codec codec, const void *from, int64_t n, void *to, int64_t size, Err *e) {
    if (n < 0 || size < 0) return damaged(codec, "it has no size", e);
    if (size == 0 && codec != CODEC_UNKNOWN) return ST_OK;
    switch (codec) {
    case CODEC_NONE:
        if (n != size) return err_set(e, ERR_BAD_COPY, "uncompressed data has another size than it should");
        memcpy(to, from, (size_t)n);
        return ST_OK;
    case CODEC_SNAPPY: return codec_snappy(from, n, to, size) ? ST_OK : damaged(codec, "", e);
    case CODEC_GZIP: return with_gzip(c, from, n, to, size, e);
    case CODEC_BROTLI: return with_brotli(c, from, n, to, size, e);
    case CODEC_LZ4:
        return lz4_hadoop(from, n, to, size) || lz4_block(from, n, to, size) ? ST_OK : damaged(codec, "", e);
    case CODEC_LZ4_BLOCK: return lz4_block(from, n, to, size) ? ST_OK : damaged(codec, "", e);
    case CODEC_LZ4_FRAME: return with_lz4_frame(c, from, n, to, size, e);
    case CODEC_ZSTD: return with_zstd(c, from, n, to, size, e);
    case CODEC_UNKNOWN: break;
    }
    return err_set(e, ERR_FEATURE_NOT_SUPPORTED, "data is compressed in a way that is not known");
}
