/* oclgrind_device.h - a device for tests whose kernels run in oclgrind, which checks them: races, divergence, accesses
 * out of bounds.
 *
 * oclgrind knows OpenCL 1.2 only, without addresses that can be stored in memory; but its buffers do not move, so all
 * memory is handed out of one buffer whose address a kernel tells. What is freed is not used again. Kernels are
 * compiled with KC_CHECK and run one at a time when they are launched. */
#ifndef STELE_TESTS_OCLGRIND_DEVICE_H
#define STELE_TESTS_OCLGRIND_DEVICE_H

#include <dlfcn.h>
#include <stdlib.h>

#include "device/device.h"

enum { OCLGRIND_MEMORY = 4 << 20, OCLGRIND_GROUP_MAX = 64 };
typedef struct OclgrindDevice {
    Device device;
    DeviceOps ops;
    Device *host; /* pinned memory, queues */
    void *context, *queue, *id, *memory, *params;
    uint64_t base, used;
} OclgrindDevice;
static OclgrindDevice oclgrind;

/* X(result, name, arguments) */
#define OCLGRIND_FUNCTIONS(X)                                                                                     \
    X(int32_t, clGetPlatformIDs, (uint32_t, void **, uint32_t *))                                                 \
    X(int32_t, clGetPlatformInfo, (void *, uint32_t, size_t, void *, size_t *))                                   \
    X(int32_t, clGetDeviceIDs, (void *, uint64_t, uint32_t, void **, uint32_t *))                                 \
    X(void *, clCreateContext, (const void *, uint32_t, void **, void *, void *, int32_t *))                      \
    X(void *, clCreateCommandQueue, (void *, void *, uint64_t, int32_t *))                                        \
    X(void *, clCreateProgramWithSource, (void *, uint32_t, const char **, const size_t *, int32_t *))            \
    X(int32_t, clBuildProgram, (void *, uint32_t, void **, const char *, void *, void *))                         \
    X(int32_t, clGetProgramBuildInfo, (void *, void *, uint32_t, size_t, void *, size_t *))                       \
    X(void *, clCreateBuffer, (void *, uint64_t, size_t, void *, int32_t *))                                      \
    X(void *, clCreateKernel, (void *, const char *, int32_t *))                                                  \
    X(int32_t, clSetKernelArg, (void *, uint32_t, size_t, const void *))                                          \
    X(int32_t, clEnqueueNDRangeKernel,                                                                            \
      (void *, void *, uint32_t, const size_t *, const size_t *, const size_t *, uint32_t, const void *, void *)) \
    X(int32_t, clEnqueueReadBuffer,                                                                               \
      (void *, void *, uint32_t, size_t, size_t, void *, uint32_t, const void *, void *))                         \
    X(int32_t, clEnqueueWriteBuffer,                                                                              \
      (void *, void *, uint32_t, size_t, size_t, const void *, uint32_t, const void *, void *))                   \
    X(int32_t, clEnqueueFillBuffer,                                                                               \
      (void *, void *, const void *, size_t, size_t, size_t, uint32_t, const void *, void *))                     \
    X(int32_t, clFinish, (void *))
#define OCLGRIND_DECLARE(result, f, args) static result(*p_##f) args;
OCLGRIND_FUNCTIONS(OCLGRIND_DECLARE)

static Status oclgrind_check(int32_t r, const char *what, Err *e) {
    return r == 0 ? ST_OK : err_set(e, ERR_SYSTEM, "%s: OpenCL error %d", what, r);
}
static Status oclgrind_alloc(Device *d, int64_t bytes, DevPtr *out, Err *e) {
    (void)d;
    *out = 0;
    if (oclgrind.used + (uint64_t)bytes > OCLGRIND_MEMORY) return err_internal(e, "OCLGRIND_MEMORY is too small");
    *out = oclgrind.base + oclgrind.used;
    oclgrind.used += (uint64_t)align_up(bytes, 256);
    return ST_OK;
}
static void oclgrind_free(Device *d, DevPtr p, int64_t bytes) { (void)d, (void)p, (void)bytes; }
static Status oclgrind_pinned(Device *d, int64_t bytes, void **host, DevPtr *dev, Err *e) {
    (void)d, (void)dev;
    return oclgrind.host->ops->alloc_pinned(oclgrind.host, bytes, host, NULL, e);
}
static void oclgrind_free_pinned(Device *d, void *host, int64_t bytes) {
    (void)d, oclgrind.host->ops->free_pinned(oclgrind.host, host, bytes);
}
static Status oclgrind_queue_new(Device *d, DevQueue **q, Err *e) {
    return (void)d, oclgrind.host->ops->queue_new(oclgrind.host, q, e);
}
static void oclgrind_queue_free(Device *d, DevQueue *q) { (void)d, oclgrind.host->ops->queue_free(oclgrind.host, q); }
static Status oclgrind_copy_in(DevQueue *q, DevPtr dst, const void *src, int64_t n, Err *e) {
    (void)q;
    return n ? oclgrind_check(p_clEnqueueWriteBuffer(oclgrind.queue, oclgrind.memory, 1, dst - oclgrind.base, (size_t)n,
                                                     src, 0, NULL, NULL),
                              "clEnqueueWriteBuffer", e)
             : ST_OK;
}
static Status oclgrind_copy_out(DevQueue *q, void *dst, DevPtr src, int64_t n, Err *e) {
    (void)q;
    return n ? oclgrind_check(p_clEnqueueReadBuffer(oclgrind.queue, oclgrind.memory, 1, src - oclgrind.base, (size_t)n,
                                                    dst, 0, NULL, NULL),
                              "clEnqueueReadBuffer", e)
             : ST_OK;
}
static Status oclgrind_fill(DevQueue *q, DevPtr dst, uint8_t byte, int64_t n, Err *e) {
    (void)q;
    return n ? oclgrind_check(p_clEnqueueFillBuffer(oclgrind.queue, oclgrind.memory, &byte, 1, dst - oclgrind.base,
                                                    (size_t)n, 0, NULL, NULL),
                              "clEnqueueFillBuffer", e)
             : ST_OK;
}
static Status oclgrind_build(const char *source, void **out, Err *e) {
    int32_t r;
    *out = p_clCreateProgramWithSource(oclgrind.context, 1, &source, NULL, &r);
    TRY(oclgrind_check(r, "clCreateProgramWithSource", e));
    r = p_clBuildProgram(*out, 1, &oclgrind.id, "-cl-std=CL1.2 -cl-opt-disable -DKC_CHECK", NULL,
                         NULL); /* optimised or inlined code has instructions that it lacks */
    if (r == 0) return ST_OK;
    char log[4096] = "";
    p_clGetProgramBuildInfo(*out, oclgrind.id, 0x1183, sizeof log - 1, log, NULL);
    err_set(e, ERR_SYSTEM, "clBuildProgram: OpenCL error %d", r);
    return err_detail(e, "%.900s", log), ST_ERROR;
}
static Status oclgrind_compile(Device *d, const char *source, const char *options, DevCode *out, Err *e) {
    (void)d, (void)options;
    *out = (DevCode){.bytes = strdup(source), .n = (int64_t)strlen(source) + 1};
    return out->bytes ? ST_OK : err_oom(e);
}
static Status oclgrind_load(Device *d, const void *code, int64_t n, DevModule **out, Err *e) {
    (void)d, (void)n;
    void *p = NULL;
    TRY(oclgrind_build(code, &p, e));
    *out = (DevModule *)p;
    return ST_OK;
}
static void oclgrind_unload(Device *d, DevModule *m) { (void)d, (void)m; }
static Status oclgrind_kernel(DevModule *m, const char *name, DevKernel **out, Err *e) {
    int32_t r;
    *out = (DevKernel *)p_clCreateKernel((void *)m, name, &r);
    return oclgrind_check(r, name, e);
}
static Status oclgrind_launch(DevQueue *q, DevKernel *k, int64_t groups, int32_t group_size, int64_t local_bytes,
                              const uint64_t *params, int32_t n_params, Err *e) {
    (void)q;
    size_t local = (size_t)group_size, global = local * (size_t)groups;
    TRY(oclgrind_check(
        p_clEnqueueWriteBuffer(oclgrind.queue, oclgrind.params, 1, 0, (size_t)n_params * 8, params, 0, NULL, NULL),
        "clEnqueueWriteBuffer", e));
    TRY(oclgrind_check(p_clSetKernelArg((void *)k, 0, sizeof oclgrind.params, &oclgrind.params), "clSetKernelArg", e));
    TRY(oclgrind_check(p_clSetKernelArg((void *)k, 1, (size_t)MAX_OF(local_bytes, INT64_C(16)), NULL), "clSetKernelArg",
                       e));
    TRY(oclgrind_check(p_clEnqueueNDRangeKernel(oclgrind.queue, (void *)k, 1, NULL, &global, &local, 0, NULL, NULL),
                       "clEnqueueNDRangeKernel", e));
    return oclgrind_check(p_clFinish(oclgrind.queue), "clFinish", e);
}
static Status oclgrind_sync(DevQueue *q, DevPoll poll, void *ctx, Err *e) {
    return (void)q, (void)poll, (void)ctx, oclgrind_check(p_clFinish(oclgrind.queue), "clFinish", e);
}

/* NULL, with a reason: not run by oclgrind. `host` lends pinned memory and queues. */
static Device *oclgrind_open(Device *host, Err *e) {
    void *lib = dlopen("libOpenCL.so.1", RTLD_NOW);
#define OCLGRIND_FIND(result, f, args)                     \
    void *s_##f = dlsym(RTLD_DEFAULT, #f); /* preloaded */ \
    if (!s_##f && lib) s_##f = dlsym(lib, #f);             \
    if (!s_##f) {                                          \
        err_set(e, ERR_SYSTEM, "no " #f);                  \
        return NULL;                                       \
    }                                                      \
    memcpy(&p_##f, &s_##f, sizeof s_##f);
    OCLGRIND_FUNCTIONS(OCLGRIND_FIND)
    void *platform, *program, *address, *word;
    char name[64] = "";
    int32_t r = 0;
    if (p_clGetPlatformIDs(1, &platform, NULL) != 0 ||
        p_clGetPlatformInfo(platform, 0x902, sizeof name, name, NULL) != 0 || strcmp(name, "Oclgrind") != 0) {
        err_set(e, ERR_SYSTEM, "not started by oclgrind (platform \"%s\")", name);
        return NULL;
    }
    OclgrindDevice *g = &oclgrind;
    *g = (OclgrindDevice){.host = host};
    if (p_clGetDeviceIDs(platform, UINT32_MAX, 1, &g->id, NULL) != 0) return NULL;
    g->context = p_clCreateContext(NULL, 1, &g->id, NULL, NULL, &r);
    g->queue = p_clCreateCommandQueue(g->context, g->id, 0, &r);
    g->memory = p_clCreateBuffer(g->context, 1, OCLGRIND_MEMORY, NULL, &r);
    g->params = p_clCreateBuffer(g->context, 1, DEV_PARAMS_MAX * 8, NULL, &r);
    word = p_clCreateBuffer(g->context, 1, 64, NULL, &r);
    if (oclgrind_build("__kernel void address(__global ulong *to, __global uchar *b) { to[0] = (ulong)b; }\n", &program,
                       e) != ST_OK)
        return NULL;
    address = p_clCreateKernel(program, "address", &r);
    size_t one = 1;
    p_clSetKernelArg(address, 0, sizeof word, &word);
    p_clSetKernelArg(address, 1, sizeof g->memory, &g->memory);
    r |= p_clEnqueueNDRangeKernel(g->queue, address, 1, NULL, &one, &one, 0, NULL, NULL);
    r |= p_clEnqueueReadBuffer(g->queue, word, 1, 0, 8, &g->base, 0, NULL, NULL);
    if (oclgrind_check(r, "oclgrind", e) != ST_OK) return NULL;
    g->ops = (DeviceOps){.version = DEVICE_VERSION,
                         .alloc = oclgrind_alloc,
                         .free = oclgrind_free,
                         .alloc_pinned = oclgrind_pinned,
                         .free_pinned = oclgrind_free_pinned,
                         .queue_new = oclgrind_queue_new,
                         .queue_free = oclgrind_queue_free,
                         .copy_in = oclgrind_copy_in,
                         .copy_out = oclgrind_copy_out,
                         .fill = oclgrind_fill,
                         .launch = oclgrind_launch,
                         .sync = oclgrind_sync,
                         .compile = oclgrind_compile,
                         .load = oclgrind_load,
                         .unload = oclgrind_unload,
                         .kernel = oclgrind_kernel};
    g->device.ops = &g->ops;
    DeviceInfo *i = &g->device.info;
    snprintf(i->id, sizeof i->id, "oclgrind");
    snprintf(i->arch, sizeof i->arch, "oclgrind");
    i->kind = DEVICE_OPENCL;
    i->units = 2;
    i->warp = i->group_calls = 1;
    i->group_rows = 64;
    i->group_max = OCLGRIND_GROUP_MAX;
    i->local_bytes = 32 << 10;
    return &g->device;
}

#endif
