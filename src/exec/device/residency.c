/* residency.c - table columns and dictionaries on the device.
 *
 * A column of a table is kept as one array of descriptors (DColumn per tablet) and the bytes they point to. Bytes of
 * main tablets never change: they are known by the address of their block and its checksum, and are uploaded once
 * however often the table grows. Delta tablets are uploaded again when the table's version has changed. On devices that
 * share the host's memory descriptors point into the tablets themselves.
 *
 * For devices with memory of their own delta strings, Str cells on the host, are packed to offsets and bytes like those
 * of main, and cells of a home (storage/row_home.h) put side by side; where memory is shared kernels read both where
 * they are. Of a patched column (storage/patches.h) the packed bytes stay as they are; beside them lies a map of its
 * new cells (patch_map.h), known again by the state of the patches, and the validity bits that go with it. So a table
 * with a changed row moves that row.
 *
 * Versions. Queries that run at the same time may read different versions of a table, so a ResTable is one of them. A
 * column of a new one is made from that of another version: encoded tablets are the same bytes, counted, and what is
 * left of the other is freed when no query has it pinned. On devices that share the host's memory descriptors point to
 * what one version has, and its epoch is compared too.
 *
 * Pins. A query pins what its kernels read until it ends; eviction takes the least recently used column that is not
 * pinned.
 *
 * Modes: see dev.h. The mode is a table's, except that strings never come and go by piece: cells that point to them may
 * outlive it.
 */
#include "base/mutex.h"
#include "exec/device/dev_int.h"
#include "exec/device/device_rows.h"
#include "exec/device/patch_map.h"
#include "storage/table_version.h"
#include "storage/tablet_block.h" /* blocks of tablets, by which bytes on the device are known again */

enum { ALIGN = 64, GUARD = 64 };

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

static void column_free(DevRuntime *r, ResColumn *c) {
    if (!c) return;
    for (int64_t i = 0; i < c->n_tablets; i++) piece_drop(r, &c->pieces[i]);
    if (c->pieces) mem_free(r->account, c->pieces, c->n_tablets * (int64_t)sizeof *c->pieces);
    dev_mem_put(r, &c->desc);
    mem_free(r->account, c, (int64_t)sizeof *c);
}

static void table_free_cached(DevRuntime *r, ResTable *t) {
    for (int32_t i = 0; i < t->n_cols; i++) column_free(r, t->cols[i]);
    dev_mem_put(r, &t->tablets);
    if (t->cols) mem_free(r->account, t->cols, t->n_cols * (int64_t)sizeof *t->cols);
    mem_free(r->account, t, (int64_t)sizeof *t);
}

static void dict_drop(DevRuntime *r, ResDict *d) {
    dev_mem_put(r, &d->mem);
    if (d->host_offsets) mem_free(r->account, d->host_offsets, ((int64_t)d->n + 1) * 8);
    mem_free(r->account, d, (int64_t)sizeof *d);
}

void res_free(DevRuntime *r) {
    hostmap_free(r);
    while (r->tables) {
        ResTable *t = r->tables;
        r->tables = t->next;
        table_free_cached(r, t);
    }
    while (r->dicts) {
        ResDict *d = r->dicts;
        r->dicts = d->next;
        dict_drop(r, d);
    }
}

static bool table_pinned(const ResTable *t) {
    bool pinned = t->pins > 0;
    for (int32_t i = 0; i < t->n_cols; i++) pinned |= t->cols[i] && t->cols[i]->pins > 0;
    return pinned;
}
void dev_runtime_forget(DevRuntime *r, int64_t table_id) {
    if (!r) return;
    mutex_lock(&r->res_lock);
    for (ResTable **link = &r->tables; *link;) {
        ResTable *t = *link;
        if (table_pinned(t) || (table_id >= 0 && t->id != table_id)) {
            link = &t->next;
            continue;
        }
        *link = t->next;
        table_free_cached(r, t);
    }
    for (ResDict **link = &r->dicts; *link;) {
        ResDict *d = *link;
        if (d->pins > 0 || (table_id >= 0 && d->table_id != table_id)) {
            link = &d->next;
            continue;
        }
        *link = d->next;
        dict_drop(r, d);
    }
    mutex_unlock(&r->res_lock);
}

/* What is not pinned and was not used for the longest time; all NULL: there is nothing. */
typedef struct Oldest {
    ResTable *in;
    ResColumn *col;
    ResTable *tablets;
    ResDict **dict;
} Oldest;
static Oldest find_oldest(DevRuntime *r) {
    Oldest o = {0};
    int64_t use = INT64_MAX;
    for (ResTable *t = r->tables; t; t = t->next) {
        if (t->ready && t->pins == 0 && t->last_use < use) {
            use = t->last_use;
            o = (Oldest){.tablets = t};
        }
        for (int32_t i = 0; i < t->n_cols; i++) {
            ResColumn *c = t->cols[i];
            if (!c || c->pins > 0 || c->last_use >= use) continue;
            use = c->last_use;
            o = (Oldest){.in = t, .col = c};
        }
    }
    for (ResDict **link = &r->dicts; *link; link = &(*link)->next) {
        if ((*link)->pins > 0 || (*link)->last_use >= use) continue;
        use = (*link)->last_use;
        o = (Oldest){.dict = link};
    }
    return o;
}

bool res_evict(DevRuntime *r, int64_t bytes) {
    int64_t freed = 0;
    mutex_lock(&r->res_lock);
    while (freed < bytes) {
        Oldest o = find_oldest(r);
        if (o.dict) {
            ResDict *d = *o.dict;
            freed += d->mem.bytes;
            *o.dict = d->next;
            dict_drop(r, d);
        } else if (o.col) {
            freed += o.col->bytes + o.col->desc.bytes;
            o.in->cols[o.col->col] = NULL;
            column_free(r, o.col);
        } else if (o.tablets) {
            freed += o.tablets->tablets.bytes;
            o.tablets->ready = false;
            dev_mem_put(r, &o.tablets->tablets);
        } else {
            break;
        }
    }
    if (freed > 0) (void)dev_mem_trim(r); /* they went to the kept blocks */
    mutex_unlock(&r->res_lock);
    return freed > 0;
}

/* ---- pins ----------------------------------------------------------------------------------------- */
static Status pin(DevQuery *q, ResPin p, Err *e) {
    for (int64_t i = 0; i < q->pins.len; i++) {
        const ResPin *x = &q->pins.items[i];
        if (x->table == p.table && x->col == p.col && x->dict == p.dict && x->of == p.of) return ST_OK;
    }
    if (!vec_push(q->arena, &q->pins, p)) return err_oom(e);
    if (p.table) p.table->pins++;
    if (p.col) p.col->pins++;
    if (p.dict) p.dict->pins++;
    return ST_OK;
}

/* A copy that no other query can know again. */
static void dict_forget(DevRuntime *r, ResDict *d) {
    ResDict **link = &r->dicts;
    while (*link != d) link = &(*link)->next;
    *link = d->next;
    dict_drop(r, d);
}
/* Gives up all pins but the first `keep`. */
static void unpin(DevQuery *q, int64_t keep) {
    for (int64_t i = keep; i < q->pins.len; i++) {
        const ResPin *p = &q->pins.items[i];
        if (p->table) p->table->pins--;
        if (p->col) p->col->pins--;
        if (p->dict && --p->dict->pins == 0 && p->dict->table_id < 0) dict_forget(q->r, p->dict);
    }
    q->pins.len = keep;
}

void res_unpin_all(DevQuery *q) {
    mutex_lock(&q->r->res_lock);
    unpin(q, 0);
    mutex_unlock(&q->r->res_lock);
}

/* ---- what a tablet's column consists of ---------------------------------------------------------------- */
typedef struct Areas {
    const void *data, *validity, *var;
    int64_t data_bytes, validity_bytes, var_bytes;
} Areas;

/* An open column's cells are put side by side for the device. */
static bool packs(const DevQuery *q, const TabletColumn *c) {
    return c->is_delta && !q->d->info.shares_memory && (c->stride || c->patches || c->encoding == ENC_STR);
}
static bool is_patched(const DevQuery *q, const TabletColumn *c) { return dev_patched(c, q->d->info.shares_memory); }
static bool has_strings(const Column *c) { return !c->dict && type_phys(c->type) == PH_STR; }
static int64_t string_bytes(const TabletColumn *c, int64_t rows) {
    int64_t n = 0;
    for (int64_t i = 0; i < rows; i++)
        if (column_row_valid(c, i)) n += column_str(c, i).len;
    return n;
}

static Areas areas_of(const DevQuery *q, const TabletColumn *c, int64_t rows) {
    bool made = packs(q, c);
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
static int64_t room(int64_t bytes) { return bytes ? align_up(bytes + GUARD, ALIGN) : 0; }

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
static Status pack_cells(DevQuery *q, const Table *t, const Tablet *tab, int32_t col, const void **out, Err *e) {
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
    return pack_cells(q, t, tab, col, &a->data, e);
}

const void *res_block_of(const Tablet *t, int32_t col, uint64_t *checksum) {
    *checksum = 0;
    if (t->cols[col].is_delta || !t->block || !t->block->bytes) return NULL;
    *checksum = ((const TabletHeader *)t->block->bytes)->checksum;
    return t->block->bytes;
}

/* ---- columns ----------------------------------------------------------------------------------------------- */
static DevPtr put_area(Upload *jobs, int64_t *n, int64_t *at, const void *p, int64_t bytes) {
    if (!bytes) return 0;
    DevPtr where = (DevPtr)*at;
    if (p) jobs[(*n)++] = (Upload){p, bytes, *at, false};
    *at += room(bytes);
    return where;
}

static Status upload(DevQuery *q, DevPtr to, const Upload *jobs, int64_t n, bool wait, Err *e) {
    return wait ? query_upload(q, to, jobs, n, e) : query_upload_on(q, q->lane->queue, to, jobs, n, e);
}

static DColumn describe(const DevQuery *q, const TabletColumn *c) {
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
    int64_t size = phys_size(type_phys(t->cols[col].type)), cells = room(rows->n_places * size),
            bits = rows->may_have_null[col] ? room(rows->n_places / 8) : 0;
    ResChunk *chunk = *out = mem_calloc(r->account, (int64_t)sizeof *chunk, e);
    if (!chunk) return ST_ERROR;
    chunk->refs = 1; /* while it is being made */
    TRY(dev_mem_get(r, cells + bits + GUARD, &chunk->mem, e));
    TRY(query_zero(q, chunk->mem.p, cells + bits + GUARD, e));
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
static bool is_made_of_rows(const Table *t, int32_t col) {
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
    return n > 0 ? upload(q, c->desc.p, &u, 1, !own, e) : ST_OK;
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
    return bytes ? put_area(s->jobs, &s->n, &s->total, p, bytes) + 1 : 0;
}
static void add_base(const Sending *s, DevPtr *place) {
    if (*place) *place += s->chunk->mem.p - 1;
}
/* Cleared: kernels read whole words, and some behind the last row. */
static Status sending_memory(DevQuery *q, const Sending *s, Err *e) {
    TRY(dev_mem_get(q->r, s->total + GUARD, &s->chunk->mem, e));
    return query_zero(q, s->chunk->mem.p, s->total + GUARD, e);
}
static Status send_all(DevQuery *q, const Sending *s, bool own, Err *e) {
    TRY(upload(q, s->chunk->mem.p, s->jobs, s->n, !own, e));
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
    p->desc = describe(q, tc);
    if (tab->rows == 0) return ST_OK;
    if (map && !direct && !tc->is_delta) TRY(hostmap_get(q, tab, true, &direct, &shift, e));
    if (direct) {
        describe_host(tc, &p->desc, shift);
        return ST_OK;
    }
    TRY(join_sending(q->r, s, &p->chunk, e));
    Areas a = areas_of(q, tc, tab->rows);
    if (packs(q, tc)) TRY(pack_column(q, t, tab, col, &a, p, e));
    p->desc.data = place_of(s, a.data, a.data_bytes);
    p->desc.var = place_of(s, a.var, a.var_bytes);
    if (!is_patched(q, tc)) p->validity = place_of(s, a.validity, a.validity_bytes);
    return ST_OK;
}
/* Room for a tablet's new cells, and the validity bits that go with them. */
static Status make_patches(DevQuery *q, const ResColumn *old, int64_t i, const Tablet *tab, const TabletColumn *tc,
                           Sending *s, ResPiece *p, Err *e) {
    bool shares = q->d->info.shares_memory;
    const ResPiece *x = old && i < old->n_tablets ? &old->pieces[i] : NULL;
    if (!is_patched(q, tc) || tab->rows == 0) return ST_OK;
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
static Status column_make(DevQuery *q, const Table *t, int32_t col, const ResColumn *old, bool own, bool map,
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
        st = is_made_of_rows(t, col) ? column_of_rows(q, t, col, c, &m.cells.chunk, e) : make_pieces(q, t, c, &m, e);
        if (st == ST_OK) st = put_descriptors(q, c, own, e);
    }
    chunk_drop(r, m.cells.chunk);
    chunk_drop(r, m.patches.chunk);
    if (st == ST_OK) return ST_OK;
    (void)query_settle(q);
    column_free(r, c);
    *out = NULL;
    return ST_ERROR;
}

/* ---- tables ------------------------------------------------------------------------------------------------- */
static uint64_t birth_of(const DevRuntime *r, const Table *t) {
    return r->d->info.shares_memory ? table_version_birth(t) : 0;
}
/* NULL: nothing of this version is there. */
static ResTable *res_table(DevRuntime *r, const Table *t) {
    ResTable *x = r->tables;
    while (x && (x->id != t->id || x->version != t->version || x->birth != birth_of(r, t) || x->n_cols != t->n_cols))
        x = x->next;
    return x;
}
static Status table_find(DevQuery *q, const Table *t, ResTable **out, Err *e) {
    DevRuntime *r = q->r;
    ResTable *x = *out = res_table(r, t);
    if (x) return ST_OK;
    if (!(x = mem_calloc(r->account, (int64_t)sizeof *x, e))) return ST_ERROR;
    x->id = t->id;
    x->version = t->version;
    x->birth = birth_of(r, t);
    x->n_cols = t->n_cols;
    if (t->n_cols > 0 && !(x->cols = mem_calloc(r->account, t->n_cols * (int64_t)sizeof *x->cols, e))) {
        mem_free(r->account, x, (int64_t)sizeof *x);
        return ST_ERROR;
    }
    const ResTable *before = r->tables;
    while (before && before->id != t->id) before = before->next;
    if (before) {
        x->moved = before->moved;
        x->refused = before->refused;
    }
    x->next = r->tables; /* the version that was read last comes first */
    r->tables = x;
    *out = x;
    return ST_OK;
}

/* The column as another version of the table has it; NULL: none has. */
static ResColumn *column_before(const ResTable *t, int32_t col) {
    for (const ResTable *x = t->next; x; x = x->next)
        if (x->id == t->id && x->n_cols == t->n_cols && x->cols[col]) return x->cols[col];
    return NULL;
}

/* What other versions of the table still have, and no query reads, though `t` has it: one column, or, col < 0, the
 * tablets. */
static void drop_replaced(DevRuntime *r, const ResTable *t, int32_t col) {
    for (ResTable **link = &r->tables; *link;) {
        ResTable *x = *link;
        bool other = x != t && x->id == t->id;
        if (other && col < 0 && x->ready && x->pins == 0) {
            dev_mem_put(r, &x->tablets);
            x->ready = false;
        }
        if (other && col >= 0 && col < x->n_cols && x->cols[col] && x->cols[col]->pins == 0) {
            column_free(r, x->cols[col]);
            x->cols[col] = NULL;
        }
        bool empty = other && x->pins == 0 && !x->ready;
        for (int32_t i = 0; empty && i < x->n_cols; i++) empty = !x->cols[i];
        if (!empty) {
            link = &x->next;
            continue;
        }
        *link = x->next;
        table_free_cached(r, x);
    }
}

/* DTablet[] and the delete bitmaps. */
static Status tablets_make(DevQuery *q, const Table *t, bool own, DevMem *out, Err *e) {
    const DeviceRows *rows = t->on_device;
    int64_t n = t->n_tablets, jobs_n = 0, total = room(n * (int64_t)sizeof(DTablet)), bits = total;
    if (rows) total += room(rows->n_places / 8);
    DTablet *d = arena_array(q->arena, DTablet, n + 1);
    Upload *jobs = arena_array(q->arena, Upload, n + 1);
    if (!d || !jobs) return err_oom(e);
    if (n > 0) jobs[jobs_n++] = (Upload){d, n * (int64_t)sizeof *d, 0, false};
    for (int64_t i = 0; i < n; i++) {
        const Tablet *tab = t->tablets[i];
        d[i] = (DTablet){.rows = tab->rows, .number = i};
        if (!tab->deleted || tab->n_deleted == 0 || tab->rows == 0) continue;
        if (rows) d[i].deleted = (uint64_t)(bits + rows->places[i] / 8);
        else if (q->d->info.shares_memory) d[i].deleted = (uint64_t)(uintptr_t)tab->deleted;
        else d[i].deleted = put_area(jobs, &jobs_n, &total, tab->deleted, (tab->rows + 63) / 64 * 8);
    }
    TRY(dev_mem_get(q->r, total + GUARD, out, e));
    if (rows || !q->d->info.shares_memory)
        for (int64_t i = 0; i < n; i++)
            if (d[i].deleted) d[i].deleted += out->p;
    q->busy |= rows != NULL;
    Status st = rows ? rows->deleted(rows, q->lane->queue, out->p + (uint64_t)bits, e) : ST_OK;
    if (st == ST_OK && n > 0) st = upload(q, out->p, jobs, jobs_n, !own, e);
    if (st != ST_OK) {
        (void)query_settle(q);
        dev_mem_put(q->r, out);
        return ST_ERROR;
    }
    return ST_OK;
}

/* The segment can read what the device has of the table's rows. */
static Status check_rows(DevQuery *q, const DSegment *s, Err *e) {
    const Table *t = s->p->source.table;
    const DeviceRows *rows = t->on_device;
    bool there = !rows || rows->device == q->d;
    for (int32_t i = 0; rows && i < s->e.n_tables_cols; i++) there &= rows->cols[s->e.table_cols[i]] != COLUMN_ABSENT;
    return there ? ST_OK : query_needs_host_rows(q, t, e);
}

static Status bind_cached(DevQuery *q, DSegment *s, Err *e) {
    DevRuntime *r = q->r;
    const Table *t = s->p->source.table;
    TRY(check_rows(q, s, e));
    ResTable *rt = NULL;
    TRY(table_find(q, t, &rt, e));
    if (!rt->ready) {
        TRY(tablets_make(q, t, false, &rt->tablets, e));
        rt->ready = true;
        drop_replaced(r, rt, -1);
    }
    rt->last_use = ++r->clock;
    TRY(pin(q, (ResPin){.table = rt}, e));
    s->tablets = rt->tablets.p;
    for (int32_t i = 0; i < s->e.n_tables_cols; i++) {
        int32_t col = s->e.table_cols[i];
        ResColumn *c = rt->cols[col];
        if (!c) {
            ResColumn *before = column_before(rt, col);
            if (before) before->pins++; /* not to be evicted meanwhile */
            Status st = column_make(q, t, col, before, false, false, &c, e);
            if (before) before->pins--;
            TRY(st);
            rt->cols[col] = c;
            drop_replaced(r, rt, col);
        }
        c->last_use = ++r->clock;
        TRY(pin(q, (ResPin){.col = c}, e));
        s->columns[i] = c->desc.p;
    }
    return ST_OK;
}

/* Registering a table costs about as much time as moving it three times, and saves the processors' copying for good:
 * worth it for what has been moved twice over and fits beside others. */
static Status worth_registering(DevQuery *q, const DSegment *s, bool *out, Err *e) {
    const Table *t = s->p->source.table;
    ResTable *rt = NULL;
    TRY(table_find(q, t, &rt, e));
    int64_t blocks = 0;
    for (int64_t i = 0; i < t->n_tablets; i++) blocks += t->tablets[i]->is_delta ? 0 : t->tablets[i]->block->size;
    *out = !rt->refused && rt->moved > 2 * blocks && blocks <= q->r->map_limit;
    rt->moved += (int64_t)(s->e.bytes_per_row * (double)s->list_rows);
    return ST_OK;
}

/* For this query only: all columns (mapped: read where they are), or those with strings (serial, streamed: others move
 * piece by piece). */
static Status bind_own(DevQuery *q, DSegment *s, Err *e) {
    const Table *t = s->p->source.table;
    if (!s->own && !(s->own = arena_array(q->arena, ResColumn *, s->e.n_tables_cols + 1))) return err_oom(e);
    if (!s->own_tablets.bytes) TRY(tablets_make(q, t, true, &s->own_tablets, e));
    s->tablets = s->own_tablets.p;
    bool map = s->residence == RES_MAPPED || (s->residence == RES_STREAMED && q->d->info.can_map);
    if (res_moves(s) && q->d->info.can_map) TRY(worth_registering(q, s, &s->register_it, e));
    for (int32_t i = 0; i < s->e.n_tables_cols; i++) {
        int32_t col = s->e.table_cols[i];
        if (res_moves(s) && !has_strings(&t->cols[col])) continue;
        if (!s->own[i]) TRY(column_make(q, t, col, NULL, true, map, &s->own[i], e));
        s->columns[i] = s->own[i]->desc.p;
    }
    return ST_OK;
}

Status res_bind(DevQuery *q, DSegment *s, Err *e) {
    if (!s->columns && !(s->columns = arena_array(q->arena, DevPtr, s->e.n_tables_cols + 1))) return err_oom(e);
    mutex_lock(&q->r->res_lock);
    Err err;
    err_clear(&err);
    int64_t pins = q->pins.len;
    Status st = s->residence == RES_CACHED ? bind_cached(q, s, &err) : bind_own(q, s, &err);
    /* Less fitted than it seemed: others' columns are pinned, or states take the memory. */
    if (st != ST_OK && s->residence == RES_CACHED && q->opt.device.residence == RES_AUTO &&
        !s->p->source.table->on_device && strcmp(err.sqlstate, ERR_OUT_OF_MEMORY) == 0 && !q->d->info.shares_memory) {
        err_clear(&err);
        unpin(q, pins); /* uploads have been waited for, and no kernel was started: what has come of the table may go
                           again */
        s->residence = RES_STREAMED;
        st = bind_own(q, s, &err);
    }
    mutex_unlock(&q->r->res_lock);
    if (st != ST_OK) err_copy(e, &err);
    return st;
}

/* ---- streaming ----------------------------------------------------------------------------------------------- */
/* Pieces are runs of tablets; piece p lies in slot p % slots of the ring, so that descriptors can be made once for the
 * whole table. The lane's side queue copies, its main queue computes: a kernel waits for its piece, a copy for the
 * kernel that read what was there before. A serial table is one piece.
 *
 * Few and large copies use the bus best: columns that are neighbours in a tablet's block go in one, with what little
 * lies between. Pieces are an eighth of the table, so that little remains to be computed when the last one has come,
 * within limits that keep a kernel's start and the ring small beside it. */
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
        if (has_strings(&t->cols[s->e.table_cols[i]])) continue;
        const TabletColumn *tc = &tab->cols[s->e.table_cols[i]];
        Areas a = areas_of(q, tc, tab->rows);
        if (packs(q, tc)) TRY(pack_cells(q, t, tab, s->e.table_cols[i], &a.data, e));
        DColumn *d = &desc[i * t->n_tablets + tablet];
        *d = describe(q, tc);
        const bool in_block = !tc->is_delta;
        if (a.data_bytes) out[n++] = (Moved){a.data, a.data_bytes, &d->data, in_block};
        if (a.validity_bytes) /* of a patched column: the tablet's own */
            out[n++] = (Moved){a.validity, a.validity_bytes, &d->validity, in_block && !tc->patches};
        if (!is_patched(q, tc)) continue;
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
            if (u) at = align_up(u->at + u->bytes + GUARD, ALIGN);
            u = &jobs[(*n_jobs)++];
            *u = (Upload){m[i].p, m[i].bytes, at, registered && m[i].in_block};
        }
        *m[i].want = (uint64_t)(u->at + ((uintptr_t)m[i].p - (uintptr_t)u->from)) + 1;
    }
    return u ? align_up(u->at + u->bytes + GUARD, ALIGN) : at;
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
        for (int64_t i = 0; i < n; i++) need += room(areas[i].bytes);
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
    x->slot_bytes = align_up(x->slot_bytes + GUARD, 256);
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
    if (st == ST_OK && bytes > 0) st = upload(q, x.desc.p, &u, 1, false, e);
    for (int32_t i = 0; i < s->e.n_tables_cols; i++)
        if (!has_strings(&t->cols[s->e.table_cols[i]]))
            s->columns[i] = x.desc.p + (uint64_t)(i * n * (int64_t)sizeof(DColumn));
    if (st == ST_OK) st = stream_run(q, &x, run, ctx, e);
    if (st != ST_OK) (void)query_settle(q); /* copies may be under way */
    query_mem_put(q, &x.ring);
    query_mem_put(q, &x.desc);
    return st;
}

void res_drop_own(DevQuery *q, DSegment *s) {
    dev_mem_put(q->r, &s->own_tablets);
    for (int32_t i = 0; s->own && i < s->e.n_tables_cols; i++) {
        column_free(q->r, s->own[i]);
        s->own[i] = NULL;
    }
}

/* ---- dictionaries -------------------------------------------------------------------------------------------- */
/* Which version of which table's column the dictionary belongs to, as far as entries go; table_id -1: of none that the
 * query scans, so it cannot be known again. */
static ResDict owner_of(const DevQuery *q, const Dict *dict) {
    for (int32_t i = 0; i < q->n; i++) {
        const Source *from = &q->plan->segments[i].program->source;
        const Table *t = from->kind == SRC_TABLE ? from->table : NULL;
        for (int c = 0; t && c < t->n_cols; c++)
            if (t->cols[c].dict == dict)
                return (ResDict){.table_id = t->id, .version = t->version, .col = c, .n = dict->n};
    }
    return (ResDict){.table_id = -1, .n = dict->n};
}
static bool is_same_dict(const ResDict *a, const ResDict *b) {
    return a->table_id == b->table_id && a->version == b->version && a->col == b->col && a->n == b->n;
}

static Status dict_make(DevQuery *q, const Dict *dict, ResDict *d, Err *e) {
    int64_t n = d->n, total = 0;
    if (!(d->host_offsets = mem_alloc(q->r->account, (n + 1) * 8, e))) return ST_ERROR;
    for (int64_t i = 0; i < n; i++) {
        d->host_offsets[i] = (uint64_t)total;
        total += dict->entries[i].len;
    }
    d->host_offsets[n] = (uint64_t)total;
    char *bytes = arena_alloc(q->arena, total + 1);
    if (!bytes) return err_oom(e);
    for (int64_t i = 0; i < n; i++)
        if (dict->entries[i].len) memcpy(bytes + d->host_offsets[i], dict->entries[i].ptr, dict->entries[i].len);
    int64_t at = room((n + 1) * 8);
    TRY(dev_mem_get(q->r, at + room(total) + GUARD, &d->mem, e));
    TRY(query_zero(q, d->mem.p, at + room(total) + GUARD, e));
    d->offsets = d->mem.p;
    d->bytes = d->mem.p + (uint64_t)at;
    Upload jobs[2] = {{d->host_offsets, (n + 1) * 8, 0, false}, {bytes, total, at, false}};
    q->bytes_in += at + total;
    return query_upload(q, d->mem.p, jobs, total ? 2 : 1, e);
}

/* The copy that is there; NULL: there is none. Those of other versions of the column that no query reads go. */
static ResDict *find_dict_copy(DevQuery *q, const Dict *dict, const ResDict *wanted) {
    for (int64_t i = 0; i < q->pins.len; i++) /* of this query: surely the same */
        if (q->pins.items[i].of == dict) return q->pins.items[i].dict;
    ResDict *found = NULL;
    for (ResDict **link = &q->r->dicts; *link && wanted->table_id >= 0;) {
        ResDict *x = *link;
        bool same = is_same_dict(x, wanted);
        if (same) found = x;
        if (same || x->pins > 0 || x->table_id != wanted->table_id || x->col != wanted->col) {
            link = &x->next;
            continue;
        }
        *link = x->next;
        dict_drop(q->r, x);
    }
    return found;
}
static Status new_dict_copy(DevQuery *q, const Dict *dict, const ResDict *owner, ResDict **out, Err *e) {
    DevRuntime *r = q->r;
    ResDict *d = mem_calloc(r->account, (int64_t)sizeof *d, e);
    if (!d) return ST_ERROR;
    *d = *owner;
    if (dict_make(q, dict, d, e) != ST_OK) {
        (void)query_settle(q);
        dict_drop(r, d);
        return ST_ERROR;
    }
    d->next = r->dicts;
    r->dicts = d;
    *out = d;
    return ST_OK;
}

Status res_dict(DevQuery *q, const Dict *dict, const ResDict **out, Err *e) {
    DevRuntime *r = q->r;
    ResDict owner = owner_of(q, dict);
    mutex_lock(&r->res_lock);
    ResDict *d = find_dict_copy(q, dict, &owner);
    Status st = d ? ST_OK : new_dict_copy(q, dict, &owner, &d, e);
    if (st == ST_OK) {
        d->last_use = ++r->clock;
        st = pin(q, (ResPin){.dict = d, .of = dict}, e);
        *out = d;
    }
    mutex_unlock(&r->res_lock);
    return st;
}

/* ---- strings back ------------------------------------------------------------------------------------------------ */
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
static Status column_ranges(DevQuery *q, const Table *t, const ResColumn *c, Err *e) {
    for (int64_t i = 0; i < c->n_tablets; i++) {
        const ResPiece *p = &c->pieces[i];
        const TabletColumn *tc = &t->tablets[i]->cols[c->col];
        if (tc->encoding != ENC_STR || t->tablets[i]->rows == 0) continue;
        if (tc->is_delta && !p->offsets) continue; /* read where they are */
        HostRange r = {.base = p->desc.var};
        if (p->offsets) {
            const void *cells = tc->data;
            if (tc->patches) TRY(pack_cells(q, t, t->tablets[i], c->col, &cells, e));
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

Status res_ranges(DevQuery *q, Err *e) {
    if (q->ranges.complete) return ST_OK;
    for (int32_t i = 0; i < q->n; i++) {
        DSegment *s = &q->segs[i];
        const Table *t = s->reason || s->p->source.kind != SRC_TABLE ? NULL : s->p->source.table;
        if (!t) continue;
        for (int32_t k = 0; s->own && k < s->e.n_tables_cols; k++)
            if (s->own[k]) TRY(column_ranges(q, t, s->own[k], e));
        bool before = false;
        for (int32_t k = 0; k < i; k++)
            before |= !q->segs[k].reason && q->segs[k].p->source.kind == SRC_TABLE && q->segs[k].p->source.table == t;
        if (before) continue;
        const ResTable *rt = res_table(q->r, t);
        for (int64_t k = 0; rt && k < q->pins.len; k++) {
            const ResColumn *c = q->pins.items[k].col;
            if (c && c->col < rt->n_cols && rt->cols[c->col] == c) TRY(column_ranges(q, t, c, e));
        }
    }
    for (int64_t i = 0; i < q->pins.len; i++) {
        const ResDict *d = q->pins.items[i].dict;
        if (!d) continue;
        HostRange r = {.base = d->bytes,
                       .bytes = (int64_t)d->host_offsets[d->n],
                       .cells = q->pins.items[i].of->entries,
                       .off64 = d->host_offsets,
                       .n = d->n};
        if (r.bytes > 0 && !vec_push(q->arena, &q->ranges, r)) return err_oom(e);
    }
    q->ranges.complete = true;
    return ST_OK;
}

/* ---- which way
 * -------------------------------------------------------------------------------------------------------- */
static bool is_resident(const DevQuery *q, const Table *t, int32_t col) {
    if (is_made_of_rows(t, col)) return true; /* nothing moves */
    const ResTable *x = res_table(q->r, t);
    return x && x->cols[col];
}

static int64_t column_bytes(const DevQuery *q, const Table *t, int32_t col) {
    int64_t n = 0;
    for (int64_t i = 0; i < t->n_tablets; i++) {
        Areas a = areas_of(q, &t->tablets[i]->cols[col], t->tablets[i]->rows);
        n += room(a.data_bytes) + room(a.validity_bytes) + room(a.var_bytes);
        if (is_patched(q, &t->tablets[i]->cols[col])) n += room(patch_map_bytes(&t->tablets[i]->cols[col], false));
    }
    return n;
}

/* Bytes of all columns that the query's segments read of a table. */
static int64_t table_bytes(const DevQuery *q, const Table *t) {
    int64_t n = 0;
    for (int32_t c = 0; c < t->n_cols; c++) {
        bool read = false;
        for (int32_t i = 0; i < q->n && !read; i++) {
            const DSegment *s = &q->segs[i];
            if (s->reason || s->p->source.kind != SRC_TABLE || s->p->source.table != t) continue;
            for (int32_t k = 0; k < s->e.n_tables_cols; k++) read |= s->e.table_cols[k] == c;
        }
        if (read) n += column_bytes(q, t, c);
    }
    return n;
}

/* Largest tables are streamed until the rest fits beside what operators need. */
static void plan_auto(DevQuery *q) {
    bool resident = true;
    for (int32_t i = 0; i < q->n && resident; i++) {
        const DSegment *s = &q->segs[i];
        if (s->reason || s->p->source.kind != SRC_TABLE) continue;
        for (int32_t k = 0; k < s->e.n_tables_cols && resident; k++)
            resident = is_resident(q, s->p->source.table, s->e.table_cols[k]);
    }
    if (resident) return;
    for (int64_t budget = dev_limit(q->d) / 4 * 3;;) {
        int64_t total = 0, most = 0;
        const Table *largest = NULL;
        for (int32_t i = 0; i < q->n; i++) {
            const DSegment *s = &q->segs[i];
            if (s->reason || s->p->source.kind != SRC_TABLE || s->residence == RES_STREAMED) continue;
            if (s->p->source.table->on_device) continue;
            bool before = false;
            for (int32_t k = 0; k < i; k++)
                before |= !q->segs[k].reason && q->segs[k].p->source.kind == SRC_TABLE &&
                          q->segs[k].p->source.table == s->p->source.table;
            if (before) continue;
            int64_t n = table_bytes(q, s->p->source.table);
            total += n;
            if (n > most) {
                most = n;
                largest = s->p->source.table;
            }
        }
        if (total <= budget || !largest) return;
        for (int32_t i = 0; i < q->n; i++)
            if (!q->segs[i].reason && q->segs[i].p->source.kind == SRC_TABLE && q->segs[i].p->source.table == largest)
                q->segs[i].residence = RES_STREAMED;
    }
}

Status res_plan(DevQuery *q, Err *e) {
    Residence want = q->opt.device.residence;
    bool shares = q->d->info.shares_memory;
    for (int32_t i = 0; i < q->n; i++) {
        DSegment *s = &q->segs[i];
        if (s->reason || s->p->source.kind != SRC_TABLE) continue;
        s->residence = shares || want == RES_AUTO || s->p->source.table->on_device ? RES_CACHED : want;
        if (s->residence == RES_MAPPED && !q->d->info.can_map)
            return err_set(e, ERR_FEATURE_NOT_SUPPORTED, "device %s cannot read the host's memory", q->d->info.id);
    }
    if (want != RES_AUTO || shares) return ST_OK;
    mutex_lock(&q->r->res_lock);
    plan_auto(q);
    mutex_unlock(&q->r->res_lock);
    return ST_OK;
}
