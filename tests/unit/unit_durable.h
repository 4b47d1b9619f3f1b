/* unit_durable.h - a durable database on a simulated disk, and its only connection. */
#ifndef STELE_UNIT_DURABLE_H
#define STELE_UNIT_DURABLE_H

#include "api/api_int.h"
#include "unit.h"
#include "unit_api.h"
#include "unit_disk.h"

static const char db_path[] = "/db";
static stele_db *db;
static stele_conn *conn;

static void open_on(Disk *d, const char *settings) {
    const stele_options o = {.threads = 1, .durable = true};
    stele_error_info e;
    if (api_open(db_path, &o, &d->vfs, &db, &e) != STELE_OK) fail_msg("%s %s", e.sqlstate, e.message);
    assert_int_equal(stele_connect(db, &conn), STELE_OK);
    api_run(conn, settings);
}
static void leave(void) {
    stele_disconnect(conn);
    stele_discard(db);
}

#endif
