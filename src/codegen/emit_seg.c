/* emit_seg.c - the frame of a segment's kernel: parameters, tiles, source columns, filters, and the sinks that append
 * rows.
 *
 * Text goes into five buffers that are put together at the end: declarations at the kernel's start (constants),
 * declarations per tile (a tablet's column addresses), the row's body, what comes after the tile loop, and further
 * kernels. Reading a register or a parameter declares what it needs in the right buffer, so that the opcodes' functions
 * just write expressions.
 */
#include "base/hash.h"
#include "codegen/emit_int.h"
#include "codegen/prelude.h"

const char *const c_type[PH_COUNT_] = {"bool", "i16", "i32", "i64", "i128", "f32", "f64", "str", "iv", "uuid"};
const char *const m_type[PH_COUNT_] = {"u8", "i16", "i32", "i64", "i128", "f32", "f64", "str", "iv", "uuid"};
const char *const c_name[PH_COUNT_] = {"bool", "i16", "i32", "i64", "i128", "f32", "f64", "str", "iv", "uuid"};

const char *c_zero(uint8_t phys) {
    switch (phys) {
    case PH_I128: return "i128_from_i64(0)";
    case PH_STR: return "str_none()";
    case PH_INTERVAL: return "iv_make(0, 0, 0)";
    case PH_UUID: return "uuid_make(0, 0)";
    default: return "0";
    }
}

/* ---- writing -------------------------------------------------------------------------------- */
static bool out_room(Out *o, Arena *a, int64_t n) {
    if (o->n + n <= o->cap) return true;
    int64_t cap = MAX_OF(o->cap * 2, o->n + n + 2048);
    char *p = arena_alloc(a, cap);
    if (!p) {
        o->failed = true;
        return false;
    }
    if (o->n) memcpy(p, o->p, (size_t)o->n);
    o->p = p;
    o->cap = cap;
    return true;
}
void out_put(Em *m, Out *o, const char *s, int64_t n) {
    if (!out_room(o, m->arena, n)) return;
    memcpy(o->p + o->n, s, (size_t)n);
    o->n += n;
}
static void out_int(Em *m, Out *o, int64_t v) {
    char buf[24];
    int at = 24;
    uint64_t u = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
    do buf[--at] = (char)('0' + u % 10);
    while (u /= 10);
    if (v < 0) buf[--at] = '-';
    out_put(m, o, buf + at, 24 - at);
}

/* Constants are read once at the kernel's start. */
void em_use(Em *m, Reg r) {
    const RegInfo *ri = &m->prog->regs[r];
    if (!ri->is_const || m->const_done[r]) return;
    m->const_done[r] = true;
    const char *t = c_type[ri->phys];
    if (ri->value.is_null) {
        out_w(m, &m->text.top, "    const %s r%d = %s;\n", t, r, c_zero(ri->phys));
        return;
    }
    int32_t a = P2(m, KP_CONST, r, 0);
    switch (ri->phys) {
    case PH_I128:
        out_w(m, &m->text.top, "    const i128 r%d = i128_from_limbs(P(%d), P(%d));\n", r, a, P2(m, KP_CONST, r, 1));
        break;
    case PH_STR:
        out_w(m, &m->text.top, "    const str r%d = str_make(P(%d), PI(%d));\n", r, a, P2(m, KP_CONST, r, 1));
        break;
    case PH_UUID:
        out_w(m, &m->text.top, "    const uuid r%d = uuid_make(P(%d), P(%d));\n", r, a, P2(m, KP_CONST, r, 1));
        break;
    case PH_INTERVAL: {
        int32_t b = P2(m, KP_CONST, r, 1);
        out_w(m, &m->text.top, "    const iv r%d = iv_make(PI(%d), (i32)P(%d), (i32)(P(%d) >> 32));\n", r, a, b, b);
        break;
    }
    case PH_F32:
    case PH_F64: out_w(m, &m->text.top, "    const %s r%d = (%s)PF(%d);\n", t, r, t, a); break;
    case PH_BOOL: out_w(m, &m->text.top, "    const bool r%d = P(%d) != 0;\n", r, a); break;
    default: out_w(m, &m->text.top, "    const %s r%d = (%s)P(%d);\n", t, r, t, a);
    }
}

static void out_reg(Em *m, Out *o, Reg r) {
    em_use(m, r);
    out_put(m, o, "r", 1);
    out_int(m, o, r);
}

void out_w(Em *m, Out *o, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    const char *p = fmt;
    for (;;) {
        const char *q = p;
        while (*q && *q != '%') q++;
        if (q > p) out_put(m, o, p, q - p);
        if (!*q) break;
        switch (q[1]) {
        case 'd': out_int(m, o, va_arg(ap, int32_t)); break;
        case 'l': out_int(m, o, va_arg(ap, int64_t)); break;
        case 's': {
            const char *s = va_arg(ap, const char *);
            out_put(m, o, s, (int64_t)strlen(s));
            break;
        }
        case 'r': out_reg(m, o, va_arg(ap, Reg)); break;
        case 'v': {
            Reg r = va_arg(ap, Reg);
            const RegInfo *ri = &m->prog->regs[r];
            if (!NULLABLE(m, r)) {
                out_put(m, o, "true", 4);
            } else if (ri->is_const) {
                out_put(m, o, "false", 5);
            } else {
                out_put(m, o, "v", 1);
                out_int(m, o, r);
            }
            break;
        }
        case 't': {
            Reg r = va_arg(ap, Reg);
            const RegForm *f = &m->regs[r];
            if (f->phys != PH_STR || !f->dict) {
                out_reg(m, o, r);
                break;
            }
            int32_t off = em_param(m, KP_DICT_OFFSETS, 0, 0, f->dict),
                    bytes = em_param(m, KP_DICT_BYTES, 0, 0, f->dict);
            if (f->nullable) out_w(m, o, "(%v ? dict_str(P(%d), P(%d), %r) : str_none())", r, off, bytes, r);
            else out_w(m, o, "dict_str(P(%d), P(%d), %r)", off, bytes, r);
            break;
        }
        case 'p': {
            const int32_t n = va_arg(ap, int32_t);
            const EmitParam *of = n < m->params.len ? &m->params.items[n] : NULL;
            if (of && of->rows > 0) out_w(m, o, "(P(%d) + %d)", of->rows - 1, of->offset);
            else out_w(m, o, "P(%d)", n);
            break;
        }
        default: out_put(m, o, q + 1, 1);
        }
        p = q + 2;
    }
    va_end(ap);
}

int32_t em_param(Em *m, ParamKind kind, int32_t id, int32_t col, const Dict *dict) {
    for (int64_t i = m->params.len - 1; i >= 0; i--) {
        const EmitParam *p = &m->params.items[i];
        if (p->kind == kind && p->id == id && p->col == col && p->dict == dict && p->proc == m->proc) return (int32_t)i;
    }
    EmitParam p = {.kind = (uint16_t)kind, .proc = m->proc, .id = id, .col = col, .dict = dict};
    if (!vec_push(m->arena, &m->params, p)) {
        m->text.body.failed = true;
        return 0;
    }
    return (int32_t)m->params.len - 1;
}

/* ---- cells ------------------------------------------------------------------------------------- */
static bool is_int(uint8_t phys) { return phys <= PH_I64; }

void em_convert(Em *m, Out *o, uint8_t from, uint8_t to, const char *value) {
    if (from == to) {
        out_w(m, o, from == PH_BOOL ? "(%s != 0)" : "%s", value);
    } else if (to == PH_I128 && is_int(from)) {
        out_w(m, o, "i128_from_i64((i64)%s)", value);
    } else if (from == PH_I128) {
        out_w(m, o,
              to == PH_F64    ? "i128_to_f64(%s)"
              : to == PH_BOOL ? "!i128_is_zero(%s)"
                              : "(%s)i128_lo(%s)",
              to == PH_F64 || to == PH_BOOL ? value : c_type[to], value);
    } else if (to == PH_BOOL) {
        out_w(m, o, "(%s != 0)", value);
    } else {
        out_w(m, o, "(%s)%s", c_type[to], value);
    }
}

void em_define(Em *m, Reg r, const DevCol *c, const char *value, const char *valid) {
    const RegForm *f = &m->regs[r];
    if (f->nullable) w(m, "const bool v%d = %s;\n", r, valid ? valid : "true");
    if (f->phys == PH_STR && !f->dict && c->phys == PH_I32 &&
        c->dict) { /* codes of a store whose readers want strings */
        int32_t off = em_param(m, KP_DICT_OFFSETS, 0, 0, c->dict), bytes = em_param(m, KP_DICT_BYTES, 0, 0, c->dict);
        w(m, "const str r%d = %v ? dict_str(P(%d), P(%d), %s) : str_none();\n", r, r, off, bytes, value);
        return;
    }
    uint8_t to = var_phys(f);
    w(m, "const %s r%d = ", c_type[to], r);
    em_convert(m, &m->text.body, c->phys, to, value);
    w(m, ";\n");
}

void em_store_value(Em *m, Reg r, const DevCol *c) {
    uint8_t from = c->phys == PH_STR ? PH_STR : VAR_PHYS(m, r);
    if (c->phys == PH_STR) {
        w(m, "%t", r);
    } else if (NULLABLE(m, r) && c->phys == PH_I32 && c->dict) {
        w(m, "%v ? %r : 0", r, r);
    } else if (from == c->phys) {
        w(m, "%r", r);
    } else {
        char name[16];
        em_use(m, r);
        snprintf(name, sizeof name, "r%d", (int)r);
        em_convert(m, &m->text.body, from, c->phys, name);
    }
}

void em_store(Em *m, Reg r, const DevCol *c, int32_t data, int32_t valid, const char *slot) {
    if (!r) return;
    if (c->phys == PH_I128) {
        w(m, "st_i128(%p + %s * 16, ", data, slot);
    } else {
        w(m, "G(%s, %p)[%s] = ", m_type[c->phys], data, slot);
    }
    em_store_value(m, r, c);
    w(m, c->phys == PH_I128 ? ");\n" : ";\n");
    if (valid >= 0) w(m, "G(u8, %p)[%s] = %v;\n", valid, slot, r);
}

/* ---- the source ------------------------------------------------------------------------------------ */
const char *em_position(Em *m) {
    return m->prog->source.kind == SRC_TABLE ? "((u64)tno * TABLET_ROWS + row)" : "(u64)row";
}

/* A table column's description, read once per tile. */
const TabCol *em_need_col(Em *m, int64_t col) {
    const TabCol *tc = emit_table_col(m->forms, m->prog->source.table, col);
    if (!tc) {
        m->text.body.failed = true;
        return NULL;
    }
    for (int64_t i = 0; i < m->cols.len; i++)
        if (m->cols.items[i] == col) return tc;
    if (!vec_push(m->arena, &m->cols, (int32_t)col)) m->text.body.failed = true;
    int32_t c = (int32_t)col, p = P2(m, KP_COLUMN, 0, c);
    Out *t = &m->text.tile;
    bool str = tc->forms >> DF_STR & 1, packed = tc->forms & ((UINT64_C(1) << (DF_FOR64 + 1)) - 1);
    out_w(m, t, "const u64 cd%d = GRO_COL(%p, tno, data);\n", c, p);
    if (packed && tc->base0) out_w(m, t, "const i64 cb%d = 0;\n", c);
    else if (packed) out_w(m, t, "const i64 cb%d = (i64)GRO_COL(%p, tno, base);\n", c, p);
    if (tc->some_valid) out_w(m, t, "const u64 cn%d = GRO_COL(%p, tno, validity);\n", c, p);
    if (str) out_w(m, t, "const u64 cv%d = GRO_COL(%p, tno, var);\n", c, p);
    if (tc->forms >> DF_STRIDED) out_w(m, t, "const u64 cs%d = COL_STRIDE(%p, tno);\n", c, p);
    if (tc->forms & (tc->forms - 1)) out_w(m, t, "const u32 cf%d = (u32)GRO_COL(%p, tno, form);\n", c, p);
    if (tc->patched) {
        out_w(m, t, "const u64 pm%d = GRO_COL(%p, tno, patches);\n", c, p);
        out_w(m, t, "const bool pt%d = patched_between(pm%d, %s);\n", c, c,
              chan_writes(m->ep, m->prog) ? "from, to" : "first, end");
    }
    return tc;
}

/* One form of a column at `row` as an expression of variable type `to`. */
void em_put_form(Em *m, Out *o, uint32_t form, int32_t c, uint8_t to, const char *row) {
    static const int32_t width[] = {0, 1, 2, 4, 8, 16, 24, 32, 64};
    char value[160];
    if (form <= DF_FOR64) {
        int32_t bits = width[form];
        bool narrow = to <= PH_I32;
        if (narrow)
            snprintf(value, sizeof value, "(i32)((u32)cb%d + (u32)unpack_%d(cd%d, %s))", (int)c, (int)bits, (int)c,
                     row);
        else snprintf(value, sizeof value, "(i64)((u64)cb%d + unpack_%d(cd%d, %s))", (int)c, (int)bits, (int)c, row);
        em_convert(m, o, narrow ? PH_I32 : PH_I64, to, value);
        return;
    }
    if (form == DF_STR) {
        out_w(m, o, "column_str(cd%d, cv%d, %s)", c, c, row);
        return;
    }
    if (form == DF_OPEN_STR) {
        out_w(m, o, "open_str(cd%d, %s)", c, row);
        return;
    }
    if (form == DF_STRIDED + PH_STR) {
        out_w(m, o, "open_str(cd%d + (u64)(%s) * cs%d, 0)", c, row, c);
        return;
    }
    bool strided = form >= DF_STRIDED;
    uint8_t phys = (uint8_t)(form - (strided ? DF_STRIDED : DF_PLAIN));
    const char *load = phys >= PH_STR ? "G" : "GRO";
    char at[96];
    if (strided) snprintf(at, sizeof at, "cd%d + (u64)(%s) * cs%d", (int)c, row, (int)c);
    else if (phys == PH_I128) snprintf(at, sizeof at, "cd%d + (u64)(%s) * 16", (int)c, row);
    if (phys == PH_I128) snprintf(value, sizeof value, "ldro_i128(%s)", at);
    else if (strided) snprintf(value, sizeof value, "%s(%s, %s)[0]", load, m_type[phys], at);
    else snprintf(value, sizeof value, "%s(%s, cd%d)[%s]", load, m_type[phys], (int)c, row);
    em_convert(m, o, phys, to, value);
}

/* Instead of what was loaded into `name`: the row's new cell, in tiles that have some. */
void em_put_patch(Em *m, Out *o, const TabCol *tc, const char *name, uint8_t to, const char *row) {
    uint8_t phys = tc->cell_phys;
    char value[64];
    if (!tc->patched) return;
    if (phys == PH_I128) snprintf(value, sizeof value, "ldro_i128(cell)");
    else snprintf(value, sizeof value, "%s(%s, cell)[0]", phys >= PH_STR ? "G" : "GRO", m_type[phys]);
    out_w(m, o, "if (pt%d) {\nconst u64 cell = patch_cell(pm%d, %s, %d);\nif (cell != 0) %s = ", tc->col, tc->col, row,
          (int32_t)phys_size((Phys)phys), name);
    em_convert(m, o, phys, to, value);
    out_w(m, o, ";\n}\n");
}

/* Declares `name` of variable phys `to` with the column's value at `row`. */
static void load_column(Em *m, const char *name, const TabCol *tc, uint8_t to) {
    uint64_t forms = tc->forms;
    const PreCol *pre = m->loop.sifted && !m->loop.listing ? NULL : block_col(m, tc->col);
    if (pre) {
        char value[32];
        snprintf(value, sizeof value, "q%d_%d", (int)tc->col, (int)MAX_OF(m->loop.listing - 1, 0));
        w(m, "const %s %s = ", c_type[to], name);
        em_convert(m, &m->text.body, pre->phys, to, value);
        w(m, ";\n");
        return;
    }
    if (forms == 0) {
        w(m, "const %s %s = %s;\n", c_type[to], name, c_zero(to));
        return;
    }
    if ((forms & (forms - 1)) == 0) {
        w(m, tc->patched ? "%s %s = " : "const %s %s = ", c_type[to], name);
        em_put_form(m, &m->text.body, (uint32_t)__builtin_ctzll(forms), tc->col, to, "row");
        w(m, ";\n");
        em_put_patch(m, &m->text.body, tc, name, to, "row");
        return;
    }
    w(m, "%s %s;\nswitch (cf%d) {\n", c_type[to], name, tc->col);
    while (forms) {
        uint32_t form = (uint32_t)__builtin_ctzll(forms);
        forms &= forms - 1;
        if (forms) w(m, "case %d: %s = ", (int32_t)form, name);
        else w(m, "default: %s = ", name);
        em_put_form(m, &m->text.body, form, tc->col, to, "row");
        w(m, "; break;\n");
    }
    w(m, "}\n");
    em_put_patch(m, &m->text.body, tc, name, to, "row");
}

static void load_table(Em *m, const Instr *in) {
    const TabCol *tc = em_need_col(m, in->imm);
    if (!tc) return;
    Reg r = in->dst;
    if (NULLABLE(m, r)) w(m, "const bool v%d = cn%d == 0 || bit_at(cn%d, row);\n", r, tc->col, tc->col);
    char name[16];
    snprintf(name, sizeof name, "r%d", (int)r);
    load_column(m, name, tc, VAR_PHYS(m, r));
}

static void load_rows(Em *m, const Instr *in, const DevCol *c, ParamKind data, ParamKind valid) {
    int32_t col = (int32_t)in->imm, id = m->prog->source.id;
    char value[64], ok[64];
    int32_t p = P2(m, data, id, col);
    if (c->phys == PH_I128) snprintf(value, sizeof value, "ld_i128(P(%d) + (u64)row * 16)", (int)p);
    else snprintf(value, sizeof value, "G(%s, P(%d))[row]", m_type[c->phys], (int)p);
    if (c->nullable) snprintf(ok, sizeof ok, "G(u8, P(%d))[row] != 0", (int)P2(m, valid, id, col));
    em_define(m, in->dst, c, value, c->nullable ? ok : NULL);
}

void em_load(Em *m, const Instr *in) {
    const Source *s = &m->prog->source;
    if (in->op == OP_LOAD_ROWID) {
        w(m, s->kind == SRC_TABLE ? "const i64 r%d = (i64)(tnum << 32 | row);\n" : "const i64 r%d = (i64)row;\n",
          in->dst);
        return;
    }
    switch (s->kind) {
    case SRC_TABLE: load_table(m, in); break;
    case SRC_ROWS: load_rows(m, in, &m->ep->rows[s->id].cols[in->imm], KP_ROWS_DATA, KP_ROWS_VALID); break;
    case SRC_JOIN: load_rows(m, in, &m->ep->joins[s->id].cols[in->imm], KP_JOIN_DATA, KP_JOIN_VALID); break;
    case SRC_AGG: em_load_agg(m, in); break;
    case SRC_SERIES:
        w(m, "const i64 r%d = (i64)(%p + (u64)row * %p);\n", in->dst, P1(m, KP_SERIES_START, 0),
          P1(m, KP_SERIES_STEP, 0));
        break;
    default: break;
    }
}

void em_filter_range(Em *m, const Instr *in) {
    const RangeTest *t = in->aux;
    const TabCol *tc = em_need_col(m, in->imm);
    if (!tc) return;
    int32_t lo = P1(m, KP_LO, m->pc), hi = P1(m, KP_HI, m->pc);
    bool wide = col_has_cells(tc, PH_I128);
    w(m, "{\n");
    load_column(m, "x", tc, tc->fits32 ? PH_I32 : wide ? PH_I128 : PH_I64);
    if (tc->some_valid) w(m, "if (cn%d != 0 && !bit_at(cn%d, row)) continue;\n", tc->col, tc->col);
    if (wide && !tc->fits32) {
        w(m, "const bool in = i128_ge(x, i128_from_i64(PI(%d))) && i128_le(x, i128_from_i64(PI(%d)));\n", lo, hi);
    } else {
        const char *ty = tc->fits32 ? "i32" : "i64";
        w(m, "const bool in = (x >= (%s)P(%d)) & (x <= (%s)P(%d));\n", ty, lo, ty, hi);
    }
    w(m, "if (%sin) continue;\n}\n", t->negate ? "" : "!");
}

void em_filter_codes(Em *m, const Instr *in) {
    const CodeMask *k = in->aux;
    const TabCol *tc = em_need_col(m, in->imm);
    if (!tc) return;
    w(m, "{\n");
    load_column(m, "x", tc, PH_I32);
    bool null_passes = k->mask[k->n] != 0;
    const char *test = "";
    if (tc->some_valid) {
        w(m, "const bool ok = cn%d == 0 || bit_at(cn%d, row);\n", tc->col, tc->col);
        test = null_passes ? "!ok || " : "ok && ";
    }
    if (k->n <= 64) w(m, "if (!(%s(((P(%d) >> (x & 63)) & 1) != 0))) continue;\n}\n", test, P1(m, KP_MASK_BITS, m->pc));
    else w(m, "if (!(%sGRO(u8, P(%d))[x] != 0)) continue;\n}\n", test, P1(m, KP_MASK, m->pc));
}

/* ---- the row sink --------------------------------------------------------------------------------------- */
static void sink_rows(Em *m, bool identity) {
    const Sink *s = &m->prog->sink;
    const DevRows *d = &m->ep->rows[s->id];
    bool cached = !identity && cache_fits(m);
    if (cached) cache_begin(m);
    if (d->channel) {
        em_chan_append(m, s->id);
    } else if (identity) {
        w(m, "{\nconst u64 slot = P(%d) + ((u64)row - P(%d));\n", P1(m, KP_OUT_BASE, s->id), P1(m, KP_SRC_FIRST, 0));
        w(m, "if (slot < P(%d)) {\n", P1(m, KP_OUT_CAP, s->id));
    } else {
        w(m, "{\nconst u64 slot = append(P(%d));\nif (slot < P(%d)) {\n", P1(m, KP_OUT_COUNT, s->id),
          P1(m, KP_OUT_CAP, s->id));
    }
    for (int32_t i = 0; i < s->n_regs; i++) {
        const DevCol *c = &d->cols[i];
        em_store(m, s->regs[i], c, P2(m, KP_ROWS_DATA, s->id, i), c->nullable ? P2(m, KP_ROWS_VALID, s->id, i) : -1,
                 "slot");
    }
    if (d->has_seq)
        w(m, "G(u64, P(%d))[slot] = P(%d) | %s;\n", P2(m, KP_ROWS_DATA, s->id, d->n_cols), P1(m, KP_SEQ_BASE, 0),
          em_position(m));
    w(m, cached ? "}\n}\n}\n}\n" : "}\n}\n");
}

/* ---- putting it together ----------------------------------------------------------------------------------- */
static void emit_program(Em *m, bool identity) {
    const Program *p = m->prog;
    for (int32_t i = m->loop.block ? m->loop.n_leading : 0; i < p->n_instrs && !m->ends; i++) {
        const Instr *in = &p->instrs[i];
        if (m->loop.done && m->loop.done[i]) continue;
        m->pc = i;
        switch (in->op) {
        case OP_LOAD:
        case OP_LOAD_CODE:
        case OP_LOAD_ROWID: em_load(m, in); break;
        case OP_FILTER_RANGE: em_filter_range(m, in); break;
        case OP_FILTER_CODES: em_filter_codes(m, in); break;
        case OP_FILTER:
            if (m->loop.whole) w(m, "ok_0 = ok_0 && %v && %r;\n", in->a, in->a);
            else if (NULLABLE(m, in->a)) w(m, "if (!(%v && %r)) continue;\n", in->a, in->a);
            else w(m, "if (!%r) continue;\n", in->a);
            break;
        case OP_IF: {
            const Instr *end = &p->instrs[p->instrs[in->jump].jump];
            Reg d = end->dst;
            w(m, "%s r%d = %s;\n", c_type[VAR_PHYS(m, d)], d, c_zero(VAR_PHYS(m, d)));
            if (NULLABLE(m, d)) w(m, "bool v%d = true;\n", d);
            w(m, "if (%v && %r) {\n", in->a, in->a);
            break;
        }
        case OP_ELSE:
        case OP_ENDIF: {
            Reg d = in->op == OP_ELSE ? p->instrs[in->jump].dst : in->dst;
            w(m, m->regs[d].phys == PH_STR && !m->regs[d].dict ? "r%d = %t;\n" : "r%d = %r;\n", d, in->a);
            if (NULLABLE(m, d)) w(m, "v%d = %v;\n", d, in->a);
            w(m, in->op == OP_ELSE ? "} else {\n" : "}\n");
            break;
        }
        case OP_PROBE:
        case OP_PROBE_BEGIN: em_probe(m, in); break;
        case OP_PROBE_END: em_probe_end(m, in); break;
        case OP_LOAD_BUILD: em_load_build(m, in); break;
        case OP_REPEAT:
            if (NULLABLE(m, in->a)) w(m, "if (!%v) continue;\n", in->a);
            w(m,
              "for (i64 times%d = 0; times%d < %r; times%d++) {\nif ((times%d & 4095) == 4095 && STOPPED()) break;\n",
              i, i, in->a, i, i);
            if (in->dst) w(m, "const i64 r%d = times%d;\n", in->dst, i);
            m->depth++;
            break;
        default:
            if (!em_expr(m, in)) m->reason = op_info[in->op].name;
        }
    }
    m->pc = p->n_instrs;
    if (m->ends) return;
    switch (p->sink.kind) {
    case SINK_ROWS: sink_rows(m, identity); break;
    case SINK_AGG: em_sink_agg(m); break;
    case SINK_JOIN: em_sink_join(m); break;
    case SINK_SORT: em_sink_sort(m); break;
    default: break;
    }
}

static void append_out(Em *m, Out *o, const Out *x) {
    if (x->failed) o->failed = true;
    if (x->n) out_put(m, o, x->p, x->n);
}

/* What the steps of assemble share: the kinds of source and sink, and the parameters of the loops, -1 where there is
 * none. */
typedef struct Frame {
    bool table;     /* the source is a table */
    bool even;      /* all items of a group go through the same tiles */
    bool in, out;   /* it reads from a channel, writes to one */
    char in_at[16]; /* expressions of their control blocks */
    char out_at[16];
    const char *from, *to; /* names of the tile's first row and of its end: batches have first and end (frame_rows) */
    int32_t tiles, tile0;  /* their number; the first one */
    int32_t list, tablets; /* tables */
    int32_t first, rows;   /* other sources */
    int32_t limit, count;
} Frame;
static Frame frame_of(Em *m, bool even) {
    const Program *p = m->prog;
    Frame f = {.table = p->source.kind == SRC_TABLE,
               .even = even,
               .in = chan_reads(m->ep, p),
               .out = chan_writes(m->ep, p),
               .in_at = "0",
               .out_at = "0",
               .tiles = -1,
               .tile0 = -1,
               .limit = -1};
    if (!f.in) f.tiles = P1(m, KP_SRC_TILES, 0);
    if (f.out && !f.in) f.tile0 = P1(m, KP_CHAN_TILE, 0);
    if (f.in) snprintf(f.in_at, sizeof f.in_at, "P(%d)", (int)P1(m, KP_CHAN_IN, p->source.id));
    if (f.out) snprintf(f.out_at, sizeof f.out_at, "P(%d)", (int)P1(m, KP_CHAN_OUT, p->sink.id));
    f.from = f.out ? "from" : "first";
    f.to = f.out ? "to" : "end";
    if (f.table) {
        f.list = P1(m, KP_TABLET_LIST, 0);
        f.tablets = P1(m, KP_TABLETS, 0);
    } else if (!f.in) {
        f.first = P1(m, KP_SRC_FIRST, 0);
        f.rows = P1(m, KP_SRC_ROWS, 0);
    }
    if (p->sink.kind == SINK_ROWS && p->sink.limit >= 0) {
        f.limit = P1(m, KP_LIMIT, 0);
        f.count = P1(m, KP_OUT_COUNT, p->sink.id);
    }
    return f;
}
/* What stands in front of the kernel. */
static void frame_head(Em *m, Out *o, const Frame *f) {
    const EmitTarget *t = &m->ep->target;
    out_w(m, o, "#define N_PARAMS %d\n#define ERR_PARAM 0\n", (int32_t)m->params.len);
    if (!t->native_threads) out_w(m, o, "#define GROUP_SIZE %d\n", t->group_size);
    if (f->in || f->out) out_w(m, o, "#define GROUPS_PER_UNIT 4\n"); /* several kernels share a unit */
    if (hash_constant) out_w(m, o, "#define HASH_CONSTANT 1\n");
    out_w(m, o, "#define TILE_ROWS %d\n#define TABLET_ROWS %d\n", m->tile_rows, (int32_t)TABLET_ROWS);
    out_put(m, o, KERNEL_PRELUDE_INCLUDE, (int64_t)sizeof KERNEL_PRELUDE_INCLUDE - 1);
    if (f->in || f->out) em_chan_text(m, o);
}
/* The head of the loop over tiles, or over packets. */
static void frame_tiles(Em *m, Out *o, const Frame *f) {
    if (f->in) {
        out_w(m, o, "    for (;;) {\nCHAN_TAKE(%s, %s);\nif (CH[IN_PACKET] == 0) break;\n", f->in_at, f->out_at);
        out_w(m, o, "const u64 %s = CH[IN_FIRST], %s = %s + CH[IN_ROWS];\n", f->from, f->to, f->from);
        return;
    }
    if (f->out) {
        out_w(m, o,
              "    const u64 n_tiles = %p;\n    for (u64 tile = %p + GID; tile < n_tiles && CH[GAVE_UP] == 0; tile += "
              "NGROUPS) {\n",
              f->tiles, f->tile0);
        return;
    }
    if (f->table || !f->even)
        out_w(m, o, f->even ? "    u32 polls = 0;\n    bool halt = false;\n" : "    u32 polls = 0;\n");
    out_w(m, o, "    const u64 n_tiles = %p / %d;\n    for (u64 tile = GID; tile < n_tiles", f->tiles,
          m->tile_rows / m->ep->target.tile_rows);
    if (!f->even) out_w(m, o, " && !(polls++ %% POLL_TILES == 0 && STOPPED())");
    if (f->limit >= 0) out_w(m, o, " && GVOL(u64, %p)[0] < %p", f->count, f->limit);
    out_w(m, o, "; tile += NGROUPS) {\n");
}
/* The tile's rows: from where to where. */
static void frame_tile(Em *m, Out *o, const Frame *f) {
    const Program *p = m->prog;
    if (f->table) {
        out_w(m, o,
              "const u32 tno = GRO(u32, %p)[tile / (TABLET_ROWS / TILE_ROWS)];\nconst u32 %s = (u32)(tile %% "
              "(TABLET_ROWS / TILE_ROWS)) * TILE_ROWS;\n",
              f->list, f->from);
        if (f->even) out_w(m, o, "if (polls++ %% POLL_TILES == 0) halt = STOPPED();\n");
        out_w(m, o,
              "const u32 last = %s(u32)tablet_rows(%p, tno);\nconst u32 %s = %s + TILE_ROWS < last ? %s + TILE_ROWS : "
              "last;\n",
              f->even ? "halt ? 0 : " : "", f->tablets, f->to, f->from, f->from);
        for (int32_t i = 0; i < p->n_instrs; i++)
            if (p->instrs[i].op == OP_LOAD_ROWID) {
                out_w(m, o, "const u64 tnum = tablet_number(%p, tno);\n", f->tablets);
                break;
            }
        out_w(m, o, "const u64 deleted = tablet_deleted(%p, tno);\n", f->tablets);
    } else if (!f->in) {
        out_w(m, o,
              "const u64 %s = %p + tile * TILE_ROWS, last = %p + %p, %s = %s + TILE_ROWS < last ? %s + TILE_ROWS : "
              "last;\n",
              f->from, f->first, f->first, f->rows, f->to, f->from, f->from);
    }
}
/* The loop over rows, with the program. */
static void frame_rows(Em *m, Out *o, const Frame *f, const Out *block) {
    bool host = m->ep->target.native_threads, runs = false;
    if (f->out) { /* batches, between which the group may change packets */
        const char *ty = f->table ? "u32" : "u64";
        out_w(m, o,
              "for (%s batch = from, size = (%s)CH[OUT_BATCH]; batch < to; batch += size) {\nCHAN_ROOM(%s);\nif "
              "(CH[GAVE_UP] != 0) break;\n",
              ty, ty, f->out_at);
        out_w(m, o, "const %s first = batch, end = to - batch < size ? to : batch + size;\n", ty);
    }
    if (m->loop.block) {
        append_out(m, o, block);
    } else if (m->loop.listed) {
        out_w(m, o, "if (first >= end) continue;\nu32 n_sel = 0;\n"); /* the last tablet may end before the tile */
        append_out(m, o, &m->loop.stages);
        out_w(m, o, "for (u32 nth = 0; nth < n_sel; nth++) {\nconst u32 row = sel[nth];\n");
    } else if (f->table && host) { /* runs of live rows: one run where none is deleted */
        runs = true;
        out_w(m, o,
              "for (u32 run = live_first(deleted, first, end), stop; run < end; run = live_first(deleted, stop, end)) "
              "{\n");
        out_w(m, o, "stop = live_end(deleted, run, end);\nfor (u32 row = run; row < stop; row++) {\n");
    } else {
        out_w(m, o, "for (%s row = first + LID; row < end; row += LSIZE) {\n", f->table ? "u32" : "u64");
        if (f->table) out_w(m, o, "if (deleted != 0 && bit_at(deleted, row)) continue;\n");
    }
    append_out(m, o, &m->text.body);
    if (runs) out_w(m, o, "}\n");
    if (m->loop.block && !m->loop.sifted) out_w(m, o, "}\n");
    for (int32_t i = 0; i < m->depth; i++) out_w(m, o, "}\n");
    out_w(m, o, f->out ? "}\n}\n" : "}\n");
}
/* The segment's whole text, once the program is written: the loops over tiles and rows around it, and what stands in
 * front of and behind them. */
static void assemble(Em *m, Out *o) {
    Out block = {0};
    bool even = m->text.tile_end.n > 0; /* by the program: block_begin adds to it */
    if (m->loop.block) block_begin(m, &block);
    const Frame f = frame_of(m, even);
    frame_head(m, o, &f);
    out_w(m, o, "\nKERNEL(seg_main) {\n");
    append_out(m, o, &m->text.top);
    if (m->loop.listed) {
        int64_t at = align_up(m->local_bytes, 64);
        out_w(m, o, "    LOCAL u32 *sel = LM(u32, %l);\n", at);
        m->local_bytes = at + (int64_t)m->tile_rows * 4;
    }
    if (m->spin) out_w(m, o, "    u32 spin = 0;\n");
    if (f.in || f.out) out_w(m, o, "    CHAN_START(%s, %s);\n", f.in_at, f.out_at);
    frame_tiles(m, o, &f);
    frame_tile(m, o, &f);
    append_out(m, o, &m->text.tile);
    frame_rows(m, o, &f, &block);
    append_out(m, o, &m->text.tile_end);
    out_w(m, o, "}\n");
    if (f.in || f.out) out_w(m, o, "CHAN_END(%s, %s);\n", f.in_at, f.out_at);
    append_out(m, o, &m->text.tail);
    out_w(m, o, "}\n");
    append_out(m, o, &m->text.extra);
}

/* Rows of aggregations and joins that do not count are skipped. */
static void source_prefix(Em *m) {
    const Source *s = &m->prog->source;
    if (s->kind == SRC_JOIN)
        w(m, "if (G(u8, P(%d))[row] != %d) continue;\n", P1(m, KP_JOIN_MATCHED, s->id), s->matched ? 1 : 0);
    if (s->kind == SRC_AGG) {
        const DevAgg *d = &m->ep->aggs[s->id];
        int32_t p = P1(m, KP_AGG_RECORDS, s->id);
        w(m, "const u64 rec = P(%d) + (u64)row * %d;\n", p, d->stride);
        if (!m->plan->aggs[s->id].one_group) w(m, "if (G(u32, rec)[0] == 0) continue;\n");
    }
}

Status emit_segment(const EmitPlan *ep, int32_t segment, bool last, Arena *a, EmitSegment *out, Err *e) {
    *out = (EmitSegment){0};
    const SegmentPlan *sp = &ep->plan->segments[segment];
    const Program *p = sp->program;
    if (ep->reasons[segment])
        return err_internal(e, "segment %d cannot run on a device: %s", (int)segment, ep->reasons[segment]);
    Em m = {.ep = ep,
            .forms = (EmitForms *)(uintptr_t)ep->forms,
            .plan = ep->plan,
            .prog = p,
            .regs = ep->forms->segs[segment].regs,
            .seg = &ep->forms->segs[segment],
            .arena = a,
            .err = e,
            .segment = segment,
            .last = last,
            .tile_rows = ep->target.tile_rows};
    m.const_done = arena_array(a, bool, p->n_regs + 1);
    if (!m.const_done) return err_is_set(e) ? ST_ERROR : err_oom(e);
    em_param(&m, KP_ERR, 0, 0, NULL);
    bool identity = emit_is_identity(ep, p);
    if (block_plan(&m) != ST_OK) return err_is_set(e) ? ST_ERROR : err_oom(e);
    if (host_rows(&m) != ST_OK) return err_is_set(e) ? ST_ERROR : err_oom(e);
    source_prefix(&m);
    emit_program(&m, identity);
    if (m.reason) return err_internal(e, "segment %d: opcode %s has no device form", (int)segment, m.reason);
    Out text = {0};
    out->kernels = EK_MAIN;
    if (last && p->sink.kind == SINK_SORT) {
        em_sort_kernels(&m, ep->plan->rows[p->sink.id].sort, p->sink.id);
        out->kernels |= EK_SORT;
    }
    if (last && p->sink.kind == SINK_JOIN && em_join_build(&m)) out->kernels |= EK_BUILD;
    assemble(&m, &text);
    out_put(&m, &text, "", 1);
    if (text.failed) return err_is_set(e) ? ST_ERROR : err_oom(e);
    out->source = text.p;
    out->source_bytes = text.n - 1;
    out->n_params = (int32_t)m.params.len;
    out->params = m.params.items;
    out->main_local_bytes = m.local_bytes;
    out->identity_sink = identity;
    out->n_tables_cols = (int32_t)m.cols.len;
    out->table_cols = m.cols.items;
    for (int64_t i = 0; i < m.cols.len; i++)
        out->bytes_per_row += emit_table_col(m.forms, p->source.table, m.cols.items[i])->bytes;
    return ST_OK;
}
