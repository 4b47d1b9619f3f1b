/* bind_poly.h - which types a call of a polymorphic routine has in place of anyelement and the like.
 *
 * The rules are PostgreSQL's ("Polymorphic Types" of its manual, enforce_generic_type_consistency). There are two
 * families: anyelement, anyarray, anynonarray, anyenum, anyrange and anymultirange stand for one type exactly,
 * anycompatible, its arrays and ranges for the common type of all arguments that are so declared. Lengths and scales
 * have no part in it: numeric is numeric.
 */
#ifndef STELE_SQL_BIND_POLY_H
#define STELE_SQL_BIND_POLY_H

#include "types/type.h"

/* Types that are found as arguments are looked at; T_UNKNOWN: not yet. */
typedef struct Poly {
    Type element, array, common;
    Type range[2];  /* T_RANGE, also where only its multirange is there; of the first, of the second family */
    bool family[2]; /* some argument has a type of the first, of the second family */
    bool nonarray, enumerated, common_nonarray;
} Poly;

/* Whether arguments of these types can be given for parameters of the declared ones, as far as polymorphic types go.
 * Literals without a type go with all. */
bool poly_fits(int n, const Type *declared, const Type *actual, Poly *out);
/* The types that are left open by literals. 42804: nothing tells which one it is, or an array or no enumerated type is
 * where none may be. */
Status poly_settle(Poly *p, Err *e);
/* The type in place of a declared one. 42704: arrays of arrays. */
Status poly_type(const Poly *p, Type declared, Type *out, Err *e);
/* It stands for the common type of arguments. */
bool poly_is_common(PolyType kind);
bool poly_is_range(PolyType kind); /* or for a multirange */
/* What each of the elements of a VARIADIC parameter is declared as. */
Type poly_element_of(Type variadic);

#endif
