/* sha512.h - SHA-384 and SHA-512 (FIPS 180-4). */
#ifndef STELE_BASE_SHA512_H
#define STELE_BASE_SHA512_H

#include "base/base.h"

enum { SHA384_BYTES = 48, SHA512_BYTES = 64 };
void sha384(const void *data, int64_t n, uint8_t out[SHA384_BYTES]);
void sha512(const void *data, int64_t n, uint8_t out[SHA512_BYTES]);

#endif
