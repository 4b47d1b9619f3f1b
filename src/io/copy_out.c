/* copy_out.c - COPY TO: rows of a result as text, CSV or .tbl.
 *
 * Columns are loaded from the row store in batches and written row by row into one buffer that goes to the file or the
 * client's function when full.
 */

#include "io/arrow_file.h"
#include "io/copy_int.h"
#include "io/out_file.h"
#include "io/parquet.h"

enum { OUT_BATCH = 1024 };
static const int64_t out_buffer = INT64_C(1) << 20;

typedef struct Out {
    const CopyOptions *o;
    MemAccount *account;
    char *buf;
    int64_t len;
    OutFile file;
    CopyWrite write;
    void *ctx;
    int32_t n_cols;
    TextForm form;
    Arena *arena;
    bool special[256]; /* bytes that make a value need escapes (text) or quotes (CSV), or are impossible (tbl) */
    Err *e;
} Out;

static Status out_flush(Out *w) {
    if (w->len == 0) return ST_OK;
    if (w->file.file) {
        TRY(out_file_write(&w->file, w->buf, w->len, w->e));
    } else if (!w->write(w->ctx, w->buf, w->len)) {
        return err_set(w->e, ERR_CONNECTION_FAILURE, "could not write COPY data to the client");
    }
    w->len = 0;
    return ST_OK;
}
static inline Status out_room(Out *w, int64_t n) { return w->len + n <= out_buffer ? ST_OK : out_flush(w); }
static Status out_bytes(Out *w, const char *s, int64_t n) {
    while (n > 0) {
        TRY(out_room(w, 1));
        int64_t k = MIN_OF(n, out_buffer - w->len);
        memcpy(w->buf + w->len, s, (size_t)k);
        w->len += k;
        s += k;
        n -= k;
    }
    return ST_OK;
}
static inline Status out_char(Out *w, char c) {
    TRY(out_room(w, 1));
    w->buf[w->len++] = c;
    return ST_OK;
}

static Status out_text(Out *w, const char *s, int64_t n) {
    static const char letters[14] = {0, 0, 0, 0, 0, 0, 0, 0, 'b', 't', 'n', 'v', 'f', 'r'};
    while (n > 0) {
        int64_t k = 0;
        while (k < n && !w->special[(uint8_t)s[k]]) k++;
        TRY(out_bytes(w, s, k));
        if (k == n) break;
        uint8_t c = (uint8_t)s[k];
        TRY(out_char(w, '\\'));
        /* A delimiter that is one of these is escaped by its letter too: COPY FROM reads both. */
        TRY(out_char(w, c < sizeof letters && letters[c] ? letters[c] : (char)c));
        s += k + 1;
        n -= k + 1;
    }
    return ST_OK;
}

static Status out_csv(Out *w, const char *s, int64_t n, bool force) {
    const CopyOptions *o = w->o;
    bool quote = force || (n == o->null_len && memcmp(s, o->null_text, (size_t)n) == 0) ||
                 (w->n_cols == 1 && n == 2 && s[0] == '\\' && s[1] == '.');
    for (int64_t i = 0; !quote && i < n; i++) quote = w->special[(uint8_t)s[i]];
    if (!quote) return out_bytes(w, s, n);
    TRY(out_char(w, o->quote));
    for (int64_t i = 0; i < n; i++) {
        if (s[i] == o->quote || s[i] == o->escape) TRY(out_char(w, o->escape));
        TRY(out_char(w, s[i]));
    }
    return out_char(w, o->quote);
}

static Status out_value(Out *w, const char *s, int64_t n, bool force) {
    if (w->o->format == COPY_TEXT) return out_text(w, s, n);
    if (w->o->format == COPY_CSV) return out_csv(w, s, n, force);
    for (int64_t i = 0; i < n; i++)
        if (w->special[(uint8_t)s[i]]) {
            err_set(w->e, ERR_BAD_COPY, "a value with a %s cannot be written in COPY format \"tbl\"",
                    s[i] == w->o->delimiter ? "delimiter" : "line end");
            err_hint(w->e, "Use format text or csv, or another delimiter.");
            return ST_ERROR;
        }
    return out_bytes(w, s, n);
}

static Status out_null(Out *w) {
    if (w->o->null_len >= 0) return out_bytes(w, w->o->null_text, w->o->null_len);
    err_set(w->e, ERR_NULL_NOT_ALLOWED, "a NULL cannot be written in COPY format \"tbl\"");
    err_hint(w->e, "Give it a text with the option NULL.");
    return ST_ERROR;
}

static int64_t put_uint(char *out, uint64_t v) {
    char tmp[20];
    int n = 0;
    do {
        tmp[n++] = (char)('0' + v % 10);
        v /= 10;
    } while (v);
    for (int i = 0; i < n; i++) out[i] = tmp[n - 1 - i];
    return n;
}
static int64_t put_int(char *out, int64_t v) {
    if (v >= 0) return put_uint(out, (uint64_t)v);
    *out = '-';
    return 1 + put_uint(out + 1, -(uint64_t)v);
}
static int64_t put_decimal(char *out, int64_t v, int scale) {
    char tmp[24];
    int64_t n = put_uint(tmp, v < 0 ? -(uint64_t)v : (uint64_t)v), k = 0;
    if (v < 0) out[k++] = '-';
    if (n <= scale) {
        out[k++] = '0';
        out[k++] = '.';
        for (int64_t i = n; i < scale; i++) out[k++] = '0';
        memcpy(out + k, tmp, (size_t)n);
        return k + n;
    }
    memcpy(out + k, tmp, (size_t)(n - scale));
    k += n - scale;
    if (scale > 0) {
        out[k++] = '.';
        memcpy(out + k, tmp + n - scale, (size_t)scale);
        k += scale;
    }
    return k;
}

static Status out_str(Out *w, Type t, Str s, bool force) {
    if (t.id == T_BYTEA || t.id == T_ARRAY || t.id == T_COMPOSITE || t.id == T_DECIMAL || type_is_bits(t) ||
        type_is_range(t)) {
        Value v = {.type = t, .u.str = s};
        int64_t n;
        char *text = value_to_text_form(w->arena, &v, w->form, &n);
        if (!text) return ST_ERROR;
        TRY(out_value(w, text, n, force));
        arena_reset(w->arena);
        return ST_OK;
    }
    /* char(n) is padded where the format keeps blanks apart from values; .tbl files have it bare. */
    int64_t pad = t.id == T_CHAR && t.length > 0 && w->o->format != COPY_TBL ? t.length - utf8_length(s.ptr, s.len) : 0;
    if (pad <= 0) return out_value(w, s.ptr, s.len, force);
    char *full = arena_alloc(w->arena, s.len + pad);
    if (!full) return ST_ERROR;
    memcpy(full, s.ptr, s.len);
    memset(full + s.len, ' ', (size_t)pad);
    TRY(out_value(w, full, s.len + pad, force));
    arena_reset(w->arena);
    return ST_OK;
}

/* A cell of `phys` (integers may be held wider or narrower than the type's own) as text. */
static Status out_cell(Out *w, Type t, uint8_t phys, const Dict *dict, const void *cell, bool force) {
    char text[VALUE_TEXT_MAX];
    int64_t n, i64 = 0;
    int128_t i128;
    Phys own = type_phys(t);
    if (own == PH_STR) return out_str(w, t, dict ? dict->entries[*(const int32_t *)cell] : *(const Str *)cell, force);
    bool small = cell_as_i64((Phys)phys, cell, &i64);
    switch ((TypeId)t.id) {
    case T_BOOL:
        text[0] = i64 ? 't' : 'f';
        n = 1;
        break;
    case T_INT2:
    case T_INT4:
    case T_INT8: n = put_int(text, i64); break;
    case T_NUMERIC:
        if (small && own == PH_I64) {
            n = put_decimal(text, i64, t.scale);
            break;
        }
        if (small) i128 = i64;
        else memcpy(&i128, cell, sizeof i128);
        i64 = (int64_t)i128;
        n = cell_to_text(t, own == PH_I128 ? (const void *)&i128 : (const void *)&i64, w->form, text);
        break;
    default: n = cell_to_text(t, cell, w->form, text); break;
    }
    return out_value(w, text, n, force);
}

static Status out_header(Out *w, const char *const *names) {
    for (int32_t c = 0; c < w->n_cols; c++) {
        if (c) TRY(out_char(w, w->o->delimiter));
        TRY(out_value(w, names[c], (int64_t)strlen(names[c]), false));
    }
    if (w->o->format == COPY_TBL) TRY(out_char(w, w->o->delimiter));
    return out_char(w, '\n');
}

/* Columns of a batch, and where their marks of NULLs are. */
typedef struct Batch {
    Out *w;
    const Type *types;
    Vec *vecs;
    uint8_t **valid;
} Batch;
static Status out_run(void *ctx, const RowLayout *l, const RowRun *run) {
    const Batch *b = ctx;
    Out *w = b->w;
    const CopyOptions *o = w->o;
    Vec *vecs = b->vecs;
    for (int64_t first = 0; first < run->n; first += OUT_BATCH) {
        int64_t n = MIN_OF(run->n - first, OUT_BATCH);
        for (int32_t c = 0; c < w->n_cols; c++) {
            vecs[c].valid = b->valid[c];
            rows_load(l, c, run, first, NULL, n, &vecs[c]);
        }
        for (int64_t r = 0; r < n; r++) {
            for (int32_t c = 0; c < w->n_cols; c++) {
                const Vec *v = &vecs[c];
                if (c) TRY(out_char(w, o->delimiter));
                if (v->valid && !v->valid[r]) {
                    TRY(out_null(w));
                    continue;
                }
                bool force = o->force_quote_all || (o->force_quote && o->force_quote[c]);
                TRY(out_cell(w, b->types[c], v->phys, l->cols[c].dict,
                             (const char *)v->data + r * phys_size((Phys)v->phys), force));
            }
            if (o->format == COPY_TBL) TRY(out_char(w, o->delimiter));
            TRY(out_char(w, '\n'));
        }
    }
    return ST_OK;
}

Status copy_each_run(const CopySource *from, CopyRun fn, void *ctx, int64_t *n_rows, Err *e) {
    RowStore *rows = from->rows;
    Status st = ST_OK;
    while (rows && st == ST_OK) {
        for (int64_t i = 0; i < rows_n_runs(rows) && st == ST_OK; i++) {
            RowRun run;
            TRY(rows_run_open(rows, i, &run, e));
            st = fn(ctx, rows_layout(rows), &run);
            *n_rows += run.n;
            rows_run_close(rows, &run);
        }
        rows = NULL;
        if (st == ST_OK && from->more) st = from->more->next(from->more->ctx, &rows, e);
    }
    return st;
}
static Status out_rows(Out *w, const CopySource *from, int64_t *n_rows) {
    const RowLayout *l = rows_layout(from->rows);
    Arena *a = arena_new(w->account, w->e);
    Status st = ST_ERROR;
    Vec *vecs = a ? arena_array(a, Vec, w->n_cols + 1) : NULL;
    uint8_t **valid = a ? arena_array(a, uint8_t *, w->n_cols + 1) : NULL;
    if (!vecs || !valid) goto done;
    for (int32_t c = 0; c < w->n_cols; c++) {
        const CellSpec *k = &l->cols[c];
        vecs[c] = (Vec){
            .phys = k->phys, .type = from->types[c], .data = arena_calloc(a, phys_size((Phys)k->phys) * OUT_BATCH)};
        valid[c] = arena_calloc(a, OUT_BATCH);
        if (!vecs[c].data || !valid[c]) goto done;
    }
    st = copy_each_run(from, out_run, &(Batch){w, from->types, vecs, valid}, n_rows, w->e);
done:
    arena_free(a);
    return st;
}

static void specials(Out *w) {
    const CopyOptions *o = w->o;
    w->special['\n'] = w->special['\r'] = w->special[(uint8_t)o->delimiter] = true;
    if (o->format == COPY_CSV) w->special[(uint8_t)o->quote] = true;
    if (o->format != COPY_TEXT) return;
    for (const char *s = "\\\b\f\t\v"; *s; s++) w->special[(uint8_t)*s] = true;
}

Status copy_to(const CopySource *from, const CopyOptions *o, Vfs *vfs, const char *path, CopyWrite write, void *ctx,
               int64_t *n_rows, Err *e) {
    if (o->format == COPY_PARQUET) return parquet_write(from, vfs, path, n_rows, e);
    if (o->format == COPY_ARROW) return arrow_write(from, vfs, path, n_rows, e);
    *n_rows = 0;
    if (!path && !write) return err_internal(e, "COPY TO without a target");
    Out w = {.o = o,
             .account = from->account,
             .write = write,
             .ctx = ctx,
             .n_cols = from->n_cols,
             .form = from->form,
             .e = e};
    specials(&w);
    Status st = ST_ERROR;
    w.arena = arena_new(w.account, e);
    w.buf = w.arena ? mem_alloc(w.account, out_buffer, e) : NULL;
    if (!w.buf || (path && out_file_open(&w.file, vfs, w.account, path, e) != ST_OK)) goto done;
    if (o->header && out_header(&w, from->names) != ST_OK) goto done;
    if (out_rows(&w, from, n_rows) != ST_OK || out_flush(&w) != ST_OK) goto done;
    st = ST_OK;
done:
    if (w.file.file) st = out_file_end(&w.file, st == ST_OK, e);
    if (w.buf) mem_free(w.account, w.buf, out_buffer);
    arena_free(w.arena);
    return st;
}
