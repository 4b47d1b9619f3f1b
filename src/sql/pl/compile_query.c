/* compile_query.c - SQL statements of a procedure: bound plans to lookups and loops over rows, data-centric: an
 * operator compiles its input and hands over what is to be done with each of its rows.
 *
 * A scan looks at the conditions above it for equalities of its columns with values that are there already. All columns
 * of a unique key: one lookup. Some columns: the rows of a group. None: not in bulk.
 *
 * A scan touches, and so does a change (compile_touch.c): each group of columns that the statement reads of it, and the
 * existence of rows where they come and go. */
#include "base/hash.h"
#include "sql/pl/compile_rows.h"
#include "storage/row_errors.h"

enum {
    WHOLE_MAX = 1000 /* rows of a table that calls may go through as a whole: one call at a time has vectors for it */
};

Status cp_conds_add(Cp *c, Conds *k, Expr *e) {
    TRY(cp_stack(c));
    if (e->kind == EX_AND) {
        for (int32_t i = 0; i < e->n_args; i++) TRY(cp_conds_add(c, k, e->args[i]));
        return ST_OK;
    }
    if (k->n == k->cap) {
        int32_t cap = k->cap * 2 + 8;
        Expr **more = arena_array(c->arena, Expr *, cap);
        if (!more) return cp_oom(c);
        if (k->n) memcpy(more, k->items, (size_t)k->n * sizeof *more);
        k->items = more;
        k->cap = cap;
    }
    k->items[k->n++] = e;
    return ST_OK;
}

/* ---- tables ------------------------------------------------------------------------------- */
int32_t cp_table(Cp *c, Table *t) {
    for (int64_t i = 0; i < c->tables.len; i++)
        if (c->tables.items[i].table_id == t->id) return (int32_t)i;
    CpTable *x = registry_table(c->reg, t);
    ProcTable p = {.table_id = t->id};
    if (!x || !vec_push(c->arena, &c->tables, p) || !vec_push(c->arena, &c->reg_tables, x)) return c->oom = true, -1;
    return (int32_t)c->tables.len - 1;
}

ColId cp_scan_col(const Plan *p, int32_t col) {
    for (int32_t i = 0; i < p->n_out; i++)
        if (p->scan.cols[i] == col) return p->out_cols[i];
    return 0;
}
int32_t cp_scan_column(const Plan *p, const Expr *e) {
    while (e->kind == EX_CAST && type_same_strings(e->type, e->args[0]->type) && e->type.length == 0 &&
           !(e->type.flags & (TF_NAME | TF_QCHAR)))
        e = e->args[0];
    if (e->kind != EX_COL) return -1;
    for (int32_t i = 0; i < p->n_out; i++)
        if (p->out_cols[i] == e->u.col) return p->scan.cols[i];
    return -1;
}
/* Every column of e is a variable or of a row that is being looked at. */
bool cp_available(Cp *c, const Expr *e) {
    ColSet s = colset_new(&c->ctx);
    expr_cols(&c->ctx, e, &s);
    for (ColId id = 1; id < c->ctx.cols.len; id++) {
        if (!colset_has(&s, id) || colset_has(&c->query.in_scope, id)) continue;
        bool var = false;
        for (int64_t i = 0; i < c->vars.len && !var; i++) var = c->vars.items[i].col == id;
        if (!var) return false;
    }
    return true;
}
static bool uses_scan(Cp *c, const Plan *p, const Expr *e) {
    ColSet s = colset_new(&c->ctx);
    expr_cols(&c->ctx, e, &s);
    for (int32_t i = 0; i < p->n_out; i++)
        if (colset_has(&s, p->out_cols[i])) return true;
    return false;
}
static bool same_cells(Type a, Type b) {
    if (type_is_text(a) && type_is_text(b)) return a.id != T_CHAR || b.id == T_CHAR;
    if (type_is_bits(a) && type_is_bits(b)) return true;
    return a.id == b.id && a.scale == b.scale && type_phys(a) == type_phys(b);
}

/* Column `id` of a plan is the table's column `col` of the row in s->row. */
static Status define_cell(Cp *c, Scan *s, ColId id, int32_t col, bool needed) {
    const Column *k = &s->table->table->cols[col];
    ColEntry *e = cp_entry(c, id);
    const Phys ph = type_phys(k->type);
    const bool named = s->eq[col] && !s->outer;
    if (!e) return ST_ERROR;
    if (named && ph >= PH_I16 && ph <= PH_I64 && type_eq(s->eq[col]->type, k->type)) { /* no need to look */
        Expr *v = cp_cast(c, s->eq[col], k->type);
        if (!v) return ST_ERROR;
        *e = (ColEntry){.where = CW_EXPR, .type = k->type, .expr = v};
        return ST_OK;
    }
    RowCol *cell = arena_new_of(c->arena, RowCol);
    if (!cell) return cp_oom(c);
    *cell =
        (RowCol){.table = s->number,
                 .col = col,
                 .fetch_add = s->plan == c->query.target_scan && c->query.fetch_adds ? c->query.fetch_adds[col] : 0};
    *e = (ColEntry){.where = CW_ROW,
                    .phys = (uint8_t)ph,
                    .nullable = !k->not_null || s->outer,
                    .stable_str = true,
                    .type = k->type,
                    .range = range_of_type(k->type),
                    .row_var = c->vars.items[s->row].col,
                    .cell = cell};
    if (needed) s->table->need.cols[col] = true;
    return ST_OK;
}
Expr *cp_scan_value(Cp *c, Scan *s, ColId rowid, int32_t col) {
    const Column *k = &s->table->table->cols[col];
    const ColId id = plan_new_col(&c->ctx, "", k->type, !k->not_null);
    Expr *e = id ? expr_col(&c->ctx, id) : NULL;
    ColEntry *x = e ? cp_entry(c, id) : NULL;
    if (!x) return c->oom = true, NULL;
    if (define_cell(c, s, id, col, true) != ST_OK) return NULL;
    if (x->where == CW_ROW) x->row_var = rowid;
    return e;
}

/* The row is in s->row: its columns come into scope, remaining conditions are tested, and the row is used. */
static Status use_row(Cp *c, Scan *s) {
    Plan *p = s->plan;
    for (int32_t i = 0; i < p->n_out; i++) {
        ColId id = p->out_cols[i];
        int32_t col = p->scan.cols[i];
        colset_add(&c->ctx, &c->query.in_scope, id);
        if (col >= 0) {
            TRY(define_cell(c, s, id, col, colset_has(s->needed, id)));
            continue;
        }
        ColEntry *e = cp_entry(c, id); /* the row itself */
        if (!e) return ST_ERROR;
        *e = (ColEntry){
            .where = CW_EXPR, .type = type_make(T_INT8), .expr = expr_col(&c->ctx, c->vars.items[s->row].col)};
    }
    s->found = true;
    TRY(cp_touch_read(c, s));
    int32_t open = 0;
    for (int32_t i = 0; i < s->conds->n; i++) {
        Expr *e = s->conds->items[i];
        TRY(cp_settle_copy(c, &e));
        TRY(cp_control(c, OP_P_IF, cp_condition(c, e), 0));
        open++;
    }
    if (!vec_push(c->arena, &c->query.rows, s->row)) return cp_oom(c);
    TRY(s->rows(c, s->ctx));
    c->query.rows.len--;
    while (open-- > 0) TRY(cp_control(c, OP_P_ENDIF, 0, 0));
    return ST_OK;
}

Reg cp_emit(Cp *c, Opcode op, Phys ph, Type t, bool nullable, Reg a, Reg b, Reg d) {
    if (!a || !b) return 0;
    Reg r = lower_reg(&c->low, &c->pipe, ph, t, nullable, range_of_type(t));
    if (!r || !builder_emit(&c->pipe.b, op, ph, r, a, b, d)) return c->oom = true, 0;
    return r;
}

Reg cp_find_row(Cp *c, Scan *s, Opcode op) {
    RowKey *k = arena_new_of(c->arena, RowKey);
    Reg *args = arena_array(c->arena, Reg, s->n_key + 1);
    if (!k || !args) return c->oom = true, 0;
    if (s->bound && !(args[s->n_key] = cp_lower_as(c, s->bound, s->table->table->cols[c->at.order_col].type))) return 0;
    for (int32_t i = 0; i < s->n_key; i++) {
        Type type = s->table->table->cols[s->key_cols[i]].type;
        if (!(args[i] = cp_lower_as(c, s->eq[s->key_cols[i]], type))) return 0;
        s->table->need.cols[s->key_cols[i]] = true;
    }
    *k = (RowKey){.table = s->number, .index = s->index, .n = s->n_key, .args = args};
    if (s->one) {
        k->order = c->at.order_col + 1;
        k->desc = c->at.order_desc;
        k->bounded = s->bound != NULL;
        k->at = s->at;
        s->table->need.cols[c->at.order_col] = true;
    }
    Reg r = lower_reg(&c->low, &c->pipe, PH_I64, type_make(T_INT8), false, (Range){true, -1, INT64_C(1) << 40});
    Instr *in = r ? builder_emit(&c->pipe.b, op, PH_I64, r, 0, 0, 0) : NULL;
    if (!in) return c->oom = true, 0;
    in->aux = k;
    return r;
}
static Reg row_there(Cp *c, int32_t var) { return cp_cmp(c, OP_GE, PH_I64, cp_load(c, var), cp_int(c, PH_I64, 0)); }

/* Whether all conditions compare the column of the order with values that are there: one of them may say where to begin
 * (it leaves `rest`); those that say where to end hold for the first row or for none. */
static bool only_bounds(Cp *c, Scan *s, Conds *rest) {
    const Table *t = s->table->table;
    int32_t from = -1;
    if (s->table->written[c->at.order_col]) return false;
    for (int32_t i = 0; i < rest->n; i++) {
        const Expr *e = rest->items[i];
        if (e->kind != EX_FUNC || e->n_args != 2 || cp_unsettled(c, e)) return false;
        uint16_t op = e->u.func->opcode;
        bool greater = op == OP_GT || op == OP_GE, less = op == OP_LT || op == OP_LE;
        int side = cp_scan_column(s->plan, e->args[0]) == c->at.order_col ? 0 : 1;
        if ((!greater && !less) || cp_scan_column(s->plan, e->args[side]) != c->at.order_col ||
            !cp_available(c, e->args[1 - side]) || uses_scan(c, s->plan, e->args[1 - side]))
            return false;
        if ((greater == (side == 0)) == c->at.order_desc) continue; /* an end */
        if (from >= 0 || !same_cells(t->cols[c->at.order_col].type, e->args[1 - side]->type)) return false;
        from = i;
        s->bound = e->args[1 - side];
        s->at = op == OP_GE || op == OP_LE;
    }
    if (from >= 0) rest->items[from] = rest->items[--rest->n];
    return true;
}

/* The columns that conditions say to be equal to a value that is there: s->eq, and from[column] the condition. */
static Status scan_equalities(Cp *c, Scan *s, const Conds *conds, int32_t *from) {
    const Table *t = s->plan->scan.table;
    for (int32_t i = 0; i < conds->n; i++) {
        Expr *e = conds->items[i];
        if (e->kind != EX_FUNC || e->u.func->opcode != OP_EQ || e->n_args != 2) continue;
        for (int side = 0; side < 2; side++) {
            int32_t col = cp_scan_column(s->plan, e->args[side]);
            Expr *v = e->args[1 - side];
            if (col < 0 || s->eq[col] || !cp_available(c, v) || !same_cells(t->cols[col].type, v->type)) continue;
            TRY(cp_settle_copy(c, &v));
            s->eq[col] = v;
            from[col] = i;
            break;
        }
    }
    return ST_OK;
}

/* What the rows are found by: a unique key whose columns are all equal to values and not written, or else the other
 * such columns. */
static void scan_key(const Cp *c, Scan *s) {
    const Table *t = s->plan->scan.table;
    for (int k = 0; k < t->n_keys && !s->unique; k++) {
        s->unique = t->keys[k].n_cols > 0;
        for (int i = 0; i < t->keys[k].n_cols; i++)
            s->unique &= s->eq[t->keys[k].cols[i]] && cp_lookable(c, s->table, t->keys[k].cols[i]);
        if (!s->unique) continue;
        s->index = k;
        s->n_key = t->keys[k].n_cols;
        for (int i = 0; i < s->n_key; i++) s->key_cols[i] = t->keys[k].cols[i];
    }
    for (int i = 0; i < t->n_cols && !s->unique; i++)
        if (s->eq[i] && cp_lookable(c, s->table, i)) s->key_cols[s->n_key++] = i;
    for (int i = 0; i < s->n_key; i++) s->table->looks[s->key_cols[i]] = true;
}

/* Conditions: what the rows are found by, what is tested for each (s->conds), and what is left in `conds` to be tested
 * above, since it needs columns that are not there yet. */
static Status scan_conditions(Cp *c, Scan *s, Conds *conds) {
    Plan *p = s->plan;
    Table *t = p->scan.table;
    s->eq = arena_array(c->arena, Expr *, t->n_cols + 1);
    s->key_cols = arena_array(c->arena, int32_t, t->n_cols + 1);
    bool *key = arena_calloc(c->arena, t->n_cols + 1);
    int32_t *from = arena_array(c->arena, int32_t, t->n_cols + 1);
    if (!s->eq || !s->key_cols || !key || !from) return cp_oom(c);
    for (int32_t i = 0; i < p->n_conds; i++) TRY(cp_conds_add(c, conds, p->conds[i]));
    bool *used = arena_calloc(c->arena, conds->n + 1);
    if (!used) return cp_oom(c);
    TRY(scan_equalities(c, s, conds, from));
    scan_key(c, s);
    /* Other equalities are conditions as any: what the row has there is not known before it is looked at. */
    for (int32_t i = 0; i < s->n_key; i++) key[s->key_cols[i]] = used[from[s->key_cols[i]]] = true;
    for (int i = 0; i < t->n_cols; i++)
        if (!key[i]) s->eq[i] = NULL;
    /* Conditions on other columns of this table and on what is there already; those that need more are tested above. */
    for (int32_t i = 0; i < p->n_out; i++) colset_add(&c->ctx, &c->query.in_scope, p->out_cols[i]);
    int32_t kept = 0;
    for (int32_t i = 0; i < conds->n; i++) {
        if (used[i]) continue;
        if (cp_available(c, conds->items[i])) TRY(cp_conds_add(c, s->conds, conds->items[i]));
        else conds->items[kept++] = conds->items[i];
    }
    conds->n = kept;
    return ST_OK;
}

/* The index that gives the rows: of a unique key, or one of the registry's; and what such a lookup cannot do. */
static Status scan_index(Cp *c, Scan *s, const Conds *above) {
    const Table *t = s->plan->scan.table;
    Conds *rest = s->conds;
    s->one = c->at.order_scan == s->plan && !s->unique && above->n == 0 && (rest->n == 0 || only_bounds(c, s, rest));
    bool ordered = s->one && !s->table->written[c->at.order_col];
    if (s->n_key == 0 && !ordered && t->live_rows > WHOLE_MAX)
        return cp_refuse(c, "a scan of table \"%s\", which is large, without equality on a column that nobody updates",
                         t->name);
    if (!s->unique && !c->dry) {
        if ((s->index = registry_group(c->reg, s->table, s->n_key, s->key_cols, ordered ? c->at.order_col + 1 : 0,
                                       ordered && c->at.order_desc)) < 0)
            return cp_oom(c);
    }
    if (s->outer && (!s->unique || rest->n > 0 || above->n > 0))
        return cp_refuse(c, "a left join that is not by a unique key alone");
    return ST_OK;
}

/* The row of a left join: one of NULLs where there is none. */
static Status scan_outer(Cp *c, Scan *s) {
    Type i8 = type_make(T_INT8);
    Value null = {.type = i8, .is_null = true};
    Reg r = cp_emit(c, OP_SELECT, PH_I64, i8, true, row_there(c, s->row), cp_load(c, s->row),
                    lower_canonical(&c->low, &c->pipe, lower_const(&c->low, &c->pipe, &null), i8));
    TRY(cp_store(c, s->row, r));
    return use_row(c, s);
}

/* All rows of a group, from the first, which s->row is. */
static Status scan_loop(Cp *c, Scan *s) {
    int32_t loop = c->flow.next_block++, next = cp_var_new(c, NULL, type_make(T_INT8));
    if (next < 0) return ST_ERROR;
    TRY(cp_control(c, OP_P_LOOP, 0, loop));
    TRY(cp_control(c, OP_P_IF, cp_cmp(c, OP_LT, PH_I64, cp_load(c, s->row), cp_int(c, PH_I64, 0)), 0));
    TRY(cp_leave(c, loop, false));
    TRY(cp_control(c, OP_P_ENDIF, 0, 0));
    /* The next row is taken before this one is used, which may delete it. */
    RowKey *k = arena_new_of(c->arena, RowKey);
    Reg r = k ? cp_load(c, s->row) : 0;
    Reg d = r ? lower_reg(&c->low, &c->pipe, PH_I64, type_make(T_INT8), false, (Range){true, -1, INT64_C(1) << 40}) : 0;
    Instr *in = d ? builder_emit(&c->pipe.b, OP_ROW_NEXT, PH_I64, d, r, 0, 0) : NULL;
    if (!in) return cp_oom(c);
    *k = (RowKey){.table = s->number, .index = s->index};
    in->aux = k;
    TRY(cp_store(c, next, d));
    TRY(use_row(c, s));
    TRY(cp_store(c, s->row, cp_load(c, next)));
    return cp_control(c, OP_P_ENDLOOP, 0, loop);
}

/* The table as a whole is one item, not one for each row: the footprint does not look at its rows. */
static bool reads_whole(const Cp *c, const Scan *s) {
    const Plan *p = s->plan;
    bool whole = false;
    if (s->n_key > 0 || s->one || c->dry) return false;
    for (int32_t i = 0; i < p->n_out; i++)
        whole |= p->scan.cols[i] < 0
                     ? p == c->query.change_plan
                     : colset_has(s->needed, p->out_cols[i]) && s->table->group[p->scan.cols[i]] != NO_GROUP;
    return whole;
}

/* The rows of a table: how they are found, then the lookup or loop. */
static Status scan_rows(Cp *c, Plan *p, Conds *conds, ColSet *needed, CpRow row, void *ctx, bool *single) {
    Scan *s = arena_new_of(c->arena, Scan);
    Conds *rest = arena_new_of(c->arena, Conds);
    if (!s || !rest) return cp_oom(c);
    *s = (Scan){.plan = p,
                .row = -1,
                .outer = c->query.outer_scan == p,
                .rows = row,
                .ctx = ctx,
                .needed = needed,
                .conds = rest,
                .index = -1};
    if ((s->number = cp_table(c, p->scan.table)) < 0) return ST_ERROR;
    s->table = c->reg_tables.items[s->number];
    TRY(scan_conditions(c, s, conds));
    TRY(scan_index(c, s, conds));
    if (!s->unique && (c->any_order == 0 || c->flow.tries > 0)) cp_note_order(c);
    if (!s->unique && !s->one) {
        *single = false;
        c->query.several_sources |= p != c->query.target_scan;
    }
    if (p == c->query.change_plan) c->query.change_scan = s;
    TRY(cp_touch_read(c, s)); /* before it is looked at */
    if ((s->row = cp_var_new(c, NULL, type_make(T_INT8))) < 0) return ST_ERROR;
    Reg r = cp_find_row(c, s, s->unique ? OP_ROW_FIND : OP_ROW_FIRST);
    if (r && reads_whole(c, s)) cp_flag(c, CP_UNKNOWN);
    TRY(cp_store(c, s->row, r));
    if (s->outer) return scan_outer(c, s);
    if (!s->unique && !s->one) return scan_loop(c, s);
    TRY(cp_control(c, OP_P_IF, row_there(c, s->row), 0));
    TRY(use_row(c, s));
    return cp_control(c, OP_P_ENDIF, 0, 0);
}

/* ---- other operators ------------------------------------------------------------------------- */
/* Variables for those of the first columns that are used and come from below: a->vars has pairs of column and
 * variable. */
static Status keep_columns(Cp *c, Above *a, ColId n_ids, const ColSet *wanted, const ColSet *out) {
    for (ColId id = 1; id < n_ids; id++) {
        if (!colset_has(wanted, id) || !colset_has(out, id)) continue;
        int32_t v = cp_var_new(c, NULL, c->ctx.cols.items[id].type);
        if (v < 0) return ST_ERROR;
        a->vars[2 * a->count] = id;
        a->vars[2 * a->count++ + 1] = v;
    }
    return ST_OK;
}

/* Conditions that nothing below used. */
Status cp_test_rest(Cp *c, Conds *conds, CpRow row, void *ctx) {
    TRY(cp_stack(c));
    int32_t open = 0;
    Conds mine = *conds;
    conds->n = 0;
    for (int32_t i = 0; i < mine.n; i++) {
        Expr *e = mine.items[i];
        TRY(cp_settle_copy(c, &e));
        TRY(cp_control(c, OP_P_IF, cp_condition(c, e), 0));
        open++;
    }
    TRY(row(c, ctx));
    while (open-- > 0) TRY(cp_control(c, OP_P_ENDIF, 0, 0));
    return ST_OK;
}
Status cp_filter_row(Cp *c, void *ctx) {
    Above *a = ctx;
    return cp_test_rest(c, a->conds, a->row, a->ctx);
}

Status cp_define(Cp *c, ColId id, Expr *e) {
    ColEntry *x = cp_entry(c, id);
    if (!x) return ST_ERROR;
    colset_add(&c->ctx, &c->query.in_scope, id);
    if (e->kind == EX_COL && e->u.col == id) return ST_OK;
    *x = (ColEntry){.where = CW_EXPR, .type = e->type, .expr = e};
    return ST_OK;
}
static Status project_row(Cp *c, void *ctx) {
    Above *a = ctx;
    for (int32_t i = 0; i < a->plan->n_out; i++) {
        Expr *e = a->plan->exprs[i];
        TRY(cp_settle_copy(c, &e));
        TRY(cp_define(c, a->plan->out_cols[i], e));
    }
    return a->row(c, a->ctx);
}

static int part_score(Cp *c, const Plan *p, const Conds *conds);

/* An inner join of several tables: first the one that is found by what is there already. */
bool cp_finds_one(Cp *c, const Plan *p) {
    Conds all = {0};
    for (; p->kind == LP_PROJECT || p->kind == LP_FILTER; p = p->children[0])
        for (int32_t i = 0; i < p->n_conds; i++)
            if (cp_conds_add(c, &all, p->conds[i]) != ST_OK) return false;
    if (p->kind == LP_AGG) return p->agg.n_keys == 0;
    return p->kind == LP_SCAN && part_score(c, p, &all) == 5;
}
typedef struct Joined {
    int32_t n, left;
    Plan **parts; /* NULL: done */
    Conds *conds;
    ColSet *needed;
    CpRow row;
    void *ctx;
    bool *single;
} Joined;
/* By column of the scan's table: some condition says it to be equal to a value that is there. NULL: no memory. */
bool *cp_equal_columns(Cp *c, const Plan *p, const Conds *conds) {
    const Table *t = p->scan.table;
    const CpTable *x = registry_table(c->reg, p->scan.table);
    bool *eq = arena_calloc(c->arena, t->n_cols + 1);
    if (!x || !eq) return c->oom = true, NULL;
    for (int32_t k = 0; k < conds->n + p->n_conds; k++) {
        const Expr *e = k < conds->n ? conds->items[k] : p->conds[k - conds->n];
        if (e->kind != EX_FUNC || e->u.func->opcode != OP_EQ || e->n_args != 2) continue;
        for (int side = 0; side < 2; side++) {
            int32_t col = cp_scan_column(p, e->args[side]);
            if (col < 0 || !cp_lookable(c, x, col) || !cp_available(c, e->args[1 - side]) ||
                !same_cells(t->cols[col].type, e->args[1 - side]->type))
                continue;
            eq[col] = true;
        }
    }
    return eq;
}
bool cp_has_key(const KeyConstraint *k, const bool *eq) {
    bool all = k->n_cols > 0;
    for (int i = 0; i < k->n_cols; i++) all &= eq[k->cols[i]];
    return all;
}
static int part_score(Cp *c, const Plan *p, const Conds *conds) {
    if (p->kind != LP_SCAN) return p->kind == LP_VALUES ? 9 : 1;
    const Table *t = p->scan.table;
    const bool *eq = cp_equal_columns(c, p, conds);
    for (int k = 0; eq && k < t->n_keys; k++)
        if (cp_has_key(&t->keys[k], eq)) return 5;
    return eq && memchr(eq, 1, (size_t)t->n_cols + 1) ? 2 : 0;
}
static Status join_next(Cp *c, void *ctx);
/* A row of a part that is no table: conditions that can be tested by now. */
static Status part_row(Cp *c, void *ctx) {
    Joined *j = ctx;
    Conds all = *j->conds, now = {0}, later = {0};
    for (int32_t i = 0; i < all.n; i++)
        TRY(cp_conds_add(c, cp_available(c, all.items[i]) ? &now : &later, all.items[i]));
    *j->conds = later;
    TRY(cp_test_rest(c, &now, join_next, j));
    *j->conds = all;
    return ST_OK;
}
static Status join_next(Cp *c, void *ctx) {
    TRY(cp_stack(c));
    Joined *j = ctx;
    if (j->left == 0) return cp_test_rest(c, j->conds, j->row, j->ctx);
    int32_t best = -1;
    int score = -1;
    for (int32_t i = 0; i < j->n; i++) {
        int x = j->parts[i] ? part_score(c, j->parts[i], j->conds) : -1;
        if (x > score) best = i, score = x;
    }
    if (c->oom) return ST_ERROR;
    Plan *p = j->parts[best];
    j->parts[best] = NULL;
    j->left--;
    Conds none = {0};
    if (p->kind == LP_SCAN) TRY(cp_rows_of(c, p, j->conds, j->needed, join_next, j, j->single));
    else TRY(cp_rows_of(c, p, &none, j->needed, part_row, j, j->single));
    j->left++;
    j->parts[best] = p;
    return ST_OK;
}
static Status join_parts(Cp *c, Plan *p, Joined *j, int32_t cap) {
    TRY(cp_stack(c));
    if (p->kind == LP_JOIN && p->join.kind == JN_INNER && !p->join.dependent) {
        for (int32_t i = 0; i < p->n_conds; i++) TRY(cp_conds_add(c, j->conds, p->conds[i]));
        TRY(join_parts(c, p->children[0], j, cap));
        return join_parts(c, p->children[1], j, cap);
    }
    if (j->n == cap) return cp_refuse(c, "a join of more than %d tables", (int)cap);
    j->parts[j->n++] = p;
    return ST_OK;
}
/* A left join: the row of a unique key, or NULLs. */
static Status left_join(Cp *c, void *ctx) {
    Above *a = ctx;
    Conds *on = arena_new_of(c->arena, Conds);
    if (!on) return cp_oom(c);
    for (int32_t i = 0; i < a->plan->n_conds; i++) TRY(cp_conds_add(c, on, a->plan->conds[i]));
    c->no_locks = true; /* they have no place for a row that is not there */
    c->query.outer_scan = a->right;
    TRY(cp_rows_of(c, a->right, on, a->needed, a->row, a->ctx, a->single));
    c->query.outer_scan = NULL;
    return ST_OK;
}

/* The first row in an order: the best so far is kept in variables. */
static Status top_row(Cp *c, void *ctx) {
    Above *a = ctx;
    int32_t done = c->flow.next_block++;
    TRY(cp_control(c, OP_P_BLOCK, 0, done));
    TRY(cp_control(c, OP_P_IF, cp_load(c, a->best), 0));
    for (int32_t i = 0; i < a->plan->sort.n; i++) { /* worse than the best, or better, or go on */
        const SortKey *k = &a->plan->sort.keys[i];
        int32_t var = -1;
        for (int32_t j = 0; j < a->count; j++)
            if (a->vars[2 * j] == k->expr->u.col) var = a->vars[2 * j + 1];
        Type t = c->ctx.cols.items[k->expr->u.col].type;
        Phys ph = type_phys(t);
        for (int worse = 1; worse >= 0; worse--) {
            Reg v = cp_lower_as(c, k->expr, t), best = cp_load(c, var);
            if (!v || !best) return ST_ERROR;
            Reg cmp = cp_cmp(c, (worse != 0) == k->desc ? OP_LT : OP_GT, ph, v, best);
            if (lower_info(&c->pipe, v)->nullable) { /* NULLs: first or last */
                Reg vn = cp_test(c, OP_IS_NULL, v), bn = cp_test(c, OP_IS_NULL, best);
                Reg here = (worse != 0) == k->nulls_first ? bn : vn, there = (worse != 0) == k->nulls_first ? vn : bn;
                Reg only =
                    cp_emit(c, OP_AND, PH_BOOL, type_make(T_BOOL), false, here, cp_test(c, OP_IS_FALSE, there), 0);
                cmp = cp_emit(c, OP_OR, PH_BOOL, type_make(T_BOOL), true, cmp, only, 0);
            }
            if (!cmp) return ST_ERROR;
            TRY(cp_control(c, OP_P_IF, cmp, 0));
            TRY(worse ? cp_leave(c, done, false) : cp_store_int(c, a->best, 0));
            TRY(cp_control(c, OP_P_ENDIF, 0, 0));
            if (worse) continue;
            Reg no = cp_test(c, OP_IS_FALSE, cp_load(c, a->best));
            if (!no) return ST_ERROR;
            TRY(cp_control(c, OP_P_IF, no, 0));
        }
        /* better: out of the comparison; equal: the next key */
        TRY(cp_control(c, OP_P_ELSE, 0, 0));
    }
    TRY(cp_leave(c, done, false)); /* equal in all keys: the first one stays */
    for (int32_t i = 0; i < a->plan->sort.n; i++) TRY(cp_control(c, OP_P_ENDIF, 0, 0));
    TRY(cp_control(c, OP_P_ENDIF, 0, 0));
    for (int32_t j = 0; j < a->count; j++) {
        Expr *e = expr_col(&c->ctx, a->vars[2 * j]);
        if (!e) return cp_oom(c);
        TRY(cp_store(c, a->vars[2 * j + 1], cp_lower_as(c, e, c->vars.items[a->vars[2 * j + 1]].type)));
    }
    TRY(cp_store_int(c, a->best, 1));
    return cp_control(c, OP_P_ENDBLOCK, 0, done);
}

/* The only scan below, when nothing but conditions and columns stands between; *col: the scan's column that `id` is. */
const Plan *cp_only_scan(const Plan *p, ColId id, int32_t *col) {
    for (; p->kind == LP_PROJECT || p->kind == LP_FILTER; p = p->children[0])
        for (int32_t i = 0; p->kind == LP_PROJECT && i < p->n_out; i++)
            if (p->out_cols[i] == id) {
                if (p->exprs[i]->kind != EX_COL) return NULL;
                id = p->exprs[i]->u.col;
                break;
            }
    *col = -1;
    for (int32_t i = 0; p->kind == LP_SCAN && i < p->n_out; i++)
        if (p->out_cols[i] == id) *col = p->scan.cols[i];
    return *col >= 0 ? p : NULL;
}

static Status top_rows(Cp *c, Plan *p, Conds *conds, ColSet *needed, CpRow row, void *ctx) {
    Above *a = arena_new_of(c->arena, Above);
    Conds *inner = arena_new_of(c->arena, Conds);
    if (!a || !inner) return cp_oom(c);
    *a = (Above){.plan = p};
    ColSet below = colset_new(&c->ctx), out = colset_new(&c->ctx);
    plan_outputs(&c->ctx, p->children[0], &out);
    colset_add_all(&c->ctx, &below, needed);
    for (int32_t i = 0; i < p->sort.n; i++) {
        if (p->sort.keys[i].expr->kind != EX_COL) return cp_refuse(c, "ORDER BY");
        colset_add(&c->ctx, &below, p->sort.keys[i].expr->u.col);
    }
    a->vars = arena_array(c->arena, int32_t, 2 * (c->ctx.cols.len + 1));
    if (!a->vars || (a->best = cp_var_new(c, NULL, type_make(T_BOOL))) < 0) return cp_oom(c);
    ColId n_ids = (ColId)c->ctx.cols.len;
    TRY(keep_columns(c, a, n_ids, &below, &out));
    bool single = true;
    const Plan *outer_scan = c->at.order_scan;
    int32_t outer_col = c->at.order_col;
    bool outer_desc = c->at.order_desc;
    c->at.order_scan =
        p->sort.n == 1 ? cp_only_scan(p->children[0], p->sort.keys[0].expr->u.col, &c->at.order_col) : NULL;
    if (c->at.order_scan) {
        const Column *k = &c->at.order_scan->scan.table->cols[c->at.order_col];
        Phys ph = type_phys(k->type);
        c->at.order_desc = p->sort.keys[0].desc;
        bool in_key = false; /* a primary key's columns are not NULL */
        for (int i = 0; i < c->at.order_scan->scan.table->n_keys; i++)
            for (int j = 0;
                 c->at.order_scan->scan.table->keys[i].primary && j < c->at.order_scan->scan.table->keys[i].n_cols; j++)
                in_key |= c->at.order_scan->scan.table->keys[i].cols[j] == c->at.order_col;
        if ((!k->not_null && !in_key) || ph < PH_I16 || ph > PH_I64) c->at.order_scan = NULL;
    }
    TRY(cp_store_int(c, a->best, 0));
    for (int32_t j = 0; j < a->count; j++)
        TRY(cp_store_null(c, a->vars[2 * j + 1])); /* nothing is left from another time */
    if (!cp_order_is_total(c, p) && !cp_finds_one(c, p->children[0])) cp_note_order(c);
    c->any_order++;
    TRY(cp_rows_of(c, p->children[0], inner, &below, top_row, a, &single));
    c->any_order--;
    c->at.order_scan = outer_scan;
    c->at.order_col = outer_col;
    c->at.order_desc = outer_desc;
    for (int32_t j = 0; j < a->count; j++) {
        ColEntry *e = cp_entry(c, a->vars[2 * j]);
        Expr *v = expr_col(&c->ctx, c->vars.items[a->vars[2 * j + 1]].col);
        if (!e || !v) return cp_oom(c);
        *e = (ColEntry){.where = CW_EXPR, .type = v->type, .expr = v};
        colset_add(&c->ctx, &c->query.in_scope, a->vars[2 * j]);
    }
    TRY(cp_control(c, OP_P_IF, cp_load(c, a->best), 0));
    TRY(cp_test_rest(c, conds, row, ctx));
    return cp_control(c, OP_P_ENDIF, 0, 0);
}

Status cp_leave_if(Cp *c, Reg cond, int32_t block) {
    if (!cond) return ST_ERROR;
    TRY(cp_control(c, OP_P_IF, cond, 0));
    TRY(cp_leave(c, block, false));
    return cp_control(c, OP_P_ENDIF, 0, 0);
}
/* A row of the query below, to its buffer: the keys of its order, what tells it from rows that are equal in these, and
 * its columns. */
static Status buffer_row(Cp *c, void *ctx) {
    Above *a = ctx;
    CpBuffer *b = a->buffer;
    TRY(cp_buffer_row(c, b));
    for (int32_t i = 0; i < (a->plan ? a->plan->sort.n : 0); i++) {
        const SortKey *k = &a->plan->sort.keys[i];
        TRY(cp_buffer_key(c, b, cp_lower_as(c, k->expr, k->expr->type), k));
    }
    TRY(cp_buffer_ties(c, b, a->rows_from));
    TRY(cp_buffer_columns(c, b, a->count, a->vars));
    return cp_buffer_add(c, b);
}

/* A number of rows: limit, offset. */
static Status row_number(Cp *c, Expr *e, int32_t *var, const char *sqlstate, const char *message) {
    Type i8 = type_make(T_INT8);
    if ((*var = cp_var_new(c, NULL, i8)) < 0) return ST_ERROR;
    TRY(cp_store(c, *var, cp_lower_as(c, e, i8)));
    TRY(cp_control(c, OP_P_IF, cp_cmp(c, OP_LT, PH_I64, cp_load(c, *var), cp_int(c, PH_I64, 0)), 0));
    TRY(cp_raise(c, sqlstate, message, NULL));
    return cp_control(c, OP_P_ENDIF, 0, 0);
}
Status cp_add_one(Cp *c, int32_t var) {
    Reg one = cp_int(c, PH_I64, 1);
    return cp_store(c, var, cp_emit(c, OP_ADD_N, PH_I64, type_make(T_INT8), true, cp_load(c, var), one, 0));
}
/* The rows from `at` on that OFFSET and LIMIT leave: up to `end`. */
static Status limit_rows(Cp *c, int32_t at, int32_t end, int32_t n_left, int32_t n_skip) {
    Type i8 = type_make(T_INT8);
    TRY(cp_store_int(c, at, 0));
    if (n_skip >= 0) {
        TRY(cp_control(c, OP_P_IF, cp_cmp(c, OP_GT, PH_I64, cp_load(c, n_skip), cp_int(c, PH_I64, 0)), 0));
        TRY(cp_copy(c, at, n_skip));
        TRY(cp_control(c, OP_P_ENDIF, 0, 0));
    }
    if (n_left < 0) return ST_OK;
    /* Both are at least 0, and end is at most ROWS: nothing overflows. */
    Reg rest = cp_emit(c, OP_SUB_N, PH_I64, i8, true, cp_load(c, end), cp_load(c, at), 0);
    TRY(cp_control(c, OP_P_IF, cp_cmp(c, OP_GT, PH_I64, rest, cp_load(c, n_left)), 0));
    TRY(cp_store(c, end, cp_emit(c, OP_ADD_N, PH_I64, i8, true, cp_load(c, at), cp_load(c, n_left), 0)));
    return cp_control(c, OP_P_ENDIF, 0, 0);
}
/* What is kept of the rows below: columns that are used above, and keys of the order. */
static Status sorted_columns(Cp *c, const Plan *sort, const Plan *child, const ColSet *needed, Above *a,
                             ColSet *below) {
    ColSet out = colset_new(&c->ctx), kept = colset_new(&c->ctx);
    plan_outputs(&c->ctx, child, &out);
    colset_add_all(&c->ctx, &kept, needed);
    colset_add_all(&c->ctx, below, needed);
    for (int32_t i = 0; i < (sort ? sort->sort.n : 0); i++) {
        if (sort->sort.keys[i].expr->kind != EX_COL) return cp_refuse(c, "ORDER BY");
        colset_add(&c->ctx, below, sort->sort.keys[i].expr->u.col);
    }
    a->vars = arena_array(c->arena, int32_t, 2 * (c->ctx.cols.len + 1));
    return a->vars ? keep_columns(c, a, (ColId)c->ctx.cols.len, &kept, &out) : cp_oom(c);
}

/* Rows in an order, and rows of a LIMIT. Of rows that are equal in all keys the one with the smaller number comes
 * first, as where the rows are sorted one call at a time. sort NULL: in no order, but LIMIT. limit NULL: all. offset
 * NULL: from the first on. */
static Status sorted_rows(Cp *c, Plan *sort, Plan *child, Expr *limit, Expr *offset, Conds *conds, ColSet *needed,
                          CpRow row, void *ctx) {
    Above *a = arena_new_of(c->arena, Above);
    Conds *inner = arena_new_of(c->arena, Conds);
    Type i8 = type_make(T_INT8);
    if (!a || !inner) return cp_oom(c);
    int32_t n_left = -1, n_skip = -1, fill = c->flow.next_block++, loop = c->flow.next_block++;
    *a = (Above){.plan = sort, .rows_from = c->query.rows.len, .buffer = cp_buffer_new(c, sort ? sort->sort.n : 0)};
    if (!a->buffer) return ST_ERROR;
    ColSet below = colset_new(&c->ctx);
    TRY(sorted_columns(c, sort, child, needed, a, &below));
    bool several = false;
    if ((limit && !(limit = cp_cast(c, limit, i8))) || (offset && !(offset = cp_cast(c, offset, i8)))) return ST_ERROR;
    if (limit) TRY(row_number(c, limit, &n_left, ERR_INVALID_LIMIT, "LIMIT must not be negative"));
    if (offset) TRY(row_number(c, offset, &n_skip, ERR_INVALID_OFFSET, "OFFSET must not be negative"));
    TRY(cp_buffer_clear(c, a->buffer));
    TRY(cp_control(c, OP_P_BLOCK, 0, fill));
    if (limit) TRY(cp_leave_if(c, cp_cmp(c, OP_LE, PH_I64, cp_load(c, n_left), cp_int(c, PH_I64, 0)), fill));
    const bool total = sort && cp_order_is_total(c, sort);
    if ((limit || offset) && !total) cp_note_order(c);
    c->any_order += total;
    TRY(cp_rows_of(c, child, inner, &below, buffer_row, a, &several));
    c->any_order -= total;
    TRY(cp_control(c, OP_P_ENDBLOCK, 0, fill));
    int32_t at = cp_var_new(c, NULL, i8), end = cp_var_new(c, NULL, i8);
    if (at < 0 || end < 0) return ST_ERROR;
    TRY(cp_buffer_sort(c, a->buffer));
    TRY(cp_copy(c, end, a->buffer->count));
    TRY(limit_rows(c, at, end, n_left, n_skip));
    TRY(cp_control(c, OP_P_LOOP, 0, loop));
    TRY(cp_leave_if(c, cp_cmp(c, OP_GE, PH_I64, cp_load(c, at), cp_load(c, end)), loop));
    TRY(cp_buffer_read(c, a->buffer, at, 0, a->count, a->vars));
    TRY(cp_add_one(c, at));
    if (!vec_push(c->arena, &c->query.rows, at)) return cp_oom(c);
    TRY(cp_test_rest(c, conds, row, ctx));
    c->query.rows.len--;
    return cp_control(c, OP_P_ENDLOOP, 0, loop);
}

/* LIMIT 1 without an order. */
static Status limit_row(Cp *c, void *ctx) {
    Above *a = ctx;
    TRY(cp_test_rest(c, a->conds, a->row, a->ctx));
    return cp_leave(c, a->count, false);
}

/* FROM f(..): one row. */
static Status routine_row(Cp *c, Plan *p, Conds *conds, CpRow row, void *ctx) {
    const Routine *r = catalog_routine_by_id(c->reg->catalog, p->values.routine_id);
    Expr **args = arena_array(c->arena, Expr *, p->n_exprs + 1);
    CpOuts outs;
    if (!args) return cp_oom(c);
    if (!r) return cp_refuse(c, p->values.routine_id < 0 ? "a system relation" : "a function that has been dropped");
    for (int32_t i = 0; i < p->n_exprs; i++)
        if (!(args[i] = expr_copy(&c->ctx, p->exprs[i]))) return cp_oom(c);
    TRY(cp_settle_list(c, p->n_exprs, args));
    TRY(cp_inline(c, r, p->n_exprs, args, c->at.site->text, &outs));
    if (outs.n != p->n_out) return cp_refuse(c, "a query from function \"%s\"", r->name);
    for (int32_t i = 0; i < p->n_out; i++) {
        Expr *e = expr_col(&c->ctx, c->vars.items[outs.vars[i]].col);
        if (!e) return cp_oom(c);
        TRY(cp_define(c, p->out_cols[i], e));
    }
    return cp_test_rest(c, conds, row, ctx);
}
static bool has_routine(const Plan *p) {
    if (stack_stop()) return true;
    if (p->kind == LP_VALUES && p->values.routine_id) return true;
    for (int32_t i = 0; i < p->n_children; i++)
        if (has_routine(p->children[i])) return true;
    return false;
}

static Status compute_first(Cp *c, int32_t n, const ColId *ids);
static Status nothing(Cp *c, void *ctx) {
    (void)c, (void)ctx;
    return ST_OK;
}

/* A left join that looks for one row by a unique key and nothing else; the one of ON CONFLICT always is. */
static bool is_keyed_join(Cp *c, const Plan *p) {
    Conds on = {0};
    const Plan *right = p->children[1];
    if (c->query.upsert) return true;
    if (p->join.kind != JN_LEFT || right->kind != LP_SCAN || right->n_conds > 0) return false;
    for (int32_t i = 0; i < p->n_conds; i++)
        if (cp_conds_add(c, &on, p->conds[i]) != ST_OK) return false;
    ColSet scope = c->query.in_scope;
    c->query.in_scope = colset_new(&c->ctx);
    colset_add_all(&c->ctx, &c->query.in_scope, &scope);
    plan_outputs(&c->ctx, p->children[0], &c->query.in_scope);
    const Table *t = right->scan.table;
    const bool *eq = cp_equal_columns(c, right, &on);
    c->query.in_scope = scope;
    for (int k = 0; eq && k < t->n_keys; k++) /* the first one is looked up by */
        if (cp_has_key(&t->keys[k], eq)) return t->keys[k].n_cols == on.n;
    return false;
}
/* More than one row may come. */
static void several(Cp *c, bool *single) {
    *single = false;
    c->query.several_sources = true;
}

/* a: what cp_rows_of was asked for. */
static Status join_rows(Cp *c, Above *a, Conds *conds) {
    Plan *p = a->plan;
    ColSet *needed = a->needed;
    const CpRow row = a->row;
    void *ctx = a->ctx;
    bool *single = a->single;
    if (has_routine(p)) return cp_refuse(c, "a join with the result of a function of the database");
    if (p->join.kind == JN_INNER && p->join.dependent) return cp_lateral_rows(c, p, conds, needed, row, ctx, single);
    if (p->join.kind != JN_INNER && !is_keyed_join(c, p)) {
        several(c, single);
        return cp_outer_rows(c, p, conds, needed, row, ctx);
    }
    if (p->join.kind == JN_INNER) {
        enum { PARTS_MAX = 16 };
        Joined *j = arena_new_of(c->arena, Joined);
        if (!j) return cp_oom(c);
        *j = (Joined){.parts = arena_array(c->arena, Plan *, PARTS_MAX),
                      .conds = conds,
                      .needed = needed,
                      .row = row,
                      .ctx = ctx,
                      .single = single};
        if (!j->parts) return cp_oom(c);
        TRY(join_parts(c, p, j, PARTS_MAX));
        j->left = j->n;
        const int64_t n_ctes = c->query.ctes.len;
        for (int32_t i = 0; i < j->n; i++) TRY(cp_collect_once(c, &j->parts[i], needed));
        TRY(join_next(c, j));
        c->query.ctes.len = n_ctes;
        return ST_OK;
    }
    a->right = p->children[1];
    Above *t = arena_new_of(c->arena, Above);
    if (!t) return cp_oom(c);
    *t = (Above){.conds = conds, .row = row, .ctx = ctx};
    a->row = cp_filter_row;
    a->ctx = t;
    return cp_rows_of(c, p->children[0], conds, needed, left_join, a, single);
}
static Status limit_of_rows(Cp *c, Above *a, Conds *conds) {
    Plan *p = a->plan;
    ColSet *needed = a->needed;
    bool *single = a->single;
    Plan *k = p->children[0];
    if (p->limit.rows_expr && p->limit.rows_expr->kind == EX_CONST && !p->limit.rows_expr->u.value.is_null &&
        p->limit.rows_expr->type.id == T_INT8)
        p->limit.rows = p->limit.rows_expr->u.value.u.i64;
    bool skips = p->limit.offset_expr || p->limit.offset > 0;
    if (p->limit.rows != 1 || skips) {
        Expr *limit = p->limit.rows_expr, *offset = p->limit.offset_expr;
        *single &= p->limit.rows == 1;
        Value n = {.type = type_make(T_INT8), .u.i64 = p->limit.rows},
              from = {.type = type_make(T_INT8), .u.i64 = p->limit.offset};
        if (!limit && p->limit.rows >= 0 && !(limit = expr_const(&c->ctx, &n))) return cp_oom(c);
        if (!offset && p->limit.offset > 0 && !(offset = expr_const(&c->ctx, &from))) return cp_oom(c);
        if (limit) TRY(cp_settle_copy(c, &limit));
        if (offset) TRY(cp_settle_copy(c, &offset));
        return sorted_rows(c, k->kind == LP_SORT ? k : NULL, k->kind == LP_SORT ? k->children[0] : k, limit, offset,
                           conds, needed, a->row, a->ctx);
    }
    if (k->kind == LP_SORT) return top_rows(c, k, conds, needed, a->row, a->ctx);
    int32_t block = c->flow.next_block++;
    a->count = block;
    Conds *none = arena_new_of(c->arena, Conds);
    if (!none) return cp_oom(c);
    TRY(cp_control(c, OP_P_BLOCK, 0, block));
    if (!cp_finds_one(c, k)) cp_note_order(c);
    TRY(cp_rows_of(c, k, none, needed, limit_row, a, single));
    return cp_control(c, OP_P_ENDBLOCK, 0, block);
}

Status cp_rows_of(Cp *c, Plan *p, Conds *conds, ColSet *needed, CpRow row, void *ctx, bool *single) {
    TRY(cp_stack(c));
    if (!row) row = nothing;
    Above *a = arena_new_of(c->arena, Above);
    if (!a) return cp_oom(c);
    *a = (Above){.plan = p, .conds = conds, .needed = needed, .row = row, .ctx = ctx, .single = single};
    switch ((PlanKind)p->kind) {
    case LP_SCAN: return scan_rows(c, p, conds, needed, row, ctx, single);
    case LP_VALUES:
        if (p->values.routine_id) return routine_row(c, p, conds, row, ctx);
        if (p->values.n_rows != 1) {
            several(c, single);
            return cp_values_rows(c, p, conds, needed, row, ctx);
        }
        for (int32_t i = 0; i < p->n_out; i++) {
            Expr *e = p->values.rows[0][i];
            TRY(cp_settle_copy(c, &e));
            TRY(cp_define(c, p->out_cols[i], e));
        }
        if (c->query.upsert)
            TRY(compute_first(c, p->n_out, p->out_cols)); /* before the row is looked for that has its key */
        return cp_test_rest(c, conds, row, ctx);
    case LP_FILTER: {
        Conds *all = arena_new_of(c->arena, Conds);
        if (!all) return cp_oom(c);
        for (int32_t i = 0; i < conds->n; i++) TRY(cp_conds_add(c, all, conds->items[i]));
        for (int32_t i = 0; i < p->n_conds; i++) TRY(cp_conds_add(c, all, p->conds[i]));
        conds->n = 0;
        a->conds = all;
        return cp_rows_of(c, p->children[0], all, needed, cp_filter_row, a, single);
    }
    case LP_PROJECT: {
        Conds *none = arena_new_of(c->arena, Conds);
        Above *t = arena_new_of(c->arena, Above);
        if (!none || !t) return cp_oom(c);
        *t = (Above){.conds = conds, .row = row, .ctx = ctx};
        a->row = cp_filter_row;
        a->ctx = t;
        return cp_rows_of(c, p->children[0], none, needed, project_row, a, single);
    }
    case LP_JOIN: return join_rows(c, a, conds);
    case LP_AGG:
        if (p->agg.n_keys == 0) return cp_agg_rows(c, p, conds, needed, row, ctx);
        *single = false;
        c->query.several_sources = true;
        return cp_group_rows(c, p, conds, needed, row, ctx);
    case LP_SORT:
        if (p->limit.rows == 1 && p->limit.offset <= 0) return top_rows(c, p, conds, needed, row, ctx);
        if (p->limit.rows >= 0 || p->limit.offset > 0) return cp_refuse(c, "ORDER BY with LIMIT");
        *single = false;
        return sorted_rows(c, p, p->children[0], NULL, NULL, conds, needed, row, ctx);
    case LP_LIMIT: return limit_of_rows(c, a, conds);
    case LP_SETOP: several(c, single); return cp_setop_rows(c, p, conds, needed, row, ctx);
    case LP_CTE: return cp_cte_rows(c, p, conds, needed, row, ctx, single);
    case LP_CTE_SCAN: several(c, single); return cp_cte_scan_rows(c, p, conds, needed, row, ctx);
    case LP_SERIES: several(c, single); return cp_series_rows(c, p, conds, row, ctx);
    case LP_WINDOW: return cp_refuse(c, "a window function");
    case LP_STREAM: return cp_refuse(c, "a file");
    case LP_REPEAT: several(c, single); return cp_repeat_rows(c, p, conds, needed, row, ctx, single);
    }
    return cp_refuse(c, "a query of another kind");
}

/* Columns that the plan needs of its scans for the result columns. */
static Status need(Cp *c, Plan *p, ColSet *s) {
    TRY(cp_stack(c));
    switch ((PlanKind)p->kind) {
    case LP_PROJECT:
        for (int32_t i = 0; i < p->n_out; i++)
            if (colset_has(s, p->out_cols[i])) expr_cols(&c->ctx, p->exprs[i], s);
        break;
    case LP_AGG:
        for (int32_t i = 0; i < p->agg.n_keys; i++) expr_cols(&c->ctx, p->exprs[i], s);
        for (int32_t i = 0; i < p->agg.n_calls; i++) {
            if (p->agg.calls[i].arg) expr_cols(&c->ctx, p->agg.calls[i].arg, s);
            if (p->agg.calls[i].arg2) expr_cols(&c->ctx, p->agg.calls[i].arg2, s);
            if (p->agg.calls[i].filter) expr_cols(&c->ctx, p->agg.calls[i].filter, s);
        }
        break;
    case LP_SETOP:
        for (int32_t k = 0; k < p->n_children; k++)
            for (int32_t i = 0; i < p->n_out; i++)
                if (p->set.op != SO_UNION_ALL || colset_has(s, p->out_cols[i]))
                    colset_add(&c->ctx, s, p->set.cols[k][i]);
        break;
    case LP_REPEAT: colset_add(&c->ctx, s, p->count_col); break;
    case LP_CTE: plan_outputs(&c->ctx, p->children[0], s); break; /* wherever it is read */
    default: break;
    }
    for (int32_t i = 0; i < p->n_conds; i++) expr_cols(&c->ctx, p->conds[i], s);
    for (int32_t i = 0; i < p->sort.n; i++) expr_cols(&c->ctx, p->sort.keys[i].expr, s);
    for (int32_t i = 0; i < p->n_children; i++) TRY(need(c, p->children[i], s));
    return ST_OK;
}

static Status rows_needed(Cp *c, Plan *p, ColSet *s, CpRow row, void *ctx, bool *single) {
    TRY(need(c, p, s));
    Conds *none = arena_new_of(c->arena, Conds);
    if (!none) return cp_oom(c);
    ColSet scope = c->query.in_scope;
    c->query.in_scope = colset_new(&c->ctx);
    colset_add_all(&c->ctx, &c->query.in_scope, &scope);
    bool one = true;
    if (single) *single = true;
    TRY(cp_rows_of(c, p, none, s, row, ctx, single ? single : &one));
    c->query.in_scope = scope;
    return ST_OK;
}
Status cp_rows(Cp *c, Plan *p, int32_t n_needed, const ColId *needed, CpRow row, void *ctx, bool *single) {
    ColSet *s = arena_new_of(c->arena, ColSet);
    if (!s) return cp_oom(c);
    *s = colset_new(&c->ctx);
    for (int32_t i = 0; i < n_needed; i++) colset_add(&c->ctx, s, needed[i]);
    return rows_needed(c, p, s, row, ctx, single);
}

/* ---- data changes ------------------------------------------------------------------------------- */
typedef struct Change {
    BoundStmt *b;
    CpTable *table;
    int32_t number;
    CpRow row;
    void *ctx;
    Scan *scan;
    Expr **amounts; /* UPDATE, by set column: what is added, NULL: a plain write. As the form says that is compiled, one
                       of ... */
    CpAdd *fetch_adds;     /* UPDATE, by set column: something is added, and RETURNING has the result */
    int32_t *fetch_add_of; /* ... by column of the table: RowCol.fetch_add */
    bool *writes;          /* UPDATE, by group of columns: some of them is written plainly */
    const CpAdd *adds;
    struct {
        Expr **amounts;
        bool *writes;
    } forms[2];   /* ... where all amounts are exact, and where some may not be: all is written */
    bool unsure;  /* there are two of them, */
    bool inexact; /* and this is the second one, of a call whose footprint records which */
    uint64_t site;
    bool once;         /* UPDATE .. FROM */
    bool moves;        /* the row goes, and another one comes */
    ColId *now;        /* UPDATE, also ON CONFLICT: by column the new value, 0: as it is */
    bool *single, one; /* at most one row changes, as is known when its change is compiled */
    CpEvents *events;  /* of foreign keys; ON CONFLICT DO UPDATE: of the row that is inserted, */
    CpEvents *updates; /* and of the one that changes */
    CpUnique *unique;
} Change;

static Expr *output_expr(Plan *p, ColId id) {
    for (; p; p = p->n_children ? p->children[0] : NULL)
        for (int32_t i = 0; p->kind == LP_PROJECT && i < p->n_out; i++)
            if (p->out_cols[i] == id && !(p->exprs[i]->kind == EX_COL && p->exprs[i]->u.col == id)) return p->exprs[i];
    return NULL;
}
static Plan *find_scan(Plan *p, const Table *t, ColId rowid) {
    if (stack_stop()) return NULL;
    if (p->kind == LP_SCAN && p->scan.table == t)
        for (int32_t i = 0; i < p->n_out; i++)
            if (p->out_cols[i] == rowid && p->scan.cols[i] < 0) return p;
    for (int32_t i = 0; i < p->n_children; i++) {
        Plan *s = find_scan(p->children[i], t, rowid);
        if (s) return s;
    }
    return NULL;
}
/* What is done for rows that have a value wherever NULL may not be: what stores them finds the others. The new values
 * of columns cols[i] (NULL: of all, in order) are ids[i]. */
static Status unless_null(Cp *c, const Table *t, int32_t n, const int32_t *cols, const ColId *ids, int32_t *open) {
    for (int32_t i = 0; i < n; i++) {
        const Column *col = &t->cols[cols ? cols[i] : i];
        if (!col->not_null) continue;
        Expr *v = expr_col(&c->ctx, ids[i]);
        Reg r = v ? cp_lower_as(c, v, col->type) : 0;
        if (!r) return v ? ST_ERROR : cp_oom(c);
        if (!lower_info(&c->pipe, r)->nullable) continue;
        TRY(cp_control(c, OP_P_IF, cp_test(c, OP_IS_NOT_NULL, r), 0));
        ++*open;
    }
    return ST_OK;
}
const ErrNames *cp_table_names(Cp *c, const char *table, ErrField field, const char *name) {
    const Slice schema = schema_of_key(table);
    ErrNames *n = arena_new_of(c->arena, ErrNames);
    const char *in = n ? arena_strndup(c->arena, schema.ptr, schema.len) : NULL;
    if (!in) return c->oom = true, NULL;
    n->of[EF_SCHEMA] = in;
    n->of[EF_TABLE] = name_of_key(table);
    n->of[field] = name;
    return n;
}
/* Raises the error of a row that a constraint refuses. row: its columns, for the detail; NULL where the call does not
 * know all of them, since reading more would make it conflict with other calls. */
static Status refuse_row(Cp *c, const Table *t, RaiseSite *site, const ColId *row) {
    if (!row && !(site->format = cp_plain_text(c, site->format))) return ST_ERROR;
    if (row) {
        site->row_of = t;
        site->n = t->n_cols;
        if (!(site->args = arena_array(c->arena, Reg, t->n_cols + 1))) return cp_oom(c);
    }
    for (int32_t i = 0; i < site->n; i++) {
        Expr *v = expr_col(&c->ctx, row[i]);
        if (!v) return cp_oom(c);
        if (!(site->args[i] = cp_lower_as(c, v, t->cols[i].type))) return ST_ERROR;
    }
    return cp_raise_site(c, site);
}
/* NULLs among new values of columns cols[i] (NULL: of all, in order), ids[i], where none may be. row: its columns, for
 * the detail; NULL: without. */
static Status refuse_nulls(Cp *c, Table *t, int32_t n, const int32_t *cols, const ColId *ids, const ColId *row) {
    for (int32_t i = 0; i < n; i++) {
        const Column *col = &t->cols[cols ? cols[i] : i];
        if (!col->not_null) continue;
        Expr *v = expr_col(&c->ctx, ids[i]);
        Reg r = v ? cp_lower_as(c, v, col->type) : 0;
        if (!r) return ST_ERROR;
        if (!lower_info(&c->pipe, r)->nullable) continue;
        char *text = arena_printf(c->arena, ROW_NULL_TEXT, col->name, t->name);
        if (!text) return cp_oom(c);
        TRY(cp_control(c, OP_P_IF, cp_test(c, OP_IS_NULL, r), 0));
        RaiseSite site = {.sqlstate = ERR_NOT_NULL_VIOLATION,
                          .format = text,
                          .names = cp_table_names(c, t->name, EF_COLUMN, col->name)};
        TRY(refuse_row(c, t, &site, row));
        TRY(cp_control(c, OP_P_ENDIF, 0, 0));
    }
    return ST_OK;
}
/* Fails where condition i of the statement, of a CHECK or of a view, is FALSE, not NULL. */
static Status refuse_where(Cp *c, const BoundStmt *b, int32_t i, RaiseSite *site, const ColId *row) {
    Expr *e = expr_col(&c->ctx, b->checks[i]);
    Reg r = e ? cp_condition(c, e) : 0;
    Reg bad = cp_test(c, OP_IS_FALSE, r);
    if (!bad) return ST_ERROR;
    TRY(cp_control(c, OP_P_IF, bad, 0));
    if (!site->format) return cp_oom(c);
    TRY(refuse_row(c, b->table, site, row));
    return cp_control(c, OP_P_ENDIF, 0, 0);
}
/* Rows that CHECK constraints refuse, which end at `to` of the statement's conditions and views' behind them. NOT NULL
 * comes before them. */
static Status checks(Cp *c, const BoundStmt *b, int32_t from, int32_t to, int32_t n, const int32_t *cols,
                     const ColId *ids, const ColId *row) {
    int32_t open = 0;
    to -= b->n_view_checks;
    if (from >= to) return ST_OK;
    TRY(unless_null(c, b->table, n, cols, ids, &open));
    for (int32_t i = from; i < to; i++) {
        RaiseSite site = {.sqlstate = ERR_CHECK_VIOLATION,
                          .format = arena_printf(c->arena, ROW_CHECK_TEXT, b->table->name, b->check_names[i]),
                          .names = cp_table_names(c, b->table->name, EF_CONSTRAINT, b->check_names[i])};
        TRY(refuse_where(c, b, i, &site, row));
    }
    while (open-- > 0) TRY(cp_control(c, OP_P_ENDIF, 0, 0));
    return ST_OK;
}
/* Rows that views WITH CHECK OPTION refuse: the last conditions before `to`. */
static Status view_checks(Cp *c, const BoundStmt *b, int32_t to, const ColId *row) {
    for (int32_t i = to - b->n_view_checks; i < to; i++) {
        RaiseSite site = {.sqlstate = ERR_WITH_CHECK_OPTION,
                          .format = arena_printf(c->arena, ROW_VIEW_TEXT, b->check_names[i])};
        TRY(refuse_where(c, b, i, &site, row));
    }
    return ST_OK;
}

/* A row's values are computed before it is checked: those that may fail go to variables. */
static Status compute_first(Cp *c, int32_t n, const ColId *ids) {
    for (int32_t i = 0; i < n; i++) {
        ColEntry *e = cp_entry(c, ids[i]);
        if (!e) return ST_ERROR;
        if (e->where != CW_EXPR || e->expr->kind == EX_COL || e->expr->kind == EX_CONST) continue;
        Type t = c->ctx.cols.items[ids[i]].type;
        Expr *value = expr_col(&c->ctx, ids[i]);
        int32_t v = value ? cp_var_new(c, NULL, t) : -1;
        if (v < 0) return cp_oom(c);
        TRY(cp_store(c, v, cp_lower_as(c, value, t)));
        Expr *x = expr_col(&c->ctx, c->vars.items[v].col);
        if (!x || !(e = cp_entry(c, ids[i]))) return cp_oom(c);
        *e = (ColEntry){.where = CW_EXPR, .type = t, .expr = x};
    }
    return ST_OK;
}

static bool key_is_set(const KeyConstraint *k, int32_t n_set, const int32_t *set) {
    for (int i = 0; i < k->n_cols; i++)
        for (int32_t j = 0; j < n_set; j++)
            if (k->cols[i] == set[j]) return true;
    return false;
}
/* Deferrable keys are looked at behind all others, and behind the statement. */
static Status refuse_deferrable(Cp *c, const BoundStmt *b, bool single) {
    const Table *t = b->table;
    for (int i = 0; i < t->n_keys; i++) {
        if (!t->keys[i].deferrable) continue;
        if (b->kind == STMT_UPDATE && !key_is_set(&t->keys[i], b->n_set, b->set_cols)) continue;
        bool last = single && !b->hit && !b->on_conflict_nothing;
        for (int j = i + 1; j < t->n_keys; j++) last &= t->keys[j].deferrable;
        if (!last || t->keys[i].deferred)
            return cp_refuse(c, "a change of keys of table \"%s\", whose constraint \"%s\" is deferrable", t->name,
                             t->keys[i].name);
    }
    return ST_OK;
}

/* RETURNING columns keep their values over the change: they go to variables. */
static Status keep_result(Cp *c, BoundStmt *b) {
    for (int32_t i = 0; i < b->n_result; i++) {
        Type t = c->ctx.cols.items[b->result[i]].type;
        Expr *e = expr_col(&c->ctx, b->result[i]);
        int32_t v = e ? cp_var_new(c, NULL, t) : -1;
        if (v < 0) return cp_oom(c);
        TRY(cp_store(c, v, cp_lower_as(c, e, t)));
        Expr *x = expr_col(&c->ctx, c->vars.items[v].col);
        ColId id = plan_new_col(&c->ctx, "", t, true);
        ColEntry *entry = x && id ? cp_entry(c, id) : NULL;
        if (!entry) return cp_oom(c);
        *entry = (ColEntry){.where = CW_EXPR, .type = t, .expr = x};
        colset_add(&c->ctx, &c->query.in_scope, id);
        b->result[i] = id;
    }
    return ST_OK;
}

static Instr *emit_op(Cp *c, Opcode op, Phys ph, Reg dst, Reg a, Reg b, void *aux) {
    Instr *in = builder_emit(&c->pipe.b, op, ph, dst, a, b, 0);
    if (!in) return c->oom = true, NULL;
    in->aux = aux;
    return in;
}

/* A new value of set item i that is NULL where none may be is an error. */
static bool null_fails(Cp *c, const Change *k, int32_t i, Reg value) {
    return k->table->table->cols[k->b->set_cols[i]].not_null && lower_info(&c->pipe, value)->nullable;
}
static Status put_column(Cp *c, const Change *k, Opcode op, int32_t i, Reg row, Reg value) {
    RowCol *cell = arena_new_of(c->arena, RowCol);
    if (!cell) return cp_oom(c);
    *cell = (RowCol){.table = k->number, .col = k->b->set_cols[i]};
    dbg_assert(type_same_cells(k->table->table->cols[cell->col].type, lower_info(&c->pipe, value)->type));
    cell->only_null = op == OP_ROW_PUT && k->amounts[i];
    cell->bounded = op == OP_ROW_PUT && k->inexact && k->adds[i].by;
    cell->fetch_add = op == OP_ROW_PUT && k->fetch_add_of ? k->fetch_add_of[cell->col] : 0;
    cell->minus = op == OP_ROW_ADD && k->adds[i].minus;
    Instr *in = emit_op(c, op, type_phys(k->table->table->cols[cell->col].type), 0, row, value, cell);
    if (!in) return ST_ERROR;
    if (op == OP_ROW_PUT && !null_fails(c, k, i, value)) in->flags |= INSTR_SAFE;
    return ST_OK;
}
/* The row's columns change. The whole row is computed before it is looked at: that an addition overflows is found
 * before that a value must not be NULL, and of either the first one in the statement is reported. Where several may
 * fail for a NULL, additions of one add 0, and fail in their turn. Where one may, it comes last of all additions,
 * though another sum might have to be reported then: a failure behind the additions would have all calls log their
 * changes. */
static Status put_columns(Cp *c, Change *k, Reg row, const Reg *vals) {
    const BoundStmt *b = k->b;
    CpTable *t = k->table;
    int32_t may_fail = 0;
    for (int32_t i = 0; i < b->n_set; i++) may_fail += null_fails(c, k, i, vals[i]);
    for (int late = 0; late < 2; late++)
        for (int32_t i = 0; i < b->n_set; i++) {
            if (!k->amounts[i]) continue;
            bool fails = null_fails(c, k, i, vals[i]);
            if ((may_fail == 1 && fails) != (late == 1)) continue;
            Reg by = vals[i];
            Type type = t->table->cols[b->set_cols[i]].type;
            if (may_fail > 1 && fails)
                by = cp_emit(c, OP_COALESCE, type_phys(type), type, false, by,
                             lower_int_const(&c->low, &c->pipe, type_phys(type), type, 0), 0);
            if (!by) return cp_oom(c);
            k->table->need.adds[b->set_cols[i]] = true;
            TRY(put_column(c, k, OP_ROW_ADD, i, row, by));
        }
    for (int32_t i = 0; i < b->n_set; i++) {
        Reg at = row, value = vals[i];
        if (k->amounts[i]) {
            if (may_fail < 2 || !null_fails(c, k, i, vals[i])) continue;
            at = cp_emit(c, OP_SELECT, PH_I64, type_make(T_INT8), true, cp_test(c, OP_IS_NULL, value), row,
                         cp_int(c, PH_I64, -1));
            if (!at) return cp_oom(c);
        }
        TRY(put_column(c, k, OP_ROW_PUT, i, at, value));
    }
    for (int32_t i = 0; i < b->n_set; i++) {
        int32_t col = b->set_cols[i];
        t->need.cols[col] = true;
        t->written[col] = true;
        if (c->dry) t->writers[col] += k->site; /* equal sets of statements make equal numbers */
    }
    return ST_OK;
}

static int group_does(const Change *k, int32_t group) {
    int does = 0;
    for (int32_t i = 0; i < k->b->n_set; i++)
        if (k->table->group[k->b->set_cols[i]] == group && !k->amounts[i])
            does |= k->fetch_adds[i].by ? DOES_FETCH_ADD : DOES_WRITE;
    return does;
}
/* The operation on the group of set item i, and what it adds or fetches and adds. */
static Status touch_change(Cp *c, Change *k, int32_t i) {
    const BoundStmt *b = k->b;
    int32_t col = b->set_cols[i], g = k->table->group[col], n = 0;
    const CpAdd *f = &k->fetch_adds[i];
    CpTouch x = {.item = {.kind = k->amounts[i] ? OPK_ADD : OPK_WRITE, .does = (uint8_t)group_does(k, g), .col = col},
                 .group = g,
                 .inexact = k->inexact && k->adds[i].by};
    if (k->amounts[i]) return cp_touch(c, k->scan, &x, cp_touch_amount(c, k->scan, col, k->amounts[i], false));
    if (!f->by) return cp_touch(c, k->scan, &x, 0);
    for (int32_t j = 0; j < b->n_set; j++) n += k->table->group[b->set_cols[j]] == g;
    x.item.fetch_add = k->fetch_add_of[col];
    x.item.why = n > 1     ? "it changes other columns with it"
                 : f->of   ? "its amount may not be exact for the column"
                 : k->once ? "it is an UPDATE .. FROM"
                           : NULL;
    return cp_touch(c, k->scan, &x, cp_touch_amount(c, k->scan, col, f->by, f->minus));
}
/* An addition that is planned as a write: the bulk needs the amount. */
static Status touch_covered(Cp *c, const Change *k, int32_t i, Reg amount) {
    int32_t col = k->b->set_cols[i];
    CpTouch x = {.item = {.kind = OPK_ADD, .covered = true, .col = col},
                 .group = k->table->group[col],
                 .inexact = k->inexact && k->adds[i].by};
    return cp_touch(c, k->scan, &x, amount);
}
static Status update_items(Cp *c, Change *k) {
    const BoundStmt *b = k->b;
    bool done[CP_MAX_GROUPS] = {false};
    if (c->dry) return ST_OK;
    for (int32_t i = 0; i < b->n_set; i++) {
        int32_t col = b->set_cols[i], g = k->table->group[col];
        const CpAdd *add = &k->adds[i];
        if (add->by) {
            CpTouch sum = {.item = {.kind = CP_SUMS, .col = col}, .group = g};
            TRY(cp_touch(c, k->scan, &sum, cp_touch_amount(c, k->scan, col, add->by, false)));
        }
        if (k->amounts[i] && k->writes[g])
            TRY(touch_covered(c, k, i, cp_touch_amount(c, k->scan, col, k->amounts[i], false)));
        else if (k->amounts[i] || !done[g]) TRY(touch_change(c, k, i));
        done[g] |= !k->amounts[i];
        if (!k->inexact || !add->by) continue;
        TRY(touch_covered(c, k, i,
                          add->of ? cp_touch_bound(c, k->scan, col, add)
                                  : cp_touch_amount(c, k->scan, col, add->by, false)));
    }
    return ST_OK;
}

/* The row's changes in the form that k has. */
static Status change_row(Cp *c, Change *k) {
    BoundStmt *b = k->b;
    CpTable *t = k->table;
    TRY(update_items(c, k)); /* before anything is read of the columns that it writes */
    if (b->n_checks > 0 || k->unique) TRY(compute_first(c, b->n_set, b->values));
    TRY(checks(c, b, 0, b->n_checks, b->n_set, b->set_cols, b->values, NULL));
    if (!k->unique) TRY(view_checks(c, b, b->n_checks, NULL)); /* no key is set, whose error would come before */
    TRY(cp_events_values(c, k->events, k->scan, b->rowid, k->now));
    TRY(cp_unique_before(c, k->unique, k->scan, b->rowid, k->now));
    Expr *row = expr_col(&c->ctx, b->rowid);
    Reg *vals = arena_array(c->arena, Reg, b->n_set + 1);
    if (!row || !vals) return cp_oom(c);
    TRY(keep_result(c, b));
    Reg r = cp_lower_as(c, row, type_make(T_INT8));
    for (int32_t i = 0; r && i < b->n_set; i++) {
        Type type = t->table->cols[b->set_cols[i]].type;
        Expr *v = k->amounts[i] ? k->amounts[i] : expr_col(&c->ctx, b->values[i]);
        int64_t from = c->pipe.b.instrs.len;
        if (!v || !(v = cp_cast(c, v, type)) || !(vals[i] = cp_lower_as(c, v, type))) return ST_ERROR;
        for (int64_t p = from; k->amounts[i] && k->adds[i].of && p < c->pipe.b.instrs.len;
             p++) { /* it was computed before, and is exact */
            Instr *in = &c->pipe.b.instrs.items[p];
            if (op_is_pure(in->op)) in->flags |= INSTR_SAFE;
        }
    }
    if (!r) return ST_ERROR;
    TRY(put_columns(c, k, r, vals));
    cp_fresh(c);
    cp_mark(c);
    TRY(cp_unique_after(c, k->unique, r));
    if (k->unique) TRY(view_checks(c, b, b->n_checks, NULL));
    return cp_events_row(c, k->events, *k->single);
}
static void use_form(Change *k, bool inexact) {
    k->amounts = k->forms[inexact].amounts;
    k->writes = k->forms[inexact].writes;
    k->inexact = inexact;
}
/* Whether the amounts are exact is found out before anything is changed. The write comes first in the text: it can fail
 * before it changes anything, the addition does not. Where the footprint does not know the amounts only the write stays
 * (footprint.c). */
static Status change_either(Cp *c, Change *k) {
    Reg exact = 0;
    for (int32_t i = 0; i < k->b->n_set; i++) {
        if (!k->adds[i].of) continue;
        Reg one = cp_exact(c, &k->adds[i]);
        if (one && exact) one = cp_emit(c, OP_AND, PH_BOOL, type_make(T_BOOL), true, exact, one, 0);
        if (!(exact = one)) return err_is_set(&c->scratch) ? cp_refuse_error(c) : ST_ERROR;
    }
    TRY(cp_control(c, OP_P_IF, cp_test(c, OP_NOT, cp_test(c, OP_IS_TRUE, exact)), 0));
    cp_flag(c, CP_FORMS);
    use_form(k, true);
    TRY(change_row(c, k));
    TRY(cp_control(c, OP_P_ELSE, 0, 0));
    use_form(k, false);
    TRY(change_row(c, k));
    return cp_control(c, OP_P_ENDIF, 0, 0);
}

/* ---- updates of keys ---- */
static Reg row_register(Cp *c, const BoundStmt *b) {
    Expr *row = expr_col(&c->ctx, b->rowid);
    return row ? cp_lower_as(c, row, type_make(T_INT8)) : (c->oom = true, 0);
}
/* Some column is of a key that rows are found by: the row goes, and comes with its new values. So what has the old key,
 * and what has the new one, conflict as with DELETE and INSERT, and indexes need not change entries. Decided after the
 * dry walk, but of unique keys, whose columns always are. */
static void find_moves(Change *k) {
    const BoundStmt *b = k->b;
    for (int32_t i = 0; i < b->n_set; i++) {
        const int32_t col = b->set_cols[i];
        k->table->sets[col] = true;
        if (cp_key_column(b->table, col)) k->table->looks[col] = true;
        k->moves |= k->table->moved[col] || cp_key_column(b->table, col);
    }
}
/* Of several rows, keys may meet while they change, by the order of the rows. */
static Status check_moved_keys(Cp *c, const Change *k) {
    const BoundStmt *b = k->b;
    for (int32_t i = 0; !*k->single && i < b->n_set; i++)
        if (cp_key_column(b->table, b->set_cols[i]))
            return cp_refuse(c, "UPDATE of key column \"%s\" of several rows", b->table->cols[b->set_cols[i]].name);
    return ST_OK;
}
/* The row in s goes, and comes with these values, by column of the table; *moved: as that row. */
static Status move_row(Cp *c, Change *k, Scan *s, const ColId *now, Reg *moved) {
    const Table *t = k->table->table;
    RowInsert *x = arena_new_of(c->arena, RowInsert);
    RowCol *cell = arena_new_of(c->arena, RowCol);
    Reg *args = arena_array(c->arena, Reg, t->n_cols + 1);
    Scan in = {.table = k->table, .number = k->number, .row = -1, .eq = arena_array(c->arena, Expr *, t->n_cols + 1)};
    if (!x || !cell || !args || !in.eq) return cp_oom(c);
    for (int i = 0; i < t->n_cols; i++)
        if (!(in.eq[i] = now[i] ? expr_col(&c->ctx, now[i]) : cp_scan_value(c, s, k->b->rowid, i))) return cp_oom(c);
    TRY(cp_touch_delete(c, s));
    TRY(cp_touch_insert(c, &in));
    TRY(cp_events_values(c, k->b->hit ? k->updates : k->events, s, k->b->rowid, now));
    for (int i = 0; i < t->n_cols; i++) {
        Expr *v = cp_cast(c, in.eq[i], t->cols[i].type);
        if (!v || !(args[i] = cp_lower_as(c, v, t->cols[i].type))) return ST_ERROR;
    }
    *cell = (RowCol){.table = k->number, .col = -1};
    *x = (RowInsert){k->number, t->n_cols, args, false};
    const Reg row = row_register(c, k->b);
    if (!row || !emit_op(c, OP_ROW_DELETE, PH_I64, 0, row, 0, cell)) return ST_ERROR;
    const Reg d = lower_reg(&c->low, &c->pipe, PH_I64, type_make(T_INT8), false, (Range){true, -1, INT64_C(1) << 40});
    if (!d || !emit_op(c, OP_ROW_INSERT, PH_I64, d, 0, 0, x)) return cp_oom(c);
    *moved = d;
    k->table->inserted = k->table->deleted = k->table->need.inserts = true;
    cp_fresh(c);
    cp_mark(c);
    return ST_OK;
}
static Status update_moved(Cp *c, Change *k) {
    BoundStmt *b = k->b;
    TRY(check_moved_keys(c, k));
    TRY(refuse_deferrable(c, b, *k->single));
    TRY(compute_first(c, b->n_set, b->values));
    TRY(checks(c, b, 0, b->n_checks, b->n_set, b->set_cols, b->values, NULL));
    if (!*k->single) /* of several rows, another one may be the first here */
        TRY(refuse_nulls(c, b->table, b->n_set, b->set_cols, b->values, NULL));
    TRY(keep_result(c, b));
    TRY(cp_unique_before(c, k->unique, k->scan, b->rowid, k->now));
    Reg moved;
    TRY(move_row(c, k, k->scan, k->now, &moved));
    TRY(cp_unique_after(c, k->unique, moved));
    TRY(view_checks(c, b, b->n_checks, NULL));
    return cp_events_row(c, k->events, *k->single);
}

static Status update_row(Cp *c, void *ctx) {
    Change *k = ctx;
    if (k->once && c->query.several_sources) return cp_refuse(c, "UPDATE FROM several rows");
    c->no_locks |= k->once;
    k->scan = c->query.change_scan;
    if (k->unique && !*k->single) return cp_refuse(c, "rows of table \"%s\" by more than a key", k->b->table->name);
    TRY(k->moves ? update_moved(c, k) : k->unsure ? change_either(c, k) : change_row(c, k));
    return k->row ? k->row(c, k->ctx) : ST_OK;
}

/* UPDATE .. FROM takes a row once, by an aggregate over its number. Where the other tables give one row, it comes once:
 * a projection. */
static bool pass_once(Cp *c, BoundStmt *b) {
    Plan *p = b->plan;
    if (p->kind != LP_AGG || p->agg.n_keys != 1 || p->exprs[0]->kind != EX_COL) return false;
    ColId *cols = arena_array(c->arena, ColId, p->agg.n_calls + 1);
    Expr **exprs = arena_array(c->arena, Expr *, p->agg.n_calls + 1);
    if (!cols || !exprs) return c->oom = true, false;
    cols[0] = p->out_cols[0];
    exprs[0] = p->exprs[0];
    for (int32_t i = 0; i < p->agg.n_calls; i++) {
        cols[i + 1] = p->agg.calls[i].out;
        exprs[i + 1] = p->agg.calls[i].arg;
    }
    p->kind = LP_PROJECT;
    p->n_out = p->n_exprs = p->agg.n_calls + 1;
    p->out_cols = cols;
    p->exprs = exprs;
    p->agg.n_keys = p->agg.n_calls = 0;
    return true;
}
static bool reads_also(const Plan *p, const Plan *scan) {
    if (stack_stop()) return true;
    if (p->kind == LP_SCAN && p != scan && p->scan.table == scan->scan.table) return true;
    for (int32_t i = 0; i < p->n_children; i++)
        if (reads_also(p->children[i], scan)) return true;
    return false;
}

/* RETURNING has the old or new value of set item i. */
static bool is_returned(Cp *c, const BoundStmt *b, const Plan *scan, int32_t i) {
    ColSet s = colset_new(&c->ctx);
    for (int32_t k = 0; k < b->n_result; k++) {
        const Expr *e = output_expr(b->plan, b->result[k]);
        if (b->result[k] == b->values[i]) return true;
        if (e) expr_cols(&c->ctx, e, &s);
        else colset_add(&c->ctx, &s, b->result[k]);
    }
    return colset_has(&s, b->values[i]) || colset_has(&s, cp_scan_col(scan, b->set_cols[i]));
}
/* The fetch-add of the statement on that column has a number. */
static Status take_number(Cp *c, Change *k, int32_t col) {
    if (!k->fetch_add_of &&
        !(k->fetch_add_of = arena_calloc(c->arena, k->table->table->n_cols * (int64_t)sizeof *k->fetch_add_of)))
        return cp_oom(c);
    k->fetch_add_of[col] = ++c->n_fetch_adds;
    return ST_OK;
}
/* The new value is needed as such. */
static bool is_kept(const Change *k, int32_t col) {
    return cp_events_keep(k->events, col) || (k->unique && cp_unique_reads(k->b->table, col));
}
/* What is added: k->adds, and both forms. Of several columns whose values fail the first one is reported, but sums are
 * made behind what is computed: where anything else may fail, amounts must be exact for sure, and where they are not,
 * nothing is added. */
static Status find_adds(Cp *c, Change *k, const Plan *scan) {
    const BoundStmt *b = k->b;
    CpAdd *adds = arena_array(c->arena, CpAdd, b->n_set + 1);
    for (int f = 0; f < 2; f++)
        if (!(k->forms[f].amounts = arena_array(c->arena, Expr *, b->n_set + 1))) return cp_oom(c);
    if (!(k->adds = adds) || !(k->fetch_adds = arena_array(c->arena, CpAdd, b->n_set + 1))) return cp_oom(c);
    bool fails = false;
    for (int32_t i = 0; i < b->n_set; i++) {
        Expr *v = output_expr(b->plan, b->values[i]);
        if (v && !k->moves && !cp_unsettled(c, v) && !is_kept(k, b->set_cols[i]))
            adds[i] = cp_added(c, scan, b->set_cols[i], v);
        if (c->oom) return ST_ERROR;
        if (adds[i].by && is_returned(c, b, scan, i)) {
            k->fetch_adds[i] = adds[i];
            TRY(take_number(c, k, b->set_cols[i]));
        }
        if (b->n_result > 0 || b->n_checks > 0) adds[i] = (CpAdd){0};
        fails |= adds[i].by ? adds[i].of && expr_can_fail(adds[i].of) : v && expr_can_fail(v);
    }
    for (int32_t i = 0; i < b->n_set; i++) {
        if (adds[i].of && fails && b->n_set > 1) adds[i] = (CpAdd){0};
        k->unsure |= adds[i].of != NULL;
        k->forms[0].amounts[i] = adds[i].by;
    }
    use_form(k, false);
    return ST_OK;
}
static Status find_writes(Cp *c, Change *k) {
    for (int f = 0; f < 2; f++) {
        if (!(k->forms[f].writes = arena_calloc(c->arena, k->table->n_groups + 1))) return cp_oom(c);
        for (int32_t i = 0; i < k->b->n_set; i++) {
            int32_t g = k->table->group[k->b->set_cols[i]];
            if (g == NO_GROUP || g >= CP_MAX_GROUPS)
                return cp_refuse(c, "too many groups of columns in table \"%s\"", k->table->table->name);
            k->forms[f].writes[g] |= !k->forms[f].amounts[i];
        }
    }
    use_form(k, false);
    return ST_OK;
}

static Status update_rows(Cp *c, BoundStmt *b, CpEvents *events, CpRow row, void *ctx, bool *single) {
    Table *t = b->table;
    Change *k = arena_new_of(c->arena, Change);
    if (!k) return cp_oom(c);
    *k = (Change){.b = b, .row = row, .ctx = ctx, .events = events};
    k->single = single ? single : &k->one;
    TRY(cp_unique_begin(c, t, b->n_set, b->set_cols, cp_finds_one(c, b->plan), &k->unique));
    if (!(k->now = arena_calloc(c->arena, (int64_t)sizeof(ColId) * (t->n_cols + 1)))) return cp_oom(c);
    for (int32_t i = 0; i < b->n_set; i++) k->now[b->set_cols[i]] = b->values[i];
    if ((k->number = cp_table(c, t)) < 0) return ST_ERROR;
    k->table = c->reg_tables.items[k->number];
    k->site = hash_u64((uint64_t)(uintptr_t)c->at.f + ((uint64_t)(uint32_t)c->at.line << 32) +
                       (uint64_t)c->pipe.b.instrs.len * 0x9e3779b97f4a7c15u);
    k->once = pass_once(c, b);
    Plan *scan = find_scan(b->plan, t, k->once ? b->plan->exprs[0]->u.col : b->rowid);
    if (!scan) return cp_refuse(c, "UPDATE with several tables");
    if (k->once && reads_also(b->plan, scan)) return cp_refuse(c, "UPDATE FROM the table itself");
    c->query.target_scan = scan;
    c->query.several_sources = false;
    find_moves(k);
    TRY(find_adds(c, k, scan));
    c->query.fetch_adds = k->fetch_add_of;
    c->query.change_plan = scan;
    if (!c->dry && !k->moves) {
        TRY(find_writes(c, k));
        c->query.change_groups = k->writes;
    }
    ColSet *s = arena_new_of(c->arena, ColSet);
    if (!s) return cp_oom(c);
    *s = colset_new(&c->ctx);
    colset_add(&c->ctx, s, b->rowid);
    for (int32_t i = 0; i < b->n_set; i++) {
        if (k->amounts[i])
            expr_cols(&c->ctx, k->amounts[i], s); /* what an inexact one is added to goes with the write */
        else colset_add(&c->ctx, s, b->values[i]);
    }
    for (int32_t i = 0; i < b->n_checks; i++) colset_add(&c->ctx, s, b->checks[i]);
    for (int32_t i = 0; i < b->n_result; i++) colset_add(&c->ctx, s, b->result[i]);
    if (!vec_push(c->arena, &c->query.write_tables, t->id)) return cp_oom(c);
    const bool alone = cp_is_of_one_scan(b->plan);
    c->any_order += alone;
    TRY(rows_needed(c, b->plan, s, update_row, k, k->single));
    c->any_order -= alone;
    c->query.change_plan = c->query.target_scan = NULL;
    c->query.change_groups = NULL;
    c->query.fetch_adds = NULL;
    return ST_OK;
}
Status cp_update_rows(Cp *c, BoundStmt *b, CpEvents *e) { return update_rows(c, b, e, NULL, NULL, NULL); }
/* What follows each of several rows would come before what foreign keys say of them. */
static Status events_of(Cp *c, const BoundStmt *b, CpChange change, bool single, CpEvents **out) {
    TRY(cp_events_begin(c, b->table, b->n_set, change == CP_UPDATES ? b->set_cols : NULL, change, single, out));
    if (*out && !single && b->n_result > 0)
        return cp_refuse(c, "RETURNING of several rows of table \"%s\", which has foreign keys", b->table->name);
    return ST_OK;
}
Status cp_update(Cp *c, BoundStmt *b, CpRow row, void *ctx, bool *single) {
    CpEvents *e;
    TRY(events_of(c, b, CP_UPDATES, cp_finds_one(c, b->plan), &e));
    TRY(update_rows(c, b, e, row, ctx, single));
    return cp_events_end(c, e);
}

static Status delete_row(Cp *c, void *ctx) {
    Change *k = ctx;
    TRY(cp_touch_delete(c, c->query.change_scan));
    TRY(keep_result(c, k->b));
    TRY(cp_events_values(c, k->events, c->query.change_scan, k->b->rowid, NULL));
    Expr *row = expr_col(&c->ctx, k->b->rowid);
    RowCol *cell = arena_new_of(c->arena, RowCol);
    if (!row || !cell) return cp_oom(c);
    *cell = (RowCol){.table = k->number, .col = -1};
    Reg r = cp_lower_as(c, row, type_make(T_INT8));
    if (!r || !emit_op(c, OP_ROW_DELETE, PH_I64, 0, r, 0, cell)) return ST_ERROR;
    k->table->deleted = true;
    cp_fresh(c);
    cp_mark(c);
    TRY(cp_events_row(c, k->events, *k->single));
    return k->row ? k->row(c, k->ctx) : ST_OK;
}
static Status delete_rows(Cp *c, BoundStmt *b, CpEvents *events, CpRow row, void *ctx, bool *single) {
    Change *k = arena_new_of(c->arena, Change);
    if (!k) return cp_oom(c);
    *k = (Change){.b = b, .row = row, .ctx = ctx, .events = events};
    k->single = single ? single : &k->one;
    if ((k->number = cp_table(c, b->table)) < 0) return ST_ERROR;
    k->table = c->reg_tables.items[k->number];
    Plan *scan = find_scan(b->plan, b->table, b->rowid);
    if (!scan) return cp_refuse(c, "DELETE with several tables");
    c->query.change_plan = scan;
    ColSet *s = arena_new_of(c->arena, ColSet);
    if (!s) return cp_oom(c);
    *s = colset_new(&c->ctx);
    colset_add(&c->ctx, s, b->rowid);
    for (int32_t i = 0; i < b->n_result; i++) colset_add(&c->ctx, s, b->result[i]);
    if (!vec_push(c->arena, &c->query.write_tables, b->table->id)) return cp_oom(c);
    c->any_order++;
    TRY(rows_needed(c, b->plan, s, delete_row, k, k->single));
    c->any_order--;
    c->query.change_plan = NULL;
    return ST_OK;
}
Status cp_delete_rows(Cp *c, BoundStmt *b, CpEvents *e) { return delete_rows(c, b, e, NULL, NULL, NULL); }
Status cp_delete(Cp *c, BoundStmt *b, CpRow row, void *ctx, bool *single) {
    CpEvents *e;
    TRY(events_of(c, b, CP_DELETES_ROWS, cp_finds_one(c, b->plan), &e));
    TRY(delete_rows(c, b, e, row, ctx, single));
    return cp_events_end(c, e);
}

static Status insert_items(Cp *c, const Change *k) {
    const Table *t = k->b->table;
    Scan s = {.table = k->table, .number = k->number, .row = -1, .may_wait = !k->b->on_conflict_nothing};
    if (!(s.eq = arena_array(c->arena, Expr *, t->n_cols + 1))) return cp_oom(c);
    for (int i = 0; i < t->n_cols; i++)
        if (!(s.eq[i] = expr_col(&c->ctx, k->b->values[i]))) return cp_oom(c);
    return cp_touch_insert(c, &s);
}
static Status insert_row(Cp *c, void *ctx) {
    Change *k = ctx;
    BoundStmt *b = k->b;
    Table *t = b->table;
    if (b->n_checks > 0) TRY(compute_first(c, t->n_cols, b->values));
    TRY(checks(c, b, 0, b->n_checks, t->n_cols, NULL, b->values, b->values));
    if (!b->hit) TRY(insert_items(c, k));
    TRY(keep_result(c, b));
    TRY(cp_events_values(c, k->events, NULL, 0, b->values));
    TRY(cp_unique_before(c, k->unique, NULL, 0, b->values));
    RowInsert *x = arena_new_of(c->arena, RowInsert);
    Reg *args = arena_array(c->arena, Reg, t->n_cols + 1);
    if (!x || !args) return cp_oom(c);
    for (int i = 0; i < t->n_cols; i++) {
        Expr *v = expr_col(&c->ctx, b->values[i]);
        if (!v || !(v = cp_cast(c, v, t->cols[i].type)) || !(args[i] = cp_lower_as(c, v, t->cols[i].type)))
            return ST_ERROR;
        dbg_assert(type_same_cells(t->cols[i].type, lower_info(&c->pipe, args[i])->type));
    }
    *x = (RowInsert){k->number, t->n_cols, args, b->on_conflict_nothing};
    Reg d = lower_reg(&c->low, &c->pipe, PH_I64, type_make(T_INT8), false, (Range){true, -1, INT64_C(1) << 40});
    Instr *in = d ? emit_op(c, OP_ROW_INSERT, PH_I64, d, 0, 0, x) : NULL;
    if (!in) return cp_oom(c);
    bool safe = t->n_keys == 0;
    for (int i = 0; i < t->n_cols; i++) safe &= !t->cols[i].not_null || !lower_info(&c->pipe, args[i])->nullable;
    if (safe) in->flags |= INSTR_SAFE;
    k->table->inserted = true;
    k->table->need.inserts = true;
    cp_mark(c);
    if (b->on_conflict_nothing && (k->row || b->n_view_checks > 0 || k->events)) {
        Reg there = cp_cmp(c, OP_GE, PH_I64, d, cp_int(c, PH_I64, 0));
        TRY(cp_control(c, OP_P_IF, there, 0));
        TRY(view_checks(c, b, b->n_checks, b->values));
        TRY(cp_events_row(c, k->events, *k->single));
        if (k->row) TRY(k->row(c, k->ctx));
        return cp_control(c, OP_P_ENDIF, 0, 0);
    }
    cp_fresh(c);
    if (!b->on_conflict_nothing && !b->hit) TRY(cp_own_row(c, t, b->values));
    TRY(cp_unique_after(c, k->unique, d));
    TRY(view_checks(c, b, b->n_checks, b->values));
    TRY(cp_events_row(c, k->events, *k->single));
    return k->row ? k->row(c, k->ctx) : ST_OK;
}
/* ---- ON CONFLICT DO UPDATE ---- */
/* The proposed row is joined with the one that has its key: rowid is NULL when there is none, else hit is whether it is
 * updated. */
static Status upsert_items(Cp *c, Change *k) {
    const BoundStmt *b = k->b;
    bool done[CP_MAX_GROUPS] = {false};
    if (c->dry) return ST_OK;
    TRY(insert_items(c, k));
    for (int32_t i = 0; !k->moves && i < b->n_set; i++) {
        int32_t g = k->table->group[b->set_cols[i]];
        if (g == NO_GROUP || g >= CP_MAX_GROUPS)
            return cp_refuse(c, "too many groups of columns in table \"%s\"", b->table->name);
        CpTouch x = {.item = {.kind = OPK_WRITE, .does = DOES_WRITE, .col = b->set_cols[i]}, .group = g};
        if (!done[g]) TRY(cp_touch(c, c->query.change_scan, &x, 0));
        done[g] = true;
    }
    return ST_OK;
}
/* The column is that variable from now on. */
static Status stand_for(Cp *c, ColId id, int32_t var) {
    Expr *v = expr_col(&c->ctx, c->vars.items[var].col);
    ColEntry *e = v ? cp_entry(c, id) : NULL;
    if (!e) return cp_oom(c);
    *e = (ColEntry){.where = CW_EXPR, .type = c->vars.items[var].type, .expr = v};
    return ST_OK;
}
static Status upsert_row(Cp *c, void *ctx) {
    Change *k = ctx;
    BoundStmt *b = k->b;
    CpTable *t = k->table;
    Type bt = type_make(T_BOOL);
    int32_t changed = cp_var_new(c, NULL, bt), hit = cp_var_new(c, NULL, bt),
            *sets = arena_array(c->arena, int32_t, b->n_set + 1);
    if (changed < 0 || hit < 0 || !sets) return cp_oom(c);
    TRY(compute_first(c, b->table->n_cols, b->values));
    TRY(upsert_items(c, k));
    /* It must be possible even when it is not inserted. */
    TRY(refuse_nulls(c, b->table, b->table->n_cols, NULL, b->values, b->values));
    TRY(checks(c, b, 0, b->n_checks / 2, 0, NULL, NULL, b->values));
    /* Whether it becomes an update, and then of what to what. */
    TRY(cp_store_int(c, hit, 0));
    TRY(cp_control(c, OP_P_IF, cp_test(c, OP_IS_NOT_NULL, row_register(c, b)), 0));
    Expr *e = expr_col(&c->ctx, b->hit);
    if (!e) return cp_oom(c);
    TRY(cp_store(c, hit, cp_condition(c, e)));
    TRY(cp_control(c, OP_P_ENDIF, 0, 0));
    TRY(stand_for(c, b->hit, hit));
    for (int32_t i = 0; i < b->n_set; i++) {
        Expr *v = expr_col(&c->ctx, b->values[b->set_cols[i]]);
        if (!v || (sets[i] = cp_var_new(c, NULL, t->table->cols[b->set_cols[i]].type)) < 0) return cp_oom(c);
        TRY(cp_assign(c, sets[i], v));
    }
    TRY(cp_control(c, OP_P_IF, cp_load(c, hit), 0));
    for (int32_t i = 0; i < b->n_set; i++) {
        Expr *v = expr_col(&c->ctx, b->set_values[i]);
        if (!v) return cp_oom(c);
        TRY(cp_assign(c, sets[i], v));
    }
    TRY(cp_control(c, OP_P_ENDIF, 0, 0));
    for (int32_t i = 0; i < b->n_set; i++) TRY(stand_for(c, b->set_values[i], sets[i]));
    TRY(cp_control(c, OP_P_IF, cp_load(c, hit), 0));
    TRY(checks(c, b, b->n_checks / 2, b->n_checks, b->n_set, b->set_cols, b->set_values, NULL));
    TRY(view_checks(c, b, b->n_checks, NULL));
    TRY(cp_control(c, OP_P_ENDIF, 0, 0));
    TRY(keep_result(c, b));
    TRY(cp_store_int(c, changed, 0));
    TRY(cp_control(c, OP_P_IF, cp_test(c, OP_IS_NULL, row_register(c, b)), 0));
    Change in = *k;
    int32_t n_checks = b->n_checks, n_views = b->n_view_checks, n_result = b->n_result;
    in.row = NULL;
    b->n_checks = b->n_view_checks = b->n_result = 0;
    TRY(insert_row(c, &in));
    b->n_checks = n_checks;
    b->n_view_checks = n_views;
    b->n_result = n_result;
    TRY(view_checks(c, b, b->n_checks / 2, b->values));
    TRY(cp_store_int(c, changed, 1));
    TRY(cp_control(c, OP_P_ELSE, 0, 0));
    TRY(cp_control(c, OP_P_IF, cp_load(c, hit), 0));
    Reg row = row_register(c, b), *vals = arena_array(c->arena, Reg, b->n_set + 1);
    if (!row || !vals) return ST_ERROR;
    for (int32_t i = 0; i < b->n_set; i++)
        if (!(vals[i] = cp_load(c, sets[i]))) return ST_ERROR;
    if (k->moves) {
        Reg moved;
        TRY(move_row(c, k, c->query.change_scan, k->now, &moved));
    } else {
        TRY(cp_events_values(c, k->updates, c->query.change_scan, b->rowid, k->now));
        TRY(put_columns(c, k, row, vals));
    }
    cp_fresh(c);
    TRY(cp_events_row(c, k->updates, *k->single));
    TRY(cp_store_int(c, changed, 1));
    TRY(cp_control(c, OP_P_ENDIF, 0, 0));
    TRY(cp_control(c, OP_P_ENDIF, 0, 0));
    if (!k->row) return ST_OK;
    TRY(cp_control(c, OP_P_IF, cp_load(c, changed), 0));
    TRY(k->row(c, k->ctx));
    return cp_control(c, OP_P_ENDIF, 0, 0);
}
static Status upsert(Cp *c, BoundStmt *b, CpEvents *events, CpRow row, void *ctx) {
    Table *t = b->table;
    c->no_locks = true; /* which of its rows is touched is found out by looking */
    for (int32_t i = 0; i < b->n_set; i++)
        if (cp_key_column(t, b->set_cols[i]))
            return cp_refuse(c, "UPDATE of key column \"%s\"", t->cols[b->set_cols[i]].name);
    const Plan *v = b->plan;
    while (v->n_children > 0) v = v->children[0];
    if (v->kind != LP_VALUES || v->values.n_rows != 1) return cp_refuse(c, "ON CONFLICT DO UPDATE of several rows");
    Change *k = arena_new_of(c->arena, Change);
    ColSet *s = arena_new_of(c->arena, ColSet);
    if (!k || !s) return cp_oom(c);
    *k = (Change){.b = b,
                  .row = row,
                  .ctx = ctx,
                  .events = events,
                  .single = &k->one,
                  .amounts = arena_array(c->arena, Expr *, b->n_set + 1),
                  .adds = arena_array(c->arena, CpAdd, b->n_set + 1)};
    if (!k->amounts || !k->adds || (k->number = cp_table(c, t)) < 0) return cp_oom(c);
    TRY(cp_events_begin(c, t, b->n_set, b->set_cols, CP_UPDATES, true, &k->updates));
    if (!(k->now = arena_calloc(c->arena, (int64_t)sizeof(ColId) * (t->n_cols + 1)))) return cp_oom(c);
    for (int32_t i = 0; i < b->n_set; i++) k->now[b->set_cols[i]] = b->set_values[i];
    k->table = c->reg_tables.items[k->number];
    find_moves(k);
    k->site = hash_u64((uint64_t)(uintptr_t)c->at.f + ((uint64_t)(uint32_t)c->at.line << 32) +
                       (uint64_t)c->pipe.b.instrs.len * 0x9e3779b97f4a7c15u);
    Plan *scan = find_scan(b->plan, t, b->rowid);
    if (!scan) return cp_refuse(c, "ON CONFLICT DO UPDATE");
    c->query.change_plan = scan;
    *s = colset_new(&c->ctx);
    colset_add(&c->ctx, s, b->rowid);
    colset_add(&c->ctx, s, b->hit);
    for (int32_t i = 0; i < b->n_set; i++) colset_add(&c->ctx, s, b->set_values[i]);
    for (int i = 0; i < t->n_cols; i++) colset_add(&c->ctx, s, b->values[i]);
    for (int32_t i = 0; i < b->n_result; i++) colset_add(&c->ctx, s, b->result[i]);
    for (int32_t i = 0; i < b->n_checks; i++) colset_add(&c->ctx, s, b->checks[i]);
    if (!vec_push(c->arena, &c->query.write_tables, t->id)) return cp_oom(c);
    c->query.upsert = t;
    TRY(rows_needed(c, b->plan, s, upsert_row, k, k->single));
    c->query.upsert = NULL;
    c->query.change_plan = NULL;
    return ST_OK;
}

static bool has_series(const Plan *p) {
    if (stack_stop() || p->kind == LP_SERIES) return true;
    for (int32_t i = 0; i < p->n_children; i++)
        if (has_series(p->children[i])) return true;
    return false;
}
/* The rows of an INSERT: VALUES of several, or as the query has them. */
static Status insert_rows(Cp *c, Change *k, ColSet *s) {
    BoundStmt *b = k->b;
    Plan *v = b->plan;
    while (v->n_children == 1 && v->kind == LP_PROJECT) v = v->children[0];
    if (v->kind != LP_VALUES || v->values.n_rows <= 1) return rows_needed(c, b->plan, s, insert_row, k, k->single);
    if (v != b->plan) return cp_refuse(c, "INSERT of several rows with RETURNING, CHECK or a domain");
    Expr ***rows = v->values.rows;
    int64_t n = v->values.n_rows;
    v->values.n_rows = 1;
    for (int64_t i = 0; i < n; i++) { /* one after the other */
        v->values.rows = rows + i;
        TRY(rows_needed(c, b->plan, s, insert_row, k, NULL));
    }
    return ST_OK;
}
/* It inserts one row at most. */
static bool inserts_one(Cp *c, const BoundStmt *b) {
    const Plan *v = b->plan;
    while (v->n_children == 1 && v->kind == LP_PROJECT) v = v->children[0];
    return v->kind == LP_VALUES && !v->values.routine_id ? v->values.n_rows == 1 : cp_finds_one(c, b->plan);
}
Status cp_insert(Cp *c, BoundStmt *b, CpRow row, void *ctx) {
    CpEvents *e;
    const bool single = b->hit || inserts_one(c, b);
    /* It fills a table. In bulk, it would make rows come and go there for the calls of all routines. */
    if (has_series(b->plan)) return cp_refuse(c, "INSERT of the rows of generate_series");
    TRY(refuse_deferrable(c, b, single));
    if (b->table->n_exprs > 0 && (b->hit || b->on_conflict_nothing))
        return cp_refuse(c, "ON CONFLICT with table \"%s\", whose unique index \"%s\" has expressions or a predicate",
                         b->table->name, b->table->exprs[0].name);
    TRY(events_of(c, b, CP_INSERTS, single, &e));
    if (b->hit) return upsert(c, b, e, row, ctx);
    if (b->on_conflict_nothing && b->conflict_key >= 0 && b->table->n_keys > 1)
        return cp_refuse(c, "ON CONFLICT with one of several keys");
    Change *k = arena_new_of(c->arena, Change);
    if (!k) return cp_oom(c);
    *k = (Change){.b = b, .row = row, .ctx = ctx, .events = e, .single = &k->one, .one = single};
    TRY(cp_unique_begin(c, b->table, 0, NULL, single, &k->unique));
    if ((k->number = cp_table(c, b->table)) < 0) return ST_ERROR;
    k->table = c->reg_tables.items[k->number];
    ColSet *s = arena_new_of(c->arena, ColSet);
    if (!s) return cp_oom(c);
    *s = colset_new(&c->ctx);
    for (int i = 0; i < b->table->n_cols; i++) colset_add(&c->ctx, s, b->values[i]);
    for (int32_t i = 0; i < b->n_result; i++) colset_add(&c->ctx, s, b->result[i]);
    for (int32_t i = 0; i < b->n_checks; i++) colset_add(&c->ctx, s, b->checks[i]);
    if (!vec_push(c->arena, &c->query.write_tables, b->table->id)) return cp_oom(c);
    TRY(insert_rows(c, k, s));
    return cp_events_end(c, e);
}
