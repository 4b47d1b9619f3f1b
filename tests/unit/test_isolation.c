/* test_isolation.c - transactions of several connections: scripts of interleaved statements (tests/isolation), and histories of random transactions, whose
 * dependency graphs must have no cycle.
 *
 * A script is a list of tests, each on a database of its own with test(id int primary key, value int) = (1, 10), (2, 20):
 *
 *     test NAME
 *     T1 STATEMENT         on connection 1 .. 9 ("T1 disconnect" closes it); nobody waits for another transaction, so that one thread does it all
 *       1,10 2,20          its rows; "-": none; "! 40001": it fails so. Without such a line it must succeed
 *
 * The histories: every write gives its key a value that was never used before and says which value it replaces. So the order of a key's versions is known, and who read
 * which. Edges between committed transactions: from a version's writer to that of the next one, to its readers, and from its readers to the next one's writer. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "stele/stele.h"
#include "unit.h"

/* ---- scripts ------------------------------------------------------------------------------------------ */
enum { CONNECTIONS = 10, CELLS = 4096 };
typedef struct Script {
    stele_db *db;
    stele_conn *conns[CONNECTIONS];
    char *name;
    int failures;
} Script;
typedef struct Cells { char text[CELLS]; size_t n; } Cells;
static bool add_row(void *ctx, int64_t n, const char *const *v, const char *const *names) {
    Cells *t = ctx;
    (void)names;
    for (int64_t i = 0; i < n; i++) t->n += (size_t)snprintf(t->text + t->n, sizeof t->text - t->n, "%s%s", i ? "," : t->n ? " " : "", v[i] ? v[i] : "NULL");
    return t->n > sizeof t->text / 2;
}
static void leave(Script *x) {
    for (int i = 0; i < CONNECTIONS; i++) stele_disconnect(x->conns[i]);
    memset(x->conns, 0, sizeof x->conns);
    if (x->db) assert_int_equal(stele_close(x->db, NULL), STELE_OK);
    x->db = NULL;
}
static stele_conn *connection(Script *x, int k) {
    if (!x->conns[k]) assert_int_equal(stele_connect(x->db, &x->conns[k]), STELE_OK);
    return x->conns[k];
}
static void step(Script *x, const char *file, int line, int k, const char *sql, const char *expected) {
    Cells got = {.n = 0};
    char outcome[CELLS + 64];
    stele_error_info e;
    if (strcmp(sql, "disconnect") == 0) {
        stele_disconnect(x->conns[k]);
        x->conns[k] = NULL;
        return;
    }
    stele_conn *c = connection(x, k);
    if (stele_exec(c, sql, add_row, &got) == STELE_OK) {
        snprintf(outcome, sizeof outcome, "%s", got.n ? got.text : "-");
        if (!expected) return;
    } else {
        stele_error(c, &e);
        snprintf(outcome, sizeof outcome, "! %s", e.sqlstate);
        if (expected && strcmp(outcome, expected) == 0 && strcmp(e.sqlstate, "40001") == 0) assert_non_null(strstr(e.message, "could not serialize access"));
    }
    if (expected && strcmp(outcome, expected) == 0) return;
    print_error("%s:%d: %s: T%d %s: %s (%s), not %s\n", file, line, x->name, k, sql, outcome, outcome[0] == '!' ? e.message : "", expected ? expected : "success");
    x->failures++;
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
        if (strncmp(t, "test ", 5) == 0) {
            leave(&x);
            free(x.name);
            x.name = strdup(t + 5);
            tests++;
            assert_int_equal(stele_open(NULL, &(stele_options){.threads = 1}, &x.db, NULL), STELE_OK);
            assert_int_equal(stele_exec(connection(&x, 0), "create table test(id int primary key, value int); insert into test values (1, 10), (2, 20)", NULL, NULL), STELE_OK);
        } else if (t[0] == 'T') {
            char expected[1024] = "";
            if (strncmp(next, "  ", 2) == 0) snprintf(expected, sizeof expected, "%.*s", (int)strcspn(next + 2, "\n"), next + 2);
            assert_true(x.db && t[1] >= '1' && t[1] <= '9' && t[2] == ' ');
            step(&x, file, line, t[1] - '0', t + 3, expected[0] ? expected : NULL);
        }
    }
    leave(&x);
    free(x.name);
    fclose(f);
    assert_true(tests > 10);
    assert_int_equal(x.failures, 0);
}
static void hermitage(void **state) {
    (void)state;
    run_script("hermitage.iso");
}
static void more(void **state) {
    (void)state;
    run_script("more.iso");
}

/* ---- histories ------------------------------------------------------------------------------------------- */
enum { KEYS = 6, THREADS = 4, OPS_MAX = 24, MIX = 5 };
typedef struct Op { int key; int64_t value, replaced; bool write; } Op; /* replaced: of a write */
typedef struct Commit { int n; Op ops[OPS_MAX]; } Commit;
typedef struct Worker {
    stele_db *db;
    int id, transactions;
    int64_t next_value;
    int n_commits, refused;
    Commit *commits;
    const char *wrong;
    char why[256];
} Worker;

static bool exec(Worker *w, stele_conn *c, const char *sql, bool (*row)(void *, int64_t, const char *const *, const char *const *), void *ctx) {
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
        for (int i = t->n - 1; i >= 0; i--)
            if (t->ops[i].key == op.key && t->ops[i].value == op.value) return;
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
    int64_t replaced = -1, value = w->next_value++ * THREADS + w->id + 1;
    int key = rand_r(seed) % KEYS;
    snprintf(sql, sizeof sql, form, key, (long long)value);
    if (!exec(w, c, sql, take_replaced, &replaced)) return false;
    if (replaced < 0) w->wrong = "a row is gone";
    for (int i = 0; i < t->n; i++) /* of two writes of a transaction to a key only the last is seen by others: the chain goes from the first's predecessor to it */
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
    if (stele_connect(w->db, &c) != STELE_OK || stele_exec(c, "set bulk_interval = '200us'", NULL, NULL) != STELE_OK) w->wrong = "connect";
    while (!w->wrong && w->n_commits < w->transactions) {
        Commit *t = &w->commits[w->n_commits];
        t->n = 0;
        int kind = rand_r(&seed) % MIX;
        bool ok;
        if (kind == 0) { /* a single statement, or a call that joins a bulk */
            ok = write_one(w, c, t, &seed, rand_r(&seed) % 2 ? BY_UPDATE : BY_CALL);
        } else {
            ok = exec(w, c, "begin", NULL, NULL);
            for (int i = 1 + rand_r(&seed) % 4; ok && i > 0; i--) {
                ok = rand_r(&seed) % 2 ? read_some(w, c, t, &seed) : write_one(w, c, t, &seed, rand_r(&seed) % 3 ? BY_UPDATE : BY_CALL);
                if (rand_r(&seed) % 2) sched_yield();
            }
            if (ok && kind == 1) { /* nobody may ever see what it wrote */
                ok = exec(w, c, "rollback", NULL, NULL) && false;
            } else {
                ok = ok && exec(w, c, "commit", NULL, NULL);
                if (!ok && stele_transaction_state(c) != 'I') (void)stele_exec(c, "rollback", NULL, NULL);
                w->refused += !ok;
            }
        }
        if (ok && t->n > 0) w->n_commits++;
    }
    stele_disconnect(c);
    return NULL;
}

typedef struct Version { int writer, next; int64_t value, replaced; } Version; /* transaction, version of the same key; -1 */
typedef struct Edge { int from, to; } Edge;
typedef struct Graph {
    int n, n_edges, cap;
    Edge *edges;
} Graph;
static void add_edge(Graph *g, int from, int to) {
    if (from < 0 || to < 0 || from == to) return;
    if (g->n_edges == g->cap) {
        g->cap = g->cap ? g->cap * 2 : 1024;
        g->edges = realloc(g->edges, (size_t)g->cap * sizeof *g->edges);
        assert_non_null(g->edges);
    }
    g->edges[g->n_edges++] = (Edge){from, to};
}
/* Whether all nodes can be taken away one by one, each without edges to it. */
static bool acyclic(const Graph *g) {
    int *indegree = calloc((size_t)g->n + 1, sizeof *indegree), *queue = calloc((size_t)g->n + 1, sizeof *queue), n = 0, done = 0;
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

/* NULL: serialisable. Else what is wrong with it. */
static const char *judge(const Commit *commits, int n, const int64_t last[KEYS]) {
    Graph g = {.n = n};
    const char *wrong = NULL;
    for (int key = 0; key < KEYS && !wrong; key++) {
        Version *v = calloc((size_t)n + 1, sizeof *v);
        int m = 0;
        assert_non_null(v);
        v[m++] = (Version){.writer = -1, .next = -1, .value = 0, .replaced = -1};
        for (int t = 0; t < n; t++)
            for (int i = 0; i < commits[t].n; i++)
                if (commits[t].ops[i].write && commits[t].ops[i].key == key) v[m++] = (Version){t, -1, commits[t].ops[i].value, commits[t].ops[i].replaced};
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
                    add_edge(&g, v[read].writer, t); /* wr */
                    if (v[read].next >= 0) add_edge(&g, t, v[v[read].next].writer); /* rw */
                }
            }
        free(v);
    }
    if (!wrong && !acyclic(&g)) wrong = "the dependencies have a cycle";
    free(g.edges);
    return wrong;
}

/* The judge itself: it must find what is wrong. */
static void judged(void **state) {
    (void)state;
    Commit ok[] = {{1, {{0, 1, 0, true}}}, {2, {{0, 1, 0, false}, {1, 2, 0, true}}}};
    assert_null(judge(ok, 2, NULL));
    Commit lost[] = {{1, {{0, 1, 0, true}}}, {1, {{0, 2, 0, true}}}};
    assert_non_null(judge(lost, 2, NULL));
    Commit skew[] = {{3, {{0, 0, 0, false}, {1, 0, 0, false}, {0, 1, 0, true}}}, {3, {{0, 0, 0, false}, {1, 0, 0, false}, {1, 2, 0, true}}}};
    assert_non_null(judge(skew, 2, NULL));
    Commit circular[] = {{2, {{0, 1, 0, true}, {1, 2, 0, false}}}, {2, {{1, 2, 0, true}, {0, 1, 0, false}}}};
    assert_non_null(judge(circular, 2, NULL));
    Commit aborted[] = {{1, {{0, 9, 0, false}}}};
    assert_non_null(judge(aborted, 1, NULL));
    Commit split[] = {{2, {{0, 1, 0, true}, {1, 2, 0, true}}}, {2, {{0, 1, 0, false}, {1, 0, 0, false}}}};
    assert_non_null(judge(split, 2, NULL));
}

static void histories(void **state) {
    (void)state;
    const char *env = getenv("STELE_TEST_TRANSACTIONS");
    int each = env ? atoi(env) : 400;
    stele_db *db;
    stele_conn *c;
    pthread_t threads[THREADS];
    Worker w[THREADS];
    assert_int_equal(stele_open(NULL, &(stele_options){.threads = 2}, &db, NULL), STELE_OK);
    assert_int_equal(stele_connect(db, &c), STELE_OK);
    assert_int_equal(stele_exec(c, "create table kv(k int primary key, v bigint not null, prev bigint);"
                                   "insert into kv select i, 0, null from generate_series(0, 5) g(i);"
                                   "create procedure put(key int, value bigint, out replaced bigint) language plpgsql as $$ begin"
                                   "  select v into replaced from kv where k = key; update kv set prev = v, v = value where k = key; end $$;", NULL, NULL), STELE_OK);
    for (int i = 0; i < THREADS; i++) {
        w[i] = (Worker){.db = db, .id = i, .transactions = each, .commits = calloc((size_t)each + 1, sizeof(Commit))};
        assert_non_null(w[i].commits);
        assert_int_equal(pthread_create(&threads[i], NULL, work, &w[i]), 0);
    }
    int n = 0, refused = 0;
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        refused += w[i].refused;
        n += w[i].n_commits;
    }
    for (int i = 0; i < THREADS; i++)
        if (w[i].wrong) fail_msg("thread %d: %s %s", i, w[i].wrong, w[i].why);
    Commit *all = calloc((size_t)n + 1, sizeof *all);
    assert_non_null(all);
    n = 0;
    for (int i = 0; i < THREADS; i++) {
        memcpy(all + n, w[i].commits, (size_t)w[i].n_commits * sizeof *all);
        n += w[i].n_commits;
        free(w[i].commits);
    }
    Commit end = {.n = 0};
    int64_t last[KEYS] = {0};
    assert_int_equal(stele_exec(c, "select k, v from kv", take_read, &end), STELE_OK);
    for (int i = 0; i < end.n; i++) last[end.ops[i].key] = end.ops[i].value;
    print_message("%d transactions committed, %d refused\n", n, refused);
    const char *wrong = judge(all, n, last);
    if (wrong) fail_msg("%s", wrong);
    assert_true(refused > 0); /* they did meet */
    free(all);
    stele_disconnect(c);
    assert_int_equal(stele_close(db, NULL), STELE_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(hermitage), cmocka_unit_test(more), cmocka_unit_test(judged), cmocka_unit_test(histories)};
    return cmocka_run_group_tests_name("isolation", tests, NULL, NULL);
}
