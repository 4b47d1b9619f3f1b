/* func_format_num.c - to_char and to_number of numbers: values by template patterns.
 *
 * Templates follow PostgreSQL's procedure closely (sign placement, blank or omitted leading digits, FM, overflow shown as #), since reports depend on the
 * exact columns.
 */
#include <math.h>
#include <stdio.h>

#include "types/func_format_int.h"

static bool has_prefix(Str f, uint32_t k, const char *word) {
    for (uint32_t j = 0; word[j]; j++)
        if (k + j >= f.len || ascii_upper(f.ptr[k + j]) != word[j]) return false;
    return true;
}
static const char *ordinal(int64_t v, bool upper) {
    static const char *const suffix[2][4] = {{"th", "st", "nd", "rd"}, {"TH", "ST", "ND", "RD"}};
    if (v < 0) v = -v;
    int64_t k = v % 100 >= 11 && v % 100 <= 13 ? 0 : v % 10 > 3 ? 0 : v % 10;
    return suffix[upper][k];
}

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
                    if (nf->lsign == LSIGN_PRE) fmt_char(o, neg ? '-' : '+'), sign_done = true;
                } else if (nf->bracket) {
                    fmt_char(o, neg ? '<' : ' '), sign_done = true;
                } else {
                    if (neg) fmt_char(o, '-');
                    else if (!nf->fm) fmt_char(o, ' ');
                    sign_done = true;
                }
            }
            if (curr < blanks && (zero_start > curr || !nf->zero)) {
                if (!nf->fm) fmt_char(o, ' ');
            } else if (nf->zero && curr < blanks && zero_start <= curr) {
                fmt_char(o, '0');
                in = true;
            } else {
                if (*p == '.') {
                    if (!last || *last != '.' || nf->fm) fmt_char(o, '.');
                } else if (last && p > last && key != NK_0) {
                    /* trailing zeros that FM drops */
                } else if (PREDEC) {
                    if (!nf->fm) fmt_char(o, ' ');
                    else if (last && *last == '.') fmt_char(o, '0');
                } else if (*p) {
                    fmt_char(o, *p);
                    in = true;
                }
                if (*p) p++;
            }
#undef PREDEC
            int end = count + (blanks ? 1 : 0) + (nf->decimal ? 1 : 0);
            if (last && last == p) end = curr;
            if (curr + 1 == end) {
                if (sign_done && nf->bracket) fmt_char(o, neg ? '>' : ' ');
                else if (nf->lsign == LSIGN_POST) fmt_char(o, neg ? '-' : '+');
            }
            curr++;
            break;
        }
        case NK_COMMA: case NK_G:
            if (in) fmt_char(o, ',');
            else if (!nf->fm) fmt_char(o, ' ');
            break;
        case NK_L: fmt_char(o, ' '); break;
        case NK_MI:
            if (neg) fmt_char(o, '-');
            else if (!nf->fm) fmt_char(o, ' ');
            break;
        case NK_PL:
            if (!neg) fmt_char(o, '+');
            else if (!nf->fm) fmt_char(o, ' ');
            break;
        case NK_SG: fmt_char(o, neg ? '-' : '+'); break;
        case NK_TH: case NK_TH_LOW:
            if (!nf->roman && *num != '#' && !neg && !nf->decimal) fmt_text(o, ordinal(whole, key == NK_TH));
            break;
        case NK_LIT:
            if (lit) fmt_char(o, lit);
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
        for (size_t k = len; !nf.fm && k < 15; k++) fmt_char(&o, ' ');
        for (size_t k = 0; k < len; k++) fmt_char(&o, lower ? ascii_lower(b[k]) : b[k]);
        *z = str_make(o.p, o.len);
        return ST_OK;
    }
    char num[512];
    if (nf.eeee) {
        double e = is_f64 ? d : numeric_to_f64(v, scale);
        if (!isfinite(e)) {
            fmt_char(&o, ' ');
            for (int k = 0; k < nf.pre + nf.post + 6; k++) fmt_char(&o, '#');
        } else {
            snprintf(num, sizeof num, "%+.*e", MIN_OF(nf.post, 38), e);
            if (num[0] == '+') num[0] = ' ';
            fmt_text(&o, num);
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
                if (HAVE && is_digit(s.ptr[at])) num[len++] = s.ptr[at++];
                else if (HAVE && s.ptr[at] == '.' && !point) {
                    point = true;
                    num[len++] = s.ptr[at++];
                    if (HAVE && is_digit(s.ptr[at])) num[len++] = s.ptr[at++];
                }
                break;
            case NK_DEC:
                if (s.ptr[at] == '.' && !point) num[len++] = '.', point = true, at++;
                break;
            case NK_COMMA: case NK_G:
                if (s.ptr[at] == ',') at++;
                break;
            case NK_TH: case NK_TH_LOW: at += 2; break;
            case NK_L: if (!is_digit(s.ptr[at])) at++; break;
            case NK_LIT: if (lit) at++; break;
            default: break;
            }
        }
        if (HAVE && s.ptr[at] == '-') num[0] = '-';
#undef HAVE
        bool digits = false;
        for (int k = 1; k < len; k++) digits |= is_digit(num[k]);
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
    DEF("to_char", SF, T_TEXT, 2, ARGS(T_INT4, T_TEXT), OP_NONE, to_char_i32, NULL, "by a template"),
    DEF("to_char", SF, T_TEXT, 2, ARGS(T_INT8, T_TEXT), OP_NONE, to_char_i64, NULL, "by a template"),
    DEF("to_char", SF, T_TEXT, 2, ARGS(T_NUMERIC, T_TEXT), OP_NONE, to_char_num, NULL, "by a template"),
    DEF("to_char", SF, T_TEXT, 2, ARGS(T_FLOAT4, T_TEXT), OP_NONE, to_char_f32, NULL, "by a template"),
    DEF("to_char", SF, T_TEXT, 2, ARGS(T_FLOAT8, T_TEXT), OP_NONE, to_char_f64, NULL, "by a template"),
    DEF("to_number", SF, T_NUMERIC, 2, ARGS(T_TEXT, T_TEXT), OP_NONE, to_number_text, NULL, "by a template"),
};
const FuncDefs func_defs_format_num = {defs, ARRAY_LEN(defs)};
