/* format_text.c - formats for programs that read lines: unaligned, list, tabs, csv; line, and none. Complete: nothing
 * is cut, and rows are written as they come. */
#include <string.h>

#include "shell/shell.h"

/* ---- unaligned -------------------------------------------------------------------------------------------- */

static void put_unaligned(Printer *p, const char *field, const char *record, bool count) {
    FILE *f = p->f;
    bool any = false;
    const char *title = title_of(p);
    if (title && count) fprintf(f, "%s%s", title, record);
    if (!p->o->tuples_only) {
        for (int64_t i = 0; i < p->n; i++) fprintf(f, "%s%s", i ? field : "", p->rows->name(p->rows, i));
        any = true;
    }
    while (next_row(p)) {
        if (any) fputs(record, f);
        for (int64_t i = 0; i < p->n; i++) {
            if (i) fputs(field, f);
            fputs(null_plain(p, cell_text(p, i)), f);
        }
        any = true;
    }
    if (any) fputs(count && has_footers(p) && strcmp(record, "\n") != 0 ? record : "\n", f);
    if (count) put_count(p);
}

static void put_unaligned_records(Printer *p, const char *field, const char *record) {
    FILE *f = p->f;
    const char *title = title_of(p);
    if (title) fprintf(f, "%s%s%s", title, record, record);
    while (next_row(p)) {
        if (p->printed > 1) fprintf(f, "%s", record);
        for (int64_t i = 0; i < p->n; i++) {
            fprintf(f, "%s%s", p->rows->name(p->rows, i), field);
            fprintf(f, "%s%s", null_plain(p, cell_text(p, i)), record);
        }
    }
    for (int64_t i = 0; i < p->rows->n_footers && !p->o->tuples_only; i++)
        fprintf(f, "%s%s%s", i ? "" : record, p->rows->footers[i], record);
}

void print_unaligned(Printer *p) {
    const char *field = p->o->field_sep ? p->o->field_sep : "|", *record = p->o->record_sep ? p->o->record_sep : "\n";
    if (p->o->expanded == EXPANDED_ON) put_unaligned_records(p, field, record);
    else put_unaligned(p, field, record, true);
}
void print_list(Printer *p) { put_unaligned(p, p->o->field_sep ? p->o->field_sep : "|", "\n", false); }
void print_tabs(Printer *p) { put_unaligned(p, "\t", "\n", false); }

/* ---- csv ---------------------------------------------------------------------------------------------------- */

/* NULL is an empty field, and an empty text "", unless \pset null says how NULL looks. */
static void csv_cell(Printer *p, const char *s, char separator) {
    FILE *f = p->f;
    if (!s) s = p->o->null_text ? p->o->null_text : "";
    else if (!*s && !p->o->null_text) {
        fputs("\"\"", f);
        return;
    }
    const char special[] = {separator, '"', '\n', '\r', 0};
    if (!strpbrk(s, special) && strcmp(s, "\\.") != 0) fputs(s, f);
    else put_quoted(f, s, '"');
}

void print_csv(Printer *p) {
    FILE *f = p->f;
    char separator = p->o->csv_sep ? *p->o->csv_sep : ',';
    bool records = p->o->expanded == EXPANDED_ON;
    for (int64_t i = 0; i < p->n && !records && !p->o->tuples_only; i++) {
        if (i) fputc(separator, f);
        csv_cell(p, p->rows->name(p->rows, i), separator);
        if (i == p->n - 1) fputc('\n', f);
    }
    while (next_row(p)) {
        for (int64_t i = 0; i < p->n; i++) {
            if (records) csv_cell(p, p->rows->name(p->rows, i), separator);
            if (i || records) fputc(separator, f);
            csv_cell(p, cell_text(p, i), separator);
            if (records) fputc('\n', f);
        }
        if (!records) fputc('\n', f);
    }
}

/* ---- line, trash -------------------------------------------------------------------------------------------- */

void print_line(Printer *p) {
    int widest = 0;
    for (int64_t i = 0; i < p->n; i++) {
        const char *name = p->rows->name(p->rows, i);
        int w = text_width(name, strlen(name));
        if (w > widest) widest = w;
    }
    while (next_row(p)) {
        if (p->printed > 1) fputc('\n', p->f);
        for (int64_t i = 0; i < p->n; i++) {
            const char *name = p->rows->name(p->rows, i);
            put_padding(p->f, widest - text_width(name, strlen(name)));
            fprintf(p->f, "%s = %s\n", name, null_or(p, cell_text(p, i)));
        }
    }
}

void print_trash(Printer *p) {
    while (next_row(p)) continue;
}
