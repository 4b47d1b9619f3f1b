/* like_code.c - the encoder behind like_code.h: a header, one entry per run, then the runs' bytes and '_' marks. */
#include "codegen/like_code.h"

#include "codegen/prelude/kc_codes.h"
#include "types/like_parts.h"

int64_t like_encoded_bytes(const LikePattern *p) {
    LikeParts parts = like_parts(p);
    if (parts.fold) return 0;
    int64_t n = 4 * (LIKE_HEAD_WORDS + LIKE_RUN_WORDS * parts.n_runs);
    for (int64_t i = 0; i < parts.n_runs; i++) {
        LikeRun r = like_run(p, i);
        n += r.len * (r.any ? 2 : 1);
    }
    n = align_up(n, 8);
    return n <= INT32_MAX ? n : 0;
}

void like_encode(const LikePattern *p, void *out) {
    LikeParts parts = like_parts(p);
    int64_t total = like_encoded_bytes(p), at = 4 * (LIKE_HEAD_WORDS + LIKE_RUN_WORDS * parts.n_runs);
    char *bytes = out;
    uint32_t *w = out;
    memset(out, 0, (size_t)total);
    w[0] = (uint32_t)parts.n_runs;
    w[1] = (parts.open_start ? LIKE_OPEN_START : 0) | (parts.open_end ? LIKE_OPEN_END : 0);
    w[2] = (uint32_t)parts.min_bytes;
    w[3] = (uint32_t)total;
    w += LIKE_HEAD_WORDS;
    for (int64_t i = 0; i < parts.n_runs; i++, w += LIKE_RUN_WORDS) {
        LikeRun r = like_run(p, i);
        w[0] = (uint32_t)at;
        w[2] = (uint32_t)r.len;
        w[3] = (uint32_t)r.chars;
        w[4] = (uint32_t)r.min_bytes;
        if (r.len) memcpy(bytes + at, r.bytes, (size_t)r.len);
        at += r.len;
        if (!r.any) continue;
        w[1] = (uint32_t)at;
        memcpy(bytes + at, r.any, (size_t)r.len);
        at += r.len;
    }
}
