/* with_changes.c - statements with members of WITH that change data.
 *
 * 1. Every member runs once and to its end, whether it is read or not, and the statement itself once: a member when the
 *    first that reads it is about to run, those that nothing reads behind the statement, the last one first. That is
 *    PostgreSQL's order.
 * 2. All of them see the tables as they were before: changes made so far are logged by themselves and hidden
 *    (storage/undo.c) while a plan runs that reads a table with changes.
 * 3. A row that one of them has changed stays as it is for those behind it, and is not in their results.
 * 4. Members that are read have left their rows (cells of LP_VALUES, PlanValues.member).
 * 5. Foreign keys are looked at when all is done. An error undoes everything.
 *
 * While changes are hidden a routine called by the plan must not change their tables: 55006 (session_table_idle).
 */
#include "base/hash.h"
#include "session/core/changes.h"
#include "session/core/transaction.h"

/* ---- rows of a table --------------------------------------------------------------------- */

static int64_t *row_slot(const RowSet *r, int64_t rowid) {
    uint64_t mask = (UINT64_C(1) << r->bits) - 1, h = hash_u64((uint64_t)rowid) & mask;
    while (r->slots[h] && r->slots[h] != rowid + 1) h = (h + 1) & mask;
    return &r->slots[h];
}
bool row_set_has(const RowSet *r, int64_t rowid) { return r->n > 0 && *row_slot(r, rowid) != 0; }
Status row_set_add(RowSet *r, int64_t rowid) {
    if (r->n * 2 >= (r->slots ? INT64_C(1) << r->bits : 0)) {
        RowSet more = {.a = r->a, .bits = MAX_OF(r->bits + 1, 8)};
        more.slots = arena_calloc(r->a, (int64_t)sizeof(int64_t) << more.bits);
        if (!more.slots) return ST_ERROR;
        for (int64_t i = 0; r->slots && i < INT64_C(1) << r->bits; i++)
            if (r->slots[i]) *row_slot(&more, r->slots[i] - 1) = r->slots[i];
        more.n = r->n;
        *r = more;
    }
    int64_t *slot = row_slot(r, rowid);
    r->n += *slot == 0;
    *slot = rowid + 1;
    return ST_OK;
}

/* ---- a statement's state ------------------------------------------------------------------------- */

typedef struct Member {
    const WithMember *with;
    bool begun, done;
    Change change; /* of one that changes data */
    Query *query;  /* of another */
    RowStore *rows;
    bool filled;
    Vec *cells;
    int64_t n_rows;
} Member;

typedef struct ChangedTable {
    const Table *t;
    RowSet rows;
} ChangedTable;

typedef struct Changes {
    Session *s;
    Arena *a;
    PlanCtx *c;
    MemAccount *acct;
    BoundStmt *b;
    Member *members;
    UndoLog *outer, *log; /* log: what the statement has changed; it is the session's while it is shown */
    HiddenChanges here;
    bool hidden;
    VEC(ChangedTable) tables; /* with changes, in the log */
    KeyEvents events;         /* of all members: a later one may move rows of an earlier one's */
} Changes;

static Status hide(Changes *x) {
    if (x->hidden) return ST_OK;
    TRY(undo_reserve(x->log, 0, &x->s->err));
    undo_hide(x->log);
    x->hidden = true;
    x->here = (HiddenChanges){x->s->hidden, x->log};
    x->s->hidden = &x->here;
    x->s->undo = x->outer;
    return ST_OK;
}
static void show(Changes *x) {
    if (!x->hidden) return;
    undo_show(x->log, false);
    x->hidden = false;
    x->s->hidden = x->here.up;
    x->s->undo = x->log;
}

static ChangedTable *changed_table(const Changes *x, const Table *t) {
    for (int64_t i = 0; i < x->tables.len; i++)
        if (x->tables.items[i].t == t) return &x->tables.items[i];
    return NULL;
}

/* ---- plans and the members that they read ---------------------------------------------------------- */

typedef struct Look {
    Changes *x;
    bool *reads;  /* by member */
    bool changed; /* it reads a table with changes */
    bool fill;    /* gives scans of members their rows */
} Look;

static void look_at(void *ctx, Plan *p) {
    Look *l = ctx;
    if (p->kind == LP_SCAN && changed_table(l->x, p->scan.table)) l->changed = true;
    if (p->kind == LP_VALUES && p->values.member) {
        Member *m = &l->x->members[p->values.member - 1];
        l->reads[p->values.member - 1] = true;
        if (l->fill) {
            p->values.cells = arena_array(l->x->a, Vec, p->n_out + 1);
            p->values.n_rows = m->n_rows;
            for (int32_t i = 0; p->values.cells && i < p->n_out; i++) p->values.cells[i] = m->cells[i];
        }
    }
}
static void look(Look *l, Plan *p) { plan_visit(&(PlanVisitor){.ctx = l, .plan = look_at}, p); }

/* The cells of column `col` of a member's result. */
static Status member_cells(Changes *x, const Member *m, int32_t col, Vec *out) {
    const BoundStmt *b = m->with->stmt;
    const Change *ch = &m->change;
    RowStore *rows = m->rows ? m->rows : ch->rows;
    const Type t = rows_layout(rows)->cols[ch->first_result + col].type;
    const Phys ph = (Phys)rows_layout(rows)->cols[ch->first_result + col].phys;
    const int64_t size = phys_size(ph);
    char *data = arena_calloc(x->a, (m->n_rows + 1) * size);
    uint8_t *valid = arena_alloc(x->a, m->n_rows + 1);
    bool nulls = false;
    if (!data || !valid) return err_oom(&x->s->err);
    for (int64_t i = 0; i < m->n_rows; i++) {
        int64_t row = ch->map ? ch->map[i] : i;
        const void *cell;
        bool null;
        TRY(rows_cell(rows, row < 0 ? -1 - row : row, ch->first_result + col + (row < 0 ? b->n_result : 0), &cell,
                      &null, &x->s->err));
        valid[i] = !null;
        nulls |= null;
        if (null) continue;
        memcpy(data + i * size, cell, (size_t)size);
        if (ph != PH_STR) continue;
        Str *v = (Str *)(void *)(data + i * size);
        char *copy = arena_strndup(x->a, v->ptr, v->len);
        if (!copy) return err_oom(&x->s->err);
        *v = str_make(copy, v->len);
    }
    *out = (Vec){.phys = (uint8_t)ph, .type = t, .data = data, .valid = nulls ? valid : NULL};
    return ST_OK;
}
static Status fill_member(Changes *x, Member *m) {
    const BoundStmt *b = m->with->stmt;
    if (m->filled) return ST_OK;
    m->n_rows = m->rows ? rows_count(m->rows) : m->change.n_shown;
    if (!(m->cells = arena_array(x->a, Vec, b->n_result + 1))) return err_oom(&x->s->err);
    for (int32_t i = 0; i < b->n_result; i++) TRY(member_cells(x, m, i, &m->cells[i]));
    m->filled = true;
    return ST_OK;
}

static Status run_member(Changes *x, int32_t k);

/* Members that the plan reads have run, it has their rows, and the tables are as it has to see them. */
static Status make_ready(Changes *x, const BoundStmt *b) {
    Look l = {.x = x, .reads = arena_array(x->a, bool, x->b->n_members + 1)};
    if (!l.reads) return err_oom(&x->s->err);
    look(&l, b->plan);
    for (int32_t k = 0; k < x->b->n_members; k++) {
        if (!l.reads[k]) continue;
        TRY(run_member(x, k));
        TRY(fill_member(x, &x->members[k]));
    }
    l.fill = true;
    look(&l, b->plan);
    TRY(stack_check(&x->s->err));
    if (l.changed) return hide(x);
    show(x);
    return ST_OK;
}

/* ---- changes ------------------------------------------------------------------------------------------ */

/* A statement that has not run yet may change rows of the table, too. */
static bool changes_later(const Changes *x, const Table *t) {
    bool later = x->b->table == t;
    for (int32_t k = 0; k < x->b->n_members; k++) later |= !x->members[k].done && x->members[k].with->stmt->table == t;
    return later;
}

static Status note_rows(Changes *x, const Change *ch) {
    ChangedTable *t = changed_table(x, ch->b->table);
    if (!t) {
        ChangedTable fresh = {.t = ch->b->table, .rows = {.a = x->a}};
        if (!vec_push(x->a, &x->tables, fresh)) return err_oom(&x->s->err);
        t = &x->tables.items[x->tables.len - 1];
    }
    if ((ch->b->kind == STMT_INSERT && !ch->b->hit) || !changes_later(x, ch->b->table)) return ST_OK;
    for (int64_t i = 0; i < ch->n_shown; i++) {
        int64_t row = ch->map ? ch->map[i] : i;
        const void *cell;
        bool null;
        if (row < 0) continue; /* inserted after all */
        TRY(rows_cell(ch->rows, row, 0, &cell, &null, &x->s->err));
        if (!null && row_set_add(&t->rows, *(const int64_t *)cell) != ST_OK) return err_oom(&x->s->err);
    }
    return ST_OK;
}

static Status run_change(Changes *x, BoundStmt *b, Change *ch) {
    TRY(make_ready(x, b));
    TRY(session_may_change(x->s, b->table));
    TRY(change_plan(x->s, x->a, x->c, b, x->acct, ch));
    show(x);
    TRY(change_allowed(x->s, b));
    const ChangedTable *t = changed_table(x, b->table);
    ch->changed = t ? &t->rows : NULL;
    ch->events = &x->events;
    TRY(change_apply(x->s, x->a, ch));
    return note_rows(x, ch);
}

static Status run_query(Changes *x, BoundStmt *b, int32_t n, const ColId *ids, RunOutput *out) {
    TRY(make_ready(x, b));
    return session_run_member(x->s, x->c, b, n, ids, x->acct, out);
}

static Status run_member(Changes *x, int32_t k) {
    Member *m = &x->members[k];
    BoundStmt *b = m->with->stmt;
    RunOutput out;
    if (m->done) return ST_OK;
    if (m->begun) return err_internal(&x->s->err, "a member of WITH reads itself");
    m->begun = true;
    TRY(stack_check(&x->s->err));
    if (b->kind == STMT_SELECT) {
        TRY(run_query(x, b, b->n_result, b->result, &out));
        m->query = out.query;
        m->rows = out.rows;
    } else {
        TRY(run_change(x, b, &m->change));
    }
    m->done = true;
    x->b->members[k].n_done = b->kind == STMT_SELECT ? rows_count(m->rows) : m->change.done;
    return ST_OK;
}

/* ---- the statement ---------------------------------------------------------------------------------- */

static Status begin(Changes *x) {
    Session *s = x->s;
    const BoundStmt *b = x->b;
    if (x->c->n_bulks > 0)
        return err_set(&s->err, ERR_FEATURE_NOT_SUPPORTED,
                       "a bulk in a statement with data-modifying members of WITH is not supported");
    if (!(x->members = arena_array(x->a, Member, b->n_members + 1))) return err_oom(&s->err);
    for (int32_t i = 0; i < b->n_members; i++) x->members[i].with = &b->members[i];
    TRY(session_begin_change(s));
    x->outer = s->undo;
    if (!(x->log = undo_new(&s->db->parts[DB_UNDO], &s->err))) return ST_ERROR;
    s->undo = x->log;
    return ST_OK;
}

/* Members that nothing has read. */
static Status run_others(Changes *x) {
    for (int32_t k = x->b->n_members; k-- > 0;)
        if (x->b->members[k].stmt->kind != STMT_SELECT) TRY(run_member(x, k));
    show(x);
    return ST_OK;
}

/* The session's log has the changes, and foreign keys hold. */
static Status settle(Changes *x, int64_t mark) {
    int64_t bytes;
    TRY(undo_move(x->log, x->outer, false, &bytes, &x->s->err));
    x->s->undo = x->outer;
    Statement sub = {.session = x->s, .run_arena = x->a};
    mem_account_init(&sub.account, x->acct, "foreign key", 0, NULL);
    Status done = constraints_settle(x->s, &sub, &x->events);
    if (done != ST_OK) undo_rollback(x->outer, mark);
    return done;
}

static void end(Changes *x, Status st) {
    Session *s = x->s;
    if (x->log) {
        if (x->hidden) {
            s->hidden = x->here.up;
            undo_abandon(x->log);
        } else {
            undo_rollback(x->log, 0); /* empty, where it was moved */
        }
        undo_free(x->log);
        s->undo = x->outer;
    }
    for (int32_t i = 0; x->members && i < x->b->n_members; i++) {
        query_free(x->members[i].query);
        query_free(x->members[i].change.query);
        if (st != ST_OK && x->b->members[i].stmt->table) (void)transaction_reads_table(s, x->b->members[i].stmt->table);
    }
    if (st != ST_OK && x->b->table) (void)transaction_reads_table(s, x->b->table);
}

Status session_run_with_changes(Session *s, PlanCtx *c, BoundStmt *b, int32_t n, const ColId *ids, MemAccount *acct,
                                RunOutput *out) {
    Changes x = {.s = s, .a = c->arena, .c = c, .acct = acct, .b = b};
    memset(out, 0, sizeof *out);
    TRY(stack_check(&s->err));
    Status st = begin(&x);
    int64_t mark = st == ST_OK ? undo_mark(x.outer) : 0;
    if (st == ST_OK) st = run_query(&x, b, n, ids, out);
    if (st == ST_OK) st = run_others(&x);
    if (st == ST_OK) st = settle(&x, mark);
    end(&x, st);
    if (st == ST_OK) return ST_OK;
    query_free(out->query);
    out->query = NULL;
    return ST_ERROR;
}

Status session_with_changes(Session *s, Statement *st, PlanCtx *c, BoundStmt *b) {
    Changes x = {.s = s, .a = st->run_arena, .c = c, .acct = &st->account, .b = b};
    Change own = {0};
    Status r = begin(&x);
    int64_t mark = r == ST_OK ? undo_mark(x.outer) : 0;
    if (r == ST_OK) r = run_change(&x, b, &own);
    if (r == ST_OK) r = run_others(&x);
    if (r == ST_OK) r = settle(&x, mark);
    end(&x, r);
    st->query = own.query;
    if (r == ST_OK) change_result(st, &own);
    return r;
}
