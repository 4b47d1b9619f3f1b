/* func_regex.c - regular expressions: ~, regexp_replace and friends, SIMILAR TO; PCRE2 with its JIT.
 *
 * PostgreSQL's advanced regular expressions are Perl-like; what differs in spelling is translated (regex_pattern.c).
 * What differs in meaning: among alternatives PostgreSQL prefers the longest match, PCRE2 the first that matches.
 *
 * A call site keeps one compiled expression in ctx->state (state_arena) and recompiles when
 * pattern or flags change, so a constant pattern is compiled once per worker. PCRE2's own memory is released by a
 * callback of state_arena. Backtracking is bounded: a pattern that explodes fails the statement.
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdio.h>

#include "types/array.h"
#include "types/func_int.h"
#include "types/regex.h"

struct Regex {
    pcre2_code *code;
    pcre2_match_data *match;
    pcre2_match_context *limits;
    pcre2_jit_stack *stack;
    Arena *arena;  /* of the pattern */
    char *pattern; /* pattern, then flags */
    uint32_t pattern_len, pattern_cap;
    uint32_t options;
    int groups;
};

static void regex_release(void *arg) {
    Regex *r = arg;
    pcre2_code_free(r->code);
    pcre2_match_data_free(r->match);
    pcre2_match_context_free(r->limits);
    pcre2_jit_stack_free(r->stack);
}

/* global: NULL when `fn` has no such option. */
static Status regex_flags(FuncCtx *ctx, int64_t i, Str flags, uint32_t *opt, bool *global, const char *fn) {
    for (uint32_t k = 0; k < flags.len; k++) {
        char c = flags.ptr[k];
        if (c == 'g') {
            FAIL_IF(!global, i, ERR_INVALID_PARAMETER, "%s() does not support the \"global\" option", fn);
            *global = true;
            continue;
        }
        FAIL_IF(c == 'b', i, ERR_FEATURE_NOT_SUPPORTED, "basic regular expressions are not supported");
        FAIL_IF(!regex_flag(c, opt), i, ERR_INVALID_PARAMETER, "invalid regular expression option: \"%.*s\"",
                (int)utf8_prefix_bytes(flags.ptr + k, flags.len - k, 1), flags.ptr + k);
    }
    return ST_OK;
}

static Status no_memory(Err *e) { return err_is_set(e) ? ST_ERROR : err_oom(e); }

Regex *regex_new(Arena *a, Err *e) {
    Regex *r = arena_new_of(a, Regex);
    if (!r) return no_memory(e), NULL;
    r->arena = a;
    r->limits = pcre2_match_context_create(NULL);
    r->stack = pcre2_jit_stack_create(32 * 1024, 4 * 1024 * 1024, NULL);
    if (!r->limits || !r->stack || arena_on_release(a, regex_release, r) != ST_OK) {
        regex_release(r);
        return no_memory(e), NULL;
    }
    pcre2_set_match_limit(r->limits, 20000000);
    pcre2_set_heap_limit(r->limits, 64 * 1024);
    pcre2_jit_stack_assign(r->limits, NULL, r->stack);
    return r;
}

/* The expression's code of a pattern in Perl's spelling, with the options of its own. */
static Status regex_code(Regex *r, const char *text, int64_t len, uint32_t own, Err *e) {
    int code;
    PCRE2_SIZE at;
    const uint32_t all =
        PCRE2_UTF | PCRE2_NO_UTF_CHECK |
        (own & PCRE2_LITERAL ? own & (PCRE2_LITERAL | PCRE2_CASELESS) : own | PCRE2_DOLLAR_ENDONLY | PCRE2_UCP);
    pcre2_code_free(r->code);
    pcre2_match_data_free(r->match);
    r->match = NULL;
    r->code = pcre2_compile((PCRE2_SPTR)text, (PCRE2_SIZE)len, all, &code, &at, NULL);
    if (!r->code) {
        unsigned char msg[200];
        const char *words = regex_error_text(code);
        if (!words) pcre2_get_error_message(code, msg, sizeof msg);
        return err_set(e, ERR_INVALID_REGEX, "invalid regular expression: %s", words ? words : (const char *)msg);
    }
    (void)pcre2_jit_compile(r->code, PCRE2_JIT_COMPLETE); /* without JIT the interpreter does it */
    r->match = pcre2_match_data_create_from_pattern(r->code, NULL);
    return r->match ? ST_OK : err_oom(e);
}

Status regex_compile(Regex *r, Arena *scratch, Str pattern, uint32_t options, Err *e) {
    if (r->code && r->match && r->options == options && r->pattern_len == pattern.len &&
        (pattern.len == 0 || memcmp(r->pattern, pattern.ptr, pattern.len) == 0))
        return ST_OK;
    if (r->pattern_cap < pattern.len || !r->pattern) {
        uint32_t cap = MAX_OF(64u, pattern.len);
        char *p = arena_alloc(r->arena, cap);
        if (!p) return no_memory(e);
        r->pattern = p;
        r->pattern_cap = cap;
    }
    char *text = arena_alloc(scratch, 12 * (int64_t)pattern.len + 1);
    if (!text) return no_memory(e);
    int64_t len;
    uint32_t own = options; /* with those of the pattern itself */
    TRY(regex_translate(pattern, &own, text, &len, e));
    TRY(regex_code(r, text, len, own, e));
    uint32_t groups = 0;
    pcre2_pattern_info(r->code, PCRE2_INFO_CAPTURECOUNT, &groups);
    r->groups = (int)groups;
    if (pattern.len) memcpy(r->pattern, pattern.ptr, pattern.len);
    r->pattern_len = pattern.len;
    r->options = options;
    return ST_OK;
}

int regex_search(const Regex *r, Str s, int64_t from, Err *e) {
    int rc = pcre2_match(r->code, (PCRE2_SPTR)(s.ptr ? s.ptr : ""), s.len, (PCRE2_SIZE)from, PCRE2_NO_UTF_CHECK,
                         r->match, r->limits);
    if (rc >= 0) return 1;
    if (rc == PCRE2_ERROR_NOMATCH) return 0;
    unsigned char msg[200];
    pcre2_get_error_message(rc, msg, sizeof msg);
    err_set(e, ERR_INVALID_REGEX, "regular expression failed: %s", (const char *)msg);
    return -1;
}

Status regex_like(Arena *a, Str pattern, int flags, Regex **out, Err *e) {
    uint32_t options = 0;
    if (flags & LIKE_REGEX_I) options |= PCRE2_CASELESS;
    if (flags & LIKE_REGEX_Q) {
        options |= PCRE2_LITERAL; /* the others do not count */
    } else {
        if (flags & LIKE_REGEX_X)
            return err_set(e, ERR_FEATURE_NOT_SUPPORTED,
                           "XQuery \"x\" flag (expanded regular expressions) is not implemented");
        if (flags & LIKE_REGEX_S) options |= PCRE2_DOTALL;
        if (flags & LIKE_REGEX_M) options |= PCRE2_MULTILINE;
    }
    *out = regex_new(a, e);
    return *out ? regex_compile(*out, a, pattern, options, e) : ST_ERROR;
}

/* The expression for `pattern`, compiled if it is not the last one used here. */
static Regex *regex_get(FuncCtx *ctx, int64_t i, Str pattern, uint32_t opt) {
    ctx->error_row = i;
    if (!ctx->state && !(ctx->state = regex_new(ctx->state_arena, ctx->err))) return NULL;
    return regex_compile(ctx->state, ctx->arena, pattern, opt, ctx->err) == ST_OK ? ctx->state : NULL;
}

/* 1 match, 0 none, -1 error. */
static int regex_match(FuncCtx *ctx, int64_t i, Regex *r, Str s, int64_t from) {
    int found = regex_search(r, s, from, ctx->err);
    if (found < 0) ctx->error_row = i;
    return found;
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
        if (nargs > 2) TRY(regex_flags(ctx, i, AT(Str, 2, i), &o, NULL, "regexp_like"));
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

static bool some_null(const Vec *args, int nargs, int64_t i) {
    bool null = false;
    for (int k = 0; k < nargs; k++) null |= arg_null(&args[k], i);
    return null;
}

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
        if (some_null(args, nargs, i)) continue;
        Str s = AT(Str, 0, i);
        int64_t from = 0;
        int32_t nth = nargs > 3 ? AT(int32_t, 3, i) : 1, sub = nargs > 5 ? AT(int32_t, 5, i) : 0;
        uint32_t opt = PCRE2_DOTALL;
        if (nargs > 2) TRY(start_bytes(ctx, i, s, AT(int32_t, 2, i), &from));
        FAIL_IF(nth <= 0, i, ERR_INVALID_PARAMETER, "invalid value for parameter \"%s\": %d", "n", nth);
        FAIL_IF(sub < 0, i, ERR_INVALID_PARAMETER, "invalid value for parameter \"%s\": %d", "subexpr", sub);
        if (nargs > 4) TRY(regex_flags(ctx, i, AT(Str, 4, i), &opt, NULL, "regexp_substr"));
        Regex *re = regex_get(ctx, i, AT(Str, 1, i), opt);
        if (!re) return ST_ERROR;
        bool found;
        TRY(nth_match(ctx, i, re, s, from, nth, sub, &r[i], &found));
        out->valid[i] = found;
    }
    return ST_OK;
}
/* regexp_instr(s, p [, start [, n [, endoption [, flags [, subexpr]]]]]) */
KNF(regexp_instr_any, int32_t, 0, {
    Str s = AT(Str, 0, i);
    int64_t from = 0;
    int32_t nth = nargs > 3 ? AT(int32_t, 3, i) : 1;
    int32_t end = nargs > 4 ? AT(int32_t, 4, i) : 0;
    uint32_t opt = PCRE2_DOTALL;
    if (nargs > 2) TRY(start_bytes(ctx, i, s, AT(int32_t, 2, i), &from));
    FAIL_IF(nth <= 0, i, ERR_INVALID_PARAMETER, "invalid value for parameter \"%s\": %d", "n", nth);
    FAIL_IF(end != 0 && end != 1, i, ERR_INVALID_PARAMETER, "invalid value for parameter \"%s\": %d", "endoption", end);
    int32_t sub = nargs > 6 ? AT(int32_t, 6, i) : 0;
    FAIL_IF(sub < 0, i, ERR_INVALID_PARAMETER, "invalid value for parameter \"%s\": %d", "subexpr", sub);
    if (nargs > 5) TRY(regex_flags(ctx, i, AT(Str, 5, i), &opt, NULL, "regexp_instr"));
    Regex *re = regex_get(ctx, i, AT(Str, 1, i), opt);
    if (!re) return ST_ERROR;
    Str hit;
    bool found;
    TRY(nth_match(ctx, i, re, s, from, nth, sub, &hit, &found));
    if (found) z = (int32_t)utf8_length(s.ptr, hit.ptr - s.ptr + (end ? hit.len : 0)) + 1;
})
KNF(regexp_count_any, int32_t, 0, {
    Str s = AT(Str, 0, i);
    int64_t from = 0;
    uint32_t opt = PCRE2_DOTALL;
    if (nargs > 2) TRY(start_bytes(ctx, i, s, AT(int32_t, 2, i), &from));
    if (nargs > 3) TRY(regex_flags(ctx, i, AT(Str, 3, i), &opt, NULL, "regexp_count"));
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
    if (nargs > 3) TRY(regex_flags(ctx, i, AT(Str, 3, i), &opt, &global, "regexp_replace"));
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
    if (nargs > 5) TRY(regex_flags(ctx, i, AT(Str, 5, i), &opt, &global, "regexp_replace"));
    Regex *re = regex_get(ctx, i, AT(Str, 1, i), opt);
    if (!re) return ST_ERROR;
    TRY(replace(ctx, i, re, s, AT(Str, 2, i), from, nth, &z));
})

/* SIMILAR TO: % and _ become .* and ., the rest is a regular expression with dots and anchors quoted. Escaped double
 * quotes separate what substring takes from what stands before and behind it: group 1. PostgreSQL lets what stands
 * before be as short as it can; here its quantifiers prefer few. */
typedef struct Similar {
    char *o;
    bool bracket, after, lazy;
    int quotes;
} Similar;
static void put(Similar *m, const char *s) {
    size_t n = strlen(s);
    memcpy(m->o, s, n);
    m->o += n;
}
static Status separator(FuncCtx *ctx, int64_t i, Similar *m) {
    FAIL_IF(m->quotes == 2, i, ERR_INVALID_ESCAPE_USE,
            "SQL regular expression may not contain more than two escape-double-quote separators");
    put(m, m->quotes++ == 0 ? "){1,1}(" : "){1,1}(?:");
    return ST_OK;
}
static void similar_char(Similar *m, char c) {
    bool lazy = m->lazy && m->quotes == 0;
    char own[2] = {c, 0};
    if (m->bracket) {
        if (c == '\\') put(m, "\\");
        put(m, own);
        if (c == ']') m->bracket = false;
    } else if (c == '[') {
        put(m, own);
        m->bracket = true;
    } else if (c == '%') {
        put(m, lazy ? ".*?" : ".*");
    } else if (c == '_') {
        put(m, ".");
    } else if (c == '(') {
        put(m, "(?:");
    } else {
        if (c == '\\' || c == '.' || c == '^' || c == '$') put(m, "\\");
        put(m, own);
        if (lazy && (c == '*' || c == '+' || c == '?' || c == '}')) put(m, "?");
    }
}
static Status similar(FuncCtx *ctx, int64_t i, Str p, Str escape, bool substring, Str *z) {
    if (utf8_length(escape.ptr, escape.len) > 1) {
        err_set(ctx->err, ERR_INVALID_ESCAPE, "invalid escape string");
        err_hint(ctx->err, "Escape string must be empty or one character.");
        return FAILED(i);
    }
    char *o = ctx_alloc(ctx, 9 * (int64_t)p.len + 16);
    if (!o) return FAILED(i);
    Similar m = {.o = o};
    for (uint32_t k = 0; substring && escape.len && k + escape.len < p.len; k++)
        m.lazy |= memcmp(p.ptr + k, escape.ptr, escape.len) == 0 && p.ptr[k + escape.len] == '"';
    put(&m, "^(?:");
    for (uint32_t k = 0; k < p.len; k++) {
        if (m.after) {
            m.after = false;
            if (p.ptr[k] == '"' && !m.bracket) {
                TRY(separator(ctx, i, &m));
                continue;
            }
            put(&m, "\\");
            *m.o++ = p.ptr[k];
        } else if (escape.len && p.len - k >= escape.len && memcmp(p.ptr + k, escape.ptr, escape.len) == 0) {
            m.after = true;
            k += escape.len - 1;
        } else {
            similar_char(&m, p.ptr[k]);
        }
    }
    put(&m, ")$");
    *z = str_make(o, m.o - o);
    return ST_OK;
}
KNF(similar_to_escape_text, Str, STR0,
    { TRY(similar(ctx, i, AT(Str, 0, i), nargs > 1 ? AT(Str, 1, i) : str_make("\\", 1), false, &z)); })
KERNEL(substring_similar) {
    Str *r = out->data;
    for (int64_t i = 0; i < n; i++) {
        Str pattern;
        bool found;
        r[i] = STR0;
        out->valid[i] = 0;
        if (some_null(args, nargs, i)) continue;
        TRY(similar(ctx, i, AT(Str, 1, i), AT(Str, 2, i), true, &pattern));
        Regex *re = regex_get(ctx, i, pattern, PCRE2_DOTALL);
        if (!re) return ST_ERROR;
        TRY(nth_match(ctx, i, re, AT(Str, 0, i), 0, 1, re->groups > 0, &r[i], &found));
        out->valid[i] = found;
    }
    return ST_OK;
}

/* ---- arrays ----------------------------------------------------------------------------- */

/* Strings that become an array. */
typedef struct Strs {
    Str *s;
    uint8_t *valid;
    int64_t n, cap;
} Strs;
static bool strs_add(FuncCtx *ctx, Strs *a, Str s, bool valid) {
    if (a->n == a->cap) {
        int64_t cap = MAX_OF(16, 2 * a->cap);
        Str *p = arena_array(ctx->arena, Str, cap);
        uint8_t *v = arena_alloc(ctx->arena, cap);
        if (!p || !v) {
            if (!err_is_set(ctx->err)) err_oom(ctx->err);
            return false;
        }
        if (a->n) {
            memcpy(p, a->s, sizeof *p * (size_t)a->n);
            memcpy(v, a->valid, (size_t)a->n);
        }
        *a = (Strs){p, v, a->n, cap};
    }
    a->s[a->n] = s;
    a->valid[a->n++] = valid;
    return true;
}
static Status strs_array(FuncCtx *ctx, int64_t i, const Strs *a, Str *z) {
    return array_build(ctx->arena, PH_STR, a->n, a->s, a->valid, z, ctx->err) == ST_OK ? ST_OK : FAILED(i);
}

/* The groups of the match, or all of it when there are none. */
static Status match_groups(FuncCtx *ctx, int64_t i, const Regex *re, Str s, Str *z) {
    const PCRE2_SIZE *v = pcre2_get_ovector_pointer(re->match);
    Strs a = {0};
    for (int g = re->groups > 0; g <= re->groups; g++) {
        bool set = v[2 * g] != PCRE2_UNSET;
        Str part = set ? str_make(s.ptr + v[2 * g], (int64_t)(v[2 * g + 1] - v[2 * g])) : STR0;
        if (!strs_add(ctx, &a, part, set)) return FAILED(i);
    }
    return strs_array(ctx, i, &a, z);
}

KERNEL(regexp_match_any) {
    for (int64_t i = 0; i < n; i++) {
        Str *z = (Str *)out->data + i;
        uint32_t opt = PCRE2_DOTALL;
        *z = STR0;
        out->valid[i] = 0;
        if (some_null(args, nargs, i)) continue;
        if (nargs > 2 && regex_flags(ctx, i, AT(Str, 2, i), &opt, NULL, "regexp_match") != ST_OK) {
            if (memchr(AT(Str, 2, i).ptr, 'g', AT(Str, 2, i).len))
                err_hint(ctx->err, "Use the regexp_matches function instead.");
            return ST_ERROR;
        }
        Regex *re = regex_get(ctx, i, AT(Str, 1, i), opt);
        int m = re ? regex_match(ctx, i, re, AT(Str, 0, i), 0) : -1;
        if (m < 0) return ST_ERROR;
        if (m > 0) TRY(match_groups(ctx, i, re, AT(Str, 0, i), z));
        out->valid[i] = m > 0;
    }
    return ST_OK;
}

/* An array of arrays there is not: each match's is an element's bytes, and regexp_match_of() takes them for one. */
KERNEL(regexp_matches_all) {
    for (int64_t i = 0; i < n; i++) {
        Str *z = (Str *)out->data + i;
        uint32_t opt = PCRE2_DOTALL;
        bool global = false;
        Strs all = {0};
        *z = STR0;
        out->valid[i] = 0;
        if (some_null(args, nargs, i)) continue;
        Str s = AT(Str, 0, i);
        if (nargs > 2) TRY(regex_flags(ctx, i, AT(Str, 2, i), &opt, &global, "regexp_matches"));
        Regex *re = regex_get(ctx, i, AT(Str, 1, i), opt);
        if (!re) return ST_ERROR;
        for (int64_t from = 0; from <= s.len;) {
            int m = regex_match(ctx, i, re, s, from);
            if (m < 0) return ST_ERROR;
            if (m == 0) break;
            Str one;
            TRY(match_groups(ctx, i, re, s, &one));
            if (!strs_add(ctx, &all, one, true)) return FAILED(i);
            if (!global) break;
            const PCRE2_SIZE *v = pcre2_get_ovector_pointer(re->match);
            from = next_start(s, (int64_t)v[0], (int64_t)v[1]);
        }
        TRY(strs_array(ctx, i, &all, z));
        out->valid[i] = 1;
    }
    return ST_OK;
}
K1S(regexp_match_of, Str, Str, x)

/* Parts between matches. Empty matches at the ends and right behind another separate nothing. */
static Status split(FuncCtx *ctx, int64_t n, const Vec *args, int nargs, Vec *out, const char *fn) {
    for (int64_t i = 0; i < n; i++) {
        Str *z = (Str *)out->data + i;
        uint32_t opt = PCRE2_DOTALL;
        int64_t done = 0, last = 0;
        Strs parts = {0};
        *z = STR0;
        if (!row_valid(out, i)) continue;
        Str s = AT(Str, 0, i);
        if (nargs > 2) TRY(regex_flags(ctx, i, AT(Str, 2, i), &opt, NULL, fn));
        Regex *re = regex_get(ctx, i, AT(Str, 1, i), opt);
        if (!re) return ST_ERROR;
        for (int64_t from = 0; from <= s.len;) {
            int m = regex_match(ctx, i, re, s, from);
            if (m < 0) return ST_ERROR;
            if (m == 0) break;
            const PCRE2_SIZE *v = pcre2_get_ovector_pointer(re->match);
            int64_t a = (int64_t)v[0], b = (int64_t)v[1];
            if (a < s.len && b > last) {
                if (!strs_add(ctx, &parts, str_make(s.ptr + done, a - done), true)) return FAILED(i);
                done = b;
            }
            last = b;
            from = next_start(s, a, b);
        }
        if (!strs_add(ctx, &parts, str_make(s.ptr + done, s.len - done), true)) return FAILED(i);
        TRY(strs_array(ctx, i, &parts, z));
    }
    return ST_OK;
}
KERNEL(regexp_split_array) { return split(ctx, n, args, nargs, out, "regexp_split_to_array"); }
KERNEL(regexp_split_rows) { return split(ctx, n, args, nargs, out, "regexp_split_to_table"); }

static Type tf_byteas(const FuncDef *f, int nargs, const Type *a) {
    return (void)f, (void)nargs, (void)a, type_array_of(type_make(T_BYTEA));
}

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
    DEF("regexp_instr", SF, T_INT4, 7, ARGS(T_TEXT, T_TEXT, T_INT4, T_INT4, T_INT4, T_TEXT, T_INT4), OP_NONE,
        regexp_instr_any, NULL, "position of a group of the n-th match"),
    DEF("regexp_match", NF, T_ARRAY, 2, TT, OP_NONE, regexp_match_any, tf_texts, "groups of the first match"),
    DEF("regexp_match", NF, T_ARRAY, 3, ARGS(T_TEXT, T_TEXT, T_TEXT), OP_NONE, regexp_match_any, tf_texts,
        "groups of the first match"),
    DEF("regexp_matches_all", NF, T_ARRAY, 2, TT, OP_NONE, regexp_matches_all, tf_byteas,
        "internal: groups of each match, as bytes"),
    DEF("regexp_matches_all", NF, T_ARRAY, 3, ARGS(T_TEXT, T_TEXT, T_TEXT), OP_NONE, regexp_matches_all, tf_byteas,
        "internal: groups of each match, as bytes"),
    DEF("regexp_match_of", S_, T_ARRAY, 1, ARGS(T_BYTEA), OP_NONE, regexp_match_of, tf_texts,
        "internal: groups of one match"),
    DEF("regexp_split_to_array", SF, T_ARRAY, 2, TT, OP_NONE, regexp_split_array, tf_texts, "parts between matches"),
    DEF("regexp_split_to_array", SF, T_ARRAY, 3, ARGS(T_TEXT, T_TEXT, T_TEXT), OP_NONE, regexp_split_array, tf_texts,
        "parts between matches"),
    DEF("regexp_split_rows", SF, T_ARRAY, 2, TT, OP_NONE, regexp_split_rows, tf_texts,
        "internal: regexp_split_to_table"),
    DEF("regexp_split_rows", SF, T_ARRAY, 3, ARGS(T_TEXT, T_TEXT, T_TEXT), OP_NONE, regexp_split_rows, tf_texts,
        "internal: regexp_split_to_table"),
    DEF("substring", NF, T_TEXT, 3, ARGS(T_TEXT, T_TEXT, T_TEXT), OP_NONE, substring_similar, NULL,
        "what matches a pattern of SIMILAR TO, between its separators"),
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
