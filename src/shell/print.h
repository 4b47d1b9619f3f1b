/* print.h - results as text: what is printed (Rows), how (PrintOptions), and the table of formats.
 *
 * A format is a function over Rows, which are those of a statement, one after the other, or a table made by the shell
 * (Grid: \d and its like), so that both look the same and follow the same settings. */
#ifndef STELE_SHELL_PRINT_H
#define STELE_SHELL_PRINT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct Shell Shell;
typedef struct Rows Rows;
typedef struct Printer Printer;

/* Rows that are read once, forwards. */
struct Rows {
    int64_t n;                                    /* columns */
    bool (*next)(Rows *r);                        /* to the next row; false: there is none */
    const char *(*text)(Rows *r, int64_t column); /* of the current row; NULL for NULL */
    const char *(*name)(const Rows *r, int64_t column);
    const char *(*type)(const Rows *r, int64_t column);
    bool (*is_number)(const Rows *r, int64_t column); /* to be aligned to the right */
    int64_t count;                                    /* rows, where that is known before; -1 */
    const char *title;                                /* NULL: none but that of \C */
    const char *const *footers;                       /* lines below */
    int64_t n_footers;
    bool no_count; /* and no "(3 rows)" */
    bool timed;    /* to be measured: */
    double ms;     /* in `next` */
    bool failed;   /* the last `next` has: rows before were given */
    void *from;
};

typedef enum LineStyle { LINES_ASCII, LINES_OLD_ASCII, LINES_UNICODE } LineStyle;
typedef enum Expanded { EXPANDED_OFF, EXPANDED_ON, EXPANDED_AUTO } Expanded;
typedef enum PagerUse { PAGER_OFF, PAGER_ON, PAGER_ALWAYS } PagerUse;

typedef struct Format {
    const char *name, *help;
    void (*print)(Printer *p);
    bool data; /* rows and nothing else: no tag behind those of RETURNING */
} Format;

/* What \pset sets. Texts are owned; NULL: the default. */
typedef struct PrintOptions {
    const Format *format;
    Expanded expanded;
    LineStyle lines;
    int border, columns, pager_min_lines;
    PagerUse pager;
    bool tuples_only, no_footer;
    char *null_text, *field_sep, *record_sep, *csv_sep, *title, *table_attr, *insert_table;
} PrintOptions;

/* One result being printed. */
struct Printer {
    Shell *sh;
    FILE *f;
    const PrintOptions *o;
    Rows *rows;
    int64_t n;       /* columns */
    int64_t printed; /* rows */
    int width;       /* of the terminal, 0: none, or what is printed does not go there */
    bool cuts;       /* cells are cut to fit `width` */
};

/* output.c */
extern const Format formats[];                         /* by name; ends with NULL; the first is the default */
const Format *find_format(const char *name, size_t n); /* by the beginning of a name, when only one has it */
bool print_rows(Shell *sh, Rows *r, int64_t *printed); /* false: out of memory, which has been shown */
bool next_row(Printer *p);
const char *cell_text(Printer *p, int64_t column);          /* NULL for NULL */
const char *null_or(const Printer *p, const char *text);    /* the text, or what NULL looks like in tables */
const char *null_plain(const Printer *p, const char *text); /* ... elsewhere: nothing, unless \pset null says it */
void put_count(Printer *p);                                 /* "(3 rows)" and other lines below, each ended */
bool has_footers(const Printer *p);
const char *title_of(const Printer *p); /* NULL: none */
int terminal_width(void);
int text_width(const char *s, size_t n);                                   /* columns on a terminal */
size_t fitting(const char *s, size_t n, int width, int *used);             /* bytes that fit, and their columns */
bool is_finite_number(const Printer *p, int64_t column, const char *text); /* can be written without quotes */
void put_padding(FILE *f, int n);
void json_text(FILE *f, const char *s);              /* as a JSON string */
void put_quoted(FILE *f, const char *s, char quote); /* between quotes, and those in it twice */
/* format_*.c */
void print_aligned(Printer *p), print_wrapped(Printer *p), print_box(Printer *p), print_grid(Printer *p);
void print_column(Printer *p);
void print_unaligned(Printer *p), print_list(Printer *p), print_tabs(Printer *p), print_csv(Printer *p);
void print_json(Printer *p), print_jsonlines(Printer *p), print_insert(Printer *p), print_quote(Printer *p);
void print_line(Printer *p), print_trash(Printer *p);
void print_markdown(Printer *p), print_html(Printer *p), print_asciidoc(Printer *p), print_latex(Printer *p);
void print_troff(Printer *p);

/* grid.c: a table in memory */
typedef struct Grid Grid;
Grid *grid_new(const char *title, int64_t n_columns, const char *const *names); /* NULL: out of memory */
void grid_right(Grid *g, int64_t column);                                       /* aligned to the right */
void grid_cell(Grid *g, const char *text);                                      /* the next one; NULL for NULL */
void grid_cellf(Grid *g, const char *format, ...) __attribute__((format(printf, 2, 3)));
void grid_footer(Grid *g, const char *format, ...) __attribute__((format(printf, 2, 3)));
void grid_no_count(Grid *g);
int64_t grid_rows(const Grid *g);
void grid_sort(Grid *g, int64_t columns); /* rows by their first columns' texts */
void grid_distinct(Grid *g);              /* neighbours that are equal */
bool grid_print(Shell *sh, Grid *g);      /* and frees it; g may be NULL: out of memory */
void grid_free(Grid *g);

#endif
