/* func.c - the function table, overload resolution, common types, and evaluation of one call.
 *
 * The tables of the func_*.c files are merged once into one array sorted by name, so that FuncDef
 * pointers are stable and a name's overloads are neighbours. Resolution follows chapter 10 of
 * PostgreSQL's manual ("Type Conversion"): exact match, castable candidates, most exact matches,
 * preferred types, then guesses for unknown literals by category. PostgreSQL has mixed operators
 * such as float4 + float8; here both sides become float8 beforehand.
 *
 * Numeric arguments: after a candidate is chosen, numerics get their final precision and scale. Unless
 * the function takes any scale they all get a common one, with room for one more digit
 * where the result needs it (+, -), so that operands and result have one representation.
 */
#include <stdio.h>
#include <stdlib.h>
#include <pthread.h>

#include "base/log.h"
#include "types/oid.h"
#include "types/func_int.h"

enum { FUNC_TABLE_MAX = 1800, CALL_ARGS_MAX = 1664 };

static FuncDef func_all[FUNC_TABLE_MAX];
static int64_t func_count;
static pthread_once_t func_once = PTHREAD_ONCE_INIT;

static int def_cmp(const void *a, const void *b) {
    const FuncDef *x = a, *y = b;
    int c = strcmp(x->name, y->name);
    if (c) return c;
    if (x->nargs != y->nargs) return x->nargs < y->nargs ? -1 : 1;
    return memcmp(x->args, y->args, sizeof x->args);
}

static void func_build(void) {
    const FuncDefs *const tables[] = {
        &func_defs_numeric,     &func_defs_text,       &func_defs_regex,         &func_defs_datetime,
        &func_defs_format,      &func_defs_format_num, &func_defs_misc,          &func_defs_sorted,
        &func_defs_array,       &func_defs_percentile, &func_defs_rows,          &func_defs_record,
        &func_defs_array_parts, &func_defs_composite,  &func_defs_dec,           &func_defs_json,
        &func_defs_json_set,    &func_defs_json_make,  &func_defs_json_populate, &func_defs_jsonpath,
        &func_defs_bits,        &func_defs_sequence,   &func_defs_catalog,       &func_defs_range,
        &func_defs_encode,      &func_defs_lsn,        &func_defs_money,         &func_defs_names};
    int64_t total = 0;
    for (int64_t t = 0; t < ARRAY_LEN(tables); t++) total += tables[t]->count;
    if (total > FUNC_TABLE_MAX) { /* all are refused, so that no function goes missing unseen */
        log_write(LOG_ERROR, "%lld functions, and FUNC_TABLE_MAX is %d", (long long)total, FUNC_TABLE_MAX);
        return;
    }
    for (int64_t t = 0; t < ARRAY_LEN(tables); t++)
        for (int64_t i = 0; i < tables[t]->count; i++) func_all[func_count++] = tables[t]->defs[i];
    qsort(func_all, (size_t)func_count, sizeof func_all[0], def_cmp);
}

const FuncDef *func_table(int64_t *count) {
    pthread_once(&func_once, func_build);
    *count = func_count;
    return func_all;
}

static int name_cmp(Slice a, const char *b) {
    size_t bl = strlen(b), n = (size_t)a.len < bl ? (size_t)a.len : bl;
    int c = n ? memcmp(a.ptr, b, n) : 0;
    return c ? c : (a.len > (int64_t)bl) - (a.len < (int64_t)bl);
}

/* The run of overloads named `name`. */
static const FuncDef *func_find(Slice name, int64_t *count) {
    int64_t n, lo = 0, hi;
    const FuncDef *t = func_table(&n);
    for (hi = n; lo < hi;) {
        int64_t mid = (lo + hi) / 2;
        if (name_cmp(name, t[mid].name) > 0) lo = mid + 1;
        else hi = mid;
    }
    int64_t end = lo;
    while (end < n && name_cmp(name, t[end].name) == 0) end++;
    *count = end - lo;
    return t + lo;
}

const FuncDef *func_named(Slice name) {
    int64_t n;
    const FuncDef *f = func_find(name, &n);
    return n > 0 ? f : NULL;
}
bool func_is_aggregate(Slice name) {
    const FuncDef *f = func_named(name);
    return f && (f->flags & FN_AGGREGATE);
}

/* ---- types ----------------------------------------------------------------- */

char type_category(uint8_t id) {
    switch ((TypeId)id) {
    case T_UNKNOWN: return 'X';
    case T_BOOL: return 'B';
    case T_INT2:
    case T_INT4:
    case T_INT8:
    case T_NUMERIC:
    case T_DECIMAL:
    case T_FLOAT4:
    case T_FLOAT8:
    case T_OID:
    case T_MONEY: return 'N';
    case T_CHAR:
    case T_VARCHAR:
    case T_TEXT: return 'S';
    case T_DATE:
    case T_TIME:
    case T_TIMESTAMP:
    case T_TIMESTAMPTZ:
    case T_TIMETZ: return 'D';
    case T_INTERVAL: return 'T';
    case T_BYTEA:
    case T_UUID:
    case T_JSON:
    case T_JSONB:
    case T_JSONPATH:
    case T_LSN: return 'U';
    case T_ARRAY: return 'A';
    case T_BIT:
    case T_VARBIT: return 'V';
    case T_ENUM: return 'E';
    case T_COMPOSITE: return 'C';
    case T_RANGE:
    case T_MULTIRANGE: return 'R';
    default: return 'P';
    }
}

bool type_preferred(uint8_t id) {
    return id == T_BOOL || id == T_FLOAT8 || id == T_OID || id == T_TEXT || id == T_TIMESTAMPTZ || id == T_INTERVAL ||
           id == T_VARBIT;
}

Type type_as_numeric(Type t) {
    switch (t.id) {
    case T_NUMERIC: return t;
    case T_INT2: return type_numeric(5, 0);
    case T_INT4: return type_numeric(10, 0);
    case T_INT8: return type_numeric(19, 0);
    default: return type_make(T_NUMERIC);
    }
}

/* The smallest numeric that holds both, as far as 38 digits allow. */
static Type numeric_common(Type a, Type b) {
    int s = MAX_OF(a.scale, b.scale), w = MAX_OF(a.precision - a.scale, b.precision - b.scale);
    Type t = type_numeric(MIN_OF(NUMERIC_MAX_PRECISION, MAX_OF(w + s, 1)), s);
    t.flags = (a.flags | b.flags) & TF_UNCONSTRAINED;
    return t;
}

static Type arg_type_of(uint8_t id) {
    Type t = type_make((TypeId)id);
    if (id == T_CHAR) t.length = 0;
    return t;
}

static bool implicit(uint8_t from, uint8_t to) {
    return from == to || cast_exists(arg_type_of(from), arg_type_of(to), CAST_IMPLICIT);
}

bool type_common(Type a, Type b, Type *out) {
    if (a.id == T_UNKNOWN && b.id == T_UNKNOWN) return *out = type_make(T_TEXT), true;
    if (a.id == T_UNKNOWN) return *out = b, true;
    if (b.id == T_UNKNOWN) return *out = a, true;
    if (a.id == b.id) {
        *out = a;
        if (a.id == T_ARRAY) {
            Type element;
            if (!type_common(type_element(a), type_element(b), &element)) return false;
            *out = type_array_of(element);
        } else if (type_is_defined(a)) return a.length == b.length;
        else if (a.id == T_NUMERIC) *out = numeric_common(a, b);
        else if (!type_eq(a, b)) {
            *out = arg_type_of(a.id);
            if (a.precision == b.precision) out->precision = a.precision;
        }
        return true;
    }
    if (type_category(a.id) != type_category(b.id)) return false;
    Type r = a, other = b;
    if (!type_preferred(a.id) && implicit(a.id, b.id) && !implicit(b.id, a.id)) r = b, other = a;
    if (!implicit(other.id, r.id)) return false;
    if (r.id == T_NUMERIC) r = numeric_common(type_as_numeric(r), type_as_numeric(other));
    else if (type_is_text(r) || type_is_bits(r)) r = arg_type_of(r.id);
    *out = r;
    return true;
}

/* ---- resolution ------------------------------------------------------------ */

static uint8_t slot(const FuncDef *f, int k) { return f->args[k < f->nargs ? k : f->nargs > 0 ? f->nargs - 1 : 0]; }
static uint8_t slot_type(const FuncDef *f, int k) {
    return slot(f, k) & FUNC_ARRAY_OF ? T_ARRAY : slot(f, k) == FUNC_REGCLASS ? T_OID : slot(f, k);
}
Type func_arg_type(const FuncDef *f, int k) {
    if (slot(f, k) & FUNC_ARRAY_OF) return type_array_of(arg_type_of(slot(f, k) & ~FUNC_ARRAY_OF));
    if (slot(f, k) == FUNC_REGCLASS) return oid_type(OID_CLASS);
    return arg_type_of(slot(f, k));
}

static bool takes(const FuncDef *f, int nargs) {
    return f->nargs == nargs || ((f->flags & FN_VARIADIC) && nargs > f->nargs);
}

/* Whether arrays have elements that the arguments declared as arrays of one type take. */
static bool elements_fit(const FuncDef *f, int nargs, const Type *args) {
    for (int k = 0; k < nargs; k++)
        if ((slot(f, k) & FUNC_ARRAY_OF) && args[k].id == T_ARRAY &&
            !implicit(type_element(args[k]).id, slot(f, k) & ~FUNC_ARRAY_OF))
            return false;
    return true;
}

static bool exact_match(const FuncDef *f, int nargs, const uint8_t *in, const Type *args) {
    if (!takes(f, nargs) || !elements_fit(f, nargs, args)) return false;
    for (int k = 0; k < nargs; k++)
        if (in[k] == T_UNKNOWN || slot_type(f, k) != in[k]) return false;
    return true;
}

/* Overloads of numeric without (p,s) are for calls that have one: numbers of other types stay what they are. */
static bool decimals_wanted(const FuncDef *f, int nargs, const uint8_t *in) {
    bool has = false, given = false, others = false;
    for (int k = 0; k < nargs; k++) {
        uint8_t want = slot_type(f, k);
        has |= want == T_DECIMAL;
        others |= want == T_NUMERIC;
        given |= in[k] == T_DECIMAL;
    }
    return !has || given || others;
}

/* anynonarray || text must not turn text-like values away from text || text, hence "any" matches everything. */
static bool castable(const FuncDef *f, int nargs, const uint8_t *in, const Type *args) {
    if (!takes(f, nargs) || !decimals_wanted(f, nargs, in) || !elements_fit(f, nargs, args)) return false;
    for (int k = 0; k < nargs; k++) {
        uint8_t want = slot_type(f, k);
        if (want != T_ANY && in[k] != T_UNKNOWN && !implicit(in[k], want)) return false;
    }
    return true;
}

static int keep_best(const FuncDef **c, int n, const int *score) {
    int best = -1, m = 0;
    for (int i = 0; i < n; i++) best = MAX_OF(best, score[i]);
    for (int i = 0; i < n; i++)
        if (score[i] == best) c[m++] = c[i];
    return m;
}

enum { CAND_MAX = 64 };

/* Step 4e: unknown arguments get a category from the candidates. */
static int filter_unknowns(const FuncDef **c, int n, int nargs, const uint8_t *in) {
    char cat[64] = {0};
    bool pref[64] = {0};
    if (nargs > 64) return n;
    for (int k = 0; k < nargs; k++) {
        if (in[k] != T_UNKNOWN) continue;
        bool conflict = false;
        for (int i = 0; i < n; i++) {
            uint8_t t = slot_type(c[i], k);
            char g = type_category(t);
            if (!cat[k]) {
                cat[k] = g;
                pref[k] = type_preferred(t);
            } else if (cat[k] == g) {
                pref[k] |= type_preferred(t);
            } else if (g == 'S') {
                cat[k] = 'S';
                pref[k] = type_preferred(t);
            } else if (cat[k] != 'S') {
                conflict = true;
            }
        }
        if (conflict && cat[k] != 'S') return n;
    }
    const FuncDef *kept[CAND_MAX];
    int m = 0;
    for (int i = 0; i < n; i++) {
        bool ok = true;
        for (int k = 0; k < nargs && ok; k++) {
            if (in[k] != T_UNKNOWN) continue;
            uint8_t t = slot_type(c[i], k);
            ok = type_category(t) == cat[k] && (!pref[k] || type_preferred(t));
        }
        if (ok) kept[m++] = c[i];
    }
    if (!m) return n;
    memcpy(c, kept, sizeof kept[0] * (size_t)m);
    return m;
}

/* Narrows candidates; the result is what is left (1 = resolved, 0 = none, more = ambiguous). */
static int select_candidate(const FuncDef **c, int n, int nargs, const uint8_t *in) {
    int score[CAND_MAX], unknowns = 0;
    uint8_t known = T_UNKNOWN;
    bool same = true;
    for (int k = 0; k < nargs; k++) {
        if (in[k] == T_UNKNOWN) unknowns++;
        else if (known == T_UNKNOWN) known = in[k];
        else if (known != in[k]) same = false;
    }
    for (int i = 0; i < n; i++) {
        score[i] = 0;
        for (int k = 0; k < nargs; k++) score[i] += in[k] != T_UNKNOWN && slot_type(c[i], k) == in[k];
    }
    n = keep_best(c, n, score);
    if (n == 1) return 1;
    for (int i = 0; i < n; i++) {
        score[i] = 0;
        for (int k = 0; k < nargs; k++) {
            uint8_t t = slot_type(c[i], k);
            score[i] +=
                in[k] != T_UNKNOWN && (t == in[k] || (type_category(t) == type_category(in[k]) && type_preferred(t)));
        }
    }
    n = keep_best(c, n, score);
    if (n == 1 || !unknowns) return n;
    n = filter_unknowns(c, n, nargs, in);
    if (n == 1 || known == T_UNKNOWN || !same) return n;
    /* Step 4f: all known arguments have one type; take the unknown ones for that type. */
    int m = 0;
    const FuncDef *pick = NULL;
    for (int i = 0; i < n; i++) {
        bool ok = true;
        for (int k = 0; k < nargs && ok; k++) ok = slot_type(c[i], k) == T_ANY || implicit(known, slot_type(c[i], k));
        if (ok) m++, pick = c[i];
    }
    if (m == 1) {
        c[0] = pick;
        return 1;
    }
    return n;
}

static void call_text(Slice name, bool is_operator, int nargs, const Type *args, char *buf, size_t size) {
    size_t len = 0;
#define PUT(...)                                                   \
    do {                                                           \
        if (len < size) {                                          \
            int w_ = snprintf(buf + len, size - len, __VA_ARGS__); \
            if (w_ > 0) len += (size_t)w_;                         \
        }                                                          \
    } while (0)
    int nl = (int)MIN_OF(name.len, 128);
    if (is_operator) {
        if (nargs == 2) PUT("%s ", type_plain_name(args[0]));
        PUT("%.*s", nl, name.ptr);
        if (nargs >= 1) PUT(" %s", type_plain_name(args[nargs - 1]));
    } else {
        PUT("%.*s(", nl, name.ptr);
        for (int k = 0; k < nargs; k++) PUT("%s%s", k ? ", " : "", type_plain_name(args[k]));
        PUT(")");
    }
#undef PUT
}

static Status resolve_error(Slice name, bool is_operator, int nargs, const Type *args, int64_t pos, bool ambiguous,
                            Err *e) {
    char call[512] = "";
    call_text(name, is_operator, nargs, args, call, sizeof call);
    const char *what = is_operator ? "operator" : "function";
    if (ambiguous) {
        err_at(e, pos, ERR_AMBIGUOUS_FUNCTION, is_operator ? "%s is not unique: %s" : "%s %s is not unique", what,
               call);
        err_hint(e, "Could not choose a best candidate %s. You might need to add explicit type casts.", what);
    } else {
        err_at(e, pos, ERR_UNDEFINED_FUNCTION, is_operator ? "%s does not exist: %s" : "%s %s does not exist", what,
               call);
        if (is_operator && nargs == 1)
            err_hint(e, "No operator matches the given name and argument type. You might need to add an explicit type "
                        "cast.");
        else
            err_hint(e, "No %s matches the given name and argument types. You might need to add explicit type casts.",
                     what);
    }
    return ST_ERROR;
}

/* The one enumerated type of a call's arguments, as PostgreSQL's anyenum. */
static Status one_enum(const FuncDef *f, int nargs, const Type *args, int64_t pos, Type *out, Err *e) {
    bool wanted = false, several = false;
    for (int k = 0; k < nargs; k++) {
        if (slot_type(f, k) != T_ENUM) continue;
        wanted = true;
        if (args[k].id != T_ENUM) continue;
        several |= out->id == T_ENUM && out->length != args[k].length;
        *out = args[k];
    }
    if (!wanted || (out->id == T_ENUM && !several)) return ST_OK;
    return resolve_error(slice_of(f->name), (f->flags & FN_OPERATOR) != 0, nargs, args, pos, false, e);
}

/* Types to cast the arguments to, and the result's type. */
static Status coerce_args(const FuncDef *f, int nargs, const Type *args, int64_t pos, Type *coerced, Type *ret,
                          Err *e) {
    if (f->flags & FN_COMMON_TYPE) {
        Type t = args[0];
        for (int k = 1; k < nargs; k++)
            if (!type_common(t, args[k], &t)) {
                char a[TYPE_NAME_MAX], b[TYPE_NAME_MAX];
                return err_at(e, pos, ERR_DATATYPE_MISMATCH, "%s types %s and %s cannot be matched",
                              strcmp(f->name, "greatest") == 0 ? "GREATEST" : "LEAST", type_name(t, &a),
                              type_name(args[k], &b));
            }
        if (t.id == T_UNKNOWN) t = type_make(T_TEXT);
        for (int k = 0; k < nargs; k++) coerced[k] = t;
        *ret = t;
        return ST_OK;
    }
    Type common = {0}, label = {0}, row = type_make(T_COMPOSITE);
    int numerics = 0;
    TRY(one_enum(f, nargs, args, pos, &label, e));
    for (int k = 0; k < nargs; k++)
        if (args[k].id == T_COMPOSITE) row = args[k]; /* that of an untyped literal beside it */
    for (int k = 0; k < nargs; k++) {
        uint8_t want = slot_type(f, k);
        if (want == T_ANY) coerced[k] = args[k].id == T_UNKNOWN ? type_make(T_TEXT) : args[k];
        else if (want == T_ENUM) coerced[k] = label;
        else if ((want == T_RANGE || want == T_MULTIRANGE) && args[k].id != want)
            return err_at(e, pos, ERR_DATATYPE_MISMATCH,
                          "could not determine polymorphic type because input has type unknown");
        else if (want == T_COMPOSITE) coerced[k] = args[k].id == T_COMPOSITE ? args[k] : row;
        else if (slot(f, k) & FUNC_ARRAY_OF) coerced[k] = func_arg_type(f, k);
        else if (want == T_NUMERIC) coerced[k] = type_as_numeric(args[k]);
        else if (want == args[k].id) coerced[k] = args[k];
        else coerced[k] = func_arg_type(f, k);
        if (want == T_NUMERIC) common = numerics++ ? numeric_common(common, coerced[k]) : coerced[k];
    }
    bool share = numerics > 1 && !(f->flags & FN_ANY_NUMERIC_SCALE);
    for (int k = 0; share && k < nargs; k++)
        if (slot_type(f, k) == T_NUMERIC) coerced[k] = common;
    *ret = f->type_fn ? f->type_fn(f, nargs, coerced) : arg_type_of(f->ret);
    /* One representation for operands and result; widening a precision costs nothing within 18 digits. */
    if (share && ret->id == T_NUMERIC && ret->scale == common.scale && ret->precision > common.precision)
        for (int k = 0; k < nargs; k++)
            if (slot_type(f, k) == T_NUMERIC) coerced[k].precision = ret->precision;
    return ST_OK;
}

Status func_resolve(Slice name, bool is_operator, int nargs, const Type *args, int64_t position, const FuncDef **out,
                    Type *coerced, Type *ret, Err *e) {
    if (nargs > CALL_ARGS_MAX)
        return err_at(e, position, ERR_PROGRAM_LIMIT, "cannot pass more than %d arguments to a function",
                      CALL_ARGS_MAX);
    uint8_t in[CALL_ARGS_MAX];
    for (int k = 0; k < nargs; k++) in[k] = args[k].id;
    /* PostgreSQL's float4-float8 operators: a real with another number makes both double. */
    if (is_operator && nargs == 2 && in[0] != in[1] && (in[0] == T_FLOAT4 || in[1] == T_FLOAT4) &&
        type_is_number(args[0]) && type_is_number(args[1]))
        in[0] = in[1] = T_FLOAT8;

    int64_t count;
    const FuncDef *f = func_find(name, &count);
    const FuncDef *best = NULL;
    for (int64_t i = 0; i < count && !best; i++)
        if (((f[i].flags & FN_OPERATOR) != 0) == is_operator && exact_match(&f[i], nargs, in, args)) best = &f[i];
    /* One unknown operand of an operator is taken for the other's type. */
    if (!best && is_operator && nargs == 2 && (in[0] == T_UNKNOWN) != (in[1] == T_UNKNOWN)) {
        uint8_t k = in[0] == T_UNKNOWN ? in[1] : in[0], both[2] = {k, k};
        for (int64_t i = 0; i < count && !best; i++)
            if ((f[i].flags & FN_OPERATOR) && exact_match(&f[i], 2, both, args)) best = &f[i];
    }
    if (!best) {
        const FuncDef *c[CAND_MAX];
        int n = 0;
        for (int64_t i = 0; i < count && n < CAND_MAX; i++)
            if (((f[i].flags & FN_OPERATOR) != 0) == is_operator && castable(&f[i], nargs, in, args)) c[n++] = &f[i];
        if (n > 1) n = select_candidate(c, n, nargs, in);
        if (n != 1) return resolve_error(name, is_operator, nargs, args, position, n > 1, e);
        best = c[0];
    }
    *out = best;
    return coerce_args(best, nargs, args, position, coerced, ret, e);
}

/* Digits after the point of a field, as PostgreSQL has them. */
static Type field_type(const Value *field, Type of, Type ret) {
    if (!field || field->is_null) return ret;
    switch (date_field_from_name((Slice){field->u.str.ptr, field->u.str.len})) {
    case DF_JULIAN: return of.id == T_DATE ? type_numeric(16, 0) : type_numeric(NUMERIC_MAX_PRECISION, 20);
    case DF_EPOCH: return of.id == T_DATE ? type_numeric(16, 0) : ret;
    case DF_MILLISECONDS: return type_numeric(16, 3);
    case DF_HOUR:
    case DF_MICROSECONDS: return type_numeric(16, 0);
    default: return ret;
    }
}

Type func_refine_type(const FuncDef *f, int nargs, const Type *args, const Value *const *consts, Type ret) {
    if (nargs == 2 && ret.id == T_NUMERIC && (strcmp(f->name, "extract") == 0 || strcmp(f->name, "extract_num") == 0))
        return field_type(consts[0], args[1], ret);
    if (nargs != 2 || ret.id != T_NUMERIC || !consts[1] || consts[1]->is_null || consts[1]->type.id != T_INT4)
        return ret;
    if (strcmp(f->name, "round") != 0 && strcmp(f->name, "trunc") != 0) return ret;
    int whole = args[0].precision - args[0].scale + 1;
    int s = MAX_OF(consts[1]->u.i32, 0);
    s = MIN_OF(s, NUMERIC_MAX_PRECISION + 1); /* no overflow below */
    if (whole + s > NUMERIC_MAX_PRECISION) s = MIN_OF(s, args[0].scale);
    return type_numeric(MIN_OF(whole + s, NUMERIC_MAX_PRECISION), s);
}

/* ---- evaluation -------------------------------------------------------------- */

Status func_eval(const FuncDef *f, FuncKernel kernel, const SessionInfo *s, Arena *a, Type ret, int nargs,
                 const Value *args, Value *out, Err *e) {
    static const SessionInfo none = {.user = "", .database = ""};
    if (!kernel && f) kernel = f->kernel;
    if (!kernel) return err_internal(e, "function %s has no kernel", f ? f->name : "?");
    bool strict = !f || (f->flags & FN_STRICT);
    memset(out, 0, sizeof *out);
    out->type = ret;
    for (int k = 0; strict && k < nargs; k++)
        if (args[k].is_null) {
            out->is_null = true;
            return ST_OK;
        }
    Vec *v = arena_array(a, Vec, nargs + 1);
    uint8_t *valid = arena_alloc(a, nargs + 1);
    if (!v || !valid) return err_is_set(e) ? ST_ERROR : err_oom(e);
    for (int k = 0; k < nargs; k++) {
        valid[k] = !args[k].is_null;
        /* The cells are only read. */
        v[k] = (Vec){.data = (void *)(uintptr_t)value_cell_const(&args[k]),
                     .valid = args[k].is_null ? &valid[k] : NULL,
                     .phys = (uint8_t)type_phys(args[k].type),
                     .type = args[k].type};
    }
    uint8_t ok = 1;
    Vec r = {.data = value_cell(out), .valid = strict ? NULL : &ok, .phys = (uint8_t)type_phys(ret), .type = ret};
    FuncCtx ctx = {.func = f, .arena = a, .err = e, .session = s ? s : &none, .state_arena = a, .ret = ret};
    TRY(kernel(&ctx, 1, v, nargs, &r));
    out->is_null = !ok;
    dbg_assert(value_agrees(ret, out));
    return ST_OK;
}
