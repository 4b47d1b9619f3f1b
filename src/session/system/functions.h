/* functions.h - what a session gives to functions and types on the catalog (SessionInfo): the context is the Session.
 */
#ifndef STELE_SESSION_SYSTEM_FUNCTIONS_H
#define STELE_SESSION_SYSTEM_FUNCTIONS_H

#include "session/core/session.h"

Status session_oid_name(void *ctx, int kind, int64_t oid, Arena *a, Str *out, Err *e);
Status session_oid_find(void *ctx, int kind, Slice name, int64_t *out, Err *e);
Status session_catalog_call(void *ctx, const char *name, int n, const Value *args, Arena *a, Value *out, Err *e);

#endif
