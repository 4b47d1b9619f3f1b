/* pl_prep.c - routines made ready, their variables, values of their expressions. */
#include "session/pl/pl_run_int.h"

#include <stdio.h>

#include "sql/optimize/optimize.h"
#include "types/composite.h"

/* ---- routines ---------------------------------------------------------------------------- */

PlSession *pl_session(Session *s) {
    if (!s->pl) s->pl = mem_calloc(&s->account, (int64_t)sizeof *s->pl, &s->err);
    return s->pl;
}

static void free_frame(Session *s, PlRoutine *r, PlFrame *fr) {
    if (!fr) return;
    for (int32_t i = 0; i < r->f->n_vars; i++) {
        pl_slot_release(s, &fr->slots[i]);
        for (int32_t k = 0; k < fr->records[i].cap; k++) pl_slot_release(s, &fr->records[i].slots[k]);
    }
    pl_slot_release(s, &fr->ret);
    arena_free(fr->scratch);
    arena_free(fr->arena);
}

void pl_free(Session *s, PlRoutine *r) {
    free_frame(s, r, r->spare);
    for (int32_t i = 0; r->preps && i < r->f->n_exprs; i++) arena_free(r->preps[i].arena);
    for (int64_t i = 0; i < r->dead.len; i++) arena_free(r->dead.items[i]);
    arena_free(r->arena);
}

void pl_sweep(Session *s) {
    for (PlRoutine **p = &s->pl->routines; *p;) {
        PlRoutine *r = *p;
        if (r->busy || name_deps_hold(&r->deps, &s->db->catalog)) {
            p = &r->next;
            continue;
        }
        *p = r->next;
        pl_free(s, r);
    }
}

static Status result_columns(PlRoutine *r, const Routine *sig) {
    const PlFunction *f = r->f;
    int32_t n = 0, room = sig ? sig->n_params : f->n_params;
    r->out_names = arena_array(r->arena, const char *, room + 1);
    r->out_types = arena_array(r->arena, Type, room + 1);
    r->arg_params = arena_array(r->arena, int32_t, room + 1);
    if (!r->out_names || !r->out_types || !r->arg_params) return ST_ERROR;
    for (int32_t i = 0; sig && i < sig->n_params; i++) {
        if (routine_is_arg(sig, i)) r->arg_params[r->n_args++] = i;
        if (sig->param_modes[i] == 'i') continue;
        r->out_names[n] = sig->param_names[i] ? arena_strdup(r->arena, sig->param_names[i])
                                              : arena_printf(r->arena, "column%d", (int)n + 1);
        if (!r->out_names[n]) return ST_ERROR;
        r->out_types[n++] = sig->param_types[i];
    }
    if (n == 0 && !f->returns_void && !f->returns_record && !f->is_procedure) {
        r->out_names[0] = f->name;
        r->out_types[n++] = f->ret;
    }
    r->n_outs = n;
    return ST_OK;
}

static Status make(Session *s, Arena *a, const Routine *sig, const PlFunction *f, PlRoutine **out) {
    PlRoutine *r = arena_new_of(a, PlRoutine);
    if (!r) return err_oom(&s->err);
    r->arena = a;
    r->f = (PlFunction *)(uintptr_t)f;
    if (!(r->preps = arena_array(a, PlPrep, f->n_exprs + 1)) || result_columns(r, sig) != ST_OK)
        return stack_failed(&s->err);
    *out = r;
    return ST_OK;
}
Status pl_make(Session *s, Arena *a, const PlFunction *f, PlRoutine **out) { return make(s, a, NULL, f, out); }

Status pl_get(Session *s, const Routine *sig, PlRoutine **out) {
    const Catalog *c = &s->db->catalog;
    if (!pl_session(s)) return ST_ERROR;
    PlRoutine *r = s->pl->routines;
    while (r && !(r->id == sig->id && (name_deps_hold(&r->deps, c) || r->busy))) r = r->next;
    if (r) {
        name_deps_read(&r->deps);
        *out = r;
        return ST_OK;
    }
    if (s->pl->depth == 0) pl_sweep(s);
    Arena *a = arena_new(&s->account, &s->err);
    PlFunction *f;
    NameReads reads;
    if (!a) return ST_ERROR;
    name_reads_begin(&reads, c);
    Status st = pl_of_routine(a, c, sig, &f, &s->err);
    name_reads_end(&reads);
    if (st != ST_OK || make(s, a, sig, f, &r) != ST_OK || !name_deps_keep(&reads, a, &r->deps)) {
        arena_free(a);
        return stack_failed(&s->err);
    }
    r->id = sig->id;
    r->may_write = sig->may_write;
    r->next = s->pl->routines;
    s->pl->routines = r;
    *out = r;
    return ST_OK;
}

bool pl_in_call(const Session *s) { return s->pl && s->pl->depth > 0; }
void pl_session_free(Session *s) {
    if (!s->pl) return;
    while (s->pl->routines) {
        PlRoutine *r = s->pl->routines;
        s->pl->routines = r->next;
        pl_free(s, r);
    }
    mem_free(&s->account, s->pl, (int64_t)sizeof *s->pl);
    s->pl = NULL;
}

/* ---- variables ------------------------------------------------------------------------------ */

void pl_slot_release(Session *s, PlSlot *slot) {
    if (slot->buf) mem_free(&s->account, slot->buf, slot->cap);
    slot->buf = NULL;
    slot->cap = 0;
}

Status pl_slot_set(Session *s, PlSlot *slot, const Value *v) {
    if (v->is_null || type_phys(v->type) != PH_STR) {
        slot->v = *v;
        return ST_OK;
    }
    Str x = v->u.str;
    int64_t n = x.len;
    if (n > slot->cap) {
        int64_t cap = MAX_OF(64, n + n / 2);
        char *p = mem_alloc(&s->account, cap, &s->err);
        if (!p) return ST_ERROR;
        memcpy(p, x.ptr, (size_t)n);
        pl_slot_release(s, slot);
        slot->buf = p;
        slot->cap = cap;
    } else if (n) {
        memmove(slot->buf, x.ptr, (size_t)n); /* the value may be the slot's own */
    }
    slot->v = *v;
    slot->v.u.str = str_make(n ? slot->buf : "", n);
    return ST_OK;
}

static PlSlot *ref_slot(PlFrame *fr, PlRef r) {
    if (!r.field) return &fr->slots[r.var];
    PlRecord *rec = &fr->records[r.var];
    for (int32_t i = 0; i < rec->n; i++)
        if (rec->names[i] == r.field || strcmp(rec->names[i], r.field) == 0) return &rec->slots[i];
    return NULL;
}
/* The fields of a variable of a composite type, NULLs if it is NULL, in the scratch; NULL: no memory. */
static Value *composite_fields(PlFrame *fr, int32_t var, const CompositeType *x) {
    const Value *v = &fr->slots[var].v;
    Value *all = arena_array(fr->scratch, Value, (int64_t)x->n + 1);
    for (int32_t i = 0; all && i < x->n; i++) all[i] = (Value){.type = x->fields[i].type, .is_null = true};
    if (all && !v->is_null && composite_read(x, v->u.str, all, &fr->s->err) != ST_OK) return NULL;
    return all;
}
/* Of the field, NULL: the variable is not of a composite type. */
static const CompositeType *field_of(const PlFrame *fr, PlRef r, int32_t *k) {
    const PlVar *var = &fr->f->vars[r.var];
    const CompositeType *x = r.field && var->kind == PLV_SCALAR ? composite_of(var->type) : NULL;
    *k = x ? composite_field(x, slice_of(r.field)) : -1;
    return x;
}
static Status assign_field(PlFrame *fr, PlRef target, const CompositeType *x, int32_t k, const Value *v) {
    EvalCtx e;
    Value all = {.type = composite_type(x)}, *fields = composite_fields(fr, target.var, x);
    pl_eval_ctx(fr, &e);
    if (k < 0)
        return err_set(&fr->s->err, ERR_UNDEFINED_COLUMN, "record \"%s\" has no field \"%s\"",
                       fr->f->vars[target.var].name, target.field);
    if (!fields) return err_is_set(&fr->s->err) ? ST_ERROR : err_oom(&fr->s->err);
    TRY(eval_assign(&e, v, x->fields[k].type, &fields[k]));
    TRY(composite_build(fr->scratch, x->n, fields, &all.u.str, &fr->s->err));
    return pl_assign(fr, (PlRef){.var = target.var}, &all);
}

/* A row or record variable as a value, in the scratch; of no type when it is not assigned. NULL: no memory. */
static const Value *whole_value(PlFrame *fr, int32_t var) {
    const PlRecord *rec = &fr->records[var];
    const CompositeType *x = composite_of(fr->f->vars[var].type);
    Value *out = arena_calloc(fr->scratch, (int64_t)sizeof *out), *values = arena_array(fr->scratch, Value, rec->n + 1);
    CompositeField *fields = arena_array(fr->scratch, CompositeField, rec->n + 1);
    if (!out || !values || !fields) return NULL;
    *out = (Value){.type = type_make(T_UNKNOWN), .is_null = true};
    if (!rec->assigned) return out;
    for (int32_t i = 0; i < rec->n; i++) {
        values[i] = rec->slots[i].v;
        if (values[i].type.id == T_UNKNOWN) values[i].type = type_make(T_TEXT);
        fields[i] = (CompositeField){rec->names[i], values[i].type, 0};
    }
    Err *e = &fr->s->err;
    if (!x && composite_shared(fr->s->db->catalog.rows, NULL, rec->n, fields, &x, e) != ST_OK) return NULL;
    *out = (Value){.type = composite_type(x)};
    return composite_build(fr->scratch, rec->n, values, &out->u.str, e) == ST_OK ? out : NULL;
}

const Value *pl_ref_value(PlFrame *fr, PlRef r) {
    int32_t k;
    const CompositeType *row = field_of(fr, r, &k);
    const Value *fields = k >= 0 ? composite_fields(fr, r.var, row) : NULL;
    if (row) return fields ? &fields[k] : NULL;
    if (!r.field && fr->f->vars[r.var].kind != PLV_SCALAR) return whole_value(fr, r.var);
    const PlSlot *x = ref_slot(fr, r);
    return x ? &x->v : NULL;
}

Status pl_set_bool(PlFrame *fr, int32_t var, bool b) {
    fr->slots[var].v = (Value){.type = type_make(T_BOOL), .u.b = b};
    return ST_OK;
}

void pl_eval_ctx(PlFrame *fr, EvalCtx *x) {
    *x = (EvalCtx){.arena = fr->scratch, .err = &fr->s->err, .session = &fr->s->info};
}

Status pl_assign(PlFrame *fr, PlRef target, const Value *v) {
    const PlVar *var = &fr->f->vars[target.var];
    Err *e = &fr->s->err;
    EvalCtx x;
    Value w;
    int32_t k;
    const CompositeType *row = field_of(fr, target, &k);
    if (row) return assign_field(fr, target, row, k, v);
    PlSlot *slot = ref_slot(fr, target);
    if (!slot) {
        if (fr->records[target.var].assigned)
            return err_set(e, ERR_UNDEFINED_COLUMN, "record \"%s\" has no field \"%s\"", var->name, target.field);
        err_set(e, ERR_NOT_IN_STATE, "record \"%s\" is not assigned yet", var->name);
        err_detail(e, "The tuple structure of a not-yet-assigned record is indeterminate.");
        return ST_ERROR;
    }
    pl_eval_ctx(fr, &x);
    Type to = target.field ? slot->v.type : var->type;
    if (to.id == T_UNKNOWN) w = *v;
    else TRY(eval_assign(&x, v, to, &w));
    if (w.is_null && var->not_null && !target.field)
        return err_set(e, ERR_NULL_NOT_ALLOWED, "null value cannot be assigned to variable \"%s\" declared NOT NULL",
                       var->name);
    int64_t domain = !target.field          ? var->domain
                     : var->kind == PLV_ROW ? var->field_domains[slot - fr->records[target.var].slots]
                                            : 0;
    if (domain) TRY(pl_check_domain(fr->s, domain, &w, e));
    return pl_slot_set(fr->s, slot, &w);
}

/* ---- binding ---------------------------------------------------------------------------------- */

static bool field_type(void *ctx, int32_t var, const char *field, Type *out, bool *assigned) {
    PlFrame *fr = ctx;
    const Value *v = pl_ref_value(fr, (PlRef){var, field});
    *assigned = fr->records[var].assigned;
    if (v) *out = v->type;
    return v != NULL;
}
static Type var_type(void *ctx, int32_t var) {
    PlFrame *fr = ctx;
    Type t = fr->f->vars[var].type;
    const Value *record = fr->f->vars[var].kind == PLV_RECORD ? pl_ref_value(fr, (PlRef){.var = var}) : NULL;
    if (record) return record->type;
    return t.id == T_UNKNOWN ? fr->slots[var].v.type : t;
}

void pl_names(PlFrame *fr, Arena *a, const PlExpr *x, PlNames *n) {
    pl_names_init(n, a, fr->f, x);
    n->field_type = field_type;
    n->var_type = var_type;
    n->ctx = fr;
}

static Status keep_refs(PlFrame *fr, PlPrep *p, const PlNames *n) {
    p->n_refs = (int32_t)n->refs.len;
    p->refs = n->refs.items;
    p->has_fields = false;
    if (!(p->ref_types = arena_array(p->arena, Type, p->n_refs + 1))) return ST_ERROR;
    for (int32_t i = 0; i < p->n_refs; i++) {
        const PlVar *v = &fr->f->vars[p->refs[i].var];
        p->ref_types[i] = pl_ref_value(fr, p->refs[i])->type;
        p->has_fields |= v->kind == PLV_RECORD || v->type.id == T_UNKNOWN;
    }
    return ST_OK;
}

static bool same_types(PlFrame *fr, const PlPrep *p) {
    for (int32_t i = 0; p->has_fields && i < p->n_refs; i++) {
        const Value *v = pl_ref_value(fr, p->refs[i]);
        if (!v || !type_eq(v->type, p->ref_types[i])) return false;
    }
    return true;
}

typedef struct FindSubs {
    PlPrep *p;
    bool failed;
} FindSubs;
static bool find_sub(void *ctx, Expr *e) {
    FindSubs *f = ctx;
    if (e->kind != EX_SUBQUERY) return true;
    PlSub sub = {.e = e, .b = arena_new_of(f->p->arena, BoundStmt)};
    f->failed |= !sub.b || !vec_push(f->p->arena, &f->p->subs, sub);
    return !f->failed;
}

/* Subqueries that are not on a row of their own are planned each time. */
static Status keep_subs(Session *s, PlPrep *p, const PlanCtx *c) {
    FindSubs f = {.p = p};
    p->subs.items = NULL;
    p->subs.len = p->subs.cap = 0;
    (void)expr_walk(p->expr, find_sub, &f);
    if (p->subs.len == 0 && !f.failed) return ST_OK;
    if (f.failed || !(p->ctx = arena_new_of(p->arena, PlanCtx))) return err_oom(&s->err);
    *p->ctx = *c;
    p->ctx->variables = NULL;
    for (int64_t i = 0; i < p->subs.len; i++) {
        PlSub *sub = &p->subs.items[i];
        *sub->b = (BoundStmt){.kind = STMT_SELECT,
                              .plan = sub->e->u.sub.plan,
                              .n_result = sub->e->u.sub.n_cols,
                              .result = sub->e->u.sub.cols};
        sub->point = pl_point_of(s, p->arena, c, sub->b);
        if (err_is_set(&s->err)) return ST_ERROR;
    }
    return ST_OK;
}

static Status bind(PlFrame *fr, const PlExpr *x, Type want, PlPrep *p) {
    Session *s = fr->s;
    PlanCtx c;
    PlNames names;
    plan_ctx_init(s, p->arena, &c);
    pl_names(fr, p->arena, x, &names);
    c.variables = &names.hook;
    c.of_routine = true;
    p->expr = NULL;
    p->call = NULL;
    p->point = NULL;
    p->want = want;
    p->is_plan = false;
    if (x->ast) {
        Expr *e;
        TRY(sql_bind_value(&c, x->ast, want, &e));
        if (!(e = sql_fold(&c, e))) return ST_ERROR;
        if (eval_can(e, EVAL_SUBQUERIES)) {
            p->expr = e;
            TRY(keep_subs(s, p, &c));
        }
    } else if (x->stmt->kind == AST_CALL) {
        TRY(sql_bind_call(&c, AST_AS_CONST(AstCall, x->stmt)->func, true, 0, NULL, &p->call));
    } else if (sql_is_planned(x->stmt)) {
        BoundStmt *b;
        TRY(sql_bind(&c, x->stmt, 0, NULL, &b));
        p->is_plan = true;
        p->point = pl_point_of(s, p->arena, &c, b);
        if (err_is_set(&s->err)) return ST_ERROR;
    }
    return keep_refs(fr, p, &names);
}

Status pl_prep(PlFrame *fr, const PlExpr *x, Type want, PlPrep **out) {
    Session *s = fr->s;
    PlPrep *p = &fr->r->preps[x->number];
    const Catalog *c = &s->db->catalog;
    *out = p;
    const SessionInfo *now = &s->info;
    bool same_time = !p->of_moment || (p->moment == now->now_micros && text_form_eq(p->form, now->form));
    if (name_deps_hold(&p->deps, c) && same_time && type_eq(p->want, want) && same_types(fr, p)) {
        name_deps_read(&p->deps);
        return ST_OK;
    }
    p->deps = (NameDeps){0};
    if (p->arena && p->busy) {
        if (!vec_push(fr->r->arena, &fr->r->dead, p->arena)) return err_oom(&s->err);
    } else {
        arena_free(p->arena);
    }
    if (!(p->arena = arena_new(&s->account, &s->err))) return ST_ERROR;
    int64_t clock = time_reads, zone = zone_reads;
    NameReads reads;
    NameDeps deps;
    name_reads_begin(&reads, c);
    Status st = bind(fr, x, want, p);
    name_reads_end(&reads);
    if (st != ST_OK || !name_deps_keep(&reads, p->arena, &deps)) return stack_failed(&s->err);
    p->of_moment = time_reads != clock || zone_reads != zone;
    p->moment = now->now_micros;
    p->form = now->form;
    p->deps = deps;
    return ST_OK;
}

Status pl_params(PlFrame *fr, const PlPrep *p, const Value **room, const Value ***out) {
    const Value **v = p->n_refs <= PL_ROOM ? room : arena_array(fr->scratch, const Value *, p->n_refs);
    if (!v) return err_oom(&fr->s->err);
    for (int32_t i = 0; i < p->n_refs; i++) {
        v[i] = pl_ref_value(fr, p->refs[i]);
        if (!v[i]) return err_internal(&fr->s->err, "a record's field is gone");
    }
    *out = v;
    return ST_OK;
}

/* ---- values -------------------------------------------------------------------------------------- */

Status pl_query_failed(PlFrame *fr, const char *text) {
    fr->s->err.position = 0;
    err_context(&fr->s->err, "SQL statement \"%.200s\"", text);
    return ST_ERROR;
}

typedef struct SubCtx {
    PlFrame *fr;
    const PlPrep *p;
    const Value *const *params;
} SubCtx;

/* In the query engine: from a copy, because planning changes plans. */
static Status run_sub(const SubCtx *x, const Expr *e, Statement *st) {
    Session *s = x->fr->s;
    Arena *a = st->run_arena;
    PlanCtx c = *x->p->ctx;
    c.arena = a;
    c.cols.items = arena_array(a, ColInfo, c.cols.len + 8);
    c.cols.cap = c.cols.len + 8;
    if (!c.cols.items) return err_oom(&s->err);
    memcpy(c.cols.items, x->p->ctx->cols.items, sizeof(ColInfo) * (size_t)c.cols.len);
    const Expr *copy = expr_copy(&c, e);
    Value *vals = arena_array(a, Value, x->p->n_refs + 1);
    BoundStmt *b = arena_new_of(a, BoundStmt);
    RunOutput o;
    if (!copy || !vals || !b) return err_oom(&s->err);
    for (int32_t i = 0; i < x->p->n_refs; i++) vals[i] = *x->params[i];
    *b = (BoundStmt){.kind = STMT_SELECT,
                     .plan = copy->u.sub.plan,
                     .n_result = copy->u.sub.n_cols,
                     .result = copy->u.sub.cols,
                     .n_params = x->p->n_refs};
    TRY(sql_bind_params(&c, b, b->n_params, vals));
    TRY(session_run_plan(s, &c, b, b->n_result, b->result, &st->account, &o));
    st->query = o.query;
    st->rows = o.rows;
    st->n_rows = rows_count(o.rows);
    st->n_cols = b->n_result;
    st->types = arena_array(a, Type, b->n_result + 1);
    if (!st->types) return err_oom(&s->err);
    for (int32_t i = 0; i < b->n_result; i++) st->types[i] = c.cols.items[b->result[i]].type;
    return ST_OK;
}

static Status eval_sub(void *ctx, const Expr *e, Value *out) {
    const SubCtx *x = ctx;
    Err *err = &x->fr->s->err;
    const PlSub *sub = x->p->subs.items;
    while (sub->e != e) sub++;
    Statement *st;
    TRY(session_result_new(x->fr->s, &st));
    Status r = sub->point ? pl_point_run(x->fr->s, x->fr->scratch, sub->point, x->p->n_refs, x->params, st)
                          : run_sub(x, e, st);
    if (r == ST_OK && e->subquery == SQ_EXISTS) {
        *out = (Value){.type = e->type, .u.b = st->n_rows > 0};
    } else if (r == ST_OK && st->n_rows > 1) {
        r = err_set(err, ERR_CARDINALITY, "more than one row returned by a subquery used as an expression");
    } else if (r == ST_OK) {
        Value v = {.type = e->type, .is_null = true};
        if (st->n_rows == 1) r = pl_row_value(x->fr, st, 0, 0, &v);
        if (r == ST_OK && value_copy(x->fr->scratch, &v, out) != ST_OK) r = err_oom(err);
        out->type = e->type;
    }
    session_result_free(st);
    return r;
}

/* IN (subquery) and its like: as SELECT does it. */
static Status eval_query(PlFrame *fr, const PlExpr *x, Type want, Value *out) {
    Session *s = fr->s;
    Statement *st;
    TRY(session_result_new(fr->s, &st));
    Arena *a = st->run_arena;
    PlanCtx c;
    PlNames names;
    Expr *e;
    plan_ctx_init(s, a, &c);
    pl_names(fr, a, x, &names);
    c.variables = &names.hook;
    c.of_routine = true;
    Status r = sql_bind_value(&c, x->ast, want, &e);
    Plan *one = r == ST_OK ? plan_new(&c, LP_VALUES, 0) : NULL;
    BoundStmt *b = arena_new_of(a, BoundStmt);
    Value *vals = arena_array(a, Value, names.refs.len + 1);
    if (r == ST_OK &&
        (!one || !b || !vals || !(one->out_cols = arena_array(a, ColId, 1)) ||
         !(one->values.rows = arena_array(a, Expr **, 1)) || !(one->values.rows[0] = arena_array(a, Expr *, 1)) ||
         !(one->out_cols[0] = plan_new_col(&c, "value", e->type, true))))
        r = stack_failed(&s->err);
    if (r == ST_OK) {
        one->values.n_rows = one->n_out = 1;
        one->values.rows[0][0] = e;
        *b = (BoundStmt){.kind = STMT_SELECT,
                         .plan = one,
                         .n_result = 1,
                         .result = one->out_cols,
                         .n_params = (int32_t)names.refs.len};
        for (int64_t i = 0; i < names.refs.len; i++) vals[i] = *pl_ref_value(fr, names.refs.items[i]);
        r = sql_bind_params(&c, b, b->n_params, vals);
    }
    RunOutput o = {0};
    Type type = r == ST_OK ? e->type : want;
    if (r == ST_OK) r = session_run_plan(s, &c, b, 1, one->out_cols, &st->account, &o);
    st->query = o.query;
    const void *cell;
    Value v = {.type = type};
    if (r == ST_OK) r = rows_cell(o.rows, 0, 0, &cell, &v.is_null, &s->err);
    if (r == ST_OK && !v.is_null) memcpy(value_cell(&v), cell, (size_t)phys_size(type_phys(type)));
    if (r == ST_OK) r = value_copy(fr->scratch, &v, out);
    session_result_free(st);
    return r;
}

Status pl_eval(PlFrame *fr, const PlExpr *x, Type want, Value *out) {
    PlPrep *p;
    const Value *room[PL_ROOM], **params;
    EvalCtx c;
    if (pl_prep(fr, x, want, &p) != ST_OK) goto failed;
    if (!p->expr) {
        if (eval_query(fr, x, want, out) == ST_OK) return ST_OK;
        goto failed;
    }
    pl_eval_ctx(fr, &c);
    if (pl_params(fr, p, room, &params) != ST_OK) return ST_ERROR;
    c.params = params;
    c.n_params = p->n_refs;
    SubCtx sub = {fr, p, params};
    c.subquery = eval_sub;
    c.subquery_ctx = &sub;
    p->busy++;
    Status st = eval_expr(&c, p->expr, out);
    p->busy--;
    if (st == ST_OK) return ST_OK;
failed:
    fr->s->err.position = 0;
    return ST_ERROR;
}

Status pl_eval_text(PlFrame *fr, const PlExpr *x, const char **out) {
    Value v;
    *out = NULL;
    TRY(pl_eval(fr, x, type_make(T_UNKNOWN), &v));
    if (v.is_null) return ST_OK;
    *out = value_to_text_form(fr->scratch, &v, fr->s->info.form, NULL);
    return *out ? ST_OK : err_oom(&fr->s->err);
}
