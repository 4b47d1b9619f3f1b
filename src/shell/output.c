/* output.c - what all formats share: the table of formats, rows of a statement, widths, lines below, the pager. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <utf8proc.h>

#include "shell/shell.h"

const Format formats[] = {
    {"aligned", "a table; psql's default", print_aligned, false},
    {"asciidoc", "a table of AsciiDoc", print_asciidoc, false},
    {"box", "a table drawn with lines", print_box, false},
    {"column", "columns without lines between them", print_column, true},
    {"csv", "comma-separated values with a header", print_csv, true},
    {"duckbox", "as box", print_box, false},
    {"html", "a table of HTML", print_html, false},
    {"insert", "a statement INSERT for each row; \\pset insert_table NAME, .mode insert NAME", print_insert, true},
    {"json", "an array of objects", print_json, true},
    {"jsonlines", "an object on each line", print_jsonlines, true},
    {"latex", "a table of LaTeX", print_latex, false},
    {"line", "a line for each value: name = value", print_line, true},
    {"list", "values with | between them", print_list, true},
    {"markdown", "a table of Markdown", print_markdown, true},
    {"quote", "literals of SQL", print_quote, true},
    {"table", "a table drawn with + - |", print_grid, false},
    {"tabs", "values with tabs between them", print_tabs, true},
    {"trash", "nothing", print_trash, true},
    {"troff-ms", "a table of tbl for troff -ms", print_troff, false},
    {"unaligned", "values with | (\\f) between them, and the number of rows", print_unaligned, false},
    {"wrapped", "a table whose columns are wrapped to fit the terminal", print_wrapped, false},
    {NULL, NULL, NULL, false},
};

const Format *find_format(const char *name, size_t n) {
    const Format *found = NULL;
    for (const Format *f = formats; f->name; f++) {
        if (strncasecmp(f->name, name, n) != 0) continue;
        if (strlen(f->name) == n) return f;
        if (found && n > 0) return NULL;
        found = f;
    }
    return n > 0 ? found : NULL;
}

/* ---- widths --------------------------------------------------------------------------------------- */

int terminal_width(void) {
    struct winsize w;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col > 0) return w.ws_col;
    const char *c = getenv("COLUMNS");
    return c && atoll(c) > 0 ? (int)atoll(c) : 0;
}

static int terminal_height(void) {
    struct winsize w;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_row > 0) return w.ws_row;
    const char *c = getenv("LINES");
    return c && atoll(c) > 0 ? (int)atoll(c) : 0;
}

/* The character at s: its bytes and columns. */
static size_t character(const char *s, size_t n, int *width) {
    if ((unsigned char)*s < 0x80) {
        *width = (unsigned char)*s >= 0x20 && *s != 0x7f;
        return 1;
    }
    utf8proc_int32_t cp;
    utf8proc_ssize_t k = utf8proc_iterate((const utf8proc_uint8_t *)s, (utf8proc_ssize_t)n, &cp);
    *width = k <= 0 ? 1 : utf8proc_charwidth(cp);
    if (*width < 0) *width = 0;
    return k <= 0 ? 1 : (size_t)k;
}

size_t fitting(const char *s, size_t n, int width, int *used) {
    size_t i = 0;
    *used = 0;
    while (i < n) {
        int w;
        size_t k = character(s + i, n - i, &w);
        if (*used + w > width) break;
        *used += w;
        i += k;
    }
    return i;
}

int text_width(const char *s, size_t n) {
    int w = 0, one;
    for (size_t i = 0; i < n;) {
        i += character(s + i, n - i, &one);
        w += one;
    }
    return w;
}

void put_padding(FILE *f, int n) {
    if (n > 0) fprintf(f, "%*s", n, "");
}

/* ---- rows of a statement ---------------------------------------------------------------------------- */

/* A step may compute the next rows of a result that streams: it can be interrupted, and its time counts. */
static bool statement_next(Rows *r) {
    double start = r->timed ? now_ms() : 0;
    statement_begins();
    stele_status s = stele_step(r->from);
    shell_running = 0;
    if (shell_stop || shell_signal) statement_ends();
    if (r->timed) r->ms += now_ms() - start;
    r->failed = s == STELE_ERROR;
    return s == STELE_ROW;
}
static const char *statement_text(Rows *r, int64_t column) { return stele_column_text(r->from, column, NULL); }
static const char *statement_name(const Rows *r, int64_t column) { return stele_column_name(r->from, column); }
static const char *statement_type(const Rows *r, int64_t column) { return stele_column_type(r->from, column); }
static bool statement_number(const Rows *r, int64_t column) { return stele_column_is_number(r->from, column); }

void rows_of_statement(stele_stmt *s, Rows *r) {
    *r = (Rows){.n = stele_column_count(s),
                .next = statement_next,
                .text = statement_text,
                .name = statement_name,
                .type = statement_type,
                .is_number = statement_number,
                .count = stele_row_count(s),
                .from = s};
}

/* ---- for the formats ---------------------------------------------------------------------------------- */

bool output_goes_on(Shell *sh) {
    if (ferror(sh->out)) {
        if (!sh->output.write_errno) sh->output.write_errno = errno;
        return false;
    }
    return !shell_stop && !shell_signal && !sh->out_of_memory;
}

bool next_row(Printer *p) {
    if (!output_goes_on(p->sh) || !p->rows->next(p->rows)) return false;
    p->printed++;
    return true;
}

/* NULL for NULL, and when memory has run out, which ends the output. */
const char *cell_text(Printer *p, int64_t column) {
    const char *text = p->rows->text(p->rows, column);
    bool of_statement = p->rows->next == statement_next;
    if (!text && of_statement && !stele_column_is_null(p->rows->from, column)) p->sh->out_of_memory = true;
    return text;
}

const char *null_or(const Printer *p, const char *text) {
    return text ? text : p->o->null_text ? p->o->null_text : p->rows->next == statement_next ? "NULL" : "";
}

const char *null_plain(const Printer *p, const char *text) {
    return text ? text : p->o->null_text ? p->o->null_text : "";
}

bool is_finite_number(const Printer *p, int64_t column, const char *text) {
    return p->rows->is_number(p->rows, column) &&
           (*text == '-' ? text[1] >= '0' && text[1] <= '9' : *text >= '0' && *text <= '9');
}

const char *title_of(const Printer *p) {
    if (p->o->tuples_only) return NULL;
    return p->rows->title ? p->rows->title : p->o->title;
}

bool has_footers(const Printer *p) {
    if (p->o->tuples_only) return false;
    return p->rows->n_footers > 0 || (!p->rows->no_count && !p->o->no_footer);
}

void put_count(Printer *p) {
    if (p->o->tuples_only || p->rows->failed || !output_goes_on(p->sh)) return;
    for (int64_t i = 0; i < p->rows->n_footers; i++) fprintf(p->f, "%s\n", p->rows->footers[i]);
    if (p->rows->n_footers > 0 || p->rows->no_count || p->o->no_footer) return;
    fprintf(p->f, "(%lld row%s)\n", (long long)p->printed, p->printed == 1 ? "" : "s");
}

/* ---- the pager -------------------------------------------------------------------------------------------- */

/* The program that long results go through: psql's variables, else less where there is one. */
static const char *pager_program(void) {
    const char *const names[] = {"PSQL_PAGER", "PAGER"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = getenv(names[i]);
        if (value && value[strspn(value, " \t")]) return value;
    }
    setenv("LESS", "-FRSX", 0);
    return access("/usr/bin/less", X_OK) == 0 || access("/bin/less", X_OK) == 0 ? "less" : "more";
}

static bool wants_pager(const Shell *sh, const Rows *r) {
    const PrintOptions *o = &sh->print;
    if (!sh->interactive || sh->out != stdout || o->pager == PAGER_OFF || !isatty(STDOUT_FILENO)) return false;
    if (o->pager == PAGER_ALWAYS) return true;
    if (r->count < 0 && r->next == statement_next) return true; /* it streams: there are many */
    int64_t lines = r->count * (o->expanded == EXPANDED_ON ? r->n + 1 : 1) + r->n_footers + 4;
    return r->count >= 0 && lines > terminal_height() && terminal_height() > 0 && lines > o->pager_min_lines;
}

static void begin_pager(Shell *sh, const Rows *r) {
    if (!wants_pager(sh, r)) return;
    fflush(stdout);
    FILE *f = popen(pager_program(), "w");
    if (!f) return;
    sh->out = f;
    sh->output.pager = true;
}

/* A pager that was left before the end is no error. */
static void end_pager(Shell *sh) {
    if (!sh->output.pager) return;
    (void)pclose(sh->out);
    sh->out = stdout;
    sh->output.pager = false;
    sh->output.write_errno = 0;
}

/* ---- the whole ------------------------------------------------------------------------------------------- */

bool print_rows(Shell *sh, Rows *r, int64_t *printed) {
    sh->out_of_memory = false;
    begin_pager(sh, r);
    Printer p = {.sh = sh, .f = sh->out, .o = &sh->print, .rows = r, .n = r->n};
    bool terminal = (sh->out == stdout || sh->output.pager) && isatty(STDOUT_FILENO);
    p.width = sh->print.columns > 0 ? sh->print.columns : terminal ? terminal_width() : 0;
    p.cuts = terminal && !sh->output.pager && r->next == statement_next;
    sh->print.format->print(&p);
    end_pager(sh);
    if (printed) *printed = p.printed;
    if (!sh->out_of_memory) return true;
    fflush(sh->out);
    fprintf(stderr, "ERROR:  53200: out of memory\nDETAIL:  The result is cut.\n");
    return false;
}

bool print_result(Shell *sh, stele_stmt *s, int64_t *rows, double *ms, bool *failed) {
    Rows r;
    rows_of_statement(s, &r);
    r.timed = sh->timing;
    bool ok = print_rows(sh, &r, rows);
    *ms += r.ms;
    *failed = r.failed;
    return ok;
}
