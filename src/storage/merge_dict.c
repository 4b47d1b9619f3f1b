/* merge_dict.c - see merge_dict.h. */
#include "storage/merge_dict.h"

#include <stdlib.h>

#include "base/log.h"
#include "storage/storage_int.h"

/* The first bytes decide most comparisons. */
typedef struct Entry {
    uint64_t prefix;
    Str text;
    int32_t code;
} Entry;
static Entry entry_of(Str text, int32_t code) {
    unsigned char first[8] = {0};
    uint64_t prefix = 0;
    if (text.len > 0) memcpy(first, text.ptr, MIN_OF((size_t)text.len, sizeof first));
    for (int i = 0; i < 8; i++) prefix = prefix << 8 | first[i];
    return (Entry){prefix, text, code};
}
static int entry_cmp(const void *a, const void *b) {
    const Entry *x = a, *y = b;
    if (x->prefix != y->prefix) return x->prefix < y->prefix ? -1 : 1;
    return str_cmp(x->text, y->text);
}

static bool stays(const uint8_t *used, int32_t code) { return !used || used[code]; }

/* 1a: the delta's entries in order; returns how many. */
static int64_t sort_delta(const Dict *d, const uint8_t *used, Entry *out) {
    int64_t n = 0;
    for (int32_t i = d->n_sorted; i < d->n; i++)
        if (stays(used, i)) out[n++] = entry_of(d->entries[i], i);
    if (n > 0) qsort(out, (size_t)n, sizeof *out, entry_cmp);
    return n;
}
static void put(DictMaps *x, int32_t code) {
    x->same = x->same && code == x->n;
    x->map[code] = x->n;
    x->order[x->n++] = code;
}
/* 1b: both in order, and the maps to the codes there. */
static void merge(const Dict *d, const uint8_t *used, const Entry *delta, int64_t n_delta, DictMaps *x) {
    int64_t k = 0;
    for (int32_t i = 0; i < d->n_sorted; i++) {
        if (!stays(used, i)) {
            x->map[i] = -1;
            continue;
        }
        if (k < n_delta) {
            const Entry main = entry_of(d->entries[i], i);
            while (k < n_delta && entry_cmp(&delta[k], &main) < 0) put(x, delta[k++].code);
        }
        put(x, i);
    }
    while (k < n_delta) put(x, delta[k++].code);
    for (int32_t i = d->n_sorted; i < d->n; i++)
        if (!stays(used, i)) x->map[i] = -1;
}

Status dict_maps_make(MemAccount *a, const Dict *d, const uint8_t *used, DictMaps *out, DictTimes *times, Err *e) {
    const int64_t began = clock_thread_ns(), codes = MAX_OF(d->n, 1) * (int64_t)sizeof(int32_t),
                  bytes = MAX_OF(d->n - d->n_sorted, 1) * (int64_t)sizeof(Entry);
    *out = (DictMaps){.n_old = d->n, .same = true};
    *times = (DictTimes){0};
    Entry *delta = mem_alloc(a, bytes, e);
    out->map = mem_alloc(a, codes, e);
    out->order = out->map ? mem_alloc(a, codes, e) : NULL;
    const Status st = delta && out->order ? ST_OK : ST_ERROR;
    if (st == ST_OK) {
        const int64_t n = sort_delta(d, used, delta);
        const int64_t sorted = clock_thread_ns();
        merge(d, used, delta, n, out);
        *times = (DictTimes){sorted - began, clock_thread_ns() - sorted};
    }
    if (delta) mem_free(a, delta, bytes);
    return st;
}
void dict_maps_free(MemAccount *a, DictMaps *x) {
    const int64_t codes = MAX_OF(x->n_old, 1) * (int64_t)sizeof(int32_t);
    if (x->map) mem_free(a, x->map, codes);
    if (x->order) mem_free(a, x->order, codes);
    *x = (DictMaps){0};
}

Status dict_of_maps(MemAccount *a, const Dict *d, const DictMaps *x, Dict **out, Err *e) {
    Dict *to = dict_new(a, e);
    Status st = to ? dict_reserve(to, x->n, e) : ST_ERROR;
    for (int32_t i = 0; i < x->n && st == ST_OK; i++) st = dict_push(to, d->entries[x->order[i]], e);
    if (st != ST_OK) {
        dict_free(to);
        return st;
    }
    to->n_sorted = to->n;
    *out = to;
    return ST_OK;
}
