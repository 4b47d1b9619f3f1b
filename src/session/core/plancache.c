/* plancache.c - texts and plans kept between runs. See plancache.h. */
#include "session/core/plancache.h"
#include "session/pool/callpool.h"

#include "base/hash.h"
#include "exec/device/dev.h"
#include "storage/table_version.h"
#include "sql/bind/bind.h"
#include "sql/lower/lower.h"
#include "sql/optimize/optimize.h"
#include "sql/parse/parse.h"

enum { TEXTS_MAX = 64, TEXT_BYTES_MAX = 1 << 16, CACHE_BYTES_MAX = 32 << 20 };

/* ---- plans ------------------------------------------------------------------------------------------- */
void plan_release(CachedPlan *p) {
    if (!p || --p->refs > 0) return;
    dev_plan_free(p->device);
    arena_free(p->arena);
    mem_free(&p->session->kept.account, p, (int64_t)sizeof *p);
}

static bool same_value(const Value *a, const Value *b) {
    if (memcmp(&a->type, &b->type, sizeof a->type) != 0 || a->is_null != b->is_null) return false;
    if (a->is_null) return true;
    Phys phys = type_phys(a->type);
    if (phys == PH_STR)
        return a->u.str.len == b->u.str.len &&
               (a->u.str.len == 0 || memcmp(a->u.str.ptr, b->u.str.ptr, a->u.str.len) == 0);
    return memcmp(value_cell_const(a), value_cell_const(b), (size_t)phys_size(phys)) == 0;
}

/* The table at the dependence's place, which moves when others are dropped; NULL: gone. */
static const Table *table_at(const Catalog *c, struct PlanDep *d) {
    if (d->at < c->n_tables && c->tables[d->at] == d->table) return d->table;
    for (d->at = 0; d->at < c->n_tables && c->tables[d->at] != d->table;) d->at++;
    return d->at < c->n_tables ? d->table : NULL;
}
static bool holds(const Session *s, CachedPlan *p, int32_t n_params, const Value *params) {
    const Catalog *c = session_catalog(s);
    if (p->of_version != session_reads_version(s) || p->of_forks != transaction_forks_serial(s)) return false;
    if (!name_deps_hold(&p->names_read, c)) return false;
    for (int64_t i = 0; i < p->deps.len; i++) {
        struct PlanDep *d = &p->deps.items[i];
        const Table *t = table_at(c, d);
        if (!t || t->id != d->id || t->version != d->version) return false;
        if (table_version_birth(t) != d->birth) return false;
    }
    if (n_params != p->n_params || memcmp(&p->settings, &s->settings, sizeof p->settings) != 0) return false;
    for (int32_t i = 0; i < n_params; i++)
        if (!same_value(&p->params[i], &params[i])) return false;
    return true;
}

static Status depend(CachedPlan *p, const Table *t) {
    for (int64_t i = 0; i < p->deps.len; i++)
        if (p->deps.items[i].table == t) return ST_OK;
    const Catalog *c = session_catalog(p->session);
    struct PlanDep d = {.table = t, .birth = table_version_birth(t), .id = t->id, .version = t->version};
    while (d.at < c->n_tables && c->tables[d.at] != t) d.at++;
    return vec_push(p->arena, &p->deps, d) ? ST_OK : ST_ERROR;
}

static Status depend_all(CachedPlan *p, const PlanCtx *c) {
    for (int64_t i = 0; i < c->relations.len; i++) {
        const Table *t = catalog_table(c->catalog, slice_of(c->relations.items[i]));
        if (t) TRY(depend(p, t));
    }
    for (int32_t i = 0; i < p->plan->n_segments; i++) {
        const Source *src = &p->plan->segments[i].program->source;
        if (src->kind == SRC_TABLE) TRY(depend(p, src->table));
    }
    return ST_OK;
}

static Status shape_of(CachedPlan *p, const PlanCtx *c, const BoundStmt *b) {
    p->n_cols = b->n_result;
    p->names = arena_array(p->arena, const char *, b->n_result + 1);
    p->types = arena_array(p->arena, Type, b->n_result + 1);
    if (!p->names || !p->types) return ST_ERROR;
    for (int32_t i = 0; i < b->n_result; i++) {
        p->names[i] = arena_strdup(p->arena, b->names[i]);
        p->types[i] = c->cols.items[b->result[i]].type;
        if (!p->names[i]) return ST_ERROR;
    }
    return ST_OK;
}

/* Rows of a bulk that only have to be handed on: copying them into a result takes longer than some calls. */
static Status columns_of(CachedPlan *p, const PlanCtx *c, const BoundStmt *b) {
    const Plan *v = b->plan;
    if (c->n_bulks == 0 || v->kind != LP_VALUES || !v->values.cells) return ST_OK;
    Vec *columns = arena_array(p->arena, Vec, b->n_result + 1);
    if (!columns) return ST_ERROR;
    for (int32_t i = 0; i < b->n_result; i++) {
        int32_t k = 0;
        while (k < v->n_out && v->out_cols[k] != b->result[i]) k++;
        if (k == v->n_out) return ST_OK;
        columns[i] = v->values.cells[k];
    }
    p->columns = columns;
    p->n_rows = v->values.n_rows;
    return ST_OK;
}
static Status make_plan(CachedPlan *p, const AstStmt *ast, int32_t n_params, const Type *param_types,
                        const Value *params, MemAccount *acct, bool guarded) {
    Session *s = p->session;
    int64_t clock = time_reads, runs = s->kept.n_runs;
    PlanCtx c;
    p->of_version = session_reads_version(s);
    p->of_forks = transaction_forks_serial(s);
    plan_ctx_init_client(s, p->arena, &c);
    c.guarded = guarded;
    BoundStmt *b;
    TRY(sql_bind_client(&c, ast, n_params, param_types, &b));
    p->takes_numbers = c.sequences.called;
    if (c.calls_routine || c.n_bulks > 0 || c.sequences.called) TRY(session_read_locked(s));
    if (c.rows.locks && session_read_only(s))
        return err_set(&s->err, ERR_READ_ONLY, "cannot execute SELECT FOR UPDATE in a read-only transaction");
    if (b->kind != STMT_SELECT) return err_internal(&s->err, "a SELECT was bound as statement kind %d", (int)b->kind);
    TRY(shape_of(p, &c, b));
    if (b->n_params > 0) {
        if (n_params < b->n_params)
            return err_set(&s->err, ERR_UNDEFINED_PARAMETER, "the statement has %d parameters but %d values were given",
                           (int)b->n_params, (int)n_params);
        TRY(sql_bind_params(&c, b, n_params, params));
    }
    if (c.n_bulks > 0) TRY(session_bulk_from(s, &c));
    TRY(session_resolve_limits(s, &c, b->plan, acct));
    p->may_guard = !guarded && !c.calls_routine && c.n_bulks == 0 && sql_subqueries_can_fail(b);
    TRY(sql_optimize(&c, b));
    TRY(transaction_reads_of_plan(&c, b, p->arena, &p->reads));
    TRY(columns_of(p, &c, b));
    if (!(p->plan = sql_lower(&c, b->plan, b->n_result, b->result))) return ST_ERROR;
    TRY(depend_all(p, &c));
    if (!(p->params = arena_array(p->arena, Value, n_params + 1))) return ST_ERROR;
    for (int32_t i = 0; i < n_params; i++) TRY(value_copy(p->arena, &params[i], &p->params[i]));
    p->n_params = n_params;
    p->settings = s->settings;
    /* what a routine looks at is not known here */
    p->keep = time_reads == clock && s->kept.n_runs == runs && !c.calls_routine && !c.rows.locks &&
              !c.reads_client_rows && !c.reads_stream;
    return ST_OK;
}

static Status make(CachedPlan *p, const AstStmt *ast, int32_t n_params, const Type *param_types, const Value *params,
                   MemAccount *acct, bool guarded) {
    NameReads reads;
    name_reads_begin(&reads, session_catalog(p->session));
    Status st = make_plan(p, ast, n_params, param_types, params, acct, guarded);
    name_reads_end(&reads);
    return st == ST_OK && !name_deps_keep(&reads, p->arena, &p->names_read) ? ST_ERROR : st;
}
static Status plan_new_for(Session *s, const AstStmt *ast, int32_t n_params, const Type *param_types,
                           const Value *params, MemAccount *acct, bool guarded, CachedPlan **out) {
    CachedPlan *p = mem_calloc(&s->kept.account, (int64_t)sizeof *p, &s->err);
    if (!p) return ST_ERROR;
    p->refs = 1;
    p->session = s;
    mem_account_init(&p->account, &s->kept.account, "plan", 0, NULL);
    p->arena = arena_new(&p->account, &s->err);
    if (!p->arena || make(p, ast, n_params, param_types, params, acct, guarded) != ST_OK) {
        plan_release(p);
        return stack_failed(&s->err);
    }
    *out = p;
    return ST_OK;
}

Status plan_get_guarded(Session *s, const AstStmt *ast, int32_t n_params, const Type *param_types, const Value *params,
                        MemAccount *acct, CachedPlan **out) {
    TRY(plan_new_for(s, ast, n_params, param_types, params, acct, true, out));
    (*out)->keep = false;
    return ST_OK;
}

Status plan_get(Session *s, const AstStmt *ast, int32_t n_params, const Type *param_types, const Value *params,
                MemAccount *acct, CachedPlan **slot, CachedPlan **out) {
    *out = NULL;
    if (slot && *slot && holds(s, *slot, n_params, params)) {
        *out = *slot;
        (*slot)->refs++;
        s->kept.n_plans_found++;
        return ST_OK;
    }
    CachedPlan *p;
    TRY(plan_new_for(s, ast, n_params, param_types, params, acct, false, &p));
    if (slot) {
        plan_release(*slot); /* it did not hold */
        *slot = p->keep ? p : NULL;
        p->refs += p->keep;
    }
    *out = p;
    return ST_OK;
}

/* ---- texts ------------------------------------------------------------------------------------------- */
Status text_parse(Session *s, Slice sql, SqlText **out) {
    *out = NULL;
    SqlText *t = mem_calloc(&s->kept.account, (int64_t)sizeof *t, &s->err);
    if (!t) return ST_ERROR;
    t->refs = 1;
    t->session = s;
    mem_account_init(&t->account, &s->kept.account, "statement", 0, NULL);
    t->arena = arena_new(&t->account, &s->err);
    char *text = t->arena ? arena_strndup(t->arena, sql.ptr, sql.len) : NULL;
    AstStmt **list;
    int64_t n;
    t->sql = (Slice){text, sql.len};
    if (!text || sql_parse(t->arena, t->sql, &list, &n, &s->err) != ST_OK) {
        text_release(t);
        return ST_ERROR;
    }
    if (n > 0) t->ast = list[0];
    if (n > 1) t->next = list[1]->source_offset; /* the lexer saw parentheses where the grammar saw none */
    *out = t;
    return ST_OK;
}

void text_release(SqlText *t) {
    if (!t || --t->refs > 0) return;
    plan_release(t->plan);
    call_text_free(t->call);
    text_point_free(t->point);
    arena_free(t->arena);
    mem_free(&t->session->kept.account, t, (int64_t)sizeof *t);
}

static void to_front(Session *s, SqlText *t) {
    t->older = s->kept.texts;
    t->newer = NULL;
    if (s->kept.texts) s->kept.texts->newer = t;
    else s->kept.oldest = t;
    s->kept.texts = t;
}
static void take_out(Session *s, const SqlText *t) {
    if (t->newer) t->newer->older = t->older;
    else s->kept.texts = t->older;
    if (t->older) t->older->newer = t->newer;
    else s->kept.oldest = t->newer;
}

SqlText *text_find(Session *s, Slice sql) {
    if (sql.len > TEXT_BYTES_MAX || !s->kept.texts) return NULL;
    uint64_t hash = hash_bytes(sql.ptr, sql.len);
    SqlText *t = s->kept.texts;
    while (t && (t->hash != hash || !slice_eq(t->sql, sql))) t = t->older;
    if (t && t != s->kept.texts) {
        take_out(s, t);
        to_front(s, t);
    }
    return t;
}

void text_unlist(Session *s, SqlText *t) {
    if (!t->listed) return;
    t->listed = false;
    take_out(s, t);
    s->kept.n_texts--;
    text_release(t);
}
void text_unlist_all(Session *s) {
    while (s->kept.texts) text_unlist(s, s->kept.texts);
}

/* Kept plans stay small beside the memory that queries are to have, those of many sessions together, too. */
static bool takes_too_much(const Session *s) {
    int64_t limit = atomic_load(&s->db->account.limit), used = atomic_load(&s->kept.account.used);
    if (limit <= 0) return used > CACHE_BYTES_MAX;
    return used > MIN_OF(limit / 64, (int64_t)CACHE_BYTES_MAX) || mem_headroom(&s->account) < limit / 16;
}

void text_list(Session *s, SqlText *t) {
    if (t->listed || t->sql.len > TEXT_BYTES_MAX) return;
    t->hash = hash_bytes(t->sql.ptr, t->sql.len);
    t->listed = true;
    t->refs++;
    to_front(s, t);
    s->kept.n_texts++;
    while (s->kept.n_texts > TEXTS_MAX || (s->kept.oldest && takes_too_much(s))) text_unlist(s, s->kept.oldest);
}
