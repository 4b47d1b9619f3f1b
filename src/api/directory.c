/* directory.c - directories of databases that are not open: stele_check, stele_read_log. Contracts are in stele.h. */
#include "api/api_int.h"
#include "db/check.h"
#include "db/redo_show.h"

static _Thread_local Err directory_error;

static stele_status result(Status st, stele_error_info *error) {
    if (st == ST_OK) return STELE_OK;
    api_fill_error(&directory_error, error);
    return STELE_ERROR;
}

/* ---- files ---- */
typedef struct Checking {
    void (*file)(void *ctx, const stele_checked_file *f);
    void *ctx;
} Checking;

static void each_file(void *ctx, const CheckedFile *f) {
    const Checking *c = ctx;
    const stele_checked_file out = {.name = f->name,
                                    .what = f->what,
                                    .state = check_state_names[f->state],
                                    .bytes = f->bytes,
                                    .offset = f->offset,
                                    .problem = f->problem};
    if (c->file) c->file(c->ctx, &out);
}
/* A copy of a directory may have no LOCK, which opening it read-only needs. */
static bool has_lock(const char *path, Vfs *vfs) {
    bool there = false;
    Err ignored = {0};
    Arena *a = arena_new(NULL, &ignored);
    const char *lock = a ? arena_printf(a, "%s/LOCK", path) : NULL;
    if (lock) (void)vfs->exists(vfs, lock, &there, &ignored);
    arena_free(a);
    return there;
}
/* All files are as they were written: they make a database. */
static void try_opening(const char *path, Vfs *vfs, const CheckEach *each, int64_t *bad) {
    const stele_options read_only = {.threads = 1, .existing = true, .read_only = true};
    stele_error_info e;
    stele_db *db = NULL;
    CheckedFile f = {.name = "", .what = "the database, with its log", .offset = -1, .problem = ""};
    if (api_open(path, &read_only, vfs, &db, &e) != STELE_OK) {
        f.state = CHECK_DAMAGED;
        f.problem = e.message;
        ++*bad;
    }
    each->fn(each->ctx, &f);
    (void)stele_discard(db);
}
stele_status api_check(const char *path, Vfs *vfs, void (*file)(void *ctx, const stele_checked_file *f), void *ctx,
                       int64_t *bad, stele_error_info *error) {
    Checking c = {file, ctx};
    const CheckEach each = {each_file, &c};
    err_clear(&directory_error);
    *bad = 0;
    const Status st = check_directory(vfs, path, &each, bad, &directory_error);
    if (st == ST_OK && *bad == 0 && has_lock(path, vfs)) try_opening(path, vfs, &each, bad);
    return result(st, error);
}
stele_status stele_check(const char *path, void (*file)(void *ctx, const stele_checked_file *f), void *ctx,
                         int64_t *bad, stele_error_info *error) {
    return api_check(path, vfs_posix(), file, ctx, bad, error);
}

/* ---- the log ---- */
typedef struct Reading {
    bool (*part)(void *ctx, const stele_log_part *p);
    bool (*row)(void *ctx, const stele_log_row *r);
    void *ctx;
} Reading;

static bool each_part(void *ctx, const RedoShown *p) {
    const Reading *r = ctx;
    const stele_log_part out = {.generation = p->generation,
                                .timeline = p->timeline,
                                .database = (uint64_t)p->database,
                                .lsn = p->lsn,
                                .bytes = p->bytes,
                                .first = p->first,
                                .kind = p->kind,
                                .object = p->object,
                                .file = p->file,
                                .inserted = p->inserted,
                                .updated = p->updated,
                                .deleted = p->deleted,
                                .last = p->last};
    return r->part(r->ctx, &out);
}
static bool each_row(void *ctx, const RedoShownRow *x) {
    const Reading *r = ctx;
    const stele_log_row out = {.change = x->change, .row = x->row, .n = x->n, .names = x->names, .values = x->values};
    return r->row(r->ctx, &out);
}
stele_status api_read_log(const char *path, Vfs *vfs, int64_t from_lsn,
                          bool (*part)(void *ctx, const stele_log_part *p),
                          bool (*row)(void *ctx, const stele_log_row *r), void *ctx, stele_error_info *error) {
    Reading r = {part, row, ctx};
    const RedoShow to = {.part = each_part, .row = row ? each_row : NULL, .ctx = &r};
    err_clear(&directory_error);
    return result(redo_show(vfs, path, from_lsn, &to, &directory_error), error);
}
stele_status stele_read_log(const char *path, int64_t from_lsn, bool (*part)(void *ctx, const stele_log_part *p),
                            bool (*row)(void *ctx, const stele_log_row *r), void *ctx, stele_error_info *error) {
    return api_read_log(path, vfs_posix(), from_lsn, part, row, ctx, error);
}
