/* schemas.c - CREATE, DROP and ALTER SCHEMA; ALTER .. SET SCHEMA.
 *
 * An object is in the schema that its key names (base/key.h): it goes to another one by getting another key, as if it
 * were renamed.
 */
#include <stdio.h>

#include "session/ddl/access.h"
#include "catalog/similar_names.h"
#include "catalog/system_relation.h"
#include "session/ddl/comments.h"
#include "session/ddl/depend.h"
#include "session/ddl/utility_int.h"
#include "sql/bind/bind.h"
#include "sql/parse/parse.h"
#include "sql/pl/pl.h"

/* ---- CREATE SCHEMA ---- */

static Status check_name(Session *s, const char *name) {
    if (strncmp(name, "pg_", 3) != 0) return ST_OK;
    err_set(&s->err, ERR_RESERVED_NAME, "unacceptable schema name \"%s\"", name);
    err_detail(&s->err, "The prefix \"pg_\" is reserved for system schemas.");
    return ST_ERROR;
}
static const AstName *made_by(const AstStmt *x) {
    switch ((int)x->kind) {
    case AST_CREATE_TABLE: return &AST_AS_CONST(AstCreateTable, x)->name;
    case AST_CREATE_VIEW: return &AST_AS_CONST(AstCreateView, x)->name;
    case AST_CREATE_SEQUENCE: return &AST_AS_CONST(AstSequence, x)->name;
    case AST_CREATE_INDEX: return &AST_AS_CONST(AstCreateIndex, x)->table;
    default: return NULL;
    }
}
/* As PostgreSQL: sequences first, then tables, views, and what is left. */
static int turn_of(const AstStmt *x) {
    switch ((int)x->kind) {
    case AST_CREATE_SEQUENCE: return 0;
    case AST_CREATE_TABLE: return 1;
    case AST_CREATE_VIEW: return 2;
    default: return 3;
    }
}
static Status run_elements(Session *s, Statement *st, const AstCreateSchema *x, const char *schema) {
    for (int64_t i = 0; i < x->n_elements; i++) {
        const AstName *n = made_by(x->elements[i]);
        if (n && n->schema && strcmp(n->schema, schema) != 0)
            return err_set(&s->err, ERR_INVALID_SCHEMA_DEFINITION,
                           "CREATE specifies a schema (%s) different from the one being created (%s)", n->schema,
                           schema);
    }
    for (int turn = 0; turn < 4; turn++)
        for (int64_t i = 0; i < x->n_elements; i++)
            if (turn_of(x->elements[i]) == turn) TRY(session_utility(s, st, x->elements[i]));
    return ST_OK;
}
/* With the schema in front of the path. */
static Status create_elements(Session *s, Statement *st, const AstCreateSchema *x, const char *schema) {
    const char *name = quote_name(st->run_arena, schema),
               *text = name ? arena_printf(st->run_arena, "%s, %s", name, s->settings.client.search_path) : NULL;
    SearchPath *path = arena_new_of(st->run_arena, SearchPath);
    const SearchPath *before = s->path.now;
    if (!text || !path) return err_oom(&s->err);
    if (!search_path_parse(text, s->info.user, path))
        return err_set(&s->err, ERR_PROGRAM_LIMIT, "search_path is too long for CREATE SCHEMA with elements");
    s->path.now = path;
    (void)search_path_use(path);
    const Status done = run_elements(s, st, x, schema);
    s->path.now = before;
    (void)search_path_use(before);
    return done;
}

Status schema_create(Session *s, Statement *st, const AstCreateSchema *x) {
    const char *name = x->name ? x->name : x->owner ? x->owner : s->info.user;
    TRY(stack_check(&s->err));
    TRY(session_begin_write(s));
    const Role *owner = x->owner ? catalog_role(&s->db->catalog, x->owner) : NULL;
    if (x->owner && !owner) return err_set(&s->err, ERR_UNDEFINED_OBJECT, "role \"%s\" does not exist", x->owner);
    TRY(check_name(s, name));
    if (catalog_has_schema(&s->db->catalog, name)) {
        if (!x->if_not_exists) return err_set(&s->err, ERR_DUPLICATE_SCHEMA, "schema \"%s\" already exists", name);
        session_notice_text(s, "NOTICE", ERR_DUPLICATE_SCHEMA, "schema \"%s\" already exists, skipping", name);
        return tag(st, "CREATE SCHEMA");
    }
    TRY(session_add_schema(s, &(Schema){.name = (char *)(uintptr_t)name}));
    const Privileges own = {.kind = PRIVILEGE_SCHEMA, .name = name, .part = "", .owner = owner ? owner->id : 0};
    if (owner && owner->id != ROLE_BOOTSTRAP) TRY(privileges_put(s, &own));
    if (x->n_elements) TRY(create_elements(s, st, x, name));
    return tag(st, "CREATE SCHEMA");
}

/* ---- what is in a schema ---- */

typedef struct Contents {
    VEC(const char *) tables, views; /* materialized views are tables */
    VEC(int64_t) sequences;          /* that go with no column */
    VEC(int64_t) routines;
    VEC(const char *) types;
} Contents;
static Status add_type(Arena *a, const char *key, const char *schema, Contents *out) {
    if (!key_is_in(key, schema)) return ST_OK;
    const char *name = arena_strdup(a, key);
    return name && vec_push(a, &out->types, name) ? ST_OK : ST_ERROR;
}
static Status types_of(const Session *s, Arena *a, const char *schema, Contents *out) {
    const Catalog *k = &s->db->catalog;
    for (int64_t i = 0; i < enum_count(k->enums); i++) TRY(add_type(a, enum_nth(k->enums, i)->name, schema, out));
    for (int64_t i = 0; i < range_count(k->ranges); i++) {
        TRY(add_type(a, range_nth(k->ranges, i)->name, schema, out));
        TRY(add_type(a, range_nth(k->ranges, i)->multi, schema, out));
    }
    for (int64_t i = 0; i < k->n_domains; i++) TRY(add_type(a, k->domains[i]->name, schema, out));
    for (int64_t i = 0; i < composite_count(k->rows); i++)
        TRY(add_type(a, composite_nth(k->rows, i)->name, schema, out));
    return ST_OK;
}
static Status contents_of(const Session *s, Arena *a, const char *schema, Contents *out) {
    const Catalog *k = &s->db->catalog;
    *out = (Contents){0};
    for (int64_t i = 0; i < k->n_tables; i++) {
        if (!key_is_in(k->tables[i]->name, schema)) continue;
        const char *name = arena_strdup(a, k->tables[i]->name);
        if (!name || !vec_push(a, &out->tables, name)) return ST_ERROR;
    }
    for (int64_t i = 0; i < k->n_views; i++) {
        if (k->views[i]->materialized || !key_is_in(k->views[i]->name, schema)) continue;
        const char *name = arena_strdup(a, k->views[i]->name);
        if (!name || !vec_push(a, &out->views, name)) return ST_ERROR;
    }
    for (int64_t i = 0; i < k->n_sequences; i++)
        if (!k->sequences[i]->owner_table && key_is_in(k->sequences[i]->name, schema) &&
            !vec_push(a, &out->sequences, k->sequences[i]->id))
            return ST_ERROR;
    for (int64_t i = 0; i < k->n_routines; i++)
        if (key_is_in(k->routines[i]->name, schema) && !vec_push(a, &out->routines, k->routines[i]->id))
            return ST_ERROR;
    return types_of(s, a, schema, out);
}

/* ---- DROP SCHEMA ---- */

/* In the order in which they were made, as far as that is known: types, those with numbers by these, then views. */
static Status list_contents(Dependents *d, const Contents *in, const char *schema) {
    const Catalog *k = &d->s->db->catalog;
    int64_t t = 0, q = 0;
    for (int64_t i = 0; i < in->types.len; i++) {
        const NamedType x = catalog_type_of_key(k, slice_of(in->types.items[i]));
        const char *shown = named_type_shown(d->a, &x);
        TRY(dependents_of_schema(d, shown ? arena_printf(d->a, "type %s", shown) : NULL, schema));
        TRY(dependents_of_type(d, x));
    }
    while (t < in->tables.len || q < in->sequences.len) {
        const Table *table = t < in->tables.len ? catalog_table(k, slice_of(in->tables.items[t])) : NULL;
        if (!table || (q < in->sequences.len && in->sequences.items[q] < table->id)) {
            const Sequence *sequence = catalog_sequence_by_id(k, in->sequences.items[q++]);
            TRY(dependents_of_schema(d, dependents_called(d, "sequence", sequence->name), schema));
            TRY(dependents_of_sequence(d, sequence, NULL, NULL));
            continue;
        }
        const View *kept = catalog_matview(k, slice_of(table->name));
        TRY(dependents_of_schema(d, dependents_called(d, kept ? "materialized view" : "table", table->name), schema));
        TRY(kept ? dependents_of_view(d, kept) : dependents_of_table(d, table));
        t++;
    }
    for (int64_t i = 0; i < in->views.len; i++) {
        const View *v = catalog_view(k, slice_of(in->views.items[i]));
        TRY(dependents_of_schema(d, dependents_called(d, "view", v->name), schema));
        TRY(dependents_of_view(d, v));
    }
    for (int64_t i = 0; i < in->routines.len; i++) {
        const Routine *r = catalog_routine_by_id(k, in->routines.items[i]);
        const char *name = dependents_routine(d, r);
        const char *what = name ? arena_printf(d->a, "%s %s", r->is_procedure ? "procedure" : "function", name) : NULL;
        TRY(dependents_of_schema(d, what, schema));
        TRY(dependents_of_routine(d, r));
    }
    return ST_OK;
}
static Status spare_contents(Dependents *d, const Contents *in) {
    const Catalog *k = &d->s->db->catalog;
    for (int64_t i = 0; i < in->tables.len; i++) {
        const View *kept = catalog_matview(k, slice_of(in->tables.items[i]));
        TRY(kept ? dependents_spare_view(d, kept)
                 : dependents_spare_table(d, catalog_table(k, slice_of(in->tables.items[i]))));
    }
    for (int64_t i = 0; i < in->views.len; i++)
        TRY(dependents_spare_view(d, catalog_view(k, slice_of(in->views.items[i]))));
    for (int64_t i = 0; i < in->types.len; i++) {
        const Domain *x = catalog_domain(k, slice_of(in->types.items[i]));
        if (x && !vec_push(d->a, &d->spared_domains, x)) return ST_ERROR;
    }
    return ST_OK;
}

/* What drop_spared_relations leaves. */
static Status drop_unspared(Session *s, const Contents *in) {
    const Catalog *k = &s->db->catalog;
    for (int64_t i = 0; i < in->sequences.len; i++) {
        Sequence *sequence = catalog_sequence_by_id(k, in->sequences.items[i]);
        if (sequence) TRY(session_drop_sequence(s, sequence));
    }
    for (int64_t i = 0; i < in->routines.len; i++) {
        Routine *routine = catalog_routine_by_id(k, in->routines.items[i]);
        if (routine) TRY(session_drop_routine(s, routine));
    }
    for (int64_t i = 0; i < in->types.len; i++) TRY(type_drop_key(s, in->types.items[i]));
    return ST_OK;
}

/* The schemas of a DROP. */
static Status find_to_drop(Session *s, const AstDrop *x, const AstName *n, Schema **out) {
    if (schema_is_temporary(n->name))
        return err_set(&s->err, ERR_FEATURE_NOT_SUPPORTED, "temporary schemas cannot be dropped (use DISCARD TEMP)");
    *out = catalog_schema(&s->db->catalog, n->name);
    if (*out) return ST_OK;
    if (catalog_has_schema(&s->db->catalog, n->name))
        return err_set(&s->err, ERR_DEPENDENT_OBJECTS,
                       "cannot drop schema %s because it is required by the database system", n->name);
    if (!x->if_exists) return err_set(&s->err, ERR_UNDEFINED_SCHEMA, "schema \"%s\" does not exist", n->name);
    session_notice_text(s, "NOTICE", "00000", "schema \"%s\" does not exist, skipping", n->name);
    return ST_OK;
}
Status schemas_drop(Session *s, Statement *st, const AstDrop *x) {
    Arena *a = st->run_arena;
    Dependents d;
    Contents *all = arena_array(a, Contents, x->n_names + 1);
    Schema **schemas = arena_array(a, Schema *, x->n_names + 1);
    if (!all || !schemas) return err_oom(&s->err);
    TRY(views_fill_sources(s, a));
    dependents_init(&d, s, st);
    for (int64_t i = 0; i < x->n_names; i++) {
        TRY(find_to_drop(s, x, &x->names[i], &schemas[i]));
        for (int64_t j = 0; j < i; j++)
            if (schemas[j] == schemas[i]) schemas[i] = NULL;
        if (!schemas[i]) continue;
        if (!vec_push(a, &d.schemas, schemas[i]->name)) return ST_ERROR;
        TRY(contents_of(s, a, schemas[i]->name, &all[i]));
        TRY(spare_contents(&d, &all[i]));
    }
    for (int64_t i = 0; i < x->n_names; i++)
        if (schemas[i]) TRY(list_contents(&d, &all[i], schemas[i]->name));
    TRY(dependents_drop(&d, x->n_names == 1 ? arena_printf(a, "schema %s", x->names[0].name) : NULL, x->cascade));
    TRY(drop_spared_relations(s, &d));
    for (int64_t i = 0; i < x->n_names; i++) {
        if (schemas[i]) TRY(drop_unspared(s, &all[i]));
        if (schemas[i]) TRY(session_drop_schema(s, schemas[i]));
    }
    return ST_OK;
}
Status schema_empty(Session *s, Statement *st, const char *schema) {
    const Catalog *k = &s->db->catalog;
    Dependents d;
    Contents in;
    TRY(views_fill_sources(s, st->run_arena));
    TRY(contents_of(s, st->run_arena, schema, &in));
    dependents_init(&d, s, st);
    d.quiet = true;
    if (!vec_push(d.a, &d.schemas, schema)) return ST_ERROR;
    TRY(spare_contents(&d, &in));
    for (int64_t i = 0; i < d.spared_tables.len; i++) TRY(dependents_of_table(&d, d.spared_tables.items[i]));
    for (int64_t i = 0; i < d.spared_views.len; i++) TRY(dependents_of_view(&d, d.spared_views.items[i]));
    for (int64_t i = 0; i < in.sequences.len; i++)
        TRY(dependents_of_sequence(&d, catalog_sequence_by_id(k, in.sequences.items[i]), NULL, NULL));
    for (int64_t i = 0; i < in.routines.len; i++)
        TRY(dependents_of_routine(&d, catalog_routine_by_id(k, in.routines.items[i])));
    TRY(dependents_drop(&d, NULL, true));
    TRY(drop_spared_relations(s, &d));
    return drop_unspared(s, &in);
}

/* ---- another schema ---- */

static Status move_view(Session *s, Statement *st, const char *view, const char *schema) {
    Arena *a = st->run_arena;
    View *v = catalog_view(&s->db->catalog, slice_of(view));
    const AstRename x = {.object = AST_OBJ_VIEW, .new_name = key_make(a, schema, name_of_key(view))};
    if (!x.new_name) return err_oom(&s->err);
    TRY(parts_rename(s, "rct", view, NULL, x.new_name));
    return view_rename(s, st, v, &x);
}

static Status check_not_temporary(Session *s, const char *from, const char *to) {
    if (!key_is_temporary(from) && !key_is_temporary(to)) return ST_OK;
    return err_set(&s->err, ERR_FEATURE_NOT_SUPPORTED, "cannot move objects into or out of temporary schemas");
}
static Status set_routine_schema(Session *s, Statement *st, const AstSetSchema *x, const char *to) {
    Arena *a = st->run_arena;
    const Routine *found;
    TRY(routine_find(s, a, x->what, x->routine, &found));
    if (key_is_in(found->name, x->schema)) return ST_OK;
    TRY(check_not_temporary(s, found->name, to));
    const char *key = key_make(a, x->schema, name_of_key(found->name));
    if (!key) return err_oom(&s->err);
    TRY(routine_key_free(s, a, found, key));
    TRY(routine_check_uncalled(s, st, found, "moved"));
    return routine_move(s, a, (Routine *)(uintptr_t)found, key, NULL, NULL);
}

/* ALTER SCHEMA .. RENAME: what is in it goes to one of the new name. */
Status schema_rename(Session *s, Statement *st, const AstRename *x) {
    Arena *a = st->run_arena;
    const char *name = x->name.name;
    Schema *old = catalog_schema(&s->db->catalog, name);
    Contents in;
    tag(st, "ALTER SCHEMA");
    if (catalog_has_schema(&s->db->catalog, name) && (!old || schema_is_temporary(name)))
        return err_set(&s->err, ERR_FEATURE_NOT_SUPPORTED, "schema \"%s\" cannot be renamed", name);
    if (!old) return err_set(&s->err, ERR_UNDEFINED_SCHEMA, "schema \"%s\" does not exist", name);
    if (catalog_has_schema(&s->db->catalog, x->new_name))
        return err_set(&s->err, ERR_DUPLICATE_SCHEMA, "schema \"%s\" already exists", x->new_name);
    TRY(check_name(s, x->new_name));
    TRY(views_fill_sources(s, a));
    TRY(contents_of(s, a, name, &in));
    const Schema like = {.id = old->id, .name = (char *)(uintptr_t)x->new_name};
    TRY(session_add_schema(s, &like));
    for (int64_t i = 0; i < in.tables.len; i++) TRY(table_move(s, st, in.tables.items[i], like.name));
    for (int64_t i = 0; i < in.views.len; i++) TRY(move_view(s, st, in.views.items[i], like.name));
    for (int64_t i = 0; i < in.types.len; i++)
        TRY(type_follow(s, st, catalog_type_of_key(&s->db->catalog, slice_of(in.types.items[i])), like.name));
    TRY(range_constructors_move(s, a, name, like.name));
    for (int64_t i = 0; i < in.sequences.len; i++) TRY(sequence_move(s, st, in.sequences.items[i], like.name));
    for (int64_t i = 0; i < in.routines.len; i++) {
        Routine *r = catalog_routine_by_id(&s->db->catalog, in.routines.items[i]);
        const char *key = key_make(a, like.name, name_of_key(r->name));
        if (!key) return err_oom(&s->err);
        TRY(routine_check_uncalled(s, st, r, "moved"));
        TRY(routine_move(s, a, r, key, name, like.name));
    }
    TRY(comments_rename(s, "n", name, NULL, like.name));
    TRY(privileges_rename(s, "np", name, NULL, like.name));
    return session_drop_schema(s, old);
}

static Status check_kind(Session *s, const AstSetSchema *x, const AstName *n) {
    const Catalog *k = &s->db->catalog;
    const Slice key = slice_of(n->name);
    const bool view = catalog_view(k, key) != NULL, matview = catalog_matview(k, key) != NULL,
               sequence = catalog_sequence(k, key) != NULL;
    const char *is = x->object == AST_OBJ_VIEW && !view           ? "a view"
                     : x->object == AST_OBJ_MATVIEW && !matview   ? "a materialized view"
                     : x->object == AST_OBJ_SEQUENCE && !sequence ? "a sequence"
                     : catalog_index_exists(k, key, NULL)         ? "a table, view, or sequence"
                                                                  : NULL;
    return is ? err_at(&s->err, n->location, ERR_WRONG_OBJECT_TYPE, "\"%s\" is not %s", n->name, is) : ST_OK;
}
/* Names of the table's indexes and sequences are free there, too. */
static Status check_free(Session *s, Arena *a, const char *key, const char *schema) {
    const char *to = key_make(a, schema, name_of_key(key));
    if (!to) return err_oom(&s->err);
    if (!catalog_relation_exists(&s->db->catalog, slice_of(to))) return ST_OK;
    return err_set(&s->err, ERR_DUPLICATE_TABLE, "relation \"%s\" already exists in schema \"%s\"", key, schema);
}
static Status check_parts_free(Session *s, Arena *a, const Table *t, const char *schema) {
    const Catalog *k = &s->db->catalog;
    for (int i = 0; i < table_indexes(t); i++) TRY(check_free(s, a, table_index_name(t, i), schema));
    for (int64_t i = 0; i < k->n_index_defs; i++)
        if (strcmp(k->index_defs[i]->table, t->name) == 0) TRY(check_free(s, a, k->index_defs[i]->name, schema));
    for (int64_t i = 0; i < k->n_sequences; i++) {
        const Sequence *q = k->sequences[i];
        if (q->owner_table && strcmp(q->owner_table, t->name) == 0) TRY(check_free(s, a, q->name, schema));
    }
    return ST_OK;
}
static Status move_sequence(Session *s, Statement *st, const Sequence *q, const char *schema) {
    if (!q->owner_table) return sequence_move(s, st, q->id, schema);
    err_set(&s->err, ERR_FEATURE_NOT_SUPPORTED, "cannot move an owned sequence into another schema");
    err_detail(&s->err, "Sequence \"%s\" is linked to table \"%s\".", q->name, q->owner_table);
    return ST_ERROR;
}

static Status set_type_schema(Session *s, Statement *st, const AstSetSchema *x) {
    NamedType t;
    AstName to = {.schema = x->schema, .name = ""};
    TRY(session_find_type(s, &x->name, false, &t));
    if (!named_type_found(&t)) return session_no_type(s, &x->name);
    if (x->object == AST_OBJ_DOMAIN && !t.domain)
        return err_set(&s->err, ERR_WRONG_OBJECT_TYPE, "%s is not a domain", named_type_shown(st->run_arena, &t));
    if (!named_type_defined(&t)) {
        err_set(&s->err, ERR_WRONG_OBJECT_TYPE, "%s is a table's row type", named_type_shown(st->run_arena, &t));
        return err_hint(&s->err, "Use ALTER TABLE instead."), ST_ERROR;
    }
    TRY(session_new_name(s, st->run_arena, &to, &to)); /* the schema is there */
    TRY(check_not_temporary(s, named_type_key(&t), to.name));
    return key_is_in(named_type_key(&t), x->schema) ? ST_OK : type_move(s, st, t, x->schema);
}

static const char *tag_of(AstObject o) {
    return o == AST_OBJ_VIEW       ? "ALTER VIEW"
           : o == AST_OBJ_MATVIEW  ? "ALTER MATERIALIZED VIEW"
           : o == AST_OBJ_SEQUENCE ? "ALTER SEQUENCE"
           : o == AST_OBJ_TYPE     ? "ALTER TYPE"
           : o == AST_OBJ_DOMAIN   ? "ALTER DOMAIN"
           : o == AST_OBJ_ROUTINE  ? "ALTER ROUTINE"
                                   : "ALTER TABLE";
}
Status set_schema(Session *s, Statement *st, const AstSetSchema *x) {
    Arena *a = st->run_arena;
    AstName n, to = {.schema = x->schema, .name = ""};
    TRY(session_begin_write(s));
    tag(st, tag_of(x->object));
    if (x->object == AST_OBJ_ROUTINE) {
        TRY(session_new_name(s, a, &to, &to)); /* the schema is there */
        tag(st, x->what == 'f'   ? "ALTER FUNCTION"
                : x->what == 'p' ? "ALTER PROCEDURE"
                : x->what == 'a' ? "ALTER AGGREGATE"
                                 : "ALTER ROUTINE");
        return set_routine_schema(s, st, x, to.name);
    }
    if (x->object == AST_OBJ_TYPE || x->object == AST_OBJ_DOMAIN) return set_type_schema(s, st, x);
    TRY(session_relation_name(s, a, &x->name, x->if_exists, &n));
    const Catalog *k = &s->db->catalog;
    if (!catalog_relation_exists(k, slice_of(n.name))) {
        if (!x->if_exists) return catalog_no_relation(k, n.name, n.location, &s->err);
        session_notice_text(s, "NOTICE", "00000", "relation \"%s\" does not exist, skipping", n.name);
        return ST_OK;
    }
    TRY(check_kind(s, x, &n));
    TRY(session_new_name(s, a, &to, &to)); /* the schema is there */
    if (slice_eq(schema_of_key(n.name), schema_of_key(to.name))) return ST_OK;
    TRY(check_not_temporary(s, n.name, to.name));
    TRY(views_fill_sources(s, a));
    const Sequence *q = catalog_sequence(k, slice_of(n.name));
    const Table *t = catalog_table(k, slice_of(n.name));
    TRY(check_free(s, a, n.name, x->schema));
    if (q) return move_sequence(s, st, q, x->schema);
    if (!t) return move_view(s, st, n.name, x->schema);
    TRY(check_parts_free(s, a, t, x->schema));
    return table_move(s, st, t->name, x->schema);
}
