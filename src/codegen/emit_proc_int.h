/* emit_proc_int.h - what the parts of the procedures' emitter share: emit_proc.c (bodies, footprints), emit_rows.c
 * (rows), emit_index.c (indexes), emit_prefetch.c (prefetching), emit_statement_locks.c (statement
 * locks), emit_parallel_loops.c (loops whose rounds lanes share), emit_run.c (the module). */
#ifndef STELE_CODEGEN_EMIT_PROC_INT_H
#define STELE_CODEGEN_EMIT_PROC_INT_H

#include "codegen/emit_int.h"
#include "codegen/emit_proc.h"

enum {
    LOOP_LOG = 256 /* changes of a call that may loop */,
    PREFETCH_COLS = 32 /* columns */,
    INDEXES_MAX = 64 /* of a table */,
    LAST_ITEMS_MAX = 32 /* places of a footprint whose last item is known */
};
enum { FIND_KEY = 1, ENTER = 2, HASH_KEY = 4 }; /* functions of an index that are there: ProcEm.found */

typedef struct ParallelLoop ParallelLoop; /* a warp-parallel loop: emit_parallel_loops.c */

/* What is the module's: kept from one procedure, and footprint, to the next. */
typedef struct ModuleEm {
    Out funcs;           /* functions of all procedures */
    uint8_t *found;      /* per table of the module and index: FIND_KEY, ENTER, HASH_KEY that are there */
    bool by_statement;   /* bodies have statement locks (Proc.locking_body) */
    bool *queues;        /* ... per table of the module: rows are dequeued from it; NULL: by no procedure */
    bool *parallel;      /* per procedure: it has warp-parallel loops */
    bool orders;         /* kc_order.h is wanted */
    bool prefetch_texts; /* strings of some rows are prefetched */
    bool prefetch_each;  /* ... something for each element of an argument: then for fewer calls at a time */
    int32_t n_sums;      /* additions whose amounts are summed */
    Out sums;            /* what brings them together */
    int32_t most_last;   /* of footprints: the most places in loops whose last item is known */
} ModuleEm;
/* The device that the module is for. */
typedef struct DeviceEm {
    bool host;
    bool
        discrete; /* it has memory of its own: cells of strings have the host's addresses, which are not the device's */
    bool by_four; /* a key's first slots are looked at together */
    int32_t n_prefetched; /* keys of a call that are prefetched */
} DeviceEm;
/* The log of a call's changes, by which a failure is taken back (emit_rows.c). */
typedef struct LogEm {
    Out text;        /* what takes an entry back */
    int32_t n_sites; /* entries outside of loops */
    bool in_loop, logs_in_loop;
    Reg marked; /* the row that the run has marked as changed, of table marked_table; 0 none */
    int32_t marked_table;
} LogEm;
/* Labels that failures go to. */
typedef struct FailEm {
    int32_t *fails; /* innermost last */
    int32_t n_fails, n_fail_labels;
    int32_t last_fail; /* the last instruction that is made to fail, loops around it included; -1 none */
} FailEm;
/* Statement locks, and calls that suspend at them (emit_statement_locks.c). Arrays are per instruction, unless
 * noted. */
typedef struct LocksEm {
    const int32_t *plain; /* of a body with statement locks: instruction -> the one of the body without; NULL none */
    int32_t *split;       /* where a run begins anew: the number of the state that goes on there; 0 nowhere */
    int32_t *goes_back;   /* at a lock: the split that a call which has to wait goes on from, + 1; 0: it waits there */
    int32_t *narrow;      /* at a lock that is narrow: where its run ends; 0: it is not */
    bool *late;           /* the instruction stands behind the lock in such a run */
    bool *narrow_locks;   /* by number of the lock */
    int32_t *once;        /* by number of the lock: the loop that it is the same in all the time, + 1; 0 none */
    bool *gathers;        /* splits where lanes that came through early wait for others */
    bool *crosses;        /* a register lives on behind it */
    bool framed;          /* variables are kept in the call's frame all the time */
    int32_t n_states;
} LocksEm;
/* Warp-parallel loops (emit_parallel_loops.c). */
typedef struct ParallelEm {
    ParallelLoop *loops;
    int32_t n_loops;
    const ParallelLoop *round; /* of the loop whose round is being written, as a function of its own; NULL none */
    Out rounds;                /* these functions */
    int32_t nested;            /* ... IFs, loops and the section of it around the instruction in hand */
    int32_t n_reconverges, before_section; /* places where lanes reconverge; those before its section */
} ParallelEm;

/* The state of writing a module: of the procedure, or footprint, in hand but for what ModuleEm has. Owned by
 * emit_procs, in the caller's arena; one thread. */
typedef struct ProcEm {
    Em m; /* its parameters are the module's, all else the procedure's */
    ModuleEm mod;
    DeviceEm dev;
    int32_t number; /* of the procedure in the module */
    const Proc *proc;
    const Program *p;
    bool foot;        /* the program is the footprint */
    uint16_t body_no; /* EmitParam.proc of the body */
    const ProcVar *vars;
    int32_t n_vars;
    const ProcTableForm *tables;
    const int32_t *table_no; /* the procedure's tables in the module */
    RegForm *regs;
    bool *labels;  /* instructions that are jumped to */
    bool *lazy;    /* registers that are macros */
    bool *stored;  /* variables that something is assigned to */
    bool *early;   /* parameters that keys are made of */
    bool **bounds; /* per table and column: a variable for its bound is there */
    Out tail;
    LogEm log;
    FailEm fail;
    LocksEm locks;
    ParallelEm par;
    bool issued;    /* footprints: an operation before this one */
    int32_t n_last; /* footprints: places in loops whose last item is known */
    ProcSource *out;
} ProcEm;

#define W(...) out_w(&x->m, &x->m.text.body, __VA_ARGS__)
#define PARAM(kind, id, col) proc_param(x, (kind), (id), (col))
static inline const ImageColumn *column(const ProcEm *x, int32_t table, int32_t col) {
    return &x->tables[table].image->cols[col];
}
/* What makes the register; NULL: a constant, or none. */
static inline const Instr *made_by(const ProcEm *x, Reg r) {
    return r > 0 && !x->p->regs[r].is_const && x->p->regs[r].first >= 0 ? &x->p->instrs[x->p->regs[r].first] : NULL;
}
/* Instructions [from, to) that do `op` to the variable: how many, and *at where the last one is (-1: none). */
static inline int32_t count_of(const ProcEm *x, int32_t from, int32_t to, uint16_t op, int64_t var, int32_t *at) {
    int32_t n = 0;
    *at = -1;
    for (int32_t i = from; i < to; i++)
        if (x->p->instrs[i].op == op && x->p->instrs[i].imm == var) *at = i, n++;
    return n;
}
static inline int32_t fail_code(const ProcEm *x, int kind) { return (x->m.pc + 1) << 8 | kind; }

/* ---- emit_proc.c ---- */
/* The module's parameter. What belongs to the bulk or to a table is one parameter for all procedures. */
int32_t proc_param(ProcEm *x, int32_t kind, int32_t id, int32_t col);
/* Declares h, the hash of the item, as vm_rows.c names items. */
void proc_item_hash(ProcEm *x, const ItemSite *it, int32_t base);
/* What comes last of that: the hash of keys becomes the item's. */
void proc_hash_ends(ProcEm *x, Out *o, const ItemSite *it, const char *hash);
void proc_append(ProcEm *x, Out *o, const Out *part);
/* A part of the prelude: KERNEL_PART of codegen/prelude.h. */
void proc_include(ProcEm *x, Out *o, const char *part);
/* ---- emit_rows.c ---- */
/* Room in the log for a change, beforehand; an entry at `u` that undo takes back by entering `row` in its ordered
 * groups again. */
void proc_log_room(ProcEm *x);
void proc_log_front(ProcEm *x, int32_t table);
/* Rows inserted there wait for no other call: that two have one key is found by the index. */
bool proc_waits_for_none(const ProcEm *x, int32_t table);
/* A cell of type phys at parameter p, `at` being an expression and stride bytes from one to the next; a cell of the
 * row `at` of the procedure's table. */
void proc_load_cell(ProcEm *x, Out *o, uint8_t phys, int32_t p, const char *at, int64_t stride);
void proc_load_field(ProcEm *x, Out *o, int32_t table, int32_t col, const char *at);
/* In the body: begin, value, end. */
void proc_store_begin(ProcEm *x, uint8_t phys, int32_t p, const char *at, int64_t stride);
void proc_store_end(ProcEm *x, uint8_t phys);
/* The registers of the inserted row's key, 0: NULL. False: more columns than are prefetched by. */
bool proc_insert_key(const Image *im, const RowInsert *ins, int32_t index, Reg keys[PREFETCH_COLS]);
/* Once for a statement's changes of a row, unless the code here may be passed by (`maybe`). */
void proc_mark_dirty(ProcEm *x, int32_t table, Reg row, bool maybe);
void proc_row_find(ProcEm *x, const Instr *in);
void proc_row_next(ProcEm *x, const Instr *in);
void proc_row_get(ProcEm *x, const Instr *in);
void proc_row_put(ProcEm *x, const Instr *in);
void proc_row_add(ProcEm *x, const Instr *in);
void proc_row_insert(ProcEm *x, const Instr *in);
void proc_row_delete(ProcEm *x, const Instr *in);

/* ---- emit_run.c ---- */
typedef struct RunForm {
    const EmitTarget *target;
    bool strings;
    int32_t n_prefetched, n_foot_prefetched; /* keys of a call, and of its footprint, that are prefetched */
} RunForm;
/* The module's whole text, once the functions of all its procedures are written. */
void proc_assemble(ProcEm *x, const RunForm *run, ProcModule *out, Out *text);

/* ---- emit_index.c ---- */
/* Declares h, the hash of k0, k1 ... as the index has it: a line of the functions. */
void proc_key_hash(ProcEm *x, const Image *im, const ImageIndex *ix);
/* find_T_I, enter_T_I (prelude/txn/kp_find.h, kp_enter.h) are there from here on. */
void proc_find_function(ProcEm *x, int32_t table, int32_t index);
void proc_enter_function(ProcEm *x, int32_t table, int32_t index);
/* What is passed to these: which rows have no entries, where there may be such, and addresses of the key's columns. */
void proc_key_columns(ProcEm *x, Out *o, int32_t table, int32_t index);
/* Ordered groups (kc_order.h): what kind of values they are in order of. */
int32_t proc_order_kind(const ImageColumn *c, bool desc);
/* What prelude/txn/kp_slots.h has to know. */
void proc_slots_define(ProcEm *x, Out *o);

/* ---- emit_prefetch.c ---- */
/* prefetch_K, fetch_K, texts_K of the procedure in hand, or of its footprint. */
void proc_prefetch(ProcEm *x);
/* In the body: rows of a group that a loop is about to go through; what a loop's next rounds look for or enter by
 * this key; and at the loop's beginning, its first rounds. */
void proc_prefetch_group(ProcEm *x, const Instr *in);
void proc_prefetch_loop(ProcEm *x, int32_t table, int32_t index, int32_t n_keys, const Reg *keys, bool enters);
void proc_loop_begins(ProcEm *x, int32_t loop);

/* ---- emit_statement_locks.c ---- */
typedef enum FrameMode { FRAME_FIELDS, FRAME_SAVE, FRAME_LOAD } FrameMode;
void proc_lock(ProcEm *x, const Instr *in, int32_t pc);
/* The variable that keeps the hash which the lock makes or takes, -1 none. */
int32_t proc_hash_var(const ProcEm *x, const Instr *in);
/* The lock is of the rows of the procedure's queue: in a bulk with PP_DEQUEUES no call waits for it. */
bool proc_lock_dequeues(const ProcEm *x, const ItemSite *it);
void proc_unlock(ProcEm *x, const Instr *in, int32_t pc);
/* Whether it is better off with all its locks from its beginning to its end: it changes nothing, and would wait in
 * loops. */
bool proc_holds_all(const ProcEm *x);
/* The last instruction that is made to fail, loops around it included; -1 none. */
int32_t proc_last_fail(ProcEm *x);
/* Fills split, goes_back, gathers and n_states for the program in hand. */
void proc_find_states(ProcEm *x);
void proc_put_split(ProcEm *x, int32_t pc);
/* Fills narrow, late and narrow_locks; behind proc_find_states. */
void proc_find_narrow(ProcEm *x);
/* Fills once. */
void proc_find_once(ProcEm *x);
/* The variables of locks, at a function's top; what a loop forgets at its beginning. */
void proc_lock_vars(ProcEm *x, Out *o);
void proc_locks_anew(ProcEm *x, int32_t loop);
/* What a frame has: its fields, or into it, or out of it. */
void proc_write_frame(ProcEm *x, Out *o, FrameMode mode);
/* Whether the variable is one of a frame that a call works in (framed), and not assigned by the round in hand: its
 * names are those of the frame's fields. */
bool proc_in_frame(const ProcEm *x, int32_t var);
/* Queues (emit_proc.h). The procedure dequeues, in the program in hand; it uses `table` so. */
static inline bool proc_dequeues(const ProcEm *x) { return x->locks.plain && x->mod.queues && x->proc->queue >= 0; }
static inline bool proc_dequeue_use(const ProcEm *x, int32_t table, ProcDequeue how) {
    return proc_dequeues(x) && x->proc->tables[table].dequeue == how;
}
/* In the body: fails, and has the bulk undone, where what stands before it is true. */
void proc_queue_stops(ProcEm *x);
/* r<dst>, the group's anchor, becomes the row that is dequeued for the call; what has to be true of keys and of rows
 * that are deleted. */
void proc_dequeue(ProcEm *x, const Instr *in, const ImageIndex *ix, int32_t next, int32_t order);
void proc_queue_key(ProcEm *x, const RowKey *k, const ImageIndex *ix);
void proc_queue_delete(ProcEm *x);

/* ---- emit_parallel_loops.c ---- */
struct ParallelLoop {
    /* instructions: the loop, what follows the test at its top; the state at its top */
    int32_t loop, first, end, state;
    int32_t cur, hi, by; /* variables: the counter, its end, its step */
    int32_t from, to;    /* what a round does under locks; none: to is from */
    int32_t known;       /* the instruction behind which the loop's own variable is known */
    int32_t logs;        /* changes of a round, -1: it has loops itself */
    int32_t *inserts;    /* per table: rows of a round */
    uint8_t *roles;      /* per variable: what becomes of it */
    uint8_t *precision;  /* sums: digits, 0: those of the physical type */
};
/* Finds the parallel loops; behind proc_find_states. */
void proc_find_parallel(ProcEm *x);
/* In the body: at the top of the loop that begins at pc, behind the instruction, behind the loop; where it is none of
 * these, nothing. */
void proc_parallel_top(ProcEm *x, int32_t pc);
void proc_parallel_behind(ProcEm *x, int32_t pc);
void proc_parallel_over(ProcEm *x, int32_t pc);
/* At a round's top. */
void proc_round_begins(ProcEm *x);
/* In a round: lanes reconverge here, if all come by. */
void proc_reconverge(ProcEm *x);
/* In a round: what stands before, and behind, what it does under locks; the label of failures in it is the innermost
 * one. */
void proc_section_begins(ProcEm *x);
void proc_section_ends(ProcEm *x);
/* In a round: the lock's lock is ask<k>. */
int32_t proc_asked(const ProcEm *x, const Instr *lock);
/* round_K_S: `vars` and `body` as for run_K. */
void proc_write_round(ProcEm *x, const ParallelLoop *s, const Out *vars, const Out *body);
/* It has to be known whether a round has assigned the variable: s<var>. */
bool proc_parallel_flag(const ProcEm *x, int32_t var);
/* The function parallel_K, if the procedure has such loops. */
void proc_write_parallel(ProcEm *x, Out *o);

#endif
