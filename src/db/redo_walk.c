/* redo_walk.c - see redo_walk.h. */
#include "db/redo_walk.h"

Status redo_walk_begin(RedoWalk *w, ClosedDir *dir, int64_t generation, bool *there, Err *e) {
    *w = (RedoWalk){.dir = dir, .generation = generation, .e = e};
    const char *path = closed_dir_file(dir, generation, "log");
    w->catalog_path = closed_dir_file(dir, generation, "catalog");
    if (!path || !w->catalog_path) return ST_ERROR;
    TRY(redo_reader_open(dir->vfs, path, &w->reader, there, e));
    if (!*there) return ST_OK;
    if (!(w->a = arena_new(&dir->account, e))) {
        redo_reader_close(&w->reader);
        return ST_ERROR;
    }
    arena_set_err(w->a, e);
    if (w->reader.generation == generation) return ST_OK;
    (void)err_corrupted(e, path, 16, "the redo log is of another generation");
    redo_walk_end(w);
    return ST_ERROR;
}
static void forget_catalog(RedoWalk *w) {
    if (w->loaded) closed_catalog_free(&w->catalog);
    w->loaded = false;
}
void redo_walk_end(RedoWalk *w) {
    forget_catalog(w);
    redo_reader_close(&w->reader);
    arena_free(w->a);
    *w = (RedoWalk){0};
}

Status redo_walk_damaged(const RedoWalk *w, const char *how) {
    return err_corrupted(w->e, w->reader.path, w->record.bytes - w->reader.p, how);
}
Status redo_walk_record(RedoWalk *w, bool *got) {
    const int64_t at = w->reader.at;
    arena_reset(w->a);
    TRY(redo_reader_next(&w->reader, &w->record, got, w->e));
    if (!*got) return ST_OK;
    w->n_records++;
    w->bytes = w->reader.at - at;
    w->in = (BytesIn){.p = w->record.bytes, .len = w->record.n, .arena = w->a};
    return ST_OK;
}
Status redo_walk_part(RedoWalk *w, RedoPart *out, bool *got) {
    *got = w->in.at < w->in.len;
    if (!*got) return ST_OK;
    redo_get_part(&w->in, out);
    if (w->in.failed) return err_is_set(w->e) ? ST_ERROR : redo_walk_damaged(w, "a record of the redo log is invalid");
    if (out->kind != REDO_CATALOG) return ST_OK;
    forget_catalog(w);
    w->catalog_path = closed_dir_file(w->dir, w->generation, out->file);
    return w->catalog_path ? ST_OK : ST_ERROR;
}
Status redo_walk_catalog(RedoWalk *w, const Catalog **out) {
    *out = &w->catalog;
    if (w->loaded) return ST_OK;
    w->loaded = closed_catalog_load(w->dir, w->catalog_path, &w->catalog, w->e) == ST_OK;
    if (!w->loaded) closed_catalog_free(&w->catalog);
    return w->loaded ? ST_OK : ST_ERROR;
}
Status redo_walk_table(RedoWalk *w, const RedoPart *p, const Table **out) {
    const Catalog *c;
    int64_t i = 0;
    TRY(redo_walk_catalog(w, &c));
    while (i < c->n_tables && c->tables[i]->id != p->id) i++;
    if (i == c->n_tables) return redo_walk_damaged(w, "a record of the redo log is of a table that there is not");
    *out = c->tables[i];
    return ST_OK;
}
Status redo_walk_rows(RedoWalk *w, RedoPart *p, const Table *t, RedoEach each, void *ctx) {
    const int64_t most = INT64_C(1) << 40; /* how many rows the table has is not known here */
    bool valid;
    TRY(redo_read(t, most, &w->dir->account, &p->rows, each, ctx, &valid, w->e));
    return valid ? ST_OK : redo_walk_damaged(w, "a record of the redo log has rows that do not fit their table");
}
