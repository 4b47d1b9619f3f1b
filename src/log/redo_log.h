/* redo_log.h - the redo log's file: records in the order of commits, written by groups [Hathi].
 *
 * A record is bytes that the log does not look into. Appending puts it in memory, which is the order that counts;
 * a thread that needs it on the disk waits until it is (redo_log_wait): the first that waits writes and syncs all that
 * has been appended by then, the others wait for that, so that many commits share a sync. What comes meanwhile is
 * written beside it, by up to eight threads at a time, each what has come since the one before: a disk takes several
 * writes in little more time than one. A record is on the disk when all before it are. What no thread waits for is
 * written by a thread, REDO_LOG_DELAY_MS after it came.
 *
 * The file, all integers little-endian, checksums xxh3-64:
 *
 *     0     header, 64 bytes: "STELELOG", u32 format = 2, u32 0, i64 generation, i64 database, i64 timeline,
 *           i64 generation whose log it goes on from (0: none), i64 0, u64 checksum of the 56 bytes before
 *     64    beginning, 64 bytes: "LOGBEGIN", i64 LSN of the first record, 40 bytes 0, u64 checksum of the two numbers
 *           of the header and this one that name the file: database, timeline, generation, LSN
 *     128   records, each padded with zeros to a multiple of 8 bytes: u64 checksum of the bytes, of its LSN, and of the
 *           two numbers that follow; i64 LSN below which all was on the disk when it was appended; i64 bytes; the bytes
 *
 * Format 1 has the LSN of the first record and 24 bytes 0 behind the generation, no beginning, and records from 64.
 *
 * A power cut may leave records behind a hole, where writes were under way: those are not read.
 *
 * The LSN of a record is that of the first one plus its distance to it in the file, so a record that lies elsewhere, or
 * is left of another file, is none. Where the chain of records ends, either the log ends, or power failed while it was
 * written; when a later record says that this place was on the disk, the file is damaged (XX001).
 *
 * A log goes on in another file: the next one is made with a header, beside commits, and gets its beginning when it is
 * taken into use, with the LSN where the file before it ends. That is written when the file before is on the disk up to
 * there. So a file that has a beginning proves how long the one before it is.
 *
 * A failed sync is final (the kernel may have dropped what it could not write): the log takes nothing more, until
 * redo_log_renew. A write that found no room is tried again.
 *
 * Thread rules: any thread may append, wait and ask. Appending and what it stands for must be one step for others, so
 * it is done under the database lock. Opening, closing and reading are for one thread; so are files to come.
 */
#ifndef STELE_LOG_REDO_LOG_H
#define STELE_LOG_REDO_LOG_H

#include "base/bytes.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/vfs.h"

enum { REDO_LOG_DELAY_MS = 200 };

typedef struct RedoLog RedoLog;

/* What a file is part of. */
typedef struct RedoLogId {
    int64_t database, timeline, generation;
    int64_t previous; /* the generation whose log it goes on from; 0: none */
} RedoLogId;

/* A new file with its beginning, synced, in place of one that is there, as one step (path.tmp is renamed). Its
 * directory is not synced. Memory is charged to acct. */
Status redo_log_create(Vfs *vfs, const char *path, const RedoLogId *id, int64_t first_lsn, MemAccount *acct,
                       RedoLog **out, Err *e);
/* Writes what is there and syncs it, so far as that is possible. NULL is fine. */
void redo_log_close(RedoLog *log);
/* Goes without writing: the file is of no use any more. NULL is fine. */
void redo_log_discard(RedoLog *log);

/* lsn: of the record's end, for redo_log_wait. 53200; 53100: earlier records found no room on the disk, and still do
 * not; 58030: the log has failed. Nothing was appended then. */
Status redo_log_append(RedoLog *log, const void *bytes, int64_t n, int64_t *lsn, Err *e);
/* The same for what has happened already, since an earlier record said that it would: appended also where earlier ones
 * find no room, which redo_log_wait tells. 53200, 58030. */
Status redo_log_append_outcome(RedoLog *log, const void *bytes, int64_t n, int64_t *lsn, Err *e);
Status redo_log_takes_more(RedoLog *log, Err *e); /* 53100, 58030: it does not, as redo_log_append */
/* What is appended is written now, by the thread that writes late. */
void redo_log_write_soon(RedoLog *log);
/* A large record that is made before it is appended, so that appending does not copy it: n bytes, their checksum64,
 * from `at` on. Its buffer is of the log's account. */
typedef struct MadeRecord {
    BytesOut bytes;
    int64_t at, n;
    uint64_t checksum;
} MadeRecord;
/* The record begins behind room for what the log puts before it, at r->at, and r->bytes goes on with its bytes. */
void redo_log_begin_made(RedoLog *log, MadeRecord *r, Err *e);
/* All of it is there. 53200 */
Status redo_log_end_made(MadeRecord *r, Err *e);
void redo_log_release_made(MadeRecord *r); /* also of zeros, and when it was appended */
/* As redo_log_append; the buffer is the log's then. */
Status redo_log_append_made(RedoLog *log, MadeRecord *r, int64_t *lsn, Err *e);
/* Until all records up to the LSN are on the disk. 53100: there is no room; they are kept, and will be written when
 * there is. 58030. */
Status redo_log_wait(RedoLog *log, int64_t lsn, Err *e);
/* A file for what will come, likewise but for its beginning, beside those who append. */
Status redo_log_prepare(RedoLog *log, const char *path, const RedoLogId *id, Err *e);
void redo_log_unprepare(RedoLog *log); /* it is not wanted; nothing, when there is none */
/* The record, which says so, is the last of the file, and the prepared one is in use. No other record is appended
 * meanwhile. On error nothing has changed, and the file stays prepared: as redo_log_append. */
Status redo_log_switch(RedoLog *log, const void *bytes, int64_t n, Err *e);
/* Until the beginning of the file in use is on the disk, and so all that was appended before: as redo_log_wait. */
Status redo_log_begun(RedoLog *log, Err *e);
/* A log that has failed, while all that was appended is on the disk by other means: a new file as redo_log_create makes
 * it (begins at redo_log_end), and then it is in use, and the log is good. Nothing is appended in between. */
Status redo_log_remake(RedoLog *log, const char *path, const RedoLogId *id, Err *e);
void redo_log_renew(RedoLog *log);
void redo_log_fail(RedoLog *log, const Err *why); /* by others' fault: it takes nothing more */
bool redo_log_failed(RedoLog *log);
int64_t redo_log_end(const RedoLog *log);     /* LSN behind the last record that was appended */
int64_t redo_log_durable(const RedoLog *log); /* LSN up to which all is on the disk */
int64_t redo_log_bytes(const RedoLog *log);   /* of the file, with what is appended */
/* Since it was opened, whatever file it has. */
typedef struct RedoLogInfo {
    int64_t lsn, durable;     /* as redo_log_end and redo_log_durable have them */
    int64_t records, bytes;   /* that were appended; with what the file has around them */
    int64_t writes, write_ns; /* of groups of records, each with one sync; of all of them, beside each other or not */
    int64_t waits, wait_ns;   /* of threads, for what was not on the disk */
    int32_t waiting;          /* threads, for writes */
    char failure[256];        /* why nothing is committed; "": it is */
    char last_error[256];     /* of the last write or sync that failed, also when others have succeeded since */
} RedoLogInfo;
void redo_log_info(RedoLog *log, RedoLogInfo *out);

/* ---- reading ---- */
typedef struct RedoReader {
    Vfs *vfs;
    VfsFile *file;
    const char *path;           /* the caller's */
    const char *p;              /* the mapped file */
    int64_t size, at, first_at; /* first_at: of the first record */
    int64_t first_lsn;
    int64_t format;
    RedoLogId id;
    bool begun; /* it has a beginning; else nothing was written behind its header, or power failed meanwhile */
} RedoReader;
typedef struct RedoRecord {
    const char *bytes; /* in the mapped file */
    int64_t n, lsn;    /* lsn: of its beginning */
    int64_t size;      /* with what the file has around it */
} RedoRecord;
/* *there: false when there is no such file. XX001: its header is damaged. */
Status redo_reader_open(Vfs *vfs, const char *path, RedoReader *r, bool *there, Err *e);
/* Before reading one that goes on from another: the LSN where that ended. XX001: it is another one, or the beginning is
 * damaged. */
Status redo_reader_follow(RedoReader *r, int64_t lsn, Err *e);
int64_t redo_reader_lsn(const RedoReader *r); /* where it is */
/* *got: false at the end; `at` is where that is. XX001: damaged. */
Status redo_reader_next(RedoReader *r, RedoRecord *out, bool *got, Err *e);
/* Behind redo_reader_next that got none: where what it has ends, and how many bytes from there on are not zero. */
int64_t redo_reader_end(const RedoReader *r);
int64_t redo_reader_rest(const RedoReader *r);
void redo_reader_rewind(RedoReader *r);
void redo_reader_close(RedoReader *r); /* one that was not opened is fine */

#endif
