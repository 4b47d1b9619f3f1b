/* residency.c - which table columns and dictionaries a device keeps.
 *
 * res_column.h says what a column is there, res_stream.c how tables move that are not kept. A column is kept as one
 * array of descriptors (DColumn per tablet) and the bytes they point to. Bytes of main tablets never change: they are
 * known by the address of their block and its checksum, and are uploaded once however often the table grows. Open cells
 * are known by an id (table_version_cells), and only rows that have come behind them are uploaded. On devices that
 * share the host's memory descriptors point into the tablets themselves.
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
#include "exec/device/device_rows.h"
#include "exec/device/patch_map.h"
#include "exec/device/res_column.h"
#include "storage/table_version.h"
#include "storage/tablet_block.h" /* blocks of tablets, by which bytes on the device are known again */

static void table_free_cached(DevRuntime *r, ResTable *t) {
    for (int32_t i = 0; i < t->n_cols; i++) res_column_free(r, t->cols[i]);
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
    atomic_store(&r->keeps, r->tables != NULL);
    mutex_unlock(&r->res_lock);
}
bool dev_runtime_keeps_copies(const DevRuntime *r) { return !r->d->info.shares_memory && atomic_load(&r->keeps); }

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
            res_column_free(r, o.col);
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
    atomic_store(&r->keeps, true);
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
            res_column_free(r, x->cols[col]);
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
    int64_t n = t->n_tablets, jobs_n = 0, total = res_room(n * (int64_t)sizeof(DTablet)), bits = total;
    if (rows) total += res_room(rows->n_places / 8);
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
        else d[i].deleted = res_put_area(jobs, &jobs_n, &total, tab->deleted, (tab->rows + 63) / 64 * 8);
    }
    TRY(dev_mem_get(q->r, total + RES_GUARD, out, e));
    if (rows || !q->d->info.shares_memory)
        for (int64_t i = 0; i < n; i++)
            if (d[i].deleted) d[i].deleted += out->p;
    q->busy |= rows != NULL;
    Status st = rows ? rows->deleted(rows, q->lane->queue, out->p + (uint64_t)bits, e) : ST_OK;
    if (st == ST_OK && n > 0) st = res_upload(q, out->p, jobs, jobs_n, !own, e);
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
            Status st = res_column_make(q, t, col, before, false, false, &c, e);
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
        if (res_moves(s) && !res_has_strings(&t->cols[col])) continue;
        if (!s->own[i]) TRY(res_column_make(q, t, col, NULL, true, map, &s->own[i], e));
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

void res_drop_own(DevQuery *q, DSegment *s) {
    dev_mem_put(q->r, &s->own_tablets);
    for (int32_t i = 0; s->own && i < s->e.n_tables_cols; i++) {
        res_column_free(q->r, s->own[i]);
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
    int64_t at = res_room((n + 1) * 8);
    TRY(dev_mem_get(q->r, at + res_room(total) + RES_GUARD, &d->mem, e));
    TRY(query_zero(q, d->mem.p, at + res_room(total) + RES_GUARD, e));
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
Status res_ranges(DevQuery *q, Err *e) {
    if (q->ranges.complete) return ST_OK;
    for (int32_t i = 0; i < q->n; i++) {
        DSegment *s = &q->segs[i];
        const Table *t = s->reason || s->p->source.kind != SRC_TABLE ? NULL : s->p->source.table;
        if (!t) continue;
        for (int32_t k = 0; s->own && k < s->e.n_tables_cols; k++)
            if (s->own[k]) TRY(res_column_ranges(q, t, s->own[k], e));
        bool before = false;
        for (int32_t k = 0; k < i; k++)
            before |= !q->segs[k].reason && q->segs[k].p->source.kind == SRC_TABLE && q->segs[k].p->source.table == t;
        if (before) continue;
        const ResTable *rt = res_table(q->r, t);
        for (int64_t k = 0; rt && k < q->pins.len; k++) {
            const ResColumn *c = q->pins.items[k].col;
            if (c && c->col < rt->n_cols && rt->cols[c->col] == c) TRY(res_column_ranges(q, t, c, e));
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

/* ---- which way ---- */
static bool is_resident(const DevQuery *q, const Table *t, int32_t col) {
    if (res_made_of_rows(t, col)) return true; /* nothing moves */
    const ResTable *x = res_table(q->r, t);
    return x && x->cols[col];
}

static int64_t column_bytes(const DevQuery *q, const Table *t, int32_t col) {
    int64_t n = 0;
    for (int64_t i = 0; i < t->n_tablets; i++) {
        Areas a = res_areas(q, &t->tablets[i]->cols[col], t->tablets[i]->rows);
        n += res_room(a.data_bytes) + res_room(a.validity_bytes) + res_room(a.var_bytes);
        if (res_patched(q, &t->tablets[i]->cols[col])) n += res_room(patch_map_bytes(&t->tablets[i]->cols[col], false));
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
