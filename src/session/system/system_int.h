/* system_int.h - system relations and the functions that go with them: what the files of this folder share. */
#ifndef STELE_SESSION_SYSTEM_INT_H
#define STELE_SESSION_SYSTEM_INT_H

#include "session/core/session.h"
#include "session/system/objects.h"

/* Rows of columns p->out_cols, grown as they come; memory is the statement's. */
typedef struct SystemRows {
    PlanCtx *c;
    Plan *p;
    const SysObjects *o; /* for functions that use them; see system_rows.c */
    int64_t n, cap;
    Err *err;
} SystemRows;

Status system_next_row(SystemRows *r);
/* Cells of the last row, by column from 0. What is not set is NULL. Texts are copied. */
void system_put_int(SystemRows *r, int32_t col, int64_t value);
void system_put_bool(SystemRows *r, int32_t col, bool value);
void system_put_float(SystemRows *r, int32_t col, double value);
Status system_put_text(SystemRows *r, int32_t col, const char *text);
/* A row, column by column from the first; a letter of `format` each, and an argument for those with one:
 *
 *     s   const char *; NULL: NULL        i   int64_t, for integers and oids
 *     c   int, a "char"                   b   int, a boolean
 *     f   double                          v   const Str *, of an array's type; NULL: NULL
 *     -   NULL                            0   zero or false;  1   one or true
 *     x   the next letter stands for all columns that are left
 */
Status system_row(SystemRows *r, const char *format, ...);
/* An array's cell of integers as column col has them. NULL without memory. */
const Str *system_vector(SystemRows *r, int32_t col, int64_t n, const int64_t *values);
const Str *system_texts(SystemRows *r, int32_t col, int64_t n, const char *const *values);

typedef Status SystemFill(Session *s, SystemRows *r);
/* Advisory locks and numbers of transactions (number_functions.c); *known: it is one of these. */
Status system_number_call(Session *s, const char *name, int n, const Value *args, Value *out, bool *known, Err *e);

#define SYSTEM_RELATION(oid_, kind_, schema_, name_, fill_, columns_) SystemFill system_fill_##fill_;
#include "catalog/system_relations.def"
#undef SYSTEM_RELATION

#endif
