/* decode.h - the table of decoding loops per instruction set. For decode.c and its tests. */
#ifndef STELE_STORAGE_DECODE_H
#define STELE_STORAGE_DECODE_H

#include "types/type.h"

enum { DECODE_WIDTHS = 9, DECODE_INTS = 5 /* PH_BOOL .. PH_I128 */ };
typedef struct DecodeOps {
    void (*decode[DECODE_INTS][DECODE_WIDTHS])(const uint8_t *d, uint64_t base, int64_t first, int64_t n, void *out);
    void (*decode_pos[DECODE_INTS][DECODE_WIDTHS])(const uint8_t *d, uint64_t base, const int32_t *pos, int64_t n,
                                                   void *out);
    void (*plain[DECODE_INTS][DECODE_INTS])(const void *src, int64_t n, void *out);
    void (*plain_pos[DECODE_INTS][DECODE_INTS])(const void *src, const int32_t *pos, int64_t n, void *out);
    int64_t (*range[DECODE_WIDTHS])(const uint8_t *d, int64_t first, int64_t n, uint64_t lo, uint64_t span, bool neg,
                                    int32_t *out);
    int64_t (*range_pos[DECODE_WIDTHS])(const uint8_t *d, const int32_t *pos, int64_t n, uint64_t lo, uint64_t span,
                                        bool neg, int32_t *out);
    int64_t (*codes[DECODE_WIDTHS])(const uint8_t *d, int64_t base, int64_t first, int64_t n, const uint8_t *mask,
                                    int32_t *out);
    int64_t (*codes_pos[DECODE_WIDTHS])(const uint8_t *d, int64_t base, const int32_t *pos, int64_t n,
                                        const uint8_t *mask, int32_t *out);
    void (*clear[DECODE_INTS])(const uint8_t *valid, int64_t n, void *out);
    void (*valid_bytes)(const uint64_t *bits, int64_t first, int64_t n, uint8_t *out);
    void (*strings)(const char *var, const uint32_t *off, int64_t first, const int32_t *pos, int64_t n, Str *out);
} DecodeOps;

/* Instruction sets this build has and this processor runs, best first; returns their number. */
int decode_isa_count(void);
const char *decode_isa_name(int i);
/* Tests and benchmarks: choose one; not while queries run. */
void decode_isa_force(int i);

#endif
