/* sequence.h - sequences: definitions, and the numbers that they have given.
 *
 * A Sequence is a definition and is never changed: another one takes its place. What changes is its SequenceState, the
 * number that was given last, which all definitions of a sequence share until one of them begins with a state of its
 * own (ALTER SEQUENCE with other than OWNED BY and RENAME). So a number once given never comes again: no transaction
 * undoes what happens in a state, only which state a sequence has.
 *
 * Thread rules. Definitions are under the database lock, as the whole catalog. A state has a mutex for the few
 * instructions of a step, for any number of sessions at a time: a session that takes numbers holds the database
 * lock at least shared, so that the definition does not change meanwhile.
 *
 * The algorithm is PostgreSQL's (commands/sequence.c), log_cnt included, so that a sequence read as a table shows the
 * same values.
 */
#ifndef STELE_CATALOG_SEQUENCE_H
#define STELE_CATALOG_SEQUENCE_H

#include <stdatomic.h>

#include "base/epoch.h"
#include "base/mutex.h"
#include "types/type.h"

typedef struct SequenceValues {
    int64_t last;    /* given last; before the first: the one that comes first */
    int64_t log_cnt; /* PostgreSQL's: how many more it would give without a record in its log */
    bool is_called;  /* last has been given */
} SequenceValues;

typedef struct SequenceState {
    _Atomic int64_t refs; /* definitions that have it */
    int64_t number;       /* of the process; never used again: sessions know by it whether numbers they keep are good */
    Mutex lock;           /* of what follows */
    SequenceValues now;
    _Atomic int64_t lsn; /* of the redo log, up to what was logged of it last; of who logs it */
    int64_t logged;      /* SequenceLog.since when it was last logged; 0: never */
    bool is_committed;   /* a catalog on the disk or in the redo log has it; before, none of its numbers are logged: the
                            catalog that will have it says which number was last. Under the database lock held alone */
} SequenceState;

typedef struct Sequence {
    EpochNode node; /* once retired */
    int64_t id;     /* never used again; another definition of the sequence keeps it */
    char *name;
    Type type; /* smallint, integer, bigint */
    int64_t start, increment, min, max, cache;
    bool cycle;
    bool unlogged;                    /* as Table.unlogged */
    bool identity;                    /* it is that of an identity column, its owner */
    char *owner_table, *owner_column; /* the column that it goes with; NULL: none */
    SequenceState *state;             /* a reference */
} Sequence;

/* A copy. state NULL: with a new one of these values. */
Sequence *sequence_new(const Sequence *like, const SequenceValues *values, Err *e);
void sequence_free(Sequence *q);
/* Instead of freeing one that readers without the lock may still have. */
void sequence_retire(EpochDomain *d, Sequence *q);

SequenceValues sequence_values(const Sequence *q); /* now */
/* Where numbers are logged before they are given, as many in advance as PostgreSQL does. An error refuses the number.
 */
typedef struct SequenceLog {
    void *ctx;
    int64_t since; /* what was logged with another one has to be logged again */
    Status (*put)(void *ctx, const Sequence *q, int64_t last, bool is_called, Err *e);
} SequenceLog;
/* Gives the next number, and keeps those behind it up to *kept for the caller, where the sequence has a CACHE: *kept is
 * *out, *out + increment or further. log NULL: they are not logged. 2200H */
Status sequence_next(const Sequence *q, const SequenceLog *log, int64_t *out, int64_t *kept, Err *e);
/* setval(); 22003 */
Status sequence_set(const Sequence *q, int64_t value, bool is_called, const SequenceLog *log, Err *e);
/* The least and greatest number of its type. */
void sequence_type_range(Type t, int64_t *min, int64_t *max);

#endif
