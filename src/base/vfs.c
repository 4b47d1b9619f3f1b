/* vfs.c - what is made of the functions of any Vfs. */
#include "base/vfs.h"

Status vfs_write_file(Vfs *v, const char *path, const void *p, int64_t n, Err *e) {
    VfsFile *f;
    TRY(v->open(v, path, VFS_READ | VFS_WRITE | VFS_CREATE | VFS_TRUNCATE, &f, e));
    Status st = v->write_at(f, p, n, 0, e);
    if (st == ST_OK) st = v->sync(f, e);
    Err late = {0};
    if (v->close(f, st == ST_OK ? e : &late) != ST_OK) st = ST_ERROR;
    return st;
}

Status vfs_read_file(Vfs *v, Arena *a, const char *path, char **out, int64_t *len, Err *e) {
    bool there;
    *len = -1;
    TRY(v->exists(v, path, &there, e));
    if (!there) return ST_OK;
    VfsFile *f;
    TRY(v->open(v, path, VFS_READ, &f, e));
    int64_t size = 0, got = 0;
    Status st = v->size(f, &size, e);
    if (st == ST_OK && !(*out = arena_alloc(a, size + 1))) st = ST_ERROR;
    if (st == ST_OK) st = v->read_at(f, *out, size, 0, &got, e);
    if (st == ST_OK) {
        (*out)[got] = 0;
        *len = got;
    }
    Err late = {0};
    v->close(f, &late);
    return st;
}
