/* sha256.h - SHA-224 and SHA-256 (FIPS 180-4), HMAC (RFC 2104) and PBKDF2 (RFC 8018) with the latter: for verifiers of
 * passwords. */
#ifndef STELE_BASE_SHA256_H
#define STELE_BASE_SHA256_H

#include "base/base.h"

enum { SHA224_BYTES = 28, SHA256_BYTES = 32 };
void sha224(const void *data, int64_t n, uint8_t out[SHA224_BYTES]);
void sha256(const void *data, int64_t n, uint8_t out[SHA256_BYTES]);
void hmac_sha256(const void *key, int64_t key_n, const void *data, int64_t n, uint8_t out[SHA256_BYTES]);
/* One block: as long as the hash. salt_n is at most 64. */
void pbkdf2_sha256(const void *password, int64_t n, const uint8_t *salt, int64_t salt_n, int rounds,
                   uint8_t out[SHA256_BYTES]);

#endif
