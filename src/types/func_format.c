/* func_format.c - to_char, to_date, to_timestamp, to_number: values by template patterns.
 *
 * Numeric templates follow PostgreSQL's procedure closely (sign placement, blank or omitted leading
 * digits, FM, overflow shown as #), since reports depend on the exact columns. Date templates are matched
 * longest keyword first, without regard to case except where it shapes names (Month, MONTH, month).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "types/func_int.h"

enum { FMT_MAX = 4096, FMT_FIELD = 16 };

static const char *const month_names[] = {"January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"};
static const char *const day_names[] = {"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"};
static const char *const roman_months[] = {"I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"};

static inline char up(char c) { return c >= 'a' && c <= 'z' ? (char)(c - 32) : c; }
static inline char low(char c) { return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c; }
static inline bool digit(char c) { return c >= '0' && c <= '9'; }
static inline bool alpha(char c) { return low(c) >= 'a' && low(c) <= 'z'; }
static bool has_prefix(Str f, uint32_t k, const char *word) {
    for (uint32_t j = 0; word[j]; j++)
        if (k + j >= f.len || up(f.ptr[k + j]) != word[j]) return false;
    return true;
}
static const char *ordinal(int64_t v, bool upper) {
    static const char *const suffix[2][4] = {{"th", "st", "nd", "rd"}, {"TH", "ST", "ND", "RD"}};
    if (v < 0) v = -v;
    int64_t k = v % 100 >= 11 && v % 100 <= 13 ? 0 : v % 10 > 3 ? 0 : v % 10;
    return suffix[upper][k];
}

/* ---- dates: keywords --------------------------------------------------------------- */

typedef enum DateKey {
    DK_Y_YYY, DK_YYYY, DK_YYY, DK_YY, DK_Y, DK_IYYY, DK_IYY, DK_IY, DK_I, DK_MONTH, DK_MON, DK_MM, DK_MI, DK_MS, DK_DAY,
    DK_DDD, DK_DD, DK_DY, DK_D, DK_IDDD, DK_ID, DK_HH24, DK_HH12, DK_HH, DK_SSSS, DK_SS, DK_US, DK_FF1, DK_FF2, DK_FF3,
    DK_FF4, DK_FF5, DK_FF6, DK_AMPM, DK_AMPM_DOTS, DK_AD, DK_AD_DOTS, DK_WW, DK_IW, DK_W, DK_Q, DK_CC, DK_J, DK_RM,
    DK_TZH, DK_TZM, DK_TZ, DK_OF, DK_NONE
} DateKey;
static const struct {
    const char *word;
    DateKey key;
} date_keys[] = { /* longer words before their prefixes */
    {"Y,YYY", DK_Y_YYY}, {"YYYY", DK_YYYY}, {"YYY", DK_YYY}, {"YY", DK_YY}, {"Y", DK_Y}, {"IYYY", DK_IYYY}, {"IYY", DK_IYY},
    {"IY", DK_IY}, {"IDDD", DK_IDDD}, {"ID", DK_ID}, {"IW", DK_IW}, {"I", DK_I}, {"MONTH", DK_MONTH}, {"MON", DK_MON},
    {"MM", DK_MM}, {"MI", DK_MI}, {"MS", DK_MS}, {"DAY", DK_DAY}, {"DDD", DK_DDD}, {"DD", DK_DD}, {"DY", DK_DY}, {"D", DK_D},
    {"HH24", DK_HH24}, {"HH12", DK_HH12}, {"HH", DK_HH}, {"SSSSS", DK_SSSS}, {"SSSS", DK_SSSS}, {"SS", DK_SS}, {"US", DK_US},
    {"FF1", DK_FF1}, {"FF2", DK_FF2}, {"FF3", DK_FF3}, {"FF4", DK_FF4}, {"FF5", DK_FF5}, {"FF6", DK_FF6},
    {"A.M.", DK_AMPM_DOTS}, {"P.M.", DK_AMPM_DOTS}, {"AM", DK_AMPM}, {"PM", DK_AMPM}, {"A.D.", DK_AD_DOTS},
    {"B.C.", DK_AD_DOTS}, {"AD", DK_AD}, {"BC", DK_AD}, {"WW", DK_WW}, {"W", DK_W}, {"Q", DK_Q}, {"CC", DK_CC}, {"J", DK_J},
    {"RM", DK_RM}, {"TZH", DK_TZH}, {"TZM", DK_TZM}, {"TZ", DK_TZ}, {"OF", DK_OF},
};

typedef struct DateNode {
    DateKey key;   /* DK_NONE: literal */
    char ch;       /* literal byte */
    char c0, c1;   /* first letters as written: they shape names */
    bool fm, th, th_upper;
    uint8_t len;
    bool quoted;
} DateNode;

/* The next node of a template; false at the end. */
static bool next_date_node(Str f, uint32_t *k, bool *in_quotes, DateNode *nd) {
    memset(nd, 0, sizeof *nd);
    nd->key = DK_NONE;
    while (*k < f.len && f.ptr[*k] == '"') {
        *in_quotes = !*in_quotes;
        (*k)++;
    }
    if (*k >= f.len) return false;
    if (*in_quotes) {
        if (f.ptr[*k] == '\\' && *k + 1 < f.len) (*k)++;
        nd->ch = f.ptr[(*k)++];
        nd->quoted = true;
        return true;
    }
    if (f.ptr[*k] == '\\' && *k + 1 < f.len && f.ptr[*k + 1] == '"') {
        nd->ch = '"';
        *k += 2;
        return true;
    }
    uint32_t p = *k;
    while (has_prefix(f, p, "FM") || has_prefix(f, p, "TM") || has_prefix(f, p, "FX")) {
        if (up(f.ptr[p]) == 'F' && up(f.ptr[p + 1]) == 'M') nd->fm = true;
        p += 2;
    }
    for (int64_t j = 0; j < ARRAY_LEN(date_keys); j++) {
        if (!has_prefix(f, p, date_keys[j].word)) continue;
        nd->key = date_keys[j].key;
        nd->len = (uint8_t)strlen(date_keys[j].word);
        nd->c0 = f.ptr[p];
        nd->c1 = p + 1 < f.len ? f.ptr[p + 1] : ' ';
        p += nd->len;
        if (has_prefix(f, p, "TH")) {
            nd->th = true;
            nd->th_upper = f.ptr[p] == 'T';
            p += 2;
        }
        *k = p;
        return true;
    }
    nd->ch = f.ptr[(*k)++];
    return true;
}

/* ---- dates: output --------------------------------------------------------------------- */

typedef struct FmtOut {
    char *p;
    int64_t len, cap;
} FmtOut;
static void put(FmtOut *o, const char *s) {
    for (; *s && o->len < o->cap; s++) o->p[o->len++] = *s;
}
static void put_char(FmtOut *o, char c) {
    if (o->len < o->cap) o->p[o->len++] = c;
}
static void put_int(FmtOut *o, const DateNode *nd, int64_t v, int width) {
    char b[40];
    snprintf(b, sizeof b, "%0*lld", nd->fm ? 0 : width + (v < 0), (long long)v);
    put(o, b);
    if (nd->th) put(o, ordinal(v, nd->th_upper));
}
static void put_name(FmtOut *o, const DateNode *nd, const char *name, int chars, int pad) {
    bool upper = nd->c0 >= 'A' && nd->c0 <= 'Z' && nd->c1 >= 'A' && nd->c1 <= 'Z';
    bool lower = nd->c0 >= 'a';
    int k = 0;
    for (; name[k] && (chars == 0 || k < chars); k++) put_char(o, upper ? up(name[k]) : lower ? low(name[k]) : name[k]);
    for (; !nd->fm && k < pad; k++) put_char(o, ' ');
}

typedef struct DateSource {
    TsParts p;
    bool interval;
    int64_t hours; /* of an interval */
    int offset;
    bool tz;
    int64_t day; /* days since 2000-01-01 */
} DateSource;

static Status date_node_out(FuncCtx *ctx, int64_t i, FmtOut *o, const DateNode *nd, const DateSource *d) {
    const TsParts *p = &d->p;
    int64_t year = d->interval ? p->year : p->year > 0 ? p->year : 1 - p->year, iy = 0;
    int64_t hour = d->interval ? d->hours : p->hour;
    int week = 0;
    char b[40];
    bool needs_date = nd->key == DK_MONTH || nd->key == DK_MON || nd->key == DK_DAY || nd->key == DK_DY || nd->key == DK_D ||
                      nd->key == DK_ID || nd->key == DK_IW || nd->key == DK_IYYY || nd->key == DK_IYY || nd->key == DK_IY ||
                      nd->key == DK_I || nd->key == DK_IDDD || nd->key == DK_TZ || nd->key == DK_AD || nd->key == DK_AD_DOTS ||
                      nd->key == DK_OF || nd->key == DK_TZH || nd->key == DK_TZM;
    FAIL_IF(d->interval && needs_date, i, ERR_DATETIME_FORMAT, "invalid format specification for an interval value");
    if (!d->interval) week = iso_week_of(p->year, p->month, p->day, &iy);
    switch (nd->key) {
    case DK_Y_YYY:
        snprintf(b, sizeof b, "%lld,%03lld", (long long)(year / 1000), (long long)(year % 1000));
        put(o, b);
        break;
    case DK_YYYY: put_int(o, nd, year, 4); break;
    case DK_YYY: put_int(o, nd, year % 1000, 3); break;
    case DK_YY: put_int(o, nd, year % 100, 2); break;
    case DK_Y: put_int(o, nd, year % 10, 1); break;
    case DK_IYYY: put_int(o, nd, iy, 4); break;
    case DK_IYY: put_int(o, nd, iy % 1000, 3); break;
    case DK_IY: put_int(o, nd, iy % 100, 2); break;
    case DK_I: put_int(o, nd, iy % 10, 1); break;
    case DK_MONTH: put_name(o, nd, month_names[p->month - 1], 0, 9); break;
    case DK_MON: put_name(o, nd, month_names[p->month - 1], 3, 3); break;
    case DK_MM: put_int(o, nd, p->month, 2); break;
    case DK_MI: put_int(o, nd, p->minute, 2); break;
    case DK_MS: snprintf(b, sizeof b, "%03d", p->usec / 1000); put(o, b); break;
    case DK_US: snprintf(b, sizeof b, "%06d", p->usec); put(o, b); break;
    case DK_FF1: case DK_FF2: case DK_FF3: case DK_FF4: case DK_FF5: case DK_FF6:
        snprintf(b, sizeof b, "%06d", p->usec);
        b[nd->key - DK_FF1 + 1] = 0;
        put(o, b);
        break;
    case DK_DAY: put_name(o, nd, day_names[p->dow], 0, 9); break;
    case DK_DY: put_name(o, nd, day_names[p->dow], 3, 3); break;
    case DK_DDD: put_int(o, nd, d->interval ? p->year * 360 + p->month * 30 + p->day : p->doy, 3); break;
    case DK_DD: put_int(o, nd, p->day, 2); break;
    case DK_D: put_int(o, nd, p->dow + 1, 1); break;
    case DK_IDDD: put_int(o, nd, (week - 1) * 7 + (p->dow ? p->dow : 7), 3); break;
    case DK_ID: put_int(o, nd, p->dow ? p->dow : 7, 1); break;
    case DK_HH24: put_int(o, nd, hour, 2); break;
    case DK_HH12: case DK_HH: put_int(o, nd, hour % 12 == 0 ? 12 : hour % 12, 2); break;
    case DK_SSSS: put_int(o, nd, hour * 3600 + p->minute * 60 + p->second, 0); break;
    case DK_SS: put_int(o, nd, p->second, 2); break;
    case DK_AMPM: put_name(o, &(DateNode){.c0 = nd->c0, .c1 = nd->c0}, hour % 24 >= 12 ? "PM" : "AM", 0, 0); break;
    case DK_AMPM_DOTS: put_name(o, &(DateNode){.c0 = nd->c0, .c1 = nd->c0}, hour % 24 >= 12 ? "P.M." : "A.M.", 0, 0); break;
    case DK_AD: put_name(o, &(DateNode){.c0 = nd->c0, .c1 = nd->c0}, p->year > 0 ? "AD" : "BC", 0, 0); break;
    case DK_AD_DOTS: put_name(o, &(DateNode){.c0 = nd->c0, .c1 = nd->c0}, p->year > 0 ? "A.D." : "B.C.", 0, 0); break;
    case DK_WW: put_int(o, nd, (p->doy - 1) / 7 + 1, 2); break;
    case DK_IW: put_int(o, nd, week, 2); break;
    case DK_W: put_int(o, nd, (p->day - 1) / 7 + 1, 1); break;
    case DK_Q: put_int(o, nd, (p->month - 1) / 3 + 1, 1); break;
    case DK_CC: {
        int64_t c = p->year > 0 ? (p->year + 99) / 100 : d->interval ? p->year / 100 : -((99 - (p->year - 1)) / 100);
        put_int(o, nd, c, 2);
        break;
    }
    case DK_J: put_int(o, nd, d->day + 2451545, 0); break;
    case DK_RM:
        if (p->month >= 1 && p->month <= 12) {
            DateNode same = *nd;
            same.c1 = nd->c0;
            put_name(o, &same, roman_months[p->month - 1], 0, 4);
        }
        break;
    case DK_TZ:
        if (!d->tz) break;
        if (d->offset == 0) {
            put(o, nd->c0 == 'T' ? "UTC" : "utc");
            break;
        }
        snprintf(b, sizeof b, "%+03d", d->offset / 3600);
        put(o, b);
        if (abs(d->offset) % 3600) snprintf(b, sizeof b, ":%02d", abs(d->offset) / 60 % 60), put(o, b);
        break;
    case DK_TZH: snprintf(b, sizeof b, "%c%02d", d->offset < 0 ? '-' : '+', abs(d->offset) / 3600); put(o, b); break;
    case DK_TZM: snprintf(b, sizeof b, "%02d", abs(d->offset) / 60 % 60); put(o, b); break;
    case DK_OF:
        snprintf(b, sizeof b, "%c%02d", d->offset < 0 ? '-' : '+', abs(d->offset) / 3600);
        put(o, b);
        if (abs(d->offset) % 3600) snprintf(b, sizeof b, ":%02d", abs(d->offset) / 60 % 60), put(o, b);
        break;
    case DK_NONE: break;
    }
    return ST_OK;
}

static Status date_out(FuncCtx *ctx, int64_t i, const DateSource *d, Str f, Str *z) {
    FmtOut o = {.cap = (int64_t)f.len * FMT_FIELD + 64};
    o.p = ctx_alloc(ctx, o.cap);
    if (!o.p) return FAILED(i);
    bool quotes = false;
    DateNode nd;
    for (uint32_t k = 0; next_date_node(f, &k, &quotes, &nd);) {
        if (nd.key == DK_NONE) put_char(&o, nd.ch);
        else TRY(date_node_out(ctx, i, &o, &nd, d));
    }
    *z = str_make(o.p, o.len);
    return ST_OK;
}
static Status ts_out(FuncCtx *ctx, int64_t i, int64_t ts, bool tz, Str f, Str *z) {
    *z = STR0;
    if (!ts_finite(ts)) return ST_OK;
    DateSource d = {.tz = tz, .offset = tz ? ctx_tz(ctx) : 0};
    ts += d.offset * USECS_PER_SEC;
    ts_to_parts(ts, &d.p);
    d.day = floor_div(ts, USECS_PER_DAY);
    return date_out(ctx, i, &d, f, z);
}
K2F(to_char_ts, int64_t, Str, Str, STR0, { TRY(ts_out(ctx, i, x, false, y, &z)); })
K2F(to_char_tz, int64_t, Str, Str, STR0, { TRY(ts_out(ctx, i, x, true, y, &z)); })
K2F(to_char_iv, Interval, Str, Str, STR0, {
    DateSource d = {.interval = true};
    int64_t secs = x.micros / USECS_PER_SEC;
    d.p.year = x.months / 12;
    d.p.month = x.months % 12;
    d.p.day = x.days;
    d.hours = secs / 3600;
    d.p.minute = (int)(secs / 60 % 60);
    d.p.second = (int)(secs % 60);
    d.p.usec = (int)(x.micros % USECS_PER_SEC);
    TRY(date_out(ctx, i, &d, y, &z));
})

/* ---- dates: input ------------------------------------------------------------------------- */

typedef struct DateIn {
    int64_t year, doy, julian, iso_year;
    int month, day, hour, minute, second, usec, cc, week, iso_week, iso_dow;
    int tz_secs;
    bool have_year, pm, am, bc, hour12, have_tz, have_julian;
    int64_t ssss;
} DateIn;

typedef struct DateScan {
    FuncCtx *ctx;
    int64_t row;
    Str s;
    uint32_t at;
} DateScan;

static Status scan_int(DateScan *c, const char *what, int max_digits, bool greedy, int64_t *v) {
    int64_t i = c->row;
    FuncCtx *ctx = c->ctx;
    while (c->at < c->s.len && c->s.ptr[c->at] == ' ') c->at++;
    uint32_t from = c->at;
    bool neg = false;
    if (c->at < c->s.len && (c->s.ptr[c->at] == '-' || c->s.ptr[c->at] == '+')) neg = c->s.ptr[c->at++] == '-';
    int digits = 0;
    *v = 0;
    while (c->at < c->s.len && digit(c->s.ptr[c->at]) && (greedy || digits < max_digits)) {
        *v = *v * 10 + (c->s.ptr[c->at++] - '0');
        FAIL_IF(*v > INT32_MAX, i, ERR_DATETIME_OVERFLOW, "value for \"%s\" in source string is out of range", what);
        digits++;
    }
    if (!digits) {
        err_set(ctx->err, ERR_DATETIME_FORMAT, "invalid value \"%.*s\" for \"%s\"", (int)MIN_OF(c->s.len - from, 16u), c->s.ptr + from, what);
        err_detail(ctx->err, "Value must be an integer.");
        return FAILED(i);
    }
    if (neg) *v = -*v;
    return ST_OK;
}
/* Which of `names` is next (whole or its first three letters); -1 when none. */
static int scan_name(DateScan *c, const char *const *names, int count, int chars) {
    while (c->at < c->s.len && c->s.ptr[c->at] == ' ') c->at++;
    for (int k = 0; k < count; k++) {
        int n = chars ? chars : (int)strlen(names[k]), j = 0;
        while (j < n && c->at + (uint32_t)j < c->s.len && low(c->s.ptr[c->at + (uint32_t)j]) == low(names[k][j])) j++;
        if (j == n) {
            c->at += (uint32_t)n;
            return k;
        }
    }
    return -1;
}

static Status date_node_in(DateScan *c, const DateNode *nd, bool greedy, DateIn *d) {
    FuncCtx *ctx = c->ctx;
    int64_t v = 0, i = c->row;
    const char *what = "";
    for (int64_t j = 0; j < ARRAY_LEN(date_keys); j++)
        if (date_keys[j].key == nd->key) {
            what = date_keys[j].word;
            break;
        }
    int width = nd->len;
    int r;
    switch (nd->key) {
    case DK_MONTH: case DK_MON:
        r = scan_name(c, month_names, 12, nd->key == DK_MON ? 3 : 0);
        if (r < 0) goto bad_name;
        d->month = r + 1;
        return ST_OK;
    case DK_DAY: case DK_DY:
        if (scan_name(c, day_names, 7, nd->key == DK_DY ? 3 : 0) < 0) goto bad_name;
        return ST_OK;
    case DK_RM: {
        static const char *const by_length[] = {"VIII", "XII", "VII", "III", "XI", "IX", "VI", "IV", "II", "X", "V", "I"};
        static const int month_of[] = {8, 12, 7, 3, 11, 9, 6, 4, 2, 10, 5, 1};
        r = scan_name(c, by_length, 12, 0);
        if (r < 0) goto bad_name;
        d->month = month_of[r];
        return ST_OK;
    }
    case DK_AMPM: case DK_AMPM_DOTS: {
        static const char *const names[] = {"AM", "PM", "A.M.", "P.M."};
        r = scan_name(c, names, 4, 0);
        if (r < 0) goto bad_name;
        d->pm = r & 1;
        d->am = !d->pm;
        d->hour12 = true;
        return ST_OK;
    }
    case DK_AD: case DK_AD_DOTS: {
        static const char *const names[] = {"AD", "BC", "A.D.", "B.C."};
        r = scan_name(c, names, 4, 0);
        if (r < 0) goto bad_name;
        d->bc = r & 1;
        return ST_OK;
    }
    case DK_TZ: case DK_OF: case DK_TZH: {
        static const char *const names[] = {"UTC", "GMT", "Z"};
        d->have_tz = true;
        if (nd->key == DK_TZ && scan_name(c, names, 3, 0) >= 0) return ST_OK;
        bool neg = c->at < c->s.len && c->s.ptr[c->at] == '-';
        TRY(scan_int(c, what, 2, false, &v));
        d->tz_secs = (int)(v * 3600);
        if (nd->key != DK_TZH && c->at < c->s.len && c->s.ptr[c->at] == ':') {
            c->at++;
            TRY(scan_int(c, what, 2, false, &v));
            d->tz_secs += (int)(neg ? -v * 60 : v * 60);
        }
        return ST_OK;
    }
    case DK_Y_YYY: {
        TRY(scan_int(c, what, 4, true, &v));
        if (c->at < c->s.len && c->s.ptr[c->at] == ',') {
            int64_t rest;
            c->at++;
            TRY(scan_int(c, what, 3, false, &rest));
            v = v * 1000 + rest;
        }
        d->year = v;
        d->have_year = true;
        return ST_OK;
    }
    case DK_DDD: width = 3; break;
    case DK_J: width = 9; break;
    case DK_SSSS: width = 5; break;
    case DK_HH24: case DK_HH12: width = 2; break;
    case DK_MS: width = 3; break;
    case DK_US: width = 6; break;
    case DK_FF1: case DK_FF2: case DK_FF3: case DK_FF4: case DK_FF5: case DK_FF6: width = nd->key - DK_FF1 + 1; break;
    default: break;
    }
    while (c->at < c->s.len && c->s.ptr[c->at] == ' ') c->at++;
    uint32_t from = c->at;
    bool fraction = nd->key == DK_MS || nd->key == DK_US || (nd->key >= DK_FF1 && nd->key <= DK_FF6);
    TRY(scan_int(c, what, width, (greedy || nd->fm) && !fraction, &v));
    if (nd->th && c->at + 1 < c->s.len && alpha(c->s.ptr[c->at])) c->at += 2;
    switch (nd->key) {
    case DK_YYYY: case DK_IYYY: d->year = v; d->have_year = true; break;
    case DK_YYY: case DK_YY: case DK_Y: case DK_IYY: case DK_IY: case DK_I: {
        /* Two-digit years are those nearest to 2020. */
        uint32_t digits = c->at - from;
        if (digits <= 2 && v < 70) v += 2000;
        else if (digits <= 2 && v < 100) v += 1900;
        else if (digits == 3) v += v >= 520 ? 1000 : 2000;
        d->year = v;
        d->have_year = true;
        break;
    }
    case DK_MM: d->month = (int)v; if (v < 1 || v > 12) goto range; break;
    case DK_DD: d->day = (int)v; if (v < 1 || v > 31) goto range; break;
    case DK_DDD: case DK_IDDD: d->doy = v; if (v < 1 || v > 371) goto range; break;
    case DK_HH24: d->hour = (int)v; if (v < 0 || v > 24) goto range; break;
    case DK_HH12: case DK_HH:
        d->hour = (int)v;
        d->hour12 = true;
        if (v < 1 || v > 12) {
            err_set(ctx->err, ERR_DATETIME_FORMAT, "hour \"%d\" is invalid for the 12-hour clock", (int)v);
            err_hint(ctx->err, "Use the 24-hour clock, or give an hour between 1 and 12.");
            return FAILED(i);
        }
        break;
    case DK_MI: d->minute = (int)v; if (v < 0 || v > 59) goto range; break;
    case DK_SS: d->second = (int)v; if (v < 0 || v > 59) goto range; break;
    case DK_SSSS: d->ssss = v; if (v < 0 || v > 86400) goto range; break;
    case DK_MS: case DK_US: case DK_FF1: case DK_FF2: case DK_FF3: case DK_FF4: case DK_FF5: case DK_FF6: {
        int have = (int)(c->at - from);
        while (have++ < 6) v *= 10;
        d->usec = (int)v;
        break;
    }
    case DK_D: d->iso_dow = v == 1 ? 7 : (int)v - 1; break;
    case DK_ID: d->iso_dow = (int)v; break;
    case DK_WW: d->week = (int)v; if (v < 1 || v > 53) goto range; break;
    case DK_IW: d->iso_week = (int)v; if (v < 1 || v > 53) goto range; break;
    case DK_CC: d->cc = (int)v; break;
    case DK_J: d->julian = v; d->have_julian = true; break;
    case DK_TZM: d->tz_secs += (int)(d->tz_secs < 0 ? -v * 60 : v * 60); d->have_tz = true; break;
    default: break;
    }
    return ST_OK;
range:
    FAIL(i, ERR_DATETIME_OVERFLOW, "date/time field value out of range: \"%.*s\"", (int)MIN_OF(c->s.len, 64u), c->s.ptr);
bad_name:
    err_set(ctx->err, ERR_DATETIME_FORMAT, "invalid value \"%.*s\" for \"%s\"", (int)MIN_OF(c->s.len - c->at, 16u), c->s.ptr + c->at, what);
    err_detail(ctx->err, "The given value did not match any of the allowed values for this field.");
    return FAILED(i);
}

static Status date_in(FuncCtx *ctx, int64_t i, Str s, Str f, DateIn *d, int32_t *day, int64_t *time) {
    memset(d, 0, sizeof *d);
    d->ssss = -1;
    DateScan c = {.ctx = ctx, .row = i, .s = s};
    bool quotes = false;
    DateNode nd;
    for (uint32_t k = 0; next_date_node(f, &k, &quotes, &nd);) {
        if (nd.key != DK_NONE) {
            if (c.at >= s.len) break; /* missing fields keep their defaults */
            bool greedy = k >= f.len || (!alpha(f.ptr[k]) && !digit(f.ptr[k]) && f.ptr[k] != '"');
            TRY(date_node_in(&c, &nd, greedy, d));
        } else if (c.at < s.len) {
            char ch = s.ptr[c.at];
            bool sep = !alpha(nd.ch) && !digit(nd.ch);
            if (sep && !nd.quoted) {
                if (!alpha(ch) && !digit(ch) && !((ch == '-' || ch == '+') && nd.ch == ' ')) c.at++;
            } else {
                c.at++;
            }
        }
    }
    int64_t y = d->have_year ? d->year : d->cc ? (d->cc - 1) * 100 + 1 : 0;
    if (d->bc && d->have_year) y = 1 - y;
    else if (d->have_year && y < 0) y++;
    int m = d->month ? d->month : 1, dd = d->day ? d->day : 1;
    if (d->have_julian) {
        *day = (int32_t)(d->julian - 2451545);
    } else if (d->iso_week) {
        *day = iso_week_start(y, d->iso_week) + (d->iso_dow ? d->iso_dow - 1 : 0);
    } else {
        FAIL_IF(!date_valid_ymd(y, m, dd), i, ERR_DATETIME_OVERFLOW, "date/time field value out of range: \"%.*s\"",
                (int)MIN_OF(s.len, 64u), s.ptr);
        *day = date_from_ymd(y, m, dd);
        if (d->doy && !d->month && !d->day) *day = (int32_t)(date_from_ymd(y, 1, 1) + d->doy - 1);
        else if (d->week && !d->month && !d->day) *day = date_from_ymd(y, 1, 1) + (d->week - 1) * 7;
    }
    int hour = d->hour;
    if (d->hour12 && d->pm && hour < 12) hour += 12;
    if (d->hour12 && d->am && hour == 12) hour = 0;
    if (d->hour12 && !d->pm && !d->am && hour == 12) hour = 0;
    *time = (((int64_t)hour * 60 + d->minute) * 60 + d->second) * USECS_PER_SEC + d->usec;
    if (d->ssss >= 0) *time = d->ssss * USECS_PER_SEC + d->usec;
    return ST_OK;
}
K2F(to_date_text, Str, Str, int32_t, 0, {
    DateIn d;
    int64_t t;
    TRY(date_in(ctx, i, x, y, &d, &z, &t));
})
K2F(to_timestamp_text, Str, Str, int64_t, 0, {
    DateIn d;
    int64_t t;
    int32_t day;
    TRY(date_in(ctx, i, x, y, &d, &day, &t));
    FAIL_IF(date_to_timestamp(day, &z), i, ERR_DATETIME_OVERFLOW, "timestamp out of range");
    z += t - (d.have_tz ? d.tz_secs : ctx_tz(ctx)) * USECS_PER_SEC;
    FAIL_IF(!ts_in_range(z), i, ERR_DATETIME_OVERFLOW, "timestamp out of range");
})

/* ---- numbers: template -------------------------------------------------------------------------- */

typedef enum NumKey { NK_9, NK_0, NK_DEC, NK_COMMA, NK_G, NK_L, NK_S, NK_MI, NK_PL, NK_SG, NK_PR, NK_TH, NK_TH_LOW, NK_RN, NK_RN_LOW, NK_V, NK_EEEE, NK_FM, NK_B, NK_LIT } NumKey;
typedef struct NumFormat {
    int pre, post, multi, zero_start, zero_end, lsign, pre_lsign;
    bool decimal, fm, zero, plus, minus, bracket, roman, eeee, is_multi;
} NumFormat;
enum { LSIGN_NONE, LSIGN_PRE, LSIGN_POST };

static NumKey next_num_key(Str f, uint32_t *k, bool *quotes, char *lit) {
    static const struct {
        const char *word;
        NumKey key;
    } keys[] = {{"EEEE", NK_EEEE}, {"FM", NK_FM}, {"MI", NK_MI}, {"PL", NK_PL}, {"PR", NK_PR}, {"RN", NK_RN}, {"SG", NK_SG}, {"TH", NK_TH}, {"9", NK_9}, {"0", NK_0}, {".", NK_DEC}, {"D", NK_DEC}, {",", NK_COMMA}, {"G", NK_G}, {"L", NK_L}, {"S", NK_S}, {"V", NK_V}, {"B", NK_B}};
    while (*k < f.len && f.ptr[*k] == '"') {
        *quotes = !*quotes;
        (*k)++;
    }
    *lit = 0;
    if (*k >= f.len) return NK_LIT;
    if (!*quotes)
        for (int64_t j = 0; j < ARRAY_LEN(keys); j++)
            if (has_prefix(f, *k, keys[j].word)) {
                bool lower = f.ptr[*k] >= 'a';
                *k += (uint32_t)strlen(keys[j].word);
                NumKey key = keys[j].key;
                return key == NK_TH && lower ? NK_TH_LOW : key == NK_RN && lower ? NK_RN_LOW : key;
            }
    if (f.ptr[*k] == '\\' && *k + 1 < f.len) (*k)++;
    *lit = f.ptr[(*k)++];
    return NK_LIT;
}

static Status num_format(FuncCtx *ctx, int64_t i, Str f, NumFormat *nf) {
    memset(nf, 0, sizeof *nf);
    bool quotes = false;
    char lit;
#define BAD(msg) FAIL(i, ERR_SYNTAX, msg)
    for (uint32_t k = 0; k < f.len;) {
        switch (next_num_key(f, &k, &quotes, &lit)) {
        case NK_9:
            if (nf->bracket) BAD("\"9\" must be ahead of \"PR\"");
            if (nf->is_multi) nf->multi++;
            else if (nf->decimal) nf->post++;
            else nf->pre++;
            break;
        case NK_0:
            if (nf->bracket) BAD("\"0\" must be ahead of \"PR\"");
            if (!nf->zero && !nf->decimal) {
                nf->zero = true;
                nf->zero_start = nf->pre + 1;
            }
            if (!nf->decimal) nf->pre++;
            else nf->post++;
            nf->zero_end = nf->pre + nf->post;
            break;
        case NK_DEC:
            if (nf->decimal) BAD("multiple decimal points");
            if (nf->is_multi) BAD("cannot use \"V\" and decimal point together");
            nf->decimal = true;
            break;
        case NK_S:
            if (nf->lsign) BAD("cannot use \"S\" twice");
            if (nf->plus || nf->minus || nf->bracket) BAD("cannot use \"S\" and \"PL\"/\"MI\"/\"SG\"/\"PR\" together");
            if (!nf->decimal) nf->lsign = LSIGN_PRE, nf->pre_lsign = nf->pre;
            else nf->lsign = LSIGN_POST;
            break;
        case NK_MI:
            if (nf->lsign) BAD("cannot use \"S\" and \"MI\" together");
            nf->minus = true;
            break;
        case NK_PL:
            if (nf->lsign) BAD("cannot use \"S\" and \"PL\" together");
            nf->plus = true;
            break;
        case NK_SG:
            if (nf->lsign) BAD("cannot use \"S\" and \"SG\" together");
            nf->plus = nf->minus = true;
            break;
        case NK_PR:
            if (nf->lsign || nf->plus || nf->minus) BAD("cannot use \"PR\" and \"S\"/\"PL\"/\"MI\"/\"SG\" together");
            nf->bracket = true;
            break;
        case NK_RN: case NK_RN_LOW: nf->roman = true; break;
        case NK_V:
            if (nf->decimal) BAD("cannot use \"V\" and decimal point together");
            nf->is_multi = true;
            break;
        case NK_EEEE:
            if (nf->eeee) BAD("cannot use \"EEEE\" twice");
            nf->eeee = true;
            break;
        case NK_FM: nf->fm = true; break;
        default: break;
        }
    }
#undef BAD
    return ST_OK;
}

/* ---- numbers: output ------------------------------------------------------------------------------- */

static void roman(int64_t v, char *b, size_t size) {
    static const char *const s[] = {"M", "CM", "D", "CD", "C", "XC", "L", "XL", "X", "IX", "V", "IV", "I"};
    static const int w[] = {1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1};
    size_t n = 0;
    if (v < 1 || v > 3999) {
        snprintf(b, size, "###############");
        return;
    }
    for (int k = 0; k < 13; k++)
        for (; v >= w[k]; v -= w[k])
            for (const char *p = s[k]; *p && n + 1 < size; p++) b[n++] = *p;
    b[n] = 0;
}

/* `num` is |value| rounded to nf->post digits: "1234.57". Mirrors PostgreSQL's NUM_processor. */
static Str num_layout(FmtOut *o, Str f, NumFormat *nf, const char *num, bool neg, int64_t whole) {
    const char *dot = strchr(num, '.');
    int pre_len = dot ? (int)(dot - num) : (int)strlen(num);
    int blanks = pre_len < nf->pre ? nf->pre - pre_len : 0;
    char hash[512];
    if (pre_len > nf->pre) {
        int n = 0;
        while (n < nf->pre && n < 500) hash[n++] = '#';
        hash[n++] = '.';
        for (int k = 0; k < nf->post && n < 510; k++) hash[n++] = '#';
        hash[n] = 0;
        num = hash;
    }
    bool sign_done;
    if (nf->plus || nf->minus) {
        sign_done = !(nf->plus && !nf->minus);
    } else {
        if (!neg && nf->fm) nf->bracket = false;
        sign_done = !neg && nf->fm && !nf->lsign;
        if (nf->lsign == LSIGN_PRE && nf->pre == nf->pre_lsign) nf->lsign = LSIGN_POST;
    }
    int zero_start = nf->zero_start ? nf->zero_start - 1 : 0;
    int count = nf->post + nf->pre - 1, curr = 0;
    const char *last = NULL, *p = num;
    if (nf->fm && nf->decimal) {
        const char *d = strchr(num, '.');
        if (d) {
            last = d;
            for (const char *q = d + 1; *q; q++)
                if (*q != '0') last = q;
            if (nf->zero_end > blanks) {
                int pos = MIN_OF((int)strlen(num) - 1, nf->zero_end - blanks);
                if (last < num + pos) last = num + pos;
            }
        }
    }
    if (!sign_done && blanks == 0) count++;
    bool in = false, quotes = false;
    char lit;
    for (uint32_t k = 0; k < f.len;) {
        NumKey key = next_num_key(f, &k, &quotes, &lit);
        switch (key) {
        case NK_9: case NK_0: case NK_DEC: {
            if (nf->is_multi && key == NK_DEC) break;
            in = false;
#define PREDEC (!nf->zero && p == num && *num == '0' && nf->post != 0)
            if (!sign_done && (curr >= blanks || (nf->zero && zero_start == curr)) && (!PREDEC || (last && *last == '.'))) {
                if (nf->lsign) {
                    if (nf->lsign == LSIGN_PRE) put_char(o, neg ? '-' : '+'), sign_done = true;
                } else if (nf->bracket) {
                    put_char(o, neg ? '<' : ' '), sign_done = true;
                } else {
                    if (neg) put_char(o, '-');
                    else if (!nf->fm) put_char(o, ' ');
                    sign_done = true;
                }
            }
            if (curr < blanks && (zero_start > curr || !nf->zero)) {
                if (!nf->fm) put_char(o, ' ');
            } else if (nf->zero && curr < blanks && zero_start <= curr) {
                put_char(o, '0');
                in = true;
            } else {
                if (*p == '.') {
                    if (!last || *last != '.' || nf->fm) put_char(o, '.');
                } else if (last && p > last && key != NK_0) {
                    /* trailing zeros that FM drops */
                } else if (PREDEC) {
                    if (!nf->fm) put_char(o, ' ');
                    else if (last && *last == '.') put_char(o, '0');
                } else if (*p) {
                    put_char(o, *p);
                    in = true;
                }
                if (*p) p++;
            }
#undef PREDEC
            int end = count + (blanks ? 1 : 0) + (nf->decimal ? 1 : 0);
            if (last && last == p) end = curr;
            if (curr + 1 == end) {
                if (sign_done && nf->bracket) put_char(o, neg ? '>' : ' ');
                else if (nf->lsign == LSIGN_POST) put_char(o, neg ? '-' : '+');
            }
            curr++;
            break;
        }
        case NK_COMMA: case NK_G:
            if (in) put_char(o, ',');
            else if (!nf->fm) put_char(o, ' ');
            break;
        case NK_L: put_char(o, ' '); break;
        case NK_MI:
            if (neg) put_char(o, '-');
            else if (!nf->fm) put_char(o, ' ');
            break;
        case NK_PL:
            if (!neg) put_char(o, '+');
            else if (!nf->fm) put_char(o, ' ');
            break;
        case NK_SG: put_char(o, neg ? '-' : '+'); break;
        case NK_TH: case NK_TH_LOW:
            if (!nf->roman && *num != '#' && !neg && !nf->decimal) put(o, ordinal(whole, key == NK_TH));
            break;
        case NK_LIT:
            if (lit) put_char(o, lit);
            break;
        default: break;
        }
    }
    return str_make(o->p, o->len);
}

/* The value as exact numeric (v, scale) or, when is_f64, as a double. */
static Status num_to_char(FuncCtx *ctx, int64_t i, int128_t v, int scale, bool is_f64, double d, Str f, Str *z) {
    NumFormat nf;
    FAIL_IF(f.len > FMT_MAX, i, ERR_INVALID_PARAMETER, "format string is too long");
    TRY(num_format(ctx, i, f, &nf));
    FmtOut o = {.cap = (int64_t)f.len * 2 + 128};
    o.p = ctx_alloc(ctx, o.cap);
    if (!o.p) return FAILED(i);
    bool neg = is_f64 ? signbit(d) && d != 0 : v < 0;
    if (nf.roman) {
        char b[40];
        roman(is_f64 ? (isfinite(d) ? (int64_t)rint(d) : 0) : (int64_t)(v / pow10_i128[scale]), b, sizeof b);
        bool lower = false;
        for (uint32_t k = 0; k < f.len; k++) lower |= f.ptr[k] == 'r';
        size_t len = strlen(b);
        for (size_t k = len; !nf.fm && k < 15; k++) put_char(&o, ' ');
        for (size_t k = 0; k < len; k++) put_char(&o, lower ? low(b[k]) : b[k]);
        *z = str_make(o.p, o.len);
        return ST_OK;
    }
    char num[512];
    if (nf.eeee) {
        double e = is_f64 ? d : numeric_to_f64(v, scale);
        if (!isfinite(e)) {
            put_char(&o, ' ');
            for (int k = 0; k < nf.pre + nf.post + 6; k++) put_char(&o, '#');
        } else {
            snprintf(num, sizeof num, "%+.*e", MIN_OF(nf.post, 38), e);
            if (num[0] == '+') num[0] = ' ';
            put(&o, num);
        }
        *z = str_make(o.p, o.len);
        return ST_OK;
    }
    int64_t whole = 0;
    if (is_f64) {
        double m = fabs(d);
        for (int k = 0; k < nf.multi; k++) m *= 10;
        if (!isfinite(m)) {
            nf.post = MIN_OF(nf.post, 100);
            snprintf(num, sizeof num, "%0*d", MIN_OF(nf.pre + 1, 300), 1); /* too wide: shown as # */
        } else {
            /* No more digits than a double has. */
            int digits = snprintf(num, sizeof num, "%.0f", m), post = MIN_OF(nf.post, 100);
            if (digits >= 15) post = 0;
            else if (digits + post > 15) post = 15 - digits;
            nf.post = post;
            if (digits < (int)sizeof num) snprintf(num, sizeof num, "%.*f", post, m);
            whole = m < 9e18 ? (int64_t)m : 0;
        }
    } else {
        int128_t m = v < 0 ? -v : v;
        int s = scale - nf.multi; /* V shifts the point */
        nf.post = MIN_OF(nf.post, 100);
        if (s < 0) {
            FAIL_IF(numeric_rescale(m, 0, -s, &m), i, ERR_NUMERIC_RANGE, "value overflows numeric format");
            s = 0;
        }
        if (s > nf.post) {
            FAIL_IF(numeric_rescale(m, s, nf.post, &m), i, ERR_NUMERIC_RANGE, "value overflows numeric format");
            s = nf.post;
        }
        if (m == 0) neg = false;
        char digits[48];
        int nd = 0;
        uint128_t u = (uint128_t)m;
        do digits[nd++] = (char)('0' + (int)(u % 10)), u /= 10;
        while (u || nd <= s);
        int n = 0;
        for (int k = nd - 1; k >= s; k--) num[n++] = digits[k];
        if (nf.post > 0) {
            num[n++] = '.';
            for (int k = s - 1; k >= 0; k--) num[n++] = digits[k];
            for (int k = s; k < nf.post; k++) num[n++] = '0';
        }
        num[n] = 0;
        whole = (int64_t)(m / pow10_i128[s]);
    }
    if (nf.is_multi) nf.pre += nf.multi;
    *z = num_layout(&o, f, &nf, num, neg, whole);
    return ST_OK;
}
K2F(to_char_i32, int32_t, Str, Str, STR0, { TRY(num_to_char(ctx, i, x, 0, false, 0, y, &z)); })
K2F(to_char_i64, int64_t, Str, Str, STR0, { TRY(num_to_char(ctx, i, x, 0, false, 0, y, &z)); })
K2F(to_char_f32, float, Str, Str, STR0, { TRY(num_to_char(ctx, i, 0, 0, true, (double)x, y, &z)); })
K2F(to_char_f64, double, Str, Str, STR0, { TRY(num_to_char(ctx, i, 0, 0, true, x, y, &z)); })
KNF(to_char_num, Str, STR0, {
    TRY(num_to_char(ctx, i, num_at(&args[0], i), args[0].type.scale, false, 0, AT(Str, 1, i), &z));
})

/* ---- numbers: input --------------------------------------------------------------------------------------- */

KERNEL(to_number_text) {
    KERNEL_UNUSED();
    for (int64_t i = 0; i < n; i++) {
        num_zero(out, i);
        if (!row_valid(out, i)) continue;
        Str s = AT(Str, 0, i), f = AT(Str, 1, i);
        NumFormat nf;
        TRY(num_format(ctx, i, f, &nf));
        FAIL_IF(nf.roman, i, ERR_FEATURE_NOT_SUPPORTED, "\"RN\" not supported for input");
        FAIL_IF(nf.eeee, i, ERR_FEATURE_NOT_SUPPORTED, "\"EEEE\" not supported for input");
        char num[128];
        int len = 1;
        uint32_t at = 0;
        num[0] = '+';
        bool quotes = false, point = false;
        char lit;
#define HAVE (at < s.len)
        for (uint32_t k = 0; k < f.len && HAVE && len < 100;) {
            NumKey key = next_num_key(f, &k, &quotes, &lit);
            while (HAVE && s.ptr[at] == ' ') at++;
            if (!HAVE) break;
            if ((s.ptr[at] == '-' || s.ptr[at] == '+' || s.ptr[at] == '<') && (key == NK_9 || key == NK_0 || key == NK_S || key == NK_SG || key == NK_MI || key == NK_PL)) {
                if (s.ptr[at] != '+') num[0] = '-';
                at++;
                if (key != NK_9 && key != NK_0) continue;
            }
            switch (key) {
            case NK_9: case NK_0:
                if (HAVE && digit(s.ptr[at])) num[len++] = s.ptr[at++];
                else if (HAVE && s.ptr[at] == '.' && !point) {
                    point = true;
                    num[len++] = s.ptr[at++];
                    if (HAVE && digit(s.ptr[at])) num[len++] = s.ptr[at++];
                }
                break;
            case NK_DEC:
                if (s.ptr[at] == '.' && !point) num[len++] = '.', point = true, at++;
                break;
            case NK_COMMA: case NK_G:
                if (s.ptr[at] == ',') at++;
                break;
            case NK_TH: case NK_TH_LOW: at += 2; break;
            case NK_L: if (!digit(s.ptr[at])) at++; break;
            case NK_LIT: if (lit) at++; break;
            default: break;
            }
        }
        if (HAVE && s.ptr[at] == '-') num[0] = '-';
#undef HAVE
        bool digits = false;
        for (int k = 1; k < len; k++) digits |= digit(num[k]);
        FAIL_IF(!digits, i, ERR_INVALID_TEXT, "invalid input syntax for type numeric: \"%.*s\"", (int)MIN_OF(s.len, 64u), s.ptr);
        if (num[len - 1] == '.') len--;
        int128_t v;
        int scale;
        if (numeric_parse((Slice){num, len}, -1, &v, &scale, ctx->err) != ST_OK) return FAILED(i);
        if (!num_put(ctx, out, i, v, scale)) return num_overflow(ctx, i);
    }
    return ST_OK;
}

static const FuncDef defs[] = {
    DEF("to_char", SF, T_TEXT, 2, ARGS(T_TIMESTAMP, T_TEXT), OP_NONE, to_char_ts, NULL, "by a template"),
    DEF("to_char", SF, T_TEXT, 2, ARGS(T_TIMESTAMPTZ, T_TEXT), OP_NONE, to_char_tz, NULL, "by a template"),
    DEF("to_char", SF, T_TEXT, 2, ARGS(T_INTERVAL, T_TEXT), OP_NONE, to_char_iv, NULL, "by a template"),
    DEF("to_char", SF, T_TEXT, 2, ARGS(T_INT4, T_TEXT), OP_NONE, to_char_i32, NULL, "by a template"),
    DEF("to_char", SF, T_TEXT, 2, ARGS(T_INT8, T_TEXT), OP_NONE, to_char_i64, NULL, "by a template"),
    DEF("to_char", SF, T_TEXT, 2, ARGS(T_NUMERIC, T_TEXT), OP_NONE, to_char_num, NULL, "by a template"),
    DEF("to_char", SF, T_TEXT, 2, ARGS(T_FLOAT4, T_TEXT), OP_NONE, to_char_f32, NULL, "by a template"),
    DEF("to_char", SF, T_TEXT, 2, ARGS(T_FLOAT8, T_TEXT), OP_NONE, to_char_f64, NULL, "by a template"),
    DEF("to_date", SF, T_DATE, 2, ARGS(T_TEXT, T_TEXT), OP_NONE, to_date_text, NULL, "by a template"),
    DEF("to_timestamp", SF, T_TIMESTAMPTZ, 2, ARGS(T_TEXT, T_TEXT), OP_NONE, to_timestamp_text, NULL, "by a template"),
    DEF("to_number", SF, T_NUMERIC, 2, ARGS(T_TEXT, T_TEXT), OP_NONE, to_number_text, NULL, "by a template"),
};
const FuncDefs func_defs_format = {defs, ARRAY_LEN(defs)};
