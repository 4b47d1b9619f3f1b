/* query.c - commands that run the statement being typed, or the last one again, and use its result: \g and its like,
 * \watch. Each sets what run.c does with results (Shell.use) while the statement runs. */
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "shell/command.h"
#include "shell/vars.h"

/* ---- using results ----------------------------------------------------------------------------------- */

/* A growing list of texts. */
typedef struct Texts {
    char **items;
    size_t n, cap;
} Texts;

static bool add_text(Texts *t, const char *text) {
    if (t->n == t->cap) {
        size_t cap = t->cap ? t->cap * 2 : 16;
        char **more = realloc(t->items, cap * sizeof *more);
        if (!more) return say_no_memory();
        t->items = more;
        t->cap = cap;
    }
    char *copy = strdup(text);
    if (!copy) return say_no_memory();
    t->items[t->n++] = copy;
    return true;
}

/* \gset: the one row's values become variables; NULL unsets. */
static bool set_from_result(Shell *sh, stele_stmt *s, int64_t *rows) {
    const char *prefix = sh->use_arg;
    if (stele_column_count(s) == 0) {
        say_error("\\gset: the statement has no result\n");
        return false;
    }
    if (stele_step(s) != STELE_ROW) {
        say_error("no rows returned for \\gset\n");
        return false;
    }
    if (stele_row_count(s) > 1) {
        say_error("more than one row returned for \\gset\n");
        return false;
    }
    *rows = 1;
    bool ok = true;
    for (int64_t i = 0; i < stele_column_count(s); i++) {
        char *name = NULL;
        if (asprintf(&name, "%s%s", prefix ? prefix : "", stele_column_name(s, i)) < 0) return say_no_memory();
        ok &= variable_set(sh, name, stele_column_text(s, i, NULL));
        free(name);
    }
    return ok;
}

static bool collect_cells(stele_stmt *s, Texts *t) {
    while (stele_step(s) == STELE_ROW)
        for (int64_t i = 0; i < stele_column_count(s); i++) {
            const char *text = stele_column_text(s, i, NULL);
            if (text && !add_text(t, text)) return false;
        }
    return true;
}

bool use_result(Shell *sh, stele_stmt *s, int64_t *rows) {
    switch (sh->use) {
    case USE_SET: return set_from_result(sh, s, rows);
    case USE_EXEC: return collect_cells(s, sh->use_arg);
    case USE_CROSSTAB: return crosstab_rows(sh, s, rows);
    case USE_CHART: return chart_rows(sh, s, rows);
    default: return true;
    }
}

static bool run_with(Shell *sh, ResultUse use, void *arg) {
    ResultUse outer = sh->use;
    void *outer_arg = sh->use_arg;
    sh->use = use;
    sh->use_arg = arg;
    bool ok = run_buffer(sh);
    sh->use = outer;
    sh->use_arg = outer_arg;
    return ok;
}

/* ---- \g, \gx ---------------------------------------------------------------------------------------------- */

/* (option=value ...): for this result. Reads words up to the closing parenthesis. */
static bool read_options(Shell *sh, Args *a, char *word) {
    for (word += word != NULL; word; word = next_arg(a, ARG_PLAIN)) {
        size_t n = strlen(word);
        bool last = n > 0 && word[n - 1] == ')';
        if (last) word[n - 1] = 0;
        char *value = strchr(word, '=');
        if (value) *value++ = 0;
        if (*word && !set_print_option(sh, word, value ? value : "", true)) return false;
        if (last) return true;
    }
    say_error("\\%s: missing right parenthesis\n", a->command);
    return false;
}

static char *copy_or_null(const char *s) { return s ? strdup(s) : NULL; }

static PrintOptions copy_options(const PrintOptions *o) {
    PrintOptions copy = *o;
    copy.null_text = copy_or_null(o->null_text);
    copy.field_sep = copy_or_null(o->field_sep);
    copy.record_sep = copy_or_null(o->record_sep);
    copy.csv_sep = copy_or_null(o->csv_sep);
    copy.title = copy_or_null(o->title);
    copy.table_attr = copy_or_null(o->table_attr);
    copy.insert_table = copy_or_null(o->insert_table);
    return copy;
}

/* \g [(options)] [FILE or |PROGRAM] */
static bool go_command(Shell *sh, Args *a) {
    PrintOptions outer = sh->print;
    sh->print = copy_options(&outer);
    bool ok = true;
    if (strcmp(a->command, "gx") == 0) sh->print.expanded = EXPANDED_ON;
    while (*a->at == ' ' || *a->at == '\t') a->at++;
    if (*a->at == '(') ok = read_options(sh, a, next_arg(a, ARG_PLAIN));
    const char *path = ok ? next_arg(a, ARG_FILE) : NULL;
    if (ok && path) {
        OutputBefore before;
        ok = output_begin(sh, path, &before);
        if (ok) ok = run_with(sh, USE_PRINT, NULL);
        else drop_query(sh);
        ok &= output_end(sh, &before);
    } else if (ok) {
        ok = run_with(sh, USE_PRINT, NULL);
    }
    print_options_free(&sh->print);
    sh->print = outer;
    return ok;
}

static bool set_result_command(Shell *sh, Args *a) { return run_with(sh, USE_SET, next_arg(a, ARG_PLAIN)); }
static bool describe_command(Shell *sh, Args *a) {
    (void)a;
    return run_with(sh, USE_DESCRIBE, NULL);
}
static bool chart_command(Shell *sh, Args *a) {
    const char *kind = next_arg(a, ARG_NORMAL);
    if (kind && strcmp(kind, "bar") != 0 && strcmp(kind, "line") != 0) {
        say_error("\\chart: there are bar and line, no \"%s\"\n", kind);
        return false;
    }
    return run_with(sh, USE_CHART, (void *)(kind ? kind : "bar"));
}

/* \gexec: every value is a statement; one that fails does not end them, unless ON_ERROR_STOP is on. */
static bool execute_command(Shell *sh, Args *a) {
    (void)a;
    Texts t = {0};
    bool ok = run_with(sh, USE_EXEC, &t);
    char *last = sh->last ? strdup(sh->last) : NULL;
    for (size_t i = 0; i < t.n && ok && !shell_stop && !shell_ends(sh); i++) {
        if (sh->set.echo == ECHO_ALL || sh->set.echo == ECHO_QUERIES) fprintf(sh->out, "%s\n", t.items[i]);
        bool done = run_sql(sh, t.items[i], strlen(t.items[i]));
        ok = done || !sh->set.on_error_stop;
    }
    free(sh->last);
    sh->last = last;
    for (size_t i = 0; i < t.n; i++) free(t.items[i]);
    free(t.items);
    return ok;
}

static bool crosstab_command(Shell *sh, Args *a) {
    char *names[5] = {0}; /* rows, columns, values, order of columns */
    for (int i = 0; i < 4; i++) names[i] = next_arg(a, ARG_NAME);
    return run_with(sh, USE_CROSSTAB, names);
}

/* ---- \watch -------------------------------------------------------------------------------------------------- */

static bool read_seconds(const char *text, double *seconds) {
    char *end;
    errno = 0;
    *seconds = strtod(text, &end);
    return !errno && end != text && !*end && *seconds >= 0 && isfinite(*seconds);
}

static void put_watch_title(Shell *sh, double seconds) {
    char when[64];
    time_t now = time(NULL);
    struct tm t;
    localtime_r(&now, &t);
    strftime(when, sizeof when, "%c", &t);
    free(sh->print.title);
    sh->print.title = NULL;
    if (asprintf(&sh->print.title, "%s (every %gs)", when, seconds) < 0) sh->print.title = NULL;
}

/* \watch [SECONDS] or [i=SECONDS] [c=TIMES]: until Ctrl-C, an error, or so many times */
static bool watch_command(Shell *sh, Args *a) {
    double seconds = 2, count = 0;
    for (const char *word; (word = next_arg(a, ARG_NORMAL));) {
        bool times = strncmp(word, "c=", 2) == 0;
        const char *value = times || strncmp(word, "i=", 2) == 0 ? word + 2 : word;
        if (!read_seconds(value, times ? &count : &seconds) || (times && (count < 1 || count != floor(count)))) {
            say_error("\\watch: incorrect %s \"%s\"\n", times ? "iteration count" : "interval value", value);
            return false;
        }
    }
    if (!*query_text(sh)) {
        say_error("\\watch cannot be used with an empty query\n");
        return false;
    }
    char *title = copy_or_null(sh->print.title);
    bool ok = true;
    for (double n = 1; ok && !shell_stop && !shell_ends(sh); n++) {
        put_watch_title(sh, seconds);
        ok = run_with(sh, USE_PRINT, NULL) && check_output(sh);
        if (count > 0 && n >= count) break;
        read_begins();
        if (ok && !shell_stop && !shell_signal)
            (void)poll(NULL, 0, seconds * 1000 < 1e9 ? (int)(seconds * 1000) : 1000000000);
        read_ends();
    }
    if (shell_stop && !shell_signal) shell_stop = 0; /* Ctrl-C ends the watch only */
    free(sh->print.title);
    sh->print.title = title;
    return ok;
}

const Command query_commands[] = {
    {"g", "[(OPTIONS)] [FILE or |PROGRAM]", "run the statement, its result to a file or program", go_command, 0},
    {"gx", "", "as \\g, expanded", go_command, 0},
    {"gset", "[PREFIX]", "run it, values of its one row to variables", set_result_command, 0},
    {"gexec", "", "run it, then each value of its result as a statement", execute_command, 0},
    {"gdesc", "", "names and types of its result, without running it", describe_command, 0},
    {"crosstabview", "[ROWS COLUMNS [VALUES [ORDER]]]", "run it, result as a table of two dimensions", crosstab_command,
     0},
    {"chart", "[bar|line]", "run it, result of two columns drawn: labels (or x) and numbers", chart_command, 0},
    {"watch", "[SECONDS] [c=TIMES]", "run it again and again", watch_command, 0},
    {0},
};
