/* database.c - a database's directory: opening, saving, closing.
 *
 * A save writes a complete new generation beside the old one; the rename of CURRENT is the moment it becomes the
 * database. Everything that is read is covered by a checksum and checked for shape before it is used, so that damaged
 * files end in XX001 with file and offset and never in a crash.
 */
#include "db/database.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "storage/keyindex.h"
#include "storage/table_file.h"

#define CATALOG_MAGIC "STELECAT"
enum {
    FILE_FORMAT = 1,
    CATALOG_FOREIGN = 2 /* a catalog with foreign keys */,
    CATALOG_ROUTINES = 3 /* and routines */,
    CATALOG_EXPECTED = 4 /* and the rows that tables expect */,
    CATALOG_SOURCES = 5 /* and what views read */,
    PATH_ROOM = 64
};

static_assert(sizeof(Type) == 8, "file format");

/* ---- paths ---- */
static char *path_of(Arena *a, const Database *db, int64_t generation, const char *name) {
    if (generation <= 0) return arena_printf(a, "%s/%s", db->path, name ? name : "");
    if (!name) return arena_printf(a, "%s/g%" PRId64, db->path, generation);
    return arena_printf(a, "%s/g%" PRId64 "/%s", db->path, generation, name);
}
static char *table_path(Arena *a, const Database *db, int64_t generation, int64_t id) {
    char name[PATH_ROOM];
    snprintf(name, sizeof name, "%" PRId64 ".tab", id);
    return path_of(a, db, generation, name);
}

/* ---- the catalog file ---- */
static void put_type(BytesOut *o, Type t) { bytes_put(o, &t, (int64_t)sizeof t); }
static void put_table(BytesOut *o, const Table *t) {
    bytes_put_i64(o, t->id);
    bytes_put_text(o, t->name);
    bytes_put_i64(o, t->n_cols);
    for (int c = 0; c < t->n_cols; c++) {
        bytes_put_text(o, t->cols[c].name);
        put_type(o, t->cols[c].type);
        bytes_put_bool(o, t->cols[c].not_null);
        bytes_put_text(o, t->cols[c].default_sql);
    }
    bytes_put_i64(o, t->n_keys);
    for (int k = 0; k < t->n_keys; k++) {
        bytes_put_text(o, t->keys[k].name);
        bytes_put_bool(o, t->keys[k].primary);
        bytes_put_i64(o, t->keys[k].n_cols);
        for (int i = 0; i < t->keys[k].n_cols; i++) bytes_put_i64(o, t->keys[k].cols[i]);
    }
    bytes_put_i64(o, t->n_checks);
    for (int i = 0; i < t->n_checks; i++) {
        bytes_put_text(o, t->checks[i].name);
        bytes_put_text(o, t->checks[i].sql);
    }
}
static Status write_file(Database *db, const char *path, const void *p, int64_t n, Err *e) {
    VfsFile *f;
    TRY(db->vfs->open(db->vfs, path, VFS_READ | VFS_WRITE | VFS_CREATE | VFS_TRUNCATE, &f, e));
    Status st = db->vfs->write_at(f, p, n, 0, e);
    if (st == ST_OK) st = db->vfs->sync(f, e);
    Err late = {0};
    if (db->vfs->close(f, st == ST_OK ? e : &late) != ST_OK) st = ST_ERROR;
    return st;
}
static void put_foreign(BytesOut *o, const ForeignKey *f) {
    bytes_put_text(o, f->name);
    bytes_put_text(o, f->table);
    bytes_put_text(o, f->ref_table);
    bytes_put(o, &f->on_delete, 1);
    bytes_put(o, &f->on_update, 1);
    bytes_put_i64(o, f->n_cols);
    for (int i = 0; i < f->n_cols; i++) {
        bytes_put_text(o, f->cols[i]);
        bytes_put_text(o, f->ref_cols[i]);
    }
}
static void put_routine(BytesOut *o, const Routine *r) {
    bytes_put_i64(o, r->id);
    bytes_put_text(o, r->name);
    bytes_put_bool(o, r->is_procedure);
    bytes_put_bool(o, r->returns_set);
    bytes_put_bool(o, r->returns_void);
    bytes_put_bool(o, r->returns_record);
    bytes_put_bool(o, r->strict);
    bytes_put_bool(o, r->may_write);
    bytes_put(o, &r->volatility, 1);
    bytes_put_i64(o, r->n_params);
    for (int i = 0; i < r->n_params; i++) {
        bytes_put_text(o, r->param_names[i]);
        bytes_put(o, &r->param_modes[i], 1);
        bytes_put(o, &r->param_types[i], (int64_t)sizeof(Type));
    }
    bytes_put_i64(o, r->n_args);
    bytes_put_i64(o, r->n_defaults);
    bytes_put(o, &r->ret, (int64_t)sizeof(Type));
    bytes_put_text(o, r->language);
    bytes_put_text(o, r->sql);
}
static void put_view_sources(BytesOut *o, const View *v) {
    bytes_put_i64(o, v->n_sources);
    for (int i = 0; i < v->n_sources; i++) {
        const ViewSource *q = &v->sources[i];
        bytes_put_i64(o, q->location);
        bytes_put_text(o, q->relation);
        bytes_put_i64(o, q->n_cols);
        for (int k = 0; k < q->n_cols; k++) {
            bytes_put_text(o, q->cols[k]);
            bytes_put_text(o, q->names[k]);
        }
    }
}
static Status save_catalog(Database *db, const char *path, Err *e) {
    const Catalog *c = &db->catalog;
    BytesOut o = {.acct = &db->account, .e = e};
    bytes_put(&o, CATALOG_MAGIC, 8);
    bool expects = false, sources = false;
    for (int64_t i = 0; i < c->n_tables; i++) expects |= c->tables[i]->expected_rows > 0;
    for (int64_t i = 0; i < c->n_views; i++) sources |= c->views[i]->n_sources > 0;
    int64_t format = sources         ? CATALOG_SOURCES
                     : expects       ? CATALOG_EXPECTED
                     : c->n_routines ? CATALOG_ROUTINES
                     : c->n_foreign  ? CATALOG_FOREIGN
                                     : FILE_FORMAT;
    bytes_put_i64(&o, format);
    bytes_put_i64(&o, c->next_id);
    bytes_put_i64(&o, c->n_tables);
    for (int64_t i = 0; i < c->n_tables; i++) put_table(&o, c->tables[i]);
    bytes_put_i64(&o, c->n_views);
    for (int64_t i = 0; i < c->n_views; i++) {
        const View *v = c->views[i];
        bytes_put_text(&o, v->name);
        bytes_put_text(&o, v->sql);
        bytes_put_i64(&o, v->n_cols);
        for (int k = 0; k < v->n_cols; k++) bytes_put_text(&o, v->cols[k]);
    }
    if (format >= CATALOG_FOREIGN) bytes_put_i64(&o, c->n_foreign);
    for (int64_t i = 0; i < c->n_foreign; i++) put_foreign(&o, c->foreign[i]);
    if (format >= CATALOG_ROUTINES) bytes_put_i64(&o, c->n_routines);
    for (int64_t i = 0; i < c->n_routines; i++) put_routine(&o, c->routines[i]);
    for (int64_t i = 0; i < c->n_tables && format >= CATALOG_EXPECTED; i++)
        bytes_put_i64(&o, c->tables[i]->expected_rows);
    for (int64_t i = 0; i < c->n_views && format >= CATALOG_SOURCES; i++) put_view_sources(&o, c->views[i]);
    bytes_put_i64(&o, o.failed ? 0 : (int64_t)checksum64(o.p, o.len));
    Status st = o.failed ? ST_ERROR : write_file(db, path, o.p, o.len, e);
    bytes_out_release(&o);
    return st;
}

/* A whole small file in an arena; *len = -1 when it does not exist. */
static Status read_file(Database *db, Arena *a, const char *path, char **out, int64_t *len, Err *e) {
    bool there;
    *len = -1;
    TRY(db->vfs->exists(db->vfs, path, &there, e));
    if (!there) return ST_OK;
    VfsFile *f;
    TRY(db->vfs->open(db->vfs, path, VFS_READ, &f, e));
    int64_t size = 0, got = 0;
    Status st = db->vfs->size(f, &size, e);
    if (st == ST_OK && !(*out = arena_alloc(a, size + 1))) st = ST_ERROR;
    if (st == ST_OK) st = db->vfs->read_at(f, *out, size, 0, &got, e);
    if (st == ST_OK) {
        (*out)[got] = 0;
        *len = got;
    }
    Err late = {0};
    db->vfs->close(f, &late);
    return st;
}

static bool type_ok(Type t) {
    if (t.id == T_ARRAY) return t.length >= 0 && type_element(t).id != T_ARRAY && type_ok(type_element(t));
    return t.id > T_UNKNOWN && t.id < T_VOID && t.precision <= NUMERIC_MAX_PRECISION &&
           t.scale <= NUMERIC_MAX_PRECISION && t.length >= 0 && (t.id != T_NUMERIC || t.precision >= 1);
}
static Status load_one_table(Database *db, BytesIn *in, const char *path, Err *e) {
    Arena *a = in->arena;
    int64_t id = bytes_get_i64(in);
    char *name = bytes_get_text(in, false);
    int64_t n_cols = bytes_get_count(in, MIN_OF(in->len / 17, INT32_MAX));
    ColumnDef *cols = arena_array(a, ColumnDef, n_cols + 1);
    if (!cols) return ST_ERROR;
    for (int64_t i = 0; i < n_cols && !in->failed; i++) {
        cols[i].name = bytes_get_text(in, false);
        bytes_get(in, &cols[i].type, (int64_t)sizeof(Type));
        cols[i].not_null = bytes_get_bool(in);
        cols[i].default_sql = bytes_get_text(in, true);
        if (!type_ok(cols[i].type)) in->failed = true;
    }
    int64_t n_keys = bytes_get_count(in, in->len / 17);
    KeyDef *keys = arena_array(a, KeyDef, n_keys + 1);
    if (!keys) return ST_ERROR;
    for (int64_t k = 0; k < n_keys && !in->failed; k++) {
        keys[k].name = bytes_get_text(in, false);
        keys[k].primary = bytes_get_bool(in);
        keys[k].n_cols = (int)bytes_get_count(in, KEYINDEX_MAX_COLS);
        int *kc = arena_array(a, int, keys[k].n_cols + 1);
        if (!kc) return ST_ERROR;
        if (keys[k].n_cols == 0) in->failed = true;
        for (int i = 0; i < keys[k].n_cols; i++) kc[i] = (int)bytes_get_count(in, n_cols - 1);
        keys[k].cols = kc;
    }
    int64_t n_checks = bytes_get_count(in, in->len / 16);
    CheckDef *checks = arena_array(a, CheckDef, n_checks + 1);
    if (!checks) return ST_ERROR;
    for (int64_t i = 0; i < n_checks && !in->failed; i++) {
        checks[i].name = bytes_get_text(in, false);
        checks[i].sql = bytes_get_text(in, false);
    }
    if (in->failed || id <= 0) return err_corrupted(e, path, in->at, "table is invalid");
    Table *t;
    TRY(table_new(&db->account, name, (int)n_cols, cols, (int)n_keys, keys, (int)n_checks, checks, &t, e));
    t->id = id;
    if (catalog_add_table(&db->catalog, t, e) != ST_OK) {
        table_free(t);
        return ST_ERROR;
    }
    char *file = table_path(a, db, db->generation, id);
    if (!file) return ST_ERROR;
    return table_file_load(t, db->vfs, file, &db->account, e);
}
static Status load_one_view(Database *db, BytesIn *in, const char *path, Err *e) {
    char *name = bytes_get_text(in, false), *sql = bytes_get_text(in, false);
    int64_t n = bytes_get_count(in, in->len / 8);
    char **cols = arena_array(in->arena, char *, n + 1);
    if (!cols) return ST_ERROR;
    for (int64_t i = 0; i < n && !in->failed; i++) cols[i] = bytes_get_text(in, true);
    if (in->failed) return err_corrupted(e, path, in->at, "view is invalid");
    View *v = view_new(&(View){.name = name, .sql = sql, .n_cols = (int)n, .cols = cols}, e);
    if (!v) return ST_ERROR;
    if (catalog_add_view(&db->catalog, v, e) == ST_OK) return ST_OK;
    view_free(v);
    return ST_ERROR;
}
static Status load_view_sources(BytesIn *in, const char *path, View **slot, Err *e) {
    View v = **slot;
    v.n_sources = (int)bytes_get_count(in, MIN_OF(in->len / 24, INT32_MAX));
    if (!(v.sources = arena_array(in->arena, ViewSource, v.n_sources + 1))) return ST_ERROR;
    for (int i = 0; i < v.n_sources && !in->failed; i++) {
        ViewSource *q = &v.sources[i];
        q->location = bytes_get_count(in, INT64_MAX);
        q->relation = bytes_get_text(in, false);
        q->n_cols = (int)bytes_get_count(in, MIN_OF(in->len / 16, INT32_MAX));
        q->cols = arena_array(in->arena, char *, q->n_cols + 1);
        q->names = arena_array(in->arena, char *, q->n_cols + 1);
        if (!q->cols || !q->names) return ST_ERROR;
        for (int k = 0; k < q->n_cols && !in->failed; k++) {
            q->cols[k] = bytes_get_text(in, false);
            q->names[k] = bytes_get_text(in, false);
        }
    }
    if (in->failed) return err_corrupted(e, path, in->at, "view is invalid");
    View *full = view_new(&v, e);
    if (!full) return ST_ERROR;
    view_free(*slot);
    *slot = full;
    return ST_OK;
}
static Status load_one_foreign(Database *db, BytesIn *in, const char *path, Err *e) {
    ForeignKey f = {0};
    f.name = bytes_get_text(in, false);
    f.table = bytes_get_text(in, false);
    f.ref_table = bytes_get_text(in, false);
    bytes_get(in, &f.on_delete, 1);
    bytes_get(in, &f.on_update, 1);
    f.n_cols = (int)bytes_get_count(in, KEYINDEX_MAX_COLS);
    f.cols = arena_array(in->arena, char *, f.n_cols + 1);
    f.ref_cols = arena_array(in->arena, char *, f.n_cols + 1);
    if (!f.cols || !f.ref_cols) return ST_ERROR;
    const Table *t = catalog_table(&db->catalog, slice_of(f.table)),
                *p = catalog_table(&db->catalog, slice_of(f.ref_table));
    if (f.n_cols == 0 || !t || !p || !strchr("arcnd", f.on_delete) || !strchr("arnd", f.on_update) || !f.on_delete ||
        !f.on_update)
        in->failed = true;
    for (int i = 0; i < f.n_cols && !in->failed; i++) {
        f.cols[i] = bytes_get_text(in, false);
        f.ref_cols[i] = bytes_get_text(in, false);
        if (table_find_column(t, slice_of(f.cols[i])) < 0 || table_find_column(p, slice_of(f.ref_cols[i])) < 0)
            in->failed = true;
    }
    if (in->failed) return err_corrupted(e, path, in->at, "foreign key is invalid");
    ForeignKey *copy = foreign_new(&f, e);
    if (!copy) return ST_ERROR;
    if (catalog_add_foreign(&db->catalog, copy, e) == ST_OK) return ST_OK;
    foreign_free(copy);
    return ST_ERROR;
}
static Status load_one_routine(Database *db, BytesIn *in, const char *path, Err *e) {
    Arena *a = in->arena;
    Routine r = {.id = bytes_get_i64(in)};
    r.name = bytes_get_text(in, false);
    r.is_procedure = bytes_get_bool(in);
    r.returns_set = bytes_get_bool(in);
    r.returns_void = bytes_get_bool(in);
    r.returns_record = bytes_get_bool(in);
    r.strict = bytes_get_bool(in);
    r.may_write = bytes_get_bool(in);
    bytes_get(in, &r.volatility, 1);
    r.n_params = (int)bytes_get_count(in, MIN_OF(in->len / 17, INT32_MAX));
    r.param_names = arena_array(a, char *, r.n_params + 1);
    r.param_modes = arena_alloc(a, r.n_params + 1);
    r.param_types = arena_array(a, Type, r.n_params + 1);
    if (!r.param_names || !r.param_modes || !r.param_types) return ST_ERROR;
    int args = 0;
    for (int i = 0; i < r.n_params && !in->failed; i++) {
        r.param_names[i] = bytes_get_text(in, true);
        bytes_get(in, &r.param_modes[i], 1);
        bytes_get(in, &r.param_types[i], (int64_t)sizeof(Type));
        if (!type_ok(r.param_types[i]) || !r.param_modes[i] || !strchr("iobtc", r.param_modes[i])) in->failed = true;
        else args += routine_is_arg(&r, i);
    }
    r.n_args = (int)bytes_get_count(in, r.n_params);
    r.n_defaults = (int)bytes_get_count(in, r.n_args);
    bytes_get(in, &r.ret, (int64_t)sizeof(Type));
    r.language = bytes_get_text(in, false);
    r.sql = bytes_get_text(in, false);
    if (in->failed || r.id <= 0 || r.n_args != args || (r.ret.id != T_VOID && !type_ok(r.ret)) || !r.volatility ||
        !strchr("isv", r.volatility))
        return err_corrupted(e, path, in->at, "routine is invalid");
    Routine *copy = routine_new(&r, e);
    if (!copy) return ST_ERROR;
    if (catalog_add_routine(&db->catalog, copy, e) == ST_OK) return ST_OK;
    routine_free(copy);
    return ST_ERROR;
}
static Status load_catalog(Database *db, Arena *a, Err *e) {
    char *path = path_of(a, db, db->generation, "catalog"), *p = NULL;
    int64_t len;
    if (!path) return ST_ERROR;
    TRY(read_file(db, a, path, &p, &len, e));
    if (len < 0) return err_corrupted(e, path, 0, "file is missing");
    if (len < 24) return err_corrupted(e, path, len, "file is too short");
    if (memcmp(p, CATALOG_MAGIC, 8) != 0) return err_corrupted(e, path, 0, "not a catalog");
    uint64_t sum;
    memcpy(&sum, p + len - 8, 8);
    if (!checksum_matches(p, len - 8, sum)) return err_corrupted(e, path, 0, "checksum does not match");
    BytesIn in = {.p = p, .len = len - 8, .at = 8, .arena = a};
    int64_t format = bytes_get_i64(&in);
    if (format < FILE_FORMAT || format > CATALOG_SOURCES) return err_corrupted(e, path, 8, "unknown format");
    int64_t next_id = bytes_get_i64(&in), n = bytes_get_count(&in, len);
    for (int64_t i = 0; i < n; i++) TRY(load_one_table(db, &in, path, e));
    n = bytes_get_count(&in, len);
    for (int64_t i = 0; i < n; i++) TRY(load_one_view(db, &in, path, e));
    n = format >= CATALOG_FOREIGN ? bytes_get_count(&in, len) : 0;
    for (int64_t i = 0; i < n; i++) TRY(load_one_foreign(db, &in, path, e));
    n = format >= CATALOG_ROUTINES ? bytes_get_count(&in, len) : 0;
    for (int64_t i = 0; i < n; i++) TRY(load_one_routine(db, &in, path, e));
    for (int64_t i = 0; i < db->catalog.n_tables && format >= CATALOG_EXPECTED; i++)
        db->catalog.tables[i]->expected_rows = bytes_get_count(&in, EXPECTED_ROWS_MAX);
    for (int64_t i = 0; i < db->catalog.n_views && format >= CATALOG_SOURCES; i++)
        TRY(load_view_sources(&in, path, &db->catalog.views[i], e));
    if (in.failed || in.at != in.len) return err_corrupted(e, path, in.at, "catalog is invalid");
    db->catalog.next_id = next_id;
    return ST_OK;
}

/* ---- CURRENT and generations ---- */
enum { CURRENT_ROOM = 128 };
static int64_t current_text(int64_t generation, char *buf) {
    int n = snprintf(buf, CURRENT_ROOM, "stele %d\ngeneration %" PRId64 "\n", FILE_FORMAT, generation);
    return n + snprintf(buf + n, CURRENT_ROOM - (size_t)n, "checksum %016" PRIx64 "\n", checksum64(buf, n));
}
static Status write_current(Database *db, Arena *a, int64_t generation, Err *e) {
    char text[CURRENT_ROOM];
    int64_t n = current_text(generation, text);
    char *tmp = path_of(a, db, 0, "CURRENT.tmp"), *path = path_of(a, db, 0, "CURRENT");
    if (!tmp || !path) return ST_ERROR;
    TRY(write_file(db, tmp, text, n, e));
    TRY(db->vfs->rename(db->vfs, tmp, path, e));
    return db->vfs->sync_dir(db->vfs, db->path, e);
}
static Status read_current(Database *db, Arena *a, bool *there, Err *e) {
    char *path = path_of(a, db, 0, "CURRENT"), *p = NULL, want[CURRENT_ROOM];
    int64_t len;
    if (!path) return ST_ERROR;
    TRY(read_file(db, a, path, &p, &len, e));
    *there = len >= 0;
    if (!*there) return ST_OK;
    int64_t generation = -1;
    int64_t at = (int64_t)strlen("stele 1\ngeneration ");
    if (len > at) {
        generation = 0;
        for (int64_t i = at; i < len && p[i] >= '0' && p[i] <= '9' && generation < INT64_MAX / 20; i++)
            generation = generation * 10 + (p[i] - '0');
    }
    if (generation < 0 || current_text(generation, want) != len || memcmp(want, p, (size_t)len) != 0)
        return err_corrupted(e, path, 0, "not a valid generation");
    db->generation = generation;
    return ST_OK;
}

typedef struct Names {
    Arena *a;
    VEC(char *) v;
} Names;
static Status each_name(void *ctx, const char *name, Err *e) {
    Names *n = ctx;
    char *copy = arena_strdup(n->a, name);
    if (!copy || !vec_push(n->a, &n->v, copy)) return err_is_set(e) ? ST_ERROR : err_oom(e);
    return ST_OK;
}
/* Best effort: what stays is removed at the next opening. */
static void remove_generation(Database *db, Arena *a, int64_t generation) {
    Err ignored = {0};
    bool there = false;
    char *dir = path_of(a, db, generation, NULL);
    if (!dir || generation <= 0 || db->vfs->exists(db->vfs, dir, &there, &ignored) != ST_OK || !there) return;
    Names n = {.a = a};
    db->vfs->list(db->vfs, dir, each_name, &n, &ignored);
    for (int64_t i = 0; i < n.v.len; i++) {
        char *p = path_of(a, db, generation, n.v.items[i]);
        err_clear(&ignored);
        if (p) db->vfs->remove(db->vfs, p, &ignored);
    }
    err_clear(&ignored);
    db->vfs->remove(db->vfs, dir, &ignored);
}
static bool generation_name(const char *name, int64_t *out) {
    if (name[0] != 'g' || !name[1] || strlen(name) > 18) return false;
    *out = 0;
    for (const char *p = name + 1; *p; p++) {
        if (*p < '0' || *p > '9') return false;
        *out = *out * 10 + (*p - '0');
    }
    return *out > 0;
}

static Status load_all(Database *db, Arena *a, Err *e) {
    bool there;
    TRY(read_current(db, a, &there, e));
    Names n = {.a = a};
    TRY(db->vfs->list(db->vfs, db->path, each_name, &n, e));
    int64_t g;
    for (int64_t i = 0; i < n.v.len && !there; i++) {
        /* An empty or foreign directory may become a database, one that lost its CURRENT may not. */
        if (generation_name(n.v.items[i], &g))
            return err_corrupted(e, path_of(a, db, 0, "CURRENT"), 0, "file is missing");
    }
    if (!there) return write_current(db, a, 0, e);
    if (db->generation > 0) TRY(load_catalog(db, a, e));
    for (int64_t i = 0; i < n.v.len; i++)
        if (generation_name(n.v.items[i], &g) && g != db->generation) remove_generation(db, a, g);
    return ST_OK;
}

Status database_open(const char *path, Vfs *vfs, int threads, int64_t memory_limit, Database **out, Err *e) {
    *out = NULL;
    Database *db = mem_calloc(NULL, (int64_t)sizeof *db, e);
    if (!db) return ST_ERROR;
    mem_account_init(&db->account, NULL, "database", memory_limit, memory_limit > 0 ? "memory_limit" : NULL);
    db->memory_limit = memory_limit;
    db->vfs = vfs ? vfs : vfs_posix();
    db->refs = 1;
    Arena *a = arena_new(&db->account, e);
    db->catalog.arena = arena_new(&db->account, e);
    db->catalog.version = 1;
    db->pool = pool_new(threads > 0 ? threads : cpu_count(), e);
    if (!a || !db->catalog.arena || !db->pool) goto fail;
    arena_set_err(db->catalog.arena, NULL);
    if (path && *path && strcmp(path, ":memory:") != 0) {
        arena_set_err(db->catalog.arena, e);
        db->path = arena_strdup(db->catalog.arena, path);
        arena_set_err(db->catalog.arena, NULL);
        char *lock = db->path ? path_of(a, db, 0, "LOCK") : NULL;
        if (!lock) goto fail;
        if (db->vfs->make_dir(db->vfs, path, e) != ST_OK) goto fail;
        if (db->vfs->open(db->vfs, lock, VFS_READ | VFS_WRITE | VFS_CREATE, &db->lock_file, e) != ST_OK) goto fail;
        Err lock_err = {0};
        if (db->vfs->lock(db->lock_file, &lock_err) != ST_OK) {
            if (strcmp(lock_err.sqlstate, ERR_OBJECT_IN_USE) == 0)
                err_set(e, ERR_OBJECT_IN_USE, "database \"%s\" is in use by another process", path);
            else err_copy(e, &lock_err);
            goto fail;
        }
        if (load_all(db, a, e) != ST_OK) goto fail;
    }
    arena_free(a);
    *out = db;
    return ST_OK;
fail:
    arena_free(a);
    database_close(db);
    return ST_ERROR;
}

static Status save_generation(Database *db, Arena *a, int64_t generation, Err *e) {
    char *dir = path_of(a, db, generation, NULL), *catalog = path_of(a, db, generation, "catalog");
    if (!dir || !catalog) return ST_ERROR;
    TRY(db->vfs->make_dir(db->vfs, dir, e));
    for (int64_t i = 0; i < db->catalog.n_tables; i++) {
        char *path = table_path(a, db, generation, db->catalog.tables[i]->id);
        if (!path) return ST_ERROR;
        TRY(table_file_save(db->catalog.tables[i], db->vfs, path, &db->account, e));
    }
    TRY(save_catalog(db, catalog, e));
    TRY(db->vfs->sync_dir(db->vfs, dir, e));
    return db->vfs->sync_dir(db->vfs, db->path, e);
}

static Status save(Database *db, Err *e) {
    if (db->bulk_hub) TRY(db->bulk_hub_save(db->bulk_hub, e));
    Arena *a = arena_new(&db->account, e);
    if (!a) return ST_ERROR;
    int64_t old = db->generation, next = old + 1;
    remove_generation(db, a, next);
    Status st = save_generation(db, a, next, e);
    if (st != ST_OK) {
        remove_generation(db, a, next);
    } else {
        /* When this fails it is unknown which generation CURRENT names: both stay, and the next
         * attempt uses a third. */
        st = write_current(db, a, next, e);
        db->generation = next;
        if (st == ST_OK) {
            db->dirty = false;
            remove_generation(db, a, old);
        }
    }
    arena_free(a);
    return st;
}

Status database_save(Database *db, Err *e) {
    if (!db->path || !db->dirty) return ST_OK;
    int64_t reserve =
        atomic_exchange(&db->account.reserve,
                        INT64_MAX); /* losing what is in memory is worse than going beyond memory_limit for a while */
    Status st = save(db, e);
    atomic_store(&db->account.reserve, reserve);
    return st;
}

void database_close(Database *db) {
    if (!db) return;
    if (db->bulk_hub) db->bulk_hub_free(db->bulk_hub);
    if (db->device_hub) db->device_hub_free(db->device_hub);
    for (int64_t i = 0; i < db->catalog.n_tables; i++) table_free(db->catalog.tables[i]);
    for (int64_t i = 0; i < db->catalog.n_views; i++) view_free(db->catalog.views[i]);
    for (int64_t i = 0; i < db->catalog.n_foreign; i++) foreign_free(db->catalog.foreign[i]);
    for (int64_t i = 0; i < db->catalog.n_routines; i++) routine_free(db->catalog.routines[i]);
    pool_free(db->pool);
    if (db->lock_file) {
        Err ignored = {0};
        db->vfs->close(db->lock_file, &ignored);
    }
    arena_free(db->catalog.arena);
    mem_free(NULL, db, (int64_t)sizeof *db);
}
