/* cache.c - compiled kernels, in memory and on disk: see cache.h for the contract.
 *
 * An entry is one (key, device) and goes through these states:
 *
 *       (new) --> BUSY --> READY     in `ready`, most recently used first
 *                 |  ^ \-> FAILED    in `failed`, newest first
 *                 v  |
 *                QUEUED              in `queue`, oldest first
 *
 * BUSY belongs to exactly one thread, which reads the file or compiles without the lock; everybody else waits on
 * `changed` or goes away with CODE_PENDING. A QUEUED entry has been looked for on disk and waits for the cache's
 * thread; a caller that cannot wait for its turn takes it out of the queue and compiles it itself. Entries leave
 * `ready` and `failed` from the far end when there are too many, unless there are references to them.
 *
 * The same code for two devices of one kind is compiled once: the second finds the first one's file (without a
 * directory: twice).
 *
 * Files. <key in hex>.bin: CodeFile header, then the device's code. No syncs: a file that a crash has left torn fails
 * its checksum. All access is relative to one open directory, whose owner and mode were checked, and only regular files
 * of this user that others may not write are read: what is loaded here runs with all our rights. This goes past
 * base/vfs.h on purpose: that table has no owners, modes and times, and nothing is lost with a file of this directory.
 *
 * Locks: `lock` guards everything but the file system; `sweep` keeps two threads of this process from deleting files at
 * the same time. Neither is held while the other is taken, nor while a device or the log is called.
 */
#include "base/cond.h"
#include "base/mutex.h"
#include "codegen/cache.h"
#include "codegen/prelude.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <xxhash.h>

#include "base/hash.h"
#include "base/log.h"

enum {
    MODULES_MAX = 1024, /* loaded; more only while they are held */
    FAILURES_MAX = 256, /* an Err each */
    QUEUE_MAX = 256,    /* a copy of the source each */
    BUCKETS = 2048,
    FILE_VERSION = 1,
    NAME_SIZE = 64,      /* longest name we make, with its NUL */
    STALE_SECONDS = 3600 /* a temporary file of that age is a dead process's */
};
static const int64_t touch_every_ns = INT64_C(60) * 1000000000;
static const int64_t code_max = INT64_C(1) << 30;

typedef struct Key {
    uint8_t bytes[16];
} Key;

typedef struct CodeFile {
    char magic[8]; /* "STLCODE\0" */
    uint32_t version, header_bytes;
    Key key;
    int64_t n;         /* bytes of code behind the header */
    uint64_t checksum; /* xxh3 of the code, seeded with that of the fields above */
} CodeFile;
static_assert(sizeof(CodeFile) == 48 && offsetof(CodeFile, checksum) == 40, "file format");
static const char magic[8] = "STLCODE";

typedef enum EntryState { BUSY, QUEUED, READY, FAILED } EntryState;

typedef struct CodeEntry {
    struct CodeEntry *chain;       /* of the bucket */
    struct CodeEntry *prev, *next; /* of the list that belongs to the state */
    Device *device;
    Key key;
    EntryState state;
    bool forgotten; /* no longer in the table: the last holder frees it */
    bool passing;   /* FAILED for a reason that may pass (memory): logged once, then tried again */
    bool from_disk, on_disk;
    int64_t holders; /* CodeRefs and waiting callers */
    int64_t compile_ns, touched_ns;
    DevModule *module;
    Err *err;               /* FAILED */
    char *source, *options; /* QUEUED */
    int64_t source_bytes, options_bytes;
} CodeEntry;

typedef struct List {
    CodeEntry *first, *last;
    int64_t n;
} List;

struct CodeCache {
    int dir; /* -1: memory only */
    char *path;
    int64_t path_bytes;
    char why[1024]; /* memory only: the reason */
    _Atomic int64_t max_bytes, disk_bytes;
    _Atomic uint64_t serial;
    _Atomic bool write_failed; /* and logged */
    Mutex lock, sweep;
    pthread_cond_t changed, wake;
    pthread_t thread;
    bool started, stop;
    int64_t busy;
    List queue, ready, failed;
    CodeStats stats;
    CodeEntry *buckets[BUCKETS];
};

/* ---- keys and the table (under the lock) ------------------------------------------------------- */

static uint64_t prelude_hash;
static void hash_prelude(void) { prelude_hash = kernel_texts_hash(); }

/* Parts are hashed one by one first, so that text cannot move from one to the next. The prelude and its parts count
 * although the source only includes them. */
static Key key_of(const Device *d, const char *source, const char *options) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, hash_prelude);
    const struct {
        const void *p;
        size_t n;
    } parts[] = {
        {source, strlen(source)},
        {options, strlen(options)},
        {d->info.arch, strnlen(d->info.arch, sizeof d->info.arch)},
        {d->info.compiler, strnlen(d->info.compiler, sizeof d->info.compiler)},
        {&d->info.kind, sizeof d->info.kind},
        {&prelude_hash, sizeof prelude_hash},
    };
    XXH128_canonical_t sums[ARRAY_LEN(parts)], sum;
    for (int64_t i = 0; i < ARRAY_LEN(parts); i++)
        XXH128_canonicalFromHash(&sums[i], XXH3_128bits(parts[i].p, parts[i].n));
    XXH128_canonicalFromHash(&sum, XXH3_128bits(sums, sizeof sums));
    Key k;
    static_assert(sizeof k == sizeof sum, "128 bits");
    memcpy(&k, &sum, sizeof k);
    return k;
}

static CodeEntry **bucket_of(CodeCache *c, const Key *k) {
    return &c->buckets[(k->bytes[0] | (unsigned)k->bytes[1] << 8) % BUCKETS];
}

static CodeEntry *find(CodeCache *c, const Device *d, const Key *k) {
    CodeEntry *n = *bucket_of(c, k);
    while (n && (n->device != d || memcmp(&n->key, k, sizeof *k) != 0)) n = n->chain;
    return n;
}

static void list_add(List *l, CodeEntry *n, bool last) {
    n->prev = last ? l->last : NULL;
    n->next = last ? NULL : l->first;
    if (n->prev) n->prev->next = n;
    else l->first = n;
    if (n->next) n->next->prev = n;
    else l->last = n;
    l->n++;
}

static void list_remove(List *l, CodeEntry *n) {
    if (n->prev) n->prev->next = n->next;
    else l->first = n->next;
    if (n->next) n->next->prev = n->prev;
    else l->last = n->prev;
    n->prev = n->next = NULL;
    l->n--;
}

static CodeEntry *entry_new(CodeCache *c, Device *d, const Key *k, Err *e) {
    CodeEntry *n = mem_calloc(NULL, (int64_t)sizeof *n, e);
    if (!n) return NULL;
    n->device = d;
    n->key = *k;
    n->state = BUSY;
    c->busy++;
    n->chain = *bucket_of(c, k);
    *bucket_of(c, k) = n;
    return n;
}

static void drop_source(CodeEntry *n) {
    mem_free(NULL, n->source, n->source_bytes);
    mem_free(NULL, n->options, n->options_bytes);
    n->source = n->options = NULL;
}

/* Takes an entry out of table and lists. It goes to `dead` (to be freed without the lock) unless it is held. */
static void forget(CodeCache *c, CodeEntry *n, CodeEntry **dead) {
    CodeEntry **at = bucket_of(c, &n->key);
    while (*at != n) at = &(*at)->chain;
    *at = n->chain;
    if (n->state == BUSY) c->busy--;
    if (n->state == QUEUED) list_remove(&c->queue, n);
    if (n->state == READY) list_remove(&c->ready, n);
    if (n->state == FAILED) list_remove(&c->failed, n);
    n->forgotten = true;
    n->chain = NULL;
    pthread_cond_broadcast(&c->changed); /* one less is pending, perhaps */
    if (n->holders == 0) {
        n->chain = *dead;
        *dead = n;
    }
}

/* Oldest first, beyond `max`. The newest stays: its owner is about to take it. */
static void trim(CodeCache *c, List *l, int64_t max, CodeEntry **dead) {
    for (CodeEntry *n = l->last; n && n != l->first && l->n > max;) {
        CodeEntry *prev = n->prev;
        if (n->holders == 0) forget(c, n, dead);
        n = prev;
    }
}

static void free_dead(CodeEntry *dead) {
    while (dead) {
        CodeEntry *n = dead;
        dead = n->chain;
        if (n->module) n->device->ops->unload(n->device, n->module);
        mem_free(NULL, n->err, (int64_t)sizeof *n->err);
        drop_source(n);
        mem_free(NULL, n, (int64_t)sizeof *n);
    }
}

/* ---- the directory ------------------------------------------------------------------------------ */

static void file_name(const Key *k, char out[NAME_SIZE]) {
    for (int i = 0; i < 16; i++) snprintf(out + 2 * i, 3, "%02x", k->bytes[i]);
    snprintf(out + 32, NAME_SIZE - 32, ".bin");
}

static bool is_code_name(const char *s) {
    return strlen(s) == 36 && strspn(s, "0123456789abcdef") == 32 && strcmp(s + 32, ".bin") == 0;
}

static bool is_temp_name(const char *s) {
    return strncmp(s, "tmp-", 4) == 0 && strspn(s + 4, "0123456789-") == strlen(s + 4);
}

static uint64_t file_checksum(const CodeFile *h, const void *code) {
    return XXH3_64bits_withSeed(code, (size_t)h->n, checksum64(h, (int64_t)offsetof(CodeFile, checksum)));
}

/* Reads all of `n` bytes, or not. */
static bool read_all(int fd, void *out, int64_t n) {
    for (int64_t done = 0; done < n;) {
        ssize_t got = read(fd, (char *)out + done, (size_t)(n - done));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        done += got;
    }
    return true;
}

static bool write_all(int fd, const void *from, int64_t n) {
    for (int64_t done = 0; done < n;) {
        ssize_t got = write(fd, (const char *)from + done, (size_t)(n - done));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return false;
        done += got;
    }
    return true;
}

static void touch(const CodeCache *c, const Key *k) {
    char name[NAME_SIZE];
    file_name(k, name);
    /* Another process may have deleted the file; then there is nothing to keep. */
    (void)utimensat(c->dir, name, NULL, AT_SYMLINK_NOFOLLOW);
}

/* The code of `k`, mem_alloc'ed; NULL when there is no file, or none that can be trusted. */
static void *file_read(CodeCache *c, const Key *k, int64_t *n_out) {
    if (c->dir < 0) return NULL;
    char name[NAME_SIZE];
    file_name(k, name);
    int fd = openat(c->dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) return NULL;
    CodeFile h;
    struct stat s;
    void *code = NULL;
    if (fstat(fd, &s) != 0 || !S_ISREG(s.st_mode) || s.st_uid != geteuid() || (s.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        goto out;
    if (!read_all(fd, &h, (int64_t)sizeof h) || memcmp(h.magic, magic, sizeof magic) != 0 || h.version != FILE_VERSION)
        goto out;
    if (h.header_bytes != sizeof h || memcmp(&h.key, k, sizeof *k) != 0) goto out;
    if (h.n <= 0 || h.n > code_max || (int64_t)s.st_size != (int64_t)sizeof h + h.n) goto out;
    code = mem_alloc(NULL, h.n, NULL);
    if (!code) goto out;
    if (!read_all(fd, code, h.n) || file_checksum(&h, code) != h.checksum) {
        mem_free(NULL, code, h.n);
        code = NULL;
        goto out;
    }
    *n_out = h.n;
    if (time(NULL) - s.st_mtime >= touch_every_ns / 1000000000) touch(c, k);
out:
    close(fd);
    if (!code) log_write(LOG_INFO, "code cache: \"%s/%s\" is damaged or not ours, compiling anew", c->path, name);
    return code;
}

typedef struct DirFile {
    struct timespec used;
    int64_t bytes;
    char name[NAME_SIZE];
} DirFile;

static int by_use(const void *a, const void *b) {
    const DirFile *x = a, *y = b;
    if (x->used.tv_sec != y->used.tv_sec) return x->used.tv_sec < y->used.tv_sec ? -1 : 1;
    if (x->used.tv_nsec != y->used.tv_nsec) return x->used.tv_nsec < y->used.tv_nsec ? -1 : 1;
    return strcmp(x->name, y->name); /* the same order in every process: two sweeps at once delete the same files */
}

/* All code files of the directory; files of other kinds are left alone, abandoned temporary ones deleted. */
static bool list_files(CodeCache *c, DirFile **out, int64_t *n_out, int64_t *cap) {
    int fd = openat(c->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (!d) {
        if (fd >= 0) close(fd);
        return false;
    }
    bool ok = true;
    time_t now = time(NULL);
    for (struct dirent *x; ok && (x = readdir(d));) {
        bool code = is_code_name(x->d_name);
        struct stat s;
        if (!code && !is_temp_name(x->d_name)) continue;
        if (fstatat(c->dir, x->d_name, &s, AT_SYMLINK_NOFOLLOW) != 0) continue; /* deleted meanwhile */
        if (!code) {
            if (now - s.st_mtime > STALE_SECONDS) unlinkat(c->dir, x->d_name, 0);
            continue;
        }
        if (*n_out == *cap) {
            int64_t more = *cap ? *cap * 2 : 256;
            DirFile *grown = mem_realloc(NULL, *out, *cap * (int64_t)sizeof **out, more * (int64_t)sizeof **out, NULL);
            ok = grown != NULL;
            if (!ok) break;
            *out = grown;
            *cap = more;
        }
        DirFile *f = &(*out)[(*n_out)++];
        *f = (DirFile){.used = s.st_mtim, .bytes = (int64_t)s.st_size};
        snprintf(f->name, sizeof f->name, "%.63s", x->d_name);
    }
    closedir(d);
    return ok;
}

/* Deletes the files longest unused until the rest fits; `keep` (may be NULL) was just written. A file that has gone is
 * gone. */
static void sweep_files(CodeCache *c, const char *keep) {
    if (c->dir < 0) return;
    DirFile *files = NULL;
    int64_t n = 0, cap = 0, total = 0;
    mutex_lock(&c->sweep);
    if (list_files(c, &files, &n, &cap)) {
        for (int64_t i = 0; i < n; i++) total += files[i].bytes;
        int64_t max = atomic_load(&c->max_bytes);
        if (total > max) qsort(files, (size_t)n, sizeof *files, by_use);
        for (int64_t i = 0; i < n && total > max; i++) {
            if (keep && strcmp(files[i].name, keep) == 0) continue;
            if (unlinkat(c->dir, files[i].name, 0) == 0 || errno == ENOENT) total -= files[i].bytes;
        }
        atomic_store(&c->disk_bytes, total);
    }
    mutex_unlock(&c->sweep);
    mem_free(NULL, files, cap * (int64_t)sizeof *files);
}

/* Writes under another name, then renames. False (logged once) leaves nothing behind. */
static bool file_write(CodeCache *c, const Key *k, const void *code, int64_t n) {
    if (c->dir < 0 || n <= 0 || n > code_max || n + (int64_t)sizeof(CodeFile) > atomic_load(&c->max_bytes))
        return false;
    CodeFile h = {.version = FILE_VERSION, .header_bytes = sizeof h, .key = *k, .n = n};
    memcpy(h.magic, magic, sizeof magic);
    h.checksum = file_checksum(&h, code);
    char name[NAME_SIZE], temp[NAME_SIZE];
    file_name(k, name);
    int fd = -1, err = 0;
    for (int attempt = 0; fd < 0 && attempt < 16;
         attempt++) { /* processes in different containers may share a process id */
        snprintf(temp, sizeof temp, "tmp-%ld-%llu-%lld", (long)getpid(),
                 (unsigned long long)atomic_fetch_add(&c->serial, 1), (long long)clock_ns());
        fd = openat(c->dir, temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0 && errno != EEXIST) break;
    }
    if (fd < 0) {
        err = errno;
    } else {
        bool ok = write_all(fd, &h, (int64_t)sizeof h) && write_all(fd, code, n);
        if (!ok) err = errno;
        if (close(fd) != 0 && !err && errno != EINTR) err = errno;
        if (!err && renameat(c->dir, temp, c->dir, name) != 0) err = errno;
        if (err) unlinkat(c->dir, temp, 0);
    }
    if (err) {
        if (!atomic_exchange(&c->write_failed, true)) {
            Err story = {0};
            err_errno(&story, err, "write to", c->path);
            log_write(LOG_WARNING, "code cache: %s", story.message);
        }
        return false;
    }
    sweep_files(c, name);
    return true;
}

/* ---- getting code (without the lock; the entry is BUSY and ours) --------------------------------- */

typedef struct Made {
    DevModule *module; /* NULL: *err tells why, or nothing was found */
    bool from_disk, on_disk, passing;
    int64_t compile_ns;
} Made;

/* Memory comes back, and a lost device stays lost whatever the code: neither says anything about the source. */
static bool may_pass(const Device *d, const Err *err) { return d->info.lost || strncmp(err->sqlstate, "53", 2) == 0; }

/* Loads the file, when there is one. False: neither loaded nor failed. */
static bool make_from_disk(CodeCache *c, CodeEntry *n, Made *made, Err *err) {
    int64_t bytes = 0;
    void *code = file_read(c, &n->key, &bytes);
    if (!code) return false;
    Device *d = n->device;
    bool done = true;
    if (d->ops->load(d, code, bytes, &made->module, err) == ST_OK) {
        made->from_disk = made->on_disk = true;
    } else {
        made->module = NULL;
        made->passing = may_pass(d, err);
        if (!made->passing) { /* another driver's code: as if it were not there */
            log_write(LOG_INFO, "code cache: %s refused stored code, compiling anew: %s", d->info.id, err->message);
            err_clear(err);
            done = false;
        }
    }
    mem_free(NULL, code, bytes);
    return done;
}

static void make_by_compiling(CodeCache *c, CodeEntry *n, const char *source, const char *options, Made *made,
                              Err *err) {
    Device *d = n->device;
    DevCode code = {0};
    int64_t start = clock_ns();
    char *text = kernel_source_expand(source);
    Status st = text ? d->ops->compile(d, text, options, &code, err) : err_oom(err);
    free(text);
    made->compile_ns = clock_ns() - start;
    if (st == ST_OK) st = d->ops->load(d, code.bytes, code.n, &made->module, err);
    if (st == ST_OK) {
        made->on_disk = file_write(c, &n->key, code.bytes, code.n);
    } else {
        made->module = NULL;
        made->passing = may_pass(d, err);
    }
    dev_code_free(&code);
}

/* BUSY becomes READY or FAILED. Takes the lock and keeps it. */
static void settle(CodeCache *c, CodeEntry *n, const Made *made, const Err *err, CodeEntry **dead) {
    Err *kept = NULL;
    if (!made->module) {
        kept = mem_alloc(NULL, (int64_t)sizeof *kept, NULL);
        if (kept) *kept = *err;
    }
    int64_t now = clock_ns();
    mutex_lock(&c->lock);
    c->busy--;
    drop_source(n);
    n->compile_ns = made->compile_ns;
    n->from_disk = made->from_disk;
    n->on_disk = made->on_disk;
    n->touched_ns = now;
    if (made->compile_ns) {
        c->stats.compile_ns += made->compile_ns;
        if (made->module) c->stats.compiled++;
    }
    if (made->module) {
        if (made->from_disk) c->stats.disk_hits++;
        n->module = made->module;
        n->state = READY;
        list_add(&c->ready, n, false);
        trim(c, &c->ready, MODULES_MAX, dead);
    } else {
        c->stats.failed++;
        n->err = kept;
        n->passing = made->passing || !kept;
        n->state = FAILED;
        list_add(&c->failed, n, false);
        trim(c, &c->failed, FAILURES_MAX, dead);
    }
    pthread_cond_broadcast(&c->changed);
}

static void *thread_main(void *arg) {
    CodeCache *c = arg;
    Err err;
    mutex_lock(&c->lock);
    for (;;) {
        while (!c->queue.first && !c->stop) cond_wait(&c->wake, &c->lock);
        if (c->stop) break;
        CodeEntry *n = c->queue.first, *dead = NULL;
        list_remove(&c->queue, n);
        n->state = BUSY;
        c->busy++;
        mutex_unlock(&c->lock);
        Made made = {0};
        err_clear(&err);
        if (!make_from_disk(c, n, &made, &err)) make_by_compiling(c, n, n->source, n->options, &made, &err);
        settle(c, n, &made, &err, &dead);
        mutex_unlock(&c->lock);
        free_dead(dead);
        mutex_lock(&c->lock);
    }
    mutex_unlock(&c->lock);
    return NULL;
}

/* ---- code_get (the two below run under the lock) ------------------------------------------------- */

static void take(CodeCache *c, CodeEntry *n, bool from_memory, CodeRef *out) {
    n->holders++;
    if (!n->forgotten) {
        list_remove(&c->ready, n);
        list_add(&c->ready, n, false);
    }
    *out = (CodeRef){.module = n->module,
                     .from_memory = from_memory,
                     .from_disk = !from_memory && n->from_disk,
                     .compile_ns = n->compile_ns,
                     .entry = n};
}

static void report(CodeCache *c, CodeEntry *n, CodeEntry **dead, Err *e) {
    if (n->err) {
        err_copy(e, n->err);
    } else {
        err_oom(e);
    }
    if (n->passing && !n->forgotten) {
        forget(c, n, dead);
    } else if (n->forgotten && n->holders == 0) {
        n->chain = *dead;
        *dead = n;
    }
}

static bool start_thread(CodeCache *c) {
    if (c->started) return true;
    sigset_t all, old; /* signals are the embedding program's business */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int rc = pthread_create(&c->thread, NULL, thread_main, c);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    c->started = rc == 0;
    return c->started;
}

/* BUSY becomes QUEUED. False: no memory or no thread. */
static bool enqueue(CodeCache *c, CodeEntry *n, const char *source, const char *options) {
    n->source_bytes = (int64_t)strlen(source) + 1;
    n->options_bytes = (int64_t)strlen(options) + 1;
    n->source = mem_alloc(NULL, n->source_bytes, NULL);
    n->options = mem_alloc(NULL, n->options_bytes, NULL);
    if (!n->source || !n->options || !start_thread(c)) {
        drop_source(n);
        return false;
    }
    memcpy(n->source, source, (size_t)n->source_bytes);
    memcpy(n->options, options, (size_t)n->options_bytes);
    n->state = QUEUED;
    c->busy--;
    list_add(&c->queue, n, true);
    pthread_cond_signal(&c->wake);
    pthread_cond_broadcast(&c->changed); /* callers that wait for this entry may take it */
    return true;
}

/* Looks until the entry is settled, ours to make (NULL: it is *mine), or pending. */
static CodeEntry *look(CodeCache *c, Device *d, const Key *k, bool wait, bool *at_once, CodeEntry **mine, Err *e) {
    *at_once = true;
    *mine = NULL;
    CodeEntry *n = find(c, d, k);
    if (!n) {
        *mine = entry_new(c, d, k, e);
        return NULL;
    }
    if (!wait) return n;
    if (n->state == BUSY) {
        *at_once = false;
        n->holders++;
        while (n->state == BUSY) cond_wait(&c->changed, &c->lock);
        n->holders--;
    }
    if (n->state == QUEUED) {
        list_remove(&c->queue, n);
        n->state = BUSY;
        c->busy++;
        *mine = n;
        return NULL;
    }
    return n;
}

/* Its file is as new as this use, more or less; c->lock held. */
static bool wants_touch(CodeEntry *n) {
    int64_t now = clock_ns();
    bool wants = n->on_disk && now - n->touched_ns > touch_every_ns;
    if (wants) n->touched_ns = now;
    return wants;
}

CodeState code_get(CodeCache *c, Device *d, const char *source, const char *options, bool wait, CodeRef *out, Err *e) {
    *out = (CodeRef){0};
    if (!options) options = "";
    Key k = key_of(d, source, options);
    CodeEntry *dead = NULL, *mine;
    CodeState state = CODE_PENDING;
    bool at_once, touch_file = false;
    mutex_lock(&c->lock);
    CodeEntry *n = look(c, d, &k, wait, &at_once, &mine, e);
    if (!n && !mine) {
        mutex_unlock(&c->lock);
        return CODE_FAILED;
    }
    if (mine) {
        n = mine;
        at_once = false;
        mutex_unlock(&c->lock);
        Made made = {0};
        Err err;
        err_clear(&err);
        bool done = make_from_disk(c, n, &made, &err);
        if (!done && !wait) {
            mutex_lock(&c->lock);
            if (c->queue.n >= QUEUE_MAX && n->holders == 0) { /* ask again later */
                forget(c, n, &dead);
                goto out;
            }
            if (enqueue(c, n, source, options)) goto out;
            mutex_unlock(&c->lock);
            log_write(LOG_WARNING,
                      "code cache: no memory or no thread to compile beside execution, compiling in the foreground");
        }
        if (!done) make_by_compiling(c, n, source, options, &made, &err);
        settle(c, n, &made, &err, &dead);
    }
    if (n->state == READY) {
        take(c, n, at_once, out);
        if (at_once) {
            c->stats.memory_hits++;
            touch_file = wants_touch(n);
        }
        state = CODE_READY;
    } else if (n->state == FAILED) {
        report(c, n, &dead, e);
        state = CODE_FAILED;
    }
out:
    mutex_unlock(&c->lock);
    free_dead(dead);
    if (touch_file) touch(c, &k);
    return state;
}

void code_used(CodeCache *c, const CodeRef *ref) {
    CodeEntry *n = ref->entry;
    mutex_lock(&c->lock);
    bool wants = wants_touch(n);
    Key k = n->key;
    mutex_unlock(&c->lock);
    if (wants) touch(c, &k);
}

static CodeState get_text(CodeCache *c, Device *d, MemAccount *account, const KernelSet *set, bool wait, CodeRef *out,
                          Err *e) {
    char head[80];
    int size = set->group_size > 0 ? set->group_size : d->info.group_rows;
    const char *defines = set->defines ? set->defines : "";
    snprintf(head, sizeof head, "#define N_PARAMS %d\n", (int)set->n_params);
    if (size > 1) snprintf(head + strlen(head), sizeof head - strlen(head), "#define GROUP_SIZE %d\n", size);
    size_t n = strlen(head) + strlen(defines) + strlen(KERNEL_PRELUDE_INCLUDE) + strlen(set->text) + 1;
    char *source = mem_alloc(account, (int64_t)n, e);
    if (!source) return CODE_FAILED;
    snprintf(source, n, "%s%s%s%s", head, defines, KERNEL_PRELUDE_INCLUDE, set->text);
    CodeState st = code_get(c, d, source, "", wait, out, e);
    mem_free(account, source, (int64_t)n);
    return st;
}
CodeState code_get_set(CodeCache *c, Device *d, MemAccount *account, const KernelSet *set, bool wait, CodeRef *out,
                       DevKernel **kernels, Err *e) {
    CodeState st = out->module ? CODE_READY : get_text(c, d, account, set, wait, out, e);
    for (int32_t i = 0; kernels && st == CODE_READY && i < set->n; i++)
        if (d->ops->kernel(out->module, set->names[i], &kernels[i], e) != ST_OK) st = CODE_FAILED;
    if (st == CODE_FAILED) code_release(c, out);
    return st;
}
CodeRef code_again(CodeCache *c, const CodeRef *ref) {
    mutex_lock(&c->lock);
    ref->entry->holders++;
    mutex_unlock(&c->lock);
    return *ref;
}
void code_release(CodeCache *c, CodeRef *ref) {
    CodeEntry *n = ref->entry, *dead = NULL;
    *ref = (CodeRef){0};
    if (!n) return;
    mutex_lock(&c->lock);
    n->holders--;
    if (!n->forgotten) {
        trim(c, &c->ready, MODULES_MAX, &dead);
    } else if (n->holders == 0) {
        n->chain = NULL;
        dead = n;
    }
    mutex_unlock(&c->lock);
    free_dead(dead);
}

/* ---- the cache ----------------------------------------------------------------------------------- */

/* The directory of the environment; false: none, *why tells. */
static bool default_dir(char *out, size_t size, const char **why) {
    const char *dir = secure_getenv("STELE_CACHE_DIR");
    const char *tail = "";
    *why = "STELE_CACHE_DIR is empty";
    if (!dir) {
        dir = secure_getenv("XDG_CACHE_HOME");
        tail = "/stele";
        if (!dir || dir[0] != '/') { /* relative ones are invalid, says the standard */
            dir = secure_getenv("HOME");
            tail = "/.cache/stele";
        }
        *why = "neither STELE_CACHE_DIR nor XDG_CACHE_HOME nor HOME is set";
    }
    if (!dir || !dir[0]) return false;
    *why = "the directory's name is too long";
    int n = snprintf(out, size, "%s%s", dir, tail);
    return n > 0 && (size_t)n < size;
}

/* mkdir -p, then opens it. -1 with the reason in `e`. */
static int open_dir(char *path, Err *e) {
    for (char *at = path + 1; *at; at++) {
        if (*at != '/') continue;
        *at = 0;
        (void)mkdir(path, 0700); /* the last one tells */
        *at = '/';
    }
    if (mkdir(path, 0700) != 0 && errno != EEXIST) {
        err_errno(e, errno, "create", path);
        return -1;
    }
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct stat s;
    if (fd < 0 || fstat(fd, &s) != 0) {
        err_errno(e, errno, "open", path);
    } else if (s.st_uid != geteuid()) {
        err_set(e, ERR_IO, "directory \"%s\" belongs to another user", path);
    } else if (s.st_mode & S_IWOTH) {
        err_set(e, ERR_IO, "directory \"%s\" can be written by everybody", path);
    } else if (faccessat(fd, ".", W_OK | X_OK, AT_EACCESS) != 0) {
        err_errno(e, errno, "write to", path);
    } else {
        return fd;
    }
    if (fd >= 0) close(fd);
    return -1;
}

static int64_t limit_of(int64_t max_bytes) { return max_bytes < 0 ? INT64_MAX : max_bytes; }

Status code_cache_new(const char *dir, int64_t max_bytes, CodeCache **out, Err *e) {
    *out = NULL;
    char path[4096];
    const char *why = "no directory was given";
    bool named = dir && dir[0];
    if (!dir) {
        named = default_dir(path, sizeof path, &why);
    } else if (strlen(dir) >= sizeof path) {
        named = false;
        why = "the directory's name is too long";
    } else {
        memcpy(path, dir, strlen(dir) + 1);
    }
    CodeCache *c = mem_calloc(NULL, (int64_t)sizeof *c, e);
    if (!c) return ST_ERROR;
    c->path_bytes = named ? (int64_t)strlen(path) + 1 : 1;
    c->path = mem_calloc(NULL, c->path_bytes, e);
    if (!c->path) {
        mem_free(NULL, c, (int64_t)sizeof *c);
        return ST_ERROR;
    }
    c->dir = -1;
    atomic_init(&c->max_bytes, limit_of(max_bytes));
    atomic_init(&c->disk_bytes, -1);
    mutex_init(&c->lock, RANK_CODE_CACHE);
    mutex_init(&c->sweep, RANK_CODE_SWEEP);
    pthread_cond_init(&c->changed, NULL);
    pthread_cond_init(&c->wake, NULL);
    Err story;
    err_clear(&story);
    if (named) {
        memcpy(c->path, path, (size_t)c->path_bytes);
        c->dir = open_dir(c->path, &story);
        why = story.message;
    }
    if (c->dir < 0) {
        snprintf(c->why, sizeof c->why, "%s", why);
        log_write(LOG_WARNING, "code cache: compiled kernels are kept in memory only: %s", why);
    }
    *out = c;
    return ST_OK;
}

static void forget_all(CodeCache *c, List *l, const Device *d, CodeEntry **dead) {
    for (CodeEntry *n = l->first, *next; n; n = next) {
        next = n->next;
        if (!d || n->device == d) forget(c, n, dead);
    }
}

void code_cache_free(CodeCache *c) {
    if (!c) return;
    CodeEntry *dead = NULL;
    mutex_lock(&c->lock);
    c->stop = true;
    pthread_cond_signal(&c->wake);
    mutex_unlock(&c->lock);
    if (c->started) pthread_join(c->thread, NULL);
    forget_all(c, &c->queue, NULL, &dead);
    forget_all(c, &c->ready, NULL, &dead);
    forget_all(c, &c->failed, NULL, &dead);
    free_dead(dead);
    if (c->dir >= 0) close(c->dir);
    pthread_cond_destroy(&c->wake);
    pthread_cond_destroy(&c->changed);
    mutex_destroy(&c->sweep);
    mutex_destroy(&c->lock);
    mem_free(NULL, c->path, c->path_bytes);
    mem_free(NULL, c, (int64_t)sizeof *c);
}

void code_cache_set_limit(CodeCache *c, int64_t max_bytes) {
    int64_t now = limit_of(max_bytes);
    if (atomic_exchange(&c->max_bytes, now) > now) sweep_files(c, NULL);
}

static bool busy_with(const CodeCache *c, const Device *d) {
    for (int i = 0; i < BUCKETS; i++) {
        for (const CodeEntry *n = c->buckets[i]; n; n = n->chain)
            if (n->device == d && n->state == BUSY) return true;
    }
    return false;
}

void code_cache_drop_device(CodeCache *c, Device *d) {
    CodeEntry *dead = NULL;
    mutex_lock(&c->lock);
    forget_all(c, &c->queue, d, &dead);
    while (busy_with(c, d)) cond_wait(&c->changed, &c->lock);
    forget_all(c, &c->ready, d, &dead);
    forget_all(c, &c->failed, d, &dead);
    mutex_unlock(&c->lock);
    free_dead(dead);
}

void code_cache_drain(CodeCache *c) {
    mutex_lock(&c->lock);
    while (c->busy + c->queue.n > 0) cond_wait(&c->changed, &c->lock);
    mutex_unlock(&c->lock);
}

void code_cache_stats(CodeCache *c, CodeStats *out) {
    if (atomic_load(&c->disk_bytes) < 0) sweep_files(c, NULL);
    mutex_lock(&c->lock);
    *out = c->stats;
    out->pending = c->busy + c->queue.n;
    mutex_unlock(&c->lock);
    out->disk_bytes = MAX_OF(atomic_load(&c->disk_bytes), 0);
    out->path = c->path;
    out->why = c->dir < 0 ? c->why : NULL;
}
