/* vm_expr.c - the expression opcodes: NULL handling and errors around the kernels.
 *
 * A strict instruction computes all cells, those of NULL rows included, and the AND of its operands'
 * validity. When a kernel reports a failure, the rows are tried one by one: the first one that fails and is not
 * NULL raises the error; if there is none the failure came from a NULL row's cell and means nothing.
 */
#include <math.h>

#include "exec/vm_frame.h"
#include "types/range_errors.h"

/* ---- validity ----------------------------------------------------------------------------- */
static inline void and_bytes(int64_t n, const uint8_t *restrict a, const uint8_t *restrict b, uint8_t *restrict d) {
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
        uint64_t x, y;
        memcpy(&x, a + i, 8);
        memcpy(&y, b + i, 8);
        x &= y;
        memcpy(d + i, &x, 8);
    }
    for (; i < n; i++) d[i] = a[i] & b[i];
}

/* The result's validity from two operands that are not NULL constants. */
static inline RunResult strict_valid(Frame *f, Reg dst, const Vec *a, const Vec *b) {
    Vec *d = &f->regs[dst];
    d->valid = NULL;
    if (LIKELY(!a->valid && (!b || !b->valid))) return RUN_NEXT;
    if (UNLIKELY(!(d->valid = frame_valid(f, dst)))) return RUN_FAILED;
    if (!b || !b->valid) memcpy(d->valid, a->valid, (size_t)f->n);
    else if (!a->valid) memcpy(d->valid, b->valid, (size_t)f->n);
    else and_bytes(f->n, a->valid, b->valid, d->valid);
    return RUN_NEXT;
}

static inline bool row_is_valid(const Vec *d, int64_t i) { return !d->valid || d->valid[i]; }
static inline const void *cell_at(const Vec *v, int64_t i, uint8_t size) {
    return (const char *)v->data + (v->is_const ? 0 : i << size);
}
/* After a non-strict step: a validity without zeros is none. */
static inline void drop_valid(Vec *d, int64_t n) {
    if (d->valid && !memchr(d->valid, 0, (size_t)n)) d->valid = NULL;
}

/* ---- errors ---------------------------------------------------------------------------------- */
static RunResult raise_range(Frame *f, uint8_t phys) {
    static const char *const text[PH_COUNT_] = {
        [PH_BOOL] = "value out of range",         [PH_I16] = "smallint out of range",
        [PH_I32] = "integer out of range",        [PH_I64] = "bigint out of range",
        [PH_I128] = "numeric field overflow",     [PH_F32] = "value out of range: overflow",
        [PH_F64] = "value out of range: overflow"};
    err_set(&f->err, ERR_NUMERIC_RANGE, "%s", text[phys] ? text[phys] : "value out of range");
    return RUN_FAILED;
}
static RunResult raise_zero_division(Frame *f) {
    err_set(&f->err, ERR_DIVISION_BY_ZERO, "division by zero");
    return RUN_FAILED;
}

static double as_double(uint8_t phys, const void *cell) {
    float x;
    double y = 0;
    if (phys == PH_F32) memcpy(&x, cell, 4), y = (double)x;
    else if (phys == PH_F64) memcpy(&y, cell, 8);
    return y;
}
static bool cell_is_zero(uint8_t phys, const void *cell) {
    static const char zero[16];
    if (phys == PH_F32 || phys == PH_F64) return as_double(phys, cell) == 0;
    return memcmp(cell, zero, (size_t)cell_bytes(size_class(phys))) == 0;
}

static NOINLINE RunResult bin_failed(Frame *f, const Step *s, int64_t n) {
    const Vec *a = &f->regs[s->a], *b = &f->regs[s->b], *d = &f->regs[s->dst];
    uint8_t size = size_class(s->phys);
    alignas(16) char r[16];
    for (int64_t i = 0; i < n; i++) {
        const void *x = cell_at(a, i, size), *y = cell_at(b, i, size);
        if (!row_is_valid(d, i) || !s->k.bin[BIN_VV](1, x, y, r)) continue;
        if ((s->in->op == OP_DIV || s->in->op == OP_MOD) && cell_is_zero(s->phys, y)) return raise_zero_division(f);
        if (s->dphys == PH_F32 || s->dphys == PH_F64) {
            err_set(&f->err, ERR_NUMERIC_RANGE, "value out of range: %s",
                    as_double(s->dphys, r) == 0 ? "underflow" : "overflow");
            return RUN_FAILED;
        }
        return raise_range(f, s->dphys);
    }
    return RUN_NEXT;
}

/* ---- strict binary and unary ------------------------------------------------------------------- */
static RunResult step_bin(Frame *f, const Step *s) {
    const Vec *a = &f->regs[s->a], *b = &f->regs[s->b];
    Vec *d = &f->regs[s->dst];
    void *out = frame_home(f, s->dst);
    if (UNLIKELY(!out)) return RUN_FAILED;
    d->data = out;
    d->is_const = false;
    int64_t n = f->n;
    VmBin k = s->k.bin[BIN_VV];
    if (a->is_const | b->is_const) {
        if (vec_is_null_const(a) || vec_is_null_const(b)) return frame_set_null(f, s->dst);
        if (a->is_const && b->is_const) n = 1, d->is_const = true;
        else k = s->k.bin[a->is_const ? BIN_CV : BIN_VC];
    }
    if (UNLIKELY(strict_valid(f, s->dst, a, b) != RUN_NEXT)) return RUN_FAILED;
    if (UNLIKELY(k(n, a->data, b->data, out))) return bin_failed(f, s, n);
    return RUN_NEXT;
}

/* Common start of strict one-operand steps: *n is 1 for constants. Returns the output cells, NULL when the step is over
 * (with *r). */
static inline void *begin_unary(Frame *f, const Step *s, int64_t *n, RunResult *r) {
    const Vec *a = &f->regs[s->a];
    Vec *d = &f->regs[s->dst];
    *n = a->is_const ? 1 : f->n;
    if (vec_is_null_const(a)) {
        *r = frame_set_null(f, s->dst);
        return NULL;
    }
    *r = RUN_FAILED;
    d->is_const = a->is_const;
    if (UNLIKELY(strict_valid(f, s->dst, a, NULL) != RUN_NEXT)) return NULL;
    return d->data = frame_home(f, s->dst);
}

/* Tries single rows after a unary kernel failed. */
static NOINLINE RunResult un_failed(Frame *f, const Step *s, int64_t n) {
    const Vec *a = &f->regs[s->a], *d = &f->regs[s->dst];
    alignas(16) char r[16];
    for (int64_t i = 0; i < n; i++) {
        const void *x = cell_at(a, i, size_class(s->phys));
        if (!row_is_valid(d, i) || !s->k.un(1, x, r)) continue;
        if (s->dphys == PH_F32 && as_double(PH_F32, r) == 0) {
            err_set(&f->err, ERR_NUMERIC_RANGE, "value out of range: underflow");
            return RUN_FAILED;
        }
        return raise_range(f, s->dphys);
    }
    return RUN_NEXT;
}
static RunResult step_un(Frame *f, const Step *s) {
    int64_t n;
    RunResult r;
    void *out = begin_unary(f, s, &n, &r);
    if (!out) return r;
    if (UNLIKELY(s->k.un(n, f->regs[s->a].data, out))) return un_failed(f, s, n);
    return RUN_NEXT;
}

/* ---- numeric ------------------------------------------------------------------------------------ */
static inline int128_t load_int(uint8_t phys, const void *p, int64_t i) {
    return phys == PH_I64 ? ((const int64_t *)p)[i] : ((const int128_t *)p)[i];
}
/* Stores v into a cell of I64 or I128; true when it does not fit. */
static inline bool store_int(uint8_t phys, void *p, int64_t i, int128_t v) {
    if (phys == PH_I128) {
        ((int128_t *)p)[i] = v;
        return false;
    }
    ((int64_t *)p)[i] = (int64_t)v;
    return (int64_t)v != v;
}
static RunResult raise_numeric(Frame *f, int precision, int scale) {
    (void)numeric_range_error(&f->err, precision < NUMERIC_MAX_PRECISION ? precision : 0, scale);
    return RUN_FAILED;
}
static inline int precision_of(int64_t imm) {
    int p = NUM_IMM_PREC(imm);
    return p < 1 || p > NUMERIC_MAX_PRECISION ? NUMERIC_MAX_PRECISION : p;
}

static RunResult step_rescale(Frame *f, const Step *s) {
    int64_t n;
    RunResult res;
    void *out = begin_unary(f, s, &n, &res);
    if (!out) return res;
    const Vec *a = &f->regs[s->a], *d = &f->regs[s->dst];
    int from = NUM_IMM_FROM(s->in->imm), to = NUM_IMM_TO(s->in->imm), prec = precision_of(s->in->imm);
    int shift = to - from;
    if (s->phys == PH_I64 && s->dphys == PH_I64 && shift >= -18 && shift <= 18) {
        int64_t max = prec >= 19 ? INT64_MAX : (int64_t)pow10_i128[prec] - 1;
        uint32_t bad =
            shift >= 0 ? f->k->scale_up(n, a->data, (int64_t)pow10_i128[shift], max / (int64_t)pow10_i128[shift], out)
                       : f->k->scale_down(n, a->data, (int64_t)pow10_i128[-shift], max, out);
        if (LIKELY(!bad)) return RUN_NEXT;
    }
    for (int64_t i = 0; i < n; i++) {
        int128_t r = 0;
        bool bad = numeric_rescale(load_int(s->phys, a->data, i), from, to, &r) || numeric_exceeds(r, prec);
        if (store_int(s->dphys, out, i, bad ? 0 : r) || bad)
            if (row_is_valid(d, i)) return raise_numeric(f, prec, to);
    }
    return RUN_NEXT;
}

static RunResult step_check_digits(Frame *f, const Step *s) {
    const Vec *a = &f->regs[s->a];
    int64_t n = a->is_const ? 1 : f->n;
    int digits = (int)s->in->imm;
    if (!vec_is_null_const(a)) {
        bool bad = s->phys == PH_I128 || digits > 18 ? s->phys == PH_I128
                                                     : f->k->digits(n, a->data, (int64_t)pow10_i128[digits]);
        if (bad)
            for (int64_t i = 0; i < n; i++)
                if (row_is_valid(a, i) && numeric_exceeds(load_int(s->phys, a->data, i), digits))
                    return raise_numeric(f, NUMERIC_MAX_PRECISION, 0);
    }
    return frame_alias(f, s, s->a);
}

static RunResult step_num_to_f64(Frame *f, const Step *s) {
    int64_t n;
    RunResult res;
    double *out = begin_unary(f, s, &n, &res);
    if (!out) return res;
    const Vec *a = &f->regs[s->a];
    int scale = NUM_IMM_FROM(s->in->imm);
    /* Both numbers exact in a double: one division is correctly rounded. */
    if (s->phys == PH_I64 && scale <= 22 && !f->k->num_to_f64(n, a->data, (double)pow10_i128[scale], out))
        return RUN_NEXT;
    for (int64_t i = 0; i < n; i++) out[i] = numeric_to_f64(load_int(s->phys, a->data, i), scale);
    return RUN_NEXT;
}

static RunResult step_f64_to_num(Frame *f, const Step *s) {
    int64_t n;
    RunResult res;
    void *out = begin_unary(f, s, &n, &res);
    if (!out) return res;
    const double *a = f->regs[s->a].data;
    const Vec *d = &f->regs[s->dst];
    int to = NUM_IMM_TO(s->in->imm), prec = precision_of(s->in->imm);
    for (int64_t i = 0; i < n; i++) {
        int128_t r = 0;
        bool bad = numeric_from_f64(a[i], to, &r) || numeric_exceeds(r, prec);
        if ((store_int(s->dphys, out, i, bad ? 0 : r) || bad) && row_is_valid(d, i)) {
            if (!isfinite(a[i])) {
                err_set(&f->err, ERR_FEATURE_NOT_SUPPORTED,
                        isnan(a[i]) ? "cannot convert NaN to numeric" : "cannot convert infinity to numeric");
                return RUN_FAILED;
            }
            return raise_numeric(f, prec, to);
        }
    }
    return RUN_NEXT;
}

/* a * b, 256 bits, divided by 10^down with rounding half away from zero. True beyond 38 digits. */
static bool mul_rescale(int128_t a, int128_t b, int down, int128_t *out) {
    int128_t p;
    if (!__builtin_mul_overflow(a, b, &p) && !numeric_exceeds(p, NUMERIC_MAX_PRECISION))
        return numeric_rescale(p, down, 0, out);
    bool neg = (a < 0) != (b < 0);
    uint128_t x = a < 0 ? -(uint128_t)a : (uint128_t)a, y = b < 0 ? -(uint128_t)b : (uint128_t)b;
    uint64_t xs[2] = {(uint64_t)x, (uint64_t)(x >> 64)}, ys[2] = {(uint64_t)y, (uint64_t)(y >> 64)}, w[4] = {0};
    for (int i = 0; i < 2; i++) {
        uint64_t carry = 0;
        for (int j = 0; j < 2; j++) {
            uint128_t t = (uint128_t)xs[i] * ys[j] + w[i + j] + carry;
            w[i + j] = (uint64_t)t;
            carry = (uint64_t)(t >> 64);
        }
        w[i + 2] = carry;
    }
    /* All but the last digit to drop go by truncation; the last one decides the rounding. */
    for (int left = down - 1; left > 0;) {
        int step = left > 18 ? 18 : left;
        uint64_t div = (uint64_t)pow10_i128[step], rem = 0;
        for (int i = 3; i >= 0; i--) {
            uint128_t t = (uint128_t)rem << 64 | w[i];
            w[i] = (uint64_t)(t / div);
            rem = (uint64_t)(t % div);
        }
        left -= step;
    }
    if (w[3] || w[2]) return true;
    uint128_t q = (uint128_t)w[1] << 64 | w[0];
    if (down > 0) q = q / 10 + (q % 10 >= 5);
    if (q >= (uint128_t)pow10_i128[NUMERIC_MAX_PRECISION]) return true;
    *out = neg ? -(int128_t)q : (int128_t)q;
    return false;
}
/* a / b: within 128 bits when the shifted dividend fits, which it nearly always does. */
static inline bool div_rescale(int128_t a, int128_t b, int sa, int sb, int sr, int128_t *out) {
    int up = sr + sb - sa;
    int128_t x;
    if (up < 0 || up > NUMERIC_MAX_PRECISION || __builtin_mul_overflow(a, pow10_i128[up], &x))
        return numeric_div(a, sa, b, sb, sr, out);
    int128_t q, rem;
    int64_t x64 = (int64_t)x, b64 = (int64_t)b;
    if (x64 == x && b64 == b && x64 != INT64_MIN) {
        q = x64 / b64;
        rem = x64 % b64;
    } else {
        if (x == INT128_MIN) return numeric_div(a, sa, b, sb, sr, out);
        q = x / b;
        rem = x % b;
    }
    uint128_t ur = rem < 0 ? -(uint128_t)rem : (uint128_t)rem, ub = b < 0 ? -(uint128_t)b : (uint128_t)b;
    if (ur >= ub - ur) q += (x < 0) != (b < 0) ? -1 : 1;
    *out = q;
    return numeric_exceeds(q, NUMERIC_MAX_PRECISION);
}
static RunResult step_num_bin(Frame *f, const Step *s) {
    const Vec *a = &f->regs[s->a], *b = &f->regs[s->b];
    Vec *d = &f->regs[s->dst];
    if (vec_is_null_const(a) || vec_is_null_const(b)) return frame_set_null(f, s->dst);
    if (strict_valid(f, s->dst, a, b) != RUN_NEXT) return RUN_FAILED;
    int128_t *out = frame_home(f, s->dst);
    if (!out) return RUN_FAILED;
    d->data = out;
    d->is_const = a->is_const && b->is_const;
    int64_t n = d->is_const ? 1 : f->n;
    int sa = NUM_IMM_FROM(s->in->imm), sb = NUM_IMM_TO(s->in->imm), sr = NUM_IMM_PREC(s->in->imm);
    int64_t step_a = a->is_const ? 0 : 1, step_b = b->is_const ? 0 : 1;
    const int128_t *x = a->data, *y = b->data;
    for (int64_t i = 0; i < n; i++, x += step_a, y += step_b) {
        out[i] = 0;
        if (!row_is_valid(d, i)) continue;
        bool over;
        if (s->in->op == OP_NUM_DIV) {
            if (*y == 0) return raise_zero_division(f);
            over = div_rescale(*x, *y, sa, sb, sr, &out[i]);
        } else if (sr > sa + sb) {
            int128_t p;
            over = __builtin_mul_overflow(*x, *y, &p) || numeric_rescale(p, sa + sb, sr, &out[i]);
        } else {
            over = mul_rescale(*x, *y, sa + sb - sr, &out[i]);
        }
        if (over) return raise_numeric(f, NUMERIC_MAX_PRECISION, 0);
    }
    return RUN_NEXT;
}

/* ---- logic and NULL tests ----------------------------------------------------------------------- */
static RunResult bool_const(Frame *f, Reg r, bool v) {
    static const uint8_t cells[2] = {0, 1};
    Vec *d = &f->regs[r];
    d->data = (void *)(uintptr_t)&cells[v];
    d->valid = NULL;
    d->is_const = true;
    return RUN_NEXT;
}
static RunResult step_logic(Frame *f, const Step *s) {
    Vec *a = &f->regs[s->a], *b = &f->regs[s->b], *d = &f->regs[s->dst];
    bool is_and = s->in->op == OP_AND;
    if (!a->valid && !b->valid) return step_bin(f, s);
    /* A constant decides, or is neutral, or NULL. */
    for (int side = 0; side < 2; side++) {
        const Vec *c = side ? b : a;
        if (!c->is_const || c->valid) continue;
        if ((*(const uint8_t *)c->data != 0) == is_and) return frame_alias(f, s, side ? s->a : s->b);
        return bool_const(f, s->dst, !is_and);
    }
    if (vec_is_null_const(a) && vec_is_null_const(b)) return frame_set_null(f, s->dst);
    const uint8_t *va = a->valid, *vb = b->valid, *xa = a->data, *xb = b->data;
    if (a->is_const) { /* NULL */
        memset(f->bytes, 0, (size_t)f->n);
        va = xa = f->bytes;
    }
    if (b->is_const) {
        memset(f->bytes, 0, (size_t)f->n);
        vb = xb = f->bytes;
    }
    uint8_t *out = frame_home(f, s->dst), *valid = frame_valid(f, s->dst);
    if (!out || !valid) return RUN_FAILED;
    (is_and ? f->k->and3 : f->k->or3)(f->n, xa, va, xb, vb, out, valid);
    d->data = out;
    d->valid = valid;
    d->is_const = false;
    return RUN_NEXT;
}

static RunResult step_null_test(Frame *f, const Step *s) {
    const Vec *a = &f->regs[s->a];
    Vec *d = &f->regs[s->dst];
    bool is_null = s->in->op == OP_IS_NULL;
    if (!a->valid) return bool_const(f, s->dst, !is_null);
    if (a->is_const) return bool_const(f, s->dst, is_null);
    uint8_t *out = frame_home(f, s->dst);
    if (!out) return RUN_FAILED;
    if (is_null) f->k->un[OP_NOT][PH_BOOL](f->n, a->valid, out);
    else memcpy(out, a->valid, (size_t)f->n);
    d->data = out;
    d->valid = NULL;
    d->is_const = false;
    return RUN_NEXT;
}
static RunResult step_truth_test(Frame *f, const Step *s) {
    const Vec *a = &f->regs[s->a];
    Vec *d = &f->regs[s->dst];
    bool want = s->in->op == OP_IS_TRUE;
    if (a->is_const) return bool_const(f, s->dst, !a->valid && (*(const uint8_t *)a->data != 0) == want);
    uint8_t *out = frame_home(f, s->dst);
    if (!out) return RUN_FAILED;
    if (want) memcpy(out, a->data, (size_t)f->n);
    else f->k->un[OP_NOT][PH_BOOL](f->n, a->data, out);
    if (a->valid)
        for (int64_t i = 0; i < f->n; i++) out[i] &= a->valid[i];
    d->data = out;
    d->valid = NULL;
    d->is_const = false;
    return RUN_NEXT;
}

static RunResult step_distinct(Frame *f, const Step *s) {
    const Vec *a = &f->regs[s->a], *b = &f->regs[s->b];
    Vec *d = &f->regs[s->dst];
    if (!a->valid && !b->valid) return step_bin(f, s);
    if (vec_is_null_const(a) && vec_is_null_const(b)) return bool_const(f, s->dst, false);
    uint8_t *out = frame_home(f, s->dst);
    if (!out) return RUN_FAILED;
    int64_t n = f->n;
    d->data = out;
    d->is_const = false;
    d->valid = NULL;
    if (vec_is_null_const(a) || vec_is_null_const(b)) { /* IS NOT NULL of the other side */
        const Vec *o = vec_is_null_const(a) ? b : a;
        if (!o->valid) return bool_const(f, s->dst, true);
        memcpy(out, o->valid, (size_t)n);
        return RUN_NEXT;
    }
    s->k.bin[a->is_const ? BIN_CV : b->is_const ? BIN_VC : BIN_VV](n, a->data, b->data, out);
    for (int64_t i = 0; i < n; i++) {
        uint8_t va = a->valid ? a->valid[i] : 1, vb = b->valid ? b->valid[i] : 1;
        out[i] = (uint8_t)((va ^ vb) | (va & vb & out[i]));
    }
    return RUN_NEXT;
}

/* dst = cond ? x : y with validity. */
static RunResult select_rows(Frame *f, const Step *s, const uint8_t *cond, const Vec *x, const Vec *y) {
    Vec *d = &f->regs[s->dst];
    void *out = frame_home(f, s->dst);
    if (!out) return RUN_FAILED;
    f->k->select[s->size][x->is_const ? (y->is_const ? SEL_CC : SEL_CV) : (y->is_const ? SEL_VC : SEL_VV)](
        f->n, cond, x->data, y->data, out);
    uint8_t *valid = NULL;
    if (x->valid || y->valid) {
        static const uint8_t one = 1;
        if (!(valid = frame_valid(f, s->dst))) return RUN_FAILED;
        const uint8_t *vx = x->valid ? x->valid : &one, *vy = y->valid ? y->valid : &one;
        int sx = x->is_const || !x->valid, sy = y->is_const || !y->valid;
        f->k->select[SZ_1][sx ? (sy ? SEL_CC : SEL_CV) : (sy ? SEL_VC : SEL_VV)](f->n, cond, vx, vy, valid);
    }
    d->data = out;
    d->valid = valid;
    d->is_const = false;
    return RUN_NEXT;
}
static RunResult step_select(Frame *f, const Step *s) {
    const Vec *c = &f->regs[s->a];
    if (c->is_const) return frame_alias(f, s, !c->valid && *(const uint8_t *)c->data ? s->b : s->c);
    const uint8_t *cond = c->data;
    if (c->valid) {
        and_bytes(f->n, c->data, c->valid, f->bytes);
        cond = f->bytes;
    }
    return select_rows(f, s, cond, &f->regs[s->b], &f->regs[s->c]);
}
static RunResult step_coalesce(Frame *f, const Step *s) {
    Vec *a = &f->regs[s->a];
    const Vec *b = &f->regs[s->b];
    if (!a->valid) return frame_alias(f, s, s->a);
    if (a->is_const) return frame_alias(f, s, s->b);
    Vec x = *a;
    x.valid = NULL; /* where it is chosen it is not NULL */
    return select_rows(f, s, a->valid, &x, b);
}
static RunResult step_nullif(Frame *f, const Step *s) {
    const Vec *a = &f->regs[s->a], *b = &f->regs[s->b];
    Vec *d = &f->regs[s->dst];
    if (b->is_const) {
        if (!b->valid && *(const uint8_t *)b->data) return frame_set_null(f, s->dst);
        return frame_alias(f, s, s->a);
    }
    if (vec_is_null_const(a)) return frame_set_null(f, s->dst);
    void *out = frame_home(f, s->dst);
    uint8_t *valid = frame_valid(f, s->dst);
    if (!out || !valid) return RUN_FAILED;
    int64_t n = f->n;
    if (a->is_const) f->k->fill[s->size](n, a->data, out);
    else memcpy(out, a->data, (size_t)(n << s->size));
    const uint8_t *hit = b->data;
    for (int64_t i = 0; i < n; i++) valid[i] = (uint8_t)((hit[i] & (b->valid ? b->valid[i] : 1)) ^ 1);
    if (a->valid && !a->is_const)
        for (int64_t i = 0; i < n; i++) valid[i] &= a->valid[i];
    d->data = out;
    d->valid = valid;
    d->is_const = false;
    drop_valid(d, n);
    return RUN_NEXT;
}

/* ---- sets, dictionaries, text, dates --------------------------------------------------------------- */
static RunResult step_in_set(Frame *f, const Step *s) {
    int64_t n;
    RunResult r;
    uint8_t *out = begin_unary(f, s, &n, &r);
    if (!out) return r;
    Vec *d = &f->regs[s->dst];
    set_test(f->k, s->impl, n, &f->regs[s->a], out);
    if (!((const InSet *)s->in->aux)->has_null) return RUN_NEXT;
    /* no match in a set with NULL: unknown */
    uint8_t *valid = frame_valid(f, s->dst);
    if (!valid) return RUN_FAILED;
    if (d->valid) and_bytes(n, d->valid, out, valid);
    else memcpy(valid, out, (size_t)n);
    d->valid = valid;
    if (d->is_const && valid[0]) d->valid = NULL;
    else if (!d->is_const) drop_valid(d, n);
    return RUN_NEXT;
}
static RunResult step_code_test(Frame *f, const Step *s) {
    int64_t n;
    RunResult r;
    uint8_t *out = begin_unary(f, s, &n, &r);
    if (!out) return r;
    f->k->code_test(n, f->regs[s->a].data, ((const CodeMask *)s->in->aux)->mask, out);
    return RUN_NEXT;
}
static RunResult step_code_map(Frame *f, const Step *s) {
    int64_t n;
    RunResult r;
    void *out = begin_unary(f, s, &n, &r);
    if (!out) return r;
    const CodeMap *m = s->in->aux;
    const Vec *a = &f->regs[s->a];
    Vec *d = &f->regs[s->dst];
    if (m->n == 0) { /* no entries: all rows are NULL */
        return frame_set_null(f, s->dst);
    }
    f->k->gather[s->size](n, m->cells, a->data, out);
    if (!m->valid) return RUN_NEXT;
    uint8_t *valid = frame_valid(f, s->dst);
    if (!valid) return RUN_FAILED;
    const int32_t *code = a->data;
    if (a->valid)
        for (int64_t i = 0; i < n; i++) valid[i] = a->valid[i] & m->valid[code[i]];
    else f->k->gather[SZ_1](n, m->valid, code, valid);
    d->valid = valid;
    if (d->is_const && valid[0]) d->valid = NULL;
    else if (!d->is_const) drop_valid(d, n);
    return RUN_NEXT;
}
static RunResult step_decode(Frame *f, const Step *s) {
    int64_t n;
    RunResult r;
    void *out = begin_unary(f, s, &n, &r);
    if (!out) return r;
    const Dict *dict = s->in->aux;
    if (dict->n == 0) return frame_set_null(f, s->dst);
    f->k->gather[SZ_16](n, dict->entries, f->regs[s->a].data, out);
    return RUN_NEXT;
}
static RunResult step_like(Frame *f, const Step *s) {
    int64_t n;
    RunResult r;
    uint8_t *out = begin_unary(f, s, &n, &r);
    if (!out) return r;
    const Str *a = f->regs[s->a].data;
    const LikePattern *p = s->in->aux;
    const uint8_t *valid = f->regs[s->dst].valid;
    for (int64_t i = 0; i < n; i++) out[i] = (uint8_t)((!valid || valid[i]) && like_match(p, a[i].ptr, a[i].len));
    return RUN_NEXT;
}

static int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }
static int32_t iso_week(int32_t days, int64_t *iso_year) {
    /* the Thursday of the week decides the year */
    int64_t dow = ((int64_t)days + 5) % 7; /* 2000-01-01 was a Saturday; Monday = 0 */
    if (dow < 0) dow += 7;
    int64_t thursday = (int64_t)days - dow + 3;
    int m, d;
    date_to_ymd((int32_t)thursday, iso_year, &m, &d);
    return (int32_t)((thursday - date_from_ymd(*iso_year, 1, 1)) / 7 + 1);
}
static int32_t date_field(DateField field, int32_t days) {
    int64_t y, iso = 0;
    int m, d;
    date_to_ymd(days, &y, &m, &d);
    int64_t shown = y > 0 ? y : y - 1; /* there is no year 0 */
    int64_t dow = ((int64_t)days + 6) % 7;
    if (dow < 0) dow += 7;
    switch (field) {
    case DF_YEAR: return (int32_t)shown;
    case DF_MONTH: return m;
    case DF_DAY: return d;
    case DF_QUARTER: return (m + 2) / 3;
    case DF_DOY: return (int32_t)((int64_t)days - date_from_ymd(y, 1, 1) + 1);
    case DF_DOW: return (int32_t)dow;
    case DF_ISODOW: return dow == 0 ? 7 : (int32_t)dow;
    case DF_WEEK: return iso_week(days, &iso);
    case DF_ISOYEAR: iso_week(days, &iso); return (int32_t)(iso > 0 ? iso : iso - 1);
    case DF_DECADE: return (int32_t)floor_div(y, 10);
    case DF_CENTURY: return (int32_t)(y > 0 ? (y + 99) / 100 : -((99 - (y - 1)) / 100));
    case DF_MILLENNIUM: return (int32_t)(y > 0 ? (y + 999) / 1000 : -((999 - (y - 1)) / 1000));
    case DF_JULIAN: return (int32_t)((int64_t)days + 2451545);
    default: return 0;
    }
}
static RunResult step_date_part(Frame *f, const Step *s) {
    int64_t n;
    RunResult r;
    int32_t *out = begin_unary(f, s, &n, &r);
    if (!out) return r;
    const Vec *a = &f->regs[s->a];
    DateField field = (DateField)s->in->imm;
    const int32_t *days = a->data;
    if (field == DF_HOUR || field == DF_MINUTE || field == DF_SECOND) {
        if (s->phys == PH_I32) {
            memset(out, 0, (size_t)n * 4);
            return RUN_NEXT;
        }
        const int64_t *ts = a->data;
        int64_t unit = field == DF_HOUR     ? 3600 * USECS_PER_SEC
                       : field == DF_MINUTE ? 60 * USECS_PER_SEC
                                            : USECS_PER_SEC;
        int64_t mod = field == DF_HOUR ? 24 : 60;
        for (int64_t i = 0; i < n; i++) {
            int64_t t = ts[i] % USECS_PER_DAY;
            out[i] = (int32_t)((t + (t < 0 ? USECS_PER_DAY : 0)) / unit % mod);
        }
        return RUN_NEXT;
    }
    if (s->phys == PH_I64) {
        const int64_t *ts = a->data;
        int32_t *tmp = f->sel;
        for (int64_t i = 0; i < n; i++) tmp[i] = (int32_t)floor_div(ts[i], USECS_PER_DAY);
        days = tmp;
    }
    if (!f->k->date_part(n, field, days, out)) return RUN_NEXT;
    for (int64_t i = 0; i < n; i++) out[i] = date_field(field, days[i]);
    return RUN_NEXT;
}

/* ---- calls and keys ---------------------------------------------------------------------------------- */
typedef struct CallState {
    FuncCtx ctx;
    Vec *args;
} CallState;

static RunResult step_call(Frame *f, const Step *s) {
    const CallSite *c = s->in->aux;
    CallState *st = f->priv[s->pc];
    if (!st) {
        if (!(st = frame_alloc(f, (int64_t)sizeof *st)) ||
            !(st->args = frame_alloc(f, (int64_t)sizeof(Vec) * (c->n_args + 1))))
            return RUN_FAILED;
        st->ctx = (FuncCtx){
            .func = c->func, .err = &f->err, .session = f->vm->env.session, .state_arena = f->arena, .ret = c->ret};
        f->priv[s->pc] = st;
    }
    st->ctx.arena = f->batch;
    Vec *d = &f->regs[s->dst];
    Type type = d->type;
    void *out = frame_home(f, s->dst);
    if (!out) return RUN_FAILED;
    int64_t n = f->n;
    uint8_t *valid = NULL;
    for (int32_t i = 0; i < c->n_args; i++) {
        Vec *v = &st->args[i];
        *v = f->regs[c->args[i]];
        if (c->arg_types) v->type = c->arg_types[i];
        if (!c->strict || !v->valid) continue;
        if (v->is_const) return frame_set_null(f, s->dst);
        uint8_t *buf = frame_valid(f, s->dst);
        if (!buf) return RUN_FAILED;
        if (valid)
            for (int64_t k = 0; k < n; k++) buf[k] &= v->valid[k];
        else memcpy(buf, v->valid, (size_t)n);
        valid = buf;
    }
    if (!c->strict && !(valid = frame_valid(f, s->dst))) return RUN_FAILED;
    d->data = out;
    d->valid = valid;
    d->is_const = false;
    d->type = c->ret;
    Status ok = c->kernel(&st->ctx, n, st->args, c->n_args, d);
    d->type = type;
    if (ok != ST_OK) return RUN_FAILED;
    dbg_assert(cells_agree(c->ret, c->ret, (Phys)d->phys, n, d->data, d->valid));
    if (!c->strict) drop_valid(d, n);
    return RUN_NEXT;
}

static RunResult step_key_pack(Frame *f, const Step *s) {
    const KeyPack *p = s->in->aux;
    Vec *d = &f->regs[s->dst];
    uint64_t *acc = frame_home(f, s->dst);
    uint8_t *bad = f->bytes;
    if (!acc) return RUN_FAILED;
    int64_t n = f->n;
    memset(acc, 0, (size_t)n * 8);
    memset(bad, 0, (size_t)n);
    for (int32_t i = 0; i < p->n; i++) {
        const Vec *v = frame_dense(f, p->args[i]);
        if (!v) return RUN_FAILED;
        uint64_t mask = p->bits[i] >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << p->bits[i]) - 1;
        uint64_t max = mask - (p->nullable[i] ? 1 : 0); /* all ones stands for NULL */
        int shift = p->shift[i] & 63;
        if (!v->valid) {
            f->k->pack[v->phys](n, v->data, (uint64_t)p->base[i], max, shift, acc, bad);
        } else if (!p->nullable[i]) {
            f->k->pack[v->phys](n, v->data, (uint64_t)p->base[i], max, shift, acc, bad);
            for (int64_t k = 0; k < n; k++) bad[k] |= v->valid[k] ^ 1;
        } else {
            for (int64_t k = 0; k < n; k++) {
                uint64_t u = mask;
                if (v->valid[k]) {
                    switch (v->phys) {
                    case PH_BOOL: u = ((const uint8_t *)v->data)[k]; break;
                    case PH_I16: u = (uint64_t)((const int16_t *)v->data)[k]; break;
                    case PH_I32: u = (uint64_t)((const int32_t *)v->data)[k]; break;
                    default: u = (uint64_t)((const int64_t *)v->data)[k];
                    }
                    u -= (uint64_t)p->base[i];
                    bad[k] |= (uint8_t)(u > max);
                }
                acc[k] += u << shift;
            }
        }
    }
    d->data = acc;
    d->valid = NULL;
    d->is_const = false;
    if (!memchr(bad, 1, (size_t)n)) return RUN_NEXT;
    uint8_t *valid = frame_valid(f, s->dst);
    if (!valid) return RUN_FAILED;
    for (int64_t k = 0; k < n; k++) valid[k] = bad[k] ^ 1;
    d->valid = valid;
    return RUN_NEXT;
}

/* ---- preparation ---------------------------------------------------------------------------------------- */
StepFn vm_expr_fn(Vm *vm, Step *s, Err *e) {
    const VmKernels *k = vm->k;
    uint16_t op = s->in->op;
    memcpy(s->k.bin, k->bin[op][s->phys], sizeof s->k.bin);
    switch ((Opcode)op) {
    case OP_ADD:
    case OP_SUB:
    case OP_MUL:
    case OP_ADD_N:
    case OP_SUB_N:
    case OP_MUL_N:
    case OP_MUL_WIDE:
    case OP_DIV:
    case OP_MOD:
    case OP_BIT_AND:
    case OP_BIT_OR:
    case OP_BIT_XOR:
    case OP_SHL:
    case OP_SHR:
    case OP_EQ:
    case OP_NE:
    case OP_LT:
    case OP_LE:
    case OP_GT:
    case OP_GE: return step_bin;
    case OP_NEG:
    case OP_ABS:
    case OP_BIT_NOT:
    case OP_NOT: s->k.un = k->un[op][s->phys]; return step_un;
    case OP_CVT: s->k.un = k->cvt[s->phys][s->dphys]; return step_un;
    case OP_RESCALE: return step_rescale;
    case OP_NUM_DIV:
    case OP_NUM_MUL: return step_num_bin;
    case OP_NUM_TO_F64: return step_num_to_f64;
    case OP_F64_TO_NUM: return step_f64_to_num;
    case OP_CHECK_DIGITS: return step_check_digits;
    case OP_DISTINCT: return step_distinct;
    case OP_AND:
    case OP_OR: return step_logic;
    case OP_IS_NULL:
    case OP_IS_NOT_NULL: return step_null_test;
    case OP_IS_TRUE:
    case OP_IS_FALSE: return step_truth_test;
    case OP_SELECT: return step_select;
    case OP_COALESCE: return step_coalesce;
    case OP_NULLIF: return step_nullif;
    case OP_IN_SET:
        if (!(s->impl = set_prepare(vm->arena, s->in->aux, s->phys))) return NULL;
        return step_in_set;
    case OP_CODE_TEST: return step_code_test;
    case OP_CODE_MAP: return step_code_map;
    case OP_DECODE: return step_decode;
    case OP_LIKE: return step_like;
    case OP_DATE_PART: return step_date_part;
    case OP_CALL: return step_call;
    case OP_KEY_PACK: return step_key_pack;
    default: err_internal(e, "opcode %s has no executor", op_info[op].name); return NULL;
    }
}
