/* bench.h - what the benchmarks of stele-bench share: running SQL under a variant of settings, timing, tables, JSON.
 *
 * A benchmark is a grid: rows are what is asked (a query, a pair of table sizes), columns are variants (an executor, a
 * device, a way of moving data). Every cell is a Measure. Cells that cannot be had (a setting or executor that this
 * build or machine lacks, a query that fails, a budget that ran out) say why; a number is printed only when EXPLAIN
 * ANALYZE confirms that the executor and the way of moving data that were asked for did the work.
 *
 * Uses the public interface of the library; of its inside only the machine profile (cost/profile.h), to relate rates to
 * limits. One thread.
 */
#ifndef STELE_BENCH_H
#define STELE_BENCH_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "cost/profile.h"
#include "stele/stele.h"

enum { WHY_MAX = 400, GRID_ROWS_MAX = 64, GRID_COLS_MAX = 24, VARIANTS_MAX = GRID_COLS_MAX };

/* Settings as "name=value name=value"; $DEVICE and $THREADS stand for the command line's. `expect` is the executor that
 * must have run, NULL: any. */
typedef struct Variant {
    const char *label, *settings, *expect;
} Variant;

/* Where a query ran, from EXPLAIN ANALYZE's lines. Figures it does not print are 0 and `has_` is false. */
typedef struct Explain {
    int segments, matched; /* all; those on the executor expected */
    char ran[64];          /* executors seen, "vm, compiled" */
    bool has_kernel, has_read, has_moved, has_materialized, has_model;
    double kernel_ms, read_bytes, in_bytes, out_bytes, materialized_bytes;
    double model_ms, measured_ms; /* of the segments that the model estimated */
    char choice[160];             /* how the pipeline that took longest ran */
    double choice_ms;
    char residence[48]; /* ways at columns seen, "cached" */
    char reason[160];   /* why not on the device, the first */
    char *text;         /* the segments' lines; the grid's */
} Explain;

typedef struct Measure {
    bool done, ok, wrong; /* wrong: ran, but its rows differ from the first variant's */
    bool timed_out;       /* a run took more than its share of the budget allows */
    char why[WHY_MAX];    /* when !ok */
    int runs;
    double first_ms, median_ms, min_ms,
        max_ms; /* parse to result on the host; first_ms: the first run, with everything that is done once */
    int64_t rows;
    uint64_t sum; /* of the rows' text, whatever their order; valid when summed */
    bool summed;
    Explain where;
} Measure;

typedef struct Bench {
    const char *name;
    stele_db *db;
    stele_conn *conn;
    const char *device; /* NULL: none given */
    int threads, runs;
    double budget_s, started_s,
        query_s; /* of the whole benchmark, 0 = none; when it began; most to spend on the repetitions of one query */
    int left;    /* measurements to come: what shares the budget */
    bool verbose;
    Profile profile;
    bool has_profile;
    const char *json_path;
    char *json_head;
    FILE *records; /* what json_flush writes; a memory stream */
    char *records_text;
    size_t records_len;
    int n_records;
    bool failed;             /* wrong rows somewhere: exit status 1 */
    const char *database;    /* a directory; NULL: in memory */
    bool durable;            /* with a redo log */
    const char *tpch, *data; /* gpl, latency: folder of schema and queries; of .tbl files */
    const Variant *extra;    /* --variant: more columns */
    int n_extra;
} Bench;

double now_s(void);
double process_s(void); /* processor time of all threads */
bool over_budget(const Bench *b);
void out_of_time(const Bench *b, char why[WHY_MAX]);
double memory_total(void); /* of the machine, bytes */
/* Appends to the text in buf[size]; what does not fit is cut (and fails as SQL). */
void append(char *buf, size_t size, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Runs statements. False: `why` has SQLSTATE and message. */
bool run_sql(Bench *b, const char *sql, char why[WHY_MAX]);
/* Resets all settings and applies the variant's. False: why names the setting. */
bool apply_variant(Bench *b, const Variant *v, char why[WHY_MAX]);
/* Times `sql` under settings already applied (device_wait: the first run compiles, the timed ones do not). Fills m.
 * `missing` (NULL: nothing) is why it cannot be measured. A slow query gives way when it has used its share of the
 * budget. */
void measure(Bench *b, const Variant *v, const char *sql, const char *missing, Measure *m);
uint64_t row_hash(stele_stmt *st); /* of the text of the row at hand */
/* Runs `sql` once more and tells where it ran; x->text is the caller's to free. */
bool explain_analyze(Bench *b, const Variant *v, const char *sql, Explain *x, char why[WHY_MAX]);

/* ---- TPC-H (gpl.c) ---------------------------------------------------------------------------------- */
char *read_text(const char *path, char why[WHY_MAX]); /* a file; the caller's to free, NULL with the reason */
bool load_tpch(Bench *b, char why[WHY_MAX]);          /* schema of b->tpch, tables from b->data */

/* ---- grids ---------------------------------------------------------------------------------------- */
typedef struct Grid {
    int n_rows, n_cols;
    const char *row_title;
    char row[GRID_ROWS_MAX][64];
    const char *col[GRID_COLS_MAX];
    Measure cell[GRID_ROWS_MAX][GRID_COLS_MAX];
} Grid; /* big: grid_new */
Grid *grid_new(const char *row_title, int n_cols, const Variant *v);
int grid_row(Grid *g, const char *fmt, ...) __attribute__((format(printf, 2, 3))); /* adds a row; -1 when full */
void grid_free(Grid *g);
/* Compares a cell with the first good one of its row; marks it wrong when the rows differ. */
void grid_check(Bench *b, Grid *g, int row, int col);
typedef double (*CellFn)(const Grid *g, int row, int col, void *ctx);
/* Whether a column (-1: any) has a number or wrong rows. */
bool grid_any(const Grid *g, int col, CellFn f, void *ctx);
/* Prints f(cell) for all good cells, "-" for others; NAN is "-" too. Columns without any are left out; of a table of
 * none only the title is printed, or nothing when it starts with a space (a further table of the same cells). */
void grid_print(const Grid *g, const char *title, int decimals, CellFn f, void *ctx);
double cell_ms(const Grid *g, int row, int col, void *ctx);
/* One line per reason why cells are missing. */
void grid_notes(const Grid *g);

/* ---- JSON: a header and a list of flat records, rewritten after every few so that a killed run keeps what it had
 * ----- */
void json_open(Bench *b, int argc, char **argv, const char *commit);
void json_begin(Bench *b); /* a record */
void json_text(Bench *b, const char *key, const char *value);
void json_num(Bench *b, const char *key, double value);
void json_int(Bench *b, const char *key, int64_t value);
void json_measure(Bench *b, const Variant *v, const Measure *m);
void json_end(Bench *b);
bool json_close(Bench *b);

/* ---- the machine's limits, GB/s; 0 = unknown ------------------------------------------------------- */
/* What bounds a variant: "bus" for data that comes from the host, "memory" else. */
typedef struct Limit {
    const char *what;
    double gbps;
} Limit;
Limit variant_limit(const Bench *b, const Variant *v);

/* merge.c */
typedef struct MergeBench {
    int64_t rows;
    double shares[16]; /* of rows that have come as delta */
    int n_shares;
} MergeBench;
int bench_merge(Bench *b, const MergeBench *o);
/* snapshot.c */
typedef struct SnapshotBench {
    int64_t most_bytes, bytes; /* of the largest snapshot made; of the one that is updated */
} SnapshotBench;
int bench_snapshot(Bench *b, const SnapshotBench *o);
int bench_virginian(Bench *b, const int64_t *rows, int n);
int bench_join(Bench *b, const int64_t *sizes, int n, int64_t max_rows);
int bench_gpl(Bench *b);
int bench_latency(Bench *b);

#endif
