/* func_datetime.c - arithmetic and functions on dates, times, timestamps and intervals.
 *
 * timestamptz is UTC: fields, truncation and arithmetic in months and days happen on the clocks of the session's zone
 * (SessionInfo.form.zone). EXTRACT comes in three forms, because the result type cannot
 * depend on the field's name: extract_int for whole-number fields (int4), extract_num (numeric(22,6)) and
 * date_part (float8); the binder picks by the constant field. Infinite timestamps give infinite or NULL fields.
 */
#include <math.h>
#include <stdio.h>
#include <time.h>

#include "types/func_int.h"

#define EPOCH_SHIFT_SECS INT64_C(946684800) /* 1970-01-01 to 2000-01-01 */
#define JULIAN_2000 2451545
#define DATE_MIN_VALID (-2451545)
#define DATE_MAX_VALID 2145031948
#define TS_RANGE(i) FAIL(i, ERR_DATETIME_OVERFLOW, "timestamp out of range")
#define IV_RANGE(i) FAIL(i, ERR_DATETIME_OVERFLOW, "interval out of range")
#define IV0 ((Interval){0, 0, 0})

/* ---- fields ----------------------------------------------------------------------- */

bool date_to_timestamp(int32_t d, int64_t *out) {
    if (d == DATE_NEG_INF) return *out = TS_NEG_INF, false;
    if (d == DATE_POS_INF) return *out = TS_POS_INF, false;
    int128_t t = (int128_t)d * USECS_PER_DAY;
    if (t < TS_MIN_VALID || t >= TS_MAX_END) return true;
    *out = (int64_t)t;
    return false;
}
static int32_t ts_date(int64_t ts) {
    return ts == TS_NEG_INF ? DATE_NEG_INF : ts == TS_POS_INF ? DATE_POS_INF : (int32_t)floor_div(ts, USECS_PER_DAY);
}

/* t: microseconds since midnight of day d. */
static void day_to_parts(int32_t d, int64_t t, TsParts *p) {
    date_to_ymd(d, &p->year, &p->month, &p->day);
    p->usec = (int)(t % USECS_PER_SEC);
    t /= USECS_PER_SEC;
    p->second = (int)(t % 60);
    p->minute = (int)(t / 60 % 60);
    p->hour = (int)(t / 3600);
    p->dow = (int)floor_mod((int64_t)d + 6, 7); /* 2000-01-01 was a Saturday */
    p->doy = (int)(d - date_from_ymd(p->year, 1, 1)) + 1;
}
void ts_to_parts(int64_t ts, TsParts *p) {
    int32_t d = (int32_t)floor_div(ts, USECS_PER_DAY);
    day_to_parts(d, ts - d * USECS_PER_DAY, p);
}

/* Monday of the ISO week. */
int32_t iso_week_start(int64_t iso_year, int week) {
    int32_t jan4 = date_from_ymd(iso_year, 1, 4);
    return (int32_t)(jan4 - floor_mod((int64_t)jan4 + 5, 7) + (week - 1) * 7);
}
int iso_week_of(int64_t y, int m, int d, int64_t *iso_year) {
    int32_t day = date_from_ymd(y, m, d);
    int64_t iy = y;
    if (day < iso_week_start(y, 1)) iy = y - 1;
    else if (day >= iso_week_start(y + 1, 1)) iy = y + 1;
    *iso_year = iy;
    return (day - iso_week_start(iy, 1)) / 7 + 1;
}

static DateField field_of(Str name) {
    char buf[32];
    if (name.len >= sizeof buf) return DF_INVALID;
    for (uint32_t k = 0; k < name.len; k++)
        buf[k] = name.ptr[k] >= 'A' && name.ptr[k] <= 'Z' ? (char)(name.ptr[k] + 32) : name.ptr[k];
    return date_field_from_name((Slice){buf, name.len});
}
static Status bad_unit(FuncCtx *ctx, int64_t i, Str name, TypeId type, DateField f) {
    int len = (int)MIN_OF(name.len, 64u);
    const char *t = type_base_name(type);
    FAIL_IF(f == DF_INVALID, i, ERR_INVALID_PARAMETER, "unit \"%.*s\" not recognized for type %s", len, name.ptr, t);
    FAIL(i, ERR_FEATURE_NOT_SUPPORTED, "unit \"%.*s\" not supported for type %s", len, name.ptr, t);
}

#define MICRO(v) ((int128_t)(v)*1000000)

static bool clock_part(DateField f, int hour, int minute, int second, int usec, int128_t *v) {
    switch (f) {
    case DF_HOUR: *v = MICRO(hour); return true;
    case DF_MINUTE: *v = MICRO(minute); return true;
    case DF_SECOND: *v = MICRO(second) + usec; return true;
    case DF_MILLISECONDS: *v = (MICRO(second) + usec) * 1000; return true;
    case DF_MICROSECONDS: *v = (MICRO(second) + usec) * 1000000; return true;
    default: return false;
    }
}
/* The field times 10^6; false when the type has no such field. The day and its time are local; days reach further than
 * timestamps. */
static bool day_part(DateField f, int32_t d, int64_t t, bool tz, int offset, int128_t *v) {
    TsParts p;
    day_to_parts(d, t, &p);
    if (clock_part(f, p.hour, p.minute, p.second, p.usec, v)) return true;
    int64_t y = p.year, iy;
    switch (f) {
    case DF_DAY: *v = MICRO(p.day); return true;
    case DF_MONTH: *v = MICRO(p.month); return true;
    case DF_QUARTER: *v = MICRO((p.month - 1) / 3 + 1); return true;
    case DF_WEEK: *v = MICRO(iso_week_of(y, p.month, p.day, &iy)); return true;
    case DF_ISOYEAR:
        (void)iso_week_of(y, p.month, p.day, &iy);
        *v = MICRO(iy > 0 ? iy : iy - 1);
        return true;
    case DF_YEAR: *v = MICRO(y > 0 ? y : y - 1); return true;
    case DF_DECADE: *v = MICRO(y >= 0 ? y / 10 : -((8 - (y - 1)) / 10)); return true;
    case DF_CENTURY: *v = MICRO(y > 0 ? (y + 99) / 100 : -((99 - (y - 1)) / 100)); return true;
    case DF_MILLENNIUM: *v = MICRO(y > 0 ? (y + 999) / 1000 : -((999 - (y - 1)) / 1000)); return true;
    case DF_DOW: *v = MICRO(p.dow); return true;
    case DF_ISODOW: *v = MICRO(p.dow ? p.dow : 7); return true;
    case DF_DOY: *v = MICRO(p.doy); return true;
    case DF_EPOCH: *v = (int128_t)d * USECS_PER_DAY + t - MICRO(offset) + MICRO(EPOCH_SHIFT_SECS); return true;
    case DF_JULIAN: *v = MICRO((int64_t)d + JULIAN_2000) + t / USECS_PER_DAY_S; return true;
    case DF_TIMEZONE: *v = MICRO(offset); return tz;
    case DF_TIMEZONE_HOUR: *v = MICRO(offset / 3600); return tz;
    case DF_TIMEZONE_MINUTE: *v = MICRO(offset / 60 % 60); return tz;
    default: return false;
    }
}
static bool time_part(DateField f, int64_t t, int128_t *v) {
    if (f == DF_EPOCH) return *v = t, true;
    int64_t s = t / USECS_PER_SEC;
    return clock_part(f, (int)(s / 3600), (int)(s / 60 % 60), (int)(s % 60), (int)(t % USECS_PER_SEC), v);
}
static bool timetz_part(DateField f, int64_t cell, int128_t *v) {
    const int32_t offset = timetz_offset(cell);
    switch (f) {
    case DF_EPOCH: *v = timetz_utc(cell); return true;
    case DF_TIMEZONE: *v = MICRO(offset); return true;
    case DF_TIMEZONE_HOUR: *v = MICRO(offset / 3600); return true;
    case DF_TIMEZONE_MINUTE: *v = MICRO(offset / 60 % 60); return true;
    default: return time_part(f, timetz_micros(cell), v);
    }
}
static bool interval_part(DateField f, const Interval *iv, int128_t *v) {
    int64_t s = iv->micros / USECS_PER_SEC;
    if (f == DF_HOUR) return *v = MICRO(s / 3600), true;
    if (clock_part(f, 0, (int)(s / 60 % 60), (int)(s % 60), (int)(iv->micros % USECS_PER_SEC), v)) return true;
    int32_t y = iv->months / 12, m = iv->months % 12;
    switch (f) {
    case DF_DAY: *v = MICRO(iv->days); return true;
    case DF_MONTH: *v = MICRO(m); return true;
    case DF_QUARTER: *v = MICRO(m / 3 + 1); return true;
    case DF_YEAR: *v = MICRO(y); return true;
    case DF_DECADE: *v = MICRO(y / 10); return true;
    case DF_CENTURY: *v = MICRO(y / 100); return true;
    case DF_MILLENNIUM: *v = MICRO(y / 1000); return true;
    case DF_EPOCH:
        *v = MICRO((int128_t)y * 31557600 + (int64_t)m * 2592000 + (int64_t)iv->days * 86400) + iv->micros;
        return true;
    default: return false;
    }
}
/* The zone that a text names, kept for the rows behind it, most of which have the same; NULL: ctx->err is set. */
typedef struct ZoneCache {
    char text[ZONE_NAME_MAX + 1];
    int64_t len;
    ZoneRef ref;
} ZoneCache;
static const ZoneRef *ref_of(FuncCtx *ctx, int64_t i, Str text) {
    ZoneCache *c = ctx->state;
    if (!c) {
        ctx->state = c = arena_alloc(ctx->state_arena ? ctx->state_arena : ctx->arena, (int64_t)sizeof *c);
        if (!c) {
            if (!err_is_set(ctx->err)) err_oom(ctx->err);
            ctx->error_row = i;
            return NULL;
        }
        c->len = -1;
    }
    if (c->len == (int64_t)text.len && memcmp(c->text, text.ptr, text.len) == 0) return &c->ref;
    c->len = -1;
    if (zone_ref_find(slice_of_str(text), &c->ref, ctx->err) != ST_OK) {
        ctx->error_row = i;
        return NULL;
    }
    c->len = text.len;
    memcpy(c->text, text.ptr, text.len);
    return &c->ref;
}
static bool clock_field(DateField f) { return f >= DF_HOUR && f <= DF_MICROSECONDS; }
static bool tz_field(DateField f) { return f == DF_TIMEZONE || f == DF_TIMEZONE_HOUR || f == DF_TIMEZONE_MINUTE; }

/* Row i's field of args[0] in args[1], times 10^6 (times 10^20: Julian days with their fractions). *inf: -1, 1 for
 * infinite values, 2 for NULL. */
static Status part_of(FuncCtx *ctx, const Vec *args, int64_t i, bool date_as_ts, int128_t *v, int *scale, int *inf) {
    Str name = AT(Str, 0, i);
    DateField f = field_of(name);
    TypeId type = (TypeId)args[1].type.id;
    *inf = 0;
    *scale = 6;
    bool ok = false;
    switch (type) {
    case T_DATE:
    case T_TIMESTAMP:
    case T_TIMESTAMPTZ: {
        int64_t ts = 0;
        bool tz = type == T_TIMESTAMPTZ, date = type == T_DATE;
        if (f == DF_INVALID || (date && !date_as_ts && (clock_field(f) || tz_field(f))) || (!tz && tz_field(f)))
            return bad_unit(ctx, i, name, date && date_as_ts ? T_TIMESTAMP : type, f);
        if (date) { /* date_part reads it as a timestamp */
            int32_t d = AT(int32_t, 1, i);
            bool beyond = date_to_timestamp(d, &ts);
            FAIL_IF(beyond && date_as_ts, i, ERR_DATETIME_OVERFLOW, "date out of range for timestamp");
            if (beyond) return day_part(f, d, 0, false, 0, v) ? ST_OK : bad_unit(ctx, i, name, type, f);
        } else {
            ts = AT(int64_t, 1, i);
        }
        if (!ts_finite(ts)) {
            bool monotonic = f == DF_YEAR || f == DF_ISOYEAR || f == DF_DECADE || f == DF_CENTURY ||
                             f == DF_MILLENNIUM || f == DF_EPOCH || f == DF_JULIAN;
            *inf = !monotonic ? 2 : ts == TS_NEG_INF ? -1 : 1;
            *v = 0;
            return ST_OK;
        }
        const int offset = tz ? zone_offset_at(ctx_zone(ctx), ts) : 0;
        int64_t local = ts + offset * USECS_PER_SEC, day = floor_div(local, USECS_PER_DAY),
                t = local - day * USECS_PER_DAY;
        if (f == DF_JULIAN && !date) {
            int128_t part = (int128_t)t * pow10_i128[20];
            *v = (day + JULIAN_2000) * pow10_i128[20] + (part + USECS_PER_DAY / 2) / USECS_PER_DAY;
            *scale = 20;
            return ST_OK;
        }
        ok = day_part(f, (int32_t)day, t, tz, offset, v);
        break;
    }
    case T_TIME: ok = time_part(f, AT(int64_t, 1, i), v); break;
    case T_TIMETZ: ok = timetz_part(f, AT(int64_t, 1, i), v); break;
    case T_INTERVAL: ok = interval_part(f, &AT(Interval, 1, i), v); break;
    default: break;
    }
    return ok ? ST_OK : bad_unit(ctx, i, name, type, f);
}
KERNEL(date_part_f64) {
    KERNEL_UNUSED();
    for (int64_t i = 0; i < n; i++) {
        double *r = (double *)out->data + i;
        *r = 0;
        out->valid[i] = !arg_null(&args[0], i) && !arg_null(&args[1], i);
        if (!out->valid[i]) continue;
        int128_t v;
        int scale, inf;
        TRY(part_of(ctx, args, i, true, &v, &scale, &inf));
        if (inf == 2) out->valid[i] = 0;
        else *r = inf == 1 ? HUGE_VAL : inf == -1 ? -HUGE_VAL : scale == 6 ? (double)v / 1e6 : numeric_to_f64(v, scale);
    }
    return ST_OK;
}
KERNEL(extract_num) {
    KERNEL_UNUSED();
    for (int64_t i = 0; i < n; i++) {
        num_zero(out, i);
        out->valid[i] = !arg_null(&args[0], i) && !arg_null(&args[1], i);
        if (!out->valid[i]) continue;
        int128_t v;
        int scale, inf;
        TRY(part_of(ctx, args, i, false, &v, &scale, &inf));
        FAIL_IF(inf == 1 || inf == -1, i, ERR_NUMERIC_RANGE, "cannot convert infinity to numeric");
        if (inf == 2) out->valid[i] = 0;
        else if (!num_put(ctx, out, i, v, scale)) return num_overflow(ctx, i);
    }
    return ST_OK;
}
KERNEL(extract_int) {
    KERNEL_UNUSED();
    for (int64_t i = 0; i < n; i++) {
        int32_t *r = (int32_t *)out->data + i;
        *r = 0;
        out->valid[i] = !arg_null(&args[0], i) && !arg_null(&args[1], i);
        if (!out->valid[i]) continue;
        int128_t v;
        int scale, inf;
        TRY(part_of(ctx, args, i, false, &v, &scale, &inf));
        FAIL_IF(inf == 1 || inf == -1, i, ERR_NUMERIC_RANGE, "cannot convert infinity to numeric");
        if (inf == 2) out->valid[i] = 0;
        v /= pow10_i128[scale];
        FAIL_IF(v < INT32_MIN || v > INT32_MAX, i, ERR_NUMERIC_RANGE, "integer out of range");
        *r = (int32_t)v;
    }
    return ST_OK;
}

/* ---- truncation ------------------------------------------------------------------------ */

static bool trunc_local(DateField f, int64_t ts, int64_t *out) {
    TsParts p;
    ts_to_parts(ts, &p);
    int64_t y = p.year, iy;
    int m = 1, unit = 0;
    switch (f) {
    case DF_MICROSECONDS: *out = ts; return true;
    case DF_MILLISECONDS: *out = ts - floor_mod(ts, 1000); return true;
    case DF_SECOND: *out = ts - floor_mod(ts, USECS_PER_SEC); return true;
    case DF_MINUTE: *out = ts - floor_mod(ts, 60 * USECS_PER_SEC); return true;
    case DF_HOUR: *out = ts - floor_mod(ts, 3600 * USECS_PER_SEC); return true;
    case DF_DAY: *out = ts - floor_mod(ts, USECS_PER_DAY); return true;
    case DF_WEEK: {
        int w = iso_week_of(y, p.month, p.day, &iy);
        *out = iso_week_start(iy, w) * USECS_PER_DAY;
        return true;
    }
    case DF_MONTH: m = p.month; break;
    case DF_QUARTER: m = (p.month - 1) / 3 * 3 + 1; break;
    case DF_YEAR: break;
    case DF_DECADE: y = y > 0 ? y / 10 * 10 : -((8 - (y - 1)) / 10) * 10; break;
    case DF_CENTURY: unit = 100; break;
    case DF_MILLENNIUM: unit = 1000; break;
    default: return false;
    }
    if (unit) y = y > 0 ? (y + unit - 1) / unit * unit - (unit - 1) : -((unit - 1 - (y - 1)) / unit) * unit + 1;
    *out = date_from_ymd(y, m, 1) * USECS_PER_DAY;
    return true;
}
static Status date_trunc(FuncCtx *ctx, int64_t i, Str unit, int64_t ts, bool tz, const Zone *zone, int64_t *z) {
    DateField f = field_of(unit);
    int64_t offset = zone_offset_at(zone, ts) * USECS_PER_SEC, r = 0;
    *z = ts;
    if (!ts_finite(ts)) return ST_OK;
    if (!trunc_local(f, ts + offset, &r)) return bad_unit(ctx, i, unit, tz ? T_TIMESTAMPTZ : T_TIMESTAMP, f);
    if (!clock_field(f)) offset = zone_offset_of_local(zone, r) * USECS_PER_SEC; /* of that day */
    if (!ts_in_range(r - offset)) TS_RANGE(i);
    *z = r - offset;
    return ST_OK;
}
K2F(date_trunc_ts, Str, int64_t, int64_t, 0, { TRY(date_trunc(ctx, i, x, y, false, NULL, &z)); })
K2F(date_trunc_tz, Str, int64_t, int64_t, 0, { TRY(date_trunc(ctx, i, x, y, true, ctx_zone(ctx), &z)); })
KNF(date_trunc_zone, int64_t, 0, {
    const Zone *zone = NULL;
    const ZoneRef *ref = ref_of(ctx, i, AT(Str, 2, i));
    if (!ref || zone_ref_zone(ref, &zone, ctx->err) != ST_OK) return FAILED(i);
    TRY(date_trunc(ctx, i, AT(Str, 0, i), AT(int64_t, 1, i), true, zone, &z));
})
K2F(date_trunc_iv, Str, Interval, Interval, IV0, {
    DateField f = field_of(x);
    int64_t us = 1;
    int months = 1;
    z = y;
    switch (f) {
    case DF_MILLENNIUM: months = 12000; break;
    case DF_CENTURY: months = 1200; break;
    case DF_DECADE: months = 120; break;
    case DF_YEAR: months = 12; break;
    case DF_QUARTER: months = 3; break;
    case DF_MONTH: break;
    case DF_DAY:
        months = 0;
        us = INT64_MAX;
        break;
    case DF_HOUR:
        months = 0;
        us = 3600 * USECS_PER_SEC;
        break;
    case DF_MINUTE:
        months = 0;
        us = 60 * USECS_PER_SEC;
        break;
    case DF_SECOND:
        months = 0;
        us = USECS_PER_SEC;
        break;
    case DF_MILLISECONDS:
        months = 0;
        us = 1000;
        break;
    case DF_MICROSECONDS: months = 0; break;
    default: TRY(bad_unit(ctx, i, x, T_INTERVAL, f));
    }
    if (months) {
        z.months = z.months / months * months;
        z.days = 0;
        z.micros = 0;
    } else {
        z.micros = us == INT64_MAX ? 0 : z.micros / us * us;
    }
})
KNF(date_bin_ts, int64_t, 0, {
    Interval iv = AT(Interval, 0, i);
    int64_t ts = AT(int64_t, 1, i);
    int64_t origin = AT(int64_t, 2, i);
    z = ts;
    if (ts_finite(ts)) {
        FAIL_IF(!ts_finite(origin), i, ERR_DATETIME_OVERFLOW, "origin out of range");
        FAIL_IF(iv.months != 0, i, ERR_FEATURE_NOT_SUPPORTED,
                "timestamps cannot be binned into intervals containing months or years");
        int128_t stride = (int128_t)iv.days * USECS_PER_DAY + iv.micros;
        FAIL_IF(stride <= 0, i, ERR_DATETIME_OVERFLOW, "stride must be greater than zero");
        if (stride > INT64_MAX) IV_RANGE(i);
        int128_t d = (int128_t)ts - origin;
        int128_t q = d / stride;
        if (d < 0 && d % stride != 0) q--;
        int128_t start = origin + q * stride;
        if (start < TS_MIN_VALID || start >= TS_MAX_END) TS_RANGE(i);
        z = (int64_t)start;
    }
})

/* ---- intervals ------------------------------------------------------------------------------ */

static bool iv_add(Interval a, Interval b, Interval *z) {
    return __builtin_add_overflow(a.months, b.months, &z->months) || __builtin_add_overflow(a.days, b.days, &z->days) ||
           __builtin_add_overflow(a.micros, b.micros, &z->micros);
}
static bool iv_sub(Interval a, Interval b, Interval *z) {
    return __builtin_sub_overflow(a.months, b.months, &z->months) || __builtin_sub_overflow(a.days, b.days, &z->days) ||
           __builtin_sub_overflow(a.micros, b.micros, &z->micros);
}
K2F(add_iv, Interval, Interval, Interval, IV0, {
    if (iv_add(x, y, &z)) IV_RANGE(i);
})
K2F(sub_iv, Interval, Interval, Interval, IV0, {
    if (iv_sub(x, y, &z)) IV_RANGE(i);
})
K1F(neg_iv, Interval, Interval, IV0, {
    if (iv_sub(IV0, x, &z)) IV_RANGE(i);
})

static double ts_round(double v) { return rint(v * 1e6) / 1e6; }
/* PostgreSQL's rule: fractions of months become days of 30, fractions of days become time. */
static bool iv_scale(Interval a, double months, double days, double micros, Interval *z) {
    (void)a;
    if (isnan(months) || fabs(months) >= 2147483648.0 || fabs(days) >= 2147483648.0) return true;
    z->months = (int32_t)months;
    z->days = (int32_t)days;
    double rest_days = ts_round((months - z->months) * 30.0);
    double secs = ts_round((days - z->days + rest_days - (double)(int64_t)rest_days) * 86400.0);
    int64_t extra = 0;
    if (fabs(secs) >= 86400.0) {
        extra = (int64_t)(secs / 86400.0);
        secs -= (double)extra * 86400.0;
    }
    if (__builtin_add_overflow(z->days, extra + (int64_t)rest_days, &z->days)) return true;
    double us = rint(micros + secs * 1e6);
    if (isnan(us) || fabs(us) >= 9223372036854775807.0) return true;
    z->micros = (int64_t)us;
    return false;
}
bool interval_between(Interval lo, Interval hi, double part, Interval *z) {
    Interval d = {0}, x = {0};
    return iv_sub(hi, lo, &d) || iv_scale(d, d.months * part, d.days * part, (double)d.micros * part, &x) ||
           iv_add(x, lo, z);
}
K2F(mul_iv, Interval, double, Interval, IV0, {
    if (iv_scale(x, x.months * y, x.days * y, (double)x.micros * y, &z)) IV_RANGE(i);
})
K2F(mul_f_iv, double, Interval, Interval, IV0, {
    if (iv_scale(y, y.months * x, y.days * x, (double)y.micros * x, &z)) IV_RANGE(i);
})
K2F(div_iv, Interval, double, Interval, IV0, {
    FAIL_IF(y == 0, i, ERR_DIVISION_BY_ZERO, "division by zero");
    if (iv_scale(x, x.months / y, x.days / y, (double)x.micros / y, &z)) IV_RANGE(i);
})

/* Whole days out of the time; then same signs. */
static bool justify_hours(Interval *z) {
    int64_t whole = z->micros / USECS_PER_DAY;
    z->micros -= whole * USECS_PER_DAY;
    if (__builtin_add_overflow(z->days, whole, &z->days)) return true;
    if (z->days > 0 && z->micros < 0) z->micros += USECS_PER_DAY, z->days--;
    else if (z->days < 0 && z->micros > 0) z->micros -= USECS_PER_DAY, z->days++;
    return false;
}
static bool justify_days(Interval *z) {
    int32_t whole = z->days / 30;
    z->days -= whole * 30;
    if (__builtin_add_overflow(z->months, whole, &z->months)) return true;
    if (z->months > 0 && z->days < 0) z->days += 30, z->months--;
    else if (z->months < 0 && z->days > 0) z->days -= 30, z->months++;
    return false;
}
static bool justify_all(Interval *z) {
    /* Days first when they have the time's sign, so that the sums below do not overflow. */
    if ((z->days > 0 && z->micros > 0) || (z->days < 0 && z->micros < 0)) {
        int32_t whole = z->days / 30;
        z->days -= whole * 30;
        if (__builtin_add_overflow(z->months, whole, &z->months)) return true;
    }
    int64_t whole_days = z->micros / USECS_PER_DAY;
    z->micros -= whole_days * USECS_PER_DAY;
    if (__builtin_add_overflow(z->days, whole_days, &z->days)) return true;
    int32_t whole = z->days / 30;
    z->days -= whole * 30;
    if (__builtin_add_overflow(z->months, whole, &z->months)) return true;
    if (z->months > 0 && (z->days < 0 || (z->days == 0 && z->micros < 0))) z->days += 30, z->months--;
    else if (z->months < 0 && (z->days > 0 || (z->days == 0 && z->micros > 0))) z->days -= 30, z->months++;
    if (z->days > 0 && z->micros < 0) z->micros += USECS_PER_DAY, z->days--;
    else if (z->days < 0 && z->micros > 0) z->micros -= USECS_PER_DAY, z->days++;
    return false;
}
K1F(justify_hours_iv, Interval, Interval, IV0, {
    z = x;
    if (justify_hours(&z)) IV_RANGE(i);
})
K1F(justify_days_iv, Interval, Interval, IV0, {
    z = x;
    if (justify_days(&z)) IV_RANGE(i);
})
K1F(justify_interval_iv, Interval, Interval, IV0, {
    z = x;
    if (justify_all(&z)) IV_RANGE(i);
})

/* ---- arithmetic -------------------------------------------------------------------------------- */

static Status date_shift(FuncCtx *ctx, int64_t i, int32_t d, int64_t by, int32_t *z) {
    *z = d;
    if (d == DATE_NEG_INF || d == DATE_POS_INF) return ST_OK;
    int64_t r = d + by;
    FAIL_IF(r < DATE_MIN_VALID || r > DATE_MAX_VALID, i, ERR_DATETIME_OVERFLOW, "date out of range");
    *z = (int32_t)r;
    return ST_OK;
}
K2F(add_date_int, int32_t, int32_t, int32_t, 0, { TRY(date_shift(ctx, i, x, y, &z)); })
K2F(add_int_date, int32_t, int32_t, int32_t, 0, { TRY(date_shift(ctx, i, y, x, &z)); })
K2F(sub_date_int, int32_t, int32_t, int32_t, 0, { TRY(date_shift(ctx, i, x, -(int64_t)y, &z)); })
K2F(sub_date_date, int32_t, int32_t, int32_t, 0, {
    FAIL_IF(x == DATE_NEG_INF || x == DATE_POS_INF || y == DATE_NEG_INF || y == DATE_POS_INF, i, ERR_DATETIME_OVERFLOW,
            "cannot subtract infinite dates");
    z = x - y;
})

static Status ts_shift(FuncCtx *ctx, int64_t i, int64_t ts, const Interval *iv, int sign, int64_t *z) {
    if (timestamp_add_interval(ts, iv, sign, z)) TS_RANGE(i);
    return ST_OK;
}
static Status tz_shift(FuncCtx *ctx, int64_t i, int64_t ts, const Interval *iv, int sign, int64_t *z) {
    if (timestamptz_add_interval(ctx_zone(ctx), ts, iv, sign, z)) TS_RANGE(i);
    return ST_OK;
}
static Status date_iv(FuncCtx *ctx, int64_t i, int32_t d, const Interval *iv, int sign, int64_t *z) {
    int64_t ts = 0;
    FAIL_IF(date_to_timestamp(d, &ts), i, ERR_DATETIME_OVERFLOW, "date out of range for timestamp");
    return ts_shift(ctx, i, ts, iv, sign, z);
}
K2F(add_date_iv, int32_t, Interval, int64_t, 0, { TRY(date_iv(ctx, i, x, &y, 1, &z)); })
K2F(add_iv_date, Interval, int32_t, int64_t, 0, { TRY(date_iv(ctx, i, y, &x, 1, &z)); })
K2F(sub_date_iv, int32_t, Interval, int64_t, 0, { TRY(date_iv(ctx, i, x, &y, -1, &z)); })
K2F(add_ts_iv, int64_t, Interval, int64_t, 0, { TRY(ts_shift(ctx, i, x, &y, 1, &z)); })
K2F(add_iv_ts, Interval, int64_t, int64_t, 0, { TRY(ts_shift(ctx, i, y, &x, 1, &z)); })
K2F(sub_ts_iv, int64_t, Interval, int64_t, 0, { TRY(ts_shift(ctx, i, x, &y, -1, &z)); })
K2F(add_tz_iv, int64_t, Interval, int64_t, 0, { TRY(tz_shift(ctx, i, x, &y, 1, &z)); })
K2F(add_iv_tz, Interval, int64_t, int64_t, 0, { TRY(tz_shift(ctx, i, y, &x, 1, &z)); })
K2F(sub_tz_iv, int64_t, Interval, int64_t, 0, { TRY(tz_shift(ctx, i, x, &y, -1, &z)); })
static Status date_time(FuncCtx *ctx, int64_t i, int32_t d, int64_t t, int64_t *z) {
    FAIL_IF(date_to_timestamp(d, z), i, ERR_DATETIME_OVERFLOW, "date out of range for timestamp");
    if (ts_finite(*z)) {
        *z += t;
        if (!ts_in_range(*z)) TS_RANGE(i);
    }
    return ST_OK;
}
K2F(add_date_time, int32_t, int64_t, int64_t, 0, { TRY(date_time(ctx, i, x, y, &z)); })
K2F(add_time_date, int64_t, int32_t, int64_t, 0, { TRY(date_time(ctx, i, y, x, &z)); })
/* The same instant of another day: the zone stays. */
static int64_t timetz_shift(int64_t cell, int64_t by) {
    return timetz_make(floor_mod(timetz_micros(cell) + by % USECS_PER_DAY, USECS_PER_DAY), timetz_offset(cell));
}
K2F(add_timetz_iv, int64_t, Interval, int64_t, 0, { z = timetz_shift(x, y.micros); })
K2F(add_iv_timetz, Interval, int64_t, int64_t, 0, { z = timetz_shift(y, x.micros); })
K2F(sub_timetz_iv, int64_t, Interval, int64_t, 0, { z = timetz_shift(x, -(y.micros % USECS_PER_DAY)); })
K2F(add_date_timetz, int32_t, int64_t, int64_t, 0, { TRY(date_time(ctx, i, x, timetz_utc(y), &z)); })
K2F(add_timetz_date, int64_t, int32_t, int64_t, 0, { TRY(date_time(ctx, i, y, timetz_utc(x), &z)); })
K2F(sub_ts_ts, int64_t, int64_t, Interval, IV0, {
    FAIL_IF(!ts_finite(x) || !ts_finite(y), i, ERR_DATETIME_OVERFLOW, "cannot subtract infinite timestamps");
    if (__builtin_sub_overflow(x, y, &z.micros) || justify_hours(&z)) IV_RANGE(i);
})
K2F(add_time_iv, int64_t, Interval, int64_t, 0, { z = floor_mod(x + y.micros % USECS_PER_DAY, USECS_PER_DAY); })
K2F(add_iv_time, Interval, int64_t, int64_t, 0, { z = floor_mod(y + x.micros % USECS_PER_DAY, USECS_PER_DAY); })
K2F(sub_time_iv, int64_t, Interval, int64_t, 0, { z = floor_mod(x - y.micros % USECS_PER_DAY, USECS_PER_DAY); })
K2F(sub_time_time, int64_t, int64_t, Interval, IV0, { z.micros = x - y; })

/* age(): the difference in years, months, days and time, field by field. */
static bool ts_age(int64_t a, int64_t b, Interval *z) {
    TsParts p, q;
    ts_to_parts(a, &p);
    ts_to_parts(b, &q);
    bool neg = a < b;
    const TsParts *hi = neg ? &q : &p, *lo = neg ? &p : &q;
    int64_t us = (((int64_t)(hi->hour - lo->hour) * 60 + (hi->minute - lo->minute)) * 60 + (hi->second - lo->second)) *
                     USECS_PER_SEC +
                 (hi->usec - lo->usec);
    int64_t days = hi->day - lo->day, months = (hi->year - lo->year) * 12 + (hi->month - lo->month);
    if (us < 0) us += USECS_PER_DAY, days--;
    while (days < 0) {
        /* Days borrowed from the month of the earlier date, as PostgreSQL does. */
        int64_t y = lo->year + (lo->month == 12);
        int m = lo->month == 12 ? 1 : lo->month + 1;
        days += date_from_ymd(y, m, 1) - date_from_ymd(lo->year, lo->month, 1);
        months--;
    }
    if (months > INT32_MAX) return true;
    int s = neg ? -1 : 1;
    *z = (Interval){.micros = s * us, .days = (int32_t)(s * days), .months = (int32_t)(s * months)};
    return false;
}
static Status age(FuncCtx *ctx, int64_t i, int64_t a, int64_t b, Interval *z) {
    FAIL_IF(!ts_finite(a) || !ts_finite(b), i, ERR_DATETIME_OVERFLOW, "timestamp out of range");
    if (ts_age(a, b, z)) IV_RANGE(i);
    return ST_OK;
}
static int64_t local_midnight(const FuncCtx *ctx) {
    int64_t t = ctx_local(ctx, ctx_now(ctx));
    return t - floor_mod(t, USECS_PER_DAY);
}
static int64_t local_if_finite(const FuncCtx *ctx, int64_t ts) { return ts_finite(ts) ? ctx_local(ctx, ts) : ts; }
K2F(age_ts, int64_t, int64_t, Interval, IV0, { TRY(age(ctx, i, x, y, &z)); })
K2F(age_tz, int64_t, int64_t, Interval, IV0,
    { TRY(age(ctx, i, local_if_finite(ctx, x), local_if_finite(ctx, y), &z)); })
K1F(age1_ts, int64_t, Interval, IV0, { TRY(age(ctx, i, local_midnight(ctx), x, &z)); })
K1F(age1_tz, int64_t, Interval, IV0, { TRY(age(ctx, i, local_midnight(ctx), local_if_finite(ctx, x), &z)); })

/* ---- now, making, testing -------------------------------------------------------------------------- */

#define NOW_KERNEL(fn, T, EXPR)                                  \
    KERNEL(fn) {                                                 \
        KERNEL_UNUSED();                                         \
        const T v = (T)(EXPR);                                   \
        for (int64_t i = 0; i < n; i++) ((T *)out->data)[i] = v; \
        return ST_OK;                                            \
    }
NOW_KERNEL(now_tz, int64_t, ctx_now(ctx))
NOW_KERNEL(now_local, int64_t, ctx_local(ctx, ctx_now(ctx)))
NOW_KERNEL(now_date, int32_t, ts_date(ctx_local(ctx, ctx_now(ctx))))
NOW_KERNEL(now_timetz, int64_t,
           timetz_make(floor_mod(ctx_local(ctx, ctx_now(ctx)), USECS_PER_DAY),
                       zone_offset_at(ctx_zone(ctx), ctx_now(ctx))))
NOW_KERNEL(now_time, int64_t, floor_mod(ctx_local(ctx, ctx_now(ctx)), USECS_PER_DAY))
KERNEL(clock_tz) {
    KERNEL_UNUSED();
    for (int64_t i = 0; i < n; i++) {
        struct timespec t;
        clock_gettime(CLOCK_REALTIME, &t);
        ((int64_t *)out->data)[i] = ((int64_t)t.tv_sec - EPOCH_SHIFT_SECS) * USECS_PER_SEC + t.tv_nsec / 1000;
    }
    return ST_OK;
}

static Status make_date(FuncCtx *ctx, int64_t i, int32_t y, int32_t m, int32_t d, int32_t *z) {
    int64_t yy = y < 0 ? (int64_t)y + 1 : y; /* -1 is 1 BC */
    bool real = y != 0 && m >= 1 && m <= 12 && d >= 1 && d <= 31 &&
                date_valid_ymd(2000 + yy % 400, m, d); /* every year has one like it there */
    FAIL_IF(!real, i, ERR_DATETIME_OVERFLOW, "date field value out of range: %d-%02d-%02d", (int)yy, m, d);
    FAIL_IF(!date_valid_ymd(yy, m, d), i, ERR_DATETIME_OVERFLOW, "date out of range: %d-%02d-%02d", (int)yy, m, d);
    *z = date_from_ymd(yy, m, d);
    return ST_OK;
}
static Status make_time(FuncCtx *ctx, int64_t i, int32_t h, int32_t m, double s, int64_t *z) {
    bool ok = h >= 0 && m >= 0 && m < 60 && s >= 0 && s <= 60 && (h < 24 || (h == 24 && m == 0 && s == 0));
    FAIL_IF(!ok, i, ERR_DATETIME_OVERFLOW, "time field value out of range: %d:%02d:%02g", h, m, s);
    *z = ((int64_t)h * 60 + m) * 60 * USECS_PER_SEC + (int64_t)rint(s * 1e6);
    return ST_OK;
}
KNF(make_date_k, int32_t, 0, { TRY(make_date(ctx, i, AT(int32_t, 0, i), AT(int32_t, 1, i), AT(int32_t, 2, i), &z)); })
KNF(make_time_k, int64_t, 0, { TRY(make_time(ctx, i, AT(int32_t, 0, i), AT(int32_t, 1, i), AT(double, 2, i), &z)); })
static Status make_ts(FuncCtx *ctx, int64_t i, const Vec *args, int64_t *z) {
    int32_t d;
    int64_t t;
    TRY(make_date(ctx, i, AT(int32_t, 0, i), AT(int32_t, 1, i), AT(int32_t, 2, i), &d));
    TRY(make_time(ctx, i, AT(int32_t, 3, i), AT(int32_t, 4, i), AT(double, 5, i), &t));
    bool out_of_range = date_to_timestamp(d, z) || !ts_in_range(*z + t);
    FAIL_IF(out_of_range, i, ERR_DATETIME_OVERFLOW, "timestamp out of range: %d-%02d-%02d %d:%02d:%02g",
            AT(int32_t, 0, i), AT(int32_t, 1, i), AT(int32_t, 2, i), AT(int32_t, 3, i), AT(int32_t, 4, i),
            AT(double, 5, i));
    *z += t;
    return ST_OK;
}
KNF(make_ts_k, int64_t, 0, { TRY(make_ts(ctx, i, args, &z)); })
KNF(make_tz_k, int64_t, 0, {
    TRY(make_ts(ctx, i, args, &z));
    z = ctx_instant(ctx, z);
    if (!ts_in_range(z)) TS_RANGE(i);
})
/* A zone that begins with a sign is an ISO offset here, unlike in AT TIME ZONE. */
static Status zone_of_make(FuncCtx *ctx, int64_t i, Str zone, ZoneRef *out) {
    const Slice text = slice_of_str(zone);
    const int len = (int)MIN_OF(zone.len, 255u);
    bool beyond;
    if (zone.len > 0 && zone.ptr[0] >= '0' && zone.ptr[0] <= '9') {
        err_set(ctx->err, ERR_INVALID_PARAMETER, "invalid input syntax for type numeric time zone: \"%.*s\"", len,
                zone.ptr);
        err_hint(ctx->err, "Numeric time zones must have \"-\" or \"+\" as first character.");
        return FAILED(i);
    }
    if (zone_offset_parse(text, &out->offset, &beyond)) {
        FAIL_IF(beyond, i, ERR_INVALID_PARAMETER, "numeric time zone \"%.*s\" out of range", len, zone.ptr);
        out->fixed = true;
        return ST_OK;
    }
    const ZoneRef *ref = ref_of(ctx, i, zone);
    if (!ref) return ST_ERROR;
    *out = *ref;
    return ST_OK;
}
KNF(make_tz_zone_k, int64_t, 0, {
    ZoneRef zone = {0};
    TRY(make_ts(ctx, i, args, &z));
    TRY(zone_of_make(ctx, i, AT(Str, 6, i), &zone));
    z -= zone_ref_offset_of_local(&zone, z) * USECS_PER_SEC;
    if (!ts_in_range(z)) TS_RANGE(i);
})
/* years, months, weeks, days, hours, mins, secs; missing ones are 0. */
KNF(make_interval_k, Interval, IV0, {
    int64_t f[6] = {0};
    for (int k = 0; k < nargs && k < 6; k++) f[k] = AT(int32_t, k, i);
    double secs = nargs > 6 ? AT(double, 6, i) : 0;
    int64_t months = f[0] * 12 + f[1];
    int64_t days = f[2] * 7 + f[3];
    double us = rint(secs * 1e6);
    if (months > INT32_MAX || months < INT32_MIN || days > INT32_MAX || days < INT32_MIN || !(fabs(us) < 9e18))
        IV_RANGE(i);
    z.months = (int32_t)months;
    z.days = (int32_t)days;
    if (__builtin_add_overflow((f[4] * 60 + f[5]) * 60 * USECS_PER_SEC, (int64_t)us, &z.micros)) IV_RANGE(i);
})
K1F(to_timestamp_f64, double, int64_t, 0, {
    FAIL_IF(isnan(x), i, ERR_DATETIME_OVERFLOW, "timestamp cannot be NaN");
    if (isinf(x)) {
        z = x < 0 ? TS_NEG_INF : TS_POS_INF;
    } else {
        FAIL_IF(x < -210866803200.0 || x >= 9224318016000.0, i, ERR_DATETIME_OVERFLOW, "timestamp out of range: \"%g\"",
                x);
        z = (int64_t)rint((x - (double)EPOCH_SHIFT_SECS) * 1e6);
        if (!ts_in_range(z)) TS_RANGE(i);
    }
})
K1(isfinite_date, int32_t, uint8_t, x != DATE_NEG_INF && x != DATE_POS_INF)
K1(isfinite_ts, int64_t, uint8_t, ts_finite(x))
KERNEL(isfinite_iv) {
    KERNEL_UNUSED();
    memset(out->data, 1, (size_t)n);
    return ST_OK;
}

/* AT TIME ZONE */
static Status in_zone(FuncCtx *ctx, int64_t i, Str zone, int64_t ts, int64_t *z) {
    const ZoneRef *ref = ref_of(ctx, i, zone);
    if (!ref) return ST_ERROR;
    *z = ts_finite(ts) ? ts + zone_ref_offset_at(ref, ts) * USECS_PER_SEC : ts;
    if (ts_finite(ts) && !ts_in_range(*z)) TS_RANGE(i);
    return ST_OK;
}
static Status of_zone(FuncCtx *ctx, int64_t i, Str zone, int64_t local, int64_t *z) {
    const ZoneRef *ref = ref_of(ctx, i, zone);
    if (!ref) return ST_ERROR;
    *z = ts_finite(local) ? local - zone_ref_offset_of_local(ref, local) * USECS_PER_SEC : local;
    if (ts_finite(local) && !ts_in_range(*z)) TS_RANGE(i);
    return ST_OK;
}
static Status check_zone_interval(FuncCtx *ctx, int64_t i, const Interval *iv) {
    char text[VALUE_TEXT_MAX];
    if (!iv->months && !iv->days) return ST_OK;
    const int n = (int)cell_to_text(type_make(T_INTERVAL), iv, ctx_form(ctx), text);
    FAIL(i, ERR_INVALID_PARAMETER, "interval time zone \"%.*s\" must not include months or days", n, text);
}
static Status at_interval(FuncCtx *ctx, int64_t i, Interval iv, int64_t ts, int sign, int64_t *z) {
    TRY(check_zone_interval(ctx, i, &iv));
    *z = ts;
    if (ts_finite(ts)) {
        if (__builtin_add_overflow(ts, sign * iv.micros, z) || !ts_in_range(*z)) TS_RANGE(i);
    }
    return ST_OK;
}
K2F(zone_ts, Str, int64_t, int64_t, 0, { TRY(of_zone(ctx, i, x, y, &z)); })
K2F(zone_tz, Str, int64_t, int64_t, 0, { TRY(in_zone(ctx, i, x, y, &z)); })
K2F(zone_iv_ts, Interval, int64_t, int64_t, 0, { TRY(at_interval(ctx, i, x, y, -1, &z)); })
K2F(zone_iv_tz, Interval, int64_t, int64_t, 0, { TRY(at_interval(ctx, i, x, y, 1, &z)); })

/* The zone's offset of now counts. */
static int64_t timetz_at(int64_t cell, int32_t offset) {
    return timetz_make(floor_mod(timetz_utc(cell) + offset * USECS_PER_SEC, USECS_PER_DAY), offset);
}
K2F(zone_timetz, Str, int64_t, int64_t, 0, {
    const ZoneRef *ref = ref_of(ctx, i, x);
    if (!ref) return ST_ERROR;
    z = timetz_at(y, zone_ref_offset_at(ref, ctx_now(ctx)));
})
K2F(zone_iv_timetz, Interval, int64_t, int64_t, 0, {
    const int64_t secs = x.micros / USECS_PER_SEC;
    TRY(check_zone_interval(ctx, i, &x));
    FAIL_IF(secs <= -168 * 3600 || secs >= 168 * 3600, i, ERR_TZ_DISPLACEMENT, "time zone displacement out of range");
    z = timetz_at(y, (int32_t)secs);
})

/* (s1, e1) OVERLAPS (s2, e2) as PostgreSQL reads the standard: ends in any order, half-open, a period with one end is
 * that instant. */
KERNEL(overlaps_i64) {
    KERNEL_UNUSED();
    uint8_t *r = out->data;
    for (int64_t i = 0; i < n; i++) {
        int64_t s[2];
        int64_t e[2];
        bool open[2]; /* the end is not known */
        bool known = true;
        for (int k = 0; k < 2; k++) {
            bool no_start = arg_null(&args[2 * k], i);
            open[k] = no_start || arg_null(&args[2 * k + 1], i);
            known &= !no_start || !arg_null(&args[2 * k + 1], i);
            s[k] = AT(int64_t, 2 * k + no_start, i);
            e[k] = open[k] ? s[k] : AT(int64_t, 2 * k + 1, i);
            if (s[k] > e[k]) {
                int64_t t = s[k];
                s[k] = e[k];
                e[k] = t;
            }
        }
        int later = s[0] > s[1] ? 0 : 1; /* which starts later; whether it starts before the other ends */
        bool same = s[0] == s[1], before = known && s[later] < e[!later];
        if (same) r[i] = 1, out->valid[i] = known && !open[0] && !open[1];
        else if (open[!later]) r[i] = 0, out->valid[i] = 0;
        else if (before) r[i] = 1, out->valid[i] = known;
        else r[i] = 0, out->valid[i] = known && !open[later];
    }
    return ST_OK;
}

/* What sum(interval) and avg(interval) are made of. */
K1(interval_months_k, Interval, int32_t, x.months)
K1(interval_days_k, Interval, int32_t, x.days)
K1(interval_micros_k, Interval, int64_t, x.micros)
KNF(interval_from_sums, Interval, (Interval){0}, {
    const int64_t months = AT(int64_t, 0, i), days = AT(int64_t, 1, i);
    const int128_t micros = num_at(&args[2], i) / pow10_i128[args[2].type.scale];
    if (months != (int32_t)months || days != (int32_t)days || micros != (int64_t)micros) IV_RANGE(i);
    z = (Interval){.micros = (int64_t)micros, .days = (int32_t)days, .months = (int32_t)months};
})

/* The seconds of an interval have 16 digits before the point. Julian days have more behind it (func_refine_type). */
static Type tf_field(const FuncDef *f, int nargs, const Type *a) {
    (void)f, (void)nargs, (void)a;
    return type_numeric(22, 6);
}

/* ---- table ------------------------------------------------------------------------------------------------ */

#define OPF (FN_OPERATOR | SF)
#define OP2(nm, a, b, r, fn, dc) DEF(nm, OPF, r, 2, ARGS(a, b), OP_NONE, fn, NULL, dc)
#define EXTRACT_DEFS(T, op)                                                                             \
    DEF("extract_int", NF, T_INT4, 2, ARGS(T_TEXT, T), op, extract_int, NULL, "whole-number field"),    \
        DEF("extract_num", NF, T_NUMERIC, 2, ARGS(T_TEXT, T), OP_NONE, extract_num, tf_field, "field"), \
        DEF("extract", NF, T_NUMERIC, 2, ARGS(T_TEXT, T), OP_NONE, extract_num, tf_field, "field"),     \
        DEF("date_part", NF, T_FLOAT8, 2, ARGS(T_TEXT, T), OP_NONE, date_part_f64, NULL, "field")
#define NOW_DEF(nm, T, fn, dc) DEF(nm, S_ | FN_STABLE, T, 0, ARGS(0), OP_NONE, fn, NULL, dc)
#define I4 T_INT4

static const FuncDef defs[] = {
    OP2("+", T_DATE, T_INT4, T_DATE, add_date_int, "days later"),
    OP2("+", T_INT4, T_DATE, T_DATE, add_int_date, "days later"),
    OP2("-", T_DATE, T_INT4, T_DATE, sub_date_int, "days earlier"),
    OP2("-", T_DATE, T_DATE, T_INT4, sub_date_date, "days between"),
    OP2("+", T_DATE, T_INTERVAL, T_TIMESTAMP, add_date_iv, "later"),
    OP2("+", T_INTERVAL, T_DATE, T_TIMESTAMP, add_iv_date, "later"),
    OP2("-", T_DATE, T_INTERVAL, T_TIMESTAMP, sub_date_iv, "earlier"),
    OP2("+", T_DATE, T_TIME, T_TIMESTAMP, add_date_time, "timestamp of date and time"),
    OP2("+", T_TIME, T_DATE, T_TIMESTAMP, add_time_date, "timestamp of date and time"),
    OP2("+", T_TIMESTAMP, T_INTERVAL, T_TIMESTAMP, add_ts_iv, "later"),
    OP2("+", T_INTERVAL, T_TIMESTAMP, T_TIMESTAMP, add_iv_ts, "later"),
    OP2("-", T_TIMESTAMP, T_INTERVAL, T_TIMESTAMP, sub_ts_iv, "earlier"),
    OP2("+", T_TIMESTAMPTZ, T_INTERVAL, T_TIMESTAMPTZ, add_tz_iv, "later"),
    OP2("+", T_INTERVAL, T_TIMESTAMPTZ, T_TIMESTAMPTZ, add_iv_tz, "later"),
    OP2("-", T_TIMESTAMPTZ, T_INTERVAL, T_TIMESTAMPTZ, sub_tz_iv, "earlier"),
    OP2("-", T_TIMESTAMP, T_TIMESTAMP, T_INTERVAL, sub_ts_ts, "time between"),
    OP2("-", T_TIMESTAMPTZ, T_TIMESTAMPTZ, T_INTERVAL, sub_ts_ts, "time between"),
    OP2("+", T_TIME, T_INTERVAL, T_TIME, add_time_iv, "later"),
    OP2("+", T_INTERVAL, T_TIME, T_TIME, add_iv_time, "later"),
    OP2("-", T_TIME, T_INTERVAL, T_TIME, sub_time_iv, "earlier"),
    OP2("+", T_TIMETZ, T_INTERVAL, T_TIMETZ, add_timetz_iv, "later"),
    OP2("+", T_INTERVAL, T_TIMETZ, T_TIMETZ, add_iv_timetz, "later"),
    OP2("-", T_TIMETZ, T_INTERVAL, T_TIMETZ, sub_timetz_iv, "earlier"),
    OP2("+", T_DATE, T_TIMETZ, T_TIMESTAMPTZ, add_date_timetz, "timestamp of date and time"),
    OP2("+", T_TIMETZ, T_DATE, T_TIMESTAMPTZ, add_timetz_date, "timestamp of date and time"),
    OP2("-", T_TIME, T_TIME, T_INTERVAL, sub_time_time, "time between"),
    OP2("+", T_INTERVAL, T_INTERVAL, T_INTERVAL, add_iv, "sum"),
    OP2("-", T_INTERVAL, T_INTERVAL, T_INTERVAL, sub_iv, "difference"),
    OP2("*", T_INTERVAL, T_FLOAT8, T_INTERVAL, mul_iv, "product"),
    OP2("*", T_FLOAT8, T_INTERVAL, T_INTERVAL, mul_f_iv, "product"),
    OP2("/", T_INTERVAL, T_FLOAT8, T_INTERVAL, div_iv, "quotient"),
    DEF("-", OPF, T_INTERVAL, 1, ARGS(T_INTERVAL), OP_NONE, neg_iv, NULL, "negation"),
    EXTRACT_DEFS(T_DATE, OP_DATE_PART),
    EXTRACT_DEFS(T_TIMESTAMP, OP_DATE_PART),
    EXTRACT_DEFS(T_TIMESTAMPTZ, OP_NONE),
    EXTRACT_DEFS(T_TIME, OP_NONE),
    EXTRACT_DEFS(T_TIMETZ, OP_NONE),
    EXTRACT_DEFS(T_INTERVAL, OP_NONE),
    DEF("date_trunc", SF, T_TIMESTAMP, 2, ARGS(T_TEXT, T_TIMESTAMP), OP_NONE, date_trunc_ts, NULL, "start of the unit"),
    DEF("date_trunc", SF, T_TIMESTAMPTZ, 2, ARGS(T_TEXT, T_TIMESTAMPTZ), OP_NONE, date_trunc_tz, NULL,
        "start of the unit"),
    DEF("date_trunc", SF, T_TIMESTAMPTZ, 3, ARGS(T_TEXT, T_TIMESTAMPTZ, T_TEXT), OP_NONE, date_trunc_zone, NULL,
        "start of the unit in a time zone"),
    DEF("date_trunc", SF, T_INTERVAL, 2, ARGS(T_TEXT, T_INTERVAL), OP_NONE, date_trunc_iv, NULL, "whole units"),
    DEF("date_bin", SF, T_TIMESTAMP, 3, ARGS(T_INTERVAL, T_TIMESTAMP, T_TIMESTAMP), OP_NONE, date_bin_ts, NULL,
        "start of the stride counted from an origin"),
    DEF("date_bin", SF, T_TIMESTAMPTZ, 3, ARGS(T_INTERVAL, T_TIMESTAMPTZ, T_TIMESTAMPTZ), OP_NONE, date_bin_ts, NULL,
        "start of the stride counted from an origin"),
    DEF("age", SF, T_INTERVAL, 2, ARGS(T_TIMESTAMP, T_TIMESTAMP), OP_NONE, age_ts, NULL,
        "years, months and days between"),
    DEF("age", SF, T_INTERVAL, 2, ARGS(T_TIMESTAMPTZ, T_TIMESTAMPTZ), OP_NONE, age_tz, NULL,
        "years, months and days between"),
    DEF("age", SF | FN_STABLE, T_INTERVAL, 1, ARGS(T_TIMESTAMP), OP_NONE, age1_ts, NULL,
        "years, months and days until today"),
    DEF("age", SF | FN_STABLE, T_INTERVAL, 1, ARGS(T_TIMESTAMPTZ), OP_NONE, age1_tz, NULL,
        "years, months and days until today"),
    DEF("justify_days", SF, T_INTERVAL, 1, ARGS(T_INTERVAL), OP_NONE, justify_days_iv, NULL, "30 days as a month"),
    DEF("justify_hours", SF, T_INTERVAL, 1, ARGS(T_INTERVAL), OP_NONE, justify_hours_iv, NULL, "24 hours as a day"),
    DEF("justify_interval", SF, T_INTERVAL, 1, ARGS(T_INTERVAL), OP_NONE, justify_interval_iv, NULL,
        "both, with one sign"),
    DEF("overlaps", 0, T_BOOL, 4, ARGS(T_TIMESTAMP, T_TIMESTAMP, T_TIMESTAMP, T_TIMESTAMP), OP_NONE, overlaps_i64, NULL,
        "whether two periods overlap"),
    DEF("overlaps", 0, T_BOOL, 4, ARGS(T_TIMESTAMPTZ, T_TIMESTAMPTZ, T_TIMESTAMPTZ, T_TIMESTAMPTZ), OP_NONE,
        overlaps_i64, NULL, "whether two periods overlap"),
    DEF("overlaps", 0, T_BOOL, 4, ARGS(T_TIMETZ, T_TIMETZ, T_TIMETZ, T_TIMETZ), OP_NONE, overlaps_i64, NULL,
        "whether two periods overlap"),
    DEF("overlaps", 0, T_BOOL, 4, ARGS(T_TIME, T_TIME, T_TIME, T_TIME), OP_NONE, overlaps_i64, NULL,
        "whether two periods overlap"),
    DEF("interval_months", S_, T_INT4, 1, ARGS(T_INTERVAL), OP_NONE, interval_months_k, NULL,
        "internal: field of an interval"),
    DEF("interval_days", S_, T_INT4, 1, ARGS(T_INTERVAL), OP_NONE, interval_days_k, NULL,
        "internal: field of an interval"),
    DEF("interval_micros", S_, T_INT8, 1, ARGS(T_INTERVAL), OP_NONE, interval_micros_k, NULL,
        "internal: field of an interval"),
    DEF("interval_from_sums", SF, T_INTERVAL, 3, ARGS(T_INT8, T_INT8, T_NUMERIC), OP_NONE, interval_from_sums, NULL,
        "internal: interval of its fields' sums"),
    NOW_DEF("now", T_TIMESTAMPTZ, now_tz, "start of the transaction"),
    NOW_DEF("current_timestamp", T_TIMESTAMPTZ, now_tz, "start of the transaction"),
    NOW_DEF("transaction_timestamp", T_TIMESTAMPTZ, now_tz, "start of the transaction"),
    NOW_DEF("statement_timestamp", T_TIMESTAMPTZ, now_tz, "start of the statement"),
    NOW_DEF("localtimestamp", T_TIMESTAMP, now_local, "start of the transaction, local"),
    NOW_DEF("current_date", T_DATE, now_date, "today"),
    NOW_DEF("localtime", T_TIME, now_time, "time of day"),
    NOW_DEF("current_time", T_TIMETZ, now_timetz, "time of day"),
    DEF("clock_timestamp", S_ | FN_VOLATILE, T_TIMESTAMPTZ, 0, ARGS(0), OP_NONE, clock_tz, NULL, "this instant"),
    DEF("make_date", SF, T_DATE, 3, ARGS(I4, I4, I4), OP_NONE, make_date_k, NULL, "year, month, day"),
    DEF("make_time", SF, T_TIME, 3, ARGS(I4, I4, T_FLOAT8), OP_NONE, make_time_k, NULL, "hour, minute, seconds"),
    DEF("make_timestamp", SF, T_TIMESTAMP, 6, ARGS(I4, I4, I4, I4, I4, T_FLOAT8), OP_NONE, make_ts_k, NULL,
        "year, month, day, hour, minute, seconds"),
    DEF("make_timestamptz", SF | FN_STABLE, T_TIMESTAMPTZ, 6, ARGS(I4, I4, I4, I4, I4, T_FLOAT8), OP_NONE, make_tz_k,
        NULL, "year, month, day, hour, minute, seconds"),
    DEF("make_timestamptz", SF, T_TIMESTAMPTZ, 7, ARGS(I4, I4, I4, I4, I4, T_FLOAT8, T_TEXT), OP_NONE, make_tz_zone_k,
        NULL, "year, month, day, hour, minute, seconds, zone"),
    DEF("make_interval", S_, T_INTERVAL, 0, ARGS(0), OP_NONE, make_interval_k, NULL, "empty interval"),
    DEF("make_interval", SF, T_INTERVAL, 1, ARGS(I4), OP_NONE, make_interval_k, NULL, "years"),
    DEF("make_interval", SF, T_INTERVAL, 2, ARGS(I4, I4), OP_NONE, make_interval_k, NULL, "years, months"),
    DEF("make_interval", SF, T_INTERVAL, 3, ARGS(I4, I4, I4), OP_NONE, make_interval_k, NULL, "years, months, weeks"),
    DEF("make_interval", SF, T_INTERVAL, 4, ARGS(I4, I4, I4, I4), OP_NONE, make_interval_k, NULL, "... and days"),
    DEF("make_interval", SF, T_INTERVAL, 5, ARGS(I4, I4, I4, I4, I4), OP_NONE, make_interval_k, NULL, "... and hours"),
    DEF("make_interval", SF, T_INTERVAL, 6, ARGS(I4, I4, I4, I4, I4, I4), OP_NONE, make_interval_k, NULL,
        "... and minutes"),
    DEF("make_interval", SF, T_INTERVAL, 7, ARGS(I4, I4, I4, I4, I4, I4, T_FLOAT8), OP_NONE, make_interval_k, NULL,
        "... and seconds"),
    DEF("to_timestamp", SF, T_TIMESTAMPTZ, 1, ARGS(T_FLOAT8), OP_NONE, to_timestamp_f64, NULL,
        "from seconds since 1970"),
    DEF("isfinite", S_, T_BOOL, 1, ARGS(T_DATE), OP_NONE, isfinite_date, NULL, "neither -infinity nor infinity"),
    DEF("isfinite", S_, T_BOOL, 1, ARGS(T_TIMESTAMP), OP_NONE, isfinite_ts, NULL, "neither -infinity nor infinity"),
    DEF("isfinite", S_, T_BOOL, 1, ARGS(T_TIMESTAMPTZ), OP_NONE, isfinite_ts, NULL, "neither -infinity nor infinity"),
    DEF("isfinite", S_, T_BOOL, 1, ARGS(T_INTERVAL), OP_NONE, isfinite_iv, NULL, "always true"),
    DEF("timezone", SF, T_TIMESTAMPTZ, 2, ARGS(T_TEXT, T_TIMESTAMP), OP_NONE, zone_ts, NULL, "AT TIME ZONE"),
    DEF("timezone", SF, T_TIMESTAMP, 2, ARGS(T_TEXT, T_TIMESTAMPTZ), OP_NONE, zone_tz, NULL, "AT TIME ZONE"),
    DEF("timezone", SF | FN_STABLE, T_TIMETZ, 2, ARGS(T_TEXT, T_TIMETZ), OP_NONE, zone_timetz, NULL, "AT TIME ZONE"),
    DEF("timezone", SF, T_TIMETZ, 2, ARGS(T_INTERVAL, T_TIMETZ), OP_NONE, zone_iv_timetz, NULL, "AT TIME ZONE"),
    DEF("timezone", SF, T_TIMESTAMPTZ, 2, ARGS(T_INTERVAL, T_TIMESTAMP), OP_NONE, zone_iv_ts, NULL, "AT TIME ZONE"),
    DEF("timezone", SF, T_TIMESTAMP, 2, ARGS(T_INTERVAL, T_TIMESTAMPTZ), OP_NONE, zone_iv_tz, NULL, "AT TIME ZONE"),
};
const FuncDefs func_defs_datetime = {defs, ARRAY_LEN(defs)};
