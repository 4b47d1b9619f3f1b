/* emit_run.h - a small executor for emitted kernels on the host: plain memory, one item per group, several groups one
 * after the other. For tests of the emitter; the product's executor is exec/device. Kernels are compiled by the
 * system's C compiler and opened with dlopen. */
#ifndef STELE_TESTS_EMIT_RUN_H
#define STELE_TESTS_EMIT_RUN_H

#include <dlfcn.h>
#include <stdio.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "codegen/emit.h"
#include "codegen/prelude.h"
#include "exec/rows.h"

enum { RUN_GROUPS = 3, RUN_PARTS = 8 };
typedef struct RunStore { /* columns of rows */
    int64_t cap, n_cols;
    uint64_t count;
    void **data;
    uint8_t **valid;
} RunStore;
typedef struct RunJoin {
    RunStore rows;
    uint32_t *head, *next, flags[4];
    uint8_t *matched;
    uint64_t mask;
} RunJoin;
typedef struct RunAgg {
    char *records;
    uint64_t *slots, mask, count, cap;
} RunAgg;
typedef struct Run {
    const QueryPlan *plan;
    EmitPlan *ep;
    Arena *a;
    Err *e;
    int64_t cap;
    RunStore *rows, *sorts;
    RunJoin *joins;
    RunAgg *aggs;
    uint64_t error[2];
    uint64_t *pairs[2];
    int64_t kernels;
    const char *keep; /* directory for sources, or NULL */
} Run;

static void *run_zeroed(int64_t bytes) {
    void *p = calloc(1, (size_t)bytes + 256);
    if (!p) abort();
    return p;
}
static int run_status(const char *command) { return system(command); }

static void store_make(RunStore *s, int64_t cap, int32_t n, const DevCol *c, bool seq) {
    if (s->data) return;
    *s = (RunStore){.cap = cap, .n_cols = n + seq};
    s->data = run_zeroed((n + 1) * 8);
    s->valid = run_zeroed((n + 1) * 8);
    for (int32_t i = 0; i < n; i++) {
        s->data[i] = run_zeroed(cap * phys_size((Phys)c[i].phys));
        s->valid[i] = run_zeroed(cap);
    }
    if (seq) s->data[n] = run_zeroed(cap * 8);
}
static void store_drop(RunStore *s) {
    for (int64_t i = 0; s->data && i < s->n_cols; i++) free(s->data[i]);
    for (int64_t i = 0; s->data && i < s->n_cols; i++) free(s->valid[i]);
    free(s->data);
    free(s->valid);
}

/* Strings of the host in the form of kernels. */
typedef struct RunStr {
    uint64_t ptr;
    int64_t len;
} RunStr;
static RunStr run_str(Str s) { return (RunStr){(uint64_t)(uintptr_t)s.ptr, s.len}; }
static uint64_t run_column(Run *r, const Table *t, int32_t col) {
    DColumn *c = arena_calloc(r->a, (t->n_tablets + 1) * (int64_t)sizeof *c);
    for (int64_t i = 0; i < t->n_tablets; i++) {
        const TabletColumn *tc = &t->tablets[i]->cols[col];
        int64_t n = t->tablets[i]->rows;
        c[i] = (DColumn){.data = (uint64_t)(uintptr_t)tc->data,
                         .validity = (uint64_t)(uintptr_t)tc->validity,
                         .base = tc->base,
                         .form = dev_form(tc, false)};
        if (tc->encoding != ENC_STR) continue;
        if (!tc->is_delta) {
            c[i].data = (uint64_t)(uintptr_t)tc->offsets;
            c[i].var = (uint64_t)(uintptr_t)tc->var_base;
            continue;
        }
        int64_t bytes = 0;
        uint32_t *off = arena_calloc(r->a, (n + 1) * 4);
        for (int64_t k = 0; k < n; k++) bytes += ((const Str *)tc->data)[k].len;
        char *var = arena_calloc(r->a, bytes + 16);
        for (int64_t k = 0; k < n; k++) {
            Str s = ((const Str *)tc->data)[k];
            if (s.len) memcpy(var + off[k], s.ptr, s.len);
            off[k + 1] = off[k] + s.len;
        }
        c[i].data = (uint64_t)(uintptr_t)off;
        c[i].var = (uint64_t)(uintptr_t)var;
    }
    return (uint64_t)(uintptr_t)c;
}
static void run_dict(Run *r, const Dict *d, uint64_t *offsets, uint64_t *bytes) {
    uint64_t total = 0, *off = arena_calloc(r->a, (d->n + 1) * 8);
    for (int32_t i = 0; i < d->n; i++) total += d->entries[i].len;
    char *p = arena_calloc(r->a, (int64_t)total + 16);
    for (int32_t i = 0; i < d->n; i++) {
        if (d->entries[i].len) memcpy(p + off[i], d->entries[i].ptr, d->entries[i].len);
        off[i + 1] = off[i] + d->entries[i].len;
    }
    *offsets = (uint64_t)(uintptr_t)off;
    *bytes = (uint64_t)(uintptr_t)p;
}

typedef struct RunSegment {
    int64_t first, n, tiles; /* source */
    uint32_t *list;
    DTablet *tablets;
    uint64_t width, sort_n, take;
} RunSegment;

static RunStore *run_sink(Run *r, const Program *p) {
    switch (p->sink.kind) {
    case SINK_ROWS: return &r->rows[p->sink.id];
    case SINK_SORT: return &r->sorts[r->plan->rows[p->sink.id].sort];
    case SINK_JOIN: return &r->joins[p->sink.id].rows;
    default: return NULL;
    }
}

static uint64_t run_param(Run *r, const Program *p, const RunSegment *g, const EmitParam *q) {
#define ADDR(x) ((uint64_t)(uintptr_t)(x))
    RunStore *sink = run_sink(r, p);
    switch ((ParamKind)q->kind) {
    case KP_ERR: return ADDR(r->error);
    case KP_SRC_FIRST: return (uint64_t)g->first;
    case KP_SRC_ROWS: return (uint64_t)g->n;
    case KP_SRC_TILES: return (uint64_t)g->tiles;
    case KP_TABLETS: return ADDR(g->tablets);
    case KP_TABLET_LIST: return ADDR(g->list);
    case KP_COLUMN: return run_column(r, p->source.table, q->col);
    case KP_ROWS_DATA: return ADDR(r->rows[q->id].data[q->col]);
    case KP_ROWS_VALID: return ADDR(r->rows[q->id].valid[q->col]);
    case KP_JOIN_DATA: return ADDR(r->joins[q->id].rows.data[q->col]);
    case KP_JOIN_VALID: return ADDR(r->joins[q->id].rows.valid[q->col]);
    case KP_JOIN_HEAD: return ADDR(r->joins[q->id].head);
    case KP_JOIN_NEXT: return ADDR(r->joins[q->id].next);
    case KP_JOIN_MASK: return r->joins[q->id].mask;
    case KP_JOIN_FLAGS: return ADDR(r->joins[q->id].flags);
    case KP_JOIN_MATCHED: return ADDR(r->joins[q->id].matched);
    case KP_JOIN_ROWS: return r->joins[q->id].rows.count;
    case KP_AGG_RECORDS: return ADDR(r->aggs[q->id].records);
    case KP_AGG_SLOTS: return ADDR(r->aggs[q->id].slots);
    case KP_AGG_MASK: return r->aggs[q->id].mask;
    case KP_AGG_COUNT: return ADDR(&r->aggs[q->id].count);
    case KP_AGG_CAP: return r->aggs[q->id].cap;
    case KP_OUT_COUNT: return ADDR(&sink->count);
    case KP_OUT_CAP: return (uint64_t)sink->cap;
    case KP_OUT_BASE: return sink->count;
    case KP_SORT_DATA: return ADDR(r->sorts[q->id].data[q->col]);
    case KP_SORT_VALID: return ADDR(r->sorts[q->id].valid[q->col]);
    case KP_SORT_A: return ADDR(r->pairs[0]);
    case KP_SORT_B: return ADDR(r->pairs[1]);
    case KP_SORT_N: return g->sort_n;
    case KP_SORT_WIDTH: return g->width;
    case KP_SORT_FIRST: return (uint64_t)r->plan->sorts[q->id].offset;
    case KP_SORT_TAKE: return g->take;
    case KP_DICT_OFFSETS:
    case KP_DICT_BYTES: {
        uint64_t off, bytes;
        run_dict(r, q->dict, &off, &bytes);
        return q->kind == KP_DICT_OFFSETS ? off : bytes;
    }
    default: {
        const int64_t bytes = emit_param_data(p, q, 0, NULL);
        if (bytes < 0) {
            fprintf(stderr, "parameter kind %d\n", q->kind);
            abort();
        }
        char *data = arena_calloc(r->a, bytes + 16);
        (void)emit_param_data(p, q, ADDR(data), data);
        return bytes > 0 ? ADDR(data) : 0;
    }
    }
}

typedef void (*RunKernel)(const uint64_t *params, void *ctx);
typedef struct RunCtx {
    uint64_t gid, ngroups;
    uint8_t *lmem;
} RunCtx;
static void run_kernel(Run *r, void *so, const char *name, const EmitSegment *s, const Program *p, int32_t segment,
                       const RunSegment *g, int64_t groups, int64_t local) {
    uint64_t *params = arena_calloc(r->a, s->n_params * 8 + 8);
    for (int32_t i = 0; i < s->n_params; i++)
        if (!emit_param_value(r->ep, segment, &s->params[i], &params[i])) params[i] = run_param(r, p, g, &s->params[i]);
    RunKernel k = (RunKernel)(uintptr_t)dlsym(so, name);
    if (!k) abort();
    uint8_t *lmem = run_zeroed(local + 64);
    for (int64_t i = 0; i < groups; i++) {
        memset(lmem, 0xA5, (size_t)local);
        RunCtx c = {(uint64_t)i, (uint64_t)groups, lmem};
        k(params, &c);
    }
    free(lmem);
    r->kernels++;
}

static void *run_compile(Run *r, const EmitSegment *s) {
    static int serial;
    const char *tmp = getenv("TMPDIR");
    char dir[128], src[160], so[160], cmd[1024];
    snprintf(dir, sizeof dir, "%s/stele-emit-XXXXXX", tmp && *tmp ? tmp : P_tmpdir);
    if (!mkdtemp(dir)) abort();
    snprintf(src, sizeof src, "%s/k.c", dir);
    snprintf(so, sizeof so, "%s/k.so", dir);
    FILE *f = fopen(src, "w");
    if (!f) abort();
    char *text = kernel_source_expand(s->source);
    if (!text) abort();
    fwrite(text, 1, strlen(text), f);
    free(text);
    fclose(f);
    const char *flags = getenv("EMIT_CFLAGS");
    if (r->keep) {
        snprintf(cmd, sizeof cmd, "cp %s %s/k%d.c", src, r->keep, serial++);
        (void)run_status(cmd);
    }
    snprintf(cmd, sizeof cmd,
             "${STELE_CC:-cc} -x c -std=gnu17 %s -fPIC -shared -fno-strict-aliasing -ffp-contract=off -w -o %s %s",
             flags ? flags : "-O1 -g0", so, src);
    void *h = NULL;
    if (run_status(cmd) == 0) h = dlopen(so, RTLD_NOW);
    snprintf(cmd, sizeof cmd, "rm -r %s", dir);
    if (h) (void)run_status(cmd);
    return h;
}

static void join_finish_run(Run *r, int32_t id) {
    RunJoin *j = &r->joins[id];
    const DevJoin *d = &r->ep->joins[id];
    if (j->head && d->form != DJ_HASH) return;
    if (d->form == DJ_HASH) {
        uint64_t n = 1;
        while (n < j->rows.count * 2) n *= 2;
        j->mask = n - 1;
        free(j->head);
        j->head = run_zeroed((int64_t)n * 4);
    } else {
        j->head = run_zeroed(d->dom * 4 + 64);
    }
}

static Status run_segment(Run *r, int32_t i) {
    const Program *p = r->plan->segments[i].program;
    bool last = true;
    for (int32_t k = i + 1; k < r->plan->n_segments; k++) {
        const Sink *o = &r->plan->segments[k].program->sink;
        last &= !(o->kind == p->sink.kind && o->id == p->sink.id);
    }
    EmitSegment s;
    TRY(emit_segment(r->ep, i, last, r->a, &s, r->e));
    void *so = run_compile(r, &s);
    if (!so) return err_internal(r->e, "segment %d does not compile", (int)i);
    /* states of the sink */
    int32_t id = p->sink.id, sort = p->sink.kind == SINK_SORT ? r->plan->rows[id].sort : -1;
    switch (p->sink.kind) {
    case SINK_ROWS:
        store_make(&r->rows[id], r->cap, r->ep->rows[id].n_cols, r->ep->rows[id].cols, r->ep->rows[id].has_seq);
        break;
    case SINK_SORT:
        store_make(&r->rows[id], r->cap, r->ep->rows[id].n_cols, r->ep->rows[id].cols, false);
        store_make(&r->sorts[sort], r->cap, r->ep->sorts[sort].n_cols, r->ep->sorts[sort].cols, false);
        break;
    case SINK_JOIN:
        store_make(&r->joins[id].rows, r->cap, r->ep->joins[id].n_cols, r->ep->joins[id].cols, false);
        if (!r->joins[id].next) {
            r->joins[id].next = memset(run_zeroed(r->cap * 4), 0xff, (size_t)r->cap * 4); /* 255: nothing stored */
            r->joins[id].matched = memset(run_zeroed(r->cap), 0xff, (size_t)r->cap);
            if (r->ep->joins[id].form != DJ_HASH) join_finish_run(r, id);
        }
        break;
    case SINK_AGG:
        if (!r->aggs[id].records) {
            const DevAgg *d = &r->ep->aggs[id];
            r->aggs[id].cap = d->form == DA_HASH ? (uint64_t)r->cap : (uint64_t)d->n_slots;
            r->aggs[id].records = run_zeroed((int64_t)r->aggs[id].cap * d->stride);
            uint64_t slots = 2;
            while (slots < r->aggs[id].cap * 2) slots *= 2;
            if (d->form == DA_HASH) r->aggs[id].slots = run_zeroed((int64_t)slots * 8);
            r->aggs[id].mask = slots - 1;
        }
        break;
    default: break;
    }
    /* source */
    RunSegment g = {0};
    int64_t tile = r->ep->target.tile_rows;
    const Source *src = &p->source;
    switch (src->kind) {
    case SRC_ONE: g.n = 1; break;
    case SRC_TABLE: {
        const Table *t = src->table;
        g.list = arena_calloc(r->a, (t->n_tablets + 1) * 4);
        g.tablets = arena_calloc(r->a, (t->n_tablets + 1) * (int64_t)sizeof(DTablet));
        int64_t n = 0;
        for (int64_t k = 0; k < t->n_tablets; k++) {
            const Tablet *tab = t->tablets[k];
            g.tablets[k] = (DTablet){tab->n_deleted ? (uint64_t)(uintptr_t)tab->deleted : 0, tab->rows, k, 0};
            if (tab->rows) g.list[n++] = (uint32_t)k;
        }
        g.tiles = n * (TABLET_ROWS / tile);
        break;
    }
    case SRC_ROWS: {
        const RowsSpec *spec = &r->plan->rows[src->id];
        g.n = (int64_t)r->rows[src->id].count;
        if (spec->sort < 0 && spec->offset > 0) g.first = MIN_OF(spec->offset, g.n);
        g.n -= g.first;
        if (spec->sort < 0 && spec->limit >= 0) g.n = MIN_OF(g.n, spec->limit);
        break;
    }
    case SRC_AGG:
        g.n = r->ep->aggs[src->id].form == DA_HASH ? (int64_t)r->aggs[src->id].count : r->ep->aggs[src->id].n_slots;
        break;
    case SRC_JOIN: g.n = (int64_t)r->joins[src->id].rows.count; break;
    case SRC_SERIES: {
        int128_t span = (int128_t)src->stop - src->start;
        g.n = src->step > 0 ? (span < 0 ? 0 : (int64_t)(span / src->step + 1))
                            : (span > 0 ? 0 : (int64_t)(span / src->step + 1));
        break;
    }
    case SRC_CALLS: break; /* not of a query */
    }
    if (src->kind != SRC_TABLE) g.tiles = (g.n + tile - 1) / tile;
    run_kernel(r, so, "seg_main", &s, p, i, &g, RUN_GROUPS, s.main_local_bytes);
    if (r->error[0]) {
        emit_error(r->ep, i, r->error[0], r->e);
        dlclose(so);
        return ST_ERROR;
    }
    if (s.identity_sink) run_sink(r, p)->count += (uint64_t)g.n;
    if (run_sink(r, p) && run_sink(r, p)->count > (uint64_t)r->cap)
        return err_internal(r->e, "too many rows for the test");
    if (p->sink.kind == SINK_AGG && r->aggs[id].count > r->aggs[id].cap)
        return err_internal(r->e, "too many groups for the test");
    if (s.kernels & EK_BUILD) {
        join_finish_run(r, id);
        run_kernel(r, so, "join_build", &s, p, i, &g, RUN_GROUPS, 0);
    }
    if (s.kernels & EK_SORT) {
        RunStore *st = &r->sorts[sort];
        const SortSpec *spec = &r->plan->sorts[sort];
        g.sort_n = st->count;
        for (int k = 0; k < 2; k++) r->pairs[k] = run_zeroed((int64_t)st->count * 16);
        run_kernel(r, so, "sort_init", &s, p, i, &g, RUN_GROUPS, 0);
        run_kernel(r, so, "sort_tile", &s, p, i, &g, RUN_GROUPS, SORT_TILE * 16);
        for (g.width = SORT_TILE; g.width < g.sort_n; g.width *= 2) {
            run_kernel(r, so, "sort_merge", &s, p, i, &g, RUN_GROUPS, 0);
            uint64_t *t = r->pairs[0];
            r->pairs[0] = r->pairs[1];
            r->pairs[1] = t;
        }
        int64_t from = MIN_OF(spec->offset, (int64_t)st->count), take = (int64_t)st->count - from;
        if (spec->limit >= 0) take = MIN_OF(take, spec->limit);
        g.take = (uint64_t)take;
        store_make(&r->rows[id], r->cap, r->ep->rows[id].n_cols, r->ep->rows[id].cols, false);
        r->rows[id].count = g.take;
        run_kernel(r, so, "sort_gather", &s, p, i, &g, RUN_GROUPS, 0);
        for (int k = 0; k < 2; k++) free(r->pairs[k]);
    }
    dlclose(so);
    /* rows in the order of their sequence numbers */
    if (p->sink.kind == SINK_ROWS && last && r->ep->rows[id].has_seq) {
        RunStore *st = &r->rows[id];
        uint64_t *seq = st->data[st->n_cols - 1];
        for (uint64_t x = 1; x < st->count; x++) /* insertion: few rows, nearly in order */
            for (uint64_t y = x; y > 0 && seq[y - 1] > seq[y]; y--)
                for (int64_t c = 0; c < st->n_cols; c++) {
                    int64_t size = c == st->n_cols - 1 ? 8 : phys_size((Phys)r->ep->rows[id].cols[c].phys);
                    char tmp[16], *a = (char *)st->data[c] + (int64_t)(y - 1) * size, *b = a + size;
                    memcpy(tmp, a, (size_t)size), memcpy(a, b, (size_t)size), memcpy(b, tmp, (size_t)size);
                    if (st->valid[c]) {
                        uint8_t v = st->valid[c][y - 1];
                        st->valid[c][y - 1] = st->valid[c][y];
                        st->valid[c][y] = v;
                    }
                }
    }
    return ST_OK;
}

/* The text of a cell of the result; "NULL" for NULL. */
static void run_cell(const Run *r, int64_t row, int32_t col, char *out, int64_t n) {
    const RunStore *s = &r->rows[r->plan->result];
    const DevCol *c = &r->ep->rows[r->plan->result].cols[col];
    const CellSpec *spec = &r->plan->rows[r->plan->result].cols[col];
    if (c->nullable && !s->valid[col][row]) {
        snprintf(out, (size_t)n, "NULL");
        return;
    }
    const char *cell = (const char *)s->data[col] + row * phys_size((Phys)c->phys);
    if (spec->phys == PH_STR) {
        RunStr v;
        if (c->dict) v = run_str(c->dict->entries[*(const int32_t *)(const void *)cell]);
        else memcpy(&v, cell, 16);
        snprintf(out, (size_t)n, "%.*s", (int)v.len, (const char *)(uintptr_t)v.ptr);
        return;
    }
    char buf[VALUE_TEXT_MAX + 1];
    if (spec->phys == PH_F64) {
        double d;
        memcpy(&d, cell, 8);
        snprintf(out, (size_t)n, "%.9g", d == 0 ? 0.0 : d != d ? (double)NAN : d);
        return;
    }
    if (spec->phys == PH_F32) {
        float d;
        memcpy(&d, cell, 4);
        snprintf(out, (size_t)n, "%.5g", d == 0 ? 0.0 : (double)d);
        return;
    }
    if (type_phys(spec->type) != (Phys)spec->phys) { /* columns of data-changing statements */
        for (int64_t k = 0; k < phys_size((Phys)c->phys); k++)
            snprintf(out + 2 * k, 3, "%02x", ((const uint8_t *)cell)[k]);
        return;
    }
    alignas(16) char copy[16];
    memcpy(copy, cell, (size_t)phys_size((Phys)c->phys));
    int64_t len = cell_to_text(spec->type, copy, (TextForm){0}, buf);
    snprintf(out, (size_t)n, "%.*s", (int)len, buf);
}

static Status run_plan(Run *r, const QueryPlan *plan, const EmitTarget *target, int64_t cap, Err *e) {
    *r = (Run){.plan = plan, .e = e, .cap = cap, .keep = getenv("EMIT_KEEP")};
    if (!(r->a = arena_new(NULL, e))) return ST_ERROR;
    r->rows = arena_calloc(r->a, (plan->n_rows + 1) * (int64_t)sizeof(RunStore));
    r->sorts = arena_calloc(r->a, (plan->n_sorts + 1) * (int64_t)sizeof(RunStore));
    r->joins = arena_calloc(r->a, (plan->n_joins + 1) * (int64_t)sizeof(RunJoin));
    r->aggs = arena_calloc(r->a, (plan->n_aggs + 1) * (int64_t)sizeof(RunAgg));
    TRY(emit_plan(plan, target, r->a, &r->ep, e));
    for (int32_t i = 0; i < plan->n_segments; i++)
        if (r->ep->reasons[i]) return err_set(e, ERR_FEATURE_NOT_SUPPORTED, "%s", r->ep->reasons[i]);
    for (int32_t i = 0; i < plan->n_segments; i++) TRY(run_segment(r, i));
    return ST_OK;
}
static void run_free(Run *r) {
    if (!r->a) return;
    for (int32_t i = 0; i < r->plan->n_rows; i++) store_drop(&r->rows[i]);
    for (int32_t i = 0; i < r->plan->n_sorts; i++) store_drop(&r->sorts[i]);
    for (int32_t i = 0; i < r->plan->n_joins; i++) {
        store_drop(&r->joins[i].rows);
        free(r->joins[i].head);
        free(r->joins[i].next);
        free(r->joins[i].matched);
    }
    for (int32_t i = 0; i < r->plan->n_aggs; i++) {
        free(r->aggs[i].records);
        free(r->aggs[i].slots);
    }
    arena_free(r->a);
}

#endif
