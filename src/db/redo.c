/* redo.c - see redo.h. */
#include "db/redo.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/log.h"
#include "db/catalog_file.h"
#include "db/redo_parts.h"
#include "storage/redo.h"
#include "storage/table_file.h"
#include "storage/undo_edits.h"
#include "types/lsn.h"

typedef struct Redo Redo;
struct Redo {
    RedoLog *log;
    char *dir;             /* of its generation */
    char *next_dir;        /* while the next one is being saved */
    int64_t next_id;       /* of the catalog that was written last: tables with other ids are new */
    int64_t file_bytes;    /* of files that the log names; under the database lock */
    _Atomic int64_t since; /* raised when sequences have to say again which numbers they may give */
};

static char *copy_text(const char *s, Err *e) {
    const int64_t n = (int64_t)strlen(s) + 1;
    char *p = mem_alloc(NULL, n, e);
    if (p) memcpy(p, s, (size_t)n);
    return p;
}
static void free_text(char *s) {
    if (s) mem_free(NULL, s, (int64_t)strlen(s) + 1);
}

/* The catalog is in a file: its sequences say from here on which numbers they give. */
static void sequences_based(Redo *r, const Catalog *c) {
    for (int64_t i = 0; i < c->n_sequences; i++) c->sequences[i]->state->is_committed = true;
    r->next_id = c->next_id;
    atomic_fetch_add(&r->since, 1);
}
/* Catalog and tables are as they were saved or loaded: row numbers of the log go on from there. */
static void redo_based(Database *db) {
    sequences_based(db->redo, &db->catalog);
    for (int64_t i = 0; i < db->catalog.n_tables; i++) {
        Table *t = db->catalog.tables[i];
        t->logged = table_generation(t) + 1;
    }
}

/* ---- commits ---- */
typedef struct Commit {
    Database *db;
    Arena *a;
    BytesOut out;
    int64_t lsn; /* of the record: names of files */
    bool files;
    Err *e;
} Commit;

static char *file_path(const Commit *c, const char *name) {
    return arena_printf(c->a, "%s/%s", c->db->redo->dir, name);
}
/* The file is part of the log: its name and seal. */
static Status put_file(Commit *c, RedoKind kind, int64_t id, const char *name, const char *path) {
    int64_t bytes = 0, seal;
    TRY(redo_read_seal(c->db->vfs, path, kind, &bytes, &seal, c->e));
    c->db->redo->file_bytes += bytes;
    c->files = true;
    redo_put_file(&c->out, kind, id, name, seal);
    return ST_OK;
}
static Status put_catalog(Commit *c) {
    Database *db = c->db;
    char *name = arena_printf(c->a, "%" PRIx64 ".catalog", (uint64_t)c->lsn);
    char *path = name ? file_path(c, name) : NULL;
    if (!path) return ST_ERROR;
    TRY(catalog_file_save(&db->catalog, db->vfs, path, &db->account, c->e));
    return put_file(c, REDO_CATALOG, 0, name, path);
}
static Status put_table(Commit *c, const Table *t) {
    Database *db = c->db;
    char *name = arena_printf(c->a, "%" PRIx64 "-%" PRId64 ".tab", (uint64_t)c->lsn, t->id);
    char *path = name ? file_path(c, name) : NULL;
    if (!path) return ST_ERROR;
    TRY(table_file_save(t, db->vfs, path, &db->account, c->e));
    return put_file(c, REDO_TABLE, t->id, name, path);
}
static Status put_rows(Commit *c, const NetChange *x) {
    BytesOut rows = {.acct = c->out.acct, .e = c->e};
    const Status st = redo_put(x, c->a, &rows, c->e);
    redo_put_rows(&c->out, x->id, &rows);
    bytes_out_release(&rows);
    return st;
}
static bool is_based(const Table *t) { return t->logged == table_generation(t) + 1; }
/* So much of the table has changed that it is written whole. */
static bool is_rewritten(const NetChange *x) {
    enum { LEAST = 65536 };
    const int64_t n = redo_rows(x);
    return n > LEAST && n > x->table->live_rows / 2;
}
static bool is_in_catalog(const Catalog *c, const Table *t) { return catalog_table(c, slice_of(t->name)) == t; }
/* Tables written whole are marked when the record is in the log. */
typedef VEC(Table *) TableList;
static Status put_changes(Commit *c, const UndoLog *u, TableList *whole) {
    int64_t n = 0;
    NetChange *net = NULL;
    if (u && undo_net(u, c->a, &n, &net) != ST_OK) return ST_ERROR;
    for (int64_t i = 0; i < n; i++) {
        const NetChange *x = &net[i];
        if (key_is_temporary(x->table->name) || !is_in_catalog(&c->db->catalog, x->table)) continue;
        if (is_based(x->table) && !x->replaced && !is_rewritten(x)) {
            if (redo_rows(x) > 0) TRY(put_rows(c, x));
            continue;
        }
        TRY(put_table(c, x->table));
        if (!vec_push(c->a, whole, x->table)) return ST_ERROR;
    }
    return ST_OK;
}
static bool is_listed(const TableList *l, const Table *t) {
    int64_t i = 0;
    while (i < l->len && l->items[i] != t) i++;
    return i < l->len;
}
/* Tables that definitions have made or built anew, without the undo log. */
static Status put_new_tables(Commit *c, TableList *whole) {
    const Catalog *k = &c->db->catalog;
    for (int64_t i = 0; i < k->n_tables; i++) {
        Table *t = k->tables[i];
        if (t->logged != 0 || key_is_temporary(t->name) || is_listed(whole, t)) continue;
        if (t->n_tablets > 0 || t->id <= c->db->redo->next_id) TRY(put_table(c, t));
        if (!vec_push(c->a, whole, t)) return ST_ERROR;
    }
    return ST_OK;
}
static Status put_all(Commit *c, const UndoLog *u, bool definitions, int64_t *lsn) {
    Redo *r = c->db->redo;
    TableList whole = {0};
    if (definitions) TRY(put_catalog(c));
    TRY(put_changes(c, u, &whole));
    if (definitions) TRY(put_new_tables(c, &whole));
    if (c->out.failed) return ST_ERROR;
    if (c->files) TRY(c->db->vfs->sync_dir(c->db->vfs, r->dir, c->e));
    if (c->out.len > 0) TRY(redo_log_append(r->log, c->out.p, c->out.len, lsn, c->e));
    for (int64_t i = 0; i < whole.len; i++) whole.items[i]->logged = table_generation(whole.items[i]) + 1;
    if (definitions) sequences_based(r, &c->db->catalog);
    return ST_OK;
}
Status redo_commit(Database *db, const UndoLog *u, bool definitions, int64_t *lsn, Err *e) {
    if (!db->redo || (!definitions && (!u || !undo_names_permanent(u)))) return ST_OK;
    Commit c = {.db = db, .a = arena_new(&db->account, e), .out = {.acct = &db->account, .e = e}, .e = e};
    if (!c.a) return ST_ERROR;
    arena_set_err(c.a, e);
    c.lsn = redo_log_end(db->redo->log);
    const Status st = put_all(&c, u, definitions, lsn);
    bytes_out_release(&c.out);
    arena_free(c.a);
    return st;
}

Status redo_sequence(Database *db, const Sequence *q, int64_t last, bool is_called, int64_t *lsn, Err *e) {
    *lsn = 0;
    if (!db->redo || key_is_temporary(q->name)) return ST_OK;
    BytesOut o = {.acct = &db->account, .e = e};
    redo_put_sequence(&o, q->id, last, is_called);
    Status st = o.failed ? ST_ERROR : redo_log_append(db->redo->log, o.p, o.len, lsn, e);
    bytes_out_release(&o);
    return st;
}

/* ---- opening ---- */
/* What is known of a table by its file in the log. */
typedef struct LoggedTable {
    int64_t id, lsn; /* of the record */
    const char *file;
    int64_t seal; /* redo_read_seal */
} LoggedTable;
/* A log that is applied when the database is opened. */
typedef struct RedoLoading RedoLoading;
struct RedoLoading {
    Database *db;
    MemAccount account;
    Arena *a;
    RedoReader reader;
    const char *dir, *catalog; /* catalog NULL: the generation's */
    int64_t catalog_lsn;       /* of the record */
    int64_t catalog_seal;
    int64_t next_id; /* of the generation's catalog: tables with other ids are new */
    VEC(LoggedTable) tables;
    int64_t n_records;
    RedoPlaces *places; /* by table of the catalog */
    int64_t n_places;
};

static Status damaged(const RedoLoading *r, const RedoRecord *x, Err *e) {
    return err_corrupted(e, r->reader.path, x->bytes - r->reader.p, "a record of the redo log is invalid");
}

static LoggedTable *logged_table(const RedoLoading *r, int64_t id) {
    for (int64_t i = 0; i < r->tables.len; i++)
        if (r->tables.items[i].id == id) return &r->tables.items[i];
    return NULL;
}
static Status note_file(RedoLoading *r, const RedoRecord *x, const RedoPart *p, Err *e) {
    const char *path = arena_printf(r->a, "%s/%s", r->dir, p->file);
    if (!path) return ST_ERROR;
    if (p->kind == REDO_CATALOG) {
        r->catalog = path;
        r->catalog_lsn = x->lsn;
        r->catalog_seal = p->seal;
        return ST_OK;
    }
    LoggedTable *t = logged_table(r, p->id);
    if (!t && !vec_push(r->a, &r->tables, ((LoggedTable){.id = p->id}))) return err_is_set(e) ? ST_ERROR : err_oom(e);
    if (!t) t = &r->tables.items[r->tables.len - 1];
    t->lsn = x->lsn;
    t->file = path;
    t->seal = p->seal;
    return ST_OK;
}
static Status note_files(RedoLoading *r, const RedoRecord *x, Err *e) {
    BytesIn in = {.p = x->bytes, .len = x->n, .arena = r->a};
    while (in.at < in.len && !in.failed) {
        RedoPart p;
        redo_get_part(&in, &p);
        if (!in.failed && p.file) TRY(note_file(r, x, &p, e));
    }
    return in.failed ? damaged(r, x, e) : ST_OK;
}
/* Those that are going to be loaded. */
static Status check_files(const RedoLoading *r, Err *e) {
    Vfs *vfs = r->db->vfs;
    if (r->catalog) TRY(redo_check_seal(vfs, r->catalog, REDO_CATALOG, r->catalog_seal, e));
    for (int64_t i = 0; i < r->tables.len; i++) {
        const LoggedTable *t = &r->tables.items[i];
        TRY(redo_check_seal(vfs, t->file, REDO_TABLE, t->seal, e));
    }
    return ST_OK;
}
static Status look_through(RedoLoading *r, Err *e) {
    bool got = true;
    RedoRecord x;
    if (r->reader.generation != r->db->generation)
        return err_corrupted(e, r->reader.path, 16, "the redo log is of another generation");
    while (got) {
        TRY(redo_reader_next(&r->reader, &x, &got, e));
        if (got) TRY(note_files(r, &x, e));
        r->n_records += got;
    }
    return check_files(r, e);
}
static Status read_next_id(RedoLoading *r, Err *e) {
    const char *path = arena_printf(r->a, "%s/catalog", r->dir);
    return path ? catalog_file_next_id(r->db->vfs, path, r->a, &r->next_id, e) : ST_ERROR;
}
static Status load_begin_at(RedoLoading *r, const char *dir, bool *there, Err *e) {
    if (!(r->a = arena_new(&r->account, e))) return ST_ERROR;
    arena_set_err(r->a, e);
    const char *path = arena_printf(r->a, "%s/log", dir);
    r->dir = arena_strdup(r->a, dir);
    if (!path || !r->dir) return ST_ERROR;
    TRY(redo_reader_open(r->db->vfs, path, &r->reader, there, e));
    if (!*there) return ST_OK;
    TRY(read_next_id(r, e));
    return look_through(r, e);
}
static void loading_free(Database *db) {
    RedoLoading *r = db->loading;
    if (!r) return;
    redo_reader_close(&r->reader);
    for (int64_t i = 0; i < r->n_places; i++) redo_places_free(&r->places[i]);
    arena_free(r->a);
    mem_free(NULL, r, (int64_t)sizeof *r);
    db->loading = NULL;
}
Status redo_load_begin(Database *db, const char *dir, Err *e) {
    bool there = false;
    RedoLoading *r = db->loading = mem_calloc(NULL, (int64_t)sizeof *r, e);
    if (!r) return ST_ERROR;
    r->db = db;
    mem_account_init(&r->account, &db->account, "redo log", 0, NULL);
    const Status st = load_begin_at(r, dir, &there, e);
    if (st != ST_OK || !there) loading_free(db);
    return st;
}
const char *redo_load_catalog(const Database *db) { return db->loading ? db->loading->catalog : NULL; }
const char *redo_load_table(const Database *db, const Table *t, const char *own) {
    const RedoLoading *r = db->loading;
    const LoggedTable *x = r ? logged_table(r, t->id) : NULL;
    if (x) return x->file;
    return r && t->id > r->next_id ? NULL : own;
}

/* ---- applying ---- */
static int64_t table_number(const Catalog *c, int64_t id) {
    int64_t i = 0;
    while (i < c->n_tables && c->tables[i]->id != id) i++;
    return i;
}
static Status apply_rows(RedoLoading *r, const RedoRecord *x, RedoPart *p, Err *e) {
    const Catalog *c = &r->db->catalog;
    const LoggedTable *base = logged_table(r, p->id);
    const int64_t i = table_number(c, p->id);
    bool valid;
    if (i == c->n_tables || (base && x->lsn <= base->lsn)) return ST_OK;
    TRY(redo_apply(c->tables[i], &r->places[i], &p->rows, &valid, e));
    return valid ? ST_OK : damaged(r, x, e);
}
static Status apply_part(RedoLoading *r, const RedoRecord *x, RedoPart *p, Err *e) {
    if (p->kind == REDO_ROWS) return apply_rows(r, x, p, e);
    if (p->kind != REDO_SEQUENCE || (r->catalog && x->lsn <= r->catalog_lsn)) return ST_OK;
    const Sequence *q = catalog_sequence_by_id(&r->db->catalog, p->id);
    return q ? sequence_set(q, p->last, p->called, NULL, e) : ST_OK;
}
static Status apply_all(RedoLoading *r, Err *e) {
    const int64_t n = r->db->catalog.n_tables;
    bool got = true;
    RedoRecord x;
    if (!(r->places = arena_array(r->a, RedoPlaces, n + 1))) return ST_ERROR;
    for (r->n_places = 0; r->n_places < n; r->n_places++) r->places[r->n_places] = (RedoPlaces){.acct = &r->account};
    redo_reader_rewind(&r->reader);
    while (got) {
        TRY(redo_reader_next(&r->reader, &x, &got, e));
        BytesIn in = {.p = x.bytes, .len = got ? x.n : 0, .arena = r->a};
        while (in.at < in.len) {
            RedoPart p;
            redo_get_part(&in, &p);
            TRY(apply_part(r, &x, &p, e));
        }
    }
    return ST_OK;
}
Status database_replay(Database *db, Err *e) {
    RedoLoading *r = db->loading;
    if (!r) return ST_OK;
    const int64_t began = clock_ns(), n = r->n_records, bytes = r->reader.at, cut = r->reader.size - r->reader.at;
    Status st = ST_OK;
    if (n > 0) st = apply_all(r, e);
    loading_free(db);
    if (st != ST_OK || n == 0) return st;
    log_write(LOG_INFO,
              "\"%s\" was not closed: %lld commits were recovered from %lld bytes of its log in %.1f s; %lld "
              "bytes at its end were not complete",
              db->path, (long long)n, (long long)bytes, (double)(clock_ns() - began) / 1e9, (long long)cut);
    db->dirty = true;
    return db->read_only ? ST_OK : database_save(db, e);
}

/* ---- from one generation to the next ---- */
static char *generation_dir(const Database *db, Err *e) {
    char buf[32];
    snprintf(buf, sizeof buf, "/g%" PRId64, db->generation);
    const int64_t n = (int64_t)strlen(db->path), more = (int64_t)strlen(buf) + 1;
    char *p = mem_alloc(NULL, n + more, e);
    if (!p) return NULL;
    memcpy(p, db->path, (size_t)n);
    memcpy(p + n, buf, (size_t)more);
    return p;
}
static Status log_path(const char *dir, Arena *a, char **out) {
    *out = arena_printf(a, "%s/log", dir);
    return *out ? ST_OK : ST_ERROR;
}
/* An empty log beside files of the generation. */
static Status begin_log(Database *db, Redo *r, Arena *a, Err *e) {
    enum { FIRST_LSN = 1 << 24 };
    char *path;
    if (!(r->dir = generation_dir(db, e))) return ST_ERROR;
    TRY(log_path(r->dir, a, &path));
    TRY(redo_log_create(db->vfs, path, db->generation, FIRST_LSN + (db->generation << 36), &db->parts[DB_LOG], &r->log,
                        e));
    return db->vfs->sync_dir(db->vfs, r->dir, e);
}
Status redo_start(Database *db, Err *e) {
    if (!db->path || db->read_only || db->redo) return ST_OK;
    if (db->generation == 0) {
        db->dirty = true;
        TRY(database_save(db, e));
    }
    Redo *r = mem_calloc(NULL, (int64_t)sizeof *r, e);
    Arena *a = r ? arena_new(&db->account, e) : NULL;
    if (a) arena_set_err(a, e);
    const Status st = a ? begin_log(db, r, a, e) : ST_ERROR;
    arena_free(a);
    if (st == ST_OK) {
        atomic_init(&r->since, 0);
        db->redo = r;
        redo_based(db);
        return ST_OK;
    }
    if (r) redo_log_discard(r->log);
    if (r) free_text(r->dir);
    if (r) mem_free(NULL, r, (int64_t)sizeof *r);
    return ST_ERROR;
}
Status redo_saving(Database *db, const char *dir, int64_t generation, Err *e) {
    Redo *r = db->redo;
    if (!r) return ST_OK;
    Arena *a = arena_new(&db->account, e);
    char *path;
    if (!a) return ST_ERROR;
    arena_set_err(a, e);
    Status st = log_path(dir, a, &path);
    if (st == ST_OK && !(r->next_dir = copy_text(dir, e))) st = ST_ERROR;
    if (st == ST_OK) st = redo_log_prepare(r->log, path, generation, e);
    arena_free(a);
    return st;
}
void redo_saved(Database *db) {
    Redo *r = db->redo;
    if (!r) return;
    redo_log_switch(r->log);
    free_text(r->dir);
    r->dir = r->next_dir;
    r->next_dir = NULL;
    r->file_bytes = 0;
    redo_based(db);
}
void redo_not_saved(Database *db, const Err *why) {
    Redo *r = db->redo;
    if (!r) return;
    if (why) redo_log_fail(r->log, why);
    redo_log_unprepare(r->log);
    free_text(r->next_dir);
    r->next_dir = NULL;
}
void redo_end(Database *db) {
    loading_free(db);
    Redo *r = db->redo;
    if (!r) return;
    redo_log_close(r->log);
    free_text(r->dir);
    mem_free(NULL, r, (int64_t)sizeof *r);
    db->redo = NULL;
}

/* ---- what sessions ask ---- */
int64_t redo_end_lsn(const Database *db) { return db->redo ? redo_log_end(db->redo->log) : 0; }
int64_t redo_durable_lsn(const Database *db) { return db->redo ? redo_log_durable(db->redo->log) : 0; }
Status redo_check_lsn(const Database *db, uint64_t lsn, Err *e) {
    if (!db->redo) {
        (void)err_set(e, ERR_NOT_IN_STATE, "the database has no redo log");
        err_hint(e, "Open its directory with --durable, or the library's option \"durable\".");
        return ST_ERROR;
    }
    const uint64_t end = (uint64_t)redo_log_end(db->redo->log);
    if (lsn <= end) return ST_OK;
    char text[2][LSN_TEXT_MAX + 1] = {{0}};
    (void)lsn_format(lsn_cell(lsn), text[0]);
    (void)lsn_format(lsn_cell(end), text[1]);
    (void)err_set(e, ERR_INVALID_PARAMETER, "the redo log ends before %s", text[0]);
    err_detail(e, "Its last record ends at %s.", text[1]);
    return ST_ERROR;
}
Status redo_wait(Database *db, int64_t lsn, Err *e) { return db->redo ? redo_log_wait(db->redo->log, lsn, e) : ST_OK; }
bool redo_info(const Database *db, RedoLogInfo *out) {
    if (db->redo) redo_log_info(db->redo->log, out);
    return db->redo != NULL;
}
int64_t redo_bytes(const Database *db) { return db->redo ? redo_log_bytes(db->redo->log) + db->redo->file_bytes : 0; }
int64_t redo_sequences_since(const Database *db) { return db->redo ? atomic_load(&db->redo->since) : 0; }
