/* compile_rows.h - what compile_query.c, compile_group.c and compile_adds.c share: operators hand over what is to be
 * done with each of their rows. */
#ifndef STELE_SQL_PL_COMPILE_ROWS_H
#define STELE_SQL_PL_COMPILE_ROWS_H

#include "sql/pl/compile_int.h"

typedef struct Conds {
    int32_t n, cap;
    Expr **items;
} Conds;
Status cp_conds_add(Cp *c, Conds *k, Expr *e);

/* Rows that a statement looks at. */
typedef struct Scan {
    Plan *plan; /* NULL: an INSERT's */
    CpTable *table;
    int32_t number; /* in the procedure */
    int32_t row;    /* variable */
    Expr **eq;      /* by column: a value that it equals, NULL none */
    int32_t index;  /* of the image */
    int32_t n_key;
    int32_t *key_cols;
    bool unique;
    bool outer;  /* there is a row of NULLs if there is none */
    bool one;    /* the first row of a group by c->at.order_col is all that is used */
    Expr *bound; /* ... after this value (or `at` it); NULL: of all */
    bool at;
    bool found;           /* the row is in its variable */
    bool may_wait;        /* INSERT: a taken key is an error */
    VEC(CpTouch *) early; /* its touches before the row was looked for, in order */
    Conds *conds;         /* not used for the lookup: to be tested */
    ColSet *needed;
    CpRow rows;
    void *ctx;
} Scan;

/* What an operator does with the rows below it. */
typedef struct Above {
    Plan *plan, *right;
    Conds *conds;
    ColSet *needed;
    CpRow row;
    void *ctx;
    bool *single;
    int32_t *vars;
    int32_t count, best;
    struct CpBuffer *buffer; /* rows in order: where they are collected */
    int64_t rows_from;       /* ... rows around the query */
} Above;

/* For every row of the plan that fulfils the conditions: `row`, NULL nothing. *single becomes false where more than one
 * row may come. */
Status cp_rows_of(Cp *c, Plan *p, Conds *conds, ColSet *needed, CpRow row, void *ctx, bool *single);
/* Conditions that nothing below used, then the row. */
Status cp_test_rest(Cp *c, Conds *conds, CpRow row, void *ctx);
Status cp_define(Cp *c, ColId id, Expr *e); /* the column is that expression from now on */
Reg cp_emit(Cp *c, Opcode op, Phys ph, Type t, bool nullable, Reg a, Reg b, Reg d);
Status cp_leave_if(Cp *c, Reg cond, int32_t block);
Status cp_add_one(Cp *c, int32_t var); /* an I64 that stays far below its range */

Status cp_filter_row(Cp *c,
                     void *ctx); /* for cp_rows_of: ctx is an Above, whose conditions are tested before its row */
bool cp_available(Cp *c, const Expr *e); /* all its columns are variables, or of rows that are being looked at */

/* The scan's output that is the table's column; 0 none. */
ColId cp_scan_col(const Plan *p, int32_t col);
/* The scan's column that an expression is, casts that change no value taken off; -1 none. */
int32_t cp_scan_column(const Plan *p, const Expr *e);

bool *cp_equal_columns(Cp *c, const Plan *p, const Conds *conds);
const Plan *cp_only_scan(const Plan *p, ColId id, int32_t *col);
bool cp_has_key(const KeyConstraint *k, const bool *eq); /* all of its columns */

/* compile_order.c */
bool cp_order_is_total(Cp *c, const Plan *sort);
bool cp_is_of_one_scan(const Plan *p);

/* compile_adds.c: what an UPDATE adds to a column. */
typedef struct CpAdd {
    Expr *by;   /* NULL: it is no addition */
    bool minus; /* it is subtracted */
    Expr *of;   /* it is one where this value is a multiple of unit, in units of its type, and in [lo, hi] if ranged;
                   NULL: always */
    bool ranged;
    int128_t unit, lo, hi;
} CpAdd;
CpAdd cp_added(Cp *c, const Plan *scan, int32_t col, Expr *value); /* out of memory: c->oom */
Reg cp_exact(Cp *c, const CpAdd *a);                               /* whether it is one; NULL where the amount is */
Reg cp_negative(Cp *c, Reg r);
Reg cp_amount_bound(Cp *c, const CpAdd *a,
                    Type col); /* where it is none: by how much the column changes at most, as a cell of it */

/* compile_touch.c. The amount, if any (0), has been computed by cp_touch_amount(). */
Status cp_touch(Cp *c, const Scan *s, const CpTouch *what, Reg amount);
/* What is added to the column, as a cell of it; minus: what is subtracted. 0 on error. */
Reg cp_touch_amount(Cp *c, const Scan *s, int32_t col, Expr *amount, bool minus);
Reg cp_touch_bound(Cp *c, const Scan *s, int32_t col, const CpAdd *add); /* cp_amount_bound() */
Status cp_touch_read(Cp *c, Scan *s);                                    /* ... looks for a row, or at it */
Status cp_touch_delete(Cp *c, const Scan *s);
Status cp_touch_insert(Cp *c, const Scan *s);
bool cp_key_column(const Table *t, int32_t col); /* of a unique key */

/* compile_buffer.c: buffers of rows (program/program.h, BufferSpec). In this order: cp_buffer_clear; wherever a row
 * comes cp_buffer_row, its keys, ties and columns, cp_buffer_add; cp_buffer_sort; cp_buffer_read. */
typedef struct CpBuffer {
    BufferSpec *spec;
    int32_t count; /* variable: rows */
    int32_t n;     /* of the row that is compiled: registers so far, keys first */
    Reg *args;
    int32_t n_keys; /* beside ties */
    int32_t cap_cols;
    bool later; /* another row has been compiled before: the spec has its columns */
} CpBuffer;
CpBuffer *cp_buffer_new(Cp *c, int32_t n_keys); /* beside ties */
Status cp_buffer_clear(Cp *c, CpBuffer *b);
Status cp_buffer_row(Cp *c, CpBuffer *b);
Status cp_buffer_key(Cp *c, CpBuffer *b, Reg key, const SortKey *order);
/* The numbers of the rows that it is made of, those of c->query.rows from `from` on, order rows that are equal in all
 * keys. */
Status cp_buffer_ties(Cp *c, CpBuffer *b, int64_t from);
Status cp_buffer_tie(Cp *c, CpBuffer *b, Reg number); /* one of them */
Status cp_buffer_column(Cp *c, CpBuffer *b, Reg value);
Status cp_buffer_columns(Cp *c, CpBuffer *b, int32_t n, const int32_t *vars); /* pairs: column, variable (not used) */
Status cp_buffer_add(Cp *c, CpBuffer *b);
Status cp_buffer_sort(Cp *c, CpBuffer *b);
Reg cp_buffer_get(Cp *c, const CpBuffer *b, int32_t row, int32_t col); /* row: variable */
/* The columns from `first` on go to their variables, which they are from now on. */
Status cp_buffer_read(Cp *c, const CpBuffer *b, int32_t row, int32_t first, int32_t n, const int32_t *vars);

/* compile_foreign.c: what foreign keys make of a statement that changes rows of a table. cp_events_begin before it
 * (*out NULL: nothing); where a row changes cp_events_values before, and cp_events_row behind it; cp_events_end behind
 * the statement. */
typedef struct CpEvents CpEvents;
typedef enum CpChange { CP_INSERTS, CP_UPDATES, CP_DELETES_ROWS } CpChange;
typedef enum CpEventKind { CP_KEY_WRITTEN, CP_KEY_DELETED, CP_KEY_UPDATED } CpEventKind;
/* single: it changes at most one row. */
Status cp_events_begin(Cp *c, const Table *t, int32_t n_set, const int32_t *set, CpChange change, bool single,
                       CpEvents **out);
bool cp_events_keep(const CpEvents *e, int32_t col); /* its value is needed */
/* s, rowid: of the row that changes, NULL: it is new. now: by column the new value, 0: as it is. */
Status cp_events_values(Cp *c, CpEvents *e, Scan *s, ColId rowid, const ColId *now);
Status cp_events_row(Cp *c, CpEvents *e, bool single);
Status cp_events_end(Cp *c, CpEvents *e);
/* A text that RAISE says as it is: keys as names, with each % doubled. */
const char *cp_plain_text(Cp *c, const char *s);
/* A row with these values has been inserted: rows that the call adds later, and that refer to it, need not look. */
Status cp_own_row(Cp *c, const Table *t, const ColId *values);
/* A column of the row that the statement changes, which it does not set, is read as well. */
Status cp_touch_column(Cp *c, const Scan *s, int32_t col);
/* An SQL statement whose parameters are these variables; NULL: a reason, or no memory. */
BoundStmt *cp_bind_text(Cp *c, const char *sql, int32_t n, const int32_t *vars);
/* What follows is a statement of its own, inside of one that goes on behind cp_query_back. */
CpQuery cp_query_apart(Cp *c);
void cp_query_back(Cp *c, const CpQuery *was);

/* compile_unique.c: unique indexes with predicates or expressions. set NULL: an INSERT. *out NULL: none reads what
 * changes. Before a row changes, and behind it, where `row` is the row; s, rowid, now: as of cp_events_values. */
typedef struct CpUnique CpUnique;
Status cp_unique_begin(Cp *c, const Table *t, int32_t n_set, const int32_t *set, bool single, CpUnique **out);
bool cp_unique_reads(const Table *t, int32_t col);
Status cp_unique_before(Cp *c, CpUnique *u, Scan *s, ColId rowid, const ColId *now);
Status cp_unique_after(Cp *c, const CpUnique *u, Reg row);

/* compile_query.c: a bound DELETE or UPDATE whose events are its caller's. */
Status cp_delete_rows(Cp *c, BoundStmt *b, CpEvents *e);
Status cp_update_rows(Cp *c, BoundStmt *b, CpEvents *e);
Expr *cp_scan_value(Cp *c, Scan *s, ColId rowid, int32_t col); /* of the row that rowid is; NULL: an error */
Reg cp_find_row(Cp *c, Scan *s, Opcode op);
const ErrNames *cp_table_names(Cp *c, const char *table, ErrField field, const char *name);

/* compile_sets.c: as cp_rows_of, for the plan that each name says. */
Status cp_outer_rows(Cp *c, Plan *p, Conds *conds, ColSet *needed, CpRow row, void *ctx);
Status cp_lateral_rows(Cp *c, Plan *p, Conds *conds, ColSet *needed, CpRow row, void *ctx, bool *single);
Status cp_setop_rows(Cp *c, Plan *p, Conds *conds, ColSet *needed, CpRow row, void *ctx);
Status cp_values_rows(Cp *c, Plan *p, Conds *conds, ColSet *needed, CpRow row, void *ctx);
Status cp_cte_rows(Cp *c, Plan *p, Conds *conds, ColSet *needed, CpRow row, void *ctx, bool *single);
/* A part of a join that does not depend on the others, and is collected anyway, is so once, in front of the join, and
 * read from there for each row of the others: *part is a scan of it then, until c->query.ctes is as before. */
Status cp_collect_once(Cp *c, Plan **part, ColSet *needed);
Status cp_cte_scan_rows(Cp *c, Plan *p, Conds *conds, ColSet *needed, CpRow row, void *ctx);
Status cp_repeat_rows(Cp *c, Plan *p, Conds *conds, ColSet *needed, CpRow row, void *ctx, bool *single);
Status cp_series_rows(Cp *c, Plan *p, Conds *conds, CpRow row, void *ctx);

/* compile_group.c: aggregates over all rows, and by groups. */
Status cp_agg_rows(Cp *c, Plan *p, Conds *conds, ColSet *needed, CpRow row, void *ctx);
Status cp_group_rows(Cp *c, Plan *p, Conds *conds, ColSet *needed, CpRow row, void *ctx);

#endif
