/* compile.c - all procedures: passes, what they write, groups of columns and their keys; variables and expressions of
 * one. */
#include "catalog/names.h"
#include "program/operands.h"
#include "sql/pl/compile_int.h"

#include <stdio.h>

/* ---- errors -------------------------------------------------------------------------------- */
Status cp_refuse(Cp *c, const char *fmt, ...) {
    if (c->reason) return ST_ERROR;
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    const CpCall *outer = c->at.call;
    while (outer && outer->up) outer = outer->up;
    if (outer)
        c->reason = arena_printf(c->reg->arena, "line %d: in %s, line %d: %s", (int)outer->line, c->at.f->signature,
                                 (int)c->at.line, text);
    else
        c->reason = c->at.line > 0 ? arena_printf(c->reg->arena, "line %d: %s", (int)c->at.line, text)
                                   : arena_printf(c->reg->arena, "%s", text);
    if (!c->reason) c->oom = true;
    return ST_ERROR;
}
Status cp_oom(Cp *c) {
    c->oom = true;
    return ST_ERROR;
}
Status cp_refuse_error(Cp *c) {
    if (!err_is_set(&c->scratch) || strcmp(c->scratch.sqlstate, ERR_OUT_OF_MEMORY) == 0) return cp_oom(c);
    cp_refuse(c, "%s", c->scratch.message);
    err_clear(&c->scratch);
    return ST_ERROR;
}

Status cp_stack(Cp *c) { return stack_check(&c->scratch) == ST_OK ? ST_OK : cp_refuse_error(c); }

/* ---- instructions ---------------------------------------------------------------------------- */
/* The calls around what is compiled, as the contexts of errors have them, but for the outermost: innermost first. */
static const char *call_context(Cp *c) {
    if (c->from.context && c->from.call == c->at.call && c->from.line == c->at.line && c->from.place == c->at.place)
        return c->from.context;
    const char *t = c->at.line > 0 ? arena_printf(c->reg->arena, "PL/pgSQL function %s line %d at %s",
                                                  c->at.f->signature, (int)c->at.line, c->at.place)
                                   : arena_printf(c->reg->arena, "PL/pgSQL function %s", c->at.f->signature);
    if (t && c->at.f->is_sql)
        t = arena_printf(c->reg->arena, "SQL function \"%s\" statement %d", c->at.f->name, (int)c->at.line);
    for (const CpCall *k = c->at.call; k && t; k = k->up) {
        if (k->statement) t = arena_printf(c->reg->arena, "%s\nSQL statement \"%.200s\"", t, k->statement);
        if (k->up && t)
            t = arena_printf(c->reg->arena, "%s\nPL/pgSQL function %s line %d at %s", t, k->f->signature, (int)k->line,
                             k->place);
    }
    c->from.context = t;
    c->from.call = c->at.call;
    c->from.line = c->at.line;
    c->from.place = c->at.place;
    return t;
}
void cp_mark(Cp *c) {
    if (c->from.lines.len == c->pipe.b.instrs.len) return;
    const CpCall *outer = c->at.call;
    while (outer && outer->up) outer = outer->up;
    int32_t line = outer ? outer->line : c->at.line;
    const char *place = outer ? outer->place : c->at.place, *context = outer ? call_context(c) : NULL;
    while (c->from.lines.len < c->pipe.b.instrs.len) {
        if ((outer && !context) || !vec_push(c->arena, &c->from.lines, line) ||
            !vec_push(c->arena, &c->from.places, place) || !vec_push(c->arena, &c->from.contexts, context)) {
            c->oom = true;
            return;
        }
    }
}
void cp_fresh(Cp *c) {
    for (int64_t k = 0; k < c->pipe.n_pages; k++)
        for (int i = 0; c->pipe.pages[k] && i < COL_PAGE; i++)
            if (c->pipe.pages[k]->at[i].where != CW_REG) c->pipe.pages[k]->at[i].reg = 0;
    c->pipe.computed.len = 0;
}
/* What is open after the instruction. */
static bool keep_brackets(Cp *c, Opcode op) {
    const bool opens = op == OP_P_IF || op == OP_P_LOOP || op == OP_P_BLOCK || op == OP_P_TRY,
               divides = op == OP_P_ELSE || op == OP_P_CATCH,
               closes = op == OP_P_ENDIF || op == OP_P_ENDLOOP || op == OP_P_ENDBLOCK || op == OP_P_ENDTRY;
    int32_t number = ++c->flow.n_brackets;
    if ((divides || closes) && c->flow.brackets.len > 0) c->flow.brackets.len--;
    return (!opens && !divides) || vec_push(c->arena, &c->flow.brackets, number);
}
Status cp_control(Cp *c, Opcode op, Reg a, int64_t imm) {
    Instr *in = builder_emit(&c->pipe.b, op, PH_BOOL, 0, a, 0, 0);
    if (!in || !keep_brackets(c, op)) return cp_oom(c);
    in->imm = imm;
    c->flow.loops += (op == OP_P_LOOP) - (op == OP_P_ENDLOOP);
    cp_fresh(c);
    cp_mark(c);
    return ST_OK;
}
Status cp_leave(Cp *c, int64_t block, bool to_step) {
    TRY(cp_control(c, OP_P_LEAVE, 0, block));
    c->pipe.b.instrs.items[c->pipe.b.instrs.len - 1].aux = to_step ? (void *)c->at.f : NULL;
    return ST_OK;
}

/* ---- variables --------------------------------------------------------------------------------- */
ColEntry *cp_entry(Cp *c, ColId id) {
    if (id >= c->pipe.n_cols) c->pipe.n_cols = MAX_OF(c->ctx.cols.len + 32, 2 * c->pipe.n_cols);
    ColEntry *x = pipe_col(&c->pipe, id);
    return x == &c->pipe.lost ? (c->oom = true, NULL) : x;
}

int32_t cp_var_new(Cp *c, const char *name, Type type) {
    CpVar v = {.col = plan_new_col(&c->ctx, name ? name : "", type, true), .type = type, .name = name};
    if (!v.col || !vec_push(c->arena, &c->vars, v)) return c->oom = true, -1;
    ColEntry *e = cp_entry(c, v.col);
    if (!e) return -1;
    int32_t number = (int32_t)c->vars.len - 1;
    *e = (ColEntry){.where = CW_SOURCE,
                    .phys = (uint8_t)type_phys(type),
                    .nullable = true,
                    .type = type,
                    .imm = number,
                    .range = range_of_type(type)};
    return number;
}

Reg cp_load(Cp *c, int32_t var) {
    Reg r = lower_col(&c->low, &c->pipe, c->vars.items[var].col);
    if (!r) (void)cp_refuse_error(c);
    return r;
}

Status cp_store(Cp *c, int32_t var, Reg r) {
    if (!r) return ST_ERROR;
    const CpVar *v = &c->vars.items[var];
    uint8_t phys = lower_info(&c->pipe, r)->phys;
    dbg_assert(type_same_cells(cp_entry(c, v->col)->type, lower_info(&c->pipe, r)->type));
    Instr *in = builder_emit(&c->pipe.b, OP_STORE, (Phys)phys, 0, r, 0, 0);
    if (!in) return cp_oom(c);
    in->imm = var;
    if (c->dry && var < c->flow.n_own_vars) c->flow.stored[var] = c->flow.n_statements;
    cp_fresh(c);
    if (!lower_info(&c->pipe, r)->is_const) cp_entry(c, v->col)->reg = r;
    return ST_OK;
}
Status cp_store_int(Cp *c, int32_t var, int64_t x) {
    Phys ph = type_phys(c->vars.items[var].type);
    if (ph != PH_BOOL) return cp_store(c, var, lower_int_const(&c->low, &c->pipe, ph, c->vars.items[var].type, x));
    Value v = {.type = type_make(T_BOOL), .u.b = x != 0};
    return cp_store(c, var, lower_const(&c->low, &c->pipe, &v));
}
Status cp_store_null(Cp *c, int32_t var) {
    Value v = {.type = c->vars.items[var].type, .is_null = true};
    return cp_store(c, var, lower_canonical(&c->low, &c->pipe, lower_const(&c->low, &c->pipe, &v), v.type));
}
int32_t cp_variable_of(Cp *c, ColId id) {
    for (int steps = 0; steps < 16; steps++) {
        const ColEntry *e = cp_entry(c, id);
        if (!e || e->where == CW_NONE) return -1;
        if (e->where == CW_SOURCE) return e->imm < c->flow.n_own_vars ? (int32_t)e->imm : -1;
        if (e->where != CW_EXPR || e->expr->kind != EX_COL || e->expr->u.col == id) return -1;
        id = e->expr->u.col;
    }
    return -1;
}
Status cp_copy(Cp *c, int32_t to, int32_t from) { return cp_store(c, to, cp_load(c, from)); }

Expr *cp_cast(Cp *c, Expr *e, Type to) {
    if (!e) return NULL;
    if (type_eq(e->type, to)) return e;
    cp_decimal_cast(c, e->type, to);
    if (e->kind == EX_CONST && e->u.value.is_null) {
        Value v = {.type = to, .is_null = true};
        Expr *n = expr_const(&c->ctx, &v);
        return n ? n : (c->oom = true, NULL);
    }
    if (!cast_exists(e->type, to, CAST_ASSIGNMENT) && e->kind == EX_CONST &&
        type_is_text(e->type)) { /* PL/pgSQL assigns by way of the text */
        Value v;
        if (value_from_text(to, (Slice){e->u.value.u.str.ptr, e->u.value.u.str.len}, c->reg->session, c->arena, &v,
                            &c->scratch) != ST_OK) {
            (void)cp_refuse_error(c);
            return NULL;
        }
        Expr *n = expr_const(&c->ctx, &v);
        return n ? n : (c->oom = true, NULL);
    }
    if (!cast_exists(e->type, to, CAST_ASSIGNMENT)) {
        char name[TYPE_NAME_MAX];
        cp_refuse(c, "an assignment of %s to %s", type_base_name((TypeId)e->type.id), type_name(to, &name));
        return NULL;
    }
    Expr *n = expr_new(&c->ctx, EX_CAST, to, 1);
    if (!n) return c->oom = true, NULL;
    n->cast_ctx = CAST_ASSIGNMENT;
    n->args[0] = e;
    return n;
}

Status cp_assign(Cp *c, int32_t var, Expr *e) {
    Type t = c->vars.items[var].type;
    if (cp_decimal_assigned(c, var, e)) return cp_store_null(c, var); /* this walk is repeated */
    if (!(e = cp_cast(c, e, t))) return ST_ERROR;
    return cp_store(c, var, cp_lower_as(c, e, t));
}

/* ---- expressions ----------------------------------------------------------------------------------- */
Reg cp_int(Cp *c, Phys phys, int64_t v) {
    Reg r = lower_int_const(&c->low, &c->pipe, phys, type_make(phys == PH_I64 ? T_INT8 : T_INT4), v);
    return r ? r : (c->oom = true, 0);
}
Reg cp_cmp(Cp *c, Opcode op, Phys phys, Reg a, Reg b) {
    if (!a || !b) return 0;
    bool nullable = lower_info(&c->pipe, a)->nullable || lower_info(&c->pipe, b)->nullable;
    Reg r = lower_reg(&c->low, &c->pipe, PH_BOOL, type_make(T_BOOL), nullable, (Range){true, 0, 1});
    if (!r || !builder_emit(&c->pipe.b, op, phys, r, a, b, 0)) return c->oom = true, 0;
    return r;
}

Reg cp_test(Cp *c, Opcode op, Reg a) {
    if (!a) return 0;
    Reg r = lower_reg(&c->low, &c->pipe, PH_BOOL, type_make(T_BOOL), false, (Range){true, 0, 1});
    if (!r || !builder_emit(&c->pipe.b, op, (Phys)lower_info(&c->pipe, a)->phys, r, a, 0, 0)) return c->oom = true, 0;
    return r;
}

Reg cp_lower(Cp *c, Expr *e) {
    Reg r = lower_expr(&c->low, &c->pipe, e);
    if (!r) (void)cp_refuse_error(c);
    return r;
}
Reg cp_lower_as(Cp *c, Expr *e, Type t) {
    Reg r = cp_lower(c, e);
    if (r && !(r = lower_canonical(&c->low, &c->pipe, r, t))) (void)cp_refuse_error(c);
    return r;
}
Reg cp_condition(Cp *c, Expr *e) { return cp_lower_as(c, e, type_make(T_BOOL)); }

Status cp_raise(Cp *c, const char *sqlstate, const char *format, const char *hint) {
    return cp_raise_site(c, &(RaiseSite){.sqlstate = sqlstate, .format = format, .hint = hint});
}
Status cp_raise_site(Cp *c, const RaiseSite *site) {
    RaiseSite *s = arena_new_of(c->arena, RaiseSite);
    Instr *in = s ? builder_emit(&c->pipe.b, OP_RAISE, PH_BOOL, 0, 0, 0, 0) : NULL;
    if (!in) return cp_oom(c);
    *s = *site;
    in->aux = s;
    cp_mark(c);
    return ST_OK;
}

/* ---- binding ------------------------------------------------------------------------------------------ */
/* Variable that a reference means; -1 none. */
int32_t cp_ref(Cp *c, PlRef r) {
    if (!r.field) return c->at.var_of[r.var];
    const CpRecord *x = &c->at.records[r.var];
    for (int32_t i = 0; i < x->n; i++)
        if (strcmp(x->names[i], r.field) == 0) return x->vars[i];
    return -1;
}
static bool field_type(void *ctx, int32_t var, const char *field, Type *out, bool *assigned) {
    Cp *c = ctx;
    *assigned = c->at.records[var].n > 0;
    int32_t v = cp_ref(c, (PlRef){var, field});
    if (v >= 0) *out = c->vars.items[v].type;
    return v >= 0;
}
static Type var_type(void *ctx, int32_t var) {
    Cp *c = ctx;
    return c->at.var_of[var] >= 0 ? c->vars.items[c->at.var_of[var]].type : c->at.f->vars[var].type;
}

/* A hidden copy of a variable as it is now. */
static int32_t snapshot(Cp *c, int32_t var) {
    for (int64_t i = 0; i + 1 < c->at.copies.len; i += 2)
        if (c->at.copies.items[i] == var) return c->at.copies.items[i + 1];
    int32_t copy = cp_var_new(c, NULL, c->vars.items[var].type);
    if (copy < 0 || cp_copy(c, copy, var) != ST_OK) return -1;
    if (!vec_push(c->arena, &c->at.copies, var) || !vec_push(c->arena, &c->at.copies, copy)) return c->oom = true, -1;
    return copy;
}

/* nextval and the like by a sequence's id are called as the statement has them. */
static const char *called(const FuncDef *f) {
    static const char by_id[] = "sequence_";
    return strncmp(f->name, by_id, sizeof by_id - 1) == 0 ? f->name + sizeof by_id - 1 : f->name;
}

static bool to_column(void *ctx, Expr *e) {
    Cp *c = ctx;
    cp_decimal_use(c, e);
    /* A bulk's result is that of its calls one by one, wherever it is run again: what depends on the clock or on chance
     * is no part of it. */
    if (e->kind == EX_FUNC && (e->u.func->flags & FN_VOLATILE) && !cp_routine(c, e))
        return cp_refuse(c, "%s() is volatile", called(e->u.func)), false;
    if (e->kind == EX_FUNC && e->u.func->own)
        return cp_refuse(c, "%s() is a function of the client", e->u.func->name), false;
    if (e->kind == EX_SUBQUERY) {
        for (int32_t i = 0; i < (e->subquery == SQ_IN ? e->u.sub.n_cols : 0); i++)
            if (!expr_walk(e->u.sub.compare[i], to_column, c)) return false;
        return cp_prepare_plan(c, &e->u.sub.plan, NULL) == ST_OK && cp_plan_columns(c, e->u.sub.plan) == ST_OK;
    }
    if (e->kind != EX_PARAM) return true;
    PlRef r = c->at.names.refs.items[e->u.param - 1];
    int32_t var = cp_ref(c, r);
    if (var < 0) return cp_refuse(c, "variable \"%s\" as a whole", c->at.f->vars[r.var].name), false;
    if (r.var == c->at.f->found) c->found_seen = true;
    if ((c->at.snapshot || (r.var == c->at.f->found && c->at.in_statement)) && (var = snapshot(c, var)) < 0)
        return false;
    ColId col = c->vars.items[var].col;
    e->kind = EX_COL;
    e->u.col = col;
    return true;
}
static Status slot_to_column(void *ctx, Expr **slot) { return expr_walk(*slot, to_column, ctx) ? ST_OK : ST_ERROR; }
Status cp_columns(Cp *c, Expr **slot) { return slot_to_column(c, slot); }
Status cp_plan_columns(Cp *c, Plan *p) {
    TRY(cp_stack(c));
    cp_decimal_aggregate(c, p);
    TRY(plan_each_expr(p, slot_to_column, c));
    for (int64_t r = 0; p->kind == LP_VALUES && r < p->values.n_rows; r++)
        for (int32_t i = 0; i < p->n_out; i++) TRY(slot_to_column(c, &p->values.rows[r][i]));
    for (int32_t i = 0; i < p->n_children; i++) TRY(cp_plan_columns(c, p->children[i]));
    return ST_OK;
}

void cp_names(Cp *c, const PlExpr *x) {
    pl_names_init(&c->at.names, c->arena, c->at.f, x);
    c->at.names.field_type = field_type;
    c->at.names.var_type = var_type;
    c->at.names.ctx = c;
    c->ctx.variables = &c->at.names.hook;
    c->at.site = x;
}
BoundStmt *cp_bind(Cp *c, const AstStmt *stmt, const PlExpr *x) {
    cp_names(c, x);
    BoundStmt *b = NULL;
    Status st = sql_bind(&c->ctx, stmt, 0, NULL, &b);
    c->ctx.variables = NULL;
    if (st != ST_OK) return (void)cp_refuse_error(c), NULL;
    if (b->kind == STMT_UTILITY) return (void)cp_refuse(c, "a command that is no query"), NULL;
    if (b->n_members > 0) return (void)cp_refuse(c, "WITH that changes data"), NULL;
    if (b->merge) return (void)cp_refuse(c, "MERGE"), NULL;
    c->at.copies.len = 0;
    bool once = b->plan->kind == LP_AGG; /* UPDATE .. FROM: cp_update looks for it */
    Plan **plan = once ? &b->plan->children[0] : &b->plan;
    if (cp_prepare_plan(c, plan, b->kind == STMT_SELECT ? NULL : b->table) != ST_OK ||
        cp_plan_columns(c, b->plan) != ST_OK || !cp_entry(c, (ColId)c->ctx.cols.len))
        return NULL;
    return b;
}

Expr *cp_expr(Cp *c, const PlExpr *x, Type want) {
    AstSelect *s = arena_new_of(c->arena, AstSelect);
    AstTarget *t = arena_new_of(c->arena, AstTarget);
    if (!s || !t) return c->oom = true, NULL;
    if (!x->ast) return (void)cp_refuse(c, "an expression that is a query"), NULL;
    s->kind = AST_SELECT;
    t->expr = (AstExpr *)(uintptr_t)x->ast;
    s->targets = t;
    s->n_targets = 1;
    BoundStmt *b = cp_bind(c, (AstStmt *)s, x);
    if (!b) return NULL;
    Plan *p = b->plan;
    Expr *e = NULL;
    for (int32_t i = 0; p->kind == LP_PROJECT && i < p->n_exprs; i++)
        if (p->out_cols[i] == b->result[0]) e = p->exprs[i];
    if (!e || p->children[0]->kind != LP_VALUES || p->children[0]->values.routine_id)
        return (void)cp_refuse(c, "an expression that is a query"), NULL;
    const bool *read = cp_tables_read(c, p);
    int64_t from = c->query.write_tables.len;
    if (!(e = sql_fold(&c->ctx, e))) return (void)cp_refuse_error(c), NULL;
    if (cp_settle(c, &e) != ST_OK || cp_check_changed(c, read, from) != ST_OK) return NULL;
    return want.id == T_UNKNOWN ? e : cp_cast(c, e, want);
}

Status cp_when(Cp *c, Expr *cond, CpPart part, void *ctx) {
    TRY(cp_control(c, OP_P_IF, cp_condition(c, cond), 0));
    TRY(part(c, ctx));
    return cp_control(c, OP_P_ENDIF, 0, 0);
}

/* ---- one procedure ------------------------------------------------------------------------------ */
/* Whether a statement of that kind, or a block with handlers (PLS_BLOCK), stands in the body. */
static bool body_has(const PlBody *b, PlStmtKind kind) {
    if (stack_stop()) return false;
    for (int32_t i = 0; i < b->n; i++) {
        const PlStmt *s = b->stmts[i];
        if (s->kind == kind && (kind != PLS_BLOCK || s->scope.n_handlers > 0)) return true;
        if (body_has(&s->body, kind)) return true;
        for (int32_t k = 0; k < s->arms.n; k++)
            if (body_has(&s->arms.items[k].body, kind)) return true;
        for (int32_t k = 0; k < s->scope.n_handlers; k++)
            if (body_has(&s->scope.handlers[k].body, kind)) return true;
    }
    return false;
}
Status cp_declare(Cp *c, bool own) {
    const PlFunction *f = c->at.f;
    if (f->ret_domain) return cp_refuse(c, "its result is of a domain");
    if (f->n_sets > 0) return cp_refuse(c, "it has SET %s", f->sets[0]->name);
    if (f->ret.id == T_COMPOSITE) return cp_refuse(c, "its result is of a composite type");
    if (!(c->at.var_of = arena_array(c->arena, int32_t, f->n_vars + 1)) ||
        !(c->at.records = arena_array(c->arena, CpRecord, f->n_vars + 1)))
        return cp_oom(c);
    for (int32_t i = 0; i < f->n_vars; i++) c->at.var_of[i] = -1;
    bool outs = false;
    for (int32_t i = 0; i < f->n_params; i++) outs |= f->param_modes[i] != PL_IN;
    for (int later = 0; later < 2; later++)
        for (int32_t i = 0; i < f->n_vars; i++) {
            const PlVar *v = &f->vars[i];
            bool in = i < f->n_params && f->param_modes[i] != PL_OUT;
            if ((later == 0) != in) continue;
            if (v->domain) return cp_refuse(c, "variable \"%s\" is of a domain", v->name ? v->name : "");
            if (v->kind == PLV_SCALAR && v->type.id == T_COMPOSITE)
                return cp_refuse(c, "variable \"%s\" is of a composite type", v->name ? v->name : "");
            if (v->kind == PLV_SCALAR && v->type.id == T_UNKNOWN) continue; /* CASE's: made there */
            if (v->kind == PLV_SCALAR) {
                const Type t = own ? cp_decimal_form(c, i, v->type) : v->type;
                if ((c->at.var_of[i] = cp_var_new(c, v->name, t)) < 0) return ST_ERROR;
                continue;
            }
            CpRecord *r = &c->at.records[i];
            if (v->kind != PLV_ROW) continue;
            r->names = v->field_names;
            if (!(r->vars = arena_array(c->arena, int32_t, v->n_fields + 1))) return cp_oom(c);
            for (r->n = 0; r->n < v->n_fields; r->n++) {
                if (v->field_domains[r->n])
                    return cp_refuse(c, "field \"%s\" of \"%s\" is of a domain", v->field_names[r->n], v->name);
                if ((r->vars[r->n] = cp_var_new(c, v->field_names[r->n], v->field_types[r->n])) < 0) return ST_ERROR;
            }
        }
    const Type ret = own ? cp_decimal_form(c, -1, f->ret) : f->ret;
    c->at.ret = f->is_procedure || f->returns_void || outs ? -1 : cp_var_new(c, NULL, ret);
    PlBody whole = {1, (PlStmt *[]){f->body}};
    c->at.row_count = body_has(&whole, PLS_DIAGNOSTICS) && !body_has(&whole, PLS_BLOCK)
                          ? cp_var_new(c, NULL, type_make(T_INT8))
                          : -1; /* a statement that fails keeps the old one */
    return c->oom ? ST_ERROR : ST_OK;
}

/* A routine that is STRICT does nothing when an argument is NULL. */
static Status skip_nulls(Cp *c) {
    for (int32_t i = 0; i < c->at.f->n_params; i++) {
        if (c->at.f->param_modes[i] == PL_OUT) continue;
        TRY(cp_control(c, OP_P_IF, cp_test(c, OP_IS_NULL, cp_load(c, c->at.var_of[i])), 0));
        TRY(cp_control(c, OP_P_RETURN, 0, 0));
        TRY(cp_control(c, OP_P_ENDIF, 0, 0));
    }
    return ST_OK;
}

/* The routine's own variables have the same numbers in both walks. */
static Status know_variables(Cp *c) {
    const int32_t n = (int32_t)c->vars.len;
    int32_t f = 0;
    while (f < c->reg->n_functions && c->reg->functions[f] != c->at.f) f++;
    if (f == c->reg->n_functions) return ST_OK;
    if (!c->reg->stored &&
        !(c->reg->stored = arena_calloc(c->reg->arena, c->reg->n_functions * (int64_t)sizeof(int64_t *))))
        return cp_oom(c);
    int64_t **stored = &c->reg->stored[f];
    if (c->dry && !(*stored = arena_calloc(c->reg->arena, (n + 1) * (int64_t)sizeof **stored))) return cp_oom(c);
    c->flow.stored = *stored;
    c->flow.n_own_vars = *stored ? n : 0;
    return ST_OK;
}
/* The statements of a procedure. */
static Status lower_statements(Cp *c) {
    const PlFunction *f = c->at.f;
    int64_t clock = time_reads, zone = zone_reads;
    PlBody body = {1, (PlStmt *[]){f->body}};
    TRY(cp_decimals(c));
    TRY(cp_declare(c, true));
    TRY(know_variables(c));
    if (c->uses_found && c->at.var_of[f->found] >= 0) TRY(cp_store_int(c, c->at.var_of[f->found], 0));
    if (c->at.row_count >= 0) TRY(cp_store_int(c, c->at.row_count, 0));
    if (f->strict) TRY(skip_nulls(c));
    if (f->returns_set) return cp_refuse(c, "it returns a set");
    TRY(cp_body(c, &body));
    if (f->is_sql && f->result_var >= 0 && c->at.ret >= 0) {
        if (c->at.var_of[f->result_var] < 0) return cp_refuse(c, "its result is a record");
        Expr *result = expr_col(&c->ctx, c->vars.items[c->at.var_of[f->result_var]].col);
        if (!result) return cp_oom(c);
        TRY(cp_assign(c, c->at.ret, result));
    }
    int64_t n = c->pipe.b.instrs.len;
    bool returned = n > 0 && c->pipe.b.instrs.items[n - 1].op == OP_P_RETURN;
    if (c->at.ret >= 0 && !f->is_sql && !returned)
        TRY(cp_raise(c, ERR_NO_RETURN, "control reached end of function without RETURN", NULL));
    TRY(cp_control(c, OP_P_RETURN, 0, 0));
    if (time_reads != clock) return cp_refuse(c, "a value depends on the time at which it is read ('now')");
    if (zone_reads != zone) return cp_refuse(c, "a value depends on the time zone in which it is read");
    cp_mark(c);
    return c->oom ? ST_ERROR : ST_OK;
}
/* A procedure's body; dry: only what it writes. It may turn out to be impossible (proc->reason). NULL: no memory. */
static Cp *lower_body(Registry *reg, const PlFunction *f, Proc *proc, bool dry, bool *uses_found) {
    Arena *a = dry ? reg->dry : reg->arena;
    Cp *c = arena_new_of(a, Cp);
    if (!c) return NULL;
    *c = (Cp){.reg = reg,
              .at = {.f = f, .place = "function", .caught = -1, .found_to = -1, .count_to = -1},
              .proc = proc,
              .dry = dry,
              .arena = a,
              .uses_found = *uses_found,
              .flow.next_block = 1};
    c->err = &c->scratch;
    c->ctx = (PlanCtx){.arena = a, .err = &c->scratch, .catalog = reg->catalog, .session = reg->session, .lasts = true};
    if (!vec_push(a, &c->ctx.cols, ((ColInfo){0}))) return NULL;
    c->low = (Lower){.c = &c->ctx, .arena = a, .err = &c->scratch};
    builder_init(&c->pipe.b, a);
    c->pipe.source = (Source){.kind = SRC_CALLS, .id = -1};
    c->query.in_scope = colset_new(&c->ctx);
    const SearchPath *before = search_path_use(f->path);
    Status st = lower_statements(c);
    (void)search_path_use(before);
    *uses_found |= c->found_seen;
    proc->reason = c->reason;
    return st == ST_OK || (c->reason && !c->oom) ? c : NULL;
}

static ProcVar *vars_of(const Cp *c) {
    ProcVar *vars = arena_array(c->arena, ProcVar, c->vars.len + 1);
    for (int64_t i = 0; vars && i < c->vars.len; i++)
        vars[i] = (ProcVar){c->vars.items[i].name, c->vars.items[i].type, (uint8_t)type_phys(c->vars.items[i].type)};
    return vars;
}
/* NULL: no memory, or proc->reason. */
static Program *finish(Cp *c) {
    Sink sink = {.kind = SINK_NONE};
    if (cp_pack_registers(c) != ST_OK) return NULL;
    Program *p = program_finish(&c->pipe.b, &c->pipe.source, &sink, &c->scratch);
    if (!p && strcmp(c->scratch.sqlstate, ERR_OUT_OF_MEMORY) != 0)
        c->proc->reason = arena_printf(c->reg->arena, "%s", c->scratch.message);
    return p;
}
static Status results(const Cp *c) {
    const PlFunction *f = c->at.f;
    Proc *proc = c->proc;
    proc->tables = c->tables.items;
    proc->n_tables = (int32_t)c->tables.len;
    proc->n_params = 0;
    for (int32_t i = 0; i < f->n_params; i++) proc->n_params += f->param_modes[i] != PL_OUT;
    proc->outs = arena_array(c->arena, int32_t, f->n_params + 1);
    proc->out_names = arena_array(c->arena, const char *, f->n_params + 1);
    if (!proc->outs || !proc->out_names) return ST_ERROR;
    proc->n_outs = 0;
    if (c->at.ret >= 0) {
        proc->out_names[0] = f->name;
        proc->outs[proc->n_outs++] = c->at.ret;
    }
    for (int32_t i = 0; i < f->n_params; i++)
        if (f->param_modes[i] != PL_IN) {
            proc->out_names[proc->n_outs] = f->param_names[i];
            proc->outs[proc->n_outs++] = c->at.var_of[i];
        }
    return ST_OK;
}
static Status make_footprint(Cp *c) {
    Proc *proc = c->proc;
    TRY(cp_make_items(c));
    TRY(cp_slice(c));
    TRY(cp_hoist_items(c));
    TRY(cp_reuse(c));
    TRY(cp_merge_items(c));
    TRY(cp_pack_variables(c));
    if (!(proc->footprint = finish(c))) return proc->reason ? ST_OK : ST_ERROR;
    proc->n_foot_vars = (int32_t)c->vars.len;
    proc->foot_vars = vars_of(c);
    proc->n_unbounded = (int32_t)c->unbounded.len;
    proc->unbounded = c->unbounded.items;
    return proc->foot_vars ? ST_OK : ST_ERROR;
}
/* The body without locks, and without what is only there to name their items: the virtual machine's. */
static Status without_locks(Cp *c, const Program *g, int32_t *plain, Program **out) {
    bool *gone = arena_calloc(c->arena, g->n_instrs + 1), *wanted = cp_results(c);
    if (!gone || !wanted) return ST_ERROR;
    for (int32_t i = 0; i < g->n_instrs; i++) gone[i] = g->instrs[i].op == OP_LOCK || g->instrs[i].op == OP_UNLOCK;
    TRY(cp_sweep(c->arena, g->instrs, g->n_instrs, g->n_regs, c->vars.len, wanted, gone));
    ProgramBuilder b;
    builder_init(&b, c->arena);
    b.n_sites = g->n_sites;
    b.regs.len = 0;
    for (int32_t i = 0; i < g->n_regs; i++)
        if (!vec_push(c->arena, &b.regs, g->regs[i])) return ST_ERROR;
    for (int32_t i = 0; i < g->n_instrs; i++) {
        plain[i] = (int32_t)b.instrs.len;
        if (!gone[i] && !vec_push(c->arena, &b.instrs, g->instrs[i])) return ST_ERROR;
    }
    int64_t lines = MIN_OF(c->from.lines.len, (int64_t)g->n_instrs);
    for (int64_t i = 0; i < lines; i++) {
        c->from.lines.items[plain[i]] = c->from.lines.items[i];
        c->from.places.items[plain[i]] = c->from.places.items[i];
        c->from.contexts.items[plain[i]] = c->from.contexts.items[i];
    }
    Err e = {0};
    *out = program_finish(&b, &g->source, &g->sink, &e);
    if (!*out && strcmp(e.sqlstate, ERR_OUT_OF_MEMORY) != 0)
        c->proc->reason = arena_printf(c->reg->arena, "%s", e.message);
    return *out ? ST_OK : ST_ERROR;
}
static Status make_body(const Cp *lowered) {
    Proc *proc = lowered->proc;
    CpLocks locks = {0};
    Cp *c = arena_new_of(lowered->arena, Cp);
    if (!c) return ST_ERROR;
    TRY(cp_finish_body(lowered, c, lowered->no_locks ? NULL : &locks));
    if (locks.list.len > 0) TRY(cp_hoist_locks(c));
    TRY(cp_reuse(c));
    Program *p = finish(c);
    if (p && locks.list.len > 0) {
        int32_t *plain = arena_array(c->arena, int32_t, p->n_instrs + 1);
        if (!plain) return ST_ERROR;
        proc->locking_body = p;
        proc->plain = plain;
        proc->n_locks = (int32_t)locks.list.len;
        proc->locks = (const ItemSite *const *)locks.list.items;
        if (without_locks(c, proc->locking_body, plain, &p) != ST_OK) p = NULL;
    }
    if (!(proc->body = p)) return proc->reason ? ST_OK : ST_ERROR;
    proc->n_vars = (int32_t)c->vars.len;
    proc->vars = vars_of(c);
    proc->lines = c->from.lines.items;
    proc->places = c->from.places.items;
    proc->contexts = c->from.contexts.items;
    return proc->vars ? ST_OK : ST_ERROR;
}

/* Something failed after the first change of a call: the change has to be taken back. Loops: a change comes before
 * everything in the loop. */
static bool needs_undo(const Program *p, bool adds_fail) {
    int32_t first = -1, loop = -1, depth = 0;
    for (int32_t i = 0; i < p->n_instrs; i++)
        if (p->instrs[i].op == OP_P_TRY) return true;
    for (int32_t i = 0; i < p->n_instrs && first < 0; i++) {
        uint16_t op = p->instrs[i].op;
        if (op == OP_P_LOOP && depth++ == 0) loop = i;
        if (op == OP_P_ENDLOOP) depth--;
        if (op == OP_ROW_PUT || op == OP_ROW_ADD || op == OP_ROW_INSERT || op == OP_ROW_DELETE)
            first = depth > 0 ? loop : i;
    }
    if (first < 0) return false;
    for (int32_t i = first + (p->instrs[first].op != OP_P_LOOP); i < p->n_instrs; i++) {
        const Instr *in = &p->instrs[i];
        if (!instr_may_fail(in)) continue;
        if (in->op == OP_CALL && !((const CallSite *)in->aux)->can_fail) continue;
        if (in->op == OP_ROW_ADD && !adds_fail) continue;
        return true;
    }
    return false;
}

static bool has_writes(const Program *p) {
    for (int32_t i = 0; i < p->n_instrs; i++) {
        uint16_t op = p->instrs[i].op;
        if (op == OP_ROW_PUT || op == OP_ROW_ADD || op == OP_ROW_INSERT || op == OP_ROW_DELETE) return true;
    }
    return false;
}

/* Rows that a call may insert into each table: their number, or -1 where it depends on the call. */
static void count_inserts(Proc *p, const Cp *body) {
    int32_t depth = 0;
    for (int32_t t = 0; t < p->n_tables; t++) p->tables[t].max_inserts = 0;
    for (int64_t i = 0; i < body->pipe.b.instrs.len; i++) {
        const Instr *in = &body->pipe.b.instrs.items[i];
        if (in->op == OP_P_LOOP) depth++;
        if (in->op == OP_P_ENDLOOP) depth--;
        if (in->op != OP_ROW_INSERT) continue;
        ProcTable *t = &p->tables[((const RowInsert *)in->aux)->table];
        if (depth > 0) t->max_inserts = -1;
        else if (t->max_inserts >= 0) t->max_inserts++;
    }
}

/* ---- all procedures ---------------------------------------------------------------------------------------------- */
/* *again: a procedure turned out to be impossible, or the form of a variable was decided. */
static Status lower_all(Registry *r, Proc *procs, Cp **bodies, bool dry, bool *found, bool *again) {
    for (int32_t i = 0; i < r->n_functions; i++) {
        if (procs[i].reason) continue;
        name_reads_resume(r->reads ? &r->reads[i] : NULL);
        bodies[i] = lower_body(r, r->functions[i], &procs[i], dry, &found[i]);
        name_reads_end(r->reads ? &r->reads[i] : NULL);
        if (!bodies[i]) return ST_ERROR;
        *again |= procs[i].reason != NULL || cp_decimals_changed(bodies[i]);
    }
    return ST_OK;
}
/* The footprints, and the keys of their items. */
static Status footprint_all(Registry *r, Proc *procs, Cp *const *bodies, bool *again) {
    Cp **feet = arena_array(r->arena, Cp *, r->n_functions + 1);
    if (!feet) return ST_ERROR;
    for (int32_t i = 0; i < r->n_functions; i++) {
        if (procs[i].reason) continue;
        if (results(bodies[i]) != ST_OK || !(feet[i] = arena_new_of(r->arena, Cp))) return ST_ERROR;
        count_inserts(&procs[i], bodies[i]);
        if (cp_footprint(bodies[i], feet[i]) != ST_OK && !bodies[i]->reason) return ST_ERROR;
        procs[i].reason = bodies[i]->reason;
        *again |= procs[i].reason != NULL;
    }
    for (int64_t t = 0; t < r->tables.len; t++)
        if (!registry_keys(r, r->tables.items[t])) return ST_OK;
    for (int32_t i = 0; i < r->n_functions && !*again; i++) {
        if (procs[i].reason) continue;
        TRY(make_footprint(feet[i]));
        *again |= procs[i].reason != NULL;
    }
    return ST_OK;
}
/* What they write; nothing else is left of it. */
static Status dry_run(Registry *r, Proc *procs, Cp **bodies, bool *found, bool *again, Err *e) {
    if (!(r->dry = arena_new(arena_account(r->arena), e))) return ST_ERROR;
    Status st = lower_all(r, procs, bodies, true, found, again);
    arena_free(r->dry);
    r->dry = NULL;
    return st;
}
/* What all procedures write, then their bodies, then the footprints. One that turns out to be impossible takes its
 * writes with it, and all are made anew. */
static Status compile_all(Registry *r, Proc *procs, Cp **bodies, Err *e) {
    bool *found = arena_calloc(r->arena, r->n_functions + 1);
    if (!found) return ST_ERROR;
    int32_t rounds = 0;
    for (bool again = true; again;) {
        again = false;
        registry_begin(r);
        TRY(dry_run(r, procs, bodies, found, &again, e));
        if (again) continue;
        TRY(registry_groups(r));
        if (r->misfit) return ST_OK;
        TRY(lower_all(r, procs, bodies, false, found, &again));
        if (!again) TRY(footprint_all(r, procs, bodies, &again));
        if (r->misfit) return ST_OK;
        if (++rounds > r->n_functions + 1) return err_internal(e, "procedures change each other without end");
    }
    for (int32_t i = 0; i < r->n_functions; i++)
        if (!procs[i].reason) TRY(make_body(bodies[i]));
    return ST_OK;
}

/* What each needs of the tables' images, in its own memory: the registry may go. */
static Status own_needs(const Registry *r, Proc *p, Arena *a) {
    for (int32_t t = 0; t < p->n_tables; t++)
        for (int64_t k = 0; k < r->tables.len; k++)
            if (r->tables.items[k]->table->id == p->tables[t].table_id)
                TRY(registry_need(r->tables.items[k], a, &p->tables[t].need));
    return ST_OK;
}
static Status complete(const Registry *r, Proc *p, const Cp *body, Arena *a) {
    TRY(own_needs(r, p, a));
    proc_find_dequeues(p);
    TRY(proc_find_fetch_adds(p, body->n_fetch_adds));
    p->writes = has_writes(p->body);
    p->order_line = body->order_line;
    p->undo = needs_undo(p->body, false);
    p->undo_adds = needs_undo(p->body, true);
    return ST_OK;
}
Status pl_compile(const PlSources *x, Arena *a, PlCompiled *out, Err *e) {
    Registry *reg = arena_new_of(a, Registry);
    Proc *procs = arena_array(a, Proc, x->n + 1);
    Cp **bodies = arena_array(a, Cp *, x->n + 1);
    if (!reg || !procs || !bodies) return err_oom(e);
    *reg = (Registry){.arena = a,
                      .catalog = x->catalog,
                      .session = x->session,
                      .kept = x->kept,
                      .n_functions = x->n,
                      .functions = x->functions,
                      .reads = x->reads};
    for (int32_t i = 0; i < x->n; i++)
        procs[i] = (Proc){.name = x->functions[i]->name, .number = i, .queue = -1, .arena = a};
    if (compile_all(reg, procs, bodies, e) != ST_OK) return err_is_set(e) ? ST_ERROR : err_oom(e);
    *out = (PlCompiled){.procs = procs, .registry = reg, .misfit = reg->misfit ? reg->misfit->id : 0};
    if (reg->misfit) return ST_OK;
    for (int32_t i = 0; i < x->n; i++) {
        if (procs[i].reason) procs[i].body = procs[i].footprint = NULL;
        else if (complete(reg, &procs[i], bodies[i], a) != ST_OK) return err_oom(e);
    }
    registry_drop_unused(reg, procs);
    return ST_OK;
}
