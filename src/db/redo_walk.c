/* redo_walk.c - see redo_walk.h. */
#include "db/redo_walk.h"

#include "db/catalog_file.h"

Status redo_walk_begin(RedoWalk *w, ClosedDir *dir, const Current *current, bool *there, Err *e) {
    *w = (RedoWalk){.dir = dir, .e = e};
    w->chain = (RedoChain){.vfs = dir->vfs, .path = dir->path, .a = dir->a, .current = *current};
    w->catalog_path = closed_dir_file(dir, current->generation, "catalog");
    if (!w->catalog_path || !(w->a = arena_new(&dir->account, e))) return ST_ERROR;
    arena_set_err(w->a, e);
    TRY(generations_list(dir->vfs, dir->path, dir->a, &w->chain.all, e));
    return redo_chain_open(&w->chain, there, e);
}
static void forget_catalog(RedoWalk *w) {
    if (w->loaded) closed_catalog_free(&w->catalog);
    if (w->has_before) closed_catalog_free(&w->before);
    w->loaded = w->has_before = false;
}
void redo_walk_end(RedoWalk *w) {
    forget_catalog(w);
    redo_chain_close(&w->chain);
    bytes_out_release(&w->image);
    arena_free(w->a);
    *w = (RedoWalk){0};
}

Status redo_walk_damaged(const RedoWalk *w, const char *how) {
    const RedoReader *in = &redo_chain_last(&w->chain)->reader;
    return err_corrupted(w->e, in->path, w->record.bytes - in->p, how);
}
Status redo_walk_record(RedoWalk *w, bool *got) {
    arena_reset(w->a);
    TRY(redo_chain_next(&w->chain, &w->record, got, w->e));
    if (*got) w->in = (BytesIn){.p = w->record.bytes, .len = w->record.n, .arena = w->a};
    return ST_OK;
}
static Status check_place(RedoWalk *w, const RedoPart *p) {
    if (p->kind == REDO_OUTCOME && !(w->bulks && p->id == w->inputs_lsn))
        return redo_walk_damaged(w, "a record of the redo log is of a bulk that there is not");
    if (p->file && w->bulks) return redo_walk_damaged(w, "a record of the redo log names a file behind a bulk");
    if (p->kind != REDO_BULK) return ST_OK;
    w->bulks = true;
    w->inputs_lsn = w->record.lsn;
    return ST_OK;
}
/* The bytes of the catalog as of the part. XX001 */
static Status read_image(RedoWalk *w, Err *e) {
    if (w->image.len > 0) return ST_OK;
    w->image = (BytesOut){.acct = &w->dir->account, .e = e};
    const Status st = catalog_file_get(w->dir->vfs, w->catalog_path, &w->image, e);
    w->image.e = w->e;
    return st;
}
/* The catalog becomes another one. */
static Status define(RedoWalk *w, const RedoPart *p) {
    Err why = {0};
    const Catalog *before;
    bool valid;
    if (w->lost) return ST_OK;
    if (read_image(w, &why) != ST_OK) {
        w->lost = strncmp(why.sqlstate, "53", 2) != 0;
        bytes_out_release(&w->image);
        return w->lost ? ST_OK : (err_copy(w->e, &why), ST_ERROR);
    }
    if (w->compares) TRY(redo_walk_catalog(w, &before));
    BytesOut now = {.acct = &w->dir->account, .e = w->e};
    const Status st = redo_apply_definitions(p, &w->image, &now, &valid, w->e);
    bytes_out_release(&w->image);
    w->image = now;
    if (w->has_before) closed_catalog_free(&w->before);
    w->has_before = w->loaded && w->compares;
    if (w->has_before) w->before = w->catalog;
    else if (w->loaded) closed_catalog_free(&w->catalog);
    w->loaded = false;
    return st == ST_OK && !valid ? redo_walk_damaged(w, "definitions of the redo log do not fit the catalog") : st;
}
Status redo_walk_part(RedoWalk *w, RedoPart *out, bool *got) {
    *got = w->in.at < w->in.len;
    if (!*got) return ST_OK;
    redo_get_part(&w->in, out);
    if (w->in.failed) return err_is_set(w->e) ? ST_ERROR : redo_walk_damaged(w, "a record of the redo log is invalid");
    TRY(check_place(w, out));
    if (out->kind == REDO_DEFINITIONS) return define(w, out);
    if (out->kind != REDO_CATALOG) return ST_OK;
    forget_catalog(w);
    w->lost = false;
    bytes_out_release(&w->image);
    w->catalog_path = closed_dir_file(w->dir, redo_chain_last(&w->chain)->generation, out->file);
    return w->catalog_path ? ST_OK : ST_ERROR;
}
Status redo_walk_catalog(RedoWalk *w, const Catalog **out) {
    *out = &w->catalog;
    if (w->loaded) return ST_OK;
    w->loaded = redo_walk_copy(w, &w->catalog, w->e) == ST_OK;
    if (!w->loaded) closed_catalog_free(&w->catalog);
    return w->loaded ? ST_OK : ST_ERROR;
}
Status redo_walk_copy(RedoWalk *w, Catalog *out, Err *e) {
    *out = (Catalog){0};
    TRY(read_image(w, e));
    return closed_catalog_read(w->dir, w->catalog_path, w->image.p, w->image.len, out, e);
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
    TRY(redo_read(t, most, &w->dir->account, &p->bytes, each, ctx, &valid, w->e));
    return valid ? ST_OK : redo_walk_damaged(w, "a record of the redo log has rows that do not fit their table");
}
