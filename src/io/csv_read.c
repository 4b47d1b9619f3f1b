/* csv_read.c - CSV files as the source of a segment: blocks of whole records to workers, batches of cells to the
 * virtual machine.
 *
 *  1. A worker takes the next block under the input lock; the files follow each other there. The block's number is the
 *     order of its rows.
 *  2. It checks the block's encoding and parses it in batches of COPY_BATCH rows (copy_parse.c), columns that the
 *     statement does not want only as far as to find their ends. Strings are views into the block, which is kept until
 *     the worker asks for its next batch.
 *  3. After a failure no new block is taken; blocks before the failing one are finished, since they may fail earlier in
 *     the file. Line numbers come from the counts of the blocks before.
 *
 * Locks: CsvRun.mu guards the input, CsvRun.fail_mu the failure (docs/LOCKS.md).
 */
#include "io/csv_int.h"

#include <stdatomic.h>

#include "base/mutex.h"

enum { VALUE_SHOWN = 100 /* bytes of a value or line in a message's context */ };

typedef struct CsvRun CsvRun;
typedef struct CsvWorker {
    CsvRun *r;
    Block block;
    const char *at, *end; /* what is left of the block */
    const char *broken;   /* the record with the first invalid byte, behind `end`; NULL: there is none */
    int64_t bad;          /* that byte */
    int64_t order;
    bool taken, failed;
    Arena *arena, *strings;
    CopyCol *cols;
    Vec *vecs;
    CopyParser parser;
} CsvWorker;

typedef struct BlockMark {
    int32_t file;
    int64_t lines;
} BlockMark;

struct CsvRun {
    StreamRun run; /* first */
    const CsvFile *f;
    StreamUse use;
    CopyMonths months;
    CsvWorker *workers;
    /* the input: under mu */
    Mutex mu;
    Blocks blocks;
    int32_t file;     /* that blocks is of */
    bool first_block; /* of its file is the next one */
    int64_t next_order;
    BlockMark *marks;
    int64_t marks_cap;
    _Atomic double done; /* files, with fractions */
    /* the failure: under fail_mu; fail_order is also read without it */
    Mutex fail_mu;
    _Atomic int64_t fail_order; /* INT64_MAX: none */
    int64_t fail_line;          /* within its block, from 1; 0: no place in the file */
    int32_t fail_col;
    Err fail;
    char fail_text[VALUE_SHOWN + 8];
};

/* ---- failures ---------------------------------------------------------------------------------------------------- */

static void show_text(char *out, const char *s, int64_t len) {
    int64_t n = MIN_OF(len, (int64_t)VALUE_SHOWN);
    while (n > 0 && n < len && ((uint8_t)s[n] & 0xC0) == 0x80) n--;
    memcpy(out, s, (size_t)n);
    if (utf8_check(s, n) >= 0)
        for (int64_t i = 0; i < n; i++)
            if ((uint8_t)out[i] < 32 || (uint8_t)out[i] > 126) out[i] = '?';
    memcpy(out + n, len > n ? "..." : "", len > n ? 4 : 1);
}

static int64_t lines_until(const char *s, const char *stop, char eol) {
    int64_t n = 0;
    for (; s < stop && (s = memchr(s, eol, (size_t)(stop - s))); s++) n++;
    return n;
}

/* row NULL: it has no place in the file. col -1: the record as a whole. */
static void fail(CsvWorker *w, int64_t order, const Err *e, const char *row, int32_t col, const Slice *value) {
    CsvRun *r = w->r;
    w->failed = true;
    mutex_lock(&r->fail_mu);
    if (order < atomic_load(&r->fail_order)) {
        const CopyParser *p = &w->parser;
        err_copy(&r->fail, e);
        r->fail_line = 0;
        r->fail_col = col;
        if (row) {
            const char *end = w->block.buf + w->block.len, *stop = copy_record_end(p, row, end);
            if (stop == end && w->block.sentinel) stop--;
            r->fail_line = 1 + lines_until(w->block.buf, row, p->eol);
            if (stop > row && stop[-1] == '\r') stop--;
            if (value) show_text(r->fail_text, value->ptr, value->len);
            else show_text(r->fail_text, row, stop - row);
        }
        atomic_store(&r->fail_order, order);
    }
    mutex_unlock(&r->fail_mu);
}

/* What would have helped. */
static void advise(const CsvRun *r, Err *e) {
    const CsvFile *f = r->f;
    char type[TYPE_NAME_MAX];
    if (r->fail_col < 0 && f->o.format == COPY_JSON) {
        if (strcmp(e->sqlstate, ERR_BAD_COPY) == 0)
            err_hint(e, "Options: sample_size => -1 finds keys of later rows, ignore_errors => true leaves rows out.");
        return;
    }
    if (r->fail_col < 0) {
        if (strcmp(e->sqlstate, ERR_BAD_COPY) != 0) return;
        bool tbl = f->o.format == COPY_TBL, quotes = !tbl && f->o.quote != (char)CSV_NO_QUOTE;
        err_detail(e, "Expected were %d fields, delimiter \"%s\", quote %.*s.", (int)f->n_cols,
                   f->o.delimiter == '\t' ? "\\t" : (char[2]){f->o.delimiter, 0}, quotes ? 1 : 4,
                   quotes ? &f->o.quote : "none");
        err_hint(e, "Options: delim, quote, skip, null_padding => true, ignore_errors => true.");
        return;
    }
    const CsvColumn *c = &f->cols[r->fail_col];
    if (!c->guessed) return;
    err_detail(e, "The type of column \"%s\", %s, was guessed from the first %lld rows.", c->name,
               type_name(c->type, &type), (long long)f->sampled);
    err_hint(e,
             "Set it: types => ARRAY['%s: text'], look at more rows: sample_size => -1, or skip such rows: "
             "ignore_errors => true.",
             c->name);
}

/* After all workers have ended. */
static void report(const CsvRun *r, Err *e) {
    err_copy(e, &r->fail);
    if (r->fail_line == 0) return;
    int64_t order = atomic_load(&r->fail_order);
    int32_t file = r->marks[order].file;
    int64_t line = r->fail_line + r->f->skip_lines;
    for (int64_t i = 0; i < order; i++) line += r->marks[i].file == file ? r->marks[i].lines : 0;
    const char *path = r->f->paths[file];
    advise(r, e);
    const char *what = r->f->layout == JSON_ARRAY ? "object" : "line";
    if (r->fail_col >= 0)
        err_context(e, "file \"%s\", %s %lld, column \"%s\": \"%s\"", path, what, (long long)line,
                    r->f->cols[r->fail_col].name, r->fail_text);
    else err_context(e, "file \"%s\", %s %lld: \"%s\"", path, what, (long long)line, r->fail_text);
}

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

static Status open_file(CsvRun *r, Err *e) {
    const CsvFile *f = r->f;
    r->blocks = (Blocks){.o = &f->o,
                         .account = r->use.account,
                         .eol = f->o.format == COPY_CSV ? EOL_UNKNOWN : EOL_LF,
                         .strip_bom = true,
                         .skip_lines = f->skip_lines,
                         .json = {.layout = f->layout}};
    r->first_block = true;
    return input_open(r->use.vfs, r->use.account, f->paths[r->file], &r->blocks.input, e);
}
static void close_file(CsvRun *r) {
    blocks_release(&r->blocks);
    input_close(r->blocks.input);
    r->blocks.input = NULL;
}

static Status mark_block(CsvRun *r, const Block *b, Err *e) {
    if (r->next_order == r->marks_cap) {
        int64_t cap = MAX_OF(r->marks_cap * 2, 256), size = (int64_t)sizeof *r->marks;
        BlockMark *p = mem_realloc(r->use.account, r->marks, r->marks_cap * size, cap * size, e);
        if (!p) return ST_ERROR;
        r->marks = p;
        r->marks_cap = cap;
    }
    int64_t lines = r->f->o.format == COPY_CSV ? b->cut.cut_lines : lines_until(b->buf, b->buf + b->len, '\n');
    r->marks[r->next_order] = (BlockMark){r->file, lines};
    return ST_OK;
}

/* The next block of the next file that has one; *got false: there is none. *first: it is its file's first. */
static Status next_block(CsvRun *r, CsvWorker *w, bool *got, bool *first, Err *e) {
    *got = false;
    for (;;) {
        TRY(stream_interrupted(&r->use, e));
        if (r->file >= r->f->n_paths) return ST_OK;
        if (!r->blocks.input) TRY(open_file(r, e));
        if (blocks_next(&r->blocks, &w->block, e) != ST_OK) {
            err_context(e, "file \"%s\"", r->f->paths[r->file]);
            return ST_ERROR;
        }
        if (w->block.len > 0) break;
        close_file(r);
        r->file++;
        atomic_store(&r->done, (double)r->file);
    }
    TRY(mark_block(r, &w->block, e));
    int64_t size = input_size(r->blocks.input);
    if (size > 0) {
        double part = (double)input_position(r->blocks.input) / (double)size;
        atomic_store(&r->done, r->file + MIN_OF(part, 1.0));
    }
    *first = r->first_block;
    r->first_block = false;
    *got = true;
    return ST_OK;
}

/* What of the block can be read: up to a record with bytes that are no UTF-8. */
static void begin_block(CsvWorker *w) {
    w->at = w->block.buf;
    w->end = w->block.buf + w->block.len;
    w->bad = utf8_check(w->block.buf, w->block.len);
    w->broken = NULL;
    if (w->bad < 0) return;
    for (w->broken = w->at;;) {
        const char *stop = copy_record_end(&w->parser, w->broken, w->end);
        if (stop >= w->block.buf + w->bad || stop >= w->end) break;
        w->broken = stop + 1;
    }
    w->end = w->broken;
}

static bool same_header(CsvWorker *w, const char *s) {
    const CsvFile *f = w->r->f;
    CopyParser *p = &w->parser;
    for (int32_t i = 0; i < f->n_header; i++) {
        Slice text = {0};
        bool is_null;
        if (copy_next_field(p, NULL, &s, w->end, &text, &is_null) != ST_OK) {
            err_clear(&p->err);
            return false;
        }
        if (!slice_eq(text, f->header[i])) return false;
        if (*s != p->delimiter) return i + 1 == f->n_header;
        s++;
    }
    return false;
}

/* The header of a file: that of the first one. */
static Status skip_header(CsvWorker *w, int32_t file) {
    const CsvFile *f = w->r->f;
    const char *row = w->at;
    if (!f->o.header || w->at >= w->end) return ST_OK;
    if (file > 0 && !same_header(w, w->at)) {
        Err e;
        err_clear(&e);
        err_set(&e, ERR_BAD_COPY, "the header is not that of file \"%s\"", f->paths[0]);
        fail(w, w->order, &e, row, -1, NULL);
        return ST_ERROR;
    }
    w->at = MIN_OF(copy_record_end(&w->parser, row, w->end) + 1, w->end);
    return ST_OK;
}

static bool take_block(CsvWorker *w) {
    CsvRun *r = w->r;
    bool got = false, first = false;
    Err e;
    err_clear(&e);
    mutex_lock(&r->mu);
    Status st = atomic_load(&r->fail_order) == INT64_MAX ? next_block(r, w, &got, &first, &e) : ST_OK;
    w->order = r->next_order;
    int32_t file = r->file;
    r->next_order += got;
    CopyParser *p = &w->parser;
    p->eol = blocks_eol(&r->blocks);
    p->crlf = r->blocks.eol == EOL_CRLF || r->f->o.format == COPY_TBL;
    p->sentinel = w->block.sentinel;
    p->extra_lines = 0;
    mutex_unlock(&r->mu);
    /* blocks that were taken before come first in the file: their failures win */
    if (st != ST_OK) fail(w, w->order, &e, NULL, -1, NULL);
    if (st != ST_OK || !got) return false;
    begin_block(w);
    return !first || skip_header(w, file) == ST_OK;
}

/* ---- batches ----------------------------------------------------------------------------------------------------- */

static void give_batch(CsvWorker *w, StreamBatch *out) {
    CopyParser *p = &w->parser;
    out->order = w->order;
    out->n = p->n;
    out->cols = w->vecs;
    for (int i = 0; i < p->n_cols; i++) w->vecs[i].valid = w->cols[i].has_nulls ? w->cols[i].valid : NULL;
}

/* The record that could not be read. */
static void record_failed(CsvWorker *w) {
    CopyParser *p = &w->parser;
    if (w->r->f->ignore_errors && strncmp(p->err.sqlstate, "53", 2) != 0) {
        w->at = MIN_OF(copy_record_end(p, p->fail_row, w->end) + 1, w->end);
        err_clear(&p->err);
        return;
    }
    fail(w, w->order, &p->err, p->fail_row, p->fail_col, p->fail_col >= 0 ? &p->fail_value : NULL);
}

static void encoding_failed(CsvWorker *w) {
    Err e;
    err_clear(&e);
    err_set(&e, ERR_CHAR_NOT_IN_REPERTOIRE, "invalid byte sequence for encoding \"UTF8\": 0x%02x",
            (unsigned)(uint8_t)w->block.buf[w->bad]);
    fail(w, w->order, &e, w->broken, -1, NULL);
}

static Status csv_next(StreamRun *run, int worker, StreamBatch *out, Err *e) {
    CsvRun *r = (CsvRun *)run;
    CsvWorker *w = &r->workers[worker];
    (void)e;
    out->n = 0;
    for (;;) {
        if (w->failed || (w->taken && w->order > atomic_load(&r->fail_order))) return ST_OK;
        if (!w->taken || w->at >= w->end) {
            if (w->taken && w->broken) {
                encoding_failed(w);
                return ST_OK;
            }
            if (stream_paused(&r->use)) return ST_OK;
            if (!(w->taken = take_block(w))) return ST_OK;
            continue;
        }
        arena_reset(w->strings);
        if (copy_parse(&w->parser, &w->at, w->end) != ST_OK) record_failed(w);
        if (w->parser.n > 0) {
            give_batch(w, out);
            return ST_OK;
        }
    }
}

static Status csv_end(StreamRun *run, Err *e) {
    const CsvRun *r = (const CsvRun *)run;
    if (atomic_load(&r->fail_order) == INT64_MAX) return ST_OK;
    report(r, e);
    return ST_ERROR;
}

static double csv_fraction(StreamRun *run) {
    CsvRun *r = (CsvRun *)run;
    return atomic_load(&r->done) / MAX_OF(r->f->n_paths, 1);
}

static void csv_free(StreamRun *run) {
    CsvRun *r = (CsvRun *)run;
    MemAccount *a = r->use.account;
    for (int i = 0; r->workers && i < r->use.threads; i++) {
        block_release(&r->workers[i].block, a);
        arena_free(r->workers[i].strings);
        arena_free(r->workers[i].arena);
    }
    if (r->workers) mem_free(a, r->workers, (int64_t)sizeof *r->workers * r->use.threads);
    close_file(r);
    if (r->marks) mem_free(a, r->marks, r->marks_cap * (int64_t)sizeof *r->marks);
    mutex_destroy(&r->mu);
    mutex_destroy(&r->fail_mu);
    mem_free(a, r, (int64_t)sizeof *r);
}

/* ---- the beginning ----------------------------------------------------------------------------------------------- */

static Status worker_init(CsvRun *r, CsvWorker *w, Err *e) {
    const CsvFile *f = r->f;
    w->r = r;
    if (!(w->arena = arena_new(r->use.account, e)) || !(w->strings = arena_new(r->use.account, e))) return ST_ERROR;
    w->cols = arena_array(w->arena, CopyCol, f->n_cols + 1);
    w->vecs = arena_array(w->arena, Vec, f->n_cols + 1);
    if (!w->cols || !w->vecs) return ST_ERROR;
    for (int32_t i = 0; i < f->n_cols; i++) {
        const CsvColumn *c = &f->cols[i];
        w->cols[i] = (CopyCol){.type = c->type,
                               .name = c->name,
                               .skip = !r->use.wanted[i],
                               .strict = c->guessed,
                               .comma = c->comma,
                               .format = c->format,
                               .n_nulls = c->n_nulls,
                               .nulls = c->nulls};
    }
    TRY(copy_parser_init(&w->parser, &f->o, f->n_cols, w->cols, &r->months, r->use.session, w->arena));
    w->parser.arena = w->strings;
    w->parser.skip_blank = f->n_cols > 1;
    w->parser.pad = f->pad;
    if (f->o.format == COPY_JSON) TRY(json_columns_init(&w->parser, f->unknown_keys, w->arena));
    arena_set_err(w->strings, &w->parser.err);
    for (int32_t i = 0; i < f->n_cols; i++)
        w->vecs[i] =
            (Vec){.phys = (uint8_t)type_phys(f->cols[i].type), .type = f->cols[i].type, .data = w->cols[i].cells};
    return ST_OK;
}

Status csv_begin(const RowStream *s, const StreamUse *use, StreamRun **out, Err *e) {
    CsvRun *r = mem_calloc(use->account, (int64_t)sizeof *r, e);
    if (!r) return ST_ERROR;
    r->run = (StreamRun){.next = csv_next, .end = csv_end, .fraction = csv_fraction, .free = csv_free};
    r->f = (const CsvFile *)s;
    r->use = *use;
    atomic_store(&r->fail_order, INT64_MAX);
    mutex_init(&r->mu, RANK_COPY);
    mutex_init(&r->fail_mu, RANK_COPY_FAIL);
    copy_months_init(&r->months);
    Status st = ST_ERROR;
    r->workers = mem_calloc(use->account, (int64_t)sizeof *r->workers * use->threads, e);
    if (r->workers) st = ST_OK;
    for (int i = 0; st == ST_OK && i < use->threads; i++) st = worker_init(r, &r->workers[i], e);
    if (st != ST_OK) {
        csv_free(&r->run);
        return err_is_set(e) ? ST_ERROR : err_oom(e);
    }
    *out = &r->run;
    return ST_OK;
}
