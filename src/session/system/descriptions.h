/* descriptions.h - comments by the objects' numbers. */
#ifndef STELE_SESSION_SYSTEM_DESCRIPTIONS_H
#define STELE_SESSION_SYSTEM_DESCRIPTIONS_H

#include "session/system/objects.h"

/* The comment on an object of a catalog ("pg_class"; NULL: of any), or on its column `sub` (0: on itself); NULL: none.
 */
const char *object_comment(const SysObjects *o, const char *catalog, int64_t oid, int64_t sub);

#endif
