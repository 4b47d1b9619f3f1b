/* program.h - programs: typed opcodes over the rows of a source, ending in a sink.
 *
 * A Program is a flat list of instructions over registers. A register holds one
 * vector: the values of the current rows. Programs are in single assignment: each
 * register is written by one instruction (constants by none), so that liveness is a
 * range of instruction numbers. Control is structured: filters and probes change the set
 * of rows for everything after them; IF/ELSE/ENDIF and PROBE_BEGIN/PROBE_END bracket bodies
 * that run on a subset.
 *
 * Rows are always dense: after an instruction that changes the rows (F_ROWS), the registers in its `carry` list have
 * been compacted or expanded to the new rows, and all others are dead. Columns of the source are loaded where they are
 * first needed: LOAD after a filter touches only the rows that passed. The position of each current row in the source
 * is kept by the executor (`needs_pos` says whether a LOAD follows).
 *
 * A program is immutable once verified; run state is the executor's. It depends on no processor: pointers in aux
 * structures are to plan-time objects (dictionaries, masks) and join tables by number.
 *
 *   example: select sum(a*b) from t where c < 10
 *     source  t
 *     00 filter_range  c in [min, 9]          carry {}
 *     01 r1 = load.i32 a
 *     02 r2 = load.i32 b
 *     03 r3 = mul_wide.i32 r1, r2             -> i64
 *     sink    agg [] sum_i64(r3)
 */
#ifndef STELE_PROGRAM_PROGRAM_H
#define STELE_PROGRAM_PROGRAM_H

#include "types/opcode.h"
#include "storage/table.h"
#include "types/func.h"

typedef int32_t Reg; /* 0 = none */

enum { INSTR_SAFE = 1 }; /* the opcode may fail, but it was proven that this instruction does not */

typedef struct Instr {
    uint16_t op;
    uint8_t phys;  /* variant: phys of operand a (of dst for loads; of b for SELECT) */
    uint8_t flags; /* INSTR_ */
    Reg dst, a, b, c;
    int64_t imm; /* column number, scale, field */
    void *aux;   /* by opcode */
    int32_t n_carry;
    Reg *carry;    /* F_ROWS: registers alive after this instruction; IF, PROBE_BEGIN: registers of outside used inside.
                      Filled by program_finish */
    int32_t jump;  /* IF -> its ELSE, ELSE -> its ENDIF, PROBE_BEGIN -> its PROBE_END (instruction numbers), by
                      program_finish */
    bool keep_pos; /* F_ROWS, IF: source positions are still needed afterwards / inside */
} Instr;

/* Whether it can end with a data error. CALL: see its CallSite. */
static inline bool instr_may_fail(const Instr *in) {
    return (op_info[in->op].flags & F_FAIL) != 0 && (in->flags & INSTR_SAFE) == 0;
}

typedef struct RegInfo {
    uint8_t phys;
    bool nullable;
    bool is_const;   /* preset from `value`, never written */
    bool has_range;  /* min, max hold for all non-NULL values (integer phys) */
    bool stable_str; /* PH_STR: bytes outlive the statement's execution (table data, constants): no copy needed */
    Type type;       /* SQL type, for results and EXPLAIN */
    int64_t min, max;
    Value value;         /* constants: cell of `phys` in value.u at offset 0 of the union (value_cell) */
    const Dict *dict;    /* codes of this dictionary */
    int32_t first, last; /* defining instruction, last use (sink = number of instructions); by program_finish */
} RegInfo;

/* ---- aux structures ----------------------------------------------------------------- */
typedef struct RangeTest {
    int64_t lo, hi;
    bool negate;
} RangeTest; /* FILTER_RANGE: value (or code) in [lo,hi] */
typedef struct CodeMask {
    const uint8_t *mask;
    int64_t n;
    const char *text;
} CodeMask; /* n codes, then the answer for NULL; text for EXPLAIN */
typedef struct CodeMap {
    const void *cells;
    const uint8_t *valid;
    int64_t n;
} CodeMap; /* CODE_MAP: cells of dst's phys per code; valid may be NULL */
typedef struct InSet {
    int64_t n;
    void *cells;
    bool has_null;
    struct InSetImpl *impl;
} InSet; /* sorted distinct cells of phys; vm makes the hash. x IN (..) with has_null: no match -> NULL */
typedef struct CallSite {
    FuncKernel kernel;
    const FuncDef *func; /* name for EXPLAIN; NULL for casts */
    bool strict, can_fail;
    Type ret;
    Type *arg_types;
    int32_t n_args;
    Reg *args;
    int32_t site; /* number among the program's call sites: index of FuncCtx state per worker */
} CallSite;
typedef struct KeyPack { /* dst = sum((arg_i - base_i) << shift_i); NULL or out of [base_i, base_i + 2^bits_i - 1 -
                            nullable_i]: see on_null */
    int32_t n;
    Reg *args;
    int64_t *base;
    uint8_t *shift, *bits;
    bool *nullable; /* NULL takes the value 2^bits - 1; else a NULL argument makes the result NULL. Out of range: result
                       NULL */
} KeyPack;
typedef struct ProbeSite {
    int32_t join; /* number of the join in the query (JoinSpec) */
    uint8_t kind; /* ProbeKind */
    int32_t n_keys;
    Reg *keys; /* same phys as the build keys */
} ProbeSite;
typedef enum ProbeKind {
    PK_INNER,  /* one row per match; dst I64 = build row */
    PK_LEFT,   /* as INNER, rows without match once with dst = -1 */
    PK_SINGLE, /* LEFT, second match: 21000 */
    PK_SEMI,   /* keeps rows with a match; no dst */
    PK_ANTI,   /* keeps rows without; no dst. NULL keys never match, so they stay */
    PK_MARK,   /* keeps all rows; dst BOOL three-valued: match true; else NULL if a key is NULL (and build not empty) or
                  the build side has a NULL key; else false */
    PK_MARK_BUILD /* no rows go on: matched build rows are marked (build-side SEMI / ANTI); rows all end here */
} ProbeKind;
/* PROBE_BEGIN..END use the same kinds; matched flags of build rows (RIGHT, FULL) are set when JoinSpec.track_matched.
 */

#define NUM_IMM(from_scale, to_scale, precision) \
    (((int64_t)(from_scale) << 16) | ((int64_t)(to_scale) << 8) | (int64_t)(precision))
#define NUM_IMM_FROM(i) ((int)((i) >> 16 & 0xff))
#define NUM_IMM_TO(i) ((int)((i) >> 8 & 0xff))
#define NUM_IMM_PREC(i) ((int)((i)&0xff))
/* NUM_DIV, NUM_MUL: scales of a, b and the result */
#define NUM_IMM3(sa, sb, sr) (((int64_t)(sa) << 16) | ((int64_t)(sb) << 8) | (int64_t)(sr))

/* ---- programs of procedures ------------------------------------------------------------
 * The source is a bulk (SRC_CALLS): a row per call, a column per parameter and variable of the procedure; LOAD imm
 * reads and STORE imm writes one. Control is in statements: P_IF .. P_ELSE .. P_ENDIF, P_LOOP .. P_ROUND .. P_STEP ..
 * P_ENDLOOP, P_BLOCK .. P_ENDBLOCK, P_LEAVE, P_RETURN. Between two of these stands a straight run of other
 * instructions; no register lives from one run to another: what does is a variable. An instruction that fails for some
 * calls ends these calls alone, with its error and the statement's place; the others go on. Between P_TRY and P_CATCH
 * it sends them to P_CATCH instead, where nothing has changed since P_TRY but variables. Tables are named by their
 * number in the procedure (program/proc.h), columns by their number in the table, rows by their number in the table's
 * image (txn/store/image.h), indexes by their number there.
 */
typedef struct RowKey { /* ROW_FIND, ROW_FIRST (cells of the key columns' phys), ROW_NEXT (n = 0) */
    int32_t table, index, n;
    Reg *args;
    int32_t order; /* ROW_FIRST: 1 + column (NOT NULL, PH_I16 .. PH_I64) whose smallest value, or greatest (desc), says
                      which row comes first; 0: any */
    bool desc;
    bool bounded, at; /* an index in this order: only rows after args[n], a cell of the column, or also those at it;
                         none after a NULL */
} RowKey;
typedef struct RowCol {
    int32_t table, col;
    bool only_null;    /* ROW_PUT: there is a row only where the value is NULL, and none may be: it fails */
    bool minus;        /* ROW_ADD: b is subtracted */
    bool bounded;      /* ROW_PUT: of the old value and an amount that the footprint has, as an addition */
    int32_t fetch_add; /* ROW_GET, ROW_PUT: of the statement that fetches and adds, 1 + its number in the procedure
                     (program/proc.h, Fetch-adds); 0: of none */
} RowCol;
typedef struct RowInsert {
    int32_t table, n;
    Reg *args;
    bool skip;
} RowInsert; /* args by column, of the columns' phys; skip: a taken key gives row -1 and no error */
/* A buffer of rows, which a query of a call fills, puts in order, and reads: BUF_CLEAR, then any number of BUF_ADD, one
 * BUF_SORT, any number of BUF_GET, in this order in the text; so the calls that are between a buffer's BUF_CLEAR and
 * its last BUF_GET are there together. How many rows there are goes from one to the next as a value: who has that value
 * has what the rows are made of. */
typedef struct BufferColumn {
    uint8_t phys;
    bool nullable, has_range; /* as in RegInfo */
    Type type;
    int64_t min, max;
    bool desc, nulls_first; /* of keys */
} BufferColumn;
typedef struct BufferSpec { /* shared by the instructions of one buffer; changed only while its rows are compiled */
    int32_t number;         /* in the program */
    int32_t n_keys, n_cols;
    BufferColumn *keys, *cols; /* rows with equal keys stay in the order of BUF_ADD; keys cannot be read */
} BufferSpec;
typedef struct BufferRow {
    const BufferSpec *spec;
    Reg *args; /* keys, columns, then the number of rows so far (I64) */
} BufferRow;
/* The detail "Key (a, b)=(1, 2) is not present in table "t".": names, what comes behind the values, and their types. */
typedef struct KeyDetail {
    const char *names, *after;
    const Type *types;
} KeyDetail;
typedef struct RaiseSite { /* %: the next argument, a PH_STR or NULL ("<NULL>") */
    const char *sqlstate, *format, *detail, *hint;
    int32_t n;
    Reg *args;
    const struct Table *row_of; /* NULL, or args are a row of the table, for the detail "Failing row contains" */
    const KeyDetail *key;       /* NULL, or args are the values of a key, for its detail */
    const ErrNames *names;      /* NULL: none */
} RaiseSite;
/* CAUGHT: imm >> CAUGHT_BITS is the P_TRY's number, the bits below say what of its error; CAUGHT_NAME + ErrField: a
 * name. "": the error has none. */
enum {
    CAUGHT_SQLSTATE,
    CAUGHT_MESSAGE,
    CAUGHT_DETAIL,
    CAUGHT_HINT,
    CAUGHT_NAME,
    CAUGHT_END = CAUGHT_NAME + ERR_FIELDS,
    CAUGHT_BITS = 4
};
typedef struct NoticeSite {
    RaiseSite say;
    const char *severity, *context;
} NoticeSite;
typedef struct CatchSite {
    int32_t number, n;
    const char *const *states;
} CatchSite; /* P_TRY; SQLSTATEs, classes ("22000") or "others", as EXCEPTION WHEN has them */
/* What a call does to an item; which of them commute: txn/order/schedule.h. */
typedef enum OpKind { OPK_READ, OPK_ADD, OPK_WRITE, OPK_FETCH_ADD } OpKind;
typedef struct ItemSite { /* item: table (number in the procedure), group, key cells (n = 0: all of the table); kind:
                             txn/order/schedule.h */
    uint32_t table, group;
    uint8_t kind;
    bool has_amount; /* OPK_ADD: args[n] is the amount added to column col (its phys), unknown otherwise */
    bool covered;    /* OPK_ADD: no operation, since the call also writes the item; the amount counts */
    bool inexact;    /* of a call whose amount is not exact for the column, which writes it; others add to it */
    bool insert; /* OPK_WRITE of an INSERT whose key is not known beforehand: conflicts with other inserts only when the
                    keys turn out to be equal */
    bool deletes;  /* OPK_READ: a DELETE that has not this key of its row; those commute, since another key tells
                      rows apart, but the item is changed all the same */
    bool release;  /* LOCK: the statement's UNLOCK counts for the item */
    uint8_t does;  /* of changes, for EXPLAIN: ItemDoes */
    uint8_t loops; /* LOCK, while a procedure is compiled: it has to leave so many loops around it */
    int32_t col, n;
    int32_t fetch_add; /* OPK_WRITE: 1 + number of the fetch-add (program/proc.h), whose amount args[n] is (col's phys);
                     0: it is none */
    const char *why;   /* why a fetch-add is planned as a write, for EXPLAIN; NULL: it is not */
    int32_t lock;      /* LOCK: its number in the body */
    Reg *args;         /* n, and the amount */
} ItemSite; /* LOCK: dst, if any (I64), <- the item's hash; a, if any (I64), is that hash. Both are good for calls that
               have locks */
typedef enum ItemDoes {
    DOES_WRITE = 1,
    DOES_FETCH_ADD = 2 /* x = x + e whose value is used */,
    DOES_INSERT = 4,
    DOES_DELETE = 8,
    DOES_ROWS = 16 /* the existence of rows is meant */
} ItemDoes;
typedef struct LockList {
    int32_t n;
    const int32_t *locks;
} LockList; /* UNLOCK: numbers */

/* ---- source and sink ------------------------------------------------------------------ */
typedef enum SourceKind {
    SRC_ONE,    /* a single row without columns */
    SRC_TABLE,  /* tablets of a table; LOAD imm = table column */
    SRC_ROWS,   /* a row store (exec/rows.h): earlier segment's output; LOAD imm = its column */
    SRC_AGG,    /* groups of a finished aggregation: LOAD imm: keys 0..n_keys-1, then aggregates */
    SRC_JOIN,   /* build rows of a join: all unmatched (RIGHT, FULL, ANTI) or matched (SEMI) ones; LOAD imm = key or
                   payload column as LOAD_BUILD */
    SRC_SERIES, /* generate_series over I64: LOAD 0 */
    SRC_CALLS,  /* a bulk: parameters and variables of calls */
    SRC_STREAM  /* rows from outside the database (program/stream.h); LOAD imm = its column */
} SourceKind;

typedef struct ZonePred {
    int32_t col;
    int64_t lo, hi;
} ZonePred; /* a tablet whose [min,max] misses is skipped */

typedef struct Source {
    SourceKind kind;
    const Table *table;
    const struct RowStream *stream; /* SRC_STREAM */
    int32_t id;                     /* number of the row store / aggregation / join */
    bool matched;                   /* SRC_JOIN: true = matched rows, false = unmatched */
    int64_t start, stop, step;      /* SRC_SERIES */
    int32_t n_zone;
    ZonePred *zone;
    double est_rows;
} Source;
/* No row of the tablet, which has some, can pass. */
static inline bool source_skips(const Source *s, const Tablet *t) {
    for (int32_t i = 0; i < s->n_zone; i++) {
        const TabletColumn *c = &t->cols[s->zone[i].col];
        if (c->has_minmax ? c->max < s->zone[i].lo || c->min > s->zone[i].hi : c->null_count == t->rows) return true;
    }
    return false;
}

typedef enum SinkKind {
    SINK_ROWS, /* append to row store `id` */
    SINK_AGG,
    SINK_JOIN,  /* build side of join `id` */
    SINK_SORT,  /* sort or top-N into row store `id` (RowsSpec.sort names the sort) */
    SINK_NONE,  /* rows only mark build rows */
    SINK_WINDOW /* all rows of the source, a row store, through a window into row store `id`; there is no program */
} SinkKind;

typedef struct Sink {
    SinkKind kind;
    int32_t id;
    int32_t n_keys;
    Reg *keys; /* SINK_AGG group keys, SINK_JOIN keys, SINK_SORT sort keys */
    int32_t n_regs;
    Reg *regs;     /* SINK_ROWS and SINK_SORT columns; SINK_JOIN payload; SINK_AGG inputs (one per aggregate, 0 for
                      count(*)) */
    Reg *regs2;    /* SINK_AGG second inputs (string_agg delimiter) or NULL */
    int64_t limit; /* SINK_ROWS: stop the segment when that many rows are there (-1 none) */
} Sink;

typedef struct Program {
    int32_t n_instrs;
    Instr *instrs;
    int32_t n_regs; /* regs[0] unused */
    RegInfo *regs;
    int32_t n_sites; /* CALL sites */
    Source source;
    Sink sink;
} Program;

/* ---- builder -------------------------------------------------------------------------- */
typedef struct ProgramBuilder {
    Arena *arena;
    VEC(Instr) instrs;
    VEC(RegInfo) regs;
    int32_t n_sites;
    bool failed; /* out of memory: program_finish reports it */
} ProgramBuilder;
void builder_init(ProgramBuilder *b, Arena *a);
Reg builder_reg(ProgramBuilder *b, Phys phys, Type type, bool nullable);
Reg builder_const(ProgramBuilder *b, Phys phys, const Value *v); /* v.u already a cell of phys */
/* Appends; returns the instruction for further filling (valid until the next append), NULL on OOM. */
Instr *builder_emit(ProgramBuilder *b, Opcode op, Phys phys, Reg dst, Reg a, Reg b2, Reg c);
/* Liveness, carry lists, jumps; verifies; sets source and sink. NULL on error. */
Program *program_finish(ProgramBuilder *b, const Source *src, const Sink *sink, Err *e);
/* Every rule above: registers defined before use and alive across row changes, operand types by the catalogue,
 * brackets, nullability. */
Status program_verify(const Program *p, Err *e);
/* One line per instruction, as in the example at the top. */
char *program_text(const Program *p, Arena *a);

#endif
