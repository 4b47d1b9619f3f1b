/* device_kernels.c - an index's table is counted and made larger on a device, a column looked at, strings moved; see
 * device_kernels.h. */
#include "txn/store/device_kernels.h"

#include "base/hash.h"
#include "codegen/prelude/txn/kr_image_codes.h"
#include "txn/store/store_int.h"

static const char *const names[IK_KERNELS] = {"image_count", "image_rehash", "image_bound", "rows_live",
                                              "image_sizes", "image_texts",  "rd_deleted",  "rd_zones",
                                              "rd_find",     "rd_column",    "rd_texts"};
static const KernelSet set = {.text = kernel_image_text, .names = names, .n = IK_KERNELS, .n_params = IK_PARAMS};
static_assert(CELL_ROW_LIVE == ROW_LIVE && CELL_BOOL == PH_BOOL && CELL_I16 == PH_I16 && CELL_I32 == PH_I32 &&
                  CELL_I64 == PH_I64 && CELL_I128 == PH_I128 && CELL_F32 == PH_F32 && CELL_F64 == PH_F64 &&
                  CELL_STR == PH_STR && CELL_INTERVAL == PH_INTERVAL && CELL_UUID == PH_UUID &&
                  CELL_UUID + 1 == PH_COUNT_,
              "kernels know these numbers");
static_assert(sizeof(DeviceImageColumn) == CELL_COL_WORDS * 8 && ARRAY_LEN(((RehashTable *)0)->cols) == IMAGE_KEY_COLS,
              "cross into kernels");

void rehash_ask(ImageKernels *k) {
    Err later = {0};
    if (k->cache) (void)code_get_set(k->cache, k->d, k->account, &set, false, &k->code, NULL, &later);
}
bool rehash_ready(ImageKernels *k) {
    Err e = {0};
    rehash_ask(k);
    return k->code.module && rehash_need(k, &e) == ST_OK;
}
Status rehash_need(ImageKernels *k, Err *e) {
    if (!k->cache)
        return err_set(e, ERR_FEATURE_NOT_SUPPORTED, "device \"%s\" has no kernels for images", k->d->info.id);
    if (!k->kernels[0] && code_get_set(k->cache, k->d, k->account, &set, true, &k->code, k->kernels, e) != CODE_READY) {
        k->kernels[0] = NULL;
        return ST_ERROR;
    }
    return device_queue_need(k->d, &k->queue, e);
}
void rehash_release(ImageKernels *k) {
    device_queue_drop(k->d, &k->queue);
    code_release(k->cache, &k->code);
    *k = (ImageKernels){0};
}

Status rehash_end(ImageKernels *k, Status st, Err *e) {
    st = device_settle(k->d, k->queue, st, e);
    if (st != ST_OK) device_queue_drop(k->d, &k->queue);
    return st;
}
/* Over the slots or rows of t, with p's other parameters; n words that are zero before come back. */
static Status run(ImageKernels *k, ImageKernel kernel, const RehashTable *t, uint64_t *p, uint64_t *words, int32_t n,
                  Err *e) {
    const DeviceOps *ops = k->d->ops;
    const int64_t cols = t->n_cols * (int64_t)sizeof t->cols[0], bytes = cols + n * INT64_C(8);
    DevPtr at = 0;
    memset(words, 0, (size_t)n * 8);
    if (device_alloc(k->d, bytes + 8, &at, e) != ST_OK) return rehash_end(k, ST_ERROR, e); /* of a fill before */
    p[IK_SLOTS] = t->slots;
    p[IK_N] = (uint64_t)t->n;
    p[IK_LIVE] = t->live;
    p[IK_ROWS] = (uint64_t)t->rows;
    p[IK_DENSE] = (uint64_t)t->dense;
    p[IK_COLS] = at;
    p[IK_N_COLS] = (uint64_t)t->n_cols;
    p[IK_TEXTS] = t->texts;
    p[IK_RESULT] = at + (uint64_t)cols;
    Status st = cols > 0 ? ops->copy_in(k->queue, at, t->cols, cols, e) : ST_OK;
    if (st == ST_OK) st = ops->fill(k->queue, p[IK_RESULT], 0, n * INT64_C(8), e);
    if (st == ST_OK) st = device_launch_over(k->d, k->queue, k->kernels[kernel], t->n, 0, p, IK_PARAMS, e);
    if (st == ST_OK) st = ops->copy_out(k->queue, words, p[IK_RESULT], n * INT64_C(8), e);
    st = rehash_end(k, st, e);
    ops->free(k->d, at, bytes + 8);
    return st;
}

Status rehash_count(ImageKernels *k, const RehashTable *t, int64_t *entries, int64_t *kept, Err *e) {
    uint64_t p[IK_PARAMS] = {0}, counts[2];
    Status st = run(k, IK_COUNT, t, p, counts, 2, e);
    *entries = (int64_t)counts[0];
    *kept = (int64_t)counts[1];
    return st;
}
Status image_rehash(ImageKernels *k, const RehashTable *t, DevPtr to, int64_t n, Err *e) {
    uint64_t p[IK_PARAMS] = {[IK_TO] = to, [IK_MASK] = (uint64_t)n - 1, [IK_HASHES] = !hash_constant}, none;
    if (k->d->ops->fill(k->queue, to, 0, n * 8, e) != ST_OK) return rehash_end(k, ST_ERROR, e);
    return run(k, IK_REHASH, t, p, &none, 1, e);
}
Status rehash_bound(ImageKernels *k, const RehashTable *t, uint64_t *bound, Err *e) {
    uint64_t p[IK_PARAMS] = {0};
    return run(k, IK_BOUND, t, p, bound, 1, e);
}
Status rehash_live(ImageKernels *k, const RehashTable *t, uint64_t *rows, Err *e) {
    uint64_t p[IK_PARAMS] = {0};
    return run(k, IK_ROWS_LIVE, t, p, rows, 1, e);
}
Status rehash_sizes(ImageKernels *k, const RehashTable *t, uint64_t *bytes, Err *e) {
    uint64_t p[IK_PARAMS] = {0};
    return run(k, IK_SIZES, t, p, bytes, 1, e);
}
Status rehash_texts(ImageKernels *k, const RehashTable *t, DevPtr to, uint64_t base, Err *e) {
    uint64_t p[IK_PARAMS] = {[IK_TO] = to, [IK_BASE] = base}, bytes;
    return run(k, IK_MOVE_TEXTS, t, p, &bytes, 1, e);
}
