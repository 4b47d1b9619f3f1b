/* lower_scan.c - predicates on encoded data, and expressions evaluated per dictionary entry.
 *
 * A conjunct over one column of a table becomes a range test on packed codes (FILTER_RANGE) or a mask
 * over dictionary codes (FILTER_CODES): neither decodes anything. A predicate or function whose only column is
 * dictionary-coded is evaluated here once per entry, whatever it is, by a small scalar evaluator.
 */
#include <stdlib.h>

#include "sql/lower/pipeline.h"

enum { DICT_EVAL_MAX = 20000, DICT_MATCH_MAX = 2000000 };

/* ---- scalar evaluation ------------------------------------------------------------------ */

typedef struct Eval {
    Lower *l;
    Arena *arena;
    ColId col;
    const Value *v;
    Err err;
    const Expr *like_expr[8];
    LikePattern *like[8];
    int n_like;
} Eval;

static bool eval(Eval *x, const Expr *e, Value *out);

static bool eval_bool3(Eval *x, const Expr *e, int *out) { /* 0 false, 1 true, 2 NULL */
    Value v;
    if (!eval(x, e, &v)) return false;
    *out = v.is_null ? 2 : v.u.b ? 1 : 0;
    return true;
}
static Value bool_value(int b) { return (Value){.type = type_make(T_BOOL), .is_null = b == 2, .u.b = b == 1}; }
static LikePattern *pattern_of(Eval *x, const Expr *e) {
    for (int i = 0; i < x->n_like; i++)
        if (x->like_expr[i] == e) return x->like[i];
    if (x->n_like == 8) return NULL;
    Str s = e->args[1]->u.value.u.str;
    LikePattern *p = like_compile(x->l->arena, (Slice){s.ptr, s.len}, '\\', false, &x->err);
    if (p) {
        x->like_expr[x->n_like] = e;
        x->like[x->n_like++] = p;
    }
    return p;
}

static bool eval_func(Eval *x, const Expr *e, Value *out) {
    const FuncDef *f = e->u.func;
    bool like = strcmp(f->name, "~~") == 0, not_like = strcmp(f->name, "!~~") == 0;
    if ((like || not_like) && e->n_args == 2 && e->args[0]->type.id != T_BYTEA && e->args[1]->kind == EX_CONST &&
        !e->args[1]->u.value.is_null) {
        Value a;
        if (!eval(x, e->args[0], &a)) return false;
        LikePattern *p = pattern_of(x, e);
        if (!p) return false;
        *out = bool_value(a.is_null ? 2 : like_match(p, a.u.str.ptr, a.u.str.len) == like);
        return true;
    }
    Value args[8];
    if (e->n_args > 8) return false;
    for (int32_t i = 0; i < e->n_args; i++)
        if (!eval(x, e->args[i], &args[i])) return false;
    if (op_is_comparison(f->opcode) && e->n_args == 2 && type_phys(args[0].type) == type_phys(args[1].type)) {
        if (args[0].is_null || args[1].is_null) {
            *out = bool_value(2);
            return true;
        }
        int c = cell_cmp(type_phys(args[0].type), value_cell_const(&args[0]), value_cell_const(&args[1]));
        bool r = false;
        switch (f->opcode) {
        case OP_EQ: r = c == 0; break;
        case OP_NE: r = c != 0; break;
        case OP_LT: r = c < 0; break;
        case OP_LE: r = c <= 0; break;
        case OP_GT: r = c > 0; break;
        default: r = c >= 0; break;
        }
        *out = bool_value(r);
        return true;
    }
    if (f->flags & (FN_VOLATILE | FN_AGGREGATE)) return false;
    return func_eval(f, f->kernel, x->l->c->session, x->arena, e->type, e->n_args, args, out, &x->err) == ST_OK;
}

static bool eval(Eval *x, const Expr *e, Value *out) {
    if (stack_stop()) return false;
    Value a, b;
    int t, acc;
    switch (e->kind) {
    case EX_CONST: *out = e->u.value; return true;
    case EX_COL:
        if (e->u.col != x->col) return false;
        *out = *x->v;
        return true;
    case EX_FUNC: return eval_func(x, e, out);
    case EX_CAST: {
        if (!eval(x, e->args[0], &a)) return false;
        if (cast_keeps_string(a.type, e->type)) {
            *out = a;
            out->type = e->type;
            return true;
        }
        if (a.is_null) {
            *out = (Value){.type = e->type, .is_null = true};
            return true;
        }
        FuncKernel k = cast_kernel(a.type, e->type, (CastCtx)e->cast_ctx);
        return k && func_eval(NULL, k, x->l->c->session, x->arena, e->type, 1, &a, out, &x->err) == ST_OK;
    }
    case EX_AND:
    case EX_OR:
        acc = e->kind == EX_AND ? 1 : 0;
        for (int32_t i = 0; i < e->n_args; i++) {
            if (!eval_bool3(x, e->args[i], &t)) return false;
            if (t == (e->kind == EX_AND ? 0 : 1)) {
                *out = bool_value(t);
                return true;
            }
            if (t == 2) acc = 2;
        }
        *out = bool_value(acc);
        return true;
    case EX_NOT:
        if (!eval_bool3(x, e->args[0], &t)) return false;
        *out = bool_value(t == 2 ? 2 : !t);
        return true;
    case EX_IS_NULL:
    case EX_IS_NOT_NULL:
        if (!eval(x, e->args[0], &a)) return false;
        *out = bool_value(a.is_null == (e->kind == EX_IS_NULL));
        return true;
    case EX_IS_TRUE:
    case EX_IS_NOT_TRUE:
    case EX_IS_FALSE:
    case EX_IS_NOT_FALSE:
        if (!eval_bool3(x, e->args[0], &t)) return false;
        *out = bool_value(e->kind == EX_IS_TRUE       ? t == 1
                          : e->kind == EX_IS_NOT_TRUE ? t != 1
                          : e->kind == EX_IS_FALSE    ? t == 0
                                                      : t != 0);
        return true;
    case EX_DISTINCT:
    case EX_NOT_DISTINCT:
        if (!eval(x, e->args[0], &a) || !eval(x, e->args[1], &b)) return false;
        t = a.is_null || b.is_null ? a.is_null != b.is_null
                                   : cell_cmp(type_phys(a.type), value_cell_const(&a), value_cell_const(&b)) != 0;
        *out = bool_value(t == (e->kind == EX_DISTINCT));
        return true;
    case EX_CASE:
        for (int32_t i = 0; i + 1 < e->n_args; i += 2) {
            if (!eval_bool3(x, e->args[i], &t)) return false;
            if (t == 1) return eval(x, e->args[i + 1], out);
        }
        if (e->n_args % 2) return eval(x, e->args[e->n_args - 1], out);
        *out = (Value){.type = e->type, .is_null = true};
        return true;
    case EX_COALESCE:
        for (int32_t i = 0; i < e->n_args; i++) {
            if (!eval(x, e->args[i], out)) return false;
            if (!out->is_null) return true;
        }
        return true;
    case EX_IN: {
        if (!eval(x, e->args[0], &a)) return false;
        bool unknown = a.is_null;
        for (int32_t i = 1; i < e->n_args; i++) {
            if (!eval(x, e->args[i], &b)) return false;
            if (b.is_null) unknown = true;
            else if (!a.is_null && cell_cmp(type_phys(a.type), value_cell_const(&a), value_cell_const(&b)) == 0) {
                *out = bool_value(1);
                return true;
            }
        }
        *out = bool_value(unknown ? 2 : 0);
        return true;
    }
    default: return false;
    }
}

bool lower_eval(Lower *l, const Expr *e, ColId col, const Value *v, Value *out) {
    Eval x = {.l = l, .arena = l->arena, .col = col, .v = v};
    return eval(&x, e, out);
}

static bool find_col(void *ctx, Expr *e) {
    ColId *id = ctx;
    if (e->kind == EX_SUBQUERY || e->kind == EX_PARAM || e->kind == EX_AGG) *id = -1;
    if (e->kind == EX_COL) {
        if (*id == 0) *id = e->u.col;
        else if (*id != e->u.col) *id = -1;
    }
    return *id >= 0;
}
ColId lower_single_col(Lower *l, const Expr *e) {
    (void)l;
    ColId id = 0;
    (void)expr_walk((Expr *)(uintptr_t)e, find_col, &id);
    return id > 0 ? id : 0;
}

/* ---- per dictionary entry --------------------------------------------------------------- */

static bool cheap_match(const Expr *e) { /* comparisons and LIKE against constants, and their combinations */
    if (stack_stop()) return false;
    switch (e->kind) {
    case EX_CONST:
    case EX_COL: return true;
    case EX_AND:
    case EX_OR:
    case EX_NOT:
    case EX_IN:
    case EX_IS_NULL:
    case EX_IS_NOT_NULL: break;
    case EX_CAST:
        if (!type_both_strings(e->type, e->args[0]->type)) return false;
        break;
    case EX_FUNC:
        if (!op_is_comparison(e->u.func->opcode) && strcmp(e->u.func->name, "~~") != 0 &&
            strcmp(e->u.func->name, "!~~") != 0)
            return false;
        break;
    default: return false;
    }
    for (int32_t i = 0; i < e->n_args; i++)
        if (!cheap_match(e->args[i])) return false;
    return true;
}

static bool worth(const Expr *e, const Dict *dict) {
    return dict->n <= (cheap_match(e) ? DICT_MATCH_MAX : DICT_EVAL_MAX);
}

CodeMask *lower_code_mask(Lower *l, const Expr *e, ColId col, const Dict *dict, bool filter) {
    if (expr_is_volatile(e) || !worth(e, dict)) return NULL;
    Eval x = {.l = l, .arena = arena_new(arena_account(l->arena), NULL), .col = col};
    if (!x.arena) return NULL;
    Type t = l->c->cols.items[col].type;
    CodeMask *m = arena_new_of(l->arena, CodeMask);
    uint8_t *bits = arena_alloc(l->arena, dict->n + 1);
    bool ok = m && bits;
    for (int64_t i = 0; ok && i <= dict->n; i++) {
        Value v = {.type = t, .is_null = i == dict->n}, r;
        if (i < dict->n) v.u.str = dict->entries[i];
        else v.u.str = str_make("", 0);
        x.v = &v;
        ok = eval(&x, e, &r);
        if (!ok) break;
        if (!filter && (i == dict->n ? !r.is_null : r.is_null)) ok = false; /* a test gives NULL for NULL only */
        bits[i] = !r.is_null && r.u.b;
    }
    arena_free(x.arena);
    if (!ok) return NULL;
    m->mask = bits;
    m->n = dict->n;
    m->text = expr_text(l->c, e);
    return m;
}

CodeMap *lower_code_map(Lower *l, const Expr *e, ColId col, const Dict *dict, Range *range) {
    if (expr_is_volatile(e) || dict->n > DICT_EVAL_MAX || dict->n == 0) return NULL;
    Eval x = {.l = l, .arena = l->arena, .col = col};
    Type t = l->c->cols.items[col].type;
    Phys ph = type_phys(e->type);
    int64_t size = phys_size(ph);
    CodeMap *m = arena_new_of(l->arena, CodeMap);
    char *cells = arena_calloc(l->arena, size * dict->n);
    uint8_t *valid = arena_calloc(l->arena, dict->n);
    if (!m || !cells || !valid) return NULL;
    Value nul = {.type = t, .is_null = true}, r;
    x.v = &nul;
    if (!eval(&x, e, &r) || !r.is_null) return NULL; /* NULL must map to NULL */
    bool nulls = false;
    *range = (Range){false, 0, 0};
    for (int64_t i = 0; i < dict->n; i++) {
        Value v = {.type = t, .u.str = dict->entries[i]};
        x.v = &v;
        if (!eval(&x, e, &r)) return NULL;
        if (r.is_null) {
            nulls = true;
            continue;
        }
        valid[i] = 1;
        memcpy(cells + i * size, value_cell_const(&r), (size_t)size);
        int64_t k;
        if (ph >= PH_I16 && ph <= PH_I64 && cell_as_i64(ph, cells + i * size, &k)) {
            if (!range->known) *range = (Range){true, k, k};
            range->lo = MIN_OF(range->lo, k);
            range->hi = MAX_OF(range->hi, k);
        }
    }
    if (!range->known) *range = range_of_type(e->type);
    else if (nulls) range->lo = MIN_OF(range->lo, 0), range->hi = MAX_OF(range->hi, 0);
    m->cells = cells;
    m->valid = nulls ? valid : NULL;
    m->n = dict->n;
    return m;
}

/* ---- ranges on columns ---------------------------------------------------------------------- */

static int128_t floor_div(int128_t a, int128_t b) { /* b > 0 */
    int128_t q = a / b;
    return a % b < 0 ? q - 1 : q;
}

/* Strips casts that multiply by a positive constant without rounding: *k gets the factor. */
static const Expr *strip_casts(const Expr *e, int128_t *k) {
    *k = 1;
    while (e->kind == EX_CAST) {
        Type from = e->args[0]->type, to = e->type;
        bool ints = type_is_integer(from) || from.id == T_NUMERIC;
        if (ints && type_is_integer(to) && type_is_integer(from) && to.id >= from.id) {
        } else if (ints && to.id == T_NUMERIC) {
            int fs = from.id == T_NUMERIC ? from.scale : 0, fd = from.id == T_NUMERIC ? from.precision
                                                                 : from.id == T_INT2  ? 5
                                                                 : from.id == T_INT4  ? 10
                                                                                      : 19;
            if (to.scale < fs || to.precision - to.scale < fd - fs) return NULL;
            *k *= pow10_i128[to.scale - fs];
        } else if (from.id == T_DATE && to.id == T_TIMESTAMP) {
            *k *= USECS_PER_DAY;
        } else {
            return NULL;
        }
        e = e->args[0];
    }
    return e;
}

static bool const_int(const Expr *e, int128_t *out) {
    if (e->kind != EX_CONST || e->u.value.is_null) return false;
    switch (type_phys(e->u.value.type)) {
    case PH_I16: *out = e->u.value.u.i16; return true;
    case PH_I32: *out = e->u.value.u.i32; return true;
    case PH_I64: *out = e->u.value.u.i64; return true;
    case PH_I128: *out = e->u.value.u.i128; return true;
    default: return false;
    }
}

static const int128_t FAR = (int128_t)1 << 100;

bool lower_col_bounds(const Expr *cond, ColId *col, int128_t *lo, int128_t *hi, bool *negate) {
    if (cond->kind != EX_FUNC || cond->n_args != 2) return false;
    int op = cond->u.func->opcode;
    if (op < OP_EQ || op > OP_GE) return false;
    const Expr *a = cond->args[0], *b = cond->args[1];
    int128_t c, k;
    if (!const_int(b, &c)) {
        if (!const_int(a, &c)) return false;
        const Expr *t = a;
        a = b;
        b = t;
        op = op == OP_LT ? OP_GT : op == OP_GT ? OP_LT : op == OP_LE ? OP_GE : op == OP_GE ? OP_LE : op;
    }
    Type ct = b->u.value.type, at = a->type;
    if (ct.id == T_NUMERIC && at.id == T_NUMERIC && ct.scale != at.scale) return false;
    if ((ct.id == T_NUMERIC) != (at.id == T_NUMERIC)) return false;
    const Expr *x = strip_casts(a, &k);
    if (!x || x->kind != EX_COL) return false;
    if (x->type.id == T_DATE && k > 1 && (c == TS_NEG_INF || c == TS_POS_INF)) return false;
    *col = x->u.col;
    *negate = false;
    *lo = -FAR;
    *hi = FAR;
    switch (op) {
    case OP_EQ:
    case OP_NE:
        *negate = op == OP_NE;
        *lo = floor_div(c + k - 1, k);
        *hi = floor_div(c, k); /* empty when c is no multiple of k */
        break;
    case OP_LT: *hi = floor_div(c - 1, k); break;
    case OP_LE: *hi = floor_div(c, k); break;
    case OP_GT: *lo = floor_div(c, k) + 1; break;
    default: *lo = floor_div(c + k - 1, k); break;
    }
    return true;
}

static bool has_int_storage(Pipe *p, ColId id) {
    if (id <= 0 || id >= p->n_cols) return false;
    const ColEntry *e = pipe_col(p, id);
    return p->source.kind == SRC_TABLE && e->where == CW_SOURCE && e->imm >= 0 && e->phys >= PH_I16 &&
           e->phys <= PH_I64 && e->table_int;
}

static Status emit_range(Lower *l, Pipe *p, int64_t column, int64_t lo, int64_t hi, bool negate) {
    RangeTest *t = arena_new_of(l->arena, RangeTest);
    Instr *in = t ? builder_emit(&p->b, OP_FILTER_RANGE, PH_BOOL, 0, 0, 0, 0) : NULL;
    if (!in) return err_oom(l->err);
    *t = (RangeTest){lo, hi, negate};
    in->imm = column;
    in->aux = t;
    if (!negate && rule_on(l->c, RULE_ZONE_MAPS) &&
        !vec_push(l->arena, &p->zones, ((ZonePred){(int32_t)column, lo, hi})))
        return ST_ERROR;
    return ST_OK;
}

/* Bounds may lie outside what cells can hold (col > the greatest bigint): no value is between such. */
static Status emit_wide_range(Lower *l, Pipe *p, int64_t column, int128_t lo, int128_t hi, bool negate) {
    lo = MAX_OF(lo, (int128_t)INT64_MIN);
    hi = MIN_OF(hi, (int128_t)INT64_MAX);
    return lo > hi ? emit_range(l, p, column, 1, 0, negate)
                   : emit_range(l, p, column, (int64_t)lo, (int64_t)hi, negate);
}

/* Bounds of several conjuncts on one column wait in p->pending and are emitted as one test. */
Status lower_scan_ranges_flush(Lower *l, Pipe *p) {
    for (int64_t i = 0; i < p->pending.len; i++) {
        PendingRange *r = &p->pending.items[i];
        TRY(emit_wide_range(l, p, r->column, r->lo, r->hi, false));
    }
    p->pending.len = 0;
    return ST_OK;
}

/* What a stream may leave out; the condition is computed as any other. */
static Status stream_bound(Lower *l, Pipe *p, const Expr *cond) {
    ColId id;
    int128_t lo, hi;
    bool negate;
    if (!rule_on(l->c, RULE_ZONE_MAPS) || !lower_col_bounds(cond, &id, &lo, &hi, &negate) || negate) return ST_OK;
    if (id <= 0 || id >= p->n_cols) return ST_OK;
    const ColEntry *e = pipe_col(p, id);
    if (e->where != CW_SOURCE || e->imm < 0 || e->phys < PH_I16 || e->phys > PH_I64) return ST_OK;
    lo = MAX_OF(lo, (int128_t)INT64_MIN);
    hi = MIN_OF(hi, (int128_t)INT64_MAX);
    ZonePred z = {(int32_t)e->imm, lo > hi ? 1 : (int64_t)lo, lo > hi ? 0 : (int64_t)hi};
    return vec_push(l->arena, &p->zones, z) ? ST_OK : ST_ERROR;
}

Status lower_scan_filter(Lower *l, Pipe *p, Expr *cond, bool *done) {
    *done = false;
    if (p->source.kind == SRC_STREAM && p->depth == 0) return stream_bound(l, p, cond);
    if (p->source.kind != SRC_TABLE || p->depth > 0) return ST_OK;
    ColId id;
    int128_t lo, hi;
    bool negate;
    if (lower_col_bounds(cond, &id, &lo, &hi, &negate) && has_int_storage(p, id)) {
        int64_t column = pipe_col(p, id)->imm;
        *done = true;
        if (negate) return emit_wide_range(l, p, column, lo, hi, true); /* <> something it can never be: not NULL */
        for (int64_t i = 0; i < p->pending.len; i++) {
            PendingRange *r = &p->pending.items[i];
            if (r->column != column) continue;
            r->lo = MAX_OF(r->lo, lo);
            r->hi = MIN_OF(r->hi, hi);
            return ST_OK;
        }
        return vec_push(l->arena, &p->pending, ((PendingRange){column, lo, hi})) ? ST_OK : ST_ERROR;
    }
    if (!rule_on(l->c, RULE_CODES)) return ST_OK;
    id = lower_single_col(l, cond);
    if (!id || id >= p->n_cols || pipe_col(p, id)->where != CW_SOURCE || !pipe_col(p, id)->dict) return ST_OK;
    const Dict *dict = pipe_col(p, id)->dict;
    int64_t column = pipe_col(p, id)->imm;
    /* col = 'const' on a big dictionary: one look-up. */
    if (cond->kind == EX_FUNC && cond->u.func->opcode == OP_EQ && cond->n_args == 2) {
        const Expr *a = cond->args[0], *b = cond->args[1];
        if (a->kind == EX_CONST) {
            const Expr *t = a;
            a = b;
            b = t;
        }
        while (a->kind == EX_CAST && a->type.length == 0 && !(a->type.flags & (TF_NAME | TF_QCHAR)) &&
               type_both_strings(a->type, a->args[0]->type))
            a = a->args[0];
        if (a->kind == EX_COL && b->kind == EX_CONST && !b->u.value.is_null) {
            int32_t code = dict_find(dict, b->u.value.u.str);
            *done = true;
            return code < 0 ? emit_range(l, p, column, 1, 0, false) : emit_range(l, p, column, code, code, false);
        }
    }
    CodeMask *m = lower_code_mask(l, cond, id, dict, true);
    if (!m) return ST_OK;
    *done = true;
    int64_t first = -1, end = -1, runs = 0;
    for (int64_t i = 0; i < m->n; i++) {
        if (!m->mask[i]) continue;
        if (first < 0) first = i;
        if (end != i) runs++;
        end = i + 1;
    }
    if (!m->mask[m->n] && runs <= 1)
        return runs == 0 ? emit_range(l, p, column, 1, 0, false) : emit_range(l, p, column, first, end - 1, false);
    Instr *in = builder_emit(&p->b, OP_FILTER_CODES, PH_BOOL, 0, 0, 0, 0);
    if (!in) return err_oom(l->err);
    in->imm = column;
    in->aux = m;
    return ST_OK;
}
