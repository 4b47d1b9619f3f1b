/* redo_log.c - see redo_log.h. */
#include "log/redo_log.h"

#include <signal.h>
#include <stdio.h>

#include "base/cond.h"
#include "base/hash.h"
#include "base/log.h"

enum {
    LOG_FORMAT = 2,
    HEADER_BYTES = 64,
    FIRST_AT = 128,
    RECORD_ALIGN = 8,
    FIRST_ROOM = 64 << 10,
    KEPT_ROOM = 1 << 20,
    MADE_HEAD =
        1 << 20, /* before a record that is made beside: for its header, and for what has been appended before */
    MADE_TAIL = 64 << 10 /* behind it, for what is appended next */
};
static const char magic[8] = "STELELOG", begin_magic[8] = "LOGBEGIN";

typedef struct FileHeader {
    char magic[8];
    uint32_t format, zero;
    int64_t generation;
    int64_t database; /* format 1: LSN of the first record, and the others are 0 */
    int64_t timeline, previous, unused;
    uint64_t checksum;
} FileHeader;
typedef struct FileBegin {
    char magic[8];
    int64_t first_lsn;
    char unused[40];
    uint64_t checksum;
} FileBegin;
static_assert(sizeof(FileHeader) == HEADER_BYTES && sizeof(FileBegin) == FIRST_AT - HEADER_BYTES, "as in the file");

typedef struct RecordHeader {
    uint64_t checksum;
    int64_t durable, n;
} RecordHeader;

/* Writes at a time, each with a handle of its own: when the kernel could not write, the next sync of each handle fails,
 * and only the first of several that share one would. */
enum { WRITES = 8 };
typedef struct LogFile {
    VfsFile *handles[WRITES];
} LogFile;
/* Bytes to be written, at `at` in a file. */
typedef struct Pending {
    LogFile *file;
    int64_t first_lsn; /* at FIRST_AT in the file */
    char *p;
    int64_t from; /* they begin there in p, which has room for cap */
    int64_t len, cap, at;
} Pending;
typedef enum WriteState {
    WRITE_NONE,
    WRITE_UNDER_WAY, /* by some thread, without the mutex */
    WRITE_DONE,      /* on the disk, but one before it is not */
    WRITE_REFUSED,   /* it found no room */
    WRITE_FAILED,
} WriteState;
/* What is written together. */
typedef struct LogWrite {
    Pending bytes;
    WriteState state;
} LogWrite;

struct RedoLog {
    Vfs *vfs;
    LogFile *prepared;
    RedoLogId prepared_id;
    MemAccount *acct;
    Mutex mutex;                       /* of what follows */
    pthread_cond_t changed, wake;      /* changed: a write has ended; wake: the thread */
    pthread_cond_t groups[WRITES + 1]; /* of threads that wait for a write, by its number; one more: for the next */
    pthread_t thread;
    bool has_thread, stop, soon; /* soon: the thread does not wait for what others write */
    Pending next;                /* what is appended, to the file in use */
    Pending tail;                /* the end of the file before; no bytes: that is taken */
    LogWrite writes[WRITES];     /* the k-th of all at k % WRITES */
    int64_t n_ended, n_begun;    /* so many have begun; from `n_ended` on one is not on the disk with all before it */
    bool begun;                  /* the beginning of the file in use is on the disk */
    int32_t waiting;             /* threads */
    struct {
        int64_t records, bytes, writes, write_ns, waits, wait_ns;
    } sums;
    _Atomic int64_t end, durable; /* LSNs */
    _Atomic int64_t first_lsn;    /* of the file in use */
    Err failed;                   /* set: the log takes nothing more */
    Err full;                     /* set: a write is refused, or was and is tried again */
    char last_error[256];         /* of a write */
};

static int64_t lsn_behind(const Pending *p) { return p->first_lsn + (p->at + p->len - FIRST_AT); }
/* Nothing but perhaps the file's beginning. */
static bool has_no_record(const Pending *p) { return p->at + p->len <= FIRST_AT || p->len == 0; }
static uint64_t sealed(const RecordHeader *h, int64_t lsn, uint64_t checksum) {
    const int64_t with[] = {lsn, h->durable, h->n};
    return hash_combine(checksum64(with, (int64_t)sizeof with), checksum);
}
static uint64_t record_checksum(const RecordHeader *h, int64_t lsn, const char *bytes) {
    return sealed(h, lsn, checksum64(bytes, h->n));
}

/* ---- writing ---- */
static void describe(const Err *e, char out[256]) { snprintf(out, 256, "%s: %.200s", e->sqlstate, e->message); }
static bool is_full(const Err *e) { return strcmp(e->sqlstate, ERR_DISK_FULL) == 0; }

static void close_handles(Vfs *vfs, MemAccount *acct, LogFile *f) {
    Err ignored = {0};
    for (int i = 0; f && i < WRITES; i++)
        if (f->handles[i]) (void)vfs->close(f->handles[i], &ignored);
    mem_free(acct, f, (int64_t)sizeof *f);
}
static void close_file(const RedoLog *log, LogFile *f) { close_handles(log->vfs, log->acct, f); }
static LogWrite *write_of(RedoLog *log, int64_t number) { return &log->writes[number % WRITES]; }
static pthread_cond_t *group(RedoLog *log, int64_t number) { return &log->groups[number % (WRITES + 1)]; }
static LogWrite *refused_write(RedoLog *log) {
    for (int64_t k = log->n_ended; k < log->n_begun; k++)
        if (write_of(log, k)->state == WRITE_REFUSED) return write_of(log, k);
    return NULL;
}
/* All that `from` has is to be written now, and comes more to it, behind that. */
static void take(Pending *from, Pending *to) {
    const Pending empty = *to;
    *to = *from;
    from->p = empty.p;
    from->from = 0;
    from->cap = empty.cap;
    from->at += from->len;
    from->len = 0;
}
/* With the mutex: takes what is appended, first what is left of the file before. NULL: there is nothing, or it has to
 * wait: for one of the others, for room on the disk, or for the end of the file before. */
static LogWrite *begin_write(RedoLog *log) {
    Pending *from = log->tail.len > 0 ? &log->tail : &log->next;
    const int64_t n = log->n_begun - log->n_ended; /* under way */
    if (from->len == 0 || n == WRITES || err_is_set(&log->full)) return NULL;
    if (n > 0 && write_of(log, log->n_begun - 1)->bytes.file != from->file) return NULL;
    LogWrite *f = write_of(log, log->n_begun++);
    take(from, &f->bytes);
    return f;
}
/* The file is not the one in use, and all of it is written. */
static bool is_done(RedoLog *log, const LogFile *file) {
    if (file == log->next.file || (log->tail.len > 0 && log->tail.file == file)) return false;
    return log->n_ended == log->n_begun || write_of(log, log->n_ended)->bytes.file != file;
}
/* Writes that are on the disk with all before them; who waits for the next one can write it now. */
static void end_writes(RedoLog *log) {
    while (log->n_ended < log->n_begun && write_of(log, log->n_ended)->state == WRITE_DONE) {
        LogWrite *f = write_of(log, log->n_ended);
        LogFile *file = f->bytes.file;
        atomic_store(&log->durable, lsn_behind(&f->bytes));
        log->begun |= file == log->next.file;
        f->state = WRITE_NONE;
        f->bytes.len = 0;
        pthread_cond_broadcast(group(log, log->n_ended++));
        if (is_done(log, file)) close_file(log, file);
    }
    pthread_cond_signal(group(log, log->n_begun));
}
static void wake_all(RedoLog *log) {
    for (int i = 0; i <= WRITES; i++) pthread_cond_broadcast(&log->groups[i]);
    pthread_cond_broadcast(&log->changed);
}
/* With the mutex, which it gives up meanwhile: writes and syncs it. False: it found no room. */
static bool do_write(RedoLog *log, LogWrite *f) {
    Err e = {0};
    const Pending w = f->bytes;
    VfsFile *file = w.file->handles[f - log->writes];
    f->state = WRITE_UNDER_WAY;
    mutex_unlock(&log->mutex);
    const int64_t began = clock_ns();
    const Status st = log->vfs->write_at(file, w.p + w.from, w.len, w.at, &e);
    const bool sync_failed = st == ST_OK && log->vfs->sync(file, &e) != ST_OK;
    const int64_t took = clock_ns() - began;
    mutex_lock(&log->mutex);
    log->sums.write_ns += took;
    log->sums.writes++;
    if (st == ST_OK && !sync_failed) {
        f->state = WRITE_DONE;
        if (!refused_write(log)) err_clear(&log->full);
        end_writes(log);
        pthread_cond_broadcast(&log->changed);
        return true;
    }
    describe(&e, log->last_error);
    const bool refused = !sync_failed && is_full(&e);
    f->state = refused ? WRITE_REFUSED : WRITE_FAILED;
    if (!refused) log_write(LOG_ERROR, "the redo log has failed, nothing more is committed: %s", e.message);
    err_clear(&log->full);
    if (refused) err_copy(&log->full, &e);
    else if (!err_is_set(&log->failed)) err_copy(&log->failed, &e);
    wake_all(log);
    return !refused;
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

static bool is_written(const RedoLog *log, int64_t lsn, bool begun) {
    return atomic_load(&log->durable) >= lsn && (!begun || log->begun);
}
/* The write that has, or will have, the LSN's last bytes. */
static int64_t number_of(RedoLog *log, int64_t lsn) {
    int64_t k = log->n_ended;
    while (k < log->n_begun && lsn_behind(&write_of(log, k)->bytes) < lsn) k++;
    return k;
}
/* With the mutex: up to the LSN, and if `begun` the beginning of the file in use. */
static Status wait_written(RedoLog *log, int64_t lsn, bool begun, Err *e) {
    Status st = ST_OK;
    bool tried = false; /* to write what found no room */
    LogWrite *f;
    log->waiting++;
    while (st == ST_OK && !is_written(log, lsn, begun)) {
        if (err_is_set(&log->failed)) st = failed(log, e);
        else if ((f = refused_write(log)) && tried) st = full(log, e);
        else if (f || (f = begin_write(log))) tried |= !do_write(log, f);
        else cond_wait(begun ? &log->changed : group(log, number_of(log, lsn)), &log->mutex);
    }
    log->waiting--;
    return st;
}
Status redo_log_wait(RedoLog *log, int64_t lsn, Err *e) {
    if (atomic_load(&log->durable) >= lsn) return ST_OK;
    mutex_lock(&log->mutex);
    const int64_t began = clock_ns();
    const Status st = wait_written(log, lsn, false, e);
    log->sums.waits++;
    log->sums.wait_ns += clock_ns() - began;
    mutex_unlock(&log->mutex);
    return st;
}
Status redo_log_begun(RedoLog *log, Err *e) {
    mutex_lock(&log->mutex);
    const Status st = wait_written(log, atomic_load(&log->first_lsn), true, e);
    mutex_unlock(&log->mutex);
    return st;
}
void redo_log_fail(RedoLog *log, const Err *why) {
    mutex_lock(&log->mutex);
    if (!err_is_set(&log->failed)) err_copy(&log->failed, why);
    wake_all(log);
    mutex_unlock(&log->mutex);
}
bool redo_log_failed(RedoLog *log) {
    mutex_lock(&log->mutex);
    const bool is = err_is_set(&log->failed);
    mutex_unlock(&log->mutex);
    return is;
}

static int64_t record_bytes(int64_t n) {
    return (int64_t)sizeof(RecordHeader) + (n + RECORD_ALIGN - 1) / RECORD_ALIGN * RECORD_ALIGN;
}
static Status make_room(const RedoLog *log, Pending *p, int64_t n, Err *e) {
    const int64_t end = p->from + p->len;
    if (p->cap - end >= n) return ST_OK;
    const int64_t cap = MAX_OF(MAX_OF(p->cap * 2, (int64_t)FIRST_ROOM), end + n);
    char *more = mem_realloc(log->acct, p->p, p->cap, cap, e);
    if (!more) return ST_ERROR;
    p->p = more;
    p->cap = cap;
    return ST_OK;
}
/* `next` has a record more, of so many bytes. The LSN behind it. */
static int64_t count_record(RedoLog *log, int64_t all) {
    const int64_t lsn = atomic_load(&log->end) + all;
    log->next.len += all;
    log->sums.records++;
    log->sums.bytes += all;
    atomic_store(&log->end, lsn);
    return lsn;
}
/* The LSN behind it. */
static int64_t put_record(RedoLog *log, const void *bytes, int64_t n) {
    const int64_t lsn = atomic_load(&log->end), all = record_bytes(n);
    char *at = log->next.p + log->next.from + log->next.len;
    RecordHeader h = {.durable = atomic_load(&log->durable), .n = n};
    h.checksum = record_checksum(&h, lsn, bytes);
    memcpy(at, &h, sizeof h);
    memcpy(at + sizeof h, bytes, (size_t)n);
    memset(at + sizeof h + n, 0, (size_t)(all - (int64_t)sizeof h - n));
    return count_record(log, all);
}
/* With the mutex: room for another record, so far as the last write tells; one that found none is tried again. */
static Status has_room(RedoLog *log, Err *e) {
    LogWrite *f = NULL;
    while (err_is_set(&log->full) && !err_is_set(&log->failed) && !(f = refused_write(log)))
        cond_wait(&log->changed, &log->mutex);
    while (f && !err_is_set(&log->failed) && do_write(log, f)) f = refused_write(log);
    return err_is_set(&log->full) && !err_is_set(&log->failed) ? full(log, e) : ST_OK;
}
static Status takes_more(RedoLog *log, Err *e) {
    TRY(has_room(log, e));
    return err_is_set(&log->failed) ? failed(log, e) : ST_OK;
}
Status redo_log_takes_more(RedoLog *log, Err *e) {
    mutex_lock(&log->mutex);
    const Status st = takes_more(log, e);
    mutex_unlock(&log->mutex);
    return st;
}
static Status append(RedoLog *log, const void *bytes, int64_t n, bool has_happened, int64_t *lsn, Err *e) {
    mutex_lock(&log->mutex);
    Status st = has_happened ? ST_OK : has_room(log, e);
    if (st == ST_OK && err_is_set(&log->failed)) st = failed(log, e);
    if (st == ST_OK) st = make_room(log, &log->next, record_bytes(n), e);
    if (st == ST_OK && has_no_record(&log->next)) pthread_cond_signal(&log->wake);
    if (st == ST_OK) *lsn = put_record(log, bytes, n);
    mutex_unlock(&log->mutex);
    return st;
}
Status redo_log_append(RedoLog *log, const void *bytes, int64_t n, int64_t *lsn, Err *e) {
    return append(log, bytes, n, false, lsn, e);
}
Status redo_log_append_outcome(RedoLog *log, const void *bytes, int64_t n, int64_t *lsn, Err *e) {
    return append(log, bytes, n, true, lsn, e);
}
void redo_log_write_soon(RedoLog *log) {
    mutex_lock(&log->mutex);
    log->soon = true;
    pthread_cond_signal(&log->wake);
    mutex_unlock(&log->mutex);
}
void redo_log_begin_made(RedoLog *log, MadeRecord *r, Err *e) {
    *r = (MadeRecord){.bytes = {.acct = log->acct, .e = e}, .at = MADE_HEAD};
    (void)bytes_put_room(&r->bytes, MADE_HEAD);
}
Status redo_log_end_made(MadeRecord *r, Err *e) {
    r->n = r->bytes.len - r->at;
    char *tail = bytes_put_room(&r->bytes, MADE_TAIL);
    if (!tail) return err_is_set(e) ? ST_ERROR : err_oom(e);
    memset(tail, 0, RECORD_ALIGN); /* what the record is padded with */
    r->checksum = checksum64(r->bytes.p + r->at, r->n);
    return ST_OK;
}
void redo_log_release_made(MadeRecord *r) {
    bytes_out_release(&r->bytes);
    *r = (MadeRecord){0};
}
/* With the mutex. What has been appended goes before the record, whose buffer is the next one. false: that is too much.
 */
static bool take_made(RedoLog *log, MadeRecord *r) {
    Pending *p = &log->next;
    RecordHeader h = {.durable = atomic_load(&log->durable), .n = r->n};
    const int64_t head = r->at - (int64_t)sizeof h;
    if (p->len > head || log->acct != r->bytes.acct) return false;
    h.checksum = sealed(&h, atomic_load(&log->end), r->checksum);
    memcpy(r->bytes.p + head, &h, sizeof h);
    if (p->len > 0) memcpy(r->bytes.p + head - p->len, p->p + p->from, (size_t)p->len);
    mem_free(log->acct, p->p, p->cap);
    p->p = r->bytes.p;
    p->cap = r->bytes.cap;
    p->from = head - p->len;
    r->bytes = (BytesOut){0};
    return true;
}
Status redo_log_append_made(RedoLog *log, MadeRecord *r, int64_t *lsn, Err *e) {
    bool taken = false;
    mutex_lock(&log->mutex);
    const Status st = takes_more(log, e);
    const bool first = has_no_record(&log->next);
    if (st == ST_OK) taken = take_made(log, r);
    if (taken && first) pthread_cond_signal(&log->wake);
    if (taken) *lsn = count_record(log, record_bytes(r->n));
    mutex_unlock(&log->mutex);
    return st != ST_OK || taken ? st : redo_log_append(log, r->bytes.p + r->at, r->n, lsn, e);
}
int64_t redo_log_end(const RedoLog *log) { return atomic_load(&log->end); }
int64_t redo_log_durable(const RedoLog *log) { return atomic_load(&log->durable); }
int64_t redo_log_bytes(const RedoLog *log) {
    return FIRST_AT + (atomic_load(&log->end) - atomic_load(&log->first_lsn));
}

void redo_log_info(RedoLog *log, RedoLogInfo *out) {
    mutex_lock(&log->mutex);
    *out = (RedoLogInfo){.lsn = atomic_load(&log->end),
                         .durable = atomic_load(&log->durable),
                         .records = log->sums.records,
                         .bytes = log->sums.bytes,
                         .writes = log->sums.writes,
                         .write_ns = log->sums.write_ns,
                         .waits = log->sums.waits,
                         .wait_ns = log->sums.wait_ns,
                         .waiting = log->waiting};
    const Err *why = err_is_set(&log->failed) ? &log->failed : &log->full;
    if (err_is_set(why)) describe(why, out->failure);
    memcpy(out->last_error, log->last_error, sizeof out->last_error);
    mutex_unlock(&log->mutex);
}

/* Memory of a large record that has been written. */
static void give_back(const RedoLog *log, Pending *p) {
    if (p->len > 0 || p->cap <= KEPT_ROOM) return;
    mem_free(log->acct, p->p, p->cap);
    p->p = NULL;
    p->from = p->cap = 0;
}
static bool has_pending(const RedoLog *log) { return log->next.len > 0 || log->tail.len > 0; }
/* Writes what no thread waits for. */
static void *write_late(void *arg) {
    RedoLog *log = arg;
    mutex_lock(&log->mutex);
    while (!log->stop) {
        give_back(log, &log->next);
        give_back(log, &log->tail);
        for (int i = 0; i < WRITES; i++)
            if (log->writes[i].state == WRITE_NONE) give_back(log, &log->writes[i].bytes);
        if (atomic_load(&log->durable) == atomic_load(&log->end) || err_is_set(&log->failed)) {
            cond_wait(&log->wake, &log->mutex);
            continue;
        }
        /* what others append meanwhile, and write, wakes it */
        const int64_t until = clock_ns() + REDO_LOG_DELAY_MS * INT64_C(1000000);
        while (!log->stop && !log->soon && cond_wait_until(&log->wake, &log->mutex, until)) {}
        log->soon = false;
        LogWrite *f = NULL;
        while (!log->stop && !err_is_set(&log->failed) && atomic_load(&log->durable) < atomic_load(&log->end) &&
               !(f = refused_write(log)) && !(f = begin_write(log)) && has_pending(log))
            cond_wait(&log->changed, &log->mutex);
        if (f) (void)do_write(log, f);
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
static FileHeader header_of(const RedoLogId *id) {
    FileHeader h = {.format = LOG_FORMAT,
                    .generation = id->generation,
                    .database = id->database,
                    .timeline = id->timeline,
                    .previous = id->previous};
    memcpy(h.magic, magic, sizeof h.magic);
    h.checksum = checksum64(&h, offsetof(FileHeader, checksum));
    return h;
}
static uint64_t begin_checksum(const RedoLogId *id, const FileBegin *b) {
    const int64_t with[] = {id->database, id->timeline, id->generation, id->previous};
    return hash_combine(checksum64(with, (int64_t)sizeof with), checksum64(b, offsetof(FileBegin, checksum)));
}
static FileBegin begin_of(const RedoLogId *id, int64_t first_lsn) {
    FileBegin b = {.first_lsn = first_lsn};
    memcpy(b.magic, begin_magic, sizeof b.magic);
    b.checksum = begin_checksum(id, &b);
    return b;
}
/* The name is that of a whole file at any time. */
static Status new_file(Vfs *vfs, const char *path, const void *bytes, int64_t size, MemAccount *acct, Err *e) {
    static const char end[] = ".tmp";
    const int64_t n = (int64_t)strlen(path), room = n + (int64_t)sizeof end;
    char *tmp = mem_alloc(acct, room, e);
    if (!tmp) return ST_ERROR;
    memcpy(tmp, path, (size_t)n);
    memcpy(tmp + n, end, sizeof end);
    Status st = vfs_write_file(vfs, tmp, bytes, size, e);
    if (st == ST_OK) st = vfs->rename(vfs, tmp, path, e);
    mem_free(acct, tmp, room);
    return st;
}
static Status open_file(Vfs *vfs, const char *path, MemAccount *acct, LogFile **out, Err *e) {
    LogFile *f = mem_calloc(acct, (int64_t)sizeof *f, e);
    Status st = f ? ST_OK : ST_ERROR;
    for (int i = 0; st == ST_OK && i < WRITES; i++) st = vfs->open(vfs, path, VFS_READ | VFS_WRITE, &f->handles[i], e);
    if (st == ST_OK) *out = f;
    else close_handles(vfs, acct, f);
    return st;
}
static Status whole_file(Vfs *vfs, const char *path, const RedoLogId *id, int64_t lsn, MemAccount *acct, LogFile **out,
                         Err *e) {
    char bytes[FIRST_AT];
    const FileHeader h = header_of(id);
    const FileBegin b = begin_of(id, lsn);
    memcpy(bytes, &h, sizeof h);
    memcpy(bytes + sizeof h, &b, sizeof b);
    TRY(new_file(vfs, path, bytes, (int64_t)sizeof bytes, acct, e));
    return open_file(vfs, path, acct, out, e);
}
/* Nothing is pending. */
static void begin_file(RedoLog *log, LogFile *file, int64_t first_lsn, int64_t at) {
    log->next.file = file;
    log->next.first_lsn = first_lsn;
    log->next.at = at;
    log->next.from = log->next.len = 0;
    atomic_store(&log->first_lsn, first_lsn);
    log->begun = at == FIRST_AT;
}
Status redo_log_create(Vfs *vfs, const char *path, const RedoLogId *id, int64_t first_lsn, MemAccount *acct,
                       RedoLog **out, Err *e) {
    LogFile *file = NULL;
    *out = NULL;
    TRY(whole_file(vfs, path, id, first_lsn, acct, &file, e));
    RedoLog *log = mem_calloc(acct, (int64_t)sizeof *log, e);
    if (!log) return close_handles(vfs, acct, file), ST_ERROR;
    *log = (RedoLog){.vfs = vfs, .acct = acct};
    mutex_init(&log->mutex, RANK_REDO_LOG);
    cond_init(&log->changed);
    cond_init(&log->wake);
    for (int i = 0; i <= WRITES; i++) cond_init(&log->groups[i]);
    atomic_init(&log->end, first_lsn);
    atomic_init(&log->durable, first_lsn);
    begin_file(log, file, first_lsn, FIRST_AT);
    const Status st = start_thread(log, e);
    if (st == ST_OK) *out = log;
    else redo_log_discard(log);
    return st;
}

Status redo_log_prepare(RedoLog *log, const char *path, const RedoLogId *id, Err *e) {
    dbg_assert(!log->prepared);
    const FileHeader h = header_of(id);
    log->prepared_id = *id;
    TRY(new_file(log->vfs, path, &h, (int64_t)sizeof h, log->acct, e));
    return open_file(log->vfs, path, log->acct, &log->prepared, e);
}
Status redo_log_remake(RedoLog *log, const char *path, const RedoLogId *id, Err *e) {
    redo_log_unprepare(log);
    return whole_file(log->vfs, path, id, redo_log_end(log), log->acct, &log->prepared, e);
}
void redo_log_unprepare(RedoLog *log) {
    close_file(log, log->prepared);
    log->prepared = NULL;
}
/* With the mutex. What was appended to the file before is its tail, unless it is being written already. */
static void switch_files(RedoLog *log, Pending *fresh) {
    const FileBegin b = begin_of(&log->prepared_id, atomic_load(&log->end));
    dbg_assert(log->tail.len == 0 && log->next.len > 0);
    mem_free(log->acct, log->tail.p, log->tail.cap);
    log->tail = log->next;
    log->next = *fresh;
    begin_file(log, log->prepared, b.first_lsn, HEADER_BYTES);
    memcpy(log->next.p, &b, sizeof b);
    log->next.len = (int64_t)sizeof b;
    log->prepared = NULL;
}
Status redo_log_switch(RedoLog *log, const void *bytes, int64_t n, Err *e) {
    Pending fresh = {0};
    mutex_lock(&log->mutex);
    Status st = takes_more(log, e);
    while (st == ST_OK && log->tail.len > 0) { /* of a switch just before */
        LogWrite *f = begin_write(log);
        if (f) (void)do_write(log, f);
        else cond_wait(&log->changed, &log->mutex);
        st = takes_more(log, e);
    }
    if (st == ST_OK) st = make_room(log, &log->next, record_bytes(n), e);
    if (st == ST_OK) st = make_room(log, &fresh, FIRST_ROOM, e);
    if (st == ST_OK) {
        (void)put_record(log, bytes, n);
        switch_files(log, &fresh);
        pthread_cond_signal(&log->wake);
    }
    mutex_unlock(&log->mutex);
    return st;
}
static bool is_writing(RedoLog *log) {
    bool is = false;
    for (int64_t k = log->n_ended; k < log->n_begun; k++) is |= write_of(log, k)->state == WRITE_UNDER_WAY;
    return is;
}
/* With the mutex: files that are not in use any more; what they would get is not written. Those under way are all of
 * one file.
 */
static void close_others(RedoLog *log) {
    LogFile *writing = NULL, *tail = log->tail.len > 0 ? log->tail.file : NULL;
    for (; log->n_ended < log->n_begun; log->n_ended++) {
        LogWrite *f = write_of(log, log->n_ended);
        writing = f->bytes.file;
        f->state = WRITE_NONE;
        f->bytes.len = 0;
    }
    if (tail != log->next.file) close_file(log, tail);
    if (writing != tail && writing != log->next.file) close_file(log, writing);
    log->tail.len = 0;
}
void redo_log_renew(RedoLog *log) {
    mutex_lock(&log->mutex);
    while (is_writing(log)) cond_wait(&log->changed, &log->mutex);
    close_others(log);
    close_file(log, log->next.file);
    begin_file(log, log->prepared, atomic_load(&log->end), FIRST_AT);
    log->prepared = NULL;
    atomic_store(&log->durable, atomic_load(&log->end));
    err_clear(&log->full);
    err_clear(&log->failed);
    wake_all(log);
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
    redo_log_unprepare(log);
    close_others(log);
    close_file(log, log->next.file);
    mem_free(log->acct, log->next.p, log->next.cap);
    mem_free(log->acct, log->tail.p, log->tail.cap);
    for (int i = 0; i < WRITES; i++) mem_free(log->acct, log->writes[i].bytes.p, log->writes[i].bytes.cap);
    for (int i = 0; i <= WRITES; i++) pthread_cond_destroy(&log->groups[i]);
    pthread_cond_destroy(&log->wake);
    pthread_cond_destroy(&log->changed);
    mutex_destroy(&log->mutex);
    mem_free(log->acct, log, (int64_t)sizeof *log);
}
void redo_log_close(RedoLog *log) { log_free(log, true); }
void redo_log_discard(RedoLog *log) { log_free(log, false); }

/* ---- reading ---- */
static void read_begin(RedoReader *r) {
    FileBegin b;
    r->first_at = FIRST_AT;
    if (r->size < FIRST_AT) return;
    memcpy(&b, r->p + HEADER_BYTES, sizeof b);
    r->begun = memcmp(b.magic, begin_magic, sizeof b.magic) == 0 && b.checksum == begin_checksum(&r->id, &b);
    if (r->begun) r->first_lsn = b.first_lsn;
}
static Status read_header(RedoReader *r, Err *e) {
    FileHeader h;
    if (r->size < (int64_t)sizeof h) return err_corrupted(e, r->path, r->size, "file is too short");
    memcpy(&h, r->p, sizeof h);
    if (memcmp(h.magic, magic, sizeof h.magic) != 0) return err_corrupted(e, r->path, 0, "not a redo log");
    if (!checksum_matches(&h, offsetof(FileHeader, checksum), h.checksum))
        return err_corrupted(e, r->path, 0, "header checksum does not match");
    if (h.format < 1 || h.format > LOG_FORMAT) return err_corrupted(e, r->path, 8, "unknown format");
    r->format = h.format;
    r->id.generation = h.generation;
    if (h.format == 1) {
        r->begun = true;
        r->first_lsn = h.database;
        r->first_at = HEADER_BYTES;
    } else {
        r->id.database = h.database;
        r->id.timeline = h.timeline;
        r->id.previous = h.previous;
        read_begin(r);
    }
    r->at = r->first_at;
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
static int64_t lsn_at(const RedoReader *r, int64_t at) { return r->first_lsn + (at - r->first_at); }
int64_t redo_reader_lsn(const RedoReader *r) { return lsn_at(r, r->at); }
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
        if (record_at(r, i, &h) && h.durable > lsn_at(r, at)) return true;
    return false;
}
Status redo_reader_follow(RedoReader *r, int64_t lsn, Err *e) {
    if (r->begun && r->first_lsn != lsn)
        return err_corrupted(e, r->path, HEADER_BYTES, "the log before it ends elsewhere");
    r->first_lsn = lsn;
    RecordHeader h;
    if (r->begun || !(record_at(r, r->at, &h) || was_durable(r, r->at))) return ST_OK;
    return err_corrupted(e, r->path, HEADER_BYTES, "the beginning of the redo log is damaged");
}
Status redo_reader_next(RedoReader *r, RedoRecord *out, bool *got, Err *e) {
    RecordHeader h;
    *got = r->begun && record_at(r, r->at, &h);
    if (!*got && r->begun && was_durable(r, r->at))
        return err_corrupted(e, r->path, r->at, "a record of the redo log is damaged");
    if (!*got) return ST_OK;
    *out = (RedoRecord){.bytes = r->p + r->at + sizeof h, .n = h.n, .lsn = lsn_at(r, r->at), .size = record_bytes(h.n)};
    r->at += record_bytes(h.n);
    return ST_OK;
}
int64_t redo_reader_end(const RedoReader *r) { return MIN_OF(r->begun ? r->at : (int64_t)HEADER_BYTES, r->size); }
int64_t redo_reader_rest(const RedoReader *r) {
    int64_t n = r->size;
    while (n > redo_reader_end(r) && r->p[n - 1] == 0) n--;
    return n - redo_reader_end(r);
}
void redo_reader_rewind(RedoReader *r) { r->at = r->first_at; }
void redo_reader_close(RedoReader *r) {
    Err ignored = {0};
    if (r->p) r->vfs->unmap(r->p, r->size);
    if (r->file) (void)r->vfs->close(r->file, &ignored);
    r->p = NULL;
    r->file = NULL;
}
