/* copy.c - COPY FROM: blocks of the input to workers, rows to a TableLoad, the first error to the caller.
 *
 *  1. A worker takes the next block under the input lock (blocks.h): reading there keeps the order of blocks simple,
 *     and works for streams as for files.
 *  2. It checks the block's encoding and parses it in batches of COPY_BATCH rows, each handed to load_add; strings are
 * views into the block until then. The block's number is the order of its rows.
 *  3. On an error no new block is taken, blocks before the failing one are finished (they may fail earlier in
 *     the file), later ones are dropped. Line numbers come from the counts of the blocks before.
 *
 * Thread rules: Loader.mu guards the input; Loader.fail_mu the failure. The progress function is called by the caller's
 * thread only.
 */
#include <stdatomic.h>

#include "base/mutex.h"
#include "io/blocks.h"
#include "storage/row_change.h"

enum { VALUE_SHOWN = 100 }; /* bytes of a value or line in a message's context */

typedef struct Loader Loader;
typedef struct Worker {
    Loader *l;
    int number;
    Block block;
    int64_t order;
    Arena *arena, *strings;
    CopyCol *cols;
    Vec *vecs; /* per table column */
    CopyParser parser;
    CopyRejects rejects;
} Worker;

struct Loader {
    const CopyTarget *t;
    const CopyOptions *o;
    TableLoad *load;
    CopyMonths months;
    Worker *workers;
    int n_workers;
    /* the input: under mu */
    Mutex mu;
    Blocks blocks;
    int64_t size; /* bytes of the file; 0: unknown */
    int64_t next_order;
    int64_t *lines; /* per block, filled by its worker */
    int64_t lines_cap;
    _Atomic int64_t n_rejected;
    /* the failure: under fail_mu; fail_order is also read without it */
    Mutex fail_mu;
    _Atomic int64_t fail_order; /* INT64_MAX: none */
    int64_t fail_line;          /* within its block, from 1; 0 = no place in the file */
    Err fail;
    char fail_text[VALUE_SHOWN + 8];
    const char *fail_col;
    bool fail_has_text;
};

/* ---- failures --------------------------------------------------------------------------------------- */

static void show_text(char *out, const char *s, int64_t len) {
    int64_t n = len;
    if (n > VALUE_SHOWN) {
        n = VALUE_SHOWN;
        while (n > 0 && (s[n] & 0xC0) == 0x80) n--;
    }
    if (utf8_check(s, n) >= 0) {
        for (int64_t i = 0; i < n; i++) out[i] = (char)((uint8_t)s[i] >= 32 && (uint8_t)s[i] < 127 ? s[i] : '?');
    } else {
        memcpy(out, s, (size_t)n);
    }
    memcpy(out + n, len > n ? "..." : "", len > n ? 4 : 1);
}

/* row NULL: the failure has no place in the file. */
static void fail(Worker *w, int64_t order, const Err *e, const char *row, const char *col, const Slice *value) {
    Loader *l = w->l;
    mutex_lock(&l->fail_mu);
    if (order < atomic_load(&l->fail_order)) {
        err_copy(&l->fail, e);
        l->fail_line = 0;
        l->fail_col = col;
        l->fail_has_text = false;
        if (row) {
            const CopyParser *p = &w->parser;
            const char *end = w->block.buf + w->block.len, *stop = copy_record_end(p, row, end);
            if (stop == end && w->block.sentinel) stop--;
            int64_t line = 1;
            for (const char *s = w->block.buf; s < stop && (s = memchr(s, p->eol, (size_t)(stop - s))); s++) line++;
            l->fail_line = line;
            if (!col) {
                int64_t n = stop - row;
                if (n > 0 && row[n - 1] == '\r') n--;
                show_text(l->fail_text, row, n);
                l->fail_has_text = true;
            } else if (value) {
                show_text(l->fail_text, value->ptr, value->len);
                l->fail_has_text = true;
            }
        }
        atomic_store(&l->fail_order, order);
    }
    mutex_unlock(&l->fail_mu);
}
static void fail_plain(Worker *w, int64_t order, const Err *e) { fail(w, order, e, NULL, NULL, NULL); }

/* After all workers have ended. */
static void report(const Loader *l, Err *e) {
    err_copy(e, &l->fail);
    if (l->fail_line == 0) return;
    int64_t line = l->fail_line + l->o->skip_lines;
    for (int64_t i = 0; i < atomic_load(&l->fail_order); i++) line += l->lines[i];
    const char *table = l->t->table->name;
    if (l->fail_col && l->fail_has_text)
        err_context(e, "COPY %s, line %lld, column %s: \"%s\"", table, (long long)line, l->fail_col, l->fail_text);
    else if (l->fail_col)
        err_context(e, "COPY %s, line %lld, column %s: null input", table, (long long)line, l->fail_col);
    else err_context(e, "COPY %s, line %lld: \"%s\"", table, (long long)line, l->fail_text);
}

/* ---- blocks --------------------------------------------------------------------------------------------- */

static bool take_block(Worker *w) {
    Loader *l = w->l;
    const CopyTarget *t = l->t;
    bool ok = false;
    Err e = {0};
    mutex_lock(&l->mu);
    if (l->blocks.done || atomic_load(&l->fail_order) != INT64_MAX) goto done;
    if (t->cancel && atomic_load(t->cancel)) {
        err_set(&e, ERR_QUERY_CANCELED, "canceling statement due to user request");
        goto failed;
    }
    if (l->next_order == l->lines_cap) {
        int64_t cap = MAX_OF(l->lines_cap * 2, 1024);
        int64_t *p = mem_realloc(t->account, l->lines, l->lines_cap * 8, cap * 8, &e);
        if (!p) goto failed;
        l->lines = p;
        l->lines_cap = cap;
    }
    if (blocks_next(&l->blocks, &w->block, &e) != ST_OK) goto failed;
    if (w->block.len == 0) goto done;
    w->order = l->next_order++;
    l->lines[w->order] = 0;
    w->parser.eol = blocks_eol(&l->blocks);
    w->parser.crlf = l->blocks.eol == EOL_CRLF || l->o->format == COPY_TBL;
    w->parser.sentinel = w->block.sentinel;
    w->parser.extra_lines = 0;
    ok = true;
    goto done;
failed:
    /* Blocks taken so far come first in the file: their errors win. */
    fail_plain(w, l->next_order, &e);
done:
    mutex_unlock(&l->mu);
    return ok;
}

/* ---- rows --------------------------------------------------------------------------------------------- */

/* The batch's rows to the bulk load. A NOT NULL violation is found here to know its line. */
static Status flush(Worker *w) {
    Loader *l = w->l;
    CopyParser *p = &w->parser;
    const Table *t = l->t->table;
    if (p->n == 0) return ST_OK;
    for (int i = 0; i < p->n_cols; i++) w->vecs[l->t->cols[i]].valid = p->cols[i].has_nulls ? p->cols[i].valid : NULL;
    NewRows x = {.n = p->n, .n_cols = t->n_cols, .vals = w->vecs};
    const int64_t bad = rows_passing(t, &x);
    Err e;
    e.sqlstate[0] = 0;
    if (bad < p->n) {
        x.first = bad;
        x.n = 1;
        (void)rows_check(t, &x, NULL, &e);
        fail(w, w->order, &e, p->rows[bad], NULL, NULL);
        return ST_ERROR;
    }
    Status st = load_add(l->load, w->number, w->order, p->n, w->vecs, &e);
    if (st != ST_OK) fail_plain(w, w->order, &e);
    return st;
}

static void parse_failed(Worker *w) {
    CopyParser *p = &w->parser;
    fail(w, w->order, &p->err, p->fail_row, p->fail_col >= 0 ? p->cols[p->fail_col].name : NULL,
         p->fail_col >= 0 ? &p->fail_value : NULL);
}

/* A record that cannot be read: the block goes on behind it, where errors are ignored. */
static Status leave_out(Worker *w, const char **s, const char *end, int64_t *rows) {
    Loader *l = w->l;
    CopyParser *p = &w->parser;
    const CopyOptions *o = l->o;
    if (!o->ignore_errors || strncmp(p->err.sqlstate, "53", 2) == 0) {
        parse_failed(w);
        return ST_ERROR;
    }
    int64_t n = atomic_fetch_add(&l->n_rejected, 1) + 1;
    if (o->reject_limit && n > o->reject_limit) {
        err_clear(&p->err);
        err_set(&p->err, ERR_INVALID_TEXT,
                "skipped more than REJECT_LIMIT (%lld) rows due to data type incompatibility",
                (long long)o->reject_limit);
        parse_failed(w);
        return ST_ERROR;
    }
    if (o->reject && copy_reject(&w->rejects, w->arena, p, w->order, w->block.buf, end) != ST_OK) {
        err_oom(&p->err);
        parse_failed(w);
        return ST_ERROR;
    }
    const char *stop = copy_record_end(p, p->fail_row, end);
    for (const char *q = p->fail_row; o->format == COPY_TEXT && q < stop; q++) p->extra_lines += *q == p->eol;
    *s = MIN_OF(stop + 1, end);
    *rows += 1;
    err_clear(&p->err);
    return ST_OK;
}

static Status load_block(Worker *w) {
    Loader *l = w->l;
    CopyParser *p = &w->parser;
    const char *s = w->block.buf, *end = w->block.buf + w->block.len;
    int64_t rows = 0, bad = utf8_check(w->block.buf, w->block.len);
    const char *broken = NULL; /* the record with the first invalid byte */
    if (bad >= 0) {
        for (broken = s;;) {
            const char *stop = copy_record_end(p, broken, end);
            if (stop >= w->block.buf + bad || stop >= end) break;
            broken = stop + 1;
        }
        /* What comes before it may fail first. */
        end = broken;
    }
    if (w->order == 0 && l->o->header && s < end) {
        rows++;
        if (copy_skip_header(p, &s, end) != ST_OK) {
            parse_failed(w);
            return ST_ERROR;
        }
    }
    while (s < end) {
        Status st = copy_parse(p, &s, end);
        rows += p->n;
        TRY(flush(w)); /* on an error too: rows before it may be refused */
        if (st != ST_OK) TRY(leave_out(w, &s, end, &rows));
        arena_reset(w->strings);
        if (w->order > atomic_load(&l->fail_order)) return ST_ERROR;
    }
    if (broken) {
        Err e;
        e.sqlstate[0] = 0;
        err_set(&e, ERR_CHAR_NOT_IN_REPERTOIRE, "invalid byte sequence for encoding \"UTF8\": 0x%02x",
                (unsigned)(uint8_t)w->block.buf[bad]);
        fail(w, w->order, &e, broken, NULL, NULL);
        return ST_ERROR;
    }
    l->lines[w->order] = l->o->format == COPY_CSV ? w->block.cut.cut_lines : rows + p->extra_lines;
    /* A block without rows must not leave a gap in the orders. */
    if (rows == 0 || (w->order == 0 && l->o->header && rows == 1)) {
        Err e;
        e.sqlstate[0] = 0;
        if (load_add(l->load, w->number, w->order, 0, w->vecs, &e) != ST_OK) {
            fail_plain(w, w->order, &e);
            return ST_ERROR;
        }
    }
    return ST_OK;
}

/* What the options say of a column's texts, and what was found out of them. */
static void form_of(const CopyOptions *o, int i, CopyCol *k) {
    bool date = k->type.id == T_DATE, stamp = k->type.id == T_TIMESTAMP || k->type.id == T_TIMESTAMPTZ;
    if (o->forms) {
        k->n_nulls = o->forms[i].n_nulls;
        k->nulls = o->forms[i].nulls;
        if (date || stamp) k->format = o->forms[i].format;
        k->comma = o->forms[i].comma && type_is_number(k->type);
    }
    if (date && o->date_format) k->format = o->date_format;
    if (stamp && o->timestamp_format) k->format = o->timestamp_format;
    if (o->decimal_comma && type_is_number(k->type)) k->comma = true;
}

static Status worker_init(Worker *w, Err *e) {
    Loader *l = w->l;
    const CopyTarget *t = l->t;
    const Table *tab = t->table;
    w->arena = arena_new(t->account, e);
    w->strings = w->arena ? arena_new(t->account, e) : NULL;
    if (!w->strings) return ST_ERROR;
    w->cols = arena_array(w->arena, CopyCol, t->n_cols + 1);
    w->vecs = arena_array(w->arena, Vec, tab->n_cols + 1);
    if (!w->cols || !w->vecs) return ST_ERROR;
    for (int i = 0; i < t->n_cols; i++) {
        w->cols[i].type = tab->cols[t->cols[i]].type;
        w->cols[i].name = tab->cols[t->cols[i]].name;
        form_of(l->o, i, &w->cols[i]);
    }
    TRY(copy_parser_init(&w->parser, l->o, t->n_cols, w->cols, &l->months, t->session, w->arena));
    w->parser.arena = w->strings;
    w->parser.skip_blank = l->o->sniff && t->n_cols > 1;
    arena_set_err(w->strings, &w->parser.err);
    return ST_OK;
}

/* Vectors: the parser's cells, and constants for columns that the file does not have. */
static Status vecs_init(Worker *w) {
    const CopyTarget *t = w->l->t;
    const Table *tab = t->table;
    for (int c = 0; c < tab->n_cols; c++) {
        Type type = tab->cols[c].type;
        Vec *v = &w->vecs[c];
        *v = (Vec){.phys = (uint8_t)type_phys(type), .type = type, .is_const = true};
        Value *val = arena_new_of(w->arena, Value);
        if (!val) return ST_ERROR;
        *val = (Value){.type = type, .is_null = true};
        if (t->defaults && !t->defaults[c].is_null) *val = t->defaults[c];
        else if (v->phys == PH_STR) val->u.str = str_make("", 0);
        v->data = value_cell(val);
        if (val->is_null && !(v->valid = arena_calloc(w->arena, 1))) return ST_ERROR;
    }
    for (int i = 0; i < t->n_cols; i++) {
        Vec *v = &w->vecs[t->cols[i]];
        v->is_const = false;
        v->valid = NULL;
        v->data = w->cols[i].cells;
    }
    return ST_OK;
}

static void load_worker(void *ctx, int number) {
    Loader *l = ctx;
    if (number >= l->n_workers) return;
    Worker *w = &l->workers[number];
    while (take_block(w)) {
        if (load_block(w) != ST_OK) break;
        if (number != 0 || !l->t->progress || l->size <= 0) continue;
        l->t->progress(l->t->progress_ctx,
                       MIN_OF((double)(w->order + 1) * (double)copy_chunk_bytes / (double)l->size, 1.0));
    }
}

/* Those of all workers, in the order of the file. */
static Status write_rejects(Loader *l, Vfs *vfs, Err *e) {
    int64_t n = 0, size = atomic_load(&l->n_rejected) * (int64_t)sizeof(CopyReject);
    CopyReject *all = mem_alloc(l->t->account, MAX_OF(size, 1), e);
    if (!all) return ST_ERROR;
    for (int i = 0; i < l->n_workers; i++) {
        const CopyRejects *r = &l->workers[i].rejects;
        if (r->n) memcpy(all + n, r->items, (size_t)r->n * sizeof *all);
        n += r->n;
    }
    Status st =
        copy_reject_write(all, n, l->lines, l->next_order, l->o->skip_lines, vfs, l->o->reject, l->t->account, e);
    mem_free(l->t->account, all, MAX_OF(size, 1));
    return st;
}

/* ---- the whole -------------------------------------------------------------------------------------------- */

Status copy_from(const CopyTarget *t, const CopyOptions *o, Vfs *vfs, const char *path, CopyRead read, void *ctx,
                 UndoLog *undo, int64_t *rows, Err *e) {
    *rows = 0;
    if (!path && !read) return err_internal(e, "COPY FROM without a source");
    Status st = ST_ERROR;
    Loader *l = mem_calloc(t->account, (int64_t)sizeof *l, e);
    if (!l) return ST_ERROR;
    *l = (Loader){.t = t, .o = o};
    l->blocks = (Blocks){.o = o,
                         .account = t->account,
                         .read = read,
                         .read_ctx = ctx,
                         .marker = !o->sniff,
                         .strip_bom = o->sniff,
                         .skip_lines = o->skip_lines};
    atomic_store(&l->fail_order, INT64_MAX);
    l->blocks.eol = o->format == COPY_TBL ? EOL_LF : EOL_UNKNOWN;
    mutex_init(&l->mu, RANK_COPY);
    mutex_init(&l->fail_mu, RANK_COPY_FAIL);
    copy_months_init(&l->months);
    if (path) {
        if (input_open(vfs, t->account, path, &l->blocks.input, e) != ST_OK) goto done;
        l->size = input_size(l->blocks.input);
    }
    int threads = t->pool ? MIN_OF(t->threads, pool_threads(t->pool)) : 1;
    if (path && l->size / copy_chunk_bytes + 1 < threads) threads = (int)(l->size / copy_chunk_bytes + 1);
    threads = MAX_OF(threads, 1);
    l->workers = mem_calloc(t->account, (int64_t)sizeof(Worker) * threads, e);
    if (!l->workers) goto done;
    l->n_workers = threads;
    for (int i = 0; i < threads; i++) {
        Worker *w = &l->workers[i];
        w->l = l;
        w->number = i;
        /* Buffers of all workers are made here, where an error has one place to go. */
        if (worker_init(w, e) != ST_OK || vecs_init(w) != ST_OK) goto done;
    }
    for (int i = 0; i < threads; i++) arena_set_err(l->workers[i].arena, &l->workers[i].parser.err);
    if (load_begin(t->table, threads, &l->load, e) != ST_OK) goto done;
    if (t->unlock) t->unlock(t->lock_ctx);
    if (threads > 1) pool_run(t->pool, threads, load_worker, l);
    else load_worker(l, 0);
    if (atomic_load(&l->fail_order) != INT64_MAX) {
        report(l, e);
        goto done;
    }
    if (o->reject && write_rejects(l, vfs, e) != ST_OK) goto done;
    if (t->rejected) *t->rejected = atomic_load(&l->n_rejected);
    st = t->lock ? t->lock(t->lock_ctx) : ST_OK;
    if (st == ST_OK) st = load_finish(l->load, t->pool, undo, rows, e);
    if (st == ST_OK && t->progress) t->progress(t->progress_ctx, 1.0);
done:
    if (st != ST_OK && !err_is_set(e)) err_oom(e);
    if (l->load) load_cancel(l->load);
    for (int i = 0; i < l->n_workers; i++) {
        Worker *w = &l->workers[i];
        block_release(&w->block, t->account);
        arena_free(w->strings);
        arena_free(w->arena);
    }
    if (l->workers) mem_free(t->account, l->workers, (int64_t)sizeof(Worker) * l->n_workers);
    blocks_release(&l->blocks);
    if (l->lines) mem_free(t->account, l->lines, l->lines_cap * 8);
    input_close(l->blocks.input);
    mutex_destroy(&l->mu);
    mutex_destroy(&l->fail_mu);
    mem_free(t->account, l, (int64_t)sizeof *l);
    return st;
}
