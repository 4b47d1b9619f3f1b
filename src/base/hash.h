/* hash.h - hashing of integers and byte strings.
 *
 * One hash for the whole system, so that a value hashes alike wherever it lives.
 * `stele_hash_constant` (a test setting) makes every hash 0, which forces every
 * collision path. Byte strings go through xxh3.
 */
#ifndef STELE_BASE_HASH_H
#define STELE_BASE_HASH_H

#include "base/base.h"

extern bool hash_constant; /* set by tests before any table is built */

/* A bijective mix (murmur3 finaliser); high bits are as good as low ones. */
static inline uint64_t hash_u64(uint64_t x) {
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93ULL;
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93ULL;
    x ^= x >> 32;
    return x;
}
static inline uint64_t hash_combine(uint64_t h, uint64_t k) {
    return hash_u64(h ^ (k + 0x9e3779b97f4a7c15ULL + (h << 6) + (h >> 2)));
}
/* The next column of a key that is made of several: `h` is a mix already, so one multiplication does. Its low bits know
 * nothing of its operand's high ones, so these are brought there first. */
static inline uint64_t hash_key(uint64_t h, uint64_t k) {
    h = (h ^ k ^ k >> 32) * 0xd6e8feb86659fd93ULL;
    return h ^ h >> 32;
}
uint64_t hash_bytes(const void *p, int64_t len);
/* CRC32C (Castagnoli), by instruction where there is one. */
uint32_t crc32c(uint32_t crc, const void *p, int64_t len);
/* 64-bit checksum for files and tablets (xxh3). */
uint64_t checksum64(const void *p, int64_t len);
/* Whether n bytes have this checksum. Fuzzing builds accept any, so that damage reaches the checks of shape. */
static inline bool checksum_matches(const void *p, int64_t n, uint64_t want) {
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
    (void)p, (void)n, (void)want;
    return true;
#else
    return checksum64(p, n) == want;
#endif
}

#endif
