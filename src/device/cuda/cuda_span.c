/* cuda_span.c - device memory that grows where it is: the driver's virtual memory management.
 *
 * cuMemAddressReserve keeps addresses, which cost nothing; cuMemCreate makes memory, cuMemMap puts it behind what the
 * span has, cuMemSetAccess opens it for the device. All sizes are multiples of the driver's granularity
 * (info.span_unit, 2 MiB). Memory lives as long as it is mapped: its handle is released as soon as it is. A mapping can
 * only be undone as a whole, so each piece's size is kept, and a span that shrinks gives back the last pieces that lie
 * altogether behind what it keeps. So that this is most of what it could, memory is mapped in pieces of at most an
 * eighth of the span, or of PIECE_UNITS: a call of the driver takes some 0.1 ms whatever the size.
 *
 * Spans take what they need from the driver and give it back; the sub-allocator keeps free chunks, so it is asked to
 * give those up when the driver has no more.
 */
#include "base/log.h"
#include "base/mutex.h"
#include "device/cuda/cuda_int.h"

static CuMemoryKind kind_of(const CudaDevice *d) {
    return (CuMemoryKind){.type = CU_ALLOCATION_PINNED, .location = {CU_LOCATION_DEVICE, d->device}};
}

static int64_t units(const CudaDevice *d, int64_t bytes) { return align_up(MAX_OF(bytes, 1), d->base.info.span_unit); }

static Status create(CudaDevice *d, int64_t bytes, CuMemory *m, Err *e) {
    CuMemoryKind kind = kind_of(d);
    CuResult r = d->api->MemCreate(m, (size_t)bytes, &kind, 0);
    if (r == CU_OUT_OF_MEMORY && suballoc_trim(d->memory) > 0) r = d->api->MemCreate(m, (size_t)bytes, &kind, 0);
    if (r == CU_OUT_OF_MEMORY) return cuda_exhausted(d, bytes, e);
    if (r != CU_SUCCESS) return cuda_fail(d, r, "cuMemCreate", e);
    return ST_OK;
}
/* One piece of `more` bytes, whole units, behind what there is. */
static Status map_piece(CudaDevice *d, Span *s, int64_t more, Err *e) {
    if (s->n_pieces == s->cap) {
        int64_t cap = MAX_OF(s->cap * 2, 8);
        int64_t *pieces = mem_realloc(d->account, s->pieces, s->cap * 8, cap * 8, e);
        if (!pieces) return ST_ERROR;
        s->pieces = pieces;
        s->cap = cap;
    }
    TRY(device_charge(&d->base, more, e));
    CuDeviceptr at = s->at + (uint64_t)s->mapped;
    CuMemory m = 0;
    CuAccess access = {{CU_LOCATION_DEVICE, d->device}, CU_ACCESS_READ_WRITE};
    bool mapped = false;
    Status st = create(d, more, &m, e);
    if (st == ST_OK) {
        CuResult r = d->api->MemMap(at, (size_t)more, 0, m, 0);
        mapped = r == CU_SUCCESS;
        if (!mapped) st = cuda_fail(d, r, "cuMemMap", e);
        r = d->api->MemRelease(m);
        if (r != CU_SUCCESS && st == ST_OK) st = cuda_fail(d, r, "cuMemRelease", e);
    }
    if (st == ST_OK) {
        CuResult r = d->api->MemSetAccess(at, (size_t)more, &access, 1);
        if (r != CU_SUCCESS) st = cuda_fail(d, r, "cuMemSetAccess", e);
    }
    if (st != ST_OK) {
        if (mapped) d->api->MemUnmap(at, (size_t)more); /* the first error is the one to tell */
        mem_discharge(&d->base.memory, more);
        return ST_ERROR;
    }
    s->pieces[s->n_pieces++] = more;
    s->mapped += more;
    atomic_fetch_add(&d->span_bytes, more);
    return ST_OK;
}
/* The last piece goes. False: the driver has kept it. */
static bool unmap_piece(CudaDevice *d, Span *s) {
    const int64_t bytes = s->pieces[s->n_pieces - 1];
    CuResult r = d->api->MemUnmap(s->at + (uint64_t)(s->mapped - bytes), (size_t)bytes);
    if (r != CU_SUCCESS) {
        cuda_fail(d, r, "cuMemUnmap", NULL); /* remembered when it means that the device is lost */
        return false;
    }
    s->n_pieces--;
    s->mapped -= bytes;
    atomic_fetch_sub(&d->span_bytes, bytes);
    mem_discharge(&d->base.memory, bytes);
    return true;
}
/* Memory for `more` bytes, whole units, behind what there is; all of it or none. */
static Status map_more(CudaDevice *d, Span *s, int64_t more, Err *e) {
    enum { PIECES = 8, PIECE_UNITS = 32 };
    const int64_t unit = d->base.info.span_unit, had = s->n_pieces, end = s->mapped + more,
                  most = align_up(MAX_OF(end / PIECES, PIECE_UNITS * unit), unit);
    while (s->mapped < end) {
        if (map_piece(d, s, MIN_OF(most, end - s->mapped), e) == ST_OK) continue;
        while (s->n_pieces > had && unmap_piece(d, s)) {}
        return ST_ERROR;
    }
    return ST_OK;
}

/* The span is in no list. */
static void drop(CudaDevice *d, Span *s) {
    for (int64_t at = 0, i = 0; i < s->n_pieces; at += s->pieces[i++]) {
        CuResult r = d->api->MemUnmap(s->at + (uint64_t)at, (size_t)s->pieces[i]);
        if (r != CU_SUCCESS) cuda_fail(d, r, "cuMemUnmap", NULL); /* remembered when it means that the device is lost */
    }
    if (s->reserved > 0) {
        CuResult r = d->api->MemAddressFree(s->at, (size_t)s->reserved);
        if (r != CU_SUCCESS) cuda_fail(d, r, "cuMemAddressFree", NULL);
    }
    atomic_fetch_sub(&d->span_bytes, s->mapped);
    mem_discharge(&d->base.memory, s->mapped);
    mem_free(d->account, s->pieces, s->cap * 8);
    mem_free(d->account, s, (int64_t)sizeof *s);
}

/* Addresses for `most` bytes, or for fewer, `least` at the least. */
static Status reserve(CudaDevice *d, Span *s, int64_t least, int64_t most, Err *e) {
    for (int64_t want = MAX_OF(units(d, most), least);; want = MAX_OF(units(d, want / 2), least)) {
        CuResult r = d->api->MemAddressReserve(&s->at, (size_t)want, (size_t)d->base.info.span_unit, 0, 0);
        if (r == CU_SUCCESS) {
            s->reserved = want;
            return ST_OK;
        }
        if (want == least || (r != CU_OUT_OF_MEMORY && r != CU_INVALID_VALUE))
            return cuda_fail(d, r, "cuMemAddressReserve", e);
    }
}

Status cuda_span_new(Device *dev, int64_t bytes, int64_t *most, DevPtr *out, Err *e) {
    CudaDevice *d = cuda_of(dev);
    *out = 0;
    TRY(cuda_enter(d, e));
    if (bytes < 0 || dev->info.span_unit <= 0)
        return err_internal(e, "%s: a span of %lld bytes", dev->info.id, (long long)bytes);
    if (bytes > INT64_MAX / 4 || *most > INT64_MAX / 4) return cuda_exhausted(d, bytes, e);
    Span *s = mem_calloc(d->account, (int64_t)sizeof *s, e);
    if (!s) return ST_ERROR;
    Status st = reserve(d, s, units(d, bytes), *most, e);
    if (st == ST_OK) st = map_more(d, s, units(d, bytes), e);
    if (st != ST_OK) {
        drop(d, s);
        return ST_ERROR;
    }
    mutex_lock(&d->lock);
    s->next = d->spans;
    d->spans = s;
    mutex_unlock(&d->lock);
    *most = s->reserved;
    *out = s->at;
    return ST_OK;
}

/* The span at p, out of the list with `take`. */
static Span *find(CudaDevice *d, DevPtr p, bool take) {
    mutex_lock(&d->lock);
    Span **at = &d->spans;
    while (*at && (*at)->at != p) at = &(*at)->next;
    Span *s = *at;
    if (s && take) *at = s->next;
    mutex_unlock(&d->lock);
    return s;
}

Status cuda_span_grow(Device *dev, DevPtr p, int64_t had, int64_t bytes, Err *e) {
    CudaDevice *d = cuda_of(dev);
    TRY(cuda_enter(d, e));
    Span *s = find(d, p, false);
    if (!s || bytes < had || bytes > s->reserved || units(d, had) > s->mapped)
        return err_internal(e, "%s: a span at 0x%llx cannot grow from %lld to %lld bytes", dev->info.id,
                            (unsigned long long)p, (long long)had, (long long)bytes);
    int64_t more = units(d, bytes) - s->mapped;
    return more > 0 ? map_more(d, s, more, e) : ST_OK;
}

void cuda_span_shrink(Device *dev, DevPtr p, int64_t had, int64_t bytes) {
    CudaDevice *d = cuda_of(dev);
    cuda_enter_release(d);
    Span *s = find(d, p, false);
    if (!s || bytes > had || units(d, had) > s->mapped) {
        log_write(LOG_ERROR, "%s: a span at 0x%llx cannot shrink from %lld to %lld bytes", dev->info.id,
                  (unsigned long long)p, (long long)had, (long long)bytes);
        return;
    }
    const int64_t keeps = units(d, bytes);
    while (s->n_pieces > 0 && s->mapped - s->pieces[s->n_pieces - 1] >= keeps && unmap_piece(d, s)) {}
}

void cuda_span_free(Device *dev, DevPtr p, int64_t bytes, int64_t most) {
    if (!p) return;
    CudaDevice *d = cuda_of(dev);
    cuda_enter_release(d);
    Span *s = find(d, p, true);
    if (!s || units(d, bytes) > s->mapped || most != s->reserved) {
        log_write(LOG_ERROR, "%s: freed a span of %lld bytes at 0x%llx, where there is none", dev->info.id,
                  (long long)bytes, (unsigned long long)p);
    }
    if (s) drop(d, s);
}

/* A trial tells: drivers with restrictions (virtual GPUs, MPS) may have the attribute and refuse. */
Status cuda_span_open(CudaDevice *d, Err *e) {
    int has = 0;
    size_t unit = 0;
    CuMemoryKind kind = kind_of(d);
    Err why = {0};
    CUDA_TRY(d, d->api->DeviceGetAttribute(&has, CU_ATTR_VIRTUAL_MEMORY, d->device), "cuDeviceGetAttribute", e);
    if (has)
        CUDA_TRY(d, d->api->MemGetAllocationGranularity(&unit, &kind, CU_GRANULARITY_MINIMUM),
                 "cuMemGetAllocationGranularity", e);
    d->base.info.span_unit = (int64_t)unit;
    if (unit > 0) {
        int64_t most = (int64_t)unit;
        DevPtr p = 0;
        if (cuda_span_new(&d->base, (int64_t)unit, &most, &p, &why) == ST_OK) {
            cuda_span_free(&d->base, p, (int64_t)unit, most);
            return ST_OK;
        }
        if (atomic_load(&d->lost)) return cuda_enter(d, e); /* says why */
        d->base.info.span_unit = 0;
    }
    log_write(LOG_INFO, "%s: memory that grows is copied: %s", d->base.info.id,
              unit > 0 ? why.message : "the device has no virtual memory management");
    return ST_OK;
}

void cuda_span_close(CudaDevice *d) {
    for (Span *s = d->spans, *next; s; s = next) {
        next = s->next;
        drop(d, s);
    }
    d->spans = NULL;
}
