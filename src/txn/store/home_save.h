/* home_save.h - the table's cells that lie in an image's rows (home.c), copied before a bulk changes them: its way
 * back, when it may have to be undone as a whole.
 *
 * Of what a bulk changes only these cells are the table's own until it is brought up to date. So a bulk on a settled
 * image is undone by putting them back, after which the image, which has the bulk's other changes, has to be dropped.
 *
 * Thread rules: under the lock held alone, no call running.
 */
#ifndef STELE_TXN_STORE_HOME_SAVE_H
#define STELE_TXN_STORE_HOME_SAVE_H

#include "base/pool.h"
#include "txn/store/image.h"

typedef struct HomeSave HomeSave;
/* Bytes that home_save takes, about: all cells at home in columns that bulks write, however few a bulk changes. */
int64_t home_save_bytes(const Image *im);
/* Copies them to the arena. 53200. */
Status home_save(const Image *im, Pool *pool, Arena *a, HomeSave **out, Err *e);
/* Puts them back. The image may have moved and grown, and its table has not been brought up to date since. */
void home_put_back(const Image *im, const HomeSave *s);

#endif
