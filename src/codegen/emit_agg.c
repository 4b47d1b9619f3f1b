/* emit_agg.c - aggregation: states in records, their updates in four forms, and the final values.
 *
 * A state is a cell of 8-byte words whose zero is neutral (CellKind), so that records need no initialisation but
 * zeroing. The same update is written against three places:
 *
 *   private   ONE: variables of the item; reduced over the group when the tiles are done, one atomic per group and word
 *   local     LOCAL: words in local memory, [slot][word][copy]. As many copies as fit, up to one per item, where
 *             nothing needs to be atomic; else items share copies by their number. Copies are folded by halves, then
 *             merged into the records
 *   global    DIRECT and HASH: atomics on the record
 *
 * HASH: a slot holds the high half of the hash and record + 1. A new record is filled before its slot is claimed by
 * compare-and-swap; when another item was faster with the same keys, the record is left unused (live 0).
 */
#include "codegen/emit_int.h"

typedef struct View {
    const AggSpec *spec;
    const DevAgg *dev;
    const AggForm *form;
    int32_t id;
} View;
static View view(const Em *m, int32_t id) {
    return (View){&m->plan->aggs[id], &m->ep->aggs[id], &m->forms->aggs[id], id};
}

/* ---- forms --------------------------------------------------------------------------------- */
void agg_form_cells(const AggSpec *s, AggForm *f, DevAgg *d) {
    int32_t seen = 0;
    f->alive = -1;
    for (int32_t i = 0; i < s->n_aggs; i++) {
        const AggCell *a = &s->aggs[i];
        CellForm *c = &f->cells[i];
        DevCol *col = &d->cols[s->n_keys + i];
        bool counts = a->op == AO_COUNT || a->op == AO_COUNT_STAR;
        c->in_phys = a->in_phys;
        c->words = 1;
        c->flip = false;
        switch ((AggOp)a->op) {
        case AO_SUM_I64_CHECKED: c->kind = CK_WIDE2; break;
        case AO_SUM_I128: c->kind = a->in_phys == PH_I128 ? CK_WIDE3 : CK_WIDE2; break;
        case AO_SUM_F64: c->kind = CK_ADDF; break;
        case AO_MIN:
        case AO_MAX:
            c->kind = CK_MAX64;
            c->flip = a->op == AO_MIN;
            break;
        case AO_BOOL_AND:
        case AO_BIT_AND:
        case AO_BOOL_OR:
        case AO_BIT_OR:
            c->kind = CK_OR64;
            c->flip = a->op == AO_BOOL_AND || a->op == AO_BIT_AND;
            break;
        case AO_ANY: c->kind = CK_FIRST; break;
        case AO_SINGLE: c->kind = CK_SINGLE; break;
        default: c->kind = CK_ADD64;
        }
        if (c->kind == CK_WIDE2) c->words = 2;
        if (c->kind == CK_WIDE3) c->words = 3;
        c->flags = -1;
        if (c->kind == CK_FIRST || c->kind == CK_SINGLE) { /* the value, then what is known of it */
            c->words = phys_size((Phys)a->in_phys) == 16 ? 2 : 1;
            if (c->null_in || s->n_keys == 0 || c->kind == CK_SINGLE) c->flags = 8 * c->words++;
        }
        c->seen = -1;
        if (c->kind == CK_SINGLE || (c->null_in && !counts && c->kind != CK_FIRST)) c->seen = seen++;
        if (counts && (a->op == AO_COUNT_STAR || !c->null_in) && f->alive < 0) f->alive = i;
        col->nullable = !counts && (c->null_in || s->n_keys == 0);
    }
    d->n_seen_words = (seen + 31) / 32;
}

/* ---- inputs ----------------------------------------------------------------------------------- */
/* The input as the state's word: "(u64)(i64)r5". */
static void put_word(Em *m, const CellForm *c, const AggCell *a, Reg r) {
    bool flt = c->in_phys == PH_F32 || c->in_phys == PH_F64;
    switch (c->kind) {
    case CK_ADD64:
        if (a->op == AO_COUNT || a->op == AO_COUNT_STAR) w(m, "1");
        else w(m, "(u64)(i64)%r", r);
        break;
    case CK_ADDF: w(m, "(f64)%r", r); break;
    case CK_MAX64: w(m, flt ? "enc_%s_f64((f64)%r)" : "enc_%s_i64((i64)%r)", c->flip ? "min" : "max", r); break;
    case CK_OR64:
        w(m, c->in_phys == PH_BOOL ? (c->flip ? "(u64)!%r" : "(u64)%r") : (c->flip ? "~(u64)(i64)%r" : "(u64)(i64)%r"),
          r);
        break;
    case CK_WIDE2: w(m, "i128_from_i64((i64)%r)", r); break;
    default: w(m, "%r", r);
    }
}
static bool is_count(const AggCell *a) { return a->op == AO_COUNT || a->op == AO_COUNT_STAR; }

/* Rows that one item can add up at most; 0 unknown. */
static double most_rows(const Em *m) {
    const Source *s = &m->prog->source;
    if (s->kind != SRC_TABLE) return 0;
    for (int32_t i = 0; i < m->prog->n_instrs; i++) {
        const Instr *in = &m->prog->instrs[i];
        if (in->op == OP_REPEAT) return 0;
        if (in->op != OP_PROBE && in->op != OP_PROBE_BEGIN) continue;
        uint8_t k = ((const ProbeSite *)in->aux)->kind;
        if (k == PK_INNER || k == PK_LEFT) return 0;
    }
    double tablets = 64; /* a round number, so that text does not change with every new tablet */
    while (tablets < (double)s->table->n_tablets) tablets *= 2;
    return tablets * TABLET_ROWS;
}
/* A wide sum's part that one place adds up fits 64 bits. */
static bool part_fits64(const Em *m, const CellForm *c, Reg r) {
    if (c->kind != CK_WIDE2) return false;
    double rows = most_rows(m), most = c->in_phys == PH_I16 ? 32768.0 : c->in_phys == PH_I32 ? 2147483648.0 : 9.3e18;
    const RegInfo *ri = &m->prog->regs[r];
    if (ri->has_range) {
        double lo = ri->min < 0 ? -(double)ri->min : (double)ri->min,
               hi = ri->max < 0 ? -(double)ri->max : (double)ri->max;
        double range = lo > hi ? lo : hi;
        if (range < most) most = range;
    }
    return rows > 0 && most * rows < 9e18;
}

/* ---- private (ONE) ------------------------------------------------------------------------------- */
static void first_write(Em *m, const View *v, const char *rec, int32_t only);

/* The record has another name than that of the groups that are read (source_prefix): ANY and SINGLE write to it row by
 * row. */
static void private_sink(Em *m, const View *v) {
    const Sink *s = &m->prog->sink;
    Out *top = &m->text.top, *tail = &m->text.tail;
    int32_t records = P1(m, KP_AGG_RECORDS, v->id);
    bool alive = v->form->alive >= 0, local = false;
    out_w(m, top, "    const u64 one = P(%d);\n", records);
    if (!alive) {
        out_w(m, top, "    bool live = false;\n");
        w(m, "live = true;\n");
    }
    for (int32_t i = 0; i < v->dev->n_seen_words; i++) out_w(m, top, "    u32 seen%d = 0;\n", i);
    for (int32_t i = 0; i < v->spec->n_aggs; i++) {
        const CellForm *c = &v->form->cells[i];
        const AggCell *a = &v->spec->aggs[i];
        Reg r = s->regs[i];
        int32_t off = v->dev->cell_off[i];
        if (c->kind == CK_FIRST || c->kind == CK_SINGLE) {
            first_write(m, v, "one", i);
            continue;
        }
        bool test = r && NULLABLE(m, r) && a->op != AO_COUNT_STAR, part = part_fits64(m, c, r);
        if (test) w(m, "if (%v) {\n", r);
        switch (c->kind) {
        case CK_ADD64:
            out_w(m, top, "    u64 a%d = 0;\n", i);
            w(m, "a%d += ", i);
            put_word(m, c, a, r);
            out_w(
                m, tail,
                "{ const u64 x = group_sum_u64(a%d, LM(u64, 0)); if (LID == 0 && x != 0) ga_add_u64(one + %d, x); }\n",
                i, off);
            if (i == v->form->alive) out_w(m, tail, "const bool live = a%d != 0;\n", i);
            local = true;
            break;
        case CK_ADDF:
            out_w(m, top, "    f64 a%d = 0;\n", i);
            w(m, "a%d += ", i);
            put_word(m, c, a, r);
            out_w(
                m, tail,
                "{ const f64 x = group_sum_f64(a%d, LM(u64, 0)); if (LID == 0 && x != 0) ga_add_f64(one + %d, x); }\n",
                i, off);
            local = true;
            break;
        case CK_MAX64:
            out_w(m, top, "    u64 a%d = 0;\n", i);
            w(m, "const u64 e%d = ", i);
            put_word(m, c, a, r);
            w(m, ";\nif (e%d > a%d) a%d = e%d", i, i, i, i);
            out_w(
                m, tail,
                "{ const u64 x = group_max_u64(a%d, LM(u64, 0)); if (LID == 0 && x != 0) ga_max_u64(one + %d, x); }\n",
                i, off);
            local = true;
            break;
        case CK_OR64:
            out_w(m, top, "    u64 a%d = 0;\n", i);
            w(m, "a%d |= ", i);
            put_word(m, c, a, r);
            out_w(m, tail, "if ((a%d & ~GVOL(u64, one + %d)[0]) != 0) ga_or_u64(one + %d, a%d);\n", i, off, off, i);
            break;
        case CK_WIDE2:
            if (part) {
                out_w(m, top, "    i64 a%d = 0;\n", i);
                w(m, "a%d += (i64)%r", i, r);
                out_w(m, tail,
                      "{ const u64 lo = group_sum_u64((u64)(u32)a%d, LM(u64, 0)), hi = group_sum_u64((u64)(a%d >> 32), "
                      "LM(u64, 0));\n",
                      i, i);
                out_w(m, tail,
                      "if (LID == 0) ga_add_i128(one + %d, i128_add(i128_from_u64(lo), "
                      "i128_shl(i128_from_i64((i64)hi), 32))); }\n",
                      off);
            } else {
                out_w(m, top, "    i128 a%d = i128_from_i64(0);\n", i);
                w(m, "a%d = i128_add(a%d, ", i, i);
                put_word(m, c, a, r);
                w(m, ")");
                out_w(m, tail,
                      "{ const u64 x = i128_lo(a%d), lo = group_sum_u64((u64)(u32)x, LM(u64, 0)), mid = "
                      "group_sum_u64(x >> 32, LM(u64, 0)), hi = "
                      "group_sum_u64(i128_hi(a%d), LM(u64, 0));\n",
                      i, i);
                out_w(m, tail,
                      "if (LID == 0) ga_add_i128(one + %d, i128_add(i128_add(i128_from_u64(lo), "
                      "i128_shl(i128_from_u64(mid), 32)), i128_from_limbs(0, hi))); }\n",
                      off);
            }
            local = true;
            break;
        default: /* CK_WIDE3 */
            out_w(m, top, "    sum192 a%d = sum192_zero();\n    bool any%d = false;\n", i, i);
            w(m, "any%d = true;\na%d = sum192_add(a%d, %r)", i, i, i, r);
            out_w(m, tail, "if (any%d) ga_add_sum192(one + %d, a%d);\n", i, off, i);
        }
        w(m, ";\n");
        if (c->seen >= 0) w(m, "seen%d |= U64C(%l);\n", c->seen / 32, INT64_C(1) << (c->seen % 32));
        if (test) w(m, "}\n");
    }
    out_w(m, tail, "if (live && GVOL(u32, one)[0] == 0) G(u32, one)[0] = 1;\n");
    for (int32_t i = 0; i < v->dev->n_seen_words; i++)
        out_w(m, tail, "if ((seen%d & ~GVOL(u32, one + %d)[0]) != 0) ga_or_u32(one + %d, seen%d);\n", i, 4 + 4 * i,
              4 + 4 * i, i);
    if (local) m->local_bytes = (int64_t)m->ep->target.group_size * 8;
}

/* ---- ANY and SINGLE: into a record ---------------------------------------------------------------------- */
static void store_first(Em *m, const View *v, const char *rec, int32_t i) {
    const DevCol *c = &v->dev->cols[v->spec->n_keys + i];
    Reg r = m->prog->sink.regs[i];
    char at[64];
    snprintf(at, sizeof at, "%s + %d", rec, (int)v->dev->cell_off[i]);
    if (NULLABLE(m, r)) w(m, "if (%v) {\n", r);
    if (c->phys == PH_I128) w(m, "st_i128(%s, %r);\n", at, r);
    else if (c->phys == PH_STR) w(m, "G(str, %s)[0] = %t;\n", at, r);
    else w(m, "G(%s, %s)[0] = %r;\n", m_type[c->phys], at, r);
    if (v->form->cells[i].flags >= 0) w(m, "G(u32, %s + %d)[0] = 1;\n", at, v->form->cells[i].flags);
    if (NULLABLE(m, r)) w(m, "}\n");
}
/* One aggregate of ONE (the first row that comes), or with only < 0 all SINGLEs of a record. */
static void first_write(Em *m, const View *v, const char *rec, int32_t only) {
    for (int32_t i = 0; i < v->spec->n_aggs; i++) {
        const CellForm *c = &v->form->cells[i];
        if (only >= 0 && i != only) continue;
        if (c->kind == CK_SINGLE) {
            w(m, "if ((ga_or_u32(%s + %d, U64C(%l)) & U64C(%l)) != 0) {\nRAISE(%d);\n} else {\n", rec,
              4 + 4 * (c->seen / 32), INT64_C(1) << (c->seen % 32), INT64_C(1) << (c->seen % 32),
              raise_code(m->pc, RK_CARDINALITY));
            store_first(m, v, rec, i);
            w(m, "}\n");
        } else if (c->kind == CK_FIRST && only >= 0) {
            w(m, "if (GVOL(u32, %s + %d)[0] == 0 && ga_xchg_u32(%s + %d, 1) == 0) {\n", rec,
              v->dev->cell_off[i] + c->flags + 4, rec, v->dev->cell_off[i] + c->flags + 4);
            store_first(m, v, rec, i);
            w(m, "}\n");
        }
    }
}
static bool has_first(const View *v) {
    for (int32_t i = 0; i < v->spec->n_aggs; i++)
        if (v->form->cells[i].kind == CK_FIRST) return true;
    return false;
}
static void creator_writes(Em *m, const View *v, const char *rec) {
    for (int32_t i = 0; i < v->spec->n_aggs; i++)
        if (v->form->cells[i].kind == CK_FIRST) store_first(m, v, rec, i);
}

/* ---- global ------------------------------------------------------------------------------------------------ */
static void global_update(Em *m, const View *v) {
    const Sink *s = &m->prog->sink;
    first_write(m, v, "rec", -1);
    for (int32_t i = 0; i < v->spec->n_aggs; i++) {
        const CellForm *c = &v->form->cells[i];
        const AggCell *a = &v->spec->aggs[i];
        if (c->kind == CK_FIRST || c->kind == CK_SINGLE) continue;
        Reg r = s->regs[i];
        int32_t off = v->dev->cell_off[i];
        bool test = r && NULLABLE(m, r) && a->op != AO_COUNT_STAR;
        if (test) w(m, "if (%v) {\n", r);
        switch (c->kind) {
        case CK_ADD64: w(m, "ga_add_u64(rec + %d, ", off); break;
        case CK_ADDF: w(m, "ga_add_f64(rec + %d, ", off); break;
        case CK_MAX64:
            w(m, "{\nconst u64 e = ");
            put_word(m, c, a, r);
            w(m, ";\nif (GVOL(u64, rec + %d)[0] < e) ga_max_u64(rec + %d, e);\n}\n", off, off);
            break;
        case CK_OR64:
            w(m, "{\nconst u64 e = ");
            put_word(m, c, a, r);
            w(m, ";\nif ((e & ~GVOL(u64, rec + %d)[0]) != 0) ga_or_u64(rec + %d, e);\n}\n", off, off);
            break;
        case CK_WIDE2: w(m, "ga_add_i128(rec + %d, ", off); break;
        default: w(m, "ga_add_sum192(rec + %d, sum192_add(sum192_zero(), ", off);
        }
        if (c->kind != CK_MAX64 && c->kind != CK_OR64) {
            put_word(m, c, a, r);
            w(m, c->kind == CK_WIDE3 ? "));\n" : ");\n");
        }
        if (c->seen >= 0) {
            int32_t at = 4 + 4 * (c->seen / 32);
            int64_t bit = INT64_C(1) << (c->seen % 32);
            w(m, "if ((GVOL(u32, rec + %d)[0] & U64C(%l)) == 0) ga_or_u32(rec + %d, U64C(%l));\n", at, bit, at, bit);
        }
        if (test) w(m, "}\n");
    }
}

/* Codes are within their dictionary; other keys where the register's own range says so. */
static bool key_proven(const Em *m, const View *v, int32_t i) {
    const DevCol *c = &v->dev->cols[i];
    Reg k = m->prog->sink.keys[i];
    const RegInfo *ri = &m->prog->regs[k];
    int64_t values = v->dev->key_extent[i] - (c->nullable ? 1 : 0);
    if (m->regs[k].dict && m->regs[k].dict == c->dict) return true;
    if (c->phys == PH_BOOL) return true;
    return ri->has_range && ri->min >= v->dev->key_min[i] && (int128_t)ri->max - v->dev->key_min[i] < values;
}

/* Declares g: the record number of LOCAL and DIRECT. */
static void slot_number(Em *m, const View *v) {
    const Sink *s = &m->prog->sink;
    int64_t radix = 1;
    bool checked = false;
    w(m, "u32 g = 0;\n");
    for (int32_t i = 0; i < v->spec->n_keys; i++) checked |= !key_proven(m, v, i);
    if (checked) w(m, "bool inside = true;\n");
    for (int32_t i = 0; i < v->spec->n_keys; i++) {
        Reg k = s->keys[i];
        int64_t ext = v->dev->key_extent[i], values = ext - (v->dev->cols[i].nullable ? 1 : 0);
        w(m, "{\n");
        if (m->regs[k].dict && m->regs[k].dict == v->dev->cols[i].dict)
            w(m, "const u32 x = (u32)(i32)%r;\n", k); /* codes start at 0 */
        else if (v->dev->key_min[i] == 0 && VAR_PHYS(m, k) != PH_I64) w(m, "const u32 x = (u32)(i32)%r;\n", k);
        else if (VAR_PHYS(m, k) == PH_I64) w(m, "const u64 x = (u64)%r - P(%d);\n", k, P2(m, KP_AGG_KEY_MIN, v->id, i));
        else w(m, "const u32 x = (u32)(i32)%r - (u32)P(%d);\n", k, P2(m, KP_AGG_KEY_MIN, v->id, i));
        if (NULLABLE(m, k)) {
            if (checked) w(m, "inside = inside && (!%v || x < %lu);\n", k, values);
            w(m, "g += (%v ? (u32)x : %lu) * %lu;\n}\n", k, values, radix);
        } else {
            if (checked) w(m, "inside = inside && x < %lu;\n", values);
            w(m, "g += (u32)x * %lu;\n}\n", radix);
        }
        radix *= ext;
    }
    if (checked) w(m, "if (!inside) { RAISE(%d); continue; }\n", raise_code(m->pc, RK_INTERNAL));
}

/* ---- local ------------------------------------------------------------------------------------------------------ */
/* Sums and counts of small values share words: each has a field of so many bits that the rows of `flush` tiles cannot
 * overflow it. Then (and at the end) the fields are emptied into sums of 64 bits, of which a slot has LANES copies.
 * Each copy is always added to by the same item: no atomics there. */
enum { FIELDS_MAX = 48, LANES = 16, FLUSH_BITS_MIN = 7, FLUSH_BITS_MAX = 10, SHARED_BYTES = 24576 };
typedef struct Field {
    int32_t agg, bits, word, shift;
    int64_t plus;  /* the field adds up value + plus; what was added is known from a count of the same rows */
    int32_t count; /* that count's aggregate */
} Field;
typedef struct LocalForm {
    int32_t words, copies; /* 8-byte words per slot, without packed ones */
    int32_t flags;         /* word of seen bits and, at bit 63, life; -1 none */
    bool private;
    int32_t n_fields, n_packed, flush, lanes;
    Field fields[FIELDS_MAX];
    int32_t used[FIELDS_MAX]; /* bits of packed words; those of at most 32 bits are u32 */
    int64_t slot, bytes;      /* of a slot, in bytes: words, packed u64s, packed u32s, each [copy]; of everything */
    int64_t wide;             /* offset of the emptied fields: [slot][field][lane] */
} LocalForm;

static const Field *packed_field(const LocalForm *f, int32_t agg, int32_t *number) {
    for (int32_t k = 0; k < f->n_fields; k++) {
        if (f->fields[k].agg != agg) continue;
        if (number) *number = k;
        return &f->fields[k];
    }
    return NULL;
}
static int32_t local_words(const Em *m, const LocalForm *f, const CellForm *c, int32_t agg) {
    if (c->kind == CK_FIRST || packed_field(f, agg, NULL)) return 0;
    return c->kind == CK_WIDE2 && part_fits64(m, c, m->prog->sink.regs[agg]) ? 1 : c->words;
}
/* Where u32s and where a packed word begin among the words of a slot, in bytes per copy. */
static int64_t narrow_at(const LocalForm *f) {
    int64_t at = f->words * 8;
    for (int32_t k = 0; k < f->n_packed; k++) at += f->used[k] > 32 ? 8 : 0;
    return at;
}
static int64_t packed_at(const LocalForm *f, int32_t word) {
    bool narrow = f->used[word] <= 32;
    int64_t at = narrow ? narrow_at(f) : f->words * 8;
    for (int32_t k = 0; k < word; k++)
        if ((f->used[k] <= 32) == narrow) at += narrow ? 4 : 8;
    return at;
}

static int32_t packed_index(const LocalForm *f, int32_t word) { /* from lp or lh */
    return (int32_t)(packed_at(f, word) / (f->used[word] <= 32 ? 4 : 8)) * f->copies;
}

static int32_t bit_length(uint64_t x) { return x ? 64 - __builtin_clzll(x) : 1; }

/* The aggregate's field, but for its place; false: its values are not known to be small. */
static bool field_of(const Em *m, const View *v, int32_t i, Field *f) {
    const CellForm *c = &v->form->cells[i];
    const AggCell *a = &v->spec->aggs[i];
    Reg r = m->prog->sink.regs[i];
    *f = (Field){.agg = i, .bits = 1, .count = -1};
    if (is_count(a)) return true;
    const RegInfo *ri = &m->prog->regs[r];
    if (!(c->kind == CK_ADD64 || part_fits64(m, c, r)) || !ri->has_range || ri->max < ri->min ||
        ri->min < -(INT64_C(1) << 44) || ri->max > INT64_C(1) << 44)
        return false;
    if (ri->min < 0) {
        f->plus = INT64_C(1) << bit_length((uint64_t)(-ri->min) - 1);
        for (int32_t k = 0; k < v->spec->n_aggs && f->count < 0; k++) {
            const AggCell *n = &v->spec->aggs[k];
            if (!is_count(n)) continue;
            Reg nr = m->prog->sink.regs[k];
            bool all = n->op == AO_COUNT_STAR || !NULLABLE(m, nr);
            if (NULLABLE(m, r) ? !all && nr == r : all) f->count = k;
        }
        if (f->count < 0) return false;
    }
    f->bits = bit_length((uint64_t)(ri->max + f->plus));
    return true;
}

/* Packs what can be packed for places that 2^flush_bits rows are added to before they are emptied. Returns the bytes of
 * a slot's sums, packed or not. */
static int64_t pack(const Em *m, const View *v, int32_t flush_bits, LocalForm *f) {
    int32_t n = 0;
    for (int32_t i = 0; i < v->spec->n_aggs && n < FIELDS_MAX; i++) {
        Field x;
        if (!field_of(m, v, i, &x)) continue;
        x.bits += flush_bits;
        int32_t at = n++;
        for (; at > 0 && f->fields[at - 1].bits < x.bits; at--) f->fields[at] = f->fields[at - 1];
        f->fields[at] = x;
    }
    int32_t fields[FIELDS_MAX] = {0}, number[FIELDS_MAX];
    f->n_packed = 0;
    for (int32_t k = 0; k < n; k++) { /* first fit decreasing */
        Field *x = &f->fields[k];
        for (x->word = 0; x->word < f->n_packed && f->used[x->word] + x->bits > 64; x->word++) continue;
        if (x->word == f->n_packed) f->used[f->n_packed++] = 0;
        x->shift = f->used[x->word];
        f->used[x->word] += x->bits;
        fields[x->word]++;
    }
    int64_t bytes = 0;
    int32_t words = 0;
    for (int32_t k = 0; k < f->n_packed; k++) { /* a sum alone in a long word needs no packing */
        bytes += f->used[k] > 32 ? 8 : 4;
        number[k] = fields[k] > 1 || f->used[k] <= 32 ? words : -1;
        if (number[k] >= 0) f->used[words++] = f->used[k];
    }
    f->n_packed = words;
    f->n_fields = 0;
    for (int32_t k = 0; k < n; k++) {
        if (number[f->fields[k].word] < 0) continue;
        f->fields[f->n_fields] = f->fields[k];
        f->fields[f->n_fields].word = number[f->fields[k].word];
        f->n_fields++;
    }
    return bytes;
}

/* Rows that one item takes of a tile at most; 0: no such number. */
static int64_t rows_of_tile(const Em *m) {
    int64_t at_once = m->loop.sifted ? 1 : MAX_OF(m->loop.block, 1), step = at_once * m->ep->target.group_size;
    return most_rows(m) > 0 ? (m->tile_rows + step - 1) / step * at_once : 0;
}

static bool place_fields(const Em *m, const View *v, LocalForm *f) {
    int64_t rows = rows_of_tile(m) * (m->ep->target.group_size / f->copies), best = INT64_MAX;
    if (m->ep->target.native_threads || rows <= 0 || rows > INT64_C(1) << 20) return false;
    int32_t least = MAX_OF(bit_length((uint64_t)rows - (rows > 1)), FLUSH_BITS_MIN), bits = 0;
    for (int32_t k = least; k <= MAX_OF(least, FLUSH_BITS_MAX); k++) {
        LocalForm t = *f;
        int64_t bytes = pack(m, v, k, &t);
        if (bytes > best || t.n_fields == 0) continue;
        best = bytes;
        bits = k;
    }
    if (bits == 0) return false;
    pack(m, v, bits, f);
    f->flush = (int32_t)((INT64_C(1) << bits) / rows);
    return true;
}

/* The first that fits: a place per item, then fewer and fewer shared ones, whose updates are atomic; packed where there
 * are enough places. */
static LocalForm local_form(const Em *m, const View *v) {
    const EmitTarget *t = &m->ep->target;
    LocalForm f;
    for (int32_t copies = t->group_size;; copies /= 2) {
        for (int32_t packed = 1; packed >= 0; packed--) {
            f = (LocalForm){
                .flags = -1, .copies = copies, .private = copies == t->group_size, .lanes = MIN_OF(copies, LANES)};
            if (packed && ((copies < LANES && !f.private) || !place_fields(m, v, &f))) continue;
            if (v->dev->n_seen_words > 0 || v->form->alive < 0 || has_first(v)) f.flags = f.words++;
            for (int32_t i = 0; i < v->spec->n_aggs; i++) f.words += local_words(m, &f, &v->form->cells[i], i);
            f.slot = f.words * 8;
            for (int32_t k = 0; k < f.n_packed; k++) f.slot += f.used[k] > 32 ? 8 : 4;
            f.slot = align_up(f.slot * copies, 8);
            f.wide = f.slot * (v->dev->n_slots + (m->loop.whole && f.private ? 1 : 0));
            f.bytes = f.wide + v->dev->n_slots * f.n_fields * f.lanes * 8;
            if (f.bytes <= (f.private ? t->local_bytes : MIN_OF(t->local_bytes, SHARED_BYTES)) ||
                (copies == 1 && !packed))
                return f;
        }
    }
}

/* Empties the packed words; for the whole group. */
static void put_flush(Em *m, Out *o, const LocalForm *f, int32_t n) {
    int32_t C = f->copies, L = f->lanes;
    out_w(m, o,
          "BARRIER();\nfor (u32 i = LID; i < %d; i += LSIZE) {\nLOCAL u64 *q = LM(u64, %l) + i / %d * %d + i %% %d;\n",
          n * L, f->wide, L, f->n_fields * L, L);
    for (int32_t w = 0; w < f->n_packed; w++) {
        bool narrow = f->used[w] <= 32;
        const char *t = narrow ? "u32" : "u64";
        out_w(m, o, "{\nLOCAL %s *p = LM(%s, %l) + i / %d * %l + i %% %d;\n", t, t, packed_at(f, w) * C, L,
              f->slot / (narrow ? 4 : 8), L);
        for (int32_t k = 0; k < f->n_fields; k++)
            if (f->fields[k].word == w) out_w(m, o, "u64 x%d = 0;\n", k);
        out_w(m, o, "NO_UNROLL\nfor (u32 c = 0; c < %d; c += %d) {\nconst %s x = p[c];\np[c] = 0;\n", C, L, t);
        for (int32_t k = 0; k < f->n_fields; k++) {
            const Field *x = &f->fields[k];
            if (x->word == w)
                out_w(m, o, "x%d += x >> %d & %s(%l);\n", k, x->shift, narrow ? "(u32)U64C" : "U64C",
                      (int64_t)(UINT64_MAX >> (64 - x->bits)));
        }
        out_w(m, o, "}\n");
        for (int32_t k = 0; k < f->n_fields; k++)
            if (f->fields[k].word == w) out_w(m, o, "q[%d] += x%d;\n", k * L, k);
        out_w(m, o, "}\n");
    }
    out_w(m, o, "}\nBARRIER();\n");
}

/* One addition for all fields of a word; private words were read into o<word> before, so that no read waits for a
 * write. */
static void packed_old(Em *m, const LocalForm *f, int32_t word) {
    bool narrow = f->used[word] <= 32;
    int32_t p = packed_index(f, word);
    w(m, narrow ? "const u32 o%d = lh[%d];\n" : "const u64 o%d = lp[%d];\n", word, p);
}
static void packed_add(Em *m, const View *v, const LocalForm *f, int32_t word) {
    bool narrow = f->used[word] <= 32, any = false;
    int32_t p = packed_index(f, word);
    const char *t = narrow ? "u32" : "u64", *base = narrow ? "lh" : "lp";
    if (f->private) w(m, "%s[%d] = o%d + ", base, p, word);
    else w(m, "la_add_%s(%s + %d, ", t, base, p);
    for (int32_t k = 0; k < f->n_fields; k++) {
        const Field *x = &f->fields[k];
        if (x->word != word) continue;
        const AggCell *a = &v->spec->aggs[x->agg];
        Reg r = m->prog->sink.regs[x->agg];
        bool test = r && NULLABLE(m, r) && a->op != AO_COUNT_STAR;
        w(m, any ? " + (" : "(");
        any = true;
        if (test) w(m, "%v ? ", r);
        if (is_count(a)) w(m, "(%s)1", t);
        else if (x->plus) w(m, "(%s)((i64)%r + %l)", t, r, x->plus);
        else if (VAR_PHYS(m, r) == PH_I64) w(m, "(%s)%r", t, r);
        else w(m, "(%s)(u32)%r", t, r);
        if (x->shift) w(m, " << %d", x->shift);
        w(m, test ? " : (%s)0)" : ")", t);
    }
    w(m, f->private ? ";\n" : ");\n");
}

/* The slot's value of an aggregate of one word, in the merge. */
static void merge_word(Em *m, Out *o, const View *v, const LocalForm *f, int32_t agg) {
    int32_t k, at = f->flags + 1;
    const Field *x = packed_field(f, agg, &k);
    if (!x) {
        for (int32_t i = 0; i < agg; i++) at += local_words(m, f, &v->form->cells[i], i);
        out_w(m, o, "p[%d]", at * f->copies);
        return;
    }
    out_w(m, o, x->plus ? "(q[%d] - " : "q[%d]", k * f->lanes);
    if (!x->plus) return;
    merge_word(m, o, v, f, x->count);
    out_w(m, o, " * U64C(%l))", x->plus);
}

/* What the steps of local_sink share. */
typedef struct LocalSink {
    const View *v;
    LocalForm f;
    int32_t records; /* the parameter */
    bool folds;      /* there are copies, with words that are not packed */
    Out *fold;       /* when the tiles are done: the copies by halves, and then into the records */
    Out merge;       /* of that, what is written for each aggregate: its words at p, the record at rec */
} LocalSink;

/* Where the row's words are: lp, and lh for what is narrow; what empties packed fields before they overflow. */
static void local_begin(Em *m, const LocalSink *l) {
    const View *v = l->v;
    const LocalForm *f = &l->f;
    int32_t C = f->copies, n = (int32_t)v->dev->n_slots;
    out_w(m, &m->text.top, "    for (u32 i = LID; i < %l; i += LSIZE) LM(u64, 0)[i] = 0;\n    BARRIER();\n",
          f->bytes / 8);
    w(m, "{\n");
    slot_number(m, v);
    if (m->loop.whole && f->private) w(m, "g = ok_0 ? g : %d;\n", n); /* a slot that is never read */
    else if (m->loop.whole) w(m, "if (ok_0) {\n");
    char copy[32];
    snprintf(copy, sizeof copy, f->private ? "LID" : "(LID & %d)", (int)C - 1);
    out_w(m, &m->text.top, "    const u32 copy8 = %s * 8;\n", copy);
    w(m, "LOCAL u64 *lp = LM(u64, copy8 + g * %l);\n", f->slot);
    if (f->n_fields == 0) return;
    if (narrow_at(f) * C < f->slot) {
        out_w(m, &m->text.top, "    const u32 copy4 = %s * 4;\n", copy);
        w(m, "LOCAL u32 *lh = LM(u32, copy4 + g * %l);\n", f->slot);
    }
    out_w(m, &m->text.top, "    u32 filled = 0;\n");
    out_w(m, &m->text.tile_end, "if (++filled == %d || tile + NGROUPS >= n_tiles) {\nfilled = 0;\n", f->flush);
    put_flush(m, &m->text.tile_end, f, n);
    out_w(m, &m->text.tile_end, "}\n");
}
/* An aggregate whose words are packed with others': packed_add has added the row. */
static void local_packed(Em *m, LocalSink *l, int32_t i, bool test) {
    const CellForm *c = &l->v->form->cells[i];
    out_w(m, &l->merge, "{ const u64 x = ");
    merge_word(m, &l->merge, l->v, &l->f, i);
    out_w(m, &l->merge,
          c->kind == CK_WIDE2 ? "; if (x != 0) ga_add_i128(rec + %d, i128_from_i64((i64)x)); }\n"
                              : "; if (x != 0) ga_add_u64(rec + %d, x); }\n",
          l->v->dev->cell_off[i]);
    if (c->seen >= 0 && test) w(m, "seen |= %v ? U64C(%l) : 0;\n", m->prog->sink.regs[i], INT64_C(1) << c->seen);
    else if (c->seen >= 0) w(m, "seen |= U64C(%l);\n", INT64_C(1) << c->seen);
}
/* A wide sum: the row's value to the words at p, the words to those of another copy, and to the record. */
static void local_wide(Em *m, LocalSink *l, int32_t i, int32_t p) {
    const CellForm *c = &l->v->form->cells[i];
    const char *alone = l->f.private ? "true" : "false";
    int32_t C = l->f.copies, off = l->v->dev->cell_off[i];
    if (c->kind == CK_WIDE2) {
        w(m, "local_add_i128(lp + %d, %d, %s, ", p, C, alone);
        put_word(m, c, &l->v->spec->aggs[i], m->prog->sink.regs[i]);
        w(m, ");\n");
        if (l->folds)
            out_w(m, l->fold, "local_add_i128(p + %d, %d, true, i128_from_limbs(p[%d + h], p[%d + h]));\n", p, C, p,
                  p + C);
        out_w(m, &l->merge, "ga_add_i128(rec + %d, i128_from_limbs(p[%d], p[%d]));\n", off, p, p + C);
        return;
    }
    w(m, "local_add_sum192(lp + %d, %d, %s, sum192_add(sum192_zero(), %r));\n", p, C, alone, m->prog->sink.regs[i]);
    if (l->folds)
        out_w(m, l->fold, "local_add_sum192(p + %d, %d, true, sum192_of(p[%d + h], p[%d + h], p[%d + h]));\n", p, C, p,
              p + C, p + 2 * C);
    out_w(m, &l->merge, "ga_add_sum192(rec + %d, sum192_of(p[%d], p[%d], p[%d]));\n", off, p, p + C, p + 2 * C);
}
/* Likewise an aggregate whose state is `words` words, from p on. */
static void local_cell(Em *m, LocalSink *l, int32_t i, int32_t words, int32_t p) {
    const CellForm *c = &l->v->form->cells[i];
    const AggCell *a = &l->v->spec->aggs[i];
    Reg r = m->prog->sink.regs[i];
    Out *merge = &l->merge;
    int32_t off = l->v->dev->cell_off[i];
    bool private = l->f.private;
    const char *op = NULL;
    switch (c->kind) {
    case CK_ADD64:
        w(m, private ? "lp[%d] += " : "la_add_u64(lp + %d, ", p);
        put_word(m, c, a, r);
        w(m, private ? ";\n" : ");\n");
        op = "p[%d] += p[%d + h];\n";
        out_w(m, merge, "if (p[%d] != 0) ga_add_u64(rec + %d, p[%d]);\n", p, off, p);
        break;
    case CK_ADDF:
        w(m, private ? "lp[%d] = f64_bits(bits_f64(lp[%d]) + " : "la_add_f64((LOCAL f64 *)(lp + %d), ", p, p);
        put_word(m, c, a, r);
        w(m, ");\n");
        op = "p[%d] = f64_bits(bits_f64(p[%d]) + bits_f64(p[%d + h]));\n";
        out_w(m, merge, "if (p[%d] != 0) ga_add_f64(rec + %d, bits_f64(p[%d]));\n", p, off, p);
        break;
    case CK_MAX64:
        w(m, "{\nconst u64 e = ");
        put_word(m, c, a, r);
        w(m, private ? ";\nif (e > lp[%d]) lp[%d] = e;\n}\n" : ";\nif (e > lp[%d]) la_max_u64(lp + %d, e);\n}\n", p, p);
        op = "if (p[%d + h] > p[%d]) p[%d] = p[%d + h];\n";
        out_w(m, merge, "if (p[%d] != 0) ga_max_u64(rec + %d, p[%d]);\n", p, off, p);
        break;
    case CK_OR64:
        w(m, "{\nconst u64 e = ");
        put_word(m, c, a, r);
        w(m, private ? ";\nlp[%d] |= e;\n}\n" : ";\nif ((e & ~lp[%d]) != 0) la_or_u64(lp + %d, e);\n}\n", p, p);
        op = "p[%d] |= p[%d + h];\n";
        out_w(m, merge, "if (p[%d] != 0) ga_or_u64(rec + %d, p[%d]);\n", p, off, p);
        break;
    default:
        if (c->kind != CK_WIDE2 || words > 1) {
            local_wide(m, l, i, p);
            break;
        }
        w(m, private ? "lp[%d] += (u64)(i64)%r;\n" : "la_add_u64(lp + %d, (u64)(i64)%r);\n", p, r);
        op = "p[%d] += p[%d + h];\n";
        out_w(m, merge, "if (p[%d] != 0) ga_add_i128(rec + %d, i128_from_i64((i64)p[%d]));\n", p, off, p);
    }
    if (op && l->folds) out_w(m, l->fold, op, p, p, p, p);
}
/* Each slot that rows came to: its words into the record. */
static void local_merge(Em *m, LocalSink *l) {
    const View *v = l->v;
    const LocalForm *f = &l->f;
    Out *fold = l->fold;
    int32_t n = (int32_t)v->dev->n_slots, flags = f->flags * f->copies;
    if (f->n_fields > 0 && f->lanes > 1)
        out_w(m, fold,
              "for (u32 h = %d; h > 0; h >>= 1) {\nfor (u32 i = LID; i < %d * h; i += LSIZE) {\nLOCAL u64 *q = LM(u64, "
              "%l) + i / h * %d + i %% h;\nq[0] += q[h];\n}\nBARRIER();\n}\n",
              f->lanes / 2, n * f->n_fields, f->wide, f->lanes);
    out_w(m, fold,
          "for (u32 i = LID; i < %d; i += LSIZE) {\nLOCAL u64 *p = LM(u64, 0) + i * %l;\nconst u64 rec = P(%d) + "
          "(u64)i * %d;\n",
          n, f->slot / 8, l->records, v->dev->stride);
    if (f->n_fields > 0) out_w(m, fold, "LOCAL u64 *q = LM(u64, %l) + i * %d;\n", f->wide, f->n_fields * f->lanes);
    if (f->flags >= 0) {
        out_w(m, fold, "if ((p[%d] >> 63) == 0) continue;\n", flags);
    } else { /* the count that is always there */
        out_w(m, fold, "if (");
        merge_word(m, fold, v, f, v->form->alive);
        out_w(m, fold, " == 0) continue;\n");
    }
    out_w(m, fold, "if (GVOL(u32, rec)[0] == 0) G(u32, rec)[0] = 1;\n");
    for (int32_t i = 0; i < v->dev->n_seen_words; i++) /* at most 63 bits: two words */
        out_w(m, fold,
              "{ const u32 bits = (u32)(p[%d] >> %d)%s; if ((bits & ~GVOL(u32, rec + %d)[0]) != 0) ga_or_u32(rec + %d, "
              "bits); }\n",
              flags, 32 * i, i ? " & 0x7fffffffu" : "", 4 + 4 * i, 4 + 4 * i);
    if (l->merge.n) out_put(m, fold, l->merge.p, l->merge.n);
    out_w(m, fold, "}\n");
}
static void local_sink(Em *m, const View *v) {
    LocalSink l = {.v = v, .f = local_form(m, v), .fold = &m->text.tail};
    l.records = P1(m, KP_AGG_RECORDS, v->id);
    const LocalForm *f = &l.f;
    int32_t C = f->copies, at = f->flags + 1;
    m->local_bytes = f->bytes;
    local_begin(m, &l);
    if (has_first(v)) {
        w(m,
          "if ((lp[%d] >> 63) == 0) {\nconst u64 rec = P(%d) + (u64)g * %d;\nif (GVOL(u32, rec)[0] == 0 && "
          "ga_xchg_u32(rec, 1) == 0) {\n",
          f->flags * C, l.records, v->dev->stride);
        creator_writes(m, v, "rec");
        w(m, "}\n}\n");
    }
    if (f->flags >= 0) w(m, "u64 seen = U64C(%l);\n", INT64_MIN);
    for (int32_t k = 0; k < f->n_packed && f->private; k++) packed_old(m, f, k);
    for (int32_t k = 0; k < f->n_packed; k++) packed_add(m, v, f, k);
    l.folds = C > 1 && f->words > 0;
    if (l.folds)
        out_w(m, l.fold,
              "for (u32 h = %d; h > 0; h >>= 1) {\nBARRIER();\nfor (u32 i = LID; i < %d * h; i += LSIZE) {\nLOCAL u64 "
              "*p = LM(u64, 0) + (i / h) * %l + i %% h;\n",
              C / 2, (int32_t)v->dev->n_slots, f->slot / 8);
    else out_w(m, l.fold, "BARRIER();\n");
    if (l.folds && f->flags >= 0) out_w(m, l.fold, "p[%d] |= p[%d + h];\n", f->flags * C, f->flags * C);
    for (int32_t i = 0; i < v->spec->n_aggs; i++) {
        const CellForm *c = &v->form->cells[i];
        Reg r = m->prog->sink.regs[i];
        int32_t words = local_words(m, f, c, i);
        bool test = r && NULLABLE(m, r) && v->spec->aggs[i].op != AO_COUNT_STAR;
        if (packed_field(f, i, NULL)) {
            local_packed(m, &l, i, test);
            continue;
        }
        if (words == 0) continue;
        if (test) w(m, "if (%v) {\n", r);
        local_cell(m, &l, i, words, at * C);
        if (c->seen >= 0) w(m, "seen |= U64C(%l);\n", INT64_C(1) << c->seen);
        if (test) w(m, "}\n");
        at += words;
    }
    if (f->flags >= 0)
        w(m, f->private ? "lp[%d] |= seen;\n" : "if ((seen & ~lp[%d]) != 0) la_or_u64(lp + %d, seen);\n", f->flags * C,
          f->flags * C);
    w(m, m->loop.whole && !f->private ? "}\n}\n" : "}\n");
    if (l.folds) out_w(m, l.fold, "}\n}\nBARRIER();\n");
    local_merge(m, &l);
}

/* ---- hash -----------------------------------------------------------------------------------------------------------
 */
static void key_load(char *buf, size_t n, uint8_t phys, const char *rec, int32_t off) {
    const char *pair = phys == PH_I128 ? "i128_from_limbs" : phys == PH_UUID ? "uuid_make" : NULL;
    if (pair) snprintf(buf, n, "%s(GVOL(u64, %s + %d)[0], GVOL(u64, %s + %d)[1])", pair, rec, (int)off, rec, (int)off);
    else if (phys == PH_STR)
        snprintf(buf, n, "str_make(GVOL(u64, %s + %d)[0], GVOL(i64, %s + %d)[1])", rec, (int)off, rec, (int)off);
    else if (phys == PH_INTERVAL)
        snprintf(buf, n, "iv_make(GVOL(i64, %s + %d)[0], GVOL(i32, %s + %d)[2], GVOL(i32, %s + %d)[3])", rec, (int)off,
                 rec, (int)off, rec, (int)off);
    else if (phys == PH_BOOL) snprintf(buf, n, "(GVOL(u8, %s + %d)[0] != 0)", rec, (int)off);
    else snprintf(buf, n, "GVOL(%s, %s + %d)[0]", m_type[phys], rec, (int)off);
}
static void hash_sink(Em *m, const View *v) {
    const Sink *s = &m->prog->sink;
    int32_t records = P1(m, KP_AGG_RECORDS, v->id), slots = P1(m, KP_AGG_SLOTS, v->id),
            mask = P1(m, KP_AGG_MASK, v->id);
    int32_t count = P1(m, KP_AGG_COUNT, v->id), cap = P1(m, KP_AGG_CAP, v->id);
    w(m, "{\nu64 h = 0;\n");
    for (int32_t i = 0; i < v->spec->n_keys; i++) {
        const DevCol *c = &v->dev->cols[i];
        Reg k = s->keys[i];
        char name[16];
        snprintf(name, sizeof name, "k%d", (int)i);
        if (c->phys == PH_STR) w(m, "const str k%d = %t;\n", i, k);
        else w(m, "const %s k%d = %r;\n", c_type[c->phys], i, k);
        w(m, "h = ");
        if (NULLABLE(m, k)) w(m, "!%v ? hash_combine(h, 1) : ", k);
        if (i > 0) w(m, "hash_combine(h, ");
        em_hash(m, &m->text.body, c->phys, NULL, name);
        w(m, i > 0 ? ");\n" : ";\n");
    }
    w(m, "h = KEY_HASH(h);\nu64 at = h & P(%d), mine = 0, rec = 0;\nconst u64 tag = h >> 32 << 32;\n", mask);
    w(m,
      "for (;;) {\nu64 x = GVOL(u64, P(%d))[at];\nif (x == 0) {\nif (mine == 0) {\nconst u64 n = append(P(%d));\nif (n "
      ">= P(%d)) break;\n",
      slots, count, cap);
    w(m, "mine = n + 1;\nconst u64 fresh = P(%d) + n * %d;\n", records, v->dev->stride);
    for (int32_t i = 0; i < v->spec->n_keys; i++) {
        const DevCol *c = &v->dev->cols[i];
        Reg k = s->keys[i];
        int32_t off = v->dev->key_off[i];
        if (c->phys == PH_I128) w(m, "st_i128(fresh + %d, k%d);\n", off, i);
        else w(m, "G(%s, fresh + %d)[0] = k%d;\n", m_type[c->phys], off, i);
        if (c->nullable) w(m, "G(u8, fresh + %d)[0] = %v;\n", v->dev->key_valid_off[i], k);
    }
    w(m, "G(u32, fresh)[0] = 1;\n");
    creator_writes(m, v, "fresh");
    w(m,
      "FENCE();\n}\nx = ga_cas_u64(P(%d) + at * 8, 0, tag | mine);\nif (x == 0) {\nrec = P(%d) + (mine - 1) * "
      "%d;\nmine = 0;\nbreak;\n}\n}\n",
      slots, records, v->dev->stride);
    w(m, "if ((x >> 32 << 32) == tag) {\nconst u64 other = P(%d) + ((x & 0xffffffffu) - 1) * %d;\nif (", records,
      v->dev->stride);
    for (int32_t i = 0; i < v->spec->n_keys; i++) {
        const DevCol *c = &v->dev->cols[i];
        char stored[192], name[16];
        key_load(stored, sizeof stored, c->phys, "other", v->dev->key_off[i]);
        snprintf(name, sizeof name, "k%d", (int)i);
        if (i) w(m, " && ");
        if (c->nullable)
            w(m, "(GVOL(u8, other + %d)[0] != 0) == %v && (!%v || ", v->dev->key_valid_off[i], s->keys[i], s->keys[i]);
        em_equal(m, &m->text.body, c->phys, stored, name);
        if (c->nullable) w(m, ")");
    }
    w(m, ") {\nrec = other;\nbreak;\n}\n}\nat = (at + 1) & P(%d);\n}\n", mask);
    w(m, "if (mine != 0) G(u32, P(%d) + (mine - 1) * %d)[0] = 0;\nif (rec != 0) {\n", records, v->dev->stride);
    global_update(m, v);
    w(m, "}\n}\n");
}

bool agg_whole(Em *m) {
    View v = view(m, m->prog->sink.id);
    if (v.dev->form != DA_LOCAL && v.dev->form != DA_ONE) return false;
    for (int32_t i = 0; i < v.spec->n_aggs; i++) {
        uint8_t k = v.form->cells[i].kind;
        if (k == CK_FIRST || k == CK_SINGLE || k == CK_WIDE3) return false;
    }
    for (int32_t i = 0; v.dev->form == DA_LOCAL && i < v.spec->n_keys; i++)
        if (!key_proven(m, &v, i)) return false;
    return true;
}

void em_sink_agg(Em *m) {
    View v = view(m, m->prog->sink.id);
    switch (v.dev->form) {
    case DA_ONE:
        if (m->loop.whole) w(m, "if (ok_0) {\n");
        private_sink(m, &v);
        if (m->loop.whole) w(m, "}\n");
        break;
    case DA_LOCAL: local_sink(m, &v); break;
    case DA_HASH: hash_sink(m, &v); break;
    default:
        w(m, "{\n");
        slot_number(m, &v);
        w(m, "const u64 rec = P(%d) + (u64)g * %d;\n", P1(m, KP_AGG_RECORDS, v.id), v.dev->stride);
        if (has_first(&v)) {
            w(m, "if (GVOL(u32, rec)[0] == 0 && ga_xchg_u32(rec, 1) == 0) {\n");
            creator_writes(m, &v, "rec");
            w(m, "}\n");
        } else {
            w(m, "if (GVOL(u32, rec)[0] == 0) G(u32, rec)[0] = 1;\n");
        }
        global_update(m, &v);
        w(m, "}\n");
    }
}

/* ---- final values --------------------------------------------------------------------------------------------------
 */
static void load_key(Em *m, const View *v, const Instr *in) {
    int32_t k = (int32_t)in->imm;
    const DevCol *c = &v->dev->cols[k];
    char value[192], valid[96];
    if (v->dev->form == DA_HASH) {
        if (c->phys == PH_I128) snprintf(value, sizeof value, "ld_i128(rec + %d)", (int)v->dev->key_off[k]);
        else snprintf(value, sizeof value, "G(%s, rec + %d)[0]", m_type[c->phys], (int)v->dev->key_off[k]);
        if (c->nullable) snprintf(valid, sizeof valid, "G(u8, rec + %d)[0] != 0", (int)v->dev->key_valid_off[k]);
        em_define(m, in->dst, c, value, c->nullable ? valid : NULL);
        return;
    }
    int64_t radix = 1;
    for (int32_t i = 0; i < k; i++) radix *= v->dev->key_extent[i];
    if (k == v->spec->n_keys - 1) w(m, "const u32 idx%d = (u32)row / %lu;\n", m->pc, radix);
    else w(m, "const u32 idx%d = (u32)row / %lu %% %lu;\n", m->pc, radix, v->dev->key_extent[k]);
    snprintf(value, sizeof value, "(%s)((i64)idx%d + PI(%d))", m_type[c->phys], (int)m->pc,
             (int)P2(m, KP_AGG_KEY_MIN, v->id, k));
    snprintf(valid, sizeof valid, "idx%d != %lldu", (int)m->pc, (long long)v->dev->key_extent[k] - 1);
    em_define(m, in->dst, c, value, c->nullable ? valid : NULL);
}

void em_load_agg(Em *m, const Instr *in) {
    View v = view(m, m->prog->source.id);
    if (in->imm < v.spec->n_keys) {
        load_key(m, &v, in);
        return;
    }
    int32_t i = (int32_t)in->imm - v.spec->n_keys, pc = m->pc, off = v.dev->cell_off[i];
    const CellForm *c = &v.form->cells[i];
    const AggCell *a = &v.spec->aggs[i];
    DevCol col = v.dev->cols[in->imm]; /* as the value expression has it */
    char value[192], valid[96] = "true";
    if (c->flags >= 0) snprintf(valid, sizeof valid, "G(u32, rec + %d)[0] == 1", (int)(off + c->flags));
    else if (c->seen >= 0)
        snprintf(valid, sizeof valid, "(G(u32, rec + %d)[0] >> %d & 1) != 0", (int)(4 + 4 * (c->seen / 32)),
                 (int)(c->seen % 32));
    else if (v.spec->n_keys == 0 && !is_count(a)) snprintf(valid, sizeof valid, "G(u32, rec)[0] != 0");
    switch (c->kind) {
    case CK_ADD64:
        snprintf(value, sizeof value, "G(i64, rec + %d)[0]", (int)off);
        col.phys = PH_I64;
        break;
    case CK_ADDF:
        snprintf(value, sizeof value, "G(f64, rec + %d)[0]", (int)off);
        col.phys = PH_F64;
        break;
    case CK_MAX64: {
        bool flt = c->in_phys == PH_F32 || c->in_phys == PH_F64;
        snprintf(value, sizeof value, "dec_%s_%s(G(u64, rec + %d)[0])", c->flip ? "min" : "max", flt ? "f64" : "i64",
                 (int)off);
        if (col.phys == PH_BOOL)
            snprintf(value, sizeof value, "(dec_%s_i64(G(u64, rec + %d)[0]) & 1)", c->flip ? "min" : "max", (int)off);
        if (!col.dict) col.phys = flt ? PH_F64 : PH_I64;
        else snprintf(value, sizeof value, "(i32)dec_%s_i64(G(u64, rec + %d)[0])", c->flip ? "min" : "max", (int)off);
        break;
    }
    case CK_OR64:
        if (c->in_phys == PH_BOOL)
            snprintf(value, sizeof value, "(G(u64, rec + %d)[0] %s 0 ? 1 : 0)", (int)off, c->flip ? "==" : "!=");
        else snprintf(value, sizeof value, "(i64)%sG(u64, rec + %d)[0]", c->flip ? "~" : "", (int)off);
        col.phys = PH_I64;
        break;
    case CK_WIDE2:
    case CK_WIDE3: {
        bool checked = a->op == AO_SUM_I64_CHECKED, narrow = checked || a->out_phys == PH_I64;
        w(m, "const bool ok%d = %s;\ni128 s%d;\n{\n", pc, valid, pc);
        if (c->kind == CK_WIDE3) w(m, "bool bad = sum192_ovf(sum192_load(rec + %d), &s%d);\n", off, pc);
        else if (checked) w(m, "s%d = ld_i128(rec + %d);\nbool bad = false;\n", pc, off);
        else w(m, "s%d = ld_i128(rec + %d);\nbool bad = numeric_exceeds_i128(s%d, 38);\n", pc, off, pc);
        if (narrow) w(m, "bad = bad || !i128_fits_i64(s%d);\n", pc);
        w(m, "if (bad && ok%d) RAISE(%d);\n}\n", pc, raise_code(pc, checked ? RK_BIGINT : RK_NUMERIC38));
        snprintf(valid, sizeof valid, "ok%d", (int)pc);
        snprintf(value, sizeof value, "s%d", (int)pc);
        col.phys = PH_I128;
        break;
    }
    default:
        if (col.phys == PH_I128) snprintf(value, sizeof value, "ld_i128(rec + %d)", (int)off);
        else snprintf(value, sizeof value, "G(%s, rec + %d)[0]", m_type[col.phys], (int)off);
    }
    em_define(m, in->dst, &col, value, valid);
}
