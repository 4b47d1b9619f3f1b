/* test_bind.c - the binder: a broad list of statements over a small catalog is bound and verified, errors are checked
 * by SQLSTATE, position and hint. The TPC-H queries are read from bench/tpch/queries (STELE_SOURCE_DIR or the working
 * directory's parents). */
#include "unit.h"

#include <stdlib.h>

#include "catalog/catalog.h"
#include "sql/bind/bind.h"
#include "sql/parse/parse.h"
#include "types/composite.h"

static MemAccount account;
static Catalog catalog;
static Table *tables[32];
static View *views[16];
static const SessionInfo session = {.now_micros = 0, .user = "tester", .database = "test"};

/* "name type [!] [= default], ...": "!" is NOT NULL. */
static void add_table(const char *name, const char *cols, const char *pk, const char *check) {
    ColumnDef defs[32];
    int n = 0;
    Err e = {0};
    Arena *a = arena_new(&account, &e);
    char *text = arena_strdup(a, cols), *save = NULL;
    for (char *c = strtok_r(text, ";", &save); c; c = strtok_r(NULL, ";", &save)) {
        while (*c == ' ') c++;
        char *type = strchr(c, ' '), *dflt;
        assert_non_null(type);
        *type++ = 0;
        defs[n] = (ColumnDef){.name = c};
        if ((dflt = strchr(type, '='))) {
            *dflt = 0;
            defs[n].default_sql = dflt + 1;
        }
        char *bang = strchr(type, '!');
        if (bang) {
            *bang = 0;
            defs[n].not_null = true;
        }
        long long mods[2];
        int n_mods = 0;
        char *paren = strchr(type, '(');
        if (paren) {
            n_mods = sscanf(paren, "(%lld,%lld", &mods[0], &mods[1]);
            *paren = 0;
        }
        Slice tn = slice_of(type);
        while (tn.len && tn.ptr[tn.len - 1] == ' ') tn.len--;
        int64_t m[2] = {n_mods > 0 ? mods[0] : 0, n_mods > 1 ? mods[1] : 0};
        assert_int_equal(type_from_name(tn, n_mods, m, &defs[n].type, &e), ST_OK);
        n++;
    }
    int key_cols[8], n_key = 0;
    KeyDef key = {.name = "pk", .primary = true, .cols = key_cols};
    char *p = arena_strdup(a, pk ? pk : "");
    for (char *c = strtok_r(p, ",", &save); c; c = strtok_r(NULL, ",", &save))
        for (int i = 0; i < n; i++)
            if (strcmp(defs[i].name, c) == 0) key_cols[n_key++] = i;
    key.n_cols = n_key;
    CheckDef chk = {"positive", check};
    Table *t;
    assert_int_equal(table_new(&account, name, n, defs, n_key > 0, &key, check != NULL, &chk, &t, &e), ST_OK);
    catalog.tables[catalog.n_tables++] = t;
    arena_free(a);
}

static void add_view(const char *name, const char *sql) {
    Err e = {0};
    View *v = view_new(&(View){.name = (char *)(uintptr_t)name, .sql = (char *)(uintptr_t)sql}, &e);
    assert_non_null(v);
    catalog.views[catalog.n_views++] = v;
}

static int setup(void **state) {
    (void)state;
    mem_account_init(&account, NULL, "test", 0, NULL);
    catalog.tables = tables;
    catalog.cap_tables = 32;
    catalog.views = views;
    catalog.cap_views = 16;
    Err e = {0};
    assert_int_equal(composite_space_new(&account, &catalog.rows, &e), ST_OK);
    add_table("t", "a int4 !;b int4;c text;d date;n numeric(15,2);f float8;v varchar(10);ch bpchar(5)", "a", NULL);
    add_table("u", "a int4 !;x int8;y text;ts timestamp", NULL, NULL);
    add_table("w", "id int4 !;qty int4=7;note text='none'", "id", "qty > 0");
    add_table("region", "r_regionkey int4 !;r_name bpchar(25) !;r_comment varchar(152)", "r_regionkey", NULL);
    add_table("nation", "n_nationkey int4 !;n_name bpchar(25) !;n_regionkey int4 !;n_comment varchar(152)",
              "n_nationkey", NULL);
    add_table("part",
              "p_partkey int4 !;p_name varchar(55) !;p_mfgr bpchar(25) !;p_brand bpchar(10) !;p_type varchar(25) "
              "!;p_size int4 !;p_container bpchar(10) !;p_retailprice numeric(15,2) !;p_comment varchar(23) !",
              "p_partkey", NULL);
    add_table("supplier",
              "s_suppkey int4 !;s_name bpchar(25) !;s_address varchar(40) !;s_nationkey int4 !;s_phone bpchar(15) "
              "!;s_acctbal numeric(15,2) !;s_comment varchar(101) !",
              "s_suppkey", NULL);
    add_table("partsupp",
              "ps_partkey int4 !;ps_suppkey int4 !;ps_availqty int4 !;ps_supplycost numeric(15,2) !;ps_comment "
              "varchar(199) !",
              "ps_partkey,ps_suppkey", NULL);
    add_table("customer",
              "c_custkey int4 !;c_name varchar(25) !;c_address varchar(40) !;c_nationkey int4 !;c_phone bpchar(15) "
              "!;c_acctbal numeric(15,2) !;c_mktsegment bpchar(10) !;c_comment varchar(117) !",
              "c_custkey", NULL);
    add_table("orders",
              "o_orderkey int8 !;o_custkey int4 !;o_orderstatus bpchar(1) !;o_totalprice numeric(15,2) !;o_orderdate "
              "date !;o_orderpriority bpchar(15) !;o_clerk bpchar(15) !;o_shippriority int4 !;o_comment varchar(79) !",
              "o_orderkey", NULL);
    add_table("lineitem",
              "l_orderkey int8 !;l_partkey int4 !;l_suppkey int4 !;l_linenumber int4 !;l_quantity numeric(15,2) "
              "!;l_extendedprice numeric(15,2) !;l_discount numeric(15,2) !;l_tax numeric(15,2) !;l_returnflag "
              "bpchar(1) !;l_linestatus bpchar(1) !;l_shipdate date !;l_commitdate date !;l_receiptdate date "
              "!;l_shipinstruct bpchar(25) !;l_shipmode bpchar(10) !;l_comment varchar(44) !",
              "l_orderkey,l_linenumber", NULL);
    add_view("tv", "select a, b + 1 as b1 from t where b > 0");
    add_view("loop1", "select * from loop2");
    add_view("loop2", "select * from loop1");
    return 0;
}

static int teardown(void **state) {
    (void)state;
    for (int64_t i = 0; i < catalog.n_tables; i++) table_free(catalog.tables[i]);
    for (int64_t i = 0; i < catalog.n_views; i++) view_free(catalog.views[i]);
    composite_space_free(catalog.rows);
    return 0;
}

typedef struct Bound {
    Arena *arena;
    PlanCtx c;
    BoundStmt *s;
    Err e;
    Status st;
} Bound;

static void bind_text(Bound *b, const char *sql) {
    memset(b, 0, sizeof *b);
    b->arena = arena_new(&account, &b->e);
    b->c = (PlanCtx){.arena = b->arena, .err = &b->e, .catalog = &catalog, .session = &session};
    AstStmt **stmts;
    int64_t n;
    b->st = sql_parse(b->arena, slice_of(sql), &stmts, &n, &b->e);
    if (b->st == ST_OK) {
        assert_int_equal(n, 1);
        b->st = sql_bind(&b->c, stmts[0], 0, NULL, &b->s);
    }
}

static void ok(const char *sql) {
    Bound b;
    bind_text(&b, sql);
    if (b.st != ST_OK)
        print_error("%s\n  %s %s (position %lld)\n", sql, b.e.sqlstate, b.e.message, (long long)b.e.position);
    assert_int_equal(b.st, ST_OK);
    Err e = {0};
    if (plan_verify(&b.c, b.s->plan, &e) != ST_OK) {
        print_error("%s\n  %s\n", sql, e.message);
        fail();
    }
    ColSet out = colset_new(&b.c), free_cols = colset_new(&b.c), none = colset_new(&b.c);
    plan_outputs(&b.c, b.s->plan, &out);
    plan_free_cols(&b.c, b.s->plan, &free_cols);
    for (int32_t i = 0; i < b.s->n_result; i++) {
        if (!colset_has(&out, b.s->result[i])) print_error("%s\n  result %d\n", sql, i);
        assert_true(colset_has(&out, b.s->result[i]));
        assert_int_not_equal(b.c.cols.items[b.s->result[i]].type.id, T_UNKNOWN);
    }
    assert_true(colset_subset(&free_cols, &none));
    arena_free(b.arena);
}

/* The result's columns as "name:type, ...". */
static void types(const char *sql, const char *want) {
    Bound b;
    bind_text(&b, sql);
    if (b.st != ST_OK) print_error("%s\n  %s %s\n", sql, b.e.sqlstate, b.e.message);
    assert_int_equal(b.st, ST_OK);
    char got[2000] = "", name[TYPE_NAME_MAX];
    for (int32_t i = 0; i < b.s->n_result; i++) {
        size_t n = strlen(got);
        snprintf(got + n, sizeof got - n, "%s%s:%s", i ? ", " : "", b.s->names[i],
                 type_name(b.c.cols.items[b.s->result[i]].type, &name));
    }
    assert_string_equal(got, want);
    arena_free(b.arena);
}

/* `at` is the text at which the error must point (NULL: not checked). */
static void fails(const char *sql, const char *state, const char *at) {
    Bound b;
    bind_text(&b, sql);
    if (b.st == ST_OK) print_error("no error: %s\n", sql);
    assert_int_equal(b.st, ST_ERROR);
    if (strcmp(b.e.sqlstate, state) != 0) print_error("%s\n  %s %s\n", sql, b.e.sqlstate, b.e.message);
    assert_string_equal(b.e.sqlstate, state);
    if (at) {
        int64_t want = strstr(sql, at) - sql + 1;
        if (want != b.e.position) print_error("%s\n  %s at %lld\n", sql, b.e.message, (long long)b.e.position);
        assert_int_equal(b.e.position, want);
    }
    arena_free(b.arena);
}

static void message(const char *sql, const char *text, const char *hint) {
    Bound b;
    bind_text(&b, sql);
    assert_int_equal(b.st, ST_ERROR);
    assert_string_equal(b.e.message, text);
    if (hint) assert_string_equal(b.e.hint, hint);
    arena_free(b.arena);
}

static void test_select(void **state) {
    (void)state;
    ok("select 1");
    ok("select * from t");
    ok("select t.*, u.a from t, u where t.a = u.a");
    ok("select a as k, b + 1 from t where c like 'x%' and d between date '1994-01-01' and '1995-01-01' order by k "
       "desc, 2 limit 3 offset 1");
    ok("select a from t order by b, f + 1");
    ok("select distinct a, b from t order by b");
    ok("select distinct a, a from t");
    ok("select distinct on (b) b, a, f from t order by b, a desc");
    ok("select distinct on (b + 1) a from t");
    ok("select (select max(x) from u where u.a = t.a) from t");
    ok("select a from t where exists (select 1 from u where u.a = t.a and x in (select a from w where id = t.b))");
    ok("select a from t where a not in (select a from u) or b > all (select x from u) or (a, b) in (select a, x from "
       "u)");
    ok("select (a, b) < (1, 2), (a, b) = (1, 2), row(a, b) is null, (a, c) in ((1, 'x'), (2, 'y')) from t");
    ok("select a in (1, 2, 3), c in ('x', 'y'), n in (1, 2.5), a = any ('{1,2}'), c <> all (array['x', 'y']), a = any "
       "(array[]::int[]) from t");
    ok("select case when a > 1 then 'x' else 'y' end, case a when 1 then 1.5 when 2 then 2 end, coalesce(b, 0), "
       "nullif(c, ''), greatest(a, 1.5) from t");
    ok("select extract(year from d), extract(epoch from ts), date_part('month', d), ts at time zone 'UTC' from t, u");
    ok("select d + interval '3 months', d - date '2000-01-01', current_date, now(), localtimestamp(3), current_user "
       "from t");
    ok("select substring(c from 1 for 2), position('x' in c), trim(both ' ' from c), c || 'x', upper(v), ch || 'x' "
       "from t");
    ok("select a is distinct from b, not (a = b), a is null, (a > b) is true, (a = b) is unknown from t");
    ok("values (1, 'a'), (2, null) order by 1 desc limit 1");
    ok("select x from (values (1, 'a'), (2, 'b')) as q(x, y)");
    ok("select * from generate_series(1, 10) as g(i), generate_series(1, 3::bigint)");
    ok("select * from generate_series(timestamp '2000-01-01', '2000-02-01', '1 day') g");
    ok("select generate_series(1, a) from t");
    ok("select 1 from t where false limit 0");
    ok("select a from t limit null");
    ok("select a from tv where b1 > 1 or b1 is null or true");
}

static void test_joins(void **state) {
    (void)state;
    ok("select * from t join u on t.a = u.a left join w on w.id = t.b");
    ok("select a, t.b, x from t join u using (a)");
    ok("select a, x from t full join u using (a) where a > 1");
    ok("select a, t.a, u.a from t right join u using (a)");
    ok("select a from t natural join u");
    ok("select * from t left join u on t.a = u.a and u.x > (select max(id) from w)");
    ok("select j.a, x from (t join u using (a)) as j");
    ok("select m.a, t.b from t join u using (a) as m");
    ok("select * from t cross join u");
    ok("select * from t, lateral (select x from u where u.a = t.a limit 1) l");
    ok("select * from t left join lateral (select max(x) as mx from u where u.a = t.a) l on true");
    ok("select * from t, generate_series(1, t.a) g");
    ok("select t1.a, t2.a from t t1 join t t2 on t1.a = t2.b");
    types("select * from t natural join (select a, 1 as z from u) q",
          "a:integer, b:integer, c:text, d:date, n:numeric(15,2), f:double precision, v:character varying(10), "
          "ch:character(5), z:integer");
    types("select a from t full join (select x as a from u) q using (a)", "a:bigint");
}

static void test_groups(void **state) {
    (void)state;
    ok("select b, sum(a), count(*), avg(n), min(c) from t group by b having count(*) > 1 order by sum(a) desc, b");
    ok("select b + 1, count(distinct c) from t group by b + 1");
    ok("select b as k, count(*) filter (where a > 1) from t group by k order by 2");
    ok("select b, c, count(*) from t group by 1, 2");
    ok("select a, c, n, count(*) from t group by a"); /* primary key */
    ok("select t.a, t.c, sum(u.x) from t join u on t.a = u.a group by t.a");
    ok("select count(*) from t having count(*) > 0");
    ok("select 1 from t having true");
    ok("select sum(a) + sum(a) * 2 from t");
    ok("select b, (select max(x) from u where u.a = t.b) from t group by b");
    ok("select b, (select count(*) from u where u.a = sum(t.a)) from t group by b");
    ok("select (select sum(t.a) from u limit 1) from t");
    ok("select b from t group by b having exists (select 1 from u where u.a = t.b and u.x > count(t.a))");
    ok("select case when b = 1 then 'x' else 'y' end as k, sum(f) from t group by k");
    ok("select string_agg(c, ','), bool_and(a > 1), stddev(f), any_value(b) from t");
    ok("select b, c from t group by (b, c)");
    ok("select count(*) from t group by ()");
    types("select count(*), sum(a), sum(x), min(n), max(v) from t join u using (a)",
          "count:bigint, sum:bigint, sum:numeric(38,0), min:numeric(15,2), max:text");
}

static void test_setops(void **state) {
    (void)state;
    ok("select a from t union select x from u order by a");
    ok("select a, c from t union all select x, null from u union all select 1, 'z'");
    ok("select null union all select 1");
    ok("(select a from t order by a limit 1) union all (select a from u limit 2) limit 3");
    ok("select a from t intersect select a from u except all select 5");
    ok("select * from (select a from t union select b from t) q where a > 1");
    ok("select a from t where a in (select a from u union select 3)");
    ok("values (1), (2) union all select a from t");
    types("select 1 as i union all select 2.5", "i:numeric(11,1)");
    types("select null as i union select a from t", "i:integer");
}

static void test_with(void **state) {
    (void)state;
    ok("with q as (select a, b from t) select * from q");
    ok("with q as (select a, b from t) select * from q q1 join q q2 on q1.a = q2.b");
    ok("with q as materialized (select a from t) select * from q");
    ok("with q(x, y) as (select a, b from t), r as (select x from q where y > 1) select * from r, q");
    ok("with q as (select 1 as a) select * from (with q as (select 2 as b) select b from q) s, q");
    ok("with unused as (select 1) select 2");
    ok("with recursive q as (select 1 as a) select a from q");
    ok("select (with q as (select t.a as z) select z from q) from t");
    ok("with q as (select a from t) select a from t where a in (select a from q) and exists (select 1 from q where q.a "
       "= t.b)");
    ok("with q as (select a from t) insert into u (a, x) select a, a from q");
}

static void test_dml(void **state) {
    (void)state;
    ok("insert into t values (1, 2, 'x', '2000-01-01', 1.5, 2, 'v', 'c')");
    ok("insert into t (a, c) values (1, 'x'), (2, default), (3, null)");
    ok("insert into w default values");
    ok("insert into w (id) select a from t returning id, qty + 1 as q");
    ok("insert into t (a, n) select 1, '1.5'");
    ok("insert into t (a, n, d) values (1, 1.257, '1999-01-01') returning *");
    ok("insert into w (id) values (1) on conflict (id) do nothing");
    ok("insert into w values (1, 2) on conflict do nothing");
    ok("insert into w (id) values (1) on conflict (id) do update set qty = excluded.qty + w.qty where w.qty > 0 "
       "returning *");
    ok("update w set qty = qty + 1, note = default where id = 3 returning *");
    ok("update w set (qty, note) = (1, 'x')");
    ok("update w set (qty, note) = (select a, c from t where t.a = w.id)");
    ok("update w set qty = t.b from t where t.a = w.id returning w.id, t.c, qty");
    ok("update w as z set qty = z.qty * 2");
    ok("delete from w where id in (select a from t)");
    ok("delete from w using t where t.a = w.id returning w.*, t.c");
    fails("insert into w values (1, 2, 'x', 4)", "42601", "4)");
    fails("insert into w (id, qty) values (1)", "42601", "qty");
    fails("insert into w (id, id) values (1, 2)", "42701", NULL);
    fails("insert into w (id, zz) values (1, 2)", "42703", "zz");
    fails("insert into t (a, d) values (1, 5)", "42804", "5)");
    fails("insert into t (a) values ('x1')", "22P02", "'x1'");
    fails("insert into t (a) values (1, 2), (3)", "42601", NULL);
    fails("insert into w (id) values (1) on conflict (qty) do nothing", "42P10", NULL);
    fails("insert into w (id) values (1) on conflict (id) do update set qty = qty", "42702", NULL);
    fails("insert into w (id) values (1) on conflict do update set qty = 1", "42601", NULL);
    fails("insert into tv values (1, 2)", "0A000", NULL);
    fails("update w set zz = 1", "42703", "zz");
    fails("update w set qty = 1, qty = 2", "42601", NULL);
    fails("update w set qty = sum(id)", "42803", "sum");
    fails("update w set qty = 'abc'", "22P02", "'abc'");
    fails("delete from nope", "42P01", "nope");
}

static void test_params(void **state) {
    (void)state;
    Bound b;
    bind_text(&b, "select a + $1, $2 from t where d > $3 and n = $4 and c like $5 limit $6");
    assert_int_equal(b.st, ST_OK);
    assert_int_equal(b.s->n_params, 6);
    static const uint8_t want[] = {T_INT4, T_TEXT, T_DATE, T_NUMERIC, T_TEXT, T_INT8};
    for (int i = 0; i < 6; i++) assert_int_equal(b.s->param_types[i].id, want[i]);
    Value v[6];
    for (int i = 0; i < 6; i++) {
        static const char *const text[] = {"5", "x", "1999-12-31", "1.25", "a%", "3"};
        v[i] = (Value){.type = type_make(T_UNKNOWN)};
        v[i].u.str = str_make(text[i], (int64_t)strlen(text[i]));
    }
    assert_int_equal(sql_bind_params(&b.c, b.s, 6, v), ST_OK);
    assert_int_equal(b.s->plan->kind, LP_LIMIT);
    assert_int_equal(b.s->plan->limit.rows, 3);
    Err e = {0};
    assert_int_equal(plan_verify(&b.c, b.s->plan, &e), ST_OK);
    arena_free(b.arena);
    fails("select $1::int + $1::text", "42883", NULL);
    fails("select * from t where a = $1 and c = $1", "42883", NULL);
    bind_text(&b, "select a from t limit $1");
    v[0].u.str = str_make("-1", 2);
    assert_int_equal(sql_bind_params(&b.c, b.s, 1, v), ST_ERROR);
    assert_string_equal(b.e.sqlstate, "2201W");
    arena_free(b.arena);
}

static void test_errors(void **state) {
    (void)state;
    fails("select zz from t", "42703", "zz");
    fails("select t.zz from t", "42703", "t.zz");
    fails("select * from nope", "42P01", "nope");
    fails("select x.a from t", "42P01", "x.a");
    fails("select a from t, u", "42702", "a from");
    fails("select t.a from t as z", "42P01", "t.a");
    fails("select a + 'x' from t", "22P02", "'x'");
    fails("select a + c from t", "42883", "+ c");
    fails("select nofunc(a) from t", "42883", "nofunc");
    fails("select a from t where a", "42804", NULL);
    fails("select a from t where sum(a) > 1", "42803", "sum");
    fails("select sum(sum(a)) from t", "42803", "sum");
    fails("select a, sum(b) from t group by b", "42803", "a,");
    fails("select b, a + 1 from t group by b", "42803", "a +");
    fails("select b, (select x from u where u.a = t.f limit 1) from t group by b", "42803", "t.f");
    fails("select x, y from u group by x", "42803", "y from");
    fails("select sum(a) from t group by sum(a)", "42803", NULL);
    fails("select a from t group by 3", "42P10", "3");
    fails("select a from t order by 2", "42P10", "2");
    fails("select a from t order by 'x'", "42601", "'x'");
    fails("select distinct a from t order by ch", "42P10", "ch");
    fails("select a from t union select a, b from t", "42601", NULL);
    fails("select a from t union select c from t", "42804", "c from");
    fails("select a from t union select a from u order by a + 1", "0A000", NULL);
    fails("select a from t limit -1", "2201W", NULL);
    fails("select a from t offset -1", "2201X", NULL);
    fails("select a from t limit ch", "42P10", "ch");
    fails("select case when a > 1 then 1 else c end from t", "42804", NULL);
    fails("select (select a, b from t)", "42601", NULL);
    fails("select a in (select a, b from t) from t", "42601", NULL);
    fails("select a from t where row_number() over () = 1", "42P20", NULL);
    fails("select b from t group by rollup (a)", "42803", NULL);
    fails("with recursive q as (select 1 as a intersect select a + 1 from q) select * from q", "42P19", NULL);
    fails("with q as (select 1), q as (select 2) select 1", "42712", NULL);
    fails("with q(a, b) as (select 1) select 1", "42P10", NULL);
    fails("select * from t a, u a", "42712", NULL);
    fails("select * from t join u using (b)", "42703", NULL);
    fails("select * from t, (select t.a) q", "42P01", "t.a)");
    fails("select * from u right join lateral (select u.a) q on true", "42P10", "u.a)");
    fails("select date 'x'", "22007", "'x'");
    fails("select '5'::int + 'q'::int", "22P02", "'q'");
    fails("select 1::date", "42846", NULL);
    fails("select 1::nosuch", "42704", "nosuch");
    fails("select extract(fortnight from d) from t", "22023", NULL);
    fails("select * ", "42601", NULL);
    fails("select (1, 2) = (1, 2, 3)", "42601", NULL);
    fails("select * from loop1", "42P17", "loop1");
    fails("select lower(distinct c) from t", "42809", NULL);
    fails("select count() from t", "42809", NULL);
    fails("select a from t where c collate \"de_DE\" = 'x'", "42704", NULL);
    message("select l_quantitty from lineitem l", "column \"l_quantitty\" does not exist",
            "Perhaps you meant to reference the column \"l.l_quantity\".");
    message("select lineitem.l_tax from lineitem l", "invalid reference to FROM-clause entry for table \"lineitem\"",
            "Perhaps you meant to reference the table alias \"l\".");
    message("select a, sum(b) from t x group by b",
            "column \"x.a\" must appear in the GROUP BY clause or be used in an aggregate function", NULL);
    message("select a + c from t", "operator does not exist: integer + text", NULL);
    message("select t.nope from t", "column t.nope does not exist", NULL);
}

static void test_literals(void **state) {
    (void)state;
    types("select 1, 3000000000, 0.05, 1.50, 1e3, 'x', null, true, date '1994-01-01', interval '3' month",
          "?column?:integer, ?column?:bigint, ?column?:numeric(2,2), ?column?:numeric(3,2), ?column?:numeric(4,0), "
          "?column?:text, "
          "?column?:text, ?column?:boolean, date:date, interval:interval month");
    types("select a::bigint as x, cast(c as varchar(3)), 'x'::char(2), case when true then b else 0 end, coalesce(n, "
          "1) from t",
          "x:bigint, c:character varying(3), bpchar:character(2), case:integer, coalesce:numeric(15,2)");
    types("select l_extendedprice * (1 - l_discount) as r, extract(year from l_shipdate) from lineitem",
          "r:numeric(31,4), extract:numeric(10,0)");
}

static void test_depth(void **state) {
    (void)state;
    int n = 200000;
    char *sql = malloc((size_t)n * 2 + 32);
    assert_non_null(sql);
    strcpy(sql, "select 1");
    for (int i = 0; i < n; i++) strcpy(sql + 8 + 2 * i, "+1");
    fails(sql, "54001", NULL);
    free(sql);
    Arena *a = arena_new(&account, NULL);
    const char *q = "select 1";
    for (int i = 0; i < 100; i++) q = arena_printf(a, "select (%s)", q);
    ok(q);
    arena_free(a);
}

static void test_many_rows(void **state) {
    (void)state;
    int n = 100000;
    size_t cap = (size_t)n * 24 + 64, len;
    char *sql = malloc(cap);
    assert_non_null(sql);
    len = (size_t)snprintf(sql, cap, "insert into w (id, note) values ");
    for (int i = 0; i < n; i++) len += (size_t)snprintf(sql + len, cap - len, "%s(%d,'n%d')", i ? "," : "", i, i % 10);
    ok(sql);
    free(sql);
}

static void test_tpch(void **state) {
    (void)state;
    static const char *const roots[] = {".", "..", "../..", "../../.."};
    const char *root = getenv("STELE_SOURCE_DIR");
    for (int q = 1; q <= 22; q++) {
        char path[4096];
        FILE *f = NULL;
        if (root) {
            snprintf(path, sizeof path, "%s/bench/tpch/queries/q%02d.sql", root, q);
            f = fopen(path, "rb");
        }
        for (int i = 0; !f && i < 4; i++) {
            snprintf(path, sizeof path, "%s/bench/tpch/queries/q%02d.sql", roots[i], q);
            f = fopen(path, "rb");
        }
        if (!f) fail_msg("%s: not found", path);
        char text[8192];
        size_t len = fread(text, 1, sizeof text - 1, f);
        fclose(f);
        text[len] = 0;
        ok(text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_select), cmocka_unit_test(test_joins),     cmocka_unit_test(test_groups),
        cmocka_unit_test(test_setops), cmocka_unit_test(test_with),      cmocka_unit_test(test_dml),
        cmocka_unit_test(test_params), cmocka_unit_test(test_errors),    cmocka_unit_test(test_literals),
        cmocka_unit_test(test_depth),  cmocka_unit_test(test_many_rows), cmocka_unit_test(test_tpch),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
