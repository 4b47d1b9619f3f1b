/* foreign.c - FOREIGN KEY: definition, checks, actions.
 *
 * Everything is checked when the statement ends, after its changes and all actions. New rows look their parents up in
 * the key's index. What lost its parent is found by a query over the referencing table (an anti-join: there is no index
 * on its side); before the statement there was none, so every orphan is due to it. Actions are ordinary statements on
 * the orphans, run one after the other from a list of changed tables, never one inside the other.
 */
#include <stdio.h>

#include "catalog/similar_names.h"
#include "session/core/changes.h"
#include "session/core/transaction.h"
#include "sql/bind/bind.h"
#include "sql/parse/parse.h"

enum { MAX_ACTIONS = 10000 };

/* ---- text -------------------------------------------------------------------------------- */

/* Per column: before, the column, between, the one it refers to (if ref), after; joined by sep. */
static char *each_col(Arena *a, const ForeignKey *f, const char *before, const char *between, const char *after,
                      bool ref, const char *sep) {
    char *t = arena_strdup(a, "");
    for (int i = 0; t && i < f->n_cols; i++)
        t = arena_printf(a, "%s%s%s%s%s%s%s", t, i ? sep : "", before, quote_name(a, f->cols[i]), between,
                         ref ? quote_name(a, f->ref_cols[i]) : "", after);
    return t;
}
/* "from <table> as c where c.a is not null and not exists (select 1 from <ref> as p where p.x = c.a)" */
static char *orphans(Arena *a, const ForeignKey *f) {
    char *set = each_col(a, f, "c.", " is not null", "", false, " and "),
         *same = each_col(a, f, "c.", " = p.", "", true, " and ");
    return set && same ? arena_printf(a, "where %s and not exists (select 1 from %s as p where %s)", set,
                                      quote_name(a, f->ref_table), same)
                       : NULL;
}
static char *names_of(Arena *a, int n, char *const *names) {
    char *t = arena_strdup(a, "");
    for (int i = 0; t && i < n; i++) t = arena_printf(a, "%s%s%s", t, i ? ", " : "", names[i]);
    return t;
}

/* ---- running ------------------------------------------------------------------------------- */

/* A row without parent as "(a, b)=(1, 2)" in *key, or NULL. */
static Status find_orphan(Session *s, Statement *st, const ForeignKey *f, bool by_parent, char **key) {
    Arena *a = st->run_arena;
    *key = NULL;
    char *cols = each_col(a, f, "c.", "::text", "", false, ", "), *where = orphans(a, f),
         *from = quote_name(a, f->table);
    char *sql = cols && where && from ? arena_printf(a, "select %s from %s as c %s limit 1", cols, from, where) : NULL;
    AstStmt **list;
    int64_t n;
    PlanCtx c;
    BoundStmt *b;
    RunOutput r;
    if (!sql) return err_oom(&s->err);
    plan_ctx_init(s, a, &c);
    TRY(sql_parse(a, slice_of(sql), &list, &n, &s->err));
    TRY(sql_bind(&c, list[0], 0, NULL, &b));
    TRY(session_run_plan(s, &c, b, b->n_result, b->result, &st->account, &r));
    Status out = ST_OK;
    if (rows_count(r.rows) > 0) {
        char *vals = arena_strdup(a, ""), *names = names_of(a, f->n_cols, by_parent ? f->ref_cols : f->cols);
        for (int32_t i = 0; out == ST_OK && vals && i < b->n_result; i++) {
            const void *cell;
            bool null;
            out = rows_cell(r.rows, 0, i, &cell, &null, &s->err);
            if (out != ST_OK) break;
            const Str v = null ? str_make("null", 4) : *(const Str *)cell;
            vals = arena_printf(a, "%s%s%.*s", vals, i ? ", " : "", (int)v.len, v.ptr);
        }
        if (out == ST_OK && vals && names) *key = arena_printf(a, "(%s)=(%s)", names, vals);
        if (out == ST_OK && !*key) out = err_oom(&s->err);
    }
    query_free(r.query);
    return out;
}

static Status check_children(Session *s, Statement *st, const ForeignKey *f) {
    char *key;
    TRY(find_orphan(s, st, f, false, &key));
    if (!key) return ST_OK;
    err_set(&s->err, ERR_FOREIGN_KEY_VIOLATION,
            "insert or update on table \"%s\" violates foreign key constraint \"%s\"", f->table, f->name);
    err_of_constraint(&s->err, f->table, f->name);
    err_detail(&s->err, "Key %s is not present in table \"%s\".", key, f->ref_table);
    return ST_ERROR;
}
static Status check_parents(Session *s, Statement *st, const ForeignKey *f) {
    char *key;
    TRY(find_orphan(s, st, f, true, &key));
    if (!key) return ST_OK;
    err_set(&s->err, ERR_FOREIGN_KEY_VIOLATION,
            "update or delete on table \"%s\" violates foreign key constraint \"%s\" on table \"%s\"", f->ref_table,
            f->name, f->table);
    err_of_constraint(&s->err, f->table, f->name);
    err_detail(&s->err, "Key %s is still referenced from table \"%s\".", key, f->table);
    return ST_ERROR;
}

Status foreign_check_table(Session *s, Statement *st, const Table *t) {
    const Catalog *k = &s->db->catalog;
    for (int64_t i = 0; i < k->n_foreign; i++)
        if (strcmp(k->foreign[i]->table, t->name) == 0) TRY(check_children(s, st, k->foreign[i]));
    return ST_OK;
}

static Status run_action(Session *s, Statement *st, const char *sql, int64_t *changed) {
    TRY(stack_check(&s->err));
    Arena *a = st->run_arena;
    AstStmt **list;
    int64_t n;
    PlanCtx c;
    BoundStmt *b;
    if (!sql) return err_oom(&s->err);
    plan_ctx_init(s, a, &c);
    TRY(sql_parse(a, slice_of(sql), &list, &n, &s->err));
    TRY(sql_bind(&c, list[0], 0, NULL, &b));
    Statement sub = {.session = s, .run_arena = a};
    mem_account_init(&sub.account, &st->account, "foreign key", 0, NULL);
    s->in_foreign = true;
    Status out = session_dml(s, &sub, &c, b);
    s->in_foreign = false;
    *changed = sub.affected;
    query_free(sub.query);
    return out;
}

/* ---- after a change ---------------------------------------------------------------------------- */

/* The key of `parent` that f refers to; its columns may stand in another order. */
static int parent_key(const Table *parent, const ForeignKey *f) {
    for (int k = 0; k < parent->n_keys; k++) {
        bool same = parent->keys[k].n_cols == f->n_cols;
        for (int j = 0; same && j < f->n_cols; j++) {
            bool found = false;
            for (int i = 0; i < f->n_cols; i++)
                found |= strcmp(parent->cols[parent->keys[k].cols[j]].name, f->ref_cols[i]) == 0;
            same = found;
        }
        if (same) return k;
    }
    return -1;
}

/* A cell as a value of the parent's column; false when no such value exists there. */
static bool as_parent(Phys from, const void *cell, Type to, Value *out) {
    *out = (Value){.type = to};
    Phys p = type_phys(to);
    if (from == p) {
        memcpy(value_cell(out), cell, (size_t)phys_size(p));
        return true;
    }
    int128_t v;
    int64_t narrow;
    if (from == PH_I128) memcpy(&v, cell, sizeof v);
    else if (cell_as_i64(from, cell, &narrow)) v = narrow;
    else return false;
    switch (p) {
    case PH_I16: out->u.i16 = (int16_t)v; return v == out->u.i16;
    case PH_I32: out->u.i32 = (int32_t)v; return v == out->u.i32;
    case PH_I64: out->u.i64 = (int64_t)v; return v == out->u.i64;
    case PH_I128: out->u.i128 = v; return true;
    default: return false;
    }
}

/* What a statement has written: n rows of its plan's store, or one row. */
typedef struct Written {
    StmtKind kind;
    RowStore *rows; /* NULL: */
    const Vec *vals;
    int32_t first; /* column of the first value: of the table's first column, or of set_cols[0] */
    const int64_t *map;
    int64_t n;
    int64_t n_inserted, n_deleted; /* MERGE: the first of the rows; rows that are gone */
} Written;
static Status written_cell(const Written *w, int64_t row, int32_t i, const void **cell, bool *null, Err *e) {
    if (w->rows) return rows_cell(w->rows, row, w->first + i, cell, null, e);
    *null = w->vals[i].valid && !w->vals[i].valid[0];
    *cell = w->vals[i].data;
    return ST_OK;
}
static Phys written_phys(const Written *w, int32_t i) {
    return (Phys)(w->rows ? rows_layout(w->rows)->cols[w->first + i].phys : w->vals[i].phys);
}

/* *missing: some of the rows may lack a parent. at: f's columns among the values. may_be_updated: rows of ON CONFLICT
 * DO UPDATE, with a row number in front. */
static Status look_up(Session *s, const ForeignKey *f, const Table *parent, const Written *w, const int32_t *at,
                      bool may_be_updated, bool *missing) {
    int k = parent_key(parent, f);
    *missing = k < 0;
    for (int64_t i = 0; i < w->n && !*missing; i++) {
        int64_t row = w->map ? w->map[i] : i;
        bool inserted = row < 0; /* although a row had its key */
        if (inserted) row = -1 - row;
        Value key[32];
        const void *cell;
        bool null = false, any_null = false, fits = true;
        if (may_be_updated) { /* rows that were updated are not what was proposed */
            TRY(rows_cell(w->rows, row, 0, &cell, &null, &s->err));
            if (!null && !inserted) continue;
        }
        for (int j = 0; j < f->n_cols && !any_null; j++) {
            const Column *col = &parent->cols[parent->keys[k].cols[j]];
            int c = 0;
            while (strcmp(f->ref_cols[c], col->name) != 0) c++;
            TRY(written_cell(w, row, at[c], &cell, &any_null, &s->err));
            if (!any_null) fits &= as_parent(written_phys(w, at[c]), cell, col->type, &key[j]);
        }
        *missing = !any_null && (!fits || table_lookup(parent, k, key) < 0);
        if (!any_null && fits)
            TRY(*missing ? transaction_reads_key(s, parent, k, key) : transaction_refers_to(s, parent, k, key));
    }
    return ST_OK;
}

/* Rows that the statement wrote into the referencing side. */
static Status check_written(Session *s, Statement *st, const BoundStmt *b, const ForeignKey *f, const Written *w) {
    const Table *t = b->table, *parent = catalog_table(&s->db->catalog, slice_of(f->ref_table));
    const bool insert = w->kind != STMT_UPDATE, some_set = !insert || (b->hit && w->rows);
    int32_t at[32];
    bool query = !parent, touched = insert;
    for (int i = 0; i < f->n_cols; i++) {
        int col = table_find_column(t, slice_of(f->cols[i]));
        at[i] = insert ? col : -1;
        for (int32_t j = 0; some_set && j < b->n_set; j++) {
            if (b->set_cols[j] != col) continue;
            touched = true;
            if (insert) query = true;
            else at[i] = j;
        }
    }
    if (!touched) return ST_OK;
    for (int i = 0; i < f->n_cols; i++) query |= at[i] < 0;
    bool missing = true;
    if (!query) TRY(look_up(s, f, parent, w, at, b->hit && w->rows, &missing));
    return missing ? check_children(s, st, f) : ST_OK;
}
/* One of the referencing columns is set. */
static bool sets_reference(const BoundStmt *b, const ForeignKey *f) {
    for (int c = 0; c < f->n_cols; c++)
        for (int32_t j = 0; j < b->n_set; j++)
            if (strcmp(b->table->cols[b->set_cols[j]].name, f->cols[c]) == 0) return true;
    return false;
}
static Status check_all_written(Session *s, Statement *st, const BoundStmt *b, const Written *w) {
    const Catalog *k = &s->db->catalog;
    for (int64_t i = 0; i < k->n_foreign; i++)
        if (strcmp(k->foreign[i]->table, b->table->name) == 0) {
            Written part = *w;
            if (b->merge && !sets_reference(b, k->foreign[i])) part.n = w->n_inserted;
            TRY(check_written(s, st, b, k->foreign[i], &part));
        }
    return ST_OK;
}

static bool may_orphan(const Catalog *k, const BoundStmt *b, bool deletes) {
    for (int64_t i = 0; i < k->n_foreign; i++) {
        const ForeignKey *f = k->foreign[i];
        if (strcmp(f->ref_table, b->table->name) != 0) continue;
        if (deletes) return true;
        for (int c = 0; c < f->n_cols; c++)
            for (int32_t j = 0; j < b->n_set; j++)
                if (strcmp(b->table->cols[b->set_cols[j]].name, f->ref_cols[c]) == 0) return true;
    }
    return false;
}

bool foreign_may_orphan(const Catalog *k, const BoundStmt *b) { return may_orphan(k, b, b->kind == STMT_DELETE); }

typedef struct Changed {
    const char *table;
    bool deleted;
} Changed;
typedef VEC(Changed) ChangedVec;

/* Of MERGE that has deleted rows and changed keys: orphans do not tell which of these they are due to. */
static Status check_actions(Session *s, const BoundStmt *b) {
    const Catalog *k = &s->db->catalog;
    for (int64_t i = 0; i < k->n_foreign; i++) {
        const ForeignKey *f = k->foreign[i];
        const bool acts = !strchr("ar", f->on_delete) || !strchr("ar", f->on_update);
        if (strcmp(f->ref_table, b->table->name) == 0 && acts && f->on_delete != f->on_update)
            return err_set(
                &s->err, ERR_FEATURE_NOT_SUPPORTED,
                "MERGE that deletes rows and sets columns that foreign key constraint \"%s\" refers to is not "
                "supported, since its ON DELETE and ON UPDATE differ",
                f->name);
    }
    return ST_OK;
}
/* The table, as what its rows may have left without a parent; none: they cannot have. */
static Status changed_first(Session *s, Arena *a, const BoundStmt *b, const Written *w, ChangedVec *list) {
    const Catalog *k = &s->db->catalog;
    const bool deletes = b->kind == STMT_DELETE || w->n_deleted > 0;
    const bool deleted = deletes && may_orphan(k, b, true), updated = w->n > w->n_inserted && may_orphan(k, b, false);
    if (b->merge && deleted && updated) TRY(check_actions(s, b));
    if (deleted && !vec_push(a, list, ((Changed){b->table->name, true}))) return ST_ERROR;
    return !updated || vec_push(a, list, ((Changed){b->table->name, false})) ? ST_OK : ST_ERROR;
}

/* foreign_after_change, for tables that have foreign keys. */
static Status after_change(Session *s, Statement *st, const BoundStmt *b, const Written *w) {
    const Catalog *k = &s->db->catalog;
    Arena *a = st->run_arena;
    if (s->in_foreign) return ST_OK;
    if (b->kind != STMT_DELETE) TRY(check_all_written(s, st, b, w));
    ChangedVec list = {0};
    TRY(changed_first(s, a, b, w, &list));
    if (list.len == 0) return ST_OK;
    const int64_t own = list.len;
    for (int64_t at = 0; at < list.len; at++) {
        const Changed g = list.items[at];
        for (int64_t i = 0; i < k->n_foreign; i++) {
            const ForeignKey *f = k->foreign[i];
            char action = g.deleted ? f->on_delete : f->on_update;
            if (strcmp(f->ref_table, g.table) != 0 || action == 'a' || action == 'r') continue;
            char *where = orphans(a, f), *table = quote_name(a, f->table), *sql = NULL;
            char *set = arena_strdup(a, "");
            for (int c = 0; set && c < f->n_cols; c++)
                set = arena_printf(a, "%s%s%s = %s", set, c ? ", " : "", quote_name(a, f->cols[c]),
                                   action == 'n' ? "null" : "default");
            if (where && table && set)
                sql = action == 'c' ? arena_printf(a, "delete from %s as c %s", table, where)
                                    : arena_printf(a, "update %s as c set %s %s", table, set, where);
            int64_t done = 0;
            TRY(run_action(s, st, sql, &done));
            if (done > 0 && !vec_push(a, &list, ((Changed){f->table, action == 'c'}))) return ST_ERROR;
            if (list.len > MAX_ACTIONS)
                return err_set(&s->err, ERR_PROGRAM_LIMIT, "more than %d actions of foreign keys in one statement",
                               (int)MAX_ACTIONS);
        }
    }
    for (int64_t i = 0; i < k->n_foreign; i++) {
        const ForeignKey *f = k->foreign[i];
        for (int64_t at = 0; at < list.len; at++)
            if (strcmp(f->ref_table, list.items[at].table) == 0) {
                TRY(check_parents(s, st, f));
                break;
            }
    }
    for (int64_t at = own; at < list.len; at++) /* what SET DEFAULT wrote */
        for (int64_t i = 0; i < k->n_foreign && !list.items[at].deleted; i++)
            if (strcmp(k->foreign[i]->table, list.items[at].table) == 0) TRY(check_children(s, st, k->foreign[i]));
    return ST_OK;
}

static Status after_rows(Session *s, Statement *st, const BoundStmt *b, const Written *w) {
    const bool keeps_read = s->block.keeps_read;
    s->block.keeps_read = true; /* what was found must still be so at COMMIT, at every level */
    Status done = after_change(s, st, b, w);
    s->block.keeps_read = keeps_read;
    return done;
}
Status foreign_after_change(Session *s, Statement *st, const BoundStmt *b, RowStore *rows, const int64_t *row_map,
                            int64_t n, int64_t changed) {
    if (s->db->catalog.n_foreign == 0 || changed == 0) return ST_OK;
    const Written w = {
        .kind = b->kind, .rows = rows, .first = b->kind == STMT_UPDATE || b->hit, .map = row_map, .n = n};
    return after_rows(s, st, b, &w);
}
Status foreign_after_merge(Session *s, Statement *st, const Change *x) {
    if (s->db->catalog.n_foreign == 0 || x->done == 0) return ST_OK;
    const Written w = {.kind = STMT_MERGE,
                       .rows = x->rows,
                       .first = 2,
                       .map = x->map,
                       .n = x->n_inserted + x->n_updated,
                       .n_inserted = x->n_inserted,
                       .n_deleted = x->n_deleted};
    return after_rows(s, st, x->b, &w);
}

Status foreign_after_row(Session *s, Statement *st, const BoundStmt *b, StmtKind kind, const Vec *vals) {
    if (s->db->catalog.n_foreign == 0 || kind == STMT_DELETE) return ST_OK;
    const Written w = {.kind = kind, .vals = vals, .n = 1};
    const bool keeps_read = s->block.keeps_read;
    s->block.keeps_read = true;
    Status done = check_all_written(s, st, b, &w);
    s->block.keeps_read = keeps_read;
    return done;
}

/* ---- definitions -------------------------------------------------------------------------------- */

static bool comparable(Type a, Type b) {
    bool text_a = a.id == T_TEXT || a.id == T_VARCHAR, text_b = b.id == T_TEXT || b.id == T_VARCHAR;
    if (type_is_integer(a) && type_is_integer(b)) return true;
    if (text_a || text_b) return text_a && text_b;
    return a.id == b.id && (a.id != T_NUMERIC || a.scale == b.scale) && (!type_needs_key(a) || a.flags == b.flags);
}

static bool name_taken(const Session *s, const Table *t, const char *name) {
    const Catalog *k = &s->db->catalog;
    bool taken = false;
    for (int i = 0; i < t->n_keys; i++) taken |= strcmp(t->keys[i].name, name) == 0;
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
               updates = f->on_update == 'n' || f->on_update == 'd';
    for (int i = 0; i < f->n_cols && (deletes || updates); i++)
        if (t->cols[table_find_column(t, slice_of(f->cols[i]))].kind == COLUMN_GENERATED)
            return err_at(&s->err, location, ERR_SYNTAX,
                          "invalid %s action for foreign key constraint containing generated column",
                          updates ? "ON UPDATE" : "ON DELETE");
    return ST_OK;
}

Status foreign_define(Session *s, Statement *st, const Table *t, const AstConstraint *k, const char *column) {
    Arena *a = st->run_arena;
    TRY(session_check_schema(s, &k->ref_table));
    const Table *p = catalog_table(&s->db->catalog, slice_of(k->ref_table.name));
    const bool matview = p && catalog_matview(&s->db->catalog, slice_of(p->name));
    if (matview || (!p && catalog_view(&s->db->catalog, slice_of(k->ref_table.name))))
        return err_at(&s->err, k->ref_table.location, ERR_WRONG_OBJECT_TYPE,
                      "referenced relation \"%s\" is not a table", k->ref_table.name);
    if (!p) return catalog_no_relation(&s->db->catalog, k->ref_table.name, k->ref_table.location, &s->err);
    int n = column ? 1 : (int)k->n_columns;
    if (n > 32)
        return err_at(&s->err, k->location, ERR_TOO_MANY_COLUMNS, "cannot have more than 32 keys in a foreign key");
    ForeignKey f = {.name = (char *)(uintptr_t)k->name,
                    .table = t->name,
                    .ref_table = p->name,
                    .n_cols = n,
                    .on_delete = k->on_delete ? k->on_delete : 'a',
                    .on_update = k->on_update ? k->on_update : 'a'};
    f.cols = arena_array(a, char *, n + 1);
    f.ref_cols = arena_array(a, char *, n + 1);
    if (!f.cols || !f.ref_cols) return ST_ERROR;
    if (f.on_update == 'c')
        return err_at(&s->err, k->location, ERR_FEATURE_NOT_SUPPORTED, "ON UPDATE CASCADE is not supported");
    for (int i = 0; i < n; i++) {
        f.cols[i] = (char *)(uintptr_t)(column ? column : k->columns[i]);
        if (table_find_column(t, slice_of(f.cols[i])) < 0)
            return err_at(&s->err, k->location, ERR_UNDEFINED_COLUMN,
                          "column \"%s\" referenced in foreign key constraint does not exist", f.cols[i]);
    }
    TRY(check_generated(s, &f, t, k->location));
    if (k->n_ref_columns && k->n_ref_columns != n)
        return err_at(&s->err, k->location, ERR_INVALID_FOREIGN_KEY,
                      "number of referencing and referenced columns for foreign key disagree");
    const KeyConstraint *primary = NULL;
    for (int i = 0; i < p->n_keys; i++)
        if (p->keys[i].primary) primary = &p->keys[i];
    if (!k->n_ref_columns && !primary)
        return err_at(&s->err, k->location, ERR_UNDEFINED_OBJECT, "there is no primary key for referenced table \"%s\"",
                      p->name);
    if (!k->n_ref_columns && primary->n_cols != n)
        return err_at(&s->err, k->location, ERR_INVALID_FOREIGN_KEY,
                      "number of referencing and referenced columns for foreign key disagree");
    for (int i = 0; i < n; i++) {
        f.ref_cols[i] = k->n_ref_columns ? (char *)(uintptr_t)k->ref_columns[i] : p->cols[primary->cols[i]].name;
        if (table_find_column(p, slice_of(f.ref_cols[i])) < 0)
            return err_at(&s->err, k->location, ERR_UNDEFINED_COLUMN,
                          "column \"%s\" referenced in foreign key constraint does not exist", f.ref_cols[i]);
    }
    if (parent_key(p, &f) < 0)
        return err_at(&s->err, k->location, ERR_INVALID_FOREIGN_KEY,
                      "there is no unique constraint matching given keys for referenced table \"%s\"", p->name);
    char *base = arena_strdup(a, t->name);
    for (int i = 0; base && i < n; i++) base = arena_printf(a, "%s_%s", base, f.cols[i]);
    if (!base) return err_oom(&s->err);
    if (f.name && name_taken(s, t, f.name))
        return err_at(&s->err, k->location, ERR_DUPLICATE_OBJECT,
                      "constraint \"%s\" for relation \"%s\" already exists", f.name, t->name);
    for (int again = 0; !f.name || (!k->name && name_taken(s, t, f.name)); again++) {
        f.name = again ? arena_printf(a, "%s_fkey%d", base, again) : arena_printf(a, "%s_fkey", base);
        if (!f.name) return err_oom(&s->err);
    }
    TRY(check_types(s, &f, t, p, k->location));
    TRY(check_children(s, st, &f));
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
    return strcmp(f->ref_table, t->name) == 0 && parent_key(t, f) == key;
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
        char *cols[32], *ref_cols[32];
        bool mine = strcmp(f->table, table) == 0, theirs = strcmp(f->ref_table, table) == 0;
        if (!mine && !theirs) continue;
        for (int c = 0; c < f->n_cols; c++) {
            cols[c] = column && mine && strcmp(f->cols[c], column) == 0 ? name : f->cols[c];
            ref_cols[c] = column && theirs && strcmp(f->ref_cols[c], column) == 0 ? name : f->ref_cols[c];
        }
        g.cols = cols;
        g.ref_cols = ref_cols;
        if (!column && mine) g.table = name;
        if (!column && theirs) g.ref_table = name;
        TRY(replace(s, f, &g)); /* the copy stands behind all that are still to come */
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

Status foreign_truncate(Session *s, const AstTruncate *x) {
    const Catalog *k = &s->db->catalog;
    for (int64_t i = 0; i < k->n_foreign; i++) {
        const ForeignKey *f = k->foreign[i];
        bool parent = false, child = false;
        for (int64_t j = 0; j < x->n_tables; j++) {
            parent |= strcmp(x->tables[j].name, f->ref_table) == 0;
            child |= strcmp(x->tables[j].name, f->table) == 0;
        }
        if (!parent || child) continue;
        err_set(&s->err, ERR_FEATURE_NOT_SUPPORTED, "cannot truncate a table referenced in a foreign key constraint");
        err_detail(&s->err, "Table \"%s\" references \"%s\".", f->table, f->ref_table);
        err_hint(&s->err, "Truncate table \"%s\" at the same time.", f->table);
        return ST_ERROR;
    }
    return ST_OK;
}
