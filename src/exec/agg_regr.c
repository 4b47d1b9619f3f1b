/* agg_regr.c - the states of corr, covar_* and regr_*: of pairs (y, x) of doubles without NULLs.
 *
 * Sums and the sums of products of differences from the mean, by Youngs and Cramer as PostgreSQL's float8_regr_accum
 * and float8_regr_combine have them, with the same errors and NaNs: an infinite value makes what depends on it NaN,
 * sums of finite ones that are not finite are an error.
 */
#include <math.h>

#include "exec/agg_int.h"

typedef struct RegrCell {
    int64_t n;
    double sx, sxx, sy, syy, sxy;
} RegrCell;

int32_t agg_regr_bytes(void) { return (int32_t)sizeof(RegrCell); }

static Status overflow(Err *e) { return err_set(e, ERR_NUMERIC_RANGE, "value out of range: overflow"); }

static Status not_finite(RegrCell *s, const RegrCell *old, double y, double x, Err *e) {
    bool x_ok = !isinf(old->sx) && !isinf(x), y_ok = !isinf(old->sy) && !isinf(y);
    if ((x_ok && (isinf(s->sx) || isinf(s->sxx))) || (y_ok && (isinf(s->sy) || isinf(s->syy))) ||
        (x_ok && y_ok && isinf(s->sxy)))
        return overflow(e);
    if (isinf(s->sxx)) s->sxx = (double)NAN;
    if (isinf(s->syy)) s->syy = (double)NAN;
    if (isinf(s->sxy)) s->sxy = (double)NAN;
    return ST_OK;
}

static Status add(RegrCell *s, double y, double x, Err *e) {
    const RegrCell old = *s;
    double before = (double)s->n, n = before + 1;
    s->n++;
    s->sx += x;
    s->sy += y;
    if (before == 0) {
        if (!isfinite(x)) s->sxx = s->sxy = (double)NAN;
        if (!isfinite(y)) s->syy = s->sxy = (double)NAN;
        return ST_OK;
    }
    double dx = x * n - s->sx, dy = y * n - s->sy, scale = 1.0 / (n * before);
    s->sxx += dx * dx * scale;
    s->syy += dy * dy * scale;
    s->sxy += dx * dy * scale;
    if (isinf(s->sx) || isinf(s->sxx) || isinf(s->sy) || isinf(s->syy) || isinf(s->sxy))
        return not_finite(s, &old, y, x, e);
    return ST_OK;
}

Status agg_regr_update(const AggCol *c, AggHeap *h, int64_t n, char *const *rows, const Vec *in, const Vec *in2,
                       Err *e) {
    (void)h;
    const double *y = in->data, *x = in2->data;
    for (int64_t i = 0; i < n; i++) {
        int64_t k = in2->is_const ? 0 : i;
        if ((in->valid && !in->valid[i]) || (in2->valid && !in2->valid[k])) continue;
        TRY(add((RegrCell *)(void *)(rows[i] + c->off), y[i], x[k], e));
    }
    return ST_OK;
}

/* A sum of two that are finite must be. */
static bool spills(double sum, double a, double b) { return isinf(sum) && !isinf(a) && !isinf(b); }

Status agg_regr_merge(const AggCol *c, AggHeap *h, int64_t n, char *const *dst, const char *const *src, Err *e) {
    (void)h;
    for (int64_t i = 0; i < n; i++) {
        RegrCell *a = (RegrCell *)(void *)(dst[i] + c->off), b, old = *a;
        memcpy(&b, src[i] + c->off, sizeof b);
        if (b.n == 0) continue;
        if (old.n == 0) {
            *a = b;
            continue;
        }
        double n1 = (double)old.n, n2 = (double)b.n, all = n1 + n2;
        double dx = old.sx / n1 - b.sx / n2, dy = old.sy / n1 - b.sy / n2;
        a->n += b.n;
        a->sx += b.sx;
        a->sxx = old.sxx + b.sxx + n1 * n2 * dx * dx / all;
        a->sy += b.sy;
        a->syy = old.syy + b.syy + n1 * n2 * dy * dy / all;
        a->sxy = old.sxy + b.sxy + n1 * n2 * dx * dy / all;
        if (spills(a->sx, old.sx, b.sx) || spills(a->sxx, old.sxx, b.sxx) || spills(a->sy, old.sy, b.sy) ||
            spills(a->syy, old.syy, b.syy) || spills(a->sxy, old.sxy, b.sxy))
            return overflow(e);
    }
    return ST_OK;
}

/* The result; false: NULL. */
static bool value_of(const RegrCell *s, uint8_t kind, double *v) {
    double n = (double)s->n;
    if (s->n < (kind == AGG_COVAR_SAMP ? 2 : 1)) return false;
    switch (kind) {
    case AGG_REGR_SXX: *v = s->sxx; return true;
    case AGG_REGR_SYY: *v = s->syy; return true;
    case AGG_REGR_SXY: *v = s->sxy; return true;
    case AGG_REGR_AVGX: *v = s->sx / n; return true;
    case AGG_REGR_AVGY: *v = s->sy / n; return true;
    case AGG_COVAR_POP: *v = s->sxy / n; return true;
    case AGG_COVAR_SAMP: *v = s->sxy / (n - 1); return true;
    default: break;
    }
    if (s->sxx == 0) return false;
    switch (kind) {
    case AGG_CORR:
        if (s->syy == 0) return false;
        *v = s->sxy / sqrt(s->sxx * s->syy);
        return true;
    case AGG_REGR_R2: *v = s->syy == 0 ? 1 : (s->sxy * s->sxy) / (s->sxx * s->syy); return true;
    case AGG_REGR_SLOPE: *v = s->sxy / s->sxx; return true;
    default: *v = (s->sy - s->sx * s->sxy / s->sxx) / n; return true;
    }
}

void agg_regr_load(const AggCol *c, const char *const *rows, int64_t first, const int32_t *pos, int64_t n, Vec *out) {
    bool all = true;
    for (int64_t i = 0; i < n; i++) {
        RegrCell s;
        double v = 0;
        memcpy(&s, rows[pos ? (int64_t)pos[i] : first + i] + c->off, sizeof s);
        if (c->arg == AGG_REGR_COUNT) {
            ((int64_t *)out->data)[i] = s.n;
            continue;
        }
        out->valid[i] = value_of(&s, c->arg, &v);
        ((double *)out->data)[i] = v;
        all &= out->valid[i];
    }
    if (all) out->valid = NULL;
}
