/* plancache.h - what a statement's text became, kept for its next run. Only src/session includes it.
 *
 * Two things are kept. A SqlText is a statement's text with its tree and shape (columns, parameters). Client's
 * statements share it, PREPARE keeps one under a name, and a session has a list of the last ones, found by their text,
 * so that preparing the same text again neither parses nor binds: of SELECTs, and of changes with parameters (others
 * are seldom the same again). A CachedPlan is a SELECT's lowered plan with what devices found out about it
 * (exec/device/dev_plan.c); a SqlText has its last one, so that running it again does not bind, optimise, lower or
 * emit. Statements on one row need no plan: a TextPoint (point.c) is all that they are run by, whichever way they came.
 *
 * What a plan depends on, and how a change is noticed. The cache is not notified of changes: everything is compared
 * when a plan is to be used again, under the lock of the statement that uses it, so that no other session's change and
 * no rollback can be missed:
 *
 *   names, views, columns, constraints                   NameDeps (catalog/names.h): the names that binding looked up
 *   rows, ranges, encodings, dictionaries, statistics    Table.version of every table that binding looked up; of a
 *                                                        published version its epoch too, since its memory comes again
 *   rules, time zone, devices, limits                    the session's Settings, byte by byte
 *   parameters                                           their types and values: they are constants of the plan
 *   the clock: now(), 'today' in a literal               plans whose making looked at it are not kept (time_reads)
 *   a subquery in LIMIT                                  plans whose making ran a query are not kept
 *   routines                                             plans that call some are not kept
 *   files                                                plans and texts that read some are not kept
 *
 * Pointers to tables and dictionaries in a kept plan may dangle; they are looked at only once all this was found
 * unchanged.
 *
 * Memory: charged to the session's cache_account and bounded; texts that were not used for longest go. Results may
 * point into their plan: a plan lives as long as there are references to it. One thread, the session's.
 */
#ifndef STELE_SESSION_CORE_PLANCACHE_H
#define STELE_SESSION_CORE_PLANCACHE_H

#include "catalog/names.h"
#include "session/core/transaction.h"

struct PlanDep {
    const Table *table; /* may dangle */
    int64_t at;         /* in the catalog's list, when it was looked at last */
    uint64_t birth;     /* table_version_birth: another version at the same address has another */
    int64_t id, version;
};
struct CachedPlan {
    int32_t refs;
    Session *session;
    MemAccount account;
    Arena *arena;
    const QueryPlan *plan;
    const Vec *columns; /* or NULL: the result itself, n_rows cells each (is_const: one), where it is nothing else than
                           what bulk_call in FROM has returned; the plan is not run then */
    int64_t n_rows;
    int32_t n_cols;
    const char **names;
    Type *types;
    struct DevPlan *device;
    bool keep;
    bool of_version;    /* its tables are published versions, */
    uint64_t of_forks;  /* some of them forks (transaction_forks_serial); 0: none */
    bool takes_numbers; /* it calls functions of sequences, which want the lock */
    bool may_guard;     /* when it fails, the guarded plan may not: PlanCtx.guarded */
    /* what it was made from */
    NameDeps names_read;
    VEC(struct PlanDep) deps;
    TxnReads reads; /* for transactions */
    Settings settings;
    int32_t n_params;
    Value *params;
};

struct SqlText {
    int32_t refs;
    bool listed;
    SqlText *newer, *older; /* of the session's list */
    uint64_t hash;
    Session *session;
    MemAccount account;
    Arena *arena; /* text, tree, shape */
    Slice sql;
    const AstStmt *ast; /* NULL: blank text */
    int64_t next;       /* where a second statement begins, 0: there is none */
    NameDeps shaped;    /* names that the shape was made from */
    bool has_shape;
    bool runs_bulk; /* bulk_call in FROM */
    bool once;      /* it reads a file, or what the client has registered: its shape may be another next time */
    int32_t n_params, n_cols;
    Type *param_types;
    int32_t n_domains;      /* of the first parameters: those that PREPARE gives types */
    int64_t *param_domains; /* that these are of; 0: none */
    const char **names;
    Type *types;
    struct CachedPlan *plan; /* the last one; NULL: there is none */
    struct CallText *call;   /* a call, or a statement on one row, for the pool (callpool.h) */
    struct TextPoint *point; /* a statement on one row (point.c) */
};

/* Parses the text of one statement; the caller has a reference. The shape is the caller's to fill. */
Status text_parse(Session *s, Slice sql, SqlText **out);
/* A listed text with a shape of some version of the catalog; NULL when there is none. Borrowed. */
SqlText *text_find(Session *s, Slice sql);
void text_list(Session *s, SqlText *t);   /* to be found; nothing happens when it is too large */
void text_unlist(Session *s, SqlText *t); /* may free it */
void text_unlist_all(Session *s);
void text_release(SqlText *t); /* NULL is fine */

/* point.c. A statement on one row found by its key; text NULL: nothing is kept. *done false: it is to run in the
 * ordinary way. */
Status point_statement(Session *s, Statement *st, SqlText *text, int32_t n_params, const Type *param_types,
                       const Value *params, bool *done);
/* The statement, bound, when it is such a one that the pool of calls can run for others (callpool.h): whatever its
 * parameters are. NULL: it is not. Under any lock. The result lives as long as the text. nulls_apart: not with a
 * parameter that is NULL. */
Status point_for_pool(Session *s, SqlText *text, int32_t n_params, const Type *param_types, const BoundStmt **out,
                      const Type **result_types, bool *nulls_apart);
/* Parameters in the types that the statement gives them. */
Status point_params(Session *s, Arena *a, const Type *types, int32_t n_types, int32_t n_params, const Value *params,
                    Value *out);
void text_point_free(struct TextPoint *t);

/* Binds and lowers a SELECT, or finds the slot's plan (slot NULL: none) to hold for these parameters. The caller must
 * hold the shared lock, and gets a reference. A new plan takes the slot when it can be kept. LIMIT's subqueries run in
 * `acct`. */
Status plan_get(Session *s, const AstStmt *ast, int32_t n_params, const Type *param_types, const Value *params,
                MemAccount *acct, CachedPlan **slot, CachedPlan **out);
/* Likewise, with PlanCtx.guarded; not kept. */
Status plan_get_guarded(Session *s, const AstStmt *ast, int32_t n_params, const Type *param_types, const Value *params,
                        MemAccount *acct, CachedPlan **out);

#endif
