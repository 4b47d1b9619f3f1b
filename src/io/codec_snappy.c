/* codec_snappy.c - decompression of snappy: most of the time that reading a Parquet file takes.
 *
 * Literals and copies of up to 64 bytes, nearly all of them, are copied 16 bytes at a time without looking where they
 * end: what is written too much is overwritten or falls into the padding, which both buffers have (CODEC_PAD).
 * https://github.com/google/snappy/blob/main/format_description.txt
 */
#include "io/codec_int.h"

static inline void copy16(uint8_t *to, const uint8_t *from) {
    uint64_t v[2];
    memcpy(v, from, 16);
    memcpy(to, v, 16);
}

/* Up to 64 bytes, from at least 16 bytes before where they overlap. */
static inline void copy_up_to_64(uint8_t *to, const uint8_t *from, int64_t n) {
    copy16(to, from);
    if (LIKELY(n <= 16)) return;
    copy16(to + 16, from + 16);
    if (n <= 32) return;
    copy16(to + 32, from + 32);
    copy16(to + 48, from + 48);
}

/* A pattern of fewer than 16 bytes, repeated: 8 bytes at a time, from the least multiple of the pattern that is as far
 * away. */
static void repeat(uint8_t *to, int64_t offset, int64_t n) {
    static const uint8_t multiples[16] = {0, 8, 8, 9, 8, 10, 12, 14, 8, 9, 10, 11, 12, 13, 14, 15};
    for (int i = 0; i < 8; i++) to[i] = to[i - offset];
    int64_t far = multiples[offset];
    for (int64_t i = 8; i < n; i += 8) memcpy(to + i, to + i - far, 8);
}

/* The uncompressed size, in front; -1: there is none. */
static int64_t whole_size(const uint8_t **at, const uint8_t *end) {
    uint64_t n = 0;
    for (int shift = 0; shift < 35 && *at < end; shift += 7) {
        uint8_t b = *(*at)++;
        n |= (uint64_t)(b & 0x7F) << shift;
        if (!(b & 0x80)) return (int64_t)n;
    }
    return -1;
}

bool codec_snappy(const uint8_t *from, int64_t n, uint8_t *to, int64_t size) {
    const uint8_t *p = from, *end = from + n;
    uint8_t *w = to, *stop = to + size;
    if (whole_size(&p, end) != size) return false;
    while (p < end) {
        uint8_t tag = *p++;
        int64_t len = (tag >> 2) + 1, offset;
        if ((tag & 3) == 0) {
            if (UNLIKELY(len > 60)) { /* 1 to 4 bytes of length */
                uint32_t more;
                int bytes = (int)len - 60;
                if (end - p < bytes) return false;
                memcpy(&more, p, 4);
                len = (int64_t)(more & (UINT32_MAX >> (32 - 8 * bytes))) + 1;
                p += bytes;
            }
            if (UNLIKELY(len > end - p || len > stop - w)) return false;
            if (LIKELY(len <= 64)) copy_up_to_64(w, p, len);
            else memcpy(w, p, (size_t)len);
            p += len;
            w += len;
            continue;
        }
        uint32_t trailer;
        memcpy(&trailer, p, 4);
        if ((tag & 3) == 1) {
            len = (tag >> 2 & 7) + 4;
            offset = (int64_t)(tag >> 5) << 8 | (trailer & 0xFF);
            p += 1;
        } else if ((tag & 3) == 2) {
            offset = trailer & 0xFFFF;
            p += 2;
        } else {
            offset = trailer;
            p += 4;
        }
        if (UNLIKELY(p > end || offset == 0 || offset > w - to || len > stop - w)) return false;
        if (LIKELY(offset >= 16)) copy_up_to_64(w, w - offset, len);
        else repeat(w, offset, len);
        w += len;
    }
    return w == stop;
}
