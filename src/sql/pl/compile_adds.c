/* compile_adds.c - which assignments of an UPDATE are additions, whose operations commute.
 *
 * c = c + e is an addition of e, and c = c - e one that subtracts (RowCol.minus: the least integer has no negative),
 * where e does not depend on the row, and is exact: at the column's scale and in its range, so that the sum is what it
 * would be if it were computed first and then cast to the column's type. Often e's type says so. Where it does not (a
 * numeric without a scale, a wider integer), the value does, for each call: the statement is compiled twice, as an
 * addition for amounts that are exact, as a write for those that are not, NULL among them (compile_query.c,
 * change_either).
 */
#include "sql/pl/compile_rows.h"

static bool exact_type(Type t) { return type_is_integer(t) || t.id == T_NUMERIC; }
static int scale_of(Type t) { return t.id == T_NUMERIC ? t.scale : 0; }
static int digits_of(Type t) {
    return t.id == T_NUMERIC ? t.precision - t.scale : t.id == T_INT8 ? 19 : t.id == T_INT4 ? 10 : 5;
} /* before the point */

/* Every value of the first type is one of the second. */
static bool holds_all(Type from, Type to) {
    if (!exact_type(from) || !exact_type(to) || scale_of(from) > scale_of(to)) return false;
    if (to.id == T_NUMERIC) return digits_of(from) <= digits_of(to);
    return from.id == T_NUMERIC ? digits_of(from) < digits_of(to)
                                : phys_size(type_phys(from)) <= phys_size(type_phys(to));
}
static Expr *without_casts(Expr *e) {
    while (e->kind == EX_CAST && holds_all(e->args[0]->type, e->type)) e = e->args[0];
    return e;
}

static int128_t constant(const Value *v) {
    const void *x = value_cell_const(v);
    switch (type_phys(v->type)) {
    case PH_I16: return *(const int16_t *)x;
    case PH_I32: return *(const int32_t *)x;
    case PH_I64: return *(const int64_t *)x;
    default: return *(const int128_t *)x;
    }
}
static int128_t least(Type t) { return -((int128_t)1 << (8 * phys_size(type_phys(t)) - 1)); } /* of integers */
/* Which amounts are exact for the column, in units of the amount's type. */
static void find_exact(Type col, CpAdd *a) {
    Type t = a->of->type;
    int s = scale_of(t), up = s - scale_of(col), before = digits_of(col);
    a->unit = up > 0 ? pow10_i128[up] : 1;
    if (col.id == T_NUMERIC) { /* the limits have no more digits than t */
        a->ranged = digits_of(t) > before;
        a->hi = a->ranged ? pow10_i128[before + s] - 1 : 0;
        a->lo = -a->hi;
        return;
    }
    a->ranged = t.id != T_NUMERIC || digits_of(t) >= before;
    if (!a->ranged) return;
    /* 19 digits before the point or fewer are compared, and as many behind it: they fit */
    a->lo = least(col) * pow10_i128[s];
    a->hi = (-least(col) - 1) * pow10_i128[s];
}

CpAdd cp_added(Cp *c, const Plan *scan, int32_t col, Expr *value) {
    const CpAdd none = {0};
    Type t = scan->scan.table->cols[col].type;
    if (!exact_type(t) || type_phys(t) == PH_I128) return none;
    Expr *e = value;
    while (e->kind == EX_CAST && exact_type(e->args[0]->type) &&
           (type_eq(e->type, t) || holds_all(e->args[0]->type, e->type)))
        e = e->args[0];
    if (e->kind != EX_FUNC || e->n_args != 2 || (e->u.func->opcode != OP_ADD && e->u.func->opcode != OP_SUB))
        return none;
    bool negated = e->u.func->opcode == OP_SUB;
    Expr *base = without_casts(e->args[0]), *by = e->args[1];
    if (!(base->kind == EX_COL && cp_scan_column(scan, base) == col)) {
        base = without_casts(e->args[1]);
        by = e->args[0];
        if (negated || !(base->kind == EX_COL && cp_scan_column(scan, base) == col)) return none;
    }
    by = without_casts(by);
    if (!exact_type(by->type)) return none;
    ColSet s = colset_new(&c->ctx);
    expr_cols(&c->ctx, by, &s);
    for (int32_t i = 0; i < scan->n_out; i++)
        if (colset_has(&s, scan->out_cols[i])) return none;
    CpAdd a = {.by = by, .minus = negated};
    if (!holds_all(by->type, t)) {
        if (expr_is_volatile(by) || digits_of(t) < 0) return none;
        a.of = by;
        find_exact(t, &a);
        if (by->kind == EX_CONST) { /* known here */
            int128_t v = by->u.value.is_null ? 0 : constant(&by->u.value);
            if (by->u.value.is_null || v % a.unit != 0 || (a.ranged && (v < a.lo || v > a.hi))) return none;
            a.of = NULL;
        }
    }
    return a;
}

static Reg number(Cp *c, Reg like, int128_t v) {
    const RegInfo *r = lower_info(&c->pipe, like);
    Reg k = lower_int_const(&c->low, &c->pipe, (Phys)r->phys, r->type, v);
    return k ? k : (c->oom = true, 0);
}
static Reg emit_safe(Cp *c, Opcode op, Reg a, Reg b) {
    if (!a || !b) return 0;
    const RegInfo r = *lower_info(&c->pipe, a);
    Reg d = cp_emit(c, op, (Phys)r.phys, r.type, r.nullable, a, b, 0);
    if (d) c->pipe.b.instrs.items[c->pipe.b.instrs.len - 1].flags |= INSTR_SAFE;
    return d;
}
static Reg both(Cp *c, Reg a, Reg b) {
    return a && b ? cp_emit(c, OP_AND, PH_BOOL, type_make(T_BOOL), true, a, b, 0) : b;
}
Reg cp_exact(Cp *c, const CpAdd *a) {
    Reg r = cp_lower_as(c, a->of, a->of->type), exact = 0;
    if (!r) return 0;
    Phys ph = type_phys(a->of->type);
    if (a->unit > 1) exact = cp_cmp(c, OP_EQ, ph, emit_safe(c, OP_MOD, r, number(c, r, a->unit)), number(c, r, 0));
    if (!a->ranged || (a->unit > 1 && !exact)) return exact;
    exact = both(c, exact, cp_cmp(c, OP_GE, ph, r, number(c, r, a->lo)));
    return exact ? both(c, exact, cp_cmp(c, OP_LE, ph, r, number(c, r, a->hi))) : 0;
}
/* 0 - r; the least integer stays what it is. */
Reg cp_negative(Cp *c, Reg r) {
    Reg zero = number(c, r, 0);
    const RegInfo *i = lower_info(&c->pipe, r);
    return zero ? cp_emit(c, OP_SUB_N, (Phys)i->phys, i->type, i->nullable, zero, r, 0) : 0;
}
/* |amount|, rounded up; all that is too large is the greatest value that the column has. */
Reg cp_amount_bound(Cp *c, const CpAdd *a, Type col) {
    Reg r = cp_lower_as(c, a->of, a->of->type);
    if (!r) return 0;
    Type t = a->of->type;
    bool rounds = a->unit > 1;
    if (a->ranged) {
        int128_t most = MIN_OF(a->hi, -a->lo) - (rounds ? a->unit : 0); /* of integers one side goes further by one */
        for (int side = 0; side < 2; side++) {
            Reg limit = number(c, r, side ? -most : most),
                beyond = cp_cmp(c, side ? OP_LT : OP_GT, type_phys(t), r, limit);
            if (!beyond ||
                !(r = cp_emit(c, OP_SELECT, type_phys(t), t, lower_info(&c->pipe, r)->nullable, beyond, limit, r)))
                return 0;
        }
    }
    if (rounds) {
        r = emit_safe(c, OP_DIV, r, number(c, r, a->unit));
        Reg minus = r ? cp_negative(c, r) : 0;
        Reg less = minus ? cp_cmp(c, OP_LT, type_phys(t), r, number(c, r, 0)) : 0;
        r = less ? cp_emit(c, OP_SELECT, type_phys(t), t, lower_info(&c->pipe, r)->nullable, less, minus, r) : 0;
        r = r ? cp_emit(c, OP_ADD_N, type_phys(t), t, lower_info(&c->pipe, r)->nullable, r, number(c, r, 1), 0) : 0;
    }
    if (!r || !(r = lower_canonical(&c->low, &c->pipe, r, col))) return 0;
    Instr *last = &c->pipe.b.instrs.items[c->pipe.b.instrs.len - 1];
    if (last->op == OP_CVT && last->dst == r) last->flags |= INSTR_SAFE;
    return r;
}
