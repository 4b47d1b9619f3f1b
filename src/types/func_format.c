/* func_format.c - to_char, to_date and to_timestamp of dates, times and intervals: values by template patterns.
 *
 * A template is read into nodes: fields with their modifiers (FM, TM, TH), separators, blanks, other characters. Which
 * characters of the text an input template passes over follows PostgreSQL's procedure step by step (blanks around
 * fields, one separator for one separator, FX), since that is all there is of a definition; so do years of two digits,
 * centuries, and the order in which fields that say the same are taken. A call site keeps the nodes of its first
 * template.
 *
 * Templates of SQL/JSON's datetime() are strict: their separators and characters have to be in the text, and all of the
 * text is read. What kind of date or time it is follows from the template's fields.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "types/func_format_int.h"
#include "types/jsonpath.h"

/* ---- templates ---------------------------------------------------------------------------------- */

typedef enum DateKey {
    DK_Y_YYY,
    DK_YYYY,
    DK_YYY,
    DK_YY,
    DK_Y,
    DK_IYYY,
    DK_IYY,
    DK_IY,
    DK_I,
    DK_MONTH,
    DK_MON,
    DK_MM,
    DK_MI,
    DK_MS,
    DK_DAY,
    DK_DDD,
    DK_DD,
    DK_DY,
    DK_D,
    DK_IDDD,
    DK_ID,
    DK_HH24,
    DK_HH12,
    DK_HH,
    DK_SSSS,
    DK_SS,
    DK_US,
    DK_FF1,
    DK_FF2,
    DK_FF3,
    DK_FF4,
    DK_FF5,
    DK_FF6,
    DK_FX,
    DK_AMPM,
    DK_AMPM_DOTS,
    DK_AD,
    DK_AD_DOTS,
    DK_WW,
    DK_IW,
    DK_W,
    DK_Q,
    DK_CC,
    DK_J,
    DK_RM,
    DK_TZH,
    DK_TZM,
    DK_TZ,
    DK_OF
} DateKey;
/* Calendars that an input template must not mix. */
typedef enum Calendar { CAL_NONE, CAL_GREGORIAN, CAL_ISO } Calendar;
typedef struct DateWord {
    const char *word; /* also in lower case; names of months and days with a capital, too */
    uint8_t key, calendar;
    bool digits; /* its text begins with a digit */
} DateWord;
static const DateWord date_words[] = {
    /* longer words before their prefixes */
    {"A.D.", DK_AD_DOTS, CAL_NONE, false},
    {"A.M.", DK_AMPM_DOTS, CAL_NONE, false},
    {"AD", DK_AD, CAL_NONE, false},
    {"AM", DK_AMPM, CAL_NONE, false},
    {"B.C.", DK_AD_DOTS, CAL_NONE, false},
    {"BC", DK_AD, CAL_NONE, false},
    {"CC", DK_CC, CAL_NONE, true},
    {"DAY", DK_DAY, CAL_NONE, false},
    {"DDD", DK_DDD, CAL_GREGORIAN, true},
    {"DD", DK_DD, CAL_GREGORIAN, true},
    {"DY", DK_DY, CAL_NONE, false},
    {"Day", DK_DAY, CAL_NONE, false},
    {"Dy", DK_DY, CAL_NONE, false},
    {"D", DK_D, CAL_GREGORIAN, true},
    {"FF1", DK_FF1, CAL_NONE, true},
    {"FF2", DK_FF2, CAL_NONE, true},
    {"FF3", DK_FF3, CAL_NONE, true},
    {"FF4", DK_FF4, CAL_NONE, true},
    {"FF5", DK_FF5, CAL_NONE, true},
    {"FF6", DK_FF6, CAL_NONE, true},
    {"FX", DK_FX, CAL_NONE, false},
    {"HH24", DK_HH24, CAL_NONE, true},
    {"HH12", DK_HH12, CAL_NONE, true},
    {"HH", DK_HH, CAL_NONE, true},
    {"IDDD", DK_IDDD, CAL_ISO, true},
    {"ID", DK_ID, CAL_ISO, true},
    {"IW", DK_IW, CAL_ISO, true},
    {"IYYY", DK_IYYY, CAL_ISO, true},
    {"IYY", DK_IYY, CAL_ISO, true},
    {"IY", DK_IY, CAL_ISO, true},
    {"I", DK_I, CAL_ISO, true},
    {"J", DK_J, CAL_NONE, true},
    {"MI", DK_MI, CAL_NONE, true},
    {"MM", DK_MM, CAL_GREGORIAN, true},
    {"MONTH", DK_MONTH, CAL_GREGORIAN, false},
    {"MON", DK_MON, CAL_GREGORIAN, false},
    {"MS", DK_MS, CAL_NONE, true},
    {"Month", DK_MONTH, CAL_GREGORIAN, false},
    {"Mon", DK_MON, CAL_GREGORIAN, false},
    {"OF", DK_OF, CAL_NONE, false},
    {"P.M.", DK_AMPM_DOTS, CAL_NONE, false},
    {"PM", DK_AMPM, CAL_NONE, false},
    {"Q", DK_Q, CAL_NONE, true},
    {"RM", DK_RM, CAL_GREGORIAN, false},
    {"SSSSS", DK_SSSS, CAL_NONE, true},
    {"SSSS", DK_SSSS, CAL_NONE, true},
    {"SS", DK_SS, CAL_NONE, true},
    {"TZH", DK_TZH, CAL_NONE, false},
    {"TZM", DK_TZM, CAL_NONE, true},
    {"TZ", DK_TZ, CAL_NONE, false},
    {"US", DK_US, CAL_NONE, true},
    {"WW", DK_WW, CAL_GREGORIAN, true},
    {"W", DK_W, CAL_GREGORIAN, true},
    {"Y,YYY", DK_Y_YYY, CAL_GREGORIAN, true},
    {"YYYY", DK_YYYY, CAL_GREGORIAN, true},
    {"YYY", DK_YYY, CAL_GREGORIAN, true},
    {"YY", DK_YY, CAL_GREGORIAN, true},
    {"Y", DK_Y, CAL_GREGORIAN, true},
};

typedef enum NodeKind { NODE_FIELD, NODE_CHAR, NODE_SEPARATOR, NODE_BLANK, NODE_END } NodeKind;
typedef enum NameCase { NAME_UPPER, NAME_LOWER, NAME_CAPITAL } NameCase;
typedef struct DateNode {
    NodeKind kind;
    const DateWord *word; /* of a field */
    NameCase name;
    bool fm, tm, th, th_upper;
    uint8_t len; /* of the field's word as written, or the character */
    const char *text;
} DateNode;
typedef struct DateTemplate {
    Str text;
    bool strict;
    int64_t n;
    DateNode *nodes; /* and a NODE_END */
} DateTemplate;

static inline bool blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
static inline bool separator(char c) { return c > 0x20 && c < 0x7f && !is_digit(c) && !is_alpha(c); }
/* Bytes of the character at p. */
static int char_len(const char *p, const char *end) {
    int n = 1;
    while (p + n < end && ((unsigned char)p[n] & 0xc0) == 0x80 && ((unsigned char)*p & 0xc0) == 0xc0) n++;
    return n;
}

static bool word_here(const char *p, const char *end, const DateWord *w, NameCase *how) {
    int64_t n = (int64_t)strlen(w->word);
    if (end - p < n) return false;
    *how = is_alpha(w->word[1]) && to_lower(w->word[1]) == w->word[1] ? NAME_CAPITAL : NAME_UPPER;
    if (memcmp(p, w->word, (size_t)n) == 0) return true;
    if (*how == NAME_CAPITAL) return false;
    *how = NAME_LOWER;
    for (int64_t i = 0; i < n; i++)
        if (p[i] != to_lower(w->word[i])) return false;
    return true;
}
static bool two(const char *p, const char *end, const char *upper, const char *lower) {
    return end - p >= 2 && (memcmp(p, upper, 2) == 0 || memcmp(p, lower, 2) == 0);
}

static void add_char(DateTemplate *t, NodeKind kind, const char **p, const char *end) {
    DateNode *nd = &t->nodes[t->n++];
    *nd = (DateNode){.kind = kind, .text = *p, .len = (uint8_t)char_len(*p, end)};
    *p += nd->len;
}
/* The template at *p in quotes: characters. */
static void read_quoted(DateTemplate *t, const char **p, const char *end) {
    ++*p;
    while (*p < end && **p != '"') {
        if (**p == '\\' && *p + 1 < end) ++*p;
        add_char(t, NODE_CHAR, p, end);
    }
    if (*p < end) ++*p;
}
/* Strict templates have these separators only. */
static Status check_separator(const char *p, const char *end, Err *e) {
    if (strchr("-./,':; ", *p)) return ST_OK;
    return err_set(e, ERR_DATETIME_FORMAT, "invalid datetime format separator: \"%.*s\"", char_len(p, end), p);
}
static Status read_template(DateTemplate *t, Err *e) {
    const char *p = t->text.ptr, *end = p + t->text.len;
    while (p < end) {
        bool fm = two(p, end, "FM", "fm"), tm = !fm && two(p, end, "TM", "tm");
        if (fm || tm) p += 2;
        const DateWord *w = NULL;
        NameCase how = NAME_UPPER;
        for (int64_t i = 0; i < ARRAY_LEN(date_words) && !w; i++)
            if (word_here(p, end, &date_words[i], &how)) w = &date_words[i];
        if (w) {
            DateNode *nd = &t->nodes[t->n++];
            *nd = (DateNode){.kind = NODE_FIELD,
                             .word = w,
                             .name = how,
                             .fm = fm,
                             .tm = tm,
                             .text = p,
                             .len = (uint8_t)strlen(w->word)};
            p += nd->len;
            nd->th = two(p, end, "TH", "th");
            nd->th_upper = nd->th && *p == 'T';
            if (nd->th || (end - p >= 2 && memcmp(p, "SP", 2) == 0)) p += 2; /* SP, numbers in words, has no effect */
        } else if (p < end && *p == '"') {
            read_quoted(t, &p, end);
        } else if (p < end) {
            if (t->strict) TRY(check_separator(p, end, e));
            if (*p == '\\' && p + 1 < end && p[1] == '"') p++;
            add_char(t, separator(*p) ? NODE_SEPARATOR : blank(*p) ? NODE_BLANK : NODE_CHAR, &p, end);
        }
    }
    t->nodes[t->n].kind = NODE_END;
    return ST_OK;
}
static DateTemplate *template_of(FuncCtx *ctx, Str f) {
    DateTemplate *t = ctx->state;
    if (t && t->text.len == f.len && memcmp(t->text.ptr, f.ptr, f.len) == 0) return t;
    Arena *a = t ? ctx->arena : ctx->state_arena;
    t = arena_new_of(a, DateTemplate);
    char *text = t ? arena_strndup(a, f.ptr, f.len) : NULL;
    if (!text || !(t->nodes = arena_array(a, DateNode, (int64_t)f.len + 1))) {
        if (!err_is_set(ctx->err)) err_oom(ctx->err);
        return NULL;
    }
    t->text = str_make(text, f.len);
    if (read_template(t, ctx->err) != ST_OK) return NULL;
    if (!ctx->state) ctx->state = t;
    return t;
}

/* ---- calendars ------------------------------------------------------------------------------------ */
/* Julian days by PostgreSQL's formula: templates show numbers that are no dates, such as an interval's fields, by it,
 * too. */
enum { JULIAN_2000_01_01 = 2451545, DAY_END = 2145031949 /* 5874898-01-01 */ };
static int64_t julian_of(int64_t y, int64_t m, int64_t d) {
    y += m > 2 ? 4800 : 4799;
    m += m > 2 ? 1 : 13;
    int64_t century = y / 100;
    return y * 365 - 32167 + y / 4 - century + century / 4 + 7834 * m / 256 + d;
}
/* The Monday of a week of an ISO year. */
static int64_t iso_monday(int64_t year, int64_t week) {
    int64_t fourth = julian_of(year, 1, 4), dow = fourth % 7;
    return (week - 1) * 7 + fourth - (dow < 0 ? dow + 7 : dow);
}
static int64_t iso_week(int64_t y, int64_t m, int64_t d, int64_t *iso_year) {
    int64_t day = julian_of(y, m, d), start = iso_monday(y, 1);
    if (day < start) start = iso_monday(--y, 1);
    int64_t week = (day - start) / 7 + 1;
    if (week >= 52 && day >= iso_monday(y + 1, 1)) {
        start = iso_monday(++y, 1);
        week = (day - start) / 7 + 1;
    }
    *iso_year = y;
    return week;
}

/* ---- output --------------------------------------------------------------------------------------- */

static const char *const month_names[] = {"January", "February", "March",     "April",   "May",      "June",
                                          "July",    "August",   "September", "October", "November", "December"};
static const char *const day_names[] = {"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"};
static const char *const roman_months[] = {"I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"};

/* Of an interval all may be negative, months run from -11 to 11 and hours as far as they go. */
typedef struct DateSource {
    bool interval, tz;
    int64_t year, hour; /* year 0 is 1 BC */
    int64_t month, day, minute, second, usec, dow, doy;
    int offset;
    const char *abbrev; /* of the zone */
} DateSource;

static void put_number(FmtOut *o, const DateNode *nd, int64_t v, int width) {
    char b[40];
    int64_t from = o->len;
    snprintf(b, sizeof b, "%0*lld", nd->fm ? 0 : width, (long long)v);
    fmt_text(o, b);
    if (!nd->th || o->len == from) return;
    char last = o->p[o->len - 1];
    int k = last >= '1' && last <= '3' && !(o->len - from > 1 && o->p[o->len - 2] == '1') ? last - '0' : 0;
    static const char *const suffix[2][4] = {{"th", "st", "nd", "rd"}, {"TH", "ST", "ND", "RD"}};
    fmt_text(o, suffix[nd->th_upper][k]);
}
/* One more for the sign. */
static void put_signed(FmtOut *o, const DateNode *nd, int64_t v, int width) {
    put_number(o, nd, v, v < 0 ? width + 1 : width);
}
static void put_name(FmtOut *o, const DateNode *nd, const char *name, int chars, int pad) {
    int k = 0;
    for (; name[k] && (chars == 0 || k < chars); k++)
        fmt_char(o, nd->name == NAME_UPPER   ? ascii_upper(name[k])
                    : nd->name == NAME_LOWER ? to_lower(name[k])
                                             : name[k]);
    for (; !nd->fm && !nd->tm && k < pad; k++) fmt_char(o, ' ');
}
static void put_offset(FmtOut *o, const DateNode *nd, int offset, int width) {
    char b[24];
    snprintf(b, sizeof b, "%c%0*d", offset < 0 ? '-' : '+', nd->fm ? 0 : width, abs(offset) / 3600);
    fmt_text(o, b);
    if (abs(offset) % 3600 == 0) return;
    snprintf(b, sizeof b, ":%02d", abs(offset) % 3600 / 60);
    fmt_text(o, b);
}

static bool not_of_intervals(DateKey k) {
    return k == DK_MONTH || k == DK_MON || k == DK_DAY || k == DK_DY || k == DK_D || k == DK_ID || k == DK_AD ||
           k == DK_AD_DOTS || k == DK_TZ || k == DK_OF || k == DK_TZH || k == DK_TZM;
}
static int64_t shown_year(const DateSource *d, int64_t y) { return d->interval || y > 0 ? y : 1 - y; }

static void put_year(FmtOut *o, const DateNode *nd, const DateSource *d, DateKey k) {
    int64_t y = d->year;
    bool iso = k == DK_IYYY || k == DK_IYY || k == DK_IY || k == DK_I;
    if (iso) (void)iso_week(d->year, d->month, d->day, &y);
    y = shown_year(d, y);
    int sign = shown_year(d, d->year) < 0; /* also where it is the ISO year that is shown */
    char b[48];
    switch (k) {
    case DK_Y_YYY: {
        snprintf(b, sizeof b, "%lld,%03lld", (long long)(y / 1000), (long long)(y % 1000));
        DateNode plain = *nd;
        plain.fm = true;
        fmt_text(o, b);
        if (nd->th) { /* its last digits decide */
            FmtOut tail = {.p = b, .cap = (int64_t)sizeof b};
            put_number(&tail, &plain, llabs(y % 1000), 3);
            for (int64_t i = tail.len - 2; i < tail.len; i++) fmt_char(o, b[i]);
        }
        break;
    }
    case DK_YYYY:
    case DK_IYYY: put_number(o, nd, y, 4 + sign); break;
    case DK_YYY:
    case DK_IYY: put_number(o, nd, y % 1000, 3 + sign); break;
    case DK_YY:
    case DK_IY: put_number(o, nd, y % 100, 2 + sign); break;
    default: put_number(o, nd, y % 10, 1); break;
    }
}
static void put_roman_month(FmtOut *o, const DateNode *nd, const DateSource *d) {
    if (d->month == 0 && d->year == 0) return;
    int64_t m = d->month > 0   ? d->month - 1
                : d->month < 0 ? 12 + d->month
                : d->year >= 0 ? 11
                               : 0; /* counted backwards when negative */
    DateNode padded = *nd;
    padded.tm = false; /* it has no translation */
    put_name(o, &padded, roman_months[m], 0, 4);
}
static void put_century(FmtOut *o, const DateNode *nd, const DateSource *d) {
    int64_t c = d->interval ? d->year / 100 : d->year > 0 ? (d->year - 1) / 100 + 1 : d->year / 100 - 1;
    put_number(o, nd, c, c > 99 || c < -99 ? 0 : c < 0 ? 3 : 2);
}

static void put_zone(FmtOut *o, const DateNode *nd, const DateSource *d) {
    for (const char *p = d->tz ? d->abbrev : ""; *p; p++) fmt_char(o, nd->name == NAME_LOWER ? to_lower(*p) : *p);
}

static void put_field(FmtOut *o, const DateNode *nd, const DateSource *d) {
    static const int64_t unit[] = {100000, 10000, 1000, 100, 10, 1};
    DateKey k = (DateKey)nd->word->key;
    int64_t iy, twelve = d->hour % 12 == 0 ? 12 : d->hour % 12;
    char b[24];
    switch (k) {
    case DK_Y_YYY:
    case DK_YYYY:
    case DK_YYY:
    case DK_YY:
    case DK_Y:
    case DK_IYYY:
    case DK_IYY:
    case DK_IY:
    case DK_I: put_year(o, nd, d, k); break;
    case DK_MONTH: put_name(o, nd, month_names[d->month - 1], 0, 9); break;
    case DK_MON: put_name(o, nd, month_names[d->month - 1], 3, 0); break;
    case DK_MM: put_signed(o, nd, d->month, 2); break;
    case DK_MI: put_signed(o, nd, d->minute, 2); break;
    case DK_SS: put_signed(o, nd, d->second, 2); break;
    case DK_FF1:
    case DK_FF2:
    case DK_FF3:
    case DK_FF4:
    case DK_FF5:
    case DK_FF6:
    case DK_MS:
    case DK_US: {
        int digits = k == DK_MS ? 3 : k == DK_US ? 6 : (int)(k - DK_FF1) + 1;
        DateNode full = *nd;
        full.fm = false;
        put_number(o, &full, d->usec / unit[digits - 1], digits);
        break;
    }
    case DK_DAY: put_name(o, nd, day_names[d->dow], 0, 9); break;
    case DK_DY: put_name(o, nd, day_names[d->dow], 3, 0); break;
    case DK_DDD: put_number(o, nd, d->doy, 3); break;
    case DK_IDDD:
        (void)iso_week(d->year, d->month, d->day, &iy);
        put_number(o, nd, julian_of(d->year, d->month, d->day) - iso_monday(iy, 1) + 1, 3);
        break;
    case DK_DD: put_number(o, nd, d->day, 2); break;
    case DK_D: put_number(o, nd, d->dow + 1, 0); break;
    case DK_ID: put_number(o, nd, d->dow ? d->dow : 7, 0); break;
    case DK_HH24: put_number(o, nd, d->hour, d->hour < 0 ? 3 : 2); break;
    case DK_HH12:
    case DK_HH: put_number(o, nd, twelve, d->hour < 0 ? 3 : 2); break;
    case DK_SSSS: put_number(o, nd, d->hour * 3600 + d->minute * 60 + d->second, 0); break;
    case DK_AMPM: put_name(o, nd, d->hour % 24 >= 12 ? "PM" : "AM", 0, 0); break;
    case DK_AMPM_DOTS: put_name(o, nd, d->hour % 24 >= 12 ? "P.M." : "A.M.", 0, 0); break;
    case DK_AD: put_name(o, nd, d->year > 0 ? "AD" : "BC", 0, 0); break;
    case DK_AD_DOTS: put_name(o, nd, d->year > 0 ? "A.D." : "B.C.", 0, 0); break;
    case DK_WW: put_number(o, nd, (d->doy - 1) / 7 + 1, 2); break;
    case DK_IW: put_number(o, nd, iso_week(d->year, d->month, d->day, &iy), 2); break;
    case DK_W: put_number(o, nd, (d->day - 1) / 7 + 1, 0); break;
    case DK_Q:
        if (d->month) put_number(o, nd, (d->month - 1) / 3 + 1, 0);
        break;
    case DK_CC: put_century(o, nd, d); break;
    case DK_J: put_number(o, nd, julian_of(d->year, d->month, d->day), 0); break;
    case DK_RM: put_roman_month(o, nd, d); break;
    case DK_TZ: put_zone(o, nd, d); break;
    case DK_TZH:
        snprintf(b, sizeof b, "%c%02d", d->offset < 0 ? '-' : '+', abs(d->offset) / 3600);
        fmt_text(o, b);
        break;
    case DK_TZM:
        snprintf(b, sizeof b, "%02d", abs(d->offset) % 3600 / 60);
        fmt_text(o, b);
        break;
    case DK_OF: put_offset(o, nd, d->offset, 2); break;
    case DK_FX: break;
    }
}

static Status date_out(FuncCtx *ctx, int64_t i, const DateSource *d, Str f, Str *z) {
    const DateTemplate *t = template_of(ctx, f);
    FmtOut o = {.cap = (int64_t)f.len * FMT_FIELD + 64};
    if (!t || !(o.p = ctx_alloc(ctx, o.cap))) return FAILED(i);
    for (const DateNode *nd = t->nodes; nd->kind != NODE_END; nd++) {
        for (int k = 0; nd->kind != NODE_FIELD && k < nd->len; k++) fmt_char(&o, nd->text[k]);
        if (nd->kind != NODE_FIELD) continue;
        if (d->interval && not_of_intervals((DateKey)nd->word->key)) {
            err_set(ctx->err, ERR_DATETIME_FORMAT, "invalid format specification for an interval value");
            err_hint(ctx->err, "Intervals are not tied to specific calendar dates.");
            return FAILED(i);
        }
        put_field(&o, nd, d);
    }
    *z = str_make(o.p, o.len);
    return ST_OK;
}
static void ts_source(int64_t ts, bool tz, const ZonePart *zone, DateSource *d) {
    TsParts p;
    ts_to_parts(ts + zone->offset * USECS_PER_SEC, &p);
    *d = (DateSource){.tz = tz,
                      .offset = zone->offset,
                      .abbrev = zone->abbrev,
                      .year = p.year,
                      .month = p.month,
                      .day = p.day,
                      .hour = p.hour,
                      .minute = p.minute,
                      .second = p.second,
                      .usec = p.usec,
                      .dow = p.dow,
                      .doy = p.doy};
}
static void interval_source(const Interval *x, DateSource *d) {
    int64_t secs = x->micros / USECS_PER_SEC;
    *d = (DateSource){.interval = true,
                      .year = x->months / 12,
                      .month = x->months % 12,
                      .day = x->days,
                      .hour = secs / 3600,
                      .minute = secs / 60 % 60,
                      .second = secs % 60,
                      .usec = x->micros % USECS_PER_SEC};
    d->doy = (int64_t)x->months * 30 + x->days;
}

/* NULL: an empty template, or a time that is infinite. */
static Status char_of_times(FuncCtx *ctx, int64_t n, const Vec *args, Vec *out, bool tz) {
    for (int64_t i = 0; i < n; i++) {
        Str z = STR0, f;
        DateSource d;
        out->valid[i] = !arg_null(&args[0], i) && !arg_null(&args[1], i);
        if (out->valid[i]) {
            f = AT(Str, 1, i);
            int64_t ts = AT(int64_t, 0, i);
            out->valid[i] = f.len > 0 && ts_finite(ts);
            if (out->valid[i]) {
                const ZonePart zone = tz ? zone_part_at(ctx_zone(ctx), ts) : (ZonePart){0};
                ts_source(ts, tz, &zone, &d);
                TRY(date_out(ctx, i, &d, f, &z));
            }
        }
        ((Str *)out->data)[i] = z;
    }
    return ST_OK;
}
KERNEL(to_char_ts) {
    KERNEL_UNUSED();
    return char_of_times(ctx, n, args, out, false);
}
KERNEL(to_char_tz) {
    KERNEL_UNUSED();
    return char_of_times(ctx, n, args, out, true);
}
KERNEL(to_char_iv) {
    KERNEL_UNUSED();
    for (int64_t i = 0; i < n; i++) {
        Str z = STR0;
        DateSource d;
        out->valid[i] = !arg_null(&args[0], i) && !arg_null(&args[1], i) && AT(Str, 1, i).len > 0;
        if (out->valid[i]) {
            interval_source(arg_cell(&args[0], i), &d);
            TRY(date_out(ctx, i, &d, AT(Str, 1, i), &z));
        }
        ((Str *)out->data)[i] = z;
    }
    return ST_OK;
}

/* ---- input ---------------------------------------------------------------------------------------- */

/* Fields as they stand in the text; 0: not there. */
typedef struct DateIn {
    Calendar calendar;
    int hour, minute, second, ssss, d, dd, ddd, mm, ms, year, bc, ww, w, cc, j, us, year_digits, twelve, pm, zone_sign,
        zone_hour, zone_minute, fraction;
} DateIn;

typedef struct DateScan {
    FuncCtx *ctx;
    int64_t row;
    Str s;
    const char *p, *end;
} DateScan;

static const char *field_name(const DateNode *nd, char *b) {
    snprintf(b, 16, "%.*s", (int)nd->len, nd->text);
    return b;
}
/* What is left of the text, up to `most` bytes. */
static int rest_len(const char *p, const char *end, int64_t most) { return (int)MIN_OF(end - p, most); }

static Status set_field(DateScan *c, const DateNode *nd, int *dest, int v) {
    char b[16];
    int64_t i = c->row;
    FuncCtx *ctx = c->ctx;
    if (dest && *dest != 0 && *dest != v) {
        err_set(ctx->err, ERR_DATETIME_FORMAT, "conflicting values for \"%s\" field in formatting string",
                field_name(nd, b));
        err_detail(ctx->err, "This value contradicts a previous setting for the same field type.");
        return FAILED(i);
    }
    if (dest) *dest = v;
    return ST_OK;
}

/* As strtol reads: *end is p when there is no number. Values beyond 18 digits stay beyond the range of int. */
static int64_t read_long(const char *p, const char *end, const char **stop) {
    const char *q = p;
    while (q < end && blank(*q)) q++;
    bool neg = q < end && *q == '-';
    if (q < end && (*q == '-' || *q == '+')) q++;
    int64_t v = 0;
    *stop = p;
    for (; q < end && is_digit(*q); *stop = ++q)
        if (v < INT64_C(100000000000000000)) v = v * 10 + (*q - '0');
    return neg ? -v : v;
}
/* Anything but a digit follows the field, so that as many digits as there are belong to it. */
static bool ends_by_itself(const DateNode *nd) {
    const DateNode *next = nd + 1;
    if (nd->th || next->kind == NODE_END) return true;
    if (next->kind == NODE_FIELD) return !next->word->digits;
    return !(next->len == 1 && is_digit(next->text[0]));
}
static Status read_number(DateScan *c, const DateNode *nd, int *dest, int len, int *used) {
    FuncCtx *ctx = c->ctx;
    int64_t i = c->row, v;
    const char *init = c->p, *stop;
    char b[16];
    while (c->p < c->end && blank(*c->p)) c->p++;
    const char *from = c->p;
    int have = rest_len(from, c->end, len);
    if (nd->fm || ends_by_itself(nd)) {
        v = read_long(init, c->end, &stop);
        c->p = stop;
    } else {
        if (have < len) {
            err_set(ctx->err, ERR_DATETIME_FORMAT, "source string too short for \"%s\" formatting field",
                    field_name(nd, b));
            err_detail(ctx->err, "Field requires %d characters, but only %d remain.", len, have);
            err_hint(ctx->err, "If your source string is not fixed-width, try using the \"FM\" modifier.");
            return FAILED(i);
        }
        v = read_long(from, from + len, &stop);
        int parsed = (int)(stop - from);
        if (parsed > 0 && parsed < len) {
            err_set(ctx->err, ERR_DATETIME_FORMAT, "invalid value \"%.*s\" for \"%s\"", have, from, field_name(nd, b));
            err_detail(ctx->err, "Field requires %d characters, but only %d could be parsed.", len, parsed);
            err_hint(ctx->err, "If your source string is not fixed-width, try using the \"FM\" modifier.");
            return FAILED(i);
        }
        c->p = stop;
    }
    if (c->p == init) {
        err_set(ctx->err, ERR_DATETIME_FORMAT, "invalid value \"%.*s\" for \"%s\"", have, from, field_name(nd, b));
        err_detail(ctx->err, "Value must be an integer.");
        return FAILED(i);
    }
    if (v < INT_MIN || v > INT_MAX) {
        err_set(ctx->err, ERR_DATETIME_OVERFLOW, "value for \"%s\" in source string is out of range",
                field_name(nd, b));
        err_detail(ctx->err, "Value must be in the range %d to %d.", INT_MIN, INT_MAX);
        return FAILED(i);
    }
    if (used) *used = (int)(c->p - init);
    TRY(set_field(c, nd, dest, (int)v));
    if (nd->th && (DateKey)nd->word->key != DK_TZH && (DateKey)nd->word->key != DK_TZM)
        for (int k = 0; k < 2 && c->p < c->end; k++) c->p += char_len(c->p, c->end);
    return ST_OK;
}
/* The first of `names` (all of it, or its first `chars` letters) that is next. */
static Status read_name(DateScan *c, const DateNode *nd, const char *const *names, int n_names, int chars, int *which) {
    FuncCtx *ctx = c->ctx;
    int64_t i = c->row;
    for (int k = 0; k < n_names; k++) {
        int n = chars ? chars : (int)strlen(names[k]), j = 0;
        while (j < n && c->p + j < c->end && to_lower(c->p[j]) == to_lower(names[k][j])) j++;
        if (j < n) continue;
        c->p += n;
        *which = k;
        return ST_OK;
    }
    char b[16];
    int64_t len = 0;
    while (c->p + len < c->end && !blank(c->p[len])) len++;
    err_set(ctx->err, ERR_DATETIME_FORMAT, "invalid value \"%.*s\" for \"%s\"", rest_len(c->p, c->p + len, 512), c->p,
            field_name(nd, b));
    err_detail(ctx->err, "The given value did not match any of the allowed values for this field.");
    return FAILED(i);
}

/* Years of fewer than four digits are those nearest to 2020. */
static int near_2020(int y) {
    if (y < 70) return y + 2000;
    if (y < 100) return y + 1900;
    if (y < 520) return y + 2000;
    return y < 1000 ? y + 1000 : y;
}
static Status read_year(DateScan *c, const DateNode *nd, DateIn *d) {
    int used = 0;
    TRY(read_number(c, nd, &d->year, nd->len, &used));
    DateKey k = (DateKey)nd->word->key;
    d->year_digits = k == DK_YYYY || k == DK_IYYY ? 4
                     : k == DK_YYY || k == DK_IYY ? 3
                     : k == DK_YY || k == DK_IY   ? 2
                                                  : 1;
    if (used < 4 && d->year_digits < 4) d->year = near_2020(d->year);
    return ST_OK;
}
/* 2,020 */
static Status read_year_with_comma(DateScan *c, const DateNode *nd, DateIn *d) {
    FuncCtx *ctx = c->ctx;
    int64_t i = c->row;
    const char *comma, *stop;
    int64_t thousands = read_long(c->p, c->end, &comma);
    bool ok = comma > c->p && comma < c->end && *comma == ',';
    int64_t years = ok ? read_long(comma + 1, MIN_OF(c->end, comma + 4), &stop) : 0;
    FAIL_IF(!ok || stop == comma + 1, i, ERR_DATETIME_FORMAT, "invalid input string for \"Y,YYY\"");
    years += thousands * 1000;
    FAIL_IF(years < INT_MIN || years > INT_MAX, i, ERR_DATETIME_OVERFLOW,
            "value for \"Y,YYY\" in source string is out of range");
    TRY(set_field(c, nd, &d->year, (int)years));
    d->year_digits = 4;
    c->p = stop;
    for (int k = 0; nd->th && k < 2 && c->p < c->end; k++) c->p += char_len(c->p, c->end);
    return ST_OK;
}
/* Digits behind the point: 25 is 0.25. */
static Status read_fraction(DateScan *c, const DateNode *nd, int *dest, int digits) {
    int used;
    TRY(read_number(c, nd, dest, digits, &used));
    for (; used > 0 && used < digits; used++) *dest *= 10;
    return ST_OK;
}
static Status read_zone_hour(DateScan *c, const DateNode *nd, DateIn *d, int64_t skipped) {
    char first = c->p < c->end ? *c->p : 0;
    if (first == '+' || first == '-' || first == ' ') {
        d->zone_sign = first == '-' ? -1 : 1;
        c->p++;
    } else { /* a minus may have been passed over as a separator */
        d->zone_sign = skipped > 0 && c->p > c->s.ptr && c->p[-1] == '-' ? -1 : 1;
    }
    return read_number(c, nd, &d->zone_hour, 2, NULL);
}

static Status read_field(DateScan *c, const DateNode *nd, DateIn *d, int64_t skipped) {
    static const char *const halves[] = {"am", "pm"}, *const halves_dots[] = {"a.m.", "p.m."},
                             *const eras[] = {"ad", "bc"}, *const eras_dots[] = {"a.d.", "b.c."};
    static const char *const romans[] = {"xii", "xi", "x", "ix", "viii", "vii", "vi", "v", "iv", "iii", "ii", "i"};
    FuncCtx *ctx = c->ctx;
    int64_t i = c->row;
    DateKey key = (DateKey)nd->word->key;
    int k;
    char b[16];
    if (nd->word->calendar != CAL_NONE) {
        if (d->calendar != CAL_NONE && d->calendar != (Calendar)nd->word->calendar) {
            err_set(ctx->err, ERR_DATETIME_FORMAT, "invalid combination of date conventions");
            err_hint(ctx->err, "Do not mix Gregorian and ISO week date conventions in a formatting template.");
            return FAILED(i);
        }
        d->calendar = (Calendar)nd->word->calendar;
    }
    switch (key) {
    case DK_FX: break;
    case DK_AMPM:
    case DK_AMPM_DOTS:
        TRY(read_name(c, nd, key == DK_AMPM ? halves : halves_dots, 2, 0, &k));
        d->twelve = 1;
        return set_field(c, nd, &d->pm, k);
    case DK_HH:
    case DK_HH12:
        TRY(read_number(c, nd, &d->hour, 2, NULL));
        d->twelve = 1;
        break;
    case DK_HH24: return read_number(c, nd, &d->hour, 2, NULL);
    case DK_MI: return read_number(c, nd, &d->minute, nd->len, NULL);
    case DK_SS: return read_number(c, nd, &d->second, nd->len, NULL);
    case DK_MS: return read_fraction(c, nd, &d->ms, 3);
    case DK_FF1:
    case DK_FF2:
    case DK_FF3:
    case DK_FF4:
    case DK_FF5:
    case DK_FF6: {
        d->fraction = (int)(key - DK_FF1) + 1;
        int used;
        TRY(read_number(c, nd, &d->us, d->fraction, &used));
        for (; used < 6; used++) d->us *= 10;
        return ST_OK;
    }
    case DK_US: return read_fraction(c, nd, &d->us, 6);
    case DK_SSSS: return read_number(c, nd, &d->ssss, nd->len, NULL);
    case DK_TZ:
    case DK_OF:
        return err_set(ctx->err, ERR_FEATURE_NOT_SUPPORTED, "formatting field \"%s\" is only supported in to_char",
                       field_name(nd, b)),
               FAILED(i);
    case DK_TZH: return read_zone_hour(c, nd, d, skipped);
    case DK_TZM:
        if (!d->zone_sign) d->zone_sign = 1;
        return read_number(c, nd, &d->zone_minute, 2, NULL);
    case DK_AD:
    case DK_AD_DOTS:
        TRY(read_name(c, nd, key == DK_AD ? eras : eras_dots, 2, 0, &k));
        return set_field(c, nd, &d->bc, k);
    case DK_MONTH:
    case DK_MON:
        TRY(read_name(c, nd, month_names, 12, key == DK_MON ? 3 : 0, &k));
        return set_field(c, nd, &d->mm, k + 1);
    case DK_MM: return read_number(c, nd, &d->mm, nd->len, NULL);
    case DK_DAY:
    case DK_DY:
        TRY(read_name(c, nd, day_names, 7, key == DK_DY ? 3 : 0, &k));
        TRY(set_field(c, nd, &d->d, k));
        d->d++;
        break;
    case DK_DDD:
    case DK_IDDD: return read_number(c, nd, &d->ddd, 3, NULL);
    case DK_DD: return read_number(c, nd, &d->dd, nd->len, NULL);
    case DK_D: return read_number(c, nd, &d->d, nd->len, NULL);
    case DK_ID:
        TRY(read_number(c, nd, &d->d, 1, NULL));
        if (d->d < INT_MAX && ++d->d > 7) d->d = 1; /* Sunday is 1 */
        break;
    case DK_WW:
    case DK_IW: return read_number(c, nd, &d->ww, nd->len, NULL);
    case DK_Q: return read_number(c, nd, NULL, nd->len, NULL);
    case DK_CC: return read_number(c, nd, &d->cc, nd->len, NULL);
    case DK_Y_YYY: return read_year_with_comma(c, nd, d);
    case DK_YYYY:
    case DK_IYYY:
    case DK_YYY:
    case DK_IYY:
    case DK_YY:
    case DK_IY:
    case DK_Y:
    case DK_I: return read_year(c, nd, d);
    case DK_RM: TRY(read_name(c, nd, romans, 12, 0, &k)); return set_field(c, nd, &d->mm, 12 - k);
    case DK_W: return read_number(c, nd, &d->w, nd->len, NULL);
    case DK_J: return read_number(c, nd, &d->j, nd->len, NULL);
    }
    return ST_OK;
}

/* A separator or character of a strict template, which is next in the text, too. */
static Status read_strict(DateScan *c, const DateNode *nd) {
    FuncCtx *ctx = c->ctx;
    const int len = char_len(c->p, c->end);
    const bool same = len == nd->len && memcmp(c->p, nd->text, (size_t)len) == 0;
    FAIL_IF(!same && nd->kind == NODE_CHAR, c->row, ERR_DATETIME_FORMAT, "unmatched format character \"%.*s\"",
            (int)nd->len, nd->text);
    FAIL_IF(!same, c->row, ERR_DATETIME_FORMAT, "unmatched format separator \"%c\"", *nd->text);
    c->p += len;
    return ST_OK;
}
static Status end_strict(DateScan *c, const DateNode *nd) {
    FuncCtx *ctx = c->ctx;
    FAIL_IF(nd->kind != NODE_END, c->row, ERR_DATETIME_FORMAT, "input string is too short for datetime format");
    while (c->p < c->end && blank(*c->p)) c->p++;
    FAIL_IF(c->p < c->end, c->row, ERR_DATETIME_FORMAT,
            "trailing characters remain in input string after datetime format");
    return ST_OK;
}
/* What is no field, in the template and, as far as it has to be, in the text. */
static void pass_over(DateScan *c, const DateNode *nd, bool exact, int64_t *skipped) {
    const bool some = c->p < c->end;
    if (nd->kind == NODE_CHAR) {
        if (!exact && *skipped > 0) --*skipped;
        else if (some) c->p += char_len(c->p, c->end);
    } else if (exact) {
        if (some) c->p += char_len(c->p, c->end);
    } else {
        --*skipped;
        if (!some || !(blank(*c->p) || separator(*c->p))) return;
        c->p++;
        ++*skipped;
    }
}
static Status read_fields(DateScan *c, const DateTemplate *t, DateIn *d) {
    bool exact = t->strict; /* FX */
    int64_t skipped = 0;    /* more characters than the template has */
    const DateNode *nd = t->nodes;
    for (; nd->kind != NODE_END && c->p < c->end; nd++) {
        bool fx = nd->kind == NODE_FIELD && (DateKey)nd->word->key == DK_FX;
        if (!exact && !fx && (nd->kind == NODE_FIELD || nd == t->nodes))
            for (; c->p < c->end && blank(*c->p); c->p++) skipped++;
        if (nd->kind != NODE_FIELD) {
            if (t->strict) TRY(read_strict(c, nd));
            else pass_over(c, nd, exact, &skipped);
            continue;
        }
        exact |= fx;
        TRY(read_field(c, nd, d, skipped));
        if (exact) continue;
        for (skipped = 0; c->p < c->end && blank(*c->p); c->p++) skipped++;
    }
    return t->strict ? end_strict(c, nd) : ST_OK;
}

/* What the fields say. month and day are 1 where nothing says more, and year 0 is 1 BC. */
typedef struct DateOut {
    int64_t year, month, day, hour, minute, second, usec;
    bool has_year, has_month, has_day;
} DateOut;

static void julian_to_date(int64_t j, DateOut *t) {
    int64_t y;
    int m, d;
    date_to_ymd((int32_t)MAX_OF(MIN_OF(j - JULIAN_2000_01_01, (int64_t)INT32_MAX), (int64_t)INT32_MIN), &y, &m, &d);
    *t = (DateOut){.year = y,
                   .month = m,
                   .day = d,
                   .hour = t->hour,
                   .minute = t->minute,
                   .second = t->second,
                   .usec = t->usec,
                   .has_year = true,
                   .has_month = true,
                   .has_day = true};
}
static Status take_time(FuncCtx *ctx, int64_t i, const DateIn *d, DateOut *t) {
    t->hour = d->ssss / 3600;
    t->minute = d->ssss % 3600 / 60;
    t->second = d->ssss % 60;
    if (d->second) t->second = d->second;
    if (d->minute) t->minute = d->minute;
    if (d->hour) t->hour = d->hour;
    t->usec = (int64_t)d->ms * 1000 + d->us;
    if (!d->twelve) return ST_OK;
    if (t->hour < 1 || t->hour > 12) {
        err_set(ctx->err, ERR_DATETIME_FORMAT, "hour \"%d\" is invalid for the 12-hour clock", (int)t->hour);
        err_hint(ctx->err, "Use the 24-hour clock, or give an hour between 1 and 12.");
        return FAILED(i);
    }
    if (d->pm && t->hour < 12) t->hour += 12;
    else if (!d->pm && t->hour == 12) t->hour = 0;
    return ST_OK;
}
static void take_year(const DateIn *d, DateOut *t) {
    int64_t cc = d->bc ? -(int64_t)d->cc : d->cc;
    t->has_year = d->year || d->cc;
    if (d->year && d->cc &&
        d->year_digits <=
            2) { /* the century's year: the 21st runs from 2001 to 2100, the 6th BC from 600 BC to 501 BC */
        t->year = d->year % 100;
        if (t->year) t->year = cc >= 0 ? t->year + (cc - 1) * 100 : (cc + 1) * 100 - t->year + 1;
        else t->year = cc * 100 + (cc >= 0 ? 0 : 1);
    } else if (d->year) {
        t->year = d->bc ? -(int64_t)d->year : d->year;
        if (t->year < 0) t->year++;
    } else if (d->cc) { /* its first year */
        t->year = cc >= 0 ? (cc - 1) * 100 + 1 : cc * 100 + 1;
    }
}
static Status take_date(FuncCtx *ctx, int64_t i, const DateIn *d, DateOut *t) {
    static const int month_ends[2][13] = {{0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365},
                                          {0, 31, 60, 91, 121, 152, 182, 213, 244, 274, 305, 335, 366}};
    int64_t ddd = d->ddd, dd = d->dd;
    t->month = t->day = 1;
    take_year(d, t);
    if (d->j) julian_to_date(d->j, t);
    if (d->ww && d->calendar == CAL_ISO)
        julian_to_date(iso_monday(t->year, d->ww) + (d->d > 1 ? d->d - 2 : d->d ? 6 : 0), t);
    else if (d->ww) ddd = ((int64_t)d->ww - 1) * 7 + 1;
    if (d->w) dd = ((int64_t)d->w - 1) * 7 + 1;
    if (dd) t->day = dd, t->has_day = true;
    if (d->mm) t->month = d->mm, t->has_month = true;
    if (!ddd || (t->month > 1 && t->day > 1)) return ST_OK;
    FAIL_IF(!t->year && !d->bc, i, ERR_DATETIME_FORMAT, "cannot calculate day of year without year information");
    if (d->calendar == CAL_ISO) {
        julian_to_date(iso_monday(t->year, 1) - 1 + ddd, t);
        return ST_OK;
    }
    bool leap = t->year % 4 == 0 && (t->year % 100 != 0 || t->year % 400 == 0);
    int m = 1;
    while (m <= 12 && ddd > month_ends[leap][m]) m++;
    if (t->month <= 1) t->month = m;
    if (t->day <= 1) t->day = ddd - month_ends[leap][m - 1];
    t->has_month = t->has_day = true;
    return ST_OK;
}
static bool possible(const DateOut *t) {
    if (t->has_month && (t->month < 1 || t->month > 12)) return false;
    if (t->has_day && (t->day < 1 || t->day > 31)) return false;
    if (t->has_year && t->has_month && t->has_day) {
        static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
        bool leap = t->year % 4 == 0 && (t->year % 100 != 0 || t->year % 400 == 0);
        if (t->day > days[t->month - 1] + (leap && t->month == 2)) return false;
    }
    return t->hour >= 0 && t->hour < 24 && t->minute >= 0 && t->minute < 60 && t->second >= 0 && t->second < 60 &&
           t->usec >= 0 && t->usec < USECS_PER_SEC;
}

static Status date_by(FuncCtx *ctx, int64_t i, Str s, const DateTemplate *tm, DateIn *d, DateOut *t) {
    memset(d, 0, sizeof *d);
    memset(t, 0, sizeof *t);
    DateScan c = {.ctx = ctx, .row = i, .s = s, .p = s.ptr, .end = s.ptr + s.len};
    TRY(read_fields(&c, tm, d));
    TRY(take_time(ctx, i, d, t));
    TRY(take_date(ctx, i, d, t));
    int len = (int)MIN_OF(s.len, 512u);
    FAIL_IF(!possible(t), i, ERR_DATETIME_OVERFLOW, "date/time field value out of range: \"%.*s\"", len, s.ptr);
    FAIL_IF(d->zone_sign && (d->zone_hour < 0 || d->zone_hour > 15 || d->zone_minute < 0 || d->zone_minute > 59), i,
            ERR_TZ_DISPLACEMENT, "time zone displacement out of range: \"%.*s\"", len, s.ptr);
    return ST_OK;
}
static Status date_in(FuncCtx *ctx, int64_t i, Str s, Str f, DateIn *d, DateOut *t) {
    const DateTemplate *tm = template_of(ctx, f);
    return tm ? date_by(ctx, i, s, tm, d, t) : FAILED(i);
}
/* Days since 2000-01-01; false beyond what has a Julian day. */
static bool day_of(const DateOut *t, int64_t *day) {
    bool low = t->year > -4713 || (t->year == -4713 && t->month >= 11),
         high = t->year < 5874898 || (t->year == 5874898 && t->month < 6);
    *day = low && high ? julian_of(t->year, t->month, t->day) - JULIAN_2000_01_01 : 0;
    return low && high;
}
K2F(to_date_text, Str, Str, int32_t, 0, {
    DateIn d;
    DateOut t;
    int64_t day;
    TRY(date_in(ctx, i, x, y, &d, &t));
    FAIL_IF(!day_of(&t, &day) || day < -JULIAN_2000_01_01 || day >= DAY_END, i, ERR_DATETIME_OVERFLOW,
            "date out of range: \"%.*s\"", (int)MIN_OF(x.len, 512u), x.ptr);
    z = (int32_t)day;
})
static int64_t time_of(const DateOut *t) {
    return ((t->hour * 60 + t->minute) * 60 + t->second) * USECS_PER_SEC + t->usec;
}
static int64_t zone_of(const DateIn *d) { return d->zone_sign * (d->zone_hour * 3600 + d->zone_minute * 60); }
/* To as many digits as an FF field has. */
static int64_t round_to_fraction(int64_t z, int digits) {
    static const int64_t unit[] = {1, 100000, 10000, 1000, 100, 10, 1};
    const int64_t u = unit[digits];
    return z >= 0 ? (z + u / 2) / u * u : -((-z + u / 2) / u * u);
}
/* On the clocks; false: out of range. */
static bool clock_time(const DateOut *t, int64_t *z) {
    int64_t day = 0;
    return day_of(t, &day) && !__builtin_mul_overflow(day, USECS_PER_DAY, z) &&
           !__builtin_add_overflow(*z, time_of(t), z);
}
K2F(to_timestamp_text, Str, Str, int64_t, 0, {
    DateIn d;
    DateOut t;
    TRY(date_in(ctx, i, x, y, &d, &t));
    bool ok = clock_time(&t, &z);
    if (ok) {
        int64_t zone = d.zone_sign ? zone_of(&d) : zone_offset_of_local(ctx_zone(ctx), z);
        ok = !__builtin_sub_overflow(z, zone * USECS_PER_SEC, &z) && ts_in_range(z);
    }
    FAIL_IF(!ok, i, ERR_DATETIME_OVERFLOW, "timestamp out of range");
    z = round_to_fraction(z, d.fraction);
})

/* ---- datetime() of SQL/JSON ------------------------------------------------------------------------- */

typedef struct TemplateKind {
    bool dated, timed, zoned;
} TemplateKind;
static TemplateKind kind_of(const DateTemplate *t) {
    TemplateKind k = {0};
    for (const DateNode *nd = t->nodes; nd->kind != NODE_END; nd++) {
        const DateKey key = nd->kind == NODE_FIELD ? (DateKey)nd->word->key : DK_FX;
        const bool zone = key >= DK_TZH && key <= DK_OF;
        const bool time =
            key == DK_MI || key == DK_MS || (key >= DK_HH24 && key <= DK_FF6) || key == DK_AMPM || key == DK_AMPM_DOTS;
        k.zoned |= zone;
        k.timed |= time;
        k.dated |= key != DK_FX && !zone && !time;
    }
    return k;
}
static Status to_day(FuncCtx *ctx, Str s, const DateOut *t, JpItem *z) {
    int64_t day;
    FAIL_IF(!day_of(t, &day) || day < -JULIAN_2000_01_01 || day >= DAY_END, 0, ERR_DATETIME_OVERFLOW,
            "date out of range: \"%.*s\"", (int)MIN_OF(s.len, 512u), s.ptr);
    z->time_type = type_make(T_DATE);
    z->time = day;
    return ST_OK;
}
static Status to_datetime(FuncCtx *ctx, Str s, const DateTemplate *tm, JpItem *z) {
    DateIn d;
    DateOut t;
    const TemplateKind k = kind_of(tm);
    *z = (JpItem){.type = JP_ITEM_DATETIME};
    if (tm->n > 0) TRY(date_by(ctx, 0, s, tm, &d, &t));
    FAIL_IF(!k.dated && !k.timed, 0, ERR_DATETIME_FORMAT, "datetime format is not dated and not timed");
    FAIL_IF(!k.timed && k.zoned, 0, ERR_DATETIME_FORMAT, "datetime format is zoned but not timed");
    if (!k.timed) return to_day(ctx, s, &t, z);
    if (k.zoned) z->offset = (int32_t)zone_of(&d);
    if (!k.dated) {
        const int64_t micros = round_to_fraction(time_of(&t), d.fraction);
        z->time_type = type_make(k.zoned ? T_TIMETZ : T_TIME);
        z->time = k.zoned ? timetz_make(micros, z->offset) : micros;
        return ST_OK;
    }
    z->time_type = type_make(k.zoned ? T_TIMESTAMPTZ : T_TIMESTAMP);
    FAIL_IF(!clock_time(&t, &z->time) || __builtin_sub_overflow(z->time, z->offset * USECS_PER_SEC, &z->time) ||
                !ts_in_range(z->time),
            0, ERR_DATETIME_OVERFLOW, "%s out of range", k.zoned ? "timestamptz" : "timestamp");
    z->time = round_to_fraction(z->time, d.fraction);
    return ST_OK;
}
JpResult jsonpath_datetime(const JpRun *run, Slice text, Slice format, bool raise, JpItem *out) {
    DateNode room[64]; /* of most templates */
    Err own;
    DateTemplate t = {.text = str_make(format.ptr, format.len), .strict = true, .nodes = room};
    FuncCtx ctx = {.arena = run->arena, .err = &own, .session = run->session};
    err_clear(&own);
    if (format.len >= ARRAY_LEN(room)) t.nodes = arena_array(run->arena, DateNode, format.len + 1);
    if (!t.nodes) return (void)(err_is_set(run->err) ? ST_ERROR : err_oom(run->err)), JP_FAILED;
    const bool read = read_template(&t, &own) == ST_OK; /* that it is wrong is not suppressed */
    if (read && to_datetime(&ctx, str_make(text.ptr, text.len), &t, out) == ST_OK) return JP_OK;
    if (read && !raise) return JP_ERROR;
    err_copy(run->err, &own);
    return JP_FAILED;
}

static const FuncDef defs[] = {
    DEF("to_char", NF, T_TEXT, 2, ARGS(T_TIMESTAMP, T_TEXT), OP_NONE, to_char_ts, NULL, "by a template"),
    DEF("to_char", NF, T_TEXT, 2, ARGS(T_TIMESTAMPTZ, T_TEXT), OP_NONE, to_char_tz, NULL, "by a template"),
    DEF("to_char", NF, T_TEXT, 2, ARGS(T_INTERVAL, T_TEXT), OP_NONE, to_char_iv, NULL, "by a template"),
    DEF("to_date", SF, T_DATE, 2, ARGS(T_TEXT, T_TEXT), OP_NONE, to_date_text, NULL, "by a template"),
    DEF("to_timestamp", SF, T_TIMESTAMPTZ, 2, ARGS(T_TEXT, T_TEXT), OP_NONE, to_timestamp_text, NULL, "by a template"),
};
const FuncDefs func_defs_format = {defs, ARRAY_LEN(defs)};
