/* database.c - a database's directory: opening and closing.
 *
 * Everything that is read is covered by a checksum and checked for shape before it is used, so that damaged files end
 * in XX001 with file and offset and never in a crash.
 */
#include "db/database.h"

#include "base/log.h"
#include "base/machine.h"
#include "catalog/catalog_memory.h"
#include "db/catalog_file.h"
#include "db/checkpoint.h"
#include "db/published.h"
#include "db/redo.h"
#include "storage/table_file.h"

/* Tables of the generation, each loaded by one of the threads. */
typedef struct Loading {
    Database *db;
    const char **files; /* of each table of the catalog; NULL: it is empty */
    Err *errors;        /* likewise */
    _Atomic int64_t next, bytes;
    _Atomic bool stop;
} Loading;
static Status load_table(Loading *l, int64_t i, Err *e) {
    Database *db = l->db;
    Table *t = db->catalog.tables[i];
    TableParts *parts = table_files(t)->last.parts = table_parts_new(e);
    if (!parts) return ST_ERROR;
    TRY(table_file_read(t, db->vfs, l->files[i], &db->account, parts, e));
    atomic_fetch_add(&l->bytes, table_parts_bytes(parts));
    return ST_OK;
}
static void load_tables(void *ctx, int worker) {
    Loading *l = ctx;
    (void)worker;
    for (int64_t i; !atomic_load(&l->stop) && (i = atomic_fetch_add(&l->next, 1)) < l->db->catalog.n_tables;)
        if (l->files[i] && load_table(l, i, &l->errors[i]) != ST_OK) atomic_store(&l->stop, true);
}
/* Which file has each table: the log's, or the generation's. */
static Status find_tables(Loading *l, Arena *a) {
    Database *db = l->db;
    const int64_t n = db->catalog.n_tables;
    l->files = arena_array(a, const char *, n + 1);
    l->errors = arena_array(a, Err, n + 1);
    if (!l->files || !l->errors) return ST_ERROR;
    for (int64_t i = 0; i < n; i++) {
        Table *t = db->catalog.tables[i];
        TableFile where = {.generation = db->generation};
        const char *own = generation_table(a, db, db->generation, t->id);
        if (!own) return ST_ERROR;
        l->files[i] = redo_load_table(db, t, own, &where);
        table_files(t)->last = where;
    }
    return ST_OK;
}
static Status load_generation(Database *db, Arena *a, const GenerationList *all, Err *e) {
    Catalog *c = &db->catalog;
    Loading l = {.db = db};
    char *path = generation_path(a, db, db->generation, "catalog");
    if (!path) return ST_ERROR;
    TRY(redo_load_begin(db, checkpoint_current(db), all, e));
    TRY(redo_load_catalog(db, path, a, e));
    TRY(find_tables(&l, a));
    const int64_t began = clock_ns();
    pool_run(db->pool, pool_threads(db->pool), load_tables, &l);
    for (int64_t i = 0; i < c->n_tables; i++) {
        TableFile *f = &table_files(c->tables[i])->last;
        if (err_is_set(&l.errors[i])) return err_copy(e, &l.errors[i]), ST_ERROR;
        TableFile now = table_file_of(c->tables[i], f->generation, f->lsn);
        now.parts = table_parts_share(f->parts);
        table_file_set(f, l.files[i] ? now : (TableFile){0});
    }
    checkpoint_loaded(db, atomic_load(&l.bytes), clock_ns() - began);
    return ST_OK;
}

static Status load_all(Database *db, Arena *a, Err *e) {
    bool there;
    GenerationList all = {0};
    TRY(checkpoints_new(db, &there, e));
    TRY(generations_list(db->vfs, db->path, a, &all, e));
    /* An empty or foreign directory may become a database, one that lost its CURRENT may not. */
    if (!there && all.len > 0) return err_corrupted(e, generation_path(a, db, 0, "CURRENT"), 0, "file is missing");
    if (!there && db->read_only) return err_set(e, ERR_UNDEFINED_FILE, "there is no database at \"%s\"", db->path);
    if (!there) return current_write(db, a, checkpoint_current(db), e);
    if (db->generation > 0) TRY(load_generation(db, a, &all, e));
    checkpoint_note_generations(db, &all);
    if (db->read_only || redo_load_logs(db) > 1) return ST_OK; /* they are removed when it is saved */
    for (int64_t i = 0; i < all.len; i++)
        if (all.items[i] != db->generation) generation_remove(db, a, all.items[i]);
    return ST_OK;
}

static Status each_entry(void *ctx, const char *name, Err *e) {
    int64_t g;
    (void)e;
    if (generation_of_name(name, &g) || strcmp(name, "CURRENT") == 0) *(bool *)ctx = true;
    return ST_OK;
}
Status database_exists(const char *path, Vfs *vfs, bool *there, Err *e) {
    bool found = false;
    if (!vfs) vfs = vfs_posix();
    TRY(vfs->exists(vfs, path, there, e));
    if (*there) TRY(vfs->list(vfs, path, each_entry, &found, e));
    *there = found;
    return ST_OK;
}

const char *const database_part_names[N_DATABASE_PARTS] = {
    [DB_TABLES] = "tables",     [DB_HOMES] = "rows of bulks",    [DB_IMAGES] = "images of bulks",
    [DB_CALLS] = "calls",       [DB_INPUTS] = "inputs of bulks", [DB_UNDO] = "undo logs",
    [DB_VERSIONS] = "versions", [DB_LOG] = "redo log",           [DB_CONNECTIONS] = "connections",
    [DB_DEVICES] = "devices"};

/* Its name is durable: a directory that a power cut takes away loses what is in it. */
static Status make_directory(Database *db, Arena *a, Err *e) {
    bool there;
    char *dir = arena_strdup(a, db->path);
    if (!dir) return ST_ERROR;
    TRY(db->vfs->exists(db->vfs, db->path, &there, e));
    if (there) return ST_OK;
    TRY(db->vfs->make_dir(db->vfs, db->path, e));
    int64_t n = (int64_t)strlen(dir);
    while (n > 1 && dir[n - 1] == '/') n--;
    while (n > 0 && dir[n - 1] != '/') n--;
    while (n > 1 && dir[n - 1] == '/') n--;
    dir[n] = 0;
    return db->vfs->sync_dir(db->vfs, n > 0 ? dir : ".", e);
}

/* The directory's lock, for as long as the database is open. */
static Status lock_directory(Database *db, Arena *a, const char *path, const char *lock, Err *e) {
    Err lock_err = {0};
    int how = db->read_only ? VFS_READ : VFS_READ | VFS_WRITE | VFS_CREATE;
    if (!db->read_only) TRY(make_directory(db, a, e));
    TRY(db->vfs->open(db->vfs, lock, how, &db->lock_file, e));
    if ((db->read_only ? db->vfs->lock_shared : db->vfs->lock)(db->lock_file, &lock_err) == ST_OK) return ST_OK;
    if (strcmp(lock_err.sqlstate, ERR_OBJECT_IN_USE) == 0)
        return err_set(e, ERR_OBJECT_IN_USE, "database \"%s\" is in use by another process", path);
    err_copy(e, &lock_err);
    return ST_ERROR;
}

static Status open_database(const char *path, Vfs *vfs, int threads, int64_t memory_limit, bool read_only,
                            Database **out, Err *e) {
    *out = NULL;
    Database *db = mem_calloc(NULL, (int64_t)sizeof *db, e);
    if (!db) return ST_ERROR;
    mem_account_init(&db->account, NULL, "database", memory_limit, memory_limit > 0 ? "memory_limit" : NULL);
    for (int i = 0; i < N_DATABASE_PARTS; i++)
        mem_account_init(&db->parts[i], &db->account, database_part_names[i], 0, NULL);
    db->account.n_parts = N_DATABASE_PARTS;
    db->account.parts = db->parts;
    db->memory_limit = memory_limit;
    db->vfs = vfs ? vfs : vfs_posix();
    db->refs = 1;
    db->read_only = read_only;
    mutex_init(&db->publishing, RANK_PUBLISHING);
    atomic_init(&db->published_changes, UINT64_MAX);
    atomic_init(&db->published_fresh_ns, 0);
    bool failed = epoch_domain_new(&db->account, &db->epochs, e) != ST_OK;
    Arena *a = arena_new(&db->account, e);
    db->pool = pool_new(threads > 0 ? threads : cpu_count(), e);
    db->txn_lock = txn_lock_new(e);
    failed = catalog_init(&db->catalog, &db->account, e) != ST_OK || failed;
    if (failed || !a || !db->pool || !db->txn_lock) goto fail;
    if (path && *path && strcmp(path, ":memory:") != 0) {
        arena_set_err(db->catalog.arena, e);
        db->path = arena_strdup(db->catalog.arena, path);
        arena_set_err(db->catalog.arena, NULL);
        char *lock = db->path ? generation_path(a, db, 0, "LOCK") : NULL;
        if (!lock) goto fail;
        if (lock_directory(db, a, path, lock, e) != ST_OK) goto fail;
        if (load_all(db, a, e) != ST_OK) goto fail;
    }
    arena_free(a);
    database_definitions_committed(db);
    *out = db;
    return ST_OK;
fail:
    arena_free(a);
    database_close(db);
    return ST_ERROR;
}
Status database_open(const char *path, Vfs *vfs, int threads, int64_t memory_limit, Database **out, Err *e) {
    return open_database(path, vfs, threads, memory_limit, false, out, e);
}
Status database_open_read_only(const char *path, Vfs *vfs, int threads, int64_t memory_limit, Database **out, Err *e) {
    return open_database(path, vfs, threads, memory_limit, true, out, e);
}

void database_stop_threads(Database *db) {
    if (db->upkeep) db->upkeep_ops->free(db->upkeep);
    db->upkeep = NULL;
    if (db->checkpointer) db->checkpointer_ops->free(db->checkpointer);
    db->checkpointer = NULL;
}

void database_close(Database *db) {
    if (!db) return;
    database_stop_threads(db);
    redo_end(db);
    if (db->bulk_hub) db->bulk_hub_ops->free(db->bulk_hub);
    if (db->device_hub) db->device_hub_ops->free(db->device_hub);
    if (db->epochs) database_unpublish(db);
    catalog_free_objects(&db->catalog);
    for (TempSchema *t = atomic_load(&db->temps), *next; t; t = next) {
        next = t->next;
        mem_free(&db->account, t, (int64_t)sizeof *t);
    }
    checkpoints_free(db);
    epoch_domain_free(db->epochs);
    mutex_destroy(&db->publishing);
    pool_free(db->pool);
    if (db->lock_file) {
        Err ignored = {0};
        db->vfs->close(db->lock_file, &ignored);
    }
    catalog_release(&db->catalog);
    txn_lock_free(db->txn_lock);
    mem_free(NULL, db, (int64_t)sizeof *db);
}
