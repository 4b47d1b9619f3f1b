/* access_methods.h - PostgreSQL 15's access methods of indexes and their operator classes, by which definitions of
 * indexes are checked and shown. Only unique indexes are built here, all in one way (storage/keyindex.h). */
#ifndef STELE_SESSION_SYSTEM_ACCESS_METHODS_H
#define STELE_SESSION_SYSTEM_ACCESS_METHODS_H

#include "session/system/objects.h"

typedef struct AccessMethod { /* PostgreSQL's: what it can do */
    int64_t oid, handler;
    const char *name;
    bool order, unique, multicolumn, include, cluster;
} AccessMethod;
typedef struct OperatorClass {
    int64_t oid, method;
    const char *name;
    int64_t family, type;
    bool is_default;
    int64_t key; /* type of keys, where it is another; 0 */
    const char *family_name;
} OperatorClass;

const AccessMethod *access_methods(int64_t *n);
const AccessMethod *access_method(const char *name); /* NULL: there is none */
const OperatorClass *operator_classes(int64_t *n);
/* The method's for values of the type where none is named; NULL: it has none. */
const OperatorClass *operator_class_default(const SysObjects *o, const AccessMethod *m, Type t);
/* The one of that name. 42704: there is none; 42804: it does not take the type. */
Status operator_class_find(const SysObjects *o, const AccessMethod *m, Type t, int64_t domain, const char *name,
                           const OperatorClass **out, Err *e);

#endif
