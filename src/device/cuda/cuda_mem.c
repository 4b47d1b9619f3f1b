/* cuda_mem.c - device, pinned and mapped memory of the cuda backend.
 *
 * Device memory comes from suballoc.h; info.memory counts what callers hold, not what the sub-allocator keeps.
 *
 * Pinned blocks are expensive to make (the kernel locks page by page), so up to PINNED_KEEP bytes of freed ones are
 * kept. The account is charged for blocks in use.
 *
 * Mapped host memory is registered page by page, but blocks may begin and end inside pages that they share with other
 * blocks. A registration must not outlive the block it was made for: the pages could be unmapped, the addresses reused,
 * and the device would go on reading the old pages. So a block becomes up to three regions: its first page and its last
 * page, when it only has a part of them, and the whole pages between. A shared page stays registered while some mapped
 * block lies on it (then it cannot be unmapped); whole pages belong to one block alone. Device addresses of
 * neighbouring regions must be neighbours too; they are wherever host and device addresses are equal (64-bit Linux),
 * and it is checked.
 */
#include <stdio.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mutex.h"
#include "device/cuda/cuda_int.h"

enum { PINNED_KEEP = 1 << 30, PINNED_ALIGN = 4096 };

/* ---- device memory ---------------------------------------------------------------- */

static SubResult grow_chunk(void *ctx, int64_t bytes, uint64_t *addr, Err *e) {
    CudaDevice *d = ctx;
    CuResult r = d->api->MemAlloc(addr, (size_t)bytes);
    if (r == CU_SUCCESS) return SUB_OK;
    if (r == CU_OUT_OF_MEMORY) return SUB_FULL;
    cuda_fail(d, r, "cuMemAlloc", e);
    return SUB_FAILED;
}

static void drop_chunk(void *ctx, uint64_t addr, int64_t bytes) {
    CudaDevice *d = ctx;
    (void)bytes;
    CuResult r = d->api->MemFree(addr);
    if (r != CU_SUCCESS) cuda_fail(d, r, "cuMemFree", NULL); /* remembered when it means that the device is lost */
}

Status cuda_exhausted(CudaDevice *d, int64_t asked, Err *e) {
    char limit[32] = "none";
    if (atomic_load(&d->base.memory.limit) > 0)
        snprintf(limit, sizeof limit, "%lld", (long long)atomic_load(&d->base.memory.limit));
    bool fresh = e && !err_is_set(e);
    err_set(e, ERR_OUT_OF_MEMORY, "out of memory on device \"%s\": %lld bytes asked for, %lld in use, limit %s",
            d->base.info.id, (long long)asked, (long long)atomic_load(&d->base.memory.used), limit);
    size_t free_bytes = 0, total = 0;
    if (fresh && d->api->MemGetInfo(&free_bytes, &total) == CU_SUCCESS) {
        err_detail(e, "The driver has %zu of %zu bytes free; other programs use the device too.", free_bytes, total);
    }
    return ST_ERROR;
}

Status cuda_alloc(Device *dev, int64_t bytes, DevPtr *out, Err *e) {
    CudaDevice *d = cuda_of(dev);
    *out = 0;
    TRY(cuda_enter(d, e));
    if (bytes < 0) return err_internal(e, "allocation of %lld bytes", (long long)bytes);
    if (bytes > INT64_MAX / 4) return cuda_exhausted(d, bytes, e);
    int64_t size = suballoc_rounded(bytes);
    TRY(device_charge(dev, size, e));
    int64_t limit = atomic_load(&dev->memory.limit);
    if (limit > 0) limit = MAX_OF(limit - atomic_load(&d->span_bytes), INT64_C(1));
    SubResult r = suballoc_take(d->memory, size, limit, out, e);
    if (LIKELY(r == SUB_OK)) return ST_OK;
    mem_discharge(&dev->memory, size);
    return r == SUB_FULL ? cuda_exhausted(d, bytes, e) : ST_ERROR;
}

void cuda_free(Device *dev, DevPtr p, int64_t bytes) {
    if (!p) return;
    CudaDevice *d = cuda_of(dev);
    int64_t size = suballoc_give(d->memory, p);
    if (size < 0 || size != suballoc_rounded(bytes)) {
        log_write(LOG_ERROR, "%s: freed %lld bytes at 0x%llx, where %lld bytes were allocated", dev->info.id,
                  (long long)bytes, (unsigned long long)p, (long long)size);
    }
    if (size > 0) mem_discharge(&dev->memory, size);
}

Status cuda_memory_used(Device *dev, int64_t *free_bytes, int64_t *total, Err *e) {
    CudaDevice *d = cuda_of(dev);
    TRY(cuda_enter(d, e));
    size_t f = 0, t = 0;
    CUDA_TRY(d, d->api->MemGetInfo(&f, &t), "cuMemGetInfo", e);
    *free_bytes = (int64_t)f;
    *total = (int64_t)t;
    return ST_OK;
}

/* ---- pinned memory ---------------------------------------------------------------- */

static void pinned_drop(CudaDevice *d, Pinned *p) {
    CuResult r = d->api->MemFreeHost(p->host);
    if (r != CU_SUCCESS) cuda_fail(d, r, "cuMemFreeHost", NULL);
    mem_free(d->account, p, (int64_t)sizeof *p);
}

static void pinned_drop_list(CudaDevice *d, Pinned *p) {
    for (Pinned *next; p; p = next) {
        next = p->next;
        pinned_drop(d, p);
    }
}

/* Takes a kept block of `size` bytes up to twice that out of the list: the smallest. */
static Pinned *pinned_reuse(CudaDevice *d, int64_t size) {
    mutex_lock(&d->lock);
    Pinned **best = NULL;
    for (Pinned **at = &d->pinned_kept; *at; at = &(*at)->next) {
        if ((*at)->bytes >= size && (*at)->bytes <= size * 2 && (!best || (*at)->bytes < (*best)->bytes)) best = at;
    }
    Pinned *p = NULL;
    if (best) {
        p = *best;
        *best = p->next;
        d->pinned_kept_bytes -= p->bytes;
    }
    mutex_unlock(&d->lock);
    return p;
}

static void pinned_trim(CudaDevice *d) {
    mutex_lock(&d->lock);
    Pinned *list = d->pinned_kept;
    d->pinned_kept = NULL;
    d->pinned_kept_bytes = 0;
    mutex_unlock(&d->lock);
    pinned_drop_list(d, list);
}

static Status pinned_new(CudaDevice *d, int64_t size, Pinned **out, Err *e) {
    Pinned *p = mem_calloc(d->account, (int64_t)sizeof *p, e);
    if (!p) return ST_ERROR;
    const unsigned flags = CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP;
    void *host = NULL;
    CuResult r = d->api->MemHostAlloc(&host, (size_t)size, flags);
    if (r == CU_OUT_OF_MEMORY) {
        pinned_trim(d);
        r = d->api->MemHostAlloc(&host, (size_t)size, flags);
    }
    const char *call = "cuMemHostAlloc";
    if (r == CU_SUCCESS) {
        p->host = host;
        p->bytes = size;
        r = d->api->MemHostGetDevicePointer(&p->dev, host, 0);
        if (r == CU_SUCCESS) {
            *out = p;
            return ST_OK;
        }
        call = "cuMemHostGetDevicePointer";
        d->api->MemFreeHost(host);
    }
    mem_free(d->account, p, (int64_t)sizeof *p);
    if (r == CU_OUT_OF_MEMORY) {
        return err_set(e, ERR_OUT_OF_MEMORY,
                       "%s: could not lock %lld bytes of host memory: %s failed: CUDA_ERROR_OUT_OF_MEMORY",
                       d->base.info.id, (long long)size, call);
    }
    return cuda_fail(d, r, call, e);
}

Status cuda_alloc_pinned(Device *dev, int64_t bytes, void **host, DevPtr *dev_out, Err *e) {
    CudaDevice *d = cuda_of(dev);
    *host = NULL;
    TRY(cuda_enter(d, e));
    if (bytes < 0 || bytes > INT64_MAX / 4) return err_internal(e, "pinned allocation of %lld bytes", (long long)bytes);
    int64_t size = align_up(MAX_OF(bytes, 1), PINNED_ALIGN);
    Pinned *p = pinned_reuse(d, size);
    if (!p) TRY(pinned_new(d, size, &p, e));
    if (mem_charge(d->account, p->bytes, e) != ST_OK) {
        pinned_drop(d, p);
        return ST_ERROR;
    }
    mutex_lock(&d->lock);
    p->next = d->pinned_used;
    d->pinned_used = p;
    mutex_unlock(&d->lock);
    *host = p->host;
    if (dev_out) *dev_out = p->dev;
    return ST_OK;
}

void cuda_free_pinned(Device *dev, void *host, int64_t bytes) {
    if (!host) return;
    CudaDevice *d = cuda_of(dev);
    cuda_enter_release(d);
    mutex_lock(&d->lock);
    Pinned **at = &d->pinned_used;
    while (*at && (*at)->host != host) at = &(*at)->next;
    Pinned *p = *at;
    bool keep = false;
    if (p) {
        *at = p->next;
        keep = d->pinned_kept_bytes + p->bytes <= PINNED_KEEP && !atomic_load(&d->lost);
        if (keep) {
            p->next = d->pinned_kept;
            d->pinned_kept = p;
            d->pinned_kept_bytes += p->bytes;
        }
        mem_discharge(d->account, p->bytes);
    }
    mutex_unlock(&d->lock);
    if (!p) {
        log_write(LOG_ERROR, "%s: freed %lld bytes at %p, which are not pinned memory", dev->info.id, (long long)bytes,
                  host);
    } else if (!keep) {
        pinned_drop(d, p);
    }
}

/* ---- mapped memory ---------------------------------------------------------------- */

/* The first region that ends behind `at`; n_regions when there is none. Under map_lock. */
static int64_t region_find(const CudaDevice *d, uintptr_t at) {
    int64_t lo = 0, hi = atomic_load(&d->n_regions);
    while (lo < hi) {
        int64_t mid = (lo + hi) / 2;
        if (d->regions[mid].start + (uintptr_t)d->regions[mid].bytes > at) hi = mid;
        else lo = mid + 1;
    }
    return lo;
}

int64_t cuda_copy_piece(CudaDevice *d, const void *host, int64_t n) {
    if (LIKELY(atomic_load(&d->n_regions) == 0)) return n;
    uintptr_t at = (uintptr_t)host;
    mutex_lock(&d->map_lock);
    int64_t i = region_find(d, at), piece = n;
    if (i < atomic_load(&d->n_regions)) {
        const Region *r = &d->regions[i];
        uintptr_t border = r->start > at ? r->start : r->start + (uintptr_t)r->bytes;
        if (border - at < (uintptr_t)n) piece = (int64_t)(border - at);
    }
    mutex_unlock(&d->map_lock);
    return piece;
}

/* One reference less on the region that begins at `start`. */
static void region_drop(CudaDevice *d, uintptr_t start) {
    int64_t i = region_find(d, start), n = atomic_load(&d->n_regions);
    if (i == n || d->regions[i].start != start) {
        log_write(LOG_ERROR, "%s: unmapped host memory at 0x%llx, which is not mapped", d->base.info.id,
                  (unsigned long long)start);
        return;
    }
    if (--d->regions[i].refs > 0) return;
    CuResult r = d->api->MemHostUnregister((void *)start);
    if (r != CU_SUCCESS) cuda_fail(d, r, "cuMemHostUnregister", NULL);
    memmove(d->regions + i, d->regions + i + 1, (size_t)(n - i - 1) * sizeof(Region));
    atomic_store(&d->n_regions, n - 1);
}

static Status register_refused(CudaDevice *d, CuResult r, uintptr_t start, int64_t bytes, Err *e) {
    const char *id = d->base.info.id;
    unsigned long long at = (unsigned long long)start;
    if (r == CU_ALREADY_REGISTERED) {
        return err_set(e, ERR_FEATURE_NOT_SUPPORTED,
                       "%s: cannot map %lld bytes of host memory at 0x%llx: part of them is mapped already", id,
                       (long long)bytes, at);
    }
    if (r == CU_NOT_SUPPORTED) {
        return err_set(e, ERR_FEATURE_NOT_SUPPORTED,
                       "%s: cannot map host memory: cuMemHostRegister failed: CUDA_ERROR_NOT_SUPPORTED", id);
    }
    if (r == CU_OUT_OF_MEMORY) {
        return err_set(
            e, ERR_OUT_OF_MEMORY,
            "%s: could not lock %lld bytes of host memory: cuMemHostRegister failed: CUDA_ERROR_OUT_OF_MEMORY", id,
            (long long)bytes);
    }
    if (r == CU_UNKNOWN) { /* some memory cannot be locked (files, devices) and drivers differ in what they call it: the
                              context is fine */
        return err_set(e, ERR_SYSTEM, "%s: cuMemHostRegister failed for %lld bytes at 0x%llx: CUDA_ERROR_UNKNOWN", id,
                       (long long)bytes, at);
    }
    return cuda_fail(d, r, "cuMemHostRegister", e);
}

/* One reference more on exactly these pages, registering them first when they are not; where the device sees them in
 * *dev. */
static Status region_add(CudaDevice *d, uintptr_t start, int64_t bytes, DevPtr *dev, Err *e) {
    int64_t n = atomic_load(&d->n_regions), i = region_find(d, start);
    bool there = i < n && d->regions[i].start == start && d->regions[i].bytes == bytes;
    if (!there) {
        if (i < n && d->regions[i].start < start + (uintptr_t)bytes)
            return register_refused(d, CU_ALREADY_REGISTERED, start, bytes, e);
        if (n == d->regions_cap) {
            int64_t cap = MAX_OF(d->regions_cap * 2, 16);
            Region *more = mem_realloc(d->account, d->regions, d->regions_cap * (int64_t)sizeof(Region),
                                       cap * (int64_t)sizeof(Region), e);
            if (!more) return ST_ERROR;
            d->regions = more;
            d->regions_cap = cap;
        }
        CuResult r = d->api->MemHostRegister((void *)start, (size_t)bytes,
                                             CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
        if (r != CU_SUCCESS) return register_refused(d, r, start, bytes, e);
        memmove(d->regions + i + 1, d->regions + i, (size_t)(n - i) * sizeof(Region));
        d->regions[i] = (Region){.start = start, .bytes = bytes};
        atomic_store(&d->n_regions, n + 1);
    }
    d->regions[i].refs++;
    CuResult r = d->api->MemHostGetDevicePointer(dev, (void *)start, 0);
    if (r == CU_SUCCESS) return ST_OK;
    region_drop(d, start);
    return cuda_fail(d, r, "cuMemHostGetDevicePointer", e);
}

typedef struct Pieces {
    int n;
    uintptr_t start[3];
    int64_t bytes[3];
} Pieces;

/* First page if shared, whole pages, last page if shared (see the top of this file). */
static Pieces pieces_of(const void *host, int64_t bytes) {
    static _Atomic long page_size;
    long page = atomic_load(&page_size);
    if (page == 0) {
        page = sysconf(_SC_PAGESIZE);
        if (page <= 0) page = 4096;
        atomic_store(&page_size, page);
    }
    uintptr_t mask = (uintptr_t)page - 1, from = (uintptr_t)host, to = from + (uintptr_t)bytes;
    uintptr_t whole = (from + mask) & ~mask, whole_end = to & ~mask;
    Pieces p = {0};
    if (from != whole) {
        p.start[p.n] = from & ~mask;
        p.bytes[p.n++] = page;
    }
    if (whole < whole_end) {
        p.start[p.n] = whole;
        p.bytes[p.n++] = (int64_t)(whole_end - whole);
    }
    if (to != whole_end && (from == whole || whole_end != (from & ~mask))) {
        p.start[p.n] = whole_end;
        p.bytes[p.n++] = page;
    }
    return p;
}

Status cuda_map_host(Device *dev, void *host, int64_t bytes, DevPtr *out, Err *e) {
    CudaDevice *d = cuda_of(dev);
    *out = 0;
    TRY(cuda_enter(d, e));
    if (!dev->info.can_map) return err_set(e, ERR_FEATURE_NOT_SUPPORTED, "%s cannot map host memory", dev->info.id);
    if (!host || bytes <= 0) return err_internal(e, "mapping of %lld bytes at %p", (long long)bytes, host);
    Pieces p = pieces_of(host, bytes);
    DevPtr first = 0;
    Status st = ST_OK;
    int done = 0;
    mutex_lock(&d->map_lock);
    while (st == ST_OK && done < p.n) {
        DevPtr at = 0;
        st = region_add(d, p.start[done], p.bytes[done], &at, e);
        if (st != ST_OK) break;
        if (done == 0) first = at;
        if (at - first != (uint64_t)(p.start[done] - p.start[0])) {
            st = err_set(e, ERR_FEATURE_NOT_SUPPORTED,
                         "%s: cannot map %lld bytes of host memory: they begin or end inside a page", dev->info.id,
                         (long long)bytes);
        }
        done++;
    }
    if (st != ST_OK) {
        while (done > 0) region_drop(d, p.start[--done]);
    }
    mutex_unlock(&d->map_lock);
    if (st == ST_OK) *out = first + (uint64_t)((uintptr_t)host - p.start[0]);
    return st;
}

void cuda_unmap_host(Device *dev, void *host, int64_t bytes) {
    if (!host || bytes <= 0) return;
    CudaDevice *d = cuda_of(dev);
    cuda_enter_release(d);
    Pieces p = pieces_of(host, bytes);
    mutex_lock(&d->map_lock);
    for (int i = 0; i < p.n; i++) region_drop(d, p.start[i]);
    mutex_unlock(&d->map_lock);
}

/* ---- life ------------------------------------------------------------------------- */

Status cuda_memory_open(CudaDevice *d, Err *e) {
    SubSource source = {d, grow_chunk, drop_chunk};
    return suballoc_new(d->account, &source, &d->memory, e);
}

void cuda_memory_close(CudaDevice *d) {
    cuda_span_close(d);
    pinned_trim(d);
    for (Pinned *p = d->pinned_used; p; p = p->next) mem_discharge(d->account, p->bytes);
    pinned_drop_list(d, d->pinned_used);
    d->pinned_used = NULL;
    for (int64_t n; (n = atomic_load(&d->n_regions)) > 0;) {
        d->regions[n - 1].refs = 1;
        region_drop(d, d->regions[n - 1].start);
    }
    mem_free(d->account, d->regions, d->regions_cap * (int64_t)sizeof(Region));
    suballoc_free(d->memory);
}
