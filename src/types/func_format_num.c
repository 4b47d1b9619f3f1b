/* func_format_num.c - to_char and to_number of numbers: values by template patterns.
 *
 * A template is read into nodes and a summary (digits before and behind the point, where zeros start and end, signs).
 * Output and input then walk the nodes by PostgreSQL's procedure: blanks, signs and brackets are placed beside certain
 * digits rather than where they stand, and reports depend on the exact columns. A call site keeps the nodes of its
 * first template.
 */
#include <math.h>
#include <stdio.h>

#include "types/dec.h"
#include "types/func_format_int.h"
#include "types/range_errors.h"

/* ---- templates ---------------------------------------------------------------------------------- */

typedef enum NumKey {
    NK_9,
    NK_0,
    NK_DEC,
    NK_COMMA,
    NK_G,
    NK_L,
    NK_S,
    NK_MI,
    NK_PL,
    NK_SG,
    NK_PR,
    NK_TH,
    NK_TH_LOW,
    NK_RN,
    NK_RN_LOW,
    NK_V,
    NK_EEEE,
    NK_FM,
    NK_B,
    NK_NOTHING,
    NK_CHAR
} NumKey;
typedef struct NumNode {
    uint8_t key, len; /* len, text: of NK_CHAR */
    const char *text;
} NumNode;
typedef enum SignPlace { SIGN_NONE, SIGN_BEFORE, SIGN_BEHIND } SignPlace; /* of S */
typedef struct NumFormat {
    int pre, post, multi, zero_start, zero_end, pre_sign; /* zero_start: from 1 */
    SignPlace sign;
    bool decimal, fm, zero, plus, minus, bracket, roman, eeee, is_multi, blank;
} NumFormat;
typedef struct NumTemplate {
    Str text;
    int64_t n;
    NumNode *nodes;
    NumFormat format;
} NumTemplate;

static const struct {
    const char *word;
    uint8_t upper, lower;
} num_words[] = {
    /* longer words before their prefixes */
    {",", NK_COMMA, NK_COMMA},
    {".", NK_DEC, NK_DEC},
    {"0", NK_0, NK_0},
    {"9", NK_9, NK_9},
    {"B", NK_B, NK_B},
    {"C", NK_NOTHING, NK_NOTHING},
    {"D", NK_DEC, NK_DEC},
    {"EEEE", NK_EEEE, NK_EEEE},
    {"FM", NK_FM, NK_FM},
    {"G", NK_G, NK_G},
    {"L", NK_L, NK_L},
    {"MI", NK_MI, NK_MI},
    {"PL", NK_PL, NK_PL},
    {"PR", NK_PR, NK_PR},
    {"RN", NK_RN, NK_RN_LOW},
    {"SG", NK_SG, NK_SG},
    {"SP", NK_NOTHING, NK_NOTHING},
    {"S", NK_S, NK_S},
    {"TH", NK_TH, NK_TH_LOW},
    {"V", NK_V, NK_V},
};
/* The word at p, in upper or in lower case; 0: there is none. */
static int64_t word_at(const char *p, const char *end, uint8_t *key) {
    for (int64_t i = 0; i < ARRAY_LEN(num_words); i++) {
        const char *w = num_words[i].word;
        int64_t n = (int64_t)strlen(w), same_upper = 0, same_lower = 0;
        if (end - p < n) continue;
        for (int64_t k = 0; k < n; k++) {
            same_upper += p[k] == w[k];
            same_lower += p[k] == to_lower(w[k]);
        }
        if (same_upper < n && same_lower < n) continue;
        *key = same_upper == n ? num_words[i].upper : num_words[i].lower;
        return n;
    }
    return 0;
}

static const char *add_sign(NumFormat *f, NumKey key) {
    bool others = f->plus || f->minus;
    switch (key) {
    case NK_S:
        if (f->sign) return "cannot use \"S\" twice";
        if (others || f->bracket) return "cannot use \"S\" and \"PL\"/\"MI\"/\"SG\"/\"PR\" together";
        f->sign = f->decimal ? SIGN_BEHIND : SIGN_BEFORE;
        f->pre_sign = f->pre;
        return NULL;
    case NK_PR:
        if (f->sign || others) return "cannot use \"PR\" and \"S\"/\"PL\"/\"MI\"/\"SG\" together";
        f->bracket = true;
        return NULL;
    default:
        if (f->sign)
            return key == NK_MI   ? "cannot use \"S\" and \"MI\" together"
                   : key == NK_PL ? "cannot use \"S\" and \"PL\" together"
                                  : "cannot use \"S\" and \"SG\" together";
        f->minus |= key != NK_PL;
        f->plus |= key != NK_MI;
        return NULL;
    }
}
/* What a word adds to the summary; the error's text, or NULL. */
static const char *add_word(NumFormat *f, NumKey key) {
    if (f->eeee) return key == NK_EEEE ? "cannot use \"EEEE\" twice" : "\"EEEE\" must be the last pattern used";
    switch (key) {
    case NK_9:
        if (f->bracket) return "\"9\" must be ahead of \"PR\"";
        if (f->is_multi) f->multi++;
        else if (f->decimal) f->post++;
        else f->pre++;
        return NULL;
    case NK_0:
        if (f->bracket) return "\"0\" must be ahead of \"PR\"";
        if (!f->zero && !f->decimal) {
            f->zero = true;
            f->zero_start = f->pre + 1;
        }
        if (f->decimal) f->post++;
        else f->pre++;
        f->zero_end = f->pre + f->post;
        return NULL;
    case NK_B: f->blank |= f->pre == 0 && f->post == 0 && !f->zero; return NULL;
    case NK_DEC:
        if (f->decimal) return "multiple decimal points";
        if (f->is_multi) return "cannot use \"V\" and decimal point together";
        f->decimal = true;
        return NULL;
    case NK_FM: f->fm = true; return NULL;
    case NK_RN:
    case NK_RN_LOW: f->roman = true; return NULL;
    case NK_V:
        if (f->decimal) return "cannot use \"V\" and decimal point together";
        f->is_multi = true;
        return NULL;
    case NK_EEEE:
        if (f->blank || f->fm || f->sign || f->bracket || f->minus || f->plus || f->roman || f->is_multi)
            return "\"EEEE\" is incompatible with other formats";
        f->eeee = true;
        return NULL;
    case NK_S:
    case NK_PR:
    case NK_MI:
    case NK_PL:
    case NK_SG: return add_sign(f, key);
    default: return NULL;
    }
}

static void add_char(NumTemplate *t, const char **p, const char *end) {
    int n = 1;
    while (*p + n < end && ((unsigned char)(*p)[n] & 0xc0) == 0x80 && ((unsigned char)**p & 0xc0) == 0xc0) n++;
    t->nodes[t->n++] = (NumNode){.key = NK_CHAR, .len = (uint8_t)n, .text = *p};
    *p += n;
}
static const char *read_template(NumTemplate *t) {
    const char *p = t->text.ptr, *end = p + t->text.len;
    while (p < end) {
        uint8_t key;
        int64_t n = word_at(p, end, &key);
        if (n) {
            const char *wrong = add_word(&t->format, (NumKey)key);
            if (wrong) return wrong;
            t->nodes[t->n++] = (NumNode){.key = key};
            p += n;
        } else if (*p == '"') {
            for (p++; p < end && *p != '"';) {
                if (*p == '\\' && p + 1 < end) p++;
                add_char(t, &p, end);
            }
            if (p < end) p++;
        } else {
            if (*p == '\\' && p + 1 < end && p[1] == '"') p++;
            add_char(t, &p, end);
        }
    }
    return NULL;
}
static NumTemplate *template_of(FuncCtx *ctx, int64_t i, Str f) {
    NumTemplate *t = ctx->state;
    if (t && t->text.len == f.len && memcmp(t->text.ptr, f.ptr, f.len) == 0) return t;
    Arena *a = t ? ctx->arena : ctx->state_arena;
    t = arena_new_of(a, NumTemplate);
    char *text = t ? arena_strndup(a, f.ptr, f.len) : NULL;
    ctx->error_row = i;
    if (!text || !(t->nodes = arena_array(a, NumNode, (int64_t)f.len + 1))) {
        if (!err_is_set(ctx->err)) err_oom(ctx->err);
        return NULL;
    }
    t->text = str_make(text, f.len);
    const char *wrong = read_template(t);
    if (wrong) {
        err_set(ctx->err, ERR_SYNTAX, "%s", wrong);
        if (strstr(wrong, "incompatible"))
            err_detail(ctx->err, "\"EEEE\" may only be used together with digit and decimal point patterns.");
        return NULL;
    }
    if (!ctx->state) ctx->state = t;
    return t;
}

/* ---- output --------------------------------------------------------------------------------------- */

static void put_roman(int64_t v, bool lower, FmtOut *o) {
    static const char *const s[] = {"M", "CM", "D", "CD", "C", "XC", "L", "XL", "X", "IX", "V", "IV", "I"};
    static const int w[] = {1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1};
    if (v < 1 || v > 3999) fmt_text(o, "###############");
    for (int k = 0; v >= 1 && v <= 3999 && k < 13; k++)
        for (; v >= w[k]; v -= w[k])
            for (const char *p = s[k]; *p; p++) fmt_char(o, lower ? to_lower(*p) : *p);
}

/* The number as digits with a point, its sign apart, and where the walk over the template is. */
typedef struct NumOut {
    FmtOut o;
    NumFormat f;
    const char *number, *p; /* all of it; the next digit */
    const char *last;       /* FM: the last digit behind the point that is shown, or the point; NULL: all are */
    int spaces;             /* digits of the template in front of the number's first */
    int count, at;          /* digits of the template */
    char sign;              /* '+', '-', 0: Roman */
    bool signed_, in_number;
    bool no_number; /* TH where no digit is */
    int64_t roman;
} NumOut;

/* " .1", not "0.1" */
static bool hides_zero(const NumOut *x) {
    return !x->f.zero && x->p == x->number && *x->number == '0' && x->f.post != 0;
}
static bool last_is_point(const NumOut *x) { return x->last && *x->last == '.'; }

static void put_sign(NumOut *x) {
    bool here = x->at >= x->spaces || (x->f.zero && x->f.zero_start == x->at);
    if (x->signed_ || !here || (hides_zero(x) && !last_is_point(x))) return;
    if (x->f.sign) {
        if (x->f.sign != SIGN_BEFORE) return;
        fmt_char(&x->o, x->sign == '-' ? '-' : '+');
    } else if (x->f.bracket) {
        fmt_char(&x->o, x->sign == '+' ? ' ' : '<');
    } else if (x->sign == '-') {
        fmt_char(&x->o, '-');
    } else if (!x->f.fm) {
        fmt_char(&x->o, ' ');
    }
    x->signed_ = true;
}
static void put_digit(NumOut *x, NumKey key) {
    x->in_number = false;
    put_sign(x);
    if (x->at < x->spaces && (x->f.zero_start > x->at || !x->f.zero)) {
        if (!x->f.fm) fmt_char(&x->o, ' ');
    } else if (x->at < x->spaces) {
        fmt_char(&x->o, '0');
        x->in_number = true;
    } else {
        if (*x->p == '.') {
            if (!last_is_point(x) || x->f.fm) fmt_char(&x->o, '.');
        } else if (x->last && x->p > x->last && key != NK_0) {
            ; /* a zero that FM leaves out */
        } else if (hides_zero(x)) {
            if (!x->f.fm) fmt_char(&x->o, ' ');
            else if (last_is_point(x)) fmt_char(&x->o, '0');
        } else {
            fmt_char(&x->o, *x->p); /* past the number's end a NUL, which ends the result */
            x->in_number = true;
        }
        if (*x->p) x->p++;
    }
    int end = x->count + (x->spaces ? 1 : 0) + (x->f.decimal ? 1 : 0);
    if (x->last && x->last == x->p) end = x->at;
    if (x->at + 1 == end) {
        if (x->signed_ && x->f.bracket) fmt_char(&x->o, x->sign == '+' ? ' ' : '>');
        else if (x->f.sign == SIGN_BEHIND) fmt_char(&x->o, x->sign == '-' ? '-' : '+');
    }
    x->at++;
}
static void put_ordinal(NumOut *x, bool upper) {
    static const char *const suffix[2][4] = {{"th", "st", "nd", "rd"}, {"TH", "ST", "ND", "RD"}};
    if (x->f.roman || *x->number == '#' || x->sign == '-' || x->f.decimal) return;
    size_t n = strlen(x->number);
    char last = n ? x->number[n - 1] : 0;
    x->no_number |= !is_digit(last);
    bool teen = n > 1 && x->number[n - 2] == '1';
    fmt_text(&x->o, suffix[upper][!teen && last >= '1' && last <= '3' ? last - '0' : 0]);
}
static void put_node(NumOut *x, const NumNode *nd) {
    FmtOut *o = &x->o;
    switch ((NumKey)nd->key) {
    case NK_9:
    case NK_0:
    case NK_DEC:
        if (!x->f.roman) put_digit(x, (NumKey)nd->key);
        break;
    case NK_COMMA:
    case NK_G:
        if (x->in_number) fmt_char(o, ',');
        else if (!x->f.fm) fmt_char(o, ' ');
        break;
    case NK_L: fmt_char(o, ' '); break;
    case NK_RN:
    case NK_RN_LOW: {
        char b[16] = "";
        FmtOut r = {.p = b, .cap = 15};
        put_roman(x->roman, nd->key == NK_RN_LOW, &r);
        for (int64_t k = r.len; !x->f.fm && k < 15; k++) fmt_char(o, ' ');
        for (int64_t k = 0; k < r.len; k++) fmt_char(o, b[k]);
        break;
    }
    case NK_TH:
    case NK_TH_LOW: put_ordinal(x, nd->key == NK_TH); break;
    case NK_MI:
        if (x->sign == '-') fmt_char(o, '-');
        else if (!x->f.fm) fmt_char(o, ' ');
        break;
    case NK_PL:
        if (x->sign == '+') fmt_char(o, '+');
        else if (!x->f.fm) fmt_char(o, ' ');
        break;
    case NK_SG: fmt_char(o, x->sign); break;
    case NK_CHAR:
        for (int k = 0; k < nd->len; k++) fmt_char(o, nd->text[k]);
        break;
    case NK_S:
    case NK_PR:
    case NK_V:
    case NK_EEEE:
    case NK_FM:
    case NK_B:
    case NK_NOTHING: break;
    }
}
/* FM leaves out zeros at the end, except where the template has a 0. */
static const char *last_shown(const NumOut *x) {
    const char *last = strchr(x->number, '.');
    if (!last) return NULL;
    for (const char *q = last + 1; *q; q++)
        if (*q != '0') last = q;
    if (x->f.zero_end <= x->spaces) return last;
    int at = MIN_OF((int)strlen(x->number) - 1, x->f.zero_end - x->spaces);
    return MAX_OF(last, x->number + at);
}
static void num_layout(NumOut *x, const NumTemplate *t) {
    NumFormat *f = &x->f;
    if (f->zero_start) f->zero_start--;
    if (f->roman) *f = (NumFormat){.fm = f->fm, .roman = true};
    if (f->plus || f->minus) {
        x->signed_ = !f->plus || f->minus;
    } else {
        if (x->sign != '-' && f->fm) f->bracket = false;
        x->signed_ = x->sign == '+' && f->fm && !f->sign;
        if (f->sign == SIGN_BEFORE && f->pre == f->pre_sign) f->sign = SIGN_BEHIND;
    }
    x->count = f->post + f->pre - 1;
    if (f->fm && f->decimal) x->last = last_shown(x);
    if (!x->signed_ && x->spaces == 0) x->count++;
    x->p = x->number;
    for (int64_t i = 0; i < t->n; i++) put_node(x, &t->nodes[i]);
    const char *nul = memchr(x->o.p, 0, (size_t)x->o.len);
    if (nul) x->o.len = nul - x->o.p;
}

/* d.ddde+00 of an exact number, rounded half away from zero. */
static void put_scientific(FmtOut *o, int128_t v, int scale, int post) {
    char digits[48], b[16];
    int n = 0;
    uint128_t u = (uint128_t)(v < 0 ? -v : v);
    do digits[n++] = (char)('0' + (int)(u % 10));
    while ((u /= 10) > 0);
    int exponent = v == 0 ? 0 : n - 1 - scale;
    bool zero = v == 0, carried = false;
    for (int k = n - 2 - post; k >= 0 && !zero; k = -1) { /* digits[0 .. k] go */
        bool more = digits[k] >= '5';
        int at = k + 1;
        for (; more && at < n; at++) {
            more = digits[at] == '9';
            digits[at] = more ? '0' : (char)(digits[at] + 1);
        }
        carried = more;
    }
    fmt_char(o, v < 0 ? '-' : ' ');
    if (carried) fmt_char(o, '1'); /* 97 is 10e+01, as PostgreSQL has it */
    for (int k = 0; k <= post; k++) {
        if (k == 1) fmt_char(o, '.');
        fmt_char(o, zero || n - 1 - k < 0 ? '0' : digits[n - 1 - k]);
    }
    snprintf(b, sizeof b, "e%+03d", exponent);
    fmt_text(o, b);
}

/* A number: exact (v, scale), or dec, when that is too long for them, or, when digits is 6 or 15, a float of so many
 * digits. */
typedef struct NumValue {
    const Dec *dec;
    int128_t v;
    int scale, digits;
    double d;
    bool wide; /* bigint: V must not overflow it */
} NumValue;

/* The digits of a float's magnitude, with no more than it has behind the point; f->post is what is left of it. */
static void float_digits(const NumValue *x, NumFormat *f, char *b, int64_t size) {
    double m = x->d;
    for (int k = 0; k < f->multi; k++) m *= 10;
    m = fabs(m);
    if (isnan(m) || isinf(m)) {
        snprintf(b, (size_t)size, "%s", isnan(m) ? "NaN" : "Infinity");
        f->post = 0;
        return;
    }
    int n = snprintf(b, (size_t)size, "%.0f", m);
    if (n >= x->digits) f->post = 0;
    else if (n + f->post > x->digits) f->post = x->digits - n;
    snprintf(b, (size_t)size, "%.*f", f->post, m);
}
/* Those of an exact one, rounded. False when it does not fit. */
static bool exact_digits(const NumValue *x, const NumFormat *f, char *b, bool *zero) {
    int128_t m = x->v < 0 ? -x->v : x->v;
    int s = x->scale - f->multi;
    if (s < 0) {
        if (numeric_rescale(m, 0, -s, &m)) return false;
        s = 0;
    }
    if (s > f->post) {
        if (numeric_rescale(m, s, f->post, &m)) return false;
        s = f->post;
    }
    char digits[48];
    int n = 0, at = 0;
    uint128_t u = (uint128_t)m;
    *zero = m == 0;
    do digits[n++] = (char)('0' + (int)(u % 10)), u /= 10;
    while (u || n <= s);
    while (n > s) b[at++] = digits[--n];
    if (f->post > 0) b[at++] = '.';
    for (int k = 0; k < f->post; k++) b[at++] = n > 0 ? digits[--n] : '0';
    b[at] = 0;
    return true;
}

static Status long_digits(FuncCtx *ctx, const Dec *x, const NumFormat *f, char **b) {
    Dec m = *x, power;
    Str text;
    m.neg = false;
    if (f->multi > NUMERIC_MAX_PRECISION) return err_set(ctx->err, ERR_NUMERIC_RANGE, "value overflows numeric format");
    TRY(dec_from_i128(ctx->arena, pow10_i128[f->multi], 0, &power, ctx->err));
    TRY(dec_mul(ctx->arena, &m, &power, &m, ctx->err));
    TRY(dec_round(ctx->arena, &m, f->post, true, &m, ctx->err));
    TRY(dec_format(ctx->arena, &m, &text, ctx->err));
    char *p = ctx_alloc(ctx, text.len + f->pre + f->post + 8); /* room for what replaces it when it is too long */
    if (!p) return ST_ERROR;
    memcpy(p, text.ptr, (size_t)text.len + 1);
    *b = p;
    return ST_OK;
}

static Status put_eeee(FuncCtx *ctx, int64_t i, const NumValue *x, const NumFormat *f, Str *z) {
    FmtOut o = {.cap = f->pre + f->post + 64};
    if (!(o.p = ctx_alloc(ctx, o.cap))) return FAILED(i);
    if (x->digits && !isfinite(x->d)) {
        fmt_char(&o, ' ');
        for (int k = 1; k < f->pre + f->post + 6; k++) fmt_char(&o, k == f->pre + 1 ? '.' : '#');
    } else if (x->digits) {
        o.len = snprintf(o.p, (size_t)o.cap, "%+.*e", f->post, x->d);
        if (o.p[0] == '+') o.p[0] = ' ';
    } else {
        put_scientific(&o, x->v, x->scale, f->post);
    }
    *z = str_make(o.p, o.len);
    return ST_OK;
}
static Status num_to_char(FuncCtx *ctx, int64_t i, const NumValue *x, Str fmt, Str *z) {
    *z = STR0;
    if (fmt.len == 0) return ST_OK;
    const NumTemplate *t = template_of(ctx, i, fmt);
    if (!t) return FAILED(i);
    NumFormat f = t->format;
    if (f.eeee) return put_eeee(ctx, i, x, &f, z);
    NumOut out = {.o = {.cap = (int64_t)fmt.len * 3 + 64}, .sign = 0};
    int64_t size = 512 + f.pre + f.post + f.multi;
    char *number = ctx_alloc(ctx, size);
    if (!number || !(out.o.p = ctx_alloc(ctx, t->n * 18 + out.o.cap))) return FAILED(i);
    out.o.cap += t->n * 18; /* a Roman number has 15 letters */
    number[0] = 0;
    if (f.roman) {
        double whole = x->digits ? rint(x->d) : 0;
        int128_t v = 0;
        if (!x->digits)
            FAIL_IF(numeric_rescale(x->v, x->scale, 0, &v) || v < INT32_MIN || v > INT32_MAX, i, ERR_NUMERIC_RANGE,
                    "integer out of range");
        FAIL_IF(x->dec && (dec_to_i128(x->dec, 0, &v) || v < INT32_MIN || v > INT32_MAX), i, ERR_NUMERIC_RANGE,
                "integer out of range");
        out.roman = !x->digits ? (int64_t)v : fabs(whole) < 1e9 ? (int64_t)whole : 0;
    } else {
        bool zero = false;
        if (x->digits) {
            float_digits(x, &f, number, size);
        } else if (x->dec) {
            if (long_digits(ctx, x->dec, &f, &number) != ST_OK) return FAILED(i);
        } else
            FAIL_IF(!exact_digits(x, &f, number, &zero), i, ERR_NUMERIC_RANGE,
                    x->wide ? "bigint out of range" : "value overflows numeric format");
        out.sign = x->digits ? (signbit(x->d) && !isnan(x->d) ? '-' : '+') : x->v < 0 && !zero ? '-' : '+';
        f.pre += f.multi;
        char *dot = strchr(number, '.');
        int len = (int)(dot ? dot - number : (int64_t)strlen(number));
        if (len < f.pre) out.spaces = f.pre - len;
        if (len > f.pre) {
            memset(number, '#', (size_t)(f.pre + f.post + 1));
            number[f.pre] = '.';
            number[f.pre + f.post + 1] = 0;
        }
    }
    out.f = f;
    out.number = number;
    num_layout(&out, t);
    FAIL_IF(out.no_number, i, ERR_INVALID_TEXT, "\"%s\" is not a number", number);
    *z = str_make(out.o.p, out.o.len);
    return ST_OK;
}
K2F(to_char_i32, int32_t, Str, Str, STR0, { TRY(num_to_char(ctx, i, &(NumValue){.v = x}, y, &z)); })
K2F(to_char_i64, int64_t, Str, Str, STR0, { TRY(num_to_char(ctx, i, &(NumValue){.v = x, .wide = true}, y, &z)); })
K2F(to_char_f32, float, Str, Str, STR0, { TRY(num_to_char(ctx, i, &(NumValue){.d = (double)x, .digits = 6}, y, &z)); })
K2F(to_char_f64, double, Str, Str, STR0, { TRY(num_to_char(ctx, i, &(NumValue){.d = x, .digits = 15}, y, &z)); })
KNF(to_char_num, Str, STR0, {
    TRY(num_to_char(ctx, i, &(NumValue){.v = num_at(&args[0], i), .scale = args[0].type.scale}, AT(Str, 1, i), &z));
})

/* To 30 significant digits: more than a template can show with an exponent. */
static void significant(const Dec *x, NumValue *v) {
    v->scale = 29 - dec_exponent(x);
    (void)dec_to_i128(x, v->scale, &v->v);
    v->dec = NULL;
}
static Status dec_to_char(FuncCtx *ctx, int64_t i, const Dec *x, Str fmt, Str *z) {
    NumValue v = {.dec = x, .scale = x->scale, .v = x->neg ? -1 : 1};
    int128_t exact;
    if (!dec_is_finite(x)) {
        v = (NumValue){.digits = 15, .d = x->kind == DEC_NAN ? (double)NAN : x->kind == DEC_INF ? HUGE_VAL : -HUGE_VAL};
    } else if (x->scale <= NUMERIC_MAX_PRECISION && !dec_to_i128(x, x->scale, &exact)) {
        v.v = exact;
        v.dec = NULL;
    } else {
        const NumTemplate *t = fmt.len ? template_of(ctx, i, fmt) : NULL;
        if (fmt.len && !t) return FAILED(i);
        if (t && t->format.eeee) significant(x, &v);
    }
    return num_to_char(ctx, i, &v, fmt, z);
}
KNF(to_char_dec, Str, STR0, {
    Dec x;
    if (dec_decode(ctx->arena, AT(Str, 0, i), &x, ctx->err) != ST_OK) return FAILED(i);
    TRY(dec_to_char(ctx, i, &x, AT(Str, 1, i), &z));
})

/* ---- input ---------------------------------------------------------------------------------------- */

typedef struct NumIn {
    NumFormat f;
    const char *p, *end;
    char *number; /* its sign, then digits and a point */
    int64_t n;
    int pre, post; /* digits read */
    bool point;
} NumIn;

static inline bool at_end(const NumIn *x) { return x->p >= x->end; }
/* Passes over up to n characters that cannot belong to a number. */
static void skip_others(NumIn *x, int n) {
    for (; n > 0 && !at_end(x) && !is_digit(*x->p) && !strchr(".,+-", *x->p); n--) {
        x->p++;
        while (!at_end(x) && ((unsigned char)*x->p & 0xc0) == 0x80) x->p++;
    }
}
static void read_sign_before(NumIn *x) {
    bool placed = x->f.sign == SIGN_BEFORE;
    if (*x->p == '-' || (!placed && x->f.bracket && *x->p == '<')) x->number[0] = '-';
    else if (*x->p == '+') x->number[0] = '+';
    else return;
    x->p++;
}
/* Reads what a digit or the point of the template stands for; *x->p is left on its last character. */
static void read_digit(NumIn *x, NumKey key) {
    bool read = false;
    if (at_end(x)) return;
    if (*x->p == ' ') x->p++;
    if (at_end(x)) return;
    if (x->number[0] == ' ' && key != NK_DEC && x->pre + x->post == 0) read_sign_before(x);
    if (at_end(x)) return;
    if (is_digit(*x->p)) {
        if (x->point && x->post == x->f.post) return;
        x->number[x->n++] = *x->p;
        if (x->point) x->post++;
        else x->pre++;
        read = true;
    } else if (x->f.decimal && !x->point && *x->p == '.') {
        x->number[x->n++] = '.';
        x->point = read = true;
    }
    if (x->number[0] != ' ' || x->pre + x->post == 0) return;
    if (x->f.sign && read && x->p + 1 < x->end && !is_digit(x->p[1])) {
        if (x->p[1] != '-' && x->p[1] != '+') return;
        x->number[0] = *++x->p;
    } else if (!read && !x->f.sign && (x->f.plus || x->f.minus) && (*x->p == '-' || *x->p == '+')) {
        x->number[0] = *x->p;
    }
}
static void read_node(NumIn *x, const NumNode *nd) {
    switch ((NumKey)nd->key) {
    case NK_9:
    case NK_0:
    case NK_DEC: read_digit(x, (NumKey)nd->key); break;
    case NK_COMMA:
    case NK_G:
        if (x->f.fm || *x->p != ',') return;
        break;
    case NK_L: skip_others(x, 1); return;
    case NK_TH:
    case NK_TH_LOW:
        if (!x->f.decimal) skip_others(x, 2);
        return;
    case NK_MI:
    case NK_PL:
    case NK_SG:
        if ((*x->p == '-' && nd->key != NK_PL) || (*x->p == '+' && nd->key != NK_MI)) {
            x->number[0] = *x->p;
            break;
        }
        skip_others(x, 1);
        return;
    case NK_CHAR:
        x->p++;
        while (!at_end(x) && ((unsigned char)*x->p & 0xc0) == 0x80) x->p++;
        return;
    case NK_S:
    case NK_PR:
    case NK_V:
    case NK_EEEE:
    case NK_FM:
    case NK_B:
    case NK_NOTHING:
    case NK_RN:
    case NK_RN_LOW: return;
    }
    x->p++;
}
static Status text_to_num(FuncCtx *ctx, int64_t i, Str s, Str fmt, int128_t *v, int *scale) {
    const NumTemplate *t = template_of(ctx, i, fmt);
    if (!t) return FAILED(i);
    FAIL_IF(t->format.eeee, i, ERR_FEATURE_NOT_SUPPORTED, "\"EEEE\" not supported for input");
    FAIL_IF(t->format.roman, i, ERR_FEATURE_NOT_SUPPORTED, "\"RN\" not supported for input");
    NumIn x = {.f = t->format, .p = s.ptr, .end = s.ptr + s.len, .n = 1};
    if (!(x.number = ctx_alloc(ctx, t->n + 3))) return FAILED(i);
    x.number[0] = ' ';
    for (int64_t k = 0; k < t->n && !at_end(&x); k++) read_node(&x, &t->nodes[k]);
    if (x.number[x.n - 1] == '.') x.n--;
    if (numeric_parse((Slice){x.number, x.n}, -1, v, scale, ctx->err) != ST_OK) return FAILED(i);
    int most = x.f.pre + x.f.multi; /* digits before the point */
    int128_t whole = *scale < 38 ? (*v < 0 ? -*v : *v) / pow10_i128[*scale] : 0;
    if (most < 38 && whole >= pow10_i128[most]) {
        (void)numeric_range_error(ctx->err, most + x.post, x.post);
        return FAILED(i);
    }
    for (int k = 0; k < x.f.multi && *scale < 38; k++) ++*scale; /* V: the number is that many digits longer */
    return ST_OK;
}
/* NULL: an empty template. */
KERNEL(to_number_text) {
    KERNEL_UNUSED();
    for (int64_t i = 0; i < n; i++) {
        int128_t v;
        int scale;
        num_zero(out, i);
        out->valid[i] = !arg_null(&args[0], i) && !arg_null(&args[1], i) && AT(Str, 1, i).len > 0;
        if (!out->valid[i]) continue;
        TRY(text_to_num(ctx, i, AT(Str, 0, i), AT(Str, 1, i), &v, &scale));
        if (!num_put(ctx, out, i, v, scale)) return num_overflow(ctx, i);
    }
    return ST_OK;
}

static const FuncDef defs[] = {
    DEF("to_char", SF, T_TEXT, 2, ARGS(T_INT4, T_TEXT), OP_NONE, to_char_i32, NULL, "by a template"),
    DEF("to_char", SF, T_TEXT, 2, ARGS(T_INT8, T_TEXT), OP_NONE, to_char_i64, NULL, "by a template"),
    DEF("to_char", SF, T_TEXT, 2, ARGS(T_NUMERIC, T_TEXT), OP_NONE, to_char_num, NULL, "by a template"),
    DEF("to_char", SF, T_TEXT, 2, ARGS(T_DECIMAL, T_TEXT), OP_NONE, to_char_dec, NULL, "by a template"),
    DEF("to_char", SF, T_TEXT, 2, ARGS(T_FLOAT4, T_TEXT), OP_NONE, to_char_f32, NULL, "by a template"),
    DEF("to_char", SF, T_TEXT, 2, ARGS(T_FLOAT8, T_TEXT), OP_NONE, to_char_f64, NULL, "by a template"),
    DEF("to_number", NF, T_NUMERIC, 2, ARGS(T_TEXT, T_TEXT), OP_NONE, to_number_text, NULL, "by a template"),
};
const FuncDefs func_defs_format_num = {defs, ARRAY_LEN(defs)};
