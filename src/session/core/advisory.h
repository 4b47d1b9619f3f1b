/* advisory.h - advisory locks: pg_advisory_lock and its like.
 *
 * Locks on numbers, which mean what their users make of them: shared or exclusive, of the session, or of the
 * transaction, which frees them when it ends, or when it goes back behind their taking. They are in the hub of
 * transactions (db/lock.h), under its mutex, and have nothing to do with the database lock.
 *
 * Who has to wait does it without the database lock: its statement steps back and runs again, as one does that waits
 * for rows (transaction_rows.c). What it has had of these functions by then is kept: run again, the statement gets the
 * same results for the same calls, and holds meanwhile what it has taken. A statement that cannot run again, or whose
 * transaction keeps the database lock to its end, waits where it is.
 *
 * A circle, through rows of transactions too, is found by who would close it (40P01); lock_timeout bounds each wait.
 */
#ifndef STELE_SESSION_CORE_ADVISORY_H
#define STELE_SESSION_CORE_ADVISORY_H

#include "session/core/session.h"

typedef struct AdvisoryKey {
    int64_t number; /* of two integers: the first in the upper half */
    int16_t parts;  /* 1: a bigint, 2: two integers, which are other locks */
} AdvisoryKey;

/* s->block.holder of a statement that waits for an advisory lock. */
enum { ADVISORY_HOLDER = -1 };

typedef struct AdvisoryWish {
    AdvisoryKey key;
    bool shared, of_txn;
    bool tries; /* does not wait */
} AdvisoryWish;
/* ST_ERROR with s->block.holder set: the statement is to step back. 40P01, 55P03, 57014. */
Status advisory_lock(Session *s, const AdvisoryWish *w, bool *got);
/* One of the session's own; *had: there was such a lock. */
Status advisory_unlock(Session *s, AdvisoryKey key, bool shared, bool *had);
Status advisory_unlock_all(Session *s);

/* The statement begins; again: what it has had by now is kept for it. */
void advisory_begin_statement(Session *s, bool again);
/* Without the database lock: waits for what the statement has stepped back for, and takes it. */
Status advisory_wait(Session *s);

/* Locks of the transaction so far, and back to that many. */
int64_t advisory_mark(const Session *s);
void advisory_back_to(Session *s, int64_t mark);
void advisory_end_session(Session *s);

/* Whether `from` is `to`, or waits, by advisory locks or rows, for it, perhaps through others. With the hub's mutex. */
bool advisory_reaches(const TxnHub *h, const Session *from, const Session *to);
/* In waits for rows, with the hub's mutex: for the transaction of that number; 0: no more. */
void advisory_note_row_wait(Session *s, int64_t txn);

/* What is held and waited for, in the arena. */
typedef struct AdvisoryInfo {
    AdvisoryKey key;
    bool shared, granted;
    int64_t session;
    int64_t since_micros; /* of those that wait: since then; 0 */
} AdvisoryInfo;
Status advisory_list(Session *s, Arena *a, int64_t *n, AdvisoryInfo **out);

#endif
