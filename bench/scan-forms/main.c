/* main.c - scan-forms: what scans pay for packed, patched and open pieces, on the virtual machine's kind of loops and
 * in kernels. See README.md. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "scan_forms.h"
#include "storage/decode.h"

Bench bench = {.tablets = 400, .rounds = 7, .limit_s = 40};

void need(Status st, const Err *e, const char *what) {
    if (st == ST_OK) return;
    printf("%s: %s %s (%s)\n", what, e->sqlstate, e->message, e->detail);
    exit(2);
}

Case *case_add(const char *label, Op op, uint64_t (*run)(const Case *, int64_t),
               uint64_t (*plain)(const Case *, int64_t)) {
    if (bench.n_cases == bench.cap_cases) {
        printf("too many cases\n");
        exit(2);
    }
    Case *c = &bench.cases[bench.n_cases++];
    *c = (Case){.op = op, .run = run, .plain = plain, .k = 1};
    snprintf(c->label, sizeof c->label, "%s", label);
    return c;
}
void cases_forget(void) { bench.n_cases = 0; }
const Case *case_find(const char *label) {
    for (int i = 0; i < bench.n_cases; i++)
        if (strcmp(bench.cases[i].label, label) == 0) return &bench.cases[i];
    return NULL;
}

/* ---- one run of a case over tablets, by the pool ---- */
enum { CACHED_REPEATS = 24 };
typedef struct Run {
    const Case *c;
    bool cached, plain;
    int64_t tablets;
    _Atomic int64_t next;
    _Atomic uint64_t result;
    _Atomic int64_t ns; /* of processor time: others that want the processors do not count */
} Run;
static int64_t thread_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}
static void run_worker(void *ctx, int worker) {
    Run *r = ctx;
    uint64_t sum = 0;
    const int64_t start = thread_ns();
    if (r->cached) {
        (void)worker; /* a worker may come twice: tablets are given by a counter here too */
        for (int64_t t; (t = atomic_fetch_add(&r->next, 1)) < r->tablets;)
            for (int i = 0; i < CACHED_REPEATS; i++) sum += r->c->run(r->c, t);
    } else {
        for (int64_t t; (t = atomic_fetch_add(&r->next, 1)) < r->tablets;)
            sum += r->plain ? r->c->plain(r->c, t) : r->c->run(r->c, t);
    }
    atomic_fetch_add(&r->result, sum);
    atomic_fetch_add(&r->ns, thread_ns() - start);
}
static int64_t case_tablets(const Case *c) { return c->cap && c->cap < bench.tablets ? c->cap : bench.tablets; }

void cases_expect(void) {
    int threads = pool_threads(bench.pool);
    for (int i = 0; i < bench.n_cases; i++) {
        Case *c = &bench.cases[i];
        Run r = {.c = c, .plain = true, .tablets = case_tablets(c)};
        pool_run(bench.pool, threads, run_worker, &r);
        c->expect_all = r.result;
        for (int t = 0; t < threads && t < 64; t++) c->expect_few[t] = c->plain(c, t);
    }
}

static void time_case(Case *c, bool cached) {
    Run r = {.c = c, .cached = cached, .tablets = cached ? bench.threads : case_tablets(c)};
    pool_run(bench.pool, bench.threads, run_worker, &r);
    uint64_t expect = c->expect_all;
    if (cached) {
        expect = 0;
        for (int t = 0; t < bench.threads; t++) expect += c->expect_few[t] * CACHED_REPEATS;
    }
    if (r.result != expect) {
        printf("WRONG: %s: %llx, not %llx\n", c->label, (unsigned long long)r.result, (unsigned long long)expect);
        bench.failures++;
    }
    int64_t rows = r.tablets * TABLET_ROWS * (cached ? CACHED_REPEATS : 1);
    if (c->n_times < ROUNDS_MAX) c->ns[c->n_times++] = (double)r.ns / (double)rows;
}
void cases_time(bool cached) {
    int64_t start = clock_ns();
    for (int i = 0; i < bench.n_cases; i++) bench.cases[i].n_times = 0;
    for (int round = 0; round < bench.rounds; round++) {
        for (int i = 0; i < bench.n_cases; i++) time_case(&bench.cases[i], cached);
        if (round >= 2 && (double)(clock_ns() - start) / 1e9 > bench.limit_s) break;
    }
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}
double case_median(const Case *c, double *spread) {
    double v[ROUNDS_MAX];
    int n = c->n_times;
    memcpy(v, c->ns, sizeof v);
    qsort(v, (size_t)n, sizeof *v, compare);
    if (spread) *spread = (v[n - 1 - n / 4] - v[n / 4]) / v[n / 2];
    return v[n / 2];
}

/* ---- the table: a line per case, a column per configuration ---- */
enum { CONFIGS_MAX = 8 };
typedef struct Config {
    int threads;
    bool cached;
    char name[32];
} Config;
static double table[CONFIGS_MAX][512], spreads[CONFIGS_MAX][512];

static void print_table(const Config *configs, int n) {
    printf("%-34s", "ns per row and thread");
    for (int i = 0; i < n; i++) printf(" %14s", configs[i].name);
    printf("\n");
    for (int c = 0; c < bench.n_cases; c++) {
        printf("%-34s", bench.cases[c].label);
        for (int i = 0; i < n; i++) printf("  %8.3f %3.0f%%", table[i][c], spreads[i][c] * 100);
        printf("\n");
    }
    for (int i = 0; i < n; i++) {
        double all = 0;
        for (int c = 0; c < bench.n_cases; c++) all += spreads[i][c];
        printf("# %s: mean of the spreads (quartiles / median) %.0f %%\n", configs[i].name, all * 100 / bench.n_cases);
    }
}
static void run_configs(const Config *configs, int n) {
    cases_expect();
    for (int i = 0; i < n; i++) {
        bench.threads = configs[i].threads;
        cases_time(configs[i].cached);
        for (int c = 0; c < bench.n_cases; c++) table[i][c] = case_median(&bench.cases[c], &spreads[i][c]);
    }
    print_table(configs, n);
    fflush(stdout);
}

static int usage(void) {
    printf("scan-forms [--threads 1,4,16] [--tablets 400] [--rounds 7] [--limit SECONDS] [--only numbers|strings] "
           "[--skip cpu|device]\n");
    return 2;
}
int main(int argc, char **argv) {
    const char *only = NULL, *skip = "";
    char threads[64] = "1,2";
    for (int i = 1; i < argc; i += 2) {
        if (i + 1 == argc) return usage();
        if (strcmp(argv[i], "--threads") == 0) snprintf(threads, sizeof threads, "%s", argv[i + 1]);
        else if (strcmp(argv[i], "--tablets") == 0) bench.tablets = strtol(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--rounds") == 0) bench.rounds = (int)strtol(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--limit") == 0) bench.limit_s = strtod(argv[i + 1], NULL);
        else if (strcmp(argv[i], "--only") == 0) only = argv[i + 1];
        else if (strcmp(argv[i], "--skip") == 0) skip = argv[i + 1];
        else return usage();
    }
    const bool cpu = strcmp(skip, "cpu") != 0, device = strcmp(skip, "device") != 0;
    bench.rounds = MIN_OF(MAX_OF(bench.rounds, 3), ROUNDS_MAX);
    bench.tablets = MAX_OF(bench.tablets, 64);
    mem_account_init(&bench.account, NULL, "scan-forms", 0, NULL);
    Config configs[CONFIGS_MAX];
    int n = 0, most = 1;
    for (char *p = threads; *p && n < CONFIGS_MAX - 1;) {
        int t = (int)strtol(p, &p, 10);
        if (*p == ',') p++;
        t = MIN_OF(MAX_OF(t, 1), 64);
        most = MAX_OF(most, t);
        for (int cached = 1; cached >= 0; cached--) {
            Config *c = &configs[n++];
            *c = (Config){.threads = t, .cached = cached != 0};
            snprintf(c->name, sizeof c->name, "%s, %d thr", cached ? "1 tablet" : "memory", t);
        }
    }
    Err e = {0};
    bench.pool = pool_new(most, &e);
    if (!bench.pool) need(ST_ERROR, &e, "pool");
    bench.cap_cases = 512;
    bench.cases = calloc((size_t)bench.cap_cases, sizeof *bench.cases);
    if (!bench.cases) return 2;
    printf(
        "# %lld tablets of %d rows; vector %d; decoding by %s; processor time, medians in turns, spread: quartiles / "
        "median\n",
        (long long)bench.tablets, TABLET_ROWS, VECTOR, decode_isa_name(0));
    if (!only || strcmp(only, "numbers") == 0) {
        data_numbers();
        add_number_cases();
        if (cpu) run_configs(configs, n);
        if (device) device_numbers();
        data_numbers_free();
    }
    cases_forget();
    if (!only || strcmp(only, "strings") == 0) {
        data_strings();
        add_string_cases();
        if (cpu) run_configs(configs, n);
        if (device) device_strings();
    }
    device_end();
    pool_free(bench.pool);
    free(bench.cases);
    printf(bench.failures ? "# %d results were WRONG\n" : "# all results agree with the plain loops\n", bench.failures);
    return bench.failures != 0;
}
