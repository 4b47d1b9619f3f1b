/* unit_session.h - a session of an in-memory database for unit tests. */
#ifndef STELE_UNIT_SESSION_H
#define STELE_UNIT_SESSION_H

#include "unit.h"

#include "session/core/session.h"

static inline void session_open(Database **db, Session **s) {
    Err e = {0};
    assert_int_equal(database_open(NULL, vfs_posix(), 2, 0, db, &e), ST_OK);
    assert_int_equal(session_new(*db, s, &e), ST_OK);
}
static inline void session_close(Database *db, Session *s) {
    session_free(s);
    database_close(db);
}
/* Statements that must succeed. */
static inline void session_sql(Session *s, const char *sql) {
    Slice text = slice_of(sql);
    while (text.len > 0) {
        Statement *st = NULL;
        int64_t used = 0;
        if (statement_prepare(s, text, &st, &used) != ST_OK) fail_msg("%s: %s", sql, s->err.message);
        text.ptr += used;
        text.len -= used;
        if (!st) continue;
        if (statement_run(st) != ST_OK) fail_msg("%s: %s", sql, s->err.message);
        statement_free(st);
    }
}

#endif
