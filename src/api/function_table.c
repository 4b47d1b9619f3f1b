/* function_table.c - table functions of the client as streams (program/stream.h). Contracts are in stele.h.
 *
 * One call of `next` at a time: workers take batches in turn under TableRun.lock, each into its own arena, and go on
 * with their rows beside each other. The number of the call is the batch's order.
 */
#include <stdio.h>

#include "api/function_int.h"
#include "api/value_int.h"
#include "program/stream.h"

enum { BATCH_ROWS = 2048, COLUMNS_MAX = 1600 };

typedef struct Bound {
    RowStream stream; /* first */
    const UserFunction *f;
    void *of_client;
} Bound;

struct stele_columns {
    Arena *arena;
    Err *err;
    VEC(const char *) names;
    VEC(Type) types;
};

/* ---- binding ------------------------------------------------------------------------------------- */

stele_status stele_columns_add(stele_columns *c, const char *name, const char *type) {
    Type t;
    const char *copy = arena_strdup(c->arena, name ? name : "");
    if (c->names.len >= COLUMNS_MAX)
        return err_set(c->err, ERR_TOO_MANY_COLUMNS, "tables can have at most %d columns", COLUMNS_MAX), STELE_ERROR;
    if (!copy || function_type_of(c->arena, type, &t, c->err) != ST_OK || !vec_push(c->arena, &c->names, copy) ||
        !vec_push(c->arena, &c->types, t)) {
        if (!err_is_set(c->err)) err_oom(c->err);
        return STELE_ERROR;
    }
    return STELE_OK;
}

static void free_bound(void *p) {
    const Bound *b = p;
    const stele_table_function *t = b->f->own;
    if (b->of_client && t->free_bound) t->free_bound(b->of_client);
}

static Status failed(const stele_call *c) {
    (void)function_failed(c);
    err_context(c->err, "function %s", c->f->signature.name);
    return ST_ERROR;
}

static Status begin(const RowStream *s, const StreamUse *use, StreamRun **out, Err *e);

static Status open_rows(const UserFunction *f, Arena *a, const Value *args, const RowStream **out, Err *e) {
    const stele_table_function *t = f->own;
    int n = f->signature.n_args;
    Bound *b = arena_new_of(a, Bound);
    stele_value *values = arena_array(a, stele_value, n + 1);
    stele_call call = {.f = f, .arena = a, .err = e, .error_row = -1};
    stele_columns columns = {.arena = a, .err = e};
    if (!b || !values) return err_is_set(e) ? ST_ERROR : err_oom(e);
    b->f = f;
    if (arena_on_release(a, free_bound, b) != ST_OK) return err_is_set(e) ? ST_ERROR : err_oom(e);
    for (int i = 0; i < n; i++)
        if (value_to_client(&args[i], a, &values[i]) != ST_OK) return err_is_set(e) ? ST_ERROR : err_oom(e);
    stele_status r = t->bind(&call, n, values, &columns, &b->of_client);
    if (r != STELE_OK || err_is_set(e)) return failed(&call);
    if (columns.names.len == 0)
        return err_set(e, ERR_EXTERNAL_ROUTINE, "function %s has no columns", f->signature.name);
    const char *label = arena_printf(a, "function %s", f->signature.name);
    if (!label) return err_is_set(e) ? ST_ERROR : err_oom(e);
    b->stream = (RowStream){.n_cols = (int32_t)columns.names.len,
                            .names = columns.names.items,
                            .types = columns.types.items,
                            .alias = f->signature.name,
                            .label = label,
                            .est_rows = BATCH_ROWS,
                            .begin = begin};
    *out = &b->stream;
    return ST_OK;
}

/* ---- running ------------------------------------------------------------------------------------- */

typedef struct Worker {
    Arena *arena; /* of its batch */
    Vec *cols;
} Worker;

typedef struct TableRun {
    StreamRun run; /* first */
    const Bound *bound;
    Mutex lock; /* of the scan, and what follows */
    void *scan;
    int64_t order;
    bool done;
    Err err; /* the first one */
    StreamUse use;
    Arena *arena;
    Worker *workers;
} TableRun;

static Status batch_of(TableRun *r, Worker *w, StreamBatch *out, Err *e) {
    const RowStream *s = &r->bound->stream;
    const stele_table_function *t = r->bound->f->own;
    stele_call call = {.f = r->bound->f, .arena = w->arena, .err = e, .n = BATCH_ROWS, .error_row = -1};
    stele_result *results = arena_array(w->arena, stele_result, s->n_cols);
    ResultCells *cells = arena_array(w->arena, ResultCells, s->n_cols);
    if (!results || !cells) return ST_ERROR;
    for (int32_t i = 0; i < s->n_cols; i++) {
        int64_t size = phys_size(type_phys(s->types[i]));
        cells[i] = (ResultCells){s->types[i], BATCH_ROWS, arena_alloc(w->arena, BATCH_ROWS * size),
                                 arena_alloc(w->arena, BATCH_ROWS)};
        if (!cells[i].cells || !cells[i].valid) return ST_ERROR;
        function_result_begin(&cells[i], &results[i]);
    }
    int64_t n = 0;
    if (t->next(&call, r->scan, BATCH_ROWS, results, &n) != STELE_OK || err_is_set(e)) return failed(&call);
    if (n < 0 || n > BATCH_ROWS)
        return err_set(e, ERR_EXTERNAL_ROUTINE, "function %s returned %lld rows where there is room for %d",
                       r->bound->f->signature.name, (long long)n, BATCH_ROWS);
    for (int32_t i = 0; i < s->n_cols; i++) {
        cells[i].n = n;
        if (r->use.wanted[i] && function_result_end(&call, &cells[i]) != ST_OK) return failed(&call);
        w->cols[i] = (Vec){.data = cells[i].cells,
                           .valid = cells[i].valid,
                           .phys = (uint8_t)type_phys(s->types[i]),
                           .type = s->types[i]};
    }
    *out = (StreamBatch){r->order++, n, w->cols};
    return ST_OK;
}

static Status next_batch(StreamRun *run, int worker, StreamBatch *out, Err *e) {
    TableRun *r = (TableRun *)(void *)run;
    Worker *w = &r->workers[worker];
    (void)e;
    *out = (StreamBatch){0};
    arena_reset(w->arena);
    mutex_lock(&r->lock);
    if (!r->done && !stream_paused(&r->use) && !(r->use.cancel && atomic_load(r->use.cancel))) {
        Err here = {0};
        arena_set_err(w->arena, &here);
        if (batch_of(r, w, out, &here) != ST_OK) {
            if (!err_is_set(&here)) err_oom(&here);
            err_copy(&r->err, &here);
            *out = (StreamBatch){0};
        }
        arena_set_err(w->arena, NULL);
        r->done = out->n == 0;
    }
    mutex_unlock(&r->lock);
    return ST_OK;
}

static Status end_run(StreamRun *run, Err *e) {
    TableRun *r = (TableRun *)(void *)run;
    if (!err_is_set(&r->err)) return ST_OK;
    err_copy(e, &r->err);
    return ST_ERROR;
}

static double fraction_of(StreamRun *run) {
    (void)run;
    return 0;
}

static void free_run(StreamRun *run) {
    TableRun *r = (TableRun *)(void *)run;
    const stele_table_function *t = r->bound->f->own;
    if (r->scan && t->end) t->end(r->scan);
    MemAccount *a = r->use.account;
    for (int i = 0; r->workers && i < r->use.threads; i++) arena_free(r->workers[i].arena);
    mutex_destroy(&r->lock);
    arena_free(r->arena);
    mem_free(a, r, (int64_t)sizeof *r);
}

static Status workers_new(TableRun *r, int32_t n_cols, Err *e) {
    if (!(r->workers = arena_array(r->arena, Worker, r->use.threads + 1))) return ST_ERROR;
    for (int i = 0; i < r->use.threads; i++) {
        Worker *w = &r->workers[i];
        if (!(w->arena = arena_new(r->use.account, e)) || !(w->cols = arena_array(r->arena, Vec, n_cols + 1)))
            return ST_ERROR;
        arena_set_err(w->arena, NULL);
    }
    return ST_OK;
}

static Status begin(const RowStream *s, const StreamUse *use, StreamRun **out, Err *e) {
    const Bound *b = (const Bound *)(const void *)s;
    const stele_table_function *t = b->f->own;
    TableRun *r = mem_calloc(use->account, (int64_t)sizeof *r, e);
    if (!r) return ST_ERROR;
    r->run = (StreamRun){.next = next_batch, .end = end_run, .fraction = fraction_of, .free = free_run};
    r->bound = b;
    r->use = *use;
    if (!mutex_init(&r->lock, RANK_FUNCTIONS) || !(r->arena = arena_new(use->account, e)) ||
        workers_new(r, s->n_cols, e) != ST_OK) {
        free_run(&r->run);
        return err_is_set(e) ? ST_ERROR : err_oom(e);
    }
    stele_call call = {.f = b->f, .arena = r->arena, .err = e, .error_row = -1};
    if (t->begin(&call, b->of_client, s->n_cols, use->wanted, &r->scan) != STELE_OK || err_is_set(e)) {
        (void)failed(&call);
        free_run(&r->run);
        return ST_ERROR;
    }
    arena_set_err(r->arena, NULL);
    *out = &r->run;
    return ST_OK;
}

stele_status stele_create_table_function(stele_conn *c, const stele_table_function *x) {
    FunctionHead head = {USER_TABLE,     x->name,  x->n_params, x->param_types,
                         x->param_names, x->flags, x->data,     x->destroy};
    UserFunction *f;
    stele_table_function *own = NULL;
    Status st = function_new(c, &head, &f);
    if (st == ST_OK && (x->flags & ~STELE_FUNCTION_ONE_THREAD))
        st = err_set(&c->s->err, ERR_INVALID_PARAMETER,
                     "a table function can have no flag but STELE_FUNCTION_ONE_THREAD");
    if (st == ST_OK && (!x->bind || !x->begin || !x->next))
        st = err_set(&c->s->err, ERR_INVALID_PARAMETER, "the table function lacks bind, begin or next");
    if (st == ST_OK && !(own = arena_new_of(f->arena, stele_table_function))) st = ST_ERROR;
    if (st == ST_OK) {
        *own = *x;
        f->own = own;
        f->open = open_rows;
        f->signature.returns_set = true;
        f->signature.ret = type_make(T_VOID);
    }
    return function_add(c, f, st);
}
