/* json_sniff.c - columns of a file of JSON lines, or of an array of objects, from a sample: the keys of its objects, in
 * the order in which they come first, and types of their values. Numbers, booleans and texts that are dates, timestamps
 * or UUIDs are that; what is of several kinds, or nested, is text.
 */
#include "io/csv_int.h"

enum { SAMPLE_ROWS = 20480 };

typedef struct Key {
    Slice name;
    Guess guess;
    int64_t kinds[JSON_NESTED + 1];
} Key;

typedef struct JsonSniff {
    Arena *tmp;
    const FileFinder *x;
    const CsvGiven *given;
    CsvFile *f;
    Err *e;
    VEC(Key) keys;
    int64_t rows, bytes, size;
    int64_t expected; /* the key behind the last one */
    bool compressed, whole;
} JsonSniff;

static Status key_of(JsonSniff *s, Slice name, Key **out) {
    int64_t i = s->expected < s->keys.len ? s->expected : 0;
    if (i >= s->keys.len || !slice_eq(s->keys.items[i].name, name))
        for (i = 0; i < s->keys.len && !slice_eq(s->keys.items[i].name, name); i++) continue;
    if (i == s->keys.len) {
        if (i >= 1600) return err_set(s->e, ERR_TOO_MANY_COLUMNS, "objects have more than 1600 different keys");
        char *copy = arena_strndup(s->tmp, name.ptr, name.len);
        Key k = {.name = {copy, name.len}};
        guess_init(&k.guess);
        if (!copy || !vec_push(s->tmp, &s->keys, k)) return err_oom(s->e);
    }
    s->expected = i + 1;
    *out = &s->keys.items[i];
    return ST_OK;
}

static bool enough(const JsonSniff *s) {
    int64_t most = s->given->sample_rows ? s->given->sample_rows : SAMPLE_ROWS;
    return most > 0 && s->rows >= most;
}

static Status sniff_block(JsonSniff *s, CopyParser *p, const Block *b) {
    static const GuessRules rules = {.no_comma = true};
    const char *at = b->buf, *end = b->buf + b->len;
    if (utf8_check(b->buf, b->len) >= 0) return ST_OK;
    while (at < end && !enough(s)) {
        while (*at == ' ' || *at == '\t' || *at == '\r') at++;
        bool first = true, more = *at != '\n';
        arena_reset(p->arena);
        s->expected = 0;
        if (!more) at++;
        else s->rows++;
        while (more) {
            Slice name, text;
            JsonKind kind;
            Key *k = NULL;
            if (json_member(p, &at, end, &first, &more, &name, &text, &kind) != ST_OK) {
                if (s->rows > 1) { /* left to the reader */
                    at = MIN_OF(copy_record_end(p, p->fail_row, end) + 1, end);
                    err_clear(&p->err);
                    break;
                }
                err_copy(s->e, &p->err);
                err_context(s->e, "file \"%s\", %s 1", s->f->paths[0], s->f->layout == JSON_ARRAY ? "object" : "line");
                return ST_ERROR;
            }
            if (!more) break;
            TRY(key_of(s, name, &k));
            k->kinds[kind]++;
            if (kind == JSON_STRING || kind == JSON_NUMBER || kind == JSON_BOOL)
                guess_add(&k->guess, &rules, text, true);
        }
    }
    s->bytes += at - b->buf;
    return ST_OK;
}

static Status sniff_blocks(JsonSniff *s) {
    Blocks in = {
        .o = &s->f->o, .account = s->x->account, .strip_bom = true, .eol = EOL_LF, .json = {.layout = s->f->layout}};
    Block b = {0};
    CopyParser *p = arena_new_of(s->tmp, CopyParser);
    Arena *strings = arena_new(s->x->account, s->e);
    Status st = ST_ERROR;
    if (!p || !strings || copy_parser_init(p, &s->f->o, 0, NULL, NULL, NULL, s->tmp) != ST_OK ||
        input_open(s->x->vfs, s->x->account, s->f->paths[0], &in.input, s->e) != ST_OK)
        goto done;
    p->arena = strings;
    s->compressed = input_compressed(in.input);
    s->size = input_size(in.input);
    for (;;) {
        if (blocks_next(&in, &b, s->e) != ST_OK) {
            err_context(s->e, "file \"%s\"", s->f->paths[0]);
            goto done;
        }
        s->f->layout = in.json.layout == JSON_ARRAY ? JSON_ARRAY : JSON_LINES;
        s->whole = b.len == 0 || in.done;
        if (b.len == 0) break;
        if (sniff_block(s, p, &b) != ST_OK) goto done;
        if (enough(s) || s->given->sample_rows == 0) break;
    }
    st = ST_OK;
done:
    block_release(&b, s->x->account);
    blocks_release(&in);
    input_close(in.input);
    arena_free(strings);
    return st;
}

/* Of values of one kind. */
static Status type_of(const JsonSniff *s, Arena *a, const Key *k, Type *type) {
    const char *format;
    bool comma;
    int32_t n;
    const Slice *nulls;
    int kinds = 0;
    *type = type_make(T_TEXT);
    for (int i = JSON_STRING; i <= JSON_NESTED; i++) kinds += k->kinds[i] > 0;
    if (kinds != 1 || k->kinds[JSON_NESTED] || s->given->all_text) return ST_OK;
    Type t;
    TRY(guess_type(&k->guess, a, &t, &format, &comma, &n, &nulls));
    bool stamp = (t.id == T_DATE || t.id == T_TIMESTAMP || t.id == T_TIMESTAMPTZ) && !format;
    if (k->kinds[JSON_STRING] ? stamp || t.id == T_UUID : true) *type = t;
    return ST_OK;
}

static Status make_columns(JsonSniff *s, Arena *a) {
    CsvFile *f = s->f;
    const CsvGiven *g = s->given;
    int32_t n = g->n_cols ? g->n_cols : (int32_t)s->keys.len;
    f->n_cols = n;
    f->unknown_keys = g->n_cols > 0;
    if (!(f->cols = arena_array(a, CsvColumn, n + 1))) return ST_ERROR;
    for (int32_t i = 0; i < n; i++) {
        CsvColumn *c = &f->cols[i];
        Key *k = NULL;
        Slice name = g->n_cols ? slice_of(g->names[i]) : s->keys.items[i].name;
        if (!(c->name = arena_strndup(a, name.ptr, name.len))) return ST_ERROR;
        for (int64_t x = 0; x < s->keys.len; x++)
            if (slice_eq(s->keys.items[x].name, name)) k = &s->keys.items[x];
        c->type = type_make(T_TEXT);
        if (k) TRY(type_of(s, a, k, &c->type));
        c->guessed = c->type.id != T_TEXT;
        bool given = g->n_cols && g->col_types;
        if (given) c->type = g->col_types[i];
        for (int32_t x = 0; x < g->n_types; x++)
            if (strcmp(g->type_names[x], c->name) == 0) {
                c->type = g->types[x];
                given = true;
            }
        if (given) c->guessed = false;
        if (c->type.id == T_DATE) c->format = g->date_format;
        if (c->type.id == T_TIMESTAMP || c->type.id == T_TIMESTAMPTZ) c->format = g->timestamp_format;
    }
    return ST_OK;
}

Status json_sniff(const FileFinder *x, Arena *a, const CsvGiven *given, CsvFile *f, Err *e) {
    JsonSniff s = {.x = x, .given = given, .f = f, .e = e};
    if (!(s.tmp = arena_new(x->account, e))) return ST_ERROR;
    Status st = sniff_blocks(&s);
    if (st == ST_OK && s.keys.len == 0 && given->n_cols == 0)
        st = err_set(e, ERR_BAD_COPY, "file \"%s\" has no JSON object: it has no columns", f->paths[0]);
    if (st == ST_OK) st = make_columns(&s, a);
    double rows = (double)MAX_OF(s.rows, INT64_C(1));
    double longer = (double)s.size * (s.compressed ? 4 : 1) / (double)MAX_OF(s.bytes, INT64_C(1));
    if (!s.whole && longer > 1) rows *= longer;
    f->stream.est_rows = rows * f->n_paths;
    f->sampled = s.rows;
    arena_free(s.tmp);
    return st;
}
