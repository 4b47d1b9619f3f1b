/* redo_show.c - see redo_show.h. */
#include "db/redo_show.h"

#include <inttypes.h>

#include "base/key.h"
#include "db/catalog_changes.h"
#include "db/redo_walk.h"
#include "types/lsn.h"

typedef struct Showing {
    const RedoShow *to;
    RedoWalk *w;
    RedoShown part;
    const Table *t; /* of the part's rows */
    bool stop;
    Arena *a; /* of a row */
    Err *e;
} Showing;

static const char *const changes[] = {[REDO_DELETED] = "delete", [REDO_UPDATED] = "update", [REDO_INSERTED] = "insert"};

/* ---- rows ---- */
static Status show_row(Showing *x, const RedoChange *c, int64_t i) {
    const char **names = arena_array(x->a, const char *, c->n_set + 1);
    const char **values = arena_array(x->a, const char *, c->n_set + 1);
    if (!names || !values) return ST_ERROR;
    for (int k = 0; k < c->n_set; k++) {
        const Column *col = &x->t->cols[c->cols[k]];
        const Value v = vec_value(&c->vals[k], i, col->type);
        int64_t len;
        names[k] = col->name;
        values[k] = v.is_null ? NULL : value_to_text(x->a, &v, &len);
        if (!v.is_null && !values[k]) return err_is_set(x->e) ? ST_ERROR : err_oom(x->e);
    }
    const RedoShownRow r = {
        .change = changes[c->kind], .row = c->rows[i], .n = c->n_set, .names = names, .values = values};
    x->stop = x->to->row(x->to->ctx, &r);
    return ST_OK;
}
static Status count_rows(void *ctx, const RedoChange *c, bool *valid, Err *e) {
    Showing *x = ctx;
    int64_t *const counts[] = {
        [REDO_DELETED] = &x->part.deleted, [REDO_UPDATED] = &x->part.updated, [REDO_INSERTED] = &x->part.inserted};
    (void)valid, (void)e;
    *counts[c->kind] += c->n;
    return ST_OK;
}
static Status each_row(void *ctx, const RedoChange *c, bool *valid, Err *e) {
    Showing *x = ctx;
    (void)valid, (void)e;
    for (int64_t i = 0; i < c->n && !x->stop; i++) {
        arena_reset(x->a);
        TRY(show_row(x, c, i));
    }
    return ST_OK;
}

/* ---- parts ---- */
static const char *shown_name(Showing *x, const char *key) {
    const char *name = keys_dotted(x->w->a, key);
    return name && !key_has_schema(key) ? arena_printf(x->w->a, "public.%s", name) : name;
}
/* Of a sequence that is gone by then: its number. */
static Status name_object(Showing *x, const RedoPart *p) {
    const Catalog *c;
    const char *key = NULL;
    switch (p->kind) {
    case REDO_CATALOG:
    case REDO_DEFINITIONS:
    case REDO_BULK: return ST_OK;
    case REDO_OUTCOME: {
        char lsn[LSN_TEXT_MAX + 1] = {0};
        (void)lsn_format(lsn_cell((uint64_t)p->id), lsn);
        x->part.object = arena_strndup(x->w->a, lsn, (int64_t)strlen(lsn));
        return x->part.object ? ST_OK : ST_ERROR;
    }
    case REDO_NEXT:
        x->part.file = arena_printf(x->w->a, "g%" PRId64 "/log", p->id);
        return x->part.file ? ST_OK : ST_ERROR;
    case REDO_SEQUENCE:
        TRY(redo_walk_catalog(x->w, &c));
        const Sequence *q = catalog_sequence_by_id(c, p->id);
        key = q ? q->name : NULL;
        break;
    case REDO_TABLE:
    case REDO_NUMBERS:
    case REDO_ROWS:
        TRY(redo_walk_table(x->w, p, &x->t));
        key = x->t->name;
        break;
    }
    x->part.object = key ? shown_name(x, key) : arena_printf(x->w->a, "%" PRId64, p->id);
    return x->part.object ? ST_OK : ST_ERROR;
}
/* Each object that has come, gone or changed; when what has changed is none, as a comment, a line without one. */
static Status show_definitions(Showing *x) {
    const RedoWalk *w = x->w;
    const Catalog *now;
    CatalogChanges l = {0};
    if (w->has_before) {
        TRY(redo_walk_catalog(x->w, &now));
        TRY(catalog_changes(&w->before, now, w->a, &l, x->e));
    }
    for (int64_t i = 0; i < l.len && !x->stop; i++) {
        x->part.kind = l.items[i].what;
        x->part.object = l.items[i].in_schema ? shown_name(x, l.items[i].key) : l.items[i].key;
        if (!x->part.object) return ST_ERROR;
        x->stop = x->to->part(x->to->ctx, &x->part);
        x->part.first = false;
    }
    if (l.len == 0) x->stop = x->to->part(x->to->ctx, &x->part);
    return ST_OK;
}
static Status show_part(Showing *x, RedoPart *p, bool first) {
    const RedoWalk *w = x->w;
    const RedoLogId *log = &redo_chain_last(&w->chain)->reader.id;
    x->part = (RedoShown){.database = log->database,
                          .timeline = log->timeline,
                          .generation = log->generation,
                          .lsn = w->record.lsn,
                          .bytes = w->record.size,
                          .first = first,
                          .kind = p->name,
                          .object = "",
                          .file = p->file ? p->file : "",
                          .last = p->last};
    if (p->kind == REDO_DEFINITIONS) return show_definitions(x);
    TRY(name_object(x, p));
    RedoPart again = *p;
    if (p->kind == REDO_ROWS) TRY(redo_walk_rows(x->w, p, x->t, count_rows, x));
    x->stop = x->to->part(x->to->ctx, &x->part);
    if (p->kind != REDO_ROWS || !x->to->row || x->stop) return ST_OK;
    return redo_walk_rows(x->w, &again, x->t, each_row, x);
}
static Status show_records(Showing *x, int64_t from) {
    bool record = true;
    while (record && !x->stop) {
        bool got = true, first = true;
        TRY(redo_walk_record(x->w, &record));
        while (record && got && !x->stop) {
            RedoPart p;
            TRY(redo_walk_part(x->w, &p, &got));
            if (got && x->w->record.lsn >= from) TRY(show_part(x, &p, first));
            first = false;
        }
    }
    return ST_OK;
}
static Status show_logs(ClosedDir *d, int64_t from, const RedoShow *to, Err *e) {
    RedoWalk w;
    Current current;
    bool there;
    TRY(closed_dir_current(d, &current, e));
    if (current.generation == 0) return ST_OK;
    Status st = redo_walk_begin(&w, d, &current, &there, e);
    w.compares = true;
    if (st == ST_OK && there) {
        Showing x = {.to = to, .w = &w, .a = arena_new(&d->account, e), .e = e};
        if (x.a) arena_set_err(x.a, e);
        st = x.a ? show_records(&x, from) : ST_ERROR;
        arena_free(x.a);
    }
    redo_walk_end(&w);
    return st;
}
Status redo_show(Vfs *vfs, const char *path, int64_t from, const RedoShow *to, Err *e) {
    ClosedDir d;
    TRY(closed_dir_open(&d, vfs, path, e));
    const Status st = show_logs(&d, from, to, e);
    closed_dir_close(&d);
    return st;
}
