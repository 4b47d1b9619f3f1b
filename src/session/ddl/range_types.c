/* range_types.c - CREATE TYPE .. AS RANGE, and renaming of these.
 *
 * A definition never changes: another one takes its place (types/range.h), and undo puts the old one back. PostgreSQL's
 * canonical functions can be written in C only, for types that are not defined yet, so that there is none to name; a
 * subtype_diff is looked up, as PostgreSQL's, and nothing calls it: it is for indexes that there are not.
 */
#include <strings.h>

#include "session/ddl/utility_int.h"
#include "sql/bind/bind.h"
#include "types/range.h"

typedef struct Options {
    const AstTypeName *subtype, *opclass, *collation, *canonical, *diff, *multi;
} Options;

static Status read_options(Session *s, const AstCreateRange *x, Options *o) {
    *o = (Options){0};
    const struct {
        const char *name;
        const AstTypeName **to;
    } known[] = {{"subtype", &o->subtype},     {"subtype_opclass", &o->opclass}, {"collation", &o->collation},
                 {"canonical", &o->canonical}, {"subtype_diff", &o->diff},       {"multirange_type_name", &o->multi}};
    for (int64_t i = 0; i < x->n_options; i++) {
        const AstRangeOption *y = &x->options[i];
        int64_t k = 0;
        while (k < ARRAY_LEN(known) && strcmp(known[k].name, y->name) != 0) k++;
        if (k == ARRAY_LEN(known)) return err_set(&s->err, ERR_SYNTAX, "type attribute \"%s\" not recognized", y->name);
        if (*known[k].to) return err_set(&s->err, ERR_SYNTAX, "conflicting or redundant options");
        if (!y->value) return err_set(&s->err, ERR_SYNTAX, "%s requires a parameter", y->name);
        *known[k].to = y->value;
    }
    if (!o->subtype) return err_set(&s->err, ERR_SYNTAX, "type attribute \"subtype\" is required");
    return ST_OK;
}

static Status read_subtype(Session *s, const AstTypeName *name, Type *out) {
    const Domain *d;
    TRY(sql_bind_type(&s->db->catalog, name, out, &d, &s->err));
    if (d) return err_set(&s->err, ERR_FEATURE_NOT_SUPPORTED, "ranges of domains are not supported");
    if (out->id == T_UNKNOWN || out->id == T_VOID)
        return err_set(&s->err, ERR_DATATYPE_MISMATCH, "range subtype cannot be %s", type_plain_name(*out));
    if (type_is_unordered(*out)) {
        err_set(&s->err, ERR_UNDEFINED_OBJECT, "data type %s has no default operator class for access method \"btree\"",
                type_plain_name(*out));
        err_hint(&s->err,
                 "You must specify an operator class for the range type or define a default operator class for "
                 "the subtype.");
        return ST_ERROR;
    }
    if (!range_subtype_ok(*out))
        return err_set(&s->err, ERR_FEATURE_NOT_SUPPORTED, "ranges of type %s are not supported",
                       type_plain_name(*out));
    if (!type_is_defined(*out)) { /* without length and scale */
        *out = (Type){.id = out->id == T_NUMERIC ? T_DECIMAL : out->id,
                      .flags = out->id == T_TEXT ? out->flags : 0,
                      .precision = out->id == T_OID ? out->precision : type_make((TypeId)out->id).precision};
    }
    return ST_OK;
}

/* A function of the subtype that gives double precision. *kept: its name, if it is one of PostgreSQL's own; those of
 * the database are looked at and not kept. */
static Status check_diff(Session *s, Statement *st, const AstTypeName *name, Type subtype, const char **kept) {
    static const char *const known[] = {"float8mi",         "int4range_subdiff", "int8range_subdiff",
                                        "numrange_subdiff", "daterange_subdiff", "tsrange_subdiff",
                                        "tstzrange_subdiff"};
    static const uint8_t of[] = {T_FLOAT8, T_INT4, T_INT8, T_DECIMAL, T_DATE, T_TIMESTAMP, T_TIMESTAMPTZ};
    const Catalog *k = &s->db->catalog;
    const Routine *found = NULL;
    const char *call =
        arena_printf(st->run_arena, "%s(%s, %s)", name->name, type_plain_name(subtype), type_plain_name(subtype));
    if (!call) return ST_ERROR;
    *kept = NULL;
    for (int64_t i = 0; i < ARRAY_LEN(known); i++)
        if (strcmp(name->name, known[i]) == 0 && subtype.id == of[i]) return *kept = known[i], ST_OK;
    for (int64_t i = 0; i < k->n_routines; i++) {
        const Routine *r = k->routines[i];
        const bool fits = !r->is_procedure && r->n_params == 2 && strcmp(r->name, name->name) == 0 &&
                          type_same_cells(r->param_types[0], subtype) && type_same_cells(r->param_types[1], subtype);
        if (fits) found = r;
    }
    if (!found) return err_set(&s->err, ERR_UNDEFINED_FUNCTION, "function %s does not exist", call);
    if (found->ret.id != T_FLOAT8)
        return err_set(&s->err, ERR_INVALID_OBJECT_DEFINITION,
                       "range subtype diff function %s must return type double precision", call);
    if (found->volatility != 'i')
        return err_set(&s->err, ERR_INVALID_OBJECT_DEFINITION, "range subtype diff function %s must be immutable",
                       call);
    return ST_OK;
}

/* PostgreSQL's name of a multirange: with "multirange" in the place of the first "range", or behind. */
static const char *multirange_name(Arena *a, const char *name) {
    const char *at = strstr(name, "range");
    return at ? arena_printf(a, "%.*smulti%s", (int)(at - name), name, at) : arena_printf(a, "%s_multirange", name);
}
static Status multirange_free(Session *s, const AstCreateRange *x, const char *name, const char *multi, bool given) {
    if (strcmp(multi, name) != 0 && type_name_free(s, multi, x->name.location) == ST_OK) return ST_OK;
    err_clear(&s->err);
    err_set(&s->err, ERR_DUPLICATE_OBJECT, "type \"%s\" already exists", multi);
    if (given) return ST_ERROR;
    err_detail(&s->err, "Failed while creating a multirange type for type \"%s\".", x->name.name);
    err_hint(&s->err, "You can manually specify a multirange type name using the \"multirange_type_name\" attribute.");
    return ST_ERROR;
}

Status range_create(Session *s, Statement *st, const AstCreateRange *x) {
    Options o;
    AstName name, multi;
    RangeType like = {0};
    const RangeType *made;
    TRY(session_begin_write(s));
    tag(st, "CREATE TYPE");
    TRY(type_new_name(s, st->run_arena, &x->name, &name));
    like.name = name.name;
    TRY(read_options(s, x, &o));
    TRY(read_subtype(s, o.subtype, &like.subtype));
    if (o.opclass)
        return err_set(&s->err, ERR_FEATURE_NOT_SUPPORTED, "operator classes of range types are not supported");
    if (o.collation && !type_is_text(like.subtype))
        return err_set(&s->err, ERR_WRONG_OBJECT_TYPE,
                       "range collation specified but subtype does not support collation");
    if (o.collation)
        TRY(sql_check_collation(&(AstName){.schema = o.collation->schema, .name = o.collation->name}, like.subtype, 0,
                                &s->err));
    if (o.collation && strcmp(o.collation->name, "default") != 0) like.collation = o.collation->name;
    if (o.canonical) {
        err_set(&s->err, ERR_INVALID_OBJECT_DEFINITION,
                "cannot specify a canonical function without a pre-created shell type");
        err_hint(&s->err, "Create the type as a shell type, then create its canonicalization function, then do a full "
                          "CREATE TYPE.");
        return ST_ERROR;
    }
    if (o.diff) TRY(check_diff(s, st, o.diff, like.subtype, &like.subtype_diff));
    multi = o.multi ? (AstName){.schema = o.multi->schema, .name = o.multi->name}
                    : (AstName){.name = multirange_name(st->run_arena, name_of_key(like.name))};
    if (!multi.name) return ST_ERROR;
    if (o.multi) TRY(session_new_name(s, st->run_arena, &multi, &multi));
    else multi.name = key_beside(st->run_arena, like.name, multi.name);
    if (!(like.multi = multi.name)) return ST_ERROR;
    TRY(multirange_free(s, x, like.name, like.multi, o.multi != NULL));
    TRY(range_make(s->db->catalog.ranges, 0, &like, &made, &s->err));
    return session_put_range(s, NULL, made);
}

Status range_rename(Session *s, const RangeType *x, bool multi, const char *new_name) {
    RangeType like = *x;
    const RangeType *made;
    *(multi ? &like.multi : &like.name) = new_name;
    TRY(range_make(s->db->catalog.ranges, x->number, &like, &made, &s->err));
    return session_put_range(s, x, made);
}

/* Constructors have names of their own, those that their types were made with. */
Status range_constructors_move(Session *s, Arena *a, const char *from, const char *to) {
    struct RangeSpace *all = s->db->catalog.ranges;
    for (int64_t i = 0; i < range_count(all); i++) {
        const RangeType *x = range_nth(all, i), *made;
        RangeType like = *x;
        if (key_is_in(x->make, from)) like.make = key_make(a, to, name_of_key(x->make));
        if (key_is_in(x->make_multi, from)) like.make_multi = key_make(a, to, name_of_key(x->make_multi));
        if (!like.make || !like.make_multi) return err_oom(&s->err);
        if (like.make == x->make && like.make_multi == x->make_multi) continue;
        TRY(range_make(s->db->catalog.ranges, x->number, &like, &made, &s->err));
        TRY(session_put_range(s, x, made));
    }
    return ST_OK;
}
