/* csv_dialect.c - delimiter, quote, escape and the lines in front of a CSV file, from its beginning.
 *
 * Every combination of a delimiter, a quote and an escape cuts the sample into records and fields. The best is the one
 * with the same number of fields in most records and with fields that mean something by themselves: numbers, dates,
 * words, well-quoted texts, rather than pieces that have other delimiters or loose quotes in them [van den Burg et al.,
 * Wrangling messy CSV files by detecting row and type patterns, 2019]. Lines in front that have another number of
 * fields than the records behind them (titles, comments) are skipped.
 */
#include "io/csv_int.h"

#include <strings.h>

enum { RECORDS_MAX = 1000, FRONT_MAX = 50 };

typedef struct Shape {
    int32_t n;
    int32_t fields[RECORDS_MAX], known[RECORDS_MAX];
    int64_t line[RECORDS_MAX]; /* that it begins in, from 0 */
    bool bad[RECORDS_MAX], comment[RECORDS_MAX];
    int32_t quoted; /* fields */
} Shape;

typedef struct Candidate {
    char delimiter, quote, escape;
    double score;
    int32_t n_fields;
    int64_t skip_lines;
} Candidate;

/* Behind the closing quote, or the end with *open. */
static const char *quoted_field(const Candidate *c, const char *p, const char *end, bool *open, int64_t *lines) {
    for (p++; p < end; p++) {
        if (*p == '\n' || (*p == '\r' && (p + 1 == end || p[1] != '\n'))) ++*lines;
        if (*p == c->escape && p + 1 < end && (p[1] == c->quote || (p[1] == c->escape && c->escape != c->quote))) {
            p++;
            continue;
        }
        if (*p == c->quote) return p + 1;
    }
    *open = true;
    return end;
}

static bool at_blank(const Candidate *c, const char *p, const char *end) {
    return p < end && *p == ' ' && c->delimiter != ' ';
}

/* One field, up to its delimiter or line end. */
static const char *scan_field(const Candidate *c, const char *p, const char *end, Shape *s, bool *open,
                              int64_t *lines) {
    const char *from = p;
    int32_t i = s->n;
    while (at_blank(c, p, end)) p++;
    bool quoted = p < end && *p == c->quote, stray = false;
    if (quoted) {
        p = quoted_field(c, p, end, open, lines);
        while (at_blank(c, p, end)) p++;
        s->quoted++;
    }
    const char *rest = p;
    for (; p < end && *p != c->delimiter && *p != '\n' && *p != '\r'; p++) stray |= *p == c->quote;
    bool bad = stray || (quoted && p > rest);
    s->bad[i] |= bad;
    s->fields[i]++;
    s->known[i] += bad ? 0 : quoted ? 1 : guess_knows((Slice){from, p - from}, c->delimiter);
    return p;
}

static void shape_of(const Candidate *c, Slice text, bool whole, Shape *s) {
    const char *p = text.ptr, *end = p + text.len;
    int64_t line = 0;
    s->n = s->quoted = 0;
    while (p < end && s->n < RECORDS_MAX) {
        int32_t i = s->n;
        bool open = false, blank = *p == '\n' || *p == '\r';
        s->fields[i] = s->known[i] = 0;
        s->bad[i] = false;
        s->comment[i] = *p == '#';
        s->line[i] = line;
        if (!blank) p = scan_field(c, p, end, s, &open, &line);
        while (!blank && p < end && *p == c->delimiter) p = scan_field(c, p + 1, end, s, &open, &line);
        if (p == end && !whole) return; /* cut off */
        s->bad[i] |= open;
        if (p < end) p += *p == '\r' && p + 1 < end && p[1] == '\n' ? 2 : 1;
        line++;
        s->n += !blank;
    }
}

/* The most frequent number of fields, the largest of those that are equally frequent; what is in front of the file
 * counts little. */
static int32_t usual_fields(const Shape *s) {
    int32_t best = 0, best_n = 0, from = s->n > 8 ? s->n / 8 : 0;
    for (int32_t i = from; i < s->n; i++) {
        int32_t n = 0;
        for (int32_t k = from; k < s->n; k++) n += s->fields[k] == s->fields[i];
        if (n > best_n || (n == best_n && s->fields[i] > best)) {
            best = s->fields[i];
            best_n = n;
        }
        if (best_n * 2 > s->n - from) break;
    }
    return best;
}

/* The first record that is one of the table's: its number of fields is the usual one, and that of most behind it. */
static int32_t first_record(const Shape *s, int32_t usual) {
    int32_t passed = 0; /* records with that number that are in front all the same: not many are */
    for (int32_t i = 0; i < MIN_OF(s->n, (int32_t)FRONT_MAX) && passed < 3; i++) {
        int32_t same = 0, n = MIN_OF(s->n - i, 8);
        if (s->fields[i] != usual) continue;
        passed++;
        /* of comments at most the last line is the header */
        if (s->comment[i] && i + 1 < s->n && (s->comment[i + 1] || s->fields[i + 1] != usual)) continue;
        for (int32_t k = i; k < i + n; k++) same += s->fields[k] == usual;
        if (same * 2 >= n) return i;
    }
    return 0;
}

static void judge(Candidate *c, const Shape *s) {
    c->score = 0;
    c->skip_lines = 0;
    c->n_fields = usual_fields(s);
    if (s->n == 0) return;
    int32_t first = first_record(s, c->n_fields), n = s->n - first;
    double same = 0, known = 0, fields = 0, bad = 0;
    for (int32_t i = first; i < s->n; i++) {
        bad += s->bad[i];
        if (s->fields[i] != c->n_fields) continue;
        same++;
        known += s->known[i];
        fields += s->fields[i];
    }
    c->skip_lines = s->line[first];
    double consistent = same / n;
    if (consistent < 0.5) return;
    double columns = c->n_fields > 1 ? 1 - 0.5 / c->n_fields : 0.1;
    double front = first ? 0.85 * (1 - 0.3 * first / s->n) : 1;
    c->score = columns * consistent * consistent * (known / fields) * (1 - 0.9 * bad / n) * front;
}

/* Rarely used delimiters must fit better. */
static double weight_of(char delimiter, const Shape *s, const Candidate *c) {
    if (strchr(",;\t|", delimiter)) return 1;
    if (delimiter != ' ') return 0.8;
    for (int32_t i = 0; i < s->n; i++)
        if (s->fields[i] != c->n_fields) return 0;
    return s->n >= 3 ? 0.5 : 0;
}

/* Spreadsheets write `sep=;` in a line of its own in front: its delimiter, and its length; 0: there is none. */
static int64_t separator_line(Slice s, char *delimiter) {
    if (s.len < 6 || strncasecmp(s.ptr, "sep=", 4) != 0 || (s.ptr[5] != '\n' && s.ptr[5] != '\r')) return 0;
    *delimiter = s.ptr[4];
    return s.ptr[5] == '\r' && s.len > 6 && s.ptr[6] == '\n' ? 7 : 6;
}

static Status dialect(Arena *a, const CsvGiven *given, Slice sample, bool whole, CsvFile *f, int32_t *n_fields) {
    static const char delimiters[] = ",;\t|^~\1 ";
    static const char quotes[] = {'"', '\'', (char)CSV_NO_QUOTE};
    Shape *s = arena_new_of(a, Shape);
    Candidate best = {.score = -1};
    if (!s) return ST_ERROR;
    bool backslash = memmem(sample.ptr, (size_t)sample.len, "\\", 1) != NULL;
    for (int d = 0; delimiters[d]; d++)
        for (int q = 0; q < (int)ARRAY_LEN(quotes); q++)
            for (int x = 0; x < 2; x++) {
                char quote = given->quote ? f->o.quote : quotes[q];
                Candidate c = {.delimiter = given->delimiter ? f->o.delimiter : delimiters[d],
                               .quote = quote,
                               .escape = given->escape ? f->o.escape
                                         : x == 0      ? quote
                                                       : '\\'};
                if ((given->delimiter && d > 0) || (given->quote && q > 0) || (given->escape && x > 0)) continue;
                if (x == 1 && !backslash) continue;
                shape_of(&c, sample, whole, s);
                /* a quote that is nowhere used is the usual one */
                if (s->quoted == 0 && c.quote != (char)CSV_NO_QUOTE && (q > 0 || x > 0) && !given->quote) continue;
                judge(&c, s);
                c.score *= given->delimiter ? 1 : weight_of(c.delimiter, s, &c);
                if (c.score > best.score + 1e-9) best = c;
            }
    f->o.delimiter = best.delimiter;
    f->o.quote = best.quote;
    f->o.escape = best.escape;
    if (!given->skip) f->skip_lines = best.skip_lines;
    *n_fields = MAX_OF(best.n_fields, 1);
    return ST_OK;
}

Status csv_dialect(Arena *a, const CsvGiven *given, Slice sample, bool whole, CsvFile *f, int32_t *n_fields) {
    CsvGiven more = *given;
    char delimiter;
    int64_t line = given->skip ? 0 : separator_line(sample, &delimiter);
    if (line == 0) return dialect(a, given, sample, whole, f, n_fields);
    if (!given->delimiter) f->o.delimiter = delimiter;
    more.delimiter = true;
    TRY(dialect(a, &more, (Slice){sample.ptr + line, sample.len - line}, whole, f, n_fields));
    f->skip_lines++;
    return ST_OK;
}
