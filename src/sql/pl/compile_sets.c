/* compile_sets.c - operators that give rows of several inputs, or that are needed more than once: outer joins, LATERAL,
 * set operations, VALUES, common table expressions; and series.
 *
 * What is done with a row is compiled once, so rows that come from several places are collected in a buffer first
 * (compile_buffer.c). An outer join looks for the rows of its right side for each one of its left, by index where its
 * condition has one, and adds a row of NULLs where there is none. Set operations that remove duplicates, or count them,
 * sort by all columns and go through runs of equal rows. A common table expression is computed once, and read from its
 * buffer wherever it stands. */
#include "sql/pl/compile_rows.h"

/* ---- rows that are collected ---- */
typedef struct Collected {
    CpBuffer *buffer;
    int32_t n, *cols;  /* pairs: column, its variable */
    int64_t rows_from; /* rows around */
    ColSet scope;      /* columns around */
    int32_t at;        /* variable: number of the row that is read */
} Collected;

static ColSet copy_of(Cp *c, const ColSet *s) {
    ColSet x = colset_new(&c->ctx);
    colset_add_all(&c->ctx, &x, s);
    return x;
}
/* Columns that are both needed and there. */
static Status collect_begin(Cp *c, Collected *k, int32_t n_keys, const ColSet *needed, const ColSet *out) {
    const ColId n_ids = (ColId)c->ctx.cols.len;
    *k = (Collected){.buffer = cp_buffer_new(c, n_keys),
                     .cols = arena_array(c->arena, int32_t, 2 * (n_ids + 1)),
                     .rows_from = c->query.rows.len,
                     .scope = c->query.in_scope,
                     .at = cp_var_new(c, NULL, type_make(T_INT8))};
    if (!k->buffer || !k->cols || k->at < 0) return cp_oom(c);
    for (ColId id = 1; id < n_ids; id++) {
        if (!colset_has(needed, id) || !colset_has(out, id)) continue;
        k->cols[2 * k->n] = id;
        if ((k->cols[2 * k->n++ + 1] = cp_var_new(c, NULL, c->ctx.cols.items[id].type)) < 0) return ST_ERROR;
    }
    c->query.in_scope = copy_of(c, &k->scope);
    return cp_buffer_clear(c, k->buffer);
}
static Status collect_end(Cp *c, Collected *k) {
    c->query.in_scope = k->scope;
    TRY(cp_buffer_sort(c, k->buffer));
    return cp_store_int(c, k->at, 0);
}
static Reg at_end(Cp *c, const Collected *k) {
    return cp_cmp(c, OP_GE, PH_I64, cp_load(c, k->at), cp_load(c, k->buffer->count));
}
/* The row that has been read; its number orders those that are equal in an order above. */
static Status use_collected(Cp *c, const Collected *k, Conds *conds, CpRow row, void *ctx) {
    if (!vec_push(c->arena, &c->query.rows, k->at)) return cp_oom(c);
    TRY(cp_test_rest(c, conds, row, ctx));
    c->query.rows.len--;
    return ST_OK;
}
static Status collect_read(Cp *c, Collected *k, Conds *conds, CpRow row, void *ctx) {
    const int32_t loop = c->flow.next_block++;
    TRY(collect_end(c, k));
    TRY(cp_control(c, OP_P_LOOP, 0, loop));
    TRY(cp_leave_if(c, at_end(c, k), loop));
    TRY(cp_buffer_read(c, k->buffer, k->at, 0, k->n, k->cols));
    TRY(cp_add_one(c, k->at));
    TRY(use_collected(c, k, conds, row, ctx));
    return cp_control(c, OP_P_ENDLOOP, 0, loop);
}

static Reg null_of(Cp *c, Type t) {
    Value v = {.type = t, .is_null = true};
    Reg r = lower_canonical(&c->low, &c->pipe, lower_const(&c->low, &c->pipe, &v), t);
    return r ? r : (c->oom = true, 0);
}

/* ---- outer joins ---- */
typedef struct Outer {
    const Plan *plan;
    Plan *left, *right; /* children of a RIGHT join change places */
    ColSet *needed, right_out;
    Collected k;
    Conds *pushed;           /* above it, on the left side alone */
    int32_t matched;         /* variable: the row has one on the other side */
    int64_t n_left, n_right; /* rows that a row of each side is made of */
} Outer;

/* One of both sides, or of one: NULLs stand for the other's. */
static Status add_joined(Cp *c, Outer *x, bool has_left, bool has_right) {
    CpBuffer *b = x->k.buffer;
    int64_t at = x->k.rows_from;
    TRY(cp_buffer_row(c, b));
    for (int side = 0; side < 2; side++) {
        const bool has = side ? has_right : has_left;
        const int64_t n = side ? x->n_right : x->n_left;
        for (int64_t i = 0; i < n; i++)
            TRY(cp_buffer_tie(c, b, has ? cp_load(c, c->query.rows.items[at++]) : null_of(c, type_make(T_INT8))));
    }
    for (int32_t i = 0; i < x->k.n; i++) {
        const ColId id = x->k.cols[2 * i];
        const Type t = c->ctx.cols.items[id].type;
        Expr *e = expr_col(&c->ctx, id);
        if (!e) return cp_oom(c);
        const bool has = colset_has(&x->right_out, id) ? has_right : has_left;
        TRY(cp_buffer_column(c, b, has ? cp_lower_as(c, e, t) : null_of(c, t)));
    }
    return cp_buffer_add(c, b);
}
static Status on_conditions(Cp *c, const Outer *x, Conds **on) {
    if (!(*on = arena_new_of(c->arena, Conds))) return cp_oom(c);
    for (int32_t i = 0; i < x->plan->n_conds; i++) TRY(cp_conds_add(c, *on, x->plan->conds[i]));
    return ST_OK;
}
static Status both_sides(Cp *c, void *ctx) {
    Outer *x = ctx;
    x->n_right = c->query.rows.len - x->k.rows_from - x->n_left;
    TRY(cp_store_int(c, x->matched, 1));
    return add_joined(c, x, true, true);
}
static Status left_side(Cp *c, void *ctx) {
    Outer *x = ctx;
    Conds *on;
    bool single = true;
    x->n_left = c->query.rows.len - x->k.rows_from;
    TRY(cp_store_int(c, x->matched, 0));
    TRY(on_conditions(c, x, &on));
    Above t = {.conds = on, .row = both_sides, .ctx = x};
    TRY(cp_rows_of(c, x->right, on, x->needed, cp_filter_row, &t, &single));
    TRY(cp_control(c, OP_P_IF, cp_test(c, OP_IS_FALSE, cp_load(c, x->matched)), 0));
    TRY(add_joined(c, x, true, false));
    return cp_control(c, OP_P_ENDIF, 0, 0);
}
static Status left_found(Cp *c, void *ctx) {
    const Outer *x = ctx;
    return cp_store_int(c, x->matched, 1);
}
/* A row of a FULL join's right side: whether the left has one was not noted. */
static Status right_side(Cp *c, void *ctx) {
    Outer *x = ctx;
    Conds *on;
    bool single = true;
    TRY(cp_store_int(c, x->matched, 0));
    TRY(on_conditions(c, x, &on));
    Above t = {.conds = on, .row = left_found, .ctx = x};
    TRY(cp_rows_of(c, x->left, on, x->needed, cp_filter_row, &t, &single));
    TRY(cp_control(c, OP_P_IF, cp_test(c, OP_IS_FALSE, cp_load(c, x->matched)), 0));
    TRY(add_joined(c, x, false, true));
    return cp_control(c, OP_P_ENDIF, 0, 0);
}
/* Conditions above the join that are of its left side alone are tested there. */
static Status push_left(Cp *c, Outer *x, Conds *conds) {
    int32_t kept = 0;
    ColSet scope = c->query.in_scope;
    c->query.in_scope = copy_of(c, &scope);
    plan_outputs(&c->ctx, x->left, &c->query.in_scope);
    for (int32_t i = 0; i < conds->n; i++) {
        if (cp_available(c, conds->items[i])) TRY(cp_conds_add(c, x->pushed, conds->items[i]));
        else conds->items[kept++] = conds->items[i];
    }
    conds->n = kept;
    c->query.in_scope = scope;
    return ST_OK;
}
Status cp_outer_rows(Cp *c, Plan *p, Conds *conds, ColSet *needed, CpRow row, void *ctx) {
    Outer *x = arena_new_of(c->arena, Outer);
    if (!x || !(x->pushed = arena_new_of(c->arena, Conds))) return cp_oom(c);
    const bool swap = p->join.kind == JN_RIGHT;
    ColSet out = colset_new(&c->ctx);
    bool single = true;
    x->plan = p;
    x->left = p->children[swap];
    x->right = p->children[!swap];
    x->needed = needed;
    x->right_out = colset_new(&c->ctx);
    c->no_locks = true; /* they have no place for a row that is not there */
    plan_outputs(&c->ctx, x->right, &x->right_out);
    plan_outputs(&c->ctx, p, &out);
    if ((x->matched = cp_var_new(c, NULL, type_make(T_BOOL))) < 0) return ST_ERROR;
    if (p->join.kind != JN_FULL) TRY(push_left(c, x, conds));
    const int64_t n_ctes = c->query.ctes.len;
    if (!p->join.dependent) TRY(cp_collect_once(c, &x->right, needed));
    if (p->join.kind == JN_FULL) TRY(cp_collect_once(c, &x->left, needed));
    TRY(collect_begin(c, &x->k, 0, needed, &out));
    Above t = {.conds = x->pushed, .row = left_side, .ctx = x};
    TRY(cp_rows_of(c, x->left, x->pushed, needed, cp_filter_row, &t, &single));
    Conds *none = arena_new_of(c->arena, Conds);
    if (!none) return cp_oom(c);
    if (p->join.kind == JN_FULL) TRY(cp_rows_of(c, x->right, none, needed, right_side, x, &single));
    c->query.ctes.len = n_ctes;
    return collect_read(c, &x->k, conds, row, ctx);
}

/* ---- LATERAL ---- */
static Status lateral_row(Cp *c, void *ctx) {
    Above *a = ctx;
    Conds *on = arena_new_of(c->arena, Conds);
    Above *t = arena_new_of(c->arena, Above);
    if (!on || !t) return cp_oom(c);
    for (int32_t i = 0; i < a->plan->n_conds; i++) TRY(cp_conds_add(c, on, a->plan->conds[i]));
    *t = (Above){.conds = on, .row = a->row, .ctx = a->ctx};
    return cp_rows_of(c, a->right, on, a->needed, cp_filter_row, t, a->single);
}
Status cp_lateral_rows(Cp *c, Plan *p, Conds *conds, ColSet *needed, CpRow row, void *ctx, bool *single) {
    Above *a = arena_new_of(c->arena, Above), *t = arena_new_of(c->arena, Above);
    Conds *none = arena_new_of(c->arena, Conds);
    if (!a || !t || !none) return cp_oom(c);
    *t = (Above){.conds = conds, .row = row, .ctx = ctx};
    *a =
        (Above){.plan = p, .right = p->children[1], .needed = needed, .row = cp_filter_row, .ctx = t, .single = single};
    return cp_rows_of(c, p->children[0], none, needed, lateral_row, a, single);
}

/* ---- set operations ---- */
typedef struct SetRows {
    const Plan *plan;
    int32_t child;
    bool runs; /* duplicates are removed or counted: all columns are keys, and the last one says whether the
                  row is of the left side */
    int32_t n_left, n_right; /* variables: rows of a run */
    int64_t n_ties;          /* UNION ALL: rows of tables that a row of either side is made of at most */
    Collected k;
} SetRows;

static int64_t count_leaves(const Plan *p) {
    int64_t n = p->n_children == 0;
    for (int32_t i = 0; i < p->n_children && !stack_stop(); i++) n += count_leaves(p->children[i]);
    return n;
}
/* UNION ALL gives the rows of its queries one after the other, each in the order of its tables. */
static Status set_ties(Cp *c, const SetRows *x) {
    const int64_t from = x->k.rows_from, n = c->query.rows.len - from;
    if (n > x->n_ties) return cp_refuse(c, "UNION ALL of rows of more tables than it names");
    TRY(cp_buffer_tie(c, x->k.buffer, cp_int(c, PH_I64, x->child)));
    for (int64_t i = 0; i < x->n_ties; i++) {
        Reg number = i < n ? cp_load(c, c->query.rows.items[from + i]) : cp_int(c, PH_I64, 0);
        TRY(cp_buffer_tie(c, x->k.buffer, number));
    }
    return ST_OK;
}

static Status set_row(Cp *c, void *ctx) {
    SetRows *x = ctx;
    const Plan *p = x->plan;
    TRY(cp_buffer_row(c, x->k.buffer));
    if (!x->runs) TRY(set_ties(c, x));
    for (int as_key = x->runs; as_key >= 0; as_key--)
        for (int32_t i = 0; i < p->n_out; i++) {
            const Type t = c->ctx.cols.items[p->out_cols[i]].type;
            bool kept = as_key;
            for (int32_t k = 0; k < x->k.n; k++) kept |= x->k.cols[2 * k] == p->out_cols[i];
            if (!kept) continue;
            Expr *e = expr_col(&c->ctx, p->set.cols[x->child][i]);
            Reg r = e ? cp_lower_as(c, e, t) : (c->oom = true, 0);
            TRY(as_key ? cp_buffer_key(c, x->k.buffer, r, &(SortKey){0}) : cp_buffer_column(c, x->k.buffer, r));
        }
    if (x->runs) TRY(cp_buffer_column(c, x->k.buffer, cp_int(c, PH_I64, x->child == 0)));
    return cp_buffer_add(c, x->k.buffer);
}
/* The columns that collect_begin keeps, in the order of set_row. */
static Status set_columns(Cp *c, SetRows *x, const ColSet *needed) {
    const Plan *p = x->plan;
    ColSet none = colset_new(&c->ctx);
    TRY(collect_begin(c, &x->k, x->runs ? p->n_out : 0, &none, &none));
    for (int32_t i = 0; i < p->n_out; i++) {
        const Type t = c->ctx.cols.items[p->out_cols[i]].type;
        const Phys ph = type_phys(t);
        const bool same = !(ph == PH_F32 || ph == PH_F64 || t.id == T_INTERVAL || t.id == T_CHAR || t.id == T_ARRAY ||
                            (t.id == T_NUMERIC && ph == PH_STR) || t.id == T_JSON || t.id == T_JSONB ||
                            t.id == T_COMPOSITE); /* equal ones look alike */
        if (x->runs && !same) return cp_refuse(c, "a set operation on %s", type_base_name((TypeId)t.id));
        if (!x->runs && !colset_has(needed, p->out_cols[i])) continue;
        x->k.cols[2 * x->k.n] = p->out_cols[i];
        if ((x->k.cols[2 * x->k.n++ + 1] = cp_var_new(c, NULL, t)) < 0) return ST_ERROR;
    }
    return ST_OK;
}
/* Goes to the end of the run of equal rows, and counts them by side. */
static Status count_run(Cp *c, SetRows *x) {
    const int32_t loop = c->flow.next_block++;
    Collected *k = &x->k;
    TRY(cp_store_int(c, x->n_left, 0));
    TRY(cp_store_int(c, x->n_right, 0));
    TRY(cp_control(c, OP_P_LOOP, 0, loop));
    Reg left = cp_buffer_get(c, k->buffer, k->at, k->n);
    TRY(cp_control(c, OP_P_IF, left ? cp_cmp(c, OP_EQ, PH_I64, left, cp_int(c, PH_I64, 1)) : 0, 0));
    TRY(cp_add_one(c, x->n_left));
    TRY(cp_control(c, OP_P_ELSE, 0, 0));
    TRY(cp_add_one(c, x->n_right));
    TRY(cp_control(c, OP_P_ENDIF, 0, 0));
    TRY(cp_add_one(c, k->at));
    TRY(cp_leave_if(c, at_end(c, k), loop));
    for (int32_t i = 0; i < k->n; i++) {
        const int32_t var = k->cols[2 * i + 1];
        Reg next = cp_buffer_get(c, k->buffer, k->at, i), first = cp_load(c, var);
        if (!next || !first) return ST_ERROR;
        TRY(cp_leave_if(c, cp_cmp(c, OP_DISTINCT, type_phys(c->vars.items[var].type), next, first), loop));
    }
    return cp_control(c, OP_P_ENDLOOP, 0, loop);
}
/* How often a row of the run is in the result: to n_left. */
static Status times_of_run(Cp *c, const SetRows *x) {
    const uint8_t op = x->plan->set.op;
    const Type i8 = type_make(T_INT8);
    if (op == SO_UNION) return cp_store_int(c, x->n_left, 1);
    const bool inter = op == SO_INTERSECT || op == SO_INTERSECT_ALL;
    if (inter || op == SO_EXCEPT) { /* the smaller number; none where the right side has the row */
        Reg less = cp_cmp(c, inter ? OP_LT : OP_GT, PH_I64, cp_load(c, x->n_right),
                          inter ? cp_load(c, x->n_left) : cp_int(c, PH_I64, 0));
        TRY(cp_control(c, OP_P_IF, less, 0));
        TRY(inter ? cp_copy(c, x->n_left, x->n_right) : cp_store_int(c, x->n_left, 0));
        TRY(cp_control(c, OP_P_ENDIF, 0, 0));
    } else { /* both are numbers of rows */
        Reg rest = cp_emit(c, OP_SUB_N, PH_I64, i8, true, cp_load(c, x->n_left), cp_load(c, x->n_right), 0);
        TRY(cp_store(c, x->n_left, rest));
    }
    if (op == SO_INTERSECT_ALL || op == SO_EXCEPT_ALL) return ST_OK;
    TRY(cp_control(c, OP_P_IF, cp_cmp(c, OP_GT, PH_I64, cp_load(c, x->n_left), cp_int(c, PH_I64, 1)), 0));
    TRY(cp_store_int(c, x->n_left, 1));
    return cp_control(c, OP_P_ENDIF, 0, 0);
}
static Status read_runs(Cp *c, SetRows *x, Conds *conds, CpRow row, void *ctx) {
    const int32_t loop = c->flow.next_block++, again = c->flow.next_block++;
    const Type i8 = type_make(T_INT8);
    Collected *k = &x->k;
    TRY(collect_end(c, k));
    if ((x->n_left = cp_var_new(c, NULL, i8)) < 0 || (x->n_right = cp_var_new(c, NULL, i8)) < 0) return ST_ERROR;
    TRY(cp_control(c, OP_P_LOOP, 0, loop));
    TRY(cp_leave_if(c, at_end(c, k), loop));
    TRY(cp_buffer_read(c, k->buffer, k->at, 0, k->n, k->cols));
    TRY(count_run(c, x));
    TRY(times_of_run(c, x));
    TRY(cp_control(c, OP_P_LOOP, 0, again));
    TRY(cp_leave_if(c, cp_cmp(c, OP_LE, PH_I64, cp_load(c, x->n_left), cp_int(c, PH_I64, 0)), again));
    Reg rest = cp_emit(c, OP_SUB_N, PH_I64, i8, true, cp_load(c, x->n_left), cp_int(c, PH_I64, 1), 0);
    TRY(cp_store(c, x->n_left, rest));
    TRY(use_collected(c, k, conds, row, ctx));
    TRY(cp_control(c, OP_P_ENDLOOP, 0, again));
    return cp_control(c, OP_P_ENDLOOP, 0, loop);
}
Status cp_setop_rows(Cp *c, Plan *p, Conds *conds, ColSet *needed, CpRow row, void *ctx) {
    SetRows *x = arena_new_of(c->arena, SetRows);
    if (!x) return cp_oom(c);
    if (p->set.op == SO_RECURSIVE || p->set.op == SO_RECURSIVE_ALL) return cp_refuse(c, "a recursive query");
    *x = (SetRows){.plan = p, .runs = p->set.op != SO_UNION_ALL};
    for (int32_t i = 0; i < p->n_children; i++) x->n_ties = MAX_OF(x->n_ties, count_leaves(p->children[i]));
    TRY(set_columns(c, x, needed));
    for (x->child = 0; x->child < p->n_children; x->child++) {
        Conds *none = arena_new_of(c->arena, Conds);
        bool single = true;
        if (!none) return cp_oom(c);
        TRY(cp_rows_of(c, p->children[x->child], none, needed, set_row, x, &single));
    }
    return x->runs ? read_runs(c, x, conds, row, ctx) : collect_read(c, &x->k, conds, row, ctx);
}

/* ---- VALUES ---- */
Status cp_values_rows(Cp *c, Plan *p, Conds *conds, ColSet *needed, CpRow row, void *ctx) {
    Collected *k = arena_new_of(c->arena, Collected);
    ColSet out = colset_new(&c->ctx);
    if (!k) return cp_oom(c);
    plan_outputs(&c->ctx, p, &out);
    TRY(collect_begin(c, k, 0, needed, &out));
    for (int64_t r = 0; r < p->values.n_rows; r++) {
        Expr **values = arena_array(c->arena, Expr *, p->n_out + 1);
        if (!values) return cp_oom(c);
        for (int32_t i = 0; i < p->n_out; i++) {
            values[i] = p->values.rows[r][i];
            TRY(cp_settle_copy(c, &values[i]));
        }
        TRY(cp_buffer_row(c, k->buffer));
        for (int32_t j = 0; j < k->n; j++)
            for (int32_t i = 0; i < p->n_out; i++)
                if (p->out_cols[i] == k->cols[2 * j])
                    TRY(cp_buffer_column(c, k->buffer,
                                         cp_lower_as(c, values[i], c->ctx.cols.items[p->out_cols[i]].type)));
        TRY(cp_buffer_add(c, k->buffer));
    }
    return collect_read(c, k, conds, row, ctx);
}

/* ---- common table expressions ---- */
typedef struct CpCte {
    int64_t id;
    Collected k;
} CpCte;
static Status cte_row(Cp *c, void *ctx) {
    Collected *k = &((CpCte *)ctx)->k;
    TRY(cp_buffer_row(c, k->buffer));
    TRY(cp_buffer_ties(c, k->buffer, k->rows_from));
    TRY(cp_buffer_columns(c, k->buffer, k->n, k->cols));
    return cp_buffer_add(c, k->buffer);
}
Status cp_cte_rows(Cp *c, Plan *p, Conds *conds, ColSet *needed, CpRow row, void *ctx, bool *single) {
    CpCte *x = arena_new_of(c->arena, CpCte);
    Conds *none = arena_new_of(c->arena, Conds);
    ColSet out = colset_new(&c->ctx);
    bool one = true;
    if (!x || !none) return cp_oom(c);
    x->id = p->cte.id;
    plan_outputs(&c->ctx, p->children[0], &out);
    TRY(collect_begin(c, &x->k, 0, needed, &out));
    TRY(cp_rows_of(c, p->children[0], none, needed, cte_row, x, &one));
    TRY(collect_end(c, &x->k));
    if (!vec_push(c->arena, &c->query.ctes, x)) return cp_oom(c);
    TRY(cp_rows_of(c, p->children[1], conds, needed, row, ctx, single));
    c->query.ctes.len--;
    return ST_OK;
}
/* LIMIT 1: it is kept in variables. */
static bool gives_one(const Plan *p) {
    const Expr *e = p->limit.rows_expr;
    const bool one = e && e->kind == EX_CONST && !e->u.value.is_null && e->type.id == T_INT8 && e->u.value.u.i64 == 1;
    return (one || p->limit.rows == 1) && !p->limit.offset_expr && p->limit.offset <= 0;
}
/* Rows that are grouped, sorted or combined from several inputs: they are in a buffer anyway. */
static bool is_collected(const Plan *p) {
    if (stack_stop()) return false;
    switch ((PlanKind)p->kind) {
    case LP_PROJECT:
    case LP_FILTER: return is_collected(p->children[0]);
    case LP_AGG: return p->agg.n_keys > 0;
    case LP_SORT:
    case LP_LIMIT: return !gives_one(p);
    case LP_SETOP:
    case LP_CTE: return true;
    case LP_JOIN: return p->join.kind == JN_FULL;
    default: return false;
    }
}
Status cp_collect_once(Cp *c, Plan **part, ColSet *needed) {
    CpCte *x = arena_new_of(c->arena, CpCte);
    Plan *scan = plan_new(&c->ctx, LP_CTE_SCAN, 0);
    Conds *none = arena_new_of(c->arena, Conds);
    ColSet out = colset_new(&c->ctx);
    bool one = true;
    if (!is_collected(*part)) return ST_OK;
    if (!x || !scan || !none) return cp_oom(c);
    x->id = ++c->ctx.n_ctes;
    plan_outputs(&c->ctx, *part, &out);
    TRY(collect_begin(c, &x->k, 0, needed, &out));
    TRY(cp_rows_of(c, *part, none, needed, cte_row, x, &one));
    TRY(collect_end(c, &x->k));
    if (!vec_push(c->arena, &c->query.ctes, x)) return cp_oom(c);
    scan->cte.id = x->id;
    scan->n_out = x->k.n;
    scan->out_cols = scan->cte.cols = arena_array(c->arena, ColId, x->k.n + 1); /* under the same names */
    if (!scan->out_cols) return cp_oom(c);
    for (int32_t i = 0; i < x->k.n; i++) scan->out_cols[i] = x->k.cols[2 * i];
    *part = scan;
    return ST_OK;
}
Status cp_cte_scan_rows(Cp *c, Plan *p, Conds *conds, ColSet *needed, CpRow row, void *ctx) {
    const CpCte *x = NULL;
    for (int64_t i = 0; i < c->query.ctes.len && !x; i++)
        if (c->query.ctes.items[i]->id == p->cte.id) x = c->query.ctes.items[i];
    if (!x) return cp_refuse(c, "a common table expression that is read where it has not been computed");
    if (c->any_order == 0) cp_note_order(c); /* it may have been collected where that did not matter */
    Collected k = {.buffer = x->k.buffer, .at = cp_var_new(c, NULL, type_make(T_INT8))};
    const int32_t loop = c->flow.next_block++;
    if (k.at < 0) return ST_ERROR;
    TRY(cp_store_int(c, k.at, 0));
    TRY(cp_control(c, OP_P_LOOP, 0, loop));
    TRY(cp_leave_if(c, at_end(c, &k), loop));
    for (int32_t i = 0; i < p->n_out; i++) {
        int32_t pair[2] = {p->out_cols[i], -1};
        if (!colset_has(needed, p->out_cols[i])) continue;
        if ((pair[1] = cp_var_new(c, NULL, c->ctx.cols.items[pair[0]].type)) < 0) return ST_ERROR;
        for (int32_t col = 0; col < x->k.n; col++)
            if (x->k.cols[2 * col] == p->cte.cols[i]) TRY(cp_buffer_read(c, k.buffer, k.at, col, 1, pair));
    }
    TRY(cp_add_one(c, k.at));
    TRY(use_collected(c, &k, conds, row, ctx));
    return cp_control(c, OP_P_ENDLOOP, 0, loop);
}

/* ---- series of integers ---- */
typedef struct Series {
    int32_t cur, stop, step, number, value; /* variables */
    bool wide;                              /* bigint: the next value may be out of range */
    int32_t loop, none;                     /* none: block to leave without rows */
} Series;
static Status series_bound(Cp *c, Series *x, Expr *e, int32_t *var) {
    Type i8 = type_make(T_INT8);
    if ((*var = cp_var_new(c, NULL, i8)) < 0) return ST_ERROR;
    if (!e) return cp_store_int(c, *var, 1);
    TRY(cp_settle_copy(c, &e));
    Reg r = cp_lower_as(c, e, e->type);
    TRY(cp_store(c, *var, r ? lower_as(&c->low, &c->pipe, r, PH_I64) : 0));
    return cp_leave_if(c, cp_test(c, OP_IS_NULL, cp_load(c, *var)), x->none);
}
/* The loop is left where this holds and the step is positive, or (down) the other holds and it is negative. */
static Status series_leaves(Cp *c, const Series *x, bool next) {
    for (int down = 0; down < 2; down++) {
        TRY(cp_control(c, OP_P_IF, cp_cmp(c, down ? OP_LT : OP_GT, PH_I64, cp_load(c, x->step), cp_int(c, PH_I64, 0)),
                       0));
        Reg most = next ? cp_emit(c, OP_SUB_N, PH_I64, type_make(T_INT8), true,
                                  cp_int(c, PH_I64, down ? INT64_MIN : INT64_MAX), cp_load(c, x->step), 0)
                        : cp_load(c, x->stop);
        TRY(cp_leave_if(c, cp_cmp(c, down ? OP_LT : OP_GT, PH_I64, cp_load(c, x->cur), most), x->loop));
        TRY(cp_control(c, OP_P_ENDIF, 0, 0));
    }
    return ST_OK;
}
Status cp_series_rows(Cp *c, Plan *p, Conds *conds, CpRow row, void *ctx) {
    const Type t = c->ctx.cols.items[p->out_cols[0]].type, i8 = type_make(T_INT8);
    if (t.id != T_INT4 && t.id != T_INT8) return cp_refuse(c, "generate_series of %s", type_base_name((TypeId)t.id));
    Series x = {.wide = t.id == T_INT8, .loop = c->flow.next_block++, .none = c->flow.next_block++};
    TRY(cp_control(c, OP_P_BLOCK, 0, x.none));
    TRY(series_bound(c, &x, p->exprs[0], &x.cur));
    TRY(series_bound(c, &x, p->exprs[1], &x.stop));
    TRY(series_bound(c, &x, p->n_exprs > 2 ? p->exprs[2] : NULL, &x.step));
    TRY(cp_control(c, OP_P_IF, cp_cmp(c, OP_EQ, PH_I64, cp_load(c, x.step), cp_int(c, PH_I64, 0)), 0));
    TRY(cp_raise(c, ERR_INVALID_PARAMETER, "step size cannot equal zero", NULL));
    TRY(cp_control(c, OP_P_ENDIF, 0, 0));
    if ((x.value = cp_var_new(c, NULL, t)) < 0 || (x.number = cp_var_new(c, NULL, i8)) < 0) return ST_ERROR;
    TRY(cp_store_int(c, x.number, 0));
    TRY(cp_control(c, OP_P_LOOP, 0, x.loop));
    TRY(series_leaves(c, &x, false));
    TRY(cp_store(c, x.value, lower_as(&c->low, &c->pipe, cp_load(c, x.cur), type_phys(t))));
    TRY(cp_add_one(c, x.number));
    for (int32_t i = 0; i < p->n_out; i++) {
        Expr *e = expr_col(&c->ctx, c->vars.items[i ? x.number : x.value].col);
        TRY(e ? cp_define(c, p->out_cols[i], e) : cp_oom(c));
    }
    if (!vec_push(c->arena, &c->query.rows, x.number)) return cp_oom(c);
    TRY(cp_test_rest(c, conds, row, ctx));
    c->query.rows.len--;
    if (x.wide) TRY(series_leaves(c, &x, true));
    /* Within the type's range, or not far beyond integer's. */
    TRY(cp_store(c, x.cur, cp_emit(c, OP_ADD_N, PH_I64, i8, true, cp_load(c, x.cur), cp_load(c, x.step), 0)));
    TRY(cp_control(c, OP_P_ENDLOOP, 0, x.loop));
    return cp_control(c, OP_P_ENDBLOCK, 0, x.none);
}

/* ---- rows that come several times ---- */
static Status repeated_row(Cp *c, void *ctx) {
    Above *a = ctx;
    const int32_t loop = c->flow.next_block++, at = cp_var_new(c, NULL, type_make(T_INT8));
    Expr *n = expr_col(&c->ctx, a->plan->count_col), *number;
    if (!n || at < 0) return cp_oom(c);
    TRY(cp_store_int(c, at, 0));
    TRY(cp_control(c, OP_P_LOOP, 0, loop));
    Reg times = cp_lower_as(c, n, type_make(T_INT8));
    TRY(cp_leave_if(c, times ? cp_cmp(c, OP_GE, PH_I64, cp_load(c, at), times) : 0, loop));
    if (a->plan->n_out) {
        const int32_t var = cp_var_new(c, NULL, type_make(T_INT8));
        if (var < 0 || !(number = expr_col(&c->ctx, c->vars.items[var].col))) return cp_oom(c);
        TRY(cp_copy(c, var, at));
        TRY(cp_define(c, a->plan->out_cols[0], number));
    }
    TRY(cp_add_one(c, at));
    if (!vec_push(c->arena, &c->query.rows, at)) return cp_oom(c);
    TRY(cp_filter_row(c, a->ctx));
    c->query.rows.len--;
    return cp_control(c, OP_P_ENDLOOP, 0, loop);
}
Status cp_repeat_rows(Cp *c, Plan *p, Conds *conds, ColSet *needed, CpRow row, void *ctx, bool *single) {
    Above *a = arena_new_of(c->arena, Above), *t = arena_new_of(c->arena, Above);
    Conds *none = arena_new_of(c->arena, Conds);
    if (!a || !t || !none) return cp_oom(c);
    *t = (Above){.conds = conds, .row = row, .ctx = ctx};
    *a = (Above){.plan = p, .ctx = t};
    return cp_rows_of(c, p->children[0], none, needed, repeated_row, a, single);
}
