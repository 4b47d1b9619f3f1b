/* objects.h - the objects that a statement sees, as PostgreSQL's catalogs have them: numbered, found by oid and name.
 *
 * Made of the statement's catalog when a system relation or a function on the catalog first asks for it, and good until
 * the next statement or the next definition (session_objects).
 *
 * Oids. What PostgreSQL has too has PostgreSQL's number: types, catalogs, schemas. All other objects have one from
 * OID_DERIVED on that is computed from what they are, whose they are, and their name (of routines also the types of
 * their arguments). So it is the same in every session, after every restart and after a dump is restored, ALTER keeps
 * it, and files have nothing to keep: ids of tables do not do, since a table that is altered is another one. What
 * changes it is a new name. Of two with one number the second, in the order
 * of the catalog, has the next one that is free.
 *
 * Thread rules: the session's thread only.
 */
#ifndef STELE_SESSION_SYSTEM_OBJECTS_H
#define STELE_SESSION_SYSTEM_OBJECTS_H

#include "catalog/system_relation.h"
#include "session/core/session.h"

enum {
    OID_DERIVED = 0x40000000, /* up to twice that; PostgreSQL's own are below 16384 */
    OID_SCHEMA_CATALOG = 11,
    OID_SCHEMA_TOAST = 99,
    OID_SCHEMA_PUBLIC = 2200,
    OID_SCHEMA_INFORMATION = 13207,
    OID_OWNER = 10,
    OID_DATABASE = 5,
    OID_HEAP = 2,
    OID_BTREE = 403,
    OID_INTERNAL = 12,
    OID_RECORD_ARRAY = 2287,
    OID_PLPGSQL = 13563,
    OID_PLPGSQL_EXTENSION = 13559,
    OID_SQL = 14,
    OID_COLLATION_DEFAULT = 100,
    OID_COLLATION_C = 950,
    OID_COLLATION_POSIX = 951
};

typedef struct BuiltinType {
    int64_t oid;
    const char *name;
    int16_t length;
    bool by_value;
    char kind, category;
    bool preferred;
    int64_t element, array;
    char align, storage;
    int64_t collation;
    int64_t functions[8]; /* input, output, receive, send, modifiers in and out, subscript, analyze */
} BuiltinType;

typedef struct SysColumn {
    const char *name;
    Type type;
    int64_t domain;
    bool not_null;
    const char *default_sql;
    uint8_t kind; /* of a table's column: ColumnKind */
} SysColumn;
/* A row of pg_class. */
typedef struct SysClass {
    int64_t oid, type, array; /* the row type and that of arrays of it; 0: none */
    const char *name, *key;   /* key NULL: a system relation */
    int64_t space;
    char kind;           /* relkind */
    const Table *table;  /* also of an index */
    int index;           /* of kind i: its number in the table (table_indexes); -1: it is not built */
    const IndexDef *def; /* of kind i */
    View *view;
    const CompositeType *row;
    const SystemRelation *system;
    const Sequence *sequence;
    int32_t n_cols; /* -1: not looked up yet (object_columns) */
    SysColumn *cols;
} SysClass;
/* A table or materialized view of the catalog. */
static inline bool system_has_rows(const SysClass *c) { return (c->kind == 'r' || c->kind == 'm') && c->table; }
/* A row of pg_type: exactly one of the pointers is there. */
typedef struct SysType {
    int64_t oid, element, array;
    const char *name, *key; /* key NULL: a builtin one, or a system relation's row type */
    int64_t space;
    const BuiltinType *builtin;
    const EnumType *enumerated;
    const Domain *domain;
    const SysClass *row;
    const RangeType *range; /* a range type or (multi) its multirange */
    bool multi;
} SysType;
/* A row of pg_constraint. */
typedef struct SysConstraint {
    int64_t oid;
    const char *name;
    char kind;                            /* contype */
    const SysClass *of, *index, *foreign; /* its table; the index of its key, or of what it refers to; that table */
    const KeyConstraint *key;
    const ForeignKey *reference;
    const char *check;
    const Domain *domain; /* it is of, instead of a table */
    int64_t domain_type;
} SysConstraint;
typedef struct SysRoutine {
    int64_t oid;
    const Routine *routine;
} SysRoutine;
typedef struct SysSpace { /* a row of pg_namespace */
    int64_t oid;
    const char *name;
} SysSpace;
typedef struct SysNumber {
    int64_t oid;
    int64_t at;
} SysNumber;

typedef struct SysObjects {
    Arena *a;
    Session *s;
    const Catalog *c;
    int64_t version; /* catalog_definitions() */
    VEC(SysSpace) spaces;
    VEC(SysClass) classes;
    VEC(SysType) types;
    VEC(SysConstraint) constraints;
    VEC(SysRoutine) routines;
    int64_t *derived; /* numbers that are given, by hash */
    int64_t n_derived, cap_derived;
    SysNumber *classes_by_oid, *types_by_oid;
} SysObjects;

/* Those of the statement; NULL with the session's error. */
SysObjects *session_objects(Session *s);
void session_objects_end(Session *s); /* of the statement */

SysClass *object_class(const SysObjects *o, int64_t oid); /* NULL: none; likewise the others */
SysClass *object_class_named(const SysObjects *o, const char *schema, const char *name); /* schema NULL: as searched */
SysClass *object_class_of_key(const SysObjects *o, const char *key);
bool object_class_visible(const SysObjects *o, const SysClass *c); /* its name alone means it */
bool object_type_visible(const SysObjects *o, const SysType *t);
SysClass *object_class_of(const SysObjects *o, const Table *t);
const SysType *object_type(const SysObjects *o, int64_t oid);
const SysType *object_type_named(const SysObjects *o, const char *schema, const char *name);
const SysType *object_type_of_key(const SysObjects *o, const char *key);
const SysConstraint *object_constraint(const SysObjects *o, int64_t oid);
const Routine *object_routine(const SysObjects *o, int64_t oid);
/* A view's columns are looked up when they are first wanted; of one that cannot be bound there are none. */
Status object_columns(const SysObjects *o, SysClass *c);
/* The number of a derived object that needs no entry of its own (a column's default, a view's rule). */
int64_t object_derived(const SysObjects *o, char kind, int64_t owner, const char *name);

int64_t object_domain_oid(const SysObjects *o, int64_t domain); /* 0: none */
int64_t object_type_oid(const SysObjects *o, Type t, int64_t domain);
int32_t object_typmod(Type t);
/* format_type(): in the objects' arena; typmod -1: none. "???": no such type. NULL without memory. */
const char *object_type_shown(const SysObjects *o, int64_t oid, int32_t typmod, bool typmod_given);
const char *object_schema_name(const SysObjects *o, int64_t oid); /* NULL: none */
int64_t object_schema(const SysObjects *o, const char *name);     /* 0: none */
int64_t object_schema_of(const SysObjects *o, const char *key);
const BuiltinType *builtin_types(int64_t *n);

#endif
