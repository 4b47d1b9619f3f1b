/* images.c - images of the tables that bulks use, and procedures prepared for them: what stays from bulk to bulk.
 *
 * An entry has what all procedures so far need of its table, so that procedures that run by turns do not make the image
 * anew each time. The mapping from a procedure's index numbers to the image's is made for each bulk (bulk.c).
 */
#include "txn/run/calls_int.h"

#include "storage/redo.h"
#include "storage/row_home.h"
#include "txn/store/device_copy.h"
#include "txn/store/device_rows.h"
#include "txn/store/home_save.h"

ImageSet *images_new(MemAccount *acct, MemAccount *homes, Err *e) {
    ImageSet *s = mem_calloc(acct, (int64_t)sizeof *s, e);
    if (!s) return NULL;
    mem_account_init(&s->account, acct, "images", 0, NULL);
    s->homes = homes;
    return s;
}

static void entry_release(ImageEntry *x) {
    image_free(x->image);
    arena_free(x->arena);
}
static void drop_programs(ImageSet *s, ProcEntry *x) {
    for (int i = 0; i < x->workers; i++) {
        callframe_free(x->body_frames[i]);
        callframe_free(x->foot_frames[i]);
    }
    mem_free(&s->account, x->body_frames, (int64_t)sizeof(CallFrame *) * x->workers);
    mem_free(&s->account, x->foot_frames, (int64_t)sizeof(CallFrame *) * x->workers);
    progrun_free(x->body);
    progrun_free(x->foot);
    *x = (ProcEntry){.proc = x->proc};
}

void images_drop_kept(ImageSet *s) {
    (void)images_wait_prefetch(s);
    for (int i = 0; !s->prefetched && i < 2; i++) bulk_give_back(&s->numbers[i]);
    for (int i = 0; i < s->n_kept; i++) {
        mem_free(&s->account, s->kept[i].ops, s->kept[i].cap * (int64_t)sizeof(TxnOp));
        s->kept[i] = (KeptOps){0};
    }
    schedule_scratch_free(s->scratch);
    s->scratch = NULL;
}
void images_free(ImageSet *s) {
    if (!s) return;
    (void)images_wait_prefetch(s);
    for (int64_t i = 0; i < s->n; i++) entry_release(&s->entries[i]);
    for (int64_t i = 0; i < s->n_procs; i++) drop_programs(s, &s->procs[i]);
    images_drop_kept(s);
    mem_free(&s->account, s->kept, s->n_kept * (int64_t)sizeof(KeptOps));
    images_drop_queue(s);
    for (int i = 0; i < 2; i++) bulk_give_back(&s->numbers[i]);
    images_drop_code(s, NULL);
    mem_free(&s->account, s->entries, s->cap * (int64_t)sizeof(ImageEntry));
    mem_free(&s->account, s->procs, s->cap_procs * (int64_t)sizeof(ProcEntry));
    mem_free(s->account.parent, s, (int64_t)sizeof *s);
}

ImageEntry *images_entry(ImageSet *s, int64_t table_id) {
    for (int64_t i = 0; i < s->n; i++)
        if (s->entries[i].table_id == table_id) return &s->entries[i];
    return NULL;
}
Image *images_find(ImageSet *s, int64_t table_id) {
    ImageEntry *x = images_entry(s, table_id);
    return x ? x->image : NULL;
}

int64_t images_made(const ImageSet *s) { return s->made; }

/* It has changes that its table has not. */
static bool is_ahead(const ImageEntry *x) { return x->image && image_is_dirty(x->image); }

/* ---- needs ---- */
/* Group g of `want` is one of `need`. */
static bool has_group(const ImageNeed *need, const ImageNeed *want, int32_t g) {
    int32_t n = want->groups[g].n_cols;
    for (int32_t i = 0; i < need->n_groups; i++)
        if (need->groups[i].n_cols == n && need->groups[i].order == want->groups[g].order &&
            need->groups[i].desc == want->groups[g].desc &&
            memcmp(need->groups[i].cols, want->groups[g].cols, sizeof(int32_t) * (size_t)n) == 0)
            return true;
    return false;
}
static bool is_written(const ImageNeed *need, int32_t col) {
    return need->writes ? need->writes[col] : need->cols[col];
}

static bool covers(const ImageNeed *have, const ImageNeed *want) {
    if (want->inserts && !have->inserts) return false;
    for (int32_t i = 0; i < want->table->n_cols; i++)
        if ((want->cols[i] && !have->cols[i]) || (is_written(want, i) && !have->writes[i])) return false;
    for (int32_t i = 0; i < want->n_groups; i++)
        if (!has_group(have, want, i)) return false;
    return true;
}

/* One of them looks rows up by a column that the other writes: no image is for both. */
static bool looks_up_written(const ImageNeed *by, const ImageNeed *writer) {
    for (int32_t g = 0; g < by->n_groups && writer->writes; g++) {
        if (by->groups[g].order && writer->writes[by->groups[g].order - 1]) return true;
        for (int32_t i = 0; i < by->groups[g].n_cols; i++)
            if (writer->writes[by->groups[g].cols[i]]) return true;
    }
    return false;
}
static Status widen(ImageEntry *x, const ImageNeed *want) {
    ImageNeed *have = &x->need;
    have->inserts |= want->inserts;
    for (int32_t i = 0; i < want->table->n_cols; i++) {
        have->cols[i] |= want->cols[i];
        have->writes[i] |= is_written(want, i);
    }
    for (int32_t i = 0; i < want->n_groups; i++) {
        int32_t n = want->groups[i].n_cols;
        if (has_group(have, want, i)) continue;
        void *more = arena_alloc(x->arena, (int64_t)sizeof *have->groups * (have->n_groups + 1));
        int32_t *cols = arena_array(x->arena, int32_t, n);
        if (!more || !cols) return ST_ERROR;
        if (have->n_groups) memcpy(more, have->groups, sizeof *have->groups * (size_t)have->n_groups);
        have->groups = more;
        memcpy(cols, want->groups[i].cols, sizeof *cols * (size_t)n);
        have->groups[have->n_groups] = want->groups[i];
        have->groups[have->n_groups++].cols = cols;
    }
    return ST_OK;
}

static void set_range(Type type, ColumnUse *u) {
    int128_t hi = 0;
    switch (type_phys(type)) {
    case PH_I16: hi = INT16_MAX; break;
    case PH_I32: hi = INT32_MAX; break;
    case PH_I64: hi = INT64_MAX; break;
    default: break;
    }
    u->hi = hi;
    u->lo = -hi - 1;
    if (type.id == T_NUMERIC) {
        u->hi = pow10_i128[type.precision] - 1;
        u->lo = -u->hi;
    }
}

static Status add_entry(ImageSet *s, Table *t, ImageEntry **out, Err *e) {
    if (s->n == s->cap) {
        int64_t cap = s->cap ? s->cap * 2 : 8, size = (int64_t)sizeof(ImageEntry);
        ImageEntry *p = mem_realloc(&s->account, s->entries, s->cap * size, cap * size, e);
        if (!p) return ST_ERROR;
        s->entries = p;
        s->cap = cap;
    }
    ImageEntry *x = &s->entries[s->n];
    if (s->homes) table_set_home_account(t, s->homes);
    *x = (ImageEntry){.table_id = t->id, .arena = arena_new(&s->account, e)};
    if (!x->arena) return ST_ERROR;
    x->need = (ImageNeed){
        .table = t, .cols = arena_array(x->arena, bool, t->n_cols), .writes = arena_array(x->arena, bool, t->n_cols)};
    x->cols = arena_array(x->arena, ColumnUse, t->n_cols);
    x->bound = arena_array(x->arena, int128_t, t->n_cols);
    if (!x->need.cols || !x->need.writes || !x->cols || !x->bound) {
        arena_free(x->arena);
        return err_oom(e);
    }
    for (int i = 0; i < t->n_cols; i++) {
        set_range(t->cols[i].type, &x->cols[i]);
        x->bound[i] = -1;
    }
    s->n++;
    *out = x;
    return ST_OK;
}

static Table *table_by_id(const Catalog *c, int64_t id) {
    for (int64_t i = 0; i < c->n_tables; i++)
        if (c->tables[i]->id == id) return c->tables[i];
    return NULL;
}

/* It is what the table is, and has the room for the rows that the table expects (which may have been set since). */
static bool is_good(const ImageEntry *x) {
    const Table *t = x->need.table;
    return x->image && x->image->version == t->content && !(x->need.inserts && x->image->cap < t->expected_rows);
}
static void drop_image(ImageSet *s, ImageEntry *x) {
    (void)images_wait_prefetch(s);
    image_free(x->image);
    x->image = NULL;
    x->garbage = 0;
    for (int i = 0; i < x->need.table->n_cols; i++) x->bound[i] = -1;
}
static Status make_image(ImageSet *s, ImageEntry *x, Pool *pool, Err *e) {
    if (is_ahead(x)) return err_internal(e, "the image of table \"%s\" is ahead of it", x->need.table->name);
    drop_image(s, x);
    s->made++;
    return image_make(&x->need, &s->account, pool, &x->image, e);
}

bool images_fit(ImageSet *s, const Catalog *c, int32_t n, const Proc *const *procs) {
    for (int32_t i = 0; i < n; i++)
        for (int32_t k = 0; k < procs[i]->n_tables; k++) {
            const ProcTable *pt = &procs[i]->tables[k];
            const ImageEntry *x = images_entry(s, pt->table_id);
            if (!x || !x->image ||
                (x->need.table == table_by_id(c, pt->table_id) && covers(&x->need, &pt->need) && is_good(x)))
                continue;
            if (is_ahead(x)) return false;
        }
    return true;
}

/* Entries go that are of another table than the procedure's, or that procedures of other bulks have made unfit for it.
 */
static Status forget_others(ImageSet *s, const Catalog *c, const Proc *p, Err *e) {
    for (int32_t k = 0; k < p->n_tables; k++) {
        const ProcTable *pt = &p->tables[k];
        const Table *t = table_by_id(c, pt->table_id);
        if (!t) return err_internal(e, "%s: a table of it is gone", p->name);
        const ImageEntry *x = images_entry(s, pt->table_id);
        if (x && (x->need.table != t || looks_up_written(&x->need, &pt->need) || looks_up_written(&pt->need, &x->need)))
            images_forget(s, pt->table_id);
    }
    return ST_OK;
}
Status images_get(ImageSet *s, const Catalog *c, int32_t n, const Proc *const *procs, Pool *pool, Err *e) {
    if (!images_fit(s, c, n, procs)) TRY(images_sync(s, NULL, e));
    for (int32_t i = 0; i < n; i++) TRY(forget_others(s, c, procs[i], e));
    for (int32_t i = 0; i < n; i++)
        for (int32_t k = 0; k < procs[i]->n_tables; k++) {
            const ProcTable *pt = &procs[i]->tables[k];
            ImageEntry *x = images_entry(s, pt->table_id);
            if (!x) TRY(add_entry(s, table_by_id(c, pt->table_id), &x, e));
            x->idle = 0;
            if (covers(&x->need, &pt->need)) continue;
            drop_image(s, x);
            if (widen(x, &pt->need) != ST_OK) return err_oom(e);
        }
    for (int32_t i = 0; i < n; i++)
        for (int32_t k = 0; k < procs[i]->n_tables; k++) {
            ImageEntry *x = images_entry(s, procs[i]->tables[k].table_id);
            if (!is_good(x)) TRY(make_image(s, x, pool, e));
        }
    return ST_OK;
}

bool images_current(ImageSet *s, const Table *t) {
    const Image *im = images_find(s, t->id);
    return im && im->table == t && im->version == t->content;
}
bool images_only_there(const Image *im) { return device_copy_newer(im); }
bool images_on_device(const ImageSet *s) {
    for (int64_t i = 0; i < s->n; i++)
        if (s->entries[i].image && device_copy_newer(s->entries[i].image)) return true;
    return false;
}
bool images_ahead(const ImageSet *s) {
    int64_t i = 0;
    while (i < s->n && !is_ahead(&s->entries[i])) i++;
    return i < s->n;
}
Status images_view(ImageSet *s, const Table *t, const Table **out, bool *there, Err *e) {
    Image *im = images_find(s, t->id);
    *out = NULL;
    *there = !im || images_current(s, t);
    if (!im || !*there) return ST_OK;
    if (device_copy_newer(im)) return device_rows_view(im, out, e);
    *there = !is_ahead(images_entry(s, t->id));
    return ST_OK;
}
Status images_home(ImageSet *s, Err *e) {
    for (int64_t i = 0; i < s->n; i++)
        if (s->entries[i].image) TRY(device_copy_to_host(s->entries[i].image, e));
    return ST_OK;
}
ImagesWatch images_watch(ImageSet *s, ImagesWatch w) {
    const ImagesWatch before = s->watch;
    s->watch = w;
    return before;
}
static Status sync_entry(ImageSet *s, const ImageEntry *x, UndoLog *undo, Err *e) {
    if (!is_ahead(x)) return ST_OK;
    if (!s->watch.synced) return image_sync(x->image, undo, e);
    RowNumbers numbers = {.arena = arena_new(&s->account, e)};
    if (!numbers.arena) return ST_ERROR;
    const Status st = sync_numbered(x->image, undo, &numbers, e);
    if (st == ST_OK) s->watch.synced(s->watch.ctx, x->image->table, &numbers);
    arena_free(numbers.arena);
    return st;
}
/* Everything comes to the host before the first table changes: a device that is lost on the way leaves all tables as
 * they were. */
/* Urgent, as bulks are: other statements wait for it. */
Status images_sync(ImageSet *s, UndoLog *undo, Err *e) {
    pool_urgent_begin();
    Status st = images_home(s, e);
    for (int64_t i = 0; i < s->n && st == ST_OK; i++) st = sync_entry(s, &s->entries[i], undo, e);
    pool_urgent_end();
    return st;
}
Status images_sync_table(ImageSet *s, int64_t table_id, UndoLog *undo, Err *e) {
    const ImageEntry *x = images_entry(s, table_id);
    if (!x) return ST_OK;
    TRY(images_home(s, e));
    return sync_entry(s, x, undo, e);
}

Status images_settle(ImageSet *s, int32_t n, const Proc *const *procs, Err *e) {
    for (int32_t i = 0; i < n; i++)
        for (int32_t k = 0; k < procs[i]->n_tables; k++)
            TRY(home_settle(images_find(s, procs[i]->tables[k].table_id), e));
    return ST_OK;
}
Status images_leave(ImageSet *s, int32_t n, const Proc *const *procs, Err *e) {
    for (int32_t i = 0; i < n; i++)
        for (int32_t k = 0; k < procs[i]->n_tables; k++)
            TRY(home_leave(images_find(s, procs[i]->tables[k].table_id), e));
    return ST_OK;
}
struct ImagesSave {
    int64_t n;
    struct SavedImage {
        int64_t table_id;
        HomeSave *home;
    } * images;
};
/* The image of a table of these procedures; NULL: of another, or none. */
static Image *image_of(const ImageEntry *x, int32_t n, const Proc *const *procs) {
    for (int32_t i = 0; i < n; i++)
        for (int32_t k = 0; k < procs[i]->n_tables; k++)
            if (procs[i]->tables[k].table_id == x->table_id) return x->image;
    return NULL;
}
int64_t images_save_bytes(const ImageSet *s, int32_t n, const Proc *const *procs) {
    int64_t bytes = 0;
    for (int64_t i = 0; i < s->n; i++) {
        const Image *im = image_of(&s->entries[i], n, procs);
        if (im) bytes += home_save_bytes(im);
    }
    return bytes;
}
Status images_save(const ImageSet *s, int32_t n, const Proc *const *procs, Pool *pool, Arena *a, ImagesSave **out,
                   Err *e) {
    ImagesSave *x = arena_new_of(a, ImagesSave);
    if (!x || !(x->images = arena_array(a, struct SavedImage, s->n + 1))) return err_oom(e);
    for (int64_t i = 0; i < s->n; i++) {
        const Image *im = image_of(&s->entries[i], n, procs);
        if (!im) continue;
        struct SavedImage *to = &x->images[x->n++];
        to->table_id = s->entries[i].table_id;
        TRY(home_save(im, pool, a, &to->home, e));
    }
    *out = x;
    return ST_OK;
}
void images_undo(ImageSet *s, const ImagesSave *x) {
    for (int64_t i = 0; x && i < x->n; i++) home_put_back(images_find(s, x->images[i].table_id), x->images[i].home);
    while (s->n > 0) images_forget(s, s->entries[0].table_id);
}
bool images_in_use(ImageSet *s, int64_t table_id) {
    ImageEntry *x = images_entry(s, table_id);
    return x && x->image && x->idle++ < IMAGES_IDLE;
}
bool images_settled(const ImageSet *s) {
    for (int64_t i = 0; i < s->n; i++)
        if (s->entries[i].image && home_is_settled(s->entries[i].image)) return true;
    return false;
}

int64_t images_garbage_at_most(const ImageSet *s, int64_t *grown) {
    int64_t found = 0;
    *grown = 0;
    for (int64_t i = 0; i < s->n; i++) {
        if (!s->entries[i].image) continue;
        *grown += garbage_growth(s->entries[i].image);
        found += s->entries[i].garbage;
    }
    return found + *grown;
}
Status images_garbage(ImageSet *s, int64_t *bytes, Err *e) {
    *bytes = 0;
    for (int64_t i = 0; i < s->n; i++) {
        ImageEntry *x = &s->entries[i];
        x->garbage = 0;
        if (x->image) TRY(garbage_bytes(x->image, &x->garbage, e));
        *bytes += x->garbage;
    }
    return ST_OK;
}
int64_t images_garbage_of(ImageSet *s, int64_t table_id) {
    const ImageEntry *x = images_entry(s, table_id);
    return x && x->image ? x->garbage : 0;
}
void images_drop(ImageSet *s, int64_t table_id) {
    ImageEntry *x = images_entry(s, table_id);
    if (x && !is_ahead(x)) drop_image(s, x);
}

void images_drop_all(ImageSet *s) {
    for (int64_t i = 0; i < s->n; i++) images_drop(s, s->entries[i].table_id);
    images_drop_kept(s);
}
Status images_trim(ImageSet *s, Err *e) {
    images_drop_prefetched(s); /* made for rows as they lie now */
    images_drop_kept(s);
    for (int64_t i = 0; i < s->n; i++)
        if (s->entries[i].image) TRY(room_trim(s->entries[i].image, e));
    return ST_OK;
}

void images_forget(ImageSet *s, int64_t table_id) {
    ImageEntry *x = images_entry(s, table_id);
    if (!x) return;
    (void)images_wait_prefetch(s);
    entry_release(x);
    *x = s->entries[--s->n];
    if (s->n == 0) images_drop_kept(s);
}

void images_forget_unneeded(ImageSet *s, const ImageNeed *(*need)(const void *ctx, int64_t table_id), const void *ctx) {
    for (int64_t i = s->n - 1; i >= 0; i--) {
        const ImageNeed *have = &s->entries[i].need, *want = need(ctx, s->entries[i].table_id);
        bool wanted = true;
        for (int32_t g = 0; g < have->n_groups; g++) wanted &= want && has_group(want, have, g);
        if (!wanted) images_forget(s, s->entries[i].table_id);
    }
}

/* ---- procedures ---- */
void images_forget_proc(ImageSet *s, const Proc *proc) {
    images_drop_code(s, proc);
    for (int64_t i = 0; i < s->n_procs; i++)
        if (s->procs[i].proc == proc) {
            drop_programs(s, &s->procs[i]);
            s->procs[i] = s->procs[--s->n_procs];
            return;
        }
}

static Status more_workers(ImageSet *s, ProcEntry *x, int workers, Err *e) {
    int64_t had = (int64_t)sizeof(CallFrame *) * x->workers, want = (int64_t)sizeof(CallFrame *) * workers;
    CallFrame **body = mem_calloc(&s->account, want, e), **foot = mem_calloc(&s->account, want, e);
    if (!body || !foot) {
        mem_free(&s->account, body, want);
        mem_free(&s->account, foot, want);
        return ST_ERROR;
    }
    if (had) {
        memcpy(body, x->body_frames, (size_t)had);
        memcpy(foot, x->foot_frames, (size_t)had);
    }
    mem_free(&s->account, x->body_frames, had);
    mem_free(&s->account, x->foot_frames, had);
    x->body_frames = body;
    x->foot_frames = foot;
    x->workers = workers;
    return ST_OK;
}

Status images_proc(ImageSet *s, const Proc *proc, bool foot, int64_t vector_size, int workers, ProcEntry **out,
                   Err *e) {
    ProcEntry *x = NULL;
    for (int64_t i = 0; i < s->n_procs && !x; i++)
        if (s->procs[i].proc == proc) x = &s->procs[i];
    if (!x) {
        if (s->n_procs == s->cap_procs) {
            int64_t cap = s->cap_procs ? s->cap_procs * 2 : 8, size = (int64_t)sizeof(ProcEntry);
            ProcEntry *p = mem_realloc(&s->account, s->procs, s->cap_procs * size, cap * size, e);
            if (!p) return ST_ERROR;
            s->procs = p;
            s->cap_procs = cap;
        }
        x = &s->procs[s->n_procs++];
        *x = (ProcEntry){.proc = proc};
    }
    if (x->body && (x->body->asked != vector_size || (x->body->vm->has_strings && ++x->uses > PROC_USES_MAX)))
        drop_programs(s, x);
    if (!x->body) TRY(progrun_new(proc, true, vector_size, &s->account, &x->body, e));
    if (foot && !x->foot) TRY(progrun_new(proc, false, vector_size, &s->account, &x->foot, e));
    if (x->workers < workers) TRY(more_workers(s, x, workers, e));
    for (int i = 0; i < workers; i++) {
        if (!x->body_frames[i]) TRY(callframe_new(x->body, i, &x->body_frames[i], e));
        if (foot && !x->foot_frames[i]) TRY(callframe_new(x->foot, i, &x->foot_frames[i], e));
    }
    *out = x;
    return ST_OK;
}
