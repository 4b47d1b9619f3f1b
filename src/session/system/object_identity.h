/* object_identity.h - what objects are called in words: pg_describe_object, pg_identify_object. */
#ifndef STELE_SESSION_SYSTEM_OBJECT_IDENTITY_H
#define STELE_SESSION_SYSTEM_OBJECT_IDENTITY_H

#include "session/system/objects.h"

/* What pg_identify_object says of a row of a catalog, or (sub > 0) of a column of a relation; description: what
 * pg_describe_object does. All NULL: there is no such object. In a. */
typedef struct ObjectIdentity {
    const char *type, *schema, *name, *identity, *description;
} ObjectIdentity;
Status object_identity(const SysObjects *o, Arena *a, int64_t catalog, int64_t oid, int64_t sub, ObjectIdentity *out,
                       Err *e);

#endif
