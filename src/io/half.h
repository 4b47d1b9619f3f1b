/* half.h - IEEE 754's binary16 as binary32: Arrow's and Parquet's float16. */
#ifndef STELE_IO_HALF_H
#define STELE_IO_HALF_H

#include <stdint.h>
#include <string.h>

/* Exact: sign, 5 bits of exponent (bias 15), 10 of mantissa become 1, 8 (bias 127) and 23. */
static inline float half_value(const void *p) {
    uint16_t h;
    float v;
    memcpy(&h, p, sizeof h);
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, exponent = h >> 10 & 31, mantissa = h & 0x3ff;
    if (exponent == 0) { /* zero and the subnormals: mantissa * 2^-24 */
        v = (float)mantissa * 0x1p-24f;
        return sign ? -v : v;
    }
    uint32_t bits = sign | (exponent == 31 ? 255 : exponent + 112) << 23 | mantissa << 13;
    memcpy(&v, &bits, sizeof v);
    return v;
}

#endif
