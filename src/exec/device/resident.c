/* resident.c - which tablets' columns a device has copies of, for what the database shows of itself. What is read where
 * the host has it (devices that share its memory, registered pages) is no copy. */
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
