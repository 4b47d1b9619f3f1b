/* join.c - hash joins of two generated tables [GPU join §3, §4].
 *
 * Tables build and probe of (key, rid), both 32-bit integers. Keys of build are distinct and spread over all 32 bits: a
 * bijection of the row number. A probe row takes, by the match rate, the key of a random row of build, or one that no
 * row of build can have (the bijection of a number from 2^31 up). Sizes up to 2^30.
 *
 * Sweeps: match rate at equal size (Figure 5), equal tables at 3 % (Figure 4), unequal tables at 3 % (Figure 6; the
 * smaller one is built, so sizes that an optimiser would swap are not run; up to 256M rows, as making a table of 1G
 * takes longer than all joins with it). Forms: `rows` materialises (build.rid, probe.rid) on the host; `grouped` feeds
 * the same join to a group-by of 16 groups. Rates count input rows of both tables, 8 bytes each, over the whole time
 * from text to result.
 *
 * The budget is shared out by rows: a pair of tables gets its part of the time left, and what would take more than
 * that, by the rates seen so far, is left out with the time that it would take. So a slow variant does not keep the
 * others from large tables.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

enum { N_VARIANTS = 8, N_PLAIN = 6, MATCH_ROWS = 16 << 20, UNEQUAL_BUILD = 64 << 20, UNEQUAL_PROBE = 256 << 20 };

/* The last ones, without the cache that stages results in local memory, only where the match rate varies. Modes that
 * leave columns on the device come after those that move them. */
#define ON_DEVICE(residence) \
    "executor=compiled device=$DEVICE device_strict=on device_wait=on device_residence=" residence
static const Variant variants[N_VARIANTS] = {
    {"vm", "executor=vm device=cpu threads=$THREADS ", "vm"},
    {"compiled cpu", "executor=compiled device=cpu device_strict=on device_wait=on threads=$THREADS ", "compiled"},
    {"serial", ON_DEVICE("serial"), "compiled"},
    {"streamed", ON_DEVICE("streamed"), "compiled"},
    {"mapped", ON_DEVICE("mapped"), "compiled"},
    {"cached", ON_DEVICE("cached"), "compiled"},
    {"mapped, no result cache", ON_DEVICE("mapped") " device_result_cache=off", "compiled"},
    {"cached, no result cache", ON_DEVICE("cached") " device_result_cache=off", "compiled"},
};

static const char *const form_name[2] = {"rows", "grouped"};
static const char *const form_sql[2] = {
    "select b.rid, p.rid from probe p join build b on p.key = b.key",
    "select b.rid % 16 as g, count(*), sum(p.rid) from probe p join build b on p.key = b.key group by 1",
};

typedef struct Config {
    int64_t build, probe;
    int match; /* per cent */
} Config;

/* What is left to be shared out, and the rates seen at the largest tables so far. */
typedef struct Plan {
    double weight;               /* of the configurations to come */
    double make_s;               /* seconds to make a row; 0 = unknown */
    double run_s[2][N_VARIANTS]; /* seconds per input row, by form */
} Plan;

/* Small tables cost time, too: starts, compilers. */
static double weight(const Config *c) { return (double)(c->build + c->probe) + 20e6; }

typedef struct Sweep {
    const char *name, *title;
    int n_variants, n;
    Config config[GRID_ROWS_MAX];
} Sweep;

/* "16M", or plain when no power of 1024 divides it. */
static const char *size_text(int64_t n, char out[24]) {
    if (n >= 1 << 30 && n % (1 << 30) == 0) snprintf(out, 24, "%lldG", (long long)(n >> 30));
    else if (n >= 1 << 20 && n % (1 << 20) == 0) snprintf(out, 24, "%lldM", (long long)(n >> 20));
    else snprintf(out, 24, "%lld", (long long)n);
    return out;
}

/* Two rounds of a bijection of 32-bit numbers over column x of what stands between mix_begin and mix_end; `carry`
 * columns pass through. */
static void mix_begin(char *sql, size_t size, const char *carry) {
    append(sql, size,
           "select %s, x # (x >> 16) as x from (select %s, ((x # (x >> 15)) * 73244475) & 4294967295 as x from ", carry,
           carry);
    append(sql, size, "(select %s, ((x # (x >> 16)) * 668265261) & 4294967295 as x from (", carry);
}
static void mix_end(char *sql, size_t size) { append(sql, size, ") m1) m2) m3"); }

static void table_begin(char *sql, size_t size, const char *name) {
    *sql = 0;
    append(
        sql, size,
        "drop table if exists %s; create table %s as select (x - 2147483648)::integer as key, i::integer as rid from (",
        name, name);
    mix_begin(sql, size, "i");
}

static bool make_build(Bench *b, int64_t n, char why[WHY_MAX]) {
    char sql[2048];
    table_begin(sql, sizeof sql, "build");
    append(sql, sizeof sql, "select i, i as x from generate_series(0::bigint, %lld::bigint) as s(i)", (long long)n - 1);
    mix_end(sql, sizeof sql);
    append(sql, sizeof sql, ") k");
    return run_sql(b, sql, why);
}

/* Of each row a hash: its rest by 100 decides whether the row matches, its upper bits pick the row or the number. */
static bool make_probe(Bench *b, const Config *c, char why[WHY_MAX]) {
    char sql[4096];
    table_begin(sql, sizeof sql, "probe");
    append(sql, sizeof sql,
           "select i, case when x %% 100 < %d then (x * %lld) >> 32 else 2147483648 + (x >> 1) end as x from (",
           c->match, (long long)c->build);
    mix_begin(sql, sizeof sql, "i");
    append(sql, sizeof sql, "select i, i as x from generate_series(0::bigint, %lld::bigint) as s(i)",
           (long long)c->probe - 1);
    mix_end(sql, sizeof sql);
    append(sql, sizeof sql, ") e");
    mix_end(sql, sizeof sql);
    append(sql, sizeof sql, ") k");
    return run_sql(b, sql, why);
}

typedef struct Figures {
    const Bench *b;
    const Sweep *s;
} Figures;

static double rate(const Grid *g, int r, int c, void *ctx) {
    const Config *f = &((Figures *)ctx)->s->config[r];
    return (double)(f->build + f->probe) / g->cell[r][c].median_ms / 1e3;
}

static double share(const Grid *g, int r, int c, void *ctx) {
    double limit = variant_limit(((Figures *)ctx)->b, &variants[c]).gbps;
    return limit > 0 ? rate(g, r, c, ctx) * 8e6 / 1e9 / limit * 100 : NAN;
}

static void record(Bench *b, const Sweep *s, const Grid *g, int r, int c, int form) {
    Figures f = {b, s};
    const Config *x = &s->config[r];
    const Measure *m = &g->cell[r][c];
    json_begin(b);
    json_text(b, "sweep", s->name);
    json_int(b, "build_rows", x->build);
    json_int(b, "probe_rows", x->probe);
    json_int(b, "match_percent", x->match);
    json_text(b, "form", form_name[form]);
    json_measure(b, &variants[c], m);
    if (m->ok) {
        json_num(b, "rows_per_s", rate(g, r, c, &f) * 1e6);
        json_num(b, "input_gbps", rate(g, r, c, &f) * 8e6 / 1e9);
        json_num(b, "share_of_limit_percent", share(g, r, c, &f));
        json_text(b, "limit", variant_limit(b, &variants[c]).what);
    }
    json_end(b);
}

/* Memory while both tables, their making and the result are there; more than the machine can give is left out before it
 * is tried. */
static bool fits(const Config *c, char why[WHY_MAX]) {
    double need = 32.0 * (double)(c->build + c->probe) + 16.0 * (double)c->probe * c->match / 100,
           have = memory_total() * 0.7;
    if (need <= have) return true;
    snprintf(why, WHY_MAX, "left out: needs about %.0f GB of memory, 70 %% of the machine's are %.0f", need / 1e9,
             have / 1e9);
    return false;
}

/* False: making the tables would take most of what the configuration may take. `last`: whose build table is still
 * there. */
static bool make_tables(Bench *b, Plan *p, const Config *c, const Config *last, char why[WHY_MAX]) {
    if (!fits(c, why)) return false;
    if (over_budget(b)) return out_of_time(b, why), false;
    bool have = last && last->build == c->build;
    double rows = (double)(c->probe + (have ? 0 : c->build)), t0 = now_s(),
           left = b->budget_s > 0 ? b->started_s + b->budget_s - t0 : 1e9;
    double may = left * weight(c) / p->weight * 0.8, need = p->make_s * rows;
    if (need > may && need > 1) {
        snprintf(why, WHY_MAX, "left out: making the tables takes about %.0f s, it may take %.1f s of the budget", need,
                 may);
        return false;
    }
    if (!run_sql(b, "reset all", why) || !(have || make_build(b, c->build, why)) || !make_probe(b, c, why))
        return false;
    double spent = now_s() - t0;
    if (rows >= 4 << 20) p->make_s = spent / rows;
    if (spent > 1) printf("%.0f million rows made in %.1f s\n", rows / 1e6, spent);
    fflush(stdout);
    return true;
}

/* False: what a first run and EXPLAIN ANALYZE take, by the rate at smaller tables, is much more than the cell's share.
 */
static bool affordable(const Bench *b, const Plan *p, const Config *c, int k, int v, char why[WHY_MAX]) {
    if (b->budget_s <= 0 || b->left < 1) return true;
    double need = 2 * p->run_s[k][v] * (double)(c->build + c->probe),
           share = (b->started_s + b->budget_s - now_s()) / b->left;
    if (need < 2 || need < 3 * share) return true;
    snprintf(why, WHY_MAX,
             "left out: a run takes about %.0f s by its rate at smaller tables, its share of the budget is %.1f s",
             need / 2, share);
    return false;
}

static bool run_config(Bench *b, Plan *p, const Sweep *s, Grid *const g[2], int r, const Config *last) {
    const Config *c = &s->config[r];
    char no_table[WHY_MAX] = "", no_variant[WHY_MAX], no_time[WHY_MAX];
    bool made = make_tables(b, p, c, last, no_table);
    int cells = 2 * g[0]->n_cols;
    for (int v = 0; v < g[0]->n_cols; v++) {
        bool ready = apply_variant(b, &variants[v], no_variant);
        for (int k = 0; k < 2; k++, cells--) {
            Measure *m = &g[k]->cell[r][v];
            b->left = (int)(cells * p->weight / weight(c) + 0.5);
            const char *missing = !ready                                ? no_variant
                                  : !made                               ? no_table
                                  : !affordable(b, p, c, k, v, no_time) ? no_time
                                                                        : NULL;
            measure(b, &variants[v], form_sql[k], missing, m);
            if (m->ok) p->run_s[k][v] = m->median_ms / 1e3 / (double)(c->build + c->probe);
            grid_check(b, g[k], r, v);
            record(b, s, g[k], r, v, k);
        }
    }
    p->weight -= weight(c);
    return made;
}

static bool run_sweep(Bench *b, Plan *p, const Sweep *s) {
    const Config *last = NULL;
    char x[24], y[24];
    Grid *g[2] = {grid_new("build x probe, match", s->n_variants, variants),
                  grid_new("build x probe, match", s->n_variants, variants)};
    if (!g[0] || !g[1]) return false;
    for (int r = 0; r < s->n; r++) {
        const Config *c = &s->config[r];
        for (int k = 0; k < 2; k++)
            grid_row(g[k], "%s x %s, %d %%", size_text(c->build, x), size_text(c->probe, y), c->match);
        last = run_config(b, p, s, g, r, last) ? c : NULL;
    }
    Figures f = {b, s};
    for (int k = 0; k < 2; k++) {
        char title[160];
        snprintf(title, sizeof title, "join, %s, %s: million input rows per second", s->title,
                 k ? "grouped (fused)" : "rows materialised on the host");
        grid_print(g[k], title, 1, rate, &f);
        grid_print(g[k], "  time, ms (median)", 2, cell_ms, NULL);
        grid_print(g[k], "  8 bytes per input row as % of the limit (memory; bus when data comes from the host)", 1,
                   share, &f);
        grid_notes(g[k]);
        grid_free(g[k]);
    }
    return true;
}

static void add(Sweep *s, int64_t build, int64_t probe, int match) {
    if (s->n < GRID_ROWS_MAX) s->config[s->n++] = (Config){build, probe, match};
}

int bench_join(Bench *b, const int64_t *sizes, int n, int64_t max_rows) {
    static const int rates[] = {1, 3, 5, 10, 25, 50, 75, 100};
    static Sweep equal = {.name = "equal", .title = "equal tables", .n_variants = N_PLAIN},
                 match = {.name = "match", .title = "match rate", .n_variants = N_VARIANTS},
                 unequal = {.name = "unequal", .title = "unequal tables", .n_variants = N_PLAIN};
    int64_t middle = 0; /* 16M or the largest size below it */
    const int64_t most = max_rows < 1 << 30 ? max_rows : 1 << 30;
    char text[24];
    for (int i = 0; i < n; i++) {
        if (sizes[i] > most) {
            printf("tables of %s rows: left out, the limit is %lld (--max-rows; at most 1G)\n",
                   size_text(sizes[i], text), (long long)most);
            continue;
        }
        if (sizes[i] <= MATCH_ROWS && sizes[i] > middle) middle = sizes[i];
        add(&equal, sizes[i], sizes[i], 3);
    }
    if (!middle) middle = most < MATCH_ROWS ? most : MATCH_ROWS;
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) add(&match, middle, middle, rates[i]);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++)
            if (sizes[i] <= UNEQUAL_BUILD && sizes[k] > sizes[i] && sizes[k] <= UNEQUAL_PROBE && sizes[k] <= most)
                add(&unequal, sizes[i], sizes[k], 3);
    Plan p = {0};
    const Sweep *const sweeps[] = {&match, &equal, &unequal};
    for (size_t i = 0; i < sizeof sweeps / sizeof *sweeps; i++)
        for (int r = 0; r < sweeps[i]->n; r++) p.weight += weight(&sweeps[i]->config[r]);
    bool ok = run_sweep(b, &p, &match) && run_sweep(b, &p, &equal) && run_sweep(b, &p, &unequal);
    return ok && !b->failed ? 0 : 1;
}
