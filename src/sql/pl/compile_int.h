/* compile_int.h - what the files of the procedure compiler share.
 *
 *   compile.c        all procedures: their order of compilation, registry of written columns; variables and expressions
 *   compile_stmt.c   statements
 *   compile_plan.c   SQL statements: bound plans are brought into forms that ...
 *   compile_query.c  ... become lookups and loops over rows
 *   compile_buffer.c rows that are needed together, for an order or groups
 *   compile_group.c  aggregates and groups
 *   compile_sets.c   outer joins, set operations, common table expressions
 *   compile_decimal.c in which form variables of numeric without (p,s) are held
 *   compile_adds.c   which assignments of an UPDATE are additions
 *   compile_foreign.c foreign keys: what is looked at and done behind a statement
 *   compile_unique.c unique indexes with predicates or expressions
 *   compile_call.c   calls of other routines, and subqueries: what expressions need is computed before them
 *   compile_touch.c  touches: where the body reads and changes rows
 *   footprint.c      a pass over the body: what of it is known before a call runs; that part is the footprint
 *   registry.c       what all procedures do to tables; what is kept of that for procedures that are compiled later
 *   keys.c           from all touches: the keys of items; from a touch to its items
 *   locks.c          a pass over the body: statement locks
 *   slice.c, reuse.c what footprints do not need is dropped; what was computed before is used again
 *   items.c          operations are issued once, in front of loops and in straight runs
 *
 * A procedure is lowered once, to a body with touches (compile_touch.c), after a dry run that finds what all procedures
 * write. Everything else is made of that body by passes over its instructions; README.md lists them.
 *
 * Known values. A value is known when the footprint can have it before the call runs: parameters; columns that no
 * procedure writes, in rows that are found by known keys in a table where no rows come or go; what is computed from
 * known values (footprint.c).
 *
 * A group that some statements touch by a whole unique key and others by less has items of two kinds: fine ones, and
 * coarse ones by what is known everywhere. A fine operation has one on the coarse items as well, an addition, which
 * commutes: to ITEM_COARSE when it is a change, to ITEM_COARSE + 1 when it reads; a coarse operation reads or writes
 * these. So fine operations only meet each other at fine items.
 *
 * Rows exist by each unique key of their table (program/proc.h), and each of these existences is a group in this sense,
 * whose fine items are by its key and no other. For an INSERT the values of the row in all keys are known, or not. For
 * a DELETE they seldom are: what the row has in another key than the one that it was found by is not known beforehand,
 * since another call of the bulk may have put it there. There it reads the coarse item, which fine operations add to:
 * deletes for which some key of their rows is known commute with each other in the keys that are not, and wait for
 * inserts and lookups (CP_DELETES). Those of one row conflict in the key that is known of one of them. A key's value
 * distinguishes a row that is deleted from another one that is inserted, other columns do not: coarse items of rows
 * that are changed coarsely have columns of the key only.
 *
 * Registers live within a straight run; every statement of control starts a new one (cp_control). Rows are numbers in
 * hidden variables.
 */
#ifndef STELE_SQL_PL_COMPILE_INT_H
#define STELE_SQL_PL_COMPILE_INT_H

#include "sql/bind/bind.h"
#include "sql/lower/pipeline.h"
#include "sql/pl/compile.h"

enum { CP_MAX_GROUPS = ITEM_GROUPS_MAX, NO_GROUP = -1 };
/* Kinds of touches beyond OpKind and OPK_INSERTED. CP_DELETES: DELETE of a row that is known by another unique key;
 * CP_SUMS: no operation, but something is added to the column. */
enum { CP_DELETES = OPK_WRITE + 1, CP_SUMS };
/* Instr.flags while a procedure is compiled, beyond INSTR_SAFE. */
enum {
    CP_FOR_TOUCH = 2, /* computed for touches alone, unless something else uses it; P_IF, P_ENDIF: of touches alone */
    CP_FORMS = 4, /* P_IF: a change that writes, or (P_ELSE) one that adds; where the condition is not known, writes */
    CP_UNKNOWN = 8, /* the result is not known, whatever the operands are */
    CP_WRITES = 16  /* CP_FORMS: found by the footprint: the condition is not known */
};

/* An item that a touch became in the footprint; the body with locks takes the same at the same touch. */
typedef struct CpItem {
    ItemSite site; /* first */
    const struct CpTouch *touch;
    const bool *key; /* by column of the table */
    uint8_t loops;   /* so many it has left (items.c) */
    bool merged;     /* into a later one */
} CpItem;

/* A place that touches rows: aux of an OP_ITEM of the body. */
typedef struct CpTouch {
    ItemSite item; /* first. kind: see above; args: the values of `cols`, then the amount */
    struct CpTable *table;
    int32_t group;               /* of columns, or rows_group() + unique key, or rows_groups_end(): rows by no key */
    const int32_t *cols;         /* NULL: none */
    int32_t statement, loops;    /* the statement, and loops around it */
    bool is_early, null_key;     /* before the row is looked for; the key that it is for has a NULL */
    bool inexact;                /* ItemSite.inexact, where both forms of the change stay */
    const struct CpTouch *early; /* the same before the row was looked for, */
    struct CpTouch *late;        /* and of an early one that */
    bool once;                   /* found by the footprint: as often in the body as there, */
    bool open;                   /* it stands in something that is compiled once, */
    bool knows_amount;           /* and what is known of item.args */
    bool *known;                 /* by column of the table; NULL: the footprint does not come here; */
    Reg *foot_args;              /* item.args there */
    VEC(CpItem *) items;
} CpTouch;

/* A place that touches a group, with the columns that are known there (of the first 64). */
typedef struct CpSite {
    int32_t group;
    uint8_t kind;
    uint64_t known;
} CpSite;

/* What all procedures together do to a table. */
typedef struct CpTable {
    Table *table;
    bool *written;     /* by column: some UPDATE sets it */
    uint64_t *writers; /* by column: a number made of the statements that set it; equal = same group */
    bool inserted, deleted;
    /* By column: an UPDATE may be compiled as a row that goes and another that comes, since it is of a unique key or of
     * a foreign key; some UPDATE sets it; some search uses it; and so it is compiled: then it is not `written`. */
    bool *movable, *sets, *looks, *moved;
    int32_t n_groups;
    int32_t *group;   /* by column; NO_GROUP: no procedure writes it */
    int32_t main_key; /* several unique keys: the one that rows are named by where none of them is known */
    bool **key;    /* by group, last those of the rows' existence, by unique key: columns that are known wherever it is
                      touched */
    int32_t *fine; /* by group: unique key that is known at some of the places, -1 none */
    uint8_t *fine_kinds,
        *coarse_kinds; /* by group: bits of the kinds of operations where that key is known, and elsewhere */
    VEC(CpSite) sites;
    ImageNeed need; /* what all procedures need of its image */
    int32_t cap_groups;
    const struct CpTable *kept; /* in Registry.kept; NULL: what is compiled now is all there is */
} CpTable;
/* A routine that is called and not compiled now. */
typedef struct CpCalled CpCalled;
typedef struct Registry {
    Arena *arena, *dry; /* dry: of the dry run, while it lasts */
    const Catalog *catalog;
    const SessionInfo *session;
    const struct Registry *kept; /* of procedures that stay as they are; NULL: there are none */
    VEC(CpTable *) tables;
    int32_t n_functions;
    const PlFunction *const *functions;
    VEC(CpCalled *) called;
    struct NameReads *reads;
    struct CpDecimals **decimals; /* by function: compile_decimal.c; NULL: none yet */
    int64_t **stored;             /* by function: CpFlow.stored */
    const Table *misfit; /* what is compiled now does to it what kept procedures do not reckon with; NULL: to none */
    VEC(const PlStmt *) collects; /* loops over queries whose tables are changed in them: found by the dry walk */
} Registry;
int32_t cp_part_column(Arena *a, const Table *t, const char *part); /* of an ExprIndex; -1: it is no column */
/* registry.c */
CpTable *registry_table(Registry *r, Table *t); /* NULL: out of memory */
void registry_begin(Registry *r);               /* before the dry run: nothing is written */
Status registry_groups(Registry *r);            /* after it: groups of columns. Or r->misfit */
bool registry_keys(Registry *r, CpTable *t);    /* after the bodies: keys of items. False: r->misfit */
Status registry_need(const CpTable *t, Arena *a, ImageNeed *out); /* a copy */
void registry_drop_unused(Registry *r, const Proc *procs);        /* tables that only impossible procedures use */
/* Number of the group index over these columns, in order of column order - 1 (0: of none); -1: out of memory. */
int32_t registry_group(Registry *r, CpTable *t, int32_t n, const int32_t *cols, int32_t order, bool desc);
static inline bool rows_static(const CpTable *t) { return !t->inserted && !t->deleted; }
static inline int32_t rows_group(const CpTable *t) { return t->n_groups; } /* + unique key, where there are several */
static inline int32_t rows_groups_end(const CpTable *t) {
    return t->n_groups + MAX_OF(t->table->n_keys, 1);
} /* while places are collected: of no key */

typedef struct CpVar {
    ColId col;
    Type type;
    const char *name;
} CpVar;
/* A record: its fields are variables. */
typedef struct CpRecord {
    int32_t n;
    const char **names;
    int32_t *vars;
} CpRecord;

/* What EXIT and CONTINUE leave. */
typedef struct CpLabel {
    int32_t loop, exit_block, next_block;
} CpLabel;

/* A call that is compiled where it stands: the caller, and the place. */
typedef struct CpCall {
    const struct CpCall *up;
    const PlFunction *f; /* the caller */
    int32_t line;
    const char *place;
    const char *statement; /* for the context of errors: "SQL statement \"..\""; NULL: an expression */
    int32_t block;         /* that RETURN leaves */
} CpCall;
enum { CP_CALLS_MAX = 32 /* inside each other */, CP_INSTRS_MAX = 100000, CP_STATEMENTS_MAX = 100000 };

/* Where the compiler is in the text: what stays with the caller while a routine that it calls is compiled. */
typedef struct CpPlace {
    const PlFunction *f;
    int32_t *var_of;   /* PlFunction variable -> number, -1 none (records) */
    CpRecord *records; /* by PlFunction variable */
    int32_t line;      /* of the routine whose text is compiled */
    const char *place;
    const CpCall *call; /* NULL: that is the one that is compiled */
    const PlExpr *site; /* what was bound last */
    PlNames names;
    bool snapshot;          /* statements that are bound see variables as they are now, whatever becomes of them */
    bool in_statement;      /* an SQL statement is bound, which sets FOUND while it runs: it sees the old one */
    VEC(int32_t) copies;    /* ... of the last one: variable, its copy */
    int32_t row_count;      /* variable of GET DIAGNOSTICS .. ROW_COUNT, -1: the routine has none */
    int32_t count_to;       /* ... of the statement until it has ended; -1 none */
    int32_t found_to;       /* a statement's FOUND until it has ended; -1: the variable itself */
    int32_t ret;            /* variable of a function's result, -1 none */
    int32_t caught;         /* the P_TRY whose handler this is, -1 none */
    const Plan *order_scan; /* a scan of which only the first row by column order_col is used; NULL none */
    int32_t order_col;
    bool order_desc;
} CpPlace;

/* The statement that touches belong to. */
typedef struct CpPlaces {
    int32_t statement, n_statements; /* its number; numbers so far */
    int32_t loops;                   /* around it */
    bool touched;                    /* it has touches */
} CpPlaces;

/* The SQL statement that is compiled, and its rows that are being looked at. */
typedef struct CpQuery {
    const Plan *outer_scan;  /* the right side of a left join: its columns are NULL where there is no row; NULL none */
    const Table *upsert;     /* the table of ON CONFLICT DO UPDATE */
    const Plan *target_scan; /* UPDATE: of the table that is changed, */
    const int32_t *fetch_adds; /* and by column of it RowCol.fetch_add; NULL: it has none */
    const Plan *change_plan;   /* the scan whose rows are changed, NULL none, */
    struct Scan *change_scan;
    const bool *change_groups; /* ... by an UPDATE that writes these groups of them; NULL none */
    bool several_sources;     /* UPDATE .. FROM: other tables than the one that is changed may give more than one row */
    VEC(int32_t) rows;        /* variables of the rows, outermost first */
    VEC(struct CpCte *) ctes; /* that have been computed (compile_sets.c) */
    ColSet in_scope;          /* columns of the rows */
    VEC(int64_t) write_tables; /* ids of tables written inside the innermost query loop, for its check */
} CpQuery;

/* Where instructions come from: of each, and the last text that was made of it. */
typedef struct CpOrigins {
    VEC(int32_t) lines; /* per instruction: of the routine that is compiled */
    VEC(const char *) places;
    VEC(const char *) contexts; /* ... and where in the routines it calls; NULL: in none */
    const char *context;        /* the last one made, for ... */
    const CpCall *call;
    int32_t line;
    const char *place;
} CpOrigins;

/* A row that the call has inserted: it is there as long as nothing deletes it. */
typedef struct CpOwnRow {
    const Table *table;
    const int32_t *vars; /* by column: the routine's variable that the value is of; -1: another value */
    int64_t statement;   /* PL/pgSQL statements before */
    int64_t depth;       /* brackets around: */
    int32_t bracket;     /* the innermost one; 0: none */
} CpOwnRow;

/* Blocks and loops around. */
typedef struct CpFlow {
    VEC(int32_t) brackets; /* that are open, by number; each branch has its own */
    int32_t n_brackets;
    int32_t n_own_vars; /* of the routine that is compiled */
    int64_t *stored; /* by such a variable: the number of the statement that last assigns it, found by the dry walk */
    VEC(CpOwnRow) own;
    VEC(CpLabel) labels;
    int32_t next_block;   /* numbers for P_BLOCK and P_LOOP */
    int32_t n_buffers;    /* of rows */
    int32_t loops;        /* P_LOOPs around */
    int64_t n_statements; /* compiled so far */
    int32_t tries;        /* blocks with handlers around, */
    int32_t n_tries;      /* numbers of P_TRY */
} CpFlow;

/* A procedure while it is compiled, or one of the programs that are made of its body. */
typedef struct Cp {
    Registry *reg;
    CpPlace at;
    Proc *proc;
    struct CpDecimals *decimals; /* of the routine that is compiled, NULL: it is none of the registry's */
    const PlFunction *decimals_of;
    bool dry;      /* written columns are not known yet */
    bool foot;     /* it is the footprint */
    bool no_locks; /* something in it has no statement locks */
    int32_t n_fetch_adds;
    CpPlaces places;
    CpQuery query;
    struct CpQueue *events; /* of foreign keys, while those of a statement are compiled (compile_foreign.c); NULL */
    CpOrigins from;
    CpFlow flow;
    PlanCtx ctx;
    Lower low;
    Pipe pipe;
    Err *err;
    Err scratch; /* errors of binding: they become the reason */
    Arena *arena;
    VEC(CpVar) vars; /* by number in Proc */
    VEC(ProcTable) tables;
    VEC(ProcColumn) unbounded; /* footprint: Proc.unbounded */
    VEC(CpTable *) reg_tables; /* parallel to tables */
    bool uses_found, found_seen;
    int32_t any_order;  /* of what is around, so many take rows in whatever order (compile_order.c) */
    int32_t order_line; /* Proc.order_line */
    const char *reason; /* that it cannot be compiled */
    bool oom;
} Cp;

/* Rows can be looked for by the column: no UPDATE writes it, or none will (dry). */
static inline bool cp_lookable(const Cp *c, const CpTable *t, int32_t col) {
    return !t->written[col] || (c->dry && t->movable[col]);
}

/* slice.c: drops what the footprint that was made does not need for its operations. */
Status cp_slice(Cp *c);
/* derive.c: programs that are made of the body. *to: a copy of c without instructions. */
Status cp_derive(const Cp *c, Cp *to);
bool cp_own_operands(Arena *a, Instr *in); /* false: out of memory */
/* The body with statement locks, or (locks NULL) without anything for touches. */
typedef struct CpLocks {
    VEC(ItemSite *) list;    /* by number */
    VEC(int32_t) statements; /* ... that they belong to */
} CpLocks;
Status cp_finish_body(const Cp *c, Cp *to, CpLocks *locks);
Status cp_pack_registers(Cp *c); /* of a program that is done: those that are used */
Status cp_pack_variables(Cp *c); /* of a footprint: parameters, and those that are used */
/* footprint.c: from the body that was lowered to the footprint, whose OP_ITEMs are touches still; foot: a copy of c. */
Status cp_footprint(Cp *c, Cp *foot);
/* keys.c. What the table's touches are named by, after cp_footprint() of all procedures; then touches become items. */
void cp_make_keys(CpTable *t);
bool cp_fit_keys(CpTable *t); /* ... where those of t->kept stay. False: they would be others */
Status cp_make_items(Cp *foot);
/* items.c. Before cp_reuse: the footprint's operations leave loops, and then their locks in the body; afterwards those
 * of the footprint that come twice in a straight run go. */
Status cp_hoist_items(Cp *c);
Status cp_hoist_locks(Cp *c);
Status cp_merge_items(Cp *c);
/* reuse.c. What the program that was made computes more than once is computed once where possible, and what is not used
 * is dropped: before program_finish, once. */
Status cp_reuse(Cp *c);
/* Variables that are results. */
bool *cp_results(const Cp *c);
/* Marks what else can be dropped with what is marked: variables that are neither results nor loaded, and what is
 * computed for no other instruction and cannot fail. */
Status cp_sweep(Arena *a, const Instr *code, int32_t n, int64_t n_regs, int64_t n_vars, const bool *wanted, bool *gone);
void cp_drop(Cp *c, const bool *gone); /* drops instructions, by number, with their lines and places */
void cp_note_order(Cp *c); /* compile_order.c: what this line does depends on the order that a table has its rows in */
/* Ends the compilation of this procedure with a reason. */
Status cp_refuse(Cp *c, const char *fmt, ...) PRINTF_LIKE(2, 3);
Status cp_oom(Cp *c);
void cp_fresh(Cp *c); /* registers and shared expressions are forgotten: something was written or a new run begins */
Status cp_control(Cp *c, Opcode op, Reg a, int64_t imm);
Status cp_leave(Cp *c, int64_t block, bool to_step);
static inline void cp_flag(Cp *c, int mark) { /* the last instruction gets the mark */
    c->pipe.b.instrs.items[c->pipe.b.instrs.len - 1].flags |= (uint8_t)mark;
}
void cp_mark(Cp *c); /* instructions so far belong to the current line and place */

/* ---- variables ---- */
int32_t cp_var_new(Cp *c, const char *name, Type type);
Status cp_store(Cp *c, int32_t var, Reg r);         /* of the variable's phys */
Status cp_store_int(Cp *c, int32_t var, int64_t v); /* constants; bool too */
Status cp_store_null(Cp *c, int32_t var);
Status cp_assign(Cp *c, int32_t var, Expr *e);   /* var := e (assignment cast) */
Status cp_copy(Cp *c, int32_t to, int32_t from); /* of one type */
/* The variable of the routine that the column has the value of, as it is; -1 none. */
int32_t cp_variable_of(Cp *c, ColId id);
Reg cp_load(Cp *c, int32_t var);
Reg cp_cmp(Cp *c, Opcode op, Phys phys, Reg a, Reg b);
Reg cp_int(Cp *c, Phys phys, int64_t v);
Reg cp_test(Cp *c, Opcode op, Reg a);   /* IS_NULL, IS_NOT_NULL, IS_TRUE, IS_FALSE */
Expr *cp_cast(Cp *c, Expr *e, Type to); /* assignment cast; NULL with a reason */

/* ---- expressions ---- */
/* An expression's text bound and ready to lower: variables are columns. want T_UNKNOWN: as it is. */
Expr *cp_expr(Cp *c, const PlExpr *x, Type want);
BoundStmt *cp_bind(Cp *c, const AstStmt *stmt, const PlExpr *x);
/* Variables of the routine in a bound expression or plan become columns. */
Status cp_columns(Cp *c, Expr **slot);
Status cp_plan_columns(Cp *c, Plan *p);
void cp_names(Cp *c, const PlExpr *x); /* before binding */
Status cp_refuse_error(Cp *c);         /* what binding or lowering could not do */
Status cp_stack(Cp *c); /* in every recursive walk: refuses when too little stack is left (base/stack.h), or the
                           statement is canceled */
Status cp_declare(Cp *c, bool own); /* the variables of c->at.f; own: it is the one that is compiled */
/* compile_decimal.c. Before the variables of c->at.f are declared. */
Status cp_decimals(Cp *c);
Type cp_decimal_form(Cp *c, int32_t var, Type t); /* of its variable, or (-1) its result */
bool cp_decimals_changed(Cp *c);                  /* after a dry walk: it has to be repeated */
/* In the dry walk: what is assigned to one of the program's variables (true: by this, the walk will be repeated, and
 * the value may be left out), cast, computed, aggregated. */
bool cp_decimal_assigned(Cp *c, int32_t var, const Expr *e);
void cp_decimal_widen(Cp *c, int32_t var); /* it is a string: nothing is known of its values */
void cp_decimal_cast(Cp *c, Type from, Type to);
void cp_decimal_use(Cp *c, const Expr *e);
void cp_decimal_aggregate(Cp *c, const Plan *p);
/* Condition: what is compiled by `part` runs where it is true. */
typedef Status (*CpPart)(Cp *c, void *ctx);
Status cp_when(Cp *c, Expr *cond, CpPart part, void *ctx);
int32_t cp_ref(Cp *c, PlRef r);          /* variable; -1 none */
Reg cp_lower(Cp *c, Expr *e);            /* any phys */
Reg cp_lower_as(Cp *c, Expr *e, Type t); /* canonical phys of t */
Reg cp_condition(Cp *c, Expr *e);        /* BOOL */
ColEntry *cp_entry(Cp *c, ColId id);
Status cp_raise(Cp *c, const char *sqlstate, const char *format, const char *hint);
Status cp_raise_site(Cp *c, const RaiseSite *site);

/* ---- calls and subqueries (compile_call.c) ---- */
/* Calls of routines and subqueries in the expressions are computed here, in the order of evaluation, and stand for
 * variables afterwards. */
Status cp_settle(Cp *c, Expr **e);
Status cp_settle_list(Cp *c, int32_t n, Expr **e);
bool cp_unsettled(Cp *c, const Expr *e);
/* The routine of the catalog that a call is of; NULL: a function of the system's. */
const Routine *cp_routine(Cp *c, const Expr *e);
/* The body of a routine: values of its IN and INOUT parameters, in order; out: variables of the results. */
typedef struct CpOuts {
    int32_t n;
    int32_t *vars;
} CpOuts;
Status cp_inline(Cp *c, const Routine *r, int32_t n, Expr **args, const char *statement, CpOuts *out);
Status cp_call_statement(Cp *c, const PlStmt *s);
/* Subqueries on the table that the statement changes are computed before it, where that makes no difference: they need
 * no row of it, and cannot fail. */
Status cp_hoist(Cp *c, Plan *p, const Table *changed);
/* Whether the values before IN, ANY or ALL with a query are among its rows, or compare as they are to: to the variable.
 */
Status cp_any_subquery(Cp *c, const Expr *e, int32_t var);
/* The query gives at most one row: it has all columns of a unique key, or is an aggregate. */
bool cp_finds_one(Cp *c, const Plan *p);
/* What is left in a statement after settling: no calls; no subquery that reads the table that it changes (NULL: none).
 */
Status cp_check_parts(Cp *c, Plan *p, const Table *changed);
/* The rows of the query may fail to be computed. */
bool cp_may_fail(Cp *c, Plan *p);
/* ... some of them, and others not. One call at a time computes all rows of a query, whatever is used of them; a bulk
 * that takes some and leaves has to do the same for the same calls to fail. Not below LIMIT, where a call computes more
 * rows or fewer by the size of its vectors. */
bool cp_some_may_fail(Cp *c, Plan *p);
/* The table of that id, if the plan or its subqueries read it, else NULL. */
const Table *cp_reads_table(Cp *c, Plan *p, int64_t id);
/* What a statement reads, found before it is settled; then: none of it was changed meanwhile, by writes of
 * c->write_tables number `from` on. */
const bool *cp_tables_read(Cp *c, Plan *p);
Status cp_check_changed(Cp *c, const bool *read, int64_t from);
/* As cp_settle, of a copy: for plans that are compiled again. */
Status cp_settle_copy(Cp *c, Expr **e);

/* ---- SQL statements (compile_plan.c, compile_query.c) ---- */
/* A bound plan to forms that rows are compiled of, its subqueries apart; changed: by the statement, NULL none. */
Status cp_prepare_plan(Cp *c, Plan **slot, const Table *changed);
typedef Status (*CpRow)(Cp *c, void *ctx); /* compiles what is done for a row */
/* For every row of the plan: `row`; needed: result columns. single: whether at most one row can come, right from before
 * `row` is called; may be NULL. */
Status cp_rows(Cp *c, Plan *p, int32_t n_needed, const ColId *needed, CpRow row, void *ctx, bool *single);
Status cp_insert(Cp *c, BoundStmt *b, CpRow row, void *ctx);
Status cp_update(Cp *c, BoundStmt *b, CpRow row, void *ctx, bool *single);
Status cp_delete(Cp *c, BoundStmt *b, CpRow row, void *ctx, bool *single);
int32_t cp_table(Cp *c, Table *t); /* number in the procedure */

/* ---- statements (compile_stmt.c) ---- */
Status cp_body(Cp *c, const PlBody *b);
Status cp_set_found(Cp *c, bool v);
/* A scalar subquery's value, or whether there is a row (bool): to the variable. */
Status cp_subquery(Cp *c, const Expr *e, int32_t var);

#endif
