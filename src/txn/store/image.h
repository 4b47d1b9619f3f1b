/* image.h - tables in the form that bulks change: plain cells addressed by row number, with indexes.
 *
 * A procedure reads and writes single fields of single rows, by key. For that a table has an image: the columns that
 * some procedure uses are plain cells; a byte per row says whether it lives; unique keys are hash tables from key to
 * row; a group index leads from a key's value to all rows that have it. The same layout serves the host and a device:
 * everything is reached from base addresses by 64-bit row numbers, nothing in it points at anything else except string
 * cells at their bytes.
 *
 * Image and table. An image is made from the table when a bulk first needs it and stays while the table's version does.
 * Bulks change the image alone and mark rows dirty; image_sync brings the table up to date with them, and has to be
 * called before the table is read or changed by other means (session layer). After a change of the table by other means
 * the image is stale and is made anew.
 *
 * Settled. While bulks on the host need no way back, the table's tablets have the cells that bulks write in the image's
 * rows (home_settle, storage/row_home.h): one copy of each. Then bringing it up to date is to note which rows have
 * changed and to add rows that have come as tablets, without moving cells. Otherwise, and for columns with a
 * dictionary, the table has copies, which are changed through table.h with an undo log.
 *
 * Room. Rows are only added; image_reserve makes room before a bulk, from the number of inserts that the bulk may do,
 * so that nothing moves while calls run. Where the table says how many rows it expects (Table.expected_rows), an image
 * that takes inserts has room for them from the beginning, in rows and indexes, and its memory has been touched. When
 * there is no room left and a quarter of the rows is dead, it closes the gaps: rows get new numbers, in the same order.
 *
 * Thread rules: image_make, image_reserve, image_sync, image_free: one thread, no call running. During a bulk any
 * number of threads read cells, and change cells and insert under the rules of the schedule (txn/order/schedule.h):
 * never two of them the same cell at a time, except to add to it atomically.
 *
 * Hash tables: open addressing, a power of two of 8-byte slots, at most 0.7 full after image_reserve, half full
 * with a device copy; a key's search begins at slot hash & mask and goes through that slot's cache line, then the next
 * one, round the end (SLOT_AT). A slot holds row + 1 in its lower 40 bits and the upper 24 bits of the key's hash
 * above; 0 = free. Slots are taken by compare-and-swap and never given back before a rebuild; an entry is a hint: a
 * lookup compares the row's key and checks that the row lives. A row that comes back to life (undo of a delete) is
 * found again.
 *
 * Dense rows: where a unique key is one integer (index_can_be_dense) and that of row r is first_key + r for the first
 * rows, which is so of numbered tables, these have no entries: a lookup compares, looks whether the row lives, and goes
 * on in the slots where it does not (ImageIndex.dense). Which rows these are is seen when an image is made and when its
 * gaps are closed; rows that come later have entries.
 *
 * A key's hash: that of its first column's value, then hash_key with the others (base/hash.h): with booleans, integers,
 * dates and times of at most 64 bits as they are, else with their hashes. A value's hash: booleans, integers, dates and
 * times hash_u64 of the value as 64 bits; 128-bit integers the same, with the high half hash_combine'd when they need
 * it; floats as cell_hash; uuids and strings as kernels do (codegen/prelude: hash_uuid, hash_str).
 *
 * Group index: the same table with the first row of each group, and next[row] (row + 1, 0 = end) as a list, newest row
 * first. Dead rows stay in the list. A group whose columns change is 0A000 at compile time: their columns must be such
 * that no procedure updates them.
 *
 * Ordered group index (ImageIndex.order): the rows of a group by a column that no procedure updates either, those of
 * one value by row number; image_order.c. The slot holds the group's anchor, a row of it that stays the same.
 */
#ifndef STELE_TXN_STORE_IMAGE_H
#define STELE_TXN_STORE_IMAGE_H

#include "program/image_layout.h"
#include "program/proc.h"

/* Strings of the table are borrowed: once it was merged, truncated, replaced or dropped, the image may only be freed.
 * `pool` (NULL: none) is for image_reserve, too. 53200. */
Status image_make(const ImageNeed *need, MemAccount *parent, Pool *pool, Image **out, Err *e);
void image_free(Image *im);
/* Room for `inserts` more rows (calls of image_insert, failed ones too); may move everything. 53200: no row has
 * changed. */
Status image_reserve(Image *im, int64_t inserts, Err *e);
/* Gives back what image_reserve has made room for and no row needs, on the host and in a device's copy: of rows and
 * indexes but for what the table expects, of strings that lie in one piece. Moves what image_reserve moves. No call
 * running. What memory is too short for stays as it is; 58000: the device failed, 53200: and the host could not take
 * the image over. */
Status room_trim(Image *im, Err *e);
/* Applies dirty rows to the table: deletes, then updates, then inserts, each in the order of row numbers, with `undo`
 * (NULL: none). When the caller rolls that back later, the image is stale. Constraints hold by construction: a failure
 * is XX000 or 53200 and leaves both as they were. */
Status image_sync(Image *im, UndoLog *undo, Err *e);
struct RowNumbers;
/* The same; what the table has learned of its rows, in numbers->arena (storage/redo.h; NULL: it is not wanted). Rows
 * that have come are in the order of their calls, whichever way these have run. */
Status sync_numbered(Image *im, UndoLog *undo, struct RowNumbers *numbers, Err *e);
bool image_is_dirty(const Image *im);
/* The table's tablets have the cells that bulks write in the image's rows from here on: one copy of them, which calls
 * change in place. That is for bulks on the host that are not undone as a whole: there are no old cells for a log. Of
 * an image that the table is equal to; does nothing for some bulks after home_leave, so that the cells do not go to
 * and fro. 53200: whatever is settled is right. */
Status home_settle(Image *im, Err *e);
/* The tablets have cells of their own again. 53200: some may not, and home_is_settled. */
Status home_leave(Image *im, Err *e);
bool home_is_settled(const Image *im);
/* The table's cell is the image's: what others have changed there is here, too. */
bool home_has_cell(const Image *im, int32_t col, int64_t row);

/* The row with this key, -1 none. keys: cells of the index's columns, in order; never NULL (a NULL key finds nothing:
 * caller's). */
int64_t image_find(const Image *im, int32_t index, const void *const *keys);
/* The same for n keys at once, column by column (Vec of the columns' phys; NULLs find nothing): overlaps the cache
 * misses. With a group index: image_first. */
void image_find_many(const Image *im, int32_t index, int64_t n, const Vec *keys, int64_t *rows);
/* Prefetches what inserts of rows first .. first + n - 1 (64 are good, 256 the most) of vectors will touch: the values
 * of column c are in vecs[vec_of_col[c]], of its phys; 0, and columns from n_cols on: not known. Costs a hash per key,
 * saves a cache miss. */
void image_prefetch_keys(const Image *im, int64_t first, int64_t n, const Vec *vecs, int32_t n_cols,
                         const int32_t *vec_of_col);
/* First row of a group (dead ones are skipped), and the next one; -1 none. Of an ordered group in its order; rows of
 * the group must not come or go at the same time (reads and inserts or deletes conflict); any number may read. */
int64_t image_first(const Image *im, int32_t index, const void *const *keys);
int64_t image_next(const Image *im, int32_t index, int64_t row);
/* The first row of an ordered group after (at: or at) a value of the order's column. */
int64_t image_first_after(const Image *im, int32_t index, const void *const *keys, int64_t value, bool at);
/* A new row: cells[i] of column i (NULL cell = SQL NULL; strings are copied). Unique keys are
 * entered: *conflict = number of the violated key constraint, -1 none; with a conflict nothing remains. Returns the
 * row, -1 on a conflict or out of memory (e set). Any thread. Of two threads with the same key at the same time one
 * succeeds. */
int64_t image_insert(Image *im, const void *const *cells, int32_t *conflict, Err *e);
/* The same in two steps, for row numbers that do not depend on the order of execution: n numbers in a row (-1: no room
 * was reserved, e set), and a row at one of them. A number that is not used stays dead. A row that was there and died
 * again (its call failed) may come once more, with the same keys. */
int64_t image_claim(Image *im, int64_t n, Err *e);
int64_t image_insert_at(Image *im, int64_t row, const void *const *cells, int32_t *conflict, Err *e);
/* Has the system back the memory of claimed rows now, by several workers; rows_touch.c. No call running. */
void rows_touch(Image *im, int64_t first, int64_t n, Pool *pool, int workers);
void image_delete(Image *im, int64_t row);   /* marks it dead */
void image_undelete(Image *im, int64_t row); /* undo */
/* Which row of the table this one is: stored_rowid says so from here on, of a row without DIRTY_INSERTED. -1: of a dead
 * row without marks; cannot fail. 53200. No call running. */
Status rowid_set(Image *im, int64_t row, int64_t rowid, Err *e);
/* Bytes of a string that is to be put in a cell, copied. NULL: 53200. Any thread. */
const char *row_text_put(Image *im, const char *ptr, int64_t len, Err *e);
/* Room for n > 0 bytes of strings that kernels put there. 53200. Any thread. */
char *row_text_room(Image *im, int64_t n, Err *e);
/* The end of such room was not used. No call running. */
void row_text_leave(Image *im, const char *from, const char *end);
/* All strings in one piece of memory with room for `room` more bytes, for devices that have a copy; they move unless
 * they are there already. One thread, no call running. 53200, 58000: nothing has moved. */
Status image_gather_texts(Image *im, int64_t room, Err *e);
bool image_texts_fit(const Image *im, int64_t room); /* there is room already */
/* That piece, NULL when there is none; the bytes that are used of it. */
char *image_texts(const Image *im, int64_t *size, int64_t *used);
/* What the image holds that nothing needs, in bytes, about: rows that are gone, on the device that has the newer copy,
 * too; strings that no row has, or that the table has as well once it is up to date. garbage_growth: the
 * rows and strings that have come since garbage_bytes looked last: what bulks of constant size delete, these insert; a
 * table that only loses rows does not grow. Quick. No call running. 58000, 53200 */
int64_t garbage_growth(const Image *im);
Status garbage_bytes(Image *im, int64_t *bytes, Err *e);
uint64_t key_hash(int32_t n, const uint8_t *phys, const void *const *keys);
/* Debug: indexes and cells agree; with `against_table` after a sync, every row equals the table's. */
Status image_verify(const Image *im, bool against_table, Err *e);

#endif
