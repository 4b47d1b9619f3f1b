/* redo_log.c - see redo_log.h. */
#include "log/redo_log.h"

#include <signal.h>
#include <stdio.h>

#include "base/cond.h"
#include "base/hash.h"
#include "base/log.h"

enum { LOG_FORMAT = 1, HEADER_BYTES = 64, RECORD_ALIGN = 8, FIRST_ROOM = 64 << 10, KEPT_ROOM = 4 << 20 };
static const char magic[8] = "STELELOG";

typedef struct FileHeader {
    char magic[8];
    uint32_t format, zero;
    int64_t generation, first_lsn;
    char unused[24];
    uint64_t checksum;
} FileHeader;
static_assert(sizeof(FileHeader) == HEADER_BYTES, "as in the file");

typedef struct RecordHeader {
    uint64_t checksum;
    int64_t durable, n;
} RecordHeader;

/* Bytes to be written, at `at` in the file. */
typedef struct Pending {
    char *p;
    int64_t len, cap, at;
} Pending;

struct RedoLog {
    Vfs *vfs;
    VfsFile *file, *prepared;
    MemAccount *acct;
    Mutex mutex; /* of what follows */
    pthread_cond_t written, wake, joined;
    pthread_t thread;
    bool has_thread, stop;
    Pending next, now;           /* what is appended; what is being written, or found no room */
    bool writing;                /* by some thread, without the mutex */
    int32_t waiting, last_group; /* threads that wait for the next write; that waited for the last one */
    int64_t write_ns;            /* what that took */
    int64_t n_records, n_bytes, n_writes, all_write_ns, n_waits, all_wait_ns;
    int64_t first_lsn;            /* at HEADER_BYTES in the file */
    _Atomic int64_t end, durable; /* LSNs */
    Err failed;                   /* set: the log takes nothing more */
    Err full;                     /* set: the last write found no room */
    char last_error[256];         /* of a write */
};

static int64_t file_offset(int64_t first_lsn, int64_t lsn) { return HEADER_BYTES + (lsn - first_lsn); }
static uint64_t record_checksum(const RecordHeader *h, int64_t lsn, const char *bytes) {
    const int64_t with[] = {lsn, h->durable, h->n};
    return hash_combine(checksum64(with, (int64_t)sizeof with), checksum64(bytes, h->n));
}

/* ---- writing ---- */
static void describe(const Err *e, char out[256]) { snprintf(out, 256, "%s: %.200s", e->sqlstate, e->message); }
static bool is_full(const Err *e) { return strcmp(e->sqlstate, ERR_DISK_FULL) == 0; }

/* Those that waited for the last write are about to commit again, and a write takes as long for all of them as for the
 * first: it waits for most of them, and no longer than a part of the time that the last write took. */
static void gather(RedoLog *log) {
    enum { MOST = 4, PART = 4 };
    const int64_t until = clock_ns() + log->write_ns / PART;
    const int32_t enough = log->last_group - log->last_group / MOST;
    while (log->waiting < enough && cond_wait_until(&log->joined, &log->mutex, until)) {}
}
/* With the mutex, which it gives up meanwhile: writes and syncs all that is appended. */
static void write_all(RedoLog *log) {
    Err e = {0};
    log->writing = true;
    if (log->waiting < log->last_group) gather(log);
    log->last_group = log->waiting;
    log->waiting = 0;
    const int64_t began = clock_ns();
    if (log->now.len == 0) {
        const Pending empty = log->now;
        log->now = log->next;
        log->next = empty;
        log->next.at = log->now.at + log->now.len;
        log->next.len = 0;
    }
    const Pending w = log->now;
    mutex_unlock(&log->mutex);
    Status st = log->vfs->write_at(log->file, w.p, w.len, w.at, &e);
    const bool sync_failed = st == ST_OK && log->vfs->sync(log->file, &e) != ST_OK;
    mutex_lock(&log->mutex);
    log->writing = false;
    log->write_ns = clock_ns() - began;
    log->all_write_ns += log->write_ns;
    log->n_writes++;
    err_clear(&log->full);
    if (st != ST_OK || sync_failed) describe(&e, log->last_error);
    if (st == ST_OK && !sync_failed) {
        atomic_store(&log->durable, log->first_lsn + (w.at - HEADER_BYTES) + w.len);
        log->now.len = 0;
    } else if (!sync_failed && is_full(&e)) {
        err_copy(&log->full, &e);
    } else {
        err_copy(&log->failed, &e);
        log_write(LOG_ERROR, "the redo log has failed, nothing more is committed: %s", e.message);
    }
    pthread_cond_broadcast(&log->written);
}
static Status failed(const RedoLog *log, Err *e) {
    err_clear(e);
    (void)err_set(e, log->failed.sqlstate, "the redo log has failed: %s", log->failed.message);
    err_hint(e, "Nothing is committed until CHECKPOINT has saved the database, or it was opened again.");
    return ST_ERROR;
}
static Status full(const RedoLog *log, Err *e) {
    err_clear(e);
    (void)err_set(e, log->full.sqlstate, "there is no room for the redo log: %s", log->full.message);
    return ST_ERROR;
}

Status redo_log_wait(RedoLog *log, int64_t lsn, Err *e) {
    if (atomic_load(&log->durable) >= lsn) return ST_OK;
    Status st = ST_OK;
    mutex_lock(&log->mutex);
    bool tried = false; /* to write what found no room */
    const int64_t began = clock_ns();
    log->waiting++;
    if (log->writing) pthread_cond_signal(&log->joined);
    while (st == ST_OK && atomic_load(&log->durable) < lsn) {
        if (err_is_set(&log->failed)) st = failed(log, e);
        else if (log->writing) cond_wait(&log->written, &log->mutex);
        else if (err_is_set(&log->full) && tried) st = full(log, e);
        else tried = true, write_all(log);
    }
    log->n_waits++;
    log->all_wait_ns += clock_ns() - began;
    mutex_unlock(&log->mutex);
    return st;
}

static Status make_room(RedoLog *log, int64_t n, Err *e) {
    Pending *p = &log->next;
    if (p->cap - p->len >= n) return ST_OK;
    const int64_t cap = MAX_OF(MAX_OF(p->cap * 2, (int64_t)FIRST_ROOM), p->len + n);
    char *more = mem_realloc(log->acct, p->p, p->cap, cap, e);
    if (!more) return ST_ERROR;
    p->p = more;
    p->cap = cap;
    return ST_OK;
}
static void put_record(RedoLog *log, const void *bytes, int64_t n, int64_t padded) {
    const int64_t lsn = atomic_load(&log->end);
    char *at = log->next.p + log->next.len;
    RecordHeader h = {.durable = atomic_load(&log->durable), .n = n};
    h.checksum = record_checksum(&h, lsn, bytes);
    memcpy(at, &h, sizeof h);
    memcpy(at + sizeof h, bytes, (size_t)n);
    memset(at + sizeof h + n, 0, (size_t)(padded - n));
    log->next.len += (int64_t)sizeof h + padded;
    atomic_store(&log->end, lsn + (int64_t)sizeof h + padded);
}
Status redo_log_append(RedoLog *log, const void *bytes, int64_t n, int64_t *lsn, Err *e) {
    const int64_t padded = (n + RECORD_ALIGN - 1) / RECORD_ALIGN * RECORD_ALIGN;
    mutex_lock(&log->mutex);
    while (log->writing && err_is_set(&log->full)) cond_wait(&log->written, &log->mutex);
    if (err_is_set(&log->full) && !err_is_set(&log->failed)) write_all(log);
    Status st = err_is_set(&log->failed) ? failed(log, e) : err_is_set(&log->full) ? full(log, e) : ST_OK;
    if (st == ST_OK) st = make_room(log, (int64_t)sizeof(RecordHeader) + padded, e);
    if (st == ST_OK) put_record(log, bytes, n, padded);
    log->n_records += st == ST_OK;
    log->n_bytes += st == ST_OK ? (int64_t)sizeof(RecordHeader) + padded : 0;
    if (st == ST_OK) *lsn = atomic_load(&log->end);
    if (st == ST_OK && log->next.len == (int64_t)sizeof(RecordHeader) + padded) pthread_cond_signal(&log->wake);
    mutex_unlock(&log->mutex);
    return st;
}
int64_t redo_log_end(const RedoLog *log) { return atomic_load(&log->end); }
int64_t redo_log_durable(const RedoLog *log) { return atomic_load(&log->durable); }
int64_t redo_log_bytes(const RedoLog *log) { return file_offset(log->first_lsn, atomic_load(&log->end)); }

void redo_log_info(RedoLog *log, RedoLogInfo *out) {
    mutex_lock(&log->mutex);
    *out = (RedoLogInfo){.lsn = atomic_load(&log->end),
                         .durable = atomic_load(&log->durable),
                         .records = log->n_records,
                         .bytes = log->n_bytes,
                         .writes = log->n_writes,
                         .write_ns = log->all_write_ns,
                         .waits = log->n_waits,
                         .wait_ns = log->all_wait_ns,
                         .waiting = log->waiting};
    const Err *why = err_is_set(&log->failed) ? &log->failed : &log->full;
    if (err_is_set(why)) describe(why, out->failure);
    memcpy(out->last_error, log->last_error, sizeof out->last_error);
    mutex_unlock(&log->mutex);
}

/* Memory of a large record that has been written. */
static void give_back(RedoLog *log) {
    Pending *p = &log->next;
    if (p->len > 0 || p->cap <= KEPT_ROOM) return;
    mem_free(log->acct, p->p, p->cap);
    p->p = NULL;
    p->cap = 0;
}
/* Writes what no thread waits for. */
static void *write_late(void *arg) {
    RedoLog *log = arg;
    mutex_lock(&log->mutex);
    while (!log->stop) {
        give_back(log);
        if (atomic_load(&log->durable) == atomic_load(&log->end) || err_is_set(&log->failed)) {
            cond_wait(&log->wake, &log->mutex);
            continue;
        }
        /* what others append meanwhile, and write, wakes it */
        const int64_t until = clock_ns() + REDO_LOG_DELAY_MS * INT64_C(1000000);
        while (!log->stop && cond_wait_until(&log->wake, &log->mutex, until)) {}
        while (log->writing) cond_wait(&log->written, &log->mutex);
        const bool more = atomic_load(&log->durable) < atomic_load(&log->end);
        if (more && !err_is_set(&log->failed) && !log->stop) write_all(log);
    }
    mutex_unlock(&log->mutex);
    return NULL;
}
static Status start_thread(RedoLog *log, Err *e) {
    sigset_t all, old; /* signals are the embedding program's business */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    const int rc = pthread_create(&log->thread, NULL, write_late, log);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    log->has_thread = rc == 0;
    return rc == 0 ? ST_OK : err_set(e, ERR_SYSTEM, "no thread could be started that writes the redo log");
}

/* ---- opening and closing ---- */
static Status log_new(Vfs *vfs, const char *path, int mode, MemAccount *acct, RedoLog **out, Err *e) {
    RedoLog *log = mem_calloc(acct, (int64_t)sizeof *log, e);
    if (!log) return ST_ERROR;
    *log = (RedoLog){.vfs = vfs, .acct = acct};
    mutex_init(&log->mutex, RANK_REDO_LOG);
    cond_init(&log->written);
    cond_init(&log->wake);
    cond_init(&log->joined);
    *out = log;
    return vfs->open(vfs, path, mode, &log->file, e);
}
static void begin_at(RedoLog *log, int64_t first_lsn, int64_t offset) {
    log->first_lsn = first_lsn;
    log->next.at = offset;
    atomic_init(&log->end, first_lsn + (offset - HEADER_BYTES));
    atomic_init(&log->durable, first_lsn + (offset - HEADER_BYTES));
}
static Status opened(RedoLog *log, Status st, RedoLog **out, Err *e) {
    if (st == ST_OK) st = start_thread(log, e);
    if (st == ST_OK) return ST_OK;
    redo_log_discard(log);
    *out = NULL;
    return ST_ERROR;
}
static FileHeader header_of(int64_t generation, int64_t first_lsn) {
    FileHeader h = {.format = LOG_FORMAT, .generation = generation, .first_lsn = first_lsn};
    memcpy(h.magic, magic, sizeof h.magic);
    h.checksum = checksum64(&h, offsetof(FileHeader, checksum));
    return h;
}
/* The name is that of a whole file at any time. */
static Status new_file(Vfs *vfs, const char *path, const FileHeader *h, MemAccount *acct, Err *e) {
    static const char end[] = ".tmp";
    const int64_t n = (int64_t)strlen(path), size = n + (int64_t)sizeof end;
    char *tmp = mem_alloc(acct, size, e);
    if (!tmp) return ST_ERROR;
    memcpy(tmp, path, (size_t)n);
    memcpy(tmp + n, end, sizeof end);
    Status st = vfs_write_file(vfs, tmp, h, (int64_t)sizeof *h, e);
    if (st == ST_OK) st = vfs->rename(vfs, tmp, path, e);
    mem_free(acct, tmp, size);
    return st;
}
Status redo_log_create(Vfs *vfs, const char *path, int64_t generation, int64_t first_lsn, MemAccount *acct,
                       RedoLog **out, Err *e) {
    const FileHeader h = header_of(generation, first_lsn);
    *out = NULL;
    TRY(new_file(vfs, path, &h, acct, e));
    Status st = log_new(vfs, path, VFS_READ | VFS_WRITE, acct, out, e);
    if (!*out) return st;
    begin_at(*out, first_lsn, HEADER_BYTES);
    return opened(*out, st, out, e);
}
Status redo_log_prepare(RedoLog *log, const char *path, int64_t generation, Err *e) {
    dbg_assert(!log->prepared);
    const FileHeader h = header_of(generation, redo_log_end(log));
    TRY(vfs_write_file(log->vfs, path, &h, (int64_t)sizeof h, e));
    return log->vfs->open(log->vfs, path, VFS_READ | VFS_WRITE, &log->prepared, e);
}
void redo_log_unprepare(RedoLog *log) {
    Err ignored = {0};
    if (log->prepared) (void)log->vfs->close(log->prepared, &ignored);
    log->prepared = NULL;
}
void redo_log_switch(RedoLog *log) {
    Err ignored = {0};
    mutex_lock(&log->mutex);
    while (log->writing) cond_wait(&log->written, &log->mutex);
    VfsFile *old = log->file;
    log->file = log->prepared;
    log->prepared = NULL;
    log->now.len = log->next.len = 0;
    log->first_lsn = atomic_load(&log->end);
    log->next.at = HEADER_BYTES;
    atomic_store(&log->durable, log->first_lsn);
    err_clear(&log->full);
    err_clear(&log->failed);
    pthread_cond_broadcast(&log->written);
    mutex_unlock(&log->mutex);
    (void)log->vfs->close(old, &ignored);
}
void redo_log_fail(RedoLog *log, const Err *why) {
    mutex_lock(&log->mutex);
    if (!err_is_set(&log->failed)) err_copy(&log->failed, why);
    pthread_cond_broadcast(&log->written);
    mutex_unlock(&log->mutex);
}
static void log_free(RedoLog *log, bool write) {
    Err e = {0};
    if (!log) return;
    if (write && redo_log_wait(log, redo_log_end(log), &e) != ST_OK)
        log_write(LOG_ERROR, "the redo log's last records were not written: %s", e.message);
    mutex_lock(&log->mutex);
    log->stop = true;
    pthread_cond_broadcast(&log->wake);
    mutex_unlock(&log->mutex);
    if (log->has_thread) pthread_join(log->thread, NULL);
    err_clear(&e);
    redo_log_unprepare(log);
    if (log->file) (void)log->vfs->close(log->file, &e);
    mem_free(log->acct, log->next.p, log->next.cap);
    mem_free(log->acct, log->now.p, log->now.cap);
    pthread_cond_destroy(&log->joined);
    pthread_cond_destroy(&log->wake);
    pthread_cond_destroy(&log->written);
    mutex_destroy(&log->mutex);
    mem_free(log->acct, log, (int64_t)sizeof *log);
}
void redo_log_close(RedoLog *log) { log_free(log, true); }
void redo_log_discard(RedoLog *log) { log_free(log, false); }

/* ---- reading ---- */
static Status read_header(RedoReader *r, Err *e) {
    FileHeader h;
    if (r->size < (int64_t)sizeof h) return err_corrupted(e, r->path, r->size, "file is too short");
    memcpy(&h, r->p, sizeof h);
    if (memcmp(h.magic, magic, sizeof h.magic) != 0) return err_corrupted(e, r->path, 0, "not a redo log");
    if (!checksum_matches(&h, offsetof(FileHeader, checksum), h.checksum))
        return err_corrupted(e, r->path, 0, "header checksum does not match");
    if (h.format != LOG_FORMAT) return err_corrupted(e, r->path, 8, "unknown format");
    r->generation = h.generation;
    r->first_lsn = h.first_lsn;
    r->at = HEADER_BYTES;
    return ST_OK;
}
Status redo_reader_open(Vfs *vfs, const char *path, RedoReader *r, bool *there, Err *e) {
    *r = (RedoReader){.vfs = vfs, .path = path};
    TRY(vfs->exists(vfs, path, there, e));
    if (!*there) return ST_OK;
    TRY(vfs->open(vfs, path, VFS_READ, &r->file, e));
    Status st = vfs->size(r->file, &r->size, e);
    const void *p = NULL;
    if (st == ST_OK) st = vfs->map(r->file, r->size, &p, e);
    r->p = p;
    if (st == ST_OK) st = read_header(r, e);
    if (st != ST_OK) redo_reader_close(r);
    return st;
}
static int64_t lsn_at(const RedoReader *r, int64_t at) { return r->first_lsn + (at - HEADER_BYTES); }
/* The record at an offset; false: there is none. */
static bool record_at(const RedoReader *r, int64_t at, RecordHeader *h) {
    if (r->size - at < (int64_t)sizeof *h) return false;
    memcpy(h, r->p + at, sizeof *h);
    if (h->n < 0 || h->n > r->size - at - (int64_t)sizeof *h || h->durable > lsn_at(r, at)) return false;
    return record_checksum(h, lsn_at(r, at), r->p + at + sizeof *h) == h->checksum;
}
/* No record is at `at`. Is there one behind it that was appended when this place was on the disk? */
static bool was_durable(const RedoReader *r, int64_t at) {
    RecordHeader h;
    for (int64_t i = at + RECORD_ALIGN; i < r->size; i += RECORD_ALIGN)
        if (record_at(r, i, &h) && file_offset(r->first_lsn, h.durable) > at) return true;
    return false;
}
Status redo_reader_next(RedoReader *r, RedoRecord *out, bool *got, Err *e) {
    RecordHeader h;
    *got = record_at(r, r->at, &h);
    if (!*got && was_durable(r, r->at)) return err_corrupted(e, r->path, r->at, "a record of the redo log is damaged");
    if (!*got) return ST_OK;
    *out = (RedoRecord){.bytes = r->p + r->at + sizeof h, .n = h.n, .lsn = lsn_at(r, r->at)};
    r->at += (int64_t)sizeof h + (h.n + RECORD_ALIGN - 1) / RECORD_ALIGN * RECORD_ALIGN;
    return ST_OK;
}
void redo_reader_rewind(RedoReader *r) { r->at = HEADER_BYTES; }
void redo_reader_close(RedoReader *r) {
    Err ignored = {0};
    if (r->p) r->vfs->unmap(r->p, r->size);
    if (r->file) (void)r->vfs->close(r->file, &ignored);
    r->p = NULL;
    r->file = NULL;
}
