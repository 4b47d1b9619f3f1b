/* savepoint.c - SAVEPOINT, ROLLBACK TO, RELEASE.
 *
 * A savepoint is a place in the transaction's two undo lists, and the settings there; undo logs keep their places while
 * they are hidden and shown (transaction.h). The snapshot and what has been read stay as they are, whatever is rolled
 * back.
 *
 * An error in a transaction that has savepoints takes it back to the last of them at once, when the lock is at hand,
 * and leaves it in state 'E', with the lock given up: only ROLLBACK TO goes on from there.
 */
#include "session/core/advisory.h"
#include "session/core/constraints.h"
#include "session/core/cursor.h"
#include "session/core/transaction.h"

struct Savepoint {
    struct Savepoint *up; /* the one before it */
    char *name;
    int64_t name_bytes;
    int64_t mark;
    const CatalogUndo *catalog;
    bool read_only, pinned;
    Settings settings, settings_keep;
    int64_t cursors; /* SessionNames.last_cursor */
    ConstraintMark constraints;
    int64_t advisory; /* advisory_mark */
};

static void drop_last(Session *s) {
    struct Savepoint *p = s->savepoints;
    s->savepoints = p->up;
    mem_free(&s->account, p->name, p->name_bytes);
    mem_free(&s->account, p, (int64_t)sizeof *p);
}
void savepoints_free(Session *s) {
    while (s->savepoints) drop_last(s);
}

static Status only_in_block(Session *s, const char *what) {
    return s->state == 'I'
               ? err_set(&s->err, ERR_NO_ACTIVE_TRANSACTION, "%s can only be used in transaction blocks", what)
               : ST_OK;
}
static Status find(Session *s, const char *name, struct Savepoint **out) {
    struct Savepoint *p = s->savepoints;
    while (p && strcmp(p->name, name) != 0) p = p->up;
    *out = p;
    return p ? ST_OK : err_set(&s->err, ERR_INVALID_SAVEPOINT, "savepoint \"%s\" does not exist", name);
}

Status savepoint_set(Session *s, const char *name) {
    TRY(only_in_block(s, "SAVEPOINT"));
    if (transaction_defers(s) || transaction_has_forks(s))
        TRY(session_lock(s, LOCK_EXCLUSIVE)); /* which applies what is not in the tables */
    int64_t bytes = (int64_t)strlen(name) + 1;
    struct Savepoint *p = mem_calloc(&s->account, (int64_t)sizeof *p, &s->err);
    char *copy = p ? mem_alloc(&s->account, bytes, &s->err) : NULL;
    if (!copy) {
        mem_free(&s->account, p, (int64_t)sizeof *p);
        return ST_ERROR;
    }
    memcpy(copy, name, (size_t)bytes);
    *p = (struct Savepoint){s->savepoints,
                            copy,
                            bytes,
                            s->undo ? undo_mark(s->undo) : 0,
                            s->catalog_undo,
                            s->read_only,
                            transaction_pinned(s),
                            s->settings,
                            s->kept_settings.keep,
                            s->names.last_cursor,
                            constraints_mark(s),
                            advisory_mark(s)};
    s->savepoints = p;
    return ST_OK;
}

Status savepoint_release(Session *s, const char *name) {
    struct Savepoint *p;
    TRY(only_in_block(s, "RELEASE SAVEPOINT"));
    TRY(find(s, name, &p));
    while (s->savepoints != p) drop_last(s);
    drop_last(s);
    return ST_OK;
}

static void go_back(Session *s, const struct Savepoint *p) {
    if (s->undo) undo_rollback(s->undo, p->mark);
    catalog_undo_to(s, p->catalog);
    constraints_back(s, p->constraints);
}

/* Undoes what came after the savepoint, under the lock held alone, which it may have to wait for. */
static Status undo_to(Session *s, const struct Savepoint *p) {
    bool again;
    if (s->catalog_undo == p->catalog && !(s->undo && undo_mark(s->undo) > p->mark)) return ST_OK;
    TRY(s->lock == LOCK_EXCLUSIVE ? transaction_enter(s, false, &again) : session_lock(s, LOCK_EXCLUSIVE));
    go_back(s, p);
    return ST_OK;
}

Status savepoint_back(Session *s, const char *name) {
    struct Savepoint *p;
    TRY(only_in_block(s, "ROLLBACK TO SAVEPOINT"));
    TRY(find(s, name, &p));
    TRY(undo_to(s, p));
    while (s->savepoints != p) drop_last(s);
    constraints_back(s, p->constraints);
    cursors_back_to(s, p->cursors);
    advisory_back_to(s, p->advisory);
    settings_restore(s, &p->settings);
    s->kept_settings.keep = p->settings_keep;
    s->read_only = p->read_only;
    transaction_pin(s, p->pinned);
    transaction_lets_go(s);
    s->state = 'T';
    return ST_OK;
}

void savepoint_after_error(Session *s) {
    Err why;
    err_copy(&why, &s->err);
    advisory_back_to(s, s->savepoints->advisory);
    if (s->lock == LOCK_EXCLUSIVE && !transaction_hidden(s)) go_back(s, s->savepoints);
    else (void)undo_to(s, s->savepoints); /* or ROLLBACK does */
    err_copy(&s->err, &why);
    transaction_lets_go(s);
    s->state = 'E';
    Err ignored = {0}; /* then the lock stays */
    (void)transaction_suspend(s, &ignored);
}
