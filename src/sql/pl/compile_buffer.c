/* compile_buffer.c - queries whose rows are needed together: they are collected in a buffer of the call, put in order
 * there, and read one after the other.
 *
 * A row has keys, by which the buffer is sorted, and columns, which are read. How many rows there are is a variable
 * that each instruction on the buffer takes and leaves. So passes over the program that know nothing of buffers do
 * right by it: the rows are known before the call runs (footprint.c) if that number is, which takes every value of
 * every row. */
#include "sql/pl/compile_rows.h"

enum { TIES_MAX = 16, COLUMNS_FIRST = 16 };

CpBuffer *cp_buffer_new(Cp *c, int32_t n_keys) {
    CpBuffer *b = arena_new_of(c->arena, CpBuffer);
    BufferSpec *s = arena_new_of(c->arena, BufferSpec);
    if (!b || !s) return c->oom = true, NULL;
    *s =
        (BufferSpec){.number = c->flow.n_buffers++, .keys = arena_array(c->arena, BufferColumn, n_keys + TIES_MAX + 1)};
    *b = (CpBuffer){.spec = s, .n_keys = n_keys, .count = cp_var_new(c, NULL, type_make(T_INT8))};
    return s->keys && b->count >= 0 ? b : (c->oom = true, NULL);
}

/* An instruction whose result is the number of rows. */
static Status buffer_op(Cp *c, const CpBuffer *b, Opcode op, Reg a, const void *aux) {
    Reg r = lower_reg(&c->low, &c->pipe, PH_I64, type_make(T_INT8), false, (Range){true, 0, INT64_C(1) << 40});
    Instr *in = r ? builder_emit(&c->pipe.b, op, PH_I64, r, a, 0, 0) : NULL;
    if (!in) return cp_oom(c);
    in->aux = (void *)(uintptr_t)aux;
    TRY(cp_store(c, b->count, r));
    cp_mark(c);
    return ST_OK;
}
Status cp_buffer_clear(Cp *c, CpBuffer *b) { return buffer_op(c, b, OP_BUF_CLEAR, 0, b->spec); }
Status cp_buffer_sort(Cp *c, CpBuffer *b) {
    Reg n = cp_load(c, b->count);
    return n ? buffer_op(c, b, OP_BUF_SORT, n, b->spec) : ST_ERROR;
}

Status cp_buffer_row(Cp *c, CpBuffer *b) {
    b->n = 0;
    b->later = b->args != NULL;
    return (b->args = arena_array(c->arena, Reg, b->n_keys + TIES_MAX + 2 * (c->ctx.cols.len + 1))) ? ST_OK : cp_oom(c);
}
/* One more register, of a column that has the type and may be NULL where one of its values may. */
static Status add_value(Cp *c, CpBuffer *b, Reg value, BufferColumn *to) {
    if (!value) return ST_ERROR;
    const RegInfo *r = lower_info(&c->pipe, value);
    if (!b->later) *to = (BufferColumn){.phys = r->phys, .type = r->type};
    dbg_assert(to->phys == r->phys);
    to->nullable |= r->nullable;
    b->args[b->n++] = value;
    return ST_OK;
}
Status cp_buffer_key(Cp *c, CpBuffer *b, Reg key, const SortKey *order) {
    BufferColumn *to = &b->spec->keys[b->n];
    if (!b->later) b->spec->n_keys++;
    TRY(add_value(c, b, key, to));
    to->desc = order->desc;
    to->nulls_first = order->nulls_first;
    return ST_OK;
}
Status cp_buffer_tie(Cp *c, CpBuffer *b, Reg number) {
    if (b->n == b->n_keys + TIES_MAX) return cp_refuse(c, "an order of too many tables");
    TRY(cp_buffer_key(c, b, number, &(SortKey){0}));
    BufferColumn *to = &b->spec->keys[b->n - 1];
    to->has_range = true; /* of numbers of rows */
    to->min = -1;
    to->max = INT64_C(1) << 40;
    return ST_OK;
}
Status cp_buffer_ties(Cp *c, CpBuffer *b, int64_t from) {
    for (int64_t i = from; i < c->query.rows.len; i++) TRY(cp_buffer_tie(c, b, cp_load(c, c->query.rows.items[i])));
    return ST_OK;
}
Status cp_buffer_column(Cp *c, CpBuffer *b, Reg value) {
    BufferSpec *s = b->spec;
    if (!b->later && s->n_cols == b->cap_cols) {
        int32_t cap = b->cap_cols ? b->cap_cols * 2 : COLUMNS_FIRST;
        BufferColumn *more = arena_array(c->arena, BufferColumn, cap);
        if (!more) return cp_oom(c);
        if (s->n_cols) memcpy(more, s->cols, (size_t)s->n_cols * sizeof *more);
        s->cols = more;
        b->cap_cols = cap;
    }
    BufferColumn *to = &s->cols[b->n - s->n_keys];
    if (!b->later) s->n_cols++;
    return add_value(c, b, value, to);
}
Status cp_buffer_columns(Cp *c, CpBuffer *b, int32_t n, const int32_t *vars) {
    for (int32_t i = 0; i < n; i++) {
        Expr *e = expr_col(&c->ctx, vars[2 * i]);
        if (!e) return cp_oom(c);
        TRY(cp_buffer_column(c, b, cp_lower_as(c, e, c->vars.items[vars[2 * i + 1]].type)));
    }
    return ST_OK;
}
Status cp_buffer_add(Cp *c, CpBuffer *b) {
    BufferRow *row = arena_new_of(c->arena, BufferRow);
    Reg n = cp_load(c, b->count);
    if (!row || !n) return cp_oom(c);
    b->args[b->n] = n;
    *row = (BufferRow){b->spec, b->args};
    return buffer_op(c, b, OP_BUF_ADD, 0, row);
}

Reg cp_buffer_get(Cp *c, const CpBuffer *b, int32_t row, int32_t col) {
    if (col >= b->spec->n_cols) return (void)cp_refuse(c, "a query that has no rows"), 0;
    const BufferColumn *k = &b->spec->cols[col];
    Reg at = cp_load(c, row), n = cp_load(c, b->count);
    Reg r = at && n ? lower_reg(&c->low, &c->pipe, (Phys)k->phys, k->type, k->nullable, range_of_type(k->type)) : 0;
    Instr *in = r ? builder_emit(&c->pipe.b, OP_BUF_GET, PH_I64, r, at, n, 0) : NULL;
    if (!in) return c->oom = true, 0;
    in->imm = col;
    in->aux = b->spec;
    return r;
}
Status cp_buffer_read(Cp *c, const CpBuffer *b, int32_t row, int32_t first, int32_t n, const int32_t *vars) {
    for (int32_t i = 0; i < n; i++) TRY(cp_store(c, vars[2 * i + 1], cp_buffer_get(c, b, row, first + i)));
    for (int32_t i = 0; i < n; i++) {
        Expr *e = expr_col(&c->ctx, c->vars.items[vars[2 * i + 1]].col);
        ColEntry *x = e ? cp_entry(c, vars[2 * i]) : NULL;
        if (!x) return cp_oom(c);
        *x = (ColEntry){.where = CW_EXPR, .type = e->type, .expr = e};
        colset_add(&c->ctx, &c->query.in_scope, vars[2 * i]);
    }
    return ST_OK;
}
