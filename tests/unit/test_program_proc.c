/* test_program_proc.c - programs of procedures: brackets of statements, the verifier's rules, text. */
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
    SourceKind source;
} Fixture;

static void start(Fixture *x) {
    err_clear(&x->e);
    mem_account_init(&x->acct, NULL, "test", 0, NULL);
    x->a = arena_new(&x->acct, &x->e);
    builder_init(&x->b, x->a);
    x->source = SRC_CALLS;
}
static void stop(Fixture *x) {
    arena_free(x->a);
    assert_int_equal(x->acct.used, 0);
}
static Reg reg(Fixture *x, Phys p) { return builder_reg(&x->b, p, type_make(T_INT8), true); }
static Reg load(Fixture *x, Phys p, int64_t var) {
    Reg r = reg(x, p);
    builder_emit(&x->b, OP_LOAD, p, r, 0, 0, 0)->imm = var;
    return r;
}
static void store(Fixture *x, Phys p, int64_t var, Reg r) { builder_emit(&x->b, OP_STORE, p, 0, r, 0, 0)->imm = var; }
static void stmt(Fixture *x, Opcode op, int64_t imm) { builder_emit(&x->b, op, 0, 0, 0, 0, 0)->imm = imm; }
static void p_if(Fixture *x, Reg c) { builder_emit(&x->b, OP_P_IF, PH_BOOL, 0, c, 0, 0); }
static void aux(Fixture *x, Opcode op, Phys p, Reg dst, Reg a, Reg b, void *v) {
    builder_emit(&x->b, op, p, dst, a, b, 0)->aux = v;
}
static Program *finish(Fixture *x) {
    Source src = {.kind = x->source};
    Sink sink = {.kind = SINK_NONE};
    return program_finish(&x->b, &src, &sink, &x->e);
}
static void rejected(Fixture *x, const char *why) {
    assert_null(finish(x));
    assert_string_equal(x->e.sqlstate, "XX000");
    if (!strstr(x->e.message, why)) fail_msg("expected \"%s\" in \"%s\"", why, x->e.message);
    stop(x);
}

static void test_jumps(void **state) {
    (void)state;
    Fixture x;
    start(&x);
    stmt(&x, OP_P_BLOCK, 7);      /* 0 */
    stmt(&x, OP_P_LOOP, 1);       /* 1 */
    Reg c = load(&x, PH_BOOL, 0); /* 2 */
    p_if(&x, c);                  /* 3 */
    stmt(&x, OP_P_LEAVE, 1);      /* 4: out of the loop */
    stmt(&x, OP_P_ELSE, 0);       /* 5 */
    stmt(&x, OP_P_LEAVE, 1);      /* 6: to its step */
    x.b.instrs.items[6].aux = &x;
    stmt(&x, OP_P_ENDIF, 0);                   /* 7 */
    c = load(&x, PH_BOOL, 1);                  /* 8 */
    p_if(&x, c);                               /* 9 */
    stmt(&x, OP_P_LEAVE, 7);                   /* 10: out of the block */
    stmt(&x, OP_P_ENDIF, 0);                   /* 11 */
    stmt(&x, OP_P_STEP, 1);                    /* 12 */
    store(&x, PH_I64, 2, load(&x, PH_I64, 3)); /* 13, 14 */
    stmt(&x, OP_P_ENDLOOP, 0);                 /* 15 */
    stmt(&x, OP_P_RETURN, 0);                  /* 16 */
    stmt(&x, OP_P_ENDBLOCK, 0);                /* 17 */
    Program *p = finish(&x);
    if (!p) fail_msg("%s", x.e.message);
    static const int32_t jumps[][2] = {{0, 17}, {1, 15}, {3, 5},   {4, 15}, {5, 7},
                                       {6, 12}, {9, 11}, {10, 17}, {12, 1}, {15, 1}};
    for (int64_t i = 0; i < ARRAY_LEN(jumps); i++) assert_int_equal(p->instrs[jumps[i][0]].jump, jumps[i][1]);
    const char *text = program_text(p, x.a);
    static const char *const lines[] = {"source  calls\n00 p_block #7\n01   p_loop #1\n02     r1 = load.bool v0\n03    "
                                        " p_if r1\n04       p_leave #1\n05     p_else\n"
                                        "06       p_leave #1 to its step\n07     p_endif\n",
                                        "12   p_step #1\n13     r3 = load.i64 v3\n14     store.i64 v2, r3\n15   "
                                        "p_endloop\n16   p_return\n17 p_endblock\nsink    none\n"};
    for (int64_t i = 0; i < ARRAY_LEN(lines); i++)
        if (!strstr(text, lines[i])) fail_msg("%s", text);
    p->instrs[10].jump = 15; /* a finished program that somebody broke */
    assert_int_equal(program_verify(p, &x.e), ST_ERROR);
    assert_non_null(strstr(x.e.message, "leaves to somewhere else"));
    stop(&x);
}

static void test_try(void **state) {
    (void)state;
    Fixture x;
    static const char *const states[] = {"23505", "22000", "others"};
    CatchSite catches = {1, 3, states};
    start(&x);
    stmt(&x, OP_P_TRY, 1);                     /* 0 */
    store(&x, PH_I64, 2, load(&x, PH_I64, 3)); /* 1, 2 */
    stmt(&x, OP_P_CATCH, 1);                   /* 3 */
    Reg yes = reg(&x, PH_BOOL), what = reg(&x, PH_STR);
    aux(&x, OP_CATCHES, PH_BOOL, yes, 0, 0, &catches);                            /* 4 */
    p_if(&x, yes);                                                                /* 5 */
    builder_emit(&x.b, OP_CAUGHT, PH_STR, what, 0, 0, 0)->imm = 1 << CAUGHT_BITS; /* 6 */
    store(&x, PH_STR, 4, what);                                                   /* 7 */
    stmt(&x, OP_P_ELSE, 0);                                                       /* 8 */
    stmt(&x, OP_RERAISE, 1);                                                      /* 9 */
    stmt(&x, OP_P_ENDIF, 0);                                                      /* 10 */
    stmt(&x, OP_P_ENDTRY, 1);                                                     /* 11 */
    Program *p = finish(&x);
    if (!p) fail_msg("%s", x.e.message);
    assert_int_equal(p->instrs[0].jump, 3);
    assert_int_equal(p->instrs[3].jump, 11);
    const char *text = program_text(p, x.a);
    static const char *const lines[] = {
        "00 p_try #1\n01   ",
        "03 p_catch #1\n04   r2 = catches #1 23505 22000 others\n05   p_if r2\n06     r3 = caught #1 sqlstate\n",
        "09     reraise #1\n10   p_endif\n11 p_endtry\n"};
    for (int64_t i = 0; i < ARRAY_LEN(lines); i++)
        if (!strstr(text, lines[i])) fail_msg("no %s in %s", lines[i], text);
    p->instrs[3].imm = 2; /* a finished program that somebody broke */
    assert_int_equal(program_verify(p, &x.e), ST_ERROR);
    assert_non_null(strstr(x.e.message, "bracket without partner"));
    stop(&x);

    start(&x);
    stmt(&x, OP_P_CATCH, 1);
    rejected(&x, "bracket closed that is not open");
    start(&x);
    stmt(&x, OP_P_TRY, 1);
    stmt(&x, OP_P_ENDTRY, 1);
    rejected(&x, "bracket closed that is not open");
    start(&x);
    stmt(&x, OP_P_TRY, 1);
    stmt(&x, OP_P_CATCH, 1);
    rejected(&x, "bracket not closed");
}

static void test_rows(void **state) {
    (void)state;
    Fixture x;
    start(&x);
    Reg k = load(&x, PH_I64, 0), row = reg(&x, PH_I64), v = reg(&x, PH_I32), nr = reg(&x, PH_I64), nx = reg(&x, PH_I64),
        s = load(&x, PH_STR, 1);
    Reg key[] = {k, v}, cells[] = {k, 0, s}, args[] = {s};
    RowKey find = {0, 1, 1, key}, next = {0, 2, 0, NULL};
    RowCol col = {.col = 3}, row0 = {.col = -1};
    RowInsert ins = {1, 3, cells, true};
    RaiseSite raise = {"P0001", "no %", NULL, NULL, 1, args};
    ItemSite item = {.table = 1, .group = 2, .kind = 1, .has_amount = true, .col = 3, .n = 1, .args = key};
    aux(&x, OP_ROW_FIND, 0, row, 0, 0, &find);
    aux(&x, OP_ROW_NEXT, PH_I64, nx, row, 0, &next);
    aux(&x, OP_ROW_GET, PH_I64, v, row, 0, &col);
    aux(&x, OP_ROW_PUT, PH_I32, 0, row, v, &col);
    aux(&x, OP_ROW_ADD, PH_I32, 0, row, v, &col);
    aux(&x, OP_ROW_INSERT, 0, nr, 0, 0, &ins);
    aux(&x, OP_ROW_DELETE, PH_I64, 0, row, 0, &row0);
    aux(&x, OP_ITEM, 0, 0, 0, 0, &item);
    aux(&x, OP_RAISE, 0, 0, 0, 0, &raise);
    Program *p = finish(&x);
    if (!p) fail_msg("%s", x.e.message);
    const char *text = program_text(p, x.a);
    static const char *const lines[] = {"r2 = row_find t0 index 1 [r1]\n",
                                        "r5 = row_next t0 index 2 after r2\n",
                                        "r3 = row_get t0[r2].c3\n",
                                        "row_put.i32 t0[r2].c3, r3\n",
                                        "row_add.i32 t0[r2].c3, r3\n",
                                        "r4 = row_insert t1 (r1, *, r6) or skip\n",
                                        "row_delete t0[r2]\n",
                                        "item add t1 group 2 [r1] c3 += r3\n",
                                        "raise P0001 'no %' (r6)\n"};
    for (int64_t i = 0; i < ARRAY_LEN(lines); i++)
        if (!strstr(text, lines[i])) fail_msg("no %s in %s", lines[i], text);
    stop(&x);
}

static void test_rejects(void **state) {
    (void)state;
    Fixture x;
    Reg a, c, r;

    start(&x); /* a register crosses a statement */
    a = load(&x, PH_I64, 0);
    c = load(&x, PH_BOOL, 1);
    p_if(&x, c);
    store(&x, PH_I64, 2, a);
    stmt(&x, OP_P_ENDIF, 0);
    rejected(&x, "out of scope");

    start(&x); /* ... also backwards, around a loop */
    stmt(&x, OP_P_LOOP, 0);
    a = load(&x, PH_I64, 0);
    stmt(&x, OP_P_ENDLOOP, 0);
    store(&x, PH_I64, 2, a);
    rejected(&x, "out of scope");

    start(&x); /* statements elsewhere */
    x.source = SRC_ROWS;
    stmt(&x, OP_P_RETURN, 0);
    rejected(&x, "not a program of a procedure");
    start(&x);
    x.source = SRC_ROWS;
    store(&x, PH_I64, 0, load(&x, PH_I64, 0));
    rejected(&x, "not a program of a procedure");

    start(&x); /* filters do not exist here */
    builder_emit(&x.b, OP_FILTER, PH_BOOL, 0, load(&x, PH_BOOL, 0), 0, 0);
    rejected(&x, "are its calls");

    start(&x); /* effect inside a body */
    c = load(&x, PH_BOOL, 0);
    a = load(&x, PH_I64, 1);
    builder_emit(&x.b, OP_IF, PH_BOOL, 0, c, 0, 0);
    store(&x, PH_I64, 2, a);
    builder_emit(&x.b, OP_ELSE, PH_I64, 0, a, 0, 0);
    r = reg(&x, PH_I64);
    builder_emit(&x.b, OP_ENDIF, PH_I64, r, a, 0, 0);
    rejected(&x, "inside a body");

    start(&x); /* statement inside a body */
    c = load(&x, PH_BOOL, 0);
    builder_emit(&x.b, OP_IF, PH_BOOL, 0, c, 0, 0);
    stmt(&x, OP_P_RETURN, 0);
    builder_emit(&x.b, OP_ELSE, PH_BOOL, 0, c, 0, 0);
    r = reg(&x, PH_BOOL);
    builder_emit(&x.b, OP_ENDIF, PH_BOOL, r, c, 0, 0);
    rejected(&x, "inside a body");

    start(&x); /* brackets */
    stmt(&x, OP_P_LOOP, 0);
    rejected(&x, "not closed");
    start(&x);
    stmt(&x, OP_P_ENDIF, 0);
    rejected(&x, "not open");
    start(&x);
    stmt(&x, OP_P_LOOP, 0);
    p_if(&x, load(&x, PH_BOOL, 0));
    stmt(&x, OP_P_ENDLOOP, 0);
    stmt(&x, OP_P_ENDIF, 0);
    rejected(&x, "not open");
    start(&x);
    stmt(&x, OP_P_BLOCK, 3);
    stmt(&x, OP_P_LEAVE, 4);
    stmt(&x, OP_P_ENDBLOCK, 0);
    rejected(&x, "nothing to leave");
    start(&x); /* a block has no step */
    stmt(&x, OP_P_BLOCK, 3);
    stmt(&x, OP_P_LEAVE, 3);
    x.b.instrs.items[1].aux = &x;
    stmt(&x, OP_P_ENDBLOCK, 0);
    rejected(&x, "no step");
    start(&x); /* two steps */
    stmt(&x, OP_P_LOOP, 3);
    stmt(&x, OP_P_STEP, 3);
    stmt(&x, OP_P_STEP, 3);
    stmt(&x, OP_P_ENDLOOP, 3);
    rejected(&x, "second step");
    start(&x); /* the step of another loop */
    stmt(&x, OP_P_LOOP, 3);
    stmt(&x, OP_P_STEP, 4);
    stmt(&x, OP_P_ENDLOOP, 3);
    rejected(&x, "without its loop");
    start(&x); /* the round of another loop */
    stmt(&x, OP_P_LOOP, 3);
    stmt(&x, OP_P_ROUND, 4);
    stmt(&x, OP_P_ENDLOOP, 3);
    rejected(&x, "without its loop");
    start(&x);
    stmt(&x, OP_P_LOOP, 3);
    p_if(&x, load(&x, PH_BOOL, 0));
    stmt(&x, OP_P_ROUND, 3);
    stmt(&x, OP_P_ENDIF, 0);
    stmt(&x, OP_P_ENDLOOP, 3);
    rejected(&x, "bracket closed");

    start(&x); /* types */
    store(&x, PH_I32, 0, load(&x, PH_I64, 0));
    rejected(&x, "operand types");
    start(&x);
    builder_emit(&x.b, OP_P_IF, PH_BOOL, 0, load(&x, PH_I64, 0), 0, 0);
    stmt(&x, OP_P_ENDIF, 0);
    rejected(&x, "must be boolean");
    start(&x);
    RowCol col = {.col = 1};
    r = load(&x, PH_I32, 0);
    aux(&x, OP_ROW_PUT, PH_I32, 0, r, r, &col);
    rejected(&x, "operand types");
    start(&x);
    a = load(&x, PH_I64, 0);
    Reg args[] = {a};
    RaiseSite raise = {"P0001", "%", NULL, NULL, 1, args};
    aux(&x, OP_RAISE, 0, 0, 0, 0, &raise);
    rejected(&x, "operand types");
    start(&x);
    r = reg(&x, PH_I64);
    aux(&x, OP_ROW_FIND, 0, r, 0, 0, NULL);
    rejected(&x, "aux missing");
    start(&x); /* the code of a dictionary */
    builder_emit(&x.b, OP_LOAD_CODE, PH_I32, reg(&x, PH_I32), 0, 0, 0);
    rejected(&x, "variables only");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_jumps), cmocka_unit_test(test_try),
                                       cmocka_unit_test(test_rows), cmocka_unit_test(test_rejects)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
