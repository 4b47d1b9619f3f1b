/* image_rehash.c - an index's table is counted and made larger on a device, a column looked at, strings moved; see
 * image_rehash.h. */
#include "txn/store/image_rehash.h"

#include "base/hash.h"
#include "codegen/prelude/txn/kr_image_codes.h"
#include "txn/store/store_int.h"

enum { GROUPS_PER_UNIT = 8 };
static_assert(IMAGE_ROW_LIVE == ROW_LIVE && IMAGE_BOOL == PH_BOOL && IMAGE_I16 == PH_I16 && IMAGE_I32 == PH_I32 &&
                  IMAGE_I64 == PH_I64 && IMAGE_I128 == PH_I128 && IMAGE_F32 == PH_F32 && IMAGE_F64 == PH_F64 &&
                  IMAGE_STR == PH_STR && IMAGE_INTERVAL == PH_INTERVAL && IMAGE_UUID == PH_UUID &&
                  IMAGE_UUID + 1 == PH_COUNT_,
              "kernels know these numbers");
static_assert(sizeof(((RehashTable *)0)->cols[0]) == IMAGE_COL_WORDS * 8 &&
                  ARRAY_LEN(((RehashTable *)0)->cols) == IMAGE_KEY_COLS,
              "cross into kernels");

static CodeState get(ImageKernels *k, Device *d, MemAccount *account, bool wait, Err *e) {
    return code_get_embedded(k->cache, d, account, kernel_image_text, IK_PARAMS, wait, &k->code, e);
}
void image_kernels_ask(ImageKernels *k, Device *d, MemAccount *account) {
    Err later = {0};
    if (k->cache && !k->code.module) (void)get(k, d, account, false, &later);
}
bool rehash_ready(ImageKernels *k, Device *d, MemAccount *account) {
    Err e = {0};
    image_kernels_ask(k, d, account);
    return k->code.module && image_kernels_need(k, d, account, &e) == ST_OK;
}
Status image_kernels_need(ImageKernels *k, Device *d, MemAccount *account, Err *e) {
    if (k->rehash) return ST_OK;
    if (!k->cache) return err_set(e, ERR_FEATURE_NOT_SUPPORTED, "device \"%s\" has no kernels for images", d->info.id);
    if (!k->code.module && get(k, d, account, true, e) != CODE_READY) return ST_ERROR;
    TRY(d->ops->kernel(k->code.module, "image_count", &k->count, e));
    TRY(d->ops->kernel(k->code.module, "image_bound", &k->bound, e));
    TRY(d->ops->kernel(k->code.module, "rows_live", &k->live, e));
    TRY(d->ops->kernel(k->code.module, "image_sizes", &k->sizes, e));
    TRY(d->ops->kernel(k->code.module, "image_texts", &k->texts, e));
    return d->ops->kernel(k->code.module, "image_rehash", &k->rehash, e);
}
void image_kernels_release(ImageKernels *k) {
    if (k->code.module) code_release(k->cache, &k->code);
    *k = (ImageKernels){0};
}

static Status launch(Device *d, DevQueue *q, DevKernel *k, const RehashTable *t, uint64_t *p, Err *e) {
    int64_t size = d->info.group_rows,
            groups = MAX_OF(INT64_C(1), MIN_OF(t->n / (2 * size), (int64_t)d->info.units * GROUPS_PER_UNIT));
    p[IK_SLOTS] = t->slots;
    p[IK_N] = (uint64_t)t->n;
    p[IK_LIVE] = t->live;
    p[IK_ROWS] = (uint64_t)t->rows;
    return d->ops->launch(q, k, groups, (int32_t)size, 0, p, IK_PARAMS, e);
}

Status image_rehash_count(const ImageKernels *k, Device *d, DevQueue *q, const RehashTable *t, int64_t *entries,
                          int64_t *kept, Err *e) {
    uint64_t p[IK_PARAMS] = {0}, counts[2] = {0};
    TRY(device_alloc(d, (int64_t)sizeof counts, &p[IK_COUNTS], e));
    Status st = d->ops->fill(q, p[IK_COUNTS], 0, (int64_t)sizeof counts, e);
    if (st == ST_OK) st = launch(d, q, k->count, t, p, e);
    if (st == ST_OK) st = d->ops->copy_out(q, counts, p[IK_COUNTS], (int64_t)sizeof counts, e);
    if (d->ops->sync(q, NULL, NULL, st == ST_OK ? e : NULL) != ST_OK) st = ST_ERROR;
    d->ops->free(d, p[IK_COUNTS], (int64_t)sizeof counts);
    *entries = (int64_t)counts[0];
    *kept = (int64_t)counts[1];
    return st;
}
Status image_rehash(const ImageKernels *k, Device *d, DevQueue *q, const RehashTable *t, DevPtr to, int64_t n, Err *e) {
    uint64_t p[IK_PARAMS] = {[IK_TO] = to,
                             [IK_MASK] = (uint64_t)n - 1,
                             [IK_HASHES] = !hash_constant,
                             [IK_N_COLS] = (uint64_t)t->n_cols,
                             [IK_TEXTS] = t->texts};
    TRY(device_alloc(d, (int64_t)sizeof t->cols, &p[IK_COLS], e));
    Status st = d->ops->copy_in(q, p[IK_COLS], t->cols, (int64_t)sizeof t->cols, e);
    if (st == ST_OK) st = launch(d, q, k->rehash, t, p, e);
    if (d->ops->sync(q, NULL, NULL, st == ST_OK ? e : NULL) != ST_OK) st = ST_ERROR;
    d->ops->free(d, p[IK_COLS], (int64_t)sizeof t->cols);
    return st;
}
/* A kernel that goes through t->n rows of columns and leaves one number. */
static Status look_at_rows(DevKernel *kernel, Device *d, DevQueue *q, const RehashTable *t, int32_t result, uint64_t *p,
                           uint64_t *out, Err *e) {
    const int64_t cols = t->n_cols * (int64_t)sizeof t->cols[0];
    *out = 0;
    TRY(device_alloc(d, cols + 8, &p[IK_COLS], e));
    p[IK_N_COLS] = (uint64_t)t->n_cols;
    p[IK_TEXTS] = t->texts;
    p[result] = p[IK_COLS] + (uint64_t)cols;
    Status st = d->ops->copy_in(q, p[IK_COLS], t->cols, cols, e);
    if (st == ST_OK) st = d->ops->fill(q, p[result], 0, 8, e);
    if (st == ST_OK) st = launch(d, q, kernel, t, p, e);
    if (st == ST_OK) st = d->ops->copy_out(q, out, p[result], 8, e);
    if (d->ops->sync(q, NULL, NULL, st == ST_OK ? e : NULL) != ST_OK) st = ST_ERROR;
    d->ops->free(d, p[IK_COLS], cols + 8);
    return st;
}
Status image_rehash_bound(const ImageKernels *k, Device *d, DevQueue *q, const RehashTable *t, uint64_t *bound,
                          Err *e) {
    uint64_t p[IK_PARAMS] = {0};
    return look_at_rows(k->bound, d, q, t, IK_BOUND, p, bound, e);
}
Status rehash_live(const ImageKernels *k, Device *d, DevQueue *q, const RehashTable *t, uint64_t *rows, Err *e) {
    uint64_t p[IK_PARAMS] = {0};
    return look_at_rows(k->live, d, q, t, IK_COUNTS, p, rows, e);
}
Status rehash_sizes(const ImageKernels *k, Device *d, DevQueue *q, const RehashTable *t, uint64_t *bytes, Err *e) {
    uint64_t p[IK_PARAMS] = {0};
    return look_at_rows(k->sizes, d, q, t, IK_COUNTS, p, bytes, e);
}
Status rehash_texts(const ImageKernels *k, Device *d, DevQueue *q, const RehashTable *t, DevPtr to, uint64_t base,
                    Err *e) {
    uint64_t p[IK_PARAMS] = {[IK_TO] = to, [IK_BASE] = base}, bytes;
    return look_at_rows(k->texts, d, q, t, IK_COUNTS, p, &bytes, e);
}
