/* ch.c - CH-benCHmark: which phases are run, and their report (ch.h).
 *
 * Transactions make tables grow, and queries with them. So what queries take alone is measured on the same database
 * before and after the phase together, and the mean of both is what counts: a query that has run is worth its time
 * alone, and analysts keep of their rate what their queries were worth in the time that they had. What clients keep is
 * relative to their rate alone, as fast as calls are done, on a database of its own.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "ch_int.h"

enum { FRONTIER_MAX = 64 };

/* What analysts' queries would have taken alone, for a second that they had. */
static double kept_by_queries(const Phase *p, const double alone[QUERIES]) {
    double worth = 0;
    for (int q = 0; q < QUERIES; q++) worth += (double)p->runs[q] * alone[q];
    return p->busy_s > 0 ? worth / p->busy_s : 0;
}
/* Of all analysts, as if each pass were whole. */
static double queries_per_s(const Phase *p, const double alone[QUERIES]) {
    double pass = 0;
    for (int q = 0; q < QUERIES; q++) pass += alone[q];
    return pass > 0 ? kept_by_queries(p, alone) * p->analysts * QUERIES / pass : 0;
}

static void phase_json(Bench *b, const Site *s, const char *what, const Phase *p) {
    json_begin(b);
    json_text(b, "phase", what);
    json_int(b, "warehouses", s->o->oltp->scale);
    json_int(b, "clients", p->clients);
    json_int(b, "analysts", p->analysts);
    json_int(b, "calls_per_round", s->o->calls);
    if (p->rate > 0) json_num(b, "offered_per_second", p->rate), json_num(b, "interval_ms", s->o->interval * 1e3);
    json_num(b, "seconds", p->took);
    json_num(b, "cpu_seconds", p->cpu_s);
    json_num(b, "load_of_machine", p->load);
    json_num(b, "resident_mb", p->resident_mb);
    if (p->clients > 0) {
        json_num(b, "calls_per_second", p->calls_per_s);
        json_num(b, "failed_share", p->failed_share);
        json_num(b, "p50_ms", p->p50_s * 1e3);
        json_num(b, "p99_ms", p->p99_s * 1e3);
        json_num(b, "max_ms", p->max_s * 1e3);
    }
    if (p->analysts == 0) return;
    json_int(b, "queries", p->n_queries);
    json_num(b, "snapshot_p50_ms", p->snapshot_p50_s * 1e3);
    json_num(b, "snapshot_p99_ms", p->snapshot_p99_s * 1e3);
    if (p->clients > 0) {
        json_num(b, "freshness_p50_ms", p->fresh_p50_s * 1e3);
        json_num(b, "freshness_p99_ms", p->fresh_p99_s * 1e3);
        json_num(b, "freshness_max_ms", p->fresh_max_s * 1e3);
    }
    for (int q = 0; q < QUERIES; q++) {
        char key[16];
        snprintf(key, sizeof key, "q%02d_ms", q + 1);
        if (p->runs[q]) json_num(b, key, p->of_query[q] * 1e3);
    }
}
/* '-' where there is none. */
static void put(double x, int width, int decimals) {
    if (isnan(x)) printf(" %*s", width, "-");
    else printf(" %*.*f", width, decimals, x);
}
static void phase_print(const char *what, const Phase *p) {
    const bool calls = p->clients > 0, queries = p->analysts > 0, both = calls && queries;
    printf("  %-22s", what);
    put(calls ? p->calls_per_s : NAN, 10, 0);
    put(calls ? p->p50_s * 1e3 : NAN, 8, 2);
    put(calls ? p->p99_s * 1e3 : NAN, 8, 2);
    put(queries ? (double)p->n_queries * p->analysts / p->busy_s : NAN, 10, 2);
    put(queries ? p->snapshot_p50_s * 1e3 : NAN, 9, 2);
    put(queries ? p->snapshot_p99_s * 1e3 : NAN, 9, 2);
    put(both ? p->fresh_p50_s * 1e3 : NAN, 9, 2);
    put(both ? p->fresh_p99_s * 1e3 : NAN, 9, 2);
    put(both ? p->fresh_max_s * 1e3 : NAN, 9, 2);
    put(p->took, 7, 1);
    put(p->cpu_s, 7, 1);
    put(p->resident_mb, 8, 0);
    put(p->load, 6, 1);
    printf("\n");
    fflush(stdout);
}
static void print_head(void) {
    printf("  %-22s %10s %8s %8s %10s %9s %9s %9s %9s %9s %7s %7s %8s %6s\n", "", "calls/s", "p50 ms", "p99 ms",
           "queries/s", "snap p50", "p99", "fresh p50", "p99", "max ms", "s", "CPU s", "MB", "load");
}
static bool phase(Site *s, const char *what, Phase *p, char why[WHY_MAX]) {
    if (!phase_run(s, p, why)) return false;
    phase_print(what, p);
    return true;
}
/* The same and its record, without more. */
static bool phase_alone(Bench *b, Site *s, const char *what, Phase *p, char why[WHY_MAX]) {
    if (!phase(s, what, p, why)) return false;
    phase_json(b, s, what, p);
    json_end(b);
    return true;
}
static bool end_site(Site *s, bool ok, char why[WHY_MAX]) {
    for (int i = 0; ok && s->w.checks[i]; i++) /* those that name no figure of the run */
        ok = strchr(s->w.checks[i], '{') || check_true(s->s, s->w.checks[i], why);
    site_close(s);
    return ok;
}

/* ---- rates alone and together ---- */
typedef struct Run {
    Bench *b;
    const ChOptions *o;
    Site *site; /* big */
} Run;
static bool clients_alone(Run *r, const char *what, double rate, Phase *p, char why[WHY_MAX]) {
    *p = (Phase){.clients = r->o->clients, .rate = rate, .seconds = r->o->oltp->seconds};
    bool ok = site_open(r->site, r->b, r->o, p->clients, 0, why);
    if (ok) printf("  %lld warehouses made in %.1f s\n", (long long)r->o->oltp->scale, r->site->loaded_s);
    ok = ok && phase_alone(r->b, r->site, what, p, why);
    return end_site(r->site, ok, why);
}
/* Processor time of the phase against what its calls and queries take alone: what beside each other costs, whatever
 * else the machine does. */
static double cost_of_both(const Phase *p, const Phase *calls, const Phase *before, const Phase *after) {
    const double call_s = calls->cpu_s / (calls->calls_per_s * calls->took),
                 query_s = (before->cpu_s + after->cpu_s) / (double)(before->n_queries + after->n_queries);
    return p->cpu_s / (p->calls_per_s * p->took * call_s + (double)p->n_queries * query_s);
}
static void together_report(Run *r, const char *what, const Phase *p, const Phase *full, const Phase *same,
                            const double alone[QUERIES], double cost) {
    const double calls = p->calls_per_s / full->calls_per_s, queries = kept_by_queries(p, alone);
    printf(
        "  %-22s calls keep %.2f, queries %.2f, sum %.2f; processor time %.2f of both alone; p99 %.1f times alone at "
        "this rate, %.1f times at the full one\n    each query against alone:",
        what, calls, queries, calls + queries, cost, p->p99_s / same->p99_s, p->p99_s / full->p99_s);
    for (int q = 0; q < QUERIES; q++)
        if (p->runs[q] && alone[q] > 0) printf(" %.1f", p->of_query[q] / alone[q]);
    printf("\n");
    phase_json(r->b, r->site, what, p);
    json_num(r->b, "calls_keep", calls);
    json_num(r->b, "queries_keep", queries);
    json_num(r->b, "sum", calls + queries);
    json_num(r->b, "cpu_against_both_alone", cost);
    json_num(r->b, "p99_against_alone_at_this_rate", p->p99_s / same->p99_s);
    json_num(r->b, "p99_against_alone", p->p99_s / full->p99_s);
    json_num(r->b, "queries_per_second", queries_per_s(p, alone));
    json_end(r->b);
}
static bool together(Run *r, double share, const Phase *full, char why[WHY_MAX]) {
    const ChOptions *o = r->o;
    const double rate = share < 1 ? share * full->calls_per_s : 0;
    char name[3][48];
    snprintf(name[0], sizeof name[0], "calls alone, %.2f", share);
    snprintf(name[1], sizeof name[1], "together, %.2f", share);
    Phase same = *full;
    if (share < 1 && !clients_alone(r, name[0], rate, &same, why)) return false;
    Phase before = {.analysts = o->analysts, .seconds = o->oltp->seconds / 2, .whole = true}, after = before;
    Phase p = {.clients = o->clients, .analysts = o->analysts, .rate = rate, .seconds = o->oltp->seconds};
    bool ok = site_open(r->site, r->b, o, o->clients, o->analysts, why);
    ok = ok && phase_alone(r->b, r->site, "queries alone, before", &before, why) && phase(r->site, name[1], &p, why) &&
         phase_alone(r->b, r->site, "queries alone, after", &after, why);
    if (ok) {
        double alone[QUERIES];
        for (int q = 0; q < QUERIES; q++) alone[q] = (before.of_query[q] + after.of_query[q]) / 2;
        together_report(r, name[1], &p, full, &same, alone, cost_of_both(&p, &same, &before, &after));
    }
    return end_site(r->site, ok, why);
}
static bool rates(Run *r, char why[WHY_MAX]) {
    Phase full;
    print_head();
    bool ok = clients_alone(r, "calls alone", 0, &full, why);
    for (int i = 0; i < r->o->n_offered && ok; i++) ok = together(r, r->o->offered[i], &full, why);
    return ok;
}

/* ---- the frontier ---- */
static int next_number(int n, int most) { return n == 0 ? 1 : n == most ? most + 1 : MIN_OF(2 * n, most); }

static bool point(Run *r, Point *x, double alone[QUERIES], char why[WHY_MAX]) {
    char name[48];
    snprintf(name, sizeof name, "%d clients, %d analysts", x->clients, x->analysts);
    Phase p = {.clients = x->clients, .analysts = x->analysts, .seconds = r->o->oltp->seconds};
    bool ok = site_open(r->site, r->b, r->o, x->clients, x->analysts, why);
    if (ok && x->analysts > 0 && !alone[0]) { /* the first point is that of one analyst alone */
        p.whole = true;
        ok = phase(r->site, name, &p, why);
        memcpy(alone, p.of_query, sizeof p.of_query);
    } else {
        ok = ok && phase(r->site, name, &p, why);
    }
    if (ok) {
        x->calls_per_s = p.calls_per_s;
        x->queries_per_s = queries_per_s(&p, alone);
        x->fresh_s = p.fresh_p99_s;
        phase_json(r->b, r->site, "frontier", &p);
        json_num(r->b, "queries_per_second", x->queries_per_s);
        json_end(r->b);
    }
    return end_site(r->site, ok, why);
}
static bool frontier(Run *r, char why[WHY_MAX]) {
    Point points[FRONTIER_MAX];
    double alone[QUERIES] = {0};
    int n = 0;
    bool ok = true;
    print_head();
    for (int a = 1; a <= r->o->analysts; a = next_number(a, r->o->analysts))
        for (int c = 0; c <= r->o->clients && n < FRONTIER_MAX && ok; c = next_number(c, r->o->clients)) {
            points[n] = (Point){.clients = c, .analysts = a};
            ok = point(r, &points[n++], alone, why);
        }
    for (int c = 1; c <= r->o->clients && n < FRONTIER_MAX && ok; c = next_number(c, r->o->clients)) {
        points[n] = (Point){.clients = c};
        ok = point(r, &points[n++], alone, why);
    }
    if (!ok) return false;
    printf("\n  %8s %8s %12s %12s %14s\n", "clients", "analysts", "calls/s", "queries/s", "fresh p99 ms");
    for (int i = 0; i < n; i++) {
        printf("  %8d %8d %12.0f %12.2f", points[i].clients, points[i].analysts, points[i].calls_per_s,
               points[i].queries_per_s);
        put(points[i].fresh_s * 1e3, 14, 2);
        printf("\n");
    }
    if (!r->o->svg || ch_plot(r->o->svg, points, n)) return true;
    return snprintf(why, WHY_MAX, "cannot write %s", r->o->svg), false;
}

int bench_ch(Bench *b, const ChOptions *o) {
    char why[WHY_MAX] = "";
    if (o->snapshots > 0) return ch_check(b, o);
    Run r = {b, o, calloc(1, sizeof *r.site)};
    if (!r.site) return fprintf(stderr, "stele-bench ch: out of memory\n"), 1;
    printf("CH-benCHmark, %lld warehouses, %d clients with rounds of %lld calls, %d analysts\n",
           (long long)o->oltp->scale, o->clients, (long long)o->calls, o->analysts);
    const bool ok = o->frontier ? frontier(&r, why) : rates(&r, why);
    if (!ok) fprintf(stderr, "stele-bench ch: %s\n", why);
    free(r.site);
    return ok ? 0 : 1;
}
