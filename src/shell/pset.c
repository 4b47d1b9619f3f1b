/* pset.c - \pset and the short commands for its options: how results look. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "shell/command.h"
#include "shell/vars.h"

void print_options_free(PrintOptions *o) {
    char **const texts[] = {&o->null_text, &o->field_sep,  &o->record_sep,  &o->csv_sep,
                            &o->title,     &o->table_attr, &o->insert_table};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        free(*texts[i]);
        *texts[i] = NULL;
    }
}

static bool put_text(char **to, const char *value) {
    char *copy = value ? strdup(value) : NULL;
    if (value && !copy) return say_no_memory();
    free(*to);
    *to = copy;
    return true;
}

static void say_bool(Shell *sh, const char *what, bool on) { fprintf(sh->out, "%s is %s.\n", what, on ? "on" : "off"); }
static void say_text(Shell *sh, const char *what, const char *value) {
    if (value) fprintf(sh->out, "%s is \"%s\".\n", what, value);
    else fprintf(sh->out, "%s is unset.\n", what);
}

/* ---- the options: each is set by a text ("": toggled, or the default) and says what it is --------------- */

static bool toggle(const char *name, const char *value, bool *to) {
    if (!*value) {
        *to = !*to;
        return true;
    }
    if (read_bool(value, to)) return true;
    say_error("\\pset: unrecognized value \"%s\" for \"%s\": Boolean expected\n", value, name);
    return false;
}

static bool whole_number(const char *name, const char *value, int *to) {
    char *end;
    errno = 0;
    long n = strtol(value, &end, 10);
    if (errno || end == value || *end || n < 0 || n > 1000000) {
        say_error("\\pset: invalid value \"%s\" for \"%s\": a number is expected\n", value, name);
        return false;
    }
    *to = (int)n;
    return true;
}

static bool set_border(Shell *sh, const char *v) { return !*v || whole_number("border", v, &sh->print.border); }
static void say_border(Shell *sh) { fprintf(sh->out, "Border style is %d.\n", sh->print.border); }
static bool set_columns(Shell *sh, const char *v) { return !*v || whole_number("columns", v, &sh->print.columns); }
static void say_columns(Shell *sh) {
    if (sh->print.columns) fprintf(sh->out, "Target width is %d.\n", sh->print.columns);
    else fputs("Target width is unset.\n", sh->out);
}
static bool set_csv(Shell *sh, const char *v) {
    if (!*v) return true;
    if (v[1] || *v == '"' || *v == '\n' || *v == '\r') {
        say_error(v[1] ? "\\pset: csv_fieldsep must be a single one-byte character\n"
                       : "\\pset: csv_fieldsep cannot be a double quote, a newline, or a carriage return\n");
        return false;
    }
    return put_text(&sh->print.csv_sep, v);
}
static void say_csv(Shell *sh) {
    fprintf(sh->out, "Field separator for CSV is \"%s\".\n", sh->print.csv_sep ? sh->print.csv_sep : ",");
}
static bool set_expanded(Shell *sh, const char *v) {
    bool on = sh->print.expanded == EXPANDED_OFF;
    if (strcasecmp(v, "auto") == 0) {
        sh->print.expanded = EXPANDED_AUTO;
        return true;
    }
    if (*v && !read_bool(v, &on)) {
        say_error("\\pset: unrecognized value \"%s\" for \"expanded\": there are on, off, auto\n", v);
        return false;
    }
    sh->print.expanded = on ? EXPANDED_ON : EXPANDED_OFF;
    return true;
}
static void say_expanded(Shell *sh) {
    static const char *const texts[] = {"is off", "is on", "is used automatically"};
    fprintf(sh->out, "Expanded display %s.\n", texts[sh->print.expanded]);
}
static bool set_field(Shell *sh, const char *v) { return !*v || put_text(&sh->print.field_sep, v); }
static void say_field(Shell *sh) { say_text(sh, "Field separator", sh->print.field_sep ? sh->print.field_sep : "|"); }
static bool set_record(Shell *sh, const char *v) { return !*v || put_text(&sh->print.record_sep, v); }
static void say_record(Shell *sh) {
    const char *sep = sh->print.record_sep;
    if (!sep || strcmp(sep, "\n") == 0) fputs("Record separator is <newline>.\n", sh->out);
    else say_text(sh, "Record separator", sep);
}
static bool set_footer(Shell *sh, const char *v) {
    bool on = !sh->print.no_footer;
    if (!toggle("footer", v, &on)) return false;
    sh->print.no_footer = !on;
    return true;
}
static void say_footer(Shell *sh) { say_bool(sh, "Default footer", !sh->print.no_footer); }
static bool set_format(Shell *sh, const char *v) {
    if (!*v) return true;
    size_t n = strlen(v);
    const Format *f = find_format(v, n);
    if (f) {
        sh->print.format = f;
        return true;
    }
    bool several = false;
    for (f = formats; f->name && !several; f++) several = strncasecmp(f->name, v, n) == 0;
    say_error(several ? "\\pset: ambiguous abbreviation \"%s\" of a format; there are"
                      : "\\pset: unknown format \"%s\"; there are",
              v);
    for (f = formats; f->name; f++)
        if (!several || strncasecmp(f->name, v, n) == 0) fprintf(stderr, " %s", f->name);
    fputc('\n', stderr);
    return false;
}
static void say_format(Shell *sh) { fprintf(sh->out, "Output format is %s.\n", sh->print.format->name); }
static const char *const line_styles[] = {"ascii", "old-ascii", "unicode"}; /* by LineStyle */
static bool set_lines(Shell *sh, const char *v) {
    if (!*v) return true;
    for (int i = 0; i < 3; i++)
        if (strncasecmp(line_styles[i], v, strlen(v)) == 0) {
            sh->print.lines = (LineStyle)i;
            return true;
        }
    say_error("\\pset: allowed line styles are ascii, old-ascii, unicode\n");
    return false;
}
static void say_lines(Shell *sh) { fprintf(sh->out, "Line style is %s.\n", line_styles[sh->print.lines]); }
static bool set_null(Shell *sh, const char *v) { return put_text(&sh->print.null_text, v); }
static void say_null(Shell *sh) {
    fprintf(sh->out, "Null display is \"%s\".\n", sh->print.null_text ? sh->print.null_text : "");
}
static bool set_pager(Shell *sh, const char *v) {
    bool on = sh->print.pager != PAGER_OFF;
    if (strcasecmp(v, "always") == 0) {
        sh->print.pager = PAGER_ALWAYS;
        return true;
    }
    if (!toggle("pager", v, &on)) return false;
    sh->print.pager = on ? PAGER_ON : PAGER_OFF;
    return true;
}
static void say_pager(Shell *sh) {
    static const char *const texts[] = {"Pager usage is off.", "Pager is used for long output.",
                                        "Pager is always used."};
    fprintf(sh->out, "%s\n", texts[sh->print.pager]);
}
static bool set_pager_lines(Shell *sh, const char *v) {
    return !*v || whole_number("pager_min_lines", v, &sh->print.pager_min_lines);
}
static void say_pager_lines(Shell *sh) {
    fprintf(sh->out, "Pager won't be used for less than %d lines.\n", sh->print.pager_min_lines);
}
static bool set_title(Shell *sh, const char *v) { return put_text(&sh->print.title, *v ? v : NULL); }
static void say_title(Shell *sh) { say_text(sh, "Title", sh->print.title); }
static bool set_attr(Shell *sh, const char *v) { return put_text(&sh->print.table_attr, *v ? v : NULL); }
static void say_attr(Shell *sh) { say_text(sh, "Table attributes", sh->print.table_attr); }
static bool set_tuples(Shell *sh, const char *v) { return toggle("tuples_only", v, &sh->print.tuples_only); }
static void say_tuples(Shell *sh) { say_bool(sh, "Tuples only", sh->print.tuples_only); }
static bool set_insert(Shell *sh, const char *v) { return put_text(&sh->print.insert_table, *v ? v : NULL); }
static void say_insert(Shell *sh) { say_text(sh, "Table of INSERT statements", sh->print.insert_table); }

static const struct Option {
    const char *name;
    bool (*set)(Shell *sh, const char *value);
    void (*say)(Shell *sh);
} options[] = {
    {"border", set_border, say_border},    {"columns", set_columns, say_columns},
    {"csv_fieldsep", set_csv, say_csv},    {"expanded", set_expanded, say_expanded},
    {"fieldsep", set_field, say_field},    {"footer", set_footer, say_footer},
    {"format", set_format, say_format},    {"insert_table", set_insert, say_insert},
    {"linestyle", set_lines, say_lines},   {"null", set_null, say_null},
    {"pager", set_pager, say_pager},       {"pager_min_lines", set_pager_lines, say_pager_lines},
    {"recordsep", set_record, say_record}, {"tableattr", set_attr, say_attr},
    {"title", set_title, say_title},       {"tuples_only", set_tuples, say_tuples},
};
enum { N_OPTIONS = sizeof options / sizeof *options };
const char *print_option_name(size_t i) { return i < N_OPTIONS ? options[i].name : NULL; }

bool set_print_option(Shell *sh, const char *name, const char *value, bool quiet) {
    static const char *const other[][2] = {
        {"x", "expanded"}, {"vertical", "expanded"}, {"t", "tuples_only"}, {"C", "title"}, {"T", "tableattr"}};
    if (strcmp(name, "fieldsep_zero") == 0 || strcmp(name, "recordsep_zero") == 0) {
        say_error("\\pset: %s is not supported: values are texts that a NUL byte ends\n", name);
        return false;
    }
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        if (strcmp(other[i][0], name) == 0) name = other[i][1];
    for (size_t i = 0; i < N_OPTIONS; i++) {
        if (strcmp(options[i].name, name) != 0) continue;
        if (!options[i].set(sh, value)) return false;
        if (!quiet && !sh->set.quiet) options[i].say(sh);
        return true;
    }
    say_error("\\pset: unknown option: %s\n", name);
    return false;
}

/* ---- commands --------------------------------------------------------------------------------------------- */

static void list_options(Shell *sh) {
    static const char *const toggles[] = {"off", "on", "auto"};
    const PrintOptions *o = &sh->print;
    FILE *f = sh->out;
    fprintf(f, "border                   %d\n", o->border);
    fprintf(f, "columns                  %d\n", o->columns);
    fprintf(f, "csv_fieldsep             '%s'\n", o->csv_sep ? o->csv_sep : ",");
    fprintf(f, "expanded                 %s\n", toggles[o->expanded]);
    fprintf(f, "fieldsep                 '%s'\n", o->field_sep ? o->field_sep : "|");
    fprintf(f, "footer                   %s\n", toggles[!o->no_footer]);
    fprintf(f, "format                   %s\n", o->format->name);
    fprintf(f, "insert_table             %s\n", o->insert_table ? o->insert_table : "");
    fprintf(f, "linestyle                %s\n", line_styles[o->lines]);
    fprintf(f, "null                     '%s'\n", o->null_text ? o->null_text : "");
    fprintf(f, "pager                    %d\n", (int)o->pager);
    fprintf(f, "pager_min_lines          %d\n", o->pager_min_lines);
    fprintf(f, "recordsep                '%s'\n",
            !o->record_sep || strcmp(o->record_sep, "\n") == 0 ? "\\n" : o->record_sep);
    fprintf(f, "tableattr                %s\n", o->table_attr ? o->table_attr : "");
    fprintf(f, "title                    %s\n", o->title ? o->title : "");
    fprintf(f, "tuples_only              %s\n", toggles[o->tuples_only]);
}

static bool pset_command(Shell *sh, Args *a) {
    const char *name = next_arg(a, ARG_NORMAL);
    const char *value = name ? next_arg(a, ARG_PLAIN) : NULL;
    if (name) return set_print_option(sh, name, value ? value : "", false);
    list_options(sh);
    return true;
}

/* \a, \C, \f, \H, \t, \T, \x, \null: an option by a letter */
static bool short_command(Shell *sh, Args *a) {
    static const char *const names[][2] = {{"C", "title"},     {"f", "fieldsep"}, {"t", "tuples_only"},
                                           {"T", "tableattr"}, {"x", "expanded"}, {"null", "null"}};
    const char *value = next_arg(a, ARG_PLAIN);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i][0], a->command) == 0)
            return set_print_option(sh, names[i][1], value ? value : "", strcmp(a->command, "null") == 0);
    return false;
}

static bool switch_format(Shell *sh, const char *name) {
    bool already = strcmp(sh->print.format->name, name) == 0;
    return set_print_option(sh, "format", already ? "aligned" : name, false);
}
static bool align_command(Shell *sh, Args *a) {
    (void)a;
    bool aligned = strcmp(sh->print.format->name, "aligned") == 0;
    return set_print_option(sh, "format", aligned ? "unaligned" : "aligned", false);
}
static bool html_command(Shell *sh, Args *a) {
    (void)a;
    return switch_format(sh, "html");
}

/* \format NAME: as \pset format; "table" is its old name of "aligned". */
static bool format_command(Shell *sh, Args *a) {
    const char *name = next_arg(a, ARG_NORMAL);
    if (!name) return missing_arg(a);
    return set_print_option(sh, "format", strcmp(name, "table") == 0 ? "aligned" : name, true);
}

const Command format_commands[] = {
    {"a", "", "between aligned and unaligned", align_command, 0},
    {"C", "[TEXT]", "title of results, or none", short_command, 0},
    {"f", "[TEXT]", "field separator of unaligned results", short_command, 0},
    {"format", "NAME", "aligned, box, csv, json, jsonlines, html, insert, markdown ... (\\pset format)", format_command,
     0},
    {"H", "", "to HTML, or back", html_command, 0},
    {"null", "TEXT", "what NULL looks like", short_command, 0},
    {"pset", "[NAME [VALUE]]", "options of results, or all of them: border, columns, format, null, pager ...",
     pset_command, 0},
    {"t", "[on|off]", "rows only, without names and counts", short_command, 0},
    {"T", "[TEXT]", "attributes of HTML's <table>", short_command, 0},
    {"x", "[on|off|auto]", "one line per column", short_command, 0},
    {0},
};
