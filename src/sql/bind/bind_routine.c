/* bind_routine.c - calls of functions and procedures of the catalog.
 *
 * Overloads are chosen by PostgreSQL's rules: exact types, then implicit casts, most exact matches, preferred types,
 * categories of untyped literals; of equals the one with fewer defaults. A scalar call becomes an EX_FUNC whose kernel
 * calls back into the session (SessionInfo.call_routine). A call in FROM with fixed arguments becomes LP_VALUES whose
 * rows the session fills in before the plan runs (PlanValues.routine_id); one with columns as arguments, or beside
 * others, an EX_FUNC that gives its rows as an array (call_routine_rows; bind_rows.c).
 *
 * Of a polymorphic routine the call means an instance (catalog/routine_instance.h): behind bind_args() nothing knows
 * the difference. Arguments of a VARIADIC parameter become an array there.
 */
#include <stdio.h>

#include "catalog/names.h"
#include "catalog/routine_instance.h"
#include "catalog/user_function.h"
#include "sql/bind/bind_int.h"
#include "sql/bind/bind_poly.h"
#include "types/array.h"
#include "types/composite.h"

enum { ARGS_MAX = 100, CANDIDATES_MAX = 64 };

typedef struct Candidate {
    const Routine *r;
    UserFunction *user; /* that it is the signature of; NULL: a routine of the catalog */
    int *slots;         /* per given argument: which of the routine's arguments it is */
    Type *types;        /* and its type; polymorphic until there is an instance */
    int n_default;
    int place;     /* of its schema in the search path */
    bool expanded; /* the last slot's arguments are elements of its array */
} Candidate;

/* Both are numeric in SQL. */
static bool narrows(Type from, Type to) { return from.id == T_DECIMAL && to.id == T_NUMERIC; }
static bool implicit(Type from, Type to) {
    if (type_is_poly(to)) return true; /* poly_fits() looks at them together */
    if (type_is_array(from) && type_is_array(to)) return implicit(type_element(from), type_element(to));
    const bool same = from.id == to.id && !type_is_defined(from); /* of these cast_exists knows one from another */
    return from.id == T_UNKNOWN || same || cast_exists(from, to, CAST_IMPLICIT) || narrows(from, to);
}

static Expr *argument(Binder *b, Expr *e, Type t, int64_t location) {
    return bind_coerce(b, e, t, narrows(e->type, t) ? CAST_ASSIGNMENT : CAST_IMPLICIT, location);
}

/* Argument k as one of its parameter's domain. Of OUT parameters nothing is computed. */
static Expr *domain_argument(Binder *b, const Routine *r, int k, Expr *e, int64_t location) {
    int i = 0;
    for (int n = -1; i < r->n_params; i++)
        if (routine_is_arg(r, i) && ++n == k) break;
    if (i == r->n_params || r->param_modes[i] == 'o' || !r->param_domains) return e;
    return bind_domain(b, e, catalog_domain_by_id(b->c->catalog, r->param_domains[i]), location);
}

/* Arguments to parameters; false: the routine does not take them. variadic: the last one is the array of a VARIADIC
 * parameter. */
static bool place_args(const Routine *r, int64_t n, const char *const *names, bool variadic, Candidate *c) {
    bool used[ARGS_MAX] = {false};
    int param[ARGS_MAX], n_args = 0;
    c->expanded = r->variadic && !variadic && n >= r->n_args;
    if (r->n_args > ARGS_MAX || (n > r->n_args && !c->expanded) || (r->variadic && !variadic && names)) return false;
    for (int i = 0; i < r->n_params; i++)
        if (routine_is_arg(r, i)) param[n_args++] = i;
    for (int64_t i = 0; i < n; i++) {
        int k = (int)MIN_OF(i, n_args - 1);
        const bool element = c->expanded && k == n_args - 1;
        if (names && names[i]) {
            for (k = 0; k < n_args; k++) {
                const char *own = r->param_names[param[k]];
                if (own && strcmp(own, names[i]) == 0) break;
            }
            if (k == n_args) return false;
        }
        if (used[k] && !element) return false;
        used[k] = true;
        c->slots[i] = k;
        c->types[i] = element ? poly_element_of(r->param_types[param[k]]) : r->param_types[param[k]];
    }
    for (int k = 0; k < n_args; k++)
        if (!used[k] && k < n_args - r->n_defaults) return false;
    c->r = r;
    c->n_default = MAX_OF(n_args - (int)n, 0);
    return true;
}

static int keep_best(Candidate **c, int n, const int *score) {
    int best = -1, m = 0;
    for (int i = 0; i < n; i++) best = MAX_OF(best, score[i]);
    for (int i = 0; i < n; i++)
        if (score[i] == best) c[m++] = c[i];
    return m;
}

/* SQL has one numeric. */
static uint8_t sql_id(Type t) { return t.id == T_NUMERIC ? T_DECIMAL : t.id; }
static bool same_type(Type a, Type b) {
    return sql_id(a) == sql_id(b) && (a.id != T_ARRAY || sql_id(type_element(a)) == sql_id(type_element(b)));
}

static int narrow(Candidate **c, int n, int64_t n_args, Expr *const *args) {
    int score[CANDIDATES_MAX];
    for (int i = 0; i < n; i++) {
        score[i] = 0;
        for (int64_t k = 0; k < n_args; k++) score[i] += same_type(args[k]->type, c[i]->types[k]);
    }
    n = keep_best(c, n, score);
    for (int i = 0; n > 1 && i < n; i++) {
        score[i] = 0;
        for (int64_t k = 0; k < n_args; k++) {
            uint8_t in = sql_id(args[k]->type), t = sql_id(c[i]->types[k]);
            score[i] += in != T_UNKNOWN && (in == t || (type_category(in) == type_category(t) && type_preferred(t)));
        }
    }
    if (n > 1) n = keep_best(c, n, score);
    /* untyped literals: text if any candidate takes text there, else the common category's preferred type */
    for (int64_t k = 0; n > 1 && k < n_args; k++) {
        if (args[k]->type.id != T_UNKNOWN) continue;
        bool text = false, pref = false;
        for (int i = 0; i < n; i++) {
            text |= type_category(c[i]->types[k].id) == 'S';
            pref |= type_preferred(c[i]->types[k].id);
        }
        for (int i = 0; i < n; i++) {
            uint8_t t = c[i]->types[k].id;
            score[i] = text ? type_category(t) == 'S' : pref ? type_preferred(t) : 1;
        }
        n = keep_best(c, n, score);
    }
    for (int i = 0; n > 1 && i < n; i++) score[i] = ARGS_MAX - c[i]->n_default + (c[i]->expanded ? 0 : ARGS_MAX + 1);
    return n > 1 ? keep_best(c, n, score) : n;
}

static const char *call_text(Binder *b, const char *name, int64_t n, Expr *const *args, const char *const *names) {
    const char *t = arena_printf(b->a, "%s(", name);
    for (int64_t i = 0; t && i < n; i++)
        t = arena_printf(b->a, "%s%s%s%s%s", t, i ? ", " : "", names && names[i] ? names[i] : "",
                         names && names[i] ? " => " : "", type_plain_name(args[i]->type));
    return t ? arena_printf(b->a, "%s)", t) : name;
}

int sql_routine_place(const Routine *r, const char *schema, const char *name) {
    if (!key_is_named(r->name, name)) return -1;
    if (!schema) return search_path_place(schema_of_key(r->name));
    const char *in = schema_meant(schema);
    return in && !schema_is_others(in) && key_is_in(r->name, in) ? 0 : -1;
}
/* A routine is hidden by one with the same parameters in a schema that comes before its own. */
static int drop_hidden(Candidate **c, int n) {
    int kept = 0;
    for (int i = 0; i < n; i++) {
        bool hidden = false;
        for (int k = 0; k < n && !hidden; k++) hidden = c[k]->place < c[i]->place && sql_same_inputs(c[k]->r, c[i]->r);
        if (!hidden) c[kept++] = c[i];
    }
    return kept;
}
/* The routine that a call means, and where its arguments go. *found false, ST_OK: there is none for these arguments. */
static Status find_routine(Binder *b, const char *schema, const char *name, bool procedure, int64_t n, Expr **args,
                           const char *const *names, bool variadic, int64_t location, Candidate *out, bool *found) {
    const Catalog *k = b->c->catalog;
    Candidate *list[CANDIDATES_MAX];
    UserFunction **users = NULL;
    int n_list = 0, wrong_kind = 0, n_users;
    Type *given = arena_array(b->a, Type, n + 1);
    Poly poly;
    if (!given) return ST_ERROR;
    for (int64_t i = 0; i < n; i++) given[i] = args[i]->type;
    *found = false;
    name_read(slice_of(name));
    if (!schema && !search_path_now()->pinned) name_read_path(search_path_now()->hash);
    TRY(user_functions_find(k->functions, name, b->a, &n_users, &users));
    for (int64_t i = 0; i < k->n_routines + n_users && n_list < CANDIDATES_MAX; i++) {
        UserFunction *user = i < k->n_routines ? NULL : users[i - k->n_routines];
        const Routine *r = user ? &user->signature : k->routines[i];
        const int place = user ? 0 : sql_routine_place(r, schema, name);
        if (place < 0) continue;
        Candidate *c = arena_new_of(b->a, Candidate);
        if (!c || !(c->slots = arena_array(b->a, int, n + 1)) || !(c->types = arena_array(b->a, Type, n + 1)))
            return ST_ERROR;
        bool ok = place_args(r, n, names, variadic, c);
        for (int64_t j = 0; ok && j < n; j++) ok = implicit(args[j]->type, c->types[j]);
        if (!ok || !poly_fits((int)n, c->types, given, &poly)) continue;
        c->user = user;
        c->place = place;
        if (r->is_procedure != procedure) {
            wrong_kind++;
            continue;
        }
        list[n_list++] = c;
    }
    int64_t pos = bind_pos(b, location);
    if (n_list == 0 && wrong_kind) {
        err_at(b->err, pos, ERR_WRONG_OBJECT_TYPE, "%s is %s", call_text(b, name, n, args, names),
               procedure ? "not a procedure" : "a procedure");
        err_hint(b->err, procedure ? "To call a function, use SELECT." : "To call a procedure, use CALL.");
        return ST_ERROR;
    }
    n_list = drop_hidden(list, n_list);
    if (n_list > 1) n_list = narrow(list, n_list, n, args);
    if (n_list > 1) {
        const char *what = procedure ? "procedure" : "function";
        err_at(b->err, pos, ERR_AMBIGUOUS_FUNCTION, "%s %s is not unique", what, call_text(b, name, n, args, names));
        err_hint(b->err, "Could not choose a best candidate %s. You might need to add explicit type casts.", what);
        return ST_ERROR;
    }
    if (n_list == 0 && names && !func_named(slice_of(name))) {
        const char *what = procedure ? "procedure" : "function";
        err_at(b->err, pos, ERR_UNDEFINED_FUNCTION, "%s %s does not exist", what, call_text(b, name, n, args, names));
        err_hint(b->err, "No %s matches the given name and argument types. You might need to add explicit type casts.",
                 what);
        return ST_ERROR;
    }
    if (n_list == 0) return ST_OK;
    *out = *list[0];
    *found = true;
    return ST_OK;
}

/* DEFAULT expressions stand in the CREATE statement. */
static Status fill_defaults(Binder *b, const Routine *r, Expr **args) {
    AstStmt **list;
    int64_t n;
    bool fixed = b->fixed_pos, params = b->params_ok;
    int64_t pos = b->pos;
    KeptLiterals *literals = b->literals;
    SearchPath room;
    if (r->path && !search_path_parse(r->path, NULL, &room))
        return err_internal(b->err, "the search path of routine \"%s\"", r->name);
    room.pinned = room.no_temp = true;
    TRY(sql_parse(b->a, slice_of(r->sql), &list, &n, b->err));
    if (n != 1 || list[0]->kind != AST_CREATE_FUNCTION)
        return err_internal(b->err, "routine \"%s\" has no CREATE statement", r->name);
    const AstCreateFunction *x = AST_AS_CONST(AstCreateFunction, list[0]);
    Query *q = arena_new_of(b->a, Query);
    if (!q) return ST_ERROR;
    q->clause = "DEFAULT expressions";
    q->is_default = true;
    const SearchPath *path = search_path_use(r->path ? &room : NULL);
    Status st = ST_OK;
    b->fixed_pos = true;
    b->pos = 0;
    b->literals = NULL;
    b->params_ok = false;
    for (int i = 0, k = 0; st == ST_OK && i < r->n_params && i < x->n_params; i++) {
        if (!routine_is_arg(r, i)) continue;
        if (!args[k] && x->params[i].def) {
            const Type t = r->param_types[i];
            Expr *e = bind_expr(b, q, x->params[i].def);
            args[k] = e && !type_is_poly(t) ? bind_coerce(b, e, t, CAST_ASSIGNMENT, 0) : e;
            if (!args[k]) st = ST_ERROR;
        }
        k++;
    }
    (void)search_path_use(path);
    if (st != ST_OK) return st;
    b->fixed_pos = fixed;
    b->pos = pos;
    b->literals = literals;
    b->params_ok = params;
    return ST_OK;
}

bool bind_has_routines(const Binder *b, const char *name) {
    const Catalog *k = b->c->catalog;
    name_read(slice_of(name)); /* there may be some later */
    return k && (k->n_routines > 0 || (k->functions && k->functions->n > 0));
}

bool bind_is_routine(const Binder *b, const char *name) {
    const Catalog *k = b->c->catalog;
    name_read(slice_of(name));
    for (int64_t i = 0; i < k->n_routines; i++)
        if (key_is_named(k->routines[i]->name, name)) return true;
    for (int kind = USER_SCALAR; kind <= USER_TABLE; kind++)
        if (user_functions_has(k->functions, name, (UserFunctionKind)kind)) return true;
    return false;
}

static Status note_routine(Binder *b, const Routine *r);
Status bind_find_aggregate(Binder *b, const AstFunc *f, int n, Expr **given, const Routine **out) {
    Candidate c;
    bool found;
    *out = NULL;
    TRY(find_routine(b, f->name.schema, f->name.name, false, n, given, f->arg_names, false, f->location, &c, &found));
    if (!found) {
        if (!f->name.schema && func_is_aggregate(slice_of(f->name.name))) return ST_OK;
        err_at(b->err, bind_pos(b, f->location), ERR_UNDEFINED_FUNCTION, "function %s does not exist",
               call_text(b, f->name.name, n, given, f->arg_names));
        err_hint(b->err,
                 "No function matches the given name and argument types. You might need to add explicit type casts.");
        return ST_ERROR;
    }
    if (c.user || !routine_is_aggregate(c.r))
        return err_at(b->err, bind_pos(b, f->location), ERR_FEATURE_NOT_SUPPORTED,
                      "an aggregate and a function named \"%s\" are not told apart here", f->name.name);
    if (c.r->n_args == 0 && !f->star)
        return err_at(b->err, bind_pos(b, f->location), ERR_WRONG_OBJECT_TYPE,
                      "%s(*) must be used to call a parameterless aggregate function", f->name.name);
    TRY(note_routine(b, c.r));
    if (!f->name.schema) TRY(bind_keep_schema(b, f->location, c.r->name));
    *out = c.r;
    return ST_OK;
}

Status bind_user_args(Binder *b, const AstFunc *f, int64_t n, Expr **given, UserFunction **out, Expr **args) {
    Candidate c;
    bool found;
    *out = NULL;
    TRY(find_routine(b, f->name.schema, f->name.name, false, n, given, f->arg_names, false, f->location, &c, &found));
    if (!found || !c.user) {
        const char *call = call_text(b, f->name.name, n, given, f->arg_names);
        err_at(b->err, bind_pos(b, f->location), ERR_UNDEFINED_FUNCTION, "function %s does not exist", call);
        err_hint(b->err,
                 "No function matches the given name and argument types. You might need to add explicit type casts.");
        return ST_ERROR;
    }
    for (int64_t i = 0; i < n; i++)
        if (!(args[c.slots[i]] = argument(b, given[i], c.types[i], f->args[i]->location))) return ST_ERROR;
    b->c->one_thread |= c.user->one_thread;
    *out = c.user;
    return ST_OK;
}

/* Plans and effects of a statement depend on the routine; of a client's function they do not. */
static Status note_routine(Binder *b, const Routine *r) {
    PlanCtx *c = b->c;
    bool known = false;
    const FuncDef *later = NULL;
    c->calls_routine = true;
    c->writes_routine |= r->may_write;
    for (int64_t i = 0; i < c->routine_ids.len && !known; i++) known = c->routine_ids.items[i] == r->id;
    if (!known && r->generic && /* views and the like depend on that one */
        (!vec_push(b->a, &c->routine_ids, r->generic) || !vec_push(b->a, &c->routine_defs, later)))
        return ST_ERROR;
    if (!known && (!vec_push(b->a, &c->routine_ids, r->id) || !vec_push(b->a, &c->routine_defs, later)))
        return ST_ERROR;
    return ST_OK;
}

/* The instance of a polymorphic routine that a call means. args: in the routine's order, as they were bound, defaults
 * included. */
static Status find_instance(Binder *b, const AstFunc *f, Candidate *c, Expr *const *given, Expr *const *args) {
    const Routine *r = c->r;
    Type declared[2 * ARGS_MAX], actual[2 * ARGS_MAX], *types = arena_array(b->a, Type, r->n_params + 1), ret;
    bool is_given[ARGS_MAX] = {false};
    int n = 0;
    Poly poly;
    if (!types) return ST_ERROR;
    for (int64_t i = 0; i < f->n_args; i++, n++) {
        declared[n] = c->types[i];
        actual[n] = given[i]->type;
        is_given[c->slots[i]] = true;
    }
    for (int i = 0, k = 0; i < r->n_params; i++) {
        if (!routine_is_arg(r, i)) continue;
        if (!is_given[k]) {
            declared[n] = r->param_types[i];
            actual[n++] = args[k]->type;
        }
        k++;
    }
    if (!poly_fits(n, declared, actual, &poly)) {
        err_at(b->err, bind_pos(b, f->location), ERR_UNDEFINED_FUNCTION, "function %s does not exist",
               call_text(b, r->name, f->n_args, given, f->arg_names));
        return ST_ERROR;
    }
    TRY(poly_settle(&poly, b->err));
    for (int i = 0; i < r->n_params; i++) TRY(poly_type(&poly, r->param_types[i], &types[i], b->err));
    TRY(poly_type(&poly, r->ret, &ret, b->err));
    for (int64_t i = 0; i < f->n_args; i++) TRY(poly_type(&poly, c->types[i], &c->types[i], b->err));
    return routine_instance(b->c->catalog->instances, r, types, ret, &c->r, b->err);
}

/* args: in the routine's order, cast, defaults and the array of a VARIADIC parameter included. */
static Status place_values(Binder *b, const AstFunc *f, Candidate *c, Expr *const *given, Expr **args) {
    const int last = c->r->n_args - 1;
    Expr **items = arena_array(b->a, Expr *, f->n_args + 1);
    int64_t n_items = 0;
    if (!items) return ST_ERROR;
    for (int64_t i = 0; i < f->n_args; i++) args[c->slots[i]] = given[i];
    if (c->n_default > 0) TRY(fill_defaults(b, c->r, args));
    if (routine_is_polymorphic(c->r)) TRY(find_instance(b, f, c, given, args));
    for (int i = 0, k = 0; c->n_default > 0 && i < c->r->n_params; i++)
        if (routine_is_arg(c->r, i)) {
            const bool open = args[k] && !type_eq(args[k]->type, c->r->param_types[i]);
            if (open && !(args[k] = bind_coerce(b, args[k], c->r->param_types[i], CAST_ASSIGNMENT, 0))) return ST_ERROR;
            k++;
        }
    for (int64_t i = 0; i < f->n_args; i++) {
        Expr *e = argument(b, given[i], c->types[i], f->args[i]->location);
        if (!e) return ST_ERROR;
        if (c->expanded && c->slots[i] == last) items[n_items++] = e;
        else args[c->slots[i]] = e;
    }
    if (c->expanded && !(args[last] = bind_array_of(b, n_items, items, f->location))) return ST_ERROR;
    return ST_OK;
}

Status bind_keep_schema(Binder *b, int64_t location, const char *key) {
    if (!b->literals || !key_has_schema(key) || location <= 0) return ST_OK;
    char *quoted = arena_alloc(b->a, 2 * (int64_t)strlen(key) + 3);
    const Slice schema = schema_of_key(key);
    const char *name = arena_strndup(b->a, schema.ptr, schema.len);
    if (!quoted || !name) return ST_ERROR;
    (void)name_put_quoted(name, quoted);
    const char *insert = arena_printf(b->a, "%s.", quoted);
    return insert && vec_push(b->a, &b->literals->list, ((KeptLiteral){.location = location, .insert = insert}))
               ? ST_OK
               : ST_ERROR;
}

/* Arguments in the routine's order, cast; *out NULL: there is no such routine. *user: it is the signature of that one.
 */
static Status bind_args(Binder *b, Query *q, const AstFunc *f, bool procedure, const Routine **out, UserFunction **user,
                        Expr ***args_out) {
    const char *name = f->name.name;
    *out = NULL;
    *user = NULL;
    if (f->n_args > ARGS_MAX || !bind_is_routine(b, name)) return ST_OK;
    bool positional_after = false;
    for (int64_t i = 0; f->arg_names && i < f->n_args; i++) {
        if (f->arg_names[i]) positional_after = true;
        else if (positional_after)
            return err_at(b->err, bind_pos(b, f->args[i]->location), ERR_SYNTAX,
                          "positional argument cannot follow named argument");
        for (int64_t j = 0; f->arg_names[i] && j < i; j++)
            if (f->arg_names[j] && strcmp(f->arg_names[j], f->arg_names[i]) == 0)
                return err_at(b->err, bind_pos(b, f->args[i]->location), ERR_SYNTAX,
                              "argument name \"%s\" used more than once", f->arg_names[i]);
    }
    Expr **given = bind_list(b, q, f->args, f->n_args);
    Candidate c;
    bool found;
    if (!given) return ST_ERROR;
    TRY(find_routine(b, f->name.schema, name, procedure, f->n_args, given, f->arg_names, f->variadic, f->location, &c,
                     &found));
    if (!found) return ST_OK;
    if (!c.user && routine_is_aggregate(c.r))
        return err_at(b->err, bind_pos(b, f->location), ERR_GROUPING,
                      "aggregate functions are not allowed in functions in FROM");
    const char *wrong = f->star         ? "(*)"
                        : f->distinct   ? "DISTINCT"
                        : f->n_order_by ? "ORDER BY"
                        : f->filter     ? "FILTER"
                        : f->over       ? "OVER"
                                        : NULL;
    if (wrong)
        return err_at(b->err, bind_pos(b, f->location), ERR_WRONG_OBJECT_TYPE,
                      "%s specified, but %s is not an aggregate function", wrong, name);
    Expr **args = arena_array(b->a, Expr *, c.r->n_args + 1);
    if (!args) return ST_ERROR;
    TRY(place_values(b, f, &c, given, args));
    for (int k = 0; !c.user && k < c.r->n_args; k++)
        if (!(args[k] = domain_argument(b, c.r, k, args[k], args[k]->location))) return ST_ERROR;
    if (c.user) b->c->one_thread |= c.user->one_thread;
    else TRY(note_routine(b, c.r));
    if (!c.user && !f->name.schema) TRY(bind_keep_schema(b, f->location, c.r->name));
    *out = c.r;
    *user = c.user;
    *args_out = args;
    return ST_OK;
}

/* ---- scalar calls ---------------------------------------------------------------------------- */

void bind_arg_value(const Vec *v, int64_t i, Value *out) {
    int64_t k = v->is_const ? 0 : i;
    *out = (Value){.type = v->type, .is_null = v->valid && !v->valid[k]};
    if (v->type.id == T_NUMERIC && v->phys != type_phys(v->type)) {
        if (v->phys == PH_I64) out->u.i128 = ((const int64_t *)v->data)[k];
        else out->u.i64 = (int64_t)((const int128_t *)v->data)[k];
        return;
    }
    int64_t size = phys_size((Phys)v->phys);
    memcpy(value_cell(out), (const char *)v->data + k * size, (size_t)size);
}

void bind_put_value(Vec *out, int64_t i, const Value *v) {
    int64_t size = phys_size((Phys)out->phys);
    out->valid[i] = !v->is_null;
    if (v->is_null) {
        memset((char *)out->data + i * size, 0, (size_t)size);
        if (out->phys == PH_STR) ((Str *)out->data)[i] = str_make("", 0);
    } else if (v->type.id == T_NUMERIC && out->phys != type_phys(v->type)) {
        if (out->phys == PH_I64) ((int64_t *)out->data)[i] = (int64_t)v->u.i128;
        else ((int128_t *)out->data)[i] = v->u.i64;
    } else {
        memcpy((char *)out->data + i * size, value_cell_const(v), (size_t)size);
    }
}

/* args[0]: the routine's id. */
static Status call_kernel(FuncCtx *ctx, int64_t n, const Vec *args, int nargs, Vec *out) {
    Value result, *vals = arena_array(ctx->arena, Value, nargs + 1); /* not the stack: calls nest deeply */
    if (!vals) return stack_failed(ctx->err);
    if (!ctx->session || !ctx->session->call_routine)
        return err_set(ctx->err, ERR_FEATURE_NOT_SUPPORTED, "functions of the catalog cannot be called here");
    for (int64_t i = 0; i < n; i++) {
        for (int k = 0; k < nargs; k++) bind_arg_value(&args[k], i, &vals[k]);
        if (ctx->session->call_routine(ctx->session->setting_ctx, vals[0].u.i64, nargs - 1, vals + 1, ctx->ret,
                                       ctx->arena, &result, ctx->err) != ST_OK) {
            ctx->error_row = i;
            return ST_ERROR;
        }
        bind_put_value(out, i, &result);
    }
    return ST_OK;
}

/* One per routine and statement, so that equal calls are equal expressions. */
static const FuncDef *def_of(Binder *b, const Routine *r, Type ret) {
    PlanCtx *c = b->c;
    int64_t k = 0;
    while (c->routine_ids.items[k] != r->id) k++; /* bind_args put it there */
    if (c->routine_defs.items[k]) return c->routine_defs.items[k];
    FuncDef *d = arena_new_of(b->a, FuncDef);
    if (!d || !(d->name = arena_strdup(b->a, name_of_key(r->name)))) return NULL;
    d->flags = (uint16_t)(FN_CAN_FAIL | FN_VARIADIC | (r->volatility == 'v' ? FN_VOLATILE : FN_STABLE));
    d->ret = ret.id;
    d->nargs = 1;
    d->args[0] = T_VOID;
    d->kernel = call_kernel;
    d->doc = "a function of the catalog";
    return c->routine_defs.items[k] = d;
}

static Expr *user_call(Binder *b, const UserFunction *f, Expr **args, int64_t location) {
    Expr *e = expr_new(b->c, EX_FUNC, f->signature.ret, f->signature.n_args);
    if (!e) return NULL;
    e->u.func = &f->def;
    for (int i = 0; i < f->signature.n_args; i++) e->args[i] = args[i];
    e->location = location;
    return e;
}

Status sql_result_type(const Catalog *c, const Routine *r, Arena *a, Type *out, Err *e) {
    CompositeField *fields = arena_array(a, CompositeField, r->n_params + 1);
    const CompositeType *x;
    int32_t n = 0;
    if (!fields) return err_is_set(e) ? ST_ERROR : err_oom(e);
    for (int i = 0; i < r->n_params; i++) {
        if (r->param_modes[i] == 'i') continue;
        fields[n].type = composite_field_type(r->param_types[i]);
        fields[n].name = r->param_names[i] ? r->param_names[i] : arena_printf(a, "column%d", n + 1);
        if (!fields[n++].name) return err_oom(e);
    }
    *out = r->returns_record || r->returns_void ? type_make(T_TEXT) : r->ret;
    if (!r->returns_record || n == 0) return ST_OK;
    TRY(composite_shared(c->rows, NULL, n, fields, &x, e));
    return *out = composite_type(x), ST_OK;
}

static Expr *scalar_call(Binder *b, const Routine *r, Expr **args, int64_t location) {
    Type ret;
    if (sql_result_type(b->c->catalog, r, b->a, &ret, b->err) != ST_OK) return NULL;
    Expr *e = expr_new(b->c, EX_FUNC, ret, r->n_args + 1);
    if (!e || !(e->u.func = def_of(b, r, ret)) || !(e->args[0] = bind_int8_const(b, r->id))) return NULL;
    for (int i = 0; i < r->n_args; i++) e->args[i + 1] = args[i];
    e->domain = r->ret_domain;
    e->location = location;
    return e;
}

bool bind_calls_strict_routine(const PlanCtx *c, const Expr *e) {
    if (e->u.func->kernel != call_kernel) return false;
    const Routine *r = catalog_routine_by_id(c->catalog, e->args[0]->u.value.u.i64);
    return r && r->strict;
}

/* ---- rows --------------------------------------------------------------------------------------- */

/* A row as an element's bytes: the array of its cells' bytes. */
static Status pack_row(FuncCtx *ctx, int32_t n, const Value *row, Str *out) {
    Str *cells = arena_array(ctx->arena, Str, n + 1);
    uint8_t *valid = arena_alloc(ctx->arena, n + 1);
    if (!cells || !valid) return err_oom(ctx->err);
    for (int32_t i = 0; i < n; i++) {
        const Phys ph = type_phys(row[i].type);
        valid[i] = !row[i].is_null;
        if (row[i].is_null) cells[i] = str_make("", 0);
        else if (ph == PH_STR) cells[i] = row[i].u.str;
        else cells[i] = str_make((const char *)value_cell_const(&row[i]), phys_size(ph));
    }
    return array_build(ctx->arena, PH_STR, n, cells, valid, out, ctx->err);
}

static Status rows_array(FuncCtx *ctx, int32_t n_cols, const Type *types, int64_t n, const Value *cells, Str *out) {
    bool packed = type_element(ctx->ret).id == T_BYTEA && (n_cols != 1 || types[0].id != T_BYTEA);
    const Phys ph = packed ? PH_STR : type_phys(types[0]);
    const int64_t size = phys_size(ph);
    char *values = arena_calloc(ctx->arena, (n + 1) * size);
    uint8_t *valid = arena_alloc(ctx->arena, n + 1);
    if (!values || !valid) return err_oom(ctx->err);
    for (int64_t i = 0; i < n; i++) {
        const Value *v = cells + i * n_cols;
        valid[i] = packed || !v->is_null;
        if (packed) TRY(pack_row(ctx, n_cols, v, (Str *)values + i));
        else if (!v->is_null) memcpy(values + i * size, value_cell_const(v), (size_t)size);
        else if (ph == PH_STR) ((Str *)values)[i] = str_make("", 0);
    }
    return array_build(ctx->arena, ph, n, values, valid, out, ctx->err);
}

/* args[0]: the routine's id, args[1]: the types of its columns, as bytes. */
static Status rows_kernel(FuncCtx *ctx, int64_t n, const Vec *args, int nargs, Vec *out) {
    Value *vals = arena_array(ctx->arena, Value, nargs + 1), *cells;
    if (!vals) return stack_failed(ctx->err);
    if (!ctx->session || !ctx->session->call_routine_rows)
        return err_set(ctx->err, ERR_FEATURE_NOT_SUPPORTED, "functions of the catalog cannot be called here");
    for (int64_t i = 0; i < n; i++) {
        int64_t n_rows;
        for (int k = 0; k < nargs; k++) bind_arg_value(&args[k], i, &vals[k]);
        const int32_t n_cols = (int32_t)(vals[1].u.str.len / (int64_t)sizeof(Type));
        Type *types = arena_array(ctx->arena, Type, n_cols + 1);
        if (!types) return err_oom(ctx->err);
        memcpy(types, vals[1].u.str.ptr, sizeof *types * (size_t)n_cols);
        if (ctx->session->call_routine_rows(ctx->session->setting_ctx, vals[0].u.i64, nargs - 2, vals + 2, n_cols,
                                            types, ctx->arena, &n_rows, &cells, ctx->err) != ST_OK ||
            rows_array(ctx, n_cols, types, n_rows, cells, (Str *)out->data + i) != ST_OK) {
            ctx->error_row = i;
            return ST_ERROR;
        }
        out->valid[i] = 1;
    }
    return ST_OK;
}

Expr *bind_rows_call(Binder *b, const RowsFunc *f) {
    const Routine *r = f->routine;
    Type ret = type_array_of(bind_rows_packed(f) ? type_make(T_BYTEA) : f->types[0]);
    Expr *e = expr_new(b->c, EX_FUNC, ret, (int32_t)f->n_args + 2);
    FuncDef *d = arena_new_of(b->a, FuncDef);
    Value types = {.type = type_make(T_BYTEA)};
    types.u.str = str_make((const char *)f->types, f->n_cols * (int64_t)sizeof(Type));
    if (!e || !d || !(d->name = arena_strdup(b->a, name_of_key(r->name))) ||
        !(e->args[0] = bind_int8_const(b, r->id)) || !(e->args[1] = expr_const(b->c, &types)))
        return NULL;
    *d = (FuncDef){.name = d->name,
                   .flags = (uint16_t)(FN_CAN_FAIL | FN_VARIADIC | (r->volatility == 'v' ? FN_VOLATILE : FN_STABLE)),
                   .ret = T_ARRAY,
                   .nargs = 1,
                   .args = {T_VOID},
                   .kernel = rows_kernel,
                   .doc = "rows of a function of the catalog"};
    e->u.func = d;
    for (int64_t i = 0; i < f->n_args; i++) e->args[i + 2] = f->args[i];
    e->location = f->location;
    return e;
}

/* name: of the column of a function without columns of its own. */
static Status routine_columns(Binder *b, const Routine *r, const char *name, RowsFunc *out) {
    int n = 0;
    for (int i = 0; i < r->n_params; i++) n += r->param_modes[i] != 'i';
    if (n == 0 && r->returns_record) return ST_OK;
    out->n_cols = n ? n : 1;
    if (!(out->types = arena_array(b->a, Type, out->n_cols)) || !(out->cols = arena_array(b->a, ColId, out->n_cols)))
        return ST_ERROR;
    if (n == 0) out->types[0] = r->returns_void ? type_make(T_TEXT) : r->ret;
    for (int i = 0, k = 0; i < r->n_params; i++) {
        if (r->param_modes[i] == 'i') continue;
        const char *own = r->param_names[i];
        const char *col = own ? arena_strdup(b->a, own) : n == 1 ? name : arena_printf(b->a, "column%d", k + 1);
        out->types[k] = r->param_types[i];
        if (!col || (out->cols[k++] = plan_new_col(b->c, col, r->param_types[i], true)) <= 0) return ST_ERROR;
    }
    return n || (out->cols[0] = plan_new_col(b->c, name, out->types[0], true)) > 0 ? ST_OK : ST_ERROR;
}

static Status rows_func(Binder *b, const Routine *r, Expr **args, const char *name, int64_t location, RowsFunc *out) {
    *out = (RowsFunc){.kind = ROWS_ROUTINE, .location = location, .n_args = r->n_args, .args = args, .routine = r};
    return routine_columns(b, r, name, out);
}

Status bind_rows_routine(Binder *b, Query *q, const AstFunc *f, const char *name, RowsFunc *out) {
    const Routine *r;
    UserFunction *user;
    Expr **args;
    TRY(bind_args(b, q, f, false, &r, &user, &args));
    if (user && !r->returns_set) return ST_OK;
    return r ? rows_func(b, r, args, name, f->location, out) : ST_OK;
}

Expr *bind_routine_call(Binder *b, Query *q, const AstFunc *f) {
    const Routine *r;
    UserFunction *user;
    Expr **args;
    RowsFunc rows;
    if (bind_args(b, q, f, false, &r, &user, &args) != ST_OK || !r) return NULL;
    if (user && user->kind == USER_TABLE) {
        if (bind_rows_allowed(b, q, f->location) != ST_OK ||
            bind_user_records(b, user, r->n_args, args, f->location, &rows) != ST_OK)
            return NULL;
        if (rows.n_cols > 1) return bind_unsupported(b, f->location, "a set of records in a select list"), NULL;
        return bind_srf(b, q, &rows);
    }
    if (user) return user_call(b, user, args, f->location);
    if (!r->returns_set) return scalar_call(b, r, args, f->location);
    if (bind_rows_allowed(b, q, f->location) != ST_OK ||
        rows_func(b, r, args, f->name.name, f->location, &rows) != ST_OK)
        return NULL;
    return bind_srf(b, q, &rows);
}

Status bind_check_schema(Binder *b, const AstFunc *f) {
    if (!f->name.schema || catalog_has_schema(b->c->catalog, f->name.schema)) return ST_OK;
    return err_at(b->err, bind_pos(b, f->location), ERR_UNDEFINED_SCHEMA, "schema \"%s\" does not exist",
                  f->name.schema);
}
void bind_no_function_in(Binder *b, Query *q, const AstFunc *f) {
    if (bind_check_schema(b, f) != ST_OK) return;
    Expr **given = bind_list(b, q, f->args, f->n_args);
    if (!given) return;
    err_at(b->err, bind_pos(b, f->location), ERR_UNDEFINED_FUNCTION, "function %s.%s does not exist", f->name.schema,
           call_text(b, f->name.name, f->n_args, given, f->arg_names));
    err_hint(b->err,
             "No function matches the given name and argument types. You might need to add explicit type casts.");
}

/* ---- entry points ----------------------------------------------------------------------------------- */

static Status finish(Binder *b, Status st) {
    return st == ST_OK && stack_check(b->err) == ST_OK ? ST_OK : stack_failed(b->err);
}

Status sql_bind_value(PlanCtx *c, const AstExpr *ast, Type type, Expr **out) {
    Binder b;
    binder_init(&b, c);
    Query *q = arena_new_of(c->arena, Query);
    Expr *e = NULL;
    if (q) {
        q->clause = "expressions of routines";
        e = bind_expr(&b, q, ast);
    }
    if (e && type.id == T_UNKNOWN && e->type.id == T_UNKNOWN) type = type_make(T_TEXT);
    if (e && type.id != T_UNKNOWN && !type_eq(e->type, type)) {
        if (e->type.id != T_UNKNOWN && !cast_exists(e->type, type, CAST_ASSIGNMENT))
            e = bind_coerce(&b, e, type, CAST_EXPLICIT, ast->location); /* through text, as PL/pgSQL does */
        else e = bind_coerce(&b, e, type, CAST_ASSIGNMENT, ast->location);
    }
    if (e) bind_null_expr(c, e);
    if (e) *out = e;
    return finish(&b, e ? ST_OK : ST_ERROR);
}

static Status bind_call_stmt(Binder *b, const AstFunc *f, bool procedure, BoundCall **out) {
    Query *q = arena_new_of(b->a, Query);
    const Routine *r;
    UserFunction *user;
    Expr **args;
    *out = NULL;
    if (!q) return ST_ERROR;
    q->clause = procedure ? "CALL arguments" : NULL;
    q->srf_ok = !procedure;
    if (!procedure && bind_is_catalog_aggregate(b, &f->name)) return ST_OK;
    TRY(bind_args(b, q, f, procedure, &r, &user, &args));
    if (user || (!r && !procedure) || q->srfs.len) return ST_OK;
    if (!r) {
        Expr **given = bind_list(b, q, f->args, f->n_args);
        if (!given) return ST_ERROR;
        if (bind_check_schema(b, f) != ST_OK) return ST_ERROR;
        err_at(b->err, bind_pos(b, f->location), ERR_UNDEFINED_FUNCTION, "procedure %s%s%s does not exist",
               f->name.schema ? f->name.schema : "", f->name.schema ? "." : "",
               call_text(b, f->name.name, f->n_args, given, f->arg_names));
        err_hint(b->err,
                 "No procedure matches the given name and argument types. You might need to add explicit type casts.");
        bind_hint_function(b, f->name.name, "procedure");
        return ST_ERROR;
    }
    BoundCall *c = arena_new_of(b->a, BoundCall);
    if (!c || !(c->param_types = arena_array(b->a, Type, b->params.len + 1))) return ST_ERROR;
    c->routine = r;
    c->n_args = r->n_args;
    c->args = args;
    for (int32_t i = 0; i < c->n_args; i++) bind_null_expr(b->c, args[i]);
    c->n_params = (int32_t)b->params.len;
    for (int64_t i = 0; i < b->params.len; i++) {
        c->param_types[i] = b->params.items[i];
        if (c->param_types[i].id == T_UNKNOWN)
            return err_set(b->err, ERR_INDETERMINATE_DATATYPE, "could not determine data type of parameter $%d",
                           (int)i + 1);
    }
    *out = c;
    return ST_OK;
}

Status sql_bind_call(PlanCtx *c, const AstFunc *f, bool procedure, int32_t n_params, const Type *param_types,
                     BoundCall **out) {
    Binder b;
    binder_init(&b, c);
    for (int32_t i = 0; i < n_params; i++) {
        Type t = param_types ? param_types[i] : type_make(T_UNKNOWN);
        if (!vec_push(c->arena, &b.params, t)) return finish(&b, ST_ERROR);
    }
    return finish(&b, bind_call_stmt(&b, f, procedure, out));
}
