/* catalogs.c - rows of PostgreSQL's catalogs of relations, types and what belongs to them. See system_int.h for how a
 * row is written; what each column means is PostgreSQL's manual, chapter "System Catalogs". */
#include "base/stack.h"
#include "session/ddl/index_names.h"
#include "session/system/access_methods.h"
#include "session/system/definitions.h"
#include "session/system/roles.h"
#include "types/enums.h"
#include "types/oid.h"

enum { PAGE_BYTES = 8192 };

Status system_fill_namespace(Session *s, SystemRows *r) {
    (void)s;
    for (int64_t i = 0; i < r->o->spaces.len; i++) {
        const int64_t oid = r->o->spaces.items[i].oid;
        const Privileges of = {.kind = PRIVILEGE_SCHEMA, .name = r->o->spaces.items[i].name, .part = ""};
        TRY(system_row(r, "isiv", oid, of.name, system_owner(r->o, &of), system_acl(r, 3, &of)));
    }
    return ST_OK;
}

/* ---- relations -------------------------------------------------------------------------------------- */

int64_t system_table_bytes(const Table *t) {
    int64_t bytes = 0;
    for (int64_t k = 0; k < t->n_tablets; k++) bytes += tablet_bytes(t->tablets[k]);
    return bytes;
}
/* It is one side of a foreign key, whose checks are PostgreSQL's triggers. */
static bool has_foreign(const Catalog *c, const char *table) {
    for (int64_t i = 0; i < c->n_foreign; i++)
        if (strcmp(c->foreign[i]->table, table) == 0 || strcmp(c->foreign[i]->ref_table, table) == 0) return true;
    return false;
}
static char persistence_of(const SysClass *c) {
    const bool unlogged = c->table ? c->table->unlogged : c->sequence && c->sequence->unlogged;
    return c->key && key_is_temporary(c->key) ? 't' : unlogged ? 'u' : 'p';
}
Status system_fill_class(Session *s, SystemRows *r) {
    (void)s;
    for (int64_t i = 0; i < r->o->classes.len; i++) {
        SysClass *c = &r->o->classes.items[i];
        const bool table = system_has_rows(c), index = c->kind == 'i';
        const AccessMethod *m = index ? access_method(c->def->method) : NULL;
        const int64_t am = table || c->kind == 'r' ? OID_HEAP : m ? m->oid : 0;
        const View *v = c->view;
        const int n_options = index ? c->def->n_options : v ? v->n_options : 0;
        const char *const *set = index ? (const char *const *)c->def->options
                                 : v   ? (const char *const *)v->options
                                       : NULL;
        const Str *options = n_options > 0 ? system_texts(r, 31, n_options, set) : NULL;
        if (n_options > 0 && !options) return err_is_set(r->err) ? ST_ERROR : err_oom(r->err);
        const int64_t bytes = table ? system_table_bytes(c->table) : 0;
        const bool indexed = table && i + 1 < r->o->classes.len && c[1].kind == 'i';
        TRY(object_columns(r->o, c));
        const Privileges of = privileges_of_class(c);
        const int64_t owner = c->system ? (int64_t)OID_OWNER : system_owner(r->o, &of);
        const Str *acl = c->system || index || c->kind == 'c' ? NULL : system_acl(r, 30, &of);
        const RowSecurity *security = table ? catalog_row_security(r->o->c, c->key) : NULL;
        TRY(system_row(r, "isii0iii0if00b0cciibbbbbbc0000vv-", c->oid, c->name, c->space, c->type, owner, am,
                       table || c->kind == 'r' || index ? c->oid : (int64_t)0, (bytes + PAGE_BYTES - 1) / PAGE_BYTES,
                       table || index ? (double)c->table->live_rows : 0.0, indexed, persistence_of(c), c->kind,
                       (int64_t)c->n_cols, (int64_t)(table ? c->table->n_checks : 0), c->kind == 'v' || v,
                       table && has_foreign(r->o->c, c->name), false, security && security->enabled,
                       security && security->forced, !v || !v->materialized || v->populated, table ? 'd' : 'n', acl,
                       options));
    }
    return ST_OK;
}

static BuiltinType form_of(const SysObjects *o, const SysType *t);
static char range_align(const SysObjects *o, const RangeType *x) {
    const SysType *of = object_type(o, object_type_oid(o, x->subtype, 0));
    return of && form_of(o, of).align == 'd' ? 'd' : 'i';
}
/* Length, passing and so on of a type's values, and their functions. */
static BuiltinType form_of(const SysObjects *o, const SysType *t) {
    BuiltinType x = {.length = -1, .align = 'i', .storage = 'x', .category = 'U', .kind = 'b'};
    if (t->builtin || stack_stop()) return t->builtin ? *t->builtin : x;
    if (t->enumerated)
        x = (BuiltinType){.length = 4,
                          .by_value = true,
                          .align = 'i',
                          .storage = 'p',
                          .category = 'E',
                          .kind = 'e',
                          .functions = {3506, 3507, 3532, 3533}};
    else if (t->range) {
        x = (BuiltinType){.length = -1,
                          .align = range_align(o, t->range),
                          .storage = 'x',
                          .category = 'R',
                          .kind = t->multi ? 'm' : 'r',
                          .functions = {3834, 3835, 3836, 3837, 0, 0, 0, 3916}};
        static const int64_t of_multi[8] = {4231, 4232, 4233, 4234, 0, 0, 0, 4242};
        if (t->multi) memcpy(x.functions, of_multi, sizeof of_multi);
    } else if (t->domain) {
        const SysType *base = object_type(o, object_type_oid(o, t->domain->type, 0));
        if (base) x = form_of(o, base);
        x.kind = 'd';
        x.element = 0;
        const int64_t *f = x.functions; /* of the base type: a domain has its own where values come in */
        const int64_t own[8] = {2597, f[1], 2598, f[3], 0, 0, 0, f[7]};
        memcpy(x.functions, own, sizeof own);
    } else if (t->row) {
        x = (BuiltinType){.length = -1,
                          .align = 'd',
                          .storage = 'x',
                          .category = 'C',
                          .kind = 'c',
                          .functions = {2290, 2291, 2402, 2403}};
    } else {
        const int64_t of_arrays[8] = {750, 751, 2400, 2401, 0, 0, 6179, 3816};
        memcpy(x.functions, of_arrays, sizeof of_arrays);
        const SysType *e = object_type(o, t->element);
        const char align = e ? form_of(o, e).align : 'i';
        x.align = align == 'd' ? 'd' : 'i';
        x.category = 'A';
    }
    return x;
}
static Status attribute(SystemRows *r, const SysClass *c, int32_t k) {
    const SysColumn *x = &c->cols[k];
    const int64_t oid = object_type_oid(r->o, x->type, x->domain);
    const SysType *t = object_type(r->o, oid);
    const BuiltinType form = t ? form_of(r->o, t) : (BuiltinType){.length = -1, .align = 'i', .storage = 'x'};
    const int64_t typmod = x->domain ? -1 : object_typmod(x->type);
    const bool counted = c->kind == 'i' && k < c->def->n_parts;
    const Privileges of = {.kind = PRIVILEGE_COLUMN, .name = c->key ? c->key : c->name, .part = x->name};
    const Str *acl = c->system || c->kind == 'i' || c->kind == 'c' ? NULL : system_acl(r, 22, &of);
    return system_row(r,
                      "isiiiiiiibccsbb0ss01"
                      "0iv---",
                      c->oid, x->name, oid, (int64_t)(counted ? c->def->parts[k].statistics : -1), (int64_t)form.length,
                      (int64_t)k + 1, (int64_t)(x->type.id == T_ARRAY && !(x->type.flags & TF_VECTOR) && !x->domain),
                      (int64_t)-1, typmod, form.by_value, form.align, form.storage, "", x->not_null,
                      x->default_sql != NULL,
                      x->kind == COLUMN_ALWAYS       ? "a"
                      : x->kind == COLUMN_BY_DEFAULT ? "d"
                                                     : "",
                      x->kind == COLUMN_GENERATED ? "s" : "", form.collation, acl);
}
/* Of every table; queries know tableoid only. */
static Status system_attributes(SystemRows *r, const SysClass *c) {
    static const struct {
        const char *name;
        int64_t type, length, number;
        char align;
    } columns[] = {{"ctid", 27, 6, -1, 's'}, {"xmin", 28, 4, -2, 'i'}, {"cmin", 29, 4, -3, 'i'},
                   {"xmax", 28, 4, -4, 'i'}, {"cmax", 29, 4, -5, 'i'}, {"tableoid", 26, 4, -6, 'i'}};
    for (int64_t i = 0; i < ARRAY_LEN(columns); i++)
        TRY(system_row(r,
                       "isi0ii0iibccs100ss01"
                       "00----",
                       c->oid, columns[i].name, columns[i].type, columns[i].length, columns[i].number, (int64_t)-1,
                       (int64_t)-1, columns[i].type != 27, columns[i].align, 'p', "", "", ""));
    return ST_OK;
}
Status system_fill_attribute(Session *s, SystemRows *r) {
    (void)s;
    for (int64_t i = 0; i < r->o->classes.len; i++) {
        SysClass *c = &r->o->classes.items[i];
        TRY(object_columns(r->o, c));
        for (int32_t k = 0; k < c->n_cols; k++) TRY(attribute(r, c, k));
        if (c->kind == 'r' || c->kind == 'm') TRY(system_attributes(r, c));
    }
    return ST_OK;
}
Status system_fill_attrdef(Session *s, SystemRows *r) {
    (void)s;
    for (int64_t i = 0; i < r->o->classes.len; i++) {
        SysClass *c = &r->o->classes.items[i];
        const bool of_view = c->kind == 'v' && c->view && c->view->n_defaults > 0;
        if (of_view) TRY(object_columns(r->o, c));
        for (int32_t k = 0; (c->kind == 'r' || of_view) && k < c->n_cols; k++)
            if (c->cols[k].default_sql) {
                const char *sql = arena_printf(r->c->arena, "{%d}%s", (int)k + 1, c->cols[k].default_sql);
                if (!sql) return err_oom(r->err);
                TRY(system_row(r, "iiis", object_derived(r->o, 'D', c->oid, c->cols[k].name), c->oid, (int64_t)k + 1,
                               sql));
            }
    }
    return ST_OK;
}
Status system_fill_rewrite(Session *s, SystemRows *r) {
    (void)s;
    for (int64_t i = 0; i < r->o->classes.len; i++) {
        const SysClass *c = &r->o->classes.items[i];
        const char *sql = c->system ? c->system->sql : c->view ? c->view->sql : NULL;
        if ((c->kind == 'v' || c->kind == 'm') && sql)
            TRY(system_row(r, "isiccbss", object_derived(r->o, 'R', c->oid, "_RETURN"), "_RETURN", c->oid, '1', 'O',
                           true, "<>", sql));
    }
    return ST_OK;
}

Status system_fill_sequence(Session *s, SystemRows *r) {
    (void)s;
    for (int64_t i = 0; i < r->o->classes.len; i++) {
        const SysClass *c = &r->o->classes.items[i];
        const Sequence *q = c->sequence;
        if (q)
            TRY(system_row(r, "iiiiiiib", c->oid, object_type_oid(r->o, q->type, 0), q->start, q->increment, q->max,
                           q->min, q->cache, q->cycle));
    }
    return ST_OK;
}

/* ---- types ------------------------------------------------------------------------------------------ */

Status system_fill_type(Session *s, SystemRows *r) {
    (void)s;
    for (int64_t i = 0; i < r->o->types.len; i++) {
        const SysType *t = &r->o->types.items[i];
        const BuiltinType x = form_of(r->o, t);
        const Domain *d = t->domain, *up = d && d->parent ? catalog_domain_by_id(r->o->c, d->parent) : NULL;
        const int64_t base = up ? object_domain_oid(r->o, up->id) : d ? object_type_oid(r->o, d->type, 0) : 0;
        const int64_t *f = x.functions;
        const bool own = !t->builtin && !(t->row && t->row->system);
        const Privileges of = privileges_of_type(r->o, t);
        const bool granted = own && of.kind == PRIVILEGE_TYPE && strcmp(of.name, t->name) == 0;
        const char *default_sql = NULL;
        if (d && d->default_sql) TRY(definition_default_text(r->o, r->c->arena, d->default_sql, d->type, &default_sql));
        TRY(system_row(r,
                       "isiiibccb1ciiiiiiiiiiiccbiiii"
                       "-sv",
                       t->oid, t->name, t->space, own ? system_owner(r->o, &of) : (int64_t)OID_OWNER, (int64_t)x.length,
                       x.by_value, x.kind, x.category, x.preferred, ',', t->row ? t->row->oid : (int64_t)0, f[6],
                       t->element, t->array, f[0], f[1], f[2], f[3], f[4], f[5], f[7], x.align, x.storage,
                       d && d->not_null, base, (int64_t)(d && !up ? object_typmod(d->type) : -1),
                       (int64_t)(d && d->type.id == T_ARRAY), x.collation, default_sql,
                       granted ? system_acl(r, 31, &of) : NULL));
    }
    return ST_OK;
}
Status system_fill_enum(Session *s, SystemRows *r) {
    (void)s;
    for (int64_t i = 0; i < r->o->types.len; i++) {
        const SysType *t = &r->o->types.items[i];
        for (int32_t k = 0; t->enumerated && k < t->enumerated->n; k++)
            TRY(system_row(r, "iifs", object_derived(r->o, 'l', t->oid, t->enumerated->labels[k].text), t->oid,
                           (double)(k + 1), t->enumerated->labels[k].text));
    }
    return ST_OK;
}
Status system_fill_collation(Session *s, SystemRows *r) {
    (void)s;
    TRY(system_row(r, "isiic1i----", (int64_t)OID_COLLATION_DEFAULT, "default", (int64_t)OID_SCHEMA_CATALOG,
                   (int64_t)OID_OWNER, 'd', (int64_t)-1));
    TRY(system_row(r, "isiic1iss--", (int64_t)OID_COLLATION_C, "C", (int64_t)OID_SCHEMA_CATALOG, (int64_t)OID_OWNER,
                   'c', (int64_t)-1, "C", "C"));
    TRY(system_row(r, "isiic1iss--", (int64_t)12340, "ucs_basic", (int64_t)OID_SCHEMA_CATALOG, (int64_t)OID_OWNER, 'c',
                   (int64_t)6, "C", "C"));
    return system_row(r, "isiic1iss--", (int64_t)OID_COLLATION_POSIX, "POSIX", (int64_t)OID_SCHEMA_CATALOG,
                      (int64_t)OID_OWNER, 'c', (int64_t)-1, "POSIX", "POSIX");
}

Status system_fill_opclass(Session *s, SystemRows *r) {
    int64_t n;
    const OperatorClass *all = operator_classes(&n);
    (void)s;
    for (int64_t i = 0; i < n; i++)
        TRY(system_row(r, "iisiiiibi", all[i].oid, all[i].method, all[i].name, (int64_t)OID_SCHEMA_CATALOG,
                       (int64_t)OID_OWNER, all[i].family, all[i].type, all[i].is_default, all[i].key));
    return ST_OK;
}
/* PostgreSQL's own range types: oids of the type, its subtype, its multirange, the subtype's operator class, the
 * functions that make canonical forms and subtract. */
static const int64_t builtin_ranges[][6] = {{3904, 23, 4451, 1978, 3914, 3922},   {3906, 1700, 4532, 3125, 0, 3924},
                                            {3908, 1114, 4533, 3128, 0, 3929},    {3910, 1184, 4534, 3127, 0, 3930},
                                            {3912, 1082, 4535, 3122, 3915, 3925}, {3926, 20, 4536, 3124, 3928, 3923}};
static int64_t diff_oid(const RangeType *x) {
    static const struct {
        const char *name;
        int64_t oid;
    } known[] = {{"float8mi", 219},          {"int4range_subdiff", 3922}, {"int8range_subdiff", 3923},
                 {"numrange_subdiff", 3924}, {"daterange_subdiff", 3925}, {"tsrange_subdiff", 3929},
                 {"tstzrange_subdiff", 3930}};
    for (int64_t i = 0; x->subtype_diff && i < ARRAY_LEN(known); i++)
        if (strcmp(x->subtype_diff, known[i].name) == 0) return known[i].oid;
    return 0;
}
Status system_fill_range(Session *s, SystemRows *r) {
    (void)s;
    for (int64_t i = 0; i < ARRAY_LEN(builtin_ranges); i++) {
        const int64_t *x = builtin_ranges[i];
        TRY(system_row(r, "iii0iii", x[0], x[1], x[2], x[3], x[4], x[5]));
    }
    for (int64_t i = 0; i < r->o->types.len; i++) {
        const SysType *t = &r->o->types.items[i];
        if (!t->range || t->multi) continue;
        const Type sub = t->range->subtype;
        const SysType *of = object_type(r->o, object_type_oid(r->o, sub, 0));
        const char *named = t->range->collation;
        const int64_t collation =
            named ? (strcmp(named, "C") == 0 ? (int64_t)OID_COLLATION_C : (int64_t)OID_COLLATION_POSIX)
            : of  ? form_of(r->o, of).collation
                  : 0;
        const OperatorClass *class = operator_class_default(r->o, access_method("btree"), sub);
        TRY(system_row(r, "iiiii0i", t->oid, object_type_oid(r->o, sub, 0),
                       object_type_oid(r->o, multirange_type(t->range), 0), collation, class ? class->oid : 0,
                       diff_oid(t->range)));
    }
    return ST_OK;
}
Status system_fill_opfamily(Session *s, SystemRows *r) {
    int64_t n;
    const OperatorClass *all = operator_classes(&n);
    (void)s;
    for (int64_t i = 0; i < n; i++) {
        bool seen = false;
        for (int64_t k = 0; k < i && !seen; k++) seen = all[k].family == all[i].family;
        if (!seen)
            TRY(system_row(r, "iisii", all[i].family, all[i].method, all[i].family_name, (int64_t)OID_SCHEMA_CATALOG,
                           (int64_t)OID_OWNER));
    }
    return ST_OK;
}

/* ---- keys and constraints ----------------------------------------------------------------------------- */

static int64_t class_of(const SysObjects *o, const IndexDef *x, int i, Type t) {
    const AccessMethod *m = access_method(x->method);
    const OperatorClass *k = m ? operator_class_default(o, m, t) : NULL;
    Err why = {0};
    if (m && x->parts[i].opclass) (void)operator_class_find(o, m, t, 0, x->parts[i].opclass, &k, &why);
    return k ? k->oid : 0;
}
static int64_t collation_of(const SysObjects *o, const IndexPart *p, Type t) {
    const SysType *type = object_type(o, object_type_oid(o, t, 0));
    if (!p->collation) return type ? form_of(o, type).collation : 0;
    return strcmp(p->collation, "POSIX") == 0     ? OID_COLLATION_POSIX
           : strcmp(p->collation, "default") == 0 ? OID_COLLATION_DEFAULT
                                                  : OID_COLLATION_C;
}
/* What pg_index has of each column. */
typedef struct IndexVectors {
    int64_t *cols, *classes, *collations, *options;
    const char *exprs;
} IndexVectors;
static Status index_vectors(SystemRows *r, const SysClass *c, IndexVectors *v) {
    Arena *a = r->c->arena;
    const IndexDef *x = c->def;
    const int64_t n = c->n_cols + 1;
    *v = (IndexVectors){arena_array(a, int64_t, n), arena_array(a, int64_t, n), arena_array(a, int64_t, n),
                        arena_array(a, int64_t, n), NULL};
    if (!v->cols || !v->classes || !v->collations || !v->options) return err_oom(r->err);
    for (int i = 0; i < x->n_include; i++)
        v->cols[x->n_parts + i] = table_find_column(c->table, slice_of(x->include[i])) + 1;
    for (int i = 0; i < x->n_parts; i++) {
        const IndexPart *p = &x->parts[i];
        v->cols[i] = index_part_column(c->table, p->text) + 1;
        v->classes[i] = class_of(r->o, x, i, c->cols[i].type);
        v->collations[i] = collation_of(r->o, p, c->cols[i].type);
        v->options[i] = (p->desc ? 1 : 0) + (p->nulls_first ? 2 : 0);
        if (v->cols[i] == 0) v->exprs = v->exprs ? arena_printf(a, "%s, %s", v->exprs, p->text) : p->text;
    }
    return ST_OK;
}
static Status index_row(SystemRows *r, SysClass *c) {
    const Table *t = c->table;
    const IndexDef *x = c->def;
    const KeyConstraint *k = c->index >= 0 && c->index < t->n_keys ? &t->keys[c->index] : NULL;
    IndexVectors v;
    TRY(object_columns(r->o, c));
    TRY(index_vectors(r, c, &v));
    return system_row(r,
                      "iiiibbb0bb1011"
                      "0vvvvss",
                      c->oid, object_class_of(r->o, t)->oid, (int64_t)c->n_cols, (int64_t)x->n_parts, x->unique,
                      x->nulls_not_distinct, k && k->primary, !k || !k->deferrable, x->clustered,
                      system_vector(r, 15, c->n_cols, v.cols), system_vector(r, 16, x->n_parts, v.collations),
                      system_vector(r, 17, x->n_parts, v.classes), system_vector(r, 18, x->n_parts, v.options), v.exprs,
                      x->where);
}
Status system_fill_index(Session *s, SystemRows *r) {
    (void)s;
    for (int64_t i = 0; i < r->o->classes.len; i++)
        if (r->o->classes.items[i].kind == 'i') TRY(index_row(r, &r->o->classes.items[i]));
    return ST_OK;
}

static int64_t equality_of(const SysObjects *o, Type t) {
    static const int64_t ops[][2] = {{16, 91},     {20, 410},    {21, 94},     {23, 96},     {25, 98},     {1043, 98},
                                     {26, 607},    {1042, 1054}, {1082, 1093}, {1114, 2060}, {1184, 1320}, {1700, 1752},
                                     {700, 620},   {701, 670},   {2950, 2972}, {17, 1955},   {1083, 1108}, {1186, 1330},
                                     {1266, 1550}, {1560, 1784}, {1562, 1804}, {3802, 3240}};
    const int64_t oid = object_type_oid(o, t, 0);
    for (int64_t i = 0; i < ARRAY_LEN(ops); i++)
        if (ops[i][0] == oid) return ops[i][1];
    return t.id == T_ENUM ? 3516 : t.id == T_ARRAY ? 1070 : t.id == T_COMPOSITE ? 2988 : 0;
}
/* Numbers of columns by name, and their = operators; NULL without memory. */
static const Str *column_numbers(SystemRows *r, int32_t col, const Table *t, int n, char *const *names, bool ops) {
    int64_t *v = arena_array(r->c->arena, int64_t, n + 1);
    for (int i = 0; v && i < n; i++) {
        const int k = table_find_column(t, slice_of(names[i]));
        v[i] = ops ? equality_of(r->o, t->cols[k].type) : k + 1;
    }
    return v ? system_vector(r, col, n, v) : NULL;
}
static const Str *check_columns(SystemRows *r, const SysConstraint *k) {
    int64_t *v = arena_array(r->c->arena, int64_t, k->of->table->n_cols + 1), n = 0;
    if (v && definition_check_columns(r->o, k->of->table, k->check, &n, v) != ST_OK) return NULL;
    return v && n ? system_vector(r, 18, n, v) : NULL;
}
static Status constraint_row(SystemRows *r, const SysConstraint *k) {
    const ForeignKey *f = k->reference;
    const Str *cols = NULL, *ref = NULL, *ops = NULL, *set = NULL;
    if (k->key) {
        int64_t *v = arena_array(r->c->arena, int64_t, k->key->n_cols + 1);
        for (int i = 0; v && i < k->key->n_cols; i++) v[i] = k->key->cols[i] + 1;
        if (!v || !(cols = system_vector(r, 18, k->key->n_cols, v))) return err_oom(r->err);
    } else if (f) {
        if (!(cols = column_numbers(r, 18, k->of->table, f->n_cols, f->cols, false)) ||
            !(ref = column_numbers(r, 19, k->foreign->table, f->n_cols, f->ref_cols, false)) ||
            !(ops = column_numbers(r, 20, k->of->table, f->n_cols, f->cols, true)) ||
            (f->n_set_cols && !(set = column_numbers(r, 23, k->of->table, f->n_set_cols, f->set_cols, false))))
            return err_oom(r->err);
    } else if (k->of) {
        cols = check_columns(r, k);
    }
    const char blank = ' ';
    return system_row(r,
                      "isicbbbiii0iccc1"
                      "0bvvvvvv-s",
                      k->oid, k->name, k->of ? k->of->space : object_schema_of(r->o, k->domain->name), k->kind,
                      (f && f->deferrable) || (k->key && k->key->deferrable),
                      (f && f->deferred) || (k->key && k->key->deferred), !f || !f->not_valid,
                      k->of ? k->of->oid : (int64_t)0, k->domain ? k->domain_type : (int64_t)0,
                      k->index ? k->index->oid : (int64_t)0, k->foreign ? k->foreign->oid : (int64_t)0,
                      f ? f->on_update : blank, f ? f->on_delete : blank,
                      !f              ? blank
                      : f->match_full ? 'f'
                                      : 's',
                      k->kind != 'c', cols, ref, ops, ops, ops, set, k->check);
}
Status system_fill_constraint(Session *s, SystemRows *r) {
    (void)s;
    for (int64_t i = 0; i < r->o->constraints.len; i++) TRY(constraint_row(r, &r->o->constraints.items[i]));
    return ST_OK;
}
