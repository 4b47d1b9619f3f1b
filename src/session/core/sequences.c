/* sequences.c - nextval, currval, lastval and setval of a session (SessionInfo.sequence).
 *
 * The numbers are the sequence's (catalog/sequence.h); the session has what it was given last, and numbers that it has
 * taken in advance by CACHE. A session that looks at a sequence holds the database lock at least shared, so that no
 * definition changes meanwhile: a statement that reads a published version is begun again under it.
 */
#include "catalog/similar_names.h"
#include "db/redo.h"
#include "session/core/session.h"
#include "sql/bind/bind.h"

static SessionSequence *find(Session *s, int64_t sequence) {
    for (int64_t i = 0; i < s->sequences.n; i++)
        if (s->sequences.items[i].sequence == sequence) return &s->sequences.items[i];
    return NULL;
}
/* What the session has of it; without numbers taken in advance when these are of a state that the sequence has not any
 * more. NULL: no memory. */
static SessionSequence *look(Session *s, const Sequence *q, Err *e) {
    SessionSequences *all = &s->sequences;
    SessionSequence *x = find(s, q->id);
    if (!x && all->n == all->cap) {
        const int64_t cap = all->cap ? all->cap * 2 : 8, size = (int64_t)sizeof *all->items;
        SessionSequence *more = mem_realloc(&s->account, all->items, all->cap * size, cap * size, e);
        if (!more) return NULL;
        all->items = more;
        all->cap = cap;
    }
    if (!x) *(x = &all->items[all->n++]) = (SessionSequence){.sequence = q->id, .state = q->state->number};
    if (x->state != q->state->number) {
        x->state = q->state->number;
        x->kept = x->last;
    }
    return x;
}

void session_forget_sequences(Session *s) {
    mem_free(&s->account, s->sequences.items, s->sequences.cap * (int64_t)sizeof *s->sequences.items);
    s->sequences = (SessionSequences){0};
}
void session_drop_kept_numbers(Session *s, int64_t sequence) {
    SessionSequence *x = find(s, sequence);
    if (x) x->kept = x->last;
}

static Status log_numbers(void *ctx, const Sequence *q, int64_t last, bool is_called, Err *e) {
    Session *s = ctx;
    int64_t lsn;
    TRY(redo_sequence(s->db, q, last, is_called, &lsn, e));
    atomic_store(&q->state->lsn, lsn);
    return ST_OK;
}
/* What was logged of the sequence, perhaps by another session, has to be on the disk before this one returns a number.
 */
static void need_numbers(Session *s, const Sequence *q) {
    s->block.lsn = MAX_OF(s->block.lsn, atomic_load(&q->state->lsn));
}
/* NULL: the database has no log. */
static const SequenceLog *log_of(Session *s, SequenceLog *log) {
    *log = (SequenceLog){.ctx = s, .since = redo_sequences_since(s->db), .put = log_numbers};
    return log->since ? log : NULL;
}
static Status next(Session *s, const Sequence *q, int64_t n, int64_t *out, Err *e) {
    SequenceLog log;
    SessionSequence *x = look(s, q, e);
    if (!x) return ST_ERROR;
    if (!key_is_temporary(q->name)) s->db->dirty = true;
    s->sequences.last = q->id;
    for (int64_t i = 0; i < n; i++) {
        if (x->last != x->kept) x->last += q->increment;
        else TRY(sequence_next(q, log_of(s, &log), &x->last, &x->kept, e));
        x->has_last = true;
        out[i] = x->last;
    }
    need_numbers(s, q);
    return ST_OK;
}
static Status current(Session *s, const Sequence *q, int64_t *out, Err *e) {
    const SessionSequence *x = find(s, q->id);
    if (!x || !x->has_last)
        return err_set(e, ERR_NOT_IN_STATE, "currval of sequence \"%s\" is not yet defined in this session", q->name);
    *out = x->last;
    return ST_OK;
}
static Status last(Session *s, int64_t *out, Err *e) {
    const SessionSequence *x = s->sequences.last ? find(s, s->sequences.last) : NULL;
    if (!x || !catalog_sequence_by_id(session_catalog(s), x->sequence))
        return err_set(e, ERR_NOT_IN_STATE, "lastval is not yet defined in this session");
    *out = x->last;
    return ST_OK;
}
static Status set(Session *s, const Sequence *q, const SequenceCall *call, int64_t *out, Err *e) {
    SequenceLog log;
    SessionSequence *x = look(s, q, e);
    if (!x) return ST_ERROR;
    TRY(sequence_set(q, call->value, call->is_called, log_of(s, &log), e));
    need_numbers(s, q);
    if (!key_is_temporary(q->name)) s->db->dirty = true;
    if (call->is_called) {
        x->last = call->value;
        x->has_last = true;
    }
    x->kept = x->last;
    *out = call->value;
    return ST_OK;
}

static Status find_called(Session *s, const SequenceCall *call, const Sequence **out, Err *e) {
    const Catalog *k = session_catalog(s);
    const char *name;
    if (call->sequence) {
        *out = catalog_sequence_by_id(k, call->sequence);
        return *out ? ST_OK : err_set(e, ERR_UNDEFINED_TABLE, "a sequence of the statement has been dropped");
    }
    Arena *a = arena_new(&s->account, e);
    const Slice text = {call->name.ptr, (int64_t)call->name.len};
    Status st = a ? sql_relation_key(k, a, text, &name, e) : ST_ERROR;
    *out = st == ST_OK ? catalog_sequence(k, slice_of(name)) : NULL;
    if (st == ST_OK && !*out) {
        if (catalog_relation_exists(k, slice_of(name)))
            st = err_set(e, ERR_WRONG_OBJECT_TYPE, "\"%s\" is not a sequence", name);
        else st = catalog_no_relation(k, name, 0, e);
    }
    arena_free(a);
    return st;
}

Status session_sequence(void *ctx, const SequenceCall *call, int64_t *out, Err *e) {
    Session *s = ctx;
    const Sequence *q = NULL;
    const bool changes = call->action == SEQUENCE_NEXT || call->action == SEQUENCE_SET;
    if (s->lock == LOCK_NONE && session_read_locked(s) != ST_OK) {
        if (e != &s->err) err_copy(e, &s->err);
        return ST_ERROR;
    }
    if (s->lock == LOCK_NONE) TRY(session_lock(s, LOCK_SHARED));
    if (changes && session_read_only(s))
        return err_set(e, ERR_READ_ONLY, "cannot execute %s() in a read-only transaction",
                       call->action == SEQUENCE_NEXT ? "nextval" : "setval");
    if (call->action == SEQUENCE_LAST) return last(s, out, e);
    TRY(find_called(s, call, &q, e));
    switch (call->action) {
    case SEQUENCE_NEXT: return next(s, q, call->n, out, e);
    case SEQUENCE_CURRENT: return current(s, q, out, e);
    case SEQUENCE_SET: return set(s, q, call, out, e);
    case SEQUENCE_READ_LAST: *out = sequence_values(q).last; return ST_OK;
    case SEQUENCE_READ_LOG: *out = sequence_values(q).log_cnt; return ST_OK;
    default: *out = sequence_values(q).is_called; return ST_OK;
    }
}
