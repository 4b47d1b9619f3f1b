/* scan.c - a small lexer over raw SQL text.
 *
 * The grammar's own tree does not say where a statement's parts end, and it must not see text that is nested absurdly.
 * This lexer has just enough of PostgreSQL's rules (strings, E-strings, dollar quotes, quoted names, nested comments)
 * to count parentheses and to cut out the text of a view's query or a column's default. It accepts anything; refusing
 * bad text is the grammar's work.
 */
#include "sql/parse/parse.h"
#include "sql/parse/parse_int.h"

/* Character classes. */
enum { C_OTHER = 0, C_BLANK, C_WORD, C_DIGIT, C_PUNCT, C_OP, C_QUOTE, C_DQUOTE, C_DOLLAR };

static int char_class(char ch) {
    unsigned char c = (unsigned char)ch;
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c >= 0x80) return C_WORD;
    if (c >= '0' && c <= '9') return C_DIGIT;
    switch (c) {
    case ' ':
    case '\t':
    case '\n':
    case '\r':
    case '\f':
    case '\v': return C_BLANK;
    case '(':
    case ')':
    case '[':
    case ']':
    case ',':
    case ';':
    case ':':
    case '.': return C_PUNCT;
    case '\'': return C_QUOTE;
    case '"': return C_DQUOTE;
    case '$': return C_DOLLAR;
    case '+':
    case '-':
    case '*':
    case '/':
    case '<':
    case '>':
    case '=':
    case '~':
    case '!':
    case '@':
    case '#':
    case '%':
    case '^':
    case '&':
    case '|':
    case '`':
    case '?': return C_OP;
    default: return C_OTHER;
    }
}

static bool at_comment(Slice t, int64_t i) {
    return i + 1 < t.len && ((t.ptr[i] == '-' && t.ptr[i + 1] == '-') || (t.ptr[i] == '/' && t.ptr[i + 1] == '*'));
}

static int64_t skip_comment(Slice t, int64_t i) {
    if (t.ptr[i] == '-') {
        const char *nl = memchr(t.ptr + i, '\n', (size_t)(t.len - i));
        return nl ? nl - t.ptr + 1 : t.len;
    }
    int64_t depth = 1;
    for (i += 2; i < t.len && depth > 0;) {
        if (i + 1 < t.len && t.ptr[i] == '/' && t.ptr[i + 1] == '*') depth++, i += 2;
        else if (i + 1 < t.len && t.ptr[i] == '*' && t.ptr[i + 1] == '/') depth--, i += 2;
        else i++;
    }
    return i;
}

int64_t scan_skip_blank(Slice t, int64_t i) {
    while (i < t.len) {
        if (char_class(t.ptr[i]) == C_BLANK) i++;
        else if (at_comment(t, i)) i = skip_comment(t, i);
        else break;
    }
    return i;
}

/* `i` is the opening quote; returns the offset behind the closing one. A doubled quote is read as the end of one
 * string and the start of another, which is the same to a scanner that only looks for the outside. */
static int64_t skip_quoted(Slice t, int64_t i, char quote, bool backslash) {
    for (i++; i < t.len; i++) {
        if (t.ptr[i] == quote) {
            if (i + 1 < t.len && t.ptr[i + 1] == quote) i++;
            else return i + 1;
        } else if (backslash && t.ptr[i] == '\\') {
            i++;
        }
    }
    return t.len;
}

/* `i` is a '$'. The offset behind a dollar-quoted string, or `i` if none starts here. */
static int64_t skip_dollar(Slice t, int64_t i) {
    int64_t j = i + 1;
    if (j < t.len && char_class(t.ptr[j]) == C_DIGIT) return i;
    while (j < t.len && (char_class(t.ptr[j]) == C_WORD || char_class(t.ptr[j]) == C_DIGIT)) j++;
    if (j >= t.len || t.ptr[j] != '$') return i;
    int64_t tag_len = j + 1 - i;
    const char *end = memmem(t.ptr + j + 1, (size_t)(t.len - j - 1), t.ptr + i, (size_t)tag_len);
    return end ? end - t.ptr + tag_len : t.len;
}

Tok scan_next(Slice t, int64_t *at) {
    int64_t i = scan_skip_blank(t, *at);
    Tok k = {TOK_END, i, i};
    if (i >= t.len) {
        *at = k.start = k.end = t.len;
        return k;
    }
    int64_t j = i + 1;
    switch (char_class(t.ptr[i])) {
    case C_WORD:
        while (j < t.len) {
            int c = char_class(t.ptr[j]);
            if (c != C_WORD && c != C_DIGIT && c != C_DOLLAR) break;
            j++;
        }
        k.kind = TOK_WORD;
        if (j < t.len && t.ptr[j] == '\'' && j == i + 1 && strchr("eEbBxXnN", t.ptr[i])) {
            k.kind = TOK_STRING;
            j = skip_quoted(t, j, '\'', t.ptr[i] == 'e' || t.ptr[i] == 'E');
        }
        break;
    case C_DIGIT:
        while (j < t.len) {
            int c = char_class(t.ptr[j]);
            bool exponent_sign = (t.ptr[j] == '+' || t.ptr[j] == '-') && (t.ptr[j - 1] == 'e' || t.ptr[j - 1] == 'E') &&
                                 j + 1 < t.len && char_class(t.ptr[j + 1]) == C_DIGIT;
            if (c != C_DIGIT && c != C_WORD && t.ptr[j] != '.' && !exponent_sign) break;
            j++;
        }
        k.kind = TOK_NUMBER;
        break;
    case C_QUOTE:
        k.kind = TOK_STRING;
        j = skip_quoted(t, i, '\'', false);
        break;
    case C_DQUOTE:
        k.kind = TOK_QUOTED;
        j = skip_quoted(t, i, '"', false);
        break;
    case C_DOLLAR:
        j = skip_dollar(t, i);
        k.kind = TOK_STRING;
        if (j == i) {
            k.kind = TOK_PARAM;
            for (j = i + 1; j < t.len && char_class(t.ptr[j]) == C_DIGIT;) j++;
        }
        break;
    case C_PUNCT: k.kind = TOK_PUNCT; break;
    default:
        k.kind = TOK_OP;
        while (j < t.len && char_class(t.ptr[j]) == C_OP && !at_comment(t, j)) j++;
        break;
    }
    k.end = *at = j;
    return k;
}

bool scan_is_word(Slice t, Tok k, const char *lower) {
    if (k.kind != TOK_WORD) return false;
    int64_t n = k.end - k.start;
    for (int64_t i = 0; i < n; i++) {
        char c = t.ptr[k.start + i];
        if (c >= 'A' && c <= 'Z') c = (char)(c + 32);
        if (c != lower[i] || !c) return false;
    }
    return lower[n] == 0;
}

/* The grammar's scanner reads a whole run of operator characters at every comment start in it and backs up, which is
 * quadratic for text such as a million empty comments without blanks
 * between them. Bounds that work; strings are counted too, which errs on the safe side. */
static Status check_comment_runs(Slice t, Err *e) {
    enum { COST_MAX = 200 << 20 };
    int64_t run_end = 0, cost = 0;
    for (const char *p = t.ptr, *end = t.ptr + t.len; (p = memmem(p, (size_t)(end - p), "/*", 2)) != NULL; p++) {
        int64_t i = p - t.ptr;
        if (i >= run_end)
            for (run_end = i; run_end < t.len && char_class(t.ptr[run_end]) == C_OP;) run_end++;
        cost += run_end - i;
        if (cost > COST_MAX) return err_at(e, i + 1, ERR_STATEMENT_TOO_COMPLEX, "too many comments in a row");
    }
    return ST_OK;
}

Status sql_runs_check(Slice t, Err *e) {
    enum { OPERATOR_MAX = 1000 };
    TRY(check_comment_runs(t, e));
    int64_t at = 0;
    for (;;) {
        Tok k = scan_next(t, &at);
        if (k.kind == TOK_END) return ST_OK;
        /* Each sign of a run such as +-+-+- makes the grammar's scanner look at the whole run. */
        if (k.kind == TOK_OP && k.end - k.start > OPERATOR_MAX)
            return err_at(e, k.start + 1, ERR_SYNTAX, "operator too long");
    }
}

/* CREATE FUNCTION .. BEGIN ATOMIC ..; END: how deep in BEGIN and CASE a word leads. */
typedef struct AtomicBody {
    int64_t n_words; /* of CREATE [OR REPLACE] FUNCTION or PROCEDURE, so far */
    bool of_routine;
    int64_t depth;
} AtomicBody;
static void atomic_word(AtomicBody *b, Slice t, Tok k) {
    const bool creates = scan_is_word(t, k, "function") || scan_is_word(t, k, "procedure");
    if (b->n_words++ == 0) b->of_routine = scan_is_word(t, k, "create");
    else if (b->n_words == 2 && b->of_routine) b->of_routine = creates || scan_is_word(t, k, "or");
    else if (b->n_words > 2 && b->of_routine && scan_is_word(t, k, "begin")) b->depth++;
    else if (b->depth > 0 && scan_is_word(t, k, "case")) b->depth++;
    else if (b->depth > 0 && scan_is_word(t, k, "end")) b->depth--;
}
int64_t sql_statement_end(Slice t) {
    int64_t depth = 0, at = 0;
    bool any = false;
    AtomicBody body = {0};
    for (;;) {
        Tok k = scan_next(t, &at);
        if (k.kind == TOK_END) return t.len;
        char c = k.kind == TOK_PUNCT ? t.ptr[k.start] : 0;
        if (k.kind == TOK_WORD && depth <= 0) atomic_word(&body, t, k);
        if (c == ';' && depth <= 0 && body.depth == 0 && any) return k.end;
        if (c == '(' || c == '[') depth++;
        else if (c == ')' || c == ']') depth--;
        if (c != ';') any = true;
    }
}

Slice sql_first_word(Slice t) {
    int64_t at = 0;
    Tok k = scan_next(t, &at);
    return (Slice){t.ptr + k.start, k.kind == TOK_WORD ? k.end - k.start : 0};
}

/* ---- parts of statements ------------------------------------------------------- */

static Slice slice_between(Slice t, int64_t start, int64_t end) {
    start = scan_skip_blank(t, start);
    if (end < start) end = start;
    while (end > start && char_class(t.ptr[end - 1]) == C_BLANK) end--;
    return (Slice){t.ptr + start, end - start};
}

/* Nesting after a token: parentheses, brackets and CASE ... END. */
static int64_t nesting_after(Slice t, Tok k, int64_t depth) {
    if (k.kind == TOK_PUNCT) {
        char c = t.ptr[k.start];
        if (c == '(' || c == '[') return depth + 1;
        if (c == ')' || c == ']') return depth - 1;
    }
    if (scan_is_word(t, k, "case")) return depth + 1;
    if (depth > 0 && scan_is_word(t, k, "end")) return depth - 1;
    return depth;
}

Slice scan_after_as(Slice t) {
    int64_t depth = 0, at = 0;
    for (;;) {
        Tok k = scan_next(t, &at);
        if (k.kind == TOK_END) return (Slice){t.ptr + t.len, 0};
        if (depth == 0 && scan_is_word(t, k, "as")) return slice_between(t, at, t.len);
        depth = nesting_after(t, k, depth);
    }
}

Slice scan_before_last_with(Slice t) {
    int64_t at = 0, end = t.len;
    for (;;) {
        Tok k = scan_next(t, &at);
        if (k.kind == TOK_END) return slice_between(t, 0, end);
        if (scan_is_word(t, k, "with")) end = k.start;
    }
}

Slice scan_before_with_data(Slice t) {
    const Slice before = scan_before_last_with(t);
    int64_t at = before.ptr + before.len - t.ptr;
    (void)scan_next(t, &at);
    Tok k = scan_next(t, &at);
    if (scan_is_word(t, k, "no")) k = scan_next(t, &at);
    if (!scan_is_word(t, k, "data")) return t;
    k = scan_next(t, &at);
    return k.kind == TOK_END || (k.kind == TOK_PUNCT && t.ptr[k.start] == ';') ? before : t;
}

Slice scan_to_comma(Slice t, int64_t start) {
    int64_t depth = 0, at = start;
    for (;;) {
        Tok k = scan_next(t, &at);
        if (k.kind == TOK_END) return slice_between(t, start, k.start);
        if (depth == 0 && k.kind == TOK_PUNCT && strchr(",;)", t.ptr[k.start])) return slice_between(t, start, k.start);
        depth = nesting_after(t, k, depth);
    }
}

int64_t scan_index_elements(Slice t, int64_t at) {
    for (;;) {
        Tok k = scan_next(t, &at);
        if (k.kind == TOK_END || (k.kind == TOK_PUNCT && t.ptr[k.start] == '(')) return at;
    }
}
Slice scan_index_expr(Slice t, int64_t *at) {
    int64_t depth = 0, start = *at, end = -1;
    for (;;) {
        Tok k = scan_next(t, at);
        const bool stop = k.kind == TOK_END ||
                          (depth == 0 && k.kind == TOK_PUNCT && (t.ptr[k.start] == ',' || t.ptr[k.start] == ')'));
        if (stop) return slice_between(t, start, end < 0 ? k.start : end);
        depth = nesting_after(t, k, depth);
        /* What follows its parentheses is an operator class, an order; CURRENT_DATE and the like have none. */
        if (end < 0 && depth == 0 && k.kind == TOK_PUNCT && t.ptr[k.start] == ')') end = k.end;
    }
}
/* Without parentheses around all of it. */
static Slice without_parentheses(Slice t) {
    for (;;) {
        int64_t at = 0, depth = 1;
        Tok k = scan_next(t, &at);
        if (k.kind != TOK_PUNCT || t.ptr[k.start] != '(') return t;
        const int64_t inside = at;
        while (depth > 0) {
            k = scan_next(t, &at);
            if (k.kind == TOK_END) return t;
            depth = nesting_after(t, k, depth);
        }
        const int64_t end = k.start;
        if (scan_next(t, &at).kind != TOK_END) return t;
        t = slice_between(t, inside, end);
    }
}
Slice scan_after_where(Slice t, int64_t at) {
    int64_t depth = 0, start = -1;
    for (;;) {
        Tok k = scan_next(t, &at);
        if (k.kind == TOK_END || (depth == 0 && k.kind == TOK_PUNCT && t.ptr[k.start] == ';'))
            return without_parentheses(slice_between(t, start < 0 ? k.start : start, k.start));
        depth = nesting_after(t, k, depth);
        if (start < 0 && depth == 0 && scan_is_word(t, k, "where")) start = at;
    }
}

Slice scan_parenthesised(Slice t, int64_t start) {
    int64_t depth = 0, at = start, inside = -1;
    for (;;) {
        Tok k = scan_next(t, &at);
        if (k.kind == TOK_END) return slice_between(t, inside < 0 ? t.len : inside, t.len);
        depth = nesting_after(t, k, depth);
        if (inside < 0 && depth == 1) inside = at;
        else if (inside >= 0 && depth == 0) return slice_between(t, inside, k.start);
    }
}

Slice scan_default_expr(Slice t, int64_t start) {
    static const char *const ends[] = {"constraint", "unique",    "primary",    "check",     "default",
                                       "references", "generated", "deferrable", "initially", "collate"};
    int64_t depth = 0, at = start;
    bool first = true, after_is = false, after_operand = false;
    for (;;) {
        Tok k = scan_next(t, &at);
        if (k.kind == TOK_END) return slice_between(t, start, k.start);
        if (depth == 0 && k.kind == TOK_PUNCT && strchr(",;)", t.ptr[k.start])) return slice_between(t, start, k.start);
        if (depth == 0 && k.kind == TOK_WORD && !first) {
            bool end = (scan_is_word(t, k, "not") && !after_is) || (scan_is_word(t, k, "null") && after_operand);
            for (int64_t i = 0; i < ARRAY_LEN(ends) && !end; i++) end = scan_is_word(t, k, ends[i]);
            if (end) return slice_between(t, start, k.start);
        }
        depth = nesting_after(t, k, depth);
        first = false;
        after_is = scan_is_word(t, k, "is");
        after_operand = k.kind != TOK_OP && !(k.kind == TOK_PUNCT && !strchr(")]", t.ptr[k.start]));
    }
}

char *sql_create_named(Arena *a, Slice sql, const char *name) {
    int64_t at = 0;
    Tok t = scan_next(sql, &at);
    while (t.kind != TOK_END && !scan_is_word(sql, t, "function") && !scan_is_word(sql, t, "procedure") &&
           !scan_is_word(sql, t, "aggregate"))
        t = scan_next(sql, &at);
    const Tok first = scan_next(sql, &at);
    int64_t end = first.end;
    for (t = scan_next(sql, &at); t.kind == TOK_PUNCT && sql.ptr[t.start] == '.'; t = scan_next(sql, &at))
        end = scan_next(sql, &at).end;
    return arena_printf(a, "%.*s%s%.*s", (int)first.start, sql.ptr, name, (int)(sql.len - end), sql.ptr + end);
}
