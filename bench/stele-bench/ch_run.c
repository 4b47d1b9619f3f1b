/* ch_run.c - connections of CH-benCHmark, and phases in which they run (ch_int.h).
 *
 * A client sends a round of calls to the pool of calls, as stele_bulk_submit does, and waits for it. Where calls are
 * offered at a rate they come evenly; a round is what has come since the one before, an interval later at the earliest,
 * and latency counts from when each call came. Else it counts from the round's submission.
 *
 * An analyst runs the queries in an order that is a permutation of them, from a place of its own, each in a REPEATABLE
 * READ transaction that reads first how many rounds of each client its snapshot has. Freshness is found afterwards, as
 * HATtrick defines it: how long before the query began the first round ended that its snapshot has missed, of any
 * client; 0 where none had ended by then.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../numbers.h"
#include "api/api_int.h"
#include "base/log.h"
#include "ch_int.h"

enum { LATENCY_EACH = 16, CALLS_MOST = 16 /* times a round's, where a client is behind */, STEP = 7 /* of queries */ };

bool values_add(Values *x, double value) {
    if (x->n == x->cap) {
        const int64_t cap = x->cap ? 2 * x->cap : 1024;
        double *v = realloc(x->v, (size_t)cap * sizeof *v);
        if (!v) return false;
        x->v = v;
        x->cap = cap;
    }
    x->v[x->n++] = value;
    return true;
}
double values_share(Values *x, double share) {
    if (x->n == 0) return NAN;
    qsort(x->v, (size_t)x->n, sizeof *x->v, by_value);
    return x->v[MIN_OF((int64_t)(share * (double)x->n), x->n - 1)];
}

static void sleep_s(double s) {
    if (s > 0) nanosleep(&(struct timespec){(time_t)s, (long)((s - floor(s)) * 1e9)}, NULL);
}

/* ---- clients ---- */
static void client_free(Client *c) {
    for (int k = 0; k < CH_TYPES; k++) calls_free(&c->calls[k]);
    calls_free(&c->done);
    if (c->s) session_free(c->s);
    free(c->ended.v);
    free(c->latencies.v);
}
static bool client_init(Client *c, Site *site, int k, char why[WHY_MAX]) {
    Err e = {0};
    *c = (Client){.site = site, .k = k};
    bool ok = session_new(site->db->db, &c->s, &e) == ST_OK;
    if (!ok) snprintf(why, WHY_MAX, "%.390s", e.message);
    ok = ok && exec_sql(c->s, "set lock_timeout = 0", why) &&
         (!site->o->oltp->settings || exec_sql(c->s, site->o->oltp->settings, why));
    for (int i = 0; i <= CH_TYPES && ok; i++) {
        const bool marks = i == CH_TYPES;
        Calls *x = marks ? &c->done : &c->calls[i];
        ok = calls_new(x, NULL, marks ? site->marker : site->routines[i], marks ? 1 : CALLS_MOST * site->o->calls);
        c->entries[i] = (CallEntry){.routine = x->r->id, .params = x->cols};
        if (!ok) snprintf(why, WHY_MAX, "out of memory");
    }
    maker_init(&c->maker, site->o->oltp, &site->w, 4711u + (uint64_t)k);
    return ok;
}
/* n calls by the workload's shares, and the marker. */
static void make_round(Client *c, int64_t n) {
    const Workload *w = &c->site->w;
    for (int i = 0; i < CH_TYPES; i++) c->calls[i].n = 0;
    c->done.n = 0;
    for (int64_t i = 0; i < n; i++) {
        Cell cells[COLS_MAX];
        int64_t pick = rng_to(&c->maker.rng, 100);
        int type = 0;
        for (; type < CH_TYPES - 1 && pick >= w->weights[type]; type++) pick -= w->weights[type];
        for (int k = 0; k < COLS_MAX; k++) cells[k].v = 0, cells[k].len = 0, cells[k].n = 0;
        w->make(&c->maker, type, cells);
        c->maker.n_total++;
        calls_add(&c->calls[type], 0, cells);
    }
    Cell mark[COLS_MAX] = {{.v = c->k}, {.v = c->rounds + 1}};
    calls_add(&c->done, 0, mark);
    for (int i = 0; i < CH_TYPES; i++) c->entries[i].n = c->calls[i].n;
    c->entries[CH_TYPES].n = 1;
}
/* Submits the round's entries, waits for them and lets go of them. *ended_s: when each had its results. */
static bool send_round(Client *c, double ended_s[CH_TYPES + 1], int64_t *failed, char why[WHY_MAX]) {
    bool ok = true, done;
    int n = 0;
    const double now = now_s();
    const int64_t now_ns = clock_ns();
    for (; n <= CH_TYPES && ok; n++)
        if (c->entries[n].n > 0) ok = call_submit(c->s, &c->entries[n], true) == ST_OK;
    for (int i = n - 1; i >= 0 && ok; i--) { /* the last first: it is nothing to wake up for the others */
        CallEntry *x = &c->entries[i];
        if (x->n == 0) continue;
        ok = call_wait(c->s, x, -1, &done) == ST_OK;
        const Err *fault = ok ? call_entry_fault(x) : NULL;
        if (fault) snprintf(why, WHY_MAX, "%s: %.380s", fault->sqlstate, fault->message);
        if (fault) ok = false;
        for (int64_t k = 0; k < x->n && ok; k++) *failed += call_entry_error(x, k) != NULL;
        ended_s[i] = now + (double)(x->done_ns - now_ns) * 1e-9;
    }
    if (!ok && !*why) snprintf(why, WHY_MAX, "%s: %.380s", c->s->err.sqlstate, c->s->err.message);
    for (int i = 0; i < n; i++) call_release(c->s, &c->entries[i]);
    return ok;
}
static bool end_round(Client *c, double at) {
    c->rounds++;
    return values_add(&c->ended, at);
}
bool client_round(Client *c, int64_t n, char why[WHY_MAX]) {
    double ended[CH_TYPES + 1];
    int64_t failed = 0;
    make_round(c, n);
    return send_round(c, ended, &failed, why) && end_round(c, ended[CH_TYPES]);
}
void client_prepare(Client *c, int64_t n) { make_round(c, n); }
static bool one_call(Client *c, const Calls *x, int64_t call, char why[WHY_MAX]) {
    Vec cols[COLS_MAX];
    bool done;
    for (int k = 0; k < x->n_cols; k++) {
        cols[k] = x->cols[k];
        cols[k].data = (char *)cols[k].data + call * phys_size((Phys)cols[k].phys);
    }
    CallEntry e = {.routine = x->r->id, .n = 1, .params = cols};
    const bool ok = call_submit(c->s, &e, true) == ST_OK && call_wait(c->s, &e, -1, &done) == ST_OK;
    const Err *fault = ok ? call_entry_fault(&e) : &c->s->err;
    if (fault) snprintf(why, WHY_MAX, "%s: %.380s", fault->sqlstate, fault->message);
    call_release(c->s, &e);
    return !fault;
}
bool client_call(Client *c, int type, int64_t call, char why[WHY_MAX]) {
    return one_call(c, &c->calls[type], call, why);
}
bool client_mark(Client *c, char why[WHY_MAX]) { return one_call(c, &c->done, 0, why) && end_round(c, now_s()); }
static void *client_work(void *ctx) {
    Client *c = ctx;
    Site *site = c->site;
    const ChOptions *o = site->o;
    double began = now_s(), cut = began;
    int64_t sent = 0;
    bool measured = false;
    while (!c->wrong && !atomic_load(&site->clients_end)) {
        int64_t n = o->calls;
        if (c->rate > 0) {
            sleep_s(cut + o->interval - now_s());
            cut = now_s();
            n = MIN_OF((int64_t)(c->rate * (cut - began)) - sent, CALLS_MOST * o->calls);
            if (n <= 0) {
                sleep_s(1 / c->rate);
                continue;
            }
        }
        double ended[CH_TYPES + 1];
        int64_t failed = 0;
        make_round(c, n);
        const double submitted = now_s();
        c->wrong = !send_round(c, ended, &failed, c->why) || !end_round(c, ended[CH_TYPES]);
        for (int64_t k = 0; k < n && measured; k += LATENCY_EACH) {
            const double due = c->rate > 0 ? began + (double)(sent + k) / c->rate : submitted;
            double end = submitted; /* calls of each procedure are as likely early in a round as late */
            int64_t at = k;
            for (int i = 0; i < CH_TYPES; at -= c->calls[i++].n)
                if (at < c->calls[i].n) {
                    end = ended[i];
                    break;
                }
            (void)values_add(&c->latencies, end - due);
        }
        sent += n;
        if (measured) c->n_calls += n, c->n_failed += failed;
        measured = atomic_load(&site->measuring);
    }
    return NULL;
}

/* ---- analysts ---- */
static bool ask(Analyst *a, const char *sql, int64_t *seen) {
    stele_stmt *st = NULL;
    stele_status s = stele_prepare(a->c, sql, -1, &st, NULL);
    if (s == STELE_OK && st)
        while ((s = stele_step(st)) == STELE_ROW)
            if (seen) seen[stele_column_int64(st, 0)] = stele_column_int64(st, 1);
    if (s == STELE_ERROR) {
        stele_error_info e;
        stele_error(a->c, &e);
        snprintf(a->why, WHY_MAX, "%s: %s: %.200s", e.sqlstate, e.message, sql);
        a->wrong = true;
    }
    stele_finalize(st);
    return s != STELE_ERROR;
}
static bool analyst_query(Analyst *a, int query, Look *x) {
    char sql[100];
    *x = (Look){.query = query, .began = now_s()};
    snprintf(sql, sizeof sql, "select client, done from ch_client where client < %d", a->site->n_clients);
    bool ok = ask(a, "begin isolation level repeatable read, read only", NULL) && ask(a, sql, x->seen);
    x->snapshot_s = now_s() - x->began;
    ok = ok && ask(a, a->site->queries[query], NULL) && ask(a, "commit", NULL);
    x->ended = now_s();
    return ok;
}
static void *analyst_work(void *ctx) {
    Analyst *a = ctx;
    Site *site = a->site;
    a->began = now_s();
    while (!a->wrong && !atomic_load(&site->analysts_end)) {
        if (a->n_looks == a->cap) {
            const int64_t cap = a->cap ? 2 * a->cap : 64;
            Look *more = realloc(a->looks, (size_t)cap * sizeof *more);
            if (!more) return snprintf(a->why, WHY_MAX, "out of memory"), a->wrong = true, NULL;
            a->looks = more;
            a->cap = cap;
        }
        const int query = (int)((a->n_run++ * STEP + a->k * QUERIES / site->n_analysts) % QUERIES);
        if (analyst_query(a, query, &a->looks[a->n_looks])) a->n_looks++;
    }
    a->ended = now_s();
    return NULL;
}
static bool analyst_init(Analyst *a, Site *site, int k, char why[WHY_MAX]) {
    *a = (Analyst){.site = site, .k = k};
    if (stele_connect(site->db, &a->c) != STELE_OK) return snprintf(why, WHY_MAX, "cannot connect"), false;
    char there[160] = "";
    if (site->b->device)
        snprintf(there, sizeof there, "set device = '%s'; set executor = 'compiled'; set device_wait = on",
                 site->b->device);
    const char *const settings[] = {there, site->o->query_settings};
    for (int i = 0; i < 2; i++) {
        if (!settings[i] || stele_exec(a->c, settings[i], NULL, NULL) == STELE_OK) continue;
        stele_error_info e;
        stele_error(a->c, &e);
        return snprintf(why, WHY_MAX, "%s: %s", settings[i], e.message), false;
    }
    Look x;
    for (int q = 0; q < QUERIES && !a->wrong; q++) (void)analyst_query(a, q, &x); /* plans and kernels are made */
    /* Later ones, for tables that have changed, are compiled beside execution. */
    if (site->b->device && !a->wrong) (void)ask(a, "set device_wait = off", NULL);
    if (a->wrong) snprintf(why, WHY_MAX, "%s", a->why);
    return !a->wrong;
}

/* ---- a database and its connections ---- */
static bool site_routines(Site *s, char why[WHY_MAX]) {
    for (int i = 0; i <= CH_TYPES; i++) {
        const char *name = i < CH_TYPES ? s->w.procs[i] : "ch_done";
        const Routine **r = i < CH_TYPES ? &s->routines[i] : &s->marker;
        if (session_bulk_routine(s->s, slice_of(name), r) != ST_OK)
            return snprintf(why, WHY_MAX, "%.390s", s->s->err.message), false;
    }
    return true;
}
static bool site_files(Site *s, char why[WHY_MAX]) {
    const char *const files[][2] = {{s->o->oltp->folder, "tpcc"}, {s->o->folder, "schema"}};
    for (int i = 0; i < 2; i++) {
        char *text = scaled_text(files[i][0], files[i][1], s->o->oltp->scale, why);
        const bool ok = text && exec_sql(s->s, text, why);
        free(text);
        if (!ok) return false;
    }
    for (int q = 0; q < QUERIES; q++) {
        char path[1100];
        snprintf(path, sizeof path, "%s/queries/q%02d.sql", s->o->folder, q + 1);
        if (!(s->queries[q] = read_text(path, why))) return false;
    }
    return true;
}
bool site_open(Site *s, const Bench *b, const ChOptions *o, int clients, int analysts, char why[WHY_MAX]) {
    Err e = {0};
    const double began = now_s();
    stele_error_info info;
    *s = (Site){.b = b, .o = o};
    if (!workload_find("tpcc", 'A', &s->w)) return snprintf(why, WHY_MAX, "there is no TPC-C"), false;
    if (stele_open(":memory:", &(stele_options){.threads = b->threads}, &s->db, &info) != STELE_OK)
        return snprintf(why, WHY_MAX, "%s", info.message), false;
    if (session_new(s->db->db, &s->s, &e) != ST_OK) return snprintf(why, WHY_MAX, "%.390s", e.message), false;
    if (!site_files(s, why) || !site_routines(s, why)) return false;
    for (; s->n_clients < clients; s->n_clients++)
        if (!client_init(&s->clients[s->n_clients], s, s->n_clients, why)) return s->n_clients++, false;
    if (!o->snapshots) /* the first calls make code and room */
        for (int i = 0; i < clients; i++)
            if (!client_round(&s->clients[i], o->calls, why)) return false;
    s->loaded_s = now_s() - began;
    for (; s->n_analysts < analysts; s->n_analysts++)
        if (!analyst_init(&s->analysts[s->n_analysts], s, s->n_analysts, why)) return s->n_analysts++, false;
    return true;
}
void site_close(Site *s) {
    for (int i = 0; i < s->n_clients; i++) client_free(&s->clients[i]);
    for (int i = 0; i < s->n_analysts; i++) {
        stele_disconnect(s->analysts[i].c);
        free(s->analysts[i].looks);
    }
    for (int q = 0; q < QUERIES; q++) free(s->queries[q]);
    if (s->s) session_free(s->s);
    if (s->db) (void)stele_close(s->db, NULL);
}

/* ---- phases ---- */
static double resident_mb(void) {
    FILE *f = fopen("/proc/self/statm", "r");
    long pages = 0, all = 0;
    if (f && fscanf(f, "%ld %ld", &all, &pages) != 2) pages = 0;
    if (f) fclose(f);
    return (double)pages * (double)sysconf(_SC_PAGESIZE) / 1048576;
}
/* When the first round ended that a look has missed, before the look began; else when it began. */
static double missed_since(const Site *s, const Look *x) {
    double since = x->began;
    for (int i = 0; i < s->n_clients; i++) {
        const Client *c = &s->clients[i];
        if (x->seen[i] < c->ended.n) since = fmin(since, c->ended.v[x->seen[i]]);
    }
    return since;
}
static void phase_sum(Site *s, Phase *p) {
    Values latencies = {0}, fresh = {0}, snapshot = {0};
    int64_t calls = 0, failed = 0;
    for (int i = 0; i < p->clients; i++) {
        const Client *c = &s->clients[i];
        calls += c->n_calls;
        failed += c->n_failed;
        for (int64_t k = 0; k < c->latencies.n; k++) (void)values_add(&latencies, c->latencies.v[k]);
    }
    for (int i = 0; i < p->analysts; i++) {
        const Analyst *a = &s->analysts[i];
        p->n_queries += a->n_looks;
        p->busy_s += a->ended - a->began;
        for (int64_t k = 0; k < a->n_looks; k++) {
            const Look *x = &a->looks[k];
            p->of_query[x->query] += x->ended - x->began;
            p->runs[x->query]++;
            (void)values_add(&snapshot, x->snapshot_s);
            if (p->clients > 0) (void)values_add(&fresh, x->began - missed_since(s, x));
        }
    }
    for (int q = 0; q < QUERIES; q++)
        if (p->runs[q]) p->of_query[q] /= (double)p->runs[q];
    p->calls_per_s = (double)calls / p->took;
    p->failed_share = calls ? (double)failed / (double)calls : 0;
    p->p50_s = values_share(&latencies, 0.5);
    p->p99_s = values_share(&latencies, 0.99);
    p->max_s = values_share(&latencies, 1);
    p->snapshot_p50_s = values_share(&snapshot, 0.5);
    p->snapshot_p99_s = values_share(&snapshot, 0.99);
    p->fresh_p50_s = values_share(&fresh, 0.5);
    p->fresh_p99_s = values_share(&fresh, 0.99);
    p->fresh_max_s = values_share(&fresh, 1);
    free(latencies.v);
    free(fresh.v);
    free(snapshot.v);
}
static bool analysts_have_passed(const Site *s, const Phase *p) {
    for (int i = 0; i < p->analysts && p->whole; i++)
        if (s->analysts[i].n_looks < QUERIES && !s->analysts[i].wrong) return false;
    return true;
}
static bool start(pthread_t *t, bool *started, void *(*work)(void *), void *ctx, char why[WHY_MAX]) {
    *started = pthread_create(t, NULL, work, ctx) == 0;
    if (!*started) snprintf(why, WHY_MAX, "no thread");
    return *started;
}
static void end_analysts(Site *s, const Phase *p) {
    atomic_store(&s->analysts_end, true);
    for (int i = 0; i < p->analysts; i++)
        if (s->analysts[i].started) pthread_join(s->analysts[i].thread, NULL);
}
static void end_clients(Site *s, const Phase *p) {
    atomic_store(&s->clients_end, true);
    for (int i = 0; i < p->clients; i++)
        if (s->clients[i].started) pthread_join(s->clients[i].thread, NULL);
}
bool phase_run(Site *s, Phase *p, char why[WHY_MAX]) {
    bool ok = true;
    double load[1] = {0};
    if (getloadavg(load, 1) == 1) p->load = load[0];
    atomic_store(&s->measuring, false);
    atomic_store(&s->clients_end, false);
    atomic_store(&s->analysts_end, false);
    for (int i = 0; i < p->clients; i++) {
        Client *c = &s->clients[i];
        c->n_calls = c->n_failed = c->latencies.n = 0;
        c->started = false;
        c->rate = p->rate / p->clients;
    }
    for (int i = 0; i < p->analysts; i++) s->analysts[i].n_looks = 0, s->analysts[i].started = false;
    for (int i = 0; i < p->clients && ok; i++) /* what bulks keep is given back where nobody calls for a while */
        ok = client_round(&s->clients[i], s->o->calls, why);
    for (int i = 0; i < p->clients && ok; i++)
        ok = start(&s->clients[i].thread, &s->clients[i].started, client_work, &s->clients[i], why);
    if (p->clients) sleep_s(fmin(0.5, p->seconds / 4));
    const double began = now_s(), cpu = process_s();
    atomic_store(&s->measuring, true);
    for (int i = 0; i < p->analysts && ok; i++)
        ok = start(&s->analysts[i].thread, &s->analysts[i].started, analyst_work, &s->analysts[i], why);
    do sleep_s(ok ? fmax(0.01, began + p->seconds - now_s()) : 0);
    while (ok && !analysts_have_passed(s, p));
    end_analysts(s, p);
    p->took = now_s() - began;
    p->cpu_s = process_s() - cpu;
    end_clients(s, p);
    p->resident_mb = resident_mb();
    for (int i = 0; i < p->clients; i++)
        if (s->clients[i].wrong) ok = false, snprintf(why, WHY_MAX, "%s", s->clients[i].why);
    for (int i = 0; i < p->analysts; i++)
        if (s->analysts[i].wrong) ok = false, snprintf(why, WHY_MAX, "%s", s->analysts[i].why);
    if (ok) phase_sum(s, p);
    return ok;
}
