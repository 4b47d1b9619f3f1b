/* parquet.c - Parquet files as the source of a segment. See parquet.h.
 *
 * Workers take slices of row groups in turn, each with a footer of its own, and read the columns that the statement
 * wants in batches (parquet_pages.c). A batch ends where a page of some column does, so that strings are views into
 * pages and nothing is kept from page to page; nested columns have strings of their own (parquet_nested.c). A row group
 * is one slice, unless there are too few of them for the workers: then slices begin in the middle of pages, which are
 * decompressed for both.
 *
 * Row groups whose statistics show that the statement wants none of their rows are left out.
 *
 * Files are read, not mapped: one that shrinks meanwhile is an error and no signal.
 *
 * Locks: ParquetRun.mu guards the next slice and the failure (docs/LOCKS.md).
 */
#include "io/parquet.h"

#include <stdatomic.h>

#include "base/mutex.h"
#include "io/parquet_footer.h"

enum { SLICE_ROWS = 65536 /* at least, of a row group that workers share */ };

typedef struct ParquetFile {
    RowStream stream; /* first */
    int32_t n_paths;
    const char *const *paths;
    int32_t n_cols;
    ParquetColumn *cols;
} ParquetFile;

static Status make_stream(ParquetFile *f, Arena *a, int64_t rows, int32_t groups) {
    const char **names = arena_array(a, const char *, f->n_cols + 1), **more = arena_array(a, const char *, 2);
    Type *types = arena_array(a, Type, f->n_cols + 1);
    if (!names || !types || !more) return ST_ERROR;
    for (int32_t i = 0; i < f->n_cols; i++) {
        names[i] = f->cols[i].name;
        types[i] = f->cols[i].type;
    }
    more[0] = arena_printf(a, "Parquet, %lld rows in %d row groups", (long long)rows, (int)groups);
    f->stream.n_cols = f->n_cols;
    f->stream.names = names;
    f->stream.types = types;
    f->stream.more = more;
    f->stream.est_rows = (double)rows * f->n_paths;
    return more[0] ? ST_OK : ST_ERROR;
}

/* ---- slices ------------------------------------------------------------------------------------------------------ */

typedef struct ParquetRun ParquetRun;
typedef struct ParquetWorker {
    ParquetFooter *footer;
    int32_t file; /* whose it is; -1: none */
    bool open;    /* a slice is */
    int32_t group;
    int64_t order, first, left; /* rows of it */
    bool failed;
    Arena *arena, *strings; /* strings: of nested columns, of the rows given last */
    Codecs *codecs;
    ParquetPages *pages;    /* by column, these too: */
    ParquetNested **nested; /* instead, of those that are nested */
    void **cells;
    uint8_t **valid;
    Vec *vecs;
} ParquetWorker;

struct ParquetRun {
    StreamRun run; /* first */
    const ParquetFile *f;
    StreamUse use;
    ParquetWorker *workers;
    Mutex mu;
    int32_t file, group, n_groups; /* the next; n_groups below 0: unknown */
    int64_t group_first;           /* row of the group that the next slice begins with */
    int64_t next_order;
    _Atomic double done;
    _Atomic int64_t fail_order;
    Err fail;
};

static void fail(ParquetWorker *w, ParquetRun *r, int64_t order, const Err *e) {
    w->failed = true;
    mutex_lock(&r->mu);
    if (order < atomic_load(&r->fail_order)) {
        err_copy(&r->fail, e);
        atomic_store(&r->fail_order, order);
    }
    mutex_unlock(&r->mu);
}

static bool same_column(const ParquetColumn *x, const ParquetColumn *y) {
    return strcmp(x->name, y->name) == 0 && x->physical == y->physical && x->length == y->length &&
           x->form == y->form && x->max_def == y->max_def && x->max_rep == y->max_rep && x->multiply == y->multiply &&
           x->divide == y->divide && type_eq(x->type, y->type);
}

static bool same_field(const ParquetTree *x, const ParquetTree *y, int32_t i) {
    const NestedField *f = &x->fields[i], *g = &y->fields[i];
    return memcmp(&x->nodes[i], &y->nodes[i], sizeof x->nodes[i]) == 0 && f->kind == g->kind &&
           f->n_children == g->n_children && strcmp(f->name, g->name) == 0;
}

static bool same_tree(const ParquetTree *x, const ParquetTree *y) {
    if (!x || !y) return x == y;
    bool same = x->n_nodes == y->n_nodes && x->n_leaves == y->n_leaves;
    for (int32_t i = 0; same && i < x->n_nodes; i++) same = same_field(x, y, i);
    for (int32_t i = 0; same && i < x->n_leaves; i++) same = same_column(&x->leaves[i], &y->leaves[i]);
    return same;
}

/* The columns must be those of the first file. */
static Status same_columns(const ParquetRun *r, const ParquetWorker *w, Err *e) {
    const ParquetFile *f = r->f;
    ParquetColumn *cols;
    int32_t n;
    Arena *a = arena_new(r->use.account, e);
    if (!a) return ST_ERROR;
    Status st = parquet_footer_columns(w->footer, a, &n, &cols, e);
    bool same = st == ST_OK && n == f->n_cols;
    for (int32_t i = 0; same && i < n; i++)
        same = same_column(&cols[i], &f->cols[i]) && same_tree(cols[i].tree, f->cols[i].tree);
    arena_free(a);
    if (st != ST_OK || same) return st;
    return err_set(e, ERR_BAD_COPY, "Parquet file \"%s\" has other columns than \"%s\"", f->paths[w->file],
                   f->paths[0]);
}

static Status open_file(ParquetRun *r, ParquetWorker *w, int32_t file, Err *e) {
    if (w->file == file) return ST_OK;
    parquet_footer_close(w->footer);
    w->file = file;
    w->footer = parquet_footer_open(r->use.vfs, r->use.account, r->f->paths[file], e);
    return w->footer ? same_columns(r, w, e) : ST_ERROR;
}

/* Whether no row of the group can be wanted. */
static bool left_out(const ParquetRun *r, const ParquetWorker *w, int32_t group) {
    for (int32_t i = 0; i < r->use.n_bounds; i++) {
        const StreamBound *b = &r->use.bounds[i];
        int64_t min, max;
        if (!parquet_footer_bounds(w->footer, group, &r->f->cols[b->col], &min, &max)) continue;
        if (max < b->lo || min > b->hi) return true;
    }
    return false;
}

/* Rows of a slice of a row group of so many. */
static int64_t slice_rows(const ParquetRun *r, int64_t rows) {
    int64_t slices = (2 * (int64_t)r->use.threads + r->n_groups - 1) / MAX_OF(r->n_groups, 1);
    slices = MAX_OF(slices, INT64_C(1));
    return MAX_OF(rows / slices + (rows % slices != 0), (int64_t)SLICE_ROWS);
}

/* The next slice of the file's row groups; *got false: there is none. */
static Status next_slice(ParquetRun *r, ParquetWorker *w, bool *got, Err *e) {
    for (; r->group < r->n_groups; r->group++, r->group_first = 0) {
        int64_t rows = parquet_footer_group_rows(w->footer, r->group);
        if (rows < 0)
            return err_set(e, ERR_BAD_COPY, "row group %d of Parquet file \"%s\" is damaged", (int)r->group,
                           r->f->paths[r->file]);
        if (r->group_first == 0 && left_out(r, w, r->group)) {
            atomic_fetch_add(&r->run.skipped, 1);
            continue;
        }
        if (r->group_first >= rows) continue;
        *got = true;
        w->group = r->group;
        w->first = r->group_first;
        w->left = MIN_OF(slice_rows(r, rows), rows - w->first);
        w->order = r->next_order++;
        r->group_first += w->left;
        atomic_store(&r->done, r->file + (double)w->group / r->n_groups);
        return ST_OK;
    }
    return ST_OK;
}

/* The next slice of the next file that has one. Under mu. */
static Status take_slice(ParquetRun *r, ParquetWorker *w, bool *got, Err *e) {
    *got = false;
    for (; r->file < r->f->n_paths; r->file++, r->n_groups = -1) {
        TRY(open_file(r, w, r->file, e));
        if (r->n_groups < 0) {
            r->n_groups = parquet_footer_groups(w->footer);
            r->group = 0;
            r->group_first = 0;
        }
        TRY(next_slice(r, w, got, e));
        if (*got) return ST_OK;
    }
    return ST_OK;
}

/* What went wrong with a column. */
static Status in_column(const ParquetRun *r, const ParquetWorker *w, int32_t i, Err *e) {
    err_context(e, "file \"%s\", row group %d, column \"%s\"", r->f->paths[w->file], (int)w->group, r->f->cols[i].name);
    return ST_ERROR;
}

static Status open_nested(ParquetWorker *w, const ParquetTree *t, ParquetNested *p, Err *e) {
    for (int32_t i = 0; i < t->n_leaves; i++) {
        ParquetChunk chunk;
        TRY(parquet_footer_chunk(w->footer, w->group, &t->leaves[i], &chunk, e));
        parquet_nested_begin(p, i, parquet_footer_file(w->footer), (int32_t)chunk.codec, chunk.start, chunk.end);
    }
    return parquet_nested_skip(p, w->first, e);
}

static Status open_column(ParquetWorker *w, const ParquetColumn *c, ParquetPages *p, Err *e) {
    ParquetChunk chunk;
    TRY(parquet_footer_chunk(w->footer, w->group, c, &chunk, e));
    parquet_pages_begin(p, parquet_footer_file(w->footer), (int32_t)chunk.codec, chunk.start, chunk.end);
    return parquet_pages_skip(p, w->first, e);
}

static Status open_slice(ParquetRun *r, ParquetWorker *w, Err *e) {
    w->open = true;
    for (int32_t i = 0; i < r->f->n_cols; i++) {
        const ParquetColumn *c = &r->f->cols[i];
        if (!r->use.wanted[i]) continue;
        Status st = c->tree ? open_nested(w, c->tree, w->nested[i], e) : open_column(w, c, &w->pages[i], e);
        if (st != ST_OK) return in_column(r, w, i, e);
    }
    return ST_OK;
}

static bool begin_slice(ParquetRun *r, ParquetWorker *w) {
    bool got = false;
    Err e;
    err_clear(&e);
    w->open = false;
    mutex_lock(&r->mu);
    Status st = stream_interrupted(&r->use, &e);
    if (st == ST_OK && atomic_load(&r->fail_order) == INT64_MAX) st = take_slice(r, w, &got, &e);
    if (st != ST_OK) w->order = r->next_order;
    mutex_unlock(&r->mu);
    if (st == ST_OK && got) st = open_slice(r, w, &e);
    if (st != ST_OK) fail(w, r, w->order, &e);
    return st == ST_OK && got;
}

/* ---- batches ----------------------------------------------------------------------------------------------------- */

/* Rows that no page of a wanted column ends within. */
static Status batch_rows(ParquetRun *r, ParquetWorker *w, int64_t *n, Err *e) {
    *n = MIN_OF(w->left, (int64_t)PARQUET_BATCH);
    for (int32_t i = 0; i < r->f->n_cols; i++) {
        if (!r->use.wanted[i]) continue;
        if (w->nested[i]) {
            *n = MIN_OF(*n, parquet_nested_rows(w->nested[i]));
            continue;
        }
        if (parquet_pages_ready(&w->pages[i], e) != ST_OK) return in_column(r, w, i, e);
        *n = MIN_OF(*n, w->pages[i].rows);
    }
    return ST_OK;
}

static Status read_nested(ParquetWorker *w, int32_t i, int64_t n, bool *nulls, Err *e) {
    TRY(parquet_nested_read(w->nested[i], n, w->strings, w->cells[i], w->valid[i], e));
    *nulls = memchr(w->valid[i], 0, (size_t)n) != NULL;
    return ST_OK;
}

static Status read_batch(ParquetRun *r, ParquetWorker *w, int64_t n, Err *e) {
    arena_reset(w->strings);
    arena_set_err(w->strings, e);
    for (int32_t i = 0; i < r->f->n_cols; i++) {
        bool nulls;
        if (!r->use.wanted[i]) continue;
        Status st = w->nested[i] ? read_nested(w, i, n, &nulls, e)
                                 : parquet_pages_read(&w->pages[i], n, w->cells[i], w->valid[i], &nulls, e);
        if (st != ST_OK) return in_column(r, w, i, e);
        w->vecs[i].valid = nulls ? w->valid[i] : NULL;
    }
    w->left -= n;
    return ST_OK;
}

static Status parquet_next(StreamRun *run, int worker, StreamBatch *out, Err *unused) {
    ParquetRun *r = (ParquetRun *)run;
    ParquetWorker *w = &r->workers[worker];
    int64_t n;
    Err e;
    (void)unused;
    out->n = 0;
    if (w->failed || (w->open && w->order > atomic_load(&r->fail_order))) return ST_OK;
    while (!w->open || w->left == 0)
        if (stream_paused(&r->use) || !begin_slice(r, w)) return ST_OK;
    err_clear(&e);
    if (batch_rows(r, w, &n, &e) != ST_OK || read_batch(r, w, n, &e) != ST_OK) {
        fail(w, r, w->order, &e);
        return ST_OK;
    }
    *out = (StreamBatch){.order = w->order, .n = n, .cols = w->vecs};
    return ST_OK;
}

static Status parquet_end(StreamRun *run, Err *e) {
    const ParquetRun *r = (const ParquetRun *)run;
    if (atomic_load(&r->fail_order) == INT64_MAX) return ST_OK;
    err_copy(e, &r->fail);
    return ST_ERROR;
}

static double parquet_fraction(StreamRun *run) {
    ParquetRun *r = (ParquetRun *)run;
    return atomic_load(&r->done) / MAX_OF(r->f->n_paths, 1);
}

/* ---- begin and end ----------------------------------------------------------------------------------------------- */

static void worker_release(const ParquetRun *r, ParquetWorker *w) {
    for (int32_t i = 0; w->pages && i < r->f->n_cols; i++) parquet_pages_release(&w->pages[i]);
    for (int32_t i = 0; w->nested && i < r->f->n_cols; i++) parquet_nested_release(w->nested[i]);
    parquet_footer_close(w->footer);
    codecs_free(w->codecs);
    arena_free(w->strings);
    arena_free(w->arena);
}

static void parquet_free(StreamRun *run) {
    ParquetRun *r = (ParquetRun *)run;
    MemAccount *a = r->use.account;
    for (int i = 0; r->workers && i < r->use.threads; i++) worker_release(r, &r->workers[i]);
    if (r->workers) mem_free(a, r->workers, (int64_t)sizeof *r->workers * r->use.threads);
    mutex_destroy(&r->mu);
    mem_free(a, r, (int64_t)sizeof *r);
}

static Status worker_init(const ParquetRun *r, ParquetWorker *w, Err *e) {
    const ParquetFile *f = r->f;
    w->file = -1;
    if (!(w->arena = arena_new(r->use.account, e)) || !(w->strings = arena_new(r->use.account, e)) ||
        !(w->codecs = codecs_new(r->use.account, e)))
        return ST_ERROR;
    w->cells = arena_array(w->arena, void *, f->n_cols + 1);
    w->valid = arena_array(w->arena, uint8_t *, f->n_cols + 1);
    w->vecs = arena_array(w->arena, Vec, f->n_cols + 1);
    w->pages = arena_array(w->arena, ParquetPages, f->n_cols + 1);
    w->nested = arena_array(w->arena, ParquetNested *, f->n_cols + 1);
    if (!w->cells || !w->valid || !w->vecs || !w->pages || !w->nested) return ST_ERROR;
    for (int32_t i = 0; i < f->n_cols; i++) {
        const ParquetColumn *c = &f->cols[i];
        if (!r->use.wanted[i]) continue;
        if (!c->tree) w->pages[i] = (ParquetPages){.c = c, .account = r->use.account, .codecs = w->codecs};
        else if (!(w->nested[i] = parquet_nested_new(c->tree, w->arena, r->use.account, w->codecs))) return ST_ERROR;
        w->cells[i] = arena_calloc(w->arena, phys_size(type_phys(c->type)) * PARQUET_BATCH);
        w->valid[i] = arena_calloc(w->arena, PARQUET_BATCH);
        if (!w->cells[i] || !w->valid[i]) return ST_ERROR;
        w->vecs[i] = (Vec){.phys = (uint8_t)type_phys(c->type), .type = c->type, .data = w->cells[i]};
    }
    return ST_OK;
}

static Status parquet_begin(const RowStream *s, const StreamUse *use, StreamRun **out, Err *e) {
    ParquetRun *r = mem_calloc(use->account, (int64_t)sizeof *r, e);
    if (!r) return ST_ERROR;
    r->run = (StreamRun){.next = parquet_next, .end = parquet_end, .fraction = parquet_fraction, .free = parquet_free};
    r->f = (const ParquetFile *)s;
    r->use = *use;
    r->n_groups = -1;
    atomic_store(&r->fail_order, INT64_MAX);
    mutex_init(&r->mu, RANK_COPY);
    r->workers = mem_calloc(use->account, (int64_t)sizeof *r->workers * use->threads, e);
    Status st = r->workers ? ST_OK : ST_ERROR;
    for (int i = 0; st == ST_OK && i < use->threads; i++) st = worker_init(r, &r->workers[i], e);
    if (st != ST_OK) {
        parquet_free(&r->run);
        return err_is_set(e) ? ST_ERROR : err_oom(e);
    }
    *out = &r->run;
    return ST_OK;
}

Status parquet_open(const FileFinder *x, Arena *a, int32_t n_paths, const char *const *paths, const RowStream **out,
                    Err *e) {
    ParquetFile *f = arena_new_of(a, ParquetFile);
    if (!f) return err_oom(e);
    f->n_paths = n_paths;
    f->paths = paths;
    ParquetFooter *footer = parquet_footer_open(x->vfs, x->account, paths[0], e);
    if (!footer) return ST_ERROR;
    Status st = parquet_footer_columns(footer, a, &f->n_cols, &f->cols, e);
    if (st == ST_OK) st = make_stream(f, a, parquet_footer_rows(footer), parquet_footer_groups(footer));
    parquet_footer_close(footer);
    if (st != ST_OK) return err_is_set(e) ? ST_ERROR : err_oom(e);
    f->stream.begin = parquet_begin;
    *out = &f->stream;
    return ST_OK;
}
