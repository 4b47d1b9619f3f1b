/* range.h - range types and their multiranges: definitions, and values.
 *
 * Definitions. A Type of T_RANGE has the number of its RangeType in `length` (numbers.h), one of T_MULTIRANGE the
 * number of the range type whose multirange it is. `precision` has RANGE_* bits, which say what a Type is to be known
 * for without its definition. The numbers below TYPE_NUMBER_FIRST are those of PostgreSQL's own six types, whose
 * definitions are constants; CREATE TYPE .. AS RANGE makes others, which never change: another definition takes the
 * place of one under the same number, and old ones are kept until the database is closed.
 *
 * Values. A cell is a PH_STR. Its bytes compare with memcmp as PostgreSQL compares the values: an empty range comes
 * first, then by the lower bound, then by the upper one; multiranges range by range, then the shorter first. So
 * comparison, hashing, grouping, joins, sorts, keys, dictionaries and zone maps work on the bytes as on any string's:
 *
 *     range       0                                            empty
 *                 lower upper tail
 *     lower       1 infinite | 2 key, then 0 inclusive or 1 exclusive
 *     upper       1 key, then 0 exclusive or 1 inclusive | 2 infinite
 *     multirange  for each range: 1 lower upper; then 0, then the tails of all in their order
 *     key         the bound's value, in bytes that compare as it does, none of which is the beginning of another:
 *                 integers, dates, times and codes of labels big-endian with the sign inverted; floats as their bits,
 *                 negative ones inverted; intervals as 128-bit microseconds; strings with 00 FF for a zero byte and 00
 *                 00 at the end
 *     tail        of types with RANGE_KEYED only, for each finite bound: u32 length, and the cell
 *
 * RANGE_KEYED types have subtypes whose equal values may look different (1.0 and 1.00, -0 and 0, 1 month and 30 days):
 * keys cannot say which one it was, hence the tail. Equal ranges of them may differ in their tails, so that keys
 * without tails stand for them (range_key, sql/bind/bind_key.c); other types need none.
 *
 * Values are canonical: no range but the empty one is without elements; those of integers and dates are [a,b) wherever
 * there is such a b; ranges of a multirange are not empty, ascend, and neither touch nor overlap.
 *
 * Bytes that are no value (cells of NULL rows are empty strings) read as an empty range or multirange where they are
 * empty, and are XX000 elsewhere; nothing is read past their end.
 *
 * Thread-safe; results lie in the arena that is passed or point into the values that they are made of.
 */
#ifndef STELE_TYPES_RANGE_H
#define STELE_TYPES_RANGE_H

#include "base/mutex.h"
#include "types/type.h"

enum {
    RANGE_INT4 = 1, /* numbers of PostgreSQL's own types; files have them */
    RANGE_INT8,
    RANGE_NUM,
    RANGE_TS,
    RANGE_TSTZ,
    RANGE_DATE
};

typedef struct RangeType {
    struct RangeType *older; /* of the space */
    int64_t bytes;
    int32_t number;
    Type subtype;
    const char *name, *shown, *array_shown;        /* its key; with its schema (named_put); with [] */
    const char *multi, *multi_shown, *multi_array; /* likewise, of its multirange */
    const char *make, *make_multi;                 /* constructors: what the types were called at first */
    const char *collation;                         /* "C", "POSIX"; NULL: the default */
    const char *subtype_diff; /* one of PostgreSQL's functions; NULL: none, or one that is not kept */
} RangeType;

/* Of a database. */
typedef struct RangeSpace {
    Mutex lock; /* rank ENUMS, a leaf; changes need the database lock alone besides */
    MemAccount *account;
    RangeType *made; /* all, the newest first */
    int64_t n, cap;
    const RangeType **items; /* that are in force, the oldest first */
} RangeSpace;

Status range_space_new(MemAccount *account, RangeSpace **out, Err *e);
void range_space_free(RangeSpace *s); /* NULL is fine; nothing has one of its types any more */
/* A definition that is in force nowhere yet, with the names (constructors' NULL: the types') and the subtype of `like`;
 * number 0: a new one. 54000: there are too many types. */
Status range_make(RangeSpace *s, int32_t number, const RangeType *like, const RangeType **out, Err *e);
/* Puts `to` in force in the place of `from`, either of which may be NULL. Putting back what it replaced cannot fail. */
Status range_put(RangeSpace *s, const RangeType *from, const RangeType *to, Err *e);
/* One that has the name, or (*multi) whose multirange has it. NULL: there is none; s may be NULL. PostgreSQL's own ones
 * are found by range_builtin(). */
const RangeType *range_find(RangeSpace *s, Slice name, bool *multi);
/* The same by the names of constructors. */
const RangeType *range_constructor(RangeSpace *s, Slice name, bool *multi);
int64_t range_count(RangeSpace *s);                   /* in force; s may be NULL */
const RangeType *range_nth(RangeSpace *s, int64_t i); /* the i-th in force, NULL behind the last */
const RangeType *range_builtin(Slice name, bool *multi);
/* The i-th of PostgreSQL's own, NULL behind the last. */
const RangeType *range_builtin_nth(int64_t i);

const RangeType *range_of(Type t); /* NULL: neither a range nor a multirange, or not of an open database */
Type range_type(const RangeType *x);
Type multirange_type(const RangeType *x);
/* Whether ranges over values of the type can be stored. */
bool range_subtype_ok(Type subtype);

/* ---- values ------------------------------------------------------------------------------ */

typedef struct RangeBound {
    Slice key;
    Slice cell; /* RANGE_KEYED: the exact value; else empty */
    bool infinite, inclusive;
} RangeBound;
typedef struct RangeParts {
    RangeBound lower, upper;
} RangeParts;
/* What a range (no or one item) or a multirange consists of: ascending, not empty, apart from each other. */
typedef struct RangeList {
    int64_t n;
    RangeParts *items;
} RangeList;

/* t is a range's or a multirange's type, and has a definition. `room` is for one item. XX000: it is no value of t. */
Status range_read(Type t, Str value, Arena *a, RangeParts *room, RangeList *out, Err *e);
bool range_ok(Type t, Str value); /* for bytes from files */
/* The value of a list, which is canonical (of ranges: has at most one item). 54000: it is too long. */
Status range_write(Type t, const RangeList *l, Arena *a, Str *out, Err *e);
/* The bytes of a value without its tails. */
Str range_key(Type t, Str value);

/* A finite bound of a value of the subtype, and back. */
Status range_bound(const RangeType *x, const Value *v, bool inclusive, Arena *a, RangeBound *out, Err *e);
Status range_bound_value(const RangeType *x, const RangeBound *b, Arena *a, Value *out, Err *e);

/* A range between two bounds as a list. 22000: the lower one is greater; 22003, 22008: there is no canonical form. */
Status range_canonical(const RangeType *x, const RangeParts *r, RangeParts *room, Arena *a, RangeList *out, Err *e);
/* Ranges in any order, which may overlap, as those of a multirange; in place. */
void range_list_canonical(RangeList *l);

/* Of two lists of one type. Ranges without elements: contained in all, and nowhere else. */
int range_list_cmp(const RangeList *x, const RangeList *y);
bool range_contains(const RangeList *x, const RangeList *y);
bool range_contains_value(const RangeList *x, Slice key);
bool range_overlaps(const RangeList *x, const RangeList *y);
bool range_before(const RangeList *x, const RangeList *y);    /* all of x */
bool range_overleft(const RangeList *x, const RangeList *y);  /* x does not extend to the right of y */
bool range_overright(const RangeList *x, const RangeList *y); /* ... to the left */
bool range_adjacent(const RangeList *x, const RangeList *y);
/* Lists of what either, both, or x alone has; out is neither of them. */
Status range_unite(const RangeList *x, const RangeList *y, Arena *a, RangeList *out, Err *e);
Status range_intersect(const RangeList *x, const RangeList *y, Arena *a, RangeList *out, Err *e);
Status range_subtract(const RangeList *x, const RangeList *y, Arena *a, RangeList *out, Err *e);
/* From the least bound to the greatest, of two ranges, which are lists of at most one, and of the ranges of a list; of
 * no ranges none. */
RangeList range_hull(const RangeList *x, const RangeList *y, RangeParts *room);
RangeList range_span(const RangeList *x, RangeParts *room);

/* PostgreSQL's text: '[1,5)', 'empty', '{[1,3),[5,7)}'. t is a range's or multirange's type. 22P02 malformed, the
 * subtype's errors. */
Status range_from_text(Type t, Slice text, const struct SessionInfo *session, Arena *a, Str *out, Err *e);
Status range_to_text(Type t, Str value, TextForm form, Arena *a, Str *out, Err *e);
/* '[]', '[)', '(]' or '()', a constructor's third argument. 42601. */
Status range_flags(Slice text, bool *lower, bool *upper, Err *e);

#endif
