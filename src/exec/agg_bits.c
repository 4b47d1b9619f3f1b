/* agg_bits.c - bit_and, bit_or and bit_xor of bit strings.
 *
 * The state is a bit string in the stored form (types/bits.h). That of a group lies in the heap and is changed in
 * place; results of window frames point at their states, so that each of these is new.
 */
#include "exec/agg_int.h"
#include "types/bits.h"

static Status combine(const AggCol *c, AggHeap *h, char *cell, BitsOp op, Str v, Err *e) {
    Str s;
    memcpy(&s, cell, sizeof s);
    TRY(bits_check_lengths(op, s, v, e));
    char *to = c->copy ? (char *)(uintptr_t)s.ptr : agg_heap_alloc(h, s.len, e);
    if (!to) return ST_ERROR;
    bits_combine(op, s, v, to);
    s = str_make(to, s.len);
    memcpy(cell, &s, sizeof s);
    return ST_OK;
}

Status agg_bits_update(const AggCol *c, AggHeap *h, int64_t n, char *const *rows, const Vec *in, const Vec *in2,
                       Err *e) {
    (void)in2;
    const BitsOp op = c->op == AO_BIT_AND ? BITS_AND : c->op == AO_BIT_OR ? BITS_OR : BITS_XOR;
    const Str *x = in->data;
    for (int64_t i = 0; i < n; i++) {
        if (in->valid && !in->valid[i]) continue;
        char *cell = rows[i] + c->off, *seen = rows[i] + c->seen;
        if (*seen) TRY(combine(c, h, cell, op, x[i], e));
        else TRY(agg_put_str(c, h, cell, x[i], e));
        *seen = 1;
    }
    return ST_OK;
}
