/* device_rows.h - a table as queries on a device read it, when that device has newer rows than the host.
 *
 * The view (exec/device/device_rows.h) has the table's own tablets, with the rows that bulks have added behind them as
 * further ones, where all rows lie in the image in the order of the tablets. Columns that no bulk writes are read from
 * the tablets' bytes, unless there are new rows; all others are made on the device from the image's rows. Where rows do
 * not lie in the order of the tablets, the view's tablets are runs of the image's rows, and have the image's columns
 * only. Bounds, NULLs and numbers of rows are found out by kernels when the view is made; only these numbers come to
 * the host.
 */
#ifndef STELE_TXN_STORE_DEVICE_ROWS_H
#define STELE_TXN_STORE_DEVICE_ROWS_H

#include "txn/store/image.h"

/* Of an image whose copy on a device is newer: the view, the same one until that copy changes. Until a bulk runs, or
 * the host gets the rows, columns can be made of it. What was made, and the rest of it, is good for as long as it is
 * kept. 53200, 58000; 0A000 without kernels; 55000: the table has changes that are not committed. One thread at a time.
 */
Status device_rows_view(Image *im, const Table **out, Err *e);
void device_rows_keep(const Table *view);    /* before anything of the image changes */
void device_rows_release(const Table *view); /* by any thread, also when the image has gone */
/* One row of such an image by a unique key: what the device has of it, in `a`, as the image has it.
 * `row` -1: there is none. One thread at a time. 0A000: its key's columns cannot be compared there. 53200, 58000. */
typedef struct DeviceRow {
    int64_t row;
    bool stored; /* the table has it, as stored_rowid says */
    const uint8_t *pieces[ROW_PIECES];
} DeviceRow;
Status device_rows_find(Image *im, int32_t index, const void *const *keys, Arena *a, DeviceRow *out, Err *e);
/* A cell of it, NULL cells as they are. Strings get their bytes from the device, in `a`. Likewise. */
Status device_rows_cell(Image *im, const DeviceRow *r, int32_t col, Arena *a, const void **cell, bool *null, Err *e);
void device_rows_free(Image *im);

#endif
