/* array.h - one-dimensional arrays of scalars: how a value of type T_ARRAY is laid out, made and read.
 *
 * A cell of an array type is a PH_STR whose bytes are one self-contained blob. Its layout is fixed, for kernels read it
 * on devices and files keep it:
 *
 *   0   i32  n          number of elements; the lower bound is always 1
 *   4   u8   phys       Phys of the elements
 *   5   u8   has_nulls  0 or 1
 *   6   u16  zero
 *   8   u32  data       byte offset of the elements' cells from the blob's start, a multiple of 16
 *   12  u32  bytes      size of the whole blob
 *   16  u8   valid[n]   only if has_nulls: 1 = element present, 0 = NULL; zeros up to `data`
 *   data                fixed-width elements: n cells of phys_size(phys) bytes; element i (from 0) is at data + i *
 * phys_size(phys) PH_STR elements: u32 end[n], then the strings; element i is the bytes [end[i-1], end[i]) behind
 * end[n-1], end[-1] = 0
 *
 * The address of a blob has no alignment (it may lie anywhere in a tablet): read with memcpy, or copy it to a 16-byte
 * boundary first, where all its cells are aligned.
 *
 * Blobs are canonical: equal arrays have equal bytes. NULL elements and padding are zero, floats have neither -0 nor
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
    uint16_t zero;
    uint32_t data;
    uint32_t bytes;
} ArrayHead;
static_assert(sizeof(ArrayHead) == 16, "an array's header is read on devices and stored in files");

enum { ARRAY_MAX_ELEMENTS = 134217727 }; /* PostgreSQL's */

typedef struct ArrayView {
    int64_t n;
    Phys phys;
    const uint8_t *valid; /* NULL = no NULLs */
    const char *cells;    /* unaligned */
    const char *text;     /* PH_STR elements: behind the offsets */
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

/* A blob of n cells of `phys` one behind the other (valid NULL: none is NULL) in the arena. 54000 when it would be too
 * big. */
Status array_build(Arena *a, Phys phys, int64_t n, const void *cells, const uint8_t *valid, Str *out, Err *e);
/* Elements [from, to) of a blob as a blob; 0 <= from <= to <= n. */
Status array_slice(Arena *a, Str blob, int64_t from, int64_t to, Str *out, Err *e);
/* PostgreSQL's order of two arrays of one element type whose cells compare as the values do: element by element, NULL
 * last, then the shorter first. */
int array_cmp(Str x, Str y);
/* Whether the bytes are a blob of that element form whose offsets stay inside; for bytes from files and other hands. */
bool array_ok(Str blob, Phys phys);

/* Text input and output, '{1,NULL,"a b"}'. t is the array type. 22P02 malformed, the element type's errors, 0A000 for
 * several dimensions and for lower bounds other than 1. */
Status array_from_text(Type t, Slice text, const struct SessionInfo *session, Arena *a, Str *out, Err *e);
Status array_to_text(Type t, Str blob, TextForm form, Arena *a, Str *out, Err *e);

#endif
