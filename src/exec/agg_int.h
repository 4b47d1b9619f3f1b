/* agg_int.h - inside of the aggregation: what agg.c (groups) and agg_state.c (states) share.
 *
 * A group is a row of fixed width, 8-byte aligned: 8 bytes of header (the packed key or the hash), key cells and their
 * validity when keys are not packed, aggregate cells, one byte per aggregate whose result depends on whether it saw a
 * value. Every aggregate has one update, one merge and perhaps one reduce function for whole vectors, chosen when the
 * table is made. A row fresh from the template is neutral: merging it into another one changes nothing.
 */
#ifndef STELE_EXEC_AGG_INT_H
#define STELE_EXEC_AGG_INT_H

#include "exec/agg.h"

/* Strings of group rows: chunks that are freed together. */
typedef struct AggChunk {
    struct AggChunk *next;
    int64_t size; /* with this header */
} AggChunk;
typedef struct AggHeap {
    MemAccount *acct;
    AggChunk *chunks;
    char *free;
    int64_t left, total;
} AggHeap;
void *agg_heap_alloc(AggHeap *h, int64_t bytes, Err *e); /* 8-byte aligned */
void agg_heap_free(AggHeap *h);

typedef struct AggCol AggCol;
typedef Status (*AggUpdate)(const AggCol *c, AggHeap *h, int64_t n, char *const *rows, const Vec *in, const Vec *in2,
                            Err *e);
typedef Status (*AggReduce)(const AggCol *c, int64_t n, char *row, const Vec *in, Err *e);
typedef Status (*AggMerge)(const AggCol *c, AggHeap *h, int64_t n, char *const *dst, const char *const *src, Err *e);

/* How a column is added up when there are few groups: into interleaved copies of plain sums. */
typedef enum AggFew { FEW_NONE, FEW_COUNT, FEW_I64, FEW_I128, FEW_F64 } AggFew;

struct AggCol {
    uint8_t op, in, out, arg, few;
    uint8_t in_scale, out_scale; /* AO_VAR_EXACT */
    bool copy;                   /* string bytes are copied into the heap */
    const FuncDef *func;         /* AO_CLIENT */
    int32_t off, seen;           /* seen: -1 none; ANY and SINGLE: 0 nothing, 1 a value, 2 a NULL */
    AggUpdate update;
    AggReduce reduce; /* all rows into one group, or NULL */
    AggMerge merge;
};

/* State cells larger than the value. */
typedef struct StrCell {
    Str s;
    int64_t cap;
} StrCell; /* MIN, MAX, ANY of copied strings; sums of numerics without (p,s); BIT_AND and the like of bit strings */
typedef struct JoinCell {
    char *buf;
    int64_t len, cap, skip;
} JoinCell; /* string_agg: the first delimiter, then the text; skip = its length */
/* Variance: the number of values, their sum and the sum of the squares of their differences from the mean (Youngs and
 * Cramer, as PostgreSQL's). */
typedef struct VarCell {
    int64_t n;
    double sum, squares;
} VarCell;
/* ... of exact values: their sum (two's complement) and the sum of their squares. 2^63 values of 2^127 fit. */
typedef struct VarExactCell {
    int64_t n;
    uint64_t sum[3], squares[5];
} VarExactCell;

/* The string of a MIN, MAX, ANY: copied into the heap, over the last one where there is room, if c->copy. */
Status agg_put_str(const AggCol *c, AggHeap *h, char *cell, Str v, Err *e);

/* Sums of numerics without (p,s) (agg_dec.c). */
Status agg_dec_update(const AggCol *c, AggHeap *h, int64_t n, char *const *rows, const Vec *in, const Vec *in2, Err *e);

/* bit_and, bit_or and bit_xor of bit strings (agg_bits.c). */
Status agg_bits_update(const AggCol *c, AggHeap *h, int64_t n, char *const *rows, const Vec *in, const Vec *in2,
                       Err *e);

/* Sets everything but the offsets. */
Status agg_col_init(AggCol *c, const AggCell *cell, bool always_seen, Err *e);
int32_t agg_cell_bytes(const AggCol *c);
void agg_cell_template(const AggCol *c, char *row);
/* True when the cell's state has bytes outside the row; then how many and where (bytes follow the row when it is
 * written to disk). */
bool agg_cell_has_bytes(const AggCol *c);
char **agg_cell_bytes_of(const AggCol *c, char *row, int64_t *len);
/* Final values of one aggregate; strings that are no state's lie in the arena. */
Status agg_cell_load(const AggCol *c, const char *const *rows, int64_t first, const int32_t *pos, int64_t n, Vec *out,
                     Arena *a, Err *e);

/* corr, covar_* and regr_* (agg_regr.c). */
int32_t agg_regr_bytes(void);
Status agg_regr_update(const AggCol *c, AggHeap *h, int64_t n, char *const *rows, const Vec *in, const Vec *in2,
                       Err *e);
Status agg_regr_merge(const AggCol *c, AggHeap *h, int64_t n, char *const *dst, const char *const *src, Err *e);
void agg_regr_load(const AggCol *c, const char *const *rows, int64_t first, const int32_t *pos, int64_t n, Vec *out);

/* Aggregates of clients (agg_client.c). */
Status agg_client_update(const AggCol *c, AggHeap *h, int64_t n, char *const *rows, const Vec *in, const Vec *in2,
                         Err *e);
Status agg_client_merge(const AggCol *c, AggHeap *h, int64_t n, char *const *dst, const char *const *src, Err *e);
Status agg_client_load(const AggCol *c, const char *const *rows, int64_t first, const int32_t *pos, int64_t n, Vec *out,
                       Arena *a, Err *e);

/* Few groups: x[i] added to acc[copy][group[i]]. FEW_SLOTS groups at most. */
enum { FEW_SLOTS = 64, FEW_COPIES = 8 };
typedef struct FewAcc {
    int64_t i[FEW_COPIES][FEW_SLOTS];
} FewAcc;
typedef struct FewAccF {
    double f[FEW_COPIES][FEW_SLOTS];
} FewAccF;
void agg_few_count(int64_t n, const uint64_t *group, const uint8_t *valid, int64_t slots, int64_t *out);
Status agg_few_update(const AggCol *c, int64_t n, const uint64_t *group, int64_t slots, const Vec *in,
                      const int64_t *rows_in_group, char *base, int64_t width, Err *e);

#endif
