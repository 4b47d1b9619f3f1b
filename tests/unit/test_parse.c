/* test_parse.c - the parser: every construct of the AST, error positions, limits, threads.
 *
 * Trees are compared as ast_dump() text. As the conversion reads another library's structs, a
 * construct that is tested here is also a check that the vendored headers fit that library. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "base/stack.h"
#include "sql/parse/parse.h"

typedef struct Fixture {
    MemAccount acct;
    Err err;
    Arena *arena;
    AstStmt **stmts;
    int64_t n;
} Fixture;

static void open_fixture(Fixture *f) {
    memset(f, 0, sizeof *f);
    mem_account_init(&f->acct, NULL, "test", 0, NULL);
    f->arena = arena_new(&f->acct, &f->err);
    assert_non_null(f->arena);
}
static void close_fixture(Fixture *f) {
    arena_free(f->arena);
    assert_int_equal(atomic_load(&f->acct.used), 0);
}

/* Parses one statement and compares its dump. */
static void check_dump(const char *sql, const char *want) {
    Fixture f;
    open_fixture(&f);
    if (sql_parse(f.arena, slice_of(sql), &f.stmts, &f.n, &f.err) != ST_OK)
        fail_msg("%s: %s %s", sql, f.err.sqlstate, f.err.message);
    assert_int_equal(f.n, 1);
    assert_string_equal(ast_dump(f.arena, f.stmts[0]), want);
    close_fixture(&f);
}
#define SEL(x) "(select (targets " x "))"

static void check_kind(const char *sql, AstKind kind, const char *tag) {
    Fixture f;
    open_fixture(&f);
    if (sql_parse(f.arena, slice_of(sql), &f.stmts, &f.n, &f.err) != ST_OK)
        fail_msg("%s: %s %s", sql, f.err.sqlstate, f.err.message);
    assert_int_equal(f.n, 1);
    if (f.stmts[0]->kind != kind) fail_msg("%s: kind is %s", sql, ast_kind_name(f.stmts[0]->kind));
    assert_string_equal(ast_stmt_tag(f.stmts[0]), tag);
    assert_non_null(ast_dump(f.arena, f.stmts[0]));
    close_fixture(&f);
}

static void check_error(Slice sql, const char *state, int64_t position, const char *message) {
    Fixture f;
    open_fixture(&f);
    if (sql_parse(f.arena, sql, &f.stmts, &f.n, &f.err) == ST_OK)
        fail_msg("no error: %.*s", (int)MIN_OF(sql.len, 200), sql.ptr);
    assert_string_equal(f.err.sqlstate, state);
    if (position >= 0) assert_int_equal(f.err.position, position);
    if (message) assert_string_equal(f.err.message, message);
    close_fixture(&f);
}

static const char *const tpch[] = {
    /* Q1 */
    "select l_returnflag, l_linestatus, sum(l_quantity) as sum_qty, sum(l_extendedprice) as sum_base_price, "
    "sum(l_extendedprice * (1 - l_discount)) as sum_disc_price, sum(l_extendedprice * (1 - l_discount) * (1 + "
    "l_tax)) as sum_charge, avg(l_quantity) as avg_qty, avg(l_extendedprice) as avg_price, avg(l_discount) as "
    "avg_disc, count(*) as count_order from lineitem where l_shipdate <= date '1998-12-01' - interval '90' day "
    "group by l_returnflag, l_linestatus order by l_returnflag, l_linestatus",
    /* Q2 */
    "select s_acctbal, s_name, n_name, p_partkey, p_mfgr, s_address, s_phone, s_comment from part, supplier, "
    "partsupp, nation, region where p_partkey = ps_partkey and s_suppkey = ps_suppkey and p_size = 15 and p_type "
    "like '%BRASS' and s_nationkey = n_nationkey and n_regionkey = r_regionkey and r_name = 'EUROPE' and "
    "ps_supplycost = (select min(ps_supplycost) from partsupp, supplier, nation, region where p_partkey = "
    "ps_partkey and s_suppkey = ps_suppkey and s_nationkey = n_nationkey and n_regionkey = r_regionkey and r_name = "
    "'EUROPE') order by s_acctbal desc, n_name, s_name, p_partkey limit 100",
    /* Q3 */
    "select l_orderkey, sum(l_extendedprice * (1 - l_discount)) as revenue, o_orderdate, o_shippriority from "
    "customer, orders, lineitem where c_mktsegment = 'BUILDING' and c_custkey = o_custkey and l_orderkey = "
    "o_orderkey and o_orderdate < date '1995-03-15' and l_shipdate > date '1995-03-15' group by l_orderkey, "
    "o_orderdate, o_shippriority order by revenue desc, o_orderdate limit 10",
    /* Q4 */
    "select o_orderpriority, count(*) as order_count from orders where o_orderdate >= date '1993-07-01' and "
    "o_orderdate < date '1993-07-01' + interval '3' month and exists (select * from lineitem where l_orderkey = "
    "o_orderkey and l_commitdate < l_receiptdate) group by o_orderpriority order by o_orderpriority",
    /* Q5 */
    "select n_name, sum(l_extendedprice * (1 - l_discount)) as revenue from customer, orders, lineitem, supplier, "
    "nation, region where c_custkey = o_custkey and l_orderkey = o_orderkey and l_suppkey = s_suppkey and "
    "c_nationkey = s_nationkey and s_nationkey = n_nationkey and n_regionkey = r_regionkey and r_name = 'ASIA' and "
    "o_orderdate >= date '1994-01-01' and o_orderdate < date '1994-01-01' + interval '1' year group by n_name order "
    "by revenue desc",
    /* Q6 */
    "select sum(l_extendedprice * l_discount) as revenue from lineitem where l_shipdate >= date '1994-01-01' and "
    "l_shipdate < date '1994-01-01' + interval '1' year and l_discount between 0.06 - 0.01 and 0.06 + 0.01 and "
    "l_quantity < 24",
    /* Q7 */
    "select supp_nation, cust_nation, l_year, sum(volume) as revenue from (select n1.n_name as supp_nation, "
    "n2.n_name as cust_nation, extract(year from l_shipdate) as l_year, l_extendedprice * (1 - l_discount) as "
    "volume from supplier, lineitem, orders, customer, nation n1, nation n2 where s_suppkey = l_suppkey and "
    "o_orderkey = l_orderkey and c_custkey = o_custkey and s_nationkey = n1.n_nationkey and c_nationkey = "
    "n2.n_nationkey and ((n1.n_name = 'FRANCE' and n2.n_name = 'GERMANY') or (n1.n_name = 'GERMANY' and n2.n_name = "
    "'FRANCE')) and l_shipdate between date '1995-01-01' and date '1996-12-31') as shipping group by supp_nation, "
    "cust_nation, l_year order by supp_nation, cust_nation, l_year",
    /* Q8 */
    "select o_year, sum(case when nation = 'BRAZIL' then volume else 0 end) / sum(volume) as mkt_share from (select "
    "extract(year from o_orderdate) as o_year, l_extendedprice * (1 - l_discount) as volume, n2.n_name as nation "
    "from part, supplier, lineitem, orders, customer, nation n1, nation n2, region where p_partkey = l_partkey and "
    "s_suppkey = l_suppkey and l_orderkey = o_orderkey and o_custkey = c_custkey and c_nationkey = n1.n_nationkey "
    "and n1.n_regionkey = r_regionkey and r_name = 'AMERICA' and s_nationkey = n2.n_nationkey and o_orderdate "
    "between date '1995-01-01' and date '1996-12-31' and p_type = 'ECONOMY ANODIZED STEEL') as all_nations group by "
    "o_year order by o_year",
    /* Q9 */
    "select nation, o_year, sum(amount) as sum_profit from (select n_name as nation, extract(year from o_orderdate) "
    "as o_year, l_extendedprice * (1 - l_discount) - ps_supplycost * l_quantity as amount from part, supplier, "
    "lineitem, partsupp, orders, nation where s_suppkey = l_suppkey and ps_suppkey = l_suppkey and ps_partkey = "
    "l_partkey and p_partkey = l_partkey and o_orderkey = l_orderkey and s_nationkey = n_nationkey and p_name like "
    "'%green%') as profit group by nation, o_year order by nation, o_year desc",
    /* Q10 */
    "select c_custkey, c_name, sum(l_extendedprice * (1 - l_discount)) as revenue, c_acctbal, n_name, c_address, "
    "c_phone, c_comment from customer, orders, lineitem, nation where c_custkey = o_custkey and l_orderkey = "
    "o_orderkey and o_orderdate >= date '1993-10-01' and o_orderdate < date '1993-10-01' + interval '3' month and "
    "l_returnflag = 'R' and c_nationkey = n_nationkey group by c_custkey, c_name, c_acctbal, c_phone, n_name, "
    "c_address, c_comment order by revenue desc limit 20",
    /* Q11 */
    "select ps_partkey, sum(ps_supplycost * ps_availqty) as value from partsupp, supplier, nation where ps_suppkey "
    "= s_suppkey and s_nationkey = n_nationkey and n_name = 'GERMANY' group by ps_partkey having sum(ps_supplycost "
    "* ps_availqty) > (select sum(ps_supplycost * ps_availqty) * 0.0001000000 from partsupp, supplier, nation where "
    "ps_suppkey = s_suppkey and s_nationkey = n_nationkey and n_name = 'GERMANY') order by value desc",
    /* Q12 */
    "select l_shipmode, sum(case when o_orderpriority = '1-URGENT' or o_orderpriority = '2-HIGH' then 1 else 0 end) "
    "as high_line_count, sum(case when o_orderpriority <> '1-URGENT' and o_orderpriority <> '2-HIGH' then 1 else 0 "
    "end) as low_line_count from orders, lineitem where o_orderkey = l_orderkey and l_shipmode in ('MAIL', 'SHIP') "
    "and l_commitdate < l_receiptdate and l_shipdate < l_commitdate and l_receiptdate >= date '1994-01-01' and "
    "l_receiptdate < date '1994-01-01' + interval '1' year group by l_shipmode order by l_shipmode",
    /* Q13 */
    "select c_count, count(*) as custdist from (select c_custkey, count(o_orderkey) from customer left outer join "
    "orders on c_custkey = o_custkey and o_comment not like '%special%requests%' group by c_custkey) as c_orders "
    "(c_custkey, c_count) group by c_count order by custdist desc, c_count desc",
    /* Q14 */
    "select 100.00 * sum(case when p_type like 'PROMO%' then l_extendedprice * (1 - l_discount) else 0 end) / "
    "sum(l_extendedprice * (1 - l_discount)) as promo_revenue from lineitem, part where l_partkey = p_partkey and "
    "l_shipdate >= date '1995-09-01' and l_shipdate < date '1995-09-01' + interval '1' month",
    /* Q15 */
    "with revenue (supplier_no, total_revenue) as (select l_suppkey, sum(l_extendedprice * (1 - l_discount)) from "
    "lineitem where l_shipdate >= date '1996-01-01' and l_shipdate < date '1996-01-01' + interval '3' month group "
    "by l_suppkey) select s_suppkey, s_name, s_address, s_phone, total_revenue from supplier, revenue where "
    "s_suppkey = supplier_no and total_revenue = (select max(total_revenue) from revenue) order by s_suppkey",
    /* Q16 */
    "select p_brand, p_type, p_size, count(distinct ps_suppkey) as supplier_cnt from partsupp, part where p_partkey "
    "= ps_partkey and p_brand <> 'Brand#45' and p_type not like 'MEDIUM POLISHED%' and p_size in (49, 14, 23, 45, "
    "19, 3, 36, 9) and ps_suppkey not in (select s_suppkey from supplier where s_comment like "
    "'%Customer%Complaints%') group by p_brand, p_type, p_size order by supplier_cnt desc, p_brand, p_type, p_size",
    /* Q17 */
    "select sum(l_extendedprice) / 7.0 as avg_yearly from lineitem, part where p_partkey = l_partkey and p_brand = "
    "'Brand#23' and p_container = 'MED BOX' and l_quantity < (select 0.2 * avg(l_quantity) from lineitem where "
    "l_partkey = p_partkey)",
    /* Q18 */
    "select c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice, sum(l_quantity) from customer, orders, "
    "lineitem where o_orderkey in (select l_orderkey from lineitem group by l_orderkey having sum(l_quantity) > "
    "300) and c_custkey = o_custkey and o_orderkey = l_orderkey group by c_name, c_custkey, o_orderkey, "
    "o_orderdate, o_totalprice order by o_totalprice desc, o_orderdate limit 100",
    /* Q19 */
    "select sum(l_extendedprice * (1 - l_discount)) as revenue from lineitem, part where (p_partkey = l_partkey and "
    "p_brand = 'Brand#12' and p_container in ('SM CASE', 'SM BOX', 'SM PACK', 'SM PKG') and l_quantity >= 1 and "
    "l_quantity <= 1 + 10 and p_size between 1 and 5 and l_shipmode in ('AIR', 'AIR REG') and l_shipinstruct = "
    "'DELIVER IN PERSON') or (p_partkey = l_partkey and p_brand = 'Brand#23' and p_container in ('MED BAG', 'MED "
    "BOX', 'MED PKG', 'MED PACK') and l_quantity >= 10 and l_quantity <= 10 + 10 and p_size between 1 and 10 and "
    "l_shipmode in ('AIR', 'AIR REG') and l_shipinstruct = 'DELIVER IN PERSON') or (p_partkey = l_partkey and "
    "p_brand = 'Brand#34' and p_container in ('LG CASE', 'LG BOX', 'LG PACK', 'LG PKG') and l_quantity >= 20 and "
    "l_quantity <= 20 + 10 and p_size between 1 and 15 and l_shipmode in ('AIR', 'AIR REG') and l_shipinstruct = "
    "'DELIVER IN PERSON')",
    /* Q20 */
    "select s_name, s_address from supplier, nation where s_suppkey in (select ps_suppkey from partsupp where "
    "ps_partkey in (select p_partkey from part where p_name like 'forest%') and ps_availqty > (select 0.5 * "
    "sum(l_quantity) from lineitem where l_partkey = ps_partkey and l_suppkey = ps_suppkey and l_shipdate >= date "
    "'1994-01-01' and l_shipdate < date '1994-01-01' + interval '1' year)) and s_nationkey = n_nationkey and n_name "
    "= 'CANADA' order by s_name",
    /* Q21 */
    "select s_name, count(*) as numwait from supplier, lineitem l1, orders, nation where s_suppkey = l1.l_suppkey "
    "and o_orderkey = l1.l_orderkey and o_orderstatus = 'F' and l1.l_receiptdate > l1.l_commitdate and exists "
    "(select * from lineitem l2 where l2.l_orderkey = l1.l_orderkey and l2.l_suppkey <> l1.l_suppkey) and not "
    "exists (select * from lineitem l3 where l3.l_orderkey = l1.l_orderkey and l3.l_suppkey <> l1.l_suppkey and "
    "l3.l_receiptdate > l3.l_commitdate) and s_nationkey = n_nationkey and n_name = 'SAUDI ARABIA' group by s_name "
    "order by numwait desc, s_name limit 100",
    /* Q22 */
    "select cntrycode, count(*) as numcust, sum(c_acctbal) as totacctbal from (select substring(c_phone from 1 for "
    "2) as cntrycode, c_acctbal from customer where substring(c_phone from 1 for 2) in ('13', '31', '23', '29', "
    "'30', '18', '17') and c_acctbal > (select avg(c_acctbal) from customer where c_acctbal > 0.00 and "
    "substring(c_phone from 1 for 2) in ('13', '31', '23', '29', '30', '18', '17')) and not exists (select * from "
    "orders where o_custkey = c_custkey)) as custsale group by cntrycode order by cntrycode",
};

static void test_tpch(void **state) {
    (void)state;
    for (int64_t i = 0; i < ARRAY_LEN(tpch); i++) {
        Fixture f;
        open_fixture(&f);
        if (sql_parse(f.arena, slice_of(tpch[i]), &f.stmts, &f.n, &f.err) != ST_OK)
            fail_msg("Q%d: %s at %d", (int)i + 1, f.err.message, (int)f.err.position);
        assert_int_equal(f.n, 1);
        assert_int_equal(f.stmts[0]->kind, AST_SELECT);
        assert_non_null(ast_dump(f.arena, f.stmts[0]));
        close_fixture(&f);
    }
}

static const char *const expressions[][2] = {
    {"select null, true, false", "(null) (bool true) (bool false)"},
    {"select 1, -1, 2147483647, 2147483648, -9223372036854775808",
     "(int 1) (int -1) (int 2147483647) (int 2147483648) (int -9223372036854775808)"},
    {"select 9223372036854775808, 1.50, -1e5", "(number \"9223372036854775808\") (number \"1.50\") (number \"-1e5\")"},
    {"select 'it''s', E'a\\nb', $$x'y$$", "(string \"it's\") (string \"a\nb\") (string \"x'y\")"},
    {"select b'101', x'1F'", "(bits \"b101\") (bits \"x1F\")"},
    {"select a, t.a, s.t.a", "(column \"a\") (column table=\"t\" \"a\") (column schema=\"s\" table=\"t\" \"a\")"},
    {"select *, t.*, s.t.*", "(star) (star table=\"t\") (star schema=\"s\" table=\"t\")"},
    {"select \"A b\" as x", "(column \"A b\") as=\"x\""},
    {"select $1 + $2::int", "(op + (param 1) (cast (param 2) int4))"},
    {"select date '1994-01-01'", "(cast (string \"1994-01-01\") date)"},
    {"select interval '3' day, interval '90' month, interval '1 2' day to hour",
     "(cast (string \"3\") interval fields=4) (cast (string \"90\") interval fields=2) (cast (string \"1 2\") "
     "interval fields=12)"},
    {"select interval(3) '1 s', interval '1' second(2)",
     "(cast (string \"1 s\") interval(3)) (cast (string \"1\") interval(2) fields=32)"},
    {"select cast(a as numeric(15,2)), a::char, a::char(3), a::varchar(9), a::double precision",
     "(cast (column \"a\") numeric(15,2)) (cast (column \"a\") bpchar(1)) (cast (column \"a\") bpchar(3)) (cast "
     "(column \"a\") varchar(9)) (cast (column \"a\") float8)"},
    {"select a::timestamp(3) with time zone, a::int[]",
     "(cast (column \"a\") timestamptz(3)) (cast (column \"a\") int4[])"},
    {"select 1 + 2 * 3 - 4", "(op - (op + (int 1) (op * (int 2) (int 3))) (int 4))"},
    {"select -a, a != b, a || b || c", "(op - (column \"a\")) (op <> (column \"a\") (column \"b\")) (op || (op || "
                                       "(column \"a\") (column \"b\")) (column \"c\"))"},
    {"select a and b and c or not d", "(or (and (column \"a\") (column \"b\") (column \"c\")) (not (column \"d\")))"},
    {"select a and (b and c)", "(and (column \"a\") (column \"b\") (column \"c\"))"},
    {"select a is null, a is not null, a is true, a is not false, a is unknown",
     "(is null (column \"a\")) (is not null (column \"a\")) (is true (column \"a\")) (is not false (column \"a\")) "
     "(is unknown (column \"a\"))"},
    {"select a is distinct from b, a is not distinct from b",
     "(distinct_from (column \"a\") (column \"b\")) (distinct_from not (column \"a\") (column \"b\"))"},
    {"select a between 1 and 2, a not between symmetric 2 and 1",
     "(between (column \"a\") (int 1) (int 2)) (between :not :symmetric (column \"a\") (int 2) (int 1))"},
    {"select a in (1, 2), a not in (1), (a, b) in ((1, 2))",
     "(in_list (column \"a\") (items (int 1) (int 2))) (in_list :not (column \"a\") (items (int 1))) (in_list (row "
     "(column \"a\") (column \"b\")) (items (row (int 1) (int 2))))"},
    {"select a in (select 1), a not in (select 1)",
     "(sublink any op=\"=\" (test (column \"a\")) (select (targets (int 1)))) (not (sublink any op=\"=\" (test "
     "(column \"a\")) (select (targets (int 1)))))"},
    {"select a > all (select 1), a = any (array[1,2]), a < some ($1)",
     "(sublink all op=\">\" (test (column \"a\")) (select (targets (int 1)))) (quantified = any (column \"a\") "
     "(array (int 1) (int 2))) (quantified < any (column \"a\") (param 1))"},
    {"select exists (select 1), (select 1), array(select 1)",
     "(sublink exists (select (targets (int 1)))) (sublink scalar (select (targets (int 1)))) (sublink array "
     "(select (targets (int 1))))"},
    {"select case when a then 1 else 2 end, case a when 1 then 'x' end",
     "(case (when (column \"a\")) (then (int 1)) (else (int 2))) (case (arg (column \"a\")) (when (int 1)) (then "
     "(string \"x\")))"},
    {"select coalesce(a, 1), nullif(a, 1), greatest(1, 2), least(1, 2)",
     "(coalesce (column \"a\") (int 1)) (nullif (column \"a\") (int 1)) (greatest (int 1) (int 2)) (least (int 1) "
     "(int 2))"},
    {"select a like 'x%', a not like 'x' escape '!', a ilike 'y', a not ilike 'y', a similar to 'z', a not similar "
     "to 'z' escape '#'",
     "(like like (column \"a\") (string \"x%\")) (like :not like (column \"a\") (string \"x\") (escape (string "
     "\"!\"))) (like ilike (column \"a\") (string \"y\")) (like :not ilike (column \"a\") (string \"y\")) (like "
     "similar (column \"a\") (string \"z\")) (like :not similar (column \"a\") (string \"z\") (escape (string "
     "\"#\")))"},
    {"select count(*), count(distinct a), sum(a) filter (where b), string_agg(a, ',' order by b desc nulls last)",
     "(func count :star) (func count :distinct (column \"a\")) (func sum (column \"a\") (filter (column \"b\"))) "
     "(func string_agg (column \"a\") (string \",\") (order_by (column \"b\") desc nulls last))"},
    {"select percentile_cont(0.5) within group (order by a)",
     "(func percentile_cont :within_group (number \"0.5\") (order_by (column \"a\") asc))"},
    {"select f(a => 1), s.f(variadic a)", "(func f =>\"a\" (int 1)) (func s.f :variadic (column \"a\"))"},
    {"select extract(year from a), position('x' in a), substring(a from 2 for 3), overlay(a placing 'b' from 1), "
     "trim(a), trim(leading 'x' from a), a at time zone 'UTC'",
     "(func extract (string \"year\") (column \"a\")) (func position (column \"a\") (string \"x\")) (func "
     "substring (column \"a\") (int 2) (int 3)) (func overlay (column \"a\") (string \"b\") (int 1)) (func btrim "
     "(column \"a\")) (func ltrim (column \"a\") (string \"x\")) (func timezone (string \"UTC\") (column \"a\"))"},
    {"select row(1, 2), (a, b), array[[1],[2]]",
     "(row (int 1) (int 2)) (row (column \"a\") (column \"b\")) (array (array (int 1)) (array (int 2)))"},
    {"select current_date, current_timestamp(3), localtime, current_user, current_schema",
     "(sql_value 0) (sql_value 2) (sql_value 3) (sql_value 5) (sql_value 8)"},
    {"select grouping(a, b), (a).b, a[1], a[1:2], a collate \"C\"",
     "(grouping (column \"a\") (column \"b\")) (field (column \"a\") \"b\") (subscript (column \"a\") (upper (int "
     "1))) (subscript (column \"a\") :slice (lower (int 1)) (upper (int 2))) (collate (column \"a\") C)"},
    {"select rank() over (partition by a order by b rows between 1 preceding and unbounded following exclude "
     "ties), sum(x) over w",
     "(func rank (window (partition_by (column \"a\")) (order_by (column \"b\") asc) (rows preceding (offset (int "
     "1)) unbounded_following exclude_ties))) (func sum (column \"x\") (window \"w\"))"},
};
static void test_expressions(void **state) {
    (void)state;
    for (int64_t i = 0; i < ARRAY_LEN(expressions); i++) {
        char want[4096];
        snprintf(want, sizeof want, SEL("%s"), expressions[i][1]);
        check_dump(expressions[i][0], want);
    }
}

static void test_queries(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"select distinct a from t", "(select :distinct (targets (column \"a\")) (from (table t)))"},
        {"select distinct on (a) b from s.t as x(p, q)", "(select :distinct (on (column \"a\")) (targets (column "
                                                         "\"b\")) (from (table s.t as=\"x\" (columns \"p\" \"q\"))))"},
        {"select from t", "(select (from (table t)))"},
        {"select 1 from a, only b, lateral (select 1) c, generate_series(1, 2) with ordinality as g(i)",
         "(select (targets (int 1)) (from (table a) (table b :only) (subquery :lateral as=\"c\" (select (targets (int "
         "1)))) (from_func :ordinality as=\"g\" (columns \"i\") (func generate_series (int 1) (int 2)))))"},
        {"select 1 from t tablesample system (1) repeatable (2), rows from (f(1), g(2)) as x",
         "(select (targets (int 1)) (from (table t :sample) (from_func as=\"x\" (func f (int 1)) (func g (int 2)))))"},
        {"select 1 from a join b on x left join c using (p, q) as j",
         "(select (targets (int 1)) (from (join left (join inner (table a) (table b) (on (column \"x\"))) (table c) "
         "(using \"p\" \"q\") using_alias=\"j\")))"},
        {"select 1 from a cross join b natural full join c",
         "(select (targets (int 1)) (from (join full :natural (join cross (table a) (table b)) (table c))))"},
        {"select 1 from (a right join b on x) as z",
         "(select (targets (int 1)) (from (join right as=\"z\" (table a) (table b) (on (column \"x\")))))"},
        {"select a from t group by 1, (a, b), () having x",
         "(select (targets (column \"a\")) (from (table t)) (group_by (expr (int 1)) (expr (row (column \"a\") (column "
         "\"b\"))) (empty)) (having (column \"x\")))"},
        {"select a from t group by rollup (a, b), cube (c), grouping sets ((a, b), (), rollup (c))",
         "(select (targets (column \"a\")) (from (table t)) (group_by (rollup (expr (column \"a\")) (expr (column "
         "\"b\"))) (cube (expr (column \"c\"))) (sets (expr (row (column \"a\") (column \"b\"))) (empty) (rollup (expr "
         "(column \"c\"))))))"},
        {"select a from t window w as (order by a), v as (w range current row)",
         "(select (targets (column \"a\")) (from (table t)) (window \"w\" (order_by (column \"a\") asc)) (window \"v\" "
         "base=\"w\" (range current_row current_row)))"},
        {"select a from t order by a desc, 2 nulls first limit 3 offset 4",
         "(select (targets (column \"a\")) (from (table t)) (order_by (column \"a\") desc (int 2) asc nulls first) "
         "(limit (int 3)) (offset (int 4)))"},
        {"select a from t order by a fetch first 3 rows with ties",
         "(select (targets (column \"a\")) (from (table t)) (order_by (column \"a\") asc) (limit (int 3)) :with_ties)"},
        {"select a from t limit all", "(select (targets (column \"a\")) (from (table t)))"},
        {"select a from t fetch first row only", "(select (targets (column \"a\")) (from (table t)) (limit (int 1)))"},
        {"select 1 union all select 2 intersect select 3 except select 4 order by 1",
         "(select except (select union :all (select (targets (int 1))) (select intersect (select (targets (int 2))) "
         "(select (targets (int 3))))) (select (targets (int 4))) (order_by (int 1) asc))"},
        {"values (1, 'a'), (2, 'b') limit 1",
         "(values (row (int 1) (string \"a\")) (row (int 2) (string \"b\")) (limit (int 1)))"},
        {"table t", "(select (targets (star)) (from (table t)))"},
        {"with recursive a(x) as materialized (select 1), b as not materialized (delete from t returning *) select 1 "
         "from a",
         "(select (with_recursive \"a\" (columns \"x\") materialized (select (targets (int 1))) \"b\" not_materialized "
         "(delete (table t) (returning (star)))) (targets (int 1)) (from (table a)))"},
        {"select 1 for update", "(select (targets (int 1)) :for_update)"},
        {"insert into t default values", "(insert t default_values)"},
        {"insert into s.t as x (a, b) values (1, default) returning a as z",
         "(insert s.t as=\"x\" (columns \"a\" \"b\") (values (row (int 1) (default))) (returning (column \"a\") "
         "as=\"z\"))"},
        {"insert into t select 1 on conflict do nothing", "(insert t (select (targets (int 1))) (do_nothing))"},
        {"insert into t values (1) on conflict (a) do update set b = excluded.b where c",
         "(insert t (values (row (int 1))) (do_update (target (column \"a\")) (set \"b\") (column table=\"excluded\" "
         "\"b\") (where (column \"c\"))))"},
        {"update t x set a = 1, (b, c) = (2, default), (d, e) = (select 1, 2) from u where y returning *",
         "(update (table t as=\"x\") (set \"a\") (int 1) (set \"b\") (int 2) (set \"c\") (default) (set \"d\" \"e\") "
         "(sublink scalar (select (targets (int 1) (int 2)))) (table u) (where (column \"y\")) (returning (star)))"},
        {"delete from t using u, v where x", "(delete (table t) (table u) (table v) (where (column \"x\")))"},
    };
    for (int64_t i = 0; i < ARRAY_LEN(cases); i++) check_dump(cases[i][0], cases[i][1]);
}

static const char *const definitions[][2] = {
    {"create table if not exists s.t (a int primary key, b numeric(15,2) not null default 1 + 2, c text constraint "
     "k check (length(c) > 0) unique, d date default null null references u (x), e varchar(3) default 'a,b' not "
     "null, primary key (a, b), constraint z foreign key (c) references u) with (fillfactor = 70)",
     "(create_table s.t :if_not_exists (column_def a int4 (primary_key)) (column_def b numeric(15,2) (not_null) "
     "(default source=\"1 + 2\" (expr (op + (int 1) (int 2))))) (column_def c text (check name=\"k\" "
     "source=\"length(c) > 0\" (expr (op > (func length (column \"c\")) (int 0)))) (unique)) (column_def d date "
     "(default source=\"null\" (expr (null))) (null) (foreign_key u (ref \"x\"))) (column_def e varchar(3) "
     "(default source=\"'a,b'\" (expr (string \"a,b\"))) (not_null)) (primary_key (columns \"a\" \"b\")) "
     "(foreign_key name=\"z\" (columns \"c\") u) (options \"fillfactor\" =\"70\"))"},
    {"create temp table t (a timestamp with time zone default now()::timestamp with time zone not null)",
     "(create_table t :temporary (column_def a timestamptz (default source=\"now()::timestamp with time zone\" "
     "(expr (cast (func now) timestamptz))) (not_null)))"},
    {"create table t (a) as select 1 with no data",
     "(create_table_as t :with_no_data (columns \"a\") (select (targets (int 1))))"},
    {"create table t with (a = 1, toast.b) as select 1",
     "(create_table_as t (options \"a\" =\"1\" in=\"toast\" \"b\") (select (targets (int 1))))"},
    {"select 1 into t", "(create_table_as t (select (targets (int 1))))"},
    {"create or replace view v (a, b) as -- c\n  select 1 as as_, 2  ",
     "(create_view v :or_replace (columns \"a\" \"b\") source=\"select 1 as as_, 2\" (select (targets (int 1) "
     "as=\"as_\" (int 2))))"},
    {"create unique index i on t using hash (a desc, lower(b)) include (c) where d",
     "(create_index \"i\" t method=\"hash\" :unique column=\"a\" :desc (expr (func lower (column \"b\"))) include "
     "column=\"c\" (where (column \"d\")))"},
    {"reindex (verbose) table s.t", "(reindex table s.t (options \"verbose\"))"},
    {"cluster t using i", "(cluster t using=\"i\")"},
    {"alter index i alter column 2 set statistics 5, cluster on j",
     "(alter_table i (set_statistics) (cluster_on \"j\"))"},
    {"create table t (a int, like s.u including all)", "(create_table t (column_def a int4) like s.u)"},
    {"create schema s", "(create_schema \"s\")"},
    {"drop table if exists a, s.b cascade", "(drop TABLE :if_exists :cascade a s.b)"},
    {"drop sequence q", "(drop SEQUENCE q)"},
    {"truncate a, s.b", "(truncate a s.b)"},
    {"alter table t add column a int not null, drop column b, alter c set not null, alter d drop not null, alter e "
     "set default (1 + 2) * 3, alter f drop default, alter g type bigint using g::bigint, add constraint k unique "
     "(a), drop constraint l",
     "(alter_table t (add_column \"a\" (column_def a int4 (not_null))) (drop_column \"b\") (set_not_null \"c\") "
     "(drop_not_null \"d\") (set_default \"e\" source=\"(1 + 2) * 3\" (expr (op * (op + (int 1) (int 2)) (int "
     "3)))) (drop_default \"f\") (set_type \"g\" (column_def - int8) source=\"g::bigint\" (expr (cast (column "
     "\"g\") int8))) (add_constraint (unique name=\"k\" (columns \"a\"))) (drop_constraint \"l\"))"},
    {"alter table t set (a = 1099511627774, b = 'x', toast.c = on, d), reset (e, toast.f)",
     "(alter_table t (set_options (options \"a\" =\"1099511627774\" \"b\" =\"x\" in=\"toast\" \"c\" =\"on\" "
     "\"d\")) (reset_options (options \"e\" in=\"toast\" \"f\")))"},
    {"alter table t rename to u", "(rename t new=\"u\")"},
    {"alter table t rename column a to b", "(rename t old=\"a\" new=\"b\")"},
    {"comment on column s.t.a is 'x'", "(comment COLUMN s.t part=\"a\" \"x\")"},
    {"comment on function f(int) is null", "(comment FUNCTION f (params (in int4)))"},
    {"comment on constraint c on domain s.d is 'x'", "(comment CONSTRAINT s.d part=\"c\" \"x\")"},
    {"copy t (a, b) from '/x' with (format csv, header, delimiter '|', force_null (a))",
     "(copy from t (columns \"a\" \"b\") path=\"/x\" (options \"format\" =\"csv\" \"header\" \"delimiter\" =\"|\" "
     "\"force_null\" (list \"a\")))"},
    {"copy (select 1) to stdout csv header",
     "(copy to (options \"format\" =\"csv\" \"header\" =\"true\") (select (targets (int 1))))"},
    {"start transaction isolation level serializable, read only",
     "(transaction BEGIN (options \"transaction_isolation\" =\"serializable\" \"transaction_read_only\" =\"1\"))"},
    {"rollback to savepoint x", "(transaction ROLLBACK \"x\")"},
    {"prepare p (int, text) as select $1",
     "(prepare \"p\" int4 text source=\"select $1\" (select (targets (param 1))))"},
    {"execute p (1, 'a')", "(execute \"p\" (int 1) (string \"a\"))"},
    {"deallocate all", "(deallocate)"},
    {"set local search_path to a, 'b'", "(set value \"search_path\" :local (string \"a\") (string \"b\"))"},
    {"set x = any", "(set value \"x\" (string \"any\"))"}, /* reserved */
    {"set local x to Any, 'any', \"any\" -- the end\n",
     "(set value \"x\" :local (string \"any\") (string \"any\") (string \"any\"))"},
    {"set time zone 'UTC'", "(set value \"timezone\" (string \"UTC\"))"},
    {"set x to default", "(set default \"x\")"},
    {"set threads = 4", "(set value \"threads\" (int 4))"},
    {"reset all", "(set reset_all)"},
    {"show all", "(show \"all\")"},
    {"explain (analyze, format json) select 1",
     "(explain (options \"analyze\" \"format\" =\"json\") (select (targets (int 1))))"},
    {"vacuum full t", "(vacuum vacuum (options \"full\") t)"},
    {"analyze", "(vacuum analyze)"},
    {"checkpoint", "(checkpoint)"},
    {"create function f() returns int language sql as 'select 1'",
     "(create_function f (params) int4 language=\"sql\" body=\"select 1\")"},
    {"create or replace procedure p(a int, inout b numeric(4,1) default 2, out text) language plpgsql as $$begin "
     "end$$",
     "(create_function :procedure :or_replace p (params (in \"a\" int4) (inout \"b\" numeric(4,1) (default= (int "
     "2))) (out text)) language=\"plpgsql\" body=\"begin end\")"},
    {"drop function if exists f(int, t.a%type), g cascade",
     "(drop_function :if_exists :cascade f (params (in int4) (in t.a%type)) g)"},
    {"call f(1, b => 'x')", "(call (func f (int 1) =>\"b\" (string \"x\")))"},
    {"do $$begin end$$", "(do body=\"begin end\")"},
};
static void test_definitions(void **state) {
    (void)state;
    for (int64_t i = 0; i < ARRAY_LEN(definitions); i++) check_dump(definitions[i][0], definitions[i][1]);
}

static void test_tags(void **state) {
    (void)state;
    check_kind("begin", AST_TRANSACTION, "BEGIN");
    check_kind("end", AST_TRANSACTION, "COMMIT");
    check_kind("abort", AST_TRANSACTION, "ROLLBACK");
    check_kind("savepoint a", AST_TRANSACTION, "SAVEPOINT");
    check_kind("release a", AST_TRANSACTION, "RELEASE");
    check_kind("drop view v", AST_DROP, "DROP VIEW");
    check_kind("drop index i", AST_DROP, "DROP INDEX");
    check_kind("drop schema s", AST_DROP, "DROP SCHEMA");
    check_kind("drop function f(int)", AST_DROP_FUNCTION, "DROP FUNCTION");
    check_kind("alter view v rename to w", AST_RENAME, "ALTER VIEW");
    check_kind("alter table t owner to x", AST_OWNER, "ALTER TABLE");
    check_kind("create materialized view v as select 1", AST_CREATE_TABLE_AS, "CREATE MATERIALIZED VIEW");
    check_kind("discard all", AST_DISCARD, "DISCARD ALL");
    check_kind("create recursive view v (a) as select 1", AST_CREATE_VIEW, "CREATE VIEW");
    check_kind("create view v as select 1 with local check option", AST_CREATE_VIEW, "CREATE VIEW");
    check_kind("refresh materialized view concurrently v", AST_REFRESH, "REFRESH MATERIALIZED VIEW");
    check_kind("set transaction isolation level read committed", AST_SET, "SET");
    check_kind("set session characteristics as transaction read only", AST_SET, "SET");
    check_kind("set role x", AST_SET, "SET");
    check_kind("reset x", AST_SET, "RESET");
    check_kind("lock table t", AST_LOCK, "LOCK TABLE");
    check_kind("set constraints all deferred", AST_SET_CONSTRAINTS, "SET CONSTRAINTS");
    check_kind("create sequence s as int start 5 no maxvalue cycle owned by t.a", AST_CREATE_SEQUENCE,
               "CREATE SEQUENCE");
    check_kind("alter sequence s restart", AST_ALTER_SEQUENCE, "ALTER SEQUENCE");
    check_kind("alter sequence s rename to t", AST_RENAME, "ALTER SEQUENCE");
    check_kind("drop sequence s", AST_DROP, "DROP SEQUENCE");
    check_kind("discard sequences", AST_DISCARD, "DISCARD SEQUENCES");
    check_kind("create type t as enum ('a')", AST_CREATE_ENUM, "CREATE TYPE");
    check_kind("alter type t add value 'b' after 'a'", AST_ALTER_ENUM, "ALTER TYPE");
    check_kind("alter type t rename to u", AST_ALTER_ENUM, "ALTER TYPE");
    check_kind("create type t as range (subtype = float8, subtype_diff = float8mi)", AST_CREATE_RANGE, "CREATE TYPE");
    check_kind("create type t as (a int, b text[])", AST_CREATE_COMPOSITE, "CREATE TYPE");
    check_kind("alter type t add attribute c int, drop attribute a", AST_ALTER_TABLE, "ALTER TYPE");
    check_kind("alter type t rename attribute a to b", AST_RENAME, "ALTER TYPE");
    check_kind("create domain d as int default 1 check (value > 0)", AST_CREATE_DOMAIN, "CREATE DOMAIN");
    check_kind("alter domain d add check (value < 9) not valid", AST_ALTER_DOMAIN, "ALTER DOMAIN");
    check_kind("alter domain d rename constraint a to b", AST_ALTER_DOMAIN, "ALTER DOMAIN");
    check_kind("grant select on t to x", AST_GRANT, "GRANT");
    check_kind("revoke all on all tables in schema s from public", AST_GRANT, "REVOKE");
    check_kind("alter default privileges grant select on tables to x", AST_GRANT, "ALTER DEFAULT PRIVILEGES");
    check_kind("grant a to b with admin option", AST_GRANT_ROLE, "GRANT ROLE");
    check_kind("revoke a from b granted by c", AST_GRANT_ROLE, "REVOKE ROLE");
    check_kind("create user x password 'p' in role y", AST_ROLE, "CREATE ROLE");
    check_kind("alter group x add user y", AST_ROLE, "ALTER ROLE");
    check_kind("drop role if exists x, y", AST_ROLE, "DROP ROLE");
    check_kind("alter role all in database d set a.b to 1", AST_ROLE_SET, "ALTER ROLE");
    check_kind("alter database d reset all", AST_ROLE_SET, "ALTER DATABASE");
    check_kind("alter role x rename to y", AST_RENAME, "ALTER ROLE");
    check_kind("alter function f(int) owner to session_user", AST_OWNER, "ALTER FUNCTION");
    check_kind("alter function f(int) immutable strict cost 5 set work_mem = '4MB'", AST_ALTER_ROUTINE,
               "ALTER FUNCTION");
    check_kind("alter procedure p rename to q", AST_ALTER_ROUTINE, "ALTER PROCEDURE");
    check_kind("alter aggregate a(int) rename to b", AST_ALTER_ROUTINE, "ALTER AGGREGATE");
    check_kind("alter routine r(int) reset all", AST_ALTER_ROUTINE, "ALTER ROUTINE");
    check_kind("alter database d owner to x", AST_OWNER, "ALTER DATABASE");
    check_kind("alter domain d owner to x", AST_OWNER, "ALTER DOMAIN");
    check_kind("drop owned by x cascade", AST_OWNED, "DROP OWNED");
    check_kind("reassign owned by x, y to current_role", AST_OWNED, "REASSIGN OWNED");
    check_kind("merge into t using u on true when matched then delete", AST_MERGE, "MERGE");
    check_kind("declare c cursor for select 1", AST_DECLARE_CURSOR, "DECLARE CURSOR");
    check_kind("fetch backward all in c", AST_FETCH, "FETCH");
    check_kind("move 3 c", AST_FETCH, "MOVE");
    check_kind("close c", AST_CLOSE, "CLOSE CURSOR");
    check_kind("close all", AST_CLOSE, "CLOSE CURSOR ALL");
    check_kind("create extension x", AST_UNSUPPORTED, "CREATE EXTENSION");
    check_kind("do 'x'", AST_DO, "DO");
    check_kind("drop routine r", AST_DROP_FUNCTION, "DROP ROUTINE");
    check_kind("create procedure p() language sql as ''", AST_CREATE_FUNCTION, "CREATE PROCEDURE");
    check_kind("create global temp table t (a int) on commit drop", AST_CREATE_TABLE,
               "CREATE TABLE"); /* a warning that must not print */
}

static void test_script(void **state) {
    (void)state;
    static const char sql[] = "-- a\n select 1 ; /* b */ ;; insert into t values (';');\n\n commit";
    Fixture f;
    open_fixture(&f);
    assert_int_equal(sql_parse(f.arena, slice_of(sql), &f.stmts, &f.n, &f.err), ST_OK);
    assert_int_equal(f.n, 3);
    assert_true(slice_eq(f.stmts[0]->source, slice_of("select 1")));
    assert_true(slice_eq(f.stmts[1]->source, slice_of("insert into t values (';')")));
    assert_true(slice_eq(f.stmts[2]->source, slice_of("commit")));
    for (int i = 0; i < 3; i++) assert_ptr_equal(f.stmts[i]->source.ptr, sql + f.stmts[i]->source_offset);
    AstSelect *s = AST_AS(AstSelect, f.stmts[0]);
    assert_int_equal(s->targets[0].expr->location, strchr(sql, '1') - sql + 1);
    assert_int_equal(sql_parse(f.arena, slice_of("  -- nothing\n ;"), &f.stmts, &f.n, &f.err), ST_OK);
    assert_int_equal(f.n, 0);
    assert_int_equal(sql_parse(f.arena, (Slice){NULL, 0}, &f.stmts, &f.n, &f.err), ST_OK);
    assert_int_equal(f.n, 0);
    AstExpr *e;
    assert_int_equal(sql_parse_expr(f.arena, slice_of("1 + a"), &e, &f.err), ST_OK);
    assert_int_equal(e->kind, AST_OP);
    static const char *const bad[] = {"1, 2", "1 from t", "", "1; select 2", "*", "1 as x", "1 union select 2"};
    for (int64_t i = 0; i < ARRAY_LEN(bad); i++) {
        err_clear(&f.err);
        assert_int_equal(sql_parse_expr(f.arena, slice_of(bad[i]), &e, &f.err), ST_ERROR);
        assert_true(err_is_set(&f.err));
    }
    close_fixture(&f);
}

static void test_errors(void **state) {
    (void)state;
    check_error(slice_of("select 1 fro m"), "42601", 14, "syntax error at or near \"m\"");
    check_error(slice_of("select '\xc3\xa9', 1 fro m"), "42601", 20, "syntax error at or near \"m\"");
    check_error(slice_of("select 1; selec 2"), "42601", 11, "syntax error at or near \"selec\"");
    check_error(slice_of("select ("), "42601", 9, "syntax error at end of input");
    check_error(slice_of("select 'abc"), "42601", 8, "unterminated quoted string at or near \"'abc\"");
    check_error(slice_of("select E'\\xff'"), "22021", -1, NULL);
    check_error(slice_of("select E'\\000'"), "22021", -1, NULL);
    check_error((Slice){"select \0 1", 10}, "22021", 8, NULL);
    check_error((Slice){"select '\xff'", 10}, "22021", 9, "invalid byte sequence for encoding \"UTF8\": 0xff");
    check_error(slice_of("select $0"), "42P02", 8, "there is no parameter $0");
    check_error(slice_of("create table t (a int) partition by range (a)"), "0A000", 14,
                "PARTITION BY is not supported");
    check_error(slice_of("values (1), (2, 3)"), "42601", 14, "VALUES lists must all be the same length");
    check_error(slice_of("select (select 1 into t)"), "42601", -1, NULL);
    check_error(slice_of("update t set (a, b) = (1, 2, 3)"), "42601", -1,
                "number of columns does not match number of values");
    check_error(slice_of("select a.b.c.d"), "0A000", 8, NULL);
}

/* `head`, then `part` n times, `middle`, `tail` n times. */
static Slice repeat(const char *head, const char *part, const char *middle, const char *tail, int64_t n) {
    size_t h = strlen(head), p = strlen(part), m = strlen(middle), t = strlen(tail), k = 0;
    char *s = malloc(h + m + (p + t) * (size_t)n + 1);
    assert_non_null(s);
    memcpy(s, head, h), k = h;
    for (int64_t i = 0; i < n; i++) memcpy(s + k, part, p), k += p;
    memcpy(s + k, middle, m), k += m;
    for (int64_t i = 0; i < n; i++) memcpy(s + k, tail, t), k += t;
    return (Slice){s, (int64_t)k};
}

static void check_deep(const char *head, const char *part, const char *middle, const char *tail, int64_t n,
                       const char *state) {
    Slice s = repeat(head, part, middle, tail, n);
    if (state) {
        check_error(s, state, -1, NULL);
    } else {
        Fixture f;
        open_fixture(&f);
        if (sql_parse(f.arena, s, &f.stmts, &f.n, &f.err) != ST_OK) fail_msg("%s%s: %s", head, part, f.err.message);
        assert_non_null(ast_dump(f.arena, f.stmts[0]));
        close_fixture(&f);
    }
    free((char *)s.ptr);
}
/* Chains to the left are as long as the text; walks of the tree that recurse (its dump) may need more stack than there
 * is. */
static void check_long(const char *head, const char *part) {
    Slice s = repeat(head, part, "", "", 100000);
    Fixture f;
    open_fixture(&f);
    if (sql_parse(f.arena, s, &f.stmts, &f.n, &f.err) != ST_OK) fail_msg("%s%s: %s", head, part, f.err.message);
    (void)ast_dump(f.arena, f.stmts[0]);
    (void)stack_check(&f.err);
    close_fixture(&f);
    free((char *)s.ptr);
}

static void test_depth(void **state) {
    (void)state;
    const int64_t n = 100000;
    check_deep("select ", "(", "1", ")", n, "54001");
    check_long("select 1", "+1");
    check_long("select a", "||a");
    check_deep("select ", "not ", "true", "", n, "54001");
    check_deep("select ", "- ", "1", "", n, "54001");
    check_deep("select ", "-+", "1", "", n, "42601");
    check_deep("select ", "case when true then ", "1", " end", n, "54001");
    check_deep("select ", "(select ", "1", ")", n, "54001");
    check_deep("select ", "array[", "", "]", n, "54001");
    check_long("select x", "::int");
    check_long("select x", "[1]");
    check_long("select x", " is null");
    check_long("select 1", " union all select 1");
    check_deep("select * from ", "t join ", "t", "", n, "54001");
    check_long("select * from t", " join t on true");
    check_deep("with a as ", "(", "select 1", ")", n, "54001");
    check_deep("select ", "(", "", "", n, "54001");
    check_deep("select 1 group by ", "grouping sets (", "", ")", n, "54001");
    check_deep("", "/**/", "select 1", "", 1000000, "54001");
    check_deep("", "/*", "", "*/", 1000000, "54001");
    /* What must work. */
    check_deep("select ", "(", "1", ")", 900, NULL);
    check_deep("select ", "(select ", "1", ")", 300, NULL);
    check_deep("select ", "1+", "1", "", 4900, NULL);
    check_deep("select ", "not ", "true", "", 4900, NULL);
    check_deep("select 1", " union all select 1", "", "", 4900, NULL);
    check_deep("select a", " and a", "", "", n, NULL);
    check_deep("select a", " or a", "", "", n, NULL);
    check_deep("select 1", ", 1", "", "", n, NULL);
    check_deep("select 1 -- ", "(", "", "", n, NULL);
    check_deep("select '", "(", "'", "", n, NULL);
    check_deep("select $x$", "((", "$x$", "", n, NULL);
}

static void test_big_insert(void **state) {
    (void)state;
    Slice s = repeat("insert into t values (0, '')", ", (12345, 'Customer#000000001', 711.56, null)", "", "", 250000);
    Fixture f;
    open_fixture(&f);
    assert_int_equal(sql_parse(f.arena, s, &f.stmts, &f.n, &f.err), ST_ERROR); /* the first row is shorter */
    err_clear(&f.err);
    free((char *)s.ptr);
    s = repeat("insert into t values (0, '', 0, null)", ", (12345, 'Customer#000000001', 711.56, null)", "", "",
               250000);
    assert_int_equal(sql_parse(f.arena, s, &f.stmts, &f.n, &f.err), ST_OK);
    assert_int_equal(AST_AS(AstInsert, f.stmts[0])->query->n_values, 250001);
    free((char *)s.ptr);
    close_fixture(&f);
}

static void test_memory(void **state) {
    (void)state;
    Fixture f;
    /* A limit refuses a big statement. */
    Slice s = repeat("select 1", ", 1", "", "", 100000);
    open_fixture(&f);
    atomic_store(&f.acct.limit, 1 << 20);
    assert_int_equal(sql_parse(f.arena, s, &f.stmts, &f.n, &f.err), ST_ERROR);
    assert_true(strcmp(f.err.sqlstate, "53400") == 0 || strcmp(f.err.sqlstate, "53200") == 0);
    close_fixture(&f);
    free((char *)s.ptr);
    /* Every allocation fails once. */
    static const char *const sql =
        "with a as (select 1) insert into t (a) select sum(b) over (order by c), case when x in (1, 'a') then 2 end "
        "from u join v using (z) where y like 'q' group by rollup (1) on conflict (a) do update set b = 1";
    for (int64_t i = 1; i < 10000; i++) {
        open_fixture(&f);
        mem_fail_at(i);
        Status st = sql_parse(f.arena, slice_of(sql), &f.stmts, &f.n, &f.err);
        mem_fail_at(0);
        if (st == ST_OK) {
            close_fixture(&f);
            break;
        }
        assert_true(err_is_set(&f.err));
        close_fixture(&f);
    }
}

static void *parse_many(void *arg) {
    int64_t *bad = arg;
    for (int i = 0; i < 300; i++) {
        MemAccount acct;
        mem_account_init(&acct, NULL, "thread", 0, NULL);
        Err e;
        err_clear(&e);
        Arena *a = arena_new(&acct, &e);
        AstStmt **stmts;
        int64_t n;
        const char *sql = i % 3 == 2 ? "select fro m x" : tpch[i % 22];
        Status st = a ? sql_parse(a, slice_of(sql), &stmts, &n, &e) : ST_ERROR;
        if ((st != ST_OK) != (i % 3 == 2)) (*bad)++;
        arena_free(a);
    }
    return NULL;
}

static void test_threads(void **state) {
    (void)state;
    pthread_t t[8];
    int64_t bad[8] = {0};
    /* More threads over time than a process has thread-specific keys. */
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 8; i++) assert_int_equal(pthread_create(&t[i], NULL, parse_many, &bad[i]), 0);
        for (int i = 0; i < 8; i++) pthread_join(t[i], NULL);
    }
    for (int i = 0; i < 8; i++) assert_int_equal(bad[i], 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tpch),        cmocka_unit_test(test_expressions), cmocka_unit_test(test_queries),
        cmocka_unit_test(test_definitions), cmocka_unit_test(test_tags),        cmocka_unit_test(test_script),
        cmocka_unit_test(test_errors),      cmocka_unit_test(test_depth),       cmocka_unit_test(test_big_insert),
        cmocka_unit_test(test_memory),      cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
