/* Kernels of procedures: what the text is made of, that the system's compiler, OpenCL and NVRTC take it, and what has
 * no kernel, with the reason. That the kernels do what the virtual machine does is test_bulk's. */
#include "unit_session.h"

#include <stdlib.h>

#include "codegen/emit_proc.h"
#include "codegen/prelude.h"
#include "device/cuda/nvrtc.h"
#include "sql/pl/compile.h"

static Database *db;
static Session *s;
static Arena *arena;
static Err err;

static void run(const char *sql) { session_sql(s, sql); }

static int setup(void **state) {
    (void)state;
    session_open(&db, &s);
    run("create table account(id int primary key, branch int not null, balance bigint not null, note text);"
        "create table branch(id int primary key, name text, total numeric(25,2) not null, small smallint);"
        "create table history(account int, amount bigint, note text, primary key (account, amount));"
        "create table person(name text primary key, note text, list int[]);"
        "insert into account select i, 1 + i % 2, 100, 'n' from generate_series(1, 10) i;");
    arena = arena_new(NULL, &err);
    return 0;
}
static int teardown(void **state) {
    (void)state;
    arena_free(arena);
    session_close(db, s);
    return 0;
}

/* The module of some procedures. */
static void emit_with(const char *sql, DeviceKind kind, bool strings, ProcModule *out) {
    while (db->catalog.n_routines > 0) {
        char drop[200];
        const Routine *r = db->catalog.routines[0];
        snprintf(drop, sizeof drop, "drop %s %s", r->is_procedure ? "procedure" : "function", r->name);
        run(drop);
    }
    run(sql);
    enum { MOST = 8, TABLES = 16 };
    int32_t n = db->catalog.n_routines, n_tables = 0;
    PlFunction *f[MOST];
    ProcForm *forms = arena_array(arena, ProcForm, MOST);
    int64_t tables[TABLES];
    Image *images[TABLES];
    assert_in_range(n, 1, MOST);
    for (int32_t k = 0; k < n; k++)
        if (pl_of_routine(arena, &db->catalog, db->catalog.routines[k], &f[k], &err) != ST_OK)
            fail_msg("%s", err.message);
    const PlSources in = {
        .catalog = &db->catalog, .session = &s->info, .n = n, .functions = (const PlFunction *const *)f};
    PlCompiled made;
    if (pl_compile(&in, arena, &made, &err) != ST_OK) fail_msg("%s", err.message);
    Proc *p = made.procs;
    for (int32_t k = 0; k < n; k++) {
        if (p[k].reason) fail_msg("%s", p[k].reason);
        ProcTableForm *t = arena_array(arena, ProcTableForm, p[k].n_tables + 1);
        int32_t *no = arena_array(arena, int32_t, p[k].n_tables + 1);
        for (int32_t i = 0; i < p[k].n_tables; i++) {
            const ImageNeed *need = &p[k].tables[i].need;
            int32_t *index = arena_array(arena, int32_t, need->table->n_keys + need->n_groups + 1);
            for (int32_t x = 0; x < need->table->n_keys + need->n_groups; x++) index[x] = x;
            while (no[i] < n_tables && tables[no[i]] != p[k].tables[i].table_id) no[i]++;
            if (no[i] == n_tables) {
                tables[n_tables] = p[k].tables[i].table_id;
                ImageNeed all = *need; /* of all procedures: they have no groups here */
                all.inserts = true;
                if (image_make(&all, NULL, NULL, &images[n_tables++], &err) != ST_OK) fail_msg("%s", err.message);
            }
            t[i] = (ProcTableForm){images[no[i]], index};
        }
        forms[k] = (ProcForm){&p[k], t, no};
    }
    bool by_statement = !strings; /* as devices with memory of their own have them */
    for (int32_t k = 0; k < n; k++) by_statement &= p[k].locking_body != NULL;
    EmitTarget target = {.native_threads = kind == DEVICE_HOST,
                         .warp_functions = kind == DEVICE_CUDA,
                         .constant_memory = kind == DEVICE_CUDA,
                         .group_size = kind == DEVICE_CUDA ? 128 : 1};
    assert_int_equal(emit_procs(n, forms, &target, strings, by_statement, arena, out, &err), ST_OK);
    for (int32_t i = 0; i < n_tables; i++) image_free(images[i]);
}

static void emit(const char *sql, DeviceKind kind, ProcModule *out) { emit_with(sql, kind, true, out); }

static void compile_on(const char *id, const char *source) {
    static Devices *devices;
    if (!source) {
        devices_close(devices);
        devices = NULL;
        return;
    }
    Device *d;
    DevCode code;
    if (!devices && devices_open(db->pool, NULL, &devices, &err) != ST_OK) fail_msg("%s", err.message);
    if (devices_get(devices, id, &d, &err) != ST_OK) {
        print_message("skipped on %s: %s\n", id, err.message);
        err_clear(&err);
        return;
    }
    char *whole = kernel_source_expand(source);
    assert_non_null(whole);
    if (d->ops->compile(d, whole, "", &code, &err) != ST_OK)
        fail_msg("%s: %s %s\n%s", id, err.message, err.detail, source);
    dev_code_free(&code);
    free(whole);
}
static void compile_nvrtc(const char *source) {
    int major, minor;
    DevCode code;
    if (nvrtc_version(&major, &minor, &err) != ST_OK) {
        print_message("skipped: %s\n", err.message);
        err_clear(&err);
        return;
    }
    char *whole = kernel_source_expand(source);
    assert_non_null(whole);
    if (nvrtc_compile(whole, "sm_90", "", &code, &err) != ST_OK) fail_msg("%s %s\n%s", err.message, err.detail, source);
    dev_code_free(&code);
    free(whole);
}

static const char *const procs[] = {
    "create procedure tpcb(a int, b int, d bigint, inout bal bigint) language plpgsql as $$ begin "
    "update account set balance = balance + d where id = a; select balance into bal from account where id = a; "
    "update branch set total = total - d, small = small + 1::smallint where id = b; insert into history values (a, d, "
    "'x'); end $$",
    "create procedure transfer(x int, y int, m bigint) language plpgsql as $$ declare b bigint; begin "
    "select balance into strict b from account where id = x; "
    "if b < m then raise exception 'only % left', b; end if; "
    "update account set balance = balance - m, note = 'from' where id = x; update account set balance = balance + m "
    "where id = y; end $$",
    "create procedure loops(x int, n int, out r bigint) language plpgsql as $$ declare b bigint; begin "
    "r := 0; for i in 1 .. n loop if i % 3 = 0 then continue; end if; exit when i > 90; r := r + i; update account set "
    "balance = balance + i where id = x; end loop; "
    "delete from history where account = x and amount = r; end $$",
    "create procedure texts(x int, t text, out r text) language plpgsql as $$ begin select note into r from account "
    "where id = x; "
    "if r like 'a%b' or substr(t, 2, 3) = 'xyz' then update account set note = t where id = x; end if; end $$"};

static void test_compiles(void **state) {
    (void)state;
    for (int i = 0; i < (int)ARRAY_LEN(procs); i++) {
        ProcModule src;
        emit(procs[i], DEVICE_HOST, &src);
        if (src.reason) fail_msg("%d: %s", i, src.reason);
        if (getenv("STELE_SHOW")) printf("%s\n", src.source), fflush(stdout);
        compile_on("host", src.source);
        emit(procs[i], DEVICE_OPENCL, &src);
        compile_on("opencl:0", src.source);
        emit(procs[i], DEVICE_CUDA, &src);
        compile_nvrtc(src.source);
    }
    compile_on(NULL, NULL);
}

/* On devices with memory of their own cells of strings have the host's addresses; keys, too. */
static void test_far(void **state) {
    (void)state;
    static const char keys[] =
        "create procedure names(n text, v int[], x numeric(9,2), d date, out r text, out k int) "
        "language plpgsql as $$ declare w int[] := '{}'; begin "
        "insert into person values (upper(n), n || x::numeric(9,2)::text || d::text, v); select note into r "
        "from person where name = n; "
        "for i in 1 .. array_length(v, 1) loop if v[i] = any(w) then k := array_position(w, "
        "v[i]); else w := array_append(w, v[i]); end if; end loop; "
        "update person set list = w, note = substr(r || '|' || note, 1, 20) where name = n and "
        "n in ('a', 'b', lower(n)); r := r::varchar(5) || n; end $$";
    ProcModule src;
    for (int i = 0; i < (int)ARRAY_LEN(procs) + 1; i++) {
        const char *sql = i < (int)ARRAY_LEN(procs) ? procs[i] : keys;
        static const DeviceKind kinds[] = {DEVICE_HOST, DEVICE_OPENCL, DEVICE_CUDA};
        for (int d = 0; d < (int)ARRAY_LEN(kinds); d++) {
            emit_with(sql, kinds[d], false, &src);
            if (src.reason) fail_msg("%d: %s", i, src.reason);
            if (kinds[d] == DEVICE_CUDA) compile_nvrtc(src.source);
            else compile_on(kinds[d] == DEVICE_HOST ? "host" : "opencl:0", src.source);
        }
    }
    assert_true(src.scratch > 0);
    assert_true(src.procs[0].out_heap);
    compile_on(NULL, NULL);
}

/* A loop whose rounds lanes share, under statement locks: both are in one kernel, and it compiles. */
static void test_parallel_loop_under_locks(void **state) {
    (void)state;
    static const char take[] =
        "create procedure take(o int, ids int[], by int, out sum bigint, out last bigint) language plpgsql as $$ "
        "declare x bigint; begin sum := 0; for k in 1 .. array_length(ids, 1) loop select balance into x from "
        "account "
        "where id = ids[k]; sum := sum + x; update account set balance = balance + by, note = 'from' where id = "
        "ids[k]; insert into history values (o, k, 'x'); last := x; end loop; update branch set total = total + 1 "
        "where "
        "id = o; end $$";
    static const DeviceKind kinds[] = {DEVICE_HOST, DEVICE_OPENCL, DEVICE_CUDA};
    ProcModule src;
    for (int d = 0; d < (int)ARRAY_LEN(kinds); d++) {
        emit_with(take, kinds[d], false, &src);
        if (src.reason) fail_msg("%s", src.reason);
        assert_true(src.by_statement);
        assert_non_null(strstr(src.source, "RUNS_PARALLEL("));
        if (kinds[d] == DEVICE_CUDA) compile_nvrtc(src.source);
        else compile_on(kinds[d] == DEVICE_HOST ? "host" : "opencl:0", src.source);
    }
    compile_on(NULL, NULL);
}

/* All of them in one module, whose procedures share what belongs to tables. */
static void test_module(void **state) {
    (void)state;
    static const DeviceKind kinds[] = {DEVICE_HOST, DEVICE_OPENCL, DEVICE_CUDA};
    char all[4096] = "";
    int32_t apart = 0;
    ProcModule src;
    for (int i = 0; i < (int)ARRAY_LEN(procs); i++) {
        emit(procs[i], DEVICE_HOST, &src);
        apart += src.n_params;
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s;\n", procs[i]);
    }
    for (int i = 0; i < (int)ARRAY_LEN(kinds); i++) {
        emit(all, kinds[i], &src);
        if (src.reason) fail_msg("%s", src.reason);
        assert_int_equal(src.n_procs, ARRAY_LEN(procs));
        assert_true(src.n_params < apart - 40);
        assert_false(src.param_table);
        const char *n = strstr(src.source, "#define N_PARAMS "); /* as many as are passed: CUDA insists */
        assert_non_null(n);
        assert_int_equal(atol(n + strlen("#define N_PARAMS ")), src.n_params);
        char declared[64]; /* the struct of a kernel's parameters on CUDA */
        snprintf(declared, sizeof declared, "#define N_PARAMS %d\n", (int)src.n_params);
        assert_non_null(strstr(src.source, declared));
        if (kinds[i] == DEVICE_CUDA) compile_nvrtc(src.source);
        else compile_on(kinds[i] == DEVICE_HOST ? "host" : "opencl:0", src.source);
    }
    compile_on(NULL, NULL);
}

/* The first row of a group: from an ordered index, which inserts and the undo of deletes keep; by a column that is
 * updated, along the list. */
static void test_first(void **state) {
    (void)state;
    static const char *const sql[] = {
        "create procedure pop(a int, b int, out x bigint, out y int) language plpgsql as $$ begin "
        "insert into history values (a, b, 'x'); select amount into x from history where account = a order by amount "
        "limit 1; delete from history where account = a and amount = x; "
        "select id into y from account where branch = b order by id desc limit 1; if x > y then raise exception 'no'; "
        "end if; end $$",
        "create procedure richest(b int, out y int) language plpgsql as $$ begin "
        "select id into y from account where branch = b order by balance desc limit 1; update account set balance = "
        "balance + 1 where id = y; end $$"};
    static const DeviceKind kinds[] = {DEVICE_HOST, DEVICE_OPENCL, DEVICE_CUDA};
    for (int i = 0; i < 2; i++)
        for (int d = 0; d < (int)ARRAY_LEN(kinds); d++) {
            ProcModule src;
            emit(sql[i], kinds[d], &src);
            if (src.reason) fail_msg("%d: %s", i, src.reason);
            assert_int_equal(strstr(src.source, "= ord_first(") != NULL, i == 0);
            assert_int_equal(strstr(src.source, ") ord_again(") != NULL, i == 0);
            assert_int_equal(strstr(src.source, "= ord_best(") != NULL, i == 1);
            if (kinds[d] == DEVICE_CUDA) compile_nvrtc(src.source);
            else compile_on(kinds[d] == DEVICE_HOST ? "host" : "opencl:0", src.source);
        }
    compile_on(NULL, NULL);
}

static void test_text(void **state) {
    (void)state;
    ProcModule src, again;
    emit(procs[0], DEVICE_HOST, &src);
    assert_non_null(strstr(src.source, KERNEL_PART(kp_run)));
    assert_false(src.procs[0].text_outs);
    assert_int_equal(src.undo_max, 6); /* two counters, each as an atomic and as a checked one; a numeric; an insert */
    int32_t puts = 0;
    for (int i = 0; i < 3; i++) puts += (int32_t)src.procs[0].text_puts[i];
    assert_int_equal(puts, 1);
    emit(procs[0], DEVICE_HOST, &again);
    assert_string_equal(src.source, again.source);
    emit(procs[2], DEVICE_HOST, &src);
    assert_true(src.undo_max > 64); /* a loop changes any number of rows */
    emit(procs[3], DEVICE_HOST, &src);
    assert_true(src.procs[0].text_outs);
}

static void test_reasons(void **state) {
    (void)state;
    ProcModule src;
    emit("create procedure p(x int, t text) language plpgsql as $$ begin\nupdate account set note = md5(t) where id = "
         "x; end $$",
         DEVICE_HOST, &src);
    assert_non_null(src.reason);
    assert_string_equal(src.procs[0].reason, "line 2: call md5(text)");
    emit(procs[1], DEVICE_HOST, &src); /* the message's cast is not the kernel's */
    assert_null(src.reason);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_compiles), cmocka_unit_test(test_far),   cmocka_unit_test(test_parallel_loop_under_locks),
        cmocka_unit_test(test_module),   cmocka_unit_test(test_first), cmocka_unit_test(test_text),
        cmocka_unit_test(test_reasons)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
