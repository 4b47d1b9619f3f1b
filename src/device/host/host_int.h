/* host_int.h - shared by the files of src/device/host only.
 *
 *   host.c          the driver: what the machine is, memory, modules
 *   host_compile.c  finds and runs the C compiler
 *   host_queue.c    queues with their threads, events, launches
 */
#ifndef STELE_DEVICE_HOST_HOST_INT_H
#define STELE_DEVICE_HOST_HOST_INT_H

#include "base/mutex.h"
#include "device/device.h"

/* The second argument of every kernel on the host; the prelude (codegen/prelude/kc_base.h) has the same. */
typedef struct KernelCtx {
    uint64_t gid, ngroups;
    uint8_t *lmem;
} KernelCtx;
static_assert(sizeof(KernelCtx) == 24 && offsetof(KernelCtx, lmem) == 16, "crosses into compiled kernels");
typedef void (*KernelFn)(const uint64_t *params, KernelCtx *ctx);

enum { HOST_PATH_MAX = 4096 };

/* What the C compiler is and how it is called. */
typedef struct HostCompiler {
    char path[HOST_PATH_MAX];
    char version[128]; /* first line of --version */
    char machine[32];  /* uname's: picks -march or -mcpu */
    char options[512]; /* $STELE_CC_OPTIONS: behind our own */
} HostCompiler;

typedef struct HostDevice {
    Device device; /* first */
    Pool *pool;
    int threads;         /* of the pool */
    MemAccount *account; /* queues, events, modules: not device memory */
    HostCompiler compiler;
} HostDevice;

struct DevModule {
    HostDevice *host;
    void *handle; /* dlopen */
    int fd; /* memfd behind it, -1 = none. Open as long as the module: the path /proc/self/fd/N names the library for
               the loader */
    Mutex lock;
    DevKernel *kernels;
};
struct DevKernel {
    DevKernel *next;
    DevModule *module;
    KernelFn fn;
};

static inline HostDevice *host_of(Device *d) { return (HostDevice *)d; }

/* host_compile.c */
/* Finds the compiler: $STELE_CC, else cc, gcc, clang on PATH. Runs nothing. On failure `reason` says why (no Err: it is
 * a state, not an error). */
bool host_compiler_find(char *path, int64_t path_size, char *reason, int64_t reason_size);
/* Asks the compiler at c->path for its version and fills the rest. */
Status host_compiler_open(HostCompiler *c, Err *e);
/* A hash of the arguments, for the code cache's key. */
uint64_t host_compiler_flags_hash(const HostCompiler *c);
Status host_compile(Device *d, const char *source, const char *options, DevCode *out, Err *e);
/* A fresh private directory in $TMPDIR or /tmp; removed with everything in it by host_remove_dir. */
Status host_make_dir(char *dir, int64_t size, Err *e);
void host_remove_dir(const char *dir);
Status host_write_file(const char *path, const void *bytes, int64_t n, Err *e);
Status host_write_fd(int fd, const char *name, const void *bytes, int64_t n, Err *e);

/* host_queue.c */
Status host_queue_new(Device *d, DevQueue **out, Err *e);
void host_queue_free(Device *d, DevQueue *q);
Status host_copy_in(DevQueue *q, DevPtr dst, const void *src, int64_t n, Err *e);
Status host_copy_out(DevQueue *q, void *dst, DevPtr src, int64_t n, Err *e);
Status host_copy(DevQueue *q, DevPtr dst, DevPtr src, int64_t n, Err *e);
Status host_fill(DevQueue *q, DevPtr dst, uint8_t byte, int64_t n, Err *e);
Status host_launch(DevQueue *q, DevKernel *k, int64_t groups, int32_t group_size, int64_t local_bytes,
                   const uint64_t *params, int32_t n_params, Err *e);
Status host_sync(DevQueue *q, DevPoll poll, void *ctx, Err *e);
Status host_finish(DevQueue *q, DevPoll poll, void *ctx, Err *e);
Status host_event_new(Device *d, DevEvent **out, Err *e);
void host_event_free(Device *d, DevEvent *ev);
Status host_event_record(DevQueue *q, DevEvent *ev, Err *e);
Status host_event_wait(DevQueue *q, DevEvent *ev, Err *e);
Status host_event_sync(Device *d, DevEvent *ev, DevPoll poll, void *ctx, Err *e);
Status host_event_ns(Device *d, DevEvent *from, DevEvent *to, int64_t *ns, Err *e);

#endif
