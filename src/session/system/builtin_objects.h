/* builtin_objects.h - objects that every database has, with PostgreSQL's numbers, by the catalogs that they are rows
 * of.
 *
 * Of text search there are the names only. Access methods and their operator classes: access_methods.h; functions:
 * definitions.h.
 */
#ifndef STELE_SESSION_SYSTEM_BUILTIN_OBJECTS_H
#define STELE_SESSION_SYSTEM_BUILTIN_OBJECTS_H

#include "session/system/objects.h"

enum { /* oids of catalogs */
       IN_TYPE = 1247,
       IN_PROC = 1255,
       IN_CLASS = 1259,
       IN_AUTHID = 1260,
       IN_DATABASE = 1262,
       IN_AM = 2601,
       IN_CAST = 2605,
       IN_CONSTRAINT = 2606,
       IN_LANGUAGE = 2612,
       IN_NAMESPACE = 2615,
       IN_OPCLASS = 2616,
       IN_OPERATOR = 2617,
       IN_OPFAMILY = 2753,
       IN_TABLESPACE = 1213,
       IN_EXTENSION = 3079,
       IN_COLLATION = 3456,
       IN_POLICY = 3256,
       IN_TS_DICT = 3600,
       IN_TS_CONFIG = 3602
};
typedef struct BuiltinObject {
    int64_t in, oid;
    const char *name;
} BuiltinObject;
/* By its name, of one of languages, extensions, tablespaces, collations, text search configurations and dictionaries.
 * NULL: there is none. */
const BuiltinObject *builtin_object(int64_t in, const char *name);
const BuiltinObject *builtin_object_nth(int64_t i); /* NULL behind the last */

typedef struct BuiltinOperator {
    int64_t oid;
    const char *name;
    char kind;
    bool merges, hashes;
    int64_t left, right, result, commutator, negator, code, selectivity, join_selectivity;
} BuiltinOperator;
const BuiltinOperator *builtin_operators(int64_t *n);
typedef struct BuiltinCast {
    int64_t oid, from, to, function;
    char context, method;
} BuiltinCast;
const BuiltinCast *builtin_casts(int64_t *n);

#endif
