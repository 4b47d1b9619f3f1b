/* main.c - stele-bench: options, then one of the benchmarks. Exit status: 0 measured and all rows agree, 1 not, 2 bad
 * usage. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ch.h"

#ifndef STELE_COMMIT
#define STELE_COMMIT "unknown"
#endif

static const char usage[] =
    "usage: stele-bench virginian [--rows N,N,...] [options]     ten filter queries (8M,100M rows)\n"
    "       stele-bench join [--sizes N,N,...] [--max-rows N] [options]     equal and unequal tables (1M .. 1G rows)\n"
    "       stele-bench gpl --data DIR | --database DIR [--tpch DIR] [options]     TPC-H Q5, Q7, Q8, Q9, Q14\n"
    "       stele-bench latency --data DIR | --database DIR [--tpch DIR] [options]     TPC-H: time beside the kernels\n"
    "       stele-bench merge [--rows N] [--delta P,P,...] [options]     merges, against the rate of copying memory "
    "(10M "
    "rows)\n"
    "       stele-bench snapshot [--most-bytes N] [--bytes N] [options]     snapshots: making one (to 1G), and updates "
    "of one "
    "(128M)\n"
    "       stele-bench tpcb|tpcc|tm1|smallbank|ycsb|gputx [--scale N] [--bulk N,N,...] [--strategies "
    "kset,tpl,part,serial,auto] [options]     transactions in bulk\n"
    "       stele-bench ch [--scale N] [--clients N] [--analysts N] [--calls N] [--interval MS] [--offered P,P,...] "
    "[--frontier yes [--svg FILE] | --snapshots N] [options]\n"
    "                     CH-benCHmark: transactions and analytical queries on the same tables\n"
    "  --delta P,P,...    merge: shares of the rows that have come since the last merge (0.1,0.5)\n"
    "  --seconds S        of each line of a transaction benchmark (2)\n"
    "  --skew T           smallbank, ycsb: 0 (all keys alike) to 0.99\n"
    "  --workload W       ycsb: A (default) to F\n"
    "  --arrival R, --interval MS    calls come at R a second, and a bulk is cut every MS ms at the earliest (as fast "
    "as they are done); MS: a list\n"
    "  --pool N           calls are submitted to the pool of calls, N to a ticket, and --bulk tickets are on their "
    "way; --arrival: they come evenly\n"
    "  --readers N, --callers N    connections beside the calls: N that look at the benchmark's invariants, N that run "
    "calls by SQL (not gputx)\n"
    "  --clients N, --analysts N    ch: connections that make calls (2), and that run queries (2)\n"
    "  --calls N, --interval MS    ch: calls that a client sends at once (500); at an offered rate: no round sooner "
    "behind the last (5)\n"
    "  --offered P,P,..   ch: calls come at these shares of their rate alone; 1: as fast as they are done (0.5,1)\n"
    "  --frontier yes     ch: both rates over both numbers of connections; --svg FILE: a plot\n"
    "  --snapshots N      ch: so many are compared with a serial replay of the calls\n"
    "  --query-set SQL    ch: settings of the connections that run queries; --device: they run there, compiled\n"
    "  --types N, --work N, --tuples N, --alpha A    gputx: T, x, rows of the table, share of calls that meet at one "
    "row (8, 16, 1M, 0)\n"
    "  --set SQL          transaction benchmarks: settings\n"
    "  --point \"label=L types=N work=N alpha=A bulk=N strategy=S seconds=S mix=A/B/..;SQL\"    transaction "
    "benchmarks: one line of its own after SQL; mix: shares of the\n"
    "                     transactions in the order of the benchmark's definition; what is left out is as above, or as "
    "the benchmark has it; repeatable\n";
static const char usage_rest[] =
    "  --oltp DIR         folder of NAME.sql (bench/oltp); --ch DIR: ch: of schema.sql and queries/ (bench/ch)\n"
    "  --device ID        cuda:0, opencl:0, cpu: the device that is measured beside the CPU\n"
    "  --threads N        worker threads (all processors)\n"
    "  --runs N           repetitions of each query (5); the median counts\n"
    "  --query-seconds S  most to spend on the repetitions of one query (2); three are always made, time permitting\n"
    "  --budget S         seconds for the whole benchmark; what does not fit is left out and said\n"
    "  --json FILE        results for bench/results\n"
    "  --profile FILE     rates of this machine, as `stele calibrate` writes them; default: the user's\n"
    "  --data DIR         .tbl files (region.tbl .. lineitem.tbl)\n"
    "  --database DIR     gpl, latency: a database with TPC-H's tables\n"
    "  --durable DIR      transaction benchmarks: the database is this directory, with a redo log; else in memory\n"
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

/* "0.1,0.5"; false when malformed. */
static bool shares(const char *s, MergeBench *o) {
    const int max = (int)(sizeof o->shares / sizeof o->shares[0]);
    for (o->n_shares = 0; *s && o->n_shares < max;) {
        char *end;
        const double x = strtod(s, &end);
        if (end == s || !(x >= 0 && x <= 1) || (*end && *end != ',')) return false;
        o->shares[o->n_shares++] = x;
        s = *end ? end + 1 : end;
    }
    return o->n_shares > 0 && !*s;
}

static int bad(const char *what, const char *value) {
    fprintf(stderr, "stele-bench: %s%s%s\n%s%s", what, value ? ": " : "", value ? value : "", usage, usage_rest);
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

/* What the command line says. */
typedef struct Options {
    Bench b;
    Variant extra[VARIANTS_MAX]; /* b.extra */
    OltpOptions oltp;
    ChOptions ch;
    MergeBench merge;
    SnapshotBench snapshot;
    int64_t sizes[16], max_rows; /* of filter queries and joins */
    int n;
    int64_t k; /* of "8k" */
    const char *commit, *profile;
} Options;
enum { OTHER = -1 }; /* an option function: not one of its options; else 0, or 2 for bad usage, which it has reported */

static bool is(const Bench *b, const char *name) { return strcmp(b->name, name) == 0; }

/* An option of transaction benchmarks, which `name` is. */
static int oltp_option(const char *name, OltpOptions *o, const char *a, const char *v) {
    char *end = NULL;
    if (strcmp(a, "--scale") == 0 || strcmp(a, "--tuples") == 0) {
        int64_t x = number(v, 1000, &end);
        if (x < 1 || x > 100000000 || *end) return bad("not a number", v);
        *(a[2] == 's' ? &o->scale : &o->tuples) = x;
    } else if (strcmp(a, "--types") == 0 || strcmp(a, "--work") == 0) {
        int64_t x = number(v, 1000, &end);
        if (x < 1 || x > (a[2] == 't' ? 16 : 1000000) || *end) return bad("out of range", v);
        *(a[2] == 't' ? &o->types : &o->work) = (int)x;
    } else if (strcmp(a, "--skew") == 0 || strcmp(a, "--alpha") == 0 || strcmp(a, "--seconds") == 0) {
        double x = strtod(v, &end);
        if (end == v || *end || x < 0 || (a[3] != 'e' && x >= 1)) return bad("out of range", v);
        *(a[3] == 'k' ? &o->skew : a[3] == 'l' ? &o->alpha : &o->seconds) = x;
    } else if (strcmp(a, "--workload") == 0 && strcmp(name, "ycsb") == 0) {
        if (v[0] < 'A' || v[0] > 'F' || v[1]) return bad("not a workload from A to F", v);
        o->workload = v[0];
    } else if (strcmp(a, "--arrival") == 0) {
        int64_t x = number(v, 1000, &end);
        if (x < 0 || *end) return bad("not a number", v);
        o->arrival = (double)x;
    } else if (strcmp(a, "--pool") == 0) {
        int64_t x = number(v, 1000, &end);
        if (x < 1 || x > 1000000 || *end) return bad("not a number", v);
        o->pool = (int)x;
    } else if ((strcmp(a, "--readers") == 0 || strcmp(a, "--callers") == 0) && strcmp(name, "gputx") != 0) {
        int64_t x = number(v, 1000, &end);
        if (x < 1 || x > 1000 || *end) return bad("not a number from 1 to 1000", v);
        *(a[2] == 'r' ? &o->readers : &o->callers) = (int)x;
    } else if (strcmp(a, "--interval") == 0) {
        for (char *at = (char *)(uintptr_t)v; o->n_intervals < 16; at = end + 1) {
            double x = strtod(at, &end);
            if (end == at || x < 0 || (*end && *end != ',')) return bad("not a list of milliseconds", v);
            o->intervals[o->n_intervals++] = x / 1e3;
            if (!*end) break;
        }
    } else if (strcmp(a, "--bulk") == 0) {
        if ((o->n_sizes = numbers(v, 1000, o->sizes, 16)) == 0) return bad("not a list of numbers", v);
    } else if (strcmp(a, "--strategies") == 0) {
        if (!strategies(v, o)) return bad("not a list of strategies", v);
    } else if (strcmp(a, "--point") == 0) {
        char *copy = strdup(v); /* lives as long as the program */
        if (!copy || o->n_points == POINTS_MAX || !point(copy, o, &o->points[o->n_points++]))
            return bad("not a point, or too many", v);
    } else if (strcmp(a, "--set") == 0) o->settings = v;
    else if (strcmp(a, "--oltp") == 0) o->folder = v;
    else return OTHER;
    return 0;
}

/* Shares between 0 and 1, with commas. */
static int offered(const char *v, ChOptions *o) {
    const char *at = v;
    for (char *end; o->n_offered < OFFERED_MAX; at = end + 1) {
        const double x = strtod(at, &end);
        if (end == at || x <= 0 || x > 1 || (*end && *end != ',')) break;
        o->offered[o->n_offered++] = x;
        if (!*end) return 0;
    }
    return bad("not a list of shares", v);
}
/* An option of CH-benCHmark. */
static int ch_option(ChOptions *o, OltpOptions *transactions, const char *a, const char *v) {
    static const char *const passed[] = {"--scale", "--seconds", "--set", "--oltp"};
    for (size_t i = 0; i < sizeof passed / sizeof *passed; i++)
        if (strcmp(a, passed[i]) == 0) return oltp_option("tpcc", transactions, a, v);
    char *end = NULL;
    if (strcmp(a, "--offered") == 0) return offered(v, o);
    if (strcmp(a, "--clients") == 0 || strcmp(a, "--analysts") == 0) {
        const int64_t x = number(v, 1000, &end);
        if (x < 1 || x > CLIENTS_MOST || *end) return bad("not a number from 1 to 64", v);
        *(a[2] == 'c' ? &o->clients : &o->analysts) = (int)x;
    } else if (strcmp(a, "--calls") == 0) {
        o->calls = number(v, 1000, &end);
        if (o->calls < 1 || o->calls > 1000000 || *end) return bad("not a number from 1 to 1M", v);
    } else if (strcmp(a, "--snapshots") == 0) {
        const int64_t x = number(v, 1000, &end);
        if (x < 1 || x > 64 || *end) return bad("not a number from 1 to 64", v);
        o->snapshots = (int)x;
    } else if (strcmp(a, "--interval") == 0) {
        o->interval = strtod(v, &end) / 1e3;
        if (end == v || *end || o->interval < 0) return bad("not a number of milliseconds", v);
    } else if (strcmp(a, "--frontier") == 0) {
        o->frontier = strcmp(v, "yes") == 0;
        if (!o->frontier && strcmp(v, "no") != 0) return bad("not yes or no", v);
    } else if (strcmp(a, "--svg") == 0) o->svg = v;
    else if (strcmp(a, "--ch") == 0) o->folder = v;
    else if (strcmp(a, "--query-set") == 0) o->query_settings = v;
    else return OTHER;
    return 0;
}

/* An option of any benchmark or of the others. */
static int option(Options *o, const char *a, const char *v) {
    Bench *b = &o->b;
    char *end = NULL;
    if (strcmp(a, "--rows") == 0 && is(b, "merge")) {
        if ((o->merge.rows = number(v, 1000, &end)) < 1000 || *end) return bad("not a number from 1000 on", v);
    } else if (strcmp(a, "--delta") == 0 && is(b, "merge")) {
        if (!shares(v, &o->merge)) return bad("not a list of shares from 0 to 1", v);
    } else if ((strcmp(a, "--most-bytes") == 0 || strcmp(a, "--bytes") == 0) && is(b, "snapshot")) {
        int64_t *to = strcmp(a, "--bytes") == 0 ? &o->snapshot.bytes : &o->snapshot.most_bytes;
        if ((*to = number(v, 1024, &end)) < 1 << 20 || *end) return bad("not a number from 1M on", v);
    } else if ((strcmp(a, "--rows") == 0 && is(b, "virginian")) || (strcmp(a, "--sizes") == 0 && is(b, "join"))) {
        if ((o->n = numbers(v, o->k, o->sizes, 16)) == 0) return bad("not a list of numbers", v);
    } else if (strcmp(a, "--max-rows") == 0 && is(b, "join")) {
        if ((o->max_rows = number(v, o->k, &end)) < 0 || *end) return bad("not a number", v);
    } else if (strcmp(a, "--threads") == 0 || strcmp(a, "--runs") == 0) {
        int64_t x = number(v, 1000, &end);
        if (x < 1 || x > 1024 || *end) return bad("not a number from 1 to 1024", v);
        *(a[2] == 't' ? &b->threads : &b->runs) = (int)x;
    } else if (strcmp(a, "--budget") == 0 || strcmp(a, "--query-seconds") == 0) {
        double x = strtod(v, &end);
        if (end == v || *end || x < 0) return bad("not a number of seconds", v);
        *(a[2] == 'b' ? &b->budget_s : &b->query_s) = x;
    } else if (strcmp(a, "--variant") == 0) {
        char *copy = strdup(v), *eq = copy ? strchr(copy, '=') : NULL; /* lives as long as the program */
        if (!eq || b->n_extra == VARIANTS_MAX) return bad("not LABEL=SETTINGS, or too many", v);
        *eq = 0;
        o->extra[b->n_extra++] = (Variant){copy, eq + 1, NULL};
    } else if (strcmp(a, "--device") == 0) b->device = v;
    else if (strcmp(a, "--json") == 0) b->json_path = v;
    else if (strcmp(a, "--profile") == 0) o->profile = v;
    else if (strcmp(a, "--commit") == 0) o->commit = v;
    else if (strcmp(a, "--data") == 0) b->data = v;
    else if (strcmp(a, "--database") == 0 && (is(b, "latency") || is(b, "gpl"))) b->database = v;
    else if (strcmp(a, "--durable") == 0 && is_oltp(b->name)) {
        b->database = v;
        b->durable = true;
    } else if (strcmp(a, "--tpch") == 0) b->tpch = v;
    else return OTHER;
    return 0;
}

/* All options; 0, or the exit status. */
static int options(Options *o, int argc, char **argv) {
    const bool transactions = is_oltp(o->b.name);
    for (int i = 2; i < argc; i++) {
        const char *a = argv[i], *v = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(a, "--verbose") == 0) {
            o->b.verbose = true;
            continue;
        }
        if (!v) return bad("no such option, or its value is missing", a);
        i++;
        int rc = transactions      ? oltp_option(o->b.name, &o->oltp, a, v)
                 : is(&o->b, "ch") ? ch_option(&o->ch, &o->oltp, a, v)
                                   : OTHER;
        if (rc == OTHER) rc = option(o, a, v);
        if (rc == OTHER) return bad("no such option", a);
        if (rc) return rc;
    }
    if (!o->merge.n_shares) (void)shares("0.1,0.5", &o->merge);
    const bool needs_data = is(&o->b, "latency") || is(&o->b, "gpl");
    if (is(&o->b, "virginian") && !o->n) o->n = numbers("8M,100M", o->k, o->sizes, 16);
    if (is(&o->b, "join") && !o->n) o->n = numbers("1M,4M,16M,64M,256M,1G", o->k, o->sizes, 16);
    if (!o->oltp.n_sizes) o->oltp.n_sizes = numbers("1k,16k,128k", 1000, o->oltp.sizes, 16);
    if (!o->oltp.n_strategies) o->oltp.strategies[o->oltp.n_strategies++] = STRATEGY_AUTO;
    if (!o->ch.n_offered) o->ch.offered[o->ch.n_offered++] = 0.5, o->ch.offered[o->ch.n_offered++] = 1;
    if (needs_data && !o->b.data == !o->b.database) return bad("--data or --database is needed", NULL);
    if (is(&o->b, "latency") && !o->b.device) return bad("--device is needed", NULL);
    return 0;
}

int main(int argc, char **argv) {
    static Options o = {.max_rows = INT64_MAX,
                        .commit = STELE_COMMIT,
                        .merge = {.rows = 10000000},
                        .snapshot = {.most_bytes = 1 << 30, .bytes = 128 << 20},
                        .oltp = {.folder = "bench/oltp",
                                 .scale = 10,
                                 .seconds = 2,
                                 .tuples = 1000000,
                                 .types = 8,
                                 .work = 16,
                                 .workload = 'A'},
                        .ch = {.folder = "bench/ch", .clients = 2, .analysts = 2, .calls = 500, .interval = 0.005}};
    Bench *b = &o.b;
    stele_set_logger(say, NULL);
    if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        return fprintf(argc < 2 ? stderr : stdout, "%s%s", usage, usage_rest), argc < 2 ? 2 : 0;
    *b = (Bench){.name = argv[1],
                 .threads = (int)sysconf(_SC_NPROCESSORS_ONLN),
                 .runs = 5,
                 .query_s = 2,
                 .tpch = "bench/tpch",
                 .extra = o.extra};
    if (!is(b, "virginian") && !is(b, "join") && !is(b, "gpl") && !is(b, "latency") && !is(b, "ch") &&
        !is(b, "merge") && !is(b, "snapshot") && !is_oltp(b->name))
        return bad("unknown benchmark", b->name);
    o.k = is(b, "join") ? 1024 : 1000;
    int rc = options(&o, argc, argv);
    if (rc) return rc;

    Err e = {0};
    if (profile_load(vfs_posix(), o.profile, &b->profile, &b->has_profile, &e) != ST_OK)
        fprintf(stderr, "stele-bench: %s\n", e.message);
    stele_error_info why;
    const stele_options how = {.threads = b->threads, .durable = b->durable};
    if (stele_open(b->database ? b->database : ":memory:", &how, &b->db, &why) != STELE_OK)
        return fprintf(stderr, "stele-bench: %s\n", why.message), 1;
    if (stele_connect(b->db, &b->conn) != STELE_OK) return fprintf(stderr, "stele-bench: cannot connect\n"), 1;
    b->started_s = now_s();
    printf("stele-bench %s: version %s, commit %s, %d threads, device %s\n", b->name, stele_version(), o.commit,
           b->threads, b->device ? b->device : "none given");
    if (!b->has_profile) printf("no profile of this machine (stele calibrate): no shares of limits\n");
    fflush(stdout);
    json_open(b, argc, argv, o.commit);
    o.ch.oltp = &o.oltp;
    if (is(b, "snapshot")) rc = bench_snapshot(b, &o.snapshot);
    else if (is(b, "merge")) rc = bench_merge(b, &o.merge);
    else if (is(b, "ch")) rc = bench_ch(b, &o.ch);
    else rc = is_oltp(b->name) ? bench_oltp(b, b->name, &o.oltp) : run(b, o.sizes, o.n, o.max_rows);
    if (!json_close(b)) rc = 1;
    stele_disconnect(b->conn);
    (void)stele_close(b->db, NULL);
    return b->failed ? 1 : rc;
}
