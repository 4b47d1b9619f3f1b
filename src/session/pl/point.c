/* point.c - SQL statements that read or change one row by its key, outside of routines: bound once per text and run by
 * pl_point.c, some microseconds instead of the query engine's hundred and more.
 *
 * What is kept depends on the names in the text alone: values are parameters and expressions, computed anew every time.
 * Statements that such a point cannot stand for go the ordinary way, and their text remembers that.
 */
#include "session/pl/pl_run_int.h"
#include "session/core/plancache.h"
#include "session/core/transaction.h"
#include "session/pool/bulk.h"
#include "types/oid.h"

#include <stdio.h>

struct TextPoint {
    struct TextPoint *older; /* of earlier versions: results may still name their columns */
    Arena *arena;
    NameDeps deps;
    bool of_version; /* bound against a published version, whose tables are gone later */
    uint64_t forks;  /* and of these of a transaction; 0: none (transaction_forks_serial) */
    const BoundStmt *bound;
    PlPoint *point;   /* NULL: there is none */
    bool nulls_apart; /* it stands for the statement only when no parameter is NULL (sql_null_params_matter) */
};

void text_point_free(struct TextPoint *t) {
    for (struct TextPoint *older; t; t = older) {
        older = t->older;
        arena_free(t->arena);
    }
}

/* Worth binding for: the form alone. */
static bool may_be_point(const AstStmt *ast) {
    switch (ast->kind) {
    case AST_SELECT: {
        const AstSelect *x = AST_AS_CONST(AstSelect, ast);
        return !x->with && x->set_op == AST_SETOP_NONE && !x->values && !x->distinct && x->n_from == 1 && x->where &&
               x->n_group_by == 0 && !x->having && !x->limit && !x->offset && x->n_windows == 0;
    }
    case AST_INSERT: {
        const AstInsert *x = AST_AS_CONST(AstInsert, ast);
        return !x->with && (!x->on_conflict || x->on_conflict->do_update) && (!x->query || x->query->n_values == 1);
    }
    case AST_UPDATE:
        return !AST_AS_CONST(AstUpdate, ast)->with && AST_AS_CONST(AstUpdate, ast)->n_from == 0 &&
               AST_AS_CONST(AstUpdate, ast)->where;
    case AST_DELETE:
        return !AST_AS_CONST(AstDelete, ast)->with && AST_AS_CONST(AstDelete, ast)->n_using == 0 &&
               AST_AS_CONST(AstDelete, ast)->where;
    default: return false;
    }
}

static Status make(Session *s, SqlText *text, int32_t n_params, const Type *param_types) {
    Arena *a = arena_new(&s->kept.account, &s->err);
    struct TextPoint *t = a ? arena_new_of(a, struct TextPoint) : NULL;
    PlanCtx *c = a ? arena_new_of(a, PlanCtx) : NULL;
    BoundStmt *b = NULL;
    int64_t clock = time_reads, zone = zone_reads;
    Status st = t && c ? ST_OK : err_oom(&s->err);
    NameReads reads;
    name_reads_begin(&reads, session_catalog(s));
    if (st == ST_OK) {
        plan_ctx_init(s, a, c);
        st = sql_bind(c, text->ast, n_params, param_types, &b);
    }
    name_reads_end(&reads);
    if (st == ST_OK && !name_deps_keep(&reads, a, &t->deps)) st = err_oom(&s->err);
    if (st != ST_OK) {
        arena_free(a);
        return st;
    }
    t->older = text->point;
    t->arena = a;
    t->bound = b;
    t->of_version = session_reads_version(s);
    t->forks = transaction_forks_serial(s);
    text->point = t;
    if (time_reads != clock || zone_reads != zone || c->calls_routine || b->n_params > n_params) return ST_OK;
    for (int32_t i = 0; i < b->n_result; i++) /* names of objects are found by a statement's own way */
        if (oid_has_name(c->cols.items[b->result[i]].type)) return ST_OK;
    t->point = pl_point_of(s, a, c, b);
    t->nulls_apart = t->point && sql_null_params_matter(c, b);
    return err_is_set(&s->err) ? ST_ERROR : ST_OK;
}

static bool some_null(int32_t n, const Value *params) {
    for (int32_t i = 0; i < n; i++)
        if (params[i].is_null) return true;
    return false;
}

Status point_params(Session *s, Arena *a, const Type *types, int32_t n_types, int32_t n_params, const Value *params,
                    Value *out) {
    EvalCtx e = {.arena = a, .err = &s->err, .session = &s->info};
    for (int32_t i = 0; i < n_params; i++)
        TRY(eval_assign(&e, &params[i], i < n_types ? types[i] : params[i].type, &out[i]));
    return ST_OK;
}

Status point_for_pool(Session *s, SqlText *text, int32_t n_params, const Type *param_types, const BoundStmt **out,
                      const Type **result_types, bool *nulls_apart) {
    *out = NULL;
    if (text->once || s->explaining || n_params == 0 || !may_be_point(text->ast)) return ST_OK;
    if (!text->point || text->point->of_version || !name_deps_hold(&text->point->deps, &s->db->catalog))
        TRY(make(s, text, n_params, param_types));
    const struct TextPoint *t = text->point;
    name_deps_read(&t->deps);
    if (!t->point || t->bound->n_params != n_params) return ST_OK;
    *out = t->bound;
    *nulls_apart = t->nulls_apart;
    *result_types = pl_point_types(t->point);
    return ST_OK;
}

/* One that reads finds its table in what the session reads, each time. */
static bool is_current(const Session *s, struct TextPoint *t) {
    const bool same = t && (t->bound->kind == STMT_SELECT || t->forks == transaction_forks_serial(s));
    return same && name_deps_hold(&t->deps, session_catalog(s));
}
/* What the statement looks at is there, and what it changes may be changed: the tables, or, with s->block.defers, what
 * the transaction has beside them, if it may. */
static Status begin_point(Session *s, SqlText *text, int32_t n_params, const Type *param_types, const Value *params,
                          bool may_defer) {
    const bool select = text->ast->kind == AST_SELECT, images = s->read.images;
    const struct TextPoint *t = text->point;
    const bool hopeless = t && !t->of_version && (!t->point || !pl_point_may_defer(t->point));
    may_defer = may_defer && !hopeless && (!select || transaction_may_read_deferred(s)) && transaction_may_defer(s);
    if (may_defer) {
        s->block.defers = true;
        s->read.images = false; /* it reads the tables, which have what images were ahead */
        TRY(session_lock(s, LOCK_SHARED));
        if (!is_current(s, text->point) || text->point->of_version) TRY(make(s, text, n_params, param_types));
        t = text->point;
        if (t->point && pl_point_may_defer(t->point) && !(t->nulls_apart && some_null(n_params, params))) return ST_OK;
        session_unlock_unchanged(s);
        s->block.defers = false;
        s->read.images = images;
    }
    return select ? session_read(s, true) : session_begin_change(s);
}
static Status run_point(Session *s, Statement *st, const struct TextPoint *t, int32_t n_params, const Value *params) {
    Arena *a = st->run_arena;
    const Value **refs = arena_array(a, const Value *, n_params + 1);
    Value *given = arena_array(a, Value, n_params + 1);
    if (!refs || !given) return err_oom(&s->err);
    TRY(point_params(s, a, t->bound->param_types, t->bound->n_params, n_params, params, given));
    for (int32_t i = 0; i < n_params; i++) refs[i] = &given[i];
    st->has_shape = true;
    return pl_point_run(s, a, t->point, n_params, refs, st);
}
/* *again: its change was to be deferred and cannot be; nothing has happened, and the lock is given up. */
static Status try_point(Session *s, Statement *st, SqlText *text, int32_t n_params, const Type *param_types,
                        const Value *params, bool may_defer, bool *done, bool *again) {
    const bool select = text->ast->kind == AST_SELECT, had_lock = s->lock != LOCK_NONE;
    *done = *again = false;
    s->read.brief = true;
    s->read.images =
        select && session_may_read_images(s) && !had_lock && !s->read.locked; /* locked: rows on the host are wanted */
    Status got = begin_point(s, text, n_params, param_types, params, may_defer);
    s->read.brief = s->read.images = false;
    TRY(got);
    const bool ahead = select && !had_lock && s->lock != LOCK_NONE && session_bulk_unapplied(s);
    if (!is_current(s, text->point)) TRY(make(s, text, n_params, param_types));
    const struct TextPoint *t = text->point;
    if (!t->point || (t->nulls_apart && some_null(n_params, params))) {
        if (!select) session_publish_before_write(s); /* it is not that brief */
        else if (ahead) session_unlock(s);            /* it reads more than rows in images */
        else if (!had_lock) session_read_anew(s);     /* a query takes its time: it may do without the lock */
        return ST_OK;
    }
    *done = true;
    const bool deferred = s->block.defers;
    TRY(run_point(s, st, t, n_params, params));
    *again = deferred && !s->block.defers;
    if (*again) session_unlock_unchanged(s);
    return ST_OK;
}

/* It changes a fork; *done false: it does not, and nothing has happened. */
static Status point_on_fork(Session *s, Statement *st, SqlText *text, int32_t n_params, const Type *param_types,
                            const Value *params, bool *done) {
    bool made = false;
    TRY(transaction_begin_forks(s));
    if (!is_current(s, text->point)) TRY(make(s, text, n_params, param_types));
    const struct TextPoint *t = text->point;
    *done = t->point && transaction_can_fork(s, t->bound->table) && !(t->nulls_apart && some_null(n_params, params));
    if (!*done) {
        session_read_end(s);
        return ST_OK;
    }
    TRY(transaction_fork(s, t->bound->table, &made));
    if (made) TRY(make(s, text, n_params, param_types));
    return run_point(s, st, text->point, n_params, params);
}

Status point_statement(Session *s, Statement *st, SqlText *text, int32_t n_params, const Type *param_types,
                       const Value *params, bool *done) {
    bool again;
    *done = false;
    if (!text || text->once || s->explaining || !may_be_point(text->ast)) return ST_OK;
    if (text->ast->kind != AST_SELECT) {
        TRY(transaction_read_to_fork(s));
        if (transaction_may_fork(s)) return point_on_fork(s, st, text, n_params, param_types, params, done);
    }
    TRY(try_point(s, st, text, n_params, param_types, params, true, done, &again));
    return again ? try_point(s, st, text, n_params, param_types, params, false, done, &again) : ST_OK;
}
