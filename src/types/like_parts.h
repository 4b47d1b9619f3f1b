/* like_parts.h - the inside of a compiled LIKE pattern, for code that matches it elsewhere (codegen/like_code.c). */
#ifndef STELE_TYPES_LIKE_PARTS_H
#define STELE_TYPES_LIKE_PARTS_H

#include "types/type.h"

typedef struct LikeRun { /* what stands between two % */
    const char *bytes;
    const uint8_t *any; /* per byte: 1 = '_', any one character; NULL when the run has none */
    int64_t len, chars, min_bytes;
} LikeRun;
typedef struct LikeParts {
    bool fold;                 /* ILIKE: the runs are folded and the subject must be, too */
    bool open_start, open_end; /* % at the start, at the end */
    int64_t min_bytes, n_runs;
} LikeParts;
LikeParts like_parts(const LikePattern *p);
LikeRun like_run(const LikePattern *p, int64_t i); /* borrows from p */

#endif
