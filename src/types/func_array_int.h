/* func_array_int.h - elements under construction. Only src/types/func_array*.c may include it. */
#ifndef STELE_TYPES_FUNC_ARRAY_INT_H
#define STELE_TYPES_FUNC_ARRAY_INT_H

#include "types/array.h"
#include "types/func_int.h"

static inline Status no_memory(FuncCtx *ctx, int64_t i) {
    ctx->error_row = i;
    return err_is_set(ctx->err) ? ST_ERROR : err_oom(ctx->err);
}

static inline Phys element_phys(Type array) { return type_phys(type_element(array)); }

/* The cell of row i in the form `want`; numerics may come narrower or wider. */
static inline void cell_as(const Vec *v, int64_t i, Phys want, void *out) {
    if (v->phys == want) {
        memcpy(out, arg_cell(v, i), (size_t)phys_size(want));
    } else if (want == PH_I64) {
        *(int64_t *)out = (int64_t)num_at(v, i);
    } else {
        int128_t x = num_at(v, i);
        memcpy(out, &x, sizeof x);
    }
}

typedef struct Cells {
    Phys phys;
    int64_t n;
    char *cells;
    uint8_t *valid;
} Cells;

static inline bool cells_init(FuncCtx *ctx, Cells *c, Phys phys, int64_t cap) {
    *c = (Cells){.phys = phys};
    c->cells = arena_calloc(ctx->arena, (cap + 1) * phys_size(phys));
    c->valid = arena_alloc(ctx->arena, cap + 1);
    return c->cells && c->valid;
}
static inline void *cells_add(Cells *c, bool valid) {
    c->valid[c->n] = valid;
    return c->cells + phys_size(c->phys) * c->n++;
}
static inline void cells_add_all(Cells *c, const ArrayView *a) {
    for (int64_t j = 0; j < a->n; j++) array_get(a, j, cells_add(c, !array_is_null(a, j)));
}
static inline Status cells_done(FuncCtx *ctx, const Cells *c, Str *z) {
    return array_build(ctx->arena, c->phys, c->n, c->cells, c->valid, z, ctx->err);
}
/* c has as many elements as the shape. */
static inline Status cells_done_as(FuncCtx *ctx, const Cells *c, const ArrayShape *s, Str *z) {
    return array_build_shaped(ctx->arena, c->phys, s, c->cells, c->valid, z, ctx->err);
}

#endif
