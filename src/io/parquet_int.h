/* parquet_int.h - between parquet*.c only (and their tests).
 *
 * A file's footer is read by third_party/carquet (parquet.c); the pages of its columns are decoded here, straight into
 * the cells that the virtual machine reads (parquet_pages.c, parquet_values.c, parquet_delta.c). Columns that are
 * nested are put together from their leaves (parquet_nested.c).
 */
#ifndef STELE_IO_PARQUET_INT_H
#define STELE_IO_PARQUET_INT_H

#include "base/vfs.h"
#include "io/codec.h"
#include "io/nested.h"
#include "types/func.h"

enum { PARQUET_BATCH = 2048 };

typedef enum ParquetPhysical { /* numbers of the format */
                               PP_BOOLEAN,
                               PP_INT32,
                               PP_INT64,
                               PP_INT96,
                               PP_FLOAT,
                               PP_DOUBLE,
                               PP_BYTE_ARRAY,
                               PP_FIXED
} ParquetPhysical;

typedef enum ParquetEncoding { /* numbers of the format */
                               PE_PLAIN = 0,
                               PE_PLAIN_DICTIONARY = 2,
                               PE_RLE = 3,
                               PE_DELTA_BINARY_PACKED = 5,
                               PE_DELTA_LENGTH_BYTE_ARRAY = 6,
                               PE_DELTA_BYTE_ARRAY = 7,
                               PE_RLE_DICTIONARY = 8,
                               PE_BYTE_STREAM_SPLIT = 9
} ParquetEncoding;

typedef enum ParquetForm { /* how values become cells */
                           PF_BOOL,
                           PF_I16,
                           PF_I32,
                           PF_U32,
                           PF_I64,
                           PF_U64,
                           PF_F16,
                           PF_F32,
                           PF_F64,
                           PF_DATE,
                           PF_TIME,
                           PF_STAMP,
                           PF_INT96,
                           PF_TEXT,
                           PF_JSON,
                           PF_BYTES,
                           PF_FIXED,
                           PF_UUID,
                           PF_DECIMAL
} ParquetForm;

struct ParquetTree;
typedef struct ParquetColumn {
    int32_t leaf;
    ParquetPhysical physical;
    int32_t length;           /* bytes of a value: 0 where they differ (PP_BYTE_ARRAY) or are bits (PP_BOOLEAN) */
    uint8_t max_def, max_rep; /* levels; of a column that is not nested at most 1, and 0 */
    ParquetForm form;
    int64_t multiply, divide; /* to microseconds */
    Type type;
    const char *name;
    const struct ParquetTree *tree; /* of a nested column, which has the values; NULL: it is none */
} ParquetColumn;

/* A field of a nested column. Each entry of a leaf is two levels: repetition says which list goes on with a further
 * element, definition how much of the way down to the leaf is there. */
typedef struct ParquetNode {
    uint8_t rep;     /* up to this repetition level an entry begins a value of the field, */
    uint8_t outer;   /* if it has at least this definition level: otherwise what it is within has no value; */
    uint8_t there;   /* from this level on it is not NULL */
    uint8_t element; /* a list or map: from this level on it has an element. More have the level rep + 1 */
    int32_t first_leaf, n_leaves; /* that are within it; of a value one */
} ParquetNode;

/* A nested column: its fields, each in front of those that are within it, and these side by side. */
typedef struct ParquetTree {
    int32_t n_nodes, n_leaves;
    ParquetNode *nodes;
    NestedField *fields; /* by node */
    ParquetColumn *leaves;
} ParquetTree;

/* ---- parquet_values.c -------------------------------------------------------------------------------------------- */
/* n values in PLAIN encoding from *at on, which is left behind them, as cells of the column's type; not of booleans.
 * Strings are views. 22P04 where they end early, 22021 for a text that is none, 22008 ... */
Status parquet_cells(const ParquetColumn *c, const uint8_t **at, const uint8_t *end, int64_t n, void *cells, Err *e);
/* Only *at. */
Status parquet_cells_skip(const ParquetColumn *c, const uint8_t **at, const uint8_t *end, int64_t n, Err *e);

/* Numbers of `width` bits, 0 to 32, in runs that are repeated or packed. */
typedef struct ParquetRuns {
    const uint8_t *p, *end;
    int width;
    bool packed;
    int64_t left;   /* of the run */
    int64_t bit;    /* of a packed run: the next one's, from p on */
    uint32_t value; /* of a repeated one */
} ParquetRuns;
void parquet_runs_init(ParquetRuns *r, const uint8_t *p, const uint8_t *end, int width);
/* out NULL: they are skipped. False: there are fewer than n. CODEC_PAD bytes behind `end` are readable. */
bool parquet_runs_read(ParquetRuns *r, int64_t n, uint32_t *out);
/* Of width 1, as bytes; *ones counts them. Where all n are 1 `out` may be left as it was. */
bool parquet_runs_bits(ParquetRuns *r, int64_t n, uint8_t *out, int64_t *ones);

/* ---- parquet_delta.c --------------------------------------------------------------------------------------------- */
/* A page's values, in another encoding that is no dictionary's, in PLAIN encoding in `out`; *size bytes. n: of them. */
Status parquet_to_plain(const ParquetColumn *c, int encoding, const uint8_t *at, const uint8_t *end, int64_t n,
                        IoBuffer *out, MemAccount *account, int64_t *size, Err *e);

/* ---- parquet_pages.c --------------------------------------------------------------------------------------------- */
/* The pages of one column of one row group after the other. Buffers are kept from one row group to the next. */
typedef struct ParquetPages {
    /* set once by the caller */
    const ParquetColumn *c;
    MemAccount *account;
    Codecs *codecs;
    /* the column chunk */
    VfsFile *file;
    int32_t codec;
    int64_t at, end; /* in the file: the next page, and where there is none any more */
    /* bytes of the file */
    IoBuffer in;
    int64_t in_from, in_len;
    /* the dictionary: values as cells */
    IoBuffer dict_body, dict;
    int64_t n_dict; /* below 0: there is none */
    /* the page */
    IoBuffer body, plain;
    int64_t rows; /* not read yet; of a leaf of a nested column, entries */
    enum { PAGE_PLAIN, PAGE_CODES, PAGE_BITS } kind;
    ParquetRuns defs, reps, codes;
    const uint8_t *values, *values_end;
} ParquetPages;
/* The chunk is at start .. end of the file, which stays the caller's. */
void parquet_pages_begin(ParquetPages *p, VfsFile *file, int32_t codec, int64_t start, int64_t end);
/* Goes to the next page that has rows where the last one's have been read; p->rows says how many there are. What was
 * read before is no longer valid. 22P04, 0A000 for encodings and codecs that are not known. */
Status parquet_pages_ready(ParquetPages *p, Err *e);
/* n rows of the page, at most p->rows: cells, and valid by row where *nulls. Strings stay valid until the next
 * parquet_pages_ready. */
Status parquet_pages_read(ParquetPages *p, int64_t n, void *cells, uint8_t *valid, bool *nulls, Err *e);
/* Leaves n rows out; whole pages are not decoded. */
Status parquet_pages_skip(ParquetPages *p, int64_t n, Err *e);
void parquet_pages_release(ParquetPages *p);

/* Leaves of nested columns: as parquet_pages_ready, but that there are no more pages is no error. */
Status parquet_pages_more(ParquetPages *p, bool *more, Err *e);
/* The levels of the next n entries of the page, at most p->rows and PARQUET_BATCH. */
Status parquet_pages_levels(ParquetPages *p, int64_t n, uint8_t *reps, uint8_t *defs, Err *e);
/* The next n values of the page, as many as its levels read say that there are; cells NULL: they are left out. */
Status parquet_pages_values(ParquetPages *p, int64_t n, void *cells, Err *e);
/* Cells 0 .. m go to those of n places that are valid, in order; the others are zeros. */
void parquet_spread(int64_t n, int64_t m, const uint8_t *valid, void *cells, int64_t size);

/* ---- parquet_nested.c -------------------------------------------------------------------------------------------- */
/* A nested column of one row group after the other. */
typedef struct ParquetNested ParquetNested;
/* In the arena; account and codecs outlive it. */
ParquetNested *parquet_nested_new(const ParquetTree *t, Arena *a, MemAccount *account, Codecs *codecs);
/* The chunk of leaf number i, as parquet_pages_begin. */
void parquet_nested_begin(ParquetNested *p, int32_t i, VfsFile *file, int32_t codec, int64_t start, int64_t end);
/* How many rows are good to be read at a time: rows may be of any size. */
int64_t parquet_nested_rows(const ParquetNested *p);
/* n rows as cells of the column's type, whose strings are in the arena; valid by row. 22P04 where levels do not fit
 * together, besides what parquet_pages_ready and nested_cells have. */
Status parquet_nested_read(ParquetNested *p, int64_t n, Arena *strings, Str *cells, uint8_t *valid, Err *e);
Status parquet_nested_skip(ParquetNested *p, int64_t n, Err *e);
void parquet_nested_release(ParquetNested *p); /* NULL is fine */

#endif
