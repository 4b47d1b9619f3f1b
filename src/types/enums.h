/* enums.h - enumerated types: names, and labels by their codes.
 *
 * A Type of T_ENUM has the number of its EnumType in `length`. Cells are the labels' codes, 32-bit integers in the
 * order of the labels, so that comparison, grouping, keys, statistics and packing are those of integers. Codes of new
 * types lie ENUM_STEP apart: a label that is added between two others gets a code between theirs, and no cell changes.
 *
 * Definitions never change, but for labels that stop being fresh: another one takes their place under the same number
 * (ALTER TYPE). Old ones are kept until the database is closed, since plans and results may have them. Numbers are the
 * process's (numbers.h).
 *
 * Locking: EnumSpace.lock (rank ENUMS, a leaf). Changes need the database lock alone besides.
 */
#ifndef STELE_TYPES_ENUMS_H
#define STELE_TYPES_ENUMS_H

#include "base/mutex.h"
#include "types/type.h"

enum { ENUM_STEP = 1024, ENUM_LABEL_MAX = 63 /* bytes */ };

typedef struct EnumLabel {
    const char *text;
    int32_t code;
    _Atomic bool fresh; /* added in a transaction that is not committed yet: its value cannot be used */
} EnumLabel;
typedef struct EnumType {
    struct EnumType *older; /* of the space */
    int64_t bytes;
    int32_t number;
    int32_t n;
    const char *name;                /* as it is */
    const char *shown, *array_shown; /* with its schema (named_put); with [] */
    EnumLabel labels[];              /* in their order */
} EnumType;

/* Of a database. */
typedef struct EnumSpace {
    Mutex lock;
    MemAccount *account;
    EnumType *made; /* all, the newest first */
    int64_t n, cap;
    const EnumType **items; /* that are in force */
} EnumSpace;

Status enum_space_new(MemAccount *account, EnumSpace **out, Err *e);
void enum_space_free(EnumSpace *s); /* NULL is fine; nothing has one of its types any more */
/* A definition that is in force nowhere yet; number 0: a new one. 54000: there are too many types. */
Status enum_make(EnumSpace *s, int32_t number, const char *name, int32_t n, const EnumLabel *labels,
                 const EnumType **out, Err *e);
/* Puts `to` in force in the place of `from`, either of which may be NULL. Putting back what it replaced cannot fail. */
Status enum_put(EnumSpace *s, const EnumType *from, const EnumType *to, Err *e);
const EnumType *enum_find(EnumSpace *s, Slice name); /* NULL: there is none; s may be NULL */
int64_t enum_count(EnumSpace *s);                    /* in force; s may be NULL */
/* The i-th in force, NULL behind the last. */
const EnumType *enum_nth(EnumSpace *s, int64_t i);

const EnumType *enum_of(Type t); /* NULL: not of an open database */
/* NULL: no such code. */
const EnumLabel *enum_label(const EnumType *x, int32_t code);
/* By its text, exactly; -1: there is none. */
int32_t enum_index(const EnumType *x, Slice text);
/* 55P04: the label is fresh. */
Status enum_check_use(const EnumType *x, const EnumLabel *l, Err *e);
static inline Type enum_type(const EnumType *x) { return (Type){.id = T_ENUM, .length = x->number}; }

#endif
