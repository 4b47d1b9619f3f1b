/* sequence.c - see sequence.h. */
#include "catalog/sequence.h"

#include "base/err.h"
#include "base/mem.h"
#include "catalog/catalog_int.h"

enum { LOG_VALUES = 32 }; /* that PostgreSQL's log has in advance */

/* ---- definitions: one block each, as views -------------------------------------------------------------- */

static int64_t text_bytes(const char *s) { return s ? (int64_t)strlen(s) + 1 : 0; }
static int64_t sequence_bytes(const Sequence *q) {
    return (int64_t)sizeof *q + text_bytes(q->name) + text_bytes(q->owner_table) + text_bytes(q->owner_column);
}

static SequenceState *state_new(const SequenceValues *values, Err *e) {
    static _Atomic int64_t last_number;
    SequenceState *s = mem_calloc(NULL, (int64_t)sizeof *s, e);
    if (!s) return NULL;
    if (!mutex_init(&s->lock, RANK_SEQUENCE)) {
        mem_free(NULL, s, (int64_t)sizeof *s);
        return err_oom(e), NULL;
    }
    atomic_init(&s->refs, 1);
    s->number = atomic_fetch_add(&last_number, 1) + 1;
    s->now = *values;
    return s;
}
static void state_release(SequenceState *s) {
    if (!s || atomic_fetch_sub(&s->refs, 1) > 1) return;
    mutex_destroy(&s->lock);
    mem_free(NULL, s, (int64_t)sizeof *s);
}

Sequence *sequence_new(const Sequence *like, const SequenceValues *values, Err *e) {
    Sequence *q = mem_calloc(NULL, sequence_bytes(like), e);
    if (!q) return NULL;
    *q = *like;
    char *at = (char *)(q + 1);
    q->node = (EpochNode){0};
    q->name = catalog_put_text(&at, like->name);
    q->owner_table = catalog_put_text(&at, like->owner_table);
    q->owner_column = catalog_put_text(&at, like->owner_column);
    q->state = like->state ? like->state : state_new(values, e);
    if (!q->state) return mem_free(NULL, q, sequence_bytes(like)), NULL;
    if (like->state) atomic_fetch_add(&q->state->refs, 1);
    return q;
}
void sequence_free(Sequence *q) {
    if (!q) return;
    state_release(q->state);
    mem_free(NULL, q, sequence_bytes(q));
}
static void reclaim(EpochNode *n) { sequence_free((Sequence *)(void *)n); }
void sequence_retire(EpochDomain *d, Sequence *q) { epoch_retire(d, &q->node, sequence_bytes(q), reclaim); }

void sequence_type_range(Type t, int64_t *min, int64_t *max) {
    *min = t.id == T_INT2 ? INT16_MIN : t.id == T_INT4 ? INT32_MIN : INT64_MIN;
    *max = t.id == T_INT2 ? INT16_MAX : t.id == T_INT4 ? INT32_MAX : INT64_MAX;
}

/* ---- numbers ---------------------------------------------------------------------------------------------- */

SequenceValues sequence_values(const Sequence *q) {
    mutex_lock(&q->state->lock);
    const SequenceValues now = q->state->now;
    mutex_unlock(&q->state->lock);
    return now;
}

/* The number behind `next`; false: there is none. */
static bool step(const Sequence *q, int64_t *next) {
    int64_t sum;
    const bool over = __builtin_add_overflow(*next, q->increment, &sum);
    if (over || sum < q->min || sum > q->max) return false;
    *next = sum;
    return true;
}
static Status at_end(const Sequence *q, Err *e) {
    const bool up = q->increment > 0;
    return err_set(e, ERR_SEQUENCE_LIMIT, "nextval: reached %s value of sequence \"%s\" (%lld)",
                   up ? "maximum" : "minimum", q->name, (long long)(up ? q->max : q->min));
}

/* PostgreSQL's nextval_internal: up to `cache` numbers are taken, and log_cnt tells how many more its log has. */
static Status take(const Sequence *q, const SequenceLog *to, int64_t *out, int64_t *kept, Err *e) {
    SequenceValues *v = &q->state->now;
    if (!q->state->is_committed) to = NULL;
    int64_t fetch = q->cache, taken = 0, log = v->log_cnt, next = v->last, last = next, first = next;
    const bool again = to && q->state->logged != to->since, logs = log < fetch || !v->is_called || again;
    if (!v->is_called) {
        taken++;
        fetch--;
    }
    if (logs) fetch = log = fetch + LOG_VALUES;
    for (; fetch > 0; fetch--) {
        if (!step(q, &next)) {
            if (taken > 0) break;
            if (!q->cycle) return at_end(q, e);
            next = q->increment > 0 ? q->min : q->max;
        }
        if (taken >= q->cache) continue;
        log--;
        last = next;
        if (++taken == 1) first = next;
    }
    if (to && logs) TRY(to->put(to->ctx, q, next, true, e));
    if (to) q->state->logged = to->since;
    *v = (SequenceValues){.last = last, .log_cnt = log - fetch, .is_called = true};
    *out = first;
    *kept = last;
    return ST_OK;
}

Status sequence_next(const Sequence *q, const SequenceLog *log, int64_t *out, int64_t *kept, Err *e) {
    mutex_lock(&q->state->lock);
    const Status st = take(q, log, out, kept, e);
    mutex_unlock(&q->state->lock);
    return st;
}

Status sequence_set(const Sequence *q, int64_t value, bool is_called, const SequenceLog *log, Err *e) {
    if (value < q->min || value > q->max)
        return err_set(e, ERR_NUMERIC_RANGE, "setval: value %lld is out of bounds for sequence \"%s\" (%lld..%lld)",
                       (long long)value, q->name, (long long)q->min, (long long)q->max);
    mutex_lock(&q->state->lock);
    if (!q->state->is_committed) log = NULL;
    const Status st = log ? log->put(log->ctx, q, value, is_called, e) : ST_OK;
    if (st == ST_OK) q->state->now = (SequenceValues){.last = value, .is_called = is_called};
    if (st == ST_OK) q->state->logged = log ? log->since : 0;
    mutex_unlock(&q->state->lock);
    return st;
}
