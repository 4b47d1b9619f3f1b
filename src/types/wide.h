/* wide.h - unsigned integers of 512 bits.
 *
 * What a numeric's 128 bits are too few for on the way to a result: sums of squares, quotients of them, roots. Exact,
 * and the same on every machine.
 */
#ifndef STELE_TYPES_WIDE_H
#define STELE_TYPES_WIDE_H

#include "base/base.h"

enum { WIDE_WORDS = 8 };
typedef struct Wide {
    uint64_t w[WIDE_WORDS]; /* least significant first */
} Wide;

Wide wide_of(uint128_t v);
int wide_bits(const Wide *a); /* 0 of 0 */
int wide_cmp(const Wide *a, const Wide *b);
/* These say whether the result does not fit; it is cut then. */
bool wide_add(const Wide *a, const Wide *b, Wide *out);
bool wide_sub(const Wide *a, const Wide *b, Wide *out);
bool wide_mul(const Wide *a, const Wide *b, Wide *out);
bool wide_mul_pow10(Wide *a, int exp);    /* exp >= 0 */
Wide wide_shift(const Wide *a, int left); /* negative: to the right */
/* b is not 0; rem may be NULL. out and rem may be a and b. */
void wide_div(const Wide *a, const Wide *b, Wide *out, Wide *rem);
/* a / b rounded half up to at most 38 digits; true when it has more. */
bool wide_quotient(const Wide *a, const Wide *b, int128_t *out);
/* The root of a / b, likewise. */
bool wide_root(const Wide *a, const Wide *b, int128_t *out);
/* The same of a * 10^exp / b, exp 0 to 38, where 160 bits are enough for four times the quotient, with a quarter of the
 * work; false: they are not. b is not 0. */
bool wide_short_root(uint128_t a, int exp, uint64_t b, int128_t *out);

#endif
