/* enum_types.c - CREATE TYPE .. AS ENUM, ALTER TYPE of these; names of types.
 *
 * A definition never changes: ALTER TYPE puts another one in its place (types/enums.h), and undo puts the old one back.
 * A new label gets a code between those of its neighbours, so that no row of any table has to change.
 */
#include "session/ddl/depend.h"
#include "session/ddl/utility_int.h"

static Status check_label(Session *s, const char *label) {
    if (strlen(label) <= ENUM_LABEL_MAX) return ST_OK;
    err_set(&s->err, ERR_INVALID_NAME, "invalid enum label \"%s\"", label);
    err_detail(&s->err, "Labels must be %d bytes or less.", ENUM_LABEL_MAX);
    return ST_ERROR;
}

Status type_schema_public(Session *s, const AstName *name) {
    const char *schema = name->schema ? name->schema : search_path_first(&s->db->catalog);
    if (!schema) return err_set(&s->err, ERR_UNDEFINED_SCHEMA, "no schema has been selected to create in");
    if (name->schema || strcmp(schema, KEY_PUBLIC) == 0) return session_check_schema(s, name);
    return err_at(&s->err, name->location, ERR_FEATURE_NOT_SUPPORTED, "types in schema \"%s\" are not supported",
                  schema);
}

/* Types, and relations, which are types in PostgreSQL. */
Status type_name_free(Session *s, const AstName *name, const char *as) {
    const Catalog *c = &s->db->catalog;
    Type builtin;
    Err none = {0};
    bool multi;
    TRY(session_check_schema(s, name));
    if (!enum_find(c->enums, slice_of(as)) && !composite_find(c->rows, slice_of(as)) &&
        !range_find(c->ranges, slice_of(as), &multi) && !catalog_table(c, slice_of(as)) &&
        !catalog_view(c, slice_of(as)) && !catalog_domain(c, slice_of(as)) &&
        type_from_name(slice_of(as), 0, NULL, &builtin, &none) != ST_OK)
        return ST_OK;
    return err_at(&s->err, name->location, ERR_DUPLICATE_OBJECT, "type \"%s\" already exists", as);
}

Status row_type_free(Session *s, const char *relation, int64_t location) {
    const Slice name = slice_of(relation);
    bool multi;
    if (composite_find(s->db->catalog.rows, name))
        return err_at(&s->err, location, ERR_DUPLICATE_TABLE, "relation \"%s\" already exists", relation);
    if (!enum_find(s->db->catalog.enums, name) && !catalog_domain(&s->db->catalog, name) &&
        !range_find(s->db->catalog.ranges, name, &multi))
        return ST_OK;
    err_at(&s->err, location, ERR_DUPLICATE_OBJECT, "type \"%s\" already exists", relation);
    err_hint(&s->err,
             "A relation has an associated type of the same name, so you must use a name that doesn't conflict "
             "with any existing type.");
    return ST_ERROR;
}

Status enum_create(Session *s, Statement *st, const AstCreateEnum *x) {
    TRY(session_begin_write(s));
    tag(st, "CREATE TYPE");
    TRY(type_schema_public(s, &x->name));
    TRY(type_name_free(s, &x->name, x->name.name));
    EnumLabel *labels = arena_array(st->run_arena, EnumLabel, x->n_labels + 1);
    if (!labels) return ST_ERROR;
    if (x->n_labels > INT32_MAX / ENUM_STEP - 1)
        return err_set(&s->err, ERR_PROGRAM_LIMIT, "there are too many enum labels");
    for (int64_t i = 0; i < x->n_labels; i++) {
        TRY(check_label(s, x->labels[i]));
        for (int64_t k = 0; k < i; k++)
            if (strcmp(x->labels[k], x->labels[i]) == 0)
                return err_set(&s->err, ERR_UNIQUE_VIOLATION, "enum label \"%s\" used more than once", x->labels[i]);
        labels[i] = (EnumLabel){.text = x->labels[i], .code = (int32_t)(i * ENUM_STEP)};
    }
    const EnumType *made;
    TRY(enum_make(s->db->catalog.enums, 0, x->name.name, (int32_t)x->n_labels, labels, &made, &s->err));
    return session_put_enum(s, NULL, made);
}

bool type_is_builtin(const AstName *n, Type *out) {
    Err none = {0};
    return (!n->schema || strcmp(n->schema, "pg_catalog") == 0) &&
           type_from_name(slice_of(n->name), 0, NULL, out, &none) == ST_OK;
}

/* ---- ALTER TYPE ---------------------------------------------------------------------------------------- */

static Status no_label(Session *s, const char *label) {
    return err_set(&s->err, ERR_INVALID_PARAMETER, "\"%s\" is not an existing enum label", label);
}

/* A code for a label that stands at place `at`. */
static Status code_at(Session *s, const EnumType *t, int32_t at, int32_t *code) {
    const int64_t before = at > 0 ? t->labels[at - 1].code : 0, after = at < t->n ? t->labels[at].code : 0;
    const int64_t want = t->n == 0    ? 0
                         : at == t->n ? before + ENUM_STEP
                         : at == 0    ? after - ENUM_STEP
                                      : before + (after - before) / 2;
    *code = (int32_t)want;
    if (want == *code && !(at > 0 && at < t->n && want == before)) return ST_OK;
    err_set(&s->err, ERR_PROGRAM_LIMIT, "type \"%s\" has no room for another label at that place", t->name);
    err_hint(&s->err, "Make a type with the labels in the order that is wanted, and change the columns to it: ALTER "
                      "TABLE .. ALTER COLUMN .. TYPE new_type USING column_name::text::new_type.");
    return ST_ERROR;
}

static Status add_value(Session *s, Statement *st, const EnumType *t, const AstAlterEnum *x) {
    TRY(check_label(s, x->label));
    if (enum_index(t, slice_of(x->label)) >= 0) {
        if (!x->if_not_exists)
            return err_set(&s->err, ERR_DUPLICATE_OBJECT, "enum label \"%s\" already exists", x->label);
        session_notice_text(s, "NOTICE", ERR_DUPLICATE_OBJECT, "enum label \"%s\" already exists, skipping", x->label);
        return ST_OK;
    }
    int32_t at = x->neighbor ? enum_index(t, slice_of(x->neighbor)) : t->n, code;
    if (at < 0) return no_label(s, x->neighbor);
    if (x->neighbor && x->after) at++;
    TRY(code_at(s, t, at, &code));
    EnumLabel *labels = arena_array(st->run_arena, EnumLabel, (int64_t)t->n + 1);
    if (!labels) return ST_ERROR;
    for (int32_t i = 0; i < t->n; i++) labels[i + (i >= at)] = t->labels[i];
    labels[at] = (EnumLabel){.text = x->label, .code = code, .fresh = session_enum_is_older(s, t)};
    const EnumType *made;
    TRY(enum_make(s->db->catalog.enums, t->number, t->name, t->n + 1, labels, &made, &s->err));
    return session_put_enum(s, t, made);
}

static Status rename_value(Session *s, Statement *st, const EnumType *t, const AstAlterEnum *x) {
    const int32_t at = enum_index(t, slice_of(x->old_label));
    TRY(check_label(s, x->label));
    if (at < 0) return no_label(s, x->old_label);
    if (enum_index(t, slice_of(x->label)) >= 0)
        return err_set(&s->err, ERR_DUPLICATE_OBJECT, "enum label \"%s\" already exists", x->label);
    Dependents d;
    const char *what;
    dependents_init(&d, s, st);
    TRY(dependents_naming_label(&d, t, t->labels[at].code, &what)); /* catalogs have texts */
    if (what) {
        err_set(&s->err, ERR_FEATURE_NOT_SUPPORTED,
                "enum label \"%s\" cannot be renamed, because the definition of %s names it", x->old_label, what);
        err_hint(&s->err, "Drop that, rename the label, and define it again.");
        return ST_ERROR;
    }
    EnumLabel *labels = arena_array(st->run_arena, EnumLabel, (int64_t)t->n + 1);
    if (!labels) return ST_ERROR;
    memcpy(labels, t->labels, sizeof *labels * (size_t)t->n);
    labels[at].text = x->label;
    const EnumType *made;
    TRY(enum_make(s->db->catalog.enums, t->number, t->name, t->n, labels, &made, &s->err));
    return session_put_enum(s, t, made);
}

Status enum_alter(Session *s, Statement *st, const AstAlterEnum *x) {
    const EnumType *t, *made;
    Type builtin;
    TRY(session_begin_write(s));
    tag(st, "ALTER TYPE");
    if (!x->new_name && type_is_builtin(&x->name, &builtin))
        return err_set(&s->err, ERR_WRONG_OBJECT_TYPE, "%s is not an enum", type_plain_name(builtin));
    TRY(session_check_schema(s, &x->name));
    const Domain *domain = catalog_domain(&s->db->catalog, slice_of(x->name.name));
    if (domain && x->new_name) {
        Status r = domain_alter(s, st, &(AstAlterDomain){.name = x->name, .new_name = x->new_name});
        return tag(st, "ALTER TYPE"), r;
    }
    if (domain)
        return err_set(&s->err, ERR_WRONG_OBJECT_TYPE, "%s is not an enum", domain_shown(st->run_arena, domain));
    const CompositeType *row = composite_find(s->db->catalog.rows, slice_of(x->name.name));
    if (row && !x->new_name) return err_set(&s->err, ERR_WRONG_OBJECT_TYPE, "%s is not an enum", row->shown);
    bool multi;
    const RangeType *range = range_find(s->db->catalog.ranges, slice_of(x->name.name), &multi);
    if (range && !x->new_name)
        return err_set(&s->err, ERR_WRONG_OBJECT_TYPE, "%s is not an enum", multi ? range->multi_shown : range->shown);
    t = enum_find(s->db->catalog.enums, slice_of(x->name.name));
    if (!t && !row && !range)
        return err_at(&s->err, x->name.location, ERR_UNDEFINED_OBJECT, "type \"%s\" does not exist", x->name.name);
    if (x->old_label) return rename_value(s, st, t, x);
    if (!x->new_name) return add_value(s, st, t, x);
    /* Texts of views, defaults, conditions and routines name types. */
    Dependents d;
    TRY(views_fill_sources(s, st->run_arena));
    dependents_init(&d, s, st);
    TRY(type_name_free(s, &x->name, x->new_name));
    d.renames = true;
    TRY(dependents_of_type(&d, (NamedType){.enumerated = t, .composite = row, .range = range}));
    for (int64_t i = 0; i < d.found.len; i++)
        if (d.found.items[i].kind != DEPENDENT_COLUMN && d.found.items[i].kind != DEPENDENT_DOMAIN &&
            d.found.items[i].kind != DEPENDENT_ATTRIBUTE && d.found.items[i].kind != DEPENDENT_RANGE &&
            d.found.items[i].direct)
            return err_set(&s->err, ERR_FEATURE_NOT_SUPPORTED,
                           "type \"%s\" cannot be renamed, because the definition of %s names it", x->name.name,
                           d.found.items[i].what);
    if (row) return composite_rename(s, row, x->new_name);
    if (range) return range_rename(s, range, multi, x->new_name);
    TRY(enum_make(s->db->catalog.enums, t->number, x->new_name, t->n, t->labels, &made, &s->err));
    return session_put_enum(s, t, made);
}
