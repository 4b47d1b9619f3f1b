/* bulk_arrow.c - bulks and Arrow's C data interface (https://arrow.apache.org/docs/format/CDataInterface.html): a
 * record batch becomes calls, results become a record batch.
 *
 * Batches come from other programs: everything that can be checked is checked before anything is read (release
 * callbacks, formats, numbers of children and buffers, lengths, offsets), and values as any input is. What cannot be
 * checked is that buffers are as long as the lengths say. Values are copied: a batch stays its maker's.
 */
#include "api/bulk_int.h"

#include <stdio.h>

#include "types/array.h"

enum { EPOCH_DAYS = 10957 }; /* 1970-01-01 to 2000-01-01 */
#define OFFSET_MAX (INT64_C(1) << 60)
#define EPOCH_MICROS (INT64_C(946684800) * 1000000)

/* ---- in ----------------------------------------------------------------------------------------------------- */
/* A column as a batch has it: checked, `first` the position of call 0. */
typedef struct ArrowColumn {
    const struct ArrowSchema *schema;
    const struct ArrowArray *array;
    int64_t first, n;
    Type type;        /* of the parameter, or of its elements */
    const char *what; /* type's name, for messages */
    int param;        /* from 1 */
} ArrowColumn;

/* Position of the first row; -1 when it cannot be. */
static int64_t start_of(int64_t at, const struct ArrowArray *a) {
    return !a || at > OFFSET_MAX || a->offset < 0 || a->offset > OFFSET_MAX ? -1 : at + a->offset;
}
static bool bit(const void *bits, int64_t i) { return ((const uint8_t *)bits)[i >> 3] >> (i & 7) & 1; }
static bool is_valid(const ArrowColumn *c, int64_t i) {
    const void *bits = c->array->n_buffers > 0 ? c->array->buffers[0] : NULL;
    return !bits || bit(bits, c->first + i);
}

static Status malformed(const ArrowColumn *c, const char *what, Err *e) {
    return err_set(e, ERR_INVALID_PARAMETER, "the Arrow column of parameter %d is malformed: %s", c->param, what);
}
static Status mismatch(const ArrowColumn *c, Err *e) {
    err_set(e, ERR_DATATYPE_MISMATCH, "parameter %d is of type %s, but its Arrow column has format \"%.60s\"", c->param,
            c->what, c->schema->format);
    return ST_ERROR;
}
static Status out_of_range(const ArrowColumn *c, int64_t i, Err *e) {
    err_set(e, ERR_NUMERIC_RANGE, "value out of range for type %s", c->what);
    err_context(e, "row %lld of the Arrow column of parameter %d", (long long)i + 1, c->param);
    return ST_ERROR;
}

/* Structure alone: of buffers that `format` has (-1: unknown format). */
static int buffers_of(const char *f) {
    static const char *const two[] = {"b", "c", "C", "s", "S", "i", "I", "l", "L", "f", "g", "tdD", "ttu", "w:16"};
    if (strcmp(f, "n") == 0) return 0;
    for (size_t i = 0; i < ARRAY_LEN(two); i++)
        if (strcmp(f, two[i]) == 0) return 2;
    if (strncmp(f, "ts", 2) == 0 || strncmp(f, "d:", 2) == 0) return 2;
    if (strcmp(f, "u") == 0 || strcmp(f, "U") == 0 || strcmp(f, "z") == 0 || strcmp(f, "Z") == 0) return 3;
    return strcmp(f, "+l") == 0 || strcmp(f, "+L") == 0 ? 2 : -1;
}
static Status check_column(const ArrowColumn *c, Err *e) {
    const struct ArrowSchema *s = c->schema;
    const struct ArrowArray *a = c->array;
    if (!s || !a || !s->release || !a->release || !s->format) return malformed(c, "it has been released", e);
    if (s->dictionary || a->dictionary)
        return err_set(e, ERR_FEATURE_NOT_SUPPORTED,
                       "the Arrow column of parameter %d is dictionary-encoded, which is not supported", c->param);
    int n = buffers_of(s->format);
    if (n < 0) return mismatch(c, e);
    bool list = s->format[0] == '+';
    if (a->length < 0 || a->offset < 0 || a->null_count < -1 || a->null_count > a->length)
        return malformed(c, "its length, offset or null count", e);
    if (c->first < a->offset || c->first - a->offset > a->length || c->n > a->length - (c->first - a->offset))
        return malformed(c, "it is shorter than the batch", e);
    if (a->n_buffers != n || (n > 0 && !a->buffers)) return malformed(c, "the number of its buffers", e);
    if (s->n_children != (list ? 1 : 0) || a->n_children != s->n_children || (list && (!s->children || !a->children)))
        return malformed(c, "the number of its children", e);
    if (n > 0 && a->null_count > 0 && !a->buffers[0]) return malformed(c, "it has NULLs but no validity", e);
    for (int i = 1; i < n && c->n > 0; i++)
        if (!a->buffers[i] && i == 1) return malformed(c, "a buffer is missing", e);
    return ST_OK;
}

/* [from, to) of a row of a column of variable size. */
static Status bounds(const ArrowColumn *c, int64_t i, bool wide, int64_t *from, int64_t *to, Err *e) {
    const void *o = c->array->buffers[1];
    int64_t at = c->first + i;
    if (wide) *from = ((const int64_t *)o)[at], *to = ((const int64_t *)o)[at + 1];
    else *from = ((const int32_t *)o)[at], *to = ((const int32_t *)o)[at + 1];
    return *from < 0 || *to < *from || *to > OFFSET_MAX ? malformed(c, "its offsets", e) : ST_OK;
}

/* An integer of any width; false: an unsigned one beyond 64 bits signed. */
static bool int_at(char format, const void *d, int64_t at, int64_t *v) {
    switch (format) {
    case 'c': *v = ((const int8_t *)d)[at]; return true;
    case 'C': *v = ((const uint8_t *)d)[at]; return true;
    case 's': *v = ((const int16_t *)d)[at]; return true;
    case 'S': *v = ((const uint16_t *)d)[at]; return true;
    case 'i': *v = ((const int32_t *)d)[at]; return true;
    case 'I': *v = ((const uint32_t *)d)[at]; return true;
    case 'l': *v = ((const int64_t *)d)[at]; return true;
    default: {
        uint64_t u = ((const uint64_t *)d)[at];
        *v = (int64_t)u;
        return u <= INT64_MAX;
    }
    }
}
static bool is_int_format(const char *f) { return f[0] && !f[1] && strchr("cCsSiIlL", f[0]); }

static Status ints(const ArrowColumn *c, char *cells, const uint8_t *valid, Err *e) {
    static const int64_t lo[] = {[T_INT2] = INT16_MIN, [T_INT4] = INT32_MIN, [T_INT8] = INT64_MIN},
                         hi[] = {[T_INT2] = INT16_MAX, [T_INT4] = INT32_MAX, [T_INT8] = INT64_MAX};
    int64_t size = phys_size(type_phys(c->type)), v;
    if (!is_int_format(c->schema->format)) return mismatch(c, e);
    for (int64_t i = 0; i < c->n; i++) {
        if (!valid[i]) continue;
        if (!int_at(c->schema->format[0], c->array->buffers[1], c->first + i, &v) || v < lo[c->type.id] ||
            v > hi[c->type.id])
            return out_of_range(c, i, e);
        memcpy(cells + i * size, &v, (size_t)size); /* little-endian */
    }
    return ST_OK;
}

static Status numerics(const ArrowColumn *c, char *cells, const uint8_t *valid, Err *e) {
    const char *f = c->schema->format;
    int precision = 0, scale = 0, bits = 128;
    bool whole = is_int_format(f);
    if (!whole && (sscanf(f, "d:%d,%d,%d", &precision, &scale, &bits) < 2 || bits != 128 || precision < 1 ||
                   precision > 38 || scale < 0 || scale > 38))
        return mismatch(c, e);
    int64_t size = phys_size(type_phys(c->type));
    for (int64_t i = 0; i < c->n; i++) {
        int128_t v, scaled;
        int64_t n;
        if (!valid[i]) continue;
        if (whole) {
            if (!int_at(f[0], c->array->buffers[1], c->first + i, &n)) v = (int128_t)(uint64_t)n;
            else v = n;
        } else {
            memcpy(&v, (const char *)c->array->buffers[1] + 16 * (c->first + i), 16);
            if (numeric_exceeds(v, precision)) return out_of_range(c, i, e);
        }
        if (numeric_rescale(v, scale, c->type.scale, &scaled) || numeric_exceeds(scaled, c->type.precision))
            return out_of_range(c, i, e);
        memcpy(cells + i * size, &scaled, (size_t)size);
    }
    return ST_OK;
}

static Status floats(const ArrowColumn *c, char *cells, const uint8_t *valid, Err *e) {
    const char *f = c->schema->format;
    bool single = strcmp(f, "f") == 0;
    if (!single && strcmp(f, "g") != 0) return mismatch(c, e);
    for (int64_t i = 0; i < c->n; i++) {
        if (!valid[i]) continue;
        double v = single ? (double)((const float *)c->array->buffers[1])[c->first + i]
                          : ((const double *)c->array->buffers[1])[c->first + i];
        float r = (float)v;
        if (c->type.id == T_FLOAT8) memcpy(cells + i * 8, &v, 8);
        else memcpy(cells + i * 4, &r, 4);
    }
    return ST_OK;
}

/* Days and microseconds since 1970, in any of Arrow's units that are whole microseconds. */
static Status times(const ArrowColumn *c, char *cells, const uint8_t *valid, Err *e) {
    const char *f = c->schema->format;
    bool zoned = c->type.id == T_TIMESTAMPTZ;
    int64_t unit = 1;
    if (c->type.id == T_DATE && strcmp(f, "tdD") != 0) return mismatch(c, e);
    if (c->type.id == T_TIME && strcmp(f, "ttu") != 0) return mismatch(c, e);
    if (c->type.id == T_TIMESTAMP || zoned) {
        if (strncmp(f, "ts", 2) != 0 || !strchr("smu", f[2]) || !f[2] || f[3] != ':' || (f[4] != 0) != zoned)
            return mismatch(c, e); /* a zone says that values are in UTC */
        unit = f[2] == 's' ? 1000000 : f[2] == 'm' ? 1000 : 1;
    }
    for (int64_t i = 0; i < c->n; i++) {
        if (!valid[i]) continue;
        int64_t v;
        if (c->type.id == T_DATE) {
            v = (int64_t)((const int32_t *)c->array->buffers[1])[c->first + i] - EPOCH_DAYS;
            if (v <= INT32_MIN || v >= INT32_MAX) return out_of_range(c, i, e);
            int32_t day = (int32_t)v;
            memcpy(cells + i * 4, &day, 4);
            continue;
        }
        v = ((const int64_t *)c->array->buffers[1])[c->first + i];
        if (c->type.id == T_TIME ? v < 0 || v > INT64_C(86400000000)
                                 : __builtin_mul_overflow(v, unit, &v) || __builtin_sub_overflow(v, EPOCH_MICROS, &v) ||
                                       v == INT64_MIN || v == INT64_MAX)
            return out_of_range(c, i, e);
        memcpy(cells + i * 8, &v, 8);
    }
    return ST_OK;
}

static Status texts(const ArrowColumn *c, Arena *a, Str *cells, const uint8_t *valid, Err *e) {
    const char *f = c->schema->format;
    bool bytes = c->type.id == T_BYTEA, wide = f[0] == 'U' || f[0] == 'Z';
    if (f[1] || !f[0] || !strchr(bytes ? "zZ" : "uU", f[0])) return mismatch(c, e);
    for (int64_t i = 0; i < c->n; i++) {
        int64_t from, to;
        if (!valid[i]) continue;
        TRY(bounds(c, i, wide, &from, &to, e));
        if (to > from && !c->array->buffers[2]) return malformed(c, "a buffer is missing", e);
        char *copy = arena_strndup(a, to > from ? (const char *)c->array->buffers[2] + from : "", to - from);
        if (!copy) return err_is_set(e) ? ST_ERROR : err_oom(e);
        if (bytes) {
            if (to - from > UINT32_MAX) return out_of_range(c, i, e);
            cells[i] = str_make(copy, to - from);
            continue;
        }
        Value v;
        if (utf8_check(copy, to - from) >= 0)
            err_set(e, ERR_CHAR_NOT_IN_REPERTOIRE, "invalid byte sequence for encoding \"UTF8\"");
        if (err_is_set(e) || value_from_text(c->type, (Slice){copy, to - from}, NULL, a, &v, e) != ST_OK) {
            err_context(e, "row %lld of the Arrow column of parameter %d", (long long)i + 1, c->param);
            return ST_ERROR;
        }
        cells[i] = v.u.str;
    }
    return ST_OK;
}

static Status convert(const ArrowColumn *c, Arena *a, void *cells, uint8_t *valid, Err *e);

static Status lists(const ArrowColumn *c, Arena *a, Str *cells, const uint8_t *valid, Err *e) {
    const char *f = c->schema->format;
    char what[80];
    if (f[0] != '+' || (f[1] != 'l' && f[1] != 'L')) return mismatch(c, e);
    Type type = type_element(c->type);
    Phys phys = type_phys(type);
    ArrowColumn item = {.schema = c->schema->children[0],
                        .array = c->array->children[0],
                        .type = type,
                        .what = type_name(type, what, sizeof what),
                        .param = c->param};
    for (int64_t i = 0; i < c->n; i++) {
        int64_t from, to;
        if (!valid[i]) continue;
        TRY(bounds(c, i, f[1] == 'L', &from, &to, e));
        if (to - from > ARRAY_MAX_ELEMENTS) return out_of_range(c, i, e);
        item.n = to - from;
        item.first = start_of(from, item.array);
        TRY(check_column(&item, e));
        char *v = arena_calloc(a, item.n * phys_size(phys) + 16);
        uint8_t *ok = arena_alloc(a, item.n + 1);
        if (!v || !ok) return err_is_set(e) ? ST_ERROR : err_oom(e);
        TRY(convert(&item, a, v, ok, e));
        TRY(array_build(a, phys, item.n, v, ok, &cells[i], e));
    }
    return ST_OK;
}

/* Cells (zeroed) and valid[] of the parameter. The column has been checked. */
static Status convert(const ArrowColumn *c, Arena *a, void *cells, uint8_t *valid, Err *e) {
    if (strcmp(c->schema->format, "n") == 0) {
        memset(valid, 0, (size_t)c->n);
        return ST_OK;
    }
    for (int64_t i = 0; i < c->n; i++) valid[i] = is_valid(c, i);
    switch ((TypeId)c->type.id) {
    case T_BOOL:
        if (strcmp(c->schema->format, "b") != 0) return mismatch(c, e);
        for (int64_t i = 0; i < c->n; i++) ((uint8_t *)cells)[i] = valid[i] && bit(c->array->buffers[1], c->first + i);
        return ST_OK;
    case T_INT2:
    case T_INT4:
    case T_INT8: return ints(c, cells, valid, e);
    case T_NUMERIC: return numerics(c, cells, valid, e);
    case T_FLOAT4:
    case T_FLOAT8: return floats(c, cells, valid, e);
    case T_DATE:
    case T_TIME:
    case T_TIMESTAMP:
    case T_TIMESTAMPTZ: return times(c, cells, valid, e);
    case T_CHAR:
    case T_VARCHAR:
    case T_TEXT:
    case T_BYTEA: return texts(c, a, cells, valid, e);
    case T_UUID:
        if (strcmp(c->schema->format, "w:16") != 0) return mismatch(c, e);
        for (int64_t i = 0; i < c->n; i++)
            if (valid[i]) memcpy((char *)cells + 16 * i, (const char *)c->array->buffers[1] + 16 * (c->first + i), 16);
        return ST_OK;
    case T_ARRAY: return lists(c, a, cells, valid, e);
    default: return mismatch(c, e);
    }
}

stele_status stele_bulk_add_arrow(stele_bulk *b, const struct ArrowSchema *schema, const struct ArrowArray *batch) {
    Session *s = b->conn->s;
    Err *e = &s->err;
    err_clear(e);
    if (!schema || !batch || !schema->release || !batch->release)
        return err_set(e, ERR_INVALID_PARAMETER, "the Arrow batch has been released"), STELE_ERROR;
    if (!schema->format || strcmp(schema->format, "+s") != 0)
        return err_set(e, ERR_INVALID_PARAMETER, "an Arrow batch is a struct, format \"+s\""), STELE_ERROR;
    if (schema->n_children != b->n_params || batch->n_children != b->n_params ||
        (b->n_params > 0 && (!schema->children || !batch->children)))
        return err_set(e, ERR_INVALID_PARAMETER,
                       "the Arrow batch has %lld columns, but the routine takes %d parameters",
                       (long long)schema->n_children, b->n_params),
               STELE_ERROR;
    if (batch->length < 0 || batch->offset < 0 || batch->n_buffers != 1)
        return err_set(e, ERR_INVALID_PARAMETER, "the Arrow batch is malformed"), STELE_ERROR;
    if (batch->null_count != 0 && batch->buffers && batch->buffers[0])
        for (int64_t i = 0; i < batch->length; i++)
            if (!bit(batch->buffers[0], batch->offset + i))
                return err_set(e, ERR_INVALID_PARAMETER, "row %lld of the Arrow batch is NULL as a whole",
                               (long long)i + 1),
                       STELE_ERROR;
    int64_t n = batch->length;
    if (api_bulk_reserve(b, n) != ST_OK) return STELE_ERROR;
    for (int i = 0; i < b->n_params; i++) { /* calls are there once all columns are */
        BulkParam *p = &b->params[i];
        ArrowColumn c = {.schema = schema->children[i],
                         .array = batch->children[i],
                         .n = n,
                         .type = p->type,
                         .what = b->type_names[i],
                         .param = i + 1};
        c.first = start_of(batch->offset, c.array);
        if (check_column(&c, e) != ST_OK) return STELE_ERROR;
        if (n == 0) continue;
        uint8_t *cells = p->cells + b->n * phys_size(p->phys), *valid = p->valid + b->n;
        memset(cells, 0, (size_t)(n * phys_size(p->phys)));
        if (convert(&c, b->texts, cells, valid, e) != ST_OK) return STELE_ERROR;
    }
    b->n += n;
    return STELE_OK;
}

/* ---- out ---------------------------------------------------------------------------------------------------- */
/* Everything of a batch lies in one arena; its parts may be moved and released one by one. */
typedef struct Shared {
    _Atomic int64_t refs;
    Arena *arena;
} Shared;
static void let_go(Shared *x) {
    if (atomic_fetch_sub(&x->refs, 1) == 1) arena_free(x->arena);
}
static void release_schema(struct ArrowSchema *s) {
    for (int64_t i = 0; i < s->n_children; i++)
        if (s->children[i]->release) s->children[i]->release(s->children[i]);
    s->release = NULL;
    let_go(s->private_data);
}
static void release_array(struct ArrowArray *x) {
    for (int64_t i = 0; i < x->n_children; i++)
        if (x->children[i]->release) x->children[i]->release(x->children[i]);
    x->release = NULL;
    let_go(x->private_data);
}

static const char *format_of(Arena *a, Type t) {
    switch ((TypeId)t.id) {
    case T_BOOL: return "b";
    case T_INT2: return "s";
    case T_INT4: return "i";
    case T_INT8: return "l";
    case T_NUMERIC: return arena_printf(a, "d:%d,%d", t.precision, t.scale);
    case T_FLOAT4: return "f";
    case T_FLOAT8: return "g";
    case T_DATE: return "tdD";
    case T_TIME: return "ttu";
    case T_TIMESTAMP: return "tsu:";
    case T_TIMESTAMPTZ: return "tsu:UTC";
    case T_BYTEA: return "Z";
    case T_UUID: return "w:16";
    default: return "U"; /* texts, and the text of what Arrow has no type for */
    }
}

typedef struct Out {
    Arena *a;
    Shared *shared;
    const stele_bulk *b;
    int64_t n;
} Out;

/* Texts of the column's rows: from text_of. */
static bool put_texts(Out *o, struct ArrowArray *x, bool (*text_of)(Out *o, int64_t call, int column, Slice *out),
                      int column) {
    int64_t *offsets = arena_alloc(o->a, (o->n + 1) * 8), at = 0;
    Slice *s = arena_array(o->a, Slice, o->n + 1);
    if (!offsets || !s) return false;
    for (int64_t i = 0; i < o->n; i++) {
        s[i] = (Slice){"", 0};
        if (!text_of(o, i, column, &s[i])) return false;
        offsets[i] = at;
        at += s[i].len;
    }
    offsets[o->n] = at;
    char *bytes = arena_alloc(o->a, at + 1);
    if (!bytes) return false;
    for (int64_t i = 0; i < o->n; i++)
        if (s[i].len > 0) memcpy(bytes + offsets[i], s[i].ptr, (size_t)s[i].len);
    x->buffers[1] = offsets;
    x->buffers[2] = bytes;
    return true;
}
static bool error_text(Out *o, int64_t call, int column, Slice *out) {
    const CallError *e = api_bulk_error(o->b, call);
    if (e) *out = slice_of(column == 0 ? e->sqlstate : e->message ? e->message : "");
    return true;
}
static bool is_there(const Out *o, const Vec *v, int64_t first, int64_t call) {
    return !api_bulk_error(o->b, call) && (!v->valid || v->valid[first + call]);
}
static bool value_text(Out *o, int64_t call, int column, Slice *out) {
    int64_t first;
    const Vec *v = &api_bulk_outs(o->b, &first)[column];
    if (!is_there(o, v, first, call)) return true;
    Value x = {.type = o->b->out_types[column]};
    memcpy(value_cell(&x), (const char *)v->data + (first + call) * phys_size((Phys)v->phys),
           (size_t)phys_size((Phys)v->phys));
    if (x.type.id == T_BYTEA) {
        *out = (Slice){x.u.str.ptr, x.u.str.len};
        return true;
    }
    out->ptr = value_to_text(o->a, &x, &out->len);
    return out->ptr != NULL;
}

static bool put_cells(Out *o, struct ArrowArray *x, int column) {
    int64_t first;
    const Vec *v = &api_bulk_outs(o->b, &first)[column];
    Type t = o->b->out_types[column];
    int64_t size = phys_size((Phys)v->phys), to = t.id == T_NUMERIC ? 16 : size;
    char *cells = arena_calloc(o->a, t.id == T_BOOL ? o->n / 8 + 8 : o->n * to + 8);
    if (!cells) return false;
    for (int64_t i = 0; i < o->n; i++) {
        if (!is_there(o, v, first, i)) continue;
        const char *cell = (const char *)v->data + (first + i) * size;
        if (t.id == T_BOOL) {
            if (*cell) cells[i >> 3] = (char)(cells[i >> 3] | 1 << (i & 7));
        } else if (t.id == T_NUMERIC) {
            int128_t n = 0;
            int64_t narrow;
            if (size == 8) memcpy(&narrow, cell, 8), n = narrow;
            else memcpy(&n, cell, 16);
            memcpy(cells + i * 16, &n, 16);
        } else if (t.id == T_DATE) {
            int32_t day;
            memcpy(&day, cell, 4);
            if (day != INT32_MIN && day <= INT32_MAX - EPOCH_DAYS) day += EPOCH_DAYS; /* infinities stay at the ends */
            else if (day != INT32_MIN) day = INT32_MAX;
            memcpy(cells + i * 4, &day, 4);
        } else if (t.id == T_TIMESTAMP || t.id == T_TIMESTAMPTZ) {
            int64_t at;
            memcpy(&at, cell, 8);
            if (at != INT64_MIN && __builtin_add_overflow(at, EPOCH_MICROS, &at)) at = INT64_MAX;
            memcpy(cells + i * 8, &at, 8);
        } else {
            memcpy(cells + i * to, cell, (size_t)to);
        }
    }
    x->buffers[1] = cells;
    return true;
}

/* ArrowColumn k of the batch: sqlstate, message, OUT values. */
static bool put_column(Out *o, int k, struct ArrowSchema *s, struct ArrowArray *x) {
    bool is_error = k < 2;
    Type t = is_error ? type_make(T_TEXT) : o->b->out_types[k - 2];
    *s = (struct ArrowSchema){.format = format_of(o->a, t),
                              .name = k == 0   ? "sqlstate"
                                      : k == 1 ? "message"
                                               : arena_strdup(o->a, o->b->out_names[k - 2]),
                              .flags = ARROW_FLAG_NULLABLE,
                              .release = release_schema,
                              .private_data = o->shared};
    *x = (struct ArrowArray){.length = o->n,
                             .buffers = arena_array(o->a, const void *, 4),
                             .release = release_array,
                             .private_data = o->shared};
    uint8_t *bits = arena_calloc(o->a, o->n / 8 + 8);
    if (!s->format || !s->name || !x->buffers || !bits) return false;
    bool text = s->format[0] == 'U' || s->format[0] == 'Z';
    int64_t first = 0;
    const Vec *v = is_error ? NULL : &api_bulk_outs(o->b, &first)[k - 2];
    for (int64_t i = 0; i < o->n; i++) {
        bool there = is_error ? api_bulk_error(o->b, i) != NULL : is_there(o, v, first, i);
        if (there) bits[i >> 3] = (uint8_t)(bits[i >> 3] | 1 << (i & 7));
        x->null_count += !there;
    }
    x->buffers[0] = bits;
    x->n_buffers = text ? 3 : 2;
    if (!text) return put_cells(o, x, k - 2);
    return put_texts(o, x, is_error ? error_text : value_text, is_error ? k : k - 2);
}

stele_status stele_bulk_get_arrow(stele_bulk *b, struct ArrowSchema *schema, struct ArrowArray *batch) {
    Session *s = b->conn->s;
    err_clear(&s->err);
    memset(schema, 0, sizeof *schema);
    memset(batch, 0, sizeof *batch);
    if (!api_bulk_ran(b)) return err_set(&s->err, ERR_NOT_IN_STATE, "the calls have not run"), STELE_ERROR;
    int n = b->n_outs + 2;
    Arena *a = arena_new(NULL, &s->err);
    Shared *shared = a ? arena_new_of(a, Shared) : NULL;
    struct ArrowSchema *schemas = a ? arena_array(a, struct ArrowSchema, n) : NULL;
    struct ArrowArray *arrays = a ? arena_array(a, struct ArrowArray, n) : NULL;
    struct ArrowSchema **schema_of = a ? arena_array(a, struct ArrowSchema *, n) : NULL;
    struct ArrowArray **array_of = a ? arena_array(a, struct ArrowArray *, n) : NULL;
    const void **buffers = a ? arena_array(a, const void *, 1) : NULL;
    bool ok = shared && schemas && arrays && schema_of && array_of && buffers;
    Out o = {.a = a, .shared = shared, .b = b, .n = b->n};
    if (ok) {
        shared->arena = a;
        atomic_init(&shared->refs, 2 * (n + 1));
    }
    for (int k = 0; ok && k < n; k++) {
        schema_of[k] = &schemas[k];
        array_of[k] = &arrays[k];
        ok = put_column(&o, k, &schemas[k], &arrays[k]);
    }
    if (!ok) {
        arena_free(a);
        if (!err_is_set(&s->err)) (void)err_oom(&s->err);
        return STELE_ERROR;
    }
    arena_set_err(a, NULL);
    *schema = (struct ArrowSchema){.format = "+s",
                                   .name = "",
                                   .n_children = n,
                                   .children = schema_of,
                                   .release = release_schema,
                                   .private_data = shared};
    *batch = (struct ArrowArray){.length = b->n,
                                 .n_buffers = 1,
                                 .buffers = buffers,
                                 .n_children = n,
                                 .children = array_of,
                                 .release = release_array,
                                 .private_data = shared};
    return STELE_OK;
}
