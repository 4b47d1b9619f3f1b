/* device_rows.h - rows of a table that only a device has, for queries that run there.
 *
 * After bulks on a device with memory of its own the host's tablets are older than what the device has. A view of such
 * a table is a `const Table` (Table.on_device) whose tablets say how many rows there are, with statistics that are true
 * of them, but have no bytes of the columns that bulks have changed. These are made on the device, side by side, in its
 * memory, when a query first reads them there (residency.c); nothing but the query's result comes to the host, with
 * those strings of these rows that are in it (dev_move.c). Such a view cannot be read on the host: a query that would
 * have to says so (query_needs_host), and the session brings the table up to date.
 *
 * Places. What is made of a column is one array with a place for each row of all tablets. A tablet's places begin at a
 * multiple of 64, so that bitmaps can be made by words.
 *
 * Thread rules: a view may be read by any number of threads. Its functions, which only put work on the queue that they
 * are given, may be called as long as no bulk runs; what they have made does not change afterwards.
 */
#ifndef STELE_EXEC_DEVICE_DEVICE_ROWS_H
#define STELE_EXEC_DEVICE_DEVICE_ROWS_H

#include "device/device.h"
#include "storage/table.h"

typedef enum DeviceColumn {
    COLUMN_OF_HOST,   /* the tablets have its bytes */
    COLUMN_OF_DEVICE, /* made on the device; plain cells of its phys */
    COLUMN_ABSENT     /* neither has it in a form that a query could read: the host has to be brought up to date */
} DeviceColumn;

typedef struct DeviceText { /* one of a list in device memory */
    uint64_t from, bytes, place;
} DeviceText;
typedef struct DeviceRows DeviceRows;
struct DeviceRows {
    const Device *device;
    int64_t n_places;          /* a multiple of 64 */
    const int64_t *places;     /* by tablet: of its first row */
    const DeviceColumn *cols;  /* by column */
    const bool *may_have_null; /* by column of the device */
    /* Makes a bit per place on the device: the row is deleted, or not there. */
    Status (*deleted)(const DeviceRows *r, DevQueue *q, DevPtr bits, Err *e);
    /* Makes a column of the device: a cell of its phys per place; and a bit per place that says whether it has a value,
     * when it may have NULLs (else bits is 0). Cells of deleted rows have a value within the column's bounds. */
    Status (*column)(const DeviceRows *r, DevQueue *q, int32_t col, DevPtr cells, DevPtr bits, Err *e);
    /* Copies n strings of such columns to `to`, each from an address to a place behind `to`. May be called at any
     * time. */
    Status (*texts)(const DeviceRows *r, DevQueue *q, int64_t n, DevPtr list, DevPtr to, Err *e);
};

#endif
