/* registry.c - what procedures do to tables, as far as others have to reckon with it: see compile.h and compile_int.h.
 *
 * A registry is made by the procedures that are compiled together. What is kept of it for later ones are decisions:
 * which columns are written and how they are grouped, whether rows come and go, which keys name items, and of what
 * kinds the operations on them are. Later procedures take them as they are, and do not fit where their own writes or
 * touches would have led to others (registry_groups, cp_fit_keys). So they need not be added for those that come after
 * them: of two procedures that both leave the decisions as they are, each reckons with the other.
 */
#include "catalog/names.h"
#include "sql/pl/compile_int.h"

static CpTable *find(const Registry *r, int64_t id) {
    for (int64_t i = 0; r && i < r->tables.len; i++)
        if (r->tables.items[i]->table->id == id) return r->tables.items[i];
    return NULL;
}
/* Columns of unique keys and indexes, and those of foreign keys that refer. */
static void find_movable(const Registry *r, CpTable *t) {
    const Catalog *k = r->catalog;
    for (int i = 0; i < t->table->n_exprs; i++)
        for (int j = 0; j < t->table->exprs[i].n_parts; j++) {
            const int32_t col = cp_part_column(r->arena, t->table, t->table->exprs[i].parts[j]);
            if (col >= 0) t->movable[col] = true;
        }
    for (int i = 0; i < t->table->n_keys; i++)
        for (int j = 0; j < t->table->keys[i].n_cols; j++) t->movable[t->table->keys[i].cols[j]] = true;
    for (int64_t i = 0; i < k->n_foreign; i++)
        for (int j = 0; strcmp(k->foreign[i]->table, t->table->name) == 0 && j < k->foreign[i]->n_cols; j++) {
            const int col = table_find_column(t->table, slice_of(k->foreign[i]->cols[j]));
            if (col >= 0) t->movable[col] = true;
        }
}
CpTable *registry_table(Registry *r, Table *t) {
    CpTable *c = find(r, t->id);
    if (c) return c;
    if (!(c = arena_new_of(r->arena, CpTable))) return NULL;
    c->table = t;
    c->kept = find(r->kept, t->id);
    c->written = arena_calloc(r->arena, t->n_cols + 1);
    c->writers = arena_calloc(r->arena, (t->n_cols + 1) * (int64_t)sizeof *c->writers);
    c->group = arena_array(r->arena, int32_t, t->n_cols + 1);
    bool **const flags[] = {&c->movable, &c->sets, &c->looks, &c->moved};
    for (int i = 0; i < ARRAY_LEN(flags); i++)
        if (!(*flags[i] = arena_calloc(r->arena, t->n_cols + 1))) return NULL;
    find_movable(r, c);
    c->need = (ImageNeed){
        .table = t, .cols = arena_calloc(r->arena, t->n_cols + 1), .adds = arena_calloc(r->arena, t->n_cols + 1)};
    c->need.writes = c->written;
    if (!c->written || !c->writers || !c->group || !c->need.cols || !c->need.adds || !vec_push(r->arena, &r->tables, c))
        return NULL;
    for (int i = 0; i < t->n_cols; i++) c->group[i] = NO_GROUP;
    return c;
}

/* ---- what images need ---- */
static bool same_group(const ImageNeed *d, int32_t g, int32_t n, const int32_t *cols, int32_t order, bool desc) {
    return d->groups[g].n_cols == n && d->groups[g].order == order && d->groups[g].desc == desc &&
           (n == 0 || memcmp(d->groups[g].cols, cols, (size_t)n * sizeof *cols) == 0);
}
int32_t registry_group(Registry *r, CpTable *t, int32_t n, const int32_t *cols, int32_t order, bool desc) {
    ImageNeed *d = &t->need;
    for (int32_t g = 0; g < d->n_groups; g++)
        if (same_group(d, g, n, cols, order, desc)) return t->table->n_keys + g;
    if (d->n_groups == t->cap_groups) {
        int32_t cap = t->cap_groups * 2 + 4;
        void *more = arena_alloc(r->arena, cap * (int64_t)sizeof *d->groups);
        if (!more) return -1;
        if (d->n_groups) memcpy(more, d->groups, (size_t)d->n_groups * sizeof *d->groups);
        d->groups = more;
        t->cap_groups = cap;
    }
    int32_t *copy = arena_array(r->arena, int32_t, n + 1);
    if (!copy) return -1;
    for (int32_t i = 0; i < n; i++) {
        copy[i] = cols[i];
        d->cols[cols[i]] = true;
    }
    if (order) d->cols[order - 1] = true;
    d->groups[d->n_groups].n_cols = n;
    d->groups[d->n_groups].cols = copy;
    d->groups[d->n_groups].order = order;
    d->groups[d->n_groups].desc = desc;
    return t->table->n_keys + d->n_groups++;
}
static void *copy_of(Arena *a, const void *p, int64_t bytes) {
    void *out = arena_alloc(a, bytes + 1);
    if (out && bytes) memcpy(out, p, (size_t)bytes);
    return out;
}
Status registry_need(const CpTable *t, Arena *a, ImageNeed *out) {
    const ImageNeed *d = &t->need;
    const int n = t->table->n_cols;
    *out = *d;
    out->cols = copy_of(a, d->cols, n);
    out->writes = copy_of(a, t->written, n);
    out->adds = copy_of(a, d->adds, n);
    out->groups = copy_of(a, d->groups, d->n_groups * (int64_t)sizeof *d->groups);
    if (!out->cols || !out->writes || !out->adds || !out->groups) return ST_ERROR;
    for (int32_t g = 0; g < d->n_groups; g++)
        if (!(out->groups[g].cols = copy_of(a, d->groups[g].cols, d->groups[g].n_cols * (int64_t)sizeof(int32_t))))
            return ST_ERROR;
    return ST_OK;
}

/* ---- while procedures are compiled ---- */
void registry_begin(Registry *r) {
    for (int64_t t = 0; t < r->tables.len; t++) {
        CpTable *x = r->tables.items[t];
        memset(x->written, 0, (size_t)x->table->n_cols);
        memset(x->writers, 0, (size_t)x->table->n_cols * sizeof *x->writers);
        x->inserted = x->deleted = false;
        memset(x->sets, 0, (size_t)x->table->n_cols);
        memset(x->looks, 0, (size_t)x->table->n_cols);
        memset(x->moved, 0, (size_t)x->table->n_cols);
        x->need.n_groups = 0;
        memset(x->need.cols, 0, (size_t)x->table->n_cols);
        memset(x->need.adds, 0, (size_t)x->table->n_cols);
        x->need.inserts = false;
    }
}
/* Columns whose updates are compiled as rows that go and come: of unique keys, and of foreign keys where rows are
 * looked for by them. Kept procedures' decisions count, too. */
static void find_moved(CpTable *t) {
    const CpTable *k = t->kept;
    for (int i = 0; i < t->table->n_cols; i++) {
        const bool sets = t->sets[i] || (k && (k->written[i] || k->moved[i])),
                   looks = t->looks[i] || (k && k->looks[i]);
        t->moved[i] = t->movable[i] && sets && looks;
        if (!t->moved[i]) continue;
        t->written[i] = false;
        if (t->sets[i]) t->inserted = t->deleted = t->need.inserts = true;
    }
}
/* Columns with the same writers are one group. */
static Status make_groups(Registry *r, CpTable *t) {
    t->n_groups = 0;
    for (int i = 0; i < t->table->n_cols; i++) {
        t->group[i] = NO_GROUP;
        if (!t->written[i]) continue;
        for (int j = 0; j < i; j++)
            if (t->written[j] && t->writers[j] == t->writers[i]) t->group[i] = t->group[j];
        if (t->group[i] == NO_GROUP) t->group[i] = t->n_groups++;
    }
    const int32_t end = rows_groups_end(t);
    t->key = arena_array(r->arena, bool *, end);
    t->fine = arena_array(r->arena, int32_t, end);
    t->fine_kinds = arena_calloc(r->arena, end);
    t->coarse_kinds = arena_calloc(r->arena, end);
    t->sites.len = 0;
    if (!t->key || !t->fine || !t->fine_kinds || !t->coarse_kinds) return ST_ERROR;
    for (int32_t g = 0; g < end; g++)
        if (!(t->key[g] = arena_calloc(r->arena, t->table->n_cols + 1))) return ST_ERROR;
    return ST_OK;
}
/* As the kept procedures have it, where what is written now is written by them, too. */
static Status keep_groups(Registry *r, CpTable *t) {
    const CpTable *k = t->kept;
    const int n = t->table->n_cols;
    const int32_t end = rows_groups_end(k);
    bool fits = (!t->inserted || k->inserted) && (!t->deleted || k->deleted);
    for (int i = 0; i < n; i++) {
        fits &= !t->written[i] || k->written[i];
        fits &= !t->moved[i] || !k->written[i];
    }
    if (!fits) return r->misfit = t->table, ST_OK;
    memcpy(t->written, k->written, (size_t)n);
    memcpy(t->group, k->group, (size_t)n * sizeof *t->group);
    t->n_groups = k->n_groups;
    t->inserted = k->inserted;
    t->deleted = k->deleted;
    t->main_key = k->main_key;
    t->key = k->key;
    t->fine = k->fine;
    t->fine_kinds = copy_of(r->arena, k->fine_kinds, end);
    t->coarse_kinds = copy_of(r->arena, k->coarse_kinds, end);
    t->sites.len = 0;
    if (!t->fine_kinds || !t->coarse_kinds || registry_need(k, r->arena, &t->need) != ST_OK) return ST_ERROR;
    t->cap_groups = t->need.n_groups;
    t->need.writes = t->written;
    return ST_OK;
}
Status registry_groups(Registry *r) {
    for (int64_t i = 0; i < r->tables.len && !r->misfit; i++) {
        CpTable *t = r->tables.items[i];
        find_moved(t);
        TRY(t->kept ? keep_groups(r, t) : make_groups(r, t));
    }
    return ST_OK;
}
bool registry_keys(Registry *r, CpTable *t) {
    if (!t->kept) cp_make_keys(t);
    else if (!cp_fit_keys(t)) r->misfit = t->table;
    return !r->misfit;
}

void registry_drop_unused(Registry *r, const Proc *procs) {
    int64_t n = 0;
    for (int64_t i = 0; i < r->tables.len; i++) {
        bool used = false;
        for (int32_t p = 0; p < r->n_functions; p++)
            for (int32_t t = 0; !procs[p].reason && t < procs[p].n_tables; t++)
                used |= procs[p].tables[t].table_id == r->tables.items[i]->table->id;
        if (used) r->tables.items[n++] = r->tables.items[i];
    }
    r->tables.len = n;
}

/* ---- kept ---- */
static CpTable *copy_table(const CpTable *t, Arena *a) {
    const int n = t->table->n_cols;
    const int32_t end = rows_groups_end(t);
    CpTable *c = arena_new_of(a, CpTable);
    if (!c) return NULL;
    *c = (CpTable){.table = t->table,
                   .written = copy_of(a, t->written, n),
                   .movable = copy_of(a, t->movable, n),
                   .sets = copy_of(a, t->sets, n),
                   .looks = copy_of(a, t->looks, n),
                   .moved = copy_of(a, t->moved, n),
                   .inserted = t->inserted,
                   .deleted = t->deleted,
                   .n_groups = t->n_groups,
                   .group = copy_of(a, t->group, n * (int64_t)sizeof *t->group),
                   .main_key = t->main_key,
                   .key = arena_array(a, bool *, end),
                   .fine = copy_of(a, t->fine, end * (int64_t)sizeof *t->fine),
                   .fine_kinds = copy_of(a, t->fine_kinds, end),
                   .coarse_kinds = copy_of(a, t->coarse_kinds, end)};
    if (!c->movable || !c->sets || !c->looks || !c->moved) return NULL;
    if (!c->written || !c->group || !c->key || !c->fine || !c->fine_kinds || !c->coarse_kinds ||
        registry_need(t, a, &c->need) != ST_OK)
        return NULL;
    for (int32_t g = 0; g < end; g++)
        if (!(c->key[g] = copy_of(a, t->key[g], n))) return NULL;
    return c;
}
const PlRegistry *pl_registry_join(const PlRegistry *one, const PlRegistry *other, Arena *a) {
    Registry *r = arena_new_of(a, Registry);
    if (!r) return NULL;
    *r = (Registry){.arena = a};
    for (int which = 0; which < 2; which++) {
        const Registry *from = which ? other : one;
        for (int64_t i = 0; from && i < from->tables.len; i++) {
            if (find(r, from->tables.items[i]->table->id)) continue;
            CpTable *t = copy_table(from->tables.items[i], a);
            if (!t || !vec_push(a, &r->tables, t)) return NULL;
        }
    }
    return r;
}
void pl_registry_read(const PlRegistry *r) {
    for (int64_t i = 0; i < r->tables.len; i++) name_read(slice_of(r->tables.items[i]->table->name));
}
bool pl_registry_has(const PlRegistry *r, int64_t table_id) { return find(r, table_id) != NULL; }
bool pl_registry_grows(const PlRegistry *one, const PlRegistry *other) {
    for (int64_t i = 0; i < other->tables.len; i++)
        if (!find(one, other->tables.items[i]->table->id)) return true;
    return false;
}
const ImageNeed *pl_registry_need(const PlRegistry *r, int64_t table_id) {
    const CpTable *t = find(r, table_id);
    return t ? &t->need : NULL;
}
bool pl_registry_looks_up(const PlRegistry *r, int64_t table_id, int32_t col) {
    const CpTable *t = find(r, table_id);
    for (int32_t g = 0; t && g < t->need.n_groups; g++) {
        if (t->need.groups[g].order == col + 1) return true;
        for (int32_t k = 0; k < t->need.groups[g].n_cols; k++)
            if (t->need.groups[g].cols[k] == col) return true;
    }
    return false;
}
