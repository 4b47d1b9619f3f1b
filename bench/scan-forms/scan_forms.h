/* scan_forms.h - what the files of scan-forms share: the data, the list of cases, timing.
 *
 * A case is one way to read one form of data. Cases are run in turns, round after round, so that what else the machine
 * does falls on all of them; each run's result is compared with that of a plain loop over the same values.
 */
#ifndef BENCH_SCAN_FORMS_H
#define BENCH_SCAN_FORMS_H

#include "base/pool.h"
#include "storage/storage_int.h"

enum {
    VECTOR = 1024,   /* the virtual machine's default vector_size */
    ROUNDS_MAX = 15, /* most rounds that are kept */
    CODES = 256,     /* groups of GROUP */
    WORDS_MAX = 8    /* cells of the widest group */
};
typedef enum Op { OP_SUM_, OP_FILTER_, OP_GROUP_, OP_PACK_ } Op;

typedef struct Case Case;
struct Case {
    char label[64];
    Op op;
    int words; /* open: cells of 8 bytes a row */
    int width; /* packed: bits of a code */
    int k;     /* columns read */
    int way;   /* of several ways to do it */
    int set;   /* index of a share of patched rows, of a set of strings */
    int64_t lo, hi;
    uint64_t (*run)(const Case *c, int64_t tablet);
    uint64_t (*plain)(const Case *c, int64_t tablet); /* the same by a plain loop */
    int64_t cap;                                      /* most tablets; 0: all */
    uint64_t expect_all, expect_few[64];
    int n_times;
    double ns[ROUNDS_MAX]; /* per row of one thread */
};

typedef struct Bench {
    int64_t tablets; /* of the data beyond the cache */
    int rounds, threads;
    double limit_s; /* per configuration: rounds end when it is over, after three */
    Pool *pool;
    MemAccount account;
    Case *cases;
    int n_cases, cap_cases;
    int failures;
} Bench;
extern Bench bench;

Case *case_add(const char *label, Op op, uint64_t (*run)(const Case *, int64_t),
               uint64_t (*plain)(const Case *, int64_t));
/* Expected results, then rounds of all cases; `cached`: each thread again and again over one tablet of its own. */
void cases_expect(void);
void cases_time(bool cached);
double case_median(const Case *c, double *spread); /* spread: (third - first quartile) / median */
const Case *case_find(const char *label);
void cases_forget(void);
void need(Status st, const Err *e, const char *what);
#define NEED(call)              \
    do {                        \
        Err e_ = {0}, *e = &e_; \
        need((call), e, #call); \
    } while (0)

static inline uint64_t mix(uint64_t x) { return hash_u64(x + UINT64_C(0x9e3779b97f4a7c15)); }

/* ---- the data (data.c) ---- */
/* Open pieces of all widths are views of one array of random cells 0 .. 255: row r of a group of w cells is words
 * [r * w, r * w + w). */
extern int64_t *open_cells;
enum { WIDTHS = 7, SHARES = 4 };
extern const int packed_width[WIDTHS];
extern const double patch_share[SHARES];
/* Columns 0 and 1 of the width, 2 of codes 0 .. 255. */
extern Tablet **packed[WIDTHS];
extern int64_t *packed_values[WIDTHS][3];
typedef struct Patch {
    int64_t n;
    const uint32_t *rows; /* ascending */
    const int64_t *cells; /* two a row */
} Patch;
extern Patch *patches[SHARES];
enum { PATCH_WIDTH = 3 /* of packed_width: 16 bits */ };
void data_numbers(void);
void data_numbers_free(void);
void add_number_cases(void);
void add_string_cases(void);
void data_strings(void);

/* ---- strings (strings.c) ---- */
enum { STRING_SETS = 4 };
typedef struct StringView {
    const void *cells; /* 16 bytes a row */
    const char *heap;  /* 24 bytes a row; NULL: all strings are in their cells */
    const Dict *dict;
    Tablet *const *packed;
    int len;
} StringView;
StringView strings_view(int set);
const Case *strings_plain(int set, Op op);

/* ---- kernels (device.c) ---- */
void device_numbers(void);
void device_strings(void);
void device_end(void);

#endif
