/* command.c - the table of backslash commands: finding one, running it, and the help, which is printed from it. Those
 * that are neither about results, variables nor definitions are here. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shell/command.h"
#include "shell/vars.h"

static const struct Family {
    const char *title;
    const Command *commands;
} families[] = {
    {"General", general_commands},
    {"Help", help_commands},
    {"Query results", query_commands},
    {"The statement being typed", buffer_commands},
    {"Input and output", io_commands},
    {"Conditions", conditional_commands},
    {"Definitions (S: also those of the system, +: more of each)", describe_commands},
    {"Form of results", format_commands},
    {"Connection", connection_commands},
    {"Operating system", system_commands},
    {"Variables", variable_commands},
};
enum { N_FAMILIES = sizeof families / sizeof *families };

/* ---- the table ---------------------------------------------------------------------------------------- */

const Command *each_command(const Command *c) {
    size_t i = 0;
    if (c) {
        for (; i < N_FAMILIES; i++) {
            const Command *first = families[i].commands, *last = first;
            while (last->name) last++;
            if (c >= first && c < last) break;
        }
        if (c[1].name) return c + 1;
        i++;
    }
    return i < N_FAMILIES ? families[i].commands : NULL;
}

static const Command *named(const char *name, size_t n) {
    for (const Command *c = each_command(NULL); c; c = each_command(c))
        if (strlen(c->name) == n && strncmp(c->name, name, n) == 0) return c;
    return NULL;
}

/* The command of a name as typed; those that describe may have S, + and x behind it. */
static const Command *find_command(const char *name) {
    size_t n = strlen(name);
    const Command *c = named(name, n);
    while (!c && n > 1 && strchr("S+x", name[n - 1])) {
        c = named(name, --n);
        if (c && !(c->flags & COMMAND_SUFFIX)) c = NULL;
    }
    if (!c && name[0] == 'd' && n > 2 && strspn(name + 1, "tvmsiE") == n - 1) c = named("dt", 2); /* \dtv: both */
    return c;
}

void help_commands_list(FILE *f) {
    for (size_t i = 0; i < N_FAMILIES; i++) {
        fprintf(f, "%s%s\n", i ? "\n" : "", families[i].title);
        for (const Command *c = families[i].commands; c->name; c++) {
            char use[64];
            if (!c->help) continue;
            snprintf(use, sizeof use, "\\%s%s%s%s", c->name, c->flags & COMMAND_SUFFIX ? "[S+]" : "",
                     *c->args ? " " : "", c->args);
            if (strlen(use) > 25) fprintf(f, "  %s\n  %-25s %s\n", use, "", c->help);
            else fprintf(f, "  %-25s %s\n", use, c->help);
        }
    }
    fputs("\nStatements end with a semicolon. Ctrl-C cancels a running statement. .help lists commands with a dot.\n",
          f);
}

/* ---- what may have been meant --------------------------------------------------------------------------- */

/* Letters to change, add, drop or exchange with the next. */
int text_distance(const char *a, const char *b) {
    enum { MOST = 24 };
    int n = (int)strlen(a), m = (int)strlen(b), d[MOST + 1][MOST + 1];
    if (n > MOST || m > MOST) return MOST;
    for (int i = 0; i <= n; i++)
        for (int j = 0; j <= m; j++) {
            if (i == 0 || j == 0) {
                d[i][j] = i + j;
                continue;
            }
            int best = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            if (d[i - 1][j] + 1 < best) best = d[i - 1][j] + 1;
            if (d[i][j - 1] + 1 < best) best = d[i][j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && d[i - 2][j - 2] + 1 < best)
                best = d[i - 2][j - 2] + 1;
            d[i][j] = best;
        }
    return d[n][m];
}

static void consider(const char *name, const char *candidate, int *best, char *out, size_t size) {
    int d = text_distance(name, candidate);
    if (d >= *best) return;
    *best = d;
    snprintf(out, size, "%s", candidate);
}

/* With its \ or dot. */
bool closest_command(const char *name, char *out, size_t size) {
    int best = (int)strlen(name) / 3 + 1;
    char found[64];
    *out = 0;
    for (const Command *c = each_command(NULL); c && *name == '\\'; c = each_command(c)) {
        snprintf(found, sizeof found, "\\%s", c->name);
        consider(name, found, &best, out, size);
    }
    for (size_t i = 0; dot_name(i) && *name == '.'; i++) {
        snprintf(found, sizeof found, ".%s", dot_name(i));
        consider(name, found, &best, out, size);
    }
    return *out != 0;
}

static bool unknown_command(const char *name) {
    char full[40], other[64];
    snprintf(full, sizeof full, "\\%s", name);
    say_error("invalid command \\%s\n", name);
    if (closest_command(full, other, sizeof other)) fprintf(stderr, "Perhaps you meant %s. ", other);
    fputs("Try \\? for help.\n", stderr);
    return false;
}

static bool unrestrict_command(Shell *sh, Args *a);

/* ---- running one ---------------------------------------------------------------------------------------------- */

/* Arguments that nothing has asked for, as psql says. */
static void extra_args(Args *a) {
    for (const char *word; (word = next_arg(a, ARG_PLAIN));)
        say_error("\\%s: extra argument \"%s\" ignored\n", a->command, word);
}

bool run_command(Shell *sh, const char *line, const char **rest) {
    char name[32];
    size_t n = 0;
    const char *p = line + 1;
    while (*p && !strchr(" \t\r\n\\", *p) && n < sizeof name - 1) {
        name[n++] = *p++;
        if (n == 1 && (name[0] == '!' || name[0] == '?')) break;
    }
    name[n] = 0;
    Args a = {.sh = sh, .command = name, .at = p};
    const Command *c = n > 0 ? find_command(name) : NULL;
    bool ok = true, line_all = c && (c->flags & COMMAND_LINE);
    if (n == 0 && *p == '\\') {
        *rest = p + 1; /* \\ ends the arguments of the command before it */
        return true;
    }
    if (!is_active(sh) && !(c && (c->flags & COMMAND_ALWAYS))) {
        a.skips = true;
        if (sh->interactive && !sh->in)
            say_error("\\%s command ignored; use \\endif or Ctrl-C to exit current \\if block\n", name);
        while (next_arg(&a, line_all ? ARG_LINE : ARG_PLAIN)) continue;
    } else if (sh->restrict_key && !(c && c->run == unrestrict_command)) {
        say_error("backslash commands are restricted; only \\unrestrict is allowed\n");
        ok = false;
        while (next_arg(&a, ARG_LINE)) continue;
    } else if (!c) {
        ok = unknown_command(name);
        while (next_arg(&a, ARG_LINE)) continue;
    } else {
        ok = c->run(sh, &a);
        if (a.failed) ok = false;
        if (ok) extra_args(&a);
        if (!ok || a.failed) a.at += strlen(a.at); /* of what was wrong nothing else runs */
    }
    while (*a.at == ' ' || *a.at == '\t') a.at++;
    if (a.at[0] == '\\' && a.at[1] == '\\') a.at += 2;
    *rest = a.at;
    bool written = check_output(sh);
    args_free(&a);
    return written && ok;
}

bool run_rest(Shell *sh, const char *command, const char *rest) {
    Args a = {.sh = sh, .command = command, .at = rest};
    const Command *c = find_command(command);
    bool ok = c && c->run(sh, &a) && !a.failed;
    args_free(&a);
    return check_output(sh) && ok;
}

bool run_text(Shell *sh, const char *command, const char *arg) {
    char *quoted = NULL;
    if (arg && *arg) { /* as one argument, whatever is in it */
        size_t n = strlen(arg), to = 0;
        quoted = malloc(2 * n + 3);
        if (!quoted) return say_no_memory();
        quoted[to++] = '\'';
        for (; *arg; arg++) {
            if (*arg == '\'' || *arg == '\\') quoted[to++] = *arg;
            quoted[to++] = *arg;
        }
        quoted[to++] = '\'';
        quoted[to] = 0;
    }
    bool ok = run_rest(sh, command, quoted ? quoted : "");
    free(quoted);
    return ok;
}

/* ---- general ---------------------------------------------------------------------------------------------------- */

/* pg_dump writes these around what it takes from the server it reads, which might otherwise run commands here. */
static bool restrict_command(Shell *sh, Args *a) {
    const char *key = next_arg(a, ARG_PLAIN);
    if (!key) return missing_arg(a);
    return (sh->restrict_key = strdup(key)) != NULL || say_no_memory();
}
static bool unrestrict_command(Shell *sh, Args *a) {
    const char *key = next_arg(a, ARG_PLAIN);
    if (!key) return missing_arg(a);
    if (!sh->restrict_key) return say_error("\\%s: not currently in restricted mode\n", a->command), false;
    if (strcmp(key, sh->restrict_key) != 0) return say_error("\\%s: wrong key\n", a->command), false;
    free(sh->restrict_key);
    sh->restrict_key = NULL;
    return true;
}

static bool quit_command(Shell *sh, Args *a) {
    sh->quit = true;
    sh->discard |= has_suffix(a, '!');
    return true;
}

static bool copyright_command(Shell *sh, Args *a) {
    (void)a;
    fprintf(sh->out, "Stele %s. See the file LICENSE of its source.\n", stele_version());
    return true;
}

static bool errverbose_command(Shell *sh, Args *a) {
    (void)a;
    fputs(sh->error.text ? sh->error.text : "There is no previous error.\n", sh->out);
    return true;
}

const Command general_commands[] = {
    {"q", "", "leave (also quit, exit, Ctrl-D); a database directory is saved", quit_command, 0},
    {"quit", "", NULL, quit_command, 0},
    {"q!", "", "leave without saving", quit_command, 0},
    {"copyright", "", "the license", copyright_command, 0},
    {"errverbose", "", "the last error, with all that is known of it", errverbose_command, 0},
    {0},
};

/* ---- help ----------------------------------------------------------------------------------------------------------
 */

static bool list_command(Shell *sh, Args *a) {
    const char *what = next_arg(a, ARG_NORMAL);
    if (what && strcmp(what, "variables") == 0) help_variables(sh->out);
    else help_commands_list(sh->out);
    return true;
}

static bool sql_command(Shell *sh, Args *a) { return help_sql(sh, next_arg(a, ARG_LINE)); }

const Command help_commands[] = {
    {"?", "[variables]", "this list, or that of variables", list_command, 0},
    {"help", "", NULL, list_command, 0},
    {"h", "[STATEMENT]", "syntax of SQL statements; all: * ", sql_command, COMMAND_LINE},
    {0},
};

/* ---- the statement being typed ----------------------------------------------------------------------------------- */

static bool write_all(int fd, const char *text, size_t n) {
    while (n > 0) {
        ssize_t k = write(fd, text, n);
        if (k < 0 && errno == EINTR) continue;
        if (k <= 0) return false;
        text += k;
        n -= (size_t)k;
    }
    return true;
}

static bool run_editor(const char *path) {
    const char *const names[] = {"PSQL_EDITOR", "EDITOR", "VISUAL"};
    const char *editor = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names && (!editor || !*editor); i++) editor = getenv(names[i]);
    if (!editor || !*editor) editor = "vi";
    char *command = NULL, *quoted = sql_quoted_text(path);
    if (!quoted || asprintf(&command, "%s %s", editor, quoted) < 0) {
        free(quoted);
        return say_no_memory();
    }
    bool ok = system(command) == 0;
    if (!ok) say_error("the editor \"%s\" failed; set EDITOR\n", editor);
    free(quoted);
    free(command);
    return ok;
}

/* \e [FILE]: the statement, or the file, is edited, then run. */
static bool edit_command(Shell *sh, Args *a) {
    char tmp[] = "/tmp/stele-edit-XXXXXX.sql";
    const char *path = next_arg(a, ARG_NORMAL);
    bool own = !path;
    if (own) {
        int fd = mkstemps(tmp, 4);
        const char *text = query_text(sh);
        bool written = fd >= 0 && write_all(fd, text, strlen(text));
        if (!written) say_error("%s: %s\n", tmp, strerror(errno));
        if (fd >= 0) close(fd);
        if (!written) return false;
        path = tmp;
    }
    bool ok = run_editor(path);
    if (ok) {
        forget_buffer(sh);
        ok = run_file(sh, path) == 0;
    }
    if (own) unlink(tmp);
    return ok;
}

static bool print_command(Shell *sh, Args *a) {
    (void)a;
    const char *text = query_text(sh);
    size_t n = strlen(text);
    fprintf(sh->out, "%s%s", *text ? text : "Query buffer is empty.", n > 0 && text[n - 1] == '\n' ? "" : "\n");
    return true;
}

static bool reset_command(Shell *sh, Args *a) {
    (void)a;
    forget_buffer(sh);
    if (sh->interactive && !sh->set.quiet) puts("Query buffer reset (cleared).");
    return true;
}

static bool write_command(Shell *sh, Args *a) {
    const char *path = next_arg(a, ARG_FILE), *text = query_text(sh);
    if (!path) return missing_arg(a);
    FILE *f = *path == '|' ? popen(path + 1, "w") : fopen(path, "w");
    if (!f) {
        say_error("%s: %s\n", path, strerror(errno));
        return false;
    }
    size_t n = strlen(text);
    bool ok = fprintf(f, "%s%s", text, n > 0 && text[n - 1] == '\n' ? "" : "\n") >= 0;
    if ((*path == '|' ? pclose(f) : fclose(f)) != 0) ok = false;
    if (!ok) say_error("%s: %s\n", path, strerror(errno));
    return ok;
}

static bool history_command(Shell *sh, Args *a) {
    show_history(sh, next_arg(a, ARG_NORMAL));
    return true;
}

const Command buffer_commands[] = {
    {"e", "[FILE]", "edit the statement (or a file) with $EDITOR and run it", edit_command, 0},
    {"edit", "", NULL, edit_command, 0},
    {"p", "", "show the statement being typed, or the last one", print_command, 0},
    {"print", "", NULL, print_command, 0},
    {"r", "", "forget the statement being typed", reset_command, 0},
    {"reset", "", NULL, reset_command, 0},
    {"s", "[FILE]", "show the history, or write it to a file", history_command, 0},
    {"w", "FILE", "write the statement to a file", write_command, 0},
    {"write", "", NULL, write_command, 0},
    {0},
};

/* ---- input and output ------------------------------------------------------------------------------------------- */

/* \echo, \qecho, \warn: words with a blank between them; -n: without the end of line */
static bool echo_command(Shell *sh, Args *a) {
    FILE *f = *a->command == 'w' ? stderr : *a->command == 'q' ? sh->out : stdout;
    bool first = true, line = true;
    if (f == stdout) f = sh->output.name ? stdout : sh->out;
    for (const char *word; (word = next_arg(a, ARG_PLAIN));) {
        if (first && line && strcmp(word, "-n") == 0) {
            line = false;
            continue;
        }
        fprintf(f, "%s%s", first ? "" : " ", word);
        first = false;
    }
    if (line) fputc('\n', f);
    return true;
}

/* \i, \ir: the latter from the folder of the file that includes it */
static bool include_command(Shell *sh, Args *a) {
    const char *path = next_arg(a, ARG_NORMAL), *slash = sh->in_name ? strrchr(sh->in_name, '/') : NULL;
    if (!path) return missing_arg(a);
    bool relative = strcmp(a->command, "ir") == 0 || strcmp(a->command, "include_relative") == 0;
    if (!relative || *path == '/' || !slash) return run_file(sh, path) == 0;
    char *full = NULL;
    if (asprintf(&full, "%.*s/%s", (int)(slash - sh->in_name), sh->in_name, path) < 0) return say_no_memory();
    bool ok = run_file(sh, full) == 0;
    free(full);
    return ok;
}

/* \o: what was written is looked at when a file is closed. */
static bool output_command(Shell *sh, Args *a) {
    const char *path = next_arg(a, ARG_FILE);
    bool ok = close_output(sh);
    return (path ? open_output(sh, path) : true) && ok;
}

/* The words of \copy: `head` up to behind FROM or TO, then where from or to, then the options. */
typedef struct CopyWords {
    const char *head, *place, *rest;
    size_t n_head, n_place;
    bool from;
} CopyWords;

/* FROM or TO outside of quotes and parentheses; then a word, or a text in quotes. */
static bool split_copy(const char *arg, CopyWords *w) {
    int depth = 0;
    char quote = 0;
    for (const char *s = arg; *s; s++) {
        if (quote) quote = *s == quote ? 0 : quote;
        else if (*s == '\'' || *s == '"') quote = *s;
        else if (*s == '(' || *s == ')') depth += *s == '(' ? 1 : -1;
        else if (depth == 0 && s > arg && (s[-1] == ' ' || s[-1] == ')')) {
            size_t n = strncasecmp(s, "from ", 5) == 0 ? 5 : strncasecmp(s, "to ", 3) == 0 ? 3 : 0;
            if (n == 0) continue;
            const char *place = s + n + strspn(s + n, " ");
            size_t k = *place == '\'' ? strcspn(place + 1, "'") + 2 : strcspn(place, " \t;");
            if (k > strlen(place)) k = strlen(place);
            *w = (CopyWords){arg, place, place + k, (size_t)(s + n - arg), k, n == 5};
            return k > 0;
        }
    }
    return false;
}

static bool is_place(const CopyWords *w, const char *word) {
    return w->n_place == strlen(word) && strncasecmp(w->place, word, w->n_place) == 0;
}

static bool run_copy(Shell *sh, const CopyWords *w, const char *place, const char *rest) {
    char *sql = NULL;
    if (asprintf(&sql, "copy %.*s%s%s", (int)w->n_head, w->head, place, rest) < 0) return say_no_memory();
    bool ok = run_sql(sh, sql, strlen(sql));
    free(sql);
    return ok;
}

/* Rows from what a program prints, or to its input. */
static bool copy_program(Shell *sh, const CopyWords *w) {
    const char *text = w->rest + strspn(w->rest, " \t"), *end = *text == '\'' ? text + 1 : text;
    char command[4096];
    size_t n = 0;
    for (; *text == '\'' && *end && (*end != '\'' || end[1] == '\'') && n < sizeof command - 1; end++) {
        end += *end == '\'';
        command[n++] = *end;
    }
    command[n] = 0;
    if (*end != '\'' || n == 0) {
        say_error("\\copy: behind PROGRAM the command is missing, in single quotes\n");
        return false;
    }
    fflush(NULL);
    FILE *f = popen(command, w->from ? "r" : "w"), *in = sh->in, *out = sh->out;
    Output output = sh->output;
    if (!f) {
        say_error("%s: %s\n", command, strerror(errno));
        return false;
    }
    if (w->from) {
        sh->in = f;
    } else {
        sh->out = f;
        sh->output = (Output){.name = command, .pipe = true};
    }
    bool ok = run_copy(sh, w, w->from ? "stdin" : "stdout", end + 1);
    sh->in = in;
    sh->out = out;
    sh->output = output;
    int status = pclose(f);
    if (status != 0) say_error("program \"%s\" failed\n", command);
    return ok && status == 0;
}

/* The shell and the database share a machine: a COPY with the path. A file name without quotes gets some. */
static bool copy_command(Shell *sh, Args *a) {
    const char *arg = next_arg(a, ARG_LINE);
    CopyWords w;
    if (!arg) return missing_arg(a);
    if (!split_copy(arg, &w)) {
        say_error("\\copy: parse error: it takes a table or (query), from or to, and a file\n");
        return false;
    }
    if (is_place(&w, "program")) return copy_program(sh, &w);
    if (is_place(&w, "stdin") || is_place(&w, "pstdin")) return run_copy(sh, &w, "stdin", w.rest);
    if (is_place(&w, "stdout") || is_place(&w, "pstdout")) return run_copy(sh, &w, "stdout", w.rest);
    char *place = strndup(w.place, w.n_place), *quoted = place && *place != '\'' ? sql_quoted_text(place) : place;
    bool ok = quoted ? run_copy(sh, &w, quoted, w.rest) : say_no_memory();
    if (quoted != place) free(quoted);
    free(place);
    return ok;
}

static bool bulk_command(Shell *sh, Args *a) {
    char *arg = next_arg(a, ARG_LINE), none[1] = "";
    return run_bulk(sh, arg ? arg : none);
}

const Command io_commands[] = {
    {"copy", "T from|to FILE [with (...)]", "COPY with a path of this machine", copy_command, COMMAND_LINE},
    {"bulk", "P FILE [SETTING=VALUE...]", "a call of P for each line of a CSV file, all in one bulk", bulk_command,
     COMMAND_LINE},
    {"echo", "[-n] [TEXT]", "print a line to standard output", echo_command, 0},
    {"i", "FILE", "run statements from a file", include_command, 0},
    {"include", "", NULL, include_command, 0},
    {"ir", "FILE", "... whose name is relative to the file that includes it", include_command, 0},
    {"include_relative", "", NULL, include_command, 0},
    {"o", "[FILE or |PROGRAM]", "results to a file or program, or back to the terminal", output_command, 0},
    {"out", "", NULL, output_command, 0},
    {"qecho", "[-n] [TEXT]", "print a line to where results go (\\o)", echo_command, 0},
    {"restrict", "KEY", "no commands from here on but the next, with the same key", restrict_command, 0},
    {"unrestrict", "KEY", "all commands again", unrestrict_command, 0},
    {"warn", "[-n] [TEXT]", "print a line to standard error", echo_command, 0},
    {0},
};

/* ---- connection ------------------------------------------------------------------------------------------------ */

static bool conninfo_command(Shell *sh, Args *a) {
    (void)a;
    if (strcmp(sh->path, ":memory:") == 0)
        fprintf(sh->out, "You are connected to a database in memory as user \"stele\", in this process.\n");
    else
        fprintf(sh->out, "You are connected to database \"%s\"%s as user \"stele\", in this process.\n", sh->path,
                sh->read_only ? " (read only)" : "");
    return true;
}

static bool encoding_command(Shell *sh, Args *a) {
    const char *name = next_arg(a, ARG_NORMAL);
    if (!name) {
        fputs("UTF8\n", sh->out);
        return true;
    }
    if (strcasecmp(name, "utf8") == 0 || strcasecmp(name, "utf-8") == 0 || strcasecmp(name, "unicode") == 0)
        return true;
    say_error("%s: invalid encoding name or conversion procedure not found; there is UTF8\n", name);
    return false;
}

static bool connect_command(Shell *sh, Args *a) {
    const char *path = next_arg(a, ARG_NORMAL);
    for (const char *more; path && (more = next_arg(a, ARG_NORMAL));)
        if (strcmp(more, "-") != 0) {
            say_error("\\connect: there are no users and hosts: \\c [DATABASE], a directory or :memory:\n");
            return false;
        }
    if (path && strcmp(path, "-") == 0) path = NULL;
    return change_database(sh, path);
}

static bool password_command(Shell *sh, Args *a) {
    (void)sh;
    (void)next_arg(a, ARG_NORMAL);
    say_error("\\password: the one user, \"stele\", has no password\n");
    return false;
}

const Command connection_commands[] = {
    {"c", "[DATABASE]", "close the database, which is saved, and open another", connect_command, 0},
    {"connect", "", NULL, connect_command, 0},
    {"conninfo", "", "the database that is open", conninfo_command, 0},
    {"encoding", "", "the encoding of text", encoding_command, 0},
    {"password", "", NULL, password_command, 0},
    {0},
};

/* ---- operating system ----------------------------------------------------------------------------------------------
 */

static bool cd_command(Shell *sh, Args *a) {
    (void)sh;
    const char *path = next_arg(a, ARG_NORMAL);
    if (!path) path = getenv("HOME");
    if (path && chdir(path) == 0) return true;
    say_error("\\cd: could not change directory to \"%s\": %s\n", path ? path : "", strerror(errno));
    return false;
}

static bool timing_command(Shell *sh, Args *a) {
    const char *arg = next_arg(a, ARG_NORMAL);
    if (!arg) sh->timing = !sh->timing;
    else if (!read_bool(arg, &sh->timing)) {
        say_error("unrecognized value \"%s\" for \"\\timing\": Boolean expected\n", arg);
        return false;
    }
    if (!sh->set.quiet) fprintf(sh->out, "Timing is %s.\n", sh->timing ? "on" : "off");
    return true;
}

static bool shell_command(Shell *sh, Args *a) {
    const char *command = next_arg(a, ARG_LINE), *program = getenv("SHELL");
    fflush(NULL);
    int status = system(command ? command : program && *program ? program : "/bin/sh");
    bool ran = status != -1 && !(WIFEXITED(status) && WEXITSTATUS(status) == 127);
    (void)variable_set(sh, "SHELL_ERROR", status == 0 ? "false" : "true");
    variable_set_long(sh, "SHELL_EXIT_CODE",
                      status == -1        ? -1
                      : WIFEXITED(status) ? WEXITSTATUS(status)
                                          : 128 + WTERMSIG(status));
    if (!ran) say_error("\\!: failed\n");
    return ran;
}

const Command system_commands[] = {
    {"cd", "[DIR]", "change the current directory", cd_command, 0},
    {"timing", "[on|off]", "show how long statements take", timing_command, 0},
    {"!", "[COMMAND]", "run a command of the operating system, or a shell", shell_command, COMMAND_LINE},
    {0},
};
