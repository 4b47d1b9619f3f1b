/* compile_touch.c - where a body touches rows, for its access set: touches (compile_int.h).
 *
 * A touch is an OP_ITEM of the body that is lowered. It says what a statement does there to a group of columns, or to
 * the existence of rows by a unique key, and has all values that may name the rows: the columns that the statement says
 * to be equal to something, and the columns of keys of the row itself, when it has been found. Which of them are known
 * before a call runs, and by which of them items are named, is found later, by passes over instructions: footprint.c,
 * keys.c. What is computed here for touches alone is marked so (CP_FOR_TOUCH), and goes with what is not used of them.
 */
#include "sql/pl/compile_rows.h"

bool cp_key_column(const Table *t, int32_t col) {
    for (int k = 0; k < t->n_keys; k++)
        for (int i = 0; i < t->keys[k].n_cols; i++)
            if (t->keys[k].cols[i] == col) return true;
    return false;
}

static void mark_from(Cp *c, int64_t from) {
    for (int64_t i = from; i < c->pipe.b.instrs.len; i++) c->pipe.b.instrs.items[i].flags |= CP_FOR_TOUCH;
}

/* ---- amounts ------------------------------------------------------------------------------- */
/* They may fail, which the statement must not do sooner for them: it computes them again. */
typedef struct Private {
    int64_t instrs, regs, computed;
} Private;
static Private private_begin(const Cp *c) {
    return (Private){c->pipe.b.instrs.len, c->pipe.b.regs.len, c->pipe.computed.len};
}
static Reg private_end(Cp *c, Private p, Reg r) {
    mark_from(c, p.instrs);
    lower_forget_since_reg(&c->pipe, p.regs, p.computed);
    if (!r && err_is_set(&c->scratch)) (void)cp_refuse_error(c);
    return r;
}
Reg cp_touch_amount(Cp *c, const Scan *s, int32_t col, Expr *amount, bool minus) {
    Type type = s->table->table->cols[col].type;
    Private p = private_begin(c);
    if (!(amount = cp_cast(c, amount, type))) return 0;
    Reg r = cp_lower_as(c, amount, type);
    return private_end(c, p, r && minus ? cp_negative(c, r) : r);
}
Reg cp_touch_bound(Cp *c, const Scan *s, int32_t col, const CpAdd *add) {
    Private p = private_begin(c);
    return private_end(c, p, cp_amount_bound(c, add, s->table->table->cols[col].type));
}

/* ---- touches --------------------------------------------------------------------------------- */
/* A value that the column has in the rows; 0: none that is there, or an error. */
static Reg column_value(Cp *c, const Scan *s, int32_t col) {
    const Table *t = s->table->table;
    Type type = t->cols[col].type;
    if (s->eq[col]) return cp_lower_as(c, s->eq[col], type);
    ColId id = s->found && cp_key_column(t, col) ? cp_scan_col(s->plan, col) : 0;
    Reg r = id ? lower_col(&c->low, &c->pipe, id) : 0;
    return r ? lower_canonical(&c->low, &c->pipe, r, type) : 0;
}
static Status add_touch(Cp *c, const Scan *s, const CpTouch *what, Reg amount, CpTouch **out) {
    int n_cols = s->table->table->n_cols;
    int64_t from = c->pipe.b.instrs.len;
    bool adds = what->item.kind == OPK_ADD || what->item.kind == CP_SUMS || what->item.fetch_add;
    if (c->dry) return ST_OK;
    CpTouch *x = arena_new_of(c->arena, CpTouch);
    Reg *args = arena_array(c->arena, Reg, n_cols + 2);
    int32_t *cols = arena_array(c->arena, int32_t, n_cols + 1), n = 0;
    if (!x || !args || !cols) return cp_oom(c);
    if (!amount && adds && what->group < rows_group(s->table)) return ST_ERROR;
    for (int32_t i = 0; i < n_cols && !what->item.covered && what->item.kind != CP_SUMS; i++) {
        Reg r = column_value(c, s, i);
        if (!r && (c->reason || c->oom)) return ST_ERROR;
        if (!r && err_is_set(&c->scratch)) return cp_refuse_error(c);
        if (!r) continue;
        cols[n] = i;
        args[n++] = r;
    }
    mark_from(c, from);
    *x = *what;
    x->item.table = (uint32_t)s->number;
    x->item.n = n;
    x->item.args = args;
    x->item.has_amount = amount != 0;
    args[n] = amount;
    x->table = s->table;
    x->cols = cols;
    x->statement = c->places.statement;
    x->loops = c->places.loops;
    Instr *in = builder_emit(&c->pipe.b, OP_ITEM, PH_BOOL, 0, 0, 0, 0);
    if (!in) return cp_oom(c);
    in->aux = x;
    c->places.touched = true;
    cp_mark(c);
    if (out) *out = x;
    return ST_OK;
}
Status cp_touch(Cp *c, const Scan *s, const CpTouch *what, Reg amount) { return add_touch(c, s, what, amount, NULL); }

/* Once before the row is looked for, and once when it is there. */
static Status read_group(Cp *c, Scan *s, int32_t no, int32_t group) {
    CpTouch x = {.item = {.kind = OPK_READ, .col = -1}, .group = group, .is_early = !s->found}, *t = NULL;
    if (s->found && no < s->early.len) x.early = s->early.items[no];
    TRY(add_touch(c, s, &x, 0, &t));
    if (x.early) s->early.items[no]->late = t;
    return s->found || vec_push(c->arena, &s->early, t) ? ST_OK : cp_oom(c);
}
Status cp_touch_read(Cp *c, Scan *s) {
    CpTable *t = s->table;
    bool done[CP_MAX_GROUPS] = {false};
    int32_t no = 0;
    if (c->dry) return ST_OK;
    if (!rows_static(t))
        TRY(read_group(c, s, no++,
                       t->table->n_keys <= 1 ? rows_group(t)
                       : s->unique           ? rows_group(t) + s->index
                                             : rows_groups_end(t)));
    for (int32_t i = 0; i < s->plan->n_out; i++) {
        int32_t col = s->plan->scan.cols[i];
        if (col < 0 || !colset_has(s->needed, s->plan->out_cols[i])) continue;
        int32_t g = t->group[col];
        if (g == NO_GROUP) continue;
        if (g >= CP_MAX_GROUPS)
            return cp_refuse(c, "more than %d groups of columns in table \"%s\"", CP_MAX_GROUPS, t->table->name);
        /* What an UPDATE writes of its rows it need not read as well. */
        bool written =
            c->query.change_groups && s->plan == c->query.change_plan && s->conds->n == 0 && c->query.change_groups[g];
        if (!done[g] && !written) TRY(read_group(c, s, no++, g));
        done[g] = true;
    }
    return ST_OK;
}

/* A row is deleted: one touch for each unique key. */
Status cp_touch_delete(Cp *c, const Scan *s) {
    for (int k = 0; k < MAX_OF(s->table->table->n_keys, 1) && !c->dry; k++) {
        CpTouch x = {.item = {.kind = OPK_WRITE, .does = DOES_DELETE, .col = -1}, .group = rows_group(s->table) + k};
        TRY(cp_touch(c, s, &x, 0));
    }
    return ST_OK;
}

/* What follows is for rows that have the key, up to the end of *open conditions, which are there for the touch alone;
 * *none: this one has not. */
static Status has_key(Cp *c, const Scan *s, int key, int32_t *open, bool *none) {
    const KeyConstraint *k = &s->table->table->keys[key];
    for (int i = 0; i < k->n_cols && !*none; i++) {
        int64_t from = c->pipe.b.instrs.len;
        Reg r = cp_lower_as(c, s->eq[k->cols[i]], s->table->table->cols[k->cols[i]].type);
        if (!r) return ST_ERROR;
        const RegInfo *ri = lower_info(&c->pipe, r);
        *none = ri->is_const && ri->value.is_null;
        if (!*none && ri->nullable) {
            TRY(cp_control(c, OP_P_IF, cp_test(c, OP_IS_NOT_NULL, r), (int64_t)s->number << 16 | key));
            ++*open;
        }
        mark_from(c, from);
    }
    return ST_OK;
}
/* A row is inserted: one touch for each unique key. A NULL in a key that is not the main one conflicts with no other.
 */
Status cp_touch_insert(Cp *c, const Scan *s) {
    CpTable *t = s->table;
    if (c->dry) return ST_OK;
    for (int k = 0; k < MAX_OF(t->table->n_keys, 1); k++) {
        CpTouch x = {.item = {.kind = t->table->n_keys > 0 ? OPK_WRITE : OPK_ADD,
                              .does = DOES_INSERT,
                              .col = -1,
                              .insert = s->may_wait},
                     .group = rows_group(t) + k};
        int32_t open = 0;
        if (t->table->n_keys > 1) TRY(has_key(c, s, k, &open, &x.null_key));
        TRY(cp_touch(c, s, &x, 0));
        while (open-- > 0) {
            int64_t from = c->pipe.b.instrs.len;
            TRY(cp_control(c, OP_P_ENDIF, 0, 0));
            mark_from(c, from);
        }
    }
    Scan count = {.table = t, .number = s->number, .eq = arena_array(c->arena, Expr *, t->table->n_cols + 1)};
    CpTouch one = {.item = {.kind = OPK_INSERTED, .col = -1}, .group = rows_group(t)};
    if (!count.eq) return cp_oom(c);
    CpTouch *x = NULL;
    TRY(add_touch(c, &count, &one, 0, &x));
    x->item.n = 1;
    return (x->item.args[0] = cp_int(c, PH_I64, 1)) ? ST_OK : ST_ERROR;
}
