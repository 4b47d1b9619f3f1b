/* function_cells.c - cells between the executors and functions of clients: arguments as clients see them, results as
 * they become cells of a type. Contracts are in stele.h and function_int.h.
 *
 * Most cells are the executors' own, and columns that lie in one piece are passed as they are. Arrays are blobs
 * (types/array.h), whose elements are unaligned or have no cells of their own: their columns are made.
 */
#include <stdio.h>

#include "api/function_int.h"
#include "types/array.h"
#include "types/json.h"
#include "types/jsonpath.h"

static_assert(sizeof(stele_string) == sizeof(Str), "a stele_string is a cell");
static_assert(offsetof(stele_string, data) == offsetof(Str, ptr), "a stele_string is a cell");
static_assert(offsetof(stele_string, size) == offsetof(Str, len), "a stele_string is a cell");
static_assert(sizeof(stele_dim) == sizeof(ArrayDim) && offsetof(stele_dim, low) == offsetof(ArrayDim, low),
              "a stele_dim is a dimension");
static_assert(sizeof(stele_interval) == sizeof(Interval), "a stele_interval is a cell");
static_assert(offsetof(stele_interval, days) == offsetof(Interval, days), "a stele_interval is a cell");

/* ---- arguments --------------------------------------------------------------------------------- */

void function_copy_numeric(const Vec *v, int64_t from, Phys want, void *out) {
    int128_t x = v->phys == PH_I64 ? ((const int64_t *)v->data)[from] : ((const int128_t *)v->data)[from];
    if (want == PH_I128) *(int128_t *)out = x;
    else *(int64_t *)out = (int64_t)x;
}

static Status array_to_client(Arena *a, Type t, Str blob, stele_array *out, Err *e) {
    ArrayView v;
    TRY(array_view_of(blob, type_phys(type_element(t)), &v, e));
    *out = (stele_array){.valid = v.valid, .n = v.n, .data = v.cells};
    if (v.dims) {
        ArrayShape shape = array_shape(&v);
        stele_dim *dims = arena_array(a, stele_dim, shape.n);
        if (!dims) return ST_ERROR;
        memcpy(dims, shape.dims, sizeof *dims * (size_t)shape.n);
        out->dims = dims;
        out->n_dims = shape.n;
    }
    int64_t size = phys_size(v.phys);
    bool text = v.phys == PH_STR;
    if (!text && ((uintptr_t)v.cells & 15) == 0) return ST_OK;
    char *cells = arena_alloc(a, MAX_OF(v.n * size, 1));
    if (!cells) return ST_ERROR;
    if (!text && v.n) memcpy(cells, v.cells, (size_t)(v.n * size));
    for (int64_t i = 0; text && i < v.n; i++) array_get(&v, i, cells + i * size);
    out->data = cells;
    return ST_OK;
}

int64_t function_cell_size(Type t) { return type_is_array(t) ? (int64_t)sizeof(stele_array) : phys_size(type_phys(t)); }

Status function_column(stele_call *c, Type t, const Vec *v, int64_t n, const int32_t *rows, stele_column *out) {
    Phys want = type_phys(t);
    int64_t size = function_cell_size(t);
    bool as_is = want == (Phys)v->phys && !type_is_array(t), nulls = v->valid != NULL;
    if (as_is && !v->is_const && !rows) {
        *out = (stele_column){v->data, v->valid};
        return ST_OK;
    }
    Arena *a = function_arena(c);
    if (!a) return ST_ERROR;
    char *cells = arena_alloc(a, MAX_OF(n * size, 1));
    uint8_t *valid = nulls ? arena_alloc(a, MAX_OF(n, 1)) : NULL;
    if (!cells || (nulls && !valid)) return ST_ERROR;
    for (int64_t i = 0; i < n; i++) {
        int64_t from = v->is_const ? 0 : rows ? rows[i] : i;
        char *to = cells + i * size;
        if (nulls) valid[i] = v->valid[from];
        if (as_is) memcpy(to, (const char *)v->data + from * size, (size_t)size);
        else if (!type_is_array(t)) function_copy_numeric(v, from, want, to);
        else if (nulls && !valid[i]) *(stele_array *)(void *)to = (stele_array){0};
        else TRY(array_to_client(a, t, ((const Str *)v->data)[from], (stele_array *)(void *)to, c->err));
    }
    *out = (stele_column){cells, valid};
    return ST_OK;
}

/* ---- results ----------------------------------------------------------------------------------- */

static bool cell_is_value(Type t, const void *cell) {
    switch ((TypeId)t.id) {
    case T_NUMERIC: {
        int128_t v = t.precision <= 18 ? *(const int64_t *)cell : *(const int128_t *)cell;
        return !numeric_exceeds(v, t.precision);
    }
    case T_TIME: return *(const int64_t *)cell >= 0 && *(const int64_t *)cell <= USECS_PER_DAY;
    default: return true;
    }
}

static stele_status out_of_range(stele_call *c, int64_t row, Type t) {
    char type[TYPE_NAME_MAX], message[160];
    snprintf(message, sizeof message, "function %.48s returned a value out of range for type %s", c->f->signature.name,
             type_name(t, &type));
    return stele_call_fail(c, row, t.id == T_TIME ? ERR_DATETIME_OVERFLOW : ERR_NUMERIC_RANGE, message);
}

/* An error of the library's in a row of the client's. */
static stele_status failed_at(stele_call *c, int64_t row) {
    if (!err_is_set(c->err)) err_oom(c->err);
    if (row >= 0 && row < c->n) c->error_row = c->rows ? c->rows[row] : row;
    return STELE_ERROR;
}

/* A text as a cell of a string type in the call's arena. */
static stele_status text_cell(stele_call *c, Type t, int64_t row, const char *text, int64_t len, Str *out) {
    if (len > INT32_MAX) return stele_call_fail(c, row, ERR_PROGRAM_LIMIT, "the text is longer than 2^31 - 1 bytes");
    if (t.id != T_BYTEA && len && utf8_check(text, len) >= 0)
        return stele_call_fail(c, row, ERR_CHAR_NOT_IN_REPERTOIRE, "invalid byte sequence for encoding \"UTF8\"");
    if (t.id == T_JSON && json_check((Slice){text, len}, c->err) != ST_OK) return failed_at(c, row);
    if (t.id == T_JSONB || t.id == T_JSONPATH) {
        Arena *a = function_arena(c);
        const Slice given = {text, len};
        const bool ok = a && (t.id == T_JSONB ? jsonb_from_text(a, given, out, c->err)
                                              : jsonpath_from_text(a, given, out, c->err)) == ST_OK;
        return ok ? STELE_OK : failed_at(c, row);
    }
    if (t.id == T_CHAR)
        while (len > 0 && text[len - 1] == ' ') len--;
    char *copy = stele_call_alloc(c, len);
    if (!copy) return STELE_ERROR;
    if (len) memcpy(copy, text, (size_t)len);
    *out = str_make(copy, len);
    return STELE_OK;
}

static stele_status check_row(stele_call *c, const ResultCells *r, int64_t row) {
    if (row >= 0 && row < r->n) return STELE_OK;
    return stele_call_fail(c, -1, ERR_INVALID_PARAMETER, "there is no such row in the call");
}

stele_status stele_call_set_text(stele_call *c, const stele_result *result, int64_t row, const char *text,
                                 int64_t len) {
    const ResultCells *r = result->cells;
    if (!r || type_is_array(r->type))
        return stele_call_fail(c, row, ERR_DATATYPE_MISMATCH, "the result is not of a text type");
    if (check_row(c, r, row) != STELE_OK) return STELE_ERROR;
    if (len < 0) len = (int64_t)strlen(text);
    return text_cell(c, r->type, row, text, len, &((Str *)r->cells)[row]);
}

/* Elements as cells of their type, in the call's arena. */
static stele_status elements(stele_call *c, Type t, int64_t row, const stele_array *x, const void **cells,
                             uint8_t **present) {
    int64_t size = phys_size(type_phys(t));
    char *to = stele_call_alloc(c, x->n * size);
    if (!to || (x->valid && !(*present = stele_call_alloc(c, x->n)))) return STELE_ERROR;
    if (x->n) memcpy(to, x->data, (size_t)(x->n * size));
    *cells = to;
    for (int64_t i = 0; i < x->n; i++) {
        bool there = !x->valid || x->valid[i];
        char *cell = to + i * size;
        if (x->valid) (*present)[i] = there;
        if (t.id == T_BOOL) *cell = *cell != 0;
        if (type_phys(t) == PH_STR) {
            const stele_string *s = (const stele_string *)x->data + i;
            if (!there) *(Str *)(void *)cell = str_make("", 0);
            else if (text_cell(c, t, row, s->data, s->size, (Str *)(void *)cell) != STELE_OK) return STELE_ERROR;
        } else if (there && !cell_is_value(t, cell)) {
            return out_of_range(c, row, t);
        }
    }
    return STELE_OK;
}

static stele_status shape_of(stele_call *c, int64_t row, const stele_array *x, ArrayShape *out) {
    int64_t n;
    if (x->n < 0 || x->n > ARRAY_MAX_ELEMENTS || x->n_dims > ARRAY_MAX_DIMS)
        return stele_call_fail(c, row, ERR_PROGRAM_LIMIT, "an array has up to 134217727 elements and 6 dimensions");
    *out = (ArrayShape){.n = x->dims ? MAX_OF(x->n_dims, 0) : 1, .dims = {{(int32_t)x->n, 1}}};
    if (x->dims && out->n) memcpy(out->dims, x->dims, sizeof *x->dims * (size_t)out->n);
    if (array_shape_count(out, &n, c->err) != ST_OK) return failed_at(c, row);
    if (n == x->n) return STELE_OK;
    return stele_call_fail(c, row, ERR_INVALID_PARAMETER, "the dimensions of an array do not have its elements");
}

stele_status stele_call_set_array(stele_call *c, const stele_result *result, int64_t row, const stele_array *x) {
    const ResultCells *r = result->cells;
    const void *cells;
    uint8_t *present = NULL;
    ArrayShape shape;
    if (!r || !type_is_array(r->type))
        return stele_call_fail(c, row, ERR_DATATYPE_MISMATCH, "the result is not of an array type");
    if (check_row(c, r, row) != STELE_OK || shape_of(c, row, x, &shape) != STELE_OK) return STELE_ERROR;
    Type t = type_element(r->type);
    if (elements(c, t, row, x, &cells, &present) != STELE_OK) return STELE_ERROR;
    Str *to = &((Str *)r->cells)[row];
    if (array_build_shaped(c->arena, type_phys(t), &shape, cells, present, to, c->err) != ST_OK)
        return failed_at(c, row);
    return STELE_OK;
}

void function_result_begin(ResultCells *r, stele_result *out) {
    bool text = type_phys(r->type) == PH_STR;
    memset(r->valid, 1, (size_t)r->n);
    memset(r->cells, 0, (size_t)(r->n * phys_size(type_phys(r->type))));
    for (int64_t i = 0; text && i < r->n; i++) ((Str *)r->cells)[i] = str_make("", 0);
    *out = (stele_result){text ? NULL : r->cells, r->valid, text ? r : NULL};
}

/* What was not set. */
static stele_status unset_cell(stele_call *c, Type t, int64_t i, Str *cell) {
    if (cell->len > 0) return STELE_OK;
    if (type_is_json(t)) return stele_call_fail(c, i, ERR_INVALID_TEXT, "the result of type json was not set");
    if (!type_is_array(t)) return STELE_OK;
    Arena *a = function_arena(c);
    if (a && array_build(a, type_phys(type_element(t)), 0, NULL, NULL, cell, c->err) == ST_OK) return STELE_OK;
    return failed_at(c, i);
}

Status function_result_end(stele_call *c, ResultCells *r) {
    Type t = r->type;
    Phys phys = type_phys(t);
    size_t size = (size_t)phys_size(phys);
    for (int64_t i = 0; i < r->n; i++) {
        char *cell = (char *)r->cells + (size_t)i * size;
        r->valid[i] = r->valid[i] != 0;
        if (phys == PH_BOOL) *cell = *cell != 0;
        if (!r->valid[i] && phys != PH_STR) memset(cell, 0, size);
        if (!r->valid[i]) continue;
        if (phys == PH_STR && unset_cell(c, t, i, (Str *)(void *)cell) != STELE_OK) return ST_ERROR;
        if (!cell_is_value(t, cell)) return out_of_range(c, i, t), ST_ERROR;
    }
    return ST_OK;
}
