/* rows_int.h - inside of the row store, for src/exec only (join build, spilling aggregation and sort).
 *
 * A RowPage is a block of rows plus the heap chunks that hold the bytes of its strings, so that a page can be
 * written, freed and read back alone. On disk a page is its rows (string pointers replaced by offsets into
 * the heap that follows), then the used bytes of each chunk in chain order.
 */
#ifndef STELE_EXEC_ROWS_INT_H
#define STELE_EXEC_ROWS_INT_H

#include "exec/rows.h"

typedef struct HeapChunk {
    struct HeapChunk *next;
    int64_t cap, used; /* bytes after this header */
    int64_t pad;
    char data[];
} HeapChunk;

typedef struct RowPage {
    char *rows; /* NULL: on disk or released */
    int64_t cap, n;
    HeapChunk *heap;
    int64_t file_offset, heap_bytes; /* when spilled */
    char *loaded;                    /* a copy read back: rows, then heap */
    int32_t pins;
    bool spilled;
} RowPage;

enum { ROWS_PAGE_BYTES = 256 << 10, ROWS_PAGE_MIN = 2 << 10 };

/* Tuning before the first append. first_bytes..max_bytes: page sizes, doubling in between. */
void rows_set_page_bytes(RowStore *r, int64_t first_bytes, int64_t max_bytes);
/* A refused charge becomes an error instead of a spill. */
void rows_set_no_spill(RowStore *r);
/* rows_append of the rows sel[0..n) only (NULL: 0..n-1). */
Status rows_append_sel(RowStore *r, int worker, int64_t order, int64_t n, const Vec *cols, const int32_t *sel, Err *e);
/* Appends rows that already have this layout (header bytes included), at rows + sel[i] * width. */
Status rows_append_raw(RowStore *r, int worker, int64_t order, int64_t n, const char *rows, const int32_t *sel, Err *e);
/* Appends rows of this layout by their addresses. */
Status rows_append_addresses(RowStore *r, int worker, int64_t order, int64_t n, const char *const *rows, Err *e);
/* Bytes of memory held, all workers. */
int64_t rows_bytes(const RowStore *r);
int64_t rows_spilled_bytes(const RowStore *r);
/* One worker's pages; other workers may go on. */
int64_t rows_worker_pages(const RowStore *r, int worker);
RowPage *rows_worker_page(const RowStore *r, int worker, int64_t i);
/* Frees the rows of a page; its strings stay unless `heap`. The page counts no rows afterwards. */
void rows_release_page(RowStore *r, RowPage *p, bool heap);
/* Writes all pages of a worker to disk. */
Status rows_spill_worker(RowStore *r, int worker, Err *e);

#endif
