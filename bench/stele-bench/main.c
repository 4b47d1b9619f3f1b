/* main.c - stele-bench: options, then one of the benchmarks. Exit status: 0 measured and all rows agree, 1 not, 2 bad
 * usage. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "oltp.h"

#ifndef STELE_COMMIT
#define STELE_COMMIT "unknown"
#endif

static const char usage[] =
    "usage: stele-bench virginian [--rows N,N,...] [options]     ten filter queries (8M,100M rows)\n"
    "       stele-bench join [--sizes N,N,...] [--max-rows N] [options]     equal and unequal tables (1M .. 1G rows)\n"
    "       stele-bench gpl --data DIR | --database DIR [--tpch DIR] [options]     TPC-H Q5, Q7, Q8, Q9, Q14\n"
    "       stele-bench latency --data DIR | --database DIR [--tpch DIR] [options]     TPC-H: time beside the kernels\n"
    "       stele-bench tpcb|tpcc|tm1|smallbank|ycsb|gputx [--scale N] [--bulk N,N,...] [--strategies "
    "kset,tpl,part,serial,auto] [options]     transactions in bulk\n"
    "  --seconds S        of each line of a transaction benchmark (2)\n"
    "  --skew T           smallbank, ycsb: 0 (all keys alike) to 0.99\n"
    "  --workload W       ycsb: A (default) to F\n"
    "  --arrival R, --interval MS    calls come at R a second, and a bulk is cut every MS ms at the earliest (as fast "
    "as they are done); MS: a list\n"
    "  --pool N           calls are submitted to the pool of calls, N to a ticket, and --bulk tickets are on their "
    "way; --arrival: they come evenly\n"
    "  --types N, --work N, --tuples N, --alpha A    gputx: T, x, rows of the table, share of calls that meet at one "
    "row (8, 16, 1M, 0)\n"
    "  --set SQL          transaction benchmarks: settings\n"
    "  --point \"label=L types=N work=N alpha=A bulk=N strategy=S seconds=S mix=A/B/..;SQL\"    transaction "
    "benchmarks: one line of its own after SQL; mix: shares of the\n"
    "                     transactions in the order of the benchmark's definition; what is left out is as above, or as "
    "the benchmark has it; repeatable\n"
    "  --oltp DIR         folder of NAME.sql (bench/oltp)\n"
    "  --device ID        cuda:0, opencl:0, cpu: the device that is measured beside the CPU\n"
    "  --threads N        worker threads (all processors)\n"
    "  --runs N           repetitions of each query (5); the median counts\n"
    "  --query-seconds S  most to spend on the repetitions of one query (2); three are always made, time permitting\n"
    "  --budget S         seconds for the whole benchmark; what does not fit is left out and said\n"
    "  --json FILE        results for bench/results\n"
    "  --profile FILE     rates of this machine, as `stele calibrate` writes them; default: the user's\n"
    "  --data DIR         .tbl files (region.tbl .. lineitem.tbl)\n"
    "  --database DIR     gpl, latency: a database with TPC-H's tables\n"
    "  --tpch DIR         folder of schema.sql and queries/ (bench/tpch)\n"
    "  --variant L=S      gpl: one more column with label L and settings S (name=value name=value ...); transactions: "
    "lines with label L after SQL S; repeatable\n"
    "  --commit ID        recorded in the JSON\n"
    "  --verbose          every measurement on standard error\n"
    "Numbers take k, M and G (of 1000; join: of 1024).\n";

static int64_t number(const char *s, int64_t k, char **end) {
    double x = strtod(s, end);
    if (**end == 'k') x *= (double)k, ++*end;
    else if (**end == 'M') x *= (double)(k * k), ++*end;
    else if (**end == 'G') x *= (double)(k * k * k), ++*end;
    return x >= 1 && x < 1e12 ? (int64_t)x : -1;
}

/* "8M,100M" -> numbers; 0 when malformed. */
static int numbers(const char *s, int64_t k, int64_t *out, int max) {
    int n = 0;
    while (*s && n < max) {
        char *end;
        out[n] = number(s, k, &end);
        if (out[n++] < 0 || (*end && *end != ',')) return 0;
        s = *end ? end + 1 : end;
    }
    return *s ? 0 : n;
}

static int bad(const char *what, const char *value) {
    fprintf(stderr, "stele-bench: %s%s%s\n%s", what, value ? ": " : "", value ? value : "", usage);
    return 2;
}

static bool is_oltp(const char *name) {
    static const char *const names[] = {"tpcb", "tpcc", "tm1", "smallbank", "ycsb", "gputx"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(names[i], name) == 0) return true;
    return false;
}
/* "kset,tpl" -> strategies; false when malformed. */
static bool strategies(const char *s, OltpOptions *o) {
    for (o->n_strategies = 0; *s && o->n_strategies < 5;) {
        size_t len = strcspn(s, ",");
        if (!strategy_from_name((Slice){s, (int64_t)len}, &o->strategies[o->n_strategies++])) return false;
        s += len + (s[len] == ',');
    }
    return o->n_strategies > 0 && !*s;
}

/* "label=L types=4 bulk=256k ..;SQL". False when malformed. Cuts the text. */
static bool point(char *s, const OltpOptions *o, OltpPoint *p) {
    char *sql = strchr(s, ';'), *save = NULL;
    *p = (OltpPoint){.types = o->types, .work = o->work, .alpha = o->alpha, .seconds = o->seconds, .size = 16000};
    if (sql) *sql++ = 0;
    p->settings = sql;
    for (char *word = strtok_r(s, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
        char *v = strchr(word, '='), *end = NULL;
        if (!v || !v[1]) return false;
        *v++ = 0;
        if (strcmp(word, "label") == 0) {
            if (strlen(v) >= sizeof p->label) return false;
            memcpy(p->label, v, strlen(v) + 1);
        } else if (strcmp(word, "strategy") == 0) {
            if (!strategy_from_name((Slice){v, (int64_t)strlen(v)}, &p->strategy)) return false;
        } else if (strcmp(word, "mix") == 0) {
            int n = 0;
            for (char *share = v; n < OLTP_TYPES_MAX; share = end + 1) {
                p->mix[n] = (int)strtol(share, &end, 10);
                if (end == share || p->mix[n] < 0 || p->mix[n++] > 1000000) return false;
                if (*end != '/') break;
            }
            if (*end) return false;
        } else if (strcmp(word, "alpha") == 0 || strcmp(word, "seconds") == 0) {
            double x = strtod(v, &end);
            if (*end || x < 0) return false;
            *(word[0] == 'a' ? &p->alpha : &p->seconds) = x;
        } else {
            int64_t x = number(v, 1000, &end);
            if (*end || x < 1) return false;
            if (strcmp(word, "types") == 0 && x <= 16) p->types = (int)x;
            else if (strcmp(word, "work") == 0 && x <= 1000000) p->work = (int)x;
            else if (strcmp(word, "bulk") == 0) p->size = x;
            else return false;
        }
    }
    return true;
}

static int run(Bench *b, const int64_t *sizes, int n, int64_t max_rows) {
    if (strcmp(b->name, "virginian") == 0) return bench_virginian(b, sizes, n);
    if (strcmp(b->name, "join") == 0) return bench_join(b, sizes, n, max_rows);
    return strcmp(b->name, "latency") == 0 ? bench_latency(b) : bench_gpl(b);
}

/* What the library has to say, from INFO on. */
static void say(void *ctx, int level, const char *message) {
    (void)ctx;
    if (level > 0) fprintf(stderr, "stele-bench: %s\n", message);
}

int main(int argc, char **argv) {
    static Bench b;
    static Variant extra[VARIANTS_MAX];
    int64_t sizes[16], max_rows = INT64_MAX;
    int n = 0;
    static OltpOptions oltp = {
        .folder = "bench/oltp", .scale = 10, .seconds = 2, .tuples = 1000000, .types = 8, .work = 16, .workload = 'A'};
    const char *commit = STELE_COMMIT, *profile = NULL;
    stele_set_logger(say, NULL);
    if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        return fputs(usage, argc < 2 ? stderr : stdout), argc < 2 ? 2 : 0;
    b = (Bench){.name = argv[1],
                .threads = (int)sysconf(_SC_NPROCESSORS_ONLN),
                .runs = 5,
                .query_s = 2,
                .tpch = "bench/tpch",
                .extra = extra};
    bool virginian = strcmp(b.name, "virginian") == 0, join = strcmp(b.name, "join") == 0;
    const bool gpl = strcmp(b.name, "gpl") == 0, latency = strcmp(b.name, "latency") == 0;
    const bool transactions = is_oltp(b.name);
    if (!virginian && !join && !gpl && !latency && !transactions) return bad("unknown benchmark", b.name);
    int64_t k = join ? 1024 : 1000;
    for (int i = 2; i < argc; i++) {
        const char *a = argv[i], *v = i + 1 < argc ? argv[i + 1] : NULL;
        char *end = NULL;
        if (strcmp(a, "--verbose") == 0) {
            b.verbose = true;
            continue;
        }
        if (!v) return bad("no such option, or its value is missing", a);
        i++;
        if ((strcmp(a, "--rows") == 0 && virginian) || (strcmp(a, "--sizes") == 0 && join)) {
            if ((n = numbers(v, k, sizes, 16)) == 0) return bad("not a list of numbers", v);
        } else if (strcmp(a, "--max-rows") == 0 && join) {
            if ((max_rows = number(v, k, &end)) < 0 || *end) return bad("not a number", v);
        } else if (strcmp(a, "--threads") == 0 || strcmp(a, "--runs") == 0) {
            int64_t x = number(v, 1000, &end);
            if (x < 1 || x > 1024 || *end) return bad("not a number from 1 to 1024", v);
            *(a[2] == 't' ? &b.threads : &b.runs) = (int)x;
        } else if (strcmp(a, "--budget") == 0 || strcmp(a, "--query-seconds") == 0) {
            double x = strtod(v, &end);
            if (end == v || *end || x < 0) return bad("not a number of seconds", v);
            *(a[2] == 'b' ? &b.budget_s : &b.query_s) = x;
        } else if (transactions && (strcmp(a, "--scale") == 0 || strcmp(a, "--tuples") == 0)) {
            int64_t x = number(v, 1000, &end);
            if (x < 1 || x > 100000000 || *end) return bad("not a number", v);
            *(a[2] == 's' ? &oltp.scale : &oltp.tuples) = x;
        } else if (transactions && (strcmp(a, "--types") == 0 || strcmp(a, "--work") == 0)) {
            int64_t x = number(v, 1000, &end);
            if (x < 1 || x > (a[2] == 't' ? 16 : 1000000) || *end) return bad("out of range", v);
            *(a[2] == 't' ? &oltp.types : &oltp.work) = (int)x;
        } else if (transactions &&
                   (strcmp(a, "--skew") == 0 || strcmp(a, "--alpha") == 0 || strcmp(a, "--seconds") == 0)) {
            double x = strtod(v, &end);
            if (end == v || *end || x < 0 || (a[3] != 'e' && x >= 1)) return bad("out of range", v);
            *(a[3] == 'k' ? &oltp.skew : a[3] == 'l' ? &oltp.alpha : &oltp.seconds) = x;
        } else if (strcmp(a, "--workload") == 0 && strcmp(b.name, "ycsb") == 0) {
            if (v[0] < 'A' || v[0] > 'F' || v[1]) return bad("not a workload from A to F", v);
            oltp.workload = v[0];
        } else if (transactions && strcmp(a, "--arrival") == 0) {
            int64_t x = number(v, 1000, &end);
            if (x < 0 || *end) return bad("not a number", v);
            oltp.arrival = (double)x;
        } else if (transactions && strcmp(a, "--pool") == 0) {
            int64_t x = number(v, 1000, &end);
            if (x < 1 || x > 1000000 || *end) return bad("not a number", v);
            oltp.pool = (int)x;
        } else if (transactions && strcmp(a, "--interval") == 0) {
            for (char *at = (char *)(uintptr_t)v; oltp.n_intervals < 16; at = end + 1) {
                double x = strtod(at, &end);
                if (end == at || x < 0 || (*end && *end != ',')) return bad("not a list of milliseconds", v);
                oltp.intervals[oltp.n_intervals++] = x / 1e3;
                if (!*end) break;
            }
        } else if (transactions && strcmp(a, "--bulk") == 0) {
            if ((oltp.n_sizes = numbers(v, 1000, oltp.sizes, 16)) == 0) return bad("not a list of numbers", v);
        } else if (transactions && strcmp(a, "--strategies") == 0) {
            if (!strategies(v, &oltp)) return bad("not a list of strategies", v);
        } else if (transactions && strcmp(a, "--point") == 0) {
            char *copy = strdup(v); /* lives as long as the program */
            if (!copy || oltp.n_points == POINTS_MAX || !point(copy, &oltp, &oltp.points[oltp.n_points++]))
                return bad("not a point, or too many", v);
        } else if (transactions && strcmp(a, "--set") == 0) oltp.settings = v;
        else if (transactions && strcmp(a, "--oltp") == 0) oltp.folder = v;
        else if (strcmp(a, "--variant") == 0) {
            char *copy = strdup(v), *eq = copy ? strchr(copy, '=') : NULL; /* lives as long as the program */
            if (!eq || b.n_extra == VARIANTS_MAX) return bad("not LABEL=SETTINGS, or too many", v);
            *eq = 0;
            extra[b.n_extra++] = (Variant){copy, eq + 1, NULL};
        } else if (strcmp(a, "--device") == 0) b.device = v;
        else if (strcmp(a, "--json") == 0) b.json_path = v;
        else if (strcmp(a, "--profile") == 0) profile = v;
        else if (strcmp(a, "--commit") == 0) commit = v;
        else if (strcmp(a, "--data") == 0) b.data = v;
        else if (strcmp(a, "--database") == 0 && (latency || gpl)) b.database = v;
        else if (strcmp(a, "--tpch") == 0) b.tpch = v;
        else return bad("no such option", a);
    }
    if (virginian && !n) n = numbers("8M,100M", k, sizes, 16);
    if (join && !n) n = numbers("1M,4M,16M,64M,256M,1G", k, sizes, 16);
    if (!oltp.n_sizes) oltp.n_sizes = numbers("1k,16k,128k", 1000, oltp.sizes, 16);
    if (!oltp.n_strategies) oltp.strategies[oltp.n_strategies++] = STRATEGY_AUTO;
    if ((latency || gpl) && !b.data == !b.database) return bad("--data or --database is needed", NULL);
    if (latency && !b.device) return bad("--device is needed", NULL);

    Err e = {0};
    if (profile_load(vfs_posix(), profile, &b.profile, &b.has_profile, &e) != ST_OK)
        fprintf(stderr, "stele-bench: %s\n", e.message);
    stele_error_info why;
    if (stele_open(b.database ? b.database : ":memory:", &(stele_options){.threads = b.threads}, &b.db, &why) !=
        STELE_OK)
        return fprintf(stderr, "stele-bench: %s\n", why.message), 1;
    if (stele_connect(b.db, &b.conn) != STELE_OK) return fprintf(stderr, "stele-bench: cannot connect\n"), 1;
    b.started_s = now_s();
    printf("stele-bench %s: version %s, commit %s, %d threads, device %s\n", b.name, stele_version(), commit, b.threads,
           b.device ? b.device : "none given");
    if (!b.has_profile) printf("no profile of this machine (stele calibrate): no shares of limits\n");
    fflush(stdout);
    json_open(&b, argc, argv, commit);
    int rc = transactions ? bench_oltp(&b, b.name, &oltp) : run(&b, sizes, n, max_rows);
    if (!json_close(&b)) rc = 1;
    stele_disconnect(b.conn);
    (void)stele_close(b.db, NULL);
    return b.failed ? 1 : rc;
}
