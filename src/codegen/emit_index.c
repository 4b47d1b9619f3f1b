/* emit_index.c - indexes of images in kernels of procedures: what prelude/txn/kp_find.h and kp_enter.h, which look
 * for keys and enter them, have to know about each index. */
#include "base/hash.h"
#include "codegen/emit_proc_int.h"
#include "codegen/prelude.h"

enum { SLOTS_AT_ONCE = 4 };

static bool far_key(const ProcEm *x, const Image *im, const ImageIndex *ix) {
    for (int32_t c = 0; c < ix->n_cols; c++)
        if (x->dev.discrete && im->cols[ix->cols[c]].phys == PH_STR) return true;
    return false;
}
void proc_key_hash(ProcEm *x, const Image *im, const ImageIndex *ix) {
    Out *o = &x->mod.funcs;
    for (int32_t c = 0; c < ix->n_cols; c++) {
        char k[16];
        snprintf(k, sizeof k, "k%d", (int)c);
        const uint8_t phys = im->cols[ix->cols[c]].phys;
        out_w(&x->m, o, c ? " h = hash_key(h, " : "u64 h = ");
        if (c && phys <= PH_I64) out_w(&x->m, o, "(u64)(i64)%s", k);
        else em_hash(&x->m, o, phys, NULL, k);
        out_w(&x->m, o, c ? ");" : ";");
    }
    if (ix->n_cols == 0) out_w(&x->m, o, "const u64 h = 0;"); /* one group of all rows */
    else if (hash_constant) out_w(&x->m, o, " h = 0;");
    out_w(&x->m, o, "\n");
}
/* A cell of the key's column c in `row`. */
static void key_cell(const ProcEm *x, const ImageColumn *col, int32_t c, char *out, size_t cap) {
    const int n = (int)c, stride = (int)col->stride;
    const char *form = "G(%s, c%d + (u64)row * %d)[0]";
    if (col->phys <= PH_F64) form = "GFRESH(%s, c%d + (u64)row * %d)[0]";
    if (col->phys == PH_I128) snprintf(out, cap, "ld_i128(c%d + (u64)row * %d)", n, stride);
    else if (col->phys == PH_BOOL) snprintf(out, cap, "(GFRESH(u8, c%d + (u64)row * %d)[0] != 0)", n, stride);
    else if (col->phys != PH_STR) snprintf(out, cap, form, m_type[col->phys], n, stride);
    else if (x->dev.discrete) snprintf(out, cap, "str_moved(ld_text(c%d + (u64)row * %d), texts)", n, stride);
    else snprintf(out, cap, "ld_text(c%d + (u64)row * %d)", n, stride);
}
/* Whether the columns that are strings, or those that are not, are those of the key. `and` goes before the first. */
static bool key_equal(ProcEm *x, const Image *im, const ImageIndex *ix, bool strings, const char *and) {
    bool any = false;
    for (int32_t c = 0; c < ix->n_cols; c++) {
        const ImageColumn *col = &im->cols[ix->cols[c]];
        if ((col->phys == PH_STR) != strings) continue;
        char cell[96], k[16];
        snprintf(k, sizeof k, "k%d", (int)c);
        key_cell(x, col, c, cell, sizeof cell);
        out_w(&x->m, &x->mod.funcs, "%s", any ? strings ? " && " : " & " : and);
        em_equal(&x->m, &x->mod.funcs, col->phys, cell, k);
        any = true;
    }
    return any;
}
/* All cells are read at once, strings excepted. live: and the row is there. */
static void define_equal(ProcEm *x, const Image *im, const ImageIndex *ix, const char *name, bool live) {
    out_w(&x->m, &x->mod.funcs, "#define %s (", name);
    bool any = key_equal(x, im, ix, false, "");
    if (live) out_w(&x->m, &x->mod.funcs, "%s(GFRESH(u8, live)[row] == ROW_LIVE)", any ? " & " : "");
    if (!live && ix->n_cols == 0) out_w(&x->m, &x->mod.funcs, "true");
    key_equal(x, im, ix, true, any || live ? " && " : "");
    out_w(&x->m, &x->mod.funcs, ")\n");
}
/* What both templates have to know. */
static void define_key(ProcEm *x, int32_t table, int32_t index) {
    const Image *im = x->tables[table].image;
    const ImageIndex *ix = &im->indexes[index];
    const char *texts = far_key(x, im, ix) ? ", texts" : "", *texts_param = *texts ? ", u64 texts" : "";
    Out *o = &x->mod.funcs;
    out_w(&x->m, o, "#define INDEX(f) f##_%d_%d\n#define KEY_PARAMS", x->table_no[table], index);
    for (int32_t c = 0; c < ix->n_cols; c++) out_w(&x->m, o, ", u64 c%d", c);
    out_w(&x->m, o, "%s", texts_param);
    for (int32_t c = 0; c < ix->n_cols; c++) out_w(&x->m, o, ", %s k%d", c_type[im->cols[ix->cols[c]].phys], c);
    out_w(&x->m, o, "\n#define KEY_ARGS");
    for (int32_t c = 0; c < ix->n_cols; c++) out_w(&x->m, o, ", c%d", c);
    out_w(&x->m, o, "%s", texts);
    for (int32_t c = 0; c < ix->n_cols; c++) out_w(&x->m, o, ", k%d", c);
    out_w(&x->m, o, "\n#define INDEX_DENSE %d\n#define INDEX_HASH ", (int32_t)index_can_be_dense(im, ix));
    proc_key_hash(x, im, ix);
}
/* The function is not there yet; from here on it is. */
static bool is_new(ProcEm *x, int32_t table, int32_t index, int function) {
    uint8_t *found = &x->mod.found[x->table_no[table] * INDEXES_MAX + index];
    if (*found & function) return false;
    *found |= (uint8_t)function;
    return true;
}
void proc_find_function(ProcEm *x, int32_t table, int32_t index) {
    const Image *im = x->tables[table].image;
    if (!is_new(x, table, index, FIND_KEY)) return;
    define_key(x, table, index);
    define_equal(x, im, &im->indexes[index], "KEY_FOUND", im->indexes[index].unique);
    proc_include(x, &x->mod.funcs, KERNEL_PART(kp_find));
}
void proc_enter_function(ProcEm *x, int32_t table, int32_t index) {
    const Image *im = x->tables[table].image;
    const ImageIndex *ix = &im->indexes[index];
    Out *o = &x->mod.funcs;
    if (!is_new(x, table, index, ENTER)) return;
    bool by_warp = x->dev.by_four;
    for (int32_t c = 0; c < ix->n_cols; c++) by_warp &= im->cols[ix->cols[c]].phys <= PH_I64;
    define_key(x, table, index);
    define_equal(x, im, ix, "KEY_EQUAL", false);
    out_w(&x->m, o, "#define INDEX_UNIQUE %d\n#define INDEX_BY_WARP %d\n", (int32_t)ix->unique, (int32_t)by_warp);
    out_w(&x->m, o, "#define INDEX_ORDER %d\n", ix->order ? proc_order_kind(&im->cols[ix->order - 1], ix->desc) : 0);
    out_w(&x->m, o, "#define KEY_MATCH");
    for (int32_t c = 0; c < ix->n_cols; c++) out_w(&x->m, o, " & __match_any_sync(here, (i64)k%d)", c);
    out_w(&x->m, o, "\n");
    proc_include(x, o, KERNEL_PART(kp_enter));
}
int32_t proc_order_kind(const ImageColumn *c, bool desc) {
    return (int32_t)(phys_size((Phys)c->phys) + (desc ? 16 : 0) + c->stride * 256);
}
void proc_key_columns(ProcEm *x, Out *o, int32_t table, int32_t index) {
    const ImageIndex *ix = &x->tables[table].image->indexes[index];
    if (index_can_be_dense(x->tables[table].image, ix))
        out_w(&x->m, o, ", %p, %p", PARAM(PP_FIRST_KEY, table, index), PARAM(PP_DENSE, table, index));
    for (int32_t c = 0; c < ix->n_cols; c++) out_w(&x->m, o, ", %p", PARAM(PP_CELLS, table, ix->cols[c]));
    if (far_key(x, x->tables[table].image, ix)) out_w(&x->m, o, ", %p", PARAM(PP_TEXTS, table, 0));
}
void proc_slots_define(ProcEm *x, Out *o) {
    out_w(&x->m, o, "#define SLOTS_AT_ONCE %d\n", x->dev.by_four ? (int32_t)SLOTS_AT_ONCE : 0);
    if (x->dev.by_four) out_w(&x->m, o, "#define FN_SLOTS %s\n", x->mod.by_statement ? "FN_BIG" : "FN");
}
