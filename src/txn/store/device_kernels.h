/* device_kernels.h - kernels on the device that has the newer copy of an image: a larger table for an index, the bound
 * of a column, strings in one piece (device_copy.c), and rows as queries read them (device_rows.c); these two only.
 *
 * The kernels (codegen/prelude/txn/kr_image.h, kr_device_rows.h) are the same for all images: one module, compiled
 * once, beside the first bulks (rehash_ask).
 */
#ifndef STELE_TXN_STORE_DEVICE_KERNELS_H
#define STELE_TXN_STORE_DEVICE_KERNELS_H

#include "codegen/cache.h"
#include "device/work.h"
#include "txn/store/image.h"

extern const char kernel_image_text[]; /* made at build time */

typedef enum ImageKernel {
    IK_COUNT,
    IK_REHASH,
    IK_BOUND,
    IK_ROWS_LIVE,
    IK_SIZES,
    IK_MOVE_TEXTS,
    RD_DELETED,
    RD_ZONES,
    RD_FIND,
    RD_COLUMN,
    RD_GATHER_TEXTS,
    IK_KERNELS
} ImageKernel;
typedef struct ImageKernels {
    Device *d;
    CodeCache *cache; /* NULL: there are none */
    MemAccount *account;
    CodeRef code;
    DevKernel *kernels[IK_KERNELS];
    DevQueue *queue; /* of all that the image does on the device beside bulks; NULL: not yet */
} ImageKernels;

/* Has them compiled, but does not wait; errors wait as well. */
void rehash_ask(ImageKernels *k);
/* They are there already; asks for them. */
bool rehash_ready(ImageKernels *k);
/* They are there, and the queue. 58000, 53200; 0A000 without a cache. */
Status rehash_need(ImageKernels *k, Err *e);
void rehash_release(ImageKernels *k);
/* Waits for what the queue has (device_settle). After a failure it is given up. */
Status rehash_end(ImageKernels *k, Status st, Err *e);

/* A column in the device's memory. */
typedef struct DeviceImageColumn {
    uint64_t phys, cells, stride, valid; /* valid 0: never NULL */
} DeviceImageColumn;
/* One table, likewise. */
typedef struct RehashTable {
    DevPtr slots;
    int64_t n;      /* slots, a power of two */
    DevPtr live;    /* unique index: the image's live; else 0 */
    int64_t rows;   /* ... and its rows, */
    int64_t dense;  /* ... of which the first so many have no entries */
    int32_t n_cols; /* of the key */
    DeviceImageColumn cols[32];
    uint64_t texts;
} RehashTable;
/* Entries of the table, and how many image_rehash will take along at most. All of these need the kernels
 * (rehash_need) and wait. 53200, 58000. */
Status rehash_count(ImageKernels *k, const RehashTable *t, int64_t *entries, int64_t *kept, Err *e);
/* To a table of n slots. */
Status image_rehash(ImageKernels *k, const RehashTable *t, DevPtr to, int64_t n, Err *e);
/* The greatest |value| of t->cols[0], of int16, int32 or int64, in those of n rows that live (t->n, t->live). */
Status rehash_bound(ImageKernels *k, const RehashTable *t, uint64_t *bound, Err *e);
/* How many of t->n rows live (t->live). */
Status rehash_live(ImageKernels *k, const RehashTable *t, uint64_t *rows, Err *e);
/* The bytes of the strings of t->n rows, in columns of t->cols, whose `phys` says instead whether rows that do not live
 * (t->live) keep theirs. */
Status rehash_sizes(ImageKernels *k, const RehashTable *t, uint64_t *bytes, Err *e);
/* These strings go to `to`, which has room for them all and is `base` on the host; cells say so. t->texts: as cells
 * have them now. After a failure cells may be anything. */
Status rehash_texts(ImageKernels *k, const RehashTable *t, DevPtr to, uint64_t base, Err *e);

#endif
