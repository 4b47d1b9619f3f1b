/* tablet_block.h - what is inside a tablet, for code that copies or maps its bytes (src/exec/device) besides
 * src/storage itself.
 *
 * A tablet's block owns the bytes of its main columns, their patches, or the cells of its delta, its strings and its
 * deleted bitmap; all are charged to the block's account. Bytes of main columns never change; delta cells are appended
 * to and changed under the rules of table.h. Single rows are read through the functions at the end.
 */
#ifndef STELE_STORAGE_TABLET_BLOCK_H
#define STELE_STORAGE_TABLET_BLOCK_H

#include <stdatomic.h>

#include "storage/patches.h"
#include "storage/table.h"
#include "storage/tablet.h"

/* Strings that are only ever added, freed together. */
typedef struct StrChunk {
    struct StrChunk *next;
    int64_t size; /* with this header */
} StrChunk;
typedef struct StrHeap {
    MemAccount *acct;
    StrChunk *chunks;
    char *free;
    int64_t left;
    _Atomic int64_t total; /* bytes of all chunks */
} StrHeap;
bool strheap_add(StrHeap *h, Str s, Str *out, Err *e);
void strheap_free(StrHeap *h);

/* Bytes that a table shares with versions of it (table_version.h), by count; the last one to go frees them. Bytes that
 * are taken back (shared_take_back) and shared again get another id. */
typedef struct SharedBytes {
    _Atomic int64_t refs;
    uint64_t id; /* in this process: addresses come again, this does not; never 0 */
    MemAccount *acct;
    void *bytes;
    int64_t size;
} SharedBytes;

/* Memory that has cells of tablets row by row and belongs to none of them: those of the rows that bulks change
 * (row_home.h), and the bytes of their strings, which are only added to. Counted; the last one to go calls `gone`. */
typedef struct HomeTexts {
    _Atomic int64_t refs;
    void (*gone)(struct HomeTexts *x);
} HomeTexts;
typedef struct RowHome {
    _Atomic int64_t refs;
    void (*gone)(struct RowHome *h);
    HomeTexts *texts; /* counted */
} RowHome;

typedef struct DeltaCol {
    void *cells;
    int64_t stride;       /* from cell to cell */
    RowHome *home;        /* has the cells; NULL: they are the tablet's own, or shared with versions */
    uint8_t *valid_bytes; /* of a home: a byte per row at the same stride, 1 = not NULL; NULL: no NULLs come there */
    Patches *patches;     /* of a packed column, which has no cells then, or of shared cells; NULL: none */
    SharedBytes *share;   /* NULL: the cells are this tablet's alone */
    void *spare;          /* of shared cells: room for a copy, when an undo log may write to them; NULL: none */
    bool updated;         /* an undo log may have cells of it, */
    bool updated_cells;   /* and of those some that are in `cells` */
    uint64_t *validity;
    int64_t cell_size;
    bool wide;        /* held a value beyond 64 bits: no min and max */
    RowBits *changed; /* of a home: rows whose cells changed since `shown` was made; NULL: no version has copies */
} DeltaCol;
struct TabletBlock {
    MemAccount *acct;     /* of `bytes` */
    MemAccount *open;     /* of cells, their validity, and of deleted rows */
    MemAccount *versions; /* of what versions of it have */
    _Atomic int64_t refs; /* the table and headers of versions: tablet_free gives up one */
    uint64_t id;          /* in this process: addresses come again, this does not */
    int64_t changes;      /* in place, so far: of rows, cells, and the deleted bitmap */
    int n_cols;
    void *bytes; /* main */
    int64_t size;
    int64_t cap;       /* rows that fit into open columns; a main tablet's do not grow */
    int64_t published; /* rows that some version may have */
    bool has_home;     /* some column's cells are a home's: what is appended goes to other tablets */
    const void *shown; /* what was last made of it for a version (table_version.c); may be gone */
    DeltaCol *delta;   /* by column; without cells: not open. NULL: none is open or patched */
    StrHeap heap;
    HomeTexts *texts; /* counted, as long as the tablet is there: cells may refer to strings of homes; NULL: none */
    _Atomic int64_t home_text; /* bytes of strings that have come in homes, or of rows that have changed there */
    uint64_t *deleted;         /* TABLET_ROWS bits once there is one */
    TabletWatch *_Atomic watches;
};
enum { DELETED_BYTES = TABLET_ROWS / 8 };
static inline char *delta_cell(const DeltaCol *d, int64_t row) { return (char *)d->cells + row * d->stride; }
static inline void delta_set_valid(const DeltaCol *d, int64_t row, bool valid) {
    uint64_t bit = UINT64_C(1) << (row & 63);
    if (d->validity) d->validity[row >> 6] = valid ? d->validity[row >> 6] | bit : d->validity[row >> 6] & ~bit;
    if (d->valid_bytes) d->valid_bytes[row * d->stride] = valid;
}

/* A cell of the column is written in place. */
static inline void delta_note_change(const DeltaCol *d, int64_t row) {
    if (d->changed) row_bits_add(d->changed, row);
}

/* Bytes of strings of open columns, at most: those that were overwritten are among them, and unchanged ones of a home
 * several times, until they are counted (tablet_count_texts). From this bound on a tablet takes no more: a packed one
 * has 32 bits for them. */
#define TABLET_TEXT_BYTES (INT64_C(1) << 30)
static inline int64_t tablet_text_bytes(const Tablet *t) {
    return atomic_load_explicit(&t->block->heap.total, memory_order_relaxed) +
           atomic_load_explicit(&t->block->home_text, memory_order_relaxed);
}

static inline bool tablet_row_deleted(const Tablet *t, int64_t row) {
    return t->deleted && (t->deleted[row >> 6] >> (row & 63) & 1);
}
static inline bool column_row_valid(const TabletColumn *c, int64_t row) {
    return !c->validity || (c->validity[row >> 6] >> (row & 63) & 1);
}
static inline uint64_t for_code(const TabletColumn *c, int64_t i) {
    const uint8_t *d = c->data;
    uint64_t v = 0;
    switch (c->width) {
    case 0: return 0;
    case 1: return d[i >> 3] >> (i & 7) & 1u;
    case 2: return d[i >> 2] >> ((i & 3) * 2) & 3u;
    case 4: return d[i >> 1] >> ((i & 1) * 4) & 15u;
    case 8: return d[i];
    case 16: memcpy(&v, d + 2 * i, 2); return v;
    case 24: memcpy(&v, d + 3 * i, 3); return v;
    case 32: memcpy(&v, d + 4 * i, 4); return v;
    default: memcpy(&v, d + 8 * i, 8); return v;
    }
}
/* The row's new cell; NULL: it has none. */
static inline const void *column_patch(const TabletColumn *c, int64_t i) {
    return c->patches ? patches_find(c->patches, i) : NULL;
}
/* A plain cell of `size` bytes. */
static inline const void *column_cell(const TabletColumn *c, int64_t i, int64_t size) {
    const void *patch = column_patch(c, i);
    return patch ? patch : (const char *)c->data + i * (c->stride ? c->stride : size);
}
/* Plain cells of rows [first, first + n) of an open column side by side, and a byte for each, 1 = not NULL. NULL: not
 * wanted. */
void column_copy_cells(const TabletColumn *c, int64_t first, int64_t n, void *cells, uint8_t *valid);
static inline int128_t column_i128(const TabletColumn *c, int64_t i) {
    int128_t v;
    memcpy(&v, column_cell(c, i, 16), sizeof v);
    return v;
}
/* An integer cell (I128: its low 64 bits). */
static inline int64_t cell_i64(uint8_t phys, const void *cell) {
    int64_t v;
    switch (phys) {
    case PH_BOOL: return *(const uint8_t *)cell;
    case PH_I16: return *(const int16_t *)cell;
    case PH_I32: return *(const int32_t *)cell;
    default: memcpy(&v, cell, sizeof v); return v;
    }
}
/* The integer of a row of an integer-like or code column (ENC_PLAIN I128: its low 64 bits). */
static inline int64_t column_i64(const TabletColumn *c, int64_t i) {
    const void *patch = column_patch(c, i);
    if (c->encoding == ENC_FOR) return patch ? cell_i64(c->phys, patch) : (int64_t)((uint64_t)c->base + for_code(c, i));
    return cell_i64(c->phys, column_cell(c, i, phys_size((Phys)c->phys)));
}
static inline Str column_str(const TabletColumn *c, int64_t i) {
    const Str *patch = column_patch(c, i);
    if (patch) return *patch;
    if (c->is_delta) return *(const Str *)column_cell(c, i, (int64_t)sizeof(Str));
    return str_make(c->var_base + c->offsets[i], (int64_t)(c->offsets[i + 1] - c->offsets[i]));
}

#endif
