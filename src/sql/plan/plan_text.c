/* plan_text.c - bound expressions as SQL-like text, for EXPLAIN.
 *
 * Close to PostgreSQL's deparser in spelling; every operator call is in parentheses unless it is the whole
 * text. The text is for people and is never parsed. Long IN lists are cut.
 */
#include "sql/plan/plan.h"

typedef struct Text {
    PlanCtx *c;
    VEC(char) buf;
    bool failed;
} Text;

static void put_n(Text *t, const char *s, int64_t n) {
    for (int64_t i = 0; i < n && !t->failed; i++)
        if (!vec_push(t->c->arena, &t->buf, s[i])) t->failed = true;
}
static void put(Text *t, const char *s) { put_n(t, s, (int64_t)strlen(s)); }

static void put_value(Text *t, const Value *v) {
    char name[TYPE_NAME_MAX];
    if (v->is_null) {
        put(t, "NULL");
        if (v->type.id != T_UNKNOWN && v->type.id != T_TEXT) {
            put(t, "::");
            put(t, type_name(v->type, &name));
        }
        return;
    }
    if (v->type.id == T_BOOL) {
        put(t, v->u.b ? "true" : "false");
        return;
    }
    int64_t len = 0;
    const char *s = value_to_text(t->c->arena, v, &len);
    if (!s) {
        t->failed = true;
        return;
    }
    if (type_is_number(v->type)) {
        put_n(t, s, len);
        return;
    }
    put(t, "'");
    for (int64_t i = 0; i < len; i++) {
        if (s[i] == '\'') put(t, "'");
        put_n(t, s + i, 1);
    }
    put(t, "'");
    if (v->type.id != T_TEXT && v->type.id != T_UNKNOWN) {
        put(t, "::");
        put(t, type_name(v->type, &name));
    }
}

static void put_expr(Text *t, const Expr *e, bool top);

static void put_list(Text *t, Expr *const *args, int32_t from, int32_t to, const char *between, bool top) {
    for (int32_t i = from; i < to; i++) {
        if (i > from) put(t, between);
        put_expr(t, args[i], top);
    }
}

static const char *operator_word(const char *name) {
    static const char *const words[][2] = {
        {"~~", "LIKE"}, {"!~~", "NOT LIKE"}, {"~~*", "ILIKE"}, {"!~~*", "NOT ILIKE"}};
    for (int64_t i = 0; i < ARRAY_LEN(words); i++)
        if (strcmp(name, words[i][0]) == 0) return words[i][1];
    return name;
}

static void put_suffix(Text *t, const Expr *e, const char *suffix, bool top) {
    if (!top) put(t, "(");
    put_expr(t, e->args[0], false);
    put(t, suffix);
    if (!top) put(t, ")");
}

static void put_expr(Text *t, const Expr *e, bool top) {
    char name[TYPE_NAME_MAX];
    if (!e || t->failed) return;
    if (stack_stop()) {
        t->failed = true;
        return;
    }
    switch ((ExprKind)e->kind) {
    case EX_CONST: put_value(t, &e->u.value); break;
    case EX_PARAM: {
        char *s = arena_printf(t->c->arena, "$%d", e->u.param);
        if (s) put(t, s);
        break;
    }
    case EX_COL: {
        const ColInfo *ci = &t->c->cols.items[e->u.col];
        put(t, ci->name);
        break;
    }
    case EX_FUNC:
        if ((e->u.func->flags & FN_OPERATOR) && (e->n_args == 2 || e->n_args == 1)) {
            if (!top) put(t, "(");
            if (e->n_args == 2) {
                put_expr(t, e->args[0], false);
                put(t, " ");
            }
            put(t, operator_word(e->u.func->name));
            if (e->n_args == 2) put(t, " ");
            put_expr(t, e->args[e->n_args - 1], false);
            if (!top) put(t, ")");
        } else {
            put(t, e->u.func->name);
            put(t, "(");
            put_list(t, e->args, 0, e->n_args, ", ", true);
            put(t, ")");
        }
        break;
    case EX_CAST:
        put(t, "(");
        put_expr(t, e->args[0], true);
        put(t, ")::");
        put(t, type_name(e->type, &name));
        break;
    case EX_AND:
    case EX_OR:
        if (!top) put(t, "(");
        put_list(t, e->args, 0, e->n_args, e->kind == EX_AND ? " AND " : " OR ", false);
        if (!top) put(t, ")");
        break;
    case EX_NOT:
        if (!top) put(t, "(");
        put(t, "NOT ");
        put_expr(t, e->args[0], false);
        if (!top) put(t, ")");
        break;
    case EX_IS_NULL: put_suffix(t, e, " IS NULL", top); break;
    case EX_IS_NOT_NULL: put_suffix(t, e, " IS NOT NULL", top); break;
    case EX_IS_TRUE: put_suffix(t, e, " IS TRUE", top); break;
    case EX_IS_NOT_TRUE: put_suffix(t, e, " IS NOT TRUE", top); break;
    case EX_IS_FALSE: put_suffix(t, e, " IS FALSE", top); break;
    case EX_IS_NOT_FALSE: put_suffix(t, e, " IS NOT FALSE", top); break;
    case EX_DISTINCT:
    case EX_NOT_DISTINCT:
        if (!top) put(t, "(");
        put_expr(t, e->args[0], false);
        put(t, e->kind == EX_DISTINCT ? " IS DISTINCT FROM " : " IS NOT DISTINCT FROM ");
        put_expr(t, e->args[1], false);
        if (!top) put(t, ")");
        break;
    case EX_CASE:
        put(t, "CASE");
        for (int32_t i = 0; i + 1 < e->n_args; i += 2) {
            put(t, " WHEN ");
            put_expr(t, e->args[i], true);
            put(t, " THEN ");
            put_expr(t, e->args[i + 1], true);
        }
        if (e->n_args & 1) {
            put(t, " ELSE ");
            put_expr(t, e->args[e->n_args - 1], true);
        }
        put(t, " END");
        break;
    case EX_COALESCE:
        put(t, "COALESCE(");
        put_list(t, e->args, 0, e->n_args, ", ", true);
        put(t, ")");
        break;
    case EX_NULLIF:
        put(t, "NULLIF(");
        put_list(t, e->args, 0, MIN_OF(e->n_args, 2), ", ", true);
        put(t, ")");
        break;
    case EX_IN:
        if (!top) put(t, "(");
        put_expr(t, e->args[0], false);
        put(t, " IN (");
        put_list(t, e->args, 1, MIN_OF(e->n_args, 21), ", ", true);
        if (e->n_args > 21) put(t, ", ...");
        put(t, ")");
        if (!top) put(t, ")");
        break;
    case EX_AGG:
        put(t, e->u.agg.func->name);
        put(t, e->u.agg.distinct ? "(DISTINCT " : "(");
        if (e->n_args == 0) put(t, "*");
        put_list(t, e->args, 0, e->n_args, ", ", true);
        put(t, ")");
        if (e->u.agg.filter) {
            put(t, " FILTER (WHERE ");
            put_expr(t, e->u.agg.filter, true);
            put(t, ")");
        }
        break;
    case EX_SUBQUERY:
        switch ((SubqueryKind)e->subquery) {
        case SQ_SCALAR: put(t, "(subquery)"); break;
        case SQ_EXISTS: put(t, "EXISTS(subquery)"); break;
        case SQ_IN:
            put(t, "(");
            put_list(t, e->u.sub.compare, 0, e->u.sub.n_cols, " AND ", true);
            put(t, e->all ? ") for ALL of (subquery)" : ") for ANY of (subquery)");
            break;
        }
        break;
    }
}

const char *expr_text(PlanCtx *c, const Expr *e) {
    Text t = {.c = c};
    put_expr(&t, e, true);
    put_n(&t, "", 1);
    return t.failed ? "?" : t.buf.items;
}
