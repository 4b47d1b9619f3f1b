/* array_parts.c - arrays by subscripts: elements and slices read and replaced, arrays put together.
 *
 * Results are built anew: blobs are values, and never change once made. The rules and errors are those of PostgreSQL's
 * arrayfuncs.c (array_get_slice, array_set_element, array_set_slice), array_userfuncs.c (array_cat) and
 * execExprInterp.c (ARRAY[..] of arrays).
 */
#include "types/array.h"

static Status no_memory(Err *e) { return err_is_set(e) ? ST_ERROR : err_oom(e); }

static Status wrong_number(Err *e) { return err_set(e, ERR_ARRAY_SUBSCRIPT, "wrong number of array subscripts"); }
static Status out_of_range(Err *e) { return err_set(e, ERR_ARRAY_SUBSCRIPT, "array subscript out of range"); }
static Status too_large(Err *e) {
    return err_set(e, ERR_PROGRAM_LIMIT, "array size exceeds the maximum allowed (%d)", ARRAY_MAX_ELEMENTS);
}

/* ---- elements under construction ------------------------------------------------------------ */

typedef struct Cells {
    Phys phys;
    char *cells;
    uint8_t *valid;
} Cells;

/* n elements, all of them NULL. */
static Status cells_init(Arena *a, Cells *c, Phys phys, int64_t n, Err *e) {
    *c = (Cells){.phys = phys};
    c->cells = arena_calloc(a, (n + 1) * phys_size(phys));
    c->valid = arena_calloc(a, n + 1);
    return c->cells && c->valid ? ST_OK : no_memory(e);
}
/* Element `from` of v becomes element i. */
static void cells_take(Cells *c, int64_t i, const ArrayView *v, int64_t from) {
    c->valid[i] = !array_is_null(v, from);
    if (c->valid[i]) array_get(v, from, c->cells + phys_size(c->phys) * i);
}
static void cells_take_all(Cells *c, int64_t first, const ArrayView *v) {
    for (int64_t i = 0; i < v->n; i++) cells_take(c, first + i, v, i);
}

/* The places of the elements of a box within a shape, one after the other. */
typedef struct Box {
    ArrayShape within;
    int32_t len[ARRAY_MAX_DIMS], at[ARRAY_MAX_DIMS]; /* the box, and the place in it */
    int64_t place;
    int64_t width[ARRAY_MAX_DIMS]; /* elements of one step in a dimension */
} Box;
/* first: subscripts of its first element. */
static void box_init(Box *b, const ArrayShape *within, const int32_t *first, const int32_t *len) {
    int64_t w = 1;
    *b = (Box){.within = *within};
    for (int32_t k = within->n - 1; k >= 0; k--) {
        b->len[k] = len[k];
        b->width[k] = w;
        b->place += w * ((int64_t)first[k] - within->dims[k].low);
        w *= within->dims[k].len;
    }
}
static void box_next(Box *b) {
    for (int32_t k = b->within.n - 1; k >= 0; k--) {
        b->place += b->width[k];
        if (++b->at[k] < b->len[k]) return;
        b->place -= b->width[k] * b->len[k];
        b->at[k] = 0;
    }
}

/* ---- reading ------------------------------------------------------------------------------------ */

int64_t array_place(const ArrayView *v, int32_t n, const int32_t *at) {
    int64_t place = 0;
    if (n != v->n_dims || n == 0) return -1;
    for (int32_t k = 0; k < n; k++) {
        ArrayDim d = array_dim(v, k);
        int64_t i = (int64_t)at[k] - d.low;
        if (i < 0 || i >= d.len) return -1;
        place = place * d.len + i;
    }
    return place;
}

Status array_slice(Arena *a, Str blob, int32_t n, const int32_t *lower, const int32_t *upper, Str *out, Err *e) {
    ArrayView v = array_view(blob);
    ArrayShape within = array_shape(&v), s = {.n = v.n_dims};
    int32_t first[ARRAY_MAX_DIMS], len[ARRAY_MAX_DIMS];
    bool all = array_is_plain(&v);
    if (v.n_dims < n || v.n == 0) return array_build(a, v.phys, 0, NULL, NULL, out, e);
    for (int32_t k = 0; k < s.n; k++) {
        ArrayDim d = within.dims[k];
        int64_t last = (int64_t)d.low + d.len - 1, from = k < n ? MAX_OF(lower[k], d.low) : d.low,
                to = k < n ? MIN_OF((int64_t)upper[k], last) : last;
        if (from > to) return array_build(a, v.phys, 0, NULL, NULL, out, e);
        first[k] = (int32_t)from;
        len[k] = (int32_t)(to - from + 1);
        s.dims[k] = (ArrayDim){len[k], 1};
        all = all && len[k] == d.len;
    }
    if (all) {
        *out = blob;
        return ST_OK;
    }
    int64_t count;
    Cells c;
    Box b;
    TRY(array_shape_count(&s, &count, e));
    TRY(cells_init(a, &c, v.phys, count, e));
    box_init(&b, &within, first, len);
    for (int64_t i = 0; i < count; i++, box_next(&b)) cells_take(&c, i, &v, b.place);
    return array_build_shaped(a, v.phys, &s, c.cells, c.valid, out, e);
}

/* ---- replacing ----------------------------------------------------------------------------------- */

/* An only dimension grows so that it has the subscripts from..to; *before: elements that are new in front. */
static Status grow(ArrayDim *d, int64_t from, int64_t to, int64_t *before, Err *e) {
    int64_t low = MIN_OF(from, d->low), high = MAX_OF(to, (int64_t)d->low + d->len - 1);
    *before = d->low - low;
    if (high - low + 1 > ARRAY_MAX_ELEMENTS) return too_large(e);
    *d = (ArrayDim){(int32_t)(high - low + 1), (int32_t)low};
    return ST_OK;
}

/* Elements of a shape of one dimension or as it was, with those of v behind `before` others. */
static Status start_from(Arena *a, Phys phys, const ArrayView *v, const ArrayShape *s, int64_t before, Cells *c,
                         Err *e) {
    int64_t count;
    TRY(array_shape_count(s, &count, e));
    TRY(cells_init(a, c, phys, count, e));
    cells_take_all(c, before, v);
    return ST_OK;
}

Status array_with_element(Arena *a, Phys phys, Str blob, int32_t n, const int32_t *at, const void *cell, Str *out,
                          Err *e) {
    ArrayView v = array_view(blob);
    ArrayShape s = array_shape(&v);
    int64_t before = 0, place = 0;
    if (n < 1 || n > ARRAY_MAX_DIMS || (s.n > 0 && s.n != n)) return wrong_number(e);
    if (s.n == 0) {
        s.n = n;
        for (int32_t k = 0; k < n; k++) s.dims[k] = (ArrayDim){1, at[k]};
    } else if (n == 1) {
        TRY(grow(&s.dims[0], at[0], at[0], &before, e));
        place = (int64_t)at[0] - s.dims[0].low;
    } else if ((place = array_place(&v, n, at)) < 0) {
        return out_of_range(e);
    }
    Cells c;
    TRY(start_from(a, phys, &v, &s, before, &c, e));
    c.valid[place] = cell != NULL;
    if (cell) memcpy(c.cells + phys_size(phys) * place, cell, (size_t)phys_size(phys));
    return array_build_shaped(a, phys, &s, c.cells, c.valid, out, e);
}

/* The slice becomes the whole of an array that had no elements. */
static Status part_of_nothing(Arena *a, Phys phys, const ArraySlice *p, const ArrayView *source, Str *out, Err *e) {
    ArrayShape s = {.n = p->n};
    int64_t count;
    Cells c;
    for (int32_t k = 0; k < p->n; k++) {
        if (!p->has_upper[k] || !p->has_lower[k]) {
            err_set(e, ERR_ARRAY_SUBSCRIPT, "array slice subscript must provide both boundaries");
            err_detail(e, "When assigning to a slice of an empty array value, slice boundaries must be fully "
                          "specified.");
            return ST_ERROR;
        }
        int64_t len = (int64_t)p->upper[k] - p->lower[k] + 1;
        if (len < 0 || len > ARRAY_MAX_ELEMENTS) return too_large(e);
        s.dims[k] = (ArrayDim){(int32_t)len, p->lower[k]};
    }
    TRY(array_shape_count(&s, &count, e));
    if (source->n < count) return err_set(e, ERR_ARRAY_SUBSCRIPT, "source array too small");
    TRY(cells_init(a, &c, phys, count, e));
    for (int64_t i = 0; i < count; i++) cells_take(&c, i, source, i);
    return array_build_shaped(a, phys, &s, c.cells, c.valid, out, e);
}

/* The subscripts of the slice's first element, and its lengths; one dimension grows. */
static Status slice_bounds(const ArraySlice *p, ArrayShape *s, int32_t *first, int32_t *len, int64_t *before, Err *e) {
    *before = 0;
    for (int32_t k = 0; k < s->n; k++) {
        ArrayDim d = s->dims[k];
        int64_t last = (int64_t)d.low + d.len - 1, from = k < p->n && p->has_lower[k] ? p->lower[k] : d.low,
                to = k < p->n && p->has_upper[k] ? p->upper[k] : last;
        if (from > to) return err_set(e, ERR_ARRAY_SUBSCRIPT, "upper bound cannot be less than lower bound");
        if (s->n == 1) TRY(grow(&s->dims[0], from, to, before, e));
        else if (from < d.low || to > last) return out_of_range(e);
        first[k] = (int32_t)from;
        len[k] = (int32_t)(to - from + 1);
    }
    return ST_OK;
}

Status array_with_part(Arena *a, Phys phys, Str blob, const ArraySlice *slice, Str source, Str *out, Err *e) {
    ArrayView v = array_view(blob), from = array_view(source);
    ArrayShape s = array_shape(&v);
    int32_t first[ARRAY_MAX_DIMS], len[ARRAY_MAX_DIMS];
    int64_t before, count = 1;
    if (slice->n < 1 || slice->n > ARRAY_MAX_DIMS) return wrong_number(e);
    if (s.n == 0) return part_of_nothing(a, phys, slice, &from, out, e);
    if (s.n < slice->n) return wrong_number(e);
    TRY(slice_bounds(slice, &s, first, len, &before, e));
    for (int32_t k = 0; k < s.n; k++) count *= len[k];
    if (count > from.n) return err_set(e, ERR_ARRAY_SUBSCRIPT, "source array too small");
    Cells c;
    Box b;
    TRY(start_from(a, phys, &v, &s, before, &c, e));
    box_init(&b, &s, first, len);
    for (int64_t i = 0; i < count; i++, box_next(&b)) cells_take(&c, b.place, &from, i);
    return array_build_shaped(a, phys, &s, c.cells, c.valid, out, e);
}

/* ---- putting together ------------------------------------------------------------------------------ */

static Status incompatible(const char *what, Err *e) {
    err_set(e, ERR_ARRAY_SUBSCRIPT, "cannot concatenate incompatible arrays");
    err_detail(e, "Arrays with differing %sdimensions are not compatible for concatenation.", what);
    return ST_ERROR;
}
static bool same_dims(const ArrayDim *a, const ArrayDim *b, int32_t n) {
    return memcmp(a, b, sizeof *a * (size_t)n) == 0;
}

Status array_join(Arena *a, Phys phys, Str x, Str y, Str *out, Err *e) {
    ArrayView v = array_view(x), w = array_view(y);
    ArrayShape s = array_shape(&v), t = array_shape(&w);
    if (s.n == 0 || t.n == 0) {
        *out = t.n == 0 ? x : y;
        return ST_OK;
    }
    if (s.n == t.n) {
        if (!same_dims(s.dims + 1, t.dims + 1, s.n - 1)) return incompatible("element ", e);
        if ((int64_t)s.dims[0].len + t.dims[0].len > ARRAY_MAX_ELEMENTS) return too_large(e);
        s.dims[0].len += t.dims[0].len;
    } else if (s.n == t.n - 1) {
        if (!same_dims(s.dims, t.dims + 1, s.n)) return incompatible("", e);
        s = t;
        s.dims[0].len++;
    } else if (s.n - 1 == t.n) {
        if (!same_dims(s.dims + 1, t.dims, t.n)) return incompatible("", e);
        s.dims[0].len++;
    } else {
        err_set(e, ERR_ARRAY_SUBSCRIPT, "cannot concatenate incompatible arrays");
        err_detail(e, "Arrays of %d and %d dimensions are not compatible for concatenation.", s.n, t.n);
        return ST_ERROR;
    }
    int64_t count;
    Cells c;
    TRY(array_shape_count(&s, &count, e));
    TRY(cells_init(a, &c, phys, count, e));
    cells_take_all(&c, 0, &v);
    cells_take_all(&c, v.n, &w);
    return array_build_shaped(a, phys, &s, c.cells, c.valid, out, e);
}

Status array_nest(Arena *a, Phys phys, int64_t n, const Str *items, const uint8_t *valid, Str *out, Err *e) {
    ArrayShape s = {0};
    bool empty = false, differ = false;
    for (int64_t i = 0; i < n && !differ; i++) {
        ArrayView v = array_view(valid && !valid[i] ? str_make("", 0) : items[i]);
        ArrayShape t = array_shape(&v);
        empty = empty || t.n == 0;
        if (t.n == 0) continue;
        if (t.n == ARRAY_MAX_DIMS)
            return err_set(e, ERR_PROGRAM_LIMIT, "number of array dimensions (%d) exceeds the maximum allowed (%d)",
                           t.n + 1, ARRAY_MAX_DIMS);
        if (s.n == 0) {
            s.n = t.n + 1;
            s.dims[0] = (ArrayDim){(int32_t)MIN_OF(n, INT32_MAX), 1};
            memcpy(s.dims + 1, t.dims, sizeof t.dims - sizeof t.dims[0]);
        }
        differ = s.n != t.n + 1 || !same_dims(s.dims + 1, t.dims, t.n);
    }
    if (s.n == 0) return array_build(a, phys, 0, NULL, NULL, out, e);
    if (differ || empty)
        return err_set(e, ERR_ARRAY_SUBSCRIPT,
                       "multidimensional arrays must have array expressions with matching dimensions");
    int64_t count, at = 0;
    Cells c;
    TRY(array_shape_count(&s, &count, e));
    TRY(cells_init(a, &c, phys, count, e));
    for (int64_t i = 0; i < n; i++) {
        ArrayView v = array_view(items[i]);
        cells_take_all(&c, at, &v);
        at += v.n;
    }
    return array_build_shaped(a, phys, &s, c.cells, c.valid, out, e);
}
