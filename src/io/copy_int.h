/* copy_int.h - between copy.c, copy_options.c, copy_parse.c and copy_out.c only (and their tests).
 *
 * The parser turns a run of whole records into cells. Its input is a block that
 *   - ends with a line end (one is added to a last line that has none, see `sentinel`), so that no loop needs a bound,
 * and
 *   - has COPY_PAD readable bytes behind it, so that words and vectors may be loaded anywhere.
 */
#ifndef STELE_IO_COPY_INT_H
#define STELE_IO_COPY_INT_H

#include "io/copy.h"

enum {
    COPY_PAD = 64,
    COPY_BATCH = 1024 /* rows per load_add: the cells of a wide table still fit the second-level cache */
};

/* Bytes read per block. Tests make it small to move the block borders everywhere. */
extern int64_t copy_chunk_bytes;

typedef enum CopyKind {
    CK_OTHER,
    CK_BOOL,
    CK_I16,
    CK_I32,
    CK_I64,
    CK_NUM64,
    CK_NUM128,
    CK_DATE,
    CK_TIMESTAMP,
    CK_STR,
    CK_SKIP /* the field is cut out and not converted */
} CopyKind;

typedef struct CopyCol {
    uint8_t kind; /* CopyKind: which fast path tries first; all end in cell_from_text */
    uint8_t scale, precision;
    bool trim; /* char(n): without trailing blanks */
    bool force_not_null, force_null;
    bool has_nulls;  /* in this batch; otherwise valid[] is all 1 */
    int64_t max_len; /* strings up to so many bytes need no counting of characters */
    int64_t cell_size;
    void *cells;
    uint8_t *valid;
    Type type;
    const char *name;
    /* Files read as tables (csv_read.c); all zero for COPY. */
    bool skip;
    bool strict;        /* numeric: no more digits than the scale; COPY rounds */
    bool comma;         /* 1.234,5 */
    const char *format; /* of dates and timestamps (date_format.h); NULL: the type's own syntax */
    int32_t n_nulls;    /* further texts that mean NULL; for text types, where they are not quoted */
    const Slice *nulls;
} CopyCol;

/* First day minus one of each month from 1900-01 to 2100-01. */
enum { COPY_YEAR0 = 1900, COPY_YEARS = 200 };
typedef struct CopyMonths {
    int32_t before[COPY_YEARS * 12 + 1];
} CopyMonths;

struct JsonColumns; /* json_parse.c */

typedef struct CopyParser {
    const CopyOptions *o;
    char delimiter, eol; /* eol: '\n' or '\r', the last byte of a line end */
    bool crlf;           /* a '\r' before '\n' belongs to the line end */
    bool sentinel;       /* the block's last byte is not in the input */
    int n_cols;
    CopyCol *cols;
    int64_t n;                    /* rows in the batch */
    const char *rows[COPY_BATCH]; /* where each starts */
    int64_t extra_lines;          /* line ends inside records (text format) */
    bool skip_blank;              /* empty lines are no records, where records have several fields */
    bool pad;                     /* fields that a record lacks at its end are NULL */
    struct JsonColumns *json;     /* JSON lines */
    const SessionInfo *session;
    const CopyMonths *months;
    Arena *arena; /* unescaped strings: set by the caller, who resets it between batches */
    Err err;
    /* where err happened */
    const char *fail_row;
    int fail_col; /* -1: the record as a whole */
    bool fail_null;
    Slice fail_value;
} CopyParser;

void copy_months_init(CopyMonths *m);
/* cells and valid are from `a`. cols[i].type and name are set by the caller before. */
Status copy_parser_init(CopyParser *p, const CopyOptions *o, int n_cols, CopyCol *cols, const CopyMonths *months,
                        const SessionInfo *session, Arena *a);
/* A new batch: parses records from *at until COPY_BATCH rows or `end`. On an error p->n rows before it are complete. */
Status copy_parse(CopyParser *p, const char **at, const char *end);
/* Next field of a record at *at (left on its delimiter or line end); text is borrowed or in the arena. */
Status copy_next_field(CopyParser *p, const CopyCol *k, const char **at, const char *end, Slice *text, bool *is_null);
/* A text as the column's cell of that row; *cell is set. */
Status copy_convert(CopyParser *p, CopyCol *k, int64_t row, Slice text);
void copy_set_null(CopyCol *k, int64_t row);
/* Checks or skips the header record. */
Status copy_skip_header(CopyParser *p, const char **at, const char *end);
/* The end of the record that starts at s: its line end's last byte, or end. */
const char *copy_record_end(const CopyParser *p, const char *s, const char *end);

/* ---- json_parse.c: one object per line ---- */
enum { JSON_DEPTH_MAX = 1000 };
typedef enum JsonKind { JSON_NULL, JSON_STRING, JSON_NUMBER, JSON_BOOL, JSON_NESTED } JsonKind;
/* For the parser's columns; unknown: keys that are no column's are left out, else they are an error. */
Status json_columns_init(CopyParser *p, bool unknown, Arena *a);
/* As copy_parse. */
Status json_parse(CopyParser *p, const char **at, const char *end);
/* Members of the object at *at, one after the other: the first call is with *at at the line's begin and *first true.
 * *more false: the object has ended, and *at is behind its line. Texts are in the line, or in the parser's arena. */
Status json_member(CopyParser *p, const char **at, const char *end, bool *first, bool *more, Slice *key, Slice *text,
                   JsonKind *kind);

/* ---- copy_reject.c: rows that ON_ERROR ignore leaves out ---- */
typedef struct CopyReject {
    int64_t order, line; /* the block, and the line in it, from 0; then the line in the file, from 1 */
    const char *col;     /* or NULL */
    const char *sqlstate, *message, *text;
} CopyReject;
typedef struct CopyRejects {
    int64_t n, cap;
    CopyReject *items;
} CopyRejects;
/* Keeps what the parser's error says of the record fail_row, whose block begins at buf; texts are in the arena. */
Status copy_reject(CopyRejects *r, Arena *a, const CopyParser *p, int64_t order, const char *buf, const char *end);
/* Writes all of them to a file of the form line,column,sqlstate,message,record. lines: of the blocks. */
Status copy_reject_write(CopyReject *all, int64_t n, const int64_t *lines, int64_t n_blocks, int64_t lines_before,
                         Vfs *vfs, const char *path, MemAccount *account, Err *e);

/* Finds the last record end of a growing block. */
typedef struct CopyCut {
    int64_t scanned;          /* bytes looked at */
    int64_t cut;              /* bytes up to and with the last line end that ends a record; 0 = none yet */
    int64_t lines, cut_lines; /* CSV: line ends up to `scanned` and up to `cut` */
    bool in_quote, escaped;
} CopyCut;
void copy_cut_scan(CopyCut *c, const CopyOptions *o, char eol, const char *buf, int64_t len);
/* Position of a line that is just `\.` in buf[0..len), which starts at a record, or -1. */
int64_t copy_find_marker(const CopyOptions *o, const char *buf, int64_t len, bool at_eof);
typedef enum CopyEol { EOL_UNKNOWN, EOL_LF, EOL_CRLF, EOL_CR } CopyEol;
CopyEol copy_detect_eol(const CopyOptions *o, const char *buf, int64_t len, bool at_eof);

#endif
