/* unit_random.h - random numbers, the same in every run. */
#ifndef STELE_UNIT_RANDOM_H
#define STELE_UNIT_RANDOM_H

#include <stdint.h>

static uint64_t rng = 88172645463325252ULL;
static uint64_t rnd(void) {
    rng ^= rng << 13;
    rng ^= rng >> 7;
    rng ^= rng << 17;
    return rng;
}
static inline int64_t rnd_below(int64_t n) { return (int64_t)(rnd() % (uint64_t)n); }

#endif
