/* access_methods.c - see access_methods.h. */
#include "session/system/access_methods.h"

static const AccessMethod methods[] = {
    {OID_BTREE, 330, "btree", true, true, true, true, true}, {405, 331, "hash", false, false, false, false, false},
    {783, 332, "gist", false, false, true, true, true},      {2742, 333, "gin", false, false, true, false, false},
    {4000, 334, "spgist", false, false, false, true, false}, {3580, 335, "brin", false, false, true, false, false},
};
static const OperatorClass classes[] = {
#include "session/system/builtin_opclasses.inc"
};

const AccessMethod *access_methods(int64_t *n) {
    *n = ARRAY_LEN(methods);
    return methods;
}
const AccessMethod *access_method(const char *name) {
    for (int64_t i = 0; i < ARRAY_LEN(methods); i++)
        if (strcmp(methods[i].name, name) == 0) return &methods[i];
    return NULL;
}
const OperatorClass *operator_classes(int64_t *n) {
    *n = ARRAY_LEN(classes);
    return classes;
}

enum {
    OF_TEXT = 25,
    OF_OID = 26,
    OF_VARCHAR = 1043,
    OF_ARRAYS = 2277,
    OF_RECORDS = 2249,
    OF_ENUMS = 3500,
    OF_RANGES = 3831,
    OF_MULTIRANGES = 4537
};
/* The class takes values of the type as they are: it is the class's, or (what PostgreSQL calls binary coercible) one
 * whose values look the same. */
static bool accepts(const OperatorClass *x, Type t, int64_t oid) {
    if (x->type == oid) return true;
    switch (x->type) {
    case OF_TEXT: return oid == OF_VARCHAR;
    case OF_OID: return t.id == T_OID;
    case OF_ARRAYS: return t.id == T_ARRAY;
    case OF_RECORDS: return t.id == T_COMPOSITE;
    case OF_ENUMS: return t.id == T_ENUM;
    case OF_RANGES: return t.id == T_RANGE;
    case OF_MULTIRANGES: return t.id == T_MULTIRANGE;
    default: return false;
    }
}
const OperatorClass *operator_class_default(const SysObjects *o, const AccessMethod *m, Type t) {
    const int64_t oid = object_type_oid(o, t, 0);
    const OperatorClass *like = NULL;
    for (int64_t i = 0; i < ARRAY_LEN(classes); i++) {
        const OperatorClass *x = &classes[i];
        if (x->method != m->oid || !x->is_default || !accepts(x, t, oid)) continue;
        if (x->type == oid) return x;
        like = x;
    }
    return like;
}
Status operator_class_find(const SysObjects *o, const AccessMethod *m, Type t, int64_t domain, const char *name,
                           const OperatorClass **out, Err *e) {
    const int64_t oid = object_type_oid(o, t, 0);
    bool named = false;
    for (int64_t i = 0; i < ARRAY_LEN(classes); i++) {
        const OperatorClass *x = &classes[i];
        if (x->method != m->oid || strcmp(x->name, name) != 0) continue;
        named = true;
        if (accepts(x, t, oid)) return *out = x, ST_OK;
    }
    if (!named)
        return err_set(e, ERR_UNDEFINED_OBJECT, "operator class \"%s\" does not exist for access method \"%s\"", name,
                       m->name);
    const char *shown = object_type_shown(o, object_type_oid(o, t, domain), -1, false);
    return err_set(e, ERR_DATATYPE_MISMATCH, "operator class \"%s\" does not accept data type %s", name,
                   shown ? shown : "");
}
