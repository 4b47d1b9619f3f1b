/* prepared.h - a session's prepared statements, for those that show them. */
#ifndef STELE_SESSION_DDL_PREPARED_H
#define STELE_SESSION_DDL_PREPARED_H

#include "session/core/session.h"

/* The i-th, the newest first; false: there is none. Good until the next PREPARE or DEALLOCATE. */
bool session_prepared_nth(const Session *s, int64_t i, const char **name, const SqlText **text);

#endif
