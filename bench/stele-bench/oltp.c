/* oltp.c - transactions in bulk: TPC-B, TPC-C, TM-1, SmallBank, YCSB and the micro benchmark of GPUTx [§6], written in
 * SQL and PL/pgSQL (bench/oltp/NAME.sql).
 *
 * Calls are made in memory beforehand, not timed. A bulk's time is all of session_bulk_run: footprints, schedule,
 * execution, results. Latency is from a call's arrival to its result, on a clock that stands still while calls are
 * made: with --arrival calls come evenly at that rate and a bulk of all that wait is cut every --interval (or when the
 * one before has ended); without, calls come as fast as they are done: those of a bulk have come evenly while the bulk
 * before it ran. With --pool calls go to the pool of calls one by one, and times are what the clock says. After the run
 * the benchmark's invariants are checked, against what was there before and what the calls that succeeded gave.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "oltp.h"
#include "base/log.h"
#include "session/pool/callpool.h"
#include "types/array.h"

typedef struct Rng {
    uint64_t s;
} Rng;
static uint64_t rng_next(Rng *r) {
    uint64_t x = r->s += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}
static int64_t rng_to(Rng *r, int64_t n) { return n > 0 ? (int64_t)(rng_next(r) % (uint64_t)n) : 0; } /* 0 .. n - 1 */
static double rng_unit(Rng *r) { return (double)(rng_next(r) >> 11) * 0x1p-53; }

/* Ranks with probabilities 1 / rank^theta, after Gray et al., "Quickly generating billion-record synthetic databases".
 */
typedef struct Zipf {
    int64_t n;
    double theta, alpha, zetan, eta;
} Zipf;
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

enum { TYPES_MAX = OLTP_TYPES_MAX, COLS_MAX = 8, OUTS_MAX = 40, TEXT_CELL = 96, LINES_MAX = 15, CHECKS_MAX = 16 };
typedef struct Maker {
    Rng rng;
    Zipf zipf;
    const OltpOptions *o;
    int64_t n_total;    /* calls made so far */
    uint64_t scattered; /* YCSB: ranks are spread over the keys */
    int64_t fresh;      /* YCSB: keys given to inserts, of all lines */
} Maker;

/* One cell: integers (numerics: hundredths) in `v`, texts in `text`, arrays as n integers. */
typedef struct Cell {
    int64_t v;
    int len;
    char text[TEXT_CELL];
    int n;
    int32_t items[LINES_MAX];
} Cell;
typedef struct Workload {
    const char *name, *what;
    int n_types;
    const char *procs[TYPES_MAX];
    int weights[TYPES_MAX]; /* per cent */
    void (*make)(Maker *m, int type, Cell *cells);
    const char *before; /* a query for one number, before the calls; NULL: none */
    /* Queries that must give one row "t" afterwards. {before}: that number; {calls P}: calls of procedure P that
     * succeeded; {sum X}: of what those, of any procedure, gave as OUT value X, an integer. */
    const char *checks[CHECKS_MAX + 1];
} Workload;

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
      "select (select sum(abalance) from accounts) = (select sum(delta) from history) and (select sum(tbalance) from "
      "tellers) = (select sum(delta) from history)"
      " and (select sum(bbalance) from branches) = (select sum(delta) from history)"}},
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

/* ---- a bulk of calls in memory --------------------------------------------------------------------------- */
typedef struct Calls { /* of one procedure */
    const Routine *r;
    int n_cols;
    Vec cols[COLS_MAX];
    char *texts[COLS_MAX];
    uint32_t *numbers;
    int64_t n;
    int n_outs; /* and of those that ran: OUT values, integers only */
    const char *outs[OUTS_MAX];
    bool summed[OUTS_MAX];
    int128_t sums[OUTS_MAX];
    int64_t succeeded;
} Calls;

/* Whether an invariant looks at the sum of these OUT values. */
static bool asked_for(const Workload *w, const char *out) {
    char mark[80];
    snprintf(mark, sizeof mark, "{sum %s}", out ? out : "");
    for (int i = 0; w->checks[i]; i++)
        if (strstr(w->checks[i], mark)) return true;
    return false;
}

static bool calls_new(Calls *c, const Workload *w, const Routine *r, int64_t cap) {
    *c = (Calls){.r = r, .numbers = calloc((size_t)cap, sizeof *c->numbers)};
    bool ok = c->numbers != NULL;
    for (int i = 0; i < r->n_params && c->n_cols < COLS_MAX; i++) {
        if (r->param_modes[i] != 'i' && r->param_modes[i] != 'b') continue;
        Phys ph = type_phys(r->param_types[i]);
        Vec *v = &c->cols[c->n_cols];
        *v = (Vec){.phys = (uint8_t)ph, .type = r->param_types[i], .data = calloc((size_t)cap, (size_t)phys_size(ph))};
        if (ph == PH_STR) c->texts[c->n_cols] = calloc((size_t)cap, TEXT_CELL);
        ok &= v->data && (ph != PH_STR || c->texts[c->n_cols]);
        c->n_cols++;
    }
    for (int i = 0; i < r->n_params && c->n_outs < OUTS_MAX; i++) {
        if (r->param_modes[i] == 'i') continue;
        Phys ph = type_phys(r->param_types[i]);
        c->outs[c->n_outs] = r->param_names[i];
        c->summed[c->n_outs++] = (ph == PH_I32 || ph == PH_I64) && asked_for(w, r->param_names[i]);
    }
    return ok;
}
static void calls_free(Calls *c) {
    for (int i = 0; i < c->n_cols; i++) free(c->cols[i].data), free(c->texts[i]);
    free(c->numbers);
}
static void calls_add(Calls *c, uint32_t number, const Cell *cells) {
    int64_t i = c->n++;
    c->numbers[i] = number;
    for (int k = 0; k < c->n_cols; k++) {
        void *d = c->cols[k].data;
        switch (c->cols[k].phys) {
        case PH_I16: ((int16_t *)d)[i] = (int16_t)cells[k].v; break;
        case PH_I32: ((int32_t *)d)[i] = (int32_t)cells[k].v; break;
        case PH_I64: ((int64_t *)d)[i] = cells[k].v; break;
        case PH_F64: ((double *)d)[i] = (double)cells[k].v; break;
        case PH_I128:
            ((int128_t *)d)[i] = cells[k].v * pow10_i128[c->cols[k].type.scale - 2];
            break; /* numeric without a scale */
        default: {
            char *t = c->texts[k] + i * TEXT_CELL;
            if (c->cols[k].type.id == T_ARRAY) {
                ArrayHead head = {.n = cells[k].n,
                                  .phys = PH_I32,
                                  .data = sizeof head,
                                  .bytes = (uint32_t)sizeof head + 4 * (uint32_t)cells[k].n};
                memcpy(t, &head, sizeof head);
                memcpy(t + sizeof head, cells[k].items, 4 * (size_t)cells[k].n);
                ((Str *)d)[i] = str_make(t, head.bytes);
                break;
            }
            memcpy(t, cells[k].text, TEXT_CELL);
            ((Str *)d)[i] = str_make(t, cells[k].len);
        }
        }
    }
}

/* Of part p of a bulk that has run. */
static void calls_count(Calls *c, const BulkResult *r, int p) {
    for (int64_t i = 0; i < c->n; i++) c->succeeded += !r->errors[p][i];
    for (int k = 0; k < c->n_outs; k++) {
        const Vec *v = &r->outs[p][k];
        for (int64_t i = 0; i < c->n && c->summed[k]; i++)
            if (!r->errors[p][i] && (!v->valid || v->valid[i]))
                c->sums[k] += v->phys == PH_I32 ? ((const int32_t *)v->data)[i] : ((const int64_t *)v->data)[i];
    }
}

/* ---- running ------------------------------------------------------------------------------------------------ */
static bool exec_sql(Session *s, const char *sql, char why[WHY_MAX]) {
    Slice text = slice_of(sql);
    while (text.len > 0) {
        Statement *st = NULL;
        int64_t used = 0;
        if (statement_prepare(s, text, &st, &used) != ST_OK || (st && statement_run(st) != ST_OK)) {
            snprintf(why, WHY_MAX, "%s: %.380s", s->err.sqlstate, s->err.message);
            if (st) statement_free(st);
            return false;
        }
        if (st) statement_free(st);
        text.ptr += used;
        text.len -= used;
    }
    return true;
}
/* A query's only cell. NULL: `why` says why there is none. */
static const void *one_cell(Session *s, const char *sql, Statement **st, char why[WHY_MAX]) {
    const void *cell = NULL;
    bool null = true;
    int64_t used = 0;
    *st = NULL;
    bool ok = statement_prepare(s, slice_of(sql), st, &used) == ST_OK && statement_run(*st) == ST_OK &&
              ((*st)->n_rows != 1 || rows_cell((*st)->rows, 0, (*st)->first_col, &cell, &null, &s->err) == ST_OK);
    if (!ok) snprintf(why, WHY_MAX, "%s: %.380s", s->err.sqlstate, s->err.message);
    else if (null) snprintf(why, WHY_MAX, "gives no value: %.380s", sql);
    return ok && !null ? cell : NULL;
}
static bool number_of(Session *s, const char *sql, int64_t *out, char why[WHY_MAX]) {
    Statement *st;
    char text[700];
    snprintf(text, sizeof text, "select cast((%s) as bigint)", sql);
    const void *cell = one_cell(s, text, &st, why);
    if (cell) memcpy(out, cell, sizeof *out);
    if (st) statement_free(st);
    return cell != NULL;
}
static bool check_true(Session *s, const char *sql, char why[WHY_MAX]) {
    Statement *st;
    const void *cell = one_cell(s, sql, &st, why);
    const bool ok = cell && *(const uint8_t *)cell;
    if (cell && !ok) snprintf(why, WHY_MAX, "does not hold: %.380s", sql);
    if (st) statement_free(st);
    return ok;
}

/* An invariant with its numbers filled in. NULL: `why`. */
static char *check_text(const char *check, const Calls *calls, int n, int64_t before, char why[WHY_MAX]) {
    char *out = NULL, name[64];
    size_t len = 0;
    FILE *f = open_memstream(&out, &len);
    bool ok = f != NULL;
    if (!ok) snprintf(why, WHY_MAX, "out of memory");
    for (const char *at = check; ok && *at;) {
        int used = 0, found = 0;
        int128_t value = 0;
        const size_t plain = strcspn(at, "{");
        fwrite(at, 1, plain, f);
        at += plain;
        if (!*at) break;
        if (strncmp(at, "{before}", 8) == 0) {
            value = before;
            used = 8;
            found = 1;
        } else if (sscanf(at, "{calls %63[a-z_]}%n", name, &used) == 1 && used) {
            for (int i = 0; i < n; i++)
                if (strcmp(calls[i].r->name, name) == 0)
                    value = calls[i].succeeded + calls[TYPES_MAX + i].succeeded, found++;
        } else if (sscanf(at, "{sum %63[a-z_]}%n", name, &used) == 1 && used) {
            for (int i = 0; i < n; i++)
                for (int k = 0; k < calls[i].n_outs; k++)
                    if (calls[i].summed[k] && strcmp(calls[i].outs[k], name) == 0)
                        value += calls[i].sums[k] + calls[TYPES_MAX + i].sums[k], found++;
        }
        ok = found > 0 && value >= INT64_MIN && value <= INT64_MAX;
        if (!ok) snprintf(why, WHY_MAX, "nothing to put in, or too large: %.300s", at);
        else fprintf(f, "(%lld)", (long long)value);
        at += used;
    }
    if (f) fclose(f);
    if (ok) return out;
    free(out);
    return NULL;
}
/* All of them, and how many hold, whatever the calls ran on. */
static bool check_all(Session *s, const Workload *w, const Calls *calls, int n, int64_t before) {
    int held = 0, broken = 0;
    char unset[WHY_MAX] = "";
    if (!exec_sql(s, "set executor = 'vm'; set device_strict = off", unset))
        fprintf(stderr, "stele-bench %s: %s\n", w->name, unset);
    for (int i = 0; w->checks[i]; i++) {
        char why[WHY_MAX] = "";
        char *sql = check_text(w->checks[i], calls, n, before, why);
        const bool ok = sql && check_true(s, sql, why);
        if (!ok) fprintf(stderr, "stele-bench %s: invariant %d: %s\n", w->name, i + 1, why);
        held += ok;
        broken += !ok;
        free(sql);
    }
    printf("  %d invariant%s, %d broken\n", held, held == 1 ? " holds" : "s hold", broken);
    return broken == 0;
}

static char *setup_text(const Workload *w, const OltpOptions *o, char why[WHY_MAX]) {
    char path[1100];
    char *text = NULL, *out = NULL;
    size_t len = 0;
    if (strcmp(w->name, "gputx") == 0) { /* T procedures of the same kind */
        FILE *f = open_memstream(&out, &len);
        if (!f) return NULL;
        fprintf(f,
                "CREATE TABLE tuples (id int PRIMARY KEY, v double precision NOT NULL); INSERT INTO tuples SELECT i, i "
                "FROM generate_series(0, %lld) AS g(i);",
                (long long)o->tuples - 1);
        for (int t = 0; t < o->types; t++)
            fprintf(
                f,
                "CREATE PROCEDURE micro_%d(key int, x int) LANGUAGE plpgsql AS $$ DECLARE y double precision; BEGIN "
                "SELECT v INTO y FROM tuples WHERE id = key; "
                "FOR i IN 1 .. x LOOP y := y * 0.999 + %d; END LOOP; UPDATE tuples SET v = y WHERE id = key; END $$;",
                t, t + 1);
        fclose(f);
        return out;
    }
    snprintf(path, sizeof path, "%s/%s.sql", o->folder, w->name);
    if (!(text = read_text(path, why))) return NULL;
    FILE *f = open_memstream(&out, &len);
    for (const char *at = text; f && *at;) {
        const char *mark = strstr(at, ":scale");
        if (!mark) mark = at + strlen(at);
        fwrite(at, 1, (size_t)(mark - at), f);
        if (*mark) fprintf(f, "%lld", (long long)o->scale), mark += 6;
        at = mark;
    }
    if (f) fclose(f);
    free(text);
    return out;
}

/* Latencies of a run: samples that stand for so many calls each. */
typedef struct Sample {
    double latency, calls;
} Sample;
enum {
    SAMPLES = 16 /* of each bulk */,
    BULKS_MAX = 1 << 16,
    WARM_UP_MAX = 60 /* seconds, for kernels to be compiled */
};
typedef struct Total {
    double seconds, warm_up, latency_sum, p50, p99, max;
    double busy, cpu;
    int64_t image_ns, calls, failed, bulks;
    BulkStats sum;
    BulkStats last;
    int64_t n_samples;
    Sample *samples;
    char reason[160];
} Total;

static int by_latency(const void *a, const void *b) {
    double x = ((const Sample *)a)->latency, y = ((const Sample *)b)->latency;
    return (x > y) - (x < y);
}
/* A bulk of n calls that came evenly between `first` and `last` and had their results at `end`. */
static void add_latencies(Total *t, int64_t n, double first, double last, double end) {
    for (int k = 0; k < SAMPLES; k++) {
        double latency = end - (first + (last - first) * (k + 0.5) / SAMPLES), calls = (double)n / SAMPLES;
        t->samples[t->n_samples++] = (Sample){latency, calls};
        t->latency_sum += latency * calls;
    }
}
static void rank_latencies(Total *t) {
    double below = 0, total = 0;
    for (int64_t i = 0; i < t->n_samples; i++) total += t->samples[i].calls;
    qsort(t->samples, (size_t)t->n_samples, sizeof *t->samples, by_latency);
    for (int64_t i = 0; i < t->n_samples; i++) {
        below += t->samples[i].calls;
        if (t->p50 == 0 && below >= 0.50 * total) t->p50 = t->samples[i].latency;
        if (t->p99 == 0 && below >= 0.99 * total) t->p99 = t->samples[i].latency;
        t->max = t->samples[i].latency;
    }
}

/* Of all threads. */
static double cpu_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Calls of a bulk, and what the one before it is told of it. */
typedef struct Turn {
    Calls *calls;
    int64_t n;
    int n_parts;
    int types[TYPES_MAX];
    BulkCalls parts[TYPES_MAX];
    uint64_t ticket;
    double asked; /* 0: not */
} Turn;
static bool next_turn(void *ctx, int32_t *n_parts, const BulkCalls **parts) {
    Turn *t = ctx;
    t->asked = now_s();
    *n_parts = t->n_parts;
    *parts = t->parts;
    return true;
}
static void make_calls(Turn *t, int n, int64_t size, Maker *m, const Workload *w, const int *mix, int64_t shares) {
    for (int k = 0; k < n; k++) t->calls[k].n = 0;
    for (int64_t i = 0; i < size; i++) {
        int64_t pick = rng_to(&m->rng, shares);
        int type = 0;
        if (m->o->types > 0 && strcmp(w->name, "gputx") == 0) type = (int)(i % n);
        else
            for (; type < n - 1 && pick >= mix[type]; type++) pick -= mix[type];
        Cell cells[COLS_MAX] = {0};
        w->make(m, type, cells);
        m->n_total++;
        calls_add(&t->calls[type], (uint32_t)i, cells);
    }
    t->n = size;
    t->n_parts = 0;
    t->ticket = 0;
    t->asked = 0;
    for (int k = 0; k < n; k++) {
        const Calls *c = &t->calls[k];
        if (c->n == 0) continue;
        t->types[t->n_parts] = k;
        t->parts[t->n_parts++] = (BulkCalls){.routine = c->r, .n = c->n, .params = c->cols, .calls = c->numbers};
    }
}

/* Without an arrival rate there are always enough calls: those of the next bulk are there when this one's calls run,
 * and have come since those of this one were cut off. */
static bool run_bulks(Session *s, Calls *calls, int n, Maker *m, const Workload *w, int64_t size, double interval,
                      Total *t, char why[WHY_MAX]) {
    const double rate = m->o->arrival;
    const int *mix = m->o->mix ? m->o->mix : w->weights;
    int64_t shares = 0;
    for (int k = 0; k < n; k++) shares += mix[k];
    shares = MAX_OF(shares, 1);
    double cut = 0;                     /* when the last bulk was cut */
    double clock = 0, cuts[2] = {0, 0}; /* without a rate: the time, and when this bulk and the next one were cut */
    *t = (Total){.samples = calloc(BULKS_MAX * SAMPLES, sizeof(Sample))};
    Turn turns[2] = {{.calls = calls}, {.calls = calls + TYPES_MAX}}, *now = &turns[0], *then = &turns[1];
    if (!t->samples) return snprintf(why, WHY_MAX, "out of memory"), false;
    bool warm = true, figures = false;
    for (;;) {
        if (t->seconds >= m->o->seconds ||
            t->bulks >= BULKS_MAX) { /* one more bulk where a device does not say how deep bulks are by itself */
            if (t->sum.depth > 0) break;
            if (!exec_sql(s, "set bulk_figures = on", why)) return false;
            figures = true;
        }
        int64_t calls_now = size;
        if (rate > 0 && !warm) {
            cut = fmax(cut + interval, t->seconds);
            calls_now = MIN_OF((int64_t)(rate * cut) - t->calls,
                               size); /* calls that came while the program warmed up do not count */
            if (calls_now <= 0) continue;
        }
        const bool backlog = rate == 0 && !figures;
        if (rate > 0 || now->n == 0) make_calls(now, n, calls_now, m, w, mix, shares);
        if (backlog) make_calls(then, n, calls_now, m, w, mix, shares);
        CallPipeline feed = {.next = backlog ? next_turn : NULL, .ctx = then, .ticket = now->ticket};
        BulkResult *r = NULL;
        atomic_store(&s->cancel, false);
        err_clear(&s->err);
        double began = now_s(), cpu = cpu_s();
        Status st = session_bulk_run(s, now->n_parts, now->parts, &feed, &r);
        st = session_end_statement(s, st);
        double took = now_s() - began;
        cpu = cpu_s() - cpu;
        if (st != ST_OK) return snprintf(why, WHY_MAX, "%s: %.380s", s->err.sqlstate, s->err.message), false;
        if (r->stats.strategy == STRATEGY_SERIAL && r->stats.reason &&
            strcmp(r->stats.executor, "one at a time") == 0) {
            snprintf(why, WHY_MAX, "not in bulk: %s", r->stats.reason);
            bulk_result_free(r);
            return false;
        }
        for (int p = 0; p < now->n_parts; p++) calls_count(&now->calls[now->types[p]], r, p);
        if (figures) {
            t->sum.depth = r->stats.depth * t->bulks;
            bulk_result_free(r);
            return exec_sql(s, "set bulk_figures = off", why);
        }
        if (!warm) { /* the first ones make images and prepare programs */
            if (rate > 0) {
                add_latencies(t, calls_now, (double)t->calls / rate, (double)(t->calls + calls_now) / rate, cut + took);
                t->seconds = cut + took;
            } else {
                if (t->bulks < 2) cuts[0] = clock - took, cuts[1] = clock; /* kernels were compiled meanwhile */
                add_latencies(t, calls_now, cuts[0], cuts[1], clock + took);
                t->seconds += took;
            }
            t->bulks++;
            t->calls += calls_now;
            t->busy += took;
            t->cpu += cpu;
            t->failed += r->stats.n_failed;
            t->sum.footprint_ns += r->stats.footprint_ns;
            t->sum.schedule_ns += r->stats.schedule_ns;
            t->sum.reserve_ns += r->stats.reserve_ns;
            t->sum.run_ns += r->stats.run_ns;
            t->sum.send_ns += r->stats.send_ns;
            t->sum.transfer_ns += r->stats.transfer_ns;
            for (int k = 0; k < BULK_PHASES; k++) t->sum.phase_ns[k] += r->stats.phase_ns[k];
            t->sum.depth += r->stats.depth;
            t->sum.width0 += r->stats.width0;
            t->sum.crossing += r->stats.crossing;
            t->last = r->stats;
            if (r->stats.reason) { /* it goes with the result */
                snprintf(t->reason, sizeof t->reason, "%s", r->stats.reason);
                t->last.reason = t->reason;
            }
        }
        if (warm) t->image_ns += r->stats.images_ns;
        bool pending = r->stats.reason && strstr(r->stats.reason, "is being compiled");
        warm = warm && pending && t->warm_up < WARM_UP_MAX;
        if (t->bulks == 0) t->warm_up += took;
        bulk_result_free(r);
        cuts[0] = cuts[1];
        cuts[1] = clock + (then->asked > 0 ? then->asked - began : took);
        clock += took;
        then->ticket = feed.next_ticket;
        Turn *done = now;
        now = then;
        then = done;
        if (!backlog) now->n = 0;
    }
    return true;
}

/* ---- through the pool of calls (callpool.h) ---- */
/* An entry and its arguments. */
typedef struct Ticket {
    CallEntry entry;
    int type;
    double due;
    Calls calls[TYPES_MAX];
} Ticket;
static void make_ticket(Ticket *x, int n, Maker *m, const Workload *w, const int *mix, int64_t shares) {
    int64_t pick = rng_to(&m->rng, shares);
    x->type = 0;
    if (w->n_types == 0) x->type = (int)(m->n_total % n);
    else
        for (; x->type < n - 1 && pick >= mix[x->type]; x->type++) pick -= mix[x->type];
    Calls *c = &x->calls[x->type];
    c->n = 0;
    for (int64_t i = 0; i < m->o->pool; i++, m->n_total++) {
        Cell cells[COLS_MAX];
        for (int k = 0; k < COLS_MAX; k++) cells[k].v = 0, cells[k].len = 0, cells[k].n = 0;
        w->make(m, x->type, cells);
        calls_add(c, 0, cells);
    }
    x->entry = (CallEntry){.routine = c->r->id, .n = c->n, .params = c->cols};
}
/* All latencies, or as many as there is room for, chosen evenly. */
static void add_latency(Total *t, Rng *r, double latency, int64_t n) {
    int64_t at = t->n_samples < BULKS_MAX * SAMPLES ? t->n_samples++ : rng_to(r, t->calls);
    t->latency_sum += latency * (double)n;
    t->max = fmax(t->max, latency);
    if (at < BULKS_MAX * SAMPLES) t->samples[at] = (Sample){latency, 1};
}
/* What it gave, and its share of its bulk's figures, in 1024ths. */
static void count_entry(Calls *c, const CallEntry *x, Total *t) {
    t->calls += x->n;
    const BulkStats *st = call_entry_stats(x);
    int64_t first;
    const Vec *outs = call_entry_outs(x, &first);
    for (int64_t i = 0; i < x->n; i++) {
        bool failed = call_entry_error(x, i) != NULL;
        c->succeeded += !failed;
        t->failed += failed;
        for (int k = 0; k < c->n_outs && !failed; k++)
            if (c->summed[k] && (!outs[k].valid || outs[k].valid[first + i]))
                c->sums[k] += outs[k].phys == PH_I32 ? ((const int32_t *)outs[k].data)[first + i]
                                                     : ((const int64_t *)outs[k].data)[first + i];
    }
    const double share = (double)x->n / (double)st->n_calls;
#define SHARE(F) t->sum.F += (int64_t)((double)st->F * share * 1024)
    SHARE(footprint_ns), SHARE(schedule_ns), SHARE(reserve_ns), SHARE(run_ns), SHARE(total_ns), SHARE(depth),
        SHARE(width0), SHARE(crossing);
    for (int k = 0; k < BULK_PHASES; k++) SHARE(phase_ns[k]);
#undef SHARE
    t->last = *st;
    t->last.reason = NULL;
    if (st->reason) snprintf(t->reason, sizeof t->reason, "%s", st->reason), t->last.reason = t->reason;
}
/* `size` tickets of --pool calls each are on their way: with a rate they come evenly, without each one follows on one
 * that is done. Nobody waits for them: the pool's thread runs them. */
static bool run_pool(Session *s, Calls *calls, int n, Maker *m, const Workload *w, int64_t size, Total *t,
                     char why[WHY_MAX]) {
    const int *mix = m->o->mix ? m->o->mix : w->weights;
    const double rate = m->o->arrival / m->o->pool;
    int64_t shares = 0;
    for (int k = 0; k < n; k++) shares += mix[k];
    shares = MAX_OF(shares, 1);
    *t = (Total){.samples = calloc(BULKS_MAX * SAMPLES, sizeof(Sample))};
    Ticket *all = calloc((size_t)size, sizeof *all);
    int64_t *idle = calloc((size_t)size, sizeof *idle), n_idle = 0, busy = 0, sent = 0;
    bool ok = all && idle && t->samples;
    for (int64_t i = 0; ok && i < size; i++) {
        idle[n_idle++] = i;
        for (int k = 0; k < n && ok; k++) ok = calls_new(&all[i].calls[k], w, calls[k].r, m->o->pool);
    }
    if (!ok) snprintf(why, WHY_MAX, "out of memory");
    CallPoolStats pool;
    double began = now_s(), cpu = 0;
    int64_t began_ns = clock_ns();
    bool warm = true, pending = true;
    while (ok) {
        double now = now_s();
        const bool over = warm && now - began > m->o->seconds / 4 &&
                          (!pending || now - began > WARM_UP_MAX); /* it ends when nothing is on its way */
        if (over && busy == 0) {
            warm = false;
            call_pool_stats(s, true, &pool);
            began = now, began_ns = clock_ns(), sent = 0, cpu = cpu_s();
        }
        if (!warm && now - began > m->o->seconds) break;
        while (ok && n_idle > 0 && !over && (rate == 0 || (double)sent / rate <= now - began)) {
            Ticket *x = &all[idle[--n_idle]];
            make_ticket(x, n, m, w, mix, shares);
            x->due = rate > 0 ? began + (double)sent / rate : now_s();
            sent++;
            busy++;
            ok = call_submit(s, &x->entry, true) == ST_OK;
            if (!ok) snprintf(why, WHY_MAX, "%.390s", s->err.message);
        }
        bool any = false;
        for (int64_t i = 0; i < size && ok; i++) {
            Ticket *x = &all[i];
            if (atomic_load(&x->entry.state) != CALL_DONE) continue;
            any = true;
            Total warming = {0};
            const Err *fault = call_entry_fault(&x->entry);
            if (fault) snprintf(why, WHY_MAX, "%.390s", fault->message);
            else count_entry(&calls[x->type], &x->entry, warm ? &warming : t);
            if (!fault && !warm)
                add_latency(t, &m->rng, began + (double)(x->entry.done_ns - began_ns) * 1e-9 - x->due, x->entry.n);
            if (warm) pending = warming.last.reason && strstr(warming.last.reason, "is being compiled");
            ok = !fault;
            call_release(s, &x->entry);
            busy--;
            idle[n_idle++] = i;
        }
        if (!any && ok) nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
    }
    t->seconds = now_s() - began;
    t->cpu = cpu_s() - cpu;
    call_pool_stats(s, false, &pool);
    t->bulks = pool.bulks;
    for (int64_t i = 0; all && i < size; i++) {
        bool done;
        Total late = {0};
        if (atomic_load(&all[i].entry.state) != CALL_NEW && call_wait(s, &all[i].entry, -1, &done) == ST_OK &&
            !call_entry_fault(&all[i].entry))
            count_entry(&calls[all[i].type], &all[i].entry, &late);
        call_release(s, &all[i].entry);
        for (int k = 0; k < n; k++) calls_free(&all[i].calls[k]);
    }
    t->busy = (double)t->sum.total_ns / 1024e9;
    int64_t *sums[] = {&t->sum.footprint_ns, &t->sum.schedule_ns, &t->sum.reserve_ns, &t->sum.run_ns,
                       &t->sum.depth,        &t->sum.width0,      &t->sum.crossing};
    for (int k = 0; k < (int)ARRAY_LEN(sums); k++) *sums[k] /= 1024;
    for (int k = 0; k < BULK_PHASES; k++) t->sum.phase_ns[k] /= 1024;
    free(all);
    free(idle);
    return ok;
}

typedef struct Line {
    const char *label;
    int64_t size;
    double interval;
    Strategy strategy;
} Line;

/* Forming: calls numbered by procedure, their code found, footprints made. */
static int64_t formed_ns(const BulkStats *sum) {
    return sum->phase_ns[BP_NUMBER] + sum->phase_ns[BP_PREPARE] + sum->footprint_ns;
}

static void report(Bench *b, const Workload *w, const OltpOptions *o, const Line *l, Total *t) {
    rank_latencies(t);
    const BulkStats *sum = &t->sum;
    const double ns = t->busy * 1e9, bulks = (double)t->bulks;
    const char *executor = t->last.executor ? t->last.executor : "vm";
    char depth[32] = "-";
    if (sum->depth > 0) snprintf(depth, sizeof depth, "%.1f", (double)sum->depth / bulks);
    printf("  %-10lld %-8s %12.0f %8.2f %8.3f %8.3f %8.3f %8.1f %8.1f %8.1f %8.1f %8s %8.0f %7.0f %8.2f  %s%s%s%s%s\n",
           (long long)l->size, strategy_name(t->last.strategy), (double)t->calls / t->seconds,
           t->cpu * 1e6 / (double)t->calls, t->p50 * 1e3, t->p99 * 1e3, t->max * 1e3, 100 * (double)formed_ns(sum) / ns,
           100 * (double)sum->schedule_ns / ns, 100 * (double)sum->send_ns / ns, 100 * (double)sum->run_ns / ns, depth,
           (double)sum->width0 / bulks, (double)sum->crossing / bulks, 100 * (double)t->failed / (double)t->calls,
           l->label, *l->label ? ": " : "", executor, t->last.reason ? ", because " : "",
           t->last.reason ? t->last.reason : "");
    printf("    us of a bulk:");
    for (int k = 0; k < BULK_PHASES; k++)
        if (sum->phase_ns[k] > 0)
            printf(" %s %.0f", bulk_phase_name((BulkPhase)k), (double)sum->phase_ns[k] / bulks / 1e3);
    printf("\n");
    fflush(stdout);
    json_begin(b);
    json_text(b, "benchmark", w->name);
    if (w->make == make_ycsb) json_text(b, "workload", (char[]){o->workload, 0});
    json_text(b, "variant", l->label);
    json_int(b, o->pool > 0 ? "tickets" : "bulk_size", l->size);
    if (o->pool > 0) json_int(b, "calls_per_ticket", o->pool);
    json_text(b, "strategy", strategy_name(t->last.strategy));
    json_text(b, "executor", executor);
    if (t->last.reason) json_text(b, "reason", t->last.reason);
    json_int(b, "scale", o->scale);
    for (int k = 0; o->mix && k < w->n_types; k++) {
        char key[64];
        snprintf(key, sizeof key, "share_of_%s", w->procs[k]);
        json_int(b, key, o->mix[k]);
    }
    json_num(b, "skew", o->skew);
    if (w->n_types == 0)
        json_int(b, "types", o->types), json_int(b, "work", o->work), json_int(b, "tuples", o->tuples),
            json_num(b, "alpha", o->alpha);
    if (o->arrival > 0) json_num(b, "arrival_per_second", o->arrival), json_num(b, "interval_ms", l->interval * 1e3);
    json_num(b, "calls_per_second", (double)t->calls / t->seconds);
    json_int(b, "calls", t->calls);
    json_num(b, "calls_per_bulk", (double)t->calls / bulks);
    json_num(b, "mean_ms", t->latency_sum / (double)t->calls * 1e3);
    json_num(b, "p50_ms", t->p50 * 1e3);
    json_num(b, "p99_ms", t->p99 * 1e3);
    json_num(b, "max_ms", t->max * 1e3);
    json_num(b, "seconds_busy", t->busy);
    json_num(b, "cpu_us_per_call", t->cpu * 1e6 / (double)t->calls);
    json_num(b, "warm_up_s", t->warm_up);
    json_num(b, "image_ms", (double)t->image_ns / 1e6);
    json_num(b, "footprint_share", (double)sum->footprint_ns / ns);
    json_num(b, "schedule_share", (double)sum->schedule_ns / ns);
    json_num(b, "reserve_share", (double)sum->reserve_ns / ns);
    json_num(b, "form_share", (double)formed_ns(sum) / ns);
    json_num(b, "send_share", (double)sum->send_ns / ns);
    json_num(b, "transfer_share", (double)sum->transfer_ns / ns);
    json_num(b, "run_share", (double)sum->run_ns / ns);
    for (int k = 0; k < BULK_PHASES; k++) {
        char name[64];
        snprintf(name, sizeof name, "%s_us", bulk_phase_name((BulkPhase)k));
        json_num(b, name, (double)sum->phase_ns[k] / bulks / 1e3);
    }
    json_num(b, "depth", (double)sum->depth / bulks);
    json_num(b, "width0", (double)sum->width0 / bulks);
    json_num(b, "crossing", (double)sum->crossing / bulks);
    json_num(b, "abort_rate", (double)t->failed / (double)t->calls);
    json_end(b);
}

static bool run_line(Bench *b, Session *s, Maker *m, Calls *calls, int n, const Workload *w, const OltpOptions *o,
                     const Line *l, char why[WHY_MAX]) {
    char set[64];
    snprintf(set, sizeof set, "set bulk_strategy = '%s'", strategy_name(l->strategy));
    if (!exec_sql(s, set, why)) return false;
    *m = (Maker){.rng = {12345}, .o = o, .scattered = 2654435761u, .fresh = m->fresh};
    zipf_init(&m->zipf, w->n_types ? o->scale * 1000 : o->tuples, o->skew);
    Total t;
    bool ok = o->pool > 0 ? run_pool(s, calls, n, m, w, l->size, &t, why)
                          : run_bulks(s, calls, n, m, w, l->size, l->interval, &t, why);
    if (ok && t.bulks > 0) report(b, w, o, l, &t);
    free(t.samples);
    return ok;
}

/* False when one could not be measured; the others are. */
static bool run_points(Bench *b, Session *s, Maker *m, Calls *calls, int n, const Workload *w, const OltpOptions *o) {
    bool all = true;
    for (int i = 0; i < o->n_points; i++) {
        const OltpPoint *p = &o->points[i];
        OltpOptions mine = *o;
        char why[WHY_MAX] = "";
        mine.types = p->types;
        mine.work = p->work;
        mine.alpha = p->alpha;
        mine.seconds = p->seconds;
        for (int k = 0; k < TYPES_MAX; k++)
            if (p->mix[k] > 0) mine.mix = p->mix;
        Line line = {p->label, p->size, 0, p->strategy};
        if ((!p->settings || exec_sql(s, p->settings, why)) &&
            run_line(b, s, m, calls, w->n_types ? n : p->types, w, &mine, &line, why))
            continue;
        fprintf(stderr, "stele-bench %s: %s: %s\n", w->name, p->label, why);
        all = false;
    }
    return all;
}

int bench_oltp(Bench *b, const char *name, const OltpOptions *given) {
    OltpOptions o = *given;
    const Workload *found = NULL;
    for (int i = 0; i < (int)ARRAY_LEN(workloads); i++)
        if (strcmp(workloads[i].name, name) == 0) found = &workloads[i];
    if (!found) return 2;
    Workload chosen = *found;
    const Workload *w = &chosen;
    char why[WHY_MAX] = "", what[16];
    if (w->make == make_ycsb) {
        memcpy(chosen.weights, ycsb_mixes[o.workload - 'A'], sizeof ycsb_mixes[0]);
        snprintf(what, sizeof what, "YCSB %c", o.workload);
        chosen.what = what;
    }
    Database *db = NULL;
    Session *s = NULL;
    Err e = {0};
    if (database_open(NULL, vfs_posix(), b->threads, 0, &db, &e) != ST_OK || session_new(db, &s, &e) != ST_OK) {
        fprintf(stderr, "stele-bench: %s\n", e.message);
        return 1;
    }
    for (int i = 0; i < o.n_points; i++) o.types = MAX_OF(o.types, o.points[i].types);
    int status = 1, n = strcmp(name, "gputx") == 0 ? o.types : w->n_types;
    Calls calls[2 * TYPES_MAX] = {0}; /* of two bulks */
    Maker maker = {.fresh = 0};
    int64_t before = 0;
    double began = now_s();
    char *setup = setup_text(w, &o, why);
    bool ok = setup && exec_sql(s, setup, why);
    free(setup);
    if (ok && w->before) ok = number_of(s, w->before, &before, why);
    if (ok && o.settings) ok = exec_sql(s, o.settings, why);
    int64_t biggest = 0;
    for (int i = 0; i < o.n_sizes; i++) biggest = MAX_OF(biggest, o.sizes[i]);
    for (int i = 0; i < o.n_points; i++) biggest = MAX_OF(biggest, o.points[i].size);
    for (int k = 0; k < n && ok; k++) {
        char proc[64];
        const Routine *r;
        snprintf(proc, sizeof proc, "micro_%d", k);
        ok = session_bulk_routine(s, slice_of(w->n_types ? w->procs[k] : proc), &r) == ST_OK &&
             calls_new(&calls[k], w, r, biggest) && calls_new(&calls[TYPES_MAX + k], w, r, biggest);
        if (!ok) snprintf(why, sizeof why, "%.390s", err_is_set(&s->err) ? s->err.message : "out of memory");
    }
    if (ok) {
        printf("%s, scale %lld: tables made in %.1f s\n", w->what, (long long)o.scale, now_s() - began);
        printf("  %-10s %-8s %12s %8s %8s %8s %8s %8s %8s %8s %8s %8s %8s %7s %8s  %s\n", "bulk", "strategy", "calls/s",
               "CPU us", "p50 ms", "p99 ms", "max ms", "form %", "rank %", "send %", "run %", "d", "w0", "c",
               "aborts %", "executor");
    }
    const Variant plain = {.label = ""};
    bool measured = ok && run_points(b, s, &maker, calls, n, w, &o);
    for (int v = 0; v < MAX_OF(b->n_extra, 1) && ok && o.n_points == 0; v++) {
        const Variant *variant = b->n_extra ? &b->extra[v] : &plain;
        if (variant->settings) ok = exec_sql(s, variant->settings, why);
        for (int i = 0; i < o.n_sizes && ok; i++)
            for (int j = 0; j < MAX_OF(o.n_intervals, 1) && ok; j++)
                for (int k = 0; k < o.n_strategies && ok; k++) {
                    Line line = {variant->label, o.sizes[i], o.n_intervals ? o.intervals[j] : 0, o.strategies[k]};
                    ok = run_line(b, s, &maker, calls, n, w, &o, &line, why);
                }
    }
    if (!ok) fprintf(stderr, "stele-bench %s: %s\n", name, why);
    ok = ok && check_all(s, w, calls, n, before);
    status = ok && measured ? 0 : 1;
    for (int k = 0; k < n; k++) calls_free(&calls[k]), calls_free(&calls[TYPES_MAX + k]);
    session_free(s);
    database_close(db);
    return status;
}
