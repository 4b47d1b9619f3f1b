/* pl_call.c - calls: frames, CALL, DO, functions in queries, ends of transactions. */
#include "session/pl/pl_run_int.h"
#include "session/core/transaction.h"
#include "types/composite.h"

#include <stdio.h>

enum { SHAPES_KEPT = 64, STRING_KEPT = 4096 };

/* ---- frames ------------------------------------------------------------------------------- */

static PlFrame *frame_new(Session *s, PlRoutine *r) {
    const PlFunction *f = r->f;
    Arena *a = arena_new(&s->account, &s->err);
    PlFrame *fr = a ? arena_new_of(a, PlFrame) : NULL;
    if (fr) {
        fr->arena = a;
        fr->slots = arena_array(a, PlSlot, f->n_vars + 1);
        fr->records = arena_array(a, PlRecord, f->n_vars + 1);
        fr->scratch = arena_new(&s->account, &s->err);
    }
    bool ok = fr && fr->slots && fr->records && fr->scratch;
    for (int32_t i = 0; ok && i < f->n_vars; i++) {
        const PlVar *v = &f->vars[i];
        if (v->kind != PLV_ROW) continue;
        PlRecord *rec = &fr->records[i];
        *rec = (PlRecord){.assigned = true,
                          .n = v->n_fields,
                          .cap = v->n_fields,
                          .names = v->field_names,
                          .slots = arena_array(a, PlSlot, v->n_fields + 1)};
        ok = rec->slots != NULL;
        if (!ok) rec->cap = rec->n = 0;
    }
    if (!ok) {
        if (fr) arena_free(fr->scratch);
        arena_free(a);
        return NULL;
    }
    return fr;
}

static void reset_vars(PlFrame *fr) {
    const PlFunction *f = fr->f;
    for (int32_t i = 0; i < f->n_vars; i++) {
        const PlVar *v = &f->vars[i];
        fr->slots[i].v = (Value){.type = v->type, .is_null = true};
        if (v->kind == PLV_RECORD) fr->records[i].assigned = false, fr->records[i].n = 0;
        for (int32_t k = 0; v->kind == PLV_ROW && k < v->n_fields; k++)
            fr->records[i].slots[k].v = (Value){.type = v->field_types[k], .is_null = true};
    }
    fr->slots[f->found].v = (Value){.type = type_make(T_BOOL)};
}

static PlFrame *frame_begin(Session *s, PlRoutine *r) {
    PlFrame *fr = r->spare;
    r->spare = NULL;
    if (!fr && !(fr = frame_new(s, r))) return NULL;
    fr->s = s;
    fr->r = r;
    fr->f = r->f;
    fr->ret.v = (Value){.type = r->f->ret, .is_null = true};
    fr->ret_record = -1;
    fr->returned = fr->located = false;
    fr->rows = NULL;
    fr->row_count = 0;
    fr->leave = -1;
    fr->caught = NULL;
    fr->subtransactions = 0;
    fr->up = s->pl->frame;
    reset_vars(fr);
    s->pl->frame = fr;
    r->busy++;
    s->pl->depth++;
    return fr;
}

/* Frees strings' memory of more than `keep` bytes. */
static void slots_release(Session *s, PlFrame *fr, int64_t keep) {
    for (int32_t i = 0; i <= fr->f->n_vars; i++) { /* the last record is that of return_composite */
        if (i < fr->f->n_vars && fr->slots[i].cap > keep) pl_slot_release(s, &fr->slots[i]);
        for (int32_t k = 0; k < fr->records[i].cap; k++)
            if (fr->records[i].slots[k].cap > keep) pl_slot_release(s, &fr->records[i].slots[k]);
    }
    if (fr->ret.cap > keep) pl_slot_release(s, &fr->ret);
}

static void frame_end(PlFrame *fr) {
    Session *s = fr->s;
    PlRoutine *r = fr->r;
    s->pl->frame = fr->up;
    s->pl->depth--;
    r->busy--;
    arena_reset(fr->scratch);
    if (!r->spare && fr->n_shapes < SHAPES_KEPT) {
        slots_release(s, fr, STRING_KEPT);
        r->spare = fr;
        return;
    }
    slots_release(s, fr, 0);
    arena_free(fr->scratch);
    arena_free(fr->arena);
}

/* ---- one call --------------------------------------------------------------------------------- */

static Status body(PlFrame *fr) {
    const PlFunction *f = fr->f;
    PlOutcome o = pl_exec(fr, f->body);
    if (o == PLO_ERROR) return ST_ERROR;
    if (f->result_var >= 0) {
        if (f->vars[f->result_var].kind == PLV_SCALAR) return pl_slot_set(fr->s, &fr->ret, &fr->slots[f->result_var].v);
        fr->ret_record = f->result_var;
        return ST_OK;
    }
    if (o != PLO_RETURN && !f->is_procedure && !f->returns_void && !f->returns_set && !f->has_outs && !f->is_sql) {
        err_set(&fr->s->err, ERR_NO_RETURN, "control reached end of function without RETURN");
        err_context(&fr->s->err, "PL/pgSQL function %s", f->signature);
        return ST_ERROR;
    }
    return ST_OK;
}

Status pl_run(Session *s, PlRoutine *r, const Value *args, PlRows *rows, Status (*take)(void *ctx, PlFrame *fr),
              void *ctx) {
    TRY(stack_check(&s->err));
    if (++s->pl->calls % 64 == 0) TRY(pl_interrupted(s));
    PlFrame *fr = frame_begin(s, r);
    if (!fr) return stack_failed(&s->err);
    fr->rows = rows;
    Status st = ST_OK;
    bool null_arg = false;
    for (int32_t i = 0; i < r->n_args && st == ST_OK; i++) {
        int32_t k = r->arg_params[i];
        if (r->f->param_modes[k] == PL_OUT) continue;
        null_arg |= args[i].is_null;
        Value v = args[i];
        v.type = r->f->param_types[k];
        st = pl_slot_set(s, &fr->slots[k], &v);
    }
    bool skip = null_arg && r->f->strict;
    const SearchPath *before = s->path.now;
    if (r->f->has_path) s->path.now = r->f->path;
    const SearchPath *of_thread = search_path_use(s->path.now); /* the pool's session runs on others' threads */
    const TempSchema *temp_of_thread = temp_schema_use(&s->path.temp);
    PlSettings settings = {0};
    if (st == ST_OK && !skip) st = pl_settings_begin(s, r->f, &settings);
    if (st == ST_OK && !skip) st = body(fr);
    if (st == ST_OK && take && !(skip && r->f->returns_set)) st = take(ctx, fr);
    pl_settings_end(s, r->f, &settings);
    frame_end(fr);
    s->path.now = before;
    (void)search_path_use(of_thread);
    (void)temp_schema_use(temp_of_thread);
    return st;
}

/* Around the outermost call. */
typedef struct Outer {
    bool first, atomic;
} Outer;
static Status outer_begin(Session *s, bool atomic, Outer *o) {
    if (!pl_session(s)) return ST_ERROR;
    *o = (Outer){s->pl->depth == 0, s->pl->atomic};
    if (o->first) {
        s->pl->steps = 0;
        s->pl->atomic = atomic;
    } else if (atomic) {
        s->pl->atomic = true;
    }
    return ST_OK;
}
static void outer_end(Session *s, const Outer *o) {
    s->pl->atomic = o->atomic;
    if (!o->first) return;
    pl_sweep(s);
}

/* ---- CALL ---------------------------------------------------------------------------------------- */

/* Arguments of a call; OUT parameters of procedures are not computed. */
static Status eval_args(Session *s, const BoundCall *c, const EvalCtx *x, Value *out) {
    for (int32_t i = 0, k = 0; i < c->routine->n_params; i++) {
        if (!routine_is_arg(c->routine, i)) continue;
        const Expr *e = c->args[k];
        Value *v = &out[k++];
        *v = (Value){.type = c->routine->param_types[i], .is_null = true};
        if (c->routine->param_modes[i] == 'o') continue;
        if (!eval_can(e, 0)) return err_set(&s->err, ERR_FEATURE_NOT_SUPPORTED, "cannot use subquery in CALL argument");
        TRY(eval_expr(x, e, v));
    }
    return ST_OK;
}

/* Values of the OUT parameters, in order. */
typedef struct Outs {
    Arena *arena;
    Value *values;
} Outs;
static Status take_outs(void *ctx, PlFrame *fr) {
    Outs *o = ctx;
    int32_t n = 0;
    for (int32_t i = 0; i < fr->f->n_params; i++)
        if (fr->f->param_modes[i] != PL_IN && value_copy(o->arena, &fr->slots[i].v, &o->values[n++]) != ST_OK)
            return err_oom(&fr->s->err);
    return ST_OK;
}

/* Takes the lock that the routine needs, before anything is bound for good. */
static Status lock_for(Session *s, const AstFunc *f, Arena *a, int32_t n_params, const Type *param_types,
                       bool procedure, PlanCtx *c, BoundCall **call) {
    TRY(session_lock(s, LOCK_SHARED));
    for (int again = 0;; again++) {
        plan_ctx_init(s, a, c);
        TRY(sql_bind_call(c, f, procedure, n_params, param_types, call));
        if (!*call || !c->writes_routine || session_read_only(s) || s->lock == LOCK_EXCLUSIVE) return ST_OK;
        /* No statement may come between reading and writing; an upgrade would fail when two do it at once. */
        if (!transaction_pinned(s) && again == 0) session_unlock(s);
        TRY(session_begin_write(s));
        if (again) return ST_OK;
    }
}

static Status call_result(Session *s, Statement *st, const PlRoutine *r, const Value *values) {
    Arena *a = st->run_arena;
    const char **names = arena_array(a, const char *, r->n_outs + 1);
    Type *types = arena_array(a, Type, r->n_outs + 1);
    if (!names || !types) return err_oom(&s->err);
    for (int32_t i = 0; i < r->n_outs; i++) {
        types[i] = r->out_types[i];
        if (!(names[i] = arena_strdup(a, r->out_names[i]))) return err_oom(&s->err);
    }
    st->n_cols = r->n_outs;
    st->names = names;
    st->types = types;
    st->values = values;
    st->n_rows = st->affected = r->n_outs > 0;
    st->show_rows = r->n_outs > 0;
    return ST_OK;
}

/* The statement's parameters for expressions. */
static Status statement_params(Session *s, Arena *a, const BoundCall *b, int32_t n, const Value *params, EvalCtx *e) {
    *e = (EvalCtx){.arena = a, .err = &s->err, .session = &s->info};
    const Value **refs = arena_array(a, const Value *, n + 1);
    Value *given = arena_array(a, Value, n + 1);
    if (!refs || !given) return err_oom(&s->err);
    for (int32_t i = 0; i < n; i++) {
        TRY(eval_assign(e, &params[i], i < b->n_params ? b->param_types[i] : params[i].type, &given[i]));
        refs[i] = &given[i];
    }
    e->params = refs;
    e->n_params = n;
    return ST_OK;
}

static Status call_procedure(Session *s, Statement *st, const AstCall *x, int32_t n_params, const Type *param_types,
                             const Value *params) {
    Arena *a = st->run_arena;
    PlanCtx c;
    BoundCall *b;
    PlRoutine *r;
    snprintf(st->tag, sizeof st->tag, "CALL");
    TRY(lock_for(s, x->func, a, n_params, param_types, true, &c, &b));
    TRY(pl_get(s, b->routine, &r));
    EvalCtx e;
    Value *args = arena_array(a, Value, b->n_args + 1);
    Outs o = {a, arena_array(a, Value, r->n_outs + 1)};
    if (!args || !o.values) return err_oom(&s->err);
    TRY(statement_params(s, a, b, n_params, params, &e));
    TRY(eval_args(s, b, &e, args));
    Outer outer;
    TRY(outer_begin(s, s->state != 'I', &outer));
    Status status = pl_run(s, r, args, NULL, take_outs, &o);
    if (status == ST_OK) status = call_result(s, st, r, o.values);
    outer_end(s, &outer);
    return status;
}

/* A function whose calls are to be made each, and give a value. */
static bool is_volatile_value(const Routine *r) {
    bool ins = true;
    for (int i = 0; i < r->n_params; i++) ins = ins && r->param_modes[i] == 'i';
    return ins && r->volatility == 'v' && !r->strict && !r->returns_set && !r->returns_record && !r->returns_void;
}
Status pl_call_bind(Session *s, const AstFunc *f, bool procedure, Arena *a, int32_t n_params, const Type *param_types,
                    BoundCall **out) {
    PlanCtx c;
    BoundCall *b;
    int64_t clock = time_reads, zone = zone_reads;
    *out = NULL;
    plan_ctx_init(s, a, &c);
    TRY(sql_bind_call(&c, f, procedure, n_params, param_types, &b));
    if (!b || (!procedure && !is_volatile_value(b->routine))) return ST_OK;
    bool plain = time_reads == clock && zone_reads == zone && c.routine_ids.len <= 1 && c.relations.len == 0 &&
                 b->n_params <= n_params; /* the routine itself is one */
    for (int32_t i = 0; i < b->n_args; i++) plain = plain && eval_can(b->args[i], 0);
    if (!plain) return ST_OK;
    /* What is used without a lock must not be the catalog's. */
    const Routine *r = b->routine;
    Routine *own = arena_new_of(a, Routine);
    if (!own) return err_oom(&s->err);
    *own = (Routine){
        .id = r->id, .is_procedure = r->is_procedure, .n_params = r->n_params, .ret = r->ret, .n_args = r->n_args};
    own->name = arena_strdup(a, r->name);
    own->param_modes = arena_strndup(a, r->param_modes, r->n_params);
    own->param_types = arena_array(a, Type, r->n_params + 1);
    own->param_names = arena_array(a, char *, r->n_params + 1);
    own->sql = pl_signature_text(a, r);
    if (!own->name || !own->param_modes || !own->param_types || !own->param_names || !own->sql) return err_oom(&s->err);
    for (int i = 0; i < r->n_params; i++) {
        own->param_types[i] = r->param_types[i];
        if (r->param_names[i] && !(own->param_names[i] = arena_strdup(a, r->param_names[i]))) return err_oom(&s->err);
    }
    b->routine = own;
    *out = b;
    return ST_OK;
}

Status pl_call_values(Session *s, const BoundCall *b, Arena *a, int32_t n_params, const Value *params, Value *out) {
    EvalCtx e;
    Value *args = arena_array(a, Value, b->n_args + 1);
    if (!args) return err_oom(&s->err);
    TRY(statement_params(s, a, b, n_params, params, &e));
    TRY(eval_args(s, b, &e, args));
    for (int32_t i = 0, k = 0; i < b->routine->n_params; i++) {
        if (!routine_is_arg(b->routine, i)) continue;
        if (b->routine->param_modes[i] != 'o') *out++ = args[k];
        k++;
    }
    return ST_OK;
}

static Status run_do(Session *s, const AstDo *x) {
    Arena *a = arena_new(&s->account, &s->err);
    PlFunction *f;
    PlRoutine *r;
    if (!a) return ST_ERROR;
    Status st = pl_of_do(a, &s->db->catalog, x, &f, &s->err);
    if (st == ST_OK) st = pl_make(s, a, f, &r);
    if (st != ST_OK) {
        arena_free(a);
        return st;
    }
    st = pl_run(s, r, NULL, NULL, NULL, NULL);
    pl_free(s, r);
    return st;
}

Status pl_statement(Session *s, Statement *st, const AstStmt *ast, int32_t n_params, const Type *param_types,
                    const Value *params) {
    if (ast->kind == AST_CALL) return call_procedure(s, st, AST_AS_CONST(AstCall, ast), n_params, param_types, params);
    Outer outer;
    snprintf(st->tag, sizeof st->tag, "DO");
    TRY(session_read_only(s) ? session_lock(s, LOCK_SHARED) : session_begin_write(s));
    TRY(outer_begin(s, s->state != 'I', &outer));
    Status status = run_do(s, AST_AS_CONST(AstDo, ast));
    outer_end(s, &outer);
    return status;
}

Status pl_call_shape(Session *s, const AstCall *x, Arena *a, int32_t *n_params, Type **param_types, int32_t *n_cols,
                     const char ***names, Type **types) {
    PlanCtx c;
    BoundCall *b;
    Arena *tmp = arena_new(&s->account, &s->err);
    if (!tmp) return ST_ERROR;
    plan_ctx_init(s, tmp, &c);
    Status st = sql_bind_call(&c, x->func, true, 0, NULL, &b);
    if (st == ST_OK) {
        const Routine *r = b->routine;
        *n_params = b->n_params;
        *param_types = arena_array(a, Type, b->n_params + 1);
        *names = arena_array(a, const char *, r->n_params + 1);
        *types = arena_array(a, Type, r->n_params + 1);
        *n_cols = 0;
        if (!*param_types || !*names || !*types) st = err_oom(&s->err);
        if (st == ST_OK && b->n_params) memcpy(*param_types, b->param_types, sizeof(Type) * (size_t)b->n_params);
        for (int i = 0; st == ST_OK && i < r->n_params; i++) {
            if (r->param_modes[i] == 'i') continue;
            (*names)[*n_cols] =
                r->param_names[i] ? arena_strdup(a, r->param_names[i]) : arena_printf(a, "column%d", (int)*n_cols + 1);
            if (!(*names)[*n_cols]) st = err_oom(&s->err);
            (*types)[(*n_cols)++] = r->param_types[i];
        }
    }
    arena_free(tmp);
    return st;
}

/* The variable that an argument for an OUT parameter is. */
static Status writable(PlFrame *fr, const PlPrep *p, const Expr *e, const Routine *q, int param, PlRef *out) {
    while (e->kind == EX_CAST) e = e->args[0];
    if (e->kind == EX_PARAM && e->u.param <= p->n_refs) {
        *out = p->refs[e->u.param - 1];
        return ST_OK;
    }
    if (q->param_names[param])
        return err_set(&fr->s->err, ERR_SYNTAX,
                       "procedure parameter \"%s\" is an output parameter but corresponding argument is not writable",
                       q->param_names[param]);
    return err_set(&fr->s->err, ERR_SYNTAX,
                   "procedure parameter %d is an output parameter but corresponding argument is not writable",
                   param + 1);
}

static Status call_inside(PlFrame *fr, const PlExpr *x) {
    Session *s = fr->s;
    PlPrep *p;
    PlRoutine *r;
    const Value *room[PL_ROOM], **params;
    EvalCtx c;
    TRY(pl_prep(fr, x, type_make(T_UNKNOWN), &p));
    const BoundCall *b = p->call;
    const Routine *q = b->routine;
    PlRef *targets = arena_array(fr->scratch, PlRef, q->n_params + 1);
    int32_t n_targets = 0;
    if (!targets) return err_oom(&s->err);
    for (int i = 0, k = 0; i < q->n_params; i++) {
        if (!routine_is_arg(q, i)) continue;
        if (q->param_modes[i] != 'i') TRY(writable(fr, p, b->args[k], q, i, &targets[n_targets++]));
        k++;
    }
    pl_eval_ctx(fr, &c);
    TRY(pl_params(fr, p, room, &params));
    c.params = params;
    c.n_params = p->n_refs;
    Value *args = arena_array(fr->scratch, Value, b->n_args + 1);
    Outs o = {fr->scratch, arena_array(fr->scratch, Value, q->n_params + 1)};
    if (!args || !o.values) return err_oom(&s->err);
    TRY(pl_get(s, q, &r));
    p->busy++;
    Status st = eval_args(s, b, &c, args);
    p->busy--;
    if (st == ST_OK) st = pl_run(s, r, args, NULL, take_outs, &o);
    for (int32_t i = 0; i < n_targets && st == ST_OK; i++) st = pl_assign(fr, targets[i], &o.values[i]);
    return st;
}

Status pl_call_stmt(PlFrame *fr, const PlStmt *s) {
    Status st =
        s->query->stmt->kind == AST_DO ? run_do(fr->s, AST_AS_CONST(AstDo, s->query->stmt)) : call_inside(fr, s->query);
    return st == ST_OK ? ST_OK : pl_query_failed(fr, s->query->text);
}

Status pl_end_transaction(PlFrame *fr, bool commit) {
    Session *s = fr->s;
    bool inside = false, keeps = s->pl->atomic;
    for (const PlFrame *f = fr; f; f = f->up) {
        inside |= f->subtransactions > 0;
        keeps |= f->f->keeps_transaction;
    }
    if (keeps) return err_set(&s->err, ERR_INVALID_TERMINATION, "invalid transaction termination");
    if (inside)
        return err_set(&s->err, ERR_INVALID_TERMINATION,
                       commit ? "cannot commit while a subtransaction is active"
                              : "cannot roll back while a subtransaction is active");
    return session_end_inside(s, commit);
}

/* ---- functions in queries ---------------------------------------------------------------------------- */

/* A record's text: (1,"a b",). */
static Status record_text(PlFrame *fr, Arena *a, int32_t n, const Value *v, Value *out) {
    VEC(char) t = {0};
    bool ok = vec_push(a, &t, '(');
    for (int32_t i = 0; ok && i < n; i++) {
        if (i) ok = vec_push(a, &t, ',');
        if (v[i].is_null) continue;
        int64_t len = 0;
        const char *x =
            v[i].type.id == T_BOOL ? (v[i].u.b ? "t" : "f") : value_to_text_form(a, &v[i], fr->s->info.form, &len);
        if (v[i].type.id == T_BOOL) len = 1;
        if (!x) return err_oom(&fr->s->err);
        bool quote = len == 0;
        for (int64_t k = 0; k < len; k++) quote |= strchr("\",()\\ \t\n\r\v\f", x[k]) != NULL;
        if (quote) ok = ok && vec_push(a, &t, '"');
        for (int64_t k = 0; ok && k < len; k++) {
            if (x[k] == '"' || x[k] == '\\') ok = vec_push(a, &t, x[k]);
            ok = ok && vec_push(a, &t, x[k]);
        }
        if (quote) ok = ok && vec_push(a, &t, '"');
    }
    if (!ok || !vec_push(a, &t, ')')) return err_oom(&fr->s->err);
    *out = (Value){.type = type_make(T_TEXT), .u.str = str_make(t.items, t.len)};
    return ST_OK;
}

/* Of how many columns row_of() makes the row. */
static int32_t row_width(const PlFrame *fr) {
    bool any = fr->ret_record >= 0 && fr->r->n_outs == 0; /* RETURNS record: those of the record */
    return any ? fr->records[fr->ret_record].n : MAX_OF(fr->r->n_outs, 1);
}

/* The columns of the result of a call that returns one row. */
static Status row_of(PlFrame *fr, Arena *a, int32_t *n, Value *values) {
    const PlFunction *f = fr->f;
    *n = 0;
    if (fr->ret_record >= 0 && fr->r->n_outs == 0) {
        const PlRecord *rec = &fr->records[fr->ret_record];
        for (int32_t i = 0; i < rec->n; i++)
            if (value_copy(a, &rec->slots[i].v, &values[(*n)++]) != ST_OK) return err_oom(&fr->s->err);
        return ST_OK;
    }
    if (fr->ret_record >= 0) {
        const PlRecord *rec = &fr->records[fr->ret_record];
        for (int32_t i = 0; i < rec->n && i < fr->r->n_outs; i++) {
            EvalCtx x;
            Value v;
            pl_eval_ctx(fr, &x);
            TRY(eval_assign(&x, &rec->slots[i].v, fr->r->out_types[i], &v));
            if (value_copy(a, &v, &values[(*n)++]) != ST_OK) return err_oom(&fr->s->err);
        }
        return ST_OK;
    }
    if (!f->has_outs) {
        *n = 1;
        return value_copy(a, &fr->ret.v, values) == ST_OK ? ST_OK : err_oom(&fr->s->err);
    }
    for (int32_t i = 0; i < f->n_params; i++)
        if (f->param_modes[i] != PL_IN && value_copy(a, &fr->slots[i].v, &values[(*n)++]) != ST_OK)
            return err_oom(&fr->s->err);
    return ST_OK;
}

typedef struct Scalar {
    Arena *arena;
    Value *out;
    Type type; /* of the result */
} Scalar;
static Status record_value(PlFrame *fr, Arena *a, Type t, int32_t n, const Value *row, Value *out) {
    const CompositeType *x = composite_of(t);
    Value *fields = arena_array(a, Value, x->n + 1);
    EvalCtx e;
    if (!fields) return err_oom(&fr->s->err);
    pl_eval_ctx(fr, &e);
    for (int32_t i = 0; i < x->n; i++) {
        fields[i] = (Value){.type = x->fields[i].type, .is_null = true};
        if (i < n) TRY(eval_assign(&e, &row[i], x->fields[i].type, &fields[i]));
    }
    *out = (Value){.type = t};
    return composite_build(a, x->n, fields, &out->u.str, &fr->s->err);
}
static Status take_scalar(void *ctx, PlFrame *fr) {
    Scalar *x = ctx;
    const PlFunction *f = fr->f;
    Value row[PL_MAX_PARAMS + 1];
    int32_t n;
    if (f->returns_void) {
        *x->out = (Value){.type = type_make(T_TEXT), .u.str = str_make("", 0)};
        return ST_OK;
    }
    if (row_width(fr) > PL_MAX_PARAMS)
        return err_set(&fr->s->err, ERR_TOO_MANY_COLUMNS, "a record of more than %d columns as a value", PL_MAX_PARAMS);
    TRY(row_of(fr, x->arena, &n, row));
    if (f->returns_record && x->type.id == T_COMPOSITE) return record_value(fr, x->arena, x->type, n, row, x->out);
    if (f->returns_record) return record_text(fr, x->arena, n, row, x->out);
    *x->out = row[0];
    return ST_OK;
}

/* A call by a kernel, which has an Err of its own; bodies report to the session's. An Err is large, and calls nest
 * deeply: none on the stack. */
typedef struct Inside {
    Session *s;
    Err *e, *own;
    Outer outer;
    PlRoutine *r;
} Inside;

static Status inside_begin(Inside *x, int64_t id, int n) {
    Session *s = x->s;
    x->r = NULL;
    if (x->e != &s->err && err_is_set(&s->err)) {
        if (!(x->own = mem_alloc(&s->account, (int64_t)sizeof *x->own, x->e))) {
            x->e = NULL; /* has that error; the session keeps its own */
            return ST_ERROR;
        }
        err_copy(x->own, &s->err);
        err_clear(&s->err);
    }
    const Routine *q = catalog_routine_by_id(&s->db->catalog, id);
    if (!q) return err_set(&s->err, ERR_UNDEFINED_FUNCTION, "the function has been dropped");
    TRY(pl_get(s, q, &x->r));
    if (x->r->n_args != n) return err_internal(&s->err, "call with %d arguments", n);
    return err_is_set(&s->err) ? ST_ERROR : outer_begin(s, true, &x->outer);
}
static Status inside_end(Inside *x, Status st) {
    Session *s = x->s;
    if (!x->e || x->e == &s->err || (st != ST_OK && !err_is_set(&s->err))) return st;
    if (st != ST_OK) err_copy(x->e, &s->err);
    err_clear(&s->err);
    if (x->own) err_copy(&s->err, x->own);
    mem_free(&s->account, x->own, (int64_t)sizeof *x->own);
    return st;
}

Status pl_call_function(void *ctx, int64_t id, int n, const Value *args, Type ret, Arena *a, Value *out, Err *e) {
    Session *s = ctx;
    Inside in = {.s = s, .e = e};
    *out = (Value){.type = ret, .is_null = true};
    if (session_reads_version(s)) {
        Status st = session_read_locked(s);
        if (e != &s->err) err_copy(e, &s->err);
        return st;
    }
    Scalar x = {a, out, ret};
    Status st = inside_begin(&in, id, n);
    if (st == ST_OK) {
        st = pl_run(s, in.r, args, NULL, take_scalar, &x);
        outer_end(s, &in.outer);
    }
    if (st == ST_OK && !out->is_null && !type_eq(out->type, ret)) {
        EvalCtx ev = {.arena = a, .err = &s->err, .session = &s->info};
        Value v = *out;
        st = eval_assign(&ev, &v, ret, out);
    }
    return inside_end(&in, st);
}

const AstFunc *pl_lone_function(const AstSelect *x) {
    bool lone = !x->with && x->set_op == AST_SETOP_NONE && !x->values && !x->distinct && x->n_targets == 1 &&
                x->targets[0].expr->kind == AST_FUNC && x->n_from == 0 && !x->where && x->n_group_by == 0 &&
                !x->having && x->n_order_by == 0 && !x->limit && !x->offset;
    return lone ? AST_AS_CONST(AstFunc, x->targets[0].expr) : NULL;
}

Status pl_lone_call(Session *s, Statement *st, const AstSelect *x, int32_t n_params, const Type *param_types,
                    const Value *params, bool *done) {
    *done = false;
    if (!pl_lone_function(x)) return ST_OK;
    TRY(session_read(s, true));
    if (session_catalog(s)->n_routines == 0) return ST_OK;
    TRY(session_read_locked(s));
    Arena *a = st->run_arena;
    PlanCtx c;
    BoundCall *b;
    PlRoutine *r;
    EvalCtx e;
    Outer outer;
    TRY(lock_for(s, AST_AS_CONST(AstFunc, x->targets[0].expr), a, n_params, param_types, false, &c, &b));
    if (!b || b->routine->returns_set) return ST_OK;
    for (int32_t i = 0; i < b->n_args; i++)
        if (!eval_can(b->args[i], 0)) return ST_OK;
    TRY(pl_get(s, b->routine, &r));
    const Routine *q = b->routine;
    Value *args = arena_array(a, Value, b->n_args + 1), *value = arena_array(a, Value, 1);
    Type *type = arena_array(a, Type, 1);
    const char **name = arena_array(a, const char *, 1);
    if (!args || !value || !type || !name) return err_oom(&s->err);
    TRY(statement_params(s, a, b, n_params, params, &e));
    TRY(eval_args(s, b, &e, args));
    TRY(sql_result_type(&s->db->catalog, q, a, type, &s->err));
    Scalar scalar = {a, value, *type};
    value->is_null = true;
    TRY(outer_begin(s, true, &outer));
    Status status = pl_run(s, r, args, NULL, take_scalar, &scalar);
    outer_end(s, &outer);
    TRY(status);
    value->type = *type;
    if (!(*name = arena_strdup(a, x->targets[0].alias ? x->targets[0].alias : name_of_key(q->name))))
        return err_oom(&s->err);
    st->n_cols = 1;
    st->names = name;
    st->types = type;
    st->values = value;
    st->n_rows = st->affected = 1;
    st->show_rows = st->has_shape = true;
    snprintf(st->tag, sizeof st->tag, "SELECT 1");
    *done = true;
    return ST_OK;
}

/* ---- sets ------------------------------------------------------------------------------------------------ */

/* The n cells of a row in the types of the column definition list. */
static Status take_defined(PlFrame *fr, PlRows *rows, int32_t n, Value *row) {
    Type *types = arena_array(rows->arena, Type, n + 1);
    if (!types) return err_oom(&fr->s->err);
    for (int32_t i = 0; i < n; i++) types[i] = row[i].type;
    if (n) /* none: NULL was returned */
        TRY(pl_check_row(fr, rows, n, types, "returned record type does not match expected record type"));
    for (int32_t i = 0; i < n && i < rows->n_cols; i++) {
        Value made;
        EvalCtx x;
        pl_eval_ctx(fr, &x);
        TRY(eval_assign(&x, &row[i], rows->types[i], &made));
        if (value_copy(rows->arena, &made, &row[i]) != ST_OK) return err_oom(&fr->s->err);
    }
    return ST_OK;
}
static Status take_row(void *ctx, PlFrame *fr) {
    PlRows *rows = ctx;
    if (fr->f->returns_set) return ST_OK;
    Value *row = arena_array(rows->arena, Value, MAX_OF(rows->n_cols, row_width(fr)) + 1);
    int32_t n;
    if (!row) return err_oom(&fr->s->err);
    if (fr->f->returns_void) {
        row[n = 0] = (Value){.type = type_make(T_TEXT), .u.str = str_make("", 0)};
        n = 1;
    } else {
        TRY(row_of(fr, rows->arena, &n, row));
    }
    if (rows->defined) TRY(take_defined(fr, rows, n, row));
    for (int32_t i = 0; i < rows->n_cols; i++) {
        Value v = i < n ? row[i] : (Value){.type = rows->types[i], .is_null = true};
        if (!vec_push(rows->arena, &rows->cells, v)) return err_oom(&fr->s->err);
    }
    rows->n = 1;
    return ST_OK;
}

/* RETURNS record: calls of it have column definition lists. */
static bool any_columns(const Routine *r) {
    bool outs = false;
    for (int i = 0; i < r->n_params; i++) outs |= r->param_modes[i] != 'i';
    return r->returns_record && !outs;
}

Status pl_fill_rows(Session *s, PlanCtx *c, Plan *p) {
    TRY(session_read_locked(s));
    const Routine *q = catalog_routine_by_id(&s->db->catalog, p->values.routine_id);
    PlRoutine *r;
    Arena *a = c->arena;
    EvalCtx x = {.arena = a, .err = &s->err, .session = &s->info};
    Value *args = arena_array(a, Value, p->n_exprs + 1);
    Type *types = arena_array(a, Type, p->n_out + 1);
    if (!q) return err_set(&s->err, ERR_UNDEFINED_FUNCTION, "the function has been dropped");
    if (s->explaining) {
        p->values.routine_id = 0;
        p->n_exprs = 0;
        return ST_OK;
    }
    if (!args || !types) return err_oom(&s->err);
    for (int32_t i = 0; i < p->n_exprs; i++) {
        if (!eval_can(p->exprs[i], 0))
            return err_set(&s->err, ERR_FEATURE_NOT_SUPPORTED,
                           "a subquery as an argument of a set-returning function is not supported");
        TRY(eval_expr(&x, p->exprs[i], &args[i]));
    }
    for (int32_t i = 0; i < p->n_out; i++) types[i] = c->cols.items[p->out_cols[i]].type;
    PlRows rows = {.arena = a, .n_cols = p->n_out - p->ordinality, .types = types, .defined = any_columns(q)};
    Outer outer;
    s->kept.n_runs++; /* the plan is good for once */
    TRY(pl_get(s, q, &r));
    TRY(outer_begin(s, true, &outer));
    Status st = pl_run(s, r, args, &rows, take_row, &rows);
    outer_end(s, &outer);
    TRY(st);
    p->values.n_rows = rows.n;
    if (!(p->values.cells = arena_array(a, Vec, p->n_out + 1))) return err_oom(&s->err);
    for (int32_t k = 0; k < p->n_out; k++) {
        const Phys ph = type_phys(types[k]);
        const int64_t size = phys_size(ph);
        bool nulls = false;
        Vec *v = &p->values.cells[k];
        *v = (Vec){.phys = (uint8_t)ph,
                   .type = types[k],
                   .data = arena_calloc(a, (rows.n + 1) * size),
                   .valid = arena_alloc(a, rows.n + 1)};
        if (!v->data || !v->valid) return err_oom(&s->err);
        for (int64_t i = 0; i < rows.n; i++) {
            if (k == rows.n_cols) { /* the row's number */
                ((int64_t *)v->data)[i] = i + 1;
                continue;
            }
            const Value *cell = &rows.cells.items[i * rows.n_cols + k];
            v->valid[i] = !cell->is_null;
            nulls |= cell->is_null;
            if (!cell->is_null) memcpy((char *)v->data + i * size, value_cell_const(cell), (size_t)size);
        }
        if (!nulls) v->valid = NULL;
    }
    p->values.routine_id = 0;
    p->ordinality = false;
    p->exprs = NULL;
    p->n_exprs = 0;
    return ST_OK;
}

/* Rows of a call by a kernel. */
Status pl_call_rows(void *ctx, int64_t id, int n, const Value *args, int32_t n_cols, const Type *types, Arena *a,
                    int64_t *n_rows, Value **cells, Err *e) {
    Session *s = ctx;
    Inside in = {.s = s, .e = e};
    const Routine *q = session_reads_version(s) ? NULL : catalog_routine_by_id(&s->db->catalog, id);
    PlRows rows = {.arena = a, .n_cols = n_cols, .types = types, .defined = q && any_columns(q)};
    if (session_reads_version(s)) {
        Status st = session_read_locked(s);
        if (e != &s->err) err_copy(e, &s->err);
        return st;
    }
    Status st = inside_begin(&in, id, n);
    if (st == ST_OK) {
        st = pl_run(s, in.r, args, &rows, take_row, &rows);
        outer_end(s, &in.outer);
    }
    *n_rows = rows.n;
    *cells = rows.cells.items;
    return inside_end(&in, st);
}

/* ---- calls of a bulk ---------------------------------------------------------------------------------------- */

static Status take_result(void *ctx, PlFrame *fr) {
    Outs *o = ctx;
    if (fr->f->has_outs || fr->f->is_procedure) return take_outs(ctx, fr);
    Value v;
    Scalar x = {.arena = o->arena, .out = &v}; /* a record as its text */
    TRY(take_scalar(&x, fr));
    return value_copy(o->arena, &v, o->values) == ST_OK ? ST_OK : err_oom(&fr->s->err);
}

Status pl_call_once(Session *s, const Routine *q, int n, const Value *args, Arena *a, int32_t *n_out, Value **out) {
    PlRoutine *r;
    Outer outer;
    TRY(pl_get(s, q, &r));
    Value *given = arena_array(a, Value, r->n_args + 1);
    Outs o = {a, arena_array(a, Value, r->n_outs + 2)};
    if (!given || !o.values) return err_oom(&s->err);
    for (int32_t i = 0, k = 0; i < r->n_args; i++) {
        int32_t param = r->arg_params[i];
        bool in = q->param_modes[param] == 'i' || q->param_modes[param] == 'b';
        if (in && k == n) return err_internal(&s->err, "call with %d arguments", n);
        given[i] = in ? args[k++] : (Value){.type = q->param_types[param], .is_null = true};
    }
    const int64_t cursors = s->names.last_cursor;
    TRY(outer_begin(s, true, &outer));
    s->pl->steps = 0;
    Status st = pl_run(s, r, given, NULL, take_result, &o);
    outer_end(s, &outer);
    cursors_back_to(s, cursors); /* it is a transaction of its own for others */
    *n_out = r->f->has_outs || r->f->is_procedure ? r->n_outs : !r->f->returns_void;
    *out = o.values;
    return st;
}
