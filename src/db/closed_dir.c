/* closed_dir.c - see closed_dir.h. */
#include "db/closed_dir.h"

#include "catalog/catalog_memory.h"
#include "db/catalog_file.h"

static Status lock_shared(ClosedDir *d, Err *e) {
    bool there;
    Err why = {0};
    const char *path = arena_printf(d->a, "%s/LOCK", d->path);
    if (!path) return ST_ERROR;
    TRY(d->vfs->exists(d->vfs, path, &there, e));
    if (!there) return ST_OK;
    TRY(d->vfs->open(d->vfs, path, VFS_READ, &d->lock, e));
    if (d->vfs->lock_shared(d->lock, &why) == ST_OK) return ST_OK;
    if (strcmp(why.sqlstate, ERR_OBJECT_IN_USE) != 0) return err_copy(e, &why), ST_ERROR;
    (void)err_set(e, ERR_OBJECT_IN_USE, "database \"%s\" is open, by another process or this one", d->path);
    err_hint(e, "Its files change while it is open. Close it first, or look at a copy of the directory.");
    return ST_ERROR;
}
static Status open_dir(ClosedDir *d, Err *e) {
    bool there;
    if (!(d->a = arena_new(&d->account, e))) return ST_ERROR;
    arena_set_err(d->a, e);
    TRY(database_exists(d->path, d->vfs, &there, e));
    if (!there) return err_set(e, ERR_UNDEFINED_FILE, "there is no database at \"%s\"", d->path);
    return lock_shared(d, e);
}
Status closed_dir_open(ClosedDir *d, Vfs *vfs, const char *path, Err *e) {
    *d = (ClosedDir){.vfs = vfs, .path = path};
    mem_account_init(&d->account, NULL, "directory", 0, NULL);
    const Status st = open_dir(d, e);
    if (st != ST_OK) closed_dir_close(d);
    return st;
}
void closed_dir_close(ClosedDir *d) {
    Err ignored = {0};
    if (d->lock) (void)d->vfs->close(d->lock, &ignored);
    arena_free(d->a);
    *d = (ClosedDir){0};
}
char *closed_dir_file(const ClosedDir *d, int64_t generation, const char *name) {
    return generation_file(d->a, d->path, generation, name);
}
Status closed_dir_current(const ClosedDir *d, Current *out, Err *e) {
    bool there;
    TRY(current_read(d->vfs, d->path, d->a, out, &there, e));
    const char *path = there ? "" : closed_dir_file(d, 0, "CURRENT");
    if (!path) return ST_ERROR;
    return there ? ST_OK : err_corrupted(e, path, 0, "file is missing");
}

Status closed_catalog_read(ClosedDir *d, const char *what, const char *p, int64_t bytes, Catalog *c, Err *e) {
    *c = (Catalog){0};
    Arena *a = arena_new(&d->account, e);
    if (!a) return ST_ERROR;
    arena_set_err(a, e);
    Status st = catalog_init(c, &d->account, e);
    if (st == ST_OK) st = catalog_bytes_load(c, p, bytes, what, &d->account, a, e);
    arena_free(a);
    return st;
}
Status closed_catalog_load(ClosedDir *d, const char *path, Catalog *c, Err *e) {
    *c = (Catalog){0};
    Arena *a = arena_new(&d->account, e);
    if (!a) return ST_ERROR;
    arena_set_err(a, e);
    Status st = catalog_init(c, &d->account, e);
    if (st == ST_OK) st = catalog_file_load(c, d->vfs, path, &d->account, a, e);
    arena_free(a);
    return st;
}
void closed_catalog_free(Catalog *c) {
    catalog_free_objects(c);
    catalog_release(c);
    *c = (Catalog){0};
}
