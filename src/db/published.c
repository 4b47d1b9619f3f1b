/* published.c - see published.h. */
#include "db/published.h"

#include "base/log.h"

static void version_free(EpochNode *n) {
    DatabaseVersion *v = (DatabaseVersion *)(void *)n;
    mem_free(v->account, v, v->bytes);
}

/* ---- reading ---- */
/* The current version. The pin is open: it protects a version that a boundary under way has just installed, too. */
static const DatabaseVersion *pin(Database *db, EpochSlot *slot, const char *label, int64_t since_ns) {
    epoch_pin(slot, label, since_ns);
    return atomic_load_explicit(&db->published, memory_order_acquire);
}
const DatabaseVersion *database_read_begin(Database *db, EpochSlot *slot, const char *label, int64_t since_ns) {
    if (!atomic_load_explicit(&db->published, memory_order_relaxed)) return NULL;
    const DatabaseVersion *v = pin(db, slot, label, since_ns);
    if (v && atomic_load(&v->changes) == txn_lock_changes(db->txn_lock)) return v;
    database_read_end(db, slot);
    return NULL;
}
/* All that was committed at some time is in it. */
static void note_fresh(Database *db, DatabaseVersion *v, int64_t ns) {
    if (atomic_load(&v->fresh_ns) < ns) atomic_store(&v->fresh_ns, ns);
    atomic_store(&db->published_fresh_ns, atomic_load(&v->fresh_ns));
}
const DatabaseVersion *database_read_older(Database *db, EpochSlot *slot, const char *label, int64_t now_ns,
                                           int64_t fresh_ns) {
    enum { NOTE_NS = 1000000 }; /* so often is enough for the note, which others read */
    if (!atomic_load_explicit(&db->published, memory_order_relaxed)) return NULL;
    epoch_pin(slot, label, now_ns);
    DatabaseVersion *v = atomic_load_explicit(&db->published, memory_order_acquire);
    const bool current = v && atomic_load(&v->changes) == txn_lock_changes(db->txn_lock);
    const bool known = v && v->catalog.version == atomic_load(&db->committed_definitions);
    if (current && now_ns - atomic_load(&v->fresh_ns) > NOTE_NS) note_fresh(db, v, now_ns);
    if (current || (known && atomic_load(&v->fresh_ns) >= fresh_ns)) return v;
    database_read_end(db, slot);
    return NULL;
}
bool database_is_published_since(Database *db, int64_t fresh_ns) {
    return atomic_load(&db->published_fresh_ns) >= fresh_ns;
}
bool database_is_published(Database *db, bool in_block) {
    return atomic_load(&db->published_changes) == txn_lock_changes(db->txn_lock) &&
           (!in_block || atomic_load(&db->published_commits) == atomic_load(&txn_lock_hub(db->txn_lock)->commits));
}
const DatabaseVersion *database_definitions_begin(Database *db, EpochSlot *slot, const char *label, int64_t since_ns) {
    if (!atomic_load_explicit(&db->published, memory_order_relaxed)) return NULL;
    const DatabaseVersion *v = pin(db, slot, label, since_ns);
    if (v && v->catalog.version == atomic_load(&db->committed_definitions)) return v;
    database_read_end(db, slot);
    return NULL;
}
void database_read_end(Database *db, EpochSlot *slot) {
    if (epoch_unpin(slot)) (void)epoch_reclaim(db->epochs, EPOCH_BATCH);
}

void database_definitions_committed(Database *db) {
    atomic_store(&db->committed_definitions, atomic_load(&db->catalog.version));
}

/* ---- publishing ---- */
typedef struct Prepared {
    int64_t n;
    TableVersion **versions; /* of tables that have changed */
    VersionCost copied;
} Prepared;

static int64_t pointers(int64_t n) { return n * (int64_t)sizeof(void *); }

/* Everything but the tables. */
static DatabaseVersion *version_new(Database *db, Err *e) {
    const Catalog *c = &db->catalog;
    int64_t n = c->n_tables + c->n_views + c->n_foreign + c->n_routines + c->n_domains + c->n_sequences +
                c->n_index_defs + c->n_comments + c->n_roles + c->n_privileges + c->n_schemas + c->row_security.n;
    int64_t bytes = (int64_t)sizeof(DatabaseVersion) + pointers(n);
    DatabaseVersion *v = mem_calloc(&db->parts[DB_VERSIONS], bytes, e);
    if (!v) return NULL;
    v->account = &db->parts[DB_VERSIONS];
    void **at = (void **)(void *)(v + 1);
    v->bytes = bytes;
    v->catalog.version = atomic_load(&c->version);
    v->catalog.next_id = c->next_id;
    v->catalog.functions = c->functions;
    v->catalog.names = c->names;
    v->catalog.instances = c->instances;
    v->catalog.enums = c->enums;
    v->catalog.rows = c->rows;
    v->catalog.ranges = c->ranges;
    v->catalog.tables = (Table **)(void *)at;
    v->catalog.views = (View **)(void *)(at += c->n_tables);
    v->catalog.foreign = (ForeignKey **)(void *)(at += c->n_views);
    v->catalog.routines = (Routine **)(void *)(at += c->n_foreign);
    v->catalog.domains = (Domain **)(void *)(at += c->n_routines);
    v->catalog.sequences = (Sequence **)(void *)(at += c->n_domains);
    v->catalog.index_defs = (IndexDef **)(void *)(at += c->n_sequences);
    v->catalog.comments = (Comment **)(void *)(at += c->n_index_defs);
    v->catalog.roles = (Role **)(void *)(at += c->n_comments);
    v->catalog.privileges = (Privileges **)(void *)(at += c->n_roles);
    v->catalog.schemas = (Schema **)(void *)(at += c->n_privileges);
    v->catalog.row_security.items = (RowSecurity **)(void *)(at + c->n_schemas);
    v->catalog.n_tables = c->n_tables;
    v->catalog.n_views = c->n_views;
    v->catalog.n_foreign = c->n_foreign;
    memcpy(v->catalog.foreign_tables, c->foreign_tables, sizeof c->foreign_tables);
    v->catalog.n_routines = c->n_routines;
    v->catalog.n_domains = c->n_domains;
    v->catalog.n_sequences = c->n_sequences;
    v->catalog.n_index_defs = c->n_index_defs;
    v->catalog.n_comments = c->n_comments;
    v->catalog.n_roles = c->n_roles;
    v->catalog.n_privileges = c->n_privileges;
    v->catalog.n_schemas = c->n_schemas;
    v->catalog.row_security.n = c->row_security.n;
    if (c->n_views) memcpy(v->catalog.views, c->views, (size_t)pointers(c->n_views));
    if (c->n_foreign) memcpy(v->catalog.foreign, c->foreign, (size_t)pointers(c->n_foreign));
    if (c->n_routines) memcpy(v->catalog.routines, c->routines, (size_t)pointers(c->n_routines));
    if (c->n_domains) memcpy(v->catalog.domains, c->domains, (size_t)pointers(c->n_domains));
    if (c->n_sequences) memcpy(v->catalog.sequences, c->sequences, (size_t)pointers(c->n_sequences));
    if (c->n_index_defs) memcpy(v->catalog.index_defs, c->index_defs, (size_t)pointers(c->n_index_defs));
    if (c->n_comments) memcpy(v->catalog.comments, c->comments, (size_t)pointers(c->n_comments));
    if (c->n_roles) memcpy(v->catalog.roles, c->roles, (size_t)pointers(c->n_roles));
    if (c->n_privileges) memcpy(v->catalog.privileges, c->privileges, (size_t)pointers(c->n_privileges));
    if (c->row_security.n)
        memcpy(v->catalog.row_security.items, c->row_security.items, (size_t)pointers(c->row_security.n));
    if (c->n_schemas) memcpy(v->catalog.schemas, c->schemas, (size_t)pointers(c->n_schemas));
    return v;
}

/* The table's version as it is, or a new one. *done false: there can be none now. */
static Status table_publish(Database *db, Table *t, Prepared *p, const Table **view, bool *done, Err *e) {
    const Table *current = table_version_current(t);
    *done = true;
    *view = current;
    if (current && current->version == t->version) return ST_OK;
    if (!table_is_committed(t)) {
        *done = current && current->content == t->content;
        return ST_OK;
    }
    TRY(table_versions_enable(t, db->epochs, e));
    TRY(table_version_prepare(t, &p->versions[p->n], e));
    VersionCost cost = table_version_cost(p->versions[p->n]);
    p->copied.bytes += cost.bytes;
    p->copied.home_bytes += cost.home_bytes;
    *view = table_version_view(p->versions[p->n++]);
    return ST_OK;
}

/* The published version is of this state, with the same objects. */
static bool is_same(const DatabaseVersion *old, const DatabaseVersion *v) {
    const Catalog *a = &old->catalog, *b = &v->catalog;
    return a->version == b->version && a->n_tables == b->n_tables &&
           memcmp(a->tables, b->tables, (size_t)pointers(b->n_tables)) == 0;
}

static void retire(Database *db, DatabaseVersion *v) { epoch_retire(db->epochs, &v->node, v->bytes, version_free); }

static void install(Database *db, DatabaseVersion *v, const Prepared *p) {
    uint64_t epoch = epoch_boundary_begin(db->epochs);
    v->node.birth = epoch;
    table_versions_install_at(db->epochs, epoch, p->n, p->versions);
    DatabaseVersion *old = atomic_exchange_explicit(&db->published, v, memory_order_acq_rel);
    if (old) retire(db, old);
    epoch_boundary_end(db->epochs);
    atomic_store(&db->published_commits, atomic_load(&v->commits));
    atomic_store(&db->published_changes, atomic_load(&v->changes));
    atomic_store(&db->published_fresh_ns, atomic_load(&v->fresh_ns));
    (void)epoch_reclaim(db->epochs, MAX_OF((int64_t)EPOCH_BATCH, 2 * p->n + 2));
}

static Status publish(Database *db, bool *done, VersionCost *copied, Err *e) {
    uint64_t changes = txn_lock_changes(db->txn_lock), commits = atomic_load(&txn_lock_hub(db->txn_lock)->commits);
    const int64_t now_ns = clock_ns(); /* the lock is held: nothing is committed meanwhile */
    DatabaseVersion *old = atomic_load(&db->published);
    if (old && atomic_load(&old->changes) == changes) return note_fresh(db, old, now_ns), ST_OK;
    const Catalog *c = &db->catalog;
    DatabaseVersion *v = version_new(db, e);
    Prepared p = {.versions = mem_calloc(NULL, pointers(c->n_tables + 1), e)};
    Status st = v && p.versions ? ST_OK : ST_ERROR;
    for (int64_t i = 0; i < c->n_tables && st == ST_OK && *done; i++) {
        const Table *view = NULL;
        st = table_publish(db, c->tables[i], &p, &view, done, e);
        v->catalog.tables[i] = (Table *)(uintptr_t)view; /* read only, as the whole version */
    }
    if (st == ST_OK) database_definitions_committed(db);
    bool use = st == ST_OK && *done, same = use && p.n == 0 && old && is_same(old, v);
    if (same) {
        atomic_store(&old->commits, commits);
        atomic_store(&old->changes, changes);
        atomic_store(&db->published_commits, commits);
        atomic_store(&db->published_changes, changes);
        note_fresh(db, old, now_ns);
    } else if (use) {
        atomic_init(&v->commits, commits);
        atomic_init(&v->changes, changes);
        atomic_init(&v->fresh_ns, now_ns);
        install(db, v, &p);
    } else {
        for (int64_t i = 0; i < p.n; i++) table_version_discard(p.versions[i]);
    }
    *copied = p.copied;
    if (v && (same || !use)) mem_free(v->account, v, v->bytes);
    mem_free(NULL, p.versions, pointers(c->n_tables + 1));
    return st;
}
Status database_publish(Database *db, bool *done, PublishCost *cost, Err *e) {
    int64_t began = clock_ns();
    *done = true;
    *cost = (PublishCost){0};
    mutex_lock(&db->publishing);
    Status st = publish(db, done, &cost->copied, e);
    mutex_unlock(&db->publishing);
    cost->ns = clock_ns() - began;
    if (st == ST_OK && *done) txn_lock_wake(db->txn_lock); /* for readers that wait */
    return st;
}

/* Versions of single tables are about to be installed: none of the whole database that has older ones may be current.
 */
static void unpublish_whole(Database *db) {
    atomic_store(&db->published_changes, UINT64_MAX);
    atomic_store(&db->published_fresh_ns, 0);
    DatabaseVersion *old = atomic_exchange_explicit(&db->published, NULL, memory_order_acq_rel);
    if (old) retire(db, old);
}
static Status table_versions(Database *db, Catalog *c, const Table **views, Prepared *p, bool *done, Err *e) {
    for (int64_t i = 0; i < c->n_tables && *done; i++)
        if (c->tables[i] == db->catalog.tables[i]) TRY(table_publish(db, c->tables[i], p, &views[i], done, e));
    return ST_OK;
}
static void install_tables(Database *db, const Prepared *p) {
    if (p->n == 0) return;
    uint64_t epoch = epoch_boundary_begin(db->epochs);
    unpublish_whole(db);
    table_versions_install_at(db->epochs, epoch, p->n, p->versions);
    epoch_boundary_end(db->epochs);
    (void)epoch_reclaim(db->epochs, MAX_OF((int64_t)EPOCH_BATCH, 2 * p->n + 2));
}
Status database_table_versions(Database *db, Catalog *c, bool *done, PublishCost *cost, Err *e) {
    int64_t began = clock_ns(), bytes = pointers(c->n_tables + 1);
    const Table **views = mem_calloc(NULL, bytes, e);
    Prepared p = {.versions = mem_calloc(NULL, bytes, e)};
    *done = true;
    *cost = (PublishCost){0};
    mutex_lock(&db->publishing);
    Status st = views && p.versions ? table_versions(db, c, views, &p, done, e) : ST_ERROR;
    if (st == ST_OK && *done) {
        install_tables(db, &p);
        for (int64_t i = 0; i < c->n_tables; i++)
            if (views[i]) c->tables[i] = (Table *)(uintptr_t)views[i]; /* read only, as published ones */
    } else {
        for (int64_t i = 0; i < p.n; i++) table_version_discard(p.versions[i]);
    }
    mutex_unlock(&db->publishing);
    mem_free(NULL, views, bytes);
    mem_free(NULL, p.versions, bytes);
    *cost = (PublishCost){.ns = clock_ns() - began, .copied = p.copied};
    return st;
}

void database_unpublish_objects(Database *db) {
    if (!atomic_load_explicit(&db->published, memory_order_relaxed)) return;
    mutex_lock(&db->publishing);
    (void)epoch_boundary_begin(db->epochs);
    unpublish_whole(db);
    epoch_boundary_end(db->epochs);
    mutex_unlock(&db->publishing);
    (void)epoch_reclaim(db->epochs, EPOCH_BATCH);
}
void database_unpublish(Database *db) {
    if (!atomic_load_explicit(&db->published, memory_order_relaxed)) return;
    mutex_lock(&db->publishing);
    (void)epoch_boundary_begin(db->epochs);
    unpublish_whole(db);
    for (int64_t i = 0; i < db->catalog.n_tables; i++) table_versions_unpublish(db->catalog.tables[i]);
    epoch_boundary_end(db->epochs);
    mutex_unlock(&db->publishing);
    (void)epoch_reclaim(db->epochs, MAX_OF((int64_t)EPOCH_BATCH, 2 * db->catalog.n_tables + 2));
}
