/* cuda_int.h - shared by the files of src/device/cuda only: what stands behind the names of device.h. */
#ifndef STELE_DEVICE_CUDA_INT_H
#define STELE_DEVICE_CUDA_INT_H

#include "base/mutex.h"
#include "device/cuda/cuda_api.h"
#include "device/cuda/suballoc.h"
#include "device/device.h"

typedef struct Pinned { /* page-locked block, in use or kept for reuse */
    struct Pinned *next;
    char *host;
    DevPtr dev;
    int64_t bytes;
} Pinned;

typedef struct Region { /* registered pages; regions never overlap */
    uintptr_t start;
    int64_t bytes;
    int64_t refs;
} Region;

/* Addresses of which the first ones have memory, in as many pieces as it was given in. */
typedef struct Span {
    struct Span *next;
    CuDeviceptr at;
    int64_t reserved, mapped; /* bytes */
    int64_t n_pieces, cap;
    int64_t *pieces; /* bytes of each */
} Span;

typedef struct CudaDevice {
    Device base;
    const CudaApi *api;
    MemAccount *account; /* host memory: descriptions and pinned blocks */
    CuDevice device;
    CuContext context; /* the primary one; NULL until retained */
    SubAlloc *memory;
    int64_t local_default; /* dynamic local memory without opting in */

    _Atomic bool lost;
    Mutex lock; /* leaf; for lost_why, pinned lists, spans, kernels of modules */
    char lost_why[256];
    Pinned *pinned_used, *pinned_kept;
    int64_t pinned_kept_bytes;
    Span *spans;                /* under `lock`; each is one thread's at a time */
    _Atomic int64_t span_bytes; /* of memory */

    Mutex map_lock; /* leaf but for the driver and `lock`; for regions, sorted by start */
    Region *regions;
    int64_t regions_cap;
    _Atomic int64_t n_regions;
} CudaDevice;

struct DevQueue {
    CudaDevice *d;
    CuStream stream;
};
struct DevEvent {
    CuEvent event;
};
struct DevModule {
    CudaDevice *d;
    CuModule module;
    DevKernel *kernels;
};
struct DevKernel {
    DevModule *m;
    DevKernel *next;
    CuFunction function;
    int64_t local_static, local_max; /* bytes the code itself has; dynamic ones it may get beside them */
    int64_t param_bytes;             /* -1 = the driver does not tell */
    _Atomic bool local_raised, shares;
    int64_t bytes; /* of this struct */
    char name[];
};

static inline CudaDevice *cuda_of(Device *d) { return (CudaDevice *)d; }

/* Makes the device's context current on this thread; fails when the device was lost. At the start of each operation. */
Status cuda_enter(CudaDevice *d, Err *e);
/* The same for functions that release: goes on when the device was lost. */
void cuda_enter_release(CudaDevice *d);
/* Reports what `call` returned: 53200 for CU_OUT_OF_MEMORY, else 58000; errors that end the context mark the device
 * lost. */
Status cuda_fail(CudaDevice *d, CuResult r, const char *call, Err *e);
#define CUDA_TRY(d, call, name, e)                                              \
    do {                                                                        \
        CuResult r_ = (call);                                                   \
        if (UNLIKELY(r_ != CU_SUCCESS)) return cuda_fail((d), r_, (name), (e)); \
    } while (0)

/* cuda_mem.c */
Status cuda_memory_open(CudaDevice *d, Err *e);
void cuda_memory_close(CudaDevice *d);
Status cuda_alloc(Device *d, int64_t bytes, DevPtr *out, Err *e);
void cuda_free(Device *d, DevPtr p, int64_t bytes);
Status cuda_alloc_pinned(Device *d, int64_t bytes, void **host, DevPtr *dev, Err *e);
void cuda_free_pinned(Device *d, void *host, int64_t bytes);
Status cuda_map_host(Device *d, void *host, int64_t bytes, DevPtr *out, Err *e);
void cuda_unmap_host(Device *d, void *host, int64_t bytes);
Status cuda_memory_used(Device *d, int64_t *free_bytes, int64_t *total, Err *e);
/* 53200: the driver has no more. */
Status cuda_exhausted(CudaDevice *d, int64_t asked, Err *e);
/* How many of the n bytes at `host` one copy may cover: the driver refuses copies that cross the border of a registered
 * region. */
int64_t cuda_copy_piece(CudaDevice *d, const void *host, int64_t n);

/* cuda_span.c */
Status cuda_span_open(CudaDevice *d, Err *e); /* sets info.span_unit */
void cuda_span_close(CudaDevice *d);
Status cuda_span_new(Device *d, int64_t bytes, int64_t *most, DevPtr *out, Err *e);
Status cuda_span_grow(Device *d, DevPtr p, int64_t had, int64_t bytes, Err *e);
void cuda_span_shrink(Device *d, DevPtr p, int64_t had, int64_t bytes);
void cuda_span_free(Device *d, DevPtr p, int64_t bytes, int64_t most);

#endif
