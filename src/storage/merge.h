/* merge.h - merges [Merge]: what is open, patched or deleted of a table becomes packed tablets.
 *
 * The table's new state is built beside the old one, by all threads of the pool, and takes its place as a whole;
 * whatever fails or ends a merge before that leaves the table as it was. Row numbers mean something else afterwards
 * (table_generation). Nothing else changes the table meanwhile.
 */
#ifndef STELE_STORAGE_MERGE_H
#define STELE_STORAGE_MERGE_H

#include "storage/table.h"

/* What a merge has done. */
typedef struct MergeFigures {
    int64_t ns; /* from begin to end */
    /* Processor time of steps, of all threads: 1a, the delta's dictionaries; 1b, merged ones, and the maps to them; 2,
     * the columns of new tablets. */
    int64_t delta_ns, dict_ns, codes_ns;
    int64_t index_ns, stats_ns;      /* of key indexes and statistics, from begin to end */
    int64_t kept, made;              /* tablets that stay as they are; new ones */
    int64_t bytes_in, bytes_out;     /* of all tablets before and afterwards */
    int64_t entries_in, entries_out; /* of dictionaries */
} MergeFigures;

typedef struct MergeOptions {
    Pool *pool; /* NULL: this thread */
    /* Called now and then by the thread that merges, with the share that is done; true ends the merge: 57014. NULL: it
     * goes on to its end. */
    bool (*stop)(void *ctx, double done);
    void *ctx;
    MergeFigures *figures; /* NULL: not wanted */
} MergeOptions;
static inline bool merge_stops(const MergeOptions *o, double done) { return o->stop && o->stop(o->ctx, done); }
static inline Status merge_stopped(Err *e) {
    return err_set(e, ERR_QUERY_CANCELED, "canceling statement due to user request");
}
/* 55000: an undo log names the table. */
Status table_merge_with(Table *t, const MergeOptions *o, Err *e);

#endif
