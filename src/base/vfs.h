/* vfs.h - files behind a table of functions.
 *
 * All file access of the library goes through a Vfs, so that tests can fail,
 * tear, reorder and drop writes. vfs_posix is the real one. Paths are NUL-terminated.
 * Every function returns ST_ERROR with the cause (58030, 53100, 58P01 ...) in Err.
 */
#ifndef STELE_BASE_VFS_H
#define STELE_BASE_VFS_H

#include "base/base.h"
#include "base/err.h"
#include "base/mem.h"

typedef struct Vfs Vfs;
typedef struct VfsFile VfsFile;

typedef enum VfsMode { VFS_READ = 1, VFS_WRITE = 2, VFS_CREATE = 4, VFS_EXCLUSIVE = 8, VFS_TRUNCATE = 16 } VfsMode;

struct Vfs {
    int version;
    Status (*open)(Vfs *, const char *path, int mode, VfsFile **out, Err *);
    Status (*close)(VfsFile *, Err *);
    /* Read exactly `len` bytes unless the file ends; *got tells. */
    Status (*read_at)(VfsFile *, void *buf, int64_t len, int64_t offset, int64_t *got, Err *);
    Status (*write_at)(VfsFile *, const void *buf, int64_t len, int64_t offset, Err *);
    Status (*sync)(VfsFile *, Err *);
    Status (*size)(VfsFile *, int64_t *out, Err *);
    Status (*truncate)(VfsFile *, int64_t size, Err *);
    Status (*rename)(Vfs *, const char *from, const char *to, Err *);
    /* `to`, which is not there, becomes another name of the file; 0A000: it cannot have one. */
    Status (*link)(Vfs *, const char *from, const char *to, Err *);
    Status (*remove)(Vfs *, const char *path, Err *); /* missing file is fine */
    Status (*sync_dir)(Vfs *, const char *path, Err *);
    Status (*make_dir)(Vfs *, const char *path, Err *); /* existing directory is fine */
    Status (*exists)(Vfs *, const char *path, bool *out, Err *);
    /* Names in a directory, without "." and "..": calls `each` for every one. */
    Status (*list)(Vfs *, const char *path, Status (*each)(void *ctx, const char *name, Err *), void *ctx, Err *);
    /* Advisory whole-file lock; ST_ERROR 55006 when another process holds it. */
    Status (*lock)(VfsFile *, Err *);
    /* As lock, beside others that hold it shared. */
    Status (*lock_shared)(VfsFile *, Err *);
    /* Map a file read-only; NULL pointer allowed for empty files. */
    Status (*map)(VfsFile *, int64_t size, const void **out, Err *);
    void (*unmap)(const void *p, int64_t size);
    /* Map a part of a file, to read and write; its room on disk is taken first (53100). The offset is a multiple of
     * the system's page. */
    Status (*map_shared)(VfsFile *, int64_t offset, int64_t size, void **out, Err *);
};
struct VfsFile {
    Vfs *vfs;
    char *path;
    int fd;
};

Vfs *vfs_posix(void);
/* Where temporary files go when no setting says it: $TMPDIR or /tmp. */
const char *vfs_temp_directory(void);
/* A file in the temporary directory that is unlinked at once (spilling). dir may be NULL: vfs_temp_directory. */
Status vfs_open_temp(Vfs *v, const char *dir, VfsFile **out, Err *e);
/* Writes and syncs a whole file, in place of one that is there. */
Status vfs_write_file(Vfs *v, const char *path, const void *p, int64_t n, Err *e);
/* A whole small file in an arena, with a NUL behind it; *len = -1 when it does not exist. */
Status vfs_read_file(Vfs *v, Arena *a, const char *path, char **out, int64_t *len, Err *e);

#endif
