/* vm_buffers.c - buffers of rows that queries of calls fill, put in order and read (program/program.h, BufferSpec).
 *
 * The rows of all calls of a chunk go to one sort, with the call in front of the keys: what is n log n for a call is so
 * for all of them. Calls are between a buffer's BUF_CLEAR and its last BUF_GET together, so that BUF_CLEAR can drop the
 * rows of all.
 *
 * Memory is the account's. Rows are not spilled: calls that have no room for theirs fail (53200), and those that are
 * with them in the chunk. Strings are the buffer's own, and what is read of them is copied to the frame's arena, since
 * variables outlive buffers. */
#include "txn/run/calls_int.h"

/* ---- preparation ---- */
static KeySpec key_spec(const BufferColumn *c) {
    return (KeySpec){.phys = c->phys,
                     .type = c->type,
                     .nullable = c->nullable,
                     .has_range = c->has_range,
                     .min = c->min,
                     .max = c->max};
}
static Status make_spec(const ProgRun *pr, const BufferSpec *b, SortSpec *s, Err *e) {
    *s = (SortSpec){.n_keys = b->n_keys + 1, .n_cols = b->n_cols, .limit = -1};
    s->keys = arena_calloc(pr->arena, (int64_t)sizeof s->keys[0] * s->n_keys);
    s->cols = arena_array(pr->arena, CellSpec, b->n_cols + 1);
    if (!s->keys || !s->cols) return err_oom(e);
    s->keys[0].key =
        (KeySpec){.phys = PH_I32, .type = type_make(T_INT4), .has_range = true, .min = 0, .max = pr->vector_size - 1};
    for (int32_t i = 0; i < b->n_keys; i++) {
        s->keys[i + 1].key = key_spec(&b->keys[i]);
        s->keys[i + 1].desc = b->keys[i].desc;
        s->keys[i + 1].nulls_first = b->keys[i].nulls_first;
    }
    for (int32_t i = 0; i < b->n_cols; i++)
        s->cols[i] = (CellSpec){.phys = b->cols[i].phys, .type = b->cols[i].type, .nullable = b->cols[i].nullable};
    return ST_OK;
}
Status progrun_buffers(ProgRun *pr, Err *e) {
    for (int32_t i = 0; i < pr->p->n_instrs; i++)
        if (pr->p->instrs[i].op == OP_BUF_CLEAR)
            pr->n_buffers = MAX_OF(pr->n_buffers, ((const BufferSpec *)pr->p->instrs[i].aux)->number + 1);
    if (!(pr->buffers = arena_array(pr->arena, SortSpec, pr->n_buffers + 1))) return err_oom(e);
    for (int32_t i = 0; i < pr->p->n_instrs; i++) {
        const BufferSpec *b = pr->p->instrs[i].aux;
        if (pr->p->instrs[i].op == OP_BUF_CLEAR) TRY(make_spec(pr, b, &pr->buffers[b->number], e));
    }
    return ST_OK;
}
bool callframe_buffers(CallFrame *c) {
    Frame *f = c->f;
    const int64_t vs = c->pr->vector_size;
    if (!(c->buffers = arena_array(f->arena, CallBuffer, c->pr->n_buffers + 1))) return false;
    if (c->pr->n_buffers == 0) return true;
    if (!(c->positions = frame_alloc(f, vs * 4))) return false;
    for (int64_t i = 0; i < vs; i++) c->positions[i] = (int32_t)i;
    for (int32_t i = 0; i < c->pr->n_buffers; i++)
        if (!(c->buffers[i].start = frame_alloc(f, vs * 8)) || !(c->buffers[i].count = frame_alloc(f, vs * 8)))
            return false;
    return true;
}

/* ---- rows ---- */
static void drop_rows(const CallFrame *c, CallBuffer *b) {
    MemAccount *account = c->pr->vm->env.account;
    const int64_t n_runs = b->rows ? rows_n_runs(b->rows) : 0, n = b->rows ? rows_count(b->rows) : 0;
    for (int64_t i = 0; b->runs && i < n_runs; i++) rows_run_close(b->rows, &b->runs[i]);
    if (b->runs) mem_free(account, b->runs, n_runs * (int64_t)sizeof *b->runs);
    if (b->at) mem_free(account, b->at, n * (int64_t)sizeof *b->at);
    sort_free(b->sorter);
    rows_free(b->rows);
    *b = (CallBuffer){.start = b->start, .count = b->count};
}
void callframe_drop_buffers(CallFrame *c) {
    for (int32_t i = 0; i < c->pr->n_buffers; i++) drop_rows(c, &c->buffers[i]);
}

static RunResult number_of_rows(Frame *f, const Step *s, const int64_t *counts) {
    Vec *d = &f->regs[s->dst];
    int64_t *out = frame_home(f, s->dst);
    if (UNLIKELY(!out)) return RUN_FAILED;
    for (int64_t i = 0; i < f->n; i++) out[i] = counts[row_pos(f, i)];
    d->data = out;
    d->valid = NULL;
    d->is_const = false;
    return RUN_NEXT;
}
static RunResult step_clear(Frame *f, const Step *s) {
    CallFrame *c = f->owner;
    CallBuffer *b = &c->buffers[((const BufferSpec *)s->in->aux)->number];
    drop_rows(c, b);
    memset(b->count, 0, (size_t)c->n * 8);
    return number_of_rows(f, s, b->count);
}

static RunResult step_add(Frame *f, const Step *s) {
    CallFrame *c = f->owner;
    const BufferRow *row = s->in->aux;
    const BufferSpec *spec = row->spec;
    CallBuffer *b = &c->buffers[spec->number];
    const int64_t n = f->n;
    Vec **vecs = (Vec **)(void *)&f->priv[s->pc];
    if (!*vecs && !(*vecs = frame_alloc(f, (spec->n_keys + spec->n_cols + 1) * (int64_t)sizeof(Vec))))
        return RUN_FAILED;
    Vec *keys = *vecs, *cols = keys + 1 + spec->n_keys;
    keys[0] = (Vec){.phys = PH_I32};
    keys[0].data = f->pos ? f->pos : c->positions + f->first;
    for (int32_t i = 0; i < spec->n_keys + spec->n_cols; i++) {
        const Vec *v = frame_dense(f, row->args[i]);
        if (UNLIKELY(!v)) return RUN_FAILED;
        keys[1 + i] = *v;
    }
    if (!b->sorter && sort_new(&c->pr->buffers[spec->number], 1, NULL, 1, c->pr->vm->env.account, NULL, NULL,
                               &b->sorter, &f->err) != ST_OK)
        return RUN_FAILED;
    if (sort_add(b->sorter, 0, 0, n, keys, cols, &f->err) != ST_OK) return RUN_FAILED;
    for (int64_t i = 0; i < n; i++) b->count[row_pos(f, i)]++;
    return number_of_rows(f, s, b->count);
}

/* The addresses of all rows, in order. */
static bool find_rows(CallFrame *c, CallBuffer *b) {
    Err *e = &c->f->err;
    MemAccount *account = c->pr->vm->env.account;
    const int64_t n_runs = rows_n_runs(b->rows), n = rows_count(b->rows), width = rows_layout(b->rows)->width;
    if (n == 0) return true;
    if (!(b->at = mem_alloc(account, n * (int64_t)sizeof *b->at, e))) return false;
    if (!(b->runs = mem_calloc(account, n_runs * (int64_t)sizeof *b->runs, e))) return false;
    const char **at = b->at;
    for (int64_t i = 0; i < n_runs; i++) {
        if (rows_run_open(b->rows, i, &b->runs[i], e) != ST_OK) return false;
        for (int64_t k = 0; k < b->runs[i].n; k++) *at++ = b->runs[i].rows + k * width;
    }
    return true;
}
static RunResult step_sort(Frame *f, const Step *s) {
    CallFrame *c = f->owner;
    CallBuffer *b = &c->buffers[((const BufferSpec *)s->in->aux)->number];
    if (b->sorter) {
        if (sort_finish(b->sorter, &b->rows, &f->err) != ST_OK) return RUN_FAILED;
        sort_free(b->sorter);
        b->sorter = NULL;
        if (!find_rows(c, b)) return RUN_FAILED;
    }
    int64_t at = 0;
    for (int64_t i = 0; i < c->n; i++) {
        b->start[i] = at;
        at += b->count[i];
    }
    return number_of_rows(f, s, b->count);
}

/* Strings to the frame's arena. */
static RunResult keep_strings(Frame *f, const Vec *d) {
    Str *cells = d->data;
    for (int64_t i = 0; i < f->n; i++) {
        if (d->valid && !d->valid[i]) continue;
        char *p = cells[i].len > 0 ? arena_alloc(f->batch, cells[i].len) : NULL;
        if (cells[i].len == 0) continue;
        if (!p) {
            err_oom(&f->err);
            return RUN_FAILED;
        }
        memcpy(p, cells[i].ptr, (size_t)cells[i].len);
        cells[i] = str_make(p, cells[i].len);
    }
    return RUN_NEXT;
}
static RunResult step_get(Frame *f, const Step *s) {
    CallFrame *c = f->owner;
    const BufferSpec *spec = s->in->aux;
    const CallBuffer *b = &c->buffers[spec->number];
    const Vec *a = frame_dense(f, s->a);
    Vec *d = &f->regs[s->dst];
    const char **rows = (const char **)(void *)f->longs;
    if (UNLIKELY(!a || !(d->data = frame_home(f, s->dst)) || !(d->valid = frame_valid(f, s->dst)))) return RUN_FAILED;
    const int64_t *numbers = a->data;
    for (int64_t i = 0; i < f->n; i++) {
        const int64_t pos = row_pos(f, i);
        if (UNLIKELY(!b->rows || numbers[i] < 0 || numbers[i] >= b->count[pos])) {
            err_internal(&f->err, "row %lld of a buffer with %lld", (long long)numbers[i], (long long)b->count[pos]);
            return RUN_FAILED;
        }
        rows[i] = b->at[b->start[pos] + numbers[i]];
    }
    rows_gather(rows_layout(b->rows), (int32_t)s->in->imm, rows, f->n, d);
    return d->phys == PH_STR ? keep_strings(f, d) : RUN_NEXT;
}

StepFn buffer_step_fn(int op) {
    switch (op) {
    case OP_BUF_CLEAR: return step_clear;
    case OP_BUF_ADD: return step_add;
    case OP_BUF_SORT: return step_sort;
    case OP_BUF_GET: return step_get;
    default: return NULL;
    }
}
