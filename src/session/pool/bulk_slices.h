/* bulk_slices.h - what a bulk in slices (bulk_slices.c) needs of bulks (bulk.c), and what tests need of it. */
#ifndef STELE_SESSION_POOL_BULK_SLICES_H
#define STELE_SESSION_POOL_BULK_SLICES_H

#include "session/pool/bulk.h"

/* Calls of a slice at least: with fewer, what a bulk takes says little about calls. Long calls say it sooner. */
static inline int64_t bulk_slice_min(double call_ns) {
    enum { CALLS = 1024, LONG_CALLS = 256, LONG_NS = 10000 };
    return call_ns >= LONG_NS ? LONG_CALLS : CALLS;
}

/* A bulk as session_bulk_run runs it, without its entry in stele_bulks. */
Status bulk_run_slice(Session *s, int32_t n_groups, const BulkCalls *groups, CallPipeline *pipeline, BulkResult **out);
/* Bulks of the session run where memory is not the host's. */
bool bulk_is_remote(Session *s);
/* The entry; under any lock or none, after a bulk. why_cut: a constant. */
void bulk_note(const Session *s, const BulkStats *stats, const char *why_cut);
/* The entry of one that has failed as a whole, as the session's error says. started: clock_ns. */
void bulk_note_failure(const Session *s, int32_t n_groups, const BulkCalls *groups, int64_t started,
                       const char *why_cut);
/* What a call takes, after a bulk; before: so far, 0: not known. Getting ready is not in it: kernels may have been
 * compiled, images sent. Where other processes use the processors a bulk may take many times longer than the one before
 * it; cutting smaller would only make more of that, so it becomes more in small steps only. */
double bulk_call_ns(double before, const BulkStats *x);
/* What the calls will take, as the bulks before them did; 0: not known. Under the lock held alone. */
double bulk_expected_ns(const Session *s, int32_t n_groups, const BulkCalls *groups);
/* OUT values of a routine, and columns for n calls of it, all NULL. */
int bulk_out_count(const Routine *r);
Status bulk_out_columns(Arena *a, const Routine *r, int64_t n, Vec **out);

/* Tests: called by the thread of a bulk when it has given up the lock between two slices. Not while bulks run. */
void bulk_slices_watch(void (*between)(void *ctx), void *ctx);

#endif
