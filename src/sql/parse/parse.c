/* parse.c - the checks in front of the grammar, and names of AST kinds. */
#include "sql/parse/ast_access.h"
#include "sql/parse/parse.h"

#include "sql/parse/parse_int.h"
#include "types/type.h"

static Status check_text(Slice text, Err *e) {
    if (text.len > SQL_TEXT_MAX)
        return err_set(e, ERR_STATEMENT_TOO_COMPLEX, "statement text is longer than %lld bytes",
                       (long long)SQL_TEXT_MAX);
    int64_t bad = utf8_check(text.ptr, text.len);
    if (bad >= 0)
        return err_at(e, bad + 1, ERR_CHAR_NOT_IN_REPERTOIRE, "invalid byte sequence for encoding \"UTF8\": 0x%02x",
                      (unsigned)(unsigned char)text.ptr[bad]);
    return sql_runs_check(text, e);
}

/* f, f(int, text), as DROP ROUTINE takes one; what stands before `at` has room for these words and is not looked at. */
static Status signature_at(Arena *a, Slice text, int64_t at, AstFuncSignature **out, Err *e) {
    static const char words[] = "DROP ROUTINE";
    AstStmt **stmts;
    int64_t n;
    char *copy = arena_strndup(a, text.ptr, text.len);
    if (!copy) return err_is_set(e) ? ST_ERROR : err_oom(e);
    memset(copy, ' ', (size_t)at);
    memcpy(copy, words, sizeof words - 1);
    TRY(pg_convert(a, (Slice){copy, text.len}, &stmts, &n, e));
    AstDropFunction *x = n == 1 && stmts[0]->kind == AST_DROP_FUNCTION ? AST_AS(AstDropFunction, stmts[0]) : NULL;
    if (!x || x->n_items != 1 || x->if_exists || x->cascade)
        return err_at(e, at + 1, ERR_SYNTAX, "one routine is to be named, with or without the types of its parameters");
    *out = x->items;
    return ST_OK;
}
Status sql_parse_signature(Arena *a, Slice text, AstFuncSignature **out, Err *e) {
    static const char prefix[] = "DROP ROUTINE ";
    const int64_t shift = (int64_t)sizeof prefix - 1;
    TRY(check_text(text, e));
    char *copy = arena_alloc(a, text.len + shift + 1);
    if (!copy) return err_is_set(e) ? ST_ERROR : err_oom(e);
    if (text.len > 0) memcpy(copy + shift, text.ptr, (size_t)text.len);
    return signature_at(a, (Slice){copy, text.len + shift}, shift, out, e);
}

/* EXPLAIN [VERBOSE] PROCEDURE f, which the grammar does not have: *out stays NULL for any other text. */
static Status explain_procedure(Arena *a, Slice text, AstExplain **out, Err *e) {
    int64_t at = 0;
    *out = NULL;
    Tok first = scan_next(text, &at), t = first;
    if (!scan_is_word(text, t, "explain")) return ST_OK;
    t = scan_next(text, &at);
    bool verbose = scan_is_word(text, t, "verbose");
    if (verbose) t = scan_next(text, &at);
    if (!scan_is_word(text, t, "procedure") && !scan_is_word(text, t, "function") && !scan_is_word(text, t, "routine"))
        return ST_OK;
    AstFuncSignature *routine;
    AstExplain *x = arena_new_of(a, AstExplain);
    AstOption *option = arena_new_of(a, AstOption);
    if (!x || !option) return err_oom(e);
    TRY(signature_at(a, text, scan_skip_blank(text, at), &routine, e));
    x->kind = AST_EXPLAIN;
    x->location = first.start + 1;
    x->routine = routine;
    option->name = "verbose";
    x->options = option;
    x->n_options = verbose;
    *out = x;
    return ST_OK;
}

Status sql_parse(Arena *a, Slice text, AstStmt ***stmts_out, int64_t *n_out, Err *e) {
    *stmts_out = NULL;
    *n_out = 0;
    if (text.len <= 0) text = (Slice){"", 0};
    TRY(check_text(text, e));
    AstExplain *x;
    TRY(explain_procedure(a, text, &x, e));
    if (x) {
        if (!(*stmts_out = arena_array(a, AstStmt *, 1))) return err_oom(e);
        (*stmts_out)[0] = (AstStmt *)x;
        *n_out = 1;
        return ST_OK;
    }
    return pg_convert(a, text, stmts_out, n_out, e);
}

Status sql_parse_expr(Arena *a, Slice text, AstExpr **out, Err *e) {
    static const char prefix[] = "SELECT ";
    const int64_t shift = SQL_EXPR_SHIFT;
    static_assert(sizeof prefix - 1 == SQL_EXPR_SHIFT, "parse.h says so");
    *out = NULL;
    if (text.len > SQL_TEXT_MAX - shift) return check_text(text, e);
    char *copy = arena_alloc(a, text.len + shift + 1);
    if (!copy) return err_is_set(e) ? ST_ERROR : err_oom(e);
    memcpy(copy, prefix, (size_t)shift);
    if (text.len > 0) memcpy(copy + shift, text.ptr, (size_t)text.len);
    copy[text.len + shift] = 0;

    AstStmt **stmts;
    int64_t n;
    if (sql_parse(a, (Slice){copy, text.len + shift}, &stmts, &n, e) != ST_OK) {
        e->position = e->position > shift ? e->position - shift : 0;
        return ST_ERROR;
    }
    const AstSelect *s = n == 1 && stmts[0]->kind == AST_SELECT ? AST_AS_CONST(AstSelect, stmts[0]) : NULL;
    if (!s || s->set_op != AST_SETOP_NONE || s->values || s->with || s->distinct || s->n_targets != 1 ||
        s->targets[0].alias || s->n_from || s->where || s->n_group_by || s->having || s->n_windows || s->n_order_by ||
        s->limit || s->offset || s->lock || s->targets[0].expr->kind == AST_STAR)
        return err_set(e, ERR_SYNTAX, "\"%.*s\" is not an expression", (int)MIN_OF(text.len, 200), text.ptr);
    *out = s->targets[0].expr;
    return ST_OK;
}

const char *ast_kind_name(AstKind k) {
    static const char *const names[] = {
        [AST_NONE] = "none",
        [AST_NULL_LIT] = "null",
        [AST_BOOL_LIT] = "bool",
        [AST_INT_LIT] = "int",
        [AST_NUMBER_LIT] = "number",
        [AST_STRING_LIT] = "string",
        [AST_BITS_LIT] = "bits",
        [AST_CAST] = "cast",
        [AST_PARAM] = "param",
        [AST_COLUMN] = "column",
        [AST_STAR] = "star",
        [AST_FIELD] = "field",
        [AST_SUBSCRIPT] = "subscript",
        [AST_COLLATE] = "collate",
        [AST_OP] = "op",
        [AST_AND] = "and",
        [AST_OR] = "or",
        [AST_NOT] = "not",
        [AST_IS] = "is",
        [AST_DISTINCT_FROM] = "distinct_from",
        [AST_BETWEEN] = "between",
        [AST_IN_LIST] = "in_list",
        [AST_QUANTIFIED] = "quantified",
        [AST_SUBLINK] = "sublink",
        [AST_CASE] = "case",
        [AST_COALESCE] = "coalesce",
        [AST_GREATEST] = "greatest",
        [AST_LEAST] = "least",
        [AST_NULLIF] = "nullif",
        [AST_ARRAY] = "array",
        [AST_ROW] = "row",
        [AST_GROUPING] = "grouping",
        [AST_LIKE] = "like",
        [AST_FUNC] = "func",
        [AST_SQL_VALUE] = "sql_value",
        [AST_DEFAULT] = "default",
        [AST_CURRENT_OF] = "current_of",
        [AST_FROM_TABLE] = "table",
        [AST_FROM_SUBQUERY] = "subquery",
        [AST_FROM_FUNC] = "from_func",
        [AST_FROM_JOIN] = "join",
        [AST_SELECT] = "select",
        [AST_INSERT] = "insert",
        [AST_UPDATE] = "update",
        [AST_DELETE] = "delete",
        [AST_MERGE] = "merge",
        [AST_TRUNCATE] = "truncate",
        [AST_CREATE_TABLE] = "create_table",
        [AST_CREATE_TABLE_AS] = "create_table_as",
        [AST_CREATE_VIEW] = "create_view",
        [AST_REFRESH] = "refresh",
        [AST_CREATE_INDEX] = "create_index",
        [AST_CREATE_SCHEMA] = "create_schema",
        [AST_SET_SCHEMA] = "set_schema",
        [AST_ALTER_ROUTINE] = "alter_routine",
        [AST_DROP] = "drop",
        [AST_ALTER_TABLE] = "alter_table",
        [AST_RENAME] = "rename",
        [AST_COMMENT] = "comment",
        [AST_COPY] = "copy",
        [AST_TRANSACTION] = "transaction",
        [AST_PREPARE] = "prepare",
        [AST_EXECUTE] = "execute",
        [AST_DEALLOCATE] = "deallocate",
        [AST_SET] = "set",
        [AST_SHOW] = "show",
        [AST_EXPLAIN] = "explain",
        [AST_DESCRIBE] = "describe",
        [AST_VACUUM] = "vacuum",
        [AST_REINDEX] = "reindex",
        [AST_CLUSTER] = "cluster",
        [AST_DECLARE_CURSOR] = "declare_cursor",
        [AST_FETCH] = "fetch",
        [AST_CLOSE] = "close",
        [AST_LOCK] = "lock",
        [AST_SET_CONSTRAINTS] = "set_constraints",
        [AST_CHECKPOINT] = "checkpoint",
        [AST_DISCARD] = "discard",
        [AST_CREATE_FUNCTION] = "create_function",
        [AST_DROP_FUNCTION] = "drop_function",
        [AST_CREATE_ENUM] = "create_enum",
        [AST_ALTER_ENUM] = "alter_enum",
        [AST_CREATE_COMPOSITE] = "create_composite",
        [AST_CREATE_RANGE] = "create_range",
        [AST_CREATE_DOMAIN] = "create_domain",
        [AST_ALTER_DOMAIN] = "alter_domain",
        [AST_CREATE_SEQUENCE] = "create_sequence",
        [AST_ALTER_SEQUENCE] = "alter_sequence",
        [AST_CALL] = "call",
        [AST_DO] = "do",
        [AST_ROLE] = "role",
        [AST_ROLE_SET] = "role_set",
        [AST_GRANT_ROLE] = "grant_role",
        [AST_GRANT] = "grant",
        [AST_OWNER] = "owner",
        [AST_OWNED] = "owned",
        [AST_POLICY] = "policy",
        [AST_UNSUPPORTED] = "unsupported",
    };
    static_assert(sizeof names / sizeof names[0] == AST_KIND_COUNT_, "a name for every kind");
    return (unsigned)k < AST_KIND_COUNT_ ? names[k] : "?";
}

static const char *transaction_tag(const AstTransaction *t) {
    switch (t->tx_kind) {
    case AST_TX_BEGIN: return "BEGIN";
    case AST_TX_COMMIT: return "COMMIT";
    case AST_TX_ROLLBACK:
    case AST_TX_ROLLBACK_TO: return "ROLLBACK";
    case AST_TX_SAVEPOINT: return "SAVEPOINT";
    case AST_TX_RELEASE: return "RELEASE";
    case AST_TX_PREPARE: return "PREPARE TRANSACTION";
    case AST_TX_COMMIT_PREPARED: return "COMMIT PREPARED";
    case AST_TX_ROLLBACK_PREPARED: return "ROLLBACK PREPARED";
    }
    return "TRANSACTION";
}

static const char *object_tag(AstObject o, const char *table, const char *view, const char *matview, const char *index,
                              const char *schema) {
    switch (o) {
    case AST_OBJ_VIEW: return view;
    case AST_OBJ_MATVIEW: return matview;
    case AST_OBJ_INDEX: return index;
    case AST_OBJ_SCHEMA: return schema;
    default: return table;
    }
}

static const char *drop_tag(const AstDrop *d) {
    if (d->object == AST_OBJ_SEQUENCE) return "DROP SEQUENCE";
    if (d->object == AST_OBJ_OTHER) return "DROP";
    return object_tag(d->object, "DROP TABLE", "DROP VIEW", "DROP MATERIALIZED VIEW", "DROP INDEX", "DROP SCHEMA");
}

static const char *alter_tag(AstObject o) {
    if (o == AST_OBJ_TYPE) return "ALTER TYPE";
    if (o == AST_OBJ_SEQUENCE) return "ALTER SEQUENCE";
    if (o == AST_OBJ_ROLE) return "ALTER ROLE";
    return object_tag(o, "ALTER TABLE", "ALTER VIEW", "ALTER MATERIALIZED VIEW", "ALTER INDEX", "ALTER SCHEMA");
}

static const char *owner_tag(const AstOwner *x) {
    if (x->object == AST_OBJ_DATABASE) return "ALTER DATABASE";
    if (x->object == AST_OBJ_DOMAIN) return "ALTER DOMAIN";
    if (x->object != AST_OBJ_ROUTINE) return alter_tag(x->object);
    return x->what == 'f'   ? "ALTER FUNCTION"
           : x->what == 'p' ? "ALTER PROCEDURE"
           : x->what == 'a' ? "ALTER AGGREGATE"
                            : "ALTER ROUTINE";
}

const char *ast_stmt_tag(const AstStmt *s) {
    switch (s->kind) {
    case AST_SELECT: return "SELECT";
    case AST_INSERT: return "INSERT";
    case AST_UPDATE: return "UPDATE";
    case AST_DELETE: return "DELETE";
    case AST_MERGE: return "MERGE";
    case AST_TRUNCATE: return "TRUNCATE TABLE";
    case AST_CREATE_TABLE: return "CREATE TABLE";
    case AST_CREATE_TABLE_AS:
        return AST_AS_CONST(AstCreateTableAs, s)->materialized_view ? "CREATE MATERIALIZED VIEW" : "CREATE TABLE AS";
    case AST_CREATE_VIEW: return "CREATE VIEW";
    case AST_REFRESH: return "REFRESH MATERIALIZED VIEW";
    case AST_CREATE_INDEX: return "CREATE INDEX";
    case AST_CREATE_SCHEMA: return "CREATE SCHEMA";
    case AST_ALTER_ROUTINE: {
        const char what = AST_AS_CONST(AstAlterRoutine, s)->what;
        return what == 'f'   ? "ALTER FUNCTION"
               : what == 'p' ? "ALTER PROCEDURE"
               : what == 'a' ? "ALTER AGGREGATE"
                             : "ALTER ROUTINE";
    }
    case AST_SET_SCHEMA: return alter_tag(AST_AS_CONST(AstSetSchema, s)->object);
    case AST_DROP: return drop_tag(AST_AS_CONST(AstDrop, s));
    case AST_ALTER_TABLE: return alter_tag(AST_AS_CONST(AstAlterTable, s)->object);
    case AST_RENAME: {
        const AstRename *r = AST_AS_CONST(AstRename, s);
        return alter_tag(r->object == AST_OBJ_COLUMN ? r->relation : r->object);
    }
    case AST_COMMENT: return "COMMENT";
    case AST_COPY: return "COPY";
    case AST_TRANSACTION: return transaction_tag(AST_AS_CONST(AstTransaction, s));
    case AST_PREPARE: return "PREPARE";
    case AST_EXECUTE: return "EXECUTE";
    case AST_DEALLOCATE: return AST_AS_CONST(AstDeallocate, s)->name ? "DEALLOCATE" : "DEALLOCATE ALL";
    case AST_SET: return AST_AS_CONST(AstSet, s)->is_reset ? "RESET" : "SET";
    case AST_SHOW: return "SHOW";
    case AST_EXPLAIN: return "EXPLAIN";
    case AST_DESCRIBE: return AST_AS_CONST(AstDescribe, s)->summarize ? "SUMMARIZE" : "DESCRIBE";
    case AST_VACUUM: return AST_AS_CONST(AstVacuum, s)->is_vacuum ? "VACUUM" : "ANALYZE";
    case AST_REINDEX: return "REINDEX";
    case AST_CLUSTER: return "CLUSTER";
    case AST_DECLARE_CURSOR: return "DECLARE CURSOR";
    case AST_FETCH: return AST_AS_CONST(AstFetch, s)->move ? "MOVE" : "FETCH";
    case AST_CLOSE: return AST_AS_CONST(AstClose, s)->name ? "CLOSE CURSOR" : "CLOSE CURSOR ALL";
    case AST_LOCK: return "LOCK TABLE";
    case AST_SET_CONSTRAINTS: return "SET CONSTRAINTS";
    case AST_CHECKPOINT: return "CHECKPOINT";
    case AST_DISCARD:
        return AST_AS_CONST(AstDiscard, s)->sequences ? "DISCARD SEQUENCES"
               : AST_AS_CONST(AstDiscard, s)->plans   ? "DISCARD PLANS"
                                                      : "DISCARD ALL";
    case AST_CREATE_FUNCTION:
        return AST_AS_CONST(AstCreateFunction, s)->aggregate      ? "CREATE AGGREGATE"
               : AST_AS_CONST(AstCreateFunction, s)->is_procedure ? "CREATE PROCEDURE"
                                                                  : "CREATE FUNCTION";
    case AST_CREATE_COMPOSITE:
    case AST_CREATE_RANGE:
    case AST_CREATE_ENUM: return "CREATE TYPE";
    case AST_ALTER_ENUM: return "ALTER TYPE";
    case AST_CREATE_DOMAIN: return "CREATE DOMAIN";
    case AST_ALTER_DOMAIN: return "ALTER DOMAIN";
    case AST_CREATE_SEQUENCE: return "CREATE SEQUENCE";
    case AST_ALTER_SEQUENCE: return "ALTER SEQUENCE";
    case AST_DROP_FUNCTION: {
        char what = AST_AS_CONST(AstDropFunction, s)->what;
        return what == 'f'   ? "DROP FUNCTION"
               : what == 'p' ? "DROP PROCEDURE"
               : what == 'a' ? "DROP AGGREGATE"
                             : "DROP ROUTINE";
    }
    case AST_CALL: return "CALL";
    case AST_DO: return "DO";
    case AST_ROLE: {
        const char action = AST_AS_CONST(AstRole, s)->action;
        return action == 'c' ? "CREATE ROLE" : action == 'd' ? "DROP ROLE" : "ALTER ROLE";
    }
    case AST_ROLE_SET: return AST_AS_CONST(AstRoleSet, s)->is_database ? "ALTER DATABASE" : "ALTER ROLE";
    case AST_GRANT_ROLE: return AST_AS_CONST(AstGrantRole, s)->grantees.is_grant ? "GRANT ROLE" : "REVOKE ROLE";
    case AST_GRANT:
        if (AST_AS_CONST(AstGrant, s)->target == 'd') return "ALTER DEFAULT PRIVILEGES";
        return AST_AS_CONST(AstGrant, s)->grantees.is_grant ? "GRANT" : "REVOKE";
    case AST_OWNER: return owner_tag(AST_AS_CONST(AstOwner, s));
    case AST_OWNED: return AST_AS_CONST(AstOwned, s)->drop ? "DROP OWNED" : "REASSIGN OWNED";
    case AST_POLICY: {
        const char action = AST_AS_CONST(AstPolicy, s)->action;
        return action == 'c'                    ? "CREATE POLICY"
               : action == 'd'                  ? "DROP POLICY"
               : action == 'a' || action == 'r' ? "ALTER POLICY"
                                                : "ALTER TABLE";
    }
    case AST_UNSUPPORTED: return AST_AS_CONST(AstUnsupported, s)->what;
    default: return "???";
    }
}

bool sql_with_changes(const AstWith *w) {
    for (int64_t i = 0; w && i < w->n_ctes; i++)
        if (w->ctes[i].query->kind != AST_SELECT) return true;
    return false;
}
bool sql_is_change(const AstStmt *s) {
    return s->kind == AST_INSERT || s->kind == AST_UPDATE || s->kind == AST_DELETE || s->kind == AST_MERGE;
}
bool sql_is_planned(const AstStmt *s) { return s->kind == AST_SELECT || sql_is_change(s); }
bool sql_changes_data(const AstStmt *s) {
    if (s->kind == AST_SELECT) return sql_with_changes(AST_AS_CONST(AstSelect, s)->with);
    return sql_is_change(s);
}

int64_t sql_column_end(Slice text, int64_t at) {
    Tok t = scan_next(text, &at);
    for (int64_t end = t.end;;) {
        Tok dot = scan_next(text, &at);
        if (dot.kind != TOK_PUNCT || text.ptr[dot.start] != '.') return end;
        end = scan_next(text, &at).end;
    }
}

int64_t sql_string_end(Slice text, int64_t at) {
    Tok t = scan_next(text, &at);
    if (scan_is_word(text, t, "u")) {
        t = scan_next(text, &at);
        if (t.kind != TOK_OP || text.ptr[t.start] != '&') return -1;
        t = scan_next(text, &at);
    }
    if (t.kind != TOK_STRING) return -1;
    for (int64_t end = t.end;; end = t.end) {
        t = scan_next(text, &at);
        if (scan_is_word(text, t, "uescape")) t = scan_next(text, &at);
        if (t.kind != TOK_STRING) return end;
    }
}
