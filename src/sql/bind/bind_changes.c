/* bind_changes.c - WITH members that change data.
 *
 * They stand in the WITH of the statement itself only, and run by themselves, each once (BoundStmt.members;
 * session/core/with_changes.c): what reads one reads rows that are there already. Of such a WITH a query belongs to the
 * one plan that reads it, as if it stood in that. When several read it, or it and the statement do, it is a member that
 * runs by itself, too, so that all see the same rows.
 */
#include "sql/bind/bind_int.h"

Status bind_check_changes(Binder *b, const AstWith *w) {
    for (int64_t i = 0; w != b->top && i < w->n_ctes; i++)
        if (w->ctes[i].query->kind != AST_SELECT)
            return err_at(b->err, bind_pos(b, w->ctes[i].location), ERR_FEATURE_NOT_SUPPORTED,
                          "WITH clause containing a data-modifying statement must be at the top level");
    return ST_OK;
}

static Status add_member(Binder *b, Cte *c, BoundStmt *s) {
    if (!vec_push(b->a, &b->members, ((WithMember){.name = c->name, .stmt = s}))) return ST_ERROR;
    c->member = (int32_t)b->members.len;
    return ST_OK;
}

Status bind_change_member(Binder *b, const AstCte *a, Cte *ctes, Cte *c, Rel *r) {
    BoundStmt *x = arena_new_of(b->a, BoundStmt);
    if (!x) return ST_ERROR;
    TRY(stack_check_at(b->err, bind_pos(b, a->location)));
    switch ((int)a->query->kind) {
    case AST_INSERT: TRY(bind_insert(b, AST_AS_CONST(AstInsert, a->query), ctes, x)); break;
    case AST_UPDATE: TRY(bind_update(b, AST_AS_CONST(AstUpdate, a->query), ctes, x)); break;
    case AST_DELETE: TRY(bind_delete(b, AST_AS_CONST(AstDelete, a->query), ctes, x)); break;
    default:
        return err_at(b->err, bind_pos(b, a->location), ERR_FEATURE_NOT_SUPPORTED, "MERGE not supported in WITH query");
    }
    *r = (Rel){x->plan, x->n_result, x->result, x->names};
    return add_member(b, c, x);
}

Plan *bind_member_rows(Binder *b, const Cte *c, const char *alias) {
    Plan *p = plan_new(b->c, LP_VALUES, 0);
    if (!p || !(p->out_cols = arena_array(b->a, ColId, c->n + 1))) return NULL;
    p->n_out = c->n;
    p->alias = alias;
    p->values.member = c->member;
    for (int32_t i = 0; i < c->n; i++) {
        Type t = b->c->cols.items[c->cols[i]].type;
        if (!(p->out_cols[i] = plan_new_col(b->c, c->names[i], t, true))) return NULL;
    }
    return p;
}

/* ---- queries beside them ------------------------------------------------------------------ */

/* The scans of a definition in a plan: counted, or made scans of a member's rows. */
typedef struct Scans {
    int64_t cte_id, n;
    int32_t member;
} Scans;

static void find_scan(void *ctx, Plan *p) {
    Scans *f = ctx;
    if (p->kind != LP_CTE_SCAN || p->cte.id != f->cte_id) return;
    f->n++;
    if (!f->member) return;
    p->kind = LP_VALUES;
    p->values.member = f->member;
    p->cte = (PlanCte){0};
}
static void find_scans(Scans *f, Plan *p) { plan_visit(&(PlanVisitor){.ctx = f, .plan = find_scan}, p); }
static bool has_scans(const Cte *c, Plan *p) {
    Scans f = {.cte_id = c->id};
    find_scans(&f, p);
    return f.n > 0;
}

Plan *bind_place_cte(Binder *b, Cte *c, Plan *body) {
    if (c->member) return body;
    BoundStmt *only = NULL;
    int64_t readers = has_scans(c, body), own = readers;
    for (int64_t i = 0; i < b->members.len; i++) {
        if (!has_scans(c, b->members.items[i].stmt->plan)) continue;
        only = b->members.items[i].stmt;
        readers++;
    }
    if (readers == 0) return body;
    if (readers == 1 && own) return bind_wrap_cte(b, c, body);
    if (readers == 1) return (only->plan = bind_wrap_cte(b, c, only->plan)) ? body : NULL;
    BoundStmt *x = arena_new_of(b->a, BoundStmt);
    ColId *cols = bind_ids(b, c->n, c->cols);
    if (!x || !cols) return NULL;
    *x = (BoundStmt){.kind = STMT_SELECT, .plan = c->plan, .n_result = c->n, .result = cols, .names = c->names};
    if (add_member(b, c, x) != ST_OK) return NULL;
    Scans f = {.cte_id = c->id, .member = c->member};
    find_scans(&f, body);
    for (int64_t i = 0; i < b->members.len; i++) find_scans(&f, b->members.items[i].stmt->plan);
    return body;
}
