/* emit_rows.c - what instructions of procedures do to rows of images, as kernel C: rows are looked for, read,
 * changed, inserted and deleted, and each change is logged so that undo_K can take it back. How keys are looked for
 * and entered: emit_index.c, prelude/txn/kp_find.h. */
#include "codegen/emit_proc_int.h"

enum { TEXT_GUESS = 32, TEXT_GUESS_MAX = 1024, LOOP_GUESS = 16 /* bytes of a string that is put, rounds of a loop */ };

/* ---- cells ------------------------------------------------------------------------------------------- */
/* Strings. On a device with memory of its own, cells of images are the same bytes as on the host: addresses there are
 * the host's, and PP_TEXTS leads from these to the device's. Arguments and constants have the device's addresses. OUT
 * values go to a heap of their own. */

/* The cell number `at` behind parameter p, where cells are `stride` bytes apart. */
void proc_load_cell(ProcEm *x, Out *o, uint8_t phys, int32_t p, const char *at, int64_t stride) {
    if (phys == PH_I128) out_w(&x->m, o, "ld_i128(%p + (u64)(%s) * %d)", p, at, (int32_t)stride);
    else if (phys == PH_STR) out_w(&x->m, o, "ld_text(%p + (u64)(%s) * %d)", p, at, (int32_t)stride);
    else
        out_w(&x->m, o, phys == PH_BOOL ? "(G(%s, %p + (u64)(%s) * %d)[0] != 0)" : "G(%s, %p + (u64)(%s) * %d)[0]",
              m_type[phys], p, at, (int32_t)stride);
}
/* ... of an image's column. */
void proc_load_field(ProcEm *x, Out *o, int32_t table, int32_t col, const char *at) {
    uint8_t phys = column(x, table, col)->phys;
    int32_t cells = PARAM(PP_CELLS, table, col);
    int64_t stride = column(x, table, col)->stride;
    if (phys == PH_STR && x->dev.discrete)
        out_w(&x->m, o, "str_moved(ld_text(%p + (u64)(%s) * %d), %p)", cells, at, (int32_t)stride,
              PARAM(PP_TEXTS, table, 0));
    else proc_load_cell(x, o, phys, cells, at, stride);
}
/* What is to be taken from a string's address for a cell of the table. */
static void put_texts(ProcEm *x, int32_t table) {
    if (x->dev.discrete) W(", %p", PARAM(PP_TEXTS, table, 0));
    else W(", 0");
}
void proc_store_begin(ProcEm *x, uint8_t phys, int32_t p, const char *at, int64_t stride) {
    if (phys == PH_I128) W("st_i128(%p + (u64)(%s) * %d, ", p, at, (int32_t)stride);
    else if (phys == PH_STR) W("st_text(%p + (u64)(%s) * %d, ", p, at, (int32_t)stride);
    else W("G(%s, %p + (u64)(%s) * %d)[0] = ", m_type[phys], p, at, (int32_t)stride);
}
void proc_store_end(ProcEm *x, uint8_t phys) { W(phys == PH_STR ? ", 0);\n" : phys == PH_I128 ? ");\n" : ";\n"); }
static void store_reg(ProcEm *x, uint8_t phys, int32_t p, const char *at, int64_t stride, Reg r) {
    proc_store_begin(x, phys, p, at, stride);
    W(phys == PH_STR ? "%t" : "%r", r);
    proc_store_end(x, phys);
}
static const char *raw_type(uint8_t phys) {
    switch (phys_size((Phys)phys)) {
    case 1: return "u8";
    case 2: return "u16";
    case 4: return "u32";
    default: return "u64";
    }
}

/* ---- looking for rows ---------------------------------------------------------------------------------------- */
void proc_row_find(ProcEm *x, const Instr *in) {
    const RowKey *k = in->aux;
    int32_t index = x->tables[k->table].index[k->index];
    const ImageIndex *ix = &x->tables[k->table].image->indexes[index];
    proc_find_function(x, k->table, index);
    proc_prefetch_loop(x, k->table, index, k->n, k->args, false);
    W("i64 r%d = -1;\nif (true", in->dst);
    for (int32_t i = 0; i < k->n + k->bounded; i++) W(" && %v", k->args[i]);
    W(") {\n");
    if (proc_dequeue_use(x, k->table, DEQUEUE_KEYED) ||
        (in->op == OP_ROW_FIND && proc_dequeue_use(x, k->table, DEQUEUE_ROWS)))
        proc_queue_key(x, k, ix);
    W("r%d = find_%d_%d(%p, %p, %p", in->dst, x->table_no[k->table], index, PARAM(PP_SLOTS, k->table, index),
      PARAM(PP_MASK, k->table, index), PARAM(PP_LIVE, k->table, 0));
    proc_key_columns(x, &x->m.text.body, k->table, index);
    for (int32_t i = 0; i < k->n; i++) W(", %t", k->args[i]);
    W(");\n");
    int32_t next = ix->unique ? -1 : PARAM(PP_NEXT, k->table, index), live = PARAM(PP_LIVE, k->table, 0);
    if (!ix->unique && !ix->order) W("r%d = skip_dead(%p, %p, r%d);\n", in->dst, next, live, in->dst);
    if (proc_dequeue_use(x, k->table, DEQUEUE_ROWS) && in->op == OP_ROW_FIRST && ix->order) {
        proc_dequeue(x, in, ix, next, proc_order_kind(column(x, k->table, ix->order - 1), ix->desc));
        x->mod.orders = true;
    } else if (k->order || ix->order) {
        int32_t col = ix->order ? ix->order - 1 : k->order - 1;
        W("r%d = %s(%p, %p, %d, %p, r%d", in->dst,
          k->bounded  ? "ord_after"
          : ix->order ? "ord_first"
                      : "ord_best",
          next, PARAM(PP_CELLS, k->table, col),
          proc_order_kind(column(x, k->table, col), ix->order ? ix->desc : k->desc), live, in->dst);
        if (k->bounded) W(", (i64)%r, %s", k->args[k->n], k->at ? "true" : "false");
        W(");\n");
        x->mod.orders = true;
    }
    W("}\n");
    if (x->dev.host && !ix->unique && !ix->order && !k->order) proc_prefetch_group(x, in);
}
void proc_row_next(ProcEm *x, const Instr *in) {
    const RowKey *k = in->aux;
    int32_t index = x->tables[k->table].index[k->index], next = PARAM(PP_NEXT, k->table, index);
    W("const i64 r%d = %v && %r >= 0 ? skip_dead(%p, %p, GFRESH(i64, %p)[%r] - 1) : -1;\n", in->dst, in->a, in->a, next,
      PARAM(PP_LIVE, k->table, 0), next, in->a);
}

/* ---- reading -------------------------------------------------------------------------------------------------- */
void proc_row_get(ProcEm *x, const Instr *in) {
    const RowCol *rc = in->aux;
    const ImageColumn *c = column(x, rc->table, rc->col);
    Reg d = in->dst;
    bool lazy = x->lazy[d];
    char at[16];
    snprintf(at, sizeof at, "r%d", (int)in->a);
    em_use(&x->m, in->a);
    W("const bool h%d = %v && %r >= 0;\n", d, in->a, in->a);
    if (lazy) W("#define r%d (h%d ? ", d, d);
    else W("const %s r%d = h%d ? ", c_type[c->phys], d, d);
    proc_load_field(x, &x->m.text.body, rc->table, rc->col, at);
    W(lazy ? " : %s)\n#define v%d (h%d" : " : %s;\nconst bool v%d = h%d", c_zero(c->phys), d, d);
    if (c->valid)
        W(" && G(u8, %p + (u64)%r * %d)[0] != 0", PARAM(PP_VALID, rc->table, rc->col), in->a, (int32_t)c->stride);
    W(lazy ? ")\n" : ";\n");
}

/* ---- changing -------------------------------------------------------------------------------------------------- */
/* Before the change: gives up where the log has no room for it. */
void proc_log_room(ProcEm *x) {
    if (x->log.in_loop) x->log.logs_in_loop = true;
    if (x->log.logs_in_loop)
        W("if (%p != 0 && n_undo >= %s) FAIL(%d);\n", PARAM(PP_UNDO, 0, 0), x->par.round ? "undo_end" : "UNDO_MAX",
          fail_code(x, PF_ROOM));
}
/* Begins an entry of the log at `u`; the number of its case. */
static int32_t log_entry(ProcEm *x) {
    int32_t site = x->log.n_sites++;
    W("if (%p != 0) {\n", PARAM(PP_UNDO, 0, 0));
    W("const u64 u = undo + (u64)n_undo++ * %d;\nG(i64, u)[1] = row;\n", (int32_t)UNDO_ENTRY);
    return site;
}
static int32_t log_begin(ProcEm *x) {
    proc_log_room(x);
    return log_entry(x);
}
static void log_cell(ProcEm *x, int32_t table, int32_t col) {
    const ImageColumn *c = column(x, table, col);
    int32_t site = log_begin(x), cells = PARAM(PP_CELLS, table, col);
    bool wide = phys_size((Phys)c->phys) == 16;
    const char *t = raw_type(c->phys);
    const int32_t stride = (int32_t)c->stride;
    if (c->valid)
        W("G(u64, u)[0] = %d | (u64)G(u8, %p + (u64)row * %d)[0] << 32;\n", site, PARAM(PP_VALID, table, col), stride);
    else W("G(u64, u)[0] = %d;\n", site);
    if (wide)
        W("G(u64, u)[2] = G(u64, %p + (u64)row * %d)[0];\nG(u64, u)[3] = G(u64, %p + (u64)row * %d)[1];\n}\n", cells,
          stride, cells, stride);
    else W("G(u64, u)[2] = (u64)G(%s, %p + (u64)row * %d)[0];\n}\n", t, cells, stride);
    Out *o = &x->log.text;
    out_w(&x->m, o, "case %d:\n", site);
    if (wide)
        out_w(&x->m, o,
              "G(u64, %p + (u64)row * %d)[0] = G(u64, u)[2];\nG(u64, %p + (u64)row * %d)[1] = G(u64, u)[3];\n", cells,
              stride, cells, stride);
    else out_w(&x->m, o, "G(%s, %p + (u64)row * %d)[0] = (%s)G(u64, u)[2];\n", t, cells, stride, t);
    if (c->valid)
        out_w(&x->m, o, "G(u8, %p + (u64)row * %d)[0] = (u8)(G(u64, u)[0] >> 32);\n", PARAM(PP_VALID, table, col),
              stride);
    out_w(&x->m, o, "break;\n");
}
/* Once for a statement's changes of a row, unless the code here may be passed by (`maybe`). */
void proc_mark_dirty(ProcEm *x, int32_t table, Reg row, bool maybe) {
    if (x->log.marked == row && x->log.marked_table == table) return;
    if (!maybe) x->log.marked = row, x->log.marked_table = table;
    int32_t p = PARAM(PP_DIRTY, table, 0);
    W("{\nconst u8 was = GFRESH(u8, %p)[row];\nif ((was & 1u) == 0) G(u8, %p)[row] = (u8)(was | 1u);\n}\n", p, p);
}
/* Remembers |value|, an i64 expression. */
static void track(ProcEm *x, int32_t table, int32_t col, const char *value, Reg valid) {
    const ImageNeed *need = &x->proc->tables[table].need;
    if (need->adds && !need->adds[col]) return;
    int32_t p = PARAM(PP_BOUND, table, col);
    char name[32];
    snprintf(name, sizeof name, "b%d_%d", (int)table, (int)col);
    if (!x->bounds[table][col]) {
        x->bounds[table][col] = true;
        out_w(&x->m, &x->m.text.top, "u64 %s = 0;\n", name);
        out_w(&x->m, &x->tail, "if (%p != 0 && %s > KC_PEEK(%p)) ga_max_u64(%p, %s);\n", p, name, p, p, name);
    }
    if (valid) W("if (%p != 0 && %v) %s = max_abs(%s, %s);\n", p, valid, name, name, value);
    else W("if (%p != 0) %s = max_abs(%s, %s);\n", p, name, name, value);
}
static bool may_track(uint8_t phys) { return phys >= PH_I16 && phys <= PH_I64; }
static void track_reg(ProcEm *x, int32_t table, int32_t col, Reg r) {
    if (!may_track(column(x, table, col)->phys)) return;
    char value[32];
    em_use(&x->m, r);
    snprintf(value, sizeof value, "(i64)r%d", (int)r);
    track(x, table, col, value, r);
}

/* A string goes to the image's heap: declares t<n>. */
static void put_text(ProcEm *x, int32_t table, int32_t col, Reg r, int32_t n) {
    int64_t length = x->tables[table].image->table->cols[col].type.length;
    x->out->text_puts[table]++;
    x->out->text_bytes[table] +=
        MIN_OF(length > 0 ? length : (int64_t)TEXT_GUESS, (int64_t)TEXT_GUESS_MAX) * (x->log.in_loop ? LOOP_GUESS : 1);
    W("str t%d = str_none();\nif (%v) {\nconst str s = %t;\nconst u64 to = ", n, r, r);
    if (x->dev.host && !x->dev.discrete)
        W("put_near(%p, %p + slot * PIECES_AT + %d, s)", PARAM(PP_HEAP, table, 0), PARAM(PP_PIECES, 0, 0),
          x->table_no[table] * 16);
    else W("put_text(%p, s)", PARAM(PP_HEAP, table, 0));
    W(";\nif (to == 0) FAIL(%d);\nt%d = str_make(to, s.len);\n}\n", fail_code(x, PF_ROOM), n);
}

void proc_row_put(ProcEm *x, const Instr *in) {
    const RowCol *rc = in->aux;
    const ImageColumn *c = column(x, rc->table, rc->col);
    Reg b = in->b;
    int32_t cells = PARAM(PP_CELLS, rc->table, rc->col);
    bool null = x->regs[b].nullable;
    if (rc->only_null) {
        W("if (%v && %r >= 0) FAIL(%d);\n", in->a, in->a, fail_code(x, PF_NULL));
        return;
    }
    W("if (%v && %r >= 0) {\nconst i64 row = %r;\n", in->a, in->a, in->a);
    if (!c->valid && null) W("if (!%v) FAIL(%d);\n", b, fail_code(x, PF_NULL));
    if (c->phys == PH_STR) put_text(x, rc->table, rc->col, b, 0);
    log_cell(x, rc->table, rc->col);
    if (null) W("if (%v) {\n", b);
    if (c->phys == PH_STR) {
        W("st_text(%p + (u64)row * %d, t0", cells, (int32_t)c->stride);
        put_texts(x, rc->table);
        W(");\n");
    } else store_reg(x, c->phys, cells, "row", c->stride, b);
    track_reg(x, rc->table, rc->col, b);
    if (null) {
        W("} else {\n");
        proc_store_begin(x, c->phys, cells, "row", c->stride);
        W("%s", c_zero(c->phys));
        proc_store_end(x, c->phys);
        W("}\n");
    }
    if (c->valid) W("G(u8, %p + (u64)row * %d)[0] = %v;\n", PARAM(PP_VALID, rc->table, rc->col), (int32_t)c->stride, b);
    proc_mark_dirty(x, rc->table, in->a, false);
    W("}\n");
}

static void add_exclusive(ProcEm *x, const RowCol *rc, const Instr *in) {
    const ImageColumn *c = column(x, rc->table, rc->col);
    int32_t cells = PARAM(PP_CELLS, rc->table, rc->col), lo = PARAM(PP_LO, rc->table, rc->col),
            hi = PARAM(PP_HI, rc->table, rc->col), code = fail_code(x, KE_RANGE);
    const char *op = rc->minus ? "sub" : "add";
    W("%s sum;\n", c->phys == PH_I128 ? "i128" : "i64");
    if (c->phys == PH_I128) {
        W("const i128 low = i128_from_limbs(%p, %p), high = i128_from_limbs(%p, %p);\n", lo,
          PARAM(PP_LO, rc->table, rc->col + PROC_HIGH), hi, PARAM(PP_HI, rc->table, rc->col + PROC_HIGH));
        W("if (ovf_%s_i128(ld_i128(%p + (u64)row * %d), %r, &sum) != 0 || i128_lt(sum, low) || i128_lt(high, sum)) "
          "FAIL(%d);\n",
          op, cells, (int32_t)c->stride, in->b, code);
        return;
    }
    W("if (ovf_%s_i64((i64)G(%s, %p + (u64)row * %d)[0], (i64)%r, &sum) != 0 || sum < (i64)%p || sum > (i64)%p) "
      "FAIL(%d);\n",
      op, m_type[c->phys], cells, (int32_t)c->stride, in->b, lo, hi, code);
}
static void log_add(ProcEm *x, const RowCol *rc, const Instr *in) {
    static const char *const take[] = {[PH_I16] = "ga_add_i16(%p + (u64)row * %d, 0u - (u32)G(u64, u)[2]);\n",
                                       [PH_I32] = "ga_add_u32(%p + (u64)row * %d, 0u - (u32)G(u64, u)[2]);\n",
                                       [PH_I64] = "ga_add_u64(%p + (u64)row * %d, 0 - G(u64, u)[2]);\n"};
    uint8_t phys = column(x, rc->table, rc->col)->phys;
    int32_t site = log_begin(x), cells = PARAM(PP_CELLS, rc->table, rc->col),
            stride = (int32_t)column(x, rc->table, rc->col)->stride;
    if (phys == PH_I128) W(rc->minus ? "st_i128(u + 16, i128_neg(%r));\n" : "st_i128(u + 16, %r);\n", in->b);
    else W("G(u64, u)[2] = %s(u64)(i64)%r;\n", rc->minus ? "0 - " : "", in->b);
    W("G(u64, u)[0] = %d;\n}\n", site);
    out_w(&x->m, &x->log.text, "case %d:\n", site);
    if (phys == PH_I128)
        out_w(&x->m, &x->log.text,
              "st_i128(%p + (u64)row * %d, i128_sub(ld_i128(%p + (u64)row * %d), ld_i128(u + 16)));\n", cells, stride,
              cells, stride);
    else out_w(&x->m, &x->log.text, take[phys], cells, stride);
    out_w(&x->m, &x->log.text, "break;\n");
}

/* On processors a sum that goes to the cell at the end of the launch (kp_hot.h), if the call uses the column for
 * nothing but additions; else nothing: what follows is the atomic addition. */
static void add_hot(ProcEm *x, const RowCol *rc, const Instr *in) {
    const ImageColumn *c = column(x, rc->table, rc->col);
    if (c->phys != PH_I32 && c->phys != PH_I64) return;
    for (int32_t i = 0; i < x->p->n_instrs; i++) {
        const Instr *other = &x->p->instrs[i];
        if (other->op != OP_ROW_GET && other->op != OP_ROW_PUT) continue;
        const RowCol *used = other->aux;
        if (used->table == rc->table && used->col == rc->col) return;
    }
    W("#if HOT_ADDS\nif (HOT_LAUNCH) hot_add(hot, %p + (u64)row * %d, %d, %s(u64)(i64)%r);\nelse\n#endif\n",
      PARAM(PP_CELLS, rc->table, rc->col), (int32_t)c->stride, (int32_t)phys_size((Phys)c->phys),
      rc->minus ? "0 - " : "", in->b);
}

void proc_row_add(ProcEm *x, const Instr *in) {
    static const char *const atomic[] = {[PH_I16] = "ga_add_i16(%p + (u64)row * %d, %s(u32)(i32)%r);\n",
                                         [PH_I32] = "ga_add_u32(%p + (u64)row * %d, %s(u32)%r);\n",
                                         [PH_I64] = "ga_add_u64(%p + (u64)row * %d, %s(u64)%r);\n"};
    const RowCol *rc = in->aux;
    const char *sign = rc->minus ? "0u - " : "";
    const ImageColumn *c = column(x, rc->table, rc->col);
    int32_t cells = PARAM(PP_CELLS, rc->table, rc->col), valid = c->valid ? PARAM(PP_VALID, rc->table, rc->col) : -1;
    W("if (%v && %r >= 0) {\nconst i64 row = %r;\n", in->a, in->a, in->a);
    if (c->valid) W("if (G(u8, %p + (u64)row * %d)[0] != 0) {\n", valid, (int32_t)c->stride);
    if (x->regs[in->b].nullable) {
        W("if (!%v) {\n", in->b);
        if (!c->valid) {
            W("FAIL(%d);\n", fail_code(x, PF_NULL));
        } else {
            log_cell(x, rc->table, rc->col);
            proc_store_begin(x, c->phys, cells, "row", c->stride);
            W("%s", c_zero(c->phys));
            proc_store_end(x, c->phys);
            W("G(u8, %p + (u64)row * %d)[0] = 0;\n", valid, (int32_t)c->stride);
        }
        W("} else ");
    }
    if (c->phys != PH_I128) {
        W("if (%p != 0) {\n", PARAM(PP_SHARED, rc->table, rc->col));
        log_add(x, rc, in);
        add_hot(x, rc, in);
        W(atomic[c->phys], cells, (int32_t)c->stride, sign, in->b);
        W("} else ");
    }
    /* amounts that are not negative, so that what is not too much in this order is not in any */
    if (proc_dequeue_use(x, rc->table, DEQUEUE_ADDED)) {
        W("if (%p != 0) {\n", PARAM(PP_DEQUEUES, 0, 0));
        log_add(x, rc, in);
        W(c->phys == PH_I32 ? "const i64 by = (i64)(%s(u64)(i64)%r), old = (i64)(i32)ga_add_u32(%p + (u64)row * %d, "
                              "(u32)by), sum = old + by;\n"
                            : "const i64 by = (i64)(%s(u64)(i64)%r), old = (i64)ga_add_u64(%p + (u64)row * %d, "
                              "(u64)by), sum = old + by;\n",
          sign, in->b, cells, (int32_t)c->stride);
        W("if (by < 0 || old > (i64)%p - by) ", PARAM(PP_HI, rc->table, rc->col));
        proc_queue_stops(x);
        if (may_track(c->phys)) track(x, rc->table, rc->col, "sum", 0);
        W("} else ");
    }
    W("{\n");
    add_exclusive(x, rc, in);
    log_add(x, rc, in);
    proc_store_begin(x, c->phys, cells, "row", c->stride);
    W(c->phys == PH_I128 ? "sum" : "(%s)sum", c_type[c->phys]);
    proc_store_end(x, c->phys);
    if (may_track(c->phys)) track(x, rc->table, rc->col, "sum", 0);
    W("}\n");
    proc_mark_dirty(x, rc->table, in->a, c->valid != NULL);
    W(c->valid ? "}\n}\n" : "}\n");
}

/* Enters the row's keys; a conflict leaves it dead. */
static void enter_keys(ProcEm *x, const Instr *in, int32_t table) {
    const RowInsert *ins = in->aux;
    const Image *im = x->tables[table].image;
    for (int32_t i = 0; i < im->n_indexes; i++) {
        const ImageIndex *ix = &im->indexes[i];
        proc_enter_function(x, table, i);
        W("if (made");
        bool none = false;
        for (int32_t c = 0; c < ix->n_cols; c++) {
            Reg r = ix->cols[c] < ins->n ? ins->args[ix->cols[c]] : 0;
            if (!r) none = true; /* a NULL is in no index */
            else W(" && %v", r);
        }
        if (none) {
            W(" && false) {}\n");
            continue;
        }
        if (ix->unique) W(") {\nbad = %d;\n", i);
        else W(") {\n");
        W("%s enter_%d_%d(%p, %p, %p, %s", ix->unique ? "made =" : "", x->table_no[table], i, PARAM(PP_SLOTS, table, i),
          PARAM(PP_MASK, table, i), PARAM(PP_LIVE, table, 0), ix->unique ? "0" : "");
        if (!ix->unique) W("%p", PARAM(PP_NEXT, table, i));
        if (ix->order) W(", %p", PARAM(PP_CELLS, table, ix->order - 1));
        x->mod.orders |= ix->order != 0;
        W(", row");
        proc_key_columns(x, &x->m.text.body, table, i);
        for (int32_t c = 0; c < ix->n_cols; c++) {
            int32_t col = ix->cols[c];
            if (im->cols[col].phys == PH_STR) W(", t%d", col);
            else W(", %r", ins->args[col]);
        }
        W(");\n}\n");
    }
}

/* Bodies with statement locks: inserts into the table do not wait for each other. */
bool proc_waits_for_none(const ProcEm *x, int32_t table) {
    for (int32_t i = 0; x->locks.plain && i < x->p->n_instrs; i++) {
        const ItemSite *it = x->p->instrs[i].op == OP_LOCK ? x->p->instrs[i].aux : NULL;
        if (it && it->insert && (int32_t)it->table == table) return true;
    }
    return false;
}
/* A taken key: what its error shows goes to the list, where that is numbers. */
static void key_failure(ProcEm *x, const Instr *in, int32_t table) {
    const RowInsert *ins = in->aux;
    const Image *im = x->tables[table].image;
    int32_t keys = PARAM(PP_KEYS, 0, 0), code = fail_code(x, PF_KEY);
    /* of two with one key this may be the one that came first */
    if (proc_waits_for_none(x, table)) W("if (by_statement) {\nspilled |= 1;\nFAIL(%d);\n}\n", code);
    W("bool known = %s;\nu64 k[%d];\nswitch (bad) {\n", x->par.round ? "false" : "true", (int32_t)KEY_COLS_MAX);
    for (int32_t i = 0; i < im->n_indexes; i++) {
        const ImageIndex *ix = &im->indexes[i];
        bool plain = ix->unique && ix->n_cols <= KEY_COLS_MAX;
        for (int32_t c = 0; c < ix->n_cols; c++)
            plain &= im->cols[ix->cols[c]].phys <= PH_I64 && ix->cols[c] < ins->n && ins->args[ix->cols[c]];
        if (!plain) continue;
        W("case %d:\n", i);
        for (int32_t c = 0; c < ix->n_cols; c++) W("k[%d] = (u64)(i64)%r;\n", c, ins->args[ix->cols[c]]);
        for (int32_t c = ix->n_cols; c < KEY_COLS_MAX; c++) W("k[%d] = 0;\n", c);
        W("break;\n");
    }
    W("default: known = false; break;\n}\nif (known) {\nconst u64 nth = ga_add_u64(%p, 1);\nif (nth < G(u64, %p)[1]) "
      "{\nconst u64 rec = %p + 16 + nth * %d;\n",
      keys, keys, keys, (int32_t)KEY_WORDS * 8);
    W("G(u64, rec)[0] = (u64)bad << 32 | call;\nG(u64, rec)[1] = %d;\nROLLED for (int c = 0; c < %d; c++) G(u64, "
      "rec)[2 + c] = k[c];\nFAIL(%du | PROC_ERROR_KNOWN);\n}\n}\nFAIL(%d);\n",
      code, (int32_t)KEY_COLS_MAX, code, code);
}
/* The registers of an index's columns; false when they are too many. */
bool proc_insert_key(const Image *im, const RowInsert *ins, int32_t index, Reg keys[PREFETCH_COLS]) {
    const ImageIndex *ix = &im->indexes[index];
    for (int32_t c = 0; c < ix->n_cols && c < PREFETCH_COLS; c++)
        keys[c] = ix->cols[c] < ins->n ? ins->args[ix->cols[c]] : 0;
    return ix->n_cols <= PREFETCH_COLS;
}
void proc_row_insert(ProcEm *x, const Instr *in) {
    const RowInsert *ins = in->aux;
    int32_t table = ins->table, live = PARAM(PP_LIVE, table, 0), starts = PARAM(PP_STARTS, table, 0),
            counts = PARAM(PP_COUNTS, table, 0), stride = PARAM(PP_STRIDE, table, 0);
    const Image *im = x->tables[table].image;
    for (int32_t i = 0; x->log.in_loop && i < im->n_indexes; i++) {
        Reg keys[PREFETCH_COLS];
        if (proc_insert_key(im, ins, i, keys)) proc_prefetch_loop(x, table, i, im->indexes[i].n_cols, keys, true);
    }
    W("i64 r%d = -1;\n{\n", in->dst);
    proc_log_room(x);
    for (int32_t c = 0; c < im->n_cols; c++) {
        Reg r = c < ins->n ? ins->args[c] : 0;
        if (im->cols[c].valid || (r && !x->regs[r].nullable)) continue;
        if (r) W("if (!%v) FAIL(%d);\n", r, fail_code(x, PF_NULL));
        else W("FAIL(%d);\n", fail_code(x, PF_NULL));
    }
    W("if ((i64)i%d >= (%p != 0 ? (i64)G(u32, %p)[pos] : (i64)%p)) FAIL(%d);\n", table, counts, counts, stride,
      fail_code(x, PF_ROWS));
    W("const i64 row = (i64)%p + (%p != 0 ? (i64)G(u32, %p)[pos] : (i64)((u32)pos * (u32)%p)) + i%d++;\n",
      PARAM(PP_BASE, table, 0), starts, starts, stride, table);
    for (int32_t c = 0; c < im->n_cols; c++) {
        Reg r = c < ins->n ? ins->args[c] : 0;
        uint8_t phys = im->cols[c].phys;
        int32_t cells = PARAM(PP_CELLS, table, c), step = (int32_t)im->cols[c].stride;
        bool null = !r || x->regs[r].nullable;
        if (r && phys == PH_STR) {
            put_text(x, table, c, r, c);
            W("st_text(%p + (u64)row * %d, t%d", cells, step, c);
            put_texts(x, table);
            W(");\n");
        } else {
            proc_store_begin(x, phys, cells, "row", step);
            if (r && null) W("%v ? %r : ", r, r);
            if (r && !null) W("%r", r);
            else W("%s", c_zero(phys));
            proc_store_end(x, phys);
        }
        if (!im->cols[c].valid) continue;
        if (r) W("G(u8, %p + (u64)row * %d)[0] = %v;\n", PARAM(PP_VALID, table, c), step, r);
        else W("G(u8, %p + (u64)row * %d)[0] = 0;\n", PARAM(PP_VALID, table, c), step);
    }
    if (im->n_indexes > 0) {
        proc_reconverge(x); /* not behind this: a lane that enters a key waits for another one that has the same */
        W("GVOL(u8, %p)[row] = ROW_PENDING;\nFENCE_GIVE();\nbool made = true;\nu32 bad = 0;\n(void)bad;\n", live);
        enter_keys(x, in, table);
        W("if (!made) {\nGVOL(u8, %p)[row] = ROW_DEAD;\n", live);
        if (!ins->skip) key_failure(x, in, table);
        W("}\nif (made) {\n");
    } else {
        W("{\n");
    }
    W("r%d = row;\nG(u8, %p)[row] = DIRTY_INSERTED;\n", in->dst, PARAM(PP_DIRTY, table, 0));
    W("GVOL(u8, %p)[row] = ROW_LIVE;\n", live);
    int32_t site = log_entry(x);
    W("G(u64, u)[0] = %d;\n}\n", site);
    out_w(&x->m, &x->log.text,
          "case %d:\nG(u8, %p)[row] = (u8)(G(u8, %p)[row] | DIRTY_DELETED);\nGVOL(u8, %p)[row] = ROW_DEAD;\nbreak;\n",
          site, PARAM(PP_DIRTY, table, 0), PARAM(PP_DIRTY, table, 0), live);
    for (int32_t c = 0; c < im->n_cols; c++)
        if (c < ins->n && ins->args[c]) track_reg(x, table, c, ins->args[c]);
    W("}\n}\n");
}

/* Undo of a delete: ordered groups find the row again. */
static void back_in_order(ProcEm *x, int32_t table) {
    const Image *im = x->tables[table].image;
    Out *o = &x->log.text;
    for (int32_t i = 0; i < im->n_indexes; i++) {
        const ImageIndex *ix = &im->indexes[i];
        if (!ix->order) continue;
        proc_find_function(x, table, i);
        x->mod.orders = true;
        int32_t next = PARAM(PP_NEXT, table, i), cells = PARAM(PP_CELLS, table, ix->order - 1);
        out_w(&x->m, o, "if (true");
        for (int32_t c = 0; c < ix->n_cols; c++)
            if (im->cols[ix->cols[c]].valid)
                out_w(&x->m, o, " && G(u8, %p + (u64)row * %d)[0] != 0", PARAM(PP_VALID, table, ix->cols[c]),
                      (int32_t)im->cols[ix->cols[c]].stride);
        out_w(&x->m, o, ") ord_again(%p, %p, %d, find_%d_%d(%p, %p, %p", next, cells,
              proc_order_kind(&im->cols[ix->order - 1], ix->desc), x->table_no[table], i, PARAM(PP_SLOTS, table, i),
              PARAM(PP_MASK, table, i), PARAM(PP_LIVE, table, 0));
        proc_key_columns(x, o, table, i);
        for (int32_t c = 0; c < ix->n_cols; c++) {
            out_w(&x->m, o, ", ");
            proc_load_field(x, o, table, ix->cols[c], "row");
        }
        out_w(&x->m, o, "), row);\n");
    }
}

void proc_log_front(ProcEm *x, int32_t table) {
    int32_t site = log_entry(x);
    W("G(u64, u)[0] = %d;\n}\n", site);
    out_w(&x->m, &x->log.text, "case %d:\n", site);
    back_in_order(x, table);
    out_w(&x->m, &x->log.text, "break;\n");
}
void proc_row_delete(ProcEm *x, const Instr *in) {
    const RowCol *rc = in->aux;
    int32_t live = PARAM(PP_LIVE, rc->table, 0), dirty = PARAM(PP_DIRTY, rc->table, 0);
    W("if (%v && %r >= 0 && GVOL(u8, %p)[%r] != ROW_DEAD) {\nconst i64 row = %r;\n", in->a, in->a, live, in->a, in->a);
    if (proc_dequeue_use(x, rc->table, DEQUEUE_ROWS)) proc_queue_delete(x);
    int32_t site = log_begin(x);
    W("G(u64, u)[0] = %d;\n}\nGVOL(u8, %p)[row] = (u8)(GVOL(u8, %p)[row] | DIRTY_DELETED);\nGVOL(u8, %p)[row] = "
      "ROW_DEAD;\n}\n",
      site, dirty, dirty, live);
    out_w(&x->m, &x->log.text,
          "case %d:\nGVOL(u8, %p)[row] = (u8)(GVOL(u8, %p)[row] & ~DIRTY_DELETED);\nGVOL(u8, %p)[row] = ROW_LIVE;\n",
          site, dirty, dirty, live);
    back_in_order(x, rc->table);
    out_w(&x->m, &x->log.text, "break;\n");
}
