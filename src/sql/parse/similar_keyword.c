/* similar_keyword.c - the hint of syntax errors: which keyword may have been meant. PostgreSQL has no such hint.
 *
 * The grammar stops at a word that it does not know as a keyword (selec 1), or, when it could take that for a name, at
 * what follows (select a form t: "form" names the column, and t is too much). */
#include <string.h>

#include "base/similar.h"
#include "sql/parse/parse_int.h"

enum { WORD_MAX = 24 };

/* Of several that are as close the first. */
static const char *const keywords[] = {
    "select",    "from",       "where",     "insert",   "into",       "values",   "update",      "set",
    "delete",    "create",     "table",     "view",     "index",      "drop",     "alter",       "group",
    "order",     "by",         "having",    "limit",    "offset",     "join",     "left",        "right",
    "inner",     "outer",      "full",      "cross",    "on",         "using",    "union",       "intersect",
    "except",    "distinct",   "and",       "or",       "not",        "null",     "in",          "is",
    "like",      "between",    "exists",    "case",     "when",       "then",     "else",        "end",
    "as",        "asc",        "desc",      "with",     "recursive",  "begin",    "commit",      "rollback",
    "savepoint", "explain",    "analyze",   "truncate", "copy",       "primary",  "key",         "unique",
    "foreign",   "references", "check",     "default",  "constraint", "column",   "add",         "rename",
    "function",  "procedure",  "returns",   "language", "replace",    "call",     "prepare",     "execute",
    "returning", "window",     "partition", "over",     "checkpoint", "vacuum",   "reset",       "show",
    "cascade",   "temporary",  "conflict",  "nothing",  "lateral",    "interval", "transaction", "do",
    "if",        "false",      "true"};

static bool in_word(char c) { return ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '_'; }

/* The word from `from` on, in small letters; false: there is none, it is quoted, or too long. */
static bool word_at(Slice text, int64_t from, char *word) {
    int64_t n = 0;
    for (; from + n < text.len && in_word(text.ptr[from + n]); n++) {
        if (n == WORD_MAX) return false;
        word[n] = text.ptr[from + n] == '_' ? '_' : (char)(text.ptr[from + n] | 32);
    }
    word[n] = 0;
    bool goes_on =
        from + n < text.len && (text.ptr[from + n] == '"' || (text.ptr[from + n] >= '0' && text.ptr[from + n] <= '9'));
    return n > 1 && !goes_on;
}

/* A keyword that at most `most` letters make of the word, fewer than *distance, which becomes their number. */
static const char *similar(const char *word, int64_t most, int64_t *distance) {
    Similar s;
    similar_init(&s, word);
    s.distance = MIN_OF(s.distance, MIN_OF(most + 1, *distance));
    for (int64_t i = 0; i < ARRAY_LEN(keywords); i++) {
        if (strcmp(keywords[i], word) == 0) return NULL;
        similar_offer(&s, keywords[i]);
    }
    if (s.best) *distance = s.distance;
    return s.best;
}

const char *parse_similar_keyword(Slice text, int64_t at) {
    char word[WORD_MAX + 1];
    if (at < 0 || at > text.len) return NULL;
    int64_t distance = WORD_MAX, before = at;
    const char *best = NULL, *other = NULL;
    while (before > 0 && strchr(" \t\r\n", text.ptr[before - 1])) before--;
    int64_t end = before;
    while (before > 0 && in_word(text.ptr[before - 1])) before--;
    if (before < end && word_at(text, before, word) && strlen(word) > 3) best = similar(word, 1, &distance);
    if (word_at(text, at, word)) other = similar(word, 2, &distance);
    return other ? other : best;
}
