/* numbers.h - numbers by which Types name definitions that a database has made (enums.h, composite.h), and
 * how these are called.
 *
 * The table of numbers is the process's: texts of values and names of types are wanted where no database is at hand.
 * It is read without a lock, and what it refers to never changes: another definition takes its place. Numbers are
 * never used again.
 */
#ifndef STELE_TYPES_NUMBERS_H
#define STELE_TYPES_NUMBERS_H

#include "base/base.h"
#include "base/err.h"
#include "base/mem.h"

/* Numbers below this one are those of constants (range.h). */
enum { TYPE_NUMBER_FIRST = 16 };

/* A new number, which refers to nothing yet. 54000: there are too many. */
Status type_number_new(int32_t *out, Err *e);
/* Of a number that type_number_new() gave; NULL takes it out. */
void type_number_put(int32_t number, const void *definition);
const void *type_number_get(int32_t number); /* NULL: none */

/* ---- what such types are called ---- */
/* The key, in quotes where it needs them, always behind its schema and a dot; and that with [] behind. Both are written
 * to *at, which has room for named_bytes(key), and *at set behind them. */
int64_t named_bytes(const char *key);
void named_put(char **at, const char *key, const char **shown, const char **array_shown);
/* Either text as the thread shows it: without the schema where that is one of its search path. */
const char *named_shown(const char *key, const char *shown);
/* A key as the thread shows it; NULL: no memory. */
char *named_text(Arena *a, const char *key);

#endif
