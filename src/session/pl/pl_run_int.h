/* pl_run_int.h - what the files pl_*.c of src/session share. */
#ifndef STELE_SESSION_PL_PL_RUN_INT_H
#define STELE_SESSION_PL_PL_RUN_INT_H

#include "catalog/names.h"
#include "session/core/cursor.h"
#include "session/pl/pl_eval.h"
#include "session/pl/pl_run.h"
#include "sql/bind/bind.h"
#include "sql/parse/parse.h"
#include "sql/pl/pl.h"

typedef struct PlFrame PlFrame;
typedef struct PlPoint PlPoint; /* pl_point.c */

/* A subquery of an expression. */
typedef struct PlSub {
    const Expr *e;
    BoundStmt *b;
    PlPoint *point; /* NULL: for the query engine */
} PlSub;

/* An expression or statement as it was last bound. */
typedef struct PlPrep {
    NameDeps deps;  /* names that it was bound from */
    bool of_moment; /* it has the time in it ('now'), which was `moment`, or depends on the form of texts and the time
                       zone, which were `form` */
    int64_t moment;
    TextForm form;
    int32_t busy; /* evaluations under way: it is not thrown away meanwhile (recursion) */
    Arena *arena;
    Type want;       /* of the value; T_UNKNOWN: as it comes */
    bool has_fields; /* of records without declared columns: their types are checked every time */
    int32_t n_refs;
    PlRef *refs; /* parameter $k is refs[k - 1] */
    Type *ref_types;
    Expr *expr;      /* NULL: needs the query engine */
    VEC(PlSub) subs; /* its subqueries */
    PlanCtx *ctx;    /* what it was bound with, when it has some */
    BoundCall *call; /* CALL */
    PlPoint *point;  /* statement on one row; NULL: not of that kind */
    bool is_plan;    /* SELECT, INSERT, UPDATE, DELETE */
} PlPrep;

/* A routine made ready in a session. */
typedef struct PlRoutine {
    struct PlRoutine *next;
    int64_t id;    /* 0: DO */
    NameDeps deps; /* names that its tree was made from */
    int32_t busy;  /* calls under way */
    bool may_write;
    Arena *arena;
    PlFunction *f;
    int32_t n_outs; /* columns of the result */
    const char **out_names;
    Type *out_types;
    int32_t n_args;
    int32_t *arg_params; /* parameter number of each argument that callers give */
    PlPrep *preps;       /* by PlExpr.number */
    VEC(Arena *) dead;   /* of preps that were replaced while busy */
    PlFrame *spare;      /* a frame to use again */
} PlRoutine;

typedef struct PlSlot {
    Value v;
    char *buf; /* its string's bytes */
    int64_t cap;
} PlSlot;

/* Fields of a record variable as it is now. */
typedef struct PlShape {
    struct PlShape *next;
    int32_t n;
    const char **names;
} PlShape;
typedef struct PlRecord {
    bool assigned;
    int32_t n, cap;
    const char **names;
    PlShape *shapes; /* that it has had */
    PlSlot *slots;   /* their values know their types */
} PlRecord;

typedef struct PlRows {
    Arena *arena;
    int32_t n_cols;
    const Type *types;
    bool defined; /* by a column definition list: rows must be of these types */
    VEC(Value) cells;
    int64_t n;
} PlRows;

struct PlFrame {
    PlFrame *up;
    Session *s;
    PlRoutine *r;
    const PlFunction *f;
    Arena *arena;   /* of the call: shapes of records */
    Arena *scratch; /* of the statement */
    PlSlot *slots;  /* by variable */
    PlRecord *records;
    PlSlot ret;
    int32_t ret_record; /* RETURN of a record variable; -1 */
    bool returned;
    PlRows *rows; /* RETURN NEXT and QUERY */
    int64_t row_count;
    int32_t leave;     /* loop or block that EXIT or CONTINUE is bound for */
    const Err *caught; /* in a handler: what it caught */
    int32_t subtransactions;
    bool located;     /* the error's context has this call's line */
    int32_t n_shapes; /* of records, in its arena */
};

typedef struct PlSession {
    PlRoutine *routines;
    PlFrame *frame; /* innermost call */
    int32_t depth;
    int64_t steps; /* loop iterations since the outermost call began */
    int64_t calls; /* ever */
    bool atomic;   /* COMMIT is not allowed: called by a query, or inside a transaction block */
    int64_t next_portal;
} PlSession;

/* ---- pl_prep.c: routines, variables, expressions ----------------------------------------- */
PlSession *pl_session(Session *s); /* NULL: out of memory */
/* Under a lock. DO blocks are made with pl_make and freed with pl_free. */
Status pl_get(Session *s, const Routine *r, PlRoutine **out);
Status pl_make(Session *s, Arena *a, const PlFunction *f,
               PlRoutine **out); /* in the arena, which is the routine's then */
void pl_free(Session *s, PlRoutine *r);
void pl_sweep(Session *s); /* frees routines that are gone or stale and not busy */

Status pl_slot_set(Session *s, PlSlot *slot, const Value *v);
void pl_slot_release(Session *s, PlSlot *slot);
const Value *pl_ref_value(PlFrame *fr, PlRef r); /* NULL: no such field */
void pl_eval_ctx(PlFrame *fr, EvalCtx *x);
void pl_names(PlFrame *fr, Arena *a, const PlExpr *x, PlNames *n); /* for binding x */
/* The bound form of x, good for now. The caller counts `busy` while it uses it. */
Status pl_prep(PlFrame *fr, const PlExpr *x, Type want, PlPrep **out);
/* Parameters of a prep as they are now; in scratch, or in `room` when that is enough. */
enum { PL_ROOM = 16 };
Status pl_params(PlFrame *fr, const PlPrep *p, const Value **room, const Value ***out);
/* Value in scratch. want T_UNKNOWN: as it comes. */
Status pl_eval(PlFrame *fr, const PlExpr *x, Type want, Value *out);
Status pl_eval_text(PlFrame *fr, const PlExpr *x, const char **out); /* text form; NULL for NULL */
Status pl_assign(PlFrame *fr, PlRef target, const Value *v);         /* casts */
Status pl_assign_part(PlFrame *fr, const PlStmt *s);                 /* PLS_ASSIGN with subscripts (pl_part.c) */
Status pl_set_bool(PlFrame *fr, int32_t var, bool b);
/* For errors in text that the caller's statement does not contain. */
Status pl_query_failed(PlFrame *fr, const char *text);

/* ---- pl_query.c: statements ---------------------------------------------------------------- */
/* A statement of the body. Its result is in st. */
Status pl_run_query(PlFrame *fr, const PlExpr *x, Statement *st);
/* The text of EXECUTE with USING's values: all statements of it; st has the last one's result. */
Status pl_run_dynamic(PlFrame *fr, const PlStmt *s, Statement *st);
bool pl_returns_rows(const Statement *st);
Status pl_row_value(PlFrame *fr, Statement *st, int64_t row, int32_t col, Value *out);
/* Assigns a row (row < 0: NULLs) to the statement's targets. */
/* The record takes the columns of the result's first row. */
Status pl_record_take(PlFrame *fr, PlRecord *rec, Statement *st);
Status pl_assign_row(PlFrame *fr, const PlStmt *s, Statement *st, int64_t row);

/* ---- pl_call.c ------------------------------------------------------------------------------- */
/* One call; args: one per argument that callers give. Results: frame's slots, ret, rows: `take` looks at them before
 * the frame goes. */
Status pl_run(Session *s, PlRoutine *r, const Value *args, PlRows *rows, Status (*take)(void *ctx, PlFrame *fr),
              void *ctx);
Status pl_call_stmt(PlFrame *fr, const PlStmt *s); /* CALL and DO inside a body */
Status pl_end_transaction(PlFrame *fr, bool commit);

/* ---- pl_stmt.c --------------------------------------------------------------------------------- */
typedef enum PlOutcome { PLO_NEXT, PLO_EXIT, PLO_CONTINUE, PLO_RETURN, PLO_ERROR } PlOutcome;
PlOutcome pl_exec(PlFrame *fr, const PlStmt *s);
/* 42804 with that message (42P13 of LANGUAGE sql) unless a row of these types can be one of `rows`. */
Status pl_check_row(PlFrame *fr, const PlRows *rows, int32_t n, const Type *types, const char *message);
Status pl_interrupted(Session *s); /* 57014 when the statement was cancelled or its time is up */

/* ---- pl_cursor.c ---------------------------------------------------------------------------------- */
Status pl_open(PlFrame *fr, const PlStmt *s);
Status pl_fetch(PlFrame *fr, const PlStmt *s);
Status pl_close(PlFrame *fr, const PlStmt *s);
/* FOR over a cursor: st, which is its own from here on, becomes the cursor's while the loop runs; on row `row` then. */
Status pl_loop_cursor(PlFrame *fr, const PlStmt *s, Statement *st, int64_t *serial);
Status pl_loop_at(Session *s, int64_t serial, int64_t row);
/* The rows of a bound cursor with the loop's arguments. */
Status pl_cursor_query(PlFrame *fr, const PlStmt *s, Statement *st);

/* ---- pl_point.c ----------------------------------------------------------------------------------- */
/* Whether the bound statement reads or changes at most one row, found by a whole key; NULL: no (or an error is set). In
 * the arena. */
PlPoint *pl_point_of(Session *s, Arena *a, const PlanCtx *c, const BoundStmt *b);
const Type *pl_point_types(const PlPoint *p); /* of its results */
/* It may run with s->block.defers (transaction_may_defer). */
bool pl_point_may_defer(const PlPoint *p);
Status pl_point_run(Session *s, Arena *scratch, const PlPoint *p, int32_t n_params, const Value *const *params,
                    Statement *st);

/* pl_settings.c: what is in force in a call, by the definition; before, what was. */
typedef struct PlSettings {
    Arena *a;
    const char **before, **own; /* what they were, and are by the definition */
    int64_t n;                  /* so many are set */
} PlSettings;
Status pl_settings_begin(Session *s, const PlFunction *f, PlSettings *o);
void pl_settings_end(Session *s, const PlFunction *f, PlSettings *o); /* also behind a begin that failed */

#endif
