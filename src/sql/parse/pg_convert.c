/* pg_convert.c - PostgreSQL's grammar, and its tree turned into Stele's.
 *
 * The file that uses libpg_query; pg_access.c converts a part of its tree. It includes that library's node headers
 * (third_party/pg_query) and walks the raw C tree, because serialising it to protobuf or JSON and reading that back
 * costs many times the parse.
 *
 * Contract with libpg_query:
 *   - It keeps its state in thread-local variables and allocates from memory contexts. Here a parse creates the
 *     thread's top context, parses, converts and frees the top context, so that a thread has no state between calls and
 *     nothing needs to run when it exits. (pg_query_init() would create one pthread key per thread and
 *     never delete it; `pg_query_initialized` is set to keep it from running.)
 *   - Errors leave it with siglongjmp. run_grammar() is the only function that is jumped to; it owns nothing
 *     and no code of Stele lies between it and the jump.
 *   - The grammar's own stack is on the heap and bounded (10,000 symbols); its tree can be 10,000 levels deep to
 *     the right and arbitrarily deep to the left. Freeing is by context, without recursion.
 *   - The header's node tags and layouts must match the library's; tests/unit/test_parse.c parses every construct,
 * which would fail loudly.
 *
 * Depth (see ast.h): conv_expr() loops over chains whose nodes have one interesting child (left operands, casts,
 * NOT, ...), and recurses for the rest as long as there is stack (base/stack.h).
 *
 * All conversion functions return NULL or false after setting Conv.e, or after an arena ran out of memory; pg_convert()
 * completes the error in that case. This file must not use printf-like functions of the C library: PostgreSQL's port.h
 * renames them.
 */
#include "sql/parse/pg_convert_int.h"

#include "nodes/pg_list.h"
#include "nodes/value.h"
#include "parser/parser.h"
#include "nodes/memnodes.h"
#include "utils/memutils.h"

#include <limits.h>
#include <signal.h>

#include "base/stack.h"
#include "sql/parse/parse.h"
#include "types/type.h"

/* Not in any installed header. */
extern __thread sig_atomic_t pg_query_initialized;
extern MemoryContext pg_query_enter_memory_context(void);
extern void pg_query_exit_memory_context(MemoryContext ctx);
extern void AllocSetDeleteFreeList(MemoryContext context);
extern void SetDatabaseEncoding(int encoding);

enum { ENCODING_UTF8 = 6 /* PG_UTF8 */, PARAM_MAX = 65535 };

static AstExpr *conv_expr(Conv *c, Node *n);
static AstSelect *conv_select(Conv *c, SelectStmt *s);
static AstStmt *conv_stmt(Conv *c, Node *n);
static AstWindow *conv_window(Conv *c, WindowDef *w);

/* ---- small helpers --------------------------------------------------------------- */

int64_t pos_of(int location) { return location < 0 ? 0 : (int64_t)location + 1; }

static void *unsupported(Conv *c, int location, const char *what) {
    err_at(c->e, pos_of(location), ERR_FEATURE_NOT_SUPPORTED, "%s is not supported", what);
    return NULL;
}

void *unexpected(Conv *c, Node *n) {
    err_internal(c->e, "unexpected parse tree node %d", n ? (int)nodeTag(n) : -1);
    return NULL;
}

void *new_node(Conv *c, int64_t size, AstKind kind, int location) {
    AstExpr *x = arena_calloc(c->a, size);
    if (x) {
        x->kind = kind;
        x->location = pos_of(location);
    }
    return x;
}

/* An array of n elements, at least one byte, zeroed. */
void *new_array(Conv *c, int64_t n, int64_t size) { return arena_calloc(c->a, n > 0 ? n * size : 1); }

bool copy_str(Conv *c, const char *s, const char **out) {
    *out = NULL;
    return !s || (*out = arena_strdup(c->a, s)) != NULL;
}

static bool copy_slice(Conv *c, const char *s, Slice *out) {
    int64_t n = (int64_t)strlen(s);
    out->ptr = arena_strndup(c->a, s, n);
    out->len = n;
    return out->ptr != NULL;
}

/* A list of String nodes. */
bool conv_names(Conv *c, List *l, const char ***out, int64_t *n) {
    *n = list_length(l);
    *out = NULL;
    if (!l) return true;
    const char **v = new_array(c, *n, (int64_t)sizeof(char *));
    if (!v) return false;
    for (int64_t i = 0; i < *n; i++) {
        Node *x = list_nth(l, (int)i);
        if (!x || !IsA(x, String)) return unexpected(c, x) != NULL;
        if (!copy_str(c, strVal(x), &v[i])) return false;
    }
    *out = v;
    return true;
}

bool conv_opt_expr(Conv *c, void *n, AstExpr **out) {
    *out = NULL;
    return !n || (*out = conv_expr(c, n)) != NULL;
}

static bool conv_exprs(Conv *c, List *l, AstExpr ***out, int64_t *n) {
    *n = list_length(l);
    *out = NULL;
    if (!l) return true;
    AstExpr **v = new_array(c, *n, (int64_t)sizeof(AstExpr *));
    if (!v) return false;
    for (int64_t i = 0; i < *n; i++)
        if (!(v[i] = conv_expr(c, list_nth(l, (int)i)))) return false;
    *out = v;
    return true;
}

/* [catalog.][schema.]name as a list of String nodes. */
bool conv_qualified(Conv *c, List *l, int location, AstName *out) {
    const char *part[3] = {NULL, NULL, NULL};
    int n = list_length(l);
    memset(out, 0, sizeof *out);
    out->location = pos_of(location);
    if (n > 3) {
        err_at(c->e, pos_of(location), ERR_SYNTAX, "improper qualified name (too many dotted names)");
        return false;
    }
    for (int i = 0; i < n; i++) {
        Node *x = list_nth(l, i);
        if (!x || !IsA(x, String)) return unexpected(c, x) != NULL;
        if (!copy_str(c, strVal(x), &part[3 - n + i])) return false;
    }
    out->catalog = part[0];
    out->schema = part[1];
    out->name = part[2];
    return true;
}

static void drop_pg_catalog(AstName *n) {
    if (n->schema && strcmp(n->schema, "pg_catalog") == 0) n->schema = n->catalog = NULL;
}

bool conv_rangevar(Conv *c, RangeVar *r, AstName *out) {
    out->location = pos_of(r->location);
    return copy_str(c, r->catalogname, &out->catalog) && copy_str(c, r->schemaname, &out->schema) &&
           copy_str(c, r->relname, &out->name);
}

static bool conv_alias(Conv *c, Alias *a, AstAlias *out) {
    memset(out, 0, sizeof *out);
    return !a || (copy_str(c, a->aliasname, &out->name) && conv_names(c, a->colnames, &out->columns, &out->n_columns));
}

/* The operator of a possibly OPERATOR(schema.op) name list. */
static const char *op_name(List *l) {
    Node *x = l ? llast(l) : NULL;
    return x && IsA(x, String) ? strVal(x) : "=";
}

/* ---- types -------------------------------------------------------------------------- */

static int32_t interval_fields(int mask) {
    static const struct {
        int bit, field;
    } map[] = {{1 << 2, AST_IV_YEAR},  {1 << 1, AST_IV_MONTH},   {1 << 3, AST_IV_DAY},
               {1 << 10, AST_IV_HOUR}, {1 << 11, AST_IV_MINUTE}, {1 << 12, AST_IV_SECOND}};
    int32_t f = 0;
    if (mask == 0x7FFF) return 0; /* INTERVAL_FULL_RANGE: interval(p) */
    for (int i = 0; i < 6; i++)
        if (mask & map[i].bit) f |= map[i].field;
    return f;
}

static AstTypeName *conv_type(Conv *c, TypeName *t) {
    AstTypeName *out = arena_new_of(c->a, AstTypeName);
    AstName name;
    if (!out || !conv_qualified(c, t->names, t->location, &name)) return NULL;
    drop_pg_catalog(&name);
    out->schema = name.schema;
    out->name = name.name;
    out->location = pos_of(t->location);
    out->setof = t->setof;
    out->percent_type = t->pct_type;
    out->array_dims = list_length(t->arrayBounds);
    int n = list_length(t->typmods), first = 0;
    if (n > 0 && !(out->mods = arena_array(c->a, int64_t, n))) return NULL;
    for (int i = 0; i < n; i++) {
        A_Const *k = list_nth(t->typmods, i);
        if (!IsA(k, A_Const) || k->isnull || nodeTag(&k->val) != T_Integer) {
            err_at(c->e, out->location, ERR_INVALID_PARAMETER, "type modifiers must be integer constants");
            return NULL;
        }
        out->mods[i] = k->val.ival.ival;
    }
    if (n > 0 && !out->schema && strcmp(out->name, "interval") == 0) {
        out->interval_fields = interval_fields((int)out->mods[0]);
        first = 1;
    }
    out->mods += first;
    out->n_mods = n - first;
    return out;
}

/* ---- expressions ----------------------------------------------------------------------- */

/* An integer-looking text that fits 64 bits. */
static bool parse_i64(const char *s, int64_t *out) {
    bool neg = *s == '-';
    uint64_t v = 0, limit = (uint64_t)INT64_MAX + (neg ? 1 : 0);
    if (neg) s++;
    if (!*s) return false;
    for (; *s; s++) {
        if (*s < '0' || *s > '9') return false;
        uint64_t d = (uint64_t)(*s - '0');
        if (v > (limit - d) / 10) return false;
        v = v * 10 + d;
    }
    *out = (int64_t)(neg ? 0 - v : v);
    return true;
}

static AstExpr *conv_const(Conv *c, A_Const *k) {
    if (k->isnull) return NEW(AstExpr, AST_NULL_LIT, k->location);
    AstLiteral *x = NEW(AstLiteral, AST_INT_LIT, k->location);
    if (!x) return NULL;
    switch (nodeTag(&k->val)) {
    case T_Integer: x->i = k->val.ival.ival; break;
    case T_Float:
        if (parse_i64(k->val.fval.fval, &x->i)) break;
        x->kind = AST_NUMBER_LIT;
        if (!copy_slice(c, k->val.fval.fval, &x->text)) return NULL;
        break;
    case T_Boolean:
        x->kind = AST_BOOL_LIT;
        x->b = k->val.boolval.boolval;
        break;
    case T_String:
        x->kind = AST_STRING_LIT;
        if (!copy_slice(c, k->val.sval.sval, &x->text)) return NULL;
        if (utf8_check(x->text.ptr, x->text.len) >= 0) {
            err_at(c->e, x->location, ERR_CHAR_NOT_IN_REPERTOIRE, "invalid byte sequence for encoding \"UTF8\"");
            return NULL;
        }
        break;
    case T_BitString:
        x->kind = AST_BITS_LIT;
        if (!copy_slice(c, k->val.bsval.bsval, &x->text)) return NULL;
        break;
    default: return unexpected(c, &k->val.node);
    }
    return (AstExpr *)x;
}

static AstExpr *conv_column(Conv *c, ColumnRef *r) {
    AstColumn *x = NEW(AstColumn, AST_COLUMN, r->location);
    const char *part[3] = {NULL, NULL, NULL};
    int n = list_length(r->fields);
    if (!x) return NULL;
    if (n > 3) {
        char *name = arena_strdup(c->a, "");
        for (int i = 0; name && i < n; i++) {
            Node *f = list_nth(r->fields, i);
            name = arena_printf(c->a, "%s%s%s", name, i ? "." : "", IsA(f, String) ? strVal(f) : "*");
        }
        if (name && n > 4)
            err_at(c->e, pos_of(r->location), ERR_SYNTAX, "improper qualified name (too many dotted names): %s", name);
        else if (name)
            err_at(c->e, pos_of(r->location), ERR_FEATURE_NOT_SUPPORTED,
                   "cross-database references are not implemented: %s", name);
        return NULL;
    }
    for (int i = 0; i < n; i++) {
        Node *f = list_nth(r->fields, i);
        if (IsA(f, A_Star)) x->kind = AST_STAR;
        else if (!IsA(f, String)) return unexpected(c, f);
        else if (!copy_str(c, strVal(f), &part[3 - n + i])) return NULL;
    }
    x->schema = part[0];
    x->table = part[1];
    x->name = part[2];
    return (AstExpr *)x;
}

static AstSubscript *conv_indices(Conv *c, A_Indices *k, int64_t location) {
    AstSubscript *s = NEW(AstSubscript, AST_SUBSCRIPT, -1);
    if (!s || !conv_opt_expr(c, k->lidx, &s->lower) || !conv_opt_expr(c, k->uidx, &s->upper)) return NULL;
    s->location = location;
    s->is_slice = k->is_slice;
    return s;
}

static AstExpr *conv_indirection(Conv *c, A_Indirection *ind) {
    AstExpr *base = conv_expr(c, ind->arg);
    int n = list_length(ind->indirection);
    if (!base) return NULL;
    for (int i = 0; i < n; i++) {
        Node *x = list_nth(ind->indirection, i);
        if (IsA(x, String) || IsA(x, A_Star)) {
            AstField *f = NEW(AstField, AST_FIELD, -1);
            if (!f || (IsA(x, String) && !copy_str(c, strVal(x), &f->name))) return NULL;
            f->location = base->location;
            f->arg = base;
            base = (AstExpr *)f;
        } else if (IsA(x, A_Indices)) {
            AstSubscript *s = conv_indices(c, (A_Indices *)x, base->location);
            if (!s) return NULL;
            s->chained = i > 0 && base->kind == AST_SUBSCRIPT;
            s->arg = base;
            base = (AstExpr *)s;
        } else {
            return unexpected(c, x);
        }
    }
    return base;
}

/* AND and OR as one list: the grammar flattens chains without parentheses, this also the others. */
static bool flatten_bool(Conv *c, BoolExpr *b, AstBool *out, int64_t *cap) {
    for (int i = 0; i < list_length(b->args); i++) {
        Node *x = list_nth(b->args, i);
        if (x && IsA(x, BoolExpr) && ((BoolExpr *)x)->boolop == b->boolop) {
            if (stack_check(c->e) != ST_OK) return false;
            if (!flatten_bool(c, (BoolExpr *)x, out, cap)) return false;
            continue;
        }
        if (out->n_items == *cap &&
            !vec_grow_(c->a, (void **)&out->items, out->n_items, cap, (int64_t)sizeof(AstExpr *)))
            return false;
        if (!(out->items[out->n_items] = conv_expr(c, x))) return false;
        out->n_items++;
    }
    return true;
}

static AstExpr *conv_list(Conv *c, AstKind kind, List *args, int location) {
    AstList *x = NEW(AstList, kind, location);
    return x && conv_exprs(c, args, &x->items, &x->n_items) ? (AstExpr *)x : NULL;
}

static AstExpr *conv_like(Conv *c, A_Expr *a) {
    AstLike *x = NEW(AstLike, AST_LIKE, a->location);
    Node *pattern = a->rexpr, *escape = NULL;
    if (!x) return NULL;
    x->like_kind = a->kind == AEXPR_LIKE ? AST_LIKE_LIKE : a->kind == AEXPR_ILIKE ? AST_LIKE_ILIKE : AST_LIKE_SIMILAR;
    x->negated = op_name(a->name)[0] == '!';
    /* ESCAPE, and every SIMILAR TO, wraps the pattern in a function of pg_catalog that no user text can
     * produce in this place without that schema. */
    if (IsA(pattern, FuncCall)) {
        FuncCall *f = (FuncCall *)pattern;
        int n = list_length(f->args);
        if (list_length(f->funcname) == 2 && strcmp(strVal(linitial(f->funcname)), "pg_catalog") == 0 && n >= 1) {
            const char *name = strVal(lsecond(f->funcname));
            if ((a->kind == AEXPR_SIMILAR && strcmp(name, "similar_to_escape") == 0) ||
                (a->kind != AEXPR_SIMILAR && strcmp(name, "like_escape") == 0 && n == 2)) {
                pattern = linitial(f->args);
                escape = n == 2 ? lsecond(f->args) : NULL;
            }
        }
    }
    return (x->arg = conv_expr(c, a->lexpr)) && (x->pattern = conv_expr(c, pattern)) &&
                   conv_opt_expr(c, escape, &x->escape)
               ? (AstExpr *)x
               : NULL;
}

/* All of A_Expr but plain operators, which conv_chain() handles. */
static AstExpr *conv_a_expr(Conv *c, A_Expr *a) {
    switch (a->kind) {
    case AEXPR_OP_ANY:
    case AEXPR_OP_ALL: {
        AstQuantified *x = NEW(AstQuantified, AST_QUANTIFIED, a->location);
        if (!x || !copy_str(c, op_name(a->name), &x->op)) return NULL;
        x->all = a->kind == AEXPR_OP_ALL;
        return (x->left = conv_expr(c, a->lexpr)) && (x->array = conv_expr(c, a->rexpr)) ? (AstExpr *)x : NULL;
    }
    case AEXPR_DISTINCT:
    case AEXPR_NOT_DISTINCT: {
        AstDistinctFrom *x = NEW(AstDistinctFrom, AST_DISTINCT_FROM, a->location);
        if (!x) return NULL;
        x->negated = a->kind == AEXPR_NOT_DISTINCT;
        return (x->left = conv_expr(c, a->lexpr)) && (x->right = conv_expr(c, a->rexpr)) ? (AstExpr *)x : NULL;
    }
    case AEXPR_NULLIF: {
        AstList *x = NEW(AstList, AST_NULLIF, a->location);
        if (!x || !(x->items = new_array(c, 2, (int64_t)sizeof(AstExpr *)))) return NULL;
        x->n_items = 2;
        return (x->items[0] = conv_expr(c, a->lexpr)) && (x->items[1] = conv_expr(c, a->rexpr)) ? (AstExpr *)x : NULL;
    }
    case AEXPR_IN: {
        AstInList *x = NEW(AstInList, AST_IN_LIST, a->location);
        if (!x) return NULL;
        if (!IsA(a->rexpr, List)) return unexpected(c, a->rexpr);
        x->negated = strcmp(op_name(a->name), "<>") == 0;
        return (x->arg = conv_expr(c, a->lexpr)) && conv_exprs(c, (List *)a->rexpr, &x->items, &x->n_items)
                   ? (AstExpr *)x
                   : NULL;
    }
    case AEXPR_LIKE:
    case AEXPR_ILIKE:
    case AEXPR_SIMILAR: return conv_like(c, a);
    case AEXPR_BETWEEN:
    case AEXPR_NOT_BETWEEN:
    case AEXPR_BETWEEN_SYM:
    case AEXPR_NOT_BETWEEN_SYM: {
        AstBetween *x = NEW(AstBetween, AST_BETWEEN, a->location);
        if (!x) return NULL;
        if (!IsA(a->rexpr, List) || list_length((List *)a->rexpr) != 2) return unexpected(c, a->rexpr);
        x->negated = a->kind == AEXPR_NOT_BETWEEN || a->kind == AEXPR_NOT_BETWEEN_SYM;
        x->symmetric = a->kind == AEXPR_BETWEEN_SYM || a->kind == AEXPR_NOT_BETWEEN_SYM;
        return (x->arg = conv_expr(c, a->lexpr)) && (x->low = conv_expr(c, linitial((List *)a->rexpr))) &&
                       (x->high = conv_expr(c, lsecond((List *)a->rexpr)))
                   ? (AstExpr *)x
                   : NULL;
    }
    default: return unexpected(c, (Node *)a);
    }
}

static AstExpr *conv_sublink(Conv *c, SubLink *s) {
    AstSubLink *x = NEW(AstSubLink, AST_SUBLINK, s->location);
    if (!x) return NULL;
    switch (s->subLinkType) {
    case EXISTS_SUBLINK: x->sub_kind = AST_SUB_EXISTS; break;
    case ALL_SUBLINK: x->sub_kind = AST_SUB_ALL; break;
    case ANY_SUBLINK:
        x->sub_kind = AST_SUB_ANY;
        x->is_in = s->operName == NIL; /* IN */
        break;
    case EXPR_SUBLINK: x->sub_kind = AST_SUB_SCALAR; break;
    case ARRAY_SUBLINK: x->sub_kind = AST_SUB_ARRAY; break;
    default: return unexpected(c, (Node *)s);
    }
    if (x->sub_kind == AST_SUB_ANY || x->sub_kind == AST_SUB_ALL) {
        if (!copy_str(c, op_name(s->operName), &x->op) || !(x->test = conv_expr(c, s->testexpr))) return NULL;
    }
    if (!IsA(s->subselect, SelectStmt)) return unexpected(c, s->subselect);
    return (x->query = conv_select(c, (SelectStmt *)s->subselect)) ? (AstExpr *)x : NULL;
}

static AstExpr *conv_case(Conv *c, CaseExpr *k) {
    AstCase *x = NEW(AstCase, AST_CASE, k->location);
    if (!x || !conv_opt_expr(c, k->arg, &x->arg)) return NULL;
    x->n_whens = list_length(k->args);
    if (!(x->whens = new_array(c, x->n_whens, (int64_t)sizeof(AstWhen)))) return NULL;
    for (int64_t i = 0; i < x->n_whens; i++) {
        CaseWhen *w = list_nth(k->args, (int)i);
        x->whens[i].location = pos_of(w->location);
        if (!(x->whens[i].when = conv_expr(c, (Node *)w->expr)) ||
            !(x->whens[i].then = conv_expr(c, (Node *)w->result)))
            return NULL;
    }
    return conv_opt_expr(c, k->defresult, &x->otherwise) ? (AstExpr *)x : NULL;
}

static bool conv_order(Conv *c, List *l, AstOrderItem **out, int64_t *n) {
    *n = list_length(l);
    *out = NULL;
    if (!l) return true;
    AstOrderItem *v = new_array(c, *n, (int64_t)sizeof(AstOrderItem));
    if (!v) return false;
    for (int64_t i = 0; i < *n; i++) {
        SortBy *s = list_nth(l, (int)i);
        if (!IsA(s, SortBy)) return unexpected(c, (Node *)s) != NULL;
        v[i].desc = s->sortby_dir == SORTBY_DESC;
        if (s->sortby_dir == SORTBY_USING) {
            const char *op = op_name(s->useOp);
            if (strcmp(op, ">") == 0) v[i].desc = true;
            else if (strcmp(op, "<") != 0)
                return unsupported(c, s->location, "ORDER BY USING with this operator") != NULL;
        }
        v[i].nulls = s->sortby_nulls == SORTBY_NULLS_FIRST  ? AST_NULLS_FIRST
                     : s->sortby_nulls == SORTBY_NULLS_LAST ? AST_NULLS_LAST
                                                            : AST_NULLS_DEFAULT;
        if (!(v[i].expr = conv_expr(c, s->node))) return false;
        v[i].location = v[i].expr->location;
    }
    *out = v;
    return true;
}

static AstExpr *conv_func(Conv *c, FuncCall *f) {
    AstFunc *x = NEW(AstFunc, AST_FUNC, f->location);
    if (!x || !conv_qualified(c, f->funcname, f->location, &x->name)) return NULL;
    drop_pg_catalog(&x->name);
    if (x->name.schema && strcmp(x->name.schema, "information_schema") == 0 && strncmp(x->name.name, "_pg_", 4) == 0)
        x->name.schema = NULL; /* its functions, which no others are called like */
    x->star = f->agg_star;
    x->distinct = f->agg_distinct;
    x->variadic = f->func_variadic;
    x->within_group = f->agg_within_group;
    x->sql_syntax = f->funcformat == COERCE_SQL_SYNTAX;
    x->n_args = list_length(f->args);
    if (!(x->args = new_array(c, x->n_args, (int64_t)sizeof(AstExpr *)))) return NULL;
    for (int64_t i = 0; i < x->n_args; i++) {
        Node *arg = list_nth(f->args, (int)i);
        if (arg && IsA(arg, NamedArgExpr)) {
            NamedArgExpr *na = (NamedArgExpr *)arg;
            if (!x->arg_names && !(x->arg_names = new_array(c, x->n_args, (int64_t)sizeof(char *)))) return NULL;
            if (!copy_str(c, na->name, &x->arg_names[i])) return NULL;
            arg = (Node *)na->arg;
        }
        if (!(x->args[i] = conv_expr(c, arg))) return NULL;
    }
    if (!conv_order(c, f->agg_order, &x->order_by, &x->n_order_by) || !conv_opt_expr(c, f->agg_filter, &x->filter))
        return NULL;
    if (f->over && !(x->over = conv_window(c, f->over))) return NULL;
    return (AstExpr *)x;
}

static AstExpr *conv_sql_value(Conv *c, SQLValueFunction *f) {
    static const AstSqlValueKind map[] = {
        [SVFOP_CURRENT_DATE] = AST_CURRENT_DATE,
        [SVFOP_CURRENT_TIME] = AST_CURRENT_TIME,
        [SVFOP_CURRENT_TIME_N] = AST_CURRENT_TIME,
        [SVFOP_CURRENT_TIMESTAMP] = AST_CURRENT_TIMESTAMP,
        [SVFOP_CURRENT_TIMESTAMP_N] = AST_CURRENT_TIMESTAMP,
        [SVFOP_LOCALTIME] = AST_LOCALTIME,
        [SVFOP_LOCALTIME_N] = AST_LOCALTIME,
        [SVFOP_LOCALTIMESTAMP] = AST_LOCALTIMESTAMP,
        [SVFOP_LOCALTIMESTAMP_N] = AST_LOCALTIMESTAMP,
        [SVFOP_CURRENT_ROLE] = AST_CURRENT_USER,
        [SVFOP_CURRENT_USER] = AST_CURRENT_USER,
        [SVFOP_USER] = AST_CURRENT_USER,
        [SVFOP_SESSION_USER] = AST_SESSION_USER,
        [SVFOP_CURRENT_CATALOG] = AST_CURRENT_CATALOG,
        [SVFOP_CURRENT_SCHEMA] = AST_CURRENT_SCHEMA,
    };
    AstSqlValue *x = NEW(AstSqlValue, AST_SQL_VALUE, f->location);
    if (!x) return NULL;
    if ((unsigned)f->op > SVFOP_CURRENT_SCHEMA) return unexpected(c, (Node *)f);
    x->value = map[f->op];
    x->precision = f->typmod;
    return (AstExpr *)x;
}

static bool is_const_bool(TypeCast *t) {
    if (!t->typeName || strcmp(strVal(llast(t->typeName->names)), "bool") != 0) return false;
    return IsA(t->arg, A_Const) && !((A_Const *)t->arg)->isnull && nodeTag(&((A_Const *)t->arg)->val) == T_Boolean;
}

/* One step down a chain: converts `n` except for one child. Sets *slot to where that child's tree belongs and *child to
 * the child; *child = NULL when the node is complete. */
static AstExpr *conv_step(Conv *c, Node *n, AstExpr ***slot, Node **child) {
    *child = NULL;
    switch (nodeTag(n)) {
    case T_A_Const: return conv_const(c, (A_Const *)n);
    case T_ColumnRef: return conv_column(c, (ColumnRef *)n);
    case T_ParamRef: {
        ParamRef *p = (ParamRef *)n;
        AstParam *x = NEW(AstParam, AST_PARAM, p->location);
        if (!x) return NULL;
        if (p->number < 1 || p->number > PARAM_MAX) {
            err_at(c->e, x->location, ERR_UNDEFINED_PARAMETER, "there is no parameter $%d", p->number);
            return NULL;
        }
        x->number = p->number;
        return (AstExpr *)x;
    }
    case T_A_Expr: {
        A_Expr *a = (A_Expr *)n;
        if (a->kind != AEXPR_OP) return conv_a_expr(c, a);
        AstOp *x = NEW(AstOp, AST_OP, a->location);
        if (!x || !copy_str(c, op_name(a->name), &x->op)) return NULL;
        if (list_length(a->name) > 1 && strcmp(strVal(linitial(a->name)), "pg_catalog") != 0 &&
            !copy_str(c, strVal(linitial(a->name)), &x->op_schema))
            return NULL;
        if (!a->lexpr) {
            *slot = &x->right;
            *child = a->rexpr;
        } else {
            if (!a->rexpr) return unsupported(c, a->location, "a postfix operator");
            if (!(x->right = conv_expr(c, a->rexpr))) return NULL;
            *slot = &x->left;
            *child = a->lexpr;
        }
        return (AstExpr *)x;
    }
    case T_TypeCast: {
        TypeCast *t = (TypeCast *)n;
        /* TRUE and FALSE arrive as casts of a constant. */
        if (is_const_bool(t)) {
            AstExpr *b = conv_const(c, (A_Const *)t->arg);
            if (b && t->location >= 0) b->location = pos_of(t->location);
            return b;
        }
        AstCast *x = NEW(AstCast, AST_CAST, t->location);
        if (!x || !(x->type = conv_type(c, t->typeName))) return NULL;
        *slot = &x->arg;
        *child = t->arg;
        return (AstExpr *)x;
    }
    case T_CollateClause: {
        CollateClause *k = (CollateClause *)n;
        AstCollate *x = NEW(AstCollate, AST_COLLATE, k->location);
        if (!x || !conv_qualified(c, k->collname, k->location, &x->collation)) return NULL;
        drop_pg_catalog(&x->collation);
        *slot = &x->arg;
        *child = k->arg;
        return (AstExpr *)x;
    }
    case T_NullTest: {
        NullTest *t = (NullTest *)n;
        AstIs *x = NEW(AstIs, AST_IS, t->location);
        if (!x) return NULL;
        x->test = AST_IS_NULL;
        x->negated = t->nulltesttype == IS_NOT_NULL;
        *slot = &x->arg;
        *child = (Node *)t->arg;
        return (AstExpr *)x;
    }
    case T_BooleanTest: {
        BooleanTest *t = (BooleanTest *)n;
        AstIs *x = NEW(AstIs, AST_IS, t->location);
        if (!x) return NULL;
        BoolTestType k = t->booltesttype;
        x->test = k == IS_TRUE || k == IS_NOT_TRUE     ? AST_IS_TRUE
                  : k == IS_FALSE || k == IS_NOT_FALSE ? AST_IS_FALSE
                                                       : AST_IS_UNKNOWN;
        x->negated = k == IS_NOT_TRUE || k == IS_NOT_FALSE || k == IS_NOT_UNKNOWN;
        *slot = &x->arg;
        *child = (Node *)t->arg;
        return (AstExpr *)x;
    }
    case T_BoolExpr: {
        BoolExpr *b = (BoolExpr *)n;
        AstBool *x = NEW(AstBool,
                         b->boolop == AND_EXPR  ? AST_AND
                         : b->boolop == OR_EXPR ? AST_OR
                                                : AST_NOT,
                         b->location);
        if (!x) return NULL;
        if (b->boolop == NOT_EXPR) {
            if (!(x->items = new_array(c, 1, (int64_t)sizeof(AstExpr *)))) return NULL;
            x->n_items = 1;
            *slot = &x->items[0];
            *child = linitial(b->args);
            return (AstExpr *)x;
        }
        int64_t cap = 0;
        return flatten_bool(c, b, x, &cap) ? (AstExpr *)x : NULL;
    }
    case T_A_Indirection: return conv_indirection(c, (A_Indirection *)n);
    case T_SubLink: return conv_sublink(c, (SubLink *)n);
    case T_CaseExpr: return conv_case(c, (CaseExpr *)n);
    case T_CoalesceExpr: return conv_list(c, AST_COALESCE, ((CoalesceExpr *)n)->args, ((CoalesceExpr *)n)->location);
    case T_MinMaxExpr: {
        MinMaxExpr *m = (MinMaxExpr *)n;
        return conv_list(c, m->op == IS_GREATEST ? AST_GREATEST : AST_LEAST, m->args, m->location);
    }
    case T_A_ArrayExpr: return conv_list(c, AST_ARRAY, ((A_ArrayExpr *)n)->elements, ((A_ArrayExpr *)n)->location);
    case T_RowExpr: return conv_list(c, AST_ROW, ((RowExpr *)n)->args, ((RowExpr *)n)->location);
    case T_GroupingFunc: return conv_list(c, AST_GROUPING, ((GroupingFunc *)n)->args, ((GroupingFunc *)n)->location);
    case T_FuncCall: return conv_func(c, (FuncCall *)n);
    case T_SQLValueFunction: return conv_sql_value(c, (SQLValueFunction *)n);
    case T_SetToDefault: return NEW(AstExpr, AST_DEFAULT, ((SetToDefault *)n)->location);
    case T_List: return conv_list(c, AST_ROW, (List *)n, -1);
    case T_XmlExpr: return unsupported(c, ((XmlExpr *)n)->location, "XML");
    case T_XmlSerialize: return unsupported(c, ((XmlSerialize *)n)->location, "XML");
    case T_CurrentOfExpr: {
        AstCurrentOf *x = NEW(AstCurrentOf, AST_CURRENT_OF, -1);
        return x && copy_str(c, ((CurrentOfExpr *)n)->cursor_name, &x->cursor) ? (AstExpr *)x : NULL;
    }
    default: return unexpected(c, n);
    }
}

static AstExpr *conv_expr(Conv *c, Node *n) {
    AstExpr *root = NULL, **slot = &root;
    if (!n) return unexpected(c, n);
    if (stack_check(c->e) != ST_OK) return NULL;
    while (n) {
        AstExpr **next = NULL;
        Node *child = NULL;
        AstExpr *x = conv_step(c, n, &next, &child);
        if (!x) {
            root = NULL;
            break;
        }
        *slot = x;
        slot = next;
        n = child;
    }
    return root;
}

/* ---- windows ---------------------------------------------------------------------------- */

static AstWindow *conv_window(Conv *c, WindowDef *w) {
    AstWindow *x = arena_new_of(c->a, AstWindow);
    if (!x) return NULL;
    x->location = pos_of(w->location);
    int f = w->frameOptions;
    x->has_frame = (f & FRAMEOPTION_NONDEFAULT) != 0;
    x->mode = (f & FRAMEOPTION_ROWS) ? AST_FRAME_ROWS : (f & FRAMEOPTION_GROUPS) ? AST_FRAME_GROUPS : AST_FRAME_RANGE;
    x->start = (f & FRAMEOPTION_START_OFFSET_PRECEDING)   ? AST_BOUND_PRECEDING
               : (f & FRAMEOPTION_START_OFFSET_FOLLOWING) ? AST_BOUND_FOLLOWING
               : (f & FRAMEOPTION_START_CURRENT_ROW)      ? AST_BOUND_CURRENT_ROW
                                                          : AST_BOUND_UNBOUNDED_PRECEDING;
    x->end = (f & FRAMEOPTION_END_OFFSET_PRECEDING)      ? AST_BOUND_PRECEDING
             : (f & FRAMEOPTION_END_OFFSET_FOLLOWING)    ? AST_BOUND_FOLLOWING
             : (f & FRAMEOPTION_END_UNBOUNDED_FOLLOWING) ? AST_BOUND_UNBOUNDED_FOLLOWING
                                                         : AST_BOUND_CURRENT_ROW;
    x->exclude = (f & FRAMEOPTION_EXCLUDE_CURRENT_ROW) ? AST_EXCLUDE_CURRENT_ROW
                 : (f & FRAMEOPTION_EXCLUDE_GROUP)     ? AST_EXCLUDE_GROUP
                 : (f & FRAMEOPTION_EXCLUDE_TIES)      ? AST_EXCLUDE_TIES
                                                       : AST_EXCLUDE_NONE;
    return copy_str(c, w->name, &x->name) && copy_str(c, w->refname, &x->base) &&
                   conv_exprs(c, w->partitionClause, &x->partition_by, &x->n_partition_by) &&
                   conv_order(c, w->orderClause, &x->order_by, &x->n_order_by) &&
                   conv_opt_expr(c, w->startOffset, &x->start_offset) && conv_opt_expr(c, w->endOffset, &x->end_offset)
               ? x
               : NULL;
}

/* ---- FROM ------------------------------------------------------------------------------- */

static AstColumnDef *conv_column_def(Conv *c, ColumnDef *d);

static AstFromTable *conv_from_table(Conv *c, RangeVar *r) {
    AstFromTable *x = NEW(AstFromTable, AST_FROM_TABLE, r->location);
    if (!x || !conv_rangevar(c, r, &x->name) || !conv_alias(c, r->alias, &x->alias)) return NULL;
    x->only = !r->inh;
    x->file = forms_file(&c->forms, r->location);
    return x;
}

static AstFrom *conv_sample(Conv *c, RangeTableSample *r) {
    if (!IsA(r->relation, RangeVar)) return unexpected(c, r->relation);
    AstFromTable *x = conv_from_table(c, (RangeVar *)r->relation);
    AstSample *s = arena_new_of(c->a, AstSample);
    if (!x || !s) return NULL;
    x->sample = s;
    s->location = pos_of(r->location);
    return conv_qualified(c, r->method, r->location, &s->method) && conv_exprs(c, r->args, &s->args, &s->n_args) &&
                   conv_opt_expr(c, r->repeatable, &s->repeatable)
               ? (AstFrom *)x
               : NULL;
}

static bool conv_column_defs(Conv *c, List *defs, AstColumnDef ***out, int64_t *n) {
    *n = list_length(defs);
    if (!(*out = new_array(c, *n, (int64_t)sizeof(AstColumnDef *)))) return false;
    for (int64_t i = 0; i < *n; i++)
        if (!((*out)[i] = conv_column_def(c, list_nth(defs, (int)i)))) return false;
    return true;
}

static AstFrom *conv_from_func(Conv *c, RangeFunction *r) {
    AstFromFunc *x = NEW(AstFromFunc, AST_FROM_FUNC, -1);
    if (!x || !conv_alias(c, r->alias, &x->alias)) return NULL;
    x->lateral = r->lateral;
    x->ordinality = r->ordinality;
    x->n_funcs = list_length(r->functions);
    if (!(x->funcs = new_array(c, x->n_funcs, (int64_t)sizeof(AstRowsFunc)))) return NULL;
    for (int64_t i = 0; i < x->n_funcs; i++) {
        List *pair = list_nth(r->functions, (int)i);
        AstRowsFunc *f = &x->funcs[i];
        List *defs = list_length(pair) > 1 ? lsecond(pair) : NULL;
        if (!(f->call = conv_expr(c, linitial(pair))) || !conv_column_defs(c, defs, &f->column_defs, &f->n_column_defs))
            return NULL;
    }
    x->location = x->funcs[0].call->location;
    return conv_column_defs(c, r->coldeflist, &x->column_defs, &x->n_column_defs) ? (AstFrom *)x : NULL;
}

static AstFrom *conv_from(Conv *c, Node *n);

/* A join without its left input. */
static AstFromJoin *conv_join(Conv *c, JoinExpr *j) {
    AstFromJoin *x = NEW(AstFromJoin, AST_FROM_JOIN, -1);
    if (!x) return NULL;
    switch (j->jointype) {
    case JOIN_INNER: x->type = !j->isNatural && !j->usingClause && !j->quals ? AST_JOIN_CROSS : AST_JOIN_INNER; break;
    case JOIN_LEFT: x->type = AST_JOIN_LEFT; break;
    case JOIN_RIGHT: x->type = AST_JOIN_RIGHT; break;
    case JOIN_FULL: x->type = AST_JOIN_FULL; break;
    default: return unexpected(c, (Node *)j);
    }
    x->natural = j->isNatural;
    if (!(x->right = conv_from(c, j->rarg)) || !conv_names(c, j->usingClause, &x->using_columns, &x->n_using) ||
        !conv_opt_expr(c, j->quals, &x->on) || !conv_alias(c, j->alias, &x->alias))
        return NULL;
    if (j->join_using_alias && !copy_str(c, j->join_using_alias->aliasname, &x->using_alias)) return NULL;
    x->location = x->right->location;
    return x;
}

static AstFrom *conv_from_item(Conv *c, Node *n) {
    switch (nodeTag(n)) {
    case T_RangeVar: return (AstFrom *)conv_from_table(c, (RangeVar *)n);
    case T_RangeFunction: return conv_from_func(c, (RangeFunction *)n);
    case T_RangeSubselect: {
        RangeSubselect *r = (RangeSubselect *)n;
        AstFromSubquery *x = NEW(AstFromSubquery, AST_FROM_SUBQUERY, -1);
        if (!x || !conv_alias(c, r->alias, &x->alias)) return NULL;
        if (!IsA(r->subquery, SelectStmt)) return unexpected(c, r->subquery);
        x->lateral = r->lateral;
        if (!(x->query = conv_select(c, (SelectStmt *)r->subquery))) return NULL;
        x->location = x->query->location;
        return (AstFrom *)x;
    }
    case T_RangeTableSample: return conv_sample(c, (RangeTableSample *)n);
    case T_RangeTableFunc: return unsupported(c, ((RangeTableFunc *)n)->location, "XMLTABLE");
    default: return unexpected(c, n);
    }
}

/* Joins are a chain through their left inputs. */
static AstFrom *conv_from(Conv *c, Node *n) {
    AstFrom *root = NULL, **slot = &root;
    if (stack_check(c->e) != ST_OK) return NULL;
    while (IsA(n, JoinExpr)) {
        AstFromJoin *x = conv_join(c, (JoinExpr *)n);
        if (!x) return NULL;
        *slot = (AstFrom *)x;
        slot = &x->left;
        n = ((JoinExpr *)n)->larg;
    }
    return (*slot = conv_from_item(c, n)) ? root : NULL;
}

static bool conv_froms(Conv *c, List *l, AstFrom ***out, int64_t *n) {
    *n = list_length(l);
    *out = NULL;
    if (!l) return true;
    AstFrom **v = new_array(c, *n, (int64_t)sizeof(AstFrom *));
    if (!v) return false;
    for (int64_t i = 0; i < *n; i++)
        if (!(v[i] = conv_from(c, list_nth(l, (int)i)))) return false;
    *out = v;
    return true;
}

/* ---- SELECT ------------------------------------------------------------------------------- */

static bool conv_targets(Conv *c, List *l, AstTarget **out, int64_t *n) {
    *n = list_length(l);
    *out = NULL;
    if (!l) return true;
    AstTarget *v = new_array(c, *n, (int64_t)sizeof(AstTarget));
    if (!v) return false;
    for (int64_t i = 0; i < *n; i++) {
        ResTarget *t = list_nth(l, (int)i);
        if (!IsA(t, ResTarget)) return unexpected(c, (Node *)t) != NULL;
        v[i].location = pos_of(t->location);
        if (!copy_str(c, t->name, &v[i].alias) || !(v[i].expr = conv_expr(c, t->val))) return false;
    }
    *out = v;
    return true;
}

static bool conv_search(Conv *c, CTESearchClause *s, AstSearch **out) {
    if (!s) return true;
    AstSearch *x = *out = arena_new_of(c->a, AstSearch);
    if (!x) return false;
    x->breadth = s->search_breadth_first;
    x->location = pos_of(s->location);
    return conv_names(c, s->search_col_list, &x->columns, &x->n_columns) &&
           copy_str(c, s->search_seq_column, &x->sequence);
}
static bool conv_cycle(Conv *c, CTECycleClause *s, AstCycle **out) {
    if (!s) return true;
    AstCycle *x = *out = arena_new_of(c->a, AstCycle);
    if (!x) return false;
    x->location = pos_of(s->location);
    return conv_names(c, s->cycle_col_list, &x->columns, &x->n_columns) &&
           copy_str(c, s->cycle_mark_column, &x->mark) && copy_str(c, s->cycle_path_column, &x->path) &&
           (x->value = conv_expr(c, s->cycle_mark_value)) && (x->other = conv_expr(c, s->cycle_mark_default));
}

static bool conv_with(Conv *c, WithClause *w, AstWith **out) {
    *out = NULL;
    if (!w) return true;
    AstWith *x = arena_new_of(c->a, AstWith);
    if (!x) return false;
    x->recursive = w->recursive;
    x->location = pos_of(w->location);
    x->n_ctes = list_length(w->ctes);
    if (!(x->ctes = new_array(c, x->n_ctes, (int64_t)sizeof(AstCte)))) return false;
    for (int64_t i = 0; i < x->n_ctes; i++) {
        CommonTableExpr *t = list_nth(w->ctes, (int)i);
        AstCte *k = &x->ctes[i];
        k->location = pos_of(t->location);
        k->materialized = t->ctematerialized == CTEMaterializeAlways  ? AST_MAT_ALWAYS
                          : t->ctematerialized == CTEMaterializeNever ? AST_MAT_NEVER
                                                                      : AST_MAT_DEFAULT;
        if (!copy_str(c, t->ctename, &k->name) || !conv_names(c, t->aliascolnames, &k->columns, &k->n_columns) ||
            !(k->query = conv_stmt(c, t->ctequery)) || !conv_search(c, t->search_clause, &k->search) ||
            !conv_cycle(c, t->cycle_clause, &k->cycle))
            return false;
    }
    *out = x;
    return true;
}

static bool conv_groups(Conv *c, List *l, AstGroupItem **out, int64_t *n) {
    *n = list_length(l);
    *out = NULL;
    if (!l) return true;
    AstGroupItem *v = new_array(c, *n, (int64_t)sizeof(AstGroupItem));
    if (!v || stack_check(c->e) != ST_OK) return false;
    bool ok = true;
    for (int64_t i = 0; i < *n && ok; i++) {
        Node *x = list_nth(l, (int)i);
        if (IsA(x, GroupingSet)) {
            GroupingSet *g = (GroupingSet *)x;
            v[i].location = pos_of(g->location);
            v[i].kind = g->kind == GROUPING_SET_EMPTY    ? AST_GROUP_EMPTY
                        : g->kind == GROUPING_SET_ROLLUP ? AST_GROUP_ROLLUP
                        : g->kind == GROUPING_SET_CUBE   ? AST_GROUP_CUBE
                                                         : AST_GROUP_SETS;
            ok = conv_groups(c, g->content, &v[i].items, &v[i].n_items);
        } else {
            v[i].kind = AST_GROUP_EXPR;
            ok = (v[i].expr = conv_expr(c, x)) != NULL;
            if (ok) v[i].location = v[i].expr->location;
        }
    }
    *out = v;
    return ok;
}

static bool conv_values(Conv *c, List *rows, AstSelect *x) {
    x->n_values = list_length(rows);
    if (!(x->values = new_array(c, x->n_values, (int64_t)sizeof(AstValuesRow)))) return false;
    for (int64_t i = 0; i < x->n_values; i++) {
        List *row = list_nth(rows, (int)i);
        if (!conv_exprs(c, row, &x->values[i].items, &x->values[i].n_items)) return false;
        if (x->values[i].n_items != x->values[0].n_items) {
            err_at(c->e, x->values[i].items[0]->location, ERR_SYNTAX, "VALUES lists must all be the same length");
            return false;
        }
    }
    if (x->values[0].n_items > 0) x->location = x->values[0].items[0]->location;
    return true;
}

static bool conv_plain_select(Conv *c, SelectStmt *s, AstSelect *x) {
    if (s->intoClause) {
        err_at(c->e, pos_of(s->intoClause->rel->location), ERR_SYNTAX, "SELECT ... INTO is not allowed here");
        return false;
    }
    if (s->valuesLists) return conv_values(c, s->valuesLists, x);
    if (s->distinctClause) {
        x->distinct = true;
        /* DISTINCT alone is a list of one NULL. */
        if (linitial(s->distinctClause) && !conv_exprs(c, s->distinctClause, &x->distinct_on, &x->n_distinct_on))
            return false;
    }
    if (!conv_targets(c, s->targetList, &x->targets, &x->n_targets) ||
        !conv_froms(c, s->fromClause, &x->from, &x->n_from) || !conv_opt_expr(c, s->whereClause, &x->where) ||
        !conv_groups(c, s->groupClause, &x->group_by, &x->n_group_by) || !conv_opt_expr(c, s->havingClause, &x->having))
        return false;
    x->group_distinct = s->groupDistinct;
    x->n_windows = list_length(s->windowClause);
    if (!(x->windows = new_array(c, x->n_windows, (int64_t)sizeof(AstWindow)))) return false;
    for (int64_t i = 0; i < x->n_windows; i++) {
        AstWindow *w = conv_window(c, list_nth(s->windowClause, (int)i));
        if (!w) return false;
        x->windows[i] = *w;
    }
    if (x->n_targets > 0) x->location = x->targets[0].location;
    return true;
}

/* FOR UPDATE ...; of several the first is named in messages. */
static bool conv_locking(Conv *c, List *l, AstSelect *x) {
    if (!l) return true;
    int n = 0;
    for (int i = 0; i < list_length(l); i++) n += list_length(((LockingClause *)list_nth(l, i))->lockedRels);
    if (!(x->lock_of = new_array(c, n, (int64_t)sizeof(char *)))) return false;
    for (int i = 0; i < list_length(l); i++) {
        LockingClause *k = list_nth(l, i);
        const char *name = k->strength == LCS_FORKEYSHARE      ? "FOR KEY SHARE"
                           : k->strength == LCS_FORSHARE       ? "FOR SHARE"
                           : k->strength == LCS_FORNOKEYUPDATE ? "FOR NO KEY UPDATE"
                                                               : "FOR UPDATE";
        if (!x->lock && !copy_str(c, name, &x->lock)) return false;
        for (int j = 0; j < list_length(k->lockedRels); j++) {
            RangeVar *r = list_nth(k->lockedRels, j);
            if (r->schemaname) {
                err_at(c->e, pos_of(r->location), ERR_SYNTAX, "%s must specify unqualified relation names", name);
                return false;
            }
            if (!copy_str(c, r->relname, &x->lock_of[x->n_lock_of++])) return false;
        }
    }
    return true;
}

/* Set operations are a chain through their left inputs. */
static AstSelect *conv_select(Conv *c, SelectStmt *s) {
    AstSelect *root = NULL, **slot = &root;
    if (stack_check(c->e) != ST_OK) return NULL;
    for (;;) {
        AstSelect *x = NEW(AstSelect, AST_SELECT, -1);
        if (!x || !conv_with(c, s->withClause, &x->with)) return NULL;
        *slot = x;
        if (s->op == SETOP_NONE && !conv_plain_select(c, s, x)) return NULL;
        if (!conv_order(c, s->sortClause, &x->order_by, &x->n_order_by) ||
            !conv_opt_expr(c, s->limitOffset, &x->offset))
            return NULL;
        /* LIMIT ALL is a NULL constant. */
        if (s->limitCount && !(IsA(s->limitCount, A_Const) && ((A_Const *)s->limitCount)->isnull) &&
            !conv_opt_expr(c, s->limitCount, &x->limit))
            return NULL;
        x->limit_with_ties = s->limitOption == LIMIT_OPTION_WITH_TIES;
        if (!conv_locking(c, s->lockingClause, x)) return NULL;
        if (s->op == SETOP_NONE) return root;
        x->set_op = s->op == SETOP_UNION       ? AST_SETOP_UNION
                    : s->op == SETOP_INTERSECT ? AST_SETOP_INTERSECT
                                               : AST_SETOP_EXCEPT;
        x->set_all = s->all;
        if (!(x->right = conv_select(c, s->rarg))) return NULL;
        slot = &x->left;
        s = s->larg;
    }
}

/* ---- data changes ---------------------------------------------------------------------------- */

/* The part of a column that is assigned: subscripts side by side are one step. */
static bool conv_path(Conv *c, ResTarget *t, AstPath *out) {
    const int n = list_length(t->indirection);
    if (!(out->steps = new_array(c, n, (int64_t)sizeof(AstStep)))) return false;
    for (int i = 0; i < n; i++) {
        Node *x = list_nth(t->indirection, i);
        if (IsA(x, String)) {
            if (!copy_str(c, strVal(x), &out->steps[out->n++].field)) return false;
            continue;
        }
        if (!IsA(x, A_Indices)) return unsupported(c, t->location, "assignment to all fields at once") != NULL;
        const bool chained = out->n > 0 && !out->steps[out->n - 1].field;
        AstSubscripts *s = &out->steps[chained ? out->n - 1 : out->n++].subscripts;
        if (!chained && !(s->items = new_array(c, n, (int64_t)sizeof(AstSubscript *)))) return false;
        if (!(s->items[s->n] = conv_indices(c, (A_Indices *)x, pos_of(t->location)))) return false;
        s->items[s->n++]->chained = chained;
    }
    return true;
}

static bool conv_assigns(Conv *c, List *l, AstAssign **out, int64_t *n_out) {
    int n = list_length(l);
    AstAssign *v = new_array(c, n, (int64_t)sizeof(AstAssign));
    int64_t k = 0;
    if (!v) return false;
    for (int i = 0; i < n; k++) {
        ResTarget *t = list_nth(l, i);
        AstAssign *x = &v[k];
        int width = 1;
        Node *value = t->val;
        x->location = pos_of(t->location);
        if (IsA(value, MultiAssignRef)) {
            MultiAssignRef *m = (MultiAssignRef *)value;
            /* (a, b) = (1, 2), item by item; any other source stays one assignment of several columns. */
            if (IsA(m->source, RowExpr)) {
                List *args = ((RowExpr *)m->source)->args;
                if (list_length(args) != m->ncolumns) {
                    err_at(c->e, pos_of(t->location), ERR_SYNTAX, "number of columns does not match number of values");
                    return false;
                }
                value = list_nth(args, m->colno - 1);
            } else if (!IsA(m->source, SubLink)) {
                err_at(c->e, pos_of(t->location), ERR_FEATURE_NOT_SUPPORTED,
                       "source for a multiple-column UPDATE item must be a sub-SELECT or ROW() expression");
                return false;
            } else {
                width = m->ncolumns;
                value = m->source;
                if (m->colno != 1 || width > n - i) return unexpected(c, (Node *)m) != NULL;
            }
        }
        x->n_columns = width;
        if (!(x->columns = new_array(c, width, (int64_t)sizeof(char *)))) return false;
        for (int j = 0; j < width; j++) {
            ResTarget *u = list_nth(l, i + j);
            if (width > 1 && u->indirection)
                return unsupported(c, u->location, "assignment to a part of one of several columns") != NULL;
            if (!conv_path(c, u, &x->path) || !copy_str(c, u->name, &x->columns[j])) return false;
        }
        if (!(x->value = conv_expr(c, value))) return false;
        i += width;
    }
    *out = v;
    *n_out = k;
    return true;
}

static bool conv_on_conflict(Conv *c, OnConflictClause *o, AstOnConflict **out) {
    *out = NULL;
    if (!o) return true;
    AstOnConflict *x = arena_new_of(c->a, AstOnConflict);
    if (!x) return false;
    x->do_update = o->action == ONCONFLICT_UPDATE;
    x->location = pos_of(o->location);
    if (o->infer) {
        x->n_target = list_length(o->infer->indexElems);
        if (!(x->target = new_array(c, x->n_target, (int64_t)sizeof(AstExpr *)))) return false;
        for (int64_t i = 0; i < x->n_target; i++) {
            IndexElem *el = list_nth(o->infer->indexElems, (int)i);
            if (el->opclass || el->collation)
                return unsupported(c, o->infer->location, "an operator class or collation in ON CONFLICT") != NULL;
            if (el->expr) {
                if (!(x->target[i] = conv_expr(c, el->expr))) return false;
            } else {
                AstColumn *col = NEW(AstColumn, AST_COLUMN, o->infer->location);
                if (!col || !copy_str(c, el->name, &col->name)) return false;
                x->target[i] = (AstExpr *)col;
            }
        }
        if (!conv_opt_expr(c, o->infer->whereClause, &x->target_where) ||
            !copy_str(c, o->infer->conname, &x->constraint))
            return false;
    }
    if (!conv_assigns(c, o->targetList, &x->set, &x->n_set) || !conv_opt_expr(c, o->whereClause, &x->where))
        return false;
    *out = x;
    return true;
}

static bool conv_insert_columns(Conv *c, List *cols, AstInsert *x) {
    x->n_columns = list_length(cols);
    if (!(x->columns = new_array(c, x->n_columns, (int64_t)sizeof(char *))) ||
        !(x->column_locations = new_array(c, x->n_columns, (int64_t)sizeof(int64_t))) ||
        !(x->paths = new_array(c, x->n_columns, (int64_t)sizeof(AstPath))))
        return false;
    for (int64_t i = 0; i < x->n_columns; i++) {
        ResTarget *t = list_nth(cols, (int)i);
        if (!conv_path(c, t, &x->paths[i]) || !copy_str(c, t->name, &x->columns[i])) return false;
        x->column_locations[i] = pos_of(t->location);
    }
    return true;
}
static void conv_overriding(OverridingKind k, AstInsert *x) {
    x->overriding_system = k == OVERRIDING_SYSTEM_VALUE;
    x->overriding_user = k == OVERRIDING_USER_VALUE;
}

static AstStmt *conv_insert(Conv *c, InsertStmt *s) {
    AstInsert *x = NEW(AstInsert, AST_INSERT, s->relation->location);
    if (!x || !conv_with(c, s->withClause, &x->with) || !conv_rangevar(c, s->relation, &x->table)) return NULL;
    if (s->relation->alias && !copy_str(c, s->relation->alias->aliasname, &x->alias)) return NULL;
    if (!conv_insert_columns(c, s->cols, x)) return NULL;
    conv_overriding(s->override, x);
    if (s->selectStmt && !(x->query = conv_select(c, (SelectStmt *)s->selectStmt))) return NULL;
    return conv_on_conflict(c, s->onConflictClause, &x->on_conflict) &&
                   conv_targets(c, s->returningList, &x->returning, &x->n_returning)
               ? (AstStmt *)x
               : NULL;
}

static AstStmt *conv_update(Conv *c, UpdateStmt *s) {
    AstUpdate *x = NEW(AstUpdate, AST_UPDATE, s->relation->location);
    return x && conv_with(c, s->withClause, &x->with) && (x->table = conv_from_table(c, s->relation)) &&
                   conv_assigns(c, s->targetList, &x->set, &x->n_set) &&
                   conv_froms(c, s->fromClause, &x->from, &x->n_from) && conv_opt_expr(c, s->whereClause, &x->where) &&
                   conv_targets(c, s->returningList, &x->returning, &x->n_returning)
               ? (AstStmt *)x
               : NULL;
}

static AstStmt *conv_delete(Conv *c, DeleteStmt *s) {
    AstDelete *x = NEW(AstDelete, AST_DELETE, s->relation->location);
    return x && conv_with(c, s->withClause, &x->with) && (x->table = conv_from_table(c, s->relation)) &&
                   conv_froms(c, s->usingClause, &x->using_items, &x->n_using) &&
                   conv_opt_expr(c, s->whereClause, &x->where) &&
                   conv_targets(c, s->returningList, &x->returning, &x->n_returning)
               ? (AstStmt *)x
               : NULL;
}

/* INSERT of MERGE, as an INSERT of one row of VALUES. */
static AstInsert *conv_merge_insert(Conv *c, const RangeVar *into, MergeWhenClause *w) {
    AstInsert *x = NEW(AstInsert, AST_INSERT, into->location);
    if (!x || !conv_insert_columns(c, w->targetList, x)) return NULL;
    conv_overriding(w->override, x);
    if (!w->values) return x;
    AstSelect *values = x->query = NEW(AstSelect, AST_SELECT, into->location);
    if (!values || !(values->values = new_array(c, 1, (int64_t)sizeof(AstValuesRow)))) return NULL;
    values->n_values = 1;
    return conv_exprs(c, w->values, &values->values[0].items, &values->values[0].n_items) ? x : NULL;
}
static bool conv_merge_when(Conv *c, const RangeVar *into, MergeWhenClause *w, AstMergeWhen *x) {
    x->matched = w->matched;
    if (!conv_opt_expr(c, w->condition, &x->condition)) return false;
    switch (w->commandType) {
    case CMD_INSERT: x->action = AST_MERGE_INSERT; return (x->insert = conv_merge_insert(c, into, w)) != NULL;
    case CMD_UPDATE: x->action = AST_MERGE_UPDATE; return conv_assigns(c, w->targetList, &x->set, &x->n_set);
    case CMD_DELETE: x->action = AST_MERGE_DELETE; return true;
    default: x->action = AST_MERGE_NOTHING; return true;
    }
}
static AstStmt *conv_merge(Conv *c, MergeStmt *s) {
    AstMerge *x = NEW(AstMerge, AST_MERGE, s->relation->location);
    if (!x || !conv_with(c, s->withClause, &x->with) || !(x->table = conv_from_table(c, s->relation)) ||
        !(x->using_item = conv_from(c, s->sourceRelation)) || !(x->on = conv_expr(c, s->joinCondition)))
        return NULL;
    x->n_whens = list_length(s->mergeWhenClauses);
    if (!(x->whens = new_array(c, x->n_whens, (int64_t)sizeof(AstMergeWhen)))) return NULL;
    for (int64_t i = 0; i < x->n_whens; i++)
        if (!conv_merge_when(c, s->relation, list_nth(s->mergeWhenClauses, (int)i), &x->whens[i])) return NULL;
    return (AstStmt *)x;
}

static bool conv_rangevars(Conv *c, List *l, AstName **out, int64_t *n) {
    *n = list_length(l);
    if (!(*out = new_array(c, *n, (int64_t)sizeof(AstName)))) return false;
    for (int64_t i = 0; i < *n; i++)
        if (!conv_rangevar(c, list_nth(l, (int)i), &(*out)[i])) return false;
    return true;
}

/* ---- options --------------------------------------------------------------------------------- */

/* The text of a DefElem's value; *out NULL when it has none. */
static bool option_text(Conv *c, Node *n, int location, const char **out) {
    if (n && IsA(n, A_Const)) {
        A_Const *k = (A_Const *)n;
        n = k->isnull ? NULL : &k->val.node;
    }
    *out = NULL;
    if (!n) return true;
    switch (nodeTag(n)) {
    case T_String: return copy_str(c, strVal(n), out);
    case T_Float: return copy_str(c, ((Float *)n)->fval, out);
    case T_BitString: return copy_str(c, ((BitString *)n)->bsval, out);
    case T_Integer: return (*out = arena_printf(c->a, "%d", intVal(n))) != NULL;
    case T_Boolean: return copy_str(c, boolVal(n) ? "true" : "false", out);
    case T_TypeName: {
        List *names = ((TypeName *)n)->names;
        return copy_str(c, strVal(llast(names)), out);
    }
    case T_TypeCast: return option_text(c, ((TypeCast *)n)->arg, location, out);
    default: err_at(c->e, pos_of(location), ERR_SYNTAX, "unexpected option value"); return false;
    }
}

static bool conv_options(Conv *c, List *l, AstOption **out, int64_t *n) {
    *n = list_length(l);
    if (!(*out = new_array(c, *n, (int64_t)sizeof(AstOption)))) return false;
    for (int64_t i = 0; i < *n; i++) {
        DefElem *d = list_nth(l, (int)i);
        AstOption *x = &(*out)[i];
        x->location = pos_of(d->location);
        if (!copy_str(c, d->defnamespace, &x->space) || !copy_str(c, d->defname, &x->name)) return false;
        if (d->arg && IsA(d->arg, List)) {
            List *items = (List *)d->arg;
            x->n_list = list_length(items);
            if (!(x->list = new_array(c, x->n_list, (int64_t)sizeof(char *)))) return false;
            for (int64_t j = 0; j < x->n_list; j++)
                if (!option_text(c, list_nth(items, (int)j), d->location, &x->list[j])) return false;
        } else if (d->arg && IsA(d->arg, A_Star)) {
            x->star = true;
        } else if (!option_text(c, d->arg, d->location, &x->value)) {
            return false;
        }
    }
    return true;
}

/* ---- definitions -------------------------------------------------------------------------------- */

/* True when the constraint node is an attribute of the one before it (DEFERRABLE ...), not one itself. */
static bool is_constraint_attr(Constraint *k) {
    return k->contype == CONSTR_ATTR_DEFERRABLE || k->contype == CONSTR_ATTR_NOT_DEFERRABLE ||
           k->contype == CONSTR_ATTR_DEFERRED || k->contype == CONSTR_ATTR_IMMEDIATE;
}

/* Length of the word at a constraint's location: DEFAULT, CHECK ... or CONSTRAINT. */
static int64_t after_word(Conv *c, int location, const char *word) {
    int64_t at = location < 0 ? 0 : location;
    for (;;) {
        Tok t = scan_next(c->text, &at);
        if (t.kind == TOK_END || scan_is_word(c->text, t, word)) return at;
    }
}

static bool copy_source(Conv *c, Slice s, Slice *out) {
    out->ptr = arena_strndup(c->a, s.ptr, s.len);
    out->len = s.len;
    return out->ptr != NULL;
}

bool copy_clause(Conv *c, int location, const char *word, Slice *out) {
    return copy_source(c, scan_parenthesised(c->text, after_word(c, location, word)), out);
}

/* An option's number, as defGetInt64 reads it. */
static bool sequence_number(Conv *c, const DefElem *d, AstSequenceOption *x) {
    if (!d->arg) return true;
    x->has_number = true;
    if (IsA(d->arg, Integer)) return x->number = intVal(d->arg), true;
    if (!IsA(d->arg, Float)) return unexpected(c, d->arg) != NULL;
    const char *text = ((Float *)d->arg)->fval;
    char *end;
    errno = 0;
    x->number = strtoll(text, &end, 10);
    if (!errno && end != text && !*end) return true;
    const bool range = !*end;
    err_set(c->e, range ? ERR_NUMERIC_RANGE : ERR_INVALID_TEXT,
            range ? "value \"%s\" is out of range for type bigint" : "invalid input syntax for type bigint: \"%s\"",
            text);
    return false;
}
static bool conv_sequence_option(Conv *c, const DefElem *d, AstSequenceOption *x) {
    static const char *const names[] = {[AST_SEQ_AS] = "as",
                                        [AST_SEQ_INCREMENT] = "increment",
                                        [AST_SEQ_START] = "start",
                                        [AST_SEQ_RESTART] = "restart",
                                        [AST_SEQ_MAXVALUE] = "maxvalue",
                                        [AST_SEQ_MINVALUE] = "minvalue",
                                        [AST_SEQ_CACHE] = "cache",
                                        [AST_SEQ_CYCLE] = "cycle",
                                        [AST_SEQ_OWNED_BY] = "owned_by",
                                        [AST_SEQ_NAME] = "sequence_name",
                                        [AST_SEQ_GENERATED] = "generated"};
    size_t kind = 0;
    while (kind < ARRAY_LEN(names) && strcmp(names[kind], d->defname) != 0) kind++;
    if (kind == ARRAY_LEN(names)) return unexpected(c, (Node *)(uintptr_t)d) != NULL;
    x->kind = (AstSequenceOptionKind)kind;
    x->location = pos_of(d->location);
    switch (x->kind) {
    case AST_SEQ_AS: return (x->type = conv_type(c, (TypeName *)d->arg)) != NULL;
    case AST_SEQ_CYCLE: return x->on = boolVal(d->arg), true;
    case AST_SEQ_GENERATED: return x->on = intVal(d->arg) == 'a', true;
    case AST_SEQ_OWNED_BY:
    case AST_SEQ_NAME: return conv_qualified(c, (List *)d->arg, d->location, &x->owner);
    default: return sequence_number(c, d, x);
    }
}
static bool conv_sequence_options(Conv *c, List *l, AstSequenceOption **out, int64_t *n) {
    *n = list_length(l);
    if (!(*out = new_array(c, *n, (int64_t)sizeof(AstSequenceOption)))) return false;
    for (int64_t i = 0; i < *n; i++)
        if (!conv_sequence_option(c, list_nth(l, (int)i), &(*out)[i])) return false;
    return true;
}
static AstStmt *conv_sequence(Conv *c, AstKind kind, RangeVar *name, List *options, bool if_exists) {
    AstSequence *x = NEW(AstSequence, kind, name->location);
    if (!x || !conv_rangevar(c, name, &x->name)) return NULL;
    x->if_exists = if_exists;
    x->temporary = name->relpersistence == 't';
    x->unlogged = name->relpersistence == 'u';
    return conv_sequence_options(c, options, &x->options, &x->n_options) ? (AstStmt *)x : NULL;
}

/* There is the default one only. */
static bool conv_tablespace(Conv *c, const char *name) {
    if (!name || strcmp(name, "pg_default") == 0) return true;
    if (strcmp(name, "pg_global") == 0)
        err_set(c->e, ERR_INVALID_PARAMETER, "only shared relations can be placed in pg_global tablespace");
    else err_set(c->e, ERR_UNDEFINED_OBJECT, "tablespace \"%s\" does not exist", name);
    return false;
}
/* USING of tables: heap is the only one that PostgreSQL itself has. */
static bool conv_table_method(Conv *c, const char *name) {
    static const char *const others[] = {"btree", "hash", "gist", "gin", "spgist", "brin"};
    if (!name || strcmp(name, "heap") == 0) return true;
    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        if (strcmp(name, others[i]) == 0)
            return err_set(c->e, ERR_NOT_IN_STATE, "access method \"%s\" is not of type TABLE", name), false;
    return err_set(c->e, ERR_UNDEFINED_OBJECT, "access method \"%s\" does not exist", name), false;
}

static bool conv_constraint(Conv *c, Constraint *k, AstConstraint *x) {
    x->location = pos_of(k->location);
    x->deferrable = k->deferrable || k->initdeferred;
    x->deferred = k->initdeferred;
    if (!copy_str(c, k->conname, &x->name)) return false;
    x->not_valid = k->skip_validation;
    switch (k->contype) {
    case CONSTR_NULL: x->kind = AST_CON_NULL; return true;
    case CONSTR_NOTNULL: x->kind = AST_CON_NOT_NULL; return true;
    case CONSTR_DEFAULT:
        x->kind = AST_CON_DEFAULT;
        return copy_source(c, scan_default_expr(c->text, after_word(c, k->location, "default")), &x->expr_source) &&
               conv_opt_expr(c, k->raw_expr, &x->expr);
    case CONSTR_CHECK:
        x->kind = AST_CON_CHECK;
        return copy_source(c, scan_parenthesised(c->text, after_word(c, k->location, "check")), &x->expr_source) &&
               conv_opt_expr(c, k->raw_expr, &x->expr);
    case CONSTR_GENERATED:
        x->kind = AST_CON_GENERATED;
        return copy_source(c, scan_parenthesised(c->text, after_word(c, k->location, "as")), &x->expr_source) &&
               conv_opt_expr(c, k->raw_expr, &x->expr);
    case CONSTR_IDENTITY:
        x->kind = AST_CON_IDENTITY;
        x->identity_always = k->generated_when == 'a';
        return conv_sequence_options(c, k->options, &x->sequence, &x->n_sequence);
    case CONSTR_PRIMARY:
    case CONSTR_UNIQUE:
        x->kind = k->contype == CONSTR_PRIMARY ? AST_CON_PRIMARY_KEY : AST_CON_UNIQUE;
        x->nulls_not_distinct = k->nulls_not_distinct;
        if (!conv_tablespace(c, k->indexspace)) return false;
        if (!conv_names(c, k->including, &x->include, &x->n_include) ||
            !conv_options(c, k->options, &x->options, &x->n_options))
            return false;
        if (k->indexname) return unsupported(c, k->location, "USING INDEX") != NULL;
        return conv_names(c, k->keys, &x->columns, &x->n_columns);
    case CONSTR_FOREIGN:
        x->kind = AST_CON_FOREIGN_KEY;
        x->match_full = k->fk_matchtype == 'f';
        if (!conv_names(c, k->fk_del_set_cols, &x->set_columns, &x->n_set_columns)) return false;
        x->on_delete = k->fk_del_action;
        x->on_update = k->fk_upd_action;
        return conv_names(c, k->fk_attrs, &x->columns, &x->n_columns) && conv_rangevar(c, k->pktable, &x->ref_table) &&
               conv_names(c, k->pk_attrs, &x->ref_columns, &x->n_ref_columns);
    case CONSTR_EXCLUSION: return unsupported(c, k->location, "EXCLUDE") != NULL;
    default: return unexpected(c, (Node *)k) != NULL;
    }
}

/* What DEFERRABLE and the like, which follow a constraint of a column, have said of it so far. */
typedef struct ConstraintAttrs {
    bool deferrability, timing;
} ConstraintAttrs;
static bool bad_attr(Conv *c, const Constraint *x, const char *form, const char *what) {
    err_at(c->e, pos_of(x->location), ERR_SYNTAX, form, what);
    return false;
}
/* on: the constraint before it; NULL: none. */
static bool conv_constraint_attr(Conv *c, const Constraint *x, AstConstraint *on, ConstraintAttrs *seen) {
    static const char misplaced[] = "misplaced %s clause", many[] = "multiple %s clauses not allowed";
    const bool takes =
        on && (on->kind == AST_CON_PRIMARY_KEY || on->kind == AST_CON_UNIQUE || on->kind == AST_CON_FOREIGN_KEY);
    const char *const both = "DEFERRABLE/NOT DEFERRABLE", *const timings = "INITIALLY IMMEDIATE/DEFERRED";
    switch ((int)x->contype) {
    case CONSTR_ATTR_DEFERRABLE:
    case CONSTR_ATTR_NOT_DEFERRABLE: {
        const bool yes = x->contype == CONSTR_ATTR_DEFERRABLE;
        if (!takes) return bad_attr(c, x, misplaced, yes ? "DEFERRABLE" : "NOT DEFERRABLE");
        if (seen->deferrability) return bad_attr(c, x, many, both);
        seen->deferrability = true;
        on->deferrable = yes;
        break;
    }
    default: {
        const bool deferred = x->contype == CONSTR_ATTR_DEFERRED;
        if (!takes) return bad_attr(c, x, misplaced, deferred ? "INITIALLY DEFERRED" : "INITIALLY IMMEDIATE");
        if (seen->timing) return bad_attr(c, x, many, timings);
        seen->timing = true;
        on->deferred = deferred;
        if (deferred && !seen->deferrability) on->deferrable = true;
    }
    }
    return !on->deferred || on->deferrable ||
           bad_attr(c, x, "%s", "constraint declared INITIALLY DEFERRED must be DEFERRABLE");
}

static bool conv_constraints(Conv *c, List *l, AstConstraint **out, int64_t *n_out) {
    int n = list_length(l);
    int64_t k = 0;
    ConstraintAttrs attrs = {0};
    AstConstraint *v = new_array(c, n, (int64_t)sizeof(AstConstraint));
    if (!v) return false;
    for (int i = 0; i < n; i++) {
        Constraint *x = list_nth(l, i);
        if (!IsA(x, Constraint)) return unexpected(c, (Node *)x) != NULL;
        if (is_constraint_attr(x)) {
            if (!conv_constraint_attr(c, x, k ? &v[k - 1] : NULL, &attrs)) return false;
            continue;
        }
        attrs = (ConstraintAttrs){0};
        if (!conv_constraint(c, x, &v[k++])) return false;
    }
    *out = v;
    *n_out = k;
    return true;
}

static AstColumnDef *conv_column_def(Conv *c, ColumnDef *d) {
    AstColumnDef *x = arena_new_of(c->a, AstColumnDef);
    if (!x || !copy_str(c, d->colname, &x->name)) return NULL;
    x->location = pos_of(d->location);
    if (d->typeName && !(x->type = conv_type(c, d->typeName))) return NULL;
    if (d->collClause && !conv_qualified(c, d->collClause->collname, d->collClause->location, &x->collation))
        return NULL;
    drop_pg_catalog(&x->collation);
    if (d->compression) return unsupported(c, d->location, "COMPRESSION");
    if (d->fdwoptions) return unsupported(c, d->location, "OPTIONS of a column");
    return conv_constraints(c, d->constraints, &x->constraints, &x->n_constraints) ? x : NULL;
}

static char on_commit_code(OnCommitAction a) {
    return a == ONCOMMIT_PRESERVE_ROWS ? 'p' : a == ONCOMMIT_DELETE_ROWS ? 'd' : a == ONCOMMIT_DROP ? 'x' : (char)0;
}

static AstStmt *conv_create_table(Conv *c, CreateStmt *s) {
    AstCreateTable *x = NEW(AstCreateTable, AST_CREATE_TABLE, s->relation->location);
    int loc = s->relation->location;
    if (!x || !conv_rangevar(c, s->relation, &x->name)) return NULL;
    if (s->inhRelations && s->partbound) return unsupported(c, loc, "PARTITION OF");
    if (s->inhRelations) return unsupported(c, loc, "INHERITS");
    if (s->partspec) return unsupported(c, loc, "PARTITION BY");
    if (s->ofTypename) return unsupported(c, loc, "CREATE TABLE OF");
    if (!conv_tablespace(c, s->tablespacename) || !conv_table_method(c, s->accessMethod)) return NULL;
    x->if_not_exists = s->if_not_exists;
    x->temporary = s->relation->relpersistence == 't';
    x->unlogged = s->relation->relpersistence == 'u';
    x->on_commit = on_commit_code(s->oncommit);
    int n = list_length(s->tableElts);
    AstConstraint *cons = new_array(c, n, (int64_t)sizeof(AstConstraint));
    if (!cons || !(x->columns = new_array(c, n, (int64_t)sizeof(AstColumnDef *))) ||
        !(x->likes = new_array(c, n, (int64_t)sizeof(AstTableLike))))
        return NULL;
    for (int i = 0; i < n; i++) {
        Node *el = list_nth(s->tableElts, i);
        if (IsA(el, ColumnDef)) {
            if (!(x->columns[x->n_columns++] = conv_column_def(c, (ColumnDef *)el))) return NULL;
        } else if (IsA(el, Constraint)) {
            if (!conv_constraint(c, (Constraint *)el, &cons[x->n_constraints++])) return NULL;
        } else if (IsA(el, TableLikeClause)) {
            const TableLikeClause *l = (TableLikeClause *)el;
            AstTableLike *y = &x->likes[x->n_likes++];
            y->including = l->options;
            y->before = x->n_columns;
            if (!conv_rangevar(c, l->relation, &y->name)) return NULL;
        } else {
            return unexpected(c, el);
        }
    }
    x->constraints = cons;
    return conv_options(c, s->options, &x->options, &x->n_options) ? (AstStmt *)x : NULL;
}

static AstStmt *conv_create_as(Conv *c, IntoClause *into, Node *query, AstStmt *converted, bool matview,
                               bool if_not_exists) {
    AstCreateTableAs *x = NEW(AstCreateTableAs, AST_CREATE_TABLE_AS, into->rel->location);
    if (!x || !conv_rangevar(c, into->rel, &x->name)) return NULL;
    if (!conv_tablespace(c, into->tableSpaceName) || !conv_table_method(c, into->accessMethod)) return NULL;
    x->if_not_exists = if_not_exists;
    x->materialized_view = matview;
    x->temporary = into->rel->relpersistence == 't';
    x->unlogged = into->rel->relpersistence == 'u';
    x->with_no_data = into->skipData;
    x->on_commit = on_commit_code(into->onCommit);
    x->query = converted ? converted : conv_stmt(c, query);
    if (matview && !copy_source(c, scan_before_with_data(scan_after_as(c->stmt)), &x->query_source)) return NULL;
    return x->query && conv_names(c, into->colNames, &x->columns, &x->n_columns) &&
                   conv_options(c, into->options, &x->options, &x->n_options)
               ? (AstStmt *)x
               : NULL;
}

/* INTO in the query that makes a table or a materialized view. */
static bool no_into(Conv *c, Node *query) {
    SelectStmt *leaf = IsA(query, SelectStmt) ? (SelectStmt *)query : NULL;
    while (leaf && leaf->op != SETOP_NONE && leaf->larg) leaf = leaf->larg;
    if (!leaf || !leaf->intoClause) return true;
    err_at(c->e, pos_of(leaf->intoClause->rel->location), ERR_SYNTAX, "SELECT ... INTO is not allowed here");
    return false;
}
/* SELECT ... INTO t: PostgreSQL keeps the clause in the leftmost SELECT of a set operation. */
static AstStmt *conv_top_select(Conv *c, SelectStmt *s) {
    SelectStmt *leaf = s;
    while (leaf->op != SETOP_NONE && leaf->larg) leaf = leaf->larg;
    IntoClause *into = leaf->intoClause;
    leaf->intoClause = NULL; /* the tree is ours to change */
    AstStmt *q = (AstStmt *)conv_select(c, s);
    return q && into ? conv_create_as(c, into, NULL, q, false, false) : q;
}

/* The name in double quotes, behind other text. */
static char *quoted_name(Conv *c, const char *before, const char *name) {
    int64_t n = 0;
    char *q = new_array(c, 2 * (int64_t)strlen(name) + 1, 1);
    for (const char *p = name; q && *p; p++) {
        if (*p == '"') q[n++] = '"';
        q[n++] = *p;
    }
    char *out = q ? arena_printf(c->a, "%s\"%s\"", before, q) : NULL;
    if (q && !out) err_oom(c->e);
    return out;
}
/* WITH RECURSIVE name (columns) AS (query) SELECT columns FROM name */
static bool recursive_source(Conv *c, AstCreateView *x) {
    char *columns = quoted_name(c, "", x->columns[0]);
    for (int64_t i = 1; columns && i < x->n_columns; i++)
        columns = quoted_name(c, arena_printf(c->a, "%s, ", columns), x->columns[i]);
    char *name = columns ? quoted_name(c, "", x->name.name) : NULL;
    if (!name) return false;
    const char *text = arena_printf(c->a, "WITH RECURSIVE %s (%s) AS (%.*s\n) SELECT %s FROM %s", name, columns,
                                    (int)x->query_source.len, x->query_source.ptr, columns, name);
    if (!text) return err_oom(c->e), false;
    x->query_source = (Slice){text, (int64_t)strlen(text)};
    return true;
}
static bool view_source(Conv *c, AstCreateView *x) {
    Slice text = scan_after_as(c->stmt);
    if (x->check_option) text = scan_before_last_with(text);
    return copy_source(c, text, &x->query_source) && (!x->recursive || recursive_source(c, x));
}
static AstStmt *conv_create_view(Conv *c, ViewStmt *s) {
    AstCreateView *x = NEW(AstCreateView, AST_CREATE_VIEW, s->view->location);
    if (!x || !conv_rangevar(c, s->view, &x->name)) return NULL;
    x->check_option = s->withCheckOption == LOCAL_CHECK_OPTION      ? 'l'
                      : s->withCheckOption == CASCADED_CHECK_OPTION ? 'c'
                                                                    : 0;
    x->or_replace = s->replace;
    x->temporary = s->view->relpersistence == 't';
    int64_t at = 0;
    for (int i = 0; i < 6 && !x->recursive; i++) { /* CREATE [OR REPLACE] [TEMP] RECURSIVE VIEW */
        Tok t = scan_next(c->stmt, &at);
        if (scan_is_word(c->stmt, t, "view")) break;
        x->recursive = scan_is_word(c->stmt, t, "recursive");
    }
    if (!IsA(s->query, SelectStmt)) return unexpected(c, s->query);
    return conv_names(c, s->aliases, &x->columns, &x->n_columns) &&
                   conv_options(c, s->options, &x->options, &x->n_options) && view_source(c, x) &&
                   (x->query = conv_select(c, (SelectStmt *)s->query))
               ? (AstStmt *)x
               : NULL;
}

static AstStmt *conv_refresh(Conv *c, RefreshMatViewStmt *s) {
    AstRefresh *x = NEW(AstRefresh, AST_REFRESH, s->relation->location);
    if (!x || !conv_rangevar(c, s->relation, &x->name)) return NULL;
    x->concurrently = s->concurrent;
    x->with_no_data = s->skipData;
    return (AstStmt *)x;
}

/* The texts of its expressions, which the grammar does not keep. */
static bool index_sources(Conv *c, const IndexStmt *s, AstCreateIndex *x) {
    const Slice text = {c->text.ptr, c->stmt_offset + c->stmt.len};
    int64_t at = scan_index_elements(text, s->relation->location);
    for (int64_t i = 0; i < x->n_elems; i++) {
        Slice source = scan_index_expr(text, &at);
        if (x->elems[i].expr && !copy_source(c, source, &x->elems[i].expr_source)) return false;
    }
    return !x->where || copy_source(c, scan_after_where(text, at), &x->where_source);
}
static bool conv_index_elem(Conv *c, const IndexStmt *s, const IndexElem *el, AstIndexElem *y) {
    if (el->opclassopts) return unsupported(c, s->relation->location, "an operator class with parameters") != NULL;
    AstName opclass = {0};
    if (el->opclass && !conv_qualified(c, el->opclass, -1, &opclass)) return false;
    drop_pg_catalog(&opclass);
    y->opclass = opclass.schema ? arena_printf(c->a, "%s.%s", opclass.schema, opclass.name) : opclass.name;
    if (el->collation && !conv_qualified(c, el->collation, -1, &y->collation)) return false;
    drop_pg_catalog(&y->collation);
    y->desc = el->ordering == SORTBY_DESC;
    y->ordered = el->ordering != SORTBY_DEFAULT;
    y->nulls = el->nulls_ordering == SORTBY_NULLS_FIRST  ? AST_NULLS_FIRST
               : el->nulls_ordering == SORTBY_NULLS_LAST ? AST_NULLS_LAST
                                                         : AST_NULLS_DEFAULT;
    y->location = pos_of(s->relation->location);
    if (!copy_str(c, el->name, &y->column) || !conv_opt_expr(c, el->expr, &y->expr)) return false;
    if (y->expr) y->location = y->expr->location;
    return true;
}
static bool conv_index_elems(Conv *c, const IndexStmt *s, List *l, AstIndexElem **out, int64_t *n) {
    *n = list_length(l);
    if (!(*out = new_array(c, *n, (int64_t)sizeof(AstIndexElem)))) return false;
    for (int64_t i = 0; i < *n; i++)
        if (!conv_index_elem(c, s, list_nth(l, (int)i), &(*out)[i])) return false;
    return true;
}
static AstStmt *conv_create_index(Conv *c, IndexStmt *s) {
    AstCreateIndex *x = NEW(AstCreateIndex, AST_CREATE_INDEX, s->relation->location);
    if (!x || !copy_str(c, s->idxname, &x->name) || !conv_rangevar(c, s->relation, &x->table) ||
        !copy_str(c, s->accessMethod ? s->accessMethod : "btree", &x->method))
        return NULL;
    if (!conv_tablespace(c, s->tableSpace)) return NULL;
    x->unique = s->unique;
    x->if_not_exists = s->if_not_exists;
    x->concurrently = s->concurrent;
    x->nulls_not_distinct = s->nulls_not_distinct;
    return conv_index_elems(c, s, s->indexParams, &x->elems, &x->n_elems) &&
                   conv_index_elems(c, s, s->indexIncludingParams, &x->include, &x->n_include) &&
                   conv_options(c, s->options, &x->options, &x->n_options) &&
                   conv_opt_expr(c, s->whereClause, &x->where) && index_sources(c, s, x)
               ? (AstStmt *)x
               : NULL;
}

AstObject object_of(ObjectType t) {
    switch (t) {
    case OBJECT_TABLE: return AST_OBJ_TABLE;
    case OBJECT_VIEW: return AST_OBJ_VIEW;
    case OBJECT_MATVIEW: return AST_OBJ_MATVIEW;
    case OBJECT_INDEX: return AST_OBJ_INDEX;
    case OBJECT_SCHEMA: return AST_OBJ_SCHEMA;
    case OBJECT_COLUMN: return AST_OBJ_COLUMN;
    case OBJECT_TABCONSTRAINT: return AST_OBJ_CONSTRAINT;
    case OBJECT_TYPE: return AST_OBJ_TYPE;
    case OBJECT_DOMAIN: return AST_OBJ_DOMAIN;
    case OBJECT_SEQUENCE: return AST_OBJ_SEQUENCE;
    case OBJECT_ROLE: return AST_OBJ_ROLE;
    default: return AST_OBJ_OTHER;
    }
}

char routine_kind(ObjectType t) {
    return t == OBJECT_FUNCTION    ? 'f'
           : t == OBJECT_PROCEDURE ? 'p'
           : t == OBJECT_AGGREGATE ? 'a'
           : t == OBJECT_ROUTINE   ? 'r'
                                   : 0;
}
static const char *object_name(ObjectType t) {
    switch (t) {
    case OBJECT_TABLE: return "TABLE";
    case OBJECT_VIEW: return "VIEW";
    case OBJECT_MATVIEW: return "MATERIALIZED VIEW";
    case OBJECT_INDEX: return "INDEX";
    case OBJECT_SCHEMA: return "SCHEMA";
    case OBJECT_COLUMN: return "COLUMN";
    case OBJECT_TABCONSTRAINT:
    case OBJECT_DOMCONSTRAINT: return "CONSTRAINT";
    case OBJECT_SEQUENCE: return "SEQUENCE";
    case OBJECT_FUNCTION: return "FUNCTION";
    case OBJECT_PROCEDURE: return "PROCEDURE";
    case OBJECT_ROUTINE: return "ROUTINE";
    case OBJECT_AGGREGATE: return "AGGREGATE";
    case OBJECT_TYPE: return "TYPE";
    case OBJECT_DOMAIN: return "DOMAIN";
    case OBJECT_EXTENSION: return "EXTENSION";
    case OBJECT_TRIGGER: return "TRIGGER";
    case OBJECT_POLICY: return "POLICY";
    case OBJECT_RULE: return "RULE";
    case OBJECT_COLLATION: return "COLLATION";
    case OBJECT_FOREIGN_TABLE: return "FOREIGN TABLE";
    case OBJECT_DATABASE: return "DATABASE";
    case OBJECT_ROLE: return "ROLE";
    case OBJECT_OPERATOR: return "OPERATOR";
    case OBJECT_CAST: return "CAST";
    case OBJECT_LANGUAGE: return "LANGUAGE";
    case OBJECT_STATISTIC_EXT: return "STATISTICS";
    case OBJECT_TABLESPACE: return "TABLESPACE";
    case OBJECT_PUBLICATION: return "PUBLICATION";
    case OBJECT_SUBSCRIPTION: return "SUBSCRIPTION";
    case OBJECT_ACCESS_METHOD: return "ACCESS METHOD";
    case OBJECT_CONVERSION: return "CONVERSION";
    case OBJECT_LARGEOBJECT: return "LARGE OBJECT";
    case OBJECT_OPCLASS: return "OPERATOR CLASS";
    case OBJECT_OPFAMILY: return "OPERATOR FAMILY";
    case OBJECT_TRANSFORM: return "TRANSFORM";
    case OBJECT_TSCONFIGURATION: return "TEXT SEARCH CONFIGURATION";
    case OBJECT_TSDICTIONARY: return "TEXT SEARCH DICTIONARY";
    case OBJECT_TSPARSER: return "TEXT SEARCH PARSER";
    case OBJECT_TSTEMPLATE: return "TEXT SEARCH TEMPLATE";
    default: return "OBJECT";
    }
}

/* An object's name where the grammar gives a List of String, a String or a TypeName. False without error: none of
 * these. */
bool object_names(Conv *c, Node *n, AstName *out) {
    memset(out, 0, sizeof *out);
    if (n && IsA(n, List) && list_length((List *)n) > 0 && IsA((Node *)linitial((List *)n), String))
        return conv_qualified(c, (List *)n, -1, out);
    if (n && IsA(n, String)) return copy_str(c, strVal(n), &out->name);
    if (n && IsA(n, TypeName)) return conv_qualified(c, ((TypeName *)n)->names, ((TypeName *)n)->location, out);
    if (n && IsA(n, ObjectWithArgs)) return conv_qualified(c, ((ObjectWithArgs *)n)->objname, -1, out);
    return true; /* name stays NULL */
}

AstStmt *unsupported_stmt(Conv *c, const char *what) {
    AstUnsupported *x = NEW(AstUnsupported, AST_UNSUPPORTED, -1);
    return x && copy_str(c, what, &x->what) ? (AstStmt *)x : NULL;
}

AstStmt *unsupported_on(Conv *c, const char *verb, ObjectType t) {
    AstUnsupported *x = NEW(AstUnsupported, AST_UNSUPPORTED, -1);
    return x && (x->what = arena_printf(c->a, "%s %s", verb, object_name(t))) ? (AstStmt *)x : NULL;
}

/* Whether the name is one of `known`, which has them between bars. */
static bool is_known(const char *known, const char *name) {
    const size_t n = strlen(name);
    for (const char *p = known; *p; p += strcspn(p, "|"), p += *p == '|')
        if (strcspn(p, "|") == n && memcmp(p, name, n) == 0) return true;
    return false;
}
/* 42704 for the name of an object of a kind of which there are the system's only, or none: it is known without a look
 * at the database that there is no such one. */
static bool is_absent(Conv *c, ObjectType t, Node *n) {
    static const struct {
        ObjectType kind;
        const char *form, *known;
    } kinds[] = {
        {OBJECT_LANGUAGE, "language \"%s\" does not exist", "plpgsql|sql|c|internal"},
        {OBJECT_EXTENSION, "extension \"%s\" does not exist", "plpgsql"},
        {OBJECT_TABLESPACE, "tablespace \"%s\" does not exist", "pg_default|pg_global"},
        {OBJECT_ACCESS_METHOD, "access method \"%s\" does not exist", "heap|btree|hash|gist|gin|spgist|brin"},
        {OBJECT_COLLATION, "collation \"%s\" for encoding \"UTF8\" does not exist", "default|C|POSIX|ucs_basic"},
        {OBJECT_EVENT_TRIGGER, "event trigger \"%s\" does not exist", ""},
        {OBJECT_PUBLICATION, "publication \"%s\" does not exist", ""},
        {OBJECT_SUBSCRIPTION, "subscription \"%s\" does not exist", ""},
        {OBJECT_FOREIGN_SERVER, "server \"%s\" does not exist", ""},
        {OBJECT_FDW, "foreign-data wrapper \"%s\" does not exist", ""},
        {OBJECT_STATISTIC_EXT, "statistics object \"%s\" does not exist", ""},
    };
    AstName name;
    if (!object_names(c, n, &name) || !name.name || name.schema) return false;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        if (kinds[i].kind != t || is_known(kinds[i].known, name.name)) continue;
        err_set(c->e, ERR_UNDEFINED_OBJECT, kinds[i].form, name.name);
        return true;
    }
    return false;
}

static AstStmt *conv_drop(Conv *c, DropStmt *s) {
    AstDrop *x = NEW(AstDrop, AST_DROP, -1);
    if (!x) return NULL;
    x->object = object_of(s->removeType);
    x->object_name = object_name(s->removeType);
    x->if_exists = s->missing_ok;
    x->cascade = s->behavior == DROP_CASCADE;
    x->concurrently = s->concurrent;
    x->n_names = list_length(s->objects);
    if (!(x->names = new_array(c, x->n_names, (int64_t)sizeof(AstName)))) return NULL;
    for (int64_t i = 0; i < x->n_names; i++) {
        if (!s->missing_ok && is_absent(c, s->removeType, list_nth(s->objects, (int)i))) return NULL;
        if (!object_names(c, list_nth(s->objects, (int)i), &x->names[i])) return NULL;
        if (!x->names[i].name) return unsupported_on(c, "DROP", s->removeType);
    }
    return (AstStmt *)x;
}

/* The text of x->expr. It begins somewhere at or before its node's location: behind the last `word` before that. */
static bool copy_alter_expr(Conv *c, AstAlterCmd *x, const char *word) {
    int64_t at = c->stmt_offset, from = at;
    for (int64_t limit = x->expr->location > 0 ? x->expr->location : at + c->stmt.len;;) {
        Tok t = scan_next(c->text, &at);
        if (t.kind == TOK_END || t.start >= limit) break;
        if (scan_is_word(c->text, t, word)) from = at;
    }
    return copy_source(c, scan_to_comma((Slice){c->text.ptr, c->stmt_offset + c->stmt.len}, from), &x->expr_source);
}

static bool conv_alter_cmd(Conv *c, AlterTableCmd *s, int location, AstAlterCmd *x) {
    x->location = pos_of(location);
    x->if_exists = s->missing_ok;
    x->cascade = s->behavior == DROP_CASCADE;
    if (!copy_str(c, s->name, &x->name)) return false;
    switch (s->subtype) {
    case AT_AddColumn:
        x->kind = AST_ALTER_ADD_COLUMN;
        if (!(x->column = conv_column_def(c, (ColumnDef *)s->def))) return false;
        x->name = x->column->name;
        x->location = x->column->location;
        return true;
    case AT_DropColumn: x->kind = AST_ALTER_DROP_COLUMN; return true;
    case AT_SetNotNull: x->kind = AST_ALTER_SET_NOT_NULL; return true;
    case AT_DropNotNull: x->kind = AST_ALTER_DROP_NOT_NULL; return true;
    case AT_ColumnDefault:
        x->kind = s->def ? AST_ALTER_SET_DEFAULT : AST_ALTER_DROP_DEFAULT;
        if (!s->def) return true;
        if (!(x->expr = conv_expr(c, s->def))) return false;
        return copy_alter_expr(c, x, "default");
    case AT_AlterColumnType:
        x->kind = AST_ALTER_SET_TYPE;
        if (!(x->column = conv_column_def(c, (ColumnDef *)s->def))) return false;
        if (!((ColumnDef *)s->def)->raw_default) return true;
        return conv_opt_expr(c, ((ColumnDef *)s->def)->raw_default, &x->expr) && copy_alter_expr(c, x, "using");
    case AT_AddConstraint:
        x->kind = AST_ALTER_ADD_CONSTRAINT;
        x->constraint = arena_new_of(c->a, AstConstraint);
        if (!x->constraint || !conv_constraint(c, (Constraint *)s->def, x->constraint)) return false;
        x->location = x->constraint->location;
        return true;
    case AT_DropConstraint: x->kind = AST_ALTER_DROP_CONSTRAINT; return true;
    case AT_SetRelOptions:
    case AT_ResetRelOptions:
        x->kind = s->subtype == AT_SetRelOptions ? AST_ALTER_SET_OPTIONS : AST_ALTER_RESET_OPTIONS;
        return conv_options(c, (List *)s->def, &x->options, &x->n_options);
    case AT_ChangeOwner: x->kind = AST_ALTER_OWNER; return (x->owner = conv_new_owner(c, s->newowner)) != NULL;
    case AT_SetTableSpace: x->what = "SET TABLESPACE"; break;
    case AT_AttachPartition: x->what = "ATTACH PARTITION"; break;
    case AT_DetachPartition: x->what = "DETACH PARTITION"; break;
    case AT_AddInherit:
    case AT_DropInherit: x->what = "INHERIT"; break;
    case AT_SetStatistics:
        x->kind = AST_ALTER_SET_STATISTICS;
        x->number = s->num;
        x->statistics = s->def && IsA(s->def, Integer) ? intVal(s->def) : 0;
        return true;
    case AT_ClusterOn: x->kind = AST_ALTER_CLUSTER_ON; return true;
    case AT_DropCluster: x->kind = AST_ALTER_DROP_CLUSTER; return true;
    case AT_SetStorage: x->what = "SET STORAGE"; break;
    case AT_SetLogged: x->kind = AST_ALTER_SET_LOGGED; return true;
    case AT_SetUnLogged: x->kind = AST_ALTER_SET_UNLOGGED; return true;
    case AT_AddIdentity:
        x->kind = AST_ALTER_ADD_IDENTITY;
        x->constraint = arena_new_of(c->a, AstConstraint);
        return x->constraint && conv_constraint(c, (Constraint *)s->def, x->constraint);
    case AT_SetIdentity:
        x->kind = AST_ALTER_SET_IDENTITY;
        return conv_sequence_options(c, (List *)s->def, &x->sequence, &x->n_sequence);
    case AT_DropIdentity: x->kind = AST_ALTER_DROP_IDENTITY; return true;
    case AT_DropExpression: x->kind = AST_ALTER_DROP_EXPRESSION; return true;
    case AT_ValidateConstraint: x->kind = AST_ALTER_VALIDATE_CONSTRAINT; return true;
    case AT_AlterConstraint: {
        const Constraint *k = (const Constraint *)s->def;
        x->kind = AST_ALTER_CONSTRAINT;
        if (!(x->constraint = arena_new_of(c->a, AstConstraint))) return false;
        x->constraint->deferrable = k->deferrable || k->initdeferred;
        x->constraint->deferred = k->initdeferred;
        return copy_str(c, k->conname, &x->name);
    }
    default: x->what = "this form"; break;
    }
    x->kind = AST_ALTER_OTHER;
    return true;
}

static AstStmt *conv_alter_table(Conv *c, AlterTableStmt *s) {
    if (list_length(s->cmds) == 1 && ((AlterTableCmd *)linitial(s->cmds))->subtype == AT_ChangeOwner)
        return conv_table_owner(c, s);
    if (row_security_command(s)) return conv_row_security(c, s);
    AstAlterTable *x = NEW(AstAlterTable, AST_ALTER_TABLE, s->relation->location);
    if (!x || !conv_rangevar(c, s->relation, &x->table)) return NULL;
    x->object = object_of(s->objtype);
    x->if_exists = s->missing_ok;
    x->n_cmds = list_length(s->cmds);
    if (!(x->cmds = new_array(c, x->n_cmds, (int64_t)sizeof(AstAlterCmd)))) return NULL;
    for (int64_t i = 0; i < x->n_cmds; i++)
        if (!conv_alter_cmd(c, list_nth(s->cmds, (int)i), s->relation->location, &x->cmds[i])) return NULL;
    return (AstStmt *)x;
}

static AstStmt *conv_create_enum(Conv *c, CreateEnumStmt *s) {
    AstCreateEnum *x = NEW(AstCreateEnum, AST_CREATE_ENUM, -1);
    return x && conv_qualified(c, s->typeName, -1, &x->name) && conv_names(c, s->vals, &x->labels, &x->n_labels)
               ? (AstStmt *)x
               : NULL;
}
static AstStmt *conv_alter_enum(Conv *c, AlterEnumStmt *s) {
    AstAlterEnum *x = NEW(AstAlterEnum, AST_ALTER_ENUM, -1);
    if (!x) return NULL;
    x->after = s->newValIsAfter;
    x->if_not_exists = s->skipIfNewValExists;
    return conv_qualified(c, s->typeName, -1, &x->name) && copy_str(c, s->newVal, &x->label) &&
                   copy_str(c, s->oldVal, &x->old_label) && copy_str(c, s->newValNeighbor, &x->neighbor)
               ? (AstStmt *)x
               : NULL;
}
static AstStmt *conv_rename_type(Conv *c, RenameStmt *s) {
    AstAlterEnum *x = NEW(AstAlterEnum, AST_ALTER_ENUM, -1);
    return x && object_names(c, s->object, &x->name) && copy_str(c, s->newname, &x->new_name) ? (AstStmt *)x : NULL;
}

static AstStmt *conv_create_composite(Conv *c, CompositeTypeStmt *s) {
    AstCreateComposite *x = NEW(AstCreateComposite, AST_CREATE_COMPOSITE, s->typevar->location);
    return x && conv_rangevar(c, s->typevar, &x->name) && conv_column_defs(c, s->coldeflist, &x->cols, &x->n_cols)
               ? (AstStmt *)x
               : NULL;
}

static bool conv_range_option(Conv *c, DefElem *d, AstRangeOption *x) {
    if (!copy_str(c, d->defname, &x->name)) return false;
    if (d->arg && IsA(d->arg, TypeName)) return (x->value = conv_type(c, (TypeName *)d->arg)) != NULL;
    const char *text;
    if (!option_text(c, d->arg, d->location, &text)) return false;
    if (!text) return true;
    if (!(x->value = arena_new_of(c->a, AstTypeName))) return false;
    x->value->name = text;
    return true;
}
static AstStmt *conv_create_range(Conv *c, CreateRangeStmt *s) {
    AstCreateRange *x = NEW(AstCreateRange, AST_CREATE_RANGE, -1);
    if (!x || !conv_qualified(c, s->typeName, -1, &x->name)) return NULL;
    x->n_options = list_length(s->params);
    if (!(x->options = new_array(c, x->n_options, (int64_t)sizeof(AstRangeOption)))) return NULL;
    for (int64_t i = 0; i < x->n_options; i++)
        if (!conv_range_option(c, list_nth(s->params, (int)i), &x->options[i])) return NULL;
    return (AstStmt *)x;
}

static AstStmt *conv_create_domain(Conv *c, CreateDomainStmt *s) {
    AstCreateDomain *x = NEW(AstCreateDomain, AST_CREATE_DOMAIN, -1);
    for (int64_t i = 0; i < list_length(s->constraints); i++) {
        const Constraint *k = list_nth(s->constraints, (int)i);
        if (k->contype != CONSTR_CHECK || !k->is_no_inherit) continue;
        err_set(c->e, ERR_INVALID_OBJECT_DEFINITION, "check constraints for domains cannot be marked NO INHERIT");
        return NULL;
    }
    ColumnDef def = {.typeName = s->typeName, .collClause = s->collClause, .constraints = s->constraints};
    return x && conv_qualified(c, s->domainname, -1, &x->name) && (x->def = conv_column_def(c, &def)) ? (AstStmt *)x
                                                                                                      : NULL;
}
static AstStmt *conv_alter_domain(Conv *c, AlterDomainStmt *s) {
    AstAlterDomain *x = NEW(AstAlterDomain, AST_ALTER_DOMAIN, -1);
    if (!x || !conv_qualified(c, s->typeName, -1, &x->name)) return NULL;
    static const struct {
        char subtype;
        AlterTableType same;
    } forms[] = {{'T', AT_ColumnDefault}, {'N', AT_DropNotNull},    {'O', AT_SetNotNull},
                 {'C', AT_AddConstraint}, {'X', AT_DropConstraint}, {'V', AT_ValidateConstraint}};
    AlterTableCmd cmd = {.name = s->name, .def = s->def, .behavior = s->behavior, .missing_ok = s->missing_ok};
    for (size_t i = 0; i < ARRAY_LEN(forms); i++)
        if (forms[i].subtype == s->subtype) cmd.subtype = forms[i].same;
    return conv_alter_cmd(c, &cmd, -1, &x->cmd) ? (AstStmt *)x : NULL;
}
static AstStmt *conv_rename_domain(Conv *c, RenameStmt *s) {
    AstAlterDomain *x = NEW(AstAlterDomain, AST_ALTER_DOMAIN, -1);
    return x && object_names(c, s->object, &x->name) && copy_str(c, s->subname, &x->old_name) &&
                   copy_str(c, s->newname, &x->new_name)
               ? (AstStmt *)x
               : NULL;
}

static AstStmt *conv_rename_routine(Conv *c, RenameStmt *s) {
    AstAlterRoutine *x = NEW(AstAlterRoutine, AST_ALTER_ROUTINE, -1);
    if (!x || !(x->of = arena_new_of(c->a, AstFuncSignature)) || !conv_signature(c, (ObjectWithArgs *)s->object, x->of))
        return NULL;
    x->what = routine_kind(s->renameType);
    x->options.of_functions = -1;
    return copy_str(c, s->newname, &x->new_name) ? (AstStmt *)x : NULL;
}
static AstStmt *conv_rename(Conv *c, RenameStmt *s) {
    if (s->renameType == OBJECT_DOMAIN || s->renameType == OBJECT_DOMCONSTRAINT) return conv_rename_domain(c, s);
    if (s->renameType == OBJECT_TYPE) return conv_rename_type(c, s);
    if (s->renameType == OBJECT_POLICY) return conv_rename_policy(c, s);
    if (routine_kind(s->renameType)) return conv_rename_routine(c, s);
    AstRename *x = NEW(AstRename, AST_RENAME, -1);
    if (!x) return NULL;
    x->object = s->renameType == OBJECT_ATTRIBUTE ? AST_OBJ_COLUMN : object_of(s->renameType);
    x->relation = object_of(s->relationType);
    x->if_exists = s->missing_ok;
    if (x->object == AST_OBJ_OTHER || (!s->relation && x->object != AST_OBJ_SCHEMA && x->object != AST_OBJ_ROLE))
        return unsupported_on(c, "ALTER", s->renameType);
    if (s->relation) {
        x->location = pos_of(s->relation->location);
        if (!conv_rangevar(c, s->relation, &x->name)) return NULL;
        if (!copy_str(c, s->subname, &x->old_name)) return NULL;
    } else if (!copy_str(c, s->subname, &x->name.name)) {
        return NULL;
    }
    return copy_str(c, s->newname, &x->new_name) ? (AstStmt *)x : NULL;
}

/* The last of a list of names: `part`, of the object that the others name. */
static bool comment_part(Conv *c, Node *n, AstComment *x) {
    List *l = (List *)n;
    if (!n || !IsA(n, List) || list_length(l) < 2)
        return err_set(c->e, ERR_SYNTAX, "column name must be qualified"), false;
    if (!copy_str(c, strVal(llast(l)), &x->part)) return false;
    return conv_qualified(c, list_truncate(l, list_length(l) - 1), -1, &x->name);
}
/* The first of a list of names: `part`, of the object that the others name. */
static bool comment_method(Conv *c, Node *n, AstComment *x) {
    List *l = (List *)n;
    return copy_str(c, strVal(linitial(l)), &x->part) && conv_qualified(c, list_copy_tail(l, 1), -1, &x->name);
}
/* CAST (a AS b), as a signature of two types. */
static bool comment_cast(Conv *c, Node *n, AstFuncSignature *y) {
    List *l = (List *)n;
    y->n_params = 2;
    if (!(y->params = new_array(c, 2, (int64_t)sizeof(AstFuncParam)))) return false;
    for (int i = 0; i < 2; i++)
        if (!(y->params[i].type = conv_type(c, list_nth(l, i)))) return false;
    return true;
}
static bool comment_large_object(Conv *c, Node *n, AstComment *x) {
    x->name.name = IsA(n, Integer) ? arena_printf(c->a, "%ld", (long)intVal(n)) : arena_strdup(c->a, strVal(n));
    return x->name.name != NULL;
}
/* What every database has. */
static AstStmt *conv_comment_builtin(Conv *c, CommentStmt *s, AstComment *x) {
    AstFuncSignature *y = arena_new_of(c->a, AstFuncSignature);
    if (!y || is_absent(c, s->objtype, s->object)) return NULL;
    x->routine = y;
    bool ok = true;
    switch (s->objtype) {
    case OBJECT_OPERATOR:
    case OBJECT_AGGREGATE: ok = conv_signature(c, (ObjectWithArgs *)s->object, y); break;
    case OBJECT_CAST: ok = comment_cast(c, s->object, y); break;
    case OBJECT_TRIGGER:
    case OBJECT_RULE:
    case OBJECT_POLICY: ok = comment_part(c, s->object, x); break;
    case OBJECT_OPCLASS:
    case OBJECT_OPFAMILY: ok = comment_method(c, s->object, x); break;
    case OBJECT_LARGEOBJECT: ok = comment_large_object(c, s->object, x); break;
    default:
        if (!object_names(c, s->object, &x->name)) return NULL;
        if (!x->name.name) return unsupported_on(c, "COMMENT ON", s->objtype);
    }
    return ok ? (AstStmt *)x : NULL;
}
static AstStmt *conv_comment(Conv *c, CommentStmt *s) {
    AstComment *x = NEW(AstComment, AST_COMMENT, -1);
    AstFuncSignature *routine = NULL;
    if (!x || !copy_str(c, s->comment, &x->comment)) return NULL;
    x->object = object_of(s->objtype);
    x->object_name = object_name(s->objtype);
    switch (s->objtype) {
    case OBJECT_COLUMN:
    case OBJECT_TABCONSTRAINT: return comment_part(c, s->object, x) ? (AstStmt *)x : NULL;
    case OBJECT_DOMCONSTRAINT: { /* (domain, name) */
        List *l = (List *)s->object;
        x->object = AST_OBJ_DOMAIN_CONSTRAINT;
        return object_names(c, linitial(l), &x->name) && copy_str(c, strVal(llast(l)), &x->part) ? (AstStmt *)x : NULL;
    }
    case OBJECT_FUNCTION:
    case OBJECT_PROCEDURE:
    case OBJECT_AGGREGATE:
    case OBJECT_ROUTINE:
        x->object = AST_OBJ_ROUTINE;
        x->what = routine_kind(s->objtype);
        if (!(routine = arena_new_of(c->a, AstFuncSignature)) ||
            !conv_signature(c, (ObjectWithArgs *)s->object, routine))
            return NULL;
        x->routine = routine;
        return (AstStmt *)x;
    case OBJECT_DATABASE: x->object = AST_OBJ_DATABASE; break;
    default: break;
    }
    if (x->object == AST_OBJ_OTHER) return conv_comment_builtin(c, s, x);
    return object_names(c, s->object, &x->name) && x->name.name ? (AstStmt *)x
                                                                : unsupported_on(c, "COMMENT ON", s->objtype);
}

static AstStmt *conv_reindex(Conv *c, ReindexStmt *s) {
    AstReindex *x = NEW(AstReindex, AST_REINDEX, s->relation ? s->relation->location : -1);
    if (!x) return NULL;
    x->kind_of = s->kind == REINDEX_OBJECT_INDEX    ? AST_REINDEX_INDEX
                 : s->kind == REINDEX_OBJECT_TABLE  ? AST_REINDEX_TABLE
                 : s->kind == REINDEX_OBJECT_SCHEMA ? AST_REINDEX_SCHEMA
                 : s->kind == REINDEX_OBJECT_SYSTEM ? AST_REINDEX_SYSTEM
                                                    : AST_REINDEX_DATABASE;
    if (s->relation ? !conv_rangevar(c, s->relation, &x->name) : !copy_str(c, s->name, &x->name.name)) return NULL;
    return conv_options(c, s->params, &x->options, &x->n_options) ? (AstStmt *)x : NULL;
}
static AstStmt *conv_cluster(Conv *c, ClusterStmt *s) {
    AstCluster *x = NEW(AstCluster, AST_CLUSTER, s->relation ? s->relation->location : -1);
    return x && (!s->relation || conv_rangevar(c, s->relation, &x->table)) && copy_str(c, s->indexname, &x->index) &&
                   conv_options(c, s->params, &x->options, &x->n_options)
               ? (AstStmt *)x
               : NULL;
}

/* ---- utilities -------------------------------------------------------------------------------- */

static AstStmt *conv_copy(Conv *c, CopyStmt *s) {
    AstCopy *x = NEW(AstCopy, AST_COPY, s->relation ? s->relation->location : -1);
    if (!x) return NULL;
    x->from = s->is_from;
    x->program = s->is_program;
    if (s->relation && !conv_rangevar(c, s->relation, &x->table)) return NULL;
    if (s->query && !(x->query = conv_stmt(c, s->query))) return NULL;
    return conv_names(c, s->attlist, &x->columns, &x->n_columns) && copy_str(c, s->filename, &x->path) &&
                   conv_options(c, s->options, &x->options, &x->n_options) &&
                   conv_opt_expr(c, s->whereClause, &x->where)
               ? (AstStmt *)x
               : NULL;
}

static AstStmt *conv_transaction(Conv *c, TransactionStmt *s) {
    static const AstTransactionKind map[] = {
        [TRANS_STMT_BEGIN] = AST_TX_BEGIN,
        [TRANS_STMT_START] = AST_TX_BEGIN,
        [TRANS_STMT_COMMIT] = AST_TX_COMMIT,
        [TRANS_STMT_ROLLBACK] = AST_TX_ROLLBACK,
        [TRANS_STMT_SAVEPOINT] = AST_TX_SAVEPOINT,
        [TRANS_STMT_RELEASE] = AST_TX_RELEASE,
        [TRANS_STMT_ROLLBACK_TO] = AST_TX_ROLLBACK_TO,
        [TRANS_STMT_PREPARE] = AST_TX_PREPARE,
        [TRANS_STMT_COMMIT_PREPARED] = AST_TX_COMMIT_PREPARED,
        [TRANS_STMT_ROLLBACK_PREPARED] = AST_TX_ROLLBACK_PREPARED,
    };
    AstTransaction *x = NEW(AstTransaction, AST_TRANSACTION, -1);
    if (!x) return NULL;
    if ((unsigned)s->kind > TRANS_STMT_ROLLBACK_PREPARED) return unexpected(c, (Node *)s);
    x->tx_kind = map[s->kind];
    x->chain = s->chain;
    return copy_str(c, s->savepoint_name ? s->savepoint_name : s->gid, &x->name) &&
                   conv_options(c, s->options, &x->options, &x->n_options)
               ? (AstStmt *)x
               : NULL;
}

static AstStmt *conv_prepare(Conv *c, PrepareStmt *s) {
    AstPrepare *x = NEW(AstPrepare, AST_PREPARE, -1);
    if (!x || !copy_str(c, s->name, &x->name)) return NULL;
    x->n_types = list_length(s->argtypes);
    if (!(x->types = new_array(c, x->n_types, (int64_t)sizeof(AstTypeName *)))) return NULL;
    for (int64_t i = 0; i < x->n_types; i++)
        if (!(x->types[i] = conv_type(c, list_nth(s->argtypes, (int)i)))) return NULL;
    return copy_source(c, scan_after_as(c->stmt), &x->query_source) && (x->query = conv_stmt(c, s->query))
               ? (AstStmt *)x
               : NULL;
}

static AstStmt *conv_declare_cursor(Conv *c, DeclareCursorStmt *s) {
    AstDeclareCursor *x = NEW(AstDeclareCursor, AST_DECLARE_CURSOR, -1);
    if (!x || !copy_str(c, s->portalname, &x->name)) return NULL;
    x->binary = (s->options & CURSOR_OPT_BINARY) != 0;
    x->scroll = (s->options & CURSOR_OPT_SCROLL) != 0;
    x->no_scroll = (s->options & CURSOR_OPT_NO_SCROLL) != 0;
    x->insensitive = (s->options & CURSOR_OPT_INSENSITIVE) != 0;
    x->asensitive = (s->options & CURSOR_OPT_ASENSITIVE) != 0;
    x->hold = (s->options & CURSOR_OPT_HOLD) != 0;
    if (!IsA(s->query, SelectStmt)) return unexpected(c, s->query);
    return (x->query = conv_select(c, (SelectStmt *)s->query)) ? (AstStmt *)x : NULL;
}

static AstStmt *conv_fetch(Conv *c, FetchStmt *s) {
    static const AstFetchDirection directions[] = {[FETCH_FORWARD] = AST_FORWARD,
                                                   [FETCH_BACKWARD] = AST_BACKWARD,
                                                   [FETCH_ABSOLUTE] = AST_ABSOLUTE,
                                                   [FETCH_RELATIVE] = AST_RELATIVE};
    AstFetch *x = NEW(AstFetch, AST_FETCH, -1);
    if (!x) return NULL;
    x->move = s->ismove;
    x->direction = directions[s->direction];
    x->count = s->howMany == FETCH_ALL ? AST_FETCH_ALL : s->howMany;
    return copy_str(c, s->portalname, &x->name) ? (AstStmt *)x : NULL;
}

static AstStmt *conv_close(Conv *c, ClosePortalStmt *s) {
    AstClose *x = NEW(AstClose, AST_CLOSE, -1);
    return x && copy_str(c, s->portalname, &x->name) ? (AstStmt *)x : NULL;
}

static AstStmt *conv_lock(Conv *c, LockStmt *s) {
    static const char *const modes[] = {
        "",      "ACCESS SHARE",        "ROW SHARE", "ROW EXCLUSIVE",   "SHARE UPDATE EXCLUSIVE",
        "SHARE", "SHARE ROW EXCLUSIVE", "EXCLUSIVE", "ACCESS EXCLUSIVE"};
    AstLock *x = NEW(AstLock, AST_LOCK, -1);
    if (!x || s->mode < 1 || s->mode >= (int)lengthof(modes)) return x ? unexpected(c, (Node *)s) : NULL;
    x->mode = modes[s->mode];
    x->nowait = s->nowait;
    return conv_rangevars(c, s->relations, &x->tables, &x->n_tables) ? (AstStmt *)x : NULL;
}

static AstStmt *conv_set_constraints(Conv *c, ConstraintsSetStmt *s) {
    AstSetConstraints *x = NEW(AstSetConstraints, AST_SET_CONSTRAINTS, -1);
    if (!x) return NULL;
    x->deferred = s->deferred;
    return conv_rangevars(c, s->constraints, &x->names, &x->n_names) ? (AstStmt *)x : NULL;
}

/* SET bulk_order = any: the grammar reserves the word. The text that it gets has another one there, of the same length.
 */
static bool is_any(Slice text, Tok t) { return scan_is_word(text, t, "any"); }
static void mask_any(Slice text, char *copy) {
    int64_t at = 0, depth = 0;
    enum { FIRST, NAME, VALUE, AFTER, REST } where = FIRST; /* of a SET; REST: of any statement */
    Tok value = {0};
    if (!strcasestr(copy, "any")) return;
    for (Tok t = scan_next(text, &at);; t = scan_next(text, &at)) {
        char c = t.kind == TOK_PUNCT ? text.ptr[t.start] : 0;
        bool over = t.kind == TOK_END || (c == ';' && depth <= 0);
        if (where == AFTER && (over || c == ',') && is_any(text, value)) copy[value.start] = '_';
        if (t.kind == TOK_END) return;
        depth += (c == '(' || c == '[') - (c == ')' || c == ']');
        if (over) where = FIRST, depth = 0;
        else if (where == FIRST) where = scan_is_word(text, t, "set") ? NAME : REST;
        else if (where == NAME && (scan_is_word(text, t, "to") ||
                                   (t.kind == TOK_OP && t.end - t.start == 1 && text.ptr[t.start] == '=')))
            where = VALUE;
        else if (where == VALUE) value = t, where = AFTER;
        else if (where == AFTER) where = c == ',' ? VALUE : REST;
    }
}
static void unmask_any(Conv *c, AstSet *x) {
    for (int64_t i = 0; i < x->n_values; i++) {
        int64_t at = x->values[i]->location - 1;
        if (x->values[i]->kind == AST_STRING_LIT && at >= 0 && is_any(c->text, scan_next(c->text, &at)))
            AST_AS(AstLiteral, x->values[i])->text = slice_of("any");
    }
}

AstStmt *conv_set(Conv *c, VariableSetStmt *s) {
    AstSet *x = NEW(AstSet, AST_SET, -1);
    if (!x || !copy_str(c, s->name, &x->name)) return NULL;
    x->is_local = s->is_local;
    x->is_reset = s->kind == VAR_RESET || s->kind == VAR_RESET_ALL;
    switch (s->kind) {
    case VAR_SET_VALUE:
        x->set_kind = AST_SET_VALUE;
        if (!conv_exprs(c, s->args, &x->values, &x->n_values)) return NULL;
        unmask_any(c, x);
        return (AstStmt *)x;
    case VAR_SET_DEFAULT:
    case VAR_RESET: x->set_kind = AST_SET_DEFAULT; return (AstStmt *)x;
    case VAR_SET_CURRENT: x->set_kind = AST_SET_CURRENT; return (AstStmt *)x;
    case VAR_RESET_ALL: x->set_kind = AST_RESET_ALL; return (AstStmt *)x;
    case VAR_SET_MULTI:
        if (strcmp(s->name, "TRANSACTION SNAPSHOT") == 0) return unsupported(c, -1, "SET TRANSACTION SNAPSHOT");
        x->set_kind = strcmp(s->name, "TRANSACTION") == 0 ? AST_SET_TRANSACTION : AST_SET_SESSION_CHARACTERISTICS;
        return conv_options(c, s->args, &x->options, &x->n_options) ? (AstStmt *)x : NULL;
    }
    return unexpected(c, (Node *)s);
}

static AstStmt *conv_discard(Conv *c, DiscardStmt *s) {
    AstDiscard *x = NEW(AstDiscard, AST_DISCARD, -1);
    if (x) x->sequences = s->target == DISCARD_SEQUENCES;
    if (x) x->plans = s->target == DISCARD_PLANS;
    if (x) x->temp = s->target == DISCARD_TEMP;
    return (AstStmt *)x;
}

static AstStmt *conv_vacuum(Conv *c, VacuumStmt *s) {
    AstVacuum *x = NEW(AstVacuum, AST_VACUUM, -1);
    if (!x || !conv_options(c, s->options, &x->options, &x->n_options)) return NULL;
    x->is_vacuum = s->is_vacuumcmd;
    x->n_tables = list_length(s->rels);
    if (!(x->tables = new_array(c, x->n_tables, (int64_t)sizeof(AstName))) ||
        !(x->columns = new_array(c, x->n_tables, (int64_t)sizeof(char **))) ||
        !(x->n_columns = new_array(c, x->n_tables, (int64_t)sizeof(int64_t))))
        return NULL;
    for (int64_t i = 0; i < x->n_tables; i++) {
        VacuumRelation *r = list_nth(s->rels, (int)i);
        if (!conv_rangevar(c, r->relation, &x->tables[i])) return NULL;
        if (!conv_names(c, r->va_cols, &x->columns[i], &x->n_columns[i])) return NULL;
    }
    return (AstStmt *)x;
}

/* ---- routines --------------------------------------------------------------------------------------- */

/* Where the text of a body stands in the statement, in dollars or in quotes with none inside; -1 when it is written
 * otherwise. */
static int64_t body_place(Conv *c, Slice body) {
    int64_t at = 0;
    for (;;) {
        Tok t = scan_next(c->stmt, &at);
        if (t.kind == TOK_END) return -1;
        char quote = t.kind == TOK_STRING ? c->stmt.ptr[t.start] : 0;
        if (quote != '$' && quote != '\'') continue;
        int64_t open = t.start + (quote == '$');
        while (open < t.end && c->stmt.ptr[open] != quote) open++;
        int64_t tag = open + 1 - t.start;
        if (t.end - t.start - 2 * tag == body.len &&
            memcmp(c->stmt.ptr + t.start + tag, body.ptr, (size_t)body.len) == 0)
            return c->stmt_offset + t.start + tag;
    }
}

static bool conv_func_params(Conv *c, List *l, AstFuncParam **out, int64_t *n) {
    *n = list_length(l);
    AstFuncParam *v = *out = new_array(c, *n, (int64_t)sizeof(AstFuncParam));
    if (!v) return false;
    for (int64_t i = 0; i < *n; i++) {
        FunctionParameter *p = list_nth(l, (int)i);
        switch (p->mode) {
        case FUNC_PARAM_OUT: v[i].mode = AST_PARAM_OUT; break;
        case FUNC_PARAM_INOUT: v[i].mode = AST_PARAM_INOUT; break;
        case FUNC_PARAM_TABLE: v[i].mode = AST_PARAM_TABLE; break;
        case FUNC_PARAM_VARIADIC: v[i].mode = AST_PARAM_VARIADIC; break;
        default: v[i].mode = AST_PARAM_IN; break;
        }
        if (!copy_str(c, p->name, &v[i].name) || !(v[i].type = conv_type(c, p->argType)) ||
            !conv_opt_expr(c, p->defexpr, &v[i].def))
            return false;
        v[i].location = v[i].type->location;
    }
    return true;
}

/* AS 'text', as a list of one string; AS 'file', 'symbol' has two. */
static bool conv_body(Conv *c, Node *arg, Slice *body, int64_t *offset) {
    Node *s = arg && IsA(arg, List) ? linitial((List *)arg) : arg;
    if (!s || !IsA(s, String)) return unexpected(c, arg) != NULL;
    if (!copy_slice(c, strVal(s), body)) return false;
    *offset = body_place(c, *body);
    return true;
}

static double option_number(const DefElem *d) {
    return IsA(d->arg, Integer) ? (double)intVal(d->arg) : strtod(((Float *)d->arg)->fval, NULL);
}

/* COST, ROWS, PARALLEL, LEAKPROOF and SECURITY say nothing about results here; they must be right nevertheless. */
static bool check_func_option(Conv *c, DefElem *d, bool returns_set) {
    if (strcmp(d->defname, "cost") == 0 && !(option_number(d) > 0)) {
        err_set(c->e, ERR_INVALID_PARAMETER, "COST must be positive");
    } else if (strcmp(d->defname, "rows") == 0 && !(option_number(d) > 0)) {
        err_set(c->e, ERR_INVALID_PARAMETER, "ROWS must be positive");
    } else if (strcmp(d->defname, "rows") == 0 && !returns_set) {
        err_set(c->e, ERR_INVALID_PARAMETER, "ROWS is not applicable when function does not return a set");
    } else if (strcmp(d->defname, "parallel") == 0) {
        const char *v = strVal(d->arg);
        if (strcmp(v, "safe") == 0 || strcmp(v, "unsafe") == 0 || strcmp(v, "restricted") == 0) return true;
        err_set(c->e, ERR_SYNTAX, "parameter \"parallel\" must be SAFE, RESTRICTED, or UNSAFE");
    } else {
        return true;
    }
    return false;
}

/* One of the options that ALTER FUNCTION has, too; *known false: it is another. */
static bool conv_func_option(Conv *c, DefElem *d, AstFuncOptions *o, bool *known) {
    const char *n = d->defname;
    *known = true;
    if (strcmp(n, "volatility") == 0) {
        o->volatility = strVal(d->arg)[0];
    } else if (strcmp(n, "strict") == 0) {
        o->strict = (int8_t)boolVal(d->arg);
    } else if (strcmp(n, "security") == 0) {
        o->definer = (int8_t)boolVal(d->arg);
    } else if (strcmp(n, "leakproof") == 0) {
        o->leakproof = (int8_t)boolVal(d->arg);
    } else if (strcmp(n, "parallel") == 0) {
        o->parallel = strVal(d->arg)[0];
    } else if (strcmp(n, "cost") == 0) {
        o->cost = option_number(d);
    } else if (strcmp(n, "rows") == 0) {
        o->rows = option_number(d);
    } else if (strcmp(n, "set") == 0) {
        o->sets[o->n_sets] = AST_AS_CONST(AstSet, conv_set(c, (VariableSetStmt *)d->arg));
        return o->sets[o->n_sets++] != NULL;
    } else {
        *known = false;
    }
    return true;
}
static bool func_options_init(Conv *c, List *l, AstFuncOptions *o) {
    *o = (AstFuncOptions){.strict = -1, .definer = -1, .leakproof = -1, .of_functions = -1};
    return (o->sets = new_array(c, list_length(l), (int64_t)sizeof *o->sets)) != NULL;
}
/* 42601: twice the same, but for SET. */
static bool is_single(Conv *c, List *l, int i) {
    const DefElem *d = list_nth(l, i);
    for (int k = 0; k < i; k++)
        if (strcmp(((DefElem *)list_nth(l, k))->defname, d->defname) == 0 && strcmp(d->defname, "set") != 0)
            return err_at(c->e, pos_of(d->location), ERR_SYNTAX, "conflicting or redundant options"), false;
    return true;
}

static bool of_procedures(const char *option) {
    static const char *const names[] = {"language", "as", "security", "set", "transform"};
    for (int i = 0; i < (int)(sizeof names / sizeof *names); i++)
        if (strcmp(option, names[i]) == 0) return true;
    return false;
}

/* RETURN expression, or BEGIN ATOMIC statements END: a body in SQL, whose text is that of the statement. */
static bool conv_sql_body(Conv *c, AstCreateFunction *x) {
    const Slice whole = sql_routine_body(c->a, c->stmt);
    int64_t at = 0;
    const Tok first = scan_next(whole, &at);
    const bool is_return = scan_is_word(whole, first, "return");
    const int64_t from = is_return ? first.end : scan_next(whole, &at).end;
    Tok last = first;
    for (Tok t = scan_next(whole, &at); !is_return && t.kind != TOK_END; t = scan_next(whole, &at)) last = t;
    const int64_t to = is_return ? whole.len : last.start;
    if (x->body.ptr) {
        err_set(c->e, ERR_INVALID_FUNCTION_DEFINITION, "duplicate function body specified");
        return false;
    }
    if (!x->language) x->language = "sql";
    if (strcmp(x->language, "sql") != 0) {
        err_set(c->e, ERR_INVALID_FUNCTION_DEFINITION, "inline SQL function body only valid for language SQL");
        return false;
    }
    x->sql_body = arena_strndup(c->a, whole.ptr, whole.len);
    const char *body = arena_strdup(c->a, is_return ? "select" : "");
    for (int64_t p = from; body && p < to;) { /* RETURN is SELECT */
        const Slice rest = {whole.ptr + p, to - p};
        const int64_t end = is_return ? rest.len : sql_statement_end(rest);
        int64_t k = 0;
        const Tok word = scan_next(rest, &k);
        const bool returns = !is_return && scan_is_word(rest, word, "return");
        const int64_t skip = returns ? word.end : 0;
        body = arena_printf(c->a, "%s%s%.*s", body, returns ? " select" : "", (int)(end - skip), rest.ptr + skip);
        p += end;
    }
    if (!x->sql_body || !body) return false;
    x->body = slice_of(body);
    return true;
}

static AstStmt *conv_create_function(Conv *c, CreateFunctionStmt *s) {
    AstCreateFunction *x = NEW(AstCreateFunction, AST_CREATE_FUNCTION, -1);
    if (!x || !conv_qualified(c, s->funcname, -1, &x->name) ||
        !conv_func_params(c, s->parameters, &x->params, &x->n_params))
        return NULL;
    x->is_procedure = s->is_procedure;
    x->or_replace = s->replace;
    x->volatility = 'v';
    x->body_offset = -1;
    if (!func_options_init(c, s->options, &x->options)) return NULL;
    if (s->returnType && !(x->ret = conv_type(c, s->returnType))) return NULL;
    for (int i = 0; i < list_length(s->options); i++) {
        DefElem *d = list_nth(s->options, i);
        bool known;
        if (!is_single(c, s->options, i) || !check_func_option(c, d, x->ret && x->ret->setof) ||
            !conv_func_option(c, d, &x->options, &known))
            return NULL;
        if (strcmp(d->defname, "language") == 0) {
            if (!copy_str(c, strVal(d->arg), &x->language)) return NULL;
        } else if (strcmp(d->defname, "as") == 0) {
            if (!conv_body(c, d->arg, &x->body, &x->body_offset)) return NULL;
        } else if (strcmp(d->defname, "window") == 0) {
            x->unsupported = "a window function";
        } else if (strcmp(d->defname, "transform") == 0) {
            x->unsupported = "TRANSFORM";
        } else if (strcmp(d->defname, "support") == 0) {
            x->unsupported = "SUPPORT";
        }
        if (x->is_procedure && !of_procedures(d->defname)) {
            err_at(c->e, pos_of(d->location), ERR_INVALID_FUNCTION_DEFINITION,
                   "invalid attribute in procedure definition");
            return NULL;
        }
    }
    if (x->options.volatility) x->volatility = x->options.volatility;
    x->strict = x->options.strict == 1;
    for (int64_t i = 0; i < x->options.n_sets; i++) {
        const AstSet *set = x->options.sets[i];
        if (set->name && strcmp(set->name, "search_path") == 0) x->path = set;
    }
    return !s->sql_body || conv_sql_body(c, x) ? (AstStmt *)x : NULL;
}

static AstStmt *conv_alter_routine(Conv *c, AlterFunctionStmt *s) {
    AstAlterRoutine *x = NEW(AstAlterRoutine, AST_ALTER_ROUTINE, -1);
    if (!x || !(x->of = arena_new_of(c->a, AstFuncSignature)) || !conv_signature(c, s->func, x->of) ||
        !func_options_init(c, s->actions, &x->options))
        return NULL;
    x->what = routine_kind(s->objtype);
    for (int i = 0; i < list_length(s->actions); i++) {
        DefElem *d = list_nth(s->actions, i);
        bool known;
        if (!is_single(c, s->actions, i) || !check_func_option(c, d, true) ||
            !conv_func_option(c, d, &x->options, &known))
            return NULL;
        if (!known) return unsupported(c, pos_of(d->location), "SUPPORT");
        if (!of_procedures(d->defname) && x->options.of_functions < 0) x->options.of_functions = pos_of(d->location);
    }
    return (AstStmt *)x;
}

/* ---- aggregates ---- */

/* A function's name, which the grammar has as a type, or in quotes. */
static bool conv_function_name(Conv *c, DefElem *d, AstName *out) {
    if (d->arg && IsA(d->arg, String)) return copy_str(c, strVal(d->arg), &out->name);
    if (d->arg && IsA(d->arg, TypeName)) return conv_qualified(c, ((TypeName *)d->arg)->names, -1, out);
    err_at(c->e, pos_of(d->location), ERR_SYNTAX, "%s requires a parameter", d->defname);
    return false;
}
static bool conv_value_text(Conv *c, DefElem *d, Slice *out) {
    const char *text;
    if (!option_text(c, d->arg, d->location, &text)) return false;
    if (text) return *out = slice_of(text), true;
    err_at(c->e, pos_of(d->location), ERR_SYNTAX, "%s requires a parameter", d->defname);
    return false;
}
static bool conv_flag(Conv *c, DefElem *d, bool *out) {
    Slice text = slice_of("true");
    if (d->arg && !conv_value_text(c, d, &text)) return false;
    *out = slice_eq(text, slice_of("true")) || slice_eq(text, slice_of("on")) || slice_eq(text, slice_of("1"));
    return true;
}
/* One thing in the parentheses; in older statements BASETYPE, SFUNC1 and the like, too. */
static bool conv_aggregate_option(Conv *c, DefElem *d, AstAggregate *x, AstTypeName **base) {
    const char *n = d->defname;
    const struct {
        const char *name;
        AstName *to;
    } functions[] = {{"sfunc", &x->sfunc},           {"sfunc1", &x->sfunc},
                     {"finalfunc", &x->finalfunc},   {"combinefunc", &x->combinefunc},
                     {"serialfunc", &x->serialfunc}, {"deserialfunc", &x->deserialfunc},
                     {"msfunc", &x->msfunc},         {"minvfunc", &x->minvfunc},
                     {"mfinalfunc", &x->mfinalfunc}};
    for (int i = 0; i < (int)(sizeof functions / sizeof *functions); i++)
        if (strcmp(n, functions[i].name) == 0) return conv_function_name(c, d, functions[i].to);
    AstTypeName **type = strcmp(n, "stype") == 0 || strcmp(n, "stype1") == 0 ? &x->stype
                         : strcmp(n, "mstype") == 0                          ? &x->mstype
                         : strcmp(n, "basetype") == 0                        ? base
                                                                             : NULL;
    if (type && d->arg && IsA(d->arg, TypeName)) return (*type = conv_type(c, (TypeName *)d->arg)) != NULL;
    if (type && type == base && d->arg && IsA(d->arg, String) && strcmp(strVal(d->arg), "ANY") == 0) return true;
    if (strcmp(n, "initcond") == 0 || strcmp(n, "initcond1") == 0) return conv_value_text(c, d, &x->initcond);
    if (strcmp(n, "minitcond") == 0) return conv_value_text(c, d, &x->minitcond);
    if (strcmp(n, "finalfunc_extra") == 0) return conv_flag(c, d, &x->final_extra);
    if (strcmp(n, "mfinalfunc_extra") == 0) return conv_flag(c, d, &x->mfinal_extra);
    if (strcmp(n, "hypothetical") == 0) return conv_flag(c, d, &x->hypothetical);
    return true; /* SSPACE, SORTOP, PARALLEL and the like change no result */
}
static AstStmt *conv_create_aggregate(Conv *c, DefineStmt *s) {
    AstCreateFunction *x = NEW(AstCreateFunction, AST_CREATE_FUNCTION, -1);
    AstAggregate *agg = arena_new_of(c->a, AstAggregate);
    AstTypeName *base = NULL;
    if (!x || !agg || !conv_qualified(c, s->defnames, -1, &x->name)) return NULL;
    if (!s->oldstyle) {
        const int direct = intVal(lsecond(s->args));
        agg->ordered = direct >= 0;
        agg->n_direct = direct;
        if (!conv_func_params(c, linitial(s->args), &x->params, &x->n_params)) return NULL;
    }
    for (int i = 0; i < list_length(s->definition); i++)
        if (!conv_aggregate_option(c, list_nth(s->definition, i), agg, &base)) return NULL;
    if (base && x->n_params == 0) {
        if (!(x->params = new_array(c, 1, (int64_t)sizeof *x->params))) return NULL;
        x->params[0].type = base;
        x->n_params = 1;
    }
    x->aggregate = agg;
    x->or_replace = s->replace;
    x->volatility = 'i';
    x->body_offset = -1;
    return (AstStmt *)x;
}

bool conv_signature(Conv *c, ObjectWithArgs *o, AstFuncSignature *y) {
    y->has_args = !o->args_unspecified;
    if (!conv_qualified(c, o->objname, -1, &y->name)) return false;
    if (o->objfuncargs) return conv_func_params(c, o->objfuncargs, &y->params, &y->n_params);
    y->n_params = list_length(o->objargs);
    if (!(y->params = new_array(c, y->n_params, (int64_t)sizeof(AstFuncParam)))) return false;
    for (int64_t k = 0; k < y->n_params; k++)
        if (list_nth(o->objargs, (int)k) && !(y->params[k].type = conv_type(c, list_nth(o->objargs, (int)k))))
            return false; /* NULL: NONE, of an operator */
    return true;
}
static AstStmt *conv_drop_function(Conv *c, DropStmt *s) {
    AstDropFunction *x = NEW(AstDropFunction, AST_DROP_FUNCTION, -1);
    if (!x) return NULL;
    x->what = routine_kind(s->removeType);
    x->if_exists = s->missing_ok;
    x->cascade = s->behavior == DROP_CASCADE;
    x->n_items = list_length(s->objects);
    if (!(x->items = new_array(c, x->n_items, (int64_t)sizeof(AstFuncSignature)))) return NULL;
    for (int64_t i = 0; i < x->n_items; i++)
        if (!conv_signature(c, list_nth(s->objects, (int)i), &x->items[i])) return NULL;
    return (AstStmt *)x;
}

static AstStmt *conv_do(Conv *c, DoStmt *s) {
    AstDo *x = NEW(AstDo, AST_DO, -1);
    if (!x) return NULL;
    x->body_offset = -1;
    for (int i = 0; i < list_length(s->args); i++) {
        DefElem *d = list_nth(s->args, i);
        if (strcmp(d->defname, "language") == 0) {
            if (!copy_str(c, strVal(d->arg), &x->language)) return NULL;
        } else if (!conv_body(c, d->arg, &x->body, &x->body_offset)) {
            return NULL;
        }
    }
    return (AstStmt *)x;
}

static AstStmt *conv_call(Conv *c, CallStmt *s) {
    AstCall *x = NEW(AstCall, AST_CALL, s->funccall->location);
    return x && (x->func = (AstFunc *)conv_func(c, s->funccall)) ? (AstStmt *)x : NULL;
}

/* Behind the first CREATE at or after `at`, which no name is without quotes. The text's end: there is none. */
static int64_t next_create(Slice text, int64_t at) {
    for (;;) {
        const Tok t = scan_next(text, &at);
        if (t.kind == TOK_END || scan_is_word(text, t, "create")) return t.end;
    }
}
static AstStmt *conv_create_schema(Conv *c, CreateSchemaStmt *s) {
    AstCreateSchema *x = NEW(AstCreateSchema, AST_CREATE_SCHEMA, -1);
    if (!x || !copy_str(c, s->schemaname, &x->name)) return NULL;
    if (s->authrole && s->authrole->roletype == ROLESPEC_CSTRING && !copy_str(c, s->authrole->rolename, &x->owner))
        return NULL;
    x->if_not_exists = s->if_not_exists;
    x->n_elements = list_length(s->schemaElts);
    if (!(x->elements = new_array(c, x->n_elements, (int64_t)sizeof *x->elements))) return NULL;
    const Slice whole = c->stmt;
    const int64_t offset = c->stmt_offset;
    int64_t at = next_create(whole, 0);
    for (int64_t i = 0; i < x->n_elements; i++) { /* each with its own text, from its CREATE to the next one */
        const int64_t from = next_create(whole, at), to = next_create(whole, at = from);
        c->stmt = (Slice){whole.ptr + from - 6, (i + 1 == x->n_elements ? whole.len : to - 6) - (from - 6)};
        c->stmt_offset = offset + from - 6;
        if (!(x->elements[i] = conv_stmt(c, list_nth(s->schemaElts, (int)i)))) return NULL;
    }
    c->stmt = whole;
    c->stmt_offset = offset;
    return (AstStmt *)x;
}

static AstStmt *conv_set_schema(Conv *c, AlterObjectSchemaStmt *s) {
    AstSetSchema *x = NEW(AstSetSchema, AST_SET_SCHEMA, -1);
    AstFuncSignature *routine = NULL;
    if (!x || !copy_str(c, s->newschema, &x->schema)) return NULL;
    x->object = object_of(s->objectType);
    x->if_exists = s->missing_ok;
    if (routine_kind(s->objectType)) {
        x->object = AST_OBJ_ROUTINE;
        x->what = routine_kind(s->objectType);
        if (!(routine = arena_new_of(c->a, AstFuncSignature)) ||
            !conv_signature(c, (ObjectWithArgs *)s->object, routine))
            return NULL;
        x->routine = routine;
        return (AstStmt *)x;
    }
    if (x->object == AST_OBJ_OTHER) return unsupported_on(c, "ALTER", s->objectType);
    if (s->relation) return conv_rangevar(c, s->relation, &x->name) ? (AstStmt *)x : NULL;
    return object_names(c, s->object, &x->name) && x->name.name ? (AstStmt *)x
                                                                : unsupported_on(c, "ALTER", s->objectType);
}

/* Statements that PostgreSQL has and Stele has not. */
static const char *statement_name(Node *n) {
    switch (nodeTag(n)) {
    case T_AlterTypeStmt: return "ALTER TYPE";
    case T_CreateTrigStmt: return "CREATE TRIGGER";
    case T_CreateEventTrigStmt: return "CREATE EVENT TRIGGER";
    case T_RuleStmt: return "CREATE RULE";
    case T_CreateExtensionStmt: return "CREATE EXTENSION";
    case T_CreatedbStmt: return "CREATE DATABASE";
    case T_DropdbStmt: return "DROP DATABASE";
    case T_AlterDatabaseStmt: return "ALTER DATABASE";
    case T_AlterSystemStmt: return "ALTER SYSTEM";
    case T_NotifyStmt: return "NOTIFY";
    case T_ListenStmt: return "LISTEN";
    case T_UnlistenStmt: return "UNLISTEN";
    case T_LoadStmt: return "LOAD";
    case T_CreateTableSpaceStmt: return "CREATE TABLESPACE";
    case T_DropTableSpaceStmt: return "DROP TABLESPACE";
    case T_CreateForeignTableStmt: return "CREATE FOREIGN TABLE";
    case T_CreateFdwStmt: return "CREATE FOREIGN DATA WRAPPER";
    case T_CreateForeignServerStmt: return "CREATE SERVER";
    case T_ImportForeignSchemaStmt: return "IMPORT FOREIGN SCHEMA";
    case T_CreatePolicyStmt: return "CREATE POLICY";
    case T_CreatePublicationStmt: return "CREATE PUBLICATION";
    case T_CreateSubscriptionStmt: return "CREATE SUBSCRIPTION";
    case T_CreateCastStmt: return "CREATE CAST";
    case T_CreatePLangStmt: return "CREATE LANGUAGE";
    case T_CreateStatsStmt: return "CREATE STATISTICS";
    case T_SecLabelStmt: return "SECURITY LABEL";
    default: return "this statement";
    }
}

/* The same of statements whose names PostgreSQL would look for first. */
static AstStmt *unsupported_named(Conv *c, Node *n) {
    AstUnsupported *x = (AstUnsupported *)unsupported_stmt(c, statement_name(n));
    AstName *table = arena_new_of(c->a, AstName);
    AstFuncSignature *f = arena_new_of(c->a, AstFuncSignature);
    if (!x || !table || !f) return NULL;
    bool ok = true;
    switch (nodeTag(n)) {
    case T_CreateExtensionStmt:
        ok = copy_str(c, ((CreateExtensionStmt *)n)->extname, &x->extension);
        x->if_exists = ((CreateExtensionStmt *)n)->if_not_exists;
        break;
    case T_DropdbStmt:
        ok = copy_str(c, ((DropdbStmt *)n)->dbname, &x->database);
        x->if_exists = ((DropdbStmt *)n)->missing_ok;
        break;
    case T_LoadStmt: ok = copy_str(c, ((LoadStmt *)n)->filename, &x->file); break;
    case T_CreateTableSpaceStmt: ok = copy_str(c, ((CreateTableSpaceStmt *)n)->location, &x->directory); break;
    case T_CreateForeignTableStmt: ok = copy_str(c, ((CreateForeignTableStmt *)n)->servername, &x->server); break;
    case T_CreateTrigStmt:
        ok = conv_rangevar(c, ((CreateTrigStmt *)n)->relation, table) &&
             conv_qualified(c, ((CreateTrigStmt *)n)->funcname, -1, &f->name);
        f->has_args = true;
        x->table = table;
        x->function = f;
        break;
    case T_CreateCastStmt:
        if (!((CreateCastStmt *)n)->func) break;
        ok = conv_signature(c, ((CreateCastStmt *)n)->func, f);
        x->function = f;
        break;
    default: break;
    }
    return ok ? (AstStmt *)x : NULL;
}

static AstStmt *conv_stmt_inner(Conv *c, Node *n) {
    switch (nodeTag(n)) {
    case T_SelectStmt: return conv_top_select(c, (SelectStmt *)n);
    case T_InsertStmt: return conv_insert(c, (InsertStmt *)n);
    case T_UpdateStmt: return conv_update(c, (UpdateStmt *)n);
    case T_DeleteStmt: return conv_delete(c, (DeleteStmt *)n);
    case T_MergeStmt: return conv_merge(c, (MergeStmt *)n);
    case T_TruncateStmt: {
        TruncateStmt *s = (TruncateStmt *)n;
        AstTruncate *x = NEW(AstTruncate, AST_TRUNCATE, -1);
        if (!x || !conv_rangevars(c, s->relations, &x->tables, &x->n_tables)) return NULL;
        x->cascade = s->behavior == DROP_CASCADE;
        x->restart_identity = s->restart_seqs;
        return (AstStmt *)x;
    }
    case T_CreateStmt: return conv_create_table(c, (CreateStmt *)n);
    case T_CreateTableAsStmt: {
        CreateTableAsStmt *s = (CreateTableAsStmt *)n;
        if (!no_into(c, s->query)) return NULL;
        if (s->objtype == OBJECT_MATVIEW && s->into->rel->relpersistence == 'u') {
            err_set(c->e, ERR_FEATURE_NOT_SUPPORTED, "materialized views cannot be unlogged");
            return NULL;
        }
        return conv_create_as(c, s->into, s->query, NULL, s->objtype == OBJECT_MATVIEW, s->if_not_exists);
    }
    case T_RefreshMatViewStmt: return conv_refresh(c, (RefreshMatViewStmt *)n);
    case T_ViewStmt:
        if (((ViewStmt *)n)->view->relpersistence == 'u') {
            err_set(c->e, ERR_SYNTAX, "views cannot be unlogged because they do not have storage");
            return NULL;
        }
        return conv_create_view(c, (ViewStmt *)n);
    case T_IndexStmt: return conv_create_index(c, (IndexStmt *)n);
    case T_CreateSchemaStmt: {
        CreateSchemaStmt *s = (CreateSchemaStmt *)n;
        return conv_create_schema(c, s);
    }
    case T_DropStmt: {
        ObjectType t = ((DropStmt *)n)->removeType;
        if (t == OBJECT_POLICY) return conv_drop_policy(c, (DropStmt *)n);
        return t == OBJECT_FUNCTION || t == OBJECT_PROCEDURE || t == OBJECT_ROUTINE || t == OBJECT_AGGREGATE
                   ? conv_drop_function(c, (DropStmt *)n)
                   : conv_drop(c, (DropStmt *)n);
    }
    case T_CreateFunctionStmt: return conv_create_function(c, (CreateFunctionStmt *)n);
    case T_CallStmt: return conv_call(c, (CallStmt *)n);
    case T_DoStmt: return conv_do(c, (DoStmt *)n);
    case T_AlterTableStmt: return conv_alter_table(c, (AlterTableStmt *)n);
    case T_RenameStmt: return conv_rename(c, (RenameStmt *)n);
    case T_AlterObjectSchemaStmt: return conv_set_schema(c, (AlterObjectSchemaStmt *)n);
    case T_AlterFunctionStmt: return conv_alter_routine(c, (AlterFunctionStmt *)n);
    case T_CompositeTypeStmt: return conv_create_composite(c, (CompositeTypeStmt *)n);
    case T_CreateEnumStmt: return conv_create_enum(c, (CreateEnumStmt *)n);
    case T_CreateRangeStmt: return conv_create_range(c, (CreateRangeStmt *)n);
    case T_AlterEnumStmt: return conv_alter_enum(c, (AlterEnumStmt *)n);
    case T_CreateDomainStmt: return conv_create_domain(c, (CreateDomainStmt *)n);
    case T_AlterDomainStmt: return conv_alter_domain(c, (AlterDomainStmt *)n);
    case T_CreateSeqStmt: {
        CreateSeqStmt *s = (CreateSeqStmt *)n;
        return conv_sequence(c, AST_CREATE_SEQUENCE, s->sequence, s->options, s->if_not_exists);
    }
    case T_AlterSeqStmt: {
        AlterSeqStmt *s = (AlterSeqStmt *)n;
        return conv_sequence(c, AST_ALTER_SEQUENCE, s->sequence, s->options, s->missing_ok);
    }
    case T_CommentStmt: return conv_comment(c, (CommentStmt *)n);
    case T_ReindexStmt: return conv_reindex(c, (ReindexStmt *)n);
    case T_ClusterStmt: return conv_cluster(c, (ClusterStmt *)n);
    case T_CopyStmt: return conv_copy(c, (CopyStmt *)n);
    case T_TransactionStmt: return conv_transaction(c, (TransactionStmt *)n);
    case T_PrepareStmt: return conv_prepare(c, (PrepareStmt *)n);
    case T_ExecuteStmt: {
        AstExecute *x = NEW(AstExecute, AST_EXECUTE, -1);
        return x && copy_str(c, ((ExecuteStmt *)n)->name, &x->name) &&
                       conv_exprs(c, ((ExecuteStmt *)n)->params, &x->args, &x->n_args)
                   ? (AstStmt *)x
                   : NULL;
    }
    case T_DeallocateStmt: {
        AstDeallocate *x = NEW(AstDeallocate, AST_DEALLOCATE, -1);
        return x && copy_str(c, ((DeallocateStmt *)n)->name, &x->name) ? (AstStmt *)x : NULL;
    }
    case T_VariableSetStmt: return conv_set(c, (VariableSetStmt *)n);
    case T_VariableShowStmt: {
        AstShow *x = NEW(AstShow, AST_SHOW, -1);
        return x && copy_str(c, ((VariableShowStmt *)n)->name, &x->name) ? (AstStmt *)x : NULL;
    }
    case T_ExplainStmt: {
        AstExplain *x = NEW(AstExplain, AST_EXPLAIN, -1);
        return x && conv_options(c, ((ExplainStmt *)n)->options, &x->options, &x->n_options) &&
                       (x->query = conv_stmt(c, ((ExplainStmt *)n)->query))
                   ? (AstStmt *)x
                   : NULL;
    }
    case T_VacuumStmt: return conv_vacuum(c, (VacuumStmt *)n);
    case T_DeclareCursorStmt: return conv_declare_cursor(c, (DeclareCursorStmt *)n);
    case T_FetchStmt: return conv_fetch(c, (FetchStmt *)n);
    case T_ClosePortalStmt: return conv_close(c, (ClosePortalStmt *)n);
    case T_LockStmt: return conv_lock(c, (LockStmt *)n);
    case T_ConstraintsSetStmt: return conv_set_constraints(c, (ConstraintsSetStmt *)n);
    case T_CheckPointStmt: return NEW(AstStmt, AST_CHECKPOINT, -1);
    case T_DiscardStmt: return conv_discard(c, (DiscardStmt *)n);
    case T_DefineStmt: {
        DefineStmt *s = (DefineStmt *)n;
        return s->kind == OBJECT_AGGREGATE ? conv_create_aggregate(c, s) : unsupported_on(c, "CREATE", s->kind);
    }
    default: return is_access_stmt(n) ? conv_access(c, n) : unsupported_named(c, n);
    }
}

static AstStmt *conv_stmt(Conv *c, Node *n) { return stack_check(c->e) == ST_OK ? conv_stmt_inner(c, n) : NULL; }

/* ---- the grammar ---------------------------------------------------------------------------------- */

typedef struct GrammarError {
    char sqlstate[6];
    int cursor; /* in characters, 1-based; 0 = none */
    const char *message, *detail, *hint;
} GrammarError;

/* Raw parse tree, or NULL with *failed. What it returns lives in `ctx`. */
static List *run_grammar(const char *text, MemoryContext ctx, GrammarError *err, bool *failed) {
    List *volatile tree = NIL;
    PG_TRY();
    {
        tree = raw_parser(text, RAW_PARSE_DEFAULT);
        *failed = false;
    }
    PG_CATCH();
    {
        MemoryContextSwitchTo(ctx);
        ErrorData *d = CopyErrorData();
        int code = d->sqlerrcode;
        for (int i = 0; i < 5; i++, code >>= 6) err->sqlstate[i] = (char)PGUNSIXBIT(code);
        err->sqlstate[5] = 0;
        err->cursor = d->cursorpos;
        err->message = d->message;
        err->detail = d->detail;
        err->hint = d->hint;
        *failed = true;
        FlushErrorState();
        tree = NIL;
    }
    PG_END_TRY();
    return tree;
}

/* 1-based byte position of the n-th (1-based) character. */
static int64_t byte_position(Slice text, int64_t cursor) {
    return cursor <= 0 ? 0 : utf8_prefix_bytes(text.ptr, text.len, cursor - 1) + 1;
}

static Status report_grammar_error(Slice text, const GrammarError *g, Err *e) {
    const char *msg = g->message ? g->message : "missing error text";
    if (strncmp(msg, "memory exhausted", 16) == 0) { /* the parser's stack, not memory */
        err_at(e, byte_position(text, g->cursor), ERR_STATEMENT_TOO_COMPLEX, "stack depth limit exceeded");
        err_hint(e, "The statement is nested too deeply.");
        return ST_ERROR;
    }
    if (strncmp(msg, "invalid memory alloc request size", 33) == 0)
        return err_set(e, ERR_STATEMENT_TOO_COMPLEX, "statement is too large");
    err_at(e, byte_position(text, g->cursor), g->sqlstate, "%s", msg);
    if (g->detail) err_detail(e, "%s", g->detail);
    if (g->hint) err_hint(e, "%s", g->hint);
    const char *keyword = g->hint || strcmp(g->sqlstate, ERR_SYNTAX) != 0
                              ? NULL
                              : parse_similar_keyword(text, byte_position(text, g->cursor) - 1);
    if (keyword) err_hint(e, "Perhaps you meant \"%s\".", keyword);
    return ST_ERROR;
}

static AstStmt *conv_describe(Conv *c, AstStmt *query, const FormDescribe *d) {
    AstDescribe *x = NEW(AstDescribe, AST_DESCRIBE, d->at);
    if (!x) return NULL;
    int64_t from = scan_skip_blank(c->text, d->end), to = c->stmt_offset + c->stmt.len;
    x->query = query;
    x->summarize = d->summarize;
    x->is_query = d->query;
    return copy_source(c, (Slice){c->text.ptr + from, to - from}, &x->query_source) ? (AstStmt *)x : NULL;
}

static Status conv_all(Conv *c, List *raw, AstStmt ***stmts_out, int64_t *n_out) {
    int64_t n = list_length(raw);
    AstStmt **v = new_array(c, n, (int64_t)sizeof(AstStmt *));
    if (!v) return ST_ERROR;
    for (int64_t i = 0; i < n; i++) {
        RawStmt *r = list_nth(raw, (int)i);
        int64_t start = r->stmt_location < 0 ? 0 : r->stmt_location;
        int64_t end = r->stmt_len > 0 ? start + r->stmt_len : c->text.len;
        start = scan_skip_blank(c->text, start);
        while (end > start && strchr(" \t\r\n\f\v", c->text.ptr[end - 1])) end--;
        c->stmt = (Slice){c->text.ptr + start, end - start};
        c->stmt_offset = start;
        AstStmt *s = conv_stmt(c, r->stmt);
        const FormDescribe *d = forms_describe(&c->forms, start);
        if (s && d) s = conv_describe(c, s, d);
        if (!s) return ST_ERROR;
        s->source = c->stmt;
        s->source_offset = start;
        if (s->location == 0) s->location = start + 1;
        v[i] = s;
    }
    *stmts_out = v;
    *n_out = n;
    return ST_OK;
}

/* Frees all of the thread's contexts. Not pg_query_exit(): that one leaves the freed top context in the
 * allocator's list of contexts to reuse. Deleting the top context puts it into that list, and freeing the list frees
 * it. */
static void free_top_context(void) {
    MemoryContext top = TopMemoryContext;
    MemoryContextDeleteChildren(top);
    top->methods->delete_context(top);
    AllocSetDeleteFreeList(top);
    TopMemoryContext = CurrentMemoryContext = ErrorContext = NULL;
    pg_query_initialized = 0;
}

Status pg_convert(Arena *a, Slice text, AstStmt ***stmts_out, int64_t *n_out, Err *e) {
    /* The grammar takes a NUL-terminated text. Its own memory cannot be charged as it grows: charge an estimate, so
     * that a huge statement is refused under a small limit. */
    MemAccount *acct = arena_account(a);
    int64_t copy_size = text.len + 1, estimate = text.len * 16 + (64 << 10);
    char *copy = mem_alloc(acct, copy_size, e);
    if (!copy) return ST_ERROR;
    if (mem_charge(acct, estimate, e) != ST_OK) {
        mem_free(acct, copy, copy_size);
        return ST_ERROR;
    }
    memcpy(copy, text.ptr, (size_t)text.len);
    copy[text.len] = 0;
    mask_any(text, copy);
    Conv c = {.a = a, .e = e, .text = text};
    if (sql_forms(a, text, copy, &c.forms) != ST_OK) {
        mem_discharge(acct, estimate);
        mem_free(acct, copy, copy_size);
        return err_is_set(e) ? ST_ERROR : err_oom(e);
    }

    /* A failure to create the top context would end the process (there is nowhere to report it yet); see that
     * there is memory for it. */
    Status st = ST_ERROR;
    void *probe = malloc(256 << 10);
    if (!probe) {
        err_oom(e);
        goto done;
    }
    free(probe);
    bool own_top = TopMemoryContext == NULL;
    pg_query_initialized = 1;
    if (own_top) MemoryContextInit();
    SetDatabaseEncoding(ENCODING_UTF8);
    MemoryContext ctx = pg_query_enter_memory_context();
    GrammarError gerr = {0};
    bool failed = false;
    List *raw = run_grammar(copy, ctx, &gerr, &failed);
    if (failed) {
        st = report_grammar_error(text, &gerr, e);
    } else {
        st = conv_all(&c, raw, stmts_out, n_out);
        if (st != ST_OK && !err_is_set(e)) {
            Err *ae = arena_err(a);
            if (ae && ae != e && err_is_set(ae)) err_copy(e, ae);
            else err_oom(e);
        }
    }
    pg_query_exit_memory_context(ctx);
    if (own_top) free_top_context();
done:
    mem_discharge(acct, estimate);
    mem_free(acct, copy, copy_size);
    return st;
}
