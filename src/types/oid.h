/* oid.h - object identifiers and names: the types that PostgreSQL's catalogs are made of.
 *
 * An oid is an unsigned number of 32 bits, held as a 64-bit integer, so that it compares, groups and joins like any
 * other. regclass and the like are oids whose text is the name of an object; xid and cid are numbers of that range that
 * are no oids. Type.precision says which one a Type is. They differ in their text and their casts only, and functions
 * that take an oid take all of them.
 *
 * The text of a regclass needs the catalog: SessionInfo.oid_name and oid_find. A result has the text itself
 * (TF_SHOWN), made at the end of the query, since a client may read it when the catalog has changed.
 *
 * name and "char" are texts that are cut to 63 bytes and to one, and behave as texts in all else.
 */
#ifndef STELE_TYPES_OID_H
#define STELE_TYPES_OID_H

#include "types/type.h"

typedef enum OidKind {
    OID_PLAIN,
    OID_CLASS,
    OID_TYPE,
    OID_PROC,
    OID_PROCEDURE,
    OID_OPER,
    OID_OPERATOR,
    OID_NAMESPACE,
    OID_ROLE,
    OID_COLLATION,
    OID_CONFIG,
    OID_DICTIONARY,
    OID_XID,
    OID_CID,
    OID_XID8, /* of 64 bits */
    N_OID_KINDS
} OidKind;

enum { NAME_BYTES = 63 /* PostgreSQL's NAMEDATALEN less its end */ };

static inline Type oid_type(OidKind k) { return (Type){.id = T_OID, .precision = (uint8_t)k}; }
static inline bool oid_is_number(Type t) { return t.precision >= OID_XID; }
/* Values are shown as names of objects, and are not shown yet; of arrays: their elements. */
static inline bool oid_has_name(Type t) {
    const Type x = t.id == T_ARRAY && !(t.flags & TF_VECTOR) ? type_element(t) : t;
    return x.id == T_OID && !(x.flags & TF_SHOWN) && x.precision != OID_PLAIN && !oid_is_number(x);
}
/* The name of a type of this file, of arrays and vectors of them too; NULL: of none but oid. */
const char *oid_type_name(Type t);
bool oid_type_named(Slice name, Type *out);
/* Without a catalog: digits, "-" for no object. At most VALUE_TEXT_MAX bytes; returns how many. */
int64_t oid_format(Type t, int64_t oid, char *out);
/* 22P02, 22003, and what oid_find has. */
Status oid_from_text(Type t, Slice text, const struct SessionInfo *session, int64_t *out, Err *e);
/* A text as one of type t: cut when that is name or "char", else as it is. */
Str text_cut(Type t, Str s);

#endif
