/* unit_device.h - a session whose segments run on the host's own compiler behind the fault wrapper, as on a device with
 * memory of its own; EXPLAIN's text. */
#ifndef STELE_UNIT_DEVICE_H
#define STELE_UNIT_DEVICE_H

#include <stdlib.h>
#include <string.h>

#include "catalog/catalog.h"
#include "exec/device/dev.h"
#include "session/session.h"
#include "unit.h"

static Database *db;
static Session *session;
static MemAccount root;
static Devices *devices;
static Device *inner, *device;
static CodeCache *cache; /* in memory only */
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

static inline void device_session_open(void) {
    Err e = {0};
    mem_account_init(&root, NULL, "test", 0, NULL);
    assert_int_equal(database_open(NULL, vfs_posix(), 2, 0, &db, &e), ST_OK);
    assert_non_null(db->txn_lock = txn_lock_new(&e));
    assert_int_equal(session_new(db, &session, &e), ST_OK);
    assert_int_equal(devices_open(db->pool, &root, &devices, &e), ST_OK);
    assert_int_equal(devices_get(devices, "host", &inner, &e), ST_OK);
    assert_int_equal(device_fault_new(inner, &plan, &device, &e), ST_OK);
    assert_int_equal(code_cache_new("", 0, &cache, &e), ST_OK);
    device->info.shares_memory = false;
    assert_int_equal(dev_runtime_new(device, cache, &root, &runtime, &e), ST_OK);
    session->device_override = runtime;
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
    TxnLock *lock = db->txn_lock;
    database_close(db);
    txn_lock_free(lock);
    assert_int_equal(atomic_load(&root.used), 0);
}

#endif
