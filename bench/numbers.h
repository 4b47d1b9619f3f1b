/* numbers.h - what is said of several measurements. */
#ifndef STELE_BENCH_NUMBERS_H
#define STELE_BENCH_NUMBERS_H

#include <stddef.h>
#include <stdlib.h>

/* For qsort: doubles, the least first. */
static inline int by_value(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}
/* Sorts them; n > 0. */
static inline double median(double *v, int n) {
    qsort(v, (size_t)n, sizeof *v, by_value);
    return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

#endif
