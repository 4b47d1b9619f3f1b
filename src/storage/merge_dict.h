/* merge_dict.h - steps 1a and 1b of a merge [Merge §2.2]: one dictionary of main's and the delta's.
 *
 * A table's dictionary has both: entries below n_sorted are main's, in order, and those behind it have come with the
 * delta, in any order. No value is in both.
 */
#ifndef STELE_STORAGE_MERGE_DICT_H
#define STELE_STORAGE_MERGE_DICT_H

#include "base/mem.h"
#include "storage/table.h"

typedef struct DictMaps {
    int32_t n_old, n; /* entries before, and in the merged dictionary */
    int32_t *map;     /* old code -> new one: X_M below n_sorted, X_D behind; -1: the entry is left out */
    int32_t *order;   /* new code -> old one; room for n_old */
    bool same;        /* no entry that stays has another code */
} DictMaps;
typedef struct DictTimes {
    int64_t delta_ns, merge_ns; /* 1a, 1b: processor time */
} DictTimes;
/* used: a byte for each entry, 0: it is left out; NULL: all stay. dict_maps_free follows, even after an error. */
Status dict_maps_make(MemAccount *a, const Dict *d, const uint8_t *used, DictMaps *out, DictTimes *times, Err *e);
void dict_maps_free(MemAccount *a, DictMaps *x);
/* The merged dictionary, in order; d stays. */
Status dict_of_maps(MemAccount *a, const Dict *d, const DictMaps *x, Dict **out, Err *e);

#endif
