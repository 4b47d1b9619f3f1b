/* stele_relations.c - rows of Stele's own system relations.
 *
 * stele_tablets and stele_tablet_columns are of the tables as the statement sees them; stele_snapshots of the moment:
 * pins of the database's epochs (base/epoch.h), and open transactions, whose snapshots are kept by undo logs
 * (transaction.h); stele_log of the redo log; stele_bulks of the last bulks; stele_memory of the accounts below the
 * database's. stele_settings and stele_machine are in machine.c.
 */
#include "db/checkpoint.h"
#include "db/published.h"
#include "db/redo.h"
#include "exec/device/dev.h"
#include "session/core/session.h"
#include "session/system/system_int.h"
#include "session/core/transaction.h"
#include "session/pool/bulk.h"
#include "session/pool/bulk_log.h"
#include "sql/bind/bind.h"
#include "storage/tablet_block.h"
#include "types/lsn.h"

/* Which devices have it, too. */
static Status put_copies(Session *s, SystemRows *r, int32_t at, const Table *t, int64_t tablet, int32_t col) {
    const char *names;
    TRY(session_device_copies(s, r->c->arena, t, tablet, col, &names));
    return names ? system_put_text(r, at, names) : ST_OK;
}
static const char *tablet_form(const Tablet *t) {
    if (t->is_delta) return "open";
    if (tablet_has_open(t)) return "partly open";
    return tablet_has_patches(t) ? "patched" : "packed";
}
Status system_fill_tablets(Session *s, SystemRows *r) {
    TRY(session_read_locked(s)); /* what a device has of rows are no tablets */
    const Catalog *c = session_catalog(s);
    for (int64_t i = 0; i < c->n_tables; i++)
        for (int64_t k = 0; k < c->tables[i]->n_tablets; k++) {
            const Tablet *t = c->tables[i]->tablets[k];
            TRY(system_next_row(r));
            TRY(system_put_text(r, 0, c->tables[i]->name));
            system_put_int(r, 1, k);
            TRY(system_put_text(r, 2, tablet_form(t)));
            system_put_int(r, 3, t->rows);
            system_put_int(r, 4, t->n_deleted);
            system_put_int(r, 5, tablet_bytes(t));
            TRY(put_copies(s, r, 6, c->tables[i], k, -1));
        }
    return ST_OK;
}

/* Bits of a value, as it is stored; -1: they differ from row to row. */
static int64_t column_bits(const TabletColumn *c) {
    if (c->encoding == ENC_STR) return -1;
    return c->encoding == ENC_FOR ? c->width : 8 * phys_size((Phys)c->phys);
}
static int64_t column_bytes(const TabletColumn *c, int64_t rows) {
    int64_t bytes = (c->validity ? (rows + 7) / 8 : 0) + (c->patches ? patches_bytes(c->patches) : 0);
    if (c->encoding != ENC_STR) return bytes + (rows * column_bits(c) + 7) / 8;
    if (!c->is_delta) return bytes + (rows + 1) * 4 + c->offsets[rows];
    for (int64_t i = 0; i < rows; i++) bytes += (int64_t)sizeof(Str) + column_str(c, i).len;
    return bytes;
}
static const char *column_encoding(const Column *col, const TabletColumn *c) {
    if (c->encoding == ENC_FOR && c->width == 0) return "constant";
    if (col->dict) return "dictionary";
    return c->encoding == ENC_FOR ? "frame of reference" : c->encoding == ENC_STR ? "strings" : "plain";
}
/* A bound of a tablet's column; of a dictionary's codes, which are not all in order, it says nothing. */
static Status put_bound(SystemRows *r, int32_t at, const Column *col, const TabletColumn *c, int64_t bound) {
    Value v = {.type = col->type};
    Phys phys = type_phys(col->type);
    int64_t n;
    if (!c->has_minmax || col->dict || phys > PH_I128) return ST_OK;
    if (phys == PH_I128) v.u.i128 = bound;
    else memcpy(value_cell(&v), &bound, (size_t)phys_size(phys)); /* little-endian */
    const char *text = value_to_text(r->c->arena, &v, &n);
    return text ? system_put_text(r, at, text) : err_oom(r->err);
}
static Status tablet_column(Session *s, SystemRows *r, const Table *t, int64_t k, int i) {
    const Tablet *tab = t->tablets[k];
    const TabletColumn *c = &tab->cols[i];
    TRY(system_next_row(r));
    TRY(system_put_text(r, 0, t->name));
    system_put_int(r, 1, k);
    TRY(system_put_text(r, 2, t->cols[i].name));
    TRY(system_put_text(r, 3, c->stride ? "open by rows" : c->is_delta ? "open" : c->patches ? "patched" : "packed"));
    TRY(system_put_text(r, 4, column_encoding(&t->cols[i], c)));
    if (column_bits(c) >= 0) system_put_int(r, 5, column_bits(c));
    system_put_int(r, 6, c->null_count);
    TRY(put_bound(r, 7, &t->cols[i], c, c->min));
    TRY(put_bound(r, 8, &t->cols[i], c, c->max));
    system_put_int(r, 9, column_bytes(c, tab->rows));
    return put_copies(s, r, 10, t, k, i);
}
Status system_fill_tablet_columns(Session *s, SystemRows *r) {
    TRY(session_read_locked(s));
    const Catalog *c = session_catalog(s);
    for (int64_t i = 0; i < c->n_tables; i++)
        for (int64_t k = 0; k < c->tables[i]->n_tablets; k++)
            for (int x = 0; x < c->tables[i]->n_cols; x++) TRY(tablet_column(s, r, c->tables[i], k, x));
    return ST_OK;
}

enum { LISTED = 1024 /* pins, and transactions, that are listed at most */ };

static Status pins(Session *s, SystemRows *r) {
    EpochPinInfo *p = arena_array(r->c->arena, EpochPinInfo, LISTED);
    if (!p) return err_oom(r->err);
    int64_t n = MIN_OF((int64_t)LISTED, epoch_pins(s->db->epochs, p, LISTED)), now = clock_ns();
    for (int64_t i = 0; i < n; i++) {
        TRY(system_next_row(r));
        TRY(system_put_text(r, 0, "version"));
        system_put_int(r, 1, p[i].session);
        if (p[i].label) TRY(system_put_text(r, 2, p[i].label));
        if (p[i].since_ns) system_put_int(r, 3, (now - p[i].since_ns) / 1000000);
        system_put_int(r, 4, (int64_t)p[i].lower);
        system_put_int(r, 5, p[i].held_bytes);
        system_put_bool(r, 6, false);
    }
    return ST_OK;
}
Status system_fill_snapshots(Session *s, SystemRows *r) {
    TRY(pins(s, r));
    TxnInfo *x = arena_array(r->c->arena, TxnInfo, LISTED);
    if (!x) return err_oom(r->err);
    int64_t n = MIN_OF((int64_t)LISTED, transactions_list(s, x, LISTED)), now = clock_ns();
    for (int64_t i = 0; i < n; i++) {
        TRY(system_next_row(r));
        TRY(system_put_text(r, 0, "transaction"));
        system_put_int(r, 1, x[i].session);
        system_put_int(r, 3, (now - x[i].since_ns) / 1000000);
        if (x[i].held_bytes >= 0) system_put_int(r, 5, x[i].held_bytes);
        system_put_bool(r, 6, x[i].lost);
    }
    return ST_OK;
}

static void put_ms(SystemRows *r, int32_t col, int64_t ns) {
    double ms = (double)ns / 1e6;
    system_put_float(r, col, ms);
}
Status system_fill_log(Session *s, SystemRows *r) {
    RedoLogInfo x;
    if (!redo_info(s->db, &x)) return ST_OK;
    TRY(system_next_row(r));
    system_put_int(r, 0, lsn_cell((uint64_t)x.lsn));
    system_put_int(r, 1, lsn_cell((uint64_t)x.durable));
    system_put_int(r, 2, redo_bytes(s->db));
    system_put_int(r, 3, s->settings.txn.max_log_size);
    system_put_int(r, 4, x.records);
    system_put_int(r, 5, x.bytes);
    system_put_int(r, 6, x.writes);
    put_ms(r, 7, x.write_ns);
    system_put_int(r, 8, x.waits);
    put_ms(r, 9, x.wait_ns);
    system_put_int(r, 10, x.waiting);
    if (x.failure[0]) TRY(system_put_text(r, 11, x.failure));
    if (x.last_error[0]) TRY(system_put_text(r, 12, x.last_error));
    CheckpointInfo saved;
    double log_s;
    checkpoint_info(s->db, &saved);
    system_put_int(r, 13, saved.made);
    if (saved.made) put_ms(r, 14, saved.last_ns);
    system_put_float(r, 15, checkpoint_recovery_time(s->db, &log_s));
    return ST_OK;
}
/* The order it kept, why its strategy, further times, what went wrong, and how it was logged. */
static Status put_bulk_more(SystemRows *r, int32_t col, const BulkLogEntry *e) {
    const bool failed = e->sqlstate[0] != 0;
    if (!failed) TRY(system_put_text(r, col, e->any_order ? "any" : "timestamp"));
    if (e->why) TRY(system_put_text(r, col + 1, e->why));
    put_ms(r, col + 2, e->send_ns);
    put_ms(r, col + 3, e->transfer_ns);
    system_put_int(r, col + 4, e->retries);
    system_put_int(r, col + 5, e->alone);
    if (failed) TRY(system_put_text(r, col + 6, e->sqlstate));
    if (e->log) TRY(system_put_text(r, col + 7, e->log));
    if (e->log && e->log_why[0]) TRY(system_put_text(r, col + 8, e->log_why));
    return ST_OK;
}
Status system_fill_bulks(Session *s, SystemRows *r) {
    BulkLogEntry *e = arena_array(r->c->arena, BulkLogEntry, BULK_LOG_MAX);
    if (!e) return err_oom(r->err);
    int64_t n = session_bulks_list(s, e, BULK_LOG_MAX), now = clock_ns();
    for (int64_t i = 0; i < n; i++) {
        TRY(system_next_row(r));
        system_put_int(r, 0, e[i].number);
        TRY(system_put_text(r, 1, e[i].why_cut));
        system_put_int(r, 2, (now - e[i].ended_ns) / 1000000);
        system_put_int(r, 3, e[i].calls);
        system_put_int(r, 4, e[i].failed);
        if (e[i].strategy) TRY(system_put_text(r, 5, e[i].strategy));
        if (e[i].depth) system_put_int(r, 6, e[i].depth);
        if (e[i].executor[0]) TRY(system_put_text(r, 7, e[i].executor));
        if (e[i].device[0]) TRY(system_put_text(r, 8, e[i].device));
        if (e[i].reason[0]) TRY(system_put_text(r, 9, e[i].reason));
        put_ms(r, 10, e[i].footprint_ns);
        put_ms(r, 11, e[i].schedule_ns);
        put_ms(r, 12, e[i].reserve_ns);
        put_ms(r, 13, e[i].run_ns);
        put_ms(r, 14, e[i].total_ns);
        TRY(put_bulk_more(r, 15, &e[i]));
    }
    return ST_OK;
}

/* ---- memory ---- */
/* Bytes of one account; what all of them come to is `charged`. */
static Status put_held(SystemRows *r, const char *what, const char *table, int64_t bytes, int64_t charged,
                       int64_t limit) {
    TRY(system_next_row(r));
    TRY(system_put_text(r, 0, what));
    if (table) TRY(system_put_text(r, 1, table));
    system_put_int(r, 2, bytes);
    system_put_int(r, 3, charged);
    if (limit > 0) system_put_int(r, 4, limit);
    return ST_OK;
}
/* The same in a device's own memory. */
static Status put_held_there(SystemRows *r, const char *what, const char *table, int64_t bytes, const Device *d,
                             int64_t charged, const char *name) {
    TRY(put_held(r, what, table, bytes, charged, atomic_load(&d->memory.limit)));
    return system_put_text(r, 5, name);
}
static Status device_memory(const Session *s, SystemRows *r, DevRuntime *runtime, const char *name) {
    const Catalog *c = session_catalog(s);
    const Device *d = dev_runtime_device(runtime), *of;
    int64_t charged = atomic_load(&d->memory.used), rest = charged;
    for (int64_t i = 0; i < c->n_tables; i++) {
        const Table *t = c->tables[i];
        int64_t columns = dev_runtime_table_bytes(runtime, t->id), image = session_bulk_device_bytes(s, t, &of);
        if (of != d) image = 0;
        if (columns > 0) TRY(put_held_there(r, "columns", t->name, columns, d, charged, name));
        if (image > 0) TRY(put_held_there(r, "images of bulks", t->name, image, d, charged, name));
        rest -= columns + image;
    }
    return put_held_there(r, "other", NULL, rest, d, charged, name);
}
Status system_fill_memory(Session *s, SystemRows *r) {
    static const char *const kinds[N_TABLE_PARTS] = {[TABLE_PACKED] = "packed",
                                                     [TABLE_OPEN] = "open cells",
                                                     [TABLE_TEXTS] = "texts",
                                                     [TABLE_INDEX] = "index",
                                                     [TABLE_VERSIONS] = "versions"};
    TRY(session_read_locked(s)); /* accounts are the tables' own, not their versions' */
    const Catalog *c = session_catalog(s);
    const Database *db = s->db;
    int64_t limit = atomic_load(&db->account.limit), charged = atomic_load(&db->account.used), rest = charged, bytes;
    int64_t tables = atomic_load(&db->parts[DB_TABLES].used);
    rest -= tables;
    for (int64_t i = 0; i < c->n_tables; i++) {
        const Table *t = c->tables[i];
        int64_t own = table_charged(t);
        tables -= own;
        for (int p = 0; p < N_TABLE_PARTS; p++) {
            own -= bytes = table_part_bytes(t, (TablePart)p);
            TRY(put_held(r, kinds[p], t->name, bytes, charged, limit));
        }
        TRY(put_held(r, "definition", t->name, own, charged, limit));
    }
    TRY(put_held(r, "dropped tables", NULL, tables, charged, limit));
    for (int p = 0; p < N_DATABASE_PARTS; p++) {
        if (p == DB_TABLES) continue;
        rest -= bytes = atomic_load(&db->parts[p].used);
        TRY(put_held(r, database_part_names[p], NULL, bytes, charged, limit));
    }
    TRY(put_held(r, "other", NULL, rest, charged, limit));
    enum { DEVICES = 32 };
    DevRuntime *runtimes[DEVICES];
    const char *names[DEVICES];
    const int n = session_device_runtimes(s, DEVICES, runtimes, names);
    for (int i = 0; i < n; i++) TRY(device_memory(s, r, runtimes[i], names[i]));
    return ST_OK;
}
