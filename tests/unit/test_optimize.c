/* test_optimize.c - plans of the 22 TPC-H queries and of many small ones over made-up SF1 statistics.
 *
 * Checked for every statement and with every rule switched off in turn: the plan verifies, no subquery and no dependent
 * join is left, no DISTINCT, FILTER or avg in an aggregate, only UNION ALL among set operations. With STELE_PLANS=1 the
 * plans are printed, to be looked at. */
#include "unit.h"

#include <stdlib.h>

#include "catalog/catalog.h"
#include "sql/bind/bind.h"
#include "sql/optimize/optimize.h"
#include "sql/parse/parse.h"
#include "sql/plan/plan_explain.h"

static Catalog cat;
static MemAccount acct;
static SessionInfo info = {.user = "test", .database = "test"};

typedef struct Col {
    const char *name;
    const char *type; /* i, l, n (numeric(15,2)), d, t */
    double distinct;
    int64_t min, max;
    bool unique, nullable;
} Col;

static Type col_type(const char *t) {
    switch (t[0]) {
    case 'i': return type_make(T_INT4);
    case 'l': return type_make(T_INT8);
    case 'n': return type_numeric(15, 2);
    case 'd': return type_make(T_DATE);
    default: return type_make(T_TEXT);
    }
}
static void add_table(const char *name, int64_t rows, int n, const Col *cols) {
    Err e;
    memset(&e, 0, sizeof e);
    ColumnDef defs[20];
    memset(defs, 0, sizeof defs);
    for (int i = 0; i < n; i++)
        defs[i] = (ColumnDef){.name = cols[i].name, .type = col_type(cols[i].type), .not_null = !cols[i].nullable};
    Table *t;
    assert_int_equal(table_new(&acct, name, n, defs, 0, NULL, 0, NULL, &t, &e), ST_OK);
    t->live_rows = rows;
    for (int i = 0; i < n; i++) {
        ColumnStats *s = &t->cols[i].stats;
        s->distinct = cols[i].distinct;
        s->unique = cols[i].unique;
        s->null_count = cols[i].nullable ? rows / 10 : 0;
        s->has_range = cols[i].max > cols[i].min;
        s->min = cols[i].min;
        s->max = cols[i].max;
    }
    assert_int_equal(catalog_add_table(&cat, t, &e), ST_OK);
}
#define TABLE(name, rows, ...)                                               \
    do {                                                                     \
        static const Col cols_[] = {__VA_ARGS__};                            \
        add_table(name, rows, (int)(sizeof cols_ / sizeof cols_[0]), cols_); \
    } while (0)

static int setup(void **state) {
    (void)state;
    mem_account_init(&acct, NULL, "test", 0, NULL);
    if (!(cat.arena = arena_new(&acct, NULL))) return -1;
    enum { D0 = -2922, D1 = -516 }; /* 1992-01-01 .. 1998-08-02 */
    TABLE("region", 5, {"r_regionkey", "i", 5, 0, 4, true, false}, {"r_name", "t", 5, 0, 0, true, false},
          {"r_comment", "t", 5, 0, 0, true, true});
    TABLE("nation", 25, {"n_nationkey", "i", 25, 0, 24, true, false}, {"n_name", "t", 25, 0, 0, true, false},
          {"n_regionkey", "i", 5, 0, 4, false, false}, {"n_comment", "t", 25, 0, 0, true, true});
    TABLE("part", 200000, {"p_partkey", "i", 200000, 1, 200000, true, false},
          {"p_name", "t", 199997, 0, 0, false, false}, {"p_mfgr", "t", 5, 0, 0, false, false},
          {"p_brand", "t", 25, 0, 0, false, false}, {"p_type", "t", 150, 0, 0, false, false},
          {"p_size", "i", 50, 1, 50, false, false}, {"p_container", "t", 40, 0, 0, false, false},
          {"p_retailprice", "n", 20899, 90100, 209899, false, false}, {"p_comment", "t", 131753, 0, 0, false, true});
    TABLE("supplier", 10000, {"s_suppkey", "i", 10000, 1, 10000, true, false},
          {"s_name", "t", 10000, 0, 0, true, false}, {"s_address", "t", 10000, 0, 0, true, false},
          {"s_nationkey", "i", 25, 0, 24, false, false}, {"s_phone", "t", 10000, 0, 0, true, false},
          {"s_acctbal", "n", 9955, -99822, 999972, false, false}, {"s_comment", "t", 9999, 0, 0, false, true});
    TABLE("partsupp", 800000, {"ps_partkey", "i", 200000, 1, 200000, false, false},
          {"ps_suppkey", "i", 10000, 1, 10000, false, false}, {"ps_availqty", "i", 9999, 1, 9999, false, false},
          {"ps_supplycost", "n", 99901, 100, 100000, false, false}, {"ps_comment", "t", 799124, 0, 0, false, true});
    TABLE("customer", 150000, {"c_custkey", "i", 150000, 1, 150000, true, false},
          {"c_name", "t", 150000, 0, 0, true, false}, {"c_address", "t", 150000, 0, 0, true, false},
          {"c_nationkey", "i", 25, 0, 24, false, false}, {"c_phone", "t", 150000, 0, 0, true, false},
          {"c_acctbal", "n", 140187, -99999, 999999, false, false}, {"c_mktsegment", "t", 5, 0, 0, false, false},
          {"c_comment", "t", 149968, 0, 0, false, true});
    TABLE("orders", 1500000, {"o_orderkey", "l", 1500000, 1, 6000000, true, false},
          {"o_custkey", "i", 99996, 1, 149999, false, false}, {"o_orderstatus", "t", 3, 0, 0, false, false},
          {"o_totalprice", "n", 1464556, 85771, 55528516, false, false},
          {"o_orderdate", "d", 2406, D0, D1, false, false}, {"o_orderpriority", "t", 5, 0, 0, false, false},
          {"o_clerk", "t", 1000, 0, 0, false, false}, {"o_shippriority", "i", 1, 0, 0, false, false},
          {"o_comment", "t", 1482071, 0, 0, false, true});
    TABLE("lineitem", 6001215, {"l_orderkey", "l", 1500000, 1, 6000000, false, false},
          {"l_partkey", "i", 200000, 1, 200000, false, false}, {"l_suppkey", "i", 10000, 1, 10000, false, false},
          {"l_linenumber", "i", 7, 1, 7, false, false}, {"l_quantity", "n", 50, 100, 5000, false, false},
          {"l_extendedprice", "n", 933900, 90100, 10494950, false, false}, {"l_discount", "n", 11, 0, 10, false, false},
          {"l_tax", "n", 9, 0, 8, false, false}, {"l_returnflag", "t", 3, 0, 0, false, false},
          {"l_linestatus", "t", 2, 0, 0, false, false}, {"l_shipdate", "d", 2526, D0 + 1, D1 + 121, false, false},
          {"l_commitdate", "d", 2466, D0 + 30, D1 + 91, false, false},
          {"l_receiptdate", "d", 2554, D0 + 3, D1 + 151, false, false}, {"l_shipinstruct", "t", 4, 0, 0, false, false},
          {"l_shipmode", "t", 7, 0, 0, false, false}, {"l_comment", "t", 4580667, 0, 0, false, true});
    TABLE("t", 1000, {"a", "i", 1000, 1, 1000, true, false}, {"b", "i", 10, 1, 10, false, true},
          {"c", "i", 100, 1, 100, false, true}, {"s", "t", 50, 0, 0, false, true});
    TABLE("u", 5000, {"a", "i", 1000, 1, 1000, false, true}, {"b", "i", 10, 1, 10, false, true},
          {"c", "i", 100, 1, 100, false, true}, {"s", "t", 50, 0, 0, false, true});
    TABLE("v", 100, {"a", "i", 100, 1, 100, true, false}, {"b", "i", 10, 1, 10, false, false},
          {"c", "i", 50, 1, 50, false, false}, {"n", "n", 100, 1, 100, false, true});
    return 0;
}

static int teardown(void **state) {
    (void)state;
    for (int64_t i = 0; i < cat.n_tables; i++) table_free(cat.tables[i]);
    arena_free(cat.arena);
    return 0;
}

static void check_expr(const Expr *e) {
    assert_int_not_equal(e->kind, EX_SUBQUERY);
    assert_int_not_equal(e->kind, EX_AGG);
    for (int32_t i = 0; i < e->n_args; i++) check_expr(e->args[i]);
}
static void check_plan(const Plan *p) {
    assert_false(p->join.dependent);
    assert_true(p->est_rows >= 0);
    for (int32_t i = 0; i < p->n_exprs; i++) check_expr(p->exprs[i]);
    for (int32_t i = 0; i < p->n_conds; i++) check_expr(p->conds[i]);
    for (int32_t i = 0; i < p->agg.n_calls; i++) {
        assert_false(p->agg.calls[i].distinct);
        assert_null(p->agg.calls[i].filter);
        assert_int_not_equal(p->agg.calls[i].kind, AGG_AVG);
        if (p->agg.calls[i].arg) check_expr(p->agg.calls[i].arg);
    }
    if (p->kind == LP_SETOP) assert_int_equal(p->set.op, SO_UNION_ALL);
    assert_null(p->limit.rows_expr);
    assert_null(p->limit.offset_expr);
    for (int32_t i = 0; i < p->n_children; i++) check_plan(p->children[i]);
}

/* Optimises one statement; returns the plan's text (caller's arena). */
static const char *optimise(Arena *a, const char *sql, uint32_t disabled, bool expect_ok, Err *e) {
    PlanCtx c;
    memset(&c, 0, sizeof c);
    memset(e, 0, sizeof *e);
    arena_set_err(a, e);
    c.arena = a;
    c.err = e;
    c.catalog = &cat;
    c.session = &info;
    c.disabled_rules = disabled;
    assert_true(vec_push(a, &c.cols, ((ColInfo){.name = "", .col = -1})));
    AstStmt **stmts;
    int64_t n;
    BoundStmt *b = NULL;
    if (sql_parse(a, slice_of(sql), &stmts, &n, e) != ST_OK || sql_bind(&c, stmts[0], 0, NULL, &b) != ST_OK ||
        plan_verify(&c, b->plan, e) != ST_OK || sql_optimize(&c, b) != ST_OK || plan_verify(&c, b->plan, e) != ST_OK) {
        if (expect_ok) {
            fprintf(stderr, "%s\n%s: %s %s %s\n", sql, e->sqlstate, e->message, e->detail, e->context);
            if (b && b->plan && getenv("STELE_PLANS")) fprintf(stderr, "%s\n", plan_text(&c, b->plan));
        }
        assert_false(expect_ok);
        return NULL;
    }
    assert_true(expect_ok);
    ColSet out = colset_new(&c);
    plan_outputs(&c, b->plan, &out);
    for (int32_t i = 0; i < b->n_result; i++) assert_true(colset_has(&out, b->result[i]));
    check_plan(b->plan);
    return plan_text(&c, b->plan);
}
static void run(const char *sql, int number) {
    for (int rule = -1; rule < RULE_COUNT_; rule++) {
        Err e;
        Arena *a = arena_new(&acct, &e);
        assert_non_null(a);
        const char *text = optimise(a, sql, rule < 0 ? 0 : UINT32_C(1) << rule, true, &e);
        if (rule < 0 && getenv("STELE_PLANS")) printf("-- %d: %s\n%s\n", number, sql, text);
        arena_free(a);
    }
    Err e;
    Arena *a = arena_new(&acct, &e);
    optimise(a, sql, UINT32_MAX, true, &e);
    arena_free(a);
}

static const char *const tpch[] = {
    "select l_returnflag, l_linestatus, sum(l_quantity) as sum_qty, sum(l_extendedprice) as sum_base_price, "
    "sum(l_extendedprice * "
    "(1 - l_discount)) as sum_disc_price, sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)) as sum_charge, "
    "avg(l_quantity) as "
    "avg_qty, avg(l_extendedprice) as avg_price, avg(l_discount) as avg_disc, count(*) as count_order from lineitem "
    "where "
    "l_shipdate <= date '1998-12-01' - interval '90' day group by l_returnflag, l_linestatus order by l_returnflag, "
    "l_linestatus",
    "select s_acctbal, s_name, n_name, p_partkey, p_mfgr, s_address, s_phone, s_comment from part, supplier, partsupp, "
    "nation, "
    "region where p_partkey = ps_partkey and s_suppkey = ps_suppkey and p_size = 15 and p_type like '%BRASS' and "
    "s_nationkey = "
    "n_nationkey and n_regionkey = r_regionkey and r_name = 'EUROPE' and ps_supplycost = (select min(ps_supplycost) "
    "from partsupp, "
    "supplier, nation, region where p_partkey = ps_partkey and s_suppkey = ps_suppkey and s_nationkey = n_nationkey "
    "and "
    "n_regionkey = r_regionkey and r_name = 'EUROPE') order by s_acctbal desc, n_name, s_name, p_partkey limit 100",
    "select l_orderkey, sum(l_extendedprice * (1 - l_discount)) as revenue, o_orderdate, o_shippriority from customer, "
    "orders, "
    "lineitem where c_mktsegment = 'BUILDING' and c_custkey = o_custkey and l_orderkey = o_orderkey and o_orderdate < "
    "date "
    "'1995-03-15' and l_shipdate > date '1995-03-15' group by l_orderkey, o_orderdate, o_shippriority order by revenue "
    "desc, "
    "o_orderdate limit 10",
    "select o_orderpriority, count(*) as order_count from orders where o_orderdate >= date '1993-07-01' and "
    "o_orderdate < date "
    "'1993-07-01' + interval '3' month and exists (select * from lineitem where l_orderkey = o_orderkey and "
    "l_commitdate < "
    "l_receiptdate) group by o_orderpriority order by o_orderpriority",
    "select n_name, sum(l_extendedprice * (1 - l_discount)) as revenue from customer, orders, lineitem, supplier, "
    "nation, region "
    "where c_custkey = o_custkey and l_orderkey = o_orderkey and l_suppkey = s_suppkey and c_nationkey = s_nationkey "
    "and "
    "s_nationkey = n_nationkey and n_regionkey = r_regionkey and r_name = 'ASIA' and o_orderdate >= date '1994-01-01' "
    "and "
    "o_orderdate < date '1994-01-01' + interval '1' year group by n_name order by revenue desc",
    "select sum(l_extendedprice * l_discount) as revenue from lineitem where l_shipdate >= date '1994-01-01' and "
    "l_shipdate < date "
    "'1994-01-01' + interval '1' year and l_discount between 0.06 - 0.01 and 0.06 + 0.01 and l_quantity < 24",
    "select supp_nation, cust_nation, l_year, sum(volume) as revenue from (select n1.n_name as supp_nation, n2.n_name "
    "as "
    "cust_nation, extract(year from l_shipdate) as l_year, l_extendedprice * (1 - l_discount) as volume from supplier, "
    "lineitem, "
    "orders, customer, nation n1, nation n2 where s_suppkey = l_suppkey and o_orderkey = l_orderkey and c_custkey = "
    "o_custkey and "
    "s_nationkey = n1.n_nationkey and c_nationkey = n2.n_nationkey and ((n1.n_name = 'FRANCE' and n2.n_name = "
    "'GERMANY') or "
    "(n1.n_name = 'GERMANY' and n2.n_name = 'FRANCE')) and l_shipdate between date '1995-01-01' and date '1996-12-31') "
    "as shipping "
    "group by supp_nation, cust_nation, l_year order by supp_nation, cust_nation, l_year",
    "select o_year, sum(case when nation = 'BRAZIL' then volume else 0 end) / sum(volume) as mkt_share from (select "
    "extract(year "
    "from o_orderdate) as o_year, l_extendedprice * (1 - l_discount) as volume, n2.n_name as nation from part, "
    "supplier, lineitem, "
    "orders, customer, nation n1, nation n2, region where p_partkey = l_partkey and s_suppkey = l_suppkey and "
    "l_orderkey = "
    "o_orderkey and o_custkey = c_custkey and c_nationkey = n1.n_nationkey and n1.n_regionkey = r_regionkey and r_name "
    "= 'AMERICA' "
    "and s_nationkey = n2.n_nationkey and o_orderdate between date '1995-01-01' and date '1996-12-31' and p_type = "
    "'ECONOMY "
    "ANODIZED STEEL') as all_nations group by o_year order by o_year",
    "select nation, o_year, sum(amount) as sum_profit from (select n_name as nation, extract(year from o_orderdate) as "
    "o_year, "
    "l_extendedprice * (1 - l_discount) - ps_supplycost * l_quantity as amount from part, supplier, lineitem, "
    "partsupp, orders, "
    "nation where s_suppkey = l_suppkey and ps_suppkey = l_suppkey and ps_partkey = l_partkey and p_partkey = "
    "l_partkey and "
    "o_orderkey = l_orderkey and s_nationkey = n_nationkey and p_name like '%green%') as profit group by nation, "
    "o_year order by "
    "nation, o_year desc",
    "select c_custkey, c_name, sum(l_extendedprice * (1 - l_discount)) as revenue, c_acctbal, n_name, c_address, "
    "c_phone, "
    "c_comment from customer, orders, lineitem, nation where c_custkey = o_custkey and l_orderkey = o_orderkey and "
    "o_orderdate >= "
    "date '1993-10-01' and o_orderdate < date '1993-10-01' + interval '3' month and l_returnflag = 'R' and c_nationkey "
    "= "
    "n_nationkey group by c_custkey, c_name, c_acctbal, c_phone, n_name, c_address, c_comment order by revenue desc "
    "limit 20",
    "select ps_partkey, sum(ps_supplycost * ps_availqty) as value from partsupp, supplier, nation where ps_suppkey = "
    "s_suppkey and "
    "s_nationkey = n_nationkey and n_name = 'GERMANY' group by ps_partkey having sum(ps_supplycost * ps_availqty) > "
    "(select "
    "sum(ps_supplycost * ps_availqty) * 0.0001000000 from partsupp, supplier, nation where ps_suppkey = s_suppkey and "
    "s_nationkey "
    "= n_nationkey and n_name = 'GERMANY') order by value desc",
    "select l_shipmode, sum(case when o_orderpriority = '1-URGENT' or o_orderpriority = '2-HIGH' then 1 else 0 end) as "
    "high_line_count, sum(case when o_orderpriority <> '1-URGENT' and o_orderpriority <> '2-HIGH' then 1 else 0 end) "
    "as "
    "low_line_count from orders, lineitem where o_orderkey = l_orderkey and l_shipmode in ('MAIL', 'SHIP') and "
    "l_commitdate < "
    "l_receiptdate and l_shipdate < l_commitdate and l_receiptdate >= date '1994-01-01' and l_receiptdate < date "
    "'1994-01-01' + "
    "interval '1' year group by l_shipmode order by l_shipmode",
    "select c_count, count(*) as custdist from (select c_custkey, count(o_orderkey) from customer left outer join "
    "orders on "
    "c_custkey = o_custkey and o_comment not like '%special%requests%' group by c_custkey) as c_orders (c_custkey, "
    "c_count) group "
    "by c_count order by custdist desc, c_count desc",
    "select 100.00 * sum(case when p_type like 'PROMO%' then l_extendedprice * (1 - l_discount) else 0 end) / "
    "sum(l_extendedprice "
    "* (1 - l_discount)) as promo_revenue from lineitem, part where l_partkey = p_partkey and l_shipdate >= date "
    "'1995-09-01' and "
    "l_shipdate < date '1995-09-01' + interval '1' month",
    "with revenue (supplier_no, total_revenue) as (select l_suppkey, sum(l_extendedprice * (1 - l_discount)) from "
    "lineitem where "
    "l_shipdate >= date '1996-01-01' and l_shipdate < date '1996-01-01' + interval '3' month group by l_suppkey) "
    "select s_suppkey, "
    "s_name, s_address, s_phone, total_revenue from supplier, revenue where s_suppkey = supplier_no and total_revenue "
    "= (select "
    "max(total_revenue) from revenue) order by s_suppkey",
    "select p_brand, p_type, p_size, count(distinct ps_suppkey) as supplier_cnt from partsupp, part where p_partkey = "
    "ps_partkey "
    "and p_brand <> 'Brand#45' and p_type not like 'MEDIUM POLISHED%' and p_size in (49, 14, 23, 45, 19, 3, 36, 9) and "
    "ps_suppkey "
    "not in (select s_suppkey from supplier where s_comment like '%Customer%Complaints%') group by p_brand, p_type, "
    "p_size order "
    "by supplier_cnt desc, p_brand, p_type, p_size",
    "select sum(l_extendedprice) / 7.0 as avg_yearly from lineitem, part where p_partkey = l_partkey and p_brand = "
    "'Brand#23' and "
    "p_container = 'MED BOX' and l_quantity < (select 0.2 * avg(l_quantity) from lineitem where l_partkey = p_partkey)",
    "select c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice, sum(l_quantity) from customer, orders, lineitem "
    "where "
    "o_orderkey in (select l_orderkey from lineitem group by l_orderkey having sum(l_quantity) > 300) and c_custkey = "
    "o_custkey "
    "and o_orderkey = l_orderkey group by c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice order by "
    "o_totalprice desc, "
    "o_orderdate limit 100",
    "select sum(l_extendedprice * (1 - l_discount)) as revenue from lineitem, part where (p_partkey = l_partkey and "
    "p_brand = "
    "'Brand#12' and p_container in ('SM CASE', 'SM BOX', 'SM PACK', 'SM PKG') and l_quantity >= 1 and l_quantity <= 1 "
    "+ 10 and "
    "p_size between 1 and 5 and l_shipmode in ('AIR', 'AIR REG') and l_shipinstruct = 'DELIVER IN PERSON') or "
    "(p_partkey = "
    "l_partkey and p_brand = 'Brand#23' and p_container in ('MED BAG', 'MED BOX', 'MED PKG', 'MED PACK') and "
    "l_quantity >= 10 and "
    "l_quantity <= 10 + 10 and p_size between 1 and 10 and l_shipmode in ('AIR', 'AIR REG') and l_shipinstruct = "
    "'DELIVER IN "
    "PERSON') or (p_partkey = l_partkey and p_brand = 'Brand#34' and p_container in ('LG CASE', 'LG BOX', 'LG PACK', "
    "'LG PKG') and "
    "l_quantity >= 20 and l_quantity <= 20 + 10 and p_size between 1 and 15 and l_shipmode in ('AIR', 'AIR REG') and "
    "l_shipinstruct = 'DELIVER IN PERSON')",
    "select s_name, s_address from supplier, nation where s_suppkey in (select ps_suppkey from partsupp where "
    "ps_partkey in "
    "(select p_partkey from part where p_name like 'forest%') and ps_availqty > (select 0.5 * sum(l_quantity) from "
    "lineitem where "
    "l_partkey = ps_partkey and l_suppkey = ps_suppkey and l_shipdate >= date '1994-01-01' and l_shipdate < date "
    "'1994-01-01' + "
    "interval '1' year)) and s_nationkey = n_nationkey and n_name = 'CANADA' order by s_name",
    "select s_name, count(*) as numwait from supplier, lineitem l1, orders, nation where s_suppkey = l1.l_suppkey and "
    "o_orderkey = "
    "l1.l_orderkey and o_orderstatus = 'F' and l1.l_receiptdate > l1.l_commitdate and exists (select * from lineitem "
    "l2 where "
    "l2.l_orderkey = l1.l_orderkey and l2.l_suppkey <> l1.l_suppkey) and not exists (select * from lineitem l3 where "
    "l3.l_orderkey "
    "= l1.l_orderkey and l3.l_suppkey <> l1.l_suppkey and l3.l_receiptdate > l3.l_commitdate) and s_nationkey = "
    "n_nationkey and "
    "n_name = 'SAUDI ARABIA' group by s_name order by numwait desc, s_name limit 100",
    "select cntrycode, count(*) as numcust, sum(c_acctbal) as totacctbal from (select substring(c_phone from 1 for 2) "
    "as "
    "cntrycode, c_acctbal from customer where substring(c_phone from 1 for 2) in ('13', '31', '23', '29', '30', '18', "
    "'17') and "
    "c_acctbal > (select avg(c_acctbal) from customer where c_acctbal > 0.00 and substring(c_phone from 1 for 2) in "
    "('13', '31', "
    "'23', '29', '30', '18', '17')) and not exists (select * from orders where o_custkey = c_custkey)) as custsale "
    "group by "
    "cntrycode order by cntrycode",
};
static void test_tpch(void **state) {
    (void)state;
    for (int i = 0; i < (int)(sizeof tpch / sizeof tpch[0]); i++) run(tpch[i], i + 1);
}

static const char *const small[] = {
    "select 1",
    "select * from t where a = 1 and a = 2",
    "select * from t where not (a < 5 or b = 3)",
    "select * from t, u where t.a = u.a and t.a = 5",
    "select * from t left join u on t.a = u.a where u.b > 3",
    "select * from t left join u on t.a = u.a and u.c = 3 where t.b = 3",
    "select * from t full join u on t.a = u.a where t.b = 1",
    "select t.* from t left join v on t.b = v.a",
    "select * from t right join u on t.a = u.a where t.b is null",
    "select count(*) from t, u, v where t.a = u.a and u.a = v.a",
    "select * from t where exists (select 1 from u where u.a = t.a)",
    "select * from t where not exists (select 1 from u where u.a = t.a and u.b > t.b)",
    "select * from t where exists (select 1 from u) and not exists (select 1 from v where v.a = 0)",
    "select * from t where a in (select a from u)",
    "select * from t where a not in (select a from u)",
    "select * from t where a not in (select a from v)",
    "select * from t where b not in (select b from u where u.a = t.a)",
    "select * from t where (a, b) in (select a, b from u)",
    "select * from t where (a, b) not in (select a, b from u)",
    "select a in (select a from u), b not in (select b from u where u.a = t.a) from t",
    "select * from t where a > all (select b from u) or b = any (select c from u)",
    "select * from t where exists (select 1 from u where u.a = t.a) or b = 3",
    "select (select max(b) from u where u.a = t.a), (select count(*) from u where u.a = t.a) from t",
    "select (select count(*) + 1 from u where u.a = t.a) from t",
    "select * from t where 0 = (select count(*) from u where u.a = t.a)",
    "select (select b from u where u.a = t.a) from t",
    "select (select b from u where u.a > t.a order by c desc limit 1) from t",
    "select (select b from u where u.a = t.a limit 1) from t",
    "select (select sum(u.b) from u where u.a < t.a) from t",
    "select (select max(x) from (select u.b + t.b as x from u where u.a = t.a) q) from t",
    "select (select (select max(v.b) from v where v.a = u.a and v.c = t.c) from u where u.c = t.a) from t",
    "select * from t where exists (select 1 from u where u.a = t.a and exists (select 1 from v where v.a = u.b and v.b "
    "= t.b))",
    "select * from t where exists (select 1 from u where u.a = t.a or exists (select 1 from v where v.a = u.b and v.b "
    "= t.b))",
    "select * from t where a = (select min(u.a) from u left join v on u.b = v.b and v.c = t.c where u.c = t.c)",
    "select * from t where a in (select u.a from u where u.b = t.b union select v.a from v where v.b = t.b)",
    "select * from t where exists (select u.a from u where u.b = t.b except select v.a from v where v.b = t.b)",
    "select * from t, lateral (select max(u.b) as m from u where u.a = t.a) q where q.m > 3",
    "select * from t left join lateral (select u.b from u where u.a = t.a) q on q.b = t.b",
    "select * from t, lateral (select t.a + u.b as x, count(*) as n from u where u.a > t.a group by 1) q",
    "select * from t, lateral (values (t.a), (t.b)) q(x)",
    "select * from t left join u on t.a = u.a and u.b = (select max(b) from v)",
    "with w as (select a, sum(b) s from u group by a) select * from w w1, w w2 where w1.a = w2.a",
    "with w as (select * from u where b = 1) select * from w w1, w w2 where w1.a = w2.a and w2.c = 3",
    "select (with w as (select a, b from u where u.c = t.c) select count(*) from w w1, w w2 where w1.a = w2.b) from t",
    "select b, count(distinct c) from t group by b",
    "select b, count(distinct c), sum(distinct a), count(*), avg(a), max(c) from t group by b",
    "select count(distinct a), count(distinct b), sum(c) from t",
    "select count(distinct c), sum(a), count(*), min(b) from t",
    "select avg(distinct a), avg(b), avg(n) from v group by c",
    "select avg(a), avg(n), avg(c::float8), avg(b::real) from v",
    "select count(*) filter (where b > 3), sum(a) filter (where b = 1), avg(c) filter (where a < 3) from t",
    "select a, b, count(*) from t group by a, b",
    "select t.a, t.s, v.b, sum(u.c) from t, u, v where t.a = u.a and v.a = t.a group by t.a, t.s, v.b",
    "select distinct a, b from t",
    "select a from t union select a from u",
    "select a, b from t intersect select a, b from u",
    "select a, b from t except all select a, b from u",
    "select a from t intersect all select a from u",
    "select * from (select a, b from t union all select a, b from u) q where a = 3",
    "select a from t order by b desc limit 10 offset 5",
    "select a + 1 from t order by a limit 3",
    "select * from (select * from t order by a limit 10) q where b = 2",
    "select * from (select b, count(*) n from t group by b) q where b = 3 and n > 5",
    "select * from t where s like 'a%' and (b = 1 or b = 2 or b = 3)",
    "select * from t, u where (t.a = 1 and u.b = 2) or (t.a = 2 and u.b = 1)",
    "select * from t, u where (t.a = u.a and t.b = 1) or (t.a = u.a and u.b = 2)",
    "select case when b = 0 then 0 else a / b end from t where b <> 0 and a / b > 2",
    "select * from t where random() < 0.5",
    "select * from generate_series(1, 10) g(x), t where t.a = g.x",
    "values (1, 2), (3, (select max(a) from t))",
    "select * from t where a = 1 or (select true)",
    "select sum((select max(b) from u where u.a = t.a)) from t",
    "select b from t group by b having sum(a) > (select avg(a) from u where u.b = t.b)",
    "insert into t select a, b, c, s from u where u.a = (select max(a) from t)",
    "update t set b = (select max(u.b) from u where u.a = t.a) where c = 3",
    "delete from t where exists (select 1 from u where u.a = t.a)",
};
static void test_small(void **state) {
    (void)state;
    for (int i = 0; i < (int)(sizeof small / sizeof small[0]); i++) run(small[i], i + 1);
}

static bool contains(const char *sql, const char *what) {
    Err e;
    Arena *a = arena_new(&acct, &e);
    const char *text = optimise(a, sql, 0, true, &e);
    bool r = strstr(text, what) != NULL;
    if (!r) fprintf(stderr, "%s\n%s", sql, text);
    arena_free(a);
    return r;
}
static void test_shapes(void **state) {
    (void)state;
    assert_true(contains("select * from t where a = 1 and a = 2", "values, rows 0"));
    assert_true(contains("select * from t left join u on t.a = u.a where u.b > 3", "inner join"));
    assert_false(contains("select t.* from t left join v on t.b = v.a", "cte"));
    assert_true(contains("select * from t where a not in (select a from v)", "anti join"));
    assert_true(contains("select * from t where a not in (select a from u)", "mark join"));
    assert_true(contains("select * from t order by a limit 3", "top-n"));
    assert_true(contains("select a, s, count(*) from t group by a, s", "any_value"));
    assert_true(contains("select a from t where b in (select b from u)", "semi join"));
    assert_true(contains("select * from t where b >= all (select b from u)", "max(b)"));
    assert_true(contains("select * from t where b < any (select b from u where u.c = t.c)", "max(b)"));
    assert_true(contains("select not b > any (select b from u) from t", "min(b)"));
    assert_false(contains("select * from t where b >= all (select b from u)", "anti join"));
    /* grouping sets say which, and aggregate the groups by all keys where they can */
    assert_true(contains("select b, c, sum(a) from t group by rollup (b, c)", "grouping sets (b, c), (b), ()"));
    assert_true(contains("select b, sum(a) from t group by grouping sets (b, ())", "sum(sum)"));
    assert_false(contains("select b, variance(a) from t group by grouping sets (b, ())", "sum("));
    assert_false(contains("select b, sum(a) from t group by grouping sets (b)", "repeat"));
}
static void test_errors(void **state) {
    (void)state;
    static const struct {
        const char *sql, *sqlstate;
    } bad[] = {
        {"select * from t limit -1", "2201W"},
        {"select * from t offset -1", "2201X"},
    };
    for (int i = 0; i < (int)(sizeof bad / sizeof bad[0]); i++) {
        Err e;
        Arena *a = arena_new(&acct, &e);
        optimise(a, bad[i].sql, 0, false, &e);
        assert_string_equal(e.sqlstate, bad[i].sqlstate);
        arena_free(a);
    }
    uint32_t bits = 0;
    Err e;
    memset(&e, 0, sizeof e);
    assert_int_equal(optimizer_rules_parse(slice_of("join_order, top_n"), &bits, &e), ST_OK);
    assert_int_equal(bits, UINT32_C(1) << RULE_JOIN_ORDER | UINT32_C(1) << RULE_TOP_N);
    assert_int_equal(optimizer_rules_parse(slice_of("nope"), &bits, &e), ST_ERROR);
    assert_string_equal(e.sqlstate, "22023");
}
static void count_stores(const Plan *p, int *stores, int *unordered) {
    if (p->kind == LP_CTE || p->kind == LP_SETOP) {
        ++*stores;
        *unordered += p->unordered;
    }
    for (int32_t i = 0; i < p->n_children; i++) count_stores(p->children[i], stores, unordered);
}
/* Rows of CTEs and unions are in order where the result, a limit, a sort or string_agg sees it, and only there. */
static void test_row_order(void **state) {
    (void)state;
    static const struct {
        const char *sql;
        int stores, unordered;
    } q[] = {
        {"select count(distinct b), count(distinct c) from t", 1, 1},
        {"select b, count(distinct c), count(distinct s) from t group by b order by b", 1, 1},
        {"select a from t union all select a from u", 1, 0},
        {"select a from t union all select a from u order by a", 1, 0},
        {"select a from t union select a from u", 1, 1},
        {"select sum(a) from (select a from t union all select a from u) x", 1, 1},
        {"select string_agg(s, ',') from (select s from t union all select s from u) x", 1, 0},
        {"select sum(a) from (select a from t union all select a from u limit 10) x", 1, 0},
        {"select x.a from (select a from u union all select a from u) x join v on x.a = v.a", 1, 0},
        {"select u.a from u join (select a from v union all select a from v) x on x.a = u.a", 1, 1},
        {"with c as (select b, sum(c) d from t group by b) select count(*) from c x, c y where x.b = y.d", 1, 1},
        {"with c as (select b, sum(c) d from t group by b) select d, (select max(d) from c) from c", 1, 0},
        {"with c as (select b from t union all select b from u), d as (select b, max(b) m from c group by b) select m "
         "from d x union all select m from d",
         3, 1},
    };
    for (int i = 0; i < (int)(sizeof q / sizeof q[0]); i++) {
        Err e;
        memset(&e, 0, sizeof e);
        Arena *a = arena_new(&acct, &e);
        assert_non_null(a);
        PlanCtx c;
        memset(&c, 0, sizeof c);
        c.arena = a;
        c.err = &e;
        c.catalog = &cat;
        c.session = &info;
        AstStmt **stmts;
        int64_t n;
        int stores = 0, unordered = 0;
        BoundStmt *b = NULL;
        assert_true(vec_push(a, &c.cols, ((ColInfo){.name = "", .col = -1})));
        assert_int_equal(sql_parse(a, slice_of(q[i].sql), &stmts, &n, &e), ST_OK);
        assert_int_equal(sql_bind(&c, stmts[0], 0, NULL, &b), ST_OK);
        assert_int_equal(sql_optimize(&c, b), ST_OK);
        count_stores(b->plan, &stores, &unordered);
        if (stores != q[i].stores || unordered != q[i].unordered)
            fprintf(stderr, "%s: %d of %d\n%s\n", q[i].sql, unordered, stores, plan_text(&c, b->plan));
        assert_int_equal(stores, q[i].stores);
        assert_int_equal(unordered, q[i].unordered);
        arena_free(a);
    }
}
/* Two operators that share an array are refused before any rule changes one of them by the other. */
static void test_shared(void **state) {
    (void)state;
    for (int kind = 0; kind < 4; kind++) {
        Err e;
        memset(&e, 0, sizeof e);
        Arena *a = arena_new(&acct, &e);
        assert_non_null(a);
        PlanCtx c;
        memset(&c, 0, sizeof c);
        c.arena = a;
        c.err = &e;
        c.catalog = &cat;
        c.session = &info;
        AstStmt **stmts;
        int64_t n;
        BoundStmt *b = NULL;
        assert_true(vec_push(a, &c.cols, ((ColInfo){.name = "", .col = -1})));
        assert_int_equal(
            sql_parse(a, slice_of("select a + 1, b from t union all select a + 1, b from u"), &stmts, &n, &e), ST_OK);
        assert_int_equal(sql_bind(&c, stmts[0], 0, NULL, &b), ST_OK);
        Plan *p = b->plan;
        assert_int_equal(p->kind, LP_SETOP);
        if (kind == 1) p->set.cols[0] = p->children[0]->out_cols;
        if (kind == 2) p->children[1]->exprs[0]->args[0] = p->children[0]->exprs[0]->args[0];
        if (kind == 3) p->children[1]->children = p->children[0]->children;
        assert_int_equal(sql_optimize(&c, b), kind == 0 ? ST_OK : ST_ERROR);
        if (kind > 0) assert_string_equal(e.sqlstate, "XX000");
        arena_free(a);
    }
}
/* Every allocation fails once: an error, never a crash. */
static void test_memory(void **state) {
    (void)state;
    static const char *const sqls[] = {"select b, count(distinct c), avg(a) from t where exists (select 1 from u where "
                                       "u.a = t.a) group by b order by 1 limit 2",
                                       "select (select count(*) from u where u.a > t.a) from t, v where t.a = v.a"};
    for (int q = 0; q < 2; q++)
        for (int64_t limit = 4096; limit < 4 << 20; limit += limit / 3) {
            MemAccount small_acct;
            mem_account_init(&small_acct, NULL, "small", limit, "memory_limit");
            Err e;
            memset(&e, 0, sizeof e);
            Arena *a = arena_new(&small_acct, &e);
            if (!a) continue;
            PlanCtx c;
            memset(&c, 0, sizeof c);
            c.arena = a;
            c.err = &e;
            c.catalog = &cat;
            c.session = &info;
            AstStmt **stmts;
            int64_t n;
            BoundStmt *b;
            bool ok = vec_push(a, &c.cols, ((ColInfo){.name = "", .col = -1})) &&
                      sql_parse(a, slice_of(sqls[q]), &stmts, &n, &e) == ST_OK &&
                      sql_bind(&c, stmts[0], 0, NULL, &b) == ST_OK && sql_optimize(&c, b) == ST_OK;
            assert_true(ok || err_is_set(&e));
            arena_free(a);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small),  cmocka_unit_test(test_tpch),   cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_errors), cmocka_unit_test(test_shared), cmocka_unit_test(test_row_order),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
