/* test_isolation.c - transactions of several connections: scripts of interleaved statements (tests/isolation), and
 * histories of random transactions, whose dependency graphs must have no cycle.
 *
 * A script is a list of tests, each on a database of its own with test(id int primary key, value int) = (1, 10), (2,
 * 20):
 *
 *     test NAME
 *     T1 STATEMENT         on connection 1 .. 9 ("T1 disconnect" closes it)
 *       1,10 2,20          its rows; "-": none; "! 40001": it fails so. Without such a line it must succeed. Notices
 *                          and lines of COPY TO STDOUT are in their places; COPY FROM STDIN has "3 <tab> 31"
 *       waits              it waits for another transaction: it has a thread of its own, and goes on when that has
 *                          ended; only below REPEATABLE READ does anybody wait
 *     T1 resumes           its end is waited for; the line behind has its rows
 *
 * "level NAME" in front of the first test is the level of all transactions that do not name one.
 *
 * The histories: every write gives its key a value that was never used before and says which value it replaces. So the
 * order of a key's versions is known, and who read which. Edges between committed transactions: from a version's writer
 * to that of the next one, to its readers, and from its readers to the next one's writer. Calls of bulks are
 * transactions like the others: their OUT values say what they read and replaced. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/api_int.h"
#include "unit.h"

/* ---- scripts ------------------------------------------------------------------------------------------ */
enum { CONNECTIONS = 10, CELLS = 4096 };
typedef struct Script {
    stele_db *db;
    stele_conn *conns[CONNECTIONS];
    struct Step *waits[CONNECTIONS]; /* statements with threads of their own */
    char *name, *level;
    int failures;
} Script;
typedef struct Cells {
    char text[CELLS];
    size_t n;
} Cells;
static bool add_row(void *ctx, int64_t n, const char *const *v, const char *const *names) {
    Cells *t = ctx;
    (void)names;
    for (int64_t i = 0; i < n; i++)
        t->n += (size_t)snprintf(t->text + t->n, sizeof t->text - t->n, "%s%s",
                                 i      ? ","
                                 : t->n ? " "
                                        : "",
                                 v[i] ? v[i] : "NULL");
    return t->n > sizeof t->text / 2;
}
static void leave(Script *x) {
    for (int i = 0; i < CONNECTIONS; i++) stele_disconnect(x->conns[i]);
    memset(x->conns, 0, sizeof x->conns);
    if (x->db) assert_int_equal(stele_close(x->db, NULL), STELE_OK);
    x->db = NULL;
}
static stele_conn *connection(Script *x, int k) {
    if (x->conns[k]) return x->conns[k];
    assert_int_equal(stele_connect(x->db, &x->conns[k]), STELE_OK);
    char sql[128];
    snprintf(sql, sizeof sql, "set default_transaction_isolation = '%s'", x->level ? x->level : "serializable");
    assert_int_equal(stele_exec(x->conns[k], sql, NULL, NULL), STELE_OK);
    return x->conns[k];
}
static void add_line(Cells *t, const char *text, int64_t n) {
    while (n > 0 && text[n - 1] == '\n') n--;
    size_t at = t->n;
    t->n += (size_t)snprintf(t->text + t->n, sizeof t->text - t->n, "%s%.*s", t->n ? " " : "", (int)n, text);
    for (; at < t->n; at++)
        if (t->text[at] == '\n') t->text[at] = ' ';
}
static void add_notice(void *ctx, const stele_notice *n) { add_line(ctx, n->message, (int64_t)strlen(n->message)); }
static bool add_copied(void *ctx, const char *text, int64_t n) {
    add_line(ctx, text, n);
    return true;
}
typedef struct Step {
    Cells got; /* first */
    bool given;
    stele_conn *c;
    char sql[1024], outcome[CELLS + 64], message[1024];
    _Atomic bool done;
    pthread_t thread;
} Step;
static int64_t give_row(void *ctx, char *buf, int64_t size) {
    Step *p = ctx;
    const int n = p->given ? 0 : snprintf(buf, (size_t)size, "3\t31\n");
    p->given = true;
    return n;
}
static void *run_step(void *arg) {
    Step *p = arg;
    stele_error_info e = {.message = ""};
    stele_set_notice(p->c, add_notice, &p->got);
    stele_set_copy_streams(p->c, give_row, add_copied, p);
    if (stele_exec(p->c, p->sql, add_row, &p->got) == STELE_OK) {
        snprintf(p->outcome, sizeof p->outcome, "%s", p->got.n ? p->got.text : "-");
    } else {
        stele_error(p->c, &e);
        snprintf(p->outcome, sizeof p->outcome, "! %s", e.sqlstate);
    }
    snprintf(p->message, sizeof p->message, "%s", e.message);
    atomic_store(&p->done, true);
    return NULL;
}
/* In its thread; true: it waits for a transaction, else it has ended. */
static bool begin_step(Step *p) {
    assert_int_equal(pthread_create(&p->thread, NULL, run_step, p), 0);
    while (!atomic_load(&p->done) && !atomic_load(&p->c->s->block.waits))
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    return !atomic_load(&p->done);
}
static Step *step_of(Script *x, int k, const char *sql) {
    Step *p = calloc(1, sizeof *p);
    assert_non_null(p);
    p->c = connection(x, k);
    snprintf(p->sql, sizeof p->sql, "%s", sql);
    return p;
}
static void step(Script *x, const char *file, int line, int k, const char *sql, const char *expected) {
    const bool waits = expected && strcmp(expected, "waits") == 0, resumes = strcmp(sql, "resumes") == 0;
    if (strcmp(sql, "disconnect") == 0) {
        stele_disconnect(x->conns[k]);
        x->conns[k] = NULL;
        return;
    }
    assert_true(resumes == (x->waits[k] != NULL));
    Step *p = resumes ? x->waits[k] : step_of(x, k, sql);
    if (waits && begin_step(p)) {
        x->waits[k] = p;
        return;
    }
    if (waits || resumes) pthread_join(p->thread, NULL);
    else run_step(p);
    x->waits[k] = NULL;
    if (expected ? strcmp(p->outcome, expected) != 0 : p->outcome[0] == '!') {
        print_error("%s:%d: %s: T%d %s: %s (%s), not %s\n", file, line, x->name, k, p->sql, p->outcome, p->message,
                    expected ? expected : "success");
        x->failures++;
    } else if (strcmp(p->outcome, "! 40001") == 0) {
        assert_non_null(strstr(p->message, "could not serialize access"));
    }
    free(p);
}
static void run_script(const char *file) {
    char path[1024], text[2][1024];
    snprintf(path, sizeof path, "%s/%s", ISOLATION_DIR, file);
    FILE *f = fopen(path, "r");
    if (!f) fail_msg("%s is missing", path);
    Script x = {.name = NULL};
    int now = 0, line = 0, tests = 0;
    bool more = fgets(text[0], sizeof text[0], f) != NULL;
    while (more) { /* a line and the one behind it */
        char *t = text[now], *next = text[!now];
        line++;
        t[strcspn(t, "\n")] = 0;
        more = fgets(next, (int)sizeof text[0], f) != NULL;
        if (!more) next[0] = 0;
        now = !now;
        if (strncmp(t, "level ", 6) == 0) x.level = strdup(t + 6);
        if (strncmp(t, "test ", 5) == 0) {
            leave(&x);
            free(x.name);
            x.name = strdup(t + 5);
            tests++;
            assert_int_equal(stele_open(NULL, &(stele_options){.threads = 1}, &x.db, NULL), STELE_OK);
            assert_int_equal(
                stele_exec(connection(&x, 0),
                           "create table test(id int primary key, value int); insert into test values (1, 10), (2, 20)",
                           NULL, NULL),
                STELE_OK);
        } else if (t[0] == 'T') {
            char expected[1024] = "";
            if (strncmp(next, "  ", 2) == 0)
                snprintf(expected, sizeof expected, "%.*s", (int)strcspn(next + 2, "\n"), next + 2);
            assert_true(x.db && t[1] >= '1' && t[1] <= '9' && t[2] == ' ');
            step(&x, file, line, t[1] - '0', t + 3, expected[0] ? expected : NULL);
        }
    }
    leave(&x);
    free(x.name);
    free(x.level);
    fclose(f);
    assert_true(tests > 10);
    assert_int_equal(x.failures, 0);
}
static void hermitage(void **state) {
    (void)state;
    run_script("hermitage.iso");
}
static void read_committed(void **state) {
    (void)state;
    run_script("read_committed.iso");
}
static void more(void **state) {
    (void)state;
    run_script("more.iso");
}
static void snapshots(void **state) {
    (void)state;
    run_script("snapshots.iso");
}
static void savepoints(void **state) {
    (void)state;
    run_script("savepoints.iso");
}
static void forks(void **state) {
    (void)state;
    run_script("forks.iso");
}

/* ---- histories ------------------------------------------------------------------------------------------- */
enum { KEYS = 6, THREADS = 4, OPS_MAX = 24, MIX = 5, WRITERS = 8 /* at most, so that their values differ */ };
typedef struct Op {
    int key;
    int64_t value, replaced;
    bool write;
} Op; /* replaced: of a write */
typedef struct Commit {
    int n;
    bool torn;
    Op ops[OPS_MAX];
    bool call;
} Commit; /* torn: it read a key twice, and not the same; call: it came from the pool of calls */
typedef struct Worker {
    stele_db *db;
    int id, transactions;
    int64_t next_value;
    const char *settings;  /* of bulks, NULL: the usual */
    _Atomic int *progress; /* of all writers, in thousandths of their transactions */
    int writers;
    int n_commits, refused, saved; /* saved: by ROLLBACK TO, from a refused write */
    Commit *commits;
    const char *wrong;
    char why[256];
} Worker;

/* Waits until the others have come nearly as far: they are to meet from the beginning to the end. */
static void keep_pace(const Worker *w) {
    const int mine = (int)((int64_t)w->n_commits * 1000 / w->transactions);
    atomic_store(&w->progress[w->id], mine);
    for (int i = 0; i < w->writers; i++)
        while (atomic_load(&w->progress[i]) < mine - 20) nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
}
static void *finish(Worker *w, stele_conn *c) {
    atomic_store(&w->progress[w->id], 1000);
    stele_disconnect(c);
    return NULL;
}
static bool exec(Worker *w, stele_conn *c, const char *sql,
                 bool (*row)(void *, int64_t, const char *const *, const char *const *), void *ctx) {
    if (stele_exec(c, sql, row, ctx) == STELE_OK) return true;
    stele_error_info e;
    stele_error(c, &e);
    if (strcmp(e.sqlstate, "40001") != 0) {
        w->wrong = "an error";
        snprintf(w->why, sizeof w->why, "%s: %s %s", sql, e.sqlstate, e.message);
    }
    return false;
}
static void add_op(Commit *t, Op op) {
    if (!op.write) { /* what it wrote itself, or has read before, says nothing new, but must be the same */
        bool own = false, known = false;
        for (int i = t->n - 1; i >= 0; i--) {
            if (t->ops[i].key != op.key) continue;
            if (t->ops[i].value == op.value) return;
            known = true;
            own |= t->ops[i].write;
        }
        t->torn |= known && !own;
    }
    if (t->n < OPS_MAX) t->ops[t->n++] = op;
}
static bool take_read(void *ctx, int64_t n, const char *const *v, const char *const *names) {
    (void)n, (void)names;
    add_op(ctx, (Op){.key = atoi(v[0]), .value = atoll(v[1])});
    return false;
}
static bool take_replaced(void *ctx, int64_t n, const char *const *v, const char *const *names) {
    (void)names;
    *(int64_t *)ctx = n > 0 && v[0] ? atoll(v[0]) : -1;
    return false;
}

static bool read_some(Worker *w, stele_conn *c, Commit *t, unsigned *seed) {
    char sql[128];
    int a = rand_r(seed) % KEYS, b = a + rand_r(seed) % KEYS;
    switch (rand_r(seed) % 3) {
    case 0: snprintf(sql, sizeof sql, "select k, v from kv where k = %d", a); break;
    case 1: snprintf(sql, sizeof sql, "select k, v from kv where k >= %d and k <= %d", a, b); break;
    default: snprintf(sql, sizeof sql, "select k, v from kv order by k");
    }
    return exec(w, c, sql, take_read, t);
}
static bool write_one(Worker *w, stele_conn *c, Commit *t, unsigned *seed, const char *form) {
    char sql[160];
    int64_t replaced = -1, value = w->next_value++ * WRITERS + w->id + 1;
    int key = rand_r(seed) % KEYS;
    snprintf(sql, sizeof sql, form, key, (long long)value);
    if (!exec(w, c, sql, take_replaced, &replaced)) return false;
    if (replaced < 0) w->wrong = "a row is gone";
    for (int i = 0; i < t->n; i++) /* of two writes of a transaction to a key only the last is seen by others: the chain
                                      goes from the first's predecessor to it */
        if (t->ops[i].write && t->ops[i].key == key) {
            if (t->ops[i].value != replaced) w->wrong = "a transaction does not see its own write";
            t->ops[i].value = value;
            return true;
        }
    add_op(t, (Op){.key = key, .value = value, .replaced = replaced, .write = true});
    return true;
}
#define BY_UPDATE "update kv set prev = v, v = %2$lld where k = %1$d returning prev"
#define BY_CALL "call put(%d, %lld, null)"

static void *work(void *arg) {
    Worker *w = arg;
    stele_conn *c;
    unsigned seed = (unsigned)w->id * 7919 + 1;
    if (stele_connect(w->db, &c) != STELE_OK || stele_exec(c, "set bulk_interval = '200us'", NULL, NULL) != STELE_OK ||
        (w->settings && stele_exec(c, w->settings, NULL, NULL) != STELE_OK))
        w->wrong = "connect";
    while (!w->wrong && w->n_commits < w->transactions) {
        Commit *t = &w->commits[w->n_commits];
        keep_pace(w);
        t->n = 0;
        t->torn = t->call = false;
        int kind = rand_r(&seed) % MIX;
        bool ok, writes = kind == 0;
        if (kind == 0) { /* a single statement, or a call that joins a bulk */
            ok = write_one(w, c, t, &seed, rand_r(&seed) % 2 ? BY_UPDATE : BY_CALL);
        } else {
            ok = exec(w, c, "begin", NULL, NULL);
            for (int i = 1 + rand_r(&seed) % 4; ok && i > 0; i--) {
                if (kind == 2 || rand_r(&seed) % 2) { /* one that only reads is never refused */
                    ok = read_some(w, c, t, &seed);
                } else if (rand_r(&seed) % 4 == 0) { /* written and taken back */
                    Commit kept = *t;
                    ok = exec(w, c, "savepoint s", NULL, NULL);
                    bool went = ok && write_one(w, c, t, &seed, BY_UPDATE);
                    if (rand_r(&seed) % 2) sched_yield();
                    *t = kept;
                    ok = ok && exec(w, c, "rollback to s", NULL, NULL);
                    if (ok && !went) w->saved++;
                } else {
                    writes = true;
                    ok = write_one(w, c, t, &seed, rand_r(&seed) % 3 ? BY_UPDATE : BY_CALL);
                }
                if (rand_r(&seed) % 2) sched_yield();
            }
            if (ok && kind == 1) { /* nobody may ever see what it wrote */
                ok = exec(w, c, "rollback", NULL, NULL) && false;
            } else {
                ok = ok && exec(w, c, "commit", NULL, NULL);
                if (!ok && stele_transaction_state(c) != 'I') (void)stele_exec(c, "rollback", NULL, NULL);
                w->refused += !ok;
                if (!ok && !writes) w->wrong = "refused, though nothing was changed";
            }
        }
        if (t->torn) w->wrong = "a row was read twice, and not the same";
        if (ok && t->n > 0) w->n_commits++;
    }
    return finish(w, c);
}

/* Calls only: those of one row after the other, or bulks of PER_BULK, of which two are under way. */
enum { PER_BULK = 8, UNDER_WAY = 2 };
typedef struct Keys {
    int32_t from[PER_BULK], to[PER_BULK];
    int64_t value[PER_BULK];
} Keys;
static void choose(Worker *w, Keys *k, unsigned *seed) {
    for (int i = 0; i < PER_BULK; i++)
        k->from[i] = rand_r(seed) % KEYS, k->to[i] = rand_r(seed) % KEYS,
        k->value[i] = w->next_value++ * WRITERS + w->id + 1;
}
static void took(Worker *w, const Keys *k, int i, const char *seen, const char *replaced) {
    Commit *t = &w->commits[w->n_commits];
    *t = (Commit){.call = true};
    if (!seen || !replaced) {
        if (!w->wrong) w->wrong = "a call found no row";
        return;
    }
    add_op(t, (Op){.key = k->from[i], .value = atoll(seen)});
    add_op(t, (Op){.key = k->to[i], .value = k->value[i], .replaced = atoll(replaced), .write = true});
    w->n_commits++;
}
typedef struct Seen {
    char seen[32], replaced[32];
} Seen;
static bool take_seen(void *ctx, int64_t n, const char *const *v, const char *const *names) {
    Seen *s = ctx;
    (void)names;
    if (n == 2 && v[0] && v[1])
        snprintf(s->seen, sizeof s->seen, "%s", v[0]), snprintf(s->replaced, sizeof s->replaced, "%s", v[1]);
    return false;
}
static void *call_only(void *arg) {
    Worker *w = arg;
    stele_conn *c;
    unsigned seed = (unsigned)w->id * 7919 + 1;
    if (stele_connect(w->db, &c) != STELE_OK || stele_exec(c, "set bulk_interval = '200us'", NULL, NULL) != STELE_OK ||
        stele_exec(c, w->settings, NULL, NULL) != STELE_OK)
        w->wrong = "connect";
    while (!w->wrong && w->n_commits < w->transactions) {
        Keys k;
        Seen s = {.seen = ""};
        keep_pace(w);
        char sql[128];
        choose(w, &k, &seed);
        snprintf(sql, sizeof sql, "call follow(%d, %d, %lld, null, null)", k.from[0], k.to[0], (long long)k.value[0]);
        if (exec(w, c, sql, take_seen, &s)) took(w, &k, 0, s.seen[0] ? s.seen : NULL, s.replaced);
        else w->wrong = "a call of the pool was refused";
    }
    return finish(w, c);
}
static void *bulks_only(void *arg) {
    Worker *w = arg;
    stele_conn *c;
    stele_bulk *b[UNDER_WAY] = {NULL};
    Keys k[UNDER_WAY];
    unsigned seed = (unsigned)w->id * 7919 + 1;
    if (stele_connect(w->db, &c) != STELE_OK || stele_exec(c, w->settings, NULL, NULL) != STELE_OK)
        w->wrong = "connect";
    for (int i = 0; i < UNDER_WAY && !w->wrong; i++)
        if (stele_bulk_new(c, "follow", &b[i]) != STELE_OK) w->wrong = "new";
    const int turns = w->transactions / PER_BULK;
    for (int i = 0; i < turns + UNDER_WAY && !w->wrong; i++) {
        const int at = i % UNDER_WAY;
        if (i >= UNDER_WAY) {
            if (stele_bulk_wait(b[at], -1, NULL) != STELE_OK) w->wrong = "wait";
            for (int j = 0; j < PER_BULK && !w->wrong; j++) {
                if (stele_bulk_status(b[at], j, NULL) != STELE_OK) w->wrong = "a call of a bulk failed";
                const char *v = stele_bulk_value(b[at], j, 0, NULL);
                char seen[32] = "";
                if (v) snprintf(seen, sizeof seen, "%s", v);
                took(w, &k[at], j, v ? seen : NULL, stele_bulk_value(b[at], j, 1, NULL));
            }
            stele_bulk_reset(b[at]);
        }
        if (i >= turns) continue;
        keep_pace(w);
        choose(w, &k[at], &seed);
        if (stele_bulk_add_columns(b[at], PER_BULK, (const void *const[]){k[at].from, k[at].to, k[at].value}, NULL) !=
                STELE_OK ||
            stele_bulk_submit(b[at]) != STELE_OK)
            w->wrong = "submit";
    }
    for (int i = 0; i < UNDER_WAY; i++) stele_bulk_free(b[i]);
    return finish(w, c);
}

/* Every table of the database is as it must be inside. */
static void verify(stele_db *db) {
    Err e = {0};
    for (int64_t i = 0; i < db->db->catalog.n_tables; i++)
        if (table_verify(db->db->catalog.tables[i], &e) != ST_OK) fail_msg("%s", e.message);
}

/* What else goes on: rows are renumbered, definitions change, bulks of others run. */
typedef struct Disturber {
    Worker w;
    _Atomic bool stop;
} Disturber;
static void *disturb(void *arg) {
    Disturber *d = arg;
    static const char *const what[] = {"vacuum kv",
                                       "begin; create table z(a int); insert into z values (1); commit",
                                       "drop table z",
                                       "analyze kv",
                                       "select count(*) from kv",
                                       "call bulk_call('look', 'select i from generate_series(0, 5) g(i)')",
                                       "begin; truncate kv; rollback"};
    stele_conn *c;
    if (stele_connect(d->w.db, &c) != STELE_OK) d->w.wrong = "connect";
    for (size_t i = 0; !d->w.wrong && !atomic_load(&d->stop); i++) {
        (void)exec(&d->w, c, what[i % (sizeof what / sizeof what[0])], NULL, NULL);
        nanosleep(&(struct timespec){.tv_nsec = 300000}, NULL);
    }
    stele_disconnect(c);
    return NULL;
}

typedef struct Version {
    int writer, next;
    int64_t value, replaced;
} Version; /* transaction, version of the same key; -1 */
typedef struct Edge {
    int from, to;
} Edge;
typedef struct Graph {
    int n, n_edges, cap;
    Edge *edges;
    const Commit *commits;
    int crossing; /* edges between calls from the pool and others */
} Graph;
static void add_edge(Graph *g, int from, int to) {
    if (from < 0 || to < 0 || from == to) return;
    g->crossing += g->commits[from].call != g->commits[to].call;
    if (g->n_edges == g->cap) {
        g->cap = g->cap ? g->cap * 2 : 1024;
        g->edges = realloc(g->edges, (size_t)g->cap * sizeof *g->edges);
        assert_non_null(g->edges);
    }
    g->edges[g->n_edges++] = (Edge){from, to};
}
/* Whether all nodes can be taken away one by one, each without edges to it. */
static bool acyclic(const Graph *g) {
    int *indegree = calloc((size_t)g->n + 1, sizeof *indegree), *queue = calloc((size_t)g->n + 1, sizeof *queue), n = 0,
        done = 0;
    int *first = calloc((size_t)g->n + 2, sizeof *first), *to = calloc((size_t)g->n_edges + 1, sizeof *to);
    assert_true(indegree && queue && first && to);
    for (int i = 0; i < g->n_edges; i++) indegree[g->edges[i].to]++, first[g->edges[i].from + 1]++;
    for (int i = 0; i < g->n; i++) first[i + 1] += first[i];
    int *at = calloc((size_t)g->n + 1, sizeof *at);
    assert_non_null(at);
    for (int i = 0; i < g->n_edges; i++) to[first[g->edges[i].from] + at[g->edges[i].from]++] = g->edges[i].to;
    for (int i = 0; i < g->n; i++)
        if (!indegree[i]) queue[n++] = i;
    for (; done < n; done++)
        for (int k = first[queue[done]]; k < first[queue[done] + 1]; k++)
            if (--indegree[to[k]] == 0) queue[n++] = to[k];
    free(indegree), free(queue), free(first), free(to), free(at);
    return n == g->n;
}
static int find_version(const Version *v, int n, int64_t value) {
    for (int i = 0; i < n; i++)
        if (v[i].value == value) return i;
    return -1;
}

/* NULL: serialisable. Else what is wrong with it. *crossing (NULL: nobody asks): edges between calls from the pool and
 * others. */
static const char *judge(const Commit *commits, int n, const int64_t last[KEYS], int *crossing) {
    Graph g = {.n = n, .commits = commits};
    const char *wrong = NULL;
    for (int key = 0; key < KEYS && !wrong; key++) {
        Version *v = calloc((size_t)n + 1, sizeof *v);
        int m = 0;
        assert_non_null(v);
        v[m++] = (Version){.writer = -1, .next = -1, .value = 0, .replaced = -1};
        for (int t = 0; t < n; t++)
            for (int i = 0; i < commits[t].n; i++)
                if (commits[t].ops[i].write && commits[t].ops[i].key == key)
                    v[m++] = (Version){t, -1, commits[t].ops[i].value, commits[t].ops[i].replaced};
        int newest = 0;
        for (int i = 1; i < m && !wrong; i++) {
            int before = find_version(v, m, v[i].replaced);
            if (before < 0) wrong = "a write replaced what nobody committed";
            else if (v[before].next >= 0) wrong = "two writes replaced the same version: one is lost";
            else v[before].next = i;
        }
        for (int steps = 0; v[newest].next >= 0 && steps < m; steps++) {
            add_edge(&g, v[newest].writer, v[v[newest].next].writer); /* ww */
            newest = v[newest].next;
        }
        if (!wrong && last && v[newest].value != last[key]) wrong = "the table does not hold the last version";
        for (int t = 0; t < n && !wrong; t++)
            for (int i = 0; i < commits[t].n && !wrong; i++) {
                const Op *op = &commits[t].ops[i];
                if (op->write || op->key != key) continue;
                int read = find_version(v, m, op->value);
                bool own = false; /* an earlier write of the same transaction to the key */
                for (int k = 0; k < i; k++) own |= commits[t].ops[k].write && commits[t].ops[k].key == key;
                if (read < 0 && own) continue;
                if (read < 0) wrong = "a value was read that nobody committed";
                else if (v[read].writer != t) {
                    add_edge(&g, v[read].writer, t);                                /* wr */
                    if (v[read].next >= 0) add_edge(&g, t, v[v[read].next].writer); /* rw */
                }
            }
        free(v);
    }
    if (!wrong && !acyclic(&g)) wrong = "the dependencies have a cycle";
    free(g.edges);
    if (crossing) *crossing = g.crossing;
    return wrong;
}

/* The judge itself: it must find what is wrong. */
static void judged(void **state) {
    (void)state;
    Commit ok[] = {{1, false, {{0, 1, 0, true}}}, {2, false, {{0, 1, 0, false}, {1, 2, 0, true}}}};
    assert_null(judge(ok, 2, NULL, NULL));
    Commit lost[] = {{1, false, {{0, 1, 0, true}}}, {1, false, {{0, 2, 0, true}}}};
    assert_non_null(judge(lost, 2, NULL, NULL));
    Commit skew[] = {{3, false, {{0, 0, 0, false}, {1, 0, 0, false}, {0, 1, 0, true}}},
                     {3, false, {{0, 0, 0, false}, {1, 0, 0, false}, {1, 2, 0, true}}}};
    assert_non_null(judge(skew, 2, NULL, NULL));
    Commit circular[] = {{2, false, {{0, 1, 0, true}, {1, 2, 0, false}}},
                         {2, false, {{1, 2, 0, true}, {0, 1, 0, false}}}};
    assert_non_null(judge(circular, 2, NULL, NULL));
    Commit aborted[] = {{1, false, {{0, 9, 0, false}}}};
    assert_non_null(judge(aborted, 1, NULL, NULL));
    Commit split[] = {{2, false, {{0, 1, 0, true}, {1, 2, 0, true}}}, {2, false, {{0, 1, 0, false}, {1, 0, 0, false}}}};
    assert_non_null(judge(split, 2, NULL, NULL));
}

typedef struct History {
    int writers, n, refused, saved, crossing;
    stele_pool_info pool;
    void *(*roles[WRITERS])(void *);
    int shares[WRITERS];
} History; /* shares: of the usual number of transactions */
static void record(History *h, const char *settings) {
    const char *env = getenv("STELE_TEST_TRANSACTIONS");
    int each = env ? atoi(env) : 400;
    stele_db *db;
    stele_conn *c;
    pthread_t threads[WRITERS];
    Worker w[WRITERS];
    _Atomic int progress[WRITERS] = {0};
    assert_int_equal(stele_open(NULL, &(stele_options){.threads = 2}, &db, NULL), STELE_OK);
    assert_int_equal(stele_connect(db, &c), STELE_OK);
    assert_int_equal(
        stele_exec(
            c,
            "create table kv(k int primary key, v bigint not null, prev bigint);"
            "insert into kv select i, 0, null from generate_series(0, 5) g(i);"
            "create procedure put(key int, value bigint, out replaced bigint) language plpgsql as $$ begin"
            "  select v into replaced from kv where k = key; update kv set prev = v, v = value where k = key; end $$;"
            "create procedure follow(a int, b int, value bigint, out seen bigint, out replaced bigint) language "
            "plpgsql as $$ begin"
            "  select v into seen from kv where k = a; select v into replaced from kv where k = b; update kv set prev "
            "= v, v = value where k = b; end $$;"
            "create procedure look(key int, out seen bigint) language plpgsql as $$ begin select v into seen from kv "
            "where k = key; end $$;",
            NULL, NULL),
        STELE_OK);
    Disturber disturber = {.w = {.db = db}};
    pthread_t disturbing;
    assert_int_equal(pthread_create(&disturbing, NULL, disturb, &disturber), 0);
    for (int i = 0; i < h->writers; i++) {
        const int mine = h->shares[i] * each;
        w[i] = (Worker){.db = db,
                        .id = i,
                        .transactions = mine,
                        .settings = settings,
                        .progress = progress,
                        .writers = h->writers,
                        .commits = calloc((size_t)mine + 1, sizeof(Commit))};
        assert_non_null(w[i].commits);
        assert_int_equal(pthread_create(&threads[i], NULL, h->roles[i], &w[i]), 0);
    }
    for (int i = 0; i < h->writers; i++) {
        pthread_join(threads[i], NULL);
        h->refused += w[i].refused;
        h->saved += w[i].saved;
        h->n += w[i].n_commits;
    }
    atomic_store(&disturber.stop, true);
    pthread_join(disturbing, NULL);
    if (disturber.w.wrong) fail_msg("beside them: %s %s", disturber.w.wrong, disturber.w.why);
    for (int i = 0; i < h->writers; i++)
        if (w[i].wrong) fail_msg("thread %d: %s %s", i, w[i].wrong, w[i].why);
    stele_pool_get_info(c, false, &h->pool);
    Commit *all = calloc((size_t)h->n + 1, sizeof *all);
    assert_non_null(all);
    int n = 0;
    for (int i = 0; i < h->writers; i++) {
        memcpy(all + n, w[i].commits, (size_t)w[i].n_commits * sizeof *all);
        n += w[i].n_commits;
        free(w[i].commits);
    }
    Commit end = {.n = 0};
    int64_t last[KEYS] = {0};
    assert_int_equal(stele_exec(c, "select k, v from kv", take_read, &end), STELE_OK);
    verify(db); /* behind a statement: what bulks have changed in place, the tables' bounds and counts follow then */
    for (int i = 0; i < end.n; i++) last[end.ops[i].key] = end.ops[i].value;
    const char *wrong = judge(all, n, last, &h->crossing);
    print_message("%d transactions committed, %d refused, %d saved by ROLLBACK TO; %lld calls in %lld bulks, %d "
                  "dependencies between calls and others\n",
                  n, h->refused, h->saved, (long long)h->pool.calls, (long long)h->pool.bulks, h->crossing);
    if (wrong) fail_msg("%s", wrong);
    free(all);
    stele_disconnect(c);
    assert_int_equal(stele_close(db, NULL), STELE_OK);
}
static void histories(void **state) {
    (void)state;
    History h = {.writers = THREADS, .roles = {work, work, work, work}, .shares = {1, 1, 1, 1}};
    record(&h, NULL);
    assert_true(h.refused > 0); /* they did meet */
}
static void histories_on_versions(void **state) { /* transactions change forks */
    (void)state;
    History h = {.writers = THREADS, .roles = {work, work, work, work}, .shares = {1, 1, 1, 1}};
    record(&h, "set snapshot = 'version'");
    assert_true(h.refused > 0);
}
/* Bulks of several calls, calls of several connections that form bulks, and transactions, on the same rows at the same
 * time. */
static void histories_with_bulks(void **state) {
    (void)state;
    static const char *const ways[] = {"set bulk_strategy = 'kset'",
                                       "set bulk_strategy = 'tpl'",
                                       "set bulk_strategy = 'part'",
                                       "set bulk_order = 'any'",
                                       "set bulk_strategy = 'serial'",
                                       "set executor = 'compiled'; set device = 'cpu'; set device_wait = on; set "
                                       "bulk_copies = on; set bulk_release = 'statement'",
                                       "set executor = 'compiled'; set device = 'cpu'; set device_wait = on; set "
                                       "bulk_copies = on; set bulk_strategy = 'part'"};
    for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
        History h = {.writers = 6,
                     .roles = {work, work, bulks_only, bulks_only, call_only, call_only},
                     .shares = {1, 1, 8, 8, 1, 1}};
        record(&h, ways[i]);
        assert_true(h.refused > 0);
        assert_true(h.pool.largest >= PER_BULK);
        assert_true(h.crossing > h.n / 10);
    }
}

/* ---- changes taken out and put back ------------------------------------------------------------------------ */
static void must(stele_conn *c, const char *sql, Cells *out) {
    if (out) out->n = 0, out->text[0] = 0;
    if (stele_exec(c, sql, out ? add_row : NULL, out) == STELE_OK) return;
    stele_error_info e;
    stele_error(c, &e);
    fail_msg("%s: %s %s", sql, e.sqlstate, e.message);
}
/* A change of the row with a key of one parity, or of a text that says whose it is. */
static void random_change(char *sql, size_t size, unsigned *seed, int odd, int *fresh) {
    int k = rand_r(seed) % 300 * 2 + odd, x = rand_r(seed) % 1000;
    switch (rand_r(seed) % 8) {
    case 0: snprintf(sql, size, "update r set a = %d where id = %d", x, k); break;
    case 1: snprintf(sql, size, "update r set s = 'text %d of some length', a = a + 1 where id = %d", x % 40, k); break;
    case 2: snprintf(sql, size, "update r set s = null, d = 'd%d' where id = %d", x, k); break;
    case 3: snprintf(sql, size, "delete from r where id = %d", k); break;
    case 4:
        snprintf(sql, size, "insert into r values (%d, %d, 'new %d', null) on conflict (id) do nothing", k, x, x % 7);
        break;
    case 5: snprintf(sql, size, "insert into r values (%d, %d, null, 'x')", 10000 + 2 * ++*fresh + odd, x); break;
    case 6: snprintf(sql, size, "update r set id = %d where id = %d", 20000 + 2 * ++*fresh + odd, k); break;
    default:
        snprintf(sql, size, "update r set a = a * 2 %% 1000, d = null where id = %d",
                 10000 + 2 * (x % (*fresh + 1)) + odd);
    }
}
/* One connection's transaction and another's statements, which change other rows, in turns; a second database does the
 * same with the transaction at its end. */
static void change_beside(const char *settings) {
    enum { ROUNDS = 40, STATEMENTS = 30, SQL = 160 };
    stele_db *db[2];
    stele_conn *mine, *other, *model;
    char pending[STATEMENTS][SQL];
    Cells got, want;
    unsigned seed = 11;
    int fresh = 0, committed = 0;
    for (int i = 0; i < 2; i++)
        assert_int_equal(stele_open(NULL, &(stele_options){.threads = 1}, &db[i], NULL), STELE_OK);
    assert_int_equal(stele_connect(db[0], &mine), STELE_OK);
    assert_int_equal(stele_connect(db[0], &other), STELE_OK);
    assert_int_equal(stele_connect(db[1], &model), STELE_OK);
    static const char *const make = "create table r(id int primary key, a int, s text, d varchar(20)); insert into r "
                                    "select i, i, 'text ' || i % 40, 'd' || i from generate_series(0, 599) g(i)";
    must(mine, make, NULL);
    must(model, make, NULL);
    must(mine, settings, NULL);
    for (int round = 0; round < ROUNDS; round++) {
        int n = 0;
        bool refused = false;
        if (round % 5 == 0) must(mine, "vacuum r", NULL), must(model, "vacuum r", NULL);
        must(mine, "begin", NULL);
        for (int i = 0; i < STATEMENTS && !refused; i++) {
            char sql[SQL];
            bool ours = rand_r(&seed) % 3 != 0;
            random_change(sql, sizeof sql, &seed, ours, &fresh);
            if (!ours) {
                must(other, sql, NULL);
                must(model, sql, NULL);
            } else if (strstr(sql, "conflict")) { /* reads the table: changes of others doom it */
                continue;
            } else {
                must(mine, sql, NULL);
                memcpy(pending[n++], sql, sizeof sql);
            }
            if (i % 10 == 9) verify(db[0]);
        }
        must(other, "select count(*), sum(a), count(s), count(distinct s), count(d), sum(id) from r", &got);
        must(model, "select count(*), sum(a), count(s), count(distinct s), count(d), sum(id) from r", &want);
        assert_string_equal(got.text, want.text); /* nothing of the open transaction is seen */
        if (rand_r(&seed) % 4 == 0) {
            must(mine, "rollback", NULL);
        } else {
            must(mine, "commit", NULL);
            for (int i = 0; i < n; i++) must(model, pending[i], NULL);
            committed++;
        }
        must(other,
             "select md5(string_agg(id || ':' || coalesce(a::text, '-') || ':' || coalesce(s, '-') || ':' || "
             "coalesce(d, '-'), ' ' order by id)) from r",
             &got);
        must(model,
             "select md5(string_agg(id || ':' || coalesce(a::text, '-') || ':' || coalesce(s, '-') || ':' || "
             "coalesce(d, '-'), ' ' order by id)) from r",
             &want);
        assert_string_equal(got.text, want.text);
        verify(db[0]);
    }
    assert_true(committed > ROUNDS / 2);
    stele_disconnect(mine);
    stele_disconnect(other);
    stele_disconnect(model);
    for (int i = 0; i < 2; i++) assert_int_equal(stele_close(db[i], NULL), STELE_OK);
}

static void out_and_back(void **state) {
    (void)state;
    change_beside("set snapshot = auto");
}
static void applied_at_commit(void **state) { /* from forks, while the table goes on beside them */
    (void)state;
    change_beside("set snapshot = version");
}

/* Memory runs out while changes are taken out (0), put back (1), or committed beside another transaction and an image
 * (2): the transaction fails, or nothing happened to it. In forks they are neither taken out nor put back. */
static void run_out_of_memory(const char *settings, int least) {
    stele_db *db;
    stele_conn *c, *other;
    Cells got;
    stele_error_info e;
    int failed = 0;
    int64_t sum = 0;
    assert_int_equal(stele_open(NULL, &(stele_options){.threads = 1}, &db, NULL), STELE_OK);
    assert_int_equal(stele_connect(db, &c), STELE_OK);
    assert_int_equal(stele_connect(db, &other), STELE_OK);
    must(c,
         "create table r(id int primary key, a int, s text); insert into r select i, 0, 'text ' || i from "
         "generate_series(1, 50) g(i);"
         "create procedure look(k int, out oa int) language plpgsql as $$ begin select a into oa from r where id = k; "
         "end $$",
         NULL);
    must(c, settings, NULL);
    for (int where = 0; where < 3; where++)
        for (int n = 1; n < 100; n++) {
            must(other, "call bulk_call('look', 'select i from generate_series(1, 3) g(i)')", NULL); /* an image */
            must(c,
                 "begin; update r set a = a + 1, s = 'changed to something longer than before' where id = 7; insert "
                 "into r values (1000, 5, 'new'); delete from r where id = 1000",
                 NULL);
            if (where == 0) mem_fail_at(n);
            bool ok = stele_exec(other, "select count(*) from r where id = 3", NULL, NULL) == STELE_OK;
            if (where == 1) mem_fail_at(n);
            ok = stele_exec(c, "select 1", NULL, NULL) == STELE_OK;
            if (ok && where == 2) mem_fail_at(n);
            ok = ok && stele_exec(c, "commit", NULL, NULL) == STELE_OK;
            bool ran_out = mem_fail_at(0) <= 0;
            if (!ok) {
                stele_error(c, &e);
                if (strcmp(e.sqlstate, "53200") != 0 && strcmp(e.sqlstate, "40001") != 0)
                    fail_msg("where %d, step %d: %s %s", where, n, e.sqlstate, e.message);
                assert_true(ran_out);
                failed++;
            }
            if (stele_transaction_state(c) != 'I') must(c, "rollback", NULL);
            sum += ok;
            must(other, "call bulk_call('look', 'select 7')", &got);
            assert_int_equal(atoll(strrchr(got.text, ',') + 1), sum);
            must(other, "select sum(a), count(*) from r", &got);
            assert_int_equal(atoll(got.text), sum);
            assert_string_equal(strchr(got.text, ','), ",50");
            verify(db);
        }
    assert_true(failed > least);
    stele_disconnect(c);
    stele_disconnect(other);
    assert_int_equal(stele_close(db, NULL), STELE_OK);
}
static void out_of_memory(void **state) {
    (void)state;
    run_out_of_memory("set snapshot = auto", 20);
}
static void forks_without_memory(void **state) {
    (void)state;
    run_out_of_memory("set snapshot = version", 20);
}

/* Memory runs out while a statement that is to wait gives up the lock: it says so, and does not wait with the lock. */
static void waiting_without_memory(void **state) {
    (void)state;
    stele_db *db;
    stele_conn *c, *holder;
    stele_error_info e;
    int refused = 0;
    assert_int_equal(stele_open(NULL, &(stele_options){.threads = 1}, &db, NULL), STELE_OK);
    assert_int_equal(stele_connect(db, &c), STELE_OK);
    assert_int_equal(stele_connect(db, &holder), STELE_OK);
    must(c, "set default_transaction_isolation = 'read committed'; set lock_timeout = '1ms'", NULL);
    must(c, "create table h(a int); create table r(id int primary key, a int); insert into r values (1, 1), (2, 2)",
         NULL);
    must(holder, "begin isolation level read committed; update r set a = 5 where id = 1", NULL);
    for (bool ran_out = true; ran_out;) {
        must(c, "truncate h", NULL);
        must(c, "begin; insert into h values (1); insert into h values (2)", NULL);
        mem_fail_at(refused + 1);
        assert_int_not_equal(stele_exec(c, "update r set a = 6 where id = 1", NULL, NULL), STELE_OK);
        ran_out = mem_fail_at(0) <= 0;
        stele_error(c, &e);
        assert_string_equal(e.sqlstate, ran_out ? "53200" : "55P03");
        refused += ran_out;
        must(c, "rollback", NULL);
    }
    assert_true(refused > 5);
    must(holder, "commit", NULL);
    stele_disconnect(c);
    stele_disconnect(holder);
    assert_int_equal(stele_close(db, NULL), STELE_OK);
}

/* Memory runs out while a change is shown in cells that a version shares: that keeps what it has. */
static void shown_without_memory(const char *make, const char *change) {
    stele_db *db;
    stele_conn *c, *old;
    Cells before, got;
    stele_error_info e;
    int failed = 0;
    assert_int_equal(stele_open(NULL, &(stele_options){.threads = 1}, &db, NULL), STELE_OK);
    assert_int_equal(stele_connect(db, &c), STELE_OK);
    assert_int_equal(stele_connect(db, &old), STELE_OK);
    must(c, "set default_transaction_isolation = 'read committed'", NULL);
    for (bool ran_out = true; ran_out; failed += ran_out) {
        must(c, make, NULL);
        must(c, "begin", NULL);
        must(c, change, NULL);
        must(old, "begin; select sum(v) from r", &before);
        mem_fail_at(failed + 1);
        const bool ok = stele_exec(c, "commit", NULL, NULL) == STELE_OK;
        ran_out = mem_fail_at(0) <= 0;
        assert_true(ok || ran_out);
        if (stele_transaction_state(c) != 'I') must(c, "rollback", NULL); /* COMMIT was not read */
        got.n = 0;
        if (stele_exec(old, "select sum(v) from r", add_row, &got) == STELE_OK) {
            assert_string_equal(got.text, before.text);
        } else { /* the commit could not be kept for it */
            stele_error(old, &e);
            assert_true(ran_out && strcmp(e.sqlstate, "72000") == 0);
        }
        must(old, "rollback", NULL);
        verify(db);
    }
    assert_true(failed > 2);
    stele_disconnect(c);
    stele_disconnect(old);
    assert_int_equal(stele_close(db, NULL), STELE_OK);
}
static void versions_without_memory(void **state) {
    (void)state;
    shown_without_memory("drop table if exists r; create table r(id int primary key, v int); insert into r select i, 0 "
                         "from generate_series(1, 50) g(i)",
                         "update r set v = v + 1 where id = 7; update r set v = v + 1 where id = 8");
    shown_without_memory("drop table if exists r; create table r(id int primary key, v numeric(30)); insert into r "
                         "select i, 0 from generate_series(1, 50) g(i); vacuum r",
                         "update r set v = 1000000000000000000000 where id = 7");
}

/* Memory runs out while a commit is kept for an older snapshot (0, a bulk: 1), or the older snapshot is looked at (2),
 * or validated (3): it is lost, or what it was; the commit stands or never was. */
static void snapshots_without_memory(void **state) {
    (void)state;
    stele_db *db;
    stele_conn *c, *old;
    Cells got;
    stele_error_info e;
    int failed = 0, lost = 0;
    int64_t sum = 0;
    assert_int_equal(stele_open(NULL, &(stele_options){.threads = 1}, &db, NULL), STELE_OK);
    assert_int_equal(stele_connect(db, &c), STELE_OK);
    assert_int_equal(stele_connect(db, &old), STELE_OK);
    must(c,
         "create table r(id int primary key, a int, s text); insert into r select i, 0, 'text ' || i from "
         "generate_series(1, 50) g(i);"
         "create procedure plus(k int) language plpgsql as $$ begin update r set a = a + 1 where id = k; end $$",
         NULL);
    for (int where = 0; where < 4; where++)
        for (int n = 1; n < 120; n++) {
            char before[64], sql[64] = "update r set a = a + 1 where id = 7";
            if (where == 1) snprintf(sql, sizeof sql, "call bulk_call('plus', 'select 7')");
            snprintf(before, sizeof before, "%lld", (long long)sum);
            must(old, "begin", NULL);
            must(old, "select sum(a) from r", &got);
            assert_string_equal(got.text, before);
            if (where == 3) must(old, "savepoint x; insert into r values (1000, 1000, 'new')", NULL);
            if (where < 2) mem_fail_at(n);
            bool ok = stele_exec(c, sql, NULL, NULL) == STELE_OK;
            if (!ok) stele_error(c, &e);
            if (where == 1)
                (void)stele_exec(c, "select 1", NULL, NULL); /* brings it into the tables, or leaves it in its image */
            bool ran_out = where < 2 && mem_fail_at(0) <= 0;
            if (!ok) {
                assert_true(ran_out);
                if (strcmp(e.sqlstate, "53200") != 0)
                    fail_msg("where %d, step %d: %s %s", where, n, e.sqlstate, e.message);
                failed++;
            }
            sum += ok;
            if (where >= 2) mem_fail_at(n);
            if (where == 3) ok = stele_exec(old, "commit", NULL, NULL) == STELE_OK;
            else ok = (got.n = 0, stele_exec(old, "select sum(a) from r", add_row, &got)) == STELE_OK;
            if (where >= 2) ran_out = mem_fail_at(0) <= 0;
            if (ok) {
                assert_true(where != 3); /* it has read what the other changed */
                assert_string_equal(got.text, before);
            } else {
                stele_error(old, &e);
                assert_true(ran_out || where == 3);
                if (strcmp(e.sqlstate, "53200") != 0 && strcmp(e.sqlstate, where < 2 ? "72000" : "40001") != 0)
                    fail_msg("where %d, step %d: %s %s", where, n, e.sqlstate, e.message);
                lost += ran_out;
            }
            if (stele_transaction_state(old) != 'I') must(old, "rollback", NULL);
            must(c, "select sum(a), count(*) from r", &got);
            assert_int_equal(atoll(got.text), sum);
            assert_string_equal(strchr(got.text, ','), ",50");
            verify(db);
        }
    assert_true(failed > 3 && lost > 20);
    stele_disconnect(c);
    stele_disconnect(old);
    assert_int_equal(stele_close(db, NULL), STELE_OK);
}

/* ---- bulks beside statements ------------------------------------------------------------------------------------ */
/* What bulks see after any changes by statements and transactions is what queries see. */
static void bulks_beside(void **state) {
    (void)state;
    enum { ROUNDS = 150, SQL = 160 };
    stele_db *db;
    stele_conn *c, *other;
    Cells got, want;
    unsigned seed = 5;
    int fresh = 0;
    assert_int_equal(stele_open(NULL, &(stele_options){.threads = 1}, &db, NULL), STELE_OK);
    assert_int_equal(stele_connect(db, &c), STELE_OK);
    assert_int_equal(stele_connect(db, &other), STELE_OK);
    must(c,
         "create table r(id int primary key, a int, s text, d varchar(20), g int default 3);"
         "insert into r select i, i, 'text ' || i % 40, 'd' || i, i % 7 from generate_series(0, 599) g(i); vacuum r;"
         "create procedure look(k int, out oa int, out os text, out od varchar, out og int) language plpgsql as $$ "
         "begin select a, s, d, g into oa, os, od, og from r where id = k; end $$;"
         "create procedure change(k int, v int, t text) language plpgsql as $$ begin update r set a = a + v, s = t "
         "where id = k; end $$;"
         "create procedure members(x int, out n bigint, out total bigint) language plpgsql as $$ begin select "
         "count(*), sum(a) into n, total from r where g = x; end $$;"
         "create procedure come(k int, v int) language plpgsql as $$ begin insert into r values (k, v, 'came', null, "
         "5); end $$;"
         "create procedure leave(k int) language plpgsql as $$ begin delete from r where id = k; end $$",
         NULL);
    for (int round = 0; round < ROUNDS; round++) {
        char sql[SQL];
        bool block = rand_r(&seed) % 2, rolled_back = rand_r(&seed) % 4 == 0;
        if (round % 40 == 39) must(c, "vacuum r", NULL);
        if (block) must(c, "begin", NULL);
        for (int i = rand_r(&seed) % 5; i >= 0; i--) {
            random_change(sql, sizeof sql, &seed, 1, &fresh);
            if (strstr(sql, "insert"))
                snprintf(sql, sizeof sql, "insert into r values (%d, %d, 'new', null, %d)", 50000 + 2 * ++fresh + 1, i,
                         rand_r(&seed) % 7);
            if (rand_r(&seed) % 12 == 0)
                snprintf(sql, sizeof sql, "update r set g = %d where id = %d", rand_r(&seed) % 7,
                         2 * (rand_r(&seed) % 300) + 1);
            must(c, sql, NULL);
            if (block && rand_r(&seed) % 3 == 0)
                must(other,
                     "call bulk_call('change', 'select i * 2, 1, ''by a bulk'' from generate_series(1, 9) g(i)')",
                     NULL);
        }
        if (block) must(c, rolled_back ? "rollback" : "commit", NULL);
        switch (rand_r(&seed) % 4) {
        case 0:
            must(other, "call bulk_call('change', 'select i * 3, 7, ''again'' from generate_series(1, 50) g(i)')",
                 NULL);
            break;
        case 1:
            snprintf(sql, sizeof sql, "call bulk_call('come', 'select %d + 2 * i, i from generate_series(1, 3) g(i)')",
                     100000 + 10 * round);
            must(other, sql, NULL);
            break;
        case 2:
            snprintf(sql, sizeof sql, "call bulk_call('leave', 'select %d + i from generate_series(1, 3) g(i)')",
                     rand_r(&seed) % 600);
            must(other, sql, NULL);
            break;
        default: break;
        }
        got.n = want.n = 0;
        stele_bulk *b;
        assert_int_equal(stele_bulk_new(other, "look", &b), STELE_OK);
        int32_t ids[8];
        for (int i = 0; i < 8; i++) ids[i] = i < 5 ? rand_r(&seed) % 600 : 50000 + rand_r(&seed) % (2 * fresh + 2);
        assert_int_equal(stele_bulk_add_columns(b, 8, (const void *const[]){ids}, NULL), STELE_OK);
        assert_int_equal(stele_bulk_run(b), STELE_OK);
        for (int i = 0; i < 8; i++) {
            got.n = 0;
            for (int k = 0; k < 4; k++) {
                const char *v = stele_bulk_value(b, i, k, NULL);
                got.n +=
                    (size_t)snprintf(got.text + got.n, sizeof got.text - got.n, "%s%s", k ? "," : "", v ? v : "NULL");
            }
            snprintf(sql, sizeof sql, "select a, s, d, g from r where id = %d", ids[i]);
            must(c, sql, &want);
            if (!want.n) snprintf(want.text, sizeof want.text, "NULL,NULL,NULL,NULL");
            if (strcmp(got.text, want.text) != 0)
                fail_msg("round %d, row %d: the bulk saw %s, a query %s", round, ids[i], got.text, want.text);
        }
        stele_bulk_free(b);
        must(other, "call bulk_call('members', 'select i from generate_series(0, 6) g(i)')", &got);
        must(c,
             "select x.g + 1, null, null, null, null, null, null, count(r.id), sum(r.a) from generate_series(0, 6) "
             "x(g) left join "
             "r on r.g = x.g group by x.g order by x.g",
             &want);
        if (strcmp(got.text, want.text) != 0) fail_msg("round %d: groups: %s, not %s", round, got.text, want.text);
        verify(db);
    }
    stele_disconnect(c);
    stele_disconnect(other);
    assert_int_equal(stele_close(db, NULL), STELE_OK);
}

/* ---- phantoms ------------------------------------------------------------------------------------------------ */
enum { GROUPS = 3, PLACES = 4 };
static void *take_places(void *arg) {
    Worker *w = arg;
    stele_conn *c;
    unsigned seed = (unsigned)w->id + 99;
    if (stele_connect(w->db, &c) != STELE_OK) w->wrong = "connect";
    for (int i = 0; !w->wrong && i < w->transactions; i++) {
        char sql[128];
        Cells n;
        int g = rand_r(&seed) % GROUPS;
        n.n = 0;
        snprintf(sql, sizeof sql, "select count(*) from place where g = %d", g);
        bool ok = exec(w, c, "begin", NULL, NULL) && exec(w, c, sql, add_row, &n);
        if (ok && atoi(n.text) > PLACES) w->wrong = "more than there are places";
        if (ok && atoi(n.text) < PLACES)
            snprintf(sql, sizeof sql, "insert into place values (%d, %d)", w->id + THREADS * i, g);
        else snprintf(sql, sizeof sql, "delete from place where g = %d and id %% 2 = %d", g, rand_r(&seed) % 2);
        sched_yield();
        ok = ok && exec(w, c, sql, NULL, NULL) && exec(w, c, "commit", NULL, NULL);
        w->refused += !ok;
        w->n_commits += ok;
        if (!ok && stele_transaction_state(c) != 'I') (void)stele_exec(c, "rollback", NULL, NULL);
    }
    stele_disconnect(c);
    return NULL;
}
/* A limit that every transaction looks at before it inserts holds at all times. */
static void phantoms(void **state) {
    (void)state;
    stele_db *db;
    stele_conn *c;
    pthread_t threads[THREADS];
    Worker w[THREADS];
    int commits = 0;
    assert_int_equal(stele_open(NULL, &(stele_options){.threads = 2}, &db, NULL), STELE_OK);
    assert_int_equal(stele_connect(db, &c), STELE_OK);
    must(c, "create table place(id int primary key, g int not null)", NULL);
    for (int i = 0; i < THREADS; i++) {
        w[i] = (Worker){.db = db, .id = i, .transactions = 200};
        assert_int_equal(pthread_create(&threads[i], NULL, take_places, &w[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++) {
        if (w[i].wrong) fail_msg("thread %d: %s %s", i, w[i].wrong, w[i].why);
        commits += w[i].n_commits;
    }
    Cells left;
    must(c, "select coalesce(max(n), 0) from (select count(*) n from place group by g) x", &left);
    assert_true(atoi(left.text) <= PLACES);
    assert_true(commits > 0);
    stele_disconnect(c);
    assert_int_equal(stele_close(db, NULL), STELE_OK);
}

int main(int argc, char **argv) { /* a pattern of tests, else all */
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    const struct CMUnitTest tests[] = {cmocka_unit_test(hermitage),
                                       cmocka_unit_test(read_committed),
                                       cmocka_unit_test(more),
                                       cmocka_unit_test(snapshots),
                                       cmocka_unit_test(savepoints),
                                       cmocka_unit_test(forks),
                                       cmocka_unit_test(judged),
                                       cmocka_unit_test(histories),
                                       cmocka_unit_test(histories_with_bulks),
                                       cmocka_unit_test(histories_on_versions),
                                       cmocka_unit_test(out_and_back),
                                       cmocka_unit_test(applied_at_commit),
                                       cmocka_unit_test(out_of_memory),
                                       cmocka_unit_test(forks_without_memory),
                                       cmocka_unit_test(waiting_without_memory),
                                       cmocka_unit_test(versions_without_memory),
                                       cmocka_unit_test(snapshots_without_memory),
                                       cmocka_unit_test(bulks_beside),
                                       cmocka_unit_test(phantoms)};
    return cmocka_run_group_tests_name("isolation", tests, NULL, NULL);
}
