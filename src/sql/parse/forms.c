/* forms.c - statements that PostgreSQL's grammar does not have, rewritten before it sees them:
 *
 *   FROM 'file', JOIN 'file'          a file as a table: the string becomes a quoted name, the path AstFromTable.file
 *   DESCRIBE query | table | 'file'   the word becomes blanks, or TABLE in front of a name: AST_DESCRIBE has the query
 *   SUMMARIZE query | table | 'file'  likewise
 *
 * What is rewritten has the length that it had, so that all positions stay. None of these forms is a statement of
 * PostgreSQL's, so that no text changes its meaning. A string stands for a file only where a FROM list has an item: the
 * FROM of substring('a' from 'b'), extract(), trim() and IS DISTINCT FROM is in no SELECT's place for one.
 */
#include "sql/parse/parse_int.h"

enum { NAME_SHOWN = 56 /* bytes of a path in the name that stands for it: the grammar cuts names behind 63 */ };

/* What a level of parentheses is in. */
typedef enum Place { IN_OTHER, IN_LIST /* a SELECT before its FROM */, AT_ITEM, IN_FROM } Place;

typedef struct Scan {
    Arena *a;
    Slice text;
    char *copy;
    Forms *out;
    uint8_t *levels; /* Place, by depth of parentheses */
    int64_t depth;
    Tok before, before2;
} Scan;

static bool word(const Scan *s, Tok t, const char *lower) { return scan_is_word(s->text, t, lower); }
static bool any_word(const Scan *s, Tok t, const char *const *words) {
    for (; *words; words++)
        if (word(s, t, *words)) return true;
    return false;
}
static char punct(const Scan *s, Tok t) { return t.kind == TOK_PUNCT ? s->text.ptr[t.start] : 0; }

/* 'path' at t: its text, and a name in its place. Strings with a prefix (E'', B'') and $$ are no paths. */
static Status put_file(Scan *s, Tok t) {
    const char *p = s->text.ptr + t.start;
    int64_t n = t.end - t.start;
    if (n < 3 || p[0] != '\'' || p[n - 1] != '\'') return ST_OK;
    FormFile f = {.at = t.start};
    char *path = arena_alloc(s->a, n), *w = path;
    if (!path) return ST_ERROR;
    for (int64_t i = 1; i < n - 1; i++) {
        *w++ = p[i];
        if (p[i] == '\'') i++;
    }
    *w = 0;
    f.path = path;
    int64_t shown = MIN_OF(n - 2, (int64_t)NAME_SHOWN);
    while (shown < n - 2 && shown > 0 && ((uint8_t)p[1 + shown] & 0xC0) == 0x80) shown--;
    char *c = s->copy + t.start;
    memset(c, ' ', (size_t)n);
    c[0] = c[shown + 1] = '"';
    for (int64_t i = 1; i <= shown; i++) c[i] = p[i] == '"' ? '_' : p[i];
    return vec_push(s->a, &s->out->files, f) ? ST_OK : ST_ERROR;
}

/* DESCRIBE and SUMMARIZE at the beginning of a statement; *next is the token behind the word. */
static Status put_describe(Scan *s, Tok t, Tok next) {
    bool summarize = word(s, t, "summarize");
    if (!summarize && !word(s, t, "describe")) return ST_OK;
    static const char *const queries[] = {"select", "with", "values", "table", NULL};
    bool query = any_word(s, next, queries) || punct(s, next) == '(';
    bool file = next.kind == TOK_STRING;
    if (!query && !file && next.kind != TOK_WORD && next.kind != TOK_QUOTED) return ST_OK;
    memset(s->copy + t.start, ' ', (size_t)(t.end - t.start));
    if (!query) memcpy(s->copy + t.end - 5, "TABLE", 5);
    FormDescribe d = {t.start, t.end, summarize, query && !word(s, next, "table")};
    if (file) TRY(put_file(s, next));
    return vec_push(s->a, &s->out->describes, d) ? ST_OK : ST_ERROR;
}

/* t at its level of parentheses: what comes behind it. */
static Status step(Scan *s, Tok t) {
    static const char *const ends[] = {"where", "group", "having",    "window", "order", "limit", "offset",
                                       "fetch", "union", "intersect", "except", "for",   "set",   NULL};
    uint8_t *at = &s->levels[s->depth];
    switch (punct(s, t)) {
    case '(':
    case '[':
        s->levels[s->depth + 1] = *at == AT_ITEM ? AT_ITEM : IN_OTHER;
        if (*at == AT_ITEM) *at = IN_FROM;
        s->depth++;
        return ST_OK;
    case ')':
    case ']':
        if (s->depth > 0) s->depth--;
        return ST_OK;
    case ',':
        if (*at == IN_FROM) *at = AT_ITEM;
        return ST_OK;
    case ';': *at = IN_OTHER; return ST_OK;
    default: break;
    }
    if (*at == AT_ITEM && t.kind == TOK_STRING) {
        *at = IN_FROM;
        return put_file(s, t);
    }
    bool no_clause = word(s, s->before, "distinct") && (word(s, s->before2, "is") || word(s, s->before2, "not"));
    if (word(s, t, "select")) *at = IN_LIST;
    else if (word(s, t, "update") && *at == IN_OTHER && !word(s, s->before, "for")) *at = IN_LIST;
    else if (word(s, t, "from") && *at == IN_LIST && !no_clause) *at = AT_ITEM;
    else if (word(s, t, "join") && (*at == IN_FROM || *at == AT_ITEM)) *at = AT_ITEM;
    else if (*at == AT_ITEM && (word(s, t, "values") || word(s, t, "with"))) *at = IN_OTHER;
    else if (*at == AT_ITEM && !word(s, t, "lateral")) *at = IN_FROM;
    else if (*at == IN_FROM && any_word(s, t, ends)) *at = IN_OTHER;
    return ST_OK;
}

/* Whether there may be something to do: most texts have none of it. */
static bool may_have_forms(Slice text) {
    int64_t at = 0;
    if (memmem(text.ptr, (size_t)text.len, "'", 1)) return true;
    while (at < text.len) { /* DESCRIBE t */
        Tok t = scan_next(text, &at);
        if (scan_is_word(text, t, "describe") || scan_is_word(text, t, "summarize")) return true;
        const char *semicolon = memchr(text.ptr + t.end, ';', (size_t)(text.len - t.end));
        if (!semicolon) return false;
        at = semicolon - text.ptr + 1;
    }
    return false;
}

Status sql_forms(Arena *a, Slice text, char *copy, Forms *out) {
    *out = (Forms){0};
    if (!may_have_forms(text)) return ST_OK;
    Scan s = {.a = a, .text = text, .copy = copy, .out = out};
    int64_t parens = 1, at = 0;
    for (int64_t i = 0; i < text.len; i++) parens += text.ptr[i] == '(' || text.ptr[i] == '[';
    if (!(s.levels = arena_calloc(a, parens + 1))) return ST_ERROR;
    bool first = true;
    for (Tok t = scan_next(text, &at); t.kind != TOK_END; t = scan_next(text, &at)) {
        if (first) {
            int64_t behind = at;
            TRY(put_describe(&s, t, scan_next(text, &behind)));
        }
        TRY(step(&s, t));
        first = punct(&s, t) == ';' && s.depth == 0;
        s.before2 = s.before;
        s.before = t;
    }
    return ST_OK;
}

const char *forms_file(const Forms *f, int64_t at) {
    for (int64_t lo = 0, hi = f->files.len; lo < hi;) {
        int64_t mid = (lo + hi) / 2;
        if (f->files.items[mid].at == at) return f->files.items[mid].path;
        if (f->files.items[mid].at < at) lo = mid + 1;
        else hi = mid;
    }
    return NULL;
}
const FormDescribe *forms_describe(const Forms *f, int64_t at) {
    for (int64_t i = 0; i < f->describes.len; i++)
        if (f->describes.items[i].at == at) return &f->describes.items[i];
    return NULL;
}
