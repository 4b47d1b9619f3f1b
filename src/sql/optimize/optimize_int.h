/* optimize_int.h - what the optimiser's files share. Included by src/sql/optimize only.
 *
 * Conventions: functions that return Plan * or Expr * return NULL on failure with the statement's Err set; constructors
 * take NULL arguments and answer NULL, so that nested calls need one check. Trees are never shared: a subtree that is
 * used twice is copied (expr_copy, opt_plan_copy). */
#ifndef STELE_SQL_OPTIMIZE_INT_H
#define STELE_SQL_OPTIMIZE_INT_H

#include "sql/optimize/optimize.h"

typedef VEC(Expr *) ExprVec;
typedef VEC(ColId) IdVec;
typedef VEC(ColMap) MapVec;
typedef VEC(Plan *) PlanVec;

/* What is known about a column's values, wherever it is produced. */
typedef struct ColStat {
    bool known;
    double distinct;    /* size of the domain it comes from, before filters; 0 unknown */
    const Table *table; /* base column for ranges, or NULL */
    int col;
    double mean; /* of a sum, count or average: for HAVING; 0 unknown */
} ColStat;

typedef struct Opt {
    PlanCtx *c;
    Arena *a;
    Err *err;
    VEC(ColStat) stats;   /* by ColId */
    struct CteInfo *ctes; /* estimates of definitions in scope */
    ColSet one;           /* scratch of props.c: empty between calls */
} Opt;
typedef struct CteInfo {
    struct CteInfo *next;
    int64_t id;
    double rows;
} CteInfo;

/* ---- util.c: construction ---------------------------------------------------------- */
bool opt_is_op(const Expr *e, const char *name); /* binary operator of that name */
bool opt_is_const(const Expr *e);
bool opt_const_true(const Expr *e);
bool opt_const_false(const Expr *e); /* FALSE, not NULL */
bool opt_const_null(const Expr *e);
bool opt_equal_is_same(Type t); /* no expression differs between equal values of the type */
bool opt_has_subquery(const Expr *e);
bool opt_plan_can_fail(const Plan *p);      /* may raise a data error, too many rows of a subquery included */
bool opt_is_domain_fallible(const Expr *e); /* may fail for other reasons than overflow: not moved below joins */
Expr *opt_cast(Opt *o, Expr *e, Type to);
Expr *opt_op(Opt *o, const char *name, Expr *a, Expr *b);
Expr *opt_call(Opt *o, const char *name, int n, Expr *const *args); /* a function of up to 4 arguments */
Expr *opt_unary(Opt *o, ExprKind kind, Expr *a);                    /* NOT, IS ...: boolean */
Expr *opt_nary(Opt *o, ExprKind kind, int64_t n,
               Expr *const *args);                       /* AND, OR; one argument stays itself; none: TRUE / FALSE */
Expr *opt_pair(Opt *o, ExprKind kind, Expr *a, Expr *b); /* DISTINCT, NOT_DISTINCT, AND, OR */
Expr *opt_case(Opt *o, Expr *when, Expr *then, Expr *otherwise);
Expr *opt_coalesce(Opt *o, Expr *a, Expr *b);
Expr *opt_null(Opt *o, Type t);
Expr *opt_int8(Opt *o, int64_t v);
Expr *opt_col(Opt *o, ColId id);
Status opt_push(Opt *o, ExprVec *v, Expr *e);                                    /* fails on NULL */
Status opt_split(Opt *o, Expr *e, ExprVec *out);                                 /* conjuncts */
Expr *opt_subst(Opt *o, Expr *e, int64_t n, const ColId *from, Expr *const *to); /* in place where possible */
bool opt_uses(Opt *o, const Expr *e, const ColSet *s);                           /* any column of s */
bool opt_within(Opt *o, const Expr *e, const ColSet *s);                         /* only columns of s */
bool opt_within_both(Opt *o, const Expr *e, const ColSet *a, const ColSet *b);   /* only columns of the two */
bool opt_uses_col(Opt *o, const Expr *e, ColId id);

Plan *opt_filter(Opt *o, Plan *child, const ExprVec *conds); /* child itself when there are none; merges filters */
Plan *opt_join(Opt *o, JoinKind kind, Plan *l, Plan *r, const ExprVec *conds);
Plan *opt_project(Opt *o, Plan *child, int64_t n, const ColId *out, Expr *const *exprs);
Plan *opt_agg(Opt *o, Plan *child, int64_t n_keys, const ColId *out, Expr *const *keys, int64_t n_aggs,
              const AggCall *aggs);
Plan *opt_empty(Opt *o, const Plan *like); /* no rows, the same columns */
bool opt_is_empty(const Plan *p);
Plan *opt_cte_scan(Opt *o, int64_t cte, int64_t n, const ColId *out, const ColId *def);
const FuncDef *opt_agg_func(AggKind kind, Type arg);
/* Resolves an aggregate by name for an argument's type; casts the argument; *ret its type. */
Status opt_agg_call(Opt *o, const char *name, Expr *arg, AggCall *out, Type *ret);

ColSet opt_outputs(Opt *o, const Plan *p);
ColSet opt_free(Opt *o, const Plan *p);
Status opt_out_ids(Opt *o, const Plan *p, IdVec *out); /* in a fixed order */
ColId opt_new_like(Opt *o, ColId id);
bool opt_set_empty(const ColSet *s);
ColSet opt_set_and(Opt *o, const ColSet *a, const ColSet *b);

Plan *opt_plan_copy(Opt *o, const Plan *p);                    /* deep, the same ids */
Plan *opt_plan_copy_fresh(Opt *o, const Plan *p, MapVec *map); /* deep, new ids for all columns made inside */
Status opt_plan_rename(Opt *o, Plan *p, MapVec *map);          /* in place, new ids for all columns made inside */
void opt_plan_remap(Plan *p, int64_t n, const ColMap *map);
ColId opt_mapped(const MapVec *m, ColId id);
/* Calls fn with the address of every expression of the node itself. */
Status opt_each_expr(Opt *o, Plan *p, Status (*fn)(Opt *o, Expr **e, void *ctx), void *ctx);
/* ... of every expression directly below this one: arguments, and what a subquery's rows are compared by. */
Status opt_each_arg(Opt *o, Expr *e, Status (*fn)(Opt *o, Expr **e, void *ctx), void *ctx);
bool opt_plan_volatile(const Plan *p);

/* ---- properties (props.c) ----------------------------------------------------------- */
bool opt_col_nonnull(Opt *o, const Plan *p, ColId id);
bool opt_expr_nonnull(Opt *o, const Plan *p, const Expr *e);
bool opt_rejects_null(const Expr *e, const ColSet *s);      /* not true when all columns of s are NULL */
bool opt_unique(Opt *o, const Plan *p, const ColSet *keys); /* no two rows agree (non-null) on keys */
bool opt_max_one_row(const Plan *p);
bool opt_one_row(const Plan *p); /* exactly one, always */
/* If e is an equality (= or null-safe) between a's and b's columns: its sides in that order. */
bool opt_equi(Opt *o, Expr *e, const ColSet *a, const ColSet *b, Expr **ea, Expr **eb, bool *null_safe);

/* ---- the phases --------------------------------------------------------------------- */
Expr *opt_fold(Opt *o, Expr *e);
Expr *opt_fold_cond(Opt *o, Expr *e); /* where only TRUE counts */
Status opt_fold_plan(Opt *o, Plan *p);
Status opt_fold_conds(Opt *o, ExprVec *conds); /* splits, simplifies, merges; a contradiction becomes one FALSE */
Status opt_derive_or(Opt *o, const Expr *e, const ColSet *side,
                     Expr **out); /* implied predicate on one side; NULL none */
Plan *opt_decorrelate(Opt *o, Plan *p);
Plan *opt_setops(Opt *o, Plan *p);
Plan *opt_inline_ctes(Opt *o, Plan *p);
Plan *opt_agg_rewrite(Opt *o, Plan *p);
/* The aggregate of the results of its parts (`part`) rather than of the values. value: the expression for g's own
 * column, which is upper's unless another type is needed. */
bool opt_can_reaggregate(uint8_t kind);
Status opt_reaggregate(Opt *o, const AggCall *g, ColId part, AggCall *upper, Expr **value);
Plan *opt_grouping_sets(Opt *o, Plan *p);
Plan *opt_pushdown(Opt *o, Plan *p);
Plan *opt_prune(Opt *o, Plan *p, const ColSet *need);
Plan *opt_limits(Opt *o, Plan *p);
Status opt_estimate(Opt *o, Plan *p);          /* whole subtree */
Status opt_estimate_node(Opt *o, Plan *p);     /* children are done */
Status opt_note_cte(Opt *o, const Plan *p);    /* remembers the rows of a definition just estimated */
double opt_domain_rows(Opt *o, const Plan *p); /* rows before filters */
double opt_selectivity(Opt *o, int64_t n, Expr *const *conds);
double opt_col_distinct(Opt *o, ColId id);
ColStat opt_col_stat(Opt *o, ColId id);
double opt_expr_distinct(Opt *o, const Expr *e);
double opt_draws(double domain, double n); /* distinct values among n draws */
Plan *opt_join_order(Opt *o, Plan *p);
Status opt_group_keys(Opt *o, Plan *p);
Status opt_runtime_filters(Opt *o, Plan *p);
Plan *opt_window_order(Opt *o, Plan *p);
void opt_row_order(Plan *p); /* sets Plan.unordered; build sides are chosen */

#endif
