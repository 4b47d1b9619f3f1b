/* copy_binary.c - see copy_binary.h. One thread: the format is for moving data, not for loading much of it. */
#include "io/copy_binary.h"

#include "base/stack.h"
#include "storage/row_change.h"
#include "types/array.h"
#include "types/bits.h"
#include "types/chars.h"
#include "types/composite.h"
#include "types/enums.h"
#include "types/lsn.h"
#include "types/range.h"

enum { BATCH = 1024, FLUSH_BYTES = 65536, GROUP = 10000 };
static const char signature[11] = "PGCOPY\n\377\r\n"; /* with its NUL */

/* OIDs of a type and of arrays of it; 0: it has none in PostgreSQL. */
typedef struct Oids {
    uint32_t own, array;
} Oids;
static Oids oids_of(Type t) {
    static const Oids oids[T_COUNT_] = {
        [T_BOOL] = {16, 1000},          [T_INT2] = {21, 1005},       [T_INT4] = {23, 1007},
        [T_INT8] = {20, 1016},          [T_NUMERIC] = {1700, 1231},  [T_DECIMAL] = {1700, 1231},
        [T_FLOAT4] = {700, 1021},       [T_FLOAT8] = {701, 1022},    [T_CHAR] = {1042, 1014},
        [T_VARCHAR] = {1043, 1015},     [T_TEXT] = {25, 1009},       [T_BYTEA] = {17, 1001},
        [T_DATE] = {1082, 1182},        [T_TIME] = {1083, 1183},     [T_TIMESTAMP] = {1114, 1115},
        [T_TIMESTAMPTZ] = {1184, 1185}, [T_INTERVAL] = {1186, 1187}, [T_UUID] = {2950, 2951},
        [T_JSON] = {114, 199},          [T_JSONB] = {3802, 3807},    [T_TIMETZ] = {1266, 1270},
        [T_BIT] = {1560, 1561},         [T_VARBIT] = {1562, 1563},   [T_JSONPATH] = {4072, 4073},
        [T_LSN] = {3220, 3221},         [T_MONEY] = {790, 791}};
    static const Oids ranges[] = {{3904, 3905}, {3926, 3927}, {3906, 3907}, {3908, 3909}, {3910, 3911}, {3912, 3913}};
    static const Oids multiranges[] = {{4451, 6150}, {4536, 6157}, {4532, 6151},
                                       {4533, 6152}, {4534, 6153}, {4535, 6155}};
    const Type own = t.id == T_ARRAY ? type_element(t) : t;
    const int32_t range = type_is_range(own) ? own.length - 1 : -1;
    const bool known = range >= 0 && range < ARRAY_LEN(ranges);
    const Oids of = !type_is_range(own) ? oids[own.id]
                    : !known            ? (Oids){0, 0}
                    : own.id == T_RANGE ? ranges[range]
                                        : multiranges[range];
    return t.id == T_ARRAY ? (Oids){of.array, 0} : of;
}
static Status oid_of(Type t, uint32_t *out, Err *e) {
    *out = oids_of(t).own;
    if (*out) return ST_OK;
    return err_set(e, ERR_FEATURE_NOT_SUPPORTED,
                   "elements and fields of type %s in COPY's binary format are not supported", type_plain_name(t));
}

/* ---- out ----------------------------------------------------------------------------------------------- */

typedef struct BinaryOut {
    CopyWrite write;
    void *ctx;
    MemAccount *account;
    char *buf;
    int64_t n, cap;
    int32_t n_cols;
    const Type *types;
    Vec *vecs;
    uint8_t **valid;
    Arena *arena; /* of a value */
    Err *e;
} BinaryOut;

static Status flush(BinaryOut *w) {
    if (w->n > 0 && !w->write(w->ctx, w->buf, w->n))
        return err_set(w->e, ERR_CONNECTION_FAILURE, "could not write COPY data to the client");
    w->n = 0;
    return ST_OK;
}
static Status put(BinaryOut *w, const void *p, int64_t n) {
    if (w->n + n > w->cap) {
        const int64_t cap = MAX_OF(w->cap * 2, w->n + n);
        char *more = mem_realloc(w->account, w->buf, w->cap, cap, w->e);
        if (!more) return ST_ERROR;
        w->buf = more;
        w->cap = cap;
    }
    memcpy(w->buf + w->n, p, (size_t)n);
    w->n += n;
    return ST_OK;
}
/* The lower `bytes` bytes, the highest first. */
static Status put_int(BinaryOut *w, int bytes, int64_t v) {
    uint8_t b[8];
    for (int i = 0; i < bytes; i++) b[i] = (uint8_t)((uint64_t)v >> (8 * (bytes - 1 - i)));
    return put(w, b, bytes);
}

/* Of a number's text: groups of four digits from the point on. */
static Status put_numeric(BinaryOut *w, const char *text, int64_t n) {
    const bool neg = n > 0 && *text == '-';
    const char *s = text + neg, *end = text + n, *point = memchr(s, '.', (size_t)(end - s));
    if (s < end && (*s == 'N' || *s == 'I')) {
        TRY(put_int(w, 4, 0));
        return put_int(w, 4, (*s == 'N' ? INT64_C(0xC000) : neg ? INT64_C(0xF000) : INT64_C(0xD000)) << 16);
    }
    const int64_t whole = (point ? point : end) - s, scale = point ? end - point - 1 : 0;
    const int64_t before = (whole + 3) / 4, groups = before + (scale + 3) / 4;
    int16_t *g = arena_array(w->arena, int16_t, groups + 1);
    if (!g) return err_oom(w->e);
    for (int64_t i = 0; i < groups * 4; i++) {
        const int64_t at = i - before * 4; /* of the digit: from the point */
        const char *d = at < 0 ? (at >= -whole ? s + whole + at : NULL) : at < scale ? point + 1 + at : NULL;
        g[i / 4] = (int16_t)(g[i / 4] * 10 + (d ? *d - '0' : 0));
    }
    int64_t first = 0, last = groups;
    while (first < last && g[first] == 0) first++;
    while (last > first && g[last - 1] == 0) last--;
    TRY(put_int(w, 2, last - first));
    TRY(put_int(w, 2, first < last ? before - 1 - first : 0));
    TRY(put_int(w, 2, neg && first < last ? 0x4000 : 0));
    TRY(put_int(w, 2, scale));
    for (int64_t i = first; i < last; i++) TRY(put_int(w, 2, g[i]));
    return ST_OK;
}
static Status put_text(BinaryOut *w, const Value *v) {
    int64_t n;
    char *text = value_to_text(w->arena, v, &n);
    if (!text) return err_oom(w->e);
    if (v->type.id == T_NUMERIC || v->type.id == T_DECIMAL) return put_numeric(w, text, n);
    if (v->type.id == T_JSONB || v->type.id == T_JSONPATH) TRY(put_int(w, 1, 1)); /* a version */
    return put(w, text, n);
}
static Status put_bits(BinaryOut *w, Str s) {
    const int64_t n = bits_length(s);
    TRY(put_int(w, 4, n));
    for (int64_t i = 0; i < n; i += 8) {
        int byte = 0;
        for (int64_t k = i; k < i + 8; k++) byte = byte * 2 + (k < n ? bits_get(s, k) : 0);
        TRY(put_int(w, 1, byte));
    }
    return ST_OK;
}

static Status put_field(BinaryOut *w, const Value *v);
static Status put_array(BinaryOut *w, Type t, Str blob) {
    const ArrayView a = array_view(blob);
    const ArrayShape shape = array_shape(&a);
    const Type of = type_element(t);
    uint32_t oid;
    bool nulls = false;
    TRY(oid_of(of, &oid, w->e));
    for (int64_t i = 0; i < a.n; i++) nulls |= array_is_null(&a, i);
    TRY(put_int(w, 4, a.n > 0 ? shape.n : 0));
    TRY(put_int(w, 4, nulls));
    TRY(put_int(w, 4, oid));
    for (int32_t d = 0; d < shape.n && a.n > 0; d++) {
        TRY(put_int(w, 4, shape.dims[d].len));
        TRY(put_int(w, 4, shape.dims[d].low));
    }
    for (int64_t i = 0; i < a.n; i++) {
        Value v = {.type = of, .is_null = array_is_null(&a, i)};
        if (!v.is_null) array_get(&a, i, value_cell(&v));
        TRY(put_field(w, &v));
    }
    return ST_OK;
}
static Status put_row(BinaryOut *w, Type t, Str blob) {
    const CompositeType *x = composite_of(t);
    Value *fields = x ? arena_array(w->arena, Value, x->n + 1) : NULL;
    if (!fields) return err_oom(w->e);
    TRY(composite_read(x, blob, fields, w->e));
    TRY(put_int(w, 4, x->n));
    for (int32_t i = 0; i < x->n; i++) {
        uint32_t oid;
        TRY(oid_of(x->fields[i].type, &oid, w->e));
        TRY(put_int(w, 4, oid));
        TRY(put_field(w, &fields[i]));
    }
    return ST_OK;
}
/* range_send's flags. */
enum { FLAG_EMPTY = 1, FLAG_LOWER = 2, FLAG_UPPER = 4, FLAG_NO_LOWER = 8, FLAG_NO_UPPER = 16 };
static Status put_bound(BinaryOut *w, const RangeType *x, const RangeBound *b) {
    Value v;
    if (b->infinite) return ST_OK;
    TRY(range_bound_value(x, b, w->arena, &v, w->e));
    return put_field(w, &v);
}
static Status put_range(BinaryOut *w, const RangeType *x, const RangeList *l) {
    if (l->n == 0) return put_int(w, 1, FLAG_EMPTY);
    const RangeBound *lower = &l->items[0].lower, *upper = &l->items[0].upper;
    TRY(put_int(w, 1,
                (lower->inclusive ? FLAG_LOWER : 0) | (upper->inclusive ? FLAG_UPPER : 0) |
                    (lower->infinite ? FLAG_NO_LOWER : 0) | (upper->infinite ? FLAG_NO_UPPER : 0)));
    TRY(put_bound(w, x, lower));
    return put_bound(w, x, upper);
}
/* A length, which is known behind its bytes only. */
static void set_length(BinaryOut *w, int64_t at) {
    const int64_t len = w->n - at - 4;
    for (int i = 0; i < 4; i++) w->buf[at + i] = (char)(len >> (24 - 8 * i));
}
static Status put_ranges(BinaryOut *w, Type t, Str value) {
    const RangeType *x = range_of(t);
    RangeParts room;
    RangeList l;
    TRY(range_read(t, value, w->arena, &room, &l, w->e));
    if (t.id == T_RANGE) return put_range(w, x, &l);
    TRY(put_int(w, 4, l.n));
    for (int64_t i = 0; i < l.n; i++) {
        const RangeList one = {1, &l.items[i]};
        const int64_t at = w->n;
        TRY(put_int(w, 4, 0));
        TRY(put_range(w, x, &one));
        set_length(w, at);
    }
    return ST_OK;
}
static Status put_value(BinaryOut *w, const Value *v) {
    const Type t = v->type;
    switch ((TypeId)t.id) {
    case T_BOOL: return put_int(w, 1, v->u.b);
    case T_INT2: return put_int(w, 2, v->u.i16);
    case T_INT4:
    case T_DATE: return put_int(w, 4, v->u.i32);
    case T_INT8:
    case T_TIME:
    case T_TIMESTAMP:
    case T_TIMESTAMPTZ: return put_int(w, 8, v->u.i64);
    case T_TIMETZ:
        TRY(put_int(w, 8, timetz_micros(v->u.i64)));
        return put_int(w, 4, -timetz_offset(v->u.i64)); /* west of UTC */
    case T_FLOAT4: {
        int32_t bits;
        memcpy(&bits, value_cell_const(v), sizeof bits);
        return put_int(w, 4, bits);
    }
    case T_FLOAT8: {
        int64_t bits;
        memcpy(&bits, value_cell_const(v), sizeof bits);
        return put_int(w, 8, bits);
    }
    case T_INTERVAL: {
        Interval x;
        memcpy(&x, value_cell_const(v), sizeof x);
        TRY(put_int(w, 8, x.micros));
        TRY(put_int(w, 4, x.days));
        return put_int(w, 4, x.months);
    }
    case T_UUID: return put(w, value_cell_const(v), 16);
    case T_LSN: return put_int(w, 8, (int64_t)lsn_number(v->u.i64));
    case T_MONEY: return put_int(w, 8, v->u.i64);
    case T_BYTEA:
    case T_TEXT:
    case T_VARCHAR:
    case T_JSON: return put(w, v->u.str.ptr, v->u.str.len);
    case T_BIT:
    case T_VARBIT: return put_bits(w, v->u.str);
    case T_ARRAY: return put_array(w, t, v->u.str);
    case T_COMPOSITE: return put_row(w, t, v->u.str);
    case T_RANGE:
    case T_MULTIRANGE: return put_ranges(w, t, v->u.str);
    default: return put_text(w, v);
    }
}
static Status put_field(BinaryOut *w, const Value *v) {
    const int64_t at = w->n;
    TRY(stack_check(w->e));
    if (v->is_null) return put_int(w, 4, -1);
    TRY(put_int(w, 4, 0));
    TRY(put_value(w, v));
    const int64_t len = w->n - at - 4;
    if (len > INT32_MAX) return err_set(w->e, ERR_PROGRAM_LIMIT, "a value is too long for COPY's binary format");
    set_length(w, at);
    return ST_OK;
}

static Status put_run(void *ctx, const RowLayout *l, const RowRun *run) {
    BinaryOut *w = ctx;
    for (int64_t first = 0; first < run->n; first += BATCH) {
        const int64_t n = MIN_OF(run->n - first, (int64_t)BATCH);
        for (int32_t c = 0; c < w->n_cols; c++) {
            w->vecs[c].valid = w->valid[c];
            rows_load(l, c, run, first, NULL, n, &w->vecs[c]);
        }
        for (int64_t r = 0; r < n; r++) {
            TRY(put_int(w, 2, w->n_cols));
            for (int32_t c = 0; c < w->n_cols; c++) {
                Value v = vec_value(&w->vecs[c], r, w->types[c]);
                const Dict *dict = l->cols[c].dict;
                if (dict && !v.is_null) v.u.str = dict->entries[(int32_t)v.u.i128];
                TRY(put_field(w, &v));
                arena_reset(w->arena);
            }
            if (w->n >= FLUSH_BYTES) TRY(flush(w));
        }
    }
    return ST_OK;
}
static Status out_begin(BinaryOut *w, Arena *a, const RowLayout *l) {
    w->vecs = arena_array(a, Vec, w->n_cols + 1);
    w->valid = arena_array(a, uint8_t *, w->n_cols + 1);
    if (!w->vecs || !w->valid) return err_oom(w->e);
    for (int32_t c = 0; c < w->n_cols; c++) {
        const Phys ph = (Phys)l->cols[c].phys;
        w->vecs[c] = (Vec){.phys = (uint8_t)ph, .type = w->types[c], .data = arena_calloc(a, phys_size(ph) * BATCH)};
        w->valid[c] = arena_calloc(a, BATCH);
        if (!w->vecs[c].data || !w->valid[c]) return err_oom(w->e);
    }
    TRY(put(w, signature, sizeof signature));
    TRY(put_int(w, 4, 0));
    return put_int(w, 4, 0);
}
Status copy_binary_to(const CopySource *from, CopyWrite write, void *ctx, int64_t *n_rows, Err *e) {
    BinaryOut w = {
        .write = write, .ctx = ctx, .account = from->account, .n_cols = from->n_cols, .types = from->types, .e = e};
    Arena *a = arena_new(from->account, e);
    Status st = a && (w.arena = arena_new(from->account, e)) ? ST_OK : ST_ERROR;
    *n_rows = 0;
    if (st == ST_OK) st = out_begin(&w, a, rows_layout(from->rows));
    if (st == ST_OK) st = copy_each_run(from, put_run, &w, n_rows, e);
    if (st == ST_OK) st = put_int(&w, 2, -1);
    if (st == ST_OK) st = flush(&w);
    mem_free(from->account, w.buf, w.cap);
    arena_free(w.arena);
    arena_free(a);
    return st;
}

/* ---- in ------------------------------------------------------------------------------------------------ */

typedef struct BinaryIn {
    const CopyTarget *t;
    CopyRead read;
    void *ctx;
    char buf[FLUSH_BYTES];
    int64_t at, n;
    Arena *arena; /* of a batch's values */
    Vec *vecs;    /* by column of the table */
    int64_t n_rows, line, order;
    TableLoad *load;
    Err *e;
} BinaryIn;

static Status at_end(BinaryIn *r) { return err_set(r->e, ERR_BAD_COPY, "unexpected EOF in COPY data"); }
static Status get(BinaryIn *r, void *to, int64_t n) {
    for (char *p = to; n > 0;) {
        if (r->at == r->n) {
            r->at = 0;
            r->n = r->read(r->ctx, r->buf, sizeof r->buf);
            if (r->n < 0 && !err_is_set(r->e)) err_set(r->e, ERR_IO, "could not read COPY data");
            if (r->n < 0) return r->n = 0, ST_ERROR;
            if (r->n == 0) return at_end(r);
        }
        const int64_t k = MIN_OF(n, r->n - r->at);
        memcpy(p, r->buf + r->at, (size_t)k);
        p += k;
        r->at += k;
        n -= k;
    }
    return ST_OK;
}

/* The bytes of a field, of which parts are taken from the front. */
typedef struct Bytes {
    const uint8_t *p;
    int64_t n;
    bool short_of; /* there were fewer than wanted */
} Bytes;
static int64_t take_int(Bytes *b, int bytes) {
    uint64_t v = 0;
    if (b->n < bytes) {
        b->short_of = true;
        b->n = 0;
        return 0;
    }
    for (int i = 0; i < bytes; i++) v = v << 8 | b->p[i];
    b->p += bytes;
    b->n -= bytes;
    const int unused = 64 - 8 * bytes;
    return (int64_t)(v << unused) >> unused;
}
static Status wrong(BinaryIn *r) { return err_set(r->e, ERR_BAD_COPY, "incorrect binary data format"); }
static Status get_int(BinaryIn *r, int bytes, int64_t *out) {
    uint8_t b[8];
    TRY(get(r, b, bytes));
    Bytes all = {b, bytes, false};
    *out = take_int(&all, bytes);
    return ST_OK;
}

static Status take_value(BinaryIn *r, Type t, Bytes *b, Value *out);
/* A length and so many bytes; -1: NULL. */
static Status take_field(BinaryIn *r, Type t, Bytes *b, Value *out) {
    const int64_t n = take_int(b, 4);
    *out = (Value){.type = t, .is_null = true};
    if (b->short_of || n < -1 || n > b->n) return wrong(r);
    if (n < 0) return ST_OK;
    Bytes part = {b->p, n, false};
    b->p += n;
    b->n -= n;
    return take_value(r, t, &part, out);
}

static Status from_text(BinaryIn *r, Type t, const void *p, int64_t n, Value *out) {
    char hex[3];
    const int64_t bad = utf8_check(p, n);
    if (bad >= 0 || memchr(p, 0, (size_t)n)) {
        const uint8_t byte = bad >= 0 ? ((const uint8_t *)p)[bad] : 0;
        static const char digits[] = "0123456789abcdef";
        hex[0] = digits[byte >> 4];
        hex[1] = digits[byte & 15];
        hex[2] = 0;
        return err_set(r->e, ERR_CHAR_NOT_IN_REPERTOIRE, "invalid byte sequence for encoding \"UTF8\": 0x%s", hex);
    }
    char *copy = arena_strndup(r->arena, p, n); /* values borrow */
    return copy ? value_from_text(t, (Slice){copy, n}, r->t->session, r->arena, out, r->e) : err_oom(r->e);
}
static Status take_numeric(BinaryIn *r, Type t, Bytes *b, Value *out) {
    const int64_t n = take_int(b, 2), weight = take_int(b, 2), sign = take_int(b, 2) & 0xFFFF, scale = take_int(b, 2);
    if (b->short_of || n < 0 || scale < 0 || scale > 0x3FFF || b->n != 2 * n) return wrong(r);
    if (sign == 0xC000) return from_text(r, t, "NaN", 3, out);
    if (sign == 0xD000) return from_text(r, t, "Infinity", 8, out);
    if (sign == 0xF000) return from_text(r, t, "-Infinity", 9, out);
    if (sign != 0 && sign != 0x4000) return err_set(r->e, ERR_BAD_COPY, "invalid sign in external \"numeric\" value");
    const int64_t before = MAX_OF(weight + 1, INT64_C(1)), after = (scale + 3) / 4;
    char *text = arena_alloc(r->arena, 4 * (before + after) + 8), *s = text;
    int16_t *g = arena_array(r->arena, int16_t, n + 1);
    if (!text || !g) return err_oom(r->e);
    for (int64_t i = 0; i < n; i++) {
        g[i] = (int16_t)take_int(b, 2);
        if (g[i] < 0 || g[i] >= GROUP)
            return err_set(r->e, ERR_BAD_COPY, "invalid digit in external \"numeric\" value");
    }
    if (sign) *s++ = '-';
    for (int64_t i = -before; i < after; i++) { /* of the group: from the point */
        const int64_t k = i + weight + 1;
        int v = k >= 0 && k < n ? g[k] : 0;
        if (i == 0) *s++ = '.';
        for (int d = 1000; d > 0; d /= 10) *s++ = (char)('0' + v / d % 10);
    }
    return from_text(r, t, text, (s - text) - (after * 4 - scale), out);
}
static Status take_bits(BinaryIn *r, Type t, Bytes *b, Value *out) {
    const int64_t n = take_int(b, 4);
    if (b->short_of || n < 0 || b->n != (n + 7) / 8) return wrong(r);
    char *text = arena_alloc(r->arena, n + 1);
    if (!text) return err_oom(r->e);
    for (int64_t i = 0; i < n; i++) text[i] = (char)('0' + (b->p[i / 8] >> (7 - i % 8) & 1));
    return from_text(r, t, text, n, out);
}
static Status take_array(BinaryIn *r, Type t, Bytes *b, Value *out) {
    const Type of = type_element(t);
    const int64_t size = phys_size(type_phys(of)), n_dims = take_int(b, 4);
    ArrayShape shape = {.n = (int32_t)n_dims};
    uint32_t oid;
    int64_t n = 0;
    (void)take_int(b, 4); /* whether there are NULLs */
    TRY(oid_of(of, &oid, r->e));
    if ((uint32_t)take_int(b, 4) != oid || b->short_of || n_dims < 0 || n_dims > ARRAY_MAX_DIMS) return wrong(r);
    for (int64_t d = 0; d < n_dims; d++) {
        shape.dims[d].len = (int32_t)take_int(b, 4);
        shape.dims[d].low = (int32_t)take_int(b, 4);
        if (shape.dims[d].len < 0) return wrong(r);
    }
    if (n_dims > 0) TRY(array_shape_count(&shape, &n, r->e));
    if (b->short_of || n > b->n / 4) return wrong(r);
    char *cells = arena_calloc(r->arena, (n + 1) * size);
    uint8_t *valid = arena_alloc(r->arena, n + 1);
    if (!cells || !valid) return err_oom(r->e);
    bool nulls = false;
    for (int64_t i = 0; i < n; i++) {
        Value v;
        TRY(take_field(r, of, b, &v));
        valid[i] = !v.is_null;
        nulls |= v.is_null;
        if (!v.is_null) memcpy(cells + i * size, value_cell(&v), (size_t)size);
    }
    *out = (Value){.type = t};
    return n == 0 ? array_build(r->arena, type_phys(of), 0, cells, NULL, &out->u.str, r->e)
                  : array_build_shaped(r->arena, type_phys(of), &shape, cells, nulls ? valid : NULL, &out->u.str, r->e);
}
static Status take_row(BinaryIn *r, Type t, Bytes *b, Value *out) {
    const CompositeType *x = composite_of(t);
    Value *fields = x ? arena_array(r->arena, Value, x->n + 1) : NULL;
    if (!fields) return err_oom(r->e);
    if (take_int(b, 4) != x->n || b->short_of)
        return err_set(r->e, ERR_BAD_COPY, "wrong number of columns in a value of type %s", type_plain_name(t));
    for (int32_t i = 0; i < x->n; i++) {
        uint32_t oid;
        TRY(oid_of(x->fields[i].type, &oid, r->e));
        if ((uint32_t)take_int(b, 4) != oid) return wrong(r);
        TRY(take_field(r, x->fields[i].type, b, &fields[i]));
    }
    *out = (Value){.type = t};
    return composite_build(r->arena, x->n, fields, &out->u.str, r->e);
}

static Status take_bound(BinaryIn *r, const RangeType *x, Bytes *b, bool infinite, bool inclusive, RangeBound *out) {
    Value v;
    *out = (RangeBound){.infinite = infinite};
    if (infinite) return ST_OK;
    TRY(take_field(r, x->subtype, b, &v));
    return v.is_null ? wrong(r) : range_bound(x, &v, inclusive, r->arena, out, r->e);
}
/* All of b is one range. */
static Status take_range(BinaryIn *r, const RangeType *x, Bytes *b, RangeParts *room, RangeList *out) {
    const int64_t flags = take_int(b, 1);
    RangeParts parts;
    *out = (RangeList){0, room};
    if (b->short_of) return wrong(r);
    if (!(flags & FLAG_EMPTY)) {
        TRY(take_bound(r, x, b, (flags & FLAG_NO_LOWER) != 0, (flags & FLAG_LOWER) != 0, &parts.lower));
        TRY(take_bound(r, x, b, (flags & FLAG_NO_UPPER) != 0, (flags & FLAG_UPPER) != 0, &parts.upper));
        TRY(range_canonical(x, &parts, room, r->arena, out, r->e));
    }
    return b->n > 0 ? wrong(r) : ST_OK;
}
static Status take_ranges(BinaryIn *r, Type t, Bytes *b, Value *out) {
    const RangeType *x = range_of(t);
    RangeParts room;
    RangeList l = {0, &room}, one;
    *out = (Value){.type = t};
    if (!x) return err_internal(r->e, "a range of a type that is not known");
    if (t.id == T_RANGE) {
        TRY(take_range(r, x, b, &room, &l));
        return range_write(t, &l, r->arena, &out->u.str, r->e);
    }
    const int64_t n = take_int(b, 4);
    if (b->short_of || n < 0 || n > b->n / 5) return wrong(r); /* a length and flags are five bytes */
    if (!(l.items = arena_array(r->arena, RangeParts, n + 1))) return err_oom(r->e);
    for (int64_t i = 0; i < n; i++) {
        const int64_t bytes = take_int(b, 4);
        if (b->short_of || bytes < 0 || bytes > b->n) return wrong(r);
        Bytes part = {b->p, bytes, false};
        b->p += bytes;
        b->n -= bytes;
        TRY(take_range(r, x, &part, &l.items[l.n], &one));
        l.n += one.n;
    }
    if (b->n > 0) return wrong(r);
    range_list_canonical(&l);
    return range_write(t, &l, r->arena, &out->u.str, r->e);
}

static Status in_range(BinaryIn *r, Type t, bool ok) {
    return ok ? ST_OK : err_set(r->e, ERR_DATETIME_OVERFLOW, "%s out of range", type_base_name((TypeId)t.id));
}
static Status take_time(BinaryIn *r, Type t, Bytes *b, Value *out) {
    const bool date = t.id == T_DATE, day = t.id == T_TIME || t.id == T_TIMETZ;
    const int64_t given = take_int(b, date ? 4 : 8), west = t.id == T_TIMETZ ? take_int(b, 4) : 0;
    const int64_t least = date ? -2451545 : day ? 0 : INT64_C(-211813488000000000);
    const int64_t most = date ? 2145031948 : day ? INT64_C(86400000000) : INT64_C(9223371331199999999);
    const bool endless =
        date ? given == INT32_MAX || given == INT32_MIN : !day && (given == INT64_MAX || given == INT64_MIN);
    TRY(in_range(r, t, endless || (given >= least && given <= most)));
    const int64_t v = date || endless ? given : micros_round(given, t.precision);
    TRY(in_range(r, t, endless || v <= most));
    TRY(in_range(r, t, west > -57600 && west < 57600));
    if (date) out->u.i32 = (int32_t)v;
    else if (t.id == T_TIMETZ) out->u.i64 = timetz_make(v, (int32_t)-west);
    else out->u.i64 = v;
    return ST_OK;
}
static Status take_fixed(BinaryIn *r, Type t, Bytes *b, Value *out) {
    *out = (Value){.type = t};
    switch ((TypeId)t.id) {
    case T_BOOL: out->u.b = take_int(b, 1) != 0; break;
    case T_INT2: out->u.i16 = (int16_t)take_int(b, 2); break;
    case T_INT4: out->u.i32 = (int32_t)take_int(b, 4); break;
    case T_INT8: out->u.i64 = take_int(b, 8); break;
    case T_FLOAT4: {
        const int32_t bits = (int32_t)take_int(b, 4);
        memcpy(value_cell(out), &bits, sizeof bits);
        break;
    }
    case T_FLOAT8: {
        const int64_t bits = take_int(b, 8);
        memcpy(value_cell(out), &bits, sizeof bits);
        break;
    }
    case T_INTERVAL: {
        Interval x = {.micros = take_int(b, 8)};
        x.days = (int32_t)take_int(b, 4);
        x.months = (int32_t)take_int(b, 4);
        interval_fit(t, &x);
        memcpy(value_cell(out), &x, sizeof x);
        break;
    }
    case T_UUID:
        if (b->n != 16) return wrong(r);
        memcpy(value_cell(out), b->p, 16);
        return ST_OK;
    case T_LSN: out->u.i64 = lsn_cell((uint64_t)take_int(b, 8)); break;
    case T_MONEY: out->u.i64 = take_int(b, 8); break;
    default: TRY(take_time(r, t, b, out)); break;
    }
    return b->short_of || b->n > 0 ? wrong(r) : ST_OK;
}
static Status take_value(BinaryIn *r, Type t, Bytes *b, Value *out) {
    TRY(stack_check(r->e));
    switch ((TypeId)t.id) {
    case T_NUMERIC:
    case T_DECIMAL: return take_numeric(r, t, b, out);
    case T_BIT:
    case T_VARBIT: return take_bits(r, t, b, out);
    case T_ARRAY: return take_array(r, t, b, out);
    case T_COMPOSITE: return take_row(r, t, b, out);
    case T_RANGE:
    case T_MULTIRANGE: return take_ranges(r, t, b, out);
    case T_JSONB:
    case T_JSONPATH:
        if (take_int(b, 1) != 1 || b->short_of) return wrong(r);
        return from_text(r, t, b->p, b->n, out);
    case T_BYTEA: {
        char *copy = arena_strndup(r->arena, (const char *)b->p, b->n);
        if (!copy) return err_oom(r->e);
        *out = (Value){.type = t, .u.str = str_make(copy, b->n)};
        return ST_OK;
    }
    default:
        return type_phys(t) == PH_STR || t.id == T_ENUM ? from_text(r, t, b->p, b->n, out) : take_fixed(r, t, b, out);
    }
}

static Status get_row(BinaryIn *r) {
    for (int i = 0; i < r->t->n_cols; i++) {
        const int col = r->t->cols[i];
        Vec *v = &r->vecs[col];
        int64_t n;
        Value value = {.is_null = true};
        TRY(get_int(r, 4, &n));
        if (n < -1) return err_set(r->e, ERR_BAD_COPY, "invalid field size");
        if (n >= 0) {
            uint8_t *p = arena_alloc(r->arena, n + 1);
            if (!p) return err_oom(r->e);
            TRY(get(r, p, n));
            Bytes b = {p, n, false};
            if (take_value(r, v->type, &b, &value) != ST_OK) {
                err_context(r->e, "COPY %s, line %lld, column %s", r->t->table->name, (long long)r->line,
                            r->t->table->cols[col].name);
                return ST_ERROR;
            }
        }
        v->valid[r->n_rows] = !value.is_null;
        const int64_t size = phys_size((Phys)v->phys);
        if (value.is_null) memset((char *)v->data + r->n_rows * size, 0, (size_t)size);
        else memcpy((char *)v->data + r->n_rows * size, value_cell(&value), (size_t)size);
    }
    r->n_rows++;
    return ST_OK;
}
static Status load_batch(BinaryIn *r) {
    const Table *t = r->t->table;
    const NewRows x = {.n = r->n_rows, .n_cols = t->n_cols, .vals = r->vecs};
    TRY(rows_check(t, &x, NULL, r->e));
    TRY(load_add(r->load, 0, r->order++, r->n_rows, r->vecs, r->e));
    r->n_rows = 0;
    arena_reset(r->arena);
    return ST_OK;
}
static Status get_rows(BinaryIn *r) {
    for (int64_t n;;) {
        r->line++;
        TRY(get_int(r, 2, &n));
        if (n == -1) return r->n_rows > 0 ? load_batch(r) : ST_OK;
        if (n != r->t->n_cols)
            return err_set(r->e, ERR_BAD_COPY, "row field count is %d, expected %d", (int)n, r->t->n_cols);
        TRY(get_row(r));
        if (r->n_rows == BATCH) TRY(load_batch(r));
        if (r->t->cancel && atomic_load(r->t->cancel))
            return err_set(r->e, ERR_QUERY_CANCELED, "canceling statement due to user request");
    }
}
static Status get_header(BinaryIn *r) {
    char start[sizeof signature];
    int64_t flags, extension;
    if (get(r, start, sizeof start) != ST_OK || memcmp(start, signature, sizeof start) != 0) {
        err_clear(r->e);
        return err_set(r->e, ERR_BAD_COPY, "COPY file signature not recognized");
    }
    TRY(get_int(r, 4, &flags));
    if (flags & (1 << 16)) return err_set(r->e, ERR_BAD_COPY, "invalid COPY file header (WITH OIDS)");
    if ((flags >> 16) != 0) return err_set(r->e, ERR_BAD_COPY, "unrecognized critical flags in COPY file header");
    TRY(get_int(r, 4, &extension));
    if (extension < 0) return err_set(r->e, ERR_BAD_COPY, "invalid COPY file header (missing length)");
    for (char skipped; extension > 0; extension--) TRY(get(r, &skipped, 1));
    return ST_OK;
}

/* Room for a batch of each column of the data, and constants for the others. */
static Status in_begin(BinaryIn *r, Arena *a) {
    const Table *tab = r->t->table;
    if (!(r->vecs = arena_array(a, Vec, tab->n_cols + 1))) return err_oom(r->e);
    for (int c = 0; c < tab->n_cols; c++) {
        const Type type = tab->cols[c].type;
        Value *val = arena_new_of(a, Value);
        uint8_t *valid = arena_calloc(a, 1);
        if (!val || !valid) return err_oom(r->e);
        *val = (Value){.type = type, .is_null = true};
        if (r->t->defaults && !r->t->defaults[c].is_null) *val = r->t->defaults[c];
        else if (type_phys(type) == PH_STR) val->u.str = str_make("", 0);
        r->vecs[c] = (Vec){.phys = (uint8_t)type_phys(type), .type = type, .is_const = true, .data = value_cell(val)};
        if (val->is_null) r->vecs[c].valid = valid;
    }
    for (int i = 0; i < r->t->n_cols; i++) {
        Vec *v = &r->vecs[r->t->cols[i]];
        v->is_const = false;
        v->data = arena_calloc(a, phys_size((Phys)v->phys) * BATCH);
        v->valid = arena_calloc(a, BATCH);
        if (!v->data || !v->valid) return err_oom(r->e);
    }
    return load_begin(r->t->table, 1, &r->load, r->e);
}
Status copy_binary_from(const CopyTarget *t, CopyRead read, void *ctx, UndoLog *undo, int64_t *rows, Err *e) {
    *rows = 0;
    BinaryIn *r = mem_calloc(t->account, (int64_t)sizeof *r, e);
    if (!r) return ST_ERROR;
    *r = (BinaryIn){.t = t, .read = read, .ctx = ctx, .e = e};
    Arena *a = arena_new(t->account, e);
    Status st = a && (r->arena = arena_new(t->account, e)) ? ST_OK : ST_ERROR;
    if (st == ST_OK) st = in_begin(r, a);
    if (st == ST_OK && t->unlock) t->unlock(t->lock_ctx);
    if (st == ST_OK) st = get_header(r);
    if (st == ST_OK) st = get_rows(r);
    if (st == ST_OK && t->lock) st = t->lock(t->lock_ctx);
    if (st == ST_OK) st = load_finish(r->load, t->pool, undo, rows, e);
    load_cancel(r->load);
    arena_free(r->arena);
    arena_free(a);
    mem_free(t->account, r, (int64_t)sizeof *r);
    return st;
}
