/* emit_expr.c - expression opcodes as kernel C.
 *
 * A result is a declaration: the value is computed for NULL rows too (prelude functions are total), only errors ask for
 * validity. What can fail returns a kind of kc_codes.h, raised together with the instruction's number.
 */
#include "codegen/emit_int.h"
#include "codegen/like_code.h"

/* ---- calls that kernels can make -------------------------------------------------------------- */
typedef struct DevCall {
    const char *name;
    int32_t n_args;
    uint8_t arg;    /* type of the first argument */
    const char *fn; /* takes the arguments; with `fails` also the result's address, and returns a kind of error */
    bool fails;
} DevCall;
static const DevCall dev_calls[] = {{"substring", 2, T_TEXT, "text_from", false},
                                    {"substr", 2, T_TEXT, "text_from", false},
                                    {"substring", 3, T_TEXT, "text_part", true},
                                    {"substr", 3, T_TEXT, "text_part", true},
                                    {"left", 2, T_TEXT, "text_left", false},
                                    {"right", 2, T_TEXT, "text_right", false},
                                    {"length", 1, T_TEXT, "text_chars", false},
                                    {"char_length", 1, T_TEXT, "text_chars", false},
                                    {"character_length", 1, T_TEXT, "text_chars", false},
                                    {"octet_length", 1, T_TEXT, "text_bytes", false},
                                    {"octet_length", 1, T_BYTEA, "text_bytes", false},
                                    {"length", 1, T_BYTEA, "text_bytes", false},
                                    {"starts_with", 2, T_TEXT, "text_starts", false},
                                    {"^@", 2, T_TEXT, "text_starts", false}};

/* The second argument is an integer, except that of text_starts: it too tells overloads apart. */
static const DevCall *dev_call(const CallSite *c) {
    if (!c->func || !c->strict) return NULL;
    for (int64_t i = 0; i < ARRAY_LEN(dev_calls); i++) {
        const DevCall *d = &dev_calls[i];
        if (d->n_args == c->n_args && d->arg == c->func->args[0] && strcmp(d->name, c->func->name) == 0 &&
            (d->n_args < 2 || (c->func->args[1] == T_INT4) == (strcmp(d->fn, "text_starts") != 0)))
            return d;
    }
    return NULL;
}

const char *emit_call_fn(const CallSite *c) {
    const DevCall *d = dev_call(c);
    return d ? d->fn : NULL;
}

/* ---- reasons ------------------------------------------------------------------------------ */
const char *expr_reason(const EmitPlan *ep, const Program *p, const Instr *in, const RegForm *regs, Arena *a) {
    (void)ep, (void)p, (void)regs;
    if (in->op == OP_LIKE && like_encoded_bytes(in->aux) == 0) return "a pattern without case";
    if (in->op != OP_CALL) return NULL;
    const CallSite *c = in->aux;
    if (dev_call(c)) return NULL;
    char args[256] = "", name[TYPE_NAME_MAX];
    int64_t n = 0;
    for (int32_t i = 0; i < c->n_args && c->arg_types; i++) {
        type_name(c->arg_types[i], &name);
        n += snprintf(args + n, sizeof args - (size_t)n, "%s%s", i ? ", " : "", name);
        if (n >= (int64_t)sizeof args) break;
    }
    const char *s = c->func ? arena_printf(a, "call %s(%s)", c->func->name, args)
                            : arena_printf(a, "cast from %s to %s", args, type_name(c->ret, &name));
    return s ? s : "call";
}

/* ---- comparison ------------------------------------------------------------------------------ */
static const char *const eq_fn[PH_COUNT_] = {NULL,     NULL,     NULL,     NULL,    "i128_eq",
                                             "eq_f32", "eq_f64", "str_eq", "iv_eq", "uuid_eq"};
static const char *const lt_fn[PH_COUNT_] = {NULL,     NULL,     NULL,     NULL,    "i128_lt",
                                             "lt_f32", "lt_f64", "str_lt", "iv_lt", "uuid_lt"};
static const char *const cmp_fn[PH_COUNT_] = {NULL,      NULL,      NULL,      NULL,     "i128_cmp",
                                              "cmp_f32", "cmp_f64", "str_cmp", "iv_cmp", "uuid_cmp"};

void em_equal(Em *m, Out *o, uint8_t phys, const char *a, const char *b) {
    if (eq_fn[phys]) out_w(m, o, "%s(%s, %s)", eq_fn[phys], a, b);
    else out_w(m, o, "(%s == %s)", a, b);
}
void em_cmp3(Em *m, Out *o, uint8_t phys, const char *a, const char *b) {
    if (cmp_fn[phys]) out_w(m, o, "%s(%s, %s)", cmp_fn[phys], a, b);
    else out_w(m, o, "((i32)(%s > %s) - (i32)(%s < %s))", a, b, a, b);
}
void em_hash(Em *m, Out *o, uint8_t phys, const char *h, const char *a) {
    static const char *const fn[PH_COUNT_] = {
        "hash_i64((i64)%s)", "hash_i64((i64)%s)", "hash_i64((i64)%s)", "hash_i64(%s)", "hash_i128(%s)",
        "hash_f64((f64)%s)", "hash_f64(%s)",      "hash_str(%s)",      "hash_iv(%s)",  "hash_uuid(%s)"};
    if (h) {
        out_w(m, o, "hash_combine(%s, ", h);
        out_w(m, o, fn[phys], a);
        out_w(m, o, ")");
    } else {
        out_w(m, o, fn[phys], a);
    }
}

static void compare(Em *m, const Instr *in) {
    const RegForm *fa = &m->regs[in->a], *fb = &m->regs[in->b];
    uint8_t phys = in->phys;
    bool distinct = in->op == OP_DISTINCT, equality = in->op == OP_EQ || in->op == OP_NE || distinct;
    bool codes = phys == PH_STR && fa->dict && fa->dict == fb->dict && (equality || fa->dict->n_sorted == fa->dict->n);
    if (codes) phys = PH_I32;
    bool swap = in->op == OP_GT || in->op == OP_LE,
         negate = in->op == OP_NE || in->op == OP_LE || in->op == OP_GE || distinct;
    Reg x = swap ? in->b : in->a, y = swap ? in->a : in->b;
    const char *form = phys == PH_STR ? "%s%s(%t, %t)" : "%s%s(%r, %r)";
    if (NULLABLE(m, in->dst)) w(m, "const bool v%d = %v && %v;\n", in->dst, in->a, in->b);
    w(m, "const bool r%d = ", in->dst);
    if (distinct && (fa->nullable || fb->nullable)) w(m, "%v != %v || (%v && ", in->a, in->b, in->a);
    if (eq_fn[phys]) {
        w(m, form, negate ? "!" : "", equality ? eq_fn[phys] : lt_fn[phys], x, y);
    } else {
        const char *op = equality ? (negate ? "!=" : "==") : (negate ? ">=" : "<");
        w(m, "(%r %s %r)", x, op, y);
    }
    w(m, distinct && (fa->nullable || fb->nullable) ? ");\n" : ";\n");
}

/* ---- arithmetic --------------------------------------------------------------------------------- */
static void valid2(Em *m, const Instr *in) {
    if (!NULLABLE(m, in->dst)) return;
    if (in->b) w(m, "const bool v%d = %v && %v;\n", in->dst, in->a, in->b);
    else w(m, "const bool v%d = %v;\n", in->dst, in->a);
}
/* Declares the result and the call that fills it; raises what it returns. */
static void checked_begin(Em *m, const Instr *in) {
    valid2(m, in);
    w(m, "%s r%d;\n{\nconst u32 bad = ", c_type[m->regs[in->dst].phys], in->dst);
}
static void checked_end(Em *m, const Instr *in) {
    w(m, ";\nif (bad != 0");
    if (NULLABLE(m, in->dst)) w(m, " && v%d", in->dst);
    w(m, ") RAISE(%d | bad);\n}\n", (m->pc + 1) << 8);
}
static void checked_bin(Em *m, const Instr *in, const char *name) {
    checked_begin(m, in);
    w(m, "ovf_%s_%s(%r, %r, &r%d)", name, c_name[in->phys], in->a, in->b, in->dst);
    checked_end(m, in);
}
static void plain_bin(Em *m, const Instr *in, const char *name) {
    valid2(m, in);
    const char *t = c_type[m->regs[in->dst].phys];
    if (in->op == OP_MUL_WIDE)
        w(m, "const %s r%d = mul_wide_%s(%r, %r);\n", t, in->dst, c_name[in->phys], in->a, in->b);
    else if (in->phys == PH_I128) w(m, "const i128 r%d = i128_%s(%r, %r);\n", in->dst, name, in->a, in->b);
    else w(m, "const %s r%d = wrap_%s_%s(%r, %r);\n", t, in->dst, name, c_name[in->phys], in->a, in->b);
}
static void bits(Em *m, const Instr *in, const char *name) {
    valid2(m, in);
    w(m, "const %s r%d = %s_%s(%r", c_type[in->phys], in->dst, name, c_name[in->phys], in->a);
    if (in->b) w(m, ", %r", in->b);
    w(m, ");\n");
}
static void negate_or_abs(Em *m, const Instr *in) {
    if (in->phys == PH_F32 || in->phys == PH_F64) {
        valid2(m, in);
        w(m, "const %s r%d = %s_%s(%r);\n", c_type[in->phys], in->dst, in->op == OP_NEG ? "neg" : "abs",
          c_name[in->phys], in->a);
        return;
    }
    checked_begin(m, in);
    w(m, "ovf_%s_%s(%r, &r%d)", in->op == OP_NEG ? "neg" : "abs", c_name[in->phys], in->a, in->dst);
    checked_end(m, in);
}
static void convert(Em *m, const Instr *in) {
    uint8_t to = m->regs[in->dst].phys, from = in->phys;
    static const uint8_t width[PH_COUNT_] = {1, 2, 4, 8, 16};
    bool widens = from <= PH_I128 && (to <= PH_I128 ? width[to] >= width[from] : to == PH_F32 || to == PH_F64);
    if (!(from == to || widens || to == PH_BOOL || (from == PH_F32 && to == PH_F64))) {
        const RegInfo *ri = &m->prog->regs[in->a]; /* ranges may prove what the types do not */
        static const int64_t lo[] = {0, INT16_MIN, INT32_MIN, INT64_MIN}, hi[] = {1, INT16_MAX, INT32_MAX, INT64_MAX};
        bool fits = ri->has_range && from <= PH_I128 && to <= PH_I64 && ri->min >= lo[to] && ri->max <= hi[to];
        if (!fits) {
            checked_begin(m, in);
            w(m, "cvt_%s_%s(%r, &r%d)", c_name[from], c_name[to], in->a, in->dst);
            checked_end(m, in);
            return;
        }
    }
    valid2(m, in);
    if (from <= PH_I128 && to <= PH_I128 && to != PH_BOOL && from != PH_I128) {
        if (to == PH_I128) w(m, "const i128 r%d = i128_from_i64((i64)%r);\n", in->dst, in->a);
        else w(m, "const %s r%d = (%s)%r;\n", c_type[to], in->dst, c_type[to], in->a);
        return;
    }
    w(m, "%s r%d;\ncvt_%s_%s(%r, &r%d);\n", c_type[to], in->dst, c_name[from], c_name[to], in->a, in->dst);
}

static void numeric(Em *m, const Instr *in) {
    uint8_t to = m->regs[in->dst].phys;
    int64_t imm = in->imm;
    int32_t i = NUM_IMM_FROM(imm), j = NUM_IMM_TO(imm), k = NUM_IMM_PREC(imm);
    switch (in->op) {
    case OP_NUM_TO_F64:
        valid2(m, in);
        w(m, "const f64 r%d = num_to_f64_%s(%r, %d);\n", in->dst, c_name[in->phys], in->a, i);
        return;
    case OP_CHECK_DIGITS:
        valid2(m, in);
        w(m, "const %s r%d = %r;\n{\nconst u32 bad = check_digits_%s(r%d, %d)", c_type[to], in->dst, in->a,
          c_name[in->phys], in->dst, (int32_t)imm);
        w(m, ";\nif (bad != 0 && %v) RAISE(%d);\n}\n", in->a, raise_code(m->pc, RK_NUMERIC38));
        return;
    default: break;
    }
    checked_begin(m, in);
    if (in->op == OP_RESCALE)
        w(m, "rescale_%s_%s(%r, %d, %d, %d, &r%d)", c_name[in->phys], c_name[to], in->a, i, j, k, in->dst);
    else if (in->op == OP_F64_TO_NUM) w(m, "f64_to_num_%s(%r, %d, %d, &r%d)", c_name[to], in->a, j, k, in->dst);
    else
        w(m, "%s(%r, %r, %d, %d, %d, &r%d)", in->op == OP_NUM_DIV ? "num_div" : "num_mul", in->a, in->b, i, j, k,
          in->dst);
    checked_end(m, in);
}

/* ---- logic, choice ----------------------------------------------------------------------------------- */
static void logic(Em *m, const Instr *in) {
    Reg d = in->dst, a = in->a, b = in->b;
    bool na = NULLABLE(m, a), nb = NULLABLE(m, b), is_and = in->op == OP_AND;
    if (!na && !nb) {
        w(m, is_and ? "const bool r%d = %r && %r;\n" : "const bool r%d = %r || %r;\n", d, a, b);
        return;
    }
    if (is_and) {
        w(m, "const bool v%d = (%v && %v) || (%v && !%r) || (%v && !%r);\n", d, a, b, a, a, b, b);
        w(m, "const bool r%d = %v && %r && %v && %r;\n", d, a, a, b, b);
    } else {
        w(m, "const bool r%d = (%v && %r) || (%v && %r);\n", d, a, a, b, b);
        w(m, "const bool v%d = r%d || (%v && %v);\n", d, d, a, b);
    }
}
/* The value of a STR or other operand in the form of the result. */
static void put_value(Em *m, Reg d, Reg a) { w(m, m->regs[d].phys == PH_STR && !m->regs[d].dict ? "%t" : "%r", a); }

static void choose(Em *m, const Instr *in) {
    Reg d = in->dst;
    Reg yes = in->op == OP_SELECT ? in->b : in->a, no = in->op == OP_SELECT ? in->c : in->b;
    const char *cond = in->op == OP_SELECT ? "(%v && %r)" : "%v";
    if (NULLABLE(m, d)) {
        w(m, "const bool v%d = ", d);
        w(m, cond, in->a, in->a);
        w(m, " ? %v : %v;\n", yes, no);
    }
    w(m, "const %s r%d = ", c_type[VAR_PHYS(m, d)], d);
    w(m, cond, in->a, in->a);
    w(m, " ? ");
    put_value(m, d, yes);
    w(m, " : ");
    put_value(m, d, no);
    w(m, ";\n");
}

/* ---- sets, codes, text, keys ------------------------------------------------------------------------------ */
static void in_set(Em *m, const Instr *in) {
    const InSet *s = in->aux;
    int32_t set = P1(m, KP_SET, m->pc), n = P1(m, KP_SET_N, m->pc);
    w(m,
      in->phys == PH_STR ? "const bool r%d = in_set_%s(P(%d), PI(%d), %t);\n"
                         : "const bool r%d = in_set_%s(P(%d), PI(%d), %r);\n",
      in->dst, c_name[in->phys], set, n, in->a);
    if (!NULLABLE(m, in->dst)) return;
    if (s->has_null) w(m, "const bool v%d = %v && r%d;\n", in->dst, in->a, in->dst);
    else w(m, "const bool v%d = %v;\n", in->dst, in->a);
}
/* The index of a code that may belong to a NULL. */
static void put_code(Em *m, Reg a) { w(m, NULLABLE(m, a) ? "(%v ? %r : 0)" : "%r", a, a); }
static void code_test(Em *m, const Instr *in) {
    const CodeMask *k = in->aux;
    valid2(m, in);
    if (k->n == 0) {
        w(m, "const bool r%d = false;\n", in->dst);
    } else if (k->n <= 64) {
        w(m, "const bool r%d = ((P(%d) >> (%r & 63)) & 1) != 0;\n", in->dst, P1(m, KP_MASK_BITS, m->pc), in->a);
    } else {
        w(m, "const bool r%d = GRO(u8, P(%d))[", in->dst, P1(m, KP_MASK, m->pc));
        put_code(m, in->a);
        w(m, "] != 0;\n");
    }
}
static void code_map(Em *m, const Instr *in) {
    const CodeMap *k = in->aux;
    uint8_t to = m->regs[in->dst].phys;
    Reg d = in->dst;
    if (k->n == 0) {
        w(m, "const bool v%d = false;\nconst %s r%d = %s;\n", d, c_type[to], d, c_zero(to));
        return;
    }
    if (NULLABLE(m, d)) {
        w(m, "const bool v%d = %v", d, in->a);
        if (k->valid) {
            w(m, " && G(u8, P(%d))[", P1(m, KP_MAP_VALID, m->pc));
            put_code(m, in->a);
            w(m, "] != 0");
        }
        w(m, ";\n");
    }
    int32_t cells = P1(m, KP_MAP_CELLS, m->pc);
    if (to == PH_I128) w(m, "const i128 r%d = ld_i128(P(%d) + (u64)", d, cells);
    else w(m, "const %s r%d = G(%s, P(%d))[", c_type[to], d, m_type[to], cells);
    put_code(m, in->a);
    w(m, to == PH_I128 ? " * 16);\n" : "];\n");
}
static void key_pack(Em *m, const Instr *in) {
    const KeyPack *k = in->aux;
    Reg d = in->dst;
    bool nullable = NULLABLE(m, d);
    w(m, "u64 k%d = 0;\n", d);
    if (nullable) w(m, "bool v%d = true;\n", d);
    for (int32_t i = 0; i < k->n; i++) {
        Reg a = k->args[i];
        uint64_t mask = k->bits[i] >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << k->bits[i]) - 1,
                 max = mask - (k->nullable[i] ? 1 : 0);
        const RegInfo *ri = &m->prog->regs[a];
        bool proven = max > INT64_MAX ||
                      (ri->has_range && ri->min >= k->base[i] && (uint64_t)ri->max - (uint64_t)k->base[i] <= max);
        w(m, "{\nconst u64 x = (u64)(i64)%r - U64C(%l);\n", a, k->base[i]);
        if (nullable && NULLABLE(m, a) && !k->nullable[i]) w(m, "v%d &= %v;\n", d, a);
        if (nullable && !proven)
            w(m,
              NULLABLE(m, a) && k->nullable[i] ? "if (%v) v%d &= x <= U64C(%l);\n"
                                               : "(void)%v;\nv%d &= x <= U64C(%l);\n",
              a, d, (int64_t)max);
        if (NULLABLE(m, a) && k->nullable[i])
            w(m, "k%d += (%v ? x : U64C(%l)) << %d;\n}\n", d, a, (int64_t)mask, (int32_t)k->shift[i] & 63);
        else w(m, "k%d += x << %d;\n}\n", d, (int32_t)k->shift[i] & 63);
    }
    w(m, "const i64 r%d = (i64)k%d;\n", d, d);
}

static void call(Em *m, const Instr *in) {
    const CallSite *c = in->aux;
    const DevCall *d = dev_call(c);
    Reg r = in->dst;
    if (NULLABLE(m, r)) {
        w(m, "const bool v%d = ", r);
        for (int32_t i = 0; i < c->n_args; i++) w(m, i ? " && %v" : "%v", c->args[i]);
        w(m, ";\n");
    }
    const char *t = c_type[m->regs[r].phys];
    if (d->fails) w(m, "%s r%d;\n{\nconst u32 bad = %s(", t, r, d->fn);
    else w(m, "const %s r%d = %s(", t, r, d->fn);
    for (int32_t i = 0; i < c->n_args; i++) {
        if (i) w(m, ", ");
        w(m, "%t", c->args[i]);
    }
    if (!d->fails) {
        w(m, ");\n");
        return;
    }
    w(m, ", &r%d)", r);
    checked_end(m, in);
}

bool em_expr(Em *m, const Instr *in) {
    Reg d = in->dst;
    switch ((Opcode)in->op) {
    case OP_ADD: checked_bin(m, in, "add"); break;
    case OP_SUB: checked_bin(m, in, "sub"); break;
    case OP_MUL: checked_bin(m, in, "mul"); break;
    case OP_DIV: checked_bin(m, in, "div"); break;
    case OP_MOD: checked_bin(m, in, "mod"); break;
    case OP_ADD_N: plain_bin(m, in, "add"); break;
    case OP_SUB_N: plain_bin(m, in, "sub"); break;
    case OP_MUL_N: plain_bin(m, in, "mul"); break;
    case OP_MUL_WIDE: plain_bin(m, in, "mul"); break;
    case OP_BIT_AND: bits(m, in, "bitand"); break;
    case OP_BIT_OR: bits(m, in, "bitor"); break;
    case OP_BIT_XOR: bits(m, in, "bitxor"); break;
    case OP_BIT_NOT: bits(m, in, "bitnot"); break;
    case OP_SHL: bits(m, in, "shl"); break;
    case OP_SHR: bits(m, in, "shr"); break;
    case OP_NEG:
    case OP_ABS: negate_or_abs(m, in); break;
    case OP_RESCALE:
    case OP_NUM_DIV:
    case OP_NUM_MUL:
    case OP_NUM_TO_F64:
    case OP_F64_TO_NUM:
    case OP_CHECK_DIGITS: numeric(m, in); break;
    case OP_CVT: convert(m, in); break;
    case OP_EQ:
    case OP_NE:
    case OP_LT:
    case OP_LE:
    case OP_GT:
    case OP_GE:
    case OP_DISTINCT: compare(m, in); break;
    case OP_AND:
    case OP_OR: logic(m, in); break;
    case OP_NOT:
        valid2(m, in);
        w(m, "const bool r%d = !%r;\n", d, in->a);
        break;
    case OP_IS_NULL: w(m, "const bool r%d = !%v;\n", d, in->a); break;
    case OP_IS_NOT_NULL: w(m, "const bool r%d = %v;\n", d, in->a); break;
    case OP_IS_TRUE: w(m, "const bool r%d = %v && %r;\n", d, in->a, in->a); break;
    case OP_IS_FALSE: w(m, "const bool r%d = %v && !%r;\n", d, in->a, in->a); break;
    case OP_SELECT:
    case OP_COALESCE: choose(m, in); break;
    case OP_NULLIF:
        w(m, "const bool v%d = %v && !(%v && %r);\n", d, in->a, in->b, in->b);
        w(m, "const %s r%d = ", c_type[VAR_PHYS(m, d)], d);
        put_value(m, d, in->a);
        w(m, ";\n");
        break;
    case OP_IN_SET: in_set(m, in); break;
    case OP_CODE_TEST: code_test(m, in); break;
    case OP_CODE_MAP: code_map(m, in); break;
    case OP_DECODE:
        valid2(m, in);
        if (m->regs[d].dict) w(m, "const i32 r%d = %r;\n", d, in->a);
        else w(m, "%sconst str r%d = str_none();\n", "", d);
        break;
    case OP_LIKE:
        valid2(m, in);
        w(m, "const bool r%d = %v && like_match(P(%d), %t);\n", d, in->a, P1(m, KP_LIKE, m->pc), in->a);
        break;
    case OP_DATE_PART:
        valid2(m, in);
        w(m, in->phys == PH_I64 ? "const i32 r%d = date_part_ts(%d, %r);\n" : "const i32 r%d = date_part(%d, %r);\n", d,
          (int32_t)in->imm, in->a);
        break;
    case OP_KEY_PACK: key_pack(m, in); break;
    case OP_CALL: call(m, in); break;
    case OP_NONE: break;
    default: return false;
    }
    return true;
}
