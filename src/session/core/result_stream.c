/* result_stream.c - see result_stream.h. */
#include <stdio.h>

#include "session/core/idle.h"
#include "session/core/result_stream.h"
#include "session/core/transaction_int.h"

/* Bytes of rows in a piece. The first one is small, so that its rows are there soon; each has twice what the one before
 * had, up to RESULT_PIECE_BYTES. */
enum { FIRST_BYTES = 256 << 10 };

static const char pin_label[] = "result stream";

/* ---- what can be streamed -------------------------------------------------------------------------------------- */
static bool reads_tables(const QueryPlan *p) {
    for (int32_t i = 0; i < p->n_segments; i++)
        if (p->segments[i].program->source.kind == SRC_TABLE) return true;
    return false;
}
bool result_stream_can(const Session *s, const CachedPlan *p) {
    if (p->plan->serial || p->may_guard || s->read.on_device || transaction_has_forks(s)) return false;
    return (s->read.version && s->lock == LOCK_NONE) || !reads_tables(p->plan);
}

/* ---- the pin ------------------------------------------------------------------------------------------------- */
static Status take_pin(Session *s, struct ResultStream *r) {
    TxnHub *h = transaction_hub(s);
    if (!s->read.version) return ST_OK;
    TRY(epoch_register(s->db->epochs, s->read.slot->session, &r->slot, &s->err));
    epoch_pin_copy(r->slot, s->read.slot, pin_label, r->since_ns);
    mutex_lock(&h->mutex);
    r->next = atomic_load(&h->streams);
    if (r->next) r->next->before = r;
    atomic_store(&h->streams, r);
    mutex_unlock(&h->mutex);
    return ST_OK;
}
static void end_pin(struct ResultStream *r) {
    Session *s = r->st->session;
    TxnHub *h = transaction_hub(s);
    if (!r->slot) return;
    mutex_lock(&h->mutex);
    if (r->before) r->before->next = r->next;
    else atomic_store(&h->streams, r->next);
    if (r->next) r->next->before = r->before;
    mutex_unlock(&h->mutex);
    if (atomic_load(&r->state) != STREAM_GIVEN_UP) database_read_end(s->db, r->slot);
    epoch_unregister(r->slot);
    r->slot = NULL;
}

static Status too_old(Session *s) {
    err_set(&s->err, ERR_SNAPSHOT_TOO_OLD, "snapshot too old");
    err_detail(&s->err,
               "Others have changed so much since the statement began that what it reads is not kept any more.");
    err_hint(&s->err, "Raise snapshot_memory_limit, or read the result faster.");
    return ST_ERROR;
}
static Status begin_work(struct ResultStream *r) {
    int rest = STREAM_AT_REST;
    if (!r->slot || atomic_compare_exchange_strong(&r->state, &rest, STREAM_AT_WORK)) return ST_OK;
    return too_old(r->st->session);
}
static void end_work(struct ResultStream *r) {
    int work = STREAM_AT_WORK;
    if (!r->slot || atomic_compare_exchange_strong(&r->state, &work, STREAM_AT_REST)) return;
    database_read_end(r->st->session->db, r->slot); /* it was given up meanwhile */
}

/* The oldest that has not been given up is; with the mutex. *freed: its pin has ended. */
static bool give_up_oldest(TxnHub *h, bool *freed) {
    struct ResultStream *oldest = NULL;
    for (struct ResultStream *r = atomic_load(&h->streams); r; r = r->next)
        if (atomic_load(&r->state) != STREAM_GIVEN_UP) oldest = r;
    if (!oldest) return false;
    epoch_pin_label(oldest->slot, "given up");
    if (atomic_exchange(&oldest->state, STREAM_GIVEN_UP) != STREAM_AT_REST) return true;
    (void)epoch_unpin(oldest->slot);
    *freed = true;
    return true;
}
void result_streams_give_up(const Session *s, int64_t limit) {
    TxnHub *h = transaction_hub(s);
    bool freed = false, some = true;
    while (some && atomic_load(&h->streams) && epoch_held_bytes(s->db->epochs, pin_label) > limit) {
        mutex_lock(&h->mutex);
        some = give_up_oldest(h, &freed);
        mutex_unlock(&h->mutex);
    }
    while (freed && epoch_reclaim(s->db->epochs, EPOCH_BATCH)) {}
}

void result_streams_leave_block(Session *s) {
    for (const Statement *st = s->statements; st; st = st->next)
        if (st->stream) st->stream->in_block = false;
}

/* ---- pieces --------------------------------------------------------------------------------------------------- */
static void show_piece(Statement *st, RowStore *rows) {
    struct ResultStream *r = st->stream;
    st->rows = rows;
    st->n_rows = rows_count(rows);
    st->next_row = 0;
    r->rows += st->n_rows;
    st->affected = r->more ? -1 : r->rows;
    st->tag[0] = 0;
    if (!r->more) snprintf(st->tag, sizeof st->tag, "SELECT %lld", (long long)r->rows);
}

/* The next piece. Cancelled when it was just ready: nothing else will see that, since the next call begins anew. */
static Status compute(Session *s, Query *q, int64_t bytes, bool *more) {
    QueryStop stop = {.cancel = &s->cancel};
    TRY(query_next(q, bytes, more, &s->err));
    return *more ? query_stop_check(&stop, &s->err) : ST_OK;
}

Status result_stream_begin(Session *s, Statement *st, CachedPlan *p, RunOutput *out) {
    struct ResultStream *r = mem_calloc(&st->account, (int64_t)sizeof *r, &s->err);
    if (!r) return ST_ERROR;
    r->st = st;
    r->info = s->info;
    r->since_ns = s->read.since_ns;
    r->in_block = s->state == 'T';
    r->bytes = FIRST_BYTES;
    st->stream = r;
    Status ok = session_query_new(s, p->plan, &st->account, &r->info, p->keep ? &p->device : NULL, &p->account, out);
    if (ok == ST_OK) ok = compute(s, out->query, r->bytes, &r->more);
    if (ok == ST_OK && r->more) ok = take_pin(s, r);
    if (ok == ST_OK) {
        st->query = out->query;
        show_piece(st, query_result(out->query));
        return ST_OK;
    }
    if (out->query) s->read.again |= query_needs_host(out->query);
    query_free(out->query);
    result_stream_free(r);
    return ST_ERROR;
}

void result_stream_free(struct ResultStream *r) {
    if (!r) return;
    end_pin(r);
    r->st->stream = NULL;
    mem_free(&r->st->account, r, (int64_t)sizeof *r);
}

static Status next_piece(Statement *st) {
    Session *s = st->session;
    struct ResultStream *r = st->stream;
    TRY(begin_work(r));
    st->rows = NULL;
    st->n_rows = st->next_row = 0;
    query_set_deadline(st->query, s->deadline_ns);
    r->bytes = MIN_OF(r->bytes * 2, (int64_t)RESULT_PIECE_BYTES);
    Status ok = compute(s, st->query, r->bytes, &r->more);
    if (ok == ST_OK) ok = stack_check(&s->err);
    end_work(r);
    if (ok != ST_OK) return stack_failed(&s->err);
    show_piece(st, query_result(st->query));
    if (!r->more) end_pin(r);
    return ST_OK;
}

/* The rows before were handed out. What is left is the error, for each call that wants more. */
static void fail(Statement *st) {
    Session *s = st->session;
    struct ResultStream *r = st->stream;
    err_copy(&r->failed, &s->err);
    r->more = true;
    st->rows = NULL;
    st->n_rows = st->next_row = 0;
    query_free(st->query);
    st->query = NULL;
    end_pin(r);
    if (r->in_block && s->state == 'T') (void)session_end_statement(s, ST_ERROR);
    err_copy(&s->err, &r->failed);
}

Status statement_next_piece(Statement *st, bool *some) {
    Session *s = st->session;
    struct ResultStream *r = st->stream;
    *some = false;
    if (!r || !r->more) return ST_OK;
    if (err_is_set(&r->failed)) {
        err_copy(&s->err, &r->failed);
        return ST_ERROR;
    }
    StackWatch before = session_call_begin(s);
    Status ok = session_enter(s);
    if (ok == ST_OK) ok = next_piece(st);
    if (ok != ST_OK) fail(st);
    session_leave(s);
    stack_watch_end(before);
    *some = ok == ST_OK && st->n_rows > 0;
    return ok;
}
