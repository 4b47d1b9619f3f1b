/* bind_recursive.c - WITH RECURSIVE: base UNION [ALL] step.
 *
 * The two terms become a set operation of a kind of its own (SO_RECURSIVE): the step's reference to the query is a scan
 * of the working table, the rows that the round before has added. The terms' columns have the base's types.
 */
#include "sql/bind/bind_int.h"

static const char *const contexts[] = {[REC_IN_SUBLINK] = "a subquery",
                                       [REC_IN_OUTER_JOIN] = "an outer join",
                                       [REC_IN_INTERSECT] = "INTERSECT",
                                       [REC_IN_EXCEPT] = "EXCEPT"};

Status bind_recursive_ref(Binder *b, Query *q, Cte *c, int64_t location) {
    int64_t pos = bind_pos(b, location);
    if (c->recursion == REC_CHANGES)
        return err_at(b->err, bind_pos(b, c->location), ERR_INVALID_RECURSION,
                      "recursive query \"%s\" must not contain data-modifying statements", c->name);
    if (c->recursion == REC_NO_FORM)
        return err_at(b->err, pos, ERR_INVALID_RECURSION,
                      "recursive query \"%s\" does not have the form non-recursive-term UNION [ALL] recursive-term",
                      c->name);
    if (c->recursion == REC_BASE)
        return err_at(b->err, pos, ERR_INVALID_RECURSION,
                      "recursive reference to query \"%s\" must not appear within its non-recursive term", c->name);
    if (b->rec_context)
        return err_at(b->err, pos, ERR_INVALID_RECURSION,
                      "recursive reference to query \"%s\" must not appear within %s", c->name,
                      contexts[b->rec_context]);
    if (c->refs++)
        return err_at(b->err, pos, ERR_INVALID_RECURSION,
                      "recursive reference to query \"%s\" must not appear more than once", c->name);
    q->recursive = true;
    return ST_OK;
}

static Status refuse_clauses(Binder *b, const AstSelect *s) {
    const char *what = s->n_order_by ? "ORDER BY" : s->offset ? "OFFSET" : s->limit ? "LIMIT" : NULL;
    if (s->lock) what = "FOR UPDATE/SHARE";
    if (!what) return ST_OK;
    return err_at(b->err, bind_pos(b, s->location), ERR_FEATURE_NOT_SUPPORTED,
                  "%s in a recursive query is not implemented", what);
}

/* Columns of the query as both terms and all that read it have them: those of the base. */
static Status own_columns(Binder *b, const AstCte *a, Cte *c, const Rel *base, Type *types) {
    c->n = base->n;
    c->cols = arena_array(b->a, ColId, base->n + 4); /* room for those of SEARCH and CYCLE */
    c->names = arena_array(b->a, const char *, base->n + 4);
    if (!c->cols || !c->names) return ST_ERROR;
    for (int32_t i = 0; i < base->n; i++) {
        types[i] = b->c->cols.items[base->cols[i]].type;
        if (types[i].id == T_NUMERIC) types[i] = type_make(T_DECIMAL);
        if (types[i].id == T_VARCHAR || type_is_bits(types[i])) types[i].length = 0;
        c->names[i] = i < a->n_columns ? a->columns[i] : base->names[i];
        if (!(c->cols[i] = plan_new_col(b->c, c->names[i], types[i], true))) return ST_ERROR;
    }
    return ST_OK;
}

static Status check_types(Binder *b, Cte *c, Rel *step, const Type *types) {
    for (int32_t i = 0; i < c->n; i++) {
        Type t = b->c->cols.items[step->cols[i]].type, u;
        if (t.id == T_UNKNOWN) {
            TRY(bind_retype(b, step->plan, step->cols[i], types[i]));
            continue;
        }
        if (!bind_common_type(b, types[i], t, &u))
            return err_at(b->err, bind_pos(b, c->location), ERR_DATATYPE_MISMATCH,
                          "UNION types %s and %s cannot be matched", type_plain_name(types[i]), type_plain_name(t));
        if (u.id == types[i].id) continue;
        err_at(b->err, bind_pos(b, c->location), ERR_DATATYPE_MISMATCH,
               "recursive query \"%s\" column %d has type %s in non-recursive term but type %s overall", c->name, i + 1,
               type_plain_name(types[i]), type_plain_name(u));
        err_hint(b->err, "Cast the output of the non-recursive term to the correct type.");
        return ST_ERROR;
    }
    return ST_OK;
}

static Status check_terms(Binder *b, const AstSelect *s) {
    static const char message[] = "with a SEARCH or CYCLE clause, the %s side of the UNION must be a SELECT";
    if (s->left->set_op != AST_SETOP_NONE) return err_set(b->err, ERR_FEATURE_NOT_SUPPORTED, message, "left");
    return s->right->set_op == AST_SETOP_NONE ? ST_OK : err_set(b->err, ERR_SYNTAX, message, "right");
}

Status bind_recursive(Binder *b, const SelectEnv *env, const AstCte *a, Cte *c, bool *done, Rel *out) {
    const AstSelect *s = AST_AS(AstSelect, a->query);
    TRY(stack_check(b->err));
    *done = false;
    c->recursion = REC_NO_FORM;
    if (s->set_op != AST_SETOP_UNION) return ST_OK;
    int64_t sources = b->c->views.sources.len, tables = b->c->views.tables.len;
    uint8_t context = b->rec_context;
    SelectEnv in = *env;
    Rel base, step;
    TRY(bind_with(b, env->outer, s->with, &in.ctes, env->sibling));
    c->recursion = REC_BASE;
    TRY(bind_select(b, &in, s->left, &base));
    TRY(bind_settle(b, &base));
    Type *types = arena_array(b->a, Type, base.n + 4);
    if (!types) return ST_ERROR;
    TRY(own_columns(b, a, c, &base, types));
    if (a->search || a->cycle) TRY(bind_search_columns(b, a, c, types));
    const AstSelect *outer_step = b->step;
    Cte *step_of = b->step_of;
    if (c->search) {
        b->step = s->right;
        b->step_of = c;
    }
    c->id = ++b->c->n_ctes;
    c->recursion = REC_STEP;
    b->rec_context = REC_IN_PLACE;
    in.keep_unknown = true;
    TRY(bind_select(b, &in, s->right, &step));
    b->rec_context = context;
    b->step = outer_step;
    b->step_of = step_of;
    if (c->refs == 0) { /* not recursive after all: bound like any other */
        b->c->views.sources.len = sources;
        b->c->views.tables.len = tables;
        return ST_OK;
    }
    TRY(refuse_clauses(b, s));
    if (c->search) TRY(check_terms(b, s));
    if (step.n - c->n_extra != base.n)
        return err_at(b->err, bind_pos(b, s->right->location), ERR_SYNTAX,
                      "each UNION query must have the same number of columns");
    TRY(check_types(b, c, &step, types));
    for (int32_t i = 0; i < c->n && !s->set_all; i++) TRY(bind_check_least(b, types[i], 0));
    TRY(bind_cast_input(b, &base, types));
    TRY(bind_cast_input(b, &step, types));
    if (!s->set_all) {
        TRY(bind_least_scale(b, &base));
        TRY(bind_least_scale(b, &step));
    }
    if (c->search) {
        TRY(bind_search_base(b, c, &base));
        TRY(bind_search_step(b, c, &step));
    }
    Plan *p = plan_new(b->c, LP_SETOP, 2);
    if (!p || !(p->set.cols = arena_array(b->a, ColId *, 2))) return ST_ERROR;
    p->set.op = (uint8_t)(s->set_all ? SO_RECURSIVE_ALL : SO_RECURSIVE);
    p->cte.id = c->id;
    p->children[0] = base.plan;
    p->children[1] = step.plan;
    p->n_out = c->n;
    p->out_cols = c->cols;
    p->set.cols[0] = base.cols;
    p->set.cols[1] = step.cols;
    Plan *wrapped = bind_wrap_ctes(b, in.ctes, env->ctes, p);
    *out = (Rel){wrapped, c->n, bind_ids(b, c->n, c->cols), c->names};
    c->refs = 0;
    c->inlined = false;
    *done = true;
    return wrapped && out->cols ? ST_OK : ST_ERROR;
}
