/* bind_coerce.c - literals, parameters, casts, common types, calls.
 *
 * Untyped literals ('1994-01-01', NULL) and parameters have type T_UNKNOWN until the context decides. Constants
 * are cast right here, so that errors carry the literal's position and the rest sees typed constants.
 *
 * Numeric constants keep their natural precision and scale (0.05 is numeric(2,2), and 1 next to a
 * numeric is numeric(1,0)): results then stay within 64 bits as often as possible.
 */
#include <stdio.h>

#include "catalog/named_type.h"
#include "sql/bind/bind_int.h"
#include "types/composite.h"
#include "types/dec.h"
#include "types/range_errors.h"
#include "types/enums.h"
#include "types/numbers.h"
#include "types/oid.h"
#include "types/range.h"

bool bind_is_unknown(const Expr *e) { return e->type.id == T_UNKNOWN && (e->kind == EX_CONST || e->kind == EX_PARAM); }
static bool unknown_text(const Expr *e) {
    return e->type.id == T_UNKNOWN && e->kind == EX_CONST && !e->u.value.is_null;
}

/* A text of the catalog that is made of this one has the schema, too. */
static Status keep_type_schema(Binder *b, const AstTypeName *t) {
    if (!b->literals || t->schema || t->location <= 0) return ST_OK;
    const NamedType x = catalog_type(b->c->catalog, NULL, t->name);
    return named_type_found(&x) ? bind_keep_schema(b, t->location, named_type_key(&x)) : ST_OK;
}
Status bind_type(Binder *b, const AstTypeName *t, Type *out, const Domain **domain) {
    if (sql_bind_type(b->c->catalog, t, out, domain, b->err) == ST_OK) {
        TRY(keep_type_schema(b, t));
        if (domain && *domain && !vec_push(b->a, &b->c->domain_ids, (*domain)->id)) return ST_ERROR;
        const Type of = out->id == T_ARRAY ? type_element(*out) : *out;
        const bool names = type_is_defined(of) && of.length >= TYPE_NUMBER_FIRST && !(domain && *domain);
        return !names || vec_push(b->a, &b->c->type_numbers, of.length) ? ST_OK : ST_ERROR;
    }
    if (!b->err->position) b->err->position = bind_pos(b, t->location);
    return ST_ERROR;
}

static int32_t interval_mask(int32_t fields) {
    static const int32_t map[][2] = {{AST_IV_YEAR, IR_YEAR}, {AST_IV_MONTH, IR_MONTH},   {AST_IV_DAY, IR_DAY},
                                     {AST_IV_HOUR, IR_HOUR}, {AST_IV_MINUTE, IR_MINUTE}, {AST_IV_SECOND, IR_SECOND}};
    int32_t mask = 0;
    for (int64_t i = 0; i < ARRAY_LEN(map); i++)
        if (fields & map[i][0]) mask |= map[i][1];
    return mask;
}

/* One of the database's; *found false: it has none of that name. */
static Status bind_named_type(const Catalog *c, const AstTypeName *t, Type *out, const Domain **domain, bool *found,
                              Err *e) {
    const NamedType x = catalog_type(c, t->schema, t->name);
    const Domain *d = x.domain;
    *found = named_type_defined(&x) || x.table;
    if (!*found) return ST_OK;
    if (t->n_mods) return err_at(e, t->location, ERR_SYNTAX, "type modifier is not allowed for type \"%s\"", t->name);
    if (d && (t->array_dims || !domain))
        return err_at(e, t->location, ERR_FEATURE_NOT_SUPPORTED,
                      t->array_dims ? "arrays of domains are not supported" : "a domain is not supported here");
    if (d) return *out = d->type, *domain = d, ST_OK;
    if (x.enumerated) *out = enum_type(x.enumerated);
    else if (x.range) *out = x.multi ? multirange_type(x.range) : range_type(x.range);
    else if (x.composite) *out = composite_type(x.composite);
    else TRY(catalog_row_type(c, x.table, out, e));
    if (t->array_dims) *out = type_array_of(*out);
    return ST_OK;
}

/* information_schema's domains, as their base types. */
static Status bind_schema_type(const AstTypeName *t, Type *out, Err *e) {
    static const struct {
        const char *name, *base;
        int32_t length;
    } types[] = {{"sql_identifier", "name", 0},
                 {"character_data", "varchar", 0},
                 {"yes_or_no", "varchar", 3},
                 {"cardinal_number", "int4", 0},
                 {"time_stamp", "timestamptz", 0}};
    for (int64_t i = 0; i < ARRAY_LEN(types); i++) {
        if (strcmp(types[i].name, t->name) != 0) continue;
        TRY(type_from_name(slice_of(types[i].base), 0, NULL, out, e));
        if (types[i].length) out->length = types[i].length;
        if (t->array_dims) *out = type_array_of(*out);
        return ST_OK;
    }
    return err_at(e, t->location, ERR_UNDEFINED_OBJECT, "type \"%s.%s\" does not exist", t->schema, t->name);
}

Status sql_bind_type(const Catalog *c, const AstTypeName *t, Type *out, const Domain **domain, Err *e) {
    if (domain) *domain = NULL;
    if (t->percent_type) return err_at(e, t->location, ERR_FEATURE_NOT_SUPPORTED, "%%TYPE is not supported");
    if (t->setof) return err_at(e, t->location, ERR_FEATURE_NOT_SUPPORTED, "SETOF is not supported");
    if (t->schema && strcmp(t->schema, "information_schema") == 0) return bind_schema_type(t, out, e);
    bool found = false;
    if (c) TRY(bind_named_type(c, t, out, domain, &found, e));
    if (found) return ST_OK;
    if (t->schema && c && !catalog_has_schema(c, t->schema))
        return err_at(e, t->location, ERR_UNDEFINED_SCHEMA, "schema \"%s\" does not exist", t->schema);
    if (t->schema)
        return err_at(e, t->location, ERR_UNDEFINED_OBJECT, "type \"%s.%s\" does not exist", t->schema, t->name);
    int64_t mods[8];
    int32_t n = 0;
    if (t->interval_fields) mods[n++] = interval_mask(t->interval_fields);
    else if (t->n_mods && strcmp(t->name, "interval") == 0) mods[n++] = IR_FULL;
    for (int32_t i = 0; i < t->n_mods && n < (int32_t)ARRAY_LEN(mods); i++) mods[n++] = t->mods[i];
    if (type_from_name(slice_of(t->name), n, mods, out, e) != ST_OK) {
        if (!e->position) e->position = t->location;
        return ST_ERROR;
    }
    if (!t->array_dims) return ST_OK;
    if (out->id == T_UNKNOWN || out->id == T_VOID)
        return err_at(e, t->location, ERR_UNDEFINED_OBJECT, "type \"%s[]\" does not exist", t->name);
    *out = type_array_of(*out);
    return ST_OK;
}

/* ---- literals ------------------------------------------------------------------ */

static Expr *constant(Binder *b, const Value *v, int64_t location) {
    Expr *e = expr_const(b->c, v);
    if (e) e->location = location;
    return e;
}

Expr *bind_null(Binder *b, Type t) {
    Value v = {.type = t, .is_null = true};
    return expr_const(b->c, &v);
}

Expr *bind_text_const(Binder *b, Slice s, int64_t location) {
    Value v = {.type = type_make(T_TEXT)};
    v.u.str = str_make(s.ptr, s.len);
    return constant(b, &v, location);
}

Expr *bind_int8_const(Binder *b, int64_t i) {
    Value v = {.type = type_make(T_INT8)};
    v.u.i64 = i;
    return expr_const(b->c, &v);
}

static void set_numeric(Value *v, int128_t n, int precision, int scale) {
    v->type = type_numeric(precision, scale);
    if (type_phys(v->type) == PH_I64) v->u.i64 = (int64_t)n;
    else v->u.i128 = n;
}

/* Text that 38 digits cannot hold, NaN and infinity: a numeric without (p,s). */
static Status long_numeric(Binder *b, Slice text, int64_t location, Value *v) {
    if (value_from_text(type_make(T_DECIMAL), text, NULL, b->c->arena, v, b->err) == ST_OK) return ST_OK;
    if (!b->err->position) b->err->position = bind_pos(b, location);
    return ST_ERROR;
}

/* Whether a numeric of 38 digits, with the text's own scale, has all of its digits. */
static Status is_short(Binder *b, Slice text, bool *out) {
    Dec d;
    *out = true;
    if (text.len < NUMERIC_MAX_PRECISION && !memchr(text.ptr, 'e', (size_t)text.len) &&
        !memchr(text.ptr, 'E', (size_t)text.len))
        return ST_OK;
    TRY(dec_parse(b->a, text, &d, b->err));
    int32_t whole = d.n ? MAX_OF(dec_exponent(&d) + 1, 0) : 0;
    *out = dec_is_finite(&d) && whole + d.scale <= NUMERIC_MAX_PRECISION;
    return ST_OK;
}

/* Text to a numeric of its own precision and scale, if 38 digits hold it. */
static Status natural_numeric(Binder *b, Slice text, int64_t location, Value *v) {
    int128_t n = 0;
    int scale = 0;
    bool fits;
    Err narrow = {0};
    if (is_short(b, text, &fits) != ST_OK || !fits || numeric_parse(text, -1, &n, &scale, &narrow) != ST_OK) {
        err_clear(b->err);
        return long_numeric(b, text, location, v);
    }
    int digits = n == 0 ? 1 : i128_digits(n);
    set_numeric(v, n, MAX_OF(MAX_OF(digits, scale), 1), scale);
    return ST_OK;
}

Expr *bind_literal(Binder *b, const AstExpr *ast) {
    const AstLiteral *l = AST_AS_CONST(AstLiteral, ast);
    Value v = {.type = type_make(T_UNKNOWN)};
    switch ((int)ast->kind) {
    case AST_NULL_LIT: v.is_null = true; break;
    case AST_BOOL_LIT:
        v.type = type_make(T_BOOL);
        v.u.b = l->b;
        break;
    case AST_INT_LIT:
        if (l->i >= INT32_MIN && l->i <= INT32_MAX) {
            v.type = type_make(T_INT4);
            v.u.i32 = (int32_t)l->i;
        } else {
            v.type = type_make(T_INT8);
            v.u.i64 = l->i;
        }
        break;
    case AST_NUMBER_LIT:
        if (natural_numeric(b, l->text, ast->location, &v) != ST_OK) return NULL;
        break;
    case AST_STRING_LIT: v.u.str = str_make(l->text.ptr, l->text.len); break;
    default:
        if (value_from_text(type_make(T_BIT), l->text, NULL, b->a, &v, b->err) == ST_OK) break;
        if (!b->err->position) b->err->position = bind_pos(b, ast->location);
        return NULL;
    }
    return constant(b, &v, ast->location);
}

Expr *bind_variable(Binder *b, int32_t number, Type type, int64_t location) {
    while (b->params.len < number)
        if (!vec_push(b->a, &b->params, type_make(T_UNKNOWN))) return NULL;
    if (type.id != T_UNKNOWN) b->params.items[number - 1] = type;
    Expr *e = expr_new(b->c, EX_PARAM, b->params.items[number - 1], 0);
    if (!e) return NULL;
    e->u.param = number;
    e->location = location;
    return e;
}

Expr *bind_param(Binder *b, int32_t number, int64_t location) {
    if (b->c->variables && b->params_ok) {
        char name[16];
        Type t;
        snprintf(name, sizeof name, "$%d", (int)number);
        int32_t k = b->c->variables->find(b->c->variables, NULL, NULL, name, false, bind_pos(b, location), &t, b->err);
        if (k > 0) return bind_variable(b, k, t, location);
        if (k == 0) err_at(b->err, bind_pos(b, location), ERR_UNDEFINED_PARAMETER, "there is no parameter $%d", number);
        return NULL;
    }
    if (!b->params_ok || number < 1 || number > 65535) {
        err_at(b->err, bind_pos(b, location), ERR_UNDEFINED_PARAMETER, "there is no parameter $%d", number);
        return NULL;
    }
    while (b->params.len < number)
        if (!vec_push(b->a, &b->params, type_make(T_UNKNOWN))) return NULL;
    Expr *e = expr_new(b->c, EX_PARAM, b->params.items[number - 1], 0);
    if (!e) return NULL;
    e->u.param = number;
    e->location = location;
    return e;
}

/* ---- casts ----------------------------------------------------------------------- */

/* A type without the modifiers that a context must not impose on a parameter or literal. */
static Type bare(Type t) {
    if (type_is_defined(t)) return t;
    if (t.id == T_ARRAY) return type_array_of(bare(type_element(t)));
    Type r = type_make((TypeId)t.id);
    if (t.id == T_CHAR) r.length = 0;
    return r;
}

static Status cast_error(Binder *b, Type from, Type to, int64_t location) {
    return err_at(b->err, bind_pos(b, location), ERR_CANNOT_COERCE, "cannot cast type %s to %s", type_plain_name(from),
                  type_plain_name(to));
}

/* A constant of a known type cast now; NULL without error when that failed (the cast then stays for run time). */
static Expr *fold_cast(Binder *b, const Expr *e, Type to, CastCtx ctx) {
    if (e->u.value.is_null) {
        Expr *n = bind_null(b, to);
        if (n) n->location = e->location;
        return n;
    }
    /* What depends on the session's time zone is left to run time: a prepared plan may outlive the setting. */
    if (type_has_zone(e->type) || type_has_zone(to)) return NULL;
    FuncKernel k = cast_kernel(e->type, to, ctx);
    if (!k) return NULL;
    Err tmp = {0};
    Value v = {0};
    const int64_t zone = zone_reads;
    if (func_eval(NULL, k, b->c->session, b->a, to, 1, &e->u.value, &v, &tmp) != ST_OK) return NULL;
    if (b->c->sets_settings && zone_reads != zone) return NULL; /* set_config in front of it */
    v.type = to;
    return constant(b, &v, e->location);
}

/* As the session reads texts; in text of the catalog, where such literals are ISO's, as the defaults have it: files of
 * older versions have others. */
static Status literal_value(Binder *b, const Expr *e, Type to, Value *v) {
    SessionInfo stored;
    const SessionInfo *as = b->c->session;
    if (as && b->fixed_pos && !b->literals) {
        stored = *as;
        stored.form = (TextForm){0};
        as = &stored;
    }
    int64_t clock = time_reads, zone = zone_reads;
    TRY(value_from_text(to, (Slice){e->u.value.u.str.ptr, e->u.value.u.str.len}, as, b->a, v, b->err));
    v->type = to;
    if (!b->literals || (time_reads == clock && zone_reads == zone)) return ST_OK;
    return vec_push(b->a, &b->literals->list, ((KeptLiteral){.location = e->location, .value = *v})) ? ST_OK
                                                                                                     : err_oom(b->err);
}

static Expr *literal_cast(Binder *b, Expr *e, Type to, CastCtx ctx, int64_t location) {
    Value v = {.type = to, .is_null = true};
    if (e->u.value.is_null) return constant(b, &v, e->location);
    Type in = to;
    Type last = to.id == T_ARRAY ? type_element(to) : to;
    bool infinite;
    const Str given = e->u.value.u.str;
    const bool nan = to.id == T_NUMERIC && !(to.flags & TF_UNCONSTRAINED) &&
                     numeric_is_special((Slice){given.ptr, given.len}, &infinite) && !infinite;
    if (nan && b->c->for_shape) return constant(b, &v, e->location);
    if (nan && ctx == CAST_EXPLICIT) /* the other form has NaN */
        in = (Type){.id = T_DECIMAL, .length = dec_typmod(to.precision, to.scale)};
    bool cut = ctx == CAST_EXPLICIT && type_has_length(last) && last.length > 0;
    if (cut) {
        last.length = 0;
        in = to.id == T_ARRAY ? type_array_of(last) : last;
    }
    if (literal_value(b, e, in, &v) != ST_OK) {
        if (!b->err->position) b->err->position = bind_pos(b, e->location ? e->location : location);
        return NULL;
    }
    Expr *c = constant(b, &v, e->location);
    if (!c || !cut) return c;
    Expr *f = fold_cast(b, c, to, ctx);
    return f ? f : bind_coerce(b, c, to, ctx, location);
}

/* Whether its rows have fields of domains, at any depth: casts to it ask the session. */
static bool has_domains(Type t) {
    const CompositeType *x = composite_of(t.id == T_ARRAY ? type_element(t) : t);
    bool has = false;
    for (int32_t i = 0; x && i < x->n && !has && !stack_stop(); i++)
        has = x->fields[i].domain || has_domains(x->fields[i].type);
    return has;
}
Expr *bind_coerce(Binder *b, Expr *e, Type to, CastCtx ctx, int64_t location) {
    if (!e || type_eq(e->type, to)) return e;
    if (has_domains(to)) b->c->one_thread = true;
    if (to.id == T_UNKNOWN) return e;
    if (type_is_record(e->type) && to.id == T_BYTEA && !type_is_record(to) && ctx != CAST_IMPLICIT) {
        (void)cast_error(b, e->type, to, e->location ? e->location : location);
        return NULL;
    }
    if (e->kind == EX_PARAM && e->type.id == T_UNKNOWN) {
        Type want = bare(to), *have = &b->params.items[e->u.param - 1];
        if (have->id == T_UNKNOWN) *have = want;
        else if (have->id != want.id || (type_is_defined(want) && have->length != want.length) ||
                 (want.id == T_ARRAY && type_element(*have).id != type_element(want).id)) {
            err_at(b->err, bind_pos(b, e->location), ERR_AMBIGUOUS_PARAMETER,
                   "inconsistent types deduced for parameter $%d", e->u.param);
            err_detail(b->err, "%s versus %s", type_plain_name(*have), type_plain_name(want));
            return NULL;
        }
        e->type = *have;
        if (type_eq(e->type, to)) return e;
    }
    if (e->kind == EX_CONST && e->type.id == T_UNKNOWN) return literal_cast(b, e, to, ctx, location);
    if (e->type.id == T_COMPOSITE && to.id == T_COMPOSITE) {
        if (!(e = bind_row_as(b, e, to, ctx, location)) || type_eq(e->type, to)) return e;
    }
    if (!cast_exists(e->type, to, ctx)) {
        cast_error(b, e->type, to, location);
        return NULL;
    }
    if (e->kind == EX_CONST) {
        Expr *f = fold_cast(b, e, to, ctx);
        if (f || err_is_set(b->err)) return f;
    }
    Expr *x = expr_new(b->c, EX_CAST, to, 1);
    if (!x) return NULL;
    x->cast_ctx = (uint8_t)ctx;
    x->args[0] = e;
    b->c->one_thread |= oid_has_name(e->type) || oid_has_name(to);
    x->location = location;
    return x;
}

/* A cast that changes nothing in the cells is left out of a call's arguments. */
static Expr *coerce_arg(Binder *b, Expr *e, Type to, int64_t location) {
    if (!e || type_eq(e->type, to)) return e;
    if (e->kind != EX_CONST && e->type.id != T_UNKNOWN && cast_is_noop(e->type, to)) return e;
    return bind_coerce(b, e, to, CAST_IMPLICIT, location);
}

Expr *bind_assign_base(Binder *b, Expr *e, const Column *col, int64_t location) {
    if (!e || type_eq(e->type, col->type)) return e;
    const bool becomes = e->type.id == T_UNKNOWN || (composite_is_record(e->type) && col->type.id == T_COMPOSITE);
    if (!becomes && !cast_exists(e->type, col->type, CAST_ASSIGNMENT)) {
        err_at(b->err, bind_pos(b, location), ERR_DATATYPE_MISMATCH,
               "column \"%s\" is of type %s but expression is of type %s", col->name, type_plain_name(col->type),
               type_plain_name(e->type));
        err_hint(b->err, "You will need to rewrite or cast the expression.");
        return NULL;
    }
    return bind_coerce(b, e, col->type, CAST_ASSIGNMENT, location);
}
Expr *bind_assign(Binder *b, Expr *e, const Column *col, int64_t location) {
    const Domain *d = e ? catalog_domain_by_id(b->c->catalog, col->domain) : NULL;
    return bind_domain(b, bind_assign_base(b, e, col, location), d, location);
}

static bool no_set(void *ctx, Expr *e) { return e->kind != EX_COL || !bind_owner(ctx, e->u.col).srf; }

Expr *bind_bool(Binder *b, Expr *e, const char *clause, int64_t location) {
    if (e && e->type.id == T_BOOL && !expr_walk(e, no_set, b)) {
        err_at(b->err, bind_pos(b, location), ERR_DATATYPE_MISMATCH, "argument of %s must not return a set", clause);
        return NULL;
    }
    if (!e || e->type.id == T_BOOL) return e;
    if (e->type.id == T_UNKNOWN) return bind_coerce(b, e, type_make(T_BOOL), CAST_IMPLICIT, location);
    err_at(b->err, bind_pos(b, location), ERR_DATATYPE_MISMATCH, "argument of %s must be type boolean, not type %s",
           clause, type_plain_name(e->type));
    return NULL;
}

/* ---- common types -------------------------------------------------------------------- */

static bool int_const(const Expr *e) { return e->kind == EX_CONST && type_is_integer(e->type) && !e->u.value.is_null; }

/* An integer constant as numeric(digits, 0). */
static Expr *int_as_numeric(Binder *b, const Expr *e) {
    int64_t i = e->type.id == T_INT2 ? e->u.value.u.i16 : e->type.id == T_INT4 ? e->u.value.u.i32 : e->u.value.u.i64;
    Value v = {0};
    set_numeric(&v, i, i128_digits(i), 0);
    return constant(b, &v, e->location);
}

static Expr *text_as_numeric(Binder *b, const Expr *e) {
    Value v = {0};
    Slice text = {e->u.value.u.str.ptr, e->u.value.u.str.len};
    return natural_numeric(b, text, e->location, &v) == ST_OK ? constant(b, &v, e->location) : NULL;
}

Expr *bind_beside(Binder *b, Expr *e, Type t, int64_t location) {
    if (!bind_is_unknown(e)) return e;
    if (t.id == T_NUMERIC && unknown_text(e)) return text_as_numeric(b, e);
    if (unknown_text(e)) t = bare(t);
    return bind_coerce(b, e, t, CAST_IMPLICIT, e->location ? e->location : location);
}

Status bind_literal_type(Binder *b, const Expr *e, Type *t) {
    Type u;
    if (t->id != T_NUMERIC || !unknown_text(e)) return ST_OK;
    Expr *x = text_as_numeric(b, e);
    if (!x) return ST_ERROR;
    if (type_common(*t, x->type, &u)) *t = u;
    return ST_OK;
}

Status bind_common(Binder *b, int64_t n, Expr **args, const char *what, Type *out) {
    bool numeric = false, literal = false;
    for (int64_t i = 0; i < n; i++) {
        numeric |= args[i]->type.id == T_NUMERIC;
        literal |= unknown_text(args[i]);
    }
    if (numeric) {
        bool floating = false;
        for (int64_t i = 0; i < n; i++) floating |= args[i]->type.id == T_FLOAT4 || args[i]->type.id == T_FLOAT8;
        for (int64_t i = 0; i < n && !floating; i++) {
            if (int_const(args[i])) args[i] = int_as_numeric(b, args[i]);
            else if (unknown_text(args[i])) args[i] = text_as_numeric(b, args[i]);
            if (!args[i]) return ST_ERROR;
        }
    }
    Type t = type_make(T_UNKNOWN);
    for (int64_t i = 0; i < n; i++) {
        if (args[i]->type.id == T_UNKNOWN) continue;
        Type u;
        if (t.id == T_UNKNOWN) t = args[i]->type;
        else if (bind_common_type(b, t, args[i]->type, &u)) t = u;
        else
            return err_at(b->err, bind_pos(b, args[i]->location), ERR_DATATYPE_MISMATCH,
                          "%s types %s and %s cannot be matched", what, type_plain_name(t),
                          type_plain_name(args[i]->type));
    }
    if (t.id == T_UNKNOWN) t = type_make(T_TEXT);
    else if (literal && type_has_length(t)) t.length = 0;
    for (int64_t i = 0; i < n; i++)
        if (!(args[i] = bind_coerce(b, args[i], t, CAST_IMPLICIT, args[i]->location))) return ST_ERROR;
    *out = t;
    return ST_OK;
}

/* Real and another type of number have the common type real, but are compared as double precision. */
Status bind_comparable(Binder *b, int64_t n, Expr **args, const char *what, Type *out) {
    bool real = false, other = false;
    for (int64_t i = 0; i < n; i++) {
        real |= args[i]->type.id == T_FLOAT4;
        other |= type_is_number(args[i]->type) && args[i]->type.id != T_FLOAT4;
    }
    for (int64_t i = 0; i < n && real && other; i++)
        if (type_is_number(args[i]->type) &&
            !(args[i] = bind_coerce(b, args[i], type_make(T_FLOAT8), CAST_IMPLICIT, args[i]->location)))
            return ST_ERROR;
    return bind_common(b, n, args, what, out);
}

/* ---- calls ------------------------------------------------------------------------------ */

/* Rows of values and arrays of them are bytes for nothing but comparisons and the binder's own functions. */
static Status refuse_records(Binder *b, const FuncDef *f, const char *name, bool is_operator, int n, Expr *const *args,
                             int64_t location) {
    bool some = false;
    const char *types = "";
    for (int i = 0; i < n; i++) some |= type_is_record(args[i]->type);
    if (!some || (is_operator && bind_is_comparison(name)) || strcmp(name, "pg_typeof") == 0 ||
        (f->doc && strncmp(f->doc, "internal:", 9) == 0))
        return ST_OK;
    for (int i = 0; i < n && types; i++)
        types = arena_printf(b->a, "%s%s%s", types, i ? ", " : "", type_plain_name(args[i]->type));
    if (!types) return ST_ERROR;
    if (is_operator && n == 2)
        err_at(b->err, bind_pos(b, location), ERR_UNDEFINED_FUNCTION, "operator does not exist: %s %s %s",
               type_plain_name(args[0]->type), name, type_plain_name(args[1]->type));
    else err_at(b->err, bind_pos(b, location), ERR_UNDEFINED_FUNCTION, "function %s(%s) does not exist", name, types);
    err_hint(b->err, "No %s matches the given name and argument types. You might need to add explicit type casts.",
             is_operator ? "operator" : "function");
    return ST_ERROR;
}

/* Constants whose sum, difference or product 38 digits cannot hold. */
static bool is_too_long(Binder *b, const FuncDef *f, Type ret, int n, Expr *const *args) {
    if (!(f->flags & FN_OPERATOR) || n != 2 || ret.id != T_NUMERIC || !strchr("+-*", f->name[0])) return false;
    Value v[2], out;
    for (int i = 0; i < 2; i++) {
        if (args[i]->kind != EX_CONST || args[i]->u.value.is_null || args[i]->type.id != T_NUMERIC) return false;
        v[i] = args[i]->u.value;
    }
    Err e = {0};
    return func_eval(f, NULL, b->c->session, b->a, ret, 2, v, &out, &e) != ST_OK &&
           strcmp(e.sqlstate, ERR_NUMERIC_RANGE) == 0;
}

Expr *bind_call(Binder *b, const char *name, bool is_operator, int n, Expr **args, int64_t location) {
    for (int i = 0; i < n; i++)
        if (!args[i]) return NULL;
    if (stack_check_at(b->err, bind_pos(b, location)) != ST_OK) return NULL;
    Type made = {0};
    if (bind_array_args(b, &name, &is_operator, n, args, location) != ST_OK ||
        bind_range_args(b, &name, &is_operator, n, args, location, &made) != ST_OK)
        return NULL;
    Type stack[16], *types = n <= 8 ? stack : arena_array(b->a, Type, n * 2);
    if (!types) return NULL;
    Type *coerced = types + (n <= 8 ? 8 : n);
    if (is_operator && n == 2)
        for (int i = 0; i < 2; i++) {
            if (args[1 - i]->type.id != T_NUMERIC) continue;
            if (int_const(args[i])) args[i] = int_as_numeric(b, args[i]);
            else if (unknown_text(args[i]) && (bind_is_comparison(name) || strchr("+-*/%", name[0])))
                args[i] = text_as_numeric(b, args[i]);
            if (!args[i]) return NULL;
        }
    const FuncDef *f;
    Type ret;
    for (int round = 0;; round++) {
        for (int i = 0; i < n; i++) types[i] = args[i]->type;
        if (func_resolve(slice_of(name), is_operator, n, types, bind_pos(b, location), &f, coerced, &ret, b->err) !=
            ST_OK)
            return NULL;
        bool again = false;
        for (int i = 0; i < n && !round; i++)
            if (coerced[i].id == T_NUMERIC && unknown_text(args[i])) {
                if (!(args[i] = text_as_numeric(b, args[i]))) return NULL;
                again = true;
            }
        if (!again) break;
    }
    if (f->flags & FN_AGGREGATE) {
        err_at(b->err, bind_pos(b, location), ERR_GROUPING, "aggregate function %s is not allowed here", name);
        return NULL;
    }
    if ((f->flags & FN_COMMON_TYPE) && bind_check_ordered_type(b, ret, location) != ST_OK) return NULL;
    if (refuse_records(b, f, name, is_operator, n, args, location) != ST_OK) return NULL;
    bool keys;
    if (bind_compare_keys(b, name, f, args, location, &keys) != ST_OK) return NULL;
    if (keys) return bind_call(b, name, is_operator, n, args, location);
    Expr *e = expr_new(b->c, EX_FUNC, ret, n);
    const Value **consts = arena_array(b->a, const Value *, n + 1);
    if (!e || !consts) return NULL;
    for (int i = 0; i < n; i++) {
        if (!(e->args[i] = coerce_arg(b, args[i], coerced[i], args[i]->location ? args[i]->location : location)))
            return NULL;
        if (e->args[i]->kind == EX_CONST) consts[i] = &e->args[i]->u.value;
        types[i] = e->args[i]->type;
    }
    if (is_too_long(b, f, ret, n, e->args)) {
        for (int i = 0; i < n; i++)
            if (!(args[i] = bind_coerce(b, e->args[i], type_make(T_DECIMAL), CAST_IMPLICIT, location))) return NULL;
        return bind_call(b, name, is_operator, n, args, location);
    }
    b->c->one_thread |= func_of_catalog(f);
    b->c->reads_system |= func_of_catalog(f);
    e->type = made.id == T_UNKNOWN ? func_refine_type(f, n, coerced, consts, ret) : made;
    e->u.func = f;
    e->location = location;
    return e;
}

Expr *bind_op(Binder *b, const char *op, Expr *l, Expr *r, int64_t location) {
    if (!r) return NULL;
    Expr *args[2] = {l, r};
    return bind_call(b, op, true, 2, args, location);
}

Expr *bind_nary(Binder *b, ExprKind kind, int64_t n, Expr *const *args, int64_t location) {
    if (n == 1) return args[0];
    Expr *e = expr_new(b->c, kind, type_make(T_BOOL), (int32_t)n);
    if (!e) return NULL;
    for (int64_t i = 0; i < n; i++)
        if (!(e->args[i] = args[i])) return NULL;
    e->location = location;
    return e;
}

Expr *bind_unary(Binder *b, ExprKind kind, Expr *arg, int64_t location) {
    if (!arg) return NULL;
    Expr *e = expr_new(b->c, kind, type_make(T_BOOL), 1);
    if (!e) return NULL;
    e->args[0] = arg;
    e->location = location;
    return e;
}

Expr *bind_not(Binder *b, Expr *arg, int64_t location) { return bind_unary(b, EX_NOT, arg, location); }
