/* date_format.c - see date_format.h. */
#include "io/date_format.h"

#include <strings.h>

#include "types/zone.h"

typedef struct Parts {
    int64_t year, month, day, yearday, hour, minute, second, micros, zone;
    bool twelve, pm, has_pm, has_zone, has_yearday;
} Parts;
typedef struct Text {
    const char *at, *end;
} Text;

static bool number(Text *t, int max_digits, int min_digits, int64_t *out) {
    int n = 0;
    *out = 0;
    for (; n < max_digits && t->at < t->end && *t->at >= '0' && *t->at <= '9'; n++) *out = *out * 10 + (*t->at++ - '0');
    return n >= min_digits;
}

static const char *const months[] = {"january", "february", "march",     "april",   "may",      "june",
                                     "july",    "august",   "september", "october", "november", "december"};
static const char *const days[] = {"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"};

/* One of n names, whole or its first three letters; -1: none. */
static int name_of(Text *t, const char *const *names, int n) {
    for (int i = 0; i < n; i++) {
        int64_t whole = (int64_t)strlen(names[i]), left = t->end - t->at;
        int64_t len = left >= whole && strncasecmp(t->at, names[i], (size_t)whole) == 0 ? whole
                      : left >= 3 && strncasecmp(t->at, names[i], 3) == 0               ? 3
                                                                                        : 0;
        if (len == 0) continue;
        t->at += len;
        return i;
    }
    return -1;
}

/* .123456: further digits are rounded. */
static bool fraction(Text *t, int64_t *micros) {
    int64_t v = 0;
    int n = 0;
    for (; t->at < t->end && *t->at >= '0' && *t->at <= '9'; t->at++, n++) {
        if (n < 6) v = v * 10 + (*t->at - '0');
        else if (n == 6) v += *t->at >= '5';
    }
    for (int i = n; i < 6; i++) v *= 10;
    *micros = v;
    return n > 0;
}

static bool zone(Text *t, Parts *p) {
    int64_t h, m = 0;
    p->has_zone = true;
    if (t->at < t->end && (*t->at == 'Z' || *t->at == 'z')) {
        t->at++;
        return true;
    }
    if (t->at == t->end || (*t->at != '+' && *t->at != '-')) return false;
    bool minus = *t->at++ == '-';
    if (!number(t, 2, 2, &h)) return false;
    if (t->at < t->end && *t->at == ':') t->at++;
    if (t->at < t->end && !number(t, 2, 2, &m)) return false;
    p->zone = (h * 60 + m) * 60 * (minus ? -1 : 1);
    return h <= 15 && m < 60;
}

static bool field(char c, Text *t, Parts *p) {
    switch (c) {
    case 'Y': return number(t, 4, 4, &p->year);
    case 'y':
        if (!number(t, 2, 2, &p->year)) return false;
        p->year += p->year <= 68 ? 2000 : 1900;
        return true;
    case 'm': return number(t, 2, 1, &p->month);
    case 'b':
    case 'B': return (p->month = name_of(t, months, 12) + 1) > 0;
    case 'a':
    case 'A': return name_of(t, days, 7) >= 0;
    case 'd': return number(t, 2, 1, &p->day);
    case 'j': return (p->has_yearday = true) && number(t, 3, 1, &p->yearday);
    case 'H': return number(t, 2, 1, &p->hour) && p->hour < 24;
    case 'I': return (p->twelve = true) && number(t, 2, 1, &p->hour) && p->hour >= 1 && p->hour <= 12;
    case 'p':
        if (t->end - t->at < 2 || (strncasecmp(t->at, "am", 2) != 0 && strncasecmp(t->at, "pm", 2) != 0)) return false;
        p->has_pm = true;
        p->pm = *t->at == 'p' || *t->at == 'P';
        t->at += 2;
        return true;
    case 'M': return number(t, 2, 2, &p->minute) && p->minute < 60;
    case 'S':
        if (!number(t, 2, 2, &p->second) || p->second >= 60) return false;
        if (t->at + 1 < t->end && *t->at == '.' && t->at[1] >= '0' && t->at[1] <= '9') {
            t->at++;
            return fraction(t, &p->micros);
        }
        return true;
    case 'f': return fraction(t, &p->micros);
    case 'z': return zone(t, p);
    default: return false;
    }
}

static const char *expansion(char c) {
    return c == 'T' ? "%H:%M:%S" : c == 'R' ? "%H:%M" : c == 'F' ? "%Y-%m-%d" : c == 'D' ? "%m/%d/%y" : NULL;
}

/* A format without expansions. */
static bool parse_plain(const char *f, const char *end, Text *t, Parts *p) {
    for (; f < end; f++) {
        if (*f == ' ') {
            while (t->at < t->end && *t->at == ' ') t->at++;
            continue;
        }
        if (*f == '%' && f[1] && f[1] != '%') {
            if (!field(*++f, t, p)) return false;
            continue;
        }
        if (*f == '%') f++;
        if (t->at == t->end || *t->at != *f) return false;
        t->at++;
    }
    return true;
}

static bool parse(const char *f, Text *t, Parts *p) {
    for (;;) {
        const char *at = f;
        while (*at && !(*at == '%' && expansion(at[1]))) at += *at == '%' && at[1] ? 2 : 1;
        if (!parse_plain(f, at, t, p)) return false;
        if (!*at) return true;
        const char *more = expansion(at[1]);
        if (!parse_plain(more, more + strlen(more), t, p)) return false;
        f = at + 2;
    }
}

bool date_format_valid(const char *f, bool *has_date, bool *has_time, bool *has_zone) {
    bool year = false, month = false, day = false, yearday = false;
    *has_time = *has_zone = false;
    for (; *f; f++) {
        if (*f != '%') continue;
        switch (*++f) {
        case 'Y':
        case 'y': year = true; break;
        case 'm':
        case 'b':
        case 'B': month = true; break;
        case 'd': day = true; break;
        case 'j': yearday = true; break;
        case 'F':
        case 'D': year = month = day = true; break;
        case 'H':
        case 'I':
        case 'T':
        case 'R': *has_time = true; break;
        case 'z': *has_zone = true; break;
        case 'p':
        case 'M':
        case 'S':
        case 'f':
        case 'a':
        case 'A':
        case '%': break;
        default: return false;
        }
    }
    *has_date = year && ((month && day) || yearday);
    return *has_date || (*has_time && !year && !month && !day);
}

bool date_format_parse(const char *format, Slice text, const SessionInfo *session, Type type, int32_t *day,
                       int64_t *micros) {
    Text t = {text.ptr, text.ptr + text.len};
    Parts p = {.year = 2000, .month = 1, .day = 1};
    while (t.at < t.end && *t.at == ' ') t.at++;
    while (t.end > t.at && t.end[-1] == ' ') t.end--;
    if (!parse(format, &t, &p) || t.at != t.end) return false;
    if (p.twelve && p.has_pm) p.hour = p.hour % 12 + (p.pm ? 12 : 0);
    if (!date_valid_ymd(p.year, (int)p.month, (int)p.day)) return false;
    *day = date_from_ymd(p.year, (int)p.month, (int)p.day);
    if (p.has_yearday) {
        *day = date_from_ymd(p.year, 1, 1) + (int32_t)p.yearday - 1;
        if (p.yearday < 1 || *day >= date_from_ymd(p.year + 1, 1, 1)) return false;
    }
    *micros = ((p.hour * 60 + p.minute) * 60 + p.second) * USECS_PER_SEC + p.micros;
    if (type.id == T_TIME) return true;
    *micros += *day * USECS_PER_DAY;
    if (type.id == T_TIMESTAMPTZ)
        *micros -=
            (p.has_zone ? p.zone : zone_offset_of_local(session ? session->form.zone : NULL, *micros)) * USECS_PER_SEC;
    return true;
}
