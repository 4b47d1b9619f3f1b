/* csv_sniff.c - what is in a CSV file, from a sample: dialect (csv_dialect.c), header, names and types of columns
 * (csv_guess.c).
 *
 *  1. The first SAMPLE_BYTES are looked at for the dialect.
 *  2. The records of the sample are read as the reader will read them (blocks.h, copy_next_field), and every column's
 *     texts are collected. The first record is kept apart until it is known whether it is a header.
 *  3. It is one when its texts differ from those below: a word over numbers, a text that never comes again.
 *
 * Records that cannot be read are left to the reader to complain of.
 */
#include "io/csv_int.h"

#include <ctype.h>
#include <stdio.h>
#include <strings.h>

enum {
    SAMPLE_BYTES = 256 << 10, /* for the dialect */
    SAMPLE_ROWS = 20480,
    NAME_BYTES = 63, /* names in statements are cut behind these */
    FIELDS_MAX = 1600
};

typedef struct ColumnSample {
    Guess guess;
    int64_t n, again; /* texts that are not empty; those that are what the first record has */
    int64_t min_len, max_len;
    int64_t with_digit, with_at, with_blank, capital;
} ColumnSample;

typedef struct Sniff {
    Arena *a, *tmp; /* of what stays, and of this search */
    MemAccount *account;
    Vfs *vfs;
    const char *path;
    const CsvGiven *given;
    CsvFile *f;
    Err *e;
    int32_t n_fields;
    Slice *first; /* the first record: n_first texts */
    bool *first_quoted;
    int32_t n_first;
    ColumnSample *cols;
    int64_t rows, bytes; /* behind the first record */
    int64_t size;        /* of the file */
    bool compressed, whole;
} Sniff;

/* ---- the dialect ------------------------------------------------------------------------------------------------- */

static Status not_text(const Sniff *s, const char *buf, int64_t bad) {
    int64_t line = 1;
    for (int64_t i = 0; i < bad; i++) line += buf[i] == '\n';
    uint8_t c = (uint8_t)buf[bad];
    err_set(s->e, ERR_CHAR_NOT_IN_REPERTOIRE, "file \"%s\" is not a text in UTF-8: byte 0x%02x in line %lld", s->path,
            (unsigned)c, (long long)line);
    bool utf16 = bad == 0 && (c == 0xFF || c == 0xFE);
    err_hint(s->e, utf16 ? "It may be in UTF-16. Convert it to UTF-8." : "Texts in other encodings must be converted.");
    return ST_ERROR;
}

static Status sniff_dialect(Sniff *s) {
    Input *in;
    int64_t len, at = 0;
    char *buf = arena_alloc(s->tmp, SAMPLE_BYTES + COPY_PAD);
    if (!buf) return ST_ERROR;
    TRY(input_open(s->vfs, s->account, s->path, &in, s->e));
    Status st = input_read(in, buf, SAMPLE_BYTES, &len, s->e);
    s->whole = input_at_end(in);
    s->compressed = input_compressed(in);
    s->size = input_size(in);
    input_close(in);
    TRY(st);
    memset(buf + len, 0, COPY_PAD);
    int64_t bad = utf8_check(buf, len);
    if (bad >= 0 && (s->whole || bad < len - 4)) return not_text(s, buf, bad);
    if (len >= 3 && memcmp(buf, "\xEF\xBB\xBF", 3) == 0) at = 3;
    for (int64_t i = 0; i < s->f->skip_lines && at < len; i++) {
        while (at < len && buf[at] != '\n' && buf[at] != '\r') at++;
        at += at + 1 < len && buf[at] == '\r' && buf[at + 1] == '\n' ? 2 : 1;
    }
    at = MIN_OF(at, len);
    if (s->f->o.format == COPY_TBL) {
        s->n_fields = 0;
        for (; at < len && buf[at] != '\n'; at++) s->n_fields += buf[at] == s->f->o.delimiter;
        return ST_OK;
    }
    return csv_dialect(s->tmp, s->given, (Slice){buf + at, len - at}, s->whole, s->f, &s->n_fields);
}

/* ---- the records ------------------------------------------------------------------------------------------------- */

static GuessRules rules_of(const Sniff *s) {
    return (GuessRules){.null_words = !s->given->nulls,
                        .no_comma = s->f->o.delimiter == ',' || (s->given->decimal && !s->given->decimal_comma),
                        .only_comma = s->given->decimal && s->given->decimal_comma};
}

static bool is_given_null(const Sniff *s, Slice text) {
    for (int32_t i = 0; i < s->given->n_nulls; i++)
        if (slice_eq(s->given->null_texts[i], text)) return true;
    return false;
}

static void collect(const Sniff *s, const GuessRules *rules, int32_t i, Slice text, bool quoted) {
    ColumnSample *c = &s->cols[i];
    if (s->given->nulls && is_given_null(s, text)) return;
    guess_add(&c->guess, rules, text, quoted);
    if (text.len == 0) return;
    c->n++;
    c->again += i < s->n_first && slice_eq(text, s->first[i]);
    c->min_len = c->n == 1 ? text.len : MIN_OF(c->min_len, text.len);
    c->max_len = MAX_OF(c->max_len, text.len);
    bool digit = false;
    for (int64_t k = 0; k < text.len && !digit; k++) digit = text.ptr[k] >= '0' && text.ptr[k] <= '9';
    c->with_digit += digit;
    c->with_at += memchr(text.ptr, '@', (size_t)text.len) != NULL;
    c->with_blank += memchr(text.ptr, ' ', (size_t)text.len) != NULL;
    c->capital += text.ptr[0] >= 'A' && text.ptr[0] <= 'Z';
}

/* The fields of the record at *at, which is left behind its line end; their number, below 0 when it cannot be read. */
static int32_t record(CopyParser *p, const char **at, const char *end, int32_t max, Slice *texts, bool *quoted) {
    const char *s = *at, *stop = copy_record_end(p, s, end);
    int32_t n = 0;
    *at = MIN_OF(stop + 1, end);
    for (;;) {
        bool is_null;
        Slice text = {0};
        bool q = p->o->format == COPY_CSV && *s == p->o->quote;
        if (copy_next_field(p, NULL, &s, end, &text, &is_null) != ST_OK) {
            err_clear(&p->err);
            return -1;
        }
        if (n < max) {
            texts[n] = text;
            quoted[n] = q;
        }
        n++;
        if (s >= stop || *s != p->delimiter) return n;
        s++;
        if (p->o->format == COPY_TBL && (*s == p->eol || (*s == '\r' && s + 1 == stop))) return n;
    }
}

static Status keep_first(Sniff *s, int32_t n, const Slice *texts, const bool *quoted) {
    s->n_first = MIN_OF(n, (int32_t)FIELDS_MAX);
    s->first = arena_array(s->tmp, Slice, s->n_first + 1);
    s->first_quoted = arena_array(s->tmp, bool, s->n_first + 1);
    if (!s->first || !s->first_quoted) return ST_ERROR;
    for (int32_t i = 0; i < s->n_first; i++) {
        char *copy = arena_strndup(s->tmp, texts[i].ptr, texts[i].len);
        if (!copy) return ST_ERROR;
        s->first[i] = (Slice){copy, texts[i].len};
        s->first_quoted[i] = quoted[i];
    }
    return ST_OK;
}

/* Whether enough was seen. */
static bool enough(const Sniff *s) {
    int64_t most = s->given->sample_rows ? s->given->sample_rows : SAMPLE_ROWS;
    return most > 0 && s->rows >= most;
}

static Status sniff_block(Sniff *s, CopyParser *p, const Block *b, Slice *texts, bool *quoted) {
    const GuessRules rules = rules_of(s);
    const char *at = b->buf, *end = b->buf + b->len;
    int64_t bad = utf8_check(b->buf, b->len);
    if (bad >= 0) end = b->buf + bad;
    while (at < end && !enough(s)) {
        bool blank = *at == p->eol || (*at == '\r' && at[1] == '\n');
        arena_reset(p->arena);
        int32_t n = record(p, &at, end, s->n_fields, texts, quoted);
        if (n < 0 || (blank && s->n_fields > 1)) continue;
        if (!s->first) {
            TRY(keep_first(s, n, texts, quoted));
            continue;
        }
        s->rows++;
        if (n != s->n_fields && !(s->f->pad && n < s->n_fields)) continue;
        for (int32_t i = 0; i < n; i++) collect(s, &rules, i, texts[i], quoted[i]);
    }
    s->bytes += at - b->buf;
    return ST_OK;
}

static Status sniff_records(Sniff *s) {
    Blocks in = {.o = &s->f->o, .account = s->account, .strip_bom = true, .skip_lines = s->f->skip_lines};
    Block b = {0};
    CopyParser *p = arena_new_of(s->tmp, CopyParser);
    Slice *texts = arena_array(s->tmp, Slice, FIELDS_MAX);
    bool *quoted = arena_array(s->tmp, bool, FIELDS_MAX);
    Arena *strings = arena_new(s->account, s->e);
    in.eol = s->f->o.format == COPY_TBL ? EOL_LF : EOL_UNKNOWN;
    Status st = ST_ERROR;
    if (!p || !texts || !quoted || !strings || !(s->cols = arena_array(s->tmp, ColumnSample, s->n_fields + 1)) ||
        copy_parser_init(p, &s->f->o, 0, NULL, NULL, NULL, s->tmp) != ST_OK ||
        input_open(s->vfs, s->account, s->path, &in.input, s->e) != ST_OK)
        goto done;
    p->arena = strings;
    for (int32_t i = 0; i < s->n_fields; i++) guess_init(&s->cols[i].guess);
    for (;;) {
        if (blocks_next(&in, &b, s->e) != ST_OK) goto done;
        if (b.len == 0) break;
        p->eol = blocks_eol(&in);
        p->crlf = in.eol == EOL_CRLF || s->f->o.format == COPY_TBL;
        p->sentinel = b.sentinel;
        if (sniff_block(s, p, &b, texts, quoted) != ST_OK) goto done;
        if (enough(s)) break;
        if (s->given->sample_rows == 0) break;
    }
    st = ST_OK;
done:
    block_release(&b, s->account);
    blocks_release(&in);
    input_close(in.input);
    arena_free(strings);
    return st;
}

/* ---- the header -------------------------------------------------------------------------------------------------- */

static Status type_of_text(const Sniff *s, Slice text, bool quoted, Type *type) {
    const GuessRules rules = rules_of(s);
    Guess g;
    const char *format;
    bool comma;
    int32_t n;
    const Slice *nulls;
    guess_init(&g);
    guess_add(&g, &rules, text, quoted);
    return guess_type(&g, s->tmp, type, &format, &comma, &n, &nulls);
}

static Slice trim(Slice t) {
    while (t.len > 0 && isspace((uint8_t)t.ptr[0])) t.ptr++, t.len--;
    while (t.len > 0 && isspace((uint8_t)t.ptr[t.len - 1])) t.len--;
    return t;
}

static bool is_usual_name(Slice t) {
    static const char *const names[] = {
        "id",      "name",     "date",       "time",      "code",       "type",   "value",    "status",  "city",
        "country", "state",    "address",    "email",     "phone",      "title",  "price",    "amount",  "key",
        "label",   "category", "comment",    "note",      "text",       "user",   "username", "gender",  "sex",
        "age",     "region",   "zip",        "language",  "url",        "symbol", "author",   "product", "color",
        "class",   "group",    "first_name", "last_name", "description"};
    for (int64_t i = 0; i < ARRAY_LEN(names); i++)
        if (t.len == (int64_t)strlen(names[i]) && strncasecmp(t.ptr, names[i], (size_t)t.len) == 0) return true;
    return false;
}

/* 2019, 2020, 2021 over numbers: columns of years. */
static bool are_years(const Sniff *s, int32_t n_values) {
    int64_t last = 0, step = 0;
    int32_t n = 0;
    for (int32_t i = 0; i < s->n_first; i++) {
        Slice t = trim(s->first[i]);
        bool year = t.len == 4 && (t.ptr[0] == '1' || t.ptr[0] == '2');
        int64_t v = 0;
        for (int64_t k = 0; k < t.len && year; k++) {
            year = t.ptr[k] >= '0' && t.ptr[k] <= '9';
            v = v * 10 + (t.ptr[k] - '0');
        }
        if (!year) continue;
        if (n == 1) step = v - last;
        if (n > 0 && (v - last != step || step == 0)) return false;
        last = v;
        n++;
    }
    return n >= 2 && n == n_values && n < s->n_first;
}

/* A text over texts: how much it looks as if it were no more of them. */
static int votes_of(const ColumnSample *c, Slice t) {
    int votes = is_usual_name(t) ? 2 : 0;
    if (c->n == 0) return votes;
    if (c->again > 0) return votes - 4;
    bool digit = false;
    for (int64_t k = 0; k < t.len && !digit; k++) digit = t.ptr[k] >= '0' && t.ptr[k] <= '9';
    if (c->n >= 3 && c->min_len == c->max_len) votes += t.len == c->min_len ? -1 : 2;
    if (c->n >= 2 && c->with_digit == c->n) votes += digit ? -1 : 1;
    if (c->n >= 2 && c->with_at == c->n) votes += memchr(t.ptr, '@', (size_t)t.len) ? -2 : 2;
    if (c->n >= 2 && c->capital == c->n && t.ptr[0] >= 'a' && t.ptr[0] <= 'z') votes += 1;
    if (c->n >= 2 && c->with_blank == c->n) votes += memchr(t.ptr, ' ', (size_t)t.len) ? -1 : 1;
    if (memchr(t.ptr, '_', (size_t)t.len)) votes += 1;
    return t.len > 64 ? votes - 2 : votes;
}

static Status guess_header(Sniff *s, bool *header) {
    int32_t values = 0, above = 0, empty = 0;
    int votes = 0;
    *header = false;
    if (s->n_first == 0 || s->f->o.format == COPY_TBL) return ST_OK;
    for (int32_t i = 0; i < s->n_first; i++) {
        Slice t = trim(s->first[i]);
        Type own, type = type_make(T_TEXT);
        const char *format;
        bool comma;
        int32_t n;
        const Slice *nulls;
        if (t.len == 0) {
            empty += i > 0;
            continue;
        }
        TRY(type_of_text(s, t, s->first_quoted[i], &own));
        if (i < s->n_fields) TRY(guess_type(&s->cols[i].guess, s->tmp, &type, &format, &comma, &n, &nulls));
        if (own.id == T_BOOL && t.len == 1 && type.id != T_BOOL) own = type_make(T_TEXT);
        if (own.id != T_TEXT) values++;
        else if (type.id != T_TEXT) above++;
        else if (i < s->n_fields) votes += votes_of(&s->cols[i], t);
        for (int32_t k = 0; k < i; k++) votes -= slice_eq(t, trim(s->first[k])) ? 4 : 0;
    }
    if (values > 0) *header = are_years(s, values);
    else *header = above > 0 || (votes >= 0 && empty == 0);
    return ST_OK;
}

/* ---- the columns ------------------------------------------------------------------------------------------------- */

static bool name_taken(const CsvFile *f, int32_t n, const char *name) {
    for (int32_t i = 0; i < n; i++)
        if (strcmp(f->cols[i].name, name) == 0) return true;
    return false;
}

/* The i-th column's name: of the header, else column1 and so on; unlike those before. */
static const char *column_name(const Sniff *s, int32_t i, bool header) {
    Slice t = header && i < s->n_first ? trim(s->first[i]) : (Slice){0};
    if (i == 0 && t.len > 1 && t.ptr[0] == '#') t = trim((Slice){t.ptr + 1, t.len - 1});
    int64_t len = MIN_OF(t.len, (int64_t)NAME_BYTES);
    while (len > 0 && len < t.len && ((uint8_t)t.ptr[len] & 0xC0) == 0x80) len--;
    char *name = len > 0 ? arena_strndup(s->a, t.ptr, len) : arena_printf(s->a, "column%d", (int)i + 1);
    const char *base = name;
    for (int k = 1; name && name_taken(s->f, i, name); k++)
        name = arena_printf(s->a, "%.*s_%d", NAME_BYTES - 8, base, k);
    return name;
}

static Status column_type(Sniff *s, int32_t i) {
    CsvColumn *c = &s->f->cols[i];
    const CsvGiven *g = s->given;
    Type guessed;
    TRY(guess_type(&s->cols[i].guess, s->a, &guessed, &c->format, &c->comma, &c->n_nulls, &c->nulls));
    c->type = guessed;
    c->guessed = guessed.id != T_TEXT;
    if (g->all_text) c->type = type_make(T_TEXT);
    if (g->n_cols && g->col_types) c->type = g->col_types[i];
    for (int32_t k = 0; k < g->n_types; k++)
        if (strcmp(g->type_names[k], c->name) == 0) c->type = g->types[k];
    if (!type_eq(c->type, guessed)) {
        bool same_kind = (c->type.id == T_DATE || c->type.id == T_TIMESTAMP || c->type.id == T_TIMESTAMPTZ) &&
                         (guessed.id == T_DATE || guessed.id == T_TIMESTAMP);
        c->guessed = false;
        if (!same_kind) c->format = NULL;
        if (type_is_text(c->type)) c->n_nulls = c->n_nulls > 0 && c->nulls[0].len == 0 ? 0 : c->n_nulls;
        if (!type_is_number(c->type)) c->comma = false;
        else if (g->decimal_comma) c->comma = true;
    }
    if (g->date_format && c->type.id == T_DATE) c->format = g->date_format;
    if (g->timestamp_format && (c->type.id == T_TIMESTAMP || c->type.id == T_TIMESTAMPTZ))
        c->format = g->timestamp_format;
    if (g->nulls) {
        c->n_nulls = g->n_nulls;
        c->nulls = g->null_texts;
    }
    return ST_OK;
}

static Status make_columns(Sniff *s, bool header) {
    CsvFile *f = s->f;
    const CsvGiven *g = s->given;
    f->n_cols = g->n_cols ? g->n_cols : s->n_fields;
    if (!(f->cols = arena_array(s->a, CsvColumn, f->n_cols + 1))) return ST_ERROR;
    if (g->n_cols && g->n_cols != s->n_fields && s->first)
        return err_set(s->e, ERR_BAD_COPY, "file \"%s\" has %d columns, not %d", s->path, (int)s->n_fields,
                       (int)g->n_cols);
    for (int32_t i = 0; i < f->n_cols; i++) {
        f->cols[i].name = g->n_cols ? g->names[i] : column_name(s, i, header);
        if (!f->cols[i].name) return ST_ERROR;
        TRY(column_type(s, i));
    }
    for (int32_t k = 0; k < g->n_types; k++)
        if (!name_taken(f, f->n_cols, g->type_names[k]))
            return err_set(s->e, ERR_UNDEFINED_COLUMN, "file \"%s\" has no column \"%s\"", s->path, g->type_names[k]);
    if (!header) return ST_OK;
    Slice *texts = arena_array(s->a, Slice, s->n_first + 1);
    if (!texts) return ST_ERROR;
    for (int32_t i = 0; i < s->n_first; i++) {
        char *copy = arena_strndup(s->a, s->first[i].ptr, s->first[i].len);
        if (!copy) return ST_ERROR;
        texts[i] = (Slice){copy, s->first[i].len};
    }
    f->header = texts;
    f->n_header = s->n_first;
    return ST_OK;
}

static Status sniff(Sniff *s) {
    bool header = false;
    const CsvGiven *g = s->given;
    TRY(sniff_dialect(s));
    if (g->n_cols) s->n_fields = MAX_OF(s->n_fields, 1);
    if (s->n_fields > FIELDS_MAX)
        return err_set(s->e, ERR_TOO_MANY_COLUMNS, "file \"%s\" has more than %d columns", s->path, FIELDS_MAX);
    TRY(sniff_records(s));
    if (!s->first && !g->n_cols) {
        err_set(s->e, ERR_BAD_COPY,
                s->size > 0 ? "file \"%s\" has no record that can be read, so no columns"
                            : "file \"%s\" is empty: it has no columns",
                s->path);
        err_hint(s->e, "Name them: FROM read_csv('...') AS t (a integer, b text).");
        return ST_ERROR;
    }
    if (g->n_cols && !s->first) {
        ColumnSample *cols = arena_array(s->tmp, ColumnSample, g->n_cols + 1);
        if (!cols) return ST_ERROR;
        for (int32_t i = 0; i < g->n_cols; i++) guess_init(&cols[i].guess);
        s->cols = cols;
    }
    if (g->has_header) header = g->header && s->first;
    else if (s->first) TRY(guess_header(s, &header));
    const GuessRules rules = rules_of(s);
    for (int32_t i = 0; !header && i < MIN_OF(s->n_first, s->n_fields); i++)
        if (!(g->nulls && is_given_null(s, s->first[i])))
            guess_add(&s->cols[i].guess, &rules, s->first[i], s->first_quoted[i]);
    s->f->o.header = header;
    s->f->sampled = s->rows + !header;
    return make_columns(s, header);
}

Status csv_sniff(const FileFinder *finder, Arena *a, const CsvGiven *given, CsvFile *f, Err *e) {
    Sniff s = {
        .a = a, .account = finder->account, .vfs = finder->vfs, .path = f->paths[0], .given = given, .f = f, .e = e};
    if (!(s.tmp = arena_new(finder->account, e))) return ST_ERROR;
    Status st = sniff(&s);
    double rows = (double)MAX_OF(s.rows, INT64_C(1));
    double longer = (double)s.size * (s.compressed ? 4 : 1) / (double)MAX_OF(s.bytes, INT64_C(1));
    if (!s.whole && longer > 1) rows *= longer;
    f->stream.est_rows = rows * f->n_paths;
    arena_free(s.tmp);
    return st;
}
