/* calibrate_bulk.c - the thresholds of Algorithm 1 and the number of groups, measured: see calibrate_bulk.h.
 *
 * Widths. A share 1 / w of the calls change one row, all others rows of their own: a bulk of n calls has n / w sets, w
 * calls wide on average. From the widest bulks down, as long as K-SET is not slower: the narrowest is the answer.
 *
 * Groups. Calls of 16 procedures one after the other, under locks that are free, brought together by 0 to 4 upper bits
 * of the procedures' numbers.
 */
#include "session/pool/calibrate_bulk.h"

#include <stdio.h>

#include "base/log.h"
#include "session/pool/bulk.h"

enum {
    TYPES = 16,
    TYPE_BITS = 4,
    WORK_SETS = 16,
    WORK_GROUPS = 200, /* rounds of a call's loop */
    WIDEST = 1024,
    WIDEST_QUICK = 64,
    CALLS = 1 << 15,
    CALLS_QUICK = 1 << 10,
    CALLS_GROUPS = 1 << 17,
    RUNS = 5,
    RUNS_QUICK = 1,
};
static const double SLOWER = 1.03; /* is no difference */

typedef struct Trial {
    Database *db;
    Session *s;
    bool quick, compiled;
    int64_t calls, cap;
    int32_t *keys, *work;
    uint32_t *numbers;
    const Routine *routines[TYPES];
} Trial;

static Status run_sql(Trial *t, const char *sql, Err *e) {
    Slice text = slice_of(sql);
    while (text.len > 0) {
        Statement *st = NULL;
        int64_t used = 0;
        Status ok = statement_prepare(t->s, text, &st, &used);
        if (ok == ST_OK && st) ok = statement_run(st);
        if (st) statement_free(st);
        if (ok != ST_OK) {
            err_copy(e, &t->s->err);
            return ST_ERROR;
        }
        text.ptr += used;
        text.len -= used;
    }
    return ST_OK;
}
static Status set_to(Trial *t, const char *name, const char *value, Err *e) {
    char sql[100];
    snprintf(sql, sizeof sql, "SET %s = '%s'", name, value);
    return run_sql(t, sql, e);
}

static Status make_tables(Trial *t, Err *e) {
    char sql[600];
    snprintf(sql, sizeof sql,
             "CREATE TABLE tuples (id int PRIMARY KEY, v double precision NOT NULL); INSERT INTO tuples SELECT i, i "
             "FROM generate_series(0, %lld) AS g(i)",
             (long long)t->cap - 1);
    TRY(run_sql(t, sql, e));
    for (int k = 0; k < TYPES; k++) {
        snprintf(sql, sizeof sql,
                 "CREATE PROCEDURE micro_%d(key int, x int) LANGUAGE plpgsql AS $$ DECLARE y double precision; BEGIN "
                 "SELECT v INTO y FROM tuples WHERE id = key; "
                 "FOR i IN 1 .. x LOOP y := y * 0.999 + %d; END LOOP; UPDATE tuples SET v = y WHERE id = key; END $$",
                 k, k + 1);
        TRY(run_sql(t, sql, e));
    }
    for (int k = 0; k < TYPES; k++) {
        char name[32];
        snprintf(name, sizeof name, "micro_%d", k);
        if (session_bulk_routine(t->s, slice_of(name), &t->routines[k]) == ST_OK) continue;
        err_copy(e, &t->s->err);
        return ST_ERROR;
    }
    return ST_OK;
}

/* A bulk of `types` procedures, of which every width-th call changes row 0 (width 0: none does). *ns is its time, 0
 * when it did not run where it should. */
static Status run_bulk(Trial *t, int types, int64_t width, int work, double *ns, Err *e) {
    BulkCalls groups[TYPES];
    Vec params[TYPES][2];
    int64_t at = 0;
    for (int k = 0; k < types; k++) {
        int64_t first = at;
        for (int64_t c = k; c < t->calls; c += types, at++) {
            t->keys[at] = (int32_t)(width > 0 && c % width == 0 ? 0 : c);
            t->work[at] = work;
            t->numbers[at] = (uint32_t)c;
        }
        params[k][0] = (Vec){.data = t->keys + first, .phys = PH_I32, .type = type_make(T_INT4)};
        params[k][1] = (Vec){.data = t->work + first, .phys = PH_I32, .type = type_make(T_INT4)};
        groups[k] =
            (BulkCalls){.routine = t->routines[k], .n = at - first, .params = params[k], .calls = t->numbers + first};
    }
    BulkResult *r = NULL;
    int64_t began = clock_ns();
    Status st = session_bulk_run(t->s, types, groups, NULL, &r);
    st = session_end_statement(t->s, st);
    *ns = (double)(clock_ns() - began);
    if (st != ST_OK) err_copy(e, &t->s->err);
    if (r && t->compiled && strcmp(r->stats.executor, "compiled") != 0) *ns = 0;
    bulk_result_free(r);
    return st;
}
/* The best of some. */
static Status time_bulk(Trial *t, const char *strategy, int types, int64_t width, int work, double *ns, Err *e) {
    TRY(set_to(t, "bulk_strategy", strategy, e));
    *ns = 0;
    for (int i = 0; i <= (t->quick ? RUNS_QUICK : RUNS); i++) {
        double once;
        TRY(run_bulk(t, types, width, work, &once, e));
        if (once == 0) return *ns = 0, ST_OK;
        if (i > 0 && (*ns == 0 || once < *ns)) *ns = once; /* the first one makes images and kernels */
    }
    return ST_OK;
}

static Status measure_sets(Trial *t, BulkMeasured *out, Err *e) {
    int64_t width = t->quick ? WIDEST_QUICK : WIDEST;
    t->calls = t->quick ? CALLS_QUICK : CALLS;
    out->set_min = 2 * (double)width;
    for (; width >= 2; width /= 2) {
        double sets, others;
        TRY(time_bulk(t, "kset", 1, width, WORK_SETS, &sets, e));
        TRY(time_bulk(t, t->compiled ? "tpl" : "part", 1, width, WORK_SETS, &others, e));
        if (sets == 0 || others == 0) return out->set_min = 0, ST_OK;
        if (sets > others * SLOWER) return ST_OK;
        out->set_min = (double)width;
    }
    return ST_OK;
}
static Status measure_groups(Trial *t, BulkMeasured *out, Err *e) {
    double best = 0;
    t->calls = t->cap;
    for (int bits = 0; bits <= TYPE_BITS; bits++) {
        char value[16];
        double ns;
        snprintf(value, sizeof value, "%d", bits);
        TRY(set_to(t, "bulk_group_bits", value, e));
        TRY(time_bulk(t, "tpl", TYPES, 0, WORK_GROUPS, &ns, e));
        if (ns == 0) return out->groups = 0, ST_OK;
        if (best > 0 && ns * SLOWER > best) continue;
        best = ns;
        out->groups = bits == TYPE_BITS ? BULK_GROUPS_ALL : 1 << bits;
    }
    return ST_OK;
}

static Status measure(Trial *t, const char *device, BulkMeasured *out, Err *e) {
    if (device) {
        TRY(set_to(t, "executor", "compiled", e));
        TRY(set_to(t, "device", device, e));
        TRY(set_to(t, "device_wait", "on", e));
    }
    TRY(make_tables(t, e));
    TRY(measure_sets(t, out, e));
    return device ? measure_groups(t, out, e) : ST_OK;
}

Status session_calibrate_bulks(Session *s, const char *device, bool quick, BulkMeasured *out) {
    Trial t = {.quick = quick, .compiled = device != NULL, .cap = quick ? CALLS_QUICK : CALLS_GROUPS};
    *out = (BulkMeasured){0};
    int threads = (int)MIN_OF(s->settings.exec.threads, (int64_t)pool_threads(s->db->pool));
    if (!device && threads < 2) return ST_OK;
    Err *e = &s->err;
    Status st = ST_ERROR;
    int64_t bytes = t.cap * (int64_t)(2 * sizeof(int32_t) + sizeof(uint32_t));
    char *memory = mem_alloc(NULL, bytes, e);
    if (!memory) return ST_ERROR;
    t.keys = (int32_t *)(void *)memory;
    t.work = t.keys + t.cap;
    t.numbers = (uint32_t *)(t.work + t.cap);
    if (database_open(NULL, s->db->vfs, threads, 0, &t.db, e) == ST_OK && session_new(t.db, &t.s, e) == ST_OK)
        st = measure(&t, device, out, e);
    session_free(t.s);
    if (t.db) database_close(t.db);
    mem_free(NULL, memory, bytes);
    return st;
}
