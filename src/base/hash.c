/* hash.c - xxh3 and CRC32C behind hash.h.
 *
 * xxh3 is compiled in (XXH_INLINE_ALL): keys are short and the call would cost as much
 * as the hash. CRC32C takes the SSE4.2 instruction where the processor has it and a
 * table of bytes otherwise.
 */
#include "base/hash.h"

#include <pthread.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

bool hash_constant = false;

uint64_t hash_bytes(const void *p, int64_t len) {
    if (UNLIKELY(hash_constant)) return 0;
    return XXH3_64bits(len ? p : "", (size_t)len);
}

uint64_t checksum64(const void *p, int64_t len) { return XXH3_64bits(len ? p : "", (size_t)len); }

static uint32_t crc_table[256];
static pthread_once_t crc_once = PTHREAD_ONCE_INIT;

static void crc_fill(void) {
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t c = i;
        for (int k = 0; k < 8; k++) c = (c >> 1) ^ (0x82F63B78u & (0u - (c & 1u)));
        crc_table[i] = c;
    }
}

static uint32_t crc_portable(uint32_t crc, const unsigned char *p, int64_t len) {
    pthread_once(&crc_once, crc_fill);
    for (int64_t i = 0; i < len; i++) crc = crc_table[(crc ^ p[i]) & 0xFF] ^ (crc >> 8);
    return crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) static uint32_t crc_sse42(uint32_t crc, const unsigned char *p, int64_t len) {
    uint64_t c = crc;
    for (; len >= 8; len -= 8, p += 8) {
        uint64_t w;
        memcpy(&w, p, 8);
        c = __builtin_ia32_crc32di(c, w);
    }
    crc = (uint32_t)c;
    for (; len > 0; len--, p++) crc = __builtin_ia32_crc32qi(crc, *p);
    return crc;
}
#endif

uint32_t crc32c(uint32_t crc, const void *p, int64_t len) {
    crc = ~crc;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("sse4.2")) return ~crc_sse42(crc, p, len);
#endif
    return ~crc_portable(crc, p, len);
}
