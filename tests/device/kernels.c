/* kernels.c - the kernels of real queries, checked by tools that need no GPU, and their runs under faults of a device.
 * Started by tests/run_all.py and tests/device/run.sh.
 *
 * usage: kernels nvrtc ARCH[,ARCH...] SETUP.sql QUERY.sql...     every kernel is compiled by NVRTC for each
 *                                                                architecture; nothing runs
 *        oclgrind ... kernels oclgrind SETUP.sql QUERY.sql...    every kernel runs in oclgrind; answers are compared
 *                                                                with the virtual machine's
 *        kernels faults DEVICE SETUP.sql QUERY.sql...            every call of the device fails in turn (40 of them
 *                                                                where there are more), once, for good, and with the
 *                                                                loss of the device: an error of the device or, without
 *                                                                device_strict, the answer
 *
 * With `--executor NAME` (pipelined, kernel) before everything else it is that one's kernels instead of `compiled`'s;
 * in oclgrind those of a pipeline run in turn.
 *
 * SETUP.sql makes and fills the tables; each QUERY.sql has one query. Queries run through the device executor with
 * device_strict, for the first two on a null device with some of its functions replaced: so kernels, their order and
 * their parameters are those of a real run.
 *
 * oclgrind knows OpenCL 1.2 only, without addresses that can be stored in memory. But its buffers do not move, and a
 * kernel may turn a pointer into a number: a kernel of our own tells the address of each buffer once it is made.
 * oclgrind's reports go where its --log says; here only answers count.
 *
 * Ends with "N passed, N failed"; exit status 77 when the tool is not there.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "db/database.h"
#include "device/cuda/nvrtc.h"
#include "device/opencl/opencl_api.h"
#include "exec/device/dev.h"
#include "session/core/session.h"

enum { EXIT_SKIP = 77, GROUPS = 4 };

static const char *executor = "compiled";
static Database *db;
static Session *session;
static MemAccount root;
static Device *base; /* the null device */
static const DeviceOps *base_ops;
static DeviceOps ops;
static char archs[8][16];
static int n_archs;
static pthread_mutex_t lock =
    PTHREAD_MUTEX_INITIALIZER; /* of everything below: the code cache compiles on a thread of its own */
static int64_t compiled, compiled_bytes, launched;

/* ---- NVRTC ---------------------------------------------------------------------------------------------------- */
static Status compile_nvrtc(Device *d, const char *source, const char *options, DevCode *out, Err *e) {
    for (int i = 0; i < n_archs; i++) {
        DevCode c;
        TRY(nvrtc_compile(source, archs[i], options, &c, e));
        pthread_mutex_lock(&lock);
        compiled++;
        compiled_bytes += c.n;
        pthread_mutex_unlock(&lock);
        dev_code_free(&c);
    }
    return base_ops->compile(d, source, options, out, e);
}

static bool start_nvrtc(char *list, char *reason, size_t size) {
    int major, minor;
    Err e = {0};
    if (nvrtc_version(&major, &minor, &e) != ST_OK) {
        snprintf(reason, size, "%s", e.message);
        return false;
    }
    char *save = NULL;
    for (char *a = strtok_r(list, ",", &save); a && n_archs < (int)ARRAY_LEN(archs); a = strtok_r(NULL, ",", &save))
        snprintf(archs[n_archs++], sizeof archs[0], "%s", a);
    ops.compile = compile_nvrtc;
    base->info.kind = DEVICE_CUDA;
    base->info.units = 132;
    base->info.memory_bytes = INT64_C(140) << 30;
    return true;
}

/* ---- oclgrind ------------------------------------------------------------------------------------------------- */
typedef struct _cl_mem *cl_mem;
enum { CL_MEM_PLAIN = 1, CL_BLOCK = 1 };
/* X(result, name, arguments): as in the specification of OpenCL 1.2 */
#define FUNCTIONS(X)                                                                                            \
    X(cl_int, clGetPlatformIDs, (cl_uint, cl_platform_id *, cl_uint *))                                         \
    X(cl_int, clGetPlatformInfo, (cl_platform_id, cl_uint, size_t, void *, size_t *))                           \
    X(cl_int, clGetDeviceIDs, (cl_platform_id, cl_ulong, cl_uint, cl_device_id *, cl_uint *))                   \
    X(cl_context, clCreateContext,                                                                              \
      (const intptr_t *, cl_uint, const cl_device_id *, ClContextNotify, void *, cl_int *))                     \
    X(cl_command_queue, clCreateCommandQueue, (cl_context, cl_device_id, cl_ulong, cl_int *))                   \
    X(cl_mem, clCreateBuffer, (cl_context, cl_ulong, size_t, void *, cl_int *))                                 \
    X(cl_int, clReleaseMemObject, (cl_mem))                                                                     \
    X(cl_int, clEnqueueReadBuffer,                                                                              \
      (cl_command_queue, cl_mem, cl_uint, size_t, size_t, void *, cl_uint, const cl_event *, cl_event *))       \
    X(cl_int, clEnqueueWriteBuffer,                                                                             \
      (cl_command_queue, cl_mem, cl_uint, size_t, size_t, const void *, cl_uint, const cl_event *, cl_event *)) \
    X(cl_int, clEnqueueCopyBuffer,                                                                              \
      (cl_command_queue, cl_mem, cl_mem, size_t, size_t, size_t, cl_uint, const cl_event *, cl_event *))        \
    X(cl_int, clEnqueueFillBuffer,                                                                              \
      (cl_command_queue, cl_mem, const void *, size_t, size_t, size_t, cl_uint, const cl_event *, cl_event *))  \
    X(cl_program, clCreateProgramWithSource, (cl_context, cl_uint, const char **, const size_t *, cl_int *))    \
    X(cl_int, clBuildProgram, (cl_program, cl_uint, const cl_device_id *, const char *, ClBuildNotify, void *)) \
    X(cl_int, clGetProgramBuildInfo, (cl_program, cl_device_id, cl_uint, size_t, void *, size_t *))             \
    X(cl_int, clReleaseProgram, (cl_program))                                                                   \
    X(cl_kernel, clCreateKernel, (cl_program, const char *, cl_int *))                                          \
    X(cl_int, clSetKernelArg, (cl_kernel, cl_uint, size_t, const void *))                                       \
    X(cl_int, clEnqueueNDRangeKernel,                                                                           \
      (cl_command_queue, cl_kernel, cl_uint, const size_t *, const size_t *, const size_t *, cl_uint,           \
       const cl_event *, cl_event *))                                                                           \
    X(cl_int, clFinish, (cl_command_queue))
#define DECLARE(result, f, args) static result(*p_##f) args;
FUNCTIONS(DECLARE)

typedef struct Buffer {
    cl_mem mem;
    DevPtr at;
    int64_t bytes;
} Buffer;
static cl_context context;
static cl_device_id device_id;
static cl_command_queue queue;
static cl_kernel addresses;
static cl_mem params_buffer, word;
static Buffer buffers[4096];
static int n_buffers;

static Status cl_check(cl_int r, const char *what, Err *e) {
    return r == CL_SUCCESS ? ST_OK : err_set(e, ERR_SYSTEM, "%s: OpenCL error %d", what, (int)r);
}

static Status buffer_new(int64_t bytes, cl_mem *mem, DevPtr *at, Err *e) {
    cl_int r;
    *mem = p_clCreateBuffer(context, CL_MEM_PLAIN, (size_t)MAX_OF(bytes, INT64_C(64)), NULL, &r);
    TRY(cl_check(r, "clCreateBuffer", e));
    size_t one = 1;
    TRY(cl_check(p_clSetKernelArg(addresses, 0, sizeof word, &word), "clSetKernelArg", e));
    TRY(cl_check(p_clSetKernelArg(addresses, 1, sizeof *mem, mem), "clSetKernelArg", e));
    TRY(cl_check(p_clEnqueueNDRangeKernel(queue, addresses, 1, NULL, &one, &one, 0, NULL, NULL),
                 "clEnqueueNDRangeKernel", e));
    return cl_check(p_clEnqueueReadBuffer(queue, word, CL_BLOCK, 0, 8, at, 0, NULL, NULL), "clEnqueueReadBuffer", e);
}

static Buffer *buffer_at(DevPtr p, int64_t n, Err *e) {
    for (int i = 0; i < n_buffers; i++)
        if (p >= buffers[i].at && p + (uint64_t)n <= buffers[i].at + (uint64_t)buffers[i].bytes) return &buffers[i];
    err_internal(e, "no memory at %llx, %lld bytes", (unsigned long long)p, (long long)n);
    return NULL;
}

static Status ocl_alloc(Device *d, int64_t bytes, DevPtr *out, Err *e) {
    *out = 0;
    TRY(device_charge(d, bytes, e));
    pthread_mutex_lock(&lock);
    Buffer b = {.bytes = bytes};
    Status st =
        n_buffers < (int)ARRAY_LEN(buffers) ? buffer_new(bytes, &b.mem, &b.at, e) : err_internal(e, "too many buffers");
    if (st == ST_OK) {
        buffers[n_buffers++] = b;
        *out = b.at;
    }
    pthread_mutex_unlock(&lock);
    if (st != ST_OK) mem_discharge(&d->memory, bytes);
    return st;
}
static void ocl_free(Device *d, DevPtr p, int64_t bytes) {
    if (!p) return;
    Err e = {0};
    pthread_mutex_lock(&lock);
    Buffer *b = buffer_at(p, 0, &e);
    if (b) {
        p_clReleaseMemObject(b->mem);
        *b = buffers[--n_buffers];
    }
    pthread_mutex_unlock(&lock);
    mem_discharge(&d->memory, bytes);
}
static Status ocl_pinned(Device *d, int64_t bytes, void **host, DevPtr *dev, Err *e) {
    if (dev) *dev = 0;
    return base_ops->alloc_pinned(d, bytes, host, NULL, e);
}
static Status ocl_copy_in(DevQueue *q, DevPtr dst, const void *src, int64_t n, Err *e) {
    (void)q;
    if (n == 0) return ST_OK;
    pthread_mutex_lock(&lock);
    Buffer *b = buffer_at(dst, n, e);
    Status st =
        b ? cl_check(p_clEnqueueWriteBuffer(queue, b->mem, CL_BLOCK, dst - b->at, (size_t)n, src, 0, NULL, NULL),
                     "clEnqueueWriteBuffer", e)
          : ST_ERROR;
    pthread_mutex_unlock(&lock);
    return st;
}
static Status ocl_copy_out(DevQueue *q, void *dst, DevPtr src, int64_t n, Err *e) {
    (void)q;
    if (n == 0) return ST_OK;
    pthread_mutex_lock(&lock);
    Buffer *b = buffer_at(src, n, e);
    Status st = b ? cl_check(p_clEnqueueReadBuffer(queue, b->mem, CL_BLOCK, src - b->at, (size_t)n, dst, 0, NULL, NULL),
                             "clEnqueueReadBuffer", e)
                  : ST_ERROR;
    pthread_mutex_unlock(&lock);
    return st;
}
static Status ocl_copy(DevQueue *q, DevPtr dst, DevPtr src, int64_t n, Err *e) {
    (void)q;
    if (n == 0) return ST_OK;
    pthread_mutex_lock(&lock);
    Buffer *to = buffer_at(dst, n, e), *from = buffer_at(src, n, e);
    Status st = ST_ERROR;
    if (to && from)
        st = cl_check(
            p_clEnqueueCopyBuffer(queue, from->mem, to->mem, src - from->at, dst - to->at, (size_t)n, 0, NULL, NULL),
            "clEnqueueCopyBuffer", e);
    if (st == ST_OK) st = cl_check(p_clFinish(queue), "clFinish", e);
    pthread_mutex_unlock(&lock);
    return st;
}
static Status ocl_fill(DevQueue *q, DevPtr dst, uint8_t byte, int64_t n, Err *e) {
    (void)q;
    if (n == 0) return ST_OK;
    pthread_mutex_lock(&lock);
    Buffer *b = buffer_at(dst, n, e);
    Status st = b ? cl_check(p_clEnqueueFillBuffer(queue, b->mem, &byte, 1, dst - b->at, (size_t)n, 0, NULL, NULL),
                             "clEnqueueFillBuffer", e)
                  : ST_ERROR;
    if (st == ST_OK) st = cl_check(p_clFinish(queue), "clFinish", e);
    pthread_mutex_unlock(&lock);
    return st;
}

/* Modules and kernels are OpenCL's own objects in disguise. */
static Status build(const char *source, cl_program *out, Err *e) {
    cl_int r;
    *out = p_clCreateProgramWithSource(context, 1, &source, NULL, &r);
    TRY(cl_check(r, "clCreateProgramWithSource", e));
    r = p_clBuildProgram(*out, 1, &device_id, "-cl-std=CL1.2 -cl-opt-disable -DKC_CHECK", NULL,
                         NULL); /* optimised or inlined code has instructions that oclgrind lacks */
    if (r == CL_SUCCESS) return ST_OK;
    char log[4096] = "";
    p_clGetProgramBuildInfo(*out, device_id, CL_PROGRAM_BUILD_LOG, sizeof log - 1, log, NULL);
    err_set(e, ERR_SYSTEM, "clBuildProgram: OpenCL error %d", (int)r);
    return err_detail(e, "%.900s", log), ST_ERROR;
}
static Status ocl_load(Device *d, const void *code, int64_t n, DevModule **out, Err *e) {
    (void)d;
    char *text = strndup(code, (size_t)n);
    if (!text) return err_oom(e);
    cl_program p = NULL;
    pthread_mutex_lock(&lock);
    compiled++;
    Status st = build(text, &p, e);
    pthread_mutex_unlock(&lock);
    free(text);
    *out = st == ST_OK ? (DevModule *)(void *)p : NULL;
    return st;
}
static void ocl_unload(Device *d, DevModule *m) {
    (void)d;
    if (m) p_clReleaseProgram((cl_program)(void *)m);
}
static Status ocl_kernel(DevModule *m, const char *name, DevKernel **out, Err *e) {
    cl_int r;
    cl_kernel k = p_clCreateKernel((cl_program)(void *)m, name, &r); /* lives until the end */
    *out = r == CL_SUCCESS ? (DevKernel *)(void *)k : NULL;
    return cl_check(r, name, e);
}
static Status ocl_launch(DevQueue *q, DevKernel *k, int64_t groups, int32_t group_size, int64_t local_bytes,
                         const uint64_t *params, int32_t n_params, Err *e) {
    (void)q;
    cl_kernel kernel = (cl_kernel)(void *)k;
    size_t local = (size_t)group_size, global = local * (size_t)groups;
    pthread_mutex_lock(&lock);
    launched++;
    Status st = ST_OK;
    if (n_params > 0)
        st = cl_check(
            p_clEnqueueWriteBuffer(queue, params_buffer, CL_BLOCK, 0, (size_t)n_params * 8, params, 0, NULL, NULL),
            "clEnqueueWriteBuffer", e);
    if (st == ST_OK)
        st = cl_check(p_clSetKernelArg(kernel, 0, sizeof params_buffer, &params_buffer), "clSetKernelArg", e);
    if (st == ST_OK)
        st = cl_check(p_clSetKernelArg(kernel, 1, (size_t)MAX_OF(local_bytes, INT64_C(16)), NULL), "clSetKernelArg", e);
    if (st == ST_OK)
        st = cl_check(p_clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &local, 0, NULL, NULL),
                      "clEnqueueNDRangeKernel", e);
    if (st == ST_OK) st = cl_check(p_clFinish(queue), "clFinish", e);
    pthread_mutex_unlock(&lock);
    return st;
}
static int64_t ocl_resident(DevKernel *k, int32_t group_size, int64_t local_bytes) {
    (void)k, (void)group_size, (void)local_bytes;
    return GROUPS;
}

static bool start_oclgrind(char *reason, size_t size) {
    void *lib = dlopen("libOpenCL.so.1", RTLD_NOW);
    if (!lib) return snprintf(reason, size, "%s", dlerror()), false;
#define FIND(result, f, args)                                   \
    void *s_##f = dlsym(RTLD_DEFAULT, #f); /* preloaded */      \
    if (!s_##f) s_##f = dlsym(lib, #f);                         \
    if (!s_##f) return snprintf(reason, size, "no " #f), false; \
    memcpy(&p_##f, &s_##f, sizeof s_##f);
    FUNCTIONS(FIND)
    cl_platform_id platform;
    char name[64] = "";
    if (p_clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS ||
        p_clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof name, name, NULL) != CL_SUCCESS ||
        strcmp(name, "Oclgrind") != 0)
        return snprintf(reason, size, "not started by oclgrind (platform \"%s\")", name), false;
    cl_int r;
    Err e = {0};
    cl_program p = NULL;
    if (p_clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device_id, NULL) != CL_SUCCESS)
        return snprintf(reason, size, "no device"), false;
    context = p_clCreateContext(NULL, 1, &device_id, NULL, NULL, &r);
    queue = p_clCreateCommandQueue(context, device_id, 0, &r);
    if (build("__kernel void address(__global ulong *to, __global uchar *b) { to[0] = (ulong)b; }\n", &p, &e) != ST_OK)
        return snprintf(reason, size, "%s", e.message), false;
    addresses = p_clCreateKernel(p, "address", &r);
    word = p_clCreateBuffer(context, CL_MEM_PLAIN, 64, NULL, &r);
    params_buffer = p_clCreateBuffer(context, CL_MEM_PLAIN, DEV_PARAMS_MAX * 8, NULL, &r);
    if (r != CL_SUCCESS) return snprintf(reason, size, "no memory"), false;
    ops.alloc = ocl_alloc;
    ops.free = ocl_free;
    ops.alloc_pinned = ocl_pinned;
    ops.copy_in = ocl_copy_in;
    ops.copy_out = ocl_copy_out;
    ops.copy = ocl_copy;
    ops.fill = ocl_fill;
    ops.load = ocl_load;
    ops.unload = ocl_unload;
    ops.kernel = ocl_kernel;
    ops.launch = ocl_launch;
    ops.resident_groups = ocl_resident;
    DeviceInfo *i = &base->info; /* a small GPU */
    i->kind = DEVICE_OPENCL;
    i->can_map = i->concurrent = false;
    i->units = 2;
    i->group_max = 64;
    i->memory_bytes = INT64_C(256) << 20;
    return true;
}

/* ---- queries -------------------------------------------------------------------------------------------------- */
/* All rows as text; NULL on error. */
static char *run(const char *sql, bool text) {
    Statement *st;
    int64_t used;
    char *out = NULL;
    size_t size;
    FILE *f = open_memstream(&out, &size);
    Status r = f ? ST_OK : ST_ERROR;
    for (const char *p = sql; r == ST_OK && *p; p += used) {
        r = statement_prepare(session, slice_of(p), &st, &used);
        if (r != ST_OK || !st) break;
        r = statement_run(st);
        for (int64_t i = 0; r == ST_OK && text && st->rows && i < st->n_rows; i++)
            for (int32_t c = 0; c < st->n_cols; c++) {
                const void *cell;
                bool null;
                r = rows_cell(st->rows, i, st->first_col + c, &cell, &null, &session->err);
                if (r != ST_OK) break;
                Value v = {.type = st->types[c], .is_null = null};
                if (!null) memcpy(value_cell(&v), cell, (size_t)phys_size(type_phys(v.type)));
                Arena *a = arena_new(&root, NULL);
                int64_t n = 0;
                fprintf(f, "%s%c", null ? "NULL" : value_to_text(a, &v, &n), c + 1 == st->n_cols ? '\n' : '|');
                arena_free(a);
            }
        statement_free(st);
    }
    if (f) fclose(f);
    if (r == ST_OK) return out;
    free(out);
    return NULL;
}

static char *read_text(const char *path) {
    FILE *f = fopen(path, "rb");
    char *out = NULL, buf[4096];
    size_t size, n;
    FILE *m = f ? open_memstream(&out, &size) : NULL;
    while (m && (n = fread(buf, 1, sizeof buf, f)) > 0) fwrite(buf, 1, n, m);
    if (m) fclose(m);
    if (f) fclose(f);
    return out;
}

static bool set(const char *name, const char *value) {
    err_clear(&session->err);
    return settings_set(session, name, value, &session->err) == ST_OK;
}

static bool check(const char *path, bool compare) {
    char *sql = read_text(path), *want = NULL, *got = NULL;
    int64_t had = compiled, had_launched = launched;
    bool ok = sql && set("executor", "vm") && (!compare || (want = run(sql, true)));
    ok = ok && set("executor", executor) && (got = run(sql, compare));
    if (!ok) printf("%s: %s %s %s\n", path, session->err.sqlstate, session->err.message, session->err.detail);
    if (ok && compare && strcmp(got, want) != 0) {
        ok = false;
        printf("%s: wrong answer\n%s-- instead of\n%s", path, got, want);
    }
    if (ok)
        printf("%s: %lld kernels compiled, %lld launched\n", path, (long long)(compiled - had),
               (long long)(launched - had_launched));
    fflush(stdout);
    free(sql);
    free(want);
    free(got);
    return ok;
}

/* ---- faults --------------------------------------------------------------------------------------------------- */
static const struct {
    const char *name;
    bool sticky, lose, strict;
} fault_modes[] = {
    {"once", false, false, true},
    {"for good", true, false, true},
    {"device lost", false, true, true},
    {"once, not strict", false, false, false},
    {"device lost, not strict", false, true, false},
};
enum { FAULT_POINTS = 40 };

/* One run in which call `fail_at` fails (0: none). *calls: calls made. */
static bool fault_run(Device *inner, const char *sql, const char *want, int mode, int64_t fail_at, int64_t *calls,
                      int64_t *errors) {
    FaultPlan plan = {.fail_at = fail_at, .sticky = fault_modes[mode].sticky, .lose_device = fault_modes[mode].lose};
    Device *d = NULL;
    DevRuntime *runtime = NULL;
    CodeCache *cache = NULL;
    Err e = {0};
    bool ok = false;
    if (code_cache_new(NULL, INT64_C(256) << 20, &cache, &e) != ST_OK ||
        device_fault_new(inner, &plan, &d, &e) != ST_OK)
        goto done;
    if (dev_runtime_new(d, cache, &root, &runtime, &e) != ST_OK) {
        ok = fail_at > 0;
        goto done;
    }
    session->device.override = runtime;
    ok = set("device_strict", fault_modes[mode].strict ? "on" : "off");
    char *got = ok ? run(sql, true) : NULL;
    session->device.override = NULL;
    if (got) {
        ok = strcmp(got, want) == 0;
        if (!ok) snprintf(e.message, sizeof e.message, "wrong answer");
    } else {
        (*errors)++;
        const char *s = session->err.sqlstate; /* 0A000: a kernel that cannot be compiled, and device_strict */
        ok = fail_at > 0 && fault_modes[mode].strict &&
             (strcmp(s, ERR_SYSTEM) == 0 || strcmp(s, ERR_OUT_OF_MEMORY) == 0 ||
              strcmp(s, ERR_FEATURE_NOT_SUPPORTED) == 0);
        if (!ok) snprintf(e.message, sizeof e.message, "%s %.400s", session->err.sqlstate, session->err.message);
    }
    free(got);
done:
    if (calls) *calls = atomic_load(&plan.calls);
    dev_runtime_free(runtime);
    if (cache && d) code_cache_drop_device(cache, d);
    if (cache) code_cache_free(cache);
    if (d && atomic_load(&d->memory.used) != 0) {
        ok = false;
        snprintf(e.message, sizeof e.message, "%lld bytes of the device leaked",
                 (long long)atomic_load(&d->memory.used));
    }
    if (d) d->ops->close(d);
    if (!ok) printf("call %lld fails (%s): %s\n", (long long)fail_at, fault_modes[mode].name, e.message);
    return ok;
}

static int faults(const char *id, int n, char **paths) {
    Devices *devices;
    Device *inner;
    Err e = {0};
    int64_t passed = 0, failed = 0;
    if (devices_open(db->pool, &root, &devices, &e) != ST_OK ||
        devices_get(devices, strcmp(id, "cpu") == 0 ? "host" : id, &inner, &e) != ST_OK) {
        printf("skipped: %s: %s\n", id, e.message);
        return EXIT_SKIP;
    }
    for (int i = 0; i < n; i++) {
        char *sql = read_text(paths[i]), *want = sql && set("executor", "vm") ? run(sql, true) : NULL;
        int64_t calls = 0, runs = 0, errors = 0;
        bool ok = want && set("executor", executor) && set("device_wait", "on") &&
                  fault_run(inner, sql, want, 0, 0, &calls, &errors); /* also fills the directory of kernels */
        if (!ok) printf("%s: %s %s\n", paths[i], session->err.sqlstate, session->err.message);
        passed += ok;
        failed += !ok;
        for (int mode = 0; ok && mode < (int)ARRAY_LEN(fault_modes); mode++)
            for (int64_t at = 1; at <= calls; at += MAX_OF(calls / FAULT_POINTS, INT64_C(1)), runs++) {
                if (fault_run(inner, sql, want, mode, at, NULL, &errors)) passed++;
                else failed++;
            }
        printf("%s: %lld calls, %lld runs, %lld errors\n", paths[i], (long long)calls, (long long)runs,
               (long long)errors);
        fflush(stdout);
        free(sql);
        free(want);
    }
    session_free(session);
    devices_close(devices);
    database_close(db);
    if (atomic_load(&root.used) != 0) {
        failed++;
        printf("%lld bytes leaked\n", (long long)atomic_load(&root.used));
    }
    printf("%lld passed, %lld failed\n", (long long)passed, (long long)failed);
    return failed > 0;
}

int main(int argc, char **argv) {
    if (argc > 2 && strcmp(argv[1], "--executor") == 0) {
        executor = argv[2];
        argc -= 2;
        argv += 2;
    }
    bool nvrtc = argc > 3 && strcmp(argv[1], "nvrtc") == 0, oclgrind = argc > 3 && strcmp(argv[1], "oclgrind") == 0;
    bool faulty = argc > 4 && strcmp(argv[1], "faults") == 0;
    if (!nvrtc && !oclgrind && !faulty) {
        fprintf(stderr, "usage: kernels nvrtc ARCH[,ARCH...] SETUP.sql QUERY.sql...\n       kernels oclgrind SETUP.sql "
                        "QUERY.sql...\n"
                        "       kernels faults DEVICE SETUP.sql QUERY.sql...\n"
                        "       kernels --executor NAME ...: of that executor\n");
        return 2;
    }
    Err e = {0};
    CodeCache *cache = NULL;
    DevRuntime *runtime = NULL;
    mem_account_init(&root, NULL, "test", 0, NULL);
    if (database_open(NULL, vfs_posix(), 2, 0, &db, &e) != ST_OK || session_new(db, &session, &e) != ST_OK ||
        device_driver_null.open(0, db->pool, &root, &base, &e) != ST_OK || code_cache_new("", 0, &cache, &e) != ST_OK) {
        printf("%s\n", e.message);
        return 1;
    }
    base_ops = base->ops;
    ops = *base_ops;
    base->ops = &ops;
    int at = oclgrind ? 2 : 3;
    char reason[2048] = "";
    if (!faulty && !(nvrtc ? start_nvrtc(argv[2], reason, sizeof reason) : start_oclgrind(reason, sizeof reason))) {
        printf("skipped: %s\n", reason);
        return EXIT_SKIP;
    }
    char *setup = read_text(argv[at]), *none = setup ? run(setup, false) : NULL;
    if (!none || dev_runtime_new(base, cache, &root, &runtime, &e) != ST_OK) {
        printf("%s: %s %s\n", argv[at], session->err.message, e.message);
        return 1;
    }
    free(setup);
    free(none);
    if (faulty) {
        dev_runtime_free(runtime);
        code_cache_drop_device(cache, base);
        code_cache_free(cache);
        base->ops->close(base);
        return faults(argv[2], argc - at - 1, argv + at + 1);
    }
    session->device.override = runtime;
    if (!set("device_strict", "on")) return 1;
    int passed = 0, failed = 0;
    for (int i = at + 1; i < argc; i++) {
        if (check(argv[i], oclgrind)) passed++;
        else failed++;
    }
    if (nvrtc) printf("%lld cubins, %lld kB\n", (long long)compiled, (long long)(compiled_bytes >> 10));
    session->device.override = NULL;
    session_free(session);
    dev_runtime_free(runtime);
    code_cache_drop_device(cache, base);
    code_cache_free(cache);
    base->ops->close(base);
    database_close(db);
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0;
}
