/* ki_expr.h - expressions of the device interpreter. What can fail returns a KE_ kind, as in the prelude. */
#ifndef KI_EXPR_H
#define KI_EXPR_H
#include "codegen/prelude/interp/ki_value.h"

FN_BIG u32 arith_i128(u32 op, i128 x, i128 y, PRIV val *out) {
    i128 r = i128_from_i64(0);
    u32 bad = 0;
    switch (op) {
    case BC_ADD: bad = ovf_add_i128(x, y, &r); break;
    case BC_SUB: bad = ovf_sub_i128(x, y, &r); break;
    case BC_MUL: bad = ovf_mul_i128(x, y, &r); break;
    case BC_DIV: bad = ovf_div_i128(x, y, &r); break;
    case BC_MOD: bad = ovf_mod_i128(x, y, &r); break;
    case BC_NEG: bad = ovf_neg_i128(x, &r); break;
    case BC_ABS: bad = ovf_abs_i128(x, &r); break;
    case BC_ADD_N: r = i128_add(x, y); break;
    case BC_SUB_N: r = i128_sub(x, y); break;
    default: r = i128_mul(x, y);
    }
    *out = val_i128(r);
    return bad;
}
#define KI_FLOAT_ARITH(T)                                   \
    FN_BIG u32 arith_##T(u32 op, T x, T y, PRIV val *out) { \
        T r = 0;                                            \
        u32 bad = 0;                                        \
        switch (op) {                                       \
        case BC_ADD: bad = ovf_add_##T(x, y, &r); break;    \
        case BC_SUB: bad = ovf_sub_##T(x, y, &r); break;    \
        case BC_MUL: bad = ovf_mul_##T(x, y, &r); break;    \
        case BC_DIV: bad = ovf_div_##T(x, y, &r); break;    \
        case BC_NEG: r = neg_##T(x); break;                 \
        default: r = abs_##T(x);                            \
        }                                                   \
        *out = val_f64((f64)r);                             \
        return bad;                                         \
    }
KI_FLOAT_ARITH(f32)
KI_FLOAT_ARITH(f64)
/* Narrow integers in 64 bits, then checked against their own width. */
FN_BIG u32 arith_int(u32 op, u32 phys, i64 x, i64 y, PRIV val *out) {
    i64 r = 0;
    u32 bad = 0;
    switch (op) {
    case BC_ADD: bad = ovf_add_i64(x, y, &r); break;
    case BC_SUB: bad = ovf_sub_i64(x, y, &r); break;
    case BC_MUL: bad = ovf_mul_i64(x, y, &r); break;
    case BC_DIV: bad = ovf_div_i64(x, y, &r); break;
    case BC_MOD: bad = ovf_mod_i64(x, y, &r); break;
    case BC_NEG: bad = ovf_neg_i64(x, &r); break;
    case BC_ABS: bad = ovf_abs_i64(x, &r); break;
    case BC_ADD_N: r = wrap_add_i64(x, y); break;
    case BC_SUB_N: r = wrap_sub_i64(x, y); break;
    case BC_MUL_N: r = wrap_mul_i64(x, y); break;
    case BC_BIT_AND: r = x & y; break;
    case BC_BIT_OR: r = x | y; break;
    case BC_BIT_XOR: r = x ^ y; break;
    case BC_BIT_NOT: r = ~x; break;
    case BC_SHL: r = phys == KI_I64 ? shl_i64(x, y) : (i64)shl_i32((i32)x, (i32)y); break;
    case BC_SHR: r = phys == KI_I64 ? shr_i64(x, y) : (i64)shr_i32((i32)x, (i32)y); break;
    default: /* BC_MUL_WIDE */ *out = phys == KI_I32 ? val_i64(x * y) : val_i128(i128_mul64(x, y)); return 0;
    }
    *out = val_cut(phys, r);
    if (op < BC_ADD_N && bad == 0 && (i64)out->lo != r) bad = KE_RANGE;
    return bad;
}
FN u32 arith(u32 op, u32 phys, val a, val b, PRIV val *out) {
    if (phys <= KI_I64) return arith_int(op, phys, (i64)a.lo, (i64)b.lo, out);
    if (phys == KI_I128) return arith_i128(op, as_i128(a), as_i128(b), out);
    if (phys == KI_F32) return arith_f32(op, (f32)as_f64(a), (f32)as_f64(b), out);
    return arith_f64(op, as_f64(a), as_f64(b), out);
}

/* CVT. A real is a double here; rounding it to an integer is the same. */
FN_BIG u32 checked_convert(u32 from, u32 to, val v, PRIV val *out) {
    u32 bad = 0;
    bool flt = from == KI_F32 || from == KI_F64;
    f64 d = flt ? as_f64(v) : 0;
    i64 x = (i64)v.lo;
    *out = v;
    if (from == to) return 0;
    switch (to) {
    case KI_BOOL: *out = val_make((u64)(flt ? d != 0 : from == KI_I128 ? (v.lo | v.hi) != 0 : x != 0), 0); return 0;
    case KI_I16:
    case KI_I32:
    case KI_I64:
        if (flt) bad = cvt_f64_i64(d, &x);
        else if (from == KI_I128) bad = cvt_i128_i64(as_i128(v), &x);
        *out = val_cut(to, x);
        return bad ? bad : (u32)((i64)out->lo != x);
    case KI_I128: {
        i128 w;
        if (!flt) return 0; /* both limbs are there */
        bad = cvt_f64_i128(d, &w);
        *out = val_i128(w);
        return bad;
    }
    case KI_F32: {
        f32 r;
        if (from == KI_F64) bad = cvt_f64_f32(d, &r);
        else if (from == KI_I128) bad = cvt_i128_f32(as_i128(v), &r);
        else r = (f32)x;
        *out = val_f64((f64)r);
        return bad;
    }
    default:
        if (!flt) *out = val_f64(from == KI_I128 ? i128_to_f64(as_i128(v)) : (f64)x);
        return 0;
    }
}

FN_BIG u32 numeric_op(u32 op, u32 phys, u32 to, val a, val b, i32 x, i32 y, i32 z, PRIV val *out) {
    i128 w = i128_from_i64(0);
    i64 n = 0;
    u32 bad = 0;
    switch (op) {
    case BC_RESCALE:
        if (to == KI_I64)
            bad = phys == KI_I64 ? rescale_i64_i64((i64)a.lo, x, y, z, &n) : rescale_i128_i64(as_i128(a), x, y, z, &n);
        else
            bad =
                phys == KI_I64 ? rescale_i64_i128((i64)a.lo, x, y, z, &w) : rescale_i128_i128(as_i128(a), x, y, z, &w);
        break;
    case BC_NUM_DIV: bad = num_div(as_i128(a), as_i128(b), x, y, z, &w); break;
    case BC_NUM_MUL: bad = num_mul(as_i128(a), as_i128(b), x, y, z, &w); break;
    case BC_F64_TO_NUM:
        if (to == KI_I64) bad = f64_to_num_i64(as_f64(a), y, z, &n);
        else bad = f64_to_num_i128(as_f64(a), y, z, &w);
        break;
    default: /* BC_NUM_TO_F64 */
        *out = val_f64(phys == KI_I64 ? num_to_f64_i64((i64)a.lo, x) : num_to_f64_i128(as_i128(a), x));
        return 0;
    }
    *out = to == KI_I64 ? val_i64(n) : val_i128(w);
    return bad;
}

FN bool compare(u32 op, u32 phys, val a, val b) {
    if (op == BC_EQ) return val_eq(phys, a, b);
    if (op == BC_NE || op == BC_DISTINCT) return !val_eq(phys, a, b);
    i32 c = val_cmp(phys, a, b);
    return op == BC_LT ? c < 0 : op == BC_LE ? c <= 0 : op == BC_GT ? c > 0 : c >= 0;
}

/* Among n ascending cells. */
FN_BIG bool in_set(u32 phys, u64 cells, i64 n, val x) {
    i64 lo = 0, hi = n;
    while (lo < hi) {
        i64 mid = (lo + hi) >> 1;
        if (val_cmp(phys, load_cell(phys, cells, (u64)mid), x) < 0) lo = mid + 1;
        else hi = mid;
    }
    return lo < n && val_eq(phys, load_cell(phys, cells, (u64)lo), x);
}

FN_BIG u32 call_text(u32 which, val a, val b, val c, PRIV val *out) {
    str s = as_str(a), r = s;
    u32 bad = 0;
    switch (which) {
    case BF_FROM: r = text_from(s, (i32)b.lo); break;
    case BF_PART: bad = text_part(s, (i32)b.lo, (i32)c.lo, &r); break;
    case BF_LEFT: r = text_left(s, (i32)b.lo); break;
    case BF_RIGHT: r = text_right(s, (i32)b.lo); break;
    case BF_CHARS: *out = val_i64((i64)text_chars(s)); return 0;
    case BF_BYTES: *out = val_i64((i64)text_bytes(s)); return 0;
    default: *out = val_make((u64)text_starts(s, as_str(b)), 0); return 0;
    }
    *out = val_str(r);
    return bad;
}

#endif
