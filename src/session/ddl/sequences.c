/* sequences.c - CREATE, ALTER and DROP SEQUENCE; sequences that go with columns.
 *
 * A definition is changed by putting another one in its place, which undo takes back. With options other than OWNED BY
 * it gets a state of its own, which begins where the other one is: as in PostgreSQL, where such a command writes a new
 * file for the sequence, ROLLBACK brings back the numbers that were, too.
 */
#include "catalog/similar_names.h"
#include "session/ddl/comments.h"
#include "session/ddl/depend.h"
#include "session/ddl/stored_text.h"
#include "session/ddl/utility_int.h"
#include "sql/bind/bind.h"

typedef struct SequenceDraft {
    Session *s;
    Sequence q;
    SequenceValues v;
    bool is_new, of_column; /* of_column: an identity column's */
    bool reset_min, reset_max;
} SequenceDraft;

/* ---- options --------------------------------------------------------------------------------------------------- */

static const AstSequenceOption *option(const AstSequenceOption *o, int64_t n, AstSequenceOptionKind kind) {
    for (int64_t i = 0; i < n; i++)
        if (o[i].kind == kind) return &o[i];
    return NULL;
}
static Status check_twice(Session *s, const AstSequenceOption *o, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < i; k++)
            if (o[k].kind == o[i].kind)
                return err_at(&s->err, o[i].location, ERR_SYNTAX, "conflicting or redundant options");
    return ST_OK;
}

static Status set_type(SequenceDraft *d, const AstSequenceOption *o) {
    const Domain *domain = NULL;
    Type t;
    int64_t min, max;
    TRY(sql_bind_type(&d->s->db->catalog, o->type, &t, &domain, &d->s->err));
    if (domain || (t.id != T_INT2 && t.id != T_INT4 && t.id != T_INT8))
        return err_set(&d->s->err, ERR_INVALID_PARAMETER, "%s type must be smallint, integer, or bigint",
                       d->of_column ? "identity column" : "sequence");
    sequence_type_range(d->q.type, &min, &max);
    d->reset_min = !d->is_new && d->q.min == min;
    d->reset_max = !d->is_new && d->q.max == max;
    d->q.type = t;
    return ST_OK;
}

static Status set_range(SequenceDraft *d, const AstSequenceOption *o, int64_t n) {
    const AstSequenceOption *max = option(o, n, AST_SEQ_MAXVALUE), *min = option(o, n, AST_SEQ_MINVALUE);
    Sequence *q = &d->q;
    Err *e = &d->s->err;
    int64_t least, most;
    sequence_type_range(q->type, &least, &most);
    const char *type = type_plain_name(q->type);
    if (max && max->has_number) q->max = max->number;
    else if (d->is_new || max || d->reset_max) q->max = q->increment > 0 || d->reset_max ? most : -1;
    if (q->max < least || q->max > most)
        return err_set(e, ERR_INVALID_PARAMETER, "MAXVALUE (%lld) is out of range for sequence data type %s",
                       (long long)q->max, type);
    if (min && min->has_number) q->min = min->number;
    else if (d->is_new || min || d->reset_min) q->min = q->increment < 0 || d->reset_min ? least : 1;
    if (q->min < least || q->min > most)
        return err_set(e, ERR_INVALID_PARAMETER, "MINVALUE (%lld) is out of range for sequence data type %s",
                       (long long)q->min, type);
    if (q->min >= q->max)
        return err_set(e, ERR_INVALID_PARAMETER, "MINVALUE (%lld) must be less than MAXVALUE (%lld)", (long long)q->min,
                       (long long)q->max);
    return ST_OK;
}

static Status check_inside(SequenceDraft *d, const char *what, int64_t value) {
    const bool less = value < d->q.min;
    if (!less && value <= d->q.max) return ST_OK;
    return err_set(&d->s->err, ERR_INVALID_PARAMETER, "%s value (%lld) cannot be %s than %s (%lld)", what,
                   (long long)value, less ? "less" : "greater", less ? "MINVALUE" : "MAXVALUE",
                   (long long)(less ? d->q.min : d->q.max));
}
static Status set_start(SequenceDraft *d, const AstSequenceOption *o, int64_t n) {
    const AstSequenceOption *start = option(o, n, AST_SEQ_START), *restart = option(o, n, AST_SEQ_RESTART);
    if (start) d->q.start = start->number;
    else if (d->is_new) d->q.start = d->q.increment > 0 ? d->q.min : d->q.max;
    TRY(check_inside(d, "START", d->q.start));
    if (restart || d->is_new) {
        d->v.last = restart && restart->has_number ? restart->number : d->q.start;
        d->v.is_called = false;
    }
    return check_inside(d, "RESTART", d->v.last);
}

/* In the order in which PostgreSQL looks at them (init_params). */
static Status read_options(SequenceDraft *d, const AstSequenceOption *o, int64_t n) {
    const AstSequenceOption *as = option(o, n, AST_SEQ_AS), *by = option(o, n, AST_SEQ_INCREMENT),
                            *cycle = option(o, n, AST_SEQ_CYCLE), *cache = option(o, n, AST_SEQ_CACHE),
                            *name = option(o, n, AST_SEQ_NAME);
    TRY(check_twice(d->s, o, n));
    if (name && !d->of_column)
        return err_at(&d->s->err, name->location, ERR_SYNTAX, "invalid sequence option SEQUENCE NAME");
    if (as) TRY(set_type(d, as));
    if (by) d->q.increment = by->number;
    else if (d->is_new) d->q.increment = 1;
    if (d->q.increment == 0) return err_set(&d->s->err, ERR_INVALID_PARAMETER, "INCREMENT must not be zero");
    if (cycle) d->q.cycle = cycle->on;
    TRY(set_range(d, o, n));
    TRY(set_start(d, o, n));
    if (cache) d->q.cache = cache->number;
    else if (d->is_new) d->q.cache = 1;
    if (d->q.cache <= 0)
        return err_set(&d->s->err, ERR_INVALID_PARAMETER, "CACHE (%lld) must be greater than zero",
                       (long long)d->q.cache);
    return ST_OK;
}

static Status bad_owner(Session *s) {
    err_set(&s->err, ERR_SYNTAX, "invalid OWNED BY option");
    err_hint(&s->err, "Specify OWNED BY table.column or OWNED BY NONE.");
    return ST_ERROR;
}
static Status read_owner(SequenceDraft *d, Arena *a, const AstSequenceOption *o) {
    Session *s = d->s;
    const Catalog *k = &s->db->catalog;
    const AstName *n = &o->owner;
    AstName table = {.name = n->schema, .schema = n->catalog};
    if (!n->schema && strcmp(n->name, "none") != 0) return bad_owner(s);
    if (n->schema) TRY(session_relation_name(s, a, &table, false, &table));
    const Table *t = n->schema ? catalog_table(k, slice_of(table.name)) : NULL;
    if (n->schema && !t && catalog_relation_exists(k, slice_of(table.name))) {
        err_set(&s->err, ERR_WRONG_OBJECT_TYPE, "sequence cannot be owned by relation \"%s\"", table.name);
        err_detail(&s->err, "This operation is not supported for %s.",
                   catalog_view(k, slice_of(table.name)) ? "views" : "sequences");
        return ST_ERROR;
    }
    if (n->schema && !t) return catalog_no_relation(k, table.name, 0, &s->err);
    if (t && !slice_eq(schema_of_key(t->name), schema_of_key(d->q.name)))
        return err_set(&s->err, ERR_NOT_IN_STATE, "sequence must be in same schema as table it is linked to");
    const int col = t ? table_find_column(t, slice_of(n->name)) : -1;
    if (t && col < 0)
        return err_set(&s->err, ERR_UNDEFINED_COLUMN, "column \"%s\" of relation \"%s\" does not exist", n->name,
                       t->name);
    if (d->q.identity) {
        err_set(&s->err, ERR_FEATURE_NOT_SUPPORTED, "cannot change ownership of identity sequence");
        err_detail(&s->err, "Sequence \"%s\" is linked to table \"%s\".", d->q.name, d->q.owner_table);
        return ST_ERROR;
    }
    d->q.owner_table = t ? t->name : NULL;
    d->q.owner_column = t ? t->cols[col].name : NULL;
    return ST_OK;
}

/* ---- definitions --------------------------------------------------------------------------------------------------
 */

/* Puts the draft into the catalog, in the place of `old` (NULL: none). */
static Status put(SequenceDraft *d, Sequence *old) {
    Sequence *made = sequence_new(&d->q, &d->v, &d->s->err);
    if (!made) return ST_ERROR;
    if (old && session_drop_sequence(d->s, old) != ST_OK) {
        sequence_free(made);
        return ST_ERROR;
    }
    return session_add_sequence(d->s, made);
}
static SequenceDraft draft_of_sequence(Session *s, const Sequence *q) {
    SequenceDraft d = {.s = s, .q = *q, .v = sequence_values(q), .of_column = q->identity};
    d.q.node = (EpochNode){0};
    return d;
}

Status sequence_create(Session *s, Statement *st, const AstSequence *x) {
    const AstSequenceOption *owner = option(x->options, x->n_options, AST_SEQ_OWNED_BY);
    SequenceDraft d = {.s = s, .is_new = true};
    tag(st, "CREATE SEQUENCE");
    AstSequence named = *x;
    TRY(session_begin_write(s));
    TRY(session_new_relation(s, st->run_arena, &x->name, persistence_of(x->temporary, x->unlogged), &named.name));
    x = &named;
    if (catalog_relation_exists(&s->db->catalog, slice_of(x->name.name))) {
        if (!x->if_exists)
            return err_at(&s->err, x->name.location, ERR_DUPLICATE_TABLE, "relation \"%s\" already exists",
                          x->name.name);
        session_notice_text(s, "NOTICE", ERR_DUPLICATE_TABLE, "relation \"%s\" already exists, skipping", x->name.name);
        return ST_OK;
    }
    TRY(row_type_free(s, x->name.name, 0));
    d.q.name = arena_strdup(st->run_arena, x->name.name);
    if (!d.q.name) return err_oom(&s->err);
    d.q.type = type_make(T_INT8);
    d.q.unlogged = x->unlogged;
    TRY(read_options(&d, x->options, x->n_options));
    if (owner) TRY(read_owner(&d, st->run_arena, owner));
    return put(&d, NULL);
}

Status sequence_alter_options(Session *s, Arena *a, Sequence *q, int64_t n, const AstSequenceOption *options) {
    const AstSequenceOption *owner = option(options, n, AST_SEQ_OWNED_BY);
    SequenceDraft d = draft_of_sequence(s, q);
    TRY(read_options(&d, options, n));
    if (owner) TRY(read_owner(&d, a, owner));
    for (int64_t i = 0; i < n; i++)
        if (options[i].kind != AST_SEQ_OWNED_BY && options[i].kind != AST_SEQ_GENERATED) d.q.state = NULL;
    if (!d.q.state) d.v.log_cnt = 0;
    session_drop_kept_numbers(s, q->id);
    return put(&d, q);
}

/* The sequence of the name; NULL: there is none, and that is fine. */
static Status find_sequence(Session *s, const AstName *n, bool if_exists, Sequence **out) {
    *out = catalog_sequence(&s->db->catalog, slice_of(n->name));
    if (*out) return ST_OK;
    if (catalog_relation_exists(&s->db->catalog, slice_of(n->name)))
        return err_set(&s->err, ERR_WRONG_OBJECT_TYPE, "\"%s\" is not a sequence", n->name);
    if (!if_exists) return catalog_no_relation(&s->db->catalog, n->name, n->location, &s->err);
    session_notice_text(s, "NOTICE", "00000", "relation \"%s\" does not exist, skipping", n->name);
    return ST_OK;
}

Status sequence_alter(Session *s, Statement *st, const AstSequence *x) {
    Sequence *q;
    tag(st, "ALTER SEQUENCE");
    AstName name;
    TRY(session_begin_write(s));
    TRY(session_relation_name(s, st->run_arena, &x->name, x->if_exists, &name));
    TRY(find_sequence(s, &name, x->if_exists, &q));
    return q ? sequence_alter_options(s, st->run_arena, q, x->n_options, x->options) : ST_OK;
}

/* Texts name sequences: those of defaults follow, others refuse. new_name: a key that is free. */
static Status rename_to(Session *s, Statement *st, Sequence *q, const char *new_name) {
    Dependents on;
    Arena *a = st->run_arena;
    TRY(views_fill_sources(s, a));
    dependents_init(&on, s, st);
    on.renames = true;
    TRY(dependents_of_sequence(&on, q, NULL, NULL));
    for (int64_t i = 0; i < on.found.len; i++)
        if (on.found.items[i].kind != DEPENDENT_DEFAULT ||
            catalog_view(&s->db->catalog, slice_of(on.found.items[i].table)))
            return err_set(&s->err, ERR_FEATURE_NOT_SUPPORTED,
                           "sequence \"%s\" cannot be renamed, because the definition of %s names it", q->name,
                           on.found.items[i].what);
    SequenceDraft d = draft_of_sequence(s, q);
    TableDraft *drafts = arena_array(a, TableDraft, on.found.len + 1);
    const Table **tables = arena_array(a, const Table *, on.found.len + 1);
    int64_t n = 0;
    if (!drafts || !tables || !(d.q.name = arena_strdup(a, new_name))) return err_oom(&s->err);
    for (int64_t i = 0; i < on.found.len; i++) {
        const Table *t = catalog_table(&s->db->catalog, slice_of(on.found.items[i].table));
        int64_t k = 0;
        while (k < n && tables[k] != t) k++;
        if (k == n) {
            tables[n++] = t;
            TRY(draft_of(s, a, t, &drafts[k]));
        }
        ColumnDef *col = &drafts[k].cols[table_find_column(t, slice_of(on.found.items[i].name))];
        TRY(stored_default_renamed(s, a, slice_of(col->default_sql), col->type, q->id, new_name, &col->default_sql));
    }
    TRY(views_rename(s, a, q->name, NULL, new_name));
    TRY(put(&d, q));
    for (int64_t k = 0; k < n; k++)
        TRY(rebuild_as(s, st, catalog_table(&s->db->catalog, slice_of(tables[k]->name)), &drafts[k]));
    return ST_OK;
}

Status sequence_rename(Session *s, Statement *st, const AstRename *x) {
    Sequence *q;
    TRY(find_sequence(s, &x->name, x->if_exists, &q));
    if (!q) return ST_OK;
    if (catalog_relation_exists(&s->db->catalog, slice_of(x->new_name)))
        return err_set(&s->err, ERR_DUPLICATE_TABLE, "relation \"%s\" already exists", x->new_name);
    TRY(row_type_free(s, x->new_name, 0));
    return rename_to(s, st, q, x->new_name);
}
Status sequence_move(Session *s, Statement *st, int64_t sequence, const char *schema) {
    Sequence *q = catalog_sequence_by_id(&s->db->catalog, sequence);
    const char *name = arena_strdup(st->run_arena, name_of_key(q->name)),
               *key = name ? key_make(st->run_arena, schema, name) : NULL;
    if (!key) return err_oom(&s->err);
    TRY(parts_rename(s, "r", q->name, NULL, key));
    return rename_to(s, st, q, key);
}

/* ---- DROP
 * ------------------------------------------------------------------------------------------------------------ */

static Status find_to_drop(Session *s, Arena *a, const AstDrop *x, const AstName *n, Sequence **q) {
    const Catalog *k = &s->db->catalog;
    *q = NULL;
    *q = catalog_sequence(k, slice_of(n->name));
    const bool table = catalog_table(k, slice_of(n->name)) != NULL, view = catalog_view(k, slice_of(n->name)) != NULL;
    if (table || view) {
        err_at(&s->err, n->location, ERR_WRONG_OBJECT_TYPE, "\"%s\" is not a sequence", n->name);
        err_hint(&s->err, "Use DROP %s to remove a %s.", table ? "TABLE" : "VIEW", table ? "table" : "view");
        return ST_ERROR;
    }
    if (!*q && !x->if_exists)
        return err_at(&s->err, n->location, ERR_UNDEFINED_TABLE, "sequence \"%s\" does not exist", n->name);
    if (!*q) session_notice_text(s, "NOTICE", "00000", "sequence \"%s\" does not exist, skipping", n->name);
    if (!*q || !(*q)->identity) return ST_OK;
    const char *shown = catalog_shown(k, a, n->name), *of = catalog_shown(k, a, (*q)->owner_table);
    if (!shown || !of) return ST_ERROR;
    err_set(&s->err, ERR_DEPENDENT_OBJECTS, "cannot drop sequence %s because column %s of table %s requires it", shown,
            (*q)->owner_column, of);
    err_hint(&s->err, "You can drop column %s of table %s instead.", (*q)->owner_column, of);
    return ST_ERROR;
}

Status sequence_drop(Session *s, Statement *st, const AstDrop *x) {
    VEC(int64_t) gone = {0};
    Dependents d;
    TRY(views_fill_sources(s, st->run_arena));
    dependents_init(&d, s, st);
    for (int64_t i = 0; i < x->n_names; i++) {
        Sequence *q;
        TRY(find_to_drop(s, st->run_arena, x, &x->names[i], &q));
        if (q && !vec_push(st->run_arena, &gone, q->id)) return ST_ERROR;
        if (q) TRY(dependents_of_sequence(&d, q, NULL, NULL));
    }
    TRY(dependents_drop(&d, x->n_names == 1 ? dependents_called(&d, "sequence", x->names[0].name) : NULL, x->cascade));
    for (int64_t i = 0; i < gone.len; i++) {
        Sequence *q = catalog_sequence_by_id(&s->db->catalog, gone.items[i]);
        if (q) TRY(session_drop_sequence(s, q));
    }
    return ST_OK;
}

/* ---- sequences of columns
 * ---------------------------------------------------------------------------------------------- */

static bool goes_with(const Sequence *q, const char *table, const char *column) {
    return q->owner_table && strcmp(q->owner_table, table) == 0 && (!column || strcmp(q->owner_column, column) == 0);
}

Status sequences_drop_of(Session *s, const char *table, const char *column) {
    const Catalog *k = &s->db->catalog;
    for (int64_t i = k->n_sequences - 1; i >= 0; i--)
        if (goes_with(k->sequences[i], table, column)) TRY(session_drop_sequence(s, k->sequences[i]));
    return ST_OK;
}

Status sequences_rename_owner(Session *s, const char *table, const char *column, const char *new_name) {
    const Catalog *k = &s->db->catalog;
    for (int64_t i = k->n_sequences - 1, left = k->n_sequences; left > 0; left--, i--) {
        if (!goes_with(k->sequences[i], table, column)) continue;
        SequenceDraft d = draft_of_sequence(s, k->sequences[i]);
        *(column ? &d.q.owner_column : &d.q.owner_table) = (char *)(uintptr_t)new_name;
        TRY(put(&d, k->sequences[i])); /* it stands behind all that are still to come */
    }
    return ST_OK;
}

Status sequences_restart(Session *s, const char *table) {
    const Catalog *k = &s->db->catalog;
    for (int64_t i = k->n_sequences - 1, left = k->n_sequences; left > 0; left--, i--) {
        if (!goes_with(k->sequences[i], table, NULL)) continue;
        SequenceDraft d = draft_of_sequence(s, k->sequences[i]);
        d.v = (SequenceValues){.last = d.q.start};
        d.q.state = NULL;
        session_drop_kept_numbers(s, d.q.id);
        TRY(put(&d, k->sequences[i]));
    }
    return ST_OK;
}

Status check_identity_type(Session *s, const ColumnDef *col) {
    const TypeId t = (TypeId)col->type.id;
    if (!col->domain && (t == T_INT2 || t == T_INT4 || t == T_INT8)) return ST_OK;
    return err_set(&s->err, ERR_INVALID_PARAMETER, "identity column type must be smallint, integer, or bigint");
}

Status sequences_set_unlogged(Session *s, const char *table, bool unlogged) {
    const Catalog *k = &s->db->catalog;
    for (int64_t i = k->n_sequences - 1, left = k->n_sequences; left > 0; left--, i--) {
        if (!goes_with(k->sequences[i], table, NULL)) continue;
        SequenceDraft d = draft_of_sequence(s, k->sequences[i]);
        d.q.unlogged = unlogged;
        TRY(put(&d, k->sequences[i]));
    }
    return ST_OK;
}

Status sequence_of_column(Session *s, Arena *a, TableDraft *t, const char *table, int column,
                          const AstConstraint *identity) {
    ColumnDef *col = &t->cols[column];
    SequenceDraft d = {.s = s, .is_new = true, .of_column = identity != NULL};
    const int64_t n = identity ? identity->n_sequence : 0;
    const AstSequenceOption *options = identity ? identity->sequence : NULL, *name = option(options, n, AST_SEQ_NAME);
    d.q.type = col->type;
    if (identity) TRY(check_identity_type(s, col));
    AstName given = {0};
    if (name) TRY(session_new_name(s, a, &name->owner, &given));
    d.q.name = name ? arena_strdup(a, given.name) : relation_name_choose(s, a, NULL, table, col->name, "seq");
    d.q.owner_table = arena_strdup(a, table);
    d.q.owner_column = arena_strdup(a, col->name);
    d.q.identity = identity != NULL;
    d.q.unlogged = t->unlogged;
    if (!d.q.name || !d.q.owner_table || !d.q.owner_column) return err_oom(&s->err);
    if (catalog_relation_exists(&s->db->catalog, slice_of(d.q.name)))
        return err_set(&s->err, ERR_DUPLICATE_TABLE, "relation \"%s\" already exists", d.q.name);
    TRY(row_type_free(s, d.q.name, 0));
    TRY(read_options(&d, options, n));
    TRY(put(&d, NULL));
    col->not_null = true;
    col->kind = !identity ? COLUMN_PLAIN : identity->identity_always ? COLUMN_ALWAYS : COLUMN_BY_DEFAULT;
    col->default_sql = stored_nextval(a, d.q.name);
    return col->default_sql ? ST_OK : err_oom(&s->err);
}
