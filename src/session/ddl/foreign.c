/* foreign.c - FOREIGN KEY: definitions. What is done behind changes of rows: session/core/constraints.h. */
#include "catalog/foreign_key.h"
#include <stdio.h>

#include "catalog/similar_names.h"
#include "session/core/constraints.h"
#include "session/core/transaction.h"

static bool comparable(Type a, Type b) {
    bool text_a = a.id == T_TEXT || a.id == T_VARCHAR, text_b = b.id == T_TEXT || b.id == T_VARCHAR;
    if (type_is_integer(a) && type_is_integer(b)) return true;
    if (text_a || text_b) return text_a && text_b;
    return a.id == b.id && (a.id != T_NUMERIC || a.scale == b.scale) && (!type_needs_key(a) || a.flags == b.flags);
}

static bool name_taken(const Session *s, const Table *t, const char *name) {
    const Catalog *k = &s->db->catalog;
    bool taken = false;
    for (int i = 0; i < t->n_keys; i++) taken |= key_is_named(t->keys[i].name, name);
    for (int i = 0; i < t->n_checks; i++) taken |= strcmp(t->checks[i].name, name) == 0;
    for (int64_t i = 0; i < k->n_foreign; i++)
        taken |= strcmp(k->foreign[i]->table, t->name) == 0 && strcmp(k->foreign[i]->name, name) == 0;
    return taken;
}

static Status check_types(Session *s, const ForeignKey *f, const Table *t, const Table *p, int64_t location) {
    for (int i = 0; i < f->n_cols; i++) {
        Type x = t->cols[table_find_column(t, slice_of(f->cols[i]))].type,
             y = p->cols[table_find_column(p, slice_of(f->ref_cols[i]))].type;
        if (comparable(x, y)) continue;
        char tx[TYPE_NAME_MAX], ty[TYPE_NAME_MAX];
        err_at(&s->err, location, ERR_DATATYPE_MISMATCH, "foreign key constraint \"%s\" cannot be implemented",
               f->name);
        err_detail(&s->err, "Key columns \"%s\" and \"%s\" are of incompatible types: %s and %s.", f->cols[i],
                   f->ref_cols[i], type_name(x, &tx), type_name(y, &ty));
        return ST_ERROR;
    }
    return ST_OK;
}

Status foreign_check_types(Session *s, const char *table) {
    const Catalog *k = &s->db->catalog;
    for (int64_t i = 0; i < k->n_foreign; i++) {
        const ForeignKey *f = k->foreign[i];
        if (strcmp(f->table, table) != 0 && strcmp(f->ref_table, table) != 0) continue;
        TRY(check_types(s, f, catalog_table(k, slice_of(f->table)), catalog_table(k, slice_of(f->ref_table)), 0));
    }
    return ST_OK;
}

/* Actions set no generated columns. */
static Status check_generated(Session *s, const ForeignKey *f, const Table *t, int64_t location) {
    const bool deletes = f->on_delete == 'n' || f->on_delete == 'd',
               updates = f->on_update == 'n' || f->on_update == 'd' || f->on_update == 'c';
    for (int i = 0; i < f->n_cols && (deletes || updates); i++)
        if (t->cols[table_find_column(t, slice_of(f->cols[i]))].kind == COLUMN_GENERATED)
            return err_at(&s->err, location, ERR_SYNTAX,
                          "invalid %s action for foreign key constraint containing generated column",
                          updates ? "ON UPDATE" : "ON DELETE");
    return ST_OK;
}

/* Columns that ON DELETE SET NULL (..) names are of the key. */
static Status set_columns(Session *s, Arena *a, ForeignKey *f, const Table *t, const AstConstraint *k) {
    f->n_set_cols = 0;
    if (!(f->set_cols = arena_array(a, char *, f->n_cols + 1))) return ST_ERROR;
    for (int64_t i = 0; i < k->n_set_columns; i++) {
        bool mine = false, again = false;
        char *name = (char *)(uintptr_t)k->set_columns[i];
        if (table_find_column(t, slice_of(name)) < 0)
            return err_at(&s->err, k->location, ERR_UNDEFINED_COLUMN,
                          "column \"%s\" referenced in foreign key constraint does not exist", name);
        for (int c = 0; c < f->n_cols; c++) mine |= strcmp(f->cols[c], name) == 0;
        if (!mine)
            return err_at(&s->err, k->location, ERR_INVALID_COLUMN_REFERENCE,
                          "column \"%s\" referenced in ON DELETE SET action must be part of foreign key", name);
        for (int c = 0; c < f->n_set_cols; c++) again |= strcmp(f->set_cols[c], name) == 0;
        if (!again) f->set_cols[f->n_set_cols++] = name;
    }
    return ST_OK;
}
/* Columns of both sides, by name. */
static Status columns(Session *s, ForeignKey *f, const Table *t, const Table *p, const AstConstraint *k,
                      const char *column) {
    const int n = f->n_cols;
    for (int i = 0; i < n; i++) {
        f->cols[i] = (char *)(uintptr_t)(column ? column : k->columns[i]);
        if (table_find_column(t, slice_of(f->cols[i])) < 0)
            return err_at(&s->err, k->location, ERR_UNDEFINED_COLUMN,
                          "column \"%s\" referenced in foreign key constraint does not exist", f->cols[i]);
    }
    TRY(check_generated(s, f, t, k->location));
    if (k->n_ref_columns && k->n_ref_columns != n)
        return err_at(&s->err, k->location, ERR_INVALID_FOREIGN_KEY,
                      "number of referencing and referenced columns for foreign key disagree");
    const KeyConstraint *primary = NULL;
    for (int i = 0; i < p->n_keys; i++)
        if (p->keys[i].primary) primary = &p->keys[i];
    if (!k->n_ref_columns && !primary)
        return err_at(&s->err, k->location, ERR_UNDEFINED_OBJECT, "there is no primary key for referenced table \"%s\"",
                      p->name);
    if (!k->n_ref_columns && primary->deferrable)
        return err_at(&s->err, k->location, ERR_NOT_IN_STATE,
                      "cannot use a deferrable primary key for referenced table \"%s\"", p->name);
    if (!k->n_ref_columns && primary->n_cols != n)
        return err_at(&s->err, k->location, ERR_INVALID_FOREIGN_KEY,
                      "number of referencing and referenced columns for foreign key disagree");
    for (int i = 0; i < n; i++) {
        f->ref_cols[i] = k->n_ref_columns ? (char *)(uintptr_t)k->ref_columns[i] : p->cols[primary->cols[i]].name;
        if (table_find_column(p, slice_of(f->ref_cols[i])) < 0)
            return err_at(&s->err, k->location, ERR_UNDEFINED_COLUMN,
                          "column \"%s\" referenced in foreign key constraint does not exist", f->ref_cols[i]);
    }
    return ST_OK;
}
/* A deferrable key has the columns that f refers to. */
static bool refers_to_deferrable(const Table *p, const ForeignKey *f) {
    for (int k = 0; k < p->n_keys; k++) {
        int same = 0;
        for (int j = 0; j < p->keys[k].n_cols; j++)
            for (int i = 0; i < f->n_cols; i++) same += strcmp(p->cols[p->keys[k].cols[j]].name, f->ref_cols[i]) == 0;
        if (p->keys[k].deferrable && same == f->n_cols && same == p->keys[k].n_cols) return true;
    }
    return false;
}
static Status referenced_key(Session *s, const ForeignKey *f, const Table *p, int64_t location) {
    for (int i = 0; i < f->n_cols; i++)
        for (int j = 0; j < i; j++)
            if (strcmp(f->ref_cols[i], f->ref_cols[j]) == 0)
                return err_at(&s->err, location, ERR_INVALID_FOREIGN_KEY,
                              "foreign key referenced-columns list must not contain duplicates");
    if (foreign_parent_key(p, f) >= 0) return ST_OK;
    if (refers_to_deferrable(p, f))
        return err_at(&s->err, location, ERR_NOT_IN_STATE,
                      "cannot use a deferrable unique constraint for referenced table \"%s\"", p->name);
    return err_at(&s->err, location, ERR_INVALID_FOREIGN_KEY,
                  "there is no unique constraint matching given keys for referenced table \"%s\"", p->name);
}
static Status choose_name(Session *s, Arena *a, ForeignKey *f, const Table *t, const AstConstraint *k) {
    char *base = arena_strdup(a, name_of_key(t->name));
    for (int i = 0; base && i < f->n_cols; i++) base = arena_printf(a, "%s_%s", base, f->cols[i]);
    if (!base) return err_oom(&s->err);
    if (f->name && name_taken(s, t, f->name))
        return err_at(&s->err, k->location, ERR_DUPLICATE_OBJECT,
                      "constraint \"%s\" for relation \"%s\" already exists", f->name, t->name);
    for (int again = 0; !f->name || (!k->name && name_taken(s, t, f->name)); again++) {
        f->name = again ? arena_printf(a, "%s_fkey%d", base, again) : arena_printf(a, "%s_fkey", base);
        if (!f->name) return err_oom(&s->err);
    }
    return ST_OK;
}

/* What is kept refers to what is kept as well at least. */
static Status check_persistence(Session *s, const Table *t, const Table *p) {
    const bool own = key_is_temporary(t->name), theirs = key_is_temporary(p->name);
    const char *why = own && !theirs ? "constraints on temporary tables may reference only temporary tables"
                      : own          ? NULL
                      : t->unlogged && theirs
                          ? "constraints on unlogged tables may reference only permanent or unlogged tables"
                      : !t->unlogged && (theirs || p->unlogged)
                          ? "constraints on permanent tables may reference only permanent tables"
                          : NULL;
    return why ? err_set(&s->err, ERR_INVALID_TABLE_DEFINITION, "%s", why) : ST_OK;
}

Status foreign_define(Session *s, Statement *st, const Table *t, const AstConstraint *k, const char *column) {
    Arena *a = st->run_arena;
    AstConstraint named = *k;
    TRY(session_relation_name(s, a, &k->ref_table, false, &named.ref_table));
    k = &named;
    const Table *p = catalog_table(&s->db->catalog, slice_of(k->ref_table.name));
    const bool matview = p && catalog_matview(&s->db->catalog, slice_of(p->name));
    if (matview || (!p && catalog_view(&s->db->catalog, slice_of(k->ref_table.name))))
        return err_at(&s->err, k->ref_table.location, ERR_WRONG_OBJECT_TYPE,
                      "referenced relation \"%s\" is not a table", k->ref_table.name);
    if (!p) return catalog_no_relation(&s->db->catalog, k->ref_table.name, k->ref_table.location, &s->err);
    TRY(check_persistence(s, t, p));
    int n = column ? 1 : (int)k->n_columns;
    if (n > 32)
        return err_at(&s->err, k->location, ERR_TOO_MANY_COLUMNS, "cannot have more than 32 keys in a foreign key");
    ForeignKey f = {.name = (char *)(uintptr_t)k->name,
                    .table = t->name,
                    .ref_table = p->name,
                    .n_cols = n,
                    .on_delete = k->on_delete ? k->on_delete : 'a',
                    .on_update = k->on_update ? k->on_update : 'a',
                    .match_full = k->match_full,
                    .deferrable = k->deferrable,
                    .deferred = k->deferred,
                    .not_valid = k->not_valid};
    f.cols = arena_array(a, char *, n + 1);
    f.ref_cols = arena_array(a, char *, n + 1);
    if (!f.cols || !f.ref_cols) return ST_ERROR;
    TRY(columns(s, &f, t, p, k, column));
    TRY(set_columns(s, a, &f, t, k));
    TRY(referenced_key(s, &f, p, k->location));
    TRY(choose_name(s, a, &f, t, k));
    TRY(check_types(s, &f, t, p, k->location));
    if (!f.not_valid) TRY(foreign_check_all(s, st, &f));
    ForeignKey *copy = foreign_new(&f, &s->err);
    if (!copy) return ST_ERROR;
    if (session_add_foreign(s, copy) != ST_OK) {
        foreign_free(copy);
        return ST_ERROR;
    }
    transactions_outdate_changes(s, t);
    transactions_outdate_changes(s, p);
    return ST_OK;
}

Status foreign_drop_table(Session *s, const Table *t) {
    const Catalog *k = &s->db->catalog;
    for (int64_t i = k->n_foreign - 1; i >= 0; i--) {
        ForeignKey *f = k->foreign[i];
        if (strcmp(f->table, t->name) == 0 || strcmp(f->ref_table, t->name) == 0) TRY(session_drop_foreign(s, f));
    }
    return ST_OK;
}

Status foreign_drop_column(Session *s, const Table *t, const char *column) {
    const Catalog *k = &s->db->catalog;
    for (int64_t i = k->n_foreign - 1; i >= 0; i--) {
        ForeignKey *f = k->foreign[i];
        bool mine = false;
        for (int c = 0; c < f->n_cols; c++) mine |= strcmp(f->table, t->name) == 0 && strcmp(f->cols[c], column) == 0;
        if (mine) TRY(session_drop_foreign(s, f));
    }
    return ST_OK;
}

bool foreign_is_of_key(const ForeignKey *f, const Table *t, int key) {
    return strcmp(f->ref_table, t->name) == 0 && foreign_parent_key(t, f) == key;
}

Status foreign_drop_constraint(Session *s, const Table *t, const char *name, bool *found) {
    const Catalog *k = &s->db->catalog;
    for (int64_t i = k->n_foreign - 1; i >= 0; i--) {
        ForeignKey *f = k->foreign[i];
        if (strcmp(f->table, t->name) != 0 || strcmp(f->name, name) != 0) continue;
        *found = true;
        TRY(session_drop_foreign(s, f));
    }
    return ST_OK;
}

/* Puts a changed copy in f's place. */
static Status replace(Session *s, ForeignKey *f, const ForeignKey *changed) {
    ForeignKey *copy = foreign_new(changed, &s->err);
    if (!copy) return ST_ERROR;
    if (session_drop_foreign(s, f) == ST_OK && session_add_foreign(s, copy) == ST_OK) return ST_OK;
    foreign_free(copy);
    return ST_ERROR;
}

Status foreign_rename(Session *s, const char *table, const char *column, const char *new_name) {
    const Catalog *k = &s->db->catalog;
    char *name = (char *)(uintptr_t)new_name;
    for (int64_t i = k->n_foreign - 1, left = k->n_foreign; left > 0; left--, i--) {
        ForeignKey *f = k->foreign[i], g = *f;
        char *cols[32], *ref_cols[32], *set_cols[32];
        bool mine = strcmp(f->table, table) == 0, theirs = strcmp(f->ref_table, table) == 0;
        if (!mine && !theirs) continue;
        for (int c = 0; c < f->n_cols; c++) {
            cols[c] = column && mine && strcmp(f->cols[c], column) == 0 ? name : f->cols[c];
            ref_cols[c] = column && theirs && strcmp(f->ref_cols[c], column) == 0 ? name : f->ref_cols[c];
        }
        for (int c = 0; c < f->n_set_cols; c++)
            set_cols[c] = column && mine && strcmp(f->set_cols[c], column) == 0 ? name : f->set_cols[c];
        g.cols = cols;
        g.ref_cols = ref_cols;
        g.set_cols = set_cols;
        if (!column && mine) g.table = name;
        if (!column && theirs) g.ref_table = name;
        TRY(replace(s, f, &g)); /* the copy stands where f stood */
    }
    return ST_OK;
}

Status foreign_rename_constraint(Session *s, const Table *t, const char *name, const char *new_name, bool *found) {
    const Catalog *k = &s->db->catalog;
    for (int64_t i = 0; i < k->n_foreign; i++) {
        ForeignKey *f = k->foreign[i], g = *f;
        if (strcmp(f->table, t->name) != 0 || strcmp(f->name, name) != 0) continue;
        *found = true;
        g.name = (char *)(uintptr_t)new_name;
        return replace(s, f, &g);
    }
    return ST_OK;
}

static ForeignKey *find_named(const Session *s, const Table *t, const char *name) {
    const Catalog *k = &s->db->catalog;
    for (int64_t i = 0; i < k->n_foreign; i++)
        if (strcmp(k->foreign[i]->table, t->name) == 0 && strcmp(k->foreign[i]->name, name) == 0) return k->foreign[i];
    return NULL;
}
Status foreign_validate(Session *s, Statement *st, const Table *t, const char *name, bool *found) {
    ForeignKey *f = find_named(s, t, name);
    *found = f != NULL;
    if (!f || !f->not_valid) return ST_OK;
    ForeignKey g = *f;
    g.not_valid = false;
    TRY(foreign_check_all(s, st, f));
    return replace(s, f, &g);
}
Status foreign_alter(Session *s, const Table *t, const char *name, bool deferrable, bool deferred, bool *found) {
    ForeignKey *f = find_named(s, t, name);
    *found = f != NULL;
    if (!f || (f->deferrable == deferrable && f->deferred == deferred)) return ST_OK;
    ForeignKey g = *f;
    g.deferrable = deferrable;
    g.deferred = deferred;
    return replace(s, f, &g);
}

static bool is_truncated(const AstTruncate *x, const char *table) {
    for (int64_t i = 0; i < x->n_tables; i++)
        if (strcmp(x->tables[i].name, table) == 0) return true;
    return false;
}
Status foreign_truncate_cascade(Session *s, Arena *a, AstTruncate *x) {
    const Catalog *k = &s->db->catalog;
    AstName *all = arena_array(a, AstName, x->n_tables + k->n_foreign);
    if (!all) return ST_ERROR;
    memcpy(all, x->tables, (size_t)x->n_tables * sizeof *all);
    x->tables = all;
    for (int64_t i = 0; i < x->n_tables; i++) { /* those that come by it, too */
        for (int64_t j = 0; j < k->n_foreign; j++) {
            const ForeignKey *f = k->foreign[j];
            if (strcmp(f->ref_table, all[i].name) != 0 || is_truncated(x, f->table)) continue;
            session_notice_text(s, "NOTICE", "00000", "truncate cascades to table \"%s\"", f->table);
            all[x->n_tables++] = (AstName){.name = f->table, .location = -1};
        }
    }
    return ST_OK;
}
Status foreign_truncate(Session *s, const AstTruncate *x) {
    const Catalog *k = &s->db->catalog;
    for (int64_t i = 0; i < k->n_foreign; i++) {
        const ForeignKey *f = k->foreign[i];
        if (!is_truncated(x, f->ref_table) || is_truncated(x, f->table)) continue;
        err_set(&s->err, ERR_FEATURE_NOT_SUPPORTED, "cannot truncate a table referenced in a foreign key constraint");
        err_detail(&s->err, "Table \"%s\" references \"%s\".", f->table, f->ref_table);
        err_hint(&s->err, "Truncate table \"%s\" at the same time, or use TRUNCATE ... CASCADE.", f->table);
        return ST_ERROR;
    }
    return ST_OK;
}
