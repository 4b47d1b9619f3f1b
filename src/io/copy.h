/* copy.h - COPY: text, CSV and .tbl files in and out.
 *
 * Formats: text (PostgreSQL's, tab and backslash escapes, \N), csv (RFC 4180 with PostgreSQL's options) and tbl
 * (TPC-H: '|' after every field, also the last; no escapes, no NULLs). A path ending in .tbl means tbl unless FORMAT is
 * given; a path ending in .csv means csv. Files that are compressed with gzip or zstd are read as what is in them
 * (input.h), whatever they are called; a .gz or .zst at the end does not count for the format.
 *
 * Loading: workers take blocks of the input in turn, each cut at its last line end (for CSV outside quotes; the rest
 * goes to the next block), and parse them straight into column vectors for a TableLoad; strings stay views into the
 * block. Nothing is visible unless everything parsed: the first bad line (in file order) is reported with file, line
 * and column (22P04, 22P02, ...), as `COPY t, line 3, column b: "x"` in Err.context.
 */
#ifndef STELE_IO_COPY_H
#define STELE_IO_COPY_H

#include "exec/rows.h"
#include "sql/parse/ast.h"
#include "storage/table.h"

typedef enum CopyFormat {
    COPY_TEXT,
    COPY_CSV,
    COPY_TBL,
    COPY_JSON,    /* lines; read as files only */
    COPY_PARQUET, /* COPY TO a file only, and this one: */
    COPY_ARROW
} CopyFormat;
/* How the texts of a column are read. */
typedef struct CopyForm {
    const char *format; /* of dates and timestamps, or NULL */
    bool comma;         /* 1.234,5 */
    int32_t n_nulls;    /* further texts that mean NULL */
    const Slice *nulls;
} CopyForm;
typedef struct CopyOptions {
    CopyFormat format;
    char delimiter, quote, escape;
    char null_text[64];
    int64_t null_len; /* -1: no text means NULL */
    bool header;
    bool header_match; /* the header line must name the columns */
    bool force_quote_all;
    bool *force_quote; /* per column, or NULL */
    bool *force_not_null, *force_null;
    /* COPY FROM a file: Stele's own, and ON_ERROR and REJECT_LIMIT, which PostgreSQL has since version 17 */
    bool sniff;                                 /* FORMAT auto: what is in the file is found out (files.h) */
    int64_t skip_lines;                         /* in front */
    bool ignore_errors;                         /* ON_ERROR ignore */
    int64_t reject_limit;                       /* of rows that are ignored; 0: none */
    const char *reject;                         /* the file that they go to; NULL: none */
    const char *date_format, *timestamp_format; /* date_format.h; NULL: the types' own syntax */
    bool decimal_comma;
    const CopyForm *forms; /* by column, where they were found out; or NULL */
} CopyOptions;
/* Reads the statement's options; names[] are the n columns copied. 22023, 42601 as PostgreSQL. */
Status copy_options(const AstCopy *stmt, int64_t n, const char *const *names, Arena *a, CopyOptions *out, Err *e);

typedef int64_t (*CopyRead)(void *ctx, char *buf, int64_t size);      /* 0 end, -1 error */
typedef bool (*CopyWrite)(void *ctx, const char *data, int64_t size); /* false = error */

typedef struct CopyTarget {
    Table *table;
    int n_cols;
    const int *cols;       /* file column i goes to table column cols[i] */
    const Value *defaults; /* per table column, used for columns not in the file (is_null = none) */
    const SessionInfo *session;
    Pool *pool;
    int threads;
    MemAccount *account;
    _Atomic bool *cancel;
    void (*progress)(void *ctx, double fraction);
    void *progress_ctx;
    int64_t *rejected; /* gets the number of rows that were ignored; may be NULL */
    /* The database lock is given up when the load has begun, and taken again behind the last row, before the table
     * changes. NULL: it is held all the time. */
    void (*unlock)(void *ctx);
    Status (*lock)(void *ctx);
    void *lock_ctx;
} CopyTarget;
/* Loads from a file (path) or, with path NULL, from `read`. *rows gets the number loaded. With undo the load can be
 * rolled back. CHECK constraints are the caller's. */
Status copy_from(const CopyTarget *t, const CopyOptions *o, Vfs *vfs, const char *path, CopyRead read, void *ctx,
                 UndoLog *undo, int64_t *rows, Err *e);
/* What is written: all rows of a result, and of `more` (NULL: nothing) behind it. */
typedef struct CopySource {
    RowStore *rows;
    const RowPieces *more;
    int32_t n_cols;
    const Type *types;
    const char *const *names;
    TextForm form; /* of texts */
    MemAccount *account;
} CopySource;
/* fn for each run of all rows, which are counted in *n_rows. */
typedef Status (*CopyRun)(void *ctx, const RowLayout *l, const RowRun *run);
Status copy_each_run(const CopySource *from, CopyRun fn, void *ctx, int64_t *n_rows, Err *e);
/* To a file (path), written beside it and renamed when complete, or, with path NULL, to `write`. *n_rows gets the
 * number written. */
Status copy_to(const CopySource *from, const CopyOptions *o, Vfs *vfs, const char *path, CopyWrite write, void *ctx,
               int64_t *n_rows, Err *e);

#endif
