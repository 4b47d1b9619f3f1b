/* emit_make.c - calls of procedures that make strings and arrays, or look into arrays (prelude/kc_make.h).
 *
 * The text expects a variable `mem`, the item's scratch, and FAIL(code). A function of the prelude that gives up makes
 * the call fail with PF_ROOM: the virtual machine runs it again and finds the value, or words the error.
 */
#include "codegen/emit_int.h"
#include "codegen/emit_proc.h"

typedef enum MakeKind {
    MK_NONE,
    MK_VALUE,
    MK_MAKE,
    MK_COPY,
    MK_TEXT,
    MK_CAT,
    MK_CONCAT,
    MK_EXTREME,
    MK_ARRAY,
    MK_GET,
    MK_LENGTH,
    MK_SET,
    MK_APPEND,
    MK_PREPEND,
    MK_JOIN,
    MK_FIND,
    MK_QUANTIFIED
} MakeKind;
typedef struct MakeForm {
    const char *name;
    uint8_t kind, n_args, args[3]; /* types; T_VOID: any */
    const char *fn;
} MakeForm;

/* VALUE: fn(args); MAKE: fn(&mem, args, &result). Names without `fn` are made below. */
static const MakeForm forms[] = {{"||", MK_MAKE, 2, {T_TEXT, T_TEXT}, "text_cat"},
                                 {"||", MK_MAKE, 2, {T_BYTEA, T_BYTEA}, "text_cat"},
                                 {"||", MK_CAT, 2, {T_VOID, T_VOID}, NULL},
                                 {"upper", MK_MAKE, 1, {T_TEXT}, "text_upper"},
                                 {"lower", MK_MAKE, 1, {T_TEXT}, "text_lower"},
                                 {"btrim", MK_VALUE, 1, {T_TEXT}, "text_btrim"},
                                 {"trim", MK_VALUE, 1, {T_TEXT}, "text_btrim"},
                                 {"ltrim", MK_VALUE, 1, {T_TEXT}, "text_ltrim"},
                                 {"rtrim", MK_VALUE, 1, {T_TEXT}, "text_rtrim"},
                                 {"position", MK_VALUE, 2, {T_TEXT, T_TEXT}, "text_position"},
                                 {"strpos", MK_VALUE, 2, {T_TEXT, T_TEXT}, "text_position"},
                                 {"repeat", MK_MAKE, 2, {T_TEXT, T_INT4}, "text_repeat"},
                                 {"replace", MK_MAKE, 3, {T_TEXT, T_TEXT, T_TEXT}, "text_replace"},
                                 {"lpad", MK_MAKE, 3, {T_TEXT, T_INT4, T_TEXT}, "text_lpad"},
                                 {"rpad", MK_MAKE, 3, {T_TEXT, T_INT4, T_TEXT}, "text_rpad"},
                                 {"concat", MK_CONCAT, 0, {0}, NULL},
                                 {"least", MK_EXTREME, 0, {0}, NULL},
                                 {"greatest", MK_EXTREME, 0, {0}, NULL},
                                 {"cardinality", MK_VALUE, 1, {T_ARRAY}, "array_cardinality"},
                                 {"array_make", MK_ARRAY, 0, {0}, NULL},
                                 {"array_subscript", MK_GET, 2, {T_ARRAY, T_INT4}, NULL},
                                 {"array_element", MK_GET, 2, {T_ARRAY, T_INT4}, NULL},
                                 {"array_length", MK_LENGTH, 2, {T_ARRAY, T_INT4}, NULL},
                                 {"array_upper", MK_LENGTH, 2, {T_ARRAY, T_INT4}, NULL},
                                 {"array_lower", MK_LENGTH, 2, {T_ARRAY, T_INT4}, NULL},
                                 {"array_set", MK_SET, 3, {T_ARRAY, T_INT4, T_VOID}, NULL},
                                 {"array_append", MK_APPEND, 2, {T_ARRAY, T_VOID}, NULL},
                                 {"array_prepend", MK_PREPEND, 2, {T_VOID, T_ARRAY}, NULL},
                                 {"array_cat", MK_JOIN, 2, {T_ARRAY, T_ARRAY}, NULL},
                                 {"array_position", MK_FIND, 2, {T_ARRAY, T_VOID}, NULL},
                                 {"array_position", MK_FIND, 3, {T_ARRAY, T_VOID, T_INT4}, NULL}};
static const MakeForm text_form = {NULL, MK_TEXT, 1, {T_VOID}, NULL}, copy_form = {NULL, MK_COPY, 1, {T_VOID}, NULL},
                      quantified_form = {NULL, MK_QUANTIFIED, 2, {T_VOID, T_ARRAY}, NULL};

/* ---- which calls have a form ------------------------------------------------------------------------- */
static bool is_text(Type t) { return t.id == T_TEXT || t.id == T_VARCHAR || t.id == T_CHAR; }
static bool has_text(Type t) {
    return is_text(t) || t.id == T_BOOL || t.id == T_INT2 || t.id == T_INT4 || t.id == T_INT8 || t.id == T_NUMERIC ||
           t.id == T_DATE || t.id == T_TIME || t.id == T_TIMESTAMP;
}
static uint8_t element_phys(Type array) { return (uint8_t)type_phys(type_element(array)); }
/* A value that can be an element: of its form, or numerics that come wider or narrower. */
static bool fits_element(const Program *p, Reg r, uint8_t phys) {
    uint8_t have = p->regs[r].phys;
    return have == phys || ((have == PH_I64 || have == PH_I128) && (phys == PH_I64 || phys == PH_I128)) ||
           (p->regs[r].is_const && p->regs[r].value.is_null);
}
static bool array_form(const Program *p, const CallSite *c, const MakeForm *f) {
    static const int8_t array[] = {[MK_GET] = 0,  [MK_SET] = 0,  [MK_APPEND] = 0,    [MK_PREPEND] = 1,
                                   [MK_JOIN] = 0, [MK_FIND] = 0, [MK_QUANTIFIED] = 1};
    static const int8_t element[] = {[MK_GET] = -1,  [MK_SET] = 2,  [MK_APPEND] = 1,    [MK_PREPEND] = 0,
                                     [MK_JOIN] = -1, [MK_FIND] = 1, [MK_QUANTIFIED] = 0};
    Type t = c->arg_types[array[f->kind]];
    if (t.id != T_ARRAY) return false;
    if ((f->kind == MK_FIND || f->kind == MK_QUANTIFIED) && type_needs_key(t)) return false; /* not by their cells */
    uint8_t phys = element_phys(t);
    bool makes = f->kind != MK_GET && f->kind != MK_FIND && f->kind != MK_QUANTIFIED;
    if (phys > PH_STR || (makes && phys == PH_STR)) return false;
    return element[f->kind] < 0 || fits_element(p, c->args[element[f->kind]], phys);
}
static const MakeForm *form_of(const Program *p, const CallSite *c) {
    if (!c->arg_types) return NULL;
    if (!c->func) {
        Type from = c->arg_types[0], to = c->ret;
        if (is_text(to)) return has_text(from) ? &text_form : NULL;
        return cast_is_noop(from, to) && type_phys(from) == type_phys(to) ? &copy_form : NULL;
    }
    const MakeForm *f = NULL;
    for (int64_t i = 0; i < ARRAY_LEN(forms) && !f; i++) {
        const MakeForm *m = &forms[i];
        if (strcmp(m->name, c->func->name) != 0 || (m->n_args > 0 && m->n_args != c->n_args)) continue;
        f = m;
        for (int32_t k = 0; k < m->n_args && f; k++)
            if (m->args[k] != T_VOID && c->func->args[k] != m->args[k]) f = NULL;
    }
    if (!f && (strncmp(c->func->name, "array_any", 9) == 0 || strncmp(c->func->name, "array_all", 9) == 0))
        f = &quantified_form;
    if (!f) return NULL;
    if (f->kind == MK_CAT) return has_text(c->arg_types[0]) && has_text(c->arg_types[1]) ? f : NULL;
    for (int32_t k = 0; k < c->n_args && f->kind == MK_CONCAT; k++) /* booleans and char(n) have another text here */
        if (!has_text(c->arg_types[k]) || c->arg_types[k].id == T_BOOL || c->arg_types[k].id == T_CHAR) return NULL;
    for (int32_t k = 0; k < c->n_args && f->kind == MK_EXTREME; k++)
        if (c->arg_types[k].id == T_ARRAY || type_needs_key(c->arg_types[k]) ||
            p->regs[c->args[k]].phys != type_phys(c->ret))
            return NULL;
    if (f->kind == MK_ARRAY) {
        uint8_t phys = element_phys(c->ret);
        for (int32_t k = 0; k < c->n_args; k++)
            if (!fits_element(p, c->args[k], phys)) return NULL;
        return phys <= PH_STR ? f : NULL;
    }
    return f->kind >= MK_GET && f->kind != MK_LENGTH && !array_form(p, c, f) ? NULL : f;
}
bool make_has_form(const Program *p, const CallSite *c) { return form_of(p, c) != NULL; }

/* ---- writing ------------------------------------------------------------------------------------------- */
#define GIVE_UP(m) raise_code((m)->pc, PF_ROOM)

static void put_arg(Em *m, Reg r) { w(m, m->regs[r].phys == PH_STR ? "%t" : "%r", r); }
/* A value as an element of the form; zeros for NULL. */
static void put_element(Em *m, Reg r, uint8_t phys) {
    uint8_t have = m->regs[r].phys;
    if (have != phys && !(have == PH_I64 && phys == PH_I128) &&
        !(have == PH_I128 && phys == PH_I64)) { /* a NULL of no form */
        w(m, "%s", c_zero(phys));
        return;
    }
    if (NULLABLE(m, r)) w(m, "%v ? ", r);
    if (have == phys) put_arg(m, r);
    else if (phys == PH_I128) w(m, "i128_from_i64(%r)", r);
    else w(m, "(i64)i128_lo(%r)", r);
    if (NULLABLE(m, r)) w(m, " : %s", c_zero(phys));
}
/* str variable `to` = text of the register, whose row is valid. */
static void put_text_of(Em *m, Reg r, Type t, const char *to) {
    const char *fn = "text_of_i64";
    switch ((TypeId)t.id) {
    case T_BOOL: fn = "text_of_bool"; break;
    case T_DATE: fn = "text_of_date"; break;
    case T_TIME: fn = "text_of_time"; break;
    case T_TIMESTAMP: fn = "text_of_timestamp"; break;
    case T_NUMERIC:
        w(m, "if (!text_of_num_%s(&mem, %r, %d, %s, &%s)) FAIL(%d);\n", c_name[m->regs[r].phys], r, (int32_t)t.scale,
          t.flags & TF_UNCONSTRAINED ? "true" : "false", to, GIVE_UP(m));
        return;
    case T_INT2:
    case T_INT4:
    case T_INT8: break;
    default: w(m, "%s = %t;\n", to, r); return;
    }
    w(m, "if (!%s(&mem, %r, &%s)) FAIL(%d);\n", fn, r, to, GIVE_UP(m));
}
/* Declares the validity of a strict call; begins the block for rows without NULLs. */
static void strict_begin(Em *m, const CallSite *c, Reg d) {
    if (NULLABLE(m, d)) {
        w(m, "const bool v%d = true", d);
        for (int32_t i = 0; i < c->n_args; i++) w(m, " && %v", c->args[i]);
        w(m, ";\n");
    }
    w(m, "%s r%d = %s;\nif (%v) {\n", c_type[m->regs[d].phys], d, c_zero(m->regs[d].phys), d);
}

static void make(Em *m, const CallSite *c, Reg d, const char *fn) {
    strict_begin(m, c, d);
    w(m, "if (!%s(&mem", fn);
    for (int32_t i = 0; i < c->n_args; i++) {
        w(m, ", ");
        put_arg(m, c->args[i]);
    }
    w(m, ", &r%d)) FAIL(%d);\n}\n", d, GIVE_UP(m));
}
static void value(Em *m, const CallSite *c, Reg d, const char *fn) {
    strict_begin(m, c, d);
    w(m, "r%d = %s(", d, fn);
    for (int32_t i = 0; i < c->n_args; i++) {
        if (i) w(m, ", ");
        put_arg(m, c->args[i]);
    }
    w(m, ");\n}\n");
}
static void to_text(Em *m, const CallSite *c, Reg d) {
    Type from = c->arg_types[0], to = c->ret;
    bool cut = c->kernel == cast_kernel(from, to, CAST_EXPLICIT) && c->kernel != cast_kernel(from, to, CAST_ASSIGNMENT);
    char name[24];
    snprintf(name, sizeof name, "r%d", (int)d);
    strict_begin(m, c, d);
    put_text_of(m, c->args[0], from, name);
    if (to.id != T_TEXT && (to.length > 0 || to.id == T_CHAR))
        w(m, "if (!text_fit(r%d, %d, %s, %s, &r%d)) FAIL(%d);\n", d, (int32_t)to.length, cut ? "true" : "false",
          to.id == T_CHAR ? "true" : "false", d, GIVE_UP(m));
    w(m, "}\n");
}
static void cat(Em *m, const CallSite *c, Reg d) {
    strict_begin(m, c, d);
    w(m, "str left, right;\n");
    put_text_of(m, c->args[0], c->arg_types[0], "left");
    put_text_of(m, c->args[1], c->arg_types[1], "right");
    w(m, "if (!text_cat(&mem, left, right, &r%d)) FAIL(%d);\n}\n", d, GIVE_UP(m));
}

static void concat(Em *m, const CallSite *c, Reg d) {
    w(m, "const bool v%d = true;\nstr r%d = str_none();\n", d, d);
    for (int32_t i = 0; i < c->n_args; i++) {
        w(m, "if (%v) {\nstr part;\n", c->args[i]);
        put_text_of(m, c->args[i], c->arg_types[i], "part");
        w(m, "if (!text_cat(&mem, r%d, part, &r%d)) FAIL(%d);\n}\n", d, d, GIVE_UP(m));
    }
}
static void extreme(Em *m, const CallSite *c, Reg d) {
    uint8_t phys = m->regs[d].phys;
    bool least = strcmp(c->func->name, "least") == 0;
    char best[24];
    snprintf(best, sizeof best, "r%d", (int)d);
    w(m, "%s r%d = %s;\nbool v%d = false;\n", c_type[phys], d, c_zero(phys), d);
    for (int32_t i = 0; i < c->n_args; i++) {
        w(m, "if (%v) {\nconst %s one = ", c->args[i], c_type[phys]);
        put_arg(m, c->args[i]);
        w(m, ";\nif (!v%d || ", d);
        em_cmp3(m, &m->text.body, phys, "one", best);
        w(m, " %s 0) r%d = one;\nv%d = true;\n}\n", least ? "<" : ">", d, d);
    }
}

static void array(Em *m, const CallSite *c, Reg d) {
    uint8_t phys = element_phys(c->ret);
    bool nulls = false, text = phys == PH_STR;
    w(m, "str r%d;\n{\nconst u64 made = array_begin(&mem, %d, %d, %d, ", d, c->n_args, (int32_t)phys,
      text ? 4 : (int32_t)phys_size((Phys)phys));
    for (int32_t i = 0; i < c->n_args; i++) {
        if (!NULLABLE(m, c->args[i])) continue;
        w(m, nulls ? " || !%v" : "!%v", c->args[i]);
        nulls = true;
    }
    w(m, nulls ? ", 0" : "false, 0");
    for (int32_t i = 0; text && i < c->n_args; i++) w(m, " + (%v ? %t.len : 0)", c->args[i], c->args[i]);
    w(m, ");\nif (made == 0) FAIL(%d);\nconst u64 cells = array_at(made);\n(void)cells;\n", GIVE_UP(m));
    if (text) w(m, "u32 filled = 0;\n(void)filled;\n");
    for (int32_t i = 0; i < c->n_args; i++) {
        Reg r = c->args[i];
        if (nulls) w(m, "array_mark(made, %d, %v);\n", i, r);
        if (text) {
            w(m,
              "if (%v) {\nconst str part = %t;\ncopy_bytes(cells + %d + filled, part.ptr, part.len);\nfilled += "
              "(u32)part.len;\n}\nG(u32, cells)[%d] = filled;\n",
              r, r, 4 * c->n_args, i);
            continue;
        }
        w(m, "put_cell_%s(cells, %d, ", c_name[phys], i);
        put_element(m, r, phys);
        w(m, ");\n");
    }
    w(m, "r%d = array_done(made);\n}\n", d);
}
/* An array argument; NULL stands for an empty one. */
static void array_arg(Em *m, Reg r) {
    if (NULLABLE(m, r)) w(m, "(%v ? %t : str_none())", r, r);
    else w(m, "%t", r);
}
static void quantified(Em *m, const CallSite *c, Reg d) {
    static const char *const ops[] = {"", "<", "=", "<=", ">", "<>", ">="}; /* bits: less, equal, greater */
    const char *name = c->func->name;
    int32_t op = 1;
    while (op < 6 && strcmp(ops[op], name + 9) != 0) op++;
    uint8_t phys = element_phys(c->arg_types[1]);
    bool all = strncmp(name, "array_all", 9) == 0;
    w(m, "bool r%d = %s;\nconst bool v%d = %v && array_quantified_%s(%d, %s, ", d, all ? "true" : "false", d,
      c->args[1], c_name[phys], op, all ? "true" : "false");
    put_element(m, c->args[0], phys);
    w(m, ", %v, %t, &r%d);\n", c->args[0], c->args[1], d);
}
static void find(Em *m, const CallSite *c, Reg d) {
    uint8_t phys = element_phys(c->arg_types[0]);
    if (c->n_args > 2) w(m, "if (%v && !%v) FAIL(%d);\n", c->args[0], c->args[2], GIVE_UP(m));
    w(m, "const i32 r%d = %v ? array_find_%s(%t, ", d, c->args[0], c_name[phys], c->args[0]);
    put_element(m, c->args[1], phys);
    w(m, ", %v, ", c->args[1]);
    if (c->n_args > 2) w(m, "%r", c->args[2]);
    else w(m, "1");
    w(m, ") : 0;\nconst bool v%d = r%d > 0;\n", d, d);
}
static void change(Em *m, const CallSite *c, const MakeForm *f, Reg d) {
    const Reg *a = c->args;
    uint8_t phys = element_phys(c->ret);
    w(m, "const bool v%d = true;\nstr r%d;\n", d, d);
    if (f->kind == MK_SET) {
        w(m, "if (!%v || %r < 1 || (%r > 1 && array_n(", a[1], a[1], a[1]);
        array_arg(m, a[0]);
        w(m, ") == 0)) FAIL(%d);\n", GIVE_UP(m));
    }
    const char *what = f->kind == MK_SET ? "set" : f->kind == MK_APPEND ? "append" : "prepend";
    w(m, "if (!array_%s_%s(&mem, ", what, c_name[phys]);
    if (f->kind == MK_PREPEND) {
        put_element(m, a[0], phys);
        w(m, ", %v, ", a[0]);
        array_arg(m, a[1]);
    } else {
        Reg x = f->kind == MK_SET ? a[2] : a[1];
        array_arg(m, a[0]);
        if (f->kind == MK_SET) w(m, ", (i64)%r - 1", a[1]);
        w(m, ", ");
        put_element(m, x, phys);
        w(m, ", %v", x);
    }
    w(m, ", &r%d)) FAIL(%d);\n", d, GIVE_UP(m));
}
static void join(Em *m, const CallSite *c, Reg d) {
    Reg a = c->args[0], b = c->args[1];
    w(m, "const bool v%d = %v || %v;\nstr r%d = %v ? %t : %v ? %t : str_none();\n", d, a, b, d, a, a, b, b);
    w(m, "if (%v && %v) {\nif (!array_cat_%s(&mem, %t, %t, &r%d)) FAIL(%d);\n}\n", a, b, c_name[element_phys(c->ret)],
      a, b, d, GIVE_UP(m));
}

/* What looks at subscripts takes arrays of one dimension from 1 only. */
static void check_shapes(Em *m, const CallSite *c, const MakeForm *f) {
    if (f->kind < MK_GET || f->kind == MK_QUANTIFIED || strcmp(f->name, "array_element") == 0) return;
    for (int32_t k = 0; k < f->n_args; k++) {
        Reg r = c->args[k];
        if (f->args[k] != T_ARRAY) continue;
        int32_t view = f->kind == MK_GET && m->views ? m->views[r] : 0;
        if (view > 0) w(m, "if (a%d.shaped != 0) FAIL(%d);\n", view - 1, GIVE_UP(m));
        else w(m, "if (%v && array_shaped(%t)) FAIL(%d);\n", r, r, GIVE_UP(m));
    }
}

bool em_make(Em *m, const Instr *in) {
    const CallSite *c = in->aux;
    const MakeForm *f = form_of(m->prog, c);
    Reg d = in->dst;
    if (!f) return false;
    check_shapes(m, c, f);
    switch ((MakeKind)f->kind) {
    case MK_VALUE: value(m, c, d, f->fn); break;
    case MK_MAKE: make(m, c, d, f->fn); break;
    case MK_COPY:
        strict_begin(m, c, d);
        w(m, "r%d = ", d);
        put_arg(m, c->args[0]);
        w(m, ";\n}\n");
        break;
    case MK_TEXT: to_text(m, c, d); break;
    case MK_CAT: cat(m, c, d); break;
    case MK_CONCAT: concat(m, c, d); break;
    case MK_EXTREME: extreme(m, c, d); break;
    case MK_ARRAY:
        array(m, c, d);
        w(m, "const bool v%d = true;\n", d);
        break;
    case MK_GET: {
        uint8_t phys = element_phys(c->arg_types[0]);
        int32_t view = m->views ? m->views[c->args[0]] : 0;
        if (view > 0) {
            m->views_used[view - 1] = true;
            w(m, "%s r%d = %s;\nconst bool v%d = %v && arr_get_%s(a%d, %r, &r%d);\n", c_type[phys], d, c_zero(phys), d,
              c->args[1], c_name[phys], view - 1, c->args[1], d);
            break;
        }
        w(m, "%s r%d = %s;\nconst bool v%d = %v && %v && array_get_%s(%t, %r, &r%d);\n", c_type[phys], d, c_zero(phys),
          d, c->args[0], c->args[1], c_name[phys], c->args[0], c->args[1], d);
        break;
    }
    case MK_LENGTH:
        w(m, "const i32 r%d = %v && %v && %r == 1 ? ", d, c->args[0], c->args[1], c->args[1]);
        w(m, strcmp(c->func->name, "array_lower") == 0 ? "(i32)(array_n(%t) > 0)" : "array_n(%t)", c->args[0]);
        w(m, " : 0;\nconst bool v%d = r%d > 0;\n", d, d);
        break;
    case MK_SET:
    case MK_APPEND:
    case MK_PREPEND: change(m, c, f, d); break;
    case MK_JOIN: join(m, c, d); break;
    case MK_FIND: find(m, c, d); break;
    case MK_QUANTIFIED: quantified(m, c, d); break;
    case MK_NONE: return false;
    }
    return true;
}
