/* plan_explain.c - a logical plan as an indented tree. The text is for people; nothing parses it. */
#include "sql/plan/plan_explain.h"

#include <stdio.h>

typedef struct Out {
    PlanCtx *c;
    VEC(char) buf;
    VEC(const Plan *) joins;
    bool failed;
} Out;

static void put(Out *t, const char *s) {
    for (; s && *s && !t->failed; s++)
        if (!vec_push(t->c->arena, &t->buf, *s)) t->failed = true;
}
static void put_num(Out *t, double v) {
    char b[48];
    if (v < 0 || v > 1e15) snprintf(b, sizeof b, "%.3g", v);
    else snprintf(b, sizeof b, "%.0f", v);
    put(t, b);
}
static void put_int(Out *t, int64_t v) {
    char b[32];
    snprintf(b, sizeof b, "%lld", (long long)v);
    put(t, b);
}
static void put_col(Out *t, ColId id) {
    const char *n = id > 0 && id < t->c->cols.len ? t->c->cols.items[id].name : NULL;
    put(t, n ? n : "?");
    put(t, "#");
    put_int(t, id);
}
static void put_expr(Out *t, const Expr *e) {
    const char *s = expr_text(t->c, e);
    put(t, s ? s : "?");
}
static void put_list(Out *t, const char *head, int64_t n, Expr *const *e) {
    if (n <= 0) return;
    put(t, head);
    for (int64_t i = 0; i < n; i++) {
        if (i) put(t, " AND ");
        bool paren = n > 1 && e[i]->kind == EX_OR;
        if (paren) put(t, "(");
        put_expr(t, e[i]);
        if (paren) put(t, ")");
    }
}
static const char *agg_name(const AggCall *g) {
    static const char *const names[] = {
        "none",           "count",   "count",      "sum",       "avg",        "min",       "max",         "bool_and",
        "bool_or",        "bit_and", "bit_or",     "any_value", "var_pop",    "var_samp",  "stddev_pop",  "stddev_samp",
        "string_agg",     "bit_xor", "corr",       "covar_pop", "covar_samp", "regr_avgx", "regr_avgy",   "regr_count",
        "regr_intercept", "regr_r2", "regr_slope", "regr_sxx",  "regr_sxy",   "regr_syy",  "single_value"};
    static_assert(ARRAY_LEN(names) == AGG_CLIENT && AGG_CLIENT + 1 == AGG_COUNT_, "a name for every other aggregate");
    if (g->kind == AGG_CLIENT) return g->func->name;
    return g->kind < ARRAY_LEN(names) ? names[g->kind] : "agg";
}
static int64_t number_joins(Out *t, const Plan *p) {
    if (stack_stop()) return 0;
    for (int32_t i = 0; i < p->n_children; i++) number_joins(t, p->children[i]);
    if (p->kind == LP_JOIN && !vec_push(t->c->arena, &t->joins, p)) t->failed = true;
    return t->joins.len;
}
static int64_t join_number(const Out *t, const Plan *p) {
    for (int64_t i = 0; i < t->joins.len; i++)
        if (t->joins.items[i] == p) return i + 1;
    return 0;
}
static void put_limits(Out *t, const Plan *p) {
    if (p->limit.rows >= 0) {
        put(t, p->kind == LP_LIMIT ? " " : " limit ");
        put_int(t, p->limit.rows);
    }
    if (p->limit.offset > 0) {
        put(t, " offset ");
        put_int(t, p->limit.offset);
    }
}
static void put_keys(Out *t, const Plan *p) {
    for (int32_t i = 0; i < p->sort.n; i++) {
        if (i) put(t, ", ");
        put_expr(t, p->sort.keys[i].expr);
        if (p->sort.keys[i].desc) put(t, " desc");
        if (p->sort.keys[i].nulls_first != p->sort.keys[i].desc)
            put(t, p->sort.keys[i].nulls_first ? " nulls first" : " nulls last");
    }
}
static void put_call(Out *t, const AggCall *g) {
    put_col(t, g->out);
    put(t, " := ");
    put(t, agg_name(g));
    put(t, g->distinct ? "(distinct " : "(");
    if (g->arg) put_expr(t, g->arg);
    else put(t, "*");
    if (g->arg2) {
        put(t, ", ");
        put_expr(t, g->arg2);
    }
    put(t, ")");
    if (g->filter) {
        put(t, " filter ");
        put_expr(t, g->filter);
    }
}
static void put_bound(Out *t, uint8_t bound, const Expr *offset) {
    static const char *const names[] = {"unbounded preceding", "preceding", "current row", "following",
                                        "unbounded following"};
    if (offset) {
        put_expr(t, offset);
        put(t, " ");
    }
    put(t, names[bound]);
}
static void put_window(Out *t, const Plan *p) {
    static const char *const funcs[] = {"row_number", "rank", "dense_rank",  "percent_rank", "cume_dist", "ntile",
                                        "lag",        "lead", "first_value", "last_value",   "nth_value"};
    static const char *const modes[] = {"range", "rows", "groups"};
    static const char *const excludes[] = {"", " exclude current row", " exclude group", " exclude ties"};
    const PlanWindow *w = &p->win;
    put(t, "window");
    for (int32_t i = 0; i < p->n_exprs; i++) {
        put(t, i ? ", " : " partition by ");
        put_expr(t, p->exprs[i]);
    }
    if (p->sort.n) put(t, " order by ");
    put_keys(t, p);
    if (w->frame.mode != WM_RANGE || w->frame.start != WB_UNBOUNDED_PRECEDING || w->frame.end != WB_CURRENT_ROW ||
        w->frame.exclude) {
        put(t, " ");
        put(t, modes[w->frame.mode]);
        put(t, " between ");
        put_bound(t, w->frame.start, w->start_offset);
        put(t, " and ");
        put_bound(t, w->frame.end, w->end_offset);
        put(t, excludes[w->frame.exclude]);
    }
    for (int32_t i = 0; i < w->n_calls; i++) {
        put(t, i ? ", " : ": ");
        put_col(t, w->calls[i].out);
        put(t, " := ");
        put(t, funcs[w->calls[i].func]);
        put(t, "(");
        for (int k = 0; k < 3 && w->calls[i].args[k]; k++) {
            if (k) put(t, ", ");
            put_expr(t, w->calls[i].args[k]);
        }
        put(t, ")");
    }
    for (int32_t i = 0; i < p->agg.n_calls; i++) {
        put(t, i || w->n_calls ? ", " : ": ");
        put_call(t, &p->agg.calls[i]);
    }
}
/* The operator without its estimates. */
static void put_operator(Out *t, const Plan *p) {
    static const char *const joins[] = {"inner", "left", "right", "full", "semi", "anti", "mark", "single"};
    static const char *const setops[] = {"union all", "union",      "intersect",           "intersect all",
                                         "except",    "except all", "recursive union all", "recursive union"};
    switch ((PlanKind)p->kind) {
    case LP_SCAN:
        put(t, "scan ");
        const char *name = name_of_key(p->scan.table->name);
        put(t, name);
        if (p->alias && strcmp(p->alias, name) != 0) {
            put(t, " ");
            put(t, p->alias);
        }
        put(t, " (");
        for (int32_t i = 0; i < p->n_out; i++) {
            if (i) put(t, ", ");
            put_col(t, p->out_cols[i]);
        }
        put(t, ")");
        put_list(t, " where ", p->n_conds, p->conds);
        for (int32_t i = 0; i < p->scan.n_runtime; i++) {
            put(t, " runtime filter ");
            put_col(t, p->scan.runtime[i].local_col);
            put(t, " in join ");
            put_int(t, join_number(t, p->scan.runtime[i].join));
            put(t, ".");
            put_col(t, p->scan.runtime[i].build_col);
        }
        break;
    case LP_VALUES:
        if (p->values.member) {
            put(t, "rows of ");
            put(t, p->alias);
            break;
        }
        put(t, "values");
        if (p->values.cells && !p->values.routine_id && p->alias) { /* client_rows.h */
            put(t, " of ");
            put(t, p->alias);
        }
        put(t, ", rows ");
        put_int(t, p->values.n_rows);
        break;
    case LP_SERIES:
        put(t, "series");
        for (int32_t i = 0; i < p->n_exprs; i++) {
            put(t, i ? ", " : " ");
            put_expr(t, p->exprs[i]);
        }
        break;
    case LP_STREAM:
        put(t, "read ");
        put(t, p->stream->label);
        put(t, " (");
        for (int32_t i = 0; i < p->n_out; i++) {
            if (i) put(t, ", ");
            put_col(t, p->out_cols[i]);
        }
        put(t, ")");
        for (int32_t i = 0; p->stream->more && p->stream->more[i]; i++) {
            put(t, ", ");
            put(t, p->stream->more[i]);
        }
        break;
    case LP_FILTER: put_list(t, "filter ", p->n_conds, p->conds); break;
    case LP_PROJECT:
        put(t, "project ");
        for (int32_t i = 0; i < p->n_out; i++) {
            if (i) put(t, ", ");
            put_col(t, p->out_cols[i]);
            if (p->exprs[i]->kind != EX_COL || p->exprs[i]->u.col != p->out_cols[i]) {
                put(t, " := ");
                put_expr(t, p->exprs[i]);
            }
        }
        break;
    case LP_JOIN:
        put(t, joins[p->join.kind]);
        put(t, " join ");
        put_int(t, join_number(t, p));
        if (p->join.dependent) put(t, " dependent");
        if (p->join.build_left) put(t, " (build left)");
        if (p->join.kind == JN_MARK) {
            put(t, " -> ");
            put_col(t, p->join.mark_col);
        }
        put_list(t, " on ", p->n_conds, p->conds);
        break;
    case LP_AGG:
        put(t, "aggregate");
        for (int32_t i = 0; i < p->agg.n_keys; i++) {
            put(t, i ? ", " : " by ");
            put_col(t, p->out_cols[i]);
            if (p->exprs[i]->kind != EX_COL || p->exprs[i]->u.col != p->out_cols[i]) {
                put(t, " := ");
                put_expr(t, p->exprs[i]);
            }
        }
        if (p->agg.sets) {
            put(t, " grouping sets ");
            put(t, p->agg.sets);
        }
        for (int32_t i = 0; i < p->agg.n_calls; i++) {
            put(t, i ? ", " : ": ");
            put_call(t, &p->agg.calls[i]);
        }
        break;
    case LP_WINDOW: put_window(t, p); break;
    case LP_SORT:
        put(t, p->limit.rows >= 0 ? "top-n by " : "sort by ");
        put_keys(t, p);
        put_limits(t, p);
        break;
    case LP_LIMIT:
        put(t, "limit");
        put_limits(t, p);
        break;
    case LP_SETOP: put(t, setops[p->set.op]); break;
    case LP_CTE:
    case LP_CTE_SCAN:
        put(t, p->kind == LP_CTE ? "cte " : "scan cte ");
        put_int(t, p->cte.id);
        break;
    case LP_REPEAT:
        put(t, "repeat ");
        put_col(t, p->count_col);
        if (p->n_out) put(t, " numbered");
        break;
    }
}
static void node(Out *t, const Plan *p, int depth) {
    if (stack_stop()) return;
    for (int i = 0; i < depth && i < 60; i++) put(t, "  ");
    put_operator(t, p);
    if (p->est_rows > 0 || p->est_cost > 0) {
        put(t, "  (rows ");
        put_num(t, p->est_rows);
        put(t, ", cost ");
        put_num(t, p->est_cost);
        put(t, ")");
    }
    put(t, "\n");
    for (int32_t i = 0; i < p->n_children; i++) node(t, p->children[i], depth + 1);
}
char *plan_text(PlanCtx *c, const Plan *p) {
    Out t = {.c = c};
    number_joins(&t, p);
    node(&t, p, 0);
    if (stack_check(c->err) != ST_OK || !vec_push(c->arena, &t.buf, '\0')) t.failed = true;
    return t.failed ? NULL : t.buf.items;
}

static const char *kind_name(const Plan *p) {
    switch ((PlanKind)p->kind) {
    case LP_SCAN: return "Scan";
    case LP_VALUES: return "Values";
    case LP_SERIES: return "Series";
    case LP_STREAM: return "Stream";
    case LP_FILTER: return "Filter";
    case LP_PROJECT: return "Project";
    case LP_JOIN: return "Join";
    case LP_AGG: return "Aggregate";
    case LP_WINDOW: return "Window";
    case LP_SORT: return "Sort";
    case LP_LIMIT: return "Limit";
    case LP_SETOP: return "Set Operation";
    case LP_CTE: return "CTE";
    case LP_CTE_SCAN: return "CTE Scan";
    case LP_REPEAT: return "Repeat";
    }
    return "Operator";
}
static void put_blanks(JsonOut *o, int depth) {
    for (int i = 0; i < depth; i++) json_put_text(o, "  ");
}
static void put_number(JsonOut *o, const char *name, double v, int depth) {
    char text[64];
    json_put_text(o, ",\n");
    put_blanks(o, depth);
    const int n = snprintf(text, sizeof text, "\"%s\": %.0f", name, v);
    json_put(o, text, MIN_OF(n, (int)sizeof text - 1));
}
static void json_node(Out *t, const Plan *p, int depth, JsonOut *o) {
    if (stack_stop()) return;
    t->buf.len = 0;
    put_operator(t, p);
    json_put_text(o, "{\n");
    put_blanks(o, depth + 1);
    json_put_text(o, "\"Node Type\": ");
    json_put_string(o, slice_of(kind_name(p)));
    json_put_text(o, ",\n");
    put_blanks(o, depth + 1);
    json_put_text(o, "\"Operator\": ");
    json_put_string(o, (Slice){t->buf.items, t->buf.len});
    if (p->kind == LP_SCAN) {
        json_put_text(o, ",\n");
        put_blanks(o, depth + 1);
        json_put_text(o, "\"Relation Name\": ");
        json_put_string(o, slice_of(name_of_key(p->scan.table->name)));
    }
    put_number(o, "Plan Rows", p->est_rows, depth + 1);
    put_number(o, "Total Cost", p->est_cost, depth + 1);
    if (p->n_children > 0) {
        json_put_text(o, ",\n");
        put_blanks(o, depth + 1);
        json_put_text(o, "\"Plans\": [\n");
        for (int32_t i = 0; i < p->n_children; i++) {
            put_blanks(o, depth + 2);
            json_node(t, p->children[i], depth + 2, o);
            if (i + 1 < p->n_children) json_put_text(o, ",");
            json_put_text(o, "\n");
        }
        put_blanks(o, depth + 1);
        json_put_text(o, "]");
    }
    json_put_text(o, "\n");
    put_blanks(o, depth);
    json_put_text(o, "}");
}
Status plan_json(PlanCtx *c, const Plan *p, int depth, JsonOut *o) {
    Out t = {.c = c};
    number_joins(&t, p);
    json_node(&t, p, depth, o);
    TRY(stack_check(c->err));
    return t.failed ? ST_ERROR : ST_OK;
}
