/* arrow_ipc.c - see arrow_ipc.h. */
#include "io/arrow_ipc.h"

#include "base/stack.h"
#include "io/flatbuf.h"
#include "io/nested.h"

enum { HEAD_MAX = 64 << 20, COLUMNS_MAX = 1600, FIELDS_MAX = 1 << 16, VERSION_5 = 4 };
static Status damaged(const char *path, const char *what, Err *e) {
    return err_set(e, ERR_BAD_COPY, "could not read Arrow file \"%s\": %s", path, what);
}

/* ---- schema ------------------------------------------------------------------------------------------------------ */

static const char *int_format(Flatbuf *b, int64_t type) {
    bool is_signed = fb_scalar(b, type, 1, 1, 0) != 0;
    switch (fb_i32(b, type, 0, 0)) {
    case 8: return is_signed ? "c" : "C";
    case 16: return is_signed ? "s" : "S";
    case 32: return is_signed ? "i" : "I";
    case 64: return is_signed ? "l" : "L";
    default: return NULL;
    }
}

static const char *float_format(int precision) {
    static const char *const formats[] = {"e", "f", "g"};
    return precision >= 0 && precision < ARRAY_LEN(formats) ? formats[precision] : NULL;
}

static const char *unit_format(Arena *a, const char *head, int unit, const char *tail, int64_t n) {
    if (unit < 0 || unit > 3) return NULL;
    return arena_printf(a, "%s%c%.*s", head, "smun"[unit], (int)n, tail);
}

static const char *timestamp_format(Flatbuf *b, int64_t type, Arena *a) {
    int64_t n = 0, at = fb_vector(b, type, 1, 1, &n);
    char zone[64] = ":";
    if (n > (int64_t)sizeof zone - 2) return NULL;
    if (n > 0) memcpy(zone + 1, b->p + at, (size_t)n);
    return unit_format(a, "ts", fb_i16(b, type, 0, 0), zone, n + 1);
}

/* Of a union, whose members may have numbers. */
static const char *union_format(Flatbuf *b, int64_t type, int64_t n_children, Arena *a) {
    int64_t n = 0, ids = fb_vector(b, type, 1, 4, &n);
    const char *out = fb_i16(b, type, 0, 0) == 0 ? "+us:" : "+ud:";
    if (n_children > 127 || (n != 0 && n != n_children)) return NULL;
    for (int64_t i = 0; i < n_children && out; i++) {
        int number = n ? (int)fb_number(b, ids + 4 * i, 4) : (int)i;
        out = arena_printf(a, "%s%s%d", out, i ? "," : "", number);
    }
    return out;
}

/* In the words of the C data interface; NULL: it has none that is wanted. */
static const char *format_of(Flatbuf *b, int kind, int64_t type, int64_t n_children, Arena *a) {
    static const char *const plain[] = {[AT_NULL] = "n",
                                        [AT_BINARY] = "z",
                                        [AT_UTF8] = "u",
                                        [AT_BOOL] = "b",
                                        [AT_LIST] = "+l",
                                        [AT_LARGE_BINARY] = "Z",
                                        [AT_LARGE_UTF8] = "U",
                                        [AT_LARGE_LIST] = "+L",
                                        [AT_RUNS] = "+r",
                                        [AT_LIST_VIEW] = "+vl",
                                        [AT_LARGE_LIST_VIEW] = "+vL",
                                        [AT_BINARY_VIEW] = "vz",
                                        [AT_UTF8_VIEW] = "vu",
                                        [AT_STRUCT] = "+s",
                                        [AT_MAP] = "+m"};
    if (kind > 0 && kind < ARRAY_LEN(plain) && plain[kind]) return plain[kind];
    switch (kind) {
    case AT_INT: return int_format(b, type);
    case AT_FLOAT: return float_format(fb_i16(b, type, 0, 0));
    case AT_DECIMAL:
        return arena_printf(a, "d:%d,%d,%d", (int)fb_i32(b, type, 0, 0), (int)fb_i32(b, type, 1, 0),
                            (int)fb_i32(b, type, 2, 128));
    case AT_DATE: return fb_i16(b, type, 0, 1) == 0 ? "tdD" : "tdm";
    case AT_TIME: return unit_format(a, "tt", fb_i16(b, type, 0, 1), "", 0);
    case AT_TIMESTAMP: return timestamp_format(b, type, a);
    case AT_DURATION: return unit_format(a, "tD", fb_i16(b, type, 0, 1), "", 0);
    case AT_INTERVAL: return fb_i16(b, type, 0, 0) == 0 ? "tiM" : fb_i16(b, type, 0, 0) == 1 ? "tiD" : "tin";
    case AT_FIXED: return arena_printf(a, "w:%d", (int)fb_i32(b, type, 0, 0));
    case AT_FIXED_LIST: return arena_printf(a, "+w:%d", (int)fb_i32(b, type, 0, 0));
    case AT_UNION: return union_format(b, type, n_children, a);
    default: return NULL;
    }
}

/* Whether the field says that its texts are numerics without (p,s). */
static bool is_numeric(Flatbuf *b, int64_t field) {
    enum { MOST = 64 }; /* pairs that are looked at: a damaged file may have millions, of each column */
    int64_t n = 0, pairs = fb_vector(b, field, 6, 4, &n);
    for (int64_t i = 0; i < MIN_OF(n, (int64_t)MOST) && !b->bad; i++) {
        int64_t pair = fb_follow(b, pairs + 4 * i), n_key = 0, n_value = 0;
        int64_t key = fb_vector(b, pair, 0, 1, &n_key), value = fb_vector(b, pair, 1, 1, &n_value);
        const char *p = (const char *)b->p;
        if (n_key && n_value && slice_eq((Slice){p + key, n_key}, slice_of(ARROW_TYPE_KEY)) &&
            slice_eq((Slice){p + value, n_value}, slice_of(ARROW_NUMERIC)))
            return true;
    }
    return false;
}

static void never(struct ArrowSchema *s) { (void)s; }

/* A field is being read: the column that it is or is within, and how deeply. */
typedef struct FieldPlace {
    const char *column;
    int depth;
    bool in_dictionary;
} FieldPlace;

static Status lacks_type(const ArrowFile *f, const FieldPlace *place, Err *e) {
    return err_set(e, ERR_FEATURE_NOT_SUPPORTED, "column \"%s\" of Arrow file \"%s\" has a type that Stele lacks",
                   place->column, f->path);
}

static Status read_field(ArrowFile *f, Flatbuf *b, int64_t at, FieldPlace place, ArrowField *out, Err *e);

static Status read_children(ArrowFile *f, Flatbuf *b, int64_t at, const FieldPlace *place, ArrowField *out,
                            struct ArrowSchema *values, Err *e) {
    int64_t n = 0, children = fb_vector(b, at, 5, 4, &n);
    if (b->bad || n > FIELDS_MAX) return damaged(f->path, "its schema is damaged", e);
    if (n > 0 && out->format[0] != '+') return damaged(f->path, "its schema is damaged", e);
    out->children = arena_array(f->a, ArrowField, n + 1);
    values->children = arena_array(f->a, struct ArrowSchema *, n + 1);
    if (!out->children || !values->children) return err_oom(e);
    for (int64_t i = 0; i < n; i++) {
        FieldPlace inner = {place->column, place->depth + 1, place->in_dictionary || out->codes != NULL};
        TRY(read_field(f, b, fb_follow(b, children + 4 * i), inner, &out->children[i], e));
        values->children[i] = out->children[i].schema;
    }
    out->n_children = (int32_t)n;
    values->n_children = n;
    return ST_OK;
}

/* Numbers of a dictionary stand for the values. */
static Status read_codes(ArrowFile *f, Flatbuf *b, int64_t coded, const FieldPlace *place, ArrowField *out, Err *e) {
    int64_t index = fb_table(b, coded, 1);
    struct ArrowSchema *codes = arena_new_of(f->a, struct ArrowSchema);
    if (!codes) return err_oom(e);
    if (place->in_dictionary)
        return err_set(e, ERR_FEATURE_NOT_SUPPORTED,
                       "column \"%s\" of Arrow file \"%s\" has a dictionary of dictionaries", place->column, f->path);
    out->codes = index ? int_format(b, index) : "i";
    out->dictionary = fb_i64(b, coded, 0, 0);
    out->number = f->n_coded++;
    if (!out->codes) return damaged(f->path, "its schema is damaged", e);
    *codes = (struct ArrowSchema){.format = out->codes,
                                  .name = out->name,
                                  .metadata = out->schema->metadata,
                                  .dictionary = out->schema,
                                  .release = never};
    out->schema = codes;
    return ST_OK;
}

/* A column, or what is within one. */
static Status read_field(ArrowFile *f, Flatbuf *b, int64_t at, FieldPlace place, ArrowField *out, Err *e) {
    int64_t n = 0, n_children = 0, name = fb_vector(b, at, 0, 1, &n);
    int kind = (int)fb_scalar(b, at, 2, 1, 0);
    TRY(stack_check(e));
    struct ArrowSchema *values = arena_new_of(f->a, struct ArrowSchema);
    out->name = n ? arena_strndup(f->a, (const char *)b->p + name, n) : "";
    if (!out->name || !values) return err_oom(e);
    if (!place.column) place.column = out->name;
    (void)fb_vector(b, at, 5, 4, &n_children);
    out->format = format_of(b, kind, fb_table(b, at, 3), n_children, f->a);
    /* a table may be its own child, or that of many: what is read is counted */
    if (b->bad || f->n_fields++ >= FIELDS_MAX) return damaged(f->path, "its schema is damaged", e);
    /* unions had one buffer more in older versions */
    if (!out->format || place.depth >= NESTED_DEPTH || (kind == AT_UNION && f->version < VERSION_5))
        return lacks_type(f, &place, e);
    *values = (struct ArrowSchema){.format = out->format,
                                   .name = out->name,
                                   .metadata = is_numeric(b, at) ? arrow_numeric_mark : NULL,
                                   .release = never};
    out->schema = values;
    int64_t coded = fb_table(b, at, 4);
    if (coded) TRY(read_codes(f, b, coded, &place, out, e));
    TRY(read_children(f, b, at, &place, out, values, e));
    if (b->bad) return damaged(f->path, "its schema is damaged", e);
    if (arrow_type(out->schema, &out->type, e) == ST_OK) return ST_OK;
    if (strcmp(e->sqlstate, ERR_FEATURE_NOT_SUPPORTED) != 0) return ST_ERROR;
    err_clear(e);
    return lacks_type(f, &place, e);
}

static Status read_schema(ArrowFile *f, Flatbuf *b, int64_t schema, Err *e) {
    int64_t n = 0, fields = fb_vector(b, schema, 1, 4, &n);
    if (b->bad) return damaged(f->path, "its schema is damaged", e);
    if (fb_i16(b, schema, 0, 0) != 0)
        return err_set(e, ERR_FEATURE_NOT_SUPPORTED, "Arrow file \"%s\" is big-endian", f->path);
    if (n == 0) return damaged(f->path, "it has no columns", e);
    if (n > COLUMNS_MAX)
        return err_set(e, ERR_TOO_MANY_COLUMNS, "file \"%s\" has more than %d columns", f->path, COLUMNS_MAX);
    if (!(f->cols = arena_array(f->a, ArrowField, n))) return err_oom(e);
    for (int64_t i = 0; i < n; i++) {
        TRY(read_field(f, b, fb_follow(b, fields + 4 * i), (FieldPlace){0}, &f->cols[i], e));
    }
    f->n_cols = (int32_t)n;
    return b->bad ? damaged(f->path, "its schema is damaged", e) : ST_OK;
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

static Status read_exactly(const ArrowFile *f, void *to, int64_t n, int64_t at, Err *e) {
    int64_t got;
    TRY(f->file->vfs->read_at(f->file, to, n, at, &got, e));
    return got == n ? ST_OK : damaged(f->path, "it ends within a message", e);
}

static Status add_dictionary(ArrowFile *f, Flatbuf *b, int64_t t, ArrowMessage *m, Err *e) {
    m->dictionary = fb_i64(b, t, 0, 0);
    m->rows = fb_i64(b, fb_table(b, t, 1), 0, 0);
    m->delta = fb_scalar(b, t, 2, 1, 0) != 0;
    if (b->bad || m->rows < 0) return damaged(f->path, "a dictionary is damaged", e);
    return vec_push(f->a, &f->dictionaries, *m) ? ST_OK : err_oom(e);
}

/* In a stream a dictionary holds for the batches behind it, until it is given again. A file may be read in any order:
 * all of its dictionaries hold for all batches, and can only be gone on with. */
static Status settle_dictionaries(ArrowFile *f, Err *e) {
    for (int64_t i = 0; i < f->batches.len; i++) f->batches.items[i].dictionaries = f->dictionaries.len;
    for (int64_t i = 0; i < f->dictionaries.len; i++)
        for (int64_t k = 0; k < i && !f->dictionaries.items[i].delta; k++)
            if (f->dictionaries.items[k].dictionary == f->dictionaries.items[i].dictionary)
                return damaged(f->path, "a dictionary is given twice, which only streams may do", e);
    return ST_OK;
}

static Status take_message(ArrowFile *f, const uint8_t *p, ArrowMessage *m, Err *e) {
    Flatbuf b = {p, m->head_len, false};
    int64_t root = fb_root(&b), t = fb_table(&b, root, 2);
    int kind = (int)fb_scalar(&b, root, 1, 1, 0);
    m->body_len = fb_i64(&b, root, 3, 0);
    if (b.bad || t == 0 || m->body_len < 0 || m->body_len > f->size - m->body)
        return damaged(f->path, "a message is damaged", e);
    if ((kind == MESSAGE_SCHEMA) != (f->n_cols == 0))
        return damaged(f->path, f->n_cols ? "it has a second schema" : "it does not begin with a schema", e);
    if (kind == MESSAGE_SCHEMA) {
        f->version = fb_i16(&b, root, 0, 0);
        return read_schema(f, &b, t, e);
    }
    if (kind == MESSAGE_DICTIONARY) return add_dictionary(f, &b, t, m, e);
    if (kind != MESSAGE_BATCH) return damaged(f->path, "a message is of a kind that a file cannot have", e);
    m->rows = fb_i64(&b, t, 0, 0);
    m->dictionaries = f->dictionaries.len;
    if (b.bad || m->rows < 0) return damaged(f->path, "a batch is damaged", e);
    return vec_push(f->a, &f->batches, *m) ? ST_OK : err_oom(e);
}

/* Messages from `at` until the one that says that it is the last. A stream may simply end. */
static Status read_messages(ArrowFile *f, int64_t at, bool is_file, Err *e) {
    IoBuffer head = {0};
    Status st = ST_OK;
    while (st == ST_OK) {
        uint32_t word[2];
        if (at == f->size && !is_file && f->n_cols > 0) break;
        st = at + 8 <= f->size ? read_exactly(f, word, 8, at, e) : damaged(f->path, "it ends within its messages", e);
        if (st != ST_OK) break;
        if (word[0] != UINT32_MAX) {
            st = damaged(f->path, "expected a message", e);
            break;
        }
        if (word[1] == 0) break;
        ArrowMessage m = {.head = at + 8, .head_len = word[1], .body = at + 8 + (int64_t)word[1]};
        if (m.head_len > HEAD_MAX || m.body > f->size) st = damaged(f->path, "it ends within a message", e);
        if (st == ST_OK) st = io_buffer(&head, arena_account(f->a), m.head_len, e);
        if (st == ST_OK) st = read_exactly(f, head.p, m.head_len, m.head, e);
        if (st == ST_OK) st = take_message(f, head.p, &m, e);
        at = (m.body + m.body_len + 7) & ~INT64_C(7);
    }
    io_buffer_release(&head, arena_account(f->a));
    if (st == ST_OK && f->n_cols == 0) st = damaged(f->path, "it has no schema", e);
    return st == ST_OK && is_file ? settle_dictionaries(f, e) : st;
}

ArrowFile *arrow_file_open(Vfs *vfs, MemAccount *account, const char *path, Err *e) {
    static const char magic[] = "ARROW1";
    char ends[2][8] = {{0}, {0}};
    Arena *a = arena_new(account, e);
    ArrowFile *f = a ? arena_new_of(a, ArrowFile) : NULL;
    if (!f) goto failed;
    f->a = a;
    f->vfs = vfs;
    f->path = path;
    if (vfs->open(vfs, path, VFS_READ, &f->file, e) != ST_OK) {
        f->file = NULL;
        goto failed;
    }
    if (vfs->size(f->file, &f->size, e) != ST_OK) goto failed;
    if (f->size < 8) {
        damaged(path, "it is too short to be one", e);
        goto failed;
    }
    if (read_exactly(f, ends[0], 8, 0, e) != ST_OK || read_exactly(f, ends[1], 6, f->size - 6, e) != ST_OK) goto failed;
    bool is_file = memcmp(ends[0], magic, 6) == 0;
    if (memcmp(ends[0], "FEA1", 4) == 0) {
        err_set(e, ERR_FEATURE_NOT_SUPPORTED, "file \"%s\" is of version 1 of Feather", path);
        goto failed;
    }
    if (is_file && memcmp(ends[1], magic, 6) != 0) {
        damaged(path, "its end is missing", e);
        goto failed;
    }
    if (read_messages(f, is_file ? 8 : 0, is_file, e) == ST_OK) return f;
failed:
    if (!err_is_set(e)) err_oom(e);
    if (f) arrow_file_close(f);
    else arena_free(a);
    return NULL;
}

void arrow_file_close(ArrowFile *f) {
    if (!f) return;
    if (f->file) (void)f->vfs->close(f->file, NULL);
    arena_free(f->a);
}

/* ---- batches ----------------------------------------------------------------------------------------------------- */

Status arrow_batch_open(const ArrowFile *f, const ArrowMessage *m, MemAccount *account, ArrowBatch *out, Err *e) {
    *out = (ArrowBatch){.head_len = m->head_len, .rows = m->rows, .body = m->body, .body_len = m->body_len};
    if (!(out->head = mem_alloc(account, m->head_len, e))) return ST_ERROR;
    TRY(read_exactly(f, out->head, m->head_len, m->head, e));
    Flatbuf b = {out->head, m->head_len, false};
    int64_t root = fb_root(&b), t = fb_table(&b, root, 2);
    if (fb_scalar(&b, root, 1, 1, 0) == MESSAGE_DICTIONARY) t = fb_table(&b, t, 1);
    out->nodes = fb_vector(&b, t, 1, 16, &out->n_nodes);
    out->buffers = fb_vector(&b, t, 2, 16, &out->n_buffers);
    out->views = fb_vector(&b, t, 4, 8, &out->n_views);
    int64_t compression = fb_table(&b, t, 3), codec = compression ? (int64_t)fb_scalar(&b, compression, 0, 1, 0) : -1;
    out->codec = codec < 0 ? CODEC_NONE : codec == 0 ? CODEC_LZ4_FRAME : codec == 1 ? CODEC_ZSTD : CODEC_UNKNOWN;
    if (b.bad || fb_i64(&b, t, 0, 0) != m->rows || m->rows < 0) return damaged(f->path, "a batch is damaged", e);
    return ST_OK;
}

void arrow_batch_close(ArrowBatch *b, MemAccount *account) {
    if (b->head) mem_free(account, b->head, b->head_len);
    *b = (ArrowBatch){0};
}

static Status too_few(Err *e) { return err_set(e, ERR_BAD_COPY, "a batch has fewer buffers than its columns need"); }

/* How its buffers lie: those of codes, if it has them. Its format was known when the file was opened. */
static ArrowFormat form_of(const ArrowField *f) {
    ArrowFormat form;
    (void)arrow_format(f->codes ? f->codes : f->format, &form);
    return form;
}

/* How many buffers it has, without its children's; below 0: the batch lacks them. */
static int64_t buffer_count(const ArrowField *f, const ArrowBatch *b, const ArrowCursor *at) {
    ArrowLayout layout = form_of(f).layout;
    int64_t more = 0;
    if (layout != ARROW_VIEWS) return arrow_buffers[layout];
    if (at->view >= b->n_views) return -1;
    memcpy(&more, b->head + b->views + 8 * at->view, 8);
    return more < 0 || more > b->n_buffers ? -1 : 2 + more;
}

/* Goes on to what is within the field; *n of its own buffers. */
static Status step_in(const ArrowField *f, const ArrowBatch *b, ArrowCursor *at, int64_t *n, Err *e) {
    *n = buffer_count(f, b, at);
    if (*n < 0 || at->node >= b->n_nodes || *n > b->n_buffers - at->buffer) return too_few(e);
    at->view += form_of(f).layout == ARROW_VIEWS;
    at->node++;
    at->buffer += *n;
    return ST_OK;
}

Status arrow_skip(const ArrowField *f, const ArrowBatch *b, ArrowCursor *at, Err *e) {
    int64_t n;
    TRY(stack_check(e));
    TRY(step_in(f, b, at, &n, e));
    for (int32_t i = 0; i < f->n_children && !f->codes; i++) TRY(arrow_skip(&f->children[i], b, at, e));
    return ST_OK;
}

/* Buffer number i of the batch; *size bytes of it, NULL where it is empty. */
static Status load_buffer(const ArrowLoader *l, int64_t i, IoBuffer *to, int64_t *size, Err *e) {
    const ArrowFile *f = l->file;
    const ArrowBatch *b = l->b;
    MemAccount *account = l->account;
    IoBuffer *raw = l->raw;
    int64_t place[2], whole = -1;
    memcpy(place, b->head + b->buffers + 16 * i, 16);
    *size = place[1];
    if (place[0] < 0 || place[1] < 0 || place[0] > b->body_len || place[1] > b->body_len - place[0])
        return err_set(e, ERR_BAD_COPY, "a buffer lies outside of its batch");
    if (*size == 0) return io_buffer(to, account, 0, e);
    if (b->codec == CODEC_NONE) {
        TRY(io_buffer(to, account, *size, e));
        return read_exactly(f, to->p, *size, b->body + place[0], e);
    }
    if (*size < 8) return err_set(e, ERR_BAD_COPY, "a compressed buffer has no size");
    TRY(io_buffer(raw, account, *size, e));
    TRY(read_exactly(f, raw->p, *size, b->body + place[0], e));
    memcpy(&whole, raw->p, 8);
    Codec codec = whole == -1 ? CODEC_NONE : b->codec;
    *size = whole == -1 ? *size - 8 : whole;
    if (*size < 0 || *size > INT64_C(1) << 40) return err_set(e, ERR_BAD_COPY, "a compressed buffer has no size");
    TRY(io_buffer(to, account, *size, e));
    return codec_decompress(l->codecs, codec, raw->p + 8, place[1] - 8, to->p, *size, e);
}

/* Offsets of n rows, in order and up to `most`. */
static bool offsets_fit(const void *p, bool wide, int64_t n, int64_t most) {
    int64_t last = 0;
    for (int64_t i = 0; i <= n; i++) {
        int64_t v = wide ? ((const int64_t *)p)[i] : ((const int32_t *)p)[i];
        if (v < last || v > most) return false;
        last = v;
    }
    return true;
}

static Status too_short(Err *e) { return err_set(e, ERR_BAD_COPY, "a buffer is shorter than its rows need"); }

/* Whether what is within has as many rows as n rows of the field need. */
static Status check_children(const ArrowFormat *form, const ArrowHeld *h, int64_t n, Err *e) {
    int64_t need = form->layout == ARROW_STRUCTS || form->layout == ARROW_SPARSE ? n : 0;
    if (form->layout == ARROW_FIXED_LISTS) {
        if (n > INT64_MAX / form->width) return too_short(e);
        need = n * form->width;
    }
    for (int32_t i = 0; i < h->n_children; i++)
        if (h->children[i].array.length < need)
            return err_set(e, ERR_BAD_COPY, "what is within a column has fewer rows than the column");
    return ST_OK;
}

/* Whether buffers of these sizes are enough for its rows. */
static Status check_sizes(const ArrowField *f, const ArrowHeld *h, int64_t count, Err *e) {
    const ArrowFormat form = form_of(f);
    const int64_t *sizes = h->sizes;
    int64_t n = h->array.length, bits = n / 8 + (n % 8 != 0);
    TRY(check_children(&form, h, n, e));
    if (count == 0) return ST_OK;
    if (arrow_is_union(form.layout)) return sizes[0] < n || (count > 1 && sizes[1] / 4 < n) ? too_short(e) : ST_OK;
    if (sizes[0] > 0 && sizes[0] < bits) return too_short(e);
    if (count == 1) return ST_OK;
    if (form.layout == ARROW_FIXED || form.layout == ARROW_VIEWS) {
        if (form.width == 0 ? sizes[1] < bits : n > sizes[1] / form.width) return too_short(e);
        return ST_OK;
    }
    if (n == 0) return ST_OK;
    int64_t width = form.wide ? 8 : 4;
    if (form.layout == ARROW_LIST_VIEWS) return MIN_OF(sizes[1], sizes[2]) / width < n ? too_short(e) : ST_OK;
    if (n >= sizes[1] / width) return too_short(e);
    int64_t most = form.layout == ARROW_STRINGS ? sizes[2] : h->children[0].array.length;
    if (!offsets_fit(h->pointers[1], form.wide, n, most))
        return err_set(e, ERR_BAD_COPY, "the offsets of its values are not in order");
    return ST_OK;
}

static Status held_room(ArrowHeld *h, Arena *a, int64_t count, Err *e) {
    if (count <= h->cap) return ST_OK;
    IoBuffer *more = arena_array(a, IoBuffer, count + 1);
    h->pointers = arena_array(a, const void *, count + 2); /* and sizes of a view's buffers */
    h->sizes = arena_array(a, int64_t, count + 1);
    if (!more || !h->pointers || !h->sizes) return err_is_set(e) ? ST_ERROR : err_oom(e);
    if (h->cap) memcpy(more, h->buffers, (size_t)h->cap * sizeof *more);
    h->buffers = more;
    h->cap = count;
    return ST_OK;
}

static void never_array(struct ArrowArray *x) { (void)x; }

/* Its own buffers, of which there are `count` from number `first` on. */
static Status hold_buffers(const ArrowLoader *l, const ArrowField *f, int64_t node, int64_t first, int64_t count,
                           ArrowHeld *h, Err *e) {
    int64_t lengths[2];
    memcpy(lengths, l->b->head + l->b->nodes + 16 * node, 16);
    if (lengths[0] < 0) return too_few(e);
    TRY(held_room(h, l->a, count, e));
    for (int64_t i = 0; i < count; i++) {
        TRY(load_buffer(l, first + i, &h->buffers[i], &h->sizes[i], e));
        bool none = i == 0 && h->sizes[i] == 0 && !arrow_is_union(form_of(f).layout);
        h->pointers[i] = none ? NULL : h->buffers[i].p;
    }
    h->array = (struct ArrowArray){.length = lengths[0], .null_count = -1, .n_buffers = count, .release = never_array};
    h->array.buffers = h->pointers;
    if (form_of(f).layout != ARROW_VIEWS) return ST_OK;
    /* sizes of the buffers behind the first two are one more buffer */
    h->pointers[count] = h->sizes + 2;
    h->array.n_buffers = count + 1;
    return ST_OK;
}

static Status hold(const ArrowLoader *l, const ArrowField *f, ArrowCursor *at, ArrowHeld *h, Err *e) {
    int64_t node = at->node, first = at->buffer, count;
    int32_t n = f->codes ? 0 : f->n_children;
    TRY(stack_check(e));
    TRY(step_in(f, l->b, at, &count, e));
    TRY(hold_buffers(l, f, node, first, count, h, e));
    if (n > 0 && !h->children) {
        h->children = arena_array(l->a, ArrowHeld, n);
        h->arrays = arena_array(l->a, struct ArrowArray *, n);
        if (!h->children || !h->arrays) return err_is_set(e) ? ST_ERROR : err_oom(e);
        for (int32_t i = n; i-- > 0;) {
            h->arrays[i] = &h->children[i].array;
            h->children[i].next = h->next;
            h->next = &h->children[i];
        }
        h->n_children = n;
    }
    for (int32_t i = 0; i < n; i++) TRY(hold(l, &f->children[i], at, &h->children[i], e));
    h->array.n_children = n;
    h->array.children = h->arrays;
    return check_sizes(f, h, count, e);
}

Status arrow_hold(const ArrowLoader *l, const ArrowField *f, ArrowCursor *at, ArrowHeld *h, Err *e) {
    TRY(hold(l, f, at, h, e));
    return h->array.length >= l->b->rows ? ST_OK : err_set(e, ERR_BAD_COPY, "a column has fewer rows than its batch");
}

void arrow_held_release(ArrowHeld *h, MemAccount *account) {
    for (; h; h = h->next)
        for (int64_t i = 0; i < h->cap; i++) io_buffer_release(&h->buffers[i], account);
}
