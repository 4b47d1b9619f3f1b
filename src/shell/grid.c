/* grid.c - a table in memory, which commands fill and print as if it were a result. When memory runs out while it is
 * filled, printing it says so. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "shell/shell.h"

struct Grid {
    char *title;
    char **names, **cells, **footers;
    bool *right;
    int64_t n_columns, n_cells, cap, n_footers, cap_footers, at;
    bool no_count, out_of_memory;
};

/* Room for one more of `n` texts. */
static bool grow(Grid *g, char ***items, int64_t n, int64_t *cap) {
    if (n < *cap) return true;
    int64_t more = *cap ? *cap * 2 : 32;
    char **p = realloc(*items, sizeof(char *) * (size_t)more);
    if (!p) return g->out_of_memory = true, false;
    *items = p;
    *cap = more;
    return true;
}

static char *keep(Grid *g, const char *text) {
    char *copy = strdup(text);
    if (!copy) g->out_of_memory = true;
    return copy;
}

Grid *grid_new(const char *title, int64_t n_columns, const char *const *names) {
    Grid *g = calloc(1, sizeof *g);
    if (!g) return NULL;
    g->names = calloc((size_t)n_columns + 1, sizeof *g->names);
    g->right = calloc((size_t)n_columns + 1, sizeof *g->right);
    if (!g->names || !g->right) {
        grid_free(g);
        return NULL;
    }
    g->n_columns = n_columns;
    g->title = title ? keep(g, title) : NULL;
    for (int64_t i = 0; i < n_columns; i++) g->names[i] = keep(g, names[i]);
    return g;
}

void grid_free(Grid *g) {
    if (!g) return;
    for (int64_t i = 0; i < g->n_columns; i++) free(g->names[i]);
    for (int64_t i = 0; i < g->n_cells; i++) free(g->cells[i]);
    for (int64_t i = 0; i < g->n_footers; i++) free(g->footers[i]);
    free(g->names);
    free(g->cells);
    free(g->footers);
    free(g->right);
    free(g->title);
    free(g);
}

void grid_right(Grid *g, int64_t column) {
    if (g) g->right[column] = true;
}

void grid_cell(Grid *g, const char *text) {
    if (!g || !grow(g, &g->cells, g->n_cells, &g->cap)) return;
    g->cells[g->n_cells++] = text ? keep(g, text) : NULL;
}

static char *formatted(Grid *g, const char *format, va_list args) {
    char *text = NULL;
    if (vasprintf(&text, format, args) < 0) {
        g->out_of_memory = true;
        return NULL;
    }
    return text;
}

void grid_cellf(Grid *g, const char *format, ...) {
    if (!g || !grow(g, &g->cells, g->n_cells, &g->cap)) return;
    va_list args;
    va_start(args, format);
    g->cells[g->n_cells++] = formatted(g, format, args);
    va_end(args);
}

void grid_footer(Grid *g, const char *format, ...) {
    if (!g || !grow(g, &g->footers, g->n_footers, &g->cap_footers)) return;
    va_list args;
    va_start(args, format);
    char *text = formatted(g, format, args);
    va_end(args);
    if (text) g->footers[g->n_footers++] = text;
}

void grid_no_count(Grid *g) {
    if (g) g->no_count = true;
}

int64_t grid_rows(const Grid *g) { return g && g->n_columns > 0 ? g->n_cells / g->n_columns : 0; }

/* ---- sorting -------------------------------------------------------------------------------------------- */

typedef struct Sort {
    char **cells;
    int64_t columns;
} Sort;

static int compare_rows(const void *a, const void *b, void *arg) {
    const Sort *s = arg;
    char *const *x = a, *const *y = b;
    for (int64_t i = 0; i < s->columns; i++) {
        int c = strcmp(x[i] ? x[i] : "", y[i] ? y[i] : "");
        if (c) return c;
    }
    return 0;
}

void grid_sort(Grid *g, int64_t columns) {
    if (!g || g->out_of_memory || grid_rows(g) == 0) return;
    Sort s = {g->cells, columns};
    qsort_r(g->cells, (size_t)grid_rows(g), sizeof(char *) * (size_t)g->n_columns, compare_rows, &s);
}

/* Rows that are equal to the one before go. */
void grid_distinct(Grid *g) {
    if (!g || g->out_of_memory) return;
    int64_t kept = 0;
    Sort s = {g->cells, g->n_columns};
    for (int64_t r = 0; r < grid_rows(g); r++) {
        char **row = g->cells + r * g->n_columns, **to = g->cells + kept * g->n_columns;
        bool again = kept > 0 && compare_rows(to - g->n_columns, row, &s) == 0;
        for (int64_t i = 0; i < g->n_columns; i++) {
            if (again) free(row[i]);
            else to[i] = row[i];
        }
        kept += !again;
    }
    g->n_cells = kept * g->n_columns;
}

/* ---- as rows ---------------------------------------------------------------------------------------------- */

static bool grid_next(Rows *r) {
    Grid *g = r->from;
    if (g->at >= grid_rows(g)) return false;
    g->at++;
    return true;
}
static const char *grid_text(Rows *r, int64_t column) {
    const Grid *g = r->from;
    return g->cells[(g->at - 1) * g->n_columns + column];
}
static const char *grid_name(const Rows *r, int64_t column) {
    const Grid *g = r->from;
    return g->names[column];
}
static const char *grid_type(const Rows *r, int64_t column) {
    (void)r, (void)column;
    return "text";
}
static bool grid_is_number(const Rows *r, int64_t column) {
    const Grid *g = r->from;
    return g->right[column];
}

bool grid_print(Shell *sh, Grid *g) {
    if (!g || g->out_of_memory) {
        grid_free(g);
        return say_no_memory();
    }
    Rows r = {.n = g->n_columns,
              .next = grid_next,
              .text = grid_text,
              .name = grid_name,
              .type = grid_type,
              .is_number = grid_is_number,
              .count = grid_rows(g),
              .title = g->title,
              .footers = (const char *const *)g->footers,
              .n_footers = g->n_footers,
              .no_count = g->no_count,
              .from = g};
    bool ok = print_rows(sh, &r, NULL);
    grid_free(g);
    return ok;
}
