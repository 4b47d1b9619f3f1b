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

#include "api/api_int.h"
#include "base/log.h"
#include "beside.h"
#include "calls.h"
#include "db/redo.h"
#include "session/pool/callpool.h"
#include "workloads.h"

/* ---- a bulk of calls in memory --------------------------------------------------------------------------- */
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
    char *out = NULL;
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
    return scaled_text(o->folder, w->name, o->scale, why);
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
    int64_t log_bytes, logged; /* logged: calls that these are of */
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
        double began = now_s(), cpu = process_s();
        const int64_t log_end = redo_end_lsn(s->db);
        Status st = session_bulk_run(s, now->n_parts, now->parts, &feed, &r);
        st = session_end_statement(s, st);
        double took = now_s() - began;
        cpu = process_s() - cpu;
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
            t->log_bytes += redo_end_lsn(s->db) - log_end;
            t->logged += calls_now;
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
            began = now, began_ns = clock_ns(), sent = 0, cpu = process_s();
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
    t->cpu = process_s() - cpu;
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
    if (t->last.log)
        printf("    logged by %s: %.1f bytes a call\n", t->last.log, (double)t->log_bytes / (double)t->logged);
    fflush(stdout);
    json_begin(b);
    json_text(b, "benchmark", w->name);
    if (strcmp(w->name, "ycsb") == 0) json_text(b, "workload", (char[]){o->workload, 0});
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
    if (t->last.log) json_num(b, "log_bytes_per_call", (double)t->log_bytes / (double)t->logged);
    json_num(b, "abort_rate", (double)t->failed / (double)t->calls);
    json_end(b);
}

static bool run_line(Bench *b, Session *s, Maker *m, Calls *calls, int n, const Workload *w, const OltpOptions *o,
                     const Line *l, char why[WHY_MAX]) {
    char set[64];
    snprintf(set, sizeof set, "set bulk_strategy = '%s'", strategy_name(l->strategy));
    if (!exec_sql(s, set, why)) return false;
    maker_init(m, o, w, 12345);
    Total t;
    const int64_t log_end = redo_end_lsn(s->db), made = m->n_total;
    bool ok = o->pool > 0 ? run_pool(s, calls, n, m, w, l->size, &t, why)
                          : run_bulks(s, calls, n, m, w, l->size, l->interval, &t, why);
    if (o->pool > 0) { /* with those before and behind what is timed */
        t.log_bytes = redo_end_lsn(s->db) - log_end;
        t.logged = m->n_total - made;
    }
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

/* What callers did counts as the other calls do. */
static bool end_beside(Beside *beside, Calls *calls, int n) {
    BesideTotals totals;
    const bool ok = beside_stop(beside, &totals);
    for (int i = 0; i < n; i++) {
        calls[i].succeeded += totals.succeeded[i];
        for (int k = 0; k < calls[i].n_outs; k++)
            if (calls[i].summed[k]) calls[i].sums[k] += totals.sums[i][k];
    }
    return ok;
}

int bench_oltp(Bench *b, const char *name, const OltpOptions *given) {
    OltpOptions o = *given;
    Workload chosen;
    if (!workload_find(name, o.workload, &chosen)) return 2;
    const Workload *w = &chosen;
    char why[WHY_MAX] = "";
    Session *s = NULL;
    Err e = {0};
    if (session_new(b->db->db, &s, &e) != ST_OK) {
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
    const Routine *routines[TYPES_MAX];
    int64_t biggest = 0;
    for (int i = 0; i < o.n_sizes; i++) biggest = MAX_OF(biggest, o.sizes[i]);
    for (int i = 0; i < o.n_points; i++) biggest = MAX_OF(biggest, o.points[i].size);
    for (int k = 0; k < n && ok; k++) {
        char proc[64];
        const Routine *r = NULL;
        snprintf(proc, sizeof proc, "micro_%d", k);
        ok = session_bulk_routine(s, slice_of(w->n_types ? w->procs[k] : proc), &r) == ST_OK &&
             calls_new(&calls[k], w, r, biggest) && calls_new(&calls[TYPES_MAX + k], w, r, biggest);
        routines[k] = r;
        if (!ok) snprintf(why, sizeof why, "%.390s", err_is_set(&s->err) ? s->err.message : "out of memory");
    }
    if (ok) {
        printf("%s, scale %lld: tables made in %.1f s\n", w->what, (long long)o.scale, now_s() - began);
        printf("  %-10s %-8s %12s %8s %8s %8s %8s %8s %8s %8s %8s %8s %8s %7s %8s  %s\n", "bulk", "strategy", "calls/s",
               "CPU us", "p50 ms", "p99 ms", "max ms", "form %", "rank %", "send %", "run %", "d", "w0", "c",
               "aborts %", "executor");
    }
    Beside *beside = NULL;
    if (ok && o.readers + o.callers > 0) {
        if (exec_sql(s, "set lock_timeout = 0", why)) beside = beside_start(b->db, o.settings, w, routines, &o, why);
        ok = beside != NULL;
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
    if (beside) ok = end_beside(beside, calls, n) && ok;
    ok = ok && check_all(s, w, calls, n, before);
    status = ok && measured ? 0 : 1;
    for (int k = 0; k < n; k++) calls_free(&calls[k]), calls_free(&calls[TYPES_MAX + k]);
    session_free(s);
    return status;
}
