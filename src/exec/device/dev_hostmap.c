/* dev_hostmap.c - tablets whose pages are registered with the device.
 *
 * Registered memory is read by kernels where it lies and copied at the bus's full rate without a detour through pinned
 * buffers. Registering costs a few hundred milliseconds per gigabyte, so a tablet stays registered when the query ends:
 * until storage frees its bytes (TabletWatch), until the runtime goes, or until others need the room (least recently
 * used first; a query pins what its work may be reading).
 *
 * Locks: map_lock before storage's own. `hostblock_gone` takes it on whatever thread frees a tablet, so nothing that
 * waits for sessions or for a device is done under it. A block that is evicted while storage is already telling its
 * watch is left to `hostblock_gone`.
 */
#include <unistd.h>

#include "base/mutex.h"
#include "exec/device/dev_int.h"
#include "storage/tablet_block.h" /* blocks of tablets */

enum {
    BLOCK_OF_ITS_OWN = 1 << 20,
    SMALLEST = 128 << 10,
    PAGE = 4096
}; /* blocks from the first size on have their pages to themselves (base/mem.h) */

struct HostBlock {
    TabletWatch watch; /* first: what storage hands back */
    DevRuntime *r;
    struct TabletBlock *block;
    void *bytes;
    int64_t size; /* registered */
    DevPtr at;
    int32_t pins;
    bool dropped; /* not registered any more; the watch's call frees it */
    HostBlock *newer, *older;
};

static void unlink_block(DevRuntime *r, HostBlock *b) {
    if (b->newer) b->newer->older = b->older;
    else r->newest = b->older;
    if (b->older) b->older->newer = b->newer;
    else r->oldest = b->newer;
    b->newer = b->older = NULL;
}

static void link_newest(DevRuntime *r, HostBlock *b) {
    b->older = r->newest;
    if (r->newest) r->newest->newer = b;
    else r->oldest = b;
    r->newest = b;
}

static void forget_pages(DevRuntime *r, HostBlock *b) {
    unlink_block(r, b);
    r->d->ops->unmap_host(r->d, b->bytes, b->size);
    r->mapped_bytes -= b->size;
    b->dropped = true;
}

static void drop(DevRuntime *r, HostBlock *b) {
    forget_pages(r, b);
    if (tablet_unwatch(b->block, &b->watch)) mem_free(r->account, b, (int64_t)sizeof *b);
}

static void hostblock_gone(TabletWatch *w) {
    HostBlock *b = (HostBlock *)(void *)w;
    DevRuntime *r = b->r;
    mutex_lock(&r->map_lock);
    if (b->pins > 0) log_write(LOG_ERROR, "a tablet is freed while a query reads it on device %s", r->d->info.id);
    if (!b->dropped) forget_pages(r, b);
    mem_free(r->account, b, (int64_t)sizeof *b);
    mutex_unlock(&r->map_lock);
}

/* Makes room for `bytes` more, as far as it is not pinned: what a query that reads mapped memory needs, it gets. */
static void make_room(DevRuntime *r, int64_t bytes) {
    for (HostBlock *b = r->oldest, *newer; b && r->mapped_bytes + bytes > r->map_limit; b = newer) {
        newer = b->newer;
        if (b->pins == 0) drop(r, b);
    }
}

int64_t hostmap_limit(void) {
    int64_t pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    return pages > 0 && page > 0 ? pages / 2 * page : INT64_C(1) << 30;
}

static Status block_new(DevRuntime *r, Tablet *t, HostBlock **out, Err *e) {
    struct TabletBlock *tb = t->block;
    int64_t size = tb->size >= BLOCK_OF_ITS_OWN ? align_up(tb->size, PAGE) : tb->size;
    HostBlock *b = mem_calloc(r->account, (int64_t)sizeof *b, e);
    if (!b) return ST_ERROR;
    *b = (HostBlock){
        .watch = {.owner = r, .gone = hostblock_gone}, .r = r, .block = tb, .bytes = tb->bytes, .size = size};
    make_room(r, size);
    if (r->d->ops->map_host(r->d, b->bytes, size, &b->at, e) != ST_OK) {
        mem_free(r->account, b, (int64_t)sizeof *b);
        return ST_ERROR;
    }
    r->mapped_bytes += size;
    link_newest(r, b);
    tablet_watch(t, &b->watch);
    *out = b;
    return ST_OK;
}

static bool possible(const DevQuery *q, const Tablet *t) {
    return q->d->info.can_map && !q->d->info.shares_memory && !t->is_delta && t->block && t->block->bytes &&
           t->block->size >= SMALLEST;
}

Status hostmap_get(DevQuery *q, Tablet *t, bool make, bool *mapped, uint64_t *shift, Err *e) {
    DevRuntime *r = q->r;
    *mapped = false;
    *shift = 0;
    if (!possible(q, t)) return ST_OK;
    Status st = ST_OK;
    mutex_lock(&r->map_lock);
    HostBlock *b = (HostBlock *)(void *)tablet_watched(t, r);
    if (!b && make) st = block_new(r, t, &b, e);
    if (st == ST_OK && b) {
        if (vec_push(q->arena, &q->maps, b)) {
            b->pins++;
            if (r->newest != b) {
                unlink_block(r, b);
                link_newest(r, b);
            }
            *mapped = true;
            *shift = b->at - (uint64_t)(uintptr_t)b->bytes;
        } else {
            st = err_oom(e);
        }
    }
    mutex_unlock(&r->map_lock);
    return st;
}

void res_unmap_all(DevQuery *q) {
    if (q->maps.len == 0) return;
    mutex_lock(&q->r->map_lock);
    for (int64_t i = 0; i < q->maps.len; i++) q->maps.items[i]->pins--;
    q->maps.len = 0;
    mutex_unlock(&q->r->map_lock);
}

void hostmap_free(DevRuntime *r) {
    mutex_lock(&r->map_lock);
    for (HostBlock *b = r->oldest, *newer; b; b = newer) {
        newer = b->newer;
        if (b->pins == 0) drop(r, b);
    }
    mutex_unlock(&r->map_lock);
}
