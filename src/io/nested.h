/* nested.h - values within values (lists, structs, maps, unions) as Parquet and Arrow have them, as values of SQL.
 *
 * A list of scalars is an array. Everything else that is nested is jsonb: a struct an object, a list an array, a map an
 * object where its keys are strings and otherwise an array of {"key": .., "value": ..}, a union the member that it has.
 * Scalars within are what to_jsonb makes of them: numbers exact, NaN and infinities as strings, dates and times in ISO
 * 8601, those with a zone in UTC, bytea in hexadecimal. README.md has the table.
 *
 * A reader describes a column by NestedField, puts the values of a few rows into NestedRows, and asks for cells.
 */
#ifndef STELE_IO_NESTED_H
#define STELE_IO_NESTED_H

#include "base/err.h"
#include "base/mem.h"
#include "types/type.h"

enum { NESTED_DEPTH = 60 }; /* most levels of a column */

typedef enum NestedKind {
    NESTED_VALUE, /* a scalar */
    NESTED_LIST,  /* one child: its elements */
    NESTED_STRUCT,
    NESTED_MAP,  /* two: keys, values */
    NESTED_UNION /* one of the children each */
} NestedKind;

typedef struct NestedField {
    NestedKind kind;
    const char *name; /* as a struct's member, in UTF-8 */
    Type type;        /* of its values in SQL; set by nested_type() but for NESTED_VALUE */
    int32_t n_children;
    struct NestedField *children;
} NestedField;
/* The type of a field whose children have theirs. */
Type nested_type(const NestedField *f);

/* n values of a field. Those of a struct's members have its numbers; those of a list's elements lie one row behind the
 * other. All memory is the reader's. */
typedef struct NestedRows {
    int64_t n;
    const uint8_t *valid;    /* by value; NULL: all are there */
    const void *cells;       /* NESTED_VALUE: of the type's phys */
    const int64_t *ends;     /* lists and maps: elements ends[i] .. ends[i + 1] are those of value i; n + 1 of them */
    const int64_t *starts;   /* NULL, or they are starts[i] .. ends[i + 1], in any order and perhaps shared */
    const int32_t *members;  /* unions: which child, */
    const int64_t *places;   /* and which of its values */
    struct NestedRows *rows; /* of the children */
} NestedRows;
static inline int64_t nested_start(const NestedRows *r, int64_t i) { return r->starts ? r->starts[i] : r->ends[i]; }
/* Rows `from` .. `from + n` as cells (PH_STR) of the field's type; valid[] says where there are any, and the others are
 * empty. Strings are in the arena. 22004 for a map's key that is NULL, 54000 for arrays and texts that are too large,
 * 22003, 22P05: what jsonb cannot have. */
Status nested_cells(const NestedField *f, const NestedRows *r, int64_t from, int64_t n, Arena *a, Str *cells,
                    uint8_t *valid, Err *e);

#endif
