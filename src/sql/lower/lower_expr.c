/* lower_expr.c - expressions to instructions: register widths, overflow proofs, conditional evaluation.
 *
 * Every integer-like register (integers, numerics, dates, times, dictionary codes) has a known inclusive
 * range, at worst that of its type. Results are computed in the narrowest of I32, I64 and I128 that
 * holds operands and result, unchecked where the range proves that nothing can overflow.
 *
 * PostgreSQL evaluates CASE, COALESCE and (in practice) AND / OR lazily, which users rely on to guard
 * divisions. Both sides are computed for all rows when nothing in them can fail; otherwise
 * the guarded side goes into an IF body. Whether it can fail is seen from the instructions it made
 * (range proofs included): they are taken back and made again inside the body. While such a trial runs, nested ones are
 * not made again, so that n nested conditions cost n^2 and not 2^n.
 */
#include <stdlib.h>

#include "base/hash.h"
#include "sql/lower/pipeline.h"

static Reg call_kernel(Lower *l, Pipe *p, FuncKernel k, const FuncDef *f, bool strict, bool can_fail, Type ret, int n,
                       const Reg *args, const Type *types);

/* ---- ranges ------------------------------------------------------------------------- */

Range range_of_type(Type t) {
    switch (t.id) {
    case T_INT2: return (Range){true, INT16_MIN, INT16_MAX};
    case T_INT4:
    case T_ENUM:
    case T_DATE: return (Range){true, INT32_MIN, INT32_MAX};
    case T_INT8:
    case T_TIME:
    case T_TIMESTAMP:
    case T_TIMESTAMPTZ:
    case T_TIMETZ:
    case T_LSN:
    case T_MONEY: return (Range){true, INT64_MIN, INT64_MAX};
    case T_OID: return (Range){!(t.flags & TF_SHOWN), 0, UINT32_MAX};
    case T_NUMERIC: return (Range){true, -(pow10_i128[t.precision] - 1), pow10_i128[t.precision] - 1};
    default: return (Range){false, 0, 0};
    }
}

static bool fits(Range r, Phys p) {
    if (!r.known) return p == PH_I128;
    switch (p) {
    case PH_I16: return r.lo >= INT16_MIN && r.hi <= INT16_MAX;
    case PH_I32: return r.lo >= INT32_MIN && r.hi <= INT32_MAX;
    case PH_I64: return r.lo >= INT64_MIN && r.hi <= INT64_MAX;
    default: return p == PH_I128;
    }
}
static Phys narrowest(Range r) { return fits(r, PH_I32) ? PH_I32 : fits(r, PH_I64) ? PH_I64 : PH_I128; }
static bool is_int_phys(int p) { return p >= PH_I16 && p <= PH_I128; }
static bool within(Range r, Range limit) { return r.known && (!limit.known || (r.lo >= limit.lo && r.hi <= limit.hi)); }
static Range range_union(Range a, Range b) {
    if (!a.known || !b.known) return (Range){false, 0, 0};
    return (Range){true, MIN_OF(a.lo, b.lo), MAX_OF(a.hi, b.hi)};
}
static Range range_clip(Range r, Range limit) {
    if (!r.known) return limit;
    if (!limit.known) return r;
    return (Range){true, MAX_OF(r.lo, limit.lo), MIN_OF(r.hi, limit.hi)};
}

/* ---- registers ------------------------------------------------------------------------ */

Reg lower_reg(Lower *l, Pipe *p, Phys phys, Type type, bool nullable, Range range) {
    Reg r = builder_reg(&p->b, phys, type, nullable);
    if (r <= 0) return err_oom(l->err), 0;
    while (p->ranges.len <= r)
        if (!vec_push(l->arena, &p->ranges, ((Range){false, 0, 0}))) return 0;
    p->ranges.items[r] = range;
    RegInfo *ri = &p->b.regs.items[r];
    if (range.known && fits(range, PH_I64)) {
        ri->has_range = true;
        ri->min = (int64_t)range.lo;
        ri->max = (int64_t)range.hi;
    }
    return r;
}
Range lower_range(const Pipe *p, Reg r) { return p->ranges.items[r]; }
RegInfo *lower_info(Pipe *p, Reg r) { return &p->b.regs.items[r]; }
static Phys reg_phys(Pipe *p, Reg r) { return (Phys)lower_info(p, r)->phys; }
static bool reg_nullable(Pipe *p, Reg r) { return lower_info(p, r)->nullable; }

static Reg emit(Lower *l, Pipe *p, Opcode op, Phys phys, Reg dst, Reg a, Reg b, Reg c) {
    if (dst < 0) return 0;
    if (!builder_emit(&p->b, op, phys, dst, a, b, c)) return err_oom(l->err), 0;
    return dst;
}
static Instr *last(Pipe *p) { return &p->b.instrs.items[p->b.instrs.len - 1]; }

static Reg emit1(Lower *l, Pipe *p, Opcode op, Phys phys, Phys out, Type t, bool nullable, Range r, Reg a, Reg b,
                 Reg c) {
    Reg dst = lower_reg(l, p, out, t, nullable, r);
    return dst ? emit(l, p, op, phys, dst, a, b, c) : 0;
}
static Reg emit_bool(Lower *l, Pipe *p, Opcode op, Phys phys, bool nullable, Reg a, Reg b) {
    return emit1(l, p, op, phys, PH_BOOL, type_make(T_BOOL), nullable, (Range){true, 0, 1}, a, b, 0);
}

static void set_int_cell(Value *v, Phys phys, int128_t x) {
    memset(&v->u, 0, sizeof v->u);
    switch (phys) {
    case PH_I16: v->u.i16 = (int16_t)x; break;
    case PH_I32: v->u.i32 = (int32_t)x; break;
    case PH_I64: v->u.i64 = (int64_t)x; break;
    default: v->u.i128 = x;
    }
}
static int128_t get_int_cell(const Value *v, Phys phys) {
    switch (phys) {
    case PH_I16: return v->u.i16;
    case PH_I32: return v->u.i32;
    case PH_I64: return v->u.i64;
    default: return v->u.i128;
    }
}

static Reg const_reg(Lower *l, Pipe *p, Phys phys, const Value *v, Range range) {
    Reg r = builder_const(&p->b, phys, v);
    if (r <= 0) return err_oom(l->err), 0;
    while (p->ranges.len <= r)
        if (!vec_push(l->arena, &p->ranges, ((Range){false, 0, 0}))) return 0;
    p->ranges.items[r] = range;
    RegInfo *ri = lower_info(p, r);
    ri->type = v->type;
    ri->nullable = v->is_null;
    ri->stable_str = true;
    return r;
}

Reg lower_int_const(Lower *l, Pipe *p, Phys phys, Type type, int128_t x) {
    Value v = {.type = type};
    set_int_cell(&v, phys, x);
    return const_reg(l, p, phys, &v, (Range){true, x, x});
}

Reg lower_const(Lower *l, Pipe *p, const Value *v) {
    Phys ph = type_phys(v->type);
    if (v->is_null) {
        Value z = {.type = v->type, .is_null = true};
        if (is_int_phys(ph) && ph != PH_I32) ph = PH_I32;
        return const_reg(l, p, ph, &z, (Range){is_int_phys(ph), 0, 0});
    }
    if (is_int_phys(ph)) {
        int128_t x = get_int_cell(v, ph);
        return lower_int_const(l, p, narrowest((Range){true, x, x}), v->type, x);
    }
    return const_reg(l, p, ph, v, ph == PH_BOOL ? (Range){true, 0, 1} : (Range){false, 0, 0});
}

/* ---- scopes: what was computed inside a body is not valid outside it ----------------------- */

typedef struct Mark {
    int64_t instrs, regs, ranges, computed;
    int32_t sites;
} Mark;
static Mark mark_now(Pipe *p) {
    return (Mark){p->b.instrs.len, p->b.regs.len, p->ranges.len, p->computed.len, p->b.n_sites};
}
static void forget_since(Pipe *p, Mark m) {
    for (int64_t k = 0; k < p->n_pages; k++)
        for (int i = 0; p->pages[k] && i < COL_PAGE; i++) {
            ColEntry *e = &p->pages[k]->at[i];
            if (e->reg >= m.regs && e->where != CW_REG) e->reg = 0;
        }
    p->computed.len = MIN_OF(p->computed.len, m.computed);
}
static void roll_back(Pipe *p, Mark m) {
    forget_since(p, m);
    p->b.instrs.len = m.instrs;
    p->b.regs.len = m.regs;
    p->ranges.len = MIN_OF(m.ranges, m.regs);
    p->b.n_sites = m.sites;
}
void lower_forget_since_reg(Pipe *p, int64_t reg, int64_t computed) {
    forget_since(p, (Mark){.regs = reg, .computed = computed});
}
static bool can_fail_since(Pipe *p, Mark m) {
    for (int64_t i = m.instrs; i < p->b.instrs.len; i++) {
        const Instr *in = &p->b.instrs.items[i];
        if (!instr_may_fail(in)) continue;
        if (in->op == OP_CALL && !((const CallSite *)in->aux)->can_fail) continue;
        return true;
    }
    return false;
}

/* ---- conversions ----------------------------------------------------------------------- */

/* Equal expressions have the same: comparing trees with every one computed so far would cost their sizes each time.
 * Other ones after a change, at worst. */
static uint32_t expr_hash(Expr *e) {
    if (e->hash || stack_stop()) return e->hash;
    uint64_t h = hash_combine(e->kind, (uint64_t)e->type.id << 32 | (uint32_t)e->n_args);
    if (e->kind == EX_COL) h = hash_combine(h, (uint64_t)e->u.col);
    if (e->kind == EX_PARAM) h = hash_combine(h, (uint64_t)e->u.param);
    if (e->kind == EX_FUNC) h = hash_combine(h, (uint64_t)(uintptr_t)e->u.func);
    if (e->kind == EX_CONST && !e->u.value.is_null)
        h = hash_combine(h, cell_hash(type_phys(e->type), value_cell_const(&e->u.value)));
    for (int32_t i = 0; i < e->n_args; i++) h = hash_combine(h, expr_hash(e->args[i]));
    return e->hash = (uint32_t)h | 1;
}

/* Looks at the newest values only, so that a condition of ten thousand parts costs ten thousand steps. */
static Reg cached(Pipe *p, Expr *e, Reg src, int phys) {
    enum { LOOK_BACK = 512 };
    uint32_t hash = e ? expr_hash(e) : 0;
    int64_t oldest = MAX_OF(p->computed.len - LOOK_BACK, INT64_C(0));
    for (int64_t i = p->computed.len - 1; i >= oldest; i--) {
        const Computed *c = &p->computed.items[i];
        if (e ? (c->expr && c->hash == hash && expr_equal(c->expr, e)) : (!c->expr && c->src == src && c->phys == phys))
            return c->reg;
    }
    return 0;
}
static Reg remember(Lower *l, Pipe *p, const Expr *e, Reg src, int phys, Reg r) {
    if (r) (void)vec_push(l->arena, &p->computed, ((Computed){e, src, phys, r, e ? e->hash : 0}));
    return r;
}

Reg lower_as(Lower *l, Pipe *p, Reg r, Phys phys) {
    if (!r) return 0;
    RegInfo ri = *lower_info(p, r);
    if (ri.dict && phys == PH_STR) {
        Reg c = cached(p, NULL, r, phys);
        if (c) return c;
        Type t = ri.type.id ? ri.type : type_make(T_TEXT);
        Reg d = emit1(l, p, OP_DECODE, PH_I32, PH_STR, t, ri.nullable, (Range){false, 0, 0}, r, 0, 0);
        if (!d) return 0;
        last(p)->aux = (void *)(uintptr_t)ri.dict;
        lower_info(p, d)->stable_str = true;
        return remember(l, p, NULL, r, phys, d);
    }
    if (ri.phys == phys) return r;
    if (ri.is_const && is_int_phys(ri.phys) && is_int_phys(phys)) {
        if (ri.value.is_null) {
            Value v = {.type = ri.type, .is_null = true};
            return const_reg(l, p, phys, &v, lower_range(p, r));
        }
        int128_t x = get_int_cell(&ri.value, (Phys)ri.phys);
        if (fits((Range){true, x, x}, phys)) return lower_int_const(l, p, phys, ri.type, x);
    }
    if (ri.is_const && ri.value.is_null) {
        Value v = {.type = ri.type, .is_null = true};
        return const_reg(l, p, phys, &v, (Range){false, 0, 0});
    }
    Reg c = cached(p, NULL, r, phys);
    if (c) return c;
    Range range = lower_range(p, r);
    bool to_int = is_int_phys(phys), from_int = is_int_phys(ri.phys);
    Range out = to_int ? range : (Range){false, 0, 0};
    if (to_int && !fits(out, phys)) {
        Type limit = phys == PH_I16 ? type_make(T_INT2) : phys == PH_I32 ? type_make(T_INT4) : type_make(T_INT8);
        out = range_clip(out, range_of_type(limit));
    }
    Type type = ri.type; /* an integer in fewer or more bits is of its type still, one as a double is not */
    if (phys == PH_F64 || phys == PH_F32) type = type_make(phys == PH_F64 ? T_FLOAT8 : T_FLOAT4);
    else if (!from_int && to_int && ri.phys != PH_BOOL)
        type = type_make(phys == PH_I16 ? T_INT2 : phys == PH_I32 ? T_INT4 : T_INT8);
    Reg d = emit1(l, p, OP_CVT, (Phys)ri.phys, phys, type, ri.nullable, out, r, 0, 0);
    if (!d) return 0;
    if ((from_int && to_int && fits(range, phys)) || (from_int && (phys == PH_F64 || phys == PH_F32)) ||
        (ri.phys == PH_F32 && phys == PH_F64) || (ri.phys == PH_BOOL))
        last(p)->flags |= INSTR_SAFE;
    return remember(l, p, NULL, r, phys, d);
}

Reg lower_canonical(Lower *l, Pipe *p, Reg r, Type type) { return lower_as(l, p, r, type_phys(type)); }

/* ---- columns ----------------------------------------------------------------------------- */

Reg lower_col(Lower *l, Pipe *p, ColId id) {
    TRY_REG(stack_check(l->err));
    if (id <= 0 || id >= p->n_cols) return err_internal(l->err, "column %d is out of range", (int)id), 0;
    ColEntry *e = pipe_col(p, id);
    if (e->reg) return e->reg;
    Reg r = 0;
    switch (e->where) {
    case CW_SOURCE:
        r = lower_reg(l, p, (Phys)e->phys, e->type, e->nullable, e->range);
        if (!r) return 0;
        if (!emit(l, p,
                  e->dict && p->source.kind == SRC_TABLE ? OP_LOAD_CODE
                  : e->imm == -1                         ? OP_LOAD_ROWID
                                                         : OP_LOAD,
                  (Phys)e->phys, r, 0, 0, 0))
            return 0;
        last(p)->imm = e->imm;
        break;
    case CW_BUILD:
        r = lower_reg(l, p, (Phys)e->phys, e->type, e->nullable, e->range);
        if (!r || !emit(l, p, OP_LOAD_BUILD, (Phys)e->phys, r, e->row, 0, 0)) return 0;
        last(p)->imm = e->imm;
        last(p)->aux = e->site;
        break;
    case CW_ROW: {
        Reg row = lower_col(l, p, e->row_var);
        e = pipe_col(p, id);
        r = row ? lower_reg(l, p, (Phys)e->phys, e->type, e->nullable, e->range) : 0;
        if (!r || !emit(l, p, OP_ROW_GET, PH_I64, r, row, 0, 0)) return 0;
        last(p)->aux = e->cell;
        break;
    }
    case CW_EXPR: {
        Expr *x = e->expr;
        r = lower_expr(l, p, x);
        if (!r) return 0;
        pipe_col(p, id)->reg = r;
        return r;
    }
    default:
        return err_internal(l->err, "column \"%s\" (%d) is not available here",
                            l->c->cols.items[id].name ? l->c->cols.items[id].name : "?", (int)id),
               0;
    }
    e = pipe_col(p, id);
    RegInfo *ri = lower_info(p, r);
    ri->dict = e->dict;
    ri->stable_str = e->stable_str;
    e->reg = r;
    return r;
}

/* ---- arithmetic ---------------------------------------------------------------------------- */

static Range arith_range(Opcode op, Range a, Range b) {
    Range r = {false, 0, 0};
    if (!a.known || !b.known) return r;
    int128_t v[4];
    bool o = false;
    if (op == OP_ADD) {
        o |= __builtin_add_overflow(a.lo, b.lo, &v[0]);
        o |= __builtin_add_overflow(a.hi, b.hi, &v[1]);
        if (!o) r = (Range){true, v[0], v[1]};
    } else if (op == OP_SUB) {
        o |= __builtin_sub_overflow(a.lo, b.hi, &v[0]);
        o |= __builtin_sub_overflow(a.hi, b.lo, &v[1]);
        if (!o) r = (Range){true, v[0], v[1]};
    } else {
        o |= i128_mul_overflow(a.lo, b.lo, &v[0]);
        o |= i128_mul_overflow(a.lo, b.hi, &v[1]);
        o |= i128_mul_overflow(a.hi, b.lo, &v[2]);
        o |= i128_mul_overflow(a.hi, b.hi, &v[3]);
        if (!o) {
            r = (Range){true, v[0], v[0]};
            for (int i = 1; i < 4; i++) r.lo = MIN_OF(r.lo, v[i]), r.hi = MAX_OF(r.hi, v[i]);
        }
    }
    return r;
}

/* a op b for integer-like registers at equal scales (MUL: scales add up); the result is of `type`. */
static Reg arith(Lower *l, Pipe *p, Opcode op, Type type, Reg a, Reg b) {
    if (!a || !b) return 0;
    Range ra = lower_range(p, a), rb = lower_range(p, b), limit = range_of_type(type);
    if (!rule_on(l->c, RULE_RANGES)) { /* tests: always the checked form at the type's width */
        ra = fits(ra, PH_I64) && type_phys(type) != PH_I128 ? range_of_type(type) : (Range){false, 0, 0};
        rb = ra;
    }
    bool nullable = reg_nullable(p, a) || reg_nullable(p, b);
    Range r = arith_range(op, ra, rb);
    if (within(r, limit) && rule_on(l->c, RULE_RANGES)) {
        Phys in = narrowest(range_union(ra, rb)), out = narrowest(r);
        Opcode n = op == OP_ADD ? OP_ADD_N : op == OP_SUB ? OP_SUB_N : OP_MUL_N;
        if (op == OP_MUL && out > in && in != PH_I128) {
            if ((in == PH_I32 && out == PH_I64) || (in == PH_I64 && out == PH_I128)) {
                a = lower_as(l, p, a, in);
                b = lower_as(l, p, b, in);
                return a && b ? emit1(l, p, OP_MUL_WIDE, in, out, type, nullable, r, a, b, 0) : 0;
            }
        }
        Phys w = MAX_OF(in, out);
        a = lower_as(l, p, a, w);
        b = lower_as(l, p, b, w);
        return a && b ? emit1(l, p, n, w, w, type, nullable, r, a, b, 0) : 0;
    }
    Phys w = type.id == T_NUMERIC ? PH_I128 : type_phys(type);
    a = lower_as(l, p, a, w);
    b = lower_as(l, p, b, w);
    if (!a || !b) return 0;
    Reg d = emit1(l, p, op, w, w, type, nullable, range_clip(r, limit), a, b, 0);
    if (!d || type.id != T_NUMERIC) return d;
    Reg k = emit1(l, p, OP_CHECK_DIGITS, w, w, type, nullable, range_clip(r, limit), d, 0, 0);
    if (k) last(p)->imm = NUMERIC_MAX_PRECISION;
    return k;
}

/* Value at scale `from` to numeric `to`: exact upwards, rounded downwards, checked against the precision. */
static Reg rescale(Lower *l, Pipe *p, Reg r, int from, Type to) {
    if (!r) return 0;
    Range range = lower_range(p, r), limit = range_of_type(to);
    if (to.scale == from && within(range, limit)) return r;
    bool nullable = reg_nullable(p, r);
    if (to.scale >= from) {
        int128_t f = pow10_i128[to.scale - from];
        Range out = arith_range(OP_MUL, range, (Range){true, f, f});
        if (within(out, limit)) {
            Reg k = lower_int_const(l, p, narrowest((Range){true, f, f}), type_numeric(38, 0), f);
            return k ? arith(l, p, OP_MUL, to, r, k) : 0;
        }
    }
    Reg a = lower_as(l, p, r, PH_I128);
    if (!a) return 0;
    Reg d = emit1(l, p, OP_RESCALE, PH_I128, PH_I128, to, nullable, limit, a, 0, 0);
    if (d) last(p)->imm = NUM_IMM(from, to.scale, to.precision);
    return d;
}

static bool exact_type(Type t) { return type_is_integer(t) || t.id == T_NUMERIC; }

/* ---- casts ----------------------------------------------------------------------------------- */

static Reg lower_cast(Lower *l, Pipe *p, Expr *e) {
    Type from = e->args[0]->type, to = e->type;
    if (e->args[0]->kind == EX_CONST && e->args[0]->u.value.is_null) {
        Value v = {.type = to, .is_null = true};
        return lower_const(l, p, &v);
    }
    Reg r = lower_expr(l, p, e->args[0]);
    if (!r) return 0;
    if (type_eq(from, to)) return r;
    if (exact_type(from) && exact_type(to)) {
        int fs = from.id == T_NUMERIC ? from.scale : 0;
        if (to.id == T_NUMERIC) return rescale(l, p, r, fs, to);
        if (fs > 0) r = rescale(l, p, r, fs, type_numeric(38, 0));
        if (!r) return 0;
        if (within(lower_range(p, r), range_of_type(to))) return r;
        return lower_as(l, p, r, type_phys(to));
    }
    bool to_f = to.id == T_FLOAT4 || to.id == T_FLOAT8, from_f = from.id == T_FLOAT4 || from.id == T_FLOAT8;
    if (to_f && from_f) return lower_as(l, p, r, type_phys(to));
    if (to_f && type_is_integer(from)) return lower_as(l, p, lower_canonical(l, p, r, from), type_phys(to));
    if (to_f && from.id == T_NUMERIC) {
        if (reg_phys(p, r) < PH_I64) r = lower_as(l, p, r, PH_I64);
        if (!r) return 0;
        Reg d = emit1(l, p, OP_NUM_TO_F64, reg_phys(p, r), PH_F64, type_make(T_FLOAT8), reg_nullable(p, r),
                      (Range){false, 0, 0}, r, 0, 0);
        if (!d) return 0;
        last(p)->imm = NUM_IMM(from.scale, 0, 0);
        return lower_as(l, p, d, type_phys(to));
    }
    if (from_f && type_is_integer(to)) return lower_as(l, p, r, type_phys(to));
    if (from_f && to.id == T_NUMERIC) {
        r = lower_as(l, p, r, PH_F64);
        if (!r) return 0;
        Reg d = emit1(l, p, OP_F64_TO_NUM, PH_F64, PH_I128, to, reg_nullable(p, r), range_of_type(to), r, 0, 0);
        if (d) last(p)->imm = NUM_IMM(0, to.scale, to.precision);
        return d;
    }
    if (from.id == T_DATE && to.id == T_TIMESTAMP) {
        Range range = lower_range(p, r);
        if (range.known && range.lo > INT32_MIN && range.hi < INT32_MAX && range_max_abs(range) < 100000000) {
            Reg k = lower_int_const(l, p, PH_I64, type_make(T_TIMESTAMP), USECS_PER_DAY);
            return k ? arith(l, p, OP_MUL, to, r, k) : 0;
        }
    }
    if (cast_keeps_string(from, to)) return r;
    FuncKernel k = cast_kernel(from, to, (CastCtx)e->cast_ctx);
    if (!k) return err_internal(l->err, "no cast kernel"), 0;
    r = lower_canonical(l, p, r, from);
    if (!r) return 0;
    return call_kernel(l, p, k, NULL, true, true, to, 1, &r, &from);
}

/* ---- calls -------------------------------------------------------------------------------------- */

static Reg call_kernel(Lower *l, Pipe *p, FuncKernel k, const FuncDef *f, bool strict, bool can_fail, Type ret, int n,
                       const Reg *args, const Type *types) {
    CallSite *s = arena_new_of(l->arena, CallSite);
    if (!s) return 0;
    s->kernel = k;
    s->func = f;
    s->strict = strict;
    s->can_fail = can_fail;
    s->ret = ret;
    s->n_args = n;
    s->args = arena_array(l->arena, Reg, n + 1);
    s->arg_types = arena_array(l->arena, Type, n + 1);
    if (!s->args || !s->arg_types) return 0;
    bool nullable = !strict;
    for (int i = 0; i < n; i++) {
        s->args[i] = args[i];
        s->arg_types[i] = types[i];
        nullable |= reg_nullable(p, args[i]);
    }
    s->site = p->b.n_sites++;
    Phys ph = type_phys(ret);
    /* Strict kernels may still produce NULL (nullif-like functions): their vectors say so at run time. */
    Reg d =
        emit1(l, p, OP_CALL, ph, ph, ret, nullable || (f && !(f->flags & FN_OPERATOR)), range_of_type(ret), 0, 0, 0);
    if (d) last(p)->aux = s;
    return d;
}

static Reg lower_call(Lower *l, Pipe *p, Expr *e) {
    const FuncDef *f = e->u.func;
    Reg *args = arena_array(l->arena, Reg, e->n_args + 1);
    Type *types = arena_array(l->arena, Type, e->n_args + 1);
    if (!args || !types) return 0;
    for (int i = 0; i < e->n_args; i++) {
        types[i] = e->args[i]->type;
        args[i] = lower_canonical(l, p, lower_expr(l, p, e->args[i]), types[i]);
        if (!args[i]) return 0;
    }
    return call_kernel(l, p, f->kernel, f, (f->flags & FN_STRICT) != 0, (f->flags & FN_CAN_FAIL) != 0, e->type,
                       e->n_args, args, types);
}

/* ---- comparison ------------------------------------------------------------------------------------ */

static Reg compare(Lower *l, Pipe *p, Opcode op, Reg a, Reg b) {
    if (!a || !b) return 0;
    const Dict *da = lower_info(p, a)->dict, *db = lower_info(p, b)->dict;
    bool eq_like = op == OP_EQ || op == OP_NE || op == OP_DISTINCT;
    if ((da || db) && !(da == db && eq_like)) {
        a = da ? lower_as(l, p, a, PH_STR) : a;
        b = db ? lower_as(l, p, b, PH_STR) : b;
        if (!a || !b) return 0;
    }
    Phys pa = reg_phys(p, a), pb = reg_phys(p, b);
    if (is_int_phys(pa) && is_int_phys(pb) && pa != pb) {
        Phys w = MAX_OF(pa, pb);
        if (lower_info(p, a)->is_const && fits(lower_range(p, a), pb)) w = pb;
        else if (lower_info(p, b)->is_const && fits(lower_range(p, b), pa)) w = pa;
        a = lower_as(l, p, a, w);
        b = lower_as(l, p, b, w);
    } else if (pa != pb) { /* a NULL constant of another width, or float4 beside float8 */
        Phys w = MAX_OF(pa, pb);
        a = lower_as(l, p, a, w);
        b = lower_as(l, p, b, w);
    }
    if (!a || !b) return 0;
    bool nullable = op != OP_DISTINCT && (reg_nullable(p, a) || reg_nullable(p, b));
    return emit_bool(l, p, op, reg_phys(p, a), nullable, a, b);
}

/* ---- conditional evaluation --------------------------------------------------------------------------- */

/* Brings two alternatives of one SQL type to one phys. */
static Status unify(Lower *l, Pipe *p, Type t, Phys w, Reg *a) {
    (void)t;
    *a = lower_as(l, p, *a, w);
    return *a ? ST_OK : ST_ERROR;
}
static Phys unified_phys(Pipe *p, Type t, Reg a, Reg b) {
    if (!is_int_phys(type_phys(t))) return type_phys(t);
    return MAX_OF(reg_phys(p, a), reg_phys(p, b));
}

/* The dictionary whose codes both alternatives are: of one, where the other is NULL. */
static const Dict *common_dict(Pipe *p, Reg a, Reg b) {
    const RegInfo *x = lower_info(p, a), *y = lower_info(p, b);
    bool x_null = x->is_const && x->value.is_null, y_null = y->is_const && y->value.is_null;
    if (x->dict && (y_null || (y->dict == x->dict && y->phys == x->phys))) return x->dict;
    return x_null ? y->dict : NULL;
}

static Reg select_regs(Lower *l, Pipe *p, Type t, Reg cond, Reg a, Reg b) {
    if (!cond || !a || !b) return 0;
    const Dict *dict = common_dict(p, a, b);
    Phys w = dict ? reg_phys(p, lower_info(p, a)->dict ? a : b) : unified_phys(p, t, a, b);
    TRY_REG(unify(l, p, t, w, &a));
    TRY_REG(unify(l, p, t, w, &b));
    bool nullable = reg_nullable(p, a) || reg_nullable(p, b);
    Range range = range_union(lower_range(p, a), lower_range(p, b));
    if (dict) range = lower_range(p, lower_info(p, a)->dict ? a : b);
    Reg d = emit1(l, p, OP_SELECT, w, w, t, nullable, range, cond, a, b);
    if (d) lower_info(p, d)->dict = dict;
    if (d) lower_info(p, d)->stable_str = lower_info(p, a)->stable_str && lower_info(p, b)->stable_str;
    return d;
}

/* cond ? make(then) : make(other), with the sides evaluated only where they are needed. `other` NULL gives NULL. */
typedef Reg (*Maker)(Lower *l, Pipe *p, void *arg);
static Reg conditional(Lower *l, Pipe *p, Type t, Reg cond, Maker then_fn, void *then_arg, Maker else_fn,
                       void *else_arg) {
    if (!cond) return 0;
    Mark m = mark_now(p);
    l->trial++;
    Reg a = then_fn(l, p, then_arg);
    Reg b = a ? else_fn(l, p, else_arg) : 0;
    l->trial--;
    if (!a || !b) return 0;
    if (l->trial || !can_fail_since(p, m)) return select_regs(l, p, t, cond, a, b);
    roll_back(p, m);
    /* The width must be the same on both sides before either is made: the type's own. */
    Phys w = type_phys(t);
    if (!builder_emit(&p->b, OP_IF, PH_BOOL, 0, cond, 0, 0)) return err_oom(l->err), 0;
    p->depth++;
    Mark body = mark_now(p);
    a = lower_as(l, p, then_fn(l, p, then_arg), w);
    if (!a) return 0;
    bool nullable = reg_nullable(p, a);
    Range ra = lower_range(p, a);
    bool sa = lower_info(p, a)->stable_str;
    forget_since(p, body);
    if (!builder_emit(&p->b, OP_ELSE, w, 0, a, 0, 0)) return err_oom(l->err), 0;
    Mark body2 = mark_now(p);
    b = lower_as(l, p, else_fn(l, p, else_arg), w);
    if (!b) return 0;
    nullable |= reg_nullable(p, b);
    Range rb = lower_range(p, b);
    bool sb = lower_info(p, b)->stable_str;
    forget_since(p, body2);
    p->depth--;
    Reg d = emit1(l, p, OP_ENDIF, w, w, t, nullable, range_union(ra, rb), b, 0, 0);
    if (d) lower_info(p, d)->stable_str = sa && sb;
    return d;
}

static Reg make_expr(Lower *l, Pipe *p, void *arg) { return lower_expr(l, p, arg); }

typedef struct CaseTail {
    Expr *e;
    int32_t i;
} CaseTail;
static Reg make_case(Lower *l, Pipe *p, void *arg) {
    CaseTail *t = arg;
    Expr *e = t->e;
    if (t->i >= e->n_args) {
        Value v = {.type = e->type, .is_null = true};
        return lower_const(l, p, &v);
    }
    if (t->i == e->n_args - 1) return lower_expr(l, p, e->args[t->i]);
    CaseTail next = {e, t->i + 2};
    Reg cond = lower_expr(l, p, e->args[t->i]);
    return conditional(l, p, e->type, cond, make_expr, e->args[t->i + 1], make_case, &next);
}

typedef struct LogicTail {
    Expr *e;
    int32_t i;
    Reg left;
} LogicTail;
static Reg make_logic_rest(Lower *l, Pipe *p, void *arg) {
    LogicTail *t = arg;
    Reg r = lower_expr(l, p, t->e->args[t->i]);
    if (!r) return 0;
    return emit_bool(l, p, t->e->kind == EX_AND ? OP_AND : OP_OR, PH_BOOL,
                     reg_nullable(p, t->left) || reg_nullable(p, r), t->left, r);
}
static Reg make_same(Lower *l, Pipe *p, void *arg) {
    (void)l;
    (void)p;
    return *(Reg *)arg;
}

static Reg lower_logic(Lower *l, Pipe *p, Expr *e) {
    Reg r = lower_expr(l, p, e->args[0]);
    for (int32_t i = 1; r && i < e->n_args; i++) {
        Mark m = mark_now(p);
        LogicTail t = {e, i, r};
        l->trial++;
        Reg d = make_logic_rest(l, p, &t);
        l->trial--;
        if (!d) return 0;
        if (!l->trial && can_fail_since(p, m)) { /* evaluate the rest only where the left side does not decide */
            roll_back(p, m);
            Reg decided = emit_bool(l, p, e->kind == EX_AND ? OP_IS_FALSE : OP_IS_TRUE, PH_BOOL, false, r, 0);
            if (!decided) return 0;
            Reg same = r;
            d = conditional(l, p, e->type, decided, make_same, &same, make_logic_rest, &t);
        }
        r = d;
    }
    return r;
}

typedef struct CoalesceTail {
    Expr *e;
    int32_t i;
} CoalesceTail;
static Reg make_coalesce(Lower *l, Pipe *p, void *arg) {
    CoalesceTail *t = arg;
    TRY_REG(stack_check(l->err));
    Reg a = lower_expr(l, p, t->e->args[t->i]);
    if (!a || t->i == t->e->n_args - 1 || !reg_nullable(p, a)) return a;
    CoalesceTail next = {t->e, t->i + 1};
    Mark m = mark_now(p);
    l->trial++;
    Reg b = make_coalesce(l, p, &next);
    l->trial--;
    if (!b) return 0;
    Type ty = t->e->type;
    if (l->trial || !can_fail_since(p, m)) {
        Phys w = unified_phys(p, ty, a, b);
        TRY_REG(unify(l, p, ty, w, &a));
        TRY_REG(unify(l, p, ty, w, &b));
        Reg d = emit1(l, p, OP_COALESCE, w, w, ty, reg_nullable(p, b),
                      range_union(lower_range(p, a), lower_range(p, b)), a, b, 0);
        if (d) lower_info(p, d)->stable_str = lower_info(p, a)->stable_str && lower_info(p, b)->stable_str;
        return d;
    }
    roll_back(p, m);
    Reg here = emit_bool(l, p, OP_IS_NOT_NULL, reg_phys(p, a), false, a, 0);
    return conditional(l, p, ty, here, make_same, &a, make_coalesce, &next);
}

/* ---- IN ------------------------------------------------------------------------------------------------ */

static int cmp_cells16(const void *a, const void *b) { return cell_cmp(PH_I16, a, b); }
static int cmp_cells32(const void *a, const void *b) { return cell_cmp(PH_I32, a, b); }
static int cmp_cells64(const void *a, const void *b) { return cell_cmp(PH_I64, a, b); }
static int cmp_cells128(const void *a, const void *b) { return cell_cmp(PH_I128, a, b); }
static int cmp_cells_str(const void *a, const void *b) { return cell_cmp(PH_STR, a, b); }

static Reg lower_in(Lower *l, Pipe *p, Expr *e) {
    Reg x = lower_expr(l, p, e->args[0]);
    if (!x) return 0;
    bool consts = true;
    for (int32_t i = 1; i < e->n_args; i++) consts &= e->args[i]->kind == EX_CONST;
    Phys ph = type_phys(e->args[0]->type);
    if (consts && e->n_args > 2 && (is_int_phys(ph) || ph == PH_STR)) {
        if (ph == PH_STR) x = lower_as(l, p, x, PH_STR);
        if (!x) return 0;
        Phys w = reg_phys(p, x);
        InSet *s = arena_new_of(l->arena, InSet);
        int64_t size = phys_size(w);
        char *cells = s ? arena_alloc(l->arena, size * e->n_args) : NULL;
        if (!cells) return 0;
        int64_t n = 0;
        for (int32_t i = 1; i < e->n_args; i++) {
            const Value *v = &e->args[i]->u.value;
            if (v->is_null) {
                s->has_null = true;
                continue;
            }
            if (ph == PH_STR) {
                memcpy(cells + n++ * size, &v->u.str, sizeof(Str));
                continue;
            }
            int128_t k = get_int_cell(v, ph);
            if (!fits((Range){true, k, k}, w)) continue;
            Value t = *v;
            set_int_cell(&t, w, k);
            memcpy(cells + n++ * size, &t.u, (size_t)size);
        }
        int (*cmp)(const void *, const void *) = w == PH_I16    ? cmp_cells16
                                                 : w == PH_I32  ? cmp_cells32
                                                 : w == PH_I64  ? cmp_cells64
                                                 : w == PH_I128 ? cmp_cells128
                                                                : cmp_cells_str;
        qsort(cells, (size_t)n, (size_t)size, cmp);
        int64_t m = 0;
        for (int64_t i = 0; i < n; i++)
            if (m == 0 || cmp(cells + (m - 1) * size, cells + i * size) != 0)
                memmove(cells + m++ * size, cells + i * size, (size_t)size);
        s->n = m;
        s->cells = cells;
        Reg d = emit_bool(l, p, OP_IN_SET, w, reg_nullable(p, x) || s->has_null, x, 0);
        if (d) last(p)->aux = s;
        return d;
    }
    Reg r = 0;
    for (int32_t i = 1; i < e->n_args; i++) {
        Reg q = compare(l, p, OP_EQ, x, lower_expr(l, p, e->args[i]));
        if (!q) return 0;
        r = r ? emit_bool(l, p, OP_OR, PH_BOOL, reg_nullable(p, r) || reg_nullable(p, q), r, q) : q;
        if (!r) return 0;
    }
    return r;
}

/* ---- functions ------------------------------------------------------------------------------------------- */

static Range date_part_range(DateField f, Range r, Type t) {
    switch (f) {
    case DF_YEAR:
    case DF_ISOYEAR: {
        if (!r.known || r.lo <= INT64_MIN || r.hi >= INT64_MAX) break;
        int128_t lo = t.id == T_DATE ? r.lo : r.lo / USECS_PER_DAY - 1,
                 hi = t.id == T_DATE ? r.hi : r.hi / USECS_PER_DAY + 1;
        if (lo <= INT32_MIN + 400 || hi >= INT32_MAX - 400) break;
        int64_t y0, y1;
        int m, d;
        date_to_ymd((int32_t)lo, &y0, &m, &d);
        date_to_ymd((int32_t)hi, &y1, &m, &d);
        return (Range){true, MIN_OF(y0, y1) - 1, MAX_OF(y0, y1) + 1};
    }
    case DF_MONTH: return (Range){true, 1, 12};
    case DF_DAY: return (Range){true, 1, 31};
    case DF_HOUR: return (Range){true, 0, 24};
    case DF_MINUTE: return (Range){true, 0, 59};
    case DF_QUARTER: return (Range){true, 1, 4};
    case DF_DOW:
    case DF_ISODOW: return (Range){true, 0, 7};
    case DF_WEEK: return (Range){true, 1, 53};
    case DF_DOY: return (Range){true, 1, 366};
    default: break;
    }
    return range_of_type(type_make(T_INT4));
}

static Range bits_range(Opcode op, Range a, Range b, Type t) {
    const Range all = range_of_type(t);
    if (!a.known || (op != OP_BIT_NOT && !b.known)) return all;
    switch (op) {
    case OP_BIT_NOT: return (Range){true, ~a.hi, ~a.lo};
    case OP_BIT_AND: /* an operand that is not negative bounds the result */
        if (a.lo >= 0 && b.lo >= 0) return (Range){true, 0, MIN_OF(a.hi, b.hi)};
        return a.lo >= 0 ? (Range){true, 0, a.hi} : b.lo >= 0 ? (Range){true, 0, b.hi} : all;
    case OP_BIT_OR:
    case OP_BIT_XOR: {
        if (a.lo < 0 || b.lo < 0) return all;
        int128_t top = 1;
        while (top <= MAX_OF(a.hi, b.hi)) top *= 2;
        return (Range){true, 0, top - 1};
    }
    case OP_SHR:
        if (b.lo == b.hi && b.lo >= 0 && b.lo < 32) return (Range){true, a.lo >> (int)b.lo, a.hi >> (int)b.lo};
        return (Range){true, MIN_OF(a.lo, 0), MAX_OF(a.hi, -1)};
    default: return all;
    }
}

/* Bits of integers, at the type's width. */
static Reg lower_bits(Lower *l, Pipe *p, Expr *e, Opcode op) {
    const Phys w = type_phys(e->type);
    Reg a = lower_as(l, p, lower_expr(l, p, e->args[0]), w), b = 0;
    if (!a) return 0;
    if (e->n_args > 1) {
        b = lower_expr(l, p, e->args[1]);
        if (b && w == PH_I16 && (op == OP_SHL || op == OP_SHR)) { /* the count is an integer and may be any */
            Reg mask = lower_int_const(l, p, PH_I32, type_make(T_INT4), 31);
            b = lower_as(l, p, b, PH_I32);
            if (!b || !mask) return 0;
            b = emit1(l, p, OP_BIT_AND, PH_I32, PH_I32, type_make(T_INT4), reg_nullable(p, b), (Range){true, 0, 31}, b,
                      mask, 0);
        }
        if (!(b = lower_as(l, p, b, w))) return 0;
    }
    const bool nullable = reg_nullable(p, a) || (b && reg_nullable(p, b));
    Range range = range_of_type(e->type);
    if (rule_on(l->c, RULE_RANGES)) range = bits_range(op, lower_range(p, a), b ? lower_range(p, b) : range, e->type);
    return emit1(l, p, op, w, w, e->type, nullable, range, a, b, 0);
}

static int exact_scale(Type t) { return t.id == T_NUMERIC ? t.scale : 0; }

/* The functions below lower one kind of call in a way of its own. False: not for these arguments; else *out is the
 * result, 0 after an error. */

/* + - * of integers and numerics: scaled integers. */
static bool exact_arith(Lower *l, Pipe *p, const Expr *e, Reg *out) {
    Opcode op = (Opcode)e->u.func->opcode;
    if (!exact_type(e->type) || !exact_type(e->args[0]->type) || !exact_type(e->args[1]->type)) return false;
    *out = 0;
    Reg a = lower_expr(l, p, e->args[0]), b = a ? lower_expr(l, p, e->args[1]) : 0;
    if (!b) return true;
    int sa = exact_scale(e->args[0]->type), sb = exact_scale(e->args[1]->type), sr = exact_scale(e->type);
    if (op == OP_MUL && sa + sb != sr) {
        bool nullable = reg_nullable(p, a) || reg_nullable(p, b);
        a = lower_as(l, p, a, PH_I128);
        b = lower_as(l, p, b, PH_I128);
        if (!a || !b) return true;
        *out = emit1(l, p, OP_NUM_MUL, PH_I128, PH_I128, e->type, nullable, range_of_type(e->type), a, b, 0);
        if (*out) last(p)->imm = NUM_IMM3(sa, sb, sr);
        return true;
    }
    if (op != OP_MUL && sa < sr) a = rescale(l, p, a, sa, type_numeric(38, sr));
    if (op != OP_MUL && sb < sr) b = rescale(l, p, b, sb, type_numeric(38, sr));
    *out = arith(l, p, op, e->type, a, b);
    return true;
}

/* Arithmetic whose arguments and result are integers, or floats, of one width. */
static bool plain_arith(Lower *l, Pipe *p, const Expr *e, Reg *out) {
    Opcode op = (Opcode)e->u.func->opcode;
    bool is_float = (e->type.id == T_FLOAT4 || e->type.id == T_FLOAT8) && op != OP_MOD;
    bool is_int = type_is_integer(e->type);
    if (!is_float && !is_int) return false;
    *out = 0;
    Phys w = type_phys(e->type);
    Reg a = lower_as(l, p, lower_expr(l, p, e->args[0]), w);
    Reg b = e->n_args > 1 && a ? lower_as(l, p, lower_expr(l, p, e->args[1]), w) : 0;
    if (!a || (e->n_args > 1 && !b)) return true;
    bool nullable = reg_nullable(p, a) || (b && reg_nullable(p, b));
    *out = emit1(l, p, op, w, w, e->type, nullable, range_of_type(e->type), a, b, 0);
    if (*out && is_int && b) {
        Range rb = lower_range(p, b);
        if (rb.known && rb.lo > 0) last(p)->flags |= INSTR_SAFE;
    }
    return true;
}

static bool exact_div(Lower *l, Pipe *p, const Expr *e, Reg *out) {
    if (e->n_args != 2 || e->type.id != T_NUMERIC) return false;
    if (!exact_type(e->args[0]->type) || !exact_type(e->args[1]->type)) return false;
    *out = 0;
    Reg a = lower_as(l, p, lower_expr(l, p, e->args[0]), PH_I128);
    Reg b = a ? lower_as(l, p, lower_expr(l, p, e->args[1]), PH_I128) : 0;
    if (!b) return true;
    *out = emit1(l, p, OP_NUM_DIV, PH_I128, PH_I128, e->type, reg_nullable(p, a) || reg_nullable(p, b),
                 range_of_type(e->type), a, b, 0);
    if (*out) last(p)->imm = NUM_IMM3(exact_scale(e->args[0]->type), exact_scale(e->args[1]->type), e->type.scale);
    return true;
}

/* Comparisons of one physical type, or of integers of the same scale. */
static bool plain_compare(Lower *l, Pipe *p, const Expr *e, Reg *out) {
    if (e->n_args != 2) return false;
    Type t0 = e->args[0]->type, t1 = e->args[1]->type;
    bool same = type_phys(t0) == type_phys(t1);
    bool ints =
        is_int_phys(type_phys(t0)) && is_int_phys(type_phys(t1)) && (t0.id != T_NUMERIC || t0.scale == t1.scale);
    if (!same && !ints) return false;
    Reg a = lower_expr(l, p, e->args[0]);
    *out = a ? compare(l, p, (Opcode)e->u.func->opcode, a, lower_expr(l, p, e->args[1])) : 0;
    return true;
}

static bool has_const_arg(const Expr *e, int i) {
    return e->n_args == 2 && e->args[i]->kind == EX_CONST && !e->args[i]->u.value.is_null;
}

/* LIKE and NOT LIKE with a constant pattern, which is compiled once. */
static bool constant_like(Lower *l, Pipe *p, const Expr *e, bool negated, Reg *out) {
    if (!has_const_arg(e, 1) || e->args[0]->type.id == T_BYTEA) return false;
    const Str s = e->args[1]->u.value.u.str;
    if (like_ends_in_escape((Slice){s.ptr, s.len}, '\\')) return false;
    *out = 0;
    Reg a = lower_as(l, p, lower_expr(l, p, e->args[0]), PH_STR);
    if (!a) return true;
    LikePattern *pat = like_compile(l->arena, (Slice){s.ptr, s.len}, '\\', false, l->err);
    if (!pat) return true;
    Reg d = emit_bool(l, p, OP_LIKE, PH_STR, reg_nullable(p, a), a, 0);
    if (!d) return true;
    last(p)->aux = pat;
    *out = negated ? emit_bool(l, p, OP_NOT, PH_BOOL, reg_nullable(p, a), d, 0) : d;
    return true;
}

/* Fields of dates and timestamps that cannot be infinite: those need the function's care. */
static bool finite_date_part(Lower *l, Pipe *p, const Expr *e, Reg *out) {
    if (!has_const_arg(e, 0) || e->type.id != T_INT4) return false;
    Type t = e->args[1]->type;
    if (t.id != T_DATE && t.id != T_TIMESTAMP) return false;
    Str s = e->args[0]->u.value.u.str;
    DateField df = date_field_from_name((Slice){s.ptr, s.len});
    if (df == DF_INVALID) return false;
    *out = 0;
    Reg a = lower_canonical(l, p, lower_expr(l, p, e->args[1]), t);
    if (!a) return true;
    Range in = lower_range(p, a);
    if (!in.known || in.lo <= (t.id == T_DATE ? INT32_MIN : INT64_MIN) ||
        in.hi >= (t.id == T_DATE ? INT32_MAX : INT64_MAX))
        return false;
    *out = emit1(l, p, OP_DATE_PART, reg_phys(p, a), PH_I32, e->type, reg_nullable(p, a), date_part_range(df, in, t), a,
                 0, 0);
    if (*out) last(p)->imm = df;
    return true;
}

static Reg lower_func(Lower *l, Pipe *p, Expr *e) {
    const FuncDef *f = e->u.func;
    bool done = false;
    Reg r = 0;
    switch ((Opcode)f->opcode) {
    case OP_ADD:
    case OP_SUB:
    case OP_MUL: done = e->n_args == 2 && (exact_arith(l, p, e, &r) || plain_arith(l, p, e, &r)); break;
    case OP_DIV:
    case OP_MOD:
    case OP_NEG:
    case OP_ABS: done = plain_arith(l, p, e, &r); break;
    case OP_NUM_DIV: done = exact_div(l, p, e, &r); break;
    case OP_BIT_AND:
    case OP_BIT_OR:
    case OP_BIT_XOR:
    case OP_BIT_NOT:
    case OP_SHL:
    case OP_SHR: return lower_bits(l, p, e, (Opcode)f->opcode);
    case OP_EQ:
    case OP_NE:
    case OP_LT:
    case OP_LE:
    case OP_GT:
    case OP_GE: done = plain_compare(l, p, e, &r); break;
    case OP_LIKE: done = strcmp(f->name, "~~") == 0 && constant_like(l, p, e, false, &r); break;
    case OP_DATE_PART: done = finite_date_part(l, p, e, &r); break;
    default: break;
    }
    if (!done && strcmp(f->name, "!~~") == 0) done = constant_like(l, p, e, true, &r);
    return done ? r : lower_call(l, p, e);
}

/* Predicates and functions of one dictionary column are evaluated once per entry. */
static Reg by_dictionary(Lower *l, Pipe *p, Expr *e) {
    if (!rule_on(l->c, RULE_CODES) || p->b.failed) return 0;
    if (e->kind != EX_FUNC && e->kind != EX_IN && e->kind != EX_AND && e->kind != EX_OR && e->kind != EX_CASE) return 0;
    ColId id = lower_single_col(l, e);
    if (!id || id >= p->n_cols || pipe_col(p, id)->where == CW_NONE || !pipe_col(p, id)->dict) return 0;
    const Dict *dict = pipe_col(p, id)->dict;
    if (e->type.id == T_BOOL) {
        CodeMask *m = lower_code_mask(l, e, id, dict, false);
        if (!m) return 0;
        Reg a = lower_col(l, p, id);
        Reg d = a ? emit_bool(l, p, OP_CODE_TEST, PH_I32, reg_nullable(p, a), a, 0) : 0;
        if (d) last(p)->aux = m;
        return d;
    }
    Range range;
    CodeMap *m = lower_code_map(l, e, id, dict, &range);
    if (!m) return 0;
    Reg a = lower_col(l, p, id);
    if (!a) return 0;
    Phys ph = type_phys(e->type);
    Reg d = emit1(l, p, OP_CODE_MAP, PH_I32, ph, e->type, reg_nullable(p, a) || m->valid, range, a, 0, 0);
    if (!d) return 0;
    last(p)->aux = m;
    lower_info(p, d)->stable_str = true;
    return d;
}

Reg lower_expr(Lower *l, Pipe *p, Expr *e) {
    TRY_REG(stack_check(l->err));
    if (e->kind == EX_COL) return lower_col(l, p, e->u.col);
    if (e->kind == EX_CONST) return lower_const(l, p, &e->u.value);
    bool share = !l->c->sets_settings && !expr_is_volatile(e);
    Reg r = share ? cached(p, e, 0, 0) : 0;
    if (r) return r;
    r = by_dictionary(l, p, e);
    if (err_is_set(l->err)) return 0;
    if (!r) {
        switch (e->kind) {
        case EX_FUNC: r = lower_func(l, p, e); break;
        case EX_CAST: r = lower_cast(l, p, e); break;
        case EX_AND:
        case EX_OR: r = lower_logic(l, p, e); break;
        case EX_NOT:
            r = lower_expr(l, p, e->args[0]);
            if (r) r = emit_bool(l, p, OP_NOT, PH_BOOL, reg_nullable(p, r), r, 0);
            break;
        case EX_IS_NULL:
        case EX_IS_NOT_NULL:
            r = lower_expr(l, p, e->args[0]);
            if (r)
                r = emit_bool(l, p, e->kind == EX_IS_NULL ? OP_IS_NULL : OP_IS_NOT_NULL, reg_phys(p, r), false, r, 0);
            break;
        case EX_IS_TRUE:
        case EX_IS_FALSE:
        case EX_IS_NOT_TRUE:
        case EX_IS_NOT_FALSE: {
            bool is_true = e->kind == EX_IS_TRUE || e->kind == EX_IS_NOT_TRUE;
            r = lower_expr(l, p, e->args[0]);
            if (r) r = emit_bool(l, p, is_true ? OP_IS_TRUE : OP_IS_FALSE, PH_BOOL, false, r, 0);
            if (r && (e->kind == EX_IS_NOT_TRUE || e->kind == EX_IS_NOT_FALSE))
                r = emit_bool(l, p, OP_NOT, PH_BOOL, false, r, 0);
            break;
        }
        case EX_DISTINCT:
        case EX_NOT_DISTINCT: {
            Reg a = lower_expr(l, p, e->args[0]), b = a ? lower_expr(l, p, e->args[1]) : 0;
            r = b ? compare(l, p, OP_DISTINCT, a, b) : 0;
            if (r && e->kind == EX_NOT_DISTINCT) r = emit_bool(l, p, OP_NOT, PH_BOOL, false, r, 0);
            break;
        }
        case EX_CASE: {
            CaseTail t = {e, 0};
            r = make_case(l, p, &t);
            break;
        }
        case EX_COALESCE: {
            CoalesceTail t = {e, 0};
            r = make_coalesce(l, p, &t);
            if (r && lower_info(p, r)->dict) r = lower_as(l, p, r, PH_STR);
            break;
        }
        case EX_NULLIF: {
            Reg a = lower_expr(l, p, e->args[0]), q = a ? lower_expr(l, p, e->args[2]) : 0;
            if (a && lower_info(p, a)->dict) a = lower_as(l, p, a, PH_STR);
            if (!q || !a) return 0;
            r = emit1(l, p, OP_NULLIF, reg_phys(p, a), reg_phys(p, a), e->type, true, lower_range(p, a), a, q, 0);
            if (r) lower_info(p, r)->stable_str = lower_info(p, a)->stable_str;
            break;
        }
        case EX_IN: r = lower_in(l, p, e); break;
        case EX_PARAM:
            return err_at(l->err, e->location, ERR_UNDEFINED_PARAMETER, "there is no parameter $%d", (int)e->u.param),
                   0;
        default: return err_internal(l->err, "expression kind %d reached the lowering", (int)e->kind), 0;
        }
    }
    if (!r) (void)stack_failed(l->err);
    return share ? remember(l, p, e, 0, 0, r) : r;
}

Status lower_filter(Lower *l, Pipe *p, Expr *cond) {
    TRY(stack_check(l->err));
    if (cond->kind == EX_AND) {
        for (int32_t i = 0; i < cond->n_args; i++) TRY(lower_filter(l, p, cond->args[i]));
        return ST_OK;
    }
    if (cond->kind == EX_CONST && !cond->u.value.is_null && cond->u.value.u.b) return ST_OK;
    bool done = false;
    TRY(lower_scan_filter(l, p, cond, &done));
    if (done) return ST_OK;
    Reg r = lower_expr(l, p, cond);
    if (!r) return ST_ERROR;
    if (!builder_emit(&p->b, OP_FILTER, PH_BOOL, 0, r, 0, 0)) return err_oom(l->err);
    return ST_OK;
}
