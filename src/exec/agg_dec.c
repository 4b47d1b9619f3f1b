/* agg_dec.c - sums of numerics without (p,s).
 *
 * The state is a sum in the stored form (types/dec.h), in the heap: of groups in a buffer that is used again, of window
 * frames (whose results point at it) in a new one for each value. Rows of one group that follow each other are added up
 * before the sum is stored.
 */
#include "exec/agg_int.h"
#include "types/dec.h"

enum { SCRATCH_MAX = 512 << 10 }; /* more than a reset leaves */

typedef struct Adding {
    const AggCol *c;
    AggHeap *heap;
    Arena *scratch;
    char *row; /* whose sum is in `sum`; NULL: none */
    Dec sum;
    Err *e;
} Adding;

static Status store(Adding *a) {
    if (!a->row) return ST_OK;
    Str s;
    char *cell = a->row + a->c->off;
    TRY(dec_encode(a->scratch, &a->sum, &s, a->e));
    a->row[a->c->seen] = 1;
    a->row = NULL;
    if (a->c->copy) return agg_put_str(a->c, a->heap, cell, s, a->e);
    char *p = agg_heap_alloc(a->heap, s.len, a->e);
    if (!p) return ST_ERROR;
    memcpy(p, s.ptr, s.len);
    s.ptr = p;
    memcpy(cell, &s, sizeof s);
    return ST_OK;
}

static Status add(Adding *a, char *row, Str value) {
    Dec x;
    if (row != a->row || arena_bytes(a->scratch) > SCRATCH_MAX) {
        TRY(store(a));
        if (arena_bytes(a->scratch) > SCRATCH_MAX) arena_reset(a->scratch);
        if (row[a->c->seen]) {
            Str s;
            memcpy(&s, row + a->c->off, sizeof s);
            TRY(dec_decode(a->scratch, s, &a->sum, a->e));
        } else {
            a->sum = dec_zero(0);
        }
        a->row = row;
    }
    TRY(dec_decode(a->scratch, value, &x, a->e));
    return dec_add(a->scratch, &a->sum, &x, &a->sum, a->e);
}

Status agg_dec_update(const AggCol *c, AggHeap *h, int64_t n, char *const *rows, const Vec *in, const Vec *in2,
                      Err *e) {
    (void)in2;
    Adding a = {.c = c, .heap = h, .scratch = arena_new(h->acct, e), .e = e};
    if (!a.scratch) return err_is_set(e) ? ST_ERROR : err_oom(e);
    Status st = ST_OK;
    for (int64_t i = 0; i < n && st == ST_OK; i++)
        if (!in->valid || in->valid[i]) st = add(&a, rows[i], ((const Str *)in->data)[i]);
    if (st == ST_OK) st = store(&a);
    arena_free(a.scratch);
    return st;
}
