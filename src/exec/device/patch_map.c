/* patch_map.c - see patch_map.h. */
#include "exec/device/patch_map.h"

#include "codegen/prelude/kc_codes.h"

static_assert(PATCH_MAP_SPAN_BITS == PATCH_SPAN_BITS && PATCH_MAP_HEAD >= 4 * (PATCH_RUNS + 2), "kc_codes.h");
static_assert(PATCH_MAP_CELLS == PATCH_SPAN / 8 + PATCH_SPAN / 64 * 2 && PATCH_MAP_CELLS % 16 == 0, "kc_codes.h");

enum { ALIGN = 16 };

static int64_t entry_bytes(const Patches *p, const PatchRun *r) {
    return PATCH_MAP_CELLS + align_up(r->n * p->cell_size, ALIGN);
}
static int64_t strings_at(const Patches *p) {
    int64_t n = PATCH_MAP_HEAD;
    for (int i = 0; i < PATCH_RUNS; i++)
        if (p->runs[i] && p->runs[i]->n > 0) n += entry_bytes(p, p->runs[i]);
    return n;
}
int64_t patch_map_bytes(const TabletColumn *c, bool in_place) {
    const Patches *p = c->patches;
    int64_t n = strings_at(p);
    for (int i = 0; i < PATCH_RUNS && c->phys == PH_STR && !in_place; i++)
        for (int32_t k = 0; p->runs[i] && k < p->runs[i]->n; k++) n += ((const Str *)patch_cell(p, p->runs[i], k))->len;
    return n;
}

/* Strings as kernels have them, and their bytes behind `*bytes`, which lie at `*at` there; *at 0: in place. */
static void write_strings(const Patches *p, const PatchRun *r, char *cells, char **bytes, uint64_t *at) {
    for (int32_t k = 0; k < r->n; k++) {
        Str s = *(const Str *)patch_cell(p, r, k);
        uint64_t cell[2] = {*at ? *at : (uint64_t)(uintptr_t)s.ptr, s.len};
        memcpy(cells + k * (int64_t)sizeof cell, cell, sizeof cell);
        if (*at == 0) continue;
        if (s.len) memcpy(*bytes, s.ptr, s.len);
        *bytes += s.len;
        *at += s.len;
    }
}
void patch_map_write(const TabletColumn *c, uint64_t at, char *to) {
    const Patches *p = c->patches;
    int64_t place = PATCH_MAP_HEAD, strings = strings_at(p);
    char *bytes = to + strings;
    uint32_t *head = (uint32_t *)(void *)to;
    if (at) at += (uint64_t)strings;
    memset(to, 0, (size_t)strings);
    head[PATCH_RUNS] = c->phys;
    head[PATCH_RUNS + 1] = (uint32_t)p->cell_size;
    for (int i = 0; i < PATCH_RUNS; i++) {
        const PatchRun *r = p->runs[i];
        if (!r || r->n == 0) continue;
        uint64_t *bits = (uint64_t *)(void *)(to + place);
        uint16_t *before = (uint16_t *)(void *)(to + place + PATCH_SPAN / 8);
        for (int32_t k = 0; k < r->n; k++) bits[r->offsets[k] / 64] |= UINT64_C(1) << r->offsets[k] % 64;
        for (int w = 1; w < PATCH_SPAN / 64; w++)
            before[w] = (uint16_t)(before[w - 1] + __builtin_popcountll(bits[w - 1]));
        char *cells = to + place + PATCH_MAP_CELLS;
        if (c->phys == PH_STR) write_strings(p, r, cells, &bytes, &at);
        else memcpy(cells, r->cells, (size_t)(r->n * p->cell_size));
        head[i] = (uint32_t)place;
        place += entry_bytes(p, r);
    }
}

void patch_map_strings(const TabletColumn *c, Str *cells, uint32_t *offsets, int64_t *from) {
    const Patches *p = c->patches;
    int64_t n = 0;
    *from = strings_at(p);
    offsets[0] = 0;
    for (int i = 0; i < PATCH_RUNS; i++)
        for (int32_t k = 0; p->runs[i] && k < p->runs[i]->n; k++, n++) {
            cells[n] = *(const Str *)patch_cell(p, p->runs[i], k);
            offsets[n + 1] = offsets[n] + cells[n].len;
        }
}
