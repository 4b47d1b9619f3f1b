/* func_regex.c - regular expressions: ~, regexp_replace and friends, SIMILAR TO; PCRE2 with its JIT.
 *
 * PostgreSQL's advanced regular expressions are Perl-like; what differs in spelling is translated
 * (\m \M \y \Y word boundaries, \Z end of string). What differs in meaning: among alternatives
 * PostgreSQL prefers the longest match, PCRE2 the first that matches.
 *
 * A call site keeps one compiled expression in ctx->state (state_arena) and recompiles when
 * pattern or flags change, so a constant pattern is compiled once per worker. PCRE2's own memory is released by a
 * callback of state_arena. Backtracking is bounded: a pattern that explodes fails the statement.
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdio.h>

#include "types/func_int.h"

typedef struct Regex {
    pcre2_code *code;
    pcre2_match_data *match;
    pcre2_match_context *limits;
    pcre2_jit_stack *stack;
    char *pattern; /* pattern, then flags */
    uint32_t pattern_len, pattern_cap;
    uint32_t options;
    int groups;
} Regex;

static void regex_release(void *arg) {
    Regex *r = arg;
    pcre2_code_free(r->code);
    pcre2_match_data_free(r->match);
    pcre2_match_context_free(r->limits);
    pcre2_jit_stack_free(r->stack);
}

/* PostgreSQL's spelling to Perl's; `o` has room for 12 bytes per input byte. */
static int64_t translate_pattern(Str p, char *o) {
    int64_t n = 0;
    bool bracket = false;
#define EMIT(s) (memcpy(o + n, s, sizeof(s) - 1), n += (int64_t)sizeof(s) - 1)
    for (uint32_t k = 0; k < p.len; k++) {
        char c = p.ptr[k];
        if (c == '\\' && k + 1 < p.len) {
            char d = p.ptr[++k];
            if (!bracket && d == 'y') EMIT("\\b");
            else if (!bracket && d == 'Y') EMIT("\\B");
            else if (!bracket && d == 'm') EMIT("\\b(?=\\w)");
            else if (!bracket && d == 'M') EMIT("\\b(?<=\\w)");
            else if (!bracket && d == 'Z') EMIT("\\z");
            else o[n++] = c, o[n++] = d;
            continue;
        }
        if (bracket && c == '[' && k + 1 < p.len &&
            (p.ptr[k + 1] == ':' || p.ptr[k + 1] == '.' || p.ptr[k + 1] == '=')) {
            /* [:class:] inside brackets, copied whole */
            char kind = p.ptr[k + 1];
            uint32_t e = k + 2;
            while (e + 1 < p.len && !(p.ptr[e] == kind && p.ptr[e + 1] == ']')) e++;
            if (e + 1 < p.len) {
                memcpy(o + n, p.ptr + k, e + 2 - k);
                n += e + 2 - k;
                k = e + 1;
                continue;
            }
        }
        if (!bracket && c == '[') {
            bracket = true;
            o[n++] = c;
            if (k + 1 < p.len && p.ptr[k + 1] == '^') o[n++] = p.ptr[++k];
            if (k + 1 < p.len && p.ptr[k + 1] == ']') EMIT("\\]"), k++;
            continue;
        }
        if (bracket && c == '[') {
            EMIT("\\[");
            continue;
        }
        if (bracket && c == ']') bracket = false;
        o[n++] = c;
    }
#undef EMIT
    return n;
}

static Status regex_flags(FuncCtx *ctx, int64_t i, Str flags, uint32_t *opt, bool *global) {
    for (uint32_t k = 0; k < flags.len; k++) {
        switch (flags.ptr[k]) {
        case 'g':
            FAIL_IF(!global, i, ERR_INVALID_PARAMETER, "regular expression does not support the \"global\" option");
            *global = true;
            break;
        case 'i': *opt |= PCRE2_CASELESS; break;
        case 'c': *opt &= ~PCRE2_CASELESS; break;
        case 'x': *opt |= PCRE2_EXTENDED; break;
        case 't': *opt &= ~PCRE2_EXTENDED; break;
        case 's': *opt = (*opt | PCRE2_DOTALL) & ~PCRE2_MULTILINE; break;
        case 'm':
        case 'n': *opt = (*opt & ~PCRE2_DOTALL) | PCRE2_MULTILINE; break;
        case 'p': *opt &= ~(PCRE2_DOTALL | PCRE2_MULTILINE); break;
        case 'w': *opt |= PCRE2_DOTALL | PCRE2_MULTILINE; break;
        case 'q': *opt |= PCRE2_LITERAL; break;
        case 'e':
        case 'b': break;
        default:
            FAIL(i, ERR_INVALID_PARAMETER, "invalid regular expression option: \"%.*s\"",
                 (int)utf8_prefix_bytes(flags.ptr + k, flags.len - k, 1), flags.ptr + k);
        }
    }
    return ST_OK;
}

static Regex *regex_state(FuncCtx *ctx) {
    Regex *r = ctx->state;
    if (r) return r;
    r = arena_new_of(ctx->state_arena, Regex);
    if (!r) goto oom;
    r->limits = pcre2_match_context_create(NULL);
    r->stack = pcre2_jit_stack_create(32 * 1024, 4 * 1024 * 1024, NULL);
    if (!r->limits || !r->stack || arena_on_release(ctx->state_arena, regex_release, r) != ST_OK) {
        regex_release(r);
        goto oom;
    }
    pcre2_set_match_limit(r->limits, 20000000);
    pcre2_set_heap_limit(r->limits, 64 * 1024);
    pcre2_jit_stack_assign(r->limits, NULL, r->stack);
    ctx->state = r;
    return r;
oom:
    if (!err_is_set(ctx->err)) err_oom(ctx->err);
    return NULL;
}

/* The expression for `pattern`, compiled if it is not the last one used here. */
static Regex *regex_get(FuncCtx *ctx, int64_t i, Str pattern, uint32_t opt) {
    ctx->error_row = i;
    Regex *r = regex_state(ctx);
    if (!r) return NULL;
    if (r->code && r->options == opt && r->pattern_len == pattern.len &&
        (pattern.len == 0 || memcmp(r->pattern, pattern.ptr, pattern.len) == 0))
        return r;
    if (r->pattern_cap < pattern.len || !r->pattern) {
        uint32_t cap = MAX_OF(64u, pattern.len);
        char *p = arena_alloc(ctx->state_arena, cap);
        if (!p) {
            if (!err_is_set(ctx->err)) err_oom(ctx->err);
            return NULL;
        }
        r->pattern = p;
        r->pattern_cap = cap;
    }
    char *text = ctx_alloc(ctx, 12 * (int64_t)pattern.len + 1);
    if (!text) return NULL;
    int64_t len = pattern.len;
    if (opt & PCRE2_LITERAL) memcpy(text, pattern.ptr, pattern.len);
    else len = translate_pattern(pattern, text);
    pcre2_code_free(r->code);
    pcre2_match_data_free(r->match);
    r->code = NULL;
    r->match = NULL;
    int code;
    PCRE2_SIZE at;
    uint32_t all =
        PCRE2_UTF | PCRE2_NO_UTF_CHECK |
        (opt & PCRE2_LITERAL ? opt & (PCRE2_LITERAL | PCRE2_CASELESS) : opt | PCRE2_DOLLAR_ENDONLY | PCRE2_UCP);
    r->code = pcre2_compile((PCRE2_SPTR)text, (PCRE2_SIZE)len, all, &code, &at, NULL);
    if (!r->code) {
        unsigned char msg[200];
        pcre2_get_error_message(code, msg, sizeof msg);
        err_set(ctx->err, ERR_INVALID_REGEX, "invalid regular expression: %s", (const char *)msg);
        return NULL;
    }
    (void)pcre2_jit_compile(r->code, PCRE2_JIT_COMPLETE); /* without JIT the interpreter does it */
    r->match = pcre2_match_data_create_from_pattern(r->code, NULL);
    if (!r->match) {
        err_oom(ctx->err);
        return NULL;
    }
    uint32_t groups = 0;
    pcre2_pattern_info(r->code, PCRE2_INFO_CAPTURECOUNT, &groups);
    r->groups = (int)groups;
    if (pattern.len) memcpy(r->pattern, pattern.ptr, pattern.len);
    r->pattern_len = pattern.len;
    r->options = opt;
    return r;
}

/* 1 match, 0 none, -1 error. */
static int regex_match(FuncCtx *ctx, int64_t i, Regex *r, Str s, int64_t from) {
    int rc = pcre2_match(r->code, (PCRE2_SPTR)(s.ptr ? s.ptr : ""), s.len, (PCRE2_SIZE)from, PCRE2_NO_UTF_CHECK,
                         r->match, r->limits);
    if (rc >= 0) return 1;
    if (rc == PCRE2_ERROR_NOMATCH) return 0;
    unsigned char msg[200];
    pcre2_get_error_message(rc, msg, sizeof msg);
    ctx->error_row = i;
    err_set(ctx->err, ERR_INVALID_REGEX, "regular expression failed: %s", (const char *)msg);
    return -1;
}

/* Where to look for the next match after [a, b). */
static int64_t next_start(Str s, int64_t a, int64_t b) {
    if (b > a) return b;
    return b >= s.len ? (int64_t)s.len + 1 : b + utf8_prefix_bytes(s.ptr + b, s.len - b, 1);
}

static Status match_op(FuncCtx *ctx, int64_t n, const Vec *args, int nargs, Vec *out, uint32_t opt, bool negate) {
    uint8_t *r = out->data;
    for (int64_t i = 0; i < n; i++) {
        r[i] = 0;
        if (!row_valid(out, i)) continue;
        uint32_t o = opt;
        if (nargs > 2) TRY(regex_flags(ctx, i, AT(Str, 2, i), &o, NULL));
        Regex *re = regex_get(ctx, i, AT(Str, 1, i), o);
        if (!re) return ST_ERROR;
        int m = regex_match(ctx, i, re, AT(Str, 0, i), 0);
        if (m < 0) return ST_ERROR;
        r[i] = (m > 0) != negate;
    }
    return ST_OK;
}
KERNEL(regex_op) { return match_op(ctx, n, args, nargs, out, PCRE2_DOTALL, false); }
KERNEL(not_regex_op) { return match_op(ctx, n, args, nargs, out, PCRE2_DOTALL, true); }
KERNEL(iregex_op) { return match_op(ctx, n, args, nargs, out, PCRE2_DOTALL | PCRE2_CASELESS, false); }
KERNEL(not_iregex_op) { return match_op(ctx, n, args, nargs, out, PCRE2_DOTALL | PCRE2_CASELESS, true); }

/* Bytes before the start-th character; from 1. */
static Status start_bytes(FuncCtx *ctx, int64_t i, Str s, int32_t start, int64_t *from) {
    FAIL_IF(start <= 0, i, ERR_INVALID_PARAMETER, "invalid value for parameter \"%s\": %d", "start", start);
    int64_t k = start - 1;
    *from = k == 0 ? 0 : utf8_prefix_bytes(s.ptr, s.len, k);
    if (k > 0 && utf8_length(s.ptr, *from) < k) *from = (int64_t)s.len + 1;
    return ST_OK;
}

/* Group `g` of the nth match; *found false when there is none. */
static Status nth_match(FuncCtx *ctx, int64_t i, Regex *re, Str s, int64_t from, int32_t nth, int g, Str *z,
                        bool *found) {
    *found = false;
    while (from <= s.len) {
        int m = regex_match(ctx, i, re, s, from);
        if (m < 0) return ST_ERROR;
        if (m == 0) return ST_OK;
        const PCRE2_SIZE *v = pcre2_get_ovector_pointer(re->match);
        if (--nth == 0) {
            if (g > re->groups || v[2 * g] == PCRE2_UNSET) return ST_OK;
            *z = str_make(s.ptr + v[2 * g], (int64_t)(v[2 * g + 1] - v[2 * g]));
            *found = true;
            return ST_OK;
        }
        from = next_start(s, (int64_t)v[0], (int64_t)v[1]);
    }
    return ST_OK;
}

Status func_substring_regex(FuncCtx *ctx, int64_t n, const Vec *args, int nargs, Vec *out) {
    (void)nargs;
    Str *r = out->data;
    for (int64_t i = 0; i < n; i++) {
        r[i] = STR0;
        out->valid[i] = 0;
        if (arg_null(&args[0], i) || arg_null(&args[1], i)) continue;
        Regex *re = regex_get(ctx, i, AT(Str, 1, i), PCRE2_DOTALL);
        if (!re) return ST_ERROR;
        bool found;
        TRY(nth_match(ctx, i, re, AT(Str, 0, i), 0, 1, re->groups > 0, &r[i], &found));
        out->valid[i] = found;
    }
    return ST_OK;
}

KERNEL(regexp_substr_any) {
    Str *r = out->data;
    for (int64_t i = 0; i < n; i++) {
        r[i] = STR0;
        out->valid[i] = 0;
        bool null = false;
        for (int k = 0; k < nargs; k++) null |= arg_null(&args[k], i);
        if (null) continue;
        Str s = AT(Str, 0, i);
        int64_t from = 0;
        int32_t nth = nargs > 3 ? AT(int32_t, 3, i) : 1, sub = nargs > 5 ? AT(int32_t, 5, i) : 0;
        uint32_t opt = PCRE2_DOTALL;
        if (nargs > 2) TRY(start_bytes(ctx, i, s, AT(int32_t, 2, i), &from));
        FAIL_IF(nth <= 0, i, ERR_INVALID_PARAMETER, "invalid value for parameter \"%s\": %d", "n", nth);
        FAIL_IF(sub < 0, i, ERR_INVALID_PARAMETER, "invalid value for parameter \"%s\": %d", "subexpr", sub);
        if (nargs > 4) TRY(regex_flags(ctx, i, AT(Str, 4, i), &opt, NULL));
        Regex *re = regex_get(ctx, i, AT(Str, 1, i), opt);
        if (!re) return ST_ERROR;
        bool found;
        TRY(nth_match(ctx, i, re, s, from, nth, sub, &r[i], &found));
        out->valid[i] = found;
    }
    return ST_OK;
}
/* regexp_instr(s, p [, start [, n [, endoption [, flags]]]]) */
KNF(regexp_instr_any, int32_t, 0, {
    Str s = AT(Str, 0, i);
    int64_t from = 0;
    int32_t nth = nargs > 3 ? AT(int32_t, 3, i) : 1;
    int32_t end = nargs > 4 ? AT(int32_t, 4, i) : 0;
    uint32_t opt = PCRE2_DOTALL;
    if (nargs > 2) TRY(start_bytes(ctx, i, s, AT(int32_t, 2, i), &from));
    FAIL_IF(nth <= 0, i, ERR_INVALID_PARAMETER, "invalid value for parameter \"%s\": %d", "n", nth);
    FAIL_IF(end != 0 && end != 1, i, ERR_INVALID_PARAMETER, "invalid value for parameter \"%s\": %d", "endoption", end);
    if (nargs > 5) TRY(regex_flags(ctx, i, AT(Str, 5, i), &opt, NULL));
    Regex *re = regex_get(ctx, i, AT(Str, 1, i), opt);
    if (!re) return ST_ERROR;
    Str hit;
    bool found;
    TRY(nth_match(ctx, i, re, s, from, nth, 0, &hit, &found));
    if (found) z = (int32_t)utf8_length(s.ptr, hit.ptr - s.ptr + (end ? hit.len : 0)) + 1;
})
KNF(regexp_count_any, int32_t, 0, {
    Str s = AT(Str, 0, i);
    int64_t from = 0;
    uint32_t opt = PCRE2_DOTALL;
    if (nargs > 2) TRY(start_bytes(ctx, i, s, AT(int32_t, 2, i), &from));
    if (nargs > 3) TRY(regex_flags(ctx, i, AT(Str, 3, i), &opt, NULL));
    Regex *re = regex_get(ctx, i, AT(Str, 1, i), opt);
    if (!re) return ST_ERROR;
    while (from <= s.len) {
        int m = regex_match(ctx, i, re, s, from);
        if (m < 0) return ST_ERROR;
        if (m == 0) break;
        const PCRE2_SIZE *v = pcre2_get_ovector_pointer(re->match);
        z++;
        from = next_start(s, (int64_t)v[0], (int64_t)v[1]);
    }
})

typedef struct Out {
    char *p;
    int64_t len, cap;
} Out;
static bool out_add(FuncCtx *ctx, Out *o, const char *p, int64_t len) {
    if (len == 0) return true;
    if (o->len + len > o->cap) {
        int64_t cap = MAX_OF(o->len + len, 2 * o->cap + 64);
        char *m = ctx_alloc(ctx, cap);
        if (!m) return false;
        if (o->len) memcpy(m, o->p, (size_t)o->len);
        o->p = m;
        o->cap = cap;
    }
    memcpy(o->p + o->len, p, (size_t)len);
    o->len += len;
    return true;
}
/* The replacement text: \1 .. \9 groups, \& the match, \\ a backslash. */
static bool add_replacement(FuncCtx *ctx, Out *o, Str s, Str rep, const Regex *re) {
    const PCRE2_SIZE *v = pcre2_get_ovector_pointer(re->match);
    for (uint32_t k = 0; k < rep.len; k++) {
        int g = -1;
        if (rep.ptr[k] == '\\' && k + 1 < rep.len) {
            char c = rep.ptr[k + 1];
            if (c >= '1' && c <= '9') g = c - '0';
            else if (c == '&') g = 0;
            else if (c == '\\') k++;
            if (g >= 0) {
                k++;
                if (g <= re->groups && v[2 * g] != PCRE2_UNSET &&
                    !out_add(ctx, o, s.ptr + v[2 * g], (int64_t)(v[2 * g + 1] - v[2 * g])))
                    return false;
                continue;
            }
        }
        if (!out_add(ctx, o, rep.ptr + k, 1)) return false;
    }
    return true;
}
/* Replaces the nth match from byte `from` on, all when nth is 0. */
static Status replace(FuncCtx *ctx, int64_t i, Regex *re, Str s, Str rep, int64_t from, int32_t nth, Str *z) {
    Out o = {0};
    int64_t done = 0;
    int32_t count = 0;
    while (from <= s.len) {
        int m = regex_match(ctx, i, re, s, from);
        if (m < 0) return ST_ERROR;
        if (m == 0) break;
        const PCRE2_SIZE *v = pcre2_get_ovector_pointer(re->match);
        int64_t a = (int64_t)v[0], b = (int64_t)v[1];
        count++;
        if (nth == 0 || count == nth) {
            if (!out_add(ctx, &o, s.ptr + done, a - done) || !add_replacement(ctx, &o, s, rep, re)) return FAILED(i);
            done = b;
        }
        if (nth != 0 && count >= nth) break;
        from = next_start(s, a, b);
    }
    if (done == 0 && o.len == 0 && (count == 0 || (nth != 0 && count < nth))) {
        *z = s;
        return ST_OK;
    }
    if (!out_add(ctx, &o, s.ptr + done, s.len - done)) return FAILED(i);
    *z = o.len ? str_make(o.p, o.len) : STR0;
    return ST_OK;
}
KNF(regexp_replace_flags, Str, STR0, {
    bool global = false;
    uint32_t opt = PCRE2_DOTALL;
    if (nargs > 3) TRY(regex_flags(ctx, i, AT(Str, 3, i), &opt, &global));
    Regex *re = regex_get(ctx, i, AT(Str, 1, i), opt);
    if (!re) return ST_ERROR;
    TRY(replace(ctx, i, re, AT(Str, 0, i), AT(Str, 2, i), 0, global ? 0 : 1, &z));
})
KNF(regexp_replace_nth, Str, STR0, {
    Str s = AT(Str, 0, i);
    int64_t from = 0;
    int32_t nth = nargs > 4 ? AT(int32_t, 4, i) : 1;
    uint32_t opt = PCRE2_DOTALL;
    TRY(start_bytes(ctx, i, s, AT(int32_t, 3, i), &from));
    FAIL_IF(nth < 0, i, ERR_INVALID_PARAMETER, "invalid value for parameter \"%s\": %d", "n", nth);
    bool global = false;
    if (nargs > 5) TRY(regex_flags(ctx, i, AT(Str, 5, i), &opt, &global));
    Regex *re = regex_get(ctx, i, AT(Str, 1, i), opt);
    if (!re) return ST_ERROR;
    TRY(replace(ctx, i, re, s, AT(Str, 2, i), from, nth, &z));
})

/* SIMILAR TO: % and _ become .* and ., the rest is a regular expression with dots and anchors quoted. */
static Status similar(FuncCtx *ctx, int64_t i, Str p, Str escape, Str *z) {
    if (escape.len > 1) {
        err_set(ctx->err, ERR_INVALID_ESCAPE, "invalid escape string");
        err_hint(ctx->err, "Escape string must be empty or one character.");
        return FAILED(i);
    }
    char *o = ctx_alloc(ctx, 3 * (int64_t)p.len + 16);
    if (!o) return FAILED(i);
    int64_t n = 0;
    bool bracket = false, after = false;
    memcpy(o, "^(?:", 4);
    n = 4;
    for (uint32_t k = 0; k < p.len; k++) {
        char c = p.ptr[k];
        if (after) {
            o[n++] = '\\', o[n++] = c;
            after = false;
        } else if (escape.len && c == escape.ptr[0]) {
            after = true;
        } else if (bracket) {
            if (c == '\\') o[n++] = '\\';
            o[n++] = c;
            if (c == ']') bracket = false;
        } else if (c == '[') {
            o[n++] = c;
            bracket = true;
        } else if (c == '%') {
            o[n++] = '.', o[n++] = '*';
        } else if (c == '_') {
            o[n++] = '.';
        } else if (c == '(') {
            memcpy(o + n, "(?:", 3);
            n += 3;
        } else {
            if (c == '\\' || c == '.' || c == '^' || c == '$') o[n++] = '\\';
            o[n++] = c;
        }
    }
    memcpy(o + n, ")$", 2);
    *z = str_make(o, n + 2);
    return ST_OK;
}
KNF(similar_to_escape_text, Str, STR0,
    { TRY(similar(ctx, i, AT(Str, 0, i), nargs > 1 ? AT(Str, 1, i) : str_make("\\", 1), &z)); })

#define OPF (FN_OPERATOR | SF)
#define TT ARGS(T_TEXT, T_TEXT)
static const FuncDef defs[] = {
    DEF("~", OPF, T_BOOL, 2, TT, OP_NONE, regex_op, NULL, "matches a regular expression"),
    DEF("!~", OPF, T_BOOL, 2, TT, OP_NONE, not_regex_op, NULL, "does not match a regular expression"),
    DEF("~*", OPF, T_BOOL, 2, TT, OP_NONE, iregex_op, NULL, "matches, ignoring case"),
    DEF("!~*", OPF, T_BOOL, 2, TT, OP_NONE, not_iregex_op, NULL, "does not match, ignoring case"),
    DEF("regexp_like", SF, T_BOOL, 2, TT, OP_NONE, regex_op, NULL, "whether an expression matches"),
    DEF("regexp_like", SF, T_BOOL, 3, ARGS(T_TEXT, T_TEXT, T_TEXT), OP_NONE, regex_op, NULL,
        "whether an expression matches"),
    DEF("regexp_count", SF, T_INT4, 2, TT, OP_NONE, regexp_count_any, NULL, "number of matches"),
    DEF("regexp_count", SF, T_INT4, 3, ARGS(T_TEXT, T_TEXT, T_INT4), OP_NONE, regexp_count_any, NULL,
        "number of matches"),
    DEF("regexp_count", SF, T_INT4, 4, ARGS(T_TEXT, T_TEXT, T_INT4, T_TEXT), OP_NONE, regexp_count_any, NULL,
        "number of matches"),
    DEF("regexp_substr", NF, T_TEXT, 2, TT, OP_NONE, regexp_substr_any, NULL, "the n-th match"),
    DEF("regexp_substr", NF, T_TEXT, 3, ARGS(T_TEXT, T_TEXT, T_INT4), OP_NONE, regexp_substr_any, NULL,
        "the n-th match"),
    DEF("regexp_substr", NF, T_TEXT, 4, ARGS(T_TEXT, T_TEXT, T_INT4, T_INT4), OP_NONE, regexp_substr_any, NULL,
        "the n-th match"),
    DEF("regexp_substr", NF, T_TEXT, 5, ARGS(T_TEXT, T_TEXT, T_INT4, T_INT4, T_TEXT), OP_NONE, regexp_substr_any, NULL,
        "the n-th match"),
    DEF("regexp_substr", NF, T_TEXT, 6, ARGS(T_TEXT, T_TEXT, T_INT4, T_INT4, T_TEXT, T_INT4), OP_NONE,
        regexp_substr_any, NULL, "the n-th match"),
    DEF("regexp_instr", SF, T_INT4, 2, TT, OP_NONE, regexp_instr_any, NULL, "position of the n-th match"),
    DEF("regexp_instr", SF, T_INT4, 3, ARGS(T_TEXT, T_TEXT, T_INT4), OP_NONE, regexp_instr_any, NULL,
        "position of the n-th match"),
    DEF("regexp_instr", SF, T_INT4, 4, ARGS(T_TEXT, T_TEXT, T_INT4, T_INT4), OP_NONE, regexp_instr_any, NULL,
        "position of the n-th match"),
    DEF("regexp_instr", SF, T_INT4, 5, ARGS(T_TEXT, T_TEXT, T_INT4, T_INT4, T_INT4), OP_NONE, regexp_instr_any, NULL,
        "position of the n-th match"),
    DEF("regexp_instr", SF, T_INT4, 6, ARGS(T_TEXT, T_TEXT, T_INT4, T_INT4, T_INT4, T_TEXT), OP_NONE, regexp_instr_any,
        NULL, "position of the n-th match"),
    DEF("regexp_replace", SF, T_TEXT, 3, ARGS(T_TEXT, T_TEXT, T_TEXT), OP_NONE, regexp_replace_flags, NULL,
        "first match replaced"),
    DEF("regexp_replace", SF, T_TEXT, 4, ARGS(T_TEXT, T_TEXT, T_TEXT, T_TEXT), OP_NONE, regexp_replace_flags, NULL,
        "match replaced, all with flag g"),
    DEF("regexp_replace", SF, T_TEXT, 4, ARGS(T_TEXT, T_TEXT, T_TEXT, T_INT4), OP_NONE, regexp_replace_nth, NULL,
        "match replaced from a position on"),
    DEF("regexp_replace", SF, T_TEXT, 5, ARGS(T_TEXT, T_TEXT, T_TEXT, T_INT4, T_INT4), OP_NONE, regexp_replace_nth,
        NULL, "n-th match replaced"),
    DEF("regexp_replace", SF, T_TEXT, 6, ARGS(T_TEXT, T_TEXT, T_TEXT, T_INT4, T_INT4, T_TEXT), OP_NONE,
        regexp_replace_nth, NULL, "n-th match replaced"),
    DEF("similar_to_escape", SF, T_TEXT, 1, ARGS(T_TEXT), OP_NONE, similar_to_escape_text, NULL,
        "SIMILAR TO pattern as a regular expression"),
    DEF("similar_to_escape", SF, T_TEXT, 2, TT, OP_NONE, similar_to_escape_text, NULL,
        "SIMILAR TO pattern as a regular expression"),
};
const FuncDefs func_defs_regex = {defs, ARRAY_LEN(defs)};
