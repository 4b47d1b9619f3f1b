/* redo_chain.h - the logs of a database, one behind the other: which there are, that they belong together, and their
 * records.
 *
 * CURRENT says whether its generation has a log, where it begins, and which database and timeline it is of; one that is
 * missing is noticed. One that ends in an 'E' (redo_parts.h) is on the disk with it before the next one gets a record,
 * whose name was there before: so the next one is there too, and begins where this one ends. A log whose header says
 * that it goes on from one without an 'E' has no beginning, or that one was cut off.
 */
#ifndef STELE_DB_REDO_CHAIN_H
#define STELE_DB_REDO_CHAIN_H

#include "db/generation.h"
#include "log/redo_log.h"

typedef struct RedoChainLog {
    RedoReader reader;
    int64_t generation, next; /* next: the log goes on in that of this one; 0: it does not */
    int64_t n_records;        /* that were read */
} RedoChainLog;
typedef struct RedoChain {
    Vfs *vfs;
    const char *path; /* the database's directory */
    Arena *a;         /* the opener's, and what `all` has */
    Current current;
    GenerationList all;
    VEC(RedoChainLog) logs; /* open; the last one is being read */
    int64_t at_fault;       /* of an error: the generation whose log has it; 0: none */
} RedoChain;

/* vfs, path, a, current and all are set. Opens the log of the generation that CURRENT names; *there: false when it has
 * none. Whatever comes of it, redo_chain_close frees what there is. XX001 */
Status redo_chain_open(RedoChain *c, bool *there, Err *e);
/* The next record, of the last one in `logs`; *got: false behind the last one of the last log. XX001 */
Status redo_chain_next(RedoChain *c, RedoRecord *out, bool *got, Err *e);
const RedoChainLog *redo_chain_last(const RedoChain *c);
void redo_chain_close(RedoChain *c); /* all zero is fine */

#endif
