/* arrow_int.h - between arrow_in.c, arrow_runs.c and arrow_nested.c only. */
#ifndef STELE_IO_ARROW_INT_H
#define STELE_IO_ARROW_INT_H

#include "io/arrow.h"
#include "io/nested.h"

/* ---- arrow_in.c -------------------------------------------------------------------------------------------------- */
Status arrow_malformed(const ArrowColumn *c, const char *what, Err *e); /* 22023 */
Status arrow_mismatch(const ArrowColumn *c, Err *e);                    /* 42804 */
/* valid[] of a column that has a buffer for it, or none at all. */
void arrow_valid(const ArrowColumn *c, uint8_t *valid);
/* [from, to) of row i of a column of variable size. */
Status arrow_bounds(const ArrowColumn *c, int64_t i, bool wide, int64_t *from, int64_t *to, Err *e);
/* An integer of format cCsSiIlL; false: an unsigned one beyond 64 bits signed. */
bool arrow_int_at(char format, const void *values, int64_t at, int64_t *v);

/* ---- arrow_runs.c ------------------------------------------------------------------------------------------------ */
/* As arrow_convert: a column of runs. */
Status arrow_runs(const ArrowColumn *c, Arena *a, char *cells, uint8_t *valid, Err *e);

/* ---- arrow_nested.c ---------------------------------------------------------------------------------------------- */
/* As arrow_convert: a column of lists, into arrays; any that is nested, into jsonb. */
Status arrow_lists(const ArrowColumn *c, Arena *a, Str *cells, uint8_t *valid, Err *e);
Status arrow_json(const ArrowColumn *c, Arena *a, Str *cells, uint8_t *valid, Err *e);

#endif
