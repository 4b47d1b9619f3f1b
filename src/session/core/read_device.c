/* read_device.c - statements that read, on a device, what bulks have left there: a catalog in which tables whose newer
 * rows only the device has are views of these rows (txn/store/device_rows.h). See README.md, "Reading".
 */
#include "base/log.h"
#include "exec/device/device_rows.h"
#include "session/core/session.h"
#include "session/core/transaction.h"
#include "session/pool/bulk.h"

static int64_t catalog_bytes(int64_t n_tables) {
    return (int64_t)sizeof(Catalog) + n_tables * (int64_t)sizeof(Table *);
}
static Catalog *copy_catalog(Session *s) {
    const Catalog *from = &s->db->catalog;
    Catalog *c = mem_calloc(&s->account, catalog_bytes(from->n_tables), &s->err);
    if (!c) return NULL;
    atomic_init(&c->version, atomic_load(&from->version));
    c->next_id = from->next_id;
    c->functions = from->functions;
    c->names = from->names;
    c->enums = from->enums;
    c->rows = from->rows;
    c->ranges = from->ranges;
    c->n_tables = from->n_tables;
    c->tables = (Table **)(void *)(c + 1);
    memcpy(c->tables, from->tables, sizeof *c->tables * (size_t)c->n_tables);
    c->n_views = from->n_views;
    c->views = from->views;
    c->n_foreign = from->n_foreign;
    c->foreign = from->foreign;
    c->n_routines = from->n_routines;
    c->routines = from->routines;
    c->n_domains = from->n_domains;
    c->domains = from->domains;
    c->n_sequences = from->n_sequences;
    c->sequences = from->sequences;
    c->n_index_defs = from->n_index_defs;
    c->index_defs = from->index_defs;
    c->n_comments = from->n_comments;
    c->comments = from->comments;
    c->n_roles = from->n_roles;
    c->roles = from->roles;
    c->n_privileges = from->n_privileges;
    c->privileges = from->privileges;
    c->row_security = from->row_security;
    return c;
}
static void drop_catalog(Session *s, Catalog *c) {
    if (!c) return;
    for (int64_t i = 0; i < c->n_tables; i++)
        if (c->tables[i]->on_device) device_rows_release(c->tables[i]);
    mem_free(&s->account, c, catalog_bytes(c->n_tables));
}

void session_read_device_end(Session *s) {
    drop_catalog(s, s->read.on_device);
    s->read.on_device = NULL;
    if (s->read.unlocks) database_read_end(s->db, s->read.slot);
    s->read.unlocks = s->read.unlocked = false;
}

/* Under the shared lock: views in place of tables. *all false: some rows are wanted on the host in any case. */
static Status put_views(Session *s, Catalog *c, bool *all) {
    *all = true;
    for (int64_t i = 0; *all && i < c->n_tables; i++) {
        const Table *view = NULL;
        TRY(session_bulk_view(s, c->tables[i], &view, all));
        if (!view) continue;
        c->tables[i] = (Table *)(uintptr_t)view; /* read only, as the catalog */
        s->read.device = view->on_device->device->info.id;
    }
    return ST_OK;
}
/* Versions in place of all other tables, so that the lock can be given up when the columns of views are made. Without
 * them it is kept. */
static void put_versions(Session *s, Catalog *c) {
    if (!session_should_publish(s)) return;
    bool done = false;
    Err e = {0};
    epoch_pin(s->read.slot, "statement", s->read.since_ns);
    s->read.unlocks = database_table_versions(s->db, c, &done, &s->read.cost, &e) == ST_OK && done;
    if (!s->read.unlocks) database_read_end(s->db, s->read.slot);
}
Status session_read_device(Session *s) {
    bool may = session_may_read_images(s) && s->lock == LOCK_NONE && !s->bulk.under_way && !s->read.locked &&
               session_may_use_device(s);
    if (!may || !session_bulk_unapplied(s)) return ST_OK;
    s->read.images = true;
    Status st = session_lock(s, LOCK_SHARED);
    s->read.images = false;
    TRY(st);
    bool all = session_bulk_unapplied(s) && transaction_shows_committed(s);
    Catalog *c = NULL;
    if (all && session_bulk_on_device(s)) {
        if (!(c = copy_catalog(s))) return ST_ERROR;
        st = put_views(s, c, &all);
    } else {
        all = false;
    }
    if (st == ST_OK && all) {
        put_versions(s, c);
        s->read.on_device = c;
        return ST_OK;
    }
    drop_catalog(s, c);
    if (st != ST_OK) log_write(LOG_WARNING, "rows of bulks are not read where they are: %s", s->err.message);
    if (st != ST_OK) err_clear(&s->err); /* the host gets them, or says why not */
    session_unlock(s);
    return ST_OK;
}

static void give_up_lock(void *ctx) {
    Session *s = ctx;
    s->read.unlocked = true;
    session_unlock_keep_version(s);
}
Status session_read_device_run(Session *s, DeviceUse *use) {
    if (s->read.unlocked) return session_read_locked(s);
    if (!s->read.unlocks || s->read.inner > 0) return ST_OK;
    use->rows_made = give_up_lock;
    use->rows_made_ctx = s;
    return ST_OK;
}
