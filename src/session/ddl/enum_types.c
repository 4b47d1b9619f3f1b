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

/* Types, and relations, which are types in PostgreSQL. */
Status type_name_free(Session *s, const char *key, int64_t location) {
    const NamedType x = catalog_type_of_key(&s->db->catalog, slice_of(key));
    Type builtin;
    Err none = {0};
    if (!named_type_found(&x) &&
        (key_has_schema(key) || type_from_name(slice_of(key), 0, NULL, &builtin, &none) != ST_OK))
        return ST_OK;
    return err_at(&s->err, location, ERR_DUPLICATE_OBJECT, "type \"%s\" already exists", key);
}
Status type_new_name(Session *s, Arena *a, const AstName *n, AstName *out) {
    TRY(session_new_name(s, a, n, out));
    if (key_is_temporary(out->name))
        return err_at(&s->err, n->location, ERR_FEATURE_NOT_SUPPORTED, "types in temporary schemas are not supported");
    return type_name_free(s, out->name, n->location);
}

Status row_type_free(Session *s, const char *relation, int64_t location) {
    const NamedType x = catalog_type_of_key(&s->db->catalog, slice_of(relation));
    if (x.composite) return err_at(&s->err, location, ERR_DUPLICATE_TABLE, "relation \"%s\" already exists", relation);
    if (!named_type_defined(&x)) return ST_OK;
    err_at(&s->err, location, ERR_DUPLICATE_OBJECT, "type \"%s\" already exists", relation);
    err_hint(&s->err,
             "A relation has an associated type of the same name, so you must use a name that doesn't conflict "
             "with any existing type.");
    return ST_ERROR;
}

Status enum_create(Session *s, Statement *st, const AstCreateEnum *x) {
    AstName name;
    TRY(session_begin_write(s));
    tag(st, "CREATE TYPE");
    TRY(type_new_name(s, st->run_arena, &x->name, &name));
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
    TRY(enum_make(s->db->catalog.enums, 0, name.name, (int32_t)x->n_labels, labels, &made, &s->err));
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

/* Texts of views, defaults, conditions and routines name types. */
static Status check_unnamed(Session *s, Statement *st, NamedType x) {
    Dependents d;
    dependents_init(&d, s, st);
    d.renames = true;
    TRY(dependents_of_type(&d, x));
    for (int64_t i = 0; i < d.found.len; i++) {
        const Dependent *f = &d.found.items[i];
        if (f->direct && f->kind != DEPENDENT_COLUMN && f->kind != DEPENDENT_DOMAIN && f->kind != DEPENDENT_ATTRIBUTE &&
            f->kind != DEPENDENT_RANGE)
            return err_set(&s->err, ERR_FEATURE_NOT_SUPPORTED,
                           "type \"%s\" cannot be renamed, because the definition of %s names it", named_type_key(&x),
                           f->what);
    }
    return ST_OK;
}
/* The type under another key, which is free. */
static Status put_as(Session *s, Statement *st, NamedType x, const char *key) {
    const EnumType *t = x.enumerated, *made;
    TRY(parts_rename(s, "tdc", named_type_key(&x), NULL, key));
    if (x.domain) return domain_put_as(s, st, x.domain, key);
    if (x.composite) return composite_rename(s, x.composite, key);
    if (x.range) return range_rename(s, x.range, x.multi, key);
    TRY(enum_make(s->db->catalog.enums, t->number, key, t->n, t->labels, &made, &s->err));
    return session_put_enum(s, t, made);
}
Status type_rename(Session *s, Statement *st, NamedType x, const char *key, int64_t location) {
    TRY(views_fill_sources(s, st->run_arena));
    TRY(type_name_free(s, key, location));
    TRY(check_unnamed(s, st, x));
    return put_as(s, st, x, key);
}
static Status no_multirange(Session *s, const RangeType *x) {
    err_set(&s->err, ERR_DEPENDENT_OBJECTS, "cannot alter multirange type %s", type_plain_name(multirange_type(x)));
    return ST_ERROR;
}
/* Of a range without its multirange and constructors, as in PostgreSQL. */
Status type_move(Session *s, Statement *st, NamedType x, const char *schema) {
    return x.multi ? no_multirange(s, x.range) : type_follow(s, st, x, schema);
}
Status type_follow(Session *s, Statement *st, NamedType x, const char *schema) {
    const char *key = named_type_key(&x), *to = key_make(st->run_arena, schema, name_of_key(key));
    if (!to) return err_oom(&s->err);
    const NamedType there = catalog_type_of_key(&s->db->catalog, slice_of(to));
    if (named_type_found(&there))
        return err_set(&s->err, ERR_DUPLICATE_OBJECT, "type \"%s\" already exists in schema \"%s\"", key, schema);
    TRY(check_unnamed(s, st, x));
    return put_as(s, st, x, to);
}

Status enum_alter(Session *s, Statement *st, const AstAlterEnum *x) {
    NamedType t;
    Type builtin;
    TRY(session_begin_write(s));
    tag(st, "ALTER TYPE");
    if (!x->new_name && type_is_builtin(&x->name, &builtin))
        return err_set(&s->err, ERR_WRONG_OBJECT_TYPE, "%s is not an enum", type_plain_name(builtin));
    TRY(session_find_type(s, &x->name, false, &t));
    if (!named_type_defined(&t)) return session_no_type(s, &x->name);
    if (x->new_name) {
        const char *key = key_beside(st->run_arena, named_type_key(&t), x->new_name);
        return key ? type_rename(s, st, t, key, x->name.location) : err_oom(&s->err);
    }
    if (!t.enumerated)
        return err_set(&s->err, ERR_WRONG_OBJECT_TYPE, "%s is not an enum", named_type_shown(st->run_arena, &t));
    return x->old_label ? rename_value(s, st, t.enumerated, x) : add_value(s, st, t.enumerated, x);
}
