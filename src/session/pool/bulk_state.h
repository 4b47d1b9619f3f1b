/* bulk_state.h - the images of a database's tables: which changes they have that the tables do not, and what becomes of
 * those when a device is lost.
 *
 * Bulks leave changes in images that tables do not have yet, on the host or in a device's memory. While that memory is
 * the device's own, the inputs of bulks are kept (txn/run/replay.h, settings bulk_replay and bulk_replay_memory), and a
 * device that is lost costs time: images are made anew from the tables, the bulks run again on the virtual machine, and
 * so does the one that found out. The tables are brought up to date first
 *   - when the first bulk is about to run on such a device while images are ahead without inputs, from bulks on the
 * host
 *   - when inputs take more than bulk_replay_memory, before the next bulk
 *   - behind a bulk whose inputs cannot be kept: there is no memory, or it asks for settings
 * With bulk_replay = off what bulks have left on a device is lost with it: the first statement that needs it fails with
 * 58000, once, and the tables are as they were when they were last brought up to date.
 *
 * Garbage. Images do not use row numbers and memory of strings again, tables keep what was deleted and overwritten
 * until they are merged, and a device that is ahead has all of it to itself. So before a bulk what may have come of
 * that is compared with what the database's tables hold: when it is an eighth, the tables are brought up to date, those
 * with most of it are packed, and their images are made anew. A workload of constant size then takes memory of constant
 * size, also where nothing ever reads.
 *
 * Undo. A statement that fails behind its bulk (bulk_call in FROM) undoes it (Session.bulk.undo). Bringing tables up to
 * date with an undo log for that takes longer than the calls, so where nothing in the statement reads the tables the
 * changes stay in images, and there is a way back from there. On the virtual machine that is what its calls log, of
 * few calls: what images were ahead by before stays. Otherwise bulk_state_run brings
 * the tables up to date before the calls, unless a device is ahead by inputs that are kept, and then
 *   - on the host, where the tables' cells lie in the images, they are copied before the calls when that is little for
 *     so many calls; else tables get cells of their own (home_leave). Undone, the cells are put back, and the images
 *     are dropped
 *   - what a device has is dropped, and where it was ahead the bulks before run again on the virtual machine, as if it
 *     had been lost: undoing takes as long as these bulks do, on the processors.
 *
 * Thread rules: under the database's lock, held alone.
 */
#ifndef STELE_SESSION_POOL_BULK_STATE_H
#define STELE_SESSION_POOL_BULK_STATE_H

#include "session/core/session.h"
#include "txn/run/replay.h"

/* How the bulk of a statement that is still under way is undone when that fails. */
typedef enum BulkBack {
    BACK_NONE,   /* it stands, or there is none */
    BACK_LOGS,   /* what its calls have changed is taken back by their logs (call_logs.c) */
    BACK_TABLES, /* images are dropped: tables are as before it, once cells that are theirs (saved) are put back */
    BACK_INPUTS  /* images were ahead before it by what `replay` has, and are made from that again */
} BulkBack;

typedef struct BulkState {
    Database *db;
    ImageSet *images;       /* NULL: none yet */
    _Atomic bool unapplied; /* some image may be ahead of its table; read under any lock */
    Replay *replay;         /* NULL: nothing was ever kept */
    int64_t dead_looked;    /* table_dead_texts of all tables when bulk_state_trim looked last */
    bool covered;           /* images are ahead by what `replay` has, and nothing else */
    bool by_cells;          /* the bulk that runs is logged so */
    bool quiet;             /* the commit logs what tables are brought up to date with */
    struct BulkWayBack {
        BulkBack back;
        Arena *arena; /* of `saved`; NULL: nothing is */
        ImagesSave *saved;
        bool kept;    /* its own inputs are in `replay` */
        bool covered; /* BulkState.covered, once it stands */
        bool remote;  /* a device with memory of its own has its changes */
    } undo;
    Mutex views; /* of rows on devices, while one is made: readers come beside each other */
} BulkState;

ImageSet *bulk_state_images(BulkState *x, Err *e); /* new ones */
void bulk_state_clear(BulkState *x);               /* images and inputs go */
void bulk_state_forget_inputs(BulkState *x);       /* before a procedure of them goes; images are not ahead */
/* Tables are brought up to date. 58000: a device was lost, and what it was ahead by. */
Status bulk_state_sync(BulkState *x, UndoLog *undo, Err *e);
/* Before a bulk, or at the end of a statement: what is garbage goes, when it has become much. Not while a statement's
 * plan has looked at tables (bulk_call in FROM). */
Status bulk_state_trim(Session *s, BulkState *x);
/* memory_limit has refused something: tables are brought up to date and packed, and what bulks can make anew goes; x
 * NULL: there were no bulks. Outside of transactions and of bulk_call in FROM. True: there is more room now. */
bool bulk_state_give_back(Session *s, BulkState *x);
/* The statement of a bulk that has a way back has come to its end: the bulk stands, or is undone. The lock was not
 * given up since. stands: tables may be brought up to date. go_back: nothing is refused for memory_limit. 58000, as for
 * a device that was lost, when earlier bulks could not be run again; then it says what is lost. */
void bulk_state_stands(Session *s, BulkState *x);
Status bulk_state_go_back(BulkState *x, Err *e);
struct BulkLogged;
/* images_get and bulk_run; procs: of the groups; how: it is logged (bulk_redo.h). The tables may be brought up to date
 * before and behind it, by the session. */
Status bulk_state_run(Session *s, BulkState *x, int32_t n, const CallGroup *groups, const Proc *const *procs,
                      BulkOptions *opt, struct BulkLogged *how, BulkResult **out);
/* images_get and bulk_footprints, likewise. */
Status bulk_state_footprints(Session *s, BulkState *x, int32_t n, const CallGroup *groups, const Proc *const *procs,
                             BulkOptions *opt, Arena *a, BulkOps *out);

#endif
