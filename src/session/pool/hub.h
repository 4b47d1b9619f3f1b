/* hub.h - the compiled procedures of a database, and SQL statements that bulks run as if each were one; what bulk.c and
 * its neighbours share. Only src/session/pool includes it.
 *
 * What is compiled anew. Each procedure keeps the names that it was made from (catalog/names.h), and what all of them
 * do to tables is kept as a registry (sql/pl/compile.h). So a definition that no procedure depends on costs a look at
 * these names. A new routine is compiled by itself where it fits the registry; all are compiled anew when it does not,
 * and when a compiled one has changed, is gone, or depends on something that has. Images stay, and are forgotten with
 * their tables (session_bulk_forget_table). One that lacks a column or an index for something new is made anew, once,
 * from all rows of its table (images_get).
 *
 * A statement never makes procedures be compiled anew. It is
 *   - shared, where it fits the registry, which may have tables besides that only statements use: those statements are
 *     compiled together, anew when one comes that does not fit them
 *   - alone, where it does to a table of the procedures what these do not reckon with, such as writing a column that
 *     none of them writes: it has a registry of its own, and a bulk has no other calls beside its own
 *   - refused, where it cannot be compiled, or changes columns that rows of the image are looked up by: it runs in the
 *     ordinary way
 * At most STATEMENTS_MAX are kept; those that were not used for longest go.
 *
 * Thread rules: under the database's lock held alone where something changes; hub_is_current and looking something up
 * under any lock.
 */
#ifndef STELE_SESSION_POOL_HUB_H
#define STELE_SESSION_POOL_HUB_H

#include "catalog/names.h"
#include "session/pool/bulk.h"
#include "session/pool/bulk_log.h"
#include "session/pool/bulk_state.h"
#include "session/pool/callpool.h"
#include "sql/pl/compile.h"

enum { STATEMENTS_MAX = 256, GUESS_FIRST = 4 };

/* Memory of procedures that were compiled together. */
typedef struct HubBatch {
    Arena *arena;
    int64_t refs; /* procedures that are in use */
} HubBatch;
typedef struct HubProc {
    int64_t id;       /* of the routine */
    HubBatch *batch;  /* of proc; NULL: there is none */
    const Proc *proc; /* NULL: it cannot be read, or is polymorphic */
    NameDeps deps;    /* names that it was made from; what they name is kept in the batch, or (batch NULL) `own` */
    Arena *own;
    uint64_t digest;      /* bulk_redo_digest */
    const char *by_cells; /* why a bulk of it is logged by cells, in the batch; NULL: it need not be */
    double call_ns;       /* what a call took in the last bulk of some size; 0: there was none */
    int64_t guess; /* rows that a call may insert into a table, where the number is not known before: more than recent
                      calls inserted */
} HubProc;

typedef enum HubState { STATEMENT_NEW, STATEMENT_SHARED, STATEMENT_ALONE, STATEMENT_REFUSED } HubState;
typedef struct HubStatement {
    Arena *arena;
    Slice sql;
    uint64_t path; /* SearchPath.hash that it was read under */
    int32_t n_ins;
    Routine routine; /* id < 0 */
    HubState state;
    bool extends; /* shared, and uses tables that no procedure uses */
    HubProc code;
    _Atomic int64_t used; /* BulkHub.clock then */
} HubStatement;

typedef struct BulkHub {
    Database *db;
    _Atomic int64_t definitions; /* catalog_definitions under which all code was found good last; 0: there is none */
    int64_t n, cap;
    HubProc *procs; /* by place in the catalog's list of routines */
    Arena *kept_arena, *with_arena;
    const PlRegistry *kept, *with; /* of the procedures; and of shared statements, too, NULL: of none (hub_base) */
    NameDeps with_tables;
    HubStatement *statements[STATEMENTS_MAX];
    int64_t n_named; /* statements so far */
    _Atomic int64_t clock;
    BulkState state;
    CallPool *_Atomic pool; /* calls of many connections; made when first needed */
    bool vm_known;
    BulkMeasured vm;             /* of the virtual machine */
    _Atomic uint64_t generation; /* another one when procedures or statements have been compiled anew */
    int64_t n_compiled;          /* procedures and statements so far, those that were compiled anew each time */
    BulkLog log;
} BulkHub;

/* What new code has to fit: procedures, and shared statements where there are any; NULL: nothing is compiled yet. */
static inline const PlRegistry *hub_base(const BulkHub *h) { return h->with ? h->with : h->kept; }

Status hub_make(Session *s, BulkHub **out);
/* All code is as the catalog has it. Under any lock; h may be NULL. */
bool hub_is_current(BulkHub *h);
/* The database's procedures as they are now. Under the lock held alone, images not ahead where they were not current.
 * 53200. */
Status hub_get(Session *s, BulkHub **out);
HubProc *hub_proc(BulkHub *h, int64_t id); /* NULL: not compiled */
static inline const Proc *hub_code(BulkHub *h, const Routine *r) {
    const HubProc *p = hub_proc(h, r->id);
    return p ? p->proc : NULL;
}
bool hub_guesses_rows(const Proc *p); /* only running it tells how many rows it inserts */
/* Between hub.c and hub_statements.c. */
Status hub_batch_new(BulkHub *h, HubBatch **out, Err *e);
void hub_proc_drop(BulkHub *h, HubProc *p); /* and the batch with its last one; nothing runs, images are not ahead */
Status hub_compile(Session *s, const PlSources *x, HubBatch *b, PlCompiled *out);
Status hub_keep(BulkHub *h, const PlRegistry *made, Err *e);  /* `kept` has it, too */
Status hub_share(BulkHub *h, const PlRegistry *made, Err *e); /* `with` has it, too; what it had on a table stays */
void hub_statements_drop(BulkHub *h, bool all); /* code: all, or of shared ones on tables that only they use */
void hub_statements_check(BulkHub *h);          /* drops code whose names have changed */
bool hub_statements_hold(BulkHub *h);
void hub_statements_free(BulkHub *h);
HubStatement *hub_statement(const BulkHub *h, int64_t id); /* NULL: gone */

#endif
