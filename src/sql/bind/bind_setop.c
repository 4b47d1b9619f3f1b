/* bind_setop.c - UNION, INTERSECT, EXCEPT.
 *
 * A chain of UNIONs of one kind is one n-ary operator (so that long chains neither nest nor cost stack).
 * Columns get a common type per position; an input that has another one is projected. Untyped literals in an
 * input take the common type directly (bind_retype).
 */
#include "sql/bind/bind_int.h"

Status bind_retype(Binder *b, Plan *p, ColId id, Type t) {
    TRY(stack_check(b->err));
    if (b->c->cols.items[id].type.id != T_UNKNOWN) return ST_OK;
    switch ((PlanKind)p->kind) {
    case LP_PROJECT:
        for (int32_t i = 0; i < p->n_out; i++) {
            if (p->out_cols[i] != id) continue;
            if (p->exprs[i]->kind == EX_COL && p->exprs[i]->u.col == id) TRY(bind_retype(b, p->children[0], id, t));
            else if (p->exprs[i]->kind == EX_COL && p->exprs[i]->type.id == T_UNKNOWN)
                TRY(bind_retype(b, p->children[0], p->exprs[i]->u.col, t));
            if (p->exprs[i]->kind == EX_COL) p->exprs[i]->type = b->c->cols.items[p->exprs[i]->u.col].type;
            if (!(p->exprs[i] = bind_coerce(b, p->exprs[i], t, CAST_IMPLICIT, p->exprs[i]->location))) return ST_ERROR;
        }
        break;
    case LP_VALUES:
        for (int32_t i = 0; i < p->n_out; i++)
            for (int64_t r = 0; p->out_cols[i] == id && r < p->values.n_rows; r++)
                if (!(p->values.rows[r][i] =
                          bind_coerce(b, p->values.rows[r][i], t, CAST_IMPLICIT, p->values.rows[r][i]->location)))
                    return ST_ERROR;
        break;
    case LP_FILTER:
    case LP_SORT:
    case LP_LIMIT: return bind_retype(b, p->children[0], id, t);
    case LP_CTE: return bind_retype(b, p->children[1], id, t);
    default: return err_internal(b->err, "binder: untyped column under operator %d", p->kind);
    }
    b->c->cols.items[id].type = t;
    return ST_OK;
}

/* The literals that bind_retype would give a type, taken into the common type *t. */
static Status literals_type(Binder *b, const Plan *p, ColId id, Type *t) {
    TRY(stack_check(b->err));
    if (b->c->cols.items[id].type.id != T_UNKNOWN) return ST_OK;
    switch ((PlanKind)p->kind) {
    case LP_PROJECT:
        for (int32_t i = 0; i < p->n_out; i++) {
            if (p->out_cols[i] != id) continue;
            if (p->exprs[i]->kind == EX_COL) TRY(literals_type(b, p->children[0], p->exprs[i]->u.col, t));
            else TRY(bind_literal_type(b, p->exprs[i], t));
        }
        return ST_OK;
    case LP_VALUES:
        for (int32_t i = 0; i < p->n_out; i++)
            for (int64_t r = 0; p->out_cols[i] == id && r < p->values.n_rows; r++)
                TRY(bind_literal_type(b, p->values.rows[r][i], t));
        return ST_OK;
    case LP_FILTER:
    case LP_SORT:
    case LP_LIMIT: return literals_type(b, p->children[0], id, t);
    case LP_CTE: return literals_type(b, p->children[1], id, t);
    default: return ST_OK;
    }
}

Status bind_settle(Binder *b, Rel *r) {
    for (int32_t i = 0; i < r->n; i++)
        if (b->c->cols.items[r->cols[i]].type.id == T_UNKNOWN)
            TRY(bind_retype(b, r->plan, r->cols[i], type_make(T_TEXT)));
    return ST_OK;
}

static const char *setop_name(AstSetOp op) {
    return op == AST_SETOP_UNION ? "UNION" : op == AST_SETOP_INTERSECT ? "INTERSECT" : "EXCEPT";
}

static int64_t select_location(const AstSelect *s) {
    while (s->set_op != AST_SETOP_NONE) s = s->left;
    if (s->n_targets) return s->targets[0].expr->location ? s->targets[0].expr->location : s->targets[0].location;
    if (s->n_values && s->values[0].n_items) return s->values[0].items[0]->location;
    return s->location;
}

static bool same_cells(Type a, Type b) {
    return a.id == b.id && a.scale == b.scale && type_phys(a) == type_phys(b) &&
           (!type_is_defined(a) || a.length == b.length);
}

static Status unify(Binder *b, const char *name, int64_t n, Rel *rels, const AstSelect *const *asts, int32_t col,
                    Type *out) {
    Type t = type_make(T_UNKNOWN), u;
    bool literal = false;
    for (int64_t i = 0; i < n; i++) {
        Type c = b->c->cols.items[rels[i].cols[col]].type;
        if (c.id == T_UNKNOWN) literal = true;
        else if (t.id == T_UNKNOWN) t = c;
        else if (bind_common_type(b, t, c, &u)) t = u;
        else
            return err_at(b->err, bind_pos(b, select_location(asts[i])), ERR_DATATYPE_MISMATCH,
                          "%s types %s and %s cannot be matched", name, type_plain_name(t), type_plain_name(c));
    }
    if (t.id == T_UNKNOWN) t = type_make(T_TEXT);
    if (literal && type_has_length(t)) t.length = 0;
    for (int64_t i = 0; literal && i < n; i++) TRY(literals_type(b, rels[i].plan, rels[i].cols[col], &t));
    for (int64_t i = 0; i < n; i++)
        if (b->c->cols.items[rels[i].cols[col]].type.id == T_UNKNOWN)
            TRY(bind_retype(b, rels[i].plan, rels[i].cols[col], t));
    *out = t;
    return ST_OK;
}

Status bind_cast_input(Binder *b, Rel *r, const Type *types) {
    bool cast = false;
    for (int32_t i = 0; i < r->n; i++) cast |= !same_cells(b->c->cols.items[r->cols[i]].type, types[i]);
    if (!cast) return ST_OK;
    Plan *p = plan_new(b->c, LP_PROJECT, 1);
    ColId *ids = arena_array(b->a, ColId, r->n + 1);
    if (!p || !ids || !(p->exprs = arena_array(b->a, Expr *, r->n + 1))) return ST_ERROR;
    for (int32_t i = 0; i < r->n; i++) {
        Expr *e = expr_col(b->c, r->cols[i]);
        if (!e || !(p->exprs[i] = bind_coerce(b, e, types[i], CAST_IMPLICIT, 0))) return ST_ERROR;
        if (!(ids[i] = plan_new_col(b->c, r->names[i], types[i], true))) return ST_ERROR;
    }
    p->children[0] = r->plan;
    p->n_out = p->n_exprs = r->n;
    p->out_cols = ids;
    r->plan = p;
    return (r->cols = bind_ids(b, r->n, ids)) ? ST_OK : ST_ERROR;
}

static bool chain_link(const AstSelect *s, const AstSelect *top) {
    return s->set_op == AST_SETOP_UNION && top->set_op == AST_SETOP_UNION && s->set_all == top->set_all && !s->with &&
           !s->n_order_by && !s->limit && !s->offset;
}

Status bind_setop(Binder *b, const SelectEnv *env, const AstSelect *s, Rel *out) {
    const char *name = setop_name(s->set_op);
    int64_t n = 2;
    for (const AstSelect *x = s->left; chain_link(x, s); x = x->left) n++;
    const AstSelect **asts = arena_array(b->a, const AstSelect *, n);
    Rel *rels = arena_array(b->a, Rel, n);
    if (!asts || !rels) return ST_ERROR;
    const AstSelect *x = s;
    for (int64_t i = n - 1; i > 0; i--) {
        asts[i] = x->right;
        x = x->left;
    }
    asts[0] = x;
    SelectEnv sub = *env;
    sub.keep_unknown = true;
    for (int64_t i = 0; i < n; i++) {
        uint8_t context = b->rec_context;
        if (s->set_op == AST_SETOP_INTERSECT && s->set_all) b->rec_context = REC_IN_INTERSECT;
        if (s->set_op == AST_SETOP_EXCEPT && i > 0) b->rec_context = REC_IN_EXCEPT;
        TRY(bind_select(b, &sub, asts[i], &rels[i]));
        b->rec_context = context;
        if (rels[i].n != rels[0].n)
            return err_at(b->err, bind_pos(b, select_location(asts[i])), ERR_SYNTAX,
                          "each %s query must have the same number of columns", name);
    }
    int32_t m = rels[0].n;
    Type *types = arena_array(b->a, Type, m + 1);
    Plan *p = plan_new(b->c, LP_SETOP, (int32_t)n);
    if (!types || !p || !(p->out_cols = arena_array(b->a, ColId, m + 1)) ||
        !(p->set.cols = arena_array(b->a, ColId *, n)))
        return ST_ERROR;
    for (int32_t c = 0; c < m; c++) {
        TRY(unify(b, name, n, rels, asts, c, &types[c]));
        if (s->set_op != AST_SETOP_UNION) TRY(bind_check_least(b, types[c], 0));
        else if (!s->set_all) TRY(bind_check_groupable(b, types[c], 0));
    }
    for (int64_t i = 0; i < n; i++) {
        TRY(bind_cast_input(b, &rels[i], types));
        if (s->set_op != AST_SETOP_UNION) TRY(bind_least_scale(b, &rels[i]));
        p->children[i] = rels[i].plan;
        if (!(p->set.cols[i] = bind_ids(b, rels[i].n, rels[i].cols))) return ST_ERROR;
    }
    for (int32_t c = 0; c < m; c++)
        if (!(p->out_cols[c] = plan_new_col(b->c, rels[0].names[c], types[c], true))) return ST_ERROR;
    p->n_out = m;
    p->set.op = (uint8_t)(s->set_op == AST_SETOP_UNION       ? (s->set_all ? SO_UNION_ALL : SO_UNION)
                          : s->set_op == AST_SETOP_INTERSECT ? (s->set_all ? SO_INTERSECT_ALL : SO_INTERSECT)
                                                             : (s->set_all ? SO_EXCEPT_ALL : SO_EXCEPT));
    *out = (Rel){p, m, bind_ids(b, m, p->out_cols), rels[0].names};
    bool keys = false;
    for (int32_t c = 0; c < m; c++) keys |= bind_has_key(types[c]);
    if (keys && out->cols && p->set.op == SO_UNION) { /* its groups by keys */
        p->set.op = SO_UNION_ALL;
        if (!(out->plan = bind_distinct_plan(b, p, m, out->cols, out->names))) return ST_ERROR;
    }
    return out->cols ? ST_OK : ST_ERROR;
}
