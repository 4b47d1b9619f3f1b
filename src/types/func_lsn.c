/* func_lsn.c - pg_lsn: its text, and what is computed of places in a log and distances between them.
 *
 * A distance is a numeric, since there are more of them than a bigint has. It is added as a numeric is, and rounded
 * then.
 */
#include "types/chars.h"
#include "types/dec.h"
#include "types/func_int.h"
#include "types/lsn.h"

/* ---- text ---------------------------------------------------------------------------------------------- */

static int64_t put_hex(uint32_t v, char *out) {
    int digits = 1;
    while (digits < 8 && v >> (4 * digits)) digits++;
    for (int i = 0; i < digits; i++) out[i] = "0123456789ABCDEF"[v >> (4 * (digits - 1 - i)) & 15];
    return digits;
}
int64_t lsn_format(int64_t cell, char *out) {
    const uint64_t x = lsn_number(cell);
    int64_t n = put_hex((uint32_t)(x >> 32), out);
    out[n++] = '/';
    return n + put_hex((uint32_t)x, out + n);
}

/* One to eight digits at *p. */
static bool take_hex(const char **p, const char *end, uint64_t *out) {
    const char *from = *p;
    uint64_t v = 0;
    for (; *p < end && *p - from < 8 && hex_digit(**p) >= 0; ++*p) v = v << 4 | (uint64_t)hex_digit(**p);
    *out = v;
    return *p > from;
}
bool lsn_parse(Slice text, int64_t *cell) {
    const char *p = text.ptr, *end = text.ptr + text.len;
    uint64_t high, low;
    if (!take_hex(&p, end, &high) || p == end || *p++ != '/' || !take_hex(&p, end, &low) || p < end) return false;
    *cell = lsn_cell(high << 32 | low);
    return true;
}

/* ---- functions ----------------------------------------------------------------------------------------- */

static Status dec_of_lsn(FuncCtx *ctx, int64_t cell, Dec *out) {
    return dec_from_i128(ctx->arena, (int128_t)lsn_number(cell), 0, out, ctx->err);
}
static Status lsn_of_dec(FuncCtx *ctx, int64_t i, const Dec *x, int64_t *out) {
    int128_t v;
    FAIL_IF(!dec_is_finite(x), i, ERR_FEATURE_NOT_SUPPORTED, "cannot convert %s to pg_lsn",
            x->kind == DEC_NAN ? "NaN" : "infinity");
    FAIL_IF(dec_to_i128(x, 0, &v) || v < 0 || v > (int128_t)UINT64_MAX, i, ERR_INVALID_PARAMETER,
            "pg_lsn out of range");
    *out = lsn_cell((uint64_t)v);
    return ST_OK;
}

/* The place of argument k, moved by the distance that is the other one. */
static Status moved(FuncCtx *ctx, int64_t i, const Vec *args, int k, bool back, int64_t *out) {
    Dec at, by;
    if (dec_of_lsn(ctx, AT(int64_t, k, i), &at) != ST_OK || func_dec_arg(ctx, &args[1 - k], i, &by) != ST_OK)
        return FAILED(i);
    FAIL_IF(by.kind == DEC_NAN, i, ERR_FEATURE_NOT_SUPPORTED, "cannot %s pg_lsn",
            back ? "subtract NaN from" : "add NaN to");
    Status (*const change)(Arena *, const Dec *, const Dec *, Dec *, Err *) = back ? dec_sub : dec_add;
    if (change(ctx->arena, &at, &by, &at, ctx->err) != ST_OK) return FAILED(i);
    return lsn_of_dec(ctx, i, &at, out);
}
KNF(lsn_plus, int64_t, 0, TRY(moved(ctx, i, args, 0, false, &z));)
KNF(plus_lsn, int64_t, 0, TRY(moved(ctx, i, args, 1, false, &z));)
KNF(lsn_minus, int64_t, 0, TRY(moved(ctx, i, args, 0, true, &z));)
KNF(lsn_distance, Str, STR0, {
    const int128_t by = (int128_t)lsn_number(AT(int64_t, 0, i)) - (int128_t)lsn_number(AT(int64_t, 1, i));
    Dec d;
    if (dec_from_i128(ctx->arena, by, 0, &d, ctx->err) != ST_OK || dec_encode(ctx->arena, &d, &z, ctx->err) != ST_OK)
        return FAILED(i);
})
KNF(lsn_from_number, int64_t, 0, {
    Dec x;
    if (func_dec_arg(ctx, &args[0], i, &x) != ST_OK) return FAILED(i);
    TRY(lsn_of_dec(ctx, i, &x, &z));
})

/* ---- table --------------------------------------------------------------------------------------------- */

/* Numerics with (p,s) and without. */
#define OF_NUMBER(nm, fl, na, fn, dc, ...) \
    DEF(nm, (fl) | SF | FN_ANY_NUMERIC_SCALE, T_LSN, na, ARGS(__VA_ARGS__), OP_NONE, fn, NULL, dc)

static const FuncDef defs[] = {
    OF_NUMBER("+", FN_OPERATOR, 2, lsn_plus, "the place so many bytes behind it", T_LSN, T_NUMERIC),
    OF_NUMBER("+", FN_OPERATOR, 2, lsn_plus, "the place so many bytes behind it", T_LSN, T_DECIMAL),
    OF_NUMBER("+", FN_OPERATOR, 2, plus_lsn, "the place so many bytes behind it", T_NUMERIC, T_LSN),
    OF_NUMBER("+", FN_OPERATOR, 2, plus_lsn, "the place so many bytes behind it", T_DECIMAL, T_LSN),
    OF_NUMBER("-", FN_OPERATOR, 2, lsn_minus, "the place so many bytes before it", T_LSN, T_NUMERIC),
    OF_NUMBER("-", FN_OPERATOR, 2, lsn_minus, "the place so many bytes before it", T_LSN, T_DECIMAL),
    DEF("-", FN_OPERATOR | SF, T_DECIMAL, 2, ARGS(T_LSN, T_LSN), OP_NONE, lsn_distance, NULL,
        "bytes from the second place to the first"),
    DEF("pg_wal_lsn_diff", SF, T_DECIMAL, 2, ARGS(T_LSN, T_LSN), OP_NONE, lsn_distance, NULL,
        "bytes from the second place to the first"),
    OF_NUMBER("pg_lsn", 0, 1, lsn_from_number, "the place with that number", T_NUMERIC),
    OF_NUMBER("pg_lsn", 0, 1, lsn_from_number, "the place with that number", T_DECIMAL),
};
const FuncDefs func_defs_lsn = {defs, ARRAY_LEN(defs)};
