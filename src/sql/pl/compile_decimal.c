/* compile_decimal.c - how a bulk's program holds variables of numeric without (p,s).
 *
 * Such a value has a scale of its own and is a string (types/dec.h), which kernels on devices do not compute with.
 * Where nothing can tell the difference the program has an integer of 128 bits in its place:
 *
 *   - A variable whose values all have one scale that is known (columns and variables of numeric(p,s), and what +, -, *
 *     and sum make of these) is a numeric(38,s) of that scale: `total := amount * (1 - discount)`.
 *   - A parameter is a numeric(38,16) of unknown scale (TF_UNCONSTRAINED, which results of +, -, * inherit) as long as
 *     no statement depends on the scale: sums, products, comparisons, and assignments to numeric(p,s) do not; a text of
 *     the value does, and so does a quotient, a call of a function, and a variable or column without (p,s). Arguments
 *     that this form does not hold as they are let the bulk run one call at a time (session/pool/bulk_forms.h).
 *
 * All others stay strings. The dry walk finds out: a variable is undecided until a value is assigned that has a scale,
 * and wide, a string, when another one comes, or when a walk ends without having decided any. Decisions only go in this
 * direction, and the dry walk is repeated until there is no new one. Routines that are called have strings.
 */
#include "sql/pl/compile_int.h"

typedef enum DecimalState { DECIMAL_OPEN, DECIMAL_SCALED, DECIMAL_WIDE } DecimalState;
typedef struct DecimalVar {
    uint8_t state;
    bool waits; /* a value of unknown scale was assigned in this walk */
    int8_t scale;
} DecimalVar;
typedef struct CpDecimals {
    bool wide_params;
    bool changed, scale_seen; /* in this walk: a decision was made; something depends on an unknown scale */
    int32_t n;
    DecimalVar *vars; /* by variable of the routine; the last one is its result */
} CpDecimals;

static bool of_unknown_scale(Type t) { return t.id == T_NUMERIC && (t.flags & TF_UNCONSTRAINED); }
static bool is_own(const Cp *c, const PlFunction *f) { return c->decimals && c->decimals_of == f; }

Status cp_decimals(Cp *c) {
    Registry *r = c->reg;
    int32_t f = 0;
    while (f < r->n_functions && r->functions[f] != c->at.f) f++;
    if (f == r->n_functions) return ST_OK;
    if (!r->decimals && !(r->decimals = arena_calloc(r->arena, r->n_functions * (int64_t)sizeof *r->decimals)))
        return cp_oom(c);
    CpDecimals *d = r->decimals[f];
    if (!d) {
        d = r->decimals[f] = arena_new_of(r->arena, CpDecimals);
        if (!d) return cp_oom(c);
        *d = (CpDecimals){.n = c->at.f->n_vars + 1};
        if (!(d->vars = arena_calloc(r->arena, d->n * (int64_t)sizeof *d->vars))) return cp_oom(c);
    }
    d->changed = d->scale_seen = false;
    for (int32_t i = 0; i < d->n; i++) d->vars[i].waits = false;
    c->decimals = d;
    c->decimals_of = c->at.f;
    return ST_OK;
}
bool cp_decimals_changed(Cp *c) {
    CpDecimals *d = c->decimals;
    if (!d || !c->dry || d->changed) return d && c->dry;
    for (int32_t i = 0; i < d->n; i++) {
        DecimalVar *v = &d->vars[i];
        if (!v->waits || v->state == DECIMAL_WIDE) continue;
        v->state = DECIMAL_WIDE;
        d->changed = true;
    }
    if (!d->changed && d->scale_seen && !d->wide_params) d->changed = d->wide_params = true;
    return d->changed;
}

static bool is_input(const PlFunction *f, int32_t var) { return var < f->n_params && f->param_modes[var] == PL_IN; }
Type cp_decimal_form(Cp *c, int32_t var, Type t) {
    const PlFunction *f = c->at.f;
    if (t.id != T_DECIMAL || t.length != 0 || !is_own(c, f)) return t;
    if (var < f->n_params && f->param_modes[var] == PL_INOUT) return t;
    const DecimalVar *v = &c->decimals->vars[var < 0 ? c->decimals->n - 1 : var];
    if (is_input(f, var)) return c->decimals->wide_params ? t : type_make(T_NUMERIC);
    if (v->state == DECIMAL_WIDE) return t;
    return v->state == DECIMAL_SCALED ? type_numeric(NUMERIC_MAX_PRECISION, v->scale) : type_make(T_NUMERIC);
}
static void see_scale(Cp *c) {
    if (c->dry && c->decimals) c->decimals->scale_seen = true;
}

/* The routine's variable that the program's one is; n - 1: its result; -1: none that is of concern here. */
static int32_t own_variable(const Cp *c, int32_t var) {
    const PlFunction *f = c->decimals_of;
    if (c->at.f != f || c->at.call) return -1;
    if (var == c->at.ret && var >= 0) return f->ret.id == T_DECIMAL && f->ret.length == 0 ? c->decimals->n - 1 : -1;
    for (int32_t i = 0; i < f->n_vars; i++) {
        const PlVar *v = &f->vars[i];
        if (c->at.var_of[i] == var)
            return v->kind == PLV_SCALAR && v->type.id == T_DECIMAL && v->type.length == 0 ? i : -1;
    }
    return -1;
}
bool cp_decimal_assigned(Cp *c, int32_t var, const Expr *e) {
    if (!c->dry || !c->decimals) return false;
    const int32_t own = own_variable(c, var);
    if (own < 0 || (e->kind == EX_CONST && e->u.value.is_null)) return false;
    const bool exact = type_is_integer(e->type) || e->type.id == T_NUMERIC, open = of_unknown_scale(e->type);
    const int scale = e->type.id == T_NUMERIC ? e->type.scale : 0;
    if (is_input(c->decimals_of, own)) {
        if (c->decimals->wide_params || (exact && scale <= NUMERIC_DEFAULT_SCALE)) return false;
        return c->decimals->wide_params = c->decimals->changed = true;
    }
    DecimalVar *v = &c->decimals->vars[own];
    if (v->state == DECIMAL_WIDE) return false;
    if (open) v->waits = true; /* it may have a known one when other variables are decided */
    if (open || (exact && v->state == DECIMAL_SCALED && v->scale == scale)) return false;
    if (exact && v->state == DECIMAL_OPEN) {
        v->state = DECIMAL_SCALED;
        v->scale = (int8_t)scale;
    } else v->state = DECIMAL_WIDE;
    return c->decimals->changed = true;
}
void cp_decimal_widen(Cp *c, int32_t var) {
    const int32_t own = c->dry && c->decimals ? own_variable(c, var) : -1;
    if (own < 0) return;
    DecimalVar *v = &c->decimals->vars[own];
    bool *is_wide = &c->decimals->wide_params;
    c->decimals->changed |= is_input(c->decimals_of, own) ? !*is_wide : v->state != DECIMAL_WIDE;
    if (is_input(c->decimals_of, own)) *is_wide = true;
    else v->state = DECIMAL_WIDE;
}

void cp_decimal_cast(Cp *c, Type from, Type to) {
    if (of_unknown_scale(from) && to.id != T_NUMERIC && !type_is_integer(to) && to.id != T_FLOAT4 && to.id != T_FLOAT8)
        see_scale(c);
}
void cp_decimal_use(Cp *c, const Expr *e) {
    static const char *const blind[] = {
        "+", "-", "*", "=", "<>", "!=", "<", "<=", ">", ">=", "@", "abs", "sign", "greatest", "least"};
    bool any = false, allowed = false;
    int scales = 0;
    if (!c->dry || !c->decimals || c->decimals->wide_params || (e->kind != EX_FUNC && e->kind != EX_CAST)) return;
    for (int32_t i = 0; i < e->n_args; i++) {
        any |= of_unknown_scale(e->args[i]->type);
        scales += e->args[i]->type.id == T_NUMERIC ? e->args[i]->type.scale : 0;
    }
    if (!any) return;
    if (e->kind == EX_CAST) {
        cp_decimal_cast(c, e->args[0]->type, e->type);
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(blind); i++) allowed |= strcmp(e->u.func->name, blind[i]) == 0;
    if (!allowed || (strcmp(e->u.func->name, "*") == 0 && e->type.scale != scales)) see_scale(c);
}
void cp_decimal_aggregate(Cp *c, const Plan *p) {
    static const char *const blind[] = {"sum", "min", "max", "count"};
    for (int32_t i = 0; p->kind == LP_AGG && i < p->agg.n_calls; i++) {
        const AggCall *x = &p->agg.calls[i];
        bool allowed = !x->arg || !of_unknown_scale(x->arg->type);
        for (size_t k = 0; x->func && k < ARRAY_LEN(blind); k++) allowed |= strcmp(x->func->name, blind[k]) == 0;
        if (!allowed) see_scale(c);
    }
}
