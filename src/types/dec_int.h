/* dec_int.h - what dec.c and dec_math.c share; no other file includes it. */
#ifndef STELE_TYPES_DEC_INT_H
#define STELE_TYPES_DEC_INT_H

#include "types/dec.h"

uint32_t *dec_limbs(Arena *a, int64_t n, Err *e); /* uninitialised */
void dec_trim(Dec *x);                            /* without zero limbs at both ends */
void dec_cut(Dec *x, int32_t exp);                /* without what is below DEC_BASE^exp */
int32_t dec_top(const Dec *x);                    /* the power of DEC_BASE behind its first limb: exp + n */
int32_t dec_weight(const Dec *x);                 /* of 10,000 of the first digit to that base */
int32_t dec_first(const Dec *x);                  /* that digit */
Status dec_overflow(Err *e);
/* q = u / v, r = u % v (or NULL); q has nu - nv + 1 limbs, r nv. nu >= nv >= 1, v's first limb is not 0. */
Status dec_div_limbs(Arena *a, const uint32_t *u, int32_t nu, const uint32_t *v, int32_t nv, uint32_t *q, uint32_t *r,
                     Err *e);
static inline int32_t dec_floor_div(int32_t x, int32_t y) { return x / y - (x % y != 0 && (x < 0) != (y < 0)); }

#endif
