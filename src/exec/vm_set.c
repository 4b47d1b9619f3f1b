/* vm_set.c - membership in a constant set, for IN_SET. Three forms, by what the set looks like:
 *
 *   small   up to 16 integers: compared with all of them, a few at a time, by SIMD
 *   bytes   integers within a domain of 64 K values: one byte per value
 *   hash    anything else: open addressing, load at most one half; cells are compared in full
 *
 * Prepared once per execution and shared by the workers.
 */
#include "base/hash.h"
#include "exec/vm_frame.h"

enum { SET_SMALL = 16, SET_BYTES = 1 << 16 };

struct SetImpl {
    enum { SET_LIST, SET_MASK, SET_HASH } form;
    uint8_t phys;
    int64_t n;
    const void *cells;
    int64_t base, range;
    uint8_t *mask;
    int32_t *slots; /* index + 1 into cells, 0 = empty */
    uint64_t slot_mask;
};

static inline uint64_t hash_cell(uint8_t phys, const void *cells, int64_t i) {
    switch (phys) {
    case PH_I16: return hash_u64((uint64_t)((const int16_t *)cells)[i]);
    case PH_I32: return hash_u64((uint64_t)((const int32_t *)cells)[i]);
    case PH_I64: return hash_u64((uint64_t)((const int64_t *)cells)[i]);
    case PH_I128: {
        uint128_t v = ((const uint128_t *)cells)[i];
        return hash_combine((uint64_t)v, (uint64_t)(v >> 64));
    }
    default: return hash_bytes(((const Str *)cells)[i].ptr, ((const Str *)cells)[i].len);
    }
}
static inline bool cell_same(uint8_t phys, const void *a, int64_t i, const void *b, int64_t j) {
    switch (phys) {
    case PH_I16: return ((const int16_t *)a)[i] == ((const int16_t *)b)[j];
    case PH_I32: return ((const int32_t *)a)[i] == ((const int32_t *)b)[j];
    case PH_I64: return ((const int64_t *)a)[i] == ((const int64_t *)b)[j];
    case PH_I128: return ((const int128_t *)a)[i] == ((const int128_t *)b)[j];
    default: return str_eq(((const Str *)a)[i], ((const Str *)b)[j]);
    }
}
static int64_t int_at(uint8_t phys, const void *cells, int64_t i) {
    return phys == PH_I16   ? ((const int16_t *)cells)[i]
           : phys == PH_I32 ? ((const int32_t *)cells)[i]
                            : ((const int64_t *)cells)[i];
}

const SetImpl *set_prepare(Arena *a, const InSet *set, uint8_t phys) {
    SetImpl *s = arena_new_of(a, SetImpl);
    if (!s) return NULL;
    *s = (SetImpl){.phys = phys, .n = set->n, .cells = set->cells};
    if (set->n <= SET_SMALL && phys != PH_STR) return s;
    if (phys <= PH_I64 && set->n > 0) {
        int64_t min = INT64_MAX, max = INT64_MIN;
        for (int64_t i = 0; i < set->n; i++) {
            int64_t v = int_at(phys, set->cells, i);
            min = MIN_OF(min, v);
            max = MAX_OF(max, v);
        }
        if ((uint64_t)max - (uint64_t)min < SET_BYTES) {
            s->form = SET_MASK;
            s->base = min;
            s->range = max - min + 1;
            if (!(s->mask = arena_calloc(a, s->range))) return NULL;
            for (int64_t i = 0; i < set->n; i++) s->mask[int_at(phys, set->cells, i) - min] = 1;
            return s;
        }
    }
    s->form = SET_HASH;
    uint64_t slots = 8;
    while (slots < (uint64_t)set->n * 2) slots *= 2;
    s->slot_mask = slots - 1;
    if (!(s->slots = arena_calloc(a, (int64_t)slots * 4))) return NULL;
    for (int64_t i = 0; i < set->n; i++) {
        uint64_t at = hash_cell(phys, set->cells, i) & s->slot_mask;
        while (s->slots[at]) at = (at + 1) & s->slot_mask;
        s->slots[at] = (int32_t)i + 1;
    }
    return s;
}

void set_test(const VmKernels *k, const SetImpl *s, int64_t n, const Vec *a, uint8_t *d) {
    if (s->form == SET_MASK) {
        k->in_bytes[s->phys](n, a->data, s->base, s->range, s->mask, d);
        return;
    }
    if (s->form == SET_LIST) {
        memset(d, 0, (size_t)n);
        k->in_small[s->phys](n, a->data, s->cells, s->n, d);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        uint64_t at = hash_cell(s->phys, a->data, i) & s->slot_mask;
        uint8_t hit = 0;
        for (int32_t x; (x = s->slots[at]) != 0; at = (at + 1) & s->slot_mask)
            if (cell_same(s->phys, a->data, i, s->cells, x - 1)) {
                hit = 1;
                break;
            }
        d[i] = hit;
    }
}
