/* stream.h - rows that come from outside the database as the source of a segment (SRC_STREAM): files (src/io).
 *
 * A RowStream is what a statement reads: columns with types, known when the statement is bound, and how to begin. It is
 * immutable and lives in the plan's arena. A StreamRun is one reading of it, made when its segment starts: workers take
 * batches of rows until there are none.
 *
 * Failures belong to the rows: the run keeps the first one in the order of the rows, and `end` reports it when all
 * workers have stopped, so that which failure is reported does not depend on the workers.
 */
#ifndef STELE_PROGRAM_STREAM_H
#define STELE_PROGRAM_STREAM_H

#include "base/log.h"
#include "base/vfs.h"
#include "types/func.h"

/* Rows whose cell of the column is NULL or outside of lo .. hi are dropped by the program: they may be left out. For
 * columns of 16 to 64 bits: integers, decimals, dates and times. */
typedef struct StreamBound {
    int32_t col;
    int64_t lo, hi;
} StreamBound;

/* All that it points at stays until the run is freed. */
typedef struct StreamUse {
    int threads; /* workers 0 .. threads - 1 */
    MemAccount *account;
    Vfs *vfs;
    const SessionInfo *session;
    _Atomic bool *cancel;      /* NULL: cannot be cancelled; `next` looks at it per block of input */
    int64_t deadline_ns;       /* on clock_ns(); 0 = none */
    const _Atomic bool *pause; /* NULL: never. While it is true no new `order` is begun: `next` gives n = 0 instead, and
                                  more when it is called again later */
    const bool *wanted;        /* by column: the others are not converted */
    int32_t n_bounds;
    const StreamBound *bounds;
} StreamUse;
static inline bool stream_paused(const StreamUse *u) { return u->pause && atomic_load(u->pause); }
/* 57014 where the statement has been canceled or is over its time. */
static inline Status stream_interrupted(const StreamUse *u, Err *e) {
    if (u->cancel && atomic_load(u->cancel))
        return err_set(e, ERR_QUERY_CANCELED, "canceling statement due to user request");
    if (u->deadline_ns && clock_ns() > u->deadline_ns)
        return err_set(e, ERR_QUERY_CANCELED, "canceling statement due to statement timeout");
    return ST_OK;
}

/* Rows of one worker, valid until its next call. Batches of one `order` come from one worker, in their order. */
typedef struct StreamBatch {
    int64_t order;
    int64_t n;       /* 0: there is nothing left for this worker */
    const Vec *cols; /* by column: cells of the type's phys; `valid` may be NULL; those not wanted are undefined */
} StreamBatch;

typedef struct StreamRun StreamRun;
struct StreamRun {
    Status (*next)(StreamRun *r, int worker, StreamBatch *out, Err *e); /* any worker, each for itself */
    Status (*end)(StreamRun *r, Err *e);                                /* no worker is in next any more */
    double (*fraction)(StreamRun *r);                                   /* of the input that was read, for progress */
    void (*free)(StreamRun *r);
    _Atomic int64_t skipped; /* pieces of the input that were left out by the bounds */
};

typedef struct RowStream RowStream;
struct RowStream {
    int32_t n_cols;
    const char *const *names;
    const Type *types;
    const char *alias;        /* of the relation, where the statement gives none */
    const char *label;        /* for EXPLAIN: "csv file x.csv" */
    const char *const *more;  /* for EXPLAIN: how it is read, lines of text; NULL-terminated, or NULL */
    const char *const *notes; /* for DESCRIBE: by column how it is read, or NULL; or NULL */
    double est_rows;
    Status (*begin)(const RowStream *s, const StreamUse *use, StreamRun **out, Err *e);
};

/* ---- what names a stream in a statement ------------------------------------------------------------------------ */
typedef struct StreamOption {
    const char *name;
    int64_t position;          /* in the statement */
    int32_t n_values;          /* more than one only of an array */
    const char *const *values; /* as text; NULL is NULL */
} StreamOption;
typedef struct StreamCall {
    const char *function; /* read_csv, read_json ...; NULL: by the first path's ending */
    int64_t position;
    int32_t n_paths;
    const char *const *paths; /* with wildcards */
    int32_t n_options;
    const StreamOption *options;
    int32_t n_cols; /* names and types of all columns as the statement has them; 0: they are found out */
    const char *const *names;
    const Type *types;
} StreamCall;
/* Finds streams: what src/io can, for the binder, which is below it. */
typedef struct StreamFinder StreamFinder;
struct StreamFinder {
    bool (*is_function)(const char *name);
    /* In the arena. 58P01 and the like, 22P04, 42704 ... */
    Status (*open)(const StreamFinder *f, Arena *a, const StreamCall *call, const RowStream **out, Err *e);
};

#endif
