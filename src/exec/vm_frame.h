/* vm_frame.h - the virtual machine's inside, for the files that implement steps of it: src/exec/vm*.c and query.c, and
 * the opcodes of procedures in src/txn/run; and for their unit tests.
 *
 *   Vm      a program prepared for one execution of its segment: instructions resolved to functions and kernels,
 *           set tables built. Shared by the workers, read-only while they run.
 *   Frame   one worker's run state: the registers' vectors, their buffers, positions in the source.
 *
 * Buffers. Every register has one `home` buffer (vector_size cells), allocated when first written. A vector
 * may also point elsewhere: into a tablet (zero-copy load), at a constant, at the home of a register that is dead.
 * What points at foreign cells is never written; compaction gathers from wherever the cells are into the register's
 * home.
 *
 * Changing rows. Filters compact the carried registers into their homes. Expanding instructions (join matches,
 * REPEAT) give the carried registers other homes while the rest of the program runs on each batch of output rows by
 * recursion (frame_run_from), so that the original vectors stay as they are for the next batch. Bodies
 * (IF, PROBE_BEGIN) likewise see compacted copies of what they capture.
 *
 * Constants at run time. A vector with is_const has one cell; `valid` is NULL or points at a 0 byte (NULL
 * constant). Results of constants are constants again. Sinks and probes get them expanded (frame_dense).
 */
#ifndef STELE_EXEC_VM_FRAME_H
#define STELE_EXEC_VM_FRAME_H

#include "base/stack.h"
#include "exec/agg.h"
#include "exec/join.h"
#include "exec/rows.h"
#include "exec/vm_kernels.h"
#include "program/operands.h"

typedef struct Vm Vm;
typedef struct Frame Frame;
typedef struct Step Step;

/* NEXT: go on. DONE: no rows are left, or the rest of the program has run. FAILED: see frame->err (not set when the
 * segment just stops). JUMP: go on at frame->jump. */
typedef enum RunResult { RUN_NEXT, RUN_DONE, RUN_FAILED, RUN_JUMP } RunResult;
typedef RunResult (*StepFn)(Frame *f, const Step *s);

struct Step {
    StepFn fn;
    const Instr *in;
    Reg dst, a, b, c;
    int32_t pc;
    uint8_t size;     /* SZ_* of the result's cells */
    uint8_t phys;     /* of the instruction */
    uint8_t dphys;    /* of the result */
    bool partitioned; /* probes: the join has partitions that are not in memory */
    bool unique;      /* probes: join_is_unique */
    union {
        VmBin bin[3];
        VmUn un;
        const VmSelect *select;
    } k;
    const void *impl; /* prepared form of the aux structure */
    JoinTable *join;
    const JoinSpec *join_spec;
    int32_t n_split; /* partitioned probes: registers stored for later (carried ones, captures and keys) */
    Reg *split;
    CellSpec *split_cols;
    RowStore **parts; /* per partition: probe rows that wait; NULL = none */
};

/* What a prepared program needs from its query. */
typedef struct VmEnv {
    const QueryPlan *plan;
    JoinTable *const *joins;
    AggTable *const *aggs;
    RowStore *const *rows;
    const SessionInfo *session;
    MemAccount *account;
    Vfs *vfs;
    const char *temp_dir;
    int64_t vector_size;
    int workers;
    _Atomic bool *cancel;    /* may be NULL */
    _Atomic bool *stop;      /* may be NULL: the segment ends early */
    Pool *pool;              /* may be NULL: nothing urgent is helped with (pool_help) */
    int64_t deadline_ns;     /* 0 = none */
    void (*tick)(void *ctx); /* called now and then on worker 0; may be NULL */
    Status (*sink)(Frame *f);
    /* Tests: takes the place of the source for LOAD. NULL = by the program's source. */
    Status (*load)(Frame *f, const Instr *in, Vec *out);
    /* Source SRC_CALLS: what executes LOAD and the opcodes of procedures (src/txn/run/vm_rows.c); statements get NULL.
     */
    StepFn (*call_fn)(const Instr *in);
    void *ctx;
} VmEnv;

struct Vm {
    const Program *p;
    VmEnv env;
    const VmKernels *k;
    Arena *arena; /* steps and set tables */
    Step *steps;
    int32_t n_leading; /* FILTER_RANGE, FILTER_CODES at the start: run by the scan (vm_scan_filter) */
    bool has_strings;  /* something allocates in the frame's batch arena */
    bool has_partitioned;
};

/* Where LOAD reads; set by the scan before each run. Row i of the vector is at position pos ? pos[i] : first + i. */
typedef struct SourcePos {
    const Tablet *tablet;
    int64_t unit; /* tablet, run or morsel number: upper half of row identities */
    const RowLayout *layout;
    RowRun run;
    AggTable *agg;
    AggMorsel morsel;
    JoinTable *join;
    const int64_t *build_rows; /* SRC_JOIN: rows of the vector */
    int64_t series_base;
    const Vec *stream; /* SRC_STREAM: the batch, by column */
} SourcePos;

struct Frame {
    const Vm *vm;
    const VmKernels *k;
    int worker;
    uint32_t ticks; /* calls of frame_stopped */
    int64_t n;      /* current rows */
    Vec *regs;
    void **home;
    uint8_t **home_valid;
    Vec *dense;              /* constants expanded to whole vectors; data NULL = not yet */
    int32_t *sel;            /* scratch selection, for the moment of one instruction */
    uint8_t *bytes, *bytes2; /* scratch flags, likewise */
    int64_t *longs;          /* scratch */
    int64_t *longs2;
    void *cells; /* scratch: vector_size cells of 16 bytes */
    int64_t first;
    int32_t *pos, *pos_home;
    SourcePos src;
    int64_t order; /* of the rows, for ordered sinks */
    void **priv;   /* per instruction, made when first run */
    int32_t jump;
    Arena *arena;      /* as long as the frame */
    Arena *batch;      /* strings of the current rows */
    Arena *batch_root; /* the outermost one */
    Err err;
    void *owner; /* of call_fn's steps */
    int64_t rows_in, rows_out;
    int64_t open_rows, patched_rows; /* of rows_in: SegmentStats */
    Vec *sink_keys, *sink_regs, *sink_regs2;
};

Status vm_new(const Program *p, const VmEnv *env, Vm **out, Err *e);
void vm_free(Vm *vm);
Status frame_new(const Vm *vm, int worker, Frame **out, Err *e);
void frame_free(Frame *f);
/* Runs the program over the n rows set up in f->src, first and pos, from instruction `pc` to the sink. */
Status frame_run(Frame *f, int64_t n, int32_t pc);
/* Runs the leading source filters on rows [first, first + n) of the tablet; *all = every row passed and `out` is
 * unwritten. */
int64_t vm_scan_filter(const Vm *vm, const Tablet *t, int64_t first, int64_t n, int32_t *out, bool *all);
/* A register as a plain vector for code that has no case for constants. NULL on error. */
const Vec *frame_dense(Frame *f, Reg r);

/* ---- between the files ---- */
void *frame_alloc(Frame *f, int64_t bytes); /* 64-byte aligned, as long as the frame; sets f->err */
/* Cancelled (sets f->err) or ended elsewhere (env->stop). Between vectors: helps with what is urgent, too. */
bool frame_stopped(Frame *f);
RunResult frame_run_range(Frame *f, int32_t from, int32_t to);
Status frame_run_from(Frame *f, int32_t pc);
/* Keeps rows sel[0..m) of the carried registers and positions. */
RunResult frame_compact(Frame *f, const Instr *in, const int32_t *sel, int64_t m);
RunResult frame_compact_regs(Frame *f, int32_t n_regs, const Reg *regs, const int32_t *sel, int64_t m);
RunResult frame_compact_pos(Frame *f, const int32_t *sel, int64_t m);
/* dst takes over src's vector: shared when src is not used any more, else copied. */
RunResult frame_alias(Frame *f, const Step *s, Reg src);

static inline uint8_t size_class(uint8_t phys) {
    static const uint8_t sizes[PH_COUNT_] = {SZ_1, SZ_2, SZ_4, SZ_8, SZ_16, SZ_4, SZ_8, SZ_16, SZ_16, SZ_16};
    return sizes[phys];
}
static inline int64_t cell_bytes(uint8_t size) { return INT64_C(1) << size; }

NOINLINE void *frame_home_new(Frame *f, Reg r);
NOINLINE uint8_t *frame_valid_new(Frame *f, Reg r);
static inline void *frame_home(Frame *f, Reg r) {
    return LIKELY(f->home[r] != NULL) ? f->home[r] : frame_home_new(f, r);
}
static inline uint8_t *frame_valid(Frame *f, Reg r) {
    return LIKELY(f->home_valid[r] != NULL) ? f->home_valid[r] : frame_valid_new(f, r);
}
static inline bool vec_is_null_const(const Vec *v) { return v->is_const && v->valid; }
RunResult frame_set_null(Frame *f, Reg r);

/* Copies of captured or carried registers while other code runs on other rows. */
typedef struct Moved {
    int32_t n;
    const Reg *regs;
    Vec *saved;
    void **data; /* other homes */
    uint8_t **valid;
    void **saved_home;
    uint8_t **saved_valid;
    int32_t *pos; /* other home of positions */
    int32_t *saved_pos, *saved_pos_home;
    int64_t saved_n, saved_first;
    bool keep_pos;
    Arena *batch, *saved_batch; /* strings made meanwhile */
} Moved;
Status moved_init(Frame *f, Moved *m, const Instr *in, bool own_batch);
void moved_begin(Frame *f, Moved *m);
/* Rows idx[0..n) of the saved vectors become the current rows. */
Status moved_gather(Frame *f, Moved *m, const int32_t *idx, int64_t n);
void moved_end(Frame *f, Moved *m);

/* vm_load.c */
RunResult step_load(Frame *f, const Step *s);
RunResult step_load_rowid(Frame *f, const Step *s);
RunResult step_load_build(Frame *f, const Step *s);
/* vm_join.c */
RunResult step_probe(Frame *f, const Step *s);
RunResult step_probe_begin(Frame *f, const Step *s);
RunResult step_repeat(Frame *f, const Step *s);
Status vm_prepare_probe(Vm *vm, Step *s, Err *e);
void vm_join_release(Frame *f);
/* vm_expr.c */
StepFn vm_expr_fn(Vm *vm, Step *s, Err *e);
/* vm_set.c */
typedef struct SetImpl SetImpl;
const SetImpl *set_prepare(Arena *a, const InSet *set, uint8_t phys);
void set_test(const VmKernels *k, const SetImpl *s, int64_t n, const Vec *a, uint8_t *d);

#endif
