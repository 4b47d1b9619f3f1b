/* similar.h - which of some names was meant by one that is none of them: the closest, when it is close. */
#ifndef STELE_BASE_SIMILAR_H
#define STELE_BASE_SIMILAR_H

#include <stdbool.h>
#include <stdint.h>

/* Letters to change, add, drop or exchange with the next to make b of a; limit + 1 when there are more. Names of more
 * than 63 bytes are like no other. */
int64_t similar_distance(const char *a, const char *b, int64_t limit);

/* The closest name so far; the first of several. */
typedef struct Similar {
    const char *wanted;
    const char *best; /* NULL: none is close */
    int64_t distance; /* of names that would be better: below it */
} Similar;
void similar_init(Similar *s, const char *wanted);
void similar_offer(Similar *s, const char *name);

#endif
