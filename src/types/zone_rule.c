/* zone_rule.c - time zones in POSIX's form: "std offset dst offset,start/time,end/time" (IEEE 1003.1, 8.3, and the
 * hours beyond 24 of RFC 8536).
 *
 * As in PostgreSQL the first name may be empty, an offset may have up to 167 hours, and without rules summer time is
 * that of the USA since 2007. Offsets in the text are west of UTC.
 */
#include "types/type.h"
#include "types/type_int.h"
#include "types/zone_int.h"

enum { DAY = 86400, UNIX_DAYS = -10957 /* 1970-01-01 */ };

typedef struct RuleText {
    const char *s, *end;
} RuleText;

static bool at_end(const RuleText *t) { return t->s == t->end; }
static bool take(RuleText *t, char c) {
    if (at_end(t) || *t->s != c) return false;
    t->s++;
    return true;
}
static bool take_number(RuleText *t, int64_t least, int64_t most, int64_t *out) {
    const char *from = t->s;
    int64_t v = 0;
    while (!at_end(t) && is_digit(*t->s) && v <= most) v = v * 10 + (*t->s++ - '0');
    *out = v;
    return t->s > from && v >= least && v <= most;
}
/* "<+03>" or letters and the like, up to a digit, comma or sign. */
static bool take_name(RuleText *t, char *out) {
    const bool quoted = take(t, '<');
    const char *from = t->s;
    while (!at_end(t) && (quoted ? *t->s != '>' : !is_digit(*t->s) && !strchr(",+-", *t->s))) t->s++;
    const int64_t n = t->s - from;
    if (n > ZONE_ABBREV_MAX || (quoted && !take(t, '>'))) return false;
    memset(out, 0, ZONE_ABBREV_MAX + 1);
    memcpy(out, from, (size_t)n);
    return true;
}
/* [+-]h[:m[:s]] */
static bool take_seconds(RuleText *t, int32_t *out) {
    int64_t h, m = 0, s = 0;
    const bool minus = take(t, '-');
    if (!minus) (void)take(t, '+');
    if (!take_number(t, 0, 167, &h)) return false;
    if (take(t, ':')) {
        if (!take_number(t, 0, 59, &m)) return false;
        if (take(t, ':') && !take_number(t, 0, 60, &s)) return false;
    }
    *out = (int32_t)((h * 60 + m) * 60 + s) * (minus ? -1 : 1);
    return true;
}
static bool take_day(RuleText *t, RuleDay *out) {
    int64_t a, b, c;
    *out = (RuleDay){.form = 'N', .seconds = 2 * 3600};
    if (take(t, 'M')) {
        if (!take_number(t, 1, 12, &a) || !take(t, '.') || !take_number(t, 1, 5, &b) || !take(t, '.') ||
            !take_number(t, 0, 6, &c))
            return false;
        *out = (RuleDay){.form = 'M', .seconds = 2 * 3600, .month = (int8_t)a, .week = (int8_t)b, .dow = (int8_t)c};
    } else {
        if (take(t, 'J')) out->form = 'J';
        if (!take_number(t, out->form == 'J', 365, &a)) return false;
        out->day = (int16_t)a;
    }
    return !take(t, '/') || take_seconds(t, &out->seconds);
}

bool zone_rule_parse(Slice text, ZoneRule *out) {
    RuleText t = {text.ptr, text.ptr + text.len};
    int32_t west;
    *out = (ZoneRule){0};
    if (!take_name(&t, out->names[0]) || at_end(&t) || !take_seconds(&t, &west)) return false;
    out->offsets[0] = -west;
    if (at_end(&t)) return true;
    out->has_summer = true;
    out->offsets[1] = out->offsets[0] + 3600;
    if (!take_name(&t, out->names[1]) || !out->names[1][0]) return false;
    if (!at_end(&t) && *t.s != ',' && *t.s != ';') {
        if (!take_seconds(&t, &west)) return false;
        out->offsets[1] = -west;
    }
    if (at_end(&t)) {
        static const char usa[] = ",M3.2.0,M11.1.0";
        t = (RuleText){usa, usa + sizeof usa - 1};
    }
    if (!take(&t, ',') && !take(&t, ';')) return false;
    return take_day(&t, &out->days[0]) && take(&t, ',') && take_day(&t, &out->days[1]) && at_end(&t);
}

/* ---- evaluation ---- */

/* Midnight of the day in that year, in seconds since 1970 on the zone's clocks, and the time on it. */
static int64_t day_of_year(const RuleDay *d, int64_t year) {
    const int64_t first = (int64_t)date_from_ymd(year, 1, 1) - UNIX_DAYS;
    int64_t day;
    if (d->form == 'M') {
        const int64_t month = (int64_t)date_from_ymd(year, d->month, 1) - UNIX_DAYS;
        const int64_t next = (int64_t)date_from_ymd(year + d->month / 12, d->month % 12 + 1, 1) - UNIX_DAYS;
        const int64_t dow = ((month + 4) % 7 + 7) % 7; /* 1970-01-01 was a Thursday */
        day = month + (d->dow - dow + 7) % 7;
        for (int w = 1; w < d->week && day + 7 < next; w++) day += 7;
    } else {
        const bool leap = date_from_ymd(year + 1, 1, 1) - date_from_ymd(year, 1, 1) == 366;
        day = first + d->day - (d->form == 'J' ? 1 - (leap && d->day >= 60) : 0);
    }
    return day * DAY + d->seconds;
}

typedef struct Change {
    int64_t at;
    bool summer;
} Change;
/* The two changes of a year in their order; false: it is summer all the year. */
static bool changes_of(const ZoneRule *r, int64_t year, Change *out) {
    const int64_t start = day_of_year(&r->days[0], year) - r->offsets[0],
                  end = day_of_year(&r->days[1], year) - r->offsets[1],
                  days = (int64_t)date_from_ymd(year + 1, 1, 1) - date_from_ymd(year, 1, 1);
    const bool turned = end < start;
    out[0] = (Change){turned ? end : start, !turned};
    out[1] = (Change){turned ? start : end, turned};
    return turned || (start < end && end - start < days * DAY + (r->offsets[1] - r->offsets[0]));
}

static ZonePart part_of(const ZoneRule *r, bool summer) {
    return (ZonePart){.offset = r->offsets[summer], .summer = summer, .abbrev = r->names[summer]};
}
/* The year on clocks of UTC; beyond the range of dates the first or last one, which is far from any timestamp. */
static int64_t year_of(int64_t unix_secs) {
    int64_t y, day = unix_secs / DAY - (unix_secs % DAY < 0) + UNIX_DAYS;
    int m, d;
    day = MAX_OF(day, -INT64_C(2147000000));
    date_to_ymd((int32_t)MIN_OF(day, INT64_C(2147000000)), &y, &m, &d);
    return y;
}

ZoneSpan zone_rule_span(const ZoneRule *r, int64_t unix_secs) {
    const int64_t year = year_of(unix_secs);
    ZoneSpan s = {.from = INT64_MIN, .to = INT64_MAX};
    bool summer = r->has_summer;
    for (int64_t y = year - 1; r->has_summer && y <= year + 1;
         y++) { /* a change may be days before or behind its year */
        Change c[2];
        if (!changes_of(r, y, c)) continue;
        for (int i = 0; i < 2; i++) {
            if (c[i].at > unix_secs) {
                s.to = MIN_OF(s.to, c[i].at);
                continue;
            }
            s.from = c[i].at;
            summer = c[i].summer;
        }
    }
    s.part = part_of(r, summer);
    return s;
}
