/* opencl.c - devices of OpenCL: GPUs of any maker and, through PoCL, any CPU. See opencl_api.h for the loader and
 * README.md for the rules.
 *
 * Device memory is shared virtual memory (SVM): an allocation has one address, which kernels may find in memory and do
 * arithmetic on. The price is that a driver must be told which allocations a kernel may reach besides its arguments:
 * launch hands it the list of live blocks whenever that changed (declare_memory). Devices that see all of the host's
 * memory need no list.
 *
 * Kernels have the signature `__kernel void name(__global const ulong *params, __local uchar *lmem)`. Parameters travel
 * in a ring of slots per queue; a slot is used again once the command that owned it has passed. The same ring keeps the
 * events of all commands of the queue, so that sync can say how each of them ended.
 *
 * Locks: ClDevice.lock guards the list of live blocks, DevKernel.lock the arguments of a kernel object between setting
 * and enqueueing, DevModule.lock the module's kernels. Order: kernel, then device.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/mutex.h"
#include "device/opencl/opencl_api.h"

enum { SLOTS = 64, ALIGN = 256, SLOT_BYTES = DEV_PARAMS_MAX * 8, LOCAL_MIN = 16, MAX_DEVICES = 64 };

struct DevQueue {
    ClDevice *d;
    cl_command_queue q;
    void *ring;             /* the parameter slots' SVM block, as allocated */
    char *slots;            /* its 256-byte aligned part */
    uint64_t *staging;      /* the host's side of it where the host may not write SVM; else NULL */
    cl_event events[SLOTS]; /* of the last commands; NULL = free */
    int next;               /* slot of the next command */
};

struct DevEvent {
    cl_event ev; /* a marker; NULL before the first record */
};

struct DevKernel {
    DevModule *module;
    DevKernel *next;
    cl_kernel k;
    Mutex lock;
    uint64_t version;     /* of the list of blocks the driver knows */
    int64_t group_max;    /* of this kernel on this device */
    int64_t local_static; /* bytes of local memory it declares itself */
    char name[];
};

struct DevModule {
    ClDevice *d;
    cl_program program;
    Mutex lock;
    DevKernel *kernels;
};

static ClDevice *of(Device *d) { return (ClDevice *)d; }

/* ---- errors ------------------------------------------------------------------------------------ */
static bool is_lost(const ClDevice *d) { return atomic_load_explicit(&d->base.info.lost, memory_order_relaxed); }

static Status alive(const ClDevice *d, Err *e) { return LIKELY(!is_lost(d)) ? ST_OK : device_lost(&d->base, e); }

static Status fail(ClDevice *d, const char *call, cl_int code, Err *e) {
    char buf[32];
    bool memory = code == CL_MEM_OBJECT_ALLOCATION_FAILURE || code == CL_OUT_OF_HOST_MEMORY;
    if (code == CL_DEVICE_NOT_AVAILABLE) atomic_store_explicit(&d->base.info.lost, true, memory_order_relaxed);
    return err_set(e, memory ? ERR_OUT_OF_MEMORY : ERR_SYSTEM, "device \"%s\": %s failed: %s", d->base.info.id, call,
                   cl_error_name(code, buf));
}

/* ---- memory ------------------------------------------------------------------------------------ */
static int64_t live_place(const ClDevice *d, const void *p) { /* of the first block not below p */
    int64_t lo = 0, hi = d->n_live;
    while (lo < hi) {
        int64_t mid = (lo + hi) / 2;
        if ((uintptr_t)d->live[mid] < (uintptr_t)p) lo = mid + 1;
        else hi = mid;
    }
    return lo;
}

static Status live_add(ClDevice *d, void *p, Err *e) {
    Status st = ST_OK;
    mutex_lock(&d->lock);
    if (d->n_live == d->cap_live) {
        int64_t cap = MAX_OF(d->cap_live * 2, 64), size = (int64_t)sizeof(void *);
        void **grown = d->live ? mem_realloc(d->account, d->live, d->cap_live * size, cap * size, e)
                               : mem_alloc(d->account, cap * size, e);
        if (grown) {
            d->live = grown;
            d->cap_live = cap;
        } else {
            st = ST_ERROR;
        }
    }
    if (st == ST_OK) {
        int64_t i = live_place(d, p);
        memmove(d->live + i + 1, d->live + i, (size_t)(d->n_live - i) * sizeof(void *));
        d->live[i] = p;
        d->n_live++;
        d->version++;
    }
    mutex_unlock(&d->lock);
    return st;
}

/* Takes the block that starts at or up to ALIGN bytes below p off the list; NULL when there is none. */
static void *live_remove(ClDevice *d, DevPtr p) {
    void *found = NULL;
    mutex_lock(&d->lock);
    int64_t i = live_place(d, (void *)(uintptr_t)(p - ALIGN + 1));
    if (i < d->n_live && (DevPtr)(uintptr_t)d->live[i] <= p) {
        found = d->live[i];
        memmove(d->live + i, d->live + i + 1, (size_t)(d->n_live - i - 1) * sizeof(void *));
        d->n_live--;
        d->version++;
    }
    mutex_unlock(&d->lock);
    return found;
}

/* An SVM block with an aligned part of `bytes`. Drivers refuse alignments above their largest type's (PoCL: 128), so
 * the block is larger. */
static void *svm_alloc(ClDevice *d, uint64_t flags, int64_t bytes) {
    if (bytes > INT64_MAX - ALIGN) return NULL;
    return d->api.SVMAlloc(d->context, flags, (size_t)MAX_OF(bytes, 1) + ALIGN, 0);
}
static DevPtr svm_aligned(const void *block) { return (DevPtr)align_up((int64_t)(uintptr_t)block, ALIGN); }

static Status out_of_memory(ClDevice *d, int64_t bytes, Err *e) {
    bool fresh = e && !err_is_set(e);
    err_set(e, ERR_OUT_OF_MEMORY, "out of memory on device \"%s\"", d->base.info.id);
    if (!fresh) return ST_ERROR;
    err_detail(
        e,
        "Failed on a request of %lld bytes: %lld bytes are in use, the device has %lld and gives at most %lld at once.",
        (long long)bytes, (long long)atomic_load(&d->base.memory.used), (long long)d->base.info.memory_bytes,
        (long long)d->desc.max_alloc);
    return ST_ERROR;
}

static Status ocl_alloc(Device *dev, int64_t bytes, DevPtr *out, Err *e) {
    ClDevice *d = of(dev);
    TRY(alive(d, e));
    if (bytes < 0) return err_internal(e, "device \"%s\": allocation of %lld bytes", dev->info.id, (long long)bytes);
    TRY(device_charge(dev, bytes, e));
    void *block = svm_alloc(d, CL_MEM_READ_WRITE, bytes);
    if (!block) {
        out_of_memory(d, bytes, e);
    } else if (live_add(d, block, e) != ST_OK) {
        d->api.SVMFree(d->context, block);
    } else {
        *out = svm_aligned(block);
        return ST_OK;
    }
    mem_discharge(&dev->memory, bytes);
    return ST_ERROR;
}

static void ocl_free(Device *dev, DevPtr p, int64_t bytes) {
    ClDevice *d = of(dev);
    if (!p) return;
    void *block = live_remove(d, p);
    dbg_assert(block);
    if (!block) return;
    d->api.SVMFree(d->context, block);
    mem_discharge(&dev->memory, bytes);
}

/* Host memory: ordinary where kernels see all of it; fine-grained SVM where the device has that; else ordinary, but not
 * for kernels. */
static bool pinned_is_svm(const ClDevice *d) { return !d->base.info.shares_memory && d->desc.svm_fine; }

static Status ocl_alloc_pinned(Device *dev, int64_t bytes, void **host, DevPtr *dev_ptr, Err *e) {
    ClDevice *d = of(dev);
    TRY(alive(d, e));
    if (pinned_is_svm(d)) {
        TRY(mem_charge(d->account, bytes, e));
        void *block = svm_alloc(d, CL_MEM_READ_WRITE | CL_MEM_SVM_FINE_GRAIN_BUFFER, bytes);
        if (!block || live_add(d, block, e) != ST_OK) {
            if (block) d->api.SVMFree(d->context, block);
            else out_of_memory(d, bytes, e);
            mem_discharge(d->account, bytes);
            return ST_ERROR;
        }
        *host = (void *)(uintptr_t)svm_aligned(block);
    } else {
        if (dev_ptr && !dev->info.shares_memory) {
            return err_set(e, ERR_FEATURE_NOT_SUPPORTED, "device \"%s\" cannot reach host memory from kernels",
                           dev->info.id);
        }
        *host = mem_alloc(d->account, MAX_OF(bytes, 1), e);
        if (!*host) return ST_ERROR;
    }
    if (dev_ptr) *dev_ptr = (DevPtr)(uintptr_t)*host;
    return ST_OK;
}

static void ocl_free_pinned(Device *dev, void *host, int64_t bytes) {
    ClDevice *d = of(dev);
    if (!host) return;
    if (!pinned_is_svm(d)) {
        mem_free(d->account, host, MAX_OF(bytes, 1));
        return;
    }
    void *block = live_remove(d, (DevPtr)(uintptr_t)host);
    dbg_assert(block);
    if (!block) return;
    d->api.SVMFree(d->context, block);
    mem_discharge(d->account, bytes);
}

static Status ocl_map_host(Device *dev, void *host, int64_t bytes, DevPtr *out, Err *e) {
    (void)bytes;
    TRY(alive(of(dev), e));
    if (!dev->info.can_map)
        return err_set(e, ERR_FEATURE_NOT_SUPPORTED, "device \"%s\" cannot map host memory", dev->info.id);
    *out = (DevPtr)(uintptr_t)host;
    return ST_OK;
}

static void ocl_unmap_host(Device *dev, void *host, int64_t bytes) {
    (void)dev, (void)host, (void)bytes; /* mapping took nothing */
}

/* OpenCL does not tell what others use: the free part is an upper bound. */
static Status ocl_memory_used(Device *dev, int64_t *free_bytes, int64_t *total, Err *e) {
    TRY(alive(of(dev), e));
    *total = dev->info.memory_bytes;
    *free_bytes = MAX_OF(*total - atomic_load(&dev->memory.used), 0);
    return ST_OK;
}

/* ---- waiting ----------------------------------------------------------------------------------- */
static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Waits by asking: first without sleeping, then with naps of an eighth of the time waited, at most a millisecond, so
 * that short kernels are answered at once and long ones cost nothing. */
static Status wait_event(ClDevice *d, cl_event ev, DevPoll poll, void *ctx, Err *e) {
    enum { SPIN_NS = 20000, NAP_MIN_NS = 10000, NAP_MAX_NS = 1000000, POLL_NS = 1000000 };
    int64_t start = now_ns(), polled = start - POLL_NS;
    for (;;) {
        cl_int state = 0, r = d->api.GetEventInfo(ev, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(state), &state, NULL);
        if (r != CL_SUCCESS) return fail(d, "clGetEventInfo", r, e);
        if (state == CL_COMPLETE) return ST_OK;
        if (state < 0) return fail(d, "a command of a queue", state, e);
        TRY(alive(d, e));
        int64_t now = now_ns();
        if (poll && now - polled >= POLL_NS) {
            polled = now;
            if (!poll(ctx)) return ST_ERROR;
        }
        if (now - start < SPIN_NS) {
            sched_yield();
        } else {
            int64_t nap = MIN_OF(MAX_OF((now - start) / 8, NAP_MIN_NS), NAP_MAX_NS);
            nanosleep(&(struct timespec){.tv_nsec = nap}, NULL);
        }
    }
}

/* ---- queues ------------------------------------------------------------------------------------ */
static void ocl_queue_free(Device *dev, DevQueue *q) {
    if (!q) return;
    ClDevice *d = of(dev);
    if (q->q) {
        if (!is_lost(d)) d->api.Finish(q->q);
        for (int i = 0; i < SLOTS; i++) {
            if (q->events[i]) d->api.ReleaseEvent(q->events[i]);
        }
        d->api.ReleaseCommandQueue(q->q);
    }
    if (q->ring) d->api.SVMFree(d->context, q->ring);
    mem_free(d->account, q->staging, SLOTS * SLOT_BYTES);
    mem_free(d->account, q, (int64_t)sizeof(*q));
}

static Status ocl_queue_new(Device *dev, DevQueue **out, Err *e) {
    ClDevice *d = of(dev);
    TRY(alive(d, e));
    DevQueue *q = mem_calloc(d->account, (int64_t)sizeof(*q), e);
    if (!q) return ST_ERROR;
    q->d = d;
    bool fine = !dev->info.shares_memory && d->desc.svm_fine;
    cl_int r = CL_SUCCESS;
    const cl_ulong props[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, 0};
    q->q = d->api.CreateCommandQueueWithProperties(d->context, d->desc.device, props, &r);
    if (!q->q) {
        fail(d, "clCreateCommandQueueWithProperties", r, e);
        goto failed;
    }
    q->ring = svm_alloc(d, CL_MEM_READ_WRITE | (fine ? CL_MEM_SVM_FINE_GRAIN_BUFFER : 0), SLOTS * SLOT_BYTES);
    if (!q->ring) {
        out_of_memory(d, SLOTS * SLOT_BYTES, e);
        goto failed;
    }
    q->slots = (char *)(uintptr_t)svm_aligned(q->ring);
    if (!fine && !dev->info.shares_memory) {
        q->staging = mem_alloc(d->account, SLOTS * SLOT_BYTES, e);
        if (!q->staging) goto failed;
    }
    *out = q;
    return ST_OK;
failed:
    ocl_queue_free(dev, q);
    return ST_ERROR;
}

/* Waits for the command in a slot and empties it. When poll gives up, the slot keeps its command. */
static Status slot_clear(DevQueue *q, int slot, DevPoll poll, void *ctx, Err *e) {
    if (!q->events[slot]) return ST_OK;
    bool was_set = err_is_set(e);
    Status st = wait_event(q->d, q->events[slot], poll, ctx, e);
    if (st != ST_OK && !was_set && !err_is_set(e)) return ST_ERROR;
    q->d->api.ReleaseEvent(q->events[slot]);
    q->events[slot] = NULL;
    return st;
}

/* The next slot, empty. An earlier command's failure shows here or in sync, whichever comes first. */
static Status slot_take(DevQueue *q, int *slot, Err *e) {
    TRY(alive(q->d, e));
    TRY(slot_clear(q, q->next, NULL, NULL, e));
    *slot = q->next;
    return ST_OK;
}

/* After enqueueing into `slot`: work starts now, not at the next sync. */
static Status slot_commit(DevQueue *q, int slot, const char *call, cl_int r, Err *e) {
    if (r != CL_SUCCESS) {
        q->events[slot] = NULL;
        return fail(q->d, call, r, e);
    }
    q->next = (slot + 1) % SLOTS;
    r = q->d->api.Flush(q->q);
    return r == CL_SUCCESS ? ST_OK : fail(q->d, "clFlush", r, e);
}

static Status copy_any(DevQueue *q, void *dst, const void *src, int64_t n, Err *e) {
    int slot;
    TRY(slot_take(q, &slot, e));
    if (n < 0) return err_internal(e, "device \"%s\": copy of %lld bytes", q->d->base.info.id, (long long)n);
    if (n == 0) return ST_OK;
    cl_int r = q->d->api.EnqueueSVMMemcpy(q->q, false, dst, src, (size_t)n, 0, NULL, &q->events[slot]);
    return slot_commit(q, slot, "clEnqueueSVMMemcpy", r, e);
}

static Status ocl_copy_in(DevQueue *q, DevPtr dst, const void *src, int64_t n, Err *e) {
    return copy_any(q, (void *)(uintptr_t)dst, src, n, e);
}
static Status ocl_copy_out(DevQueue *q, void *dst, DevPtr src, int64_t n, Err *e) {
    return copy_any(q, dst, (const void *)(uintptr_t)src, n, e);
}
static Status ocl_copy(DevQueue *q, DevPtr dst, DevPtr src, int64_t n, Err *e) {
    return copy_any(q, (void *)(uintptr_t)dst, (const void *)(uintptr_t)src, n, e);
}

static Status ocl_fill(DevQueue *q, DevPtr dst, uint8_t byte, int64_t n, Err *e) {
    int slot;
    TRY(slot_take(q, &slot, e));
    if (n < 0) return err_internal(e, "device \"%s\": fill of %lld bytes", q->d->base.info.id, (long long)n);
    if (n == 0) return ST_OK;
    uint8_t pattern[16];
    memset(pattern, byte, sizeof(pattern));
    size_t width = sizeof(pattern); /* the widest that divides address and length: some drivers go pattern by pattern */
    while ((dst | (uint64_t)n) % width != 0) width /= 2;
    cl_int r =
        q->d->api.EnqueueSVMMemFill(q->q, (void *)(uintptr_t)dst, pattern, width, (size_t)n, 0, NULL, &q->events[slot]);
    return slot_commit(q, slot, "clEnqueueSVMMemFill", r, e);
}

/* Tells the driver which blocks the kernel may reach through addresses in memory. Caller holds k->lock. */
static Status declare_memory(ClDevice *d, DevKernel *k, Err *e) {
    if (d->base.info.shares_memory) return ST_OK;
    cl_int r = CL_SUCCESS;
    mutex_lock(&d->lock);
    if (k->version != d->version) {
        if (d->n_live > 0)
            r = d->api.SetKernelExecInfo(k->k, CL_KERNEL_EXEC_INFO_SVM_PTRS, (size_t)d->n_live * sizeof(void *),
                                         d->live);
        if (r == CL_SUCCESS) k->version = d->version;
    }
    mutex_unlock(&d->lock);
    return r == CL_SUCCESS ? ST_OK : fail(d, "clSetKernelExecInfo", r, e);
}

static Status enqueue_kernel(DevQueue *q, DevKernel *k, int slot, int64_t groups, int32_t group_size,
                             int64_t local_bytes, const char **call, cl_int *r, Err *e) {
    ClApi *api = &q->d->api;
    size_t local = (size_t)group_size, global = (size_t)groups * local;
    TRY(declare_memory(q->d, k, e));
    *call = "clSetKernelArgSVMPointer";
    *r = api->SetKernelArgSVMPointer(k->k, 0, q->slots + (int64_t)slot * SLOT_BYTES);
    if (*r != CL_SUCCESS) return ST_OK;
    *call = "clSetKernelArg";
    *r = api->SetKernelArg(k->k, 1, (size_t)MAX_OF(local_bytes, LOCAL_MIN), NULL);
    if (*r != CL_SUCCESS) return ST_OK;
    *call = "clEnqueueNDRangeKernel";
    *r = api->EnqueueNDRangeKernel(q->q, k->k, 1, NULL, &global, &local, 0, NULL, &q->events[slot]);
    return ST_OK;
}

static Status ocl_launch(DevQueue *q, DevKernel *k, int64_t groups, int32_t group_size, int64_t local_bytes,
                         const uint64_t *params, int32_t n_params, Err *e) {
    ClDevice *d = q->d;
    TRY(alive(d, e));
    if (groups < 0 || groups > INT64_MAX / MAX_OF(group_size, 1) || group_size < 1 || group_size > k->group_max ||
        local_bytes < 0 || local_bytes + k->local_static > d->base.info.local_bytes || n_params < 0 ||
        n_params > DEV_PARAMS_MAX) {
        return err_internal(
            e, "device \"%s\": launch of \"%s\" with %lld groups of %d, %lld bytes of local memory, %d parameters",
            d->base.info.id, k->name, (long long)groups, group_size, (long long)local_bytes, n_params);
    }
    if (groups == 0) return ST_OK;
    int slot;
    TRY(slot_take(q, &slot, e));
    size_t bytes = (size_t)n_params * sizeof(uint64_t);
    if (q->staging &&
        n_params > 0) { /* a command of its own; its slot's staging part is not touched until it has passed */
        memcpy(q->staging + (int64_t)slot * DEV_PARAMS_MAX, params, bytes);
        int copy_slot = slot;
        slot = (slot + 1) % SLOTS;
        TRY(slot_clear(q, slot, NULL, NULL, e));
        cl_int copied = d->api.EnqueueSVMMemcpy(q->q, false, q->slots + (int64_t)slot * SLOT_BYTES,
                                                q->staging + (int64_t)copy_slot * DEV_PARAMS_MAX, bytes, 0, NULL,
                                                &q->events[copy_slot]);
        TRY(slot_commit(q, copy_slot, "clEnqueueSVMMemcpy", copied, e));
    } else if (n_params > 0) {
        memcpy(q->slots + (int64_t)slot * SLOT_BYTES, params, bytes);
    }
    const char *call = "";
    cl_int r = CL_SUCCESS;
    mutex_lock(&k->lock);
    Status st = enqueue_kernel(q, k, slot, groups, group_size, local_bytes, &call, &r, e);
    mutex_unlock(&k->lock);
    TRY(st);
    return slot_commit(q, slot, call, r, e);
}

static Status ocl_sync(DevQueue *q, DevPoll poll, void *ctx, Err *e) {
    TRY(alive(q->d, e));
    Status st = ST_OK;
    for (int i = 0; i < SLOTS; i++) { /* oldest first */
        if (slot_clear(q, (q->next + i) % SLOTS, poll, ctx, e) != ST_OK) {
            if (!err_is_set(e)) return ST_ERROR; /* poll gave up */
            st = ST_ERROR;
        }
    }
    return st;
}

/* ---- events ------------------------------------------------------------------------------------ */
static Status ocl_event_new(Device *dev, DevEvent **out, Err *e) {
    TRY(alive(of(dev), e));
    *out = mem_calloc(of(dev)->account, (int64_t)sizeof(DevEvent), e);
    return *out ? ST_OK : ST_ERROR;
}

static void ocl_event_free(Device *dev, DevEvent *ev) {
    if (!ev) return;
    if (ev->ev) of(dev)->api.ReleaseEvent(ev->ev);
    mem_free(of(dev)->account, ev, (int64_t)sizeof(*ev));
}

static Status ocl_event_record(DevQueue *q, DevEvent *ev, Err *e) {
    int slot;
    TRY(slot_take(q, &slot, e));
    ClApi *api = &q->d->api;
    TRY(slot_commit(q, slot, "clEnqueueMarkerWithWaitList",
                    api->EnqueueMarkerWithWaitList(q->q, 0, NULL, &q->events[slot]), e));
    if (ev->ev) api->ReleaseEvent(ev->ev);
    ev->ev = q->events[slot];
    api->RetainEvent(ev->ev);
    return ST_OK;
}

static Status ocl_event_wait(DevQueue *q, DevEvent *ev, Err *e) {
    int slot;
    TRY(slot_take(q, &slot, e));
    if (!ev->ev) return ST_OK; /* never recorded: nothing to wait for */
    cl_int r = q->d->api.EnqueueBarrierWithWaitList(q->q, 1, &ev->ev, &q->events[slot]);
    return slot_commit(q, slot, "clEnqueueBarrierWithWaitList", r, e);
}

static Status ocl_event_sync(Device *dev, DevEvent *ev, DevPoll poll, void *ctx, Err *e) {
    TRY(alive(of(dev), e));
    return ev->ev ? wait_event(of(dev), ev->ev, poll, ctx, e) : ST_OK;
}

static Status ocl_event_ns(Device *dev, DevEvent *from, DevEvent *to, int64_t *ns, Err *e) {
    ClDevice *d = of(dev);
    TRY(alive(d, e));
    if (!from->ev || !to->ev)
        return err_internal(e, "device \"%s\": time between events that were not recorded", dev->info.id);
    cl_ulong at[2];
    for (int i = 0; i < 2; i++) {
        cl_int r =
            d->api.GetEventProfilingInfo(i ? to->ev : from->ev, CL_PROFILING_COMMAND_END, sizeof(at[i]), &at[i], NULL);
        if (r != CL_SUCCESS) return fail(d, "clGetEventProfilingInfo", r, e);
    }
    *ns = (int64_t)(at[1] - at[0]);
    return ST_OK;
}

/* ---- kernels ----------------------------------------------------------------------------------- */
/* The compiler's messages, malloc'ed; NULL when there are none. */
static char *build_log(ClDevice *d, cl_program p) {
    size_t n = 0;
    if (d->api.GetProgramBuildInfo(p, d->desc.device, CL_PROGRAM_BUILD_LOG, 0, NULL, &n) != CL_SUCCESS || n <= 1)
        return NULL;
    char *log = malloc(n + 1);
    if (!log) return NULL;
    if (d->api.GetProgramBuildInfo(p, d->desc.device, CL_PROGRAM_BUILD_LOG, n, log, NULL) != CL_SUCCESS) n = 0;
    log[n] = 0;
    if (log[strspn(log, " \n\t")] == 0) {
        free(log);
        return NULL;
    }
    return log;
}

/* Builds; on failure the log becomes the error's detail. On success *log (may be NULL) receives it. */
static Status build(ClDevice *d, cl_program p, const char *options, char **log_out, Err *e) {
    cl_int r = d->api.BuildProgram(p, 1, &d->desc.device, options, NULL, NULL);
    char *log = r == CL_SUCCESS && !log_out ? NULL : build_log(d, p);
    if (r != CL_SUCCESS) {
        bool fresh = !err_is_set(e);
        fail(d, "clBuildProgram", r, e);
        if (fresh && log) err_detail(e, "%s", log);
        free(log);
        return ST_ERROR;
    }
    if (log_out) *log_out = log;
    return ST_OK;
}

static Status take_binary(ClDevice *d, cl_program p, DevCode *out, Err *e) {
    size_t n = 0;
    cl_int r = d->api.GetProgramInfo(p, CL_PROGRAM_BINARY_SIZES, sizeof(n), &n, NULL);
    if (r != CL_SUCCESS) return fail(d, "clGetProgramInfo", r, e);
    if (n == 0) return err_set(e, ERR_SYSTEM, "device \"%s\": the driver gave no program binary", d->base.info.id);
    unsigned char *bytes = malloc(n);
    if (!bytes) return err_oom(e);
    r = d->api.GetProgramInfo(p, CL_PROGRAM_BINARIES, sizeof(bytes), &bytes, NULL);
    if (r != CL_SUCCESS) {
        free(bytes);
        return fail(d, "clGetProgramInfo", r, e);
    }
    out->bytes = bytes;
    out->n = (int64_t)n;
    return ST_OK;
}

/* Compiled code that is really source: this mark with its NUL, the options, NUL, the source, NUL. */
static const char source_mark[] = "OpenCL C source";

static Status pack_source(const char *options, const char *source, DevCode *out, Err *e) {
    size_t a = strlen(options) + 1, b = strlen(source) + 1;
    char *p = malloc(sizeof(source_mark) + a + b);
    if (!p) return err_oom(e);
    memcpy(p, source_mark, sizeof(source_mark));
    memcpy(p + sizeof(source_mark), options, a);
    memcpy(p + sizeof(source_mark) + a, source, b);
    out->bytes = p;
    out->n = (int64_t)(sizeof(source_mark) + a + b);
    return ST_OK;
}

/* False when `code` is not what pack_source made. */
static bool unpack_source(const char *code, int64_t n, const char **options, const char **source) {
    if (n <= (int64_t)sizeof(source_mark) || memcmp(code, source_mark, sizeof(source_mark)) != 0 || code[n - 1] != 0)
        return false;
    *options = code + sizeof(source_mark);
    *source = *options + strlen(*options) + 1;
    return *source < code + n;
}

static Status build_source(ClDevice *d, const char *source, const char *options, cl_program *out, char **log, Err *e) {
    /* OpenCL lets compilers fuse a*b+c by default; results must be those of the other devices. The line numbers stay
     * the source's own. */
    const char *text[] = {"#pragma OPENCL FP_CONTRACT OFF\n#line 1\n", source};
    char *all = NULL;
    if (asprintf(&all, "-w -cl-std=%s%s %s", d->desc.std,
                 d->desc.fp32_exact ? " -cl-fp32-correctly-rounded-divide-sqrt" : "", options) < 0) {
        return err_oom(e);
    }
    cl_int r = CL_SUCCESS;
    cl_program p = d->api.CreateProgramWithSource(d->context, 2, text, NULL, &r);
    Status st = p ? build(d, p, all, log, e) : fail(d, "clCreateProgramWithSource", r, e);
    free(all);
    if (st == ST_OK) *out = p;
    else if (p) d->api.ReleaseProgram(p);
    return st;
}

/* PoCL's binaries would hold code for any group size that no launch uses: it compiles once more for the size it sees.
 * Asking for one doubles the time, and its own cache of what it made lies on disk anyway; so there the code kept is the
 * source, checked by a first build. */
static Status ocl_compile(Device *dev, const char *source, const char *options, DevCode *out, Err *e) {
    ClDevice *d = of(dev);
    *out = (DevCode){0};
    TRY(alive(d, e));
    cl_program p = NULL;
    TRY(build_source(d, source, options, &p, &out->log, e));
    Status st = d->desc.code_is_source ? pack_source(options, source, out, e) : take_binary(d, p, out, e);
    d->api.ReleaseProgram(p);
    if (st != ST_OK) dev_code_free(out);
    return st;
}

static Status load_binary(ClDevice *d, const void *code, int64_t n, cl_program *out, Err *e) {
    size_t size = (size_t)n;
    const unsigned char *bytes = code;
    cl_int r = CL_SUCCESS, accepted = CL_SUCCESS;
    cl_program p = d->api.CreateProgramWithBinary(d->context, 1, &d->desc.device, &size, &bytes, &accepted, &r);
    Status st = ST_ERROR;
    if (!p || accepted != CL_SUCCESS) fail(d, "clCreateProgramWithBinary", accepted != CL_SUCCESS ? accepted : r, e);
    else st = build(d, p, "", NULL, e);
    if (st == ST_OK) *out = p;
    else if (p) d->api.ReleaseProgram(p);
    return st;
}

static void ocl_unload(Device *dev, DevModule *m) {
    if (!m) return;
    ClDevice *d = of(dev);
    for (DevKernel *k = m->kernels, *next; k; k = next) {
        next = k->next;
        d->api.ReleaseKernel(k->k);
        mutex_destroy(&k->lock);
        mem_free(d->account, k, (int64_t)(sizeof(*k) + strlen(k->name) + 1));
    }
    if (m->program) d->api.ReleaseProgram(m->program);
    mutex_destroy(&m->lock);
    mem_free(d->account, m, (int64_t)sizeof(*m));
}

static Status ocl_load(Device *dev, const void *code, int64_t n, DevModule **out, Err *e) {
    ClDevice *d = of(dev);
    TRY(alive(d, e));
    DevModule *m = mem_calloc(d->account, (int64_t)sizeof(*m), e);
    if (!m) return ST_ERROR;
    m->d = d;
    mutex_init(&m->lock, RANK_OPENCL_MODULE);
    const char *options, *source;
    Status st = unpack_source(code, n, &options, &source) ? build_source(d, source, options, &m->program, NULL, e)
                                                          : load_binary(d, code, n, &m->program, e);
    if (st == ST_OK) *out = m;
    else ocl_unload(dev, m);
    return st;
}

/* Caller holds m->lock. */
static Status add_kernel(DevModule *m, const char *name, DevKernel **out, Err *e) {
    ClDevice *d = m->d;
    int64_t size = (int64_t)(sizeof(DevKernel) + strlen(name) + 1);
    DevKernel *k = mem_calloc(d->account, size, e);
    if (!k) return ST_ERROR;
    cl_int r = CL_SUCCESS;
    k->k = d->api.CreateKernel(m->program, name, &r);
    if (!k->k) {
        mem_free(d->account, k, size);
        bool fresh = !err_is_set(e);
        fail(d, "clCreateKernel", r, e);
        if (fresh) err_detail(e, "The kernel is \"%s\".", name);
        return ST_ERROR;
    }
    const cl_uint yes = 1;
    size_t group_max = 0;
    cl_ulong local = 0;
    const char *call = "clGetKernelWorkGroupInfo";
    r = d->api.GetKernelWorkGroupInfo(k->k, d->desc.device, CL_KERNEL_WORK_GROUP_SIZE, sizeof(group_max), &group_max,
                                      NULL);
    /* Before the arguments are set this is what the kernel declares itself. */
    if (r == CL_SUCCESS)
        r = d->api.GetKernelWorkGroupInfo(k->k, d->desc.device, CL_KERNEL_LOCAL_MEM_SIZE, sizeof(local), &local, NULL);
    if (r == CL_SUCCESS && d->desc.svm_system) {
        call = "clSetKernelExecInfo";
        r = d->api.SetKernelExecInfo(k->k, CL_KERNEL_EXEC_INFO_SVM_FINE_GRAIN_SYSTEM, sizeof(yes), &yes);
    }
    if (r != CL_SUCCESS) {
        d->api.ReleaseKernel(k->k);
        mem_free(d->account, k, size);
        return fail(d, call, r, e);
    }
    memcpy(k->name, name, strlen(name) + 1);
    mutex_init(&k->lock, RANK_OPENCL_KERNEL);
    k->module = m;
    k->group_max = MIN_OF((int64_t)group_max, d->base.info.group_max);
    k->local_static = (int64_t)local;
    k->next = m->kernels;
    m->kernels = *out = k;
    return ST_OK;
}

static Status ocl_kernel(DevModule *m, const char *name, DevKernel **out, Err *e) {
    TRY(alive(m->d, e));
    Status st = ST_OK;
    mutex_lock(&m->lock);
    DevKernel *k = m->kernels;
    while (k && strcmp(k->name, name) != 0) k = k->next;
    if (k) *out = k;
    else st = add_kernel(m, name, out, e);
    mutex_unlock(&m->lock);
    return st;
}

static int64_t ocl_resident_groups(DevKernel *k, int32_t group_size, int64_t local_bytes) {
    const DeviceInfo *info = &k->module->d->base.info;
    int64_t local = local_bytes + k->local_static;
    if (group_size < 1 || group_size > k->group_max || local > info->local_bytes) return 0;
    if (k->module->d->desc.cpu)
        return (int64_t)info->units * 4; /* a unit runs one group after another: enough for even shares */
    int64_t per_unit = MAX_OF(info->items_per_unit / group_size, 1);
    if (local > 0) per_unit = MIN_OF(per_unit, info->local_bytes / local);
    return info->units * per_unit;
}

/* ---- the device -------------------------------------------------------------------------------- */
static void ocl_close(Device *dev) {
    if (!dev) return;
    ClDevice *d = of(dev);
    MemAccount *account = d->account;
    for (int64_t i = 0; i < d->n_live; i++) d->api.SVMFree(d->context, d->live[i]);
    mem_free(account, d->live, d->cap_live * (int64_t)sizeof(void *));
    if (d->context) d->api.ReleaseContext(d->context);
    cl_api_close(&d->api);
    mutex_destroy(&d->lock);
    mem_free(account, d, (int64_t)sizeof(*d));
}

static const DeviceOps ops = {
    .version = DEVICE_VERSION,
    .close = ocl_close,
    .alloc = ocl_alloc,
    .free = ocl_free,
    .alloc_pinned = ocl_alloc_pinned,
    .free_pinned = ocl_free_pinned,
    .map_host = ocl_map_host,
    .unmap_host = ocl_unmap_host,
    .memory_used = ocl_memory_used,
    .queue_new = ocl_queue_new,
    .queue_free = ocl_queue_free,
    .copy_in = ocl_copy_in,
    .copy_out = ocl_copy_out,
    .copy = ocl_copy,
    .fill = ocl_fill,
    .launch = ocl_launch,
    .sync = ocl_sync,
    .event_new = ocl_event_new,
    .event_free = ocl_event_free,
    .event_record = ocl_event_record,
    .event_wait = ocl_event_wait,
    .event_sync = ocl_event_sync,
    .event_ns = ocl_event_ns,
    .compile = ocl_compile,
    .load = ocl_load,
    .unload = ocl_unload,
    .kernel = ocl_kernel,
    .resident_groups = ocl_resident_groups,
};

static Status open_described(ClDevice *d, int index, Err *e) {
    char why[256] = "";
    if (!cl_api_open(&d->api, why, sizeof(why)))
        return err_set(e, ERR_SYSTEM, "device \"opencl:%d\" cannot be opened: %s", index, why);
    ClDeviceDesc *all = mem_calloc(d->account, MAX_DEVICES * (int64_t)sizeof(*all), e);
    if (!all) return ST_ERROR;
    int n = cl_devices(&d->api, all, MAX_DEVICES, why, sizeof(why));
    if (n >= 0 && index < n) {
        d->desc = all[index];
        snprintf(why, sizeof(why), "%s", d->desc.why);
    } else if (n >= 0) {
        snprintf(why, sizeof(why), "OpenCL has %d devices", n);
    }
    mem_free(d->account, all, MAX_DEVICES * (int64_t)sizeof(*all));
    if (why[0]) return err_set(e, ERR_SYSTEM, "device \"opencl:%d\" cannot be opened: %s", index, why);

    d->base.info = d->desc.info;
    cl_int r = CL_SUCCESS;
    intptr_t props[] = {0x1084 /* CL_CONTEXT_PLATFORM */, (intptr_t)d->desc.platform, 0};
    d->context = d->api.CreateContext(props, 1, &d->desc.device, NULL, NULL, &r);
    return d->context ? ST_OK : fail(d, "clCreateContext", r, e);
}

static Status ocl_open(int index, Pool *pool, MemAccount *account, Device **out, Err *e) {
    (void)pool; /* drivers have threads of their own */
    if (index < 0) return err_internal(e, "device \"opencl:%d\"", index);
    ClDevice *d = mem_calloc(account, (int64_t)sizeof(*d), e);
    if (!d) return ST_ERROR;
    d->account = account;
    d->version = 1;
    d->base.ops = &ops;
    mutex_init(&d->lock, RANK_OPENCL);
    mem_account_init(&d->base.memory, NULL, d->base.info.id, 0, "device_memory_limit");
    if (open_described(d, index, e) != ST_OK) {
        ocl_close(&d->base);
        return ST_ERROR;
    }
    *out = &d->base;
    return ST_OK;
}

static void ocl_probe(void (*add)(void *ctx, const DeviceEntry *e), void *ctx) {
    DeviceEntry none = {.id = "opencl", .name = "OpenCL", .kind = DEVICE_OPENCL, .index = -1};
    ClApi api;
    ClDeviceDesc *all = NULL;
    int n = -1;
    if (cl_api_open(&api, none.state, sizeof(none.state))) {
        all = calloc(MAX_DEVICES, sizeof(*all));
        if (all) n = cl_devices(&api, all, MAX_DEVICES, none.state, sizeof(none.state));
        else snprintf(none.state, sizeof(none.state), "out of memory");
    }
    for (int i = 0; i < n; i++) {
        const ClDeviceDesc *desc = &all[i];
        const DeviceInfo *info = &desc->info;
        const char *type = desc->cpu ? "CPU" : desc->gpu ? "GPU" : "accelerator";
        DeviceEntry entry = {.kind = DEVICE_OPENCL, .index = i, .gpu = desc->gpu, .memory_bytes = info->memory_bytes};
        entry.usable = !desc->why[0];
        memcpy(entry.id, info->id, sizeof(entry.id));
        memcpy(entry.name, info->name, sizeof(entry.name));
        snprintf(entry.state, sizeof(entry.state), "%s", desc->why[0] ? desc->why : "ready");
        snprintf(entry.detail, sizeof(entry.detail), "%s, %.64s, driver %.64s, %s, %d units", type, desc->platform_name,
                 info->driver, desc->std, info->units);
        add(ctx, &entry);
    }
    if (n < 0) add(ctx, &none);
    free(all);
    cl_api_close(&api);
}

const DeviceDriver device_driver_opencl = {DEVICE_VERSION, "opencl", ocl_probe, ocl_open, .kind = DEVICE_OPENCL};
