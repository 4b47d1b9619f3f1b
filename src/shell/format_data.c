/* format_data.c - results as data with types: JSON, JSON lines, INSERT statements, SQL literals. Rows are written as
 * they come. */
#include <string.h>

#include "shell/shell.h"

/* ---- JSON ------------------------------------------------------------------------------------------------- */

void json_text(FILE *f, const char *s) {
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

static void json_value(Printer *p, int64_t i, const char *v) {
    const char *type = p->rows->type(p->rows, i);
    if (!v) fputs("null", p->f);
    else if (strcmp(type, "boolean") == 0) fputs(*v == 't' ? "true" : "false", p->f);
    else if (is_finite_number(p, i, v) || strcmp(type, "json") == 0 || strcmp(type, "jsonb") == 0) fputs(v, p->f);
    else json_text(p->f, v);
}

static void json_object(Printer *p, const char *colon, const char *comma) {
    fputc('{', p->f);
    for (int64_t i = 0; i < p->n; i++) {
        if (i) fputs(comma, p->f);
        json_text(p->f, p->rows->name(p->rows, i));
        fputs(colon, p->f);
        json_value(p, i, cell_text(p, i));
    }
    fputc('}', p->f);
}

void print_json(Printer *p) {
    fputs("[", p->f);
    while (next_row(p)) {
        fputs(p->printed > 1 ? ",\n " : "\n ", p->f);
        json_object(p, ": ", ", ");
    }
    fputs(p->printed ? "\n]\n" : "]\n", p->f);
}

void print_jsonlines(Printer *p) {
    while (next_row(p)) {
        json_object(p, ":", ",");
        fputc('\n', p->f);
    }
}

/* ---- SQL --------------------------------------------------------------------------------------------------- */

void put_quoted(FILE *f, const char *s, char quote) {
    fputc(quote, f);
    for (; *s; s++) {
        if (*s == quote) fputc(quote, f);
        fputc(*s, f);
    }
    fputc(quote, f);
}

static void sql_literal(Printer *p, int64_t i, const char *v) {
    FILE *f = p->f;
    const char *type = p->rows->type(p->rows, i);
    if (!v) fputs("NULL", f);
    else if (strcmp(type, "boolean") == 0) fputs(*v == 't' ? "true" : "false", f);
    else if (is_finite_number(p, i, v)) fputs(v, f);
    else put_quoted(f, v, '\'');
}

/* A name as SQL has it: in double quotes unless it is plain. */
static void sql_name(FILE *f, const char *name) {
    bool plain = (*name >= 'a' && *name <= 'z') || *name == '_';
    for (const char *s = name; *s && plain; s++)
        plain = (*s >= 'a' && *s <= 'z') || *s == '_' || (*s >= '0' && *s <= '9');
    if (plain && strcmp(name, "table") != 0) fputs(name, f);
    else put_quoted(f, name, '"');
}

void print_insert(Printer *p) {
    FILE *f = p->f;
    const char *table = p->o->insert_table ? p->o->insert_table : "table";
    while (next_row(p)) {
        fputs("INSERT INTO ", f);
        sql_name(f, table);
        for (int64_t i = 0; i < p->n; i++) {
            fputs(i ? ", " : " (", f);
            sql_name(f, p->rows->name(p->rows, i));
        }
        fputs(p->n ? ") VALUES (" : " DEFAULT VALUES;\n", f);
        for (int64_t i = 0; i < p->n; i++) {
            if (i) fputs(", ", f);
            sql_literal(p, i, cell_text(p, i));
            if (i == p->n - 1) fputs(");\n", f);
        }
    }
}

void print_quote(Printer *p) {
    for (int64_t i = 0; i < p->n && !p->o->tuples_only; i++) {
        if (i) fputc(',', p->f);
        put_quoted(p->f, p->rows->name(p->rows, i), '\'');
        if (i == p->n - 1) fputc('\n', p->f);
    }
    while (next_row(p))
        for (int64_t i = 0; i < p->n; i++) {
            if (i) fputc(',', p->f);
            sql_literal(p, i, cell_text(p, i));
            if (i == p->n - 1) fputc('\n', p->f);
        }
}
