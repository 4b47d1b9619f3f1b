/* pl_query.c - SQL statements of bodies: with variables as parameters, their results to variables. */
#include "session/core/cursor.h"
#include "session/pl/pl_run_int.h"
#include "session/core/plancache.h"
#include "types/composite.h"

#include <stdio.h>

bool pl_returns_rows(const Statement *st) { return st->show_rows; }

static Status plan_shape(Statement *st, const PlanCtx *c, const BoundStmt *b) {
    Arena *a = st->run_arena;
    st->n_cols = b->n_result;
    st->names = b->names;
    st->types = arena_array(a, Type, b->n_result + 1);
    if (!st->types) return ST_ERROR;
    for (int32_t i = 0; i < b->n_result; i++) st->types[i] = c->cols.items[b->result[i]].type;
    return ST_OK;
}

/* A query or a change of data with its parameters in place. */
static Status run_bound(Session *s, Statement *st, PlanCtx *c, BoundStmt *b, int32_t n, const Value *values) {
    TRY(plan_shape(st, c, b));
    TRY(cursor_keep_numbers(st, c, b));
    if (b->n_params > 0) TRY(sql_bind_params(c, b, n, values));
    if (b->kind != STMT_SELECT) {
        TRY(session_begin_change(s));
        return session_dml(s, st, c, b);
    }
    RunOutput r;
    b->n_result += st->numbers.n;
    TRY(session_run_plan(s, c, b, b->n_result, b->result, &st->account, &r));
    st->query = r.query;
    st->rows = r.rows;
    st->n_rows = st->affected = rows_count(r.rows);
    st->show_rows = true;
    return ST_OK;
}

/* What binding has to know of cursors: those that there are, and that the result is one's. */
static void for_cursor(Session *s, const Statement *st, const AstStmt *a, PlanCtx *c) {
    c->rows.current = cursor_current_row;
    c->rows.current_ctx = s;
    if (st->numbers.wanted && a->kind == AST_SELECT) c->rows.numbered = AST_AS_CONST(AstSelect, a);
}

static Status run_static(PlFrame *fr, const PlExpr *x, Statement *st) {
    Session *s = fr->s;
    PlPrep *p;
    const Value *room[PL_ROOM], **params;
    if (!sql_is_planned(x->stmt)) {
        if (x->stmt->kind == AST_TRANSACTION)
            return err_set(&s->err, ERR_FEATURE_NOT_SUPPORTED, "unsupported transaction command in PL/pgSQL");
        return session_execute(s, st, x->stmt, 0, NULL, NULL, NULL);
    }
    TRY(pl_prep(fr, x, type_make(T_UNKNOWN), &p));
    TRY(pl_params(fr, p, room, &params));
    if (p->point && !st->numbers.wanted) {
        p->busy++;
        Status r = pl_point_run(fr->s, fr->scratch, p->point, p->n_refs, params, st);
        p->busy--;
        return r;
    }
    PlanCtx c;
    PlNames names;
    BoundStmt *b;
    plan_ctx_init(s, st->run_arena, &c);
    pl_names(fr, st->run_arena, x, &names);
    c.variables = &names.hook;
    c.of_routine = true;
    for_cursor(s, st, x->stmt, &c);
    TRY(sql_bind(&c, x->stmt, 0, NULL, &b));
    Value *values = arena_array(st->run_arena, Value, p->n_refs + 1);
    if (!values) return ST_ERROR;
    for (int32_t i = 0; i < p->n_refs; i++) values[i] = *params[i];
    return run_bound(s, st, &c, b, p->n_refs, values);
}

Status pl_run_query(PlFrame *fr, const PlExpr *x, Statement *st) {
    if (run_static(fr, x, st) == ST_OK) return ST_OK;
    (void)stack_failed(&fr->s->err);
    return pl_query_failed(fr, x->text);
}

static Status run_text(PlFrame *fr, const char *text, const PlStmt *d, Statement *st) {
    Session *s = fr->s;
    AstStmt **list;
    int64_t n;
    Value *values = arena_array(fr->scratch, Value, d->n_args + 1);
    Type *types = arena_array(fr->scratch, Type, d->n_args + 1);
    if (!values || !types) return err_oom(&s->err);
    for (int32_t i = 0; i < d->n_args; i++) {
        TRY(pl_eval(fr, d->args[i], type_make(T_UNKNOWN), &values[i]));
        types[i] = values[i].type;
    }
    if (sql_parse(fr->scratch, slice_of(text), &list, &n, &s->err) != ST_OK) return pl_query_failed(fr, text);
    for (int64_t i = 0; i < n; i++) {
        session_result_clear(st);
        const AstStmt *a = list[i];
        Status r;
        if (a->kind == AST_TRANSACTION) {
            r = err_set(&s->err, ERR_FEATURE_NOT_SUPPORTED, "EXECUTE of transaction commands is not implemented");
        } else if (sql_is_planned(a)) {
            PlanCtx c;
            BoundStmt *b;
            plan_ctx_init(s, st->run_arena, &c);
            for_cursor(s, st, a, &c);
            r = sql_bind(&c, a, d->n_args, types, &b);
            if (r == ST_OK) r = run_bound(s, st, &c, b, d->n_args, values);
        } else {
            r = session_execute(s, st, a, d->n_args, types, values, NULL);
        }
        if (r != ST_OK) {
            (void)stack_failed(&s->err);
            return pl_query_failed(fr, text);
        }
    }
    return session_result_keep_names(st); /* the text is in scratch memory; a loop over the rows outlives it */
}

Status pl_run_dynamic(PlFrame *fr, const PlStmt *d, Statement *st) {
    const char *text;
    TRY(pl_eval_text(fr, d->expr, &text));
    if (!text) return err_set(&fr->s->err, ERR_NULL_NOT_ALLOWED, "query string argument of EXECUTE is null");
    return run_text(fr, text, d, st);
}

Status pl_row_value(PlFrame *fr, Statement *st, int64_t row, int32_t col, Value *out) {
    if (st->columns) {
        *out = statement_column_cell(st, row, col);
        return ST_OK;
    }
    if (st->values) {
        *out = st->values[row * st->n_cols + col];
        return ST_OK;
    }
    if (st->is_text) {
        const char *t = st->text_rows[row][col];
        *out = (Value){.type = type_make(T_TEXT), .is_null = !t};
        if (t) out->u.str = str_make(t, (int64_t)strlen(t));
        return ST_OK;
    }
    const void *cell;
    *out = (Value){.type = st->types[col]};
    int32_t at;
    row = statement_cell(st, row, col, &at);
    TRY(rows_cell(st->rows, row, at, &cell, &out->is_null, &fr->s->err));
    if (!out->is_null) memcpy(value_cell(out), cell, (size_t)phys_size(type_phys(out->type)));
    return ST_OK;
}

static bool has_shape(int32_t n, const char *const *names, const Statement *st) {
    if (n != st->n_cols) return false;
    for (int32_t i = 0; i < n; i++)
        if (strcmp(names[i], st->names[i]) != 0) return false;
    return true;
}

/* A record variable takes the columns of the result. */
static Status shape_record(PlFrame *fr, PlRecord *rec, const Statement *st) {
    int32_t n = st->n_cols;
    if (rec->assigned && has_shape(rec->n, rec->names, st)) return ST_OK;
    PlShape *x = rec->shapes;
    while (x && !has_shape(x->n, x->names, st)) x = x->next;
    if (!x) {
        if (!(x = arena_new_of(fr->arena, PlShape)) || !(x->names = arena_array(fr->arena, const char *, n + 1)))
            return err_oom(&fr->s->err);
        x->n = n;
        for (int32_t i = 0; i < n; i++)
            if (!(x->names[i] = arena_strdup(fr->arena, st->names[i]))) return err_oom(&fr->s->err);
        x->next = rec->shapes;
        rec->shapes = x;
        fr->n_shapes++;
    }
    if (n > rec->cap) {
        PlSlot *slots = arena_array(fr->arena, PlSlot, n);
        if (!slots) return err_oom(&fr->s->err);
        if (rec->cap) memcpy(slots, rec->slots, sizeof *slots * (size_t)rec->cap);
        rec->slots = slots;
        rec->cap = n;
    }
    rec->names = x->names;
    rec->n = n;
    rec->assigned = true;
    return ST_OK;
}

static Status assign_composite(PlFrame *fr, int32_t var, Statement *st, int64_t row) {
    PlRecord *rec = &fr->records[var];
    const PlVar *to_var = &fr->f->vars[var];
    bool is_row = to_var->kind == PLV_ROW;
    if (!is_row) TRY(shape_record(fr, rec, st));
    for (int32_t i = 0; i < rec->n; i++) {
        Type to = is_row ? to_var->field_types[i] : st->types[i];
        int64_t domain = is_row && row >= 0 ? to_var->field_domains[i] : 0; /* without a row it is NULL as a whole */
        Value v = {.type = to, .is_null = true}, w;
        EvalCtx x;
        if (row >= 0 && i < st->n_cols) TRY(pl_row_value(fr, st, row, i, &v));
        pl_eval_ctx(fr, &x);
        TRY(eval_assign(&x, &v, to, &w));
        if (domain) TRY(pl_check_domain(fr->s, domain, &w, &fr->s->err));
        TRY(pl_slot_set(fr->s, &rec->slots[i], &w));
    }
    return ST_OK;
}

Status pl_record_take(PlFrame *fr, PlRecord *rec, Statement *st) {
    TRY(shape_record(fr, rec, st));
    for (int32_t i = 0; i < rec->n; i++) {
        Value v;
        TRY(pl_row_value(fr, st, 0, i, &v));
        TRY(pl_slot_set(fr->s, &rec->slots[i], &v));
    }
    return ST_OK;
}

/* The variable of a composite type that is the only target, which takes the columns as its fields. */
static const CompositeType *whole_target(const PlFrame *fr, const PlStmt *s) {
    const PlVar *var = s->n_targets == 1 && !s->targets[0].field ? &fr->f->vars[s->targets[0].var] : NULL;
    return var && var->kind == PLV_SCALAR ? composite_of(var->type) : NULL;
}
static Status assign_fields(PlFrame *fr, const PlStmt *s, const CompositeType *x, Statement *st, int64_t row) {
    Value all = {.type = composite_type(x), .is_null = row < 0}, *fields = arena_array(fr->scratch, Value, x->n + 1);
    EvalCtx e;
    if (!fields) return err_oom(&fr->s->err);
    pl_eval_ctx(fr, &e);
    for (int32_t i = 0; i < x->n && row >= 0; i++) {
        Value v = {.type = type_make(T_UNKNOWN), .is_null = true};
        if (i < st->n_cols) TRY(pl_row_value(fr, st, row, i, &v));
        TRY(eval_assign(&e, &v, x->fields[i].type, &fields[i]));
    }
    if (row >= 0) TRY(composite_build(fr->scratch, x->n, fields, &all.u.str, &fr->s->err));
    return pl_assign(fr, s->targets[0], &all);
}

Status pl_assign_row(PlFrame *fr, const PlStmt *s, Statement *st, int64_t row) {
    const CompositeType *x = whole_target(fr, s);
    if (s->is_row) return assign_composite(fr, s->targets[0].var, st, row);
    if (x && !(st->n_cols == 1 && type_eq(st->types[0], composite_type(x)))) return assign_fields(fr, s, x, st, row);
    for (int32_t i = 0; i < s->n_targets; i++) {
        Value v = {.type = type_make(T_UNKNOWN), .is_null = true};
        if (row >= 0 && i < st->n_cols) TRY(pl_row_value(fr, st, row, i, &v));
        TRY(pl_assign(fr, s->targets[i], &v));
    }
    return ST_OK;
}
