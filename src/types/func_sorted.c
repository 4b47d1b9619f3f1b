/* func_sorted.c - string_agg with ORDER BY or DISTINCT, in two steps around the plain aggregate.
 *
 * The binder turns string_agg(x, d ORDER BY k) into string_agg_sorted(string_agg(string_agg_entry('an', x, d, k), '')):
 * an entry is the value with its delimiter and a sort key that compares bytewise; the aggregate puts entries one behind
 * the other in whatever order; the outer function sorts and joins them. So no executor has ordered aggregates.
 *
 * The same entries serve LIMIT in a correlated subquery (sql/optimize/decorrelate.c): with row_unique() as the last key
 * no two are equal, the aggregate collects those of a group, string_agg_pick returns the first and the last entry of
 * the range, string_agg_between keeps the rows between.
 *
 *   entry   u32 key bytes, u32 delimiter bytes, u32 value bytes, key, delimiter, value
 *   key     per sort key: a byte that puts NULL first or last, then the value's order-preserving bytes, inverted when
 * descending
 */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/stack.h"
#include "types/array.h"
#include "types/composite.h"
#include "types/dec.h"
#include "types/func_int.h"
#include "types/json.h"
#include "types/range.h"

enum { ENTRY_HEAD = 12 };

typedef KeyOut Out;

static void put(Out *o, const void *p, int64_t n) {
    if (o->p && n) memcpy(o->p + o->len, p, (size_t)n);
    o->len += n;
}
static void put_big_endian(Out *o, uint128_t v, int bytes) {
    unsigned char b[16];
    for (int i = 0; i < bytes; i++) b[i] = (unsigned char)(v >> (8 * (bytes - 1 - i)));
    put(o, b, bytes);
}
static void put_double(Out *o, double d) {
    uint64_t u;
    if (isnan(d)) d = NAN;
    if (d == 0) d = 0;
    memcpy(&u, &d, sizeof u);
    u = isnan(d) ? UINT64_MAX : u >> 63 ? ~u : u | UINT64_C(1) << 63;
    put_big_endian(o, u, 8);
}

void func_put_key(KeyOut *o, Phys phys, const void *c) {
    int128_t big = 0;
    switch (phys) {
    case PH_BOOL: put(o, c, 1); break;
    case PH_F32: put_double(o, (double)*(const float *)c); break;
    case PH_F64: put_double(o, *(const double *)c); break;
    case PH_UUID: put(o, c, 16); break;
    case PH_STR: {
        const Str *s = c;
        const char *p = s->ptr, *end = p + s->len;
        for (const char *nul; p < end && (nul = memchr(p, 0, (size_t)(end - p))); p = nul + 1) {
            put(o, p, nul - p);
            put(o, "\0\xff", 2);
        }
        put(o, p, end - p);
        put(o, "\0\0", 2);
        break;
    }
    default: /* whole numbers and what is one: always as wide as the widest, for one column may come at several widths
              */
        if (phys == PH_INTERVAL) {
            Interval iv;
            memcpy(&iv, c, sizeof iv);
            big = interval_cmp_value(&iv);
        } else if (phys == PH_I128) {
            memcpy(&big, c, sizeof big);
        } else {
            big = phys == PH_I16 ? *(const int16_t *)c : phys == PH_I32 ? *(const int32_t *)c : *(const int64_t *)c;
        }
        put_big_endian(o, (uint128_t)big ^ (uint128_t)1 << 127, 16);
    }
}

/* func_ordered_cell() of a cell that is no array. */
static Status plain_cell(FuncCtx *ctx, Type t, Phys phys, const void *cell, Value *out) {
    if (t.id == T_DECIMAL) return out->u.str = dec_key(*(const Str *)cell), ST_OK;
    if (t.id == T_JSONB) return jsonb_key(ctx->arena, *(const Str *)cell, &out->u.str, ctx->err);
    if (t.id == T_COMPOSITE) return func_value_key(ctx, t, phys, cell, &out->u.str);
    if (type_is_range(t)) return out->u.str = range_key(t, *(const Str *)cell), ST_OK;
    memcpy(&out->u, cell, (size_t)phys_size(phys));
    return ST_OK;
}

Status func_ordered_array(FuncCtx *ctx, Type array, Str blob, ArrayView *out) {
    Type element = type_element(array);
    *out = array_view(blob);
    if (!type_needs_key(element)) return ST_OK;
    const ArrayView v = *out;
    Str *keys = arena_array(ctx->arena, Str, v.n + 1), all;
    if (!keys) return err_is_set(ctx->err) ? ST_ERROR : err_oom(ctx->err);
    for (int64_t i = 0; i < v.n; i++) {
        Value x;
        keys[i] = STR0;
        if (array_is_null(&v, i)) continue;
        array_get(&v, i, &x.u);
        TRY(plain_cell(ctx, element, v.phys, &x.u, &x));
        keys[i] = x.u.str;
    }
    TRY(array_build(ctx->arena, PH_STR, v.n, keys, v.valid, &all, ctx->err));
    *out = array_view(all);
    return ST_OK;
}

static void put_int(Out *o, int32_t i) { put_big_endian(o, (uint32_t)i ^ UINT32_C(1) << 31, 4); }

/* Arrays with the same elements: of one dimension, by its first subscript, then the others. */
enum { SHAPE_BELOW = 1, SHAPE_PLAIN, SHAPE_ABOVE, SHAPE_SEVERAL };
static void put_shape_key(Out *o, const ArrayView *v) {
    const int32_t low = v->n_dims == 1 ? array_dim(v, 0).low : 1;
    const char kind = v->n_dims > 1 ? SHAPE_SEVERAL : low < 1 ? SHAPE_BELOW : low > 1 ? SHAPE_ABOVE : SHAPE_PLAIN;
    put(o, &kind, 1);
    if (kind == SHAPE_PLAIN) return;
    if (v->n_dims > 1) put_int(o, v->n_dims);
    for (int32_t k = 0; v->n_dims > 1 && k < v->n_dims; k++) put_int(o, array_dim(v, k).len);
    for (int32_t k = 0; k < v->n_dims; k++) put_int(o, array_dim(v, k).low);
}

/* Per element a byte, 1 or (NULL, the greatest) 2, and its key; a zero at the end, so that the shorter comes first; and
 * the shape. */
static Status put_array_key(FuncCtx *ctx, KeyOut *o, Type t, Str blob) {
    ArrayView v;
    TRY(func_ordered_array(ctx, t, blob, &v));
    for (int64_t i = 0; i < v.n; i++) {
        bool null = array_is_null(&v, i);
        put(o, null ? "\2" : "\1", 1);
        if (null) continue;
        Value x;
        array_get(&v, i, &x.u);
        func_put_key(o, v.phys, &x.u);
    }
    put(o, "", 1);
    v = array_view(blob);
    put_shape_key(o, &v);
    return ST_OK;
}
/* Per field a byte, 1 or (NULL, the greatest) 2, and its key. */
static Status put_composite_key(FuncCtx *ctx, KeyOut *o, Type t, Str blob) {
    const CompositeType *x = composite_of(t);
    Value *fields = arena_array(ctx->arena, Value, x ? x->n + 1 : 1);
    if (!fields) return err_is_set(ctx->err) ? ST_ERROR : err_oom(ctx->err);
    TRY(stack_check_depth(ctx->err));
    TRY(composite_read(x, blob, fields, ctx->err));
    for (int32_t i = 0; i < x->n; i++) {
        put(o, fields[i].is_null ? "\2" : "\1", 1);
        if (fields[i].is_null) continue;
        TRY(func_put_value_key(ctx, o, fields[i].type, type_phys(fields[i].type), value_cell_const(&fields[i])));
    }
    return ST_OK;
}
Status func_put_value_key(FuncCtx *ctx, KeyOut *o, Type t, Phys phys, const void *cell) {
    Value x;
    if (t.id == T_ARRAY) return put_array_key(ctx, o, t, *(const Str *)cell);
    if (t.id == T_COMPOSITE) return put_composite_key(ctx, o, t, *(const Str *)cell);
    TRY(plain_cell(ctx, t, phys, cell, &x));
    func_put_key(o, phys, &x.u);
    return ST_OK;
}

Status func_value_key(FuncCtx *ctx, Type t, Phys phys, const void *cell, Str *out) {
    KeyOut size = {0};
    TRY(func_put_value_key(ctx, &size, t, phys, cell));
    KeyOut o = {.p = ctx_alloc(ctx, size.len)};
    if (!o.p) return ST_ERROR;
    TRY(func_put_value_key(ctx, &o, t, phys, cell));
    *out = str_make(o.p, o.len);
    return ST_OK;
}

Status func_ordered_cell(FuncCtx *ctx, Type t, Phys phys, const void *cell, Value *out) {
    if (t.id == T_ARRAY) return func_value_key(ctx, t, phys, cell, &out->u.str);
    return plain_cell(ctx, t, phys, cell, out);
}

static uint128_t get_big_endian(const char *p, int bytes) {
    uint128_t v = 0;
    for (int i = 0; i < bytes; i++) v = v << 8 | (unsigned char)p[i];
    return v;
}

static int32_t get_int(const char *p) { return (int32_t)((uint32_t)get_big_endian(p, 4) ^ UINT32_C(1) << 31); }

bool func_get_shape_key(const char *at, const char *end, int64_t n, ArrayShape *out) {
    const int64_t room = end - at - 2; /* behind the zero at the end of the elements, and the kind */
    if (room < 0) return false;
    const char kind = at[1];
    const char *p = at + 2;
    *out = (ArrayShape){1, {{(int32_t)n, 1}}};
    if (kind == SHAPE_BELOW || kind == SHAPE_ABOVE) {
        if (room < 4) return false;
        out->dims[0].low = get_int(p);
    } else if (kind == SHAPE_SEVERAL) {
        int64_t count = 1;
        if (room < 4) return false;
        out->n = get_int(p);
        if (out->n < 2 || out->n > ARRAY_MAX_DIMS || room < 4 + 8 * (int64_t)out->n) return false;
        for (int32_t k = 0; k < out->n; k++) {
            out->dims[k] = (ArrayDim){get_int(p + 4 + 4 * k), get_int(p + 4 + 4 * (out->n + k))};
            if (out->dims[k].len < 1 || (count *= out->dims[k].len) > n) return false;
        }
        return count == n;
    }
    return kind >= SHAPE_BELOW && kind <= SHAPE_SEVERAL;
}

bool func_get_key(const char **at, const char *end, Phys phys, void *cell, char **text) {
    const char *p = *at;
    if (phys == PH_STR) {
        char *first = *text, *q = first;
        for (; end - p >= 2 && (p[0] || p[1]); p++) {
            *q++ = p[0];
            p += !p[0]; /* 00 FF is a zero byte */
        }
        if (end - p < 2) return false;
        *(Str *)cell = str_make(first, q - first);
        *text = q;
        *at = p + 2;
        return true;
    }
    int bytes = phys == PH_BOOL ? 1 : phys == PH_F32 || phys == PH_F64 ? 8 : 16;
    if (end - p < bytes || phys == PH_INTERVAL) return false;
    *at = p + bytes;
    if (phys == PH_BOOL || phys == PH_UUID) {
        memcpy(cell, p, (size_t)bytes);
        return true;
    }
    uint128_t v = get_big_endian(p, bytes);
    if (bytes == 8) {
        uint64_t u = (uint64_t)v >> 63 ? (uint64_t)v & INT64_MAX : ~(uint64_t)v;
        double d = NAN;
        if ((uint64_t)v != UINT64_MAX) memcpy(&d, &u, sizeof d);
        if (phys == PH_F64) *(double *)cell = d;
        else *(float *)cell = (float)d;
        return true;
    }
    int128_t i = (int128_t)(v ^ (uint128_t)1 << 127);
    switch (phys) {
    case PH_I16: *(int16_t *)cell = (int16_t)i; break;
    case PH_I32: *(int32_t *)cell = (int32_t)i; break;
    case PH_I64: *(int64_t *)cell = (int64_t)i; break;
    default: memcpy(cell, &i, sizeof i); break;
    }
    return true;
}

static Status put_key(FuncCtx *ctx, Out *o, const Vec *v, int64_t i, bool desc, bool nulls_first) {
    bool null = arg_null(v, i);
    char tag = null == nulls_first ? 1 : 2;
    put(o, &tag, 1);
    if (null) return ST_OK;
    int64_t first = o->len;
    TRY(func_put_value_key(ctx, o, v->type, (Phys)v->phys, arg_cell(v, i)));
    for (int64_t k = first; desc && o->p && k < o->len; k++) o->p[k] = (char)~o->p[k];
    return ST_OK;
}

static Status put_entry(FuncCtx *ctx, Out *o, const Vec *args, int nargs, int64_t i, Str value, Str delim) {
    const char *flags = AT(Str, 0, i).ptr;
    Out keys = {o->p ? o->p + ENTRY_HEAD : NULL, 0};
    for (int k = 3; k < nargs; k++)
        TRY(put_key(ctx, &keys, &args[k], i, flags[2 * (k - 3)] == 'd', flags[2 * (k - 3) + 1] == 'f'));
    uint32_t head[3] = {(uint32_t)keys.len, delim.len, value.len};
    put(o, head, ENTRY_HEAD);
    o->len += keys.len;
    put(o, delim.ptr, delim.len);
    put(o, value.ptr, value.len);
    return ST_OK;
}

KERNEL(string_agg_entry) {
    for (int64_t i = 0; i < n; i++) {
        Str *z = &((Str *)out->data)[i], none = STR0;
        *z = none;
        out->valid[i] = !arg_null(&args[1], i);
        if (!out->valid[i]) continue;
        Str flags = AT(Str, 0, i);
        FAIL_IF(arg_null(&args[0], i) || flags.len != 2 * (uint32_t)(nargs - 3), i, ERR_INVALID_PARAMETER,
                "string_agg_entry: invalid flags");
        Str delim = arg_null(&args[2], i) ? none : AT(Str, 2, i);
        Out size = {0};
        if (put_entry(ctx, &size, args, nargs, i, AT(Str, 1, i), delim) != ST_OK) return FAILED(i);
        Out o = {.p = ctx_alloc(ctx, size.len)};
        if (!o.p || put_entry(ctx, &o, args, nargs, i, AT(Str, 1, i), delim) != ST_OK) return FAILED(i);
        *z = str_make(o.p, o.len);
    }
    return ST_OK;
}

typedef struct Entry {
    const char *key; /* delimiter and value follow */
    uint32_t key_len, delim_len, value_len;
} Entry;

static int key_cmp(const Entry *x, const Entry *y) {
    int c = memcmp(x->key, y->key, MIN_OF(x->key_len, y->key_len));
    return c ? c : (x->key_len > y->key_len) - (x->key_len < y->key_len);
}
/* Equal keys stay in the order of arrival. */
static int entry_cmp(const void *a, const void *b) {
    const Entry *x = a, *y = b;
    int c = key_cmp(x, y);
    return c ? c : (x->key > y->key) - (x->key < y->key);
}

/* Entries of s into e; their number, or -1 when s does not consist of entries. */
static int64_t split(Str s, Entry *e) {
    int64_t k = 0;
    for (const char *p = s.ptr, *end = s.ptr + s.len; p < end; k++) {
        uint32_t head[3];
        if (end - p < ENTRY_HEAD) return -1;
        memcpy(head, p, ENTRY_HEAD);
        p += ENTRY_HEAD;
        int64_t len = (int64_t)head[0] + head[1] + head[2];
        if (end - p < len) return -1;
        if (e) e[k] = (Entry){p, head[0], head[1], head[2]};
        p += len;
    }
    return k;
}

KNF(string_agg_sorted, Str, STR0, {
    const Str x = AT(Str, 0, i);
    int64_t k = split(x, NULL);
    FAIL_IF(k < 0, i, ERR_INVALID_PARAMETER, "string_agg_sorted: the argument does not consist of entries");
    Entry *e = arena_array(ctx->arena, Entry, k + 1);
    char *p = e ? ctx_alloc(ctx, x.len) : NULL;
    if (!p) return FAILED(i);
    split(x, e);
    qsort(e, (size_t)k, sizeof *e, entry_cmp);
    Out o = {.p = p};
    for (int64_t j = 0; j < k; j++) {
        const char *delim = e[j].key + e[j].key_len;
        if (j > 0) put(&o, delim, e[j].delim_len);
        put(&o, delim + e[j].delim_len, e[j].value_len);
    }
    if (o.len) z = str_make(o.p, o.len);
})

KERNEL(string_agg_pick) {
    KERNEL_UNUSED();
    for (int64_t i = 0; i < n; i++) {
        Str *z = &((Str *)out->data)[i];
        *z = STR0;
        out->valid[i] = 0;
        if (arg_null(&args[0], i) || arg_null(&args[1], i) || arg_null(&args[2], i)) continue;
        Str x = AT(Str, 0, i);
        int64_t first = AT(int64_t, 1, i), count = AT(int64_t, 2, i), k = split(x, NULL);
        FAIL_IF(k < 0 || first < 0, i, ERR_INVALID_PARAMETER,
                "string_agg_pick: the argument does not consist of entries");
        if (first >= k || count == 0) continue;
        Entry *e = arena_array(ctx->arena, Entry, k + 1);
        if (!e) return FAILED(i);
        split(x, e);
        qsort(e, (size_t)k, sizeof *e, entry_cmp);
        const Entry *ends[2] = {&e[first], &e[count < 0 || count > k - first ? k - 1 : first + count - 1]};
        int64_t len = 2 * ENTRY_HEAD + (int64_t)ends[0]->key_len + ends[1]->key_len;
        Out o = {.p = ctx_alloc(ctx, len)};
        if (!o.p) return FAILED(i);
        for (int j = 0; j < 2; j++) {
            put(&o, (uint32_t[]){ends[j]->key_len, 0, 0}, ENTRY_HEAD);
            put(&o, ends[j]->key, ends[j]->key_len);
        }
        *z = str_make(o.p, o.len);
        out->valid[i] = 1;
    }
    return ST_OK;
}

KNF(string_agg_between, uint8_t, 0, {
    Entry e[1];
    Entry ends[2];
    FAIL_IF(split(AT(Str, 0, i), NULL) != 1 || split(AT(Str, 1, i), NULL) != 2, i, ERR_INVALID_PARAMETER,
            "string_agg_between: the arguments are not entries");
    split(AT(Str, 0, i), e);
    split(AT(Str, 1, i), ends);
    z = key_cmp(e, &ends[0]) >= 0 && key_cmp(e, &ends[1]) <= 0;
})

/* A number of its own for every row. */
KERNEL(row_unique) {
    KERNEL_UNUSED();
    static _Atomic int64_t next;
    int64_t first = atomic_fetch_add(&next, n);
    for (int64_t i = 0; i < n; i++) ((int64_t *)out->data)[i] = first + i;
    return ST_OK;
}

static const FuncDef defs[] = {
    DEF("string_agg_entry", FN_VARIADIC | FN_ANY_NUMERIC_SCALE | FN_CAN_FAIL, T_TEXT, 4,
        ARGS(T_TEXT, T_TEXT, T_TEXT, T_ANY), OP_NONE, string_agg_entry, NULL,
        "internal: a value of string_agg with its delimiter and sort keys"),
    DEF("string_agg_entry", FN_VARIADIC | FN_ANY_NUMERIC_SCALE | FN_CAN_FAIL, T_TEXT, 4,
        ARGS(T_TEXT, T_BYTEA, T_BYTEA, T_ANY), OP_NONE, string_agg_entry, NULL,
        "internal: a value of string_agg of bytea with its delimiter and sort keys"),
    DEF("string_agg_sorted", SF, T_TEXT, 1, ARGS(T_TEXT), OP_NONE, string_agg_sorted, NULL,
        "internal: entries of string_agg_entry, sorted and joined"),
    DEF("string_agg_pick", FN_CAN_FAIL, T_TEXT, 3, ARGS(T_TEXT, T_INT8, T_INT8), OP_NONE, string_agg_pick, NULL,
        "internal: the first and the last of some entries in their order, from an offset on"),
    DEF("string_agg_between", SF, T_BOOL, 2, ARGS(T_TEXT, T_TEXT), OP_NONE, string_agg_between, NULL,
        "internal: whether an entry is between two"),
    DEF("row_unique", S_ | FN_VOLATILE, T_INT8, 0, ARGS(0), OP_NONE, row_unique, NULL,
        "internal: a number of its own for every row"),
};
const FuncDefs func_defs_sorted = {defs, ARRAY_LEN(defs)};
