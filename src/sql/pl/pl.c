/* pl.c - routines: signatures, from CREATE statement to tree, names of variables. See pl.h. */
#include "sql/bind/bind_poly.h"
#include "sql/pl/pl_int.h"
#include "types/composite.h"

#include <stdlib.h>

/* ---- names ------------------------------------------------------------------------------ */

static int32_t in_block(const PlFunction *f, int32_t block, int32_t limit, const char *name) {
    for (int32_t i = 0; i < f->n_aliases; i++)
        if (f->aliases[i].block == block && f->aliases[i].var < limit && strcmp(f->aliases[i].name, name) == 0)
            return f->aliases[i].var;
    for (int32_t i = 0; i < f->n_vars && i < limit; i++)
        if (f->vars[i].block == block && f->vars[i].name && strcmp(f->vars[i].name, name) == 0) return i;
    return -1;
}

static int32_t param_number(const PlFunction *f, const char *name) {
    if (name[0] != '$' || !name[1]) return -1;
    char *end;
    long n = strtol(name + 1, &end, 10);
    if (*end || n < 1 || n > f->n_params) return -1;
    if (!f->is_sql) return (int32_t)n - 1;
    for (int32_t i = 0; i < f->n_params; i++) /* LANGUAGE sql counts what callers give */
        if (f->param_modes[i] != PL_OUT && --n == 0) return i;
    return -1;
}

int32_t pl_find_var(const PlFunction *f, int32_t block, const char *name) {
    int32_t k = param_number(f, name);
    for (; k < 0 && block >= 0; block = f->block_parent[block]) k = in_block(f, block, f->n_vars, name);
    return k;
}

static bool as_ref(const PlFunction *f, int32_t var, const char *field, PlRef *out) {
    if (var < 0 || (field && f->vars[var].kind == PLV_SCALAR && f->vars[var].type.id != T_COMPOSITE)) return false;
    *out = (PlRef){var, field};
    return true;
}

bool pl_resolve(const PlFunction *f, int32_t block, int32_t limit, const char *schema, const char *table,
                const char *name, PlRef *out) {
    if (limit < 0) limit = f->n_vars;
    if (!table) {
        int32_t k = param_number(f, name);
        if (k >= 0) return as_ref(f, k, NULL, out);
    }
    for (; block >= 0; block = f->block_parent[block]) {
        const char *label = f->block_labels[block];
        if (!table) {
            if (as_ref(f, in_block(f, block, limit, name), NULL, out)) return true;
        } else if (!schema) {
            if (as_ref(f, in_block(f, block, limit, table), name, out)) return true;
            if (label && strcmp(label, table) == 0 && as_ref(f, in_block(f, block, limit, name), NULL, out))
                return true;
        } else if (label && strcmp(label, schema) == 0 && as_ref(f, in_block(f, block, limit, table), name, out)) {
            return true;
        }
    }
    return false;
}

static Status field_of(PlNames *n, PlRef r, bool is_column, int64_t position, bool *found, Type *type, Err *e) {
    const PlVar *v = &n->f->vars[r.var];
    bool assigned = true;
    *found = false;
    const CompositeType *row = v->kind == PLV_SCALAR ? composite_of(v->type) : NULL;
    const int32_t k = composite_field(row, slice_of(r.field));
    if (k >= 0) {
        *found = true;
        *type = row->fields[k].type;
    } else if (v->kind == PLV_ROW) {
        for (int32_t i = 0; i < v->n_fields && !*found; i++)
            if (strcmp(v->field_names[i], r.field) == 0) {
                *found = true;
                *type = v->field_types[i];
            }
    } else if (!row) {
        *found = n->field_type && n->field_type(n->ctx, r.var, r.field, type, &assigned);
    }
    if (*found || is_column) return ST_OK;
    if (assigned)
        return err_at(e, position, ERR_UNDEFINED_COLUMN, "record \"%s\" has no field \"%s\"", v->name, r.field);
    err_at(e, position, ERR_NOT_IN_STATE, "record \"%s\" is not assigned yet", v->name);
    err_detail(e, "The tuple structure of a not-yet-assigned record is indeterminate.");
    return ST_ERROR;
}

static int32_t find_variable(PlanVariables *hook, const char *schema, const char *table, const char *name,
                             bool is_column, int64_t position, Type *type, Err *e) {
    PlNames *n = (PlNames *)(void *)hook;
    PlRef r;
    if (!pl_resolve(n->f, n->block, n->limit, schema, table, name, &r)) return 0;
    const PlVar *v = &n->f->vars[r.var];
    if (r.field) {
        bool found;
        if (field_of(n, r, is_column, position, &found, type, e) != ST_OK) return -1;
        if (!found) return 0;
    } else if (v->kind != PLV_SCALAR) {
        if (is_column) return 0;
        *type = n->var_type ? n->var_type(n->ctx, r.var) : v->type;
        if (type->id != T_COMPOSITE)
            err_at(e, position, ERR_FEATURE_NOT_SUPPORTED,
                   "a whole record as a value (variable \"%s\") is not supported", v->name);
        if (type->id != T_COMPOSITE) return -1;
    } else {
        *type = n->var_type ? n->var_type(n->ctx, r.var) : v->type;
    }
    for (int64_t i = 0; i < n->refs.len; i++) {
        const PlRef *o = &n->refs.items[i];
        if (o->var == r.var && (o->field == r.field || (o->field && r.field && strcmp(o->field, r.field) == 0)))
            return (int32_t)i + 1;
    }
    if (!vec_push(n->arena, &n->refs, r)) {
        err_oom(e);
        return -1;
    }
    return (int32_t)n->refs.len;
}

void pl_names_init(PlNames *n, Arena *a, const PlFunction *f, const PlExpr *x) {
    memset(n, 0, sizeof *n);
    n->hook.find = find_variable;
    n->hook.prefer_variable = f->conflict == PLC_VARIABLE;
    n->hook.prefer_column =
        f->is_sql || f->conflict == PLC_COLUMN; /* in LANGUAGE sql a column goes before a parameter */
    n->f = f;
    n->block = x->block;
    n->limit = x->limit;
    n->arena = a;
}

const char *pl_stmt_name(PlStmtKind k) {
    static const char *const names[] = {
        [PLS_BLOCK] = "statement block",
        [PLS_ASSIGN] = "assignment",
        [PLS_IF] = "IF",
        [PLS_CASE] = "CASE",
        [PLS_LOOP] = "LOOP",
        [PLS_WHILE] = "WHILE",
        [PLS_FOR] = "FOR with integer loop variable",
        [PLS_FOR_QUERY] = "FOR over SELECT rows",
        [PLS_FOREACH] = "FOREACH over array",
        [PLS_EXIT] = "EXIT",
        [PLS_RETURN] = "RETURN",
        [PLS_RETURN_NEXT] = "RETURN NEXT",
        [PLS_RETURN_QUERY] = "RETURN QUERY",
        [PLS_RAISE] = "RAISE",
        [PLS_ASSERT] = "ASSERT",
        [PLS_SQL] = "SQL statement",
        [PLS_DYNAMIC] = "EXECUTE",
        [PLS_PERFORM] = "PERFORM",
        [PLS_CALL] = "CALL",
        [PLS_DIAGNOSTICS] = "GET DIAGNOSTICS",
        [PLS_OPEN] = "OPEN",
        [PLS_FETCH] = "FETCH",
        [PLS_CLOSE] = "CLOSE",
        [PLS_COMMIT] = "COMMIT",
        [PLS_ROLLBACK] = "ROLLBACK",
        [PLS_NULL] = "NULL",
    };
    return (unsigned)k < ARRAY_LEN(names) ? names[k] : "?";
}
const char *pl_stmt_words(const PlStmt *s) {
    switch ((int)s->kind) {
    case PLS_EXIT: return s->is_exit ? "EXIT" : "CONTINUE";
    case PLS_FOR_QUERY:
        return s->cursor.var >= 0 ? "FOR over cursor"
               : s->query         ? "FOR over SELECT rows"
                                  : "FOR over EXECUTE statement";
    case PLS_FETCH: return s->cursor.is_move ? "MOVE" : "FETCH";
    case PLS_DIAGNOSTICS: return s->stacked ? "GET STACKED DIAGNOSTICS" : "GET DIAGNOSTICS";
    case PLS_CALL: return s->query->stmt->kind == AST_DO ? "DO" : "CALL";
    default: return pl_stmt_name((PlStmtKind)s->kind);
    }
}

bool pl_error_field(const char *name, ErrField *out) {
    static const char *const names[][2] = {[EF_SCHEMA] = {"schema", "schema_name"},
                                           [EF_TABLE] = {"table", "table_name"},
                                           [EF_COLUMN] = {"column", "column_name"},
                                           [EF_DATATYPE] = {"datatype", "pg_datatype_name"},
                                           [EF_CONSTRAINT] = {"constraint", "constraint_name"}};
    for (int i = 0; i < ERR_FIELDS; i++)
        if (strcmp(name, names[i][0]) == 0 || strcmp(name, names[i][1]) == 0) return *out = (ErrField)i, true;
    return false;
}

/* ---- signatures ------------------------------------------------------------------------------ */

/* Parameters and results have no lengths and scales, as in PostgreSQL. */
static Type without_modifiers(Type t) {
    Type r = t;
    if (type_has_length(t) || t.id == T_NUMERIC || t.id == T_DECIMAL || t.id == T_TIME || t.id == T_TIMESTAMP ||
        t.id == T_TIMESTAMPTZ || t.id == T_TIMETZ || t.id == T_INTERVAL) {
        r = type_make(t.id == T_NUMERIC ? T_DECIMAL : (TypeId)t.id);
        if (t.id == T_CHAR) r.length = 0;
    }
    return r;
}

static Status param_type(const Catalog *c, const AstTypeName *t, Type *out, int64_t *domain, Err *e) {
    AstTypeName plain = *t;
    plain.setof = false;
    TRY(sql_routine_type(c, &plain, out, domain, e));
    if (!*domain) *out = without_modifiers(*out);
    return ST_OK;
}

/* RETURNS t, where t is a table: its columns are the result's. */
static Status returns_table(Arena *a, const Table *t, Routine *r) {
    int n = r->n_params + t->n_cols;
    char **names = arena_array(a, char *, n + 1);
    char *modes = arena_alloc(a, n + 1);
    Type *types = arena_array(a, Type, n + 1);
    int64_t *domains = arena_array(a, int64_t, n + 1);
    if (!names || !modes || !types || !domains) return ST_ERROR;
    for (int i = 0; i < n; i++) {
        bool own = i < r->n_params;
        names[i] = own ? r->param_names[i] : t->cols[i - r->n_params].name;
        modes[i] = own ? r->param_modes[i] : 'c';
        types[i] = own ? r->param_types[i] : t->cols[i - r->n_params].type;
        domains[i] = own ? r->param_domains[i] : t->cols[i - r->n_params].domain;
    }
    r->param_names = names;
    r->param_modes = modes;
    r->param_types = types;
    r->param_domains = domains;
    r->n_params = n;
    r->returns_record = true;
    return ST_OK;
}

static Status result_type(Arena *a, const Catalog *c, const AstCreateFunction *x, int n_outs, Type out_type, Routine *r,
                          Err *e) {
    const AstTypeName *t = x->ret;
    bool plain = t && !t->schema && !t->array_dims && !t->percent_type;
    bool record = plain && strcmp(t->name, "record") == 0;
    r->returns_set = t && t->setof;
    r->returns_record = n_outs > 1;
    r->ret = n_outs == 1 ? out_type : type_make(T_VOID);
    if (x->is_procedure) return ST_OK;
    if (!t) {
        if (n_outs == 0) return err_set(e, ERR_INVALID_FUNCTION_DEFINITION, "function result type must be specified");
        return ST_OK;
    }
    if (plain && (strcmp(t->name, "trigger") == 0 || strcmp(t->name, "event_trigger") == 0))
        return err_at(e, t->location, ERR_FEATURE_NOT_SUPPORTED, "trigger functions are not supported");
    if (n_outs > 1)
        return record ? ST_OK
                      : err_at(e, 0, ERR_INVALID_FUNCTION_DEFINITION,
                               "function result type must be record because of OUT parameters");
    if (record && n_outs == 0) {
        r->returns_record = true;
        return ST_OK;
    }
    if (plain && strcmp(t->name, "void") == 0) {
        if (n_outs) {
            char name[TYPE_NAME_MAX];
            return err_at(e, 0, ERR_INVALID_FUNCTION_DEFINITION,
                          "function result type must be %s because of OUT parameters", type_name(out_type, &name));
        }
        r->returns_void = true;
        return ST_OK;
    }
    Type ret;
    int64_t domain;
    TRY(param_type(c, t, &ret, &domain, e));
    const CompositeType *row = composite_of(ret);
    if (row && row->kind == COMPOSITE_TABLE && n_outs == 0)
        return returns_table(a, catalog_table(c, slice_of(row->name)), r);
    if (n_outs == 1 && (ret.id != out_type.id || type_is_poly(ret) != type_is_poly(out_type)) &&
        !(x->n_params && x->params[x->n_params - 1].mode == AST_PARAM_TABLE)) {
        char name[TYPE_NAME_MAX];
        return err_at(e, 0, ERR_INVALID_FUNCTION_DEFINITION,
                      "function result type must be %s because of OUT parameters", type_name(out_type, &name));
    }
    r->ret = n_outs == 1 ? out_type : ret;
    if (n_outs == 0) r->ret_domain = domain;
    return ST_OK;
}

/* An argument of its family tells which type a polymorphic result is. */
static Status check_poly_result(const Routine *r, Type t, Err *e) {
    if (!type_is_poly(t)) return ST_OK;
    const bool common = poly_is_common((PolyType)t.length), range = poly_is_range((PolyType)t.length);
    for (int i = 0; i < r->n_params; i++) {
        const Type x = r->param_types[i];
        const PolyType kind = (PolyType)x.length;
        const bool given = r->param_modes[i] == 'i' || r->param_modes[i] == 'b';
        if (given && type_is_poly(x) && poly_is_common(kind) == common && (!range || poly_is_range(kind))) return ST_OK;
    }
    err_set(e, ERR_INVALID_FUNCTION_DEFINITION, "cannot determine result data type");
    if (range) {
        const char *family = common ? "anycompatible" : "any";
        err_detail(e, "A result of type %s requires at least one input of type %srange or %smultirange.",
                   type_plain_name(t), family, family);
        return ST_ERROR;
    }
    err_detail(e, "A result of type %s requires at least one input of type %s.", type_plain_name(t),
               common ? "anycompatible, anycompatiblearray, anycompatiblenonarray, anycompatiblerange, or "
                        "anycompatiblemultirange"
                      : "anyelement, anyarray, anynonarray, anyenum, anyrange, or anymultirange");
    return ST_ERROR;
}

Status pl_signature(Arena *a, const Catalog *c, const AstCreateFunction *x, Routine *r, Err *e) {
    static const char modes[] = {[AST_PARAM_IN] = 'i',
                                 [AST_PARAM_OUT] = 'o',
                                 [AST_PARAM_INOUT] = 'b',
                                 [AST_PARAM_TABLE] = 't',
                                 [AST_PARAM_VARIADIC] = 'i'};
    *r = (Routine){.is_procedure = x->is_procedure, .strict = x->strict, .volatility = x->volatility};
    if (x->unsupported) return err_set(e, ERR_FEATURE_NOT_SUPPORTED, "%s is not supported", x->unsupported);
    if (!x->language) return err_set(e, ERR_INVALID_FUNCTION_DEFINITION, "no language specified");
    if (strcmp(x->language, "plpgsql") != 0 && strcmp(x->language, "sql") != 0)
        return err_set(e, ERR_UNDEFINED_OBJECT, "language \"%s\" does not exist", x->language);
    if (!x->body.ptr) return err_set(e, ERR_INVALID_FUNCTION_DEFINITION, "no function body specified");
    if (x->n_params > PL_MAX_PARAMS)
        return err_set(e, ERR_TOO_MANY_ARGUMENTS, "%s cannot have more than %d arguments",
                       x->is_procedure ? "procedures" : "functions", PL_MAX_PARAMS);
    r->name = (char *)(uintptr_t)x->name.name;
    r->language = (char *)(uintptr_t)x->language;
    r->n_params = (int)x->n_params;
    r->param_names = arena_array(a, char *, x->n_params + 1);
    r->param_modes = arena_alloc(a, x->n_params + 1);
    r->param_types = arena_array(a, Type, x->n_params + 1);
    r->param_domains = arena_array(a, int64_t, x->n_params + 1);
    if (!r->param_names || !r->param_modes || !r->param_types || !r->param_domains) return ST_ERROR;
    int n_outs = 0;
    bool no_default = false;
    Type out_type = type_make(T_VOID);
    for (int i = 0; i < r->n_params; i++) {
        const AstFuncParam *p = &x->params[i];
        const bool is_variadic = p->mode == AST_PARAM_VARIADIC, in = p->mode == AST_PARAM_IN || is_variadic;
        const bool takes = in || p->mode == AST_PARAM_INOUT;
        if (r->variadic && takes)
            return err_set(e, ERR_INVALID_FUNCTION_DEFINITION, "VARIADIC parameter must be the last input parameter");
        if (r->variadic && r->is_procedure)
            return err_set(e, ERR_INVALID_FUNCTION_DEFINITION, "VARIADIC parameter must be the last parameter");
        if (p->type->setof)
            return err_at(e, p->location, ERR_INVALID_FUNCTION_DEFINITION,
                          x->is_procedure ? "procedures cannot accept set arguments"
                                          : "functions cannot accept set arguments");
        r->param_names[i] = (char *)(uintptr_t)p->name;
        r->param_modes[i] = modes[p->mode];
        TRY(param_type(c, p->type, &r->param_types[i], &r->param_domains[i], e));
        if (is_variadic) {
            const Type t = r->param_types[i];
            r->variadic = true;
            if (t.id != T_ARRAY && !(type_is_poly(t) && (t.length == POLY_ARRAY || t.length == POLY_COMPATIBLE_ARRAY)))
                return err_set(e, ERR_INVALID_FUNCTION_DEFINITION, "VARIADIC parameter must be an array");
        }
        for (int k = 0; p->name && k < i; k++)
            if (r->param_names[k] && strcmp(r->param_names[k], p->name) == 0 &&
                (r->param_modes[k] == 't') == (r->param_modes[i] == 't'))
                return err_set(e, ERR_INVALID_FUNCTION_DEFINITION, "parameter name \"%s\" used more than once",
                               p->name);
        if (!in) {
            n_outs++;
            if (n_outs == 1) out_type = r->param_types[i];
        }
        if (routine_is_arg(r, i)) r->n_args++;
        if (p->def && !takes)
            return err_at(e, 0, ERR_INVALID_FUNCTION_DEFINITION, "only input parameters can have default values");
        if (p->def) {
            r->n_defaults++;
            no_default = true;
        } else if (takes && no_default) {
            return err_set(e, ERR_INVALID_FUNCTION_DEFINITION,
                           "input parameters after one with a default value must also have defaults");
        } else if (routine_is_arg(r, i) && no_default) {
            return err_set(e, ERR_INVALID_FUNCTION_DEFINITION,
                           "procedure OUT parameters cannot appear after one with a default value");
        }
    }
    TRY(result_type(a, c, x, n_outs, out_type, r, e));
    for (int i = 0; i < r->n_params; i++)
        if (r->param_modes[i] != 'i' && r->param_modes[i] != 'b') TRY(check_poly_result(r, r->param_types[i], e));
    return check_poly_result(r, r->ret, e);
}

char *pl_signature_text(Arena *a, const Routine *r) {
    char *s = arena_printf(a, "%s(", r->name);
    bool any = false;
    for (int i = 0; s && i < r->n_params; i++) {
        if (r->param_modes[i] != 'i' && r->param_modes[i] != 'b') continue;
        s = arena_printf(a, "%s%s%s", s, any ? "," : "", type_plain_name(r->param_types[i]));
        any = true;
    }
    return s ? arena_printf(a, "%s)", s) : NULL;
}

/* ---- from text to tree -------------------------------------------------------------------------- */

/* LANGUAGE sql: statements one after the other; the last one's rows are the result. */
static Status sql_body(PlParser *p) {
    PlFunction *f = p->f;
    AstStmt **list;
    int64_t n;
    int32_t outer = p->block;
    if ((p->block = pl_add_block(p, NULL)) < 0) return ST_ERROR;
    if (sql_parse(p->a, p->body, &list, &n, p->e) != ST_OK) {
        p->e->position = p->e->position && p->shift >= 0 ? p->shift + p->e->position : 0;
        return ST_ERROR;
    }
    PlStmt *b = f->body = arena_new_of(p->a, PlStmt);
    if (!b || !(b->body.stmts = arena_array(p->a, PlStmt *, n + 1))) return ST_ERROR;
    *b = (PlStmt){.kind = PLS_BLOCK,
                  .scope.number = p->block,
                  .line = 1,
                  .body = b->body,
                  .loop = f->n_loops++,
                  .cursor.var = -1,
                  .arms.case_var = -1,
                  .scope.state_var = -1,
                  .scope.message_var = -1,
                  .implicit_var = -1};
    bool returns = !f->returns_void && !f->is_procedure;
    for (int64_t i = 0; i < n; i++) {
        PlStmt *s = arena_new_of(p->a, PlStmt);
        PlExpr *x = arena_new_of(p->a, PlExpr);
        if (!s || !x) return ST_ERROR;
        *x = (PlExpr){.stmt = list[i],
                      .block = p->block,
                      .limit = f->n_vars,
                      .line = pl_line(p, list[i]->source_offset),
                      .number = f->n_exprs++};
        if (!(x->text = arena_strndup(p->a, list[i]->source.ptr, list[i]->source.len))) return ST_ERROR;
        *s = (PlStmt){.kind = PLS_SQL,
                      .scope.number = p->block,
                      .line = x->line,
                      .query = x,
                      .loop = -1,
                      .cursor.var = -1,
                      .arms.case_var = -1,
                      .scope.state_var = -1,
                      .scope.message_var = -1,
                      .implicit_var = -1};
        if (i == n - 1 && (returns || f->has_outs)) {
            if (f->returns_set) {
                s->kind = PLS_RETURN_QUERY;
            } else {
                VEC(PlRef) targets = {0};
                for (int32_t k = 0; f->has_outs && k < f->n_params; k++) {
                    PlRef r = {k, NULL};
                    if (f->param_modes[k] != PL_IN && !vec_push(p->a, &targets, r)) return ST_ERROR;
                }
                if (!f->has_outs) {
                    PlVar v = {.kind = PLV_SCALAR, .type = f->ret, .domain = f->ret_domain, .block = p->block};
                    if (f->returns_record) v.kind = PLV_RECORD;
                    f->result_var = pl_add_var(p, &v);
                    PlRef r = {f->result_var, NULL};
                    if (f->result_var < 0 || !vec_push(p->a, &targets, r)) return ST_ERROR;
                    s->is_row = f->returns_record;
                }
                s->has_into = true;
                s->targets = targets.items;
                s->n_targets = (int32_t)targets.len;
            }
        }
        b->body.stmts[b->body.n++] = s;
    }
    p->block = outer;
    if (n == 0 && returns) {
        char type[TYPE_NAME_MAX];
        err_set(p->e, ERR_INVALID_FUNCTION_DEFINITION, "return type mismatch in function declared to return %s",
                f->returns_record ? "record" : type_name(f->ret, &type));
        err_detail(p->e, "Final statement must be SELECT or INSERT/UPDATE/DELETE RETURNING.");
        return ST_ERROR;
    }
    return ST_OK;
}

static Status make(Arena *a, const Catalog *c, const Routine *sig, const AstCreateFunction *x, Slice body,
                   int64_t body_offset, PlFunction **out, Err *e) {
    PlFunction *f = arena_new_of(a, PlFunction);
    PlParser p = {.a = a, .e = e, .c = c, .f = f, .body = body, .shift = body_offset, .line = 1, .block = -1};
    if (!f) return ST_ERROR;
    f->name = name_of_key(sig->name);
    f->source = body.ptr;
    f->is_procedure = sig->is_procedure;
    f->returns_set = sig->returns_set;
    f->returns_void = sig->returns_void || (sig->is_procedure);
    f->returns_record = sig->returns_record;
    f->strict = sig->strict;
    f->ret = sig->ret;
    f->ret_domain = sig->ret_domain;
    f->result_var = -1;
    f->is_sql = strcmp(sig->language, "sql") == 0;
    if (!(f->signature = pl_signature_text(a, sig))) return ST_ERROR;
    int n = 0;
    while (n < sig->n_params && sig->param_modes[n] != 'c') n++;
    f->param_names = arena_array(a, const char *, n + 1);
    f->param_modes = arena_array(a, uint8_t, n + 1);
    f->param_types = arena_array(a, Type, n + 1);
    f->param_defaults = arena_array(a, const AstExpr *, n + 1);
    if (!f->param_names || !f->param_modes || !f->param_types || !f->param_defaults || pl_add_block(&p, f->name) < 0)
        return ST_ERROR;
    p.block = 0;
    f->n_params = n;
    for (int i = 0; i < n; i++) {
        PlVar v = {.name = sig->param_names[i], .kind = PLV_SCALAR, .type = sig->param_types[i]};
        if (sig->param_domains) v.domain = sig->param_domains[i];
        f->param_names[i] = sig->param_names[i];
        f->param_types[i] = sig->param_types[i];
        f->param_modes[i] = sig->param_modes[i] == 'i' ? PL_IN : sig->param_modes[i] == 'b' ? PL_INOUT : PL_OUT;
        f->param_defaults[i] = x && i < x->n_params ? x->params[i].def : NULL;
        f->has_outs |= f->param_modes[i] != PL_IN;
        if (pl_add_var(&p, &v) < 0) return ST_ERROR;
    }
    PlVar found = {.name = "found", .kind = PLV_SCALAR, .type = type_make(T_BOOL)};
    if ((f->found = pl_add_var(&p, &found)) < 0) return ST_ERROR;
    TRY(f->is_sql ? sql_body(&p) : pl_read_body(&p));
    f->keeps_transaction = x && (x->options.n_sets > 0 || x->options.definer == 1);
    if (x && !(f->sets = arena_array(a, const AstSet *, x->options.n_sets + 1))) return ST_ERROR;
    for (int64_t i = 0; x && i < x->options.n_sets; i++)
        if (x->options.sets[i]->set_kind == AST_SET_VALUE && x->options.sets[i] != x->path)
            f->sets[f->n_sets++] = x->options.sets[i];
    *out = f;
    return ST_OK;
}

static Status finish(Arena *a, Status st, Err *e) {
    if (st == ST_OK || err_is_set(e)) return st;
    const Err *ae = arena_err(a);
    if (ae && ae != e && err_is_set(ae)) err_copy(e, ae);
    else err_oom(e);
    return st;
}

Status pl_of_create(Arena *a, const Catalog *c, const AstCreateFunction *x, PlFunction **out, Err *e) {
    Routine sig;
    Status st = pl_signature(a, c, x, &sig, e);
    if (st == ST_OK) st = make(a, c, &sig, x, x->body, x->body_offset, out, e);
    return finish(a, st, e);
}

Status pl_of_do(Arena *a, const Catalog *c, const AstDo *x, PlFunction **out, Err *e) {
    Routine sig = {.name = (char *)(uintptr_t) "inline_code_block",
                   .returns_void = true,
                   .language = (char *)(uintptr_t) "plpgsql",
                   .ret = type_make(T_VOID)};
    if (!x->body.ptr) return err_set(e, ERR_SYNTAX, "no inline code specified");
    if (x->language && strcmp(x->language, "sql") == 0)
        return err_set(e, ERR_FEATURE_NOT_SUPPORTED, "language \"sql\" does not support inline code execution");
    if (x->language && strcmp(x->language, "plpgsql") != 0)
        return err_set(e, ERR_UNDEFINED_OBJECT, "language \"%s\" does not exist", x->language);
    Status st = make(a, c, &sig, NULL, x->body, x->body_offset, out, e);
    if (st == ST_OK) (*out)->signature = "inline_code_block";
    return finish(a, st, e);
}

Status pl_of_statement(Arena *a, const Catalog *c, const Routine *sig, Slice text, PlFunction **out, Err *e) {
    int n = 0;
    while (n < sig->n_params && sig->param_modes[n] == 'i') n++;
    while (text.len > 0 && (text.ptr[text.len - 1] == ';' || (unsigned char)text.ptr[text.len - 1] <= ' ')) text.len--;
    char *body = arena_printf(a, "begin\n%.*s\n", (int)text.len, text.ptr);
    for (int i = n + 1; body && i < sig->n_params; i++)
        body = arena_printf(a, "%s%s \"%s\"", body, i == n + 1 ? "into" : ",", sig->param_names[i]);
    if (body) body = arena_printf(a, "%s;\nget diagnostics \"%s\" = row_count;\nend", body, sig->param_names[n]);
    if (!body) return finish(a, ST_ERROR, e);
    SearchPath *path = arena_new_of(a, SearchPath);
    if (!path) return finish(a, ST_ERROR, e);
    *path = *search_path_now();
    path->pinned = true; /* it is the statement's */
    Status st = make(a, c, sig, NULL, slice_of(body), 0, out, e);
    if (st == ST_OK) (*out)->conflict = PLC_COLUMN;
    if (st == ST_OK) (*out)->has_path = true;
    if (st == ST_OK) (*out)->path = path;
    return finish(a, st, e);
}

/* The routine's search path, in the arena. */
static Status path_of(Arena *a, const Routine *r, const SearchPath **out, Err *e) {
    SearchPath *p = r->path ? arena_new_of(a, SearchPath) : NULL;
    *out = r->path ? p : search_path_public();
    if (!r->path) return ST_OK;
    if (!p) return ST_ERROR;
    if (!search_path_parse(r->path, NULL, p)) return err_internal(e, "the search path of routine \"%s\"", r->name);
    p->pinned = true;
    return ST_OK;
}
static Status read_create(Arena *a, const Catalog *c, const Routine *r, const AstCreateFunction *x, PlFunction **out,
                          Err *e) {
    Routine sig;
    TRY(pl_signature(a, c, x, &sig, e));
    sig.name = r->name;
    if (!r->generic) return make(a, c, &sig, x, x->body, x->body_offset, out, e);
    /* an instance: the text has polymorphic types where it has actual ones */
    const char *signature = pl_signature_text(a, &sig);
    if (!signature || sig.n_params != r->n_params) return ST_ERROR;
    sig.param_types = r->param_types;
    sig.ret = r->ret;
    TRY(make(a, c, &sig, x, x->body, x->body_offset, out, e));
    (*out)->signature = signature;
    return ST_OK;
}
Status pl_of_routine(Arena *a, const Catalog *c, const Routine *r, PlFunction **out, Err *e) {
    AstStmt **list;
    int64_t n;
    const SearchPath *path;
    Routine own = *r; /* the tree points into its texts; the catalog's may go first */
    own.sql = arena_strdup(a, r->sql);
    own.name = arena_strdup(a, r->name);
    if (!own.sql || !own.name || path_of(a, r, &path, e) != ST_OK) return finish(a, ST_ERROR, e);
    TRY(sql_parse(a, slice_of(own.sql), &list, &n, e));
    if (n != 1 || list[0]->kind != AST_CREATE_FUNCTION)
        return err_internal(e, "routine \"%s\" has no CREATE statement", r->name);
    const SearchPath *before = search_path_use(path);
    const Status st = read_create(a, c, &own, AST_AS_CONST(AstCreateFunction, list[0]), out, e);
    (void)search_path_use(before);
    if (st == ST_OK) (*out)->has_path = true;
    if (st == ST_OK) (*out)->path = path;
    return finish(a, st, e);
}

/* ---- does it change data -------------------------------------------------------------------------- */

static bool body_writes(const PlBody *b);
static bool stmt_writes(const PlStmt *s) {
    if (stack_stop()) return true;
    switch ((int)s->kind) {
    case PLS_DYNAMIC:
    case PLS_CALL:
    case PLS_PERFORM:
    case PLS_COMMIT:
    case PLS_ROLLBACK: return true;
    case PLS_FOR_QUERY:
    case PLS_RETURN_QUERY:
    case PLS_OPEN:
        if (s->expr && s->kind != PLS_OPEN) return true;
        break;
    default: break;
    }
    if (s->query && s->query->stmt && s->query->stmt->kind != AST_SELECT) return true;
    if (body_writes(&s->body)) return true;
    for (int32_t i = 0; i < s->arms.n; i++)
        if (body_writes(&s->arms.items[i].body)) return true;
    for (int32_t i = 0; i < s->scope.n_handlers; i++)
        if (body_writes(&s->scope.handlers[i].body)) return true;
    return false;
}
static bool body_writes(const PlBody *b) {
    for (int32_t i = 0; i < b->n; i++)
        if (stmt_writes(b->stmts[i])) return true;
    return false;
}
bool pl_may_write(const PlFunction *f) { return stmt_writes(f->body); }
