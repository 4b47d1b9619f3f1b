/* test_program.c - builder, liveness, verifier and printer of programs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "program/program.h"

typedef struct Fixture {
    Err e;
    MemAccount acct;
    Arena *a;
    ProgramBuilder b;
    Source src;
    Sink sink;
    Reg sink_regs[4];
} Fixture;

static void start(Fixture *x) {
    err_clear(&x->e);
    mem_account_init(&x->acct, NULL, "test", 0, NULL);
    x->a = arena_new(&x->acct, &x->e);
    builder_init(&x->b, x->a);
    x->src = (Source){.kind = SRC_ROWS};
    x->sink = (Sink){.kind = SINK_ROWS, .regs = x->sink_regs, .limit = -1};
}
static void stop(Fixture *x) {
    arena_free(x->a);
    assert_int_equal(x->acct.used, 0);
}
static Reg reg(Fixture *x, Phys p) { return builder_reg(&x->b, p, type_make(T_INT8), true); }
static Reg load(Fixture *x, Phys p, int64_t col) {
    Reg r = reg(x, p);
    builder_emit(&x->b, OP_LOAD, p, r, 0, 0, 0)->imm = col;
    return r;
}
static Reg op2(Fixture *x, Opcode op, Phys p, Phys d, Reg a, Reg b) {
    Reg r = reg(x, d);
    builder_emit(&x->b, op, p, r, a, b, 0);
    return r;
}
static Program *finish(Fixture *x, Reg out) {
    x->sink_regs[0] = out;
    x->sink.n_regs = 1;
    return program_finish(&x->b, &x->src, &x->sink, &x->e);
}
static void rejected(Fixture *x, Reg out, const char *why) {
    assert_null(finish(x, out));
    assert_string_equal(x->e.sqlstate, "XX000");
    if (!strstr(x->e.message, why)) fail_msg("expected \"%s\" in \"%s\"", why, x->e.message);
    stop(x);
}

static void test_liveness(void **state) {
    (void)state;
    Fixture x;
    start(&x);
    Value v = {.type = type_make(T_INT8), .u.i64 = 5};
    Reg a = load(&x, PH_I64, 0), b = load(&x, PH_I64, 1), five = builder_const(&x.b, PH_I64, &v);
    Reg c = op2(&x, OP_LT, PH_I64, PH_BOOL, a, five);
    builder_emit(&x.b, OP_FILTER, PH_BOOL, 0, c, 0, 0);
    Reg d = load(&x, PH_I64, 2);
    Reg s = op2(&x, OP_ADD, PH_I64, PH_I64, b, d);
    Program *p = finish(&x, s);
    assert_non_null(p);
    assert_int_equal(p->regs[a].first, 0);
    assert_int_equal(p->regs[a].last, 2);
    assert_int_equal(p->regs[s].last, p->n_instrs);
    assert_int_equal(p->instrs[3].n_carry, 1); /* only b: a is dead, the constant has no rows */
    assert_int_equal(p->instrs[3].carry[0], b);
    assert_true(p->instrs[3].keep_pos);
    char *text = program_text(p, x.a);
    assert_non_null(strstr(text, "03 filter r4  carry {r2}"));
    assert_non_null(strstr(text, "02 r4 = lt.i64 r1, 5"));
    stop(&x);
}

static void test_blocks(void **state) {
    (void)state;
    Fixture x;
    start(&x);
    Reg a = load(&x, PH_I64, 0), b = load(&x, PH_I64, 1), c = op2(&x, OP_LT, PH_I64, PH_BOOL, a, b);
    builder_emit(&x.b, OP_IF, PH_BOOL, 0, c, 0, 0);
    Reg d = op2(&x, OP_ADD, PH_I64, PH_I64, a, b);
    builder_emit(&x.b, OP_ELSE, PH_I64, 0, d, 0, 0);
    Reg r = reg(&x, PH_I64);
    builder_emit(&x.b, OP_ENDIF, PH_I64, r, b, 0, 0);
    Program *p = finish(&x, r);
    assert_non_null(p);
    assert_int_equal(p->instrs[3].jump, 5);
    assert_int_equal(p->instrs[5].jump, 6);
    assert_int_equal(p->instrs[3].n_carry, 2);
    assert_int_equal(p->instrs[5].n_carry, 1);
    assert_int_equal(p->instrs[5].carry[0], b);
    assert_false(p->instrs[3].keep_pos);
    stop(&x);
}

static void test_rejects(void **state) {
    (void)state;
    Fixture x;
    Reg a, b, c, r;

    start(&x); /* read before written */
    a = reg(&x, PH_I64);
    r = op2(&x, OP_ADD, PH_I64, PH_I64, a, a);
    rejected(&x, r, "before it is written");

    start(&x); /* written twice */
    a = load(&x, PH_I64, 0);
    builder_emit(&x.b, OP_LOAD, PH_I64, a, 0, 0, 0);
    rejected(&x, a, "written twice");

    start(&x); /* operand of the wrong type */
    a = load(&x, PH_I64, 0);
    b = load(&x, PH_I32, 1);
    rejected(&x, op2(&x, OP_ADD, PH_I64, PH_I64, a, b), "operand types");

    start(&x); /* result of the wrong type */
    a = load(&x, PH_I64, 0);
    rejected(&x, op2(&x, OP_EQ, PH_I64, PH_I64, a, a), "operand types");

    start(&x); /* variant that does not exist */
    a = load(&x, PH_STR, 0);
    rejected(&x, op2(&x, OP_ADD, PH_STR, PH_STR, a, a), "no variant");

    start(&x); /* operand missing */
    a = load(&x, PH_I64, 0);
    rejected(&x, op2(&x, OP_ADD, PH_I64, PH_I64, a, 0), "operand b missing");

    start(&x); /* NULL rule */
    a = load(&x, PH_I64, 0);
    r = op2(&x, OP_ADD, PH_I64, PH_I64, a, a);
    x.b.regs.items[r].nullable = false;
    rejected(&x, r, "may be NULL");

    start(&x); /* bracket left open */
    c = load(&x, PH_BOOL, 0);
    builder_emit(&x.b, OP_IF, PH_BOOL, 0, c, 0, 0);
    rejected(&x, c, "not closed");

    start(&x); /* bracket never opened */
    a = load(&x, PH_I64, 0);
    builder_emit(&x.b, OP_ELSE, PH_I64, 0, a, 0, 0);
    rejected(&x, a, "else without if");

    start(&x); /* register of a body used outside */
    c = load(&x, PH_BOOL, 0);
    builder_emit(&x.b, OP_IF, PH_BOOL, 0, c, 0, 0);
    a = load(&x, PH_I64, 1);
    builder_emit(&x.b, OP_ELSE, PH_I64, 0, a, 0, 0);
    b = load(&x, PH_I64, 2);
    r = reg(&x, PH_I64);
    builder_emit(&x.b, OP_ENDIF, PH_I64, r, b, 0, 0);
    rejected(&x, a, "out of scope");

    start(&x); /* rows change inside a body */
    c = load(&x, PH_BOOL, 0);
    a = load(&x, PH_I64, 1);
    builder_emit(&x.b, OP_IF, PH_BOOL, 0, c, 0, 0);
    builder_emit(&x.b, OP_FILTER, PH_BOOL, 0, c, 0, 0);
    builder_emit(&x.b, OP_ELSE, PH_I64, 0, a, 0, 0);
    r = reg(&x, PH_I64);
    builder_emit(&x.b, OP_ENDIF, PH_I64, r, a, 0, 0);
    rejected(&x, r, "rows change inside a body");

    start(&x); /* source filter without a table */
    RangeTest range = {0, 1, false};
    builder_emit(&x.b, OP_FILTER_RANGE, PH_BOOL, 0, 0, 0, 0)->aux = &range;
    a = load(&x, PH_I64, 0);
    rejected(&x, a, "needs a table");

    start(&x); /* build column of something that is no row of a join */
    a = load(&x, PH_I64, 0);
    r = reg(&x, PH_I64);
    builder_emit(&x.b, OP_LOAD_BUILD, PH_I64, r, a, 0, 0);
    rejected(&x, r, "not the row of a join");

    start(&x); /* probe with a result of the wrong kind */
    a = load(&x, PH_I64, 0);
    ProbeSite site = {.kind = PK_MARK, .n_keys = 1, .keys = &a};
    r = reg(&x, PH_I64);
    builder_emit(&x.b, OP_PROBE, PH_BOOL, r, 0, 0, 0)->aux = &site;
    rejected(&x, r, "result must be boolean");

    start(&x); /* aux missing */
    a = load(&x, PH_I64, 0);
    r = reg(&x, PH_BOOL);
    builder_emit(&x.b, OP_IN_SET, PH_I64, r, a, 0, 0);
    rejected(&x, r, "aux missing");

    start(&x); /* a finished program that somebody broke: carry list cut */
    a = load(&x, PH_I64, 0);
    c = load(&x, PH_BOOL, 1);
    builder_emit(&x.b, OP_FILTER, PH_BOOL, 0, c, 0, 0);
    Program *p = finish(&x, a);
    assert_non_null(p);
    p->instrs[2].n_carry = 0;
    assert_int_equal(program_verify(p, &x.e), ST_ERROR);
    assert_non_null(strstr(x.e.message, "not carried"));
    stop(&x);
}

static void test_out_of_memory(void **state) {
    (void)state;
    for (int64_t step = 1; step < 40; step++) {
        Fixture x;
        start(&x);
        mem_fail_at(step);
        for (int i = 0; i < 200; i++) {
            Reg r = builder_reg(&x.b, PH_I64, type_make(T_INT8), true);
            builder_emit(&x.b, OP_LOAD, PH_I64, r, 0, 0, 0);
        }
        Program *p = finish(&x, 1);
        mem_fail_at(0);
        if (p) {
            stop(&x);
            return;
        }
        assert_true(err_is_set(&x.e));
        stop(&x);
    }
    fail_msg("never succeeded");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_liveness), cmocka_unit_test(test_blocks),
                                       cmocka_unit_test(test_rejects), cmocka_unit_test(test_out_of_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
