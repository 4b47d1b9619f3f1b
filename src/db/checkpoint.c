/* checkpoint.c - see checkpoint.h. */
#include "db/checkpoint.h"

#include <time.h>

#include "base/cond.h"
#include "base/log.h"
#include "db/catalog_file.h"
#include "db/published.h"
#include "db/redo.h"
#include "storage/table_file.h"

typedef struct Checkpoints {
    Mutex mutex; /* of what follows, up to `info` */
    pthread_cond_t ended;
    bool running;
    bool urgent;           /* who has the lock waits for the one that is being made, which must not wait for the lock */
    _Atomic bool *waiting; /* ends that wait; NULL: it does not wait */
    CheckpointInfo info;
    CheckpointRates rates;
    _Atomic int64_t began_ns;
    _Atomic int64_t table_bytes; /* of the generation */
    MemAccount account;          /* of what is needed while files are written; has no limit */
    EpochSlot *slot;
    Current current;
    int64_t last; /* generations up to it may have files */
} Checkpoints;

/* A table of the checkpoint. */
typedef struct Saved {
    const Table *t;
    TableFiles *files; /* of the table itself, under the lock */
    int64_t id;
    const char *from;        /* the last file of it; NULL: none */
    int64_t from_generation; /* in whose directory that is */
    bool same;               /* it has the table as it is */
    TableParts *before;      /* of that file; counted, as is: */
    TableParts *parts;       /* of the new one */
} Saved;
struct Checkpoint {
    Database *db;
    Arena *a;
    int64_t generation, lsn; /* lsn: where its log begins */
    char *dir;
    BytesOut catalog;
    int64_t n;
    Saved *tables;
    bool pinned, switched; /* a version is pinned; the log of the generation is in use */
    bool under_lock;       /* the log has failed */
    bool alone;            /* its tables may have what it commits */
    bool beside;           /* others go on meanwhile */
    _Atomic bool *cancel;  /* NULL: it cannot be cancelled */
    int64_t began_ns, written, write_ns;
    int64_t piece_ns; /* when the piece that is being written began */
    uint64_t changes; /* of the database, then */
};

enum { GUESSED_LOAD = 200 << 20, GUESSED_REPLAY = 100 << 20, GUESSED_SAVE = 100 << 20, LEAST_BYTES = 1 << 20 };

/* ---- opening ---- */
Status checkpoints_new(Database *db, bool *there, Err *e) {
    Checkpoints *s = mem_calloc(NULL, (int64_t)sizeof *s, e);
    if (!s) return ST_ERROR;
    mutex_init(&s->mutex, RANK_UPKEEP);
    cond_init(&s->ended);
    mem_account_init(&s->account, NULL, "checkpoint", 0, NULL);
    atomic_init(&s->rates.load, GUESSED_LOAD);
    atomic_init(&s->rates.replay, GUESSED_REPLAY);
    atomic_init(&s->rates.save, GUESSED_SAVE);
    atomic_init(&s->began_ns, clock_ns());
    db->checkpoints = s;
    TRY(epoch_register(db->epochs, 0, &s->slot, e));
    Arena *a = arena_new(&db->account, e);
    if (!a) return ST_ERROR;
    arena_set_err(a, e);
    const Status st = current_read(db->vfs, db->path, a, &s->current, there, e);
    db->generation = s->last = s->current.generation;
    arena_free(a);
    return st;
}
void checkpoints_free(Database *db) {
    Checkpoints *s = db->checkpoints;
    if (!s) return;
    epoch_unregister(s->slot);
    pthread_cond_destroy(&s->ended);
    mutex_destroy(&s->mutex);
    mem_free(NULL, s, (int64_t)sizeof *s);
    db->checkpoints = NULL;
}
Current *checkpoint_current(const Database *db) { return &db->checkpoints->current; }
CheckpointRates *checkpoint_rates(const Database *db) { return &db->checkpoints->rates; }
int64_t checkpoint_began(const Database *db) { return atomic_load(&db->checkpoints->began_ns); }
void checkpoint_info(const Database *db, CheckpointInfo *out) {
    Checkpoints *s = db->checkpoints;
    mutex_lock(&s->mutex);
    *out = s->info;
    mutex_unlock(&s->mutex);
}
static void measure(_Atomic int64_t *rate, int64_t bytes, int64_t ns) {
    if (bytes >= LEAST_BYTES && ns > 0) atomic_store(rate, (int64_t)((double)bytes * 1e9 / (double)ns) + 1);
}
void checkpoint_loaded(Database *db, int64_t bytes, int64_t ns) {
    atomic_store(&db->checkpoints->table_bytes, bytes);
    measure(&db->checkpoints->rates.load, bytes, ns);
}
void checkpoint_recovered(Database *db, int64_t work, int64_t ns) {
    enum { LEAST_WORK = 64 << 20 };
    db->checkpoints->current.timeline++;
    db->checkpoints->info.replayed = work;
    if (work >= LEAST_WORK) measure(&db->checkpoints->rates.replay, work, ns);
}
void checkpoint_note_generations(Database *db, const GenerationList *all) {
    Checkpoints *s = db->checkpoints;
    if (all->len > 0) s->last = MAX_OF(s->last, all->items[all->len - 1]);
    s->current.lsn = MAX_OF(s->current.lsn, redo_load_lsn(db));
}
/* Recovery loads the generation, applies the log, and writes the tables that have changed, at most all. */
double checkpoint_recovery_time(const Database *db, double *log) {
    const Checkpoints *s = db->checkpoints;
    const double tables = (double)atomic_load(&s->table_bytes);
    *log = (double)redo_work(db) / (double)atomic_load(&s->rates.replay);
    return tables / (double)atomic_load(&s->rates.load) + *log + tables / (double)atomic_load(&s->rates.save);
}
void checkpoint_wait(Database *db, int64_t most_ns) {
    Checkpoints *s = db->checkpoints;
    mutex_lock(&s->mutex);
    if (s->running) (void)cond_wait_until(&s->ended, &s->mutex, clock_ns() + most_ns);
    mutex_unlock(&s->mutex);
}

/* ---- beginning ---- */
/* urgent: by who has the lock. */
static Status wait_for_turn(Checkpoints *s, bool urgent, _Atomic bool *cancel, Err *e) {
    enum { POLL_NS = 50000000 };
    Status st = ST_OK;
    mutex_lock(&s->mutex);
    s->urgent |= urgent;
    if (urgent && s->waiting) atomic_store(s->waiting, true);
    while ((s->running || (s->urgent && !urgent)) && st == ST_OK) {
        (void)cond_wait_until(&s->ended, &s->mutex, clock_ns() + POLL_NS);
        if (s->running && cancel && atomic_load(cancel))
            st = err_set(e, ERR_QUERY_CANCELED, "canceling statement due to user request");
    }
    if (st == ST_OK) s->running = true;
    if (urgent) s->urgent = false;
    mutex_unlock(&s->mutex);
    return st;
}
void checkpoint_wait_begins(Checkpoint *c, _Atomic bool *cancel) {
    Checkpoints *s = c->db->checkpoints;
    mutex_lock(&s->mutex);
    s->waiting = cancel;
    if (s->urgent) atomic_store(cancel, true);
    mutex_unlock(&s->mutex);
}
bool checkpoint_wait_ends(Checkpoint *c) {
    Checkpoints *s = c->db->checkpoints;
    mutex_lock(&s->mutex);
    s->waiting = NULL;
    const bool give_up = s->urgent;
    mutex_unlock(&s->mutex);
    return give_up;
}
/* The checkpoint is over. */
static void end(Checkpoint *c, bool made) {
    Database *db = c->db;
    Checkpoints *s = db->checkpoints;
    if (c->pinned) database_read_end(db, s->slot);
    for (int64_t i = 0; i < c->n; i++) {
        table_parts_drop(c->tables[i].before);
        table_parts_drop(c->tables[i].parts);
    }
    mutex_lock(&s->mutex);
    s->running = false;
    s->info.made += made;
    if (made) s->info.last_ns = clock_ns() - c->began_ns;
    pthread_cond_broadcast(&s->ended);
    mutex_unlock(&s->mutex);
    bytes_out_release(&c->catalog);
    arena_free(c->a);
    mem_free(NULL, c, (int64_t)sizeof *c);
}
static Status sync_names(const Checkpoint *c, Err *e) {
    TRY(c->db->vfs->sync_dir(c->db->vfs, c->dir, e));
    return c->db->vfs->sync_dir(c->db->vfs, c->db->path, e);
}
static Status begin(Checkpoint *c, Err *e) {
    Database *db = c->db;
    if (!(c->a = arena_new(&db->checkpoints->account, e))) return ST_ERROR;
    arena_set_err(c->a, e);
    c->dir = generation_path(c->a, db, c->generation, NULL);
    if (!c->dir) return ST_ERROR;
    generation_remove(db, c->a, c->generation);
    TRY(db->vfs->make_dir(db->vfs, c->dir, e));
    if (!db->redo || redo_failed(db)) return ST_OK;
    TRY(redo_prepare(db, c->a, c->generation, e));
    return sync_names(c, e); /* before what is in the log can be acknowledged */
}
static Status start(Database *db, bool urgent, _Atomic bool *cancel, Checkpoint **out, Err *e) {
    Checkpoints *s = db->checkpoints;
    *out = NULL;
    if (!s || db->read_only) return ST_OK;
    TRY(wait_for_turn(s, urgent, cancel, e));
    const bool dirty = db->dirty;
    Checkpoint *c = dirty ? mem_calloc(NULL, (int64_t)sizeof *c, e) : NULL;
    if (!c) {
        mutex_lock(&s->mutex);
        s->running = false;
        pthread_cond_broadcast(&s->ended);
        mutex_unlock(&s->mutex);
        return dirty ? ST_ERROR : ST_OK;
    }
    c->db = db;
    c->cancel = cancel;
    c->generation = s->last + 1;
    c->lsn = s->current.lsn;
    c->catalog = (BytesOut){.acct = &s->account, .e = e};
    c->began_ns = clock_ns();
    atomic_store(&s->began_ns, c->began_ns);
    const Status st = begin(c, e);
    if (st == ST_OK) *out = c;
    else checkpoint_give_up(c);
    return st;
}
Status checkpoint_start(Database *db, _Atomic bool *cancel, Checkpoint **out, Err *e) {
    return start(db, false, cancel, out, e);
}
/* Nothing of it has a meaning, but the log if it is in use. */
static void remove_files(Checkpoint *c) {
    if (c->switched) generation_remove_saved(c->db, c->a, c->generation);
    else generation_remove(c->db, c->a, c->generation);
}
void checkpoint_give_up(Checkpoint *c) {
    if (!c->switched) redo_unprepare(c->db);
    if (c->a) remove_files(c);
    end(c, false);
}

/* ---- under the lock ---- */
/* Row numbers of the published tables mean what those of the tables mean. */
static bool is_numbered_alike(const Database *db, const DatabaseVersion *v) {
    for (int64_t i = 0; i < db->catalog.n_tables; i++)
        if (table_generation(v->catalog.tables[i]) != table_generation(db->catalog.tables[i])) return false;
    return true;
}
static Status publish_all(Checkpoint *c, const DatabaseVersion **v, Err *e) {
    Database *db = c->db;
    PublishCost cost;
    bool done;
    TRY(database_publish(db, &done, &cost, e));
    if (!done) return err_set(e, ERR_NOT_IN_STATE, "a transaction has changed tables that are not committed");
    *v = database_read_begin(db, db->checkpoints->slot, "checkpoint", c->began_ns);
    c->pinned = *v != NULL;
    return *v ? ST_OK : err_internal(e, "there is no version for a checkpoint");
}
static Status pin_version(Checkpoint *c, const Catalog **out, Err *e) {
    Database *db = c->db;
    const DatabaseVersion *v = NULL;
    TRY(publish_all(c, &v, e));
    if (!is_numbered_alike(db, v)) {
        database_read_end(db, db->checkpoints->slot);
        c->pinned = false;
        database_unpublish(db);
        TRY(publish_all(c, &v, e));
    }
    epoch_pin_narrow(db->checkpoints->slot);
    *out = &v->catalog;
    return ST_OK;
}
/* The file that has the table as it is or was: of the last checkpoint, if that was made, or an older one. */
static Status find_file(Checkpoint *c, const Table *t, Saved *x) {
    Database *db = c->db;
    TableFiles *files = table_files(t);
    if (files->next.generation > 0 && files->next.generation == db->generation) {
        TableFile last = files->next;
        (void)table_parts_share(last.parts);
        table_file_set(&files->last, last);
    }
    const TableFile *f = &files->last;
    if (f->generation < db->generation || !f->parts || f->parts->own.seal == 0) return ST_OK;
    x->from = f->lsn > 0 ? generation_logged_table(c->a, db, f->generation, f->lsn, t->id)
                         : generation_table(c->a, db, f->generation, t->id);
    x->from_generation = f->generation;
    x->same = table_file_is(f, x->t);
    x->before = table_parts_share(f->parts);
    return x->from ? ST_OK : ST_ERROR;
}
static Status list_tables(Checkpoint *c, const Catalog *of) {
    const Catalog *k = &c->db->catalog;
    c->tables = arena_array(c->a, Saved, k->n_tables + 1);
    if (!c->tables) return ST_ERROR;
    for (int64_t i = 0; i < k->n_tables; i++) {
        if (key_is_temporary(k->tables[i]->name)) continue;
        Saved *x = &c->tables[c->n++];
        *x = (Saved){.t = of->tables[i], .files = table_files(k->tables[i]), .id = k->tables[i]->id};
        if (!(x->parts = table_parts_new(c->catalog.e))) return ST_ERROR;
        TRY(find_file(c, k->tables[i], x));
    }
    return ST_OK;
}
static Status pin(Checkpoint *c, bool alone, Err *e) {
    Database *db = c->db;
    const Catalog *of = &db->catalog;
    c->catalog.e = e;
    arena_set_err(c->a, e);
    if (db->bulk_hub) TRY(db->bulk_hub_ops->save(db->bulk_hub, e));
    TRY(redo_may_save(db, e));
    c->under_lock = redo_failed(db);
    c->alone = alone;
    c->beside = !alone && !c->under_lock;
    if (c->beside) TRY(pin_version(c, &of, e));
    TRY(list_tables(c, of));
    TRY(catalog_file_put(&db->catalog, &c->catalog));
    if (c->under_lock) return ST_OK;
    TRY(redo_switch(db, &c->catalog, !c->beside, &c->lsn, e));
    c->switched = db->redo != NULL;
    return ST_OK;
}
Status checkpoint_pin(Checkpoint *c, bool alone, bool *keep, Err *e) {
    Database *db = c->db;
    const int64_t reserve =
        atomic_exchange(&db->account.reserve,
                        INT64_MAX); /* losing what is in memory is worse than going beyond memory_limit for a while */
    const Status st = pin(c, alone, e);
    atomic_store(&db->account.reserve, reserve);
    *keep = c->under_lock;
    if (st != ST_OK) return st;
    db->dirty = false;
    db->checkpoints->last = c->generation;
    for (int64_t i = 0; i < c->n; i++) {
        const Saved *x = &c->tables[i];
        TableFile next = table_file_of(x->t, c->generation, 0);
        next.parts = table_parts_share(x->parts);
        table_file_set(&x->files->next, next);
    }
    return ST_OK;
}

/* ---- writing ---- */
/* *done false: files of this directory cannot have two names. */
static Status link_file(const Checkpoint *c, const char *from, const char *to, bool *done, Err *e) {
    Vfs *vfs = c->db->vfs;
    if (!from || !to) return ST_ERROR;
    Status st = vfs->link(vfs, from, to, e);
    *done = st == ST_OK;
    if (st == ST_OK || strcmp(e->sqlstate, ERR_FEATURE_NOT_SUPPORTED) != 0) return st;
    err_clear(e);
    return ST_OK;
}
/* Files that the table's new one goes on from. */
static Status link_bases(const Checkpoint *c, const Saved *x, const TableParts *of, bool *done, Err *e) {
    const Database *db = c->db;
    *done = true;
    for (int i = 0; i < of->n_bases && *done; i++) {
        const uint64_t seal = of->bases[i].seal;
        const char *from =
            seal == x->before->own.seal ? x->from : generation_part(c->a, db, x->from_generation, x->id, seal);
        TRY(link_file(c, from, generation_part(c->a, db, c->generation, x->id, seal), done, e));
    }
    return ST_OK;
}
/* *done false: the table has to be written. */
static Status take_over(const Checkpoint *c, const Saved *x, const char *path, bool *done, Err *e) {
    TRY(link_bases(c, x, x->before, done, e));
    if (*done) TRY(link_file(c, x->from, path, done, e));
    return *done ? table_parts_copy(x->parts, x->before, e) : ST_OK;
}
/* Those who commit meanwhile wait for the same disk and processors: they get as much time as the checkpoint takes. */
static Status give_way(void *ctx, Err *e) {
    enum { LONGEST_NS = 50000000 };
    Checkpoint *c = ctx;
    const uint64_t changes = txn_lock_changes(c->db->txn_lock);
    const int64_t now = clock_ns(), took = MIN_OF(now - c->piece_ns, (int64_t)LONGEST_NS);
    if (c->cancel && atomic_load(c->cancel))
        return err_set(e, ERR_QUERY_CANCELED, "canceling statement due to user request");
    if (changes != c->changes) (void)nanosleep(&(struct timespec){.tv_nsec = (long)took}, NULL);
    c->changes = changes;
    c->piece_ns = clock_ns();
    return ST_OK;
}
/* What has changed of it, and some of what has not. */
static Status write_table(Checkpoint *c, const Saved *x, const char *path, Err *e) {
    const Database *db = c->db;
    const TablePace pace = {give_way, c};
    const TableSave how = {.pace = c->beside ? &pace : NULL, .before = x->before, .parts = x->parts};
    const int64_t began = clock_ns();
    bool linked = true;
    c->piece_ns = began;
    if (x->before) table_parts_choose(x->t, x->before, x->parts);
    TRY(link_bases(c, x, x->parts, &linked, e));
    if (!linked) x->parts->n_bases = 0;
    TRY(table_file_write(x->t, db->vfs, path, &db->checkpoints->account, &how, e));
    c->written += x->parts->own.bytes;
    c->write_ns += clock_ns() - began;
    return ST_OK;
}
static Status save_table(Checkpoint *c, const Saved *x, Err *e) {
    const char *path = generation_table(c->a, c->db, c->generation, x->id);
    bool done = false;
    if (!path) return ST_ERROR;
    if (x->same) TRY(take_over(c, x, path, &done, e));
    return done ? ST_OK : write_table(c, x, path, e);
}
static Status write_files(Checkpoint *c, Err *e) {
    Database *db = c->db;
    for (int64_t i = 0; i < c->n; i++) TRY(save_table(c, &c->tables[i], e));
    const char *path = generation_path(c->a, db, c->generation, "catalog");
    if (!path) return ST_ERROR;
    TRY(vfs_write_file(db->vfs, path, c->catalog.p, c->catalog.len, e));
    if (c->under_lock) TRY(redo_remake(db, c->a, c->generation, &c->catalog, &c->lsn, e));
    else TRY(redo_begun(db, e));
    return c->switched ? db->vfs->sync_dir(db->vfs, c->dir, e) : sync_names(c, e);
}
/* Best effort, as generation_remove. */
static void remove_older(const Checkpoint *c) {
    Err ignored = {0};
    GenerationList all = {0};
    if (generations_list(c->db->vfs, c->db->path, c->a, &all, &ignored) != ST_OK) return;
    for (int64_t i = 0; i < all.len && all.items[i] < c->generation; i++) generation_remove(c->db, c->a, all.items[i]);
}
/* CURRENT names the generation. */
static void made(Checkpoint *c) {
    Checkpoints *s = c->db->checkpoints;
    int64_t bytes = 0;
    for (int64_t i = 0; i < c->n; i++) bytes += table_parts_bytes(c->tables[i].parts);
    atomic_store(&s->table_bytes, bytes);
    measure(&s->rates.save, c->written, c->write_ns);
    c->db->generation = c->generation;
    if (c->under_lock) redo_renew(c->db);
    redo_saved(c->db);
    remove_older(c);
    log_write(LOG_DEBUG, "\"%s\" was saved as generation %lld: %lld of %lld bytes were written in %.1f s", c->db->path,
              (long long)c->generation, (long long)c->written, (long long)bytes,
              (double)(clock_ns() - c->began_ns) / 1e9);
}
static Status finish(Checkpoint *c, Err *e) {
    Database *db = c->db;
    Current next = db->checkpoints->current;
    arena_set_err(c->a, e);
    Status st = write_files(c, e);
    if (st != ST_OK) {
        remove_files(c);
        return st;
    }
    next.generation = c->generation;
    next.lsn = c->lsn;
    next.has_log = db->redo != NULL;
    st = current_write(db, c->a, &next, e);
    if (st == ST_OK) {
        db->checkpoints->current = next;
        made(c);
    } else if (c->alone) {
        redo_not_saved(db, e);
    }
    return st;
}
Status checkpoint_finish(Checkpoint *c, Err *e) {
    const Status st = finish(c, e);
    if (st != ST_OK) {
        c->db->dirty = true;
        redo_unprepare(c->db);
    }
    end(c, st == ST_OK);
    return st;
}

Status database_save(Database *db, Err *e) {
    Checkpoint *c;
    bool keep;
    if (!db->path || !db->dirty || db->read_only) return ST_OK;
    TRY(start(db, true, NULL, &c, e));
    if (!c) return ST_OK;
    const Status st = checkpoint_pin(c, true, &keep, e);
    if (st == ST_OK) return checkpoint_finish(c, e);
    checkpoint_give_up(c);
    return st;
}
