/* test_bulk.c - bulks of hand-made procedures: every strategy, vector size and number of workers leaves the tables and
 * gives the results that the calls one by one do; calls that fail leave nothing; adds that might overflow become
 * writes. */
#include "unit.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "base/hash.h"
#include "exec/device/dev.h"
#include "txn/run/bulk.h"

enum { ACCT, HIST, N_TABLES };
enum { A_ID, A_BAL, A_CNT, A_NOTE, A_SMALL, N_ACCT };
enum { H_ID, H_ACCT, H_AMOUNT, H_MEMO, N_HIST };
enum { G_BAL, G_CNT, G_NOTE, G_SMALL };
enum { P_TRANSFER, P_DEPOSIT, P_RECORD, P_LOOP, P_BALANCE, P_CLOSE, P_DIVIDE, P_PAIR, P_SMALL, P_MANY, N_PROCS };

static Err err;
static MemAccount root, devices_account;
static uint64_t seed;
static uint64_t rnd(void) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return seed >> 33;
}

/* ---- procedures ------------------------------------------------------------------------------- */
typedef struct Make {
    Arena *a;
    ProgramBuilder b;
    Proc *proc;
    ProcVar vars[16];
    int32_t n_vars;
    int32_t lines[512];
    int32_t line;
} Make;
static Table *tables[N_TABLES];

static const TypeId type_of_phys[PH_COUNT_] = {
    [PH_BOOL] = T_BOOL, [PH_I16] = T_INT2, [PH_I32] = T_INT4, [PH_I64] = T_INT8, [PH_STR] = T_TEXT};
static Reg reg(Make *m, Phys p) { return builder_reg(&m->b, p, type_make(type_of_phys[p]), true); }
static Instr *emit(Make *m, Opcode op, Phys p, Reg d, Reg a, Reg b) {
    if (m->b.instrs.len < ARRAY_LEN(m->lines)) m->lines[m->b.instrs.len] = m->line;
    return builder_emit(&m->b, op, p, d, a, b, 0);
}
static int32_t var(Make *m, Phys p) {
    m->vars[m->n_vars] = (ProcVar){.name = "v", .type = type_make(type_of_phys[p]), .phys = (uint8_t)p};
    return m->n_vars++;
}
static Reg ld(Make *m, int32_t v) {
    Phys p = (Phys)m->vars[v].phys;
    Reg r = reg(m, p);
    emit(m, OP_LOAD, p, r, 0, 0)->imm = v;
    return r;
}
static void st(Make *m, int32_t v, Reg r) { emit(m, OP_STORE, (Phys)m->vars[v].phys, 0, r, 0)->imm = v; }
static Reg op2(Make *m, Opcode op, Phys p, Phys d, Reg a, Reg b) {
    Reg r = reg(m, d);
    emit(m, op, p, r, a, b);
    return r;
}
static Reg num(Make *m, Phys p, int64_t x) {
    Value v = {.type = type_make(type_of_phys[p])};
    if (p == PH_I32) v.u.i32 = (int32_t)x;
    else if (p == PH_I16) v.u.i16 = (int16_t)x;
    else if (p == PH_BOOL) v.u.b = x;
    else v.u.i64 = x;
    return builder_const(&m->b, p, &v);
}
static Reg text(Make *m, const char *s) {
    Value v = {.type = type_make(T_TEXT)};
    v.u.str = str_make(s, (int64_t)strlen(s));
    return builder_const(&m->b, PH_STR, &v);
}
static Reg *regs(Make *m, int32_t n, const Reg *r) {
    Reg *out = arena_array(m->a, Reg, n + 1);
    memcpy(out, r, sizeof(Reg) * (size_t)n);
    return out;
}
static Reg find(Make *m, int32_t table, Reg key) {
    RowKey *k = arena_new_of(m->a, RowKey);
    *k = (RowKey){table, 0, 1, regs(m, 1, &key)};
    Reg r = reg(m, PH_I64);
    emit(m, OP_ROW_FIND, PH_BOOL, r, 0, 0)->aux = k;
    return r;
}
static RowCol *col(Make *m, int32_t table, int32_t c) {
    RowCol *rc = arena_new_of(m->a, RowCol);
    *rc = (RowCol){.table = table, .col = c};
    return rc;
}
static Reg get(Make *m, int32_t table, int32_t c, Phys p, Reg row) {
    Reg r = reg(m, p);
    emit(m, OP_ROW_GET, PH_I64, r, row, 0)->aux = col(m, table, c);
    return r;
}
static void put(Make *m, int32_t table, int32_t c, Phys p, Reg row, Reg v) {
    emit(m, OP_ROW_PUT, p, 0, row, v)->aux = col(m, table, c);
}
static void add(Make *m, int32_t table, int32_t c, Phys p, Reg row, Reg v) {
    emit(m, OP_ROW_ADD, p, 0, row, v)->aux = col(m, table, c);
}
static void kill(Make *m, int32_t table, Reg row) {
    emit(m, OP_ROW_DELETE, PH_I64, 0, row, 0)->aux = col(m, table, -1);
}
static Reg insert(Make *m, int32_t table, bool skip, int32_t n, const Reg *args) {
    RowInsert *ins = arena_new_of(m->a, RowInsert);
    *ins = (RowInsert){table, n, regs(m, n, args), skip};
    Reg r = reg(m, PH_I64);
    emit(m, OP_ROW_INSERT, PH_BOOL, r, 0, 0)->aux = ins;
    return r;
}
static void item(Make *m, uint32_t table, uint32_t group, uint8_t kind, Reg key) {
    ItemSite *s = arena_new_of(m->a, ItemSite);
    *s = (ItemSite){.table = table, .group = group, .kind = kind, .n = key ? 1 : 0, .args = regs(m, 1, &key)};
    emit(m, OP_ITEM, PH_BOOL, 0, 0, 0)->aux = s;
}
static void item_add(Make *m, uint32_t table, uint32_t group, int32_t c, Reg key, Reg amount) {
    ItemSite *s = arena_new_of(m->a, ItemSite);
    Reg args[] = {key, amount};
    *s = (ItemSite){.table = table,
                    .group = group,
                    .kind = OPK_ADD,
                    .has_amount = true,
                    .col = c,
                    .n = 1,
                    .args = regs(m, 2, args)};
    emit(m, OP_ITEM, PH_BOOL, 0, 0, 0)->aux = s;
}
static void raise(Make *m, const char *code, const char *format, Reg arg) {
    RaiseSite *r = arena_new_of(m->a, RaiseSite);
    *r = (RaiseSite){code, format, NULL, "Try less.", arg ? 1 : 0, regs(m, 1, &arg)};
    emit(m, OP_RAISE, PH_BOOL, 0, 0, 0)->aux = r;
}
static void p_if(Make *m, Reg c) { emit(m, OP_P_IF, PH_BOOL, 0, c, 0); }
static void stmt(Make *m, Opcode op, int64_t n) { emit(m, op, PH_BOOL, 0, 0, 0)->imm = n; }
static Reg to_i64(Make *m, Reg a) {
    Reg r = reg(m, PH_I64);
    emit(m, OP_CVT, PH_I32, r, a, 0);
    return r;
}

static void start(Make *m, Arena *a) {
    *m = (Make){.a = a, .line = 1, .proc = arena_new_of(a, Proc)};
    builder_init(&m->b, a);
}
static ProcVar *copy_vars(Make *m) {
    ProcVar *v = arena_array(m->a, ProcVar, m->n_vars + 1);
    memcpy(v, m->vars, sizeof(ProcVar) * (size_t)m->n_vars);
    return v;
}
static Program *program(Make *m) {
    Source src = {.kind = SRC_CALLS};
    Sink sink = {.kind = SINK_NONE};
    Program *p = program_finish(&m->b, &src, &sink, &err);
    if (!p) fail_msg("%s", err.message);
    return p;
}
/* The body is done; the footprint follows, with the same parameters. */
static void body_done(Make *m, const char *name, int32_t n_params, int32_t n_outs, const int32_t *outs) {
    Proc *p = m->proc;
    p->name = name;
    p->n_params = n_params;
    p->n_vars = m->n_vars;
    p->vars = copy_vars(m);
    p->body = program(m);
    p->n_outs = n_outs;
    p->outs = arena_array(m->a, int32_t, n_outs + 1);
    if (n_outs) memcpy(p->outs, outs, sizeof *outs * (size_t)n_outs);
    int32_t *lines = arena_array(m->a, int32_t, ARRAY_LEN(m->lines));
    memcpy(lines, m->lines, sizeof m->lines);
    p->lines = lines;
    for (int32_t i = 0; i < p->body->n_instrs; i++)
        p->writes |= p->body->instrs[i].op >= OP_ROW_PUT && p->body->instrs[i].op <= OP_ROW_DELETE;
    builder_init(&m->b, m->a);
    m->n_vars = n_params;
}
static Proc *proc_done(Make *m, bool undo, int64_t hist_inserts) {
    Proc *p = m->proc;
    p->n_foot_vars = m->n_vars;
    p->foot_vars = copy_vars(m);
    p->footprint = program(m);
    p->undo = undo;
    p->n_tables = N_TABLES;
    p->tables = arena_array(m->a, ProcTable, N_TABLES);
    for (int t = 0; t < N_TABLES; t++) {
        bool *cols = arena_array(m->a, bool, tables[t]->n_cols);
        for (int c = 0; c < tables[t]->n_cols; c++) cols[c] = true;
        p->tables[t] =
            (ProcTable){.table_id = tables[t]->id, .need = {.table = tables[t], .cols = cols, .inserts = true}};
        bool *writes = arena_array(m->a, bool, tables[t]->n_cols);
        for (int c = 1; c < tables[t]->n_cols; c++) writes[c] = true;
        p->tables[t].need.writes = writes;
    }
    p->tables[HIST].max_inserts = hist_inserts;
    return p;
}
static void read_row(Make *m, uint32_t table, Reg key) { item(m, table, ITEM_ROWS, OPK_READ, key); }

/* transfer(a, b, amount): both balances change; says the new one of a. Fails before it writes. */
static Proc *make_transfer(Arena *a) {
    Make m;
    start(&m, a);
    int32_t pa = var(&m, PH_I32), pb = var(&m, PH_I32), am = var(&m, PH_I64), ra = var(&m, PH_I64),
            rb = var(&m, PH_I64), out = var(&m, PH_I64);
    st(&m, ra, find(&m, ACCT, ld(&m, pa)));
    st(&m, rb, find(&m, ACCT, ld(&m, pb)));
    m.line = 2;
    Reg zero = num(&m, PH_I64, 0);
    p_if(&m, op2(&m, OP_OR, PH_BOOL, PH_BOOL, op2(&m, OP_LT, PH_I64, PH_BOOL, ld(&m, ra), zero),
                 op2(&m, OP_LT, PH_I64, PH_BOOL, ld(&m, rb), zero)));
    m.line = 3;
    raise(&m, "P0002", "no such %% account %", text(&m, "here"));
    stmt(&m, OP_P_ENDIF, 0);
    m.line = 4;
    p_if(&m, op2(&m, OP_LT, PH_I64, PH_BOOL, get(&m, ACCT, A_BAL, PH_I64, ld(&m, ra)), ld(&m, am)));
    raise(&m, "P0001", "too little", 0);
    stmt(&m, OP_P_ELSE, 0);
    m.line = 5;
    Reg row = ld(&m, ra), v = op2(&m, OP_SUB, PH_I64, PH_I64, get(&m, ACCT, A_BAL, PH_I64, row), ld(&m, am));
    put(&m, ACCT, A_BAL, PH_I64, row, v);
    row = ld(&m, rb);
    v = op2(&m, OP_ADD, PH_I64, PH_I64, get(&m, ACCT, A_BAL, PH_I64, row), ld(&m, am));
    put(&m, ACCT, A_BAL, PH_I64, row, v);
    st(&m, out, get(&m, ACCT, A_BAL, PH_I64, ld(&m, ra)));
    stmt(&m, OP_P_ENDIF, 0);
    body_done(&m, "transfer(int,int,bigint)", 3, 1, (int32_t[]){out});
    for (int32_t k = pa; k <= pb; k++) {
        Reg key = ld(&m, k);
        read_row(&m, ACCT, key);
        item(&m, ACCT, G_BAL, OPK_WRITE, key);
    }
    return proc_done(&m, false, 0);
}

/* deposit(a, amount): an addition that commutes. */
static Proc *make_deposit(Arena *a) {
    Make m;
    start(&m, a);
    int32_t pa = var(&m, PH_I32), am = var(&m, PH_I64);
    add(&m, ACCT, A_BAL, PH_I64, find(&m, ACCT, ld(&m, pa)), ld(&m, am));
    body_done(&m, "deposit(int,bigint)", 2, 0, NULL);
    Reg key = ld(&m, pa);
    read_row(&m, ACCT, key);
    item_add(&m, ACCT, G_BAL, A_BAL, key, ld(&m, am));
    return proc_done(&m, false, 0);
}

/* small(a, x): the same to a smallint, which overflows soon. */
static Proc *make_small(Arena *a) {
    Make m;
    start(&m, a);
    int32_t pa = var(&m, PH_I32), x = var(&m, PH_I16), out = var(&m, PH_BOOL);
    add(&m, ACCT, A_SMALL, PH_I16, find(&m, ACCT, ld(&m, pa)), ld(&m, x));
    st(&m, out, num(&m, PH_BOOL, 1));
    body_done(&m, "small(int,smallint)", 2, 1, (int32_t[]){out});
    Reg key = ld(&m, pa);
    read_row(&m, ACCT, key);
    item_add(&m, ACCT, G_SMALL, A_SMALL, key, ld(&m, x));
    return proc_done(&m, false, 0);
}

/* record(id, a, amount, memo): an addition, then an insert that may meet a key or a NULL: the addition has to be taken
 * back. */
static Proc *make_record(Arena *a) {
    Make m;
    start(&m, a);
    int32_t id = var(&m, PH_I64), pa = var(&m, PH_I32), am = var(&m, PH_I64), memo = var(&m, PH_STR),
            row = var(&m, PH_I64);
    add(&m, ACCT, A_BAL, PH_I64, find(&m, ACCT, ld(&m, pa)), ld(&m, am));
    Reg r = find(&m, ACCT, ld(&m, pa));
    put(&m, ACCT, A_NOTE, PH_STR, r, ld(&m, memo));
    m.line = 7;
    st(&m, row, insert(&m, HIST, false, N_HIST, (Reg[]){ld(&m, id), ld(&m, pa), ld(&m, am), ld(&m, memo)}));
    body_done(&m, "record(bigint,int,bigint,text)", 4, 1, (int32_t[]){memo});
    Reg key = ld(&m, pa);
    read_row(&m, ACCT, key);
    item_add(&m, ACCT, G_BAL, A_BAL, key, ld(&m, am));
    item(&m, ACCT, G_NOTE, OPK_WRITE, key);
    item(&m, HIST, ITEM_ROWS, OPK_WRITE, ld(&m, id));
    return proc_done(&m, true, 1);
}

/* loop(a, n): FOR i IN 1..n: skips every third, stops at 50; then counts to cnt. Too large an n meets the limit of
 * steps. */
static Proc *make_loop(Arena *a) {
    Make m;
    start(&m, a);
    int32_t pa = var(&m, PH_I32), n = var(&m, PH_I32), i = var(&m, PH_I32), sum = var(&m, PH_I32),
            out = var(&m, PH_I32);
    Reg row = find(&m, ACCT, ld(&m, pa));
    put(&m, ACCT, A_CNT, PH_I32, row, ld(&m, n)); /* a change before what may fail */
    st(&m, i, num(&m, PH_I32, 1));
    st(&m, sum, num(&m, PH_I32, 0));
    stmt(&m, OP_P_BLOCK, 9);
    stmt(&m, OP_P_LOOP, 1);
    p_if(&m, op2(&m, OP_GT, PH_I32, PH_BOOL, ld(&m, i), ld(&m, n)));
    stmt(&m, OP_P_LEAVE, 1);
    stmt(&m, OP_P_ENDIF, 0);
    p_if(&m, op2(&m, OP_EQ, PH_I32, PH_BOOL, op2(&m, OP_MOD, PH_I32, PH_I32, ld(&m, i), num(&m, PH_I32, 3)),
                 num(&m, PH_I32, 0)));
    emit(&m, OP_P_LEAVE, PH_BOOL, 0, 0, 0)->imm = 1;
    m.b.instrs.items[m.b.instrs.len - 1].aux = &m;
    stmt(&m, OP_P_ENDIF, 0);
    p_if(&m, op2(&m, OP_EQ, PH_I32, PH_BOOL, ld(&m, i), num(&m, PH_I32, 50)));
    stmt(&m, OP_P_LEAVE, 9);
    stmt(&m, OP_P_ENDIF, 0);
    p_if(&m, op2(&m, OP_EQ, PH_I32, PH_BOOL, ld(&m, n), num(&m, PH_I32, 55))); /* for ever */
    m.line = 2;
    stmt(&m, OP_P_LOOP, 2);
    stmt(&m, OP_P_ROUND, 2);
    stmt(&m, OP_P_STEP, 2);
    stmt(&m, OP_P_ENDLOOP, 2);
    m.line = 3;
    stmt(&m, OP_P_ENDIF, 0);
    st(&m, sum, op2(&m, OP_ADD, PH_I32, PH_I32, ld(&m, sum), ld(&m, i)));
    stmt(&m, OP_P_STEP, 1);
    st(&m, i, op2(&m, OP_ADD, PH_I32, PH_I32, ld(&m, i), num(&m, PH_I32, 1)));
    stmt(&m, OP_P_ENDLOOP, 1);
    p_if(&m, op2(&m, OP_EQ, PH_I32, PH_BOOL, ld(&m, n), num(&m, PH_I32, 7)));
    stmt(&m, OP_P_RETURN, 0); /* out stays NULL */
    stmt(&m, OP_P_ENDIF, 0);
    stmt(&m, OP_P_ENDBLOCK, 0);
    st(&m, out, ld(&m, sum));
    body_done(&m, "loop(int,int)", 2, 1, (int32_t[]){out});
    Reg key = ld(&m, pa);
    read_row(&m, ACCT, key);
    item(&m, ACCT, G_CNT, OPK_WRITE, key);
    return proc_done(&m, true, 0);
}

/* balance(a): bal, note and cnt; NULLs where there is no account. */
static Proc *make_balance(Arena *a) {
    Make m;
    start(&m, a);
    int32_t pa = var(&m, PH_I32), bal = var(&m, PH_I64), note = var(&m, PH_STR), cnt = var(&m, PH_I32);
    Reg row = find(&m, ACCT, ld(&m, pa));
    st(&m, bal, get(&m, ACCT, A_BAL, PH_I64, row));
    st(&m, note, get(&m, ACCT, A_NOTE, PH_STR, row));
    st(&m, cnt, get(&m, ACCT, A_CNT, PH_I32, row));
    body_done(&m, "balance(int)", 1, 3, (int32_t[]){bal, note, cnt});
    Reg key = ld(&m, pa);
    read_row(&m, ACCT, key);
    item(&m, ACCT, G_BAL, OPK_READ, key);
    item(&m, ACCT, G_CNT, OPK_READ, key);
    item(&m, ACCT, G_NOTE, OPK_READ, key);
    return proc_done(&m, false, 0);
}

/* close(id): deletes a line of history, and puts a new one with the same key half the time. A closed one is 22012
 * afterwards. */
static Proc *make_close(Arena *a) {
    Make m;
    start(&m, a);
    int32_t id = var(&m, PH_I64), again = var(&m, PH_BOOL), div = var(&m, PH_I64), out = var(&m, PH_I64);
    kill(&m, HIST, find(&m, HIST, ld(&m, id)));
    p_if(&m, ld(&m, again));
    insert(&m, HIST, true, N_HIST, (Reg[]){ld(&m, id), 0, num(&m, PH_I64, 5), text(&m, "again")});
    stmt(&m, OP_P_ENDIF, 0);
    st(&m, out, op2(&m, OP_DIV, PH_I64, PH_I64, ld(&m, id), ld(&m, div)));
    body_done(&m, "close(bigint,bool,bigint)", 3, 1, (int32_t[]){out});
    item(&m, HIST, ITEM_ROWS, OPK_WRITE, ld(&m, id));
    return proc_done(&m, true, 1);
}

/* divide(a, x): CASE WHEN x > 100 THEN bal ELSE bal / x END, then NULL into a column that takes none when x is 13. */
static Proc *make_divide(Arena *a) {
    Make m;
    start(&m, a);
    int32_t pa = var(&m, PH_I32), x = var(&m, PH_I64);
    Reg row = find(&m, ACCT, ld(&m, pa)), bal = get(&m, ACCT, A_BAL, PH_I64, row), d = ld(&m, x);
    emit(&m, OP_IF, PH_BOOL, 0, op2(&m, OP_GT, PH_I64, PH_BOOL, d, num(&m, PH_I64, 100)), 0);
    emit(&m, OP_ELSE, PH_I64, 0, bal, 0);
    Reg q = op2(&m, OP_DIV, PH_I64, PH_I64, bal, d), r = reg(&m, PH_I64);
    emit(&m, OP_ENDIF, PH_I64, r, q, 0);
    m.line = 4;
    put(&m, ACCT, A_CNT, PH_I32, row, num(&m, PH_I32, 99));
    Reg thirteen = op2(&m, OP_EQ, PH_I64, PH_BOOL, ld(&m, x), num(&m, PH_I64, 13)), n = reg(&m, PH_I64);
    emit(&m, OP_NULLIF, PH_I64, n, r, thirteen);
    put(&m, ACCT, A_BAL, PH_I64, row, n);
    body_done(&m, "divide(int,bigint)", 2, 0, NULL);
    Reg key = ld(&m, pa);
    read_row(&m, ACCT, key);
    item(&m, ACCT, G_CNT, OPK_WRITE, key);
    item(&m, ACCT, G_BAL, OPK_WRITE, key);
    return proc_done(&m, true, 0);
}

/* pair(a, x): its footprint divides by x: without a footprint it runs alone. */
static Proc *make_pair(Arena *a) {
    Make m;
    start(&m, a);
    int32_t pa = var(&m, PH_I32), x = var(&m, PH_I64), k = var(&m, PH_I64);
    st(&m, k, op2(&m, OP_ADD, PH_I64, PH_I64, to_i64(&m, ld(&m, pa)), ld(&m, x)));
    add(&m, ACCT, A_BAL, PH_I64, find(&m, ACCT, ld(&m, pa)), ld(&m, k));
    body_done(&m, "pair(int,bigint)", 2, 0, NULL);
    Reg key = ld(&m, pa);
    op2(&m, OP_DIV, PH_I64, PH_I64, ld(&m, x), ld(&m, x));
    read_row(&m, ACCT, key);
    item(&m, ACCT, G_BAL, OPK_WRITE, key);
    return proc_done(&m, false, 0);
}

/* many(id, n): n lines of history, id * 1000 + i; how many is told by the footprint. */
static Proc *make_many(Arena *a) {
    Make m;
    start(&m, a);
    int32_t id = var(&m, PH_I64), n = var(&m, PH_I64), i = var(&m, PH_I64);
    st(&m, i, num(&m, PH_I64, 0));
    stmt(&m, OP_P_LOOP, 1);
    p_if(&m, op2(&m, OP_GE, PH_I64, PH_BOOL, ld(&m, i), ld(&m, n)));
    stmt(&m, OP_P_LEAVE, 1);
    stmt(&m, OP_P_ENDIF, 0);
    Reg key =
        op2(&m, OP_ADD, PH_I64, PH_I64, op2(&m, OP_MUL, PH_I64, PH_I64, ld(&m, id), num(&m, PH_I64, 1000)), ld(&m, i));
    insert(&m, HIST, false, N_HIST, (Reg[]){key, num(&m, PH_I32, 1), ld(&m, i), text(&m, "one of many")});
    st(&m, i, op2(&m, OP_ADD, PH_I64, PH_I64, ld(&m, i), num(&m, PH_I64, 1)));
    stmt(&m, OP_P_ENDLOOP, 1);
    body_done(&m, "many(bigint,bigint)", 2, 0, NULL);
    ItemSite *s = arena_new_of(a, ItemSite);
    Reg arg = ld(&m, n);
    *s = (ItemSite){.table = HIST, .kind = OPK_INSERTED, .n = 1, .args = regs(&m, 1, &arg)};
    emit(&m, OP_ITEM, PH_BOOL, 0, 0, 0)->aux = s;
    item(&m, HIST, ITEM_ROWS, OPK_WRITE, 0);
    return proc_done(&m, true, -1);
}

/* ---- a database ----------------------------------------------------------------------------------- */
typedef struct World {
    Catalog catalog;
    Arena *a;
    ImageSet *images;
    Proc *procs[N_PROCS];
} World;
enum { N_ACCOUNTS = 200 };

static void world_new(World *w) {
    static const ColumnDef acct[N_ACCT] = {{.name = "id", .type = {.id = T_INT4}, .not_null = true},
                                           {.name = "bal", .type = {.id = T_INT8}, .not_null = true},
                                           {.name = "cnt", .type = {.id = T_INT4}},
                                           {.name = "note", .type = {.id = T_TEXT}},
                                           {.name = "small", .type = {.id = T_INT2}}};
    static const ColumnDef hist[N_HIST] = {{.name = "id", .type = {.id = T_INT8}, .not_null = true},
                                           {.name = "acct", .type = {.id = T_INT4}},
                                           {.name = "amount", .type = {.id = T_INT8}, .not_null = true},
                                           {.name = "memo", .type = {.id = T_TEXT}, .not_null = true}};
    static const int first[] = {0};
    KeyDef ak = {"acct_pkey", true, 1, first}, hk = {"hist_pkey", true, 1, first};
    memset(w, 0, sizeof *w);
    assert_int_equal(table_new(&root, "acct", N_ACCT, acct, 1, &ak, 0, NULL, &tables[ACCT], &err), ST_OK);
    assert_int_equal(table_new(&root, "hist", N_HIST, hist, 1, &hk, 0, NULL, &tables[HIST], &err), ST_OK);
    tables[ACCT]->id = 11;
    tables[HIST]->id = 12;
    w->catalog.tables = tables;
    w->catalog.n_tables = N_TABLES;
    int32_t id[N_ACCOUNTS], cnt[N_ACCOUNTS];
    int64_t bal[N_ACCOUNTS];
    int16_t small[N_ACCOUNTS];
    Str note[N_ACCOUNTS];
    uint8_t valid[N_ACCOUNTS];
    for (int i = 0; i < N_ACCOUNTS; i++) {
        id[i] = i;
        bal[i] = 1000;
        cnt[i] = 0;
        small[i] = (int16_t)(i % 5);
        note[i] = str_make("first", 5);
        valid[i] = i % 3 != 0;
    }
    for (int i = 0; i < N_ACCOUNTS; i++)
        if (!valid[i]) cnt[i] = 0, note[i] = str_make(NULL, 0);
    Vec v[N_ACCT] = {{.data = id, .phys = PH_I32, .type = type_make(T_INT4)},
                     {.data = bal, .phys = PH_I64, .type = type_make(T_INT8)},
                     {.data = cnt, .valid = valid, .phys = PH_I32, .type = type_make(T_INT4)},
                     {.data = note, .valid = valid, .phys = PH_STR, .type = type_make(T_TEXT)},
                     {.data = small, .phys = PH_I16, .type = type_make(T_INT2)}};
    assert_int_equal(table_append(tables[ACCT], N_ACCOUNTS, v, NULL, NULL, &err), ST_OK);
    w->a = arena_new(&root, &err);
    w->images = images_new(&root, NULL, &err);
    Proc *(*const make[N_PROCS])(Arena *) = {make_transfer, make_deposit, make_record, make_loop,  make_balance,
                                             make_close,    make_divide,  make_pair,   make_small, make_many};
    for (int i = 0; i < N_PROCS; i++) w->procs[i] = make[i](w->a);
}
static void world_free(World *w) {
    images_free(w->images);
    arena_free(w->a);
    for (int t = 0; t < N_TABLES; t++) table_free(tables[t]);
    assert_int_equal(root.used, 0);
}

/* ---- bulks ------------------------------------------------------------------------------------------- */
typedef struct Call {
    int32_t proc;
    int64_t x[4];
    bool null;
} Call;
typedef struct Calls {
    int64_t n;
    Call *c;
} Calls;
typedef struct Built {
    int32_t n_groups;
    CallGroup groups[N_PROCS];
    int32_t group_of[N_PROCS];
    void *mem[256];
    int n_mem;
} Built;

static void *keep(Built *b, int64_t bytes) { return b->mem[b->n_mem++] = calloc((size_t)bytes + 64, 1); }
static void build(const World *w, const Calls *cs, Built *b) {
    memset(b, 0, sizeof *b);
    for (int32_t p = 0; p < N_PROCS; p++) {
        int64_t n = 0;
        for (int64_t i = 0; i < cs->n; i++) n += cs->c[i].proc == p;
        b->group_of[p] = -1;
        if (n == 0) continue;
        const Proc *proc = w->procs[p];
        b->group_of[p] = b->n_groups;
        CallGroup *group = &b->groups[b->n_groups++];
        uint32_t *calls = keep(b, n * 4);
        Vec *params = keep(b, (int64_t)sizeof(Vec) * proc->n_params);
        *group = (CallGroup){.proc = proc, .n = n, .params = params, .calls = calls};
        for (int32_t k = 0; k < proc->n_params; k++) {
            int64_t size = phys_size((Phys)proc->vars[k].phys), j = 0;
            char *data = keep(b, n * size);
            uint8_t *valid = keep(b, n);
            for (int64_t i = 0; i < cs->n; i++) {
                const Call *c = &cs->c[i];
                if (c->proc != p) continue;
                valid[j] = !(c->null && k == proc->n_params - 1);
                static const char *const memos[] = {"", "lunch", "a memo that is longer than sixteen bytes", "x"};
                Str s = str_make(memos[c->x[k] & 3], (int64_t)strlen(memos[c->x[k] & 3]));
                if (proc->vars[k].phys == PH_STR) memcpy(data + j * size, &s, sizeof s);
                else memcpy(data + j * size, &c->x[k], (size_t)size);
                if (!valid[j]) memset(data + j * size, 0, (size_t)size);
                calls[j++] = (uint32_t)i;
            }
            params[k] = (Vec){.data = data, .valid = valid, .phys = proc->vars[k].phys, .type = proc->vars[k].type};
        }
    }
    if (b->n_groups == 1) b->groups[0].calls = NULL;
}
static void built_free(Built *b) {
    for (int i = 0; i < b->n_mem; i++) free(b->mem[i]);
}

typedef struct Config {
    Strategy strategy;
    int64_t vector_size;
    int workers;
    int64_t cut;
    bool any;
    const char *device;
    bool copies;
} Config; /* device: kernels run there; NULL: the virtual machine */
/* All that can be seen afterwards, as text. */
typedef struct Seen {
    char *text;
    size_t len;
    FILE *f;
    int64_t failed, on_device;
    int32_t order[N_PROCS];
    BulkStats stats;
} Seen;

static void see_value(FILE *f, const Vec *v, int64_t i) {
    if (!v->valid[i]) fputs("NULL", f);
    else if (v->phys == PH_STR) fprintf(f, "'%.*s'", (int)((const Str *)v->data)[i].len, ((const Str *)v->data)[i].ptr);
    else if (v->phys == PH_I32) fprintf(f, "%d", ((const int32_t *)v->data)[i]);
    else if (v->phys == PH_I16) fprintf(f, "%d", ((const int16_t *)v->data)[i]);
    else if (v->phys == PH_BOOL) fprintf(f, "%d", ((const uint8_t *)v->data)[i]);
    else fprintf(f, "%lld", (long long)((const int64_t *)v->data)[i]);
}
static void see_results(Seen *s, const Calls *cs, const Built *b, const BulkResult *r) {
    int64_t at[N_PROCS] = {0};
    for (int64_t i = 0; i < cs->n; i++) {
        int32_t p = b->group_of[cs->c[i].proc];
        int64_t k = at[p]++;
        const CallError *e = r->errors[p][k];
        fprintf(s->f, "%d:", cs->c[i].proc);
        if (e)
            fprintf(s->f, " %s %s|%s|%s|%d", e->sqlstate, e->message, e->detail ? e->detail : "",
                    e->hint ? e->hint : "", (int)e->line);
        for (int32_t o = 0; o < b->groups[p].proc->n_outs; o++) {
            fputc(' ', s->f);
            see_value(s->f, &r->outs[p][o], k);
        }
        fputc('\n', s->f);
        s->failed += e != NULL;
    }
}
static void see_table(Seen *s, const Table *t) {
    for (int64_t k = 0; k < t->n_tablets; k++) {
        const Tablet *tab = t->tablets[k];
        for (int64_t i = 0; i < tab->rows; i++) {
            int32_t pos;
            bool all, nulls;
            if (tablet_live_rows(tab, i, 1, &pos, &all) == 0) continue;
            for (int c = 0; c < t->n_cols; c++) {
                int64_t cell[2] = {0};
                uint8_t valid = 1;
                Phys p = type_phys(t->cols[c].type);
                tablet_decode(t, tab, c, i, NULL, 1, (uint8_t)p, cell, &valid, &nulls);
                Vec v = {.data = cell, .valid = &valid, .phys = (uint8_t)p};
                see_value(s->f, &v, 0);
                fputc(c + 1 < t->n_cols ? ',' : '\n', s->f);
            }
        }
    }
}

/* Kernels on a device; false when there is none of that name. */
typedef struct Host {
    Devices *devices;
    Device *device;
    CodeCache *cache;
    DevRuntime *runtime;
} Host;
static bool host_new(Host *h, const char *device, Pool *pool, QueryOptions *q) {
    *h = (Host){0};
    if (devices_open(pool, &devices_account, &h->devices, &err) != ST_OK) fail_msg("%s", err.message);
    if (devices_get(h->devices, device, &h->device, &err) != ST_OK) {
        err_clear(&err);
        devices_close(h->devices);
        return false;
    }
    if (code_cache_new(NULL, -1, &h->cache, &err) != ST_OK ||
        dev_runtime_new(h->device, h->cache, &devices_account, &h->runtime, &err) != ST_OK)
        fail_msg("%s", err.message);
    q->device = (DeviceUse){.runtime = h->runtime, .wait = true};
    return true;
}
static void host_free(Host *h) {
    dev_runtime_free(h->runtime);
    code_cache_drop_device(h->cache, h->device);
    code_cache_free(h->cache);
    devices_close(h->devices);
}

/* Devices stay open from run to run: opening one again would build its kernels again, which takes most of the time on
 * OpenCL. */
typedef struct Kept {
    const char *device;
    int workers;
    Pool *pool;
    Host h;
} Kept;
static Kept kept[8];
static Kept *host_kept(const char *device, int workers) {
    Kept *k = kept;
    while (k->device && (strcmp(k->device, device) != 0 || k->workers != workers)) k++;
    if (k->device) return k;
    QueryOptions q = {0};
    *k = (Kept){.workers = workers, .pool = pool_new(workers, &err)};
    if (!host_new(&k->h, device, k->pool, &q)) {
        pool_free(k->pool);
        return NULL;
    }
    k->device = device;
    return k;
}
static void hosts_free(void) {
    for (Kept *k = kept; k->device; k++) {
        host_free(&k->h);
        pool_free(k->pool);
    }
    assert_int_equal(devices_account.used, 0);
}

static void run_calls(const Config *cf, const Calls *all, Seen *s) {
    World w;
    world_new(&w);
    memset(s, 0, sizeof *s);
    s->f = open_memstream(&s->text, &s->len);
    Pool *pool = pool_new(cf->workers, &err);
    QueryOptions q = {.pool = pool, .threads = cf->workers, .vector_size = cf->vector_size, .account = &root};
    BulkOptions opt = {.query = &q,
                       .strategy = cf->strategy,
                       .any_order = cf->any,
                       .compiled = cf->device != NULL,
                       .copies = cf->copies,
                       .figures = cf->copies,
                       .group_bits = (int32_t)((cf->cut + cf->copies) % 4),
                       .step_limit = 500};
    Kept *host = cf->device ? host_kept(cf->device, cf->workers) : NULL;
    if (cf->device && !host) fail_msg("no device %s", cf->device);
    if (host) q.device = (DeviceUse){.runtime = host->h.runtime, .wait = true};
    for (int64_t from = 0; from < all->n; from += cf->cut) {
        Calls cs = {MIN_OF(cf->cut, all->n - from), all->c + from};
        Built b;
        build(&w, &cs, &b);
        const Proc *procs[N_PROCS];
        for (int32_t i = 0; i < b.n_groups; i++) procs[i] = b.groups[i].proc;
        if (images_get(w.images, &w.catalog, b.n_groups, procs, pool, &err) != ST_OK) fail_msg("%s", err.message);
        BulkResult *r = NULL;
        if (bulk_run(w.images, b.n_groups, b.groups, &opt, &r, &err) != ST_OK) fail_msg("%s", err.message);
        see_results(s, &cs, &b, r);
        s->stats = r->stats;
        assert_int_equal(r->group_order != NULL, cf->any);
        for (int32_t i = 0; cf->any && i < b.n_groups; i++)
            for (int32_t k = 0; k < N_PROCS; k++)
                if (w.procs[k] == procs[r->group_order[i]]) s->order[i] = k;
        if (cf->device && cs.n > 1 && strcmp(r->stats.executor, "compiled") != 0 &&
            !((cf->copies || strncmp(cf->device, "cuda", 4) == 0) && strstr(r->stats.reason, "strings")))
            fail_msg("not compiled: %s", r->stats.reason);
        s->on_device += strcmp(r->stats.executor, "compiled") == 0 && !r->stats.reason;
        s->stats.executor = s->stats.device = s->stats.reason = NULL;
        bulk_result_free(r);
        built_free(&b);
        for (int t = 0; t < N_TABLES; t++)
            if (image_verify(images_find(w.images, tables[t]->id), false, &err) != ST_OK) fail_msg("%s", err.message);
    }
    assert_int_equal(images_sync(w.images, NULL, &err), ST_OK);
    fputs("tables\n", s->f);
    for (int t = 0; t < N_TABLES; t++) {
        if (image_verify(images_find(w.images, tables[t]->id), true, &err) != ST_OK) fail_msg("%s", err.message);
        see_table(s, tables[t]);
    }
    fclose(s->f);
    pool_free(pool);
    world_free(&w);
}

static int32_t hot(void) { return (int32_t)(rnd() % 4 ? rnd() % 8 : rnd() % (N_ACCOUNTS + 10)); }
static Calls random_calls(int64_t n, uint32_t procs) {
    Calls cs = {n, calloc((size_t)n, sizeof(Call))};
    for (int64_t i = 0; i < n; i++) {
        Call *c = &cs.c[i];
        do c->proc = (int32_t)(rnd() % N_PROCS);
        while (!(procs >> c->proc & 1));
        switch (c->proc) {
        case P_TRANSFER: c->x[0] = hot(), c->x[1] = hot(), c->x[2] = (int64_t)(rnd() % 600); break;
        case P_DEPOSIT: c->x[0] = hot(), c->x[1] = (int64_t)(rnd() % 100) - 20; break;
        case P_RECORD:
            c->x[0] = (int64_t)(rnd() % (uint64_t)(n / 2 + 1)), c->x[1] = hot(), c->x[2] = (int64_t)(rnd() % 50),
            c->x[3] = (int64_t)rnd(), c->null = rnd() % 10 == 0;
            break;
        case P_LOOP:
            c->x[0] = hot(), c->x[1] = (int64_t)(rnd() % 60), c->x[1] = rnd() % 20 ? c->x[1] : rnd() % 2 ? -1 : 600;
            break;
        case P_BALANCE: c->x[0] = hot(), c->null = rnd() % 20 == 0; break;
        case P_CLOSE:
            c->x[0] = (int64_t)(rnd() % (uint64_t)(n / 2 + 1)), c->x[1] = rnd() % 2, c->x[2] = (int64_t)(rnd() % 4);
            break;
        case P_DIVIDE: c->x[0] = hot(), c->x[1] = rnd() % 5 ? (int64_t)(rnd() % 4) : rnd() % 2 ? 13 : 200; break;
        case P_PAIR: c->x[0] = hot(), c->x[1] = (int64_t)(rnd() % 40); break;
        case P_SMALL: c->x[0] = hot(), c->x[1] = (int64_t)(rnd() % 2000) - 500, c->null = rnd() % 30 == 0; break;
        default: c->x[0] = 1000 + (int64_t)(rnd() % 20), c->x[1] = (int64_t)(rnd() % 7);
        }
    }
    return cs;
}

static void same_text(const char *want, const char *got, const char *what) {
    if (strcmp(want, got) == 0) return;
    const char *x = want, *y = got;
    int line = 1;
    while (*x == *y) {
        if (*x == '\n') line++;
        x++, y++;
    }
    while (x > want && x[-1] != '\n') x--, y--;
    fail_msg("%s: line %d: %.*s instead of %.*s", what, line, (int)strcspn(y, "\n"), y, (int)strcspn(x, "\n"), x);
}
static void same_as(const Calls *cs, const Seen *want, const Config *cf) {
    Seen got;
    run_calls(cf, cs, &got);
    char what[200];
    snprintf(what, sizeof what, "%s%s, strategy %d, vectors of %d, %d workers, cut %d", cf->device ? cf->device : "vm",
             cf->copies ? " with copies" : "", (int)cf->strategy, (int)cf->vector_size, cf->workers, (int)cf->cut);
    same_text(want->text, got.text, what);
    free(got.text);
}
/* Devices with copies rank bulks themselves, and find the same figures when they are asked. */
static void same_figures(const Calls *cs, int64_t cut, bool any) {
    Seen host, device;
    run_calls(&(Config){STRATEGY_KSET, 64, 1, cut, any, NULL, false}, cs, &host);
    run_calls(&(Config){STRATEGY_TPL, 64, 1, cut, any, "host", true}, cs, &device);
    assert_int_equal(device.stats.depth, host.stats.depth);
    assert_int_equal(device.stats.width0, host.stats.width0);
    assert_int_equal(device.stats.crossing, host.stats.crossing);
    free(host.text);
    free(device.text);
}
static void compare(const Calls *cs, int64_t cut, bool any) {
    same_figures(cs, cut, any);
    Config ref = {STRATEGY_SERIAL, 1024, 1, any ? cut : cs->n, any, NULL, false};
    Seen want;
    run_calls(&ref, cs, &want);
    static const Strategy strategies[] = {STRATEGY_SERIAL, STRATEGY_KSET, STRATEGY_PART, STRATEGY_TPL, STRATEGY_AUTO};
    static const int64_t sizes[] = {1, 3, 64, 1024};
    for (int64_t s = 0; s < ARRAY_LEN(strategies); s++)
        for (int64_t v = 0; v < ARRAY_LEN(sizes); v++)
            for (int workers = 1; workers <= 4; workers += 3)
                same_as(cs, &want, &(Config){strategies[s], sizes[v], workers, cut, any, NULL, false});
    static const char *const devices[] = {"host", "opencl:0", "cuda:0"};
    static const Strategy by_kernels[] = {STRATEGY_AUTO, STRATEGY_KSET, STRATEGY_PART, STRATEGY_TPL, STRATEGY_SERIAL};
    static int there[] = {1, -1, -1};
    for (int i = 0; i < (int)ARRAY_LEN(devices); i++) {
        if (there[i] < 0) there[i] = host_kept(devices[i], 1) != NULL;
        for (int copies = 0; there[i] && copies < 2; copies++)
            for (int k = 0; k < (int)ARRAY_LEN(by_kernels); k++)
                for (int workers = 1; workers <= (i == 0 ? 4 : 1); workers += 3)
                    same_as(cs, &want, &(Config){by_kernels[k], 64, workers, cut, any, devices[i], copies});
    }
    free(want.text);
}

static void test_transfer(void **state) {
    (void)state;
    Calls cs = random_calls(600, 1u << P_TRANSFER);
    Seen s;
    Config cf = {STRATEGY_KSET, 64, 1, 600, false, NULL, false};
    run_calls(&cf, &cs, &s);
    assert_in_range(s.failed, 20, 500);
    assert_int_equal(s.stats.n_failed, s.failed);
    assert_int_equal(s.stats.n_ops, 2 * 600); /* that the rows are there is only read, and not noted */
    assert_in_range(s.stats.depth, 20, 600);
    assert_non_null(strstr(s.text, "0: P0002 no such % account here||Try less.|3 NULL\n"));
    assert_non_null(strstr(s.text, "0: P0001 too little||Try less.|4 NULL\n"));
    int64_t sum = 0;
    const char *p = strstr(s.text, "\n0,") + 1; /* account 0 comes first in its table */
    for (int i = 0; i < N_ACCOUNTS; i++) {
        sum += atoll(strchr(p, ',') + 1);
        p = strchr(p, '\n') + 1;
    }
    assert_int_equal(sum, 1000 * N_ACCOUNTS);
    free(s.text);
    compare(&cs, 600, false);
    free(cs.c);
}

static void each(uint32_t procs, int64_t n, int64_t cut) {
    Calls cs = random_calls(n, procs);
    compare(&cs, cut, false);
    free(cs.c);
}
static void test_adds(void **state) {
    (void)state;
    each(1u << P_DEPOSIT, 2000, 2000);
    each(1u << P_DEPOSIT | 1u << P_BALANCE, 1500, 700);
}
static void test_small(void **state) { /* sums that leave the range */
    (void)state;
    each(1u << P_SMALL, 1200, 400);
}
static void test_inserts(void **state) {
    (void)state;
    each(1u << P_RECORD, 1200, 1200);
    each(1u << P_CLOSE | 1u << P_RECORD, 1500, 500);
    each(1u << P_MANY, 300, 300);
}
static void test_loops(void **state) {
    (void)state;
    each(1u << P_LOOP, 1000, 1000);
}
static void test_divide(void **state) {
    (void)state;
    each(1u << P_DIVIDE, 1500, 1500);
}
static void test_no_footprint(void **state) {
    (void)state;
    each(1u << P_PAIR | 1u << P_DEPOSIT, 800, 800);
}
static void test_all(void **state) {
    (void)state;
    each((1u << N_PROCS) - 1, 1500, 1500);
    each((1u << N_PROCS) - 1, 1500, 311);
}

/* bulk_order = any: as if the calls had come procedure by procedure, in the order that the result names, those that
 * only read first. */
static void test_any_order(void **state) {
    (void)state;
    Calls cs = random_calls(800, (1u << N_PROCS) - 1), sorted = {0, calloc(800, sizeof(Call))};
    compare(&cs, 800, true);
    Seen any, want;
    run_calls(&(Config){STRATEGY_KSET, 64, 1, 800, true, NULL, false}, &cs, &any);
    assert_int_equal(any.order[0], P_BALANCE);
    for (int32_t k = 0; k < N_PROCS; k++)
        for (int64_t i = 0; i < cs.n; i++)
            if (cs.c[i].proc == any.order[k]) sorted.c[sorted.n++] = cs.c[i];
    run_calls(&(Config){STRATEGY_SERIAL, 64, 1, 800, false, NULL, false}, &sorted, &want);
    assert_int_equal(sorted.n, cs.n);
    assert_string_equal(strstr(any.text, "tables\n"), strstr(want.text, "tables\n"));
    assert_int_equal(any.failed, want.failed);
    free(any.text);
    free(want.text);
    free(sorted.c);
    free(cs.c);
}

/* All items have one name, all keys one hash. */
static void test_one_hash(void **state) {
    (void)state;
    hash_constant = true;
    each((1u << N_PROCS) - 1, 150, 150);
    hash_constant = false;
}

typedef struct Cancel {
    long after_ms;
    _Atomic bool flag;
} Cancel;
static void *cancel_soon(void *p) {
    Cancel *c = p;
    struct timespec t = {.tv_sec = c->after_ms / 1000, .tv_nsec = c->after_ms % 1000 * 1000000};
    nanosleep(&t, NULL);
    atomic_store(&c->flag, true);
    return NULL;
}
/* Calls that never end are stopped, and leave nothing. */
static void cancel_on(const char *device, bool copies, Strategy strategy) {
    World w;
    world_new(&w);
    Pool *pool = pool_new(2, &err);
    Cancel cancel = {20, false};
    QueryOptions q = {.pool = pool, .threads = 2, .vector_size = 4, .account = &root, .cancel = &cancel.flag};
    BulkOptions opt = {.query = &q, .strategy = strategy, .compiled = device != NULL, .copies = copies};
    Host h;
    if (device) assert_true(host_new(&h, device, pool, &q));
    Calls cs = {600, calloc(600, sizeof(Call))};
    for (int i = 0; i < 600; i++) cs.c[i] = (Call){.proc = P_LOOP, .x = {i % N_ACCOUNTS, i == 100 ? 55 : 3}};
    Built b;
    build(&w, &cs, &b);
    const Proc *p = w.procs[P_LOOP];
    assert_int_equal(images_get(w.images, &w.catalog, 1, &p, pool, &err), ST_OK);
    BulkResult *r = NULL;
    for (; !r; cancel.after_ms *= 4) {
        pthread_t thread;
        atomic_store(&cancel.flag, false);
        pthread_create(&thread, NULL, cancel_soon, &cancel);
        Status st = bulk_run(w.images, 1, b.groups, &opt, &r, &err);
        pthread_join(thread, NULL);
        if (st == ST_OK) continue;
        assert_string_equal(err.sqlstate, "57014"); /* on a busy machine: before the calls began */
        assert_in_range(cancel.after_ms, 20, 400000);
        err_clear(&err);
    }
    assert_int_equal(r->stats.n_failed >= 1, 1);
    for (int i = 0; i < 600; i++) {
        const CallError *e = r->errors[0][i];
        if (e) assert_string_equal(e->sqlstate, "57014");
        else assert_int_equal(((const int32_t *)r->outs[0][0].data)[i], 3);
    }
    assert_non_null(r->errors[0][100]);
    assert_string_equal(r->stats.executor, device ? "compiled" : "vm");
    bulk_result_free(r);
    for (int t = 0; t < N_TABLES; t++)
        assert_int_equal(image_verify(images_find(w.images, tables[t]->id), false, &err), ST_OK);
    built_free(&b);
    free(cs.c);
    images_free(w.images);
    w.images = NULL;
    if (device) host_free(&h);
    pool_free(pool);
    world_free(&w);
}
static void test_cancel(void **state) {
    (void)state;
    static const Strategy strategies[] = {STRATEGY_KSET, STRATEGY_PART, STRATEGY_SERIAL};
    for (int i = 0; i < (int)ARRAY_LEN(strategies); i++) {
        cancel_on(NULL, false, strategies[i]);
        cancel_on("host", false, strategies[i]);
        cancel_on("host", true, strategies[i]);
    }
}

/* Results from a device with memory of its own outlive the images; several are there at a time; failures are more than
 * were expected. */
static void test_results_stay(void **state) {
    (void)state;
    enum { CUT = 1500, BULKS = 3 };
    Calls cs = random_calls(CUT * BULKS, 1u << P_RECORD | 1u << P_BALANCE | 1u << P_DIVIDE);
    for (int64_t i = 0; i < cs.n; i++)
        if (cs.c[i].proc == P_RECORD) cs.c[i].x[0] %= 100;
    Seen want, got = {0};
    World w;
    Built b[BULKS];
    BulkResult *r[BULKS];
    run_calls(&(Config){STRATEGY_AUTO, 64, 1, CUT, false, NULL, false}, &cs, &want);
    world_new(&w);
    Pool *pool = pool_new(2, &err);
    QueryOptions q = {.pool = pool,
                      .threads = 2,
                      .vector_size = 64,
                      .account = &root,
                      .device = {.runtime = host_kept("host", 1)->h.runtime, .wait = true}};
    BulkOptions opt = {.query = &q, .strategy = STRATEGY_TPL, .compiled = true, .copies = true, .step_limit = 500};
    for (int i = 0; i < BULKS; i++) {
        Calls some = {CUT, cs.c + i * CUT};
        const Proc *procs[N_PROCS];
        build(&w, &some, &b[i]);
        for (int32_t k = 0; k < b[i].n_groups; k++) procs[k] = b[i].groups[k].proc;
        assert_int_equal(images_get(w.images, &w.catalog, b[i].n_groups, procs, pool, &err), ST_OK);
        if (bulk_run(w.images, b[i].n_groups, b[i].groups, &opt, &r[i], &err) != ST_OK) fail_msg("%s", err.message);
        assert_string_equal(r[i]->stats.executor, "compiled");
        assert_null(r[i]->stats.reason);
        assert_true(r[i]->stats.n_failed > 256);
        assert_true(r[i]->stats.phase_ns[BP_RUN] > 0);
    }
    images_free(w.images);
    w.images = NULL;
    got.f = open_memstream(&got.text, &got.len);
    for (int i = 0; i < BULKS; i++) {
        Calls some = {CUT, cs.c + i * CUT};
        see_results(&got, &some, &b[i], r[i]);
        bulk_result_free(r[i]);
        built_free(&b[i]);
    }
    fclose(got.f);
    *strstr(want.text, "tables\n") = 0;
    same_text(want.text, got.text, "results that stay");
    free(want.text);
    free(got.text);
    free(cs.c);
    pool_free(pool);
    world_free(&w);
}

/* A world of its own on a device with copies whose operations fail as planned. */
typedef struct Faulty {
    World w;
    Pool *pool;
    Host *h;
    FaultPlan plan;
    Device *device;
    DevRuntime *runtime;
    QueryOptions q;
} Faulty;
static void faulty_new(Faulty *x, int64_t fail_at, bool sticky) {
    *x = (Faulty){
        .pool = pool_new(1, &err), .h = &host_kept("host", 1)->h, .plan = {.fail_at = fail_at, .sticky = sticky}};
    world_new(&x->w);
    assert_int_equal(device_fault_new(x->h->device, &x->plan, &x->device, &err), ST_OK);
    assert_int_equal(dev_runtime_new(x->device, x->h->cache, &root, &x->runtime, &err), ST_OK);
    x->q = (QueryOptions){.pool = x->pool,
                          .threads = 1,
                          .vector_size = 16,
                          .account = &root,
                          .device = {.runtime = x->runtime, .wait = true}};
}
static BulkOptions faulty_options(Faulty *x, Strategy strategy) {
    return (BulkOptions){.query = &x->q, .strategy = strategy, .compiled = true, .copies = true, .step_limit = 500};
}
static Status faulty_run(Faulty *x, const Built *b, const BulkOptions *opt, BulkResult **r) {
    const Proc *procs[N_PROCS];
    for (int32_t i = 0; i < b->n_groups; i++) procs[i] = b->groups[i].proc;
    assert_int_equal(images_get(x->w.images, &x->w.catalog, b->n_groups, procs, x->pool, &err), ST_OK);
    return bulk_run(x->w.images, b->n_groups, b->groups, opt, r, &err);
}
/* What the bulks have left; nothing fails any more. */
static void faulty_tables(Faulty *x, Seen *got) {
    code_cache_drain(x->h->cache); /* what is compiled beside the bulk asks the plan as well */
    x->plan.fail_at = 0;
    if (images_sync(x->w.images, NULL, &err) != ST_OK) fail_msg("%s", err.message);
    fputs("tables\n", got->f);
    for (int t = 0; t < N_TABLES; t++) see_table(got, tables[t]);
}
/* How many operations there were. */
static int64_t faulty_free(Faulty *x) {
    int64_t calls = atomic_load(&x->plan.calls);
    images_free(x->w.images);
    x->w.images = NULL;
    dev_runtime_free(x->runtime);
    code_cache_drop_device(x->h->cache, x->device);
    x->device->ops->close(x->device);
    pool_free(x->pool);
    world_free(&x->w);
    return calls;
}
static void same_faulty(const Seen *want, const Seen *got, int64_t fail_at) {
    char what[80];
    snprintf(what, sizeof what, "fault %d", (int)fail_at);
    same_text(want->text, got->text, what);
}

/* A device with copies that fails, wherever: the machine does what it did not, or the error is told and the images are
 * as before the bulk. */
static void device_faults(Strategy strategy) {
    Calls cs = random_calls(300, 1u << P_TRANSFER | 1u << P_DEPOSIT | 1u << P_DIVIDE | 1u << P_LOOP);
    Seen want;
    run_calls(&(Config){STRATEGY_SERIAL, 64, 1, 300, false, NULL, false}, &cs, &want);
    int64_t errors = 0, alone = 0;
    for (int64_t fail_at = 1, calls = 1; calls >= fail_at - 1 && fail_at < 400;
         fail_at++) { /* until a run has no operation of that number */
        Faulty x;
        faulty_new(&x, fail_at, fail_at % 2);
        const BulkOptions opt = faulty_options(&x, strategy);
        Built b;
        build(&x.w, &cs, &b);
        BulkResult *r = NULL;
        Seen got = {0};
        got.f = open_memstream(&got.text, &got.len);
        if (faulty_run(&x, &b, &opt, &r) == ST_OK) {
            see_results(&got, &cs, &b, r);
            alone += r->stats.reason != NULL;
            bulk_result_free(r);
            faulty_tables(&x, &got);
        } else {
            errors++;
            err_clear(&err);
        }
        fclose(got.f);
        if (r) same_faulty(&want, &got, fail_at);
        free(got.text);
        built_free(&b);
        calls = faulty_free(&x);
    }
    assert_in_range(alone, 5, 400);
    assert_int_equal(errors, 0); /* there were no changes of earlier bulks to be lost */
    free(want.text);
    free(cs.c);
}
static void test_device_faults(void **state) {
    (void)state;
    device_faults(STRATEGY_AUTO);
    device_faults(STRATEGY_KSET);
    device_faults(STRATEGY_PART);
    device_faults(STRATEGY_SERIAL);
}

/* Two bulks, the second one's arguments sent ahead, on a device that fails once: what fails on their way there is
 * nobody's error. */
static bool give_second(void *ctx, int32_t *n_groups, const CallGroup **groups) {
    const Built *b = ctx;
    *n_groups = b->n_groups;
    *groups = b->groups;
    return true;
}
static void test_faults_ahead(void **state) {
    (void)state;
    enum { BULKS = 2, CUT = 150 };
    Calls cs = random_calls(BULKS * CUT, 1u << P_TRANSFER | 1u << P_DEPOSIT | 1u << P_DIVIDE | 1u << P_LOOP);
    Seen want;
    run_calls(&(Config){STRATEGY_SERIAL, 64, 1, CUT, false, NULL, false}, &cs, &want);
    int64_t spared = 0, ahead = 0, feet = 0;
    for (int64_t fail_at = 1, calls = 1; calls >= fail_at - 1 && fail_at < 600;
         fail_at++) { /* until a run has no operation of that number */
        Faulty x;
        faulty_new(&x, fail_at, false);
        Built b[BULKS];
        BulkPipeline pipelines[BULKS] = {{.next = give_second, .ctx = &b[1]}, {0}};
        Seen got = {0};
        got.f = open_memstream(&got.text, &got.len);
        bool ran = true, compiled = true;
        for (int i = 0; i < BULKS; i++) build(&x.w, &(Calls){CUT, cs.c + i * CUT}, &b[i]);
        for (int i = 0; i < BULKS && ran; i++) {
            Calls some = {CUT, cs.c + i * CUT};
            BulkResult *r = NULL;
            BulkOptions opt = faulty_options(&x, STRATEGY_AUTO);
            opt.pipeline = &pipelines[i];
            pipelines[1].ticket = pipelines[0].next_ticket;
            ran = faulty_run(&x, &b[i], &opt, &r) == ST_OK; /* else what the first one had left there is lost */
            if (!ran) err_clear(&err);
            else see_results(&got, &some, &b[i], r);
            compiled &= ran && !r->stats.reason;
            ahead += ran && r->stats.prefetched;
            feet += ran && r->stats.foot_prefetched;
            if (ran) bulk_result_free(r);
        }
        if (ran) faulty_tables(&x, &got);
        fclose(got.f);
        if (ran) same_faulty(&want, &got, fail_at);
        free(got.text);
        for (int i = 0; i < BULKS; i++) built_free(&b[i]);
        calls = faulty_free(&x);
        spared += compiled && calls >= fail_at;
    }
    print_message("%lld bulks had their arguments sent ahead, %lld their footprints made, %lld faults cost no device\n",
                  (long long)ahead, (long long)feet, (long long)spared);
    assert_true(ahead > 20);
    assert_true(feet > 20);
    assert_true(spared > 3); /* the queue, memory, copies */
    free(want.text);
    free(cs.c);
}

/* partner(a, amount): adds to the balance of the account that `small` of a names, and tells it. Its footprint has to
 * look that up. */
static Reg partner_of(Make *m, int32_t pa) {
    Reg r = reg(m, PH_I32);
    emit(m, OP_CVT, PH_I16, r, get(m, ACCT, A_SMALL, PH_I16, find(m, ACCT, ld(m, pa))), 0);
    return r;
}
static Proc *make_partner(Arena *a) {
    Make m;
    start(&m, a);
    int32_t pa = var(&m, PH_I32), am = var(&m, PH_I64), out = var(&m, PH_I64);
    Reg row = find(&m, ACCT, partner_of(&m, pa));
    put(&m, ACCT, A_BAL, PH_I64, row, op2(&m, OP_ADD, PH_I64, PH_I64, get(&m, ACCT, A_BAL, PH_I64, row), ld(&m, am)));
    st(&m, out, get(&m, ACCT, A_BAL, PH_I64, row));
    body_done(&m, "partner(int,bigint)", 2, 1, (int32_t[]){out});
    read_row(&m, ACCT, ld(&m, pa));
    Reg key = partner_of(&m, pa);
    read_row(&m, ACCT, key);
    item(&m, ACCT, G_BAL, OPK_WRITE, key);
    return proc_done(&m, false, 0);
}
/* Accounts that there were not, of one partner. */
static void append_accounts(int32_t n) {
    for (int32_t i = 0; i < n; i++) {
        int32_t id = N_ACCOUNTS + i, cnt = 0;
        int64_t bal = 1000;
        int16_t small = 7;
        Str note = str_make("late", 4);
        Vec v[N_ACCT] = {{.data = &id, .phys = PH_I32, .type = type_make(T_INT4)},
                         {.data = &bal, .phys = PH_I64, .type = type_make(T_INT8)},
                         {.data = &cnt, .phys = PH_I32, .type = type_make(T_INT4)},
                         {.data = &note, .phys = PH_STR, .type = type_make(T_TEXT)},
                         {.data = &small, .phys = PH_I16, .type = type_make(T_INT2)}};
        assert_int_equal(table_append(tables[ACCT], 1, v, NULL, NULL, &err), ST_OK);
    }
}
/* All have another partner, and images keep up with that: they stay where they are. */
static void change_partners(ImageSet *images) {
    static const int set[] = {A_SMALL};
    int16_t small = 7;
    Vec v = {.data = &small, .phys = PH_I16, .type = type_make(T_INT2)};
    Arena *a = arena_new(&root, &err);
    UndoLog *undo = undo_new(&root, &err);
    NetChange *net;
    int64_t n;
    for (int32_t i = 0; i < N_ACCOUNTS; i++) {
        const Value id = {.type = type_make(T_INT4), .u.i32 = i};
        const int64_t rowid = table_lookup(tables[ACCT], 0, &id);
        assert_int_equal(table_update(tables[ACCT], 1, &rowid, 1, set, &v, undo, &err), ST_OK);
    }
    const Image *im = images_find(images, tables[ACCT]->id);
    assert_int_equal(undo_net(undo, a, &n, &net), ST_OK);
    images_follow(images, n, net);
    assert_ptr_equal(images_find(images, tables[ACCT]->id), im);
    assert_int_equal(image_verify(im, true, &err), ST_OK);
    undo_forget(undo);
    undo_free(undo);
    arena_free(a);
}
enum { LATE = 10, LATE_CUT = 150 };
typedef enum Change { UNCHANGED, APPENDED, FOLLOWED, CHANGES } Change;
/* Two bulks of partner(), here as P_DEPOSIT; in between others change the table. On a device with copies the second one
 * is sent ahead. Tells the second one's figures. */
static BulkStats run_partners(const Calls *cs, bool compiled, Change change, Seen *got) {
    Faulty x;
    Built b[2];
    BulkPipeline pipelines[2] = {{.next = give_second, .ctx = &b[1]}, {0}};
    BulkStats second = {0};
    faulty_new(&x, 0, false);
    x.w.procs[P_DEPOSIT] = make_partner(x.w.a);
    BulkOptions opt = faulty_options(&x, compiled ? STRATEGY_KSET : STRATEGY_SERIAL);
    opt.compiled = opt.copies = compiled;
    *got = (Seen){0};
    got->f = open_memstream(&got->text, &got->len);
    for (int i = 0; i < 2; i++) build(&x.w, &(Calls){LATE_CUT, cs->c + i * LATE_CUT}, &b[i]);
    for (int i = 0; i < 2; i++) {
        BulkResult *r = NULL;
        pipelines[1].ticket = pipelines[0].next_ticket;
        opt.pipeline = &pipelines[i];
        if (faulty_run(&x, &b[i], &opt, &r) != ST_OK) fail_msg("%s", err.message);
        see_results(got, &(Calls){LATE_CUT, cs->c + i * LATE_CUT}, &b[i], r);
        second = r->stats;
        bulk_result_free(r);
        if (i > 0 || change == UNCHANGED) continue;
        assert_int_equal(images_sync(x.w.images, NULL, &err), ST_OK);
        if (change == APPENDED) append_accounts(LATE);
        else change_partners(x.w.images);
    }
    faulty_tables(&x, got);
    fclose(got->f);
    for (int i = 0; i < 2; i++) built_free(&b[i]);
    faulty_free(&x);
    return second;
}
/* Footprints that were made ahead are of no use where the tables that they looked at were changed since. */
static void test_changed_ahead(void **state) {
    (void)state;
    Calls cs = {2 * LATE_CUT, calloc(2 * LATE_CUT, sizeof(Call))};
    for (int64_t i = 0; i < cs.n; i++)
        cs.c[i] = (Call){.proc = P_DEPOSIT, .x = {(int64_t)(rnd() % N_ACCOUNTS), (int64_t)(rnd() % 100)}};
    for (int64_t i = 0; i < cs.n; i += 2) cs.c[i].x[0] = N_ACCOUNTS + (int64_t)(rnd() % LATE);
    for (Change change = UNCHANGED; change < CHANGES; change++) {
        static const char *const names[CHANGES] = {"as it was", "rows appended in between", "rows changed in between"};
        Seen want, got;
        run_partners(&cs, false, change, &want);
        const BulkStats second = run_partners(&cs, true, change, &got);
        same_text(want.text, got.text, names[change]);
        assert_true(second.prefetched);
        assert_int_equal(second.foot_prefetched, change == UNCHANGED);
        free(want.text);
        free(got.text);
    }
    free(cs.c);
}

static Seen one(Call c) {
    Calls cs = {1, &c};
    Config cf = {STRATEGY_AUTO, 1024, 1, 1, false, NULL, false};
    Seen s;
    run_calls(&cf, &cs, &s);
    return s;
}
static void starts_with(Call c, const char *want) {
    Seen s = one(c);
    if (strncmp(s.text, want, strlen(want)) != 0)
        fail_msg("%.*s instead of %s", (int)strcspn(s.text, "\n"), s.text, want);
    free(s.text);
}
static void test_known(void **state) {
    (void)state;
    starts_with((Call){.proc = P_TRANSFER, .x = {1, 2, 300}},
                "0: 700\ntables\n0,1000,NULL,NULL,0\n1,700,0,'first',1\n2,1300,0,'first',2\n");
    starts_with((Call){.proc = P_LOOP, .x = {1, 9}}, "3: 27\ntables\n0,1000,NULL,NULL,0\n1,1000,9,'first',1\n");
    starts_with((Call){.proc = P_LOOP, .x = {1, 60}}, "3: 817\n"); /* left at 50 */
    starts_with((Call){.proc = P_LOOP, .x = {1, 7}}, "3: NULL\n");
    starts_with((Call){.proc = P_LOOP, .x = {1, -1}}, "3: 0\n");
    starts_with((Call){.proc = P_LOOP, .x = {1, 55}},
                "3: 54000 the call has made more than 500 loop iterations||Raise bulk_step_limit if the loop is meant "
                "to be that long.|2 NULL\ntables\n0,1000,NULL,NULL,0\n1,1000,0,'first',1\n");
    starts_with((Call){.proc = P_RECORD, .x = {5, 1, 7, 1}, .null = true},
                "2: 23502 null value in column \"memo\" of relation \"hist\" violates not-null constraint|Failing row "
                "contains (5, 1, 7, null).||7 NULL\ntables\n0,1000,NULL,NULL,0\n1,1000,0,'first',1\n");
    starts_with((Call){.proc = P_DIVIDE, .x = {1, 0}}, "6: 22012 division by zero|||1\n");
    starts_with((Call){.proc = P_DIVIDE, .x = {1, 13}},
                "6: 23502 null value in column \"bal\" of relation \"acct\" violates not-null "
                "constraint|||4\ntables\n0,1000,NULL,NULL,0\n1,1000,0,'first',1\n");
    starts_with((Call){.proc = P_SMALL, .x = {4, 32767}}, "8: 22003 smallint out of range|||1 NULL\n");
    Call two[] = {{.proc = P_RECORD, .x = {5, 1, 7, 1}}, {.proc = P_RECORD, .x = {5, 2, 7, 1}}};
    Seen s;
    run_calls(&(Config){STRATEGY_AUTO, 1024, 1, 2, false, NULL, false}, &(Calls){2, two}, &s);
    assert_non_null(strstr(s.text, "\n2: 23505 duplicate key value violates unique constraint \"hist_pkey\"|Key "
                                   "(id)=(5) already exists.||7 NULL\n"));
    assert_non_null(strstr(s.text, "\n1,1007,0,'lunch',1\n2,1000,0,'first',2\n"));
    free(s.text);
}

static void test_refused(void **state) {
    (void)state;
    World w;
    world_new(&w);
    w.procs[P_DEPOSIT]->reason = "line 4: dynamic SQL";
    QueryOptions q = {.vector_size = 64, .account = &root};
    BulkOptions opt = {.query = &q};
    Calls cs = random_calls(10, 1u << P_DEPOSIT);
    Built b;
    build(&w, &cs, &b);
    BulkResult *r = NULL;
    assert_int_equal(bulk_run(w.images, b.n_groups, b.groups, &opt, &r, &err), ST_ERROR);
    assert_string_equal(err.sqlstate, "0A000");
    assert_string_equal(err.message, "deposit(int,bigint) cannot run in bulk: line 4: dynamic SQL");
    assert_null(r);
    err_clear(&err);
    w.procs[P_DEPOSIT]->reason = NULL;
    _Atomic bool cancel = true;
    q.cancel = &cancel;
    const Proc *p = w.procs[P_DEPOSIT];
    assert_int_equal(images_get(w.images, &w.catalog, 1, &p, NULL, &err), ST_OK);
    assert_int_equal(bulk_run(w.images, b.n_groups, b.groups, &opt, &r, &err), ST_ERROR);
    assert_string_equal(err.sqlstate, "57014");
    err_clear(&err);
    q.cancel = NULL; /* no calls at all, or none of a procedure */
    const Proc *both[] = {p, w.procs[P_MANY]};
    CallGroup groups[] = {b.groups[0], {.proc = both[1]}};
    assert_int_equal(images_get(w.images, &w.catalog, 2, both, NULL, &err), ST_OK);
    assert_int_equal(bulk_run(w.images, 0, NULL, &opt, &r, &err), ST_OK);
    bulk_result_free(r);
    assert_int_equal(bulk_run(w.images, 1, groups + 1, &opt, &r, &err), ST_OK);
    bulk_result_free(r);
    assert_int_equal(bulk_run(w.images, 2, groups, &opt, &r, &err), ST_OK);
    assert_int_equal(r->stats.n_calls, 10);
    assert_int_equal(r->stats.n_failed, 0);
    bulk_result_free(r);
    groups[1] = groups[0]; /* the same one twice; parameters of another type */
    assert_int_equal(bulk_run(w.images, 2, groups, &opt, &r, &err), ST_ERROR);
    assert_string_equal(err.sqlstate, "XX000");
    err_clear(&err);
    Vec wrong[2] = {b.groups[0].params[1], b.groups[0].params[1]};
    groups[0].params = wrong;
    assert_int_equal(bulk_run(w.images, 1, groups, &opt, &r, &err), ST_ERROR);
    assert_string_equal(err.sqlstate, "XX000");
    err_clear(&err);
    images_forget_proc(w.images, p);
    built_free(&b);
    free(cs.c);
    world_free(&w);
}

/* Wherever memory fails: the bulk fails and nothing has changed, or some calls do. */
static void test_out_of_memory(void **state) {
    (void)state;
    Calls cs = random_calls(120, (1u << N_PROCS) - 1);
    int bulks = 0, calls = 0;
    for (int64_t step = 1;; step++) {
        World w;
        world_new(&w);
        Pool *pool = pool_new(1, &err);
        QueryOptions q = {.pool = pool, .threads = 1, .vector_size = 16, .account = &root};
        BulkOptions opt = {.query = &q, .strategy = step % 2 ? STRATEGY_KSET : STRATEGY_PART, .step_limit = 500};
        Built b;
        build(&w, &cs, &b);
        const Proc *procs[N_PROCS];
        for (int32_t i = 0; i < b.n_groups; i++) procs[i] = b.groups[i].proc;
        mem_fail_at(step);
        Status st = images_get(w.images, &w.catalog, b.n_groups, procs, pool, &err);
        BulkResult *r = NULL;
        if (st == ST_OK) st = bulk_run(w.images, b.n_groups, b.groups, &opt, &r, &err);
        bool over = mem_fail_at(0) > 0; /* it has not happened */
        if (st != ST_OK) {
            assert_string_equal(err.sqlstate, "53200");
            assert_null(r);
            err_clear(&err);
            bulks++;
            for (int t = 0; t < N_TABLES; t++)
                assert_true(!images_find(w.images, tables[t]->id) ||
                            !image_is_dirty(images_find(w.images, tables[t]->id)));
        } else {
            for (int32_t p = 0; p < b.n_groups; p++)
                for (int64_t i = 0; i < b.groups[p].n; i++)
                    calls += r->errors[p][i] && strcmp(r->errors[p][i]->sqlstate, "53200") == 0;
            bulk_result_free(r);
        }
        for (int t = 0; t < N_TABLES; t++) {
            Image *im = images_find(w.images, tables[t]->id);
            if (im && image_verify(im, false, &err) != ST_OK) fail_msg("step %d: %s", (int)step, err.message);
        }
        built_free(&b);
        pool_free(pool);
        world_free(&w);
        if (over) break;
    }
    assert_in_range(bulks, 50, 2000);
    assert_in_range(calls, 1, 100000);
    free(cs.c);
}

int main(void) {
    mem_account_init(&root, NULL, "test", 0, NULL);
    mem_account_init(&devices_account, NULL, "devices", 0, NULL);
    seed = 1;
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_known),         cmocka_unit_test(test_refused),
                                       cmocka_unit_test(test_transfer),      cmocka_unit_test(test_adds),
                                       cmocka_unit_test(test_small),         cmocka_unit_test(test_inserts),
                                       cmocka_unit_test(test_loops),         cmocka_unit_test(test_divide),
                                       cmocka_unit_test(test_no_footprint),  cmocka_unit_test(test_all),
                                       cmocka_unit_test(test_any_order),     cmocka_unit_test(test_one_hash),
                                       cmocka_unit_test(test_cancel),        cmocka_unit_test(test_results_stay),
                                       cmocka_unit_test(test_device_faults), cmocka_unit_test(test_faults_ahead),
                                       cmocka_unit_test(test_changed_ahead), cmocka_unit_test(test_out_of_memory)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    hosts_free();
    return failed;
}
