/* res_stream.c - tables that move: their columns come with each run of a segment, while kernels read what came before.
 *
 * Pieces are runs of tablets; piece p lies in slot p % slots of the ring, so that descriptors can be made once for the
 * whole table. The lane's side queue copies, its main queue computes: a kernel waits for its piece, a copy for the
 * kernel that read what was there before. A serial table is one piece.
 *
 * Few and large copies use the bus best: columns that are neighbours in a tablet's block go in one, with what little
 * lies between. Pieces are an eighth of the table, so that little remains to be computed when the last one has come,
 * within limits that keep a kernel's start and the ring small beside it. */
#include "exec/device/patch_map.h"
#include "exec/device/res_column.h"

enum { PIECE_MIN = 2 << 20, PIECE_MAX = 64 << 20, GAP_MAX = 8 << 10 };
typedef struct Piece {
    int64_t first, n, jobs, n_jobs, bytes;
} Piece;
typedef struct Stream {
    Piece *pieces;
    int64_t n;
    Upload *jobs;
    int64_t slot_bytes, slots;
    DevMem ring, desc;
} Stream;

/* An area of a tablet that moves, and the field of a descriptor that holds its address. */
typedef struct Moved {
    const char *p;
    int64_t bytes;
    uint64_t *want;
    bool in_block; /* of the tablet; else cells of an open or patched column */
} Moved;

static Status moved_areas(DevQuery *q, const DSegment *s, int64_t tablet, DColumn *desc, Moved *out, int64_t *n_out,
                          Err *e) {
    const Table *t = s->p->source.table;
    const Tablet *tab = t->tablets[tablet];
    int64_t n = 0;
    for (int32_t i = 0; i < s->e.n_tables_cols; i++) {
        if (res_has_strings(&t->cols[s->e.table_cols[i]])) continue;
        const TabletColumn *tc = &tab->cols[s->e.table_cols[i]];
        Areas a = res_areas(q, tc, tab->rows);
        if (res_packs(q, tc)) TRY(res_pack_cells(q, t, tab, s->e.table_cols[i], &a.data, e));
        DColumn *d = &desc[i * t->n_tablets + tablet];
        *d = res_describe(q, tc);
        const bool in_block = !tc->is_delta;
        if (a.data_bytes) out[n++] = (Moved){a.data, a.data_bytes, &d->data, in_block};
        if (a.validity_bytes) /* of a patched column: the tablet's own */
            out[n++] = (Moved){a.validity, a.validity_bytes, &d->validity, in_block && !tc->patches};
        if (!res_patched(q, tc)) continue;
        int64_t bytes = patch_map_bytes(tc, false);
        char *map = arena_alloc(q->arena, bytes);
        if (!map) return err_oom(e);
        patch_map_write(tc, 0, map);
        out[n++] = (Moved){map, bytes, &d->patches, false};
    }
    for (int64_t i = 1; i < n; i++) { /* by address */
        Moved m = out[i];
        int64_t k = i;
        for (; k > 0 && out[k - 1].p > m.p; k--) out[k] = out[k - 1];
        out[k] = m;
    }
    *n_out = n;
    return ST_OK;
}

/* Copies for a tablet's areas behind `at` in the slot; where it ends. registered: the tablet's block is. Fields get
 * their place in the slot, plus 1. */
static int64_t plan_copies(const Moved *m, int64_t n, bool registered, int64_t at, Upload *jobs, int64_t *n_jobs) {
    Upload *u = NULL;
    for (int64_t i = 0; i < n; i++) {
        int64_t gap = u ? (int64_t)((uintptr_t)m[i].p - (uintptr_t)u->from) - u->bytes : 0;
        bool near = u && m[i].in_block && m[i - 1].in_block;
        if (near && gap >= 0 && gap <= GAP_MAX) {
            u->bytes += gap + m[i].bytes;
        } else {
            if (u) at = align_up(u->at + u->bytes + RES_GUARD, RES_ALIGN);
            u = &jobs[(*n_jobs)++];
            *u = (Upload){m[i].p, m[i].bytes, at, registered && m[i].in_block};
        }
        *m[i].want = (uint64_t)(u->at + ((uintptr_t)m[i].p - (uintptr_t)u->from)) + 1;
    }
    return u ? align_up(u->at + u->bytes + RES_GUARD, RES_ALIGN) : at;
}

static int64_t piece_bytes(const DevQuery *q, const DSegment *s) {
    if (s->residence == RES_SERIAL) return INT64_MAX;
    int64_t total = (int64_t)(s->e.bytes_per_row * (double)s->list_rows);
    int64_t want = MIN_OF(MAX_OF(total / 8, (int64_t)PIECE_MIN), (int64_t)PIECE_MAX);
    return MAX_OF(MIN_OF(want, dev_limit(q->d) / 16), INT64_C(1) << 16);
}

/* Registering only makes copies faster: that it is refused is no error, but is not tried again. */
static Status registered_or_not(DevQuery *q, DSegment *s, Tablet *tab, bool *registered, uint64_t *shift, Err *e) {
    Err why;
    err_clear(&why);
    if (s->register_it && hostmap_get(q, tab, true, registered, shift, &why) == ST_OK) return ST_OK;
    if (s->register_it) {
        const Table *t = s->p->source.table;
        log_write(LOG_INFO, "table \"%s\" moves to device %s through buffers: %s", t->name, q->d->info.id, why.message);
        s->register_it = false;
        mutex_lock(&q->r->res_lock);
        for (ResTable *rt = q->r->tables; rt; rt = rt->next) rt->refused |= rt->id == t->id;
        mutex_unlock(&q->r->res_lock);
    }
    return hostmap_get(q, tab, false, registered, shift, e);
}

static Status stream_pieces(DevQuery *q, DSegment *s, Stream *x, DColumn *desc, Err *e) {
    const Table *t = s->p->source.table;
    int64_t want = piece_bytes(q, s), jobs_n = 0, most = 3 * (int64_t)s->e.n_tables_cols;
    x->pieces = arena_array(q->arena, Piece, s->n_list + 1);
    x->jobs = arena_array(q->arena, Upload, most * s->n_list + 1);
    Moved *areas = arena_array(q->arena, Moved, most + 1);
    if (!x->pieces || !x->jobs || !areas) return err_oom(e);
    Piece *p = NULL;
    for (int64_t k = 0; k < s->n_list; k++) {
        Tablet *tab = t->tablets[s->list[k]];
        int64_t n = 0, need = 0;
        TRY(moved_areas(q, s, s->list[k], desc, areas, &n, e));
        for (int64_t i = 0; i < n; i++) need += res_room(areas[i].bytes);
        if (!p || p->bytes + need > want) {
            p = &x->pieces[x->n++];
            *p = (Piece){.first = k, .jobs = jobs_n};
        }
        bool registered;
        uint64_t shift;
        TRY(registered_or_not(q, s, tab, &registered, &shift, e));
        p->bytes = plan_copies(areas, n, registered, p->bytes, x->jobs, &jobs_n);
        p->n++;
        p->n_jobs = jobs_n - p->jobs;
        if (p->bytes > x->slot_bytes) x->slot_bytes = p->bytes;
    }
    x->slot_bytes = align_up(x->slot_bytes + RES_GUARD, 256);
    return ST_OK;
}

typedef struct StreamRun {
    DevQuery *q;
    const Stream *x;
    Status (*run)(void *ctx, int64_t first, int64_t n, Err *e);
    void *ctx;
} StreamRun;

static Status stream_body(void *ctx, Stager *stager, Err *e) {
    const StreamRun *s = ctx;
    DevQuery *q = s->q;
    const DeviceOps *ops = q->d->ops;
    Lane *l = q->lane;
    /* The ring's memory may have been something else of this query a moment ago. */
    TRY(device_mark(q->d, l->queue, &l->used[0], e));
    TRY(ops->event_wait(l->side, l->used[0], e));
    for (int64_t k = 0; k < s->x->n; k++) {
        const Piece *p = &s->x->pieces[k];
        int slot = (int)(k % s->x->slots);
        TRY(query_check_cancel(q, e));
        q->busy = q->side_busy = true;
        if (k >= s->x->slots) TRY(ops->event_wait(l->side, l->used[slot], e));
        TRY(stager_send(stager, k, l->side, s->x->ring.p + (uint64_t)(slot * s->x->slot_bytes), e));
        TRY(device_mark(q->d, l->side, &l->copied[slot], e));
        TRY(ops->event_wait(l->queue, l->copied[slot], e));
        TRY(s->run(s->ctx, p->first, p->n, e));
        TRY(device_mark(q->d, l->queue, &l->used[slot], e));
        q->bytes_in += p->bytes;
    }
    return ST_OK;
}

static Status stream_run(DevQuery *q, const Stream *x, Status (*run)(void *, int64_t, int64_t, Err *), void *ctx,
                         Err *e) {
    int64_t *groups = arena_array(q->arena, int64_t, x->n + 1);
    if (!groups) return err_oom(e);
    for (int64_t k = 0; k < x->n; k++) groups[k + 1] = x->pieces[k].jobs + x->pieces[k].n_jobs;
    StreamRun s = {q, x, run, ctx};
    return query_upload_groups(q, x->jobs, groups, x->n, stream_body, &s, e);
}

/* RING slots, fewer when memory is short: with one, copies and kernels take turns. */
static Status ring_make(DevQuery *q, Stream *x, Err *e) {
    for (x->slots = MIN_OF((int64_t)RING, x->n);; x->slots--) {
        Err err;
        err_clear(&err);
        if (query_mem_get(q, x->slot_bytes * x->slots, &x->ring, &err) == ST_OK) return ST_OK;
        if (x->slots > 1 && strcmp(err.sqlstate, ERR_OUT_OF_MEMORY) == 0) continue;
        err_copy(e, &err);
        return ST_ERROR;
    }
}

Status res_stream(DevQuery *q, DSegment *s, Status (*run)(void *ctx, int64_t first, int64_t n, Err *e), void *ctx,
                  Err *e) {
    const Table *t = s->p->source.table;
    int64_t n = t->n_tablets, bytes = s->e.n_tables_cols * n * (int64_t)sizeof(DColumn);
    DColumn *desc = arena_array(q->arena, DColumn, s->e.n_tables_cols * n + 1);
    if (!desc) return err_oom(e);
    Stream x = {0};
    TRY(stream_pieces(q, s, &x, desc, e));
    if (x.n == 0) return ST_OK;
    Status st = ring_make(q, &x, e);
    if (st == ST_OK) st = query_mem_get(q, bytes + 64, &x.desc, e);
    for (int64_t k = 0; k < x.n && st == ST_OK; k++) {
        DevPtr slot = x.ring.p + (uint64_t)(k % x.slots * x.slot_bytes);
        for (int64_t j = x.pieces[k].first; j < x.pieces[k].first + x.pieces[k].n; j++)
            for (int32_t i = 0; i < s->e.n_tables_cols; i++) {
                DColumn *d = &desc[i * n + s->list[j]];
                d->data = d->data ? d->data + slot - 1 : slot;
                if (d->validity) d->validity += slot - 1;
                if (d->patches) d->patches += slot - 1;
            }
    }
    Upload u = {desc, bytes, 0, false};
    if (st == ST_OK && bytes > 0) st = res_upload(q, x.desc.p, &u, 1, false, e);
    for (int32_t i = 0; i < s->e.n_tables_cols; i++)
        if (!res_has_strings(&t->cols[s->e.table_cols[i]]))
            s->columns[i] = x.desc.p + (uint64_t)(i * n * (int64_t)sizeof(DColumn));
    if (st == ST_OK) st = stream_run(q, &x, run, ctx, e);
    if (st != ST_OK) (void)query_settle(q); /* copies may be under way */
    query_mem_put(q, &x.ring);
    query_mem_put(q, &x.desc);
    return st;
}
