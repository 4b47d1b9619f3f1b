/* explain.h - what EXPLAIN shows (explain.c): kept by what runs the statement when Statement.explained is set. */
#ifndef STELE_SESSION_CORE_EXPLAIN_H
#define STELE_SESSION_CORE_EXPLAIN_H

#include "session/core/session.h"

/* What EXPLAIN ANALYZE has run, or EXPLAIN would run. */
typedef struct Explained {
    PlanCtx c;
    BoundStmt *b; /* NULL: nothing */
    RunOutput run;
    int64_t n_rows;   /* that have changed, or been put into a new table */
    int64_t apply_ns; /* what that took */
    bool analyze, verbose, changes;
    bool json; /* FORMAT JSON */
} Explained;

/* For explain.c and explain_json.c. */
const char *explain_change_name(const BoundStmt *b); /* "Insert" .. */
Status explain_json(Statement *st, Explained *x, Str *out);

#endif
