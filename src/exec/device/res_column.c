/* res_column.c - see res_column.h.
 *
 * For devices with memory of their own delta strings, Str cells on the host, are packed to offsets and bytes like those
 * of main, and cells of a home (storage/row_home.h) put side by side; where memory is shared kernels read both where
 * they are. Of a patched column (storage/patches.h) the packed bytes stay as they are; beside them lies a map of its
 * new cells (patch_map.h), known again by the state of the patches, and the validity bits that go with it. So a table
 * with a changed row moves that row. Open cells with an id, which versions of a table share, are kept in the same way,
 * with room for the rows that may come behind them; their validity bits are each version's own.
 */
#include "exec/device/res_column.h"

#include "base/hash.h"
#include "exec/device/device_rows.h"
#include "exec/device/patch_map.h"
#include "storage/table_version.h"
#include "storage/tablet_block.h" /* blocks of tablets, by which bytes on the device are known again */

static void chunk_drop(DevRuntime *r, ResChunk *c) {
    if (!c || --c->refs > 0) return;
    dev_mem_put(r, &c->mem);
    mem_free(r->account, c, (int64_t)sizeof *c);
}

static void strings_drop(DevRuntime *r, ResStrings *s) {
    if (s && --s->refs == 0) mem_free(r->account, s, (int64_t)sizeof *s + (s->cap + 1) * (int64_t)sizeof s->offsets[0]);
}
static void piece_drop(DevRuntime *r, ResPiece *p) {
    chunk_drop(r, p->chunk);
    chunk_drop(r, p->patches);
    chunk_drop(r, p->bits);
    strings_drop(r, p->strings);
    *p = (ResPiece){0};
}

void res_column_free(DevRuntime *r, ResColumn *c) {
    if (!c) return;
    for (int64_t i = 0; i < c->n_tablets; i++) piece_drop(r, &c->pieces[i]);
    if (c->pieces) mem_free(r->account, c->pieces, c->n_tablets * (int64_t)sizeof *c->pieces);
    dev_mem_put(r, &c->desc);
    mem_free(r->account, c, (int64_t)sizeof *c);
}

bool res_packs(const DevQuery *q, const TabletColumn *c) {
    return c->is_delta && !q->d->info.shares_memory && (c->stride || c->encoding == ENC_STR);
}
bool res_patched(const DevQuery *q, const TabletColumn *c) { return dev_patched(c, q->d->info.shares_memory); }
/* Cells of open strings without patches, each with an address and a length; those of NULL rows are empty. */
static const Str *open_strings(const TabletColumn *c) { return c->data; }
static int64_t string_bytes(const TabletColumn *c, int64_t first, int64_t end) {
    int64_t n = 0;
    for (int64_t i = first; i < end; i++) n += open_strings(c)[i].len;
    return n;
}

Areas res_areas(const DevQuery *q, const TabletColumn *c, int64_t rows) {
    bool made = res_packs(q, c);
    Areas a = {.data = made ? NULL : c->data};
    if (c->encoding == ENC_STR) {
        a.data = made ? NULL : c->offsets;
        a.data_bytes = (rows + 1) * 4;
        a.var = made ? NULL : c->var_base;
        a.var_bytes = made ? string_bytes(c, 0, rows) : (int64_t)c->offsets[rows];
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

/* Offsets of rows [first, end), and their bytes, in memory of the query; NULL without an error: there is no room. */
static const char *add_strings(DevQuery *q, const TabletColumn *c, int64_t first, int64_t end, ResStrings *s, Err *e) {
    int64_t at = s->offsets[first], n = string_bytes(c, first, end);
    if (end > s->cap || at + n > s->bytes) return NULL;
    char *bytes = arena_alloc(q->arena, n + 1), *to = bytes;
    if (!bytes) {
        err_oom(e);
        return NULL;
    }
    for (int64_t i = first; i < end; i++) {
        Str x = open_strings(c)[i];
        if (x.len) memcpy(to, x.ptr, x.len);
        to += x.len;
        if (i >= s->rows) s->offsets[i + 1] = (uint32_t)(at + (to - bytes));
    }
    s->rows = MAX_OF(s->rows, end);
    return bytes;
}
/* Strings that are no block's as offsets and bytes, with room for `cap` rows that are as long as these. */
static Status pack_strings(DevQuery *q, const TabletColumn *c, int64_t rows, int64_t cap, Areas *a, ResPiece *p,
                           Err *e) {
    if (a->var_bytes > UINT32_MAX)
        return err_set(e, ERR_OUT_OF_MEMORY, "a tablet's strings of %lld bytes are too long for device %s",
                       (long long)a->var_bytes, q->d->info.id);
    ResStrings *s = mem_alloc(q->r->account, (int64_t)sizeof *s + (cap + 1) * (int64_t)sizeof s->offsets[0], e);
    if (!(p->strings = s)) return ST_ERROR;
    s->refs = 1;
    s->rows = 0;
    s->cap = cap;
    s->bytes = MIN_OF(a->var_bytes * cap / rows, (int64_t)UINT32_MAX);
    s->offsets[0] = 0;
    a->data = s->offsets;
    a->var = add_strings(q, c, 0, rows, s, e);
    return a->var ? ST_OK : ST_ERROR;
}

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
        if (p->bits && p->bits != p->patches && (i == 0 || c->pieces[i - 1].bits != p->bits))
            c->bytes += p->bits->mem.bytes;
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
    int64_t unused; /* of total: room for rows that may come */
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
/* A place for `most` bytes, of which `bytes` are there. */
static DevPtr place_with_room(Sending *s, const void *p, int64_t bytes, int64_t most) {
    if (!most) return 0;
    DevPtr at = (DevPtr)s->total + 1;
    int64_t end = s->total + res_room(MAX_OF(bytes, most));
    res_put_area(s->jobs, &s->n, &s->total, p, bytes);
    s->unused += end - s->total;
    s->total = end;
    return at;
}
static DevPtr place_of(Sending *s, const void *p, int64_t bytes) { return place_with_room(s, p, bytes, bytes); }
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
    q->bytes_in += s->total - s->unused;
    return ST_OK;
}

/* How a column is made: as `old` (may be NULL) has it plus what is new. own: for this query alone, so that it need not
 * be there yet when this is done. map: read where it is. */
typedef struct Making {
    DevQuery *q;
    const ResColumn *old;
    bool own, map;
    Sending cells;
    Sending beside;   /* maps of patches, validity bits */
    Upload *behind;   /* rows that have come behind those of kept cells; places are addresses */
    int64_t n_behind; /* jobs */
} Making;

/* ---- cells ---- */
static const ResPiece *piece_before(const ResColumn *old, int64_t i) {
    return old && i < old->n_tablets ? &old->pieces[i] : NULL;
}
/* What `old` has of the tablet's cells; NULL: nothing. */
static const ResPiece *same_cells(const ResColumn *old, int64_t i, const ResPiece *p) {
    const ResPiece *x = piece_before(old, i);
    if (!x || !x->chunk) return NULL;
    bool same = p->block ? x->block == p->block && x->checksum == p->checksum : p->cells != 0 && x->cells == p->cells;
    return same ? x : NULL;
}
static void keep_cells(ResPiece *p, const ResPiece *x) {
    p->desc = x->desc;
    p->desc.patches = 0;
    p->desc.validity = p->validity = x->validity;
    p->cap = x->cap;
    p->chunk = x->chunk;
    p->chunk->refs++;
    if ((p->strings = x->strings)) p->strings->refs++;
}
static void send_behind(DevQuery *q, Making *m, DevPtr to, const void *from, int64_t bytes) {
    if (bytes) m->behind[m->n_behind++] = (Upload){from, bytes, (int64_t)to, false};
    q->bytes_in += bytes;
}
/* Rows that are behind those of x go behind them, where no reader of x looks: who else has the same cells writes the
 * same bytes there. *fits: there was room. */
static Status extend_cells(DevQuery *q, const TabletColumn *tc, Making *m, const ResPiece *x, const ResPiece *p,
                           bool *fits, Err *e) {
    const int64_t first = x->rows, n = p->rows - first;
    *fits = n <= 0;
    if (*fits || p->rows > x->cap) return ST_OK;
    if (!x->strings) {
        const int64_t size = phys_size((Phys)tc->phys), at = first * size;
        send_behind(q, m, x->desc.data + (uint64_t)at, (const char *)tc->data + at, n * size);
        *fits = true;
        return ST_OK;
    }
    const uint32_t *offsets = x->strings->offsets;
    const char *bytes = add_strings(q, tc, first, p->rows, x->strings, e);
    if (!bytes) return err_is_set(e) ? ST_ERROR : ST_OK;
    send_behind(q, m, x->desc.data + (uint64_t)(first + 1) * 4, offsets + first + 1, n * 4);
    send_behind(q, m, x->desc.var + offsets[first], bytes, offsets[p->rows] - offsets[first]);
    *fits = true;
    return ST_OK;
}
/* Cells of a tablet. Validity bits come with those of a packed column, and of open ones that are this version's only;
 * else versions have different ones (make_bits). */
static Status make_cells(DevQuery *q, const Table *t, int64_t tablet, int32_t col, Making *m, int64_t room, ResPiece *p,
                         Err *e) {
    Tablet *tab = t->tablets[tablet];
    const TabletColumn *tc = &tab->cols[col];
    Sending *s = &m->cells;
    bool direct = q->d->info.shares_memory;
    uint64_t shift = 0;
    p->desc = res_describe(q, tc);
    if (tab->rows == 0) return ST_OK;
    if (m->map && !direct && !tc->is_delta) TRY(hostmap_get(q, tab, true, &direct, &shift, e));
    if (direct) {
        describe_host(tc, &p->desc, shift);
        return ST_OK;
    }
    TRY(join_sending(q->r, s, &p->chunk, e));
    Areas a = res_areas(q, tc, tab->rows);
    int64_t data_most = a.data_bytes, var_most = a.var_bytes;
    p->cap = p->cells ? MAX_OF(room / phys_size((Phys)tc->phys), tab->rows) : tab->rows;
    if (tc->is_delta && tc->encoding == ENC_STR) {
        TRY(pack_strings(q, tc, tab->rows, p->cap, &a, p, e));
        data_most = (p->cap + 1) * 4;
        var_most = p->strings->bytes;
    } else if (res_packs(q, tc)) {
        TRY(res_pack_cells(q, t, tab, col, &a.data, e));
    } else if (p->cells) {
        data_most = p->cap * phys_size((Phys)tc->phys);
    }
    p->desc.data = place_with_room(s, a.data, a.data_bytes, data_most);
    p->desc.var = place_with_room(s, a.var, a.var_bytes, var_most);
    if (!res_patched(q, tc) && !p->cells) p->validity = place_of(s, a.validity, a.validity_bytes);
    return ST_OK;
}
static Status keep_or_make_cells(DevQuery *q, const Table *t, int64_t tablet, int32_t col, Making *m, ResPiece *p,
                                 Err *e) {
    const Tablet *tab = t->tablets[tablet];
    const TabletColumn *tc = &tab->cols[col];
    const bool shares = q->d->info.shares_memory;
    const OpenCells cells = shares || m->own ? (OpenCells){0} : table_version_cells(t, tablet, col);
    bool fits = false;
    p->rows = tab->rows;
    p->block = res_block_of(tab, col, &p->checksum);
    p->cells = cells.id;
    const ResPiece *x = shares ? NULL : same_cells(m->old, tablet, p);
    if (x && !p->block) TRY(extend_cells(q, tc, m, x, p, &fits, e));
    if (!x || !(p->block || fits)) return make_cells(q, t, tablet, col, m, cells.bytes, p, e);
    keep_cells(p, x);
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
        if (!p->bits) p->desc.validity = p->validity;
    }
    return send_all(q, s, own, e);
}
static Status send_groups(void *ctx, Stager *stager, Err *e) {
    const Making *m = ctx;
    for (int64_t i = 0; i < m->n_behind; i++) TRY(stager_send(stager, i, m->q->lane->queue, 0, e));
    return ST_OK;
}
/* One by one: what lies between them is others'. */
static Status send_rows_behind(DevQuery *q, Making *m, Err *e) {
    int64_t *groups = arena_array(q->arena, int64_t, m->n_behind + 1);
    if (!groups) return err_oom(e);
    for (int64_t i = 0; i < m->n_behind; i++) groups[i + 1] = i + 1;
    q->busy = true;
    TRY(query_upload_groups(q, m->behind, groups, m->n_behind, send_groups, m, e));
    return query_sync(q, e);
}

/* ---- patches and validity bits ---- */
static int64_t bits_bytes(int64_t rows) { return (rows + 63) / 64 * 8; }
/* Room for a tablet's new cells, if the device does not have their map. */
static Status make_map(DevQuery *q, const ResPiece *x, const TabletColumn *tc, Sending *s, ResPiece *p, Err *e) {
    if (!res_patched(q, tc) || p->rows == 0) return ST_OK;
    p->state = tc->patches->state;
    if (x && x->patches && x->state == p->state) {
        p->patches = x->patches;
        p->patches->refs++;
        p->desc.patches = x->desc.patches;
        return ST_OK;
    }
    TRY(join_sending(q->r, s, &p->patches, e));
    p->desc.patches = place_of(s, NULL, patch_map_bytes(tc, q->d->info.shares_memory));
    return ST_OK;
}
/* Room for validity bits, if they did not come with the cells, and the device does not have them. */
static Status make_bits(DevQuery *q, const ResPiece *x, const TabletColumn *tc, Sending *s, ResPiece *p, Err *e) {
    if (q->d->info.shares_memory || p->rows == 0) return ST_OK;
    if (res_patched(q, tc)) p->desc.validity = 0;
    if (!tc->validity || (!res_patched(q, tc) && (p->validity || !p->chunk))) return ST_OK;
    p->bits_sum = checksum64(tc->validity, bits_bytes(p->rows));
    if (x && x->bits && x->bits_sum == p->bits_sum && bits_bytes(x->rows) == bits_bytes(p->rows)) {
        p->bits = x->bits;
        p->bits->refs++;
        p->desc.validity = x->desc.validity;
        return ST_OK;
    }
    TRY(join_sending(q->r, s, &p->bits, e));
    p->desc.validity = place_of(s, NULL, bits_bytes(p->rows));
    return ST_OK;
}
/* Writes them, whose addresses are known now. */
static Status write_beside(DevQuery *q, const Table *t, ResColumn *c, Sending *s, Err *e) {
    bool shares = q->d->info.shares_memory;
    for (int64_t i = 0; i < c->n_tablets; i++) {
        const TabletColumn *tc = &t->tablets[i]->cols[c->col];
        ResPiece *p = &c->pieces[i];
        if (p->patches && p->patches == s->chunk) {
            int64_t bytes = patch_map_bytes(tc, shares), place = (int64_t)p->desc.patches - 1;
            char *map = arena_alloc(q->arena, bytes);
            if (!map) return err_oom(e);
            add_base(s, &p->desc.patches);
            patch_map_write(tc, shares ? 0 : p->desc.patches, map);
            s->jobs[s->n++] = (Upload){map, bytes, place, false};
        }
        if (p->bits && p->bits == s->chunk) {
            s->jobs[s->n++] = (Upload){tc->validity, bits_bytes(p->rows), (int64_t)p->desc.validity - 1, false};
            add_base(s, &p->desc.validity);
        }
    }
    return ST_OK;
}

static Status make_pieces(DevQuery *q, const Table *t, ResColumn *c, Making *m, Err *e) {
    for (int64_t i = 0; i < c->n_tablets; i++) {
        const TabletColumn *tc = &t->tablets[i]->cols[c->col];
        const ResPiece *x = piece_before(m->old, i);
        ResPiece *p = &c->pieces[i];
        TRY(keep_or_make_cells(q, t, i, c->col, m, p, e));
        TRY(make_map(q, x, tc, &m->beside, p, e));
        TRY(make_bits(q, x, tc, &m->beside, p, e));
    }
    if (m->cells.chunk) TRY(send_cells(q, c, &m->cells, m->own, e));
    if (m->n_behind > 0) TRY(send_rows_behind(q, m, e));
    if (!m->beside.chunk) return ST_OK;
    TRY(sending_memory(q, &m->beside, e));
    TRY(write_beside(q, t, c, &m->beside, e));
    return send_all(q, &m->beside, m->own, e);
}
Status res_column_make(DevQuery *q, const Table *t, int32_t col, const ResColumn *old, bool own, bool map,
                       ResColumn **out, Err *e) {
    DevRuntime *r = q->r;
    int64_t n = t->n_tablets;
    Making m = {.q = q, .old = old, .own = own, .map = map};
    m.cells.jobs = arena_array(q->arena, Upload, 3 * n + 1);
    m.beside.jobs = arena_array(q->arena, Upload, 2 * n + 1);
    m.behind = arena_array(q->arena, Upload, 2 * n + 1);
    if (!m.cells.jobs || !m.beside.jobs || !m.behind) return err_oom(e);
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
    chunk_drop(r, m.beside.chunk);
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
        if (tc->is_delta && !p->strings) continue; /* read where they are */
        HostRange r = {.base = p->desc.var};
        if (p->strings) {
            r.bytes = p->strings->offsets[p->rows];
            r.cells = open_strings(tc);
            r.off32 = p->strings->offsets;
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
