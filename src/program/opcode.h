/* opcode.h - the opcode catalogue: one table that generates everything else.
 *
 * An opcode is a family (OP_ADD); the instruction's `phys` picks the variant
 * (ADD on PH_I64). Columns of OPCODE_TABLE:
 *
 *   name     enum suffix and, in lower case, EXPLAIN text
 *   shape    operands: how the verifier, the printer and dispatch read an instruction
 *            (see enum OpShape)
 *   phys     bit set of the PH_* variants it exists for, in terms of its operand a (or of its
 *            result, for loads)
 *   nulls    NN strict: result is NULL where any operand is; N3 three-valued logic;
 *            NV result is never NULL; NX by its own rule
 *   flags    F_FAIL may raise a data error; F_ROWS changes the set of rows (its `carry` list says
 *            which registers move along); F_BLOCK opens, continues or closes a block
 *   exec     executors that have it: V vm, C compiled host, G GPU
 *
 * Arithmetic exists checked (22003 on overflow) and unchecked (_N): the lowering emits
 * the latter where value ranges prove that overflow cannot happen.
 */
#ifndef STELE_PROGRAM_OPCODE_H
#define STELE_PROGRAM_OPCODE_H

#include <stdint.h>

typedef enum OpShape {
    SH_NONE,   /* no operands */
    SH_D,      /* dst <- aux/imm */
    SH_DA,     /* dst <- a */
    SH_DAB,    /* dst <- a, b */
    SH_DABC,   /* dst <- a, b, c */
    SH_A,      /* reads a */
    SH_LIST,   /* dst <- args[] (in aux) */
    SH_AB,     /* reads a, b */
    SH_PROBE,  /* join probe: keys in aux, dst = build row register */
    SH_BLOCK   /* block bracket */
} OpShape;

#define PB(p) (1u << (p))
#define P_INT (PB(1) | PB(2) | PB(3) | PB(4))         /* I16 I32 I64 I128 */
#define P_FLT (PB(5) | PB(6))                         /* F32 F64 */
#define P_NUM (P_INT | P_FLT)
#define P_STR PB(7)
#define P_BOOL PB(0)
#define P_ALL (P_BOOL | P_NUM | P_STR | PB(8) | PB(9)) /* and INTERVAL, UUID */

enum { NN, N3, NV, NX };
enum { F_FAIL = 1, F_ROWS = 2, F_BLOCK = 4, F_SOURCE = 8 };
enum { XV = 1, XC = 2, XG = 4 };

/*  name          shape     phys     nulls flags          exec */
#define OPCODE_TABLE(X)                                                                                               \
    X(NONE,         SH_NONE,  0,       NV, 0,               XV)                                                       \
    /* source: dst <- column `imm` of the source at the current rows, converted to dst's phys */                     \
    X(LOAD,         SH_D,     P_ALL,   NX, F_SOURCE,        XV)                                                       \
    X(LOAD_CODE,    SH_D,     PB(2),   NX, F_SOURCE,        XV) /* dictionary code of column imm */                   \
    X(LOAD_ROWID,   SH_D,     PB(3),   NV, F_SOURCE,        XV) /* row identity */                                    \
    /* filters: keep the rows where the predicate is true */                                                         \
    X(FILTER,       SH_A,     P_BOOL,  NV, F_ROWS,          XV)                                                       \
    X(FILTER_RANGE, SH_NONE,  0,       NV, F_ROWS|F_SOURCE, XV) /* column imm in aux RangeTest, on encoded data */    \
    X(FILTER_CODES, SH_NONE,  0,       NV, F_ROWS|F_SOURCE, XV) /* dictionary column imm: code in aux CodeMask */     \
    /* arithmetic */                                                                                                 \
    X(ADD,          SH_DAB,   P_NUM,   NN, F_FAIL,          XV)                                                       \
    X(SUB,          SH_DAB,   P_NUM,   NN, F_FAIL,          XV)                                                       \
    X(MUL,          SH_DAB,   P_NUM,   NN, F_FAIL,          XV)                                                       \
    X(ADD_N,        SH_DAB,   P_INT,   NN, 0,               XV)                                                       \
    X(SUB_N,        SH_DAB,   P_INT,   NN, 0,               XV)                                                       \
    X(MUL_N,        SH_DAB,   P_INT,   NN, 0,               XV)                                                       \
    X(MUL_WIDE,     SH_DAB,   PB(2)|PB(3), NN, 0,           XV) /* I32*I32->I64, I64*I64->I128 */                     \
    X(DIV,          SH_DAB,   P_NUM,   NN, F_FAIL,          XV) /* integers truncate; 22012 */                        \
    X(MOD,          SH_DAB,   P_INT,   NN, F_FAIL,          XV)                                                       \
    X(NEG,          SH_DA,    P_NUM,   NN, F_FAIL,          XV)                                                       \
    X(ABS,          SH_DA,    P_NUM,   NN, F_FAIL,          XV)                                                       \
    /* numeric: I128 or I64 operands with scales in imm (see program.h, NUM_IMM) */                                   \
    X(RESCALE,      SH_DA,    PB(3)|PB(4), NN, F_FAIL,      XV) /* to scale and precision; dst phys may differ */     \
    X(NUM_DIV,      SH_DAB,   PB(4),   NN, F_FAIL,          XV)                                                       \
    X(NUM_MUL,      SH_DAB,   PB(4),   NN, F_FAIL,          XV) /* product rescaled to the result scale */            \
    X(NUM_TO_F64,   SH_DA,    PB(3)|PB(4), NN, 0,           XV)                                                       \
    X(F64_TO_NUM,   SH_DA,    PB(6),   NN, F_FAIL,          XV)                                                       \
    X(CHECK_DIGITS, SH_DA,    PB(3)|PB(4), NN, F_FAIL,      XV) /* |a| < 10^imm else 22003 */                         \
    /* conversion between numeric phys: a of `phys` to dst's phys; narrowing checks (22003), floats round half even */\
    X(CVT,          SH_DA,    P_BOOL|P_NUM, NN, F_FAIL,     XV)                                                       \
    /* comparison -> BOOL */                                                                                         \
    X(EQ,           SH_DAB,   P_ALL,   NN, 0,               XV)                                                       \
    X(NE,           SH_DAB,   P_ALL,   NN, 0,               XV)                                                       \
    X(LT,           SH_DAB,   P_ALL,   NN, 0,               XV)                                                       \
    X(LE,           SH_DAB,   P_ALL,   NN, 0,               XV)                                                       \
    X(GT,           SH_DAB,   P_ALL,   NN, 0,               XV)                                                       \
    X(GE,           SH_DAB,   P_ALL,   NN, 0,               XV)                                                       \
    X(DISTINCT,     SH_DAB,   P_ALL,   NV, 0,               XV) /* IS DISTINCT FROM */                                \
    /* logic */                                                                                                      \
    X(AND,          SH_DAB,   P_BOOL,  N3, 0,               XV)                                                       \
    X(OR,           SH_DAB,   P_BOOL,  N3, 0,               XV)                                                       \
    X(NOT,          SH_DA,    P_BOOL,  NN, 0,               XV)                                                       \
    X(IS_NULL,      SH_DA,    P_ALL,   NV, 0,               XV)                                                       \
    X(IS_NOT_NULL,  SH_DA,    P_ALL,   NV, 0,               XV)                                                       \
    X(IS_TRUE,      SH_DA,    P_BOOL,  NV, 0,               XV)                                                       \
    X(IS_FALSE,     SH_DA,    P_BOOL,  NV, 0,               XV)                                                       \
    X(SELECT,       SH_DABC,  P_ALL,   NX, 0,               XV) /* a BOOL (NULL = false) ? b : c; phys = b's */       \
    X(COALESCE,     SH_DAB,   P_ALL,   NX, 0,               XV) /* a unless NULL, else b */                           \
    X(NULLIF,       SH_DAB,   P_ALL,   NX, 0,               XV) /* NULL where b (BOOL) is true, else a */             \
    /* sets, dictionaries, text, dates */                                                                            \
    X(IN_SET,       SH_DA,    P_INT|P_STR, NX, 0,           XV) /* aux InSet */                                       \
    X(CODE_TEST,    SH_DA,    PB(2),   NN, 0,               XV) /* code a in aux CodeMask -> BOOL */                  \
    X(CODE_MAP,     SH_DA,    PB(2),   NX, 0,               XV) /* code a -> aux CodeMap cell of dst's phys */        \
    X(DECODE,       SH_DA,    PB(2),   NN, 0,               XV) /* code a -> STR through aux Dict */                  \
    X(LIKE,         SH_DA,    P_STR,   NN, 0,               XV) /* aux LikePattern */                                 \
    X(DATE_PART,    SH_DA,    PB(2)|PB(3), NN, 0,           XV) /* imm DateField of date (I32) or timestamp (I64) -> I32 */\
    X(CALL,         SH_LIST,  0,       NX, F_FAIL,          XV) /* aux CallSite */                                    \
    X(KEY_PACK,     SH_LIST,  0,       NX, 0,               XV) /* aux KeyPack: several narrow keys -> one I64 */      \
    /* conditional evaluation: rows where a is true run the first body, the others the second */                     \
    X(IF,           SH_BLOCK, P_BOOL,  NV, F_BLOCK,         XV) /* a condition */                                     \
    X(ELSE,         SH_BLOCK, P_ALL,   NV, F_BLOCK,         XV) /* a = value of the first body */                     \
    X(ENDIF,        SH_BLOCK, P_ALL,   NX, F_BLOCK,         XV) /* dst <- first body's value / a = second's */        \
    /* joins (aux ProbeSite) */                                                                                      \
    X(PROBE,        SH_PROBE, 0,       NX, F_ROWS,          XV) /* without residual condition */                      \
    X(PROBE_BEGIN,  SH_PROBE, 0,       NX, F_BLOCK|F_ROWS,  XV) /* candidates run the residual body ... */            \
    X(PROBE_END,    SH_BLOCK, P_BOOL,  NX, F_BLOCK|F_ROWS,  XV) /* ... and count where a is true */                   \
    X(LOAD_BUILD,   SH_DA,    P_ALL,   NX, 0,               XV) /* aux join, column imm at build rows a (row < 0: NULL) */\
    X(REPEAT,       SH_A,     PB(3),   NV, F_ROWS,          XV) /* every row a times; dst, if any, <- number of the copy from 0 */ \
    /* procedures: source SRC_CALLS, rows are calls (see program.h, Programs of procedures) */                       \
    X(STORE,        SH_A,     P_ALL,   NX, 0,               XV) /* variable imm of the call <- a */                   \
    X(ROW_FIND,     SH_LIST,  0,       NV, 0,               XV) /* dst I64 <- row with the unique key in aux RowKey, -1 none */ \
    X(ROW_FIRST,    SH_LIST,  0,       NV, 0,               XV) /* dst I64 <- first row of the group in aux RowKey, -1 none */ \
    X(ROW_NEXT,     SH_DA,    PB(3),   NV, 0,               XV) /* dst I64 <- row after a in the list of aux RowKey, -1 none */ \
    X(CAUGHT,       SH_D,     P_STR,   NV, 0,               XV) /* of what P_TRY imm >> CAUGHT_BITS caught: SQLSTATE, message .. */ \
    X(CATCHES,      SH_D,     P_BOOL,  NV, 0,               XV) /* whether the handler of aux CatchSite takes it */   \
    X(ROW_GET,      SH_DA,    PB(3),   NX, 0,               XV) /* dst <- aux RowCol of row a; a < 0: NULL */         \
    X(ROW_PUT,      SH_AB,    P_ALL,   NX, F_FAIL,          XV) /* aux RowCol of row a <- b (phys of b); 23502 */     \
    X(ROW_ADD,      SH_AB,    P_INT,   NX, F_FAIL,          XV) /* aux RowCol of row a += b, or -= b, atomically; NULL b makes it NULL */ \
    X(ROW_INSERT,   SH_LIST,  0,       NV, F_FAIL,          XV) /* dst I64 <- new row of aux RowInsert; 23502, 23505 */ \
    X(ROW_DELETE,   SH_A,     PB(3),   NX, 0,               XV) /* aux RowCol (col -1): row a dies */                 \
    X(RAISE,        SH_LIST,  0,       NX, F_FAIL,          XV) /* aux RaiseSite: the calls fail */                   \
    X(RERAISE,      SH_NONE,  0,       NX, F_FAIL,          XV) /* the calls fail with what P_TRY imm caught */        \
    X(NOTICE,       SH_LIST,  0,       NX, F_FAIL,          XV) /* aux NoticeSite: the callers are told */             \
    X(ITEM,         SH_LIST,  0,       NX, 0,               XV) /* aux ItemSite: an operation, for the schedule */    \
    X(GUARD,        SH_LIST,  0,       NX, 0,               XV) /* aux ItemSite: what follows works on the item (bodies with guards: txn/proc.h) */ \
    X(UNGUARD,      SH_NONE,  0,       NX, 0,               XV) /* aux GuardList: the statement that had these guards is over */ \
    X(P_IF,         SH_A,     P_BOOL,  NX, F_BLOCK,         XV) /* calls where a is true go on here, ... */           \
    X(P_ELSE,       SH_NONE,  0,       NX, F_BLOCK,         XV) /* ... the others here */                             \
    X(P_ENDIF,      SH_NONE,  0,       NX, F_BLOCK,         XV)                                                       \
    X(P_LOOP,       SH_NONE,  0,       NX, F_BLOCK,         XV) /* loop imm: repeated until no call is left in it */  \
    X(P_ROUND,      SH_NONE,  0,       NX, F_BLOCK|F_FAIL,  XV) /* an iteration of loop imm begins: 54000 when a call has had too many */ \
    X(P_STEP,       SH_NONE,  0,       NX, F_BLOCK,         XV) /* where CONTINUE of loop imm goes */                 \
    X(P_ENDLOOP,    SH_NONE,  0,       NX, F_BLOCK|F_FAIL,  XV) /* 57014 for a call that is cancelled */              \
    X(P_LEAVE,      SH_NONE,  0,       NX, F_BLOCK,         XV) /* these calls leave block or loop imm (aux NULL) or go to its P_STEP (aux not NULL) */ \
    X(P_BLOCK,      SH_NONE,  0,       NX, F_BLOCK,         XV) /* block imm, to be left ... */                       \
    X(P_ENDBLOCK,   SH_NONE,  0,       NX, F_BLOCK,         XV) /* ... to here */                                     \
    X(P_TRY,        SH_NONE,  0,       NX, F_BLOCK,         XV) /* number imm: calls that fail in here take back what they changed here and ... */ \
    X(P_CATCH,      SH_NONE,  0,       NX, F_BLOCK,         XV) /* ... go on here; the others ... */                  \
    X(P_ENDTRY,     SH_NONE,  0,       NX, F_BLOCK,         XV) /* ... here */                                        \
    X(P_RETURN,     SH_NONE,  0,       NX, F_BLOCK,         XV) /* these calls are done */

typedef enum Opcode {
#define X(name, shape, phys, nulls, flags, exec) OP_##name,
    OPCODE_TABLE(X)
#undef X
    OP_COUNT_
} Opcode;

typedef struct OpInfo {
    const char *name;
    uint8_t shape, nulls, flags, exec;
    uint32_t phys;
} OpInfo;
extern const OpInfo op_info[OP_COUNT_];

#endif
