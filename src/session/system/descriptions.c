/* descriptions.c - comments on objects as pg_description has them, and obj_description and the like. */
#include "session/system/descriptions.h"

#include <stdlib.h>

#include "session/system/builtin_objects.h"
#include "session/system/system_int.h"

/* What a comment is on: a row of the catalog `in`. oid 0: it is not there. */
typedef struct Place {
    int64_t in, oid, sub;
} Place;

static Place of_column(const SysObjects *o, const Comment *x) {
    SysClass *c = object_class_of_key(o, x->name);
    if (!c || object_columns(o, c) != ST_OK) return (Place){0};
    for (int32_t i = 0; i < c->n_cols; i++)
        if (strcmp(c->cols[i].name, x->part) == 0) return (Place){IN_CLASS, c->oid, i + 1};
    return (Place){0};
}
static Place of_constraint(const SysObjects *o, const Comment *x) {
    for (int64_t i = 0; i < o->constraints.len; i++) {
        const SysConstraint *k = &o->constraints.items[i];
        const char *owner = k->domain ? k->domain->name : k->of->key;
        const bool domain = x->kind == COMMENT_DOMAIN_CONSTRAINT;
        if (domain == (k->domain != NULL) && strcmp(owner, x->name) == 0 && strcmp(k->name, x->part) == 0)
            return (Place){IN_CONSTRAINT, k->oid, 0};
    }
    return (Place){0};
}
static Place place(const SysObjects *o, const Comment *x) {
    const SysClass *c;
    const SysType *t;
    const Role *r;
    switch (x->kind) {
    case COMMENT_RELATION: return (c = object_class_of_key(o, x->name)) ? (Place){IN_CLASS, c->oid, 0} : (Place){0};
    case COMMENT_COLUMN: return of_column(o, x);
    case COMMENT_CONSTRAINT:
    case COMMENT_DOMAIN_CONSTRAINT: return of_constraint(o, x);
    case COMMENT_TYPE: return (t = object_type_of_key(o, x->name)) ? (Place){IN_TYPE, t->oid, 0} : (Place){0};
    case COMMENT_ROUTINE:
        for (int64_t i = 0; i < o->routines.len; i++)
            if (o->routines.items[i].routine->id == x->routine) return (Place){IN_PROC, o->routines.items[i].oid, 0};
        return (Place){0};
    case COMMENT_SCHEMA: return (Place){IN_NAMESPACE, object_schema(o, x->name), 0};
    case COMMENT_DATABASE: return (Place){IN_DATABASE, OID_DATABASE, 0};
    case COMMENT_BUILTIN:
        c = object_class_named(o, "pg_catalog", x->name);
        return c ? (Place){c->oid, strtoll(x->part, NULL, 10), 0} : (Place){0};
    case COMMENT_ROLE: return (r = catalog_role(o->c, x->name)) ? (Place){IN_AUTHID, r->id, 0} : (Place){0};
    }
    return (Place){0};
}

static bool is_shared(const Comment *x) {
    return x->kind == COMMENT_DATABASE || x->kind == COMMENT_ROLE ||
           (x->kind == COMMENT_BUILTIN && strcmp(x->name, "pg_tablespace") == 0);
}
Status system_fill_description(Session *s, SystemRows *r) {
    (void)s;
    for (int64_t i = 0; i < r->o->c->n_comments; i++) {
        const Comment *x = r->o->c->comments[i];
        const Place p = place(r->o, x);
        if (p.oid && !is_shared(x)) TRY(system_row(r, "iiis", p.oid, p.in, p.sub, x->text));
    }
    return ST_OK;
}
Status system_fill_shdescription(Session *s, SystemRows *r) {
    (void)s;
    for (int64_t i = 0; i < r->o->c->n_comments; i++) {
        const Comment *x = r->o->c->comments[i];
        const Place p = place(r->o, x);
        if (p.oid && is_shared(x)) TRY(system_row(r, "iis", p.oid, p.in, x->text));
    }
    return ST_OK;
}

const char *object_comment(const SysObjects *o, const char *catalog, int64_t oid, int64_t sub) {
    for (int64_t i = 0; i < o->c->n_comments; i++) {
        const Place p = place(o, o->c->comments[i]);
        if (p.oid != oid || p.sub != sub) continue;
        const SysClass *in = object_class(o, p.in);
        if (in && (!catalog || strcmp(in->name, catalog) == 0)) return o->c->comments[i]->text;
    }
    return NULL;
}
