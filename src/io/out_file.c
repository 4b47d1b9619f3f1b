/* out_file.c - see out_file.h. */
#include "io/out_file.h"

static const char suffix[] = ".stele-tmp";

static int64_t temp_bytes(const OutFile *f) { return (int64_t)(strlen(f->path) + sizeof suffix); }

Status out_file_open(OutFile *f, Vfs *vfs, MemAccount *account, const char *path, Err *e) {
    Err why;
    err_clear(&why);
    *f = (OutFile){.vfs = vfs, .account = account, .path = path, .beside = strncmp(path, "/dev/", 5) != 0};
    const size_t n = strlen(path);
    if (!(f->temp = mem_alloc(account, temp_bytes(f), e))) return ST_ERROR;
    memcpy(f->temp, path, n);
    memcpy(f->temp + n, suffix, sizeof suffix);
    if (!f->beside) f->temp[n] = 0;
    if (vfs->open(vfs, f->temp, VFS_WRITE | VFS_CREATE | VFS_TRUNCATE, &f->file, &why) == ST_OK) return ST_OK;
    mem_free(account, f->temp, temp_bytes(f));
    f->file = NULL;
    const char *reason = strstr(why.message, "\": ");
    return err_set(e, why.sqlstate, "could not open file \"%s\" for writing: %s", path,
                   reason ? reason + 3 : why.message);
}

Status out_file_write(OutFile *f, const void *p, int64_t n, Err *e) {
    TRY(f->vfs->write_at(f->file, p, n, f->offset, e));
    f->offset += n;
    return ST_OK;
}

Status out_file_end(OutFile *f, bool good, Err *e) {
    Status st = good ? ST_OK : ST_ERROR;
    if (good && f->beside) st = f->vfs->sync(f->file, e);
    if (f->vfs->close(f->file, st == ST_OK ? e : NULL) != ST_OK) st = ST_ERROR;
    if (st == ST_OK && f->beside) st = f->vfs->rename(f->vfs, f->temp, f->path, e);
    if (st != ST_OK && f->beside) (void)f->vfs->remove(f->vfs, f->temp, NULL);
    mem_free(f->account, f->temp, temp_bytes(f));
    f->file = NULL;
    return st;
}
