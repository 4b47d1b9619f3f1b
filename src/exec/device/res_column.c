/* res_column.c - see res_column.h.
 *
 * For devices with memory of their own delta strings, Str cells on the host, are packed to offsets and bytes like those
 * of main, and cells of a home (storage/row_home.h) put side by side; where memory is shared kernels read both where
 * they are. Of a patched column (storage/patches.h) the packed bytes stay as they are; beside them lies a map of its
 * new cells (patch_map.h), known again by the state of the patches, and the validity bits that go with it. So a table
 * with a changed row moves that row.
 */
#include "exec/device/res_column.h"

#include "exec/device/device_rows.h"
#include "exec/device/patch_map.h"
#include "storage/tablet_block.h" /* blocks of tablets, by which bytes on the device are known again */

static void chunk_drop(DevRuntime *r, ResChunk *c) {
    if (!c || --c->refs > 0) return;
    dev_mem_put(r, &c->mem);
    mem_free(r->account, c, (int64_t)sizeof *c);
}

static void piece_drop(DevRuntime *r, ResPiece *p) {
    chunk_drop(r, p->chunk);
    chunk_drop(r, p->patches);
    if (p->offsets) mem_free(r->account, p->offsets, (p->rows + 1) * 4);
    *p = (ResPiece){0};
}

void res_column_free(DevRuntime *r, ResColumn *c) {
    if (!c) return;
    for (int64_t i = 0; i < c->n_tablets; i++) piece_drop(r, &c->pieces[i]);
    if (c->pieces) mem_free(r->account, c->pieces, c->n_tablets * (int64_t)sizeof *c->pieces);
    dev_mem_put(r, &c->desc);
    mem_free(r->account, c, (int64_t)sizeof *c);
}

/* An open column's cells are put side by side for the device. */
bool res_packs(const DevQuery *q, const TabletColumn *c) {
    return c->is_delta && !q->d->info.shares_memory && (c->stride || c->patches || c->encoding == ENC_STR);
}
bool res_patched(const DevQuery *q, const TabletColumn *c) { return dev_patched(c, q->d->info.shares_memory); }
static int64_t string_bytes(const TabletColumn *c, int64_t rows) {
    int64_t n = 0;
    for (int64_t i = 0; i < rows; i++)
        if (column_row_valid(c, i)) n += column_str(c, i).len;
    return n;
}

Areas res_areas(const DevQuery *q, const TabletColumn *c, int64_t rows) {
    bool made = res_packs(q, c);
    Areas a = {.data = made ? NULL : c->data};
    if (c->encoding == ENC_STR) {
        a.data = made ? NULL : c->offsets;
        a.data_bytes = (rows + 1) * 4;
        a.var = made ? NULL : c->var_base;
        a.var_bytes = made ? string_bytes(c, rows) : (int64_t)c->offsets[rows];
    } else if (c->encoding == ENC_FOR) {
        a.data_bytes = (rows * c->width + 7) / 8;
    } else {
        a.data_bytes = rows * phys_size((Phys)c->phys);
    }
    if (c->validity) {
        a.validity = c->validity;
        a.validity_bytes = (rows + 63) / 64 * 8;
    }
    return a;
}

/* Offsets and bytes of strings that are no block's, side by side in memory of the query. */
static Status pack_strings(DevQuery *q, const TabletColumn *c, int64_t rows, Areas *a, ResPiece *p, Err *e) {
    if (a->var_bytes > UINT32_MAX)
        return err_set(e, ERR_OUT_OF_MEMORY, "a tablet's strings of %lld bytes are too long for device %s",
                       (long long)a->var_bytes, q->d->info.id);
    p->rows = rows;
    if (!(p->offsets = mem_alloc(q->r->account, (rows + 1) * 4, e))) return ST_ERROR;
    char *bytes = arena_alloc(q->arena, a->var_bytes + 1);
    if (!bytes) return err_oom(e);
    uint32_t at = 0;
    for (int64_t i = 0; i < rows; i++) {
        p->offsets[i] = at;
        if (!column_row_valid(c, i)) continue;
        Str s = column_str(c, i);
        if (s.len) memcpy(bytes + at, s.ptr, s.len);
        at += s.len;
    }
    p->offsets[rows] = at;
    a->data = p->offsets;
    a->var = bytes;
    return ST_OK;
}

/* Cells of an open column side by side, in memory of the query. */
Status res_pack_cells(DevQuery *q, const Table *t, const Tablet *tab, int32_t col, const void **out, Err *e) {
    const TabletColumn *c = &tab->cols[col];
    char *cells = arena_alloc(q->arena, tab->rows * phys_size((Phys)c->phys) + 1);
    uint8_t *valid = c->validity ? arena_alloc(q->arena, tab->rows + 1) : NULL;
    bool nulls;
    if (!cells || (c->validity && !valid)) return err_oom(e);
    tablet_decode(t, tab, col, 0, NULL, tab->rows, c->phys, cells, valid, &nulls);
    *out = cells;
    return ST_OK;
}
static Status pack_column(DevQuery *q, const Table *t, const Tablet *tab, int32_t col, Areas *a, ResPiece *p, Err *e) {
    const TabletColumn *c = &tab->cols[col];
    if (c->encoding == ENC_STR) return pack_strings(q, c, tab->rows, a, p, e);
    return res_pack_cells(q, t, tab, col, &a->data, e);
}

const void *res_block_of(const Tablet *t, int32_t col, uint64_t *checksum) {
    *checksum = 0;
    if (t->cols[col].is_delta || !t->block || !t->block->bytes) return NULL;
    *checksum = ((const TabletHeader *)t->block->bytes)->checksum;
    return t->block->bytes;
}

/* ---- columns ----------------------------------------------------------------------------------------------- */
DevPtr res_put_area(Upload *jobs, int64_t *n, int64_t *at, const void *p, int64_t bytes) {
    if (!bytes) return 0;
    DevPtr where = (DevPtr)*at;
    if (p) jobs[(*n)++] = (Upload){p, bytes, *at, false};
    *at += res_room(bytes);
    return where;
}

Status res_upload(DevQuery *q, DevPtr to, const Upload *jobs, int64_t n, bool wait, Err *e) {
    return wait ? query_upload(q, to, jobs, n, e) : query_upload_on(q, q->lane->queue, to, jobs, n, e);
}

DColumn res_describe(const DevQuery *q, const TabletColumn *c) {
    return (DColumn){.base = c->base, .form = dev_form(c, q->d->info.shares_memory), .stride = (uint32_t)c->stride};
}
/* Descriptors of the host's own bytes, or under which address the device reaches them. */
static void describe_host(const TabletColumn *c, DColumn *d, uint64_t shift) {
    const bool packed = c->encoding == ENC_STR && !c->is_delta;
    d->data = packed ? (uint64_t)(uintptr_t)c->offsets : (uint64_t)(uintptr_t)c->data;
    d->var = packed ? (uint64_t)(uintptr_t)c->var_base : 0;
    d->validity = (uint64_t)(uintptr_t)c->validity;
    if (d->data) d->data += shift;
    if (d->var) d->var += shift;
    if (d->validity) d->validity += shift;
}

/* Made from rows that the device has (device_rows.h): cells by place, then bits of those that have a value. */
static Status column_of_rows(DevQuery *q, const Table *t, int32_t col, ResColumn *c, ResChunk **out, Err *e) {
    DevRuntime *r = q->r;
    const DeviceRows *rows = t->on_device;
    int64_t size = phys_size(type_phys(t->cols[col].type)), cells = res_room(rows->n_places * size),
            bits = rows->may_have_null[col] ? res_room(rows->n_places / 8) : 0;
    ResChunk *chunk = *out = mem_calloc(r->account, (int64_t)sizeof *chunk, e);
    if (!chunk) return ST_ERROR;
    chunk->refs = 1; /* while it is being made */
    TRY(dev_mem_get(r, cells + bits + RES_GUARD, &chunk->mem, e));
    TRY(query_zero(q, chunk->mem.p, cells + bits + RES_GUARD, e));
    DevPtr at = chunk->mem.p;
    q->busy = true;
    TRY(rows->column(rows, q->lane->queue, col, at, bits ? at + (uint64_t)cells : 0, e));
    for (int64_t i = 0; i < t->n_tablets; i++) {
        ResPiece *p = &c->pieces[i];
        p->rows = t->tablets[i]->rows;
        p->desc = (DColumn){.form = dev_form(&t->tablets[i]->cols[col], false)};
        if (p->rows == 0) continue;
        p->chunk = chunk;
        chunk->refs++;
        p->desc.data = at + (uint64_t)(rows->places[i] * size);
        p->desc.validity = bits ? at + (uint64_t)(cells + rows->places[i] / 8) : 0;
    }
    return ST_OK;
}
bool res_made_of_rows(const Table *t, int32_t col) {
    return t->on_device && t->on_device->cols[col] == COLUMN_OF_DEVICE;
}

/* Where the device finds the column's pieces. */
static Status put_descriptors(DevQuery *q, ResColumn *c, bool own, Err *e) {
    int64_t n = c->n_tablets;
    DColumn *desc = arena_array(q->arena, DColumn, n + 1);
    if (!desc) return err_oom(e);
    for (int64_t i = 0; i < n; i++) {
        const ResPiece *p = &c->pieces[i];
        desc[i] = p->desc;
        if (p->chunk && (i == 0 || c->pieces[i - 1].chunk != p->chunk)) c->bytes += p->chunk->mem.bytes;
        if (p->patches && (i == 0 || c->pieces[i - 1].patches != p->patches)) c->bytes += p->patches->mem.bytes;
    }
    TRY(dev_mem_get(q->r, n * (int64_t)sizeof *desc + 64, &c->desc, e));
    Upload u = {desc, n * (int64_t)sizeof *desc, 0, false};
    return n > 0 ? res_upload(q, c->desc.p, &u, 1, !own, e) : ST_OK;
}

/* What one column's tablets have that goes to the device together. Places in it count from 1: 0 is none. */
typedef struct Sending {
    ResChunk *chunk; /* made when there is something */
    Upload *jobs;
    int64_t n, total;
} Sending;
static Status join_sending(DevRuntime *r, Sending *s, ResChunk **out, Err *e) {
    if (!s->chunk) {
        if (!(s->chunk = mem_calloc(r->account, (int64_t)sizeof *s->chunk, e))) return ST_ERROR;
        s->chunk->refs = 1; /* while it is being made */
    }
    *out = s->chunk;
    s->chunk->refs++;
    return ST_OK;
}
static DevPtr place_of(Sending *s, const void *p, int64_t bytes) {
    return bytes ? res_put_area(s->jobs, &s->n, &s->total, p, bytes) + 1 : 0;
}
static void add_base(const Sending *s, DevPtr *place) {
    if (*place) *place += s->chunk->mem.p - 1;
}
/* Cleared: kernels read whole words, and some behind the last row. */
static Status sending_memory(DevQuery *q, const Sending *s, Err *e) {
    TRY(dev_mem_get(q->r, s->total + RES_GUARD, &s->chunk->mem, e));
    return query_zero(q, s->chunk->mem.p, s->total + RES_GUARD, e);
}
static Status send_all(DevQuery *q, const Sending *s, bool own, Err *e) {
    TRY(res_upload(q, s->chunk->mem.p, s->jobs, s->n, !own, e));
    q->bytes_in += s->total;
    return ST_OK;
}

/* What `old` has of the tablet's cells; NULL: nothing. */
static const ResPiece *same_cells(const ResColumn *old, int64_t i, const TabletColumn *c, const ResPiece *p) {
    const ResPiece *x = old && p->block && i < old->n_tablets ? &old->pieces[i] : NULL;
    bool same = x && x->block == p->block && x->checksum == p->checksum;
    return same && (x->validity || !c->validity || c->patches) ? x : NULL; /* it may have come without its bits */
}
/* Cells of a tablet. Those of a patched column come without validity bits, since it has newer ones. */
static Status make_cells(DevQuery *q, const Table *t, int64_t tablet, int32_t col, bool map, Sending *s, ResPiece *p,
                         Err *e) {
    Tablet *tab = t->tablets[tablet];
    const TabletColumn *tc = &tab->cols[col];
    bool direct = q->d->info.shares_memory;
    uint64_t shift = 0;
    p->desc = res_describe(q, tc);
    if (tab->rows == 0) return ST_OK;
    if (map && !direct && !tc->is_delta) TRY(hostmap_get(q, tab, true, &direct, &shift, e));
    if (direct) {
        describe_host(tc, &p->desc, shift);
        return ST_OK;
    }
    TRY(join_sending(q->r, s, &p->chunk, e));
    Areas a = res_areas(q, tc, tab->rows);
    if (res_packs(q, tc)) TRY(pack_column(q, t, tab, col, &a, p, e));
    p->desc.data = place_of(s, a.data, a.data_bytes);
    p->desc.var = place_of(s, a.var, a.var_bytes);
    if (!res_patched(q, tc)) p->validity = place_of(s, a.validity, a.validity_bytes);
    return ST_OK;
}
/* Room for a tablet's new cells, and the validity bits that go with them. */
static Status make_patches(DevQuery *q, const ResColumn *old, int64_t i, const Tablet *tab, const TabletColumn *tc,
                           Sending *s, ResPiece *p, Err *e) {
    bool shares = q->d->info.shares_memory;
    const ResPiece *x = old && i < old->n_tablets ? &old->pieces[i] : NULL;
    if (!res_patched(q, tc) || tab->rows == 0) return ST_OK;
    p->state = tc->patches->state;
    p->desc.validity = shares ? (uint64_t)(uintptr_t)tc->validity : 0;
    if (x && x->patches && x->state == p->state) {
        p->patches = x->patches;
        p->patches->refs++;
        p->desc.patches = x->desc.patches;
        if (!shares) p->desc.validity = x->desc.validity;
        return ST_OK;
    }
    TRY(join_sending(q->r, s, &p->patches, e));
    p->desc.patches = place_of(s, NULL, patch_map_bytes(tc, shares));
    if (!shares) p->desc.validity = place_of(s, NULL, tc->validity ? (tab->rows + 63) / 64 * 8 : 0);
    return ST_OK;
}
/* Writes them, whose addresses are known now. */
static Status write_patches(DevQuery *q, const Table *t, ResColumn *c, Sending *s, Err *e) {
    bool shares = q->d->info.shares_memory;
    for (int64_t i = 0; i < c->n_tablets; i++) {
        const TabletColumn *tc = &t->tablets[i]->cols[c->col];
        ResPiece *p = &c->pieces[i];
        if (!p->patches || p->patches != s->chunk) continue;
        int64_t bytes = patch_map_bytes(tc, shares), place = (int64_t)p->desc.patches - 1;
        char *map = arena_alloc(q->arena, bytes);
        if (!map) return err_oom(e);
        add_base(s, &p->desc.patches);
        patch_map_write(tc, shares ? 0 : p->desc.patches, map);
        s->jobs[s->n++] = (Upload){map, bytes, place, false};
        if (shares || !tc->validity) continue;
        place = (int64_t)p->desc.validity - 1;
        s->jobs[s->n++] = (Upload){tc->validity, (t->tablets[i]->rows + 63) / 64 * 8, place, false};
        add_base(s, &p->desc.validity);
    }
    return ST_OK;
}
/* Sends the cells, whose addresses are known now. */
static Status send_cells(DevQuery *q, ResColumn *c, const Sending *s, bool own, Err *e) {
    TRY(sending_memory(q, s, e));
    for (int64_t i = 0; i < c->n_tablets; i++) {
        ResPiece *p = &c->pieces[i];
        if (!p->chunk || p->chunk != s->chunk) continue;
        add_base(s, &p->desc.data);
        add_base(s, &p->desc.var);
        add_base(s, &p->validity);
        if (!p->patches) p->desc.validity = p->validity;
    }
    return send_all(q, s, own, e);
}

/* How a column is made: as `old` (may be NULL) has it plus what is new. own: for this query alone, so that it need not
 * be there yet when this is done. map: read where it is. */
typedef struct Making {
    const ResColumn *old;
    bool own, map;
    Sending cells, patches;
} Making;
static Status make_pieces(DevQuery *q, const Table *t, ResColumn *c, Making *m, Err *e) {
    for (int64_t i = 0; i < c->n_tablets; i++) {
        const Tablet *tab = t->tablets[i];
        const TabletColumn *tc = &tab->cols[c->col];
        ResPiece *p = &c->pieces[i];
        p->rows = tab->rows;
        p->block = res_block_of(tab, c->col, &p->checksum);
        const ResPiece *x = q->d->info.shares_memory ? NULL : same_cells(m->old, i, tc, p);
        if (x) {
            p->desc = x->desc;
            p->desc.patches = 0;
            p->desc.validity = p->validity = x->validity;
            if ((p->chunk = x->chunk)) p->chunk->refs++;
        } else {
            TRY(make_cells(q, t, i, c->col, m->map, &m->cells, p, e));
        }
        TRY(make_patches(q, m->old, i, tab, tc, &m->patches, p, e));
    }
    if (m->cells.chunk) TRY(send_cells(q, c, &m->cells, m->own, e));
    if (!m->patches.chunk) return ST_OK;
    TRY(sending_memory(q, &m->patches, e));
    TRY(write_patches(q, t, c, &m->patches, e));
    return send_all(q, &m->patches, m->own, e);
}
Status res_column_make(DevQuery *q, const Table *t, int32_t col, const ResColumn *old, bool own, bool map,
                       ResColumn **out, Err *e) {
    DevRuntime *r = q->r;
    int64_t n = t->n_tablets;
    Making m = {.old = old, .own = own, .map = map};
    m.cells.jobs = arena_array(q->arena, Upload, 3 * n + 1);
    m.patches.jobs = arena_array(q->arena, Upload, 2 * n + 1);
    if (!m.cells.jobs || !m.patches.jobs) return err_oom(e);
    ResColumn *c = *out = mem_calloc(r->account, (int64_t)sizeof *c, e);
    if (!c) return ST_ERROR;
    c->col = col;
    Status st = ST_ERROR;
    if (n == 0 || (c->pieces = mem_calloc(r->account, n * (int64_t)sizeof *c->pieces, e))) {
        c->n_tablets = n;
        st = res_made_of_rows(t, col) ? column_of_rows(q, t, col, c, &m.cells.chunk, e) : make_pieces(q, t, c, &m, e);
        if (st == ST_OK) st = put_descriptors(q, c, own, e);
    }
    chunk_drop(r, m.cells.chunk);
    chunk_drop(r, m.patches.chunk);
    if (st == ST_OK) return ST_OK;
    (void)query_settle(q);
    res_column_free(r, c);
    *out = NULL;
    return ST_ERROR;
}

/* ---- strings back ---- */
/* Strings of a tablet's new cells. */
static Status patch_ranges(DevQuery *q, const TabletColumn *tc, const ResPiece *p, Err *e) {
    int64_t n = tc->patches->n, from;
    Str *cells = arena_array(q->arena, Str, n + 1);
    uint32_t *offsets = arena_array(q->arena, uint32_t, n + 1);
    if (q->d->info.shares_memory) return ST_OK;
    if (!cells || !offsets) return err_oom(e);
    patch_map_strings(tc, cells, offsets, &from);
    HostRange r = {
        .base = p->desc.patches + (uint64_t)from, .bytes = offsets[n], .cells = cells, .off32 = offsets, .n = n};
    return r.bytes == 0 || vec_push(q->arena, &q->ranges, r) ? ST_OK : err_oom(e);
}
Status res_column_ranges(DevQuery *q, const Table *t, const ResColumn *c, Err *e) {
    for (int64_t i = 0; i < c->n_tablets; i++) {
        const ResPiece *p = &c->pieces[i];
        const TabletColumn *tc = &t->tablets[i]->cols[c->col];
        if (tc->encoding != ENC_STR || t->tablets[i]->rows == 0) continue;
        if (tc->is_delta && !p->offsets) continue; /* read where they are */
        HostRange r = {.base = p->desc.var};
        if (p->offsets) {
            const void *cells = tc->data;
            if (tc->patches) TRY(res_pack_cells(q, t, t->tablets[i], c->col, &cells, e));
            r.bytes = p->offsets[p->rows];
            r.cells = cells;
            r.off32 = p->offsets;
            r.n = p->rows;
        } else {
            r.bytes = tc->offsets[t->tablets[i]->rows];
            r.host = tc->var_base;
        }
        if (r.bytes > 0 && !vec_push(q->arena, &q->ranges, r)) return err_oom(e);
        if (p->patches) TRY(patch_ranges(q, tc, p, e));
    }
    return ST_OK;
}
