/* regex_pattern.c - PostgreSQL's advanced regular expressions in Perl's spelling, for PCRE2.
 *
 * Most is spelled the same. Translated are escapes with another meaning (\b is a backspace, \B a backslash, \y \Y \m
 * \M word boundaries, \Z the end, \v, \x, \u and \U characters), the prefixes ***: ***= and (?flags), and classes that
 * must not match a newline. What only Perl has (\K, \Q, possessive quantifiers, named groups, verbs, recursion) is an
 * error here as there.
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <string.h>

#include "types/chars.h"
#include "types/func_int.h"

typedef struct Pattern {
    const char *p, *end;
    char *o;
    uint32_t *options;
    bool bracket;
    bool quantified; /* a quantifier was the last thing */
    Err *err;
} Pattern;

static Status invalid(Pattern *t, const char *what) {
    return err_set(t->err, ERR_INVALID_REGEX, "invalid regular expression: %s", what);
}
#define BAD_ESCAPE "invalid escape \\ sequence"
#define BAD_QUANTIFIER "quantifier operand invalid"

static void put(Pattern *t, const char *s, int64_t n) {
    memcpy(t->o, s, (size_t)n);
    t->o += n;
}
static void put_text(Pattern *t, const char *s) { put(t, s, (int64_t)strlen(s)); }

/* At least `least` and at most `most` digits as \x{...}. */
static Status hex_escape(Pattern *t, int least, int most) {
    static const char digits[] = "0123456789abcdef";
    uint32_t v = 0;
    int n = 0;
    for (; n < most && t->p < t->end && hex_digit(*t->p) >= 0; n++, t->p++) {
        if (v >> 24) return invalid(t, BAD_ESCAPE);
        v = v << 4 | (uint32_t)hex_digit(*t->p);
    }
    if (n < least || v > 0x10ffff || (v >= 0xd800 && v < 0xe000)) return invalid(t, BAD_ESCAPE);
    put_text(t, "\\x{");
    for (int shift = 20; shift >= 0; shift -= 4) put(t, &digits[v >> shift & 15], 1);
    put_text(t, "}");
    return ST_OK;
}

/* t->p stands behind the backslash. */
static Status escape(Pattern *t) {
    if (t->p >= t->end) return invalid(t, BAD_ESCAPE);
    char c = *t->p++, as_is[2] = {'\\', c};
    bool alnum = (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z');
    if (!alnum) { /* bytes of longer characters follow by themselves */
        if ((unsigned char)c >= 0x80) put(t, &c, 1);
        else put(t, as_is, 2);
        return ST_OK;
    }
    switch (c) {
    case 'b': put_text(t, "\\x08"); return ST_OK;
    case 'B': put_text(t, "\\\\"); return ST_OK;
    case 'v': put_text(t, "\\x0b"); return ST_OK;
    case 'x': return hex_escape(t, 1, 255);
    case 'u': return hex_escape(t, 4, 4);
    case 'U': return hex_escape(t, 8, 8);
    case 'a':
    case 'e':
    case 'f':
    case 'n':
    case 'r':
    case 't':
    case 'd':
    case 's':
    case 'w': put(t, as_is, 2); return ST_OK;
    case 'c':
        if (t->p >= t->end || (signed char)*t->p < 0) return invalid(t, BAD_ESCAPE);
        c = (char)(*t->p++ & 31);
        put_text(t, "\\x{");
        put(t, &"01"[c >> 4], 1);
        put(t, &"0123456789abcdef"[c & 15], 1);
        put_text(t, "}");
        return ST_OK;
    default: break;
    }
    if (c >= '0' && c <= '9') {
        put(t, as_is, 2);
        return ST_OK;
    }
    if (t->bracket) return invalid(t, BAD_ESCAPE);
    switch (c) {
    case 'D':
    case 'S':
    case 'W':
    case 'A': put(t, as_is, 2); return ST_OK;
    case 'Z': put_text(t, "\\z"); return ST_OK;
    case 'y': put_text(t, "\\b"); return ST_OK;
    case 'Y': put_text(t, "\\B"); return ST_OK;
    case 'm': put_text(t, "\\b(?=\\w)"); return ST_OK;
    case 'M': put_text(t, "\\b(?<=\\w)"); return ST_OK;
    default: return invalid(t, BAD_ESCAPE);
    }
}

/* Inside brackets, at c. */
static void in_bracket(Pattern *t, char c) {
    if (c == '[' && t->p < t->end && (*t->p == ':' || *t->p == '.' || *t->p == '=')) {
        char kind = *t->p;
        const char *e = t->p + 1;
        while (e + 1 < t->end && !(e[0] == kind && e[1] == ']')) e++;
        if (e + 1 < t->end) { /* [:class:] whole */
            put(t, "[", 1);
            put(t, t->p, e + 2 - t->p);
            t->p = e + 2;
            return;
        }
    }
    if (c == '[') {
        put(t, "\\[", 2);
        return;
    }
    if (c == ']') t->bracket = false;
    put(t, &c, 1);
}

static void open_bracket(Pattern *t) {
    /* [[:<:]] and [[:>:]] are not classes, but word boundaries */
    if (t->end - t->p >= 6 && (memcmp(t->p, "[:<:]]", 6) == 0 || memcmp(t->p, "[:>:]]", 6) == 0)) {
        put_text(t, t->p[2] == '<' ? "\\b(?=\\w)" : "\\b(?<=\\w)");
        t->p += 6;
        return;
    }
    t->bracket = true;
    put(t, "[", 1);
    if (t->p < t->end && *t->p == '^') {
        put(t, t->p++, 1);
        if (!(*t->options & PCRE2_DOTALL)) put(t, "\\n", 2);
    }
    if (t->p < t->end && *t->p == ']') {
        put(t, "\\]", 2);
        t->p++;
    }
}

static Status open_group(Pattern *t) {
    put(t, "(", 1);
    if (t->p < t->end && *t->p == '*') return invalid(t, BAD_QUANTIFIER);
    if (t->p >= t->end || *t->p != '?') return ST_OK;
    char a = t->p + 1 < t->end ? t->p[1] : 0, b = t->p + 2 < t->end ? t->p[2] : 0;
    bool known = a == ':' || a == '=' || a == '!' || a == '#' || (a == '<' && (b == '=' || b == '!'));
    if (!known) return invalid(t, BAD_QUANTIFIER);
    int64_t n = a == '<' ? 3 : 2;
    put(t, t->p, n);
    t->p += n;
    if (a != '#') return ST_OK;
    while (t->p < t->end && *t->p != ')') put(t, t->p++, 1);
    return ST_OK;
}

/* A bound {m}, {m,} or {m,n}: its bytes behind the brace; -1: it is none. */
static int64_t bound_bytes(const Pattern *t) {
    const char *p = t->p;
    int most = 0;
    for (int part = 0; part < 2; part++) {
        int v = 0;
        for (; p < t->end && *p >= '0' && *p <= '9' && v < 1000; p++) v = 10 * v + (*p - '0');
        if (v > most) most = v;
        if (part == 0 && p < t->end && *p == ',') p++;
        else break;
    }
    return p < t->end && *p == '}' && most <= 255 ? p + 1 - t->p : -1;
}

/* A quantifier, and the question mark that makes it prefer few. */
static Status quantifier(Pattern *t, char c) {
    bool was = t->quantified;
    if (c == '{' && (t->p >= t->end || *t->p < '0' || *t->p > '9')) {
        put(t, "\\{", 2);
        t->quantified = false;
        return ST_OK;
    }
    if (was) return invalid(t, BAD_QUANTIFIER);
    put(t, &c, 1);
    if (c == '{') {
        int64_t n = bound_bytes(t);
        if (n < 0) return invalid(t, "invalid repetition count(s)");
        put(t, t->p, n);
        t->p += n;
    }
    if (t->p < t->end && *t->p == '?') put(t, t->p++, 1);
    t->quantified = true;
    return ST_OK;
}

/* ***: and ***=, and then (?flags); literal: what is left is no expression. */
static Status prefixes(Pattern *t, bool *literal) {
    *literal = false;
    if (t->end - t->p >= 3 && memcmp(t->p, "***", 3) == 0) {
        char kind = t->end - t->p > 3 ? t->p[3] : 0;
        if (kind != ':' && kind != '=') return invalid(t, BAD_QUANTIFIER);
        t->p += 4;
        *literal = kind == '=';
        if (*literal) return ST_OK;
    }
    if (t->end - t->p < 3 || t->p[0] != '(' || t->p[1] != '?' || (t->p[2] | 32) < 'a' || (t->p[2] | 32) > 'z')
        return ST_OK;
    const char *q = t->p + 2;
    while (q < t->end && *q != ')') q++;
    if (q == t->end) return invalid(t, "invalid embedded option");
    Slice flags = {t->p + 2, q - (t->p + 2)};
    for (int64_t i = 0; i < flags.len; i++) {
        if (flags.ptr[i] == 'g' || !regex_flag(flags.ptr[i], t->options)) return invalid(t, "invalid embedded option");
    }
    t->p = q + 1;
    *literal = *t->options & PCRE2_LITERAL;
    return ST_OK;
}

bool regex_flag(char c, uint32_t *options) {
    uint32_t o = *options;
    switch (c) {
    case 'i': o |= PCRE2_CASELESS; break;
    case 'c': o &= ~PCRE2_CASELESS; break;
    case 'x': o |= PCRE2_EXTENDED; break;
    case 't': o &= ~PCRE2_EXTENDED; break;
    case 's': o = (o | PCRE2_DOTALL) & ~PCRE2_MULTILINE; break;
    case 'm':
    case 'n': o = (o & ~PCRE2_DOTALL) | PCRE2_MULTILINE; break;
    case 'p': o &= ~(PCRE2_DOTALL | PCRE2_MULTILINE); break;
    case 'w': o |= PCRE2_DOTALL | PCRE2_MULTILINE; break;
    case 'q': o |= PCRE2_LITERAL; break;
    case 'e': break;
    default: return false;
    }
    *options = o;
    return true;
}

Status regex_translate(Str pattern, uint32_t *options, char *out, int64_t *len, Err *err) {
    Pattern t = {.p = pattern.ptr, .end = pattern.ptr + pattern.len, .o = out, .options = options, .err = err};
    bool literal = *options & PCRE2_LITERAL;
    if (!literal) TRY(prefixes(&t, &literal));
    if (literal) {
        *options |= PCRE2_LITERAL;
        if (t.p < t.end) put(&t, t.p, t.end - t.p);
        t.p = t.end;
    }
    while (t.p < t.end) {
        char c = *t.p++;
        bool counts = !t.bracket && (c == '*' || c == '+' || c == '?' || c == '{');
        if (counts) {
            TRY(quantifier(&t, c));
            continue;
        }
        t.quantified = false;
        if (c == '\\') TRY(escape(&t));
        else if (t.bracket) in_bracket(&t, c);
        else if (c == '[') open_bracket(&t);
        else if (c == '(') TRY(open_group(&t));
        else put(&t, &c, 1);
    }
    *len = t.o - out;
    return ST_OK;
}

const char *regex_error_text(int code) {
    switch (code) {
    case PCRE2_ERROR_MISSING_CLOSING_PARENTHESIS:
    case PCRE2_ERROR_UNMATCHED_CLOSING_PARENTHESIS: return "parentheses () not balanced";
    case PCRE2_ERROR_MISSING_SQUARE_BRACKET: return "brackets [] not balanced";
    case PCRE2_ERROR_QUANTIFIER_INVALID: return BAD_QUANTIFIER;
    case PCRE2_ERROR_QUANTIFIER_OUT_OF_ORDER:
    case PCRE2_ERROR_QUANTIFIER_TOO_BIG: return "invalid repetition count(s)";
    case PCRE2_ERROR_CLASS_RANGE_ORDER:
    case PCRE2_ERROR_CLASS_INVALID_RANGE: return "invalid character range";
    case PCRE2_ERROR_UNKNOWN_POSIX_CLASS: return "invalid character class";
    case PCRE2_ERROR_BAD_SUBPATTERN_REFERENCE: return "invalid backreference number";
    case PCRE2_ERROR_END_BACKSLASH: return BAD_ESCAPE;
    case PCRE2_ERROR_POSIX_NO_SUPPORT_COLLATING: return "invalid collating element";
    default: return NULL;
    }
}
