/* image_mirror.h - an image's arrays in the memory of a device that does not share the host's.
 *
 * The mirror has a copy of every array. It is made when a bulk first runs there, and is good while the image's
 * generation, version and arrays stay and nobody has changed them on the host (image_mirror_stale). Kernels change the
 * mirror: then it is ahead, and the host's arrays are not to be read before image_mirror_to_host. Whoever is about to
 * read or change an image on the host calls that; without a mirror that is ahead it costs nothing.
 *
 * Thread rules: as image_reserve. The device must be open while there is a mirror.
 */
#ifndef STELE_TXN_STORE_IMAGE_MIRROR_H
#define STELE_TXN_STORE_IMAGE_MIRROR_H

#include "codegen/cache.h"
#include "txn/store/image.h"

/* The device has the image's arrays when it returns (copies may still be under way on `q`). 53200, 58000. `cache`:
 * where the kernels that make indexes larger come from; it outlives the mirror. NULL: none, and an image whose index is
 * full goes to the host. */
/* Strings: kernels find those of a cell at its address plus image_mirror_texts, and may put new ones where
 * image_text_room says, which has to fit into the room asked for with `text_room`. */
Status image_mirror_use(Image *im, Device *d, CodeCache *cache, DevQueue *q, int64_t text_room, Err *e);
bool image_mirror_ready(const Image *im,
                        int64_t text_room); /* it had nothing to do: nothing is copied, and nothing moves */
uint64_t image_mirror_uploaded(
    const Image *im); /* changes with each copy of the host's arrays that goes there; 0: none has */
uint64_t image_mirror_texts(const Image *im);
void image_mirror_text_room(Image *im, const char *room); /* kernels are going to write from there on */
/* Room for more, on both sides, with nothing copied between them. When the device cannot, the host has the image
 * afterwards (and who asks gives it room there). The device's copy is as good as the host's, or better: rows may grow
 * there too. */
bool image_mirror_current(const Image *im);
/* Rows, the host's by `grow`. */
Status image_mirror_grow(Image *im, Status (*grow)(Image *im, int64_t rows, Err *e), int64_t rows, Err *e);
/* An index of an image that is ahead: its entries are counted, and when they leave no room for `inserts` more, it gets
 * a table with room for `ahead` more. */
Status image_mirror_rehash(Image *im, ImageIndex *x, int64_t inserts, int64_t ahead, Err *e);
/* Strings, whose piece of memory is about to have so many bytes on the host; false: not there. */
bool image_mirror_grow_texts(Image *im, int64_t size);
/* Strings of an image that is ahead, of columns cols[0..n), IMAGE_KEY_COLS at most, where rows that died keep theirs
 * when dead_too: their bytes; all of them to a new piece, `size` bytes at `to` on the host, which is not written, and
 * cells that say so. *done false: the device could not, and nothing has changed. 58000: it failed on the way; what it
 * has is lost. */
bool image_mirror_text_bytes(const Image *im, int32_t n, const int32_t *cols, const bool *dead_too, int64_t *bytes);
Status image_mirror_move_texts(Image *im, int32_t n, const int32_t *cols, const bool *dead_too, char *to, int64_t size,
                               bool *done, Err *e);
/* The device's address of one of the image's arrays; 0 for NULL. */
DevPtr image_mirror_at(const Image *im, const void *array);
/* Kernels have changed these arrays: the mirror is ahead. NULL is ignored. */
void image_mirror_changed(Image *im, const void *array);
bool image_mirror_ahead(const Image *im);
/* The greatest |value| that rows have in a column of whole numbers (PH_I16 .. PH_I64), of an image that is ahead.
 * False: the device could not say. */
bool image_mirror_bound(const Image *im, int32_t col, uint64_t *bound);
/* Copies back what kernels changed. 58000: the host's arrays are as they were before. */
Status image_mirror_to_host(Image *im, Err *e);
/* The same in two steps, for several images together: only the second changes the host's arrays. */
Status image_mirror_fetch(Image *im, Err *e);
void image_mirror_commit(Image *im);
/* The host is about to change the image. */
void image_mirror_stale(Image *im);
void image_mirror_free(Image *im);

#endif
