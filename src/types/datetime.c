/* datetime.c - dates, times, timestamps and intervals: calendar, text input and output.
 *
 * Calendar: proleptic Gregorian by Howard Hinnant's era algorithm, day 0 = 2000-01-01.
 *
 * Input: a fixed-form fast path for ISO text, then one scanner that accepts PostgreSQL's forms with
 * any DateStyle: every token (number, number with separators, word, sign) sets fields of a
 * DateParse, and the caller picks what its type needs. A token that sets a field twice is a
 * syntax error (22007); a field outside its range is 22008.
 * Time zones are offsets, abbreviations and names (zone.h).
 *
 * Output: PostgreSQL's DateStyles and IntervalStyles.
 */
#include <stdio.h>
#include <time.h>

#include "types/func.h"
#include "types/type.h"
#include "types/type_int.h"
#include "types/zone.h"

_Thread_local int64_t time_reads, zone_reads;

static const int64_t ts_min = INT64_C(-211813488000000000); /* 4714-11-24 BC */
static const int64_t ts_end = INT64_C(9223371331200000000); /* 294277-01-01, excluded */
enum {
    DATE_MIN = -2451545,      /* 4714-11-24 BC, Julian day 0 */
    DATE_END = 2145031949,    /* 5874898-01-01, excluded */
    UNIX_EPOCH_DAYS = -10957, /* 1970-01-01 */
    JULIAN_2000 = 2451545,
    TZ_LIMIT = 16 * 3600,
};

/* ---- calendar ------------------------------------------------------------------ */

static int64_t days_from_civil(int64_t y, int m, int d) {
    y -= m <= 2;
    int64_t era = (y >= 0 ? y : y - 399) / 400;
    int64_t yoe = y - era * 400;
    int64_t doy = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
    int64_t doe = yoe * 365 + yoe / 4 - yoe / 100 + doy;
    return era * 146097 + doe - 730425; /* days from 0000-03-01 to 2000-01-01 */
}

int32_t date_from_ymd(int64_t y, int m, int d) { return (int32_t)days_from_civil(y, m, d); }

void date_to_ymd(int32_t days, int64_t *y, int *m, int *d) {
    int64_t z = (int64_t)days + 730425;
    int64_t era = (z >= 0 ? z : z - 146096) / 146097;
    uint32_t doe = (uint32_t)(z - era * 146097);
    uint32_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    uint32_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    uint32_t mp = (5 * doy + 2) / 153;
    *d = (int)(doy - (153 * mp + 2) / 5 + 1);
    *m = (int)(mp < 10 ? mp + 3 : mp - 9);
    *y = (int64_t)yoe + era * 400 + (*m <= 2);
}

static bool is_leap(int64_t y) { return y % 4 == 0 && (y % 100 != 0 || y % 400 == 0); }

static int month_days(int64_t y, int m) {
    static const int8_t days[13] = {0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return m == 2 && is_leap(y) ? 29 : days[m];
}

bool date_valid_ymd(int64_t y, int m, int d) {
    if (m < 1 || m > 12 || d < 1 || y < -4713 || y > 5874897 || d > month_days(y, m)) return false;
    return y > -4713 || days_from_civil(y, m, d) >= DATE_MIN;
}

static inline bool ts_valid(int64_t ts) { return ts >= ts_min && ts < ts_end; }

/* Days and the rest, rounded towards minus infinity. */
static inline int64_t split_days(int64_t ts, int64_t *micros) {
    int64_t d = ts / USECS_PER_DAY, r = ts % USECS_PER_DAY;
    if (r < 0) {
        r += USECS_PER_DAY;
        d--;
    }
    *micros = r;
    return d;
}

bool timestamp_add_interval(int64_t ts, const Interval *iv, int sign, int64_t *out) {
    *out = ts;
    if (ts == TS_NEG_INF || ts == TS_POS_INF) return false;
    if (iv->months != 0) {
        int64_t micros, y;
        int m, d;
        int64_t day = split_days(ts, &micros);
        date_to_ymd((int32_t)day, &y, &m, &d);
        int64_t month = y * 12 + (m - 1) + (int64_t)iv->months * sign;
        y = month >= 0 ? month / 12 : -((11 - month) / 12);
        m = (int)(month - y * 12) + 1;
        if (d > month_days(y, m)) d = month_days(y, m);
        if (!date_valid_ymd(y, m, d)) return true;
        if (__builtin_mul_overflow(days_from_civil(y, m, d), USECS_PER_DAY, &ts)) return true;
        if (__builtin_add_overflow(ts, micros, &ts) || !ts_valid(ts)) return true;
    }
    if (iv->days != 0) {
        /* At most 2^31 days: the product has less than 63 bits only if checked. */
        int64_t delta;
        if (__builtin_mul_overflow((int64_t)iv->days * sign, USECS_PER_DAY, &delta)) return true;
        if (__builtin_add_overflow(ts, delta, &ts) || !ts_valid(ts)) return true;
    }
    int64_t delta;
    if (__builtin_mul_overflow(iv->micros, (int64_t)sign, &delta)) return true;
    if (__builtin_add_overflow(ts, delta, &ts) || !ts_valid(ts)) return true;
    *out = ts;
    return false;
}

bool timestamptz_add_interval(const Zone *zone, int64_t ts, const Interval *iv, int sign, int64_t *out) {
    const Interval parts[] = {{.months = iv->months}, {.days = iv->days}};
    *out = ts;
    if (ts == TS_NEG_INF || ts == TS_POS_INF) return false;
    for (int i = 0; i < 2; i++) {
        if (parts[i].months == 0 && parts[i].days == 0) continue;
        int64_t local = ts + zone_offset_at(zone, ts) * USECS_PER_SEC;
        if (timestamp_add_interval(local, &parts[i], sign, &local)) return true;
        ts = local - zone_offset_of_local(zone, local) * USECS_PER_SEC;
        if (!ts_valid(ts)) return true;
    }
    return timestamp_add_interval(ts, &(Interval){.micros = iv->micros}, sign, out);
}

int128_t interval_cmp_value(const Interval *iv) {
    return (int128_t)((int64_t)iv->months * 30 + iv->days) * USECS_PER_DAY + iv->micros;
}

/* ---- names ------------------------------------------------------------------------ */

static const struct {
    const char *name;
    DateField field;
} field_names[] = {
    {"year", DF_YEAR},
    {"years", DF_YEAR},
    {"y", DF_YEAR},
    {"yr", DF_YEAR},
    {"yrs", DF_YEAR},
    {"month", DF_MONTH},
    {"months", DF_MONTH},
    {"mon", DF_MONTH},
    {"mons", DF_MONTH},
    {"day", DF_DAY},
    {"days", DF_DAY},
    {"d", DF_DAY},
    {"hour", DF_HOUR},
    {"hours", DF_HOUR},
    {"h", DF_HOUR},
    {"hr", DF_HOUR},
    {"hrs", DF_HOUR},
    {"minute", DF_MINUTE},
    {"minutes", DF_MINUTE},
    {"m", DF_MINUTE},
    {"min", DF_MINUTE},
    {"mins", DF_MINUTE},
    {"second", DF_SECOND},
    {"seconds", DF_SECOND},
    {"s", DF_SECOND},
    {"sec", DF_SECOND},
    {"secs", DF_SECOND},
    {"millisecond", DF_MILLISECONDS},
    {"milliseconds", DF_MILLISECONDS},
    {"ms", DF_MILLISECONDS},
    {"msec", DF_MILLISECONDS},
    {"msecs", DF_MILLISECONDS},
    {"mseconds", DF_MILLISECONDS},
    {"microsecond", DF_MICROSECONDS},
    {"microseconds", DF_MICROSECONDS},
    {"us", DF_MICROSECONDS},
    {"usec", DF_MICROSECONDS},
    {"usecs", DF_MICROSECONDS},
    {"usecond", DF_MICROSECONDS},
    {"useconds", DF_MICROSECONDS},
    {"quarter", DF_QUARTER},
    {"quarters", DF_QUARTER},
    {"qtr", DF_QUARTER},
    {"week", DF_WEEK},
    {"weeks", DF_WEEK},
    {"w", DF_WEEK},
    {"dow", DF_DOW},
    {"isodow", DF_ISODOW},
    {"doy", DF_DOY},
    {"isoyear", DF_ISOYEAR},
    {"decade", DF_DECADE},
    {"decades", DF_DECADE},
    {"dec", DF_DECADE},
    {"decs", DF_DECADE},
    {"century", DF_CENTURY},
    {"centuries", DF_CENTURY},
    {"cent", DF_CENTURY},
    {"c", DF_CENTURY},
    {"millennium", DF_MILLENNIUM},
    {"millennia", DF_MILLENNIUM},
    {"mil", DF_MILLENNIUM},
    {"mils", DF_MILLENNIUM},
    {"epoch", DF_EPOCH},
    {"julian", DF_JULIAN},
    {"timezone", DF_TIMEZONE},
    {"timezone_hour", DF_TIMEZONE_HOUR},
    {"timezone_minute", DF_TIMEZONE_MINUTE},
};

static bool word_is(Slice s, const char *lower) {
    for (int64_t i = 0; i < s.len; i++) {
        if (to_lower(s.ptr[i]) != lower[i]) return false; /* also at lower's NUL */
    }
    return lower[s.len] == 0;
}

DateField date_field_from_name(Slice name) {
    for (int64_t i = 0; i < ARRAY_LEN(field_names); i++) {
        if (word_is(name, field_names[i].name)) return field_names[i].field;
    }
    return DF_INVALID;
}

static int month_from_word(Slice w) {
    static const char *const months[12] = {"january", "february", "march",     "april",   "may",      "june",
                                           "july",    "august",   "september", "october", "november", "december"};
    for (int i = 0; i < 12; i++) {
        if (word_is(w, months[i])) return i + 1;
        if (w.len == 3 || (w.len == 4 && i == 8)) { /* jan ... sep, sept */
            int64_t k = 0;
            while (k < w.len && to_lower(w.ptr[k]) == months[i][k]) k++;
            if (k == w.len) return i + 1;
        }
    }
    return 0;
}

static bool is_weekday(Slice w) {
    static const char *const days[] = {"sunday", "sun",       "monday", "mon",  "tuesday",  "tue",
                                       "tues",   "wednesday", "wed",    "weds", "thursday", "thu",
                                       "thur",   "thurs",     "friday", "fri",  "saturday", "sat"};
    for (int64_t i = 0; i < ARRAY_LEN(days); i++) {
        if (word_is(w, days[i])) return true;
    }
    return false;
}

/* ---- scanner ------------------------------------------------------------------------ */

/* Punctuation between fields separates them as a blank does, as in PostgreSQL: not a sign, a decimal point, nor a slash
 * behind a field, which belongs to a date. */
static bool is_loose(const char *start, const char *s) {
    char c = *s;
    if (c <= ' ' || c >= 0x7f || is_digit(c) || is_alpha(c) || c == '+' || c == '-' || c == '.') return false;
    return c != '/' || s == start || !(is_digit(s[-1]) || is_alpha(s[-1]));
}

enum { S_NONE, S_NEG_INF, S_POS_INF, S_EPOCH, S_NOW, S_TODAY, S_TOMORROW, S_YESTERDAY };
enum { M_NONE, M_AM, M_PM };

typedef struct DateParse {
    const char *start, *s, *end;
    int64_t year;
    int month, day; /* 0 = not given */
    bool have_year, have_date, have_time, have_zone, have_era, bc;
    bool two_digit_year;
    int doy;        /* day of year, 0 = not given */
    int64_t julian; /* days since 2000-01-01, when have_julian */
    bool have_julian;
    int special, meridian;
    int64_t hour, minute, second, micros;
    ZoneRef zone; /* when have_zone */
    int order;    /* DateOrder */
    Err *e;
} DateParse;

/* SC_ZONE: an offset out of range. SC_FAILED: the error is set. */
typedef enum Scan { SC_OK, SC_SYNTAX, SC_RANGE, SC_ZONE, SC_FAILED } Scan;

static int64_t scan_digits(DateParse *p, int64_t *value) {
    const char *from = p->s;
    int64_t v = 0;
    while (p->s < p->end && is_digit(*p->s)) {
        if (v < INT64_C(100000000000000)) v = v * 10 + (*p->s - '0');
        p->s++;
    }
    *value = v;
    return p->s - from;
}

/* ".digits" at p->s -> microseconds, rounded half to even as PostgreSQL does here (may be 1,000,000). */
static int64_t scan_fraction(DateParse *p) {
    p->s++;
    int64_t v = 0, n = 0;
    char seventh = '0';
    bool more = false;
    for (; p->s < p->end && is_digit(*p->s); p->s++, n++) {
        if (n < 6) v = v * 10 + (*p->s - '0');
        else if (n == 6) seventh = *p->s;
        else more |= *p->s != '0';
    }
    for (; n < 6; n++) v *= 10;
    return v + (seventh > '5' || (seventh == '5' && (more || v % 2)));
}

/* The rest of "hh:mm[:ss[.f]]", standing on the first colon. */
static Scan scan_time(DateParse *p, int64_t hour) {
    if (p->have_time) return SC_SYNTAX;
    p->have_time = true;
    p->hour = hour;
    p->s++;
    scan_digits(p, &p->minute); /* none: 0 */
    if (p->s < p->end && *p->s == ':') {
        p->s++;
        scan_digits(p, &p->second);
        if (p->s < p->end && *p->s == '.') p->micros = scan_fraction(p);
    } else if (p->s < p->end && *p->s == '.') {
        /* mm:ss.f in an interval; as a time of day PostgreSQL reads it so, too. */
        p->second = p->minute;
        p->minute = p->hour;
        p->hour = 0;
        p->micros = scan_fraction(p);
    }
    return p->s < p->end && *p->s == ':' ? SC_SYNTAX : SC_OK;
}

/* hhmmss, hhmm or hh without colons. */
static Scan set_packed_time(DateParse *p, int64_t v, int64_t digits) {
    if (p->have_time) return SC_SYNTAX;
    p->have_time = true;
    if (digits == 6) {
        p->hour = v / 10000;
        p->minute = v / 100 % 100;
        p->second = v % 100;
    } else if (digits == 4) {
        p->hour = v / 100;
        p->minute = v % 100;
    } else if (digits <= 2) {
        p->hour = v;
    } else {
        return SC_SYNTAX;
    }
    if (p->s < p->end && *p->s == '.' && digits == 6) p->micros = scan_fraction(p);
    return SC_OK;
}

static Scan set_year(DateParse *p, int64_t v, int64_t digits) {
    if (p->have_year) return SC_SYNTAX;
    p->have_year = true;
    p->year = v;
    p->two_digit_year = digits <= 2;
    return SC_OK;
}

static Scan set_day(DateParse *p, int64_t v) {
    if (p->day) return SC_SYNTAX;
    if (v < 1 || v > 31) return SC_RANGE;
    p->day = (int)v;
    return SC_OK;
}

static Scan set_month(DateParse *p, int64_t v) {
    if (p->month) return SC_SYNTAX;
    if (v < 1 || v > 12) return SC_RANGE;
    p->month = (int)v;
    return SC_OK;
}

static Scan both(Scan a, Scan b) { return a == SC_SYNTAX || b == SC_SYNTAX ? SC_SYNTAX : a ? a : b; }

static Slice scan_word(DateParse *p) {
    const char *from = p->s;
    while (p->s < p->end && is_alpha(*p->s)) p->s++;
    return (Slice){from, p->s - from};
}

/* One part of a date with separators: a number or the name of a month. */
typedef struct Part {
    int64_t value, digits; /* digits 0: a month's name */
} Part;

static bool scan_part(DateParse *p, Part *out) {
    if (p->s < p->end && is_digit(*p->s)) {
        out->digits = scan_digits(p, &out->value);
        return true;
    }
    Slice w = scan_word(p);
    out->digits = 0;
    out->value = month_from_word(w);
    return out->value != 0;
}

/* Of three numbers, or two and a month's name, whose order DateStyle tells. */
static Scan by_order(DateParse *p, Part a, Part b, Part c) {
    zone_reads++;
    if (p->order == DATES_YMD)
        return both(set_year(p, a.value, a.digits), both(set_month(p, b.value), set_day(p, c.value)));
    if (p->order == DATES_DMY)
        return both(set_day(p, a.value), both(set_month(p, b.value), set_year(p, c.value, c.digits)));
    return both(set_month(p, a.value), both(set_day(p, b.value), set_year(p, c.value, c.digits)));
}

/* a<sep>b[<sep>c], standing on the first separator. Order: year first when the first number has three
 * digits or more, the month where its name is, else as DateStyle has it. */
static Scan scan_date(DateParse *p, Part a) {
    if (p->have_date || p->month) return SC_SYNTAX;
    Part b, c;
    char sep = *p->s++;
    if (!scan_part(p, &b)) return SC_SYNTAX;
    p->have_date = true;
    if (p->s >= p->end || *p->s != sep) {
        if (a.digits >= 3 && b.digits == 3) { /* yyyy-ddd and yyyy.ddd */
            p->doy = (int)b.value;
            return both(set_year(p, a.value, a.digits), b.value >= 1 && b.value <= 366 ? SC_OK : SC_RANGE);
        }
        /* "08-Jan 1999": the year may follow. */
        if (a.digits && !b.digits) return both(set_month(p, b.value), set_day(p, a.value));
        if (!a.digits && b.digits) return both(set_month(p, a.value), set_day(p, b.value));
        return SC_SYNTAX;
    }
    p->s++;
    if (!scan_part(p, &c)) return SC_SYNTAX;
    int names = !a.digits + !b.digits + !c.digits;
    if (names > 1) return SC_SYNTAX;
    if (!a.digits) {
        if (b.digits >= 3)
            return both(set_month(p, a.value), both(set_year(p, b.value, b.digits), set_day(p, c.value)));
        return both(set_month(p, a.value), both(set_day(p, b.value), set_year(p, c.value, c.digits)));
    }
    if (a.digits >= 3) {
        if (!c.digits) return both(set_year(p, a.value, a.digits), both(set_day(p, b.value), set_month(p, c.value)));
        return both(set_year(p, a.value, a.digits), both(set_month(p, b.value), set_day(p, c.value)));
    }
    if (!b.digits && c.digits < 3) zone_reads++; /* of two numbers either could be the year */
    if (!b.digits && (p->order != DATES_YMD || c.digits >= 3))
        return both(set_day(p, a.value), both(set_month(p, b.value), set_year(p, c.value, c.digits)));
    if (!c.digits) return SC_SYNTAX;
    return by_order(p, a, b, c);
}

/* [+-]hh, hhmm, hhmmss, hh:mm, hh:mm:ss, standing on the sign. */
static Scan scan_zone(DateParse *p) {
    int sign = *p->s++ == '-' ? -1 : 1;
    int64_t h, m = 0, s = 0;
    int64_t n = scan_digits(p, &h);
    if (n == 0 || n > 6) return SC_SYNTAX;
    if (p->s < p->end && *p->s == ':') {
        p->s++;
        if (scan_digits(p, &m) == 0) return SC_SYNTAX;
        if (p->s < p->end && *p->s == ':') {
            p->s++;
            if (scan_digits(p, &s) == 0) return SC_SYNTAX;
        }
    } else if (n > 4) {
        s = h % 100;
        m = h / 100 % 100;
        h /= 10000;
    } else if (n > 2) {
        m = h % 100;
        h /= 100;
    }
    if (h >= 16 || m > 59 || s > 59) return SC_ZONE;
    p->have_zone = true;
    p->zone = (ZoneRef){.offset = sign * (int32_t)(h * 3600 + m * 60 + s), .fixed = true};
    return SC_OK;
}

static bool in_zone_name(char c) { return is_alpha(c) || is_digit(c) || (c && strchr("+-/_.:", c)); }

/* A word that is none of the others: an abbreviation, or the name of a zone, to which signs and digits may belong
 * ("America/New_York", "EST5EDT") where a date or a time is known. */
static Scan scan_zone_name(DateParse *p, Slice w) {
    const char next = p->s < p->end ? *p->s : 0;
    const bool longer = next && (strchr("+-/.", next) || is_digit(next));
    if (word_is(w, "dst") && !longer) { /* behind a zone's abbreviation: its summer time */
        if (!p->have_zone || !p->zone.fixed || !p->zone.abbrev || p->zone.summer) return SC_SYNTAX;
        p->zone.offset += 3600;
        p->zone.summer = true;
        return SC_OK;
    }
    if (p->have_zone || (longer && !p->have_time && !p->have_date && !(p->month && p->day))) return SC_SYNTAX;
    while (longer && p->s < p->end && in_zone_name(*p->s)) p->s++;
    w.len = p->s - w.ptr;
    p->have_zone = true;
    p->zone = (ZoneRef){0};
    bool found = false;
    char lower[ZONE_NAME_MAX]; /* as messages of PostgreSQL's have it */
    if (w.len > (int64_t)sizeof lower) return SC_SYNTAX;
    for (int64_t i = 0; i < w.len; i++) lower[i] = to_lower(w.ptr[i]);
    w.ptr = lower;
    if (!longer && zone_abbrev(w, &found, &p->zone, p->e) != ST_OK) return SC_FAILED;
    if (found) return SC_OK;
    if (zone_find(w, &p->zone.zone, p->e) == ST_OK) return SC_OK;
    if (longer || strcmp(p->e->sqlstate, ERR_INVALID_PARAMETER) != 0) return SC_FAILED;
    err_clear(p->e); /* some word */
    return SC_SYNTAX;
}

static Scan scan_number(DateParse *p) {
    Part a;
    a.digits = scan_digits(p, &a.value);
    char next = p->s < p->end ? *p->s : 0;
    char after = p->s + 1 < p->end ? p->s[1] : 0;
    bool date_done = p->have_date || p->have_julian || (p->month && p->day && p->have_year);
    if (next == ':') return scan_time(p, a.value);
    if (!date_done && !p->month && (next == '-' || next == '/' || next == '.') &&
        (is_digit(after) || is_alpha(after))) {
        return scan_date(p, a);
    }
    /* "8-Jan" cannot follow a month, but "Jan 8-1999" is left to the signs below: a syntax error. */
    if (p->month && !date_done) {
        /* Beside a month's name: a day of one or two digits first, then the year. */
        if (!p->day && a.digits <= 2) return set_day(p, a.value);
        return set_year(p, a.value, a.digits);
    }
    if (p->have_date && p->month && p->day && !p->have_year && a.digits >= 3) return set_year(p, a.value, a.digits);
    if (!date_done) {
        if (a.digits == 8 || a.digits == 6) {
            p->have_date = true;
            int64_t y = a.value / 10000;
            return both(set_year(p, y, a.digits - 4),
                        both(set_month(p, a.value / 100 % 100), set_day(p, a.value % 100)));
        }
        if (a.digits == 7 || a.digits == 5) { /* yyyyddd, yyddd */
            p->have_date = true;
            p->doy = (int)(a.value % 1000);
            return both(set_year(p, a.value / 1000, a.digits - 3), p->doy >= 1 && p->doy <= 366 ? SC_OK : SC_RANGE);
        }
        if (a.digits > 8) { /* a year of five digits or more */
            p->have_date = true;
            return both(set_year(p, a.value / 10000, a.digits - 4),
                        both(set_month(p, a.value / 100 % 100), set_day(p, a.value % 100)));
        }
        /* "1999 Jan 8" and "8 January 1999". */
        if (a.digits <= 2) return set_day(p, a.value);
        return set_year(p, a.value, a.digits);
    }
    return a.digits == 6 || a.digits == 4 ? set_packed_time(p, a.value, a.digits) : SC_SYNTAX;
}

static Scan scan_name(DateParse *p) {
    Slice w = scan_word(p);
    int m = month_from_word(w);
    if (m) {
        if (p->month) return SC_SYNTAX;
        char next = p->s < p->end ? *p->s : 0;
        char after = p->s + 1 < p->end ? p->s[1] : 0;
        if (!p->day && !p->have_year && (next == '-' || next == '/' || next == '.') && is_digit(after)) {
            return scan_date(p, (Part){m, 0});
        }
        p->month = m;
        return SC_OK;
    }
    bool digit_follows = p->s < p->end && is_digit(*p->s);
    if (digit_follows && word_is(w, "t")) {
        /* The ISO separator: a time must follow. */
        int64_t v, n = scan_digits(p, &v);
        if (p->s < p->end && *p->s == ':') return scan_time(p, v);
        return set_packed_time(p, v, n);
    }
    if (digit_follows && (word_is(w, "j") || word_is(w, "jd") || word_is(w, "julian"))) {
        int64_t v;
        scan_digits(p, &v);
        if (p->have_date || p->have_julian) return SC_SYNTAX;
        p->have_julian = true;
        p->julian = v - JULIAN_2000;
        return SC_OK;
    }
    if (word_is(w, "t")) { /* "date T time" */
        const char *next = p->s;
        while (next < p->end && is_blank(*next)) next++;
        return next < p->end && is_digit(*next) &&
                       (p->have_date || p->have_julian || (p->month && p->day && p->have_year))
                   ? SC_OK
                   : SC_SYNTAX;
    }
    if (word_is(w, "am") || word_is(w, "pm")) {
        if (p->meridian || !p->have_time) return SC_SYNTAX;
        p->meridian = word_is(w, "am") ? M_AM : M_PM;
        return SC_OK;
    }
    if (word_is(w, "bc") || word_is(w, "ad")) {
        if (p->have_era) return SC_SYNTAX;
        p->have_era = true;
        p->bc = word_is(w, "bc");
        return SC_OK;
    }
    if (is_weekday(w) || word_is(w, "on") || word_is(w, "at")) return SC_OK;
    int special = word_is(w, "infinity") || word_is(w, "inf") ? S_POS_INF
                  : word_is(w, "epoch")                       ? S_EPOCH
                  : word_is(w, "now")                         ? S_NOW
                  : word_is(w, "today")                       ? S_TODAY
                  : word_is(w, "tomorrow")                    ? S_TOMORROW
                  : word_is(w, "yesterday")                   ? S_YESTERDAY
                                                              : S_NONE;
    if (word_is(w, "allballs") && !p->have_time) {
        p->have_time = p->have_zone = true;
        p->zone = (ZoneRef){.fixed = true};
        return SC_OK;
    }
    if (!special) return scan_zone_name(p, w);
    if (p->special || p->have_date) return SC_SYNTAX;
    p->special = special;
    return SC_OK;
}

static Scan scan_sign(DateParse *p) {
    bool negative = *p->s == '-';
    if (p->s + 1 < p->end && is_alpha(p->s[1])) {
        p->s++;
        Slice w = scan_word(p);
        if (p->special || p->have_date || (!word_is(w, "infinity") && !word_is(w, "inf"))) return SC_SYNTAX;
        p->special = negative ? S_NEG_INF : S_POS_INF;
        return SC_OK;
    }
    /* A zone follows a time, or a date with a blank between. */
    bool after_date = (p->have_date || p->have_julian) && (is_blank(p->s[-1]) || *p->s == '+');
    if ((!p->have_time && !after_date) || p->have_zone) return SC_SYNTAX;
    return scan_zone(p);
}

static inline int64_t time_of(const DateParse *p) {
    return ((p->hour * 60 + p->minute) * 60 + p->second) * USECS_PER_SEC + p->micros;
}

/* Reads all tokens and checks the time of day; fields are raw. */
static Scan scan_all(DateParse *p) {
    Scan range = SC_OK;
    bool any = false;
    while (p->s < p->end) {
        char c = *p->s;
        Scan sc;
        if (is_blank(c) || is_loose(p->start, p->s)) {
            p->s++;
            continue;
        }
        any = true;
        if (is_digit(c)) sc = scan_number(p);
        else if (is_alpha(c)) sc = scan_name(p);
        else if (c == '+' || c == '-') sc = scan_sign(p);
        else return SC_SYNTAX;
        if (sc == SC_SYNTAX || sc == SC_FAILED) return sc;
        if (sc == SC_RANGE || (sc == SC_ZONE && !range)) range = sc;
    }
    if (!any) return SC_SYNTAX;
    if (range) return range;
    if (p->have_time) {
        if (p->meridian) {
            if (p->hour > 12) return SC_RANGE;
            if (p->meridian == M_PM && p->hour != 12) p->hour += 12;
            if (p->meridian == M_AM && p->hour == 12) p->hour = 0;
        }
        /* A second may be 60, with a fraction, but nothing is beyond 24:00:00. */
        if (p->hour > 24 || p->minute > 59 || p->second > 60) return SC_RANGE;
        if (time_of(p) > USECS_PER_DAY) return SC_RANGE;
    }
    return SC_OK;
}

static const Zone *zone_of(const SessionInfo *session) {
    zone_reads++;
    return session ? session->form.zone : NULL;
}
static int order_of(const SessionInfo *session) { return session ? session->form.date_order : DATES_MDY; }

/* The transaction's time: the words mean one moment wherever they are read in it. */
static int64_t now_micros(const SessionInfo *session) {
    struct timespec t;
    time_reads++;
    if (session) return session->now_micros;
    clock_gettime(CLOCK_REALTIME, &t);
    return ((int64_t)t.tv_sec + (int64_t)UNIX_EPOCH_DAYS * USECS_PER_DAY_S) * USECS_PER_SEC + t.tv_nsec / 1000;
}

/* The day of a scanned text without specials. */
static Scan resolve_day(DateParse *p, int64_t *days) {
    if (p->have_julian) {
        if (p->have_year || p->month || p->day) return SC_SYNTAX;
        *days = p->julian;
    } else {
        if (!p->have_year) return SC_SYNTAX;
        int64_t y = p->year;
        if (p->bc) {
            if (y == 0) return SC_RANGE;
            y = 1 - y;
        } else if (p->two_digit_year) {
            y += y < 70 ? 2000 : 1900;
        } else if (y == 0) {
            return SC_RANGE;
        }
        if (p->doy) {
            if (p->month || p->day) return SC_SYNTAX;
            if (!date_valid_ymd(y, 1, 1) || p->doy > 365 + is_leap(y)) return SC_RANGE;
            *days = days_from_civil(y, 1, 1) + p->doy - 1;
            return SC_OK;
        }
        if (!p->month || !p->day) return SC_SYNTAX;
        if (y > INT32_MAX || y < -4713 || p->day > month_days(y, p->month)) return SC_RANGE;
        *days = days_from_civil(y, p->month, p->day);
    }
    return SC_OK;
}

static Status scan_error(Scan sc, const char *type, Slice text, Err *e) {
    if (sc == SC_FAILED) return ST_ERROR;
    if (sc == SC_SYNTAX) return text_syntax_error(ERR_DATETIME_FORMAT, type, text, e);
    if (sc == SC_ZONE)
        return err_set(e, ERR_TZ_DISPLACEMENT, "time zone displacement out of range: \"%.*s\"",
                       (int)MIN_OF(text.len, 512), text.ptr);
    return err_set(e, ERR_DATETIME_OVERFLOW, "date/time field value out of range: \"%.*s\"", (int)MIN_OF(text.len, 512),
                   text.ptr);
}

static Status range_error(const char *what, Slice text, Err *e) {
    return err_set(e, ERR_DATETIME_OVERFLOW, "%s out of range: \"%.*s\"", what, (int)MIN_OF(text.len, 512), text.ptr);
}

/* n digits at s, or -1. */
static inline int fixed_digits(const char *s, int n) {
    int v = 0;
    for (int i = 0; i < n; i++) {
        if (!is_digit(s[i])) return -1;
        v = v * 10 + (s[i] - '0');
    }
    return v;
}

/* YYYY-MM-DD at s. */
static inline bool fast_date(const char *s, int64_t *days) {
    if (s[4] != '-' || s[7] != '-') return false;
    int y = fixed_digits(s, 4), m = fixed_digits(s + 5, 2), d = fixed_digits(s + 8, 2);
    if (y < 1 || m < 1 || m > 12 || d < 1 || d > month_days(y, m)) return false;
    *days = days_from_civil(y, m, d);
    return true;
}

/* HH:MM:SS[.f] to the end of the text. */
static inline bool fast_time(const char *s, int64_t len, int64_t *micros) {
    if (len < 8 || s[2] != ':' || s[5] != ':') return false;
    int h = fixed_digits(s, 2), m = fixed_digits(s + 3, 2), sec = fixed_digits(s + 6, 2);
    if (h < 0 || h > 23 || m < 0 || m > 59 || sec < 0 || sec > 59) return false;
    int64_t us = 0;
    if (len > 8) {
        if (s[8] != '.' || len > 15) return false;
        for (int64_t i = 9; i < 15; i++) {
            if (i < len && !is_digit(s[i])) return false;
            us = us * 10 + (i < len ? s[i] - '0' : 0);
        }
    }
    *micros = ((h * 60 + m) * 60 + sec) * USECS_PER_SEC + us;
    return true;
}

int64_t micros_round(int64_t v, int precision) {
    static const int64_t unit[7] = {1000000, 100000, 10000, 1000, 100, 10, 1};
    if (precision >= 6 || precision < 0) return v;
    int64_t u = unit[precision];
    return v >= 0 ? (v + u / 2) / u * u : -((-v + u / 2) / u * u);
}

/* The local day (and time of day) that 'now', 'today', 'tomorrow' or 'yesterday' means. */
static int64_t day_of_word(const DateParse *p, const SessionInfo *session, int64_t *us) {
    const int64_t now = now_micros(session), shift = (int64_t)zone_offset_at(zone_of(session), now) * USECS_PER_SEC;
    int64_t today = split_days(now + shift, us);
    if (p->special != S_NOW) *us = 0;
    return p->special == S_TOMORROW ? today + 1 : p->special == S_YESTERDAY ? today - 1 : today;
}

Status date_parse(Slice text, const SessionInfo *session, int32_t *out, Err *e) {
    int64_t days = 0;
    if (text.len == 10 && fast_date(text.ptr, &days)) {
        *out = (int32_t)days;
        return ST_OK;
    }
    DateParse p = {.start = text.ptr, .s = text.ptr, .end = text.ptr + text.len, .order = order_of(session), .e = e};
    Scan sc = scan_all(&p);
    if (sc == SC_OK && p.special) {
        if (p.have_date || p.have_year || p.month || p.day || p.have_julian) sc = SC_SYNTAX;
        int64_t us;
        switch (p.special) {
        case S_NEG_INF: days = DATE_NEG_INF; break;
        case S_POS_INF: days = DATE_POS_INF; break;
        case S_EPOCH: days = UNIX_EPOCH_DAYS; break;
        default: days = day_of_word(&p, session, &us); break;
        }
        if (sc) return scan_error(sc, "date", text, e);
        *out = (int32_t)days;
        return ST_OK;
    }
    if (sc == SC_OK) sc = resolve_day(&p, &days);
    if (sc) return scan_error(sc, "date", text, e);
    if (days < DATE_MIN || days >= DATE_END) return range_error("date", text, e);
    *out = (int32_t)days;
    return ST_OK;
}

/* A text of a time of day, with its day if it has one (*dated). */
static Scan scan_clock(DateParse *p, Slice text, bool *dated, int64_t *days) {
    /* "040506" and "0405" are times here, not dates. */
    Slice t = text_trim(text);
    int64_t n = 0, v;
    while (n < t.len && is_digit(t.ptr[n])) n++;
    Scan sc;
    if ((n == 6 && (n == t.len || (t.ptr[n] != '/' && t.ptr[n] != ':'))) ||
        (n == 4 && (n == t.len || t.ptr[n] == ' '))) {
        p->s = t.ptr;
        scan_digits(p, &v);
        sc = set_packed_time(p, v, n);
        if (sc == SC_OK && p->s < p->end) sc = scan_all(p);
        else if (sc == SC_OK && (p->hour > 24 || p->minute > 59 || p->second > 60)) sc = SC_RANGE;
    } else {
        sc = scan_all(p);
    }
    *dated = p->have_year || p->month || p->day || p->have_julian;
    if (sc != SC_OK || p->special == S_NOW) return sc;
    if (!p->have_time || p->special) return SC_SYNTAX;
    return *dated ? resolve_day(p, days) : SC_OK;
}
/* Zones whose offset depends on the day want one. */
static bool wants_day(const DateParse *p) {
    int32_t offset;
    return p->have_zone && !p->zone.fixed && !p->zone.abbrev && !zone_is_constant(p->zone.zone, &offset);
}

Status time_parse(Slice text, int precision, const SessionInfo *session, int64_t *out, Err *e) {
    int64_t us = 0, days;
    bool dated;
    if (fast_time(text.ptr, text.len, &us)) {
        *out = micros_round(us, precision);
        return ST_OK;
    }
    DateParse p = {.start = text.ptr, .s = text.ptr, .end = text.ptr + text.len, .order = order_of(session), .e = e};
    Scan sc = scan_clock(&p, text, &dated, &days);
    if (sc == SC_OK && !dated && wants_day(&p)) sc = SC_SYNTAX;
    if (sc) return scan_error(sc, "time", text, e);
    if (p.special == S_NOW) day_of_word(&p, session, &us);
    *out = micros_round(p.special == S_NOW ? us : time_of(&p), precision);
    return ST_OK;
}

/* Without a zone it is the session's, of that day or of today. */
Status timetz_parse(Slice text, int precision, const SessionInfo *session, int64_t *out, Err *e) {
    int64_t days = 0, us;
    int32_t offset;
    bool dated;
    DateParse p = {.start = text.ptr, .s = text.ptr, .end = text.ptr + text.len, .order = order_of(session), .e = e};
    Scan sc = scan_clock(&p, text, &dated, &days);
    if (sc == SC_OK && !dated && wants_day(&p)) sc = SC_SYNTAX;
    if (sc) return scan_error(sc, "time with time zone", text, e);
    if (p.special == S_NOW) {
        day_of_word(&p, session, &us);
        *out = timetz_make(micros_round(us, precision), zone_offset_at(zone_of(session), now_micros(session)));
        return ST_OK;
    }
    us = time_of(&p);
    if (!p.have_zone) p.zone = (ZoneRef){.zone = zone_of(session)};
    if (!dated && !p.zone.fixed && !zone_is_constant(p.zone.zone, &offset)) {
        int64_t now_us;
        p.special = S_TODAY;
        days = day_of_word(&p, session, &now_us);
    }
    if (days < DATE_MIN || days > ts_end / USECS_PER_DAY) days = 0; /* PostgreSQL has UTC there, and so a zone's rule */
    *out = timetz_make(micros_round(us, precision), zone_ref_offset_of_local(&p.zone, days * USECS_PER_DAY + us));
    return ST_OK;
}

Status timestamp_parse(Slice text, int precision, bool with_tz, const SessionInfo *session, int64_t *out, Err *e) {
    const char *type = with_tz ? "timestamp with time zone" : "timestamp";
    int64_t days = 0, us = 0;
    if (text.len >= 10 && fast_date(text.ptr, &days)) {
        if (text.len == 10 ||
            ((text.ptr[10] == ' ' || text.ptr[10] == 'T') && fast_time(text.ptr + 11, text.len - 11, &us))) {
            const int64_t local = days * USECS_PER_DAY + us;
            const int64_t offset = with_tz ? zone_offset_of_local(zone_of(session), local) : 0;
            *out = micros_round(local - offset * USECS_PER_SEC, precision);
            return ST_OK;
        }
        us = 0;
    }
    DateParse p = {.start = text.ptr, .s = text.ptr, .end = text.ptr + text.len, .order = order_of(session), .e = e};
    Scan sc = scan_all(&p);
    if (sc == SC_OK && p.special) {
        if (p.have_date || p.have_year || p.month || p.day || p.have_julian)
            return scan_error(SC_SYNTAX, type, text, e);
        switch (p.special) {
        case S_NEG_INF: *out = TS_NEG_INF; return ST_OK;
        case S_POS_INF: *out = TS_POS_INF; return ST_OK;
        case S_EPOCH: *out = UNIX_EPOCH_DAYS * USECS_PER_DAY; return ST_OK;
        case S_NOW:
            if (p.have_time) return scan_error(SC_SYNTAX, type, text, e);
            days = day_of_word(&p, session, &us);
            *out = micros_round(with_tz ? now_micros(session) : days * USECS_PER_DAY + us, precision);
            return ST_OK;
        default: days = day_of_word(&p, session, &us); break;
        }
    } else if (sc == SC_OK) {
        sc = resolve_day(&p, &days);
    }
    if (sc) return scan_error(sc, type, text, e);
    int64_t ts;
    bool beyond = days < DATE_MIN || __builtin_mul_overflow(days, USECS_PER_DAY, &ts) ||
                  __builtin_add_overflow(ts, time_of(&p), &ts);
    if (!beyond && with_tz) {
        const ZoneRef zone = p.have_zone ? p.zone : (ZoneRef){.zone = zone_of(session)};
        beyond = __builtin_sub_overflow(ts, zone_ref_offset_of_local(&zone, ts) * USECS_PER_SEC, &ts);
    }
    if (beyond || !ts_valid(ts) || !ts_valid(ts = micros_round(ts, precision)))
        return range_error("timestamp", text, e);
    *out = ts;
    return ST_OK;
}

bool zone_offset_parse(Slice text, int32_t *offset, bool *beyond) {
    DateParse p = {.start = text.ptr, .s = text.ptr, .end = text.ptr + text.len};
    if (text.len == 0 || (*text.ptr != '+' && *text.ptr != '-')) return false;
    const Scan sc = scan_zone(&p);
    *offset = p.zone.offset;
    *beyond = sc == SC_ZONE;
    return sc != SC_SYNTAX && p.s == p.end;
}

/* ---- intervals ------------------------------------------------------------------------ */

/* What is summed up while reading; checked for overflow at every addition. */
typedef struct IntervalSum {
    int64_t months, days, micros;
} IntervalSum;

/* A number with up to 18 fractional digits: whole + frac / 10^18, both with the number's sign. */
typedef struct Number {
    int64_t whole;
    int64_t frac; /* in 10^-18 */
    bool negative;
    bool has_fraction;
} Number;

static const int64_t frac_one = INT64_C(1000000000000000000);

/* frac * unit, where frac is in 10^-18, rounded half to even. */
static int64_t scale_fraction(int64_t frac, int64_t unit) {
    int128_t v = (int128_t)frac * unit;
    int64_t q = (int64_t)(v / frac_one), r = (int64_t)(v % frac_one);
    int64_t away = r < 0 ? -r : r;
    if (away > frac_one / 2 || (away == frac_one / 2 && q % 2 != 0)) q += r < 0 ? -1 : 1;
    return q;
}

static bool add_scaled(int64_t *sum, int64_t n, int64_t unit) {
    int64_t v;
    return !__builtin_mul_overflow(n, unit, &v) && !__builtin_add_overflow(*sum, v, sum);
}

/* A part of a day (10^-18) -> micros; a part of a month -> days and micros. */
static bool add_day_fraction(IntervalSum *t, int64_t frac) {
    return add_scaled(&t->micros, scale_fraction(frac, USECS_PER_DAY), 1);
}
static bool add_month_fraction(IntervalSum *t, int64_t frac) {
    int128_t days = (int128_t)frac * 30;
    return add_scaled(&t->days, (int64_t)(days / frac_one), 1) && add_day_fraction(t, (int64_t)(days % frac_one));
}

/* number unit; false on overflow. */
static bool add_field(IntervalSum *t, Number n, DateField unit) {
    switch (unit) {
    case DF_MICROSECONDS:
        return add_scaled(&t->micros, n.whole, 1) && add_scaled(&t->micros, scale_fraction(n.frac, 1), 1);
    case DF_MILLISECONDS:
        return add_scaled(&t->micros, n.whole, 1000) && add_scaled(&t->micros, scale_fraction(n.frac, 1000), 1);
    case DF_SECOND:
        return add_scaled(&t->micros, n.whole, USECS_PER_SEC) &&
               add_scaled(&t->micros, scale_fraction(n.frac, USECS_PER_SEC), 1);
    case DF_MINUTE:
        return add_scaled(&t->micros, n.whole, 60 * USECS_PER_SEC) &&
               add_scaled(&t->micros, scale_fraction(n.frac, 60 * USECS_PER_SEC), 1);
    case DF_HOUR:
        return add_scaled(&t->micros, n.whole, 3600 * USECS_PER_SEC) &&
               add_scaled(&t->micros, scale_fraction(n.frac, 3600 * USECS_PER_SEC), 1);
    case DF_DAY: return add_scaled(&t->days, n.whole, 1) && add_day_fraction(t, n.frac);
    case DF_WEEK: {
        int128_t days = (int128_t)n.frac * 7;
        return add_scaled(&t->days, n.whole, 7) && add_scaled(&t->days, (int64_t)(days / frac_one), 1) &&
               add_day_fraction(t, (int64_t)(days % frac_one));
    }
    case DF_MONTH: return add_scaled(&t->months, n.whole, 1) && add_month_fraction(t, n.frac);
    /* Parts of a year and more are rounded to months. */
    case DF_YEAR: return add_scaled(&t->months, n.whole, 12) && add_scaled(&t->months, scale_fraction(n.frac, 12), 1);
    case DF_DECADE:
        return add_scaled(&t->months, n.whole, 120) && add_scaled(&t->months, scale_fraction(n.frac, 120), 1);
    case DF_CENTURY:
        return add_scaled(&t->months, n.whole, 1200) && add_scaled(&t->months, scale_fraction(n.frac, 1200), 1);
    case DF_MILLENNIUM:
        return add_scaled(&t->months, n.whole, 12000) && add_scaled(&t->months, scale_fraction(n.frac, 12000), 1);
    default: return false;
    }
}

/* Digits, point, digits at *s; the sign is given. */
static Scan scan_interval_number(const char **s, const char *end, bool negative, Number *out) {
    const char *p = *s;
    int64_t whole = 0, frac = 0;
    int digits = 0, frac_digits = 0;
    *out = (Number){.negative = negative};
    for (; p < end && is_digit(*p); p++, digits++) {
        if (__builtin_mul_overflow(whole, 10, &whole) || __builtin_add_overflow(whole, *p - '0', &whole))
            return SC_RANGE;
    }
    if (p < end && *p == '.') {
        out->has_fraction = true;
        p++;
        for (; p < end && is_digit(*p); p++) {
            if (frac_digits < 18) {
                frac = frac * 10 + (*p - '0');
                frac_digits++;
            }
            digits++;
        }
        for (; frac_digits < 18; frac_digits++) frac *= 10;
    }
    if (digits == 0) return SC_SYNTAX;
    out->whole = negative ? -whole : whole;
    out->frac = negative ? -frac : frac;
    *s = p;
    return SC_OK;
}

static DateField interval_unit(Slice w) {
    DateField f = date_field_from_name(w);
    switch (f) {
    case DF_QUARTER:
    case DF_DOW:
    case DF_ISODOW:
    case DF_DOY:
    case DF_ISOYEAR:
    case DF_EPOCH:
    case DF_JULIAN:
    case DF_TIMEZONE:
    case DF_TIMEZONE_HOUR:
    case DF_TIMEZONE_MINUTE: return DF_INVALID;
    default: return f;
    }
}

/* The unit of a bare number: the last field of "interval ... day to hour", seconds by default. */
static DateField range_unit(int range) {
    if (range == 0 || range == IR_FULL || range & IR_SECOND) return DF_SECOND;
    if (range & IR_MINUTE) return DF_MINUTE;
    if (range & IR_HOUR) return DF_HOUR;
    if (range & IR_DAY) return DF_DAY;
    if (range & IR_MONTH) return DF_MONTH;
    return DF_YEAR;
}

/* h:m[:s[.f]] after the hours; `first` holds them. */
static Scan interval_time(const char **s, const char *end, Number first, int range, IntervalSum *t) {
    DateParse p = {.start = *s, .s = *s, .end = end};
    bool neg = first.negative;
    int64_t a = neg ? -first.whole : first.whole, b, c = 0, us = 0;
    bool three = false, fraction = false;
    if (first.has_fraction) return SC_SYNTAX;
    p.s++;
    scan_digits(&p, &b); /* none: 0 */
    if (p.s < end && *p.s == ':') {
        three = true;
        p.s++;
        scan_digits(&p, &c);
    }
    if (p.s < end && *p.s == '.') {
        fraction = true;
        us = scan_fraction(&p);
    }
    *s = p.s;
    if (!three && (fraction || range == (IR_MINUTE | IR_SECOND))) { /* mm:ss */
        c = b;
        b = a;
        a = 0;
    }
    if (b > 59 || c > 60) return SC_RANGE;
    int64_t v;
    if (__builtin_mul_overflow(a, 3600 * USECS_PER_SEC, &v) ||
        __builtin_add_overflow(v, (b * 60 + c) * USECS_PER_SEC + us, &v)) {
        return SC_RANGE;
    }
    return add_scaled(&t->micros, v, neg ? -1 : 1) ? SC_OK : SC_RANGE;
}

/* P1Y2M3DT4H5M6S, P1W, P0001-02-03T04:05:06; s stands after the P. */
static Scan scan_iso_interval(const char *s, const char *end, IntervalSum *t) {
    bool time_part = false, any = false;
    while (s < end) {
        if (*s == 'T' || *s == 't') {
            if (time_part) return SC_SYNTAX;
            time_part = true;
            s++;
            continue;
        }
        bool neg = *s == '-';
        if (*s == '-' || *s == '+') s++;
        Number n;
        Scan sc = scan_interval_number(&s, end, neg, &n);
        if (sc) return sc;
        char unit = s < end ? to_lower(*s) : 0;
        any = true;
        if (unit == '-' && !time_part) { /* years-months[-days] */
            const DateField units[3] = {DF_YEAR, DF_MONTH, DF_DAY};
            for (int i = 0;; i++) {
                if (!add_field(t, n, units[i])) return SC_RANGE;
                if (i == 2 || s >= end || *s != '-') break;
                s++;
                if ((sc = scan_interval_number(&s, end, neg, &n)) != SC_OK) return sc;
            }
            continue;
        }
        if (time_part && unit == ':') {
            if ((sc = interval_time(&s, end, n, 0, t)) != SC_OK) return sc;
            continue;
        }
        DateField f;
        switch (unit) {
        case 'y': f = DF_YEAR; break;
        case 'w': f = DF_WEEK; break;
        case 'd': f = DF_DAY; break;
        case 'm': f = time_part ? DF_MINUTE : DF_MONTH; break;
        case 'h': f = DF_HOUR; break;
        case 's': f = DF_SECOND; break;
        default: return SC_SYNTAX;
        }
        if (time_part != (f == DF_HOUR || f == DF_SECOND || f == DF_MINUTE)) return SC_SYNTAX;
        s++;
        if (!add_field(t, n, f)) return SC_RANGE;
    }
    return any ? SC_OK : SC_SYNTAX;
}

static const char *skip_blanks(const char *start, const char *s, const char *end) {
    while (s < end && (is_blank(*s) || is_loose(start, s))) s++;
    return s;
}

/* Everything else: a list of "number unit", "h:m:s", "y-m", a last bare number, and "ago". */
static Scan scan_interval(const char *const start, const char *end, int range, IntervalSum *t) {
    const char *s = start;
    const uint32_t all_seconds = 1u << DF_SECOND | 1u << DF_MILLISECONDS | 1u << DF_MICROSECONDS;
    uint32_t seen = 0; /* a field may be given once; seconds with a fraction are all three kinds */
    bool any = false, bare = false, ago = false;
    for (;;) {
        s = skip_blanks(start, s, end);
        if (s >= end) break;
        if (is_alpha(*s)) {
            const char *w = s;
            while (s < end && is_alpha(*s)) s++;
            if (!word_is((Slice){w, s - w}, "ago")) return SC_SYNTAX;
            ago = true;
            continue;
        }
        if (bare) return SC_SYNTAX; /* only the last number may lack a unit */
        bool neg = *s == '-';
        if (*s == '-' || *s == '+')
            for (s++; s < end && is_blank(*s);) s++;
        Number n;
        Scan sc = scan_interval_number(&s, end, neg, &n);
        if (sc) return sc;
        any = true;
        if (s < end && *s == ':') {
            const uint32_t fields = 1u << DF_HOUR | 1u << DF_MINUTE | all_seconds;
            if (seen & fields) return SC_SYNTAX;
            seen |= fields;
            if ((sc = interval_time(&s, end, n, range, t)) != SC_OK) return sc;
            if (s < end && (*s == '.' || *s == ':')) return SC_SYNTAX;
            continue;
        }
        if (s + 1 < end && *s == '-' && is_digit(s[1]) && !n.has_fraction) { /* years-months */
            s++;
            Number m;
            if ((sc = scan_interval_number(&s, end, neg, &m)) != SC_OK) return sc;
            if (m.whole > 11 || m.whole < -11) return SC_RANGE;
            if (m.has_fraction || (s < end && *s == '-')) return SC_SYNTAX;
            if (!add_field(t, n, DF_YEAR) || !add_field(t, m, DF_MONTH)) return SC_RANGE;
            continue;
        }
        const char *after = skip_blanks(start, s, end);
        const char *w = after;
        while (w < end && is_alpha(*w)) w++;
        DateField unit;
        if (w > after) {
            unit = interval_unit((Slice){after, w - after});
            if (unit == DF_INVALID) return SC_SYNTAX;
            s = w;
        } else {
            /* "1 12:30": days before a time. */
            const char *look = after;
            if (look < end && (*look == '-' || *look == '+')) look++;
            const char *digits = look;
            while (look < end && is_digit(*look)) look++;
            if (look > digits && look < end && *look == ':') {
                unit = DF_DAY;
            } else {
                unit = range_unit(range);
                bare = true;
            }
        }
        uint32_t fields = unit == DF_SECOND && n.frac ? all_seconds : 1u << unit;
        if (seen & fields) return SC_SYNTAX;
        seen |= fields;
        if (!add_field(t, n, unit)) return SC_RANGE;
    }
    if (!any || !ago) return any ? SC_OK : SC_SYNTAX;
    if (t->months == INT64_MIN || t->days == INT64_MIN || t->micros == INT64_MIN) return SC_RANGE;
    *t = (IntervalSum){-t->months, -t->days, -t->micros};
    return SC_OK;
}

/* Drops what "interval ... year to month" does not keep, as AdjustIntervalForTypmod does. */
static void clip_range(IntervalSum *t, int range) {
    const int64_t minute = 60 * USECS_PER_SEC, hour = 60 * minute;
    switch (range) {
    case IR_YEAR:
        t->months = t->months / 12 * 12;
        t->days = t->micros = 0;
        break;
    case IR_MONTH:
    case IR_YEAR | IR_MONTH: t->days = t->micros = 0; break;
    case IR_DAY: t->micros = 0; break;
    case IR_HOUR:
    case IR_DAY | IR_HOUR: t->micros = t->micros / hour * hour; break;
    case IR_MINUTE:
    case IR_HOUR | IR_MINUTE:
    case IR_DAY | IR_HOUR | IR_MINUTE: t->micros = t->micros / minute * minute; break;
    default: break;
    }
}

void interval_fit(Type t, Interval *v) {
    static const int64_t unit[] = {1000000, 100000, 10000, 1000, 100, 10, 1};
    IntervalSum sum = {.months = v->months, .days = v->days, .micros = v->micros};
    clip_range(&sum, t.length);
    *v = (Interval){.micros = sum.micros, .days = (int32_t)sum.days, .months = (int32_t)sum.months};
    int64_t u = t.precision ? unit[t.precision - 1] : 1, rest = v->micros % u, up;
    v->micros -= rest;
    if (rest && (rest >= u / 2 || rest <= -(u / 2)) && !__builtin_add_overflow(v->micros, rest > 0 ? u : -u, &up))
        v->micros = up;
}

/* With IntervalStyle sql_standard the sign in front is that of all parts: there are several, and it is the only one. */
static bool has_one_sign(Slice in) {
    bool several = false;
    if (in.len == 0 || *in.ptr != '-') return false;
    for (int64_t i = 1; i < in.len; i++) {
        if (!is_blank(in.ptr[i - 1])) continue;
        if (in.ptr[i] == '-' || in.ptr[i] == '+') return false;
        several |= is_digit(in.ptr[i]);
    }
    return several;
}

Status interval_parse(Slice text, Type t, const SessionInfo *session, Interval *out, Err *e) {
    const int range = t.length;
    Slice in = text_trim(text);
    IntervalSum sum = {0, 0, 0};
    Scan sc;
    bool minus = has_one_sign(in);
    if (minus) zone_reads++;
    minus = minus && session && session->form.interval_style == INTERVALS_SQL_STANDARD;
    if (minus) in = (Slice){in.ptr + 1, in.len - 1};
    if (in.len > 1 && (*in.ptr == 'P' || *in.ptr == 'p')) {
        sc = scan_iso_interval(in.ptr + 1, in.ptr + in.len, &sum);
    } else if (in.len == 0) {
        sc = SC_SYNTAX;
    } else {
        sc = scan_interval(in.ptr, in.ptr + in.len, range, &sum);
    }
    if (sc == SC_SYNTAX) return text_syntax_error(ERR_DATETIME_FORMAT, "interval", text, e);
    if (minus) sum = (IntervalSum){-sum.months, -sum.days, -sum.micros};
    if (sc == SC_OK) clip_range(&sum, range);
    if (sc == SC_OK && sum.months != (int32_t)sum.months &&
        sum.months / 12 == (int32_t)(sum.months / 12)) /* no field of it is */
        return err_set(e, ERR_DATETIME_OVERFLOW, "interval out of range");
    if (sc == SC_RANGE || sum.months != (int32_t)sum.months || sum.days != (int32_t)sum.days) {
        return err_set(e, ERR_INTERVAL_OVERFLOW, "interval field value out of range: \"%.*s\"",
                       (int)MIN_OF(text.len, 512), text.ptr);
    }
    *out = (Interval){.micros = sum.micros, .days = (int32_t)sum.days, .months = (int32_t)sum.months};
    interval_fit(t, out);
    return ST_OK;
}

/* ---- output ---------------------------------------------------------------------------- */

static inline char *put2(char *p, int64_t v) {
    p[0] = (char)('0' + v / 10);
    p[1] = (char)('0' + v % 10);
    return p + 2;
}

static char *put_text(char *p, const char *s) {
    size_t n = strlen(s);
    memcpy(p, s, n);
    return p + n;
}

/* At least two digits. */
static char *put_number(char *p, uint64_t v) {
    if (v < 100) return put2(p, (int64_t)v);
    return p + u64_format(v, p);
}

/* At least four digits; BC is left to the caller. */
static char *put_year(char *p, int64_t y) {
    if (y <= 0) y = 1 - y;
    if (y >= 10000) return p + u64_format((uint64_t)y, p);
    p = put2(p, y / 100);
    return put2(p, y % 100);
}

/* Without the month's name: that is for times of DATES_POSTGRES. */
static char *put_date(char *p, int64_t y, int m, int d, TextForm form) {
    const char sep = form.date_style == DATES_SQL ? '/' : form.date_style == DATES_GERMAN ? '.' : '-';
    if (form.date_style == DATES_ISO) {
        p = put_year(p, y);
        *p++ = sep;
        p = put2(p, m);
        *p++ = sep;
        return put2(p, d);
    }
    const bool day_first = form.date_style == DATES_GERMAN || form.date_order == DATES_DMY;
    p = put2(p, day_first ? d : m);
    *p++ = sep;
    p = put2(p, day_first ? m : d);
    *p++ = sep;
    return put_year(p, y);
}

/* ".ffffff" without trailing zeros, nothing for 0. */
static char *put_fraction(char *p, int64_t us) {
    if (us == 0) return p;
    *p++ = '.';
    for (int64_t unit = 100000; us; unit /= 10) {
        *p++ = (char)('0' + us / unit);
        us %= unit;
    }
    return p;
}

static char *put_time(char *p, int64_t us) {
    int64_t sec = us / USECS_PER_SEC;
    p = put2(p, sec / 3600);
    *p++ = ':';
    p = put2(p, sec / 60 % 60);
    *p++ = ':';
    p = put2(p, sec % 60);
    return put_fraction(p, us % USECS_PER_SEC);
}

int64_t date_format(int32_t days, TextForm form, char *out) {
    if (days == DATE_NEG_INF) return put_text(out, "-infinity") - out;
    if (days == DATE_POS_INF) return put_text(out, "infinity") - out;
    int64_t y;
    int m, d;
    date_to_ymd(days, &y, &m, &d);
    char *p = put_date(out, y, m, d, form);
    if (y <= 0) p = put_text(p, " BC");
    return p - out;
}

int64_t time_format(int64_t micros, char *out) { return put_time(out, micros) - out; }

/* +hh[:mm[:ss]] */
static char *put_offset(char *p, int tz_offset) {
    int64_t z = tz_offset < 0 ? -(int64_t)tz_offset : tz_offset;
    *p++ = tz_offset < 0 ? '-' : '+';
    p = put2(p, z / 3600);
    if (z % 3600) {
        *p++ = ':';
        p = put2(p, z / 60 % 60);
    }
    if (z % 60) {
        *p++ = ':';
        p = put2(p, z % 60);
    }
    return p;
}

/* A blank and at most 10 letters. */
static char *put_abbrev(char *p, const char *abbrev) {
    const size_t n = strlen(abbrev);
    *p++ = ' ';
    memcpy(p, abbrev, MIN_OF(n, 10u));
    return p + MIN_OF(n, 10u);
}

int64_t timetz_format(int64_t cell, char *out) {
    return put_offset(put_time(out, timetz_micros(cell)), timetz_offset(cell)) - out;
}

/* "Wed Dec 17 07:37:16 1997", or the day before the month. */
static char *put_postgres_timestamp(char *p, int32_t days, int64_t us, TextForm form) {
    static const char names[] = "SunMonTueWedThuFriSat", months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    int64_t y, dow = ((int64_t)days + 6) % 7; /* 2000-01-01 was a Saturday */
    int m, d;
    date_to_ymd(days, &y, &m, &d);
    memcpy(p, names + 3 * (dow < 0 ? dow + 7 : dow), 3);
    p[3] = ' ';
    p += 4;
    if (form.date_order == DATES_DMY) {
        p = put2(p, d);
        *p++ = ' ';
    }
    memcpy(p, months + 3 * ((int64_t)m - 1), 3);
    p[3] = ' ';
    p += 4;
    if (form.date_order != DATES_DMY) {
        p = put2(p, d);
        *p++ = ' ';
    }
    p = put_time(p, us);
    *p++ = ' ';
    return put_year(p, y);
}

int64_t timestamp_format(int64_t ts, bool with_tz, TextForm form, char *out) {
    if (ts == TS_NEG_INF) return put_text(out, "-infinity") - out;
    if (ts == TS_POS_INF) return put_text(out, "infinity") - out;
    int64_t us, days = split_days(ts, &us);
    const ZonePart zone = with_tz ? zone_part_at(form.zone, ts) : (ZonePart){0};
    if (with_tz) { /* in parts: the sum may leave 64 bits at the end of the range */
        days += split_days(us + zone.offset * USECS_PER_SEC, &us);
    }
    int64_t y;
    int m, d;
    char *p = out;
    date_to_ymd((int32_t)days, &y, &m, &d);
    if (form.date_style == DATES_POSTGRES) {
        p = put_postgres_timestamp(p, (int32_t)days, us, form);
    } else {
        p = put_date(p, y, m, d, form);
        *p++ = ' ';
        p = put_time(p, us);
    }
    if (with_tz && form.date_style != DATES_ISO) p = put_abbrev(p, zone.abbrev);
    else if (with_tz) p = put_offset(p, zone.offset);
    if (y <= 0) p = put_text(p, " BC");
    return p - out;
}

/* "N unit[s]"; a positive part after a negative one gets a plus sign. */
static char *put_part(char *p, int64_t v, const char *unit, bool *zero, bool *before) {
    if (v == 0) return p;
    if (!*zero) *p++ = ' ';
    if (v < 0) *p++ = '-';
    else if (*before) *p++ = '+';
    p += u64_format((uint64_t)(v < 0 ? -v : v), p);
    *p++ = ' ';
    p = put_text(p, unit);
    if (v != 1) *p++ = 's';
    *before = v < 0;
    *zero = false;
    return p;
}

static int64_t interval_postgres(const Interval *iv, char *out) {
    char *p = out;
    bool zero = true, before = false;
    p = put_part(p, iv->months / 12, "year", &zero, &before);
    p = put_part(p, iv->months % 12, "mon", &zero, &before);
    p = put_part(p, iv->days, "day", &zero, &before);
    if (zero || iv->micros) {
        if (!zero) *p++ = ' ';
        if (iv->micros < 0) *p++ = '-';
        else if (before) *p++ = '+';
        uint64_t us = iv->micros < 0 ? -(uint64_t)iv->micros : (uint64_t)iv->micros;
        uint64_t sec = us / 1000000;
        p = put_number(p, sec / 3600);
        *p++ = ':';
        p = put2(p, (int64_t)(sec / 60 % 60));
        *p++ = ':';
        p = put2(p, (int64_t)(sec % 60));
        p = put_fraction(p, (int64_t)(us % 1000000));
    }
    return p - out;
}

/* An interval's fields, each with its sign; of the time all signs are the same. */
typedef struct IntervalFields {
    int64_t year, month, day, hour, minute, second, micros;
} IntervalFields;
static IntervalFields interval_fields(const Interval *iv) {
    const int64_t sec = iv->micros / USECS_PER_SEC;
    return (IntervalFields){.year = iv->months / 12,
                            .month = iv->months % 12,
                            .day = iv->days,
                            .hour = sec / 3600,
                            .minute = sec / 60 % 60,
                            .second = sec % 60,
                            .micros = iv->micros % USECS_PER_SEC};
}
static int64_t absolute(int64_t v) { return v < 0 ? -v : v; }
static char *put_int(char *p, int64_t v) {
    if (v < 0) *p++ = '-';
    return p + u64_format((uint64_t)absolute(v), p);
}
static char *put_plain_seconds(char *p, const IntervalFields *f) {
    p += u64_format((uint64_t)absolute(f->second), p);
    return put_fraction(p, absolute(f->micros));
}
/* h:mm:ss[.f] without signs */
static char *put_clock(char *p, const IntervalFields *f) {
    p += u64_format((uint64_t)absolute(f->hour), p);
    *p++ = ':';
    p = put2(p, absolute(f->minute));
    *p++ = ':';
    p = put2(p, absolute(f->second));
    return put_fraction(p, absolute(f->micros));
}

/* "@ 1 year -2 mons 3 hours ago": signs are those of the first field, which "ago" turns. */
static int64_t interval_verbose(const Interval *iv, char *out) {
    const IntervalFields f = interval_fields(iv);
    const int64_t parts[] = {f.year, f.month, f.day, f.hour, f.minute};
    static const char *const units[] = {"year", "mon", "day", "hour", "min"};
    bool zero = true, ago = false;
    char *p = put_text(out, "@");
    for (int i = 0; i < 5; i++) {
        int64_t v = parts[i];
        if (v == 0) continue;
        if (zero) ago = v < 0;
        zero = false;
        if (ago) v = -v;
        *p++ = ' ';
        p = put_int(p, v);
        *p++ = ' ';
        p = put_text(p, units[i]);
        if (v != 1) *p++ = 's';
    }
    if (f.second || f.micros) {
        const bool minus = f.second < 0 || f.micros < 0;
        if (zero) ago = minus;
        zero = false;
        *p++ = ' ';
        if (minus != ago) *p++ = '-';
        p = put_plain_seconds(p, &f);
        p = put_text(p, absolute(f.second) != 1 || f.micros ? " secs" : " sec");
    }
    if (zero) p = put_text(p, " 0");
    if (ago) p = put_text(p, " ago");
    return p - out;
}

/* As the SQL standard has it where it can be: "1-2", or "3 4:05:06", with one sign; else each part has its sign. */
static int64_t interval_sql_standard(const Interval *iv, char *out) {
    const IntervalFields f = interval_fields(iv);
    const bool minus = iv->months < 0 || iv->days < 0 || iv->micros < 0;
    const bool plus = iv->months > 0 || iv->days > 0 || iv->micros > 0;
    const bool months = iv->months != 0, rest = iv->days || iv->micros;
    char *p = out;
    if (!minus && !plus) return put_text(p, "0") - out;
    if ((minus && plus) || (months && rest)) {
        *p++ = iv->months < 0 ? '-' : '+';
        p = put_int(p, absolute(f.year));
        *p++ = '-';
        p = put_int(p, absolute(f.month));
        *p++ = ' ';
        *p++ = iv->days < 0 ? '-' : '+';
        p = put_int(p, absolute(f.day));
        *p++ = ' ';
        *p++ = iv->micros < 0 ? '-' : '+';
        return put_clock(p, &f) - out;
    }
    if (minus) *p++ = '-';
    if (months) {
        p = put_int(p, absolute(f.year));
        *p++ = '-';
        return put_int(p, absolute(f.month)) - out;
    }
    if (iv->days) {
        p = put_int(p, absolute(f.day));
        *p++ = ' ';
    }
    return put_clock(p, &f) - out;
}

static int64_t interval_iso_8601(const Interval *iv, char *out) {
    const IntervalFields f = interval_fields(iv);
    const int64_t parts[] = {f.year, f.month, f.day, f.hour, f.minute};
    char *p = put_text(out, "P");
    if (!iv->months && !iv->days && !iv->micros) return put_text(p, "T0S") - out;
    for (int i = 0; i < 5; i++) {
        if (i == 3 && iv->micros) *p++ = 'T';
        if (parts[i] == 0) continue;
        p = put_int(p, parts[i]);
        *p++ = "YMDHM"[i];
    }
    if (f.second || f.micros) {
        if (f.second < 0 || f.micros < 0) *p++ = '-';
        p = put_plain_seconds(p, &f);
        *p++ = 'S';
    }
    return p - out;
}

int64_t interval_format(const Interval *iv, TextForm form, char *out) {
    switch ((IntervalStyle)form.interval_style) {
    case INTERVALS_VERBOSE: return interval_verbose(iv, out);
    case INTERVALS_SQL_STANDARD: return interval_sql_standard(iv, out);
    case INTERVALS_ISO_8601: return interval_iso_8601(iv, out);
    case INTERVALS_POSTGRES: break;
    }
    return interval_postgres(iv, out);
}
