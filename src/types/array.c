/* array.c - blobs of arrays: building, reading, order. The layout is array.h's.
 */
#include "types/array.h"

#include <math.h>

#include "types/type_int.h"

static Status no_memory(Err *e) { return err_is_set(e) ? ST_ERROR : err_oom(e); }

static int64_t valid_bytes(int64_t n, bool has_nulls) { return has_nulls ? (n + 15) / 16 * 16 : 0; }
static int64_t dims_bytes(int32_t n_dims) { return ((int64_t)sizeof(ArrayDim) * n_dims + 15) / 16 * 16; }
static int64_t data_offset(int64_t n, bool has_nulls, int32_t n_dims) {
    return (int64_t)sizeof(ArrayHead) + valid_bytes(n, has_nulls) + dims_bytes(n_dims);
}

ArrayView array_view(Str blob) {
    ArrayHead h;
    ArrayView v = {0, PH_BOOL, NULL, blob.ptr, blob.ptr, 0, NULL};
    if (blob.len < sizeof h) return v;
    memcpy(&h, blob.ptr, sizeof h);
    v.n = h.n;
    v.phys = (Phys)h.phys;
    if (h.has_nulls) v.valid = (const uint8_t *)blob.ptr + sizeof h;
    v.cells = blob.ptr + h.data;
    v.text = v.cells + 4 * v.n;
    v.n_dims = h.n_dims > 0 ? h.n_dims : h.n > 0;
    if (h.n_dims > 0) v.dims = v.cells - dims_bytes(h.n_dims);
    return v;
}

ArrayShape array_shape(const ArrayView *v) {
    ArrayShape s = {.n = v->n_dims};
    for (int32_t k = 0; k < s.n; k++) s.dims[k] = array_dim(v, k);
    return s;
}

Status array_shape_count(const ArrayShape *s, int64_t *n, Err *e) {
    *n = s->n > 0;
    for (int32_t k = 0; k < s->n; k++) {
        *n *= s->dims[k].len; /* both factors are below 2^31 */
        if (s->dims[k].len < 0 || *n > ARRAY_MAX_ELEMENTS)
            return err_set(e, ERR_PROGRAM_LIMIT, "array size exceeds the maximum allowed (%d)", ARRAY_MAX_ELEMENTS);
    }
    for (int32_t k = 0; k < s->n; k++)
        if ((int64_t)s->dims[k].low + s->dims[k].len > INT32_MAX)
            return err_set(e, ERR_PROGRAM_LIMIT, "array lower bound is too large: %d", s->dims[k].low);
    return ST_OK;
}

Status array_view_of(Str blob, Phys phys, ArrayView *out, Err *e) {
    *out = array_view(blob);
    if (out->n == 0 || out->phys == phys) return ST_OK;
    return err_internal(e, "an array of %s where one of %s is read", phys_name(out->phys), phys_name(phys));
}

/* The strings of the elements, and where each ends. */
static void put_strings(char *data, int64_t n, const Str *s, const uint8_t *valid) {
    uint32_t at = 0;
    char *text = data + 4 * n;
    for (int64_t i = 0; i < n; i++) {
        if (!valid || valid[i]) {
            if (s[i].len) memcpy(text + at, s[i].ptr, s[i].len);
            at += s[i].len;
        }
        memcpy(data + 4 * i, &at, 4);
    }
}
static void put_cells(char *data, Phys phys, int64_t n, const void *cells, const uint8_t *valid) {
    int64_t w = phys_size(phys);
    if (n) memcpy(data, cells, (size_t)(n * w));
    for (int64_t i = 0; valid && i < n; i++)
        if (!valid[i]) memset(data + i * w, 0, (size_t)w);
    /* Equal floats get equal bytes. */
    if (phys == PH_F64) {
        double *d = (double *)(void *)data;
        for (int64_t i = 0; i < n; i++) d[i] = isnan(d[i]) ? (double)NAN : d[i] == 0 ? 0 : d[i];
    } else if (phys == PH_F32) {
        float *d = (float *)(void *)data;
        for (int64_t i = 0; i < n; i++) d[i] = isnan(d[i]) ? NAN : d[i] == 0 ? 0 : d[i];
    }
}

/* dims: NULL for one dimension from 1. */
static Status build(Arena *a, Phys phys, int64_t n, int32_t n_dims, const ArrayDim *dims, const void *cells,
                    const uint8_t *valid, Str *out, Err *e) {
    bool nulls = false;
    for (int64_t i = 0; valid && i < n && !nulls; i++) nulls = !valid[i];
    if (!nulls) valid = NULL;
    if (n > ARRAY_MAX_ELEMENTS)
        return err_set(e, ERR_PROGRAM_LIMIT, "array size exceeds the maximum allowed (%d)", ARRAY_MAX_ELEMENTS);
    int64_t data = data_offset(n, nulls, n_dims), w = phys == PH_STR ? 4 : phys_size(phys), bytes = data + n * w;
    const Str *s = cells;
    for (int64_t i = 0; phys == PH_STR && i < n; i++)
        if (!valid || valid[i]) bytes += s[i].len;
    if (bytes > INT64_C(1073741823))
        return err_set(e, ERR_PROGRAM_LIMIT, "array size exceeds the maximum allowed (%lld bytes)", 1073741823LL);
    char *p = arena_alloc(a, bytes);
    if (!p) return no_memory(e);
    ArrayHead h = {.n = (int32_t)n,
                   .phys = (uint8_t)phys,
                   .has_nulls = nulls,
                   .n_dims = (uint16_t)n_dims,
                   .data = (uint32_t)data,
                   .bytes = (uint32_t)bytes};
    memcpy(p, &h, sizeof h);
    memset(p + sizeof h, 0, (size_t)data - sizeof h);
    if (nulls) memcpy(p + sizeof h, valid, (size_t)n);
    if (n_dims) memcpy(p + data - dims_bytes(n_dims), dims, sizeof *dims * (size_t)n_dims);
    if (phys == PH_STR) put_strings(p + data, n, s, valid);
    else put_cells(p + data, phys, n, cells, valid);
    *out = str_make(p, bytes);
    return ST_OK;
}

Status array_build(Arena *a, Phys phys, int64_t n, const void *cells, const uint8_t *valid, Str *out, Err *e) {
    return build(a, phys, n, 0, NULL, cells, valid, out, e);
}
Status array_build_shaped(Arena *a, Phys phys, const ArrayShape *shape, const void *cells, const uint8_t *valid,
                          Str *out, Err *e) {
    int64_t n;
    TRY(array_shape_count(shape, &n, e));
    bool plain = n == 0 || (shape->n == 1 && shape->dims[0].low == 1);
    return build(a, phys, n, plain ? 0 : shape->n, shape->dims, cells, valid, out, e);
}

/* Of arrays with the same elements. */
static int shape_cmp(const ArrayView *a, const ArrayView *b) {
    if (a->n_dims != b->n_dims) return a->n_dims < b->n_dims ? -1 : 1;
    for (int32_t k = 0; k < a->n_dims; k++) {
        int32_t x = array_dim(a, k).len, y = array_dim(b, k).len;
        if (x != y) return x < y ? -1 : 1;
    }
    for (int32_t k = 0; k < a->n_dims; k++) {
        int32_t x = array_dim(a, k).low, y = array_dim(b, k).low;
        if (x != y) return x < y ? -1 : 1;
    }
    return 0;
}

bool array_same_dims(const ArrayView *a, const ArrayView *b) { return a->n == b->n && shape_cmp(a, b) == 0; }

int array_cmp(Str x, Str y) {
    ArrayView a = array_view(x), b = array_view(y);
    int64_t n = MIN_OF(a.n, b.n);
    for (int64_t i = 0; i < n; i++) {
        bool an = array_is_null(&a, i), bn = array_is_null(&b, i);
        if (an || bn) {
            if (an != bn) return an ? 1 : -1;
            continue;
        }
        Value p, q; /* room for any cell */
        array_get(&a, i, &p.u);
        array_get(&b, i, &q.u);
        int c = cell_cmp(a.phys, &p.u, &q.u);
        if (c) return c;
    }
    return a.n != b.n ? (a.n < b.n ? -1 : 1) : shape_cmp(&a, &b);
}

/* Whether the dimensions in front of the data are ones of h.n elements, in the one form that they have. */
static bool dims_ok(const ArrayHead *h, const char *dims) {
    int64_t n = 1;
    ArrayDim d = {0};
    for (int32_t k = 0; k < h->n_dims; k++) {
        memcpy(&d, dims + sizeof d * (size_t)k, sizeof d);
        if (d.len < 1 || (n *= d.len) > h->n || (int64_t)d.low + d.len > INT32_MAX) return false;
    }
    for (int64_t i = (int64_t)sizeof d * h->n_dims; i < dims_bytes(h->n_dims); i++)
        if (dims[i]) return false;
    return h->n_dims == 0 || (n == h->n && (h->n_dims > 1 || d.low != 1));
}

bool array_ok(Str blob, Phys phys) {
    ArrayHead h;
    if (blob.len < sizeof h) return false;
    memcpy(&h, blob.ptr, sizeof h);
    if (h.n < 0 || h.n > ARRAY_MAX_ELEMENTS || h.has_nulls > 1 || h.n_dims > ARRAY_MAX_DIMS || h.bytes != blob.len ||
        h.phys != phys)
        return false;
    if (h.data != data_offset(h.n, h.has_nulls, h.n_dims) || h.data > blob.len) return false;
    if (!dims_ok(&h, blob.ptr + h.data - dims_bytes(h.n_dims))) return false;
    if (phys != PH_STR) return h.data + h.n * phys_size(phys) == blob.len;
    int64_t text = (int64_t)blob.len - h.data - 4 * (int64_t)h.n;
    uint32_t last = 0;
    for (int64_t i = 0; i < h.n && text >= 0; i++) {
        uint32_t end;
        memcpy(&end, blob.ptr + h.data + 4 * i, 4);
        if (end < last || end > text) return false;
        last = end;
    }
    return last == text;
}
