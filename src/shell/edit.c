/* edit.c - the interactive loop: line editing with history (libedit), several lines per statement. */
#include <ctype.h>
#include <errno.h>
#include <locale.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <editline/readline.h>

#include "shell/command.h"
#include "shell/complete.h"
#include "shell/vars.h"

static Shell *at_terminal;

static sigjmp_buf at_prompt;
static volatile sig_atomic_t prompting; /* a jump to at_prompt is safe */

static char **complete(const char *text, int start, int end) {
    (void)end;
    rl_attempted_completion_over = 1;
    shell_stop = 0;
    prompting = 0; /* no jump out of the library */
    char **r = complete_word(at_terminal, text, start);
    prompting = 1;
    if (!shell_stop) return r;
    for (char **word = r; word && *word; word++) free(*word); /* Ctrl-C meanwhile */
    free(r);
    siglongjmp(at_prompt, 1);
}

static void on_interrupt(int sig) {
    (void)sig;
    if (prompting) siglongjmp(at_prompt, 1);
    shell_stop = 1;
    if (!shell_running) return;
    stele_interrupt(at_terminal->conn);
    interrupt_again(); /* should the statement have been about to begin */
}

/* ---- history: a statement is one entry, however many lines it has -------------------------------------- */

static char history_path[1024];
static char *typed; /* lines of the statement being typed */

static void read_history_file(const Shell *sh) {
    const char *home = getenv("HOME"), *path = variable_get(sh, "HISTFILE");
    if (path) snprintf(history_path, sizeof history_path, "%s", path);
    else if (home) snprintf(history_path, sizeof history_path, "%s/.stele_history", home);
    const char *size = variable_get(sh, "HISTSIZE");
    stifle_history(size && atoll(size) > 0 ? (int)atoll(size) : 2000);
    if (*history_path) read_history(history_path);
}

static void remember_line(const char *line) {
    char *more = NULL;
    if (!*line && !typed) return;
    if (asprintf(&more, "%s%s%s", typed ? typed : "", typed ? "\n" : "", line) < 0) return;
    free(typed);
    typed = more;
}

/* When nothing is being typed any more. One that is the last entry again is none. */
static void end_entry(void) {
    if (!typed) return;
    HIST_ENTRY *last = history_length > 0 ? history_get(history_base + history_length - 1) : NULL;
    if (!last || !last->line || strcmp(last->line, typed) != 0) add_history(typed);
    free(typed);
    typed = NULL;
    if (*history_path && write_history(history_path) == 0) chmod(history_path, 0600);
}

void show_history(Shell *sh, const char *path) {
    FILE *f = path ? fopen(path, "w") : sh->out;
    for (int i = 0; f && i < history_length; i++) {
        HIST_ENTRY *e = history_get(history_base + i);
        if (e && e->line) fprintf(f, "%s\n", e->line);
    }
    if (!f || (path && fclose(f) != 0))
        say_error("could not write history to file \"%s\": %s\n", path, strerror(errno));
}

/* ---- prompts --------------------------------------------------------------------------------------------- */

/* PROMPT1 or PROMPT2 with psql's % sequences. */
static void make_prompt(const Shell *sh, const char *pattern, char *out, size_t size) {
    char state = stele_transaction_state(sh->conn);
    const char *slash = strrchr(sh->path, '/'), *name = slash && slash[1] ? slash + 1 : sh->path;
    size_t n = 0;
    for (const char *p = pattern; *p && n + 1 < size; p++) {
        const char *text = NULL;
        char one[2] = {*p, 0};
        if (*p != '%') text = one;
        else if (!*++p) break;
        else if (*p == '/' || *p == '~') text = name;
        else if (*p == 'n') text = "stele";
        else if (*p == 'm' || *p == 'M') text = "[local]";
        else if (*p == '#') text = "#";
        else if (*p == 'R') text = sh->query.len ? "-" : "=";
        else if (*p == 'x') text = state == 'T' ? "*" : state == 'E' ? "!" : "";
        else if (*p == '%') text = "%";
        else if (*p == ':') {
            char variable[64];
            size_t k = strcspn(p + 1, ":");
            snprintf(variable, sizeof variable, "%.*s", (int)k, p + 1);
            text = variable_get(sh, variable);
            p += k + (p[1 + k] == ':');
        }
        n += (size_t)snprintf(out + n, size - n, "%s", text ? text : "");
        if (n >= size) n = size - 1;
    }
    out[n] = 0;
}

static const char *prompt_text(const Shell *sh) {
    static char text[256];
    bool more = sh->query.len > 0;
    const char *pattern = variable_get(sh, more ? "PROMPT2" : "PROMPT1");
    char t = stele_transaction_state(sh->conn);
    if (pattern) {
        make_prompt(sh, pattern, text, sizeof text);
        return text;
    }
    if (!is_active(sh)) return more ? "  @...> " : "stele@> ";
    return more ? "   ...> " : t == 'T' ? "stele*> " : t == 'E' ? "stele!> " : "stele> ";
}

/* ---- the loop ------------------------------------------------------------------------------------------------- */

static void begin_editing(void) {
    rl_initialize();
    rl_attempted_completion_function = complete;
}

/* Ctrl-D; or the terminal has gone, and no one can answer. True: the shell ends. */
static bool end_of_input(Shell *sh) {
    putchar('\n');
    if (!isatty(STDIN_FILENO) || (ask_to_leave(sh) && save_at_prompt(sh))) return true;
    clearerr(stdin);
    return false;
}

void interactive_loop(Shell *sh) {
    at_terminal = sh;
    struct sigaction sa = {.sa_handler = on_interrupt};
    sigemptyset(&sa.sa_mask);
    sigaction(SIGINT, &sa, NULL);
    if (!setlocale(LC_CTYPE, "C.UTF-8")) setlocale(LC_CTYPE, ""); /* libedit would drop what is not ASCII */
    rl_readline_name = "stele";
    begin_editing();
    static char breaks[] = " \t\n\"'(),;=<>+-*/|.";
    rl_completer_word_break_characters = breaks;
    read_history_file(sh);
    if (!sh->set.quiet) printf("Stele %s. \\? for help, \\q to leave.\n", stele_version());
    while (!shell_ends(sh)) {
        if (sigsetjmp(at_prompt, 1)) { /* Ctrl-C while typing: forget the statement */
            prompting = 0;
            forget_buffer(sh);
            conditions_free(sh->conditions);
            sh->conditions = conditions_new();
            end_entry();
            putchar('\n');
            begin_editing();
            continue;
        }
        const char *prompt = prompt_text(sh);
        shell_stop = 0;
        prompting = 1;
        char *line = readline(prompt);
        prompting = 0;
        if (shell_signal) {
            free(line);
            break;
        }
        if (!line) {
            if (end_of_input(sh)) break;
            continue;
        }
        remember_line(line);
        (void)feed_line(sh, line, strlen(line));
        if (sh->query.len == 0) end_entry();
        free(line);
        if (sh->quit && ask_to_leave(sh) && save_at_prompt(sh)) break;
        sh->quit = false;
    }
    end_entry();
    completion_end();
}
