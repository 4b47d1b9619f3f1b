/* array.h - arrays of scalars: how a value of type T_ARRAY is laid out, made and read.
 *
 * A cell of an array type is a PH_STR whose bytes are one self-contained blob. Its layout is fixed, for kernels read it
 * on devices and files keep it:
 *
 *   0   i32  n          number of elements, of all dimensions together
 *   4   u8   phys       Phys of the elements
 *   5   u8   has_nulls  0 or 1
 *   6   u16  n_dims     0: one dimension whose first subscript is 1 (or no elements); 1 to 6: `dims` is there
 *   8   u32  data       byte offset of the elements' cells from the blob's start, a multiple of 16
 *   12  u32  bytes      size of the whole blob
 *   16  u8   valid[n]   only if has_nulls: 1 = element present, 0 = NULL; zeros up to a multiple of 16
 *       ArrayDim dims[n_dims]  only if n_dims > 0, and then zeros up to `data`, which is the next multiple of 16
 *   data                fixed-width elements: n cells of phys_size(phys) bytes; element i (from 0) is at data + i *
 * phys_size(phys) PH_STR elements: u32 end[n], then the strings; element i is the bytes [end[i-1], end[i]) behind
 * end[n-1], end[-1] = 0
 *
 * Elements lie in row-major order: the last subscript moves first. So what looks at all elements (unnest, ANY,
 * cardinality, @>) need not know the dimensions; what looks one up by subscripts, or puts arrays together, must.
 *
 * The address of a blob has no alignment (it may lie anywhere in a tablet): read with memcpy, or copy it to a 16-byte
 * boundary first, where all its cells are aligned.
 *
 * Blobs are canonical: equal arrays have equal bytes. One dimension from 1 has no dims, nor has an array without
 * elements; no dimension is empty. NULL elements and padding are zero, floats have neither -0 nor
 * more than one NaN. So equality, hashing, grouping, joins, keys and dictionaries work on the bytes as on any string's.
 * Intervals (1 month equals 30 days), numerics without (p,s) and jsonb (1.0 equals 1.00) are the exceptions: the binder
 * compares arrays of them by array_sort_key. Order is not the order of the bytes: array_cmp, or array_sort_key.
 *
 * Bytes shorter than a header (cells of NULL rows are empty strings) read as an array without elements.
 */
#ifndef STELE_TYPES_ARRAY_H
#define STELE_TYPES_ARRAY_H

#include "types/type.h"

typedef struct ArrayHead {
    int32_t n;
    uint8_t phys;
    uint8_t has_nulls;
    uint16_t n_dims;
    uint32_t data;
    uint32_t bytes;
} ArrayHead;
static_assert(sizeof(ArrayHead) == 16, "an array's header is read on devices and stored in files");

enum { ARRAY_MAX_ELEMENTS = 134217727, ARRAY_MAX_DIMS = 6 }; /* PostgreSQL's */

/* A dimension: its length, and its first subscript (the lower bound). */
typedef struct ArrayDim {
    int32_t len, low;
} ArrayDim;
static_assert(sizeof(ArrayDim) == 8, "dimensions are read on devices and stored in files");
/* The dimensions of an array, the outermost first; n = 0: it has no elements. */
typedef struct ArrayShape {
    int32_t n;
    ArrayDim dims[ARRAY_MAX_DIMS];
} ArrayShape;

typedef struct ArrayView {
    int64_t n;
    Phys phys;
    const uint8_t *valid; /* NULL = no NULLs */
    const char *cells;    /* unaligned */
    const char *text;     /* PH_STR elements: behind the offsets */
    int32_t n_dims;       /* 0: no elements */
    const char *dims;     /* ArrayDim[n_dims], unaligned; NULL: at most one, from 1 */
} ArrayView;

/* A view of a blob, which stays the owner of the bytes. */
ArrayView array_view(Str blob);
/* The same for those who read cells of that form only: XX000 if there are others. */
Status array_view_of(Str blob, Phys phys, ArrayView *out, Err *e);
static inline bool array_is_null(const ArrayView *v, int64_t i) { return v->valid && !v->valid[i]; }
/* Copies element i (from 0) to a cell of v->phys; strings point into the blob. NULL elements give zeros. */
static inline void array_get(const ArrayView *v, int64_t i, void *cell) {
    if (v->phys != PH_STR) {
        size_t w = (size_t)phys_size(v->phys);
        memcpy(cell, v->cells + w * (size_t)i, w);
        return;
    }
    uint32_t from = 0, to;
    if (i > 0) memcpy(&from, v->cells + 4 * (i - 1), 4);
    memcpy(&to, v->cells + 4 * i, 4);
    *(Str *)cell = str_make(v->text + from, (int64_t)to - from);
}

static inline ArrayDim array_dim(const ArrayView *v, int32_t k) {
    ArrayDim d = {(int32_t)v->n, 1};
    if (v->dims) memcpy(&d, v->dims + sizeof d * (size_t)k, sizeof d);
    return d;
}
/* Whether it has at most one dimension, whose first subscript is 1: what has no subscripts, as Arrow's lists, can hold.
 */
static inline bool array_is_plain(const ArrayView *v) { return !v->dims; }
ArrayShape array_shape(const ArrayView *v);
bool array_same_dims(const ArrayView *a, const ArrayView *b); /* of as many elements, with the same subscripts */

/* A blob of n cells of `phys` one behind the other (valid NULL: none is NULL) in the arena, of one dimension from 1.
 * 54000 when it would be too big. */
Status array_build(Arena *a, Phys phys, int64_t n, const void *cells, const uint8_t *valid, Str *out, Err *e);
/* The same of a shape, which has as many cells as array_shape_count() says. */
Status array_build_shaped(Arena *a, Phys phys, const ArrayShape *shape, const void *cells, const uint8_t *valid,
                          Str *out, Err *e);
/* How many elements a shape has. 54000: more than an array may have, or subscripts beyond 32 bits. */
Status array_shape_count(const ArrayShape *s, int64_t *n, Err *e);
/* PostgreSQL's order of two arrays of one element type whose cells compare as the values do: element by element, NULL
 * last, then the shorter first, then by the number of dimensions, their lengths, their lower bounds. */
int array_cmp(Str x, Str y);
/* Whether the bytes are a blob of that element form whose offsets stay inside; for bytes from files and other hands. */
bool array_ok(Str blob, Phys phys);

/* ---- by subscripts (array_parts.c) ------------------------------------------------------------------------------ */

/* Where the element of n subscripts is among all, or -1: there are as many dimensions, or it is outside of them. */
int64_t array_place(const ArrayView *v, int32_t n, const int32_t *at);
/* a[lower:upper][..], n pairs: what of the array is between them, its subscripts from 1 on; an array without elements
 * where nothing is, or where it has fewer dimensions. INT32_MIN, INT32_MAX: from its first, to its last. */
Status array_slice(Arena *a, Str blob, int32_t n, const int32_t *lower, const int32_t *upper, Str *out, Err *e);
/* The array with another element (cell NULL: NULL); one dimension grows as far as it has to, with NULLs in between.
 * 2202E, 54000. */
Status array_with_element(Arena *a, Phys phys, Str blob, int32_t n, const int32_t *at, const void *cell, Str *out,
                          Err *e);
/* Bounds of a slice that is assigned to: upper[i] and lower[i], where they were given. */
typedef struct ArraySlice {
    int32_t n;
    int32_t lower[ARRAY_MAX_DIMS], upper[ARRAY_MAX_DIMS];
    bool has_lower[ARRAY_MAX_DIMS], has_upper[ARRAY_MAX_DIMS];
} ArraySlice;
/* The array with the slice's elements taken from `source`, in the order that they have there. 2202E, 54000. */
Status array_with_part(Arena *a, Phys phys, Str blob, const ArraySlice *slice, Str source, Str *out, Err *e);
/* x || y: of as many dimensions, or one that is an element of the other. 2202E. */
Status array_join(Arena *a, Phys phys, Str x, Str y, Str *out, Err *e);
/* Arrays of one shape as elements of one with a dimension more (valid NULL: none is NULL). 2202E, 54000. */
Status array_nest(Arena *a, Phys phys, int64_t n, const Str *items, const uint8_t *valid, Str *out, Err *e);

/* ---- text (array_text.c) ---------------------------------------------------------------------------------------- */

/* Text input and output, '{1,NULL,"a b"}', '[0:1]={{1,2},{3,4}}'. t is the array type. 22P02 malformed, 2202E, 54000,
 * the element type's errors. */
Status array_from_text(Type t, Slice text, const struct SessionInfo *session, Arena *a, Str *out, Err *e);
Status array_to_text(Type t, Str blob, TextForm form, Arena *a, Str *out, Err *e);

#endif
