/* similar.c - optimal string alignment, with three rows of the matrix. */
#include "base/similar.h"

#include <string.h>

#include "base/base.h"

enum { LENGTH_MAX = 63 };

int64_t similar_distance(const char *a, const char *b, int64_t limit) {
    int64_t n = (int64_t)strlen(a), m = (int64_t)strlen(b);
    int64_t rows[3][LENGTH_MAX + 1];
    if (n > LENGTH_MAX || m > LENGTH_MAX || n - m > limit || m - n > limit) return limit + 1;
    for (int64_t j = 0; j <= m; j++) rows[0][j] = j;
    for (int64_t i = 1; i <= n; i++) {
        int64_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *two_above = rows[(i + 1) % 3];
        row[0] = i;
        for (int64_t j = 1; j <= m; j++) {
            int64_t best = above[j - 1] + (a[i - 1] != b[j - 1]);
            best = MIN_OF(best, MIN_OF(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                best = MIN_OF(best, two_above[j - 2] + 1);
            row[j] = best;
        }
    }
    return MIN_OF(rows[n % 3][m], limit + 1);
}

/* A third of the letters may differ, three at most. */
void similar_init(Similar *s, const char *wanted) {
    int64_t n = (int64_t)strlen(wanted);
    *s = (Similar){.wanted = wanted, .distance = MIN_OF((n + 1) / 3, 3) + 1};
    if (n < 2) s->distance = 0;
}

void similar_offer(Similar *s, const char *name) {
    if (s->distance <= 0) return;
    int64_t d = similar_distance(s->wanted, name, s->distance - 1);
    if (d >= s->distance) return;
    s->distance = d;
    s->best = name;
}
