/* client_rows.h - rows that a client has given a name for its connection (stele_register_arrow).
 *
 * A name in FROM that is neither a table nor a view may be one of them: it becomes LP_VALUES with the rows' cells,
 * which are not copied. They never change. The session has a reference, and each plan that reads them one more, since
 * its result has strings of theirs. Statements of the client see them, routines and views do not: those mean the same
 * in all connections.
 */
#ifndef STELE_SQL_PLAN_CLIENT_ROWS_H
#define STELE_SQL_PLAN_CLIENT_ROWS_H

#include "base/mem.h"
#include "types/func.h"

typedef struct ClientColumn {
    const char *name;
    Type type;
    char *cells;
    uint8_t *valid;
    int64_t cells_bytes, valid_bytes; /* as allocated */
    bool nulls;                       /* some are not valid */
} ClientColumn;
typedef struct ClientRows {
    struct ClientRows *next;
    int64_t refs;
    MemAccount account;
    Arena *arena; /* names, and the bytes of strings */
    char *name;
    int32_t n_cols;
    ClientColumn *cols;
    int64_t n;
} ClientRows;

/* No rows and no columns yet; one reference. */
Status client_rows_new(MemAccount *parent, const char *name, ClientRows **out, Err *e);
/* Columns that the maker has named and typed get room for `more` rows behind the n that are there, uninitialised. */
Status client_rows_reserve(ClientRows *r, int64_t more, Err *e);
void client_rows_unref(void *r); /* NULL is fine */
ClientRows *client_rows_find(ClientRows *list, const char *name);

#endif
