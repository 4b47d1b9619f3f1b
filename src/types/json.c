/* json.c - the grammar of JSON as PostgreSQL has it, and the canonical text of jsonb.
 *
 * One recursive descent serves both types: of json it only checks, of jsonb it writes the canonical text as it goes.
 * As in PostgreSQL's parser the next token is read before the present one is used, so that of two errors the same one
 * is reported. Messages, details and the excerpt of the context are PostgreSQL 15's (jsonapi.c, jsonfuncs.c).
 */
#include "types/json.h"

#include <stdlib.h>

#include "base/stack.h"
#include "types/chars.h"
#include "types/dec.h"
#include "types/type_int.h"

typedef enum Token {
    TK_NONE, /* before the first, and where the text has no token */
    TK_STRING,
    TK_NUMBER,
    TK_WORD, /* true, false, null */
    TK_PUNCTUATION,
    TK_END
} Token;

typedef struct Parser {
    Slice text;
    const char *end;
    const char *token, *token_end;
    const char *line_start;
    int64_t line;
    Token kind;
    Arena *escapes; /* NULL: whether the escapes are characters of a text does not matter */
    JsonOut *out;   /* NULL: only checked */
    JsonPairs pairs;
    Str string; /* jsonb: the string token's text without escapes */
    Err *e;
} Parser;

/* ---- errors ------------------------------------------------------------------------------ */

/* The line up to the end of the token, at most about 50 bytes of it. */
static void excerpt(const Parser *p) {
    const char *from = p->line_start, *to = p->token_end;
    while (to - from >= 50) {
        from++;
        while (from < to && ((unsigned char)*from & 0xC0) == 0x80) from++;
    }
    if (from - p->line_start <= 3) from = p->line_start;
    bool more = p->kind != TK_END && to < p->end && *to != '\n' && *to != '\r';
    err_context(p->e, "JSON data, line %lld: %s%.*s%s", (long long)p->line, from > p->line_start ? "..." : "",
                (int)(to - from), from, more ? "..." : "");
}

static NOINLINE Status syntax(const Parser *p, const char *detail, Slice token) {
    err_set(p->e, ERR_INVALID_TEXT, "invalid input syntax for type json");
    err_detail(p->e, detail, (int)MIN_OF(token.len, 800), token.ptr);
    excerpt(p);
    return ST_ERROR;
}
static Slice token_of(const Parser *p) { return (Slice){p->token, p->token_end - p->token}; }
static Status invalid_token(const Parser *p) { return syntax(p, "Token \"%.*s\" is invalid.", token_of(p)); }
static Status unexpected(const Parser *p, const char *detail) {
    if (p->kind == TK_END) return syntax(p, "The input string ended unexpectedly.", (Slice){"", 0});
    return syntax(p, detail, token_of(p));
}

/* ---- escapes ---------------------------------------------------------------------------------- */

static int hex4(const char *s) {
    int v = 0;
    for (int i = 0; i < 4; i++) v = v * 16 + hex_digit(s[i]);
    return v;
}

typedef enum EscapeError { ESCAPE_OK, ESCAPE_ZERO, ESCAPE_HIGH, ESCAPE_LOW } EscapeError;

/* The text between the quotes without its escapes, which are well-formed; out has room for as many bytes. */
static EscapeError unescape(const char *s, const char *end, char *out, int64_t *len) {
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    char *w = out;
    uint32_t high = 0;
    while (s < end) {
        if (*s != '\\' || s[1] != 'u') {
            if (high) return ESCAPE_LOW;
            if (*s == '\\') {
                *w++ = to[strchr(from, s[1]) - from];
                s++;
            } else {
                *w++ = *s;
            }
            s++;
            continue;
        }
        uint32_t c = (uint32_t)hex4(s + 2);
        s += 6;
        if (c >= 0xD800 && c <= 0xDBFF) {
            if (high) return ESCAPE_HIGH;
            high = c;
            continue;
        }
        bool low = c >= 0xDC00 && c <= 0xDFFF;
        if (low != (high != 0)) return ESCAPE_LOW;
        if (low) c = 0x10000 + ((high - 0xD800) << 10) + (c - 0xDC00);
        high = 0;
        if (c == 0) return ESCAPE_ZERO;
        w = utf8_put(w, c);
    }
    *len = w - out;
    return high ? ESCAPE_LOW : ESCAPE_OK;
}

static Status escape_error(EscapeError code, Err *e) {
    if (code == ESCAPE_ZERO) {
        err_set(e, ERR_UNTRANSLATABLE, "unsupported Unicode escape sequence");
        err_detail(e, "\\u0000 cannot be converted to text.");
        return ST_ERROR;
    }
    err_set(e, ERR_INVALID_TEXT, "invalid input syntax for type json");
    err_detail(e, code == ESCAPE_HIGH ? "Unicode high surrogate must not follow a high surrogate."
                                      : "Unicode low surrogate must follow a high surrogate.");
    return ST_ERROR;
}

/* s: between the quotes. */
static Status plain_text(Arena *a, Slice s, Str *out, EscapeError *code, Err *e) {
    *code = ESCAPE_OK;
    *out = str_make(s.ptr, s.len);
    if (s.len == 0 || !memchr(s.ptr, '\\', (size_t)s.len)) return ST_OK;
    char *p = arena_alloc(a, s.len);
    int64_t len = 0;
    if (!p) return err_is_set(e) ? ST_ERROR : err_oom(e);
    *code = unescape(s.ptr, s.ptr + s.len, p, &len);
    *out = str_make(p, len);
    return ST_OK;
}

Status json_unescape(Arena *a, Slice string, Str *out, Err *e) {
    EscapeError code;
    TRY(plain_text(a, (Slice){string.ptr + 1, MAX_OF(string.len - 2, 0)}, out, &code, e));
    return code == ESCAPE_OK ? ST_OK : escape_error(code, e);
}

bool json_string_is(Slice string, Slice text) {
    Slice s = {string.ptr + 1, MAX_OF(string.len - 2, 0)};
    if (s.len < text.len) return false;
    bool escapes = s.len > 0 && memchr(s.ptr, '\\', (size_t)s.len);
    if (!escapes) return s.len == text.len && (s.len == 0 || memcmp(s.ptr, text.ptr, (size_t)s.len) == 0);
    char part[12]; /* of one escape, or of a pair of them */
    int64_t at = 0, len = 0;
    for (int64_t i = 0, n; i < s.len; i += n, at += len) {
        n = s.ptr[i] != '\\' ? 1 : i + 1 < s.len && s.ptr[i + 1] == 'u' ? 6 : 2;
        if (i + n > s.len) return false;
        EscapeError code = unescape(s.ptr + i, s.ptr + i + n, part, &len);
        if (code == ESCAPE_LOW && n == 6 && i + 12 <= s.len) {
            n = 12;
            code = unescape(s.ptr + i, s.ptr + i + n, part, &len);
        }
        if (code != ESCAPE_OK || at + len > text.len || memcmp(text.ptr + at, part, (size_t)len) != 0) return false;
    }
    return at == text.len;
}

/* ---- tokens ------------------------------------------------------------------------------------- */

static bool is_word_char(char c) { return is_alpha(c) || is_digit(c) || c == '_' || (c & 0x80); }
static const char *character_end(const Parser *p, const char *s) {
    s++;
    while (s < p->end && ((unsigned char)*s & 0xC0) == 0x80) s++;
    return s;
}

/* *high: a surrogate that waits for its second half, or 0. `to`: the end of what has been read. */
static Status check_escape(Parser *p, uint32_t c, bool is_escape, const char *to, uint32_t *high) {
    bool first = is_escape && c >= 0xD800 && c <= 0xDBFF, second = is_escape && c >= 0xDC00 && c <= 0xDFFF;
    EscapeError code = first && *high               ? ESCAPE_HIGH
                       : second != (*high != 0)     ? ESCAPE_LOW
                       : is_escape && !second && !c ? ESCAPE_ZERO
                                                    : ESCAPE_OK;
    *high = first ? c : 0;
    if (code == ESCAPE_OK || !p->escapes) return ST_OK;
    p->token_end = to;
    (void)escape_error(code, p->e);
    excerpt(p);
    return ST_ERROR;
}

/* A character behind a backslash; *at is left on its last byte. */
static Status lex_escape(Parser *p, const char **at, uint32_t *high) {
    const char *s = *at;
    if (*s != 'u') {
        TRY(check_escape(p, 0, false, character_end(p, s), high));
        if (*s && strchr("\"\\/bfnrt", *s)) return ST_OK;
        p->token = s;
        p->token_end = character_end(p, s);
        return syntax(p, "Escape sequence \"\\%.*s\" is invalid.", token_of(p));
    }
    for (int i = 0; i < 4; i++) {
        if (++s >= p->end) {
            p->token_end = s;
            return invalid_token(p);
        }
        if (hex_digit(*s) >= 0) continue;
        p->token_end = character_end(p, s);
        return syntax(p, "\"\\u\" must be followed by four hexadecimal digits.%.*s", (Slice){"", 0});
    }
    *at = s;
    return check_escape(p, (uint32_t)hex4(s - 3), true, s + 1, high);
}

static Status control_character(Parser *p, const char *s) {
    p->token_end = s;
    err_set(p->e, ERR_INVALID_TEXT, "invalid input syntax for type json");
    err_detail(p->e, "Character with value 0x%02x must be escaped.", (unsigned)(unsigned char)*s);
    excerpt(p);
    return ST_ERROR;
}

static Status lex_string(Parser *p) {
    const char *s = p->token + 1;
    uint32_t high = 0;
    for (;; s++) {
        if (s >= p->end) break;
        if (*s == '"') break;
        if (*s == '\\') {
            if (++s >= p->end) break;
            TRY(lex_escape(p, &s, &high));
            continue;
        }
        if (high) TRY(check_escape(p, 0, false, character_end(p, s), &high));
        if ((unsigned char)*s < 32) return control_character(p, s);
    }
    if (s >= p->end) {
        p->token_end = s;
        return invalid_token(p);
    }
    TRY(check_escape(p, 0, false, s + 1, &high));
    if (p->escapes) {
        EscapeError code; /* the escapes have been looked at */
        TRY(plain_text(p->escapes, (Slice){p->token + 1, s - p->token - 1}, &p->string, &code, p->e));
    }
    p->token_end = s + 1;
    p->kind = TK_STRING;
    return ST_OK;
}

static const char *digits(const Parser *p, const char *s) {
    while (s < p->end && is_digit(*s)) s++;
    return s;
}
static Status lex_number(Parser *p) {
    const char *s = p->token + (*p->token == '-'), *from = s;
    bool bad = false;
    s = s < p->end && *s == '0' ? s + 1 : digits(p, s);
    bad |= s == from;
    if (s < p->end && *s == '.') {
        from = s + 1;
        s = digits(p, from);
        bad |= s == from;
    }
    if (s < p->end && (*s == 'e' || *s == 'E')) {
        s++;
        if (s < p->end && (*s == '+' || *s == '-')) s++;
        from = s;
        s = digits(p, s);
        bad |= s == from;
    }
    for (; s < p->end && is_word_char(*s); s++) bad = true;
    p->token_end = s;
    if (bad) return invalid_token(p);
    p->kind = TK_NUMBER;
    return ST_OK;
}

static Status lex_word(Parser *p) {
    const char *s = p->token;
    while (s < p->end && is_word_char(*s)) s++;
    p->token_end = s == p->token ? s + 1 : s;
    Slice t = token_of(p);
    if (!slice_eq(t, slice_of("true")) && !slice_eq(t, slice_of("false")) && !slice_eq(t, slice_of("null")))
        return invalid_token(p);
    p->kind = TK_WORD;
    return ST_OK;
}

/* Reads the next token. */
static Status advance(Parser *p) {
    const char *s = p->token_end;
    for (; s < p->end && (*s == ' ' || *s == '\t' || *s == '\n' || *s == '\r'); s++)
        if (*s == '\n') {
            p->line++;
            p->line_start = s + 1;
        }
    p->token = s;
    if (s >= p->end) {
        p->token_end = s;
        p->kind = TK_END;
        return ST_OK;
    }
    switch (*s) {
    case '{':
    case '}':
    case '[':
    case ']':
    case ',':
    case ':':
        p->token_end = s + 1;
        p->kind = TK_PUNCTUATION;
        return ST_OK;
    case '"': return lex_string(p);
    default: return *s == '-' || is_digit(*s) ? lex_number(p) : lex_word(p);
    }
}

static bool at(const Parser *p, char c) { return p->kind == TK_PUNCTUATION && *p->token == c; }
static Status expect(Parser *p, char c, const char *detail) { return at(p, c) ? advance(p) : unexpected(p, detail); }

/* ---- values --------------------------------------------------------------------------------------- */

enum { NUMBER_AS_IT_IS = 1000 }; /* digits of a number that numeric surely holds */

/* As numeric shows it. */
static Status put_number(JsonOut *o, Slice t, Err *e) {
    bool plain = t.len <= NUMBER_AS_IT_IS, zero = true;
    for (int64_t i = 0; i < t.len && plain; i++) {
        plain = t.ptr[i] != 'e' && t.ptr[i] != 'E';
        zero &= t.ptr[i] < '1' || t.ptr[i] > '9';
    }
    if (plain) { /* there is no -0 */
        bool cut = zero && *t.ptr == '-';
        json_put(o, t.ptr + cut, t.len - cut);
        return ST_OK;
    }
    Dec d;
    Str text;
    TRY(dec_parse(o->a, t, &d, e));
    TRY(dec_format(o->a, &d, &text, e));
    json_put(o, text.ptr, text.len);
    return ST_OK;
}

static Status parse_scalar(Parser *p) {
    Slice t = token_of(p);
    Token kind = p->kind;
    Str string = p->string;
    if (kind != TK_STRING && kind != TK_NUMBER && kind != TK_WORD)
        return unexpected(p, "Expected JSON value, but found \"%.*s\".");
    TRY(advance(p));
    if (!p->out) return ST_OK;
    if (kind == TK_NUMBER) return put_number(p->out, t, p->e);
    if (kind == TK_STRING) json_put_string(p->out, (Slice){string.ptr, string.len});
    else json_put_slice(p->out, t);
    return ST_OK;
}

static Status parse_value(Parser *p);

static Status parse_array(Parser *p) {
    if (p->out) json_put_text(p->out, "[");
    TRY(advance(p));
    if (!at(p, ']')) {
        TRY(parse_value(p));
        while (at(p, ',')) {
            if (p->out) json_put_text(p->out, ", ");
            TRY(advance(p));
            TRY(parse_value(p));
        }
    }
    TRY(expect(p, ']', "Expected \",\" or \"]\", but found \"%.*s\"."));
    if (p->out) json_put_text(p->out, "]");
    return ST_OK;
}

static Status parse_member(Parser *p) {
    if (p->kind != TK_STRING) return unexpected(p, "Expected string, but found \"%.*s\".");
    JsonOut *o = p->out;
    JsonPair pair = {.key = {p->string.ptr, p->string.len}};
    TRY(advance(p));
    TRY(expect(p, ':', "Expected \":\", but found \"%.*s\"."));
    if (!o) return parse_value(p);
    pair.from = o->len;
    json_put_string(o, pair.key);
    json_put_text(o, ": ");
    TRY(parse_value(p));
    pair.to = o->len;
    return vec_push(o->a, &p->pairs, pair) ? ST_OK : err_oom(p->e);
}

static Status parse_object(Parser *p) {
    JsonOut *o = p->out;
    int64_t first = p->pairs.len;
    if (o) json_put_text(o, "{");
    int64_t from = o ? o->len : 0;
    TRY(advance(p));
    if (p->kind == TK_STRING) {
        TRY(parse_member(p));
        while (at(p, ',')) {
            if (o) json_put_text(o, ", ");
            TRY(advance(p));
            TRY(parse_member(p));
        }
    } else if (!at(p, '}')) {
        return unexpected(p, "Expected string or \"}\", but found \"%.*s\".");
    }
    TRY(expect(p, '}', "Expected \",\" or \"}\", but found \"%.*s\"."));
    if (!o) return ST_OK;
    TRY(json_sort_members(o, &p->pairs, first, from, p->e));
    json_put_text(o, "}");
    return ST_OK;
}

static Status parse_value(Parser *p) {
    if (at(p, '{') || at(p, '[')) {
        TRY(stack_check_depth(p->e));
        return at(p, '{') ? parse_object(p) : parse_array(p);
    }
    return parse_scalar(p);
}

static Status parse(Parser *p, Slice text, Err *e) {
    p->text = text;
    p->end = text.ptr + text.len;
    p->token = p->token_end = p->line_start = text.ptr;
    p->line = 1;
    p->e = e;
    TRY(advance(p));
    TRY(parse_value(p));
    return p->kind == TK_END ? ST_OK : unexpected(p, "Expected end of input, but found \"%.*s\".");
}

Status json_check(Slice text, Err *e) {
    Parser p = {0};
    return parse(&p, text, e);
}

Status json_check_escapes(Arena *a, Slice text, Err *e) {
    if (text.len == 0 || !memchr(text.ptr, '\\', (size_t)text.len)) return ST_OK;
    Parser p = {.escapes = a};
    return parse(&p, text, e);
}

Status jsonb_from_text(Arena *a, Slice text, Str *out, Err *e) {
    JsonOut o = {.a = a};
    Parser p = {.escapes = a, .out = &o};
    o.cap = text.len + text.len / 4 + 16;
    if (!(o.p = arena_alloc(a, o.cap))) return err_is_set(e) ? ST_ERROR : err_oom(e);
    TRY(parse(&p, text, e));
    return json_done(&o, out, e);
}

/* ---- text under construction ------------------------------------------------------------------------- */

void json_put(JsonOut *o, const char *s, int64_t n) {
    if (UNLIKELY(o->len + n > o->cap)) {
        int64_t cap = MAX_OF(o->cap * 2, o->len + n + 64);
        char *p = o->failed ? NULL : arena_alloc(o->a, cap);
        if (!p) {
            o->failed = true;
            return;
        }
        if (o->len) memcpy(p, o->p, (size_t)o->len);
        o->p = p;
        o->cap = cap;
    }
    if (n) memcpy(o->p + o->len, s, (size_t)n);
    o->len += n;
}

void json_put_string(JsonOut *o, Slice text) {
    static const char hex[] = "0123456789abcdef";
    int64_t from = 0;
    json_put_text(o, "\"");
    for (int64_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        if (LIKELY(c >= 32 && c != '"' && c != '\\')) continue;
        char escape[6] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]};
        const char *known = c ? strchr("\bb\ff\nn\rr\tt\"\"\\\\", c) : NULL;
        if (known) escape[1] = known[1];
        json_put(o, text.ptr + from, i - from);
        json_put(o, escape, known ? 2 : 6);
        from = i + 1;
    }
    json_put(o, text.ptr + from, text.len - from);
    json_put_text(o, "\"");
}

Status json_done(const JsonOut *o, Str *out, Err *e) {
    if (o->failed) return err_is_set(e) ? ST_ERROR : err_oom(e);
    if (o->len > JSON_BYTES_MAX)
        return err_set(e, ERR_PROGRAM_LIMIT, "a JSON value of %lld bytes is too long", (long long)o->len);
    *out = str_make(o->p ? o->p : "", o->len);
    return ST_OK;
}

int json_key_cmp(Slice a, Slice b) {
    if (a.len != b.len) return a.len < b.len ? -1 : 1;
    return a.len ? memcmp(a.ptr, b.ptr, (size_t)a.len) : 0;
}
static int pair_cmp(const void *x, const void *y) {
    const JsonPair *a = x, *b = y;
    int c = json_key_cmp(a->key, b->key);
    return c ? c : (a->order > b->order) - (a->order < b->order);
}

Status json_sort_members(JsonOut *o, JsonPairs *pairs, int64_t first, int64_t from, Err *e) {
    JsonPair *m = pairs->items + first;
    int64_t n = pairs->len - first;
    bool sorted = true;
    for (int64_t i = 1; i < n && sorted; i++) sorted = json_key_cmp(m[i - 1].key, m[i].key) < 0;
    pairs->len = first;
    if (sorted || o->failed) return ST_OK;
    for (int64_t i = 0; i < n; i++) m[i].order = i;
    qsort(m, (size_t)n, sizeof *m, pair_cmp);
    char *copy = arena_alloc(o->a, o->len - from);
    if (!copy) return err_is_set(e) ? ST_ERROR : err_oom(e);
    memcpy(copy, o->p + from, (size_t)(o->len - from));
    o->len = from;
    for (int64_t i = 0; i < n; i++) {
        if (i + 1 < n && json_key_cmp(m[i].key, m[i + 1].key) == 0) continue; /* the last one counts */
        if (o->len > from) json_put_text(o, ", ");
        json_put(o, copy + (m[i].from - from), m[i].to - m[i].from);
    }
    return ST_OK;
}
