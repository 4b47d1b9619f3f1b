/* constraints.c - see constraints.h. */
#include "session/core/constraints_int.h"

#include <stdlib.h>

#include "session/core/changes.h"
#include "session/core/transaction.h"
#include "session/pl/pl_run.h"

/* What SET CONSTRAINTS has said. */
typedef struct Mode {
    int64_t foreign, table; /* ForeignKey.id, or Table.id and `key`; both 0: ALL */
    const char *key;
    bool deferred;
} Mode;
/* A statement whose events run. */
typedef struct Running {
    Arena *a;
    KeyEvents *events;
} Running;
struct Constraints {
    Arena *a; /* of the transaction */
    VEC(KeyEvent) waiting;
    VEC(Mode) modes;
    int64_t ticks;     /* how often SET CONSTRAINTS has run events; it only grows */
    bool keys_waiting; /* deferrable keys of rows in the log have not been looked at */
    Running *running;
};

/* ---- the transaction's lists --------------------------------------------------------------------- */

static Status constraints_of(Session *s, struct Constraints **out) {
    if (!s->constraints) s->constraints = mem_calloc(&s->account, (int64_t)sizeof *s->constraints, &s->err);
    struct Constraints *c = *out = s->constraints;
    if (!c) return ST_ERROR;
    if (!c->a) c->a = arena_new(&s->account, &s->err);
    return c->a ? ST_OK : ST_ERROR;
}
void constraints_end(Session *s) {
    struct Constraints *c = s->constraints;
    if (!c || !c->a) return;
    arena_free(c->a);
    memset(c, 0, sizeof *c);
}
void constraints_free(Session *s) {
    constraints_end(s);
    mem_free(&s->account, s->constraints, (int64_t)sizeof *s->constraints);
    s->constraints = NULL;
}
ConstraintMark constraints_mark(const Session *s) {
    const struct Constraints *c = s->constraints;
    if (!c) return (ConstraintMark){0};
    ConstraintMark m = {.events = c->waiting.len, .modes = c->modes.len, .ticks = c->ticks};
    if (m.events > 0) m.ranges = c->waiting.items[m.events - 1].rows.len;
    if (m.ranges > 0) m.last_n = c->waiting.items[m.events - 1].rows.items[m.ranges - 1].n;
    return m;
}
void constraints_back(Session *s, ConstraintMark m) {
    struct Constraints *c = s->constraints;
    if (!c) return;
    if (m.events > 0 && c->waiting.len >= m.events) { /* rows that have joined the last one */
        KeyEvent *last = &c->waiting.items[m.events - 1];
        last->rows.len = MIN_OF(last->rows.len, m.ranges);
        if (last->rows.len > 0) last->rows.items[last->rows.len - 1].n = m.last_n;
    }
    c->waiting.len = MIN_OF(c->waiting.len, m.events);
    c->modes.len = MIN_OF(c->modes.len, m.modes);
    for (int64_t i = 0; i < c->waiting.len; i++)
        if (c->waiting.items[i].done > m.ticks) c->waiting.items[i].done = 0;
    if (c->ticks > m.ticks && c->a) c->keys_waiting = true; /* perhaps */
}

bool constraints_deferred(const Session *s) {
    const struct Constraints *c = s->constraints;
    return c && (c->keys_waiting || c->waiting.len > 0 || c->modes.len > 0);
}

static const ForeignKey *foreign_by_id(const Session *s, int64_t id) {
    const Catalog *k = session_catalog(s);
    for (int64_t i = 0; i < k->n_foreign; i++)
        if (k->foreign[i]->id == id) return k->foreign[i];
    return NULL; /* it was dropped */
}
static bool foreign_deferred(const Session *s, const ForeignKey *f) {
    const struct Constraints *c = s->constraints;
    if (!f->deferrable) return false;
    for (int64_t i = c ? c->modes.len : 0; i-- > 0;) {
        const Mode *m = &c->modes.items[i];
        if (m->foreign == f->id || (!m->foreign && !m->table)) return m->deferred;
    }
    return f->deferred;
}
static bool key_deferred(const Session *s, const Table *t, const KeyConstraint *k) {
    const struct Constraints *c = s->constraints;
    for (int64_t i = c ? c->modes.len : 0; i-- > 0;) {
        const Mode *m = &c->modes.items[i];
        if ((!m->foreign && !m->table) || (m->table == t->id && strcmp(m->key, k->name) == 0)) return m->deferred;
    }
    return k->deferred;
}

/* ---- events of a change ---------------------------------------------------------------------------- */

/* A change that is noted. */
typedef struct Noting {
    Session *s;
    Arena *a;
    const Table *t;
    TableEdits edits;
    KeyEvents *out;
} Noting;

static bool columns_of(const Table *t, int n, char *const *names, int *cols) {
    for (int i = 0; i < n; i++)
        if ((cols[i] = table_find_column(t, slice_of(names[i]))) < 0) return false;
    return true;
}
/* Columns that some foreign key, of either side, has. Returns whether there is one. */
static bool mark_columns(const Catalog *k, const Table *t, bool *cols) {
    bool any = false;
    for (int64_t i = 0; i < k->n_foreign; i++) {
        const ForeignKey *f = k->foreign[i];
        const bool child = strcmp(f->table, t->name) == 0, parent = strcmp(f->ref_table, t->name) == 0;
        int at[32];
        any |= child || parent;
        if (child && columns_of(t, f->n_cols, f->cols, at))
            for (int c = 0; c < f->n_cols; c++) cols[at[c]] = true;
        if (parent && columns_of(t, f->n_cols, f->ref_cols, at))
            for (int c = 0; c < f->n_cols; c++) cols[at[c]] = true;
    }
    return any;
}

/* The row's values before (e; NULL: it was deleted, or they are as they are now) and whether all are there. */
static Status values_of(Noting *x, const RowEdit *e, int64_t row, int n, const int *cols, Value *out, bool *null) {
    *null = false;
    for (int i = 0; i < n; i++) {
        Value v;
        if (e) undo_edit_value(&x->edits, e, cols[i], &v);
        else table_value(x->t, row, cols[i], &v);
        if (value_copy(x->a, &v, &out[i]) != ST_OK) return err_oom(&x->s->err);
        out[i].type = x->t->cols[cols[i]].type;
        *null |= v.is_null;
    }
    return ST_OK;
}
static bool same_values(const Value *a, const Value *b, int n) {
    for (int i = 0; i < n; i++)
        if (a[i].is_null != b[i].is_null || (!a[i].is_null && value_cmp(&a[i], &b[i]) != 0)) return false;
    return true;
}
static Status add_event(Noting *x, const KeyEvent *e) {
    return vec_push(x->a, &x->out->list, *e) ? ST_OK : err_oom(&x->s->err);
}

static Status note_deleted(Noting *x, const ForeignKey *f, const int *cols) {
    const int64_t n = x->edits.deleted.len;
    KeyEvent e = {.foreign = f->id, .kind = KEY_DELETED};
    if (n == 0) return ST_OK;
    if (!(e.old = arena_array(x->a, Value, n * f->n_cols))) return err_oom(&x->s->err);
    for (int64_t i = 0; i < n; i++) {
        bool null;
        TRY(values_of(x, NULL, x->edits.deleted.items[i], f->n_cols, cols, e.old + e.n * f->n_cols, &null));
        e.n += !null;
    }
    return e.n > 0 ? add_event(x, &e) : ST_OK;
}
static Status note_updated(Noting *x, const ForeignKey *f, const int *cols) {
    const int64_t n = x->edits.updated.len;
    KeyEvent e = {.foreign = f->id, .kind = KEY_UPDATED};
    if (n == 0) return ST_OK;
    e.old = arena_array(x->a, Value, n * f->n_cols);
    e.set = arena_array(x->a, Value, n * f->n_cols);
    if (!e.old || !e.set) return err_oom(&x->s->err);
    for (int64_t i = 0; i < n; i++) {
        const RowEdit *row = &x->edits.updated.items[i];
        Value *old = e.old + e.n * f->n_cols, *set = e.set + e.n * f->n_cols;
        bool null, ignored;
        TRY(values_of(x, row, 0, f->n_cols, cols, old, &null));
        TRY(values_of(x, NULL, row->is, f->n_cols, cols, set, &ignored));
        e.n += !null && !same_values(old, set, f->n_cols);
    }
    return e.n > 0 ? add_event(x, &e) : ST_OK;
}

/* Ranges of rows that f has to look at, later in the statement or in the transaction, in order. */
typedef VEC(RowRange) Ranges;
static bool add_ranges(Arena *a, const KeyEvent *e, const ForeignKey *f, Ranges *out) {
    for (int64_t k = 0; e->foreign == f->id && !e->done && k < e->rows.len; k++)
        if (!vec_push(a, out, e->rows.items[k])) return false;
    return true;
}
static int by_first(const void *a, const void *b) {
    const int64_t x = ((const RowRange *)a)->first, y = ((const RowRange *)b)->first;
    return (x > y) - (x < y);
}
static Status rows_that_wait(Noting *x, const ForeignKey *f, Ranges *out) {
    const struct Constraints *c = x->s->constraints;
    bool ok = true;
    *out = (Ranges){0};
    for (int64_t i = 0; ok && c && i < c->waiting.len; i++) ok = add_ranges(x->a, &c->waiting.items[i], f, out);
    for (int64_t i = 0; ok && i < x->out->list.len; i++) ok = add_ranges(x->a, &x->out->list.items[i], f, out);
    if (!ok) return err_oom(&x->s->err);
    if (out->len > 1) qsort(out->items, (size_t)out->len, sizeof *out->items, by_first);
    int64_t n = 0;
    for (int64_t i = 0; i < out->len; i++) { /* those that meet are one */
        const RowRange r = out->items[i];
        RowRange *last = n ? &out->items[n - 1] : NULL;
        if (last && r.first <= last->first + last->n) last->n = MAX_OF(last->n, r.first + r.n - last->first);
        else out->items[n++] = r;
    }
    out->len = n;
    return ST_OK;
}
static bool row_waits(const Ranges *waiting, int64_t row) {
    int64_t from = 0, to = waiting->len;
    while (from < to) {
        const int64_t mid = (from + to) / 2;
        const RowRange *r = &waiting->items[mid];
        if (row >= r->first && row < r->first + r->n) return true;
        if (row < r->first) to = mid;
        else from = mid + 1;
    }
    return false;
}
static bool add_row(Arena *a, KeyEvent *e, int64_t row) {
    RowRange *last = e->rows.len ? &e->rows.items[e->rows.len - 1] : NULL;
    if (last && last->first + last->n == row) return last->n++, true;
    return vec_push(a, &e->rows, ((RowRange){row, 1}));
}
static Status note_written(Noting *x, const ForeignKey *f, const int *cols) {
    KeyEvent e = {.foreign = f->id, .kind = KEY_WRITTEN};
    Value old[32], now[32];
    bool ignored;
    Ranges waiting;
    TRY(rows_that_wait(x, f, &waiting));
    const bool all = x->edits.renumbered && waiting.len > 0;
    for (int64_t i = 0; all && i < x->t->n_tablets; i++)
        if (!vec_push(x->a, &e.rows, undo_edits_tablet(x->t, i))) return err_oom(&x->s->err);
    for (int64_t i = 0; i < x->edits.inserted.len; i++)
        if (!vec_push(x->a, &e.rows, x->edits.inserted.items[i])) return err_oom(&x->s->err);
    for (int64_t i = 0; i < x->edits.updated.len; i++) {
        const RowEdit *row = &x->edits.updated.items[i];
        TRY(values_of(x, row, 0, f->n_cols, cols, old, &ignored));
        TRY(values_of(x, NULL, row->is, f->n_cols, cols, now, &ignored));
        if (same_values(old, now, f->n_cols) && (row->was == row->is || !row_waits(&waiting, row->was))) continue;
        if (!add_row(x->a, &e, row->is)) return err_oom(&x->s->err);
    }
    return e.rows.len > 0 ? add_event(x, &e) : ST_OK;
}

static Status note_events(Noting *x) {
    const Catalog *k = session_catalog(x->s);
    int cols[32];
    for (int64_t i = 0; i < k->n_foreign; i++) {
        const ForeignKey *f = k->foreign[i];
        if (strcmp(f->ref_table, x->t->name) != 0 || !columns_of(x->t, f->n_cols, f->ref_cols, cols)) continue;
        const Table *child = catalog_table(k, slice_of(f->table));
        if (!child || (child->live_rows == 0 && x->s->state == 'I')) continue; /* a transaction has to read that */
        TRY(note_deleted(x, f, cols));
        TRY(note_updated(x, f, cols));
    }
    for (int64_t i = 0; i < k->n_foreign; i++) {
        const ForeignKey *f = k->foreign[i];
        if (strcmp(f->table, x->t->name) == 0 && columns_of(x->t, f->n_cols, f->cols, cols))
            TRY(note_written(x, f, cols));
    }
    return ST_OK;
}

/* Deferrable keys of rows that were logged after the mark. */
static Status note_keys(Session *s, const Table *t, int64_t mark) {
    for (int k = 0; k < t->n_keys; k++) {
        struct Constraints *c;
        if (!t->keys[k].deferrable) continue;
        if (!key_deferred(s, t, &t->keys[k])) {
            TRY(undo_check_deferrable(s->undo, mark, t, k, &s->err));
            continue;
        }
        TRY(constraints_of(s, &c));
        c->keys_waiting = true;
    }
    return ST_OK;
}

Status constraints_note(Session *s, Arena *a, const Table *t, int64_t mark, KeyEvents *out) {
    const Catalog *k = session_catalog(s);
    Running *running = s->constraints ? s->constraints->running : NULL;
    TRY(note_keys(s, t, mark));
    if (!catalog_may_have_foreign(k, t->name)) return ST_OK;
    bool *cols = arena_calloc(a, t->n_cols + 1);
    if (!cols) return err_oom(&s->err);
    if (!mark_columns(k, t, cols)) return ST_OK;
    Noting x = {.s = s, .a = running ? running->a : a, .t = t, .out = running ? running->events : out};
    if (undo_edits(s->undo, mark, t, cols, x.a, &x.edits) != ST_OK) return err_oom(&s->err);
    return note_events(&x);
}

/* ---- running them ------------------------------------------------------------------------------------- */

static Status copy_values(Session *s, Arena *a, int64_t n, const Value *from, Value **out) {
    Value *v = *out = arena_array(a, Value, n + 1);
    if (!v) return err_oom(&s->err);
    for (int64_t i = 0; i < n; i++) {
        if (value_copy(a, &from[i], &v[i]) != ST_OK) return err_oom(&s->err);
        v[i].type = from[i].type;
    }
    return ST_OK;
}
/* The event waits. Rows of the event that came last join it. */
static Status leave(Session *s, const ForeignKey *f, const KeyEvent *e) {
    struct Constraints *c;
    TRY(session_read_locked(s)); /* it names rows of the table, not of a fork */
    TRY(constraints_of(s, &c));
    KeyEvent *last = c->waiting.len ? &c->waiting.items[c->waiting.len - 1] : NULL;
    const bool joins =
        last && last->foreign == e->foreign && last->kind == KEY_WRITTEN && e->kind == KEY_WRITTEN && !last->done;
    KeyEvent kept = {.foreign = e->foreign, .kind = e->kind, .n = e->n};
    if (!joins) {
        if (e->old) TRY(copy_values(s, c->a, e->n * f->n_cols, e->old, &kept.old));
        if (e->set) TRY(copy_values(s, c->a, e->n * f->n_cols, e->set, &kept.set));
        if (!vec_push(c->a, &c->waiting, kept)) return err_oom(&s->err);
        last = &c->waiting.items[c->waiting.len - 1];
    }
    for (int64_t i = 0; i < e->rows.len; i++) {
        const RowRange r = e->rows.items[i];
        RowRange *end = last->rows.len ? &last->rows.items[last->rows.len - 1] : NULL;
        if (end && end->first + end->n == r.first) end->n += r.n;
        else if (!vec_push(c->a, &last->rows, r)) return err_oom(&s->err);
    }
    return ST_OK;
}

/* waited: it has been deferred, and what is left of it is to look. */
static Status run_event(Session *s, Statement *st, const KeyEvent *e, bool waited) {
    const ForeignKey *f = foreign_by_id(s, e->foreign);
    if (!f) return ST_OK;
    const char action = e->kind == KEY_DELETED ? f->on_delete : f->on_update;
    const bool looks = e->kind == KEY_WRITTEN || action == 'a';
    if (looks && !waited && foreign_deferred(s, f)) return leave(s, f, e);
    if (e->kind == KEY_WRITTEN) return foreign_check_written(s, st, f, e);
    if (action == 'a' || action == 'r') return foreign_check_gone(s, st, f, e, action == 'r');
    return foreign_act(s, st, f, e, action);
}

static Status run_events(Session *s, Statement *st, KeyEvents *events) {
    for (int64_t i = 0; i < events->list.len; i++) {
        const KeyEvent e = events->list.items[i]; /* the list grows */
        TRY(run_event(s, st, &e, false));
    }
    return ST_OK;
}
Status constraints_settle(Session *s, Statement *st, KeyEvents *events) {
    struct Constraints *c;
    if (events->list.len == 0) return ST_OK;
    TRY(constraints_of(s, &c));
    if (c->running) return ST_OK; /* an action: its statement runs them */
    Running here = {st->run_arena, events};
    const bool keeps_read = s->block.keeps_read;
    s->block.keeps_read = true; /* what was found must still be so at COMMIT, at every level */
    c->running = &here;
    Status done = run_events(s, st, events);
    if (s->constraints) s->constraints->running = NULL;
    s->block.keeps_read = keeps_read;
    return done;
}
Status constraints_after(Session *s, Statement *st, const Table *t, int64_t mark) {
    KeyEvents events = {{0}};
    TRY(constraints_note(s, st->run_arena, t, mark, &events));
    return constraints_settle(s, st, &events);
}

/* ---- what waits ------------------------------------------------------------------------------------------ */

/* Events that wait: all of them, or those whose constraints are not deferred any more. */
static Status run_waiting(Session *s, Statement *st, bool all) {
    struct Constraints *c = s->constraints;
    Status done = ST_OK;
    const bool keeps_read = s->block.keeps_read;
    s->block.keeps_read = true;
    if (c) c->ticks++;
    for (int64_t i = 0; c && done == ST_OK && i < c->waiting.len; i++) {
        KeyEvent *e = &c->waiting.items[i];
        const ForeignKey *f = foreign_by_id(s, e->foreign);
        if (e->done || !f || (!all && foreign_deferred(s, f))) continue;
        done = run_event(s, st, e, true);
        if (done == ST_OK) c->waiting.items[i].done = c->ticks;
    }
    s->block.keeps_read = keeps_read;
    return done;
}
/* ... in a statement of their own. */
static Status in_statement(Session *s, bool all) {
    Statement st = {.session = s};
    mem_account_init(&st.account, &s->account, "constraints", 0, NULL);
    if (!(st.run_arena = arena_new(&st.account, &s->err))) return ST_ERROR;
    Status done = run_waiting(s, &st, all);
    arena_free(st.run_arena);
    return done;
}

Status constraints_at_commit(Session *s) {
    const struct Constraints *c = s->constraints;
    if (!s->undo || s->lock != LOCK_EXCLUSIVE) return ST_OK; /* nothing has changed */
    if ((c && c->keys_waiting) || s->state == 'T')           /* others may have committed such keys meanwhile */
        TRY(undo_check_deferrable(s->undo, 0, NULL, -1, &s->err));
    return c && c->waiting.len > 0 ? in_statement(s, true) : ST_OK;
}

static Status some_wait(Session *s, const Table *t, const char *what) {
    err_clear(&s->err);
    return err_set(&s->err, ERR_OBJECT_IN_USE, "cannot %s \"%s\" because it has pending trigger events", what, t->name);
}
Status constraints_none_wait(Session *s, const Table *t, const char *what) {
    const struct Constraints *c = s->constraints;
    if (c && c->keys_waiting && s->undo && undo_check_deferrable(s->undo, 0, t, -1, &s->err) != ST_OK)
        return some_wait(s, t, what);
    for (int64_t i = 0; c && i < c->waiting.len; i++) {
        const KeyEvent *e = &c->waiting.items[i];
        const ForeignKey *f = e->done ? NULL : foreign_by_id(s, e->foreign);
        if (!f || strcmp(e->kind == KEY_WRITTEN ? f->table : f->ref_table, t->name) != 0) continue;
        return some_wait(s, t, what);
    }
    return ST_OK;
}

/* ---- SET CONSTRAINTS ---------------------------------------------------------------------------------------- */

static Status not_deferrable(Session *s, const AstName *n) {
    return err_at(&s->err, n->location, ERR_WRONG_OBJECT_TYPE, "constraint \"%s\" is not deferrable", n->name);
}
/* Constraints of a table are meant: in the schema that is named, else in all of the search path. */
static bool is_meant(const AstName *n, const char *table) {
    return n->schema ? key_is_in(table, n->schema) : search_path_has(schema_of_key(table));
}
/* Adds what the name means: constraints of any tables. */
static Status set_named(Session *s, struct Constraints *c, const AstName *n, bool deferred) {
    const Catalog *k = &s->db->catalog;
    bool found = false;
    if (n->schema && !catalog_has_schema(k, n->schema))
        return err_at(&s->err, n->location, ERR_UNDEFINED_SCHEMA, "schema \"%s\" does not exist", n->schema);
    for (int64_t i = 0; i < k->n_foreign; i++) {
        const ForeignKey *f = k->foreign[i];
        if (strcmp(f->name, n->name) != 0 || !is_meant(n, f->table)) continue;
        found = true;
        if (!f->deferrable && deferred) return not_deferrable(s, n);
        if (f->deferrable && !vec_push(c->a, &c->modes, ((Mode){.foreign = f->id, .deferred = deferred})))
            return err_oom(&s->err);
    }
    for (int64_t i = 0; i < k->n_tables; i++) {
        const Table *t = k->tables[i];
        if (!is_meant(n, t->name)) continue;
        for (int j = 0; j < t->n_checks; j++) {
            if (strcmp(t->checks[j].name, n->name) != 0) continue;
            found = true;
            if (deferred) return not_deferrable(s, n);
        }
        for (int j = 0; j < t->n_keys; j++) {
            if (t->keys[j].is_index || !key_is_named(t->keys[j].name, n->name)) continue;
            found = true;
            if (!t->keys[j].deferrable && deferred) return not_deferrable(s, n);
            Mode m = {.table = t->id, .key = arena_strdup(c->a, t->keys[j].name), .deferred = deferred};
            if (t->keys[j].deferrable && (!m.key || !vec_push(c->a, &c->modes, m))) return err_oom(&s->err);
        }
    }
    return found ? ST_OK
                 : err_at(&s->err, n->location, ERR_UNDEFINED_OBJECT, "constraint \"%s\" does not exist", n->name);
}
/* Deferrable keys that are not deferred. */
static Status check_keys(Session *s) {
    const Catalog *k = &s->db->catalog;
    for (int64_t i = 0; s->undo && i < k->n_tables; i++)
        for (int j = 0; j < k->tables[i]->n_keys; j++) {
            const Table *t = k->tables[i];
            if (t->keys[j].deferrable && !key_deferred(s, t, &t->keys[j]))
                TRY(undo_check_deferrable(s->undo, 0, t, j, &s->err));
        }
    return ST_OK;
}

Status constraints_set(Session *s, Statement *st, const AstSetConstraints *x) {
    struct Constraints *c;
    if (s->state == 'I' && !pl_in_call(s)) {
        session_notice_text(s, "WARNING", "25P01", "SET CONSTRAINTS can only be used in transaction blocks");
        struct Constraints none = {.a = st->run_arena}; /* names are looked at all the same */
        for (int64_t i = 0; i < x->n_names; i++) TRY(set_named(s, &none, &x->names[i], x->deferred));
        return ST_OK;
    }
    TRY(session_lock(s, LOCK_EXCLUSIVE));
    TRY(constraints_of(s, &c));
    for (int64_t i = 0; i < x->n_names; i++) TRY(set_named(s, c, &x->names[i], x->deferred));
    if (x->n_names == 0 && !vec_push(c->a, &c->modes, ((Mode){.deferred = x->deferred}))) return err_oom(&s->err);
    if (x->deferred) return ST_OK;
    TRY(check_keys(s));
    return run_waiting(s, st, false);
}
