/* test_kernelc.c - one text, four compilers: kernels that use every function of the prelude, compiled into this test,
 * by the host device's C compiler, by OpenCL (when there is a platform) and by NVRTC for sm_80 and sm_90 (when it is
 * there; nothing is run). All that run must agree with this test's own, which test_prelude compares with the virtual
 * machine.
 *
 * OpenCL is spoken directly, with plain buffers, so that the kernels also run under oclgrind, which has no shared
 * memory and whose races and divergence checks are the point (README of the prelude has the command).
 */

/* The kernels, as text before any header can define a macro that occurs in them (bool), and below as code. in: 12 u64 a
 * row, out: OUT_WORDS. */
#define OUT_WORDS 120
#define HELPERS                                                                                                \
    FN u64 put(u64 o, u64 v) {                                                                                 \
        G(u64, o)[0] = v;                                                                                      \
        return o + 8;                                                                                          \
    }                                                                                                          \
    FN u64 put_int(u64 o, u32 kind, i64 v) { return put(o, kind ? U64C(0xee00000000000000) + kind : (u64)v); } \
    FN u64 put_f64(u64 o, u32 kind, f64 v) {                                                                   \
        return put(o, kind ? U64C(0xee00000000000000) + kind : v != v ? 1 : f64_bits(v));                      \
    }                                                                                                          \
    FN u64 put_i128(u64 o, u32 kind, i128 v) {                                                                 \
        o = put(o, kind ? kind : i128_lo(v));                                                                  \
        return put(o, kind ? U64C(0xee) : i128_hi(v));                                                         \
    }
#define ROW_LOOP                                                                       \
    i64 n = PI(1);                                                                     \
    for (i64 row = (i64)(GID * LSIZE + LID); row < n; row += (i64)(NGROUPS * LSIZE)) { \
        u64 in = P(2) + (u64)row * 96;                                                 \
        u64 o = P(3) + (u64)row * OUT_WORDS * 8;                                       \
        i64 a = GRO(i64, in)[0], b = GRO(i64, in)[1];                                  \
        i128 x = ld_i128(in + 16), y = ldro_i128(in + 32);                             \
        f64 d = G(f64, in)[6], e = G(f64, in)[7];

#define INTEGERS                                                                                         \
    KERNEL(integers) {                                                                                   \
        ROW_LOOP                                                                                         \
        i16 r16;                                                                                         \
        i32 r32;                                                                                         \
        i64 r64;                                                                                         \
        i128 r;                                                                                          \
        bool r1;                                                                                         \
        f32 s;                                                                                           \
        f64 t;                                                                                           \
        i16 a16 = (i16)a, b16 = (i16)b;                                                                  \
        i32 a32 = (i32)a, b32 = (i32)b;                                                                  \
        u32 k = ovf_add_i16(a16, b16, &r16);                                                             \
        o = put_int(o, k, r16);                                                                          \
        k = ovf_sub_i16(a16, b16, &r16);                                                                 \
        o = put_int(o, k, r16);                                                                          \
        k = ovf_mul_i16(a16, b16, &r16);                                                                 \
        o = put_int(o, k, r16);                                                                          \
        k = ovf_div_i16(a16, b16, &r16);                                                                 \
        o = put_int(o, k, r16);                                                                          \
        k = ovf_mod_i16(a16, b16, &r16);                                                                 \
        o = put_int(o, k, r16);                                                                          \
        k = ovf_neg_i16(a16, &r16);                                                                      \
        o = put_int(o, k, r16);                                                                          \
        k = ovf_abs_i16(a16, &r16);                                                                      \
        o = put_int(o, k, r16);                                                                          \
        k = ovf_add_i32(a32, b32, &r32);                                                                 \
        o = put_int(o, k, r32);                                                                          \
        k = ovf_sub_i32(a32, b32, &r32);                                                                 \
        o = put_int(o, k, r32);                                                                          \
        k = ovf_mul_i32(a32, b32, &r32);                                                                 \
        o = put_int(o, k, r32);                                                                          \
        k = ovf_div_i32(a32, b32, &r32);                                                                 \
        o = put_int(o, k, r32);                                                                          \
        k = ovf_mod_i32(a32, b32, &r32);                                                                 \
        o = put_int(o, k, r32);                                                                          \
        k = ovf_neg_i32(a32, &r32);                                                                      \
        o = put_int(o, k, r32);                                                                          \
        k = ovf_abs_i32(a32, &r32);                                                                      \
        o = put_int(o, k, r32);                                                                          \
        k = ovf_add_i64(a, b, &r64);                                                                     \
        o = put_int(o, k, r64);                                                                          \
        k = ovf_sub_i64(a, b, &r64);                                                                     \
        o = put_int(o, k, r64);                                                                          \
        k = ovf_mul_i64(a, b, &r64);                                                                     \
        o = put_int(o, k, r64);                                                                          \
        k = ovf_div_i64(a, b, &r64);                                                                     \
        o = put_int(o, k, r64);                                                                          \
        k = ovf_mod_i64(a, b, &r64);                                                                     \
        o = put_int(o, k, r64);                                                                          \
        k = ovf_neg_i64(a, &r64);                                                                        \
        o = put_int(o, k, r64);                                                                          \
        k = ovf_abs_i64(a, &r64);                                                                        \
        o = put_int(o, k, r64);                                                                          \
        k = ovf_add_i128(x, y, &r);                                                                      \
        o = put_i128(o, k, r);                                                                           \
        k = ovf_sub_i128(x, y, &r);                                                                      \
        o = put_i128(o, k, r);                                                                           \
        k = ovf_mul_i128(x, y, &r);                                                                      \
        o = put_i128(o, k, r);                                                                           \
        k = ovf_div_i128(x, y, &r);                                                                      \
        o = put_i128(o, k, r);                                                                           \
        k = ovf_mod_i128(x, y, &r);                                                                      \
        o = put_i128(o, k, r);                                                                           \
        k = ovf_neg_i128(x, &r);                                                                         \
        o = put_i128(o, k, r);                                                                           \
        k = ovf_abs_i128(x, &r);                                                                         \
        o = put_i128(o, k, r);                                                                           \
        o = put(o, (u64)wrap_add_i16(a16, b16) ^ (u64)wrap_sub_i32(a32, b32) ^ (u64)wrap_mul_i64(a, b)); \
        o = put(o, (u64)bitand_i16(a16, b16) ^ (u64)bitor_i32(a32, b32) ^ (u64)bitxor_i64(a, b));        \
        o = put(o, (u64)shl_i16(a16, b16) ^ (u64)shl_i32(a32, b32) ^ (u64)shl_i64(a, b));                \
        o = put(o, (u64)shr_i16(a16, b16) ^ (u64)shr_i32(a32, b32) ^ (u64)shr_i64(a, b));                \
        o = put(o, (u64)bitnot_i16(a16) ^ (u64)bitnot_i32(b32) ^ (u64)bitnot_i64(a));                    \
        o = put(o, (u64)mul_wide_i32(a32, b32));                                                         \
        o = put_i128(o, 0, mul_wide_i64(a, b));                                                          \
        o = put_i128(o, 0, i128_shl(x, (u32)b & 127u));                                                  \
        o = put_i128(o, 0, i128_shr(x, (u32)b & 127u));                                                  \
        o = put(o, (u64)(i64)i128_cmp(x, y));                                                            \
        o = put(o, (u64)i128_eq(x, y));                                                                  \
        k = cvt_i32_i16(a32, &r16);                                                                      \
        o = put_int(o, k, r16);                                                                          \
        k = cvt_i64_i16(a, &r16);                                                                        \
        o = put_int(o, k, r16);                                                                          \
        k = cvt_i64_i32(a, &r32);                                                                        \
        o = put_int(o, k, r32);                                                                          \
        k = cvt_i128_i16(x, &r16);                                                                       \
        o = put_int(o, k, r16);                                                                          \
        k = cvt_i128_i32(x, &r32);                                                                       \
        o = put_int(o, k, r32);                                                                          \
        k = cvt_i128_i64(x, &r64);                                                                       \
        o = put_int(o, k, r64);                                                                          \
        k = cvt_i64_bool(a, &r1);                                                                        \
        o = put_int(o, k, r1);                                                                           \
        k = cvt_i128_bool(x, &r1);                                                                       \
        o = put_int(o, k, r1);                                                                           \
        k = cvt_i64_i128(a, &r);                                                                         \
        o = put_i128(o, k, r);                                                                           \
        k = cvt_i64_f32(a, &s);                                                                          \
        o = put_f64(o, k, (f64)s);                                                                       \
        k = cvt_i64_f64(a, &t);                                                                          \
        o = put_f64(o, k, t);                                                                            \
        k = cvt_i128_f32(x, &s);                                                                         \
        o = put_f64(o, k, (f64)s);                                                                       \
        k = cvt_i128_f64(x, &t);                                                                         \
        o = put_f64(o, k, t);                                                                            \
        o = put(o, hash_combine(hash_i64(a), hash_i128(x)));                                             \
        o = put(o, enc_max_i64(a) ^ enc_min_i64(b));                                                     \
        o = put(o, (u64)dec_min_i64((u64)a));                                                            \
        o = put(o, unpack_1(P(4), row) | unpack_2(P(4), row) << 8 | unpack_4(P(4), row) << 16 |          \
                       unpack_8(P(4), row) << 24);                                                       \
        o = put(o, unpack_16(P(4), row) | unpack_24(P(4), row) << 32);                                   \
        o = put(o, unpack_32(P(4), row));                                                                \
        o = put(o, unpack_64(P(4), row));                                                                \
        o = put(o, unpack(24, P(4), row + 1));                                                           \
        o = put(o, (u64)bit_at(P(4), row));                                                              \
    }                                                                                                    \
    }

#define FLOATS                                                                                                    \
    KERNEL(floats) {                                                                                              \
        ROW_LOOP                                                                                                  \
        i16 r16;                                                                                                  \
        i32 r32;                                                                                                  \
        i64 r64;                                                                                                  \
        i128 r;                                                                                                   \
        f32 s;                                                                                                    \
        f64 t;                                                                                                    \
        f32 ds = (f32)d, es = (f32)e;                                                                             \
        u32 k = ovf_add_f64(d, e, &t);                                                                            \
        o = put_f64(o, k, t);                                                                                     \
        k = ovf_sub_f64(d, e, &t);                                                                                \
        o = put_f64(o, k, t);                                                                                     \
        k = ovf_mul_f64(d, e, &t);                                                                                \
        o = put_f64(o, k, t);                                                                                     \
        k = ovf_div_f64(d, e, &t);                                                                                \
        o = put_f64(o, k, t);                                                                                     \
        k = ovf_add_f32(ds, es, &s);                                                                              \
        o = put_f64(o, k, (f64)s);                                                                                \
        k = ovf_sub_f32(ds, es, &s);                                                                              \
        o = put_f64(o, k, (f64)s);                                                                                \
        k = ovf_mul_f32(ds, es, &s);                                                                              \
        o = put_f64(o, k, (f64)s);                                                                                \
        k = ovf_div_f32(ds, es, &s);                                                                              \
        o = put_f64(o, k, (f64)s);                                                                                \
        o = put(o, (u64)(i64)cmp_f64(d, e));                                                                      \
        o = put(o, (u64)(i64)cmp_f32(ds, es));                                                                    \
        o = put(o, (u64)eq_f64(d, e) | (u64)ne_f64(d, e) << 1 | (u64)lt_f64(d, e) << 2 | (u64)le_f64(d, e) << 3 | \
                       (u64)gt_f64(d, e) << 4 | (u64)ge_f64(d, e) << 5);                                          \
        o = put_f64(o, 0, neg_f64(d));                                                                            \
        o = put_f64(o, 0, abs_f64(d));                                                                            \
        k = cvt_f64_i16(d, &r16);                                                                                 \
        o = put_int(o, k, r16);                                                                                   \
        k = cvt_f64_i32(d, &r32);                                                                                 \
        o = put_int(o, k, r32);                                                                                   \
        k = cvt_f64_i64(d, &r64);                                                                                 \
        o = put_int(o, k, r64);                                                                                   \
        k = cvt_f64_i128(d, &r);                                                                                  \
        o = put_i128(o, k, r);                                                                                    \
        k = cvt_f64_f32(d, &s);                                                                                   \
        o = put_f64(o, k, (f64)s);                                                                                \
        k = cvt_f32_i16(ds, &r16);                                                                                \
        o = put_int(o, k, r16);                                                                                   \
        k = cvt_f32_i32(ds, &r32);                                                                                \
        o = put_int(o, k, r32);                                                                                   \
        k = cvt_f32_i64(ds, &r64);                                                                                \
        o = put_int(o, k, r64);                                                                                   \
        k = cvt_f32_i128(ds, &r);                                                                                 \
        o = put_i128(o, k, r);                                                                                    \
        o = put(o, hash_f64(d));                                                                                  \
        o = put(o, enc_max_f64(d));                                                                               \
        o = put(o, enc_min_f64(e));                                                                               \
        o = put_f64(o, 0, dec_max_f64(enc_max_f64(d)));                                                           \
        o = put_f64(o, 0, dec_min_f64(enc_min_f64(d)));                                                           \
    }                                                                                                             \
    }

#define NUMERIC                                                       \
    KERNEL(numeric) {                                                 \
        ROW_LOOP                                                      \
        i64 r64;                                                      \
        i128 r;                                                       \
        u32 k = rescale_i64_i64(a, 2, 6, 15, &r64);                   \
        o = put_int(o, k, r64);                                       \
        k = rescale_i64_i64(a, 6, 2, 15, &r64);                       \
        o = put_int(o, k, r64);                                       \
        k = rescale_i64_i128(a, 2, 12, 38, &r);                       \
        o = put_i128(o, k, r);                                        \
        k = rescale_i128_i128(x, 4, 10, 38, &r);                      \
        o = put_i128(o, k, r);                                        \
        k = rescale_i128_i128(x, 16, 2, 30, &r);                      \
        o = put_i128(o, k, r);                                        \
        k = rescale_i128_i64(x, 22, 1, 18, &r64);                     \
        o = put_int(o, k, r64);                                       \
        k = num_div(x, y, 2, 2, 16, &r);                              \
        o = put_i128(o, k, r);                                        \
        k = num_div(i128_from_i64(a), i128_from_i64(b), 2, 0, 6, &r); \
        o = put_i128(o, k, r);                                        \
        k = num_mul(x, y, 10, 8, 6, &r);                              \
        o = put_i128(o, k, r);                                        \
        k = num_mul(x, i128_from_i64(b), 2, 2, 6, &r);                \
        o = put_i128(o, k, r);                                        \
        o = put_f64(o, 0, num_to_f64_i64(a, 2));                      \
        o = put_f64(o, 0, num_to_f64_i128(x, 30));                    \
        o = put_f64(o, 0, num_to_f64_i128(x, 3));                     \
        k = f64_to_num_i64(d, 2, 15, &r64);                           \
        o = put_int(o, k, r64);                                       \
        k = f64_to_num_i128(d, 30, 38, &r);                           \
        o = put_i128(o, k, r);                                        \
        k = f64_to_num_i128((f64)a / 100.0, 1, 38, &r);               \
        o = put_i128(o, k, r);                                        \
        o = put(o, check_digits_i64(a, 15));                          \
        o = put(o, check_digits_i128(x, 30));                         \
    }                                                                 \
    }

#define CELLS                                                                                                  \
    KERNEL(cells) {                                                                                            \
        ROW_LOOP                                                                                               \
        iv v = G(iv, in)[0], w = iv_make(b, (i32)a, (i32)(a >> 32));                                           \
        uuid u = G(uuid, in)[1], q = G(uuid, in)[2];                                                           \
        str s = str_make(G(u64, in)[8], G(i64, in)[9]), t = str_make(G(u64, in)[10], G(i64, in)[11]);          \
        i32 days = (i32)b;                                                                                     \
        o = put(o, (u64)(u32)date_part(KC_YEAR, days) | (u64)(u32)date_part(KC_MONTH, days) << 32 |            \
                       (u64)(u32)date_part(KC_DAY, days) << 40 | (u64)(u32)date_part(KC_QUARTER, days) << 48); \
        o = put(o, (u64)(u32)date_part(KC_WEEK, days) | (u64)(u32)date_part(KC_DOW, days) << 16 |              \
                       (u64)(u32)date_part(KC_ISODOW, days) << 24 | (u64)(u32)date_part(KC_DOY, days) << 32);  \
        o = put(o, (u64)(u32)date_part(KC_ISOYEAR, days) | (u64)(u32)date_part(KC_DECADE, days) << 32);        \
        o = put(o, (u64)(u32)date_part(KC_CENTURY, days) | (u64)(u32)date_part(KC_MILLENNIUM, days) << 32);    \
        o = put(o, (u64)(u32)date_part(KC_JULIAN, days));                                                      \
        o = put(o, (u64)(u32)date_part_ts(KC_HOUR, a) | (u64)(u32)date_part_ts(KC_MINUTE, a) << 8 |            \
                       (u64)(u32)date_part_ts(KC_SECOND, a) << 16 | (u64)(u32)date_part_ts(KC_YEAR, a) << 32); \
        o = put(o, (u64)date_from_civil(date_part(KC_YEAR, days), 2, 1));                                      \
        o = put(o, (u64)(i64)iv_cmp(v, w));                                                                    \
        o = put(o, hash_iv(v));                                                                                \
        o = put(o, (u64)iv_eq(v, v));                                                                          \
        o = put(o, (u64)(i64)uuid_cmp(u, q));                                                                  \
        o = put(o, hash_uuid(u));                                                                              \
        o = put(o, (u64)uuid_eq(u, q));                                                                        \
        o = put(o, (u64)(i64)str_cmp(s, t));                                                                   \
        o = put(o, (u64)str_eq(s, t));                                                                         \
        o = put(o, str_prefix(s));                                                                             \
        o = put(o, hash_str(s));                                                                               \
        o = put(o, (u64)str_lt(s, t));                                                                         \
        o = put(o, (u64)like_match(P(5), s) | (u64)like_match(P(6), s) << 1 | (u64)like_match(P(7), t) << 2);  \
    }                                                                                                          \
    }

/* Totals by atomics and by groups; a loop over tiles with a uniform end. res: u64[16], slots: u64 per row. */
#define GROUPS                                                                   \
    KERNEL(groups) {                                                             \
        i64 n = PI(1);                                                           \
        u64 in = P(2), res = P(5), slots = P(6);                                 \
        LOCAL u64 *tmp = LM(u64, 64);                                            \
        LOCAL u64 *acc = LM(u64, 0);                                             \
        for (u32 i = LID; i < 8; i += LSIZE) acc[i] = 0;                         \
        BARRIER();                                                               \
        u64 count = 0, most = 0;                                                 \
        i128 sum = i128_from_i64(0);                                             \
        sum192 wide = sum192_zero();                                             \
        for (i64 first = (i64)GID * 64; first < n; first += (i64)NGROUPS * 64) { \
            if (LID == 0) acc[6] = (u64)STOPPED();                               \
            BARRIER();                                                           \
            if (acc[6]) break;                                                   \
            i64 end = first + 64 < n ? first + 64 : n;                           \
            for (i64 row = first + (i64)LID; row < end; row += (i64)LSIZE) {     \
                i64 a = GRO(i64, in)[row * 12];                                  \
                i128 x = ldro_i128(in + (u64)row * 96 + 16);                     \
                count++;                                                         \
                most = enc_max_i64(a) > most ? enc_max_i64(a) : most;            \
                sum = i128_add(sum, i128_from_i64(a));                           \
                wide = sum192_add(wide, x);                                      \
                la_add_u64(acc, 1);                                              \
                la_max_u64(acc + 1, enc_min_i64(a));                             \
                la_add_i128(acc + 2, i128_from_i64(a));                          \
                ga_max_u64(res + 8, enc_max_f64((f64)a));                        \
                if (a & 1) G(u64, slots)[append(res + 16)] = (u64)row;           \
                if (a == PI(7)) RAISE(U64C(513));                                \
            }                                                                    \
            BARRIER();                                                           \
        }                                                                        \
        ga_add_i128(res + 24, sum);                                              \
        ga_add_sum192(res + 40, wide);                                           \
        u64 all = group_sum_u64(count, tmp), top = group_max_u64(most, tmp);     \
        f64 ones = group_sum_f64((f64)count, tmp);                               \
        u32 total, before = group_scan_u32((u32)count, tmp, &total);             \
        if (LID == 0) {                                                          \
            ga_add_u64(res + 64, all);                                           \
            ga_max_u64(res + 72, top);                                           \
            ga_add_f64(res + 80, ones);                                          \
            ga_add_u64(res + 88, total + before);                                \
            ga_add_u64(res, acc[0]);                                             \
            ga_max_u64(res + 96, acc[1]);                                        \
            ga_add_i128(res + 104, i128_from_limbs(acc[2], acc[3]));             \
        }                                                                        \
        if (LID == LSIZE - 1) ga_add_u64(res + 120, before + (u32)count);        \
        FENCE();                                                                 \
    }

#define STR(...) #__VA_ARGS__
#define XSTR(...) STR(__VA_ARGS__)
#define NL "\n"
static const char *const kernel_text = XSTR(HELPERS) NL XSTR(INTEGERS)
NL XSTR(FLOATS)
NL XSTR(NUMERIC)
NL XSTR(CELLS)
NL XSTR(GROUPS) NL;
enum { N_KERNELS = 4 };

#include "unit.h"

#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>

#include "base/hash.h"
#include "codegen/like_code.h"
#include "codegen/prelude.h"
#include "device/cuda/nvrtc.h"
#include "device/device.h"

#define hash_u64 k_hash_u64
#define hash_combine k_hash_combine
#define hash_key k_hash_key
#define str_make k_str_make
#define str_eq k_str_eq
#define str_cmp k_str_cmp
#define like_match k_like_match
#define N_PARAMS 8
#include "codegen/prelude/kc_state.h"
HELPERS
INTEGERS
FLOATS
NUMERIC
CELLS
GROUPS

static void (*const here[N_KERNELS])(const u64 *, KernelCtx *) = {integers, floats, numeric, cells};
static const char *const names[N_KERNELS] = {"integers", "floats", "numeric", "cells"};

/* ---- the data: one block, so that every device needs one buffer; offsets in bytes -------------------------- */
enum {
    MAX_ROWS = 512,
    GROUP = 64,
    AT_WORD = 0,   /* error word */
    AT_RES = 64,   /* groups' results */
    AT_LIKE = 256, /* three patterns of 256 bytes */
    AT_PACKED = 1024,
    AT_TEXT = AT_PACKED + MAX_ROWS * 8 + 64,
    AT_IN = AT_TEXT + 8192,
    AT_SLOTS = AT_IN + MAX_ROWS * 96,
    AT_OUT = AT_SLOTS + MAX_ROWS * 8,
    BLOCK = AT_OUT + MAX_ROWS * OUT_WORDS * 8
};
#define NEVER 98765432123456789u /* groups raises 513 when it meets its parameter 7; this value it does not meet */
typedef struct Block {
    alignas(64) unsigned char b[BLOCK];
} Block;
static int64_t rows = MAX_ROWS;
static Block *fresh, *expected[N_KERNELS + 1], *got;

static uint64_t seed = 42;
static uint64_t rnd(void) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed * 0x2545F4914F6CDD1Du;
}
static int64_t any_int(void) {
    static const int64_t edges[] = {
        0, 1, -1, 2, 32767, -32768, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, 1000000000000000, 99};
    return rnd() % 4 == 0 ? edges[rnd() % 12] : (int64_t)rnd() >> (rnd() % 64);
}
static double any_f64(void) {
    static const double edges[] = {
        0, -0.0, 0.5, 2.5, -1.5, 1e308, -1e308, 5e-324, 1e-300, 3.4e38, 1e39, 9223372036854775807.0, 0.1, 1.005, 1e15};
    if (rnd() % 4 == 0) return edges[rnd() % 15];
    if (rnd() % 16 == 0) return (double)NAN;
    if (rnd() % 16 == 0) return rnd() & 1 ? HUGE_VAL : -HUGE_VAL;
    double d;
    uint64_t bits = rnd();
    memcpy(&d, &bits, 8);
    return rnd() & 1 ? (double)any_int() / 1000 : d;
}

/* Fills the block; strings get addresses as if the block were at `base`. */
static void fill(Block *blk, uint64_t base) {
    seed = 42;
    memset(blk->b, 0, BLOCK);
    unsigned char *b = blk->b;
    for (int i = 0; i < MAX_ROWS * 8 + 64; i++) b[AT_PACKED + i] = (unsigned char)rnd();
    static const char *const words[] = {"special ", "requests ", "al",           "spec",
                                        "\xc3\xa4", "x",         "foxes sleep ", "\xe2\x82\xac"};
    int64_t len = 0;
    while (len < 8000) {
        const char *w = words[rnd() % 8];
        memcpy(b + AT_TEXT + len, w, strlen(w));
        len += (int64_t)strlen(w);
    }
    for (int64_t row = 0; row < MAX_ROWS; row++) {
        uint64_t in[12];
        double d = any_f64(), e = rnd() % 8 == 0 ? d : any_f64();
        in[0] = (uint64_t)any_int();
        in[1] = rnd() % 8 == 0 ? in[0] : (uint64_t)any_int();
        for (int w = 2; w < 6; w += 2) { /* 128 bits, half of them short */
            in[w] = (uint64_t)any_int();
            in[w + 1] = rnd() & 1 ? (uint64_t)((int64_t)in[w] >> 63) : (uint64_t)((int64_t)rnd() >> (rnd() % 64));
        }
        memcpy(&in[6], &d, 8);
        memcpy(&in[7], &e, 8);
        for (int w = 8; w < 12; w += 2) {
            in[w] = base + AT_TEXT + rnd() % 7000;
            in[w + 1] = rnd() % 90;
        }
        if (rnd() % 4 == 0) in[10] = in[8], in[11] = in[9] - (in[9] != 0 && rnd() & 1);
        memcpy(b + AT_IN + row * 96, in, sizeof in);
    }
    static const char *const patterns[3] = {"%special%requests%", "s_e%", "%\xc3\xa4_%x"};
    MemAccount acct;
    mem_account_init(&acct, NULL, "test", 0, NULL);
    Arena *arena = arena_new(&acct, NULL);
    for (int i = 0; i < 3; i++) {
        LikePattern *p = like_compile(arena, slice_of(patterns[i]), '\\', false, NULL);
        assert_non_null(p);
        assert_true(like_encoded_bytes(p) <= 256);
        like_encode(p, b + AT_LIKE + 256 * i);
    }
    arena_free(arena);
}
static void params_of(int kernel, uint64_t base, uint64_t *p) {
    p[0] = base + AT_WORD;
    p[1] = (uint64_t)rows;
    p[2] = base + AT_IN;
    p[3] = base + AT_OUT;
    p[4] = base + AT_PACKED;
    p[5] = base + (kernel == N_KERNELS ? AT_RES : AT_LIKE);
    p[6] = base + (kernel == N_KERNELS ? AT_SLOTS : AT_LIKE + 256);
    p[7] = kernel == N_KERNELS ? NEVER : base + AT_LIKE + 512;
}

static int by_u64(const void *a, const void *b) {
    uint64_t x, y;
    memcpy(&x, a, 8);
    memcpy(&y, b, 8);
    return x < y ? -1 : x > y;
}
static uint64_t word_at(const Block *b, int64_t at) {
    uint64_t v;
    memcpy(&v, b->b + at, 8);
    return v;
}
/* got (whose addresses start at `base`) against expected. Inputs hold addresses and are not compared. */
static void compare(int kernel, const char *who) {
    if (kernel == N_KERNELS) { /* slots come in any order */
        qsort(got->b + AT_SLOTS, (size_t)word_at(got, AT_RES + 16), 8, by_u64);
        assert_memory_equal(got->b + AT_SLOTS, expected[kernel]->b + AT_SLOTS, (size_t)MAX_ROWS * 8);
        for (int i = 0; i < 16; i++)
            if (word_at(got, AT_RES + 8 * i) != word_at(expected[kernel], AT_RES + 8 * i))
                fail_msg("%s: result %d of groups differs", who, i);
        assert_int_equal(word_at(got, AT_WORD), 0);
        return;
    }
    for (int64_t row = 0; row < rows; row++)
        for (int64_t w = 0; w < OUT_WORDS; w++) {
            int64_t at = AT_OUT + (row * OUT_WORDS + w) * 8;
            if (word_at(got, at) != word_at(expected[kernel], at))
                fail_msg("%s: kernel %s, row %lld, word %lld: %llx, not %llx", who, names[kernel], (long long)row,
                         (long long)w, (unsigned long long)word_at(got, at),
                         (unsigned long long)word_at(expected[kernel], at));
        }
}

static int setup(void **state) {
    (void)state;
    if (getenv("STELE_TEST_OCLGRIND")) rows = 96; /* it interprets */
    fresh = aligned_alloc(64, sizeof *fresh);
    got = aligned_alloc(64, sizeof *got);
    if (!fresh || !got) return 1;
    alignas(16) static uint8_t local[64 + 8 * GROUP];
    for (int k = 0; k <= N_KERNELS; k++) {
        Block *b = expected[k] = aligned_alloc(64, sizeof *b);
        if (!b) return 1;
        uint64_t p[N_PARAMS];
        fill(b, (uint64_t)(uintptr_t)b);
        params_of(k, (uint64_t)(uintptr_t)b, p);
        for (uint64_t g = 0; g < 3; g++) {
            KernelCtx kc = {.gid = g, .ngroups = 3, .lmem = local};
            (k == N_KERNELS ? groups : here[k])((const u64 *)p, &kc);
        }
        if (k == N_KERNELS) qsort(b->b + AT_SLOTS, (size_t)word_at(b, AT_RES + 16), 8, by_u64);
    }
    return 0;
}
static int teardown(void **state) {
    (void)state;
    for (int k = 0; k <= N_KERNELS; k++) free(expected[k]);
    free(fresh);
    free(got);
    return 0;
}

/* The whole source; `defines` first. */
static char *source(const char *defines) {
    size_t n = strlen(defines) + strlen(kernel_prelude_text) + strlen(kernel_text) + 100;
    char *s = malloc(n);
    assert_non_null(s);
    snprintf(s, n, "#define N_PARAMS 8\n#define ERR_PARAM 0\n%s%s\n%s", defines, kernel_prelude_text, kernel_text);
    return s;
}

/* ---- this test's own results make sense at all ------------------------------------------------------------------ */
static void test_here(void **state) {
    (void)state;
    int64_t used = 0, odd = 0;
    for (int k = 0; k < N_KERNELS; k++)
        for (int64_t w = 0; w < rows * OUT_WORDS; w++) used += word_at(expected[k], AT_OUT + w * 8) != 0;
    assert_true(used > rows * 100);
    for (int64_t row = 0; row < rows; row++) odd += (int64_t)(word_at(expected[0], AT_IN + row * 96) & 1);
    assert_int_equal(word_at(expected[N_KERNELS], AT_RES), rows);
    assert_int_equal(word_at(expected[N_KERNELS], AT_RES + 16), odd);
}

/* ---- the system's C compiler, by way of the host device -----------------------------------------------------------
 */
static void test_host(void **state) {
    (void)state;
    Err e = {0};
    MemAccount acct;
    mem_account_init(&acct, NULL, "test", 0, NULL);
    Pool *pool = pool_new(2, &e);
    assert_non_null(pool);
    Devices *ds;
    Device *d;
    if (devices_open(pool, &acct, &ds, &e) != ST_OK) fail_msg("%s", e.message);
    if (devices_get(ds, "host", &d, &e) != ST_OK) {
        print_message("skipped: %s\n", e.message);
        devices_close(ds);
        pool_free(pool);
        skip();
    }
    char *text = source("");
    DevCode code;
    DevModule *m;
    DevQueue *q;
    DevPtr mem;
    if (d->ops->compile(d, text, "", &code, &e) != ST_OK) fail_msg("%s: %s", e.message, e.detail);
    assert_int_equal(d->ops->load(d, code.bytes, code.n, &m, &e), ST_OK);
    assert_int_equal(d->ops->queue_new(d, &q, &e), ST_OK);
    assert_int_equal(d->ops->alloc(d, BLOCK, &mem, &e), ST_OK);
    for (int k = 0; k <= N_KERNELS; k++) {
        DevKernel *kernel;
        uint64_t p[N_PARAMS];
        if (d->ops->kernel(m, k == N_KERNELS ? "groups" : names[k], &kernel, &e) != ST_OK) fail_msg("%s", e.message);
        fill(fresh, mem);
        params_of(k, mem, p);
        assert_int_equal(d->ops->copy_in(q, mem, fresh, BLOCK, &e), ST_OK);
        assert_int_equal(d->ops->launch(q, kernel, 5, 1, 64 + 8 * GROUP, p, N_PARAMS, &e), ST_OK);
        assert_int_equal(d->ops->copy_out(q, got, mem, BLOCK, &e), ST_OK);
        assert_int_equal(d->ops->sync(q, NULL, NULL, &e), ST_OK);
        compare(k, "host");
        if (k < N_KERNELS) continue;
        p[7] = 99; /* and once more, meeting an error */
        assert_int_equal(d->ops->launch(q, kernel, 5, 1, 64 + 8 * GROUP, p, N_PARAMS, &e), ST_OK);
        assert_int_equal(d->ops->copy_out(q, got, mem, 64, &e), ST_OK);
        assert_int_equal(d->ops->sync(q, NULL, NULL, &e), ST_OK);
        assert_int_equal(word_at(got, AT_WORD), 513);
    }
    d->ops->free(d, mem, BLOCK);
    d->ops->queue_free(d, q);
    d->ops->unload(d, m);
    dev_code_free(&code);
    free(text);
    devices_close(ds);
    pool_free(pool);
}

/* ---- OpenCL
 * ----------------------------------------------------------------------------------------------------------- */
static void *cl_library;
static void *cl_symbol(const char *name) {
    void *p = dlsym(RTLD_DEFAULT, name); /* oclgrind preloads its own */
    if (!p && !cl_library) cl_library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    return p ? p : cl_library ? dlsym(cl_library, name) : NULL;
}
#define CL_FN(ret, name, ...)                      \
    ret (*name)(__VA_ARGS__) = NULL;               \
    do {                                           \
        void *p_ = cl_symbol(#name);               \
        memcpy(&name, &p_, sizeof p_);             \
        if (!p_) {                                 \
            print_message("skipped: no OpenCL\n"); \
            skip();                                \
        }                                          \
    } while (0)
enum { CL_READ_WRITE = 1, CL_BUILD_LOG = 0x1183 };

static void test_opencl(void **state) {
    (void)state;
    CL_FN(int32_t, clGetPlatformIDs, uint32_t, void **, uint32_t *);
    CL_FN(int32_t, clGetDeviceIDs, void *, uint64_t, uint32_t, void **, uint32_t *);
    CL_FN(void *, clCreateContext, const void *, uint32_t, void **, void *, void *, int32_t *);
    CL_FN(void *, clCreateCommandQueue, void *, void *, uint64_t, int32_t *);
    CL_FN(void *, clCreateProgramWithSource, void *, uint32_t, const char **, const size_t *, int32_t *);
    CL_FN(int32_t, clBuildProgram, void *, uint32_t, void **, const char *, void *, void *);
    CL_FN(int32_t, clGetProgramBuildInfo, void *, void *, uint32_t, size_t, void *, size_t *);
    CL_FN(void *, clCreateBuffer, void *, uint64_t, size_t, void *, int32_t *);
    CL_FN(void *, clCreateKernel, void *, const char *, int32_t *);
    CL_FN(int32_t, clSetKernelArg, void *, uint32_t, size_t, const void *);
    CL_FN(int32_t, clEnqueueNDRangeKernel, void *, void *, uint32_t, const size_t *, const size_t *, const size_t *,
          uint32_t, const void *, void *);
    CL_FN(int32_t, clEnqueueReadBuffer, void *, void *, uint32_t, size_t, size_t, void *, uint32_t, const void *,
          void *);
    CL_FN(int32_t, clEnqueueWriteBuffer, void *, void *, uint32_t, size_t, size_t, const void *, uint32_t, const void *,
          void *);
    CL_FN(int32_t, clReleaseKernel, void *);
    CL_FN(int32_t, clReleaseMemObject, void *);
    CL_FN(int32_t, clReleaseProgram, void *);
    CL_FN(int32_t, clReleaseCommandQueue, void *);
    CL_FN(int32_t, clReleaseContext, void *);
    void *platform, *device;
    int32_t r;
    uint32_t n = 0;
    if (clGetPlatformIDs(1, &platform, &n) != 0 || n == 0 ||
        clGetDeviceIDs(platform, (uint64_t)0xFFFFFFFF, 1, &device, &n) != 0 || n == 0) {
        print_message("skipped: no OpenCL device\n");
        skip();
    }
    void *context = clCreateContext(NULL, 1, &device, NULL, NULL, &r),
         *queue = clCreateCommandQueue(context, device, 0, &r);
    assert_non_null(queue);
    bool check = getenv("STELE_TEST_OCLGRIND") != NULL; /* its interpreter lacks some of what the optimiser makes */
    char *text = source(check ? "#define GROUP_SIZE 64\n#define KC_CHECK\n" : "#define GROUP_SIZE 64\n");
    const char *parts[2] = {text,
                            "\n__kernel void address(__global ulong *to, __global uchar *of) { to[0] = (ulong)of; }\n"};
    void *program = clCreateProgramWithSource(context, 2, parts, NULL, &r);
    if (clBuildProgram(program, 1, &device, check ? "-cl-std=CL1.2 -cl-opt-disable" : "-cl-std=CL1.2", NULL, NULL) !=
        0) {
        static char log[16384];
        clGetProgramBuildInfo(program, device, CL_BUILD_LOG, sizeof log - 1, log, NULL);
        fail_msg("OpenCL: %s", log);
    }
    void *block = clCreateBuffer(context, CL_READ_WRITE, BLOCK, NULL, &r),
         *params = clCreateBuffer(context, CL_READ_WRITE, 8 * N_PARAMS, NULL, &r);
    void *kernel = clCreateKernel(program, "address", &r);
    uint64_t p[N_PARAMS], base;
    size_t one = 1, group = GROUP, items = 3 * GROUP;
    clSetKernelArg(kernel, 0, sizeof params, &params);
    clSetKernelArg(kernel, 1, sizeof block, &block);
    assert_int_equal(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, &one, 0, NULL, NULL), 0);
    assert_int_equal(clEnqueueReadBuffer(queue, params, 1, 0, 8, &base, 0, NULL, NULL), 0);
    clReleaseKernel(kernel);
    for (int k = 0; k <= N_KERNELS + 1; k++) { /* the last one again, meeting an error */
        int run = k > N_KERNELS ? N_KERNELS : k;
        fill(fresh, base);
        params_of(run, base, p);
        if (k > N_KERNELS) p[7] = 99;
        assert_int_equal(clEnqueueWriteBuffer(queue, block, 1, 0, BLOCK, fresh, 0, NULL, NULL), 0);
        assert_int_equal(clEnqueueWriteBuffer(queue, params, 1, 0, sizeof p, p, 0, NULL, NULL), 0);
        kernel = clCreateKernel(program, run == N_KERNELS ? "groups" : names[run], &r);
        assert_non_null(kernel);
        clSetKernelArg(kernel, 0, sizeof params, &params);
        clSetKernelArg(kernel, 1, 64 + 8 * GROUP, NULL);
        assert_int_equal(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, &group, 0, NULL, NULL), 0);
        assert_int_equal(clEnqueueReadBuffer(queue, block, 1, 0, BLOCK, got, 0, NULL, NULL), 0);
        clReleaseKernel(kernel);
        if (k > N_KERNELS) assert_int_equal(word_at(got, AT_WORD), 513);
        else compare(run, "OpenCL");
    }
    clReleaseMemObject(params);
    clReleaseMemObject(block);
    clReleaseProgram(program);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    free(text);
}

/* ---- NVRTC
 * ------------------------------------------------------------------------------------------------------------ */
static void test_nvrtc(void **state) {
    (void)state;
    int major, minor;
    Err e = {0};
    if (nvrtc_version(&major, &minor, &e) != ST_OK) {
        print_message("skipped: %s\n", e.message);
        skip();
    }
    static const char *const archs[] = {"sm_80", "sm_90"}, *const defines[] = {"#define GROUP_SIZE 256\n", ""};
    for (int i = 0; i < 2; i++) {
        char *text = source(defines[i]);
        DevCode code;
        if (nvrtc_compile(text, archs[i], "", &code, &e) != ST_OK) fail_msg("%s: %s", e.message, e.detail);
        assert_true(code.n > 64);
        if (code.log && strstr(code.log, "warning")) fail_msg("%s", code.log);
        dev_code_free(&code);
        free(text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_here), cmocka_unit_test(test_host),
                                       cmocka_unit_test(test_opencl), cmocka_unit_test(test_nvrtc)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
