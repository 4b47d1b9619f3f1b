/* test_recovery_time.c - recovery keeps recovery_target_seconds, at whatever moment the power is cut.
 *
 * What recovery takes is counted in the work that it has to do (redo_work) and not in seconds: a busy machine makes no
 * test fail. That work stands for time is a test of its own, of rates that are measured in one run.
 */
#include <unistd.h>

#include "base/log.h"
#include "db/checkpoint.h"
#include "db/redo.h"
#include "unit_durable.h"

static const char settings[] = "set auto_merge = off; set synchronous_commit = off";
static Disk *cut_off(Disk *d) {
    pthread_mutex_lock(&d->lock);
    Disk *left = disk_after_cut(d);
    pthread_mutex_unlock(&d->lock);
    return left;
}

/* ---- work and time ---- */
/* Statements, n times with another number each. */
typedef struct Shape {
    const char *name, *sql;
    int n;
} Shape;
static const Shape shapes[] = {
    {"short rows", "insert into t values (%d, 'x', 0)", 60000},
    {"long rows", "insert into t values (%d, repeat('long text ', 100), 0)", 40000},
    {"updates", "update t set g = g + 1 where id = -(%d %% 5000)", 60000},
    {"rows together", "insert into t select i + 1000 * %d, 'some text ' || i, i from generate_series(1, 1000) g(i)",
     600},
};
static double rate_of(const Shape *x) {
    Disk *d = disk_new(71);
    char sql[200];
    open_on(d, settings);
    api_run(conn, "create table t(id int primary key, s text, g int); insert into t select -i, 'row ' || i, 0 from "
                  "generate_series(0, 5000) g(i); checkpoint");
    for (int i = 0; i < x->n; i++) {
        snprintf(sql, sizeof sql, x->sql, i + 1);
        api_run(conn, sql);
    }
    api_run(conn, "set synchronous_commit = on; insert into t values (-10000, 'last', 0)");
    leave();
    Disk *left = cut_off(d);
    open_on(left, settings);
    const double rate = (double)atomic_load(&checkpoint_rates(db->db)->replay);
    leave();
    disk_free(left);
    disk_free(d);
    return rate;
}
static void work_is_time(void **state) {
    (void)state;
    const double most = 4; /* a busy machine included */
    double least = 1e18, greatest = 0;
    for (int i = 0; i < (int)(sizeof shapes / sizeof *shapes); i++) {
        const double rate = rate_of(&shapes[i]);
        print_message("%s: %.0f MB of work per second\n", shapes[i].name, rate / 1e6);
        least = MIN_OF(least, rate);
        greatest = MAX_OF(greatest, rate);
    }
    if (greatest > most * least) fail_msg("%.0f and %.0f MB per second", least / 1e6, greatest / 1e6);
}

/* ---- the target ---- */
enum { TARGET_S = 1, CUTS = 12 };
typedef struct Cuts {
    Disk *left[CUTS];
    int n;
    int64_t next;
} Cuts;
static void take_cut(void *ctx, Disk *d) {
    Cuts *c = ctx;
    if (c->n == CUTS || d->ops < c->next) return;
    c->next = d->ops + 1 + (int64_t)(disk_rnd(d) % 12);
    c->left[c->n++] = disk_after_cut(d);
}
/* Seconds that recovery would take, by what the database knows of itself. */
static double time_now(void) {
    double log;
    return checkpoint_recovery_time(db->db, &log);
}
/* Statements that come faster than a slow disk takes checkpoints. */
static double load(int64_t checkpoints) {
    double longest = 0;
    CheckpointInfo info;
    const int64_t until = clock_ns() + INT64_C(120000000000);
    checkpoint_info(db->db, &info);
    checkpoints += info.made;
    for (int i = 0;; i++) {
        char sql[200];
        snprintf(sql, sizeof sql, "update t set g = g + 1, s = 'text %d' where id between %d and %d", i, i % 200 * 100,
                 i % 200 * 100 + 99);
        api_run(conn, sql);
        longest = MAX_OF(longest, time_now());
        checkpoint_info(db->db, &info);
        if (info.made >= checkpoints) break;
        if (clock_ns() > until) fail_msg("%lld checkpoints were made", (long long)info.made);
    }
    return longest;
}
static void check_cut(Disk *left, double rate) {
    CheckpointInfo info;
    open_on(left, settings);
    checkpoint_info(db->db, &info);
    if ((double)info.replayed > 1.2 * TARGET_S * rate)
        fail_msg("%lld bytes of work are left, at %.0f per second", (long long)info.replayed, rate);
    leave();
    disk_free(left);
}
static void target_is_kept(void **state) {
    (void)state;
    Disk *d = disk_new(72);
    Cuts cuts = {.next = 0};
    open_on(d, settings);
    api_run(conn, "create table t(id int primary key, s text, g int); insert into t select i, '', 0 from "
                  "generate_series(0, 20000) g(i)");
    char sql[80];
    snprintf(sql, sizeof sql, "set recovery_target_seconds = %d", TARGET_S);
    api_run(conn, sql);
    d->slow = "/catalog";
    d->slow_ns = 2000000000;
    d->hook = take_cut;
    d->ctx = &cuts;
    const double rate = (double)atomic_load(&checkpoint_rates(db->db)->replay), longest = load(2);
    d->hook = NULL;
    leave();
    print_message("recovery would have taken %.2f s at most\n", longest);
    if (longest > 1.2 * TARGET_S) fail_msg("recovery would take %.2f s", longest);
    for (int i = 0; i < cuts.n; i++) check_cut(cuts.left[i], rate);
    disk_free(d);
}
/* ---- what is said of it ---- */
static void keep_message(void *ctx, LogLevel level, const char *message) {
    if (level == LOG_INFO && strstr(message, "was not closed")) snprintf(ctx, API_TEXT, "%s", message);
}
/* What was found, applied and dropped: by who may write, and by who may not. */
static void summary(void **state) {
    (void)state;
    static char said[API_TEXT];
    Disk *d = disk_new(73);
    open_on(d, settings);
    api_run(conn, "create table t(a int)");
    api_run(conn, "insert into t values (1)");
    api_run(conn, "insert into t values (2); set synchronous_commit = on; insert into t values (3)");
    leave();
    Disk *left = cut_off(d);
    const DiskBytes *log = disk_find(&left->names, "/db/g1/log")->file->durable;
    char *bytes = disk_memory(NULL, (size_t)log->len + 24);
    memcpy(bytes, log->p, (size_t)log->len);
    memset(bytes + log->len, 7, 24); /* the beginning of a record that the power cut has ended */
    disk_put(left, "/db/g1/log", bytes, log->len + 24);
    free(bytes);
    log_set(keep_message, said);
    for (int read_only = 1; read_only >= 0; read_only--) {
        const stele_options o = {.threads = 1, .read_only = read_only, .durable = true};
        stele_error_info e;
        said[0] = 0;
        if (api_open(db_path, &o, &left->vfs, &db, &e) != STELE_OK) fail_msg("%s %s", e.sqlstate, e.message);
        if (!strstr(said, ": 4 commits were recovered from ") || !strstr(said, " bytes of 1 logs in ") ||
            !strstr(said, "; 24 bytes at the end were not complete"))
            fail_msg("%s", said);
        assert_int_equal(stele_connect(db, &conn), STELE_OK);
        api_gives(conn, "select count(*), sum(a) from t", "3,6");
        leave();
    }
    log_set(NULL, NULL);
    disk_free(left);
    disk_free(d);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(work_is_time), cmocka_unit_test(target_is_kept),
                                       cmocka_unit_test(summary)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
