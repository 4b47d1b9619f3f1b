/* routine.c - CREATE and DROP of functions and procedures, notices.
 *
 * The catalog keeps the CREATE statement's text and what others need to know without reading it (Routine). Overloads
 * are distinguished by the types of their input parameters, functions and procedures together, as in PostgreSQL.
 */
#include <stdarg.h>
#include <stdio.h>
#include <strings.h>

#include "session/core/transaction.h"
#include "session/ddl/access.h"
#include "session/ddl/comments.h"
#include "session/ddl/definition.h"
#include "session/ddl/depend.h"
#include "session/ddl/stored_text.h"
#include "session/ddl/utility_int.h"
#include "sql/bind/bind.h"
#include "sql/parse/parse.h"
#include "types/composite.h"
#include "sql/pl/pl.h"

/* INFO always is; without client_min_messages everything is sent, and the client chooses. */
static bool is_wanted(const Session *s, const char *severity) {
    static const char *const levels[] = {"debug5", "debug4", "debug3",  "debug2", "debug1",
                                         "log",    "notice", "warning", "error"};
    const char *least = setting_texts_get(s->settings.client.texts, "client_min_messages");
    int64_t from = 0, level = 0;
    if (!least || strcmp(severity, "INFO") == 0) return true;
    while (from < ARRAY_LEN(levels) && strcmp(levels[from], least) != 0) from++;
    if (strcmp(least, "info") == 0) from = 6;
    if (strcmp(severity, "DEBUG") == 0) return from <= 4;
    while (level < ARRAY_LEN(levels) && strcasecmp(levels[level], severity) != 0) level++;
    return level >= from;
}

static void tell(Session *s, const SessionNotice *n) {
    s->n_notices++;
    if (s->client.notice && is_wanted(s, n->severity)) s->client.notice(s->client.notice_ctx, n);
}
/* In one allocation, with its texts. */
struct HeldNotice {
    struct HeldNotice *older;
    int64_t bytes;
    SessionNotice n;
    char texts[];
};
static const char *take_text(char **at, const char *text) {
    const size_t bytes = strlen(text) + 1;
    memcpy(*at, text, bytes);
    *at += bytes;
    return *at - bytes;
}
/* false: there is no memory. */
static bool hold_back(Session *s, const SessionNotice *n) {
    const char *const texts[] = {n->severity, n->sqlstate, n->message, n->detail, n->hint, n->context};
    int64_t bytes = (int64_t)sizeof(struct HeldNotice);
    for (int i = 0; i < ARRAY_LEN(texts); i++) bytes += (int64_t)strlen(texts[i]) + 1;
    struct HeldNotice *x = mem_alloc(&s->account, bytes, NULL);
    if (!x) return false;
    char *at = x->texts;
    x->older = s->block.notices;
    x->bytes = bytes;
    const char **to[] = {&x->n.severity, &x->n.sqlstate, &x->n.message, &x->n.detail, &x->n.hint, &x->n.context};
    for (int i = 0; i < ARRAY_LEN(texts); i++) *to[i] = take_text(&at, texts[i]);
    s->block.notices = x;
    return true;
}
void session_notice(Session *s, const SessionNotice *n) {
    if (s->client.notice && transaction_may_wait(s) && hold_back(s, n)) return;
    session_notices_tell(s); /* in order: without memory for one, all come now */
    tell(s, n);
}
void session_notices_drop(Session *s) {
    while (s->block.notices) {
        struct HeldNotice *x = s->block.notices;
        s->block.notices = x->older;
        mem_free(&s->account, x, x->bytes);
    }
}
void session_notices_tell(Session *s) {
    struct HeldNotice *oldest = NULL;
    for (struct HeldNotice *x = s->block.notices, *older; x; x = older) {
        older = x->older;
        x->older = oldest;
        oldest = x;
    }
    s->block.notices = oldest;
    for (const struct HeldNotice *x = oldest; x; x = x->older) tell(s, &x->n);
    session_notices_drop(s);
}
void session_notice_text(Session *s, const char *severity, const char *sqlstate, const char *fmt, ...) {
    char text[1024];
    va_list ap;
    if (!s->client.notice) return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    key_names_only(text);
    session_notice(s, &(SessionNotice){severity, sqlstate, text, "", "", ""});
}

char *routine_arguments_text(Arena *a, const Routine *r) {
    char *t = arena_strdup(a, ""), type[TYPE_NAME_MAX];
    const int variadic = routine_variadic_param(r);
    for (int i = 0, n = 0; t && i < r->n_params; i++) {
        char m = r->param_modes[i];
        if (m == 't' || m == 'c') continue;
        t = arena_printf(a, "%s%s%s%s%s%s", t, n++ ? ", " : "",
                         m == 'o'        ? "OUT "
                         : m == 'b'      ? "INOUT "
                         : i == variadic ? "VARIADIC "
                                         : "",
                         r->param_names[i] ? r->param_names[i] : "", r->param_names[i] ? " " : "",
                         type_name(r->param_types[i], &type));
    }
    return t;
}
char *routine_result_text(Arena *a, const Routine *r) {
    char type[TYPE_NAME_MAX];
    bool table = false;
    for (int i = 0; i < r->n_params; i++) table |= r->param_modes[i] == 't' || r->param_modes[i] == 'c';
    if (r->is_procedure) return arena_strdup(a, "");
    if (!table)
        return arena_printf(a, "%s%s", r->returns_set ? "SETOF " : "",
                            r->returns_record ? "record"
                            : r->returns_void ? "void"
                                              : type_name(r->ret, &type));
    char *t = arena_strdup(a, "TABLE(");
    for (int i = 0, n = 0; t && i < r->n_params; i++)
        if (r->param_modes[i] == 't' || r->param_modes[i] == 'c')
            t = arena_printf(a, "%s%s%s %s", t, n++ ? ", " : "", r->param_names[i] ? r->param_names[i] : "?",
                             type_name(r->param_types[i], &type));
    return t ? arena_printf(a, "%s)", t) : NULL;
}

static bool is_input(const Routine *r, int i) { return r->param_modes[i] == 'i' || r->param_modes[i] == 'b'; }

/* Types of input parameters. */
static int identity(const Routine *r, Type *out) {
    int n = 0;
    for (int i = 0; i < r->n_params; i++)
        if (is_input(r, i)) out[n++] = r->param_types[i];
    return n;
}

static bool differ(Type a, Type b) {
    return a.id != b.id || ((type_is_defined(b) || type_is_poly(a) || type_is_poly(b)) && !type_eq(a, b));
}

/* What OR REPLACE may not change, since others rely on it. */
static Status check_replace(Session *s, Arena *a, const Routine *old, const Routine *r) {
    Err *e = &s->err;
    const char *sig = pl_signature_text(a, old);
    if (!sig) return ST_ERROR;
    if (old->is_procedure != r->is_procedure) {
        err_set(e, ERR_WRONG_OBJECT_TYPE, "cannot change routine kind");
        err_detail(e, "\"%s\" is a %s.", old->name, old->is_procedure ? "procedure" : "function");
        return ST_ERROR;
    }
    const char *what = r->is_procedure ? "PROCEDURE" : "FUNCTION";
    bool outs_differ = false;
    int n_old = 0, n_new = 0;
    for (int i = 0; i < old->n_params; i++) n_old += !is_input(old, i) || old->param_modes[i] == 'b';
    for (int i = 0; i < r->n_params; i++) n_new += !is_input(r, i) || r->param_modes[i] == 'b';
    outs_differ = n_old != n_new;
    for (int i = 0, k = 0; !outs_differ && n_new > 1 && i < old->n_params; i++) {
        if (old->param_modes[i] == 'i') continue;
        while (r->param_modes[k] == 'i') k++;
        outs_differ =
            differ(old->param_types[i], r->param_types[k]) ||
            (old->param_names[i] && (!r->param_names[k] || strcmp(old->param_names[i], r->param_names[k]) != 0));
        k++;
    }
    bool ret_differs = old->returns_set != r->returns_set || old->returns_void != r->returns_void ||
                       old->returns_record != r->returns_record || differ(old->ret, r->ret);
    if (ret_differs || outs_differ) {
        err_set(e, ERR_INVALID_FUNCTION_DEFINITION,
                r->is_procedure && n_old != n_new ? "cannot change whether a procedure has output parameters"
                                                  : "cannot change return type of existing function");
        if (outs_differ && !ret_differs) err_detail(e, "Row type defined by OUT parameters is different.");
        err_hint(e, "Use DROP %s %s first.", what, sig);
        return ST_ERROR;
    }
    for (int i = 0, k = 0; i < old->n_params; i++) {
        if (!is_input(old, i)) continue;
        while (!is_input(r, k)) k++;
        if (old->param_names[i] && (!r->param_names[k] || strcmp(old->param_names[i], r->param_names[k]) != 0)) {
            err_set(e, ERR_INVALID_FUNCTION_DEFINITION, "cannot change name of input parameter \"%s\"",
                    old->param_names[i]);
            err_hint(e, "Use DROP %s %s first.", what, sig);
            return ST_ERROR;
        }
        k++;
    }
    if (old->n_defaults > r->n_defaults) {
        err_set(e, ERR_INVALID_FUNCTION_DEFINITION, "cannot remove parameter defaults from existing function");
        err_hint(e, "Use DROP %s %s first.", what, sig);
        return ST_ERROR;
    }
    return ST_OK;
}

/* ---- bodies in SQL: as PostgreSQL does, names and types are looked at when the routine is made -------- */

static Status bad_result(Session *s, const Routine *r, const char *detail) {
    char type[TYPE_NAME_MAX];
    int n_outs = 0;
    for (int i = 0; i < r->n_params; i++) n_outs += r->param_modes[i] != 'i';
    bool record = r->returns_record || (r->is_procedure && n_outs > 0);
    err_set(&s->err, ERR_INVALID_FUNCTION_DEFINITION, "return type mismatch in function declared to return %s",
            record ? "record" : type_name(r->ret, &type));
    err_detail(&s->err, "%s", detail);
    return ST_ERROR;
}

/* Whether the last statement's columns can be the result. b NULL: it has none. */
static Status check_result(Session *s, Arena *a, const Routine *r, const PlanCtx *c, const BoundStmt *b) {
    Type want[PL_MAX_PARAMS + 1];
    char from[TYPE_NAME_MAX], to[TYPE_NAME_MAX];
    int n = 0;
    for (int i = 0; i < r->n_params; i++)
        if (r->param_modes[i] != 'i') want[n++] = r->param_types[i];
    if (n == 0 && (r->returns_void || r->is_procedure)) return ST_OK;
    if (!b || b->n_result == 0)
        return bad_result(s, r, "Final statement must be SELECT or INSERT/UPDATE/DELETE RETURNING.");
    if (n == 0 && r->returns_record) return ST_OK; /* of whatever columns */
    if (n == 0) want[n++] = r->ret;
    bool scalar = n == 1 && !r->returns_record && !r->is_procedure;
    const CompositeType *row = scalar ? composite_of(r->ret) : NULL;
    if (row && row->n <= PL_MAX_PARAMS && !(b->n_result == 1 && type_eq(c->cols.items[b->result[0]].type, r->ret))) {
        scalar = false; /* the columns are its fields */
        for (n = 0; n < row->n; n++) want[n] = row->fields[n].type;
    }
    if (scalar && b->n_result != 1) return bad_result(s, r, "Final statement must return exactly one column.");
    if (b->n_result != n)
        return bad_result(s, r,
                          b->n_result < n ? "Final statement returns too few columns."
                                          : "Final statement returns too many columns.");
    for (int i = 0; i < n; i++) {
        Type is = c->cols.items[b->result[i]].type;
        if (is.id == T_UNKNOWN) is = type_make(T_TEXT);
        if (is.id == want[i].id || cast_exists(is, want[i], CAST_ASSIGNMENT)) continue;
        type_name(is, &from);
        const char *why = scalar ? arena_printf(a, "Actual return type is %s.", from)
                                 : arena_printf(a, "Final statement returns %s instead of %s at column %d.", from,
                                                type_name(want[i], &to), i + 1);
        return why ? bad_result(s, r, why) : err_oom(&s->err);
    }
    return ST_OK;
}

static Status check_sql_body(Session *s, Arena *a, const Routine *r, const PlFunction *f) {
    const PlBody *all = &f->body->body;
    Status status = ST_OK;
    for (int32_t i = 0; i < all->n && status == ST_OK; i++) {
        const PlExpr *x = all->stmts[i]->query;
        PlNames names;
        PlanCtx c;
        BoundStmt *b = NULL;
        plan_ctx_init(s, a, &c);
        pl_names_init(&names, a, f, x);
        c.variables = &names.hook;
        if (sql_is_planned(x->stmt)) status = sql_bind(&c, x->stmt, 0, NULL, &b);
        if (status == ST_OK && i == all->n - 1) status = check_result(s, a, r, &c, b);
    }
    if (status != ST_OK) err_context(&s->err, "SQL function \"%s\"", r->name);
    return status;
}

/* SET search_path TO .., FROM CURRENT. */
Status routine_path_of(Session *s, Arena *a, const AstSet *x, SearchPath *out) {
    if (x->set_kind == AST_SET_CURRENT) return ST_OK;
    const char *text = x->set_kind == AST_SET_VALUE ? "" : "\"$user\", public";
    for (int64_t i = 0; text && i < x->n_values; i++) {
        const AstExpr *e = x->values[i];
        const Slice word = e->kind == AST_STRING_LIT ? AST_AS_CONST(AstLiteral, e)->text : (Slice){0};
        const char *plain = e->kind == AST_COLUMN ? AST_AS_CONST(AstColumn, e)->name
                            : word.ptr            ? arena_strndup(a, word.ptr, word.len)
                                                  : NULL;
        const char *name = plain ? quote_name(a, plain) : NULL;
        text = name ? arena_printf(a, "%s%s%s", text, i ? ", " : "", name) : NULL;
    }
    if (!text || !search_path_parse(text, s->info.user, out))
        return err_set(&s->err, ERR_INVALID_PARAMETER, "invalid value for parameter \"search_path\"");
    return ST_OK;
}
static Status aggregate_signature(Session *s, Arena *a, const AstCreateFunction *x, Routine *r) {
    PlanCtx c;
    plan_ctx_init(s, a, &c);
    TRY(sql_aggregate_signature(&c, x, r));
    r->may_write = c.writes_routine;
    return ST_OK;
}
Status routine_create(Session *s, Statement *st, const AstCreateFunction *x) {
    Arena *a = st->run_arena;
    Catalog *c = &s->db->catalog;
    snprintf(st->tag, sizeof st->tag, "%s", ast_stmt_tag((const AstStmt *)x));
    TRY(session_begin_write(s));
    AstName key;
    Routine r;
    PlFunction *f = NULL;
    SearchPath path = *search_path_now();
    TRY(session_new_name(s, a, &x->name, &key));
    if (x->path) TRY(routine_path_of(s, a, x->path, &path));
    else search_path_keep_existing(c, &path);
    TRY(routine_settings_check(s, a, &x->options));
    KeptLiterals kept = {0};
    TRY(x->aggregate ? aggregate_signature(s, a, x, &r) : pl_signature(a, c, x, &r, &s->err));
    r.name = (char *)(uintptr_t)key.name;
    r.path = (char *)(uintptr_t)search_path_text(&path, a);
    if (!x->aggregate) TRY(pl_of_create(a, c, x, &f, &s->err));
    for (int64_t i = 0; i < x->n_params; i++) {
        PlanCtx pc;
        Expr *e;
        plan_ctx_init(s, a, &pc);
        pc.literals = &kept;
        const Type t = type_is_poly(r.param_types[i]) ? type_make(T_UNKNOWN) : r.param_types[i];
        if (x->params[i].def) TRY(sql_bind_scalar(&pc, x->params[i].def, t, &e));
    }
    r.may_write = f ? pl_may_write(f) : r.may_write;
    const char *sql;
    TRY(stored_text(a, x->source, x->source_offset, &kept, &sql, &s->err));
    TRY(routine_settings_text(s, a, &x->options, sql, &sql));
    if (key_has_schema(r.name)) { /* it is one of that schema whatever the path is */
        const char *name = definition_name(a, r.name);
        if (!name || !(sql = sql_create_named(a, slice_of(sql), name))) return err_oom(&s->err);
    }
    r.sql = (char *)(uintptr_t)sql;
    Type types[PL_MAX_PARAMS];
    int n = identity(&r, types);
    Routine *old = NULL;
    for (int64_t i = 0; i < c->n_routines && !old; i++)
        if (strcmp(c->routines[i]->name, r.name) == 0 && sql_same_identity(c->routines[i], n, types))
            old = c->routines[i];
    if (old && !x->or_replace)
        return err_set(&s->err, ERR_DUPLICATE_FUNCTION, "function \"%s\" already exists with same argument types",
                       r.name);
    if (old) TRY(check_replace(s, a, old, &r));
    Routine *own;
    TRY(routine_replace(s, old, &r, &own));
    if (!f || !f->is_sql || !s->settings.client.check_bodies || routine_is_polymorphic(own)) return ST_OK;
    const SearchPath *before = search_path_use(&path);
    const Status checked = check_sql_body(s, a, own, f); /* it may call itself */
    (void)search_path_use(before);
    if (checked == ST_OK) return ST_OK;
    s->err.position = s->err.position && x->body_offset >= 0 ? x->body_offset + s->err.position : 0;
    return ST_ERROR;
}

/* ---- DROP ---------------------------------------------------------------------------------------- */

static Status find(Session *s, Arena *a, char what, bool if_exists, const AstFuncSignature *q, Routine **out) {
    const char *missing;
    if (q->name.schema && !catalog_has_schema(&s->db->catalog, q->name.schema)) {
        *out = NULL;
        if (!if_exists) return err_set(&s->err, ERR_UNDEFINED_SCHEMA, "schema \"%s\" does not exist", q->name.schema);
        session_notice_text(s, "NOTICE", "00000", "schema \"%s\" does not exist, skipping", q->name.schema);
        return ST_OK;
    }
    TRY(sql_find_routine(&s->db->catalog, a, what, q, out, &missing, &s->err));
    if (*out) return ST_OK;
    if (!if_exists) return sql_no_routine(what, q, missing, &s->err);
    const char *word = what == 'f' ? "function" : what == 'p' ? "procedure" : what == 'a' ? "aggregate" : "routine";
    session_notice_text(s, "NOTICE", "00000", "%s %s%s does not exist, skipping", word, missing,
                        q->has_args ? "" : "()");
    return ST_OK;
}
Status routine_find(Session *s, Arena *a, char what, const AstFuncSignature *q, const Routine **out) {
    Routine *r;
    TRY(find(s, a, what, false, q, &r));
    *out = r;
    return ST_OK;
}

Status routine_drop(Session *s, Statement *st, const AstDropFunction *x) {
    snprintf(st->tag, sizeof st->tag, "%s", ast_stmt_tag((const AstStmt *)x));
    Arena *a = st->run_arena;
    TRY(session_begin_write(s));
    TRY(views_fill_sources(s, a));
    Dependents d;
    dependents_init(&d, s, st);
    VEC(Routine *) gone = {0};
    for (int64_t i = 0; i < x->n_items; i++) {
        Routine *r;
        TRY(find(s, a, x->what, x->if_exists, &x->items[i], &r));
        bool again = !r;
        for (int64_t k = 0; k < gone.len; k++) again |= gone.items[k] == r;
        if (again) continue;
        if (!vec_push(a, &gone, r)) return ST_ERROR;
        TRY(dependents_of_routine(&d, r));
    }
    const char *sig = gone.len ? dependents_routine(&d, gone.items[0]) : NULL;
    const char *what = x->n_items == 1 && sig
                           ? arena_printf(a, "%s %s", gone.items[0]->is_procedure ? "procedure" : "function", sig)
                           : NULL;
    TRY(dependents_drop(&d, what, x->cascade));
    for (int64_t i = 0; i < gone.len; i++) TRY(session_drop_routine(s, gone.items[i]));
    return ST_OK;
}
