/* replay_int.h - what replay.c and replay_bytes.c share, and only they include. */
#ifndef STELE_TXN_RUN_REPLAY_INT_H
#define STELE_TXN_RUN_REPLAY_INT_H

#include "txn/run/replay.h"

typedef struct ReplayGroup {
    const Proc *proc;
    int32_t number; /* of the group in its bulk */
    int64_t n, n_failed;
    Vec *params;
    uint32_t *calls;  /* NULL: its calls are all of the bulk's */
    uint32_t *failed; /* in no order */
} ReplayGroup;
/* A bulk: groups in `arena`, cells and strings in `block`. */
typedef struct ReplayBulk {
    struct ReplayBulk *next;
    Arena *arena;
    char *block;
    int64_t bytes; /* of both */
    int64_t block_bytes;
    int64_t n_calls; /* of the bulk, with those that are not kept */
    SessionInfo session;
    int32_t n_groups;
    ReplayGroup *groups;
    bool any_order; /* by group, in the order that they have here; else by number of call */
} ReplayBulk;
struct Replay {
    MemAccount *account;
    ReplayBulk *first, *last, *before_last;
    int64_t bytes, bulks, calls;
};

/* A bulk of which all is known is the last one. */
void replay_append(Replay *r, ReplayBulk *x);

#endif
