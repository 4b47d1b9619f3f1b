/* workloads.c - arguments of calls, and invariants, of TPC-B, TPC-C, TM-1, SmallBank, YCSB and the micro benchmark of
 * GPUTx [§6] (bench/oltp/NAME.sql). */
#include <math.h>
#include <string.h>

#include "base/base.h"
#include "workloads.h"

static uint64_t rng_next(Rng *r) {
    uint64_t x = r->s += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}
int64_t rng_to(Rng *r, int64_t n) { return n > 0 ? (int64_t)(rng_next(r) % (uint64_t)n) : 0; }
static double rng_unit(Rng *r) { return (double)(rng_next(r) >> 11) * 0x1p-53; }

static void zipf_init(Zipf *z, int64_t n, double theta) {
    *z = (Zipf){.n = n, .theta = theta, .alpha = 1 / (1 - theta)};
    for (int64_t i = 1; i <= n; i++) z->zetan += pow(1.0 / (double)i, theta);
    z->eta = (1 - pow(2.0 / (double)n, 1 - theta)) / (1 - (1 + pow(0.5, theta)) / z->zetan);
}
static int64_t zipf_next(const Zipf *z, Rng *r) {
    if (z->theta == 0) return rng_to(r, z->n);
    double u = rng_unit(r), uz = u * z->zetan;
    if (uz < 1) return 0;
    if (uz < 1 + pow(0.5, z->theta)) return 1;
    return MIN_OF((int64_t)((double)z->n * pow(z->eta * u - z->eta + 1, z->alpha)), z->n - 1);
}

static void put_text(Cell *c, const char *fmt, int64_t v) {
    c->len = snprintf(c->text, sizeof c->text, fmt, (long long)v);
}

static void make_tpcb(Maker *m, int type, Cell *c) {
    (void)type;
    int64_t s = m->o->scale, t = rng_to(&m->rng, s * 10);
    c[1].v = 1 + t;
    c[2].v = 1 + t / 10;
    /* 85 %: an account of the teller's branch */
    int64_t branch = s > 1 && rng_to(&m->rng, 100) >= 15 ? t / 10 : rng_to(&m->rng, s);
    c[0].v = 1 + branch * 100000 + rng_to(&m->rng, 100000);
    c[3].v = rng_to(&m->rng, 1999999) - 999999;
    c[4].v = m->n_total;
}
static void make_smallbank(Maker *m, int type, Cell *c) {
    int64_t n = m->o->scale * 1000;
    int64_t a = zipf_next(&m->zipf, &m->rng), b = (a + 1 + rng_to(&m->rng, n - 1)) % n;
    put_text(&c[0], "c%lld", 1 + a);
    if (type == 3) put_text(&c[1], "c%lld", 1 + b);
    else c[1].v = 1 + rng_to(&m->rng, 100) - (type == 2 ? 40 : 0);
}
static int64_t tm1_subscriber(Maker *m) { /* the standard's non-uniform choice */
    int64_t n = m->o->scale * 1000, a = n <= 1000000 ? 65535 : n <= 10000000 ? 1048575 : 2097151;
    return ((rng_to(&m->rng, a + 1) | (1 + rng_to(&m->rng, n))) % n) + 1;
}
static void make_tm1(Maker *m, int type, Cell *c) {
    int64_t s = tm1_subscriber(m), start = rng_to(&m->rng, 3) * 8;
    if (type >= 4) put_text(&c[0], "%015lld", s);
    else c[0].v = s;
    switch (type) {
    case 0: break;
    case 1: c[1].v = 1 + rng_to(&m->rng, 4), c[2].v = start, c[3].v = start + 1 + rng_to(&m->rng, 8); break;
    case 2: c[1].v = 1 + rng_to(&m->rng, 4); break;
    case 3: c[1].v = rng_to(&m->rng, 2), c[2].v = 1 + rng_to(&m->rng, 4), c[3].v = rng_to(&m->rng, 256); break;
    case 4: c[1].v = rng_to(&m->rng, 1 << 30); break;
    case 5:
        c[1].v = 1 + rng_to(&m->rng, 4), c[2].v = start, c[3].v = start + 1 + rng_to(&m->rng, 8),
        put_text(&c[4], "%015lld", rng_to(&m->rng, 1000000));
        break;
    default: c[1].v = 1 + rng_to(&m->rng, 4), c[2].v = start;
    }
}
enum { YCSB_READ, YCSB_UPDATE, YCSB_MODIFY, YCSB_INSERT, YCSB_SCAN, YCSB_TYPES };
static const int ycsb_mixes[][YCSB_TYPES] = {{50, 50, 0, 0, 0}, {95, 5, 0, 0, 0}, {100, 0, 0, 0, 0}, {95, 0, 0, 5, 0},
                                             {0, 0, 0, 5, 95},  {50, 0, 50, 0, 0}}; /* workloads A to F */
static void make_ycsb(Maker *m, int type, Cell *c) {
    if (type == YCSB_INSERT) {
        c[0].v = m->zipf.n + m->fresh++;
        c[1].v = (int64_t)(rng_next(&m->rng) >> 8);
        return;
    }
    uint64_t rank = (uint64_t)zipf_next(&m->zipf, &m->rng);
    if (m->o->workload == 'D') c[0].v = m->zipf.n + m->fresh - 1 - (int64_t)rank; /* the newest rows most often */
    else c[0].v = (int64_t)(rank * m->scattered % (uint64_t)m->zipf.n);
    c[1].v = type == YCSB_SCAN ? 1 + rng_to(&m->rng, 100) : (int64_t)(rng_next(&m->rng) >> 8);
}
/* GPUTx's micro benchmark: the first tuple with probability alpha, all others alike. */
static void make_gputx(Maker *m, int type, Cell *c) {
    (void)type;
    int64_t n = m->o->tuples;
    c[0].v = rng_unit(&m->rng) < m->o->alpha ? 0 : rng_to(&m->rng, n);
    c[1].v = m->o->work;
}

/* TPC-C: clause 2.1.6, with constants of ours. */
static int64_t nurand(Maker *m, int64_t a, int64_t x, int64_t y, int64_t c) {
    return (((rng_to(&m->rng, a + 1) | (x + rng_to(&m->rng, y - x + 1))) + c) % (y - x + 1)) + x;
}
static void put_last_name(Cell *c, int64_t n) {
    static const char *const parts[] = {"BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"};
    c->len = snprintf(c->text, sizeof c->text, "%s%s%s", parts[n / 100 % 10], parts[n / 10 % 10], parts[n % 10]);
}
static void make_tpcc(Maker *m, int type, Cell *c) {
    int64_t scale = m->o->scale, w = 1 + rng_to(&m->rng, scale), d = 1 + rng_to(&m->rng, 10),
            cust = nurand(m, 1023, 1, 3000, 259);
    int64_t now = INT64_C(820454400000000) + m->n_total; /* one microsecond after the other */
    c[0].v = w;
    c[1].v = d;
    switch (type) {
    case 0: {
        int lines = 5 + (int)rng_to(&m->rng, 11);
        c[2].v = cust;
        for (int i = 0; i < lines; i++) {
            int32_t item = (int32_t)nurand(m, 8191, 1, 100000, 7911);
            for (int k = 0; k < i; k++) /* an item once in an order */
                if (c[3].items[k] == item) item = item % 100000 + 1, k = -1;
            c[3].items[i] = item;
            c[4].items[i] =
                (int32_t)(scale > 1 && rng_to(&m->rng, 100) == 0 ? (w + rng_to(&m->rng, scale - 1)) % scale + 1 : w);
            c[5].items[i] = 1 + (int32_t)rng_to(&m->rng, 10);
        }
        if (rng_to(&m->rng, 100) == 0) c[3].items[lines - 1] = 100001; /* there is no such item: 1 % roll back */
        c[3].n = c[4].n = c[5].n = lines;
        c[6].v = now;
        break;
    }
    case 1: {
        bool away = scale > 1 && rng_to(&m->rng, 100) >= 85;
        c[2].v = away ? (w + rng_to(&m->rng, scale - 1)) % scale + 1 : w;
        c[3].v = away ? 1 + rng_to(&m->rng, 10) : d;
        if (rng_to(&m->rng, 100) < 60) put_last_name(&c[5], nurand(m, 255, 0, 999, 123));
        else c[4].v = cust;
        c[6].v = 100 + rng_to(&m->rng, 499901);
        c[7].v = now;
        break;
    }
    case 2:
        if (rng_to(&m->rng, 100) < 60) put_last_name(&c[3], nurand(m, 255, 0, 999, 123));
        else c[2].v = cust;
        break;
    case 3:
        c[1].v = 1 + rng_to(&m->rng, 10);
        c[2].v = now;
        break;
    default: c[2].v = 10 + rng_to(&m->rng, 11);
    }
}

static const Workload workloads[] = {
    {"tpcb",
     "TPC-B",
     1,
     {"tpcb"},
     {100},
     make_tpcb,
     NULL,
     {"select (select count(*) from history) = {calls tpcb}",
      "select d = (select sum(abalance) from accounts) and d = (select sum(tbalance) from tellers) and d = (select "
      "sum(bbalance) from branches) from (select coalesce(sum(delta), 0) d from history) h"}},
    {"tpcc",
     "TPC-C",
     5,
     {"new_order", "payment", "order_status", "delivery", "stock_level"},
     {45, 43, 4, 4, 4},
     make_tpcc,
     NULL,
     {/* clause 3.3.2, conditions 1 to 12 */
      "select not exists (select 1 from warehouse where w_ytd <> (select sum(d_ytd) from district where d_w_id = "
      "w_id))",
      "select not exists (select 1 from district left join (select o_w_id w, o_d_id d, max(o_id) m from orders group "
      "by 1, 2) o on o.w = d_w_id and o.d = d_id left join (select no_w_id w, no_d_id d, max(no_o_id) m from new_order "
      "group by 1, 2) n on n.w = d_w_id and n.d = d_id where d_next_o_id - 1 <> coalesce(o.m, 0) or n.m <> o.m)",
      "select not exists (select 1 from new_order group by no_w_id, no_d_id having max(no_o_id) - min(no_o_id) + 1 <> "
      "count(*))",
      "select not exists (select 1 from (select o_w_id w, o_d_id d, sum(o_ol_cnt) n from orders group by 1, 2) o, "
      "(select ol_w_id w, ol_d_id d, count(*) n from order_line group by 1, 2) l"
      " where o.w = l.w and o.d = l.d and o.n <> l.n)",
      "select not exists (select 1 from orders left join new_order on no_w_id = o_w_id and no_d_id = o_d_id and "
      "no_o_id = o_id where (o_carrier_id is null) <> (no_o_id is not null))",
      "select not exists (select 1 from orders left join (select ol_w_id w, ol_d_id d, ol_o_id o, count(*) n from "
      "order_line group by 1, 2, 3) l on l.w = o_w_id and l.d = o_d_id and l.o = o_id"
      " where o_ol_cnt <> coalesce(l.n, 0))",
      "select not exists (select 1 from order_line, orders where ol_w_id = o_w_id and ol_d_id = o_d_id and ol_o_id = "
      "o_id and (ol_delivery_d is null) <> (o_carrier_id is null))",
      "select not exists (select 1 from warehouse where w_ytd <> (select sum(h_amount) from history where h_w_id = "
      "w_id))",
      "select not exists (select 1 from district, (select h_w_id w, h_d_id d, sum(h_amount) s from history group by 1, "
      "2) h where h.w = d_w_id and h.d = d_id and d_ytd <> h.s)",
      "select not exists (select 1 from customer left join (select o_w_id w, o_d_id d, o_c_id c, sum(ol_amount) s from "
      "orders, order_line where ol_w_id = o_w_id and ol_d_id = o_d_id and ol_o_id = o_id"
      " and ol_delivery_d is not null group by 1, 2, 3) l on l.w = c_w_id and l.d = c_d_id and l.c = c_id left join "
      "(select h_c_w_id w, h_c_d_id d, h_c_id c, sum(h_amount) s from history group by 1, 2, 3) h"
      " on h.w = c_w_id and h.d = c_d_id and h.c = c_id where c_balance <> coalesce(l.s, 0) - coalesce(h.s, 0))",
      "select not exists (select 1 from (select o_w_id w, o_d_id d, count(*) n from orders group by 1, 2) o, (select "
      "no_w_id w, no_d_id d, count(*) n from new_order group by 1, 2) k"
      " where o.w = k.w and o.d = k.d and o.n - k.n < 2100)",
      "select not exists (select 1 from customer left join (select o_w_id w, o_d_id d, o_c_id c, sum(ol_amount) s from "
      "orders, order_line where ol_w_id = o_w_id and ol_d_id = o_d_id and ol_o_id = o_id"
      " and ol_delivery_d is not null group by 1, 2, 3) l on l.w = c_w_id and l.d = c_d_id and l.c = c_id where "
      "c_balance + c_ytd_payment <> coalesce(l.s, 0))",
      /* beyond the specification, whose conditions leave stock out */
      "select not exists (select 1 from stock left join (select ol_supply_w_id w, ol_i_id i, count(*) n, "
      "sum(ol_quantity) q from order_line where ol_o_id > 3000 group by 1, 2) l"
      " on l.w = s_w_id and l.i = s_i_id where s_order_cnt <> coalesce(l.n, 0) or s_ytd <> coalesce(l.q, 0))",
      /* nor do they miss a call that left nothing at all */
      "select (select count(*) from orders) = w * 30000 + {calls new_order} and (select count(*) from history) = w * "
      "30000 + {calls payment}"
      " and (select count(*) from new_order) = w * 9000 + {calls new_order} - {sum delivered} from (select count(*) "
      "from warehouse) x(w)",
      /* clause 4.3.3.1: texts of stock and customer, and what payments made of those with bad credit */
      "select not exists (select 1 from stock where length(s_data) not between 26 and 50 or length(s_dist_01) <> 24 or "
      "length(s_dist_10) <> 24) and not exists (select 1 from customer where length(c_data) not between 300 and 500 or "
      "length(c_first) not between 8 and 16 or length(c_street_1) not between 10 and 20 or length(c_phone) <> 16 or "
      "c_last is null or c_payment_cnt > 1 and (c_credit = 'BC') <> (c_data like c_id || ' ' || c_d_id || ' ' || "
      "c_w_id || ' %|%'))",
      /* and those of rows that calls made are those of the rows that they come from */
      "select not exists (select 1 from history, warehouse, district where w_id = h_w_id and d_w_id = h_w_id and d_id "
      "= "
      "h_d_id and h_date <> timestamp '2026-01-01' and h_data <> w_name || '    ' || d_name) and not exists (select 1 "
      "from order_line, stock where s_w_id = ol_supply_w_id and s_i_id = ol_i_id and ol_o_id > 3000 and ol_d_id = 1 "
      "and "
      "ol_dist_info <> s_dist_01)"}},
    {"smallbank",
     "SmallBank",
     5,
     {"balance", "deposit_checking", "transact_saving", "amalgamate", "write_check"},
     {15, 25, 15, 15, 30},
     make_smallbank,
     "select (select sum(bal) from savings) + (select sum(bal) from checking)",
     {"select (select min(bal) from savings) >= 0",
      "select (select sum(bal) from savings) + (select sum(bal) from checking) = {before} + {sum entered}"}},
    {"tm1",
     "TM-1",
     7,
     {"get_subscriber_data", "get_new_destination", "get_access_data", "update_subscriber_data", "update_location",
      "insert_call_forwarding", "delete_call_forwarding"},
     {35, 10, 35, 2, 14, 2, 2},
     make_tm1,
     "select count(*) from call_forwarding",
     {"select (select count(*) from call_forwarding) = {before} + {calls insert_call_forwarding} - {calls "
      "delete_call_forwarding}",
      "select not exists (select 1 from call_forwarding c where not exists (select 1 from special_facility f where "
      "f.s_id = c.s_id and f.sf_type = c.sf_type))"}},
    {"ycsb",
     "YCSB",
     YCSB_TYPES,
     {"ycsb_read", "ycsb_update", "ycsb_modify", "ycsb_insert", "ycsb_scan"},
     {0},
     make_ycsb,
     "select count(*) from usertable",
     {"select count(*) = {before} + {calls ycsb_insert} from usertable",
      "select not exists (select 1 from usertable where k < {before} and (f1 <> k or f9 <> k) or k >= {before} and (f1 "
      "<> -k or f9 <> -k))"}},
    {"gputx",
     "GPUTx micro benchmark",
     0,
     {0},
     {0},
     make_gputx,
     "select count(*) from tuples",
     {"select count(*) = {before} and max(id) = {before} - 1 from tuples"}},
};

bool workload_find(const char *name, char ycsb, Workload *w) {
    for (size_t i = 0; i < ARRAY_LEN(workloads); i++) {
        if (strcmp(workloads[i].name, name) != 0) continue;
        *w = workloads[i];
        if (w->make != make_ycsb) return true;
        memcpy(w->weights, ycsb_mixes[ycsb - 'A'], sizeof ycsb_mixes[0]);
        snprintf(w->what, sizeof w->what, "YCSB %c", ycsb);
        return true;
    }
    return false;
}
void maker_init(Maker *m, const OltpOptions *o, const Workload *w, uint64_t seed) {
    *m = (Maker){.rng = {seed}, .o = o, .scattered = 2654435761u, .fresh = m->fresh};
    zipf_init(&m->zipf, w->n_types ? o->scale * 1000 : o->tuples, o->skew);
}
