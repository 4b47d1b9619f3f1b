/* Procedures to programs: what is made of SQL and PL/pgSQL, and the access sets. */
#include "unit_session.h"

#include <stdlib.h>

#include "sql/pl/compile.h"

static Database *db;
static Session *s;
static Err no_err;

static void run(const char *sql) { session_sql(s, sql); }

static int setup(void **state) {
    (void)state;
    session_open(&db, &s);
    run("create table account(id int primary key, branch int not null, balance bigint not null, note text);"
        "create table branch(id int primary key, name text, total numeric(12,2) not null);"
        "create table history(account int, amount bigint);"
        "insert into branch values (1, 'one', 0), (2, 'two', 0);"
        "insert into account select i, 1 + i % 2, 100, 'n' from generate_series(1, 10) i;");
    return 0;
}
static int teardown(void **state) {
    (void)state;
    session_close(db, s);
    return 0;
}

static void drop_all(void) {
    while (db->catalog.n_routines > 0) {
        char sql[200];
        const Routine *r = db->catalog.routines[0];
        snprintf(sql, sizeof sql, "drop %s %s", r->is_procedure ? "procedure" : "function", r->name);
        run(sql);
    }
}
/* Compiles all routines there are; the first one's programs as text. */
static const Proc *compile(Arena *a, const char *const *sql, int n) {
    Err e = {0};
    drop_all();
    for (int i = 0; i < n; i++) run(sql[i]);
    const PlFunction **f = arena_array(a, const PlFunction *, n + 1);
    assert_int_equal(db->catalog.n_routines, n);
    for (int i = 0; i < n; i++) {
        PlFunction *x;
        if (pl_of_routine(a, &db->catalog, db->catalog.routines[i], &x, &e) != ST_OK) fail_msg("%s", e.message);
        f[i] = x;
    }
    const PlSources in = {.catalog = &db->catalog, .session = &s->info, .n = n, .functions = f};
    PlCompiled out;
    if (pl_compile(&in, a, &out, &e) != ST_OK) fail_msg("%s", e.message);
    return out.procs;
}
static int count_items(const Program *p, int kind) {
    int n = 0;
    for (int32_t i = 0; i < p->n_instrs; i++)
        n += p->instrs[i].op == OP_ITEM && ((const ItemSite *)p->instrs[i].aux)->kind == kind;
    return n;
}
static const ItemSite *item(const Program *p, int k) {
    for (int32_t i = 0; i < p->n_instrs; i++)
        if (p->instrs[i].op == OP_ITEM && k-- == 0) return p->instrs[i].aux;
    return NULL;
}

static void test_tpcb(void **state) {
    (void)state;
    Arena *a = arena_new(NULL, &no_err);
    const char *sql[] = {
        "create procedure tpcb(a int, b int, d int, inout bal bigint) language plpgsql as $$ begin "
        "update account set balance = balance + d where id = a; select balance into bal from account where id = a; "
        "update branch set total = total - d where id = b; insert into history values (a, d); end $$"};
    const Proc *p = compile(a, sql, 1);
    if (p->reason) fail_msg("%s", p->reason);
    if (getenv("STELE_SHOW"))
        printf("%s\n%s\n", program_text(p->body, a), program_text(p->footprint, a)), fflush(stdout);
    assert_int_equal(count_items(p->footprint, OPK_ADD), 2); /* balance and total; nobody looks at the history's rows */
    assert_int_equal(count_items(p->footprint, OPK_READ), 1);
    assert_int_equal(count_items(p->footprint, OPK_WRITE), 0);
    assert_int_equal(item(p->footprint, 0)->n, 1);
    assert_true(item(p->footprint, 0)->has_amount);
    assert_int_equal(p->n_params, 4);
    assert_int_equal(p->n_outs, 1);
    assert_true(p->writes);
    drop_all();
    arena_free(a);
}

static const Proc *compile_one(Arena *a, const char *sql) {
    const char *all[] = {sql};
    const Proc *p = compile(a, all, 1);
    if (getenv("STELE_SHOW") && !p->reason)
        printf("%s\n%s\n", program_text(p->body, a), program_text(p->footprint, a)), fflush(stdout);
    return p;
}

/* A condition on what others write is not known: both ways are in the footprint. */
static void test_unknown_condition(void **state) {
    (void)state;
    Arena *a = arena_new(NULL, &no_err);
    const Proc *p = compile_one(
        a, "create procedure transfer(x int, y int, m bigint) language plpgsql as $$ declare b bigint; begin "
           "select balance into strict b from account where id = x; "
           "if b < m then raise exception 'only % left', b; end if; "
           "update account set balance = balance - m where id = x; update account set balance = balance + m where id = "
           "y; end $$");
    if (p->reason) fail_msg("%s", p->reason);
    assert_int_equal(count_items(p->footprint, OPK_READ), 1);
    assert_int_equal(count_items(p->footprint, OPK_ADD), 2);
    assert_false(p->undo); /* all that can fail comes first, but for the second addition */
    assert_true(p->undo_adds);
    drop_all();
    arena_free(a);
}

/* A column that nobody writes may be looked up beforehand; where somebody does, the key is not known and the group is
 * one item. */
static void test_lookup_through_column(void **state) {
    (void)state;
    Arena *a = arena_new(NULL, &no_err);
    const char *pay =
        "create procedure pay(x int, m int) language plpgsql as $$ declare b int; begin "
        "select branch into b from account where id = x; update branch set total = total + m where id = b; end $$";
    const Proc *p = compile_one(a, pay);
    if (p->reason) fail_msg("%s", p->reason);
    assert_int_equal(count_items(p->footprint, OPK_ADD), 1);
    assert_int_equal(item(p->footprint, 0)->n, 1);
    drop_all();
    const char *both[] = {pay, "create procedure move(x int, b int) language plpgsql as $$ begin update account set "
                               "branch = b where id = x; end $$"};
    p = compile(a, both, 2);
    if (p->reason || p[1].reason) fail_msg("%s", p->reason ? p->reason : p[1].reason);
    bool whole = false;
    for (int k = 0; item(p->footprint, k); k++)
        whole |= item(p->footprint, k)->n == 0 && item(p->footprint, k)->kind == OPK_ADD;
    assert_true(whole);
    drop_all();
    arena_free(a);
}

static void test_loops(void **state) {
    (void)state;
    Arena *a = arena_new(NULL, &no_err);
    const Proc *p = compile_one(
        a,
        "create procedure each(lo int, hi int, inout n bigint) language plpgsql as $$ declare r record; begin n := 0; "
        "for i in lo..hi loop continue when i % 2 = 0; update account set balance = balance + 1 where id = i; exit "
        "when i > 100; end loop; "
        "for r in select id, balance from account where branch = 1 loop n := n + r.balance; end loop; "
        "while n > 1000 loop n := n - 1000; end loop; end $$");
    if (p->reason) fail_msg("%s", p->reason);
    assert_int_equal(count_items(p->footprint, OPK_ADD), 1);
    assert_int_equal(count_items(p->footprint, OPK_READ), 1);
    drop_all();
    arena_free(a);
}

/* The first row of a group wants its index in order, unless somebody updates the column. */
static void test_first_of_group(void **state) {
    (void)state;
    Arena *a = arena_new(NULL, &no_err);
    const char *first =
        "create procedure first(b int, out x int, out y int) language plpgsql as $$ begin "
        "select id into x from account where branch = b order by id limit 1; "
        "select id into y from account where branch = b order by balance desc limit 1; "
        "select id into y from account where branch = b and id > x order by id limit 1; "
        "select id into y from account where branch = b and x >= id order by id desc limit 1; "
        "select id into y from account where branch = b and id < x and id <= 7 order by id limit 1; "
        "select id into y from account where branch = b and id > x and balance > 7 order by id limit 1; end $$";
    const char *both[] = {
        first,
        "create procedure pay(x int) language plpgsql as $$ begin update account set balance = 1 where id = x; end $$"};
    for (int pays = 0; pays < 2; pays++) {
        const Proc *p = compile(a, both, 1 + pays);
        if (p->reason) fail_msg("%s", p->reason);
        const ImageNeed *need = &p->tables[0].need;
        assert_int_equal(need->n_groups, pays ? 3 : 4);
        assert_int_equal(need->groups[0].order, 1); /* id */
        assert_false(need->groups[0].desc);
        assert_int_equal(need->groups[1].order, pays ? 0 : 3); /* balance */
        assert_int_equal(need->groups[1].desc, !pays);
        int seen = 0;
        for (int32_t i = 0; i < p->body->n_instrs; i++) {
            const RowKey *k = p->body->instrs[i].aux;
            if (p->body->instrs[i].op != OP_ROW_FIRST) continue;
            static const struct {
                int order;
                bool bounded, at;
            } want[] = {{1, false, false}, {3, false, false}, {1, true, false}, {1, true, true}, {0, false, false}};
            assert_int_equal(k->order, want[seen].order);
            assert_int_equal(k->bounded, want[seen].bounded);
            assert_int_equal(k->at, want[seen].at);
            seen++;
        }
        assert_int_equal(seen, 5); /* the fifth statement has the first one's row */
    }
    drop_all();
    arena_free(a);
}

/* A statement that writes some columns of a group and adds to others has one operation on it. */
static void test_covered(void **state) {
    (void)state;
    Arena *a = arena_new(NULL, &no_err);
    const Proc *p =
        compile_one(a, "create procedure put(x int, t text, m bigint) language plpgsql as $$ begin "
                       "update account set balance = balance + m, branch = branch + 1, note = t where id = x; end $$");
    if (p->reason) fail_msg("%s", p->reason);
    assert_int_equal(count_items(p->footprint, OPK_READ), 0);
    assert_int_equal(count_items(p->footprint, OPK_WRITE), 1);
    assert_int_equal(count_items(p->footprint, OPK_ADD), 2);
    for (int k = 0; item(p->footprint, k); k++)
        assert_int_equal(item(p->footprint, k)->covered, item(p->footprint, k)->kind == OPK_ADD);
    drop_all();
    arena_free(a);
}

static int count_ops(const Program *p, uint16_t op) {
    int n = 0;
    for (int32_t i = 0; i < p->n_instrs; i++) n += p->instrs[i].op == op;
    return n;
}
/* A footprint keeps what its operations need. */
static void test_sliced(void **state) {
    (void)state;
    Arena *a = arena_new(NULL, &no_err);
    /* the row's columns and what is computed of them lead to nothing; whether the row is there is not asked, since its
     * operations cannot do harm */
    const Proc *p = compile_one(
        a, "create procedure amounts(acc int, x int, out y bigint) language plpgsql as $$ declare b int; begin "
           "select branch into b from account where id = acc; y := b / x; update account set balance = y where id = "
           "acc; end $$");
    assert_int_equal(count_ops(p->footprint, OP_ROW_FIND), 0);
    assert_int_equal(count_ops(p->footprint, OP_ROW_GET), 0);
    assert_int_equal(count_ops(p->footprint, OP_STORE), 0);
    assert_int_equal(count_ops(p->footprint, OP_DIV), 0);
    assert_int_equal(count_ops(p->footprint, OP_P_IF), 0);
    assert_int_equal(count_items(p->footprint, OPK_WRITE), 1);
    drop_all();
    /* a column names the next row: it is looked for, under the condition that the first row is there */
    p = compile_one(
        a,
        "create procedure through(acc int) language plpgsql as $$ declare b int; n text; begin "
        "select branch, note into b, n from account where id = acc; update branch set total = 0 where id = b; end $$");
    assert_int_equal(count_ops(p->footprint, OP_ROW_FIND), 1);
    assert_int_equal(count_ops(p->footprint, OP_ROW_GET), 1);
    assert_int_equal(count_items(p->footprint, OPK_WRITE), 1);
    drop_all();
    /* and so is one that decides, and loops stay */
    p = compile_one(a, "create procedure decides(acc int, n int) language plpgsql as $$ declare b int; z int := 0; "
                       "begin select branch into b from account where id = acc; "
                       "if b = 1 then for i in 1 .. n loop update account set balance = 0 where id = i; z := z + i; "
                       "end loop; end if; end $$");
    assert_int_equal(count_ops(p->footprint, OP_ROW_FIND), 1);
    assert_true(count_ops(p->footprint, OP_P_IF) >= 2);
    assert_int_equal(count_ops(p->footprint, OP_P_LOOP), 1);
    drop_all();
    arena_free(a);
}

/* What was computed before is used again where it cannot have changed. */
static int count_calls(const Program *p, const char *name) {
    int n = 0;
    for (int32_t i = 0; i < p->n_instrs; i++) {
        const CallSite *c = p->instrs[i].op == OP_CALL ? p->instrs[i].aux : NULL;
        n += c && c->func && strcmp(c->func->name, name) == 0;
    }
    return n;
}
static void test_reuse(void **state) {
    (void)state;
    Arena *a = arena_new(NULL, &no_err);
    static const struct {
        const char *body;
        int elements, finds, named; /* 1 + locks that take the hash of an earlier one; 0: whatever */
    } cases[] = {
        {"begin for i in 1 .. 3 loop n := n + list[i] + list[i]; if n > 5 then n := list[i]; end if; end loop; end", 1,
         0},
        {"begin for i in 1 .. 3 loop n := n + list[x]; end loop; n := n + list[x]; end", 2,
         0}, /* the loop may not be entered: nothing is computed earlier */
        {"begin n := list[x]; for i in 1 .. 3 loop n := n + list[x]; end loop; n := n + list[x]; end", 1, 0},
        {"begin n := list[x]; x := x + 1; n := n + list[x]; end", 2, 0},
        {"begin if x > 1 then n := list[x]; end if; n := n + list[x]; end", 2, 0},
        {"begin if x > 1 then n := list[x]; else n := 1 - list[x]; end if; n := n + list[x]; end", 2,
         0}, /* one on each way */
        {"begin n := list[x]; begin n := 1 / list[x]; x := 7; exception when others then n := 0; end; n := n + "
         "list[x]; end",
         2, 0},
        {"begin select balance into n from account where id = x; update account set balance = n + 1 where id = x; "
         "select balance into n from account where id = x; end",
         0, 1, 3},
        {"begin select balance into n from account where id = x; x := 3; update account set balance = n + 1 where id = "
         "x; end",
         0, 2, 1},
        {"begin select balance into n from account where id = x; delete from account where id = x; select balance into "
         "n from account where id = x; end",
         0, 2},
        {"begin select balance into n from account where id = x; insert into account values (x, 1, 1, '') on conflict "
         "do nothing; select balance into n from account where id = x; end",
         0, 2},
        {"begin select balance into n from account where id = x; insert into branch values (x, 'b', 1) on conflict do "
         "nothing; update account set balance = 1 where id = x; end",
         0, 1},
        {"begin for i in 1 .. 2 loop select balance into n from account where id = x; if i = 1 then delete from "
         "account where id = x; end if; end loop; end",
         0, 1}, /* in each round */
    };
    for (int k = 0; k < ARRAY_LEN(cases); k++) {
        const Proc *p = compile_one(
            a, arena_printf(a, "create procedure again(x int, list int[], inout n bigint) language plpgsql as $$ %s $$",
                            cases[k].body));
        if (p->reason) fail_msg("%s", p->reason);
        if (count_calls(p->body, "array_subscript") != cases[k].elements ||
            count_ops(p->body, OP_ROW_FIND) != cases[k].finds)
            fail_msg("%s", program_text(p->body, a));
        if (p->locking_body) assert_int_equal(count_ops(p->locking_body, OP_ROW_FIND), cases[k].finds);
        int named = 1;
        for (int32_t i = 0; p->locking_body && i < p->locking_body->n_instrs; i++)
            named += p->locking_body->instrs[i].op == OP_LOCK && p->locking_body->instrs[i].a != 0;
        if (cases[k].named) assert_int_equal(named, cases[k].named);
        drop_all();
    }
    arena_free(a);
}

/* Locks in routines that are called: each call of one has its own. */
static void test_locks_of_called_routines(void **state) {
    (void)state;
    Arena *a = arena_new(NULL, &no_err);
    const char *sql[] = {
        "create function a_take(acc int, x int) returns bigint language plpgsql as $$ declare b bigint; begin "
        "update account set balance = balance - x where id = acc returning balance into b; return b; end $$",
        "create procedure from_both(c int, d int, x int, out y bigint) language plpgsql as $$ begin for i in 1 .. 2 "
        "loop y := a_take(c, x); y := y + a_take(d, x); end loop; end $$"};
    const Proc *p = compile(a, sql, 2);
    for (int i = 0; i < 2; i++) {
        if (p[i].reason) fail_msg("%s", p[i].reason);
        assert_non_null(p[i].locking_body);
        assert_int_equal(count_ops(p[i].locking_body, OP_LOCK), i == 0 ? 1 : 2);
        assert_int_equal(count_ops(p[i].locking_body, OP_UNLOCK), i == 0 ? 1 : 2);
        assert_int_equal(count_ops(p[i].body, OP_LOCK), 0);
        for (int32_t g = 0; g < p[i].n_locks; g++) assert_true(p[i].locks[g]->release);
    }
    drop_all();
    arena_free(a);
}
/* What a call adds to a column in all is bounded by its footprint, or not. */
static void test_unbounded(void **state) {
    (void)state;
    Arena *a = arena_new(NULL, &no_err);
    static const struct {
        const char *body;
        int unbounded;
    } cases[] = {
        {"begin for i in 1 .. x loop update account set balance = balance + i where id = acc; end loop; end", 0},
        {"declare b int; begin select branch into b from account where id = x; update account set balance = balance + "
         "b where id = acc; end",
         0}, /* it is not changed */
        {"declare b int; begin select total into b from branch where id = x; update branch set total = 0 where id = x; "
         "update account set balance = balance + b where id = acc; end",
         1}, /* the amount */
        {"declare b int; begin select total into b from branch where id = x; update branch set total = 0 where id = x; "
         "while b > 0 loop b := b - 1; "
         "update account set balance = balance + 1 where id = acc; end loop; end",
         1}, /* how often */
    };
    for (int i = 0; i < (int)ARRAY_LEN(cases); i++) {
        char sql[500];
        snprintf(sql, sizeof sql, "create procedure adds(acc int, x int) language plpgsql as $$ %s $$", cases[i].body);
        const Proc *p = compile_one(a, sql);
        if (p->reason) fail_msg("%s", p->reason);
        if (p->n_unbounded != cases[i].unbounded) fail_msg("%s: %d", cases[i].body, (int)p->n_unbounded);
        drop_all();
    }
    arena_free(a);
}
/* How many rows a call inserts: counted by the footprint, or guessed. */
static void test_guessed(void **state) {
    (void)state;
    Arena *a = arena_new(NULL, &no_err);
    const Proc *p = compile_one(a, "create procedure counted(n int) language plpgsql as $$ begin for i in 1 .. n loop "
                                   "insert into history values (i, n); end loop; end $$");
    if (p->reason) fail_msg("%s", p->reason);
    assert_false(p->tables[0].guessed);
    assert_int_equal(count_items(p->footprint, OPK_INSERTED), 1);
    drop_all();
    p = compile_one(a, "create procedure found(k int) language plpgsql as $$ begin delete from account where id = k; "
                       "insert into history select id, balance from account where branch = k; end $$");
    if (p->reason) fail_msg("%s", p->reason);
    for (int32_t t = 0; t < p->n_tables; t++) assert_int_equal(p->tables[t].guessed, p->tables[t].max_inserts < 0);
    assert_int_equal(count_items(p->footprint, OPK_INSERTED), 0);
    drop_all();
    arena_free(a);
}

/* Orders and groups read each row once, however many rows and groups there are. */
static void test_rows_once(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int scans;
    } queries[] = {{"select k, v from lines where o = $ order by v desc, k", 1},
                   {"select v % 40 as k, count(*) as v from lines where o = $ group by v % 40", 1},
                   {"select k, v from lines where o = $ order by v limit 30 offset 20", 1},
                   {"select distinct v as k, o as v from lines where o = $", 1},
                   {"select max(k) as k, count(distinct v) as v from lines where o = $", 1},
                   {"with c as (select o, v, count(*) as n from lines where o = $ group by o, v) "
                    "select e.n as k, f.n as v from c e join c f on e.v = f.v",
                    1},
                   {"select x.k, q.n as v from (select v, count(*) as n from lines where o = 1 group by v) q "
                    "join lines x on x.v = q.v where x.o = $",
                    2},
                   {"select v as k, o as v from lines where o = 1 except select v, o from lines where o = $", 2}};
    enum { CALLS = 7, ROWS = 100 };
    drop_all();
    run("create table lines(o int, k int, v int not null, primary key (o, k));"
        "insert into lines select i / 100, i % 100, i * 7919 % 1000 from generate_series(0, 999) i;"
        "set executor = 'vm';");
    for (int i = 0; i < (int)ARRAY_LEN(queries); i++) {
        char sql[600];
        const char *text = queries[i].text, *at = strchr(text, '$');
        snprintf(sql, sizeof sql,
                 "create procedure p(a int, out n bigint) language plpgsql as $$ declare r record; begin n := 0; "
                 "for r in %.*sa%s loop n := n + r.k + r.v; end loop; end $$;",
                 (int)(at - text), text, at + 1);
        run(sql);
        run("create table results as select call from bulk_call('p', 'select g from generate_series(1, 7) g');"
            "drop table results");
        assert_int_equal(s->bulk.stats.n_calls, CALLS);
        assert_int_equal(s->bulk.stats.n_failed, 0);
        assert_int_equal(s->bulk.stats.rows_read, CALLS * ROWS * queries[i].scans);
        drop_all();
    }
    run("reset executor");
}

static void test_refusals(void **state) {
    (void)state;
    Arena *a = arena_new(NULL, &no_err);
    const struct {
        const char *body, *reason;
    } cases[] = {
        {"begin\n execute 'select 1'; end", "line 2: "},
        {"begin\n update account set id = id + 1; end", "line 2: UPDATE of key column"},
        {"declare n int; begin\n\n select row_number() over () into n; end", "line 3: a window function"},
        {"begin raise log 'x' using hint = 'y' || now(); end",
         "line 1: RAISE of less than a notice with a computed hint"},
        {"begin insert into nowhere values (1); end", "line 1: relation \"nowhere\" does not exist"},
    };
    for (int i = 0; i < (int)ARRAY_LEN(cases); i++) {
        char sql[400];
        snprintf(sql, sizeof sql, "create procedure refused() language plpgsql as $$ %s $$", cases[i].body);
        const Proc *p = compile_one(a, sql);
        assert_non_null(p->reason);
        if (strncmp(p->reason, cases[i].reason, strlen(cases[i].reason)) != 0)
            fail_msg("got: %s; wanted: %s", p->reason, cases[i].reason);
        assert_null(p->body);
        drop_all();
    }
    arena_free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_tpcb),
                                       cmocka_unit_test(test_unknown_condition),
                                       cmocka_unit_test(test_lookup_through_column),
                                       cmocka_unit_test(test_loops),
                                       cmocka_unit_test(test_first_of_group),
                                       cmocka_unit_test(test_covered),
                                       cmocka_unit_test(test_sliced),
                                       cmocka_unit_test(test_reuse),
                                       cmocka_unit_test(test_locks_of_called_routines),
                                       cmocka_unit_test(test_unbounded),
                                       cmocka_unit_test(test_guessed),
                                       cmocka_unit_test(test_rows_once),
                                       cmocka_unit_test(test_refusals)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
