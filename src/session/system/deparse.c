/* deparse.c - expressions of the catalog (conditions, defaults, keys of indexes) as PostgreSQL's ruleutils.c writes
 * them.
 *
 * The catalog has an expression's text as it was given. It is bound, and the bound tree is written: every operator in
 * parentheses, constants and casts with their types. What has no counterpart in PostgreSQL's text (functions that the
 * binder puts in for a construct) keeps the text as it was given, which means the same.
 */
#include <stdio.h>

#include "base/stack.h"
#include "session/ddl/definition.h"
#include "session/system/definitions.h"
#include "sql/bind/bind.h"
#include "sql/parse/ast.h"
#include "sql/parse/parse.h"

typedef struct Deparse {
    Arena *a;
    PlanCtx *c;
    const Table *t;
    const ColId *ids;
    bool pretty;       /* parentheses and such only where they are needed */
    const char *value; /* the only column is a domain's VALUE, which is shown so; NULL: it is a table's */
    bool keep_scale;   /* constants have no other scale than they were given */
    int indent;        /* of lines of a CASE */
    bool fails;        /* it has no text of PostgreSQL's */
} Deparse;

static const char *write_expr(Deparse *d, const Expr *e, bool implicit);

static bool is_operator(const Expr *e) { return e->kind == EX_FUNC && e->u.func->flags & FN_OPERATOR; }
/* Of + and - 1, of * and / and % 2, else 0. */
static int precedence(const Expr *e) {
    const char *name = is_operator(e) && e->n_args == 2 ? e->u.func->name : "";
    if (!*name || name[1]) return 0;
    return strchr("+-", *name) ? 1 : strchr("*/%", *name) ? 2 : 0;
}
/* ruleutils.c, isSimpleNode: it needs no parentheses below `up`. */
static bool is_simple(const Expr *e, const Expr *up) {
    const bool in_bool = up->kind == EX_AND || up->kind == EX_OR || up->kind == EX_NOT;
    const bool in_call = (up->kind == EX_FUNC && !is_operator(up)) || up->kind == EX_COALESCE || up->kind == EX_CASE;
    switch ((ExprKind)e->kind) {
    case EX_CAST: return is_simple(e->args[0], e);
    case EX_FUNC:
        if (!is_operator(e) || in_call || in_bool) return true;
        if (!is_operator(up) || !precedence(e) || !precedence(up)) return false;
        return precedence(e) > precedence(up) || (precedence(e) == precedence(up) && up->args[0] == e);
    case EX_NOT:
    case EX_AND: return up->kind == EX_AND || up->kind == EX_OR || in_call;
    case EX_OR: return up->kind == EX_OR || in_call;
    case EX_IS_NULL:
    case EX_IS_NOT_NULL:
    case EX_IS_TRUE:
    case EX_IS_NOT_TRUE:
    case EX_IS_FALSE:
    case EX_IS_NOT_FALSE:
    case EX_DISTINCT: return in_bool || in_call;
    case EX_IN: return false;
    default: return true;
    }
}
static const char *write_in(Deparse *d, const Expr *e, const Expr *up, bool implicit) {
    const char *x = write_expr(d, e, implicit);
    return x && d->pretty && !is_simple(e, up) ? arena_printf(d->a, "(%s)", x) : x;
}
/* In parentheses, unless the text is to be pretty. */
static const char *enclose(Deparse *d, const char *x) { return x && !d->pretty ? arena_printf(d->a, "(%s)", x) : x; }

static const char *quoted(Deparse *d, Str s) {
    char *p = arena_alloc(d->a, 2 * (int64_t)s.len + 3), *at = p;
    if (!p) return NULL;
    *at++ = '\'';
    for (uint32_t i = 0; i < s.len; i++) {
        if (s.ptr[i] == '\'') *at++ = '\'';
        *at++ = s.ptr[i];
    }
    *at++ = '\'';
    *at = 0;
    return p;
}
/* Without zeros at the end of its fraction: the binder gives constants the scale of what they stand beside. */
static void trim_fraction(char *text) {
    char *end = text + strlen(text);
    if (!strchr(text, '.')) return;
    while (end[-1] == '0') end--;
    if (end[-1] == '.') end--;
    *end = 0;
}
/* char and bit alone are those of length 1. */
static const char *constant_type(Type t) {
    switch (t.id) {
    case T_CHAR: return "bpchar";
    case T_BIT: return "\"bit\"";
    case T_UNKNOWN: return "text";
    default: return type_plain_name(t);
    }
}
static const char *write_const(Deparse *d, const Expr *e) {
    const Value *v = &e->u.value;
    char room[TYPE_NAME_MAX];
    const char *type = constant_type(e->type);
    int64_t n;
    if (v->is_null) return arena_printf(d->a, "NULL::%s", e->type.id == T_CHAR ? "bpchar" : type_name(e->type, &room));
    char *text = value_to_text(d->a, v, &n);
    if (!text) return NULL;
    if (e->type.id == T_NUMERIC && !d->keep_scale) trim_fraction(text);
    if (e->type.id == T_BOOL) return v->u.b ? "true" : "false";
    const bool number = type_is_number(e->type), negative = *text == '-', whole = !strpbrk(text, ".eNI");
    const bool small = whole && (n < 10 || e->type.id == T_INT4);
    if (type_is_integer(e->type) && small) return negative ? arena_printf(d->a, "'%s'::integer", text) : text;
    if (number && !type_is_integer(e->type) && strpbrk(text, "0123456789")) { /* not NaN, not infinity */
        const bool numeric = e->type.id == T_NUMERIC || e->type.id == T_DECIMAL;
        const char *plain = negative ? arena_printf(d->a, "'%s'::%s", text, whole ? "integer" : "numeric") : text;
        if (numeric && !whole) return plain;
        if (numeric && n > 19) return arena_printf(d->a, "'%s'::numeric", text); /* no integer */
        return plain ? arena_printf(d->a, d->pretty ? "%s::%s" : "(%s)::%s", plain, type) : NULL;
    }
    const char *q = quoted(d, str_make(text, n));
    return q ? arena_printf(d->a, "%s::%s", q, type) : NULL;
}
static bool is_of_domain(const Deparse *d, const Expr *e) {
    for (int i = 0; e->kind == EX_COL && d->t && i < d->t->n_cols && !d->value; i++)
        if (d->ids[i] == e->u.col) return d->t->cols[i].domain != 0;
    return false;
}
/* An argument of a call: what is varchar becomes text for a function of text, and PostgreSQL says so. */
static const char *write_arg(Deparse *d, const Expr *call, int32_t k) {
    const Expr *e = call->args[k];
    const char *x = write_in(d, e, call, true);
    if (x && is_of_domain(d, e)) {
        char room[TYPE_NAME_MAX];
        return arena_printf(d->a, d->pretty ? "%s::%s" : "(%s)::%s", x, type_name(e->type, &room));
    }
    const bool text = e->type.id == T_VARCHAR && e->kind != EX_CONST && func_arg_type(call->u.func, k).id == T_TEXT;
    return x && text ? arena_printf(d->a, d->pretty ? "%s::text" : "(%s)::text", x) : x;
}
/* The first argument of a call of a routine says which it is. */
static bool is_routine(const Deparse *d, const FuncDef *f) {
    for (int64_t i = 0; i < d->c->routine_defs.len; i++)
        if (d->c->routine_defs.items[i] == f) return true;
    return false;
}
static const char *write_args(Deparse *d, const Expr *e) {
    const char *out = "";
    const int32_t from = is_routine(d, e->u.func) ? 1 : 0;
    for (int32_t i = from; out && i < e->n_args; i++) {
        const char *x = write_arg(d, e, i);
        out = x ? arena_printf(d->a, "%s%s%s", out, i > from ? ", " : "", x) : NULL;
    }
    return out;
}
static const char *write_list(Deparse *d, const Expr *e, int32_t from, const char *between, bool implicit) {
    const char *out = "";
    for (int32_t i = from; out && i < e->n_args; i++) {
        const char *x = write_in(d, e->args[i], e, implicit);
        out = x ? arena_printf(d->a, "%s%s%s", out, i > from ? between : "", x) : NULL;
    }
    return out;
}
/* What the binder puts around a value that does not compare by its bytes. */
static bool is_key(const FuncDef *f) {
    static const char *const names[] = {"numeric_key", "range_key", "jsonb_key", "composite_key", "array_sort_key"};
    for (int64_t i = 0; i < ARRAY_LEN(names); i++)
        if (strcmp(f->name, names[i]) == 0) return true;
    return false;
}
/* The operator of ranges or multiranges that a function is, or NULL. */
static const char *range_operator(const FuncDef *f) {
    static const char *const names[][2] = {{"contains", "@>"},  {"contained_by", "<@"}, {"overlaps", "&&"},
                                           {"before", "<<"},    {"after", ">>"},        {"overleft", "&<"},
                                           {"overright", "&>"}, {"adjacent", "-|-"},    {"union", "+"},
                                           {"minus", "-"},      {"intersect", "*"}};
    const char *name = f->name;
    if (strncmp(name, "elem_", 5) == 0) name += 5;
    else if (strncmp(name, "range_", 6) == 0) name += 6;
    else if (strncmp(name, "multirange_", 11) == 0) name += 11;
    else return NULL;
    for (int64_t i = 0; i < ARRAY_LEN(names); i++) {
        const size_t n = strlen(names[i][0]);
        const char *rest = name + n;
        if (strncmp(name, names[i][0], n) == 0 &&
            (!*rest || strcmp(rest, "_range") == 0 || strcmp(rest, "_elem") == 0 || strcmp(rest, "_multirange") == 0))
            return names[i][1];
    }
    return NULL;
}
static const char *write_operator(Deparse *d, const Expr *e, const char *name) {
    const char *l = write_arg(d, e, 0), *r = e->n_args > 1 ? write_arg(d, e, 1) : "";
    if (!l || !r) return NULL;
    return enclose(d, e->n_args > 1 ? arena_printf(d->a, "%s %s %s", l, strcmp(name, "!=") == 0 ? "<>" : name, r)
                                    : arena_printf(d->a, "%s %s", name, l));
}
static const char *write_call(Deparse *d, const Expr *e) {
    static const char *const words[] = {
        "current_date", "current_time", "current_timestamp", "localtime",       "localtimestamp",
        "current_user", "session_user", "current_role",      "current_catalog", "current_schema",
        "user"};
    const FuncDef *f = e->u.func;
    const char *range = e->n_args == 2 ? range_operator(f) : NULL;
    if (range || f->flags & FN_OPERATOR) return write_operator(d, e, range ? range : f->name);
    for (int64_t i = 0; e->n_args == 0 && i < ARRAY_LEN(words); i++) {
        if (strcmp(words[i], f->name) != 0) continue;
        char *up = arena_strdup(d->a, words[i]);
        for (char *p = up; p && *p; p++) *p = (char)(*p >= 'a' && *p <= 'z' ? *p - 32 : *p);
        return up;
    }
    if (is_key(f)) return write_in(d, e->args[0], e, true);
    if (strncmp(f->name, "array_make", 10) == 0) {
        const char *items = write_list(d, e, 0, ", ", true);
        return items ? arena_printf(d->a, "ARRAY[%s]", items) : NULL;
    }
    d->fails = d->fails || (f->doc && strncmp(f->doc, "internal:", 9) == 0) || strncmp(f->name, "extract", 7) == 0;
    const char *args = write_args(d, e), *name = strcmp(f->name, "greatest") == 0 ? "GREATEST"
                                                 : strcmp(f->name, "least") == 0  ? "LEAST"
                                                                                  : definition_name(d->a, f->name);
    return args && name ? arena_printf(d->a, "%s(%s)", name, args) : NULL;
}
static bool is_numeric(Type t) { return t.id == T_NUMERIC || t.id == T_DECIMAL; }
/* CURRENT_TIMESTAMP(2) and the like are bound as casts. */
static bool is_clock(const Expr *e) {
    static const char *const names[] = {"current_time", "current_timestamp", "localtime", "localtimestamp"};
    const bool call = e->kind == EX_CAST && e->args[0]->kind == EX_FUNC && e->args[0]->n_args == 0;
    bool yes = false;
    for (int64_t i = 0; i < ARRAY_LEN(names); i++)
        yes = yes || (call && strcmp(e->args[0]->u.func->name, names[i]) == 0);
    return yes && e->type.id == e->args[0]->type.id && e->type.precision < 6;
}
static const char *write_cast(Deparse *d, const Expr *e, bool implicit) {
    char room[TYPE_NAME_MAX];
    const char *x = write_in(d, e->args[0], e, true);
    if (is_clock(e)) {
        x = write_expr(d, e->args[0], true);
        return x ? arena_printf(d->a, "%s(%d)", x, e->type.precision) : NULL;
    }
    const Type from = e->args[0]->type;
    const bool alike = (is_numeric(e->type) && is_numeric(from)) || (type_is_integer(e->type) && type_is_integer(from));
    if (e->cast_ctx != CAST_EXPLICIT && (!implicit || alike)) return x;
    const bool alone = d->pretty || (e->args[0]->kind == EX_CONST && !type_is_number(e->args[0]->type));
    const bool plain = e->cast_ctx != CAST_EXPLICIT && is_numeric(e->type); /* with computed modifiers */
    const char *type = plain                                         ? "numeric"
                       : e->type.id == T_CHAR && e->type.length <= 0 ? "bpchar"
                                                                     : type_name(e->type, &room);
    return x ? arena_printf(d->a, alone ? "%s::%s" : "(%s)::%s", x, type) : NULL;
}
/* On lines of its own, each deeper one further to the right. */
static const char *write_case(Deparse *d, const Expr *e) {
    const int left = d->indent;
    d->indent += 4;
    const char *out = arena_printf(d->a, "\n%*sCASE", left, "");
    for (int32_t i = 0; out && i + 1 < e->n_args; i += 2) {
        const char *when = write_expr(d, e->args[i], false), *then = write_expr(d, e->args[i + 1], true);
        out = when && then ? arena_printf(d->a, "%s\n%*sWHEN %s THEN %s", out, d->indent, "", when, then) : NULL;
    }
    const char *other = e->n_args % 2 ? write_expr(d, e->args[e->n_args - 1], true) : NULL;
    if (out && other) out = arena_printf(d->a, "%s\n%*sELSE %s", out, d->indent, "", other);
    d->indent = left;
    return out ? arena_printf(d->a, "%s\n%*sEND", out, left, "") : NULL;
}
/* Elements of IN's list, which are all of its type. */
static const char *write_elements(Deparse *d, const Expr *e) {
    const char *out = "";
    for (int32_t i = 1; out && i < e->n_args; i++) {
        const Expr *k = e->args[i];
        const char *x = write_expr(d, k, true);
        const bool cast = k->kind == EX_CONST && (k->type.id == T_INT8 || k->type.id == T_INT2) && x && *x != '\'';
        if (x && cast) x = arena_printf(d->a, d->pretty ? "%s::%s" : "(%s)::%s", x, type_plain_name(k->type));
        out = x ? arena_printf(d->a, "%s%s%s", out, i > 1 ? ", " : "", x) : NULL;
    }
    return out;
}
static const char *write_test(Deparse *d, const Expr *e, const char *what) {
    const char *x = write_in(d, e->args[0], e, true);
    return x ? enclose(d, arena_printf(d->a, "%s IS %s", x, what)) : NULL;
}
static const char *write_column(Deparse *d, const Expr *e) {
    for (int i = 0; d->t && i < d->t->n_cols; i++)
        if (d->ids[i] == e->u.col) return d->value ? d->value : definition_name(d->a, d->t->cols[i].name);
    d->fails = true;
    return "";
}
static const char *write_expr(Deparse *d, const Expr *e, bool implicit) {
    const char *x, *y;
    if (stack_check(d->c->err) != ST_OK) return NULL;
    switch ((ExprKind)e->kind) {
    case EX_CONST: return write_const(d, e);
    case EX_COL: return write_column(d, e);
    case EX_FUNC: return write_call(d, e);
    case EX_CAST: return write_cast(d, e, implicit);
    case EX_AND: return enclose(d, write_list(d, e, 0, " AND ", false));
    case EX_OR: return enclose(d, write_list(d, e, 0, " OR ", false));
    case EX_NOT: return (x = write_in(d, e->args[0], e, false)) ? enclose(d, arena_printf(d->a, "NOT %s", x)) : NULL;
    case EX_IS_NULL: return write_test(d, e, "NULL");
    case EX_IS_NOT_NULL: return write_test(d, e, "NOT NULL");
    case EX_IS_TRUE: return write_test(d, e, "TRUE");
    case EX_IS_NOT_TRUE: return write_test(d, e, "NOT TRUE");
    case EX_IS_FALSE: return write_test(d, e, "FALSE");
    case EX_IS_NOT_FALSE: return write_test(d, e, "NOT FALSE");
    case EX_COALESCE: return (x = write_list(d, e, 0, ", ", true)) ? arena_printf(d->a, "COALESCE(%s)", x) : NULL;
    case EX_CASE: return write_case(d, e);
    case EX_IN:
        x = write_in(d, e->args[0], e, true);
        y = write_elements(d, e);
        return x && y ? enclose(d, arena_printf(d->a, "%s = ANY (ARRAY[%s])", x, y)) : NULL;
    case EX_DISTINCT:
    case EX_NOT_DISTINCT:
        x = write_in(d, e->args[0], e, true);
        y = write_in(d, e->args[1], e, true);
        if (x && y) x = enclose(d, arena_printf(d->a, "%s IS DISTINCT FROM %s", x, y));
        return x && y && e->kind == EX_NOT_DISTINCT ? enclose(d, arena_printf(d->a, "NOT %s", x)) : y ? x : NULL;
    default: d->fails = true; return "";
    }
}

/* Without blanks in front of the ends of lines, which quotes have none of. */
static const char *without_blanks(Arena *a, const char *text) {
    char *out = text && strchr(text, '\n') ? arena_strdup(a, text) : NULL, *to = out;
    bool quoted = false;
    if (!out) return text && strchr(text, '\n') ? NULL : text;
    for (const char *at = out; *at; at++) {
        quoted ^= *at == '\'';
        while (*at == '\n' && !quoted && to > out && to[-1] == ' ') to--;
        *to++ = *at;
    }
    *to = 0;
    return out;
}

/* Bound; NULL where it is not to be bound any more. */
static Expr *bind_text(PlanCtx *c, const Table *t, const char *sql, ColId *ids) {
    Expr *e = NULL;
    AstExpr *ast;
    if (t) return sql_bind_index_text(c, t, sql, false, ids, &e) == ST_OK ? e : NULL;
    if (sql_parse_expr(c->arena, slice_of(sql), &ast, c->err) != ST_OK) return NULL;
    return sql_bind_scalar(c, ast, type_make(T_UNKNOWN), &e) == ST_OK ? e : NULL;
}

static Status write_text(const SysObjects *o, Arena *a, const Table *t, const char *value, bool pretty, const char *sql,
                         const char **out) {
    PlanCtx c;
    Err why = {0};
    plan_ctx_init(o->s, a, &c);
    c.err = &why;
    c.of_catalog = true;
    ColId *ids = arena_array(a, ColId, (t ? t->n_cols : 0) + 1);
    if (!ids) return err_oom(&o->s->err);
    const Expr *e = bind_text(&c, t, sql, ids);
    Deparse d = {.a = a, .c = &c, .t = t, .ids = ids, .value = value, .pretty = pretty};
    *out = e ? without_blanks(a, write_expr(&d, e, false)) : sql;
    if (d.fails) *out = t ? arena_printf(a, "(%s)", sql) : sql;
    return *out ? ST_OK : err_oom(&o->s->err);
}

Status definition_default(const SysObjects *o, Arena *a, const struct AstExpr *ast, Type type, const char **out) {
    PlanCtx c;
    Err why = {0};
    Expr *e = NULL;
    plan_ctx_init(o->s, a, &c);
    c.err = &why;
    c.of_catalog = true;
    const bool text = ast->kind == AST_STRING_LIT || ast->kind == AST_NULL_LIT; /* which are of the type */
    if (text && type.id != T_CHAR) type.length = type_has_length(type) ? 0 : type.length;
    if (text && type.id == T_CHAR) type.length = 0;
    Deparse d = {.a = a, .c = &c};
    *out = NULL;
    if (ast->kind == AST_NULL_LIT) {
        *out = arena_printf(a, "NULL::%s", constant_type(type));
        return *out ? ST_OK : err_oom(&o->s->err);
    }
    if (sql_bind_scalar(&c, ast, text ? type : type_make(T_UNKNOWN), &e) == ST_OK) {
        d.keep_scale = e->kind == EX_CONST;
        *out = without_blanks(a, write_expr(&d, e, false));
    }
    return *out && !d.fails ? ST_OK : err_is_set(&o->s->err) ? ST_ERROR : (*out = NULL, ST_OK);
}
Status definition_default_text(const SysObjects *o, Arena *a, const char *sql, Type type, const char **out) {
    AstExpr *ast;
    Err why = {0};
    *out = NULL;
    if (sql_parse_expr(a, slice_of(sql), &ast, &why) == ST_OK) TRY(definition_default(o, a, ast, type, out));
    if (!*out) *out = sql;
    return ST_OK;
}

Status definition_expr(const SysObjects *o, Arena *a, const Table *t, bool pretty, const char *sql, const char **out) {
    return write_text(o, a, t, NULL, pretty, sql, out);
}
Status definition_domain_check(const SysObjects *o, Arena *a, const Domain *d, bool pretty, const char *sql,
                               const char **out) {
    static char value[] = "value";
    Column col = {.name = value, .type = d->type};
    const Table t = {.name = d->name, .n_cols = 1, .cols = &col};
    const char *shown =
        d->parent ? arena_printf(a, "(VALUE)::%s", type_plain_name(d->type)) : "VALUE"; /* of its type */
    return shown ? write_text(o, a, &t, shown, pretty, sql, out) : err_oom(&o->s->err);
}

typedef struct Reads {
    const Table *t;
    const ColId *ids;
    int64_t n, *cols;
} Reads;
static bool reads_column(void *ctx, Expr *e) {
    Reads *r = ctx;
    for (int i = 0; e->kind == EX_COL && i < r->t->n_cols; i++) {
        bool there = false;
        for (int64_t k = 0; k < r->n; k++) there = there || r->cols[k] == i + 1;
        if (r->ids[i] == e->u.col && !there) r->cols[r->n++] = i + 1;
    }
    return true;
}
Status definition_check_columns(const SysObjects *o, const Table *t, const char *sql, int64_t *n, int64_t *cols) {
    PlanCtx c;
    Err why = {0};
    plan_ctx_init(o->s, o->a, &c);
    c.err = &why;
    c.of_catalog = true;
    *n = 0;
    ColId *ids = arena_array(o->a, ColId, t->n_cols + 1);
    if (!ids) return err_oom(&o->s->err);
    Expr *e = bind_text(&c, t, sql, ids);
    Reads r = {.t = t, .ids = ids, .cols = cols};
    if (e) (void)expr_walk(e, reads_column, &r);
    *n = r.n;
    return ST_OK;
}
