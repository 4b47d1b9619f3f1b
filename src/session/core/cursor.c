/* cursor.c - see cursor.h. */
#include "session/core/cursor.h"

#include <stdio.h>

#include "session/core/plancache.h"
#include "session/core/transaction.h"
#include "session/pl/pl_run.h"
#include "sql/bind/bind.h"
#include "sql/parse/parse.h"

/* ---- results that belong to no client ------------------------------------------------------------ */

Status session_result_new(Session *s, Statement **out) {
    Statement *st = mem_calloc(&s->account, (int64_t)sizeof *st, &s->err);
    if (!st) return ST_ERROR;
    st->session = s;
    mem_account_init(&st->account, &s->account, "query", 0, "memory_limit");
    atomic_store(&st->account.reserve, QUERY_RESERVE);
    if (!(st->run_arena = arena_new(&st->account, &s->err))) {
        mem_free(&s->account, st, (int64_t)sizeof *st);
        return ST_ERROR;
    }
    *out = st;
    return ST_OK;
}

Status session_result_keep_names(Statement *st) {
    const char **names = arena_array(st->run_arena, const char *, st->n_cols + 1);
    if (!names) return err_oom(&st->session->err);
    for (int32_t i = 0; i < st->n_cols; i++)
        if (!(names[i] = arena_strdup(st->run_arena, st->names[i]))) return err_oom(&st->session->err);
    st->names = names;
    return ST_OK;
}

static void free_result(Statement *st) {
    query_free(st->query);
    plan_release(st->plan);
    text_release(st->ran_text);
    arena_free(st->run_arena);
    mem_free(&st->session->account, st, (int64_t)sizeof *st);
}
/* A result may share another's rows, and that one the rows of a third. */
void cursor_rows_unref(CursorRows *r) {
    while (r && --r->refs == 0) {
        CursorRows *shared = r->st->shared;
        MemAccount *a = &r->st->session->account;
        free_result(r->st);
        mem_free(a, r, (int64_t)sizeof *r);
        r = shared;
    }
}
void session_result_free(Statement *st) {
    if (!st) return;
    CursorRows *shared = st->shared;
    free_result(st);
    cursor_rows_unref(shared);
}
void session_result_clear(Statement *st) {
    statement_drop_rows(st);
    arena_reset(st->run_arena);
    st->numbers.items = NULL; /* in that arena */
    st->numbers.n = 0;
    st->numbers.locks = false;
    st->show_rows = false;
    st->n_cols = 0;
}

/* ---- the session's cursors ------------------------------------------------------------------------- */

Cursor *cursor_find(const Session *s, Str name) {
    Cursor *c = s->names.cursors;
    while (c && !(c->name_bytes == name.len + 1 && memcmp(c->name, name.ptr, name.len) == 0)) c = c->next;
    return c;
}

Status cursor_add(Session *s, Str name, Statement *st, Cursor **out) {
    const int64_t bytes = (int64_t)name.len + 1;
    Cursor *c = mem_calloc(&s->account, (int64_t)sizeof *c, &s->err);
    CursorRows *r = c ? mem_calloc(&s->account, (int64_t)sizeof *r, &s->err) : NULL;
    char *copy = r ? mem_alloc(&s->account, bytes, &s->err) : NULL;
    if (!copy) {
        mem_free(&s->account, r, (int64_t)sizeof *r);
        mem_free(&s->account, c, (int64_t)sizeof *c);
        session_result_free(st);
        return ST_ERROR;
    }
    memcpy(copy, name.ptr, name.len);
    copy[name.len] = 0;
    *r = (CursorRows){
        .refs = 1, .st = st, .n_numbers = st->numbers.n, .numbers = st->numbers.items, .locks = st->numbers.locks};
    *c = (Cursor){
        .next = s->names.cursors, .name = copy, .name_bytes = bytes, .rows = r, .serial = ++s->names.last_cursor};
    s->names.cursors = c;
    if (out) *out = c;
    return ST_OK;
}

void cursor_close(Session *s, Cursor *c) {
    Cursor **p = &s->names.cursors;
    while (*p != c) p = &(*p)->next;
    *p = c->next;
    cursor_rows_unref(c->rows);
    mem_free(&s->account, c->name, c->name_bytes);
    mem_free(&s->account, c, (int64_t)sizeof *c);
}
void cursor_close_serial(Session *s, int64_t serial) {
    Cursor *c = s->names.cursors;
    while (c && c->serial != serial) c = c->next;
    if (c) cursor_close(s, c);
}
void cursors_close_all(Session *s) {
    while (s->names.cursors) cursor_close(s, s->names.cursors);
}
void cursors_end(Session *s, bool commit) {
    for (Cursor *c = s->names.cursors, *next; c; c = next) {
        next = c->next;
        if (c->kept || (commit && c->of_loop)) continue;
        if (commit && c->hold) c->kept = true;
        else cursor_close(s, c);
    }
}
void cursors_back_to(Session *s, int64_t serial) {
    while (s->names.cursors && s->names.cursors->serial > serial) cursor_close(s, s->names.cursors);
}

/* ---- movements ------------------------------------------------------------------------------------- */

static Status only_forward(Session *s) {
    err_set(&s->err, ERR_NOT_IN_STATE, "cursor can only scan forward");
    err_hint(&s->err, "Declare it with SCROLL option to enable backward scan.");
    return ST_ERROR;
}
/* n rows on; those that there are. */
static CursorMove forward(Cursor *c, int64_t n) {
    const int64_t rows = c->rows->st->n_rows, from = c->at, left = MAX_OF(rows - from, 0);
    if (n <= 0) return (CursorMove){0};
    c->at = n > left ? rows + 1 : from + n;
    return (CursorMove){from + 1, MIN_OF(n, left), false};
}
static Status backward(Session *s, Cursor *c, int64_t n, CursorMove *out) {
    const int64_t from = c->at, left = MAX_OF(from - 1, 0);
    *out = (CursorMove){0};
    if (n <= 0 && !c->no_scroll) return ST_OK;
    if (c->no_scroll) return only_forward(s);
    c->at = n > left ? 0 : from - n;
    *out = (CursorMove){from - 1, MIN_OF(n, left), true};
    return ST_OK;
}
/* To before the first row. */
static Status rewind_cursor(Session *s, Cursor *c) {
    if (c->at > 0 && c->no_scroll) return only_forward(s);
    c->at = 0;
    return ST_OK;
}
/* The present row once more. */
static Status stay(Session *s, Cursor *c, bool fetch, CursorMove *out) {
    const bool on_row = c->at >= 1 && c->at <= c->rows->st->n_rows;
    *out = (CursorMove){c->at, on_row, false};
    return on_row && fetch && c->no_scroll ? only_forward(s) : ST_OK;
}
static Status absolute(Session *s, Cursor *c, int64_t n, CursorMove *out) {
    const int64_t rows = c->rows->st->n_rows;
    if (n > 0) {
        if (n <= c->at) TRY(rewind_cursor(s, c));
        (void)forward(c, n - 1 - c->at);
        *out = forward(c, 1);
        return ST_OK;
    }
    if (n == 0) {
        *out = (CursorMove){0};
        return rewind_cursor(s, c);
    }
    (void)forward(c, INT64_MAX);
    if (n < -1) TRY(backward(s, c, n < -rows - 1 ? rows + 1 : -n - 1, out));
    return backward(s, c, 1, out);
}
static Status relative(Session *s, Cursor *c, int64_t n, bool fetch, CursorMove *out) {
    if (n == 0) return stay(s, c, fetch, out);
    if (n > 0) {
        (void)forward(c, n - 1);
        *out = forward(c, 1);
        return ST_OK;
    }
    if (n < -1) TRY(backward(s, c, -(n + 1), out));
    return backward(s, c, 1, out);
}
static Status move(Session *s, Cursor *c, AstFetchDirection direction, int64_t count, bool fetch, CursorMove *out) {
    bool back = direction == AST_BACKWARD;
    if (direction == AST_ABSOLUTE) return absolute(s, c, count, out);
    if (direction == AST_RELATIVE) return relative(s, c, count, fetch, out);
    if (count == 0) return stay(s, c, fetch, out);
    if (count < 0) {
        back = !back;
        count = count == INT64_MIN ? INT64_MAX : -count;
    }
    if (back) return backward(s, c, count, out);
    *out = forward(c, count);
    return ST_OK;
}

Status cursor_move(Session *s, Cursor *c, AstFetchDirection direction, int64_t count, bool fetch, CursorMove *out) {
    if (c->failed) return err_set(&s->err, ERR_NOT_IN_STATE, "portal \"%s\" cannot be run", c->name);
    c->failed = move(s, c, direction, count, fetch, out) != ST_OK;
    return c->failed ? ST_ERROR : ST_OK;
}

/* ---- DECLARE --------------------------------------------------------------------------------------- */

Status cursor_keep_numbers(Statement *st, const PlanCtx *c, const BoundStmt *b) {
    const int32_t n = (int32_t)c->rows.numbers.len;
    RowNumbers *v = arena_array(st->run_arena, RowNumbers, n + 1);
    if (!v) return err_oom(&st->session->err);
    for (int32_t i = 0; i < n; i++) {
        const RowNumber *x = &c->rows.numbers.items[i];
        v[i] = (RowNumbers){x->table->id, table_generation(x->table), arena_strdup(st->run_arena, x->table->name),
                            b->n_result + i, x->locks};
        if (!v[i].table) return err_oom(&st->session->err);
    }
    st->numbers.items = v;
    st->numbers.n = n;
    st->numbers.locks = c->rows.locks;
    return ST_OK;
}

static Status contradiction(Session *s, const char *what) {
    return err_set(&s->err, ERR_INVALID_CURSOR, "cannot specify both %s", what);
}
static Status read_only(Session *s, const char *state, const char *message, const char *what, const AstSelect *q) {
    err_set(&s->err, state, message, q->lock);
    err_detail(&s->err, "%s cursors must be READ ONLY.", what);
    return ST_ERROR;
}
static Status check_options(Session *s, const AstDeclareCursor *x) {
    const char *const no = ERR_FEATURE_NOT_SUPPORTED;
    if (x->scroll && x->no_scroll) return contradiction(s, "SCROLL and NO SCROLL");
    if (x->asensitive && x->insensitive) return contradiction(s, "ASENSITIVE and INSENSITIVE");
    if (sql_with_changes(x->query->with))
        return err_set(&s->err, no, "DECLARE CURSOR must not contain data-modifying statements in WITH");
    if (x->query->lock && x->hold)
        return read_only(s, no, "DECLARE CURSOR WITH HOLD ... %s is not supported", "Holdable", x->query);
    if (x->query->lock && x->scroll)
        return read_only(s, no, "DECLARE SCROLL CURSOR ... %s is not supported", "Scrollable", x->query);
    if (x->query->lock && x->insensitive)
        return read_only(s, ERR_INVALID_CURSOR, "DECLARE INSENSITIVE CURSOR ... %s is not valid", "Insensitive",
                         x->query);
    return ST_OK;
}

static Status bind_cursor(Session *s, PlanCtx *c, const AstSelect *q, Arena *a, int32_t n_params, const Type *types,
                          const Value *params, BoundStmt **out) {
    plan_ctx_init_client(s, a, c);
    c->rows.numbered = q;
    TRY(sql_bind(c, (const AstStmt *)q, n_params, types, out));
    if (c->n_bulks > 0)
        return err_set(&s->err, ERR_FEATURE_NOT_SUPPORTED, "a bulk in the query of a cursor is not supported");
    if (c->calls_routine) TRY(session_read_locked(s));
    if (c->rows.locks && session_read_only(s))
        return err_set(&s->err, ERR_READ_ONLY, "cannot execute %s in a read-only transaction", q->lock);
    return (*out)->n_params > 0 ? sql_bind_params(c, *out, n_params, params) : ST_OK;
}

static Status shape(Statement *st, const PlanCtx *c, const BoundStmt *b) {
    Arena *a = st->run_arena;
    st->n_cols = b->n_result;
    st->names = b->names;
    st->types = arena_array(a, Type, b->n_result + 1);
    if (!st->types) return err_oom(&st->session->err);
    for (int32_t i = 0; i < b->n_result; i++) st->types[i] = c->cols.items[b->result[i]].type;
    st->has_shape = st->show_rows = true;
    return session_result_keep_names(st);
}
static Status run_cursor(Session *s, Statement *st, const AstSelect *q, int32_t n_params, const Type *types,
                         const Value *params) {
    PlanCtx c;
    BoundStmt *b;
    RunOutput r;
    TRY(bind_cursor(s, &c, q, st->run_arena, n_params, types, params, &b));
    TRY(shape(st, &c, b));
    TRY(cursor_keep_numbers(st, &c, b));
    b->n_result += st->numbers.n;
    TRY(session_run_plan(s, &c, b, b->n_result, b->result, &st->account, &r));
    st->query = r.query;
    st->rows = r.rows;
    st->n_rows = rows_count(r.rows);
    return ST_OK;
}

Status declare_cursor(Session *s, Statement *st, const AstDeclareCursor *x, int32_t n_params, const Type *types,
                      const Value *params) {
    const Str name = str_make(x->name, (int64_t)strlen(x->name));
    Statement *result;
    Cursor *c;
    snprintf(st->tag, sizeof st->tag, "DECLARE CURSOR");
    if (!name.len) return err_set(&s->err, ERR_INVALID_CURSOR_NAME, "invalid cursor name: must not be empty");
    if (!x->hold && s->state == 'I' && !pl_in_call(s))
        return err_set(&s->err, ERR_NO_ACTIVE_TRANSACTION, "DECLARE CURSOR can only be used in transaction blocks");
    TRY(check_options(s, x));
    TRY(transaction_has_forks(s) ? session_lock(s, LOCK_SHARED) : session_read(s, false)); /* it keeps row numbers */
    TRY(session_result_new(s, &result));
    if (run_cursor(s, result, x->query, n_params, types, params) != ST_OK) {
        session_result_free(result);
        return ST_ERROR;
    }
    if (cursor_find(s, name)) {
        session_result_free(result);
        return err_set(&s->err, ERR_DUPLICATE_CURSOR, "cursor \"%s\" already exists", x->name);
    }
    TRY(cursor_add(s, name, result, &c));
    c->hold = x->hold;
    c->no_scroll = x->no_scroll || (x->query->lock && !x->scroll);
    return ST_OK;
}

/* ---- FETCH, MOVE, CLOSE -------------------------------------------------------------------------------- */

static Status named(Session *s, const char *name, Cursor **out) {
    *out = cursor_find(s, str_make(name, (int64_t)strlen(name)));
    return *out ? ST_OK : err_set(&s->err, ERR_INVALID_CURSOR_NAME, "cursor \"%s\" does not exist", name);
}

/* Some rows of another result, which the statement shares: result row i is row m->first -+ i of it. */
static Status show_rows(Session *s, Statement *st, const Statement *from, const CursorMove *m) {
    Arena *a = st->run_arena;
    const int32_t n_cols = from->n_cols;
    int64_t *map = from->rows ? arena_array(a, int64_t, m->n + 1) : NULL;
    const char ***text = from->is_text ? arena_array(a, const char **, m->n + 1) : NULL;
    Value *values = from->values || from->columns ? arena_array(a, Value, m->n * n_cols + 1) : NULL;
    if (!map && !text && !values) return err_oom(&s->err);
    for (int64_t i = 0; i < m->n; i++) {
        const int64_t row = m->back ? m->first - 1 - i : m->first - 1 + i;
        if (map) map[i] = from->row_map ? from->row_map[row] : row;
        if (text) text[i] = from->text_rows[row];
        for (int32_t c = 0; values && c < n_cols; c++)
            values[i * n_cols + c] =
                from->values ? from->values[row * n_cols + c] : statement_column_cell(from, row, c);
    }
    st->rows = from->rows;
    st->first_col = from->first_col;
    st->row_map = map;
    st->text_rows = text;
    st->values = values;
    st->is_text = from->is_text;
    return ST_OK;
}

Status fetch_statement(Session *s, Statement *st, const AstFetch *x) {
    Cursor *c;
    CursorMove m;
    TRY(named(s, x->name, &c));
    TRY(cursor_move(s, c, x->direction, x->count, !x->move, &m));
    snprintf(st->tag, sizeof st->tag, "%s %lld", x->move ? "MOVE" : "FETCH", (long long)m.n);
    st->affected = m.n;
    if (x->move) return ST_OK;
    const Statement *from = c->rows->st;
    TRY(show_rows(s, st, from, &m));
    cursor_rows_unref(st->shared);
    st->shared = c->rows;
    c->rows->refs++;
    st->n_cols = from->n_cols;
    st->names = from->names;
    st->types = from->types;
    st->has_shape = st->show_rows = true;
    st->n_rows = m.n;
    return ST_OK;
}

Status close_statement(Session *s, Statement *st, const AstClose *x) {
    Cursor *c;
    snprintf(st->tag, sizeof st->tag, x->name ? "CLOSE CURSOR" : "CLOSE CURSOR ALL");
    if (!x->name) {
        cursors_close_all(s);
        return ST_OK;
    }
    TRY(named(s, x->name, &c));
    cursor_close(s, c);
    return ST_OK;
}

/* ---- WHERE CURRENT OF ------------------------------------------------------------------------------------ */

static Status wrong_state(Session *s, const char *message, const char *cursor, const Table *t) {
    return err_set(&s->err, ERR_INVALID_CURSOR_STATE, message, cursor, t->name);
}
static Status numbers_of(Session *s, const CursorRows *r, const char *cursor, const Table *t, const RowNumbers **out) {
    const RowNumbers *found = NULL;
    int32_t n = 0;
    for (int32_t i = 0; i < r->n_numbers; i++) {
        if (r->numbers[i].table_id != t->id || r->numbers[i].locks != r->locks) continue;
        found = &r->numbers[i];
        n++;
    }
    *out = found;
    if (r->locks && n == 0)
        return wrong_state(s, "cursor \"%s\" does not have a FOR UPDATE/SHARE reference to table \"%s\"", cursor, t);
    if (r->locks && n > 1)
        return wrong_state(s, "cursor \"%s\" has multiple FOR UPDATE/SHARE references to table \"%s\"", cursor, t);
    if (n != 1 || (!r->locks && r->n_numbers != 1))
        return wrong_state(s, "cursor \"%s\" is not a simply updatable scan of table \"%s\"", cursor, t);
    return ST_OK;
}

Status cursor_current_row(void *session, const char *cursor, const Table *t, int64_t *rowid) {
    Session *s = session;
    Str portal = str_make(cursor, (int64_t)strlen(cursor));
    pl_cursor_portal(s, &portal);
    const Cursor *c = cursor_find(s, portal);
    const RowNumbers *numbers;
    const void *cell;
    bool null;
    if (!c)
        return err_set(&s->err, ERR_INVALID_CURSOR_NAME, "cursor \"%.*s\" does not exist", (int)portal.len, portal.ptr);
    if (c->kept)
        return err_set(&s->err, ERR_INVALID_CURSOR_STATE, "cursor \"%s\" is held from a previous transaction", c->name);
    TRY(numbers_of(s, c->rows, c->name, t, &numbers));
    if (c->at < 1 || c->at > c->rows->st->n_rows)
        return err_set(&s->err, ERR_INVALID_CURSOR_STATE, "cursor \"%s\" is not positioned on a row", c->name);
    if (numbers->generation != table_generation(t)) {
        err_set(&s->err, ERR_INVALID_CURSOR_STATE,
                "rows of table \"%s\" have got other places since cursor \"%s\" was opened", t->name, c->name);
        err_hint(&s->err, "Open the cursor again.");
        return ST_ERROR;
    }
    TRY(rows_cell(c->rows->st->rows, c->at - 1, numbers->col, &cell, &null, &s->err));
    *rowid = null ? -1 : *(const int64_t *)cell;
    return ST_OK;
}
