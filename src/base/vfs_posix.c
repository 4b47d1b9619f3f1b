/* vfs_posix.c - the Vfs of the operating system: see vfs.h for the contract.
 *
 * Reads and writes are positioned, so that one open file serves many threads; they are
 * repeated after interruptions and short transfers. Files close on exec. A failed sync is
 * final: the kernel may have dropped the dirty pages, so callers must not repeat it.
 */
#include "base/vfs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"

/* Linux transfers at most 2 GiB - 4 KiB at once. */
static const int64_t max_transfer = INT64_C(1) << 30;

static int64_t file_bytes(const char *path) { return (int64_t)sizeof(VfsFile) + (int64_t)strlen(path) + 1; }

static Status posix_open(Vfs *v, const char *path, int mode, VfsFile **out, Err *e) {
    *out = NULL;
    int flags = O_CLOEXEC;
    if (mode & VFS_WRITE) {
        flags |= mode & VFS_READ ? O_RDWR : O_WRONLY;
    } else {
        flags |= O_RDONLY;
    }
    if (mode & VFS_CREATE) flags |= O_CREAT;
    if (mode & VFS_EXCLUSIVE) flags |= O_EXCL;
    if (mode & VFS_TRUNCATE) flags |= O_TRUNC;
    int64_t bytes = file_bytes(path);
    VfsFile *f = mem_alloc(NULL, bytes, e);
    if (!f) return ST_ERROR;
    int fd;
    do {
        fd = open(path, flags, 0600);
    } while (fd < 0 && errno == EINTR);
    if (fd < 0) {
        int err = errno;
        mem_free(NULL, f, bytes);
        return err_errno(e, err, mode & VFS_CREATE ? "create" : "open", path);
    }
    *f = (VfsFile){.vfs = v, .path = (char *)(f + 1), .fd = fd};
    memcpy(f->path, path, strlen(path) + 1);
    *out = f;
    return ST_OK;
}

static Status posix_close(VfsFile *f, Err *e) {
    if (!f) return ST_OK;
    Status st = ST_OK;
    /* After EINTR Linux has closed the descriptor: never repeat. */
    if (close(f->fd) != 0 && errno != EINTR) st = err_errno(e, errno, "close", f->path);
    mem_free(NULL, f, file_bytes(f->path));
    return st;
}

static Status posix_read_at(VfsFile *f, void *buf, int64_t len, int64_t offset, int64_t *got, Err *e) {
    int64_t done = 0;
    *got = 0;
    while (done < len) {
        ssize_t n = pread(f->fd, (char *)buf + done, (size_t)MIN_OF(len - done, max_transfer), (off_t)(offset + done));
        if (n < 0) {
            if (errno == EINTR) continue;
            return err_errno(e, errno, "read", f->path);
        }
        if (n == 0) break;
        done += n;
    }
    *got = done;
    return ST_OK;
}

static Status posix_write_at(VfsFile *f, const void *buf, int64_t len, int64_t offset, Err *e) {
    int64_t done = 0;
    while (done < len) {
        ssize_t n =
            pwrite(f->fd, (const char *)buf + done, (size_t)MIN_OF(len - done, max_transfer), (off_t)(offset + done));
        if (n < 0) {
            if (errno == EINTR) continue;
            return err_errno(e, errno, "write to", f->path);
        }
        if (n == 0) return err_errno(e, ENOSPC, "write to", f->path);
        done += n;
    }
    return ST_OK;
}

static Status posix_sync(VfsFile *f, Err *e) {
    return fdatasync(f->fd) == 0 ? ST_OK : err_errno(e, errno, "synchronize", f->path);
}

static Status posix_size(VfsFile *f, int64_t *out, Err *e) {
    struct stat s;
    if (fstat(f->fd, &s) != 0) return err_errno(e, errno, "stat", f->path);
    *out = (int64_t)s.st_size;
    return ST_OK;
}

static Status posix_truncate(VfsFile *f, int64_t size, Err *e) {
    int rc;
    do {
        rc = ftruncate(f->fd, (off_t)size);
    } while (rc != 0 && errno == EINTR);
    return rc == 0 ? ST_OK : err_errno(e, errno, "truncate", f->path);
}

static Status posix_rename(Vfs *v, const char *from, const char *to, Err *e) {
    (void)v;
    return rename(from, to) == 0 ? ST_OK : err_errno(e, errno, "rename", from);
}

static Status posix_link(Vfs *v, const char *from, const char *to, Err *e) {
    (void)v;
    if (link(from, to) == 0) return ST_OK;
    const int err = errno;
    if (err == EPERM || err == ENOTSUP || err == EOPNOTSUPP || err == ENOSYS || err == EMLINK || err == EXDEV)
        return err_set(e, ERR_FEATURE_NOT_SUPPORTED, "file \"%s\" cannot have another name", from);
    return err_errno(e, err, "link", from);
}

static Status posix_remove(Vfs *v, const char *path, Err *e) {
    (void)v;
    if (unlink(path) == 0 || errno == ENOENT) return ST_OK;
    if ((errno == EISDIR || errno == EPERM) && rmdir(path) == 0) return ST_OK;
    return err_errno(e, errno, "remove", path);
}

static Status posix_sync_dir(Vfs *v, const char *path, Err *e) {
    (void)v;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return err_errno(e, errno, "open", path);
    Status st = ST_OK;
    /* Some file systems cannot sync a directory and say so. */
    if (fsync(fd) != 0 && errno != EINVAL && errno != ENOTSUP) st = err_errno(e, errno, "synchronize", path);
    close(fd);
    return st;
}

static Status posix_make_dir(Vfs *v, const char *path, Err *e) {
    (void)v;
    if (mkdir(path, 0700) == 0) return ST_OK;
    int err = errno;
    struct stat s;
    if (err == EEXIST && stat(path, &s) == 0 && S_ISDIR(s.st_mode)) return ST_OK;
    return err_errno(e, err, "create", path);
}

static Status posix_exists(Vfs *v, const char *path, bool *out, Err *e) {
    (void)v;
    struct stat s;
    *out = stat(path, &s) == 0;
    if (*out || errno == ENOENT || errno == ENOTDIR) return ST_OK;
    return err_errno(e, errno, "stat", path);
}

static Status posix_list(Vfs *v, const char *path, Status (*each)(void *, const char *, Err *), void *ctx, Err *e) {
    (void)v;
    DIR *d = opendir(path);
    if (!d) return err_errno(e, errno, "open", path);
    Status st = ST_OK;
    while (st == ST_OK) {
        errno = 0;
        struct dirent *entry = readdir(d);
        if (!entry) {
            if (errno) st = err_errno(e, errno, "read", path);
            break;
        }
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        st = each(ctx, entry->d_name, e);
    }
    closedir(d);
    return st;
}

/* flock() belongs to the open file, so it also keeps out a second open in this process, and
 * the kernel drops it when the process dies. */
static Status take_lock(VfsFile *f, int how, Err *e) {
    int rc;
    do {
        rc = flock(f->fd, how | LOCK_NB);
    } while (rc != 0 && errno == EINTR);
    if (rc == 0) return ST_OK;
    if (errno == EWOULDBLOCK) return err_set(e, ERR_OBJECT_IN_USE, "file \"%s\" is in use by another process", f->path);
    return err_errno(e, errno, "lock", f->path);
}
static Status posix_lock(VfsFile *f, Err *e) { return take_lock(f, LOCK_EX, e); }
static Status posix_lock_shared(VfsFile *f, Err *e) { return take_lock(f, LOCK_SH, e); }

static Status posix_map(VfsFile *f, int64_t size, const void **out, Err *e) {
    *out = NULL;
    if (size <= 0) return ST_OK;
    void *p = mmap(NULL, (size_t)size, PROT_READ, MAP_SHARED, f->fd, 0);
    if (p == MAP_FAILED) return err_errno(e, errno, "map", f->path);
    *out = p;
    return ST_OK;
}

static Status posix_map_shared(VfsFile *f, int64_t offset, int64_t size, void **out, Err *e) {
    *out = NULL;
    int rc;
    do {
        rc = posix_fallocate(f->fd, offset, size);
    } while (rc == EINTR);
    if (rc) return err_errno(e, rc, "write", f->path);
    void *p = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED, f->fd, offset);
    if (p == MAP_FAILED) return err_errno(e, errno, "map", f->path);
    *out = p;
    return ST_OK;
}

static void posix_unmap(const void *p, int64_t size) {
    if (p && size > 0) munmap((void *)(uintptr_t)p, (size_t)size);
}

Vfs *vfs_posix(void) {
    static Vfs posix = {
        .version = 1,
        .open = posix_open,
        .close = posix_close,
        .read_at = posix_read_at,
        .write_at = posix_write_at,
        .sync = posix_sync,
        .size = posix_size,
        .truncate = posix_truncate,
        .rename = posix_rename,
        .link = posix_link,
        .remove = posix_remove,
        .sync_dir = posix_sync_dir,
        .make_dir = posix_make_dir,
        .exists = posix_exists,
        .list = posix_list,
        .lock = posix_lock,
        .lock_shared = posix_lock_shared,
        .map = posix_map,
        .unmap = posix_unmap,
        .map_shared = posix_map_shared,
    };
    return &posix;
}

const char *vfs_temp_directory(void) {
    const char *dir = secure_getenv("TMPDIR");
    return dir && *dir ? dir : "/tmp";
}

Status vfs_open_temp(Vfs *v, const char *dir, VfsFile **out, Err *e) {
    static _Atomic uint64_t serial;
    char path[4096];
    *out = NULL;
    if (!dir || !*dir) dir = vfs_temp_directory();
    for (int attempt = 0;; attempt++) {
        struct timespec t;
        clock_gettime(CLOCK_REALTIME, &t);
        int n = snprintf(path, sizeof path, "%s/stele-%ld-%llu-%09ld.tmp", dir, (long)getpid(),
                         (unsigned long long)atomic_fetch_add(&serial, 1), (long)t.tv_nsec);
        if (n < 0 || n >= (int)sizeof path)
            return err_set(e, ERR_INVALID_PARAMETER, "path of temporary directory is too long");
        Err open_err;
        open_err.sqlstate[0] = 0;
        if (v->open(v, path, VFS_READ | VFS_WRITE | VFS_CREATE | VFS_EXCLUSIVE, out, &open_err) == ST_OK) break;
        if (strcmp(open_err.sqlstate, ERR_DUPLICATE_FILE) != 0 || attempt == 100) {
            if (e && !err_is_set(e)) err_copy(e, &open_err);
            return ST_ERROR;
        }
    }
    if (v->remove(v, path, e) != ST_OK) {
        v->close(*out, NULL);
        *out = NULL;
        return ST_ERROR;
    }
    return ST_OK;
}
