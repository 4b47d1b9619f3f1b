/* run.c - collecting statements from lines, running them, showing errors and progress. */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "shell/command.h"
#include "shell/packed.h"
#include "shell/vars.h"

double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* Where the script is that is being run; name NULL: what is typed, or standard input. */
static const char *script_name;
static long long script_line;

static void put_location(FILE *f) {
    if (script_name) fprintf(f, "stele:%s:%lld: ", script_name, script_line);
}

void count_script_line(void) { script_line++; }

void say_error(const char *format, ...) {
    va_list args;
    va_start(args, format);
    fflush(stdout);
    put_location(stderr);
    vfprintf(stderr, format, args);
    va_end(args);
}

bool say_no_memory(void) {
    say_error("out of memory\n");
    return false;
}

bool is_one_of(const char *word, const char *const *words) {
    for (; *words; words++)
        if (strcmp(*words, word) == 0) return true;
    return false;
}

/* ---- messages --------------------------------------------------------------------------------- */

/* The line of the statement that an error points at, and a caret under the place. Long lines are cut around it. */
static void put_place(FILE *f, const char *sql, int64_t position) {
    const char *p = sql;
    for (int64_t k = 1; k < position && *p; k++) { /* position counts characters */
        p++;
        while ((*p & 0xc0) == 0x80) p++;
    }
    const char *b = p, *x = p;
    while (b > sql && b[-1] != '\n') b--;
    while (*x && *x != '\n') x++;
    int line = 1;
    for (const char *q = sql; q < b; q++) line += *q == '\n';
    const char *from = b, *to = x;
    bool cut_left = false, cut_right = false;
    if (x - b > 100) {
        if (p - b > 60) from = p - 50, cut_left = true;
        while (from < p && (*from & 0xc0) == 0x80) from++;
        if (x - p > 40) to = p + 40, cut_right = true;
        while (to > p && (*to & 0xc0) == 0x80) to--;
    }
    char head[32];
    int k = snprintf(head, sizeof head, "LINE %d: ", line);
    fprintf(f, "%s%s%.*s%s\n", head, cut_left ? "..." : "", (int)(to - from), from, cut_right ? "..." : "");
    fprintf(f, "%*s^\n", k + (cut_left ? 3 : 0) + text_width(from, (size_t)(p - from)), "");
}

static void put_error(FILE *f, const stele_error_info *e, const char *sql, Verbosity v) {
    if (v == VERBOSITY_SQLSTATE) {
        fprintf(f, "ERROR:  %s\n", e->sqlstate);
        return;
    }
    fprintf(f, "ERROR:  %s: %s\n", e->sqlstate, e->message);
    if (e->position > 0 && sql) put_place(f, sql, e->position);
    if (v == VERBOSITY_TERSE) return;
    if (*e->detail) fprintf(f, "DETAIL:  %s\n", e->detail);
    if (*e->hint) fprintf(f, "HINT:  %s\n", e->hint);
    if (*e->context) fprintf(f, "CONTEXT:  %s\n", e->context);
    if (v != VERBOSITY_VERBOSE) return;
    const char *const names[] = {"SCHEMA", "TABLE", "COLUMN", "DATATYPE", "CONSTRAINT"};
    const char *const values[] = {e->schema_name, e->table_name, e->column_name, e->datatype_name, e->constraint_name};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (values[i] && *values[i]) fprintf(f, "%s NAME:  %s\n", names[i], values[i]);
}

/* Kept in full, for \errverbose. */
static void keep_error(Shell *sh, const stele_error_info *e, const char *sql) {
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    if (!f) return;
    put_error(f, e, sql, VERBOSITY_VERBOSE);
    if (fclose(f) == 0) {
        free(sh->error.text);
        sh->error.text = text;
    }
}

void print_error(Shell *sh, const char *sql) {
    stele_error_info e;
    stele_error(sh->conn, &e);
    fflush(sh->out);
    put_location(stderr);
    put_error(stderr, &e, sql, sh->set.verbosity);
    if (sql && sh->set.echo == ECHO_ERRORS) fprintf(stderr, "STATEMENT:  %s\n", sql);
    fflush(stderr);
    if (!sh->variables) return;
    keep_error(sh, &e, sql);
    (void)variable_set(sh, "LAST_ERROR_SQLSTATE", e.sqlstate);
    (void)variable_set(sh, "LAST_ERROR_MESSAGE", e.message);
}

void show_notice(void *ctx, const stele_notice *n) {
    Shell *sh = ctx;
    fflush(sh->out);
    put_location(stderr);
    fprintf(stderr, "%s:  %s\n", n->severity, n->message);
    if (*n->detail) fprintf(stderr, "DETAIL:  %s\n", n->detail);
    if (*n->hint) fprintf(stderr, "HINT:  %s\n", n->hint);
    fflush(stderr);
}

typedef struct Progress {
    double start, shown;
    bool visible;
} Progress;

static bool show_progress(void *ctx, double fraction) {
    Progress *p = ctx;
    double t = now_ms();
    if (t - p->start < 1000 || t - p->shown < 100) return false;
    p->shown = t;
    p->visible = true;
    int w = 40, full = (int)(fraction * w);
    if (full < 0) full = 0;
    if (full > w) full = w;
    fprintf(stderr, "\r[");
    for (int i = 0; i < w; i++) fputs(i < full ? "#" : ".", stderr);
    fprintf(stderr, "] %3d %% ", (int)(fraction * 100));
    fflush(stderr);
    return false;
}

/* ---- statements ----------------------------------------------------------------------------------- */

bool run_quietly(Shell *sh, const char *sql) {
    statement_begins();
    bool ok = stele_exec(sh->conn, sql, NULL, NULL) == STELE_OK;
    statement_ends();
    if (!ok) print_error(sh, NULL);
    return ok;
}

/* The first word of a statement, in upper case. */
static void first_word(const char *sql, const char *end, char *word, size_t size) {
    size_t n = 0;
    while (sql < end && !((*sql | 32) >= 'a' && (*sql | 32) <= 'z')) {
        if (end - sql > 1 && sql[0] == '-' && sql[1] == '-')
            while (sql < end && *sql != '\n') sql++;
        else sql++;
    }
    for (; sql < end && (*sql | 32) >= 'a' && (*sql | 32) <= 'z' && n + 1 < size; sql++) word[n++] = (char)(*sql & ~32);
    word[n] = 0;
}

/* AUTOCOMMIT off begins transactions; ON_ERROR_ROLLBACK sets a savepoint before each statement in one. */
static bool prepare_transaction(Shell *sh, const char *sql, const char *end, bool *savepoint) {
    static const char *const own[] = {"BEGIN",   "START",  "COMMIT",  "END",        "ROLLBACK", "ABORT", "SAVEPOINT",
                                      "RELEASE", "VACUUM", "PREPARE", "CHECKPOINT", "",         NULL};
    char word[16];
    *savepoint = false;
    if (!sh->set.autocommit_off && sh->set.error_rollback == ROLLBACK_OFF) return true;
    first_word(sql, end, word, sizeof word);
    if (is_one_of(word, own)) return true;
    if (sh->set.autocommit_off && stele_transaction_state(sh->conn) == 'I' && !run_quietly(sh, "begin")) return false;
    bool wanted =
        sh->set.error_rollback == ROLLBACK_ON || (sh->set.error_rollback == ROLLBACK_INTERACTIVE && sh->interactive);
    if (!wanted || stele_transaction_state(sh->conn) != 'T') return true;
    *savepoint = true;
    return run_quietly(sh, "savepoint pg_psql_temporary_savepoint");
}

static void end_savepoint(Shell *sh, bool ok) {
    if (!ok && stele_transaction_state(sh->conn) == 'E')
        (void)run_quietly(sh, "rollback to savepoint pg_psql_temporary_savepoint");
    else if (stele_transaction_state(sh->conn) == 'T')
        (void)stele_exec(sh->conn, "release savepoint pg_psql_temporary_savepoint", NULL, NULL);
}

static void set_result_variables(Shell *sh, bool ok, long long rows) {
    if (!sh->variables) return;
    const char *state = variable_get(sh, "LAST_ERROR_SQLSTATE");
    (void)variable_set(sh, "ERROR", ok ? "false" : "true");
    (void)variable_set(sh, "SQLSTATE", ok || !state ? "00000" : state);
    variable_set_long(sh, "ROW_COUNT", ok ? rows : 0);
}

/* log_ms: a part of it, for which the statement waited for the redo log. */
static void put_time(Shell *sh, double ms, double log_ms) {
    if (!sh->timing) return;
    fprintf(sh->out, "Time: %.3f ms", ms);
    if (ms >= 1000) {
        long long seconds = (long long)(ms / 1000);
        if (seconds >= 3600)
            fprintf(sh->out, " (%02lld:%02lld:%06.3f)", seconds / 3600, seconds / 60 % 60,
                    ms / 1000 - (double)(seconds / 60 * 60));
        else fprintf(sh->out, " (%02lld:%06.3f)", seconds / 60, ms / 1000 - (double)(seconds / 60 * 60));
    }
    if (log_ms > 0) fprintf(sh->out, ", %.3f ms of it for the redo log", log_ms);
    fputc('\n', sh->out);
}

/* waited_ns: as stele_log_wait_ns had it before the statement. *rows: that were read, if the statement does not know.
 * *failed: in the middle of the result. */
static bool show_results(Shell *sh, stele_stmt *s, double ms, int64_t waited_ns, int64_t *rows, bool *failed) {
    bool ok = true;
    if (sh->use != USE_PRINT) {
        ok = use_result(sh, s, rows);
    } else if (stele_column_count(s) > 0) {
        ok = print_result(sh, s, rows, &ms, failed);
        const char *tag = stele_command_tag(s);
        bool changes =
            strncmp(tag, "INSERT", 6) == 0 || strncmp(tag, "UPDATE", 6) == 0 || strncmp(tag, "DELETE", 6) == 0;
        if (changes && !sh->set.quiet && !sh->print.format->data) fprintf(sh->out, "%s\n", tag);
    } else if (!sh->set.quiet && !sh->copy.wrote) {
        fprintf(sh->out, "%s\n", stele_command_tag(s));
    }
    put_time(sh, ms, (double)(stele_log_wait_ns(sh->conn) - waited_ns) / 1e6);
    return check_output(sh) && ok;
}

/* \gdesc: the statement does not run. */
static bool describe_result(Shell *sh, stele_stmt *s) {
    static const char *const names[] = {"Column", "Type"};
    int64_t n = stele_column_count(s);
    if (n == 0) {
        fputs("The command has no result, or the result has no columns.\n", sh->out);
        return check_output(sh);
    }
    Grid *g = grid_new(NULL, 2, names);
    for (int64_t i = 0; i < n; i++) {
        grid_cell(g, stele_column_name(s, i));
        grid_cell(g, stele_column_type(s, i));
    }
    return grid_print(sh, g) && check_output(sh);
}

/* The first statement of `sql`; *tail: behind it, the end after an error of its text. */
static bool run_statement(Shell *sh, const char *sql, const char *end, const char **tail) {
    stele_stmt *s = NULL;
    Progress pr = {.start = now_ms()};
    bool savepoint;
    const int64_t waited_ns = stele_log_wait_ns(sh->conn);
    *tail = end;
    if (!prepare_transaction(sh, sql, end, &savepoint)) return false;
    if (sh->interactive && isatty(STDERR_FILENO)) stele_set_progress(sh->conn, show_progress, &pr);
    sh->copy.wrote = false;
    statement_begins();
    stele_status r = stele_prepare(sh->conn, sql, end - sql, &s, tail);
    if (s && sh->use == USE_PRINT) stele_set_stream(s, true);
    if (r == STELE_OK && s && sh->use != USE_DESCRIBE) r = stele_run(s);
    double ms = now_ms() - pr.start;
    statement_ends();
    end_copy(sh);
    stele_set_progress(sh->conn, NULL, NULL);
    if (pr.visible) fprintf(stderr, "\r%60s\r", "");
    bool ok = true, failed = r == STELE_ERROR;
    int64_t rows = 0;
    if (!failed && s)
        ok = sh->use == USE_DESCRIBE ? describe_result(sh, s) : show_results(sh, s, ms, waited_ns, &rows, &failed);
    if (failed) {
        ok = false;
        if (check_output(sh) || !sh->output.closed_pipe)
            print_error(sh, sql); /* else COPY has failed because its reader has gone */
        set_result_variables(sh, false, 0);
    } else if (s) {
        set_result_variables(sh, true, stele_row_count(s) >= 0 ? stele_row_count(s) : rows);
    }
    stele_finalize(s);
    if (savepoint) end_savepoint(sh, !failed);
    return ok;
}

/* Likewise, with its results where .once has said. */
static bool run_next(Shell *sh, const char *sql, const char *end, const char **tail) {
    char *path = sh->once;
    if (!path) return run_statement(sh, sql, end, tail);
    OutputBefore before;
    sh->once = NULL;
    *tail = end;
    bool ok = output_begin(sh, path, &before) && run_statement(sh, sql, end, tail);
    ok &= output_end(sh, &before);
    free(path);
    return ok;
}

bool run_sql(Shell *sh, const char *sql, size_t len) {
    const char *p = sql, *end = sql + len;
    bool ok = true;
    while (ok && p < end && !sh->quit && !shell_stop && !shell_ends(sh)) ok = run_next(sh, p, end, &p);
    return ok;
}

/* ---- what is being collected ---------------------------------------------------------------------------- */

static void remember(Shell *sh, const char *sql, size_t n) {
    free(sh->last);
    sh->last = strndup(sql, n);
}

void forget_buffer(Shell *sh) {
    sh->query.len = 0;
    sh->query.scan = (Scan){0};
    if (sh->query.text) sh->query.text[0] = 0;
}

/* Something other than blanks has been collected. */
static bool has_text(const Shell *sh) {
    const char *text = sh->query.text;
    return sh->query.len > 0 && text[strspn(text, " \t\r\n\f\v")];
}

const char *query_text(const Shell *sh) {
    if (has_text(sh)) return sh->query.text;
    return sh->last ? sh->last : "";
}

/* Removes the first n bytes, and blanks and comments of one line behind them: the next statement begins with its text.
 */
static void drop_front(Shell *sh, size_t n) {
    Collected *c = &sh->query;
    const char *b = c->text;
    size_t plain = c->scan.plain;
    for (; n < c->len; n++) {
        if (b[n] == '-' && b[n + 1] == '-') n += strcspn(b + n, "\n");
        else if (!strchr(" \t\r\n\f\v", b[n])) break;
    }
    if (n > c->len) n = c->len;
    memmove(c->text, b + n, c->len - n + 1);
    c->len -= n;
    c->scan = (Scan){.plain = plain > n ? plain - n : 0};
}

/* Puts n bytes in place of `old` ones at `at`. */
static bool replace(Collected *c, size_t at, size_t old, const char *text, size_t n) {
    if (c->len - old + n + 1 > c->cap) {
        size_t cap = (c->len - old + n + 1) * 2;
        char *more = realloc(c->text, cap);
        if (!more) return say_no_memory();
        c->text = more;
        c->cap = cap;
    }
    memmove(c->text + at + n, c->text + at + old, c->len - at - old);
    memcpy(c->text + at, text, n);
    c->len = c->len - old + n;
    c->text[c->len] = 0;
    return true;
}

/* Lines have a line break between them, not behind. */
static bool append_line(Shell *sh, const char *line, size_t n) {
    if (sh->query.len > 0 && !replace(&sh->query, sh->query.len, 0, "\n", 1)) return false;
    return replace(&sh->query, sh->query.len, 0, line, n);
}

/* Runs the first n bytes of the buffer, which are taken from it before, since COPY and \e read more. */
static bool run_front(Shell *sh, size_t n) {
    char *sql = strndup(sh->query.text, n);
    if (!sql) return say_no_memory();
    drop_front(sh, n);
    remember(sh, sql, strlen(sql));
    if (sh->set.echo == ECHO_QUERIES) fprintf(sh->out, "%s\n", sql);
    bool ok = run_sql(sh, sql, strlen(sql));
    free(sql);
    return ok;
}

void drop_query(Shell *sh) {
    if (has_text(sh)) remember(sh, sh->query.text, sh->query.len);
    forget_buffer(sh);
}

bool run_buffer(Shell *sh) {
    if (has_text(sh)) return run_front(sh, sh->query.len);
    forget_buffer(sh);
    if (!sh->last) return true;
    char *sql = strdup(sh->last);
    if (!sql) return say_no_memory();
    bool ok = run_sql(sh, sql, strlen(sql));
    free(sql);
    return ok;
}

/* The command at the place that has been looked at. It takes its arguments; what is behind them on its line stays. */
static bool run_command_in_buffer(Shell *sh) {
    Collected *c = &sh->query;
    size_t at = c->scan.at;
    if (c->text[at + 1] == ';' || c->text[at + 1] == ':') { /* a semicolon that ends no statement, a colon */
        bool ok = replace(c, at, 1, "", 0);
        c->scan.at = at + 1;
        return ok;
    }
    char *line = strndup(c->text + at, strcspn(c->text + at, "\n"));
    if (!line) return say_no_memory();
    size_t n = strlen(line);
    char *behind = strdup(c->text + at + n); /* of commands in one text, as of -c */
    at -= at > 0 && c->text[at - 1] == '\n'; /* the line is none of the statement */
    c->len = at;
    c->text[at] = 0;
    const char *rest = line;
    bool ok = behind && run_command(sh, line, &rest);
    if (behind && c->text) {
        size_t from = c->len;
        ok &= replace(c, from, 0, rest, strlen(rest)) && replace(c, c->len, 0, behind, strlen(behind));
        if (from == 0) drop_front(sh, 0);
        else if (c->scan.at > c->len) c->scan = (Scan){.at = c->len};
    }
    free(behind);
    free(line);
    return ok;
}

/* The variable at the place that has been looked at. */
static bool expand_in_buffer(Shell *sh) {
    Collected *c = &sh->query;
    size_t at = c->scan.at, len = 0;
    bool failed = false, ok = true;
    char *value = is_active(sh) ? variable_expand(sh, c->text + at, c->len - at, &len, &failed) : NULL;
    if (value) {
        ok = replace(c, at, len, value, strlen(value));
        c->scan.plain = at + strlen(value);
        if (!*value) c->scan.plain = 0;
        if (!ok) c->scan.at = at + 1;
    } else {
        c->scan.at = at + 1;
    }
    free(value);
    return failed ? say_no_memory() : ok;
}

/* In a script that an error is to end. */
static bool error_ends(const Shell *sh) { return sh->set.on_error_stop && (!sh->interactive || sh->depth > 0); }

/* Words that are a line of their own when nothing is being typed. */
static bool run_word(Shell *sh, bool *ok) {
    const char *text = sh->query.text;
    if (strcmp(text, "quit") == 0 || strcmp(text, "exit") == 0 || strcmp(text, "quit;") == 0 ||
        strcmp(text, "exit;") == 0) {
        sh->quit = true;
    } else if (strcmp(text, "help") == 0 || strcmp(text, "help;") == 0) {
        fputs("This is stele, a shell for SQL. What psql's, SQLite's and DuckDB's shells understand works here, too:\n"
              "  \\h for help with SQL statements       \\? for all backslash commands\n"
              "  \\d for tables, \\d NAME for one        .help for commands with a dot\n"
              "  \\copyright for the license            \\q (quit, exit, Ctrl-D) to leave\n"
              "Statements end with a semicolon, or with \\g.\n",
              sh->out);
        *ok = check_output(sh);
    } else if (text[0] == '.' && ((text[1] | 32) >= 'a' && (text[1] | 32) <= 'z')) {
        char *line = strndup(text, strcspn(text, "\n"));
        forget_buffer(sh);
        *ok = line ? run_dot_command(sh, line) : say_no_memory();
        free(line);
        return true;
    } else {
        return false;
    }
    forget_buffer(sh);
    return true;
}

bool feed_line(Shell *sh, const char *line, size_t n) {
    bool ok = true, first = sh->query.len == 0;
    if (sh->set.echo == ECHO_ALL && !sh->interactive) fprintf(sh->out, "%.*s\n", (int)n, line);
    if (!append_line(sh, line, n)) return false;
    if (first) drop_front(sh, 0);
    if (first && is_active(sh) && run_word(sh, &ok)) return ok;
    while (sh->query.len > 0 && !sh->quit && !shell_stop && !shell_ends(sh) && (ok || !error_ends(sh))) {
        ScanFound found = scan_statement(&sh->query.scan, sh->query.text, sh->query.len);
        if (found == SCAN_END) break;
        if (found == SCAN_COMMAND) ok &= run_command_in_buffer(sh);
        else if (found == SCAN_VARIABLE) ok &= expand_in_buffer(sh);
        else if (is_active(sh)) ok &= run_front(sh, sh->query.scan.at);
        else if (sh->interactive && !sh->in)
            say_error("query ignored; use \\endif or Ctrl-C to exit current \\if block\n");
    }
    if (shell_stop) forget_buffer(sh); /* the rest of the line too */
    return ok;
}

bool flush_buffer(Shell *sh) {
    bool ok = true;
    if (sh->query.len > 0 && is_active(sh)) ok = run_front(sh, sh->query.len);
    forget_buffer(sh);
    return ok;
}

/* ---- files ------------------------------------------------------------------------------------------------ */

/* All lines of f. What has been collected before stays outside of it. */
static int run_lines(Shell *sh, FILE *f, const char *path) {
    char *line = NULL;
    size_t cap = 0;
    ssize_t n;
    int status = 0;
    while (status == 0 && !sh->quit && !shell_stop && !shell_ends(sh) && (n = getline(&line, &cap, f)) >= 0) {
        while (n > 0 && (line[n - 1] == '\n' || line[n - 1] == '\r')) line[--n] = 0;
        count_script_line();
        if (!feed_line(sh, line, (size_t)n) && error_ends(sh)) status = EXIT_SCRIPT;
    }
    free(line);
    if (ferror(f) && !shell_ends(sh)) {
        fprintf(stderr, "stele: cannot read %s: %s\n", f == stdin ? "standard input" : path, strerror(errno));
        return EXIT_ERROR;
    }
    if (status == 0 && !sh->quit && !shell_stop && !shell_ends(sh)) {
        if (!flush_buffer(sh) && error_ends(sh)) status = EXIT_SCRIPT;
        if (conditions_open(sh)) {
            say_error("reached EOF without finding closing \\endif(s)\n");
            if (error_ends(sh)) status = EXIT_SCRIPT;
        }
    }
    forget_buffer(sh);
    return status;
}

int run_file(Shell *sh, const char *path) {
    FILE *f = strcmp(path, "-") == 0 ? stdin : packed_read(path, NULL);
    if (!f) {
        say_error("%s: %s\n", path, strerror(errno));
        return EXIT_ERROR;
    }
    const int status = run_stream(sh, f, path);
    if (f != stdin) fclose(f);
    return status;
}
int run_stream(Shell *sh, FILE *f, const char *path) {
    if (sh->depth >= 32) {
        say_error("files include each other too deeply: %s\n", path);
        return EXIT_ERROR;
    }
    Conditions *conditions = conditions_new(), *outer_conditions = sh->conditions;
    if (!conditions) {
        say_error("%s: %s\n", path, strerror(ENOMEM));
        return EXIT_ERROR;
    }
    FILE *outer = sh->in;
    const char *outer_name = sh->in_name;
    Collected waits = sh->query; /* the rest of the line that includes the file */
    sh->query = (Collected){0};
    sh->in = f;
    sh->in_name = path;
    const char *outer_script = script_name;
    long long outer_line = script_line;
    script_name = f == stdin ? NULL : path;
    script_line = 0;
    sh->conditions = conditions;
    sh->depth++;
    int status = run_lines(sh, f, path);
    sh->depth--;
    conditions_free(conditions);
    sh->conditions = outer_conditions;
    sh->in = outer;
    sh->in_name = outer_name;
    script_name = outer_script;
    script_line = outer_line;
    sh->quit = sh->discard; /* \q ends its file only */
    free(sh->query.text);
    sh->query = waits;
    return status;
}
