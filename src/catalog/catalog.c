/* catalog.c - tables, views, sequences, foreign keys, routines and domains by name.
 *
 * Few names, looked up once per statement: plain arrays. The arrays live in the catalog's arena; tables and views are
 * blocks of their own, freed by database_close or by the code that took them out.
 */
#include "base/hash.h"
#include "catalog/catalog_int.h"

#include "catalog/names.h"
#include "catalog/routine_instance.h"
#include "catalog/user_function.h"
#include "types/numbers.h"
#include "types/composite.h"

/* Two numbers that only grow: the catalog's would have to grow by 2^40 to run into the other. */
int64_t catalog_definitions(const Catalog *c) {
    int64_t functions = c->functions ? atomic_load(&c->functions->version) : 0;
    return (int64_t)((uint64_t)functions << USER_FUNCTIONS_SHIFT) + atomic_load(&c->version);
}

static bool same_name(const char *a, Slice b) { return slice_eq(slice_of(a), b); }

Table *catalog_table(const Catalog *c, Slice name) {
    name_read(name);
    for (int64_t i = 0; i < c->n_tables; i++)
        if (same_name(c->tables[i]->name, name)) return c->tables[i];
    return NULL;
}
static View *find_view(const Catalog *c, Slice name, bool materialized) {
    name_read(name);
    for (int64_t i = 0; i < c->n_views; i++)
        if (c->views[i]->materialized == materialized && same_name(c->views[i]->name, name)) return c->views[i];
    return NULL;
}
View *catalog_view(const Catalog *c, Slice name) { return find_view(c, name, false); }
View *catalog_matview(const Catalog *c, Slice name) { return find_view(c, name, true); }

bool catalog_relation_exists(const Catalog *c, Slice name) {
    return catalog_table(c, name) || catalog_view(c, name) || catalog_sequence(c, name) ||
           catalog_index_exists(c, name, NULL);
}
/* Names of indexes are checked by the code that adds one: files of older versions have tables called like one. */
static Status check_free(const Catalog *c, const char *name, Err *e) {
    const Slice n = slice_of(name);
    if (!catalog_table(c, n) && !catalog_view(c, n) && !catalog_sequence(c, n)) return ST_OK;
    return err_set(e, ERR_DUPLICATE_TABLE, "relation \"%s\" already exists", name);
}
Status catalog_room(Catalog *c, void *items, int64_t n, int64_t *cap, Err *e) {
    if (n < *cap) return ST_OK;
    int64_t more = *cap ? *cap * 2 : 16;
    arena_set_err(c->arena, e);
    void **p = arena_array(c->arena, void *, more);
    arena_set_err(c->arena, NULL);
    if (!p) return err_is_set(e) ? ST_ERROR : err_oom(e);
    void *old;
    memcpy(&old, items, sizeof old);
    if (n) memcpy(p, old, (size_t)n * sizeof(void *));
    memcpy(items, &p, sizeof p);
    *cap = more;
    return ST_OK;
}

Status catalog_add_table(Catalog *c, Table *t, Err *e) {
    TRY(check_free(c, t->name, e));
    TRY(catalog_room(c, &c->tables, c->n_tables, &c->cap_tables, e));
    if (t->id == 0) t->id = ++c->next_id;
    c->tables[c->n_tables++] = t;
    catalog_changed(c, t->name, NULL, 0);
    return ST_OK;
}
/* Item i of n goes, the others move up. items: the address of an array of pointers. */
static void take_out(void *items, int64_t *n, int64_t i) {
    char *p;
    memcpy(&p, items, sizeof p);
    memmove(p + i * (int64_t)sizeof(void *), p + (i + 1) * (int64_t)sizeof(void *),
            (size_t)(*n - i - 1) * sizeof(void *));
    --*n;
}
Table *catalog_remove_table(Catalog *c, Slice name) {
    for (int64_t i = 0; i < c->n_tables; i++) {
        Table *t = c->tables[i];
        if (!same_name(t->name, name)) continue;
        take_out(&c->tables, &c->n_tables, i);
        catalog_changed(c, t->name, NULL, 0);
        return t;
    }
    return NULL;
}
Status catalog_add_view(Catalog *c, View *v, Err *e) {
    if (!v->materialized) TRY(check_free(c, v->name, e));
    TRY(catalog_room(c, &c->views, c->n_views, &c->cap_views, e));
    c->views[c->n_views++] = v;
    catalog_changed(c, v->name, NULL, 0);
    return ST_OK;
}
void catalog_remove_view(Catalog *c, const View *v) {
    for (int64_t i = 0; i < c->n_views; i++) {
        if (c->views[i] != v) continue;
        take_out(&c->views, &c->n_views, i);
        catalog_changed(c, v->name, NULL, 0);
        return;
    }
}

void catalog_replace_view(Catalog *c, const View *old, View *v) {
    for (int64_t i = 0; i < c->n_views; i++)
        if (c->views[i] == old) c->views[i] = v;
    catalog_changed(c, old->name, v->name, 0);
}

char *catalog_put_text(char **at, const char *s) {
    if (!s) return NULL;
    const size_t n = strlen(s) + 1;
    char *p = memcpy(*at, s, n);
    *at += n;
    return p;
}
/* A view is one block: the struct, its sources, the pointers to texts, then all text. */
static int64_t text_bytes(int n, char *const *texts) {
    int64_t bytes = 0;
    for (int i = 0; i < n; i++) bytes += texts[i] ? (int64_t)strlen(texts[i]) + 1 : 0;
    return bytes;
}
static char **put_texts(char ***slots, char **at, int n, char *const *texts) {
    char **out = *slots;
    for (int i = 0; i < n; i++) out[i] = catalog_put_text(at, texts[i]);
    *slots += n;
    return out;
}
static int64_t view_bytes(const View *v) {
    const int64_t texts = (int64_t)v->n_cols + v->n_defaults + v->n_options;
    int64_t n = (int64_t)sizeof(View) + texts * (int64_t)sizeof(char *) + v->n_sources * (int64_t)sizeof(ViewSource);
    n += (int64_t)strlen(v->name) + (int64_t)strlen(v->sql) + 2 + text_bytes(v->n_cols, v->cols);
    n += text_bytes(v->n_defaults, v->defaults) + text_bytes(v->n_options, v->options);
    for (int i = 0; i < v->n_sources; i++) {
        const ViewSource *q = &v->sources[i];
        n += 2 * q->n_cols * (int64_t)sizeof(char *) + (int64_t)strlen(q->relation) + 1;
        n += text_bytes(q->n_cols, q->cols) + text_bytes(q->n_cols, q->names);
    }
    return n;
}
View *view_new(const View *like, Err *e) {
    View probe = *like;
    if (!probe.cols) probe.n_cols = 0;
    if (!probe.sources) probe.n_sources = 0;
    View *v = mem_calloc(NULL, view_bytes(&probe), e);
    if (!v) return NULL;
    v->n_cols = probe.n_cols;
    v->n_defaults = probe.n_defaults;
    v->n_options = probe.n_options;
    v->materialized = probe.materialized;
    v->populated = probe.populated;
    v->n_sources = probe.n_sources;
    v->sources = probe.n_sources ? (ViewSource *)(void *)(v + 1) : NULL;
    char **slots = (char **)(void *)((ViewSource *)(void *)(v + 1) + probe.n_sources);
    int64_t n_slots = (int64_t)probe.n_cols + probe.n_defaults + probe.n_options;
    for (int i = 0; i < probe.n_sources; i++) n_slots += 2 * probe.sources[i].n_cols;
    char *at = (char *)(slots + n_slots);
    v->name = catalog_put_text(&at, probe.name);
    v->sql = catalog_put_text(&at, probe.sql);
    v->cols = probe.n_cols ? put_texts(&slots, &at, probe.n_cols, probe.cols) : NULL;
    v->defaults = probe.n_defaults ? put_texts(&slots, &at, probe.n_defaults, probe.defaults) : NULL;
    v->options = probe.n_options ? put_texts(&slots, &at, probe.n_options, probe.options) : NULL;
    for (int i = 0; i < probe.n_sources; i++) {
        const ViewSource *q = &probe.sources[i];
        v->sources[i] =
            (ViewSource){.location = q->location, .relation = catalog_put_text(&at, q->relation), .n_cols = q->n_cols};
        v->sources[i].cols = put_texts(&slots, &at, q->n_cols, q->cols);
        v->sources[i].names = put_texts(&slots, &at, q->n_cols, q->names);
    }
    return v;
}
char view_check_option(const View *v) {
    for (int i = 0; i < v->n_options; i++) {
        if (strcmp(v->options[i], "check_option=local") == 0) return 'l';
        if (strcmp(v->options[i], "check_option=cascaded") == 0) return 'c';
    }
    return 0;
}
void view_free(View *v) {
    if (v) mem_free(NULL, v, view_bytes(v));
}

static uint64_t *table_bit(uint64_t *bits, const char *table, uint64_t *bit) {
    const uint64_t h = hash_bytes(table, (int64_t)strlen(table)) >> 52;
    *bit = UINT64_C(1) << (h & 63);
    return &bits[h >> 6];
}
static void mark_foreign(Catalog *c, const ForeignKey *f) {
    uint64_t bit, *word = table_bit(c->foreign_tables, f->table, &bit);
    *word |= bit;
    word = table_bit(c->foreign_tables, f->ref_table, &bit);
    *word |= bit;
}
bool catalog_may_have_foreign(const Catalog *c, const char *table) {
    uint64_t bit;
    if (c->n_foreign == 0) return false;
    return (*table_bit((uint64_t *)(uintptr_t)c->foreign_tables, table, &bit) & bit) != 0;
}
Status catalog_add_foreign(Catalog *c, ForeignKey *f, Err *e) {
    TRY(catalog_room(c, &c->foreign, c->n_foreign, &c->cap_foreign, e));
    if (f->id == 0) f->id = ++c->next_id;
    int64_t at = c->n_foreign++; /* the order of ids: the one in which they were made, and are looked at */
    for (; at > 0 && c->foreign[at - 1]->id > f->id; at--) c->foreign[at] = c->foreign[at - 1];
    c->foreign[at] = f;
    mark_foreign(c, f);
    catalog_changed(c, f->table, f->ref_table, 0);
    return ST_OK;
}
void catalog_remove_foreign(Catalog *c, const ForeignKey *f) {
    for (int64_t i = 0; i < c->n_foreign; i++) {
        if (c->foreign[i] != f) continue;
        take_out(&c->foreign, &c->n_foreign, i);
        memset(c->foreign_tables, 0, sizeof c->foreign_tables);
        for (int64_t k = 0; k < c->n_foreign; k++) mark_foreign(c, c->foreign[k]);
        catalog_changed(c, f->table, f->ref_table, 0);
        return;
    }
}

/* One block, as a view. */
static int64_t foreign_bytes(const ForeignKey *f) {
    int64_t n = (int64_t)sizeof *f + (2 * f->n_cols + f->n_set_cols) * (int64_t)sizeof(char *) +
                (int64_t)(strlen(f->name) + strlen(f->table) + strlen(f->ref_table)) + 3;
    for (int i = 0; i < f->n_set_cols; i++) n += (int64_t)strlen(f->set_cols[i]) + 1;
    for (int i = 0; i < f->n_cols; i++) n += (int64_t)(strlen(f->cols[i]) + strlen(f->ref_cols[i])) + 2;
    return n;
}
ForeignKey *foreign_new(const ForeignKey *like, Err *e) {
    ForeignKey *f = mem_calloc(NULL, foreign_bytes(like), e);
    if (!f) return NULL;
    *f = *like;
    f->cols = (char **)(void *)(f + 1);
    f->ref_cols = f->cols + f->n_cols;
    f->set_cols = f->ref_cols + f->n_cols;
    char *at = (char *)(f->set_cols + f->n_set_cols);
    f->name = catalog_put_text(&at, like->name);
    f->table = catalog_put_text(&at, like->table);
    f->ref_table = catalog_put_text(&at, like->ref_table);
    for (int i = 0; i < f->n_cols; i++) {
        f->cols[i] = catalog_put_text(&at, like->cols[i]);
        f->ref_cols[i] = catalog_put_text(&at, like->ref_cols[i]);
    }
    for (int i = 0; i < f->n_set_cols; i++) f->set_cols[i] = catalog_put_text(&at, like->set_cols[i]);
    return f;
}
void foreign_free(ForeignKey *f) {
    if (f) mem_free(NULL, f, foreign_bytes(f));
}

Status catalog_add_routine(Catalog *c, Routine *r, Err *e) {
    TRY(catalog_room(c, &c->routines, c->n_routines, &c->cap_routines, e));
    if (r->id == 0) r->id = ++c->next_id;
    c->routines[c->n_routines++] = r;
    catalog_changed(c, name_of_key(r->name), NULL, r->id); /* calls without a schema read that */
    return ST_OK;
}
void catalog_remove_routine(Catalog *c, const Routine *r) {
    for (int64_t i = 0; i < c->n_routines; i++) {
        if (c->routines[i] != r) continue;
        take_out(&c->routines, &c->n_routines, i);
        catalog_changed(c, name_of_key(r->name), NULL, r->id); /* calls without a schema read that */
        return;
    }
}
static Routine *own_routine(const Catalog *c, int64_t id) {
    for (int64_t i = 0; i < c->n_routines; i++)
        if (c->routines[i]->id == id) return c->routines[i];
    return NULL;
}
Routine *catalog_routine_by_id(const Catalog *c, int64_t id) {
    name_read_id(id);
    if (!routine_is_instance(id)) return own_routine(c, id);
    Routine *r = routine_instance_by_id(c->instances, id);
    name_read_id(r ? r->generic : 0);
    return r && own_routine(c, r->generic) ? r : NULL;
}

/* One block, as a view. */
static int64_t routine_bytes(const Routine *r) {
    int64_t n = (int64_t)sizeof *r + r->n_params * (int64_t)(sizeof(char *) + sizeof(Type) + sizeof(int64_t) + 1) +
                (int64_t)(strlen(r->name) + strlen(r->language) + strlen(r->sql)) + 3;
    if (r->path) n += (int64_t)strlen(r->path) + 1;
    for (int i = 0; i < r->n_params; i++) n += r->param_names[i] ? (int64_t)strlen(r->param_names[i]) + 1 : 0;
    return n;
}
Routine *routine_new(const Routine *like, Err *e) {
    Routine *r = mem_calloc(NULL, routine_bytes(like), e);
    if (!r) return NULL;
    *r = *like;
    size_t n = (size_t)r->n_params;
    r->param_names = (char **)(void *)(r + 1);
    r->param_types = (Type *)(void *)(r->param_names + n);
    r->param_domains = (int64_t *)(void *)(r->param_types + n);
    r->param_modes = (char *)(r->param_domains + n);
    char *at = r->param_modes + n;
    if (n) memcpy(r->param_types, like->param_types, n * sizeof(Type));
    if (n && like->param_domains) memcpy(r->param_domains, like->param_domains, n * sizeof(int64_t));
    if (n) memcpy(r->param_modes, like->param_modes, n);
    r->name = catalog_put_text(&at, like->name);
    r->language = catalog_put_text(&at, like->language);
    r->sql = catalog_put_text(&at, like->sql);
    r->path = catalog_put_text(&at, like->path);
    for (size_t i = 0; i < n; i++) r->param_names[i] = catalog_put_text(&at, like->param_names[i]);
    return r;
}
void routine_free(Routine *r) {
    if (r) mem_free(NULL, r, routine_bytes(r));
}

Status catalog_add_domain(Catalog *c, Domain *d, Err *e) {
    TRY(catalog_room(c, &c->domains, c->n_domains, &c->cap_domains, e));
    if (d->id == 0) d->id = ++c->next_id;
    int64_t at = c->n_domains++;
    for (; at > 0 && c->domains[at - 1]->id > d->id; at--) c->domains[at] = c->domains[at - 1];
    c->domains[at] = d;
    catalog_changed(c, d->name, NULL, d->id);
    return ST_OK;
}
void catalog_remove_domain(Catalog *c, const Domain *d) {
    for (int64_t i = 0; i < c->n_domains; i++) {
        if (c->domains[i] != d) continue;
        take_out(&c->domains, &c->n_domains, i);
        catalog_changed_all(c);
        return;
    }
}
Domain *catalog_domain(const Catalog *c, Slice name) {
    name_read(name);
    for (int64_t i = 0; i < c->n_domains; i++)
        if (same_name(c->domains[i]->name, name)) return c->domains[i];
    return NULL;
}
Domain *catalog_domain_by_id(const Catalog *c, int64_t domain) {
    name_read_id(domain);
    for (int64_t i = 0; i < c->n_domains && domain; i++)
        if (c->domains[i]->id == domain) return c->domains[i];
    return NULL;
}
char *domain_shown(Arena *a, const Domain *d) { return named_text(a, d->name); }
bool domain_is_of(const Catalog *c, const Domain *d, const Domain *x) {
    while (d && d->id != x->id) d = catalog_domain_by_id(c, d->parent);
    return d != NULL;
}

/* One block, as a view. */
static int64_t domain_bytes(const Domain *d) {
    int64_t n = (int64_t)sizeof *d + d->n_checks * (int64_t)sizeof(DomainCheck) + (int64_t)strlen(d->name) + 1;
    if (d->default_sql) n += (int64_t)strlen(d->default_sql) + 1;
    for (int i = 0; i < d->n_checks; i++) n += (int64_t)(strlen(d->checks[i].name) + strlen(d->checks[i].sql)) + 2;
    return n;
}
Domain *domain_new(const Domain *like, Err *e) {
    Domain *d = mem_calloc(NULL, domain_bytes(like), e);
    if (!d) return NULL;
    *d = *like;
    d->checks = (DomainCheck *)(void *)(d + 1);
    char *at = (char *)(d->checks + d->n_checks);
    d->name = catalog_put_text(&at, like->name);
    d->default_sql = catalog_put_text(&at, like->default_sql);
    for (int i = 0; i < d->n_checks; i++) {
        const DomainCheck *k = &like->checks[i];
        d->checks[i] = (DomainCheck){catalog_put_text(&at, k->name), catalog_put_text(&at, k->sql), k->not_valid};
    }
    return d;
}
void domain_free(Domain *d) {
    if (d) mem_free(NULL, d, domain_bytes(d));
}

Status catalog_add_sequence(Catalog *c, Sequence *q, Err *e) {
    TRY(check_free(c, q->name, e));
    TRY(catalog_room(c, &c->sequences, c->n_sequences, &c->cap_sequences, e));
    if (q->id == 0) q->id = ++c->next_id;
    c->sequences[c->n_sequences++] = q;
    catalog_changed(c, q->name, q->owner_table, q->id);
    return ST_OK;
}
void catalog_remove_sequence(Catalog *c, const Sequence *q) {
    for (int64_t i = 0; i < c->n_sequences; i++) {
        if (c->sequences[i] != q) continue;
        take_out(&c->sequences, &c->n_sequences, i);
        catalog_changed(c, q->name, q->owner_table, q->id);
        return;
    }
}
Sequence *catalog_sequence(const Catalog *c, Slice name) {
    name_read(name);
    for (int64_t i = 0; i < c->n_sequences; i++)
        if (same_name(c->sequences[i]->name, name)) return c->sequences[i];
    return NULL;
}
Sequence *catalog_sequence_by_id(const Catalog *c, int64_t sequence) {
    name_read_id(sequence);
    for (int64_t i = 0; i < c->n_sequences; i++)
        if (c->sequences[i]->id == sequence) return c->sequences[i];
    return NULL;
}
Sequence *catalog_sequence_of(const Catalog *c, const char *table, const char *column) {
    Sequence *found = NULL;
    name_read(slice_of(table));
    for (int64_t i = 0; i < c->n_sequences; i++) {
        Sequence *q = c->sequences[i];
        if (!q->owner_table || strcmp(q->owner_table, table) != 0 || strcmp(q->owner_column, column) != 0) continue;
        if (!found || q->identity) found = q;
    }
    return found;
}

/* ---- retiring: the node is the first field of each ---- */
static void reclaim_view(EpochNode *n) { view_free((View *)(void *)n); }
static void reclaim_foreign(EpochNode *n) { foreign_free((ForeignKey *)(void *)n); }
static void reclaim_routine(EpochNode *n) { routine_free((Routine *)(void *)n); }
static void reclaim_domain(EpochNode *n) { domain_free((Domain *)(void *)n); }
void view_retire(EpochDomain *d, View *v) { epoch_retire(d, &v->node, view_bytes(v), reclaim_view); }
void foreign_retire(EpochDomain *d, ForeignKey *f) { epoch_retire(d, &f->node, foreign_bytes(f), reclaim_foreign); }
void routine_retire(EpochDomain *d, Routine *r) { epoch_retire(d, &r->node, routine_bytes(r), reclaim_routine); }
void domain_retire(EpochDomain *d, Domain *x) { epoch_retire(d, &x->node, domain_bytes(x), reclaim_domain); }

Status catalog_row_type(const Catalog *c, const Table *t, Type *out, Err *e) {
    const CompositeType *x = NULL;
    const int64_t bytes = ((int64_t)t->n_cols + 1) * (int64_t)sizeof(CompositeField);
    CompositeField *fields = mem_alloc(NULL, bytes, e);
    if (!fields) return ST_ERROR;
    for (int i = 0; i < t->n_cols; i++)
        fields[i] = (CompositeField){t->cols[i].name, composite_field_type(t->cols[i].type), 0};
    const Status st = composite_shared(c->rows, t->name, t->n_cols, fields, &x, e);
    mem_free(NULL, fields, bytes);
    if (st == ST_OK) *out = composite_type(x);
    return st;
}
