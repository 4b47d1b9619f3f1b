/* complete.c - completion at the prompt: what may stand at the cursor, from the statement before it. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <editline/readline.h>

#include "shell/command.h"
#include "shell/complete.h"
#include "shell/vars.h"

static const char *const keywords[] = {"all",         "alter table", "analyze",
                                       "and",         "any",         "as",
                                       "asc",         "begin",       "between",
                                       "by",          "case",        "cast",
                                       "checkpoint",  "coalesce",    "commit",
                                       "copy",        "count",       "create table",
                                       "create view", "cross join",  "date",
                                       "default",     "delete from", "desc",
                                       "distinct",    "drop table",  "drop view",
                                       "else",        "end",         "except",
                                       "exists",      "explain",     "explain analyze",
                                       "extract",     "false",       "from",
                                       "full join",   "group by",    "having",
                                       "ilike",       "in",          "inner join",
                                       "insert into", "intersect",   "interval",
                                       "is",          "join",        "left join",
                                       "like",        "limit",       "merge into",
                                       "natural",     "not",         "null",
                                       "nulls first", "nulls last",  "offset",
                                       "on",          "or",          "order by",
                                       "prepare",     "primary key", "reset",
                                       "returning",   "right join",  "rollback",
                                       "select",      "set",         "show",
                                       "sum",         "then",        "true",
                                       "truncate",    "union",       "unique",
                                       "update",      "using",       "vacuum",
                                       "values",      "when",        "where",
                                       "with"};

/* What the list has at the moment; `folds`: words that take the case of what is typed. */
typedef struct Words {
    char **items;
    size_t n, cap, at;
    bool folds, exact; /* exact: letters are as they are typed */
} Words;
static Words words;
static Shell *completing;

static bool add_word(const char *w) {
    if (words.n == words.cap) {
        size_t cap = words.cap ? words.cap * 2 : 256;
        char **more = realloc(words.items, cap * sizeof *more);
        if (!more) return true;
        words.items = more;
        words.cap = cap;
    }
    char *copy = strdup(w);
    if (!copy) return true;
    words.items[words.n++] = copy;
    return false;
}

static void forget_words(void) {
    for (size_t i = 0; i < words.n; i++) free(words.items[i]);
    words.n = words.at = 0;
    words.folds = words.exact = false;
}

void completion_end(void) {
    forget_words();
    free(words.items);
    words = (Words){0};
}

static int compare_words(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static void sort_words(void) {
    size_t kept = 0;
    if (words.n > 0) qsort(words.items, words.n, sizeof *words.items, compare_words);
    for (size_t i = 0; i < words.n; i++) {
        if (kept > 0 && strcmp(words.items[kept - 1], words.items[i]) == 0) free(words.items[i]);
        else words.items[kept++] = words.items[i];
    }
    words.n = kept;
}

/* ---- what there is ---------------------------------------------------------------------------------------- */

static bool each_column(void *ctx, const char *name, const char *type, bool not_null, const char *def,
                        const char *key) {
    (void)ctx, (void)type, (void)not_null, (void)def, (void)key;
    return add_word(name);
}
static bool each_table(void *ctx, const char *name, const char *kind, int64_t rows) {
    (void)ctx, (void)kind, (void)rows;
    return add_word(name);
}
static bool each_function(void *ctx, const char *name, const char *args, const char *result, const char *doc) {
    (void)ctx, (void)args, (void)result;
    bool plain = (*name | 32) >= 'a' && (*name | 32) <= 'z' && strncmp(doc, "internal", 8) != 0;
    return plain && add_word(name);
}
static bool each_routine(void *ctx, const char *name, const char *kind, const char *args, const char *result,
                         const char *language) {
    (void)ctx, (void)kind, (void)args, (void)result, (void)language;
    return add_word(name);
}
static bool each_setting(void *ctx, int64_t n, const char *const *values, const char *const *names) {
    (void)ctx, (void)names;
    return n > 0 && values[0] && add_word(values[0]);
}
static bool each_variable(void *ctx, const char *name, const char *value) {
    (void)ctx, (void)value;
    return add_word(name);
}

/* The database is looked at only where that disturbs no transaction. */
static bool can_look(void) { return stele_transaction_state(completing->conn) != 'E'; }
static void add_tables(void) {
    if (can_look()) (void)stele_list_tables(completing->conn, each_table, NULL);
}
static void add_columns_of(const char *table) {
    if (can_look()) (void)stele_list_columns(completing->conn, table, each_column, NULL);
}
static void add_functions(void) {
    stele_list_functions(each_function, NULL);
    if (can_look()) (void)stele_list_routines(completing->conn, each_routine, NULL);
}
static void add_settings(void) {
    if (can_look()) (void)stele_exec(completing->conn, "show all", each_setting, NULL);
}
static void add_keywords(void) {
    for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++) (void)add_word(keywords[i]);
}

/* ---- the statement before the cursor --------------------------------------------------------------------------- */

enum { TOKENS_MAX = 512, TOKEN_SIZE = 64 };
typedef struct Tokens {
    char items[TOKENS_MAX][TOKEN_SIZE]; /* names folded, others by character */
    int n;
} Tokens;

/* Names and single characters; strings and comments are nothing. */
static void tokenize(const char *s, size_t n, Tokens *t) {
    for (size_t i = 0; i < n && t->n < TOKENS_MAX;) {
        char c = s[i];
        char *to = t->items[t->n];
        size_t k = 0;
        if (isspace((unsigned char)c)) {
            i++;
        } else if (c == '\'') {
            for (i++; i < n && s[i] != '\''; i++) continue;
            i++;
        } else if (c == '-' && i + 1 < n && s[i + 1] == '-') {
            while (i < n && s[i] != '\n') i++;
        } else if (c == '"') {
            for (i++; i < n && s[i] != '"'; i++)
                if (k < TOKEN_SIZE - 1) to[k++] = s[i];
            i++;
            to[k] = 0;
            t->n++;
        } else if (isalnum((unsigned char)c) || c == '_' || (c & 0x80)) {
            for (; i < n && (isalnum((unsigned char)s[i]) || s[i] == '_' || s[i] == '$' || (s[i] & 0x80)); i++)
                if (k < TOKEN_SIZE - 1) to[k++] = (char)tolower((unsigned char)s[i]);
            to[k] = 0;
            t->n++;
        } else {
            to[0] = c;
            to[1] = 0;
            i++;
            t->n++;
        }
    }
}

static bool is_word(const char *s) { return isalpha((unsigned char)*s) || *s == '_' || (*s & 0x80); }
static bool introduces_table(const char *s) {
    return strcmp(s, "from") == 0 || strcmp(s, "join") == 0 || strcmp(s, "into") == 0 || strcmp(s, "update") == 0;
}
static bool ends_alias(const char *s) {
    static const char *const other[] = {"where", "on",      "join",   "left",      "right", "full",  "inner",
                                        "cross", "natural", "using",  "group",     "order", "limit", "union",
                                        "set",   "values",  "select", "returning", "as",    NULL};
    return is_one_of(s, other);
}

/* Calls `each` for every table that the statement names, with its alias ("": none). */
static void each_named_table(const Tokens *t, void (*each)(const char *table, const char *alias, const char *wanted),
                             const char *wanted) {
    for (int i = 0; i + 1 < t->n; i++) {
        bool list = introduces_table(t->items[i]);
        for (int k = i + 1; list && k < t->n && is_word(t->items[k]);) {
            const char *table = t->items[k++], *alias = "";
            if (k + 1 < t->n && strcmp(t->items[k], ".") == 0) table = t->items[k + 1], k += 2;
            if (k < t->n && strcmp(t->items[k], "as") == 0) k++;
            if (k < t->n && is_word(t->items[k]) && !ends_alias(t->items[k])) alias = t->items[k++];
            each(table, alias, wanted);
            if (k >= t->n || strcmp(t->items[k], ",") != 0) break;
            k++;
        }
    }
}
static void add_if_named(const char *table, const char *alias, const char *wanted) {
    if (strcmp(alias, wanted) == 0 || strcmp(table, wanted) == 0) add_columns_of(table);
}
static void add_all_columns(const char *table, const char *alias, const char *wanted) {
    (void)wanted;
    add_columns_of(table);
    if (*alias) (void)add_word(alias);
}

/* Columns of all tables, when the statement has not named any yet. */
static void add_every_column(void) {
    size_t first = words.n;
    add_tables();
    size_t end = words.n;
    for (size_t i = first; i < end; i++) {
        char *name = strdup(words.items[i]);
        if (name) add_columns_of(name);
        free(name);
    }
}

/* ---- at the cursor --------------------------------------------------------------------------------------------- */

/* Behind a backslash command: what its argument may be. */
static void collect_argument(const char *line) {
    if (line[1] == 'd' || strncmp(line, "\\sv", 3) == 0 || strncmp(line, "\\copy", 5) == 0) add_tables();
    if (strncmp(line, "\\df", 3) == 0 || strncmp(line, "\\sf", 3) == 0) add_functions();
    if (strncmp(line, "\\pset format", 12) == 0 || strncmp(line, "\\format", 7) == 0) {
        for (const Format *f = formats; f->name; f++) (void)add_word(f->name);
    } else if (strncmp(line, "\\pset", 5) == 0) {
        for (size_t i = 0; print_option_name(i); i++) (void)add_word(print_option_name(i));
    } else if (strncmp(line, "\\set", 4) == 0 || strncmp(line, "\\unset", 6) == 0) {
        variables_list(completing, each_variable, NULL);
    } else if (strncmp(line, "\\h", 2) == 0) {
        for (size_t i = 0; sql_topic(i); i++) (void)add_word(sql_topic(i));
    }
}

static bool is_file_command(const char *line) {
    static const char *const names[] = {"\\i ",   "\\ir ",    "\\o ",   "\\w ",     "\\e ",   "\\cd ", "\\bulk ",
                                        ".read ", ".import ", ".open ", ".output ", ".once ", ".cd "};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(line, names[i], strlen(names[i])) == 0) return true;
    return false;
}

/* Words of the statement whose end is the cursor, without the one being typed. */
static void collect_sql(const char *before, size_t n) {
    static Tokens t; /* large */
    t.n = 0;
    tokenize(completing->query.text ? completing->query.text : "", completing->query.len, &t);
    tokenize(before, n, &t);
    const char *last = t.n > 0 ? t.items[t.n - 1] : "", *first = t.n > 0 ? t.items[0] : "";
    if (strcmp(last, ".") == 0 && t.n > 1) { /* columns of a table or alias, which may come later in the line */
        char name[TOKEN_SIZE];
        snprintf(name, sizeof name, "%s", t.items[t.n - 2]);
        t.n -= 2;
        tokenize(rl_line_buffer + rl_point, strlen(rl_line_buffer + rl_point), &t);
        each_named_table(&t, add_if_named, name);
        if (words.n == 0) add_columns_of(name);
        if (words.n == 0 && strcmp(name, "public") == 0) add_tables();
    } else if ((strcmp(first, "set") == 0 || strcmp(first, "show") == 0 || strcmp(first, "reset") == 0) && t.n <= 2) {
        add_settings();
        if (strcmp(first, "set") != 0) (void)add_word("all");
    } else if (introduces_table(last) || strcmp(last, "table") == 0 || strcmp(last, "view") == 0 ||
               strcmp(last, "truncate") == 0 || strcmp(last, "copy") == 0) {
        add_tables();
        words.folds = true;
        if (strcmp(last, "from") == 0 || strcmp(last, "join") == 0) add_functions();
    } else {
        words.folds = true;
        add_keywords();
        add_functions();
        tokenize(rl_line_buffer + rl_point, strlen(rl_line_buffer + rl_point), &t);
        size_t columns = words.n;
        each_named_table(&t, add_all_columns, "");
        if (words.n == columns) add_every_column();
        else add_tables();
    }
}

static void collect_words(int start) {
    const char *line = rl_line_buffer;
    forget_words();
    while (*line == ' ') line++, start--;
    if (start <= 1 && *line == '\\') { /* libedit takes the backslash for an escape, which is none of the word */
        for (const Command *c = each_command(NULL); c; c = each_command(c)) (void)add_word(c->name);
        words.exact = true;
    } else if (start == 1 && *line == '.' && completing->query.len == 0) {
        for (size_t i = 0; dot_name(i); i++) (void)add_word(dot_name(i));
    } else if (*line == '\\') {
        collect_argument(line);
    } else if (strncmp(line, ".mode ", 6) == 0) {
        for (const Format *f = formats; f->name; f++) (void)add_word(f->name);
    } else if (*line == '.' && completing->query.len == 0) {
        add_tables();
    } else {
        collect_sql(line, (size_t)start);
    }
    sort_words();
}

static bool is_keyword(const char *w) {
    for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++)
        if (strcmp(keywords[i], w) == 0) return true;
    return false;
}

/* libedit takes q.col as one word: what is before the last point stays as it is. */
static size_t qualifier(const char *text) {
    const char *point = strrchr(text, '.');
    return point ? (size_t)(point + 1 - text) : 0;
}

static char *next_word(const char *text, int state) {
    if (state == 0) words.at = 0;
    size_t kept = qualifier(text), n = strlen(text + kept);
    const char *part = text + kept;
    while (words.at < words.n) {
        const char *w = words.items[words.at++];
        if (strncasecmp(w, part, n) != 0 || (words.exact && strncmp(w, part, n) != 0)) continue;
        char *r = NULL;
        if (asprintf(&r, "%.*s%s", (int)kept, text, w) < 0) return NULL;
        if (n > 0 && isupper((unsigned char)*part) && words.folds && is_keyword(w)) /* in the case being typed */
            for (char *p = r + kept; *p; p++) *p = (char)toupper((unsigned char)*p);
        return r;
    }
    return NULL;
}

char **complete_word(Shell *sh, const char *text, int start) {
    completing = sh;
    const char *line = rl_line_buffer + strspn(rl_line_buffer, " ");
    if (is_file_command(line)) return rl_completion_matches(text, rl_filename_completion_function);
    collect_words(start + (int)qualifier(text));
    return rl_completion_matches(text, next_word);
}
