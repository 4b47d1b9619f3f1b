/* oid.c - object identifiers and names: types, text. See oid.h. */
#include "types/oid.h"

#include <stdio.h>

#include "types/func.h"
#include "types/type_int.h"

static const struct {
    const char *name, *array;
} kinds[N_OID_KINDS] = {
    [OID_PLAIN] = {"oid", "oid[]"},
    [OID_CLASS] = {"regclass", "regclass[]"},
    [OID_TYPE] = {"regtype", "regtype[]"},
    [OID_PROC] = {"regproc", "regproc[]"},
    [OID_PROCEDURE] = {"regprocedure", "regprocedure[]"},
    [OID_OPER] = {"regoper", "regoper[]"},
    [OID_OPERATOR] = {"regoperator", "regoperator[]"},
    [OID_NAMESPACE] = {"regnamespace", "regnamespace[]"},
    [OID_ROLE] = {"regrole", "regrole[]"},
    [OID_COLLATION] = {"regcollation", "regcollation[]"},
    [OID_CONFIG] = {"regconfig", "regconfig[]"},
    [OID_DICTIONARY] = {"regdictionary", "regdictionary[]"},
    [OID_XID] = {"xid", "xid[]"},
    [OID_CID] = {"cid", "cid[]"},
    [OID_XID8] = {"xid8", "xid8[]"},
};

const char *oid_type_name(Type t) {
    const Type x = t.id == T_ARRAY ? type_element(t) : t;
    const bool array = t.id == T_ARRAY;
    if (array && t.flags & TF_VECTOR) return x.id == T_INT2 ? "int2vector" : "oidvector";
    if (x.id == T_TEXT && x.flags & TF_NAME) return array ? "name[]" : "name";
    if (x.id == T_TEXT && x.flags & TF_QCHAR) return array ? "\"char\"[]" : "\"char\"";
    if (x.id != T_OID || x.precision >= N_OID_KINDS) return NULL;
    return array ? kinds[x.precision].array : kinds[x.precision].name;
}

bool oid_type_named(Slice name, Type *out) {
    Type text = type_make(T_TEXT), vector;
    if (slice_eq(name, slice_of("name"))) return text.flags = TF_NAME, *out = text, true;
    if (slice_eq(name, slice_of("char"))) return text.flags = TF_QCHAR, *out = text, true;
    const bool of_oids = slice_eq(name, slice_of("oidvector"));
    if (of_oids || slice_eq(name, slice_of("int2vector"))) {
        vector = type_array_of(type_make(of_oids ? T_OID : T_INT2));
        vector.flags |= TF_VECTOR;
        return *out = vector, true;
    }
    for (int k = 0; k < N_OID_KINDS; k++)
        if (slice_eq(name, slice_of(kinds[k].name))) return *out = oid_type((OidKind)k), true;
    return false;
}

int64_t oid_format(Type t, int64_t oid, char *out) {
    if (oid == 0 && oid_has_name(t)) return *out = '-', 1;
    return snprintf(out, VALUE_TEXT_MAX, "%lld", (long long)oid);
}

/* Digits with a sign, blanks around: -1 is the greatest. */
static Status number(Type t, Slice text, int64_t *out, Err *e) {
    const char *name = kinds[t.precision].name, *p = text.ptr, *end = text.ptr + text.len;
    while (p < end && is_blank(*p)) p++;
    while (end > p && is_blank(end[-1])) end--;
    const bool neg = p < end && *p == '-';
    if (p < end && (*p == '-' || *p == '+')) p++;
    const bool wide = t.precision == OID_XID8;
    const int64_t most = wide ? INT64_MAX / 10 - 1 : (int64_t)UINT32_MAX;
    int64_t v = 0;
    const char *from = p;
    for (; p < end && is_digit(*p) && v <= most; p++) v = v * 10 + (*p - '0');
    if (p == from || (p < end && !is_digit(*p)))
        return err_set(e, ERR_INVALID_TEXT, "invalid input syntax for type %s: \"%.*s\"", name,
                       (int)MIN_OF(text.len, 512), text.ptr);
    if (wide && !neg && (p == end)) return *out = v, ST_OK;
    if (v > (neg ? INT64_C(2147483648) : (int64_t)UINT32_MAX))
        return err_set(e, ERR_NUMERIC_RANGE, "value \"%.*s\" is out of range for type %s", (int)MIN_OF(text.len, 512),
                       text.ptr, name);
    *out = (neg ? -v : v) & UINT32_MAX;
    return ST_OK;
}

Status oid_from_text(Type t, Slice text, const struct SessionInfo *session, int64_t *out, Err *e) {
    if (!oid_has_name(t)) return number(t, text, out, e);
    if (text.len == 1 && text.ptr[0] == '-') return *out = 0, ST_OK;
    bool digits = text.len > 0;
    for (int64_t i = 0; i < text.len; i++) digits = digits && is_digit(text.ptr[i]);
    if (digits) return number(t, text, out, e);
    if (!session || !session->oid_find)
        return err_set(e, ERR_FEATURE_NOT_SUPPORTED, "names of objects are not known here");
    return session->oid_find(session->setting_ctx, t.precision, text, out, e);
}

Str text_cut(Type t, Str s) {
    if (t.id != T_TEXT) return s;
    if (t.flags & TF_QCHAR) return str_make(s.ptr, utf8_prefix_bytes(s.ptr, s.len, 1));
    if (!(t.flags & TF_NAME) || s.len <= NAME_BYTES) return s;
    int64_t n = NAME_BYTES;
    while (n > 0 && ((unsigned char)s.ptr[n] & 0xC0) == 0x80) n--;
    return str_make(s.ptr, n);
}
