/* database.c - a database's directory: opening, saving, closing.
 *
 * A save writes a complete new generation beside the old one; the rename of CURRENT is the moment it becomes the
 * database. Everything that is read is covered by a checksum and checked for shape before it is used, so that damaged
 * files end in XX001 with file and offset and never in a crash.
 */
#include "db/database.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/hash.h"
#include "base/machine.h"
#include "catalog/catalog_memory.h"
#include "db/catalog_file.h"
#include "db/published.h"
#include "db/redo.h"
#include "storage/table_file.h"

enum { CURRENT_FORMAT = 1, PATH_ROOM = 64 };

/* ---- paths ---- */
static char *path_of(Arena *a, const Database *db, int64_t generation, const char *name) {
    if (generation <= 0) return arena_printf(a, "%s/%s", db->path, name ? name : "");
    if (!name) return arena_printf(a, "%s/g%" PRId64, db->path, generation);
    return arena_printf(a, "%s/g%" PRId64 "/%s", db->path, generation, name);
}
static char *table_path(Arena *a, const Database *db, int64_t generation, int64_t id) {
    char name[PATH_ROOM];
    snprintf(name, sizeof name, "%" PRId64 ".tab", id);
    return path_of(a, db, generation, name);
}

/* ---- CURRENT and generations ---- */
enum { CURRENT_ROOM = 128 };
static int64_t current_text(int64_t generation, char *buf) {
    int n = snprintf(buf, CURRENT_ROOM, "stele %d\ngeneration %" PRId64 "\n", CURRENT_FORMAT, generation);
    return n + snprintf(buf + n, CURRENT_ROOM - (size_t)n, "checksum %016" PRIx64 "\n", checksum64(buf, n));
}
static Status write_current(Database *db, Arena *a, int64_t generation, Err *e) {
    char text[CURRENT_ROOM];
    int64_t n = current_text(generation, text);
    char *tmp = path_of(a, db, 0, "CURRENT.tmp"), *path = path_of(a, db, 0, "CURRENT");
    if (!tmp || !path) return ST_ERROR;
    TRY(vfs_write_file(db->vfs, tmp, text, n, e));
    TRY(db->vfs->rename(db->vfs, tmp, path, e));
    return db->vfs->sync_dir(db->vfs, db->path, e);
}
Status database_read_current(Vfs *vfs, const char *dir, Arena *a, int64_t *out, bool *there, Err *e) {
    char *path = arena_printf(a, "%s/CURRENT", dir), *p = NULL, want[CURRENT_ROOM];
    int64_t len;
    if (!path) return ST_ERROR;
    TRY(vfs_read_file(vfs, a, path, &p, &len, e));
    *there = len >= 0;
    if (!*there) return ST_OK;
    int64_t generation = -1;
    int64_t at = (int64_t)strlen("stele 1\ngeneration ");
    if (len > at) {
        generation = 0;
        for (int64_t i = at; i < len && p[i] >= '0' && p[i] <= '9' && generation < INT64_MAX / 20; i++)
            generation = generation * 10 + (p[i] - '0');
    }
    if (generation < 0 || current_text(generation, want) != len || memcmp(want, p, (size_t)len) != 0)
        return err_corrupted(e, path, 0, "not a valid generation");
    *out = generation;
    return ST_OK;
}

typedef struct Names {
    Arena *a;
    VEC(char *) v;
} Names;
static Status each_name(void *ctx, const char *name, Err *e) {
    Names *n = ctx;
    char *copy = arena_strdup(n->a, name);
    if (!copy || !vec_push(n->a, &n->v, copy)) return err_is_set(e) ? ST_ERROR : err_oom(e);
    return ST_OK;
}
/* Best effort: what stays is removed at the next opening. */
static void remove_generation(Database *db, Arena *a, int64_t generation) {
    Err ignored = {0};
    bool there = false;
    char *dir = path_of(a, db, generation, NULL);
    if (!dir || generation <= 0 || db->vfs->exists(db->vfs, dir, &there, &ignored) != ST_OK || !there) return;
    Names n = {.a = a};
    db->vfs->list(db->vfs, dir, each_name, &n, &ignored);
    for (int64_t i = 0; i < n.v.len; i++) {
        char *p = path_of(a, db, generation, n.v.items[i]);
        err_clear(&ignored);
        if (p) db->vfs->remove(db->vfs, p, &ignored);
    }
    err_clear(&ignored);
    db->vfs->remove(db->vfs, dir, &ignored);
}
bool database_generation_of(const char *name, int64_t *out) {
    if (name[0] != 'g' || !name[1] || strlen(name) > 18) return false;
    *out = 0;
    for (const char *p = name + 1; *p; p++) {
        if (*p < '0' || *p > '9') return false;
        *out = *out * 10 + (*p - '0');
    }
    return *out > 0;
}

static Status load_generation(Database *db, Arena *a, Err *e) {
    Catalog *c = &db->catalog;
    char *dir = path_of(a, db, db->generation, NULL), *path = path_of(a, db, db->generation, "catalog");
    if (!dir || !path) return ST_ERROR;
    TRY(redo_load_begin(db, dir, e));
    const char *logged = redo_load_catalog(db);
    TRY(catalog_file_load(c, db->vfs, logged ? logged : path, &db->parts[DB_TABLES], a, e));
    for (int64_t i = 0; i < c->n_tables; i++) {
        const char *own = table_path(a, db, db->generation, c->tables[i]->id);
        if (!own) return ST_ERROR;
        const char *file = redo_load_table(db, c->tables[i], own);
        if (file) TRY(table_file_load(c->tables[i], db->vfs, file, &db->account, e));
    }
    return ST_OK;
}

static Status load_all(Database *db, Arena *a, Err *e) {
    bool there;
    TRY(database_read_current(db->vfs, db->path, a, &db->generation, &there, e));
    Names n = {.a = a};
    TRY(db->vfs->list(db->vfs, db->path, each_name, &n, e));
    int64_t g;
    for (int64_t i = 0; i < n.v.len && !there; i++) {
        /* An empty or foreign directory may become a database, one that lost its CURRENT may not. */
        if (database_generation_of(n.v.items[i], &g))
            return err_corrupted(e, path_of(a, db, 0, "CURRENT"), 0, "file is missing");
    }
    if (!there && db->read_only) return err_set(e, ERR_UNDEFINED_FILE, "there is no database at \"%s\"", db->path);
    if (!there) return write_current(db, a, 0, e);
    if (db->generation > 0) TRY(load_generation(db, a, e));
    for (int64_t i = 0; i < n.v.len && !db->read_only; i++)
        if (database_generation_of(n.v.items[i], &g) && g != db->generation) remove_generation(db, a, g);
    return ST_OK;
}

static Status each_entry(void *ctx, const char *name, Err *e) {
    int64_t g;
    (void)e;
    if (database_generation_of(name, &g) || strcmp(name, "CURRENT") == 0) *(bool *)ctx = true;
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
        char *lock = db->path ? path_of(a, db, 0, "LOCK") : NULL;
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

static Status save_generation(Database *db, Arena *a, int64_t generation, Err *e) {
    char *dir = path_of(a, db, generation, NULL), *catalog = path_of(a, db, generation, "catalog");
    if (!dir || !catalog) return ST_ERROR;
    TRY(db->vfs->make_dir(db->vfs, dir, e));
    for (int64_t i = 0; i < db->catalog.n_tables; i++) {
        if (key_is_temporary(db->catalog.tables[i]->name)) continue;
        char *path = table_path(a, db, generation, db->catalog.tables[i]->id);
        if (!path) return ST_ERROR;
        TRY(table_file_save(db->catalog.tables[i], db->vfs, path, &db->account, e));
    }
    TRY(catalog_file_save(&db->catalog, db->vfs, catalog, &db->account, e));
    TRY(redo_saving(db, dir, generation, e));
    TRY(db->vfs->sync_dir(db->vfs, dir, e));
    return db->vfs->sync_dir(db->vfs, db->path, e);
}

static Status save(Database *db, Err *e) {
    if (db->bulk_hub) TRY(db->bulk_hub_ops->save(db->bulk_hub, e));
    Arena *a = arena_new(&db->account, e);
    if (!a) return ST_ERROR;
    int64_t old = db->generation, next = old + 1;
    remove_generation(db, a, next);
    Status st = save_generation(db, a, next, e);
    if (st != ST_OK) {
        redo_not_saved(db, NULL);
        remove_generation(db, a, next);
    } else {
        /* When this fails it is unknown which generation CURRENT names: both stay, and the next
         * attempt uses a third. */
        st = write_current(db, a, next, e);
        db->generation = next;
        if (st != ST_OK) {
            redo_not_saved(db, e);
        } else {
            redo_saved(db);
            db->dirty = false;
            remove_generation(db, a, old);
        }
    }
    arena_free(a);
    return st;
}

Status database_save(Database *db, Err *e) {
    if (!db->path || !db->dirty || db->read_only) return ST_OK;
    int64_t reserve =
        atomic_exchange(&db->account.reserve,
                        INT64_MAX); /* losing what is in memory is worse than going beyond memory_limit for a while */
    Status st = save(db, e);
    atomic_store(&db->account.reserve, reserve);
    return st;
}

void database_stop_upkeep(Database *db) {
    if (db->upkeep) db->upkeep_ops->free(db->upkeep);
    db->upkeep = NULL;
}

void database_close(Database *db) {
    if (!db) return;
    database_stop_upkeep(db);
    redo_end(db);
    if (db->bulk_hub) db->bulk_hub_ops->free(db->bulk_hub);
    if (db->device_hub) db->device_hub_ops->free(db->device_hub);
    if (db->epochs) database_unpublish(db);
    catalog_free_objects(&db->catalog);
    for (TempSchema *t = atomic_load(&db->temps), *next; t; t = next) {
        next = t->next;
        mem_free(&db->account, t, (int64_t)sizeof *t);
    }
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
