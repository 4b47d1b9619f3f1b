/* unit_device.h - a session whose segments run on the host's own compiler behind the fault wrapper, as on a device with
 * memory of its own; EXPLAIN's text. */
#ifndef STELE_UNIT_DEVICE_H
#define STELE_UNIT_DEVICE_H

#include <stdlib.h>
#include <string.h>

#include "db/database.h"
#include "exec/device/dev.h"
#include "session/core/session.h"
#include "unit.h"
#include "unit_answer.h"

static Database *db;
static Session *session;
static MemAccount root;
static Devices *devices;
static Device *inner, *device;
static CodeCache *cache;
static DevRuntime *runtime;
static FaultPlan plan;
static char lines[1 << 20]; /* of the last EXPLAIN */

static inline Status try_run(const char *sql) {
    Statement *st;
    int64_t used, at = 0;
    lines[0] = 0;
    err_clear(&session->err);
    TRY(statement_prepare(session, slice_of(sql), &st, &used));
    Status r = statement_run(st);
    for (int64_t i = 0; r == ST_OK && st->text_rows && i < st->n_rows; i++) {
        at += snprintf(lines + at, sizeof lines - (size_t)at, "%s\n", st->text_rows[i][0]);
        assert_true(at < (int64_t)sizeof lines);
    }
    statement_free(st);
    return r;
}
static inline void run(const char *sql) {
    if (try_run(sql) != ST_OK)
        fail_msg("%.500s: %s %s %s", sql, session->err.sqlstate, session->err.message, session->err.detail);
}
static inline void explain(const char *sql) {
    char text[16384];
    assert_true(snprintf(text, sizeof text, "explain analyze %s", sql) < (int)sizeof text);
    run(text);
}

/* What a query returned. */
typedef struct Answer {
    uint64_t hash;
    int64_t rows;
} Answer;
static int64_t fail_left; /* of an allocation failure (mem_fail_at) that was planned for the statement */
static inline Status answer(const char *sql, Answer *out) {
    Statement *st;
    int64_t used;
    if (statement_prepare(session, slice_of(sql), &st, &used) != ST_OK) {
        fail_left = mem_fail_at(0);
        return ST_ERROR;
    }
    Status r = statement_run(st);
    fail_left = mem_fail_at(0);
    *out = (Answer){r == ST_OK ? answer_digest(session, st) : 0, st->n_rows};
    statement_free(st);
    return r;
}
/* A bigint: the statement's only cell. */
static inline int64_t number(const char *sql) {
    Statement *st;
    int64_t used, v = 0;
    const void *cell;
    bool null;
    if (statement_prepare(session, slice_of(sql), &st, &used) != ST_OK || statement_run(st) != ST_OK)
        fail_msg("%s: %s %s", sql, session->err.message, session->err.detail);
    assert_int_equal(st->n_rows, 1);
    assert_int_equal(rows_cell(st->rows, 0, st->first_col, &cell, &null, &session->err), ST_OK);
    assert_int_equal(phys_size(type_phys(st->types[0])), 8);
    memcpy(&v, cell, 8);
    statement_free(st);
    return v;
}
static inline void set(const char *name, const char *value) {
    err_clear(&session->err);
    if (settings_set(session, name, value, &session->err) != ST_OK) fail_msg("set %s: %s", name, session->err.message);
}

/* A session without a device yet; device_open() opens it; device_use() lends it to the session, with nothing on it. */
static inline void device_database_open(void) {
    Err e = {0};
    mem_account_init(&root, NULL, "test", 0, NULL);
    assert_int_equal(database_open(NULL, vfs_posix(), 2, 0, &db, &e), ST_OK);
    assert_int_equal(session_new(db, &session, &e), ST_OK);
}
static inline void device_open(const char *cache_dir, int64_t cache_bytes) {
    Err e = {0};
    assert_int_equal(devices_open(db->pool, &root, &devices, &e), ST_OK);
    assert_int_equal(devices_get(devices, "host", &inner, &e), ST_OK);
    assert_int_equal(device_fault_new(inner, &plan, &device, &e), ST_OK);
    assert_int_equal(code_cache_new(cache_dir, cache_bytes, &cache, &e), ST_OK);
}
static inline void device_use(bool shares_memory) {
    Err e = {0};
    plan.fail_at = 0;
    dev_runtime_free(runtime); /* of a test that failed */
    runtime = NULL;
    device->info.shares_memory = shares_memory;
    assert_int_equal(dev_runtime_new(device, cache, &root, &runtime, &e), ST_OK);
    session->device.override = runtime;
}
static inline void device_done(void) {
    session->device.override = NULL;
    dev_runtime_free(runtime);
    runtime = NULL;
    assert_int_equal(atomic_load(&device->memory.used), 0);
}
static inline void device_session_open(void) {
    device_database_open();
    device_open("", 0);
    device_use(false);
}
static inline void device_session_close(void) {
    plan = (FaultPlan){0};
    session_free(session);
    dev_runtime_free(runtime);
    assert_int_equal(atomic_load(&device->memory.used), 0);
    code_cache_drop_device(cache, device);
    code_cache_free(cache);
    device->ops->close(device);
    devices_close(devices); /* its pool is the database's */
    database_close(db);
    assert_int_equal(atomic_load(&root.used), 0);
}

#endif
