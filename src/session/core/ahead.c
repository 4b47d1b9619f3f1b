/* ahead.c - see ahead.h. */
#include "session/core/ahead.h"
#include "session/core/transaction.h"
#include "session/pl/pl_run.h"

typedef struct Reads {
    int64_t rows;
    bool streams;
} Reads;
static void add_reads(void *ctx, Plan *p) {
    Reads *r = ctx;
    if (p->kind == LP_SCAN) r->rows += p->scan.table->live_rows;
    r->streams |= p->kind == LP_STREAM;
}
/* Sequences give numbers under the lock; what routines and cursors read is theirs to say. */
bool ahead_pays(const Session *s, const PlanCtx *c, const BoundStmt *b) {
    Reads r = {0};
    const PlanVisitor v = {.ctx = &r, .plan = add_reads};
    if (b->n_members > 0 || c->calls_routine || c->one_thread || c->n_bulks > 0 || c->reads_client_rows) return false;
    if (c->sequences.called || c->rows.of_cursor) return false;
    plan_visit(&v, b->plan);
    return r.streams || r.rows >= AHEAD_ROWS || strcmp(s->settings.txn.snapshot, "version") == 0;
}

/* Nothing else of the session is under way, which would have to see what it has seen. */
static bool is_alone(const Session *s) { return s->state == 'I' && !s->txn && !s->running && !pl_in_call(s); }

bool ahead_begin(Session *s, const Table *target, AheadTries *tries, Ahead *a) {
    *a = (Ahead){.target = target, .tries = tries};
    const bool holds = ++tries->n == AHEAD_TRIES - 1;
    if (target) a->table = target->id;
    if (target) a->numbers = table_generation(target);
    if (!is_alone(s) || !session_read_beside(s, holds ? tries->n_tables : 0, tries->tables)) return false;
    name_reads_begin(&a->reads, session_catalog(s));
    return true;
}
Status ahead_bound(Session *s, Ahead *a, Arena *arena) {
    name_reads_end(&a->reads);
    return name_deps_keep(&a->reads, arena, &a->names) ? ST_OK : err_oom(&s->err);
}

/* The table is the one that it was. */
static bool is_there(const Session *s, const Ahead *a) {
    const Catalog *c = &s->db->catalog;
    int64_t i = 0;
    while (i < c->n_tables && c->tables[i] != a->target) i++;
    return i < c->n_tables && a->target->id == a->table;
}
/* ... with the same row numbers, and the statement means what it meant. */
static bool holds(const Session *s, Ahead *a) {
    const bool same = !a->target || (is_there(s, a) && table_generation(a->target) == a->numbers);
    return same && name_deps_hold(&a->names, &s->db->catalog);
}
/* It has come too late. */
static void note_tables(const Session *s, const Ahead *a) {
    AheadTries *t = a->tries;
    t->n_tables = transaction_tables_read(s, AHEAD_TABLES - 1, t->tables);
    if (a->target) t->tables[t->n_tables++] = a->table;
}
/* What others have committed is why; computed anew it is found. */
static bool by_others(const Err *e) {
    return strcmp(e->sqlstate, ERR_SERIALIZATION_FAILURE) == 0 || strcmp(e->sqlstate, ERR_SNAPSHOT_TOO_OLD) == 0;
}
Status ahead_end(Session *s, Ahead *a, bool *again) {
    session_read_end(s);
    Status st = session_lock_latest(s);
    *again = st != ST_OK && by_others(&s->err);
    if (st != ST_OK && !*again) return st;
    if (*again) {
        note_tables(s, a);
        err_clear(&s->err);
        ahead_fail(s);
        return session_begin_change(s);
    }
    *again = !holds(s, a);
    if (*again) note_tables(s, a);
    transaction_read_over(s);
    return ST_OK;
}
void ahead_fail(Session *s) {
    session_read_end(s);
    transaction_rollback(s);
    session_unlock(s);
}

bool ahead_part(Session *s, const Table *target, Ahead *a) {
    *a = (Ahead){.target = target, .table = target->id};
    if (!is_alone(s) || !session_should_publish(s) || strcmp(s->settings.txn.snapshot, "lock") == 0) return false;
    session_unlock_unchanged(s);
    return true;
}
Status ahead_rejoin(Session *s, const Ahead *a, bool *same) {
    TRY(session_begin_change(s));
    *same = is_there(s, a);
    return ST_OK;
}
