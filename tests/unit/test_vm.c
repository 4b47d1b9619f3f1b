/* test_vm.c - every opcode and variant of the catalogue against scalar references.
 *
 * Expression opcodes run over columns of chosen and random values: with and without NULLs, with operands as
 * vectors, constants and NULL constants, for vector sizes 1, 3 and 1024 and every instruction set the processor has.
 * The references compute one cell at a time in wide arithmetic. Opcodes that change rows have tests of their own below;
 * the last test fails when an opcode of the catalogue was not seen by any.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "exec/vm_frame.h"

enum { ROWS = 2500, COLS = 4 };
static bool seen[OP_COUNT_][PH_COUNT_];
static const char *const isas[] = {"baseline", "avx2", "avx512"};
static const int64_t vector_sizes[] = {1, 3, 1024};

/* ---- random values ------------------------------------------------------------------------ */
static uint64_t seed = 88172645463325252u;
static uint64_t rnd(void) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    return seed ^= seed << 17;
}

typedef union Cell {
    uint8_t b;
    int16_t i16;
    int32_t i32;
    int64_t i64;
    int128_t i128;
    float f32;
    double f64;
    Str str;
    Interval iv;
    Uuid uuid;
} Cell;
typedef struct V {
    bool null;
    Cell c;
} V;

static const char text_pool[] = "abcdefghabcxabcdefzz%_a";
static const double doubles[] = {0,     -0.0,    1,      -1,           0.5,      1.5,       2.5,
                                 -2.5,  32767.5, 1e9,    2147483647.5, 1e18,     9.3e18,    1e30,
                                 1e300, -1e300,  1e-300, 5e-324,       INFINITY, -INFINITY, NAN};
static const int64_t ints[] = {0,
                               1,
                               -1,
                               2,
                               7,
                               -7,
                               100,
                               INT16_MAX,
                               INT16_MIN,
                               INT32_MAX,
                               INT32_MIN,
                               INT64_MAX,
                               INT64_MIN,
                               INT64_MAX - 1,
                               99999999999999999,
                               3037000500};

/* small: values on which nothing overflows */
static V random_value(Phys p, bool small, bool nulls) {
    V v = {0};
    v.null = nulls && rnd() % 5 == 0;
    int64_t s = (int64_t)(rnd() % 40) - 20;
    if (s == 0) s = 3;
    int64_t w = rnd() % 2 ? ints[rnd() % ARRAY_LEN(ints)] : (int64_t)rnd() >> (rnd() % 60);
    int64_t x = small ? s : w;
    double d = small ? (double)s * 0.25 : rnd() % 2 ? doubles[rnd() % ARRAY_LEN(doubles)] : (double)x / 3;
    switch (p) {
    case PH_BOOL: v.c.b = rnd() & 1; break;
    case PH_I16: v.c.i16 = (int16_t)x; break;
    case PH_I32: v.c.i32 = (int32_t)x; break;
    case PH_I64: v.c.i64 = x; break;
    case PH_I128:
        v.c.i128 = small ? s : rnd() % 3 ? (int128_t)x : ((int128_t)x * (int64_t)(rnd() >> 2)) % pow10_i128[38];
        break;
    case PH_F32: v.c.f32 = (float)d; break;
    case PH_F64: v.c.f64 = d; break;
    case PH_STR: v.c.str = str_make(text_pool + rnd() % 8, (int64_t)(rnd() % 12)); break;
    case PH_INTERVAL:
        v.c.iv = (Interval){(int64_t)(rnd() % 3) * USECS_PER_DAY, (int32_t)(rnd() % 3) * 30, (int32_t)(rnd() % 3)};
        break;
    default: memset(v.c.uuid.bytes, (int)(rnd() % 3), 16); v.c.uuid.bytes[15] = (uint8_t)(rnd() % 3);
    }
    if (v.null && rnd() % 2) memset(&v.c, 0, sizeof v.c);
    if (v.null && p == PH_BOOL) v.c.b &= 1;
    return v;
}

/* ---- a program over test columns ------------------------------------------------------------- */
typedef struct Run {
    Err e;
    MemAccount acct;
    Arena *a;
    ProgramBuilder b;
    int64_t n;
    uint8_t phys[COLS];
    V *cols[COLS];
    Reg sink[8];
    int n_sink;
    int64_t out_n;
    V *out[8];
    int64_t out_cap;
} Run;

static void run_start(Run *r, int64_t n) {
    memset(r, 0, sizeof *r);
    mem_account_init(&r->acct, NULL, "test", 0, NULL);
    r->a = arena_new(&r->acct, &r->e);
    builder_init(&r->b, r->a);
    r->n = n;
}
static void run_stop(Run *r) {
    for (int i = 0; i < 8; i++) free(r->out[i]);
    arena_free(r->a);
    assert_int_equal(r->acct.used, 0);
}

static Status test_load(Frame *f, const Instr *in, Vec *out) {
    Run *r = f->vm->env.ctx;
    int64_t col = in->imm, size = cell_bytes(size_class(out->phys));
    bool nulls = false;
    for (int64_t i = 0; i < f->n; i++) {
        const V *v = &r->cols[col][f->pos ? f->pos[i] : f->first + i];
        memcpy((char *)out->data + i * size, &v->c, (size_t)size);
        out->valid[i] = !v->null;
        nulls |= v->null;
    }
    if (!nulls) out->valid = NULL;
    return ST_OK;
}
static Status test_sink(Frame *f) {
    Run *r = f->vm->env.ctx;
    if (r->out_n + f->n > r->out_cap) {
        r->out_cap = (r->out_n + f->n) * 2;
        for (int i = 0; i < r->n_sink; i++) r->out[i] = realloc(r->out[i], (size_t)r->out_cap * sizeof(V));
    }
    for (int k = 0; k < r->n_sink; k++) {
        const Vec *v = frame_dense(f, r->sink[k]);
        assert_non_null(v);
        assert_false(v->is_const);
        int64_t size = cell_bytes(size_class(v->phys));
        for (int64_t i = 0; i < f->n; i++) {
            V *o = &r->out[k][r->out_n + i];
            memset(o, 0, sizeof *o);
            o->null = v->valid && !v->valid[i];
            memcpy(&o->c, (const char *)v->data + i * size, (size_t)size);
        }
    }
    r->out_n += f->n;
    return ST_OK;
}

static Status run_program(Run *r, Program *p, const QueryPlan *plan, JoinTable **joins, int64_t vs) {
    SessionInfo session = {0};
    VmEnv env = {.plan = plan,
                 .joins = joins,
                 .session = &session,
                 .account = &r->acct,
                 .vector_size = vs,
                 .workers = 1,
                 .sink = test_sink,
                 .load = test_load,
                 .ctx = r};
    Vm *vm;
    Frame *f;
    r->out_n = 0;
    err_clear(&r->e);
    assert_int_equal(vm_new(p, &env, &vm, &r->e), ST_OK);
    assert_int_equal(frame_new(vm, 0, &f, &r->e), ST_OK);
    Status st = ST_OK;
    for (int64_t i = 0; i < r->n && st == ST_OK; i += vs) {
        f->first = i;
        f->pos = NULL;
        st = frame_run(f, MIN_OF(vs, r->n - i), 0);
    }
    if (st != ST_OK) err_copy(&r->e, &f->err);
    frame_free(f);
    vm_free(vm);
    return st;
}
static Program *run_finish(Run *r) {
    Source src = {.kind = SRC_ROWS};
    Sink sink = {.kind = SINK_ROWS, .n_regs = r->n_sink, .regs = r->sink, .limit = -1};
    Program *p = program_finish(&r->b, &src, &sink, &r->e);
    if (!p) fail_msg("%s", r->e.message);
    return p;
}
static Reg new_reg(Run *r, Phys p) { return builder_reg(&r->b, p, type_make(T_INT8), true); }
static Reg load_col(Run *r, int col, Phys p) {
    Reg x = new_reg(r, p);
    builder_emit(&r->b, OP_LOAD, p, x, 0, 0, 0)->imm = col;
    return x;
}
static Reg const_reg(Run *r, Phys p, const V *v) {
    Value c = {.type = type_make(T_VOID), .is_null = v->null}; /* of no SQL type: any cell of p */
    if (!v->null) memcpy(&c.u, &v->c, sizeof v->c);
    return builder_const(&r->b, p, &c);
}

static bool same(Phys p, const V *a, const V *b) {
    if (a->null || b->null) return a->null == b->null;
    if (p == PH_F64) return a->c.f64 == b->c.f64 || (isnan(a->c.f64) && isnan(b->c.f64));
    if (p == PH_F32) return a->c.f32 == b->c.f32 || (isnan(a->c.f32) && isnan(b->c.f32));
    if (p == PH_STR) return str_eq(a->c.str, b->c.str);
    return memcmp(&a->c, &b->c, (size_t)cell_bytes(size_class((uint8_t)p))) == 0;
}

/* ---- references ---------------------------------------------------------------------------------- */
static int128_t geti(Phys p, const Cell *c) {
    switch (p) {
    case PH_BOOL: return c->b;
    case PH_I16: return c->i16;
    case PH_I32: return c->i32;
    case PH_I64: return c->i64;
    default: return c->i128;
    }
}
/* False when v does not fit. */
static bool puti(Phys p, int128_t v, Cell *c) {
    switch (p) {
    case PH_BOOL: c->b = (uint8_t)v; return v == (v != 0);
    case PH_I16: c->i16 = (int16_t)v; return v == c->i16;
    case PH_I32: c->i32 = (int32_t)v; return v == c->i32;
    case PH_I64: c->i64 = (int64_t)v; return v == c->i64;
    default: c->i128 = v; return true;
    }
}
static double getf(Phys p, const Cell *c) { return p == PH_F32 ? (double)c->f32 : c->f64; }
static bool is_float(Phys p) { return p == PH_F32 || p == PH_F64; }

static int ref_cmp(Phys p, const Cell *a, const Cell *b) {
    if (is_float(p)) {
        double x = getf(p, a), y = getf(p, b);
        if (isnan(x) || isnan(y)) return isnan(x) - isnan(y);
        return (x > y) - (x < y);
    }
    if (p <= PH_I128) return (geti(p, a) > geti(p, b)) - (geti(p, a) < geti(p, b));
    if (p == PH_STR) {
        size_t n = MIN_OF(a->str.len, b->str.len);
        int c = n ? memcmp(a->str.ptr, b->str.ptr, n) : 0;
        return c ? c : (int)a->str.len - (int)b->str.len;
    }
    if (p == PH_UUID) return memcmp(a->uuid.bytes, b->uuid.bytes, 16);
    int128_t x = a->iv.micros + (int128_t)USECS_PER_DAY * (a->iv.days + (int128_t)30 * a->iv.months);
    int128_t y = b->iv.micros + (int128_t)USECS_PER_DAY * (b->iv.days + (int128_t)30 * b->iv.months);
    return (x > y) - (x < y);
}

/* What an instruction is, beyond its operands. */
typedef struct Case {
    Opcode op;
    Phys phys, dst;
    int64_t imm;
    void *aux;
    bool small; /* only values that cannot fail */
} Case;

static const char *ref_arith(const Case *c, const Cell *a, const Cell *b, Cell *r) {
    Phys p = c->phys;
    if (is_float(p)) {
        double x = getf(p, a), y = getf(p, b), z;
        float fx = (float)x, fy = (float)y;
        bool f32 = p == PH_F32;
        switch (c->op) {
        case OP_ADD: z = f32 ? (double)(fx + fy) : x + y; break;
        case OP_SUB: z = f32 ? (double)(fx - fy) : x - y; break;
        case OP_MUL: z = f32 ? (double)(fx * fy) : x * y; break;
        default:
            if (y == 0 && !isnan(x)) return "22012"; /* as PostgreSQL: NaN / 0 is NaN */
            z = f32 ? (double)(fx / fy) : x / y;
        }
        if (isinf(z) && isfinite(x) && isfinite(y)) return "22003";
        if (isnan(z) && isfinite(x) && isfinite(y)) return "22003";
        if (z == 0 && x != 0 && c->op == OP_MUL && y != 0) return "22003";
        if (z == 0 && x != 0 && c->op == OP_DIV && isfinite(y)) return "22003";
        if (f32) r->f32 = (float)z;
        else r->f64 = z;
        return NULL;
    }
    int128_t x = geti(p, a), y = geti(p, b), z = 0;
    bool over = false;
    switch (c->op) {
    case OP_ADD:
    case OP_ADD_N: over = __builtin_add_overflow(x, y, &z); break;
    case OP_SUB:
    case OP_SUB_N: over = __builtin_sub_overflow(x, y, &z); break;
    case OP_MUL:
    case OP_MUL_N:
    case OP_MUL_WIDE: over = __builtin_mul_overflow(x, y, &z); break;
    default:
        if (y == 0) return "22012";
        if (c->op == OP_DIV) z = x / y;
        else z = y == -1 ? 0 : x % y;
    }
    if (!puti(c->dst, z, r)) over = true;
    if (p == PH_I128 && (c->op == OP_ADD || c->op == OP_SUB || c->op == OP_MUL)) over |= numeric_exceeds(z, 38);
    bool checked = c->op == OP_ADD || c->op == OP_SUB || c->op == OP_MUL || c->op == OP_DIV;
    return over && checked ? "22003" : NULL;
}

static const char *ref_bits(const Case *c, const Cell *a, const Cell *b, Cell *r) {
    const int64_t x = (int64_t)geti(c->phys, a), y = b ? (int64_t)geti(c->phys, b) : 0;
    const int count = (int)(y & (c->phys == PH_I64 ? 63 : 31));
    int64_t z = 0;
    switch (c->op) {
    case OP_BIT_AND: z = x & y; break;
    case OP_BIT_OR: z = x | y; break;
    case OP_BIT_XOR: z = x ^ y; break;
    case OP_BIT_NOT: z = -x - 1; break;
    case OP_SHR: /* a quotient, rounded down */
        z = (int64_t)((uint64_t)(x < 0 ? -1 - x : x) / (UINT64_C(1) << count));
        if (x < 0) z = -1 - z;
        break;
    default: z = (int64_t)((uint64_t)x * (UINT64_C(1) << count));
    }
    if (c->phys == PH_I16) r->i16 = (int16_t)z;
    else if (c->phys == PH_I32) r->i32 = (int32_t)z;
    else r->i64 = z;
    return NULL;
}

static const char *ref_cvt(const Case *c, const Cell *a, Cell *r) {
    Phys p = c->phys, d = c->dst;
    if (is_float(p)) {
        double x = getf(p, a);
        if (d == PH_F32) {
            r->f32 = (float)x;
            return (isinf(r->f32) && isfinite(x)) || (r->f32 == 0 && x != 0) ? "22003" : NULL;
        }
        if (d == PH_F64) return r->f64 = x, NULL;
        if (d == PH_BOOL) return r->b = x != 0, NULL;
        double v = rint(x);
        if (isnan(v) || v < -0x1p127 || v >= 0x1p127) return "22003";
        return puti(d, (int128_t)v, r) ? NULL : "22003";
    }
    int128_t x = geti(p, a);
    if (d == PH_F32) return r->f32 = (float)x, NULL;
    if (d == PH_F64) return r->f64 = (double)x, NULL;
    if (d == PH_BOOL) return r->b = x != 0, NULL;
    return puti(d, x, r) ? NULL : "22003";
}

static bool set_contains(const InSet *s, Phys p, const Cell *a) {
    int64_t size = cell_bytes(size_class((uint8_t)p));
    for (int64_t i = 0; i < s->n; i++) {
        Cell x;
        memcpy(&x, (char *)s->cells + i * size, (size_t)size);
        if (ref_cmp(p, &x, a) == 0) return true;
    }
    return false;
}

static int32_t ref_date_part(DateField f, Phys p, const Cell *a) {
    int64_t us = p == PH_I64 ? a->i64 : (int64_t)a->i32 * USECS_PER_DAY;
    int64_t day = us / USECS_PER_DAY - (us % USECS_PER_DAY < 0), in_day = us - day * USECS_PER_DAY;
    int64_t y;
    int m, d;
    date_to_ymd((int32_t)day, &y, &m, &d);
    int64_t dow = ((day + 6) % 7 + 7) % 7;
    switch (f) {
    case DF_YEAR: return (int32_t)(y > 0 ? y : y - 1);
    case DF_MONTH: return m;
    case DF_DAY: return d;
    case DF_QUARTER: return (m - 1) / 3 + 1;
    case DF_DOY: return (int32_t)(day - date_from_ymd(y, 1, 1) + 1);
    case DF_DOW: return (int32_t)dow;
    case DF_ISODOW: return (int32_t)(dow ? dow : 7);
    case DF_HOUR: return (int32_t)(in_day / (3600 * USECS_PER_SEC));
    case DF_MINUTE: return (int32_t)(in_day / (60 * USECS_PER_SEC) % 60);
    case DF_SECOND: return (int32_t)(in_day / USECS_PER_SEC % 60);
    default: return 0;
    }
}

/* The result of one row, or an SQLSTATE. */
static const char *reference(const Case *c, const V *a, const V *b, const V *d, V *r) {
    memset(r, 0, sizeof *r);
    uint8_t rule = op_info[c->op].nulls;
    if (rule == NN && (a->null || (b && b->null))) {
        r->null = true;
        return NULL;
    }
    switch (c->op) {
    case OP_ADD:
    case OP_SUB:
    case OP_MUL:
    case OP_ADD_N:
    case OP_SUB_N:
    case OP_MUL_N:
    case OP_MUL_WIDE:
    case OP_DIV:
    case OP_MOD: return ref_arith(c, &a->c, &b->c, &r->c);
    case OP_BIT_AND:
    case OP_BIT_OR:
    case OP_BIT_XOR:
    case OP_SHL:
    case OP_SHR: return ref_bits(c, &a->c, &b->c, &r->c);
    case OP_BIT_NOT: return ref_bits(c, &a->c, NULL, &r->c);
    case OP_NEG:
    case OP_ABS: {
        if (is_float(c->phys)) {
            double x = getf(c->phys, &a->c);
            x = c->op == OP_NEG ? -x : fabs(x);
            if (c->phys == PH_F32) r->c.f32 = (float)x;
            else r->c.f64 = x;
            return NULL;
        }
        int128_t x = geti(c->phys, &a->c);
        if (x == INT128_MIN) return "22003";
        return puti(c->phys, c->op == OP_NEG || x < 0 ? -x : x, &r->c) ? NULL : "22003";
    }
    case OP_RESCALE: {
        int128_t v;
        if (numeric_rescale(geti(c->phys, &a->c), NUM_IMM_FROM(c->imm), NUM_IMM_TO(c->imm), &v) ||
            numeric_exceeds(v, NUM_IMM_PREC(c->imm)))
            return "22003";
        return puti(c->dst, v, &r->c) ? NULL : "22003";
    }
    case OP_NUM_DIV:
        if (b->c.i128 == 0) return "22012";
        return numeric_div(a->c.i128, NUM_IMM_FROM(c->imm), b->c.i128, NUM_IMM_TO(c->imm), NUM_IMM_PREC(c->imm),
                           &r->c.i128)
                   ? "22003"
                   : NULL;
    case OP_NUM_MUL: {
        int128_t v;
        if (__builtin_mul_overflow(a->c.i128, b->c.i128, &v)) return "?"; /* wider than the reference: skipped */
        return numeric_rescale(v, NUM_IMM_FROM(c->imm) + NUM_IMM_TO(c->imm), NUM_IMM_PREC(c->imm), &r->c.i128) ? "22003"
                                                                                                               : NULL;
    }
    case OP_NUM_TO_F64: r->c.f64 = numeric_to_f64(geti(c->phys, &a->c), NUM_IMM_FROM(c->imm)); return NULL;
    case OP_F64_TO_NUM: {
        int128_t v;
        if (!isfinite(a->c.f64)) return "0A000";
        if (numeric_from_f64(a->c.f64, NUM_IMM_TO(c->imm), &v) || numeric_exceeds(v, NUM_IMM_PREC(c->imm)))
            return "22003";
        return puti(c->dst, v, &r->c) ? NULL : "22003";
    }
    case OP_CHECK_DIGITS: r->c = a->c; return numeric_exceeds(geti(c->phys, &a->c), (int)c->imm) ? "22003" : NULL;
    case OP_CVT: return ref_cvt(c, &a->c, &r->c);
    case OP_EQ: r->c.b = ref_cmp(c->phys, &a->c, &b->c) == 0; return NULL;
    case OP_NE: r->c.b = ref_cmp(c->phys, &a->c, &b->c) != 0; return NULL;
    case OP_LT: r->c.b = ref_cmp(c->phys, &a->c, &b->c) < 0; return NULL;
    case OP_LE: r->c.b = ref_cmp(c->phys, &a->c, &b->c) <= 0; return NULL;
    case OP_GT: r->c.b = ref_cmp(c->phys, &a->c, &b->c) > 0; return NULL;
    case OP_GE: r->c.b = ref_cmp(c->phys, &a->c, &b->c) >= 0; return NULL;
    case OP_DISTINCT:
        r->c.b = a->null || b->null ? a->null != b->null : ref_cmp(c->phys, &a->c, &b->c) != 0;
        return NULL;
    case OP_AND:
    case OP_OR: {
        bool decisive = c->op == OP_OR;
        bool da = !a->null && (bool)a->c.b == decisive, db = !b->null && (bool)b->c.b == decisive;
        if (da || db) r->c.b = decisive;
        else if (a->null || b->null) r->null = true;
        else r->c.b = !decisive;
        return NULL;
    }
    case OP_NOT: r->c.b = !a->c.b; return NULL;
    case OP_IS_NULL: r->c.b = a->null; return NULL;
    case OP_IS_NOT_NULL: r->c.b = !a->null; return NULL;
    case OP_IS_TRUE: r->c.b = !a->null && a->c.b; return NULL;
    case OP_IS_FALSE: r->c.b = !a->null && !a->c.b; return NULL;
    case OP_SELECT: *r = !a->null && a->c.b ? *b : *d; return NULL;
    case OP_COALESCE: *r = a->null ? *b : *a; return NULL;
    case OP_NULLIF:
        *r = *a;
        if (!b->null && b->c.b) r->null = true;
        return NULL;
    case OP_IN_SET: {
        const InSet *s = c->aux;
        r->null = a->null;
        if (!a->null) {
            r->c.b = set_contains(s, c->phys, &a->c);
            r->null = !r->c.b && s->has_null;
        }
        return NULL;
    }
    case OP_CODE_TEST: r->c.b = ((CodeMask *)c->aux)->mask[a->c.i32] != 0; return NULL;
    case OP_CODE_MAP: {
        const CodeMap *m = c->aux;
        int64_t size = cell_bytes(size_class((uint8_t)c->dst));
        r->null = a->null || (m->valid && !m->valid[a->c.i32]);
        if (!r->null) memcpy(&r->c, (const char *)m->cells + a->c.i32 * size, (size_t)size);
        return NULL;
    }
    case OP_DECODE: r->c.str = ((Dict *)c->aux)->entries[a->c.i32]; return NULL;
    case OP_LIKE: r->c.b = like_match(c->aux, a->c.str.ptr, a->c.str.len); return NULL;
    case OP_DATE_PART: r->c.i32 = ref_date_part((DateField)c->imm, c->phys, &a->c); return NULL;
    default: fail_msg("no reference for %s", op_info[c->op].name); return NULL;
    }
}

/* ---- the differential test of expression opcodes ------------------------------------------------------ */
enum { CODES = 20 };
enum { OPERAND_VEC, OPERAND_NULLS, OPERAND_CONST, OPERAND_NULL_CONST, OPERAND_KINDS };

static Phys operand_phys(const Case *c, int k) {
    if (c->op == OP_SELECT && k == 0) return PH_BOOL;
    if (c->op == OP_NULLIF && k == 1) return PH_BOOL;
    return c->phys;
}
static V operand_value(const Case *c, int k, bool nulls) {
    V v = random_value(operand_phys(c, k), c->small, nulls);
    if (c->op == OP_CODE_TEST || c->op == OP_CODE_MAP || c->op == OP_DECODE) v.c.i32 = (int32_t)(rnd() % CODES);
    if (c->op == OP_DATE_PART) {
        int64_t days = (int64_t)(rnd() % 1200000) - (c->small ? 0 : 800000);
        if (c->phys == PH_I32) v.c.i32 = (int32_t)days;
        else v.c.i64 = days * USECS_PER_DAY + (int64_t)(rnd() % (uint64_t)USECS_PER_DAY);
    }
    return v;
}

static void check_case(const Case *c, const int *kinds, int n_ops, int64_t vs) {
    Run r;
    run_start(&r, vs == 1 ? 60 : vs == 3 ? 200 : ROWS);
    V consts[3];
    Reg ops[3] = {0};
    for (int k = 0; k < n_ops; k++) {
        Phys p = operand_phys(c, k);
        bool is_const = kinds[k] >= OPERAND_CONST;
        if (is_const) {
            consts[k] = operand_value(c, k, false);
            consts[k].null = kinds[k] == OPERAND_NULL_CONST;
            ops[k] = const_reg(&r, p, &consts[k]);
        } else {
            r.cols[k] = arena_array(r.a, V, r.n);
            for (int64_t i = 0; i < r.n; i++) r.cols[k][i] = operand_value(c, k, kinds[k] == OPERAND_NULLS);
            ops[k] = load_col(&r, k, p);
        }
    }
    Reg d = new_reg(&r, c->dst);
    Instr *in = builder_emit(&r.b, c->op, c->phys, d, ops[0], ops[1], ops[2]);
    in->imm = c->imm;
    in->aux = c->aux;
    r.sink[0] = d;
    r.n_sink = 1;
    for (int k = 0; k < n_ops; k++) /* operands stay alive: they must be unchanged */
        if (kinds[k] < OPERAND_CONST) r.sink[r.n_sink++] = ops[k];
    Program *p = run_finish(&r);
    /* expected */
    V *want = arena_array(r.a, V, r.n);
    const char *state = NULL;
    bool skip = false;
    for (int64_t i = 0; i < r.n; i++) {
        const V *v[3] = {0};
        for (int k = 0; k < n_ops; k++) v[k] = kinds[k] >= OPERAND_CONST ? &consts[k] : &r.cols[k][i];
        const char *s = reference(c, v[0], v[1], v[2], &want[i]);
        if (s && *s == '?') skip = true;
        if (s && !state) state = s;
    }
    if (!skip) {
        Status st = run_program(&r, p, NULL, NULL, vs);
        if (state) {
            if (st == ST_OK) fail_msg("%s.%s: expected error %s", op_info[c->op].name, phys_name(c->phys), state);
            if (strcmp(r.e.sqlstate, state) != 0)
                fail_msg("%s.%s: expected %s, got %s %s", op_info[c->op].name, phys_name(c->phys), state, r.e.sqlstate,
                         r.e.message);
        } else {
            if (st != ST_OK) fail_msg("%s.%s: %s", op_info[c->op].name, phys_name(c->phys), r.e.message);
            assert_int_equal(r.out_n, r.n);
            for (int64_t i = 0; i < r.n; i++) {
                if (!same(c->dst, &want[i], &r.out[0][i]))
                    fail_msg("%s.%s -> %s (imm %lld, vector %lld, %s): row %lld differs, kinds %d %d %d, null %d/%d",
                             op_info[c->op].name, phys_name(c->phys), phys_name(c->dst), (long long)c->imm,
                             (long long)vs, vm_isa(), (long long)i, kinds[0], kinds[1], kinds[2], want[i].null,
                             r.out[0][i].null);
                for (int k = 0, o = 1; k < n_ops; k++)
                    if (kinds[k] < OPERAND_CONST) {
                        assert_true(same(operand_phys(c, k), &r.cols[k][i], &r.out[o][i]));
                        o++;
                    }
            }
        }
    }
    run_stop(&r);
}

static void check(Case c) {
    seen[c.op][c.phys] = true;
    int n_ops = op_info[c.op].shape == SH_DABC ? 3 : op_info[c.op].shape == SH_DAB ? 2 : 1;
    for (int64_t v = 0; v < ARRAY_LEN(vector_sizes); v++) {
        int kinds[3] = {0};
        int combos = n_ops == 1   ? OPERAND_KINDS
                     : n_ops == 2 ? OPERAND_KINDS * OPERAND_KINDS
                                  : OPERAND_KINDS * OPERAND_KINDS * OPERAND_KINDS;
        for (int x = 0; x < combos; x++) {
            kinds[0] = x % OPERAND_KINDS;
            kinds[1] = x / OPERAND_KINDS % OPERAND_KINDS;
            kinds[2] = x / OPERAND_KINDS / OPERAND_KINDS;
            for (int small = 0; small < 2; small++) {
                c.small = small;
                check_case(&c, kinds, n_ops, vector_sizes[v]);
            }
        }
    }
}

static int cmp_cells(Phys p, const void *a, const void *b) {
    Cell x, y;
    memcpy(&x, a, (size_t)cell_bytes(size_class((uint8_t)p)));
    memcpy(&y, b, (size_t)cell_bytes(size_class((uint8_t)p)));
    return ref_cmp(p, &x, &y);
}
static void check_sets(Phys p) {
    static char cells[3000 * 16];
    int64_t size = cell_bytes(size_class((uint8_t)p));
    const int64_t counts[] = {0, 1, 3, 5, 16, 40, 3000};
    for (int64_t k = 0; k < ARRAY_LEN(counts); k++)
        for (int nulls = 0; nulls < 2; nulls++) {
            int64_t n = 0;
            for (int64_t i = 0; i < counts[k]; i++) {
                V v = random_value(p, k % 2 == 1, false);
                bool dup = false;
                for (int64_t j = 0; j < n && !dup; j++) dup = cmp_cells(p, cells + j * size, &v.c) == 0;
                if (!dup) memcpy(cells + n++ * size, &v.c, (size_t)size);
            }
            for (int64_t i = 1; i < n; i++) /* insertion sort: sets are sorted */
                for (int64_t j = i; j > 0 && cmp_cells(p, cells + (j - 1) * size, cells + j * size) > 0; j--) {
                    char t[16];
                    memcpy(t, cells + j * size, (size_t)size);
                    memcpy(cells + j * size, cells + (j - 1) * size, (size_t)size);
                    memcpy(cells + (j - 1) * size, t, (size_t)size);
                }
            InSet s = {.n = n, .cells = cells, .has_null = nulls};
            check((Case){.op = OP_IN_SET, .phys = p, .dst = PH_BOOL, .aux = &s});
        }
}

static void check_codes(void) {
    uint8_t mask[CODES + 1], valid[CODES];
    Str entries[CODES];
    V cells[PH_COUNT_][CODES];
    char packed[CODES * 16];
    for (int i = 0; i < CODES; i++) {
        mask[i] = rnd() & 1;
        valid[i] = rnd() % 4 != 0;
        entries[i] = str_make(text_pool + i % 10, i % 9);
    }
    mask[CODES] = 1;
    CodeMask m = {mask, CODES, "test"};
    check((Case){.op = OP_CODE_TEST, .phys = PH_I32, .dst = PH_BOOL, .aux = &m});
    Dict d = {entries, CODES, CODES, NULL};
    check((Case){.op = OP_DECODE, .phys = PH_I32, .dst = PH_STR, .aux = &d});
    for (Phys p = 0; p < PH_COUNT_; p++)
        for (int with = 0; with < 2; with++) {
            int64_t size = cell_bytes(size_class((uint8_t)p));
            for (int i = 0; i < CODES; i++) {
                cells[p][i] = random_value(p, false, false);
                memcpy(packed + i * size, &cells[p][i].c, (size_t)size);
            }
            CodeMap map = {packed, with ? valid : NULL, CODES};
            check((Case){.op = OP_CODE_MAP, .phys = PH_I32, .dst = p, .aux = &map});
        }
}

static void check_opcode(Opcode op) {
    for (Phys p = 0; p < PH_COUNT_; p++) {
        if (!(op_info[op].phys >> p & 1)) continue;
        switch (op) {
        case OP_ADD:
        case OP_SUB:
        case OP_MUL:
        case OP_ADD_N:
        case OP_SUB_N:
        case OP_MUL_N:
        case OP_DIV:
        case OP_MOD:
        case OP_NEG:
        case OP_ABS:
        case OP_BIT_AND:
        case OP_BIT_OR:
        case OP_BIT_XOR:
        case OP_BIT_NOT:
        case OP_SHL:
        case OP_SHR:
        case OP_NOT:
        case OP_AND:
        case OP_OR:
        case OP_SELECT:
        case OP_COALESCE:
        case OP_NULLIF: check((Case){.op = op, .phys = p, .dst = p}); break;
        case OP_MUL_WIDE: check((Case){.op = op, .phys = p, .dst = (Phys)(p + 1)}); break;
        case OP_EQ:
        case OP_NE:
        case OP_LT:
        case OP_LE:
        case OP_GT:
        case OP_GE:
        case OP_DISTINCT:
        case OP_IS_NULL:
        case OP_IS_NOT_NULL:
        case OP_IS_TRUE:
        case OP_IS_FALSE: check((Case){.op = op, .phys = p, .dst = PH_BOOL}); break;
        case OP_CVT:
            for (Phys d = PH_BOOL; d <= PH_F64; d++) check((Case){.op = op, .phys = p, .dst = d});
            break;
        case OP_RESCALE:
            for (Phys d = PH_I64; d <= PH_I128; d++)
                for (int i = 0; i < 5; i++) {
                    static const int64_t imms[] = {NUM_IMM(2, 4, 18), NUM_IMM(4, 2, 15), NUM_IMM(2, 2, 5),
                                                   NUM_IMM(0, 30, 38), NUM_IMM(20, 0, 38)};
                    check((Case){.op = op, .phys = p, .dst = d, .imm = imms[i]});
                }
            break;
        case OP_NUM_DIV:
        case OP_NUM_MUL:
            for (int i = 0; i < 4; i++) {
                static const int64_t imms[] = {NUM_IMM3(2, 2, 6), NUM_IMM3(0, 10, 4), NUM_IMM3(16, 0, 16),
                                               NUM_IMM3(20, 4, 2)};
                check((Case){.op = op, .phys = p, .dst = p, .imm = imms[i]});
            }
            break;
        case OP_NUM_TO_F64:
            for (int s = 0; s < 39; s += 6) check((Case){.op = op, .phys = p, .dst = PH_F64, .imm = NUM_IMM(s, 0, 0)});
            break;
        case OP_F64_TO_NUM:
            for (Phys d = PH_I64; d <= PH_I128; d++) {
                check((Case){.op = op, .phys = p, .dst = d, .imm = NUM_IMM(0, 2, 18)});
                check((Case){.op = op, .phys = p, .dst = d, .imm = NUM_IMM(0, 0, 5)});
            }
            break;
        case OP_CHECK_DIGITS:
            for (int s = 1; s < 39; s += 4) check((Case){.op = op, .phys = p, .dst = p, .imm = s});
            break;
        case OP_IN_SET: check_sets(p); break;
        case OP_CODE_TEST: check_codes(); break;
        case OP_CODE_MAP:
        case OP_DECODE: break; /* with CODE_TEST */
        case OP_LIKE: {
            static const char *const patterns[] = {"abc%", "%cde%", "a_c%", "abc", "%", ""};
            Err e = {0};
            Arena *a = arena_new(NULL, &e);
            for (int64_t i = 0; i < ARRAY_LEN(patterns); i++)
                check((Case){.op = op,
                             .phys = p,
                             .dst = PH_BOOL,
                             .aux = like_compile(a, slice_of(patterns[i]), '\\', false, &e)});
            arena_free(a);
            break;
        }
        case OP_DATE_PART: {
            static const DateField fields[] = {DF_YEAR, DF_MONTH,  DF_DAY,  DF_QUARTER, DF_DOY,
                                               DF_DOW,  DF_ISODOW, DF_HOUR, DF_MINUTE,  DF_SECOND};
            for (int64_t i = 0; i < ARRAY_LEN(fields); i++)
                check((Case){.op = op, .phys = p, .dst = PH_I32, .imm = fields[i]});
            break;
        }
        default: break;
        }
    }
}

static void test_expressions(void **state) {
    (void)state;
    for (int64_t i = 0; i < ARRAY_LEN(isas); i++) {
        if (!vm_set_isa(isas[i])) continue;
        for (Opcode op = OP_NONE; op < OP_COUNT_; op++) check_opcode(op);
    }
    vm_set_isa(NULL);
}

/* Values known from PostgreSQL. */
static void test_known_values(void **state) {
    (void)state;
    static const struct {
        int64_t y;
        int m, d;
        DateField f;
        int32_t want;
    } dates[] = {{2005, 1, 1, DF_WEEK, 53},     {2005, 1, 1, DF_ISOYEAR, 2004},   {2006, 12, 31, DF_WEEK, 52},
                 {2007, 1, 1, DF_WEEK, 1},      {2012, 12, 31, DF_ISOYEAR, 2013}, {2000, 12, 31, DF_CENTURY, 20},
                 {2001, 1, 1, DF_CENTURY, 21},  {0, 6, 1, DF_CENTURY, -1},        {2001, 2, 16, DF_MILLENNIUM, 3},
                 {2001, 2, 16, DF_DECADE, 200}, {2000, 1, 1, DF_JULIAN, 2451545}, {0, 6, 1, DF_YEAR, -1},
                 {2024, 2, 29, DF_DOY, 60},     {1970, 1, 1, DF_ISODOW, 4}};
    for (int64_t i = 0; i < ARRAY_LEN(dates); i++) {
        Run r;
        run_start(&r, 1);
        V v = {0};
        v.c.i32 = date_from_ymd(dates[i].y, dates[i].m, dates[i].d);
        r.cols[0] = &v;
        Reg a = load_col(&r, 0, PH_I32), d = new_reg(&r, PH_I32);
        builder_emit(&r.b, OP_DATE_PART, PH_I32, d, a, 0, 0)->imm = dates[i].f;
        r.sink[r.n_sink++] = d;
        assert_int_equal(run_program(&r, run_finish(&r), NULL, NULL, 8), ST_OK);
        assert_int_equal(r.out[0][0].c.i32, dates[i].want);
        run_stop(&r);
    }
    /* products beyond 128 bits, rounded back into 38 digits */
    Run r;
    run_start(&r, 3);
    V a[3] = {0}, b[3] = {0};
    a[0].c.i128 = pow10_i128[30];
    b[0].c.i128 = pow10_i128[25];
    a[1].c.i128 = -(pow10_i128[37] + 5);
    b[1].c.i128 = pow10_i128[19];
    a[2].c.i128 = pow10_i128[20] + 1;
    b[2].c.i128 = -(pow10_i128[20] + 1);
    r.cols[0] = a;
    r.cols[1] = b;
    Reg x = load_col(&r, 0, PH_I128), y = load_col(&r, 1, PH_I128), d = new_reg(&r, PH_I128);
    builder_emit(&r.b, OP_NUM_MUL, PH_I128, d, x, y, 0)->imm = NUM_IMM3(20, 10, 10);
    r.sink[r.n_sink++] = d;
    assert_int_equal(run_program(&r, run_finish(&r), NULL, NULL, 8), ST_OK);
    assert_true(r.out[0][0].c.i128 == pow10_i128[35]);
    assert_true(r.out[0][1].c.i128 == -(pow10_i128[36] + 1)); /* half rounds away from zero */
    assert_true(r.out[0][2].c.i128 == -(pow10_i128[20] + 2));
    run_stop(&r);
    seen[OP_NUM_MUL][PH_I128] = true;
}

static void test_messages(void **state) {
    (void)state;
    static const struct {
        Phys p;
        int64_t v;
        const char *text;
    } cases[] = {{PH_I16, INT16_MAX, "smallint out of range"},
                 {PH_I32, INT32_MAX, "integer out of range"},
                 {PH_I64, INT64_MAX, "bigint out of range"}};
    for (int64_t i = 0; i < ARRAY_LEN(cases); i++)
        for (int null = 0; null < 2; null++) {
            Run r;
            run_start(&r, 4);
            V v[4] = {0};
            puti(cases[i].p, cases[i].v, &v[2].c);
            v[2].null = null;
            r.cols[0] = v;
            Reg a = load_col(&r, 0, cases[i].p), d = new_reg(&r, cases[i].p);
            builder_emit(&r.b, OP_MUL, cases[i].p, d, a, a, 0);
            r.sink[r.n_sink++] = d;
            Status st = run_program(&r, run_finish(&r), NULL, NULL, 8);
            assert_int_equal(st, null ? ST_OK : ST_ERROR);
            if (!null) assert_string_equal(r.e.message, cases[i].text);
            run_stop(&r);
        }
}

/* ---- rows and blocks -------------------------------------------------------------------------------------- */
static void each_configuration(void (*fn)(int64_t vs)) {
    for (int64_t i = 0; i < ARRAY_LEN(isas); i++) {
        if (!vm_set_isa(isas[i])) continue;
        for (int64_t v = 0; v < ARRAY_LEN(vector_sizes); v++) fn(vector_sizes[v]);
    }
    vm_set_isa(NULL);
}
static void make_cols(Run *r, const Phys *phys, int n, bool small, bool nulls) {
    for (int k = 0; k < n; k++) {
        r->cols[k] = arena_array(r->a, V, r->n);
        for (int64_t i = 0; i < r->n; i++) r->cols[k][i] = random_value(phys[k], small, nulls);
    }
}

static void filter_once(int64_t vs) {
    /* all cell sizes are carried; columns are loaded before and after */
    static const Phys kinds[] = {PH_BOOL, PH_I16, PH_I32, PH_I64, PH_STR};
    for (int k = 0; k < 5; k++)
        for (int density = 0; density < 4; density++) {
            Run r;
            run_start(&r, vs == 1 ? 50 : 1500);
            Phys cols[] = {PH_BOOL, kinds[k], kinds[k]};
            make_cols(&r, cols, 3, true, true);
            for (int64_t i = 0; i < r.n; i++) {
                V *v = &r.cols[0][i];
                if (density == 0) *v = (V){.null = i % 2, .c.b = 0};
                if (density == 1) *v = (V){.c.b = 1};
                if (density == 2) v->c.b = rnd() % 50 == 0;
            }
            Reg c = load_col(&r, 0, PH_BOOL), x = load_col(&r, 1, kinds[k]);
            builder_emit(&r.b, OP_FILTER, PH_BOOL, 0, c, 0, 0);
            Reg y = load_col(&r, 2, kinds[k]), id = new_reg(&r, PH_I64);
            builder_emit(&r.b, OP_LOAD_ROWID, PH_I64, id, 0, 0, 0);
            r.sink[r.n_sink++] = x;
            r.sink[r.n_sink++] = y;
            r.sink[r.n_sink++] = id;
            assert_int_equal(run_program(&r, run_finish(&r), NULL, NULL, vs), ST_OK);
            int64_t m = 0;
            for (int64_t i = 0; i < r.n; i++) {
                if (r.cols[0][i].null || !r.cols[0][i].c.b) continue;
                assert_true(m < r.out_n);
                assert_true(same(kinds[k], &r.cols[1][i], &r.out[0][m]));
                assert_true(same(kinds[k], &r.cols[2][i], &r.out[1][m]));
                assert_int_equal(r.out[2][m].c.i64, i);
                m++;
            }
            assert_int_equal(m, r.out_n);
            run_stop(&r);
        }
    seen[OP_FILTER][PH_BOOL] = seen[OP_LOAD_ROWID][PH_I64] = true;
    for (Phys p = 0; p < PH_COUNT_; p++) seen[OP_LOAD][p] = true; /* by the expressions */
}
static void test_filter(void **state) {
    (void)state;
    each_configuration(filter_once);
}

static void if_once(int64_t vs) {
    for (int density = 0; density < 4; density++) {
        Run r;
        run_start(&r, vs == 1 ? 50 : 1500);
        Phys cols[] = {PH_BOOL, PH_I64, PH_I64, PH_BOOL};
        make_cols(&r, cols, 4, true, true);
        for (int64_t i = 0; i < r.n; i++) {
            if (density == 0) r.cols[0][i] = (V){0};
            if (density == 1) r.cols[0][i] = (V){.c.b = 1};
            if (density == 2) r.cols[1][i].null = r.cols[2][i].null = false;
        }
        /* if c then (if c2 then a + b else a) else load of column 2 */
        Reg c = load_col(&r, 0, PH_BOOL), a = load_col(&r, 1, PH_I64), b = load_col(&r, 2, PH_I64),
            c2 = load_col(&r, 3, PH_BOOL);
        builder_emit(&r.b, OP_IF, PH_BOOL, 0, c, 0, 0);
        builder_emit(&r.b, OP_IF, PH_BOOL, 0, c2, 0, 0);
        Reg s = new_reg(&r, PH_I64), in = new_reg(&r, PH_I64), out = new_reg(&r, PH_I64);
        builder_emit(&r.b, OP_ADD, PH_I64, s, a, b, 0);
        builder_emit(&r.b, OP_ELSE, PH_I64, 0, s, 0, 0);
        builder_emit(&r.b, OP_ENDIF, PH_I64, in, a, 0, 0);
        builder_emit(&r.b, OP_ELSE, PH_I64, 0, in, 0, 0);
        Reg d = load_col(&r, 2, PH_I64);
        builder_emit(&r.b, OP_ENDIF, PH_I64, out, d, 0, 0);
        r.sink[r.n_sink++] = out;
        r.sink[r.n_sink++] = a;
        assert_int_equal(run_program(&r, run_finish(&r), NULL, NULL, vs), ST_OK);
        assert_int_equal(r.out_n, r.n);
        for (int64_t i = 0; i < r.n; i++) {
            V want = r.cols[2][i];
            if (!r.cols[0][i].null && r.cols[0][i].c.b) {
                want = r.cols[1][i];
                if (!r.cols[3][i].null && r.cols[3][i].c.b) {
                    want.null |= r.cols[2][i].null;
                    want.c.i64 += r.cols[2][i].c.i64;
                }
            }
            assert_true(same(PH_I64, &want, &r.out[0][i]));
            assert_true(same(PH_I64, &r.cols[1][i], &r.out[1][i]));
        }
        run_stop(&r);
    }
    seen[OP_IF][PH_BOOL] = true;
    for (Phys p = 0; p < PH_COUNT_; p++) seen[OP_ELSE][p] = seen[OP_ENDIF][p] = true; /* the cell sizes: below */
}
/* Every type through both bodies. */
static void if_types(int64_t vs) {
    for (Phys p = 0; p < PH_COUNT_; p++) {
        Run r;
        run_start(&r, vs == 1 ? 20 : 300);
        Phys cols[] = {PH_BOOL, p, p};
        make_cols(&r, cols, 3, false, true);
        Reg c = load_col(&r, 0, PH_BOOL), out = new_reg(&r, p);
        builder_emit(&r.b, OP_IF, PH_BOOL, 0, c, 0, 0);
        Reg x = load_col(&r, 1, p);
        builder_emit(&r.b, OP_ELSE, p, 0, x, 0, 0);
        Reg y = load_col(&r, 2, p);
        builder_emit(&r.b, OP_ENDIF, p, out, y, 0, 0);
        r.sink[r.n_sink++] = out;
        assert_int_equal(run_program(&r, run_finish(&r), NULL, NULL, vs), ST_OK);
        for (int64_t i = 0; i < r.n; i++)
            assert_true(same(p, &r.cols[!r.cols[0][i].null && r.cols[0][i].c.b ? 1 : 2][i], &r.out[0][i]));
        run_stop(&r);
    }
}
static void test_if(void **state) {
    (void)state;
    each_configuration(if_once);
    each_configuration(if_types);
}

static void repeat_once(int64_t vs) {
    Run r;
    run_start(&r, vs == 1 ? 30 : 700);
    Phys cols[] = {PH_I64, PH_I32, PH_I32};
    make_cols(&r, cols, 3, true, true);
    for (int64_t i = 0; i < r.n; i++) r.cols[0][i].c.i64 = (int64_t)(rnd() % 7) - 1;
    if (vs > 1) r.cols[0][5] = (V){.c.i64 = 3000}; /* more than a vector from one row */
    Reg t = load_col(&r, 0, PH_I64), x = load_col(&r, 1, PH_I32);
    builder_emit(&r.b, OP_REPEAT, PH_I64, 0, t, 0, 0);
    Reg y = load_col(&r, 2, PH_I32);
    r.sink[r.n_sink++] = x;
    r.sink[r.n_sink++] = y;
    assert_int_equal(run_program(&r, run_finish(&r), NULL, NULL, vs), ST_OK);
    int64_t m = 0;
    for (int64_t i = 0; i < r.n; i++)
        for (int64_t k = 0; !r.cols[0][i].null && k < r.cols[0][i].c.i64; k++, m++) {
            assert_true(m < r.out_n);
            assert_true(same(PH_I32, &r.cols[1][i], &r.out[0][m]));
            assert_true(same(PH_I32, &r.cols[2][i], &r.out[1][m]));
        }
    assert_int_equal(m, r.out_n);
    run_stop(&r);
    seen[OP_REPEAT][PH_I64] = true;
}
static void test_repeat(void **state) {
    (void)state;
    each_configuration(repeat_once);
}

/* ---- source filters on encoded data -------------------------------------------------------------------------- */
static void scan_once(int64_t vs) {
    enum { N = 3000 };
    static uint8_t codes[N], other[N];
    static uint64_t deleted[(N + 63) / 64];
    for (int i = 0; i < N; i++) {
        codes[i] = (uint8_t)(rnd() % 100);
        other[i] = (uint8_t)(rnd() % 10);
    }
    Str entries[10];
    for (int i = 0; i < 10; i++) entries[i] = str_make(text_pool + i, 3);
    Dict dict = {entries, 10, 10, NULL};
    for (int with_deleted = 0; with_deleted < 2; with_deleted++) {
        int64_t n_deleted = 0;
        memset(deleted, 0, sizeof deleted);
        for (int i = 0; with_deleted && i < N; i += 3) deleted[i / 64] |= UINT64_C(1) << (i % 64), n_deleted++;
        TabletColumn cols[2] = {
            {.encoding = ENC_FOR,
             .width = 8,
             .phys = PH_I32,
             .base = 1000,
             .data = codes,
             .has_minmax = true,
             .min = 1000,
             .max = 1099},
            {.encoding = ENC_FOR, .width = 8, .phys = PH_I32, .data = other, .has_minmax = true, .max = 9}};
        Tablet tab = {.rows = N, .cols = cols, .deleted = with_deleted ? deleted : NULL, .n_deleted = n_deleted};
        Tablet *tabs[1] = {&tab};
        Column tcols[2] = {{.name = (char *)"a", .type = type_make(T_INT4)},
                           {.name = (char *)"b", .type = type_make(T_TEXT), .dict = &dict}};
        Table t = {.name = (char *)"t",
                   .n_cols = 2,
                   .cols = tcols,
                   .n_tablets = 1,
                   .tablets = tabs,
                   .live_rows = N - n_deleted};
        Run r;
        run_start(&r, N);
        RangeTest range = {1010, 1059, false}, second = {1030, 1030, true};
        uint8_t mask[11] = {1, 0, 1, 1, 0, 0, 1, 0, 1, 0, 0};
        CodeMask cm = {mask, 10, "x"};
        builder_emit(&r.b, OP_FILTER_RANGE, PH_BOOL, 0, 0, 0, 0)->aux = &range;
        Reg a = load_col(&r, 0, PH_I32);
        Instr *in =
            builder_emit(&r.b, OP_FILTER_CODES, PH_BOOL, 0, 0, 0, 0); /* in the middle, with a carried register */
        in->imm = 1;
        in->aux = &cm;
        builder_emit(&r.b, OP_FILTER_RANGE, PH_BOOL, 0, 0, 0, 0)->aux = &second;
        Reg b = new_reg(&r, PH_I32), id = new_reg(&r, PH_I64);
        builder_emit(&r.b, OP_LOAD_CODE, PH_I32, b, 0, 0, 0)->imm = 1;
        builder_emit(&r.b, OP_LOAD_ROWID, PH_I64, id, 0, 0, 0);
        r.sink[0] = a;
        r.sink[1] = b;
        r.sink[2] = id;
        r.n_sink = 3;
        Source src = {.kind = SRC_TABLE, .table = &t};
        Sink sink = {.kind = SINK_ROWS, .n_regs = 3, .regs = r.sink, .limit = -1};
        Program *p = program_finish(&r.b, &src, &sink, &r.e);
        if (!p) fail_msg("%s", r.e.message);
        VmEnv env = {.account = &r.acct, .vector_size = vs, .workers = 1, .sink = test_sink, .ctx = &r};
        Vm *vm;
        Frame *f;
        assert_int_equal(vm_new(p, &env, &vm, &r.e), ST_OK);
        assert_int_equal(vm->n_leading, 1);
        assert_int_equal(frame_new(vm, 0, &f, &r.e), ST_OK);
        f->src.tablet = &tab;
        int32_t *buf = malloc((size_t)vs * 4 + 256);
        for (int64_t i = 0; i < N; i += vs) {
            bool all;
            int64_t n = MIN_OF(vs, N - i), m = vm_scan_filter(vm, &tab, i, n, buf, &all);
            f->first = i;
            f->pos = all ? NULL : buf;
            assert_int_equal(frame_run(f, m, vm->n_leading), ST_OK);
        }
        free(buf);
        int64_t m = 0;
        for (int i = 0; i < N; i++) {
            if ((with_deleted && i % 3 == 0) || codes[i] < 10 || codes[i] > 59 || codes[i] == 30 || !mask[other[i]])
                continue;
            assert_true(m < r.out_n);
            assert_int_equal(r.out[0][m].c.i32, 1000 + codes[i]);
            assert_int_equal(r.out[1][m].c.i32, other[i]);
            assert_int_equal(r.out[2][m].c.i64, i);
            m++;
        }
        assert_int_equal(m, r.out_n);
        frame_free(f);
        vm_free(vm);
        run_stop(&r);
    }
    seen[OP_FILTER_RANGE][0] = seen[OP_FILTER_CODES][0] = seen[OP_LOAD_CODE][PH_I32] = true;
}
static void test_scan(void **state) {
    (void)state;
    each_configuration(scan_once);
}

/* ---- calls and packed keys ----------------------------------------------------------------------------------------
 */
static Status kernel_add(FuncCtx *ctx, int64_t n, const Vec *args, int nargs, Vec *out) {
    (void)nargs;
    for (int64_t i = 0; i < n; i++) {
        if (out->valid && !out->valid[i]) continue;
        int64_t x = ((const int64_t *)args[0].data)[args[0].is_const ? 0 : i],
                y = ((const int64_t *)args[1].data)[args[1].is_const ? 0 : i];
        if (x == 13) return err_set(ctx->err, ERR_INVALID_PARAMETER, "thirteen");
        ((int64_t *)out->data)[i] = x * 1000 + y;
    }
    return ST_OK;
}
/* Not strict; allocates strings: "x:y", NULL where both are. */
static Status kernel_text(FuncCtx *ctx, int64_t n, const Vec *args, int nargs, Vec *out) {
    (void)nargs;
    for (int64_t i = 0; i < n; i++) {
        int64_t v[2];
        bool null[2];
        for (int k = 0; k < 2; k++) {
            int64_t at = args[k].is_const ? 0 : i;
            null[k] = args[k].valid && !args[k].valid[at];
            v[k] = null[k] ? -1 : ((const int64_t *)args[k].data)[at];
        }
        out->valid[i] = !(null[0] && null[1]);
        char *s = arena_alloc(ctx->arena, 64);
        if (!s) return ST_ERROR;
        int len = snprintf(s, 64, "%lld:%lld", (long long)v[0], (long long)v[1]);
        ((Str *)out->data)[i] = str_make(s, len);
    }
    return ST_OK;
}

static void call_once(int64_t vs) {
    for (int konst = 0; konst < 3; konst++) {
        Run r;
        run_start(&r, vs == 1 ? 40 : 1200);
        Phys cols[] = {PH_I64, PH_I64};
        make_cols(&r, cols, 2, true, true);
        for (int64_t i = 0; i < r.n; i++)
            if (r.cols[0][i].c.i64 == 13) r.cols[0][i].null = true; /* NULL rows do not raise */
        V c = {.null = konst == 2, .c.i64 = 77};
        Reg a = load_col(&r, 0, PH_I64), b = konst ? const_reg(&r, PH_I64, &c) : load_col(&r, 1, PH_I64);
        Reg args[2] = {a, b}, x = new_reg(&r, PH_I64), y = new_reg(&r, PH_STR);
        Type types[2] = {type_make(T_INT8), type_make(T_INT8)};
        CallSite strict = {.kernel = kernel_add,
                           .strict = true,
                           .can_fail = true,
                           .ret = type_make(T_INT8),
                           .arg_types = types,
                           .n_args = 2,
                           .args = args};
        CallSite loose = {
            .kernel = kernel_text, .ret = type_make(T_TEXT), .arg_types = types, .n_args = 2, .args = args, .site = 1};
        builder_emit(&r.b, OP_CALL, PH_I64, x, 0, 0, 0)->aux = &strict;
        builder_emit(&r.b, OP_CALL, PH_STR, y, 0, 0, 0)->aux = &loose;
        Reg z = new_reg(&r, PH_BOOL), lit;
        V abc = {.c.str = str_make("3:77", 4)};
        lit = const_reg(&r, PH_STR, &abc);
        builder_emit(&r.b, OP_EQ, PH_STR, z, y, lit, 0);
        r.sink[r.n_sink++] = x;
        r.sink[r.n_sink++] = z;
        assert_int_equal(run_program(&r, run_finish(&r), NULL, NULL, vs), ST_OK);
        for (int64_t i = 0; i < r.n; i++) {
            V va = r.cols[0][i], vb = konst ? c : r.cols[1][i], want = {.null = va.null || vb.null};
            want.c.i64 = va.c.i64 * 1000 + vb.c.i64;
            assert_true(same(PH_I64, &want, &r.out[0][i]));
            V eq = {.null = va.null && vb.null};
            eq.c.b = !va.null && !vb.null && va.c.i64 == 3 && vb.c.i64 == 77;
            assert_true(same(PH_BOOL, &eq, &r.out[1][i]));
        }
        run_stop(&r);
    }
    seen[OP_CALL][0] = true;
}
static void pack_once(int64_t vs) {
    Run r;
    run_start(&r, vs == 1 ? 40 : 1200);
    Phys cols[] = {PH_I16, PH_I32, PH_I64, PH_BOOL};
    make_cols(&r, cols, 4, true, true);
    for (int64_t i = 0; i < r.n; i += 7) r.cols[1][i].c.i32 = 1 << 20; /* out of range */
    Reg args[4], d = new_reg(&r, PH_I64);
    for (int k = 0; k < 4; k++) args[k] = load_col(&r, k, cols[k]);
    int64_t base[4] = {-20, -20, -20, 0};
    uint8_t shift[4] = {0, 6, 12, 18}, bits[4] = {6, 6, 6, 2};
    bool nullable[4] = {true, false, true, true};
    KeyPack pack = {.n = 4, .args = args, .base = base, .shift = shift, .bits = bits, .nullable = nullable};
    builder_emit(&r.b, OP_KEY_PACK, PH_I64, d, 0, 0, 0)->aux = &pack;
    r.sink[r.n_sink++] = d;
    assert_int_equal(run_program(&r, run_finish(&r), NULL, NULL, vs), ST_OK);
    for (int64_t i = 0; i < r.n; i++) {
        V want = {0};
        for (int k = 0; k < 4; k++) {
            const V *v = &r.cols[k][i];
            int64_t x = (int64_t)geti(cols[k], &v->c) - base[k], max = (1 << bits[k]) - 1;
            if (v->null && !nullable[k]) want.null = true;
            if (v->null) x = max;
            else if (x < 0 || x > max - nullable[k]) want.null = true;
            want.c.i64 += x << shift[k];
        }
        assert_true(same(PH_I64, &want, &r.out[0][i]));
    }
    run_stop(&r);
    seen[OP_KEY_PACK][0] = true;
}
static void test_calls(void **state) {
    (void)state;
    each_configuration(call_once);
    each_configuration(pack_once);
}

/* ---- joins
 * ------------------------------------------------------------------------------------------------------------ */
enum { BUILD = 300 };
typedef struct Build {
    V key[BUILD], val[BUILD];
    int64_t n;
    bool cross;
} Build;

/* Tri-state of a pair: 1 true, 0 false, -1 unknown. */
static int pair_state(const Build *b, const V *key, const V *val, int64_t j, bool residual) {
    if (!b->cross && (key->null || b->key[j].null || key->c.i64 != b->key[j].c.i64)) return 0;
    if (!residual) return 1;
    if (val->null || b->val[j].null) return -1;
    return val->c.i64 < b->val[j].c.i64;
}
static int cmp_pair(const void *a, const void *b) { return memcmp(a, b, 2 * sizeof(int64_t)); }

/* A probe: of which kind, of which keys; what it has of registers and expected results. */
typedef struct Probing {
    ProbeKind kind;
    bool residual, cross, rows; /* rows: build columns of the matches are read */
    ProbeSite site;
    Reg key, mark;
    bool *matched; /* by build row */
    int64_t n_want, (*want)[2];
} Probing;

static void make_build(Build *b, ProbeKind kind, bool residual, bool unique) {
    b->n = b->cross ? (kind == PK_SINGLE && !residual ? 1 : 20) : BUILD;
    for (int64_t j = 0; j < b->n; j++) {
        b->key[j] = (V){.c.i64 = unique ? j * 3 : (int64_t)(rnd() % 60)};
        if (kind == PK_SINGLE && !residual && !b->cross) b->key[j].c.i64 = j * 3;
        if (!unique && rnd() % 20 == 0) b->key[j].null = true;
        b->val[j] = random_value(PH_I64, true, true);
        if (kind == PK_SINGLE && residual) b->val[j] = (V){.c.i64 = j == 7 ? 5 : -100};
    }
}

static void fill_table(Run *r, const Build *b, JoinTable *j, Type type) {
    int64_t keys[BUILD], vals[BUILD];
    uint8_t kv[BUILD], vv[BUILD];
    for (int64_t i = 0; i < b->n; i++) {
        keys[i] = b->key[i].null ? 0 : b->key[i].c.i64;
        vals[i] = b->val[i].c.i64;
        kv[i] = !b->key[i].null;
        vv[i] = !b->val[i].null;
    }
    Vec kvec = {.data = keys, .valid = kv, .phys = PH_I64, .type = type},
        vvec = {.data = vals, .valid = vv, .phys = PH_I64, .type = type};
    assert_int_equal(join_build(j, 0, b->n, b->cross ? NULL : &kvec, &vvec, &r->e), ST_OK);
    if (join_finish(j, &r->e) != ST_OK) fail_msg("%s", r->e.message);
}

/* Load, probe, what is read behind it. */
static void probe_program(Run *r, Probing *x) {
    x->key = load_col(r, 0, PH_I64);
    Reg val = load_col(r, 1, PH_I64), id = new_reg(r, PH_I64);
    builder_emit(&r->b, OP_LOAD_ROWID, PH_I64, id, 0, 0, 0);
    x->site = (ProbeSite){.join = 0, .kind = (uint8_t)x->kind, .n_keys = x->cross ? 0 : 1, .keys = &x->key};
    Reg row = x->residual || x->rows ? builder_reg(&r->b, PH_I64, type_make(T_INT8), false) : 0;
    Reg mark = x->mark = x->kind == PK_MARK ? new_reg(r, PH_BOOL) : 0;
    builder_emit(&r->b, x->residual ? OP_PROBE_BEGIN : OP_PROBE, PH_I64,
                 x->residual          ? row
                 : x->kind == PK_MARK ? mark
                                      : row,
                 0, 0, 0)
        ->aux = &x->site;
    if (x->residual) {
        Reg bv = new_reg(r, PH_I64), ok = new_reg(r, PH_BOOL);
        Instr *in = builder_emit(&r->b, OP_LOAD_BUILD, PH_I64, bv, row, 0, 0);
        in->imm = 0;
        in->aux = &x->site;
        builder_emit(&r->b, OP_LT, PH_I64, ok, val, bv, 0);
        builder_emit(&r->b, OP_PROBE_END, PH_BOOL, mark, ok, 0, 0)->aux = &x->site;
    }
    Reg late = load_col(r, 1, PH_I64); /* positions have followed */
    r->sink[r->n_sink++] = id;
    r->sink[r->n_sink++] = late;
    Reg back = 0;
    if (x->rows) {
        back = new_reg(r, PH_I64);
        builder_emit(&r->b, OP_LOAD_BUILD, PH_I64, back, row, 0, 0)->aux = &x->site;
        r->sink[r->n_sink++] = back;
    }
    if (mark) r->sink[r->n_sink++] = mark;
}

static void push_pair(Probing *x, int64_t row, int64_t value) {
    x->want[x->n_want][0] = row;
    x->want[x->n_want++][1] = value;
}
/* Expected: (row, build value or marker) pairs. */
static void expect_pairs(const Run *r, const Build *b, Probing *x) {
    ProbeKind kind = x->kind;
    bool build_null = false;
    for (int64_t k = 0; k < b->n; k++) build_null |= b->key[k].null;
    for (int64_t i = 0; i < r->n; i++) {
        int64_t hits = 0, unknown = 0;
        for (int64_t k = 0; k < b->n; k++) {
            int s = pair_state(b, &r->cols[0][i], &r->cols[1][i], k, x->residual);
            unknown += s < 0;
            if (s <= 0) continue;
            hits++;
            x->matched[k] = true;
            if (x->rows) push_pair(x, i, b->val[k].null ? -1000 : b->val[k].c.i64);
        }
        if ((kind == PK_LEFT || kind == PK_SINGLE) && hits == 0) push_pair(x, i, -1000);
        if ((kind == PK_SEMI && hits) || (kind == PK_ANTI && !hits)) push_pair(x, i, 0);
        if (kind == PK_MARK) {
            bool null = !hits && (unknown || (!x->residual && !x->cross && (r->cols[0][i].null || build_null)));
            push_pair(x, i, null ? -1000 : hits > 0);
        }
    }
}

static void check_result(const Run *r, Probing *x) {
    int64_t(*got)[2] = malloc((size_t)(r->out_n + 1) * sizeof *got);
    for (int64_t i = 0; i < r->out_n; i++) {
        got[i][0] = r->out[0][i].c.i64;
        got[i][1] = x->rows   ? (r->out[2][i].null ? -1000 : r->out[2][i].c.i64)
                    : x->mark ? (r->out[2][i].null ? -1000 : r->out[2][i].c.b)
                              : 0;
        assert_true(same(PH_I64, &r->out[1][i], &r->cols[1][got[i][0]]));
    }
    assert_int_equal(r->out_n, x->n_want);
    qsort(x->want, (size_t)x->n_want, sizeof *x->want, cmp_pair); /* as sorted lists */
    qsort(got, (size_t)r->out_n, sizeof *got, cmp_pair);
    assert_int_equal(memcmp(x->want, got, (size_t)x->n_want * sizeof *got), 0);
    free(got);
}

/* PK_MARK_BUILD: as many build rows are marked as have a match. */
static void check_marks(const JoinTable *j, const Build *b, const Probing *x) {
    int64_t n = 0, expect = 0, buf[BUILD];
    for (int64_t m = 0; m < join_n_morsels(j); m++) {
        int64_t cursor = 0, k;
        while ((k = join_morsel_rows(j, m, true, &cursor, BUILD, buf)) > 0) n += k;
    }
    for (int64_t k = 0; k < b->n; k++) expect += x->matched[k];
    assert_int_equal(n, expect);
}

static void probe_case(ProbeKind kind, bool residual, bool unique, bool cross, int64_t vs) {
    Run r;
    run_start(&r, vs == 1 ? 40 : vs == 3 ? 90 : 1300);
    Build b = {.cross = cross};
    make_build(&b, kind, residual, unique);
    Phys cols[] = {PH_I64, PH_I64};
    make_cols(&r, cols, 2, true, true);
    for (int64_t i = 0; i < r.n; i++) r.cols[0][i].c.i64 = (int64_t)(rnd() % 100);

    KeySpec ks = {.phys = PH_I64, .type = type_make(T_INT8), .nullable = true};
    CellSpec cs[1] = {{.phys = PH_I64, .type = type_make(T_INT8), .nullable = true}};
    bool marks = kind == PK_MARK_BUILD;
    JoinSpec spec = {.n_keys = cross ? 0 : 1,
                     .keys = &ks,
                     .n_payload = 1,
                     .payload = cs,
                     .track_matched = marks,
                     .has_null_mark = kind == PK_MARK && !residual,
                     .est_rows = BUILD};
    JoinTable *j = NULL;
    if (join_new(&spec, 1, NULL, 1, &r.acct, NULL, NULL, &j, &r.e) != ST_OK) fail_msg("%s", r.e.message);
    fill_table(&r, &b, j, ks.type);
    QueryPlan plan = {.n_joins = 1, .joins = &spec};
    Probing x = {.kind = kind,
                 .residual = residual,
                 .cross = cross,
                 .rows = kind == PK_INNER || kind == PK_LEFT || kind == PK_SINGLE};
    probe_program(&r, &x);
    Program *p = run_finish(&r);
    JoinTable *joins[1] = {j};
    Status st = run_program(&r, p, &plan, joins, vs);
    if (st != ST_OK) fail_msg("kind %d: %s", kind, r.e.message);

    x.want = malloc((size_t)(r.n * (b.n + 1) + 1) * sizeof *x.want);
    x.matched = calloc(BUILD, sizeof(bool));
    expect_pairs(&r, &b, &x);
    check_result(&r, &x);
    if (marks) check_marks(j, &b, &x);
    free(x.want);
    free(x.matched);
    join_free(j);
    run_stop(&r);
}
static void joins_once(int64_t vs) {
    for (ProbeKind k = PK_INNER; k <= PK_MARK_BUILD; k++)
        for (int residual = 0; residual < 2; residual++)
            for (int form = 0; form < 3; form++) probe_case(k, residual, form == 1, form == 2, vs);
    seen[OP_PROBE][0] = seen[OP_PROBE_BEGIN][0] = seen[OP_PROBE_END][PH_BOOL] = true;
    for (Phys p = 0; p < PH_COUNT_; p++) seen[OP_LOAD_BUILD][p] = true; /* types: test_join */
}
static void test_joins(void **state) {
    (void)state;
    each_configuration(joins_once);
}

/* ---- completeness
 * --------------------------------------------------------------------------------------------------------- */
static void test_catalogue_is_covered(void **state) {
    (void)state;
    for (Opcode op = OP_NONE + 1; op < OP_STORE; op++) /* those of procedures: test_bulk */
        for (Phys p = 0; p < PH_COUNT_; p++) {
            bool exists = op_info[op].phys ? op_info[op].phys >> p & 1 : p == 0;
            if (exists && !seen[op][p]) fail_msg("no test for %s.%s", op_info[op].name, phys_name(p));
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_values), cmocka_unit_test(test_messages),
        cmocka_unit_test(test_filter),       cmocka_unit_test(test_if),
        cmocka_unit_test(test_repeat),       cmocka_unit_test(test_scan),
        cmocka_unit_test(test_calls),        cmocka_unit_test(test_joins),
        cmocka_unit_test(test_expressions),  cmocka_unit_test(test_catalogue_is_covered)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
