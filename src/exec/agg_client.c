/* agg_client.c - the states of clients' aggregates: flat blocks in the rows of groups (types/func.h, AggOps). They
 * merge, spill and stand in windows as those of regressions do (agg_regr.c): by copying bytes.
 */
#include "exec/agg_int.h"

enum { CHUNK = 256, STATE_MAX = 1024 };

Status agg_client_update(const AggCol *c, AggHeap *h, int64_t n, char *const *rows, const Vec *in, const Vec *in2,
                         Err *e) {
    char *states[CHUNK];
    for (int64_t at = 0; at < n; at += CHUNK) {
        int64_t m = MIN_OF(n - at, (int64_t)CHUNK);
        Vec part[2];
        const Vec *const of[2] = {in, in2}, *const given[2] = {&part[0], in2 && in2->data ? &part[1] : NULL};
        for (int k = 0; k < 2; k++) {
            if (!of[k] || !of[k]->data) continue;
            part[k] = *of[k];
            if (part[k].is_const) continue;
            part[k].data = (char *)part[k].data + at * phys_size((Phys)part[k].phys);
            if (part[k].valid) part[k].valid += at;
        }
        for (int64_t i = 0; i < m; i++) states[i] = rows[at + i] + c->off;
        TRY(c->func->agg_ops->update(c->func, m, states, given, h->acct, e));
    }
    return ST_OK;
}

/* Rows that come from disk need not be aligned. */
static const char *aligned(const AggCol *c, const char *row, char *room) {
    const char *p = row + c->off;
    if (((uintptr_t)p & 7) == 0) return p;
    return memcpy(room, p, (size_t)c->func->agg_ops->state_bytes);
}

Status agg_client_merge(const AggCol *c, AggHeap *h, int64_t n, char *const *dst, const char *const *src, Err *e) {
    alignas(16) char room[STATE_MAX];
    dbg_assert(c->func->agg_ops->state_bytes <= STATE_MAX);
    for (int64_t i = 0; i < n; i++) {
        char *into = dst[i] + c->off;
        const char *from = aligned(c, src[i], room);
        TRY(c->func->agg_ops->combine(c->func, 1, &into, &from, h->acct, e));
    }
    return ST_OK;
}

Status agg_client_load(const AggCol *c, const char *const *rows, int64_t first, const int32_t *pos, int64_t n, Vec *out,
                       Arena *a, Err *e) {
    alignas(16) char room[STATE_MAX];
    int64_t size = phys_size((Phys)out->phys);
    bool all = true;
    for (int64_t i = 0; i < n; i++) {
        const char *state = aligned(c, rows[pos ? (int64_t)pos[i] : first + i], room);
        Vec one = *out;
        one.data = (char *)out->data + i * size;
        one.valid = out->valid + i;
        TRY(c->func->agg_ops->finish(c->func, 1, &state, &one, a, e));
        all &= out->valid[i];
    }
    if (all) out->valid = NULL;
    return ST_OK;
}
