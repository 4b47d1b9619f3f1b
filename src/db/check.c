/* check.c - see check.h. */
#include "db/check.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/key.h"
#include "db/redo_walk.h"
#include "storage/table_file.h"

const char *const check_state_names[] = {
    [CHECK_GOOD] = "good",       [CHECK_UNUSED] = "unused",   [CHECK_INCOMPLETE] = "incomplete",
    [CHECK_DAMAGED] = "damaged", [CHECK_MISSING] = "missing", [CHECK_UNCHECKED] = "unchecked"};

/* A file that there is. */
typedef struct Listed {
    const char *name;
    bool told;
} Listed;
typedef struct Check {
    ClosedDir *d;
    const CheckEach *each;
    VEC(Listed) files; /* by name */
    int64_t bad;
    Current current;
    bool current_good, catalog_good, log_good; /* CURRENT, of its generation the catalog, all logs */
    bool tables_good;                          /* files of tables, which name others */
    Err *e;
} Check;

/* ---- files that there are ---- */
typedef struct Listing {
    Check *c;
    const char *dir; /* "": the directory itself */
} Listing;
static Status each_name(void *ctx, const char *name, Err *e) {
    const Listing *l = ctx;
    const char *path = arena_printf(l->c->d->a, "%s%s", l->dir, name);
    if (path && vec_push(l->c->d->a, &l->c->files, (Listed){.name = path})) return ST_OK;
    return err_is_set(e) ? ST_ERROR : err_oom(e);
}
static int by_name(const void *a, const void *b) {
    return strcmp(((const Listed *)a)->name, ((const Listed *)b)->name);
}
static Status list_files(Check *c) {
    Vfs *vfs = c->d->vfs;
    Listing top = {c, ""};
    int64_t n, g;
    TRY(vfs->list(vfs, c->d->path, each_name, &top, c->e));
    n = c->files.len;
    for (int64_t i = 0; i < n; i++) {
        if (!generation_of_name(c->files.items[i].name, &g)) continue;
        Listing l = {c, arena_printf(c->d->a, "%s/", c->files.items[i].name)};
        const char *path = arena_printf(c->d->a, "%s/%s", c->d->path, c->files.items[i].name);
        if (!l.dir || !path) return ST_ERROR;
        c->files.items[i].told = true; /* the directory: its files come one by one */
        TRY(vfs->list(vfs, path, each_name, &l, c->e));
    }
    qsort(c->files.items, (size_t)c->files.len, sizeof *c->files.items, by_name);
    return ST_OK;
}
static Listed *listed(const Check *c, const char *name) {
    const Listed key = {.name = name};
    return c->files.len ? bsearch(&key, c->files.items, (size_t)c->files.len, sizeof key, by_name) : NULL;
}

/* ---- telling ---- */
static int64_t file_bytes(const Check *c, const char *name) {
    VfsFile *f;
    Err ignored = {0};
    int64_t n = 0;
    const char *path = arena_printf(c->d->a, "%s/%s", c->d->path, name);
    if (!path || c->d->vfs->open(c->d->vfs, path, VFS_READ, &f, &ignored) != ST_OK) return 0;
    (void)c->d->vfs->size(f, &n, &ignored);
    (void)c->d->vfs->close(f, &ignored);
    return n;
}
static void tell(Check *c, const char *name, const char *what, CheckState state, int64_t offset, const char *problem) {
    Listed *l = listed(c, name);
    const CheckedFile f = {.name = name,
                           .what = what,
                           .state = state,
                           .bytes = l ? file_bytes(c, name) : 0,
                           .offset = offset,
                           .problem = problem};
    if (l) l->told = true;
    c->bad += state != CHECK_GOOD && state != CHECK_UNUSED;
    c->each->fn(c->each->ctx, &f);
}
/* As err_corrupted has it in its message. */
static int64_t offset_of(const Err *why) {
    static const char before[] = " is corrupted at offset ";
    const char *at = strstr(why->message, before);
    return at ? strtoll(at + sizeof before - 1, NULL, 10) : -1;
}
/* What came of reading a file; a lack of memory is the check's own failure. */
static Status tell_read(Check *c, const char *name, const char *what, Status st, const Err *why) {
    if (st == ST_OK) return tell(c, name, what, CHECK_GOOD, -1, ""), ST_OK;
    if (strncmp(why->sqlstate, "53", 2) == 0) return err_copy(c->e, why), ST_ERROR;
    const bool there = listed(c, name) != NULL;
    tell(c, name, what, there ? CHECK_DAMAGED : CHECK_MISSING, there ? offset_of(why) : -1, why->message);
    return ST_OK;
}

/* ---- catalogs and tables ---- */
static const char *in_generation(const Check *c, int64_t generation, const char *name) {
    return arena_printf(c->d->a, "g%" PRId64 "/%s", generation, name);
}
static const char *rows_of(const Check *c, const Table *t, const char *when) {
    const char *name = keys_dotted(c->d->a, t->name);
    return name ? arena_printf(c->d->a, "rows of table %s%s%s", key_has_schema(t->name) ? "" : "public.", name, when)
                : NULL;
}
static Status no_memory(const Check *c) { return err_is_set(c->e) ? ST_ERROR : err_oom(c->e); }

/* A file that the table's file goes on from; of what lies in it, all, whether it is used or not. */
static Status check_base(Check *c, const Table *t, uint64_t seal, const char *what) {
    char file[PART_NAME_ROOM];
    Err why = {0};
    table_part_name(file, t->id, seal);
    const char *name = in_generation(c, c->current.generation, file);
    const char *path = closed_dir_file(c->d, c->current.generation, file);
    if (!name || !path) return no_memory(c);
    bool there;
    TRY(c->d->vfs->exists(c->d->vfs, path, &there, c->e));
    const Status read = there ? table_file_check(t->id, seal, c->d->vfs, path, &c->d->account, &why)
                              : err_corrupted(&why, path, 0, "file is missing");
    return tell_read(c, name, what, read, &why);
}
static Status check_bases(Check *c, const Table *t, const char *path, const char *what) {
    TableParts *p = table_parts_new(c->e);
    Err ignored = {0}; /* loading the file says so */
    Status st = p ? ST_OK : ST_ERROR;
    if (p && table_file_bases(t->id, c->d->vfs, path, &c->d->account, p, &ignored) != ST_OK) c->tables_good = false;
    for (int i = 0; st == ST_OK && i < p->n_bases; i++) st = check_base(c, t, p->bases[i].seal, what);
    table_parts_drop(p);
    return st;
}
static Status check_own_table(Check *c, Table *t) {
    char file[40];
    Err why = {0};
    snprintf(file, sizeof file, "%" PRId64 ".tab", t->id);
    const char *name = in_generation(c, c->current.generation, file);
    const char *path = closed_dir_file(c->d, c->current.generation, file);
    const char *what = rows_of(c, t, ""), *of_base = rows_of(c, t, ", of an older file");
    if (!name || !path || !what || !of_base) return no_memory(c);
    const int64_t bad = c->bad;
    TRY(check_bases(c, t, path, of_base));
    const Status read = table_file_load(t, c->d->vfs, path, &c->d->account, &why);
    if (read == ST_OK || bad == c->bad || strncmp(why.sqlstate, "53", 2) == 0)
        return tell_read(c, name, what, read, &why);
    tell(c, name, what, CHECK_UNCHECKED, -1, "a file that it goes on from is damaged");
    return ST_OK;
}
/* Tables of the generation, one in memory at a time. */
static Status check_own_tables(Check *c, Catalog *k) {
    Status st = ST_OK;
    for (int64_t i = 0; i < k->n_tables; i++) {
        if (st == ST_OK) st = check_own_table(c, k->tables[i]);
        table_free(k->tables[i]);
    }
    k->n_tables = 0;
    return st;
}
static Status check_own_catalog(Check *c) {
    Catalog k;
    Err why = {0};
    const char *name = in_generation(c, c->current.generation, "catalog");
    const char *path = closed_dir_file(c->d, c->current.generation, "catalog");
    if (!name || !path) return no_memory(c);
    const Status read = closed_catalog_load(c->d, path, &k, &why);
    c->catalog_good = read == ST_OK;
    Status st = tell_read(c, name, "catalog", read, &why);
    if (st == ST_OK && c->catalog_good) st = check_own_tables(c, &k);
    closed_catalog_free(&k);
    return st;
}

/* ---- the logs ---- */
/* A table's file that the log names: with a catalog of its own, since rows of another file may be in the walk's. */
static Status load_logged(Check *c, RedoWalk *w, const RedoPart *p, const char *path, Err *why) {
    Catalog k;
    Status st = redo_walk_copy(w, &k, why);
    int64_t i = 0;
    while (st == ST_OK && i < k.n_tables && k.tables[i]->id != p->id) i++;
    if (st == ST_OK && i == k.n_tables) st = err_corrupted(why, path, 0, "the catalog has no such table");
    if (st == ST_OK) st = table_file_load(k.tables[i], c->d->vfs, path, &c->d->account, why);
    closed_catalog_free(&k);
    return st;
}
/* *good: it can be read by. */
static Status check_named(Check *c, RedoWalk *w, const RedoPart *p, bool *good) {
    Err why = {0};
    const Table *t;
    const int64_t generation = redo_chain_last(&w->chain)->generation;
    const char *file = arena_strdup(c->d->a, p->file), *name = file ? in_generation(c, generation, file) : NULL;
    const char *path = file ? closed_dir_file(c->d, generation, file) : NULL, *what = "catalog as of a commit";
    if (!name || !path) return no_memory(c);
    Status read = redo_check_seal(c->d->vfs, path, p->kind, p->seal, &why);
    if (p->kind == REDO_CATALOG) {
        Catalog k = {0};
        if (read == ST_OK) read = closed_catalog_load(c->d, path, &k, &why);
        closed_catalog_free(&k);
        *good = read == ST_OK;
    } else if (*good) {
        TRY(redo_walk_table(w, p, &t));
        what = rows_of(c, t, " as of a commit");
        if (!what) return no_memory(c);
        if (read == ST_OK) read = load_logged(c, w, p, path, &why);
    } else {
        tell(c, name, "rows of a table as of a commit", CHECK_UNCHECKED, -1,
             "the catalog that has the table is damaged");
        return ST_OK;
    }
    return tell_read(c, name, what, read, &why);
}
static Status any_change(void *ctx, const RedoChange *x, bool *valid, Err *e) {
    (void)ctx, (void)x, (void)valid, (void)e;
    return ST_OK;
}
static Status check_padding(const RedoWalk *w) {
    const RedoReader *in = &redo_chain_last(&w->chain)->reader;
    const char *p = w->record.bytes + w->record.n, *end = in->p + MIN_OF(in->at, in->size);
    for (; p < end; p++)
        if (*p) return err_corrupted(w->e, in->path, p - in->p, "the padding behind a record is not zero");
    return ST_OK;
}
static Status check_part(Check *c, RedoWalk *w, RedoPart *p, bool *good) {
    const Table *t;
    if (p->file) return check_named(c, w, p, good);
    if ((p->kind != REDO_ROWS && p->kind != REDO_NUMBERS) || !*good) return ST_OK;
    TRY(redo_walk_table(w, p, &t));
    return p->kind == REDO_NUMBERS ? ST_OK : redo_walk_rows(w, p, t, any_change, NULL);
}
/* Errors of the log's own are those of w->e. good: of the catalog as of now. */
static Status check_records(Check *c, RedoWalk *w, bool good) {
    bool record = true;
    while (record) {
        bool got = true;
        TRY(redo_walk_record(w, &record));
        if (record) TRY(check_padding(w));
        while (record && got) {
            RedoPart p;
            TRY(redo_walk_part(w, &p, &got));
            if (got) TRY(check_part(c, w, &p, &good));
        }
    }
    return ST_OK;
}
static const char *what_log(const Check *c, const RedoChainLog *l) {
    const RedoLogId *id = &l->reader.id;
    if (l->reader.format == 1) return arena_printf(c->d->a, "redo log with %" PRId64 " records", l->n_records);
    return arena_printf(c->d->a, "redo log with %" PRId64 " records, database %016" PRIx64 ", timeline %" PRId64,
                        l->n_records, (uint64_t)id->database, id->timeline);
}
static Status tell_log(Check *c, const RedoChainLog *l, Status st, const Err *why) {
    const RedoReader *in = &l->reader;
    const int64_t end = redo_reader_end(in), rest = st == ST_OK ? redo_reader_rest(in) : 0;
    const char *name = in_generation(c, l->generation, "log"), *what = what_log(c, l);
    if (!name || !what) return no_memory(c);
    if (rest == 0 && (st != ST_OK || !in->begun || in->at <= in->size)) return tell_read(c, name, what, st, why);
    const char *how = rest == 0 ? "in the padding of a record"
                                : arena_printf(c->d->a, "in %" PRId64 " bytes that are no record", rest);
    const char *problem = how ? arena_printf(c->d->a,
                                             "file \"%s\" ends at offset %" PRId64
                                             " %s: it was being written when the power failed, or it is damaged",
                                             in->path, end, how)
                              : NULL;
    if (!problem) return no_memory(c);
    tell(c, name, what, CHECK_INCOMPLETE, end, problem);
    return ST_OK;
}
/* Logs of the chain, and the one that it breaks at. */
static Status tell_logs(Check *c, const RedoChain *chain, Status st, const Err *why) {
    bool told = st == ST_OK;
    for (int64_t i = 0; i < chain->logs.len; i++) {
        const RedoChainLog *l = &chain->logs.items[i];
        const bool bad = st != ST_OK && l->generation == chain->at_fault;
        told |= bad;
        TRY(tell_log(c, l, bad ? st : ST_OK, why));
    }
    if (told) return ST_OK;
    if (chain->at_fault == 0) return err_copy(c->e, why), ST_ERROR;
    const char *name = in_generation(c, chain->at_fault, "log");
    return name ? tell_read(c, name, "redo log", st, why) : no_memory(c);
}
static Status check_logs(Check *c) {
    RedoWalk w;
    Err why = {0};
    bool there = false;
    arena_set_err(c->d->a, &why);
    Status st = redo_walk_begin(&w, c->d, &c->current, &there, &why);
    if (st == ST_OK && there) st = check_records(c, &w, c->catalog_good);
    arena_set_err(c->d->a, c->e);
    c->log_good = st == ST_OK;
    st = err_is_set(c->e) ? ST_ERROR : tell_logs(c, &w.chain, st, &why);
    redo_walk_end(&w);
    return st;
}

/* ---- the directory ---- */
/* Of a file; 0: it is in no generation's directory. */
static int64_t generation_of(const Check *c, const char *name) {
    int64_t g;
    const char *slash = strchr(name, '/'), *dir = slash ? arena_strndup(c->d->a, name, slash - name) : NULL;
    return dir && generation_of_name(dir, &g) ? g : 0;
}
/* If CURRENT does not say which it is: the last one that was saved whole, which the catalog is written at the end of.
 */
static int64_t last_generation(const Check *c) {
    int64_t last = 0;
    for (int64_t i = 0; i < c->files.len; i++) {
        const char *slash = strchr(c->files.items[i].name, '/');
        if (slash && strcmp(slash, "/catalog") == 0) last = MAX_OF(last, generation_of(c, c->files.items[i].name));
    }
    return last;
}
static Status check_current(Check *c) {
    Err why = {0};
    const Current *now = &c->current;
    const char *what = "which generation is in force";
    const Status st = closed_dir_current(c->d, &c->current, &why);
    c->current_good = st == ST_OK;
    if (st == ST_OK && now->database != 0)
        what = arena_printf(c->d->a, "%s: %" PRId64 ", database %016" PRIx64 ", timeline %" PRId64, what,
                            now->generation, (uint64_t)now->database, now->timeline);
    if (!what) return no_memory(c);
    TRY(tell_read(c, "CURRENT", what, st, &why));
    if (st != ST_OK) c->current = (Current){.generation = last_generation(c)};
    return ST_OK;
}
static bool is_saved_or_named(const char *name) {
    const char *end = strrchr(name, '.');
    return end && (strcmp(end, ".tab") == 0 || strcmp(end, ".part") == 0 || strcmp(end, ".catalog") == 0);
}
static const char *what_is(const Check *c, const char *name) {
    const int64_t g = generation_of(c, name);
    const char *end = strrchr(name, '.');
    if (strcmp(name, "CURRENT.tmp") == 0) return "left of a save that did not end";
    if (g > 0 && g != c->current.generation) return "of a generation that is not in force";
    if (g > 0 && end && strcmp(end, ".tmp") == 0) return "left of a log that was not begun";
    if (g > 0 && is_saved_or_named(name)) return "named by no catalog, no record and no table";
    return "no file of a database";
}
/* What could name it cannot be read. */
static bool is_uncertain(const Check *c, const char *name) {
    const int64_t g = generation_of(c, name);
    if (g == 0) return false;
    if (!c->current_good && g != c->current.generation) return true;
    if (g < c->current.generation || (c->catalog_good && c->log_good && c->tables_good)) return false;
    return is_saved_or_named(name) || strcmp(strchr(name, '/'), "/log") == 0;
}
static void tell_others(Check *c) {
    for (int64_t i = 0; i < c->files.len; i++) {
        const char *name = c->files.items[i].name;
        if (c->files.items[i].told) continue;
        if (strcmp(name, "LOCK") == 0) tell(c, name, "lock", CHECK_GOOD, -1, "");
        else if (is_uncertain(c, name))
            tell(c, name, "catalog, rows or log", CHECK_UNCHECKED, -1, "what would say so is damaged");
        else tell(c, name, what_is(c, name), CHECK_UNUSED, -1, "");
    }
}
static Status check_all(Check *c) {
    TRY(list_files(c));
    TRY(check_current(c));
    if (c->current.generation > 0) {
        TRY(check_own_catalog(c));
        TRY(check_logs(c));
    }
    tell_others(c);
    return err_is_set(c->e) ? ST_ERROR : ST_OK;
}
Status check_directory(Vfs *vfs, const char *path, const CheckEach *each, int64_t *bad, Err *e) {
    ClosedDir d;
    TRY(closed_dir_open(&d, vfs, path, e));
    Check c = {.d = &d, .each = each, .catalog_good = true, .log_good = true, .tables_good = true, .e = e};
    const Status st = check_all(&c);
    *bad = c.bad;
    closed_dir_close(&d);
    return st;
}
