/* stele.h - the C interface of Stele, an in-memory SQL database.
 *
 * This header is the specification. Usage in short:
 *
 *     stele_db *db;  stele_conn *conn;  stele_stmt *stmt;
 *     stele_open(":memory:", NULL, &db, NULL);
 *     stele_connect(db, &conn);
 *     stele_exec(conn, "create table t(a int); insert into t values (1), (2)", NULL, NULL);
 *     stele_prepare(conn, "select a from t where a > $1", -1, &stmt, NULL);
 *     stele_bind_int64(stmt, 1, 1);
 *     while (stele_step(stmt) == STELE_ROW) printf("%lld\n", (long long)stele_column_int64(stmt, 0));
 *     stele_finalize(stmt);  stele_disconnect(conn);  stele_close(db);
 *
 * Conventions
 *   - Functions that can fail return a stele_status. After STELE_ERROR, stele_error(conn) (or the
 *     `error` out-parameter of stele_open) describes the failure.
 *   - Sizes, counts and positions are 64 bits. Text is UTF-8. A text argument with length -1 is NUL-terminated.
 *   - Every handle has one destructor, named in its comment; destructors accept NULL.
 *   - The library never prints, exits, changes signal handlers or the locale.
 *
 * Thread rules: a stele_db may be shared by threads. A stele_conn and its statements belong to one thread at a time,
 * except stele_interrupt(), which may be called from any thread while the connection exists.
 *
 * Stacks: a statement that is nested more deeply than the calling thread's stack allows fails with 54001; nothing else
 * happens to it. Threads want 256 KiB or more; with less than 128 KiB every statement fails so. On a stack that is not
 * the thread's own, a coroutine's for instance, at most 192 KiB below the call are used: it must have that much.
 */
#ifndef STELE_STELE_H
#define STELE_STELE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define STELE_API __attribute__((visibility("default")))
#else
#define STELE_API
#endif

/* Version of this header. */
#define STELE_VERSION "0.1.0"
/* Version of the library, for example "0.1.0"; static storage. The same sources give the same text, whenever and
 * wherever they are built. */
STELE_API const char *stele_version(void);

typedef enum stele_status {
    STELE_OK = 0,
    STELE_ERROR = 1,
    STELE_ROW = 2, /* stele_step: a row is ready */
    STELE_DONE = 3 /* stele_step: no more rows; the statement has taken effect */
} stele_status;

typedef struct stele_db stele_db;     /* stele_close(), stele_discard() */
typedef struct stele_conn stele_conn; /* stele_disconnect() */
typedef struct stele_stmt stele_stmt; /* stele_finalize() */

/* What went wrong. Strings are never NULL ("" when absent). */
typedef struct stele_error_info {
    char sqlstate[6];    /* five characters, "00000" when there is no error */
    const char *message; /* one line, PostgreSQL's wording */
    const char *detail;
    const char *hint;
    const char *context;
    int64_t position; /* 1-based character position in the statement text, 0 = unknown */
    /* What the error is about: of NOT NULL the column, of other constraints their name, and the table (of a foreign key
     * the one that refers); or what RAISE says. */
    const char *schema_name, *table_name, *column_name, *datatype_name, *constraint_name;
} stele_error_info;

/* ---- process-wide settings, before the first stele_open ------------------------------------ */

/* Replaces malloc and free. `bytes` given to free is the size asked for. Blocks of 1 MiB and more are mapped
 * from the system and do not pass here. NULL functions restore the default. */
STELE_API void stele_set_allocator(void *(*alloc)(void *ctx, size_t bytes),
                                   void (*free_fn)(void *ctx, void *p, size_t bytes), void *ctx);
/* Receives diagnostics; level 0 debug .. 3 error. NULL silences (the default). May be called from any thread. */
STELE_API void stele_set_logger(void (*log)(void *ctx, int level, const char *message), void *ctx);

/* ---- databases and connections --------------------------------------------------------------- */

typedef struct stele_options {
    int32_t threads;            /* worker threads, 0 = all processors */
    int64_t memory_limit;       /* bytes, 0 = 80 % of physical memory, or of what the process's cgroup has; RESET
                                   memory_limit gives this one back */
    const char *temp_directory; /* NULL = $TMPDIR or /tmp; of connections that do not set another */
    bool existing;              /* a path without a database is an error (58P01) instead of becoming one */
    bool read_only; /* so is it then; transactions only read (25006), nothing is saved, and other processes may
                       have the directory open so too. No effect on :memory: */
    bool durable;   /* commits are written to a redo log in the directory: those that were acknowledged survive the end
                       of the process and of power (synchronous_commit). No effect on :memory:, and with read_only */
} stele_options;

/* Opens a database. path: ":memory:" or NULL for one that is never written, else a directory, created when it
 * does not exist. One process at a time may have a directory open, unless all only read it (55006). options may be
 * NULL. On failure *db is NULL and, when `error` is given, it is filled; its strings stay valid until the next call of
 * stele_open on this thread.
 * Errors: 58030 I/O, 58P01 no database (with `existing`), 55006 in use, XX001 corrupted file (named), 53200 memory; of
 * temp_directory 58P01 (not there), 42809 (no directory), 42501 (not writable), 22023 (too long). */
STELE_API stele_status stele_open(const char *path, const stele_options *options, stele_db **db,
                                  stele_error_info *error);
/* Saves a directory database that has unsaved changes (as CHECKPOINT does) and closes it. All connections must be gone
 * (STELE_ERROR, nothing done, otherwise). When saving fails the database stays open and *error says why: make room and
 * close again, or stele_discard(). */
STELE_API stele_status stele_close(stele_db *db, stele_error_info *error);
/* Closes a database without saving: its directory keeps what was saved last. All connections must be gone (STELE_ERROR,
 * nothing done, otherwise). */
STELE_API stele_status stele_discard(stele_db *db);

STELE_API stele_status stele_connect(stele_db *db, stele_conn **conn);
/* Rolls an open transaction back; finalizes remaining statements. */
STELE_API void stele_disconnect(stele_conn *conn);

/* The last failed call on this connection; valid until its next call. */
STELE_API void stele_error(stele_conn *conn, stele_error_info *out);
/* Cancels the statement now running on the connection (57014). From any thread; async-signal-safe. No effect when idle:
 * a call of this library forgets what came before it began. A group of calls is not idle between them. */
STELE_API void stele_interrupt(stele_conn *conn);
/* A group: the calls between them are one for stele_interrupt. It may come while one of them runs or between two; the
 * next that runs a statement, and each after it, fails with 57014 until the group ends. For what a user sees as one
 * request and a program makes of several calls (prepare, bind, run, step), which an interrupt from another thread or
 * from a signal's handler is to end wherever it is. stele_exec is a group by itself. Groups nest: the outermost counts.
 * An end without a begin has no effect. */
STELE_API void stele_calls_begin(stele_conn *conn);
STELE_API void stele_calls_end(stele_conn *conn);
/* Measures the rates of this machine's CPU and usable devices (device NULL), or of one of them ("cpu", "cuda:0", as
 * SHOW devices lists them), and writes them to the machine's profile ($STELE_PROFILE, else ~/.config/stele/profile),
 * from which placement and EXPLAIN take them. Seconds per device; `quick` a fraction of one, with rough results.
 * Nothing else should run meanwhile. 42704 when there is no such device, else the device's error. */
STELE_API stele_status stele_calibrate(stele_conn *conn, const char *device, bool quick);
/* Called now and then on long statements, on the connection's thread: fraction 0..1. Return true to cancel. NULL
 * removes it. */
STELE_API void stele_set_progress(stele_conn *conn, bool (*progress)(void *ctx, double fraction), void *ctx);
/* COPY ... FROM STDIN reads through `read` (returns bytes, 0 at the end, -1 error); COPY ... TO STDOUT writes through
 * `write` (returns false on error). Without them such statements fail (0A000). */
STELE_API void stele_set_copy_streams(stele_conn *conn, int64_t (*read)(void *ctx, char *buf, int64_t size),
                                      bool (*write)(void *ctx, const char *data, int64_t size), void *ctx);
/* A message that is no error: RAISE NOTICE, DROP ... IF EXISTS of what is not there. Strings are never NULL and valid
 * during the call. */
typedef struct stele_notice {
    const char *severity; /* "INFO", "NOTICE", "WARNING" */
    const char *sqlstate; /* "00000" when none was given */
    const char *message;
    const char *detail;
    const char *hint;
    const char *context;
} stele_notice;
/* Receives them while a statement runs, on the connection's thread; it must not use the connection. NULL drops them
 * (the default). */
STELE_API void stele_set_notice(stele_conn *conn, void (*notice)(void *ctx, const stele_notice *n), void *ctx);
/* 'I' idle, 'T' in a transaction, 'E' in a failed transaction. As of the last call: idle_in_transaction_session_timeout
 * ends a transaction in between, and the next statement says so. */
STELE_API char stele_transaction_state(const stele_conn *conn);

/* ---- the redo log -------------------------------------------------------------------------------
 * Of a database that was opened with `durable`. Commits are records of its log, in the order in which they took effect.
 * An LSN is a place in the log, a number of bytes: all that was committed up to it is on the disk, or is not yet. LSNs
 * go on when a database is opened again; SQL shows them as values of type pg_lsn.
 *
 * A commit has two phases: it takes effect, which others see, and it is on the disk. A statement returns behind both
 * (synchronous_commit), or behind the first: the program asks or waits for the second later, from any thread.
 *
 *     stele_set_commit_wait(conn, false);
 *     stele_exec(conn, "insert into orders values (1, 'new')", NULL, NULL);
 *     int64_t lsn = stele_commit_lsn(conn);
 *     ...                                                   // further commits, which come to lie behind it
 *     if (stele_wait_stable(db, lsn, &error) == STELE_OK)   // this one, and all before it, survive from here on
 *         acknowledge();
 *
 * Waiting once for the last of many commits waits for all of them. Nothing needs to be waited for: what is not is
 * written some 200 ms later. What was not on the disk when the process or the power ended is gone, commits from
 * some point on, never one without those before it.
 *
 * Thread rules: the functions of a connection as all others of it; those of a database from any number of threads at
 * the same time, as long as it is open, beside whatever its connections do. Threads that wait share writes. */

/* Whether the connection's commits return when they are on the disk (true: at first, as synchronous_commit says), or
 * when they have taken effect. With false what its statements have seen of others may not be on the disk either. No
 * effect where there is no log. */
STELE_API void stele_set_commit_wait(stele_conn *conn, bool on);
/* Of the last commit of this connection that had something to log, or number that a sequence of it has given: the LSN
 * behind it. 0: there was none, or there is no log. */
STELE_API int64_t stele_commit_lsn(const stele_conn *conn);
/* The LSN behind all that is committed now, by whatever connection; 0: there is no log. */
STELE_API int64_t stele_log_lsn(const stele_db *db);
/* Whether all up to the LSN is on the disk; also of 0, and false where there is no log. Does not wait. */
STELE_API bool stele_is_stable(const stele_db *db, int64_t lsn);
/* Returns when it is, at once for 0. No statement_timeout and no interrupt ends it. On failure *error, when it is
 * given, says why; its strings stay valid until the next call of this thread that has such a parameter. Errors: 53100
 * there is no room on the disk: commits are kept and will be written when there is, call again; 58030 a write has
 * failed: what was not stable by then may be lost, and nothing is committed until CHECKPOINT has saved the database;
 * 22023 the log does not reach so far; 55000 there is no log. */
STELE_API stele_status stele_wait_stable(stele_db *db, int64_t lsn, stele_error_info *error);
/* Nanoseconds that statements of the connection have waited for the log so far. */
STELE_API int64_t stele_log_wait_ns(const stele_conn *conn);

/* ---- directories ---------------------------------------------------------------------------------
 * Looking at the directory of a database that is not open, as it is, also after a crash. Nothing is written, and the
 * directory is locked against those who would (55006: it is open elsewhere, also in this process). Strings that
 * callbacks get are never NULL and valid during the call; callbacks may use the library, but for this directory.
 * Functions of this part may run in several threads at once. */

/* A file, or one that there should be. */
typedef struct stele_checked_file {
    const char *name;  /* in the directory: "g3/17.tab" */
    const char *what;  /* "rows of table public.t" */
    const char *state; /* "good"; "unused": nothing wants it; "incomplete": a log that ends in bytes that are no record;
                          "damaged"; "missing"; "unchecked": a damaged one would say what it should have */
    int64_t bytes;
    int64_t offset;      /* in the file, of the damage; -1: none, or it is not in one place */
    const char *problem; /* "" */
} stele_checked_file;
/* Reads all files of the directory, with every checksum and shape, and each record of the log; when none of them is
 * damaged, loads the database and applies the log in memory, as stele_open would, which a file named "" tells of. *bad:
 * how many files are neither good nor unused. STELE_ERROR, when that could not be found out: 58P01 there is no
 * database, 55006, 58030, 53200; strings of *error as of stele_open. */
STELE_API stele_status stele_check(const char *path, void (*file)(void *ctx, const stele_checked_file *f), void *ctx,
                                   int64_t *bad, stele_error_info *error);

/* A part of a record of the log: records are commits, and have some. */
typedef struct stele_log_part {
    int64_t generation; /* of the log that the record is in: g<generation>/log */
    int64_t timeline;   /* of the log: grows with each recovery; 0: an older log, which does not say, nor the next */
    uint64_t database;  /* of the log: a random number that the database was given */
    int64_t lsn, bytes; /* where the record begins, and what it takes in the log */
    bool first;         /* of its record */
    const char *kind;   /* "rows": of a table have changed; "catalog", "table": as of then it is in a file; "sequence":
                           numbers that it may have given; "continued": the log goes on in another file */
    const char *object; /* the table or sequence, with its schema; "" where the kind has none */
    const char *file;   /* that it names, in the generation's directory; "continued": in the database's; "" */
    int64_t inserted, updated, deleted; /* rows */
    int64_t last;                       /* of a sequence: the number */
} stele_log_part;
/* A row that has changed. */
typedef struct stele_log_row {
    const char *change; /* "insert", "update", "delete" */
    int64_t row;        /* its number in the log: that of its tablet * 2^32, and its place there */
    int64_t n;          /* columns that have a value: of an insert all, of an update those that were set */
    const char *const *names, *const *values; /* texts; NULL: NULL */
} stele_log_row;
/* What the log of the database has from an LSN on (0: from its beginning), in order. The rows of a part come behind it;
 * Where a checkpoint has not been completed, that is in several logs, one behind the other. `row` may be NULL.
 * Callbacks stop the reading by returning true. Errors: as stele_check, XX001 what cannot be read, with file and
 * offset; what comes before it was handed over. No error, and no part, where there is no log. */
STELE_API stele_status stele_read_log(const char *path, int64_t from_lsn,
                                      bool (*part)(void *ctx, const stele_log_part *p),
                                      bool (*row)(void *ctx, const stele_log_row *r), void *ctx,
                                      stele_error_info *error);

/* ---- statements ------------------------------------------------------------------------------- */

/* Prepares the first statement of `sql`. *tail (may be NULL) points behind it. *stmt is NULL (and STELE_OK) when there
 * is only white space or comments. Parameters are written $1, $2 ... Errors carry SQLSTATE and position; syntax, names
 * and types are checked here. */
STELE_API stele_status stele_prepare(stele_conn *conn, const char *sql, int64_t len, stele_stmt **stmt,
                                     const char **tail);
STELE_API void stele_finalize(stele_stmt *stmt);
/* Makes the statement ready to run again; bindings stay. */
STELE_API void stele_reset(stele_stmt *stmt);

/* Parameters are numbered from 1. Bound values are copied. STELE_ERROR when there is no such parameter (42P02). Unbound
 * parameters are NULL. */
STELE_API int64_t stele_param_count(const stele_stmt *stmt);
STELE_API stele_status stele_bind_null(stele_stmt *stmt, int64_t index);
STELE_API stele_status stele_bind_bool(stele_stmt *stmt, int64_t index, bool value);
STELE_API stele_status stele_bind_int64(stele_stmt *stmt, int64_t index, int64_t value);
STELE_API stele_status stele_bind_double(stele_stmt *stmt, int64_t index, double value);
/* Any type in its text form; converted to the parameter's type when the statement runs. len -1: NUL-terminated. */
STELE_API stele_status stele_bind_text(stele_stmt *stmt, int64_t index, const char *value, int64_t len);

/* Runs on the first call, then moves from row to row: STELE_ROW, STELE_DONE or STELE_ERROR (the statement had no
 * effect; of a streaming result, see stele_set_stream). */
STELE_API stele_status stele_step(stele_stmt *stmt);
/* Runs to completion without fetching: STELE_DONE or STELE_ERROR; rows can still be stepped through. */
STELE_API stele_status stele_run(stele_stmt *stmt);

/* Whether the result is computed as it is read, from the statement's next run on; at first it is not.
 *
 * Else the first step computes all rows: an error comes before any row, stele_row_count is known, and nothing is kept
 * but rows. That is what most programs want of results that fit memory, and what is quickest of small ones. A streaming
 * result has its first row before the last is computed, and of rows some MB in memory however many there are: when
 * they have been stepped through, the next step computes the next ones, with all worker threads, in the order that the
 * whole result has. Between calls no thread works for it.
 *
 *  - Snapshot. The rows are those of the moment at which the statement began to run. The result holds no lock between
 *    calls; it pins a version of the tables that it reads. What others change meanwhile does not show, and waits for
 *    the pin with its memory: beyond snapshot_memory_limit the oldest results are given up, and their next step that
 *    has to compute fails with 72000.
 *  - The connection is free for other statements, other streaming results too, also those that change, drop or truncate
 *    what is read. COMMIT and ROLLBACK, also by idle_in_transaction_session_timeout, do not end the result, nor does
 *    a failed transaction.
 *  - Errors. stele_step gives STELE_ERROR where the rows end that were computed before, with the SQLSTATE of what has
 *    failed; it does so again until the statement is reset. In a transaction block it makes the transaction fail, if it
 *    is the one in which the statement ran. The statement has had no effect but for the rows that were handed out.
 *  - A step that computes is a call that runs a statement: statement_timeout counts anew from there on, stele_interrupt
 *    cancels it (57014), stele_set_progress reports it, and 25P03 may come of it.
 *  - The end. stele_reset, stele_finalize, the next run and stele_disconnect end the result wherever it is. stele_run
 *    computes the first rows. stele_row_count is -1 and stele_command_tag is empty until the last rows are computed.
 *
 * Where it makes no difference: statements that change data, RETURNING too, are computed whole, and so are SELECTs that
 * call routines or bulks; that read uncommitted changes of their own transaction, rows that only a device has, or
 * tables under the lock (SET snapshot = 'lock'); with subqueries that may fail for rows that do not want their value;
 * and whose segments run on a device. Rows are the same in any case. ORDER BY, GROUP BY and the build sides of joins
 * are computed before the first row. */
STELE_API void stele_set_stream(stele_stmt *stmt, bool on);

/* Result shape; known after stele_prepare, except for EXPLAIN, SHOW and the like: after the first step. */
STELE_API int64_t stele_column_count(const stele_stmt *stmt);
STELE_API const char *stele_column_name(const stele_stmt *stmt, int64_t column);
/* SQL type, for example "numeric(15,2)". */
STELE_API const char *stele_column_type(const stele_stmt *stmt, int64_t column);
/* True for number types (shells align them to the right). */
STELE_API bool stele_column_is_number(const stele_stmt *stmt, int64_t column);
/* The command's tag in PostgreSQL's form: "SELECT 5", "INSERT 0 3", "CREATE TABLE"; after it ran. */
STELE_API const char *stele_command_tag(const stele_stmt *stmt);
/* Rows returned or changed; -1: of a streaming result that is not at its end. */
STELE_API int64_t stele_row_count(const stele_stmt *stmt);

/* Values of the current row; pointers stay valid until the next step, reset or finalize. Conversions follow CAST; where
 * none is possible the result is 0. */
STELE_API bool stele_column_is_null(stele_stmt *stmt, int64_t column);
STELE_API bool stele_column_bool(stele_stmt *stmt, int64_t column);
STELE_API int64_t stele_column_int64(stele_stmt *stmt, int64_t column);
STELE_API double stele_column_double(stele_stmt *stmt, int64_t column);
/* Text form of any type, NUL-terminated, NULL for NULL (and, with stele_error set, when memory runs out); *len may be
 * NULL. */
STELE_API const char *stele_column_text(stele_stmt *stmt, int64_t column, int64_t *len);

/* Runs all statements of `sql`; `row` (may be NULL) gets every row as text (NULL pointers for NULL) and stops the run
 * by returning true. Stops at the first error. */
STELE_API stele_status stele_exec(stele_conn *conn, const char *sql,
                                  bool (*row)(void *ctx, int64_t n, const char *const *values,
                                              const char *const *names),
                                  void *ctx);

/* ---- Arrow ------------------------------------------------------------------------------------
 * Columns in and out by Arrow's C data interface (https://arrow.apache.org/docs/format/CDataInterface.html), without
 * its library: these are the structs that all users of it share. Types correspond so: boolean, integers (unsigned ones
 * to the next wider), float and double, decimal128 and numeric, utf8 of all forms (large, views) and text, binary and
 * bytea, date, time, timestamp (without a zone) and timestamptz (with one), duration and interval,
 * fixed_size_binary[16] and uuid, list and array, dictionary and what it encodes, null and text. Nanoseconds are
 * rounded. */
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE
#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4
struct ArrowSchema {
    const char *format, *name, *metadata;
    int64_t flags, n_children;
    struct ArrowSchema **children;
    struct ArrowSchema *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};
struct ArrowArray {
    int64_t length, null_count, offset, n_buffers, n_children;
    const void **buffers;
    struct ArrowArray **children;
    struct ArrowArray *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};
#endif
#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE
struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
    int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out); /* a released array: the end */
    const char *(*get_last_error)(struct ArrowArrayStream *);
    void (*release)(struct ArrowArrayStream *);
    void *private_data;
};
#endif
/* The next rows of a statement's result as a record batch, max_rows of them at most (0: all that are left, of a
 * streaming result all that are computed); the first call runs the statement. STELE_ROW: there are some. STELE_DONE:
 * there are none left, and the batch has columns but no rows. In both cases the caller releases schema and batch, at
 * any time, also after the statement and the connection are gone. STELE_ERROR: both are released. Types: large_utf8,
 * large_binary, decimal128, timestamp[us] (timestamptz: in UTC) and those above; intervals as text. */
STELE_API stele_status stele_fetch_arrow(stele_stmt *stmt, int64_t max_rows, struct ArrowSchema *schema,
                                         struct ArrowArray *batch);
/* The result's rows, from the next one on, as a stream of record batches, in the types of stele_fetch_arrow. A
 * statement that has not run yet runs, as a streaming one (stele_set_stream), so that batches of some MB are computed
 * as they are taken; else a batch has all rows that are left. A batch owns its buffers: it may be kept and released at
 * any time and on any thread, also after stream and connection are gone. The statement becomes the stream's, whose
 * release finalizes it: it is not to be used any more, but for names and types before the first batch. The stream
 * belongs to the connection's thread; when the connection goes first, get_next fails with ENOTCONN. Errors of get_next:
 * ECANCELED (57014), ENOMEM (class 53), else EIO; get_last_error has "SQLSTATE: message". STELE_ERROR: the statement
 * has failed, there is no stream, and the statement stays the caller's. */
STELE_API stele_status stele_result_arrow_stream(stele_stmt *stmt, struct ArrowArrayStream *stream);
/* A stream of one batch, which must be one that Stele has made; it and its schema stay the caller's, and none of them
 * is copied: each lives until it and what came of it are released. STELE_ERROR: there is no memory, and no stream. */
STELE_API stele_status stele_arrow_stream(const struct ArrowSchema *schema, const struct ArrowArray *batch,
                                          struct ArrowArrayStream *stream);
/* Gives the rows of a stream a name, by which FROM of this connection's statements knows them from now on: `select ..
 * from name`, `insert into t select * from name`, `create table t as ..`. Tables and views of the same name come first;
 * views and routines do not see it; a name that is registered already is replaced. The stream is read to its end and
 * released, also on an error. The rows are copied, count for memory_limit, and stay until stele_unregister() or
 * stele_disconnect(); results that have been made of them stay valid beyond. Lists of scalars are arrays; structs,
 * maps, unions and other lists are jsonb. 22023 the stream is malformed, 0A000 a column's type has none in SQL, 54000
 * more than 2^31 - 1 rows, 58030 what the stream itself reports. */
STELE_API stele_status stele_register_arrow(stele_conn *conn, const char *name, struct ArrowArrayStream *stream);
/* Nothing happens when there is none of that name. */
STELE_API void stele_unregister(stele_conn *conn, const char *name);
/* Called when FROM names what is neither a table nor a view nor registered: it may register rows by that name, and
 * returns whether it has. On the connection's thread, in the middle of a statement, when locks may be held: it uses
 * nothing of the database but stele_register_arrow() of this connection. When that fails in it, the statement fails
 * with its error. NULL removes it. */
STELE_API void stele_set_resolver(stele_conn *conn, bool (*resolve)(void *ctx, const char *name), void *ctx);

/* ---- values of every type -----------------------------------------------------------------------
 * One SQL value, for parameters (stele_bind_value), appenders (stele_append_value) and arguments of table functions. It
 * is converted to the type of the parameter or column as an assignment is. */
typedef enum stele_type {
    STELE_TYPE_NULL,
    STELE_TYPE_BOOL,
    STELE_TYPE_INT64, /* all integers */
    STELE_TYPE_FLOAT, /* real */
    STELE_TYPE_DOUBLE,
    STELE_TYPE_NUMERIC,
    STELE_TYPE_TEXT, /* also any other type in its text form; a numeric that 38 digits do not hold, and an array with
                        first subscripts other than 1 */
    STELE_TYPE_BYTEA,
    STELE_TYPE_DATE,
    STELE_TYPE_TIME,
    STELE_TYPE_TIMESTAMP,
    STELE_TYPE_TIMESTAMPTZ,
    STELE_TYPE_INTERVAL,
    STELE_TYPE_UUID,
    STELE_TYPE_ARRAY
} stele_type;
typedef struct stele_interval { /* months, days and microseconds are kept apart, as in PostgreSQL */
    int64_t micros;
    int32_t days, months;
} stele_interval;
/* 38 digits: (high * 2^64 + low) / 10^scale, two's complement; scale 0 to 38. */
typedef struct stele_numeric {
    uint64_t low;
    int64_t high;
    int32_t scale;
} stele_numeric;
typedef struct stele_value {
    stele_type type;
    union {
        bool boolean;
        int64_t i64; /* INT64; DATE: days since 2000-01-01, TIME: microseconds since midnight, TIMESTAMP, TIMESTAMPTZ:
                        microseconds since 2000-01-01 00:00 (UTC). INT32_MIN and INT32_MAX are -infinity and infinity of
                        dates, INT64_MIN and INT64_MAX those of timestamps. */
        float f32;
        double f64;
        stele_numeric numeric;
        stele_interval interval;
        unsigned char uuid[16];
        struct {
            const char *data;
            int64_t size; /* bytes; -1: NUL-terminated */
        } text;           /* TEXT, BYTEA */
        struct {
            const struct stele_value *items; /* NULLs, and values of one other type; arrays: the next dimension */
            int64_t n;
        } array;
    } u;
} stele_value;
/* As the other binds: the value is copied. 42P02 no such parameter; 22023 a scale, or a type that there is not; 22003 a
 * numeric of more than 38 digits; 22008 no such date or time; 22021 not UTF-8; 42804 array items of several types;
 * 54000 too long. On an error the parameter is NULL. Whether it converts to the parameter's
 * type is seen when the statement runs. */
STELE_API stele_status stele_bind_value(stele_stmt *stmt, int64_t index, const stele_value *value);
/* The parameter's type as SQL has it ("numeric(10,2)", "integer[]"); NULL when there is no such parameter. Valid until
 * the thread's next call of this function. */
STELE_API const char *stele_param_type(const stele_stmt *stmt, int64_t index);

/* ---- appenders: many rows into a table ------------------------------------------------------------
 *
 *     stele_appender *a;
 *     stele_appender_new(conn, "t", 0, NULL, &a);
 *     for (...) {
 *         stele_append_int64(a, id);
 *         stele_append_text(a, name, -1);
 *         if (stele_append_end_row(a) != STELE_OK) ...
 *     }
 *     stele_appender_flush(a);
 *     stele_appender_free(a);
 *
 * Rows are collected, and inserted as one INSERT statement by stele_appender_flush, and by stele_append_end_row when
 * there are 2^20 of them or 128 MiB of cells. Constraints, defaults, foreign keys and transactions are those of INSERT:
 * within BEGIN .. COMMIT rows come and go with the transaction, else each flush is one of its own.
 *
 * Failures. A value that does not convert is refused by the call that appends it, the row can be ended when the value
 * has been appended otherwise, or dropped by stele_appender_drop_row. A flush that fails inserts none of its rows and
 * drops them; rows of earlier flushes stand, unless the transaction they belong to is rolled back. Errors are those of
 * the connection, with `row 7 of appender for t, column "a"` in the context, rows counted from 1 since the appender was
 * made.
 *
 * An appender belongs to its connection's thread, and is freed before the connection. Statements of the connection may
 * run between its calls; when the table or a column is renamed or dropped, the next flush fails. */
typedef struct stele_appender stele_appender; /* stele_appender_free() */
/* For n_columns of a table, or for all (0) but generated ones, in order; the others get their defaults. Named as in the
 * catalog, not quoted. 42P01, 42703, 42701, 42809 a view. On an error *appender is NULL. */
STELE_API stele_status stele_appender_new(stele_conn *conn, const char *table, int64_t n_columns,
                                          const char *const *columns, stele_appender **appender);
/* Drops rows that have not been flushed. */
STELE_API void stele_appender_free(stele_appender *appender);
/* The next value of the row; 22000-class errors of the conversion, 54011 when the row has all values already. */
STELE_API stele_status stele_append_null(stele_appender *appender);
STELE_API stele_status stele_append_default(stele_appender *appender); /* the column's DEFAULT */
STELE_API stele_status stele_append_bool(stele_appender *appender, bool value);
STELE_API stele_status stele_append_int64(stele_appender *appender, int64_t value);
STELE_API stele_status stele_append_double(stele_appender *appender, double value);
STELE_API stele_status stele_append_text(stele_appender *appender, const char *value, int64_t len);
STELE_API stele_status stele_append_value(stele_appender *appender, const stele_value *value);
/* 42601 when values are missing: the row goes on. May flush; when that fails the row is dropped with the others. */
STELE_API stele_status stele_append_end_row(stele_appender *appender);
/* Forgets the values of the row that has been begun. */
STELE_API void stele_appender_drop_row(stele_appender *appender);
/* More rows from a record batch (a struct array), a column per column of the appender in order; conversions as in
 * stele_bulk_add_arrow. 55000 when a row has been begun. On an error no row of it was appended. The batch stays the
 * caller's. */
STELE_API stele_status stele_append_arrow(stele_appender *appender, const struct ArrowSchema *schema,
                                          const struct ArrowArray *batch);
/* Inserts what has been appended. 55000 when a row has been begun. */
STELE_API stele_status stele_appender_flush(stele_appender *appender);
/* Rows that flushes have inserted. */
STELE_API int64_t stele_appender_rows(const stele_appender *appender);

/* ---- functions of the client -----------------------------------------------------------------------
 * Functions in C that SQL calls by their name, like built-in ones: in queries, views, CHECKs, defaults, routines. They
 * belong to the open database, whichever connection registers them, and all its connections see them at once. They are
 * not saved and take part in no transaction. What refers to them does so by name: where the name is not registered, in
 * a later process for instance, such a statement fails with 42883, and works again once it is.
 *
 * Overloads: several functions may have a name with different types of parameters; PostgreSQL's rules choose, routines
 * of CREATE FUNCTION included (42725 when two are as good). A name of a built-in function is refused (42723).
 *
 * Where they run: on the virtual machine (EXPLAIN says so of plans for devices); calls of procedures that use them run
 * one at a time in bulks, with that reason.
 *
 * Cells. A column of arguments or results is an array of one cell per row:
 *
 *     boolean                   unsigned char, 0 or 1
 *     smallint, integer, bigint int16_t, int32_t, int64_t
 *     real, double precision    float, double
 *     numeric(p,s)              the value times 10^s as an integer: int64_t where p <= 18, else 16 bytes, the lower
 *                               half first, two's complement, aligned to 16 (__int128). numeric: numeric(38,16)
 *     date                      int32_t, days since 2000-01-01; INT32_MIN and INT32_MAX are -infinity and infinity
 *     time                      int64_t, microseconds since midnight
 *     timestamp, timestamptz    int64_t, microseconds since 2000-01-01 00:00 (UTC); INT64_MIN and INT64_MAX likewise
 *     interval                  stele_interval
 *     uuid                      16 bytes
 *     text types, bytea         stele_string; results by stele_call_set_text
 *     json, jsonb               stele_string: json as it was given, jsonb as PostgreSQL shows it; results likewise
 *     arrays of all these       stele_array; results by stele_call_set_array
 *
 * Lengths of char and varchar do not count, as in PostgreSQL.
 *
 * Thread rules: a function is called from several threads at once, for different rows, unless it has
 * STELE_FUNCTION_ONE_THREAD: then the statement runs on its connection's thread alone (other connections' statements
 * may call it meanwhile on theirs). It must not use the database or its connections: locks may be held. */
typedef struct stele_string {
    const char *data; /* not NUL-terminated */
    uint32_t size;    /* bytes */
    uint32_t reserved;
} stele_string;
/* An array: n cells of the elements' type, aligned as in columns. Those of several dimensions lie in row-major order:
 * the last subscript moves first. */
typedef struct stele_dim {
    int32_t len, low; /* elements, and the first subscript */
} stele_dim;
typedef struct stele_array {
    const void *data;
    const unsigned char *valid; /* a byte per element, 0 = NULL; NULL: none is NULL */
    int64_t n;
    const stele_dim *dims; /* n_dims, up to 6, the outermost first; NULL: one dimension from 1, or no elements */
    int32_t n_dims;
} stele_array;

/* One call of a function: what it was registered with, memory and errors. Valid during the call. */
typedef struct stele_call stele_call;
/* `data` of the definition. */
STELE_API void *stele_call_data(const stele_call *call);
/* Memory that lives as long as the results of this call, without results as long as the call; counts for memory_limit;
 * 16-byte aligned. NULL: there is none,
 * the call's error is set, and the function is to return STELE_ERROR. */
STELE_API void *stele_call_alloc(stele_call *call, int64_t bytes);
/* Sets the call's error, which becomes the statement's; STELE_ERROR, to be returned. sqlstate: five characters, NULL
 * for 38000 (external_routine_exception). row: of the call, from 0, -1: none; it is named in the context. The first
 * error of a call counts. */
STELE_API stele_status stele_call_fail(stele_call *call, int64_t row, const char *sqlstate, const char *message);

/* Arguments: n cells and whether they are not NULL (a byte per row, NULL: none is NULL). Cells of NULL rows have some
 * value. Read only, and valid during the call. */
typedef struct stele_column {
    const void *data;
    const unsigned char *valid;
} stele_column;
/* Results, to be filled: n cells, and 0 in valid for each that is NULL (all bytes are 1 before). Cells that are not set
 * are zero, "" or an array without elements; of json types each has to be set or NULL (22P02). data of text types,
 * bytea, json types and arrays is NULL: stele_call_set_text, stele_call_set_array. */
typedef struct stele_result {
    void *data;
    unsigned char *valid;
    const void *cells; /* the library's */
} stele_result;
/* A result of a text type, bytea, json or jsonb, which is copied. len -1: NUL-terminated. STELE_ERROR, with the call's
 * error set: 22021 not UTF-8, 22P02 not JSON, 54000 too long, 53200, 42804 the result is not of such a type. */
STELE_API stele_status stele_call_set_text(stele_call *call, const stele_result *result, int64_t row, const char *text,
                                           int64_t len);
/* A result of an array type, as arguments are; text as stele_string. Everything is copied, and checked as results of
 * the elements' type are. STELE_ERROR as above; 42804 the result is no array, 22003, 22008 an element out of its type's
 * range, 22023 dimensions that do not have n elements, 54000 too many elements or dimensions. */
STELE_API stele_status stele_call_set_array(stele_call *call, const stele_result *result, int64_t row,
                                            const stele_array *array);

/* Flags of functions. Volatility as in PostgreSQL: without one of the two the result depends on the arguments alone, so
 * that calls are made once for equal arguments, or for constants when a statement is prepared. */
enum {
    STELE_FUNCTION_CALLED_ON_NULL = 1, /* also for rows with a NULL argument; else those are NULL without a call */
    STELE_FUNCTION_STABLE = 2,         /* the same within a statement */
    STELE_FUNCTION_VOLATILE = 4,       /* once for each row */
    STELE_FUNCTION_ONE_THREAD = 8,
    STELE_FUNCTION_LATERAL = 16 /* of table functions: columns do not depend on the arguments */
};

/* n >= 1 rows. STELE_OK, or STELE_ERROR after stele_call_fail. How rows are divided into calls does not follow any
 * rule. */
typedef stele_status (*stele_scalar_fn)(stele_call *call, int64_t n, const stele_column *args, stele_result *result);
typedef struct stele_scalar {
    const char *name;               /* as it is in SQL after folding: lower case, unless calls quote it */
    int64_t n_params;               /* 0 to 100 */
    const char *const *param_types; /* SQL types, "numeric(10,2)" */
    const char *const *param_names; /* for calls with named arguments; NULL, or NULL for some: none */
    const char *result_type;
    int32_t flags; /* STELE_FUNCTION_ */
    stele_scalar_fn call;
    void *data;                  /* stele_call_data */
    void (*destroy)(void *data); /* once nothing can call the function any more; on any thread; NULL: nothing */
} stele_scalar;
/* Registers a function, in the place of one with the same name and types, which statements that run go on to call.
 * Everything is copied. On an error nothing has changed and `destroy` is not called. 42723 the name of a built-in
 * function, of an aggregate or of a table function; 42704 no such type; 0A000 a type that functions cannot have; 22023
 * no name or no code; 54023 too many parameters; 53200. */
STELE_API stele_status stele_create_scalar(stele_conn *conn, const stele_scalar *function);
/* Aggregates. Rows with a NULL argument do not count. They work with GROUP BY, FILTER, DISTINCT, ORDER BY in the call,
 * and as window functions (without DISTINCT and ORDER BY, as in PostgreSQL). There are two ways to compute one:
 *
 *  - By states: init, update, combine, finish, with group NULL. A state is a flat block of bytes of a fixed size,
 *    aligned to 8: it may be copied, moved and written to disk, so it has no pointers of its own. Groups are divided
 *    among threads and put together by combine; memory is a state per group. DISTINCT with several arguments, and ORDER
 *    BY, collect the rows as below, and update one state with them in order.
 *  - By groups: group alone. It gets all rows of a group at once, in the order of ORDER BY (else in any), so results
 *    and what is kept meanwhile may be of any size. Arguments are kept until their group is complete: 2^30 - 1 bytes of
 *    one group at most (54000), which do not go to disk. A moving window frame calls it for each row with all rows of
 *    the frame.
 *
 * All functions are called by several threads at once, for different states or groups, unless
 * STELE_FUNCTION_ONE_THREAD. */
typedef struct stele_aggregate {
    const char *name;
    int64_t n_params; /* by states 1 or 2, by groups 1 to 8 */
    const char *const *param_types;
    const char *result_type;
    int32_t flags;                         /* 0 or STELE_FUNCTION_ONE_THREAD */
    int64_t state_size;                    /* bytes, 1 to 1024; by groups 0 */
    void (*init)(void *data, void *state); /* of no rows; called once, when the aggregate is registered. Zeroed before.
                                              NULL: zeros. Combined with any state it must change nothing. */
    stele_status (*update)(stele_call *call, int64_t n, void *const *states, const stele_column *args); /* a row each */
    stele_status (*combine)(stele_call *call, int64_t n, void *const *into, const void *const *from);
    stele_status (*finish)(stele_call *call, int64_t n, const void *const *states, stele_result *result);
    /* n >= 0 rows, into row 0 of the result */
    stele_status (*group)(stele_call *call, int64_t n, const stele_column *args, stele_result *result);
    void *data;
    void (*destroy)(void *data);
} stele_aggregate;
/* As stele_create_scalar; 22023 also for a size, flags or a mixture of functions that are not possible. */
STELE_API stele_status stele_create_aggregate(stele_conn *conn, const stele_aggregate *aggregate);

/* Table functions: FROM f(1, path => 'x'). All arguments must be given, by position or by name. There are two ways to
 * call one:
 *
 *  - With constants, which are known when the statement is bound. Rows are computed as they are read.
 *  - With anything else, if it has STELE_FUNCTION_LATERAL (else 0A000): parameters ($1), columns of what stands before
 *    it in FROM, subqueries; also for calls in a select list (of functions with one column), in ROWS FROM, and WITH
 *    ORDINALITY. When the statement is bound, bind is called without arguments (args NULL), for the columns alone.
 * While it runs, bind, begin, next, end and free_bound are called for each row of arguments, from several threads for
 *    different rows, and the rows of one call are collected in memory before they are used. bind must add the same
 *    columns as before (42804). For equal arguments it may be called once or several times.
 */
typedef struct stele_columns stele_columns; /* in the making */
/* One more column of the rows. 42704, 0A000, 54011 more than 1600. */
STELE_API stele_status stele_columns_add(stele_columns *columns, const char *name, const char *type);
typedef struct stele_table_function {
    const char *name;
    int64_t n_params;
    const char *const *param_types, *const *param_names;
    int32_t flags; /* STELE_FUNCTION_ONE_THREAD, STELE_FUNCTION_LATERAL */
    /* Adds the columns for these arguments, and may leave something of its own in *bound. Each time a statement is
     * bound, which may be more often than it runs. Arguments are valid until free_bound. */
    stele_status (*bind)(stele_call *call, int64_t n_args, const stele_value *args, stele_columns *columns,
                         void **bound);
    void (*free_bound)(void *bound); /* NULL: nothing; also after an error, when *bound is not NULL */
    /* One reading of the rows begins; several may be under way. wanted[i] false: column i need not be filled. */
    stele_status (*begin)(stele_call *call, void *bound, int64_t n_columns, const bool *wanted, void **scan);
    /* The next rows, `room` at most, into a result per column; *n 0: there are no more. One call at a time, on any
     * thread. */
    stele_status (*next)(stele_call *call, void *scan, int64_t room, stele_result *columns, int64_t *n);
    void (*end)(void *scan); /* NULL: nothing */
    void *data;
    void (*destroy)(void *data);
} stele_table_function;
/* As stele_create_scalar. */
STELE_API stele_status stele_create_table_function(stele_conn *conn, const stele_table_function *function);

/* Takes a function out; statements that run, or routines that were compiled, call it to their end. n_params < 0: all
 * of that name. 42883 there is none. */
STELE_API stele_status stele_drop_function(stele_conn *conn, const char *name, int64_t n_params,
                                           const char *const *param_types);

/* ---- bulks: many calls of one procedure as one statement ---------------------------------------
 * The result is that of running the calls one by one in the order given; a call that fails leaves no change and does
 * not touch the others.
 *
 *     stele_bulk *b;
 *     stele_bulk_new(conn, "transfer", &b);
 *     for (...) stele_bulk_add(b, (const char *const[]){"1", "2", "100"});
 *     stele_bulk_run(b);
 *     for (int64_t i = 0; i < stele_bulk_count(b); i++) if (stele_bulk_status(b, i, &error) != STELE_OK) ...
 *     stele_bulk_free(b);
 *
 * A bulk belongs to its connection's thread and is freed before the connection. Settings: bulk_strategy, bulk_set_min,
 * bulk_group_bits, bulk_figures, bulk_order, bulk_release, bulk_lanes, bulk_step_limit, bulk_replay,
 * bulk_replay_memory, executor, device. */
typedef struct stele_bulk stele_bulk; /* stele_bulk_free() */
/* A bulk of calls of a procedure or function, named as in SQL ("Pay" is pay, "\"Pay\"" is Pay), with the types of its
 * parameters when several have the name: "pay(int, bigint)". 42883, 42725 when the name is not unique, 42809 when it
 * returns a set. */
STELE_API stele_status stele_bulk_new(stele_conn *conn, const char *routine, stele_bulk **bulk);
STELE_API void stele_bulk_free(stele_bulk *bulk);
/* IN and INOUT parameters, and OUT values, in order. */
STELE_API int64_t stele_bulk_param_count(const stele_bulk *bulk);
STELE_API const char *stele_bulk_param_type(const stele_bulk *bulk, int64_t param);
STELE_API int64_t stele_bulk_out_count(const stele_bulk *bulk);
STELE_API const char *stele_bulk_out_name(const stele_bulk *bulk, int64_t out);
/* One more call: a text for each parameter, NULL for NULL. A text that is no value of its type: its SQLSTATE, and the
 * call is not added. */
STELE_API stele_status stele_bulk_add(stele_bulk *bulk, const char *const *values);
/* n more calls from columns of cells: smallint int16_t, integer and date int32_t, bigint and timestamps int64_t, real
 * float, double precision double, boolean one byte; other types 0A000. valid[i] may be NULL; else a byte per call, 0 =
 * NULL. */
STELE_API stele_status stele_bulk_add_columns(stele_bulk *bulk, int64_t n, const void *const *columns,
                                              const unsigned char *const *valid);
/* More calls from a record batch (a struct array), a column per parameter in order; names do not count. Integers of any
 * width for smallint, integer, bigint and numeric; utf8 for char, varchar and text; float and double for real, double
 * precision and numeric, rounded as casts do; else as above, lists of these for arrays, what is nested for json and
 * jsonb, null for any. Values are copied, the batch stays the caller's, to release. Everything is checked except that
 * buffers are as long as the lengths say. On an error no call of it was added: 22023 the batch is malformed, 42804 a
 * column's type, 22003 a value out of range, 22001 a text too long, 22021 text that is not UTF-8. */
STELE_API stele_status stele_bulk_add_arrow(stele_bulk *bulk, const struct ArrowSchema *schema,
                                            const struct ArrowArray *batch);
STELE_API int64_t stele_bulk_count(const stele_bulk *bulk);
/* Runs all calls; an error here means that nothing has changed. Once per bulk. stele_interrupt and statement_timeout
 * while calls run are no error here: calls that have not begun, and those in loops, fail with 57014, each alone, and
 * what the others did stays.
 * Outside a transaction block a bulk that takes long runs in slices (SET bulk_slice, 5 ms; 0: in one piece): other
 * connections' statements that wait run between two of them, and see what the calls before have done. If they drop or
 * replace the routine the calls that are left fail with 42883; an error that would have failed the whole bulk (53200,
 * 55P03) is then the error of each call that is left. */
STELE_API stele_status stele_bulk_run(stele_bulk *bulk);
/* How a call (from 0) ended: STELE_OK, or STELE_ERROR with its error; the context says where in the routine: "PL/pgSQL
 * function p(integer) line 4 at RAISE". Texts live as long as the bulk, the context until the next call of this
 * function. error may be NULL. */
STELE_API stele_status stele_bulk_status(const stele_bulk *bulk, int64_t call, stele_error_info *error);
/* An OUT value as text, NULL for NULL and for calls that failed; valid until the next call of this function. */
STELE_API const char *stele_bulk_value(stele_bulk *bulk, int64_t call, int64_t out, int64_t *len);
/* All results as a record batch, a row per call: sqlstate and message (NULL: it succeeded), then the OUT values, NULL
 * where a call failed. Types as in stele_bulk_add_arrow (large_utf8, large_binary, decimal128, timestamp[us]);
 * intervals as text. The caller releases both, at any time, also after the bulk and the connection are gone.
 * On an error both are released: 55000 when the calls have not run. */
STELE_API stele_status stele_bulk_get_arrow(stele_bulk *bulk, struct ArrowSchema *schema, struct ArrowArray *batch);
typedef struct stele_bulk_info {
    int64_t calls, failed;
    int64_t depth, width0, crossing; /* of the calls' dependencies [GPUTx App. D]: number of k-sets (of slices: of all
                                        together), calls in the first, calls that wait for more than one thing. depth 0:
                                        not known, a device ranked the calls (SET bulk_figures = on) */
    const char *strategy, *executor,
        *reason; /* reason: why not the executor that was asked for, or why one at a time; NULL */
    int64_t footprint_ns, schedule_ns, run_ns, total_ns;
    int64_t waited_ns,
        latency_ns;  /* of submitted calls: until their bulk began, and until their results were there; else 0 */
    const char *why; /* this strategy; NULL: there was no choice */
} stele_bulk_info;
/* How it ran. Of submitted calls: the bulk that they were part of, with the calls of others. */
STELE_API void stele_bulk_get_info(const stele_bulk *bulk, stele_bulk_info *info);

/* ---- the pool: calls of many connections run as one bulk --------------------------------------- Instead of running a
 * bulk at once, a connection may submit it to the database's pool: the calls that many connections submit are collected
 * and run together. The result is that of running them one by one in the order of submission. stele_bulk is the ticket:
 *
 *     stele_bulk_submit(b);                       // returns at once; other work; other bulks of this connection may be
 *                                                 submitted too
 *     stele_bulk_wait(b, -1, NULL);               // the calls have run
 *     stele_bulk_status(b, 0, &error), stele_bulk_value(b, 0, 0, NULL)
 *     stele_bulk_reset(b);                        // ready for the next calls
 *
 * A bulk is cut when it has bulk_size calls, when its first call has waited for bulk_interval (SET; 0: as soon as the
 * one before has ended), or when all threads that have waited for calls lately wait again. bulk_order and the other
 * settings are those of the connection at the time of submission; calls whose settings differ do not share a bulk. With
 * bulk_interval > 0 a plain CALL outside a transaction block, of a procedure that can be compiled, joins the pool too,
 * and so does a statement with parameters that inserts, changes or deletes one row by a key.
 *
 * SET bulk_cut = 'zero_set': of the calls that are there a bulk takes those that wait for no earlier one, and the
 * others stay for the next bulk, so that calls overtake earlier ones that they do not conflict with. The result is the
 * same. Good for long loops without kernels where few calls conflict; else 'arrival' is faster.
 *
 * Submitted calls are transactions of their own: 25001 in a transaction block, for waiting too. Definitions change
 * between bulks only. 0A000: the routine names a temporary table of the connection. */
/* Submits the bulk's calls, which stay together and in order. Until the wait has succeeded nothing may be added, and
 * only submit's counterparts below, status and value may be called. On an error nothing was submitted. */
STELE_API stele_status stele_bulk_submit(stele_bulk *bulk);
/* Waits until the calls have run, or for timeout_us (< 0: without limit; 0: just looks). *done (may be NULL) says
 * whether they have. STELE_ERROR: with *done, an error of the whole bulk (memory; lock_timeout while no thread waited
 * for it): none of its calls has changed anything; without, the calls were withdrawn before they began and can be
 * submitted again: 57014 by stele_interrupt or statement_timeout, 55P03 by lock_timeout. When calls run already, those
 * two end the ones that are in loops, which fail with 57014 each (stele_bulk_status); the rest run to their end. Of a
 * routine that cannot be compiled they end the call in hand, and all of the bulk's are undone: 57014 of the
 * whole bulk. */
STELE_API stele_status stele_bulk_wait(stele_bulk *bulk, int64_t timeout_us, bool *done);
/* Forgets calls and results. Calls that pend are withdrawn; of those under way, the ones in loops are ended, as above,
 * and the others waited for. stele_bulk_free does the same. */
STELE_API void stele_bulk_reset(stele_bulk *bulk);
/* What the pool has done since the database was opened, or since the last reset. */
typedef struct stele_pool_info {
    int64_t bulks, calls, largest;    /* calls / bulks is how many shared one */
    int64_t by_size, by_time, by_all; /* why bulks were cut */
    int64_t sent_ahead; /* whose arguments went to the device while the bulk before ran: with a device that has memory
                           of its own, where a full bulk was waiting, */
    int64_t footprints_ahead;       /* and whose footprints were made there right behind it */
    int64_t waiting;                /* calls in the queue now */
    int64_t p50_ns, p99_ns, max_ns; /* latency from submission to result, to an eighth */
    int64_t by_turn;                /* bulks cut because their first call's turn had come (SET bulk_cut = 'zero_set') */
} stele_pool_info;
STELE_API void stele_pool_get_info(stele_conn *conn, bool reset, stele_pool_info *info);

/* ---- ADBC ---------------------------------------------------------------------------------------
 * The library is a driver of Arrow Database Connectivity, revisions 1.0 and 1.1 (https://arrow.apache.org/adbc): a
 * driver manager loads libstele.so and calls one of these, which are the same, to fill its table of functions. `driver`
 * is a struct AdbcDriver of the version. Options of databases: uri (a path, or ":memory:"), stele.threads,
 * stele.memory_limit (both integers), stele.read_only, stele.existing; of connections: adbc.connection.autocommit,
 * readonly, transaction.isolation_level, and catalog and db_schema, which have one value; of statements: those of
 * ingestion, and adbc.statement.exec.progress (a double, 1 at the end) to read. Results are streams that are computed
 * as they are taken (stele_result_arrow_stream), but those of several rows of parameters. Not implemented, with a
 * message: partitions, incremental execution, Substrait. Any thread, once per driver.
 * ADBC_STATUS_NOT_IMPLEMENTED: another version. */
struct AdbcError;
STELE_API uint8_t AdbcDriverInit(int version, void *driver, struct AdbcError *error);
STELE_API uint8_t AdbcDriverSteleInit(int version, void *driver, struct AdbcError *error);

/* ---- catalog, for shells and tools -------------------------------------------------------------- */
/* Calls `each` for every table and view (kind "table" or "view"), the connection's temporary ones among them; stops
 * when it returns true. */
STELE_API stele_status stele_list_tables(stele_conn *conn,
                                         bool (*each)(void *ctx, const char *name, const char *kind, int64_t rows),
                                         void *ctx);
/* A sequence. Strings are valid during the call. */
typedef struct stele_sequence {
    const char *name, *type; /* "smallint", "integer", "bigint" */
    int64_t start, minimum, maximum, increment, cache;
    bool cycles, identity;                  /* identity: it is that of an identity column, its owner */
    const char *owner_table, *owner_column; /* the column that it goes with; "": none */
} stele_sequence;
STELE_API stele_status stele_list_sequences(stele_conn *conn, bool (*each)(void *ctx, const stele_sequence *s),
                                            void *ctx);
/* Columns of a table or view; type: its name, or that of a domain. default_sql is "" when absent, and begins with
 * "generated " for identity and generated columns; key: "", "primary
 * key" or "unique". 42P01 when unknown. */
STELE_API stele_status stele_list_columns(stele_conn *conn, const char *table,
                                          bool (*each)(void *ctx, const char *name, const char *type, bool not_null,
                                                       const char *default_sql, const char *key),
                                          void *ctx);
/* Domains: their base type or parent, default ("" when absent) and conditions ("CHECK (..) CHECK (..)", ""). */
STELE_API stele_status stele_list_domains(stele_conn *conn,
                                          bool (*each)(void *ctx, const char *name, const char *type, bool not_null,
                                                       const char *default_sql, const char *checks),
                                          void *ctx);
/* What is set of a table's WITH (...): a name and its value ("expected_rows", "1000000"). Nothing for views. 42P01 when
 * unknown. */
STELE_API stele_status stele_list_options(stele_conn *conn, const char *table,
                                          bool (*each)(void *ctx, const char *name, const char *value), void *ctx);
/* Functions, aggregates and procedures of the database: kind "function", "aggregate" or "procedure", arguments and
 * result as PostgreSQL's \df shows them. */
STELE_API stele_status stele_list_routines(stele_conn *conn,
                                           bool (*each)(void *ctx, const char *name, const char *kind, const char *args,
                                                        const char *result, const char *language),
                                           void *ctx);
/* An object of the database as the SQL that makes it. Strings are never NULL, and valid during the call. */
typedef struct stele_definition {
    const char *kind;  /* "TABLE", "FUNCTION", "PROCEDURE", "VIEW"; "SEQUENCE", "SEQUENCE OWNED BY", "SEQUENCE SET" (the
                          number given last: data); "CONSTRAINT", "FK CONSTRAINT" and "DEFAULT" are what tables get
                          last; "OWNER", "ACL" (grants on an object) and "DEFAULT ACL", of roles, which no list has */
    const char *name;  /* as it is called: t, f(integer), t t_pkey */
    const char *table; /* the table or view that it is or belongs to, "" for routines */
    const char *target;     /* of a table: its name and columns for COPY and INSERT, t (a, "B"), without those that are
                               generated; else "" */
    const char *create_sql; /* without a semicolon */
    const char *drop_sql, *drop_if_exists_sql; /* "" for what goes with its table */
    const char *problem; /* "", or why create_sql is going to fail: what it refers to is gone, or comes later */
    bool after_data;     /* to be made when tables have their rows */
    bool overriding;     /* of a table: INSERT of all its columns needs OVERRIDING SYSTEM VALUE */
} stele_definition;
/* Everything that the database defines, in an order in which it can be made (and, backwards, dropped): tables that
 * others refer to come before those, and objects of no order by name, so that a database made from the definitions has
 * the same list. Names in other schemas than public are qualified; of temporary objects there are the connection's,
 * as pg_temp_1.t. Stops when `each` returns true; it must not use the connection. 0A000: a view whose query cannot be
 * written, since relations were renamed. */
STELE_API stele_status stele_list_definitions(stele_conn *conn, bool (*each)(void *ctx, const stele_definition *d),
                                              void *ctx);
/* Functions and operators: name, argument types, result type, one line of documentation. */
STELE_API void stele_list_functions(bool (*each)(void *ctx, const char *name, const char *args, const char *result,
                                                 const char *doc),
                                    void *ctx);

/* Caveats: a result that does not stream (stele_set_stream) keeps its rows in memory, and beyond result_memory in
 * temporary files, until the statement is reset or finalized. Statements that read hold the
 * database's lock shared while they run, those that change it alone: others wait (SET lock_timeout). Transactions of
 * several connections run at the same time, each with the snapshot that its first statement took, and are serialisable:
 * of two that conflict the one that commits later fails with 40001, at a statement or at COMMIT (the transaction is
 * over then), and should be tried again; one that has changed nothing is not refused. BEGIN ISOLATION LEVEL READ
 * COMMITTED: each statement has its own snapshot, and one that changes rows which another such transaction has changed
 * waits for its end: connections that may wait for each other need threads of their own. 72000: what others have
 * changed since the snapshot went beyond snapshot_memory_limit. A transaction that defines, truncates, copies from or
 * loads keeps the lock until it ends. SET idle_in_transaction_session_timeout bounds the time between two calls that
 * run statements in a transaction: beyond it the transaction is over, with its changes undone, as soon as others wait
 * for it; the connection's next such call fails with 25P03 and leaves it outside of transactions. */

#ifdef __cplusplus
}
#endif
#endif
