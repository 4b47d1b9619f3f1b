/* domains.c - CREATE DOMAIN, ALTER DOMAIN; DROP TYPE and DROP DOMAIN.
 *
 * A domain of the catalog never changes: ALTER DOMAIN puts another one with the same id in its place. What is computed
 * with the new one is bound anew, since the catalog has another version; the rows that are there are looked at here.
 */
#include "session/core/transaction.h"
#include "session/ddl/depend.h"
#include "session/ddl/stored_text.h"
#include "session/ddl/utility_int.h"
#include "sql/bind/bind.h"
#include "sql/parse/parse.h"

/* A definition that is being made, in the statement's arena. */
typedef struct DomainDraft {
    Session *s;
    Statement *st;
    Arena *a;
    Domain d;
    bool has_default, has_null;
} DomainDraft;

static int find_check(const Domain *d, const char *name) {
    for (int i = 0; i < d->n_checks; i++)
        if (strcmp(d->checks[i].name, name) == 0) return i;
    return -1;
}
static bool has_check(const Domain *d, const char *name) { return find_check(d, name) >= 0; }
/* PostgreSQL's name for a condition without one. */
static char *check_name(const DomainDraft *x) {
    char *name = arena_printf(x->a, "%s_check", name_of_key(x->d.name));
    for (int again = 1; name && has_check(&x->d, name); again++)
        name = arena_printf(x->a, "%s_check%d", name_of_key(x->d.name), again);
    return name;
}

/* There is room for it. */
static Status add_check(DomainDraft *x, const AstConstraint *k) {
    Session *s = x->s;
    PlanCtx c;
    if (k->name && has_check(&x->d, k->name))
        return err_set(&s->err, ERR_DUPLICATE_OBJECT, "constraint \"%s\" for domain \"%s\" already exists", k->name,
                       x->d.name);
    DomainCheck *y = &x->d.checks[x->d.n_checks];
    y->name = k->name ? arena_strdup(x->a, k->name) : check_name(x);
    y->not_valid = k->not_valid;
    if (!y->name) return err_oom(&s->err);
    const ColumnDef value = {.name = "value", .type = x->d.type};
    const char *sql;
    TRY(stored_expression(s, x->a, x->d.name, 1, &value, k->expr_source, &sql));
    y->sql = (char *)(uintptr_t)sql;
    plan_ctx_init(s, x->a, &c);
    TRY(sql_bind_domain_check(&c, &x->d, y->sql));
    x->d.n_checks++;
    return ST_OK;
}

/* DEFAULT NULL is none. */
static Status set_default(DomainDraft *x, const AstExpr *e, Slice source) {
    Session *s = x->s;
    PlanCtx c;
    Expr *bound;
    x->d.default_sql = NULL;
    if (!e || e->kind == AST_NULL_LIT) return ST_OK;
    plan_ctx_init(s, x->a, &c);
    const bool literal = e->kind == AST_STRING_LIT; /* of any type */
    if (!literal) TRY(sql_bind_scalar(&c, e, type_make(T_UNKNOWN), &bound));
    if (!literal && !cast_exists(bound->type, x->d.type, CAST_ASSIGNMENT)) {
        char type[TYPE_NAME_MAX];
        err_set(&s->err, ERR_DATATYPE_MISMATCH, "column \"%s\" is of type %s but default expression is of type %s",
                x->d.name, type_name(x->d.type, &type), type_plain_name(bound->type));
        err_hint(&s->err, "You will need to rewrite or cast the expression.");
        return ST_ERROR;
    }
    TRY(sql_bind_scalar(&c, e, x->d.type, &bound));
    const char *sql;
    TRY(stored_default(s, x->a, source, x->d.type, &sql));
    x->d.default_sql = (char *)(uintptr_t)sql;
    return ST_OK;
}

static Status not_for_domains(Session *s, const AstConstraint *k) {
    const char *what = k->kind == AST_CON_PRIMARY_KEY   ? "primary key"
                       : k->kind == AST_CON_UNIQUE      ? "unique"
                       : k->kind == AST_CON_FOREIGN_KEY ? "foreign key"
                                                        : NULL;
    if (what) return err_at(&s->err, k->location, ERR_SYNTAX, "%s constraints not possible for domains", what);
    return err_at(&s->err, k->location, ERR_SYNTAX, "generated and identity columns are not possible for domains");
}

static Status add_nulls(DomainDraft *x, const AstConstraint *k) {
    const bool not_null = k->kind == AST_CON_NOT_NULL;
    if (not_null ? x->has_null : x->d.not_null)
        return err_at(&x->s->err, k->location, ERR_SYNTAX, "conflicting NULL/NOT NULL constraints");
    if (not_null) x->d.not_null = true;
    else x->has_null = true;
    return ST_OK;
}

/* CHECKs come last. */
static Status add_constraints(DomainDraft *x, const AstColumnDef *def) {
    for (int64_t i = 0; i < def->n_constraints; i++) {
        const AstConstraint *k = &def->constraints[i];
        switch (k->kind) {
        case AST_CON_CHECK: break;
        case AST_CON_NULL:
        case AST_CON_NOT_NULL: TRY(add_nulls(x, k)); break;
        case AST_CON_DEFAULT:
            if (x->has_default) return err_at(&x->s->err, k->location, ERR_SYNTAX, "multiple default expressions");
            x->has_default = true;
            TRY(set_default(x, k->expr, k->expr_source));
            break;
        default: return not_for_domains(x->s, k);
        }
    }
    for (int64_t i = 0; i < def->n_constraints; i++)
        if (def->constraints[i].kind == AST_CON_CHECK) TRY(add_check(x, &def->constraints[i]));
    return ST_OK;
}

static Status put(DomainDraft *x, Domain *old) {
    Domain *made = domain_new(&x->d, &x->s->err);
    if (!made) return ST_ERROR;
    if (old && session_drop_domain(x->s, old) != ST_OK) {
        domain_free(made);
        return ST_ERROR;
    }
    return session_add_domain(x->s, made);
}

Status domain_create(Session *s, Statement *st, const AstCreateDomain *x) {
    const Domain *parent;
    AstName name;
    DomainDraft y = {.s = s, .st = st, .a = st->run_arena};
    TRY(session_begin_write(s));
    tag(st, "CREATE DOMAIN");
    TRY(type_new_name(s, y.a, &x->name, &name));
    y.d.name = arena_strdup(y.a, name.name);
    if (is_pseudo_type(x->def->type))
        return err_at(&s->err, x->def->type->location, ERR_DATATYPE_MISMATCH,
                      "\"%s\" is not a valid base type for a domain", x->def->type->name);
    TRY(sql_bind_type(&s->db->catalog, x->def->type, &y.d.type, &parent, &s->err));
    if (x->def->collation.name)
        TRY(sql_check_collation(&x->def->collation, y.d.type, x->def->collation.location, &s->err));
    y.d.parent = parent ? parent->id : 0;
    if (parent && parent->default_sql && !(y.d.default_sql = arena_strdup(y.a, parent->default_sql)))
        return err_oom(&s->err);
    y.d.checks = arena_array(y.a, DomainCheck, x->def->n_constraints + 1);
    if (!y.d.name || !y.d.checks) return err_oom(&s->err);
    TRY(add_constraints(&y, x->def));
    return put(&y, NULL);
}

/* ---- ALTER DOMAIN ---------------------------------------------------------------------------------------- */

/* What open transactions have written to columns of the domain was not looked at: they are to fail. */
static void outdate_others(DomainDraft *x) {
    const Catalog *k = &x->s->db->catalog;
    for (int64_t i = 0; i < k->n_tables; i++)
        for (int c = 0; c < k->tables[i]->n_cols; c++) {
            const Domain *d = catalog_domain_by_id(k, k->tables[i]->cols[c].domain);
            if (d && domain_is_of(k, d, &x->d)) transactions_outdate_changes(x->s, k->tables[i]);
        }
}
/* Whether some value of the columns of the domain, and of those over it, has a row in `select .. from (select column as
 * value from table) where <condition>`. *table, *column: which one. */
static Status find_value(DomainDraft *x, const char *condition, const char **table, const char **column) {
    const Catalog *k = &x->s->db->catalog;
    *table = NULL;
    for (int64_t i = 0; i < k->n_tables && !*table; i++)
        for (int c = 0; c < k->tables[i]->n_cols && !*table; c++) {
            const Table *t = k->tables[i];
            const Domain *d = catalog_domain_by_id(k, t->cols[c].domain);
            if (!d || !domain_is_of(k, d, &x->d)) continue;
            const char *q = arena_printf(x->a, "select 1 from (select %s as value from %s) v where %s limit 1",
                                         quote_name(x->a, t->cols[c].name), quote_relation(x->a, t->name), condition);
            int64_t rows;
            if (!q) return err_oom(&x->s->err);
            TRY(count_rows(x->s, x->st, q, &rows));
            if (rows) *table = t->name, *column = t->cols[c].name;
        }
    return ST_OK;
}

/* A row of the type, or an element of it, has a field of the domain, at any depth. */
static bool row_has(const Catalog *k, Type t, const Domain *x) {
    const CompositeType *row = composite_of(t.id == T_ARRAY ? type_element(t) : t);
    for (int32_t i = 0; row && i < row->n && !stack_stop(); i++) {
        const Domain *d = catalog_domain_by_id(k, row->fields[i].domain);
        if ((d && domain_is_of(k, d, x)) || row_has(k, row->fields[i].type, x)) return true;
    }
    return false;
}
/* Values of the domain within rows are not looked at. */
static Status check_no_rows(const DomainDraft *x) {
    const Catalog *k = &x->s->db->catalog;
    for (int64_t i = 0; i < k->n_tables; i++)
        for (int c = 0; c < k->tables[i]->n_cols; c++) {
            const Column *col = &k->tables[i]->cols[c];
            if (row_has(k, col->type, &x->d))
                return err_set(&x->s->err, ERR_FEATURE_NOT_SUPPORTED,
                               "cannot alter type \"%s\" because column \"%s.%s\" uses it", x->d.name,
                               k->tables[i]->name, col->name);
        }
    return ST_OK;
}
static Status check_values(DomainDraft *x, const DomainCheck *k) {
    const char *table, *column, *condition = arena_printf(x->a, "not (%s\n)", k->sql);
    if (!condition) return err_oom(&x->s->err);
    TRY(check_no_rows(x));
    TRY(find_value(x, condition, &table, &column));
    if (!table) return outdate_others(x), ST_OK;
    err_set(&x->s->err, ERR_CHECK_VIOLATION,
            "column \"%s\" of table \"%s\" contains values that violate the new constraint", column, table);
    err_of_column(&x->s->err, table, column);
    return ST_ERROR;
}
static Status check_not_null(DomainDraft *x) {
    const char *table, *column;
    TRY(check_no_rows(x));
    TRY(find_value(x, "value is null", &table, &column));
    if (!table) return outdate_others(x), ST_OK;
    err_set(&x->s->err, ERR_NOT_NULL_VIOLATION, "column \"%s\" of table \"%s\" contains null values", column, table);
    err_of_column(&x->s->err, table, column);
    return ST_ERROR;
}

static void remove_check(Domain *d, int i) {
    memmove(&d->checks[i], &d->checks[i + 1], sizeof *d->checks * (size_t)(d->n_checks - i - 1));
    d->n_checks--;
}
static Status no_check(Session *s, const Domain *d, const char *name) {
    return err_set(&s->err, ERR_UNDEFINED_OBJECT, "constraint \"%s\" of domain \"%s\" does not exist", name, d->name);
}

static Status add_constraint_to(DomainDraft *x, const AstConstraint *k) {
    if (k->kind != AST_CON_CHECK) return not_for_domains(x->s, k);
    TRY(add_check(x, k));
    return k->not_valid ? ST_OK : check_values(x, &x->d.checks[x->d.n_checks - 1]);
}
static Status drop_constraint(DomainDraft *x, const AstAlterCmd *k) {
    const int i = find_check(&x->d, k->name);
    if (i >= 0) return remove_check(&x->d, i), ST_OK;
    if (!k->if_exists) return no_check(x->s, &x->d, k->name);
    session_notice_text(x->s, "NOTICE", "00000", "constraint \"%s\" of domain \"%s\" does not exist, skipping", k->name,
                        x->d.name);
    return ST_OK;
}
static Status validate_constraint(DomainDraft *x, const char *name) {
    const int i = find_check(&x->d, name);
    if (i < 0) return no_check(x->s, &x->d, name);
    TRY(check_values(x, &x->d.checks[i]));
    x->d.checks[i].not_valid = false;
    return ST_OK;
}

static Status alter_draft(DomainDraft *x, const AstAlterCmd *k) {
    switch (k->kind) {
    case AST_ALTER_SET_DEFAULT:
    case AST_ALTER_DROP_DEFAULT: return set_default(x, k->expr, k->expr_source);
    case AST_ALTER_DROP_NOT_NULL: x->d.not_null = false; return ST_OK;
    case AST_ALTER_SET_NOT_NULL:
        if (!x->d.not_null) TRY(check_not_null(x));
        x->d.not_null = true;
        return ST_OK;
    case AST_ALTER_ADD_CONSTRAINT: return add_constraint_to(x, k->constraint);
    case AST_ALTER_DROP_CONSTRAINT: return drop_constraint(x, k);
    case AST_ALTER_VALIDATE_CONSTRAINT: return validate_constraint(x, k->name);
    default: return err_set(&x->s->err, ERR_FEATURE_NOT_SUPPORTED, "this form of ALTER DOMAIN is not supported");
    }
}

static Status rename_constraint(DomainDraft *x, const char *from, const char *to) {
    const int i = find_check(&x->d, from);
    const char *shown = domain_shown(x->a, &x->d);
    if (!shown) return err_oom(&x->s->err);
    if (i < 0)
        return err_set(&x->s->err, ERR_UNDEFINED_OBJECT, "constraint \"%s\" for domain %s does not exist", from, shown);
    if (has_check(&x->d, to))
        return err_set(&x->s->err, ERR_DUPLICATE_OBJECT, "constraint \"%s\" for domain %s already exists", to, shown);
    x->d.checks[i].name = arena_strdup(x->a, to);
    return x->d.checks[i].name ? parts_rename(x->s, "d", x->d.name, from, to) : err_oom(&x->s->err);
}

/* A draft of the domain, with room for one more condition. */
static Status draft(Session *s, Statement *st, const Domain *d, DomainDraft *out) {
    *out = (DomainDraft){.s = s, .st = st, .a = st->run_arena, .d = *d};
    out->d.node = (EpochNode){0};
    out->d.checks = arena_array(st->run_arena, DomainCheck, d->n_checks + 1);
    if (!out->d.checks) return err_oom(&s->err);
    if (d->n_checks) memcpy(out->d.checks, d->checks, sizeof *d->checks * (size_t)d->n_checks);
    return ST_OK;
}

Status domain_put_as(Session *s, Statement *st, const Domain *d, const char *key) {
    DomainDraft y;
    TRY(draft(s, st, d, &y));
    if (!(y.d.name = arena_strdup(y.a, key))) return err_oom(&s->err);
    return put(&y, (Domain *)(uintptr_t)d);
}

Status domain_alter(Session *s, Statement *st, const AstAlterDomain *x) {
    DomainDraft y;
    NamedType t;
    Type builtin;
    TRY(session_begin_write(s));
    tag(st, "ALTER DOMAIN");
    TRY(session_find_type(s, &x->name, false, &t));
    if (!t.domain && (named_type_found(&t) || type_is_builtin(&x->name, &builtin)))
        return err_set(&s->err, ERR_WRONG_OBJECT_TYPE, "%s is not a domain",
                       named_type_found(&t) ? named_type_shown(st->run_arena, &t) : type_plain_name(builtin));
    if (!t.domain) return session_no_type(s, &x->name);
    if (x->new_name && !x->old_name) {
        const char *key = key_beside(st->run_arena, t.domain->name, x->new_name);
        return key ? type_rename(s, st, t, key, x->name.location) : err_oom(&s->err);
    }
    TRY(draft(s, st, t.domain, &y));
    TRY(x->new_name ? rename_constraint(&y, x->old_name, x->new_name) : alter_draft(&y, &x->cmd));
    return put(&y, (Domain *)(uintptr_t)t.domain);
}

Status domain_drop_default(Session *s, Statement *st, const char *name) {
    DomainDraft y;
    Domain *d = catalog_domain(&s->db->catalog, slice_of(name));
    if (!d) return ST_OK;
    TRY(draft(s, st, d, &y));
    y.d.default_sql = NULL;
    return put(&y, d);
}
Status domain_drop_check(Session *s, Statement *st, const char *name, const char *check) {
    DomainDraft y;
    Domain *d = catalog_domain(&s->db->catalog, slice_of(name));
    if (!d) return ST_OK;
    TRY(draft(s, st, d, &y));
    const int i = find_check(d, check);
    if (i >= 0) remove_check(&y.d, i);
    return put(&y, d);
}

/* ---- DROP TYPE, DROP DOMAIN ------------------------------------------------------------------------------ */

/* Neither: there is none, and that is fine. */
static Status find_type(Session *s, const AstName *n, const AstDrop *x, NamedType *out) {
    Type builtin;
    *out = (NamedType){0};
    if (type_is_builtin(n, &builtin)) {
        if (x->object == AST_OBJ_DOMAIN)
            return err_set(&s->err, ERR_WRONG_OBJECT_TYPE, "\"%s\" is not a domain", n->name);
        return err_set(&s->err, ERR_DEPENDENT_OBJECTS,
                       "cannot drop type %s because it is required by the database system", type_plain_name(builtin));
    }
    TRY(session_find_type(s, n, x->if_exists, out));
    if (out->multi && x->object == AST_OBJ_TYPE) {
        const char *range = type_plain_name(range_type(out->range));
        err_set(&s->err, ERR_DEPENDENT_OBJECTS, "cannot drop type %s because type %s requires it",
                type_plain_name(multirange_type(out->range)), range);
        return err_hint(&s->err, "You can drop type %s instead.", range), ST_ERROR;
    }
    if (out->table && x->object == AST_OBJ_TYPE) {
        err_set(&s->err, ERR_DEPENDENT_OBJECTS, "cannot drop type %s because table %s requires it", n->name, n->name);
        return err_hint(&s->err, "You can drop table %s instead.", n->name), ST_ERROR;
    }
    if ((out->enumerated || out->composite || out->range) && x->object == AST_OBJ_DOMAIN)
        return err_set(&s->err, ERR_WRONG_OBJECT_TYPE, "\"%s\" is not a domain", n->name);
    if (named_type_defined(out)) return ST_OK;
    *out = (NamedType){0};
    if (!x->if_exists) return session_no_type(s, n);
    session_notice_text(s, "NOTICE", "00000", "type \"%s\" does not exist, skipping", n->name);
    return ST_OK;
}

/* As it is by now: it may have gone with another one, or be defined anew. */
Status type_drop_key(Session *s, const char *key) {
    const NamedType x = catalog_type_of_key(&s->db->catalog, slice_of(key));
    if (x.enumerated) return session_put_enum(s, x.enumerated, NULL);
    if (x.composite) return session_put_composite(s, x.composite, NULL);
    if (x.range) return session_put_range(s, x.range, NULL);
    return x.domain ? session_drop_domain(s, (Domain *)(uintptr_t)x.domain) : ST_OK;
}

Status type_drop(Session *s, Statement *st, const AstDrop *x) {
    Dependents d;
    VEC(NamedType) gone = {0};
    TRY(views_fill_sources(s, st->run_arena));
    dependents_init(&d, s, st);
    for (int64_t i = 0; i < x->n_names; i++) {
        NamedType t;
        TRY(find_type(s, &x->names[i], x, &t));
        bool twice = !named_type_defined(&t);
        for (int64_t k = 0; k < gone.len; k++)
            twice |= gone.items[k].enumerated == t.enumerated && gone.items[k].domain == t.domain &&
                     gone.items[k].composite == t.composite && gone.items[k].range == t.range;
        if (!twice && !vec_push(st->run_arena, &gone, t)) return ST_ERROR;
        if (t.domain && !vec_push(st->run_arena, &d.spared_domains, t.domain)) return ST_ERROR;
    }
    for (int64_t i = 0; i < gone.len; i++) TRY(dependents_of_type(&d, gone.items[i]));
    const char *shown = gone.len == 1 ? named_type_shown(d.a, &gone.items[0]) : NULL;
    TRY(dependents_drop(&d, shown ? arena_printf(d.a, "type %s", shown) : NULL, x->cascade));
    for (int64_t i = 0; i < gone.len; i++) TRY(type_drop_key(s, named_type_key(&gone.items[i])));
    return ST_OK;
}
