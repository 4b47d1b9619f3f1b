/* ki_value.h - values of the device interpreter: 128 bits each, whatever their type (ki_codes.h), and what is done to
 * them by phys. */
#ifndef KI_VALUE_H
#define KI_VALUE_H
#include "codegen/prelude/interp/ki_codes.h"
#include "codegen/prelude/kc_gen.h"

/* Functions that read parameters take them under the name they have in a kernel, so that P, PI and RAISE work there. */
#if defined(KC_CUDA)
#define KARGS const KernelParams &kp
#elif defined(KC_OPENCL)
#define KARGS __global const ulong *kp
#else
#define KARGS const u64 *kp
#endif

typedef struct val {
    u64 lo, hi;
} val;
typedef struct Frame { /* one item's machine */
    val r[BC_REGS];
    u64 ok;   /* validity bits */
    u64 code; /* address */
    u64 row, rec, tno;
    u32 spin;
} Frame;
#define WORD(i) (GRO(u32, f->code)[i])
#define CODE(i) (GRO(u32, code)[i])

FN val val_make(u64 lo, u64 hi) {
    val v;
    v.lo = lo;
    v.hi = hi;
    return v;
}
FN val val_i64(i64 x) { return val_make((u64)x, (u64)(x >> 63)); } /* as I128 too */
FN val val_i128(i128 x) { return val_make(i128_lo(x), i128_hi(x)); }
FN val val_f64(f64 x) { return val_make(f64_bits(x), 0); }
FN i128 as_i128(val v) { return i128_from_limbs(v.lo, v.hi); }
FN f64 as_f64(val v) { return bits_f64(v.lo); }
FN str as_str(val v) { return str_make(v.lo, (i64)v.hi); }
FN iv as_iv(val v) { return iv_make((i64)v.lo, (i32)(u32)v.hi, (i32)(u32)(v.hi >> 32)); }
FN uuid as_uuid_val(val v) { return uuid_make(v.lo, v.hi); }
FN val val_str(str s) { return val_make(s.ptr, (u64)s.len); }

FN bool is_ok(PRIV Frame *f, u32 r) { return (f->ok >> r & 1) != 0; }
FN bool is_true(PRIV Frame *f, u32 r) { return is_ok(f, r) && f->r[r].lo != 0; }
FN void set_reg(PRIV Frame *f, u32 r, val v, bool ok) {
    u64 bit = (u64)1 << r;
    f->r[r] = v;
    f->ok = ok ? f->ok | bit : f->ok & ~bit;
}

/* An integer cut to its width; I128 in two limbs is made from 64 bits by its sign. */
FN val val_cut(u32 phys, i64 x) {
    switch (phys) {
    case KI_BOOL: return val_make((u64)(x != 0), 0);
    case KI_I16: return val_i64((i64)(i16)x);
    case KI_I32: return val_i64((i64)(i32)x);
    default: return val_i64(x);
    }
}
/* Between what is stored and what a register wants; integers wrap. */
FN_BIG val val_convert(u32 from, u32 to, val v) {
    if (from == to) return v;
    if (from == KI_F32 || from == KI_F64) {
        f64 d = as_f64(v);
        if (to == KI_F64) return v;
        if (to == KI_F32) return val_f64((f64)(f32)d);
        return to == KI_BOOL ? val_make((u64)(d != 0), 0) : val_cut(to, (i64)d);
    }
    if (from == KI_I128 && to == KI_BOOL) return val_make((u64)((v.lo | v.hi) != 0), 0);
    if (to == KI_F64) return val_f64(from == KI_I128 ? i128_to_f64(as_i128(v)) : (f64)(i64)v.lo);
    if (to == KI_F32) return val_f64(from == KI_I128 ? (f64)i128_to_f32(as_i128(v)) : (f64)(f32)(i64)v.lo);
    return val_cut(to, (i64)v.lo);
}

/* Cells side by side in memory. NOW: others may be writing. */
#define KI_LOAD(NAME, M)                                                    \
    FN_BIG val NAME(u32 phys, u64 at, u64 i) {                              \
        switch (phys) {                                                     \
        case KI_BOOL: return val_make((u64)(M(u8, at)[i] != 0), 0);         \
        case KI_I16: return val_i64((i64)M(i16, at)[i]);                    \
        case KI_I32: return val_i64((i64)M(i32, at)[i]);                    \
        case KI_I64: return val_i64(M(i64, at)[i]);                         \
        case KI_F32: return val_f64((f64)M(f32, at)[i]);                    \
        case KI_F64: return val_f64(M(f64, at)[i]);                         \
        default: return val_make(M(u64, at)[2 * i], M(u64, at)[2 * i + 1]); \
        }                                                                   \
    }
KI_LOAD(load_cell, G)
KI_LOAD(load_cell_now, GVOL)
FN_BIG void store_cell(u32 phys, u64 at, u64 i, val v) {
    switch (phys) {
    case KI_BOOL: G(u8, at)[i] = (u8)(v.lo != 0); break;
    case KI_I16: G(i16, at)[i] = (i16)v.lo; break;
    case KI_I32: G(i32, at)[i] = (i32)v.lo; break;
    case KI_I64: G(u64, at)[i] = v.lo; break;
    case KI_F32: G(f32, at)[i] = (f32)as_f64(v); break;
    case KI_F64: G(u64, at)[i] = v.lo; break;
    default: G(u64, at)[2 * i] = v.lo; G(u64, at)[2 * i + 1] = v.hi;
    }
}

FN_BIG i32 val_cmp(u32 phys, val a, val b) {
    switch (phys) {
    case KI_I128: return i128_cmp(as_i128(a), as_i128(b));
    case KI_F32:
    case KI_F64: return cmp_f64(as_f64(a), as_f64(b));
    case KI_STR: return str_cmp(as_str(a), as_str(b));
    case KI_INTERVAL: return iv_cmp(as_iv(a), as_iv(b));
    case KI_UUID: return uuid_cmp(as_uuid_val(a), as_uuid_val(b));
    default: return (i32)((i64)a.lo > (i64)b.lo) - (i32)((i64)a.lo < (i64)b.lo);
    }
}
FN bool val_eq(u32 phys, val a, val b) {
    return phys == KI_STR ? str_eq(as_str(a), as_str(b)) : val_cmp(phys, a, b) == 0;
}
FN_BIG u64 val_hash(u32 phys, val v) {
    switch (phys) {
    case KI_I128: return hash_i128(as_i128(v));
    case KI_F32:
    case KI_F64: return hash_f64(as_f64(v));
    case KI_STR: return hash_str(as_str(v));
    case KI_INTERVAL: return hash_iv(as_iv(v));
    case KI_UUID: return hash_uuid(as_uuid_val(v));
    default: return hash_i64((i64)v.lo);
    }
}

/* A column of the current tablet at the current row. */
FN bool column_ok(u64 columns, u32 tno, u64 row) {
    u64 v = GRO_COL(columns, tno, validity);
    return v == 0 || bit_at(v, (i64)row);
}
FN_BIG val column_value(u64 columns, u32 tno, u64 row, PRIV u32 *phys) {
    u64 data = GRO_COL(columns, tno, data), map = GRO_COL(columns, tno, patches);
    u64 patch = map != 0 ? patch_cell(map, row, GRO(u32, map)[65]) : 0;
    if (patch != 0) {
        *phys = GRO(u32, map)[64];
        return load_cell(*phys, patch, 0);
    }
    u32 form = (u32)GRO_COL(columns, tno, form);
    *phys = KI_I64;
    if (form < KI_FORM_PLAIN) {
        const u32 width = form < 4    ? (1u << form) >> 1
                          : form == 4 ? 8u
                          : form == 5 ? 16u
                          : form == 6 ? 24u
                          : form == 7 ? 32u
                                      : 64u;
        return val_i64((i64)(GRO_COL(columns, tno, base) + unpack(width, data, (i64)row)));
    }
    if (form == KI_FORM_STR || form == KI_FORM_OPEN_STR) {
        *phys = KI_STR;
        return val_str(form == KI_FORM_STR ? column_str(data, GRO_COL(columns, tno, var), row) : open_str(data, row));
    }
    if (form >= KI_FORM_STRIDED) {
        const u64 cell = data + row * COL_STRIDE(columns, tno);
        *phys = form - KI_FORM_STRIDED;
        return *phys == KI_STR ? val_str(open_str(cell, 0)) : load_cell(*phys, cell, 0);
    }
    *phys = form - KI_FORM_PLAIN;
    return load_cell(*phys, data, row);
}

#endif
