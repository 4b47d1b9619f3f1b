/* composite.h - composite types: their fields, and rows as values.
 *
 * Definitions. A Type of T_COMPOSITE has the number of its CompositeType in `length` (numbers.h). There are three
 * kinds:
 *
 *   COMPOSITE_NAMED      CREATE TYPE .. AS (..): objects of the catalog. ALTER TYPE puts another definition in the
 *                        place of one, under another number where its fields have other types, since values of the old
 *                        one may still be read
 *   COMPOSITE_TABLE      the row type of a table, with the table's name
 *   COMPOSITE_ANONYMOUS  records: ROW(..), rows of subqueries. SQL has no name for one
 *
 * Those of the last two kinds are made when they are first wanted, and found again by what they are: equal names,
 * fields and types have one number. A table that is altered or renamed has another row type from then on. Definitions
 * never change, and are kept until the database is closed: plans and results may have them.
 *
 * Values. A cell is a PH_STR whose bytes are an array's blob (array.h) with an element per field: the bytes of the
 * field's cell, or NULL. A field that is a string, an array or a row is its own bytes; others have the width of their
 * type's cells. So a value has what is wanted to read it, but for its types, and files keep it as it is: no number of a
 * type is in it. A blob is read with a definition of as many fields; one of others (XX000 where it matters) is never
 * read past its end.
 *
 * Order and equality are those of PostgreSQL's record_cmp: field by field, NULL equal to NULL and greater than all
 * else. Equal rows may differ in their bytes (1.0 and 1.00), so that keys stand for them wherever they are compared,
 * grouped or joined (composite_key, sql/bind/bind_key.c).
 *
 * A row that is NULL and a row of NULLs are two values, although IS NULL is true of both.
 *
 * Locking: CompositeSpace.lock (rank ENUMS, a leaf). Changes of named types need the database lock alone besides.
 */
#ifndef STELE_TYPES_COMPOSITE_H
#define STELE_TYPES_COMPOSITE_H

#include "base/mutex.h"
#include "types/type.h"

enum {
    COMPOSITE_FIELDS_MAX = 1600, /* PostgreSQL's */
    COMPOSITE_DEPTH_MAX = 32     /* levels of rows in rows, which walks over types and values go down */
};

typedef enum CompositeKind { COMPOSITE_NAMED, COMPOSITE_TABLE, COMPOSITE_ANONYMOUS } CompositeKind;
typedef struct CompositeField {
    const char *name;
    Type type;
    int64_t domain; /* the id of the domain that its values are of; 0: none */
} CompositeField;
typedef struct CompositeType {
    struct CompositeType *older, *same_hash; /* of the space */
    int64_t bytes;
    uint64_t hash;
    int32_t number;
    uint8_t kind;  /* CompositeKind */
    uint8_t depth; /* 1: no field has rows in it */
    int32_t n;
    const char *name;                /* as it is; "record" */
    const char *shown, *array_shown; /* with its schema (named_put); with [] */
    CompositeField fields[];
} CompositeType;

enum { COMPOSITE_BUCKETS = 256 };
/* Of a database. */
typedef struct CompositeSpace {
    Mutex lock;
    MemAccount *account;
    CompositeType *made;                      /* all, the newest first */
    CompositeType *shared[COMPOSITE_BUCKETS]; /* of tables and anonymous ones, by hash */
    int64_t n, cap;
    const CompositeType **items; /* named ones that are in force, the oldest first */
} CompositeSpace;

Status composite_space_new(MemAccount *account, CompositeSpace **out, Err *e);
void composite_space_free(CompositeSpace *s); /* NULL is fine; nothing has one of its types any more */

/* A named definition that is in force nowhere yet; number 0: a new one. 54000: there are too many types, or rows in
 * rows. */
Status composite_make(CompositeSpace *s, int32_t number, const char *name, int32_t n, const CompositeField *fields,
                      const CompositeType **out, Err *e);
/* Puts `to` in force in the place of `from`, either of which may be NULL. Putting back what it replaced cannot fail. */
Status composite_put(CompositeSpace *s, const CompositeType *from, const CompositeType *to, Err *e);
const CompositeType *composite_find(CompositeSpace *s,
                                    Slice name); /* a named one; NULL: there is none; s may be NULL */
int64_t composite_count(CompositeSpace *s);      /* named ones in force; s may be NULL */
/* The i-th in force, NULL behind the last. */
const CompositeType *composite_nth(CompositeSpace *s, int64_t i);
/* The row type of a table, or (name NULL) of records, with these fields. Types that have modifiers keep them. */
Status composite_shared(CompositeSpace *s, const char *name, int32_t n, const CompositeField *fields,
                        const CompositeType **out, Err *e);

const CompositeType *composite_of(Type t); /* NULL: none, or not of an open database */
static inline Type composite_type(const CompositeType *x) { return (Type){.id = T_COMPOSITE, .length = x->number}; }
/* A column's type as that of a field: how its table keeps equal values (TF_LEAST_SCALE) is no matter of it. */
Type composite_field_type(Type column);
/* The type that a value of t has as a field of a record: modifiers go, as in PostgreSQL, where they do not change what
 * is shown. */
Type composite_record_type(Type t);
bool composite_is_record(Type t);                            /* records and arrays of them, which no table has */
int32_t composite_field(const CompositeType *x, Slice name); /* -1: there is none */
/* Whether values of type t have ones of that number in them, or are such: in fields and elements, too. */
bool composite_uses(Type t, int32_t number);
/* Whether a field of the type, at any depth, is one for which fn is true. */
bool composite_any(Type t, bool (*fn)(Type field));

/* ---- values ------------------------------------------------------------------------------ */

/* A row of n fields in the arena: u is a cell of type_phys(type) of each that is not NULL. 54000: too big. */
Status composite_build(Arena *a, int64_t n, const Value *fields, Str *out, Err *e);
/* The fields of a value of the type, strings pointing into the blob; out has room for x->n. XX000: it has others. */
Status composite_read(const CompositeType *x, Str blob, Value *out, Err *e);
/* Whether the bytes are a row of the type, for bytes from files. */
bool composite_ok(Type t, Str blob);

/* PostgreSQL's record_in and record_out: '(1,"a b",)'. 22P02 malformed, the fields' own errors; 0A000 of records. */
Status composite_from_text(Type t, Slice text, const struct SessionInfo *session, Arena *a, Str *out, Err *e);
Status composite_to_text(Type t, Str blob, TextForm form, Arena *a, Str *out, Err *e);
/* s as a field of a row's text, in quotes where it needs them; p NULL: only how long that is. Returns its bytes. */
int64_t composite_put_field(char *p, Str s);

#endif
