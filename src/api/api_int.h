/* api_int.h - what the files of src/api share. */
#ifndef STELE_API_API_INT_H
#define STELE_API_API_INT_H

#include "session/core/session.h"
#include "stele/stele.h"

struct stele_db {
    Database *db;
    char *temp_dir;
    _Atomic int64_t connections;
};
struct stele_conn {
    stele_db *owner;
    Session *s;
    void (*notice)(void *ctx, const stele_notice *n);
    void *notice_ctx;
};

/* A look at the catalog, from the session's view of it; false: an error. `locked`: under the database lock. */
bool api_look_begin(Session *s, bool locked);
void api_look_end(Session *s, Status r);

/* Runs a statement that reads the rows by their name (sql/plan/client_rows.h); *n: how many it has changed. */
struct ClientRows;
stele_status api_insert_rows(stele_conn *c, struct ClientRows *rows, const char *sql, int64_t *n);

void api_error_names(ErrNames n, stele_error_info *out); /* as long-lived as they are */

#endif
