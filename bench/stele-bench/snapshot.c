/* snapshot.c - snapshots of what is being updated [Snapshots §3]: making one over the size, updates between two under
 * seven distributions, queries, memory.
 *
 * Three kinds:
 *
 * - memcpy, fork: the paper's two, of an array of 64-bit items that this program has: copied by some threads, or a
 * child process, with which pages are shared until they are written.
 * - version: Stele's published version (db/published.h) of a table of as many bigint cells that bulks update in place:
 *   shared by versions as one copy, behind which come patches of the rows that have changed (storage/row_home.h). Its
 *   updates are calls of a procedure, so that their times compare with each other and not with an array's.
 *
 * The distributions are the paper's: of pages of 4 KiB, the item within a page at random.
 */
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/pool.h"
#include "bench.h"

enum { ITEM = 8, PAGE_ITEMS = 512, CYCLES = 3 };

/* ---- where updates go ---- */
typedef enum Dist { UNIFORM, SORTED, HEAVY, REPEATED, ZIPF, SELF_SIMILAR, MOVING, N_DISTS } Dist;
static const char *const dist_names[N_DISTS] = {"uniform", "sorted",       "heavy hitter",  "repeated runs",
                                                "Zipf",    "self-similar", "moving cluster"};
/* Page of update i of n. */
static int64_t page_of(Dist d, int64_t i, int64_t n, int64_t pages) {
    enum { CLUSTER = 64 };
    const uint64_t h = hash_u64((uint64_t)i + 1);
    const double u = ((double)(h >> 11) + 0.5) * 0x1p-53;
    switch (d) {
    case UNIFORM: return (int64_t)(h % (uint64_t)pages);
    case SORTED: return i * MIN_OF(pages, MAX_OF(n / PAGE_ITEMS, (int64_t)1)) / n;
    case HEAVY: return h & 1 ? 0 : (int64_t)((h >> 1) % (uint64_t)pages);
    case REPEATED: return i % pages;
    case ZIPF: return (int64_t)(pow((double)pages, u) - 1) % pages;                           /* exponent 1 */
    case SELF_SIMILAR: return (int64_t)((double)pages * pow(u, log(0.2) / log(0.8))) % pages; /* 80 to 20 */
    default: return (i * pages / n + (int64_t)(h % CLUSTER)) % pages;
    }
}
static int64_t item_of(Dist d, int64_t i, int64_t n, int64_t items) {
    const uint64_t h = hash_u64((uint64_t)i * 31 + 7);
    return page_of(d, i, n, items / PAGE_ITEMS) * PAGE_ITEMS + (int64_t)(h % PAGE_ITEMS);
}
static int64_t pages_touched(Dist d, int64_t n, int64_t items) {
    const int64_t pages = items / PAGE_ITEMS;
    char *seen = calloc((size_t)pages, 1);
    int64_t some = 0;
    for (int64_t i = 0; i < n && seen; i++) {
        char *x = &seen[page_of(d, i, n, pages)];
        some += !*x;
        *x = 1;
    }
    free(seen);
    return some;
}

/* ---- memcpy and fork ---- */
typedef struct Array {
    int64_t *items, *copy;
    int64_t n;
    int threads;
} Array;
static int64_t *map_items(int64_t n) {
    void *p = mmap(NULL, (size_t)n * ITEM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return NULL;
    memset(p, 1, (size_t)n * ITEM);
    return p;
}
static bool array_new(Array *a, int64_t n) {
    *a = (Array){.items = map_items(n), .copy = map_items(n), .n = n};
    return a->items && a->copy;
}
static void array_free(Array *a) {
    if (a->items) munmap(a->items, (size_t)a->n * ITEM);
    if (a->copy) munmap(a->copy, (size_t)a->n * ITEM);
}
static void copy_section(void *ctx, int worker) {
    const Array *a = ctx;
    const int64_t part = a->n / a->threads;
    memcpy(a->copy + worker * part, a->items + worker * part, (size_t)part * ITEM);
}
static double copy_s(Array *a, Pool *pool, int threads) {
    const double began = now_s();
    a->threads = threads;
    pool_run(pool, threads, copy_section, a);
    return now_s() - began;
}
/* A child that has the snapshot until it is ended; it does nothing. < 0: there is none. */
static pid_t fork_snapshot(double *s) {
    const double began = now_s();
    const pid_t child = fork();
    if (child == 0)
        for (;;) pause();
    *s = now_s() - began;
    return child;
}
static void end_snapshot(pid_t child) {
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}
static double update_s(Array *a, Dist d, int64_t n) {
    const double began = now_s();
    for (int64_t i = 0; i < n; i++) __atomic_store_n(&a->items[item_of(d, i, n, a->n)], i, __ATOMIC_RELAXED);
    return now_s() - began;
}
static double scan_s(const Array *a) {
    const double began = now_s();
    int64_t sum = 0;
    for (int64_t i = 0; i < a->n; i++) sum += a->copy[i];
    __asm__ volatile("" : : "r"(sum));
    return now_s() - began;
}

/* ---- versions ---- */
typedef struct Cells {
    stele_conn *reader;
    stele_bulk *bulk;
    int64_t n;
} Cells;
typedef struct Look { /* of the reader */
    double ms, copied;
} Look;
static bool look_row(void *ctx, int64_t n, const char *const *values, const char *const *names) {
    (void)n, (void)names;
    static const struct {
        const char *unit;
        double f;
    } units[] = {{"B", 1}, {"kB", 1024}, {"MB", 1048576}, {"GB", 1073741824}};
    Look *x = ctx;
    const char *at = values[0] ? strstr(values[0], "made for this statement in ") : NULL;
    char unit[4];
    double size;
    if (!at || sscanf(at, "made for this statement in %lf ms: %lf %3s", &x->ms, &size, unit) != 3) return false;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(unit, units[i].unit) == 0) x->copied = size * units[i].f;
    return false;
}
static bool failed(stele_conn *c) {
    stele_error_info e;
    stele_error(c, &e);
    fprintf(stderr, "stele-bench: %s: %s\n", e.sqlstate, e.message);
    return false;
}
static bool look(Cells *x, Look *out) {
    *out = (Look){0};
    return stele_exec(x->reader, "explain analyze select sum(v) from cells", look_row, out) == STELE_OK ||
           failed(x->reader);
}
static bool cells_new(Bench *b, Cells *x, int64_t n) {
    char sql[200], why[WHY_MAX];
    *x = (Cells){.n = n};
    snprintf(sql, sizeof sql,
             "drop table if exists cells; create table cells(id int primary key, v bigint not null); "
             "insert into cells select i, i from generate_series(0, %lld) i",
             (long long)n - 1);
    const bool ok =
        run_sql(b, sql, why) && run_sql(b,
                                        "create or replace procedure put(k int, x bigint) language plpgsql as "
                                        "$$ begin update cells set v = x where id = k; end $$",
                                        why);
    if (!ok) return fprintf(stderr, "stele-bench: %s\n", why), false;
    if (stele_connect(b->db, &x->reader) != STELE_OK) return false;
    return stele_bulk_new(b->conn, "put", &x->bulk) == STELE_OK || failed(b->conn);
}
static void cells_free(Cells *x) {
    if (x->bulk) stele_bulk_free(x->bulk);
    if (x->reader) stele_disconnect(x->reader);
}
/* n calls as one bulk; their time. */
static bool cells_update(Bench *b, Cells *x, Dist d, int64_t n, double *s) {
    int32_t *keys = malloc((size_t)n * 4);
    int64_t *values = malloc((size_t)n * 8);
    bool ok = keys && values;
    for (int64_t i = 0; i < n && ok; i++) {
        keys[i] = (int32_t)item_of(d, i, n, x->n);
        values[i] = i;
    }
    const void *const columns[] = {keys, values};
    stele_bulk_reset(x->bulk);
    ok = ok && stele_bulk_add_columns(x->bulk, n, columns, NULL) == STELE_OK;
    const double began = now_s();
    ok = ok && stele_bulk_run(x->bulk) == STELE_OK;
    *s = now_s() - began;
    free(keys);
    free(values);
    return ok || failed(b->conn);
}

/* ---- tables of figures ---- */
static void record(Bench *b, const char *part, const char *kind, int64_t items, int threads, double ms) {
    json_begin(b);
    json_text(b, "part", part);
    json_text(b, "kind", kind);
    json_int(b, "bytes", items * ITEM);
    json_int(b, "threads", threads);
    json_num(b, "ms", ms);
    json_end(b);
}
static bool creation_of(Bench *b, Pool *pool, int64_t items) {
    Array a;
    Cells x = {0};
    Look first = {0}, next = {0};
    bool ok = array_new(&a, items);
    printf("  %9.0f", (double)(items * ITEM) / 1048576);
    for (int threads = 1; ok; threads = MIN_OF(2 * threads, b->threads)) {
        double best = INFINITY;
        for (int i = 0; i < b->runs; i++) best = fmin(best, copy_s(&a, pool, threads));
        printf(" %10.3f", best * 1e3);
        record(b, "creation", "memcpy", items, threads, best * 1e3);
        if (threads == b->threads) break;
    }
    double best = INFINITY, s = 0;
    for (int i = 0; i < b->runs && ok; i++) {
        const pid_t child = fork_snapshot(&s);
        ok = child > 0;
        if (ok) end_snapshot(child);
        best = fmin(best, s);
    }
    array_free(&a);
    if (ok) record(b, "creation", "fork", items, 1, best * 1e3);
    ok = ok && cells_new(b, &x, items) && cells_update(b, &x, UNIFORM, 1000, &s) && look(&x, &first);
    ok = ok && cells_update(b, &x, UNIFORM, 1000, &s) && look(&x, &next);
    cells_free(&x);
    if (!ok) return false;
    record(b, "creation", "version, all cells", items, 1, first.ms);
    record(b, "creation", "version, 1000 updates", items, 1, next.ms);
    printf(" %10.3f %12.3f %12.3f\n", best * 1e3, first.ms, next.ms);
    fflush(stdout);
    return true;
}
static bool creation(Bench *b, Pool *pool, int64_t most) {
    printf("\nmaking a snapshot, ms, best of %d; version: the first one, and one behind 1000 updates\n  %9s", b->runs,
           "MB");
    for (int threads = 1;; threads = MIN_OF(2 * threads, b->threads)) {
        printf(" %8s %d", "memcpy", threads);
        if (threads == b->threads) break;
    }
    printf(" %10s %12s %12s\n", "fork", "version", "1000 updates");
    for (int64_t items = 1 << 17; items * ITEM <= most && !over_budget(b); items *= 4)
        if (!creation_of(b, pool, items)) return false;
    return true;
}

typedef struct Cycle { /* medians would need more of them: the least of CYCLES */
    double snapshot_ms, updates_ms, query_ms, copied;
} Cycle;
static void cycle_least(Cycle *best, const Cycle *c, int i) {
    if (i == 0 || c->snapshot_ms + c->updates_ms < best->snapshot_ms + best->updates_ms) *best = *c;
}
static void put_cycle(Bench *b, const char *kind, Dist d, int64_t items, int64_t updates, const Cycle *c) {
    printf("  %-15s %9lld %-8s %12.3f %12.3f %12.3f %12.2f %10.2f\n", dist_names[d], (long long)updates, kind,
           c->snapshot_ms, c->updates_ms, c->snapshot_ms + c->updates_ms, c->copied / 1048576, c->query_ms);
    fflush(stdout);
    json_begin(b);
    json_text(b, "part", "updates");
    json_text(b, "kind", kind);
    json_text(b, "distribution", dist_names[d]);
    json_int(b, "bytes", items * ITEM);
    json_int(b, "updates", updates);
    json_num(b, "snapshot_ms", c->snapshot_ms);
    json_num(b, "updates_ms", c->updates_ms);
    json_num(b, "query_ms", c->query_ms);
    json_num(b, "copied_bytes", c->copied);
    json_end(b);
}
static bool array_cycles(Bench *b, Pool *pool, Array *a, Dist d, int64_t updates) {
    Cycle memcpys = {0}, forks = {0};
    for (int i = 0; i < CYCLES; i++) {
        Cycle c = {.copied = (double)(a->n * ITEM)};
        c.snapshot_ms = copy_s(a, pool, b->threads) * 1e3;
        c.updates_ms = update_s(a, d, updates) * 1e3;
        c.query_ms = scan_s(a) * 1e3;
        cycle_least(&memcpys, &c, i);
        double s;
        const pid_t child = fork_snapshot(&s);
        if (child < 0) return fprintf(stderr, "stele-bench: fork failed\n"), false;
        c = (Cycle){.snapshot_ms = s * 1e3, .query_ms = c.query_ms, .updates_ms = update_s(a, d, updates) * 1e3};
        end_snapshot(child);
        c.copied = (double)pages_touched(d, updates, a->n) * PAGE_ITEMS * ITEM;
        cycle_least(&forks, &c, i);
    }
    put_cycle(b, "memcpy", d, a->n, updates, &memcpys);
    put_cycle(b, "fork", d, a->n, updates, &forks);
    return true;
}
static bool cells_cycles(Bench *b, Cells *x, Dist d, int64_t updates) {
    Cycle best = {0};
    for (int i = 0; i < CYCLES; i++) {
        double s;
        Look made;
        if (!cells_update(b, x, d, updates, &s) || !look(x, &made)) return false;
        const double began = now_s();
        if (stele_exec(x->reader, "select sum(v) from cells", NULL, NULL) != STELE_OK) return failed(x->reader);
        const Cycle c = {made.ms, s * 1e3, (now_s() - began) * 1e3, made.copied};
        cycle_least(&best, &c, i);
    }
    put_cycle(b, "version", d, x->n, updates, &best);
    return true;
}
static bool updates(Bench *b, Pool *pool, int64_t bytes) {
    static const int64_t counts[] = {1000, 10000, 100000};
    const int64_t items = bytes / ITEM / PAGE_ITEMS * PAGE_ITEMS;
    Array a;
    Cells x = {0};
    double s;
    Look first;
    bool ok =
        array_new(&a, items) && cells_new(b, &x, items) && cells_update(b, &x, UNIFORM, 1000, &s) && look(&x, &first);
    printf(
        "\n%.0f MB: a snapshot, and the updates until the next one; the least of %d cycles. Queries read all items, of "
        "the snapshot\n",
        (double)(items * ITEM) / 1048576, CYCLES);
    printf("  %-15s %9s %-8s %12s %12s %12s %12s %10s\n", "distribution", "updates", "kind", "snapshot ms",
           "updates ms", "cycle ms", "MB copied", "query ms");
    for (size_t k = 0; k < sizeof counts / sizeof *counts && ok; k++)
        for (int d = 0; d < N_DISTS && ok && !over_budget(b); d++)
            ok = array_cycles(b, pool, &a, (Dist)d, counts[k]) && cells_cycles(b, &x, (Dist)d, counts[k]);
    array_free(&a);
    cells_free(&x);
    return ok;
}

int bench_snapshot(Bench *b, const SnapshotBench *o) {
    Err e = {0};
    char why[WHY_MAX];
    Pool *pool = pool_new(b->threads, &e);
    if (!pool || !run_sql(b, "set auto_merge_delay = 0", why)) return 1;
    const bool ok = creation(b, pool, o->most_bytes) && updates(b, pool, o->bytes);
    pool_free(pool);
    return ok ? 0 : 1;
}
