/* xact.h - numbers of transactions: pg_current_xact_id, pg_xact_status and their like.
 *
 * A transaction has none before it asks for its own. They grow, also from one opening of the database to the next, as
 * the first is made of the time; what became of a transaction is known of the last XACTS_KEPT numbers (db/lock.h) since
 * the database was opened.
 */
#ifndef STELE_SESSION_CORE_XACT_H
#define STELE_SESSION_CORE_XACT_H

#include "session/core/session.h"

/* That of the session's transaction, which gets one if it has none. */
int64_t xact_number(Session *s);
void xact_end(Session *s, bool committed);
/* "in progress", "committed", "aborted"; NULL: not known any more. 22023: that of no transaction yet. */
Status xact_status(Session *s, int64_t number, const char **out, Err *e);

#endif
