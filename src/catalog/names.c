/* names.c - see names.h. */
#include "catalog/names.h"

#include "base/hash.h"
#include "catalog/user_function.h"

static_assert(NAME_SLOTS <= UINT16_MAX + 1, "a slot's number has 16 bits");

static _Thread_local NameReads *reading; /* the innermost; NULL: nothing is recorded */

static int32_t slot_of(Slice name) { return (int32_t)(hash_bytes(name.ptr, name.len) & (NAME_SLOTS - 1)); }
static int32_t slot_of_id(int64_t id) { return (int32_t)(hash_u64((uint64_t)id) & (NAME_SLOTS - 1)); }

CatalogNames *catalog_names_new(Err *e) { return mem_calloc(NULL, (int64_t)sizeof(CatalogNames), e); }
void catalog_names_free(CatalogNames *x) { mem_free(NULL, x, (int64_t)sizeof *x); }

/* ---- changes: names come before the version, so that a thread that sees the version sees them ---- */
void catalog_changed(Catalog *c, const char *name, const char *other, int64_t id) {
    const int64_t version = atomic_load(&c->version) + 1;
    if (c->names && name) atomic_store(&c->names->at[slot_of(slice_of(name))], version);
    if (c->names && other) atomic_store(&c->names->at[slot_of(slice_of(other))], version);
    if (c->names && id) atomic_store(&c->names->at[slot_of_id(id)], version);
    atomic_store(&c->version, version);
}
void catalog_changed_all(Catalog *c) {
    const int64_t version = atomic_load(&c->version) + 1;
    if (c->names) atomic_store(&c->names->all, version);
    atomic_store(&c->version, version);
}

/* ---- what is looked up ---- */
void name_reads_begin(NameReads *r, const Catalog *c) {
    memset(r->bits, 0, sizeof r->bits);
    r->path = 0;
    r->definitions = catalog_definitions(c);
    name_reads_resume(r);
}
void name_reads_resume(NameReads *r) {
    if (!r) return;
    r->outer = reading;
    reading = r;
}
void name_reads_end(NameReads *r) {
    if (!r) return;
    dbg_assert(reading == r);
    reading = r->outer;
    if (r->outer && r->path) r->outer->path = r->path;
    for (int64_t i = 0; r->outer && i < NAME_SLOTS / 64; i++) r->outer->bits[i] |= r->bits[i];
}
NameReads *name_reads_pause(void) {
    NameReads *r = reading;
    reading = NULL;
    return r;
}
void name_reads_continue(NameReads *r) { reading = r; }
static void read_slot(int32_t slot) { reading->bits[slot / 64] |= UINT64_C(1) << (slot % 64); }
void name_read(Slice name) {
    if (reading) read_slot(slot_of(name));
}
void name_read_id(int64_t id) {
    if (reading && id) read_slot(slot_of_id(id));
}
void name_read_path(uint64_t hash) {
    if (reading) reading->path = hash;
}
void name_deps_read(const NameDeps *d) {
    if (d->path) name_read_path(d->path);
    for (int32_t i = 0; reading && i < d->n; i++) read_slot(d->slots[i]);
}

/* ---- what is kept ---- */
bool name_deps_keep(const NameReads *r, Arena *a, NameDeps *out) {
    int32_t n = 0;
    for (int64_t i = 0; i < NAME_SLOTS / 64; i++) n += __builtin_popcountll(r->bits[i]);
    uint16_t *slots = arena_array(a, uint16_t, n + 1);
    if (!slots) return false;
    n = 0;
    for (int64_t i = 0; i < NAME_SLOTS / 64; i++)
        for (uint64_t b = r->bits[i]; b; b &= b - 1) slots[n++] = (uint16_t)(i * 64 + __builtin_ctzll(b));
    out->path = r->path;
    out->n = n;
    out->slots = slots;
    atomic_store(&out->definitions, r->definitions);
    return true;
}
bool name_deps_may_have(const NameDeps *d, Slice name) {
    const int32_t slot = slot_of(name);
    for (int32_t i = 0; i < d->n; i++)
        if (d->slots[i] == slot) return true;
    return false;
}
bool name_deps_hold(NameDeps *d, const Catalog *c) {
    if (d->path && d->path != search_path_now()->hash) return false;
    const int64_t made = atomic_load_explicit(&d->definitions, memory_order_relaxed), now = catalog_definitions(c);
    if (made == now) return true;
    const int64_t functions = now - atomic_load(&c->version), since = MIN_OF(made - functions, now - functions);
    if (!c->names || made == 0 || since < 0 || made - functions >= USER_FUNCTIONS_VERSION) return false;
    if (atomic_load(&c->names->all) > since) return false;
    for (int32_t i = 0; i < d->n; i++)
        if (atomic_load_explicit(&c->names->at[d->slots[i]], memory_order_relaxed) > since) return false;
    atomic_store_explicit(&d->definitions, now, memory_order_relaxed);
    return true;
}
