/* func_money.c - money: its text, and what is computed of it.
 *
 * Products are those of doubles where one of the factors is, quotients by integers are cut, and what does not fit is
 * 22003.
 */
#include <math.h>
#include <stdio.h>

#include "types/chars.h"
#include "types/dec.h"
#include "types/func_int.h"
#include "types/money.h"
#include "types/type_int.h"

/* ---- text ---------------------------------------------------------------------------------------------- */

int64_t money_format(int64_t cell, char *out) {
    char digits[24];
    uint64_t v = cell < 0 ? 0 - (uint64_t)cell : (uint64_t)cell;
    const int n = snprintf(digits, sizeof digits, "%03llu", (unsigned long long)v), whole = n - MONEY_SCALE;
    int64_t at = 0;
    if (cell < 0) out[at++] = '-';
    out[at++] = '$';
    for (int i = 0; i < whole; i++) {
        if (i > 0 && (whole - i) % 3 == 0) out[at++] = ',';
        out[at++] = digits[i];
    }
    out[at++] = '.';
    out[at++] = digits[whole];
    out[at++] = digits[whole + 1];
    return at;
}

typedef struct MoneyText {
    const char *p, *end;
    bool negative;
} MoneyText;
static bool take(MoneyText *t, char c) { return t->p < t->end && *t->p == c && ++t->p; }
static void skip_blanks(MoneyText *t) {
    while (t->p < t->end && is_blank(*t->p)) t->p++;
}
/* What stands behind the digits. */
static bool is_rest(MoneyText *t) {
    while (t->p < t->end && is_digit(*t->p)) t->p++;
    while (t->p < t->end) {
        if (take(t, '-')) t->negative = true;
        else if (!is_blank(*t->p) && !strchr(")+$", *t->p)) return false;
        else t->p++;
    }
    return true;
}
/* The amount without its sign, as a negative number. false: there are too many digits. */
static bool take_amount(MoneyText *t, int64_t *out) {
    int decimals = 0;
    bool dot = false;
    int64_t v = 0;
    for (; t->p < t->end; t->p++) {
        if (is_digit(*t->p) && decimals < MONEY_SCALE) {
            if (__builtin_mul_overflow(v, 10, &v) || __builtin_sub_overflow(v, *t->p - '0', &v)) return false;
            decimals += dot;
        } else if (*t->p == '.' && !dot) {
            dot = true;
        } else if (*t->p != ',') {
            break;
        }
    }
    if (t->p < t->end && is_digit(*t->p) && *t->p >= '5' && __builtin_sub_overflow(v, 1, &v)) return false;
    for (; decimals < MONEY_SCALE; decimals++)
        if (__builtin_mul_overflow(v, 10, &v)) return false;
    *out = v;
    return true;
}
Status money_parse(Slice text, int64_t *cell, Err *e) {
    MoneyText t = {text.ptr, text.ptr + text.len, false};
    const int shown = (int)MIN_OF(text.len, 512);
    int64_t v;
    skip_blanks(&t);
    (void)take(&t, '$');
    if (take(&t, '-') || take(&t, '(')) t.negative = true;
    else (void)take(&t, '+');
    skip_blanks(&t);
    (void)take(&t, '$');
    bool fits = take_amount(&t, &v);
    if (fits && !is_rest(&t))
        return err_set(e, ERR_INVALID_TEXT, "invalid input syntax for type money: \"%.*s\"", shown, text.ptr);
    fits = fits && (t.negative || v != INT64_MIN);
    if (!fits) return err_set(e, ERR_NUMERIC_RANGE, "value \"%.*s\" is out of range for type money", shown, text.ptr);
    *cell = t.negative ? v : -v;
    return ST_OK;
}

/* ---- functions ----------------------------------------------------------------------------------------- */

static const char out_of_range[] = "money out of range";
#define MONEY_INT(fn, op)                 \
    K2F(fn, int64_t, int64_t, int64_t, 0, \
        { FAIL_IF(__builtin_##op##_overflow(x, y, &z), i, ERR_NUMERIC_RANGE, out_of_range); })
MONEY_INT(money_plus, add)
MONEY_INT(money_minus, sub)
MONEY_INT(money_times_i64, mul) /* either way round */
static bool fits_money(double d) { return d >= -9223372036854775808.0 && d < 9223372036854775808.0; } /* not NaN */
K2F(money_times_f64, int64_t, double, int64_t, 0, {
    const double d = rint((double)x * y);
    FAIL_IF(!fits_money(d), i, ERR_NUMERIC_RANGE, out_of_range);
    z = (int64_t)d;
})
K2F(f64_times_money, double, int64_t, int64_t, 0, {
    const double d = rint(x * (double)y);
    FAIL_IF(!fits_money(d), i, ERR_NUMERIC_RANGE, out_of_range);
    z = (int64_t)d;
})
K2F(money_by_i64, int64_t, int64_t, int64_t, 0, {
    FAIL_IF(y == 0, i, ERR_DIVISION_BY_ZERO, "division by zero");
    z = y == -1 ? (int64_t)(0 - (uint64_t)x) : x / y;
})
K2F(money_by_f64, int64_t, double, int64_t, 0, {
    FAIL_IF(y == 0, i, ERR_DIVISION_BY_ZERO, "division by zero");
    const double d = rint((double)x / y);
    FAIL_IF(!fits_money(d), i, ERR_NUMERIC_RANGE, out_of_range);
    z = (int64_t)d;
})
K2F(money_by_money, int64_t, int64_t, double, 0, {
    FAIL_IF(y == 0, i, ERR_DIVISION_BY_ZERO, "division by zero");
    z = (double)x / (double)y;
})
K1(money_cents, int64_t, int64_t, x)
/* Of hundredths, as their sum is. */
KNF(money_of_cents, int64_t, 0, {
    Dec d;
    int128_t v;
    if (func_dec_arg(ctx, &args[0], i, &d) != ST_OK) return FAILED(i);
    FAIL_IF(dec_to_i128(&d, 0, &v) || v > INT64_MAX || v < INT64_MIN, i, ERR_NUMERIC_RANGE, out_of_range);
    z = (int64_t)(uint64_t)v;
})

/* ---- words ---- */

static const char small[][12] = {"zero",     "one",     "two",     "three",     "four",     "five",     "six",
                                 "seven",    "eight",   "nine",    "ten",       "eleven",   "twelve",   "thirteen",
                                 "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty",
                                 "thirty",   "forty",   "fifty",   "sixty",     "seventy",  "eighty",   "ninety"};
enum { WORDS_MAX = 64 };
/* A number below 1000, worded as PostgreSQL does. */
static void put_words(int v, char out[WORDS_MAX]) {
    const int rest = v % 100;
    if (v <= 20) snprintf(out, WORDS_MAX, "%s", small[v]);
    else if (rest == 0) snprintf(out, WORDS_MAX, "%s hundred", small[v / 100]);
    else if (v > 99 && v % 10 == 0 && rest > 10)
        snprintf(out, WORDS_MAX, "%s hundred %s", small[v / 100], small[18 + rest / 10]);
    else if (v > 99 && rest < 20) snprintf(out, WORDS_MAX, "%s hundred and %s", small[v / 100], small[rest]);
    else if (v > 99)
        snprintf(out, WORDS_MAX, "%s hundred %s %s", small[v / 100], small[18 + rest / 10], small[rest % 10]);
    else if (v % 10 == 0) snprintf(out, WORDS_MAX, "%s", small[18 + rest / 10]);
    else snprintf(out, WORDS_MAX, "%s %s", small[18 + rest / 10], small[rest % 10]);
}
KNF(cash_words, Str, STR0, {
    static const struct {
        uint64_t unit;
        char name[16];
    } units[] = {{UINT64_C(100000000000000000), " quadrillion "},
                 {UINT64_C(100000000000000), " trillion "},
                 {UINT64_C(100000000000), " billion "},
                 {UINT64_C(100000000), " million "},
                 {100000, " thousand "},
                 {100, ""}};
    const int64_t x = AT(int64_t, 0, i);
    const uint64_t v = x < 0 ? 0 - (uint64_t)x : (uint64_t)x;
    char text[512];
    char words[WORDS_MAX];
    int at = snprintf(text, sizeof text, "%s", x < 0 ? "minus " : "");
    for (int k = 0; k < (int)ARRAY_LEN(units); k++) {
        const int part = (int)(v / units[k].unit % 1000);
        if (part == 0) continue;
        put_words(part, words);
        at += snprintf(text + at, sizeof text - (size_t)at, "%s%s", words, units[k].name);
    }
    if (v / 100 == 0) at += snprintf(text + at, sizeof text - (size_t)at, "zero");
    put_words((int)(v % 100), words);
    at += snprintf(text + at, sizeof text - (size_t)at, "%s%s%s", v / 100 == 1 ? " dollar and " : " dollars and ",
                   words, v % 100 == 1 ? " cent" : " cents");
    text[0] = (char)(text[0] - 32);
    if (!ctx_str(ctx, text, at, &z)) return FAILED(i);
})

/* ---- casts --------------------------------------------------------------------------------------------- */

Status func_number_to_money(FuncCtx *ctx, int64_t n, const Vec *args, int nargs, Vec *out) {
    KERNEL_UNUSED();
    int64_t *r = out->data;
    for (int64_t i = 0; i < n; i++) {
        int128_t v = 0;
        r[i] = 0;
        if (!row_valid(out, i)) continue;
        const TypeId from = (TypeId)args[0].type.id;
        if (from == T_NUMERIC || from == T_DECIMAL) {
            Dec d;
            if (func_dec_arg(ctx, &args[0], i, &d) != ST_OK) return FAILED(i);
            FAIL_IF(d.kind == DEC_NAN, i, ERR_FEATURE_NOT_SUPPORTED, "cannot convert NaN to bigint");
            FAIL_IF(!dec_is_finite(&d), i, ERR_FEATURE_NOT_SUPPORTED, "cannot convert infinity to bigint");
            FAIL_IF(dec_to_i128(&d, MONEY_SCALE, &v), i, ERR_NUMERIC_RANGE, "bigint out of range");
        } else {
            v = (int128_t)(from == T_INT4 ? AT(int32_t, 0, i) : AT(int64_t, 0, i)) * 100;
        }
        FAIL_IF(v > INT64_MAX || v < INT64_MIN, i, ERR_NUMERIC_RANGE, "bigint out of range");
        r[i] = (int64_t)v;
    }
    return ST_OK;
}

/* ---- table --------------------------------------------------------------------------------------------- */

#define OP(nm, fl, rt, fn, dc, ...) DEF(nm, FN_OPERATOR | (fl), rt, 2, ARGS(__VA_ARGS__), OP_NONE, fn, NULL, dc)

static const FuncDef defs[] = {
    OP("+", SF, T_MONEY, money_plus, "sum", T_MONEY, T_MONEY),
    OP("-", SF, T_MONEY, money_minus, "difference", T_MONEY, T_MONEY),
    OP("*", SF, T_MONEY, money_times_i64, "product", T_MONEY, T_INT8),
    OP("*", SF, T_MONEY, money_times_f64, "product", T_MONEY, T_FLOAT8),
    OP("*", SF, T_MONEY, money_times_i64, "product", T_INT8, T_MONEY),
    OP("*", SF, T_MONEY, f64_times_money, "product", T_FLOAT8, T_MONEY),
    OP("/", SF, T_MONEY, money_by_i64, "quotient", T_MONEY, T_INT8),
    OP("/", SF, T_MONEY, money_by_f64, "quotient", T_MONEY, T_FLOAT8),
    OP("/", SF, T_FLOAT8, money_by_money, "quotient", T_MONEY, T_MONEY),
    DEF("cash_words", S_, T_TEXT, 1, ARGS(T_MONEY), OP_NONE, cash_words, NULL, "an amount in words"),
    DEF("money_cents", S_, T_INT8, 1, ARGS(T_MONEY), OP_NONE, money_cents, NULL, "internal: hundredths of an amount"),
    DEF("money_of_cents", SF | FN_ANY_NUMERIC_SCALE, T_MONEY, 1, ARGS(T_NUMERIC), OP_NONE, money_of_cents, NULL,
        "internal: an amount of hundredths"),
};
const FuncDefs func_defs_money = {defs, ARRAY_LEN(defs)};
