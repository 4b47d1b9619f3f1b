/* unit_disk.h - a Vfs in memory that knows what a power cut would leave, for tests of what is on the disk when.
 *
 * Of each file it keeps the bytes that are synced, and the writes since; of names (creating, renaming, removing) those
 * that a sync of their directory has made durable, and the changes since. disk_after_cut makes the disk that is found
 * after a power cut: what is durable, with some of the rest, chosen at random: sectors of writes, in any order, and
 * changes of names, in any order too.
 *
 * Operations that change something are counted (disk_ops), and a hook sees each: before a sync has done anything, and
 * behind all others, which last nothing yet. At the operation `cut_at` the power goes: this one and all later ones
 * fail. `fail_at`: that one fails (58030); a sync that fails has lost what it could not write, as in Linux. `full`:
 * writes that make a file longer fail (53100), some of them half done.
 *
 * `broken`: operations on paths that have this in them fail (58030). `deaf`: syncs of which it says so are done in
 * appearance only. `slow`: writes and syncs of paths that have this in them take slow_ns. disk_pause_ns: what the
 * thread waits before each write, sync, link and rename, so that others get between them.
 *
 * Any thread may use it. Files can be made in directories that are not there, which a power cut then loses.
 */
#ifndef STELE_UNIT_DISK_H
#define STELE_UNIT_DISK_H

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/vfs.h"

enum { DISK_SECTOR = 512 };

/* Bytes that do not change, shared. */
typedef struct DiskBytes {
    _Atomic int64_t refs; /* disks that power cuts have left share them */
    int64_t len;
    char *p;
} DiskBytes;
typedef struct DiskWrite {
    int64_t at, len; /* len -1: the file's size becomes `at` */
    char *p;
} DiskWrite;
typedef struct DiskFile {
    int64_t refs;
    bool is_dir;
    int locks; /* shared ones; -1: one alone */
    char *p;   /* as it is read */
    int64_t len, cap;
    DiskBytes *durable; /* NULL: none */
    DiskWrite *writes;  /* since the last sync */
    int64_t n_writes, cap_writes;
} DiskFile;
typedef struct DiskName {
    char *path;
    DiskFile *file;
} DiskName;
typedef struct DiskNames {
    DiskName *items;
    int64_t n, cap;
} DiskNames;
/* `from` NULL: created; `to` NULL: removed. */
typedef struct DiskChange {
    char *from, *to;
    DiskFile *file;
} DiskChange;

typedef struct Disk Disk;
struct Disk {
    Vfs vfs; /* first: a Disk's address is its Vfs */
    pthread_mutex_t lock;
    DiskNames names, durable;
    DiskChange *changes;
    int64_t n_changes, cap_changes;
    uint64_t rng;
    int64_t ops, cut_at, fail_at; /* of an operation, 1 ...; 0: none */
    bool off, full, no_links;
    const char *broken, *slow;
    int64_t slow_ns;
    void (*hook)(void *ctx, Disk *d);                   /* under the lock */
    bool (*deaf)(void *ctx, Disk *d, const char *path); /* likewise; of a file, or a directory */
    void *ctx;
};
typedef struct DiskHandle {
    VfsFile file; /* first */
    DiskFile *of;
    int lock; /* 0, 1: shared, -1: alone */
} DiskHandle;

static _Thread_local int64_t disk_pause_ns;
static void disk_pause(void) {
    if (disk_pause_ns > 0) (void)nanosleep(&(struct timespec){.tv_nsec = (long)disk_pause_ns}, NULL);
}
static void disk_take_time(const Disk *d, const char *path) {
    disk_pause();
    const struct timespec t = {d->slow_ns / 1000000000, (long)(d->slow_ns % 1000000000)};
    if (d->slow && strstr(path, d->slow)) (void)nanosleep(&t, NULL);
}
static void *disk_memory(void *p, size_t n) {
    void *more = realloc(p, n ? n : 1);
    if (!more) abort();
    return more;
}
static char *disk_text(const char *s) {
    const size_t n = strlen(s) + 1;
    return memcpy(disk_memory(NULL, n), s, n);
}
static uint64_t disk_rnd(Disk *d) {
    d->rng ^= d->rng << 13;
    d->rng ^= d->rng >> 7;
    d->rng ^= d->rng << 17;
    return d->rng >> 11;
}

/* ---- files and names ---- */
static void disk_bytes_release(DiskBytes *b) {
    if (!b || --b->refs > 0) return;
    free(b->p);
    free(b);
}
static DiskBytes *disk_bytes_new(const char *p, int64_t n) {
    DiskBytes *b = disk_memory(NULL, sizeof *b);
    *b = (DiskBytes){.refs = 1, .len = n, .p = disk_memory(NULL, (size_t)n)};
    if (n > 0) memcpy(b->p, p, (size_t)n);
    return b;
}
static void disk_forget_writes(DiskFile *f) {
    for (int64_t i = 0; i < f->n_writes; i++) free(f->writes[i].p);
    f->n_writes = 0;
}
static void disk_file_release(DiskFile *f) {
    if (!f || --f->refs > 0) return;
    disk_forget_writes(f);
    disk_bytes_release(f->durable);
    free(f->writes);
    free(f->p);
    free(f);
}
static DiskName *disk_find(const DiskNames *l, const char *path) {
    for (int64_t i = 0; i < l->n; i++)
        if (strcmp(l->items[i].path, path) == 0) return &l->items[i];
    return NULL;
}
static void disk_unname(DiskNames *l, const char *path) {
    DiskName *x = disk_find(l, path);
    if (!x) return;
    free(x->path);
    disk_file_release(x->file);
    *x = l->items[--l->n];
}
static void disk_name(DiskNames *l, const char *path, DiskFile *f) {
    f->refs++;
    disk_unname(l, path);
    if (l->n == l->cap) {
        l->cap = l->cap * 2 + 16;
        l->items = disk_memory(l->items, (size_t)l->cap * sizeof *l->items);
    }
    l->items[l->n++] = (DiskName){disk_text(path), f};
}
static void disk_names_free(DiskNames *l) {
    while (l->n > 0) disk_unname(l, l->items[l->n - 1].path);
    free(l->items);
}
static void disk_change(Disk *d, const char *from, const char *to, DiskFile *f) {
    if (d->n_changes == d->cap_changes) {
        d->cap_changes = d->cap_changes * 2 + 16;
        d->changes = disk_memory(d->changes, (size_t)d->cap_changes * sizeof *d->changes);
    }
    if (f) f->refs++;
    d->changes[d->n_changes++] = (DiskChange){from ? disk_text(from) : NULL, to ? disk_text(to) : NULL, f};
}
static void disk_change_free(DiskChange *x) {
    free(x->from);
    free(x->to);
    disk_file_release(x->file);
}
static void disk_apply_change(DiskNames *l, const DiskChange *x) {
    if (x->from) disk_unname(l, x->from);
    if (x->to) disk_name(l, x->to, x->file);
}
static bool disk_is_in(const char *path, const char *dir) {
    const size_t n = strcmp(dir, "/") == 0 ? 0 : strlen(dir);
    return strncmp(path, dir, n) == 0 && path[n] == '/' && !strchr(path + n + 1, '/');
}
static void disk_resize(DiskFile *f, int64_t len) {
    if (len > f->cap) {
        f->cap = len * 2 + 256;
        f->p = disk_memory(f->p, (size_t)f->cap);
    }
    if (len > f->len) memset(f->p + f->len, 0, (size_t)(len - f->len));
    f->len = len;
}
/* The file as it is read gets it, and it is noted. */
static void disk_write(DiskFile *f, const void *p, int64_t len, int64_t at) {
    DiskWrite w = {.at = at, .len = len};
    if (len < 0) {
        disk_resize(f, at);
    } else {
        if (at + len > f->len) disk_resize(f, at + len);
        if (len > 0) memcpy(f->p + at, p, (size_t)len);
        w.p = disk_memory(NULL, (size_t)len);
        if (len > 0) memcpy(w.p, p, (size_t)len);
    }
    if (f->n_writes == f->cap_writes) {
        f->cap_writes = f->cap_writes * 2 + 4;
        f->writes = disk_memory(f->writes, (size_t)f->cap_writes * sizeof *f->writes);
    }
    f->writes[f->n_writes++] = w;
}

/* ---- what a power cut leaves ---- */
typedef enum DiskFate { DISK_NOTHING, DISK_ALL, DISK_SECTORS, DISK_WHOLE, DISK_FATES } DiskFate;
static bool disk_coin(Disk *d, DiskFate fate) { return fate == DISK_ALL || (fate > DISK_ALL && disk_rnd(d) % 2); }
static DiskBytes *disk_left_of(Disk *d, const DiskFile *f) {
    if (f->n_writes == 0) {
        if (f->durable) f->durable->refs++;
        return f->durable;
    }
    const DiskFate fate = (DiskFate)(disk_rnd(d) % DISK_FATES);
    DiskFile x = {0};
    if (f->durable) disk_resize(&x, f->durable->len);
    if (x.len > 0) memcpy(x.p, f->durable->p, (size_t)x.len);
    for (int64_t i = 0; i < f->n_writes; i++) {
        const DiskWrite *w = &f->writes[i];
        if (w->len < 0 && disk_coin(d, fate)) disk_resize(&x, w->at);
        bool keep = disk_coin(d, fate);
        for (int64_t at = 0, n; at < w->len; at += n) {
            n = MIN_OF(w->len - at, DISK_SECTOR - (w->at + at) % DISK_SECTOR);
            if (fate == DISK_SECTORS) keep = disk_coin(d, fate);
            if (!keep) continue;
            if (w->at + at + n > x.len) disk_resize(&x, w->at + at + n);
            memcpy(x.p + w->at + at, w->p + at, (size_t)n);
        }
    }
    if (disk_rnd(d) % 4 == 0) disk_resize(&x, f->len); /* the size was there before the bytes */
    DiskBytes *b = disk_bytes_new(x.p, x.len);
    free(x.p);
    return b;
}

/* The directories that it is in are there. */
static bool disk_is_reached(const DiskNames *names, const char *path) {
    char dir[512];
    snprintf(dir, sizeof dir, "%s", path);
    for (char *slash; (slash = strrchr(dir, '/')) && slash != dir;) {
        *slash = 0;
        if (!disk_find(names, dir)) return false;
    }
    return true;
}
static void disk_init(Disk *d, uint64_t seed);
/* A disk of its own. With the lock, or where no thread uses `d`. */
static Disk *disk_after_cut(Disk *d) {
    Disk *out = disk_memory(NULL, sizeof *out);
    DiskNames names = {0};
    const DiskFate fate = (DiskFate)(disk_rnd(d) % DISK_FATES);
    disk_init(out, disk_rnd(d) | 1);
    for (int64_t i = 0; i < d->durable.n; i++) disk_name(&names, d->durable.items[i].path, d->durable.items[i].file);
    for (int64_t i = 0; i < d->n_changes; i++)
        if (disk_coin(d, fate)) disk_apply_change(&names, &d->changes[i]);
    for (int64_t i = 0; i < names.n; i++) {
        if (!disk_is_reached(&names, names.items[i].path)) continue;
        DiskFile *f = disk_memory(NULL, sizeof *f);
        *f = (DiskFile){.is_dir = names.items[i].file->is_dir, .durable = disk_left_of(d, names.items[i].file)};
        if (f->durable) disk_resize(f, f->durable->len);
        if (f->len > 0) memcpy(f->p, f->durable->p, (size_t)f->len);
        disk_name(&out->names, names.items[i].path, f);
        disk_name(&out->durable, names.items[i].path, f);
    }
    disk_names_free(&names);
    return out;
}

/* ---- the Vfs ---- */
static Disk *disk_of(Vfs *v) { return (Disk *)(void *)v; }
static DiskHandle *disk_handle(VfsFile *f) { return (DiskHandle *)(void *)f; }
static Status disk_error(Disk *d, const char *what, const char *path, Err *e) {
    return err_set(e, ERR_IO, "could not %s file \"%s\": %s", what, path, d->off ? "the power is off" : "it is broken");
}
/* An operation that changes something; ST_ERROR: it fails. */
static Status disk_step(Disk *d, const char *what, const char *path, Err *e) {
    const int64_t n = ++d->ops;
    if (!d->off && d->hook) d->hook(d->ctx, d);
    if (n == d->cut_at) d->off = true;
    const bool fails = n == d->fail_at || (d->broken && strstr(path, d->broken));
    return d->off || fails ? disk_error(d, what, path, e) : ST_OK;
}
static Status disk_open_file(Disk *d, const char *path, int mode, DiskFile **out, Err *e) {
    DiskName *x = disk_find(&d->names, path);
    if (x && mode & VFS_EXCLUSIVE) return err_set(e, ERR_DUPLICATE_FILE, "file \"%s\" already exists", path);
    if (!x && !(mode & VFS_CREATE))
        return err_set(e, ERR_UNDEFINED_FILE, "could not open file \"%s\": No such file or directory", path);
    if (x) {
        *out = x->file;
        if (!(mode & VFS_TRUNCATE) || x->file->len == 0) return ST_OK;
        disk_write(x->file, NULL, -1, 0);
    } else {
        DiskFile *f = disk_memory(NULL, sizeof *f);
        *f = (DiskFile){0};
        disk_name(&d->names, path, f);
        disk_change(d, NULL, path, f);
        *out = f;
    }
    return disk_step(d, "create", path, e);
}
static Status disk_open(Vfs *v, const char *path, int mode, VfsFile **out, Err *e) {
    Disk *d = disk_of(v);
    DiskFile *f = NULL;
    *out = NULL;
    pthread_mutex_lock(&d->lock);
    const Status st = d->off ? disk_error(d, "open", path, e) : disk_open_file(d, path, mode, &f, e);
    if (st == ST_OK) {
        DiskHandle *h = disk_memory(NULL, sizeof *h);
        *h = (DiskHandle){.file = {.vfs = v, .path = disk_text(path), .fd = -1}, .of = f};
        f->refs++;
        *out = &h->file;
    }
    pthread_mutex_unlock(&d->lock);
    return st;
}
static Status disk_close(VfsFile *f, Err *e) {
    (void)e;
    if (!f) return ST_OK;
    Disk *d = disk_of(f->vfs);
    DiskHandle *h = disk_handle(f);
    pthread_mutex_lock(&d->lock);
    if (h->lock) h->of->locks -= h->lock;
    disk_file_release(h->of);
    pthread_mutex_unlock(&d->lock);
    free(f->path);
    free(h);
    return ST_OK;
}
static Status disk_read_at(VfsFile *f, void *buf, int64_t len, int64_t at, int64_t *got, Err *e) {
    Disk *d = disk_of(f->vfs);
    const DiskFile *x = disk_handle(f)->of;
    pthread_mutex_lock(&d->lock);
    const Status st = d->off ? disk_error(d, "read", f->path, e) : ST_OK;
    *got = st == ST_OK ? MAX_OF(MIN_OF(len, x->len - at), INT64_C(0)) : 0;
    if (*got > 0) memcpy(buf, x->p + at, (size_t)*got);
    pthread_mutex_unlock(&d->lock);
    return st;
}
static Status disk_write_at(VfsFile *f, const void *p, int64_t len, int64_t at, Err *e) {
    Disk *d = disk_of(f->vfs);
    DiskFile *x = disk_handle(f)->of;
    Status st;
    disk_take_time(d, f->path);
    pthread_mutex_lock(&d->lock);
    if (d->off) {
        st = disk_error(d, "write to", f->path, e);
    } else if (d->full && at + len > x->len) {
        if (disk_rnd(d) % 2) disk_write(x, p, len / 2, at);
        st = err_set(e, ERR_DISK_FULL, "could not write to file \"%s\": No space left on device", f->path);
    } else {
        disk_write(x, p, len, at);
        st = disk_step(d, "write to", f->path, e);
    }
    pthread_mutex_unlock(&d->lock);
    return st;
}
static Status disk_truncate(VfsFile *f, int64_t size, Err *e) {
    Disk *d = disk_of(f->vfs);
    pthread_mutex_lock(&d->lock);
    if (!d->off && size != disk_handle(f)->of->len) disk_write(disk_handle(f)->of, NULL, -1, size);
    const Status st = disk_step(d, "truncate", f->path, e);
    pthread_mutex_unlock(&d->lock);
    return st;
}
static Status disk_sync(VfsFile *f, Err *e) {
    Disk *d = disk_of(f->vfs);
    DiskFile *x = disk_handle(f)->of;
    disk_take_time(d, f->path);
    pthread_mutex_lock(&d->lock);
    const Status st = disk_step(d, "synchronize", f->path, e);
    if (!d->off && !(st == ST_OK && d->deaf && d->deaf(d->ctx, d, f->path))) {
        DiskBytes *now = st != ST_OK                  ? disk_left_of(d, x)
                         : x->n_writes || !x->durable ? disk_bytes_new(x->p, x->len)
                                                      : NULL;
        if (now) disk_bytes_release(x->durable);
        if (now) x->durable = now;
        disk_forget_writes(x);
    }
    pthread_mutex_unlock(&d->lock);
    return st;
}
static Status disk_size(VfsFile *f, int64_t *out, Err *e) {
    Disk *d = disk_of(f->vfs);
    pthread_mutex_lock(&d->lock);
    *out = disk_handle(f)->of->len;
    const Status st = d->off ? disk_error(d, "stat", f->path, e) : ST_OK;
    pthread_mutex_unlock(&d->lock);
    return st;
}
static Status disk_rename(Vfs *v, const char *from, const char *to, Err *e) {
    Disk *d = disk_of(v);
    disk_pause();
    pthread_mutex_lock(&d->lock);
    DiskName *x = disk_find(&d->names, from);
    Status st = d->off ? disk_error(d, "rename", from, e) : ST_OK;
    if (st == ST_OK && !x) st = err_set(e, ERR_UNDEFINED_FILE, "could not rename file \"%s\"", from);
    if (st == ST_OK) {
        disk_change(d, from, to, x->file);
        disk_apply_change(&d->names, &d->changes[d->n_changes - 1]);
        st = disk_step(d, "rename", from, e);
    }
    pthread_mutex_unlock(&d->lock);
    return st;
}
static Status disk_link(Vfs *v, const char *from, const char *to, Err *e) {
    Disk *d = disk_of(v);
    disk_pause();
    pthread_mutex_lock(&d->lock);
    DiskName *x = disk_find(&d->names, from);
    Status st = d->off ? disk_error(d, "link", from, e) : ST_OK;
    if (st == ST_OK && d->no_links) st = err_set(e, ERR_FEATURE_NOT_SUPPORTED, "file \"%s\" cannot be linked", from);
    if (st == ST_OK && !x) st = err_set(e, ERR_UNDEFINED_FILE, "could not link file \"%s\"", from);
    if (st == ST_OK && disk_find(&d->names, to)) st = err_set(e, ERR_DUPLICATE_FILE, "file \"%s\" already exists", to);
    if (st == ST_OK) {
        DiskFile *f = x->file; /* naming moves the list */
        disk_name(&d->names, to, f);
        disk_change(d, NULL, to, f);
        st = disk_step(d, "link", from, e);
    }
    pthread_mutex_unlock(&d->lock);
    return st;
}
static Status disk_remove(Vfs *v, const char *path, Err *e) {
    Disk *d = disk_of(v);
    pthread_mutex_lock(&d->lock);
    Status st = d->off ? disk_error(d, "remove", path, e) : ST_OK;
    if (st == ST_OK && disk_find(&d->names, path)) {
        disk_change(d, path, NULL, NULL);
        disk_unname(&d->names, path);
        st = disk_step(d, "remove", path, e);
    }
    pthread_mutex_unlock(&d->lock);
    return st;
}
static Status disk_sync_dir(Vfs *v, const char *path, Err *e) {
    Disk *d = disk_of(v);
    disk_pause();
    pthread_mutex_lock(&d->lock);
    const Status st = disk_step(d, "synchronize", path, e);
    const bool deaf = st == ST_OK && d->deaf && d->deaf(d->ctx, d, path);
    int64_t kept = 0;
    for (int64_t i = 0; i < d->n_changes && !deaf; i++) {
        DiskChange *x = &d->changes[i];
        if (st == ST_OK && disk_is_in(x->to ? x->to : x->from, path)) {
            disk_apply_change(&d->durable, x);
            disk_change_free(x);
        } else {
            d->changes[kept++] = *x;
        }
    }
    if (!deaf) d->n_changes = kept;
    pthread_mutex_unlock(&d->lock);
    return st;
}
static Status disk_make_dir(Vfs *v, const char *path, Err *e) {
    Disk *d = disk_of(v);
    pthread_mutex_lock(&d->lock);
    Status st = d->off ? disk_error(d, "create", path, e) : ST_OK;
    if (st == ST_OK && !disk_find(&d->names, path)) {
        DiskFile *f = disk_memory(NULL, sizeof *f);
        *f = (DiskFile){.is_dir = true};
        disk_name(&d->names, path, f);
        disk_change(d, NULL, path, f);
        st = disk_step(d, "create", path, e);
    }
    pthread_mutex_unlock(&d->lock);
    return st;
}
static Status disk_exists(Vfs *v, const char *path, bool *out, Err *e) {
    Disk *d = disk_of(v);
    pthread_mutex_lock(&d->lock);
    *out = disk_find(&d->names, path) != NULL;
    const Status st = d->off ? disk_error(d, "stat", path, e) : ST_OK;
    pthread_mutex_unlock(&d->lock);
    return st;
}
static Status disk_list(Vfs *v, const char *path, Status (*each)(void *, const char *, Err *), void *ctx, Err *e) {
    Disk *d = disk_of(v);
    pthread_mutex_lock(&d->lock);
    Status st = d->off ? disk_error(d, "read", path, e) : ST_OK;
    for (int64_t i = 0; i < d->names.n && st == ST_OK; i++)
        if (disk_is_in(d->names.items[i].path, path)) st = each(ctx, d->names.items[i].path + strlen(path) + 1, e);
    pthread_mutex_unlock(&d->lock);
    return st;
}
static Status disk_take_lock(VfsFile *f, int how, Err *e) {
    Disk *d = disk_of(f->vfs);
    DiskHandle *h = disk_handle(f);
    pthread_mutex_lock(&d->lock);
    const bool taken = how < 0 ? h->of->locks != 0 : h->of->locks < 0;
    Status st = d->off ? disk_error(d, "lock", f->path, e) : ST_OK;
    if (st == ST_OK && taken) st = err_set(e, ERR_OBJECT_IN_USE, "file \"%s\" is in use by another process", f->path);
    if (st == ST_OK) h->of->locks += h->lock = how;
    pthread_mutex_unlock(&d->lock);
    return st;
}
static Status disk_lock(VfsFile *f, Err *e) { return disk_take_lock(f, -1, e); }
static Status disk_lock_shared(VfsFile *f, Err *e) { return disk_take_lock(f, 1, e); }
/* A copy, which outlives the file. */
static Status disk_map(VfsFile *f, int64_t size, const void **out, Err *e) {
    int64_t got = 0;
    char *p = size > 0 ? disk_memory(NULL, (size_t)size) : NULL;
    const Status st = size > 0 ? disk_read_at(f, p, size, 0, &got, e) : ST_OK;
    if (st != ST_OK) free(p);
    *out = st == ST_OK ? p : NULL;
    return st;
}
static void disk_unmap(const void *p, int64_t size) {
    (void)size;
    free((void *)(uintptr_t)p);
}

static void disk_init(Disk *d, uint64_t seed) {
    *d = (Disk){.rng = seed * 0x9E3779B97F4A7C15u | 1,
                .vfs = {.version = 1,
                        .open = disk_open,
                        .close = disk_close,
                        .read_at = disk_read_at,
                        .write_at = disk_write_at,
                        .sync = disk_sync,
                        .size = disk_size,
                        .truncate = disk_truncate,
                        .rename = disk_rename,
                        .link = disk_link,
                        .remove = disk_remove,
                        .sync_dir = disk_sync_dir,
                        .make_dir = disk_make_dir,
                        .exists = disk_exists,
                        .list = disk_list,
                        .lock = disk_lock,
                        .lock_shared = disk_lock_shared,
                        .map = disk_map,
                        .unmap = disk_unmap}};
    pthread_mutex_init(&d->lock, NULL);
}
static Disk *disk_new(uint64_t seed) {
    Disk *d = disk_memory(NULL, sizeof *d);
    disk_init(d, seed);
    return d;
}
/* The file has these bytes, and they are durable; NULL: it is gone. */
static void disk_put(Disk *d, const char *path, const char *p, int64_t n) {
    disk_unname(&d->names, path);
    disk_unname(&d->durable, path);
    if (!p) return;
    DiskFile *f = disk_memory(NULL, sizeof *f);
    *f = (DiskFile){.durable = disk_bytes_new(p, n)};
    disk_resize(f, n);
    if (n > 0) memcpy(f->p, p, (size_t)n);
    disk_name(&d->names, path, f);
    disk_name(&d->durable, path, f);
}
/* No file is open. NULL is fine. */
static void disk_free(Disk *d) {
    if (!d) return;
    disk_names_free(&d->names);
    disk_names_free(&d->durable);
    for (int64_t i = 0; i < d->n_changes; i++) disk_change_free(&d->changes[i]);
    free(d->changes);
    pthread_mutex_destroy(&d->lock);
    free(d);
}

#endif
