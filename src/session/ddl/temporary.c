/* temporary.c - a session's temporary schema; ON COMMIT.
 *
 * The schema is no part of a transaction: once made it stays to the end of the session, whatever is rolled back. What
 * is in it is as everywhere.
 *
 * A session ends by dropping all of it in a statement of its own. When that cannot have the database lock soon, or has
 * no memory, the schema stays behind without a session: no name means anything in it, it is not saved, and the next
 * session that ends drops it.
 */
#include "catalog/names.h"
#include "session/ddl/depend.h"
#include "session/ddl/utility_int.h"
#include "storage/undo_edits.h"

/* ---- the schema ---- */
Status session_make_temp_schema(Session *s) {
    if (s->path.temp.made) return ST_OK;
    dbg_assert(s->lock == LOCK_EXCLUSIVE);
    TempSchema *left = mem_calloc(&s->db->account, (int64_t)sizeof *left, &s->err);
    Schema *x = left ? schema_new(&(Schema){.name = s->path.temp.name}, &s->err) : NULL;
    if (!x || catalog_add_schema(&s->db->catalog, x, &s->err) != ST_OK) {
        schema_free(x);
        mem_free(&s->db->account, left, (int64_t)sizeof *left);
        return ST_ERROR;
    }
    s->path.temp.made = true;
    *left = s->path.temp;
    s->path.left = left;
    return ST_OK;
}

static Status empty(Session *s, const char *schema) {
    Statement st = {.session = s};
    mem_account_init(&st.account, &s->account, "temporary objects", 0, NULL);
    if (!(st.run_arena = arena_new(&st.account, &s->err))) return ST_ERROR;
    arena_set_err(st.run_arena, &s->err);
    Status done = schema_empty(s, &st, schema);
    if (done == ST_OK) done = parts_sweep(s);
    arena_free(st.run_arena);
    return done;
}
Status session_drop_temp(Session *s) {
    if (!s->path.temp.made) return ST_OK;
    TRY(session_begin_write(s));
    return empty(s, s->path.temp.name);
}

/* ---- the end of a session ---- */
static void leave(Database *db, TempSchema *x) {
    x->next = atomic_load(&db->temps);
    while (!atomic_compare_exchange_weak(&db->temps, &x->next, x)) {}
}
/* Under the lock held alone: the schema, which is empty, is no part of the catalog any more. */
static void forget(Session *s, const char *schema) {
    Schema *x = catalog_schema(&s->db->catalog, schema);
    if (!x) return;
    catalog_remove_schema(&s->db->catalog, x);
    database_unpublish(s->db); /* it would keep the tables */
    schema_retire(s->db->epochs, x);
}
static Status end_schema(Session *s, const char *schema) {
    Status st = session_begin_write(s);
    if (st == ST_OK) st = empty(s, schema);
    if (st == ST_OK) forget(s, schema);
    return session_end_statement(s, st);
}
/* Those of sessions that could not. */
static void end_left(Session *s) {
    Database *db = s->db;
    TempSchema *all = atomic_exchange(&db->temps, NULL);
    while (all) {
        TempSchema *x = all;
        all = x->next;
        const TempSchema *own = temp_schema_use(x); /* texts name it */
        const Status st = end_schema(s, x->name);
        (void)temp_schema_use(own);
        if (st == ST_OK) mem_free(&db->account, x, (int64_t)sizeof *x);
        else leave(db, x);
    }
}
void session_end_temp(Session *s) {
    enum { WAIT_MS = 100 };
    Database *db = s->db;
    TempSchema *x = s->path.left;
    if (!x && !atomic_load(&db->temps)) return;
    s->settings.txn.lock_timeout_ms = WAIT_MS;
    s->settings.txn.default_read_only = false;
    atomic_store(&s->cancel, false);
    if (x) leave(db, x);
    end_left(s);
    err_clear(&s->err);
    s->path.temp.made = false;
    s->path.left = NULL;
}

/* ---- ON COMMIT ---- */
static bool is_own(const Session *s, const Table *t) { return key_is_in(t->name, s->path.temp.name); }
/* What refers to a table that loses its rows loses its own, too. */
static Status same_on_commit(Session *s, const Table *t) {
    const Catalog *k = &s->db->catalog;
    for (int64_t i = 0; i < k->n_foreign; i++) {
        const ForeignKey *f = k->foreign[i];
        if (strcmp(f->ref_table, t->name) != 0) continue;
        const Table *child = catalog_table(k, slice_of(f->table));
        if (!child || child->on_commit == t->on_commit) continue;
        err_set(&s->err, ERR_FEATURE_NOT_SUPPORTED, "unsupported ON COMMIT and foreign key combination");
        err_detail(&s->err, "Table \"%s\" references \"%s\", but they do not have the same ON COMMIT setting.",
                   f->table, t->name);
        return ST_ERROR;
    }
    return ST_OK;
}
static Status drop_at_commit(Session *s, const Table *t) {
    Statement st = {.session = s};
    AstName name = {.name = t->name};
    const AstDrop x = {.kind = AST_DROP,
                       .object = AST_OBJ_TABLE,
                       .object_name = "TABLE",
                       .names = &name,
                       .n_names = 1,
                       .cascade = true};
    mem_account_init(&st.account, &s->account, "ON COMMIT DROP", 0, NULL);
    if (!(st.run_arena = arena_new(&st.account, &s->err))) return ST_ERROR;
    Status done = drop_statement(s, &st, &x);
    if (done == ST_OK) done = parts_sweep(s);
    arena_free(st.run_arena);
    return done;
}
Status session_tables_at_commit(Session *s) {
    const Catalog *k = &s->db->catalog;
    if (!s->path.temp.made || s->lock != LOCK_EXCLUSIVE) return ST_OK; /* nothing of it has changed */
    if (!s->catalog_undo && (!s->undo || !undo_names_on_commit(s->undo))) return ST_OK;
    for (int64_t i = 0; i < k->n_tables; i++) {
        Table *t = k->tables[i];
        if (t->on_commit != 'd' || !is_own(s, t) || (t->live_rows == 0 && !s->catalog_undo)) continue;
        TRY(same_on_commit(s, t));
        if (t->live_rows > 0) TRY(session_begin_write(s));
        if (t->live_rows > 0) TRY(table_truncate(t, s->undo, &s->err));
    }
    for (int64_t i = 0; s->catalog_undo && i < k->n_tables;) {
        const Table *t = k->tables[i];
        const bool goes = t->on_commit == 'x' && is_own(s, t);
        if (goes) TRY(drop_at_commit(s, t));
        i = goes ? 0 : i + 1; /* others may have gone with it */
    }
    return ST_OK;
}
