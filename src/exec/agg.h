/* agg.h - aggregation: groups keyed by vectors, states updated in bulk.
 *
 * Forms, chosen from the specification's key ranges and, at run time, from what arrives:
 *   single   no keys: one state per worker, tight SIMD reductions
 *   direct   the product of the keys' ranges is small: group number computed from the keys, arrays of states per worker
 *            (few groups: several interleaved copies of the states so that additions to one group do not wait for each
 *            other)
 *   hash     per-worker open-addressing table from packed or generic keys to state rows; merged at the end
 *            in parallel by hash partition; partitions spill to disk when memory runs out
 * Keys wider than 64 bits packed, strings and the like are stored in the group row and compared there.
 * Cells of a finished group are read with agg_load like columns: keys first, then aggregates.
 */
#ifndef STELE_EXEC_AGG_H
#define STELE_EXEC_AGG_H

#include "exec/rows.h"

typedef struct AggTable AggTable;
Status agg_new(const AggSpec *spec, int workers, Pool *pool, int threads, int64_t vector_size, MemAccount *acct,
               Vfs *vfs, const char *temp_dir, AggTable **out, Err *e);
void agg_free(AggTable *t);
void agg_set_stop(AggTable *t, const QueryStop *stop); /* 57014 from what takes long then; outlives t */
/* inputs2: second arguments (string_agg), or NULL. inputs[i].data NULL for count(*). */
Status agg_add(AggTable *t, int worker, int64_t n, const Vec *keys, const Vec *inputs, const Vec *inputs2, Err *e);
/* Of a table of one worker, with hashed keys, no aggregates and no files: adds n rows. fresh: the rows of groups that
 * were not there before, in the order of their first rows; room for n. They can be read with agg_load at once. */
Status agg_add_fresh(AggTable *t, int64_t n, const Vec *keys, const char **fresh, int64_t *n_fresh, Err *e);
Status agg_finish(AggTable *t, Err *e);
int64_t agg_groups(const AggTable *t);
char *agg_text(const AggTable *t, Arena *a);
/* Reading: morsels (a spilled partition is one; loading it is part of agg_morsel_open). */
typedef struct AggMorsel {
    const char *const *rows;
    int64_t n;
    void *state;
} AggMorsel;
int64_t agg_n_morsels(const AggTable *t);
Status agg_morsel_open(AggTable *t, int64_t morsel, AggMorsel *out, Err *e);
void agg_morsel_close(AggTable *t, AggMorsel *m);
/* Column imm (keys, then aggregates) of n group rows at pos[] (NULL: first..) of the morsel, final values. 22003 on a
 * sum out of range. */
Status agg_load(const AggTable *t, int32_t imm, const AggMorsel *m, int64_t first, const int32_t *pos, int64_t n,
                Vec *out, Arena *a, Err *e);

#endif
