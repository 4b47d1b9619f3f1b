/* pl_stmt.c - the statements of a body, one after the other. */
#include "session/core/advisory.h"
#include "session/core/constraints.h"
#include "session/pl/pl_run_int.h"

#include <stdio.h>

#include "base/log.h"
#include "types/array.h"

static const Type any_type = {.id = T_UNKNOWN};

/* ---- limits ------------------------------------------------------------------------------ */

Status pl_interrupted(Session *s) {
    if (atomic_load(&s->cancel)) return err_set(&s->err, ERR_QUERY_CANCELED, "canceling statement due to user request");
    if (s->deadline_ns && clock_ns() > s->deadline_ns)
        return err_set(&s->err, ERR_QUERY_CANCELED, "canceling statement due to statement timeout");
    return ST_OK;
}

/* Once per iteration of a loop, except over the rows of a query, which end by themselves. */
static Status tick(Session *s) {
    int64_t n = ++s->pl->steps, limit = s->settings.bulk.step_limit;
    if (limit > 0 && n > limit) {
        err_set(&s->err, ERR_PROGRAM_LIMIT, "the call has made more than %lld loop iterations", (long long)limit);
        err_hint(&s->err, "Raise bulk_step_limit if the loop is meant to be that long.");
        return ST_ERROR;
    }
    return n % 64 == 0 ? pl_interrupted(s) : ST_OK;
}

/* ---- bodies and blocks ---------------------------------------------------------------------- */

static PlOutcome exec_body(PlFrame *fr, const PlBody *b) {
    for (int32_t i = 0; i < b->n; i++) {
        PlOutcome o = pl_exec(fr, b->stmts[i]);
        if (o != PLO_NEXT) return o;
    }
    return PLO_NEXT;
}

static PlOutcome of(Status st) { return st == ST_OK ? PLO_NEXT : PLO_ERROR; }

static Status init_var(PlFrame *fr, int32_t k) {
    const PlVar *v = &fr->f->vars[k];
    if (v->kind != PLV_SCALAR) {
        PlRecord *r = &fr->records[k];
        if (v->kind == PLV_RECORD) r->assigned = false, r->n = 0;
        for (int32_t i = 0; v->kind == PLV_ROW && i < v->n_fields; i++)
            r->slots[i].v = (Value){.type = v->field_types[i], .is_null = true};
        return v->init ? err_set(&fr->s->err, ERR_FEATURE_NOT_SUPPORTED,
                                 "a default value of a record variable is not supported")
                       : ST_OK;
    }
    Value x = {.type = v->type, .is_null = true};
    if (v->init) TRY(pl_eval(fr, v->init, v->type, &x));
    return pl_assign(fr, (PlRef){k, NULL}, &x);
}

static bool catches(const PlHandler *h, const char *state) {
    for (int32_t i = 0; i < h->n_states; i++) {
        const char *c = h->states[i];
        if (strcmp(c, "others") == 0) {
            if (strcmp(state, ERR_QUERY_CANCELED) != 0 && strcmp(state, ERR_ASSERT_FAILURE) != 0) return true;
        } else if (strcmp(c, state) == 0 || (strcmp(c + 2, "000") == 0 && memcmp(c, state, 2) == 0)) {
            return true;
        }
    }
    return false;
}

/* Nothing large on the stack, here and below: calls nest deeply. */
static PlOutcome run_handler(PlFrame *fr, const PlStmt *s, const PlHandler *h) {
    Session *ses = fr->s;
    Err *caught = mem_alloc(&ses->account, (int64_t)sizeof *caught, NULL);
    if (!caught) {
        err_clear(&ses->err);
        return of(err_oom(&ses->err));
    }
    err_copy(caught, &ses->err);
    err_clear(&ses->err);
    fr->located = false;
    const Err *outer = fr->caught;
    fr->caught = caught;
    Value v = {.type = type_make(T_TEXT), .u.str = str_make(caught->sqlstate, 5)};
    Value m = {.type = type_make(T_TEXT), .u.str = str_make(caught->message, (int64_t)strlen(caught->message))};
    PlOutcome o = of(pl_slot_set(ses, &fr->slots[s->scope.state_var], &v));
    if (o == PLO_NEXT) o = of(pl_slot_set(ses, &fr->slots[s->scope.message_var], &m));
    if (o == PLO_NEXT) o = exec_body(fr, &h->body);
    fr->caught = outer;
    mem_free(&ses->account, caught, (int64_t)sizeof *caught);
    return o;
}

/* A block with handlers is a subtransaction; its declarations are not in it. */
static PlOutcome exec_guarded(PlFrame *fr, const PlStmt *s) {
    Session *ses = fr->s;
    int64_t mark = ses->undo ? undo_mark(ses->undo) : 0, cursors = ses->names.last_cursor;
    const CatalogUndo *catalog_mark = ses->catalog_undo;
    const ConstraintMark constraints = constraints_mark(ses);
    const int64_t advisory = advisory_mark(ses);
    Settings *settings = mem_alloc(&ses->account, (int64_t)sizeof *settings, &ses->err);
    const PlHandler *handler = NULL;
    if (!settings) return PLO_ERROR;
    *settings = ses->settings;
    fr->subtransactions++;
    PlOutcome o = exec_body(fr, &s->body);
    fr->subtransactions--;
    for (int32_t i = 0; o == PLO_ERROR && !handler && i < s->scope.n_handlers; i++)
        if (!ses->block.holder && catches(&s->scope.handlers[i], ses->err.sqlstate)) handler = &s->scope.handlers[i];
    if (handler) {
        if (ses->undo) undo_rollback(ses->undo, mark);
        catalog_undo_to(ses, catalog_mark);
        constraints_back(ses, constraints);
        advisory_back_to(ses, advisory);
        cursors_back_to(ses, cursors);
        settings_restore(ses, settings);
    }
    mem_free(&ses->account, settings, (int64_t)sizeof *settings);
    return handler ? run_handler(fr, s, handler) : o;
}

static PlOutcome exec_block(PlFrame *fr, const PlStmt *s) {
    PlOutcome o = PLO_NEXT;
    for (int32_t i = 0; i < s->scope.n_inits && o == PLO_NEXT; i++) o = of(init_var(fr, s->scope.inits[i]));
    if (o == PLO_NEXT) o = s->scope.n_handlers ? exec_guarded(fr, s) : exec_body(fr, &s->body);
    return o == PLO_EXIT && fr->leave == s->loop ? PLO_NEXT : o;
}

/* ---- conditions and loops --------------------------------------------------------------------- */

static Status condition(PlFrame *fr, const PlExpr *x, bool *out) {
    Value v;
    TRY(pl_eval(fr, x, type_make(T_BOOL), &v));
    *out = !v.is_null && v.u.b;
    return ST_OK;
}

static PlOutcome exec_if(PlFrame *fr, const PlStmt *s) {
    for (int32_t i = 0; i < s->arms.n; i++) {
        bool yes;
        if (condition(fr, s->arms.items[i].cond, &yes) != ST_OK) return PLO_ERROR;
        if (yes) return exec_body(fr, &s->arms.items[i].body);
    }
    return exec_body(fr, &s->body);
}

static PlOutcome exec_case(PlFrame *fr, const PlStmt *s) {
    if (s->expr) {
        Value v;
        if (pl_eval(fr, s->expr, any_type, &v) != ST_OK || pl_assign(fr, (PlRef){s->arms.case_var, NULL}, &v) != ST_OK)
            return PLO_ERROR;
    }
    for (int32_t i = 0; i < s->arms.n; i++) {
        bool yes;
        if (condition(fr, s->arms.items[i].cond, &yes) != ST_OK) return PLO_ERROR;
        if (yes) return exec_body(fr, &s->arms.items[i].body);
    }
    if (s->arms.has_else) return exec_body(fr, &s->body);
    err_set(&fr->s->err, ERR_CASE_NOT_FOUND, "case not found");
    err_hint(&fr->s->err, "CASE statement is missing ELSE part.");
    return PLO_ERROR;
}

/* What a loop does after its body: true: goes on, false: ends with *o. */
static bool loop_goes_on(PlFrame *fr, const PlStmt *s, PlOutcome *o) {
    if (*o == PLO_EXIT && fr->leave == s->loop) return *o = PLO_NEXT, false;
    if (*o == PLO_CONTINUE && fr->leave == s->loop) *o = PLO_NEXT;
    return *o == PLO_NEXT;
}

static PlOutcome exec_loop(PlFrame *fr, const PlStmt *s) {
    PlOutcome o;
    do {
        if (s->kind == PLS_WHILE) {
            bool yes;
            arena_reset(fr->scratch);
            if (condition(fr, s->expr, &yes) != ST_OK) return PLO_ERROR;
            if (!yes) return PLO_NEXT;
        }
        if (tick(fr->s) != ST_OK) return PLO_ERROR;
        o = exec_body(fr, &s->body);
    } while (loop_goes_on(fr, s, &o));
    return o;
}

static Status bound(PlFrame *fr, const PlExpr *x, const char *what, int64_t *out) {
    Value v;
    TRY(pl_eval(fr, x, type_make(T_INT4), &v));
    if (v.is_null) return err_set(&fr->s->err, ERR_NULL_NOT_ALLOWED, "%s of FOR loop cannot be null", what);
    *out = v.u.i32;
    return ST_OK;
}

static PlOutcome exec_for(PlFrame *fr, const PlStmt *s) {
    int64_t lo, hi, by = 1;
    bool found = false;
    PlOutcome o = PLO_NEXT;
    if (bound(fr, s->expr, "lower bound", &lo) != ST_OK || bound(fr, s->expr2, "upper bound", &hi) != ST_OK)
        return PLO_ERROR;
    if (s->expr3) {
        if (bound(fr, s->expr3, "BY value", &by) != ST_OK) return PLO_ERROR;
        if (by <= 0)
            return of(err_set(&fr->s->err, ERR_INVALID_PARAMETER, "BY value of FOR loop must be greater than zero"));
    }
    for (int64_t i = lo; s->reverse ? i >= hi && i >= INT32_MIN : i <= hi && i <= INT32_MAX;
         i += s->reverse ? -by : by) {
        found = true;
        if (tick(fr->s) != ST_OK) return PLO_ERROR;
        fr->slots[s->implicit_var].v = (Value){.type = type_make(T_INT4), .u.i32 = (int32_t)i};
        o = exec_body(fr, &s->body);
        if (!loop_goes_on(fr, s, &o)) break;
    }
    if (o != PLO_ERROR) (void)pl_set_bool(fr, fr->f->found, found);
    return o;
}

static PlOutcome loop_over_rows(PlFrame *fr, const PlStmt *s, Statement *st, int64_t serial) {
    PlOutcome o = PLO_NEXT;
    const int64_t n = st->n_rows;
    for (int64_t i = 0; i < n && o == PLO_NEXT; i++) {
        arena_reset(fr->scratch);
        if ((i % 64 == 63 && pl_interrupted(fr->s) != ST_OK) || pl_assign_row(fr, s, st, i) != ST_OK) o = PLO_ERROR;
        else if (serial && pl_loop_at(fr->s, serial, i + 1) != ST_OK) o = PLO_ERROR;
        else o = exec_body(fr, &s->body);
        if (!loop_goes_on(fr, s, &o)) break;
    }
    if (n == 0 && o == PLO_NEXT) o = of(pl_assign_row(fr, s, st, -1));
    if (o != PLO_ERROR) (void)pl_set_bool(fr, fr->f->found, n > 0);
    return o;
}
static PlOutcome exec_for_query(PlFrame *fr, const PlStmt *s) {
    Statement *st;
    if (session_result_new(fr->s, &st) != ST_OK) return PLO_ERROR;
    st->numbers.wanted = s->cursor.var >= 0;
    Status r = st->numbers.wanted ? pl_cursor_query(fr, s, st)
               : s->query         ? pl_run_query(fr, s->query, st)
                                  : pl_run_dynamic(fr, s, st);
    if (r == ST_OK && !pl_returns_rows(st))
        r = err_set(&fr->s->err, ERR_SYNTAX, "cannot open %s query as cursor", st->tag[0] ? st->tag : "this");
    if (r != ST_OK || !st->numbers.wanted) {
        PlOutcome o = r == ST_OK ? loop_over_rows(fr, s, st, 0) : PLO_ERROR;
        session_result_free(st);
        return o;
    }
    int64_t serial;
    if (pl_loop_cursor(fr, s, st, &serial) != ST_OK) return PLO_ERROR;
    CursorRows *rows = fr->s->names.cursors->rows; /* they stay, whatever becomes of the cursor */
    rows->refs++;
    PlOutcome o = loop_over_rows(fr, s, st, serial);
    cursor_close_serial(fr->s, serial);
    cursor_rows_unref(rows);
    return o;
}

/* What FOREACH goes over: elements, or slices of the last dimensions. */
typedef struct Foreach {
    ArrayView all;
    Type array;
    ArrayShape shape; /* of a slice; n = 0: elements */
    int64_t step, n;  /* elements of one, how many there are */
} Foreach;

/* The slice's dimensions, and whether the variable takes what it gives. */
static Status foreach_begin(PlFrame *fr, const PlStmt *s, Type t, Str blob, Foreach *x) {
    Err *e = &fr->s->err;
    Value slice = {0};
    *x = (Foreach){.all = array_view(blob), .array = t, .step = 1};
    if (s->expr2) TRY(pl_eval(fr, s->expr2, type_make(T_INT4), &slice));
    const int32_t n = slice.u.i32;
    if (n < 0 || n > x->all.n_dims)
        return err_set(e, ERR_ARRAY_SUBSCRIPT, "slice dimension (%d) is out of the valid range 0..%d", n,
                       x->all.n_dims);
    const PlVar *var = s->targets[0].field ? NULL : &fr->f->vars[s->targets[0].var];
    if (var && n > 0 && var->type.id != T_ARRAY)
        return err_set(e, ERR_DATATYPE_MISMATCH, "FOREACH ... SLICE loop variable must be of an array type");
    if (var && n == 0 && var->type.id == T_ARRAY)
        return err_set(e, ERR_DATATYPE_MISMATCH, "FOREACH loop variable must not be of an array type");
    x->shape.n = n;
    for (int32_t k = 0; k < n; k++) {
        x->shape.dims[k] = array_dim(&x->all, x->all.n_dims - n + k);
        x->step *= x->shape.dims[k].len;
    }
    x->n = x->all.n / x->step;
    return ST_OK;
}
static Status foreach_value(PlFrame *fr, const Foreach *x, int64_t i, Value *out) {
    if (x->shape.n == 0) {
        *out = (Value){.type = type_element(x->array), .is_null = array_is_null(&x->all, i)};
        if (!out->is_null) array_get(&x->all, i, value_cell(out));
        return ST_OK;
    }
    const int64_t size = phys_size(x->all.phys);
    char *cells = arena_calloc(fr->scratch, x->step * size);
    uint8_t *valid = arena_alloc(fr->scratch, x->step);
    if (!cells || !valid) return err_oom(&fr->s->err);
    for (int64_t k = 0; k < x->step; k++) {
        valid[k] = !array_is_null(&x->all, i * x->step + k);
        if (valid[k]) array_get(&x->all, i * x->step + k, cells + k * size);
    }
    *out = (Value){.type = x->array};
    return array_build_shaped(fr->scratch, x->all.phys, &x->shape, cells, valid, &out->u.str, &fr->s->err);
}

static PlOutcome exec_foreach(PlFrame *fr, const PlStmt *s) {
    Value v;
    PlOutcome o = PLO_NEXT;
    Err *e = &fr->s->err;
    if (pl_eval(fr, s->expr, any_type, &v) != ST_OK) return PLO_ERROR;
    if (v.is_null) return of(err_set(e, ERR_NULL_NOT_ALLOWED, "FOREACH expression must not be null"));
    if (v.type.id != T_ARRAY)
        return of(err_set(e, ERR_DATATYPE_MISMATCH, "FOREACH expression must yield an array, not type %s",
                          type_plain_name(v.type)));
    Arena *own = arena_new(&fr->s->account, e);
    Value copy = v;
    if (!own) return PLO_ERROR;
    if (value_copy(own, &v, &copy) != ST_OK) o = of(stack_failed(e));
    Foreach a = {0};
    if (o == PLO_NEXT) o = of(foreach_begin(fr, s, v.type, copy.u.str, &a));
    for (int64_t i = 0; i < a.n && o == PLO_NEXT; i++) {
        Value x;
        arena_reset(fr->scratch);
        if (tick(fr->s) != ST_OK || foreach_value(fr, &a, i, &x) != ST_OK || pl_assign(fr, s->targets[0], &x) != ST_OK)
            o = PLO_ERROR;
        else o = exec_body(fr, &s->body);
        if (!loop_goes_on(fr, s, &o)) break;
    }
    arena_free(own);
    if (o != PLO_ERROR) (void)pl_set_bool(fr, fr->f->found, a.n > 0);
    return o;
}

static PlOutcome exec_exit(PlFrame *fr, const PlStmt *s) {
    if (s->expr) {
        bool yes;
        if (condition(fr, s->expr, &yes) != ST_OK) return PLO_ERROR;
        if (!yes) return PLO_NEXT;
    }
    fr->leave = s->loop;
    return s->is_exit ? PLO_EXIT : PLO_CONTINUE;
}

/* ---- assignment --------------------------------------------------------------------------------- */

/* The composite variable that an expression is, and nothing else; -1. */
static int32_t whole_record(PlFrame *fr, const PlExpr *x) {
    PlRef r;
    if (!x->ast || x->ast->kind != AST_COLUMN) return -1;
    const AstColumn *c = AST_AS_CONST(AstColumn, x->ast);
    if (!pl_resolve(fr->f, x->block, x->limit, c->schema, c->table, c->name, &r) || r.field) return -1;
    return fr->f->vars[r.var].kind == PLV_SCALAR ? -1 : r.var;
}

/* A record as the one row of a result. */
static Status record_result(PlFrame *fr, int32_t var, Statement *st) {
    const PlRecord *rec = &fr->records[var];
    Arena *a = fr->scratch;
    if (!rec->assigned) {
        err_set(&fr->s->err, ERR_NOT_IN_STATE, "record \"%s\" is not assigned yet", fr->f->vars[var].name);
        err_detail(&fr->s->err, "The tuple structure of a not-yet-assigned record is indeterminate.");
        return ST_ERROR;
    }
    Value *v = arena_array(a, Value, rec->n + 1);
    Type *t = arena_array(a, Type, rec->n + 1);
    if (!v || !t) return err_oom(&fr->s->err);
    for (int32_t i = 0; i < rec->n; i++) {
        v[i] = rec->slots[i].v;
        t[i] = v[i].type;
    }
    *st = (Statement){.session = fr->s,
                      .n_cols = rec->n,
                      .names = rec->names,
                      .types = t,
                      .values = v,
                      .n_rows = 1,
                      .show_rows = true};
    return ST_OK;
}

/* The fields of a composite value as the one row of a result; NULL: no row. 0A000 of others, which as PostgreSQL has it
 * are read as records from their texts. */
static Status composite_result(PlFrame *fr, const Value *v, Statement *st) {
    const CompositeType *x = composite_of(v->type);
    Arena *a = fr->scratch;
    *st = (Statement){.session = fr->s, .show_rows = true};
    if (!x && !v->is_null)
        return err_set(&fr->s->err, ERR_FEATURE_NOT_SUPPORTED, "input of anonymous composite types is not implemented");
    if (v->is_null) return ST_OK;
    Value *values = arena_array(a, Value, x->n + 1);
    Type *types = arena_array(a, Type, x->n + 1);
    const char **names = arena_array(a, const char *, x->n + 1);
    if (!values || !types || !names) return err_oom(&fr->s->err);
    TRY(composite_read(x, v->u.str, values, &fr->s->err));
    for (int32_t i = 0; i < x->n; i++) {
        types[i] = x->fields[i].type;
        names[i] = x->fields[i].name;
    }
    st->n_cols = x->n;
    st->names = names;
    st->types = types;
    st->values = values;
    st->n_rows = 1;
    return ST_OK;
}

static Status exec_assign(PlFrame *fr, const PlStmt *s) {
    Value v;
    if (s->n_subscripts) return pl_assign_part(fr, s);
    PlRef t = s->targets[0];
    if (s->is_row) {
        Statement st;
        int32_t from = whole_record(fr, s->expr);
        if (from >= 0) {
            TRY(record_result(fr, from, &st));
            return pl_assign_row(fr, s, &st, 0);
        }
        TRY(pl_eval(fr, s->expr, any_type, &v));
        const Type own = fr->f->vars[t.var].type;
        Value row = v;
        EvalCtx x;
        pl_eval_ctx(fr, &x);
        if (own.id == T_COMPOSITE && v.type.id != T_COMPOSITE) TRY(eval_assign(&x, &v, own, &row));
        TRY(composite_result(fr, &row, &st));
        return pl_assign_row(fr, s, &st, row.is_null ? -1 : 0);
    }
    const Value *old = t.field ? pl_ref_value(fr, t) : NULL;
    Type want = t.field ? (old ? old->type : any_type) : fr->f->vars[t.var].type;
    TRY(pl_eval(fr, s->expr, want, &v));
    return pl_assign(fr, t, &v);
}

/* ---- RAISE, ASSERT --------------------------------------------------------------------------------- */

static Status raise_message(PlFrame *fr, const PlStmt *s, char **out) {
    Arena *a = fr->scratch;
    VEC(char) t = {0};
    int32_t arg = 0;
    for (const char *p = s->raise.format; *p; p++) {
        if (*p != '%' || p[1] == '%') {
            if (!vec_push(a, &t, *p)) return err_oom(&fr->s->err);
            p += *p == '%';
            continue;
        }
        const char *text;
        TRY(pl_eval_text(fr, s->args[arg++], &text));
        for (text = text ? text : "<NULL>"; *text; text++)
            if (!vec_push(a, &t, *text)) return err_oom(&fr->s->err);
    }
    if (!vec_push(a, &t, '\0')) return err_oom(&fr->s->err);
    *out = t.items;
    return ST_OK;
}

static Status set_once(PlFrame *fr, const char **to, const char *text, const char *what) {
    if (*to) return err_set(&fr->s->err, ERR_SYNTAX, "RAISE option already specified: %s", what);
    *to = text;
    return ST_OK;
}

static Status exec_raise(PlFrame *fr, const PlStmt *s) {
    static const char *const field_words[] = {[EF_SCHEMA] = "SCHEMA",
                                              [EF_TABLE] = "TABLE",
                                              [EF_COLUMN] = "COLUMN",
                                              [EF_DATATYPE] = "DATATYPE",
                                              [EF_CONSTRAINT] = "CONSTRAINT"};
    static const char *const severities[] = {"DEBUG", "LOG", "INFO", "NOTICE", "WARNING", "EXCEPTION"};
    Session *ses = fr->s;
    Err *e = &ses->err;
    const char *state = s->raise.sqlstate, *message = NULL, *detail = NULL, *hint = NULL,
               *condition_name = s->raise.condition;
    ErrNames names = {0};
    ErrField field;
    if (!s->raise.format && !s->raise.sqlstate && !s->n_options) {
        if (!fr->caught)
            return err_set(e, ERR_STACKED_DIAGNOSTICS,
                           "RAISE without parameters cannot be used outside an exception handler");
        err_copy(e, fr->caught);
        fr->located = true; /* its context is complete */
        return ST_ERROR;
    }
    char *formatted = NULL;
    if (s->raise.format) TRY(raise_message(fr, s, &formatted));
    message = formatted;
    for (int32_t i = 0; i < s->n_options; i++) {
        const PlOption *o = &s->options[i];
        const char *text;
        TRY(pl_eval_text(fr, o->expr, &text));
        if (!text) return err_set(e, ERR_NULL_NOT_ALLOWED, "RAISE statement option cannot be null");
        if (strcmp(o->name, "message") == 0) {
            TRY(set_once(fr, &message, text, "MESSAGE"));
        } else if (strcmp(o->name, "detail") == 0) {
            TRY(set_once(fr, &detail, text, "DETAIL"));
        } else if (strcmp(o->name, "hint") == 0) {
            TRY(set_once(fr, &hint, text, "HINT"));
        } else if (strcmp(o->name, "errcode") == 0) {
            const char *code = NULL, *other;
            bool digits = strlen(text) == 5;
            for (int k = 0; digits && k < 5; k++)
                digits = (text[k] >= '0' && text[k] <= '9') || (text[k] >= 'A' && text[k] <= 'Z');
            code = digits ? text : pl_condition(text, &other);
            if (!code) return err_set(e, ERR_UNDEFINED_OBJECT, "unrecognized exception condition \"%s\"", text);
            TRY(set_once(fr, &state, code, "ERRCODE"));
            condition_name = text;
        } else if (pl_error_field(o->name, &field)) {
            TRY(set_once(fr, &names.of[field], text, field_words[field]));
        }
    }
    if (!state && s->raise.level == PLR_EXCEPTION) state = ERR_RAISE_EXCEPTION;
    if (!message) message = condition_name ? condition_name : state ? state : "";
    if (s->raise.level == PLR_EXCEPTION) {
        err_set(e, state, "%s", message);
        if (detail) err_detail(e, "%s", detail);
        if (hint) err_hint(e, "%s", hint);
        err_names(e, &names);
        return ST_ERROR;
    }
    if (s->raise.level == PLR_DEBUG || s->raise.level == PLR_LOG) return ST_OK; /* below what clients get */
    char context[256];
    snprintf(context, sizeof context, "PL/pgSQL function %.180s line %d at RAISE", fr->f->signature, (int)s->line);
    key_names_only(context);
    session_notice(ses, &(SessionNotice){severities[s->raise.level],
                                         state                           ? state
                                         : s->raise.level == PLR_WARNING ? "01000"
                                                                         : "00000",
                                         message, detail ? detail : "", hint ? hint : "", context});
    return ST_OK;
}

static Status exec_assert(PlFrame *fr, const PlStmt *s) {
    bool yes;
    TRY(condition(fr, s->expr, &yes));
    if (yes) return ST_OK;
    const char *text = NULL;
    if (s->expr2) TRY(pl_eval_text(fr, s->expr2, &text));
    return err_set(&fr->s->err, ERR_ASSERT_FAILURE, "%s", text ? text : "assertion failed");
}

/* ---- SQL ---------------------------------------------------------------------------------------------- */

/* INTO: the first row, or (single) no second one. */
static Status into(PlFrame *fr, const PlStmt *s, Statement *st, bool single) {
    Err *e = &fr->s->err;
    if (!pl_returns_rows(st)) return err_set(e, ERR_SYNTAX, "INTO used with a command that cannot return data");
    if (s->strict && st->n_rows == 0) return err_set(e, ERR_NO_DATA_FOUND, "query returned no rows");
    if (st->n_rows > 1 && single) {
        err_set(e, ERR_TOO_MANY_ROWS, "query returned more than one row");
        err_hint(e, "Make sure the query returns a single row, or use LIMIT 1.");
        return ST_ERROR;
    }
    return pl_assign_row(fr, s, st, st->n_rows > 0 ? 0 : -1);
}

static Status no_destination(PlFrame *fr, bool is_select) {
    err_set(&fr->s->err, ERR_SYNTAX, "query has no destination for result data");
    if (is_select) err_hint(&fr->s->err, "If you want to discard the results of a SELECT, use PERFORM instead.");
    return ST_ERROR;
}

static Status exec_sql(PlFrame *fr, const PlStmt *s) {
    Statement *st;
    const AstStmt *ast = s->query->stmt;
    bool is_select = ast->kind == AST_SELECT, changes = sql_is_change(ast);
    TRY(session_result_new(fr->s, &st));
    Status r = pl_run_query(fr, s->query, st);
    if (r == ST_OK) {
        int64_t n = changes ? st->affected : st->n_rows;
        fr->row_count = s->has_into && is_select ? MIN_OF(n, 1) : n;
        if (is_select || changes || s->kind == PLS_PERFORM) (void)pl_set_bool(fr, fr->f->found, n > 0);
        if (s->has_into) r = into(fr, s, st, s->strict || !is_select); /* RETURNING too, but not EXECUTE's */
        else if (pl_returns_rows(st) && s->kind != PLS_PERFORM && !fr->f->is_sql) r = no_destination(fr, is_select);
    }
    session_result_free(st);
    return r;
}

static Status exec_dynamic(PlFrame *fr, const PlStmt *s) {
    Statement *st;
    TRY(session_result_new(fr->s, &st));
    Status r = pl_run_dynamic(fr, s, st);
    if (r == ST_OK) {
        fr->row_count = st->affected ? st->affected : st->n_rows;
        if (s->has_into) r = into(fr, s, st, s->strict);
    }
    session_result_free(st);
    return r;
}

static Status exec_diagnostics(PlFrame *fr, const PlStmt *s) {
    const Err *c = fr->caught;
    if (s->stacked && !c)
        return err_set(&fr->s->err, ERR_STACKED_DIAGNOSTICS,
                       "GET STACKED DIAGNOSTICS cannot be used outside an exception handler");
    for (int32_t i = 0; i < s->n_targets; i++) {
        const char *name = s->options[i].name, *text = "";
        char context[256];
        ErrField field;
        Value v;
        if (strcmp(name, "row_count") == 0) {
            v = (Value){.type = type_make(T_INT8), .u.i64 = fr->row_count};
        } else {
            if (strcmp(name, "pg_context") == 0) {
                snprintf(context, sizeof context, "PL/pgSQL function %.180s line %d at GET DIAGNOSTICS",
                         fr->f->signature, (int)s->line);
                key_names_only(context);
                text = context;
            } else if (strcmp(name, "returned_sqlstate") == 0) text = c->sqlstate;
            else if (strcmp(name, "message_text") == 0) text = c->message;
            else if (strcmp(name, "pg_exception_detail") == 0) text = c->detail;
            else if (strcmp(name, "pg_exception_hint") == 0) text = c->hint;
            else if (strcmp(name, "pg_exception_context") == 0) text = c->context;
            else if (pl_error_field(name, &field)) text = c->names[field];
            v = (Value){.type = type_make(T_TEXT), .u.str = str_make(text, (int64_t)strlen(text))};
        }
        TRY(pl_assign(fr, s->targets[i], &v));
    }
    return ST_OK;
}

/* ---- RETURN ------------------------------------------------------------------------------------------------ */

/* Of column i of a set's rows. */
static int64_t result_domain(const PlFunction *f, int32_t i) {
    if (!f->has_outs) return i == 0 ? f->ret_domain : 0;
    for (int32_t k = 0; k < f->n_params; k++)
        if (f->param_modes[k] != PL_IN && i-- == 0) return f->vars[k].domain;
    return 0;
}
static Status add_row(PlFrame *fr, const Value *row, int32_t n) {
    PlRows *rows = fr->rows;
    Err *e = &fr->s->err;
    EvalCtx x;
    pl_eval_ctx(fr, &x);
    if (!rows)
        return err_set(e, ERR_FEATURE_NOT_SUPPORTED, "set-valued function called in context that cannot accept a set");
    for (int32_t i = 0; i < rows->n_cols; i++) {
        Value v = {.type = rows->types[i], .is_null = true}, w, copy;
        const int64_t domain = result_domain(fr->f, i);
        if (i < n) TRY(eval_assign(&x, &row[i], rows->types[i], &v));
        if (domain) TRY(pl_check_domain(fr->s, domain, &v, e));
        w = v;
        if (value_copy(rows->arena, &w, &copy) != ST_OK || !vec_push(rows->arena, &rows->cells, copy))
            return err_oom(e);
    }
    rows->n++;
    return ST_OK;
}

/* The last statement of a function in SQL, whose columns the caller has defined. */
static bool is_same_type(Type a, Type b) { return a.id == b.id && (!type_is_defined(a) || type_eq(a, b)); }

static Status wrong_definition(const PlRows *rows, int32_t n, const Type *types, Err *e) {
    char a[TYPE_NAME_MAX], b[TYPE_NAME_MAX];
    err_set(e, ERR_INVALID_FUNCTION_DEFINITION, "return type mismatch in function declared to return record");
    if (n != rows->n_cols) {
        err_detail(e, "Final statement returns too %s columns.", n < rows->n_cols ? "few" : "many");
        return ST_ERROR;
    }
    for (int32_t i = 0; i < n; i++)
        if (!is_same_type(types[i], rows->types[i]) && !cast_exists(types[i], rows->types[i], CAST_ASSIGNMENT)) {
            err_detail(e, "Final statement returns %s instead of %s at column %d.", type_name(types[i], &a),
                       type_name(rows->types[i], &b), (int)i + 1);
            return ST_ERROR;
        }
    return ST_ERROR;
}

static Status wrong_structure(PlFrame *fr, const PlRows *rows, int32_t n, const Type *types, const char *message) {
    Err *e = &fr->s->err;
    if (rows->defined && fr->f->is_sql) return wrong_definition(rows, n, types, e);
    err_set(e, ERR_DATATYPE_MISMATCH, "%s", message);
    if (n != rows->n_cols) {
        err_detail(e, "Number of returned columns (%d) does not match expected column count (%d).", (int)n,
                   (int)rows->n_cols);
        return ST_ERROR;
    }
    for (int32_t i = 0; i < n; i++)
        if (!is_same_type(types[i], rows->types[i])) {
            char a[TYPE_NAME_MAX], b[TYPE_NAME_MAX];
            err_detail(e, "Returned type %s does not match expected type %s in column %d.", type_name(types[i], &a),
                       type_name(rows->types[i], &b), (int)i + 1);
            return ST_ERROR;
        }
    return ST_ERROR;
}

Status pl_check_row(PlFrame *fr, const PlRows *rows, int32_t n, const Type *types, const char *message) {
    bool same = n == rows->n_cols;
    for (int32_t i = 0; same && i < n; i++)
        same = is_same_type(types[i], rows->types[i]) ||
               (fr->f->is_sql && cast_exists(types[i], rows->types[i], CAST_ASSIGNMENT));
    return same ? ST_OK : wrong_structure(fr, rows, n, types, message);
}

/* The type of the one value of a row of the function, which the columns of a query are the fields of; NULL: they are
 * the row itself. */
static const CompositeType *row_value_type(const PlRows *rows, const Statement *st) {
    const CompositeType *x = rows && rows->n_cols == 1 && !rows->defined ? composite_of(rows->types[0]) : NULL;
    return x && !(st->n_cols == 1 && type_eq(st->types[0], rows->types[0])) ? x : NULL;
}
static Status check_query(PlFrame *fr, const PlRows *rows, const CompositeType *x, const Statement *st) {
    PlRows as = {.n_cols = x ? x->n : rows->n_cols, .types = rows->types};
    Type *types = x ? arena_array(fr->scratch, Type, x->n + 1) : NULL;
    if (x && !types) return err_oom(&fr->s->err);
    for (int32_t i = 0; x && i < x->n; i++) types[i] = x->fields[i].type;
    if (x) as.types = types;
    return pl_check_row(fr, x ? &as : rows, st->n_cols, st->types,
                        "structure of query does not match function result type");
}
static Status add_query_row(PlFrame *fr, const CompositeType *x, int32_t n, Value *row) {
    Value all = {.type = {0}};
    EvalCtx e;
    if (!x) return add_row(fr, row, n);
    pl_eval_ctx(fr, &e);
    for (int32_t i = 0; i < n; i++) {
        const Value v = row[i];
        TRY(eval_assign(&e, &v, x->fields[i].type, &row[i]));
    }
    all.type = composite_type(x);
    TRY(composite_build(fr->scratch, n, row, &all.u.str, &fr->s->err));
    return add_row(fr, &all, 1);
}

static Status return_query(PlFrame *fr, const PlStmt *s) {
    Statement *st;
    PlRows *rows = fr->rows;
    TRY(session_result_new(fr->s, &st));
    Status r = s->query ? pl_run_query(fr, s->query, st) : pl_run_dynamic(fr, s, st);
    if (r == ST_OK && !pl_returns_rows(st))
        r = err_set(&fr->s->err, ERR_SYNTAX, "cannot open %s query as cursor", st->tag[0] ? st->tag : "this");
    if (r == ST_OK && !rows)
        r = err_set(&fr->s->err, ERR_FEATURE_NOT_SUPPORTED,
                    "set-valued function called in context that cannot accept a set");
    const CompositeType *fields = r == ST_OK ? row_value_type(rows, st) : NULL;
    if (r == ST_OK) r = check_query(fr, rows, fields, st);
    Value *row = r == ST_OK ? arena_array(st->run_arena, Value, st->n_cols + 1) : NULL;
    if (r == ST_OK && !row) r = err_oom(&fr->s->err);
    for (int64_t i = 0; r == ST_OK && i < st->n_rows; i++) {
        for (int32_t k = 0; r == ST_OK && k < st->n_cols; k++) r = pl_row_value(fr, st, i, k, &row[k]);
        if (r == ST_OK) r = add_query_row(fr, fields, st->n_cols, row);
    }
    if (r == ST_OK) {
        fr->row_count = st->n_rows;
        (void)pl_set_bool(fr, fr->f->found, st->n_rows > 0);
    }
    session_result_free(st);
    return r;
}

static Status return_next(PlFrame *fr, const PlStmt *s) {
    const PlFunction *f = fr->f;
    if (!s->expr) {
        Value *row = arena_array(fr->scratch, Value, f->n_params + 1);
        int32_t n = 0;
        if (!row) return err_oom(&fr->s->err);
        for (int32_t i = 0; i < f->n_params; i++)
            if (f->param_modes[i] != PL_IN) row[n++] = fr->slots[i].v;
        return add_row(fr, row, n);
    }
    int32_t rec = whole_record(fr, s->expr);
    if (rec >= 0) {
        Statement st;
        TRY(record_result(fr, rec, &st));
        if (fr->rows && (fr->rows->defined || st.n_cols != fr->rows->n_cols))
            TRY(pl_check_row(fr, fr->rows, st.n_cols, st.types, "wrong record type supplied in RETURN NEXT"));
        return add_row(fr, st.values, st.n_cols);
    }
    Value v;
    TRY(pl_eval(fr, s->expr, fr->rows && fr->rows->n_cols == 1 ? fr->rows->types[0] : any_type, &v));
    if (f->returns_record && composite_of(v.type) && !v.is_null) {
        Statement st;
        TRY(composite_result(fr, &v, &st));
        if (fr->rows && (fr->rows->defined || st.n_cols != fr->rows->n_cols))
            TRY(pl_check_row(fr, fr->rows, st.n_cols, st.types, "wrong record type supplied in RETURN NEXT"));
        return add_row(fr, st.values, st.n_cols);
    }
    return add_row(fr, &v, 1);
}

/* RETURN of an expression whose value is a row, in the record behind those of the variables. */
static Status return_composite(PlFrame *fr, const PlExpr *x) {
    Value v;
    Statement st;
    fr->ret_record = fr->f->n_vars;
    TRY(pl_eval(fr, x, any_type, &v));
    if (!composite_of(v.type) || v.is_null)
        return err_set(&fr->s->err, v.is_null ? ERR_FEATURE_NOT_SUPPORTED : ERR_DATATYPE_MISMATCH,
                       v.is_null ? "RETURN of NULL as a record is not supported"
                                 : "cannot return non-composite value from function returning composite type");
    TRY(composite_result(fr, &v, &st));
    return pl_record_take(fr, &fr->records[fr->ret_record], &st);
}

static PlOutcome exec_return(PlFrame *fr, const PlStmt *s) {
    Value v;
    const PlFunction *f = fr->f;
    fr->returned = true;
    if (!s->expr) return PLO_RETURN;
    if (f->returns_record) {
        int32_t rec = whole_record(fr, s->expr);
        Statement st;
        if (rec < 0) return return_composite(fr, s->expr) == ST_OK ? PLO_RETURN : PLO_ERROR;
        if (record_result(fr, rec, &st) != ST_OK) return PLO_ERROR;
        fr->ret_record = rec;
        return PLO_RETURN;
    }
    if (pl_eval(fr, s->expr, f->ret, &v) != ST_OK) return PLO_ERROR;
    if (f->ret_domain && !f->returns_set && pl_check_domain(fr->s, f->ret_domain, &v, &fr->s->err) != ST_OK) {
        err_context(&fr->s->err, "PL/pgSQL function %s while casting return value to function's return type",
                    f->signature);
        fr->located = true;
        return PLO_ERROR;
    }
    if (pl_slot_set(fr->s, &fr->ret, &v) != ST_OK) return PLO_ERROR;
    return PLO_RETURN;
}

/* ---- all ------------------------------------------------------------------------------------------------------- */

static PlOutcome exec(PlFrame *fr, const PlStmt *s) {
    switch ((PlStmtKind)s->kind) {
    case PLS_BLOCK: return exec_block(fr, s);
    case PLS_ASSIGN: return of(exec_assign(fr, s));
    case PLS_IF: return exec_if(fr, s);
    case PLS_CASE: return exec_case(fr, s);
    case PLS_LOOP:
    case PLS_WHILE: return exec_loop(fr, s);
    case PLS_FOR: return exec_for(fr, s);
    case PLS_FOR_QUERY: return exec_for_query(fr, s);
    case PLS_FOREACH: return exec_foreach(fr, s);
    case PLS_EXIT: return exec_exit(fr, s);
    case PLS_RETURN: return exec_return(fr, s);
    case PLS_RETURN_NEXT: return of(return_next(fr, s));
    case PLS_RETURN_QUERY: return of(return_query(fr, s));
    case PLS_RAISE: return of(exec_raise(fr, s));
    case PLS_ASSERT: return of(exec_assert(fr, s));
    case PLS_SQL:
    case PLS_PERFORM: return of(exec_sql(fr, s));
    case PLS_DYNAMIC: return of(exec_dynamic(fr, s));
    case PLS_CALL: return of(pl_call_stmt(fr, s));
    case PLS_DIAGNOSTICS: return of(exec_diagnostics(fr, s));
    case PLS_OPEN: return of(pl_open(fr, s));
    case PLS_FETCH: return of(pl_fetch(fr, s));
    case PLS_CLOSE: return of(pl_close(fr, s));
    case PLS_COMMIT: return of(pl_end_transaction(fr, true));
    case PLS_ROLLBACK: return of(pl_end_transaction(fr, false));
    case PLS_NULL: return PLO_NEXT;
    }
    return of(err_internal(&fr->s->err, "unknown statement of a routine"));
}

PlOutcome pl_exec(PlFrame *fr, const PlStmt *s) {
    Err *e = &fr->s->err;
    if (s->kind != PLS_BLOCK) arena_reset(fr->scratch);
    if (stack_check(e) != ST_OK) return PLO_ERROR;
    PlOutcome o = exec(fr, s);
    if (o != PLO_ERROR || fr->located) return o;
    (void)stack_failed(e);
    e->position = 0;
    if (fr->f->is_sql) err_context(e, "SQL function \"%s\" statement %d", fr->f->name, (int)s->line);
    else err_context(e, "PL/pgSQL function %s line %d at %s", fr->f->signature, (int)s->line, pl_stmt_words(s));
    fr->located = true;
    return o;
}
