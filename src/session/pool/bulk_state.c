/* bulk_state.c - see bulk_state.h. */
#include "session/pool/bulk_state.h"

#include "base/log.h"
#include "exec/device/dev.h"
#include "session/core/transaction.h"
#include "db/redo.h"
#include "session/pool/bulk.h"
#include "session/pool/bulk_redo.h"
#include "storage/row_home.h"

void bulk_state_forget_inputs(BulkState *x) {
    replay_clear(x->replay);
    x->covered = false;
}
ImageSet *bulk_state_images(BulkState *x, Err *e) {
    ImageSet *images = images_new(&x->db->parts[DB_IMAGES], &x->db->parts[DB_HOMES], e);
    if (images) bulk_redo_watch(x, images);
    return images;
}
void bulk_state_clear(BulkState *x) {
    images_free(x->images);
    replay_free(x->replay);
    x->images = NULL;
    x->replay = NULL;
    x->covered = false;
}

/* A device was lost, as e says: images from the tables, and the bulks again. */
static Status recover(BulkState *x, Err *e) {
    const int64_t began = clock_ns(), bulks = replay_bulks(x->replay), calls = replay_calls(x->replay);
    const bool unapplied = atomic_load(&x->unapplied), covered = !unapplied || x->covered;
    Err why = {0};
    err_copy(&why, e);
    err_clear(e);
    images_free(x->images);
    x->images = bulk_state_images(x, e);
    Status st = x->images ? ST_OK : ST_ERROR;
    if (st == ST_OK && !covered) st = err_set(e, ERR_SYSTEM, "their inputs were not kept");
    if (st == ST_OK && unapplied) {
        log_write(LOG_WARNING, "%s: %lld bulks of %lld calls run again on the processors", why.message,
                  (long long)bulks, (long long)calls);
        QueryOptions q = {.pool = x->db->pool,
                          .threads = pool_threads(x->db->pool),
                          .account = &x->db->parts[DB_CALLS],
                          .vfs = x->db->vfs};
        st = replay_run(x->replay, x->images, &x->db->catalog, &q, e);
        if (st == ST_OK)
            log_write(LOG_INFO, "%lld bulks have run again in %.1f s", (long long)bulks,
                      (double)(clock_ns() - began) / 1e9);
    }
    bulk_state_forget_inputs(x);
    if (st == ST_OK) return ST_OK;
    images_free(x->images);
    x->images = bulk_state_images(x, NULL);
    atomic_store(&x->unapplied, false);
    Err found = {0};
    err_copy(&found, e);
    err_clear(e);
    log_write(LOG_ERROR, "%s: changes are lost: %s", why.message, found.message);
    if (unapplied) redo_is_ahead(x->db, &why);
    err_set(e, ERR_SYSTEM, "%s, and with it what bulks had left there", why.message);
    if (covered)
        err_detail(e, "%lld bulks of %lld calls could not be run again: %s The tables are as they were before these.",
                   (long long)bulks, (long long)calls, found.message);
    else err_detail(e, "The tables are as they were when they were last brought up to date.");
    if (!covered) err_hint(e, "With bulk_replay = on such bulks are run again.");
    return ST_ERROR;
}
static bool is_loss(const Err *e) { return strcmp(e->sqlstate, ERR_SYSTEM) == 0; }

Status bulk_state_sync(BulkState *x, UndoLog *undo, Err *e) {
    if (!atomic_load(&x->unapplied)) return ST_OK;
    Status st = images_home(x->images, e);
    if (st != ST_OK && is_loss(e)) st = recover(x, e);
    if (st != ST_OK) return st;
    bulk_state_forget_inputs(x);
    TRY(images_sync(x->images, undo, e));
    atomic_store(&x->unapplied, false);
    return ST_OK;
}

static bool is_refused(const Err *e) { return strncmp(e->sqlstate, "53", 2) == 0; }

/* ---- garbage ---- */
/* Of tables, and of what bulks have of them. */
static int64_t data_bytes(const Database *db) {
    return atomic_load(&db->parts[DB_TABLES].used) + atomic_load(&db->parts[DB_HOMES].used) +
           atomic_load(&db->parts[DB_IMAGES].used);
}
/* Tables with `least` bytes of garbage are packed, which are up to date. What fails for want of memory is left. */
static void pack_tables(Session *s, BulkState *x, int64_t least) {
    const Catalog *c = &x->db->catalog;
    for (int64_t i = 0; i < c->n_tables; i++) {
        Table *t = c->tables[i];
        Err e = {0};
        if (images_garbage_of(x->images, t->id) + table_garbage(t) < least || table_has_undo(t)) continue;
        images_drop(x->images, t->id);
        database_unpublish(s->db); /* it would keep what is replaced */
        if (table_merge(t, s->db->pool, &e) != ST_OK)
            log_write(LOG_WARNING, "merge of \"%s\" failed: %s", t->name, e.message);
    }
}
/* Less garbage is not worth bringing tables up to date: a small table that changes much would be all the time. */
static int64_t least_garbage(const Session *s) {
    enum { LEAST = 1 << 20, MOST = 256 << 20, PART = 256 };
    return MIN_OF(MAX_OF(s->settings.exec.memory_limit / PART, (int64_t)LEAST), (int64_t)MOST);
}
/* Strings that were overwritten in tables: where bringing them up to date copies what bulks write, images have none of
 * these. *grown: how much of it has come since bulk_state_trim looked. */
static int64_t dead_texts(BulkState *x, int64_t *grown) {
    int64_t bytes = 0;
    for (int64_t i = 0; i < x->db->catalog.n_tables; i++) bytes += table_dead_texts(x->db->catalog.tables[i]);
    x->dead_looked = MIN_OF(x->dead_looked, bytes); /* tables were packed */
    *grown = bytes - x->dead_looked;
    return bytes;
}
Status bulk_state_trim(Session *s, BulkState *x) {
    enum { PART = 8, LOOKS = 16, TABLES = 16 };
    const int64_t much = MAX_OF(least_garbage(s), data_bytes(x->db) / PART);
    int64_t bytes = 0, grown, dead, dead_grown;
    Err quiet = {0};
    if (!x->images || s->state == 'T' || s->bulk.undo != BULK_STANDS || !s->settings.txn.merge_auto) return ST_OK;
    dead = dead_texts(x, &dead_grown);
    if (images_garbage_at_most(x->images, &grown) + dead < much / 2) return ST_OK; /* tables have more than that */
    if (grown + dead_grown < much / LOOKS) return ST_OK;                           /* as when it was looked at */
    if (images_garbage(x->images, &bytes, &quiet) != ST_OK) return ST_OK;          /* the bulk finds out why */
    x->dead_looked = dead;
    for (int64_t i = 0; i < x->db->catalog.n_tables; i++) bytes += table_garbage(x->db->catalog.tables[i]);
    if (bytes < much) return ST_OK;
    if (session_bulk_sync(s) == ST_OK) pack_tables(s, x, bytes / MAX_OF((int64_t)TABLES, x->db->catalog.n_tables));
    else if (is_refused(&s->err)) err_clear(&s->err); /* the bulk may do with what there is */
    return err_is_set(&s->err) ? ST_ERROR : ST_OK;
}

/* ---- at the limit ---- */
/* What may come back: rows and inputs of bulks, and what open tablets have. */
static int64_t loose_bytes(const Database *db) {
    int64_t bytes = atomic_load(&db->parts[DB_HOMES].used) + atomic_load(&db->parts[DB_IMAGES].used) +
                    atomic_load(&db->parts[DB_INPUTS].used);
    for (int64_t i = 0; i < db->catalog.n_tables; i++) {
        const Table *t = db->catalog.tables[i];
        if (table_has_undo(t)) continue;
        bytes +=
            table_part_bytes(t, TABLE_OPEN) + table_part_bytes(t, TABLE_TEXTS) + table_part_bytes(t, TABLE_VERSIONS);
    }
    return bytes;
}
static void pack_all(Session *s) {
    const Catalog *c = &s->db->catalog;
    for (int64_t i = 0; i < c->n_tables; i++) {
        Err e = {0};
        if (!table_has_undo(c->tables[i]) && table_merge(c->tables[i], s->db->pool, &e) != ST_OK)
            log_write(LOG_INFO, "table \"%s\" could not be packed: %s", c->tables[i]->name, e.message);
    }
}
bool bulk_state_give_back(Session *s, BulkState *x) {
    enum { PART = 16, RESERVE = 16 << 20 };
    Database *db = s->db;
    const int64_t limit = atomic_load(&db->account.limit), before = atomic_load(&db->account.used);
    if (limit <= 0 || s->state == 'T' || s->bulk.undo != BULK_STANDS || loose_bytes(db) < limit / PART) return false;
    Err why;
    err_copy(&why, &s->err);
    err_clear(&s->err);
    /* Giving back takes memory first (base/mem.h). */
    int64_t reserve = atomic_exchange(&db->account.reserve, MAX_OF((int64_t)RESERVE, limit / 4));
    database_unpublish(db);
    bool current = session_bulk_sync(s) == ST_OK;
    if (current && x && x->images) images_drop_all(x->images);
    if (current) pack_all(s);
    atomic_store(&db->account.reserve, reserve);
    if (!current && is_loss(&s->err)) return false; /* what a device had is lost: that is the error now */
    err_clear(&s->err);
    err_copy(&s->err, &why);
    const int64_t after = atomic_load(&db->account.used);
    log_write(LOG_INFO, "tables were packed, for memory_limit: %lld bytes are in use, %lld were", (long long)after,
              (long long)before);
    return after < before;
}
/* Inputs of the bulk that runs. */
typedef struct Keep {
    BulkState *x;
    int32_t n;
    const CallGroup *groups;
    const QueryOptions *q;
    bool kept, failed;
} Keep;
static void keep_inputs(void *ctx) {
    Keep *k = ctx;
    Err e = {0};
    if (k->kept || k->failed) return;
    if (!k->x->replay) k->x->replay = replay_new(&k->x->db->parts[DB_INPUTS], &e);
    k->kept = k->x->replay && replay_add(k->x->replay, k->n, k->groups, k->q, &e) == ST_OK;
    k->failed = !k->kept;
    if (k->failed) log_write(LOG_INFO, "inputs of a bulk cannot be kept: %s", e.message);
}
/* On a device with memory of its own. */
static bool is_discrete(const BulkOptions *o) {
    if (!o->compiled || !o->query->device.runtime) return false;
    const Device *d = dev_runtime_device(o->query->device.runtime);
    return (o->copies || !d->info.shares_memory) && !d->info.lost;
}
static int64_t inputs_limit(const Session *s) {
    const Settings *x = &s->settings;
    const int64_t limit = x->exec.memory_limit, few = limit > 0 ? limit / 8 : INT64_C(1) << 30;
    if (x->bulk.replay_memory > 0) return x->bulk.replay_memory;
    return MIN_OF(limit > 0 ? limit / 4 : INT64_MAX, MAX_OF(few, data_bytes(s->db) / 8));
}
/* A bulk that has begun there may end half done. Kernels that are functions of this process do not. */
static bool may_stop_half_way(const BulkOptions *o) {
    if (!o->compiled) return false;
    return o->copies || !o->query->device.runtime || !dev_runtime_device(o->query->device.runtime)->info.native_threads;
}
/* The bulk is undone as a whole, perhaps: by its statement or transaction, because a transaction has to see what was
 * before, or because a device may leave it half done. False: no transaction begins behind it with an older version. */
static bool may_be_undone(Session *s, const BulkState *x, const BulkOptions *opt) {
    return s->bulk.undo == BULK_UNDO_TABLES || s->state == 'T' || x->by_cells || may_stop_half_way(opt) ||
           transaction_bulk_begin(s);
}
static void forget_undo(BulkState *x) {
    arena_free(x->undo.arena);
    x->undo = (struct BulkWayBack){.back = BACK_NONE};
}
/* For a bulk that is undone without its tables: their cells in the images that it changes. Copying all cells of large
 * tables for few calls would take longer than leaving them, where each changed cell is copied. */
static Status save_cells(Session *s, BulkState *x, int32_t n, const Proc *const *procs, int64_t n_calls, bool logged) {
    enum { BYTES_A_CALL = 512 };
    forget_undo(x); /* of a run that failed */
    if (s->bulk.undo != BULK_UNDO_IMAGES || logged || !images_settled(x->images)) return ST_OK;
    if (images_save_bytes(x->images, n, procs) / BYTES_A_CALL > n_calls)
        return images_leave(x->images, n, procs, &s->err);
    if (!(x->undo.arena = arena_new(&x->db->parts[DB_IMAGES], &s->err))) return ST_ERROR;
    return images_save(x->images, n, procs, x->db->pool, x->undo.arena, &x->undo.saved, &s->err);
}
/* Tables have one copy of the cells that the bulk writes, where it is not undone. */
static Status choose_home(Session *s, BulkState *x, int32_t n, const Proc *const *procs, const BulkOptions *opt,
                          bool writes, int64_t n_calls) {
    if (may_be_undone(s, x, opt)) return images_leave(x->images, n, procs, &s->err);
    if (!writes) return ST_OK;
    if (!atomic_load(&x->unapplied)) TRY(images_settle(x->images, n, procs, &s->err));
    TRY(save_cells(s, x, n, procs, n_calls, opt->logged));
    if (images_settled(x->images)) atomic_store(&x->unapplied, true); /* also when the bulk fails behind its calls */
    return ST_OK;
}
static int64_t count_calls(int32_t n, const CallGroup *groups) {
    int64_t calls = 0;
    for (int32_t k = 0; k < n; k++) calls += groups[k].n;
    return calls;
}
static Status run_once(Session *s, BulkState *x, int32_t n, const CallGroup *groups, const Proc *const *procs,
                       const BulkOptions *opt, bool writes, BulkResult **out) {
    int64_t began = clock_ns(), made;
    TRY(images_get(x->images, &x->db->catalog, n, procs, x->db->pool, &s->err));
    TRY(choose_home(s, x, n, procs, opt, writes, count_calls(n, groups)));
    made = clock_ns();
    TRY(bulk_run(x->images, n, groups, opt, out, &s->err));
    (*out)->stats.images_ns = made - began;
    return ST_OK;
}

/* After an error that says so: everything is on the host, and as it was. */
static Status without_device(Session *s, BulkState *x, BulkOptions *opt) {
    if (!atomic_load(&x->unapplied) || x->covered || images_on_device(x->images))
        TRY(recover(x, &s->err)); /* else the host has everything */
    err_clear(&s->err);
    opt->compiled = false;
    return s->bulk.undo == BULK_UNDO_IMAGES ? session_bulk_sync(s) : ST_OK; /* the inputs were the way back */
}
static Status footprints_once(Session *s, BulkState *x, int32_t n, const CallGroup *groups, const Proc *const *procs,
                              const BulkOptions *opt, Arena *a, BulkOps *out) {
    TRY(images_get(x->images, &x->db->catalog, n, procs, x->db->pool, &s->err));
    return bulk_footprints(x->images, n, groups, opt, a, out, &s->err);
}
Status bulk_state_footprints(Session *s, BulkState *x, int32_t n, const CallGroup *groups, const Proc *const *procs,
                             BulkOptions *opt, Arena *a, BulkOps *out) {
    if (atomic_load(&x->unapplied) && !images_fit(x->images, &x->db->catalog, n, procs)) TRY(session_bulk_sync(s));
    Status st = footprints_once(s, x, n, groups, procs, opt, a, out);
    if (st == ST_OK || !is_loss(&s->err)) return st;
    TRY(without_device(s, x, opt));
    return footprints_once(s, x, n, groups, procs, opt, a, out);
}

/* The bulk has run: the inputs of all since the tables were up to date are there, or not (any more). */
static void note_covered(Session *s, BulkState *x, bool covered, bool remote) {
    x->covered = covered;
    if (!covered) bulk_state_forget_inputs(x);
    if (covered || !remote || s->state == 'T' || x->by_cells || session_bulk_sync(s) == ST_OK) return;
    log_write(LOG_WARNING, "tables could not be brought up to date behind a bulk whose inputs could not be kept: %s",
              s->err.message);
    err_clear(&s->err);
}
void bulk_state_stands(Session *s, BulkState *x) {
    const struct BulkWayBack u = x->undo;
    forget_undo(x);
    if (u.back == BACK_LOGS) images_forget_logs(x->images);
    if (u.back != BACK_NONE) note_covered(s, x, u.covered, u.remote);
}
Status bulk_state_go_back(BulkState *x, Err *e) {
    const struct BulkWayBack u = x->undo;
    Status st = ST_OK;
    if (u.back == BACK_LOGS) {
        images_take_back(x->images);
        if (u.kept) replay_drop_last(x->replay);
    } else if (u.back == BACK_TABLES) {
        images_undo(x->images, u.saved);
        bulk_state_forget_inputs(x);
        atomic_store(&x->unapplied, false);
    } else if (u.back == BACK_INPUTS) {
        int64_t reserve = atomic_exchange(&x->db->account.reserve, INT64_MAX);
        if (u.kept) replay_drop_last(x->replay);
        err_set(e, ERR_SYSTEM, "a bulk on a device is undone");
        st = recover(x, e);
        atomic_store(&x->db->account.reserve, reserve);
    }
    forget_undo(x);
    return st;
}
/* The logs of few calls are the way back: their memory comes again with the next bulk, while that of many calls is new
 * each time, and costs more than bringing tables up to date. Kernels have none of whole bulks. */
static bool keeps_logs(Session *s, int32_t n, const CallGroup *groups, const BulkOptions *opt, bool writes) {
    enum { CALLS_MAX = 1 << 16, BYTES_A_CALL = 256, PART = 4 };
    if (s->bulk.undo != BULK_UNDO_IMAGES || !writes || opt->compiled) return false;
    const int64_t calls = count_calls(n, groups);
    return calls <= CALLS_MAX && calls <= mem_headroom(&s->db->account) / PART / BYTES_A_CALL;
}
/* Before a bulk: the tables have to have what images are ahead by. */
static bool has_to_sync(Session *s, const BulkState *x, int32_t n, const Proc *const *procs, const BulkOptions *opt,
                        bool discrete, bool writes) {
    if (!atomic_load(&x->unapplied)) return false;
    if (writes && (x->by_cells || transactions_see_images(s))) return true;
    if (discrete && writes && (!x->covered || replay_bytes(x->replay) > inputs_limit(s))) return true;
    if (s->bulk.undo == BULK_UNDO_IMAGES && writes && !opt->logged && !(discrete && x->covered))
        return true; /* no way back to that */
    return !images_fit(x->images, &x->db->catalog, n, procs) || (may_be_undone(s, x, opt) && images_settled(x->images));
}

Status bulk_state_run(Session *s, BulkState *x, int32_t n, const CallGroup *groups, const Proc *const *procs,
                      BulkOptions *opt, BulkLogged *how, BulkResult **out) {
    const bool discrete = is_discrete(opt) && s->settings.bulk.replay;
    bool writes = false, keeps = true, lost = false;
    for (int32_t k = 0; k < n; k++) {
        writes |= procs[k]->writes;
        keeps &= !procs[k]->writes || replay_covers(procs[k]);
    }
    opt->logged = keeps_logs(s, n, groups, opt, writes);
    x->by_cells = how->by_cells != NULL;
    if (has_to_sync(s, x, n, procs, opt, discrete, writes)) TRY(session_bulk_sync(s));
    if (writes) TRY(bulk_redo_begin(s, how, n, groups, opt));
    bool unapplied = atomic_load(&x->unapplied);
    keeps &= writes && s->settings.bulk.replay && (discrete || (unapplied && x->covered));
    Keep keep = {.x = x, .n = n, .groups = groups, .q = opt->query, .failed = !keeps};
    opt->launched = keep_inputs;
    opt->launched_ctx = &keep;
    const int64_t refused = atomic_load(&x->db->account.refused);
    Status st = run_once(s, x, n, groups, procs, opt, writes, out);
    if (st != ST_OK && is_refused(&s->err) && atomic_load(&x->db->account.refused) > refused) {
        if (keep.kept) replay_drop_last(x->replay);
        keep.kept = false;
        if (bulk_state_give_back(s, x)) {
            err_clear(&s->err);
            unapplied = atomic_load(&x->unapplied);
            st = run_once(s, x, n, groups, procs, opt, writes, out);
        }
    }
    if (st == ST_OK) keep_inputs(&keep);
    if (keep.kept && st != ST_OK) replay_drop_last(x->replay);
    if (st != ST_OK && is_loss(&s->err)) {
        TRY(without_device(s, x, opt));
        st = run_once(s, x, n, groups, procs, opt, writes, out);
        if (st == ST_OK) (*out)->stats.reason = "the device was lost";
        keep.failed = lost = true; /* it is all on the host now */
    } else if (keep.kept && st == ST_OK && replay_ran(x->replay, *out, opt->query, &s->err) != ST_OK) {
        err_clear(&s->err);
        keep.failed = true;
    }
    unapplied &= !lost; /* where the bulk can be undone, tables have been brought up to date then */
    if (st != ST_OK && opt->logged) images_take_back(x->images);
    else if (st != ST_OK && s->bulk.undo == BULK_UNDO_IMAGES && writes && !unapplied) x->undo.back = BACK_TABLES;
    if (st != ST_OK || !writes) return st;
    const bool kept = keep.kept && !keep.failed, covered = kept && (!unapplied || x->covered),
               remote = discrete && opt->compiled;
    s->db->dirty = true;
    atomic_store(&x->unapplied, true);
    st = bulk_redo_ran(s, how, x->images, n, groups, *out);
    if (st != ST_OK) {
        bulk_result_free(*out);
        *out = NULL;
    }
    if (s->bulk.undo != BULK_UNDO_IMAGES) return note_covered(s, x, covered, remote), st;
    x->undo.back = opt->logged ? BACK_LOGS : unapplied ? BACK_INPUTS : BACK_TABLES;
    x->undo.kept = kept;
    x->undo.covered = covered;
    x->undo.remote = remote;
    return ST_OK;
}
