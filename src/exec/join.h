/* join.h - the hash join's table: built by one segment, probed by others.
 *
 * Build rows go to row-wise storage per worker; join_finish then looks at the actual keys and picks
 * the form (join_int.h describes them):
 *   bitmap       exists_only, one integer key in a small enough domain: one bit per value
 *   array        one integer key, every value of the domain present: row number = key - min
 *   dense index  one integer key (or packed keys) with gaps: a bit per value and running counts give the row number
 *   hash         a directory of buckets with 16 tag bits each
 * In all of them the rows end up in one array in which the rows of a key (or bucket) are neighbours.
 * Several narrow integer keys arrive already packed into one I64 by KEY_PACK when ranges are known.
 * NULL keys are not stored unless null_equal or track_matched (unmatched scan must return them).
 * When memory runs out during the build, rows are partitioned by hash (radix) and partitions go to disk; the
 * probe side of those partitions is stored too and joined partition by partition afterwards (see "spill" below).
 *
 * Probes are vectorised: hashes/indices of all rows first, with prefetch, then comparisons. A match is a
 * pointer to the build row as int64 (the I64 row register); -1 = none.
 */
#ifndef STELE_EXEC_JOIN_H
#define STELE_EXEC_JOIN_H

#include "exec/rows.h"

typedef struct JoinTable JoinTable;
Status join_new(const JoinSpec *spec, int workers, Pool *pool, int threads, MemAccount *acct, Vfs *vfs,
                const char *temp_dir, JoinTable **out, Err *e);
void join_free(JoinTable *j);
void join_set_stop(JoinTable *j, const QueryStop *stop); /* 57014 from what takes long then; outlives j */
Status join_build(JoinTable *j, int worker, int64_t n, const Vec *keys, const Vec *payload, Err *e);
Status join_finish(JoinTable *j, Err *e);
/* Rows built, without those dropped for a NULL key (see join_has_null_key). */
int64_t join_rows(const JoinTable *j);
char *join_text(const JoinTable *j, Arena *a);

/* Probe state of one vector; scratch buffers sized for the vector size at init. */
typedef struct JoinProbe JoinProbe;
Status join_probe_new(const JoinTable *j, int64_t vector_size, MemAccount *acct, JoinProbe **out, Err *e);
void join_probe_free(JoinProbe *p);
/* Starts probing n rows. The keys' data must stay as it is until join_probe_next has returned 0. */
void join_probe_begin(JoinProbe *p, int64_t n, const Vec *keys);
/* Next matches: up to `cap` (probe index, build row) pairs in probe order; 0 = done. */
int64_t join_probe_next(JoinProbe *p, int64_t cap, int32_t *probe_idx, int64_t *rows);
/* First match per row for unique builds / SEMI / ANTI / MARK: match[i] = build row or -1 (bitmap form: 0 or -1). One
 * pass, no loop. */
void join_probe_first(JoinProbe *p, int64_t n, const Vec *keys, int64_t *match);
bool join_is_unique(const JoinTable *j); /* no key has two rows: probe_first suffices for INNER and LEFT */
bool join_has_null_key(const JoinTable *j);
/* Column of build rows (rows[i] < 0: NULL). imm as in JoinSpec. */
void join_load(const JoinTable *j, int32_t imm, int64_t n, const int64_t *rows, Vec *out);
void join_mark_matched(JoinTable *j, int64_t n, const int64_t *rows); /* concurrent-safe */
/* Reading build rows by matched flag: morsels. Fills up to cap row pointers starting from *cursor of morsel m. */
int64_t join_n_morsels(const JoinTable *j);
int64_t join_morsel_rows(const JoinTable *j, int64_t morsel, bool matched, int64_t *cursor, int64_t cap, int64_t *rows);

/* ---- spill: only when join_finish found part of the build side on disk ----
 * join_is_partitioned: probe_first/next must not be used directly; instead each probe vector is split:
 * rows of resident partitions are probed at once; the others are stored with all carried registers by the vm
 * into probe-side row stores (one per partition) and the vm re-runs the rest of the program for each partition after
 * the segment's source is exhausted. After join_finish partition 0 is resident, and always exactly one is.
 * join_morsel_rows and join_n_morsels see the resident partition only; matched flags survive when it is replaced, so
 * SRC_JOIN loads each partition in turn once all probing is done. Row pointers die with join_partition_load. */
bool join_is_partitioned(const JoinTable *j);
int32_t join_n_partitions(const JoinTable *j);
/* part[i] for each probe row (-1: NULL key, cannot match). */
void join_partition_of(const JoinTable *j, int64_t n, const Vec *keys, int32_t *part);
bool join_partition_resident(const JoinTable *j, int32_t part);
/* Loads a partition (replacing the resident one) for single-threaded or parallel probing. */
Status join_partition_load(JoinTable *j, int32_t part, Err *e);

#endif
