/* unit_api.h - statements through the public interface, for unit tests that check what it returns. */
#ifndef STELE_UNIT_API_H
#define STELE_UNIT_API_H

#include <string.h>

#include "stele/stele.h"
#include "unit.h"

/* A call that is to succeed; what: for messages, the statement for one. */
static inline void api_ok(stele_conn *c, stele_status st, const char *what) {
    stele_error_info e;
    if (st == STELE_OK) return;
    stele_error(c, &e);
    fail_msg("%s: %s %s [%s]", what, e.sqlstate, e.message, e.context);
}
/* A call that is to fail with that SQLSTATE; the error. */
static inline stele_error_info api_refused(stele_conn *c, stele_status st, const char *sqlstate, const char *what) {
    stele_error_info e;
    if (st != STELE_ERROR) fail_msg("%s succeeds", what);
    stele_error(c, &e);
    if (strcmp(e.sqlstate, sqlstate) != 0)
        fail_msg("%s: %s %s [%s], not %s", what, e.sqlstate, e.message, e.context, sqlstate);
    return e;
}
static inline void api_run(stele_conn *c, const char *sql) { api_ok(c, stele_exec(c, sql, NULL, NULL), sql); }
static inline stele_error_info api_fails(stele_conn *c, const char *sql, const char *sqlstate) {
    return api_refused(c, stele_exec(c, sql, NULL, NULL), sqlstate, sql);
}
/* The SQLSTATE of the last error. */
static inline void api_state(stele_conn *c, const char *sqlstate) { api_refused(c, STELE_ERROR, sqlstate, "the call"); }

enum { API_TEXT = 2000 };
/* For stele_exec: adds rows to a text of API_TEXT bytes, "1,NULL;2,b" for two. */
static inline bool api_keep(void *ctx, int64_t n, const char *const *values, const char *const *names) {
    char *out = ctx;
    (void)names;
    for (int64_t i = 0; i < n; i++) {
        const char *before = i ? "," : *out ? ";" : "";
        snprintf(out + strlen(out), API_TEXT - strlen(out), "%s%s", before, values[i] ? values[i] : "NULL");
    }
    return false;
}
static inline void api_gives(stele_conn *c, const char *sql, const char *rows) {
    char got[API_TEXT] = "";
    api_ok(c, stele_exec(c, sql, api_keep, got), sql);
    if (strcmp(got, rows) != 0) fail_msg("%s: %s, not %s", sql, got, rows);
}

#endif
