/* patches.h - the patched form of a column: new cells of single rows beside packed ones, or beside plain ones that
 * versions share.
 *
 * A change of few rows of a main tablet leaves them where they are. Each column that it sets gets patches: row offsets
 * in ascending order with the cells that hold now. They are plain cells of the column's phys: integers, codes of its
 * dictionary, Str whose bytes are in the tablet's heap. Which rows are NULL is said by the column's validity bits,
 * which become the tablet's own with the first change of them; the cell of a NULL row is zero.
 *
 *     TabletColumn.patches -> Patches: n, state, packed bounds, runs[row / 2048] -> PatchRun: n, offsets, cells
 *                             counted, shared with versions      NULL: none         counted, shared by Patches
 *
 * The two levels keep a change of one row cheap: what versions share (table_version.h) is immutable, so that the first
 * change after a version was published copies the addresses of the runs and one run, some 1 KiB of cells at most, and
 * further ones change these in place. An entry is never taken out: undo logs write old cells back to it, which cannot
 * fail (patches_own_cell). Patches go when a packed column is opened, when plain cells are the table's alone again, or
 * when the table is merged.
 *
 * A reader scans them with the packed cells: decode, then write the patched cells over it (PatchScan). One that reads
 * single cells asks patches_find. docs/notes/one-store-scans.md has what that costs.
 *
 * Thread rules: as table.h. Patches of a version are read by any thread.
 */
#ifndef STELE_STORAGE_PATCHES_H
#define STELE_STORAGE_PATCHES_H

#include <assert.h>
#include <stdatomic.h>

#include "base/mem.h"

enum { PATCH_SPAN_BITS = 11, PATCH_SPAN = 1 << PATCH_SPAN_BITS, PATCH_RUNS = 64 };

/* Of PATCH_SPAN rows of the tablet. */
typedef struct PatchRun {
    _Atomic int64_t refs; /* Patches that have it */
    int32_t n, cap;
    char *cells;       /* cap of cell_size bytes, in this allocation; then offsets from the first row of the span */
    uint16_t *offsets; /* ascending */
} PatchRun;

typedef struct Patches {
    _Atomic int64_t refs; /* the tablet, and headers of versions */
    MemAccount *acct;
    int64_t cell_size;
    int64_t n;        /* rows that have a cell here */
    uint64_t state;   /* names the cells: equal for equal ones only, in this process */
    bool has_minmax;  /* the packed cells' bounds: those of the column take in the patches */
    int64_t min, max; /* as in TabletColumn */
    PatchRun *runs[PATCH_RUNS];
} Patches;

/* ---- reading ---- */
static inline const void *patch_cell(const Patches *p, const PatchRun *r, int64_t i) {
    return r->cells + i * p->cell_size;
}
/* The first of the run's entries that is not before `offset`. */
static inline int32_t patch_run_find(const PatchRun *r, int64_t offset) {
    int32_t lo = 0, hi = r->n;
    while (lo < hi) {
        int32_t mid = lo + (hi - lo) / 2;
        if (r->offsets[mid] < offset) lo = mid + 1;
        else hi = mid;
    }
    return lo;
}
/* The row's cell; NULL: it has none here. */
static inline const void *patches_find(const Patches *p, int64_t row) {
    const PatchRun *r = p->runs[row >> PATCH_SPAN_BITS];
    int64_t offset = row & (PATCH_SPAN - 1);
    int32_t i = r ? patch_run_find(r, offset) : 0;
    return r && i < r->n && r->offsets[i] == offset ? patch_cell(p, r, i) : NULL;
}

typedef enum PatchOrder { PATCH_ORDER_UNKNOWN, PATCH_ASCENDING, PATCH_ANY_ORDER } PatchOrder;
/* Over the patched rows among pos[0..n) (in any order; quickest ascending), or, pos NULL, among [first, first + n):
 * begin with the other fields zero. */
typedef struct PatchScan {
    const Patches *p;
    int64_t first;
    const int32_t *pos;
    int64_t n;
    int64_t i; /* where to go on: in pos, or from first on */
    const PatchRun *run;
    int32_t at; /* in run */
    PatchOrder order;
} PatchScan;
/* The next one's cell, and *i: the row is pos[*i], or first + *i. NULL: there is none. */
const void *patch_scan_next(PatchScan *s, int64_t *i);

/* ---- changing ---- */
int64_t patches_bytes(const Patches *p);
/* Empty ones. */
Patches *patches_new(MemAccount *acct, int64_t cell_size, Err *e);
void patches_drop(Patches *p); /* gives up one count; NULL is fine */
/* *p has the row, in cells that no version shares: *cell, which the caller writes. A row that it did not have has `now`
 * there first. 53200: *p is equal to what it was. */
Status patches_put(Patches **p, int64_t row, const void *now, void **cell, Err *e);
/* A set of a tablet's rows. */
typedef struct RowBits {
    uint64_t spans; /* a bit for each PATCH_SPAN rows among which some are in the set */
    uint64_t rows[PATCH_RUNS * PATCH_SPAN / 64];
} RowBits;
static_assert(PATCH_RUNS == 64, "a bit for each span");
static inline void row_bits_add(RowBits *b, int64_t row) {
    b->spans |= UINT64_C(1) << (row >> PATCH_SPAN_BITS);
    b->rows[row >> 6] |= UINT64_C(1) << (row & 63);
}
void row_bits_clear(RowBits *b);

/* Those of the first `rows` that are in the set, and where their cells lie: `stride` bytes apart, from row 0 on. */
typedef struct PatchRows {
    const RowBits *set;
    int64_t rows;
    const char *cells;
    int64_t stride;
} PatchRows;
/* How many of them there are; *fresh: how many have no cell in p (NULL: empty). */
int64_t patches_count_rows(const Patches *p, const PatchRows *r, int64_t *fresh);
/* What p is with these cells, in runs of its own where there are any; the other runs are shared. p stays as it is. */
Status patches_with_rows(const Patches *p, const PatchRows *r, Patches **out, Err *e);
/* The cell of a row that patches_put was called for since these patches were last shared, as undo logs need it; to be
 * written. */
void *patches_own_cell(Patches *p, int64_t row);
/* What a version gets, counted. writable: undo logs may have cells of these, and write to them without asking for
 * memory, so the version has a copy of what was changed since they were last shared. */
Status patches_publish(Patches *p, bool writable, Patches **out, Err *e);
/* The rows are below `rows`, in order, and counted; false else. */
bool patches_verify(const Patches *p, int64_t rows);

#endif
