/* lower_int.h - what lower.c and lower_window.c share. Included by src/sql/lower only. */
#ifndef STELE_SQL_LOWER_LOWER_INT_H
#define STELE_SQL_LOWER_LOWER_INT_H

#include "sql/lower/pipeline.h"

/* The pipe whose rows are the plan's; `needed`: columns used above. */
Pipe *lower_plan(Lower *l, Plan *p, const ColSet *needed);
Pipe *lower_window(Lower *l, Plan *p, const ColSet *needed);

Pipe *pipe_new(Lower *l, SourceKind kind, const char *label);
Status pipe_seal(Lower *l, Pipe *p, const Sink *sink, const char *what);
CellSpec pipe_cell_spec(Pipe *p, Reg r);
/* How a pipe loads column `imm` of its source, whose cells are *c. */
ColEntry pipe_source_entry(int64_t imm, const CellSpec *c, Type type, Range range);
/* Ids of `set` that plan p produces, in id order. */
ColId *lower_needed_of(Lower *l, Plan *p, const ColSet *needed, int32_t *n);
int32_t lower_rows_spec(Lower *l, int32_t n, CellSpec *cells, int64_t limit, int64_t offset, bool ordered,
                        int32_t sort);
/* The key of a sort whose values are in r; 0 on error. Codes that are not in order are decoded. */
Reg lower_sort_key(Lower *l, Pipe *cp, Reg r, Type type, KeySpec *key);

/* An aggregate that is not grouped: its cell, its registers in cp (0: none), and its result's column, which is column
 * `column` of np's source. */
Status lower_plain_agg(Lower *l, const Plan *child, const AggCall *call, Pipe *cp, Pipe *np, int32_t column,
                       AggCell *cell, Reg *reg, Reg *reg2);

#endif
