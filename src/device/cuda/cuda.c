/* cuda.c - NVIDIA devices: driver, device, queues, events, modules and kernels. Memory is in cuda_mem.c, the compiler
 * in nvrtc.c.
 *
 * Every device uses its primary context, which it shares with other users of CUDA in the process (the runtime API,
 * other libraries). It is made current on the calling thread at the start of each operation when it is not, and stays
 * so. The driver is asked each time: that costs nanoseconds and is right also when another library changed the current
 * context, which a memory of our own would miss.
 *
 * A queue is a non-blocking stream: it does not wait for the legacy default stream of others. Errors of kernels surface
 * at any later call; those that end the context make the device lost: every later operation fails with the first cause
 * until the device is closed. Releasing functions go on then, so that nothing of the host leaks.
 */
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <time.h>

#include "base/log.h"
#include "base/mutex.h"
#include "device/cuda/cuda_int.h"
#include "device/cuda/nvrtc.h"

enum {
    SPIN_NS = 1000 * 1000, /* sync asks the driver without a pause for that long, */
    YIELD_NS =
        20 * 1000 * 1000, /* then lets others run in between: a sleep ends some 0.1 ms too late, of a bulk's 8 ms, */
    SLEEP_MAX_NS = 1000 * 1000, /* then sleeps a 64th of the time passed, at most this */
    POLL_NS = 5 * 1000 * 1000,
};

/* ---- errors and context -------------------------------------------------------------- */

/* After these the context answers nothing but the same error. */
static bool ends_context(CuResult r) {
    switch (r) {
    case CU_DEINITIALIZED:
    case CU_ECC_UNCORRECTABLE:
    case CU_NVLINK_UNCORRECTABLE:
    case CU_CONTAINED:
    case CU_ILLEGAL_ADDRESS:
    case CU_LAUNCH_TIMEOUT:
    case CU_CONTEXT_IS_DESTROYED:
    case CU_ASSERT:
    case CU_HARDWARE_STACK_ERROR:
    case CU_ILLEGAL_INSTRUCTION:
    case CU_MISALIGNED_ADDRESS:
    case CU_INVALID_ADDRESS_SPACE:
    case CU_INVALID_PC:
    case CU_LAUNCH_FAILED:
    case CU_TENSOR_MEMORY_LEAK:
    case CU_MPS_RPC_FAILURE:
    case CU_MPS_CLIENT_TERMINATED:
    case CU_UNKNOWN: return true;
    default: return false;
    }
}

Status cuda_fail(CudaDevice *d, CuResult r, const char *call, Err *e) {
    const char *name = NULL, *text = NULL;
    if (d->api->GetErrorName(r, &name) != CU_SUCCESS || !name) name = "CUDA error";
    if (d->api->GetErrorString(r, &text) != CU_SUCCESS || !text) text = "unknown error";
    if (ends_context(r)) {
        mutex_lock(&d->lock);
        bool first = !atomic_load(&d->lost);
        if (first) {
            snprintf(d->lost_why, sizeof d->lost_why, "%s failed: %s (%d): %s", call, name, r, text);
            d->base.info.lost = true;
            atomic_store(&d->lost, true);
        }
        mutex_unlock(&d->lock);
        if (first) log_write(LOG_ERROR, "%s was lost: %s failed: %s (%d): %s", d->base.info.id, call, name, r, text);
    }
    const char *state = r == CU_OUT_OF_MEMORY ? ERR_OUT_OF_MEMORY : ERR_SYSTEM;
    err_set(e, state, "%s: %s failed: %s (%d): %s", d->base.info.id, call, name, r, text);
    if (r == CU_OUT_OF_MEMORY) {
        err_detail(e, "%lld bytes of the device's memory are in use by Stele, limit %lld (0 = none).",
                   (long long)atomic_load(&d->base.memory.used), (long long)atomic_load(&d->base.memory.limit));
    }
    return ST_ERROR;
}

static NOINLINE Status report_lost(CudaDevice *d, Err *e) {
    char why[sizeof d->lost_why];
    mutex_lock(&d->lock);
    memcpy(why, d->lost_why, sizeof why);
    mutex_unlock(&d->lock);
    bool fresh = e && !err_is_set(e);
    err_set(e, ERR_SYSTEM, "%s was lost: %s", d->base.info.id, why);
    if (fresh) err_hint(e, "The device stays unusable until the database is opened again.");
    return ST_ERROR;
}

Status cuda_enter(CudaDevice *d, Err *e) {
    if (UNLIKELY(atomic_load_explicit(&d->lost, memory_order_acquire))) return report_lost(d, e);
    CuContext current = NULL;
    CUDA_TRY(d, d->api->CtxGetCurrent(&current), "cuCtxGetCurrent", e);
    if (LIKELY(current == d->context)) return ST_OK;
    CUDA_TRY(d, d->api->CtxSetCurrent(d->context), "cuCtxSetCurrent", e);
    return ST_OK;
}

void cuda_enter_release(CudaDevice *d) {
    CuContext current = NULL;
    if (d->api->CtxGetCurrent(&current) == CU_SUCCESS && current == d->context) return;
    d->api->CtxSetCurrent(d->context);
}

/* ---- queues ---------------------------------------------------------------------------- */

static Status queue_new(Device *dev, DevQueue **out, Err *e) {
    CudaDevice *d = cuda_of(dev);
    *out = NULL;
    TRY(cuda_enter(d, e));
    DevQueue *q = mem_calloc(d->account, (int64_t)sizeof *q, e);
    if (!q) return ST_ERROR;
    q->d = d;
    CuResult r = d->api->StreamCreate(&q->stream, CU_STREAM_NON_BLOCKING);
    if (r != CU_SUCCESS) {
        mem_free(d->account, q, (int64_t)sizeof *q);
        return cuda_fail(d, r, "cuStreamCreate", e);
    }
    *out = q;
    return ST_OK;
}

static void queue_free(Device *dev, DevQueue *q) {
    if (!q) return;
    CudaDevice *d = cuda_of(dev);
    cuda_enter_release(d);
    CuResult r = d->api->StreamSynchronize(q->stream);
    if (r != CU_SUCCESS) cuda_fail(d, r, "cuStreamSynchronize", NULL);
    r = d->api->StreamDestroy(q->stream);
    if (r != CU_SUCCESS) cuda_fail(d, r, "cuStreamDestroy", NULL);
    mem_free(d->account, q, (int64_t)sizeof *q);
}

static Status bad_size(int64_t n, const char *what, Err *e) {
    return err_internal(e, "%s of %lld bytes", what, (long long)n);
}

static Status copy_in(DevQueue *q, DevPtr dst, const void *src, int64_t n, Err *e) {
    CudaDevice *d = q->d;
    TRY(cuda_enter(d, e));
    if (n < 0) return bad_size(n, "copy_in", e);
    const char *from = src;
    for (int64_t piece; n > 0; n -= piece, from += piece, dst += (uint64_t)piece) {
        piece = cuda_copy_piece(d, from, n);
        CUDA_TRY(d, d->api->MemcpyHtoDAsync(dst, from, (size_t)piece, q->stream), "cuMemcpyHtoDAsync", e);
    }
    return ST_OK;
}

/* Driver calls of up to BATCH copies. A copy of a batch starts while the one before it is still on the bus; copies of
 * their own wait for each other. */
enum { BATCH = 128 };
static Status copy_in_many(DevQueue *q, const DevCopy *copies, int64_t n, Err *e) {
    CudaDevice *d = q->d;
    CuDeviceptr to[BATCH], from[BATCH];
    size_t bytes[BATCH], have = 0, first = 0;
    CuCopyAttributes how = {.source_order = CU_COPY_SOURCE_IN_STREAM_ORDER};
    TRY(cuda_enter(d, e));
    for (int64_t i = 0; i < n; i++) {
        if (copies[i].bytes < 0) return bad_size(copies[i].bytes, "copy_in_many", e);
        if (!d->api->MemcpyBatchAsync) {
            TRY(copy_in(q, copies[i].to, copies[i].from, copies[i].bytes, e));
            continue;
        }
        const char *at = copies[i].from;
        DevPtr dst = copies[i].to;
        for (int64_t left = copies[i].bytes, piece; left > 0; left -= piece, at += piece, dst += (uint64_t)piece) {
            piece = cuda_copy_piece(d, at, left);
            to[have] = dst;
            from[have] = (CuDeviceptr)(uintptr_t)at;
            bytes[have++] = (size_t)piece;
            if (have < BATCH) continue;
            CUDA_TRY(d, d->api->MemcpyBatchAsync(to, from, bytes, have, &how, &first, 1, q->stream),
                     "cuMemcpyBatchAsync", e);
            have = 0;
        }
    }
    if (have > 0)
        CUDA_TRY(d, d->api->MemcpyBatchAsync(to, from, bytes, have, &how, &first, 1, q->stream), "cuMemcpyBatchAsync",
                 e);
    return ST_OK;
}

static Status copy_out(DevQueue *q, void *dst, DevPtr src, int64_t n, Err *e) {
    CudaDevice *d = q->d;
    TRY(cuda_enter(d, e));
    if (n < 0) return bad_size(n, "copy_out", e);
    char *to = dst;
    for (int64_t piece; n > 0; n -= piece, to += piece, src += (uint64_t)piece) {
        piece = cuda_copy_piece(d, to, n);
        CUDA_TRY(d, d->api->MemcpyDtoHAsync(to, src, (size_t)piece, q->stream), "cuMemcpyDtoHAsync", e);
    }
    return ST_OK;
}

static Status copy(DevQueue *q, DevPtr dst, DevPtr src, int64_t n, Err *e) {
    CudaDevice *d = q->d;
    TRY(cuda_enter(d, e));
    if (n < 0) return bad_size(n, "copy", e);
    if (n == 0) return ST_OK;
    CUDA_TRY(d, d->api->MemcpyDtoDAsync(dst, src, (size_t)n, q->stream), "cuMemcpyDtoDAsync", e);
    return ST_OK;
}

static Status fill(DevQueue *q, DevPtr dst, uint8_t byte, int64_t n, Err *e) {
    CudaDevice *d = q->d;
    TRY(cuda_enter(d, e));
    if (n < 0) return bad_size(n, "fill", e);
    if (n == 0) return ST_OK;
    CUDA_TRY(d, d->api->MemsetD8Async(dst, byte, (size_t)n, q->stream), "cuMemsetD8Async", e);
    return ST_OK;
}

/* Until the event has passed, or all of the stream when there is none. */
static Status wait_polling(CudaDevice *d, CuStream stream, CuEvent event, DevPoll poll, void *ctx, Err *e) {
    int64_t start = clock_ns(), polled = start;
    for (;;) {
        CuResult r = event ? d->api->EventQuery(event) : d->api->StreamQuery(stream);
        if (r == CU_SUCCESS) return ST_OK;
        if (r != CU_NOT_READY) return cuda_fail(d, r, event ? "cuEventQuery" : "cuStreamQuery", e);
        int64_t now = clock_ns();
        if (now - start < SPIN_NS) continue;
        if (polled == start || now - polled >= POLL_NS) {
            if (!poll(ctx)) return ST_ERROR;
            polled = now;
        }
        if (now - start < YIELD_NS) {
            sched_yield();
            continue;
        }
        int64_t pause = MIN_OF((now - start) / 64, SLEEP_MAX_NS);
        nanosleep(&(struct timespec){.tv_nsec = (long)pause}, NULL);
    }
}

static Status sync(DevQueue *q, DevPoll poll, void *ctx, Err *e) {
    CudaDevice *d = q->d;
    TRY(cuda_enter(d, e));
    if (poll) return wait_polling(d, q->stream, NULL, poll, ctx, e);
    CUDA_TRY(d, d->api->StreamSynchronize(q->stream), "cuStreamSynchronize", e);
    return ST_OK;
}

/* ---- events ---------------------------------------------------------------------------- */

static Status event_new(Device *dev, DevEvent **out, Err *e) {
    CudaDevice *d = cuda_of(dev);
    *out = NULL;
    TRY(cuda_enter(d, e));
    DevEvent *ev = mem_calloc(d->account, (int64_t)sizeof *ev, e);
    if (!ev) return ST_ERROR;
    CuResult r = d->api->EventCreate(&ev->event, CU_EVENT_DEFAULT);
    if (r != CU_SUCCESS) {
        mem_free(d->account, ev, (int64_t)sizeof *ev);
        return cuda_fail(d, r, "cuEventCreate", e);
    }
    *out = ev;
    return ST_OK;
}

static void event_free(Device *dev, DevEvent *ev) {
    if (!ev) return;
    CudaDevice *d = cuda_of(dev);
    cuda_enter_release(d);
    CuResult r = d->api->EventDestroy(ev->event);
    if (r != CU_SUCCESS) cuda_fail(d, r, "cuEventDestroy", NULL);
    mem_free(d->account, ev, (int64_t)sizeof *ev);
}

static Status event_record(DevQueue *q, DevEvent *ev, Err *e) {
    TRY(cuda_enter(q->d, e));
    CUDA_TRY(q->d, q->d->api->EventRecord(ev->event, q->stream), "cuEventRecord", e);
    return ST_OK;
}

static Status event_wait(DevQueue *q, DevEvent *ev, Err *e) {
    TRY(cuda_enter(q->d, e));
    CUDA_TRY(q->d, q->d->api->StreamWaitEvent(q->stream, ev->event, 0), "cuStreamWaitEvent", e);
    return ST_OK;
}

static Status event_sync(Device *dev, DevEvent *ev, DevPoll poll, void *ctx, Err *e) {
    CudaDevice *d = cuda_of(dev);
    TRY(cuda_enter(d, e));
    if (poll) return wait_polling(d, NULL, ev->event, poll, ctx, e);
    CUDA_TRY(d, d->api->EventSynchronize(ev->event), "cuEventSynchronize", e);
    return ST_OK;
}

static Status event_ns(Device *dev, DevEvent *from, DevEvent *to, int64_t *ns, Err *e) {
    CudaDevice *d = cuda_of(dev);
    *ns = 0;
    TRY(cuda_enter(d, e));
    float ms = 0;
    CUDA_TRY(d, d->api->EventElapsedTime(&ms, from->event, to->event), "cuEventElapsedTime", e);
    *ns = (int64_t)((double)ms * 1e6);
    return ST_OK;
}

/* ---- modules and kernels ----------------------------------------------------------------- */

static Status compile(Device *dev, const char *source, const char *options, DevCode *out, Err *e) {
    CudaDevice *d = cuda_of(dev);
    *out = (DevCode){0};
    if (atomic_load(&d->lost)) return report_lost(d, e);
    return nvrtc_compile(source, dev->info.arch, options, out, e);
}

/* The driver takes an image without its length: a cut one would be read beyond its end. In an ELF file nothing lies
 * behind both header tables; PTX is text that ends with NUL. */
static bool code_complete(const unsigned char *p, int64_t n) {
    if (n >= 64 && memcmp(p, "\177ELF\2\1", 6) == 0) {
        uint64_t phoff, shoff;
        uint16_t phsize, phnum, shsize, shnum;
        memcpy(&phoff, p + 32, 8);
        memcpy(&shoff, p + 40, 8);
        memcpy(&phsize, p + 54, 2);
        memcpy(&phnum, p + 56, 2);
        memcpy(&shsize, p + 58, 2);
        memcpy(&shnum, p + 60, 2);
        uint64_t end = (uint64_t)n;
        return phoff <= end && (uint64_t)phsize * phnum <= end - phoff && shoff <= end &&
               (uint64_t)shsize * shnum <= end - shoff;
    }
    return n > 0 && p[n - 1] == 0 && memchr(p, 0, (size_t)n) == p + n - 1;
}

static Status load(Device *dev, const void *code, int64_t n, DevModule **out, Err *e) {
    CudaDevice *d = cuda_of(dev);
    *out = NULL;
    TRY(cuda_enter(d, e));
    if (!code_complete(code, n))
        return err_set(e, ERR_SYSTEM, "%s: compiled code of %lld bytes is damaged", dev->info.id, (long long)n);
    DevModule *m = mem_calloc(d->account, (int64_t)sizeof *m, e);
    if (!m) return ST_ERROR;
    m->d = d;
    CuResult r = d->api->ModuleLoadData(&m->module, code);
    if (r != CU_SUCCESS) {
        mem_free(d->account, m, (int64_t)sizeof *m);
        bool fresh = e && !err_is_set(e);
        cuda_fail(d, r, "cuModuleLoadData", e);
        if (fresh && (r == CU_INVALID_IMAGE || r == CU_NO_BINARY_FOR_GPU || r == CU_INVALID_PTX ||
                      r == CU_UNSUPPORTED_PTX_VERSION)) {
            err_hint(
                e,
                "The code is by %s and the driver supports %s. STELE_NVRTC can name a libnvrtc that suits the driver.",
                dev->info.compiler, dev->info.driver);
        }
        return ST_ERROR;
    }
    *out = m;
    return ST_OK;
}

static void unload(Device *dev, DevModule *m) {
    if (!m) return;
    CudaDevice *d = cuda_of(dev);
    cuda_enter_release(d);
    CuResult r = d->api->ModuleUnload(m->module);
    if (r != CU_SUCCESS) cuda_fail(d, r, "cuModuleUnload", NULL);
    for (DevKernel *k = m->kernels, *next; k; k = next) {
        next = k->next;
        mem_free(d->account, k, k->bytes);
    }
    mem_free(d->account, m, (int64_t)sizeof *m);
}

static Status constant(DevModule *m, const char *name, int64_t bytes, DevPtr *out, Err *e) {
    CudaDevice *d = m->d;
    CuDeviceptr p = 0;
    size_t size = 0;
    *out = 0;
    TRY(cuda_enter(d, e));
    CUDA_TRY(d, d->api->ModuleGetGlobal(&p, &size, m->module, name), "cuModuleGetGlobal", e);
    if ((int64_t)size != bytes)
        return err_internal(e, "constant \"%s\" has %lld bytes, not %lld", name, (long long)size, (long long)bytes);
    *out = (DevPtr)p;
    return ST_OK;
}

static Status describe_kernel(CudaDevice *d, DevKernel *k, Err *e) {
    const CudaApi *api = d->api;
    CUDA_TRY(d, api->ModuleGetFunction(&k->function, k->m->module, k->name), "cuModuleGetFunction", e);
    int shared = 0;
    CUDA_TRY(d, api->FuncGetAttribute(&shared, CU_FUNC_SHARED_BYTES, k->function), "cuFuncGetAttribute", e);
    k->local_static = shared;
    k->local_max = MAX_OF(d->base.info.local_bytes - shared, 0);
    k->param_bytes = -1;
    if (!api->FuncGetParamInfo) return ST_OK;
    size_t offset = 0, size = 0;
    CuResult r = api->FuncGetParamInfo(k->function, 0, &offset, &size);
    if (r == CU_SUCCESS) k->param_bytes = (int64_t)size;
    else if (r == CU_INVALID_VALUE) k->param_bytes = 0; /* no such parameter */
    else return cuda_fail(d, r, "cuFuncGetParamInfo", e);
    return ST_OK;
}

static DevKernel *find_kernel(DevModule *m, const char *name) {
    mutex_lock(&m->d->lock);
    DevKernel *k = m->kernels;
    while (k && strcmp(k->name, name) != 0) k = k->next;
    mutex_unlock(&m->d->lock);
    return k;
}

static Status kernel(DevModule *m, const char *name, DevKernel **out, Err *e) {
    CudaDevice *d = m->d;
    *out = NULL;
    TRY(cuda_enter(d, e));
    *out = find_kernel(m, name);
    if (*out) return ST_OK;
    int64_t bytes = (int64_t)sizeof(DevKernel) + (int64_t)strlen(name) + 1;
    DevKernel *k = mem_calloc(d->account, bytes, e);
    if (!k) return ST_ERROR;
    k->m = m;
    k->bytes = bytes;
    memcpy(k->name, name, strlen(name) + 1);
    if (describe_kernel(d, k, e) != ST_OK) {
        err_context(e, "kernel \"%s\"", name);
        mem_free(d->account, k, bytes);
        return ST_ERROR;
    }
    mutex_lock(&d->lock); /* two threads may both have made one: both stay until the module goes */
    k->next = m->kernels;
    m->kernels = k;
    mutex_unlock(&d->lock);
    *out = k;
    return ST_OK;
}

/* More local memory than every device has must be asked for, once per kernel; asking twice at once is harmless. */
static CuResult raise_local(CudaDevice *d, DevKernel *k, int64_t local_bytes) {
    if (LIKELY(k->local_static + local_bytes <= d->local_default) ||
        atomic_load_explicit(&k->local_raised, memory_order_relaxed))
        return CU_SUCCESS;
    CuResult r = d->api->FuncSetAttribute(k->function, CU_FUNC_MAX_DYNAMIC_SHARED_BYTES, (int)k->local_max);
    if (r == CU_SUCCESS) atomic_store_explicit(&k->local_raised, true, memory_order_relaxed);
    return r;
}

static int64_t resident_groups(DevKernel *k, int32_t group_size, int64_t local_bytes) {
    CudaDevice *d = k->m->d;
    if (group_size < 1 || group_size > d->base.info.group_max || local_bytes < 0 || local_bytes > k->local_max)
        return 0;
    if (cuda_enter(d, NULL) != ST_OK || raise_local(d, k, local_bytes) != CU_SUCCESS) return 0;
    int blocks = 0;
    CuResult r = d->api->OccupancyMaxActiveBlocks(&blocks, k->function, group_size, (size_t)local_bytes);
    if (r != CU_SUCCESS) {
        cuda_fail(d, r, "cuOccupancyMaxActiveBlocksPerMultiprocessor", NULL);
        return 0;
    }
    return (int64_t)blocks * d->base.info.units;
}

/* A multiprocessor divides its memory into cache and local memory as its first kernel requires, and a kernel that
 * requires another division waits until the multiprocessor is empty. So all such kernels require as much local memory
 * as there is. */
static Status share_units(DevKernel *k, Err *e) {
    CudaDevice *d = k->m->d;
    if (atomic_load_explicit(&k->shares, memory_order_relaxed)) return ST_OK;
    TRY(cuda_enter(d, e));
    CUDA_TRY(d, d->api->FuncSetAttribute(k->function, CU_FUNC_PREFERRED_SHARED_CARVEOUT, 100), "cuFuncSetAttribute", e);
    atomic_store_explicit(&k->shares, true, memory_order_relaxed);
    return ST_OK;
}

static NOINLINE Status bad_launch(const DevKernel *k, int64_t groups, int32_t group_size, int64_t local_bytes,
                                  int32_t n_params, Err *e) {
    return err_internal(
        e,
        "kernel \"%s\" launched with %lld groups of %d, %lld bytes of local memory (at most %lld) and %d parameters"
        " (%lld bytes expected)",
        k->name, (long long)groups, group_size, (long long)local_bytes, (long long)k->local_max, n_params,
        (long long)k->param_bytes);
}

static Status launch(DevQueue *q, DevKernel *k, int64_t groups, int32_t group_size, int64_t local_bytes,
                     const uint64_t *params, int32_t n_params, Err *e) {
    CudaDevice *d = q->d;
    TRY(cuda_enter(d, e));
    if (UNLIKELY(groups < 0 || groups > INT32_MAX || group_size < 1 || group_size > d->base.info.group_max ||
                 local_bytes < 0 || local_bytes > k->local_max || n_params < 0 || n_params > DEV_PARAMS_MAX ||
                 (k->param_bytes >= 0 && k->param_bytes != n_params * 8))) {
        return bad_launch(k, groups, group_size, local_bytes, n_params, e);
    }
    if (groups == 0) return ST_OK;
    CUDA_TRY(d, raise_local(d, k, local_bytes), "cuFuncSetAttribute", e);
    /* The driver copies as many bytes as the kernel declares: when it does not tell how many, zeros follow the caller's
     * parameters. */
    uint64_t padded[DEV_PARAMS_MAX];
    void *block = (void *)(uintptr_t)params;
    if (k->param_bytes < 0) {
        if (n_params > 0) memcpy(padded, params, (size_t)n_params * 8);
        memset(padded + n_params, 0, (size_t)(DEV_PARAMS_MAX - n_params) * 8);
        block = padded;
    }
    CUDA_TRY(d,
             d->api->LaunchKernel(k->function, (unsigned)groups, 1, 1, (unsigned)group_size, 1, 1,
                                  (unsigned)local_bytes, q->stream, n_params > 0 ? &block : NULL, NULL),
             "cuLaunchKernel", e);
    return ST_OK;
}

/* ---- device ------------------------------------------------------------------------------- */

static void close_device(Device *dev) {
    if (!dev) return;
    CudaDevice *d = cuda_of(dev);
    int64_t used = atomic_load(&dev->memory.used);
    if (used != 0)
        log_write(LOG_ERROR, "%s is closed with %lld bytes of its memory in use", dev->info.id, (long long)used);
    if (d->context) {
        cuda_enter_release(d);
        cuda_memory_close(d);
        CuContext current = NULL;
        if (d->api->CtxGetCurrent(&current) == CU_SUCCESS && current == d->context) d->api->CtxSetCurrent(NULL);
        CuResult r = d->api->DevicePrimaryCtxRelease(d->device);
        if (r != CU_SUCCESS) log_write(LOG_WARNING, "%s: cuDevicePrimaryCtxRelease failed: %d", dev->info.id, r);
    }
    mutex_destroy(&d->lock);
    mutex_destroy(&d->map_lock);
    mem_free(d->account, d, (int64_t)sizeof *d);
}

static const DeviceOps ops = {
    .version = DEVICE_VERSION,
    .close = close_device,
    .alloc = cuda_alloc,
    .free = cuda_free,
    .alloc_pinned = cuda_alloc_pinned,
    .free_pinned = cuda_free_pinned,
    .map_host = cuda_map_host,
    .unmap_host = cuda_unmap_host,
    .memory_used = cuda_memory_used,
    .span_new = cuda_span_new,
    .span_grow = cuda_span_grow,
    .span_shrink = cuda_span_shrink,
    .span_free = cuda_span_free,
    .queue_new = queue_new,
    .queue_free = queue_free,
    .copy_in = copy_in,
    .copy_out = copy_out,
    .copy = copy,
    .fill = fill,
    .launch = launch,
    .sync = sync,
    .event_new = event_new,
    .event_free = event_free,
    .event_record = event_record,
    .event_wait = event_wait,
    .event_sync = event_sync,
    .event_ns = event_ns,
    .compile = compile,
    .load = load,
    .unload = unload,
    .kernel = kernel,
    .resident_groups = resident_groups,
    .constant = constant,
    .share_units = share_units,
    .copy_in_many = copy_in_many,
};

/* What is asked of a device, in the order of `attributes`. */
enum {
    CC_MAJOR,
    CC_MINOR,
    UNITS,
    WARP,
    GROUP_MAX,
    UNIT_ITEMS,
    LOCAL_OPTIN,
    LOCAL,
    L2,
    CLOCK_KHZ,
    BUS_BITS,
    MAP,
    UNIFIED,
    REGISTER,
    CONCURRENT,
    N_ATTRIBUTES
};
static const int attributes[N_ATTRIBUTES] = {
    [CC_MAJOR] = CU_ATTR_CC_MAJOR,
    [CC_MINOR] = CU_ATTR_CC_MINOR,
    [UNITS] = CU_ATTR_MULTIPROCESSORS,
    [WARP] = CU_ATTR_WARP_SIZE,
    [GROUP_MAX] = CU_ATTR_MAX_THREADS_PER_BLOCK,
    [UNIT_ITEMS] = CU_ATTR_THREADS_PER_MULTIPROCESSOR,
    [LOCAL_OPTIN] = CU_ATTR_MAX_SHARED_OPTIN,
    [LOCAL] = CU_ATTR_MAX_SHARED_PER_BLOCK,
    [L2] = CU_ATTR_L2_BYTES,
    [CLOCK_KHZ] = CU_ATTR_MEMORY_CLOCK_KHZ,
    [BUS_BITS] = CU_ATTR_MEMORY_BUS_BITS,
    [MAP] = CU_ATTR_CAN_MAP_HOST,
    [UNIFIED] = CU_ATTR_UNIFIED_ADDRESSING,
    [REGISTER] = CU_ATTR_HOST_REGISTER,
    [CONCURRENT] = CU_ATTR_CONCURRENT_KERNELS,
};

static Status fill_info(CudaDevice *d, Err *e) {
    DeviceInfo *info = &d->base.info;
    int v[N_ATTRIBUTES] = {0};
    for (int i = 0; i < N_ATTRIBUTES; i++) {
        CUDA_TRY(d, d->api->DeviceGetAttribute(&v[i], attributes[i], d->device), "cuDeviceGetAttribute", e);
    }
    CUDA_TRY(d, d->api->DeviceGetName(info->name, (int)sizeof info->name, d->device), "cuDeviceGetName", e);
    size_t total = 0;
    CUDA_TRY(d, d->api->DeviceTotalMem(&total, d->device), "cuDeviceTotalMem", e);
    int major = 0, minor = 0;
    TRY(nvrtc_version(&major, &minor, e));
    snprintf(info->arch, sizeof info->arch, "sm_%d%d", v[CC_MAJOR], v[CC_MINOR]);
    snprintf(info->compiler, sizeof info->compiler, "nvrtc %d.%d", major, minor);
    snprintf(info->driver, sizeof info->driver, "CUDA %d.%d", d->api->version / 1000, d->api->version % 1000 / 10);
    info->kind = DEVICE_CUDA;
    info->warp_functions = info->constant_memory = info->whole_params = true;
    info->group_rows = 256;
    info->group_calls = 128;
    info->measure_bytes = INT64_C(4) << 30;
    info->can_map = v[MAP] && v[UNIFIED] && v[REGISTER];
    info->concurrent = v[CONCURRENT] != 0;
    info->memory_bytes = (int64_t)total;
    info->units = v[UNITS];
    info->warp = v[WARP];
    info->group_max = v[GROUP_MAX];
    info->items_per_unit = v[UNIT_ITEMS];
    info->local_bytes = MAX_OF(v[LOCAL_OPTIN], v[LOCAL]);
    d->local_default = v[LOCAL];
    info->cache_bytes = v[L2];
    info->peak_gbps = 2.0 * v[CLOCK_KHZ] * 1e3 * v[BUS_BITS] / 8 / 1e9; /* two transfers a clock */
    return ST_OK;
}

static Status open_context(CudaDevice *d, int index, Err *e) {
    int count = 0;
    CUDA_TRY(d, d->api->DeviceGetCount(&count), "cuDeviceGetCount", e);
    if (index < 0 || index >= count)
        return err_set(e, ERR_SYSTEM, "%s: there is no such device, %d found", d->base.info.id, count);
    CUDA_TRY(d, d->api->DeviceGet(&d->device, index), "cuDeviceGet", e);
    TRY(fill_info(d, e));
    TRY(cuda_memory_open(d, e));
    CuResult r = d->api->DevicePrimaryCtxRetain(&d->context, d->device);
    if (r != CU_SUCCESS) {
        d->context = NULL;
        suballoc_free(d->memory);
        return cuda_fail(d, r, "cuDevicePrimaryCtxRetain", e);
    }
    TRY(cuda_enter(d, e));
    return cuda_span_open(d, e);
}

static Status open_device(int index, Pool *pool, MemAccount *account, Device **out, Err *e) {
    (void)pool; /* the device schedules its own work */
    *out = NULL;
    char why[256] = "";
    const CudaApi *api = cuda_api_get(why, (int64_t)sizeof why);
    if (!api) return err_set(e, ERR_SYSTEM, "cuda:%d cannot be opened: %s", index, why);
    CudaDevice *d = mem_calloc(account, (int64_t)sizeof *d, e);
    if (!d) return ST_ERROR;
    d->base.ops = &ops;
    d->api = api;
    d->account = account;
    snprintf(d->base.info.id, sizeof d->base.info.id, "cuda:%d", index);
    mem_account_init(&d->base.memory, NULL, d->base.info.id, 0, "device_memory_limit");
    mutex_init(&d->lock, RANK_CUDA);
    mutex_init(&d->map_lock, RANK_CUDA_MAP);
    if (open_context(d, index, e) != ST_OK) {
        close_device(&d->base);
        return ST_ERROR;
    }
    *out = &d->base;
    return ST_OK;
}

/* ---- driver -------------------------------------------------------------------------------- */

/* Why device `entry` cannot be used goes to entry->state; "ready" otherwise. */
static void probe_device(const CudaApi *api, DeviceEntry *entry) {
    CuDevice dev = 0;
    int major = 0, minor = 0, mode = 0, units = 0, rt_major = 0, rt_minor = 0, oldest = 0;
    size_t total = 0;
    CuResult r = api->DeviceGet(&dev, entry->index);
    if (r == CU_SUCCESS) r = api->DeviceGetName(entry->name, (int)sizeof entry->name, dev);
    if (r == CU_SUCCESS) r = api->DeviceTotalMem(&total, dev);
    if (r == CU_SUCCESS) r = api->DeviceGetAttribute(&major, CU_ATTR_CC_MAJOR, dev);
    if (r == CU_SUCCESS) r = api->DeviceGetAttribute(&minor, CU_ATTR_CC_MINOR, dev);
    if (r == CU_SUCCESS) r = api->DeviceGetAttribute(&mode, CU_ATTR_COMPUTE_MODE, dev);
    if (r == CU_SUCCESS) r = api->DeviceGetAttribute(&units, CU_ATTR_MULTIPROCESSORS, dev);
    if (r != CU_SUCCESS) {
        const char *name = NULL;
        api->GetErrorName(r, &name);
        snprintf(entry->state, sizeof entry->state, "the driver does not describe the device: %s (%d)",
                 name ? name : "unknown error", r);
        return;
    }
    entry->memory_bytes = (int64_t)total;
    Err e = {0};
    bool compiler = nvrtc_version(&rt_major, &rt_minor, &e) == ST_OK;
    char with[64] = "no nvrtc";
    if (compiler) snprintf(with, sizeof with, "nvrtc %d.%d", rt_major, rt_minor);
    snprintf(entry->detail, sizeof entry->detail, "sm_%d%d, %d multiprocessors, CUDA %d.%d, %s", major, minor, units,
             api->version / 1000, api->version % 1000 / 10, with);
    if (mode == CU_COMPUTEMODE_PROHIBITED) {
        snprintf(entry->state, sizeof entry->state, "the device's compute mode prohibits its use");
    } else if (!compiler) {
        snprintf(entry->state, sizeof entry->state, "%.*s", (int)sizeof entry->state - 1, e.message);
    } else if (!nvrtc_supports(major * 10 + minor, &oldest)) {
        snprintf(entry->state, sizeof entry->state, "%s cannot compile for sm_%d%d: it supports sm_%d and newer", with,
                 major, minor, oldest);
    } else {
        snprintf(entry->state, sizeof entry->state, "ready");
        entry->usable = true;
    }
}

static void probe(void (*add)(void *ctx, const DeviceEntry *e), void *ctx) {
    DeviceEntry none = {.id = "cuda", .name = "cuda backend", .kind = DEVICE_CUDA, .index = -1};
    const CudaApi *api = cuda_api_get(none.state, (int64_t)sizeof none.state);
    if (!api) {
        add(ctx, &none);
        return;
    }
    int count = 0;
    CuResult r = api->DeviceGetCount(&count);
    if (r != CU_SUCCESS || count <= 0) {
        const char *name = NULL;
        if (r == CU_SUCCESS) name = "none is installed or visible";
        else api->GetErrorName(r, &name);
        snprintf(none.state, sizeof none.state, "the driver finds no device: %s", name ? name : "unknown error");
        add(ctx, &none);
        return;
    }
    for (int i = 0; i < count; i++) {
        DeviceEntry entry = {.kind = DEVICE_CUDA, .index = i, .gpu = true};
        snprintf(entry.id, sizeof entry.id, "cuda:%d", i);
        probe_device(api, &entry);
        add(ctx, &entry);
    }
}

const DeviceDriver device_driver_cuda = {.version = DEVICE_VERSION,
                                         .name = "cuda",
                                         .probe = probe,
                                         .open = open_device,
                                         .kind = DEVICE_CUDA,
                                         .automatic = true};
