/* arrow.h - Arrow's C data interface (https://arrow.apache.org/docs/format/CDataInterface.html), as src/api and
 * Arrow files share it: columns of batches to cells (arrow_in.c), vectors of cells to batches (arrow_out.c). */
#ifndef STELE_IO_ARROW_H
#define STELE_IO_ARROW_H

#include "base/err.h"
#include "base/mem.h"
#include "stele/stele.h"
#include "types/func.h"

/* ---- in ----------------------------------------------------------------------------------------------------- */
/* A column as a batch has it: checked, `first` the position of row 0. */
typedef struct ArrowColumn {
    const struct ArrowSchema *schema;
    const struct ArrowArray *array;
    int64_t first, n;
    Type type;         /* of the cells, or of their elements */
    const char *what;  /* type's name, for messages */
    const char *where; /* for messages: `parameter 3`, `column "a"` */
    /* NULL, or by row whether what it lies within is there: where not, nothing of it is looked at */
    const uint8_t *within;
    bool of_file; /* what is malformed is 22P04 then, and otherwise 22023 */
} ArrowColumn;

/* How the values of a column lie, as its format says. */
typedef enum ArrowLayout {
    ARROW_NULLS,       /* no buffers: all are NULL */
    ARROW_FIXED,       /* validity, values */
    ARROW_STRINGS,     /* validity, offsets, bytes */
    ARROW_VIEWS,       /* validity, views, any number of buffers of bytes, and in memory their sizes */
    ARROW_LISTS,       /* validity, offsets; a child */
    ARROW_LIST_VIEWS,  /* validity, offsets, sizes: lists in any order, which may share elements; a child */
    ARROW_FIXED_LISTS, /* lists of one length: validity; a child */
    ARROW_STRUCTS,     /* validity; children */
    ARROW_MAPS,        /* as lists; the child is a struct of key and value */
    ARROW_RUNS,        /* no buffers; children: where each run of equal values ends, and the values */
    ARROW_SPARSE,      /* unions: which child by row; children */
    ARROW_DENSE        /* unions: which child, and which row of it; children */
} ArrowLayout;
typedef struct ArrowFormat {
    ArrowLayout layout;
    bool wide;     /* offsets have 64 bits, not 32 */
    int32_t width; /* bytes of a fixed value or of a view, elements of ARROW_FIXED_LISTS; 0: it is a bit */
    bool has_type;
    Type type; /* in SQL, where it has one; what is nested has that of its values (arrow_type) */
} ArrowFormat;
static inline bool arrow_is_nested(ArrowLayout l) { return l >= ARROW_LISTS; }
static inline bool arrow_is_list(ArrowLayout l) { return l >= ARROW_LISTS && l <= ARROW_FIXED_LISTS; }
static inline bool arrow_is_union(ArrowLayout l) { return l >= ARROW_SPARSE; }
extern const uint8_t arrow_buffers[]; /* how many buffers a layout has; views have more */
/* false: it is not known, *out is zeros */
bool arrow_format(const char *format, ArrowFormat *out);

/* A dictionary whose values are cells already. `array` stands for it as the dictionary of an ArrowArray, only its
 * release callback is looked at (arrow_words_init). */
typedef struct ArrowWords {
    struct ArrowArray array; /* first */
    Type type;               /* of the column */
    int64_t n;
    const char *cells;
    const uint8_t *valid;
} ArrowWords;
/* All memory stays the caller's, and outlives *out. */
void arrow_words_init(ArrowWords *out, Type type, int64_t n, const char *cells, const uint8_t *valid);

enum { ARROW_OFFSET_BITS = 60 };
/* Position of the first row; -1 when it cannot be. */
int64_t arrow_start(int64_t at, const struct ArrowArray *a);
/* Everything that can be checked of a column but its values. 22023, 42804 */
Status arrow_check(const ArrowColumn *c, Err *e);
/* Cells (zeroed) and valid[] of c->type. The column has been checked. Strings are copied to the arena. */
Status arrow_convert(const ArrowColumn *c, Arena *a, void *cells, uint8_t *valid, Err *e);
/* Checks that a batch is a struct of n columns whose rows are all there. what: "the Arrow batch". 22023 */
Status arrow_check_batch(const struct ArrowSchema *schema, const struct ArrowArray *batch, Err *e);
/* The type that values of the column have in SQL (nested.h). 0A000: there is none. */
Status arrow_type(const struct ArrowSchema *s, Type *out, Err *e);

/* ---- out ---------------------------------------------------------------------------------------------------- */
/* A batch in the making. */
typedef struct ArrowOut {
    Arena *a; /* everything lies there, and becomes the batch's */
    MemAccount *account;
    int n_cols;
    int64_t n; /* rows that there is room for; before it is finished, those that it has */
    struct ArrowOutColumn *cols;
    TextForm form; /* of texts */
} ArrowOut;
/* Metadata of columns of numeric without (p,s), whose cells are texts. */
#define ARROW_TYPE_KEY "stele:type"
#define ARROW_NUMERIC "numeric"
extern const char arrow_numeric_mark[]; /* in the form of ArrowSchema.metadata */
/* account: what the batch is charged to, which outlives it; NULL for batches that leave the database. */
Status arrow_out_begin(ArrowOut *o, MemAccount *account, int n_cols, const Type *types, const char *const *names,
                       int64_t n, Err *e);
/* The next n cells of a column. v->valid NULL: all are there. */
Status arrow_out_put(ArrowOut *o, int col, int64_t n, const Vec *v, Err *e);
/* All cells of all columns have been put. On an error the caller cancels. */
Status arrow_out_finish(ArrowOut *o, struct ArrowSchema *schema, struct ArrowArray *batch, Err *e);
void arrow_out_cancel(ArrowOut *o);
/* The schema of batches with such columns, of no account. On an error *schema is zeros. */
Status arrow_out_schema(int n_cols, const Type *types, const char *const *names, struct ArrowSchema *schema, Err *e);

#endif
