/* dot.c - commands with a dot, as SQLite's and DuckDB's shells have them. A line that begins with a dot is one, when
 * nothing is being typed. Most do what a backslash command does. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "shell/command.h"
#include "shell/describe.h"
#include "shell/vars.h"

enum { WORDS_MAX = 16 };
typedef struct Words {
    char *items[WORDS_MAX];
    int n;
    const char *line; /* as it was typed */
} Words;
typedef struct Dot {
    const char *name, *args, *help; /* help NULL: another name of the one before */
    bool (*run)(Shell *sh, const Words *w);
} Dot;
extern const Dot dots[];

static const char *word(const Words *w, int i) { return i < w->n ? w->items[i] : NULL; }

static bool usage(const Words *w) {
    for (const Dot *d = dots; d->name; d++)
        if (strcmp(d->name, w->items[0] + 1) == 0) say_error("Usage: .%s %s\n", d->name, d->args);
    return false;
}

/* on, off and the like of the first argument. */
static bool switch_of(const Words *w, bool *on) {
    if (word(w, 1) && read_bool(word(w, 1), on)) return true;
    return usage(w);
}

/* ---- results ------------------------------------------------------------------------------------------- */

static bool mode_dot(Shell *sh, const Words *w) {
    const char *name = word(w, 1);
    if (!name) {
        fprintf(sh->out, "current output mode: %s\n", sh->print.format->name);
        return true;
    }
    const Format *f = find_format(name, strlen(name));
    if (!f) {
        say_error("Error: mode should be one of:");
        for (f = formats; f->name; f++) fprintf(stderr, " %s", f->name);
        fputc('\n', stderr);
        return false;
    }
    sh->print.format = f;
    if (strcmp(f->name, "insert") != 0 || !word(w, 2)) return true;
    return set_print_option(sh, "insert_table", word(w, 2), true);
}

static bool headers_dot(Shell *sh, const Words *w) {
    bool on;
    if (!switch_of(w, &on)) return false;
    sh->print.tuples_only = !on;
    return true;
}

static bool nullvalue_dot(Shell *sh, const Words *w) {
    return word(w, 1) ? set_print_option(sh, "null", word(w, 1), true) : usage(w);
}

static bool separator_dot(Shell *sh, const Words *w) {
    if (!word(w, 1)) return usage(w);
    if (word(w, 2) && !set_print_option(sh, "recordsep", word(w, 2), true)) return false;
    if (word(w, 1)[0] && !word(w, 1)[1] && !set_print_option(sh, "csv_fieldsep", word(w, 1), true)) return false;
    return set_print_option(sh, "fieldsep", word(w, 1), true);
}

static bool timer_dot(Shell *sh, const Words *w) {
    bool on;
    if (!switch_of(w, &on)) return false;
    sh->timing = on;
    return true;
}

static bool width_dot(Shell *sh, const Words *w) {
    return set_print_option(sh, "columns", word(w, 1) ? word(w, 1) : "0", true);
}

static bool output_dot(Shell *sh, const Words *w) {
    const char *path = word(w, 1);
    bool ok = close_output(sh);
    return (path && strcmp(path, "stdout") != 0 ? open_output(sh, path) : true) && ok;
}

static bool once_dot(Shell *sh, const Words *w) {
    if (!word(w, 1)) return usage(w);
    free(sh->once);
    sh->once = strdup(word(w, 1));
    return sh->once != NULL || say_no_memory();
}

static bool show_dot(Shell *sh, const Words *w) {
    (void)w;
    fprintf(sh->out,
            "        echo: %s\n     headers: %s\n        mode: %s\n   nullvalue: \"%s\"\n      output: %s\n   "
            "separator: \"%s\"\n       timer: %s\n    filename: %s\n",
            sh->set.echo == ECHO_ALL ? "on" : "off", sh->print.tuples_only ? "off" : "on", sh->print.format->name,
            sh->print.null_text ? sh->print.null_text : "", sh->output.name ? sh->output.name : "stdout",
            sh->print.field_sep ? sh->print.field_sep : "|", sh->timing ? "on" : "off", sh->path);
    return true;
}

/* ---- definitions ------------------------------------------------------------------------------------------ */

/* LIKE of SQLite's commands: % and _ too. */
static bool like(const char *pattern, const char *name) {
    char text[256];
    size_t n = 0;
    for (; *pattern && n < sizeof text - 1; pattern++)
        text[n++] = *pattern == '%' ? '*' : *pattern == '_' ? '?' : *pattern;
    text[n] = 0;
    return relation_matches(NULL, text, name);
}

/* Names in columns that fit the terminal. */
static bool tables_dot(Shell *sh, const Words *w) {
    Relations all;
    if (!relations_load(sh, &all)) return false;
    int64_t n = 0;
    int widest = 0, width = terminal_width();
    for (int64_t i = 0; i < all.n; i++) {
        if (all.items[i].sequence || (word(w, 1) && !like(word(w, 1), all.items[i].name))) continue;
        Relation x = all.items[n];
        all.items[n++] = all.items[i];
        all.items[i] = x;
    }
    for (int64_t i = 0; i < n; i++) {
        int k = text_width(all.items[i].name, strlen(all.items[i].name));
        if (k > widest) widest = k;
    }
    int64_t across = (width > 0 ? width : 80) / (widest + 2);
    if (across < 1) across = 1;
    int64_t lines = (n + across - 1) / across;
    for (int64_t r = 0; r < lines; r++)
        for (int64_t i = r; i < n; i += lines) {
            const char *name = all.items[i].name;
            fputs(name, sh->out);
            if (i + lines < n) put_padding(sh->out, widest + 2 - text_width(name, strlen(name)));
            else fputc('\n', sh->out);
        }
    relations_free(&all);
    return true;
}

static bool put_schema(Shell *sh, const char *pattern, bool indexes) {
    Definitions d;
    if (!definitions_load(sh, &d)) return false;
    for (int64_t i = 0; i < d.n; i++) {
        const Defined *x = &d.items[i];
        char name[256];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(x->name, "("), x->name);
        bool matches = !pattern || (*x->table ? like(pattern, x->table) : like(pattern, name));
        const bool number = strcmp(x->kind, "SEQUENCE SET") == 0; /* data */
        if (matches && !number && (!indexes || is_key(x))) fprintf(sh->out, "%s;\n", x->create);
    }
    definitions_free(&d);
    return true;
}
static bool schema_dot(Shell *sh, const Words *w) { return put_schema(sh, word(w, 1), false); }
static bool indexes_dot(Shell *sh, const Words *w) { return put_schema(sh, word(w, 1), true); }
static bool databases_dot(Shell *sh, const Words *w) {
    (void)w;
    fprintf(sh->out, "main: %s %s\n", sh->path, sh->read_only ? "r/o" : "r/w");
    return true;
}
static bool dump_dot(Shell *sh, const Words *w) { return dump_open_database(sh, word(w, 1)); }

/* ---- import -------------------------------------------------------------------------------------------------- */

typedef struct Import {
    const char *file, *table;
    char separator;
    int skip;
} Import;

static bool table_exists(Shell *sh, const char *name, bool *there) {
    Relations all;
    if (!relations_load(sh, &all)) return false;
    *there = false;
    for (int64_t i = 0; i < all.n; i++) *there |= strcmp(all.items[i].name, name) == 0;
    relations_free(&all);
    return true;
}

/* Into a table that is there; or a new one, with names from the first line behind those that are skipped, and the types
 * that the values have. */
static bool run_import(Shell *sh, const Import *m, bool there) {
    if (there && m->skip > 1) {
        say_error("Error: where the table is there, only one line before the data can be skipped\n");
        return false;
    }
    const char separator[2] = {m->separator, 0};
    char *table = sql_quoted_always(m->table), *file = sql_quoted_text(m->file), *sql = NULL,
         *sep = sql_quoted_text(separator);
    bool ok = table && file && sep;
    if (ok && there)
        ok = asprintf(&sql, "copy %s from %s with (format csv, header %s, delimiter %s)", table, file,
                      m->skip > 0 ? "true" : "false", sep) >= 0;
    else if (ok)
        ok = asprintf(&sql, "create table %s as select * from read_csv(%s, header => true, delim => %s, skip => %d)",
                      table, file, sep, m->skip) >= 0;
    ok = ok ? run_quietly(sh, sql) : say_no_memory();
    free(table);
    free(file);
    free(sep);
    free(sql);
    return ok;
}

/* .import [--csv] [--tsv] [--skip N] FILE TABLE */
static bool import_dot(Shell *sh, const Words *w) {
    Import m = {.separator = 0};
    for (int i = 1; i < w->n; i++) {
        const char *arg = w->items[i];
        while (arg[0] == '-' && arg[1] == '-') arg++;
        if (strcmp(arg, "-csv") == 0) m.separator = ',';
        else if (strcmp(arg, "-tsv") == 0) m.separator = '\t';
        else if (strcmp(arg, "-skip") == 0 && i + 1 < w->n) m.skip = (int)strtol(w->items[++i], NULL, 10);
        else if (*arg == '-' || m.table) return usage(w);
        else if (m.file) m.table = arg;
        else m.file = arg;
    }
    if (!m.table) return usage(w);
    const char *dot = strrchr(m.file, '.');
    if (!m.separator && dot && (strcasecmp(dot, ".csv") == 0 || strcasecmp(dot, ".tsv") == 0))
        m.separator = strcasecmp(dot, ".tsv") == 0 ? '\t' : ',';
    if (!m.separator)
        m.separator = sh->print.csv_sep                                ? *sh->print.csv_sep
                      : sh->print.field_sep && !sh->print.field_sep[1] ? *sh->print.field_sep
                                                                       : ',';
    bool there;
    if (!table_exists(sh, m.table, &there)) return false;
    return run_import(sh, &m, there);
}

/* ---- the rest --------------------------------------------------------------------------------------------------- */

static bool read_dot(Shell *sh, const Words *w) { return word(w, 1) ? run_file(sh, word(w, 1)) == 0 : usage(w); }
static bool quit_dot(Shell *sh, const Words *w) {
    (void)w;
    sh->quit = true;
    return true;
}
static bool open_dot(Shell *sh, const Words *w) { return change_database(sh, word(w, 1) ? word(w, 1) : ":memory:"); }
static bool echo_dot(Shell *sh, const Words *w) {
    bool on;
    return switch_of(w, &on) && variable_set(sh, "ECHO", on ? "all" : "none");
}
static bool bail_dot(Shell *sh, const Words *w) {
    bool on;
    return switch_of(w, &on) && variable_set(sh, "ON_ERROR_STOP", on ? "on" : "off");
}
static bool print_dot(Shell *sh, const Words *w) {
    for (int i = 1; i < w->n; i++) fprintf(sh->out, "%s%s", i > 1 ? " " : "", w->items[i]);
    fputc('\n', sh->out);
    return true;
}
static bool version_dot(Shell *sh, const Words *w) {
    (void)w;
    fprintf(sh->out, "Stele %s\n", stele_version());
    return true;
}
static bool cd_dot(Shell *sh, const Words *w) { return word(w, 1) ? run_text(sh, "cd", word(w, 1)) : usage(w); }
static bool prompt_dot(Shell *sh, const Words *w) {
    if (!word(w, 1)) return usage(w);
    return variable_set(sh, "PROMPT1", word(w, 1)) && (!word(w, 2) || variable_set(sh, "PROMPT2", word(w, 2)));
}
/* The rest of the line, quotes and all. */
static bool shell_dot(Shell *sh, const Words *w) {
    const char *rest = w->line + strcspn(w->line, " \t");
    if (!rest[strspn(rest, " \t")]) return usage(w);
    return run_rest(sh, "!", rest);
}

static bool help_dot(Shell *sh, const Words *w) {
    const char *name = word(w, 1);
    bool any = false;
    if (name && *name == '.') name++;
    for (const Dot *d = dots; d->name; d++) {
        char use[64];
        if (!d->help || (name && strcmp(name, "all") != 0 && !like(name, d->name))) continue;
        any = true;
        snprintf(use, sizeof use, ".%s%s%s", d->name, *d->args ? " " : "", d->args);
        if (strlen(use) > 24) fprintf(sh->out, "%s\n%-24s %s\n", use, "", d->help);
        else fprintf(sh->out, "%-24s %s\n", use, d->help);
    }
    if (!any) fprintf(sh->out, "Nothing matches '%s'\n", name);
    if (!name) fputs("Backslash commands, as psql's: \\?\n", sh->out);
    return true;
}

const Dot dots[] = {
    {"bail", "on|off", "stop a script after an error", bail_dot},
    {"cd", "DIRECTORY", "change the current directory", cd_dot},
    {"databases", "", "the database that is open", databases_dot},
    {"dump", "[TABLE]", "the database as SQL", dump_dot},
    {"echo", "on|off", "show lines before they are run", echo_dot},
    {"exit", "", "leave", quit_dot},
    {"headers", "on|off", "names of columns above results", headers_dot},
    {"header", "on|off", NULL, headers_dot},
    {"help", "[PATTERN]", "this list", help_dot},
    {"import", "[--csv] [--tsv] [--skip N] FILE TABLE",
     "rows of a file into a table, made from its first line when missing", import_dot},
    {"indexes", "[TABLE]", "keys and indexes", indexes_dot},
    {"indices", "[TABLE]", NULL, indexes_dot},
    {"mode", "[MODE [TABLE]]", "form of results: box, csv, html, insert, json, jsonlines, line, list ...", mode_dot},
    {"nullvalue", "TEXT", "what NULL looks like", nullvalue_dot},
    {"once", "FILE", "results of the next statement to a file", once_dot},
    {"open", "[DATABASE]", "close the database, which is saved, and open another", open_dot},
    {"output", "[FILE]", "results to a file, or back to the terminal", output_dot},
    {"print", "TEXT...", "print a line", print_dot},
    {"prompt", "MAIN [FURTHER]", "the prompts", prompt_dot},
    {"quit", "", "leave", quit_dot},
    {"read", "FILE", "run statements from a file", read_dot},
    {"schema", "[PATTERN]", "definitions as SQL", schema_dot},
    {"separator", "FIELD [RECORD]", "between values of modes list and csv", separator_dot},
    {"shell", "COMMAND...", "run a command of the operating system", shell_dot},
    {"system", "COMMAND...", NULL, shell_dot},
    {"show", "", "the settings of the shell", show_dot},
    {"tables", "[PATTERN]", "names of tables and views", tables_dot},
    {"timer", "on|off", "show how long statements take", timer_dot},
    {"version", "", "the version", version_dot},
    {"width", "[N]", "width of results; 0: that of the terminal", width_dot},
    {NULL, NULL, NULL, NULL},
};

const char *dot_name(size_t i) { return i < sizeof dots / sizeof *dots - 1 ? dots[i].name : NULL; }

/* Words of a line; '...' and "..." are one, with \n and \t in the latter. False: too many. */
static bool split(char *s, Words *w) {
    for (;;) {
        while (*s == ' ' || *s == '\t') s++;
        if (!*s) return true;
        if (w->n == WORDS_MAX) {
            say_error("Error: more than %d arguments\n", WORDS_MAX - 1);
            return false;
        }
        char quote = *s == '\'' || *s == '"' ? *s++ : 0, *to = s;
        w->items[w->n++] = s;
        for (; *s && (quote ? *s != quote : *s != ' ' && *s != '\t'); s++) {
            if (quote == '"' && *s == '\\' && s[1]) {
                s++;
                *to++ = *s == 'n' ? '\n' : *s == 't' ? '\t' : *s;
            } else {
                *to++ = *s;
            }
        }
        bool more = *s != 0;
        *to = 0;
        if (!more) return true;
        s++;
    }
}

/* The whole name, or the beginning of one only. */
static const Dot *find_dot(const char *name) {
    const Dot *found = NULL;
    size_t n = strlen(name);
    for (const Dot *d = dots; d->name; d++) {
        if (strncmp(d->name, name, n) != 0) continue;
        if (!d->name[n]) return d;
        if (found && found->run != d->run) return NULL;
        if (!found) found = d;
    }
    return found;
}

bool run_dot_command(Shell *sh, const char *line) {
    char *copy = strdup(line);
    if (!copy) return say_no_memory();
    Words w = {.line = line};
    bool ok = split(copy, &w);
    const Dot *d = ok ? find_dot(w.items[0] + 1) : NULL;
    if (d) {
        ok = d->run(sh, &w);
    } else if (ok) {
        char other[64];
        say_error("Error: unknown command or invalid arguments: \"%s\". ", w.items[0] + 1);
        if (closest_command(w.items[0], other, sizeof other)) fprintf(stderr, "Perhaps you meant %s. ", other);
        fputs("Enter \".help\" for help\n", stderr);
        ok = false;
    }
    free(copy);
    return check_output(sh) && ok;
}
