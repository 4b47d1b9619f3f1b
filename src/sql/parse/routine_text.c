/* routine_text.c - the text of CREATE FUNCTION with other options: ALTER FUNCTION changes what the catalog keeps, which
 * is the statement as it was given.
 *
 * Behind the parameters the text is a list of clauses, each of which begins with a word of its own, outside of
 * parentheses: RETURNS type, LANGUAGE sql, IMMUTABLE, SET a TO b, AS '..'. Names of types and settings that are one of
 * these words are not seen as clauses where they stand right behind the word that they belong to.
 */
#include <strings.h>

#include "sql/parse/parse.h"
#include "sql/parse/scan.h"

static const struct {
    const char *word;
    RoutineClause kind;
} words[] = {
    {"language", RC_OTHER},
    {"transform", RC_OTHER},
    {"window", RC_OTHER},
    {"support", RC_OTHER},
    {"immutable", RC_VOLATILITY},
    {"stable", RC_VOLATILITY},
    {"volatile", RC_VOLATILITY},
    {"leakproof", RC_LEAKPROOF},
    {"not", RC_LEAKPROOF},
    {"called", RC_STRICT},
    {"strict", RC_STRICT},
    {"returns", RC_RETURNS},
    {"external", RC_SECURITY},
    {"security", RC_SECURITY},
    {"parallel", RC_PARALLEL},
    {"cost", RC_COST},
    {"rows", RC_ROWS},
    {"set", RC_SET},
    {"as", RC_AS},
    {"return", RC_BODY},
    {"begin", RC_BODY},
};

typedef struct Clause {
    RoutineClause kind;
    int64_t start, end; /* bytes of the text */
    Slice setting;      /* of SET: its name as it is written */
} Clause;
typedef struct Clauses {
    VEC(Clause) list;
    int64_t head; /* what is before them */
} Clauses;

static bool is_open(Slice sql, Tok t) {
    return t.kind == TOK_PUNCT && (sql.ptr[t.start] == '(' || sql.ptr[t.start] == '[');
}
static bool is_close(Slice sql, Tok t) {
    return t.kind == TOK_PUNCT && (sql.ptr[t.start] == ')' || sql.ptr[t.start] == ']');
}
static bool is_equals(Slice sql, Tok t) { return t.end == t.start + 1 && sql.ptr[t.start] == '='; }
/* The kind that begins there; RC_NONE: it goes on. `before`: the token in front of it. */
static RoutineClause begins(Slice sql, Tok t, Tok before) {
    static const char *const takes_word[] = {"returns", "setof", "set", "language", "not", "external", "to"};
    if (t.kind != TOK_WORD || is_equals(sql, before)) return RC_NONE;
    for (int64_t i = 0; i < ARRAY_LEN(takes_word); i++)
        if (scan_is_word(sql, before, takes_word[i])) return RC_NONE;
    for (int64_t i = 0; i < ARRAY_LEN(words); i++)
        if (scan_is_word(sql, t, words[i].word)) return words[i].kind;
    return RC_NONE;
}

/* Up to the clauses: the parenthesis that closes the parameters. */
static Tok skip_params(Slice sql, int64_t *at) {
    int64_t depth = 0;
    Tok t = scan_next(sql, at);
    while (t.kind != TOK_END && !is_open(sql, t)) t = scan_next(sql, at);
    for (; t.kind != TOK_END; t = scan_next(sql, at)) {
        depth += is_open(sql, t);
        depth -= is_close(sql, t);
        if (depth == 0) break;
    }
    return t;
}
/* The token belongs to the clause. */
static void add_token(Slice sql, Clause *c, Tok t, Tok before) {
    c->end = t.end;
    if (c->kind == RC_RETURNS && scan_is_word(sql, before, "returns") && scan_is_word(sql, t, "null"))
        c->kind = RC_STRICT; /* RETURNS NULL ON NULL INPUT */
    if (c->kind != RC_SET || c->setting.len > 0) return;
    if (scan_is_word(sql, before, "set")) c->setting.ptr = sql.ptr + t.start;
    else if (scan_is_word(sql, t, "to") || scan_is_word(sql, t, "from") || is_equals(sql, t) ||
             scan_is_word(sql, before, "zone"))
        c->setting.len = sql.ptr + before.end - c->setting.ptr;
}
static bool find_clauses(Arena *a, Slice sql, Clauses *out) {
    int64_t at = 0, depth = 0;
    Tok before = skip_params(sql, &at);
    *out = (Clauses){.head = before.end};
    for (Tok t = scan_next(sql, &at); t.kind != TOK_END; before = t, t = scan_next(sql, &at)) {
        const bool in_body = out->list.len > 0 && out->list.items[out->list.len - 1].kind == RC_BODY; /* to the end */
        const RoutineClause kind = depth == 0 && !in_body ? begins(sql, t, before) : RC_NONE;
        depth += is_open(sql, t);
        depth -= is_close(sql, t);
        if (kind != RC_NONE && !vec_push(a, &out->list, ((Clause){.kind = kind, .start = t.start}))) return false;
        if (out->list.len > 0) add_token(sql, &out->list.items[out->list.len - 1], t, before);
    }
    return true;
}

/* a."B" in the text is the setting a.b; TIME ZONE is timezone. */
static bool is_setting(Slice written, const char *name) {
    const char *n = name;
    if (strcmp(name, "timezone") == 0 && written.len > 4 && strncasecmp(written.ptr, "time", 4) == 0 &&
        (written.ptr[4] == ' ' || written.len == 8))
        return true;
    for (int64_t i = 0; i < written.len; i++) {
        const char c = written.ptr[i];
        if (c == '"' || c == ' ') continue;
        if (*n++ != (c >= 'A' && c <= 'Z' ? (char)(c + 32) : c)) return false;
    }
    return *n == 0;
}
static bool is_replaced(const Clause *c, int64_t n, const RoutineEdit *edits) {
    for (int64_t i = 0; i < n; i++)
        if (edits[i].kind == c->kind && (!edits[i].setting || is_setting(c->setting, edits[i].setting))) return true;
    return false;
}
char *sql_routine_edit(Arena *a, Slice sql, int64_t n, const RoutineEdit *edits) {
    Clauses x;
    if (!find_clauses(a, sql, &x)) return NULL;
    char *out = arena_strndup(a, sql.ptr, x.head);
    bool added = false;
    for (int64_t i = 0; i <= x.list.len && out; i++) {
        const Clause *c = i < x.list.len ? &x.list.items[i] : NULL;
        const bool here = !added && (!c || c->kind == RC_AS || c->kind == RC_BODY);
        for (int64_t k = 0; here && k < n && out; k++)
            if (edits[k].text) out = arena_printf(a, "%s %s", out, edits[k].text);
        added |= here;
        if (out && c && !is_replaced(c, n, edits))
            out = arena_printf(a, "%s %.*s", out, (int)(c->end - c->start), sql.ptr + c->start);
    }
    return out;
}
Slice sql_routine_body(Arena *a, Slice sql) {
    Clauses x;
    if (!find_clauses(a, sql, &x)) return (Slice){0};
    for (int64_t i = 0; i < x.list.len; i++)
        if (x.list.items[i].kind == RC_BODY)
            return (Slice){sql.ptr + x.list.items[i].start, x.list.items[i].end - x.list.items[i].start};
    return (Slice){0};
}
