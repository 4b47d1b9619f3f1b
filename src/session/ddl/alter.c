/* alter.c - ALTER TABLE and RENAME: a table gets another definition by being built anew under it. */
#include <stdlib.h>

#include "catalog/similar_names.h"
#include "session/core/constraints.h"
#include "session/ddl/access.h"
#include "session/ddl/comments.h"
#include "session/ddl/definition.h"
#include "session/ddl/depend.h"
#include "session/ddl/index_program.h"
#include "session/core/session.h"
#include "session/ddl/stored_text.h"
#include "session/ddl/utility_int.h"
#include "sql/bind/bind.h"
#include "sql/parse/parse.h"

/* Result column `col` becomes e. */
static Status replace_result(PlanCtx *c, BoundStmt *b, int col, const ColumnDef *def, Expr *e) {
    Plan *p = plan_new(c, LP_PROJECT, 1);
    ColId to = plan_new_col(c, def->name, def->type, true);
    if (!p || !to) return ST_ERROR;
    p->children[0] = b->plan;
    p->n_out = p->n_exprs = b->n_result;
    p->out_cols = arena_array(c->arena, ColId, b->n_result);
    p->exprs = arena_array(c->arena, Expr *, b->n_result);
    ColId *result = arena_array(c->arena, ColId, b->n_result);
    if (!p->out_cols || !p->exprs || !result) return ST_ERROR;
    for (int32_t i = 0; i < b->n_result; i++) {
        p->out_cols[i] = result[i] = i == col ? to : b->result[i];
        p->exprs[i] = i == col ? e : expr_col(c, b->result[i]);
        if (!p->exprs[i]) return ST_ERROR;
    }
    b->plan = p;
    b->result = result;
    return ST_OK;
}
/* ... cast as an assignment does, or with its rows under the new definition of their type. */
static Status assign_result(Session *s, PlanCtx *c, BoundStmt *b, int col, const ColumnDef *def,
                            const RowChange *rows) {
    ColId from = b->result[col];
    Type old = c->cols.items[from].type;
    if (rows && type_eq(row_change_type(rows, old), def->type)) {
        Expr *row = expr_new(c, EX_FUNC, def->type, 1);
        if (!row || !(row->args[0] = expr_col(c, from)) || !(row->u.func = row_change_func(c->arena, rows)))
            return ST_ERROR;
        return replace_result(c, b, col, def, row);
    }
    if (!cast_exists(old, def->type, CAST_ASSIGNMENT)) {
        char tn[TYPE_NAME_MAX];
        return err_set(&s->err, ERR_DATATYPE_MISMATCH, "column \"%s\" cannot be cast automatically to type %s",
                       def->name, type_name(def->type, &tn));
    }
    Expr *value = expr_col(c, from), *e = value && type_eq(old, def->type) ? value : expr_new(c, EX_CAST, def->type, 1);
    if (!e || !value) return ST_ERROR;
    if (e != value) {
        e->args[0] = value;
        e->cast_ctx = CAST_ASSIGNMENT;
    }
    TRY(sql_bind_domain(c, def->domain, &e));
    return replace_result(c, b, col, def, e);
}
/* ... the column's default, assigned to it as INSERT would. */
static Status default_result(Session *s, PlanCtx *c, BoundStmt *b, int col, const ColumnDef *def) {
    AstExpr *ast;
    Expr *e;
    const Domain *d = catalog_domain_by_id(c->catalog, def->domain);
    const char *sql = def->default_sql ? def->default_sql : d && d->default_sql ? d->default_sql : "null";
    TRY(sql_parse_expr(c->arena, slice_of(sql), &ast, &s->err));
    c->of_catalog = true;
    TRY(sql_bind_scalar(c, ast, def->type, &e));
    c->of_catalog = false;
    TRY(sql_bind_domain(c, def->domain, &e));
    return replace_result(c, b, col, def, e);
}

Status draft_table(Session *s, const TableDraft *d, const char *name, Table **out) {
    Table *t;
    TRY(table_new(&s->db->parts[DB_TABLES], name, d->n_cols, d->cols, d->n_keys, d->keys, d->n_checks, d->checks, &t,
                  &s->err));
    if (table_add_exprs(t, d->n_exprs, d->exprs, &s->err) != ST_OK ||
        index_programs(&s->db->catalog, t, &s->err) != ST_OK) {
        table_free(t);
        return ST_ERROR;
    }
    t->unlogged = d->unlogged;
    *out = t;
    return ST_OK;
}

static bool becomes_other(const ColInfo *from, const ColumnDef *to) {
    return !type_eq(from->type, to->type) || (to->domain && from->domain != to->domain);
}
/* Rebuilds a table under a new definition from the rows of `select_sql`, then swaps it in. Columns that are still of
 * another type are cast: ALTER TYPE has changed it, or a key that comes (draft_key_column). new_col >= 0: that column
 * is new, and NULL in these rows: its default takes its place. */
static Status rebuild(Session *s, Statement *st, Table *old, const TableDraft *d, const char *new_name,
                      const char *select_sql, int new_col) {
    Arena *a = st->run_arena;
    Table *t;
    PlanCtx c;
    plan_ctx_init(s, a, &c);
    TRY(constraints_none_wait(s, old, "ALTER TABLE")); /* what waits has row numbers */
    c.views.definition = true;                         /* a materialized view without rows has a new definition, too */
    AstStmt **list;
    int64_t n;
    BoundStmt *b;
    TRY(sql_parse(a, slice_of(select_sql), &list, &n, &s->err));
    TRY(sql_bind(&c, list[0], 0, NULL, &b));
    for (int i = 0; i < d->n_cols; i++)
        if (i != new_col && becomes_other(&c.cols.items[b->result[i]], &d->cols[i]))
            TRY(assign_result(s, &c, b, i, &d->cols[i], d->rows));
    if (new_col >= 0 && (d->cols[new_col].default_sql || d->cols[new_col].domain))
        TRY(default_result(s, &c, b, new_col, &d->cols[new_col]));
    RunOutput r;
    TRY(session_run_plan(s, &c, b, b->n_result, b->result, &st->account, &r));
    if (draft_table(s, d, new_name, &t) != ST_OK) {
        query_free(r.query);
        return ST_ERROR;
    }
    t->expected_rows = old->expected_rows;
    t->on_commit = old->on_commit;
    t->takes_over = true;
    int64_t rows = 0;
    UndoLog *undo = s->undo;
    s->undo = NULL; /* the new table is undone as a whole */
    Status out = fill_table(s, t, &r, a, &rows);
    if (out == ST_OK) out = table_check_deferrable(t, &s->err);
    t->takes_over = false;
    s->undo = undo;
    query_free(r.query);
    if (out == ST_OK) out = session_drop_table(s, old);
    if (out == ST_OK) out = session_add_table(s, t);
    if (out != ST_OK && catalog_table(&s->db->catalog, slice_of(t->name)) != t) table_free(t);
    return out == ST_OK ? try_bind(s, a, t) : out;
}

/* "select a, b, <extra> from t": columns of t except `skip`. */
static char *select_columns(Arena *a, const Table *t, int skip, const char *extra) {
    char *sql = arena_strdup(a, "select ");
    bool any = false;
    for (int i = 0; sql && i < t->n_cols; i++) {
        if (i == skip) continue;
        sql = arena_printf(a, "%s%s%s", sql, any ? ", " : "", quote_name(a, t->cols[i].name));
        any = true;
    }
    if (sql && extra) sql = arena_printf(a, "%s%s%s", sql, any ? ", " : "", extra);
    return sql ? arena_printf(a, "%s from %s", sql, quote_relation(a, t->name)) : NULL;
}

Status rebuild_ordered(Session *s, Statement *st, Table *t, const TableDraft *d, const char *order) {
    char *sql = select_columns(st->run_arena, t, -1, NULL);
    if (sql) sql = arena_printf(st->run_arena, "%s%s", sql, order);
    return sql ? rebuild(s, st, t, d, t->name, sql, -1) : err_oom(&s->err);
}
Status rebuild_as(Session *s, Statement *st, Table *t, const TableDraft *d) { return rebuild_ordered(s, st, t, d, ""); }

/* The columns of t with an expression in the place of one. */
static char *select_using(Arena *a, const Table *t, int col, Slice expr) {
    char *sql = arena_strdup(a, "select ");
    for (int i = 0; sql && i < t->n_cols; i++)
        sql = i == col ? arena_printf(a, "%s%s(%.*s\n)", sql, i ? ", " : "", (int)expr.len, expr.ptr)
                       : arena_printf(a, "%s%s%s", sql, i ? ", " : "", quote_name(a, t->cols[i].name));
    return sql ? arena_printf(a, "%s from %s", sql, quote_relation(a, t->name)) : NULL;
}

/* Whether a CHECK names the column: it does not bind without it. */
static bool check_uses(Session *s, Arena *a, const Table *t, const char *check, int column) {
    PlanCtx c;
    BoundStmt *b;
    char *rest = select_columns(a, t, column, NULL);
    return !rest || !try_query(s, a,
                               arena_printf(a, "select 1 from (%s) as %s where (%s)", rest,
                                            quote_name(a, name_of_key(t->name)), check),
                               &c, &b);
}

Status count_rows(Session *s, Statement *st, const char *sql, int64_t *rows) {
    PlanCtx c;
    plan_ctx_init(s, st->run_arena, &c);
    AstStmt **list;
    int64_t n;
    BoundStmt *b;
    RunOutput r;
    c.of_catalog = true;
    TRY(sql_parse(st->run_arena, slice_of(sql), &list, &n, &s->err));
    TRY(sql_bind(&c, list[0], 0, NULL, &b));
    TRY(session_run_plan(s, &c, b, b->n_result, b->result, &st->account, &r));
    *rows = rows_count(r.rows);
    query_free(r.query);
    return ST_OK;
}
/* Existing rows must pass a new CHECK. */
static Status check_rows(Session *s, Statement *st, const char *table, const CheckDef *check) {
    Arena *a = st->run_arena;
    int64_t bad;
    char *q = arena_printf(a, "select 1 from %s where not (%s) limit 1", quote_relation(a, table), check->sql);
    if (!q) return ST_ERROR;
    TRY(count_rows(s, st, q, &bad));
    if (!bad) return ST_OK;
    err_set(&s->err, ERR_CHECK_VIOLATION, "check constraint \"%s\" of relation \"%s\" is violated by some row",
            check->name, table);
    err_of_constraint(&s->err, table, check->name);
    return ST_ERROR;
}

/* A column that a view reads keeps its type. */
static Status no_view_reads(Session *s, Arena *a, const Table *t, int col) {
    for (int64_t i = 0; i < s->db->catalog.n_views; i++) {
        const View *v = s->db->catalog.views[i];
        bool uses = view_uses_column(s, a, v, t, col);
        if (err_is_set(&s->err)) return ST_ERROR;
        if (!uses) continue;
        err_set(&s->err, ERR_FEATURE_NOT_SUPPORTED, "cannot alter type of a column used by a view or rule");
        err_detail(&s->err, "rule _RETURN on view %s depends on column \"%s\"", v->name, t->cols[col].name);
        return ST_ERROR;
    }
    return ST_OK;
}

/* What depends on a column or key of the table goes, or refuses. */
static Status drop_dependents_of_column(Session *s, Statement *st, const Table *t, int col, bool cascade) {
    Dependents d;
    dependents_init(&d, s, st);
    TRY(dependents_of_column(&d, t, col));
    return dependents_drop(
        &d, arena_printf(d.a, "column %s of %s", t->cols[col].name, dependents_called(&d, "table", t->name)), cascade);
}
static Status drop_dependents_of_key(Session *s, Statement *st, const Table *t, int key, bool cascade) {
    Dependents d;
    dependents_init(&d, s, st);
    TRY(dependents_of_key(&d, t, key));
    return dependents_drop(&d,
                           arena_printf(d.a, "constraint %s on %s", name_of_key(t->keys[key].name),
                                        dependents_called(&d, "table", t->name)),
                           cascade);
}

/* Rows that were there when a constraint came with NOT VALID pass it now, or the statement fails. */
static Status validate_constraint(Session *s, Statement *st, const Table *t, const AstAlterCmd *k) {
    bool found;
    for (int i = 0; i < t->n_checks; i++)
        if (strcmp(t->checks[i].name, k->name) == 0)
            return check_rows(s, st, t->name, &(CheckDef){t->checks[i].name, t->checks[i].sql});
    TRY(foreign_validate(s, st, t, k->name, &found));
    if (found) return ST_OK;
    for (int i = 0; i < t->n_keys; i++)
        if (!t->keys[i].is_index && key_is_named(t->keys[i].name, k->name))
            return err_at(&s->err, k->location, ERR_WRONG_OBJECT_TYPE,
                          "constraint \"%s\" of relation \"%s\" is not a foreign key or check constraint", k->name,
                          t->name);
    return err_at(&s->err, k->location, ERR_UNDEFINED_OBJECT, "constraint \"%s\" of relation \"%s\" does not exist",
                  k->name, t->name);
}

static Status alter_constraint(Session *s, const Table *t, const AstAlterCmd *k) {
    bool found, other = false;
    TRY(foreign_alter(s, t, k->name, k->constraint->deferrable, k->constraint->deferred, &found));
    if (found) return ST_OK;
    for (int i = 0; i < t->n_checks; i++) other |= strcmp(t->checks[i].name, k->name) == 0;
    for (int i = 0; i < t->n_keys; i++) other |= !t->keys[i].is_index && key_is_named(t->keys[i].name, k->name);
    if (other)
        return err_at(&s->err, k->location, ERR_WRONG_OBJECT_TYPE,
                      "constraint \"%s\" of relation \"%s\" is not a foreign key constraint", k->name, t->name);
    return err_at(&s->err, k->location, ERR_UNDEFINED_OBJECT, "constraint \"%s\" of relation \"%s\" does not exist",
                  k->name, t->name);
}

/* One command of ALTER TABLE while it is carried out. */
typedef struct Alter {
    Session *s;
    Statement *st;
    Arena *a;
    Table *t;
    const AstAlterCmd *k;
    TableDraft d; /* the definition that the table gets */
    int col;      /* the column that the command names, -1: none */
    int new_col;  /* as rebuild() takes it */
    char *sql;    /* the rows that the table gets; NULL: those that it has */
    bool done;    /* the table needs not be built anew */
} Alter;

/* Commands that name no existing column. */
static bool names_column(AstAlterKind kind) {
    switch (kind) {
    case AST_ALTER_ADD_COLUMN:
    case AST_ALTER_ADD_CONSTRAINT:
    case AST_ALTER_DROP_CONSTRAINT:
    case AST_ALTER_VALIDATE_CONSTRAINT:
    case AST_ALTER_CONSTRAINT:
    case AST_ALTER_SET_OPTIONS:
    case AST_ALTER_RESET_OPTIONS:
    case AST_ALTER_CLUSTER_ON:
    case AST_ALTER_DROP_CLUSTER:
    case AST_ALTER_SET_LOGGED:
    case AST_ALTER_SET_UNLOGGED:
    case AST_ALTER_OWNER:
    case AST_ALTER_SET_STATISTICS:
    case AST_ALTER_OTHER: return false;
    default: return true;
    }
}

static void remove_check(TableDraft *d, int i) {
    memmove(&d->checks[i], &d->checks[i + 1], sizeof(CheckDef) * (size_t)(d->n_checks - i - 1));
    d->n_checks--;
}
static bool key_has_column(const KeyDef *k, int col) {
    for (int j = 0; j < k->n_cols; j++)
        if (k->cols[j] == col) return true;
    return false;
}

static Status alter_add_column(Alter *x) {
    Session *s = x->s;
    const AstColumnDef *c = x->k->column;
    TableDraft *d = &x->d;
    const Table *t = x->t;
    if (draft_column(d, c->name) >= 0) {
        if (x->k->if_exists) return x->done = true, ST_OK;
        return err_at(&s->err, x->k->location, ERR_DUPLICATE_COLUMN, "column \"%s\" of relation \"%s\" already exists",
                      c->name, t->name);
    }
    TRY(column_name_free(s, c->name, x->k->location));
    Type ty;
    int64_t domain;
    char tn[TYPE_NAME_MAX];
    TRY(check_column_constraints(s, t->name, c));
    TRY(new_column_type(s, c, &ty, &domain));
    d->cols[d->n_cols++] = (ColumnDef){.name = c->name, .type = ty, .domain = domain};
    KeyDef *keys = arena_array(x->a, KeyDef, t->n_keys + c->n_constraints + 1);
    CheckDef *checks = arena_array(x->a, CheckDef, t->n_checks + c->n_constraints + 1);
    if (!keys || !checks) return ST_ERROR;
    if (d->n_keys) memcpy(keys, d->keys, sizeof *keys * (size_t)d->n_keys);
    if (d->n_checks) memcpy(checks, d->checks, sizeof *checks * (size_t)d->n_checks);
    d->keys = keys;
    d->checks = checks;
    TRY(add_sequence(s, x->a, d, t->name, c, d->n_cols - 1));
    for (int64_t i = 0; i < c->n_constraints; i++)
        TRY(add_constraint(s, x->a, d, t->name, &c->constraints[i], d->n_cols - 1));
    if (d->cols[d->n_cols - 1].kind == COLUMN_GENERATED) {
        x->sql = select_columns(x->a, t, -1, arena_printf(x->a, "(%s\n)", d->cols[d->n_cols - 1].default_sql));
        return ST_OK;
    }
    x->new_col = d->n_cols - 1;
    x->sql = select_columns(x->a, t, -1, arena_printf(x->a, "null::%s", type_full_name(ty, &tn)));
    return ST_OK;
}

/* Keys and CHECKs go with a column that is in them, as in PostgreSQL. */
static Status alter_drop_column(Alter *x) {
    TableDraft *d = &x->d;
    int col = x->col;
    TRY(drop_dependents_of_column(x->s, x->st, x->t, col, x->k->cascade));
    TRY(foreign_drop_column(x->s, x->t, x->k->name));
    TRY(sequences_drop_of(x->s, x->t->name, x->k->name));
    TRY(views_drop_column(x->s, x->a, x->t->name, x->k->name));
    TRY(index_defs_drop_column(x->s, x->a, x->t, col, d));
    for (int i = d->n_keys - 1; i >= 0; i--)
        if (key_has_column(&d->keys[i], col)) draft_remove_index(d, i);
    for (int i = 0; i < d->n_keys; i++) {
        int *c = arena_array(x->a, int, d->keys[i].n_cols);
        if (!c) return ST_ERROR;
        for (int j = 0; j < d->keys[i].n_cols; j++) c[j] = d->keys[i].cols[j] - (d->keys[i].cols[j] > col);
        d->keys[i].cols = c;
    }
    for (int i = d->n_exprs - 1; i >= 0; i--)
        if (table_index_reads(x->t, x->t->n_keys + i, col)) draft_remove_index(d, d->n_keys + i);
    for (int i = d->n_checks - 1; i >= 0; i--)
        if (check_uses(x->s, x->a, x->t, d->checks[i].sql, col)) remove_check(d, i);
    x->sql = select_columns(x->a, x->t, col, NULL);
    memmove(&d->cols[col], &d->cols[col + 1], sizeof(ColumnDef) * (size_t)(d->n_cols - col - 1));
    d->n_cols--;
    return ST_OK;
}

/* ---- identity columns ---- */

static Status refuse_column(const Alter *x, const char *code, const char *is) {
    return err_set(&x->s->err, code, "column \"%s\" of relation \"%s\" %s", x->k->name, x->t->name, is);
}
static Status alter_add_identity(Alter *x) {
    ColumnDef *c = &x->d.cols[x->col];
    TRY(check_identity_type(x->s, c));
    if (!c->not_null)
        return refuse_column(x, ERR_NOT_IN_STATE, "must be declared NOT NULL before identity can be added");
    if (column_is_identity(c->kind)) return refuse_column(x, ERR_NOT_IN_STATE, "is already an identity column");
    if (c->default_sql) return refuse_column(x, ERR_NOT_IN_STATE, "already has a default value");
    return sequence_of_column(x->s, x->a, &x->d, x->t->name, x->col, x->k->constraint);
}
static Status alter_set_identity(Alter *x) {
    ColumnDef *c = &x->d.cols[x->col];
    if (!column_is_identity(c->kind)) return refuse_column(x, ERR_NOT_IN_STATE, "is not an identity column");
    for (int64_t i = 0; i < x->k->n_sequence; i++)
        if (x->k->sequence[i].kind == AST_SEQ_GENERATED)
            c->kind = x->k->sequence[i].on ? COLUMN_ALWAYS : COLUMN_BY_DEFAULT;
    Sequence *q = catalog_sequence_of(&x->s->db->catalog, x->t->name, c->name);
    if (!q) return err_internal(&x->s->err, "the identity column \"%s\" has no sequence", c->name);
    return sequence_alter_options(x->s, x->a, q, x->k->n_sequence, x->k->sequence);
}
static Status alter_drop_identity(Alter *x) {
    ColumnDef *c = &x->d.cols[x->col];
    if (!column_is_identity(c->kind)) {
        if (!x->k->if_exists) return refuse_column(x, ERR_NOT_IN_STATE, "is not an identity column");
        session_notice_text(x->s, "NOTICE", "00000",
                            "column \"%s\" of relation \"%s\" is not an identity column, skipping", c->name,
                            x->t->name);
        return x->done = true, ST_OK;
    }
    Sequence *q = catalog_sequence_of(&x->s->db->catalog, x->t->name, c->name);
    if (q) TRY(session_drop_sequence(x->s, q));
    c->kind = COLUMN_PLAIN;
    c->default_sql = NULL;
    return ST_OK;
}
static Status alter_drop_expression(Alter *x) {
    ColumnDef *c = &x->d.cols[x->col];
    if (c->kind != COLUMN_GENERATED) {
        if (!x->k->if_exists) return refuse_column(x, ERR_NOT_IN_STATE, "is not a stored generated column");
        session_notice_text(x->s, "NOTICE", "00000",
                            "column \"%s\" of relation \"%s\" is not a stored generated column, skipping", c->name,
                            x->t->name);
        return x->done = true, ST_OK;
    }
    c->kind = COLUMN_PLAIN;
    c->default_sql = NULL;
    return ST_OK;
}
static Status alter_default(Alter *x) {
    ColumnDef *c = &x->d.cols[x->col];
    const bool drops = x->k->kind == AST_ALTER_DROP_DEFAULT;
    if (c->kind != COLUMN_PLAIN) {
        const bool identity = column_is_identity(c->kind);
        refuse_column(x, ERR_SYNTAX, identity ? "is an identity column" : "is a generated column");
        if (drops)
            err_hint(&x->s->err, "Use ALTER TABLE ... ALTER COLUMN ... DROP %s instead.",
                     identity ? "IDENTITY" : "EXPRESSION");
        return ST_ERROR;
    }
    if (drops) return c->default_sql = NULL, ST_OK;
    return column_default(x->s, x->a, x->k->expr, x->k->expr_source, c);
}

static Status alter_drop_not_null(Alter *x) {
    const TableDraft *d = &x->d;
    if (column_is_identity(d->cols[x->col].kind)) return refuse_column(x, ERR_SYNTAX, "is an identity column");
    for (int i = 0; i < d->n_keys; i++)
        if (d->keys[i].primary && key_has_column(&d->keys[i], x->col))
            return err_set(&x->s->err, ERR_INVALID_TABLE_DEFINITION, "column \"%s\" is in a primary key", x->k->name);
    d->cols[x->col].not_null = false;
    return ST_OK;
}

static Status alter_add_constraint(Alter *x) {
    const AstConstraint *c = x->k->constraint;
    if (c->kind != AST_CON_FOREIGN_KEY) return add_constraint(x->s, x->a, &x->d, x->t->name, c, -1);
    x->done = true;
    return foreign_define(x->s, x->st, x->t, c, NULL);
}

static Status alter_drop_constraint(Alter *x) {
    const AstAlterCmd *k = x->k;
    TableDraft *d = &x->d;
    TRY(foreign_drop_constraint(x->s, x->t, k->name, &x->done));
    if (x->done) return ST_OK;
    bool found = false;
    for (int i = 0; i < x->t->n_keys; i++)
        if (!x->t->keys[i].is_index && key_is_named(x->t->keys[i].name, k->name))
            TRY(drop_dependents_of_key(x->s, x->st, x->t, i, k->cascade));
    for (int i = d->n_keys - 1; i >= 0; i--)
        if (!d->keys[i].is_index && key_is_named(d->keys[i].name, k->name)) {
            draft_remove_index(d, i);
            found = true;
        }
    for (int i = d->n_checks - 1; i >= 0; i--)
        if (strcmp(d->checks[i].name, k->name) == 0) {
            remove_check(d, i);
            found = true;
        }
    if (found || k->if_exists) return ST_OK;
    return err_at(&x->s->err, k->location, ERR_UNDEFINED_OBJECT, "constraint \"%s\" of relation \"%s\" does not exist",
                  k->name, x->t->name);
}

/* The sequence of an identity column has its type. */
static Status identity_type(Alter *x) {
    const AstSequenceOption as = {.kind = AST_SEQ_AS, .type = x->k->column->type};
    Sequence *q = catalog_sequence_of(&x->s->db->catalog, x->t->name, x->k->name);
    return q ? sequence_alter_options(x->s, x->a, q, 1, &as) : ST_OK;
}
/* Columns that generated ones are computed from keep their type; these are not computed by USING. */
static Status no_generated_uses(Alter *x) {
    const Table *t = x->t;
    if (t->cols[x->col].kind == COLUMN_GENERATED && x->k->expr) {
        err_set(&x->s->err, ERR_FEATURE_NOT_SUPPORTED, "cannot specify USING when altering type of generated column");
        err_detail(&x->s->err, "Column \"%s\" is a generated column.", t->cols[x->col].name);
        return ST_ERROR;
    }
    for (int i = 0; i < t->n_cols; i++) {
        if (t->cols[i].kind != COLUMN_GENERATED || i == x->col ||
            !text_uses_column(x->s, x->a, t, t->cols[i].default_sql, x->col))
            continue;
        err_set(&x->s->err, ERR_FEATURE_NOT_SUPPORTED, "cannot alter type of a column used by a generated column");
        err_detail(&x->s->err, "Column \"%s\" is used by generated column \"%s\".", t->cols[x->col].name,
                   t->cols[i].name);
        return ST_ERROR;
    }
    return ST_OK;
}
static Status alter_type(Alter *x) {
    TRY(no_view_reads(x->s, x->a, x->t, x->col));
    TRY(no_generated_uses(x));
    ColumnDef *col = &x->d.cols[x->col];
    TRY(column_type(x->s, x->k->column, &col->type, &col->domain));
    if (column_is_identity(col->kind)) TRY(identity_type(x));
    for (int k = 0; k < x->d.n_keys; k++)
        for (int i = 0; i < x->d.keys[k].n_cols; i++)
            if (x->d.keys[k].cols[i] == x->col) {
                TRY(check_key_type(x->s, x->d.cols[x->col].type, x->k->location));
                draft_key_column(&x->d, x->col);
            }
    if (x->k->expr) x->sql = select_using(x->a, x->t, x->col, x->k->expr_source);
    return ST_OK;
}

static Status alter_options(Alter *x) {
    const AstAlterCmd *k = x->k;
    int64_t rows = x->t->expected_rows;
    TRY(k->kind == AST_ALTER_SET_OPTIONS ? storage_options_read(k->n_options, k->options, false, &rows, &x->s->err)
                                         : storage_options_reset(k->n_options, k->options, &rows, &x->s->err));
    x->done = true;
    return rows == x->t->expected_rows ? ST_OK : session_expect_rows(x->s, x->t, rows);
}

/* SET LOGGED, SET UNLOGGED: also of its sequences. A table that is kept refers to kept ones only. */
static Status alter_logged(Alter *x, bool unlogged) {
    Session *s = x->s;
    const Catalog *k = &s->db->catalog;
    const char *name = x->t->name;
    if (key_is_temporary(name))
        return err_set(&s->err, ERR_INVALID_TABLE_DEFINITION,
                       "cannot change logged status of table \"%s\" because it is temporary", name);
    x->done = x->t->unlogged == unlogged;
    for (int64_t i = 0; i < k->n_foreign && !x->done; i++) {
        const ForeignKey *f = k->foreign[i];
        if (strcmp(unlogged ? f->ref_table : f->table, name) != 0) continue;
        const Table *other = catalog_table(k, slice_of(unlogged ? f->table : f->ref_table));
        if (other == x->t || other->unlogged == unlogged) continue;
        return err_set(&s->err, ERR_INVALID_TABLE_DEFINITION,
                       "could not change table \"%s\" to %s because it references %s table \"%s\"", name,
                       unlogged ? "unlogged" : "logged", unlogged ? "logged" : "unlogged", other->name);
    }
    x->d.unlogged = unlogged;
    return x->done ? ST_OK : sequences_set_unlogged(s, name, unlogged);
}

/* Changes the draft as the command says, or does all of it (`done`). */
static Status alter_draft(Alter *x) {
    const AstAlterCmd *k = x->k;
    switch (k->kind) {
    case AST_ALTER_ADD_COLUMN: return alter_add_column(x);
    case AST_ALTER_DROP_COLUMN: return alter_drop_column(x);
    case AST_ALTER_SET_NOT_NULL: x->d.cols[x->col].not_null = true; return ST_OK;
    case AST_ALTER_DROP_NOT_NULL: return alter_drop_not_null(x);
    case AST_ALTER_SET_DEFAULT:
    case AST_ALTER_DROP_DEFAULT: return alter_default(x);
    case AST_ALTER_ADD_IDENTITY: return alter_add_identity(x);
    case AST_ALTER_SET_IDENTITY: return alter_set_identity(x);
    case AST_ALTER_DROP_IDENTITY: return alter_drop_identity(x);
    case AST_ALTER_DROP_EXPRESSION: return alter_drop_expression(x);
    case AST_ALTER_ADD_CONSTRAINT: return alter_add_constraint(x);
    case AST_ALTER_DROP_CONSTRAINT: return alter_drop_constraint(x);
    case AST_ALTER_VALIDATE_CONSTRAINT: x->done = true; return validate_constraint(x->s, x->st, x->t, k);
    case AST_ALTER_CONSTRAINT: x->done = true; return alter_constraint(x->s, x->t, k);
    case AST_ALTER_SET_TYPE: return alter_type(x);
    case AST_ALTER_SET_OPTIONS:
    case AST_ALTER_RESET_OPTIONS: return alter_options(x);
    case AST_ALTER_CLUSTER_ON:
    case AST_ALTER_DROP_CLUSTER:
        x->done = true;
        return cluster_mark(x->s, x->a, x->t,
                            k->kind == AST_ALTER_CLUSTER_ON ? key_beside(x->a, x->t->name, k->name) : NULL);
    case AST_ALTER_SET_LOGGED:
    case AST_ALTER_SET_UNLOGGED: return alter_logged(x, k->kind == AST_ALTER_SET_UNLOGGED);
    case AST_ALTER_OWNER: {
        const Privileges of = {.kind = PRIVILEGE_RELATION, .name = x->t->name, .part = ""};
        int64_t to;
        x->done = true;
        TRY(role_of_spec(x->s, k->owner, &to));
        return owner_change(x->s, x->a, &of, to);
    }
    case AST_ALTER_SET_STATISTICS:
        return err_at(&x->s->err, k->location, ERR_FEATURE_NOT_SUPPORTED,
                      "ALTER TABLE SET STATISTICS is not supported");
    default:
        return err_at(&x->s->err, k->location, ERR_FEATURE_NOT_SUPPORTED, "ALTER TABLE %s is not supported",
                      k->what ? k->what : "of this kind");
    }
}

/* The rows of the table as it is now keep to what came with the command. */
static Status check_altered(const Alter *x, int old_checks) {
    const AstAlterCmd *k = x->k;
    const char *table = x->t->name;
    if (k->kind == AST_ALTER_ADD_COLUMN || (k->kind == AST_ALTER_ADD_CONSTRAINT && !k->constraint->not_valid))
        for (int i = old_checks; i < x->d.n_checks; i++) TRY(check_rows(x->s, x->st, table, &x->d.checks[i]));
    if (k->kind == AST_ALTER_ADD_COLUMN)
        TRY(foreign_keys(x->s, x->st, table, k->column->n_constraints, k->column->constraints, k->column->name));
    if (k->kind == AST_ALTER_SET_TYPE) {
        TRY(foreign_check_types(x->s, table));
        TRY(index_defs_check(x->s, x->a, catalog_table(&x->s->db->catalog, slice_of(table))));
    }
    TRY(parts_sweep(x->s));
    return index_defs_of_draft(x->s, &x->d);
}

/* 1. finds the column that the command names; 2. changes a draft of the table's definition; 3. builds the table anew
 * under it; 4. checks the rows. */
static Status drop_generated(Session *s, Statement *st, Table **t, const AstAlterCmd *k);
/* ADD COLUMN of one that is not NULL in the rows that there are. */
static bool adds_values(const AstAlterCmd *k) {
    bool adds = false;
    for (int64_t i = 0; k->kind == AST_ALTER_ADD_COLUMN && i < k->column->n_constraints; i++)
        adds |= k->column->constraints[i].kind == AST_CON_DEFAULT;
    return adds;
}
Status row_type_renewed(Session *s, Statement *st, const char *table, Type before, int dropped) {
    Type after;
    if (!row_type_used(s, before)) return ST_OK;
    TRY(catalog_row_type(&s->db->catalog, catalog_table(&s->db->catalog, slice_of(table)), &after, &s->err));
    const CompositeType *from = composite_of(before), *to = composite_of(after);
    if (from == to) return ST_OK;
    return row_type_changed(s, st, from, to, row_change_map(st->run_arena, from->n, to->n, dropped));
}
static Status alter_one(Session *s, Statement *st, Table *t, const AstAlterCmd *k) {
    if (k->kind == AST_ALTER_DROP_COLUMN && k->cascade) TRY(drop_generated(s, st, &t, k));
    TRY(stack_check(&s->err));
    Alter x = {.s = s, .st = st, .a = st->run_arena, .t = t, .k = k, .col = -1, .new_col = -1};
    TRY(draft_of(s, x.a, t, &x.d));
    if (k->name) x.col = draft_column(&x.d, k->name); /* 1 */
    if (names_column(k->kind) && x.col < 0) {
        if (k->if_exists) return ST_OK;
        return err_at(&s->err, k->location, ERR_UNDEFINED_COLUMN, "column \"%s\" of relation \"%s\" does not exist",
                      k->name, t->name);
    }
    const bool other_row =
        k->kind == AST_ALTER_ADD_COLUMN || k->kind == AST_ALTER_DROP_COLUMN || k->kind == AST_ALTER_SET_TYPE;
    Type row;
    if (other_row) TRY(row_type_unused(s, st, t, k->kind == AST_ALTER_SET_TYPE || adds_values(k)));
    TRY(catalog_row_type(&s->db->catalog, t, &row, &s->err));
    const char *name = arena_strdup(x.a, t->name);
    int old_checks = x.d.n_checks;
    TRY(alter_draft(&x)); /* 2 */
    if (x.done) return ST_OK;
    if (!x.sql) x.sql = select_columns(x.a, t, -1, NULL);
    if (!x.sql) return err_oom(&s->err);
    TRY(rebuild(s, st, t, &x.d, t->name, x.sql, x.new_col)); /* 3 */
    if (other_row) TRY(row_type_renewed(s, st, name, row, k->kind == AST_ALTER_DROP_COLUMN ? x.col : -1));
    return check_altered(&x, old_checks); /* 4 */
}

/* DROP COLUMN .. CASCADE: generated columns that are computed from the column go first, each with a table of its own.
 */
static Status drop_generated(Session *s, Statement *st, Table **t, const AstAlterCmd *k) {
    const char *name = arena_strdup(st->run_arena, (*t)->name);
    const int col = table_find_column(*t, slice_of(k->name));
    if (!name) return err_oom(&s->err);
    for (int i = (*t)->n_cols - 1; i >= 0 && col >= 0; i--) {
        const Column *g = &(*t)->cols[i];
        if (g->kind != COLUMN_GENERATED || i == col ||
            !text_uses_column(s, st->run_arena, *t, g->default_sql, table_find_column(*t, slice_of(k->name))))
            continue;
        const AstAlterCmd cmd = {
            .kind = AST_ALTER_DROP_COLUMN, .name = arena_strdup(st->run_arena, g->name), .cascade = true};
        if (!cmd.name) return err_oom(&s->err);
        session_notice_text(s, "NOTICE", "00000", "drop cascades to column %s of table %s", cmd.name, name);
        TRY(alter_one(s, st, *t, &cmd));
        *t = catalog_table(&s->db->catalog, slice_of(name));
    }
    return ST_OK;
}

Status alter_table_cmd(Session *s, Statement *st, const char *table, const AstAlterCmd *k) {
    return alter_one(s, st, catalog_table(&s->db->catalog, slice_of(table)), k);
}

static const char *alter_tag(AstObject object) {
    return object == AST_OBJ_VIEW       ? "ALTER VIEW"
           : object == AST_OBJ_MATVIEW  ? "ALTER MATERIALIZED VIEW"
           : object == AST_OBJ_SEQUENCE ? "ALTER SEQUENCE"
           : object == AST_OBJ_INDEX    ? "ALTER INDEX"
                                        : "ALTER TABLE";
}
/* 42809: ALTER of another kind than what is there. matview: the table is one. */
static Status check_altered_kind(Session *s, const AstName *n, AstObject object, bool view, bool matview) {
    const bool wrong = object == AST_OBJ_VIEW ? !view : object == AST_OBJ_MATVIEW && !matview;
    if (!wrong) return ST_OK;
    return err_at(&s->err, n->location, ERR_WRONG_OBJECT_TYPE, "\"%s\" is not a %s", n->name,
                  object == AST_OBJ_VIEW ? "view" : "materialized view");
}
/* What ALTER TABLE and its like are for: a table, unless it is done. */
static Status alter_other(Session *s, Statement *st, const AstAlterTable *x, bool *done) {
    const Catalog *k = &s->db->catalog;
    *done = true;
    View *v = catalog_view(k, slice_of(x->table.name));
    const Table *t = catalog_table(k, slice_of(x->table.name));
    const bool matview = catalog_matview(k, slice_of(x->table.name)) != NULL;
    if (!t && !v) TRY(sql_refuse_system_relation(x->table.name, &s->err));
    if (!t && !v && x->if_exists) {
        session_notice_text(s, "NOTICE", "00000", "relation \"%s\" does not exist, skipping", x->table.name);
        return ST_OK;
    }
    if (!t && !v) return catalog_no_relation(k, x->table.name, x->table.location, &s->err);
    TRY(check_altered_kind(s, &x->table, x->object, v != NULL, matview));
    if (v) return view_alter(s, st, v, x);
    *done = false;
    return matview ? matview_may_alter(s, x) : ST_OK;
}

Status alter_table(Session *s, Statement *st, const AstAlterTable *x) {
    TRY(session_begin_write(s));
    TRY(views_fill_sources(s, st->run_arena));
    if (x->object == AST_OBJ_TYPE) return composite_alter(s, st, x);
    AstAlterTable named = *x;
    TRY(session_relation_name(s, st->run_arena, &x->table, x->if_exists, &named.table));
    x = &named;
    const bool index = catalog_index_exists(&s->db->catalog, slice_of(x->table.name), NULL);
    tag(st, alter_tag(x->object));
    if (x->object == AST_OBJ_INDEX || (index && x->object == AST_OBJ_TABLE)) return alter_index(s, st, x);
    bool done;
    TRY(alter_other(s, st, x, &done));
    if (done) return ST_OK;
    for (int64_t i = 0; i < x->n_cmds; i++) {
        Table *t = catalog_table(&s->db->catalog, slice_of(x->table.name));
        TRY(constraints_none_wait(s, t, "ALTER TABLE"));
        TRY(alter_one(s, st, t, &x->cmds[i]));
    }
    return ST_OK;
}

static int by_location(const void *a, const void *b) {
    int64_t x = ((const NamedColumn *)a)->location, y = ((const NamedColumn *)b)->location;
    return (x > y) - (x < y);
}

Status rename_in_text(Session *s, Arena *a, const Table *t, int col, const char *new_name, const char *check,
                      const char **out) {
    static const char before[] = "select (";
    PlanCtx c;
    AstStmt **list;
    int64_t n;
    BoundStmt *b;
    char *table = quote_relation(a, t->name),
         *sql = table ? arena_printf(a, "%s%s\n) from %s", before, check, table) : NULL;
    if (!sql) return err_oom(&s->err);
    plan_ctx_init(s, a, &c);
    c.keep_columns = c.of_catalog = c.views.definition = true;
    TRY(sql_parse(a, slice_of(sql), &list, &n, &s->err));
    TRY(sql_bind(&c, list[0], 0, NULL, &b));
    if (c.columns.len) qsort(c.columns.items, (size_t)c.columns.len, sizeof *c.columns.items, by_location);
    Slice text = slice_of(check);
    char *done = arena_strdup(a, "");
    int64_t at = 0;
    for (int64_t i = 0; done && i < c.columns.len; i++) {
        int64_t start = c.columns.items[i].location - 1 - (int64_t)strlen(before);
        if (start < at) continue; /* bound more than once */
        int k = c.cols.items[c.columns.items[i].id].col;
        char *name = definition_name(a, k == col ? new_name : t->cols[k].name);
        done = name ? arena_printf(a, "%s%.*s%s", done, (int)(start - at), check + at, name) : NULL;
        at = sql_column_end(text, start);
    }
    *out = done ? arena_printf(a, "%s%s", done, check + at) : NULL;
    return *out ? ST_OK : err_oom(&s->err);
}
/* In all texts of the definition: CHECKs, parts and predicates of indexes. */
static Status rename_in_texts(Session *s, Arena *a, const Table *t, int col, const char *new_name, TableDraft *d) {
    for (int i = 0; i < d->n_checks; i++)
        TRY(rename_in_text(s, a, t, col, new_name, d->checks[i].sql, &d->checks[i].sql));
    for (int i = 0; i < d->n_cols; i++)
        if (d->cols[i].kind == COLUMN_GENERATED)
            TRY(rename_in_text(s, a, t, col, new_name, d->cols[i].default_sql, &d->cols[i].default_sql));
    for (int i = 0; i < d->n_exprs; i++) {
        ExprIndexDef *x = &d->exprs[i];
        const char **parts = arena_array(a, const char *, x->n_parts);
        if (!parts) return err_oom(&s->err);
        for (int p = 0; p < x->n_parts; p++) TRY(rename_in_text(s, a, t, col, new_name, x->parts[p], &parts[p]));
        x->parts = parts;
        if (x->where) TRY(rename_in_text(s, a, t, col, new_name, x->where, &x->where));
    }
    return ST_OK;
}

/* Of what is renamed; that it can be is found out behind. */
static Status rename_parts(Session *s, Arena *a, const AstRename *x) {
    if (!catalog_relation_exists(&s->db->catalog, slice_of(x->name.name))) return ST_OK;
    const Table *t = catalog_table(&s->db->catalog, slice_of(x->name.name));
    const int col = t && x->object == AST_OBJ_COLUMN ? table_find_column(t, slice_of(x->old_name)) : -1;
    if (col >= 0) TRY(row_security_rename_column(s, a, t, col, x->new_name));
    if (x->object == AST_OBJ_COLUMN) return parts_rename(s, "c", x->name.name, x->old_name, x->new_name);
    if (x->object == AST_OBJ_CONSTRAINT) return parts_rename(s, "k", x->name.name, x->old_name, x->new_name);
    return parts_rename(s, "rckt", x->name.name, NULL, x->new_name);
}
/* What names the table, which is about to get another key. */
static Status rename_table(Session *s, Arena *a, const Table *t, bool matview, const char *name, TableDraft *d) {
    TRY(rename_in_texts(s, a, t, -1, NULL, d));
    TRY(index_defs_rename(s, a, t, -1, name));
    TRY(foreign_rename(s, t->name, NULL, name));
    TRY(sequences_rename_owner(s, t->name, NULL, name));
    TRY(views_rename(s, a, t->name, NULL, name));
    return matview ? matview_renamed(s, a, t, name, -1, NULL) : ST_OK;
}
/* Its sequences, one after the other: each changes the catalog's list. */
static Status move_sequences(Session *s, Statement *st, const char *table, const char *schema) {
    const Catalog *k = &s->db->catalog;
    for (int64_t i = 0; i < k->n_sequences; i++) {
        const Sequence *q = k->sequences[i];
        if (!q->owner_table || strcmp(q->owner_table, table) != 0 || key_is_in(q->name, schema)) continue;
        TRY(sequence_move(s, st, q->id, schema));
        i = -1;
    }
    return ST_OK;
}
Status table_move(Session *s, Statement *st, const char *table, const char *schema) {
    Arena *a = st->run_arena;
    TableDraft d = {0};
    Table *t = catalog_table(&s->db->catalog, slice_of(table));
    const bool matview = catalog_matview(&s->db->catalog, slice_of(table)) != NULL;
    const char *name = key_make(a, schema, arena_strdup(a, name_of_key(table))), *sql = select_columns(a, t, -1, NULL);
    if (!name || !sql) return err_oom(&s->err);
    Type row;
    TRY(row_type_unused(s, st, t, false));
    TRY(catalog_row_type(&s->db->catalog, t, &row, &s->err));
    TRY(constraints_none_wait(s, t, "ALTER TABLE"));
    TRY(draft_of(s, a, t, &d));
    TRY(parts_rename(s, "rckt", t->name, NULL, name));
    TRY(rename_table(s, a, t, matview, name, &d));
    TRY(index_defs_move(s, a, name, schema));
    for (int i = 0; i < d.n_keys; i++) {
        const char *was = d.keys[i].name;
        if (!(d.keys[i].name = key_make(a, schema, name_of_key(was)))) return err_oom(&s->err);
        TRY(comments_rename(s, "r", was, NULL, d.keys[i].name));
    }
    for (int i = 0; i < d.n_exprs; i++)
        if (!(d.exprs[i].name = key_make(a, schema, name_of_key(d.exprs[i].name)))) return err_oom(&s->err);
    TRY(rebuild(s, st, t, &d, name, sql, -1));
    TRY(row_type_renewed(s, st, name, row, -1));
    return move_sequences(s, st, name, schema);
}
Status rename_object(Session *s, Statement *st, const AstRename *x) {
    TRY(stack_check(&s->err));
    TRY(session_begin_write(s));
    tag(st, alter_tag(x->object == AST_OBJ_COLUMN ? x->relation : x->object));
    Arena *a = st->run_arena;
    if (x->object == AST_OBJ_SCHEMA) return schema_rename(s, st, x);
    const bool of_type = x->object == AST_OBJ_COLUMN && x->relation == AST_OBJ_TYPE;
    AstRename named = *x;
    if (!of_type) {
        TRY(session_relation_name(s, a, &x->name, x->if_exists, &named.name));
        const bool inside = x->object == AST_OBJ_COLUMN || x->object == AST_OBJ_CONSTRAINT;
        if (!inside && !(named.new_name = key_beside(a, named.name.name, x->new_name))) return ST_ERROR;
        x = &named;
    }
    if (of_type) return composite_rename_attribute(s, st, x);
    const bool any = x->object == AST_OBJ_TABLE || x->object == AST_OBJ_INDEX; /* ALTER INDEX takes all relations */
    const bool exists = catalog_relation_exists(&s->db->catalog, slice_of(x->name.name));
    if ((x->object == AST_OBJ_INDEX && !exists) ||
        (any && catalog_index_exists(&s->db->catalog, slice_of(x->name.name), NULL)))
        return rename_index(s, st, x);
    TRY(rename_parts(s, a, x));
    if (x->object == AST_OBJ_SEQUENCE || (any && catalog_sequence(&s->db->catalog, slice_of(x->name.name))))
        return sequence_rename(s, st, x);
    Table *t = catalog_table(&s->db->catalog, slice_of(x->name.name));
    View *v = catalog_view(&s->db->catalog, slice_of(x->name.name));
    if (!t && !v) TRY(sql_refuse_system_relation(x->name.name, &s->err));
    const bool matview = catalog_matview(&s->db->catalog, slice_of(x->name.name)) != NULL;
    if (!t && !v)
        return x->if_exists ? ST_OK : catalog_no_relation(&s->db->catalog, x->name.name, x->name.location, &s->err);
    TRY(check_altered_kind(s, &x->name, x->object == AST_OBJ_COLUMN ? x->relation : x->object, v != NULL, matview));
    bool is_relation = any || x->object == AST_OBJ_VIEW || x->object == AST_OBJ_MATVIEW;
    if (is_relation && catalog_relation_exists(&s->db->catalog, slice_of(x->new_name)))
        return err_set(&s->err, ERR_DUPLICATE_TABLE, "relation \"%s\" already exists", x->new_name);
    if (is_relation) TRY(row_type_free(s, x->new_name, 0));
    TRY(views_fill_sources(s, a));
    if (v) return view_rename(s, st, catalog_view(&s->db->catalog, slice_of(x->name.name)), x);
    Type row;
    if (is_relation || x->object == AST_OBJ_COLUMN) TRY(row_type_unused(s, st, t, false));
    TRY(catalog_row_type(&s->db->catalog, t, &row, &s->err));
    TRY(constraints_none_wait(s, t, "ALTER TABLE")); /* the table may be built anew */
    TableDraft d = {0};
    TRY(draft_of(s, a, t, &d));
    const char *name = t->name;
    if (x->object == AST_OBJ_COLUMN) {
        int c = draft_column(&d, x->old_name);
        if (c < 0) return err_set(&s->err, ERR_UNDEFINED_COLUMN, "column \"%s\" does not exist", x->old_name);
        if (draft_column(&d, x->new_name) >= 0)
            return err_set(&s->err, ERR_DUPLICATE_COLUMN, "column \"%s\" of relation \"%s\" already exists",
                           x->new_name, t->name);
        TRY(column_name_free(s, x->new_name, -1));
        TRY(rename_in_texts(s, a, t, c, x->new_name, &d));
        TRY(index_defs_rename(s, a, t, c, x->new_name));
        d.cols[c].name = x->new_name;
        TRY(foreign_rename(s, t->name, x->old_name, x->new_name));
        TRY(sequences_rename_owner(s, t->name, x->old_name, x->new_name));
        TRY(views_rename(s, a, t->name, x->old_name, x->new_name));
        if (matview) TRY(matview_renamed(s, a, t, NULL, c, x->new_name));
    } else if (x->object == AST_OBJ_CONSTRAINT) {
        bool found = false;
        const Catalog *k = &s->db->catalog;
        if (table_has_constraint(k, t, x->old_name) && table_has_constraint(k, t, x->new_name))
            return err_set(&s->err, ERR_DUPLICATE_OBJECT, "constraint \"%s\" for relation \"%s\" already exists",
                           x->new_name, t->name);
        TRY(foreign_rename_constraint(s, t, x->old_name, x->new_name, &found));
        if (found) return ST_OK;
        for (int i = 0; i < d.n_keys; i++)
            if (!d.keys[i].is_index && key_is_named(d.keys[i].name, x->old_name)) {
                const AstRename index = {.name = {.name = d.keys[i].name},
                                         .new_name = key_beside(a, t->name, x->new_name)};
                return index.new_name ? rename_index(s, st, &index) : ST_ERROR; /* which has its name */
            }
        for (int i = 0; i < d.n_checks; i++)
            if (strcmp(d.checks[i].name, x->old_name) == 0) d.checks[i].name = x->new_name, found = true;
        if (!found)
            return err_set(&s->err, ERR_UNDEFINED_OBJECT, "constraint \"%s\" for table \"%s\" does not exist",
                           x->old_name, t->name);
    } else {
        name = x->new_name;
        TRY(rename_table(s, a, t, matview, name, &d));
    }
    char *sql = select_columns(a, t, -1, NULL);
    if (!sql) return err_oom(&s->err);
    if (!(name = arena_strdup(a, name))) return ST_ERROR;
    TRY(rebuild(s, st, t, &d, name, sql, -1));
    return row_type_renewed(s, st, name, row, -1);
}
