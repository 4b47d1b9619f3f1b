/* compile_call.c - calls of other routines, and subqueries, in the expressions of a procedure.
 *
 * A routine that is called is compiled where it stands: its parameters are variables, its RETURN leaves a block. An
 * expression with such calls or with subqueries is settled: they are computed before it, in the order of evaluation,
 * and what was to be computed before them goes to variables. Parts that may not be evaluated become conditions. */
#include "base/hash.h"
#include "catalog/names.h"
#include "sql/pl/compile_int.h"

/* ---- calls --------------------------------------------------------------------------------------- */
const Routine *cp_routine(Cp *c, const Expr *e) {
    if (e->kind != EX_FUNC) return NULL;
    for (int64_t i = 0; i < c->ctx.routine_defs.len; i++)
        if (c->ctx.routine_defs.items[i] == e->u.func)
            return catalog_routine_by_id(c->reg->catalog, e->args[0]->u.value.u.i64);
    return NULL;
}

struct CpCalled {
    PlFunction *f;
    NameReads reads; /* names that its text was read with */
};
/* The tree of a routine that was compiled before, or is not; all walks see the same one. NULL: it cannot be read, or
 * c->oom is set. */
static const PlFunction *called(Cp *c, const Routine *r, const char *signature) {
    Registry *reg = c->reg;
    for (int64_t i = 0; i < reg->called.len; i++) {
        CpCalled *x = reg->called.items[i];
        if (strcmp(x->f->signature, signature) != 0) continue;
        name_reads_resume(&x->reads); /* the caller depends on them as well */
        name_reads_end(&x->reads);
        return x->f;
    }
    CpCalled *x = arena_new_of(reg->arena, CpCalled);
    if (!x) return (void)cp_oom(c), NULL;
    Err why = {0};
    name_reads_begin(&x->reads, reg->catalog);
    const Status read = pl_of_routine(reg->arena, reg->catalog, r, &x->f, &why);
    name_reads_end(&x->reads);
    if (read != ST_OK && strcmp(why.sqlstate, ERR_OUT_OF_MEMORY) == 0) return (void)cp_oom(c), NULL;
    if (read != ST_OK) return NULL;
    return vec_push(reg->arena, &reg->called, x) ? x->f : ((void)cp_oom(c), NULL);
}
static const PlFunction *function_of(Cp *c, const Routine *r) {
    const char *name = pl_signature_text(c->arena, r);
    if (!name) return (void)cp_oom(c), NULL;
    if (r->generic) return (void)cp_refuse(c, "a call of %s, which is polymorphic", name), NULL;
    for (int32_t i = 0; i < c->reg->n_functions; i++)
        if (strcmp(c->reg->functions[i]->signature, name) == 0) return c->reg->functions[i];
    const PlFunction *f = called(c, r, name);
    if (!f && !c->oom) (void)cp_refuse(c, "a call of %s, which cannot be read", name);
    return f;
}

/* A routine that is STRICT does nothing when an argument is NULL. */
static Status skip_nulls(Cp *c, int32_t block) {
    for (int32_t i = 0; c->at.f->strict && i < c->at.f->n_params; i++) {
        if (c->at.f->param_modes[i] == PL_OUT) continue;
        TRY(cp_control(c, OP_P_IF, cp_test(c, OP_IS_NULL, cp_load(c, c->at.var_of[i])), 0));
        TRY(cp_leave(c, block, false));
        TRY(cp_control(c, OP_P_ENDIF, 0, 0));
    }
    return ST_OK;
}

static Status run_inlined(Cp *c, const CpCall *call) {
    const PlFunction *g = c->at.f;
    PlBody body = {1, (PlStmt *[]){g->body}};
    CpLabel label = {.loop = -1, .exit_block = call->block, .next_block = call->block};
    TRY(cp_control(c, OP_P_BLOCK, 0, call->block));
    TRY(skip_nulls(c, call->block));
    if (!vec_push(c->arena, &c->flow.labels, label)) return cp_oom(c);
    TRY(cp_body(c, &body));
    const Instr *last = &c->pipe.b.instrs.items[c->pipe.b.instrs.len - 1];
    bool returned = last->op == OP_P_LEAVE && last->imm == call->block;
    c->at.line = 0;
    if (c->at.ret >= 0 && !g->is_sql && !returned)
        TRY(cp_raise(c, ERR_NO_RETURN, "control reached end of function without RETURN", NULL));
    TRY(cp_control(c, OP_P_ENDBLOCK, 0, call->block));
    c->flow.labels.len--;
    return ST_OK;
}

Status cp_inline(Cp *c, const Routine *r, int32_t n, Expr **args, const char *statement, CpOuts *out) {
    const PlFunction *g = function_of(c, r);
    if (!g) return ST_ERROR;
    if (g->returns_set) return cp_refuse(c, "a call of %s, which returns a set", g->signature);
    int32_t depth = 0;
    bool again = c->at.f == g;
    for (const CpCall *k = c->at.call; k; k = k->up, depth++) again |= k->f == g;
    if (again) return cp_refuse(c, "a call of %s inside itself", g->signature);
    if (depth >= CP_CALLS_MAX || c->pipe.b.instrs.len > CP_INSTRS_MAX)
        return cp_refuse(c, "too many calls of other routines");
    CpCall call = {.up = c->at.call,
                   .f = c->at.f,
                   .line = c->at.line,
                   .place = c->at.place,
                   .statement = statement,
                   .block = c->flow.next_block++};
    /* What the caller was about stays with it. */
    CpPlace was = c->at;
    PlanVariables *variables = c->ctx.variables;
    int32_t *caller_vars = c->at.var_of;
    c->at.f = g;
    const SearchPath *before = search_path_use(g->path); /* after an error lower_body puts its own back */
    TRY(cp_declare(c, false));
    (void)search_path_use(before);
    int32_t *vars = c->at.var_of, at = 0;
    c->at.f = call.f;
    c->at.var_of = caller_vars;
    for (int32_t i = 0; i < g->n_params; i++) {
        if (g->param_modes[i] == PL_OUT) continue;
        if (at == n) return cp_refuse(c, "a call of %s with other arguments", g->signature);
        TRY(cp_assign(c, vars[i], args[at++]));
    }
    cp_mark(c); /* the caller computes them */
    c->at.f = g;
    c->at.var_of = vars;
    c->at.snapshot = c->at.in_statement = false;
    c->at.order_scan = NULL;
    if (c->any_order > 0 && r->may_write) cp_note_order(c); /* called for each row, it changes something */
    const int32_t any_order = c->any_order;
    c->any_order = 0;
    c->at.caught = c->at.found_to = c->at.count_to = -1;
    if (c->at.row_count >= 0) TRY(cp_store_int(c, c->at.row_count, 0));
    for (int32_t i = 0; i < g->n_params; i++)
        if (g->param_modes[i] == PL_OUT) TRY(cp_store_null(c, vars[i]));
    if (c->at.ret >= 0) TRY(cp_store_null(c, c->at.ret));
    if (g->result_var >= 0 && vars[g->result_var] >= 0) TRY(cp_store_null(c, vars[g->result_var]));
    TRY(cp_set_found(c, false));
    cp_mark(c);
    c->at.call = &call;
    c->from.context = NULL;
    c->at.place = "function";
    (void)search_path_use(g->path);
    TRY(run_inlined(c, &call));
    (void)search_path_use(before);
    cp_mark(c);
    c->any_order = any_order;
    out->n = 0;
    if (!(out->vars = arena_array(c->arena, int32_t, g->n_params + 1))) return cp_oom(c);
    for (int32_t i = 0; i < g->n_params; i++)
        if (g->param_modes[i] != PL_IN) out->vars[out->n++] = vars[i];
    if (!g->has_outs && g->result_var >= 0 && vars[g->result_var] < 0)
        return cp_refuse(c, "a call of %s, whose result is a record", g->signature);
    if (!g->has_outs && (g->result_var >= 0 || c->at.ret >= 0))
        out->vars[out->n++] = g->result_var >= 0 ? vars[g->result_var] : c->at.ret;
    c->at = was;
    c->ctx.variables = variables;
    c->from.context = NULL; /* it may stand where another call stood */
    return ST_OK;
}

static bool no_subquery(void *ctx, Expr *e) {
    (void)ctx;
    return e->kind != EX_SUBQUERY;
}
static bool has_subquery(Expr *e) { return !expr_walk(e, no_subquery, NULL); }

Status cp_call_statement(Cp *c, const PlStmt *s) {
    if (s->query->stmt->kind != AST_CALL) return cp_refuse(c, "DO");
    BoundCall *b;
    cp_names(c, s->query);
    Status st = sql_bind_call(&c->ctx, AST_AS_CONST(AstCall, s->query->stmt)->func, true, 0, NULL, &b);
    c->ctx.variables = NULL;
    if (st != ST_OK) return cp_refuse_error(c);
    const Routine *r = b->routine;
    Expr **args = arena_array(c->arena, Expr *, b->n_args + 1);
    int32_t *targets = arena_array(c->arena, int32_t, r->n_params + 1), n = 0, n_targets = 0;
    if (!args || !targets) return cp_oom(c);
    c->at.copies.len = 0;
    for (int i = 0, k = 0; i < r->n_params; i++) {
        if (!routine_is_arg(r, i)) continue;
        Expr *e = b->args[k++];
        if (r->param_modes[i] != 'i') {
            const Expr *x = e;
            while (x->kind == EX_CAST) x = x->args[0];
            if (x->kind != EX_PARAM)
                return cp_refuse(c, "CALL with an argument for an OUT parameter that is no variable");
            if ((targets[n_targets++] = cp_ref(c, c->at.names.refs.items[x->u.param - 1])) < 0)
                return cp_refuse(c, "CALL with a record as argument");
        }
        if (r->param_modes[i] == 'o') continue;
        TRY(cp_columns(c, &e));
        args[n++] = e;
    }
    for (int32_t i = 0; i < n; i++)
        if (has_subquery(args[i])) return cp_refuse(c, "a subquery in the arguments of CALL");
    TRY(cp_settle_list(c, n, args));
    CpOuts outs;
    TRY(cp_inline(c, r, n, args, s->query->text, &outs));
    for (int32_t i = 0; i < n_targets; i++) {
        Expr *v = expr_col(&c->ctx, c->vars.items[outs.vars[i]].col);
        if (!v) return cp_oom(c);
        TRY(cp_assign(c, targets[i], v));
    }
    return ST_OK;
}

/* ---- expressions ------------------------------------------------------------------------------------ */
typedef struct Looking {
    Cp *c;
    bool found;
} Looking;
static bool look(void *ctx, Expr *e) {
    Looking *k = ctx;
    k->found |= e->kind == EX_SUBQUERY || cp_routine(k->c, e) != NULL;
    return !k->found;
}
bool cp_unsettled(Cp *c, const Expr *e) {
    Looking k = {c, false};
    (void)expr_walk((Expr *)(uintptr_t)e, look, &k); /* changes nothing */
    return k.found;
}

static Expr *var_expr(Cp *c, int32_t var) {
    Expr *e = var < 0 ? NULL : expr_col(&c->ctx, c->vars.items[var].col);
    if (!e) c->oom = true;
    return e;
}
/* The value goes to a variable. */
static Status keep(Cp *c, Expr **slot, int32_t *var) {
    Type t = (*slot)->type.id == T_UNKNOWN ? type_make(T_TEXT) : (*slot)->type;
    int32_t v = cp_var_new(c, NULL, t);
    if (v < 0) return ST_ERROR;
    TRY(cp_assign(c, v, *slot));
    if (var) *var = v;
    return (*slot = var_expr(c, v)) ? ST_OK : ST_ERROR;
}

static Status settle_call(Cp *c, const Routine *r, Expr **slot) {
    Expr *e = *slot;
    if (r->returns_record) return cp_refuse(c, "a call of function \"%s\", whose result is a record", r->name);
    TRY(cp_settle_list(c, e->n_args - 1, e->args + 1));
    CpOuts outs;
    TRY(cp_inline(c, r, e->n_args - 1, e->args + 1, c->at.in_statement ? c->at.site->text : NULL, &outs));
    if (r->returns_void) {
        Value v = {.type = type_make(T_TEXT), .u.str = str_make("", 0)};
        return (*slot = expr_const(&c->ctx, &v)) ? ST_OK : cp_oom(c);
    }
    Type want = e->type;
    return (*slot = cp_cast(c, var_expr(c, outs.vars[0]), want)) ? ST_OK : ST_ERROR;
}

/* Parts of an expression that are evaluated by a condition. */
typedef struct Parts {
    Expr *e;
    int32_t i, result, pending;
} Parts;
static Status settle_to(Cp *c, Expr *e, int32_t var) {
    TRY(cp_settle(c, &e));
    return cp_assign(c, var, e);
}
static Expr *test_expr(Cp *c, ExprKind kind, int32_t var) {
    Expr *e = expr_new(&c->ctx, kind, type_make(T_BOOL), 1);
    if (!e || !(e->args[0] = var_expr(c, var))) return c->oom = true, NULL;
    return e;
}
static Status chain_part(Cp *c, void *ctx) {
    Parts *p = ctx;
    Expr *e = p->e->args[p->i];
    TRY(cp_settle(c, &e));
    Expr *both = expr_new(&c->ctx, (ExprKind)p->e->kind, type_make(T_BOOL), 2);
    if (!both || !(both->args[0] = var_expr(c, p->result))) return cp_oom(c);
    both->args[1] = e;
    return cp_assign(c, p->result, both);
}
static Status coalesce_part(Cp *c, void *ctx) {
    Parts *p = ctx;
    return settle_to(c, p->e->args[p->i], p->result);
}
static Status case_hit(Cp *c, void *ctx) {
    Parts *p = ctx;
    TRY(settle_to(c, p->e->args[p->i + 1 < p->e->n_args ? p->i + 1 : p->i], p->result));
    return cp_store_int(c, p->pending, 0);
}
static Status case_part(Cp *c, void *ctx) {
    Parts *p = ctx;
    if (p->i + 1 >= p->e->n_args) return case_hit(c, ctx); /* ELSE */
    Expr *cond = p->e->args[p->i];
    TRY(cp_settle(c, &cond));
    return cp_when(c, cond, case_hit, ctx);
}
/* TRUE in an OR, FALSE in an AND: nothing else of it is evaluated, whatever stands before (as PostgreSQL has it, and
 * fold.c). NULL: there is none. */
static Expr *decided(Expr *e) {
    if (stack_stop()) return NULL;
    for (int32_t i = 0; i < e->n_args; i++) {
        Expr *x = e->args[i]->kind == EX_AND || e->args[i]->kind == EX_OR ? decided(e->args[i]) : e->args[i];
        if (x && x->kind == EX_CONST && !x->u.value.is_null && x->u.value.u.b == (e->kind == EX_OR)) return x;
    }
    return NULL;
}
static Status settle_parts(Cp *c, Expr **slot) {
    Expr *e = *slot, *whole = e->kind == EX_AND || e->kind == EX_OR ? decided(e) : NULL;
    if (whole) return *slot = whole, ST_OK;
    Parts p = {.e = e, .result = cp_var_new(c, NULL, e->type), .pending = -1};
    if (p.result < 0) return ST_ERROR;
    bool first = e->kind != EX_CASE;
    if (first) {
        TRY(settle_to(c, e->args[0], p.result));
    } else {
        TRY(cp_store_null(c, p.result));
        if ((p.pending = cp_var_new(c, NULL, type_make(T_BOOL))) < 0) return ST_ERROR;
        TRY(cp_store_int(c, p.pending, 1));
    }
    for (p.i = first; p.i < e->n_args; p.i += first ? 1 : 2) {
        Expr *cond = e->kind == EX_AND        ? test_expr(c, EX_IS_NOT_FALSE, p.result)
                     : e->kind == EX_OR       ? test_expr(c, EX_IS_NOT_TRUE, p.result)
                     : e->kind == EX_COALESCE ? test_expr(c, EX_IS_NULL, p.result)
                                              : var_expr(c, p.pending);
        if (!cond) return ST_ERROR;
        TRY(cp_when(c, cond, e->kind == EX_COALESCE ? coalesce_part : e->kind == EX_CASE ? case_part : chain_part, &p));
    }
    return (*slot = var_expr(c, p.result)) ? ST_OK : ST_ERROR;
}

Status cp_settle_list(Cp *c, int32_t n, Expr **e) {
    int32_t last = n - 1;
    while (last >= 0 && !cp_unsettled(c, e[last])) last--;
    for (int32_t i = 0; i <= last; i++) {
        TRY(cp_settle(c, &e[i]));
        if (i < last && e[i]->kind != EX_CONST && e[i]->kind != EX_COL && expr_can_fail(e[i]))
            TRY(keep(c, &e[i], NULL));
    }
    return ST_OK;
}

Status cp_settle(Cp *c, Expr **slot) {
    TRY(cp_stack(c));
    Expr *e = *slot;
    if (!cp_unsettled(c, e)) return ST_OK;
    const Routine *r = cp_routine(c, e);
    if (r) return settle_call(c, r, slot);
    switch ((ExprKind)e->kind) {
    case EX_SUBQUERY: {
        int32_t var = cp_var_new(c, NULL, e->type);
        if (var < 0) return ST_ERROR;
        TRY(e->subquery == SQ_IN ? cp_any_subquery(c, e, var) : cp_subquery(c, e, var));
        return (*slot = var_expr(c, var)) ? ST_OK : ST_ERROR;
    }
    case EX_AND:
    case EX_OR:
    case EX_CASE:
    case EX_COALESCE: return settle_parts(c, slot);
    case EX_NULLIF: return cp_refuse(c, "a call or subquery in NULLIF");
    case EX_IN:
        for (int32_t i = 1; i < e->n_args; i++)
            if (cp_unsettled(c, e->args[i])) return cp_refuse(c, "a call or subquery in the list of IN");
        return cp_settle(c, &e->args[0]);
    default: return cp_settle_list(c, e->n_args, e->args);
    }
}

Status cp_settle_copy(Cp *c, Expr **e) {
    if (!cp_unsettled(c, *e)) return ST_OK;
    if (!(*e = expr_copy(&c->ctx, *e))) return cp_oom(c);
    return cp_settle(c, e);
}

/* ---- statements --------------------------------------------------------------------------------------- */
typedef struct Parted {
    Cp *c;
    int64_t table; /* looked for; -1 none */
    const Table *read;
    bool calls, fails, inside; /* inside: of a subquery */
} Parted;
static Status part_slot(void *ctx, Expr **slot);
static Status part_plan(Parted *k, Plan *p) {
    TRY(cp_stack(k->c));
    if (p->kind == LP_SCAN && p->scan.table->id == k->table && k->inside) k->read = p->scan.table;
    TRY(plan_each_expr(p, part_slot, k));
    for (int64_t r = 0; p->kind == LP_VALUES && r < p->values.n_rows; r++)
        for (int32_t i = 0; i < p->n_out; i++) TRY(part_slot(k, &p->values.rows[r][i]));
    for (int32_t i = 0; i < p->n_children; i++) TRY(part_plan(k, p->children[i]));
    return ST_OK;
}
static bool part(void *ctx, Expr *e) {
    Parted *k = ctx;
    k->calls |= cp_routine(k->c, e) != NULL;
    if (e->kind != EX_SUBQUERY) return true;
    bool inside = k->inside;
    k->inside = true;
    Status st = part_plan(k, e->u.sub.plan);
    k->inside = inside;
    return st == ST_OK;
}
static Status part_slot(void *ctx, Expr **slot) {
    ((Parted *)ctx)->fails |= expr_can_fail(*slot);
    return expr_walk(*slot, part, ctx) ? ST_OK : ST_ERROR;
}

Status cp_check_parts(Cp *c, Plan *p, const Table *changed) {
    Parted k = {.c = c, .table = changed ? changed->id : -1};
    if (part_plan(&k, p) != ST_OK) return cp_oom(c);
    if (k.calls) return cp_refuse(c, "a call of a function of the database for the rows of a query");
    if (k.read) return cp_refuse(c, "a subquery on table \"%s\", which the statement changes", k.read->name);
    return ST_OK;
}
/* By number in the catalog: tables that the statement's plan or its subqueries read. NULL: it calls no routine. */
const bool *cp_tables_read(Cp *c, Plan *p) {
    const Catalog *k = c->reg->catalog;
    Parted calls = {.c = c, .table = -1};
    bool *read = NULL;
    if (part_plan(&calls, p) != ST_OK || (calls.calls && !(read = arena_calloc(c->arena, k->n_tables + 1))))
        return c->oom = true, NULL;
    for (int64_t i = 0; read && i < k->n_tables; i++) read[i] = cp_reads_table(c, p, k->tables[i]->id) != NULL;
    return read;
}
/* One call at a time a statement's tables cannot be changed by the routines that it calls. */
Status cp_check_changed(Cp *c, const bool *read, int64_t from) {
    const Catalog *k = c->reg->catalog;
    for (int64_t w = from; read && w < c->query.write_tables.len; w++)
        for (int64_t i = 0; i < k->n_tables; i++)
            if (read[i] && k->tables[i]->id == c->query.write_tables.items[w])
                return cp_refuse(c, "a call that changes table \"%s\", which the statement reads", k->tables[i]->name);
    return c->oom ? ST_ERROR : ST_OK;
}
typedef struct Hoist {
    Cp *c;
    const Table *changed;
    Status st;
} Hoist;
static bool hoist(void *ctx, Expr *e) {
    Hoist *h = ctx;
    Cp *c = h->c;
    if (e->kind != EX_SUBQUERY || !cp_reads_table(c, e->u.sub.plan, h->changed->id)) return true;
    for (int32_t i = 0; i < (e->subquery == SQ_IN ? e->u.sub.n_cols : 0); i++)
        if (expr_can_fail(e->u.sub.compare[i])) return true;
    if (cp_may_fail(c, e->u.sub.plan) || (e->subquery == SQ_SCALAR && !cp_finds_one(c, e->u.sub.plan))) return true;
    ColSet cols = colset_new(&c->ctx);
    expr_cols(&c->ctx, e, &cols);
    for (int64_t i = 0; i < c->vars.len; i++)
        if (colset_has(&cols, c->vars.items[i].col))
            cols.bits[c->vars.items[i].col >> 6] &= ~(UINT64_C(1) << (c->vars.items[i].col & 63));
    for (int64_t i = 0; i < cols.n_words; i++)
        if (cols.bits[i]) return true; /* of a row of the statement */
    Expr *value = e;
    h->st = cp_settle_copy(c, &value);
    if (h->st == ST_OK) *e = *value;
    return h->st == ST_OK;
}
static Status hoist_slot(void *ctx, Expr **slot) { return expr_walk(*slot, hoist, ctx) ? ST_OK : ST_ERROR; }
static Status hoist_plan(Hoist *h, Plan *p) {
    TRY(cp_stack(h->c));
    TRY(plan_each_expr(p, hoist_slot, h));
    for (int32_t i = 0; i < p->n_children; i++) TRY(hoist_plan(h, p->children[i]));
    return ST_OK;
}
Status cp_hoist(Cp *c, Plan *p, const Table *changed) {
    Hoist h = {c, changed, ST_OK};
    return hoist_plan(&h, p);
}

bool cp_may_fail(Cp *c, Plan *p) {
    Parted k = {.c = c, .table = -1};
    if (part_plan(&k, p) != ST_OK) c->oom = true;
    return k.fails;
}
typedef struct SomeFail {
    Cp *c;
    bool found;
} SomeFail;
/* It may fail itself, and has columns that are not a variable's. */
static bool fails_by_row(void *ctx, Expr *e) {
    SomeFail *k = ctx;
    Cp *c = k->c;
    if (!expr_itself_fails(e)) return true;
    ColSet cols = colset_new(&c->ctx);
    expr_cols(&c->ctx, e, &cols);
    for (int64_t i = 0; i < c->vars.len; i++)
        if (colset_has(&cols, c->vars.items[i].col))
            cols.bits[c->vars.items[i].col >> 6] &= ~(UINT64_C(1) << (c->vars.items[i].col & 63));
    for (int64_t i = 0; i < cols.n_words; i++) k->found |= cols.bits[i] != 0;
    return !k->found;
}
static Status some_fail_slot(void *ctx, Expr **slot) {
    (void)expr_walk(*slot, fails_by_row, ctx);
    return ST_OK;
}
static Status some_fail(SomeFail *k, Plan *p) {
    TRY(cp_stack(k->c));
    if (p->kind == LP_LIMIT) return ST_OK;
    TRY(plan_each_expr(p, some_fail_slot, k));
    for (int32_t i = 0; i < p->n_children && !k->found; i++) TRY(some_fail(k, p->children[i]));
    return ST_OK;
}
bool cp_some_may_fail(Cp *c, Plan *p) {
    SomeFail k = {.c = c};
    if (some_fail(&k, p) != ST_OK) c->oom = true;
    return k.found;
}
const Table *cp_reads_table(Cp *c, Plan *p, int64_t id) {
    Parted k = {.c = c, .table = id, .inside = true};
    if (part_plan(&k, p) != ST_OK) c->oom = true;
    return k.read;
}
