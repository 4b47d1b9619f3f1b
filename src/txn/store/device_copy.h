/* device_copy.h - a copy of an image's arrays in the memory of a device that does not share the host's.
 *
 * It has a copy of every array. It is made when a bulk first runs on the device, and is good while the image's
 * generation, version and arrays stay and the host has not changed them (device_copy_stale). Kernels change the copy:
 * then it is newer than the host's arrays, and these must not be read before device_copy_to_host, which every reader
 * and writer on the host calls first; without a newer copy that costs nothing.
 *
 * Thread rules: as image_reserve. The image owns its copy; the device must be open while the copy is there.
 */
#ifndef STELE_TXN_STORE_DEVICE_COPY_H
#define STELE_TXN_STORE_DEVICE_COPY_H

#include "codegen/cache.h"
#include "txn/store/image.h"

/* The device has the image's arrays when it returns (copies may still be under way on `q`). 53200, 58000. `cache`:
 * where the kernels that make indexes larger come from; it outlives the copy. NULL: none, and an image whose index is
 * full goes to the host. */
/* Strings: kernels find those of a cell at its address plus device_copy_texts, and may put new ones where
 * row_text_room says, which has to fit into the room asked for with `text_room`. */
Status device_copy_use(Image *im, Device *d, CodeCache *cache, DevQueue *q, int64_t text_room, Err *e);
/* Whether device_copy_use would have nothing to do: nothing is copied, and nothing moves. */
bool device_copy_ready(const Image *im, int64_t text_room);
/* Memory that the copy takes there; *of: on which device. 0: there is none. */
int64_t device_copy_bytes(const Image *im, const Device **of);
/* A number that changes each time the host's arrays are copied to the device; 0: they never were. */
uint64_t device_copy_uploaded(const Image *im);
/* A number that changes whenever what the device has may have changed, or moved; of an image with a copy, its kernels,
 * and one of its columns there. */
uint64_t device_copy_changes(const Image *im);
struct ImageKernels *device_copy_kernels(const Image *im);
struct DeviceImageColumn device_copy_column(const Image *im, int32_t number);
uint64_t device_copy_texts(const Image *im);
/* Strings as they are on the device: their bytes do not move or go before the last hold is released, also when the copy
 * moves them, or goes. Any thread releases, NULL too. NULL: no memory. 'has' says whether there are strings. */
typedef struct TextHold TextHold;
bool device_copy_has_texts(const Image *im);
TextHold *device_copy_hold_texts(Image *im, Err *e);
void text_hold_release(TextHold *h);
void device_copy_text_room(Image *im, const char *room); /* kernels are going to write from there on */
/* Room for more, on both sides, with nothing copied between them. When the device cannot, the host has the image
 * afterwards (and the caller makes room there). The device's copy is as good as the host's, or better: rows may grow
 * there too. */
bool device_copy_current(const Image *im);
/* Room for more or fewer rows, the host's by `resize`. Kernels that use the image have ended when it is less. */
Status device_copy_resize(Image *im, Status (*resize)(Image *im, int64_t rows, Err *e), int64_t rows, Err *e);
/* An index of an image whose copy is newer: its entries are counted, and when they leave no room for `inserts` more, it
 * gets a table with room for `ahead` more. */
Status device_copy_rehash(Image *im, ImageIndex *x, int64_t inserts, int64_t ahead, Err *e);
/* Strings, whose piece of memory is about to have so many bytes on the host; false: not there. */
bool device_copy_grow_texts(Image *im, int64_t size);
/* Likewise, of fewer bytes, but all that are used; false: it stays. */
bool device_copy_shrink_texts(Image *im, int64_t size);
/* Strings of an image whose copy is newer, of columns cols[0..n), IMAGE_KEY_COLS at most, where rows that died keep
 * theirs when dead_too: their bytes; all of them to a new piece, `size` bytes at `to` on the host, which is not
 * written, and cells that say so. *done false: the device could not, and nothing has changed. 58000: it failed on the
 * way; what it has is lost. */
bool device_copy_text_bytes(const Image *im, int32_t n, const int32_t *cols, const bool *dead_too, int64_t *bytes);
Status device_copy_move_texts(Image *im, int32_t n, const int32_t *cols, const bool *dead_too, char *to, int64_t size,
                              bool *done, Err *e);
/* The device's address of one of the image's arrays; 0 for NULL. */
DevPtr device_copy_address(const Image *im, const void *array);
/* Kernels have changed these arrays: the copy is newer. NULL is ignored. */
void device_copy_changed(Image *im, const void *array);
bool device_copy_newer(const Image *im);
/* The greatest |value| that rows have in a column of whole numbers (PH_I16 .. PH_I64), of an image whose copy is newer.
 * False: the device could not say. */
bool device_copy_bound(const Image *im, int32_t col, uint64_t *bound);
/* Rows that live in a newer copy; all, as long as the kernel that counts them is being compiled. */
Status device_copy_live(const Image *im, int64_t *live, Err *e);
/* Copies back what kernels changed. 58000: the host's arrays are as they were before. */
Status device_copy_to_host(Image *im, Err *e);
/* The same in two steps, for several images together: only the second changes the host's arrays. */
Status device_copy_fetch(Image *im, Err *e);
void device_copy_commit(Image *im);
/* The host is about to change the image. */
void device_copy_stale(Image *im);
void device_copy_free(Image *im);

#endif
