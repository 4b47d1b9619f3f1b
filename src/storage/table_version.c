/* table_version.c - see table_version.h.
 *
 * A version is one allocation: itself, the Table that readers get, that one's columns, keys and their indexes, tablets
 * and the bytes of most common values. It counts headers of tablets, frozen dictionaries and slots of indexes, which it
 * shares with the version before where nothing has changed. Publishing costs a few nanoseconds a tablet and the copying
 * of what has changed.
 *
 * Who frees what: the last version with a header frees the header, which gives up the tablet and its shared cells; so
 * do dictionaries and slots. TableVersions counts the table and all of its versions; the last of them frees the Table's
 * memory, to whose account all that was charged.
 */
#include "base/mutex.h"
#include "storage/table_version.h"

#include "storage/row_home.h"
#include "storage/storage_int.h"

/* A tablet as of some version: what readers see. */
typedef struct VersionTablet {
    Tablet tab;           /* first */
    _Atomic int64_t refs; /* versions */
    Tablet *origin;       /* counted in its block */
    int64_t changes;      /* of the block at that time */
    int64_t bytes;        /* of this allocation */
    int64_t home_bytes;   /* of copies of cells of homes */
    int64_t copied;       /* bytes of patches that the version does not share; about */
    SharedBytes **cells;  /* by column, NULL: not open; counted. NULL: no column was ever opened or patched */
} VersionTablet;

typedef struct TableVersions {
    EpochNode node; /* retired when the table is freed */
    Table *table;
    EpochDomain *domain;
    TableVersion *_Atomic current;
    _Atomic int64_t holds; /* the table, and each version */
    Mutex lock;            /* a leaf: the list of installed versions that have not been freed */
    TableVersion *newest;
} TableVersions;

struct TableVersion {
    EpochNode node; /* first */
    TableVersions *owner;
    TableVersion *newer, *older;
    int64_t bytes; /* of this allocation */
    VersionCost cost;
    Table view;
    struct TableImpl impl; /* the view's */
};

static const TableVersion *version_of(const Table *view) {
    return (const TableVersion *)(const void *)((const char *)view - offsetof(TableVersion, view));
}
uint64_t table_version_birth(const Table *t) {
    return t->impl && t->impl->version == t ? version_of(t)->node.birth : 0;
}
Tablet *table_version_tablet(const Table *version, int64_t i, int64_t *changes) {
    const VersionTablet *h = (const VersionTablet *)(const void *)version->tablets[i];
    *changes = h->changes;
    return h->origin;
}
SharedBytes *version_cells(const Tablet *tab, int col) {
    const VersionTablet *h = (const VersionTablet *)(const void *)tab;
    return h->cells ? h->cells[col] : NULL;
}
OpenCells table_version_cells(const Table *t, int64_t tablet, int col) {
    if (!t->impl || t->impl->version != t) return (OpenCells){0};
    const SharedBytes *s = version_cells(t->tablets[tablet], col);
    return s ? (OpenCells){s->id, s->size} : (OpenCells){0};
}
int64_t table_version_changes(const Table *t, int64_t tablet) {
    const Tablet *tab = t->tablets[tablet];
    return t->impl->version == t ? ((const VersionTablet *)(const void *)tab)->changes : tab->block->changes;
}

/* ---- the end ---- */
static void drop_hold(TableVersions *vs) {
    if (atomic_fetch_sub_explicit(&vs->holds, 1, memory_order_acq_rel) > 1) return;
    Table *t = vs->table;
    mutex_destroy(&vs->lock);
    mem_free(&t->account, vs, (int64_t)sizeof *vs);
    table_free_end(t);
}
static void header_drop(VersionTablet *h) {
    if (atomic_fetch_sub_explicit(&h->refs, 1, memory_order_acq_rel) > 1) return;
    Tablet *origin = h->origin;
    MemAccount *acct = origin->block->versions;
    for (int c = 0; h->cells && c < origin->block->n_cols; c++) {
        shared_drop(h->cells[c]);
        patches_drop(h->tab.cols[c].patches);
    }
    mem_free(acct, h, h->bytes);
    tablet_free(origin);
}
static void version_free(TableVersion *v) {
    TableVersions *vs = v->owner;
    for (int64_t i = 0; i < v->view.n_tablets; i++) header_drop((VersionTablet *)(void *)v->view.tablets[i]);
    for (int c = 0; c < v->view.n_cols; c++) dict_free(v->view.cols[c].dict);
    for (int k = 0; k < v->view.n_keys; k++) keyindex_thaw(v->view.keys[k].index);
    mem_free(table_part(vs->table, TABLE_VERSIONS), v, v->bytes);
    drop_hold(vs);
}
static void version_reclaim(EpochNode *n) {
    TableVersion *v = (TableVersion *)(void *)n;
    TableVersions *vs = v->owner;
    mutex_lock(&vs->lock);
    if (v->newer) v->newer->older = v->older;
    else vs->newest = v->older;
    if (v->older) v->older->newer = v->newer;
    mutex_unlock(&vs->lock);
    version_free(v);
}
void table_version_discard(TableVersion *v) {
    if (v) version_free(v);
}
static void table_reclaim(EpochNode *n) { drop_hold((TableVersions *)(void *)n); }

/* What freeing the version gives back: what it does not share. About, since counts of others change meanwhile. */
static int64_t waiting_bytes(const TableVersion *v) {
    int64_t bytes = v->bytes;
    for (int64_t i = 0; i < v->view.n_tablets; i++) {
        const VersionTablet *h = (const VersionTablet *)(const void *)v->view.tablets[i];
        if (atomic_load_explicit(&h->refs, memory_order_relaxed) > 1) continue;
        const struct TabletBlock *b = h->origin->block;
        bytes += h->bytes;
        if (atomic_load_explicit(&b->refs, memory_order_relaxed) == 1) bytes += b->size + b->heap.total;
        for (int c = 0; h->cells && c < b->n_cols; c++) {
            const Patches *p = h->tab.cols[c].patches;
            if (h->cells[c] && atomic_load_explicit(&h->cells[c]->refs, memory_order_relaxed) == 1)
                bytes += h->cells[c]->size;
            if (p && atomic_load_explicit(&p->refs, memory_order_relaxed) == 1) bytes += patches_bytes(p);
        }
    }
    for (int k = 0; k < v->view.n_keys; k++) {
        const HashIndex *x = v->view.keys[k].index;
        const SharedBytes *const slots[] = {x->now.share, x->old.share};
        for (int i = 0; i < 2; i++)
            if (slots[i] && atomic_load_explicit(&slots[i]->refs, memory_order_relaxed) == 1) bytes += slots[i]->size;
    }
    return bytes;
}
static void retire_version(TableVersion *v) {
    epoch_retire(v->owner->domain, &v->node, waiting_bytes(v), version_reclaim);
}

void table_versions_end(Table *t) {
    TableVersions *vs = t->impl->versions;
    TableVersion *current = atomic_exchange_explicit(&vs->current, NULL, memory_order_acq_rel);
    if (current) retire_version(current);
    epoch_retire(vs->domain, &vs->node, (int64_t)(sizeof(Table) + sizeof *vs), table_reclaim);
}

void table_versions_unpublish(Table *t) {
    TableVersions *vs = t->impl->versions;
    TableVersion *current = vs ? atomic_exchange_explicit(&vs->current, NULL, memory_order_acq_rel) : NULL;
    if (current) retire_version(current);
}
const Table *table_version_current(const Table *t) {
    const TableVersions *vs = t->impl->versions;
    const TableVersion *v = vs ? atomic_load_explicit(&vs->current, memory_order_acquire) : NULL;
    return v ? &v->view : NULL;
}
const Table *table_version_view(const TableVersion *v) { return &v->view; }
Table *table_version_owner(const Table *view) { return version_of(view)->owner->table; }

Status table_versions_enable(Table *t, EpochDomain *d, Err *e) {
    if (t->impl->versions) return ST_OK;
    TableVersions *vs = mem_calloc(&t->account, (int64_t)sizeof *vs, e);
    if (!vs) return ST_ERROR;
    vs->node.birth = epoch_now(d);
    vs->table = t;
    vs->domain = d;
    atomic_init(&vs->holds, 1);
    mutex_init(&vs->lock, RANK_VERSIONS);
    t->impl->versions = vs;
    return ST_OK;
}

/* ---- headers of tablets ---- */
static int64_t place(int64_t *at, int64_t bytes) { /* in an allocation */
    int64_t here = *at;
    *at = align_up(here + bytes, 64);
    return here;
}
/* Cells of a home: what `last` (NULL: none) has of them, and what has changed since. */
static Status copy_home(VersionTablet *h, const VersionTablet *last, int col, Err *e) {
    TabletColumn *c = &h->tab.cols[col];
    HomeCopy copy, before = {0};
    const bool had = last && last->cells; /* else no column was open then */
    if (had)
        before = (HomeCopy){.cells = last->cells[col], .patches = last->tab.cols[col].patches, .rows = last->tab.rows};
    TRY(home_copy_make(h->origin, col, had ? &before : NULL, &copy, &h->home_bytes, e));
    h->cells[col] = copy.cells;
    c->patches = copy.patches;
    c->data = copy.cells->bytes;
    c->stride = 0;
    return ST_OK;
}
/* The column's patches as they are; logs as in open_columns. */
static Status share_patches(VersionTablet *h, int col, bool logs, Err *e) {
    const DeltaCol *d = &h->origin->block->delta[col];
    if (!d->patches) return ST_OK;
    const bool copied = logs && d->updated;
    TRY(patches_publish(d->patches, copied, &h->tab.cols[col].patches, e));
    if (copied) h->copied += patches_bytes(d->patches);
    return ST_OK;
}
/* Validity of open and patched columns; shares their cells. logs: undo logs name the table, and may write to cells that
 * were updated. last: the header that was made of the tablet last; NULL: it is not known. */
static Status open_columns(VersionTablet *h, const VersionTablet *last, char *cells, char *validity, bool logs,
                           Err *e) {
    Tablet *origin = h->origin;
    const struct TabletBlock *b = origin->block;
    int64_t validity_bytes = b->cap / 8;
    h->cells = (SharedBytes **)(void *)cells;
    for (int c = 0; c < b->n_cols; c++) {
        TRY(delta_share(origin, c, logs, e));
        SharedBytes *share = b->delta[c].share;
        if (share) atomic_fetch_add_explicit(&share->refs, 1, memory_order_relaxed);
        h->cells[c] = share;
        if (b->delta[c].home) TRY(copy_home(h, last, c, e));
        TRY(share_patches(h, c, logs, e));
        if (!b->delta[c].validity) continue;
        memcpy(validity, b->delta[c].validity, (size_t)validity_bytes);
        h->tab.cols[c].validity = (const uint64_t *)(const void *)validity;
        validity += align_up(validity_bytes, 64);
    }
    return ST_OK;
}
/* before: of the version before, of the same tablet; NULL: it had none. logs: undo logs name the table. */
static Status header_new(Tablet *origin, const VersionTablet *before, bool logs, VersionTablet **out, Err *e) {
    struct TabletBlock *b = origin->block;
    const VersionTablet *last = before == b->shown ? before : NULL; /* others may have been made, and discarded */
    b->shown = NULL;
    int64_t bytes = 0, n_validity = 0;
    if (origin->is_delta && logs) TRY(tablet_ensure_deleted(origin, e)); /* rows that are undone stay, deleted */
    for (int c = 0; b->delta && c < b->n_cols; c++) n_validity += b->delta[c].validity != NULL;
    place(&bytes, (int64_t)sizeof(VersionTablet));
    int64_t deleted = place(&bytes, origin->deleted ? DELETED_BYTES : 0);
    int64_t cols = place(&bytes, (int64_t)sizeof(TabletColumn) * b->n_cols);
    int64_t cells = place(&bytes, b->delta ? (int64_t)sizeof(SharedBytes *) * b->n_cols : 0);
    int64_t validity = place(&bytes, n_validity * align_up(b->cap / 8, 64));
    VersionTablet *h = mem_calloc(b->versions, bytes, e);
    if (!h) return ST_ERROR;
    char *p = (char *)h;
    h->tab = *origin;
    h->origin = origin;
    h->changes = b->changes;
    h->bytes = bytes;
    atomic_init(&h->refs, 1);
    atomic_fetch_add_explicit(&b->refs, 1, memory_order_relaxed);
    if (origin->deleted) {
        memcpy(p + deleted, origin->deleted, DELETED_BYTES);
        h->tab.deleted = (const uint64_t *)(const void *)(p + deleted);
    }
    h->tab.cols = (TabletColumn *)(void *)(p + cols);
    memcpy(h->tab.cols, origin->cols, sizeof(TabletColumn) * (size_t)b->n_cols);
    for (int c = 0; c < b->n_cols; c++) h->tab.cols[c].patches = NULL; /* until they are counted */
    if (b->delta && open_columns(h, last, p + cells, p + validity, logs, e) != ST_OK) {
        header_drop(h);
        return ST_ERROR;
    }
    b->published = MAX_OF(b->published, origin->rows);
    b->shown = h;
    *out = h;
    return ST_OK;
}
/* The header that version `before` has for the same tablet; NULL: none. */
static VersionTablet *header_before(const TableVersion *before, const Tablet *origin, int64_t i) {
    if (!before || i >= before->view.n_tablets) return NULL;
    VersionTablet *h = (VersionTablet *)(void *)before->view.tablets[i];
    return h->origin == origin ? h : NULL;
}
/* The tablet's header for version v: the one of the version before, when it has not changed since, or a new one. */
static Status header_of(TableVersion *v, const TableVersion *before, const Table *t, int64_t i, VersionTablet **out,
                        Err *e) {
    VersionTablet *h = header_before(before, t->tablets[i], i);
    if (h && h->changes == h->origin->block->changes) {
        atomic_fetch_add_explicit(&h->refs, 1, memory_order_relaxed);
        *out = h;
        return ST_OK;
    }
    TRY(header_new(t->tablets[i], h, t->impl->undo_open > 0, &h, e));
    v->cost.bytes += h->bytes + h->home_bytes + h->copied;
    v->cost.home_bytes += h->home_bytes;
    *out = h;
    return ST_OK;
}

/* ---- making versions ---- */
static bool is_text(const Value *v) { return !v->is_null && type_phys(v->type) == PH_STR; }
static int64_t text_bytes(const ColumnStats *s) {
    int64_t bytes = 0;
    for (int i = 0; i < s->n_mcv; i++) bytes += is_text(&s->mcv[i].value) ? s->mcv[i].value.u.str.len : 0;
    return bytes;
}
static char *copy_stats(ColumnStats *to, const ColumnStats *from, char *bytes) {
    *to = *from;
    to->sketch = NULL; /* for the next load only */
    for (int i = 0; i < to->n_mcv; i++) {
        if (!is_text(&to->mcv[i].value)) continue;
        Str *s = &to->mcv[i].value.u.str;
        if (s->len) memcpy(bytes, s->ptr, s->len);
        s->ptr = bytes;
        bytes += s->len;
    }
    return bytes;
}
static Status freeze_dict(const TableVersion *before, Dict *d, int col, Dict **out, Err *e) {
    Dict *was = before ? before->view.cols[col].dict : NULL;
    if (was && was->impl->base == d && was->n == d->n) {
        atomic_fetch_add_explicit(&was->impl->refs, 1, memory_order_relaxed);
        *out = was;
        return ST_OK;
    }
    *out = dict_freeze(d, e);
    return *out ? ST_OK : ST_ERROR;
}
/* Everything but tablets, dictionaries and what is in indexes. */
static void copy_definition(TableVersion *v, const Table *t, HashIndex *indexes) {
    v->view.name = t->name;
    v->view.id = t->id;
    v->view.version = t->version;
    v->view.content = t->content;
    v->view.live_rows = t->live_rows;
    v->view.expected_rows = t->expected_rows;
    v->view.unlogged = t->unlogged;
    mem_account_init(&v->view.account, &v->owner->table->account, "table", 0, NULL);
    v->view.impl = &v->impl;
    v->impl.version = &v->view;
    v->impl.changed_rows = t->impl->changed_rows;
    v->impl.generation = t->impl->generation;
    if (t->n_keys) memcpy(v->view.keys, t->keys, sizeof(KeyConstraint) * (size_t)t->n_keys);
    if (t->n_checks) memcpy(v->view.checks, t->checks, sizeof(CheckConstraint) * (size_t)t->n_checks);
    for (int k = 0; k < t->n_keys; k++) v->view.keys[k].index = &indexes[k];
    v->view.n_keys = t->n_keys;
    v->view.n_checks = t->n_checks;
    v->view.exprs = t->exprs; /* the definition; keys are the writer's to compute and to find */
    v->view.n_exprs = t->n_exprs;
}
static TableVersion *version_alloc(Table *t, Err *e) {
    int64_t bytes = 0, texts = 0;
    for (int c = 0; c < t->n_cols; c++) texts += text_bytes(&t->cols[c].stats);
    place(&bytes, (int64_t)sizeof(TableVersion));
    int64_t cols = place(&bytes, (int64_t)sizeof(Column) * t->n_cols);
    int64_t keys = place(&bytes, (int64_t)sizeof(KeyConstraint) * t->n_keys);
    int64_t indexes = place(&bytes, (int64_t)sizeof(HashIndex) * t->n_keys);
    int64_t checks = place(&bytes, (int64_t)sizeof(CheckConstraint) * t->n_checks);
    int64_t tablets = place(&bytes, (int64_t)sizeof(Tablet *) * t->n_tablets);
    int64_t text = place(&bytes, texts);
    TableVersion *v = mem_calloc(table_part(t, TABLE_VERSIONS), bytes, e);
    if (!v) return NULL;
    char *p = (char *)v;
    v->bytes = v->cost.bytes = bytes;
    v->owner = t->impl->versions;
    v->view.cols = (Column *)(void *)(p + cols);
    v->view.keys = (KeyConstraint *)(void *)(p + keys);
    v->view.checks = (CheckConstraint *)(void *)(p + checks);
    v->view.tablets = (Tablet **)(void *)(p + tablets);
    copy_definition(v, t, (HashIndex *)(void *)(p + indexes));
    p += text;
    for (int c = 0; c < t->n_cols; c++) {
        v->view.cols[c] = t->cols[c];
        v->view.cols[c].dict = NULL;
        p = copy_stats(&v->view.cols[c].stats, &t->cols[c].stats, p);
    }
    v->view.n_cols = t->n_cols;
    atomic_fetch_add_explicit(&v->owner->holds, 1, memory_order_relaxed);
    return v;
}

Status table_version_prepare(Table *t, TableVersion **out, Err *e) {
    TableVersions *vs = t->impl->versions;
    if (!table_is_committed(t))
        return err_set(e, ERR_NOT_IN_STATE, "cannot publish table \"%s\" while a transaction has changed it", t->name);
    /* The table's share of it keeps the current version: only its writer replaces it. */
    const TableVersion *before = atomic_load_explicit(&vs->current, memory_order_relaxed);
    TableVersion *v = version_alloc(t, e);
    if (!v) return ST_ERROR;
    for (int c = 0; c < t->n_cols; c++)
        if (t->cols[c].dict && freeze_dict(before, t->cols[c].dict, c, &v->view.cols[c].dict, e) != ST_OK) goto fail;
    for (int k = 0; k < t->n_keys; k++)
        if (keyindex_freeze(t->keys[k].index, v->view.keys[k].index, e) != ST_OK) goto fail;
    for (int64_t i = 0; i < t->n_tablets; i++) {
        VersionTablet *h;
        if (header_of(v, before, t, i, &h, e) != ST_OK) goto fail;
        v->view.tablets[i] = &h->tab;
        v->view.n_tablets = i + 1;
    }
    *out = v;
    return ST_OK;
fail:
    version_free(v);
    return ST_ERROR;
}

VersionCost table_version_cost(const TableVersion *v) { return v->cost; }

/* ---- installing and reading ---- */
void table_versions_install_at(EpochDomain *d, uint64_t epoch, int64_t n, TableVersion *const *versions) {
    for (int64_t i = 0; i < n; i++) {
        TableVersion *v = versions[i];
        TableVersions *vs = v->owner;
        dbg_assert(vs->domain == d && epoch == epoch_now(d) + 1);
        v->node.birth = epoch;
        mutex_lock(&vs->lock);
        v->older = vs->newest;
        if (v->older) v->older->newer = v;
        vs->newest = v;
        mutex_unlock(&vs->lock);
        TableVersion *old = atomic_exchange_explicit(&vs->current, v, memory_order_acq_rel);
        if (old) retire_version(old);
    }
    (void)d;
}
uint64_t table_versions_install(EpochDomain *d, int64_t n, TableVersion *const *versions) {
    uint64_t epoch = epoch_boundary_begin(d);
    table_versions_install_at(d, epoch, n, versions);
    epoch_boundary_end(d);
    epoch_reclaim(d, MAX_OF((int64_t)EPOCH_BATCH, 2 * n)); /* more than was retired: what waits becomes less */
    return epoch;
}

const Table *table_version_at(const Table *t, const EpochSlot *pin) {
    TableVersions *vs = t->impl->versions;
    uint64_t p = epoch_pinned(pin);
    if (epoch_is_open(pin)) {
        const TableVersion *v = atomic_load_explicit(&vs->current, memory_order_acquire);
        if (v && v->node.birth <= p) return &v->view;
    }
    /* Versions leave the list before they are freed, and the one of epoch p is not freed: the pin sees it. */
    mutex_lock(&vs->lock);
    const TableVersion *v = vs->newest;
    while (v && v->node.birth > p) v = v->older;
    mutex_unlock(&vs->lock);
    return v ? &v->view : NULL;
}

/* ---- verification ---- */
Status table_version_verify(const Table *view, Err *e) {
    for (int64_t i = 0; i < view->n_tablets; i++) {
        const VersionTablet *h = (const VersionTablet *)(const void *)view->tablets[i];
        if (atomic_load(&h->refs) < 1 || atomic_load(&h->origin->block->refs) < 1)
            return err_internal(e, "tablet %lld of a version is not counted", (long long)i);
        for (int c = 0; h->cells && c < view->n_cols; c++) {
            if (h->cells[c] && (atomic_load(&h->cells[c]->refs) < 1 || h->cells[c]->bytes != h->tab.cols[c].data))
                return err_internal(e, "tablet %lld column %d of a version has other cells", (long long)i, c);
        }
    }
    for (int k = 0; k < view->n_keys; k++) {
        const HashIndex *x = view->keys[k].index;
        const KeySlots *const slots[] = {&x->now, &x->old};
        for (int i = 0; i < 2; i++)
            if (slots[i]->slots && (!slots[i]->share || atomic_load(&slots[i]->share->refs) < 1 ||
                                    slots[i]->share->bytes != slots[i]->slots))
                return err_internal(e, "key \"%s\" of a version has slots that are not counted", view->keys[k].name);
    }
    return table_verify(view, e);
}
