/* format_aligned.c - tables: aligned, wrapped, box, table (a grid), column; and the expanded form of them (\x), a
 * record after the other. They are psql's, character by character.
 *
 * Widths come from the first rows, up to SAMPLE_ROWS and SAMPLE_BYTES, which are held; the others are written as they
 * come, so that memory does not grow with the result. Of those a value wider than its column moves its row's others to
 * the right. On a terminal what does not fit is cut, with an ellipsis, unless a pager shows it. */
#include <stdlib.h>
#include <string.h>

#include "shell/shell.h"

enum { SAMPLE_ROWS = 10000, SAMPLE_BYTES = 64 << 20, MIN_COLUMN = 8 };

/* What lines are drawn with. */
typedef struct Rule {
    const char *dash, *left, *mid, *right;
} Rule;
typedef struct Style {
    Rule top, middle, bottom, data;
    const char *mid_newline, *mid_wrap, *mid_blank;
    const char *header_newline_left, *header_newline_right, *newline_left, *newline_right, *wrap_left, *wrap_right;
    bool right_border; /* marks stand to the right of a column that has no border */
} Style;
static const Style styles[] = {
    [LINES_ASCII] = {{"-", "+", "+", "+"},
                     {"-", "+", "+", "+"},
                     {"-", "+", "+", "+"},
                     {"", "|", "|", "|"},
                     "|",
                     "|",
                     "|",
                     " ",
                     "+",
                     " ",
                     "+",
                     ".",
                     ".",
                     true},
    [LINES_OLD_ASCII] = {{"-", "+", "+", "+"},
                         {"-", "+", "+", "+"},
                         {"-", "+", "+", "+"},
                         {"", "|", "|", "|"},
                         ":",
                         ";",
                         " ",
                         "+",
                         " ",
                         " ",
                         " ",
                         " ",
                         " ",
                         false},
    [LINES_UNICODE] = {{"\u2500", "\u250c", "\u252c", "\u2510"},
                       {"\u2500", "\u251c", "\u253c", "\u2524"},
                       {"\u2500", "\u2514", "\u2534", "\u2518"},
                       {"", "\u2502", "\u2502", "\u2502"},
                       "\u2502",
                       "\u2502",
                       "\u2502",
                       " ",
                       "\u21b5",
                       " ",
                       "\u21b5",
                       "\u2026",
                       "\u2026",
                       true},
};

typedef enum Wrap { WRAP_NONE, WRAP_WORD, WRAP_NEWLINE } Wrap;

/* Where a column is in its cell while a row is being written. */
typedef struct Cursor {
    const char *at; /* rest of the cell; NULL: all of it is written */
    Wrap wrap;      /* how the line before it ended */
} Cursor;

typedef struct Table {
    Printer *p;
    FILE *f;
    const Style *style;
    int border;
    int *width; /* of each column */
    int *header_width;
    int64_t *total; /* widths of all cells held, for wrapping */
    bool *right;
    Cursor *cursor;
    char **cells; /* held ones */
    char **shown; /* of the current row, where that is another text */
    int64_t held, cap;
    size_t bytes;
    bool more; /* rows behind those that are held */
} Table;

static int widest_line(const char *s) {
    int widest = 0;
    for (;;) {
        size_t n = strcspn(s, "\n");
        int w = text_width(s, n);
        if (w > widest) widest = w;
        if (!s[n]) return widest;
        s += n + 1;
    }
}

/* A text as a table shows it: tabs as blanks up to the next eighth column, other control characters by number. NULL: it
 * has none of them, or memory has run out. */
static char *without_controls(Printer *p, const char *s) {
    size_t n = strlen(s), controls = 0;
    for (size_t i = 0; i < n; i++) controls += ((unsigned char)s[i] < 0x20 && s[i] != '\n') || s[i] == 0x7f;
    if (controls == 0) return NULL;
    char *out = malloc(n + controls * 8 + 1), *to = out;
    if (!out) {
        p->sh->out_of_memory = true;
        return NULL;
    }
    const char *line = out;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s[i];
        if (c == '\t') {
            do *to++ = ' ';
            while (text_width(line, (size_t)(to - line)) % 8 != 0);
        } else if (c == '\r') {
            *to++ = '\\', *to++ = 'r';
        } else if ((c < 0x20 && c != '\n') || c == 0x7f) {
            to += snprintf(to, 5, "\\x%02X", c);
        } else {
            *to++ = (char)c;
            if (c == '\n') line = to;
        }
    }
    *to = 0;
    return out;
}

/* ---- rows that are held ---------------------------------------------------------------------------- */

static bool table_init(Table *t, Printer *p, const Style *style, int border) {
    size_t n = (size_t)p->n + 1;
    *t = (Table){.p = p, .f = p->f, .style = style, .border = border, .more = true};
    t->width = calloc(n, sizeof *t->width);
    t->header_width = calloc(n, sizeof *t->header_width);
    t->total = calloc(n, sizeof *t->total);
    t->right = calloc(n, sizeof *t->right);
    t->cursor = calloc(n, sizeof *t->cursor);
    t->shown = calloc(n, sizeof *t->shown);
    if (!t->width || !t->header_width || !t->total || !t->right || !t->cursor || !t->shown) {
        p->sh->out_of_memory = true;
        return false;
    }
    for (int64_t i = 0; i < p->n; i++) {
        t->right[i] = p->rows->is_number(p->rows, i);
        t->width[i] = t->header_width[i] = widest_line(p->rows->name(p->rows, i));
    }
    return true;
}

static void table_free(Table *t) {
    for (int64_t i = 0; i < t->held * t->p->n; i++) free(t->cells[i]);
    for (int64_t i = 0; i < t->p->n && t->shown; i++) free(t->shown[i]);
    free(t->shown);
    free(t->cells);
    free(t->width);
    free(t->header_width);
    free(t->total);
    free(t->right);
    free(t->cursor);
}

static bool hold_row(Table *t) {
    int64_t n = t->p->n;
    if (t->held == t->cap) {
        int64_t cap = t->cap ? t->cap * 2 : 64;
        char **more = realloc(t->cells, sizeof(char *) * (size_t)(cap * (n + 1)));
        if (!more) return t->p->sh->out_of_memory = true, false;
        t->cells = more;
        t->cap = cap;
    }
    for (int64_t i = 0; i < n; i++) {
        const char *text = null_or(t->p, cell_text(t->p, i));
        char *shown = without_controls(t->p, text), *copy = shown ? shown : strdup(text);
        if (!copy) t->p->sh->out_of_memory = true;
        int w = copy ? widest_line(copy) : 0;
        if (w > t->width[i]) t->width[i] = w;
        t->total[i] += w;
        t->bytes += strlen(text);
        t->cells[t->held * n + i] = copy;
    }
    t->held++;
    return !t->p->sh->out_of_memory;
}

static void hold_rows(Table *t) {
    while (t->held < SAMPLE_ROWS && t->bytes < SAMPLE_BYTES && (t->more = next_row(t->p)) && hold_row(t)) continue;
    t->p->printed = 0; /* held is not printed */
}

/* The cursors to the beginning of row `r`, or of the current one. False: there are no more. */
static bool row_begins(Table *t, int64_t r) {
    Printer *p = t->p;
    bool held = r < t->held;
    if (!held && (!t->more || !next_row(p))) return false;
    if (held && !output_goes_on(p->sh)) return false;
    if (held) p->printed++;
    for (int64_t i = 0; i < p->n; i++) {
        const char *text = held ? t->cells[r * p->n + i] : null_or(p, cell_text(p, i));
        free(t->shown[i]);
        t->shown[i] = held ? NULL : without_controls(p, text);
        t->cursor[i] = (Cursor){.at = t->shown[i] ? t->shown[i] : text};
    }
    return !p->sh->out_of_memory;
}

/* ---- widths ------------------------------------------------------------------------------------------- */

static int total_width(const Table *t, const int *width) {
    int n = (int)t->p->n, total = t->border == 0 ? n : t->border == 1 ? n * 3 - (n > 0) : n * 3 + 1;
    for (int i = 0; i < n; i++) total += width[i];
    return total;
}

/* Columns that are now and then wide become narrower, until the table fits; those of wide names do not. */
static void wrap_columns(Table *t, const int *widest) {
    int at_most = t->p->width, total = total_width(t, t->width);
    if (at_most <= 0 || at_most < total_width(t, t->header_width)) return;
    for (; total > at_most; total--) {
        double worst = 0;
        int64_t column = -1;
        for (int64_t i = 0; i < t->p->n; i++) {
            int mean = t->held > 0 ? (int)(t->total[i] / t->held) : 0;
            if (mean == 0 || t->width[i] <= t->header_width[i]) continue;
            double ratio = (double)t->width[i] / mean + widest[i] * 0.01;
            if (ratio > worst) worst = ratio, column = i;
        }
        if (column < 0) return;
        t->width[column]--;
    }
}

/* The widest columns are cut until the table fits the terminal. */
static void cut_columns(Table *t) {
    while (t->p->n > 0) {
        int64_t widest = 0;
        for (int64_t i = 0; i < t->p->n; i++)
            if (t->width[i] > t->width[widest]) widest = i;
        int over = total_width(t, t->width) - t->p->width;
        if (over <= 0 || t->width[widest] <= MIN_COLUMN) return;
        int cut = over > 8 ? over / 2 : over;
        t->width[widest] = t->width[widest] - cut > MIN_COLUMN ? t->width[widest] - cut : MIN_COLUMN;
    }
}

/* ---- lines ---------------------------------------------------------------------------------------------- */

static void put_rule(const Table *t, const Rule *r) {
    FILE *f = t->f;
    if (t->border == 1) fputs(r->dash, f);
    else if (t->border >= 2) fprintf(f, "%s%s", r->left, r->dash);
    for (int64_t i = 0; i < t->p->n; i++) {
        for (int k = 0; k < t->width[i]; k++) fputs(r->dash, f);
        if (i == t->p->n - 1) break;
        if (t->border == 0) fputc(' ', f);
        else fprintf(f, "%s%s%s", r->dash, r->mid, r->dash);
    }
    if (t->border >= 2) fprintf(f, "%s%s", r->dash, r->right);
    else if (t->border == 1) fputs(r->dash, f);
    fputc('\n', f);
}

static void put_title(const Table *t) {
    const char *title = title_of(t->p);
    if (!title) return;
    int w = text_width(title, strlen(title)), total = total_width(t, t->width);
    if (w < total) put_padding(t->f, (total - w) / 2);
    fprintf(t->f, "%s\n", title);
}

/* Names, centered; those of several lines. */
static void put_header(Table *t) {
    Printer *p = t->p;
    const Style *s = t->style;
    int64_t open = p->n;
    if (t->border >= 2) put_rule(t, &s->top);
    for (int64_t i = 0; i < p->n; i++) t->cursor[i].at = p->rows->name(p->rows, i);
    for (bool first = true; first || open > 0; first = false) {
        if (t->border >= 2) fputs(s->data.left, t->f);
        for (int64_t i = 0; i < p->n; i++) {
            const char *at = t->cursor[i].at;
            if (t->border != 0 || (!s->right_border && i > 0)) fputs(first ? " " : s->header_newline_left, t->f);
            if (at) {
                size_t n = strcspn(at, "\n");
                int used, space;
                size_t k = p->cuts ? fitting(at, n, t->width[i], &used) : (used = text_width(at, n), n);
                space = t->width[i] - used;
                put_padding(t->f, space / 2);
                fwrite(at, 1, k, t->f);
                put_padding(t->f, (space + 1) / 2);
                t->cursor[i].at = at[n] ? at + n + 1 : NULL;
                if (!at[n]) open--;
            } else {
                put_padding(t->f, t->width[i]);
            }
            if (t->border != 0 || s->right_border) fputs(t->cursor[i].at ? s->header_newline_right : " ", t->f);
            if (t->border != 0 && i < p->n - 1) fputs(s->data.mid, t->f);
        }
        if (t->border >= 2) fputs(s->data.right, t->f);
        fputc('\n', t->f);
    }
    put_rule(t, &s->middle);
}

/* One line of a cell; the cursor goes on. Returns the columns written. */
static int put_piece(Table *t, int64_t i, bool wraps) {
    Cursor *c = &t->cursor[i];
    size_t n = strcspn(c->at, "\n");
    int used = text_width(c->at, n), width = t->width[i];
    size_t k = n;
    bool cut = false;
    if (used > width && wraps) {
        k = fitting(c->at, n, width, &used);
        if (k == 0) k = n, used = text_width(c->at, n); /* a character wider than its column */
    } else if (used > width && t->p->cuts) {
        k = fitting(c->at, n, width - 1, &used);
        used++;
        cut = true;
    }
    if (t->right[i]) put_padding(t->f, width - used);
    fwrite(c->at, 1, k, t->f);
    if (cut) fputs("\u2026", t->f), k = n;
    c->at += k;
    c->wrap = *c->at == '\n' ? WRAP_NEWLINE : *c->at ? WRAP_WORD : WRAP_NONE;
    if (c->wrap == WRAP_NEWLINE) c->at++;
    else if (c->wrap == WRAP_NONE) c->at = NULL;
    return used;
}

static void put_column_rule(const Table *t, int64_t i) {
    const Cursor *next = &t->cursor[i + 1];
    const Style *s = t->style;
    fputs(next->wrap == WRAP_WORD      ? s->mid_wrap
          : next->wrap == WRAP_NEWLINE ? s->mid_newline
          : !next->at                  ? s->mid_blank
                                       : s->data.mid,
          t->f);
}

/* A row, in as many lines as it needs. */
static void put_row(Table *t, bool wraps) {
    const Style *s = t->style;
    int64_t n = t->p->n;
    for (bool more = true; more;) {
        more = false;
        if (t->border >= 2) fputs(s->data.left, t->f);
        for (int64_t i = 0; i < n; i++) {
            Cursor *c = &t->cursor[i];
            bool last = i == n - 1, pads = t->border >= 2 || !last;
            if (t->border != 0)
                fputs(c->wrap == WRAP_WORD ? s->wrap_left : c->wrap == WRAP_NEWLINE ? s->newline_left : " ", t->f);
            int used = t->right[i] ? t->width[i] : 0;
            if (c->at) used = put_piece(t, i, wraps);
            else if (pads) put_padding(t->f, t->width[i]), used = t->width[i];
            if (!c->at) c->wrap = WRAP_NONE;
            if (!t->right[i] && (pads || c->wrap != WRAP_NONE)) put_padding(t->f, t->width[i] - used);
            if (c->wrap == WRAP_WORD) fputs(s->wrap_right, t->f);
            else if (c->wrap == WRAP_NEWLINE) fputs(s->newline_right, t->f);
            else if (pads) fputc(' ', t->f);
            if (t->border != 0 && !last) put_column_rule(t, i);
            more |= c->at != NULL;
        }
        if (t->border >= 2) fputs(s->data.right, t->f);
        fputc('\n', t->f);
    }
}

/* ---- records: the expanded form ------------------------------------------------------------------------- */

static void put_record_rule(const Table *t, const Rule *r, int64_t record, int names, int values) {
    FILE *f = t->f;
    char head[48] = "";
    if (t->border >= 2) fprintf(f, "%s%s", r->left, r->dash);
    else if (t->border == 1) fputs(r->dash, f);
    if (record) snprintf(head, sizeof head, t->border == 0 ? "* Record %lld" : "[ RECORD %lld ]", (long long)record);
    fputs(head, f);
    int used = (int)strlen(head) + (t->border < 2), left;
    for (int i = used; i < names; i++) fputs(t->border > 0 ? r->dash : " ", f);
    left = used - names;
    if (t->border > 0) {
        if (left-- <= 0) fputs(r->dash, f);
        if (left-- <= 0) fputs(t->style == &styles[LINES_OLD_ASCII] ? r->dash : r->mid, f);
        if (left-- <= 0) fputs(r->dash, f);
    } else if (left-- <= 0) {
        fputc(' ', f);
    }
    for (int i = left < 0 ? 0 : left; i < values; i++) fputs(t->border > 0 ? r->dash : " ", f);
    if (t->border >= 2) fprintf(f, "%s%s", r->dash, r->right);
    fputc('\n', f);
}

/* A name and its value, in as many lines as the longer has. */
static void put_field(Table *t, int64_t i, int names, int values) {
    Printer *p = t->p;
    const Style *s = t->style;
    const char *name = p->rows->name(p->rows, i), *value = t->cursor[i].at;
    for (bool first = true; name || value; first = false) {
        if (t->border >= 2) fputs(s->data.left, t->f);
        if (t->border != 0) fputs(first || !name ? (t->border >= 2 ? " " : "") : t->border >= 2 ? " " : "", t->f);
        size_t n = name ? strcspn(name, "\n") : 0;
        if (name) fwrite(name, 1, n, t->f);
        put_padding(t->f, names - (name ? text_width(name, n) : 0));
        bool name_goes_on = name && name[n];
        name = name_goes_on ? name + n + 1 : NULL;
        fputs(name_goes_on ? s->header_newline_right : " ", t->f);
        if (t->border > 0) fprintf(t->f, "%s%s", s->data.mid, first || !value ? " " : s->newline_left);
        n = value ? strcspn(value, "\n") : 0;
        if (value) fwrite(value, 1, n, t->f);
        bool value_goes_on = value && value[n];
        int rest = values - (value ? text_width(value, n) : 0);
        value = value_goes_on ? value + n + 1 : NULL;
        if (t->border >= 2 || value_goes_on) put_padding(t->f, rest);
        if (value_goes_on) fputs(s->newline_right, t->f);
        else if (t->border >= 2) fputc(' ', t->f);
        if (t->border >= 2) fputs(s->data.right, t->f);
        fputc('\n', t->f);
    }
}

static void put_records(Table *t) {
    Printer *p = t->p;
    int names = 0, values = 0;
    for (int64_t i = 0; i < p->n; i++)
        if (t->header_width[i] > names) names = t->header_width[i];
    for (int64_t r = 0; r < t->held; r++)
        for (int64_t i = 0; i < p->n; i++) {
            int w = widest_line(t->cells[r * p->n + i]);
            if (w > values) values = w;
        }
    const char *title = title_of(p);
    if (t->held == 0) {
        put_count(p);
        fputc('\n', t->f);
        return;
    }
    if (title) fprintf(t->f, "%s\n", title);
    for (int64_t r = 0; row_begins(t, r); r++) {
        const Rule *rule = r == 0 ? &t->style->top : &t->style->middle;
        if (!p->o->tuples_only) put_record_rule(t, rule, p->printed, names, values);
        else if (r > 0 || t->border >= 2) put_record_rule(t, rule, 0, names, values);
        for (int64_t i = 0; i < p->n; i++) put_field(t, i, names, values);
    }
    if (t->border >= 2) put_record_rule(t, &t->style->bottom, 0, names, values);
    if (p->rows->n_footers > 0 && !p->o->tuples_only) {
        if (t->border < 2) fputc('\n', t->f);
        put_count(p);
    }
    fputc('\n', t->f);
}

/* ---- the formats ------------------------------------------------------------------------------------------ */

static void put_table(Table *t, bool wraps) {
    Printer *p = t->p;
    if (wraps || p->o->expanded == EXPANDED_AUTO) {
        int *widest = malloc(sizeof *widest * ((size_t)p->n + 1));
        if (!widest) {
            p->sh->out_of_memory = true;
            return;
        }
        memcpy(widest, t->width, sizeof *widest * (size_t)p->n);
        if (wraps) wrap_columns(t, widest);
        free(widest);
        if (p->o->expanded == EXPANDED_AUTO && p->width > 0 && p->n > 1 && total_width(t, t->width) > p->width) {
            put_records(t);
            return;
        }
    }
    if (p->cuts && p->n > 1 && p->width > 0) cut_columns(t);
    else p->cuts = false;
    put_title(t);
    if (!p->o->tuples_only) put_header(t);
    for (int64_t r = 0; row_begins(t, r); r++) put_row(t, wraps);
    if (t->border >= 2 && output_goes_on(p->sh)) put_rule(t, &t->style->bottom);
    put_count(p);
    fputc('\n', t->f);
}

static void print_table(Printer *p, const Style *style, int border, bool wraps) {
    Table t;
    if (table_init(&t, p, style, border)) {
        hold_rows(&t);
        if (p->sh->out_of_memory) {
            /* nothing of it is shown */
        } else if (p->o->expanded == EXPANDED_ON) {
            put_records(&t);
        } else {
            put_table(&t, wraps);
        }
    }
    table_free(&t);
}

void print_aligned(Printer *p) { print_table(p, &styles[p->o->lines], p->o->border, false); }
void print_wrapped(Printer *p) { print_table(p, &styles[p->o->lines], p->o->border, true); }
void print_box(Printer *p) { print_table(p, &styles[LINES_UNICODE], 2, false); }
void print_grid(Printer *p) { print_table(p, &styles[LINES_ASCII], 2, false); }

/* As SQLite's: two blanks between columns, all to the left. */
void print_column(Printer *p) {
    Table t;
    if (table_init(&t, p, &styles[LINES_ASCII], 0)) {
        hold_rows(&t);
        for (int line = 0; line < 2 && !p->o->tuples_only && !p->sh->out_of_memory; line++)
            for (int64_t i = 0; i < p->n; i++) {
                const char *name = p->rows->name(p->rows, i);
                int w = line == 0 ? text_width(name, strlen(name)) : 0;
                if (line == 0) fputs(name, t.f);
                for (; line == 1 && w < t.width[i]; w++) fputc('-', t.f);
                if (i < p->n - 1) put_padding(t.f, t.width[i] - w + 2);
                else fputc('\n', t.f);
            }
        for (int64_t r = 0; !p->sh->out_of_memory && row_begins(&t, r); r++)
            for (int64_t i = 0; i < p->n; i++) {
                const char *text = t.cursor[i].at;
                for (const char *c = text; *c; c++) fputc(*c == '\n' ? ' ' : *c, t.f);
                if (i < p->n - 1) put_padding(t.f, t.width[i] - text_width(text, strlen(text)) + 2);
                else fputc('\n', t.f);
            }
    }
    table_free(&t);
}
