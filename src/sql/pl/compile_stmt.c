/* compile_stmt.c - PL/pgSQL statements. */
#include "sql/pl/compile_int.h"

static Status statement(Cp *c, const PlStmt *s);

static Status body(Cp *c, const PlBody *b) {
    for (int32_t i = 0; i < b->n; i++) TRY(statement(c, b->stmts[i]));
    return ST_OK;
}
Status cp_body(Cp *c, const PlBody *b) { return body(c, b); }

/* A value known here, which the footprint may only assign where it is sure to get there. */
static Status set_bool(Cp *c, int32_t var, bool v) { return cp_foot(c) && c->blind ? cp_unknown(c, var) : cp_store_int(c, var, v); }
static Status set_found(Cp *c, bool v) {
    int32_t var = c->var_of[c->f->found];
    return c->uses_found && var >= 0 ? set_bool(c, var, v) : ST_OK;
}

/* ---- footprints of what is gone through several times or not surely ------------------------------- */
CpState cp_state(const Cp *c) {
    return (CpState){c->pipe.b.instrs.len, c->pipe.b.regs.len, c->pipe.ranges.len, c->lines.len, c->labels.len, c->write_tables.len, c->pipe.b.n_sites, c->blind};
}
void cp_state_back(Cp *c, CpState s) {
    cp_fresh(c);
    c->pipe.b.instrs.len = s.instrs;
    c->pipe.b.regs.len = s.regs;
    c->pipe.ranges.len = MIN_OF(s.ranges, s.regs);
    c->pipe.b.n_sites = s.sites;
    c->lines.len = c->places.len = MIN_OF(s.lines, c->lines.len);
    c->labels.len = s.labels;
    c->write_tables.len = s.writes;
    c->blind = s.blind;
}
/* What is known at the beginning of something that may run several times: what stays known after it as well. `run` is compiled for trial. */
typedef Status (*Part)(Cp *c, void *ctx);
static Status settle_known(Cp *c, Part run, void *ctx) {
    for (bool again = true; again;) {
        int64_t n = c->vars.len;
        bool *before = cp_known_copy(c);
        if (!before) return ST_ERROR;
        CpState s = cp_state(c);
        TRY(run(c, ctx));
        cp_state_back(c, s);
        again = false;
        for (int64_t i = 0; i < n; i++) {
            again |= before[i] && !c->vars.items[i].known;
            c->vars.items[i].known &= before[i];
        }
        for (int64_t i = n; i < c->vars.len; i++) c->vars.items[i].known = false;
    }
    return ST_OK;
}
/* Gone through once, in case: nothing is assigned. */
static Status run_blind(Cp *c, Part run, void *ctx) {
    bool blind = c->blind;
    c->blind = true;
    c->open++;
    TRY(settle_known(c, run, ctx));
    TRY(run(c, ctx));
    c->open--;
    c->blind = blind;
    return ST_OK;
}

/* ---- targets -------------------------------------------------------------------------------------------- */
/* The variables that a statement assigns, for values of these types: a record takes their shape. */
static int32_t *target_vars(Cp *c, const PlStmt *s, int32_t n, const Type *types, const char *const *names, int32_t *n_out) {
    int32_t *v = arena_array(c->arena, int32_t, MAX_OF(n, s->n_targets) + 1);
    if (!v) return c->oom = true, NULL;
    if (!s->is_row) {
        for (int32_t i = 0; i < s->n_targets; i++)
            if ((v[i] = cp_ref(c, s->targets[i])) < 0) return (void)cp_refuse(c, "a record among several targets"), NULL;
        *n_out = s->n_targets;
        return v;
    }
    CpRecord *r = &c->records[s->targets[0].var];
    if (c->f->vars[s->targets[0].var].kind == PLV_RECORD) {
        bool same = r->n == n;
        for (int32_t i = 0; i < n && same; i++) same = type_eq(c->vars.items[r->vars[i]].type, types[i]) && strcmp(r->names[i], names[i]) == 0;
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

/* The row's values to the variables, all computed before the first is stored; what the row does not have becomes NULL. */
static Status assign_row(Cp *c, const BoundStmt *b, int32_t n, const int32_t *vars) {
    Reg *regs = arena_array(c->arena, Reg, n + 1);
    if (!regs) return cp_oom(c);
    for (int32_t i = 0; i < n; i++) {
        regs[i] = 0;
        if (i >= b->n_result) continue;
        Type t = c->vars.items[vars[i]].type;
        Expr *e = expr_col(&c->ctx, b->result[i]);
        if (!e) return cp_oom(c);
        if (!(e = cp_cast(c, e, t))) return ST_ERROR;
        if (cp_foot(c) && (c->blind || !cp_known(c, e))) continue;
        if (!(regs[i] = cp_lower_as(c, e, t))) return ST_ERROR;
    }
    for (int32_t i = 0; i < n; i++) {
        if (regs[i]) TRY(cp_store(c, vars[i], regs[i]));
        else if (i >= b->n_result) TRY(cp_store_null(c, vars[i]));
        else TRY(cp_unknown(c, vars[i]));
    }
    return ST_OK;
}

typedef struct Into {
    BoundStmt *b;
    int32_t n;
    int32_t *vars;
    int32_t block;      /* left after the first row; -1: all rows are gone through */
    int32_t count;      /* STRICT: variable that says that there was a row; -1 */
    bool sure;          /* the footprint got here knowing that it does */
    bool *known;        /* what is known where the block is left */
    bool single;
} Into;

static Status into_row(Cp *c, void *ctx) {
    Into *k = ctx;
    if (k->count >= 0 && !k->single && !cp_foot(c)) {
        TRY(cp_control(c, OP_P_IF, cp_load(c, k->count), 0));
        TRY(cp_raise(c, ERR_TOO_MANY_ROWS, "query returned more than one row", 0, NULL, NULL, "Make sure the query returns a single row, or use LIMIT 1."));
        TRY(cp_control(c, OP_P_ENDIF, 0, 0));
    }
    if (k->count >= 0 && !cp_foot(c)) TRY(cp_store_int(c, k->count, 1));
    bool blind = cp_foot(c) && c->blind;
    TRY(assign_row(c, k->b, k->n, k->vars));
    TRY(set_found(c, true));
    if (blind) return ST_OK;
    k->sure = true;
    if (k->block >= 0) {
        if (cp_foot(c) && !(k->known = cp_known_copy(c))) return ST_ERROR;
        TRY(cp_leave(c, k->block, false));
    }
    return ST_OK;
}
static Status found_row(Cp *c, void *ctx) {
    (void)ctx;
    return set_found(c, true);
}

static Status check_loop_writes(Cp *c, const Plan *p, int64_t from);

/* A statement that reads its own targets sees them as they were until it ends: its rows go to other variables first. */
static Status spare_targets(Cp *c, Into *k) {
    bool read = false;
    for (int64_t r = 0; r < c->names.refs.len; r++)
        for (int32_t i = 0; i < k->n; i++) read |= cp_ref(c, c->names.refs.items[r]) == k->vars[i];
    if (!read) return ST_OK;
    int32_t *spare = arena_array(c->arena, int32_t, k->n + 1);
    if (!spare) return cp_oom(c);
    for (int32_t i = 0; i < k->n; i++)
        if ((spare[i] = cp_var_new(c, NULL, c->vars.items[k->vars[i]].type)) < 0) return ST_ERROR;
    k->vars = spare;
    return ST_OK;
}

static Status sql_statement(Cp *c, const PlStmt *s, const PlExpr *q) {
    c->in_statement = true;
    BoundStmt *b = cp_bind(c, q->stmt, q);
    c->in_statement = false;
    if (!b) return ST_ERROR;
    bool change = b->kind != STMT_SELECT;
    if (!s->has_into) {
        if (!change && s->kind == PLS_SQL) return cp_refuse(c, "a query without destination");
        TRY(set_found(c, false));
        if (b->kind == STMT_INSERT) TRY(cp_insert(c, b, c->uses_found ? found_row : NULL, NULL));
        else if (b->kind == STMT_UPDATE) TRY(cp_update(c, b, c->uses_found ? found_row : NULL, NULL, NULL));
        else if (b->kind == STMT_DELETE) TRY(cp_delete(c, b, c->uses_found ? found_row : NULL, NULL, NULL));
        else TRY(cp_rows(c, b->plan, b->n_result, b->result, found_row, NULL, NULL));
        return ST_OK;
    }
    Type *types = arena_array(c->arena, Type, b->n_result + 1);
    if (!types) return cp_oom(c);
    for (int32_t i = 0; i < b->n_result; i++) types[i] = c->ctx.cols.items[b->result[i]].type;
    Into k = {.b = b, .block = -1, .count = -1};
    if (!(k.vars = target_vars(c, s, b->n_result, types, b->names, &k.n))) return ST_ERROR;
    int32_t *targets = k.vars;
    TRY(spare_targets(c, &k));
    bool strict = s->strict || change; /* changes with RETURNING INTO: more than one row is an error */
    if (strict && b->kind != STMT_INSERT) {
        if ((k.count = cp_var_new(c, NULL, type_make(T_BOOL))) < 0) return ST_ERROR;
        TRY(cp_store_int(c, k.count, 0));
    } else if (!strict) {
        k.block = c->next_block++;
        TRY(cp_control(c, OP_P_BLOCK, 0, k.block));
    }
    TRY(set_found(c, false));
    for (int32_t i = 0; k.block < 0 && i < k.n; i++) TRY(cp_store_null(c, k.vars[i])); /* without a row the targets are NULL */
    if (b->kind == STMT_INSERT) TRY(cp_insert(c, b, into_row, &k));
    else if (b->kind == STMT_UPDATE) TRY(cp_update(c, b, into_row, &k, &k.single));
    else if (b->kind == STMT_DELETE) TRY(cp_delete(c, b, into_row, &k, &k.single));
    else TRY(cp_rows(c, b->plan, b->n_result, b->result, into_row, &k, &k.single));
    if (k.block >= 0) {
        if (cp_foot(c) && !k.sure) { /* a row or none: nobody knows */
            for (int32_t i = 0; i < k.n; i++) TRY(cp_unknown(c, k.vars[i]));
        } else {
            for (int32_t i = 0; i < k.n; i++) TRY(cp_store_null(c, k.vars[i]));
            if (cp_foot(c) && k.known)
                for (int32_t i = 0; i < k.n; i++) c->vars.items[k.vars[i]].known &= k.known[k.vars[i]];
        }
        TRY(cp_control(c, OP_P_ENDBLOCK, 0, k.block));
    } else if (cp_foot(c) && !k.sure) {
        for (int32_t i = 0; i < k.n; i++) TRY(cp_unknown(c, k.vars[i]));
    }
    for (int32_t i = 0; i < k.n && k.vars != targets; i++) {
        if (cp_foot(c) && c->blind) TRY(cp_unknown(c, targets[i]));
        else TRY(cp_copy(c, targets[i], k.vars[i]));
    }
    if (s->strict && k.count >= 0 && !cp_foot(c)) {
        Reg no = cp_test(c, OP_IS_FALSE, cp_load(c, k.count));
        if (!no) return ST_ERROR;
        TRY(cp_control(c, OP_P_IF, no, 0));
        TRY(cp_raise(c, ERR_NO_DATA_FOUND, "query returned no rows", 0, NULL, NULL, NULL));
        TRY(cp_control(c, OP_P_ENDIF, 0, 0));
    }
    return ST_OK;
}

/* ---- conditions ------------------------------------------------------------------------------------------ */
typedef struct Arms { const PlStmt *s; int32_t i; } Arms;
static Status arms(Cp *c, const PlStmt *s, int32_t i) {
    if (i == s->n_arms) {
        if (s->kind == PLS_CASE && !s->has_else) {
            if (cp_foot(c)) return ST_OK;
            return cp_raise(c, ERR_CASE_NOT_FOUND, "case not found", 0, NULL, NULL, "CASE statement is missing ELSE part.");
        }
        return body(c, &s->body);
    }
    Expr *e = cp_expr(c, s->arms[i].cond, type_make(T_BOOL));
    if (!e) return ST_ERROR;
    bool *before = cp_foot(c) ? cp_known_copy(c) : NULL;
    if (cp_foot(c) && !before) return ST_ERROR;
    int64_t n = c->vars.len;
    bool known = cp_known(c, e), blind = c->blind;
    if (known) TRY(cp_control(c, OP_P_IF, cp_condition(c, e), 0));
    else c->blind = true;
    TRY(body(c, &s->arms[i].body));
    bool *after = cp_foot(c) ? cp_known_copy(c) : NULL;
    int64_t n_after = c->vars.len;
    if (cp_foot(c)) {
        if (!after) return ST_ERROR;
        cp_known_set(c, before, n);
    }
    bool more = i + 1 < s->n_arms || s->body.n > 0 || (s->kind == PLS_CASE && !s->has_else);
    if (more && known) TRY(cp_control(c, OP_P_ELSE, 0, 0));
    if (more) TRY(arms(c, s, i + 1));
    if (known) TRY(cp_control(c, OP_P_ENDIF, 0, 0));
    c->blind = blind;
    if (cp_foot(c)) cp_known_meet(c, after, n_after);
    return ST_OK;
}

/* ---- loops --------------------------------------------------------------------------------------------------- */
/* One time through a loop: what stands between its P_LOOP and P_ENDLOOP. */
typedef struct LoopRun {
    const PlStmt *s;
    int32_t loop;        /* number of the P_LOOP */
    int32_t cur, hi, by; /* FOR */
    int32_t var;         /* FOR: the loop's variable */
    bool open;           /* footprint: no loop is made: EXIT and CONTINUE go nowhere */
    BoundStmt *b;        /* FOR over a query */
    int32_t *vars, n_vars;
    bool may_exit;       /* footprint: some EXIT is reached by a condition that is not known */
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

static Status loop_part(Cp *c, void *ctx) {
    LoopRun *k = ctx;
    const PlStmt *s = k->s;
    CpLabel label = {.loop = s->loop, .exit_block = k->loop, .next_block = k->loop, .dead = k->open};
    if (!vec_push(c->arena, &c->labels, label)) return cp_oom(c);
    if (s->kind == PLS_WHILE && !k->open) {
        Expr *e = cp_expr(c, s->expr, type_make(T_BOOL));
        if (!e) return ST_ERROR;
        if (cp_known(c, e)) TRY(leave_unless(c, cp_condition(c, e), k->loop));
        else c->blind = true; /* seen by the caller */
    } else if (s->kind == PLS_WHILE) {
        if (!cp_expr(c, s->expr, type_make(T_BOOL))) return ST_ERROR;
    }
    if (s->kind == PLS_FOR && !k->open) {
        TRY(leave_unless(c, cp_cmp(c, s->reverse ? OP_GE : OP_LE, PH_I64, cp_load(c, k->cur), cp_load(c, k->hi)), k->loop));
        TRY(cp_store(c, k->var, lower_as(&c->low, &c->pipe, cp_load(c, k->cur), PH_I32)));
    }
    bool blind = c->blind;
    TRY(body(c, &s->body));
    k->may_exit |= c->labels.items[--c->labels.len].may_exit;
    c->blind = blind || cp_skipping(c);
    if (k->open) return ST_OK;
    TRY(cp_control(c, OP_P_STEP, 0, k->loop));
    if (s->kind == PLS_FOR) {
        TRY(cp_store(c, k->cur, add64(c, s->reverse ? OP_SUB_N : OP_ADD_N, cp_load(c, k->cur), cp_load(c, k->by))));
    }
    return ST_OK;
}

static Status loop_known(Cp *c, LoopRun *k) {
    k->loop = c->next_block++;
    int64_t clock = c->clock;
    if (cp_foot(c)) {
        bool blind = c->blind;
        TRY(settle_known(c, loop_part, k));
        c->blind = blind;
    }
    TRY(cp_control(c, OP_P_LOOP, 0, k->loop));
    bool *before = cp_foot(c) ? cp_known_copy(c) : NULL;
    if (cp_foot(c) && !before) return ST_ERROR;
    int64_t n = c->vars.len;
    TRY(loop_part(c, k));
    TRY(cp_control(c, OP_P_ENDLOOP, 0, k->loop));
    if (cp_foot(c)) cp_known_meet(c, before, n);
    if (cp_foot(c) && k->may_exit) cp_forget_since(c, clock);
    return ST_OK;
}

/* Does the loop's end depend on known values alone? Its condition, and for LOOP an EXIT or RETURN that is reached knowingly, are tried out. */
static Status loop_statement(Cp *c, const PlStmt *s) {
    LoopRun *k = arena_new_of(c->arena, LoopRun);
    if (!k) return cp_oom(c);
    *k = (LoopRun){.s = s, .loop = c->next_block++};
    if (!cp_foot(c)) return loop_known(c, k);
    if (!c->blind) {
        CpState st = cp_state(c);
        bool *before = cp_known_copy(c);
        if (!before) return ST_ERROR;
        int64_t n = c->vars.len, first = c->pipe.b.instrs.len;
        TRY(settle_known(c, loop_part, k));
        TRY(loop_part(c, k));
        bool ends = !c->blind;
        if (s->kind == PLS_LOOP) {
            ends = false;
            for (int64_t i = first; i < c->pipe.b.instrs.len; i++) {
                const Instr *in = &c->pipe.b.instrs.items[i];
                ends |= in->op == OP_P_RETURN || (in->op == OP_P_LEAVE && in->imm == k->loop && !in->aux);
            }
        }
        cp_state_back(c, st);
        cp_known_set(c, before, n);
        if (ends) return loop_known(c, k);
    }
    k->open = true;
    return run_blind(c, loop_part, k);
}

static Status null_bound(Cp *c, Expr *e, const char *what) {
    Reg r = cp_lower_as(c, e, type_make(T_INT4));
    if (!r) return ST_ERROR;
    if (!lower_info(&c->pipe, r)->nullable) return ST_OK;
    Reg n = cp_test(c, OP_IS_NULL, r);
    if (!n) return ST_ERROR;
    TRY(cp_control(c, OP_P_IF, n, 0));
    TRY(cp_raise(c, ERR_NULL_NOT_ALLOWED, what, 0, NULL, NULL, NULL));
    return cp_control(c, OP_P_ENDIF, 0, 0);
}
static Status store64(Cp *c, int32_t var, Expr *e) {
    Reg r = cp_lower_as(c, e, type_make(T_INT4));
    return r ? cp_store(c, var, lower_as(&c->low, &c->pipe, r, PH_I64)) : ST_ERROR;
}
static Status for_numbers(Cp *c, const PlStmt *s) {
    LoopRun *k = arena_new_of(c->arena, LoopRun);
    if (!k) return cp_oom(c);
    *k = (LoopRun){.s = s, .loop = c->next_block++};
    Type i4 = type_make(T_INT4);
    Expr *lo = cp_expr(c, s->expr, i4), *hi = lo ? cp_expr(c, s->expr2, i4) : NULL, *by = hi && s->expr3 ? cp_expr(c, s->expr3, i4) : NULL;
    if (!hi || (s->expr3 && !by)) return ST_ERROR;
    k->var = s->n_targets > 0 ? cp_ref(c, s->targets[0]) : c->var_of[s->implicit_var];
    if (k->var < 0) return cp_refuse(c, "a loop over numbers into a record");
    bool known = !cp_foot(c) || (!c->blind && cp_known(c, lo) && cp_known(c, hi) && (!by || cp_known(c, by)));
    if (!known) {
        TRY(cp_unknown(c, k->var));
        k->open = true;
        TRY(run_blind(c, loop_part, k));
        return set_bool(c, c->var_of[c->f->found], false), cp_unknown(c, c->var_of[c->f->found]);
    }
    Type i8 = type_make(T_INT8);
    if ((k->cur = cp_var_new(c, NULL, i8)) < 0 || (k->hi = cp_var_new(c, NULL, i8)) < 0 || (k->by = cp_var_new(c, NULL, i8)) < 0) return ST_ERROR;
    TRY(null_bound(c, lo, "lower bound of FOR loop cannot be null"));
    TRY(null_bound(c, hi, "upper bound of FOR loop cannot be null"));
    if (by) TRY(null_bound(c, by, "BY value of FOR loop cannot be null"));
    TRY(store64(c, k->cur, lo));
    TRY(store64(c, k->hi, hi));
    if (by) {
        TRY(store64(c, k->by, by));
        TRY(cp_control(c, OP_P_IF, cp_cmp(c, OP_LE, PH_I64, cp_load(c, k->by), cp_int(c, PH_I64, 0)), 0));
        TRY(cp_raise(c, ERR_INVALID_PARAMETER, "BY value of FOR loop must be greater than zero", 0, NULL, NULL, NULL));
        TRY(cp_control(c, OP_P_ENDIF, 0, 0));
    } else {
        TRY(cp_store_int(c, k->by, 1));
    }
    if (c->uses_found) { /* whether there is a first time */
        Reg any = cp_cmp(c, s->reverse ? OP_GE : OP_LE, PH_I64, cp_load(c, k->cur), cp_load(c, k->hi));
        int32_t first = cp_var_new(c, NULL, type_make(T_BOOL));
        if (first < 0) return ST_ERROR;
        TRY(cp_store(c, first, any));
        TRY(loop_known(c, k));
        return cp_store(c, c->var_of[c->f->found], cp_load(c, first));
    }
    return loop_known(c, k);
}

/* FOR over a query: the loop is that of the rows; a P_BLOCK around all of it to leave, one around the body to go on. */
static Status query_loop_row(Cp *c, void *ctx) {
    LoopRun *k = ctx;
    const PlStmt *s = k->s;
    int32_t next = c->next_block++;
    bool blind = cp_foot(c) && c->blind;
    TRY(assign_row(c, k->b, k->n_vars, k->vars));
    if (k->cur >= 0) TRY(set_bool(c, k->cur, true));
    CpLabel label = {.loop = s->loop, .exit_block = k->loop, .next_block = next, .dead = blind};
    if (!vec_push(c->arena, &c->labels, label)) return cp_oom(c);
    if (!blind) TRY(cp_control(c, OP_P_BLOCK, 0, next));
    TRY(body(c, &s->body));
    if (!blind) TRY(cp_control(c, OP_P_ENDBLOCK, 0, next));
    k->may_exit |= c->labels.items[--c->labels.len].may_exit;
    c->blind = blind || cp_skipping(c);
    return ST_OK;
}
static Status query_loop(Cp *c, void *ctx) {
    LoopRun *k = ctx;
    int64_t from = c->write_tables.len;
    /* The binding is done anew for every time through: what is compiled changes it. */
    c->snapshot = true;
    k->b = cp_bind(c, k->s->query->stmt, k->s->query);
    c->snapshot = false;
    if (!k->b) return ST_ERROR;
    if (k->b->kind != STMT_SELECT) return cp_refuse(c, "a loop over the rows of a change");
    Type *types = arena_array(c->arena, Type, k->b->n_result + 1);
    if (!types) return cp_oom(c);
    for (int32_t i = 0; i < k->b->n_result; i++) types[i] = c->ctx.cols.items[k->b->result[i]].type;
    if (!(k->vars = target_vars(c, k->s, k->b->n_result, types, k->b->names, &k->n_vars))) return ST_ERROR;
    TRY(cp_rows(c, k->b->plan, k->b->n_result, k->b->result, query_loop_row, k, NULL));
    return check_loop_writes(c, k->b->plan, from);
}
/* The query's rows are those of its start: nothing in the loop may change its tables. */
static Status check_loop_writes(Cp *c, const Plan *p, int64_t from) {
    if (p->kind == LP_SCAN)
        for (int64_t i = from; i < c->write_tables.len; i++)
            if (c->write_tables.items[i] == p->table->id) return cp_refuse(c, "a loop over a query whose table \"%s\" is changed in the loop", p->table->name);
    for (int32_t i = 0; i < p->n_children; i++) TRY(check_loop_writes(c, p->children[i], from));
    return ST_OK;
}
static Status for_query(Cp *c, const PlStmt *s) {
    if (!s->query) return cp_refuse(c, "a loop over dynamic SQL");
    LoopRun *k = arena_new_of(c->arena, LoopRun);
    if (!k) return cp_oom(c);
    *k = (LoopRun){.s = s, .loop = c->next_block++, .cur = -1};
    if (c->uses_found) {
        if ((k->cur = cp_var_new(c, NULL, type_make(T_BOOL))) < 0) return ST_ERROR;
        TRY(set_bool(c, k->cur, false));
    }
    int64_t clock = c->clock;
    if (cp_foot(c)) TRY(settle_known(c, query_loop, k));
    bool *before = cp_foot(c) ? cp_known_copy(c) : NULL;
    if (cp_foot(c) && !before) return ST_ERROR;
    int64_t n = c->vars.len;
    TRY(cp_control(c, OP_P_BLOCK, 0, k->loop));
    TRY(query_loop(c, k));
    TRY(cp_control(c, OP_P_ENDBLOCK, 0, k->loop));
    if (cp_foot(c)) cp_known_meet(c, before, n);
    if (cp_foot(c) && k->may_exit) cp_forget_since(c, clock);
    if (!c->uses_found) return ST_OK;
    int32_t found = c->var_of[c->f->found];
    if (cp_foot(c) && (c->blind || !c->vars.items[k->cur].known)) return cp_unknown(c, found);
    return cp_store(c, found, cp_load(c, k->cur));
}

static Status exit_statement(Cp *c, const PlStmt *s) {
    CpLabel *l = NULL;
    for (int64_t i = c->labels.len - 1; i >= 0 && !l; i--)
        if (c->labels.items[i].loop == s->loop) l = &c->labels.items[i];
    if (!l) return cp_refuse(c, "EXIT of a loop that is not around it");
    int32_t to = s->is_exit ? l->exit_block : l->next_block;
    bool step = !s->is_exit && l->exit_block == l->next_block, dead = l->dead;
    Expr *e = s->expr ? cp_expr(c, s->expr, type_make(T_BOOL)) : NULL;
    if (s->expr && !e) return ST_ERROR;
    if (cp_foot(c) && (c->blind || dead || (e && !cp_known(c, e)))) {
        if (s->is_exit) l->may_exit = true;
        else l->may_next = c->blind = true;
        return ST_OK;
    }
    if (e) TRY(cp_control(c, OP_P_IF, cp_condition(c, e), 0));
    TRY(cp_leave(c, to, step));
    return e ? cp_control(c, OP_P_ENDIF, 0, 0) : ST_OK;
}

/* ---- the rest ---------------------------------------------------------------------------------------------------- */
static Status block(Cp *c, const PlStmt *s) {
    if (s->n_handlers > 0) return cp_refuse(c, "EXCEPTION");
    for (int32_t i = 0; i < s->n_inits; i++) {
        const PlVar *v = &c->f->vars[s->inits[i]];
        if (v->kind != PLV_SCALAR) {
            CpRecord *r = &c->records[s->inits[i]];
            if (v->init) return cp_refuse(c, "a record with a default");
            for (int32_t k = 0; k < r->n; k++) TRY(cp_store_null(c, r->vars[k]));
            continue;
        }
        if (v->cursor) return cp_refuse(c, "a cursor");
        if (v->not_null) return cp_refuse(c, "a variable that is NOT NULL");
        int32_t var = c->var_of[s->inits[i]];
        if (var < 0) continue;
        c->line = v->line;
        if (!v->init) {
            TRY(cp_store_null(c, var));
            continue;
        }
        Expr *e = cp_expr(c, v->init, type_make(T_UNKNOWN));
        if (!e) return ST_ERROR;
        TRY(cp_assign(c, var, e));
    }
    if (!s->label) return body(c, &s->body);
    int32_t number = c->next_block++;
    CpLabel label = {.loop = s->loop, .exit_block = number, .next_block = number, .dead = false};
    if (!vec_push(c->arena, &c->labels, label)) return cp_oom(c);
    int64_t clock = c->clock;
    TRY(cp_control(c, OP_P_BLOCK, 0, number));
    TRY(body(c, &s->body));
    TRY(cp_control(c, OP_P_ENDBLOCK, 0, number));
    if (c->labels.items[--c->labels.len].may_exit && cp_foot(c)) cp_forget_since(c, clock);
    return ST_OK;
}

static Status raise_statement(Cp *c, const PlStmt *s) {
    if (s->level < PLR_EXCEPTION) return cp_refuse(c, "RAISE of a notice");
    if (!s->sqlstate && !s->format && !s->condition && s->n_options == 0) return cp_refuse(c, "RAISE without anything");
    const char *state = s->sqlstate ? s->sqlstate : ERR_RAISE_EXCEPTION, *detail = NULL, *hint = NULL, *format = s->format ? s->format : s->condition;
    for (int32_t i = 0; i < s->n_options; i++) {
        const PlOption *o = &s->options[i];
        Expr *e = cp_expr(c, o->expr, type_make(T_TEXT));
        if (!e) return ST_ERROR;
        while (e->kind == EX_CAST) e = e->args[0];
        if (e->kind != EX_CONST || e->u.value.is_null || type_phys(e->type) != PH_STR) return cp_refuse(c, "RAISE with a computed %s", o->name);
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
        }
    }
    if (cp_foot(c)) {
        for (int32_t i = 0; i < s->n_args; i++)
            if (!cp_expr(c, s->args[i], type_make(T_UNKNOWN))) return ST_ERROR;
        return c->blind ? ST_OK : cp_control(c, OP_P_RETURN, 0, 0);
    }
    Reg *args = arena_array(c->arena, Reg, s->n_args + 1);
    if (!args) return cp_oom(c);
    for (int32_t i = 0; i < s->n_args; i++) {
        Expr *e = cp_expr(c, s->args[i], type_make(T_UNKNOWN));
        if (!e || !(e = cp_cast(c, e, type_make(T_TEXT))) || !(args[i] = cp_lower_as(c, e, type_make(T_TEXT)))) return ST_ERROR;
    }
    return cp_raise(c, state, format ? format : state, s->n_args, args, detail, hint);
}

static Status assert_statement(Cp *c, const PlStmt *s) {
    Expr *e = cp_expr(c, s->expr, type_make(T_BOOL));
    if (!e) return ST_ERROR;
    if (s->expr2) return cp_refuse(c, "ASSERT with a message");
    if (cp_foot(c)) return ST_OK;
    TRY(cp_control(c, OP_P_IF, cp_condition(c, e), 0));
    TRY(cp_control(c, OP_P_ELSE, 0, 0));
    TRY(cp_raise(c, ERR_ASSERT_FAILURE, "assertion failed", 0, NULL, NULL, NULL));
    return cp_control(c, OP_P_ENDIF, 0, 0);
}

static Status return_statement(Cp *c, const PlStmt *s) {
    if (s->expr && c->ret < 0) return cp_refuse(c, "RETURN of a record");
    if (s->expr) {
        Expr *e = cp_expr(c, s->expr, type_make(T_UNKNOWN));
        if (!e) return ST_ERROR;
        TRY(cp_assign(c, c->ret, e));
    }
    return cp_foot(c) && c->blind ? ST_OK : cp_control(c, OP_P_RETURN, 0, 0);
}

static Status case_statement(Cp *c, const PlStmt *s) {
    if (s->expr) {
        Expr *e = cp_expr(c, s->expr, type_make(T_UNKNOWN));
        if (!e) return ST_ERROR;
        Type t = e->type.id == T_UNKNOWN ? type_make(T_TEXT) : e->type;
        if (c->var_of[s->case_var] < 0 && (c->var_of[s->case_var] = cp_var_new(c, NULL, t)) < 0) return ST_ERROR;
        TRY(cp_assign(c, c->var_of[s->case_var], e));
    }
    return arms(c, s, 0);
}

static Status assign_statement(Cp *c, const PlStmt *s) {
    if (s->subscript) return cp_refuse(c, "an assignment to an element of an array");
    if (s->is_row || s->n_targets != 1) return cp_refuse(c, "an assignment to a record");
    int32_t var = cp_ref(c, s->targets[0]);
    if (var < 0) return cp_refuse(c, "an assignment to a record");
    Expr *e = cp_expr(c, s->expr, type_make(T_UNKNOWN));
    if (!e) return ST_ERROR;
    const PlVar *v = &c->f->vars[s->targets[0].var];
    if (v->not_null && !s->targets[0].field) return cp_refuse(c, "a variable that is NOT NULL");
    return cp_assign(c, var, e);
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
    case PLS_SQL:
    case PLS_PERFORM: return sql_statement(c, s, s->query);
    case PLS_NULL: return ST_OK;
    default: return cp_refuse(c, "%s", pl_stmt_name((PlStmtKind)s->kind));
    }
}
static Status statement(Cp *c, const PlStmt *s) {
    if (c->depth > PL_MAX_DEPTH) return cp_refuse(c, "statements nested too deeply");
    int32_t line = c->line;
    const char *place = c->place;
    c->line = s->line;
    c->place = pl_stmt_name((PlStmtKind)s->kind);
    cp_fresh(c);
    TRY(one(c, s));
    c->blind |= cp_skipping(c);
    cp_mark(c);
    c->line = line;
    c->place = place;
    return ST_OK;
}
