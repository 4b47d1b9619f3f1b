/* bind_range.c - functions and operators of ranges and multiranges (types/range.h).
 *
 * The function table has ranges only as T_RANGE and T_MULTIRANGE: it is here that all of a call are found to be of one
 * range type, and its values of that one's subtype, exactly as PostgreSQL's anyrange, anymultirange and anyelement have
 * it. Operators are calls of the functions that PostgreSQL has for them, comparisons are those of bytes (bind_key.c).
 */
#include "catalog/named_type.h"
#include "sql/bind/bind_int.h"
#include "types/numbers.h"
#include "types/range.h"

/* What an argument is: r range, m multirange, e a value of the subtype, . something else. */
typedef struct Form {
    const char *name, *args;
} Form;
/* Functions, whose untyped literals are taken for what stands here. */
static const Form functions[] = {
    {"range_contains", "rr"},
    {"range_contains_multirange", "rm"},
    {"multirange_contains_range", "mr"},
    {"multirange_contains_multirange", "mm"},
    {"range_contained_by", "rr"},
    {"range_contained_by_multirange", "rm"},
    {"multirange_contained_by_range", "mr"},
    {"multirange_contained_by_multirange", "mm"},
    {"range_contains_elem", "re"},
    {"multirange_contains_elem", "me"},
    {"elem_contained_by_range", "er"},
    {"elem_contained_by_multirange", "em"},
    {"range_overlaps", "rr"},
    {"range_overlaps_multirange", "rm"},
    {"multirange_overlaps_range", "mr"},
    {"multirange_overlaps_multirange", "mm"},
    {"range_before", "rr"},
    {"range_before_multirange", "rm"},
    {"multirange_before_range", "mr"},
    {"multirange_before_multirange", "mm"},
    {"range_after", "rr"},
    {"range_after_multirange", "rm"},
    {"multirange_after_range", "mr"},
    {"multirange_after_multirange", "mm"},
    {"range_overleft", "rr"},
    {"range_overleft_multirange", "rm"},
    {"multirange_overleft_range", "mr"},
    {"multirange_overleft_multirange", "mm"},
    {"range_overright", "rr"},
    {"range_overright_multirange", "rm"},
    {"multirange_overright_range", "mr"},
    {"multirange_overright_multirange", "mm"},
    {"range_adjacent", "rr"},
    {"range_adjacent_multirange", "rm"},
    {"multirange_adjacent_range", "mr"},
    {"multirange_adjacent_multirange", "mm"},
    {"range_eq", "rr"},
    {"range_ne", "rr"},
    {"range_lt", "rr"},
    {"range_le", "rr"},
    {"range_gt", "rr"},
    {"range_ge", "rr"},
    {"multirange_eq", "mm"},
    {"multirange_ne", "mm"},
    {"multirange_lt", "mm"},
    {"multirange_le", "mm"},
    {"multirange_gt", "mm"},
    {"multirange_ge", "mm"},
    {"range_cmp", "rr"},
    {"multirange_cmp", "mm"},
    {"range_union", "rr"},
    {"multirange_union", "mm"},
    {"range_intersect", "rr"},
    {"multirange_intersect", "mm"},
    {"range_minus", "rr"},
    {"multirange_minus", "mm"},
    {"range_merge", "rr"},
};
/* Operators: the middle of their functions' names. */
static const Form operators[] = {
    {"@>", "contains"}, {"<@", "contained_by"}, {"&&", "overlaps"},  {"<<", "before"},
    {">>", "after"},    {"&<", "overleft"},     {"&>", "overright"}, {"-|-", "adjacent"},
    {"+", "union"},     {"*", "intersect"},     {"-", "minus"},
};

static const char *form_of(const char *name) {
    for (int64_t i = 0; i < ARRAY_LEN(functions); i++)
        if (strcmp(functions[i].name, name) == 0) return functions[i].args;
    return NULL;
}

/* The one range type of a call's arguments; NULL: there is none, or several. */
static const RangeType *common_type(int n, Expr *const *args) {
    const RangeType *x = NULL;
    for (int i = 0; i < n; i++) {
        const RangeType *y = range_of(args[i]->type);
        if (y && x && y->number != x->number) return NULL;
        if (y) x = y;
    }
    return x;
}
static bool is_subtype(const RangeType *x, Type t) {
    if (t.id == T_NUMERIC || t.id == T_DECIMAL) return x->subtype.id == T_DECIMAL;
    return t.id == x->subtype.id && (!type_is_defined(t) || t.length == x->subtype.length);
}
static bool fits(const RangeType *x, char form, Type t) {
    switch (form) {
    case 'r': return t.id == T_RANGE && t.length == x->number;
    case 'm': return t.id == T_MULTIRANGE && t.length == x->number;
    default: return is_subtype(x, t);
    }
}
static Type type_of(const RangeType *x, char form) {
    return form == 'r' ? range_type(x) : form == 'm' ? multirange_type(x) : x->subtype;
}

/* Gives the arguments the types of the form; false: they do not fit. */
static Status coerce_args(Binder *b, const RangeType *x, const char *form, int n, Expr **args, int64_t location,
                          bool *ok) {
    *ok = (int)strlen(form) == n;
    for (int i = 0; i < n && *ok; i++) *ok = args[i]->type.id == T_UNKNOWN || fits(x, form[i], args[i]->type);
    for (int i = 0; i < n && *ok; i++) {
        const int64_t at = args[i]->location ? args[i]->location : location;
        if (!(args[i] = bind_coerce(b, args[i], type_of(x, form[i]), CAST_IMPLICIT, at))) return ST_ERROR;
    }
    return ST_OK;
}

/* ---- operators ---------------------------------------------------------------------------------------------- */

static Status compare_args(Binder *b, const char *name, Expr **args, int64_t location) {
    const RangeType *x = common_type(2, args);
    bool ok = false;
    const bool multi = args[0]->type.id == T_MULTIRANGE || args[1]->type.id == T_MULTIRANGE;
    if (x) TRY(coerce_args(b, x, multi ? "mm" : "rr", 2, args, location, &ok));
    if (!ok) return bind_no_such_call(b, name, true, 2, args, location);
    for (int k = 0; k < 2 && type_needs_key(type_of(x, multi ? 'm' : 'r')); k++)
        if (!(args[k] = bind_key(b, args[k], location))) return ST_ERROR;
    return ST_OK;
}

static char kind_of(Type t, Type other) {
    if (t.id == T_UNKNOWN) t = other; /* a literal is of the other's type */
    return t.id == T_RANGE ? 'r' : t.id == T_MULTIRANGE ? 'm' : 'e';
}
static const char *word_of(char kind) { return kind == 'r' ? "range" : kind == 'm' ? "multirange" : "elem"; }
static Status operator_args(Binder *b, const char **name, bool *is_operator, const char *middle, Expr **args,
                            int64_t location) {
    const RangeType *x = common_type(2, args);
    const char form[3] = {kind_of(args[0]->type, args[1]->type), kind_of(args[1]->type, args[0]->type), 0};
    const bool short_name =
        form[0] == form[1] && (form[0] == 'r' || strchr("+*-", **name) != NULL) && strcmp(*name, "-|-") != 0;
    const bool plain = form[0] == 'r' && form[1] == 'r';
    bool ok = false;
    const char *f = short_name || plain ? arena_printf(b->a, "%s_%s", word_of(form[0]), middle)
                                        : arena_printf(b->a, "%s_%s_%s", word_of(form[0]), middle, word_of(form[1]));
    if (!f) return ST_ERROR;
    if (x && form_of(f)) TRY(coerce_args(b, x, form, 2, args, location, &ok));
    if (!ok) return bind_no_such_call(b, *name, true, 2, args, location);
    *name = f;
    *is_operator = false;
    return ST_OK;
}

/* ---- constructors ---------------------------------------------------------------------------------------------- */

static Status range_args(Binder *b, const char **name, const RangeType *x, int n, Expr **args, int64_t location) {
    bool ok = n == 2 || n == 3;
    for (int i = 0; i < 2 && ok; i++)
        ok = args[i]->type.id == T_UNKNOWN || cast_exists(args[i]->type, x->subtype, CAST_IMPLICIT);
    if (ok && n == 3) ok = args[2]->type.id == T_UNKNOWN || type_is_text(args[2]->type);
    if (!ok) return bind_no_such_call(b, *name, false, n, args, location);
    for (int i = 0; i < n; i++) {
        const int64_t at = args[i]->location ? args[i]->location : location;
        if (!(args[i] = bind_coerce(b, args[i], i < 2 ? x->subtype : type_make(T_TEXT), CAST_IMPLICIT, at)))
            return ST_ERROR;
    }
    if (x->number >= TYPE_NUMBER_FIRST) *name = "range_make";
    return ST_OK;
}
static Status multirange_args(Binder *b, const char **name, const RangeType *x, int n, Expr **args, int64_t location) {
    bool ok = true;
    for (int i = 0; i < n && ok; i++) ok = args[i]->type.id == T_UNKNOWN || fits(x, 'r', args[i]->type);
    if (!ok) return bind_no_such_call(b, *name, false, n, args, location);
    for (int i = 0; i < n; i++) {
        const int64_t at = args[i]->location ? args[i]->location : location;
        if (!(args[i] = bind_coerce(b, args[i], range_type(x), CAST_IMPLICIT, at))) return ST_ERROR;
    }
    if (x->number >= TYPE_NUMBER_FIRST) *name = "multirange_make";
    return ST_OK;
}

static const RangeType *constructor(Binder *b, const char *name, bool *multi, int64_t location) {
    const RangeType *x = range_builtin(slice_of(name), multi);
    if (x || func_named(slice_of(name))) return x;
    x = catalog_range_constructor(b->c->catalog, NULL, name, multi);
    if (!x || key_has_schema(name)) return x;
    return bind_keep_schema(b, location, *multi ? x->make_multi : x->make) == ST_OK ? x : NULL;
}
const AstFunc *bind_schema_constructor(Binder *b, const AstFunc *f) {
    bool multi;
    const RangeType *x = catalog_range_constructor(b->c->catalog, f->name.schema, f->name.name, &multi);
    AstFunc *own = x ? arena_new_of(b->a, AstFunc) : NULL;
    if (!own) return NULL;
    *own = *f;
    own->name.schema = NULL;
    own->name.name = multi ? x->make_multi : x->make;
    return own;
}

Expr *bind_range_cast(Binder *b, const char *name, int n, Expr *const *args, int64_t location) {
    bool multi;
    const RangeType *x = n == 1 && args[0] ? constructor(b, name, &multi, location) : NULL;
    if (!x) return NULL;
    const Type to = multi ? multirange_type(x) : range_type(x);
    const bool is_cast = args[0]->type.id == T_UNKNOWN || type_eq(args[0]->type, to);
    return is_cast ? bind_coerce(b, args[0], to, CAST_EXPLICIT, location) : NULL;
}

Expr *bind_multirange_variadic(Binder *b, const char *name, Expr *array, int64_t location) {
    bool multi;
    const RangeType *x = constructor(b, name, &multi, location);
    if (!x || !multi || !array) return NULL;
    const Type want = type_array_of(range_type(x));
    if (array->type.id != T_UNKNOWN && !type_eq(array->type, want)) {
        (void)bind_no_such_call(b, name, false, 1, &array, location);
        return NULL;
    }
    if (!(array = bind_coerce(b, array, want, CAST_IMPLICIT, location))) return NULL;
    Expr *e = bind_call(b, "multirange_from_array", false, 1, &array, location);
    if (e) e->type = multirange_type(x);
    return e;
}

Status bind_range_args(Binder *b, const char **name, bool *is_operator, int n, Expr **args, int64_t location,
                       Type *made) {
    bool some = false, multi;
    for (int i = 0; i < n; i++) some |= type_is_range(args[i]->type);
    if (*is_operator) {
        if (n != 2 || !some) return ST_OK;
        if (bind_is_comparison(*name)) return compare_args(b, *name, args, location);
        for (int64_t i = 0; i < ARRAY_LEN(operators); i++)
            if (strcmp(*name, operators[i].name) == 0)
                return operator_args(b, name, is_operator, operators[i].args, args, location);
        return ST_OK;
    }
    const char *form = some ? form_of(*name) : NULL;
    if (form && (int)strlen(form) == n) {
        const RangeType *x = common_type(n, args);
        bool ok = false;
        if (x) TRY(coerce_args(b, x, form, n, args, location, &ok));
        return ok ? ST_OK : bind_no_such_call(b, *name, false, n, args, location);
    }
    const RangeType *x = constructor(b, *name, &multi, location);
    if (!x) return ST_OK;
    *made = multi ? multirange_type(x) : range_type(x);
    return multi ? multirange_args(b, name, x, n, args, location) : range_args(b, name, x, n, args, location);
}
