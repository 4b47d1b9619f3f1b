/* arrow_ipc.h - the format of Arrow files and streams: messages, each a flatbuffer and a body.
 *
 * A file (.arrow, Feather version 2) is a stream between two magic words, with a footer that says where the messages
 * are. The messages are walked in either: their heads are small, and a file that lacks its end can be told.
 * https://arrow.apache.org/docs/format/Columnar.html#serialization-and-interprocess-communication-ipc
 */
#ifndef STELE_IO_ARROW_IPC_H
#define STELE_IO_ARROW_IPC_H

#include "base/vfs.h"
#include "io/arrow.h"
#include "io/codec.h"

/* Numbers of the format: kinds of messages, and of types. */
enum { MESSAGE_SCHEMA = 1, MESSAGE_DICTIONARY = 2, MESSAGE_BATCH = 3 };
enum {
    AT_NULL = 1,
    AT_INT,
    AT_FLOAT,
    AT_BINARY,
    AT_UTF8,
    AT_BOOL,
    AT_DECIMAL,
    AT_DATE,
    AT_TIME,
    AT_TIMESTAMP,
    AT_INTERVAL,
    AT_LIST,
    AT_STRUCT,
    AT_UNION,
    AT_FIXED,
    AT_FIXED_LIST,
    AT_MAP,
    AT_DURATION,
    AT_LARGE_BINARY,
    AT_LARGE_UTF8,
    AT_LARGE_LIST,
    AT_RUNS,
    AT_BINARY_VIEW,
    AT_UTF8_VIEW,
    AT_LIST_VIEW,
    AT_LARGE_LIST_VIEW
};

typedef struct ArrowField {
    const char *name;
    const char *format; /* of values, as in the C data interface */
    const char *codes;  /* of numbers of a dictionary; NULL: there is none */
    int64_t dictionary; /* its id */
    int32_t number;     /* among the fields with a dictionary */
    int32_t n_children; /* of values */
    struct ArrowField *children;
    struct ArrowSchema *schema; /* in the arena, with children and dictionary */
    Type type;                  /* in SQL */
} ArrowField;

typedef struct ArrowMessage { /* a batch, or a dictionary */
    int64_t head, head_len;   /* in the file */
    int64_t body, body_len;
    int64_t rows;
    int64_t dictionary;   /* id */
    bool delta;           /* it goes on with the dictionary that there is */
    int64_t dictionaries; /* of a batch: how many messages of dictionaries hold for it */
} ArrowMessage;

/* What a file has. Immutable once opened; any thread may read. */
typedef struct ArrowFile {
    Arena *a;
    VfsFile *file;
    Vfs *vfs;
    const char *path;
    int64_t size;
    int version; /* of the format's metadata */
    int32_t n_cols, n_coded;
    int64_t n_fields; /* columns, and what is within them */
    ArrowField *cols;
    VEC(ArrowMessage) batches;
    VEC(ArrowMessage) dictionaries;
} ArrowFile;
/* 58P01 ..., 22P04, 0A000 for types that have none in SQL, big-endian files, dictionaries of dictionaries. `path`
 * outlives it. */
ArrowFile *arrow_file_open(Vfs *vfs, MemAccount *account, const char *path, Err *e);
void arrow_file_close(ArrowFile *f); /* NULL is fine */

/* A batch's buffers, not read yet. */
typedef struct ArrowBatch {
    uint8_t *head;
    int64_t head_len, rows, body, body_len;
    Codec codec; /* each buffer with its size in front, or -1 and uncompressed */
    int64_t n_buffers, n_nodes, n_views;
    int64_t buffers, nodes, views; /* where they are in the head */
} ArrowBatch;
Status arrow_batch_open(const ArrowFile *f, const ArrowMessage *m, MemAccount *account, ArrowBatch *out, Err *e);
void arrow_batch_close(ArrowBatch *b, MemAccount *account);

/* A column of a batch in memory; kept from batch to batch. */
typedef struct ArrowHeld {
    struct ArrowArray array; /* of values, or of codes, whose dictionary the caller sets */
    IoBuffer *buffers;       /* in `a`, these too: */
    int64_t cap;
    const void **pointers;
    int64_t *sizes;
    int32_t n_children;
    struct ArrowHeld *children;
    struct ArrowArray **arrays; /* theirs */
    struct ArrowHeld *next;     /* of all that are within a column, behind it */
} ArrowHeld;
typedef struct ArrowCursor { /* among a batch's buffers */
    int64_t node, buffer, view;
} ArrowCursor;
/* Passes by a column. */
Status arrow_skip(const ArrowField *f, const ArrowBatch *b, ArrowCursor *at, Err *e);

/* What it takes to read a batch's columns. */
typedef struct ArrowLoader {
    const ArrowFile *file;
    const ArrowBatch *b;
    Arena *a;
    MemAccount *account;
    Codecs *codecs;
    IoBuffer *raw; /* for compressed bytes */
} ArrowLoader;
/* Reads and checks a column's buffers: as long as its rows need, offsets in order and within what they point to. */
Status arrow_hold(const ArrowLoader *l, const ArrowField *f, ArrowCursor *at, ArrowHeld *h, Err *e);
void arrow_held_release(ArrowHeld *h, MemAccount *account);

#endif
