/* dict_device.h - dictionaries merged on a device [Merge §3]: two sorted arrays of different values become one, with
 * the maps X_M and X_D from places in each to places in the merged one. Values are 64-bit numbers.
 *
 * Three ways: slices (a work-item merges a slice of main with what of the delta belongs to it), CSUM (concatenate,
 * sort, unique, map) and MUM (merge, unique, map). Duplicates of a delta that is not sorted are removed by sort and
 * unique.
 *
 * Thread rules: one thread at a time.
 */
#ifndef STELE_EXEC_DEVICE_DICT_DEVICE_H
#define STELE_EXEC_DEVICE_DICT_DEVICE_H

#include "codegen/cache.h"

typedef enum DictWay { DICT_SLICES, DICT_CSUM, DICT_MUM, N_DICT_WAYS } DictWay;
extern const char *const dict_way_names[N_DICT_WAYS];
typedef struct DictDevice DictDevice;

typedef struct DictInput {
    int64_t n_main, n_delta; /* together below 2^31 */
    const uint64_t *main, *delta;
    int64_t slices; /* DICT_SLICES: of main; 0: as many as the device runs items at once */
} DictInput;
typedef struct DictOutput { /* the caller's memory: */
    uint64_t *values;       /* n_main + n_delta of them */
    uint32_t *of_main, *of_delta;
    int64_t n;                     /* values */
    int64_t in_ns, run_ns, out_ns; /* copies to the device, kernels, and what comes back */
} DictOutput;

Status dict_device_new(Device *d, CodeCache *cache, MemAccount *account, DictDevice **out, Err *e);
void dict_device_free(DictDevice *x); /* NULL is fine */
/* 53200, 58000. */
Status dict_device_merge(DictDevice *x, DictWay way, const DictInput *in, DictOutput *out, Err *e);
/* The different values among in->delta, which are in any order, in order; out->values has room for all. */
Status dict_device_unique(DictDevice *x, const DictInput *in, DictOutput *out, Err *e);

#endif
