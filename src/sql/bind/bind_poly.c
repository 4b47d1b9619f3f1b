/* bind_poly.c - see bind_poly.h. */
#include "sql/bind/bind_poly.h"

#include "types/func.h"
#include "types/range.h"

static bool is_numeric(Type t) { return t.id == T_NUMERIC || t.id == T_DECIMAL; }
static bool same_element(Type a, Type b) {
    return (a.id == b.id && (!type_is_defined(a) || a.length == b.length)) || (is_numeric(a) && is_numeric(b));
}

static bool poly_same(Type a, Type b) {
    if (a.id != T_ARRAY || b.id != T_ARRAY) return same_element(a, b);
    return same_element(type_element(a), type_element(b));
}

/* As parameters are: without lengths and scales. */
static Type plain_element(Type t) {
    if (type_is_defined(t) || type_is_record(t)) return t;
    Type r = type_make(t.id == T_NUMERIC ? T_DECIMAL : (TypeId)t.id);
    if (t.id == T_CHAR) r.length = 0;
    return r;
}
static Type plain(Type t) { return t.id == T_ARRAY ? type_array_of(plain_element(type_element(t))) : plain_element(t); }
static bool known(Type t) { return t.id != T_UNKNOWN; }
/* *t is the type, or becomes it. */
static bool is_or_becomes(Type *t, Type x) {
    if (known(*t)) return poly_same(*t, x);
    *t = plain(x);
    return true;
}
static bool add_common(Poly *p, Type x) {
    Type t;
    if (!known(p->common)) return p->common = plain(x), true;
    if (!type_common(p->common, x, &t)) return false;
    return p->common = plain(t), true;
}

bool poly_is_common(PolyType kind) { return kind >= POLY_COMPATIBLE && kind != POLY_RANGE && kind != POLY_MULTIRANGE; }
bool poly_is_range(PolyType kind) { return kind >= POLY_RANGE && kind <= POLY_COMPATIBLE_MULTIRANGE; }
static bool range_fits(Poly *p, PolyType kind, Type x) {
    const bool multi = kind == POLY_MULTIRANGE || kind == POLY_COMPATIBLE_MULTIRANGE;
    Type *range = &p->range[poly_is_common(kind)];
    if (x.id != (multi ? T_MULTIRANGE : T_RANGE)) return false;
    if (known(*range)) return range->length == x.length;
    const RangeType *r = range_of(x);
    if (r) *range = range_type(r);
    return r != NULL;
}

static bool argument_fits(Poly *p, Type declared, Type x) {
    const PolyType kind = (PolyType)declared.length;
    p->family[poly_is_common(kind)] = true;
    p->nonarray |= kind == POLY_NONARRAY;
    p->enumerated |= kind == POLY_ENUM;
    p->common_nonarray |= kind == POLY_COMPATIBLE_NONARRAY;
    if (!known(x)) return true;
    switch (kind) {
    case POLY_ELEMENT:
    case POLY_NONARRAY:
    case POLY_ENUM: return is_or_becomes(&p->element, x);
    case POLY_ARRAY: return x.id == T_ARRAY && is_or_becomes(&p->array, x);
    case POLY_COMPATIBLE:
    case POLY_COMPATIBLE_NONARRAY: return add_common(p, x);
    case POLY_COMPATIBLE_ARRAY: return x.id == T_ARRAY && add_common(p, type_element(x));
    case POLY_RANGE:
    case POLY_MULTIRANGE:
    case POLY_COMPATIBLE_RANGE:
    case POLY_COMPATIBLE_MULTIRANGE: return range_fits(p, kind, x);
    case POLY_NONE: break;
    }
    return true;
}

/* Ranges of the second family have the common type itself as subtype. */
static bool range_is_common(Poly *p) {
    const Type subtype = range_of(p->range[1])->subtype;
    return add_common(p, subtype) && same_element(p->common, subtype);
}

bool poly_fits(int n, const Type *declared, const Type *actual, Poly *out) {
    *out = (Poly){0};
    for (int i = 0; i < n; i++)
        if (type_is_poly(declared[i]) && !argument_fits(out, declared[i], actual[i])) return false;
    if (known(out->array) && !is_or_becomes(&out->element, type_element(out->array))) return false;
    if (known(out->range[0]) && !is_or_becomes(&out->element, range_of(out->range[0])->subtype)) return false;
    if (known(out->range[1]) && !range_is_common(out)) return false;
    if (out->nonarray && out->element.id == T_ARRAY) return false;
    if (out->enumerated && known(out->element) && out->element.id != T_ENUM) return false;
    return !(out->common_nonarray && out->common.id == T_ARRAY);
}

Status poly_settle(Poly *p, Err *e) {
    if (p->family[0] && !known(p->element))
        return err_set(e, ERR_DATATYPE_MISMATCH, "could not determine polymorphic type because input has type unknown");
    if (p->family[1] && !known(p->common)) p->common = type_make(T_TEXT);
    return ST_OK;
}

/* A range of its own, or the multirange of one: no other argument says which one it is. */
static Status range_type_of(const Poly *p, PolyType kind, Type *out, Err *e) {
    const bool multi = kind == POLY_MULTIRANGE || kind == POLY_COMPATIBLE_MULTIRANGE;
    const RangeType *r = range_of(p->range[poly_is_common(kind)]);
    if (!r)
        return err_set(e, ERR_DATATYPE_MISMATCH,
                       "could not determine polymorphic type %s because input has type unknown",
                       type_plain_name(type_poly(kind)));
    *out = multi ? multirange_type(r) : range_type(r);
    return ST_OK;
}
static Status array_of(Type element, Type *out, Err *e) {
    if (element.id == T_ARRAY)
        return err_set(e, ERR_UNDEFINED_OBJECT, "could not find array type for data type %s", type_plain_name(element));
    *out = type_array_of(element);
    return ST_OK;
}
Status poly_type(const Poly *p, Type declared, Type *out, Err *e) {
    *out = declared;
    if (!type_is_poly(declared)) return ST_OK;
    switch ((PolyType)declared.length) {
    case POLY_ARRAY: return array_of(p->element, out, e);
    case POLY_COMPATIBLE_ARRAY: return array_of(p->common, out, e);
    case POLY_COMPATIBLE:
    case POLY_COMPATIBLE_NONARRAY: return *out = p->common, ST_OK;
    case POLY_RANGE:
    case POLY_MULTIRANGE:
    case POLY_COMPATIBLE_RANGE:
    case POLY_COMPATIBLE_MULTIRANGE: return range_type_of(p, (PolyType)declared.length, out, e);
    default: return *out = p->element, ST_OK;
    }
}

Type poly_element_of(Type variadic) {
    if (!type_is_poly(variadic)) return type_element(variadic);
    return type_poly(variadic.length == POLY_ARRAY ? POLY_ELEMENT : POLY_COMPATIBLE);
}
