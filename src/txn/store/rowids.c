/* rowids.c - which rows of the table the rows of an image are.
 *
 * Runs of ROWID_RUN rows. Where a tablet lies in the image row by row, and where rows that bulks have inserted have
 * become a tablet, numbers follow from the first one's; a run has a number for each of its rows only where a tablet
 * ends, where dead rows were left out, and where rows have moved in the table since. In a run without such numbers
 * `live` and the marks say which rows are there (stored_rowid).
 *
 * Room comes first, since a table that has changed must not wait for memory of its image: rowids_room gives a run
 * numbers for each row when the wanted one is not what follows, which changes no number; rowids_put cannot fail.
 */
#include "txn/store/store_int.h"

enum { RUN_BYTES = ROWID_RUN * 8 };

static RowidRun *run_of(const Image *im, int64_t row) { return &im->rowids[row >> ROWID_RUN_BITS]; }
static int64_t in_run(int64_t row) { return row & (ROWID_RUN - 1); }

/* Numbers for each row of the run. */
static Status list_run(Image *im, RowidRun *r, Err *e) {
    if (r->ids) return ST_OK;
    int64_t *ids = mem_alloc_raw(im->account, RUN_BYTES, e), from = (r - im->rowids) * ROWID_RUN;
    if (!ids) return ST_ERROR;
    for (int64_t i = 0; i < ROWID_RUN; i++) ids[i] = from + i < im->impl->live_cap ? stored_rowid(im, from + i) : -1;
    r->ids = ids;
    return ST_OK;
}
Status rowids_room(Image *im, int64_t row, int64_t n, int64_t first, Err *e) {
    for (int64_t at = row; at < row + n; at += ROWID_RUN - in_run(at)) {
        RowidRun *r = run_of(im, at);
        int64_t want = first + (at - row) - in_run(at);
        if (r->ids || (r->known && r->first == want)) continue;
        if (r->known) TRY(list_run(im, r, e));
        else *r = (RowidRun){.first = want, .known = true};
    }
    return ST_OK;
}
Status rowids_room_any(Image *im, int64_t row, int64_t n, Err *e) {
    for (int64_t at = row; at < row + n; at += ROWID_RUN - in_run(at)) TRY(list_run(im, run_of(im, at), e));
    return ST_OK;
}
void rowids_put(Image *im, int64_t row, int64_t rowid) {
    RowidRun *r = run_of(im, row);
    if (r->ids) r->ids[in_run(row)] = rowid;
    else dbg_assert(rowid < 0 || (r->known && r->first + in_run(row) == rowid));
}
Status rowid_set(Image *im, int64_t row, int64_t rowid, Err *e) {
    if (rowid >= 0) TRY(rowids_room(im, row, 1, rowid, e));
    rowids_put(im, row, rowid);
    return ST_OK;
}

/* The next row of runs that are being made. Rows that come before in the run have numbers that follow, or none that
 * counts. */
static Status add_row(MemAccount *a, RowidRun *r, int64_t at, int64_t rowid, Err *e) {
    if (!r->ids && !r->known) *r = (RowidRun){.first = rowid - at, .known = true};
    if (!r->ids && r->first + at != rowid) {
        if (!(r->ids = mem_alloc_raw(a, RUN_BYTES, e))) return ST_ERROR;
        for (int64_t i = 0; i < ROWID_RUN; i++) r->ids[i] = i < at ? r->first + i : -1;
    }
    if (r->ids) r->ids[at] = rowid;
    return ST_OK;
}
Status rowids_without_gaps(const Image *im, int64_t rows, RowidRun **out, Err *e) {
    int64_t cap = im->impl->rowids_cap, to = 0;
    RowidRun *runs = *out = mem_calloc(im->account, cap * (int64_t)sizeof *runs, e);
    Status st = runs ? ST_OK : ST_ERROR;
    for (int64_t row = 0; st == ST_OK && row < rows; row++) {
        if (row_is_gap(im, row)) continue;
        int64_t id = im->dirty[row] & DIRTY_INSERTED ? -1 : stored_rowid(im, row);
        if (id >= 0) st = add_row(im->account, &runs[to >> ROWID_RUN_BITS], in_run(to), id, e);
        to++;
    }
    if (st != ST_OK) rowids_free(im->account, runs, cap);
    return st;
}
void rowids_free(MemAccount *a, RowidRun *runs, int64_t cap) {
    for (int64_t i = 0; runs && i < cap; i++) mem_free(a, runs[i].ids, RUN_BYTES);
    mem_free(a, runs, cap * (int64_t)sizeof *runs);
}
