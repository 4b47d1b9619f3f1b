/* cursor.h - cursors: results that are read bit by bit, and by name.
 *
 * DECLARE and PL/pgSQL's OPEN make them, FETCH, MOVE, CLOSE and WHERE CURRENT OF use them, no matter which has made
 * them. The rows are all computed when a cursor is made (they go to disk as those of other results do,
 * `result_memory`), so that it sees nothing that happens later and can be moved both ways.
 *
 * Life: a cursor belongs to the transaction that made it, and goes with it, or with the savepoint before it; one WITH
 * HOLD stays when that commits. Its position is not undone. A FETCH's result shares the cursor's rows (CursorRows is
 * counted), and outlives the cursor.
 *
 * Threads: the session's own.
 */
#ifndef STELE_SESSION_CORE_CURSOR_H
#define STELE_SESSION_CORE_CURSOR_H

#include "session/core/session.h"

/* A table of which the rows show one row each: column `col` of the store has its number. */
typedef struct RowNumbers {
    int64_t table_id;
    int64_t generation; /* table_generation() then */
    const char *table;
    int32_t col;
    bool locks; /* FOR UPDATE and the like names it */
} RowNumbers;

typedef struct CursorRows {
    int64_t refs;
    Statement *st; /* its result */
    int32_t n_numbers;
    const RowNumbers *numbers; /* in st->run_arena */
    bool locks;                /* FOR UPDATE or the like */
} CursorRows;

typedef struct Cursor {
    struct Cursor *next; /* made before it */
    char *name;
    int64_t name_bytes;
    CursorRows *rows;
    int64_t at;     /* 0: before the first row, n + 1: behind the last */
    int64_t serial; /* of the session: rising */
    bool no_scroll, hold;
    bool failed;  /* a movement has: there is no other */
    bool of_loop; /* a loop goes through it, and closes it: COMMIT does not */
    bool kept;    /* of a transaction that has committed */
} Cursor;

/* A result that belongs to no client: of a routine's statement or a cursor. */
Status session_result_new(Session *s, Statement **out);
void session_result_clear(Statement *st); /* for another run, in the same memory */
void session_result_free(Statement *st);  /* NULL is fine */
/* Its columns' names do not go with the text that they may stand in. */
Status session_result_keep_names(Statement *st);
void cursor_rows_unref(CursorRows *r); /* likewise */

Cursor *cursor_find(const Session *s, Str name); /* NULL: there is none */
/* A cursor over st's rows, which is its own from here on, also when this fails. */
Status cursor_add(Session *s, Str name, Statement *st, Cursor **out);
void cursor_close(Session *s, Cursor *c);
void cursor_close_serial(Session *s, int64_t serial); /* unless it is gone */
void cursors_close_all(Session *s);
/* The transaction ends. */
void cursors_end(Session *s, bool commit);
/* What was made after the session's cursor_serial was `serial` is undone. */
void cursors_back_to(Session *s, int64_t serial);

/* The rows of a movement, as FETCH gives them: n of them from `first` (1-based) on, downwards if `back`. */
typedef struct CursorMove {
    int64_t first, n;
    bool back;
} CursorMove;
/* 55000: it goes forward only. */
Status cursor_move(Session *s, Cursor *c, AstFetchDirection direction, int64_t count, bool fetch, CursorMove *out);

/* The columns with row numbers that binding has added (PlanRows.numbers). */
Status cursor_keep_numbers(Statement *st, const PlanCtx *c, const BoundStmt *b);

Status declare_cursor(Session *s, Statement *st, const AstDeclareCursor *x, int32_t n_params, const Type *types,
                      const Value *params);
Status fetch_statement(Session *s, Statement *st, const AstFetch *x);
Status close_statement(Session *s, Statement *st, const AstClose *x);
/* PlanRows.current: of the table's row that the cursor is on. 34000, 24000 */
Status cursor_current_row(void *session, const char *cursor, const Table *t, int64_t *rowid);

#endif
