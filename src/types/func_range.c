/* func_range.c - functions of ranges and multiranges (range.h).
 *
 * The binder finds the function of an operator, and gives a call's ranges and their elements types that belong together
 * (sql/bind/bind_range.c). A range is a list of at most one range to kernels, so that each serves ranges and
 * multiranges alike.
 */
#include "types/array.h"
#include "types/dec.h"
#include "types/func_int.h"
#include "types/json.h"
#include "types/range.h"

static Status no_memory(FuncCtx *ctx) { return err_is_set(ctx->err) ? ST_ERROR : err_oom(ctx->err); }
static Status list_at(FuncCtx *ctx, const Vec *v, int64_t i, RangeParts *room, RangeList *out) {
    return range_read(v->type, *(const Str *)arg_cell(v, i), ctx->arena, room, out, ctx->err);
}
/* Two arguments that are not NULL. */
typedef struct Pair {
    RangeParts room[2];
    RangeList x, y;
} Pair;
static Status pair_at(FuncCtx *ctx, const Vec *args, int64_t i, Pair *p) {
    TRY(list_at(ctx, &args[0], i, &p->room[0], &p->x));
    return list_at(ctx, &args[1], i, &p->room[1], &p->y);
}

/* ---- constructors ------------------------------------------------------------------------------------------- */

static Status bound_of(FuncCtx *ctx, const RangeType *x, const Vec *v, int64_t i, bool inclusive, RangeBound *out) {
    *out = (RangeBound){.infinite = arg_null(v, i)};
    if (out->infinite) return ST_OK;
    const Value value = vec_value(v, i, x->subtype);
    return range_bound(x, &value, inclusive, ctx->arena, out, ctx->err);
}
/* lower, upper and, if there are three, which of them are in the range. */
KERNEL(make_range) {
    const RangeType *x = range_of(ctx->ret);
    if (!x) return err_internal(ctx->err, "range_make: of no type");
    for (int64_t i = 0; i < n; i++) {
        RangeParts r, room;
        RangeList l;
        bool lower = true, upper = false;
        out->valid[i] = 1;
        ((Str *)out->data)[i] = STR0;
        FAIL_IF(nargs > 2 && arg_null(&args[2], i), i, ERR_DATA_EXCEPTION,
                "range constructor flags argument must not be null");
        if (nargs > 2 && range_flags(slice_of_str(AT(Str, 2, i)), &lower, &upper, ctx->err) != ST_OK) return FAILED(i);
        if (bound_of(ctx, x, &args[0], i, lower, &r.lower) != ST_OK ||
            bound_of(ctx, x, &args[1], i, upper, &r.upper) != ST_OK ||
            range_canonical(x, &r, &room, ctx->arena, &l, ctx->err) != ST_OK ||
            range_write(ctx->ret, &l, ctx->arena, (Str *)out->data + i, ctx->err) != ST_OK)
            return FAILED(i);
    }
    return ST_OK;
}

/* Any number of ranges; a single one that is NULL gives NULL. */
KERNEL(make_multirange) {
    for (int64_t i = 0; i < n; i++) {
        RangeList l = {0, arena_array(ctx->arena, RangeParts, nargs + 1)};
        if (!l.items) return no_memory(ctx);
        ((Str *)out->data)[i] = STR0;
        out->valid[i] = nargs != 1 || !arg_null(&args[0], i);
        for (int k = 0; k < nargs && out->valid[i]; k++) {
            RangeList one;
            FAIL_IF(arg_null(&args[k], i), i, ERR_NULL_NOT_ALLOWED, "multirange values cannot contain null members");
            if (list_at(ctx, &args[k], i, &l.items[l.n], &one) != ST_OK) return FAILED(i);
            l.n += one.n;
        }
        range_list_canonical(&l);
        if (out->valid[i] && range_write(ctx->ret, &l, ctx->arena, (Str *)out->data + i, ctx->err) != ST_OK)
            return FAILED(i);
    }
    return ST_OK;
}
/* Of an array of ranges. */
KNF(multirange_from_array, Str, STR0, {
    const ArrayView v = array_view(AT(Str, 0, i));
    RangeList l = {0, arena_array(ctx->arena, RangeParts, v.n + 1)};
    if (!l.items) return no_memory(ctx);
    FAIL_IF(v.n_dims > 1, i, ERR_CARDINALITY, "multiranges cannot be constructed from multidimensional arrays");
    for (int64_t k = 0; k < v.n; k++) {
        RangeList one;
        Str s;
        FAIL_IF(array_is_null(&v, k), i, ERR_NULL_NOT_ALLOWED, "multirange values cannot contain null members");
        array_get(&v, k, &s);
        if (range_read(type_element(args[0].type), s, ctx->arena, &l.items[l.n], &one, ctx->err) != ST_OK)
            return FAILED(i);
        l.n += one.n;
    }
    range_list_canonical(&l);
    if (range_write(ctx->ret, &l, ctx->arena, &z, ctx->err) != ST_OK) return FAILED(i);
})
Status func_range_to_multirange(FuncCtx *ctx, int64_t n, const Vec *args, int nargs, Vec *out) {
    (void)nargs;
    for (int64_t i = 0; i < n; i++) {
        RangeParts room;
        RangeList l;
        Str *z = (Str *)out->data + i;
        *z = STR0;
        if (row_valid(out, i) && (list_at(ctx, &args[0], i, &room, &l) != ST_OK ||
                                  range_write(ctx->ret, &l, ctx->arena, z, ctx->err) != ST_OK))
            return FAILED(i);
    }
    return ST_OK;
}
/* The ranges of a multirange as an array. */
KNF(multirange_ranges, Str, STR0, {
    const Type range = type_element(ctx->ret);
    RangeParts room;
    RangeList l;
    if (list_at(ctx, &args[0], i, &room, &l) != ST_OK) return FAILED(i);
    Str *cells = arena_array(ctx->arena, Str, l.n + 1);
    if (!cells) return no_memory(ctx);
    for (int64_t k = 0; k < l.n; k++) {
        const RangeList one = {1, &l.items[k]};
        if (range_write(range, &one, ctx->arena, &cells[k], ctx->err) != ST_OK) return FAILED(i);
    }
    if (array_build(ctx->arena, PH_STR, l.n, cells, NULL, &z, ctx->err) != ST_OK) return FAILED(i);
})

/* ---- parts ---------------------------------------------------------------------------------------------------- */

static Status end_of(FuncCtx *ctx, int64_t n, const Vec *args, Vec *out, bool upper) {
    const RangeType *x = range_of(args[0].type);
    const int64_t w = phys_size((Phys)out->phys);
    if (!x || type_phys(x->subtype) != (Phys)out->phys) return err_internal(ctx->err, "a bound of another type");
    for (int64_t i = 0; i < n; i++) {
        RangeParts room;
        RangeList l = {0, &room};
        Value v = {.u.str = STR0};
        if (!arg_null(&args[0], i) && list_at(ctx, &args[0], i, &room, &l) != ST_OK) return FAILED(i);
        const RangeBound *b = l.n == 0 ? NULL : upper ? &l.items[l.n - 1].upper : &l.items[0].lower;
        out->valid[i] = b && !b->infinite;
        if (out->valid[i] && range_bound_value(x, b, ctx->arena, &v, ctx->err) != ST_OK) return FAILED(i);
        memcpy((char *)out->data + w * i, &v.u, (size_t)w);
    }
    return ST_OK;
}
KERNEL(range_lower) {
    KERNEL_UNUSED();
    return end_of(ctx, n, args, out, false);
}
KERNEL(range_upper) {
    KERNEL_UNUSED();
    return end_of(ctx, n, args, out, true);
}

#define OF_ONE(fn, expr)                                                     \
    KNF(fn, uint8_t, 0, {                                                    \
        RangeParts room;                                                     \
        RangeList l;                                                         \
        if (list_at(ctx, &args[0], i, &room, &l) != ST_OK) return FAILED(i); \
        z = (expr);                                                          \
    })
OF_ONE(range_isempty, l.n == 0)
OF_ONE(range_lower_inc, l.n > 0 && l.items[0].lower.inclusive)
OF_ONE(range_upper_inc, l.n > 0 && l.items[l.n - 1].upper.inclusive)
OF_ONE(range_lower_inf, l.n > 0 && l.items[0].lower.infinite)
OF_ONE(range_upper_inf, l.n > 0 && l.items[l.n - 1].upper.infinite)

/* ---- predicates ----------------------------------------------------------------------------------------------- */

#define OF_TWO(fn, expr)                                          \
    KNF(fn, uint8_t, 0, {                                         \
        Pair p;                                                   \
        if (pair_at(ctx, args, i, &p) != ST_OK) return FAILED(i); \
        z = (expr);                                               \
    })
OF_TWO(lists_contain, range_contains(&p.x, &p.y))
OF_TWO(lists_contained, range_contains(&p.y, &p.x))
OF_TWO(lists_overlap, range_overlaps(&p.x, &p.y))
OF_TWO(lists_before, range_before(&p.x, &p.y))
OF_TWO(lists_after, range_before(&p.y, &p.x))
OF_TWO(lists_overleft, range_overleft(&p.x, &p.y))
OF_TWO(lists_overright, range_overright(&p.x, &p.y))
OF_TWO(lists_adjacent, range_adjacent(&p.x, &p.y))
OF_TWO(lists_eq, range_list_cmp(&p.x, &p.y) == 0)
OF_TWO(lists_ne, range_list_cmp(&p.x, &p.y) != 0)
OF_TWO(lists_lt, range_list_cmp(&p.x, &p.y) < 0)
OF_TWO(lists_le, range_list_cmp(&p.x, &p.y) <= 0)
OF_TWO(lists_gt, range_list_cmp(&p.x, &p.y) > 0)
OF_TWO(lists_ge, range_list_cmp(&p.x, &p.y) >= 0)
KNF(lists_cmp, int32_t, 0, {
    Pair p;
    if (pair_at(ctx, args, i, &p) != ST_OK) return FAILED(i);
    z = range_list_cmp(&p.x, &p.y);
    z = (z > 0) - (z < 0);
})

static Status has_value(FuncCtx *ctx, const Vec *ranges, const Vec *values, int64_t i, uint8_t *z) {
    const RangeType *x = range_of(ranges->type);
    RangeParts room;
    RangeList l;
    RangeBound b;
    TRY(list_at(ctx, ranges, i, &room, &l));
    TRY(bound_of(ctx, x, values, i, true, &b));
    *z = range_contains_value(&l, b.key);
    return ST_OK;
}
KNF(contains_value, uint8_t, 0, if (has_value(ctx, &args[0], &args[1], i, &z) != ST_OK) return FAILED(i);)
KNF(value_contained, uint8_t, 0, if (has_value(ctx, &args[1], &args[0], i, &z) != ST_OK) return FAILED(i);)

/* ---- of what both have ----------------------------------------------------------------------------------------- */

/* +, and range_merge() of ranges, which fills what is between them. */
static Status unite(FuncCtx *ctx, const Vec *args, int64_t i, bool merge, Str *z) {
    Pair p;
    RangeParts room;
    RangeList l;
    TRY(pair_at(ctx, args, i, &p));
    if (ctx->ret.id == T_MULTIRANGE) {
        TRY(range_unite(&p.x, &p.y, ctx->arena, &l, ctx->err));
    } else {
        const bool apart = p.x.n > 0 && p.y.n > 0 && !range_overlaps(&p.x, &p.y) && !range_adjacent(&p.x, &p.y);
        FAIL_IF(apart && !merge, i, ERR_DATA_EXCEPTION, "result of range union would not be contiguous");
        l = range_hull(&p.x, &p.y, &room);
    }
    return range_write(ctx->ret, &l, ctx->arena, z, ctx->err);
}
KNF(lists_union, Str, STR0, if (unite(ctx, args, i, false, &z) != ST_OK) return FAILED(i);)
KNF(ranges_merge, Str, STR0, if (unite(ctx, args, i, true, &z) != ST_OK) return FAILED(i);)
KNF(multirange_merge, Str, STR0, {
    RangeParts room;
    RangeParts span;
    RangeList l;
    if (list_at(ctx, &args[0], i, &room, &l) != ST_OK) return FAILED(i);
    l = range_span(&l, &span);
    if (range_write(ctx->ret, &l, ctx->arena, &z, ctx->err) != ST_OK) return FAILED(i);
})
KNF(lists_intersect, Str, STR0, {
    Pair p;
    RangeList l;
    if (pair_at(ctx, args, i, &p) != ST_OK || range_intersect(&p.x, &p.y, ctx->arena, &l, ctx->err) != ST_OK ||
        range_write(ctx->ret, &l, ctx->arena, &z, ctx->err) != ST_OK)
        return FAILED(i);
})
KNF(lists_minus, Str, STR0, {
    Pair p;
    RangeList l;
    if (pair_at(ctx, args, i, &p) != ST_OK || range_subtract(&p.x, &p.y, ctx->arena, &l, ctx->err) != ST_OK)
        return FAILED(i);
    FAIL_IF(ctx->ret.id == T_RANGE && l.n > 1, i, ERR_DATA_EXCEPTION,
            "result of range difference would not be contiguous");
    if (range_write(ctx->ret, &l, ctx->arena, &z, ctx->err) != ST_OK) return FAILED(i);
})

/* Differences of two values, as CREATE TYPE .. AS RANGE names them (subtype_diff). */
K2(subdiff_int4, int32_t, int32_t, double, (double)x - (double)y)
K2(subdiff_int8, int64_t, int64_t, double, (double)x - (double)y)
K2(subdiff_date, int32_t, int32_t, double, (double)x - (double)y)
K2(subdiff_ts, int64_t, int64_t, double, ((double)x - (double)y) / (double)USECS_PER_SEC)
K2F(subdiff_num, Str, Str, double, 0, {
    Dec d;
    Dec e;
    if (dec_decode(ctx->arena, x, &d, ctx->err) != ST_OK || dec_decode(ctx->arena, y, &e, ctx->err) != ST_OK ||
        dec_sub(ctx->arena, &d, &e, &d, ctx->err) != ST_OK || dec_to_f64(ctx->arena, &d, &z, ctx->err) != ST_OK)
        return FAILED(i);
})

/* ---- aggregates: string_agg of entries (bind_range.c), which are u32 length and the value --------------------------
 */

KERNEL(range_entry) {
    KERNEL_UNUSED();
    for (int64_t i = 0; i < n; i++) {
        Str *z = (Str *)out->data + i;
        *z = STR0;
        if (!row_valid(out, i)) continue;
        const Str s = AT(Str, 0, i);
        char *p = ctx_alloc(ctx, 4 + (int64_t)s.len);
        if (!p) return FAILED(i);
        memcpy(p, &s.len, 4);
        if (s.len) memcpy(p + 4, s.ptr, s.len);
        *z = str_make(p, 4 + (int64_t)s.len);
    }
    return ST_OK;
}
/* The entry at *at, which moves behind it. */
static bool next_entry(const char **at, const char *end, Str *out) {
    uint32_t n;
    if (end - *at < 4) return false;
    memcpy(&n, *at, 4);
    if ((int64_t)n > end - *at - 4) return false;
    *out = str_make(*at + 4, n);
    *at += 4 + (int64_t)n;
    return true;
}
static Status not_entries(FuncCtx *ctx, int64_t i) {
    FAIL(i, ERR_INVALID_PARAMETER, "the argument does not consist of entries of ranges");
}

/* Room for `more` items. What overlaps becomes one before there is more room, so that a list is as long as its result
 * needs it; not where equal bounds look different: PostgreSQL shows that of the last in the order of all. */
static Status list_reserve(FuncCtx *ctx, bool keyed, int64_t more, RangeList *l, int64_t *cap) {
    if (l->n + more <= *cap) return ST_OK;
    if (!keyed) range_list_canonical(l);
    if (l->n + more <= *cap / 2) return ST_OK;
    const int64_t room = MAX_OF(2 * *cap, l->n + more + 64);
    RangeParts *items = arena_array(ctx->arena, RangeParts, room);
    if (!items) return no_memory(ctx);
    if (l->n) memcpy(items, l->items, sizeof *items * (size_t)l->n);
    l->items = items;
    *cap = room;
    return ST_OK;
}
/* All ranges of the entries, as a multirange. */
static Status collect(FuncCtx *ctx, Type of, int64_t i, Str s, Str *z) {
    const char *end = s.ptr + s.len;
    RangeList all = {0}, l;
    RangeParts room;
    int64_t cap = 0;
    Str one;
    for (const char *at = s.ptr; at < end; all.n += l.n) {
        if (!next_entry(&at, end, &one)) return not_entries(ctx, i);
        TRY(range_read(of, one, ctx->arena, &room, &l, ctx->err));
        TRY(list_reserve(ctx, of.precision & RANGE_KEYED, l.n, &all, &cap));
        if (l.n) memcpy(all.items + all.n, l.items, sizeof *l.items * (size_t)l.n);
    }
    range_list_canonical(&all);
    return range_write(ctx->ret, &all, ctx->arena, z, ctx->err);
}
/* args[1] has no meaning but its type: that of the entries. */
static Type entries_type(const Vec *args) { return args[1].type; }
KERNEL(multirange_from_entries) {
    (void)nargs;
    for (int64_t i = 0; i < n; i++) {
        Str *z = (Str *)out->data + i;
        *z = STR0;
        out->valid[i] = !arg_null(&args[0], i);
        if (out->valid[i] && collect(ctx, entries_type(args), i, AT(Str, 0, i), z) != ST_OK) return FAILED(i);
    }
    return ST_OK;
}
static Status intersect_all(FuncCtx *ctx, Type of, int64_t i, Str s, Str *z) {
    const char *end = s.ptr + s.len;
    RangeList all = {0}, l;
    bool first = true;
    for (const char *at = s.ptr; at < end && (first || all.n > 0); first = false) {
        RangeParts *room = arena_array(ctx->arena, RangeParts, 1);
        Str one;
        if (!room) return no_memory(ctx);
        if (!next_entry(&at, end, &one)) return not_entries(ctx, i);
        TRY(range_read(of, one, ctx->arena, room, &l, ctx->err));
        const RangeList before = all;
        if (first) all = l;
        else TRY(range_intersect(&before, &l, ctx->arena, &all, ctx->err));
    }
    return range_write(ctx->ret, &all, ctx->arena, z, ctx->err);
}
KERNEL(range_intersect_entries) {
    (void)nargs;
    for (int64_t i = 0; i < n; i++) {
        Str *z = (Str *)out->data + i;
        *z = STR0;
        out->valid[i] = !arg_null(&args[0], i);
        if (out->valid[i] && intersect_all(ctx, entries_type(args), i, AT(Str, 0, i), z) != ST_OK) return FAILED(i);
    }
    return ST_OK;
}

/* ---- keys ---------------------------------------------------------------------------------------------------------
 */

K1S(range_key_of, Str, Str, range_key(args[0].type, x))

/* One of the equal values, always the same. */
static Status least_value(FuncCtx *ctx, Value *v) {
    if (v->type.id == T_DECIMAL) return dec_from_key(ctx->arena, dec_key(v->u.str), &v->u.str, ctx->err);
    if (v->type.id == T_JSONB) return jsonb_least_scale(ctx->arena, v->u.str, &v->u.str, ctx->err);
    if (v->type.id == T_FLOAT4 && v->u.f32 == 0) v->u.f32 = 0;
    if (v->type.id == T_FLOAT8 && v->u.f64 == 0) v->u.f64 = 0;
    if (v->type.id != T_INTERVAL) return ST_OK;
    const int128_t month = (int128_t)30 * USECS_PER_DAY, micros = interval_cmp_value(&v->u.interval);
    v->u.interval = (Interval){.months = (int32_t)(micros / month),
                               .days = (int32_t)(micros % month / USECS_PER_DAY),
                               .micros = (int64_t)(micros % USECS_PER_DAY)};
    return ST_OK;
}
static Status least_bound(FuncCtx *ctx, const RangeType *x, RangeBound *b) {
    Value v;
    if (b->infinite) return ST_OK;
    TRY(range_bound_value(x, b, ctx->arena, &v, ctx->err));
    TRY(least_value(ctx, &v));
    return range_bound(x, &v, b->inclusive, ctx->arena, b, ctx->err);
}
KNF(range_trim_scale, Str, STR0, {
    const RangeType *x = range_of(args[0].type);
    RangeParts room;
    RangeList l;
    if (list_at(ctx, &args[0], i, &room, &l) != ST_OK) return FAILED(i);
    for (int64_t k = 0; k < l.n; k++)
        if (least_bound(ctx, x, &l.items[k].lower) != ST_OK || least_bound(ctx, x, &l.items[k].upper) != ST_OK)
            return FAILED(i);
    if (range_write(ctx->ret, &l, ctx->arena, &z, ctx->err) != ST_OK) return FAILED(i);
})

/* ---- table ----------------------------------------------------------------------------------------------------------
 */

static Type tf_subtype(const FuncDef *f, int nargs, const Type *a) {
    const RangeType *x = range_of(a[0]);
    return (void)f, (void)nargs, x ? x->subtype : type_make(T_TEXT);
}
static Type tf_multirange(const FuncDef *f, int nargs, const Type *a) {
    const RangeType *x = range_of(a[0]);
    return (void)f, (void)nargs, x ? multirange_type(x) : type_make(T_MULTIRANGE);
}
static Type tf_range(const FuncDef *f, int nargs, const Type *a) {
    const RangeType *x = range_of(a[0]);
    return (void)f, (void)nargs, x ? range_type(x) : type_make(T_RANGE);
}
static Type tf_ranges(const FuncDef *f, int nargs, const Type *a) { return type_array_of(tf_range(f, nargs, a)); }
/* Of a constructor. */
static Type tf_named(const FuncDef *f, int nargs, const Type *a) {
    bool multi;
    const RangeType *x = range_builtin(slice_of(f->name), &multi);
    (void)nargs, (void)a;
    return !x ? type_make((TypeId)f->ret) : multi ? multirange_type(x) : range_type(x);
}

#define R T_RANGE
#define M T_MULTIRANGE
#define OF_RANGES(nm, ret, kn, tf, dc) \
    DEF(nm, SF, ret, 1, ARGS(R), OP_NONE, kn, tf, dc), DEF(nm, SF, ret, 1, ARGS(M), OP_NONE, kn, tf, dc)
#define BOUND(nm, kn, dc)                                         \
    DEF(nm, NF, T_VOID, 1, ARGS(R), OP_NONE, kn, tf_subtype, dc), \
        DEF(nm, NF, T_VOID, 1, ARGS(M), OP_NONE, kn, tf_subtype, dc)
#define PREDICATE(nm, a, b, kn, dc) DEF(nm, SF, T_BOOL, 2, ARGS(a, b), OP_NONE, kn, NULL, dc)
/* Of ranges and multiranges, under PostgreSQL's names. */
#define PREDICATES(nm, kn, dc)                                                                \
    PREDICATE("range_" nm, R, R, kn, dc), PREDICATE("range_" nm "_multirange", R, M, kn, dc), \
        PREDICATE("multirange_" nm "_range", M, R, kn, dc), PREDICATE("multirange_" nm "_multirange", M, M, kn, dc)
#define CONSTRUCTORS(nm, many, sub)                                                                             \
    DEF(nm, FN_CAN_FAIL, R, 2, ARGS(sub, sub), OP_NONE, make_range, tf_named,                                   \
        "range from one value to below another"),                                                               \
        DEF(nm, FN_CAN_FAIL, R, 3, ARGS(sub, sub, T_TEXT), OP_NONE, make_range, tf_named,                       \
            "range between two values, which '[]', '[)', '(]' or '()' puts in or leaves out"),                  \
        DEF(many, FN_CAN_FAIL, M, 0, ARGS(0), OP_NONE, make_multirange, tf_named, "multirange without ranges"), \
        DEF(many, FN_CAN_FAIL | FN_VARIADIC, M, 1, ARGS(R), OP_NONE, make_multirange, tf_named,                 \
            "multirange of ranges")
#define SET_OP(nm, kn, dc)                                             \
    DEF("range_" nm, SF, R, 2, ARGS(R, R), OP_NONE, kn, tf_first, dc), \
        DEF("multirange_" nm, SF, M, 2, ARGS(M, M), OP_NONE, kn, tf_first, dc)
#define COMPARISON(nm, kn, dc) PREDICATE("range_" nm, R, R, kn, dc), PREDICATE("multirange_" nm, M, M, kn, dc)
#define SUBDIFF(nm, T, kn) \
    DEF(nm "_subdiff", SF, T_FLOAT8, 2, ARGS(T, T), OP_NONE, kn, NULL, "difference of the values")
#define AGG_DEF(nm, rt, a, tf, dc)                                                                        \
    {                                                                                                     \
        .name = nm, .flags = FN_AGGREGATE, .ret = rt, .nargs = 1, .args = ARGS(a), .agg = AGG_STRING_AGG, \
        .type_fn = tf, .doc = dc                                                                          \
    }

static const FuncDef defs[] = {
    CONSTRUCTORS("int4range", "int4multirange", T_INT4),
    CONSTRUCTORS("int8range", "int8multirange", T_INT8),
    CONSTRUCTORS("numrange", "nummultirange", T_DECIMAL),
    CONSTRUCTORS("tsrange", "tsmultirange", T_TIMESTAMP),
    CONSTRUCTORS("tstzrange", "tstzmultirange", T_TIMESTAMPTZ),
    CONSTRUCTORS("daterange", "datemultirange", T_DATE),
    DEF("range_make", FN_CAN_FAIL, R, 2, ARGS(T_ANY, T_ANY), OP_NONE, make_range, NULL, "internal: constructor"),
    DEF("range_make", FN_CAN_FAIL, R, 3, ARGS(T_ANY, T_ANY, T_TEXT), OP_NONE, make_range, NULL,
        "internal: constructor"),
    DEF("multirange_make", FN_CAN_FAIL, M, 0, ARGS(0), OP_NONE, make_multirange, NULL, "internal: constructor"),
    DEF("multirange_make", FN_CAN_FAIL | FN_VARIADIC, M, 1, ARGS(R), OP_NONE, make_multirange, NULL,
        "internal: constructor"),
    DEF("multirange_from_array", SF, M, 1, ARGS(T_ARRAY), OP_NONE, multirange_from_array, NULL,
        "internal: constructor of an array's ranges"),
    DEF("multirange", SF, M, 1, ARGS(R), OP_NONE, func_range_to_multirange, tf_multirange, "multirange of one range"),
    DEF("multirange_ranges", SF, T_ARRAY, 1, ARGS(M), OP_NONE, multirange_ranges, tf_ranges,
        "internal: the ranges of a multirange"),
    BOUND("lower", range_lower, "lower bound, NULL where it is infinite"),
    BOUND("upper", range_upper, "upper bound, NULL where it is infinite"),
    OF_RANGES("isempty", T_BOOL, range_isempty, NULL, "whether nothing is in it"),
    OF_RANGES("lower_inc", T_BOOL, range_lower_inc, NULL, "whether the lower bound is in it"),
    OF_RANGES("upper_inc", T_BOOL, range_upper_inc, NULL, "whether the upper bound is in it"),
    OF_RANGES("lower_inf", T_BOOL, range_lower_inf, NULL, "whether it has no lower bound"),
    OF_RANGES("upper_inf", T_BOOL, range_upper_inf, NULL, "whether it has no upper bound"),
    PREDICATE("range_contains", R, R, lists_contain, "the second is in the first"),
    PREDICATE("range_contains_multirange", R, M, lists_contain, "the second is in the first"),
    PREDICATE("multirange_contains_range", M, R, lists_contain, "the second is in the first"),
    PREDICATE("multirange_contains_multirange", M, M, lists_contain, "the second is in the first"),
    PREDICATE("range_contained_by", R, R, lists_contained, "the first is in the second"),
    PREDICATE("range_contained_by_multirange", R, M, lists_contained, "the first is in the second"),
    PREDICATE("multirange_contained_by_range", M, R, lists_contained, "the first is in the second"),
    PREDICATE("multirange_contained_by_multirange", M, M, lists_contained, "the first is in the second"),
    PREDICATE("range_contains_elem", R, T_ANY, contains_value, "the value is in the range"),
    PREDICATE("multirange_contains_elem", M, T_ANY, contains_value, "the value is in the multirange"),
    PREDICATE("elem_contained_by_range", T_ANY, R, value_contained, "the value is in the range"),
    PREDICATE("elem_contained_by_multirange", T_ANY, M, value_contained, "the value is in the multirange"),
    PREDICATE("range_overlaps", R, R, lists_overlap, "they have values in common"),
    PREDICATE("range_overlaps_multirange", R, M, lists_overlap, "they have values in common"),
    PREDICATE("multirange_overlaps_range", M, R, lists_overlap, "they have values in common"),
    PREDICATE("multirange_overlaps_multirange", M, M, lists_overlap, "they have values in common"),
    PREDICATES("before", lists_before, "the first ends before the second begins"),
    PREDICATES("after", lists_after, "the first begins behind the end of the second"),
    PREDICATES("overleft", lists_overleft, "the first does not extend to the right of the second"),
    PREDICATES("overright", lists_overright, "the first does not extend to the left of the second"),
    PREDICATES("adjacent", lists_adjacent, "one begins where the other ends"),
    DEF("range_cmp", SF, T_INT4, 2, ARGS(R, R), OP_NONE, lists_cmp, NULL, "-1, 0 or 1 as the first is less or not"),
    DEF("multirange_cmp", SF, T_INT4, 2, ARGS(M, M), OP_NONE, lists_cmp, NULL,
        "-1, 0 or 1 as the first is less or not"),
    COMPARISON("eq", lists_eq, "equal"),
    COMPARISON("ne", lists_ne, "not equal"),
    COMPARISON("lt", lists_lt, "less"),
    COMPARISON("le", lists_le, "less or equal"),
    COMPARISON("gt", lists_gt, "greater"),
    COMPARISON("ge", lists_ge, "greater or equal"),
    SUBDIFF("int4range", T_INT4, subdiff_int4),
    SUBDIFF("int8range", T_INT8, subdiff_int8),
    SUBDIFF("numrange", T_DECIMAL, subdiff_num),
    SUBDIFF("daterange", T_DATE, subdiff_date),
    SUBDIFF("tsrange", T_TIMESTAMP, subdiff_ts),
    SUBDIFF("tstzrange", T_TIMESTAMPTZ, subdiff_ts),
    SET_OP("union", lists_union, "what is in one of them"),
    SET_OP("intersect", lists_intersect, "what is in both"),
    SET_OP("minus", lists_minus, "what is in the first only"),
    DEF("range_merge", SF, R, 2, ARGS(R, R), OP_NONE, ranges_merge, tf_first, "least range that contains both"),
    DEF("range_merge", SF, R, 1, ARGS(M), OP_NONE, multirange_merge, tf_range, "least range that contains it"),
    OF_RANGES("range_entry", T_TEXT, range_entry, NULL, "internal: a value of range_agg"),
    DEF("multirange_from_entries", FN_CAN_FAIL, M, 2, ARGS(T_TEXT, T_ANY), OP_NONE, multirange_from_entries, NULL,
        "internal: result of range_agg"),
    DEF("range_intersect_entries", FN_CAN_FAIL, R, 2, ARGS(T_TEXT, T_ANY), OP_NONE, range_intersect_entries, NULL,
        "internal: result of range_intersect_agg"),
    OF_RANGES("range_key", T_BYTEA, range_key_of, NULL, "internal: bytes that compare as the value does"),
    OF_RANGES("range_trim_scale", T_VOID, range_trim_scale, tf_first, "internal: equal bytes for equal values"),
    AGG_DEF("range_agg", M, R, tf_multirange, "multirange of all ranges"),
    AGG_DEF("range_agg", M, M, tf_first, "multirange of all multiranges"),
    AGG_DEF("range_intersect_agg", R, R, tf_first, "what is in all ranges"),
    AGG_DEF("range_intersect_agg", M, M, tf_first, "what is in all multiranges"),
};
const FuncDefs func_defs_range = {defs, ARRAY_LEN(defs)};
