/* compile_stmt.c - PL/pgSQL statements. */
#include "sql/pl/compile_int.h"

static Status statement(Cp *c, const PlStmt *s);

static Status body(Cp *c, const PlBody *b) {
    for (int32_t i = 0; i < b->n; i++) TRY(statement(c, b->stmts[i]));
    return ST_OK;
}
Status cp_body(Cp *c, const PlBody *b) { return body(c, b); }

Status cp_set_found(Cp *c, bool v) {
    int32_t var = c->at.found_to >= 0 ? c->at.found_to : c->at.var_of[c->at.f->found];
    return c->uses_found && var >= 0 ? cp_store_int(c, var, v) : ST_OK;
}

/* ---- targets -------------------------------------------------------------------------------------------- */
/* The variables that a statement assigns, for values of these types: a record takes their shape. */
static int32_t *target_vars(Cp *c, const PlStmt *s, int32_t n, const Type *types, const char *const *names,
                            int32_t *n_out) {
    int32_t *v = arena_array(c->arena, int32_t, MAX_OF(n, s->n_targets) + 1);
    if (!v) return c->oom = true, NULL;
    if (!s->is_row) {
        for (int32_t i = 0; i < s->n_targets; i++)
            if ((v[i] = cp_ref(c, s->targets[i])) < 0)
                return (void)cp_refuse(c, "a record among several targets"), NULL;
        *n_out = s->n_targets;
        return v;
    }
    CpRecord *r = &c->at.records[s->targets[0].var];
    if (c->at.f->vars[s->targets[0].var].kind == PLV_RECORD) {
        bool same = r->n == n;
        for (int32_t i = 0; i < n && same; i++)
            same = type_eq(c->vars.items[r->vars[i]].type, types[i]) && strcmp(r->names[i], names[i]) == 0;
        if (!same) { /* the shape it has from now on, in the order of the text */
            r->names = arena_array(c->arena, const char *, n + 1);
            r->vars = arena_array(c->arena, int32_t, n + 1);
            if (!r->names || !r->vars) return c->oom = true, NULL;
            for (r->n = 0; r->n < n; r->n++) {
                r->names[r->n] = names[r->n];
                if ((r->vars[r->n] = cp_var_new(c, names[r->n], types[r->n])) < 0) return NULL;
            }
        }
    }
    for (int32_t i = 0; i < r->n; i++) v[i] = r->vars[i];
    *n_out = r->n;
    return v;
}

/* Columns of the row from number `from` on, which no variable takes, but which may fail. */
static Status compute_unwanted(Cp *c, const BoundStmt *b, int32_t from) {
    for (int32_t i = from; i < b->n_result; i++) {
        const ColEntry *x = cp_entry(c, b->result[i]);
        if (!x || x->where != CW_EXPR || !expr_can_fail(x->expr)) continue;
        Expr *e = expr_col(&c->ctx, b->result[i]);
        int32_t v = e ? cp_var_new(c, NULL, e->type) : -1;
        if (v < 0) return cp_oom(c);
        TRY(cp_store(c, v, cp_lower_as(c, e, e->type)));
    }
    return ST_OK;
}

/* The row's values to the variables, all computed before the first is stored; what the row does not have becomes NULL.
 */
static Status assign_row(Cp *c, const BoundStmt *b, int32_t n, const int32_t *vars) {
    Reg *regs = arena_array(c->arena, Reg, n + 1);
    if (!regs) return cp_oom(c);
    for (int32_t i = 0; i < n; i++) {
        regs[i] = 0;
        if (i >= b->n_result) continue;
        Type t = c->vars.items[vars[i]].type;
        Expr *e = expr_col(&c->ctx, b->result[i]);
        if (!e) return cp_oom(c);
        if (cp_decimal_assigned(c, vars[i], e)) continue;
        if (!(e = cp_cast(c, e, t))) return ST_ERROR;
        if (!(regs[i] = cp_lower_as(c, e, t))) return ST_ERROR;
    }
    TRY(compute_unwanted(c, b, n));
    for (int32_t i = 0; i < n; i++) {
        if (regs[i]) TRY(cp_store(c, vars[i], regs[i]));
        else TRY(cp_store_null(c, vars[i]));
    }
    return ST_OK;
}

typedef struct Into {
    BoundStmt *b;
    int32_t n;
    int32_t *vars;
    int32_t block; /* left after the first row; -1: all rows are read */
    int32_t count; /* STRICT: variable that is true when there was a row; -1 */
    bool single;
    bool exists;   /* EXISTS: the variable is whether there is a row */
    bool subquery; /* no statement: FOUND stays */
    int32_t first; /* all rows are read since they may fail, and the first is taken: variable; -1 */
} Into;

/* One more for ROW_COUNT. */
static Status count_row(Cp *c) {
    if (c->at.count_to < 0) return ST_OK;
    Reg n = cp_load(c, c->at.count_to), one = cp_int(c, PH_I64, 1),
        r = n && one ? lower_reg(&c->low, &c->pipe, PH_I64, type_make(T_INT8), true, range_of_type(type_make(T_INT8)))
                     : 0;
    if (!r || !builder_emit(&c->pipe.b, OP_ADD_N, PH_I64, r, n, one, 0)) return cp_oom(c);
    return cp_store(c, c->at.count_to, r);
}
static Status into_row(Cp *c, void *ctx) {
    Into *k = ctx;
    if (k->count >= 0 && !k->single) {
        TRY(cp_control(c, OP_P_IF, cp_load(c, k->count), 0));
        if (k->subquery)
            TRY(cp_raise(c, ERR_CARDINALITY, "more than one row returned by a subquery used as an expression", NULL));
        else if (c->at.found_to >= 0) TRY(cp_store_int(c, c->at.var_of[c->at.f->found], 1));
        if (!k->subquery)
            TRY(cp_raise(c, ERR_TOO_MANY_ROWS, "query returned more than one row",
                         "Make sure the query returns a single row, or use LIMIT 1."));
        TRY(cp_control(c, OP_P_ENDIF, 0, 0));
    }
    if (k->count >= 0) TRY(cp_store_int(c, k->count, 1));
    if (k->first >= 0) {
        TRY(cp_control(c, OP_P_IF, cp_load(c, k->first), 0));
        TRY(compute_unwanted(c, k->b, 0));
        TRY(cp_control(c, OP_P_ELSE, 0, 0));
        TRY(cp_store_int(c, k->first, 1));
    }
    if (k->exists) TRY(cp_store_int(c, k->vars[0], 1));
    else TRY(assign_row(c, k->b, k->n, k->vars));
    if (!k->subquery) TRY(cp_set_found(c, true));
    if (!k->subquery) TRY(count_row(c));
    if (k->first >= 0) TRY(cp_control(c, OP_P_ENDIF, 0, 0));
    return k->block >= 0 ? cp_leave(c, k->block, false) : ST_OK;
}
static Status unwanted_row(Cp *c, void *ctx) { return compute_unwanted(c, ctx, 0); }
/* ctx: the query, whose values are not used but may fail; NULL: none. */
static Status found_row(Cp *c, void *ctx) {
    if (ctx) TRY(compute_unwanted(c, ctx, 0));
    TRY(count_row(c));
    return cp_set_found(c, true);
}

/* All rows of the query have to be computed though one decides. */
static bool goes_through(Cp *c, Plan *p) { return !cp_finds_one(c, p) && cp_some_may_fail(c, p); }

Status cp_subquery(Cp *c, const Expr *e, int32_t var) {
    BoundStmt *b = arena_new_of(c->arena, BoundStmt);
    if (!b) return cp_oom(c);
    c->no_locks = true; /* a subquery's rows belong to no statement's locks */
    *b = (BoundStmt){.kind = STMT_SELECT, .plan = e->u.sub.plan, .n_result = e->u.sub.n_cols, .result = e->u.sub.cols};
    Into k = {.b = b,
              .block = -1,
              .count = -1,
              .first = -1,
              .n = 1,
              .vars = &var,
              .exists = e->subquery == SQ_EXISTS,
              .subquery = true};
    if (k.exists) {
        b->n_result = 0;
        TRY(cp_store_int(c, var, 0));
        if (!goes_through(c, b->plan)) k.block = c->flow.next_block++;
        if (k.block >= 0) TRY(cp_control(c, OP_P_BLOCK, 0, k.block));
    } else {
        if ((k.count = cp_var_new(c, NULL, type_make(T_BOOL))) < 0) return ST_ERROR;
        TRY(cp_store_int(c, k.count, 0));
        TRY(cp_store_null(c, var));
    }
    c->any_order++; /* whether there is one, or the only one */
    TRY(cp_rows(c, b->plan, b->n_result, b->result, into_row, &k, &k.single));
    c->any_order--;
    return k.block >= 0 ? cp_control(c, OP_P_ENDBLOCK, 0, k.block) : ST_OK;
}

/* IN, ANY, ALL with a query: all of its rows are compared, until one decides. */
typedef struct AnyRow {
    Expr *cond;
    bool all, through;       /* through: rows after the one that decides may fail */
    int32_t var, one, block; /* the result, a row's */
} AnyRow;
static Status any_row(Cp *c, void *ctx) {
    AnyRow *k = ctx;
    TRY(cp_store(c, k->one, cp_condition(c, k->cond)));
    TRY(cp_control(c, OP_P_IF, cp_test(c, k->all ? OP_IS_FALSE : OP_IS_TRUE, cp_load(c, k->one)), 0));
    TRY(cp_store_int(c, k->var, !k->all));
    if (!k->through) TRY(cp_leave(c, k->block, false));
    TRY(cp_control(c, OP_P_ENDIF, 0, 0));
    TRY(cp_control(c, OP_P_IF, cp_test(c, OP_IS_NULL, cp_load(c, k->one)), 0));
    if (k->through) { /* it may be decided */
        TRY(cp_control(c, OP_P_IF, cp_test(c, k->all ? OP_IS_FALSE : OP_IS_TRUE, cp_load(c, k->var)), 0));
        TRY(cp_control(c, OP_P_ELSE, 0, 0));
    }
    TRY(cp_store_null(c, k->var));
    if (k->through) TRY(cp_control(c, OP_P_ENDIF, 0, 0));
    return cp_control(c, OP_P_ENDIF, 0, 0);
}
Status cp_any_subquery(Cp *c, const Expr *e, int32_t var) {
    Type b = type_make(T_BOOL);
    AnyRow k = {.all = e->all, .var = var, .one = cp_var_new(c, NULL, b), .block = c->flow.next_block++};
    c->no_locks = true;
    if (k.one < 0 || !(k.cond = expr_new(&c->ctx, EX_AND, b, e->u.sub.n_cols))) return cp_oom(c);
    memcpy(k.cond->args, e->u.sub.compare, sizeof *k.cond->args * (size_t)e->u.sub.n_cols);
    k.through = goes_through(c, e->u.sub.plan);
    if (cp_unsettled(c, k.cond)) return cp_refuse(c, "a call or subquery before IN, ANY or ALL with a query");
    TRY(cp_store_int(c, var, k.all));
    TRY(cp_control(c, OP_P_BLOCK, 0, k.block));
    c->any_order++;
    TRY(cp_rows(c, e->u.sub.plan, e->u.sub.n_cols, e->u.sub.cols, any_row, &k, NULL));
    c->any_order--;
    return cp_control(c, OP_P_ENDBLOCK, 0, k.block);
}

static Status check_loop_writes(Cp *c, const PlStmt *s, Plan *p, int64_t from);

/* A statement that reads its own targets sees them as they were until it ends: its rows go to other variables first. */
static Status spare_targets(Cp *c, Into *k) {
    bool read = false;
    for (int64_t r = 0; r < c->at.names.refs.len; r++)
        for (int32_t i = 0; i < k->n; i++) read |= cp_ref(c, c->at.names.refs.items[r]) == k->vars[i];
    read |= c->flow.tries > 0; /* a handler sees them as they were when the statement fails */
    if (!read) return ST_OK;
    int32_t *spare = arena_array(c->arena, int32_t, k->n + 1);
    if (!spare) return cp_oom(c);
    for (int32_t i = 0; i < k->n; i++) cp_decimal_widen(c, k->vars[i]);
    for (int32_t i = 0; i < k->n; i++)
        if ((spare[i] = cp_var_new(c, NULL, c->vars.items[k->vars[i]].type)) < 0) return ST_ERROR;
    k->vars = spare;
    return ST_OK;
}

/* Calls of routines in a statement: of SELECT and INSERT .. VALUES, without tables. PERFORM computes values that are
 * not used.
 */
static Status settle_statement(Cp *c, BoundStmt *b, bool perform) {
    Plan *p = b->plan;
    while ((p->kind == LP_PROJECT || p->kind == LP_LIMIT || p->kind == LP_FILTER) && p->children[0]->kind != LP_VALUES)
        p = p->children[0];
    Plan *v = p->kind == LP_VALUES                                      ? p
              : p->n_children == 1 && p->children[0]->kind == LP_VALUES ? p->children[0]
                                                                        : NULL;
    if (!v || v->values.n_rows > 1 || (p != v && p->kind != LP_PROJECT) || b->plan->kind == LP_FILTER ||
        b->plan->kind == LP_LIMIT)
        return ST_OK;
    const bool *read = cp_tables_read(c, b->plan);
    int64_t from = c->query.write_tables.len;
    c->at.in_statement = true;
    if (v->values.n_rows == 1) TRY(cp_settle_list(c, v->n_out, v->values.rows[0]));
    if (p != v) TRY(cp_settle_list(c, p->n_exprs, p->exprs));
    c->at.in_statement = false;
    TRY(cp_check_changed(c, read, from));
    for (int32_t i = 0; perform && p != v && i < p->n_exprs; i++) {
        int32_t var = expr_can_fail(p->exprs[i]) ? cp_var_new(c, NULL, p->exprs[i]->type) : -1;
        if (var >= 0) TRY(cp_assign(c, var, p->exprs[i]));
    }
    return ST_OK;
}

static Status end_statement(Cp *c) {
    int32_t found = c->at.found_to, count = c->at.count_to;
    c->at.found_to = c->at.count_to = -1;
    if (count >= 0) TRY(cp_copy(c, c->at.row_count, count));
    return found >= 0 ? cp_copy(c, c->at.var_of[c->at.f->found], found) : ST_OK;
}
/* Rows of a query whose order does not matter. */
static Status all_rows(Cp *c, BoundStmt *b, CpRow row, void *ctx, bool *single) {
    c->any_order++;
    const Status st = cp_rows(c, b->plan, b->n_result, b->result, row, ctx, single);
    c->any_order--;
    return st;
}
static Status sql_statement(Cp *c, const PlStmt *s, const PlExpr *q) {
    c->at.in_statement = true;
    BoundStmt *b = cp_bind(c, q->stmt, q);
    c->at.in_statement = false;
    if (!b) return ST_ERROR;
    bool change = b->kind != STMT_SELECT;
    TRY(settle_statement(c, b, s->kind == PLS_PERFORM));
    if (change) TRY(cp_hoist(c, b->plan, b->table));
    TRY(cp_check_parts(c, b->plan, change ? b->table : NULL));
    if (c->flow.tries > 0 && c->uses_found && (c->at.found_to = cp_var_new(c, NULL, type_make(T_BOOL))) < 0)
        return ST_ERROR;
    if (c->at.row_count >= 0) {
        if ((c->at.count_to = cp_var_new(c, NULL, type_make(T_INT8))) < 0) return ST_ERROR;
        TRY(cp_store_int(c, c->at.count_to, 0));
    }
    CpRow found = c->uses_found || c->at.row_count >= 0 ? found_row : NULL;
    if (!s->has_into) {
        if (!change && s->kind == PLS_SQL && !c->at.f->is_sql) return cp_refuse(c, "a query without destination");
        TRY(cp_set_found(c, false));
        if (b->kind == STMT_INSERT) TRY(cp_insert(c, b, found, NULL));
        else if (b->kind == STMT_UPDATE) TRY(cp_update(c, b, found, NULL, NULL));
        else if (b->kind == STMT_DELETE) TRY(cp_delete(c, b, found, NULL, NULL));
        else TRY(all_rows(c, b, found ? found : unwanted_row, b, NULL));
        return end_statement(c);
    }
    Type *types = arena_array(c->arena, Type, b->n_result + 1);
    if (!types) return cp_oom(c);
    for (int32_t i = 0; i < b->n_result; i++) types[i] = c->ctx.cols.items[b->result[i]].type;
    Into k = {.b = b, .block = -1, .count = -1, .first = -1};
    if (!(k.vars = target_vars(c, s, b->n_result, types, b->names, &k.n))) return ST_ERROR;
    int32_t *targets = k.vars;
    TRY(spare_targets(c, &k));
    bool strict = s->strict || change; /* changes with RETURNING INTO: more than one row is an error */
    if (strict && b->kind != STMT_INSERT) {
        if ((k.count = cp_var_new(c, NULL, type_make(T_BOOL))) < 0) return ST_ERROR;
        TRY(cp_store_int(c, k.count, 0));
    } else if (!strict && b->kind == STMT_SELECT && goes_through(c, b->plan)) {
        if ((k.first = cp_var_new(c, NULL, type_make(T_BOOL))) < 0) return ST_ERROR;
        TRY(cp_store_int(c, k.first, 0));
    } else if (!strict) {
        k.block = c->flow.next_block++;
        TRY(cp_control(c, OP_P_BLOCK, 0, k.block));
    }
    TRY(cp_set_found(c, false));
    for (int32_t i = 0; k.block < 0 && i < k.n; i++)
        TRY(cp_store_null(c, k.vars[i])); /* without a row the targets are NULL */
    if (b->kind == STMT_INSERT) TRY(cp_insert(c, b, into_row, &k));
    else if (b->kind == STMT_UPDATE) TRY(cp_update(c, b, into_row, &k, &k.single));
    else if (b->kind == STMT_DELETE) TRY(cp_delete(c, b, into_row, &k, &k.single));
    else if (k.count >= 0) TRY(all_rows(c, b, into_row, &k, &k.single)); /* there is no second one */
    else TRY(cp_rows(c, b->plan, b->n_result, b->result, into_row, &k, &k.single));
    if (k.block >= 0) {
        for (int32_t i = 0; i < k.n; i++) TRY(cp_store_null(c, k.vars[i]));
        TRY(cp_control(c, OP_P_ENDBLOCK, 0, k.block));
    }
    TRY(end_statement(c));
    if (s->strict && k.count >= 0) {
        Reg no = cp_test(c, OP_IS_FALSE, cp_load(c, k.count));
        if (!no) return ST_ERROR;
        TRY(cp_control(c, OP_P_IF, no, 0));
        TRY(cp_raise(c, ERR_NO_DATA_FOUND, "query returned no rows", NULL));
        TRY(cp_control(c, OP_P_ENDIF, 0, 0));
    }
    for (int32_t i = 0; i < k.n && k.vars != targets; i++) TRY(cp_copy(c, targets[i], k.vars[i]));
    return ST_OK;
}

/* ---- conditions ------------------------------------------------------------------------------------------ */
typedef struct Arms {
    const PlStmt *s;
    int32_t i;
} Arms;
static Status arms(Cp *c, const PlStmt *s, int32_t i) {
    TRY(cp_stack(c));
    if (i == s->arms.n) {
        if (s->kind == PLS_CASE && !s->arms.has_else) {
            return cp_raise(c, ERR_CASE_NOT_FOUND, "case not found", "CASE statement is missing ELSE part.");
        }
        return body(c, &s->body);
    }
    Expr *e = cp_expr(c, s->arms.items[i].cond, type_make(T_BOOL));
    if (!e) return ST_ERROR;
    TRY(cp_control(c, OP_P_IF, cp_condition(c, e), 0));
    TRY(body(c, &s->arms.items[i].body));
    bool more = i + 1 < s->arms.n || s->body.n > 0 || (s->kind == PLS_CASE && !s->arms.has_else);
    if (more) TRY(cp_control(c, OP_P_ELSE, 0, 0));
    if (more) TRY(arms(c, s, i + 1));
    return cp_control(c, OP_P_ENDIF, 0, 0);
}

/* ---- loops --------------------------------------------------------------------------------------------------- */
/* One time through a loop: what stands between its P_LOOP and P_ENDLOOP. */
typedef struct LoopRun {
    const PlStmt *s;
    int32_t loop;        /* number of the P_LOOP */
    int32_t cur, hi, by; /* FOR */
    int32_t var;         /* FOR: the loop's variable */
    BoundStmt *b;        /* FOR over a query */
    int32_t *vars, n_vars;
    int32_t array; /* FOREACH: the array */
} LoopRun;

static Status leave_unless(Cp *c, Reg cond, int32_t loop) {
    if (!cond) return ST_ERROR;
    TRY(cp_control(c, OP_P_IF, cond, 0));
    TRY(cp_control(c, OP_P_ELSE, 0, 0));
    TRY(cp_leave(c, loop, false));
    return cp_control(c, OP_P_ENDIF, 0, 0);
}
static Reg add64(Cp *c, Opcode op, Reg a, Reg b) {
    if (!a || !b) return 0;
    Reg r = lower_reg(&c->low, &c->pipe, PH_I64, type_make(T_INT8), true, range_of_type(type_make(T_INT8)));
    if (!r || !builder_emit(&c->pipe.b, op, PH_I64, r, a, b, 0)) return c->oom = true, 0;
    return r;
}

/* Element `cur` of all of the array's; cur: bigint. */
static Expr *element_expr(Cp *c, int32_t array, int32_t cur) {
    Expr *a = expr_col(&c->ctx, c->vars.items[array].col), *i = expr_col(&c->ctx, c->vars.items[cur].col);
    Expr *e = a && i ? expr_new(&c->ctx, EX_FUNC, type_element(a->type), 2) : NULL;
    if (!e) return c->oom = true, NULL;
    e->u.func = func_named(slice_of("array_element"));
    e->args[0] = a;
    return (e->args[1] = cp_cast(c, i, type_make(T_INT4))) ? e : NULL;
}

/* The loop, from its head on. */
static Status run_loop(Cp *c, const LoopRun *k) {
    const PlStmt *s = k->s;
    CpLabel label = {.loop = s->loop, .exit_block = k->loop, .next_block = k->loop};
    TRY(cp_control(c, OP_P_LOOP, 0, k->loop));
    if (!vec_push(c->arena, &c->flow.labels, label)) return cp_oom(c);
    if (s->kind == PLS_WHILE) {
        Expr *e = cp_expr(c, s->expr, type_make(T_BOOL));
        if (!e) return ST_ERROR;
        TRY(leave_unless(c, cp_condition(c, e), k->loop));
    }
    if (s->kind == PLS_FOREACH)
        TRY(leave_unless(c, cp_cmp(c, OP_LE, PH_I64, cp_load(c, k->cur), cp_load(c, k->hi)), k->loop));
    if (s->kind == PLS_FOR)
        TRY(leave_unless(c, cp_cmp(c, s->reverse ? OP_GE : OP_LE, PH_I64, cp_load(c, k->cur), cp_load(c, k->hi)),
                         k->loop));
    TRY(cp_control(c, OP_P_ROUND, 0, k->loop));
    if (s->kind == PLS_FOREACH) TRY(cp_assign(c, k->var, element_expr(c, k->array, k->cur)));
    if (s->kind == PLS_FOR) TRY(cp_store(c, k->var, lower_as(&c->low, &c->pipe, cp_load(c, k->cur), PH_I32)));
    TRY(body(c, &s->body));
    c->flow.labels.len--;
    TRY(cp_control(c, OP_P_STEP, 0, k->loop));
    if (s->kind == PLS_FOR || s->kind == PLS_FOREACH)
        TRY(cp_store(c, k->cur, add64(c, s->reverse ? OP_SUB_N : OP_ADD_N, cp_load(c, k->cur), cp_load(c, k->by))));
    return cp_control(c, OP_P_ENDLOOP, 0, k->loop);
}
static Status loop_statement(Cp *c, const PlStmt *s) {
    LoopRun k = {.s = s, .loop = c->flow.next_block++};
    return run_loop(c, &k);
}

static Status null_bound(Cp *c, Expr *e, const char *what) {
    Reg r = cp_lower_as(c, e, type_make(T_INT4));
    if (!r) return ST_ERROR;
    if (!lower_info(&c->pipe, r)->nullable) return ST_OK;
    Reg n = cp_test(c, OP_IS_NULL, r);
    if (!n) return ST_ERROR;
    TRY(cp_control(c, OP_P_IF, n, 0));
    TRY(cp_raise(c, ERR_NULL_NOT_ALLOWED, what, NULL));
    return cp_control(c, OP_P_ENDIF, 0, 0);
}
static Status store64(Cp *c, int32_t var, Expr *e) {
    Reg r = cp_lower_as(c, e, type_make(T_INT4));
    return r ? cp_store(c, var, lower_as(&c->low, &c->pipe, r, PH_I64)) : ST_ERROR;
}
static Status for_numbers(Cp *c, const PlStmt *s) {
    LoopRun k[1] = {{.s = s, .loop = c->flow.next_block++}};
    Type i4 = type_make(T_INT4);
    Expr *lo = cp_expr(c, s->expr, i4), *hi = lo ? cp_expr(c, s->expr2, i4) : NULL,
         *by = hi && s->expr3 ? cp_expr(c, s->expr3, i4) : NULL;
    if (!hi || (s->expr3 && !by)) return ST_ERROR;
    k->var = s->n_targets > 0 ? cp_ref(c, s->targets[0]) : c->at.var_of[s->implicit_var];
    if (k->var < 0) return cp_refuse(c, "a loop over numbers into a record");
    Type i8 = type_make(T_INT8);
    if ((k->cur = cp_var_new(c, NULL, i8)) < 0 || (k->hi = cp_var_new(c, NULL, i8)) < 0 ||
        (k->by = cp_var_new(c, NULL, i8)) < 0)
        return ST_ERROR;
    TRY(null_bound(c, lo, "lower bound of FOR loop cannot be null"));
    TRY(null_bound(c, hi, "upper bound of FOR loop cannot be null"));
    if (by) TRY(null_bound(c, by, "BY value of FOR loop cannot be null"));
    TRY(store64(c, k->cur, lo));
    TRY(store64(c, k->hi, hi));
    if (by) {
        TRY(store64(c, k->by, by));
        TRY(cp_control(c, OP_P_IF, cp_cmp(c, OP_LE, PH_I64, cp_load(c, k->by), cp_int(c, PH_I64, 0)), 0));
        TRY(cp_raise(c, ERR_INVALID_PARAMETER, "BY value of FOR loop must be greater than zero", NULL));
        TRY(cp_control(c, OP_P_ENDIF, 0, 0));
    } else {
        TRY(cp_store_int(c, k->by, 1));
    }
    if (c->uses_found) { /* whether there is a first time */
        Reg any = cp_cmp(c, s->reverse ? OP_GE : OP_LE, PH_I64, cp_load(c, k->cur), cp_load(c, k->hi));
        int32_t first = cp_var_new(c, NULL, type_make(T_BOOL));
        if (first < 0) return ST_ERROR;
        TRY(cp_store(c, first, any));
        TRY(run_loop(c, k));
        return cp_store(c, c->at.var_of[c->at.f->found], cp_load(c, first));
    }
    return run_loop(c, k);
}

static Status foreach_statement(Cp *c, const PlStmt *s) {
    LoopRun k[1] = {{.s = s, .loop = c->flow.next_block++}};
    if (s->is_row || (k->var = cp_ref(c, s->targets[0])) < 0) return cp_refuse(c, "FOREACH into a record");
    if (s->expr2) return cp_refuse(c, "FOREACH over slices");
    int32_t found = c->at.var_of[c->at.f->found];
    Expr *e = cp_expr(c, s->expr, type_make(T_UNKNOWN));
    if (!e) return ST_ERROR;
    if (e->type.id != T_ARRAY) return cp_refuse(c, "FOREACH over what is no array");
    Type i8 = type_make(T_INT8);
    if ((k->array = cp_var_new(c, NULL, e->type)) < 0 || (k->cur = cp_var_new(c, NULL, i8)) < 0 ||
        (k->hi = cp_var_new(c, NULL, i8)) < 0 || (k->by = cp_var_new(c, NULL, i8)) < 0)
        return ST_ERROR;
    TRY(cp_assign(c, k->array, e));
    TRY(cp_control(c, OP_P_IF, cp_test(c, OP_IS_NULL, cp_load(c, k->array)), 0));
    TRY(cp_raise(c, ERR_NULL_NOT_ALLOWED, "FOREACH expression must not be null", NULL));
    TRY(cp_control(c, OP_P_ENDIF, 0, 0));
    Expr *n = expr_new(&c->ctx, EX_FUNC, type_make(T_INT4), 1);
    if (!n || !(n->args[0] = expr_col(&c->ctx, c->vars.items[k->array].col))) return cp_oom(c);
    n->u.func = func_named(slice_of("cardinality"));
    TRY(store64(c, k->hi, n));
    TRY(cp_store_int(c, k->cur, 1));
    TRY(cp_store_int(c, k->by, 1));
    TRY(run_loop(c, k));
    if (!c->uses_found) return ST_OK;
    return cp_store(c, found, cp_cmp(c, OP_GT, PH_I64, cp_load(c, k->hi), cp_int(c, PH_I64, 0)));
}

/* FOR over a query: the loop is that of the rows; a P_BLOCK around all of it to leave, one around the body to go on. */
static Status query_loop_row(Cp *c, void *ctx) {
    LoopRun *k = ctx;
    const PlStmt *s = k->s;
    int32_t next = c->flow.next_block++;
    TRY(assign_row(c, k->b, k->n_vars, k->vars));
    if (k->cur >= 0) TRY(cp_store_int(c, k->cur, 1));
    CpLabel label = {.loop = s->loop, .exit_block = k->loop, .next_block = next};
    if (!vec_push(c->arena, &c->flow.labels, label)) return cp_oom(c);
    TRY(cp_control(c, OP_P_BLOCK, 0, next));
    TRY(body(c, &s->body));
    TRY(cp_control(c, OP_P_ENDBLOCK, 0, next));
    c->flow.labels.len--;
    return ST_OK;
}
/* A statement in it may end the loop number `loop` before its rows do. Loops inside it have greater numbers. */
static bool leaves_loop(const PlBody *b, int32_t loop) {
    if (stack_stop()) return true;
    for (int32_t i = 0; i < b->n; i++) {
        const PlStmt *s = b->stmts[i];
        bool leaves = s->kind == PLS_RETURN || (s->kind == PLS_RAISE && s->raise.level == PLR_EXCEPTION) ||
                      (s->kind == PLS_EXIT && (s->is_exit ? s->loop <= loop : s->loop < loop));
        for (int32_t k = 0; k < s->arms.n && !leaves; k++) leaves = leaves_loop(&s->arms.items[k].body, loop);
        for (int32_t k = 0; k < s->scope.n_handlers && !leaves; k++)
            leaves = leaves_loop(&s->scope.handlers[k].body, loop);
        if (leaves || leaves_loop(&s->body, loop)) return true;
    }
    return false;
}
static bool collects(const Cp *c, const PlStmt *s) {
    for (int64_t i = 0; i < c->reg->collects.len; i++)
        if (c->reg->collects.items[i] == s) return true;
    return false;
}
/* All rows of the query before the first one is used. */
static Status collect_rows(Cp *c, Plan **p) {
    Plan *all = plan_new(&c->ctx, LP_LIMIT, 1);
    if (!all) return cp_oom(c);
    all->limit.rows = all->limit.offset = -1;
    all->children[0] = *p;
    *p = all;
    return ST_OK;
}
static Status query_loop(Cp *c, LoopRun *k) {
    int64_t from = c->query.write_tables.len;
    c->at.snapshot = true;
    k->b = cp_bind(c, k->s->query->stmt, k->s->query);
    c->at.snapshot = false;
    if (!k->b) return ST_ERROR;
    if (k->b->kind != STMT_SELECT) return cp_refuse(c, "a loop over the rows of a change");
    bool first = collects(c, k->s);                           /* the query's rows are those of its start */
    first |= c->flow.tries > 0 && cp_may_fail(c, k->b->plan); /* handlers find the variables as they were before */
    first |= goes_through(c, k->b->plan) && leaves_loop(&k->s->body, k->s->loop); /* one that is not used may fail */
    TRY(cp_check_parts(c, k->b->plan, NULL));
    if (first) TRY(collect_rows(c, &k->b->plan));
    Type *types = arena_array(c->arena, Type, k->b->n_result + 1);
    if (!types) return cp_oom(c);
    for (int32_t i = 0; i < k->b->n_result; i++) types[i] = c->ctx.cols.items[k->b->result[i]].type;
    if (!(k->vars = target_vars(c, k->s, k->b->n_result, types, k->b->names, &k->n_vars))) return ST_ERROR;
    TRY(cp_rows(c, k->b->plan, k->b->n_result, k->b->result, query_loop_row, k, NULL));
    return first ? ST_OK : check_loop_writes(c, k->s, k->b->plan, from);
}
/* One whose tables change in it collects its rows when it is compiled again, which the dry walk is for. */
static Status check_loop_writes(Cp *c, const PlStmt *s, Plan *p, int64_t from) {
    const Table *t = NULL;
    for (int64_t i = from; i < c->query.write_tables.len && !t; i++)
        t = cp_reads_table(c, p, c->query.write_tables.items[i]);
    if (t && !c->dry) return cp_refuse(c, "a loop over a query whose table \"%s\" is changed in the loop", t->name);
    if (t && !vec_push(c->reg->arena, &c->reg->collects, s)) return cp_oom(c);
    return c->oom ? ST_ERROR : ST_OK;
}
static Status for_query(Cp *c, const PlStmt *s) {
    if (!s->query) return cp_refuse(c, "a loop over dynamic SQL");
    LoopRun *k = arena_new_of(c->arena, LoopRun);
    if (!k) return cp_oom(c);
    *k = (LoopRun){.s = s, .loop = c->flow.next_block++, .cur = -1};
    if (c->uses_found) {
        if ((k->cur = cp_var_new(c, NULL, type_make(T_BOOL))) < 0) return ST_ERROR;
        TRY(cp_store_int(c, k->cur, 0));
    }
    TRY(cp_control(c, OP_P_BLOCK, 0, k->loop));
    TRY(query_loop(c, k));
    TRY(cp_control(c, OP_P_ENDBLOCK, 0, k->loop));
    return c->uses_found ? cp_copy(c, c->at.var_of[c->at.f->found], k->cur) : ST_OK;
}

static Status exit_statement(Cp *c, const PlStmt *s) {
    CpLabel *l = NULL;
    for (int64_t i = c->flow.labels.len - 1; i >= 0 && !l; i--)
        if (c->flow.labels.items[i].loop == s->loop) l = &c->flow.labels.items[i];
    if (!l) return cp_refuse(c, "EXIT of a loop that is not around it");
    int32_t to = s->is_exit ? l->exit_block : l->next_block;
    bool step = !s->is_exit && l->exit_block == l->next_block;
    Expr *e = s->expr ? cp_expr(c, s->expr, type_make(T_BOOL)) : NULL;
    if (s->expr && !e) return ST_ERROR;
    if (e) TRY(cp_control(c, OP_P_IF, cp_condition(c, e), 0));
    TRY(cp_leave(c, to, step));
    return e ? cp_control(c, OP_P_ENDIF, 0, 0) : ST_OK;
}

/* ---- errors ------------------------------------------------------------------------------------------------------ */
static Status reraise(Cp *c, int32_t number) {
    Instr *in = builder_emit(&c->pipe.b, OP_RERAISE, PH_BOOL, 0, 0, 0, 0);
    if (!in) return cp_oom(c);
    in->imm = number;
    cp_mark(c);
    return ST_OK;
}
/* ---- the rest ---------------------------------------------------------------------------------------------------- */
static Status store_caught(Cp *c, int32_t var, int32_t number, int what) {
    Reg t = lower_reg(&c->low, &c->pipe, PH_STR, type_make(T_TEXT), false, (Range){0});
    Instr *in = t ? builder_emit(&c->pipe.b, OP_CAUGHT, PH_STR, t, 0, 0, 0) : NULL;
    if (!in) return cp_oom(c);
    in->imm = (int64_t)number << CAUGHT_BITS | what;
    return cp_store(c, var, t);
}
/* What an error in the block does, if some handler is for it. */
static Status handlers(Cp *c, const PlStmt *s) {
    int32_t number = c->at.caught;
    for (int32_t i = 0; i < s->scope.n_handlers; i++) {
        const PlHandler *h = &s->scope.handlers[i];
        CatchSite *x = arena_new_of(c->arena, CatchSite);
        Reg r = x ? lower_reg(&c->low, &c->pipe, PH_BOOL, type_make(T_BOOL), false, (Range){true, 0, 1}) : 0;
        Instr *in = r ? builder_emit(&c->pipe.b, OP_CATCHES, PH_BOOL, r, 0, 0, 0) : NULL;
        if (!in) return cp_oom(c);
        *x = (CatchSite){number, h->n_states, h->states};
        in->aux = x;
        TRY(cp_control(c, OP_P_IF, r, 0));
        for (int k = 0; k < 2; k++) {
            int32_t var = c->at.var_of[k ? s->scope.message_var : s->scope.state_var];
            if (var < 0) return cp_refuse(c, "SQLSTATE without a variable");
            TRY(store_caught(c, var, number, k ? CAUGHT_MESSAGE : CAUGHT_SQLSTATE));
        }
        cp_mark(c);
        TRY(body(c, &h->body));
        TRY(cp_control(c, OP_P_ELSE, 0, 0));
    }
    TRY(reraise(c, number));
    for (int32_t i = 0; i < s->scope.n_handlers; i++) TRY(cp_control(c, OP_P_ENDIF, 0, 0));
    return ST_OK;
}
/* The block's statements and its handlers. */
static Status handled_body(Cp *c, const PlStmt *s) {
    int32_t outer = c->at.caught;
    c->no_locks = true; /* what a block that fails has locked is not given back */
    int32_t number = c->flow.n_tries++;
    TRY(cp_control(c, OP_P_TRY, 0, number));
    c->flow.tries++;
    TRY(body(c, &s->body));
    c->flow.tries--;
    TRY(cp_control(c, OP_P_CATCH, 0, number));
    c->at.caught = number;
    TRY(handlers(c, s));
    c->at.caught = outer;
    return cp_control(c, OP_P_ENDTRY, 0, number);
}

static Status block_body(Cp *c, const PlStmt *s) {
    return s->scope.n_handlers > 0 ? handled_body(c, s) : body(c, &s->body);
}

static Status block(Cp *c, const PlStmt *s) {
    for (int32_t i = 0; i < s->scope.n_inits; i++) {
        const PlVar *v = &c->at.f->vars[s->scope.inits[i]];
        c->at.line = v->line; /* for reasons; errors have the block's */
        if (v->kind != PLV_SCALAR) {
            CpRecord *r = &c->at.records[s->scope.inits[i]];
            if (v->init) return cp_refuse(c, "a record with a default");
            for (int32_t k = 0; k < r->n; k++) TRY(cp_store_null(c, r->vars[k]));
            continue;
        }
        if (v->cursor) return cp_refuse(c, "a cursor");
        if (v->not_null) return cp_refuse(c, "a variable that is NOT NULL");
        int32_t var = c->at.var_of[s->scope.inits[i]];
        if (var < 0) continue;
        c->at.line = s->line;
        if (!v->init) {
            TRY(cp_store_null(c, var));
            continue;
        }
        Expr *e = cp_expr(c, v->init, type_make(T_UNKNOWN));
        if (!e) return ST_ERROR;
        TRY(cp_assign(c, var, e));
        cp_mark(c);
    }
    c->at.line = s->line;
    if (!s->label) return block_body(c, s);
    int32_t number = c->flow.next_block++;
    CpLabel label = {.loop = s->loop, .exit_block = number, .next_block = number};
    if (!vec_push(c->arena, &c->flow.labels, label)) return cp_oom(c);
    TRY(cp_control(c, OP_P_BLOCK, 0, number));
    TRY(block_body(c, s));
    TRY(cp_control(c, OP_P_ENDBLOCK, 0, number));
    c->flow.labels.len--;
    return ST_OK;
}

/* Callers get them after the bulk, in the order of calls. */
static Status notice_to(Cp *c, const PlStmt *s, const RaiseSite *say) {
    static const char *const severities[] = {[PLR_INFO] = "INFO", [PLR_NOTICE] = "NOTICE", [PLR_WARNING] = "WARNING"};
    NoticeSite *x = arena_new_of(c->arena, NoticeSite);
    Instr *in = x ? builder_emit(&c->pipe.b, OP_NOTICE, PH_BOOL, 0, 0, 0, 0) : NULL;
    if (!in) return cp_oom(c);
    *x = (NoticeSite){.say = *say, .severity = severities[s->raise.level]};
    in->aux = x;
    cp_mark(c);
    char *context =
        arena_printf(c->arena, "PL/pgSQL function %.180s line %d at RAISE", c->at.f->signature, (int)s->line);
    if (context) key_names_only(context);
    return (x->context = context) ? ST_OK : cp_oom(c);
}
static Status raise_statement(Cp *c, const PlStmt *s) {
    if (s->raise.level <= PLR_LOG) {                 /* not reported: its arguments are computed */
        for (int32_t i = 0; i < s->n_options; i++) { /* NULL would be an error */
            Expr *e = cp_expr(c, s->options[i].expr, type_make(T_TEXT));
            if (!e) return ST_ERROR;
            while (e->kind == EX_CAST) e = e->args[0];
            if (e->kind != EX_CONST || e->u.value.is_null || strcmp(s->options[i].name, "errcode") == 0)
                return cp_refuse(c, "RAISE of less than a notice with a computed %s", s->options[i].name);
        }
        for (int32_t i = 0; i < s->n_args; i++) {
            Expr *e = cp_expr(c, s->args[i], type_make(T_UNKNOWN));
            int32_t var =
                e && expr_can_fail(e) ? cp_var_new(c, NULL, e->type.id == T_UNKNOWN ? type_make(T_TEXT) : e->type) : -1;
            if (!e) return ST_ERROR;
            if (var >= 0) TRY(cp_assign(c, var, e));
        }
        return ST_OK;
    }
    if (!s->raise.sqlstate && !s->raise.format && !s->raise.condition && s->n_options == 0) {
        return c->at.caught >= 0 ? reraise(c, c->at.caught) : cp_refuse(c, "RAISE without anything");
    }
    bool notice = s->raise.level < PLR_EXCEPTION;
    const char *state = s->raise.sqlstate ? s->raise.sqlstate
                        : notice          ? s->raise.level == PLR_WARNING ? "01000" : "00000"
                                          : ERR_RAISE_EXCEPTION,
               *detail = NULL, *hint = NULL, *format = s->raise.format ? s->raise.format : s->raise.condition;
    ErrNames *names = arena_new_of(c->arena, ErrNames);
    if (!names) return cp_oom(c);
    for (int32_t i = 0; i < s->n_options; i++) {
        const PlOption *o = &s->options[i];
        ErrField field;
        Expr *e = cp_expr(c, o->expr, type_make(T_TEXT));
        if (!e) return ST_ERROR;
        while (e->kind == EX_CAST) e = e->args[0];
        if (e->kind != EX_CONST || e->u.value.is_null || type_phys(e->type) != PH_STR)
            return cp_refuse(c, "RAISE with a computed %s", o->name);
        const char *text = arena_strndup(c->arena, e->u.value.u.str.ptr, e->u.value.u.str.len);
        if (!text) return cp_oom(c);
        if (strcmp(o->name, "errcode") == 0) {
            const char *other, *named = pl_condition(text, &other);
            state = named ? named : text;
            if (strlen(state) != 5) return cp_refuse(c, "RAISE with unknown condition \"%s\"", text);
        } else if (strcmp(o->name, "message") == 0) {
            if (strchr(text, '%')) return cp_refuse(c, "RAISE with a message that contains %%");
            format = text;
        } else if (strcmp(o->name, "detail") == 0) {
            detail = text;
        } else if (strcmp(o->name, "hint") == 0) {
            hint = text;
        } else if (pl_error_field(o->name, &field)) {
            names->of[field] = text;
        }
    }
    Reg *args = arena_array(c->arena, Reg, s->n_args + 1);
    if (!args) return cp_oom(c);
    Expr **e = arena_array(c->arena, Expr *, s->n_args + 1);
    if (!e) return cp_oom(c);
    for (int32_t i = 0; i < s->n_args; i++) /* what is computed before them, first */
        if (!(e[i] = cp_expr(c, s->args[i], type_make(T_UNKNOWN)))) return ST_ERROR;
    for (int32_t i = 0; i < s->n_args; i++)
        if (!(e[i] = cp_cast(c, e[i], type_make(T_TEXT))) || !(args[i] = cp_lower_as(c, e[i], type_make(T_TEXT))))
            return ST_ERROR;
    RaiseSite say = {.sqlstate = state,
                     .format = format,
                     .detail = detail,
                     .hint = hint,
                     .n = s->n_args,
                     .args = args,
                     .names = names};
    if (!format) say.format = s->raise.sqlstate || !notice ? state : "";
    return notice ? notice_to(c, s, &say) : cp_raise_site(c, &say);
}

static Status assert_statement(Cp *c, const PlStmt *s) {
    Expr *e = cp_expr(c, s->expr, type_make(T_BOOL));
    if (!e) return ST_ERROR;
    if (s->expr2) return cp_refuse(c, "ASSERT with a message");
    TRY(cp_control(c, OP_P_IF, cp_condition(c, e), 0));
    TRY(cp_control(c, OP_P_ELSE, 0, 0));
    TRY(cp_raise(c, ERR_ASSERT_FAILURE, "assertion failed", NULL));
    return cp_control(c, OP_P_ENDIF, 0, 0);
}

static Status return_statement(Cp *c, const PlStmt *s) {
    if (s->expr && c->at.ret < 0) return cp_refuse(c, "RETURN of a record");
    if (s->expr) {
        Expr *e = cp_expr(c, s->expr, type_make(T_UNKNOWN));
        if (!e) return ST_ERROR;
        TRY(cp_assign(c, c->at.ret, e));
    }
    if (c->at.call) return cp_leave(c, c->at.call->block, false);
    return cp_control(c, OP_P_RETURN, 0, 0);
}

static Status case_statement(Cp *c, const PlStmt *s) {
    if (s->expr) {
        Expr *e = cp_expr(c, s->expr, type_make(T_UNKNOWN));
        if (!e) return ST_ERROR;
        Type t = e->type.id == T_UNKNOWN ? type_make(T_TEXT) : e->type;
        if (c->at.var_of[s->arms.case_var] < 0 && (c->at.var_of[s->arms.case_var] = cp_var_new(c, NULL, t)) < 0)
            return ST_ERROR;
        TRY(cp_assign(c, c->at.var_of[s->arms.case_var], e));
    }
    return arms(c, s, 0);
}

/* a[i] := x: the whole array is made anew. A subscript that is NULL is refused before x is computed. */
static Status assign_element(Cp *c, const PlStmt *s) {
    int32_t array = cp_ref(c, s->targets[0]);
    Type i4 = type_make(T_INT4);
    if (array < 0) return cp_refuse(c, "an assignment to a record");
    Type t = c->vars.items[array].type;
    if (t.id != T_ARRAY) return cp_refuse(c, "an assignment to an element of what is no array");
    if (s->n_subscripts != 1 || s->subscripts[0].is_slice)
        return cp_refuse(c, "an assignment to a slice, or to an element of several dimensions");
    Expr *at = cp_expr(c, s->subscripts[0].upper, i4), *x;
    if (!at) return ST_ERROR;
    if (at->kind != EX_CONST || at->u.value.is_null) {
        int32_t var = cp_var_new(c, NULL, i4);
        if (var < 0) return ST_ERROR;
        TRY(cp_assign(c, var, at));
        TRY(cp_control(c, OP_P_IF, cp_test(c, OP_IS_NULL, cp_load(c, var)), 0));
        TRY(cp_raise(c, ERR_NULL_NOT_ALLOWED, "array subscript in assignment must not be null", NULL));
        TRY(cp_control(c, OP_P_ENDIF, 0, 0));
        if (!(at = expr_col(&c->ctx, c->vars.items[var].col))) return cp_oom(c);
    }
    if (!(x = cp_expr(c, s->expr, type_make(T_UNKNOWN))) || !(x = cp_cast(c, x, type_element(t)))) return ST_ERROR;
    Expr *old = expr_col(&c->ctx, c->vars.items[array].col), *e = old ? expr_new(&c->ctx, EX_FUNC, t, 3) : NULL;
    if (!e) return cp_oom(c);
    e->u.func = func_named(slice_of("array_set"));
    e->args[0] = old;
    e->args[1] = at;
    e->args[2] = x;
    return cp_assign(c, array, e);
}
static Status assign_statement(Cp *c, const PlStmt *s) {
    if (s->n_subscripts) return assign_element(c, s);
    if (s->is_row || s->n_targets != 1) return cp_refuse(c, "an assignment to a record");
    int32_t var = cp_ref(c, s->targets[0]);
    if (var < 0) return cp_refuse(c, "an assignment to a record");
    Expr *e = cp_expr(c, s->expr, type_make(T_UNKNOWN));
    if (!e) return ST_ERROR;
    const PlVar *v = &c->at.f->vars[s->targets[0].var];
    if (v->not_null && !s->targets[0].field) return cp_refuse(c, "a variable that is NOT NULL");
    return cp_assign(c, var, e);
}

/* What OP_CAUGHT gives for this name; -1: nothing. */
static int caught_item(const char *name) {
    static const char *const items[] = {[CAUGHT_SQLSTATE] = "returned_sqlstate",
                                        [CAUGHT_MESSAGE] = "message_text",
                                        [CAUGHT_DETAIL] = "pg_exception_detail",
                                        [CAUGHT_HINT] = "pg_exception_hint"};
    ErrField field;
    for (int i = 0; i < (int)ARRAY_LEN(items); i++)
        if (strcmp(name, items[i]) == 0) return i;
    return pl_error_field(name, &field) ? CAUGHT_NAME + (int)field : -1;
}
/* ROW_COUNT; in handlers what they caught, but for its context. */
static Status diagnostics_statement(Cp *c, const PlStmt *s) {
    for (int32_t i = 0; i < s->n_targets; i++) {
        const char *name = s->options[i].name;
        int32_t var = cp_ref(c, s->targets[i]), from = c->at.row_count;
        if (var < 0) return cp_refuse(c, "GET DIAGNOSTICS into a record");
        int item = caught_item(name);
        if (item >= 0) {
            if (c->at.caught < 0) return cp_refuse(c, "GET STACKED DIAGNOSTICS outside a handler");
            if ((from = cp_var_new(c, NULL, type_make(T_TEXT))) < 0) return ST_ERROR;
            TRY(store_caught(c, from, c->at.caught, item));
        } else if (strcmp(name, "row_count") != 0 || from < 0) {
            return cp_refuse(c, "GET DIAGNOSTICS of %s", name);
        }
        Expr *v = expr_col(&c->ctx, c->vars.items[from].col);
        if (!v) return cp_oom(c);
        TRY(cp_assign(c, var, v));
    }
    return ST_OK;
}

static Status one(Cp *c, const PlStmt *s) {
    switch ((PlStmtKind)s->kind) {
    case PLS_BLOCK: return block(c, s);
    case PLS_ASSIGN: return assign_statement(c, s);
    case PLS_IF: return arms(c, s, 0);
    case PLS_CASE: return case_statement(c, s);
    case PLS_LOOP:
    case PLS_WHILE: return loop_statement(c, s);
    case PLS_FOR: return for_numbers(c, s);
    case PLS_FOR_QUERY: return for_query(c, s);
    case PLS_EXIT: return exit_statement(c, s);
    case PLS_RETURN: return return_statement(c, s);
    case PLS_RAISE: return raise_statement(c, s);
    case PLS_ASSERT: return assert_statement(c, s);
    case PLS_FOREACH: return foreach_statement(c, s);
    case PLS_SQL:
    case PLS_PERFORM: return sql_statement(c, s, s->query);
    case PLS_CALL: return cp_call_statement(c, s);
    case PLS_DIAGNOSTICS: return diagnostics_statement(c, s);
    case PLS_NULL: return ST_OK;
    default: return cp_refuse(c, "%s", pl_stmt_name((PlStmtKind)s->kind));
    }
}
/* Where the statement ends that has touches. */
static Status end_touches(Cp *c) {
    Instr *in = c->places.touched ? builder_emit(&c->pipe.b, OP_UNLOCK, PH_BOOL, 0, 0, 0, 0) : NULL;
    if (!in) return c->places.touched ? cp_oom(c) : ST_OK;
    in->imm = c->places.statement;
    return ST_OK;
}
static Status statement(Cp *c, const PlStmt *s) {
    TRY(cp_stack(c));
    if (++c->flow.n_statements > CP_STATEMENTS_MAX)
        return cp_refuse(c, "too many statements in loops and calls inside each other");
    int32_t line = c->at.line;
    const char *place = c->at.place;
    c->at.line = s->line;
    c->at.place = pl_stmt_words(s);
    CpPlaces around = c->places;
    c->places.statement = c->places.n_statements++;
    c->places.loops = c->flow.loops;
    c->places.touched = false;
    cp_fresh(c);
    TRY(one(c, s));
    TRY(end_touches(c));
    around.n_statements = c->places.n_statements;
    c->places = around;
    cp_mark(c);
    c->at.line = line;
    c->at.place = place;
    return ST_OK;
}
