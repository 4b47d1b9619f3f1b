/* redo.c - see redo.h. */
#include "db/redo.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "db/catalog_file.h"
#include "db/checkpoint.h"
#include "db/redo_chain.h"
#include "db/redo_parts.h"
#include "storage/redo.h"
#include "storage/table_file.h"
#include "storage/undo_edits.h"
#include "types/lsn.h"

typedef struct Redo Redo;
struct Redo {
    RedoLog *log;
    int64_t generation, next_generation; /* of the log in use; of the one that is prepared */
    char *dir, *next_dir;                /* theirs */
    int64_t next_id;                     /* of the catalog that was written last: tables with other ids are new */
    BytesOut catalog;                    /* the bytes of its file, as the log has it by now */
    BytesOut next_catalog;               /* that of the checkpoint, once it is made; empty: the same */
    _Atomic int64_t file_bytes;          /* of files that the log in use names */
    _Atomic int64_t older_bytes;         /* of logs before it that recovery would read, and of their files */
    bool bulks;                          /* the log in use has inputs of bulks; under the database lock */
    _Atomic bool older_bulks;            /* logs before it that recovery would read have some */
    Err *ahead;                          /* why what is in memory lacks bulks of the logs; NULL: it has them */
    _Atomic int64_t extra, older_extra;  /* work (redo_work) beside these bytes, likewise */
    _Atomic int64_t since;               /* raised when sequences have to say again which numbers they may give */
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

/* As measured: a record takes as long as a kilobyte, a row as 128 bytes; inputs: bytes of bulks that run again. */
static int64_t extra_work(int64_t records, int64_t rows, int64_t inputs) {
    enum { OF_RECORD = 1024, OF_ROW = 128, OF_INPUT = 8 };
    return OF_RECORD * records + OF_ROW * rows + OF_INPUT * inputs;
}

/* The file is that of the last checkpoint, and row numbers mean what they did in it. */
static bool is_numbered_by(const Database *db, const TableFile *f, const Table *t) {
    return f->generation > 0 && f->generation == db->generation && f->lsn == 0 && f->numbering == table_generation(t);
}
/* Row numbers mean what they did in the log's last file of the table, or in that of the last checkpoint: `last` while
 * the next one is written. */
static bool is_based(const Database *db, const Table *t) {
    const TableFiles *f = table_files(t);
    return t->logged == table_generation(t) + 1 || is_numbered_by(db, &f->next, t) || is_numbered_by(db, &f->last, t);
}

/* ---- bulks ---- */
static bool has_bulks(const Redo *r) { return r->bulks || atomic_load(&r->older_bulks); }
Status redo_bulk(Database *db, const BytesOut *inputs, int64_t *at, Err *e) {
    enum { LARGE = 256 << 10 }; /* such a bulk runs for longer than writing them takes */
    Redo *r = db->redo;
    int64_t lsn;
    BytesOut o = {.acct = &db->parts[DB_LOG], .e = e};
    redo_put_bulk(&o, inputs);
    *at = redo_log_end(r->log);
    const Status st = o.failed ? ST_ERROR : redo_log_append(r->log, o.p, o.len, &lsn, e);
    if (st == ST_OK) r->bulks = true;
    if (st == ST_OK) atomic_fetch_add(&r->extra, extra_work(1, 0, o.len));
    if (st == ST_OK && o.len >= LARGE) redo_log_write_soon(r->log);
    bytes_out_release(&o);
    return st;
}
/* Of what has happened. There is no way back from it, so that it is given memory beyond the limit. */
static Status append_outcome(Database *db, RedoKind kind, int64_t id, const BytesOut *bytes, int64_t *lsn, Err *e) {
    const int64_t reserve = atomic_exchange(&db->account.reserve, INT64_MAX);
    BytesOut o = {.acct = &db->parts[DB_LOG], .e = e};
    redo_put_bytes(&o, kind, id, bytes);
    const bool failed = o.failed || bytes->failed;
    const Status st = failed ? ST_ERROR : redo_log_append_outcome(db->redo->log, o.p, o.len, lsn, e);
    bytes_out_release(&o);
    atomic_store(&db->account.reserve, reserve);
    if (st != ST_OK) redo_log_fail(db->redo->log, e);
    return st;
}
Status redo_bulk_ran(Database *db, int64_t at, const BytesOut *outcome, int64_t *lsn, Err *e) {
    return append_outcome(db, REDO_OUTCOME, at, outcome, lsn, e);
}
void redo_numbers(Database *db, const Table *t, const RowNumbers *x) {
    int64_t lsn;
    Err e = {0};
    BytesOut o = {.acct = &db->parts[DB_LOG], .e = &e};
    if (!db->redo || !has_bulks(db->redo)) return;
    if (!is_based(db, t)) { /* numbers mean nothing, until there is a file that has these */
        table_file_set(&table_files(t)->next, (TableFile){0});
        return;
    }
    redo_put_numbers(x, &o);
    if (append_outcome(db, REDO_NUMBERS, t->id, &o, &lsn, &e) != ST_OK)
        log_write(LOG_WARNING, "rows of table \"%s\" could not be logged: %s", t->name, e.message);
    bytes_out_release(&o);
}
void redo_is_ahead(Database *db, const Err *why) {
    Redo *r = db->redo;
    if (!r || !has_bulks(r) || r->ahead || !(r->ahead = mem_calloc(NULL, (int64_t)sizeof *r->ahead, NULL))) return;
    err_copy(r->ahead, why);
    redo_log_fail(r->log, why);
}
Status redo_may_save(const Database *db, Err *e) {
    const Redo *r = db->redo;
    if (!r || !r->ahead) return ST_OK;
    (void)err_set(e, ERR_IO, "the database lacks what is in its redo log: %s", r->ahead->message);
    err_hint(e, "When it is opened again it is recovered.");
    return ST_ERROR;
}

/* ---- commits ---- */
/* A table that is written whole, or is new and empty. It is marked when the record is in the log. */
typedef struct WholeTable {
    Table *t;
    TableParts *parts; /* of the file; counted. NULL: there is none */
} WholeTable;
typedef struct Commit {
    Database *db;
    Arena *a;
    BytesOut out;
    int64_t lsn; /* of the record: names of files */
    int64_t rows;
    bool files;
    BytesOut catalog; /* its bytes, when definitions have changed */
    VEC(WholeTable) whole;
    Err *e;
} Commit;

/* The log has the catalog so from here on; what was there before is in *now. */
static void exchange_catalog(Redo *r, BytesOut *now) {
    const BytesOut was = r->catalog;
    r->catalog = *now;
    *now = was;
}
/* The file is part of the log: its name and seal. */
static Status put_file(Commit *c, RedoKind kind, int64_t id, const char *name, const char *path) {
    int64_t bytes = 0, seal;
    TRY(redo_read_seal(c->db->vfs, path, kind, &bytes, &seal, c->e));
    atomic_fetch_add(&c->db->redo->file_bytes, bytes);
    c->files = true;
    redo_put_file(&c->out, kind, id, name, seal);
    return ST_OK;
}
static Status put_catalog(Commit *c) {
    c->catalog = (BytesOut){.acct = &c->db->parts[DB_LOG], .e = c->e};
    TRY(catalog_file_put(&c->db->catalog, &c->catalog));
    redo_put_definitions(&c->out, &c->db->redo->catalog, &c->catalog);
    return ST_OK;
}
static Status put_table(Commit *c, Table *t) {
    Database *db = c->db;
    char *path = generation_logged_table(c->a, db, db->redo->generation, c->lsn, t->id);
    const TableSave how = {.parts = path ? table_parts_new(c->e) : NULL};
    if (!how.parts) return ST_ERROR;
    if (!vec_push(c->a, &c->whole, ((WholeTable){t, how.parts}))) return table_parts_drop(how.parts), ST_ERROR;
    const char *name = strrchr(path, '/') + 1;
    TRY(table_file_write(t, db->vfs, path, &db->account, &how, c->e));
    return put_file(c, REDO_TABLE, t->id, name, path);
}
static Status put_rows(Commit *c, const NetChange *x) {
    BytesOut rows = {.acct = c->out.acct, .e = c->e};
    const Status st = redo_put(x, c->a, &rows, c->e);
    redo_put_bytes(&c->out, REDO_ROWS, x->id, &rows);
    c->rows += redo_rows(x);
    bytes_out_release(&rows);
    return st;
}
/* So much of the table has changed that it is written whole. */
static bool is_rewritten(const NetChange *x) {
    enum { LEAST = 65536 };
    const int64_t n = redo_rows(x);
    return n > LEAST && n > x->table->live_rows / 2;
}
/* It is a table of the catalog, and a permanent one. */
static bool is_logged(const Commit *c, const Table *t) {
    return !key_is_temporary(t->name) && catalog_table(&c->db->catalog, slice_of(t->name)) == t;
}
static bool is_put_whole(const Commit *c, const NetChange *x) {
    return !is_based(c->db, x->table) || x->replaced || is_rewritten(x);
}
static Status put_changes(Commit *c, int64_t n, const NetChange *net) {
    for (int64_t i = 0; i < n; i++) {
        const NetChange *x = &net[i];
        if (!is_logged(c, x->table)) continue;
        if (!is_put_whole(c, x)) {
            if (redo_rows(x) > 0) TRY(put_rows(c, x));
            continue;
        }
        TRY(put_table(c, x->table));
    }
    return ST_OK;
}
/* Some table is going to be written whole. */
static bool needs_file(const Commit *c, int64_t n, const NetChange *net) {
    int64_t i = 0;
    while (i < n && !(is_logged(c, net[i].table) && is_put_whole(c, &net[i]))) i++;
    return i < n;
}
static bool is_listed(const Commit *c, const Table *t) {
    int64_t i = 0;
    while (i < c->whole.len && c->whole.items[i].t != t) i++;
    return i < c->whole.len;
}
/* Tables that definitions have made or built anew, without the undo log. */
static Status put_new_tables(Commit *c) {
    const Catalog *k = &c->db->catalog;
    for (int64_t i = 0; i < k->n_tables; i++) {
        Table *t = k->tables[i];
        if (t->logged != 0 || key_is_temporary(t->name) || is_listed(c, t)) continue;
        if (t->n_tablets > 0 || t->id <= c->db->redo->next_id) TRY(put_table(c, t));
        else if (!vec_push(c->a, &c->whole, ((WholeTable){t, NULL}))) return ST_ERROR;
    }
    return ST_OK;
}
/* Instead of a record: its changes are in a file of every table. */
static Status save_all(Commit *c) {
    c->db->dirty = true;
    TRY(redo_log_takes_more(c->db->redo->log, c->e));
    TRY(database_save(c->db, c->e));
    redo_based(c->db);
    return ST_OK;
}
static void mark_whole(Commit *c) {
    for (int64_t i = 0; i < c->whole.len; i++) {
        WholeTable *x = &c->whole.items[i];
        TableFiles *files = table_files(x->t);
        x->t->logged = table_generation(x->t) + 1;
        if (!x->parts) continue;
        TableFile f = table_file_of(x->t, c->db->redo->generation, c->lsn);
        f.parts = table_parts_share(x->parts);
        table_file_set(&files->last, f);
        table_file_set(&files->next, (TableFile){0});
    }
}
static Status put_all(Commit *c, const UndoLog *u, bool definitions, int64_t *lsn) {
    Redo *r = c->db->redo;
    int64_t n = 0;
    NetChange *net = NULL;
    if (u && undo_net(u, c->a, &n, &net) != ST_OK) return ST_ERROR;
    if (has_bulks(r) && (definitions || needs_file(c, n, net))) return save_all(c);
    if (definitions) TRY(put_catalog(c));
    TRY(put_changes(c, n, net));
    if (definitions) TRY(put_new_tables(c));
    if (c->out.failed) return ST_ERROR;
    if (c->files) TRY(c->db->vfs->sync_dir(c->db->vfs, r->dir, c->e));
    if (c->out.len > 0) TRY(redo_log_append(r->log, c->out.p, c->out.len, lsn, c->e));
    if (c->out.len > 0) atomic_fetch_add(&r->extra, extra_work(1, c->rows, 0));
    mark_whole(c);
    if (definitions) exchange_catalog(r, &c->catalog);
    if (definitions) sequences_based(r, &c->db->catalog);
    return ST_OK;
}
/* ---- records that are made before their commit ---- */
typedef struct MadeChange {
    MadeRecord record;
    MemAccount *acct;
} MadeChange;
static void drop_made(void *made) {
    MadeChange *m = made;
    redo_log_release_made(&m->record);
    mem_free(m->acct, m, (int64_t)sizeof *m);
}
static Status make_record(Database *db, const PieceInput *in, MadeRecord *r, Err *e) {
    enum { MOST_HEAD = 32 }; /* of a part: kind, table, length */
    BytesOut head = {.acct = &db->account, .e = e};
    redo_log_begin_made(db->redo->log, r, e);
    const int64_t at = r->bytes.len + MOST_HEAD;
    bytes_put(&r->bytes, (char[MOST_HEAD]){0}, MOST_HEAD);
    TRY(redo_put_change(in->version, in->n, in->rowids, in->set, &r->bytes, e));
    redo_put_rows_head(&head, in->version->id, r->bytes.len - at);
    if (!head.failed) {
        r->at = at - head.len;
        memcpy(r->bytes.p + r->at, head.p, (size_t)head.len);
    }
    const bool ok = !head.failed;
    bytes_out_release(&head);
    return ok ? redo_log_end_made(r, e) : ST_ERROR;
}
Status redo_make(Database *db, const PieceInput *in, TablePieces *p, Err *e) {
    if (!db->redo || key_is_temporary(in->version->name)) return ST_OK;
    MadeChange *m = mem_calloc(&db->account, (int64_t)sizeof *m, e);
    if (!m) return ST_ERROR;
    m->acct = &db->account;
    if (make_record(db, in, &m->record, e) != ST_OK) {
        drop_made(m);
        return ST_ERROR;
    }
    pieces_keep_made(p, m, drop_made);
    return ST_OK;
}
/* *done false: there is none, or the table's rows have other numbers in the log. */
static Status commit_made(Database *db, const UndoLog *u, int64_t *lsn, bool *done, Err *e) {
    const Table *t = NULL;
    MadeChange *m = undo_made(u, &t);
    *done = m && is_based(db, t) && catalog_table(&db->catalog, slice_of(t->name)) == t;
    if (!*done) return ST_OK;
    TRY(redo_log_append_made(db->redo->log, &m->record, lsn, e));
    atomic_fetch_add(&db->redo->extra, extra_work(1, undo_rows(u), 0));
    return ST_OK;
}
Status redo_commit(Database *db, const UndoLog *u, bool definitions, int64_t *lsn, Err *e) {
    if (!db->redo || (!definitions && (!u || !undo_names_permanent(u)))) return ST_OK;
    bool done = false;
    if (!definitions) TRY(commit_made(db, u, lsn, &done, e));
    if (done) return ST_OK;
    Commit c = {.db = db, .a = arena_new(&db->account, e), .out = {.acct = &db->account, .e = e}, .e = e};
    if (!c.a) return ST_ERROR;
    arena_set_err(c.a, e);
    c.lsn = redo_log_end(db->redo->log);
    const Status st = put_all(&c, u, definitions, lsn);
    for (int64_t i = 0; i < c.whole.len; i++) table_parts_drop(c.whole.items[i].parts);
    bytes_out_release(&c.catalog);
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
    if (st == ST_OK) atomic_fetch_add(&db->redo->extra, extra_work(1, 0, 0));
    return st;
}

/* ---- opening ---- */
/* What is known of a table by its file in the log. */
typedef struct LoggedTable {
    int64_t id, lsn; /* of the record */
    const char *file;
    int64_t generation; /* in whose directory it is */
    int64_t seal;       /* redo_read_seal */
} LoggedTable;
/* Logs that are applied when the database is opened, one behind the other. */
typedef struct RedoLoading RedoLoading;
struct RedoLoading {
    Database *db;
    MemAccount account;
    Arena *a;
    RedoChain chain;
    const char *catalog; /* a file that the log names; NULL: the generation's */
    int64_t catalog_lsn; /* of the record that has it, or what it has become */
    int64_t catalog_seal;
    BytesOut definitions; /* what it has become; empty: it is as in the file */
    int64_t next_id;      /* of the generation's catalog: tables with other ids are new */
    VEC(LoggedTable) tables;
    int64_t n_records, n_commits, bytes, cut; /* cut: at the end, not complete */
    const RedoBulkOps *ops;
    void *runner;               /* of bulks; NULL: there are none */
    bool bulks;                 /* the logs have some */
    int64_t inputs_lsn;         /* of the last inputs */
    BytesIn inputs;             /* these */
    int64_t rows, inputs_bytes; /* that were applied; of bulks */
};

static Status damaged(const RedoChainLog *l, const RedoRecord *x, Err *e) {
    return err_corrupted(e, l->reader.path, x->bytes - l->reader.p, "a record of the redo log is invalid");
}

static LoggedTable *logged_table(const RedoLoading *r, int64_t id) {
    for (int64_t i = 0; i < r->tables.len; i++)
        if (r->tables.items[i].id == id) return &r->tables.items[i];
    return NULL;
}
static Status note_file(RedoLoading *r, const RedoChainLog *l, const RedoRecord *x, const RedoPart *p, Err *e) {
    const char *path = generation_path(r->a, r->db, l->generation, p->file);
    if (!path) return ST_ERROR;
    if (p->kind == REDO_CATALOG) {
        r->catalog = path;
        r->catalog_lsn = x->lsn;
        r->catalog_seal = p->seal;
        r->definitions.len = 0;
        return ST_OK;
    }
    LoggedTable *t = logged_table(r, p->id);
    if (!t && !vec_push(r->a, &r->tables, ((LoggedTable){.id = p->id}))) return err_is_set(e) ? ST_ERROR : err_oom(e);
    if (!t) t = &r->tables.items[r->tables.len - 1];
    t->lsn = x->lsn;
    t->file = path;
    t->generation = l->generation;
    t->seal = p->seal;
    return ST_OK;
}
static bool is_commit(RedoKind k) { return k != REDO_NEXT && k != REDO_BULK && k != REDO_NUMBERS; }
static const char *catalog_path(const RedoLoading *r) {
    return r->catalog ? r->catalog : generation_path(r->a, r->db, r->chain.current.generation, "catalog");
}
static Status note_definitions(RedoLoading *r, const RedoChainLog *l, const RedoRecord *x, const RedoPart *p, Err *e) {
    BytesOut now = {.acct = &r->account, .e = e};
    bool valid;
    r->definitions.e = e;
    if (r->definitions.len == 0) TRY(catalog_file_get(r->db->vfs, catalog_path(r), &r->definitions, e));
    const Status st = redo_apply_definitions(p, &r->definitions, &now, &valid, e);
    bytes_out_release(&r->definitions);
    r->definitions = now;
    r->catalog_lsn = x->lsn;
    return st == ST_OK && !valid ? damaged(l, x, e) : st;
}
/* What the record says of files. */
static Status look_at_record(RedoLoading *r, const RedoChainLog *l, const RedoRecord *x, Err *e) {
    BytesIn in = {.p = x->bytes, .len = x->n, .arena = r->a};
    while (in.at < in.len && !in.failed) {
        RedoPart p;
        redo_get_part(&in, &p);
        in.failed |= p.file && r->bulks; /* bulks need the catalog and the tables of then */
        r->bulks |= p.kind == REDO_BULK;
        r->inputs_bytes += p.kind == REDO_BULK ? x->n : 0;
        r->n_commits += in.at == in.len && is_commit(p.kind);
        if (!in.failed && p.file) TRY(note_file(r, l, x, &p, e));
        if (!in.failed && p.kind == REDO_DEFINITIONS) TRY(note_definitions(r, l, x, &p, e));
    }
    r->n_records += l->next == 0;
    return in.failed ? damaged(l, x, e) : ST_OK;
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
    RedoRecord x;
    for (bool got = true; got;) {
        TRY(redo_chain_next(&r->chain, &x, &got, e));
        if (got) TRY(look_at_record(r, redo_chain_last(&r->chain), &x, e));
    }
    for (int64_t i = 0; i < r->chain.logs.len; i++) {
        r->bytes += r->chain.logs.items[i].reader.at;
        r->cut += redo_reader_rest(&r->chain.logs.items[i].reader);
    }
    return check_files(r, e);
}
static Status load_logs(RedoLoading *r, const Current *c, const GenerationList *all, bool *there, Err *e) {
    const Database *db = r->db;
    if (!(r->a = arena_new(&r->account, e))) return ST_ERROR;
    arena_set_err(r->a, e);
    r->chain = (RedoChain){.vfs = db->vfs, .path = db->path, .a = r->a, .current = *c, .all = *all};
    TRY(redo_chain_open(&r->chain, there, e));
    if (!*there) return ST_OK;
    const char *path = generation_path(r->a, db, c->generation, "catalog");
    if (!path) return ST_ERROR;
    TRY(catalog_file_next_id(db->vfs, path, r->a, &r->next_id, e));
    return look_through(r, e);
}
static void loading_free(Database *db) {
    RedoLoading *r = db->loading;
    if (!r) return;
    if (r->runner) r->ops->free(r->runner);
    redo_chain_close(&r->chain);
    bytes_out_release(&r->definitions);
    arena_free(r->a);
    mem_free(NULL, r, (int64_t)sizeof *r);
    db->loading = NULL;
}
Status redo_load_begin(Database *db, const Current *c, const GenerationList *all, Err *e) {
    bool there = false;
    RedoLoading *r = db->loading = mem_calloc(NULL, (int64_t)sizeof *r, e);
    if (!r) return ST_ERROR;
    r->db = db;
    mem_account_init(&r->account, &db->account, "redo log", 0, NULL);
    r->definitions.acct = &r->account;
    const Status st = load_logs(r, c, all, &there, e);
    if (st != ST_OK || !there) loading_free(db);
    return st;
}
int64_t redo_load_logs(const Database *db) { return db->loading ? db->loading->chain.logs.len : 0; }
int64_t redo_load_lsn(const Database *db) {
    return db->loading ? redo_reader_lsn(&redo_chain_last(&db->loading->chain)->reader) : 0;
}
Status redo_load_catalog(Database *db, const char *own, Arena *a, Err *e) {
    const RedoLoading *r = db->loading;
    const char *path = r && r->catalog ? r->catalog : own;
    MemAccount *tables = &db->parts[DB_TABLES];
    if (!r || r->definitions.len == 0) return catalog_file_load(&db->catalog, db->vfs, path, tables, a, e);
    return catalog_bytes_load(&db->catalog, r->definitions.p, r->definitions.len, path, tables, a, e);
}
const char *redo_load_table(const Database *db, const Table *t, const char *own, TableFile *where) {
    const RedoLoading *r = db->loading;
    const LoggedTable *x = r ? logged_table(r, t->id) : NULL;
    if (x) *where = (TableFile){.generation = x->generation, .lsn = x->lsn};
    if (x) return x->file;
    return r && t->id > r->next_id ? NULL : own;
}

/* ---- applying ---- */
/* A table that records may name. */
typedef struct Target {
    int64_t id, lsn; /* lsn: of its file; records up to it are in that */
    Table *t;
    int64_t bytes; /* of records */
    int share;     /* who applies them */
    RedoPlaces places;
} Target;
typedef struct Applying {
    RedoLoading *r;
    int64_t n;
    Target *targets; /* by id */
    int shares;
    Err *errors; /* of each share */
    _Atomic int next_share;
    _Atomic bool stop; /* one of them has failed */
} Applying;
static int by_id(const void *a, const void *b) {
    const Target *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}
static Target *target_of(const Applying *p, int64_t id) {
    const Target key = {.id = id};
    return bsearch(&key, p->targets, (size_t)p->n, sizeof key, by_id);
}
/* What is done with each part of the records, of all logs. */
typedef Status (*PartFn)(Applying *p, int share, const RedoChainLog *l, const RedoRecord *x, RedoPart *part, Err *e);
static Status each_part(Applying *p, int share, Arena *a, PartFn fn, Err *e) {
    enum { REPORT_S = 10 };
    int64_t read = 0, reported = clock_ns();
    for (int64_t i = 0; i < p->r->chain.logs.len; i++) {
        RedoChainLog l = p->r->chain.logs.items[i];
        RedoRecord x;
        redo_reader_rewind(&l.reader);
        for (bool got = true; got && !atomic_load_explicit(&p->stop, memory_order_relaxed);) {
            TRY(redo_reader_next(&l.reader, &x, &got, e));
            BytesIn in = {.p = x.bytes, .len = got ? x.n : 0, .arena = a};
            while (in.at < in.len) {
                RedoPart part;
                redo_get_part(&in, &part);
                TRY(fn(p, share, &l, &x, &part, e));
            }
            arena_reset(a);
            if (share != 0 || !got || x.lsn % 64 || clock_ns() - reported < REPORT_S * INT64_C(1000000000)) continue;
            reported = clock_ns();
            log_write(LOG_INFO, "\"%s\" is recovered: %lld of %lld bytes of its log are applied", p->r->db->path,
                      (long long)(read + l.reader.at), (long long)p->r->bytes);
        }
        read += l.reader.at;
    }
    return ST_OK;
}
static Status count_part(Applying *p, int share, const RedoChainLog *l, const RedoRecord *x, RedoPart *part, Err *e) {
    (void)share, (void)l, (void)e;
    Target *t = part->kind == REDO_ROWS ? target_of(p, part->id) : NULL;
    if (t && x->lsn > t->lsn) t->bytes += part->bytes.len;
    return ST_OK;
}
static Status look_at_bulk(Applying *p, int share, const RedoChainLog *l, const RedoRecord *x, RedoPart *part, Err *e) {
    const RedoLoading *r = p->r;
    (void)share, (void)l, (void)x;
    return part->kind == REDO_BULK ? r->ops->look(r->runner, &part->bytes, e) : ST_OK;
}
static bool is_of_bulk(RedoKind k) { return k == REDO_BULK || k == REDO_OUTCOME || k == REDO_NUMBERS; }
static Status apply_bulk(Applying *p, const RedoChainLog *l, const RedoRecord *x, RedoPart *part, Err *e) {
    RedoLoading *r = p->r;
    bool valid = r->runner != NULL;
    if (part->kind == REDO_BULK) {
        r->inputs_lsn = x->lsn;
        r->inputs = part->bytes;
    } else if (part->kind == REDO_OUTCOME) {
        valid &= part->id == r->inputs_lsn;
        if (valid) TRY(r->ops->run(r->runner, &r->inputs, &part->bytes, &valid, e));
    } else {
        Target *t = target_of(p, part->id);
        valid &= t != NULL;
        if (valid) TRY(r->ops->numbers(r->runner, t->t, &t->places, &part->bytes, &valid, e));
    }
    return valid ? ST_OK : damaged(l, x, e);
}
static Status apply_part(Applying *p, int share, const RedoChainLog *l, const RedoRecord *x, RedoPart *part, Err *e) {
    const RedoLoading *r = p->r;
    bool valid = true;
    if (part->kind == REDO_ROWS) {
        Target *t = target_of(p, part->id);
        if (!t || t->share != share || x->lsn <= t->lsn) return ST_OK;
        TRY(redo_apply(t->t, &t->places, &part->bytes, &valid, e));
        return valid ? ST_OK : damaged(l, x, e);
    }
    if (is_of_bulk(part->kind)) return apply_bulk(p, l, x, part, e);
    if (part->kind != REDO_SEQUENCE || share != 0 || x->lsn <= r->catalog_lsn) return ST_OK;
    const Sequence *q = catalog_sequence_by_id(&r->db->catalog, part->id);
    return q ? sequence_set(q, part->last, part->called, NULL, e) : ST_OK;
}
/* One share after the other, by each thread that comes. */
static void apply_shares(void *ctx, int worker) {
    Applying *p = ctx;
    (void)worker;
    for (int i; (i = atomic_fetch_add(&p->next_share, 1)) < p->shares;) {
        Err *e = &p->errors[i];
        Arena *a = arena_new(&p->r->account, e);
        if (a) arena_set_err(a, e);
        if (!a || each_part(p, i, a, apply_part, e) != ST_OK) atomic_store(&p->stop, true);
        arena_free(a);
    }
}
static int by_bytes(const void *a, const void *b) {
    Target *x, *y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return x->bytes != y->bytes ? (x->bytes < y->bytes) - (x->bytes > y->bytes) : by_id(x, y);
}
/* Each table, the one with most to apply first, goes to the share that has least. */
static Status make_shares(Applying *p) {
    Target **list = arena_array(p->r->a, Target *, p->n + 1);
    int64_t *sums = arena_array(p->r->a, int64_t, p->shares);
    if (!list || !sums) return ST_ERROR;
    for (int64_t i = 0; i < p->n; i++) list[i] = &p->targets[i];
    if (p->n > 1) qsort(list, (size_t)p->n, sizeof *list, by_bytes);
    for (int64_t i = 0; i < p->n; i++) {
        int least = 0;
        for (int k = 1; k < p->shares; k++)
            if (sums[k] < sums[least]) least = k;
        list[i]->share = least;
        sums[least] += list[i]->bytes;
    }
    return ST_OK;
}
static Status apply_all(RedoLoading *r, Err *e) {
    const Catalog *c = &r->db->catalog;
    /* a bulk needs all tables as of then */
    Applying p = {.r = r, .n = c->n_tables, .shares = r->bulks ? 1 : pool_threads(r->db->pool)};
    Arena *a = arena_new(&r->account, e);
    p.targets = arena_array(r->a, Target, p.n + 1);
    p.errors = arena_array(r->a, Err, p.shares);
    if (a) arena_set_err(a, e);
    Status st = a && p.targets && p.errors ? ST_OK : ST_ERROR;
    for (int64_t i = 0; i < p.n && st == ST_OK; i++) {
        const LoggedTable *base = logged_table(r, c->tables[i]->id);
        p.targets[i] = (Target){.id = c->tables[i]->id, .lsn = base ? base->lsn : 0, .t = c->tables[i]};
        p.targets[i].places.acct = &r->account;
    }
    if (st == ST_OK && p.n > 1) qsort(p.targets, (size_t)p.n, sizeof *p.targets, by_id);
    if (st == ST_OK && p.shares > 1) st = each_part(&p, 0, a, count_part, e);
    if (st == ST_OK) st = make_shares(&p);
    if (st == ST_OK && r->bulks) st = r->ops->begin(r->db, &r->runner, e);
    if (st == ST_OK && r->bulks) st = each_part(&p, 0, a, look_at_bulk, e);
    if (st == ST_OK && p.shares == 1) apply_shares(&p, 0);
    else if (st == ST_OK) pool_run(r->db->pool, p.shares, apply_shares, &p);
    for (int i = 0; i < p.shares && st == ST_OK; i++) {
        if (!err_is_set(&p.errors[i])) continue;
        err_copy(e, &p.errors[i]);
        st = ST_ERROR;
    }
    if (st == ST_OK && r->runner) st = r->ops->end(r->runner, e);
    for (int64_t i = 0; i < p.n && p.targets; i++) {
        r->rows += p.targets[i].places.applied;
        redo_places_free(&p.targets[i].places);
    }
    arena_free(a);
    return st;
}
Status database_replay(Database *db, const RedoBulkOps *bulks, Err *e) {
    RedoLoading *r = db->loading;
    if (!r) return ST_OK;
    const int64_t began = clock_ns(), n = r->n_records, commits = r->n_commits, logs = r->chain.logs.len,
                  bytes = r->bytes, cut = r->cut;
    r->ops = bulks;
    Status st = ST_OK;
    if (n > 0) st = apply_all(r, e);
    const int64_t took = clock_ns() - began, work = bytes + extra_work(n, r->rows, r->inputs_bytes);
    loading_free(db);
    if (st != ST_OK || (n == 0 && logs == 1)) return st;
    checkpoint_recovered(db, work, took);
    log_write(
        LOG_INFO,
        "\"%s\" was not closed: %lld commits were recovered from %lld bytes of %lld logs in %.1f s; %lld bytes at "
        "the end were not complete",
        db->path, (long long)commits, (long long)bytes, (long long)logs, (double)took / 1e9, (long long)cut);
    db->dirty = true;
    return db->read_only ? ST_OK : database_save(db, e);
}

/* ---- from one log to the next ---- */
/* An empty log beside files of the generation. */
static Status begin_log(Database *db, Redo *r, Arena *a, Err *e) {
    Current *c = checkpoint_current(db);
    char *dir = generation_path(a, db, db->generation, NULL), *path = generation_path(a, db, db->generation, "log");
    if (!dir || !path || !(r->dir = copy_text(dir, e))) return ST_ERROR;
    r->generation = db->generation;
    const RedoLogId id = {.database = c->database, .timeline = c->timeline, .generation = r->generation};
    r->catalog = (BytesOut){.acct = &db->parts[DB_LOG], .e = e};
    TRY(catalog_file_get(db->vfs, generation_path(a, db, db->generation, "catalog"), &r->catalog, e));
    TRY(redo_log_create(db->vfs, path, &id, c->lsn, &db->parts[DB_LOG], &r->log, e));
    TRY(db->vfs->sync_dir(db->vfs, r->dir, e));
    if (c->has_log) return ST_OK;
    c->has_log = true;
    return current_write(db, a, c, e);
}
Status redo_start(Database *db, Err *e) {
    if (!db->path || db->read_only || db->redo) return ST_OK;
    if (db->generation == 0 || checkpoint_current(db)->database == 0) {
        db->dirty = true;
        TRY(database_save(db, e));
    }
    Redo *r = mem_calloc(NULL, (int64_t)sizeof *r, e);
    Arena *a = r ? arena_new(&db->account, e) : NULL;
    if (a) arena_set_err(a, e);
    const Status st = a ? begin_log(db, r, a, e) : ST_ERROR;
    arena_free(a);
    if (st == ST_OK) {
        db->redo = r;
        redo_based(db);
        return ST_OK;
    }
    if (r) redo_log_discard(r->log);
    if (r) bytes_out_release(&r->catalog);
    if (r) free_text(r->dir);
    if (r) mem_free(NULL, r, (int64_t)sizeof *r);
    return ST_ERROR;
}
bool redo_failed(const Database *db) { return db->redo && redo_log_failed(db->redo->log); }
static RedoLogId next_id(const Database *db, int64_t generation, int64_t previous) {
    const Current *c = checkpoint_current(db);
    return (RedoLogId){c->database, c->timeline, generation, previous};
}
static Status note_next(Redo *r, const char *dir, int64_t generation, Err *e) {
    free_text(r->next_dir);
    r->next_generation = generation;
    r->next_dir = copy_text(dir, e);
    return r->next_dir ? ST_OK : ST_ERROR;
}
Status redo_prepare(Database *db, Arena *a, int64_t generation, Err *e) {
    Redo *r = db->redo;
    if (!r) return ST_OK;
    const char *dir = generation_path(a, db, generation, NULL), *path = generation_path(a, db, generation, "log");
    const RedoLogId id = next_id(db, generation, r->generation);
    if (!dir || !path) return ST_ERROR;
    TRY(note_next(r, dir, generation, e));
    return redo_log_prepare(r->log, path, &id, e);
}
static void use_next(Redo *r) {
    free_text(r->dir);
    r->dir = r->next_dir;
    r->generation = r->next_generation;
    r->next_dir = NULL;
    r->bulks = false;
    atomic_store(&r->file_bytes, 0);
    atomic_store(&r->extra, 0);
}
/* Numbers of sequences are in the catalog that a checkpoint writes, and make it another one than the log has: what
 * comes behind goes on from either. */
static Status log_catalog(Database *db, const BytesOut *catalog, Err *e) {
    Redo *r = db->redo;
    BytesOut now = {.acct = &db->parts[DB_LOG], .e = e}, o = {.acct = &db->account, .e = e};
    int64_t lsn;
    redo_put_definitions(&o, &r->catalog, catalog);
    if (o.len > 0) bytes_put(&now, catalog->p, catalog->len);
    Status st = o.failed || now.failed ? ST_ERROR : ST_OK;
    if (st == ST_OK && o.len > 0) st = redo_log_append(r->log, o.p, o.len, &lsn, e);
    if (st == ST_OK && o.len > 0) {
        exchange_catalog(r, &now);
        sequences_based(r, &db->catalog); /* also when the switch fails: the record hides what they have logged */
    }
    bytes_out_release(&o);
    bytes_out_release(&now);
    return st;
}
/* It is what the log goes on from when the checkpoint is made. */
static Status keep_catalog(Database *db, const BytesOut *catalog, Err *e) {
    Redo *r = db->redo;
    bytes_out_release(&r->next_catalog);
    r->next_catalog = (BytesOut){.acct = &db->parts[DB_LOG], .e = e};
    bytes_put(&r->next_catalog, catalog->p, catalog->len);
    return r->next_catalog.failed ? ST_ERROR : ST_OK;
}
Status redo_switch(Database *db, const BytesOut *catalog, bool alone, int64_t *lsn, Err *e) {
    Redo *r = db->redo;
    if (!r) return ST_OK;
    TRY(alone ? keep_catalog(db, catalog, e) : log_catalog(db, catalog, e));
    BytesOut o = {.acct = &db->account, .e = e};
    const int64_t bytes = redo_log_bytes(r->log) + atomic_load(&r->file_bytes);
    redo_put_next(&o, r->next_generation);
    const Status st = o.failed ? ST_ERROR : redo_log_switch(r->log, o.p, o.len, e);
    bytes_out_release(&o);
    if (st != ST_OK) return st;
    *lsn = redo_log_end(r->log);
    atomic_fetch_add(&r->older_bytes, bytes);
    if (r->bulks) atomic_store(&r->older_bulks, true);
    atomic_fetch_add(&r->older_extra, atomic_load(&r->extra));
    use_next(r);
    sequences_based(r, &db->catalog);
    return ST_OK;
}
void redo_unprepare(Database *db) {
    Redo *r = db->redo;
    if (!r) return;
    redo_log_unprepare(r->log);
    bytes_out_release(&r->next_catalog);
    free_text(r->next_dir);
    r->next_dir = NULL;
}
Status redo_begun(Database *db, Err *e) { return db->redo ? redo_log_begun(db->redo->log, e) : ST_OK; }
Status redo_remake(Database *db, Arena *a, int64_t generation, const BytesOut *catalog, int64_t *lsn, Err *e) {
    Redo *r = db->redo;
    TRY(keep_catalog(db, catalog, e));
    const char *dir = generation_path(a, db, generation, NULL), *path = generation_path(a, db, generation, "log");
    const RedoLogId id = next_id(db, generation, 0);
    if (!dir || !path) return ST_ERROR;
    TRY(note_next(r, dir, generation, e));
    *lsn = redo_log_end(r->log);
    return redo_log_remake(r->log, path, &id, e);
}
void redo_renew(Database *db) {
    redo_log_renew(db->redo->log);
    use_next(db->redo);
    redo_based(db);
}
void redo_saved(Database *db) {
    Redo *r = db->redo;
    if (!r) return;
    atomic_store(&r->older_bytes, 0);
    atomic_store(&r->older_extra, 0);
    atomic_store(&r->older_bulks, false);
    if (r->next_catalog.len > 0) exchange_catalog(r, &r->next_catalog);
    bytes_out_release(&r->next_catalog);
}
void redo_not_saved(Database *db, const Err *why) {
    if (db->redo) redo_log_fail(db->redo->log, why);
}
void redo_end(Database *db) {
    loading_free(db);
    Redo *r = db->redo;
    if (!r) return;
    redo_log_close(r->log);
    bytes_out_release(&r->catalog);
    bytes_out_release(&r->next_catalog);
    free_text(r->dir);
    free_text(r->next_dir);
    if (r->ahead) mem_free(NULL, r->ahead, (int64_t)sizeof *r->ahead);
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
int64_t redo_bytes(const Database *db) {
    const Redo *r = db->redo;
    return r ? redo_log_bytes(r->log) + atomic_load(&r->file_bytes) + atomic_load(&r->older_bytes) : 0;
}
int64_t redo_work(const Database *db) {
    const Redo *r = db->redo;
    return r ? redo_bytes(db) + atomic_load(&r->extra) + atomic_load(&r->older_extra) : 0;
}
int64_t redo_sequences_since(const Database *db) { return db->redo ? atomic_load(&db->redo->since) : 0; }
