/* bulk_forms.c - see bulk_forms.h. */
#include "session/pool/bulk_forms.h"

#include "session/pool/bulk_slices.h"
#include "types/dec.h"

enum { SCRATCH_ROWS = 1024 };

static bool is_number(Type t) { return t.id == T_NUMERIC || t.id == T_DECIMAL || type_is_integer(t); }
static bool has_form(const Vec *v, Type want) {
    if (!is_number(want) || !is_number(v->type)) return true;
    if (v->type.id != want.id || v->phys != type_phys(want)) return false;
    return want.id != T_NUMERIC || v->type.scale == want.scale;
}

bool bulk_params_formed(const CallGroup *g) {
    for (int32_t k = 0; k < g->proc->n_params && g->n > 0; k++)
        if (!has_form(&g->params[k], g->proc->vars[k].type)) return false;
    return true;
}

/* An exact number of any type as an integer of this scale; false: not all of it. */
static bool narrow(Arena *scratch, const Vec *v, int64_t i, int32_t scale, int128_t *out, Err *e) {
    Dec d;
    int128_t x, back;
    switch ((Phys)v->phys) {
    case PH_I16: x = ((const int16_t *)v->data)[i]; break;
    case PH_I32: x = ((const int32_t *)v->data)[i]; break;
    case PH_I64: x = ((const int64_t *)v->data)[i]; break;
    case PH_I128: x = ((const int128_t *)v->data)[i]; break;
    default:
        return dec_decode(scratch, ((const Str *)v->data)[i], &d, e) == ST_OK && dec_is_finite(&d) &&
               dec_min_scale(&d) <= scale && !dec_to_i128(&d, scale, out);
    }
    const int from = v->type.id == T_NUMERIC ? v->type.scale : 0;
    if (numeric_rescale(x, from, scale, out)) return false;
    return from <= scale || (!numeric_rescale(*out, scale, from, &back) && back == x);
}
static Status narrow_all(Arena *a, const Vec *v, int64_t n, Vec *to, bool *fit, Err *e) {
    Arena *scratch = arena_new(arena_account(a), e);
    int128_t *cells = to->data;
    if (!scratch) return ST_ERROR;
    for (int64_t i = 0; i < n && *fit && !err_is_set(e); i++) {
        if (v->valid && !v->valid[i]) cells[i] = 0;
        else *fit = narrow(scratch, v, i, to->type.scale, &cells[i], e);
        if (i % SCRATCH_ROWS == 0) arena_reset(scratch);
    }
    arena_free(scratch);
    return err_is_set(e) ? ST_ERROR : ST_OK;
}
/* Room for n cells of the type. */
static Status column_as(Arena *a, const Vec *v, Type type, int64_t n, Vec *to) {
    *to = *v;
    to->type = type;
    to->phys = (uint8_t)type_phys(type);
    to->data = arena_alloc(a, (n + 1) * phys_size((Phys)to->phys));
    if (to->data && !to->valid && (to->valid = arena_alloc(a, n + 1))) memset(to->valid, 1, (size_t)n);
    return to->data && to->valid ? ST_OK : ST_ERROR;
}
static Status cast_all(Arena *a, const Vec *v, int64_t n, Vec *to, Err *e) {
    FuncCtx ctx = {.arena = a, .err = e, .state_arena = a, .ret = to->type};
    const FuncKernel kernel = cast_kernel(v->type, to->type, CAST_ASSIGNMENT);
    return kernel ? kernel(&ctx, n, v, 1, to) : err_internal(e, "no cast of an argument");
}

Status bulk_form_params(Arena *a, CallGroup *g, bool *fit, Err *e) {
    Vec *formed = NULL;
    *fit = true;
    for (int32_t k = 0; k < g->proc->n_params && g->n > 0 && *fit; k++) {
        const Vec *v = &g->params[k];
        const Type want = g->proc->vars[k].type;
        if (has_form(v, want)) continue;
        if (!formed) {
            if (!(formed = arena_array(a, Vec, g->proc->n_params))) return err_oom(e);
            memcpy(formed, g->params, sizeof *formed * (size_t)g->proc->n_params);
            g->params = formed;
        }
        Vec to;
        const int64_t n = v->is_const ? 1 : g->n;
        if (column_as(a, v, want, n, &to) != ST_OK) return err_oom(e);
        TRY(want.id == T_NUMERIC ? narrow_all(a, v, n, &to, fit, e) : cast_all(a, v, n, &to, e));
        formed[k] = to;
    }
    return ST_OK;
}
Status bulk_value_as(Arena *a, Type declared, Value *v, Err *e) {
    if (v->is_null || type_phys(v->type) == type_phys(declared)) return v->type = declared, ST_OK;
    uint8_t valid = 1;
    Value out = {.type = declared};
    const Vec from = {.data = value_cell(v), .valid = &valid, .phys = (uint8_t)type_phys(v->type), .type = v->type};
    Vec to = {.data = value_cell(&out), .valid = &valid, .phys = (uint8_t)type_phys(declared), .type = declared};
    TRY(cast_all(a, &from, 1, &to, e));
    *v = out;
    return ST_OK;
}

static void executed_without(BulkResult *r, int32_t k, int64_t n, Vec *v, Type declared) {
    static CallError oom = {.sqlstate = ERR_OUT_OF_MEMORY,
                            .message = (char *)(uintptr_t) "out of memory for a result; the call has been executed"};
    for (int64_t i = 0; i < n; i++) {
        r->stats.n_failed += r->errors[k][i] == NULL;
        if (!r->errors[k][i]) r->errors[k][i] = &oom;
    }
    v->type = declared;
    v->phys = (uint8_t)type_phys(declared); /* cells of 16 bytes, as before */
    memset(v->data, 0, (size_t)(n * phys_size((Phys)v->phys)));
    if (v->valid) memset(v->valid, 0, (size_t)n);
}
void bulk_declared_outs(int32_t n_groups, const BulkCalls *groups, BulkResult *r) {
    for (int32_t k = 0; k < n_groups; k++) {
        const Routine *f = groups[k].routine;
        const int n_outs = bulk_out_count(f);
        for (int i = 0, out = 0; out < n_outs; i++) {
            const bool param = i < f->n_params;
            if (param && f->param_modes[i] == 'i') continue;
            const Type declared = param ? f->param_types[i] : f->ret;
            Vec *v = &r->outs[k][out++], to;
            Err e = {0};
            if (declared.id != T_DECIMAL || v->type.id != T_NUMERIC) continue;
            if (column_as(r->arena, v, declared, groups[k].n, &to) == ST_OK &&
                cast_all(r->arena, v, groups[k].n, &to, &e) == ST_OK)
                *v = to;
            else executed_without(r, k, groups[k].n, v, declared);
        }
    }
}
