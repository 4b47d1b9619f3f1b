/* chart.c - \chart: a result of two columns drawn on the terminal. Bars: a line for each row, its label and a bar as
 * long as its number. Lines: x and y, both numbers or x whatever it is, in order of rows, drawn with Braille dots. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "shell/command.h"

enum { ROWS_MAX = 1000, LABEL_MAX = 40, PLOT_HEIGHT = 16 };

typedef struct Points {
    char **labels, **texts; /* first column; the number as it is written */
    double *x, *y;
    int64_t n, cap;
    bool x_is_number;
} Points;

static bool add_point(Points *p, stele_stmt *s) {
    if (p->n == p->cap) {
        int64_t cap = p->cap ? p->cap * 2 : 64;
        char **labels = realloc(p->labels, (size_t)cap * sizeof *labels);
        if (labels) p->labels = labels;
        char **texts = realloc(p->texts, (size_t)cap * sizeof *texts);
        if (texts) p->texts = texts;
        double *x = realloc(p->x, (size_t)cap * sizeof *x);
        if (x) p->x = x;
        double *y = realloc(p->y, (size_t)cap * sizeof *y);
        if (y) p->y = y;
        if (!labels || !texts || !x || !y) return say_no_memory();
        p->cap = cap;
    }
    const char *label = stele_column_text(s, 0, NULL), *text = stele_column_text(s, 1, NULL);
    p->labels[p->n] = strdup(label ? label : "NULL");
    p->texts[p->n] = strdup(text ? text : "NULL");
    p->x[p->n] = p->x_is_number && label ? stele_column_double(s, 0) : (double)p->n;
    p->y[p->n] = text ? stele_column_double(s, 1) : NAN;
    p->n++;
    return (p->labels[p->n - 1] && p->texts[p->n - 1]) || say_no_memory();
}

static void free_points(Points *p) {
    for (int64_t i = 0; i < p->n; i++) {
        free(p->labels[i]);
        free(p->texts[i]);
    }
    free(p->labels);
    free(p->texts);
    free(p->x);
    free(p->y);
}

/* ---- bars ----------------------------------------------------------------------------------------------- */

/* `eighths` of a column from the left. */
static void put_bar(FILE *f, int eighths) {
    static const char *const parts[] = {"", "\u258f", "\u258e", "\u258d", "\u258c", "\u258b", "\u258a", "\u2589"};
    for (int i = 0; i < eighths / 8; i++) fputs("\u2588", f);
    fputs(parts[eighths % 8], f);
}

static void draw_bars(Shell *sh, const Points *p, int width) {
    FILE *f = sh->out;
    int labels = 0, numbers = 0;
    double low = 0, high = 0;
    for (int64_t i = 0; i < p->n; i++) {
        int w = text_width(p->labels[i], strlen(p->labels[i])), v = (int)strlen(p->texts[i]);
        if (w > labels) labels = w;
        if (v > numbers) numbers = v;
        if (!isfinite(p->y[i])) continue;
        if (p->y[i] < low) low = p->y[i];
        if (p->y[i] > high) high = p->y[i];
    }
    if (labels > LABEL_MAX) labels = LABEL_MAX;
    int room = width - labels - numbers - 5;
    if (room < 10) room = 10;
    double scale = high > low ? room * 8 / (high - low) : 0;
    int zero = (int)lround(-low * scale / 8); /* columns of bars to the left */
    for (int64_t i = 0; i < p->n && output_goes_on(sh); i++) {
        int used;
        size_t n = fitting(p->labels[i], strlen(p->labels[i]), labels, &used);
        fputc(' ', f);
        fwrite(p->labels[i], 1, n, f);
        put_padding(f, labels - used + 1);
        put_padding(f, numbers - (int)strlen(p->texts[i]));
        fprintf(f, "%s ", p->texts[i]);
        if (isfinite(p->y[i]) && p->y[i] < 0) {
            int columns = (int)lround(-p->y[i] * scale / 8);
            put_padding(f, zero - columns);
            for (int k = 0; k < columns; k++) fputs("\u2588", f);
            fputs("\u2502", f);
        } else {
            put_padding(f, zero);
            fputs("\u2502", f);
            if (isfinite(p->y[i])) put_bar(f, (int)lround(p->y[i] * scale));
        }
        fputc('\n', f);
    }
}

/* ---- lines ------------------------------------------------------------------------------------------------- */

typedef struct Plot {
    unsigned char *dots; /* of each cell: 2 x 4 */
    int width, height;   /* cells */
} Plot;

static void set_dot(Plot *t, int x, int y) {
    static const unsigned char bits[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    if (x < 0 || y < 0 || x >= t->width * 2 || y >= t->height * 4) return;
    t->dots[(y / 4) * t->width + x / 2] |= bits[y % 4][x % 2];
}

static void set_line(Plot *t, double x0, double y0, double x1, double y1) {
    int steps = (int)fmax(fabs(x1 - x0), fabs(y1 - y0)) + 1;
    for (int i = 0; i <= steps; i++)
        set_dot(t, (int)lround(x0 + (x1 - x0) * i / steps), (int)lround(y0 + (y1 - y0) * i / steps));
}

static bool draw_line(Shell *sh, const Points *p, int width) {
    double low_x = INFINITY, high_x = -INFINITY, low = INFINITY, high = -INFINITY;
    for (int64_t i = 0; i < p->n; i++) {
        if (!isfinite(p->x[i]) || !isfinite(p->y[i])) continue;
        low_x = fmin(low_x, p->x[i]), high_x = fmax(high_x, p->x[i]);
        low = fmin(low, p->y[i]), high = fmax(high, p->y[i]);
    }
    if (!(low <= high)) {
        fputs("(no numbers to draw)\n", sh->out);
        return true;
    }
    char top[32], bottom[32];
    snprintf(top, sizeof top, "%g", high);
    snprintf(bottom, sizeof bottom, "%g", low);
    int margin = (int)(strlen(top) > strlen(bottom) ? strlen(top) : strlen(bottom));
    Plot t = {.width = width - margin - 4 > 10 ? width - margin - 4 : 10, .height = PLOT_HEIGHT};
    t.dots = calloc((size_t)t.width * PLOT_HEIGHT, 1);
    if (!t.dots) return say_no_memory();
    double sx = high_x > low_x ? (t.width * 2 - 1) / (high_x - low_x) : 0;
    double sy = high > low ? (t.height * 4 - 1) / (high - low) : 0;
    bool before = false;
    double x0 = 0, y0 = 0;
    for (int64_t i = 0; i < p->n; i++) {
        bool there = isfinite(p->x[i]) && isfinite(p->y[i]);
        double x = there ? (p->x[i] - low_x) * sx : 0, y = there ? t.height * 4 - 1 - (p->y[i] - low) * sy : 0;
        if (there) set_line(&t, before ? x0 : x, before ? y0 : y, x, y);
        before = there, x0 = x, y0 = y;
    }
    for (int r = 0; r < t.height && output_goes_on(sh); r++) {
        fprintf(sh->out, " %*s \u2502", margin, r == 0 ? top : r == t.height - 1 ? bottom : "");
        for (int c = 0; c < t.width; c++) { /* U+2800 and the dots */
            unsigned char d = t.dots[r * t.width + c];
            fprintf(sh->out, "%c%c%c", 0xe2, 0xa0 | d >> 6, 0x80 | (d & 0x3f));
        }
        fputc('\n', sh->out);
    }
    fprintf(sh->out, " %*s \u2514", margin, "");
    for (int c = 0; c < t.width; c++) fputs("\u2500", sh->out);
    const char *first = p->labels[0], *last = p->labels[p->n - 1];
    fprintf(sh->out, "\n %*s  %s", margin, "", first);
    put_padding(sh->out, t.width - text_width(first, strlen(first)) - text_width(last, strlen(last)));
    fprintf(sh->out, "%s%s\n",
            p->n > 1 ? (text_width(first, strlen(first)) + text_width(last, strlen(last)) < t.width ? "" : " ") : "",
            p->n > 1 ? last : "");
    free(t.dots);
    return true;
}

/* ---- the command --------------------------------------------------------------------------------------------------
 */

bool chart_rows(Shell *sh, stele_stmt *s, int64_t *rows) {
    if (stele_column_count(s) != 2 || !stele_column_is_number(s, 1)) {
        say_error("\\chart: the result must have two columns, a label (or x) and a number\n");
        return false;
    }
    bool line = strcmp(sh->use_arg, "line") == 0, ok = true;
    Points p = {.x_is_number = stele_column_is_number(s, 0)};
    int64_t most = line ? 100000 : ROWS_MAX;
    while (ok && p.n < most && output_goes_on(sh) && stele_step(s) == STELE_ROW) ok = add_point(&p, s);
    *rows = p.n;
    int width = sh->print.columns > 0 ? sh->print.columns : sh->out == stdout ? terminal_width() : 0;
    if (width <= 0) width = 80;
    if (ok && p.n == 0) {
        fputs("(0 rows)\n", sh->out);
    } else if (ok) {
        fprintf(sh->out, " %s by %s\n", stele_column_name(s, 1), stele_column_name(s, 0));
        if (line) ok = draw_line(sh, &p, width);
        else draw_bars(sh, &p, width);
        if (stele_row_count(s) > p.n)
            fprintf(sh->out, "(%lld of %lld rows)\n", (long long)p.n, (long long)stele_row_count(s));
    }
    free_points(&p);
    return ok;
}
