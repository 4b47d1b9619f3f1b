/* output.c - results as aligned tables, CSV, JSON and Markdown. Tables are cut to the terminal's width; long ones are
 * shown in the expanded form (\x) when asked for. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <utf8proc.h>

#include "shell/shell.h"

int terminal_width(void) {
    struct winsize w;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col > 0) return w.ws_col;
    const char *c = getenv("COLUMNS");
    return c && atoll(c) > 0 ? (int)atoll(c) : 0;
}

int text_width(const char *s, size_t n) {
    int w = 0;
    for (size_t i = 0; i < n;) {
        utf8proc_int32_t cp;
        utf8proc_ssize_t k = utf8proc_iterate((const utf8proc_uint8_t *)s + i, (utf8proc_ssize_t)(n - i), &cp);
        if (k <= 0) {
            i++, w++;
            continue;
        }
        int cw = utf8proc_charwidth(cp);
        w += cw < 0 ? 0 : cw;
        i += (size_t)k;
    }
    return w;
}

/* Prints s in exactly `width` columns, cut with an ellipsis when longer; line breaks become visible. */
static void put_cell(FILE *f, const char *s, int width, bool right) {
    size_t n = strlen(s), i = 0;
    int w = text_width(s, n);
    if (w <= width) {
        if (right) fprintf(f, "%*s", width - w, "");
        for (; i < n; i++) fputc(s[i] == '\n' || s[i] == '\t' || s[i] == '\r' ? ' ' : s[i], f);
        if (!right) fprintf(f, "%*s", width - w, "");
        return;
    }
    int used = 0;
    while (i < n) {
        utf8proc_int32_t cp;
        utf8proc_ssize_t k = utf8proc_iterate((const utf8proc_uint8_t *)s + i, (utf8proc_ssize_t)(n - i), &cp);
        if (k <= 0) k = 1, cp = '?';
        int cw = utf8proc_charwidth(cp);
        if (used + cw > width - 1) break;
        used += cw;
        for (utf8proc_ssize_t b = 0; b < k; b++)
            fputc(s[i + (size_t)b] == '\n' || s[i + (size_t)b] == '\t' ? ' ' : s[i + (size_t)b], f);
        i += (size_t)k;
    }
    fputs("\xe2\x80\xa6", f);
    fprintf(f, "%*s", width - 1 - used > 0 ? width - 1 - used : 0, "");
}

/* A value as text; NULL for NULL, and when memory has run out, which ends the output. */
static const char *text_of(Shell *sh, stele_stmt *s, int64_t column) {
    const char *v = stele_column_text(s, column, NULL);
    if (!v && !stele_column_is_null(s, column)) sh->out_of_memory = true;
    return v;
}

bool output_goes_on(Shell *sh) {
    if (ferror(sh->out)) {
        if (!sh->write_errno) sh->write_errno = errno;
        return false;
    }
    return !shell_stop && !shell_signal && !sh->out_of_memory;
}

static void csv_cell(FILE *f, const char *s) {
    if (!s) return;
    if (*s && !strpbrk(s, ",\"\n\r")) {
        fputs(s, f);
        return;
    }
    fputc('"', f);
    for (; *s; s++) {
        if (*s == '"') fputc('"', f);
        fputc(*s, f);
    }
    fputc('"', f);
}

static void json_text(FILE *f, const char *s) {
    fputc('"', f);
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c == '"' || c == '\\') fprintf(f, "\\%c", c);
        else if (c == '\n') fputs("\\n", f);
        else if (c == '\t') fputs("\\t", f);
        else if (c == '\r') fputs("\\r", f);
        else if (c < 0x20) fprintf(f, "\\u%04x", c);
        else fputc(c, f);
    }
    fputc('"', f);
}

static bool json_number(const char *s) { return *s == '-' ? s[1] >= '0' && s[1] <= '9' : *s >= '0' && *s <= '9'; }

static void print_stream(Shell *sh, stele_stmt *s, int64_t *rows) {
    FILE *f = sh->out;
    int64_t n = stele_column_count(s);
    if (sh->format == FMT_CSV)
        for (int64_t i = 0; i < n; i++) {
            if (i) fputc(',', f);
            csv_cell(f, stele_column_name(s, i));
        }
    if (sh->format == FMT_CSV) fputc('\n', f);
    if (sh->format == FMT_JSON) fputs("[", f);
    if (sh->format == FMT_MARKDOWN) {
        for (int64_t i = 0; i < n; i++) fprintf(f, "| %s ", stele_column_name(s, i));
        fputs("|\n", f);
        for (int64_t i = 0; i < n; i++) fputs(stele_column_is_number(s, i) ? "| ---: " : "| --- ", f);
        fputs("|\n", f);
    }
    while (output_goes_on(sh) && stele_step(s) == STELE_ROW) {
        if (sh->format == FMT_JSON) fputs(*rows ? ",\n {" : "\n {", f);
        for (int64_t i = 0; i < n; i++) {
            const char *v = text_of(sh, s, i);
            if (sh->format == FMT_CSV) {
                if (i) fputc(',', f);
                csv_cell(f, v);
            } else if (sh->format == FMT_JSON) {
                if (i) fputs(", ", f);
                json_text(f, stele_column_name(s, i));
                fputs(": ", f);
                const char *t = stele_column_type(s, i);
                if (!v) fputs("null", f);
                else if (strcmp(t, "boolean") == 0) fputs(*v == 't' ? "true" : "false", f);
                else if (stele_column_is_number(s, i) && json_number(v)) fputs(v, f);
                else json_text(f, v);
            } else {
                fputs("| ", f);
                for (const char *p = v ? v : ""; *p; p++) {
                    if (*p == '|') fputc('\\', f);
                    fputc(*p == '\n' ? ' ' : *p, f);
                }
                fputc(' ', f);
            }
        }
        fputs(sh->format == FMT_CSV ? "\n" : sh->format == FMT_JSON ? "}" : "|\n", f);
        ++*rows;
    }
    if (sh->format == FMT_JSON) fputs(*rows ? "\n]\n" : "]\n", f);
}

static void print_expanded(Shell *sh, stele_stmt *s, int64_t *rows) {
    int64_t n = stele_column_count(s);
    int w = 0;
    for (int64_t i = 0; i < n; i++) {
        int k = text_width(stele_column_name(s, i), strlen(stele_column_name(s, i)));
        if (k > w) w = k;
    }
    while (output_goes_on(sh) && stele_step(s) == STELE_ROW) {
        fprintf(sh->out, "-[ RECORD %lld ]\n", (long long)++*rows);
        for (int64_t i = 0; i < n; i++) {
            const char *v = text_of(sh, s, i);
            put_cell(sh->out, stele_column_name(s, i), w, false);
            fprintf(sh->out, " | %s\n", v ? v : sh->null_text);
        }
    }
    if (*rows == 0) fputs("(0 rows)\n", sh->out);
}

enum { WIDTH_SAMPLE = 10000, MIN_COLUMN = 8 };

static void print_table(Shell *sh, stele_stmt *s, int64_t *rows) {
    int64_t n = stele_column_count(s), cap = 256, held = 0;
    FILE *f = sh->out;
    int *w = calloc((size_t)n + 1, sizeof *w);
    bool *right = calloc((size_t)n + 1, sizeof *right);
    char **cells = malloc(sizeof(char *) * (size_t)(cap * (n + 1)));
    if (!w || !right || !cells) {
        sh->out_of_memory = true;
        goto done;
    }
    for (int64_t i = 0; i < n; i++) {
        right[i] = stele_column_is_number(s, i);
        w[i] = text_width(stele_column_name(s, i), strlen(stele_column_name(s, i)));
    }
    /* Widths come from the first rows; the rest is streamed with them. */
    bool more = true;
    while (held < WIDTH_SAMPLE && (more = stele_step(s) == STELE_ROW)) {
        if (held == cap) {
            char **g = realloc(cells, sizeof(char *) * (size_t)(cap * 2 * (n + 1)));
            if (!g) {
                sh->out_of_memory = true;
                goto done;
            }
            cells = g;
            cap *= 2;
        }
        for (int64_t i = 0; i < n; i++) {
            const char *v = text_of(sh, s, i);
            if (!v) v = sh->null_text;
            int k = text_width(v, strlen(v));
            if (k > w[i]) w[i] = k;
            cells[held * n + i] = strdup(v);
            if (!cells[held * n + i]) sh->out_of_memory = true;
        }
        held++;
        if (sh->out_of_memory) goto done;
    }
    int term = sh->out == stdout ? terminal_width() : 0;
    if (n > 1 && term > 0 && isatty(STDOUT_FILENO)) { /* shrink the widest columns until the table fits */
        for (;;) {
            int total = 1;
            int64_t widest = -1;
            for (int64_t i = 0; i < n; i++) {
                total += w[i] + 3;
                if (widest < 0 || w[i] > w[widest]) widest = i;
            }
            if (total <= term || widest < 0 || w[widest] <= MIN_COLUMN) break;
            int cut = total - term;
            w[widest] = w[widest] - cut > MIN_COLUMN ? w[widest] - (cut > 8 ? cut / 2 : cut) : MIN_COLUMN;
        }
    }
    for (int64_t i = 0; i < n; i++) {
        fputs(i ? " | " : " ", f);
        put_cell(f, stele_column_name(s, i), w[i], false);
    }
    fputc('\n', f);
    for (int64_t i = 0; i < n; i++) {
        fputs(i ? "+" : "", f);
        for (int k = 0; k < w[i] + 2; k++) fputc('-', f);
    }
    fputc('\n', f);
    for (int64_t r = 0; r < held && output_goes_on(sh); r++) {
        for (int64_t i = 0; i < n; i++) {
            fputs(i ? " | " : " ", f);
            put_cell(f, cells[r * n + i], w[i], right[i]);
        }
        fputc('\n', f);
        ++*rows;
    }
    while (more && output_goes_on(sh) && stele_step(s) == STELE_ROW) {
        for (int64_t i = 0; i < n; i++) {
            const char *v = text_of(sh, s, i);
            fputs(i ? " | " : " ", f);
            put_cell(f, v ? v : sh->null_text, w[i], right[i]);
        }
        fputc('\n', f);
        ++*rows;
    }
    fprintf(f, "(%lld row%s)\n", (long long)*rows, *rows == 1 ? "" : "s");
done:
    for (int64_t i = 0; cells && i < held * n; i++) free(cells[i]);
    free(cells);
    free(w);
    free(right);
}

bool print_result(Shell *sh, stele_stmt *s, int64_t *rows) {
    *rows = 0;
    sh->out_of_memory = false;
    if (sh->format != FMT_TABLE) print_stream(sh, s, rows);
    else if (sh->expanded) print_expanded(sh, s, rows);
    else print_table(sh, s, rows);
    if (!sh->out_of_memory) return true;
    fflush(sh->out);
    fprintf(stderr, "ERROR:  53200: out of memory\nDETAIL:  The result is cut.\n");
    return false;
}
