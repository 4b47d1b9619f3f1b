/* scan.c - where statements end: semicolons, backslash commands and variables outside of quotes and comments. */
#include <string.h>
#include <strings.h>

#include "shell/shell.h"

static bool in_name(char c) {
    return c == '_' || (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') || (c & 0x80);
}

/* A quote or $ at s[i]: what it begins. */
static ScanState opens(const char *s, size_t i, size_t n, Scan *x) {
    if (s[i] == '"') return SCAN_NAME;
    bool name_before = i > 0 && in_name(s[i - 1]);
    if (s[i] == '\'') {
        bool escapes = name_before && (s[i - 1] | 32) == 'e' && (i == 1 || !in_name(s[i - 2]));
        return escapes ? SCAN_ESCAPED : SCAN_QUOTED;
    }
    if (name_before) return SCAN_BETWEEN; /* a$b is a name */
    size_t j = i + 1;
    while (j < n && in_name(s[j])) j++;
    if (j == n || s[j] != '$' || (s[i + 1] >= '0' && s[i + 1] <= '9')) return SCAN_BETWEEN;
    x->tag = i;
    x->tag_len = j - i + 1;
    return SCAN_DOLLAR;
}

static bool is_word(const char *s, size_t n, const char *word) {
    return strlen(word) == n && strncasecmp(s, word, n) == 0;
}
/* A word of n bytes outside of quotes: CREATE FUNCTION .. BEGIN ATOMIC ..; END has semicolons of its own. */
static void scan_word(Scan *x, const char *s, size_t n) {
    ScanBody *b = &x->body;
    const bool creates = is_word(s, n, "function") || is_word(s, n, "procedure");
    if (b->n_words++ == 0) b->of_routine = is_word(s, n, "create");
    else if (b->n_words == 2 && b->of_routine) b->of_routine = creates || is_word(s, n, "or");
    else if (b->n_words > 2 && b->of_routine && is_word(s, n, "begin")) b->depth++;
    else if (b->depth > 0 && is_word(s, n, "case")) b->depth++;
    else if (b->depth > 0 && is_word(s, n, "end")) b->depth--;
}
/* At a semicolon: whether it ends a statement; then the next one begins. */
static bool ends_statement(Scan *x) {
    if (x->body.depth > 0) return false;
    x->body = (ScanBody){0};
    return true;
}

/* Outside of quotes and comments: one step. */
static ScanFound scan_between(Scan *x, const char *s, size_t n) {
    char c = s[x->at], next = x->at + 1 < n ? s[x->at + 1] : 0;
    size_t step = 1;
    if (c == '\\') return SCAN_COMMAND;
    if (c == ':' && next == ':') {
        step = 2;
    } else if (c == ':' && x->at >= x->plain && (in_name(next) || next == '\'' || next == '"' || next == '{')) {
        return SCAN_VARIABLE;
    } else if (c == '-' && next == '-') {
        x->state = SCAN_LINE_COMMENT;
    } else if (c == '/' && next == '*') {
        x->state = SCAN_BLOCK_COMMENT;
        x->depth = 1;
        step = 2;
    } else if (c == '\'' || c == '"' || c == '$') {
        x->state = opens(s, x->at, n, x);
        if (x->state == SCAN_DOLLAR) step = x->tag_len;
    } else if (in_name(c)) {
        while (x->at + step < n && in_name(s[x->at + step])) step++;
        if (x->at + step < n && (s[x->at + step] == '\'' || s[x->at + step] == '$')) step = 1; /* E'..', a$b */
        else scan_word(x, s + x->at, step);
    }
    x->at += step;
    return c == ';' && ends_statement(x) ? SCAN_SEMICOLON : SCAN_END;
}

/* Inside of a comment, quotes or a dollar quote: one step. */
static void scan_inside(Scan *x, const char *s, size_t n) {
    char c = s[x->at], next = x->at + 1 < n ? s[x->at + 1] : 0;
    size_t step = 1;
    switch (x->state) {
    case SCAN_LINE_COMMENT:
        if (c == '\n') x->state = SCAN_BETWEEN;
        break;
    case SCAN_BLOCK_COMMENT:
        if (c == '*' && next == '/') x->depth--, step = 2;
        else if (c == '/' && next == '*') x->depth++, step = 2;
        if (x->depth == 0) x->state = SCAN_BETWEEN;
        break;
    case SCAN_DOLLAR:
        if (c != '$' || n - x->at < x->tag_len || memcmp(s + x->at, s + x->tag, x->tag_len) != 0) break;
        step = x->tag_len;
        x->state = SCAN_BETWEEN;
        break;
    default: /* a doubled quote ends and begins again */
        if (x->state == SCAN_ESCAPED && c == '\\') step = 2;
        else if (c == (x->state == SCAN_NAME ? '"' : '\'')) x->state = SCAN_BETWEEN;
    }
    x->at += step;
}

/* Goes on to behind the next semicolon, or to the next command or variable, outside of quotes and comments. `s` holds
 * whole lines, so that no token is cut. */
ScanFound scan_statement(Scan *x, const char *s, size_t n) {
    while (x->at < n) {
        ScanFound found = SCAN_END;
        if (x->state != SCAN_BETWEEN) scan_inside(x, s, n);
        else found = scan_between(x, s, n);
        if (found != SCAN_END) return found;
    }
    return SCAN_END;
}
