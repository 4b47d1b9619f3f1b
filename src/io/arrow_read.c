/* arrow_read.c - Arrow files as the source of a segment. See arrow_file.h.
 *
 * A worker's unit is a batch of a file. It reads the buffers of the columns that the statement wants (arrow_ipc.c), and
 * makes cells of ARROW_ROWS rows at a time (arrow_in.c). Dictionaries are made cells when the reading begins, each as
 * often as it is given; those that go on with another one share its cells.
 *
 * Locks: ArrowRun.mu guards the next batch and the failure (docs/LOCKS.md).
 */
#include <stdatomic.h>

#include "base/mutex.h"
#include "base/stack.h"
#include "io/arrow_file.h"
#include "io/arrow_ipc.h"

enum { ARROW_ROWS = 2048 };

typedef struct ArrowTable {
    RowStream stream; /* first */
    int32_t n_paths;
    const char *const *paths;
} ArrowTable;

typedef struct ArrowVersion { /* a dictionary as of a message */
    ArrowWords words;         /* first */
    int64_t message;          /* its number */
} ArrowVersion;
typedef struct ArrowVersions { /* of a field, in order */
    int64_t n;
    ArrowVersion *items;
} ArrowVersions;

typedef struct ArrowWorker {
    Arena *arena, *strings; /* strings: of the rows given last */
    Codecs *codecs;
    IoBuffer raw;
    ArrowBatch batch;
    ArrowHeld *held; /* by column, these too: */
    void **cells;
    uint8_t **valid;
    Vec *vecs;
    int32_t file;
    int64_t number, order; /* of the batch: in its file, among all */
    int64_t at, left;      /* rows of it */
    bool open, failed;
} ArrowWorker;

typedef struct ArrowRun {
    StreamRun run; /* first */
    const ArrowTable *t;
    StreamUse use;
    Arena *arena;
    ArrowFile **files;        /* by path */
    ArrowVersions **versions; /* by path and number of the field */
    ArrowWorker *workers;
    Mutex mu;
    int32_t file;
    int64_t batch, next_order;
    int64_t n_batches, n_taken;
    _Atomic int64_t fail_order;
    Err fail;
} ArrowRun;

static void fail(ArrowWorker *w, ArrowRun *r, const Err *e) {
    w->failed = true;
    mutex_lock(&r->mu);
    if (w->order < atomic_load(&r->fail_order)) {
        err_copy(&r->fail, e);
        atomic_store(&r->fail_order, w->order);
    }
    mutex_unlock(&r->mu);
}

/* Cells of rows at .. at + n of a column that is in memory. */
static Status cells_of(const ArrowField *f, const ArrowHeld *h, int64_t at, int64_t n, Arena *a, void *cells,
                       uint8_t *valid, Err *e) {
    char what[TYPE_NAME_MAX];
    ArrowColumn c = {.schema = f->schema,
                     .array = &h->array,
                     .first = at,
                     .n = n,
                     .type = f->type,
                     .what = type_name(f->type, &what),
                     .where = f->name,
                     .of_file = true};
    TRY(arrow_check(&c, e));
    memset(cells, 0, (size_t)(n * phys_size(type_phys(f->type))));
    return arrow_convert(&c, a, cells, valid, e);
}

/* ---- dictionaries ------------------------------------------------------------------------------------------------ */

/* The values of one message as cells. */
static Status load_words(ArrowRun *r, const ArrowFile *file, const ArrowField *f, const ArrowMessage *m, char *cells,
                         uint8_t *valid, Err *e) {
    ArrowBatch b = {0};
    ArrowCursor at = {0};
    ArrowHeld h = {0};
    ArrowField values = *f;
    IoBuffer raw = {0};
    Codecs *codecs = codecs_new(r->use.account, e);
    values.codes = NULL;
    values.schema = f->schema->dictionary;
    Status st = codecs ? arrow_batch_open(file, m, r->use.account, &b, e) : ST_ERROR;
    ArrowLoader l = {file, &b, r->arena, r->use.account, codecs, &raw};
    if (st == ST_OK) st = arrow_hold(&l, &values, &at, &h, e);
    if (st == ST_OK) st = cells_of(&values, &h, 0, b.rows, r->arena, cells, valid, e);
    arrow_held_release(&h, r->use.account);
    io_buffer_release(&raw, r->use.account);
    arrow_batch_close(&b, r->use.account);
    codecs_free(codecs);
    return st;
}

/* How many values a dictionary has in the end that is given anew by message `first`, as far as it is gone on with. */
static Status count_words(const ArrowFile *file, const ArrowField *f, int64_t first, int64_t *n, Err *e) {
    *n = 0;
    for (int64_t i = first; i < file->dictionaries.len; i++) {
        const ArrowMessage *m = &file->dictionaries.items[i];
        if (m->dictionary != f->dictionary) continue;
        if (i > first && !m->delta) break;
        /* more rows than bytes of any buffer are NULLs, of which no dictionary has so many */
        if (m->rows > m->body_len * 8 + 1) return err_set(e, ERR_BAD_COPY, "a dictionary is too long");
        *n += m->rows;
    }
    return ST_OK;
}

static Status load_versions(ArrowRun *r, const ArrowFile *file, const ArrowField *f, ArrowVersions *out, Err *e) {
    int64_t size = phys_size(type_phys(f->type)), n = 0, room = 0;
    char *cells = NULL;
    uint8_t *valid = NULL;
    for (int64_t i = 0; i < file->dictionaries.len; i++) n += file->dictionaries.items[i].dictionary == f->dictionary;
    if (!(out->items = arena_array(r->arena, ArrowVersion, n + 1))) return ST_ERROR;
    n = 0;
    for (int64_t i = 0; i < file->dictionaries.len; i++) {
        const ArrowMessage *m = &file->dictionaries.items[i];
        if (m->dictionary != f->dictionary) continue;
        if (m->delta && !cells) return err_set(e, ERR_BAD_COPY, "a dictionary is gone on with that there is not");
        if (!m->delta) {
            TRY(count_words(file, f, i, &room, e));
            cells = arena_calloc(r->arena, room * size + 16);
            valid = arena_calloc(r->arena, room + 1);
            if (!cells || !valid) return ST_ERROR;
            n = 0;
        }
        TRY(load_words(r, file, f, m, cells + n * size, valid + n, e));
        n += m->rows;
        ArrowVersion *v = &out->items[out->n++];
        v->message = i;
        arrow_words_init(&v->words, f->type, n, cells, valid);
    }
    return ST_OK;
}

/* The dictionaries of a field, and of what is within it. */
static Status load_dictionaries(ArrowRun *r, int32_t file, const ArrowField *f, Err *e) {
    TRY(stack_check(e));
    if (f->codes) return load_versions(r, r->files[file], f, &r->versions[file][f->number], e);
    for (int32_t i = 0; i < f->n_children; i++) TRY(load_dictionaries(r, file, &f->children[i], e));
    return ST_OK;
}

static Status load_all_dictionaries(ArrowRun *r, int32_t file, Err *e) {
    const ArrowFile *f = r->files[file];
    if (!(r->versions[file] = arena_array(r->arena, ArrowVersions, f->n_coded + 1))) return ST_ERROR;
    for (int32_t i = 0; i < f->n_cols; i++) {
        if (!r->use.wanted[i] || load_dictionaries(r, file, &f->cols[i], e) == ST_OK) continue;
        if (!err_is_set(e)) err_oom(e);
        err_context(e, "file \"%s\", dictionary of column \"%s\"", f->path, f->cols[i].name);
        return ST_ERROR;
    }
    return ST_OK;
}

/* Gives a field of a batch, and what is within it, the dictionaries that hold for it: `messages` of them came before.
 */
static Status set_dictionaries(const ArrowVersions *versions, const ArrowField *f, int64_t messages, ArrowHeld *h,
                               Err *e) {
    TRY(stack_check(e));
    for (int32_t i = 0; i < h->n_children; i++)
        TRY(set_dictionaries(versions, &f->children[i], messages, &h->children[i], e));
    if (!f->codes) return ST_OK;
    const ArrowVersions *v = &versions[f->number];
    int64_t lo = 0, hi = v->n;
    while (lo < hi) {
        int64_t mid = (lo + hi) / 2;
        if (v->items[mid].message < messages) lo = mid + 1;
        else hi = mid;
    }
    if (lo == 0) return err_set(e, ERR_BAD_COPY, "its dictionary is missing");
    h->array.dictionary = &v->items[lo - 1].words.array;
    return ST_OK;
}

/* ---- batches ----------------------------------------------------------------------------------------------------- */

static Status in_column(const ArrowRun *r, const ArrowWorker *w, int32_t i, Err *e) {
    const ArrowFile *f = r->files[w->file];
    err_context(e, "file \"%s\", batch %lld, column \"%s\"", f->path, (long long)w->number, f->cols[i].name);
    return ST_ERROR;
}

static Status open_batch(ArrowRun *r, ArrowWorker *w, Err *e) {
    const ArrowFile *f = r->files[w->file];
    const ArrowMessage *m = &f->batches.items[w->number];
    ArrowCursor at = {0};
    arena_set_err(w->arena, e);
    arrow_batch_close(&w->batch, r->use.account);
    w->open = true;
    w->at = 0;
    w->left = m->rows;
    if (arrow_batch_open(f, m, r->use.account, &w->batch, e) != ST_OK) {
        err_context(e, "batch %lld", (long long)w->number);
        return ST_ERROR;
    }
    ArrowLoader l = {f, &w->batch, w->arena, r->use.account, w->codecs, &w->raw};
    for (int32_t i = 0; i < f->n_cols; i++) {
        const ArrowField *c = &f->cols[i];
        Status st = r->use.wanted[i] ? arrow_hold(&l, c, &at, &w->held[i], e) : arrow_skip(c, &w->batch, &at, e);
        if (st == ST_OK && r->use.wanted[i])
            st = set_dictionaries(r->versions[w->file], c, m->dictionaries, &w->held[i], e);
        if (st != ST_OK) return in_column(r, w, i, e);
    }
    return ST_OK;
}

/* The next batch; false: there is none. */
static bool take_batch(ArrowRun *r, ArrowWorker *w) {
    Err e;
    bool got = false;
    err_clear(&e);
    w->open = false;
    mutex_lock(&r->mu);
    Status st = stream_interrupted(&r->use, &e);
    while (r->file < r->t->n_paths && r->batch == r->files[r->file]->batches.len) r->file++, r->batch = 0;
    w->order = r->next_order;
    if (st == ST_OK && r->file < r->t->n_paths && atomic_load(&r->fail_order) == INT64_MAX) {
        got = true;
        w->file = r->file;
        w->number = r->batch++;
        r->next_order++;
        r->n_taken++;
    }
    mutex_unlock(&r->mu);
    if (got) st = open_batch(r, w, &e);
    if (st != ST_OK) fail(w, r, &e);
    return got && st == ST_OK;
}

static Status read_column(ArrowRun *r, ArrowWorker *w, int32_t i, int64_t n, Err *e) {
    const ArrowField *f = &r->files[w->file]->cols[i];
    TRY(cells_of(f, &w->held[i], w->at, n, w->strings, w->cells[i], w->valid[i], e));
    bool nulls = memchr(w->valid[i], 0, (size_t)n) != NULL;
    w->vecs[i].valid = nulls ? w->valid[i] : NULL;
    for (int64_t k = 0; nulls && type_phys(f->type) == PH_STR && k < n; k++)
        if (!w->valid[i][k]) ((Str *)w->cells[i])[k] = str_make("", 0);
    return ST_OK;
}

static Status arrow_next(StreamRun *run, int worker, StreamBatch *out, Err *unused) {
    ArrowRun *r = (ArrowRun *)run;
    ArrowWorker *w = &r->workers[worker];
    Err e;
    (void)unused;
    out->n = 0;
    if (w->failed || (w->open && w->order > atomic_load(&r->fail_order))) return ST_OK;
    while (!w->open || w->left == 0)
        if (stream_paused(&r->use) || !take_batch(r, w)) return ST_OK;
    err_clear(&e);
    arena_reset(w->strings);
    arena_set_err(w->strings, &e);
    int64_t n = MIN_OF(w->left, (int64_t)ARROW_ROWS);
    for (int32_t i = 0; i < r->t->stream.n_cols; i++) {
        if (!r->use.wanted[i] || read_column(r, w, i, n, &e) == ST_OK) continue;
        if (!err_is_set(&e)) err_oom(&e);
        (void)in_column(r, w, i, &e);
        fail(w, r, &e);
        return ST_OK;
    }
    w->at += n;
    w->left -= n;
    *out = (StreamBatch){.order = w->order, .n = n, .cols = w->vecs};
    return ST_OK;
}

static Status arrow_end(StreamRun *run, Err *e) {
    const ArrowRun *r = (const ArrowRun *)run;
    if (atomic_load(&r->fail_order) == INT64_MAX) return ST_OK;
    err_copy(e, &r->fail);
    return ST_ERROR;
}

static double arrow_fraction(StreamRun *run) {
    ArrowRun *r = (ArrowRun *)run;
    mutex_lock(&r->mu);
    double part = (double)r->n_taken / (double)MAX_OF(r->n_batches, INT64_C(1));
    mutex_unlock(&r->mu);
    return part;
}

/* ---- begin and end ----------------------------------------------------------------------------------------------- */

static void worker_release(const ArrowRun *r, ArrowWorker *w) {
    for (int32_t i = 0; w->held && i < r->t->stream.n_cols; i++) arrow_held_release(&w->held[i], r->use.account);
    io_buffer_release(&w->raw, r->use.account);
    arrow_batch_close(&w->batch, r->use.account);
    codecs_free(w->codecs);
    arena_free(w->strings);
    arena_free(w->arena);
}

static void arrow_free(StreamRun *run) {
    ArrowRun *r = (ArrowRun *)run;
    MemAccount *a = r->use.account;
    for (int i = 0; r->workers && i < r->use.threads; i++) worker_release(r, &r->workers[i]);
    for (int32_t i = 0; r->files && i < r->t->n_paths; i++) arrow_file_close(r->files[i]);
    arena_free(r->arena);
    mutex_destroy(&r->mu);
    mem_free(a, r, (int64_t)sizeof *r);
}

static Status worker_init(const ArrowRun *r, ArrowWorker *w, Err *e) {
    int32_t n = r->t->stream.n_cols;
    if (!(w->arena = arena_new(r->use.account, e)) || !(w->strings = arena_new(r->use.account, e)) ||
        !(w->codecs = codecs_new(r->use.account, e)))
        return ST_ERROR;
    w->held = arena_array(w->arena, ArrowHeld, n + 1);
    w->cells = arena_array(w->arena, void *, n + 1);
    w->valid = arena_array(w->arena, uint8_t *, n + 1);
    w->vecs = arena_array(w->arena, Vec, n + 1);
    if (!w->held || !w->cells || !w->valid || !w->vecs) return ST_ERROR;
    for (int32_t i = 0; i < n; i++) {
        Type type = r->t->stream.types[i];
        if (!r->use.wanted[i]) continue;
        w->cells[i] = arena_calloc(w->arena, phys_size(type_phys(type)) * ARROW_ROWS);
        w->valid[i] = arena_calloc(w->arena, ARROW_ROWS);
        if (!w->cells[i] || !w->valid[i]) return ST_ERROR;
        w->vecs[i] = (Vec){.phys = (uint8_t)type_phys(type), .type = type, .data = w->cells[i]};
    }
    return ST_OK;
}

static Status open_files(ArrowRun *r, Err *e) {
    const ArrowTable *t = r->t;
    for (int32_t i = 0; i < t->n_paths; i++) {
        ArrowFile *f = r->files[i] = arrow_file_open(r->use.vfs, r->use.account, t->paths[i], e);
        if (!f) return ST_ERROR;
        bool same = f->n_cols == t->stream.n_cols;
        for (int32_t k = 0; same && k < f->n_cols; k++)
            same = strcmp(f->cols[k].name, t->stream.names[k]) == 0 && type_eq(f->cols[k].type, t->stream.types[k]);
        if (!same)
            return err_set(e, ERR_BAD_COPY, "Arrow file \"%s\" has other columns than \"%s\"", t->paths[i],
                           t->paths[0]);
        r->n_batches += f->batches.len;
        TRY(load_all_dictionaries(r, i, e));
    }
    return ST_OK;
}

static Status run_init(ArrowRun *r, Err *e) {
    if (!(r->arena = arena_new(r->use.account, e))) return ST_ERROR;
    r->files = arena_array(r->arena, ArrowFile *, r->t->n_paths + 1);
    r->versions = arena_array(r->arena, ArrowVersions *, r->t->n_paths + 1);
    r->workers = arena_array(r->arena, ArrowWorker, r->use.threads + 1);
    if (!r->files || !r->versions || !r->workers) return ST_ERROR;
    for (int i = 0; i < r->use.threads; i++) TRY(worker_init(r, &r->workers[i], e));
    return open_files(r, e);
}

static Status arrow_begin(const RowStream *s, const StreamUse *use, StreamRun **out, Err *e) {
    ArrowRun *r = mem_calloc(use->account, (int64_t)sizeof *r, e);
    if (!r) return ST_ERROR;
    r->run = (StreamRun){.next = arrow_next, .end = arrow_end, .fraction = arrow_fraction, .free = arrow_free};
    r->t = (const ArrowTable *)s;
    r->use = *use;
    atomic_store(&r->fail_order, INT64_MAX);
    mutex_init(&r->mu, RANK_COPY);
    if (run_init(r, e) != ST_OK) {
        arrow_free(&r->run);
        return err_is_set(e) ? ST_ERROR : err_oom(e);
    }
    *out = &r->run;
    return ST_OK;
}

static Status make_stream(ArrowTable *t, const ArrowFile *f, Arena *a) {
    const char **names = arena_array(a, const char *, f->n_cols + 1), **more = arena_array(a, const char *, 2);
    Type *types = arena_array(a, Type, f->n_cols + 1);
    double rows = 0;
    if (!names || !types || !more) return ST_ERROR;
    for (int32_t i = 0; i < f->n_cols; i++) {
        if (!(names[i] = arena_strdup(a, f->cols[i].name))) return ST_ERROR;
        types[i] = f->cols[i].type;
    }
    for (int64_t i = 0; i < f->batches.len; i++) rows += (double)f->batches.items[i].rows;
    more[0] = arena_printf(a, "Arrow, %.0f rows in %lld batches", rows, (long long)f->batches.len);
    t->stream.n_cols = f->n_cols;
    t->stream.names = names;
    t->stream.types = types;
    t->stream.more = more;
    t->stream.est_rows = rows * t->n_paths;
    t->stream.begin = arrow_begin;
    return more[0] ? ST_OK : ST_ERROR;
}

Status arrow_open(const FileFinder *x, Arena *a, int32_t n_paths, const char *const *paths, const RowStream **out,
                  Err *e) {
    ArrowTable *t = arena_new_of(a, ArrowTable);
    if (!t) return err_oom(e);
    t->n_paths = n_paths;
    t->paths = paths;
    ArrowFile *f = arrow_file_open(x->vfs, x->account, paths[0], e);
    if (!f) return ST_ERROR;
    Status st = make_stream(t, f, a);
    arrow_file_close(f);
    *out = &t->stream;
    return st == ST_OK ? ST_OK : err_oom(e);
}
