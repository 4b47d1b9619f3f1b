/* compile_int.h - what the files of the procedure compiler share.
 *
 *   compile.c        all procedures: passes, registry of written columns, groups and their keys
 *   compile_stmt.c   statements
 *   compile_query.c  SQL statements: bound plans to lookups and loops over rows
 *
 * A procedure is gone through four times by the same code. CP_BODY, twice: makes the body; the first time only to learn what is written. CP_SITES:
 * goes through it as the footprint does, to learn which columns are known where a group is touched: their common part is the group's key. CP_FOOTPRINT: makes the
 * footprint.
 *
 * In the footprint a value is known or not, which is decided here, not when it runs: parameters are known; columns that nobody writes are, in rows
 * that are found by known keys in a table where no rows come or go; what is computed from known values. Where a condition is not known, both ways are gone, one after the
 * other: then nothing is assigned, variables that would be are unknown afterwards. A loop whose end is not known is gone through once, with everything that it assigns unknown.
 *
 * A group that some statements touch by a whole unique key and others by less has items of two kinds: fine ones, and coarse ones by what is known everywhere. Who
 * touches it finely says so at the coarse ones as well, by adding, which commutes: to ITEM_COARSE when he changes it, to ITEM_COARSE + 1 when he reads; who touches it
 * coarsely reads or writes these. So fine operations only meet each other at fine items.
 *
 * Registers live within a straight run; every statement of control starts a new one (cp_control). Rows are numbers in hidden variables.
 */
#ifndef STELE_SQL_PL_COMPILE_INT_H
#define STELE_SQL_PL_COMPILE_INT_H

#include "sql/bind/bind.h"
#include "sql/lower/lower_int.h"
#include "sql/pl/compile.h"

typedef enum CpMode { CP_BODY, CP_SITES, CP_FOOTPRINT } CpMode;
enum { CP_MAX_GROUPS = 64, NO_GROUP = -1 };

/* A place that touches a group, with the columns that are known there (of the first 64). */
typedef struct CpSite { int32_t group; uint8_t kind; uint64_t known; } CpSite;

/* What all procedures together do to a table. */
typedef struct CpTable {
    Table *table;
    bool *written;     /* by column: some UPDATE sets it */
    uint64_t *writers; /* by column: a number made of the statements that set it; equal = same group */
    bool inserted, deleted;
    int32_t n_groups;
    int32_t *group;    /* by column; NO_GROUP: nobody writes it */
    bool **key;        /* by group, last that of the rows' existence: columns that are known wherever it is touched */
    int32_t *fine;     /* by group: unique key that is known at some of the places, -1 none */
    uint8_t *fine_kinds, *coarse_kinds; /* by group: bits of the kinds of operations where that key is known, and elsewhere */
    VEC(CpSite) sites;
    ImageNeed need;    /* what all procedures want of its image */
    int32_t cap_groups;
} CpTable;
typedef struct Registry {
    Arena *arena;
    const Catalog *catalog;
    const SessionInfo *session;
    VEC(CpTable *) tables;
} Registry;
CpTable *registry_table(Registry *r, Table *t); /* NULL: out of memory */
/* Number of the group index over these columns, in order of column order - 1 (0: of none); -1: out of memory. */
int32_t registry_group(Registry *r, CpTable *t, int32_t n, const int32_t *cols, int32_t order, bool desc);
static inline bool rows_static(const CpTable *t) { return !t->inserted && !t->deleted; }
static inline int32_t rows_group(const CpTable *t) { return t->n_groups; }

typedef struct CpVar {
    ColId col;
    Type type;
    const char *name;
    bool known;      /* footprint */
    int64_t stamp;   /* of its last assignment in the text */
} CpVar;
/* A record: its fields are variables. */
typedef struct CpRecord { int32_t n; const char **names; int32_t *vars; } CpRecord;

/* What EXIT and CONTINUE leave. In the footprint: by a condition that is not known, somebody may have gone on to the next round (then the rest of this one is blind), or may
 * have left (then nobody knows afterwards what was assigned). */
typedef struct CpLabel { int32_t loop, exit_block, next_block; bool dead, may_next, may_exit; } CpLabel;

typedef struct Cp {
    Registry *reg;
    const PlFunction *f;
    Proc *proc;
    CpMode mode;
    bool dry;            /* first body pass: written columns are not known yet */
    PlanCtx ctx;
    Lower low;
    Pipe pipe;
    Err *err;
    Err scratch;         /* errors of binding: they become the reason */
    Arena *arena;
    VEC(CpVar) vars;     /* by number in Proc */
    int32_t *var_of;     /* PlFunction variable -> number, -1 none (records) */
    CpRecord *records;   /* by PlFunction variable */
    VEC(ProcTable) tables;
    VEC(CpTable *) reg_tables; /* parallel */
    VEC(int32_t) lines;  /* per instruction */
    VEC(const char *) places;
    int32_t line;
    const char *place;
    PlNames names;
    bool snapshot;       /* statements that are bound see variables as they are now, whatever becomes of them */
    bool in_statement;   /* an SQL statement is bound, which sets FOUND while it runs: it sees the old one */
    VEC(int32_t) copies; /* ... of the last one: variable, its copy */
    bool uses_found, found_seen;
    int32_t ret;         /* variable of a function's result, -1 none */
    VEC(CpLabel) labels;
    int32_t next_block;  /* numbers for P_BLOCK and P_LOOP */
    int32_t open;        /* footprint: loops around that are gone through once, because their end is not known */
    bool blind;          /* footprint: under a condition that is not known: nothing is assigned */
    int64_t clock;       /* assignments so far */
    int32_t depth;
    const Plan *order_scan; /* a scan of which only the first row by column order_col is wanted; NULL none */
    int32_t order_col;
    bool order_desc;
    const Plan *change_scan; /* footprint: the scan of an UPDATE that writes these groups of its rows: it need not read them as well; NULL none */
    const bool *change_groups;
    ColSet in_scope;     /* columns of rows that are being looked at */
    VEC(int64_t) write_tables; /* ids of tables written inside the innermost query loop, for its check */
    const char *reason;
    bool oom;
} Cp;

/* Ends the compilation of this procedure with a reason. */
Status cp_refuse(Cp *c, const char *fmt, ...) PRINTF_LIKE(2, 3);
Status cp_oom(Cp *c);
void cp_fresh(Cp *c); /* registers and shared expressions are forgotten: something was written or a new run begins */
Status cp_control(Cp *c, Opcode op, Reg a, int64_t imm);
Status cp_leave(Cp *c, int64_t block, bool to_step);
void cp_mark(Cp *c);  /* instructions so far belong to the current line and place */
static inline bool cp_foot(const Cp *c) { return c->mode != CP_BODY; }

/* ---- variables ---- */
int32_t cp_var_new(Cp *c, const char *name, Type type);
Status cp_store(Cp *c, int32_t var, Reg r);        /* of the variable's phys */
Status cp_store_int(Cp *c, int32_t var, int64_t v); /* constants; bool too */
Status cp_store_null(Cp *c, int32_t var);
/* var := e (assignment cast). In the footprint as known as e is. */
Status cp_assign(Cp *c, int32_t var, Expr *e);
Status cp_unknown(Cp *c, int32_t var);             /* footprint: no value any more */
Status cp_copy(Cp *c, int32_t to, int32_t from);   /* of one type; as known as it is */
Reg cp_load(Cp *c, int32_t var);
Reg cp_cmp(Cp *c, Opcode op, Phys phys, Reg a, Reg b);
Reg cp_int(Cp *c, Phys phys, int64_t v);
Reg cp_test(Cp *c, Opcode op, Reg a);               /* IS_NULL, IS_NOT_NULL, IS_TRUE, IS_FALSE */
Expr *cp_cast(Cp *c, Expr *e, Type to);            /* assignment cast; NULL with a reason */
/* A copy of what is known, and the common part of two. */
bool *cp_known_copy(Cp *c);
void cp_known_set(Cp *c, const bool *k, int64_t n); /* of the variables there were, n */
void cp_known_meet(Cp *c, const bool *k, int64_t n);
void cp_forget_since(Cp *c, int64_t clock); /* what was assigned since */
bool cp_skipping(const Cp *c);               /* some round may have been left for the next */

/* ---- expressions ---- */
/* An expression's text bound and ready to lower: variables are columns. want T_UNKNOWN: as it is. */
Expr *cp_expr(Cp *c, const PlExpr *x, Type want);
BoundStmt *cp_bind(Cp *c, const AstStmt *stmt, const PlExpr *x);
int32_t cp_ref(Cp *c, PlRef r);                    /* variable; -1 none */
bool cp_known(Cp *c, const Expr *e);
Reg cp_lower(Cp *c, Expr *e);                      /* any phys */
Reg cp_lower_as(Cp *c, Expr *e, Type t);           /* canonical phys of t */
Reg cp_condition(Cp *c, Expr *e);                  /* BOOL */
ColEntry *cp_entry(Cp *c, ColId id);
Status cp_raise(Cp *c, const char *sqlstate, const char *format, int32_t n, Reg *args, const char *detail, const char *hint);

/* ---- SQL statements (compile_query.c) ---- */
typedef Status (*CpRow)(Cp *c, void *ctx); /* compiles what is done for a row */
/* For every row of the plan: `row`; needed: result columns. single: whether at most one row can come, right from before `row` is called; may be NULL. */
Status cp_rows(Cp *c, Plan *p, int32_t n_needed, const ColId *needed, CpRow row, void *ctx, bool *single);
Status cp_insert(Cp *c, BoundStmt *b, CpRow row, void *ctx);
Status cp_update(Cp *c, BoundStmt *b, CpRow row, void *ctx, bool *single);
Status cp_delete(Cp *c, BoundStmt *b, CpRow row, void *ctx, bool *single);
int32_t cp_table(Cp *c, Table *t); /* number in the procedure */

/* ---- statements (compile_stmt.c) ---- */
/* Trials: what was compiled since is taken back; hidden variables stay. */
typedef struct CpState { int64_t instrs, regs, ranges, lines, labels, writes; int32_t sites; bool blind; } CpState;
CpState cp_state(const Cp *c);
void cp_state_back(Cp *c, CpState s);
Status cp_body(Cp *c, const PlBody *b);

#endif
