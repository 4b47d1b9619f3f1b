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
    bool unknown; /* footprint: some value that is kept is not known */
    /* rows in order: */
    int32_t *last;         /* by key: of the row before */
    int32_t any;           /* there is one */
    int64_t rows_from;     /* rows around the query */
    int32_t n_ties, *ties; /* numbers of the rows that a candidate is made of: best, last */
} Above;

/* For every row of the plan that fulfils the conditions: `row`; NULL (footprint): its operations only. *single becomes
 * false where more than one row may come. */
Status cp_rows_of(Cp *c, Plan *p, Conds *conds, ColSet *needed, CpRow row, void *ctx, bool *single);
/* Conditions that nothing below used, then the row. */
Status cp_test_rest(Cp *c, Conds *conds, CpRow row, void *ctx);
/* ... for a row of which nothing is known. */
Status cp_test_blind(Cp *c, Conds *conds, CpRow row, void *ctx);
Status cp_define(Cp *c, ColId id, Expr *e); /* the column is that expression from now on */
ColSet cp_scope_copy(Cp *c);                /* what is compiled for trial leaves its columns in scope */
Reg cp_emit(Cp *c, Opcode op, Phys ph, Type t, bool nullable, Reg a, Reg b, Reg d);
Status cp_leave_if(Cp *c, Reg cond, int32_t block);
/* The row's key comes after the one in the variable (after), or before it. */
Reg cp_key_differs(Cp *c, const SortKey *k, int32_t var, bool after);

/* The scan's column that an expression is, casts that change no value taken off; -1 none. */
int32_t cp_scan_column(const Plan *p, const Expr *e);

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

/* compile_group.c: aggregates over all rows, and by groups. */
Status cp_agg_rows(Cp *c, Plan *p, Conds *conds, ColSet *needed, CpRow row, void *ctx);
Status cp_group_rows(Cp *c, Plan *p, Conds *conds, ColSet *needed, CpRow row, void *ctx);

#endif
