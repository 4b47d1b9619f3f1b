/* verify.c - the rules of programs, checked once before a program runs.
 *
 * The executors trust what is checked here: operand types by the catalogue, single assignment, definition before
 * use, visibility (nothing defined in a body is used outside it, nothing dead after a change of rows is used),
 * brackets, and that bodies do not change the set of rows. Programs of procedures: statements stand outside bodies, no
 * register crosses one, and what has an effect is not in a body, so that a body can be run again. A violation is a
 * defect of the lowering: XX000.
 */
#include "program/operands.h"
#include "program/stream.h"

typedef struct Verify {
    const Program *p;
    Err *e;
    int32_t at; /* instruction */
} Verify;

static Status bad(const Verify *v, const char *what) {
    const Program *p = v->p;
    return err_internal(v->e, "program: instruction %d (%s): %s", (int)v->at,
                        v->at < p->n_instrs ? op_info[p->instrs[v->at].op].name : "sink", what);
}
#define REQUIRE(v, cond, what)                \
    do {                                      \
        if (!(cond)) return bad((v), (what)); \
    } while (0)

static uint8_t reg_phys(const Verify *v, Reg r) { return v->p->regs[r].phys; }
static bool is_nullable(const Verify *v, Reg r) { return v->p->regs[r].nullable; }

static bool field_supported(int64_t f) {
    switch (f) {
    case DF_YEAR:
    case DF_MONTH:
    case DF_DAY:
    case DF_HOUR:
    case DF_MINUTE:
    case DF_SECOND:
    case DF_QUARTER:
    case DF_WEEK:
    case DF_DOW:
    case DF_ISODOW:
    case DF_DOY:
    case DF_ISOYEAR:
    case DF_DECADE:
    case DF_CENTURY:
    case DF_MILLENNIUM:
    case DF_JULIAN: return true;
    default: return false;
    }
}

/* Opcodes on rows of tables, and the other lists of procedures. What the tables look like is checked where the program
 * is run. */
static Status check_row_op(const Verify *v, const Instr *in) {
    uint8_t d = reg_phys(v, in->dst), a = reg_phys(v, in->a), b = reg_phys(v, in->b);
    REQUIRE(v, in->aux, "aux missing");
    switch (in->op) {
    case OP_ROW_FIND:
    case OP_ROW_FIRST:
    case OP_ROW_NEXT: {
        const RowKey *k = in->aux;
        REQUIRE(v, k->table >= 0 && k->index >= 0, "no such index");
        REQUIRE(v, in->op == OP_ROW_NEXT ? a == PH_I64 : k->n > 0 || in->op == OP_ROW_FIRST, "operand types");
        REQUIRE(v, d == PH_I64, "result must be a row register");
        for (int32_t i = 0; in->op != OP_ROW_NEXT && i < k->n + k->bounded; i++) REQUIRE(v, k->args[i], "key missing");
        REQUIRE(v, !k->bounded || (in->op == OP_ROW_FIRST && k->order > 0), "a bound without an order");
        break;
    }
    case OP_ROW_GET:
    case OP_ROW_PUT:
    case OP_ROW_ADD:
    case OP_ROW_DELETE: {
        const RowCol *rc = in->aux;
        REQUIRE(v, rc->table >= 0 && (in->op == OP_ROW_DELETE ? rc->col == -1 : rc->col >= 0), "no such column");
        REQUIRE(v, a == PH_I64 && (!in->b || b == in->phys), "operand types");
        break;
    }
    case OP_ROW_INSERT:
        REQUIRE(v, ((const RowInsert *)in->aux)->table >= 0, "no such table");
        REQUIRE(v, d == PH_I64, "result must be a row register");
        break;
    case OP_NOTICE:
    case OP_RAISE: {
        const RaiseSite *r = in->aux;
        REQUIRE(v,
                in->op == OP_RAISE ||
                    (((const NoticeSite *)in->aux)->severity && ((const NoticeSite *)in->aux)->context),
                "notice without a severity");
        REQUIRE(v, r->sqlstate && strlen(r->sqlstate) == 5 && r->format, "error without a code or text");
        for (int32_t i = 0; i < r->n; i++)
            REQUIRE(v, r->args[i] && (r->row_of || r->key || reg_phys(v, r->args[i]) == PH_STR), "operand types");
        break;
    }
    default: { /* OP_ITEM, OP_LOCK */
        const ItemSite *s = in->aux;
        for (int32_t i = 0; i < s->n + (s->has_amount || s->fetch_add); i++)
            REQUIRE(v, s->args[i], "key or amount missing");
        if (s->has_amount || s->fetch_add)
            REQUIRE(v, s->col >= 0 && (P_INT >> reg_phys(v, s->args[s->n]) & 1), "operand types");
        REQUIRE(v, (!in->a || reg_phys(v, in->a) == PH_I64) && (!in->dst || reg_phys(v, in->dst) == PH_I64),
                "a hash is a number");
    }
    }
    return ST_OK;
}

/* Opcodes on a call's buffer of rows. */
static Status check_buffer_op(const Verify *v, const Instr *in) {
    REQUIRE(v, in->aux && in->dst, "aux or result missing");
    const BufferRow *row = in->op == OP_BUF_ADD ? in->aux : NULL;
    const BufferSpec *s = row ? row->spec : in->aux;
    REQUIRE(v, s && s->number >= 0, "no such buffer");
    if (in->op == OP_BUF_GET) {
        REQUIRE(v, in->imm >= 0 && in->imm < s->n_cols, "no such column");
        REQUIRE(v, reg_phys(v, in->a) == PH_I64 && reg_phys(v, in->b) == PH_I64, "operand types");
        REQUIRE(v, reg_phys(v, in->dst) == s->cols[in->imm].phys, "result type");
        REQUIRE(v, is_nullable(v, in->dst) || !s->cols[in->imm].nullable, "result may be NULL but is declared without");
        return ST_OK;
    }
    REQUIRE(v, reg_phys(v, in->dst) == PH_I64, "result must be a number of rows");
    REQUIRE(v, in->op != OP_BUF_SORT || reg_phys(v, in->a) == PH_I64, "operand types");
    if (!row) return ST_OK;
    const int32_t n = s->n_keys + s->n_cols;
    for (int32_t i = 0; i < n; i++) {
        const BufferColumn *c = i < s->n_keys ? &s->keys[i] : &s->cols[i - s->n_keys];
        REQUIRE(v, row->args[i] && reg_phys(v, row->args[i]) == c->phys, "operand types");
        REQUIRE(v, c->nullable || !is_nullable(v, row->args[i]), "a column may be NULL but is declared without");
    }
    REQUIRE(v, row->args[n] && reg_phys(v, row->args[n]) == PH_I64, "number of rows missing");
    return ST_OK;
}

/* The operands of an instruction: those of its shape are there, and no others. */
static Status check_operands(const Verify *v, const Instr *in) {
    const OpInfo *oi = &op_info[in->op];
    bool need_a = false, need_b = false, need_c = false, need_d = false;
    switch (oi->shape) {
    case SH_DABC: need_c = true; /* fall through */
    case SH_DAB: need_b = true;  /* fall through */
    case SH_DA: need_a = need_d = true; break;
    case SH_D: need_d = true; break;
    case SH_LIST: need_d = in->op != OP_RAISE && in->op != OP_NOTICE && in->op != OP_ITEM && in->op != OP_LOCK; break;
    case SH_AB: need_b = true; /* fall through */
    case SH_A: need_a = true; break;
    case SH_BLOCK:
        need_a = true;
        need_d = in->op == OP_ENDIF;
        break;
    default: break;
    }
    REQUIRE(v, !need_a || in->a, "operand a missing");
    REQUIRE(v, !need_b || in->b, "operand b missing");
    REQUIRE(v, !need_c || in->c, "operand c missing");
    REQUIRE(v, !need_d || in->dst, "result missing");
    REQUIRE(v, need_a || !in->a || in->op == OP_LOCK, "operand a not expected");
    REQUIRE(v, need_b || !in->b, "operand b not expected");
    REQUIRE(v, need_c || !in->c, "operand c not expected");
    REQUIRE(v,
            need_d || !in->dst || oi->shape == SH_PROBE || oi->shape == SH_BLOCK || in->op == OP_REPEAT ||
                in->op == OP_LOCK,
            "result not expected");
    REQUIRE(v, !in->dst || !v->p->regs[in->dst].is_const, "a constant is written");
    return ST_OK;
}

/* Types of the instructions that compute a value of each row from other values of it. */
static Status check_value_types(const Verify *v, const Instr *in) {
    uint8_t d = reg_phys(v, in->dst), a = reg_phys(v, in->a), b = reg_phys(v, in->b), c = reg_phys(v, in->c);
    switch ((Opcode)in->op) {
    case OP_ADD:
    case OP_SUB:
    case OP_MUL:
    case OP_ADD_N:
    case OP_SUB_N:
    case OP_MUL_N:
    case OP_DIV:
    case OP_MOD:
    case OP_BIT_AND:
    case OP_BIT_OR:
    case OP_BIT_XOR:
    case OP_SHL:
    case OP_SHR:
    case OP_COALESCE:
    case OP_NUM_DIV:
    case OP_NUM_MUL: REQUIRE(v, a == in->phys && b == in->phys && d == in->phys, "operand types"); break;
    case OP_MUL_WIDE: REQUIRE(v, a == in->phys && b == in->phys && d == in->phys + 1, "operand types"); break;
    case OP_NEG:
    case OP_ABS:
    case OP_BIT_NOT:
    case OP_NOT: REQUIRE(v, a == in->phys && d == in->phys, "operand types"); break;
    case OP_CHECK_DIGITS:
        REQUIRE(v, a == in->phys && d == in->phys, "operand types");
        REQUIRE(v, in->imm >= 0 && in->imm <= NUMERIC_MAX_PRECISION, "digits");
        break;
    case OP_RESCALE: REQUIRE(v, a == in->phys && (d == PH_I64 || d == PH_I128), "operand types"); break;
    case OP_NUM_TO_F64: REQUIRE(v, a == in->phys && d == PH_F64, "operand types"); break;
    case OP_F64_TO_NUM: REQUIRE(v, a == PH_F64 && (d == PH_I64 || d == PH_I128), "operand types"); break;
    case OP_CVT: REQUIRE(v, a == in->phys && ((P_BOOL | P_NUM) >> d & 1), "operand types"); break;
    case OP_EQ:
    case OP_NE:
    case OP_LT:
    case OP_LE:
    case OP_GT:
    case OP_GE:
    case OP_DISTINCT: REQUIRE(v, a == in->phys && b == in->phys && d == PH_BOOL, "operand types"); break;
    case OP_AND:
    case OP_OR: REQUIRE(v, a == PH_BOOL && b == PH_BOOL && d == PH_BOOL, "operand types"); break;
    case OP_IS_NULL:
    case OP_IS_NOT_NULL:
    case OP_IS_TRUE:
    case OP_IS_FALSE:
    case OP_LIKE: REQUIRE(v, a == in->phys && d == PH_BOOL, "operand types"); break;
    case OP_IN_SET:
    case OP_CODE_TEST:
        REQUIRE(v, a == in->phys && d == PH_BOOL, "operand types");
        REQUIRE(v, in->aux, "aux missing");
        break;
    case OP_SELECT: REQUIRE(v, a == PH_BOOL && b == in->phys && c == in->phys && d == in->phys, "operand types"); break;
    case OP_NULLIF: REQUIRE(v, a == in->phys && b == PH_BOOL && d == in->phys, "operand types"); break;
    case OP_DATE_PART:
        REQUIRE(v, a == in->phys && d == PH_I32, "operand types");
        REQUIRE(v, field_supported(in->imm), "no such field");
        break;
    default: break;
    }
    return ST_OK;
}

/* The probe of a join: what its result is depends on the kind. */
static Status check_probe(const Verify *v, const Instr *in) {
    uint8_t d = reg_phys(v, in->dst);
    const ProbeSite *s = in->aux;
    REQUIRE(v, s, "aux missing");
    REQUIRE(v, s->kind <= PK_MARK_BUILD, "no such kind of probe");
    if (in->op == OP_PROBE_BEGIN || probe_has_rows(s->kind)) { /* no register: no build column is read */
        REQUIRE(v, !in->dst || d == PH_I64, "result must be a row register");
    } else if (s->kind == PK_MARK) {
        REQUIRE(v, in->dst && d == PH_BOOL, "result must be boolean");
    } else {
        REQUIRE(v, !in->dst, "no result expected");
    }
    return ST_OK;
}

/* Types of the instructions that read columns and codes, choose rows or call what is not a value of the row. */
static Status check_site_types(const Verify *v, const Instr *in) {
    uint8_t d = reg_phys(v, in->dst), a = reg_phys(v, in->a);
    switch ((Opcode)in->op) {
    case OP_CAUGHT:
        REQUIRE(v, d == PH_STR && in->imm >= 0 && (in->imm & ((1 << CAUGHT_BITS) - 1)) < CAUGHT_END, "result type");
        break;
    case OP_CATCHES: REQUIRE(v, d == PH_BOOL && in->aux, "result type"); break;
    case OP_LOAD: REQUIRE(v, d == in->phys, "result type"); break;
    case OP_LOAD_CODE: REQUIRE(v, d == PH_I32, "result type"); break;
    case OP_LOAD_ROWID: REQUIRE(v, d == PH_I64, "result type"); break;
    case OP_FILTER:
    case OP_IF:
    case OP_P_IF:
    case OP_PROBE_END: REQUIRE(v, a == PH_BOOL, "condition must be boolean"); break;
    case OP_ELSE: REQUIRE(v, a == in->phys, "operand type"); break;
    case OP_ENDIF: REQUIRE(v, a == in->phys && d == in->phys, "operand type"); break;
    case OP_CODE_MAP:
        REQUIRE(v, a == PH_I32, "operand types");
        REQUIRE(v, in->aux, "aux missing");
        break;
    case OP_DECODE: REQUIRE(v, a == PH_I32 && d == PH_STR, "operand types"); break;
    case OP_KEY_PACK:
        REQUIRE(v, d == PH_I64, "result type");
        for (int32_t i = 0, n = in->aux ? ((const KeyPack *)in->aux)->n : 0; i < n; i++)
            REQUIRE(v,
                    (PB(PH_BOOL) | PB(PH_I16) | PB(PH_I32) | PB(PH_I64)) >>
                            reg_phys(v, ((const KeyPack *)in->aux)->args[i]) &
                        1,
                    "only integers can be packed");
        break;
    case OP_LOAD_BUILD: {
        REQUIRE(v, a == PH_I64 && d == in->phys, "operand types");
        int32_t def = v->p->regs[in->a].first;
        REQUIRE(v, def >= 0 && (v->p->instrs[def].op == OP_PROBE || v->p->instrs[def].op == OP_PROBE_BEGIN),
                "operand is not the row of a join");
        break;
    }
    case OP_REPEAT: REQUIRE(v, a == PH_I64 && (!in->dst || d == PH_I64), "operand types"); break;
    case OP_STORE: REQUIRE(v, a == in->phys && in->imm >= 0, "operand types"); break;
    case OP_ROW_FIND:
    case OP_ROW_FIRST:
    case OP_ROW_NEXT:
    case OP_ROW_GET:
    case OP_ROW_PUT:
    case OP_ROW_ADD:
    case OP_ROW_INSERT:
    case OP_ROW_DELETE:
    case OP_RAISE:
    case OP_NOTICE:
    case OP_ITEM:
    case OP_LOCK: TRY(check_row_op(v, in)); break;
    case OP_BUF_CLEAR:
    case OP_BUF_ADD:
    case OP_BUF_SORT:
    case OP_BUF_GET: TRY(check_buffer_op(v, in)); break;
    case OP_PROBE:
    case OP_PROBE_BEGIN: TRY(check_probe(v, in)); break;
    default: break;
    }
    switch ((Opcode)in->op) {
    case OP_FILTER_RANGE:
    case OP_FILTER_CODES:
    case OP_DECODE:
    case OP_LIKE:
    case OP_CALL:
    case OP_KEY_PACK: REQUIRE(v, in->aux, "aux missing"); break;
    default: break;
    }
    return ST_OK;
}

/* The type rule of an instruction: phys of the operands and the result. */
static Status check_types(const Verify *v, const Instr *in) {
    const OpInfo *oi = &op_info[in->op];
    REQUIRE(v, in->phys < PH_COUNT_, "no such variant");
    REQUIRE(v, oi->phys == 0 || (oi->phys >> in->phys & 1), "no variant for this type");
    TRY(check_operands(v, in));
    TRY(check_value_types(v, in));
    return check_site_types(v, in);
}

/* A result that is declared free of NULLs must not be able to get one. */
static Status check_nulls(const Verify *v, const Instr *in) {
    if (!in->dst || is_nullable(v, in->dst)) return ST_OK;
    bool a = in->a && is_nullable(v, in->a), b = in->b && is_nullable(v, in->b), c = in->c && is_nullable(v, in->c);
    bool null = false;
    switch (op_info[in->op].nulls) {
    case NN:
    case N3: null = a || b || c; break;
    case NX:
        if (in->op == OP_SELECT) null = b || c;
        else if (in->op == OP_COALESCE) null = a && b;
        else if (in->op == OP_IN_SET) null = a || ((const InSet *)in->aux)->has_null;
        else if (in->op == OP_CODE_MAP) null = a;
        else if (in->op == OP_ENDIF) null = a;
        break;
    default: break;
    }
    REQUIRE(v, !null, "result may be NULL but is declared without");
    return ST_OK;
}

/* Source operations must fit the kind of source. */
static Status check_source(const Verify *v, const Instr *in) {
    const Source *s = &v->p->source;
    if (!(op_info[in->op].flags & F_SOURCE)) return ST_OK;
    if (in->op == OP_FILTER_RANGE || in->op == OP_FILTER_CODES)
        REQUIRE(v, s->kind == SRC_TABLE, "needs a table as its source");
    if (in->op == OP_LOAD_ROWID) {
        REQUIRE(v, s->kind != SRC_ONE && s->kind != SRC_CALLS, "source has no rows to name");
        return ST_OK;
    }
    REQUIRE(v, in->imm >= 0, "no such column");
    if (s->kind == SRC_CALLS) REQUIRE(v, in->op == OP_LOAD, "calls have variables only");
    if (s->kind == SRC_TABLE) REQUIRE(v, s->table && in->imm < s->table->n_cols, "no such column");
    if (s->kind == SRC_SERIES) REQUIRE(v, in->op == OP_LOAD && in->imm == 0 && in->phys == PH_I64, "no such column");
    if (s->kind == SRC_STREAM) REQUIRE(v, in->op == OP_LOAD && in->imm < s->stream->n_cols, "no such column");
    if (s->kind == SRC_ONE) return bad(v, "source has no columns");
    return ST_OK;
}

/* Programs of procedures, and only they, have statements and work on rows. */
static Status check_calls(const Verify *v, const Instr *in, int32_t depth) {
    bool calls = v->p->source.kind == SRC_CALLS;
    REQUIRE(v, calls || !op_is_of_calls(in->op), "not a program of a procedure");
    REQUIRE(v, !calls || !(op_info[in->op].flags & F_ROWS), "the rows of a procedure's program are its calls");
    REQUIRE(v, depth == 0 || !(op_is_control(in->op) || op_has_effect(in->op)), "statement or effect inside a body");
    return ST_OK;
}

/* Brackets of statements: program_finish paired them; here they are walked once more, with a stack of their own. */
static Status check_statements(Verify *v, int32_t *stack) {
    const Program *p = v->p;
    int32_t depth = 0;
    for (int32_t i = 0; i < p->n_instrs; i++) {
        const Instr *in = &p->instrs[i];
        if (!op_is_control(in->op) || in->op == OP_P_RETURN) continue;
        v->at = i;
        int32_t top = depth > 0 ? stack[depth - 1] : -1;
        const Instr *open = top >= 0 ? &p->instrs[top] : NULL;
        bool closes = in->op == OP_P_ENDIF || in->op == OP_P_ENDBLOCK || in->op == OP_P_ENDTRY;
        REQUIRE(v, closes || (in->jump >= 0 && in->jump < p->n_instrs), "bracket without partner");
        switch (in->op) {
        case OP_P_IF:
        case OP_P_LOOP:
        case OP_P_TRY:
        case OP_P_BLOCK: stack[depth++] = i; break;
        case OP_P_CATCH:
            REQUIRE(v, open && open->op == OP_P_TRY && open->jump == i && open->imm == in->imm,
                    "bracket without partner");
            stack[depth - 1] = i;
            break;
        case OP_P_ENDTRY:
            REQUIRE(v, open && open->op == OP_P_CATCH && open->jump == i, "bracket without partner");
            depth--;
            break;
        case OP_P_ELSE:
            REQUIRE(v, open && open->op == OP_P_IF && open->jump == i, "bracket without partner");
            stack[depth - 1] = i;
            break;
        case OP_P_ENDIF:
            REQUIRE(v, open && (open->op == OP_P_IF || open->op == OP_P_ELSE) && open->jump == i,
                    "bracket without partner");
            depth--;
            break;
        case OP_P_ROUND:
            REQUIRE(v, open && open->op == OP_P_LOOP && in->jump == top && in->imm == open->imm,
                    "round without its loop");
            break;
        case OP_P_STEP:
            REQUIRE(v, open && open->op == OP_P_LOOP && in->jump == top && in->imm == open->imm,
                    "step without its loop");
            for (int32_t k = top + 1; k < i; k++)
                REQUIRE(v, p->instrs[k].op != OP_P_STEP || p->instrs[k].jump != top, "second step of a loop");
            break;
        case OP_P_ENDLOOP:
            REQUIRE(v, open && open->op == OP_P_LOOP && open->jump == i && in->jump == top, "bracket without partner");
            depth--;
            break;
        case OP_P_ENDBLOCK:
            REQUIRE(v, open && open->op == OP_P_BLOCK && open->jump == i, "bracket without partner");
            depth--;
            break;
        default: { /* OP_P_LEAVE */
            int32_t k = depth;
            while (k > 0 && !((p->instrs[stack[k - 1]].op == OP_P_LOOP || p->instrs[stack[k - 1]].op == OP_P_BLOCK) &&
                              p->instrs[stack[k - 1]].imm == in->imm))
                k--;
            REQUIRE(v, k > 0, "nothing to leave");
            const Instr *to = &p->instrs[in->jump];
            if (in->aux)
                REQUIRE(v, to->op == OP_P_STEP && to->jump == stack[k - 1] && in->jump > i, "no step to go to");
            else REQUIRE(v, p->instrs[stack[k - 1]].jump == in->jump, "leaves to somewhere else");
        }
        }
    }
    v->at = p->n_instrs;
    REQUIRE(v, depth == 0, "bracket not closed");
    return ST_OK;
}

/* State of a register while the program is walked. */
enum { RS_UNBORN, RS_LIVE, RS_DEAD };

/* Blocks are walked with a stack; an entry remembers where its body began, so that its registers die at the end. */
typedef struct OpenBlock {
    int32_t open, body;
} OpenBlock;
enum { BLOCK_DEPTH_MAX = 256 };

static void kill_since(const Program *p, uint8_t *state, int32_t from, int32_t to, Reg keep) {
    for (int32_t i = from; i <= to; i++)
        if (p->instrs[i].dst && p->instrs[i].dst != keep) state[p->instrs[i].dst] = RS_DEAD;
}

static Status use(const Verify *v, const uint8_t *state, Reg r) {
    if (r == 0) return ST_OK;
    REQUIRE(v, r > 0 && r < v->p->n_regs, "no such register");
    const RegInfo *ri = &v->p->regs[r];
    REQUIRE(v, ri->phys < PH_COUNT_, "register of no type");
    if (ri->is_const) return ST_OK;
    REQUIRE(v, state[r] != RS_UNBORN, "register read before it is written");
    REQUIRE(v, state[r] != RS_DEAD, "register is out of scope or not carried");
    return ST_OK;
}

static Status walk(Verify *v, uint8_t *state) {
    const Program *p = v->p;
    OpenBlock open[BLOCK_DEPTH_MAX];
    int32_t depth = 0, run = 0; /* first instruction of the straight run */
    for (int32_t i = 0; i < p->n_instrs; i++) {
        const Instr *in = &p->instrs[i];
        v->at = i;
        REQUIRE(v, in->op > OP_NONE && in->op < OP_COUNT_, "unknown opcode");
        Reg u;
        for (int32_t k = 0; (u = instr_use(in, k)) != -1; k++) TRY(use(v, state, u));
        REQUIRE(v, in->dst >= 0 && in->dst < p->n_regs, "no such register");
        if (in->dst && state[in->dst] != RS_UNBORN) return bad(v, "register written twice");
        TRY(check_types(v, in));
        TRY(check_nulls(v, in));
        TRY(check_source(v, in));
        TRY(check_calls(v, in, depth));

        const OpInfo *oi = &op_info[in->op];
        if ((oi->flags & F_ROWS) && in->op != OP_PROBE_END && depth > 0) {
            bool keeps = (in->op == OP_PROBE || in->op == OP_PROBE_BEGIN) &&
                         probe_keeps_rows(((const ProbeSite *)in->aux)->kind);
            REQUIRE(v, keeps, "rows change inside a body");
        }
        Reg keep = 0;
        switch (in->op) {
        case OP_IF:
        case OP_PROBE_BEGIN:
            REQUIRE(v, depth < BLOCK_DEPTH_MAX, "blocks nested too deeply");
            REQUIRE(v, in->jump > i && in->jump < p->n_instrs, "bracket without partner");
            open[depth++] = (OpenBlock){i, i + 1};
            break;
        case OP_ELSE:
            REQUIRE(v,
                    depth > 0 && p->instrs[open[depth - 1].open].op == OP_IF &&
                        p->instrs[open[depth - 1].open].jump == i,
                    "bracket without partner");
            kill_since(p, state, open[depth - 1].body, i - 1, 0);
            open[depth - 1] = (OpenBlock){i, i + 1};
            break;
        case OP_ENDIF: {
            REQUIRE(v,
                    depth > 0 && p->instrs[open[depth - 1].open].op == OP_ELSE &&
                        p->instrs[open[depth - 1].open].jump == i,
                    "bracket without partner");
            depth--;
            const Instr *el = &p->instrs[open[depth].open];
            REQUIRE(v, el->phys == in->phys, "bodies give different types");
            REQUIRE(v, is_nullable(v, in->dst) || !is_nullable(v, el->a), "result may be NULL but is declared without");
            kill_since(p, state, open[depth].body, i - 1, 0);
            break;
        }
        case OP_PROBE_END: {
            REQUIRE(v,
                    depth > 0 && p->instrs[open[depth - 1].open].op == OP_PROBE_BEGIN &&
                        p->instrs[open[depth - 1].open].jump == i,
                    "bracket without partner");
            depth--;
            const Instr *begin = &p->instrs[open[depth].open];
            uint8_t kind = ((const ProbeSite *)begin->aux)->kind;
            keep = probe_has_rows(kind) ? begin->dst : 0;
            REQUIRE(v, (kind == PK_MARK) == (in->dst != 0), "mark probes, and only they, have a result");
            REQUIRE(v, !in->dst || reg_phys(v, in->dst) == PH_BOOL, "result must be boolean");
            kill_since(p, state, open[depth].open, i - 1, keep);
            break;
        }
        default: break;
        }
        if (op_is_control(in->op)) {
            kill_since(p, state, run, i, 0);
            run = i + 1;
        }
        if (in->dst) state[in->dst] = RS_LIVE;
        bool moves = (oi->flags & F_ROWS) && in->op != OP_PROBE_BEGIN;
        if (in->op == OP_PROBE && probe_keeps_rows(((const ProbeSite *)in->aux)->kind)) moves = false;
        if (in->op == OP_PROBE_END && depth > 0) moves = false; /* keeps its rows, as checked at its opening */
        if (moves) {
            for (Reg r = 1; r < p->n_regs; r++)
                if (state[r] == RS_LIVE && r != in->dst && r != keep) state[r] = RS_DEAD;
            for (int32_t k = 0; k < in->n_carry; k++) {
                Reg r = in->carry[k];
                REQUIRE(v, r > 0 && r < p->n_regs && state[r] == RS_DEAD,
                        "carry list names a register that is not alive");
                state[r] = RS_LIVE;
            }
        }
    }
    v->at = p->n_instrs;
    REQUIRE(v, depth == 0, "bracket not closed");
    Reg u;
    for (int32_t k = 0; (u = sink_use(&p->sink, k)) != -1; k++) TRY(use(v, state, u));
    return ST_OK;
}

Status program_verify(const Program *p, Err *e) {
    Verify v = {p, e, p->n_instrs};
    REQUIRE(&v, p->n_regs >= 1 && (p->n_instrs == 0 || p->instrs), "empty program");
    REQUIRE(&v, p->sink.kind <= SINK_WINDOW && p->source.kind <= SRC_STREAM, "no such source or sink");
    REQUIRE(&v,
            p->source.kind != SRC_CALLS || (p->sink.kind == SINK_NONE && p->sink.n_regs == 0 && p->sink.n_keys == 0),
            "calls have no sink");
    REQUIRE(&v, p->source.kind != SRC_TABLE || p->source.table, "source has no table");
    REQUIRE(&v, p->source.kind != SRC_STREAM || p->source.stream, "source has no stream");
    REQUIRE(&v, p->source.kind != SRC_SERIES || p->source.step != 0, "series without step");
    int64_t bytes = p->n_regs + (int64_t)sizeof(int32_t) * (p->n_instrs + 1);
    int32_t *stack = mem_calloc(NULL, bytes, e); /* and the registers' states */
    if (!stack) return ST_ERROR;
    Status s = walk(&v, (uint8_t *)(stack + p->n_instrs + 1));
    if (s == ST_OK && p->source.kind == SRC_CALLS) s = check_statements(&v, stack);
    mem_free(NULL, stack, bytes);
    return s;
}
