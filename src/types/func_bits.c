/* func_bits.c - bit strings (bits.h): operators, functions, casts from and to integers and other lengths.
 *
 * Results have PostgreSQL's type bit without a length, || has bit varying. A cast gives bit(n) its length: what is too
 * long loses bits on the right, what is too short gains zeros there, and integers are cut and extended on the left.
 */
#include "types/bits.h"
#include "types/func_int.h"

/* A string of n bits, all 0 and not ended; NULL: ctx->err is set. */
static char *zeros(FuncCtx *ctx, int64_t n) {
    if (UNLIKELY(n > BITS_MAX)) {
        err_set(ctx->err, ERR_PROGRAM_LIMIT, "bit string length exceeds the maximum allowed (%lld)",
                (long long)BITS_MAX);
        return NULL;
    }
    const int64_t bytes = bits_bytes(n);
    char *p = ctx_alloc(ctx, bytes);
    if (p) memset(p, 0, (size_t)bytes);
    return p;
}
#define ZEROS(p, n, i)         \
    char *p = zeros(ctx, (n)); \
    if (UNLIKELY(!p)) return FAILED(i)

/* ---- operators -------------------------------------------------------------------------------- */

#define COMBINE(fn, OP)                                                                  \
    K2F(fn, Str, Str, Str, STR0, {                                                       \
        if (UNLIKELY(bits_check_lengths(OP, x, y, ctx->err) != ST_OK)) return FAILED(i); \
        char *p = ctx_alloc(ctx, (int64_t)x.len);                                        \
        if (UNLIKELY(!p)) return FAILED(i);                                              \
        bits_combine(OP, x, y, p);                                                       \
        z = str_make(p, (int64_t)x.len);                                                 \
    })
COMBINE(and_bits, BITS_AND)
COMBINE(or_bits, BITS_OR)
COMBINE(xor_bits, BITS_XOR)

K1F(not_bits, Str, Str, STR0, {
    const int64_t len = bits_length(x);
    ZEROS(p, len, i);
    for (int64_t k = 0; k < len; k++)
        if (!bits_get(x, k)) bits_set(p, k);
    z = bits_end(p, len);
})

/* By n places to the left; bits that leave are lost, and zeros come in. */
static bool shift(FuncCtx *ctx, Str x, int64_t by, Str *z) {
    const int64_t n = bits_length(x), left = MIN_OF(MAX_OF(by, 0), n), right = MIN_OF(MAX_OF(-by, 0), n);
    char *p = zeros(ctx, n);
    if (!p) return false;
    bits_put(p, right, x, left, n - left - right);
    *z = bits_end(p, n);
    return true;
}
K2F(shift_left_bits, Str, int32_t, Str, STR0, {
    if (UNLIKELY(!shift(ctx, x, y, &z))) return FAILED(i);
})
K2F(shift_right_bits, Str, int32_t, Str, STR0, {
    if (UNLIKELY(!shift(ctx, x, -(int64_t)y, &z))) return FAILED(i);
})

/* `head` bits of x, y, and x from bit `tail` on. */
static bool splice(FuncCtx *ctx, Str x, int64_t head, Str y, int64_t tail, Str *z) {
    const int64_t m = bits_length(y), rest = MAX_OF(bits_length(x) - tail, 0);
    char *p = zeros(ctx, head + m + rest);
    if (!p) return false;
    bits_put(p, 0, x, 0, head);
    bits_put(p, head, y, 0, m);
    bits_put(p, head + m, x, tail, rest);
    *z = bits_end(p, head + m + rest);
    return true;
}
K2F(cat_bits, Str, Str, Str, STR0, {
    if (UNLIKELY(!splice(ctx, x, bits_length(x), y, bits_length(x), &z))) return FAILED(i);
})

/* ---- functions -------------------------------------------------------------------------------- */

K1(length_bits, Str, int32_t, bits_length(x))
K1(octet_length_bits, Str, int32_t, (bits_length(x) + 7) / 8)
K1(count_bits, Str, int64_t, bits_count(x))
K2(position_bits, Str, Str, int32_t, bits_position(x, y))

/* Bits from place `from`, which counts from 1, to the one before `end`. */
static bool part(FuncCtx *ctx, Str x, int64_t from, int64_t end, Str *z) {
    from = MAX_OF(from, 1);
    end = MIN_OF(end, bits_length(x) + 1);
    const int64_t n = MAX_OF(end - from, 0);
    char *p = zeros(ctx, n);
    if (!p) return false;
    bits_put(p, 0, x, from - 1, n);
    *z = bits_end(p, n);
    return true;
}
K2F(substring2_bits, Str, int32_t, Str, STR0, {
    if (UNLIKELY(!part(ctx, x, y, INT64_MAX, &z))) return FAILED(i);
})
K2F(substring3_bits, Str, int32_t, Str, STR0, {
    const int32_t len = AT(int32_t, 2, i);
    FAIL_IF(len < 0, i, ERR_SUBSTRING, "negative substring length not allowed");
    if (UNLIKELY(!part(ctx, x, y, (int64_t)y + len, &z))) return FAILED(i);
})

/* overlay(x placing y from p for n) */
static Status overlay(FuncCtx *ctx, int64_t i, Str x, Str y, int64_t p, int64_t n, Str *z) {
    const int64_t len = bits_length(x);
    FAIL_IF(p <= 0, i, ERR_SUBSTRING, "negative substring length not allowed");
    FAIL_IF(p + n > INT32_MAX || p + n < INT32_MIN, i, ERR_NUMERIC_RANGE, "integer out of range");
    if (!splice(ctx, x, MIN_OF(p - 1, len), y, MAX_OF(p - 1 + n, 0), z)) return FAILED(i);
    return ST_OK;
}
K2F(overlay3_bits, Str, Str, Str, STR0, { TRY(overlay(ctx, i, x, y, AT(int32_t, 2, i), bits_length(y), &z)); })
K2F(overlay4_bits, Str, Str, Str, STR0, { TRY(overlay(ctx, i, x, y, AT(int32_t, 2, i), AT(int32_t, 3, i), &z)); })

#define INDEX_OK(x, y, i)                                                                                              \
    FAIL_IF(y < 0 || y >= bits_length(x), i, ERR_ARRAY_SUBSCRIPT, "bit index %d out of valid range (0..%lld)", (int)y, \
            (long long)bits_length(x) - 1)
K2F(get_bit_bits, Str, int32_t, int32_t, 0, {
    INDEX_OK(x, y, i);
    z = bits_get(x, y);
})
K2F(set_bit_bits, Str, int32_t, Str, STR0, {
    INDEX_OK(x, y, i);
    const int32_t bit = AT(int32_t, 2, i);
    FAIL_IF(bit != 0 && bit != 1, i, ERR_INVALID_PARAMETER, "new bit must be 0 or 1");
    char *p = ctx_alloc(ctx, (int64_t)x.len);
    if (UNLIKELY(!p)) return FAILED(i);
    memcpy(p, x.ptr, x.len);
    const int shift_by = BITS_GROUP - y % BITS_GROUP;
    const unsigned byte = (unsigned char)p[y / BITS_GROUP];
    p[y / BITS_GROUP] = (char)((byte & ~(1U << shift_by)) | (unsigned)bit << shift_by);
    z = str_make(p, (int64_t)x.len);
})

/* ---- casts ---------------------------------------------------------------------------------------- */

/* x as ctx->ret has it. */
static bool cut(FuncCtx *ctx, Str x, Str *z) {
    const int64_t have = bits_length(x), want = ctx->ret.length;
    *z = x;
    if (want <= 0 || have == want || (ctx->ret.id == T_VARBIT && have < want)) return true;
    char *p = zeros(ctx, want);
    if (!p) return false;
    bits_put(p, 0, x, 0, MIN_OF(have, want));
    *z = bits_end(p, want);
    return true;
}
Status func_bits_to_bits_explicit(FuncCtx *ctx, int64_t n, const Vec *args, int nargs, Vec *out) {
    (void)nargs;
    for (int64_t i = 0; i < n; i++) {
        Str *z = (Str *)out->data + i;
        *z = STR0;
        if (row_valid(out, i) && !cut(ctx, AT(Str, 0, i), z)) return FAILED(i);
    }
    return ST_OK;
}
Status func_bits_to_bits(FuncCtx *ctx, int64_t n, const Vec *args, int nargs, Vec *out) {
    (void)nargs;
    for (int64_t i = 0; i < n; i++) {
        Str *z = (Str *)out->data + i;
        *z = STR0;
        if (!row_valid(out, i)) continue;
        *z = AT(Str, 0, i);
        if (bits_check_fit(ctx->ret, bits_length(*z), ctx->err) != ST_OK) return FAILED(i);
    }
    return ST_OK;
}
Status func_text_to_bits(FuncCtx *ctx, int64_t n, const Vec *args, int nargs, Vec *out) {
    (void)nargs;
    for (int64_t i = 0; i < n; i++) {
        Str *z = (Str *)out->data + i, x;
        *z = STR0;
        if (!row_valid(out, i)) continue;
        if (bits_parse(type_make(T_VARBIT), slice_of_str(AT(Str, 0, i)), ctx->arena, &x, ctx->err) != ST_OK ||
            !cut(ctx, x, z))
            return FAILED(i);
    }
    return ST_OK;
}

/* Two's complement in n bits: its sign on the left, or its lower bits. */
Status func_int_to_bits(FuncCtx *ctx, int64_t n, const Vec *args, int nargs, Vec *out) {
    (void)nargs;
    const int64_t len = MAX_OF(ctx->ret.length, 1);
    for (int64_t i = 0; i < n; i++) {
        Str *z = (Str *)out->data + i;
        *z = STR0;
        if (!row_valid(out, i)) continue;
        const int64_t v = args[0].phys == PH_I32 ? AT(int32_t, 0, i) : AT(int64_t, 0, i);
        ZEROS(p, len, i);
        for (int64_t k = 0; k < len; k++)
            if (v >> MIN_OF(len - 1 - k, 63) & 1) bits_set(p, k);
        *z = bits_end(p, len);
    }
    return ST_OK;
}
Status func_bits_to_int(FuncCtx *ctx, int64_t n, const Vec *args, int nargs, Vec *out) {
    (void)nargs;
    const bool wide = ctx->ret.id == T_INT8;
    for (int64_t i = 0; i < n; i++) {
        uint64_t v = 0;
        if (row_valid(out, i)) {
            const Str x = AT(Str, 0, i);
            const int64_t len = bits_length(x);
            FAIL_IF(len > (wide ? 64 : 32), i, ERR_NUMERIC_RANGE, "%s out of range", wide ? "bigint" : "integer");
            for (int64_t k = 0; k < len; k++) v = v << 1 | (uint64_t)bits_get(x, k);
        }
        if (wide) ((int64_t *)out->data)[i] = (int64_t)v;
        else ((int32_t *)out->data)[i] = (int32_t)(uint32_t)v;
    }
    return ST_OK;
}

/* ---- table ---------------------------------------------------------------------------------------- */

#define OPF (FN_OPERATOR | SF)
#define BB ARGS(T_BIT, T_BIT)
#define BI ARGS(T_BIT, T_INT4)
static const FuncDef defs[] = {
    DEF("&", OPF, T_BIT, 2, BB, OP_NONE, and_bits, NULL, "bitwise and"),
    DEF("|", OPF, T_BIT, 2, BB, OP_NONE, or_bits, NULL, "bitwise or"),
    DEF("#", OPF, T_BIT, 2, BB, OP_NONE, xor_bits, NULL, "bitwise exclusive or"),
    DEF("~", OPF, T_BIT, 1, ARGS(T_BIT), OP_NONE, not_bits, NULL, "bitwise not"),
    DEF("<<", OPF, T_BIT, 2, BI, OP_NONE, shift_left_bits, NULL, "bits moved to the left"),
    DEF(">>", OPF, T_BIT, 2, BI, OP_NONE, shift_right_bits, NULL, "bits moved to the right"),
    DEF("||", OPF, T_VARBIT, 2, ARGS(T_VARBIT, T_VARBIT), OP_NONE, cat_bits, NULL, "concatenation"),
    DEF("length", S_, T_INT4, 1, ARGS(T_BIT), OP_NONE, length_bits, NULL, "bits"),
    DEF("bit_length", S_, T_INT4, 1, ARGS(T_BIT), OP_NONE, length_bits, NULL, "bits"),
    DEF("octet_length", S_, T_INT4, 1, ARGS(T_BIT), OP_NONE, octet_length_bits, NULL, "bytes that the bits take"),
    DEF("substring", SF, T_BIT, 2, BI, OP_NONE, substring2_bits, NULL, "from a position on"),
    DEF("substring", SF, T_BIT, 3, ARGS(T_BIT, T_INT4, T_INT4), OP_NONE, substring3_bits, NULL, "part of a bit string"),
    DEF("position", S_, T_INT4, 2, BB, OP_NONE, position_bits, NULL,
        "where the second argument is in the first, 0 when it is not"),
    DEF("overlay", SF, T_BIT, 3, ARGS(T_BIT, T_BIT, T_INT4), OP_NONE, overlay3_bits, NULL, "part replaced"),
    DEF("overlay", SF, T_BIT, 4, ARGS(T_BIT, T_BIT, T_INT4, T_INT4), OP_NONE, overlay4_bits, NULL, "part replaced"),
    DEF("get_bit", SF, T_INT4, 2, BI, OP_NONE, get_bit_bits, NULL, "n-th bit"),
    DEF("set_bit", SF, T_BIT, 3, ARGS(T_BIT, T_INT4, T_INT4), OP_NONE, set_bit_bits, NULL, "with another n-th bit"),
    DEF("bit_count", S_, T_INT8, 1, ARGS(T_BIT), OP_NONE, count_bits, NULL, "number of bits that are set"),
};
const FuncDefs func_defs_bits = {defs, ARRAY_LEN(defs)};
