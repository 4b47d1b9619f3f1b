/* test_interp.c - the device interpreter against the virtual machine: every opcode on edge values of every type, joins,
 * aggregations and sorts in all their device forms, and queries of which some segments are interpreted and others
 * compiled. The device is the host, or what STELE_TEST_DEVICE names. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "codegen/interp.h"
#include "codegen/prelude.h"
#include "device/cuda/nvrtc.h"
#include "exec/device/dev.h"
#include "exec/rows.h"
#include "program/operands.h"
#include "unit.h"

static MemAccount root;
static Pool *pool;
static Devices *devices;
static CodeCache *cache;
static DevRuntime *runtime;

static int setup(void **state) {
    (void)state;
    Err e = {0};
    Device *device;
    const char *id = getenv("STELE_TEST_DEVICE");
    mem_account_init(&root, NULL, "test", 0, NULL);
    assert_non_null(pool = pool_new(2, &e));
    assert_int_equal(devices_open(pool, &root, &devices, &e), ST_OK);
    assert_int_equal(devices_get(devices, id ? id : "host", &device, &e), ST_OK);
    assert_int_equal(code_cache_new(NULL, -1, &cache, &e), ST_OK);
    assert_int_equal(dev_runtime_new(device, cache, &root, &runtime, &e), ST_OK);
    return 0;
}
static int teardown(void **state) {
    (void)state;
    dev_runtime_free(runtime);
    code_cache_free(cache);
    devices_close(devices);
    pool_free(pool);
    assert_int_equal(atomic_load(&root.used), 0);
    return 0;
}

/* ---- plans by hand ------------------------------------------------------------------------------- */
enum { COLS = 16 };
typedef struct Fix {
    Err e;
    Arena *a;
    SegmentPlan seg[4];
    JoinSpec join;
    KeySpec keys[4];
    CellSpec pay[COLS], cols[COLS];
    AggSpec agg;
    AggCell cells[COLS];
    SortSpec sort;
    RowsSpec rows;
    QueryPlan plan;
    ProgramBuilder b;
} Fix;

static Fix *start(void) {
    Fix *x = calloc(1, sizeof *x);
    x->a = arena_new(&root, &x->e);
    x->rows = (RowsSpec){.cols = x->cols, .limit = -1, .sort = -1};
    x->plan = (QueryPlan){.segments = x->seg, .n_rows = 1, .rows = &x->rows};
    builder_init(&x->b, x->a);
    return x;
}
static void stop(Fix *x) {
    arena_free(x->a);
    free(x);
}
static Type type_of(Phys p) {
    static const uint8_t ids[] = {T_BOOL,   T_INT2,   T_INT4, T_INT8,     T_NUMERIC,
                                  T_FLOAT4, T_FLOAT8, T_TEXT, T_INTERVAL, T_UUID};
    return p == PH_I128 ? type_numeric(38, 0) : type_make((TypeId)ids[p]);
}
static Reg reg(Fix *x, Phys p) { return builder_reg(&x->b, p, type_of(p), true); }
static Reg constant(Fix *x, Phys p, const void *cell) {
    Value v = {.type = type_of(p), .is_null = !cell};
    if (cell) memcpy(&v.u, cell, (size_t)phys_size(p));
    Reg r = builder_const(&x->b, p, &v);
    x->b.regs.items[r].nullable = !cell;
    return r;
}
static Reg number(Fix *x, int64_t v) { return constant(x, PH_I64, &v); }
static Reg emit(Fix *x, Opcode op, Phys p, Phys to, Reg a, Reg b, Reg c) {
    Reg d = reg(x, to);
    builder_emit(&x->b, op, p, d, a, b, c);
    return d;
}
static Reg i64_op(Fix *x, Opcode op, Reg a, Reg b) { return emit(x, op, PH_I64, PH_I64, a, b, 0); }
static Reg load(Fix *x, Phys p, int64_t col) {
    Reg d = reg(x, p);
    builder_emit(&x->b, OP_LOAD, p, d, 0, 0, 0)->imm = col;
    return d;
}
/* a, or NULL where a % mod = rest */
static Reg null_where(Fix *x, Reg a, int64_t mod, int64_t rest) {
    Reg c = emit(x, OP_EQ, PH_I64, PH_BOOL, i64_op(x, OP_MOD, a, number(x, mod)), number(x, rest), 0);
    return emit(x, OP_NULLIF, PH_I64, PH_I64, a, c, 0);
}
static Reg *list(Fix *x, const Reg *regs, int32_t n) {
    Reg *p = arena_array(x->a, Reg, n + 1);
    memcpy(p, regs, sizeof *p * (size_t)n);
    return p;
}
static void finish(Fix *x, Source src, Sink sink) {
    Program *p = program_finish(&x->b, &src, &sink, &x->e);
    if (!p) fail_msg("%s", x->e.message);
    x->seg[x->plan.n_segments++] = (SegmentPlan){p, "test"};
    builder_init(&x->b, x->a);
}
static const Source one_row = {.kind = SRC_ONE};
static Source series(int64_t n) {
    return (Source){.kind = SRC_SERIES, .start = 0, .stop = n - 1, .step = 1, .est_rows = (double)n};
}
static void finish_rows(Fix *x, Source src, const Reg *regs, int32_t n) {
    x->rows.n_cols = n;
    for (int32_t i = 0; i < n; i++) {
        Phys p = (Phys)x->b.regs.items[regs[i]].phys;
        x->cols[i] = (CellSpec){.phys = (uint8_t)p, .type = type_of(p), .nullable = true};
    }
    finish(x, src, (Sink){.kind = SINK_ROWS, .n_regs = n, .regs = list(x, regs, n), .limit = -1});
}

/* ---- answers ----------------------------------------------------------------------------------------- */
typedef struct Answer {
    bool failed;
    char sqlstate[8];
    int64_t rows;
    uint64_t bag, ordered;
} Answer;
static uint64_t hash_cell(Phys p, const void *cell) {
    double d = 0;
    if (p == PH_STR) return hash_bytes(((const Str *)cell)->ptr, ((const Str *)cell)->len);
    if (p == PH_F32) d = (double)*(const float *)cell;
    if (p == PH_F64) d = *(const double *)cell;
    if (isnan(d)) return 77;
    return hash_bytes(cell, phys_size(p));
}
/* VM, interpreted, or interpreted but for some segments. */
static Answer answer(Fix *x, bool device, uint64_t compiled_too, int64_t initial_rows) {
    QueryOptions opt = {.threads = 1, .account = &root};
    if (device)
        opt.device = (DeviceUse){.runtime = runtime,
                                 .strict = true,
                                 .wait = true,
                                 .interpreted = true,
                                 .compiled_too = compiled_too,
                                 .initial_rows = initial_rows};
    Answer out = {0};
    Query *q;
    err_clear(&x->e);
    assert_int_equal(query_new(&x->plan, &opt, &q, &x->e), ST_OK);
    if (query_run(q, &x->e) != ST_OK) {
        out.failed = true;
        snprintf(out.sqlstate, sizeof out.sqlstate, "%s", x->e.sqlstate);
    } else {
        RowStore *r = query_result(q);
        out.rows = rows_count(r);
        for (int64_t i = 0; i < out.rows; i++) {
            uint64_t h = 0;
            for (int32_t c = 0; c < x->rows.n_cols; c++) {
                const void *cell;
                bool null;
                assert_int_equal(rows_cell(r, i, c, &cell, &null, &x->e), ST_OK);
                h = hash_combine(h, null ? 1 : hash_cell((Phys)x->cols[c].phys, cell));
            }
            out.bag += hash_u64(h);
            out.ordered = hash_combine(out.ordered, h);
        }
    }
    query_free(q);
    return out;
}
static void same(Fix *x, const Answer *want, const Answer *got, bool ordered, const char *what) {
    if (want->failed != got->failed || strcmp(want->sqlstate, got->sqlstate) != 0)
        fail_msg("%s: the machine gives %s, the interpreter %s (%s)", what, want->failed ? want->sqlstate : "a value",
                 got->failed ? got->sqlstate : "a value", x->e.message);
    if (want->rows != got->rows || want->bag != got->bag || (ordered && want->ordered != got->ordered))
        fail_msg("%s: %lld rows, expected %lld; the answers differ", what, (long long)got->rows, (long long)want->rows);
}
/* `mixed`: also with each single segment, and all but one, compiled. */
static void agree(Fix *x, bool ordered, bool mixed, const char *what) {
    Answer want = answer(x, false, 0, 0), got = answer(x, true, 0, 0);
    same(x, &want, &got, ordered, what);
    if (x->plan.n_segments == 1) return;
    got = answer(x, true, 0, 3);
    same(x, &want, &got, ordered, what);
    for (int32_t i = 0; mixed && i < x->plan.n_segments; i++) {
        got = answer(x, true, UINT64_C(1) << i, 0);
        same(x, &want, &got, ordered, what);
    }
}

/* ---- opcodes --------------------------------------------------------------------------------------------- */
enum { VALUES = 12 };
static union Cell {
    uint8_t boolean;
    int16_t i16;
    int32_t i32;
    int64_t i64;
    int128_t i128;
    float f32;
    double f64;
    Str str;
    Interval iv;
    uint64_t words[2];
} values[PH_COUNT_][VALUES];
static int n_values[PH_COUNT_];

static void put(Phys p, union Cell c) { values[p][n_values[p]++] = c; }
static void make_values(void) {
    static const int64_t ints[] = {0,         1,         -1,        7,         -1000,    INT16_MAX,
                                   INT16_MIN, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN};
    static const double floats[] = {0.0,         -0.0,   1.5, -2.5, 1e10, 3e38, -1e300, 1e-310, (double)INFINITY,
                                    (double)NAN, 32767.5};
    static const char *const texts[] = {"", "a", "ab", "abcdefgh", "abcdefghi", "abcdefgi", "\xc3\xa9t\xc3\xa9", "b"};
    int128_t big = 1;
    for (int i = 0; i < 37; i++) big *= 10;
    memset(n_values, 0, sizeof n_values);
    for (int i = 0; i < 2; i++) put(PH_BOOL, (union Cell){.boolean = (uint8_t)i});
    for (int i = 0; i < (int)ARRAY_LEN(ints); i++) {
        if (ints[i] == (int16_t)ints[i]) put(PH_I16, (union Cell){.i16 = (int16_t)ints[i]});
        if (ints[i] == (int32_t)ints[i]) put(PH_I32, (union Cell){.i32 = (int32_t)ints[i]});
        put(PH_I64, (union Cell){.i64 = ints[i]});
        if (i < 5 || i > 8) put(PH_I128, (union Cell){.i128 = ints[i]});
    }
    put(PH_I128, (union Cell){.i128 = big * 9});
    put(PH_I128, (union Cell){.i128 = -(big * 10 - 1)});
    put(PH_I128, (union Cell){.i128 = big / 1000000});
    for (int i = 0; i < (int)ARRAY_LEN(floats); i++) {
        put(PH_F64, (union Cell){.f64 = floats[i]});
        put(PH_F32, (union Cell){.f32 = i == 6 ? -1e30f : i == 7 ? 1e-40f : (float)floats[i]});
    }
    for (int i = 0; i < (int)ARRAY_LEN(texts); i++)
        put(PH_STR, (union Cell){.str = str_make(texts[i], (int64_t)strlen(texts[i]))});
    put(PH_INTERVAL, (union Cell){.iv = {0, 0, 0}});
    put(PH_INTERVAL, (union Cell){.iv = {0, 30, 0}});
    put(PH_INTERVAL, (union Cell){.iv = {0, 0, 1}});
    put(PH_INTERVAL, (union Cell){.iv = {-5, 31, -1}});
    put(PH_INTERVAL, (union Cell){.iv = {USECS_PER_DAY, 0, 0}});
    put(PH_UUID, (union Cell){.words = {0, 0}});
    put(PH_UUID, (union Cell){.words = {1, 0}});
    put(PH_UUID, (union Cell){.words = {UINT64_C(0xff00000000000000), 5}});
    put(PH_UUID, (union Cell){.words = {1, UINT64_C(0x100)}});
}

static int programs;
static void run_op(Opcode op, Phys p, Phys to, int64_t imm, const union Cell *a, Phys pb, const union Cell *b) {
    Fix *x = start();
    Reg ra = constant(x, p, a), rb = pb < PH_COUNT_ ? constant(x, pb, b) : 0, d = reg(x, to);
    builder_emit(&x->b, op, p, d, ra, rb, 0)->imm = imm;
    finish_rows(x, one_row, &d, 1);
    char what[160];
    snprintf(what, sizeof what, "%s of phys %d to %d, imm %llx, operands %d, %d", op_info[op].name, (int)p, (int)to,
             (long long)imm, a ? (int)(a - values[p]) : -1, b ? (int)(b - values[pb]) : -1);
    agree(x, true, false, what);
    programs++;
    stop(x);
}
static void unary(Opcode op, Phys p, Phys to, int64_t imm) {
    for (int i = -1; i < n_values[p]; i++) run_op(op, p, to, imm, i < 0 ? NULL : &values[p][i], PH_COUNT_, NULL);
}
static void binary(Opcode op, Phys p, Phys to, int64_t imm, Phys pb) {
    for (int i = -1; i < n_values[p]; i++)
        for (int k = -1; k < n_values[pb]; k++)
            run_op(op, p, to, imm, i < 0 ? NULL : &values[p][i], pb, k < 0 ? NULL : &values[pb][k]);
}

static void test_arithmetic(void **state) {
    (void)state;
    make_values();
    static const uint8_t ops[] = {OP_ADD, OP_SUB, OP_MUL, OP_DIV, OP_MOD},
                         bits[] = {OP_BIT_AND, OP_BIT_OR, OP_BIT_XOR, OP_SHL, OP_SHR};
    for (Phys p = PH_I16; p <= PH_F64; p++) {
        for (int i = 0; i < (int)ARRAY_LEN(ops); i++)
            if (op_info[ops[i]].phys >> p & 1) binary((Opcode)ops[i], p, p, 0, p);
        for (int i = 0; i < (int)ARRAY_LEN(bits) && p <= PH_I64; i++) binary((Opcode)bits[i], p, p, 0, p);
        if (p <= PH_I64) unary(OP_BIT_NOT, p, p, 0);
        unary(OP_NEG, p, p, 0);
        unary(OP_ABS, p, p, 0);
    }
    binary(OP_MUL_WIDE, PH_I32, PH_I64, 0, PH_I32);
    binary(OP_MUL_WIDE, PH_I64, PH_I128, 0, PH_I64);
    static const int64_t small[] = {0, 5, -9, 100};
    for (Phys p = PH_I16; p <= PH_I128; p++) { /* unchecked: only what fits */
        n_values[p] = 0;
        for (int i = 0; i < 4; i++)
            put(p, p == PH_I16   ? (union Cell){.i16 = (int16_t)small[i]}
                   : p == PH_I32 ? (union Cell){.i32 = (int32_t)small[i]}
                   : p == PH_I64 ? (union Cell){.i64 = small[i]}
                                 : (union Cell){.i128 = small[i]});
        binary(OP_ADD_N, p, p, 0, p);
        binary(OP_SUB_N, p, p, 0, p);
        binary(OP_MUL_N, p, p, 0, p);
    }
    make_values();
}

static void test_conversions(void **state) {
    (void)state;
    make_values();
    for (Phys p = PH_BOOL; p <= PH_F64; p++)
        for (Phys to = PH_BOOL; to <= PH_F64; to++)
            if (p != to) unary(OP_CVT, p, to, 0);
    static const int64_t imms[] = {NUM_IMM(0, 2, 10), NUM_IMM(2, 0, 5), NUM_IMM(4, 1, 38), NUM_IMM(0, 20, 38),
                                   NUM_IMM(10, 3, 18)};
    for (int i = 0; i < (int)ARRAY_LEN(imms); i++)
        for (Phys to = PH_I64; to <= PH_I128; to++) {
            unary(OP_RESCALE, PH_I64, to, imms[i]);
            unary(OP_RESCALE, PH_I128, to, imms[i]);
            unary(OP_F64_TO_NUM, PH_F64, to, imms[i]);
        }
    for (Phys p = PH_I64; p <= PH_I128; p++) {
        unary(OP_NUM_TO_F64, p, PH_F64, NUM_IMM(3, 0, 0));
        unary(OP_CHECK_DIGITS, p, p, 4);
        unary(OP_CHECK_DIGITS, p, p, 18);
    }
    binary(OP_NUM_DIV, PH_I128, PH_I128, NUM_IMM3(2, 1, 16), PH_I128);
    binary(OP_NUM_MUL, PH_I128, PH_I128, NUM_IMM3(2, 3, 4), PH_I128);
    n_values[PH_I32]--; /* the date -infinity is the least i32 */
    for (int64_t f = 0; f <= 18; f++) {
        if (f == 6 || f == 7 || f == 17) continue; /* no whole numbers, or of no date */
        if (f >= 3 && f <= 5) unary(OP_DATE_PART, PH_I64, PH_I32, f);
        else unary(OP_DATE_PART, PH_I32, PH_I32, f);
    }
}

static void test_comparisons(void **state) {
    (void)state;
    make_values();
    for (Phys p = PH_BOOL; p < PH_COUNT_; p++) {
        for (int op = OP_EQ; op <= OP_DISTINCT; op++) binary((Opcode)op, p, PH_BOOL, 0, p);
        unary(OP_IS_NULL, p, PH_BOOL, 0);
        unary(OP_IS_NOT_NULL, p, PH_BOOL, 0);
        binary(OP_COALESCE, p, p, 0, p);
        binary(OP_NULLIF, p, p, 0, PH_BOOL);
    }
    binary(OP_AND, PH_BOOL, PH_BOOL, 0, PH_BOOL);
    binary(OP_OR, PH_BOOL, PH_BOOL, 0, PH_BOOL);
    unary(OP_NOT, PH_BOOL, PH_BOOL, 0);
    unary(OP_IS_TRUE, PH_BOOL, PH_BOOL, 0);
    unary(OP_IS_FALSE, PH_BOOL, PH_BOOL, 0);
    assert_true(programs > 1000);
}

/* SELECT, IF, sets, code tables, packed keys, REPEAT, filters, over a series. */
static void test_control(void **state) {
    (void)state;
    Fix *x = start();
    Reg i = load(x, PH_I64, 0), n = null_where(x, i, 5, 3),
        code = emit(x, OP_CVT, PH_I64, PH_I32, i64_op(x, OP_MOD, i, number(x, 6)), 0, 0);
    Reg odd = emit(x, OP_EQ, PH_I64, PH_BOOL, i64_op(x, OP_MOD, n, number(x, 2)), number(x, 1), 0);
    Reg sel = emit(x, OP_SELECT, PH_I64, PH_I64, odd, n, i64_op(x, OP_NEG, i, 0));
    Reg div = reg(x, PH_I64); /* division only where it can be done */
    builder_emit(&x->b, OP_IF, PH_BOOL, 0, odd, 0, 0);
    Reg q = i64_op(x, OP_DIV, number(x, 1000), i);
    builder_emit(&x->b, OP_ELSE, PH_I64, 0, q, 0, 0);
    builder_emit(&x->b, OP_ENDIF, PH_I64, div, number(x, -4), 0, 0);
    static const uint8_t mask[] = {1, 0, 1, 1, 0, 0, 1};
    CodeMask m = {mask, 6, "test"};
    Reg test = reg(x, PH_BOOL);
    builder_emit(&x->b, OP_CODE_TEST, PH_I32, test, code, 0, 0)->aux = &m;
    static const int64_t cells[] = {10, 20, 30, 40, 50, 60};
    static const uint8_t there[] = {1, 1, 0, 1, 1, 1};
    CodeMap map = {cells, there, 6};
    Reg mapped = reg(x, PH_I64);
    builder_emit(&x->b, OP_CODE_MAP, PH_I32, mapped, code, 0, 0)->aux = &map;
    Str texts[] = {str_make("a", 1),   str_make("bc", 2), str_make("x%", 2),
                   str_make("abc", 3), str_make("", 0),   str_make("zz", 2)};
    CodeMap names = {texts, NULL, 6};
    Reg name = reg(x, PH_STR), in = reg(x, PH_BOOL), in_text = reg(x, PH_BOOL);
    builder_emit(&x->b, OP_CODE_MAP, PH_I32, name, code, 0, 0)->aux = &names;
    static int64_t members[] = {-3, 0, 4, 9, 10, 77};
    InSet set = {.n = 6, .cells = members, .has_null = true}, text_set = {.n = 2, .cells = texts};
    builder_emit(&x->b, OP_IN_SET, PH_I64, in, n, 0, 0)->aux = &set;
    builder_emit(&x->b, OP_IN_SET, PH_STR, in_text, name, 0, 0)->aux = &text_set;
    KeyPack pack = {.n = 2,
                    .args = list(x, (Reg[]){n, code}, 2),
                    .base = (int64_t[]){0, 1},
                    .shift = (uint8_t[]){0, 20},
                    .bits = (uint8_t[]){7, 3},
                    .nullable = (bool[]){true, false}};
    Reg key = reg(x, PH_I64);
    builder_emit(&x->b, OP_KEY_PACK, PH_I64, key, 0, 0, 0)->aux = &pack;
    Reg keep = emit(x, OP_NE, PH_I64, PH_BOOL, i64_op(x, OP_MOD, i, number(x, 7)), number(x, 3), 0);
    builder_emit(&x->b, OP_FILTER, PH_BOOL, 0, keep, 0, 0);
    builder_emit(&x->b, OP_REPEAT, PH_I64, 0, i64_op(x, OP_MOD, n, number(x, 4)), 0, 0);
    Reg out[] = {i, n, sel, div, test, mapped, name, in, in_text, key};
    finish_rows(x, series(400), out, (int32_t)ARRAY_LEN(out));
    agree(x, false, false, "control");
    stop(x);
}

/* More values at once than there are registers; a long chain of short lives is no matter. */
static void test_registers(void **state) {
    (void)state;
    for (int many = 0; many < 2; many++) {
        Fix *x = start();
        Reg i = load(x, PH_I64, 0), all[80], sum = i;
        for (int k = 0; k < 80; k++) {
            all[k] = i64_op(x, OP_ADD, i, number(x, k));
            if (!many) sum = i64_op(x, OP_ADD, sum, all[k]);
        }
        for (int k = 0; many && k < 80; k++) sum = i64_op(x, OP_ADD, sum, all[k]);
        finish_rows(x, series(10), &sum, 1);
        if (many) {
            Answer a = answer(x, true, 0, 0);
            assert_true(a.failed);
            assert_string_equal(a.sqlstate, ERR_FEATURE_NOT_SUPPORTED);
            assert_non_null(strstr(x->e.message, "too many registers for the interpreter"));
        } else {
            agree(x, true, false, "registers");
        }
        stop(x);
    }
}

/* ---- joins ------------------------------------------------------------------------------------------------ */
typedef struct JoinCase {
    ProbeKind kind;
    bool residual, nulls, null_equal, direct, text;
    int keys;
} JoinCase;
static Reg as_text(Fix *x, Reg k) { /* 0 .. 9 by a table of names */
    static Str names[10];
    static CodeMap map = {names, NULL, 10};
    for (int i = 0; i < 10; i++) names[i] = str_make("zero one  two  threefour five six  seveneightnine" + 5 * i, 5);
    Reg c = emit(x, OP_CVT, PH_I64, PH_I32, i64_op(x, OP_MOD, k, number(x, 10)), 0, 0), d = reg(x, PH_STR);
    builder_emit(&x->b, OP_CODE_MAP, PH_I32, d, c, 0, 0)->aux = &map;
    return d;
}
static void join_keys(Fix *x, const JoinCase *c, Reg i, int64_t mod, Reg *keys) {
    Reg k = i64_op(x, OP_MOD, i, number(x, mod));
    if (c->nulls) k = null_where(x, k, 9, 4);
    keys[0] = c->text ? as_text(x, k) : k;
    if (c->keys > 1) keys[1] = emit(x, OP_CVT, PH_I64, PH_I128, i64_op(x, OP_MOD, i, number(x, 2)), 0, 0);
}
static void join_case(JoinCase c, bool mixed) {
    Fix *x = start();
    bool residual = c.residual, exists = !residual && (c.kind == PK_SEMI || c.kind == PK_ANTI || c.kind == PK_MARK),
         back = c.kind == PK_MARK_BUILD;
    for (int k = 0; k < c.keys; k++)
        x->keys[k] = (KeySpec){.phys = k        ? PH_I128
                                       : c.text ? PH_STR
                                                : PH_I64,
                               .type = type_of(k        ? PH_I128
                                               : c.text ? PH_STR
                                                        : PH_I64),
                               .nullable = c.nulls && !k,
                               .null_equal = c.null_equal,
                               .has_range = c.direct && !k,
                               .min = 0,
                               .max = 40};
    x->pay[0] = (CellSpec){.phys = PH_I64, .type = type_of(PH_I64), .nullable = true};
    x->join = (JoinSpec){.n_keys = c.keys,
                         .keys = x->keys,
                         .n_payload = exists ? 0 : 1,
                         .payload = x->pay,
                         .est_rows = 100,
                         .exists_only = exists,
                         .has_null_mark = c.kind == PK_MARK,
                         .track_matched = back};
    x->plan.n_joins = 1;
    x->plan.joins = &x->join;
    Reg keys[2], i = load(x, PH_I64, 0);
    join_keys(x, &c, i, c.kind == PK_SINGLE ? 1000 : 31, keys);
    finish(x, series(c.kind == PK_SINGLE ? 30 : 100),
           (Sink){.kind = SINK_JOIN,
                  .n_keys = c.keys,
                  .keys = list(x, keys, c.keys),
                  .n_regs = exists ? 0 : 1,
                  .regs = list(x, &i, 1),
                  .limit = -1});

    i = load(x, PH_I64, 0);
    join_keys(x, &c, i, 41, keys);
    ProbeSite *site = arena_new_of(x->a, ProbeSite);
    *site = (ProbeSite){.kind = (uint8_t)c.kind, .n_keys = c.keys, .keys = list(x, keys, c.keys)};
    bool rows = probe_has_rows((uint8_t)c.kind);
    Reg row = rows || residual ? builder_reg(&x->b, PH_I64, type_of(PH_I64), false) : 0,
        mark = c.kind == PK_MARK ? reg(x, PH_BOOL) : 0, out[4] = {i};
    builder_emit(&x->b, residual ? OP_PROBE_BEGIN : OP_PROBE, PH_I64,
                 residual ? row
                 : mark   ? mark
                          : row,
                 0, 0, 0)
        ->aux = site;
    if (residual) {
        Reg v = reg(x, PH_I64);
        builder_emit(&x->b, OP_LOAD_BUILD, PH_I64, v, row, 0, 0)->aux = site;
        Reg ok = emit(x, OP_NE, PH_I64, PH_BOOL, null_where(x, i64_op(x, OP_ADD, v, i), 11, 5), number(x, 60), 0);
        ok = emit(x, OP_AND, PH_BOOL, PH_BOOL, ok, emit(x, OP_LT, PH_I64, PH_BOOL, v, number(x, 50), 0), 0);
        builder_emit(&x->b, OP_PROBE_END, PH_BOOL, mark, ok, 0, 0)->aux = site;
    }
    int32_t n = 1;
    out[n++] = load(x, PH_I64, 0); /* the source is still there */
    if (mark) out[n++] = mark;
    if (rows) {
        out[n] = reg(x, PH_I64);
        builder_emit(&x->b, OP_LOAD_BUILD, PH_I64, out[n++], row, 0, 0)->aux = site;
    }
    if (back) {
        finish(x, series(500), (Sink){.kind = SINK_NONE});
        for (int matched = 0; matched < 2; matched++) {
            out[0] = load(x, PH_I64, 0);
            finish_rows(x, (Source){.kind = SRC_JOIN, .matched = matched}, out, 1);
            char what[32];
            snprintf(what, sizeof what, "mark build, matched %d", matched);
            agree(x, false, mixed, what);
            x->plan.n_segments--;
        }
    } else {
        finish_rows(x, series(500), out, n);
        char what[96];
        snprintf(what, sizeof what, "join kind %d, residual %d, nulls %d, null equal %d, direct %d, text %d, keys %d",
                 (int)c.kind, residual, c.nulls, c.null_equal, c.direct, c.text, c.keys);
        agree(x, false, mixed, what);
    }
    stop(x);
}
static void test_joins(void **state) {
    (void)state;
    for (int kind = PK_INNER; kind <= PK_MARK_BUILD; kind++)
        for (int bits = 0; bits < 64; bits++) {
            JoinCase c = {.kind = (ProbeKind)kind,
                          .residual = bits & 1,
                          .nulls = bits >> 1 & 1,
                          .null_equal = bits >> 2 & 1,
                          .direct = bits >> 3 & 1,
                          .text = bits >> 4 & 1,
                          .keys = 1 + (bits >> 5)};
            if ((c.direct && (c.text || c.keys > 1)) || (c.null_equal && kind == PK_MARK)) continue;
            join_case(c, false);
        }
}
static void test_joins_mixed(void **state) {
    (void)state;
    join_case((JoinCase){.kind = PK_LEFT, .nulls = true, .direct = true, .keys = 1}, true);
    join_case((JoinCase){.kind = PK_INNER, .nulls = true, .null_equal = true, .text = true, .keys = 2}, true);
    join_case((JoinCase){.kind = PK_SEMI, .direct = true, .keys = 1}, true);
    join_case((JoinCase){.kind = PK_MARK, .nulls = true, .residual = true, .keys = 1}, true);
    join_case((JoinCase){.kind = PK_MARK_BUILD, .nulls = true, .keys = 1}, true);
}

/* ---- aggregations ------------------------------------------------------------------------------------------ */
static void aggregate(Fix *x, AggOp op, Phys in, Phys out, Reg r, Reg *inputs) {
    x->cells[x->agg.n_aggs] = (AggCell){
        .op = (uint8_t)op, .in_phys = (uint8_t)in, .out_phys = (uint8_t)out, .in_nullable = true, .type = type_of(out)};
    inputs[x->agg.n_aggs++] = r;
}
typedef struct AggCase {
    int keys;
    bool nulls;
    int64_t rows;
    bool single, twice;
} AggCase; /* keys: 0 none, 1 few values, 2 many, 3 text, 4 two without ranges */
static void agg_feed(Fix *x, AggCase c, bool second) {
    Reg i = load(x, PH_I64, 0), k[2] = {0}, inputs[COLS], n = null_where(x, i, 3, 1);
    int64_t groups = c.keys == 2 ? 5000 : 9;
    int32_t n_keys = c.keys == 0 ? 0 : c.keys == 4 ? 2 : 1;
    Reg g = c.single ? i : i64_op(x, OP_MOD, i, number(x, groups));
    k[0] = c.nulls ? null_where(x, g, 4, 3) : g;
    if (c.keys == 3) k[0] = as_text(x, k[0]);
    if (c.keys == 4) k[1] = emit(x, OP_CVT, PH_I64, PH_F64, i64_op(x, OP_MOD, i, number(x, 5)), 0, 0);
    Phys p = c.keys == 3 ? PH_STR : PH_I64;
    x->keys[0] = (KeySpec){.phys = (uint8_t)p,
                           .type = type_of(p),
                           .nullable = c.nulls,
                           .has_range = c.keys == 1 || c.keys == 2,
                           .min = 0,
                           .max = groups - 1};
    x->keys[1] = (KeySpec){.phys = PH_F64, .type = type_of(PH_F64)};
    x->agg = (AggSpec){.n_keys = n_keys, .keys = x->keys, .aggs = x->cells, .est_groups = 10, .one_group = c.keys == 0};
    Reg wide = emit(x, OP_MUL_WIDE, PH_I64, PH_I128, n, number(x, INT64_MAX), 0),
        f = emit(x, OP_CVT, PH_I64, PH_F64, n, 0, 0), narrow = emit(x, OP_CVT, PH_I64, PH_I32, n, 0, 0);
    Reg odd = emit(x, OP_EQ, PH_I64, PH_BOOL, i64_op(x, OP_MOD, n, number(x, 2)), number(x, 1), 0);
    aggregate(x, AO_COUNT_STAR, PH_I64, PH_I64, 0, inputs);
    aggregate(x, AO_COUNT, PH_I64, PH_I64, n, inputs);
    aggregate(x, AO_SUM_I64, PH_I64, PH_I64, n, inputs);
    aggregate(x, AO_SUM_I128, PH_I128, PH_I128, wide, inputs);
    aggregate(x, AO_SUM_I128, PH_I64, PH_I128, n, inputs);
    aggregate(x, AO_SUM_F64, PH_F64, PH_F64, f, inputs);
    aggregate(x, AO_MIN, PH_I32, PH_I32, narrow, inputs);
    aggregate(x, AO_MAX, PH_F64, PH_F64, f, inputs);
    aggregate(x, AO_BOOL_AND, PH_BOOL, PH_BOOL, odd, inputs);
    aggregate(x, AO_BOOL_OR, PH_BOOL, PH_BOOL, odd, inputs);
    aggregate(x, AO_BIT_AND, PH_I64, PH_I64, n, inputs);
    aggregate(x, c.single ? AO_SINGLE : AO_ANY, PH_I64, PH_I64,
              c.single                ? n
              : c.keys && c.keys != 3 ? k[0]
                                      : number(x, 5),
              inputs);
    Source src = series(c.rows);
    if (second) src.start = c.rows, src.stop += c.rows;
    finish(x, src,
           (Sink){.kind = SINK_AGG,
                  .n_keys = n_keys,
                  .keys = list(x, k, n_keys),
                  .n_regs = x->agg.n_aggs,
                  .regs = list(x, inputs, x->agg.n_aggs),
                  .limit = -1});
}
static void agg_case(AggCase c, bool mixed) {
    Fix *x = start();
    agg_feed(x, c, false);
    if (c.twice) agg_feed(x, c, true);
    x->plan.n_aggs = 1;
    x->plan.aggs = &x->agg;
    int32_t n_keys = x->agg.n_keys;
    Reg out[COLS];
    int32_t n_out = 0;
    for (int32_t k = 0; k < n_keys; k++, n_out++) out[n_out] = load(x, (Phys)x->keys[k].phys, k);
    for (int32_t k = 0; k < x->agg.n_aggs; k++, n_out++) out[n_out] = load(x, (Phys)x->cells[k].out_phys, n_keys + k);
    finish_rows(x, (Source){.kind = SRC_AGG}, out, n_out);
    char what[64];
    snprintf(what, sizeof what, "aggregation: keys %d, nulls %d, %lld rows, single %d", c.keys, c.nulls,
             (long long)c.rows, c.single);
    agree(x, false, mixed, what);
    stop(x);
}
static void test_aggregations(void **state) {
    (void)state;
    for (int keys = 0; keys < 5; keys++)
        for (int nulls = 0; nulls < 2; nulls++) {
            agg_case((AggCase){.keys = keys, .nulls = nulls}, false);
            agg_case((AggCase){.keys = keys, .nulls = nulls, .rows = 3000}, false);
        }
    agg_case((AggCase){.keys = 2, .rows = 2000, .single = true}, false);
    agg_case((AggCase){.keys = 4, .rows = 2000, .single = true}, false);
    agg_case((AggCase){.rows = 1, .single = true}, false);
    agg_case((AggCase){.rows = 2, .single = true}, false); /* more than one row */
}
static void test_aggregations_mixed(void **state) {
    (void)state;
    for (int keys = 0; keys < 5; keys++)
        agg_case((AggCase){.keys = keys, .nulls = true, .rows = 3000, .twice = true}, true);
    agg_case((AggCase){.keys = 4, .rows = 2000, .single = true}, true);
}

/* ---- sorts ---------------------------------------------------------------------------------------------------- */
static void test_sorts(void **state) {
    (void)state;
    for (int how = 0; how < 12; how++) {
        Fix *x = start();
        bool desc = how & 1, first = how & 2;
        int64_t rows = how == 11 ? 5000 : 700;
        Reg i = load(x, PH_I64, 0), m = i64_op(x, OP_MOD, i64_op(x, OP_MUL, i, number(x, 7919)), number(x, 97)),
            n = null_where(x, m, 10, 3), k;
        Phys p = how < 4     ? PH_I64
                 : how < 8   ? PH_STR
                 : how == 8  ? PH_I32
                 : how == 9  ? PH_F64
                 : how == 10 ? PH_I128
                             : PH_F32;
        k = p == PH_STR ? as_text(x, n) : p == PH_I64 ? n : emit(x, OP_CVT, PH_I64, p, n, 0, 0);
        x->sort = (SortSpec){.n_keys = 2,
                             .keys = arena_calloc(x->a, 2 * (int64_t)sizeof *x->sort.keys),
                             .n_cols = 2,
                             .cols = x->cols,
                             .limit = how % 3 ? 50 : -1,
                             .offset = how % 3 ? 20 : 0};
        x->sort.keys[0].key = (KeySpec){.phys = (uint8_t)p, .type = type_of(p), .nullable = true};
        x->sort.keys[0].desc = desc;
        x->sort.keys[0].nulls_first = first;
        x->sort.keys[1].key = (KeySpec){.phys = PH_I64, .type = type_of(PH_I64), .nullable = true};
        x->sort.keys[1].desc = !desc;
        x->cols[0] = (CellSpec){.phys = PH_I64, .type = type_of(PH_I64), .nullable = true};
        x->cols[1] = (CellSpec){.phys = (uint8_t)p, .type = type_of(p), .nullable = true};
        x->rows = (RowsSpec){.n_cols = 2, .cols = x->cols, .limit = -1, .sort = 0, .ordered = true};
        x->plan.n_sorts = 1;
        x->plan.sorts = &x->sort;
        Reg keys[] = {k, m}, out[] = {i, k};
        finish(x, series(rows),
               (Sink){.kind = SINK_SORT,
                      .n_keys = 2,
                      .keys = list(x, keys, 2),
                      .n_regs = 2,
                      .regs = list(x, out, 2),
                      .limit = -1});
        char what[32];
        snprintf(what, sizeof what, "sort %d", how);
        agree(x, true, false, what);
        Answer want = answer(x, false, 0, 0), got = answer(x, true, 0, 5);
        same(x, &want, &got, true, what);
        stop(x);
    }
}

/* ---- the text --------------------------------------------------------------------------------------------------- */
static char *text_for(DeviceKind kind, int32_t group, bool join, Err *e) {
    Fix *x = start();
    Reg i = load(x, PH_I64, 0), out[] = {i, join ? i64_op(x, OP_MUL, i, number(x, 3)) : i};
    finish_rows(x, series(10), out, 2);
    EmitTarget t = {.native_threads = kind == DEVICE_HOST,
                    .whole_params = kind == DEVICE_CUDA,
                    .group_size = group,
                    .tile_rows = 2048,
                    .local_bytes = 16384,
                    .units = 4,
                    .direct_bytes = 1 << 20};
    EmitPlan *ep;
    EmitSegment s;
    assert_int_equal(emit_plan(&x->plan, &t, x->a, &ep, e), ST_OK);
    assert_null(interp_reason(ep, 0, x->a));
    assert_int_equal(interp_segment(ep, 0, true, x->a, &s, e), ST_OK);
    assert_true(s.code_bytes > 0 && s.code_bytes % 4 == 0);
    assert_int_equal(s.n_params == DEV_PARAMS_MAX, kind == DEVICE_CUDA);
    char *text = strdup(s.source);
    assert_int_equal(strlen(text), s.source_bytes);
    stop(x);
    return text;
}
static void test_text(void **state) {
    (void)state;
    Err e = {0};
    char *a = text_for(DEVICE_CUDA, 256, false, &e), *b = text_for(DEVICE_CUDA, 256, true, &e),
         *c = text_for(DEVICE_CUDA, 128, true, &e), *d = text_for(DEVICE_HOST, 1, true, &e);
    assert_string_equal(a, b);
    assert_string_not_equal(a, c);
    assert_string_not_equal(a, d);
    int major, minor;
    if (nvrtc_version(&major, &minor, &e) == ST_OK) {
        char *full = kernel_source_expand(a);
        DevCode code;
        if (nvrtc_compile(full, "sm_90", "", &code, &e) != ST_OK) fail_msg("%s: %s", e.message, e.detail);
        dev_code_free(&code);
        free(full);
    } else {
        print_message("not compiled for CUDA: %s\n", e.message);
    }
    free(a);
    free(b);
    free(c);
    free(d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),         cmocka_unit_test(test_arithmetic),
        cmocka_unit_test(test_conversions),  cmocka_unit_test(test_comparisons),
        cmocka_unit_test(test_control),      cmocka_unit_test(test_registers),
        cmocka_unit_test(test_joins),        cmocka_unit_test(test_joins_mixed),
        cmocka_unit_test(test_aggregations), cmocka_unit_test(test_aggregations_mixed),
        cmocka_unit_test(test_sorts),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
