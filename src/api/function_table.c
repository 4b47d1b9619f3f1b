/* function_table.c - table functions of the client: as streams (program/stream.h), and as functions that make an array
 * of a call's rows, where arguments are no constants. Contracts are in stele.h.
 *
 * One call of `next` at a time: workers take batches in turn under TableRun.lock, each into its own arena, and go on
 * with their rows beside each other. The number of the call is the batch's order.
 */
#include <stdio.h>

#include "api/function_int.h"
#include "api/value_int.h"
#include "program/stream.h"
#include "types/array.h"

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
    VEC(const char *) texts; /* of the types */
    VEC(Type) types;
    const stele_columns *before; /* of an earlier call: the same texts are the same types; NULL: there was none */
};

/* ---- binding ------------------------------------------------------------------------------------- */

static Status column_type(const stele_columns *c, const char *text, Type *out) {
    const stele_columns *b = c->before;
    const int64_t k = c->names.len;
    if (!b || k >= b->names.len || strcmp(b->texts.items[k], text) != 0)
        return function_type_of(c->arena, text, out, c->err);
    *out = b->types.items[k];
    return ST_OK;
}

stele_status stele_columns_add(stele_columns *c, const char *name, const char *type) {
    Type t;
    const char *copy = arena_strdup(c->arena, name ? name : ""), *text = arena_strdup(c->arena, type ? type : "");
    if (c->names.len >= COLUMNS_MAX)
        return err_set(c->err, ERR_TOO_MANY_COLUMNS, "tables can have at most %d columns", COLUMNS_MAX), STELE_ERROR;
    if (!copy || !text || column_type(c, text, &t) != ST_OK || !vec_push(c->arena, &c->names, copy) ||
        !vec_push(c->arena, &c->texts, text) || !vec_push(c->arena, &c->types, t)) {
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

/* args NULL: for the columns alone. */
static Status bind_columns(const UserFunction *f, Arena *a, const Value *args, void **of_client, stele_columns *columns,
                           Err *e) {
    const stele_table_function *t = f->own;
    int n = f->signature.n_args;
    stele_value *values = arena_array(a, stele_value, n + 1);
    stele_call call = {.f = f, .arena = a, .err = e, .error_row = -1};
    if (!values) return err_is_set(e) ? ST_ERROR : err_oom(e);
    for (int i = 0; args && i < n; i++)
        if (value_to_client(&args[i], a, &values[i]) != ST_OK) return err_is_set(e) ? ST_ERROR : err_oom(e);
    columns->arena = a;
    columns->err = e;
    stele_status r = t->bind(&call, args ? n : 0, args ? values : NULL, columns, of_client);
    if (r != STELE_OK || err_is_set(e)) return failed(&call);
    if (columns->names.len == 0)
        return err_set(e, ERR_EXTERNAL_ROUTINE, "function %s has no columns", f->signature.name);
    return ST_OK;
}

static Status open_rows(const UserFunction *f, Arena *a, const Value *args, const RowStream **out, Err *e) {
    const stele_table_function *t = f->own;
    if (!args && !(t->flags & STELE_FUNCTION_LATERAL))
        return err_set(e, ERR_FEATURE_NOT_SUPPORTED, "arguments of table function %s must be constants",
                       f->signature.name);
    Bound *b = arena_new_of(a, Bound);
    stele_columns columns = {0};
    if (!b) return err_is_set(e) ? ST_ERROR : err_oom(e);
    b->f = f;
    if (arena_on_release(a, free_bound, b) != ST_OK) return err_is_set(e) ? ST_ERROR : err_oom(e);
    TRY(bind_columns(f, a, args, &b->of_client, &columns, e));
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

/* ---- rows for each row of arguments -------------------------------------------------------------- */

enum { RECORD_ROWS = 256 }; /* room of one call of next */

/* One call's rows, as they come. */
typedef struct Records {
    FuncCtx *ctx;
    const UserFunction *f;
    int32_t n_cols;
    const Type *types;
    ResultCells *cells; /* by column */
    stele_result *results;
    bool *wanted;
    stele_columns columns; /* of the last call */
    VEC(Str) rows;
} Records;

static Status records_new(FuncCtx *ctx, const UserFunction *f, Str types, Records *r) {
    Arena *a = ctx->arena;
    *r = (Records){.ctx = ctx, .f = f, .n_cols = (int32_t)(types.len / sizeof(Type))};
    Type *own = arena_array(a, Type, r->n_cols + 1);
    r->cells = arena_array(a, ResultCells, r->n_cols + 1);
    r->results = arena_array(a, stele_result, r->n_cols + 1);
    r->wanted = arena_array(a, bool, r->n_cols + 1);
    if (!own || !r->cells || !r->results || !r->wanted) return ST_ERROR;
    memcpy(own, types.ptr, sizeof *own * (size_t)r->n_cols);
    r->types = own;
    for (int32_t i = 0; i < r->n_cols; i++) {
        int64_t size = phys_size(type_phys(own[i]));
        r->wanted[i] = true;
        r->cells[i] = (ResultCells){own[i], 0, arena_alloc(a, RECORD_ROWS * size), arena_alloc(a, RECORD_ROWS)};
        if (!r->cells[i].cells || !r->cells[i].valid) return ST_ERROR;
    }
    return ST_OK;
}

/* A row as a record's bytes: the array of its cells' bytes. */
static Status put_record(Records *r, int64_t row, Str *cells, uint8_t *valid) {
    Str out;
    for (int32_t i = 0; i < r->n_cols; i++) {
        int64_t size = phys_size(type_phys(r->types[i]));
        const char *cell = (const char *)r->cells[i].cells + row * size;
        valid[i] = r->cells[i].valid[row];
        if (!valid[i]) cells[i] = str_make("", 0);
        else if (type_phys(r->types[i]) == PH_STR) cells[i] = *(const Str *)(const void *)cell;
        else cells[i] = str_make(cell, size);
    }
    TRY(array_build(r->ctx->arena, PH_STR, r->n_cols, cells, valid, &out, r->ctx->err));
    return vec_push(r->ctx->arena, &r->rows, out) ? ST_OK : ST_ERROR;
}

static Status read_records(Records *r, stele_call *call, void *scan) {
    const stele_table_function *t = r->f->own;
    Str *cells = arena_array(r->ctx->arena, Str, r->n_cols + 1);
    uint8_t *valid = arena_alloc(r->ctx->arena, r->n_cols + 1);
    if (!cells || !valid) return ST_ERROR;
    for (int64_t n = -1; n != 0;) {
        for (int32_t i = 0; i < r->n_cols; i++) {
            r->cells[i].n = RECORD_ROWS;
            function_result_begin(&r->cells[i], &r->results[i]);
        }
        n = 0;
        if (t->next(call, scan, RECORD_ROWS, r->results, &n) != STELE_OK || err_is_set(call->err)) return failed(call);
        if (n < 0 || n > RECORD_ROWS)
            return err_set(call->err, ERR_EXTERNAL_ROUTINE, "function %s returned %lld rows where there is room for %d",
                           r->f->signature.name, (long long)n, RECORD_ROWS);
        for (int32_t i = 0; i < r->n_cols; i++) {
            r->cells[i].n = n;
            if (function_result_end(call, &r->cells[i]) != ST_OK) return failed(call);
        }
        for (int64_t i = 0; i < n; i++) TRY(put_record(r, i, cells, valid));
    }
    return ST_OK;
}

static Status same_columns(const Records *r, const stele_columns *columns, Err *e) {
    bool same = columns->types.len == r->n_cols;
    for (int32_t i = 0; same && i < r->n_cols; i++) same = type_eq(columns->types.items[i], r->types[i]);
    if (same) return ST_OK;
    return err_set(e, ERR_DATATYPE_MISMATCH, "function %s has other columns than when the statement was bound",
                   r->f->signature.name);
}

static Status call_records(Records *r, const Value *args, Str *out) {
    const stele_table_function *t = r->f->own;
    Arena *a = r->ctx->arena;
    stele_call call = {.f = r->f, .arena = a, .err = r->ctx->err, .n = RECORD_ROWS, .error_row = -1};
    void *bound = NULL, *scan = NULL;
    const stele_columns before = r->columns;
    r->columns = (stele_columns){.before = before.names.len ? &before : NULL};
    r->rows.len = 0;
    Status st = bind_columns(r->f, a, args, &bound, &r->columns, call.err);
    r->columns.before = NULL;
    if (st == ST_OK) st = same_columns(r, &r->columns, call.err);
    if (st == ST_OK && (t->begin(&call, bound, r->n_cols, r->wanted, &scan) != STELE_OK || err_is_set(call.err)))
        st = failed(&call);
    if (st == ST_OK) st = read_records(r, &call, scan);
    if (scan && t->end) t->end(scan);
    if (bound && t->free_bound) t->free_bound(bound);
    return st == ST_OK ? array_build(a, PH_STR, r->rows.len, r->rows.items, NULL, out, call.err) : ST_ERROR;
}

/* args[0]: the columns' types. */
static Status records_kernel(FuncCtx *ctx, int64_t n, const Vec *args, int nargs, Vec *out) {
    const UserFunction *f = ctx->func->own;
    Value *values = arena_array(ctx->arena, Value, nargs);
    Records r;
    if (n == 0) return ST_OK;
    if (!values || records_new(ctx, f, *(const Str *)args[0].data, &r) != ST_OK)
        return err_is_set(ctx->err) ? ST_ERROR : err_oom(ctx->err);
    for (int64_t i = 0; i < n; i++) {
        for (int k = 1; k < nargs; k++) values[k - 1] = vec_value(&args[k], i, f->signature.param_types[k - 1]);
        out->valid[i] = 1;
        if (call_records(&r, values, (Str *)out->data + i) == ST_OK) continue;
        ctx->error_row = i;
        return err_is_set(ctx->err) ? ST_ERROR : err_oom(ctx->err);
    }
    return ST_OK;
}

stele_status stele_create_table_function(stele_conn *c, const stele_table_function *x) {
    FunctionHead head = {USER_TABLE,     x->name,  x->n_params, x->param_types,
                         x->param_names, x->flags, x->data,     x->destroy};
    UserFunction *f;
    stele_table_function *own = NULL;
    Status st = function_new(c, &head, &f);
    if (st == ST_OK && (x->flags & ~(STELE_FUNCTION_ONE_THREAD | STELE_FUNCTION_LATERAL)))
        st = err_set(&c->s->err, ERR_INVALID_PARAMETER,
                     "a table function can have no flag but STELE_FUNCTION_ONE_THREAD and STELE_FUNCTION_LATERAL");
    if (st == ST_OK && (!x->bind || !x->begin || !x->next))
        st = err_set(&c->s->err, ERR_INVALID_PARAMETER, "the table function lacks bind, begin or next");
    if (st == ST_OK && !(own = arena_new_of(f->arena, stele_table_function))) st = ST_ERROR;
    if (st == ST_OK) {
        *own = *x;
        f->own = own;
        f->open = open_rows;
        f->signature.returns_set = true;
        f->def.flags = FN_CAN_FAIL | FN_STABLE;
        f->def.ret = T_ARRAY;
        f->def.kernel = records_kernel;
        f->signature.ret = type_make(T_VOID);
    }
    return function_add(c, f, st);
}
