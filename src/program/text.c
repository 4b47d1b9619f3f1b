/* text.c - programs as text, for EXPLAIN VERBOSE and test failures: see the example in program.h.
 *
 * One line per instruction: number, result register, opcode with its variant, operands, what the aux structure says in
 * words, and the carry list of those that change the rows. Bodies are indented.
 */
#include <stdarg.h>
#include <stdio.h>

#include "base/key.h"
#include "program/operands.h"
#include "program/stream.h"
#include "types/bits.h"

typedef struct Text {
    Arena *a;
    char *buf;
    int64_t len, cap;
    bool failed;
} Text;

static void put_bytes(Text *t, const char *s, int64_t n) {
    if (t->failed) return;
    if (t->len + n + 1 > t->cap) {
        int64_t cap = MAX_OF(t->cap * 2, t->len + n + 1024);
        char *p = arena_alloc(t->a, cap);
        if (!p) {
            t->failed = true;
            return;
        }
        if (t->len) memcpy(p, t->buf, (size_t)t->len);
        t->buf = p;
        t->cap = cap;
    }
    memcpy(t->buf + t->len, s, (size_t)n);
    t->len += n;
    t->buf[t->len] = 0;
}
static void put(Text *t, const char *fmt, ...) PRINTF_LIKE(2, 3);
static void put(Text *t, const char *fmt, ...) {
    char line[512];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    if (n > 0) put_bytes(t, line, MIN_OF(n, (int)sizeof line - 1));
}
static void put_lower(Text *t, const char *s) {
    for (; *s; s++) {
        char c = *s >= 'A' && *s <= 'Z' ? (char)(*s + 32) : *s;
        put_bytes(t, &c, 1);
    }
}

static const char *const caught[] = {[CAUGHT_SQLSTATE] = "sqlstate",
                                     [CAUGHT_MESSAGE] = "message",
                                     [CAUGHT_DETAIL] = "detail",
                                     [CAUGHT_HINT] = "hint",
                                     [CAUGHT_NAME + EF_SCHEMA] = "schema",
                                     [CAUGHT_NAME + EF_TABLE] = "table",
                                     [CAUGHT_NAME + EF_COLUMN] = "column",
                                     [CAUGHT_NAME + EF_DATATYPE] = "datatype",
                                     [CAUGHT_NAME + EF_CONSTRAINT] = "constraint"};

static void put_reg(Text *t, const Program *p, Reg r) {
    const RegInfo *ri = &p->regs[r];
    if (!ri->is_const) {
        put(t, "r%d", (int)r);
        return;
    }
    if (ri->value.is_null) {
        put(t, "NULL");
    } else if (ri->phys == PH_STR && type_is_bits(ri->type)) {
        const int64_t n = bits_length(ri->value.u.str);
        put(t, "B'");
        for (int64_t i = 0; i < MIN_OF(n, INT64_C(40)); i++) put(t, "%d", bits_get(ri->value.u.str, i));
        put(t, n > 40 ? "...'" : "'");
    } else if (ri->phys == PH_STR) {
        int64_t n = MIN_OF((int64_t)ri->value.u.str.len, INT64_C(40));
        put(t, "'");
        put_bytes(t, ri->value.u.str.ptr ? ri->value.u.str.ptr : "", n);
        put(t, n < ri->value.u.str.len ? "...'" : "'");
    } else if (ri->phys == type_phys(ri->type) && ri->type.id != T_VOID && ri->type.id != T_UNKNOWN) {
        char buf[VALUE_TEXT_MAX + 1];
        int64_t n = cell_to_text(ri->type, &ri->value.u, (TextForm){0}, buf);
        put_bytes(t, buf, n);
    } else {
        int64_t v;
        if (cell_as_i64((Phys)ri->phys, &ri->value.u, &v)) put(t, "%lld", (long long)v);
        else put(t, "const");
        put(t, ":%s", phys_name((Phys)ri->phys));
    }
}
static void put_regs(Text *t, const Program *p, int32_t n, const Reg *r) {
    for (int32_t i = 0; i < n; i++) {
        if (i) put(t, ", ");
        if (r[i]) put_reg(t, p, r[i]);
        else put(t, "*");
    }
}

static void put_col(Text *t, const Program *p, int64_t col) {
    if (p->source.kind == SRC_CALLS) put(t, "v%lld", (long long)col);
    else if (p->source.kind == SRC_TABLE && p->source.table && col >= 0 && col < p->source.table->n_cols)
        put(t, "%s", p->source.table->cols[col].name);
    else put(t, "column %lld", (long long)col);
}

static void put_bound(Text *t, int64_t v) {
    if (v == INT64_MIN) put(t, "min");
    else if (v == INT64_MAX) put(t, "max");
    else put(t, "%lld", (long long)v);
}

static const char *const probe_names[] = {"inner", "left", "single", "semi", "anti", "mark", "mark_build"};
static const char *const field_names[] = {
    "year",       "month", "day",    "hour",     "minute",        "second",         "milliseconds", "microseconds",
    "quarter",    "week",  "dow",    "isodow",   "doy",           "isoyear",        "decade",       "century",
    "millennium", "epoch", "julian", "timezone", "timezone_hour", "timezone_minute"};

/* "t0[r5]" or "t0[r5].c3" */
static void put_field(Text *t, const Program *p, const Instr *in) {
    const RowCol *rc = in->aux;
    put(t, " t%d[", (int)rc->table);
    put_reg(t, p, in->a);
    put(t, "]");
    if (rc->col >= 0) put(t, ".c%d", (int)rc->col);
}

/* "b0", "b0[r5].c3", "b0 by r1, r2 desc (r3, r4)" */
static void put_buffer_op(Text *t, const Program *p, const Instr *in) {
    const BufferRow *row = in->op == OP_BUF_ADD ? in->aux : NULL;
    const BufferSpec *s = row ? row->spec : in->aux;
    put(t, " b%d", (int)s->number);
    if (in->op == OP_BUF_GET) {
        put(t, "[");
        put_reg(t, p, in->a);
        put(t, "].c%d", (int)in->imm);
    }
    if (!row) return;
    for (int32_t i = 0; i < s->n_keys; i++) {
        put(t, i ? ", " : " by ");
        put_reg(t, p, row->args[i]);
        if (s->keys[i].desc) put(t, " desc");
    }
    put(t, " (");
    put_regs(t, p, s->n_cols, row->args + s->n_keys);
    put(t, ")");
}

/* Instructions of procedures whose operands do not stand in the usual order; false: not one of them. */
static bool put_row_op(Text *t, const Program *p, const Instr *in) {
    static const char *const kinds[] = {"read", "add", "write"};
    switch (in->op) {
    case OP_STORE:
        put(t, " v%lld, ", (long long)in->imm);
        put_reg(t, p, in->a);
        return true;
    case OP_CAUGHT:
        put(t, " #%lld %s", (long long)in->imm >> CAUGHT_BITS, caught[in->imm & ((1 << CAUGHT_BITS) - 1)]);
        return true;
    case OP_CATCHES: {
        const CatchSite *h = in->aux;
        put(t, " #%d", (int)h->number);
        for (int32_t i = 0; i < h->n; i++) put(t, " %s", h->states[i]);
        return true;
    }
    case OP_BUF_CLEAR:
    case OP_BUF_ADD:
    case OP_BUF_SORT:
    case OP_BUF_GET: put_buffer_op(t, p, in); return true;
    case OP_ROW_FIND:
    case OP_ROW_FIRST:
    case OP_ROW_NEXT: {
        const RowKey *k = in->aux;
        put(t, " t%d index %d", (int)k->table, (int)k->index);
        put(t, in->op == OP_ROW_NEXT ? " after " : " [");
        if (in->op == OP_ROW_NEXT) {
            put_reg(t, p, in->a);
            return true;
        }
        put_regs(t, p, k->n, k->args);
        put(t, "]");
        if (k->order) put(t, " by c%d%s", (int)k->order - 1, k->desc ? " desc" : "");
        if (k->bounded) {
            put(t, k->at ? " from " : " after ");
            put_reg(t, p, k->args[k->n]);
        }
        return true;
    }
    case OP_ROW_GET:
    case OP_ROW_DELETE: put_field(t, p, in); return true;
    case OP_ROW_PUT:
    case OP_ROW_ADD:
        put_field(t, p, in);
        put(t, ((const RowCol *)in->aux)->minus ? ", -" : ", ");
        put_reg(t, p, in->b);
        return true;
    case OP_ROW_INSERT: {
        const RowInsert *r = in->aux;
        put(t, " t%d (", (int)r->table);
        put_regs(t, p, r->n, r->args);
        put(t, r->skip ? ") or skip" : ")");
        return true;
    }
    case OP_NOTICE:
    case OP_RAISE: {
        const RaiseSite *r = in->aux;
        put(t, " %s '%s' (", r->sqlstate, r->format);
        put_regs(t, p, r->n, r->args);
        put(t, ")");
        return true;
    }
    case OP_LOCK:
    case OP_ITEM: {
        const ItemSite *s = in->aux;
        put(t, " %s t%u group %u [", s->kind < ARRAY_LEN(kinds) ? kinds[s->kind] : "count", (unsigned)s->table,
            (unsigned)s->group);
        put_regs(t, p, s->n, s->args);
        put(t, "]");
        if (s->has_amount || s->fetch_add) {
            put(t, s->fetch_add ? " take c%d += " : " c%d += ", (int)s->col);
            put_reg(t, p, s->args[s->n]);
        }
        if (in->a) put(t, " hash ");
        if (in->a) put_reg(t, p, in->a);
        return true;
    }
    case OP_P_LOOP:
    case OP_P_ROUND:
    case OP_P_STEP:
    case OP_RERAISE:
    case OP_P_TRY:
    case OP_P_CATCH:
    case OP_P_BLOCK: put(t, " #%lld", (long long)in->imm); return true;
    case OP_P_LEAVE: put(t, in->aux ? " #%lld to its step" : " #%lld", (long long)in->imm); return true;
    default: return false;
    }
}

static void put_instr(Text *t, const Program *p, const Instr *in) {
    const OpInfo *oi = &op_info[in->op];
    if (in->dst) put(t, "r%d = ", (int)in->dst);
    put_lower(t, oi->name);
    if (oi->phys && (oi->phys & (oi->phys - 1))) {
        put(t, ".");
        put_lower(t, phys_name((Phys)in->phys));
    }
    if (put_row_op(t, p, in)) return;
    const char *sep = " ";
    switch (in->op) {
    case OP_LOAD:
    case OP_LOAD_CODE:
        put(t, " ");
        put_col(t, p, in->imm);
        break;
    case OP_FILTER_RANGE: {
        const RangeTest *r = in->aux;
        put(t, " ");
        put_col(t, p, in->imm);
        if (r->lo == r->hi) {
            put(t, r->negate ? " <> " : " = ");
            put_bound(t, r->lo);
        } else {
            put(t, r->negate ? " not in [" : " in [");
            put_bound(t, r->lo);
            put(t, ", ");
            put_bound(t, r->hi);
            put(t, "]");
        }
        break;
    }
    case OP_FILTER_CODES:
        put(t, " ");
        put_col(t, p, in->imm);
        if (((const CodeMask *)in->aux)->text) put(t, " %s", ((const CodeMask *)in->aux)->text);
        break;
    default:
        for (int32_t k = 0; k < 3; k++) {
            Reg r = instr_use(in, k);
            if (!r) continue;
            put(t, "%s", sep);
            put_reg(t, p, r);
            sep = ", ";
        }
    }
    switch (in->op) {
    case OP_CALL: {
        const CallSite *c = in->aux;
        put(t, " %s(", c->func ? c->func->name : "cast");
        put_regs(t, p, c->n_args, c->args);
        put(t, ")");
        break;
    }
    case OP_KEY_PACK: {
        const KeyPack *k = in->aux;
        put(t, " ");
        for (int32_t i = 0; i < k->n; i++) {
            put(t, i ? ", " : "");
            put_reg(t, p, k->args[i]);
            put(t, ":%d", (int)k->bits[i]);
        }
        break;
    }
    case OP_PROBE:
    case OP_PROBE_BEGIN: {
        const ProbeSite *s = in->aux;
        put(t, " join #%d %s [", (int)s->join, probe_names[s->kind]);
        put_regs(t, p, s->n_keys, s->keys);
        put(t, "]");
        break;
    }
    case OP_LOAD_BUILD: put(t, ", column %lld", (long long)in->imm); break;
    case OP_CODE_TEST:
        if (((const CodeMask *)in->aux)->text) put(t, " %s", ((const CodeMask *)in->aux)->text);
        break;
    case OP_IN_SET: put(t, ", %lld values", (long long)((const InSet *)in->aux)->n); break;
    case OP_DATE_PART:
        put(t, ", %s", in->imm >= 0 && in->imm < ARRAY_LEN(field_names) ? field_names[in->imm] : "?");
        break;
    case OP_RESCALE:
        put(t, ", scale %d -> (%d,%d)", NUM_IMM_FROM(in->imm), NUM_IMM_PREC(in->imm), NUM_IMM_TO(in->imm));
        break;
    case OP_F64_TO_NUM: put(t, ", (%d,%d)", NUM_IMM_PREC(in->imm), NUM_IMM_TO(in->imm)); break;
    case OP_NUM_TO_F64: put(t, ", scale %d", NUM_IMM_FROM(in->imm)); break;
    case OP_NUM_DIV:
    case OP_NUM_MUL:
        put(t, ", scales %d, %d -> %d", NUM_IMM_FROM(in->imm), NUM_IMM_TO(in->imm), NUM_IMM_PREC(in->imm));
        break;
    case OP_CHECK_DIGITS: put(t, ", %lld digits", (long long)in->imm); break;
    default: break;
    }
    if (in->dst && in->op != OP_LOAD && p->regs[in->dst].phys != in->phys && !(oi->flags & F_BLOCK)) {
        put(t, " -> ");
        put_lower(t, phys_name((Phys)p->regs[in->dst].phys));
    }
    if ((oi->flags & F_ROWS) && in->op != OP_PROBE_BEGIN) {
        put(t, "  carry {");
        put_regs(t, p, in->n_carry, in->carry);
        put(t, "}");
    } else if (in->op == OP_IF || in->op == OP_ELSE || in->op == OP_PROBE_BEGIN) {
        put(t, "  uses {");
        put_regs(t, p, in->n_carry, in->carry);
        put(t, "}");
    }
}

static void put_source(Text *t, const Program *p) {
    const Source *s = &p->source;
    put(t, "source  ");
    switch (s->kind) {
    case SRC_ONE: put(t, "one row"); break;
    case SRC_TABLE: put(t, "%s", s->table && s->table->name ? name_of_key(s->table->name) : "table"); break;
    case SRC_ROWS: put(t, "rows #%d", (int)s->id); break;
    case SRC_AGG: put(t, "aggregation #%d", (int)s->id); break;
    case SRC_JOIN: put(t, "%s build rows of join #%d", s->matched ? "matched" : "unmatched", (int)s->id); break;
    case SRC_SERIES:
        put(t, "series %lld .. %lld step %lld", (long long)s->start, (long long)s->stop, (long long)s->step);
        break;
    case SRC_CALLS: put(t, "calls"); break;
    case SRC_STREAM: put(t, "%s", s->stream->label); break;
    }
    for (int32_t i = 0; i < s->n_zone; i++) {
        put(t, i ? ", " : "  zones ");
        put_col(t, p, s->zone[i].col);
        put(t, " in [");
        put_bound(t, s->zone[i].lo);
        put(t, ", ");
        put_bound(t, s->zone[i].hi);
        put(t, "]");
    }
    put(t, "\n");
}

static void put_sink(Text *t, const Program *p) {
    static const char *const names[] = {"rows", "agg", "join", "sort", "none", "window"};
    const Sink *s = &p->sink;
    put(t, "sink    %s", names[s->kind]);
    if (s->kind != SINK_NONE) put(t, " #%d", (int)s->id);
    if (s->n_keys || s->kind == SINK_AGG || s->kind == SINK_JOIN || s->kind == SINK_SORT) {
        put(t, " [");
        put_regs(t, p, s->n_keys, s->keys);
        put(t, "]");
    }
    if (s->n_regs) {
        put(t, " (");
        put_regs(t, p, s->n_regs, s->regs);
        put(t, ")");
    }
    if (s->kind == SINK_ROWS && s->limit >= 0) put(t, " limit %lld", (long long)s->limit);
    put(t, "\n");
}

char *program_text(const Program *p, Arena *a) {
    Text t = {.a = a};
    put_source(&t, p);
    int indent = 0;
    for (int32_t i = 0; i < p->n_instrs; i++) {
        const Instr *in = &p->instrs[i];
        bool closes = false, opens = false;
        switch (in->op) {
        case OP_IF:
        case OP_PROBE_BEGIN:
        case OP_P_IF:
        case OP_P_LOOP:
        case OP_P_TRY:
        case OP_P_BLOCK: opens = true; break;
        case OP_ELSE:
        case OP_P_CATCH:
        case OP_P_ELSE:
        case OP_P_STEP: opens = closes = true; break;
        case OP_ENDIF:
        case OP_PROBE_END:
        case OP_P_ENDIF:
        case OP_P_ENDLOOP:
        case OP_P_ENDTRY:
        case OP_P_ENDBLOCK: closes = true; break;
        default: break;
        }
        if (closes && indent > 0) indent--;
        put(&t, "%02d %*s", (int)i, indent * 2, "");
        put_instr(&t, p, in);
        put(&t, "\n");
        if (opens) indent++;
    }
    put_sink(&t, p);
    return t.failed ? NULL : t.buf;
}
