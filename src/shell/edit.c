/* edit.c - the interactive loop: line editing with history and completion (libedit), several lines per statement. */
#include <ctype.h>
#include <locale.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include <editline/readline.h>

#include "shell/shell.h"

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
                                       "like",        "limit",       "natural",
                                       "not",         "null",        "nulls first",
                                       "nulls last",  "offset",      "on",
                                       "or",          "order by",    "prepare",
                                       "primary key", "reset",       "returning",
                                       "right join",  "rollback",    "select",
                                       "set",         "show",        "sum",
                                       "then",        "true",        "truncate",
                                       "union",       "unique",      "update",
                                       "using",       "vacuum",      "values",
                                       "when",        "where",       "with"};

static Shell *completing;
static char **words;
static size_t n_words, at_word;

static bool add_word(const char *w) {
    char **g = realloc(words, sizeof(char *) * (n_words + 1));
    if (!g) return true;
    words = g;
    words[n_words++] = strdup(w);
    return false;
}
static bool add_column(void *ctx, const char *name, const char *type, bool not_null, const char *def, const char *key) {
    (void)ctx, (void)type, (void)not_null, (void)def, (void)key;
    return add_word(name);
}
static bool add_table(void *ctx, const char *name, const char *kind, int64_t rows) {
    (void)ctx, (void)kind, (void)rows;
    return add_word(name);
}

static void collect_words(void) {
    for (size_t i = 0; i < n_words; i++) free(words[i]);
    n_words = 0;
    for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++) add_word(keywords[i]);
    if (stele_transaction_state(completing->conn) == 'E') return;
    size_t first = n_words;
    (void)stele_list_tables(completing->conn, add_table, NULL);
    size_t end = n_words;
    for (size_t i = first; i < end; i++) {
        char *name = strdup(words[i]);
        if (name) (void)stele_list_columns(completing->conn, name, add_column, NULL);
        free(name);
    }
}

static char *next_word(const char *text, int state) {
    if (state == 0) {
        collect_words();
        at_word = 0;
    }
    size_t n = strlen(text);
    while (at_word < n_words) {
        const char *w = words[at_word++];
        if (strncasecmp(w, text, n) != 0) continue;
        char *r = strdup(w);
        if (r && n > 0 && isupper((unsigned char)text[0]) &&
            at_word <= sizeof keywords / sizeof *keywords) /* keywords in the case being typed */
            for (char *p = r; *p; p++) *p = (char)toupper((unsigned char)*p);
        return r;
    }
    return NULL;
}

static sigjmp_buf at_prompt;
static volatile sig_atomic_t prompting; /* a jump to at_prompt is safe */

static char **complete(const char *text, int start, int end) {
    (void)start, (void)end;
    rl_attempted_completion_over = 1;
    prompting = 0; /* no jump out of the library */
    char **r = rl_completion_matches(text, next_word);
    prompting = 1;
    return r;
}

static void on_interrupt(int sig) {
    (void)sig;
    if (prompting) siglongjmp(at_prompt, 1);
    shell_stop = 1;
    if (!shell_running) return;
    stele_interrupt(completing->conn);
    interrupt_again(); /* should the statement have been about to begin */
}

void interactive_loop(Shell *sh) {
    completing = sh;
    struct sigaction sa = {.sa_handler = on_interrupt};
    sigemptyset(&sa.sa_mask);
    sigaction(SIGINT, &sa, NULL);
    if (!setlocale(LC_CTYPE, "C.UTF-8")) setlocale(LC_CTYPE, ""); /* libedit would drop what is not ASCII */
    rl_readline_name = "stele";
    rl_initialize();
    rl_attempted_completion_function = complete;
    static char breaks[] = " \t\n\"'(),;=<>+-*/|.";
    rl_completer_word_break_characters = breaks;
    char history[1024] = "";
    const char *home = getenv("HOME");
    if (home) snprintf(history, sizeof history, "%s/.stele_history", home);
    stifle_history(2000);
    if (*history) read_history(history);
    printf("Stele %s. \\? for help, \\q to leave.\n", stele_version());
    while (!shell_ends(sh)) {
        if (sigsetjmp(at_prompt, 1)) { /* Ctrl-C while typing: forget the statement */
            prompting = 0;
            forget_buffer(sh);
            putchar('\n');
            rl_initialize();
            rl_attempted_completion_function = complete;
            continue;
        }
        char t = stele_transaction_state(sh->conn);
        const char *prompt = sh->len ? "   ...> " : t == 'T' ? "stele*> " : t == 'E' ? "stele!> " : "stele> ";
        shell_stop = 0;
        prompting = 1;
        char *line = readline(prompt);
        prompting = 0;
        if (shell_signal) {
            free(line);
            break;
        }
        if (!line) { /* Ctrl-D; or the terminal has gone, and no one can answer */
            putchar('\n');
            if (!isatty(STDIN_FILENO) || save_at_prompt(sh)) break;
            clearerr(stdin);
            continue;
        }
        if (*line) {
            add_history(line);
            if (*history && write_history(history) == 0) chmod(history, 0600);
        }
        (void)feed_line(sh, line, strlen(line));
        free(line);
        if (sh->quit && save_at_prompt(sh)) break;
        sh->quit = false;
    }
    for (size_t i = 0; i < n_words; i++) free(words[i]);
    free(words);
    words = NULL;
    n_words = 0;
}
