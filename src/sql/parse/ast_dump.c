/* ast_dump.c - the tree as text, for tests, fuzzing and debugging.
 *
 * S-expressions, complete for queries and data changes, the essentials of other statements. Not
 * meant to be read back. NULL when memory or the stack does not suffice.
 */
#include <stdio.h>

#include "base/stack.h"
#include "sql/parse/ast_access.h"
#include "sql/parse/parse.h"

typedef struct Dump {
    Arena *a;
    VEC(char) out;
    bool failed;
} Dump;

/* Before recursion. */
static bool too_deep(Dump *d) { return d->failed |= stack_stop(); }

static void put(Dump *d, const char *s) {
    for (; *s && !d->failed; s++)
        if (!vec_push(d->a, &d->out, *s)) d->failed = true;
}
static void put_name(Dump *d, const char *label, const char *s) {
    if (!s) return;
    put(d, " ");
    put(d, label);
    put(d, "\"");
    put(d, s);
    put(d, "\"");
}
static void put_int(Dump *d, int64_t v) {
    char buf[32];
    snprintf(buf, sizeof buf, "%lld", (long long)v);
    put(d, buf);
}
static void put_flag(Dump *d, const char *label, bool on) {
    if (!on) return;
    put(d, " :");
    put(d, label);
}
static void put_qualified(Dump *d, const AstName *n) {
    put(d, " ");
    if (n->schema) {
        put(d, n->schema);
        put(d, ".");
    }
    put(d, n->name ? n->name : "?");
}
static void put_names(Dump *d, const char *label, const char *const *v, int64_t n) {
    if (n == 0) return;
    put(d, " (");
    put(d, label);
    for (int64_t i = 0; i < n; i++) put_name(d, "", v[i]);
    put(d, ")");
}

static void dump_expr(Dump *d, const AstExpr *e);
static void dump_select(Dump *d, const AstSelect *s);
static void dump_stmt(Dump *d, const AstStmt *s);

static void dump_opt(Dump *d, const char *label, const AstExpr *e) {
    if (!e) return;
    put(d, " (");
    put(d, label);
    put(d, " ");
    dump_expr(d, e);
    put(d, ")");
}
static void dump_exprs(Dump *d, AstExpr *const *v, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        put(d, " ");
        dump_expr(d, v[i]);
    }
}
static void dump_expr_list(Dump *d, const char *label, AstExpr *const *v, int64_t n) {
    if (n == 0) return;
    put(d, " (");
    put(d, label);
    dump_exprs(d, v, n);
    put(d, ")");
}
static void dump_order(Dump *d, const AstOrderItem *v, int64_t n) {
    if (n == 0) return;
    put(d, " (order_by");
    for (int64_t i = 0; i < n; i++) {
        put(d, " ");
        dump_expr(d, v[i].expr);
        put(d, v[i].desc ? " desc" : " asc");
        if (v[i].nulls) put(d, v[i].nulls == AST_NULLS_FIRST ? " nulls first" : " nulls last");
    }
    put(d, ")");
}
static void dump_type(Dump *d, const AstTypeName *t) {
    put(d, " ");
    if (t->schema) {
        put(d, t->schema);
        put(d, ".");
    }
    put(d, t->name);
    for (int32_t i = 0; i < t->n_mods; i++) {
        put(d, i ? "," : "(");
        put_int(d, t->mods[i]);
        if (i == t->n_mods - 1) put(d, ")");
    }
    if (t->interval_fields) {
        put(d, " fields=");
        put_int(d, t->interval_fields);
    }
    if (t->percent_type) put(d, "%type");
    for (int32_t i = 0; i < t->array_dims; i++) put(d, "[]");
}

static void dump_window(Dump *d, const AstWindow *w) {
    static const char *const modes[] = {"range", "rows", "groups"};
    static const char *const bounds[] = {"unbounded_preceding", "preceding", "current_row", "following",
                                         "unbounded_following"};
    static const char *const excludes[] = {"", "exclude_current_row", "exclude_group", "exclude_ties"};
    put(d, " (window");
    put_name(d, "", w->name);
    put_name(d, "base=", w->base);
    dump_expr_list(d, "partition_by", w->partition_by, w->n_partition_by);
    dump_order(d, w->order_by, w->n_order_by);
    if (w->has_frame) {
        put(d, " (");
        put(d, modes[w->mode]);
        put(d, " ");
        put(d, bounds[w->start]);
        dump_opt(d, "offset", w->start_offset);
        put(d, " ");
        put(d, bounds[w->end]);
        dump_opt(d, "offset", w->end_offset);
        if (w->exclude) {
            put(d, " ");
            put(d, excludes[w->exclude]);
        }
        put(d, ")");
    }
    put(d, ")");
}

static void dump_func(Dump *d, const AstFunc *f) {
    put_qualified(d, &f->name);
    put_flag(d, "star", f->star);
    put_flag(d, "distinct", f->distinct);
    put_flag(d, "variadic", f->variadic);
    put_flag(d, "within_group", f->within_group);
    for (int64_t i = 0; i < f->n_args; i++) {
        if (f->arg_names && f->arg_names[i]) put_name(d, "=>", f->arg_names[i]);
        put(d, " ");
        dump_expr(d, f->args[i]);
    }
    dump_order(d, f->order_by, f->n_order_by);
    dump_opt(d, "filter", f->filter);
    if (f->over) dump_window(d, f->over);
}

static void dump_expr_body(Dump *d, const AstExpr *e) {
    static const char *const tests[] = {"null", "true", "false", "unknown"};
    static const char *const subs[] = {"exists", "scalar", "any", "all", "array"};
    static const char *const likes[] = {"like", "ilike", "similar"};
    switch (e->kind) {
    case AST_BOOL_LIT: put(d, AST_AS_CONST(AstLiteral, e)->b ? " true" : " false"); break;
    case AST_INT_LIT:
        put(d, " ");
        put_int(d, AST_AS_CONST(AstLiteral, e)->i);
        break;
    case AST_NUMBER_LIT:
    case AST_STRING_LIT:
    case AST_BITS_LIT: put_name(d, "", AST_AS_CONST(AstLiteral, e)->text.ptr); break;
    case AST_CAST:
        put(d, " ");
        dump_expr(d, AST_AS_CONST(AstCast, e)->arg);
        dump_type(d, AST_AS_CONST(AstCast, e)->type);
        break;
    case AST_CURRENT_OF: put_name(d, "", AST_AS_CONST(AstCurrentOf, e)->cursor); break;
    case AST_PARAM:
        put(d, " ");
        put_int(d, AST_AS_CONST(AstParam, e)->number);
        break;
    case AST_COLUMN:
    case AST_STAR: {
        const AstColumn *c = AST_AS_CONST(AstColumn, e);
        put_name(d, "schema=", c->schema);
        put_name(d, "table=", c->table);
        put_name(d, "", c->name);
        break;
    }
    case AST_FIELD:
        put(d, " ");
        dump_expr(d, AST_AS_CONST(AstField, e)->arg);
        put_name(d, "", AST_AS_CONST(AstField, e)->name);
        break;
    case AST_SUBSCRIPT: {
        const AstSubscript *s = AST_AS_CONST(AstSubscript, e);
        put(d, " ");
        dump_expr(d, s->arg);
        put_flag(d, "slice", s->is_slice);
        put_flag(d, "chained", s->chained);
        dump_opt(d, "lower", s->lower);
        dump_opt(d, "upper", s->upper);
        break;
    }
    case AST_COLLATE:
        put(d, " ");
        dump_expr(d, AST_AS_CONST(AstCollate, e)->arg);
        put_qualified(d, &AST_AS_CONST(AstCollate, e)->collation);
        break;
    case AST_OP: {
        const AstOp *o = AST_AS_CONST(AstOp, e);
        put(d, " ");
        put(d, o->op);
        if (o->left) {
            put(d, " ");
            dump_expr(d, o->left);
        }
        put(d, " ");
        dump_expr(d, o->right);
        break;
    }
    case AST_AND:
    case AST_OR:
    case AST_NOT: dump_exprs(d, AST_AS_CONST(AstBool, e)->items, AST_AS_CONST(AstBool, e)->n_items); break;
    case AST_IS: {
        const AstIs *i = AST_AS_CONST(AstIs, e);
        put(d, i->negated ? " not " : " ");
        put(d, tests[i->test]);
        put(d, " ");
        dump_expr(d, i->arg);
        break;
    }
    case AST_DISTINCT_FROM: {
        const AstDistinctFrom *x = AST_AS_CONST(AstDistinctFrom, e);
        put(d, x->negated ? " not " : " ");
        dump_expr(d, x->left);
        put(d, " ");
        dump_expr(d, x->right);
        break;
    }
    case AST_BETWEEN: {
        const AstBetween *b = AST_AS_CONST(AstBetween, e);
        put_flag(d, "not", b->negated);
        put_flag(d, "symmetric", b->symmetric);
        dump_exprs(d, &b->arg, 1);
        dump_exprs(d, &b->low, 1);
        dump_exprs(d, &b->high, 1);
        break;
    }
    case AST_IN_LIST: {
        const AstInList *x = AST_AS_CONST(AstInList, e);
        put_flag(d, "not", x->negated);
        dump_exprs(d, &x->arg, 1);
        dump_expr_list(d, "items", x->items, x->n_items);
        break;
    }
    case AST_QUANTIFIED: {
        const AstQuantified *q = AST_AS_CONST(AstQuantified, e);
        put(d, " ");
        put(d, q->op);
        put(d, q->all ? " all" : " any");
        dump_exprs(d, &q->left, 1);
        dump_exprs(d, &q->array, 1);
        break;
    }
    case AST_SUBLINK: {
        const AstSubLink *s = AST_AS_CONST(AstSubLink, e);
        put(d, " ");
        put(d, subs[s->sub_kind]);
        put_name(d, "op=", s->op);
        dump_opt(d, "test", s->test);
        put(d, " ");
        dump_select(d, s->query);
        break;
    }
    case AST_CASE: {
        const AstCase *c = AST_AS_CONST(AstCase, e);
        dump_opt(d, "arg", c->arg);
        for (int64_t i = 0; i < c->n_whens; i++) {
            dump_opt(d, "when", c->whens[i].when);
            dump_opt(d, "then", c->whens[i].then);
        }
        dump_opt(d, "else", c->otherwise);
        break;
    }
    case AST_COALESCE:
    case AST_GREATEST:
    case AST_LEAST:
    case AST_NULLIF:
    case AST_ARRAY:
    case AST_ROW:
    case AST_GROUPING: dump_exprs(d, AST_AS_CONST(AstList, e)->items, AST_AS_CONST(AstList, e)->n_items); break;
    case AST_LIKE: {
        const AstLike *l = AST_AS_CONST(AstLike, e);
        put_flag(d, "not", l->negated);
        put(d, " ");
        put(d, likes[l->like_kind]);
        dump_exprs(d, &l->arg, 1);
        dump_exprs(d, &l->pattern, 1);
        dump_opt(d, "escape", l->escape);
        break;
    }
    case AST_FUNC: dump_func(d, AST_AS_CONST(AstFunc, e)); break;
    case AST_SQL_VALUE:
        put(d, " ");
        put_int(d, AST_AS_CONST(AstSqlValue, e)->value);
        break;
    default: break;
    }
}

static void dump_expr(Dump *d, const AstExpr *e) {
    if (too_deep(d)) return;
    if (!e) {
        put(d, "...");
        return;
    }
    put(d, "(");
    put(d, ast_kind_name(e->kind));
    dump_expr_body(d, e);
    put(d, ")");
}

static void dump_alias(Dump *d, const AstAlias *a) {
    put_name(d, "as=", a->name);
    put_names(d, "columns", a->columns, a->n_columns);
}

static void dump_from(Dump *d, const AstFrom *f) {
    static const char *const joins[] = {"inner", "left", "right", "full", "cross"};
    if (too_deep(d)) return;
    put(d, " (");
    put(d, ast_kind_name(f->kind));
    switch (f->kind) {
    case AST_FROM_TABLE:
        put_qualified(d, &AST_AS_CONST(AstFromTable, f)->name);
        put_flag(d, "only", AST_AS_CONST(AstFromTable, f)->only);
        put_flag(d, "file", AST_AS_CONST(AstFromTable, f)->file != NULL);
        put_flag(d, "sample", AST_AS_CONST(AstFromTable, f)->sample != NULL);
        dump_alias(d, &AST_AS_CONST(AstFromTable, f)->alias);
        break;
    case AST_FROM_SUBQUERY:
        put_flag(d, "lateral", AST_AS_CONST(AstFromSubquery, f)->lateral);
        dump_alias(d, &AST_AS_CONST(AstFromSubquery, f)->alias);
        put(d, " ");
        dump_select(d, AST_AS_CONST(AstFromSubquery, f)->query);
        break;
    case AST_FROM_FUNC:
        put_flag(d, "lateral", AST_AS_CONST(AstFromFunc, f)->lateral);
        put_flag(d, "ordinality", AST_AS_CONST(AstFromFunc, f)->ordinality);
        dump_alias(d, &AST_AS_CONST(AstFromFunc, f)->alias);
        for (int64_t i = 0; i < AST_AS_CONST(AstFromFunc, f)->n_funcs; i++) {
            put(d, " ");
            dump_expr(d, AST_AS_CONST(AstFromFunc, f)->funcs[i].call);
        }
        break;
    case AST_FROM_JOIN: {
        const AstFromJoin *j = AST_AS_CONST(AstFromJoin, f);
        put(d, " ");
        put(d, joins[j->type]);
        put_flag(d, "natural", j->natural);
        dump_alias(d, &j->alias);
        dump_from(d, j->left);
        dump_from(d, j->right);
        put_names(d, "using", j->using_columns, j->n_using);
        put_name(d, "using_alias=", j->using_alias);
        dump_opt(d, "on", j->on);
        break;
    }
    default: break;
    }
    put(d, ")");
}

static void dump_targets(Dump *d, const char *label, const AstTarget *v, int64_t n) {
    if (n == 0) return;
    put(d, " (");
    put(d, label);
    for (int64_t i = 0; i < n; i++) {
        put(d, " ");
        dump_expr(d, v[i].expr);
        put_name(d, "as=", v[i].alias);
    }
    put(d, ")");
}

static void dump_groups(Dump *d, const AstGroupItem *v, int64_t n) {
    static const char *const kinds[] = {"expr", "empty", "rollup", "cube", "sets"};
    if (too_deep(d)) return;
    for (int64_t i = 0; i < n; i++) {
        put(d, " (");
        put(d, kinds[v[i].kind]);
        if (v[i].expr) {
            put(d, " ");
            dump_expr(d, v[i].expr);
        }
        dump_groups(d, v[i].items, v[i].n_items);
        put(d, ")");
    }
}

static void dump_search(Dump *d, const AstSearch *s) {
    if (!s) return;
    put(d, s->breadth ? " (search_breadth" : " (search_depth");
    put_names(d, "by", s->columns, s->n_columns);
    put_name(d, "set", s->sequence);
    put(d, ")");
}
static void dump_cycle(Dump *d, const AstCycle *s) {
    if (!s) return;
    put(d, " (cycle");
    put_names(d, "by", s->columns, s->n_columns);
    put_name(d, "set", s->mark);
    dump_opt(d, "to", s->value);
    dump_opt(d, "default", s->other);
    put_name(d, "using", s->path);
    put(d, ")");
}

static void dump_with(Dump *d, const AstWith *w) {
    static const char *const mats[] = {"", " materialized", " not_materialized"};
    if (!w) return;
    put(d, w->recursive ? " (with_recursive" : " (with");
    for (int64_t i = 0; i < w->n_ctes; i++) {
        put_name(d, "", w->ctes[i].name);
        put_names(d, "columns", w->ctes[i].columns, w->ctes[i].n_columns);
        put(d, mats[w->ctes[i].materialized]);
        put(d, " ");
        dump_stmt(d, w->ctes[i].query);
        dump_search(d, w->ctes[i].search);
        dump_cycle(d, w->ctes[i].cycle);
    }
    put(d, ")");
}

static void dump_select_body(Dump *d, const AstSelect *s) {
    static const char *const ops[] = {"", " union", " intersect", " except"};
    dump_with(d, s->with);
    if (s->set_op) {
        put(d, ops[s->set_op]);
        put_flag(d, "all", s->set_all);
        put(d, " ");
        dump_select(d, s->left);
        put(d, " ");
        dump_select(d, s->right);
    }
    for (int64_t i = 0; s->values && i < s->n_values; i++)
        dump_expr_list(d, "row", s->values[i].items, s->values[i].n_items);
    put_flag(d, "distinct", s->distinct);
    dump_expr_list(d, "on", s->distinct_on, s->n_distinct_on);
    dump_targets(d, "targets", s->targets, s->n_targets);
    if (s->n_from) {
        put(d, " (from");
        for (int64_t i = 0; i < s->n_from; i++) dump_from(d, s->from[i]);
        put(d, ")");
    }
    dump_opt(d, "where", s->where);
    if (s->n_group_by) {
        put(d, s->group_distinct ? " (group_by_distinct" : " (group_by");
        dump_groups(d, s->group_by, s->n_group_by);
        put(d, ")");
    }
    dump_opt(d, "having", s->having);
    for (int64_t i = 0; i < s->n_windows; i++) dump_window(d, &s->windows[i]);
    dump_order(d, s->order_by, s->n_order_by);
    dump_opt(d, "limit", s->limit);
    put_flag(d, "with_ties", s->limit_with_ties);
    dump_opt(d, "offset", s->offset);
    put_flag(d, "for_update", s->lock != NULL);
}

static void dump_select(Dump *d, const AstSelect *s) {
    if (too_deep(d)) return;
    put(d, s->values ? "(values" : "(select");
    dump_select_body(d, s);
    put(d, ")");
}

static void dump_path(Dump *d, const AstPath *p) {
    for (int64_t i = 0; i < p->n; i++) {
        const AstSubscripts *s = &p->steps[i].subscripts;
        if (p->steps[i].field) {
            put(d, "[");
            put(d, p->steps[i].field);
            put(d, "] ");
        }
        for (int64_t k = 0; k < s->n; k++) {
            put(d, "[");
            put_flag(d, "slice", s->items[k]->is_slice);
            dump_opt(d, "lower", s->items[k]->lower);
            dump_opt(d, "upper", s->items[k]->upper);
            put(d, "] ");
        }
        put(d, "] ");
    }
}
static void dump_assigns(Dump *d, const AstAssign *v, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        put_names(d, "set", v[i].columns, v[i].n_columns);
        put(d, " ");
        dump_path(d, &v[i].path);
        dump_expr(d, v[i].value);
    }
}

static void dump_options(Dump *d, const AstOption *v, int64_t n) {
    if (n == 0) return;
    put(d, " (options");
    for (int64_t i = 0; i < n; i++) {
        put_name(d, "in=", v[i].space);
        put_name(d, "", v[i].name);
        put_name(d, "=", v[i].value);
        put_names(d, "list", v[i].list, v[i].n_list);
        put_flag(d, "star", v[i].star);
    }
    put(d, ")");
}

static void dump_source(Dump *d, const char *label, Slice s) {
    if (s.len == 0) return;
    char *copy = arena_strndup(d->a, s.ptr, s.len);
    if (!copy) d->failed = true;
    put_name(d, label, copy);
}

static void dump_sequence_options(Dump *d, const AstSequenceOption *v, int64_t n) {
    static const char *const names[] = {"as",    "increment", "start",    "restart", "maxvalue", "minvalue",
                                        "cache", "cycle",     "owned_by", "name",    "generated"};
    for (int64_t i = 0; i < n; i++) {
        put(d, " (");
        put(d, names[v[i].kind]);
        put_flag(d, "on", v[i].on);
        if (v[i].has_number) put_int(d, v[i].number);
        if (v[i].type) dump_type(d, v[i].type);
        if (v[i].owner.name) put_qualified(d, &v[i].owner);
        put(d, ")");
    }
}

static void dump_constraints(Dump *d, const AstConstraint *v, int64_t n) {
    static const char *const kinds[] = {"not_null", "null",        "default",   "check",   "primary_key",
                                        "unique",   "foreign_key", "generated", "identity"};
    for (int64_t i = 0; i < n; i++) {
        const AstConstraint *k = &v[i];
        put(d, " (");
        put(d, kinds[k->kind]);
        put_name(d, "name=", k->name);
        put_names(d, "columns", k->columns, k->n_columns);
        if (k->ref_table.name) put_qualified(d, &k->ref_table);
        put_names(d, "ref", k->ref_columns, k->n_ref_columns);
        put_names(d, "set", k->set_columns, k->n_set_columns);
        put_flag(d, "match_full", k->match_full);
        put_flag(d, "deferrable", k->deferrable);
        put_flag(d, "deferred", k->deferred);
        dump_source(d, "source=", k->expr_source);
        dump_opt(d, "expr", k->expr);
        dump_sequence_options(d, k->sequence, k->n_sequence);
        put(d, ")");
    }
}

static void dump_column_def(Dump *d, const AstColumnDef *c) {
    put(d, " (column_def ");
    put(d, c->name ? c->name : "-");
    if (c->type) dump_type(d, c->type);
    dump_constraints(d, c->constraints, c->n_constraints);
    put(d, ")");
}

static void dump_params(Dump *d, const AstFuncParam *p, int64_t n) {
    static const char *const modes[] = {"in", "out", "inout", "table", "variadic"};
    put(d, " (params");
    for (int64_t i = 0; i < n; i++) {
        put(d, " (");
        put(d, modes[p[i].mode]);
        if (p[i].name) put_name(d, "", p[i].name);
        dump_type(d, p[i].type);
        if (p[i].def) dump_opt(d, "default=", p[i].def);
        put(d, ")");
    }
    put(d, ")");
}

static void dump_signature(Dump *d, const AstFuncSignature *x) {
    put_qualified(d, &x->name);
    if (x->has_args) dump_params(d, x->params, x->n_params);
}
static void dump_create_function(Dump *d, const AstCreateFunction *x) {
    put_flag(d, "procedure", x->is_procedure);
    put_flag(d, "or_replace", x->or_replace);
    put_flag(d, "strict", x->strict);
    put_qualified(d, &x->name);
    dump_params(d, x->params, x->n_params);
    if (x->ret) dump_type(d, x->ret);
    put_name(d, "language=", x->language);
    dump_source(d, "body=", x->body);
    if (x->aggregate) {
        put(d, " (aggregate");
        put_qualified(d, &x->aggregate->sfunc);
        if (x->aggregate->stype) dump_type(d, x->aggregate->stype);
        dump_source(d, "initcond=", x->aggregate->initcond);
        put(d, ")");
    }
}

static void dump_insert(Dump *d, const AstInsert *x) {
    dump_with(d, x->with);
    put_qualified(d, &x->table);
    put_name(d, "as=", x->alias);
    put_names(d, "columns", x->columns, x->n_columns);
    put(d, " ");
    for (int64_t i = 0; i < x->n_columns; i++) dump_path(d, &x->paths[i]);
    if (x->query) dump_select(d, x->query);
    else put(d, "default_values");
    if (x->on_conflict) {
        put(d, x->on_conflict->do_update ? " (do_update" : " (do_nothing");
        dump_expr_list(d, "target", x->on_conflict->target, x->on_conflict->n_target);
        put_name(d, "constraint=", x->on_conflict->constraint);
        dump_assigns(d, x->on_conflict->set, x->on_conflict->n_set);
        dump_opt(d, "where", x->on_conflict->where);
        put(d, ")");
    }
    dump_targets(d, "returning", x->returning, x->n_returning);
}
static void dump_update(Dump *d, const AstUpdate *x) {
    dump_with(d, x->with);
    dump_from(d, (const AstFrom *)x->table);
    dump_assigns(d, x->set, x->n_set);
    for (int64_t i = 0; i < x->n_from; i++) dump_from(d, x->from[i]);
    dump_opt(d, "where", x->where);
    dump_targets(d, "returning", x->returning, x->n_returning);
}
static void dump_delete(Dump *d, const AstDelete *x) {
    dump_with(d, x->with);
    dump_from(d, (const AstFrom *)x->table);
    for (int64_t i = 0; i < x->n_using; i++) dump_from(d, x->using_items[i]);
    dump_opt(d, "where", x->where);
    dump_targets(d, "returning", x->returning, x->n_returning);
}
static void dump_merge_when(Dump *d, const AstMergeWhen *x) {
    static const char *const actions[] = {"nothing", "insert", "update", "delete"};
    put(d, x->matched ? " (matched " : " (not_matched ");
    put(d, actions[x->action]);
    dump_opt(d, "and", x->condition);
    if (x->insert) dump_insert(d, x->insert);
    dump_assigns(d, x->set, x->n_set);
    put(d, ")");
}
static void dump_merge(Dump *d, const AstMerge *x) {
    dump_with(d, x->with);
    dump_from(d, (const AstFrom *)x->table);
    dump_from(d, x->using_item);
    dump_opt(d, "on", x->on);
    for (int64_t i = 0; i < x->n_whens; i++) dump_merge_when(d, &x->whens[i]);
}
static void dump_create_table(Dump *d, const AstCreateTable *x) {
    put_qualified(d, &x->name);
    put_flag(d, "if_not_exists", x->if_not_exists);
    put_flag(d, "temporary", x->temporary);
    put_flag(d, "unlogged", x->unlogged);
    for (int64_t i = 0; i < x->n_columns; i++) dump_column_def(d, x->columns[i]);
    for (int64_t i = 0; i < x->n_likes; i++) {
        put(d, " like");
        put_qualified(d, &x->likes[i].name);
    }
    dump_constraints(d, x->constraints, x->n_constraints);
    dump_options(d, x->options, x->n_options);
}
static void dump_create_table_as(Dump *d, const AstCreateTableAs *x) {
    put_qualified(d, &x->name);
    put_flag(d, "if_not_exists", x->if_not_exists);
    put_flag(d, "temporary", x->temporary);
    put_flag(d, "unlogged", x->unlogged);
    put_flag(d, "materialized_view", x->materialized_view);
    put_flag(d, "with_no_data", x->with_no_data);
    put_names(d, "columns", x->columns, x->n_columns);
    dump_options(d, x->options, x->n_options);
    put(d, " ");
    dump_stmt(d, x->query);
}
static void dump_create_view(Dump *d, const AstCreateView *x) {
    put_qualified(d, &x->name);
    put_flag(d, "or_replace", x->or_replace);
    put_flag(d, "recursive", x->recursive);
    put_flag(d, "local_check", x->check_option == 'l');
    put_flag(d, "cascaded_check", x->check_option == 'c');
    put_names(d, "columns", x->columns, x->n_columns);
    dump_source(d, "source=", x->query_source);
    put(d, " ");
    dump_select(d, x->query);
}
static void dump_index_elems(Dump *d, const AstIndexElem *e, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        put_name(d, "column=", e[i].column);
        dump_opt(d, "expr", e[i].expr);
        put_name(d, "opclass=", e[i].opclass);
        put_flag(d, "desc", e[i].desc);
    }
}
static void dump_refresh(Dump *d, const AstRefresh *x) {
    put_qualified(d, &x->name);
    put_flag(d, "concurrently", x->concurrently);
    put_flag(d, "with_no_data", x->with_no_data);
}
static void dump_create_index(Dump *d, const AstCreateIndex *x) {
    put_name(d, "", x->name);
    put_qualified(d, &x->table);
    put_name(d, "method=", x->method);
    put_flag(d, "unique", x->unique);
    put_flag(d, "if_not_exists", x->if_not_exists);
    dump_index_elems(d, x->elems, x->n_elems);
    if (x->n_include > 0) put(d, " include");
    dump_index_elems(d, x->include, x->n_include);
    dump_options(d, x->options, x->n_options);
    dump_opt(d, "where", x->where);
}
static void dump_reindex(Dump *d, const AstReindex *x) {
    static const char *const kinds[] = {"index", "table", "schema", "system", "database"};
    put(d, " ");
    put(d, kinds[x->kind_of]);
    put_qualified(d, &x->name);
    dump_options(d, x->options, x->n_options);
}
static void dump_cluster(Dump *d, const AstCluster *x) {
    if (x->table.name) put_qualified(d, &x->table);
    put_name(d, "using=", x->index);
    dump_options(d, x->options, x->n_options);
}
static void dump_drop(Dump *d, const AstDrop *x) {
    put(d, " ");
    put(d, x->object_name);
    put_flag(d, "if_exists", x->if_exists);
    put_flag(d, "cascade", x->cascade);
    for (int64_t i = 0; i < x->n_names; i++) put_qualified(d, &x->names[i]);
}
static void dump_alter_cmd(Dump *d, const AstAlterCmd *x) {
    static const char *const kinds[] = {"add_column",      "drop_column",
                                        "set_not_null",    "drop_not_null",
                                        "set_default",     "drop_default",
                                        "set_type",        "add_constraint",
                                        "drop_constraint", "validate_constraint",
                                        "constraint",      "set_options",
                                        "reset_options",   "add_identity",
                                        "set_identity",    "drop_identity",
                                        "drop_expression", "cluster_on",
                                        "drop_cluster",    "set_logged",
                                        "set_unlogged",    "owner",
                                        "set_statistics",  "other"};
    put(d, " (");
    put(d, kinds[x->kind]);
    put_name(d, "", x->name);
    put_name(d, "what=", x->what);
    if (x->column) dump_column_def(d, x->column);
    dump_source(d, "source=", x->expr_source);
    dump_opt(d, "expr", x->expr);
    if (x->constraint) dump_constraints(d, x->constraint, 1);
    dump_sequence_options(d, x->sequence, x->n_sequence);
    dump_options(d, x->options, x->n_options);
    put(d, ")");
}
static void dump_alter_table(Dump *d, const AstAlterTable *x) {
    put_qualified(d, &x->table);
    for (int64_t i = 0; i < x->n_cmds; i++) dump_alter_cmd(d, &x->cmds[i]);
}
static void dump_create_schema(Dump *d, const AstCreateSchema *x) {
    put_name(d, "", x->name);
    if (x->owner) put_name(d, "owner=", x->owner);
    for (int64_t i = 0; i < x->n_elements; i++) {
        put(d, " ");
        dump_stmt(d, x->elements[i]);
    }
}
static void dump_alter_routine(Dump *d, const AstAlterRoutine *x) {
    const AstFuncOptions *o = &x->options;
    put_qualified(d, &x->of->name);
    put_name(d, "new=", x->new_name);
    if (o->volatility) put(d, arena_printf(d->a, " %c", o->volatility));
    if (o->strict >= 0) put(d, o->strict ? " strict" : " called");
    if (o->definer >= 0) put(d, o->definer ? " definer" : " invoker");
    if (o->leakproof >= 0) put(d, o->leakproof ? " leakproof" : " not leakproof");
    if (o->parallel) put(d, arena_printf(d->a, " parallel=%c", o->parallel));
    if (o->cost > 0) put(d, arena_printf(d->a, " cost=%g", o->cost));
    if (o->rows > 0) put(d, arena_printf(d->a, " rows=%g", o->rows));
    for (int64_t i = 0; i < o->n_sets; i++) {
        put(d, " ");
        dump_stmt(d, (const AstStmt *)o->sets[i]);
    }
}
static void dump_rename(Dump *d, const AstRename *x) {
    put_qualified(d, &x->name);
    put_name(d, "old=", x->old_name);
    put_name(d, "new=", x->new_name);
}
static void dump_comment(Dump *d, const AstComment *x) {
    put(d, " ");
    put(d, x->object_name);
    if (x->routine) dump_signature(d, x->routine);
    else put_qualified(d, &x->name);
    put_name(d, "part=", x->part);
    put_name(d, "", x->comment);
}
static void dump_copy(Dump *d, const AstCopy *x) {
    put(d, x->from ? " from" : " to");
    if (x->table.name) put_qualified(d, &x->table);
    put_names(d, "columns", x->columns, x->n_columns);
    put_name(d, "path=", x->path);
    put_flag(d, "program", x->program);
    dump_options(d, x->options, x->n_options);
    dump_opt(d, "where", x->where);
    if (x->query) {
        put(d, " ");
        dump_stmt(d, x->query);
    }
}
static void dump_prepare(Dump *d, const AstPrepare *x) {
    put_name(d, "", x->name);
    for (int64_t i = 0; i < x->n_types; i++) dump_type(d, x->types[i]);
    dump_source(d, "source=", x->query_source);
    put(d, " ");
    dump_stmt(d, x->query);
}
static void dump_set(Dump *d, const AstSet *x) {
    static const char *const kinds[] = {"value",     "default",     "current",
                                        "reset_all", "transaction", "session_characteristics"};
    put(d, " ");
    put(d, kinds[x->set_kind]);
    put_name(d, "", x->name);
    put_flag(d, "local", x->is_local);
    dump_exprs(d, x->values, x->n_values);
    dump_options(d, x->options, x->n_options);
}
static void dump_vacuum(Dump *d, const AstVacuum *x) {
    put(d, x->is_vacuum ? " vacuum" : " analyze");
    dump_options(d, x->options, x->n_options);
    for (int64_t i = 0; i < x->n_tables; i++) put_qualified(d, &x->tables[i]);
}
static void dump_drop_function(Dump *d, const AstDropFunction *x) {
    put_flag(d, "if_exists", x->if_exists);
    put_flag(d, "cascade", x->cascade);
    for (int64_t i = 0; i < x->n_items; i++) dump_signature(d, &x->items[i]);
}

static void dump_create_enum(Dump *d, const AstCreateEnum *x) {
    put_qualified(d, &x->name);
    for (int64_t i = 0; i < x->n_labels; i++) put_name(d, "label=", x->labels[i]);
}
static void dump_alter_enum(Dump *d, const AstAlterEnum *x) {
    put_qualified(d, &x->name);
    put_name(d, "old=", x->old_label);
    put_name(d, "label=", x->label);
    put_name(d, x->after ? "after=" : "before=", x->neighbor);
    put_flag(d, "if_not_exists", x->if_not_exists);
    put_name(d, "new=", x->new_name);
}

static void dump_create_composite(Dump *d, const AstCreateComposite *x) {
    put_qualified(d, &x->name);
    for (int64_t i = 0; i < x->n_cols; i++) dump_column_def(d, x->cols[i]);
}

static void dump_create_range(Dump *d, const AstCreateRange *x) {
    put_qualified(d, &x->name);
    for (int64_t i = 0; i < x->n_options; i++) {
        put_name(d, "option=", x->options[i].name);
        if (x->options[i].value) dump_type(d, x->options[i].value);
    }
}

static void dump_create_domain(Dump *d, const AstCreateDomain *x) {
    put_qualified(d, &x->name);
    dump_column_def(d, x->def);
}
static void dump_alter_domain(Dump *d, const AstAlterDomain *x) {
    put_qualified(d, &x->name);
    put_name(d, "old=", x->old_name);
    put_name(d, "new=", x->new_name);
    if (!x->new_name) dump_alter_cmd(d, &x->cmd);
}

static void dump_sequence(Dump *d, const AstSequence *x) {
    put_qualified(d, &x->name);
    put_flag(d, "if_exists", x->if_exists);
    put_flag(d, "temporary", x->temporary);
    put_flag(d, "unlogged", x->unlogged);
    dump_sequence_options(d, x->options, x->n_options);
}
static void dump_declare_cursor(Dump *d, const AstDeclareCursor *x) {
    put_name(d, "", x->name);
    put_flag(d, "binary", x->binary);
    put_flag(d, "scroll", x->scroll);
    put_flag(d, "no_scroll", x->no_scroll);
    put_flag(d, "insensitive", x->insensitive);
    put_flag(d, "asensitive", x->asensitive);
    put_flag(d, "hold", x->hold);
    put(d, " ");
    dump_select(d, x->query);
}
static void dump_fetch(Dump *d, const AstFetch *x) {
    static const char *const directions[] = {" forward ", " backward ", " absolute ", " relative "};
    put_name(d, "", x->name);
    put_flag(d, "move", x->move);
    put(d, directions[x->direction]);
    if (x->count == AST_FETCH_ALL) put(d, "all");
    else put_int(d, x->count);
}
static void dump_lock(Dump *d, const AstLock *x) {
    for (int64_t i = 0; i < x->n_tables; i++) put_qualified(d, &x->tables[i]);
    put_name(d, "mode=", x->mode);
    put_flag(d, "nowait", x->nowait);
}

/* ---- roles and privileges ---- */
static void put_role(Dump *d, const char *label, const AstRoleSpec *r) {
    const char word[] = {r->what, 0};
    put_name(d, label, r->name ? r->name : word);
}
static void put_roles(Dump *d, const char *label, const AstRoleSpecs *r) {
    for (int64_t i = 0; i < r->n; i++) put_role(d, label, &r->items[i]);
}
static void dump_role(Dump *d, const AstRole *x) {
    const char action[] = {' ', x->action, 0};
    put(d, action);
    put_flag(d, "if_exists", x->if_exists);
    put_roles(d, "", &x->roles);
    for (int64_t i = 0; i < x->n_options; i++) {
        put_flag(d, x->options[i].name, true);
        put_name(d, "=", x->options[i].text);
        put_roles(d, "=", &x->options[i].roles);
    }
}
static void dump_privileges(Dump *d, const AstPrivilege *p, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        put_name(d, "", p[i].name ? p[i].name : "all");
        put_names(d, "of", p[i].cols, p[i].n_cols);
    }
}
static void dump_grantees(Dump *d, const AstGrantees *g) {
    put_flag(d, g->is_grant ? "grant" : "revoke", true);
    put_flag(d, "option", g->option);
    put_flag(d, "cascade", g->cascade);
    put_roles(d, g->is_grant ? "to=" : "from=", &g->to);
    if (g->grantor) put_role(d, "by=", g->grantor);
}
static void dump_grant(Dump *d, const AstGrant *x) {
    const char what[] = {' ', x->object, x->target, 0};
    put(d, what);
    dump_privileges(d, x->privileges, x->n_privileges);
    for (int64_t i = 0; i < x->n_names; i++) put_qualified(d, x->routines ? &x->routines[i].name : &x->names[i]);
    put_roles(d, "for=", &x->for_roles);
    put_names(d, "in", x->in_schemas, x->n_in_schemas);
    dump_grantees(d, &x->grantees);
}
static void dump_access(Dump *d, const AstStmt *s) {
    const AstRoleSet *set;
    const AstOwned *owned;
    const AstPolicy *policy;
    const AstOwner *owner;
    switch (s->kind) {
    case AST_ROLE: dump_role(d, AST_AS_CONST(AstRole, s)); break;
    case AST_ROLE_SET:
        set = AST_AS_CONST(AstRoleSet, s);
        if (set->role) put_role(d, "", set->role);
        put_name(d, "in=", set->database);
        put_name(d, "set=", set->set->name);
        break;
    case AST_GRANT_ROLE:
        dump_privileges(d, AST_AS_CONST(AstGrantRole, s)->roles, AST_AS_CONST(AstGrantRole, s)->n_roles);
        dump_grantees(d, &AST_AS_CONST(AstGrantRole, s)->grantees);
        break;
    case AST_GRANT: dump_grant(d, AST_AS_CONST(AstGrant, s)); break;
    case AST_OWNER:
        owner = AST_AS_CONST(AstOwner, s);
        put_qualified(d, owner->routine ? &owner->routine->name : &owner->name);
        put_role(d, "to=", owner->owner);
        break;
    case AST_POLICY:
        policy = AST_AS_CONST(AstPolicy, s);
        put_qualified(d, &policy->table);
        put_name(d, "name=", policy->name);
        put_name(d, "to=", policy->new_name);
        put_roles(d, "", &policy->roles);
        break;
    default:
        owned = AST_AS_CONST(AstOwned, s);
        put_flag(d, owned->drop ? "drop" : "reassign", true);
        put_flag(d, "cascade", owned->cascade);
        put_roles(d, "", &owned->roles);
        if (owned->to) put_role(d, "to=", owned->to);
    }
}

/* What stands behind the kind of a statement: a function for each that has more than a name. */
static void dump_stmt_body(Dump *d, const AstStmt *s) {
    switch (s->kind) {
    case AST_ROLE:
    case AST_ROLE_SET:
    case AST_GRANT_ROLE:
    case AST_GRANT:
    case AST_OWNER:
    case AST_OWNED:
    case AST_POLICY: dump_access(d, s); break;
    case AST_INSERT: dump_insert(d, AST_AS_CONST(AstInsert, s)); break;
    case AST_UPDATE: dump_update(d, AST_AS_CONST(AstUpdate, s)); break;
    case AST_DELETE: dump_delete(d, AST_AS_CONST(AstDelete, s)); break;
    case AST_MERGE: dump_merge(d, AST_AS_CONST(AstMerge, s)); break;
    case AST_TRUNCATE:
        for (int64_t i = 0; i < AST_AS_CONST(AstTruncate, s)->n_tables; i++)
            put_qualified(d, &AST_AS_CONST(AstTruncate, s)->tables[i]);
        break;
    case AST_CREATE_TABLE: dump_create_table(d, AST_AS_CONST(AstCreateTable, s)); break;
    case AST_CREATE_TABLE_AS: dump_create_table_as(d, AST_AS_CONST(AstCreateTableAs, s)); break;
    case AST_REFRESH: dump_refresh(d, AST_AS_CONST(AstRefresh, s)); break;
    case AST_CREATE_VIEW: dump_create_view(d, AST_AS_CONST(AstCreateView, s)); break;
    case AST_CREATE_INDEX: dump_create_index(d, AST_AS_CONST(AstCreateIndex, s)); break;
    case AST_CREATE_SCHEMA: dump_create_schema(d, AST_AS_CONST(AstCreateSchema, s)); break;
    case AST_ALTER_ROUTINE: dump_alter_routine(d, AST_AS_CONST(AstAlterRoutine, s)); break;
    case AST_SET_SCHEMA:
        put_qualified(d, &AST_AS_CONST(AstSetSchema, s)->name);
        put_name(d, "", AST_AS_CONST(AstSetSchema, s)->schema);
        break;
    case AST_DROP: dump_drop(d, AST_AS_CONST(AstDrop, s)); break;
    case AST_ALTER_TABLE: dump_alter_table(d, AST_AS_CONST(AstAlterTable, s)); break;
    case AST_RENAME: dump_rename(d, AST_AS_CONST(AstRename, s)); break;
    case AST_COMMENT: dump_comment(d, AST_AS_CONST(AstComment, s)); break;
    case AST_COPY: dump_copy(d, AST_AS_CONST(AstCopy, s)); break;
    case AST_TRANSACTION:
        put(d, " ");
        put(d, ast_stmt_tag(s));
        put_name(d, "", AST_AS_CONST(AstTransaction, s)->name);
        dump_options(d, AST_AS_CONST(AstTransaction, s)->options, AST_AS_CONST(AstTransaction, s)->n_options);
        break;
    case AST_PREPARE: dump_prepare(d, AST_AS_CONST(AstPrepare, s)); break;
    case AST_EXECUTE:
        put_name(d, "", AST_AS_CONST(AstExecute, s)->name);
        dump_exprs(d, AST_AS_CONST(AstExecute, s)->args, AST_AS_CONST(AstExecute, s)->n_args);
        break;
    case AST_DEALLOCATE: put_name(d, "", AST_AS_CONST(AstDeallocate, s)->name); break;
    case AST_SET: dump_set(d, AST_AS_CONST(AstSet, s)); break;
    case AST_DECLARE_CURSOR: dump_declare_cursor(d, AST_AS_CONST(AstDeclareCursor, s)); break;
    case AST_FETCH: dump_fetch(d, AST_AS_CONST(AstFetch, s)); break;
    case AST_CLOSE: put_name(d, "", AST_AS_CONST(AstClose, s)->name); break;
    case AST_LOCK: dump_lock(d, AST_AS_CONST(AstLock, s)); break;
    case AST_SET_CONSTRAINTS:
        for (int64_t i = 0; i < AST_AS_CONST(AstSetConstraints, s)->n_names; i++)
            put_qualified(d, &AST_AS_CONST(AstSetConstraints, s)->names[i]);
        put_flag(d, "deferred", AST_AS_CONST(AstSetConstraints, s)->deferred);
        break;
    case AST_SHOW: put_name(d, "", AST_AS_CONST(AstShow, s)->name); break;
    case AST_DESCRIBE:
        put_flag(d, "summarize", AST_AS_CONST(AstDescribe, s)->summarize);
        put(d, " ");
        dump_stmt(d, AST_AS_CONST(AstDescribe, s)->query);
        break;
    case AST_EXPLAIN:
        dump_options(d, AST_AS_CONST(AstExplain, s)->options, AST_AS_CONST(AstExplain, s)->n_options);
        put(d, " ");
        if (AST_AS_CONST(AstExplain, s)->query) dump_stmt(d, AST_AS_CONST(AstExplain, s)->query);
        else dump_signature(d, AST_AS_CONST(AstExplain, s)->routine);
        break;
    case AST_VACUUM: dump_vacuum(d, AST_AS_CONST(AstVacuum, s)); break;
    case AST_REINDEX: dump_reindex(d, AST_AS_CONST(AstReindex, s)); break;
    case AST_CLUSTER: dump_cluster(d, AST_AS_CONST(AstCluster, s)); break;
    case AST_CREATE_FUNCTION: dump_create_function(d, AST_AS_CONST(AstCreateFunction, s)); break;
    case AST_DROP_FUNCTION: dump_drop_function(d, AST_AS_CONST(AstDropFunction, s)); break;
    case AST_CREATE_ENUM: dump_create_enum(d, AST_AS_CONST(AstCreateEnum, s)); break;
    case AST_CREATE_RANGE: dump_create_range(d, AST_AS_CONST(AstCreateRange, s)); break;
    case AST_CREATE_COMPOSITE: dump_create_composite(d, AST_AS_CONST(AstCreateComposite, s)); break;
    case AST_CREATE_DOMAIN: dump_create_domain(d, AST_AS_CONST(AstCreateDomain, s)); break;
    case AST_ALTER_DOMAIN: dump_alter_domain(d, AST_AS_CONST(AstAlterDomain, s)); break;
    case AST_CREATE_SEQUENCE:
    case AST_ALTER_SEQUENCE: dump_sequence(d, AST_AS_CONST(AstSequence, s)); break;
    case AST_DISCARD:
        put_flag(d, "sequences", AST_AS_CONST(AstDiscard, s)->sequences);
        put_flag(d, "plans", AST_AS_CONST(AstDiscard, s)->plans);
        put_flag(d, "temp", AST_AS_CONST(AstDiscard, s)->temp);
        break;
    case AST_ALTER_ENUM: dump_alter_enum(d, AST_AS_CONST(AstAlterEnum, s)); break;
    case AST_CALL:
        put(d, " ");
        dump_expr(d, (const AstExpr *)AST_AS_CONST(AstCall, s)->func);
        break;
    case AST_DO:
        put_name(d, "language=", AST_AS_CONST(AstDo, s)->language);
        dump_source(d, "body=", AST_AS_CONST(AstDo, s)->body);
        break;
    case AST_UNSUPPORTED: put_name(d, "", AST_AS_CONST(AstUnsupported, s)->what); break;
    default: break;
    }
}

static void dump_stmt(Dump *d, const AstStmt *s) {
    if (s->kind == AST_SELECT) {
        dump_select(d, AST_AS_CONST(AstSelect, s));
        return;
    }
    if (too_deep(d)) return;
    put(d, "(");
    put(d, ast_kind_name(s->kind));
    dump_stmt_body(d, s);
    put(d, ")");
}

char *ast_dump(Arena *a, const AstStmt *s) {
    Dump d = {.a = a};
    dump_stmt(&d, s);
    if (d.failed || !vec_push(a, &d.out, '\0')) return NULL;
    return d.out.items;
}
