/* bind.c - entry points of the binder: statements, bare expressions, parameters.
 *
 * The AST is only read. The bound tree lives in PlanCtx's arena; on failure whatever was built stays there until the
 * arena is freed, and the statement's Err has the reason.
 */
#include "sql/bind/bind_int.h"
#include "types/oid.h"

void binder_init(Binder *b, PlanCtx *c) {
    memset(b, 0, sizeof *b);
    b->c = c;
    b->a = c->arena;
    b->err = c->err;
    b->literals = c->literals;
    b->fixed_pos = c->of_catalog;
    b->params_ok = true;
    b->path = search_path_now();
}
/* Of a text that may be one of the catalog. */
static void begin(Binder *b, PlanCtx *c) {
    binder_init(b, c);
    if (c->of_catalog) (void)search_path_use(NULL);
}

static bool no_subquery(void *ctx, Expr *e) {
    (void)ctx;
    return e->kind != EX_SUBQUERY;
}

Expr *bind_copy(Binder *b, const Expr *e) {
    if (!e) return NULL;
    Expr *n = expr_copy(b->c, e);
    if (n && !b->no_inline && !expr_walk(n, no_subquery, NULL)) b->no_inline = true;
    return n;
}

Status bind_unsupported(Binder *b, int64_t location, const char *what) {
    return err_at(b->err, bind_pos(b, location), ERR_FEATURE_NOT_SUPPORTED, "%s is not supported", what);
}

Expr *bind_text_expr(Binder *b, Query *q, const char *sql, const Column *assigned) {
    bool fixed = b->fixed_pos, params = b->params_ok;
    int64_t pos = b->pos;
    KeptLiterals *literals = b->literals;
    const SearchPath *path = search_path_use(NULL);
    b->pos = bind_pos(b, 0);
    b->fixed_pos = true;
    b->literals = NULL;
    b->params_ok = false;
    AstExpr *ast;
    Expr *e = NULL;
    if (sql_parse_expr(b->a, slice_of(sql), &ast, b->err) == ST_OK) e = bind_expr(b, q, ast);
    if (e && assigned) e = bind_assign(b, e, assigned, 0);
    if (!e) {
        b->err->position = b->pos;
        err_context(b->err, "expression \"%.200s\"", sql);
    }
    (void)search_path_use(path);
    b->fixed_pos = fixed;
    b->literals = literals;
    b->params_ok = params;
    b->pos = pos;
    return e;
}

/* Failures that left no story are out of memory. */
static Status finish(Binder *b, Status st) {
    (void)search_path_use(b->path);
    if (st == ST_OK) st = stack_check(b->err); /* walks that return no Status may have been cut short */
    return st == ST_OK ? ST_OK : stack_failed(b->err);
}

static Status bind_query(Binder *b, const AstSelect *s, BoundStmt *out) {
    SelectEnv env = {0};
    Rel r;
    TRY(bind_select(b, &env, s, &r));
    TRY(bind_settle(b, &r));
    out->kind = STMT_SELECT;
    out->plan = r.plan;
    out->n_result = r.n - (int32_t)b->c->rows.numbers.len;
    out->result = r.cols;
    out->names = r.names;
    return ST_OK;
}

static Status settle_params(Binder *b, int32_t n_declared, BoundStmt *out) {
    out->n_params = (int32_t)MAX_OF(b->params.len, n_declared);
    if (!(out->param_types = arena_array(b->a, Type, out->n_params + 1))) return ST_ERROR;
    for (int32_t i = 0; i < out->n_params; i++) {
        Type t = i < b->params.len ? b->params.items[i] : type_make(T_TEXT);
        if (t.id == T_UNKNOWN)
            return err_set(b->err, ERR_INDETERMINATE_DATATYPE, "could not determine data type of parameter $%d", i + 1);
        out->param_types[i] = t;
    }
    return ST_OK;
}

static const AstWith *statement_with(const AstStmt *s) {
    switch ((int)s->kind) {
    case AST_SELECT: return AST_AS_CONST(AstSelect, s)->with;
    case AST_INSERT: return AST_AS_CONST(AstInsert, s)->with;
    case AST_UPDATE: return AST_AS_CONST(AstUpdate, s)->with;
    case AST_DELETE: return AST_AS_CONST(AstDelete, s)->with;
    case AST_MERGE: return AST_AS_CONST(AstMerge, s)->with;
    default: return NULL;
    }
}

/* What reads settings in a statement that changes them: it may read another value in each row. */
static void read_now(void *ctx, Expr *e) {
    const FuncDef *all = ctx;
    if (e->kind != EX_FUNC || strcmp(e->u.func->name, "current_setting") != 0) return;
    while (strcmp(all->name, "current_setting_now") != 0 || all->nargs != e->n_args) all++;
    e->u.func = all;
}
static void read_settings_now(const PlanCtx *c, Plan *p) {
    int64_t n;
    if (!c->sets_settings || !p) return;
    plan_visit(&(PlanVisitor){.ctx = (void *)(uintptr_t)func_table(&n), .expr = read_now}, p);
}

static Status bind_statement(PlanCtx *c, const AstStmt *stmt, int32_t n_params, const Type *param_types,
                             BoundStmt **out) {
    Binder b;
    begin(&b, c);
    BoundStmt *s = arena_new_of(c->arena, BoundStmt);
    if (!s) return finish(&b, ST_ERROR);
    for (int32_t i = 0; i < n_params; i++) {
        Type t = param_types ? param_types[i] : type_make(T_UNKNOWN);
        if (!vec_push(c->arena, &b.params, t)) return finish(&b, ST_ERROR);
    }
    Status st = ST_OK;
    b.top = statement_with(stmt);
    b.changes = sql_with_changes(b.top);
    switch ((int)stmt->kind) {
    case AST_SELECT: st = bind_query(&b, AST_AS_CONST(AstSelect, stmt), s); break;
    case AST_INSERT: st = bind_insert(&b, AST_AS_CONST(AstInsert, stmt), NULL, s); break;
    case AST_UPDATE: st = bind_update(&b, AST_AS_CONST(AstUpdate, stmt), NULL, s); break;
    case AST_DELETE: st = bind_delete(&b, AST_AS_CONST(AstDelete, stmt), NULL, s); break;
    case AST_MERGE: st = bind_merge(&b, AST_AS_CONST(AstMerge, stmt), s); break;
    default: s->kind = STMT_UTILITY; break;
    }
    s->n_members = (int32_t)b.members.len;
    s->members = b.members.items;
    if (st == ST_OK) st = settle_params(&b, n_params, s);
    if (st == ST_OK) bind_null_plan(c, s->plan);
    if (st == ST_OK) read_settings_now(c, s->plan);
    for (int32_t i = 0; st == ST_OK && i < s->n_members; i++) {
        bind_null_plan(c, s->members[i].stmt->plan);
        read_settings_now(c, s->members[i].stmt->plan);
    }
    if (st == ST_OK) *out = s;
    return finish(&b, st);
}

Status sql_bind(PlanCtx *c, const AstStmt *stmt, int32_t n_params, const Type *param_types, BoundStmt **out) {
    const PlanCtx before = *c;
    const int64_t kept = c->literals ? c->literals->list.len : 0, zone = zone_reads;
    TRY(bind_statement(c, stmt, n_params, param_types, out));
    if (!c->sets_settings || before.sets_settings || zone_reads == zone) return ST_OK;
    /* Constants in front of set_config may have been computed by settings that later rows do not have: once more, with
     * these left to run time. */
    *c = before;
    if (c->literals) c->literals->list.len = kept;
    c->sets_settings = true;
    return bind_statement(c, stmt, n_params, param_types, out);
}

Status sql_bind_client(PlanCtx *c, const AstStmt *stmt, int32_t n_params, const Type *param_types, BoundStmt **out) {
    TRY(sql_bind(c, stmt, n_params, param_types, out));
    BoundStmt *s = *out;
    bool any = false;
    for (int32_t i = 0; s->kind == STMT_SELECT && i < s->n_result; i++)
        any = any || oid_has_name(c->cols.items[s->result[i]].type);
    if (!any) return ST_OK;
    Binder b;
    Proj proj = {0};
    binder_init(&b, c);
    for (int32_t i = 0; i < s->n_result; i++) {
        const Type t = c->cols.items[s->result[i]].type;
        Type shown = t.id == T_ARRAY ? type_element(t) : t;
        shown.flags |= TF_SHOWN;
        if (t.id == T_ARRAY) shown = type_array_of(shown);
        Expr *e = expr_col(c, s->result[i]);
        if (oid_has_name(t)) e = bind_coerce(&b, e, shown, CAST_EXPLICIT, 0);
        if (!(s->result[i] = bind_proj_add(&b, &proj, NULL, e, s->names[i]))) return finish(&b, ST_ERROR);
    }
    return finish(&b, (s->plan = bind_proj_plan(&b, &proj, s->plan)) ? ST_OK : ST_ERROR);
}

Status sql_bind_view(PlanCtx *c, const View *v, BoundStmt **out) {
    Binder b;
    binder_init(&b, c);
    Rel r;
    BoundStmt *s = arena_new_of(c->arena, BoundStmt);
    c->views.definition = true;
    if (!s || !bind_view(&b, v, 0, &r) || bind_settle(&b, &r) != ST_OK) return finish(&b, ST_ERROR);
    *s = (BoundStmt){.kind = STMT_SELECT, .plan = r.plan, .n_result = r.n, .result = r.cols, .names = r.names};
    *out = s;
    return ST_OK;
}

Status sql_bind_scalar(PlanCtx *c, const AstExpr *ast, Type type, Expr **out) {
    Binder b;
    begin(&b, c);
    b.params_ok = false;
    Query *q = arena_new_of(c->arena, Query);
    Expr *e = NULL;
    if (q) {
        q->clause = "DEFAULT expressions";
        q->is_default = true;
        e = bind_expr(&b, q, ast);
    }
    if (e && type.id == T_UNKNOWN && e->type.id == T_UNKNOWN) type = type_make(T_TEXT);
    if (e && type.id != T_UNKNOWN && !type_eq(e->type, type)) {
        if (e->type.id != T_UNKNOWN && !cast_exists(e->type, type, CAST_ASSIGNMENT)) {
            char name[TYPE_NAME_MAX];
            err_at(c->err, ast->location, ERR_DATATYPE_MISMATCH, "expression is of type %s but type %s is wanted",
                   type_plain_name(e->type), type_name(type, &name));
            e = NULL;
        } else {
            e = bind_coerce(&b, e, type, CAST_ASSIGNMENT, ast->location);
        }
    }
    if (e) bind_null_expr(c, e);
    if (e) *out = e;
    return finish(&b, e ? ST_OK : ST_ERROR);
}

/* ---- parameters ------------------------------------------------------------------------ */

typedef struct ParamCtx {
    PlanCtx *c;
    int32_t n;
    const Value *values;
    bool failed;
} ParamCtx;

static Status param_value(ParamCtx *k, const Value *v, Type to, Value *out) {
    PlanCtx *c = k->c;
    if (v->is_null) {
        *out = (Value){.type = to, .is_null = true};
        return ST_OK;
    }
    if (type_eq(v->type, to)) {
        *out = *v;
        return ST_OK;
    }
    if (v->type.id == T_UNKNOWN) {
        Slice text = {v->u.str.ptr, v->u.str.len};
        return value_from_text(to, text, c->session, c->arena, out, c->err);
    }
    FuncKernel kernel = cast_exists(v->type, to, CAST_ASSIGNMENT) ? cast_kernel(v->type, to, CAST_ASSIGNMENT) : NULL;
    if (!kernel) {
        if (cast_is_noop(v->type, to)) {
            *out = *v;
            out->type = to;
            return ST_OK;
        }
        return err_set(c->err, ERR_CANNOT_COERCE, "cannot cast type %s to %s", type_plain_name(v->type),
                       type_plain_name(to));
    }
    TRY(func_eval(NULL, kernel, c->session, c->arena, to, 1, v, out, c->err));
    out->type = to;
    return ST_OK;
}

static Status param_plan(ParamCtx *k, Plan *p);
static bool param_fn(void *ctx, Expr *e) {
    ParamCtx *k = ctx;
    if (e->kind == EX_SUBQUERY) return !(k->failed = param_plan(k, e->u.sub.plan) != ST_OK);
    if (e->kind != EX_PARAM) return true;
    Value v;
    if (e->u.param > k->n) {
        err_set(k->c->err, ERR_UNDEFINED_PARAMETER, "there is no parameter $%d", e->u.param);
        k->failed = true;
    } else if (param_value(k, &k->values[e->u.param - 1], e->type, &v) != ST_OK) {
        k->failed = true;
    } else {
        dbg_assert(value_agrees(e->type, &v));
        e->kind = EX_CONST;
        e->u.value = v;
    }
    return !k->failed;
}
static Status param_slot(void *ctx, Expr **slot) { return expr_walk(*slot, param_fn, ctx) ? ST_OK : ST_ERROR; }

static Status limit_const(ParamCtx *k, Expr **e, int64_t *value, bool offset) {
    if (!*e || (*e)->kind != EX_CONST) return ST_OK;
    const Value *v = &(*e)->u.value;
    if (!v->is_null && v->u.i64 < 0)
        return err_at(k->c->err, (*e)->location, offset ? ERR_INVALID_OFFSET : ERR_INVALID_LIMIT,
                      "%s must not be negative", offset ? "OFFSET" : "LIMIT");
    *value = v->is_null ? -1 : v->u.i64;
    *e = NULL;
    return ST_OK;
}

static Status param_plan(ParamCtx *k, Plan *p) {
    TRY(stack_check(k->c->err));
    TRY(plan_each_expr(p, param_slot, k));
    TRY(limit_const(k, &p->limit.rows_expr, &p->limit.rows, false));
    TRY(limit_const(k, &p->limit.offset_expr, &p->limit.offset, true));
    for (int32_t i = 0; i < p->n_children; i++) TRY(param_plan(k, p->children[i]));
    return ST_OK;
}

Status sql_bind_params(PlanCtx *c, BoundStmt *s, int32_t n, const Value *values) {
    if (n < s->n_params)
        return err_set(c->err, ERR_UNDEFINED_PARAMETER, "%d parameters were supplied, but the statement requires %d", n,
                       s->n_params);
    ParamCtx k = {.c = c, .n = n, .values = values};
    if (!s->plan) return ST_OK;
    Status st = param_plan(&k, s->plan);
    if (st == ST_OK && !c->of_routine) bind_null_plan(c, s->plan);
    for (int32_t i = 0; st == ST_OK && i < s->n_members; i++) {
        st = param_plan(&k, s->members[i].stmt->plan);
        if (st == ST_OK && !c->of_routine) bind_null_plan(c, s->members[i].stmt->plan);
    }
    if (st == ST_OK) st = stack_check(c->err);
    return st == ST_OK ? ST_OK : stack_failed(c->err);
}
