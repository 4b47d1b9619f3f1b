/* emit_int.h - inside of the emitter. Only src/codegen/emit*.c and interp*.c may include it.
 *
 *   emit.c        the plan: forms of registers and operator states, reasons; errors
 *   emit_param.c  parameters that follow from the program alone
 *   emit_seg.c    a segment's frame: parameters, tiles, source columns, rows and sort sinks
 *   emit_block.c  blocks of rows, on devices with many items
 *   emit_host.c   lists of rows, on the CPU
 *   emit_expr.c   expression opcodes
 *   emit_make.c   calls of procedures that make strings and arrays
 *   emit_join.c   probes, join sinks, join_build
 *   emit_agg.c    aggregation sinks and their final values
 *   emit_sort.c   sort kernels
 *   emit_chan.c   channels between kernels
 *   emit_proc.c   bodies of procedures, one item a call (emit_proc.h)
 *
 * Text is written into growing buffers by w(), whose format knows registers: %r the register's variable, %v its
 * validity ("true" when it cannot be NULL), %t the value as a str whatever its form, %p the parameter of that number,
 * %d int32_t, %l int64_t, %s text.
 */
#ifndef STELE_CODEGEN_EMIT_INT_H
#define STELE_CODEGEN_EMIT_INT_H

#include <stdio.h>

#include "base/stack.h"
#include "codegen/emit.h"
#include "codegen/prelude/kc_codes.h"
#include "program/operands.h"

/* ---- forms: what is known of registers and states beyond the plan ---- */
typedef struct RegForm {
    uint8_t phys;
    bool nullable;    /* by what really happens: more or less than RegInfo.nullable */
    bool outer;       /* row register that may be -1 */
    const Dict *dict; /* PH_STR register held as a code of this dictionary */
} RegForm;

typedef struct TabCol { /* a column over all tablets of its table */
    const Table *table;
    int32_t col;
    uint64_t forms;    /* bit DevForm */
    bool some_valid;   /* a tablet has NULLs */
    bool patched;      /* a tablet has patches, */
    uint8_t cell_phys; /* whose cells are of this phys */
    bool fits32;       /* all values fit 32 bits */
    bool base0;        /* packed codes are the values */
    double bytes;      /* per row */
} TabCol;
/* Some tablet has cells of this phys. */
static inline bool col_has_cells(const TabCol *c, uint8_t phys) {
    return ((c->forms >> (DF_PLAIN + phys)) | (c->forms >> (DF_STRIDED + phys))) & 1;
}

typedef enum CellKind {
    CK_ADD64,
    CK_ADDF,
    CK_MAX64,
    CK_OR32,
    CK_OR64,
    CK_WIDE2,
    CK_WIDE3,
    CK_FIRST,
    CK_SINGLE
} CellKind;
typedef struct CellForm { /* an aggregate's state */
    uint8_t kind, in_phys;
    bool flip;     /* MIN: complement of the encoding; AND: complement */
    bool null_in;  /* inputs may be NULL */
    int32_t words; /* 8-byte words of state in a record */
    int32_t seen;  /* bit that says that a value came, -1: every row brings one */
    int32_t flags; /* FIRST, SINGLE: offset in the cell of u32 valid, u32 claimed; -1 none */
} CellForm;

typedef struct SegForm {
    RegForm *regs;
} SegForm;
typedef struct AggForm {
    CellForm *cells;
    bool fed;
    bool *key_nullable;
    int32_t alive; /* aggregate whose count tells that the record lives (count(*)), -1 none */
} AggForm;
typedef struct EmitForms {
    SegForm *segs;
    AggForm *aggs;
    bool *join_fed, *rows_fed, *sort_fed;
    const char **rows_reason;
    Arena *arena;
    bool in_place; /* EmitTarget */
    VEC(TabCol) cols;
} EmitForms;

const TabCol *emit_table_col(EmitForms *f, const Table *t, int64_t col); /* NULL on OOM */

/* ---- errors: what RAISE tells ---- */
enum { /* kinds beyond those of kc_codes.h */
       RK_CARDINALITY = KE_FIRST_FREE,
       RK_SUBSTRING, /* the number is also in kc_gen.h */
       RK_BIGINT,    /* sum */
       RK_NUMERIC38,
       RK_INTERNAL /* a key outside of the range the plan relies on */
};

/* ---- writing ---- */
typedef struct Out {
    char *p;
    int64_t n, cap;
    bool failed;
} Out;

/* A source column that an item loads for a block of rows, ahead of the program (emit_block.c). */
typedef struct PreCol {
    const TabCol *tc;
    uint8_t phys; /* of the variables q<col>_0 .. */
} PreCol;

/* The kernel's text, in pieces that are put together at the end (emit_seg.c). Reading a register or a parameter
 * declares what it needs in one of them. */
typedef struct EmText {
    Out top;      /* declarations at the kernel's start: constants, sums of an item */
    Out tile;     /* those at a tile's start: addresses of a tablet's columns */
    Out body;     /* the program, for a row */
    Out tile_end; /* at the end of each tile, with barriers: then all items of a group go through the same tiles */
    Out tail;     /* after the tile loop */
    Out extra;    /* other kernels */
} EmText;
/* Which rows the program runs for, and in what loops: blocks of rows on devices with many items (emit_block.c), lists
 * of rows on the host (emit_host.c). Decided before the program is written. */
typedef struct EmLoop {
    int32_t block;      /* rows that an item takes at a time, 0: one */
    bool whole;         /* the program runs for all rows of a block, and its sink asks for ok_0 */
    bool sifted;        /* the program runs over a list of the rows that passed the leading filters */
    int32_t sift_probe; /* sifted: a probe that is asked before rows get into the list, too: its instruction, or -1 */
    bool *sift_slice;   /* the instructions that its key needs */
    int32_t listing;    /* row of the block + 1 while these are written */
    int32_t n_pre;      /* columns that are loaded for the whole block before the program */
    int32_t n_leading;  /* leading source filters, done before the program */
    PreCol *pre;
    bool listed; /* the program runs over a list of rows that `stages` makes */
    bool *done;  /* instructions that are not written again; NULL none */
    Out stages;
} EmLoop;
/* The state of writing one segment's kernels, or the module of procedures (ProcEm). Owned by emit_segment or
 * emit_procs, on their stack or in the caller's arena; one thread. */
typedef struct Em {
    /* what is written */
    const EmitPlan *ep;
    EmitForms *forms;
    const QueryPlan *plan;
    const Program *prog;
    const RegForm *regs;
    const SegForm *seg;
    Arena *arena;
    Err *err;
    int32_t segment;
    bool last;
    int32_t tile_rows; /* a multiple of the target's */
    EmLoop loop;
    /* where the writing is */
    int32_t pc;     /* instruction being written; n_instrs: the sink */
    bool after;     /* finishing kernels are being written: constants are not visible there */
    bool ends;      /* the rest of the program is never reached */
    bool spin;      /* the kernel has a match loop that looks at STOPPED */
    int32_t depth;  /* braces to close at the end of the program */
    int32_t *views; /* registers of arrays: 1 + the variable that they are of for good (views_used: there are arr
                       a<variable>); NULL: not known */
    bool *views_used;
    bool *const_done; /* by register: the constant is declared */
    VEC(int64_t) joins_done;
    /* what is made */
    EmText text;
    VEC(EmitParam) params;
    uint16_t proc;     /* EmitParam.proc of those that are asked for */
    VEC(int32_t) cols; /* table columns declared for the tile */
    int64_t local_bytes;
    const char *reason;
} Em;

void out_put(Em *m, Out *o, const char *s, int64_t n);
void out_w(Em *m, Out *o, const char *fmt, ...);
#define w(m, ...) out_w((m), &(m)->text.body, __VA_ARGS__)
void em_use(Em *m, Reg r); /* declares a constant that is about to be named */
int32_t em_param(Em *m, ParamKind kind, int32_t id, int32_t col, const Dict *dict);
#define P0(m, kind) em_param((m), (kind), 0, 0, NULL)
#define P1(m, kind, id) em_param((m), (kind), (id), 0, NULL)
#define P2(m, kind, id, col) em_param((m), (kind), (id), (col), NULL)

extern const char *const c_type[PH_COUNT_]; /* of variables */
extern const char *const m_type[PH_COUNT_]; /* of cells in memory */
extern const char *const c_name[PH_COUNT_]; /* in function names: "i64" */
const char *c_zero(uint8_t phys);           /* a value of the type */
/* The phys a register's variable has: PH_I32 for strings held as codes. */
static inline uint8_t var_phys(const RegForm *f) { return f->phys == PH_STR && f->dict ? PH_I32 : f->phys; }
#define VAR_PHYS(m, r) var_phys(&(m)->regs[r])
#define NULLABLE(m, r) ((m)->regs[r].nullable)
static inline int raise_code(int32_t pc, int kind) { return (pc + 1) << 8 | kind; }

/* emit_block.c */
Status block_plan(Em *m);        /* chooses m->loop.pre and what the loops are like */
void block_begin(Em *m, Out *o); /* the item's loops up to the row's; takes local memory */
const PreCol *block_col(const Em *m, int32_t col);

/* emit_host.c */
Status host_rows(Em *m); /* writes m->loop.stages */

/* emit_seg.c */
const TabCol *em_need_col(Em *m, int64_t col);
void em_put_patch(Em *m, Out *o, const TabCol *tc, const char *name, uint8_t to, const char *row);
void em_put_form(Em *m, Out *o, uint32_t form, int32_t c, uint8_t to, const char *row);
void em_load(Em *m, const Instr *in);
void em_filter_range(Em *m, const Instr *in);
void em_filter_codes(Em *m, const Instr *in);
/* Declares the register of an instruction from a stored column: value expression, validity expression (NULL: not NULL),
 * phys and dict as stored. */
void em_define(Em *m, Reg r, const DevCol *c, const char *value, const char *valid);
/* Writes "(dst type)(value)" conversions between physes of stored columns and registers. */
void em_convert(Em *m, Out *o, uint8_t from, uint8_t to, const char *value);
/* Store of a register into column arrays: data and validity parameters (valid -1: none). */
void em_store(Em *m, Reg r, const DevCol *c, int32_t data, int32_t valid, const char *slot);
void em_store_value(Em *m, Reg r, const DevCol *c); /* a register as such a column holds it */
const char *em_position(Em *m);                     /* u64 expression: place of the row in its source */

bool emit_is_identity(const EmitPlan *ep, const Program *p); /* emit.c: row i of the source is row i of the sink */

/* emit_expr.c */
bool em_expr(Em *m, const Instr *in); /* false: no such opcode here */
const char *expr_reason(const EmitPlan *ep, const Program *p, const Instr *in, const RegForm *regs, Arena *a);
const char *emit_call_fn(const CallSite *c); /* the prelude's function behind a call, NULL none */
void em_cmp3(Em *m, Out *o, uint8_t phys, const char *a, const char *b); /* <0, 0, >0 */
void em_equal(Em *m, Out *o, uint8_t phys, const char *a, const char *b);
void em_hash(Em *m, Out *o, uint8_t phys, const char *h, const char *a); /* h = combined hash */

/* emit_make.c */
bool make_has_form(const Program *p, const CallSite *c);
bool em_make(Em *m, const Instr *in); /* false: no such form */

/* emit_join.c */
void em_probe(Em *m, const Instr *in);
void em_probe_end(Em *m, const Instr *in);
void em_probe_test(Em *m, const Instr *in); /* declares pass: false when the probe surely drops the row; of SEMI and
                                               ANTI not by hash: exactly when */
bool em_probe_keys(Em *m, const Instr *in);
void em_load_build(Em *m, const Instr *in);
void em_sink_join(Em *m);
bool em_join_build(Em *m); /* false: the join needs no kernel */

/* emit_agg.c */
void agg_form_cells(const AggSpec *s, AggForm *f, DevAgg *d); /* once the inputs are known */
void em_sink_agg(Em *m);
bool agg_whole(Em *m); /* rows that do not count may get as far as the sink */
void em_load_agg(Em *m, const Instr *in);

/* emit_cache.c */
bool cache_fits(const Em *m); /* rows of this sink are staged in local memory */
void cache_begin(Em *m); /* the staged store, and the head of the branch of rows that find no place in the cache; what
                            empties it goes to tile_end and tail */

/* emit_chan.c */
bool chan_reads(const EmitPlan *ep, const Program *p);
bool chan_writes(const EmitPlan *ep, const Program *p);
void em_chan_text(Em *m, Out *o);         /* after the prelude; takes local memory */
void em_chan_append(Em *m, int32_t rows); /* opens two braces, with `slot` */

/* emit_sort.c */
void em_sink_sort(Em *m);
void em_sort_kernels(Em *m, int32_t sort, int32_t rows);

#endif
