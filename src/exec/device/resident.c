/* resident.c - which tablets' columns a device has copies of, and what they take, for what the database shows of
 * itself. What is read where the host has it (devices that share its memory, registered pages) is no copy. */
#include "base/mutex.h"
#include "exec/device/dev_int.h"
#include "storage/tablet_block.h"

/* Bytes of main tablets never change; other copies are of one version of the table. */
static bool is_valid(const ResTable *x, const ResColumn *c, const Table *t, int64_t tablet) {
    if (tablet >= c->n_tablets || !c->pieces[tablet].chunk) return false;
    if (x->version == t->version) return true;
    const ResPiece *p = &c->pieces[tablet];
    const Tablet *tab = t->tablets[tablet];
    const Patches *patches = tab->cols[c->col].patches;
    uint64_t checksum;
    const void *block = res_block_of(tab, c->col, &checksum);
    return block && p->block == block && p->checksum == checksum && p->state == (patches ? patches->state : 0);
}
bool dev_runtime_has(DevRuntime *r, const Table *t, int64_t tablet, int32_t col) {
    mutex_lock(&r->res_lock);
    bool has = false;
    for (const ResTable *x = r->tables; x && !has; x = x->next)
        has = x->id == t->id && col < x->n_cols && x->cols[col] && is_valid(x, x->cols[col], t, tablet);
    mutex_unlock(&r->res_lock);
    return has;
}

/* ---- bytes ---- */
/* Versions share chunks. */
static int64_t chunk_bytes(ResChunk *c, int64_t count) {
    if (!c || c->counted == count) return 0;
    c->counted = count;
    return c->mem.bytes;
}
static int64_t column_bytes(const ResColumn *c, int64_t count) {
    int64_t bytes = c->desc.bytes;
    for (int64_t i = 0; i < c->n_tablets; i++) {
        const ResPiece *p = &c->pieces[i];
        bytes += chunk_bytes(p->chunk, count) + chunk_bytes(p->patches, count) + chunk_bytes(p->bits, count);
    }
    return bytes;
}
int64_t dev_runtime_table_bytes(DevRuntime *r, int64_t table_id) {
    int64_t bytes = 0;
    mutex_lock(&r->res_lock);
    const int64_t count = ++r->counts;
    for (const ResTable *x = r->tables; x; x = x->next) {
        if (x->id != table_id) continue;
        bytes += x->tablets.bytes;
        for (int32_t i = 0; i < x->n_cols; i++) bytes += x->cols[i] ? column_bytes(x->cols[i], count) : 0;
    }
    for (const ResDict *d = r->dicts; d; d = d->next) bytes += d->table_id == table_id ? d->mem.bytes : 0;
    mutex_unlock(&r->res_lock);
    return bytes;
}
