/* bulk_slices.c - a long bulk as consecutive smaller ones, so that others need not wait for all of it.
 *
 * The result of a bulk is that of its calls one by one in timestamp order, so a bulk of the first calls and then one of
 * the rest give the same. With bulk_order = any calls may be cut anywhere: those of one routine after the other, so
 * that the order of the groups is the result's.
 *
 *   1. how many calls take bulk_slice is estimated from the bulks before, and from each slice for the next
 *   2. a slice runs as a bulk of its own (bulk_run_slice)
 *   3. its results go to their places in the result of the whole
 *   4. when others wait for the lock, they run now: it is taken again behind them, before those that come later
 *
 * As long as nothing waits the lock is kept, and slices cost nothing but being smaller bulks. What others did in
 * between is to the calls that are left as it is to a new bulk: calls of a routine that was dropped or replaced fail
 * (42883), tables are looked up again. An error that fails a whole bulk fails the bulk when it comes in the first
 * slice; later it is the error of each call that is left, since the others have happened. So is the end of a wait for
 * the lock (55P03), and cancelling: as in a bulk that runs (txn/run/bulk.h), calls that have not begun fail with 57014.
 *
 * Not for a bulk that must be undone as a whole, nor one whose arguments a device has already.
 */
#include "session/pool/bulk_slices.h"
#include "session/pool/bulk_forms.h"

#include "session/pl/pl_run.h"

enum { SHORT = 4 /* bulks that take less than so many slices are not cut */, FIRST_CALLS = 4096 };

static void (*watch)(void *ctx);
static void *watch_ctx;
void bulk_slices_watch(void (*between)(void *ctx), void *ctx) {
    watch = between;
    watch_ctx = ctx;
}

typedef struct SlicedBulk {
    Session *s;
    int32_t n_groups;
    const BulkCalls *groups;
    CallPipeline *pipeline; /* NULL: none */
    Arena *arena;           /* the result's, until it is given away */
    BulkResult *result;
    CallError *last_error;         /* room for the error of all calls that are left */
    int64_t *ids;                  /* routines */
    int *n_outs;                   /* by group: its OUT values */
    int64_t *at;                   /* by group: its calls that are done */
    int64_t n, done;               /* all calls; those that have run or failed */
    uint32_t *group_of;            /* by call in the order in which they run; NULL: there is one group */
    double call_ns;                /* of the last slice; 0: none has run */
    BulkStats held;                /* since the lock was taken, for stele_bulks; */
    int64_t logged, logged_failed; /* calls that are in it already */
    VEC(CallNotice) notices;
    VEC(BulkResult *) kept; /* slices' results that the whole one points into */

    /* the slice */
    BulkCalls *part;    /* its groups, those that have calls in it */
    int32_t *part_of;   /* by part: the group */
    int64_t *part_n;    /* by group: its calls in the slice */
    uint32_t **numbers; /* by group: room for the numbers of all its calls */
    Vec **params;       /* by group */
    int32_t n_parts;
    BulkStop stop; /* by the whole bulk's numbers */
} SlicedBulk;

static int in_count(const Routine *r) {
    int n = 0;
    for (int i = 0; i < r->n_params; i++) n += r->param_modes[i] == 'i' || r->param_modes[i] == 'b';
    return n;
}

/* ---- stopping single calls ---- */
static bool any_stops(void *ctx) {
    const BulkStop *of = ((SlicedBulk *)ctx)->pipeline->stop;
    return of->any(of->ctx);
}
static bool call_stops(void *ctx, int32_t group, int64_t call) {
    const SlicedBulk *b = ctx;
    const BulkStop *of = b->pipeline->stop;
    const int32_t k = b->part_of[group];
    return of->call(of->ctx, k, b->at[k] + call);
}

/* ---- making ready ---- */
static void free_slices(void *p) {
    const SlicedBulk *b = p;
    for (int64_t i = 0; i < b->kept.len; i++) bulk_result_free(b->kept.items[i]);
}
/* Room for the results of a group. It is written slice by slice: others would wait while all of it was. */
static Status make_results(Arena *a, const BulkCalls *g, CallError ***errors, Vec **outs) {
    *errors = arena_alloc(a, (g->n + 1) * (int64_t)sizeof(CallError *));
    if (!*errors || bulk_out_columns(a, g->routine, 0, outs) != ST_OK) return ST_ERROR;
    for (int i = 0; i < bulk_out_count(g->routine); i++) {
        Vec *v = &(*outs)[i];
        v->data = arena_alloc(a, (g->n + 1) * phys_size((Phys)v->phys));
        v->valid = arena_alloc(a, g->n + 1);
        if (!v->data || !v->valid) return ST_ERROR;
    }
    return ST_OK;
}
static Status make_group(SlicedBulk *b, int32_t k) {
    const BulkCalls *g = &b->groups[k];
    Arena *a = b->arena;
    b->ids[k] = g->routine->id;
    b->n_outs[k] = bulk_out_count(g->routine);
    b->params[k] = arena_array(a, Vec, in_count(g->routine) + 1);
    if (b->group_of) b->numbers[k] = arena_alloc(a, (g->n + 1) * 4);
    if (!b->params[k] || (b->group_of && !b->numbers[k])) return ST_ERROR;
    return make_results(a, g, &b->result->errors[k], &b->result->outs[k]);
}
/* Which group comes when. */
static Status make_order(SlicedBulk *b, bool any) {
    if (!(b->group_of = arena_array(b->arena, uint32_t, b->n + 1))) return ST_ERROR;
    int32_t *order = any ? arena_array(b->arena, int32_t, b->n_groups) : NULL;
    if (any && !order) return ST_ERROR;
    for (int64_t k = 0, first = 0; k < b->n_groups; first += b->groups[k++].n) {
        for (int64_t i = 0; i < b->groups[k].n; i++) b->group_of[any ? first + i : b->groups[k].calls[i]] = (uint32_t)k;
        if (any) order[k] = (int32_t)k;
    }
    b->result->group_order = order;
    return ST_OK;
}
static Status make(SlicedBulk *b) {
    Arena *a = b->arena;
    const int32_t n = b->n_groups;
    const bool any = strcmp(b->s->settings.bulk.order, "any") == 0;
    b->result = arena_new_of(a, BulkResult);
    b->last_error = arena_new_of(a, CallError);
    b->ids = arena_array(a, int64_t, n);
    b->n_outs = arena_array(a, int, n);
    b->at = arena_array(a, int64_t, n);
    b->part = arena_array(a, BulkCalls, n);
    b->part_of = arena_array(a, int32_t, n);
    b->part_n = arena_array(a, int64_t, n);
    b->numbers = arena_array(a, uint32_t *, n);
    b->params = arena_array(a, Vec *, n);
    if (!b->result || !b->last_error || !b->ids || !b->n_outs || !b->at || !b->part || !b->part_of || !b->part_n ||
        !b->numbers || !b->params || arena_on_release(a, free_slices, b) != ST_OK)
        return ST_ERROR;
    *b->result = (BulkResult){.n_calls = b->n, .arena = a};
    b->result->outs = arena_array(a, Vec *, n);
    b->result->errors = arena_array(a, CallError **, n);
    if (!b->result->outs || !b->result->errors || (n > 1 && make_order(b, any) != ST_OK)) return ST_ERROR;
    for (int32_t k = 0; k < n; k++)
        if (make_group(b, k) != ST_OK) return ST_ERROR;
    b->stop = (BulkStop){any_stops, call_stops, b};
    return ST_OK;
}

/* ---- the next slice ---- */
static void fail_call(SlicedBulk *b, int32_t k, CallError *e) {
    const int64_t at = b->at[k]++;
    for (int i = 0; i < b->n_outs[k]; i++) {
        const Vec *v = &b->result->outs[k][i];
        const int64_t size = phys_size((Phys)v->phys);
        memset((char *)v->data + at * size, 0, (size_t)size);
        v->valid[at] = 0;
    }
    b->result->errors[k][at] = e;
    b->result->stats.n_failed++;
    b->done++;
}
/* NULL: no memory; e stays. */
static CallError *error_of(SlicedBulk *b, const Err *e) {
    CallError *x = arena_new_of(b->arena, CallError);
    return x && call_error_of(b->arena, e, x) ? x : NULL;
}

/* The error of a call that is not to run; NULL: it is. */
static CallError *refusal(const SlicedBulk *b, int32_t k, int64_t call, CallError *gone, CallError *stopped) {
    if (!b->part[k].routine) return gone;
    const BulkStop *stop = stopped ? b->pipeline->stop : NULL;
    return stop && stop->call(stop->ctx, k, call) ? stopped : NULL;
}
/* Calls from `done` on, at most `most`, that come one after the other in each group; those that are not to run fail. By
 * group in part_n, numbered. part[k].routine is group k's. */
static void take_calls(SlicedBulk *b, int64_t most, CallError *gone, CallError *stopped) {
    uint32_t number = 0;
    memset(b->part_n, 0, (size_t)b->n_groups * sizeof *b->part_n);
    for (int64_t c = b->done; c < b->n && number < most; c++) {
        const int32_t k = b->group_of ? (int32_t)b->group_of[c] : 0;
        CallError *e = gone || stopped ? refusal(b, k, b->at[k] + b->part_n[k], gone, stopped) : NULL;
        if (e && number > 0) return;                                           /* the next slice begins with it */
        if (b->result->group_order && number > 0 && b->part_n[k] == 0) return; /* a bulk may change the groups' order */
        if (e) {
            fail_call(b, k, e);
            continue;
        }
        if (!b->group_of) { /* no call is refused, or this one is the first that is not */
            int64_t m = MIN_OF(most, b->n - c), i = 1;
            while (stopped && i < m && !refusal(b, k, b->at[k] + i, gone, stopped)) i++;
            b->part_n[k] = stopped ? i : m;
            return;
        }
        b->numbers[k][b->at[k] + b->part_n[k]++] = number++;
    }
}
static void make_parts(SlicedBulk *b) {
    b->n_parts = 0;
    for (int32_t k = 0; k < b->n_groups; k++) {
        const BulkCalls *g = &b->groups[k];
        if (b->part_n[k] == 0) continue;
        const Routine *r = b->part[k].routine;
        for (int i = 0; i < in_count(r); i++) {
            Vec *v = &b->params[k][i];
            *v = g->params[i];
            if (v->is_const) continue;
            v->data = (char *)v->data + b->at[k] * phys_size((Phys)v->phys);
            if (v->valid) v->valid += b->at[k];
        }
        b->part_of[b->n_parts] = k;
        b->part[b->n_parts++] = (BulkCalls){.routine = r,
                                            .n = b->part_n[k],
                                            .params = b->params[k],
                                            .calls = b->group_of ? b->numbers[k] + b->at[k] : NULL};
    }
    if (b->n_parts == 1) b->part[0].calls = NULL;
}
/* What runs next, in `part`: its definitions as they are now. Under the lock. */
static Status next_slice(SlicedBulk *b, int64_t most) {
    CallError *gone = NULL, *stopped = NULL;
    for (int32_t k = 0; k < b->n_groups; k++) b->part[k].routine = session_bulk_routine_by_id(b->s->db, b->ids[k]);
    for (int32_t k = 0; k < b->n_groups && !gone; k++) {
        Err e = {0};
        if (b->part[k].routine || b->at[k] == b->groups[k].n) continue;
        err_set(&e, ERR_UNDEFINED_FUNCTION, "the routine has been dropped or replaced");
        if (!b->result->gone && !(b->result->gone = error_of(b, &e))) return err_oom(&b->s->err);
        gone = b->result->gone;
    }
    if (b->pipeline && b->pipeline->stop && any_stops(b)) {
        Err e = {0};
        err_set(&e, ERR_QUERY_CANCELED, "canceling statement due to user request");
        if (!(stopped = error_of(b, &e))) return err_oom(&b->s->err);
    }
    take_calls(b, most, gone, stopped);
    make_parts(b);
    return ST_OK;
}

/* ---- its results ---- */
static void add_stats(BulkStats *to, const BulkStats *x, const char *reason) {
    to->n_calls += x->n_calls;
    to->n_failed += x->n_failed;
    to->rows_read += x->rows_read;
    to->n_retries += x->n_retries;
    to->any_order = x->any_order;
    to->n_ops += x->n_ops;
    to->depth += x->depth;
    to->width0 = to->width0 ? to->width0 : x->width0;
    to->crossing += x->crossing;
    to->strategy = x->strategy;
    to->executor = x->executor;
    to->device = x->device ? x->device : to->device;
    to->why = x->why;
    if (reason) to->reason = reason;
    to->footprint_ns += x->footprint_ns;
    to->schedule_ns += x->schedule_ns;
    to->reserve_ns += x->reserve_ns;
    to->run_ns += x->run_ns;
    to->total_ns += x->total_ns;
    to->images_ns += x->images_ns;
    to->send_ns += x->send_ns;
    to->transfer_ns += x->transfer_ns;
    for (int i = 0; i < BULK_PHASES; i++) to->phase_ns[i] += x->phase_ns[i];
}
/* A column of the slice's cells at its place; true: its values point into the slice's result. */
static bool place_column(const Vec *from, Vec *to, int64_t at, int64_t n) {
    const int64_t size = phys_size((Phys)to->phys);
    dbg_assert(from->phys == to->phys);
    memcpy((char *)to->data + at * size, from->data, (size_t)(n * size));
    if (from->valid) memcpy(to->valid + at, from->valid, (size_t)n);
    else memset(to->valid + at, 1, (size_t)n);
    return to->phys == PH_STR;
}
/* A call whose notice finds no memory has been executed, and says so. */
static void place_notices(SlicedBulk *b, const BulkResult *r) {
    static CallError oom = {.sqlstate = ERR_OUT_OF_MEMORY,
                            .message = (char *)(uintptr_t) "out of memory for a notice; the call has been executed"};
    for (int64_t i = 0; i < r->n_notices; i++) {
        CallNotice x = r->notices[i];
        const int32_t k = b->part_of[x.group];
        x.group = k;
        x.call += b->at[k];
        x.seq = b->notices.len;
        if (vec_push(b->arena, &b->notices, x) || b->result->errors[k][x.call]) continue;
        b->result->errors[k][x.call] = &oom;
        b->result->stats.n_failed++;
    }
}
/* The slice's result is freed, now or with the whole: `kept` has a place for it. */
static void place_results(SlicedBulk *b, BulkResult *r) {
    bool keeps = r->stats.n_failed > 0 || r->n_notices > 0;
    for (int32_t p = 0; p < b->n_parts; p++) {
        const int32_t k = b->part_of[p];
        const int64_t n = b->part[p].n;
        for (int i = 0; i < b->n_outs[k]; i++)
            keeps |= place_column(&r->outs[p][i], &b->result->outs[k][i], b->at[k], n);
        memcpy(b->result->errors[k] + b->at[k], r->errors[p], (size_t)n * sizeof(CallError *));
    }
    place_notices(b, r);
    const char *reason = r->stats.reason ? arena_strdup(b->arena, r->stats.reason) : NULL;
    add_stats(&b->result->stats, &r->stats, reason);
    add_stats(&b->held, &r->stats, reason);
    b->call_ns = bulk_call_ns(b->call_ns, &r->stats);
    for (int32_t p = 0; p < b->n_parts; p++) {
        b->at[b->part_of[p]] += b->part[p].n;
        b->done += b->part[p].n;
    }
    if (keeps) b->kept.items[b->kept.len - 1] = r;
    else bulk_result_free(r);
}

/* ---- one slice after the other ---- */
/* All calls that are left fail with the session's error. */
static void fail_rest(SlicedBulk *b) {
    static CallError oom = {.sqlstate = ERR_OUT_OF_MEMORY, .message = (char *)(uintptr_t) "out of memory"};
    CallError *e = call_error_of(b->arena, &b->s->err, b->last_error) ? b->last_error : &oom;
    err_clear(&b->s->err);
    b->result->rest = e;
    for (int32_t k = 0; k < b->n_groups; k++)
        while (b->at[k] < b->groups[k].n) fail_call(b, k, e);
}
/* Calls of other sessions: only some of them were canceled, which the next slice leaves out. */
static bool only_some_stop(SlicedBulk *b) {
    Session *s = b->s;
    if (!b->pipeline || !b->pipeline->stop || strcmp(s->err.sqlstate, ERR_QUERY_CANCELED) != 0) return false;
    (void)any_stops(b);
    atomic_store(&s->cancel, false);
    s->deadline_ns = 0;
    err_clear(&s->err);
    return true;
}
/* What ran since the lock was taken becomes a bulk of stele_bulks. */
static void note_held(SlicedBulk *b, const char *why_cut) {
    b->held.n_calls = b->done - b->logged;
    b->held.n_failed = b->result->stats.n_failed - b->logged_failed;
    bulk_note(b->s, &b->held, why_cut);
    b->held = (BulkStats){0};
    b->logged = b->done;
    b->logged_failed = b->result->stats.n_failed;
}
/* Others run. */
static Status give_way(SlicedBulk *b, bool commit) {
    if (b->s->lock != LOCK_NONE) TRY(session_pause_bulk(b->s, commit));
    if (watch) watch(watch_ctx);
    return session_resume_bulk(b->s);
}
static Status run_slice(SlicedBulk *b, int64_t most) {
    CallPipeline mine = b->pipeline ? *b->pipeline : (CallPipeline){0};
    BulkResult *r = NULL;
    int64_t n = 0;
    TRY(next_slice(b, most));
    if (b->n_parts == 0) return ST_OK;
    if (!vec_push(b->arena, &b->kept, NULL)) return err_oom(&b->s->err);
    for (int32_t p = 0; p < b->n_parts; p++) n += b->part[p].n;
    if (b->done + n < b->n) mine.next = NULL;
    if (mine.stop) mine.stop = &b->stop;
    TRY(bulk_run_slice(b->s, b->n_parts, b->part, b->pipeline ? &mine : NULL, &r));
    if (b->pipeline) b->pipeline->next_ticket = mine.next_ticket;
    bulk_declared_outs(b->n_parts, b->part, r);
    place_results(b, r);
    return ST_OK;
}
/* Calls of a slice, where a call takes call_ns; 0: not known. */
static int64_t slice_of_calls(const Session *s, int64_t left, double call_ns) {
    const BulkSettings *set = &s->settings.bulk;
    if (set->slice_calls > 0) return set->slice_calls;
    const double fits = call_ns > 0 ? (double)set->slice_ms * 1e6 / call_ns : FIRST_CALLS;
    if (fits >= (double)left) return left;
    const int64_t size = MAX_OF((int64_t)fits, bulk_slice_min(call_ns)), slices = (left + size - 1) / size;
    return (left + slices - 1) / slices;
}
/* ST_ERROR: the first slice failed, and nothing has happened. */
static Status run_slices(SlicedBulk *b, int64_t most) {
    Session *s = b->s;
    const bool forced = s->settings.bulk.slice_calls > 0;
    while (b->done < b->n) {
        Status st = run_slice(b, most);
        if (st != ST_OK && b->done == 0) return ST_ERROR;
        if (b->done == b->n) break;
        most = slice_of_calls(s, b->n - b->done, b->call_ns);
        const bool ok = st == ST_OK, serial = b->held.strategy == STRATEGY_SERIAL; /* it may have changed tables */
        if (ok && !forced && !serial && txn_lock_waiters(s->db->txn_lock) == 0) continue;
        if (ok) note_held(b, "readers wait");
        if (ok || only_some_stop(b)) st = give_way(b, ok);
        while (st != ST_OK && only_some_stop(b)) st = give_way(b, true);
        if (st == ST_OK) continue;
        if (s->lock != LOCK_NONE) (void)session_pause_bulk(s, false);
        fail_rest(b);
    }
    return ST_OK;
}

/* A device with memory of its own has to bring home what bulks have left there before others read, at each slice. With
 * a redo log a commit may be refused, which then is one of the whole bulk. */
static bool may_be_cut(Session *s, int32_t n_groups, const CallPipeline *pipeline) {
    const BulkSettings *set = &s->settings.bulk;
    if (set->slice_calls == 0 && bulk_is_remote(s)) return false;
    return n_groups > 0 && s->state == 'I' && !s->db->redo && !s->savepoints && !pl_in_call(s) &&
           (set->slice_ms > 0 || set->slice_calls > 0) && (!pipeline || (!pipeline->whole && pipeline->ticket == 0));
}
/* Calls of the first slice; n: it is not cut. Under the lock held alone. */
static int64_t first_slice(const Session *s, int64_t n, double expected_ns) {
    const BulkSettings *set = &s->settings.bulk;
    const bool brief = expected_ns > 0 ? expected_ns < SHORT * 1e6 * (double)set->slice_ms : n <= 2 * FIRST_CALLS;
    return set->slice_calls == 0 && brief ? n : slice_of_calls(s, n, expected_ns / (double)MAX_OF(n, INT64_C(1)));
}
/* NULL: no memory. */
static SlicedBulk *sliced_new(Session *s, int32_t n_groups, const BulkCalls *groups, CallPipeline *pipeline,
                              int64_t n) {
    Arena *a = arena_new(&s->db->parts[DB_CALLS], NULL);
    SlicedBulk *b = a ? arena_new_of(a, SlicedBulk) : NULL;
    if (b) *b = (SlicedBulk){.s = s, .n_groups = n_groups, .groups = groups, .pipeline = pipeline, .arena = a, .n = n};
    if (b && make(b) == ST_OK) return b;
    arena_free(a);
    return NULL;
}
static Status run_whole(Session *s, int32_t n_groups, const BulkCalls *groups, CallPipeline *pipeline,
                        BulkResult **out) {
    TRY(session_bulk_run(s, n_groups, groups, pipeline, out));
    bulk_declared_outs(n_groups, groups, *out);
    return ST_OK;
}
Status session_bulk_run_sliced(Session *s, int32_t n_groups, const BulkCalls *groups, CallPipeline *pipeline,
                               BulkResult **out) {
    if (!may_be_cut(s, n_groups, pipeline)) return run_whole(s, n_groups, groups, pipeline, out);
    int64_t n = 0;
    TRY(session_begin_bulk(s));
    for (int32_t k = 0; k < n_groups; k++) n += groups[k].n;
    const int64_t first = first_slice(s, n, bulk_expected_ns(s, n_groups, groups));
    SlicedBulk *b = first < n ? sliced_new(s, n_groups, groups, pipeline, n) : NULL;
    if (!b) return run_whole(s, n_groups, groups, pipeline, out); /* without memory for two results too */
    const int64_t started = clock_ns();
    if (run_slices(b, first) != ST_OK) {
        bulk_note_failure(s, n_groups, groups, started, pipeline ? pipeline->why_cut : "statement");
        arena_free(b->arena);
        return ST_ERROR;
    }
    note_held(b, pipeline ? pipeline->why_cut : "statement");
    BulkResult *r = b->result;
    bulk_sort_notices(b->notices.len, b->notices.items);
    r->n_notices = b->notices.len;
    r->notices = b->notices.items;
    r->stats.n_calls = n;
    *out = r;
    return ST_OK;
}
