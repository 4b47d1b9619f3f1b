/* scan.h - a small lexer over raw SQL text: for the parts of statements that the grammar does not keep as text, and for
 * the bodies of routines (src/sql/pl). Pure functions; nothing is allocated and nothing fails.
 */
#ifndef STELE_SQL_PARSE_SCAN_H
#define STELE_SQL_PARSE_SCAN_H

#include "base/base.h"

typedef enum TokKind {
    TOK_END = 0,
    TOK_WORD,   /* keyword or unquoted identifier */
    TOK_QUOTED, /* "name" */
    TOK_STRING, /* '...', E'...', $$...$$ */
    TOK_NUMBER,
    TOK_PARAM, /* $1 */
    TOK_PUNCT, /* one of ( ) [ ] , ; : . */
    TOK_OP     /* a run of operator characters */
} TokKind;
typedef struct Tok {
    TokKind kind;
    int64_t start; /* byte offsets in the text */
    int64_t end;
} Tok;
/* The token at or after *at (blanks and comments skipped); advances *at past it. Never fails: whatever is
 * unterminated reaches to the end of the text. */
Tok scan_next(Slice text, int64_t *at);
bool scan_is_word(Slice text, Tok t, const char *lower);
/* First offset at or after `at` that is no blank and in no comment. */
int64_t scan_skip_blank(Slice text, int64_t at);

/* Text of the query of CREATE VIEW / PREPARE: what follows the first AS outside parentheses. */
Slice scan_after_as(Slice stmt);
/* The text up to its last WITH; ... where that is WITH [NO] DATA, else all of it. */
Slice scan_before_last_with(Slice text);
Slice scan_before_with_data(Slice text);
/* Text of a DEFAULT expression of a column constraint list; `at` is just behind the word DEFAULT. */
Slice scan_default_expr(Slice text, int64_t at);
/* Text inside the first parentheses at or after `at`. */
Slice scan_parenthesised(Slice text, int64_t at);
/* Of CREATE INDEX, whose table is named at `at`: where its list of elements begins, behind the parenthesis. */
int64_t scan_index_elements(Slice text, int64_t at);
/* Text of an index element that is an expression: f(...), or (expression); *at moves behind the element's comma. */
Slice scan_index_expr(Slice text, int64_t *at);
/* Text behind the word WHERE outside parentheses, at or after `at`, to a semicolon or the end; without parentheses
 * around all of it. */
Slice scan_after_where(Slice text, int64_t at);
/* Text from `at` to the next comma outside parentheses, semicolon or end. */
Slice scan_to_comma(Slice text, int64_t at);

#endif
