/* test_prelude.c - kernel C against the virtual machine and src/types, value by value: edges of every type first, then
 * random values of all magnitudes. test_prelude_limbs.c runs the same with 128-bit integers made of two limbs, as on
 * OpenCL devices.
 *
 * The virtual machine's file is included for its static functions (its object then stays out of the link).
 */
#include "unit.h"

#include <math.h>
#include <stdlib.h>

#include "exec/vm_expr.c"

#include "base/hash.h"
#include "codegen/like_code.h"
#include "exec/vm_kernels.h"
#include "storage/tablet.h"

/* Names that both sides have: the kernel's get a prefix. */
#define hash_u64 k_hash_u64
#define hash_combine k_hash_combine
#define hash_key k_hash_key
#define str_make k_str_make
#define str_eq k_str_eq
#define str_cmp k_str_cmp
#define like_match k_like_match
#define N_PARAMS 4
#include "codegen/prelude/kc_state.h"
#undef hash_u64
#undef hash_combine
#undef hash_key
#undef str_make
#undef str_eq
#undef str_cmp
#undef like_match

static i128 K(int128_t v) { return i128_from_limbs((u64)v, (u64)((uint128_t)v >> 64)); }
static int128_t H(i128 v) { return (int128_t)((uint128_t)i128_hi(v) << 64 | i128_lo(v)); }

/* ---- values ------------------------------------------------------------------------------ */
static uint64_t seed = 88172645463325252u;
static uint64_t rnd(void) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed * 0x2545F4914F6CDD1Du;
}
enum { ROUNDS = 60000 };

static int128_t edges[2000];
static int n_edges;
static void edge(int128_t v) { edges[n_edges++] = v; }
static void make_edges(void) {
    if (n_edges) return;
    for (int64_t i = -12; i <= 12; i++) edge(i);
    for (int b = 3; b < 128; b++) {
        uint128_t p = (uint128_t)1 << b;
        for (int d = -1; d <= 1; d++) {
            edge((int128_t)(p + (uint128_t)(int128_t)d));
            edge((int128_t) - (p + (uint128_t)(int128_t)d));
        }
    }
    for (int t = 1; t < 39; t++)
        for (int d = -1; d <= 1; d++) {
            edge(pow10_i128[t] + d);
            edge(-pow10_i128[t] + d);
            edge(pow10_i128[t] / 2 + d);
            edge(-pow10_i128[t] / 2 + d);
        }
}
/* An integer of `bits` bits or fewer, magnitudes evenly spread over the lengths. */
static int128_t any_int(int bits) {
    if (rnd() % 8 == 0) {
        int128_t v = edges[rnd() % (uint64_t)n_edges];
        int drop = 128 - bits;
        return (int128_t)((uint128_t)v << drop) >> drop;
    }
    uint128_t v = (uint128_t)rnd() << 64 | rnd();
    int keep = 1 + (int)(rnd() % (uint64_t)bits);
    return (int128_t)(v << (128 - keep)) >> (128 - keep);
}
static double any_f64(void) {
    static const double edge_f[] = {0.0,
                                    -0.0,
                                    0.5,
                                    -0.5,
                                    1.5,
                                    2.5,
                                    1e-300,
                                    5e-324,
                                    -5e-324,
                                    1.7976931348623157e308,
                                    -1.7976931348623157e308,
                                    2147483647.5,
                                    2147483648.0,
                                    -2147483648.5,
                                    9223372036854775807.0,
                                    -9223372036854775808.0,
                                    9223372036854774784.0,
                                    32767.5,
                                    -32768.5,
                                    1.7014118346046923e38,
                                    -1.7014118346046923e38,
                                    3.4028234663852886e38,
                                    3.4028235677973366e38,
                                    1e-46,
                                    7e-46,
                                    1.1754943508222875e-38,
                                    1e15,
                                    1e16,
                                    0.1,
                                    0.3};
    uint64_t kind = rnd() % 16, bits = rnd();
    double d;
    if (kind == 0) return edge_f[rnd() % (sizeof edge_f / sizeof *edge_f)];
    if (kind == 1) return (double)NAN;
    if (kind == 2) return rnd() & 1 ? (double)INFINITY : -(double)INFINITY;
    if (kind == 3) return (double)any_int(128);
    if (kind < 7) return (double)any_int(64) / (double)pow10_i128[rnd() % 19];
    if (kind < 9) return (double)any_int(40) + (double)(rnd() % 4) * 0.25;
    memcpy(&d, &bits, 8);
    return d;
}

static uint64_t checked;
/* One comparison; `what` names it when it fails. */
static void same(bool ok, const char *what, int64_t detail) {
    checked++;
    if (!ok) fail_msg("%s differs (case %lld)", what, (long long)detail);
}
static bool same_f64(double a, double b) { return (isnan(a) && isnan(b)) || f64_bits(a) == f64_bits(b); }
static bool same_f32(float a, float b) { return (isnan(a) && isnan(b)) || f32_bits(a) == f32_bits(b); }
static const VmKernels *vm;

/* ---- arithmetic ----------------------------------------------------------------------------- */
/* One operation of the virtual machine on single cells: did it fail? */
static bool vm_bin(Opcode op, Phys p, const void *x, const void *y, void *r) {
    memset(r, 0, 16);
    return vm->bin[op][p][BIN_VV](1, x, y, r) != 0;
}
static bool vm_un(Opcode op, Phys p, const void *x, void *r) {
    memset(r, 0, 16);
    return vm->un[op][p](1, x, r) != 0;
}

#define CHECK_BIN(OP, PH, T, FN_NAME, ZERO_KIND)                                                 \
    do {                                                                                         \
        alignas(16) char cell[16];                                                               \
        T got;                                                                                   \
        uint32_t kind = FN_NAME(x, y, &got), want = vm_bin(OP, PH, &x, &y, cell) ? KE_RANGE : 0; \
        if (want && y == 0 && (ZERO_KIND)) want = KE_ZERO_DIV;                                   \
        same(kind == want, #FN_NAME " outcome", i);                                              \
        if (!want) same(memcmp(&got, cell, sizeof got) == 0, #FN_NAME, i);                       \
    } while (0)
#define CHECK_WRAP(OP, PH, T, EXPR)                          \
    do {                                                     \
        alignas(16) char cell[16];                           \
        T got = EXPR;                                        \
        vm_bin(OP, PH, &x, &y, cell);                        \
        same(memcmp(&got, cell, sizeof got) == 0, #EXPR, i); \
    } while (0)
#define CHECK_UN(OP, PH, T, FN_NAME)                                                     \
    do {                                                                                 \
        alignas(16) char cell[16];                                                       \
        T got;                                                                           \
        uint32_t kind = FN_NAME(x, &got), want = vm_un(OP, PH, &x, cell) ? KE_RANGE : 0; \
        same(kind == want, #FN_NAME " outcome", i);                                      \
        if (!want) same(memcmp(&got, cell, sizeof got) == 0, #FN_NAME, i);               \
    } while (0)
#define INT_TEST(T, HT, PH, BITS)                             \
    static void arithmetic_##T(void) {                        \
        for (int64_t i = 0; i < 4 * ROUNDS; i++) {            \
            HT x = (HT)any_int(BITS), y = (HT)any_int(BITS);  \
            CHECK_BIN(OP_ADD, PH, HT, ovf_add_##T, false);    \
            CHECK_BIN(OP_SUB, PH, HT, ovf_sub_##T, false);    \
            CHECK_BIN(OP_MUL, PH, HT, ovf_mul_##T, false);    \
            CHECK_BIN(OP_DIV, PH, HT, ovf_div_##T, true);     \
            CHECK_BIN(OP_MOD, PH, HT, ovf_mod_##T, true);     \
            CHECK_WRAP(OP_ADD_N, PH, HT, wrap_add_##T(x, y)); \
            CHECK_WRAP(OP_SUB_N, PH, HT, wrap_sub_##T(x, y)); \
            CHECK_WRAP(OP_MUL_N, PH, HT, wrap_mul_##T(x, y)); \
            CHECK_WRAP(OP_BIT_AND, PH, HT, bitand_##T(x, y)); \
            CHECK_WRAP(OP_BIT_OR, PH, HT, bitor_##T(x, y));   \
            CHECK_WRAP(OP_BIT_XOR, PH, HT, bitxor_##T(x, y)); \
            CHECK_WRAP(OP_SHL, PH, HT, shl_##T(x, y));        \
            CHECK_WRAP(OP_SHR, PH, HT, shr_##T(x, y));        \
            same(bitnot_##T(x) == (HT)~x, "bitnot", i);       \
            CHECK_UN(OP_NEG, PH, HT, ovf_neg_##T);            \
            CHECK_UN(OP_ABS, PH, HT, ovf_abs_##T);            \
        }                                                     \
    }
INT_TEST(i16, int16_t, PH_I16, 16)
INT_TEST(i32, int32_t, PH_I32, 32)
INT_TEST(i64, int64_t, PH_I64, 64)

static void test_integers(void **state) {
    (void)state;
    arithmetic_i16();
    arithmetic_i32();
    arithmetic_i64();
    for (int64_t i = 0; i < ROUNDS; i++) {
        int64_t x = (int64_t)any_int(64), y = (int64_t)any_int(64);
        same(H(mul_wide_i64(x, y)) == (int128_t)x * y, "mul_wide_i64", i);
        same(mul_wide_i32((int32_t)x, (int32_t)y) == (int64_t)(int32_t)x * (int32_t)y, "mul_wide_i32", i);
    }
}

/* 128-bit integers: the plain functions against the compiler, the checked ones against the virtual machine. */
static void test_i128(void **state) {
    (void)state;
    static const struct {
        Opcode op;
        uint32_t (*fn)(i128, i128, i128 *);
        const char *name;
        bool divides;
    } ops[] = {{OP_ADD, ovf_add_i128, "ovf_add_i128", false},
               {OP_SUB, ovf_sub_i128, "ovf_sub_i128", false},
               {OP_MUL, ovf_mul_i128, "ovf_mul_i128", false},
               {OP_DIV, ovf_div_i128, "ovf_div_i128", true},
               {OP_MOD, ovf_mod_i128, "ovf_mod_i128", true}};
    for (int64_t i = 0; i < 4 * ROUNDS; i++) {
        int128_t x = any_int(128), y = any_int(128), r, cell;
        if (i < (int64_t)n_edges * n_edges / 4) x = edges[i % n_edges];
        i128 kx = K(x), ky = K(y), k;
        same(H(kx) == x, "limbs", i);
        same(H(i128_add(kx, ky)) == (int128_t)((uint128_t)x + (uint128_t)y), "i128_add", i);
        same(H(i128_sub(kx, ky)) == (int128_t)((uint128_t)x - (uint128_t)y), "i128_sub", i);
        same(H(i128_mul(kx, ky)) == (int128_t)((uint128_t)x * (uint128_t)y), "i128_mul", i);
        same(H(i128_neg(kx)) == (int128_t) - (uint128_t)x, "i128_neg", i);
        bool over = __builtin_add_overflow(x, y, &r);
        same(i128_add_ovf(kx, ky, &k) == over && (over || H(k) == r), "i128_add_ovf", i);
        over = __builtin_sub_overflow(x, y, &r);
        same(i128_sub_ovf(kx, ky, &k) == over && (over || H(k) == r), "i128_sub_ovf", i);
        over = __builtin_mul_overflow(x, y, &r);
        same(i128_mul_ovf(kx, ky, &k) == over && (over || H(k) == r), "i128_mul_ovf", i);
        if (y != 0 && !(x == INT128_MIN && y == -1)) {
            same(H(i128_div(kx, ky)) == x / y, "i128_div", i);
            same(H(i128_mod(kx, ky)) == x % y, "i128_mod", i);
        }
        same(i128_cmp(kx, ky) == (x > y) - (x < y), "i128_cmp", i);
        same(i128_eq(kx, ky) == (x == y) && i128_lt(kx, ky) == (x < y) && i128_le(kx, ky) == (x <= y), "i128 order", i);
        uint32_t n = (uint32_t)(rnd() % 128);
        same(H(i128_shl(kx, n)) == (int128_t)((uint128_t)x << n), "i128_shl", i);
        same(H(i128_shr(kx, n)) == x >> n, "i128_shr", i);
        int64_t narrow;
        over = i128_to_i64_ovf(kx, &narrow);
        same(over == (x != (int64_t)x) && (over || narrow == (int64_t)x), "i128_to_i64_ovf", i);
        same(same_f64(i128_to_f64(kx), (double)x), "i128_to_f64", i);
        same(same_f32(i128_to_f32(kx), (float)x), "i128_to_f32", i);
        uint64_t a = (uint64_t)x, b = (uint64_t)y, d = b | 1, left;
        same(H(i128_mul64((int64_t)a, (int64_t)b)) == (int128_t)(int64_t)a * (int64_t)b, "i128_mul64", i);
        uint128_t num = (uint128_t)(a % d) << 64 | b;
        uint64_t q = udiv_2by1(a % d, b, d, &left);
        same(q == (uint64_t)(num / d) && left == (uint64_t)(num % d), "udiv_2by1", i);
        for (int o = 0; o < 5; o++) {
            uint32_t kind = ops[o].fn(kx, ky, &k), want = vm_bin(ops[o].op, PH_I128, &x, &y, &cell) ? KE_RANGE : 0;
            if (want && ops[o].divides && y == 0) want = KE_ZERO_DIV;
            same(kind == want && (want || H(k) == cell), ops[o].name, i);
        }
        bool bad = vm_un(OP_NEG, PH_I128, &x, &cell);
        same(ovf_neg_i128(kx, &k) == bad && (bad || H(k) == cell), "ovf_neg_i128", i);
        bad = vm_un(OP_ABS, PH_I128, &x, &cell);
        same(ovf_abs_i128(kx, &k) == bad && (bad || H(k) == cell), "ovf_abs_i128", i);
    }
    for (uint32_t n = 0; n < 39; n++) same(H(i128_pow10(n)) == pow10_i128[n], "i128_pow10", n);
}

/* ---- floats and conversions -------------------------------------------------------------------- */
#define CHECK_FLOAT(OP, PH, T, FN_NAME, SAME, DIVIDES)                                   \
    do {                                                                                 \
        alignas(16) char cell[16];                                                       \
        T got, want_r;                                                                   \
        bool bad = vm_bin(OP, PH, &x, &y, cell);                                         \
        memcpy(&want_r, cell, sizeof want_r);                                            \
        uint32_t kind = FN_NAME(x, y, &got), want = !bad                  ? 0            \
                                                    : (DIVIDES) && y == 0 ? KE_ZERO_DIV  \
                                                    : want_r == 0         ? KE_UNDERFLOW \
                                                                          : KE_RANGE;            \
        same(kind == want, #FN_NAME " outcome", i);                                      \
        if (!bad) same(SAME(got, want_r), #FN_NAME, i);                                  \
    } while (0)
#define CHECK_CMP(OP, PH, EXPR)                   \
    do {                                          \
        alignas(16) char cell[16];                \
        vm_bin(OP, PH, &x, &y, cell);             \
        same((EXPR) == (cell[0] != 0), #EXPR, i); \
    } while (0)
#define FLOAT_TEST(T, HT, PH, SAME)                                              \
    static void floats_##T(void) {                                               \
        for (int64_t i = 0; i < 4 * ROUNDS; i++) {                               \
            HT x = (HT)any_f64(), y = (HT)any_f64();                             \
            if (rnd() % 8 == 0) y = x;                                           \
            CHECK_FLOAT(OP_ADD, PH, HT, ovf_add_##T, SAME, false);               \
            CHECK_FLOAT(OP_SUB, PH, HT, ovf_sub_##T, SAME, false);               \
            CHECK_FLOAT(OP_MUL, PH, HT, ovf_mul_##T, SAME, false);               \
            CHECK_FLOAT(OP_DIV, PH, HT, ovf_div_##T, SAME, true);                \
            CHECK_CMP(OP_EQ, PH, eq_##T(x, y));                                  \
            CHECK_CMP(OP_NE, PH, ne_##T(x, y));                                  \
            CHECK_CMP(OP_LT, PH, lt_##T(x, y));                                  \
            CHECK_CMP(OP_LE, PH, le_##T(x, y));                                  \
            CHECK_CMP(OP_GT, PH, gt_##T(x, y));                                  \
            CHECK_CMP(OP_GE, PH, ge_##T(x, y));                                  \
            same(cmp_##T(x, y) == cell_cmp(PH, &x, &y), "cmp_" #T, i);           \
            alignas(16) char cell[16];                                           \
            HT neg = neg_##T(x), mag = abs_##T(x);                               \
            vm_un(OP_NEG, PH, &x, cell);                                         \
            same(memcmp(&neg, cell, sizeof neg) == 0 || isnan(x), "neg_" #T, i); \
            vm_un(OP_ABS, PH, &x, cell);                                         \
            same(memcmp(&mag, cell, sizeof mag) == 0 || isnan(x), "abs_" #T, i); \
        }                                                                        \
    }
FLOAT_TEST(f32, float, PH_F32, same_f32)
FLOAT_TEST(f64, double, PH_F64, same_f64)
static void test_floats(void **state) {
    (void)state;
    floats_f32();
    floats_f64();
}

/* Conversion A_B (A a prefix: bool itself is a macro) against the machine's; AK makes the kernel's argument of the
 * host's value, BH the host's value of the result. */
#define SAME_INT(a, b) ((a) == (b))
#define ID(x) (x)
#define CHECK_CVT(A, B, PA, PB_, HB, KB, AK, BH, SAME)                                       \
    do {                                                                                     \
        alignas(16) char cell[16] = {0};                                                     \
        HB want_r;                                                                           \
        KB got;                                                                              \
        bool bad = vm->cvt[PA][PB_](1, &x, cell) != 0;                                       \
        memcpy(&want_r, cell, sizeof want_r);                                                \
        uint32_t kind = A##_##B(AK(x), &got);                                                \
        uint32_t want = !bad ? 0 : (PB_) == PH_F32 && want_r == 0 ? KE_UNDERFLOW : KE_RANGE; \
        same(kind == want, #A "_" #B " outcome", i);                                         \
        if (!bad) same(SAME((HB)BH(got), want_r), #A "_" #B, i);                             \
    } while (0)
#define CHECK_CVTS(A, PA, AK)                                         \
    CHECK_CVT(A, bool, PA, PH_BOOL, uint8_t, bool, AK, ID, SAME_INT); \
    CHECK_CVT(A, i16, PA, PH_I16, int16_t, i16, AK, ID, SAME_INT);    \
    CHECK_CVT(A, i32, PA, PH_I32, int32_t, i32, AK, ID, SAME_INT);    \
    CHECK_CVT(A, i64, PA, PH_I64, int64_t, i64, AK, ID, SAME_INT);    \
    CHECK_CVT(A, i128, PA, PH_I128, int128_t, i128, AK, H, SAME_INT); \
    CHECK_CVT(A, f32, PA, PH_F32, float, f32, AK, ID, same_f32);      \
    CHECK_CVT(A, f64, PA, PH_F64, double, f64, AK, ID, same_f64)
#define CVT_TEST(A, HT, PA, BITS)              \
    static void cvt_ints_##A(void) {           \
        for (int64_t i = 0; i < ROUNDS; i++) { \
            HT x = (HT)any_int(BITS);          \
            CHECK_CVTS(cvt_##A, PA, ID);       \
        }                                      \
    }
CVT_TEST(i16, int16_t, PH_I16, 16)
CVT_TEST(i32, int32_t, PH_I32, 32)
CVT_TEST(i64, int64_t, PH_I64, 64)
static void test_conversions(void **state) {
    (void)state;
    cvt_ints_i16();
    cvt_ints_i32();
    cvt_ints_i64();
    for (int64_t i = 0; i < 2; i++) {
        uint8_t x = (uint8_t)i;
        CHECK_CVTS(cvt_bool, PH_BOOL, ID);
    }
    for (int64_t i = 0; i < 2 * ROUNDS; i++) {
        int128_t x = any_int(128);
        CHECK_CVTS(cvt_i128, PH_I128, K);
    }
    for (int64_t i = 0; i < 4 * ROUNDS; i++) {
        double x = any_f64();
        CHECK_CVTS(cvt_f64, PH_F64, ID);
    }
    for (int64_t i = 0; i < 4 * ROUNDS; i++) {
        float x = (float)any_f64();
        CHECK_CVTS(cvt_f32, PH_F32, ID);
    }
}

/* ---- numeric --------------------------------------------------------------------------------------- */
/* RESCALE as vm_expr.c's loop over rows. */
static bool vm_rescale(int128_t v, int from, int to, int prec, bool narrow, int128_t *r) {
    *r = 0;
    bool bad = numeric_rescale(v, from, to, r) || numeric_exceeds(*r, prec);
    return bad || (narrow && *r != (int64_t)*r);
}
static void test_numeric(void **state) {
    (void)state;
    for (int64_t i = 0; i < 6 * ROUNDS; i++) {
        int sa = (int)(rnd() % 39), sb = (int)(rnd() % 39), sr = (int)(rnd() % 39), prec = 1 + (int)(rnd() % 38);
        if (i & 1) sa %= 20, sb %= 20, sr %= 20;
        int128_t x = any_int(i & 2 ? 128 : 90), y = any_int(i & 4 ? 128 : 60), want, r64;
        int64_t x64 = (int64_t)any_int(64), n64;
        i128 k;
        bool bad = vm_rescale(x, sa, sb, prec, false, &want);
        same((rescale_i128_i128(K(x), sa, sb, prec, &k) == KE_NUMERIC) == bad && (bad || H(k) == want),
             "rescale_i128_i128", i);
        bad = vm_rescale(x, sa, sb, prec, true, &want);
        same((rescale_i128_i64(K(x), sa, sb, prec, &n64) == KE_NUMERIC) == bad && (bad || n64 == want),
             "rescale_i128_i64", i);
        bad = vm_rescale(x64, sa, sb, prec, false, &want);
        same((rescale_i64_i128(x64, sa, sb, prec, &k) == KE_NUMERIC) == bad && (bad || H(k) == want),
             "rescale_i64_i128", i);
        bad = vm_rescale(x64, sa, sb, prec, true, &want);
        same((rescale_i64_i64(x64, sa, sb, prec, &n64) == KE_NUMERIC) == bad && (bad || n64 == want), "rescale_i64_i64",
             i);
        bad = numeric_rescale(x, sa, sb, &want);
        same(numeric_rescale_ovf(K(x), sa, sb, &k) == bad && (bad || H(k) == want), "numeric_rescale_ovf", i);

        if (y != 0) {
            bad = numeric_div(x, sa, y, sb, sr, &want);
            same(numeric_div_ovf(K(x), sa, K(y), sb, sr, &k) == bad && (bad || H(k) == want), "numeric_div_ovf", i);
            bad = div_rescale(x, y, sa, sb, sr, &want);
            same(num_div(K(x), K(y), sa, sb, sr, &k) == (bad ? KE_NUMERIC : 0) && (bad || H(k) == want), "num_div", i);
            int128_t y64 = (int64_t)y ? (int64_t)y : 1;
            bad = div_rescale(x64, y64, sa, sb, sr, &want);
            same(num_div(K(x64), K(y64), sa, sb, sr, &k) == (bad ? KE_NUMERIC : 0) && (bad || H(k) == want),
                 "num_div of 64 bits", i);
        }
        same(num_div(K(x), K(0), sa, sb, sr, &k) == KE_ZERO_DIV, "num_div by 0", i);
        if (sr > sa + sb) bad = __builtin_mul_overflow(x, y, &r64) || numeric_rescale(r64, sa + sb, sr, &want);
        else bad = mul_rescale(x, y, sa + sb - sr, &want);
        same(num_mul(K(x), K(y), sa, sb, sr, &k) == (bad ? KE_NUMERIC : 0) && (bad || H(k) == want), "num_mul", i);

        same((check_digits_i128(K(x), prec) != 0) == numeric_exceeds(x, prec), "check_digits_i128", i);
        same((check_digits_i64(x64, prec) != 0) == numeric_exceeds(x64, prec), "check_digits_i64", i);
        if (i % 8 == 0) {
            same(same_f64(num_to_f64_i128(K(x), sa), numeric_to_f64(x, sa)), "num_to_f64_i128", i);
            same(same_f64(num_to_f64_i64(x64, sa), numeric_to_f64(x64, sa)), "num_to_f64_i64", i);
        }
    }
}

static void test_f64_to_numeric(void **state) {
    (void)state;
    for (int64_t i = 0; i < 3 * ROUNDS; i++) {
        double d = any_f64();
        int to = (int)(rnd() % 39), prec = 1 + (int)(rnd() % 38);
        switch (i % 4) {
        case 0: d = (double)any_int(120) / pow(10, (double)(rnd() % 60)); break; /* all magnitudes */
        case 1:
            d = (double)(2 * (int64_t)any_int(30) + 1) / 2 / pow(10, (double)(to % 16));
            break;                                        /* at a half of the last digit */
        case 2: d = (double)any_int(70) * 0x1p-16; break; /* exact ties of the 15th digit */
        default: break;
        }
        int128_t want = 0;
        i128 k;
        int64_t n64;
        bool bad = numeric_from_f64(d, to, &want) || numeric_exceeds(want, prec);
        uint32_t kind = !bad ? 0 : isnan(d) ? KE_NAN : isinf(d) ? KE_INFINITY : KE_NUMERIC;
        same(f64_to_num_i128(d, to, prec, &k) == kind && (kind || H(k) == want), "f64_to_num_i128", i);
        if (!kind && want != (int64_t)want) kind = KE_NUMERIC;
        same(f64_to_num_i64(d, to, prec, &n64) == kind && (kind || n64 == want), "f64_to_num_i64", i);
    }
}

/* ---- dates, intervals, uuids, hashes ------------------------------------------------------------------ */
static void test_dates(void **state) {
    (void)state;
    static const DateField fields[] = {DF_YEAR, DF_MONTH,   DF_DAY,    DF_QUARTER, DF_WEEK,       DF_DOW,   DF_ISODOW,
                                       DF_DOY,  DF_ISOYEAR, DF_DECADE, DF_CENTURY, DF_MILLENNIUM, DF_JULIAN};
    static_assert(DF_YEAR == KC_YEAR && DF_MONTH == KC_MONTH && DF_DAY == KC_DAY && DF_HOUR == KC_HOUR &&
                      DF_MINUTE == KC_MINUTE && DF_SECOND == KC_SECOND && DF_QUARTER == KC_QUARTER &&
                      DF_WEEK == KC_WEEK && DF_DOW == KC_DOW && DF_ISODOW == KC_ISODOW && DF_DOY == KC_DOY &&
                      DF_ISOYEAR == KC_ISOYEAR && DF_DECADE == KC_DECADE && DF_CENTURY == KC_CENTURY &&
                      DF_MILLENNIUM == KC_MILLENNIUM && DF_JULIAN == KC_JULIAN,
                  "numbers of date fields");
    for (int64_t i = 0; i < 2 * ROUNDS; i++) {
        /* every day of 1900 to 2099, then all magnitudes, both ends of the type included */
        int32_t days = i < 73050 ? (int32_t)(i - 36524) : (int32_t)any_int(32);
        if (i >= 73050 && i % 16 == 0)
            days = (i & 16 ? INT32_MAX : INT32_MIN) + (i & 16 ? -1 : 1) * (int32_t)(rnd() % 6000);
        int64_t y;
        int m, d;
        date_to_ymd(days, &y, &m, &d);
        ymd c = date_to_civil(days);
        same(c.year == y && c.month == m && c.day == d, "date_to_civil", days);
        same((int32_t)date_from_civil(y, m, d) == date_from_ymd(y, m, d), "date_from_civil", days);
        bool near_end = days > INT32_MAX - 800 ||
                        days < INT32_MIN + 800; /* the machine's 1 January or Thursday would leave 32 bits */
        for (size_t f = 0; f < sizeof fields / sizeof *fields; f++) {
            if (near_end &&
                (fields[f] == DF_DOY || fields[f] == DF_WEEK || fields[f] == DF_ISOYEAR || fields[f] == DF_JULIAN))
                continue;
            int32_t fast = 0;
            int32_t want = date_field(fields[f], days), got = date_part((i32)fields[f], days);
            same(got == want, "date_part", days * 32LL + fields[f]);
            if (!vm->date_part(1, (int)fields[f], &days, &fast))
                same(fast == want, "the machine's own date_part", days);
        }
        int64_t ts = i % 3 == 0 ? (int64_t)any_int(64)
                                : (int64_t)days % 1000000 * USECS_PER_DAY + (int64_t)(rnd() % (uint64_t)USECS_PER_DAY);
        int64_t t = ts % USECS_PER_DAY;
        if (t < 0) t += USECS_PER_DAY;
        same(date_part_ts(KC_HOUR, ts) == (int32_t)(t / (3600 * USECS_PER_SEC)), "hour", i);
        same(date_part_ts(KC_MINUTE, ts) == (int32_t)(t / (60 * USECS_PER_SEC) % 60), "minute", i);
        same(date_part_ts(KC_SECOND, ts) == (int32_t)(t / USECS_PER_SEC % 60), "second", i);
        same(date_part_ts(KC_YEAR, ts) == date_field(DF_YEAR, (int32_t)floor_div(ts, USECS_PER_DAY)), "year", i);
        same(date_part_ts(KC_DOW, ts) == date_field(DF_DOW, (int32_t)floor_div(ts, USECS_PER_DAY)), "dow", i);
    }
}

static void test_cells(void **state) {
    (void)state;
    for (int64_t i = 0; i < 4 * ROUNDS; i++) {
        Interval a = {(int64_t)any_int(64), (int32_t)any_int(32), (int32_t)any_int(32)},
                 b = {(int64_t)any_int(64), (int32_t)any_int(32), (int32_t)any_int(32)};
        if (i & 1) { /* equal in another spelling */
            a.months %= 1000;
            a.days %= 1000000;
            a.micros %= 1000 * USECS_PER_DAY;
            b = (Interval){a.micros + (a.days % 100) * USECS_PER_DAY, a.days / 100 * 100 + a.months * 30, 0};
        }
        iv ka, kb;
        static_assert(sizeof ka == sizeof a, "intervals lie alike");
        memcpy(&ka, &a, sizeof ka);
        memcpy(&kb, &b, sizeof kb);
        int want = cell_cmp(PH_INTERVAL, &a, &b);
        same(iv_cmp(ka, kb) == want && iv_eq(ka, kb) == (want == 0) && iv_lt(ka, kb) == (want < 0), "iv_cmp", i);
        same(hash_iv(ka) == cell_hash(PH_INTERVAL, &a), "hash_iv", i);
        Uuid u, v;
        uuid ku, kv;
        for (int j = 0; j < 16; j++) u.bytes[j] = (uint8_t)rnd();
        v = u;
        for (int j = (int)(rnd() % 3); j > 0; j--) v.bytes[rnd() % 16] = (uint8_t)rnd();
        memcpy(&ku, &u, 16);
        memcpy(&kv, &v, 16);
        want = cell_cmp(PH_UUID, &u, &v);
        same(uuid_cmp(ku, kv) == want && uuid_eq(ku, kv) == (want == 0), "uuid_cmp", i);

        int64_t n = (int64_t)any_int(64);
        int32_t n32 = (int32_t)n;
        int128_t w = any_int(128);
        double d = any_f64();
        float f = (float)d;
        same(hash_i64(n) == cell_hash(PH_I64, &n) && hash_i64(n32) == cell_hash(PH_I32, &n32), "hash_i64", i);
        same(hash_i128(K(w)) == cell_hash(PH_I128, &w), "hash_i128", i);
        same(hash_f64(d) == cell_hash(PH_F64, &d) && hash_f64((double)f) == cell_hash(PH_F32, &f), "hash_f64", i);
        same(k_hash_u64((uint64_t)n) == hash_u64((uint64_t)n) &&
                 k_hash_combine((uint64_t)n, (uint64_t)w) == hash_combine((uint64_t)n, (uint64_t)w) &&
                 k_hash_key((uint64_t)n, (uint64_t)w) == hash_key((uint64_t)n, (uint64_t)w),
             "hash_combine, hash_key", i);

        /* aggregate states */
        int64_t m = (int64_t)any_int(64);
        double e = any_f64();
        same(dec_max_i64(enc_max_i64(n)) == n && dec_min_i64(enc_min_i64(n)) == n, "integer encodings", i);
        same((enc_max_i64(n) < enc_max_i64(m)) == (n < m) && (enc_min_i64(n) < enc_min_i64(m)) == (n > m),
             "integer order", i);
        same(same_f64(dec_max_f64(enc_max_f64(d)), d) && same_f64(dec_min_f64(enc_min_f64(d)), d), "float encodings",
             i);
        if (cell_cmp(PH_F64, &d, &e)) {
            same((enc_max_f64(d) < enc_max_f64(e)) == (cell_cmp(PH_F64, &d, &e) < 0), "float order", i);
            same((enc_min_f64(d) < enc_min_f64(e)) == (cell_cmp(PH_F64, &d, &e) > 0), "float order", i);
        }
    }
    same(enc_max_i64(INT64_MIN) == 0 && enc_min_i64(INT64_MAX) == 0, "neutral", 0);
    double inf = -HUGE_VAL, nan = (double)NAN;
    same(enc_max_f64(inf) > 0 && enc_min_f64(nan) > 0, "neutral", 1);
}

/* Sums: exact in 128 and 192 bits, by atomics and by hand, in any order. */
static void test_sums(void **state) {
    (void)state;
    for (int64_t round = 0; round < 2000; round++) {
        alignas(16) uint64_t two[2] = {0}, three[3] = {0}, local[2] = {0}, local3[3] = {0};
        sum192 s = sum192_zero();
        int128_t total = 0;
        uint128_t low = 0;
        int64_t top = 0;
        for (int64_t i = 0; i < 40; i++) {
            int64_t n = (int64_t)any_int(64);
            ga_add_i128((u64)(uintptr_t)two, i128_from_i64(n));
            la_add_i128((u64 *)(void *)local, i128_from_i64(n));
            total += n;
            int128_t v = any_int(128);
            sum192 one = sum192_add(sum192_zero(), K(v));
            s = sum192_add(s, K(v));
            ga_add_sum192((u64)(uintptr_t)three, one);
            la_add_sum192((u64 *)(void *)local3, one);
            uint128_t old = low;
            low += (uint128_t)v;
            top += (int64_t)(low < old) - (v < 0);
        }
        same(memcmp(two, &total, 16) == 0 && memcmp(local, &total, 16) == 0, "128-bit sum", round);
        same(memcmp(three, &low, 16) == 0 && three[2] == (uint64_t)top && memcmp(three, local3, 24) == 0,
             "192-bit sum in memory", round);
        same(H(s.low) == (int128_t)low && s.top == top, "192-bit sum", round);
        i128 r;
        sum192 back = sum192_load((u64)(uintptr_t)three);
        bool fits = top == ((int128_t)low < 0 ? -1 : 0) && !numeric_exceeds((int128_t)low, 38);
        same(sum192_ovf(back, &r) == !fits && (!fits || H(r) == (int128_t)low), "sum192_ovf", round);
    }
}

/* ---- packed columns, memory, atomics -------------------------------------------------------------------- */
static void test_packed(void **state) {
    (void)state;
    enum { ROWS = 1000 };
    static const uint32_t widths[] = {0, 1, 2, 4, 8, 16, 24, 32, 64};
    alignas(64) static uint8_t area[ROWS * 8 + TABLET_GUARD];
    for (size_t i = 0; i < sizeof area; i++) area[i] = (uint8_t)rnd();
    u64 addr = (u64)(uintptr_t)area;
    for (int64_t row = 0; row < ROWS; row++) {
        for (size_t k = 0; k < sizeof widths / sizeof *widths; k++) {
            uint32_t w = widths[k];
            uint64_t want = 0;
            for (uint32_t b = 0; b < w; b++) {
                uint64_t bit = (uint64_t)row * w + b;
                want |= (uint64_t)(area[bit / 8] >> (bit % 8) & 1) << b;
            }
            same(unpack(w, addr, row) == want, "unpack", row * 100 + w);
        }
        same(bit_at(addr, row) == (((const uint64_t *)(const void *)area)[row / 64] >> (row % 64) & 1), "bit_at", row);
    }
}

KERNEL(kernel_under_test) {
    i64 n = PI(1);
    for (i64 i = (i64)(GID * LSIZE + LID); i < n && !STOPPED(); i += (i64)(NGROUPS * LSIZE)) {
        u64 slot = append(P(2));
        if (slot >= 50) RAISE(7u << 8 | KE_RANGE);
        else G(i64, P(3))[slot] = i;
        LM(u64, 8)[0] += 1;
    }
    BARRIER();
    FENCE();
}
static void test_kernel(void **state) {
    (void)state;
    uint64_t word[2] = {0}, counter = 0, local[2] = {0};
    int64_t out[50];
    uint64_t kp[4] = {(uint64_t)(uintptr_t)word, 40, (uint64_t)(uintptr_t)&counter, (uint64_t)(uintptr_t)out};
    KernelCtx kc = {.gid = 0, .ngroups = 1, .lmem = (u8 *)local};
    kernel_under_test((const u64 *)kp, &kc);
    assert_int_equal(word[0], 0);
    assert_int_equal(counter, 40);
    assert_int_equal(out[39], 39);
    assert_int_equal(local[1], 40);
    kernel_under_test((const u64 *)kp, &kc); /* the slots run out: the first error stays and the loop ends */
    assert_int_equal(word[0], 7u << 8 | KE_RANGE);
    assert_int_equal(counter, 51);
    word[0] = 0;
    word[1] = 1; /* cancelled */
    kernel_under_test((const u64 *)kp, &kc);
    assert_int_equal(counter, 51);

    uint64_t v = 5;
    uint32_t w = 6;
    double f = 1.5;
    u64 at = (u64)(uintptr_t)&v, at32 = (u64)(uintptr_t)&w;
    assert_int_equal(ga_add_u64(at, 3), 5);
    assert_int_equal(ga_max_u64(at, 20), 8);
    assert_int_equal(ga_max_u64(at, 10), 20);
    assert_int_equal(ga_cas_u64(at, 1, 2), 20);
    assert_int_equal(ga_cas_u64(at, 20, 2), 20);
    assert_int_equal(ga_or_u64(at, 8), 2);
    assert_int_equal(ga_and_u64(at, 8), 10);
    assert_int_equal(ga_xchg_u64(at, 1), 8);
    assert_int_equal(v, 1);
    assert_int_equal(ga_add_u32(at32, 3), 6);
    assert_int_equal(ga_or_u32(at32, 6), 9);
    assert_int_equal(ga_and_u32(at32, 3), 15);
    assert_int_equal(ga_xchg_u32(at32, 4), 3);
    assert_int_equal(ga_cas_u32(at32, 4, 9), 4);
    assert_int_equal(la_cas_u32(&w, 9, 1), 9);
    assert_int_equal(la_or_u32(&w, 6), 1);
    assert_int_equal(w, 7);
    assert_true(ga_add_f64((u64)(uintptr_t)&f, 2.0) == 1.5 && la_add_f64(&f, 0.5) == 3.5 && f == 4.0);
}

/* ---- text -------------------------------------------------------------------------------------------------- */
/* Random text of few letters, so that parts repeat; some of it not ASCII. */
static int64_t any_text(char *out, int64_t max, bool pattern) {
    static const char *const pieces[] = {
        "a", "b", "c", "a",   "b",   "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "%",
        "_", "%", "_", "\\%", "\\_", "%%"};
    int64_t len = 0, n = (int64_t)(rnd() % (uint64_t)max);
    while (len < n) {
        const char *p = pieces[rnd() % (pattern ? 15 : rnd() % 8 ? 5 : 10)];
        memcpy(out + len, p, strlen(p));
        len += (int64_t)strlen(p);
    }
    return len;
}
static void test_strings(void **state) {
    (void)state;
    static char buf[2][400];
    uint64_t distinct = 0;
    for (int64_t i = 0; i < 2 * ROUNDS; i++) {
        char *a = buf[0] + rnd() % 16, *b = buf[1] + rnd() % 16;
        int64_t na = any_text(a, 60, false), nb = any_text(b, 60, false);
        if (i % 2) { /* alike but for one byte or the length */
            memcpy(b, a, (size_t)na);
            nb = na;
            if (nb && i % 4 == 1) b[rnd() % (uint64_t)nb] = (char)(rnd() | 1);
            if (nb && i % 8 == 1) nb--;
        }
        Str x = str_make(a, na), y = str_make(b, nb);
        str kx = k_str_make((u64)(uintptr_t)a, na), ky = k_str_make((u64)(uintptr_t)b, nb);
        same(k_str_cmp(kx, ky) == str_cmp(x, y), "str_cmp", i);
        same(k_str_eq(kx, ky) == str_eq(x, y), "str_eq", i);
        uint64_t p = str_prefix(kx), q = str_prefix(ky);
        if (p != q) same((p < q) == (str_cmp(x, y) < 0), "str_prefix", i);
        if (str_eq(x, y)) same(hash_str(kx) == hash_str(ky), "hash_str", i);
        else distinct += hash_str(kx) == hash_str(ky);
    }
    assert_int_equal(distinct, 0);
}
static void test_like(void **state) {
    (void)state;
    MemAccount acct;
    mem_account_init(&acct, NULL, "test", 0, NULL);
    Arena *arena = arena_new(&acct, NULL);
    alignas(8) static uint64_t code[400];
    static char pattern[200], subject[600];
    uint64_t hits = 0;
    for (int64_t i = 0; i < 12000; i++) {
        int64_t n = any_text(pattern, i % 3 ? 8 : 20, true);
        LikePattern *p = like_compile(arena, (Slice){pattern, n}, '\\', false, NULL);
        assert_non_null(p);
        int64_t bytes = like_encoded_bytes(p);
        assert_true(bytes > 0 && bytes % 8 == 0 && bytes <= (int64_t)sizeof code);
        like_encode(p, code);
        for (int k = 0; k < 25; k++) {
            char *s = subject + rnd() % 16;
            int64_t len = any_text(s, k % 5 ? 12 : 120, false);
            bool want = like_match(p, s, len);
            hits += want;
            same(k_like_match((u64)(uintptr_t)code, k_str_make((u64)(uintptr_t)s, len)) == want, "like_match", i);
        }
        if (i % 100 == 0) arena_reset(arena);
    }
    assert_true(hits > 5000);
    LikePattern *fold = like_compile(arena, slice_of("a%"), '\\', true, NULL);
    assert_non_null(fold);
    assert_int_equal(like_encoded_bytes(fold), 0);
    arena_free(arena);
}

static int setup(void **state) {
    (void)state;
    make_edges();
    vm = vm_kernels();
    return 0;
}
int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_integers),    cmocka_unit_test(test_i128),    cmocka_unit_test(test_floats),
        cmocka_unit_test(test_conversions), cmocka_unit_test(test_numeric), cmocka_unit_test(test_f64_to_numeric),
        cmocka_unit_test(test_dates),       cmocka_unit_test(test_cells),   cmocka_unit_test(test_sums),
        cmocka_unit_test(test_packed),      cmocka_unit_test(test_kernel),  cmocka_unit_test(test_strings),
        cmocka_unit_test(test_like),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
