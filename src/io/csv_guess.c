/* csv_guess.c - the type of a column from the texts of a sample: boolean, bigint, numeric, double precision, date,
 * timestamp, timestamptz, time, uuid, else text.
 *
 * What costs nothing is preferred: 007 and +49 30 are texts, since as numbers they would lose characters. Decimals are
 * numeric when all have the same number of digits behind the point, as money has, and double precision else. Of two
 * orders of day and month that fit all values month first is taken, as PostgreSQL's DateStyle has it, but with dots day
 * first, which is the only order in use.
 */
#include "io/csv_int.h"

#include <stdio.h>
#include <strings.h>

#include "io/date_format.h"

enum { IS_BOOL = 1, IS_INT = 2, IS_POINT = 4, IS_COMMA = 8, IS_ISO = 16, IS_DATE = 32, IS_TIME = 64, IS_UUID = 128 };

static const char *const null_words[] = {"NULL", "\\N",  "null", "Null", "NA", "N/A", "n/a", "na",
                                         "#N/A", "None", "none", "nil",  "-",  "--",  "?",   "."};
enum { TEXT_NULLS = 2 /* the first of them also mean NULL in columns of texts */ };

/* All but ISO, in order of preference; times are put behind. */
static const char *const dates[GUESS_DATES] = {"%Y/%m/%d",  "%Y.%m.%d", "%d.%m.%Y", "%d.%m.%y", "%m/%d/%Y", "%d/%m/%Y",
                                               "%m/%d/%y",  "%d/%m/%y", "%m-%d-%Y", "%d-%m-%Y", "%d-%b-%Y", "%d %b %Y",
                                               "%b %d, %Y", "%b %d %Y", "%d-%b-%y", "%Y %b %d"};
static const char *const times[GUESS_TIMES] = {"", " %H:%M:%S", " %H:%M", " %I:%M:%S %p", " %I:%M %p", "T%H:%M:%S"};
static const char *const iso_times[] = {" %H:%M:%S", " %H:%M", "T%H:%M:%S", "T%H:%M"};

void guess_init(Guess *g) {
    *g = (Guess){.can = 0xFF, .scale_min = INT8_MAX};
    for (int i = 0; i < GUESS_TIMES; i++) g->formats[i] = (UINT32_C(1) << GUESS_DATES) - 1;
}

static bool digit(char c) { return c >= '0' && c <= '9'; }
static Slice trimmed(Slice s) {
    while (s.len > 0 && s.ptr[0] == ' ') s.ptr++, s.len--;
    while (s.len > 0 && s.ptr[s.len - 1] == ' ') s.len--;
    return s;
}
static bool word_is(Slice s, const char *word) {
    return s.len == (int64_t)strlen(word) && strncasecmp(s.ptr, word, (size_t)s.len) == 0;
}

typedef struct Number {
    int whole, scale;                 /* digits before and behind the point */
    bool has_point, exponent, beyond; /* beyond: a whole number that is no bigint */
} Number;

/* [-]digits[point digits][e[+-]digits], whole digits perhaps in groups of three; no leading zeros. */
static bool number(Slice s, char point, char group, Number *n) {
    const char *p = s.ptr, *end = s.ptr + s.len;
    *n = (Number){0};
    bool minus = p < end && *p == '-';
    if (minus) p++;
    const char *first = p;
    uint64_t v = 0;
    int run = 0; /* digits since the last separator of groups */
    bool grouped = false, over = false;
    for (; p < end && (digit(*p) || (group && *p == group)); p++) {
        if (!digit(*p)) {
            if (run == 0 || run > 3 || (grouped && run != 3)) return false;
            grouped = true;
            run = 0;
            continue;
        }
        run++;
        n->whole++;
        over |= __builtin_mul_overflow(v, UINT64_C(10), &v) || __builtin_add_overflow(v, (uint64_t)(*p - '0'), &v);
    }
    if (grouped && run != 3) return false;
    if (n->whole > 1 && *first == '0') return false;
    n->beyond = over || v > (uint64_t)INT64_MAX + minus;
    if (p < end && *p == point) {
        n->has_point = true;
        for (p++; p < end && digit(*p); p++) n->scale++;
    }
    if (n->whole + n->scale == 0 || n->whole + n->scale > 100) return false;
    if (p < end && (*p == 'e' || *p == 'E')) {
        n->exponent = true;
        p++;
        if (p < end && (*p == '+' || *p == '-')) p++;
        const char *from = p;
        while (p < end && digit(*p)) p++;
        if (p == from || p - from > 3) return false;
    }
    return p == end;
}

static bool is_float_word(Slice s) {
    return word_is(s, "nan") || word_is(s, "inf") || word_is(s, "-inf") || word_is(s, "infinity") ||
           word_is(s, "-infinity");
}

static void add_number(Guess *g, const GuessRules *r, Slice s) {
    Number n;
    if (!(g->can & (IS_INT | IS_POINT | IS_COMMA))) return;
    bool plain = number(s, '.', 0, &n);
    if (plain && !n.has_point && !n.exponent && !n.beyond) {
        g->whole = (int8_t)MAX_OF((int)g->whole, n.whole);
        return;
    }
    g->can &= (uint8_t)~IS_INT;
    if (r->only_comma && n.has_point) plain = false;
    if (!plain && is_float_word(s)) g->exponent = plain = true;
    if (!plain) g->can &= (uint8_t)~IS_POINT;
    bool comma = !r->no_comma && (number(s, ',', '.', &n) || number(s, ',', 0, &n)) && !n.exponent;
    if (!comma) g->can &= (uint8_t)~IS_COMMA;
    else g->comma |= n.has_point;
    if (!plain && !comma) return;
    if (plain) (void)number(s, '.', 0, &n);
    g->exponent |= n.exponent;
    g->beyond |= n.beyond && !n.has_point;
    g->whole = (int8_t)MAX_OF((int)g->whole, MIN_OF(n.whole, 100));
    if (!n.has_point) return;
    g->point = true;
    g->scale_min = (int8_t)MIN_OF((int)g->scale_min, MIN_OF(n.scale, 100));
    g->scale_max = (int8_t)MAX_OF((int)g->scale_max, MIN_OF(n.scale, 100));
}

static bool fits(const char *date, const char *time, const char *zone, Slice s) {
    char format[40];
    int32_t day;
    int64_t micros;
    snprintf(format, sizeof format, "%s%s%s", date, time, zone);
    return date_format_parse(format, s, NULL, type_make(T_TIMESTAMP), &day, &micros);
}

static void add_iso(Guess *g, Slice s) {
    if (!(g->can & IS_ISO)) return;
    if (s.len >= 10 && digit(s.ptr[0]) && s.ptr[4] == '-' && s.ptr[7] == '-') {
        if (s.len == 10 && fits("%Y-%m-%d", "", "", s)) return;
        for (int i = 0; i < (int)ARRAY_LEN(iso_times); i++)
            for (int z = 0; z < 3; z++) {
                if (!fits("%Y-%m-%d", iso_times[i], z == 0 ? "" : z == 1 ? "%z" : " %z", s)) continue;
                g->iso_time = true;
                g->iso_zone |= z > 0;
                return;
            }
    }
    g->can &= (uint8_t)~IS_ISO;
}

static void add_date(Guess *g, Slice s) {
    if (!(g->can & IS_DATE)) return;
    bool any = false;
    /* A date has digits and something between them: most texts are not tried. */
    int digits = 0;
    for (int64_t i = 0; i < MIN_OF(s.len, INT64_C(40)); i++) digits += digit(s.ptr[i]);
    bool may = s.len >= 6 && s.len <= 40 && digits >= 3;
    for (int t = 0; t < GUESS_TIMES; t++)
        for (int d = 0; d < GUESS_DATES; d++) {
            if (!(g->formats[t] >> d & 1)) continue;
            if (may && fits(dates[d], times[t], "", s)) any = true;
            else g->formats[t] &= ~(UINT32_C(1) << d);
        }
    if (!any) g->can &= (uint8_t)~IS_DATE;
}

static bool is_uuid(Slice s) {
    if (s.len != 36) return false;
    for (int64_t i = 0; i < 36; i++) {
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        char c = s.ptr[i];
        if (dash ? c != '-' : !(digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'))) return false;
    }
    return true;
}

void guess_add(Guess *g, const GuessRules *r, Slice text, bool quoted) {
    Slice s = trimmed(text);
    if (s.len == 0) return;
    for (int i = 0; r->null_words && !quoted && s.len <= 4 && i < (int)ARRAY_LEN(null_words); i++)
        if (slice_eq(s, slice_of(null_words[i]))) {
            g->null_words |= UINT32_C(1) << i;
            return;
        }
    g->values++;
    if (g->can == 0) return;
    if (g->can & IS_BOOL && !(word_is(s, "true") || word_is(s, "false") || word_is(s, "t") || word_is(s, "f")))
        g->can &= (uint8_t)~IS_BOOL;
    add_number(g, r, s);
    add_iso(g, s);
    add_date(g, s);
    if (g->can & IS_TIME &&
        !(s.len >= 4 && digit(s.ptr[0]) && (fits("%H:%M:%S", "", "", s) || fits("%H:%M", "", "", s))))
        g->can &= (uint8_t)~IS_TIME;
    if (g->can & IS_UUID && !is_uuid(s)) g->can &= (uint8_t)~IS_UUID;
}

/* Exact where all have the same few digits behind the point, as money has. Whole numbers beyond bigint are numeric, of
 * which one without a scale has 22 digits before the point. */
static Type number_type(const Guess *g) {
    if (g->exponent) return type_make(T_FLOAT8);
    if (!g->point) return type_make(g->whole <= NUMERIC_MAX_PRECISION - NUMERIC_DEFAULT_SCALE ? T_NUMERIC : T_FLOAT8);
    if (g->scale_min != g->scale_max || g->scale_max > 6 || g->whole > 22) return type_make(T_FLOAT8);
    return type_numeric(g->whole + g->scale_max > 15 ? NUMERIC_MAX_PRECISION : 18, g->scale_max);
}

static bool date_type(const Guess *g, Arena *a, Type *type, const char **format) {
    for (int t = 0; t < GUESS_TIMES; t++)
        for (int d = 0; d < GUESS_DATES; d++) {
            if (!(g->formats[t] >> d & 1)) continue;
            *type = type_make(t ? T_TIMESTAMP : T_DATE);
            return (*format = arena_printf(a, "%s%s", dates[d], times[t])) != NULL;
        }
    return false;
}

Status guess_type(const Guess *g, Arena *a, Type *type, const char **format, bool *comma, int32_t *n_nulls,
                  const Slice **nulls) {
    *type = type_make(T_TEXT);
    *format = NULL;
    *comma = false;
    if (g->values == 0) {
        /* nothing but NULLs */
    } else if (g->can & IS_BOOL) {
        *type = type_make(T_BOOL);
    } else if (g->can & IS_INT) {
        *type = type_make(T_INT8);
    } else if (g->can & IS_POINT && !(g->beyond && g->whole > NUMERIC_MAX_PRECISION - NUMERIC_DEFAULT_SCALE)) {
        *type = number_type(g);
    } else if (g->can & IS_COMMA && g->comma) {
        *type = number_type(g);
        *comma = true;
    } else if (g->can & IS_ISO) {
        *type = type_make(!g->iso_time ? T_DATE : g->iso_zone ? T_TIMESTAMPTZ : T_TIMESTAMP);
    } else if (g->can & IS_DATE) {
        if (!date_type(g, a, type, format)) return ST_ERROR;
    } else if (g->can & IS_TIME) {
        *type = type_make(T_TIME);
    } else if (g->can & IS_UUID) {
        *type = type_make(T_UUID);
    }
    int words = type->id == T_TEXT && g->values > 0 ? TEXT_NULLS : (int)ARRAY_LEN(null_words);
    Slice *v = arena_array(a, Slice, ARRAY_LEN(null_words) + 1);
    if (!v) return ST_ERROR;
    *n_nulls = 0;
    if (type->id != T_TEXT) v[(*n_nulls)++] = (Slice){"", 0};
    for (int i = 0; i < words; i++)
        if (g->null_words >> i & 1) v[(*n_nulls)++] = slice_of(null_words[i]);
    *nulls = v;
    return ST_OK;
}

bool guess_knows(Slice text, char delimiter) {
    Slice s = trimmed(text);
    Number n;
    if (s.len == 0 || number(s, '.', ',', &n) || (delimiter != ',' && number(s, ',', '.', &n))) return true;
    if (s.ptr[0] == '"' || s.ptr[0] == '\'' || s.ptr[s.len - 1] == '"') return false;
    for (int64_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];
        bool in_text = strchr(",;|", c) && i + 1 < s.len && s.ptr[i + 1] == ' '; /* so, as a sentence has them */
        if (c == delimiter || (strchr(",;|\t~^{}", c) && !in_text) || (uint8_t)c < 32) return false;
    }
    return true;
}
