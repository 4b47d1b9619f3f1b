/* jsonpath_parse.c - the grammar of SQL/JSON paths as PostgreSQL 15 has it, and their canonical text.
 *
 * A scanner and a recursive descent. PostgreSQL's are generated from rules (jsonpath_scan.l, jsonpath_gram.y), and its
 * errors show what these have in hand; so two things are done as there. The scanner takes the longest of all tokens
 * that fit, and of equal ones the first in the order of its rules: 123abc is a name, 1a is none. And an error shows the
 * text that was scanned last, which behind a name is what ends it: blanks, or nothing in front of a punctuation mark.
 *
 *     path       = [ "strict" | "lax" ] ( expr | predicate )
 *     predicate  = predicate "||" predicate | predicate "&&" predicate | "!" delimited | delimited
 *                | "(" predicate ")" "is" "unknown" | expr op expr | expr "starts" "with" ( string | variable )
 *                | expr "like_regex" string [ "flag" string ]
 *     delimited  = "(" predicate ")" | "exists" "(" expr ")"
 *     expr       = primary { accessor } | "(" ( expr | predicate ) ")" accessor { accessor } | "(" expr ")"
 *                | ( "+" | "-" ) expr | expr ( "+" | "-" | "*" | "/" | "%" ) expr
 *     primary    = string | number | "null" | "true" | "false" | variable | "$" | "@" | "last"
 *     accessor   = "." ( key | "*" | "**" [ "{" level [ "to" level ] "}" ] | method "(" ")" ) | "?" "(" predicate ")"
 *                | "[" ( "*" | expr [ "to" expr ] { "," ... } ) "]"
 *
 * Whether a parenthesis has an expression or a predicate is known behind it only. So the functions below get what may
 * stand at their place, and fail at the first token with which it cannot be that any more, where a generated parser
 * fails.
 */
#include <string.h>

#include "base/stack.h"
#include "types/chars.h"
#include "types/dec.h"
#include "types/jsonpath.h"
#include "types/type_int.h"

/* ---- tokens ------------------------------------------------------------------------------------- */

typedef enum Token {
    /* characters are tokens by themselves */
    TK_END = 256,
    TK_NAME,
    TK_STRING,
    TK_NUMBER,
    TK_INTEGER,
    TK_VARIABLE,
    TK_OR,
    TK_AND,
    TK_ANY, /* ** */
    TK_LE,
    TK_GE,
    TK_EQ,
    TK_NE,
    TK_TO, /* from here on keywords, which are names, too */
    TK_NULL,
    TK_TRUE,
    TK_FALSE,
    TK_IS,
    TK_UNKNOWN,
    TK_EXISTS,
    TK_STRICT,
    TK_LAX,
    TK_ABS,
    TK_SIZE,
    TK_TYPE,
    TK_FLOOR,
    TK_DOUBLE,
    TK_CEILING,
    TK_DATETIME,
    TK_KEYVALUE,
    TK_LAST,
    TK_STARTS,
    TK_WITH,
    TK_LIKE_REGEX,
    TK_FLAG
} Token;
static const struct {
    const char *word;
    uint16_t token;
    bool lower; /* in lower case only */
} keywords[] = {
    {"to", TK_TO, false},
    {"null", TK_NULL, true},
    {"true", TK_TRUE, true},
    {"false", TK_FALSE, true},
    {"is", TK_IS, false},
    {"unknown", TK_UNKNOWN, false},
    {"exists", TK_EXISTS, false},
    {"strict", TK_STRICT, false},
    {"lax", TK_LAX, false},
    {"abs", TK_ABS, false},
    {"size", TK_SIZE, false},
    {"type", TK_TYPE, false},
    {"floor", TK_FLOOR, false},
    {"double", TK_DOUBLE, false},
    {"ceiling", TK_CEILING, false},
    {"datetime", TK_DATETIME, false},
    {"keyvalue", TK_KEYVALUE, false},
    {"last", TK_LAST, false},
    {"starts", TK_STARTS, false},
    {"with", TK_WITH, false},
    {"like_regex", TK_LIKE_REGEX, false},
    {"flag", TK_FLAG, false},
};

typedef struct Scanner {
    Arena *a;
    const char *p, *end; /* what is not scanned yet */
    Slice shown;         /* what errors show */
    bool ready;          /* token and text are the next token's */
    bool failed;
    int token;
    Slice text; /* of a name, string, variable, number */
    Err *e;
} Scanner;

static NOINLINE Status fail(const Scanner *s, const char *what) {
    if (s->shown.len == 0 || !*s->shown.ptr) return err_set(s->e, ERR_SYNTAX, "%s at end of jsonpath input", what);
    return err_set(s->e, ERR_SYNTAX, "%s at or near \"%.*s\" of jsonpath input", what, (int)MIN_OF(s->shown.len, 800),
                   s->shown.ptr);
}
static Status syntax(const Scanner *s) { return fail(s, "syntax error"); }
static Status no_memory(Err *e) { return err_is_set(e) ? ST_ERROR : err_oom(e); }

static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f'; }
static bool is_special(char c) { return c && strchr("?%$.[]{}()|&!=<>@#,*:-+/", c) != NULL; }
static bool is_other(char c) { return !is_space(c) && !is_special(c) && c != '\\' && c != '"'; }
static const char *skip_others(const char *p, const char *end) {
    while (p < end && is_other(*p)) p++;
    return p;
}

/* ---- escapes ---------------------------------------------------------------------------------------- */

static Status bad_surrogate(Scanner *s, const char *detail) {
    err_set(s->e, ERR_INVALID_TEXT, "invalid input syntax for type %s", "jsonpath");
    err_detail(s->e, "%s", detail);
    return ST_ERROR;
}
static Status put_char(Scanner *s, JsonOut *o, uint32_t c) {
    char bytes[4];
    if (c == 0) {
        err_set(s->e, ERR_UNTRANSLATABLE, "unsupported Unicode escape sequence");
        err_detail(s->e, "\\u0000 cannot be converted to text.");
        return ST_ERROR;
    }
    if (c > 0x10FFFF) return err_set(s->e, ERR_SYNTAX, "invalid Unicode code point");
    json_put(o, bytes, utf8_put(bytes, c) - bytes);
    return ST_OK;
}
#define LOW_WANTED "Unicode low surrogate must follow a high surrogate."
/* One of a run of \u escapes; *high: the surrogate that waits for its second half, or 0. */
static Status put_unicode(Scanner *s, JsonOut *o, uint32_t c, uint32_t *high) {
    if (c >= 0xD800 && c < 0xDC00) {
        if (*high) return bad_surrogate(s, "Unicode high surrogate must not follow a high surrogate.");
        *high = c;
        return ST_OK;
    }
    const bool low = c >= 0xDC00 && c < 0xE000;
    if (low != (*high != 0)) return bad_surrogate(s, LOW_WANTED);
    if (low) c = 0x10000 + ((*high & 0x3FF) << 10) + (c & 0x3FF);
    *high = 0;
    return put_char(s, o, c);
}
/* \uXXXX or \u{X...} at p: what is behind it, or NULL; *stop: behind as much as there is of one. */
static const char *unicode_end(const char *p, const char *end, uint32_t *c, const char **stop) {
    const char *q = p + 2;
    const bool braces = q < end && *q == '{';
    const int most = braces ? 6 : 4;
    int n = 0;
    q += braces;
    for (*c = 0; n < most && q < end && hex_digit(*q) >= 0; n++) *c = *c << 4 | (uint32_t)hex_digit(*q++);
    *stop = q;
    if (braces) return n > 0 && q < end && *q == '}' ? q + 1 : NULL;
    return n == 4 ? q : NULL;
}
static bool is_unicode(const char *p, const char *end) { return end - p >= 2 && p[0] == '\\' && p[1] == 'u'; }
/* All \u escapes in a row. */
static Status scan_unicode(Scanner *s, JsonOut *o) {
    const char *run = s->p, *stop, *next;
    uint32_t c, high = 0;
    for (const char *p = run; is_unicode(p, s->end);
         p = next) { /* that they are well-formed is seen before their use */
        if ((next = unicode_end(p, s->end, &c, &stop)) != NULL) continue;
        s->shown = (Slice){run, stop - run};
        return fail(s, "invalid unicode sequence");
    }
    while (is_unicode(s->p, s->end)) {
        s->p = unicode_end(s->p, s->end, &c, &stop);
        TRY(put_unicode(s, o, c, &high));
    }
    return high ? bad_surrogate(s, LOW_WANTED) : ST_OK;
}
static Status scan_escape(Scanner *s, JsonOut *o) {
    static const char from[] = "bfnrtv", to[] = "\b\f\n\r\t\v";
    const char *p = s->p;
    const char c = s->end - p >= 2 ? p[1] : 0;
    s->shown = (Slice){p, 1};
    if (c == 0 || c == '\n') return fail(s, "unexpected end after backslash");
    if (c == 'u') return scan_unicode(s, o);
    if (c == 'x') {
        const int high = s->end - p > 2 ? hex_digit(p[2]) : -1, low = s->end - p > 3 ? hex_digit(p[3]) : -1;
        s->shown = (Slice){p, high < 0 ? 2 : 3};
        if (high < 0 || low < 0) return fail(s, "invalid hex character sequence");
        s->p += 4;
        return put_char(s, o, (uint32_t)(high << 4 | low));
    }
    const char *known = strchr(from, c);
    json_put(o, known ? &to[known - from] : &c, 1);
    s->p += 2;
    return ST_OK;
}

/* ---- the scanner ---------------------------------------------------------------------------------------- */

/* A comment, from its first character. */
static Status skip_comment(Scanner *s) {
    for (s->p += 2; s->end - s->p >= 2 && !(s->p[0] == '*' && s->p[1] == '/');) s->p++;
    if (s->end - s->p >= 2) return s->p += 2, ST_OK;
    s->shown = (Slice){s->end, 0};
    return fail(s, "unexpected end of comment");
}
static Status text_done(Scanner *s, JsonOut *o, int token) {
    Str text;
    TRY(json_done(o, &text, s->e));
    s->text = (Slice){text.ptr, text.len};
    s->token = token;
    return ST_OK;
}
/* Behind the quote at its beginning. */
static Status scan_string(Scanner *s, int token) {
    JsonOut o = {.a = s->a};
    for (;;) {
        const char *from = s->p;
        while (s->p < s->end && *s->p != '"' && *s->p != '\\') s->p++;
        json_put(&o, from, s->p - from);
        if (s->p == s->end) {
            s->shown = (Slice){s->end, 0};
            return fail(s, "unexpected end of quoted string");
        }
        if (*s->p == '"') break;
        TRY(scan_escape(s, &o));
    }
    s->shown = (Slice){s->p++, 1};
    return text_done(s, &o, token);
}
static int keyword(Slice text) {
    for (int64_t i = 0; i < ARRAY_LEN(keywords); i++) {
        const char *w = keywords[i].word;
        if ((int64_t)strlen(w) != text.len) continue;
        int64_t k = 0;
        while (k < text.len && (keywords[i].lower ? text.ptr[k] : to_lower(text.ptr[k])) == w[k]) k++;
        if (k == text.len) return keywords[i].token;
    }
    return TK_NAME;
}
/* A name, up to what ends it. *lost: that is a comment, and with it goes the name, as in PostgreSQL. */
static Status scan_name(Scanner *s, bool *lost) {
    JsonOut o = {.a = s->a};
    *lost = false;
    for (;;) {
        const char *from = s->p;
        s->p = skip_others(s->p, s->end);
        json_put(&o, from, s->p - from);
        if (s->p == s->end || *s->p != '\\') break;
        TRY(scan_escape(s, &o));
    }
    if (s->end - s->p >= 2 && s->p[0] == '/' && s->p[1] == '*') {
        *lost = true;
        return skip_comment(s);
    }
    const char *from = s->p;
    while (s->p < s->end && is_space(*s->p)) s->p++;
    s->shown = (Slice){from, s->p - from};
    TRY(text_done(s, &o, TK_NAME));
    s->token = keyword(s->text);
    return ST_OK;
}

static const char *digits(const char *p, const char *end) {
    while (p < end && is_digit(*p)) p++;
    return p;
}
/* A number at the scanner's place, by the longest rule that fits; *found false: a name is longer. */
static Status scan_number(Scanner *s, bool *found) {
    const char *from = s->p, *end = s->end, *p = from, *name = skip_others(from, end);
    int token = TK_INTEGER;
    if (*p != '.') p = *p == '0' ? p + 1 : digits(p, end);
    if (p < end && *p == '.' && (p > from || (p + 1 < end && is_digit(p[1])))) {
        p = digits(p + 1, end);
        token = TK_NUMBER;
    }
    const char *mark = p < end && (*p == 'e' || *p == 'E') ? p + 1 : NULL;
    const char *sign = mark && mark < end && (*mark == '+' || *mark == '-') ? mark + 1 : NULL;
    const char *power = sign ? sign : mark;
    const bool real = power && digits(power, end) > power;
    const bool junk = real ? digits(power, end) < end && is_other(*digits(power, end)) : p < end && is_other(*p);
    if (real) {
        p = digits(power, end);
        token = TK_NUMBER;
    }
    const char *stop = !real && sign ? sign : p + junk;
    *found = stop >= name;
    if (!*found) return ST_OK;
    if (junk || (!real && sign)) {
        s->shown = (Slice){from, stop - from};
        while (stop < end && ((unsigned char)*stop & 0xC0) == 0x80) stop++, s->shown.len++; /* whole characters */
        return fail(s, !real && sign ? "invalid numeric literal" : "trailing junk after numeric literal");
    }
    s->p = p;
    s->token = token;
    s->text = s->shown = (Slice){from, p - from};
    return ST_OK;
}

static Status scan_variable(Scanner *s) {
    const char *from = s->p + 1, *stop = skip_others(from, s->end);
    if (stop == from && stop < s->end && *stop == '"') {
        s->p += 2;
        return scan_string(s, TK_VARIABLE);
    }
    s->shown = (Slice){s->p, stop - s->p};
    s->text = (Slice){from, stop - from};
    s->token = stop > from ? TK_VARIABLE : '$';
    s->p = stop;
    return ST_OK;
}
static void scan_mark(Scanner *s) {
    static const struct {
        char text[3];
        uint16_t token;
    } pairs[] = {{"&&", TK_AND}, {"||", TK_OR}, {"**", TK_ANY}, {"<=", TK_LE},
                 {">=", TK_GE},  {"==", TK_EQ}, {"<>", TK_NE},  {"!=", TK_NE}};
    s->shown = (Slice){s->p, 1};
    s->token = (unsigned char)*s->p;
    for (int64_t i = 0; i < ARRAY_LEN(pairs) && s->end - s->p >= 2; i++) {
        if (memcmp(s->p, pairs[i].text, 2) != 0) continue;
        s->token = pairs[i].token;
        s->shown.len = 2;
        break;
    }
    s->p += s->shown.len;
}
static Status scan(Scanner *s) {
    for (;;) {
        while (s->p < s->end && is_space(*s->p)) s->p++;
        s->shown = (Slice){s->end, 0};
        if (s->p == s->end) return s->token = TK_END, ST_OK;
        const char c = *s->p, next = s->end - s->p >= 2 ? s->p[1] : 0;
        if (c == '/' && next == '*') {
            TRY(skip_comment(s));
            continue;
        }
        if (is_digit(c) || (c == '.' && is_digit(next))) {
            bool found;
            TRY(scan_number(s, &found));
            if (found) return ST_OK;
        }
        if (c == '"') return s->p++, scan_string(s, TK_STRING);
        if (c == '$') return scan_variable(s);
        if (is_special(c)) return scan_mark(s), ST_OK;
        bool lost;
        TRY(scan_name(s, &lost));
        if (!lost) return ST_OK;
    }
}

/* ---- trees -------------------------------------------------------------------------------------------- */

typedef struct Parser {
    Scanner s;
    Arena *a;
    Err *e;
} Parser;

/* The next token; 0 on an error, which is in p->e. It is scanned when it is asked for, not before. */
static int peek(Parser *p) {
    if (p->s.ready) return p->s.token;
    p->s.failed = p->s.failed || scan(&p->s) != ST_OK;
    p->s.ready = !p->s.failed;
    return p->s.ready ? p->s.token : 0;
}
static void take(Parser *p) { p->s.ready = false; }
static Status unexpected(Parser *p) { return peek(p) ? syntax(&p->s) : ST_ERROR; }
static Status expect(Parser *p, int token) {
    if (peek(p) != token) return unexpected(p);
    take(p);
    return ST_OK;
}

static Status node(Parser *p, JpKind kind, JpNode **out) {
    JpNode *x = arena_new_of(p->a, JpNode);
    if (!x) return no_memory(p->e);
    x->kind = (uint8_t)kind;
    *out = x;
    return ST_OK;
}
static Status pair(Parser *p, JpKind kind, JpNode *left, JpNode *right, JpNode **out) {
    TRY(node(p, kind, out));
    (*out)->left = left;
    (*out)->right = right;
    return ST_OK;
}
/* Of the token that is next. */
static Status text_node(Parser *p, JpKind kind, JpNode **out) {
    JsonOut o = {.a = p->a};
    Str json;
    take(p);
    TRY(node(p, kind, out));
    (*out)->text = p->s.text;
    json_put_string(&o, p->s.text);
    TRY(json_done(&o, &json, p->e));
    (*out)->json = (Slice){json.ptr, json.len};
    return ST_OK;
}
static Status number_node(Parser *p, JpNode **out) {
    Dec d;
    Str text;
    take(p);
    TRY(dec_parse(p->a, p->s.text, &d, p->e));
    TRY(dec_format(p->a, &d, &text, p->e));
    TRY(node(p, JP_NUMBER, out));
    (*out)->json = (*out)->text = (Slice){text.ptr, text.len};
    return ST_OK;
}
static Status word_node(Parser *p, JpKind kind, const char *word, JpNode **out) {
    take(p);
    TRY(node(p, kind, out));
    (*out)->json = slice_of(word);
    (*out)->flags = *word == 't';
    return ST_OK;
}
/* A sign in front of a number is part of it. */
static Status signed_node(Parser *p, JpKind kind, JpNode *x, JpNode **out) {
    const bool number = x->kind == JP_NUMBER && !x->next;
    if (kind == JP_PLUS && number) return *out = x, ST_OK;
    if (!number) return pair(p, kind, x, NULL, out);
    Dec d;
    Str text;
    TRY(dec_parse(p->a, x->text, &d, p->e));
    if (d.n) d.neg = !d.neg;
    TRY(dec_format(p->a, &d, &text, p->e));
    TRY(node(p, JP_NUMBER, out));
    (*out)->json = (*out)->text = (Slice){text.ptr, text.len};
    return ST_OK;
}

/* ---- the grammar ------------------------------------------------------------------------------------- */

/* What may stand at a place. */
typedef enum Want { WANT_ANY, WANT_EXPR, WANT_PREDICATE } Want;

static Status predicates(Parser *p, Want want, JpNode **out, bool *predicate);
static Status arithmetic(Parser *p, int least, Want want, JpNode **out, bool *predicate, bool *delimited);

static Status expression(Parser *p, JpNode **out) {
    bool predicate, delimited;
    return arithmetic(p, 0, WANT_EXPR, out, &predicate, &delimited);
}
/* "(" predicate ")" */
static Status condition(Parser *p, JpNode **out) {
    bool predicate;
    TRY(expect(p, '('));
    TRY(predicates(p, WANT_PREDICATE, out, &predicate));
    return expect(p, ')');
}

static Status level(Parser *p, uint32_t *out) {
    const int t = peek(p);
    if (t == TK_LAST) {
        take(p);
        *out = JP_LEVEL_LAST;
        return ST_OK;
    }
    if (t != TK_INTEGER) return unexpected(p);
    int64_t v = 0;
    const Slice text = p->s.text;
    take(p);
    for (int64_t i = 0; i < text.len && v <= INT32_MAX; i++) v = v * 10 + (text.ptr[i] - '0');
    if (v > INT32_MAX)
        return err_set(p->e, ERR_NUMERIC_RANGE, "value \"%.*s\" is out of range for type integer",
                       (int)MIN_OF(text.len, 800), text.ptr);
    *out = (uint32_t)v;
    return ST_OK;
}
/* Behind the stars. */
static Status levels(Parser *p, JpNode **out) {
    TRY(node(p, JP_LEVELS, out));
    (*out)->high = JP_LEVEL_LAST;
    if (peek(p) != '{') return p->s.ready ? ST_OK : ST_ERROR;
    take(p);
    TRY(level(p, &(*out)->low));
    (*out)->high = (*out)->low;
    if (peek(p) == TK_TO) {
        take(p);
        TRY(level(p, &(*out)->high));
    }
    return expect(p, '}');
}
/* Behind a point. */
static Status member(Parser *p, JpNode **out) {
    static const uint8_t methods[][2] = {{TK_ABS - TK_TO, JP_ABS},           {TK_SIZE - TK_TO, JP_SIZE},
                                         {TK_TYPE - TK_TO, JP_TYPE},         {TK_FLOOR - TK_TO, JP_FLOOR},
                                         {TK_DOUBLE - TK_TO, JP_DOUBLE},     {TK_CEILING - TK_TO, JP_CEILING},
                                         {TK_DATETIME - TK_TO, JP_DATETIME}, {TK_KEYVALUE - TK_TO, JP_KEYVALUE}};
    const int t = peek(p);
    if (t == '*') {
        take(p);
        return node(p, JP_ANY_KEY, out);
    }
    if (t == TK_ANY) {
        take(p);
        return levels(p, out);
    }
    if (t != TK_NAME && t != TK_STRING && t < TK_TO) return unexpected(p);
    int method = -1;
    for (int64_t i = 0; i < ARRAY_LEN(methods); i++)
        if (t == TK_TO + methods[i][0]) method = methods[i][1];
    TRY(text_node(p, JP_KEY, out));
    if (method < 0) return ST_OK;
    if (peek(p) != '(') return p->s.ready ? ST_OK : ST_ERROR;
    take(p);
    TRY(node(p, (JpKind)method, out));
    if (method == JP_DATETIME && peek(p) == TK_STRING) TRY(text_node(p, JP_STRING, &(*out)->left));
    return expect(p, ')');
}
typedef struct Subscripts {
    JpNode **items;
    int64_t len, cap;
} Subscripts;
/* Behind the bracket. */
static Status subscripts(Parser *p, JpNode **out) {
    Subscripts from = {0}, to = {0};
    if (peek(p) == '*') {
        take(p);
        TRY(node(p, JP_ANY_ARRAY, out));
        return expect(p, ']');
    }
    for (;;) {
        JpNode *low, *high = NULL;
        TRY(expression(p, &low));
        if (peek(p) == TK_TO) {
            take(p);
            TRY(expression(p, &high));
        }
        if (!vec_push(p->a, &from, low) || !vec_push(p->a, &to, high)) return no_memory(p->e);
        if (peek(p) != ',') break;
        take(p);
    }
    TRY(expect(p, ']'));
    TRY(node(p, JP_SUBSCRIPTS, out));
    (*out)->n = (int32_t)from.len;
    (*out)->from = from.items;
    (*out)->to = to.items;
    return ST_OK;
}
/* Accessors behind *out. some: whether there are any. */
static Status accessors(Parser *p, JpNode *head, bool *some) {
    JpNode *last = head;
    *some = false;
    while (last->next) last = last->next;
    for (;;) {
        JpNode *x = NULL;
        const int t = peek(p);
        if (t != '.' && t != '[' && t != '?') return p->s.ready ? ST_OK : ST_ERROR;
        take(p);
        *some = true;
        if (t == '.') {
            TRY(member(p, &x));
        } else if (t == '[') {
            TRY(subscripts(p, &x));
        } else {
            TRY(node(p, JP_FILTER, &x));
            TRY(condition(p, &x->left));
        }
        last->next = x;
        last = x;
    }
}

static Status primary(Parser *p, JpNode **out) {
    switch (peek(p)) {
    case TK_STRING: return text_node(p, JP_STRING, out);
    case TK_VARIABLE: return text_node(p, JP_VARIABLE, out);
    case TK_NUMBER:
    case TK_INTEGER: return number_node(p, out);
    case TK_NULL: return word_node(p, JP_NULL, "null", out);
    case TK_TRUE: return word_node(p, JP_BOOL, "true", out);
    case TK_FALSE: return word_node(p, JP_BOOL, "false", out);
    case '$': take(p); return node(p, JP_ROOT, out);
    case '@': take(p); return node(p, JP_CURRENT, out);
    case TK_LAST: take(p); return node(p, JP_LAST, out);
    default: return unexpected(p);
    }
}
/* A primary or what is in parentheses, with accessors. *predicate: it is one, and has none. */
static Status operand(Parser *p, Want want, JpNode **out, bool *predicate) {
    bool some;
    *predicate = false;
    if (peek(p) != '(') {
        TRY(primary(p, out));
        return accessors(p, *out, &some);
    }
    take(p);
    TRY(predicates(p, WANT_ANY, out, predicate));
    TRY(expect(p, ')'));
    TRY(accessors(p, *out, &some));
    *predicate &= !some;
    return *predicate && want == WANT_EXPR ? unexpected(p) : ST_OK;
}

enum { SUM = 1, PRODUCT, SIGN };
static int binding(int token, JpKind *kind) {
    static const struct {
        char mark;
        uint8_t kind, binds;
    } ops[] = {
        {'+', JP_ADD, SUM}, {'-', JP_SUB, SUM}, {'*', JP_MUL, PRODUCT}, {'/', JP_DIV, PRODUCT}, {'%', JP_MOD, PRODUCT}};
    for (int64_t i = 0; i < ARRAY_LEN(ops); i++) {
        if (ops[i].mark != token) continue;
        *kind = (JpKind)ops[i].kind;
        return ops[i].binds;
    }
    return -1;
}
/* An expression of operators that bind as `least` and more, or, where it is wanted, a predicate in parentheses, which
 * is what *delimited says. */
static Status arithmetic(Parser *p, int least, Want want, JpNode **out, bool *predicate, bool *delimited) {
    JpKind kind;
    bool none;
    TRY(stack_check(p->e));
    *predicate = *delimited = false;
    const int t = peek(p);
    if (t == '+' || t == '-') {
        JpNode *x;
        take(p);
        TRY(arithmetic(p, SIGN, WANT_EXPR, &x, &none, &none));
        TRY(signed_node(p, t == '+' ? JP_PLUS : JP_MINUS, x, out));
    } else {
        TRY(operand(p, want, out, predicate));
        *delimited = *predicate;
    }
    for (int binds; !*predicate && (binds = binding(peek(p), &kind)) >= 0 && binds >= least;) {
        JpNode *right;
        take(p);
        TRY(arithmetic(p, binds + 1, WANT_EXPR, &right, &none, &none));
        TRY(pair(p, kind, *out, right, out));
    }
    return p->s.ready || peek(p) ? ST_OK : ST_ERROR;
}

static Status pattern(Parser *p, JpNode *left, JpNode **out) {
    static const char letters[] = "ismxq";
    if (peek(p) != TK_STRING) return unexpected(p);
    TRY(text_node(p, JP_LIKE_REGEX, out));
    (*out)->left = left;
    if (peek(p) == TK_FLAG) {
        take(p);
        if (peek(p) != TK_STRING) return unexpected(p);
        take(p);
        for (int64_t i = 0; i < p->s.text.len; i++) {
            const char *c = p->s.text.ptr + i, *known = strchr(letters, *c);
            if (!known) {
                err_set(p->e, ERR_SYNTAX, "invalid input syntax for type %s", "jsonpath");
                err_detail(p->e, "Unrecognized flag character \"%.*s\" in LIKE_REGEX predicate.",
                           (int)utf8_prefix_bytes(c, p->s.text.len - i, 1), c);
                return ST_ERROR;
            }
            (*out)->flags |= (uint8_t)(1 << (known - letters));
        }
    } else if (!p->s.ready) {
        return ST_ERROR;
    }
    return regex_like(p->a, str_make((*out)->text.ptr, (*out)->text.len), (*out)->flags, &(*out)->regex, p->e);
}
static Status starts_with(Parser *p, JpNode *left, JpNode **out) {
    JpNode *right;
    TRY(expect(p, TK_WITH));
    const int t = peek(p);
    if (t != TK_STRING && t != TK_VARIABLE) return unexpected(p);
    TRY(text_node(p, t == TK_STRING ? JP_STRING : JP_VARIABLE, &right));
    return pair(p, JP_STARTS_WITH, left, right, out);
}
/* What follows an expression and makes a predicate of it; *predicate false: nothing. */
static Status comparison(Parser *p, JpNode **x, bool *predicate) {
    static const struct {
        uint16_t token;
        uint8_t kind;
    } ops[] = {{TK_EQ, JP_EQ}, {TK_NE, JP_NE}, {'<', JP_LT}, {TK_LE, JP_LE}, {'>', JP_GT}, {TK_GE, JP_GE}};
    const int t = peek(p);
    *predicate = true;
    if (t == TK_STARTS || t == TK_LIKE_REGEX) {
        take(p);
        return t == TK_STARTS ? starts_with(p, *x, x) : pattern(p, *x, x);
    }
    for (int64_t i = 0; i < ARRAY_LEN(ops); i++) {
        JpNode *right;
        if (t != ops[i].token) continue;
        take(p);
        TRY(expression(p, &right));
        return pair(p, (JpKind)ops[i].kind, *x, right, x);
    }
    *predicate = false;
    return t ? ST_OK : ST_ERROR;
}
static Status exists(Parser *p, JpNode **out) {
    JpNode *x;
    TRY(expect(p, TK_EXISTS));
    TRY(expect(p, '('));
    TRY(expression(p, &x));
    TRY(expect(p, ')'));
    return pair(p, JP_EXISTS, x, NULL, out);
}
/* A predicate without && and ||, or an expression. */
static Status simple(Parser *p, Want want, JpNode **out, bool *predicate) {
    bool delimited;
    JpNode *x;
    const int t = peek(p);
    *predicate = true;
    if (t == '!') {
        take(p);
        if (peek(p) == TK_EXISTS) TRY(exists(p, &x));
        else TRY(condition(p, &x));
        return pair(p, JP_NOT, x, NULL, out);
    }
    if (t == TK_EXISTS) return exists(p, out);
    TRY(arithmetic(p, 0, want, out, predicate, &delimited));
    if (delimited && peek(p) == TK_IS) {
        take(p);
        TRY(expect(p, TK_UNKNOWN));
        return pair(p, JP_IS_UNKNOWN, *out, NULL, out);
    }
    if (!*predicate) TRY(comparison(p, out, predicate));
    return want == WANT_PREDICATE && !*predicate ? unexpected(p) : ST_OK;
}
static Status conjunction(Parser *p, Want want, JpNode **out, bool *predicate) {
    TRY(simple(p, want, out, predicate));
    while (*predicate && peek(p) == TK_AND) {
        JpNode *right;
        take(p);
        TRY(simple(p, WANT_PREDICATE, &right, predicate));
        TRY(pair(p, JP_AND, *out, right, out));
    }
    return ST_OK;
}
static Status predicates(Parser *p, Want want, JpNode **out, bool *predicate) {
    TRY(stack_check(p->e));
    TRY(conjunction(p, want, out, predicate));
    while (*predicate && peek(p) == TK_OR) {
        JpNode *right;
        take(p);
        TRY(conjunction(p, WANT_PREDICATE, &right, predicate));
        TRY(pair(p, JP_OR, *out, right, out));
    }
    return ST_OK;
}

/* @ is known in filters, and last in subscripts, only. */
static Status check_places(const JpNode *x, bool filter, bool subscript, Err *e) {
    TRY(stack_check(e));
    for (; x; x = x->next) {
        if (x->kind == JP_CURRENT && !filter) return err_set(e, ERR_SYNTAX, "@ is not allowed in root expressions");
        if (x->kind == JP_LAST && !subscript) return err_set(e, ERR_SYNTAX, "LAST is allowed only in array subscripts");
        if (x->left) TRY(check_places(x->left, filter || x->kind == JP_FILTER, subscript, e));
        if (x->right) TRY(check_places(x->right, filter, subscript, e));
        for (int32_t i = 0; i < x->n; i++) {
            TRY(check_places(x->from[i], filter, true, e));
            if (x->to[i]) TRY(check_places(x->to[i], filter, true, e));
        }
    }
    return ST_OK;
}

Status jsonpath_parse(Arena *a, Slice text, JsonPath *out, Err *e) {
    Parser p = {.a = a, .e = e, .s = {.a = a, .e = e, .p = text.ptr, .end = text.ptr + text.len}};
    bool predicate;
    const int t = peek(&p);
    *out = (JsonPath){.lax = t != TK_STRICT};
    if (t == TK_END)
        return err_set(e, ERR_INVALID_TEXT, "invalid input syntax for type %s: \"%.*s\"", "jsonpath",
                       (int)MIN_OF(text.len, 800), text.ptr);
    if (t == TK_STRICT || t == TK_LAX) take(&p);
    TRY(predicates(&p, WANT_ANY, &out->root, &predicate));
    TRY(expect(&p, TK_END));
    return check_places(out->root, false, false, e);
}

/* ---- canonical text -------------------------------------------------------------------------------------- */

static const char *const names[] = {
    [JP_OR] = "||",
    [JP_AND] = "&&",
    [JP_EQ] = "==",
    [JP_NE] = "!=",
    [JP_LT] = "<",
    [JP_LE] = "<=",
    [JP_GT] = ">",
    [JP_GE] = ">=",
    [JP_STARTS_WITH] = "starts with",
    [JP_ADD] = "+",
    [JP_SUB] = "-",
    [JP_MUL] = "*",
    [JP_DIV] = "/",
    [JP_MOD] = "%",
    [JP_PLUS] = "+",
    [JP_MINUS] = "-",
    [JP_TYPE] = "type",
    [JP_SIZE] = "size",
    [JP_DOUBLE] = "double",
    [JP_CEILING] = "ceiling",
    [JP_FLOOR] = "floor",
    [JP_ABS] = "abs",
    [JP_DATETIME] = "datetime",
    [JP_KEYVALUE] = "keyvalue",
};
const char *jp_name(uint8_t kind) { return kind < ARRAY_LEN(names) && names[kind] ? names[kind] : ""; }

/* How strongly an operator binds. */
static int priority(uint8_t kind) {
    switch ((JpKind)kind) {
    case JP_OR: return 0;
    case JP_AND: return 1;
    case JP_EQ:
    case JP_NE:
    case JP_LT:
    case JP_GT:
    case JP_LE:
    case JP_GE:
    case JP_STARTS_WITH: return 2;
    case JP_ADD:
    case JP_SUB: return 3;
    case JP_MUL:
    case JP_DIV:
    case JP_MOD: return 4;
    case JP_PLUS:
    case JP_MINUS: return 5;
    default: return 6;
    }
}

static Status put_path(JsonOut *o, const JpNode *x, bool parentheses, Err *e);
static Status put_operand(JsonOut *o, const JpNode *of, const JpNode *x, Err *e) {
    return put_path(o, x, priority(x->kind) <= priority(of->kind), e);
}
static Status put_operator(JsonOut *o, const JpNode *x, Err *e) {
    if (x->kind != JP_PLUS && x->kind != JP_MINUS) TRY(put_operand(o, x, x->left, e));
    if (x->kind == JP_LIKE_REGEX) {
        json_put_text(o, " like_regex ");
        json_put_slice(o, x->json);
        if (x->flags) json_put_text(o, " flag \"");
        for (int i = 0; i < 5; i++)
            if (x->flags & 1 << i) json_put(o, &"ismxq"[i], 1);
        if (x->flags) json_put_text(o, "\"");
        return ST_OK;
    }
    if (x->right) json_put_text(o, " ");
    json_put_slice(o, slice_of(jp_name(x->kind)));
    if (x->right) json_put_text(o, " ");
    return put_operand(o, x, x->right ? x->right : x->left, e);
}
static void put_level(JsonOut *o, uint32_t level) {
    char b[16];
    if (level == JP_LEVEL_LAST) json_put_text(o, "last");
    else json_put(o, b, numeric_format(level, 0, false, b));
}
static void put_levels(JsonOut *o, const JpNode *x) {
    json_put_text(o, "**");
    if (x->low == 0 && x->high == JP_LEVEL_LAST) return;
    json_put_text(o, "{");
    put_level(o, x->low);
    if (x->low != x->high) {
        json_put_text(o, " to ");
        put_level(o, x->high);
    }
    json_put_text(o, "}");
}
static Status put_subscripts(JsonOut *o, const JpNode *x, Err *e) {
    json_put_text(o, "[");
    for (int32_t i = 0; i < x->n; i++) {
        if (i) json_put_text(o, ",");
        TRY(put_path(o, x->from[i], false, e));
        if (!x->to[i]) continue;
        json_put_text(o, " to ");
        TRY(put_path(o, x->to[i], false, e));
    }
    json_put_text(o, "]");
    return ST_OK;
}
/* What has its argument in parentheses of its own. */
static Status put_around(JsonOut *o, const JpNode *x, const char *before, const char *after, Err *e) {
    json_put_slice(o, slice_of(before));
    if (x->left) TRY(put_path(o, x->left, false, e));
    json_put_slice(o, slice_of(after));
    return ST_OK;
}
static Status put_node(JsonOut *o, const JpNode *x, Err *e) {
    switch ((JpKind)x->kind) {
    case JP_VARIABLE: json_put_text(o, "$"); return json_put_slice(o, x->json), ST_OK;
    case JP_KEY: json_put_text(o, "."); return json_put_slice(o, x->json), ST_OK;
    case JP_ROOT: return json_put_text(o, "$"), ST_OK;
    case JP_CURRENT: return json_put_text(o, "@"), ST_OK;
    case JP_LAST: return json_put_text(o, "last"), ST_OK;
    case JP_ANY_KEY: return json_put_text(o, ".*"), ST_OK;
    case JP_ANY_ARRAY: return json_put_text(o, "[*]"), ST_OK;
    case JP_SUBSCRIPTS: return put_subscripts(o, x, e);
    case JP_LEVELS: json_put_text(o, "."); return put_levels(o, x), ST_OK;
    case JP_FILTER: return put_around(o, x, "?(", ")", e);
    case JP_NOT: return put_around(o, x, "!(", ")", e);
    case JP_IS_UNKNOWN: return put_around(o, x, "(", ") is unknown", e);
    case JP_EXISTS: return put_around(o, x, "exists (", ")", e);
    case JP_DATETIME: return put_around(o, x, ".datetime(", ")", e);
    case JP_TYPE:
    case JP_SIZE:
    case JP_DOUBLE:
    case JP_CEILING:
    case JP_FLOOR:
    case JP_ABS:
    case JP_KEYVALUE:
        json_put_text(o, ".");
        json_put_slice(o, slice_of(jp_name(x->kind)));
        json_put_text(o, "()");
        return ST_OK;
    case JP_NULL:
    case JP_BOOL:
    case JP_NUMBER:
    case JP_STRING: return json_put_slice(o, x->json), ST_OK;
    default: return put_operator(o, x, e);
    }
}
/* A chain. Operators are put in parentheses where they are asked for, or have accessors, which bind more strongly. */
static Status put_path(JsonOut *o, const JpNode *x, bool parentheses, Err *e) {
    TRY(stack_check(e));
    const bool op = priority(x->kind) < 6 || x->kind == JP_LIKE_REGEX;
    const bool other = x->kind == JP_NUMBER || x->kind == JP_NOT || x->kind == JP_EXISTS || x->kind == JP_IS_UNKNOWN;
    const bool around = (op && (parentheses || x->next)) || (other && x->next);
    if (around) json_put_text(o, "(");
    TRY(put_node(o, x, e));
    if (around) json_put_text(o, ")");
    for (x = x->next; x; x = x->next) TRY(put_node(o, x, e));
    return ST_OK;
}

Status jsonpath_from_text(Arena *a, Slice text, Str *out, Err *e) {
    Arena *tree = arena_new(arena_account(a), e);
    JsonOut o = {.a = a};
    JsonPath path;
    if (!tree) return no_memory(e);
    Status st = jsonpath_parse(tree, text, &path, e);
    if (st == ST_OK) {
        if (!path.lax) json_put_text(&o, "strict ");
        st = put_path(&o, path.root, true, e);
    }
    arena_free(tree);
    TRY(st);
    return json_done(&o, out, e);
}
