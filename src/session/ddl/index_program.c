/* index_program.c - keys of unique indexes, computed from rows of the table: the programs of storage/exprindex.h.
 *
 * A part is bound once, when the table gets its program, and evaluated as a tree (session/pl/pl_eval.h), a row at a
 * time: it depends on nothing that changes while the table lives, as plans of the engine do (ranges, dictionaries).
 */
#include "session/ddl/depend.h"
#include "session/ddl/index_program.h"
#include "session/pl/pl_eval.h"
#include "sql/bind/bind.h"
#include "sql/parse/parse.h"
#include "storage/exprindex.h"

typedef struct IndexProgram {
    KeyProgram base; /* first */
    Arena *arena;
    SessionInfo session; /* an empty one: keys do not depend on who computes them */
    PlanCtx plan;
    int n_parts;
    Expr **parts, *where;
    ColId *first;  /* by expression: the id of the table's column 0; the predicate's is the last */
    int *cols;     /* base.cols */
    Value *values; /* by column of the table: the row that a key is computed of */
    Value *out;
} IndexProgram;

static void program_free(KeyProgram *base) { arena_free(((IndexProgram *)(void *)base)->arena); }

/* ---- what may stand in an index ---- */
static bool is_text(Type t) { return type_is_text(t) || type_is_record(t); }
/* Whether values look different, or are read differently, by settings and by names. An array's text is of its elements'
 * in PostgreSQL, which takes any of them for such. */
static bool text_changes(Type t, bool read) {
    switch ((TypeId)t.id) {
    case T_DATE:
    case T_TIMESTAMP:
    case T_TIMESTAMPTZ:
    case T_INTERVAL:
    case T_ENUM: /* labels may get other names */
    case T_COMPOSITE:
    case T_RANGE:
    case T_MULTIRANGE:
    case T_ARRAY: return true;
    case T_TIME: return read;
    case T_TIMETZ: return read;
    default: return false;
    }
}
static bool cast_changes(Type from, Type to) {
    if (from.id == T_ARRAY && to.id == T_ARRAY) return cast_changes(type_element(from), type_element(to));
    if (is_text(from)) return !is_text(to) && text_changes(to, true);
    if (is_text(to)) return text_changes(from, false);
    return from.id != to.id && (from.id == T_TIMESTAMPTZ || type_has_zone(to));
}
static bool has_type(const Expr *e, TypeId id) {
    for (int32_t i = 0; i < e->n_args; i++)
        if (e->args[i]->type.id == id) return true;
    return false;
}
/* Functions that are stable in PostgreSQL, without FN_STABLE: that keeps plans from computing them once. */
static bool is_stable(const Expr *e) {
    static const char *const always[] = {
        "array_to_json",    "array_to_string",   "concat",    "concat_ws",         "convert_from",
        "convert_to",       "enum_first",        "enum_last", "enum_range",        "format",
        "json_build_array", "json_build_object", "json_row",  "jsonb_build_array", "jsonb_build_object",
        "pg_typeof",        "row_text",          "to_char",   "to_date",           "to_json",
        "to_jsonb",         "to_number"};
    static const char *const of_zone[] = {"date_part", "date_trunc", "extract", "extract_int", "extract_num"};
    const char *name = e->u.func->name;
    for (int64_t i = 0; i < ARRAY_LEN(always); i++)
        if (strcmp(name, always[i]) == 0) return true;
    if (strcmp(name, "to_timestamp") == 0) return e->n_args > 1;
    if (strcmp(name, "||") == 0 && is_text(e->type))
        return text_changes(e->args[0]->type, false) || text_changes(e->args[1]->type, false);
    if (!has_type(e, T_TIMESTAMPTZ)) return false;
    for (int64_t i = 0; i < ARRAY_LEN(of_zone); i++)
        if (strcmp(name, of_zone[i]) == 0) return true;
    return (strcmp(name, "+") == 0 || strcmp(name, "-") == 0) && has_type(e, T_INTERVAL); /* days of a zone */
}
typedef struct Changes {
    const PlanCtx *c;
    bool any; /* the expression may change without its row */
} Changes;
static bool is_routine(const PlanCtx *c, const FuncDef *f) {
    for (int64_t i = 0; i < c->routine_defs.len; i++)
        if (c->routine_defs.items[i] == f) return true;
    return false;
}
static bool changes_fn(void *ctx, Expr *e) {
    Changes *x = ctx;
    if (e->kind == EX_FUNC && !is_routine(x->c, e->u.func)) /* what a routine says of itself is looked at elsewhere */
        x->any |= (e->u.func->flags & (FN_VOLATILE | FN_STABLE)) != 0 || is_stable(e);
    if (e->kind == EX_CAST) x->any |= cast_changes(e->args[0]->type, e->type);
    return !x->any;
}

/* *changes: the value of an expression over a row may depend on more than the row; *routines: it calls some. Neither
 * where it does not bind. */
static Status text_changes_apart(Session *s, Arena *a, const Table *t, const char *sql, bool predicate, bool *changes,
                                 bool *routines) {
    PlanCtx c;
    Err e = {0};
    Expr *x;
    const int64_t clock = time_reads, zone = zone_reads;
    ColId *ids = arena_array(a, ColId, t->n_cols + 1);
    *changes = *routines = false;
    if (!ids) return err_oom(&s->err);
    plan_ctx_init(s, a, &c);
    c.err = &e;
    if (sql_bind_index_text(&c, t, sql, predicate, ids, &x) != ST_OK)
        return gave_up(&e) ? (err_copy(&s->err, &e), ST_ERROR) : ST_OK;
    Changes found = {.c = &c, .any = time_reads != clock || zone_reads != zone}; /* in constants that were computed */
    *routines = c.routine_ids.len > 0;
    (void)expr_walk(x, changes_fn, &found);
    for (int64_t i = 0; i < c.routine_ids.len; i++) { /* of SQL functions it is their body that counts */
        const Routine *r = catalog_routine_by_id(c.catalog, c.routine_ids.items[i]);
        found.any |= r && r->volatility != 'i' && strcmp(r->language, "sql") != 0;
    }
    *changes = found.any;
    return ST_OK;
}
Status index_check_immutable(Session *s, Arena *a, const Table *t, const char *sql, bool predicate) {
    bool changes, routines;
    TRY(text_changes_apart(s, a, t, sql, predicate, &changes, &routines));
    if (!changes) return ST_OK;
    return err_set(&s->err, ERR_INVALID_OBJECT_DEFINITION, "functions in index %s must be marked IMMUTABLE",
                   predicate ? "predicate" : "expression");
}
Status generated_check(Session *s, Arena *a, const Table *t, const char *sql) {
    bool changes, routines;
    TRY(text_changes_apart(s, a, t, sql, false, &changes, &routines));
    if (routines)
        return err_set(&s->err, ERR_FEATURE_NOT_SUPPORTED,
                       "generated columns that call functions of the database are not supported");
    return changes ? err_set(&s->err, ERR_INVALID_OBJECT_DEFINITION, "generation expression is not immutable") : ST_OK;
}

static Status check_expr(IndexProgram *p, const Expr *e, bool predicate, Err *err) {
    if (p->plan.domain_ids.len > 0) /* whose conditions may change */
        return err_set(err, ERR_FEATURE_NOT_SUPPORTED, "domains are not supported in index %s",
                       predicate ? "predicates" : "expressions");
    if (p->plan.routine_ids.len > 0)
        return err_set(err, ERR_FEATURE_NOT_SUPPORTED, "functions of the database are not supported in index %s",
                       predicate ? "predicates" : "expressions");
    if (!predicate && e->type.id == T_COMPOSITE)
        return err_set(err, ERR_FEATURE_NOT_SUPPORTED, "keys of rows are not supported");
    if (!predicate && type_is_range(e->type) && type_needs_key(e->type))
        return err_set(err, ERR_FEATURE_NOT_SUPPORTED, "keys of type %s are not supported", type_plain_name(e->type));
    if (!predicate && type_is_array(e->type) && type_needs_key(e->type)) /* as keys of plain columns */
        return err_set(err, ERR_FEATURE_NOT_SUPPORTED, "keys of arrays of %s are not supported",
                       type_plain_name(type_element(e->type)));
    if (!eval_can(e, EVAL_COLUMNS)) return err_internal(err, "an index expression cannot be evaluated");
    return ST_OK;
}

/* ---- making ---- */
typedef struct Uses {
    ColId first;
    bool *uses;
} Uses;
static bool use_fn(void *ctx, Expr *e) {
    Uses *u = ctx;
    if (e->kind == EX_COL) u->uses[e->u.col - u->first] = true;
    return true;
}
static Status bind_one(IndexProgram *p, const Table *t, const char *sql, bool predicate, int number, bool *uses,
                       Expr **out, Err *e) {
    ColId *ids = arena_array(p->arena, ColId, t->n_cols + 1);
    if (!ids) return err_oom(e);
    TRY(sql_bind_index_expr(&p->plan, t, sql, predicate, ids, out));
    TRY(check_expr(p, *out, predicate, e));
    p->first[number] = ids[0];
    Uses u = {.first = ids[0], .uses = uses};
    (void)expr_walk(*out, use_fn, &u);
    return ST_OK;
}

/* ---- running ---- */
typedef struct KeyRun {
    const IndexProgram *p;
    ColId first;
} KeyRun;
static Status column(void *ctx, ColId id, const Value **out) {
    const KeyRun *r = ctx;
    *out = &r->p->values[id - r->first];
    return ST_OK;
}
static void read_column(const KeyRow *row, int col, Value *out) {
    if (row->rowid >= 0) {
        table_value(row->table, row->rowid, col, out);
        return;
    }
    *out = vec_value(&row->vals[col], row->at, row->table->cols[col].type);
}
static Status program_key(KeyProgram *base, const KeyRow *row, Arena *a, Value *parts, bool *in, Err *e) {
    IndexProgram *p = (IndexProgram *)(void *)base;
    KeyRun run = {.p = p};
    EvalCtx x = {.arena = a, .err = e, .session = &p->session, .column = column, .column_ctx = &run};
    *in = true;
    for (int i = 0; i < p->base.n_cols; i++) read_column(row, p->cols[i], &p->values[p->cols[i]]);
    if (p->where) {
        Value v;
        run.first = p->first[p->n_parts];
        TRY(eval_expr(&x, p->where, &v));
        *in = !v.is_null && v.u.b;
    }
    for (int i = 0; i < p->n_parts && *in; i++) {
        run.first = p->first[i];
        TRY(eval_expr(&x, p->parts[i], &parts[i]));
    }
    return ST_OK;
}

static Status program_bind(IndexProgram *p, const Table *t, const ExprIndex *x, Err *e) {
    bool *uses = arena_array(p->arena, bool, t->n_cols + 1);
    p->n_parts = x->n_parts;
    p->parts = arena_array(p->arena, Expr *, x->n_parts);
    p->first = arena_array(p->arena, ColId, x->n_parts + 1);
    p->values = arena_array(p->arena, Value, t->n_cols + 1);
    p->cols = arena_array(p->arena, int, t->n_cols + 1);
    if (!uses || !p->parts || !p->first || !p->values || !p->cols) return err_oom(e);
    if (!vec_push(p->arena, &p->plan.cols, ((ColInfo){.name = "", .col = -1}))) return err_oom(e);
    for (int i = 0; i < x->n_parts; i++) TRY(bind_one(p, t, x->parts[i], false, i, uses, &p->parts[i], e));
    if (x->where) TRY(bind_one(p, t, x->where, true, x->n_parts, uses, &p->where, e));
    for (int c = 0; c < t->n_cols; c++)
        if (uses[c]) p->cols[p->base.n_cols++] = c;
    p->base.cols = p->cols;
    return ST_OK;
}

static Status program_new(const Catalog *c, Table *t, int i, Err *e) {
    Arena *a = arena_new(&t->account, e);
    IndexProgram *p = a ? arena_new_of(a, IndexProgram) : NULL;
    if (!p) {
        arena_free(a);
        return err_oom(e);
    }
    p->base.key = program_key;
    p->base.free = program_free;
    p->arena = a;
    p->session.user = p->session.database = "";
    p->plan = (PlanCtx){.arena = a, .err = e, .catalog = c, .session = &p->session};
    if (program_bind(p, t, &t->exprs[i], e) != ST_OK) {
        arena_free(a);
        return ST_ERROR;
    }
    p->plan.err = NULL; /* binding is over */
    arena_set_err(a, NULL);
    return exprindex_set_program(t, i, &p->base, e);
}

Status index_programs(const Catalog *c, Table *t, Err *e) {
    for (int i = 0; i < t->n_exprs; i++)
        if (!t->exprs[i].program) TRY(program_new(c, t, i, e));
    return ST_OK;
}
Status index_programs_of_all(const Catalog *c, Err *e) {
    for (int64_t i = 0; i < c->n_tables; i++) TRY(index_programs(c, c->tables[i], e));
    return ST_OK;
}
