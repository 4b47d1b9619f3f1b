/* ch_check.c - whether what queries read beside transactions is a prefix of these, run one by one (ch_int.h).
 *
 * 1. One client sends rounds; another connection takes snapshots meanwhile: REPEATABLE READ transactions, in each of
 *    which it reads how many orders, payments, new orders and whole rounds there are, looks at TPC-C's conditions, and
 *    runs the queries under every executor that this machine has, and once more under the first.
 * 2. A second database runs the same calls again, in the order of their submission, one after the other
 *    (bulk_strategy = serial). Up to the rounds that a snapshot has whole they run by procedure; the calls behind them
 *    one by one, until the counts are the snapshot's. Its queries must give the same rows there.
 *
 * A snapshot whose counts no prefix has is an error, as are different rows and a condition that does not hold.
 */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "ch_int.h"

enum { SNAPSHOTS_MOST = 64, WAYS_MOST = 5 };

typedef struct Rows {
    int64_t n;
    uint64_t sum; /* of the rows' text, whatever their order */
} Rows;
typedef struct Counts {
    int64_t orders, payments, waiting, rounds; /* waiting: rows of new_order */
} Counts;
typedef struct Snapshot {
    Counts at;
    Rows of[QUERIES];
} Snapshot;

typedef struct Checker {
    Bench *b;
    const ChOptions *o;
    Site *site;
    stele_conn *c;
    const char *ways[WAYS_MOST]; /* settings of executors */
    int n_ways, n;
    char device_way[160];
    Snapshot snapshots[SNAPSHOTS_MOST];
    int between; /* snapshots at the end of a round */
    int64_t rows, calls;
} Checker;

static const char counts_sql[] =
    "select (select count(*) from orders), (select count(*) from history), (select count(*) from new_order), (select "
    "done from ch_client where client = 0)";

static bool wrong(stele_conn *c, const char *sql, char why[WHY_MAX]) {
    stele_error_info e;
    stele_error(c, &e);
    snprintf(why, WHY_MAX, "%s: %s: %.200s", e.sqlstate, e.message, sql);
    return false;
}
static bool run(stele_conn *c, const char *sql, char why[WHY_MAX]) {
    return stele_exec(c, sql, NULL, NULL) == STELE_OK || wrong(c, sql, why);
}
static bool rows_of(stele_conn *c, const char *sql, Rows *out, char why[WHY_MAX]) {
    stele_stmt *st = NULL;
    stele_status s = stele_prepare(c, sql, -1, &st, NULL);
    *out = (Rows){0};
    while (s != STELE_ERROR && (s = stele_step(st)) == STELE_ROW) {
        out->sum += row_hash(st);
        out->n++;
    }
    if (s == STELE_ERROR) wrong(c, sql, why);
    stele_finalize(st);
    return s != STELE_ERROR;
}
static bool counts_of(stele_conn *c, Counts *x, char why[WHY_MAX]) {
    stele_stmt *st = NULL;
    bool ok = stele_prepare(c, counts_sql, -1, &st, NULL) == STELE_OK && stele_step(st) == STELE_ROW;
    if (ok)
        *x = (Counts){stele_column_int64(st, 0), stele_column_int64(st, 1), stele_column_int64(st, 2),
                      stele_column_int64(st, 3)};
    else wrong(c, counts_sql, why);
    stele_finalize(st);
    return ok;
}
/* All queries in the way that is set; into `out`, or compared with it. */
static bool all_queries(Checker *k, stele_conn *c, Rows out[QUERIES], bool compare, const char *what,
                        char why[WHY_MAX]) {
    for (int q = 0; q < QUERIES; q++) {
        Rows x;
        if (!rows_of(c, k->site->queries[q], &x, why)) return false;
        if (!compare) out[q] = x;
        k->rows += x.n;
        if (x.n == out[q].n && x.sum == out[q].sum) continue;
        snprintf(why, WHY_MAX, "Q%d, %s: %lld rows, sum %016llx instead of %lld, %016llx", q + 1, what, (long long)x.n,
                 (unsigned long long)x.sum, (long long)out[q].n, (unsigned long long)out[q].sum);
        return false;
    }
    return true;
}
static bool conditions(const Workload *w, stele_conn *c, char why[WHY_MAX]) {
    for (int i = 0; w->checks[i]; i++) {
        if (strchr(w->checks[i], '{')) continue; /* a figure of the run */
        stele_stmt *st = NULL;
        bool ok = stele_prepare(c, w->checks[i], -1, &st, NULL) == STELE_OK && stele_step(st) == STELE_ROW;
        if (!ok) wrong(c, w->checks[i], why);
        else if (!(ok = stele_column_bool(st, 0))) snprintf(why, WHY_MAX, "does not hold: %.380s", w->checks[i]);
        stele_finalize(st);
        if (!ok) return false;
    }
    return true;
}
static bool take_snapshot(Checker *k, Snapshot *x, char why[WHY_MAX]) {
    bool ok = run(k->c, "begin isolation level repeatable read", why) && counts_of(k->c, &x->at, why);
    for (int i = 0; i <= k->n_ways && ok; i++) { /* the first way twice: nothing has changed at the end */
        const char *way = k->ways[i % k->n_ways];
        ok = run(k->c, way, why) && all_queries(k, k->c, x->of, i > 0, way, why);
    }
    Counts again;
    ok = ok && conditions(&k->site->w, k->c, why) && counts_of(k->c, &again, why);
    if (ok && memcmp(&again, &x->at, sizeof again) != 0) ok = false, snprintf(why, WHY_MAX, "the snapshot has moved");
    return ok && run(k->c, "commit", why);
}
/* Executors that this machine has. */
static bool find_ways(Checker *k, char why[WHY_MAX]) {
    static const char *const all[] = {"set executor = 'vm'",
                                      "set executor = 'compiled'; set device = 'cpu'; set device_wait = on",
                                      "set executor = 'interpreted'; set device = 'cpu'; set device_wait = on"};
    for (int i = 0; i < (int)ARRAY_LEN(all); i++)
        if (stele_exec(k->c, all[i], NULL, NULL) == STELE_OK) k->ways[k->n_ways++] = all[i];
        else printf("  not available: %s\n", all[i]);
    if (!k->b->device || strcmp(k->b->device, "cpu") == 0) return true;
    snprintf(k->device_way, sizeof k->device_way, "set executor = 'compiled'; set device = '%s'; set device_wait = on",
             k->b->device);
    k->ways[k->n_ways++] = k->device_way;
    return run(k->c, k->device_way, why);
}
typedef struct Sender {
    Client *client;
    atomic_bool end, wrong;
    char why[WHY_MAX];
} Sender;
static void *send_rounds(void *ctx) {
    Sender *x = ctx;
    while (!atomic_load(&x->end) && !atomic_load(&x->wrong))
        if (!client_round(x->client, x->client->site->o->calls, x->why)) atomic_store(&x->wrong, true);
    return NULL;
}
static bool beside_calls(Checker *k, char why[WHY_MAX]) {
    Rows rows[QUERIES];
    for (int i = 0; i < k->n_ways; i++) /* kernels are made before, so that snapshots follow each other */
        if (!run(k->c, k->ways[i], why) || !all_queries(k, k->c, rows, i > 0, k->ways[i], why)) return false;
    Sender sender = {.client = &k->site->clients[0]};
    pthread_t thread;
    if (pthread_create(&thread, NULL, send_rounds, &sender) != 0) return snprintf(why, WHY_MAX, "no thread"), false;
    bool ok = true;
    for (k->n = 0; k->n < MIN_OF(k->o->snapshots, SNAPSHOTS_MOST) && ok; k->n += ok)
        ok = take_snapshot(k, &k->snapshots[k->n], why);
    atomic_store(&sender.end, true);
    pthread_join(thread, NULL);
    k->calls = sender.client->rounds * k->o->calls;
    if (ok && atomic_load(&sender.wrong)) ok = false, snprintf(why, WHY_MAX, "%.390s", sender.why);
    return ok;
}

/* ---- the same calls again ---- */
static bool same_counts(const Counts *a, const Counts *b) {
    return a->orders == b->orders && a->payments == b->payments && a->waiting == b->waiting;
}
static bool session_counts(Site *s, Counts *x, char why[WHY_MAX]) {
    return number_of(s->s, "select count(*) from orders", &x->orders, why) &&
           number_of(s->s, "select count(*) from history", &x->payments, why) &&
           number_of(s->s, "select count(*) from new_order", &x->waiting, why) &&
           number_of(s->s, "select done from ch_client where client = 0", &x->rounds, why);
}
/* Calls of the round that has begun, until the counts are `at`. *type, *call: the next call. */
static bool replay_to(Checker *k, const Counts *at, int *type, int64_t *call, char why[WHY_MAX]) {
    Client *c = &k->site->clients[0];
    Counts now;
    for (;;) {
        if (!session_counts(k->site, &now, why)) return false;
        if (same_counts(&now, at)) return true;
        while (*type < CH_TYPES && *call == c->calls[*type].n) ++*type, *call = 0;
        if (*type == CH_TYPES) break;
        if (!client_call(c, *type, (*call)++, why)) return false;
    }
    snprintf(why, WHY_MAX,
             "a snapshot is no prefix of the calls: %lld orders, %lld payments, %lld new orders behind round %lld",
             (long long)at->orders, (long long)at->payments, (long long)at->waiting, (long long)at->rounds);
    return false;
}
/* The round that has begun goes on to its end, or a whole one is run. */
static bool replay_round(Checker *k, bool open, int type, int64_t call, char why[WHY_MAX]) {
    Client *c = &k->site->clients[0];
    if (!open) return client_round(c, k->o->calls, why);
    for (; type < CH_TYPES; type++, call = 0)
        for (; call < c->calls[type].n; call++)
            if (!client_call(c, type, call, why)) return false;
    return client_mark(c, why);
}
static bool replay(Checker *k, char why[WHY_MAX]) {
    Client *c = &k->site->clients[0];
    int type = 0;
    int64_t call = 0;
    bool open = false; /* a round has begun */
    if (!exec_sql(c->s, "set bulk_strategy = 'serial'; set executor = 'vm'", why)) return false;
    for (int i = 0; i < k->n; i++) {
        Snapshot *x = &k->snapshots[i];
        for (; c->rounds < x->at.rounds; type = 0, call = 0, open = false)
            if (!replay_round(k, open, type, call, why)) return false;
        if (!open) client_prepare(c, k->o->calls), open = true;
        if (!replay_to(k, &x->at, &type, &call, why)) return false;
        k->between += type == 0 && call == 0;
        char what[48];
        snprintf(what, sizeof what, "replayed to snapshot %d", i + 1);
        if (!all_queries(k, k->c, x->of, true, what, why)) return false;
    }
    return true;
}

static bool first_run(Checker *k, char why[WHY_MAX]) { /* boundaries of bulks also lie within rounds */
    return exec_sql(k->site->clients[0].s, "set bulk_slice_calls = 50", why) && find_ways(k, why) &&
           beside_calls(k, why);
}
static bool on_site(Checker *k, bool (*part)(Checker *k, char why[WHY_MAX]), char why[WHY_MAX]) {
    bool ok = site_open(k->site, k->b, k->o, 1, 0, why);
    if (ok && stele_connect(k->site->db, &k->c) != STELE_OK) ok = false, snprintf(why, WHY_MAX, "cannot connect");
    ok = ok && part(k, why);
    if (k->c) stele_disconnect(k->c);
    k->c = NULL;
    site_close(k->site);
    return ok;
}
int ch_check(Bench *b, const ChOptions *o) {
    Checker *k = calloc(1, sizeof *k);
    char why[WHY_MAX] = "out of memory";
    bool ok = k && (k->site = calloc(1, sizeof *k->site));
    if (ok) k->b = b, k->o = o;
    ok = ok && on_site(k, first_run, why) && on_site(k, replay, why);
    if (ok)
        printf("  %d snapshots beside %lld calls, %d of them between two rounds: conditions hold, %d executors and a "
               "serial replay give the same %lld rows\n%d passed, 0 failed\n",
               k->n, (long long)k->calls, k->between, k->n_ways, (long long)k->rows, k->n);
    else fprintf(stderr, "stele-bench ch: %s\n", why);
    if (k) free(k->site);
    free(k);
    return ok ? 0 : 1;
}
