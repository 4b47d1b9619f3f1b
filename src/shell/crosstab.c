/* crosstab.c - \crosstabview: a result of rows, columns and values as a table of two dimensions, as psql does it. */
#include <stdlib.h>
#include <string.h>

#include "shell/command.h"

enum { COLUMNS_MAX = 1600 };

typedef struct Heads {
    char **texts; /* NULL is a head as well */
    double *order;
    int64_t n, cap;
} Heads;

typedef struct Crosstab {
    Shell *sh;
    stele_stmt *s;
    int64_t rows, columns, values, order; /* which columns of the result; order -1: none */
    Heads down, across;
    char **cells; /* value of each (down, across); by row of the result first */
    int64_t *at_down, *at_across, n, cap;
} Crosstab;

static bool same(const char *a, const char *b) { return a && b ? strcmp(a, b) == 0 : a == b; }

/* The head's number; -1: out of memory. */
static int64_t head_of(Heads *h, const char *text, double order) {
    for (int64_t i = 0; i < h->n; i++)
        if (same(h->texts[i], text)) return i;
    if (h->n == h->cap) {
        int64_t cap = h->cap ? h->cap * 2 : 32;
        char **texts = realloc(h->texts, (size_t)cap * sizeof *texts);
        if (texts) h->texts = texts;
        double *orders = realloc(h->order, (size_t)cap * sizeof *orders);
        if (orders) h->order = orders;
        if (!texts || !orders) return say_no_memory() - 1;
        h->cap = cap;
    }
    char *copy = text ? strdup(text) : NULL;
    if (text && !copy) return say_no_memory() - 1;
    h->texts[h->n] = copy;
    h->order[h->n] = order;
    return h->n++;
}

/* A column of the result, by name or number (from 1); -1: there is none, which has been said. */
static int64_t column_of(const Crosstab *c, const char *name) {
    int64_t n = stele_column_count(c->s), found = -1;
    if (*name && strspn(name, "0123456789") == strlen(name)) {
        long long i = atoll(name);
        if (i >= 1 && i <= n) return i - 1;
        say_error("\\crosstabview: column number %s is out of range 1..%lld\n", name, (long long)n);
        return -1;
    }
    for (int64_t i = 0; i < n; i++) {
        if (strcmp(stele_column_name(c->s, i), name) != 0) continue;
        if (found >= 0) {
            say_error("\\crosstabview: ambiguous column name: \"%s\"\n", name);
            return -1;
        }
        found = i;
    }
    if (found < 0) say_error("\\crosstabview: column name not found: \"%s\"\n", name);
    return found;
}

static bool choose_columns(Crosstab *c, char *const *names) {
    int64_t n = stele_column_count(c->s);
    c->order = -1;
    if (n < 3) {
        say_error("\\crosstabview: query must return at least three columns\n");
        return false;
    }
    if (!names[2] && n != 3) {
        say_error("\\crosstabview: data column must be specified when query returns more than three columns\n");
        return false;
    }
    c->rows = names[0] ? column_of(c, names[0]) : 0;
    c->columns = names[1] ? column_of(c, names[1]) : 1;
    if (c->rows < 0 || c->columns < 0) return false;
    if (c->rows == c->columns) {
        say_error("\\crosstabview: vertical and horizontal headers must be different columns\n");
        return false;
    }
    c->values = names[2] ? column_of(c, names[2]) : 3 - c->rows - c->columns;
    if (names[3]) c->order = column_of(c, names[3]);
    return c->values >= 0 && (!names[3] || c->order >= 0);
}

static bool take_row(Crosstab *c) {
    if (c->n == c->cap) {
        int64_t cap = c->cap ? c->cap * 2 : 64;
        char **cells = realloc(c->cells, (size_t)cap * sizeof *cells);
        if (cells) c->cells = cells;
        int64_t *down = realloc(c->at_down, (size_t)cap * sizeof *down);
        if (down) c->at_down = down;
        int64_t *across = realloc(c->at_across, (size_t)cap * sizeof *across);
        if (across) c->at_across = across;
        if (!cells || !down || !across) return say_no_memory();
        c->cap = cap;
    }
    double order = c->order >= 0 ? stele_column_double(c->s, c->order) : 0;
    int64_t down = head_of(&c->down, stele_column_text(c->s, c->rows, NULL), 0);
    int64_t across = head_of(&c->across, stele_column_text(c->s, c->columns, NULL), order);
    if (down < 0 || across < 0) return false;
    if (c->across.n > COLUMNS_MAX) {
        say_error("\\crosstabview: maximum number of columns (%d) exceeded\n", COLUMNS_MAX);
        return false;
    }
    const char *value = stele_column_text(c->s, c->values, NULL);
    char *copy = value ? strdup(value) : NULL;
    if (value && !copy) return say_no_memory();
    c->cells[c->n] = copy;
    c->at_down[c->n] = down;
    c->at_across[c->n++] = across;
    return true;
}

static int compare_order(const void *a, const void *b, void *arg) {
    const double *order = arg;
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return order[x] < order[y] ? -1 : order[x] > order[y] ? 1 : x < y ? -1 : x > y;
}

/* Which row of the result each cell has its value from; -1: none. */
static bool place_cells(const Crosstab *c, int64_t *place) {
    for (int64_t i = 0; i < c->down.n * c->across.n; i++) place[i] = -1;
    for (int64_t i = 0; i < c->n; i++) {
        int64_t at = c->at_down[i] * c->across.n + c->at_across[i];
        if (place[at] >= 0) {
            const char *row = c->down.texts[c->at_down[i]], *column = c->across.texts[c->at_across[i]];
            say_error("\\crosstabview: query result contains multiple data values for row \"%s\", column \"%s\"\n",
                      row ? row : "(null)", column ? column : "(null)");
            return false;
        }
        place[at] = i;
    }
    return true;
}

static bool print_crosstab(Crosstab *c, const int64_t *place, const int64_t *sorted, const char **names) {
    const char *null_text = c->sh->print.null_text ? c->sh->print.null_text : "";
    names[0] = stele_column_name(c->s, c->rows);
    for (int64_t i = 0; i < c->across.n; i++) {
        const char *text = c->across.texts[sorted[i]];
        names[i + 1] = text ? text : null_text;
    }
    Grid *g = grid_new(NULL, c->across.n + 1, names);
    if (stele_column_is_number(c->s, c->rows)) grid_right(g, 0);
    for (int64_t i = 0; i < c->across.n; i++)
        if (stele_column_is_number(c->s, c->values)) grid_right(g, i + 1);
    for (int64_t r = 0; r < c->down.n; r++) {
        grid_cell(g, c->down.texts[r]);
        for (int64_t i = 0; i < c->across.n; i++) {
            int64_t from = place[r * c->across.n + sorted[i]];
            grid_cell(g, from >= 0 ? (c->cells[from] ? c->cells[from] : null_text) : "");
        }
    }
    return grid_print(c->sh, g);
}

static void free_heads(Heads *h) {
    for (int64_t i = 0; i < h->n; i++) free(h->texts[i]);
    free(h->texts);
    free(h->order);
}

bool crosstab_rows(Shell *sh, stele_stmt *s, int64_t *rows) {
    Crosstab c = {.sh = sh, .s = s};
    bool ok = choose_columns(&c, sh->use_arg);
    while (ok && output_goes_on(sh) && stele_step(s) == STELE_ROW) ok = take_row(&c);
    *rows = c.n;
    size_t size = (size_t)(c.down.n * c.across.n + 1);
    int64_t *place = ok ? malloc(size * sizeof *place) : NULL;
    int64_t *sorted = ok ? malloc((size_t)(c.across.n + 1) * sizeof *sorted) : NULL;
    const char **names = ok ? malloc((size_t)(c.across.n + 2) * sizeof *names) : NULL;
    if (ok && (!place || !sorted || !names)) ok = say_no_memory();
    if (ok) {
        for (int64_t i = 0; i < c.across.n; i++) sorted[i] = i;
        if (c.order >= 0 && c.across.n > 0)
            qsort_r(sorted, (size_t)c.across.n, sizeof *sorted, compare_order, c.across.order);
        ok = place_cells(&c, place) && print_crosstab(&c, place, sorted, names);
    }
    free(place);
    free(sorted);
    free(names);
    for (int64_t i = 0; i < c.n; i++) free(c.cells[i]);
    free(c.cells);
    free(c.at_down);
    free(c.at_across);
    free_heads(&c.down);
    free_heads(&c.across);
    return ok;
}
