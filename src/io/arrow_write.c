/* arrow_write.c - COPY TO an Arrow file: rows of a result as batches. See arrow_file.h, and arrow_ipc.h for the format.
 *
 * Rows are gathered into a batch (arrow_out.c) of BATCH_ROWS rows, or less where they are wide, and a batch is written
 * as soon as it is full: memory is one of them, and 24 bytes of the footer for each that has been written. Buffers are
 * not compressed: they can be mapped.
 */
#include <stdio.h>
#include <stdlib.h>

#include "exec/rows.h"
#include "io/arrow_file.h"
#include "io/arrow_ipc.h"
#include "io/flatbuf_out.h"
#include "io/out_file.h"

enum { CHUNK = 1024, BATCH_ROWS = 64 * CHUNK, ALIGN = 64, VERSION_5 = 4 };
static const int64_t batch_bytes = INT64_C(8) << 20; /* more or less */
static const char magic[8] = "ARROW1";

typedef struct Block { /* where a message is, as the footer has it */
    int64_t at, head, body;
} Block;

typedef struct ArrowWriter {
    const CopySource *from;
    Arena *a;
    Vec *vecs, *wide; /* by column: as the rows have them, and of the type's phys */
    uint8_t **valid;
    ArrowOut batch;
    bool open;                 /* there is one */
    int64_t n, room;           /* rows of it, and how many it may have */
    int64_t text_bytes;        /* of its strings */
    struct ArrowSchema schema; /* of all */
    FlatbufOut head;
    OutFile file;
    VEC(Block) blocks;
    Err *e;
} ArrowWriter;

/* ---- messages ---------------------------------------------------------------------------------------------------- */

/* These bytes, and zeros up to a multiple of `align`. */
static Status put_padded(ArrowWriter *w, const void *p, int64_t n, int64_t align) {
    static const char zeros[ALIGN];
    const int64_t rest = align_up(n, align) - n;
    if (n) TRY(out_file_write(&w->file, p, n, w->e));
    return rest ? out_file_write(&w->file, zeros, rest, w->e) : ST_OK;
}

/* Begins a message; where the offset to its header is. */
static int64_t begin_message(ArrowWriter *w, int kind, int64_t body) {
    int64_t at[4];
    fbo_begin(&w->head);
    fbo_table(&w->head, 0, 4, (const uint8_t[]){2, 1, 4, 8}, at);
    fbo_set(&w->head, at[0], VERSION_5, 2);
    fbo_set(&w->head, at[1], (uint64_t)kind, 1);
    fbo_set(&w->head, at[3], (uint64_t)body, 8);
    return at[2];
}

/* Writes its head, with which it begins at a multiple of 8; *out says where. */
static Status end_message(ArrowWriter *w, Block *out) {
    const int64_t size = align_up(w->head.n, 8);
    const uint32_t prefix[2] = {UINT32_MAX, (uint32_t)size};
    if (w->head.failed) return ST_ERROR;
    if (size > INT32_MAX) return err_set(w->e, ERR_PROGRAM_LIMIT, "too many columns for an Arrow file");
    *out = (Block){.at = w->file.offset, .head = size + 8};
    TRY(out_file_write(&w->file, prefix, 8, w->e));
    return put_padded(w, w->head.p, w->head.n, 8);
}

/* ---- schema ------------------------------------------------------------------------------------------------------ */

/* The table of a column's type: made at `from`; its number in the format. */
static int put_type(FlatbufOut *f, int64_t from, const char *format) {
    int64_t at[3];
    int precision = 0, scale = 0;
    switch (format[0]) {
    case 's':
    case 'i':
    case 'l':
        fbo_table(f, from, 2, (const uint8_t[]){4, 1}, at);
        fbo_set(f, at[0], format[0] == 's' ? 16 : format[0] == 'i' ? 32 : 64, 4);
        fbo_set(f, at[1], 1, 1);
        return AT_INT;
    case 'f':
    case 'g':
        fbo_table(f, from, 1, (const uint8_t[]){2}, at);
        fbo_set(f, at[0], format[0] == 'f' ? 1 : 2, 2);
        return AT_FLOAT;
    case 'd':
        (void)sscanf(format, "d:%d,%d", &precision, &scale);
        fbo_table(f, from, 3, (const uint8_t[]){4, 4, 4}, at);
        fbo_set(f, at[0], (uint64_t)precision, 4);
        fbo_set(f, at[1], (uint64_t)scale, 4);
        fbo_set(f, at[2], 128, 4);
        return AT_DECIMAL;
    case 'w':
        fbo_table(f, from, 1, (const uint8_t[]){4}, at);
        fbo_set(f, at[0], strtoull(format + 2, NULL, 10), 4);
        return AT_FIXED;
    case 't': break;
    default: /* tables without fields */
        fbo_table(f, from, 0, (const uint8_t[]){0}, at);
        if (format[0] == 'b') return AT_BOOL;
        if (format[0] == 'Z') return AT_LARGE_BINARY;
        return format[0] == '+' ? AT_LARGE_LIST : AT_LARGE_UTF8;
    }
    if (format[1] == 'd') { /* days */
        fbo_table(f, from, 1, (const uint8_t[]){2}, at);
        return AT_DATE;
    }
    const bool zoned = format[1] == 's' && format[4];
    fbo_table(f, from, 2, (const uint8_t[]){2, format[1] == 't' || zoned ? 4 : 0}, at);
    fbo_set(f, at[0], 2, 2); /* microseconds */
    if (format[1] == 't') fbo_set(f, at[1], 64, 4);
    if (zoned) fbo_string(f, at[1], format + 4, (int64_t)strlen(format + 4));
    return format[1] == 't' ? AT_TIME : AT_TIMESTAMP;
}

static void put_metadata(FlatbufOut *f, int64_t from) {
    int64_t at[2], pair = fbo_vector(f, from, 1, 4);
    fbo_table(f, pair, 2, (const uint8_t[]){4, 4}, at);
    fbo_string(f, at[0], ARROW_TYPE_KEY, (int64_t)strlen(ARROW_TYPE_KEY));
    fbo_string(f, at[1], ARROW_NUMERIC, (int64_t)strlen(ARROW_NUMERIC));
}

/* Without its children, for whose places there is room at what it returns. */
static int64_t put_field_alone(FlatbufOut *f, int64_t from, const struct ArrowSchema *s) {
    /* name, nullable, kind of type, type, dictionary, children, metadata */
    const uint8_t sizes[] = {4, 1, 1, 4, 0, 4, s->metadata ? 4 : 0};
    int64_t at[7];
    fbo_table(f, from, 7, sizes, at);
    fbo_string(f, at[0], s->name, (int64_t)strlen(s->name));
    fbo_set(f, at[1], 1, 1);
    fbo_set(f, at[2], (uint64_t)put_type(f, at[3], s->format), 1);
    if (s->metadata) put_metadata(f, at[6]);
    return fbo_vector(f, at[5], s->n_children, 4);
}
static void put_field(FlatbufOut *f, int64_t from, const struct ArrowSchema *s) {
    const int64_t children = put_field_alone(f, from, s);
    for (int64_t i = 0; i < s->n_children; i++) /* a list's element, which has none */
        (void)put_field_alone(f, children + 4 * i, s->children[i]);
}

static void put_schema(FlatbufOut *f, int64_t from, const struct ArrowSchema *s) {
    int64_t at[2];
    fbo_table(f, from, 2, (const uint8_t[]){2, 4}, at); /* little-endian is 0 */
    int64_t fields = fbo_vector(f, at[1], s->n_children, 4);
    for (int64_t i = 0; i < s->n_children; i++) put_field(f, fields + 4 * i, s->children[i]);
}

/* ---- batches ----------------------------------------------------------------------------------------------------- */

typedef struct Piece { /* a buffer */
    const void *p;
    int64_t n;
} Piece;

/* The buffers of a column, and of a list's elements behind it; how many. */
static int pieces_of(const struct ArrowSchema *s, const struct ArrowArray *a, Piece *out) {
    for (int made = 0;; s = s->children[0], a = a->children[0]) {
        ArrowFormat f;
        const int64_t n = a->length, bits = (n + 7) / 8;
        const void *values = a->buffers[1];
        (void)arrow_format(s->format, &f);
        out[made++] = (Piece){a->buffers[0], a->null_count ? bits : 0};
        if (f.layout == ARROW_FIXED) {
            out[made++] = (Piece){values, f.width ? n * f.width : bits};
            return made;
        }
        out[made++] = (Piece){values, (n + 1) * 8};
        if (f.layout == ARROW_LISTS) continue;
        out[made++] = (Piece){a->buffers[2], ((const int64_t *)values)[n]};
        return made;
    }
}

static Status write_batch(ArrowWriter *w, const struct ArrowSchema *schema, const struct ArrowArray *batch) {
    enum { PIECES = 5 }; /* of a column at most: of a list of texts */
    const int64_t n_cols = batch->n_children;
    Arena *a = arena_new(w->from->account, w->e);
    Piece *pieces = a ? arena_array(a, Piece, n_cols * PIECES + 1) : NULL;
    const struct ArrowArray **nodes = pieces ? arena_array(a, const struct ArrowArray *, n_cols * 2 + 1) : NULL;
    int64_t n = 0, n_nodes = 0, body = 0, at[3];
    Block block = {0};
    Status st = ST_ERROR;
    if (!nodes) goto done;
    for (int64_t i = 0; i < n_cols; i++) {
        n += pieces_of(schema->children[i], batch->children[i], pieces + n);
        nodes[n_nodes++] = batch->children[i];
        if (batch->children[i]->n_children) nodes[n_nodes++] = batch->children[i]->children[0];
    }
    for (int64_t i = 0; i < n; i++) body += align_up(pieces[i].n, ALIGN);
    int64_t header = begin_message(w, MESSAGE_BATCH, body);
    fbo_table(&w->head, header, 3, (const uint8_t[]){8, 4, 4}, at);
    fbo_set(&w->head, at[0], (uint64_t)batch->length, 8);
    int64_t to = fbo_vector(&w->head, at[1], n_nodes, 16);
    for (int64_t i = 0; i < n_nodes; i++) {
        fbo_set(&w->head, to + 16 * i, (uint64_t)nodes[i]->length, 8);
        fbo_set(&w->head, to + 16 * i + 8, (uint64_t)nodes[i]->null_count, 8);
    }
    to = fbo_vector(&w->head, at[2], n, 16);
    for (int64_t i = 0, from = 0; i < n; from += align_up(pieces[i++].n, ALIGN)) {
        fbo_set(&w->head, to + 16 * i, (uint64_t)from, 8);
        fbo_set(&w->head, to + 16 * i + 8, (uint64_t)pieces[i].n, 8);
    }
    st = end_message(w, &block);
    block.body = body;
    for (int64_t i = 0; i < n && st == ST_OK; i++) st = put_padded(w, pieces[i].p, pieces[i].n, ALIGN);
    if (st == ST_OK && !vec_push(w->a, &w->blocks, block)) st = ST_ERROR;
done:
    arena_free(a);
    return st;
}

/* Writes the batch that is open, if there is one. */
static Status flush(ArrowWriter *w) {
    struct ArrowSchema schema;
    struct ArrowArray batch;
    if (!w->open) return ST_OK;
    w->batch.n = w->n;
    TRY(arrow_out_finish(&w->batch, &schema, &batch, w->e));
    w->open = false;
    Status st = write_batch(w, &schema, &batch);
    schema.release(&schema);
    batch.release(&batch);
    return st;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* Cells as the type has them: rows may hold integers wider or narrower, and codes of a dictionary. */
static const Vec *as_typed(ArrowWriter *w, int32_t c, const Dict *dict, int64_t n) {
    const Vec *v = &w->vecs[c];
    Vec *to = &w->wide[c];
    if (!dict && v->phys == to->phys) return v;
    const int64_t size = phys_size((Phys)v->phys), wide = phys_size((Phys)to->phys);
    to->valid = v->valid;
    for (int64_t i = 0; i < n; i++) {
        const char *cell = (const char *)v->data + i * size;
        int64_t x = 0;
        if (v->valid && !v->valid[i]) {
            memset((char *)to->data + i * wide, 0, (size_t)wide);
        } else if (dict) {
            ((Str *)to->data)[i] = dict->entries[*(const int32_t *)(const void *)cell];
        } else if (v->phys == PH_I128) {
            memcpy((char *)to->data + i * wide, cell, (size_t)wide); /* little-endian */
        } else {
            (void)cell_as_i64((Phys)v->phys, cell, &x);
            const int128_t y = x;
            memcpy((char *)to->data + i * wide, &y, (size_t)wide);
        }
    }
    return to;
}

static void count_texts(ArrowWriter *w, const Vec *v, int64_t n) {
    if (v->phys != PH_STR) return;
    for (int64_t i = 0; i < n; i++)
        if (!v->valid || v->valid[i]) w->text_bytes += ((const Str *)v->data)[i].len;
}

static Status add_rows(ArrowWriter *w, const RowLayout *l, const RowRun *run, int64_t first, int64_t n) {
    const CopySource *from = w->from;
    if (!w->open) {
        w->n = w->text_bytes = 0;
        w->open = true; /* what is begun in part is cancelled */
        TRY(arrow_out_begin(&w->batch, from->account, from->n_cols, from->types, from->names, w->room, w->e));
        w->batch.form = from->form;
    }
    for (int32_t c = 0; c < from->n_cols; c++) {
        w->vecs[c].valid = w->valid[c];
        rows_load(l, c, run, first, NULL, n, &w->vecs[c]);
        const Vec *v = as_typed(w, c, l->cols[c].dict, n);
        count_texts(w, v, n);
        TRY(arrow_out_put(&w->batch, c, n, v, w->e));
    }
    w->n += n;
    return w->n == w->room || w->text_bytes >= batch_bytes ? flush(w) : ST_OK;
}

static Status add_run(void *ctx, const RowLayout *l, const RowRun *run) {
    ArrowWriter *w = ctx;
    for (int64_t at = 0, n; at < run->n; at += n) {
        n = MIN_OF(run->n - at, MIN_OF((int64_t)CHUNK, w->open ? w->room - w->n : w->room));
        TRY(add_rows(w, l, run, at, n));
    }
    return ST_OK;
}

static Status add_all(ArrowWriter *w, int64_t *n_rows) {
    TRY(copy_each_run(w->from, add_run, w, n_rows, w->e));
    return flush(w);
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

static Status make_columns(ArrowWriter *w) {
    const CopySource *from = w->from;
    const RowLayout *l = rows_layout(from->rows);
    int64_t width = 0;
    w->vecs = arena_array(w->a, Vec, from->n_cols + 1);
    w->wide = arena_array(w->a, Vec, from->n_cols + 1);
    w->valid = arena_array(w->a, uint8_t *, from->n_cols + 1);
    if (!w->vecs || !w->wide || !w->valid) return ST_ERROR;
    for (int32_t c = 0; c < from->n_cols; c++) {
        const Type type = from->types[c];
        const Phys have = (Phys)l->cols[c].phys, want = type_phys(type);
        w->vecs[c] = (Vec){.phys = (uint8_t)have, .type = type, .data = arena_calloc(w->a, phys_size(have) * CHUNK)};
        w->wide[c] = (Vec){.phys = (uint8_t)want, .type = type, .data = arena_calloc(w->a, phys_size(want) * CHUNK)};
        w->valid[c] = arena_calloc(w->a, CHUNK);
        if (!w->vecs[c].data || !w->wide[c].data || !w->valid[c]) return ST_ERROR;
        width += phys_size(want);
    }
    w->room = MAX_OF(MIN_OF(batch_bytes / MAX_OF(width, INT64_C(1)), (int64_t)BATCH_ROWS), (int64_t)CHUNK);
    return arrow_out_schema(from->n_cols, from->types, from->names, &w->schema, w->e);
}

static Status begin_file(ArrowWriter *w) {
    Block ignored;
    TRY(out_file_write(&w->file, magic, 8, w->e));
    int64_t header = begin_message(w, MESSAGE_SCHEMA, 0);
    put_schema(&w->head, header, &w->schema);
    return end_message(w, &ignored);
}

/* The end of the messages, and the footer: the schema again, and where the batches are. */
static Status end_file(ArrowWriter *w) {
    static const uint32_t end[2] = {UINT32_MAX, 0};
    FlatbufOut *f = &w->head;
    int64_t at[4];
    TRY(out_file_write(&w->file, end, 8, w->e));
    fbo_begin(f);
    fbo_table(f, 0, 4, (const uint8_t[]){2, 4, 4, 4}, at);
    fbo_set(f, at[0], VERSION_5, 2);
    put_schema(f, at[1], &w->schema);
    (void)fbo_vector(f, at[2], 0, 24); /* dictionaries */
    int64_t to = fbo_vector(f, at[3], w->blocks.len, 24);
    for (int64_t i = 0; i < w->blocks.len; i++, to += 24) {
        fbo_set(f, to, (uint64_t)w->blocks.items[i].at, 8);
        fbo_set(f, to + 8, (uint64_t)w->blocks.items[i].head, 4);
        fbo_set(f, to + 16, (uint64_t)w->blocks.items[i].body, 8);
    }
    if (f->failed) return ST_ERROR;
    if (f->n > INT32_MAX) return err_set(w->e, ERR_PROGRAM_LIMIT, "too many rows for an Arrow file");
    const uint32_t size = (uint32_t)f->n;
    TRY(out_file_write(&w->file, f->p, f->n, w->e));
    TRY(out_file_write(&w->file, &size, 4, w->e));
    return out_file_write(&w->file, magic, 6, w->e);
}

Status arrow_write(const CopySource *from, Vfs *vfs, const char *path, int64_t *n_rows, Err *e) {
    ArrowWriter w = {.from = from, .head = {.account = from->account, .e = e}, .e = e};
    Status st = ST_ERROR;
    *n_rows = 0;
    if (from->n_cols == 0) return err_set(e, ERR_FEATURE_NOT_SUPPORTED, "an Arrow file needs a column");
    if (!(w.a = arena_new(from->account, e))) return ST_ERROR;
    if (make_columns(&w) == ST_OK && out_file_open(&w.file, vfs, from->account, path, e) == ST_OK) {
        if (begin_file(&w) == ST_OK && add_all(&w, n_rows) == ST_OK) st = end_file(&w);
        if (w.open) arrow_out_cancel(&w.batch);
        st = out_file_end(&w.file, st == ST_OK, e);
    }
    if (w.schema.release) w.schema.release(&w.schema);
    fbo_release(&w.head);
    arena_free(w.a);
    return st == ST_OK || err_is_set(e) ? st : err_oom(e);
}
