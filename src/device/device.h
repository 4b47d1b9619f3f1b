/* device.h - processors that run kernels: memory, queues, events, kernels. No SQL, no storage.
 *
 * A Driver finds devices; a Device owns memory, queues, events and modules. Each is a struct of functions
 * with a version, so that a backend can be left out, replaced, or wrapped (fault/). Backends:
 *
 *   host    the CPU: kernels are shared objects made by the system's C compiler, groups run on a Pool
 *   cuda    NVIDIA, driver API and NVRTC, both opened at run time
 *   opencl  an OpenCL 2.0+ device with coarse-grained SVM, loader opened at run time (GPUs; PoCL on any CPU)
 *   null    accepts and counts everything, runs nothing
 *   fault   wraps another device and fails the n-th call
 *
 * Properties. What the layers above do differently from device to device follows from the properties in DeviceInfo,
 * which a backend sets once, when it opens the device, and which do not change. They do not ask for the kind: that
 * is the dialect that the device's compiler takes, which the prelude of kernel C tells by itself, and nothing else.
 *
 * Addresses. A DevPtr is a plain 64-bit address in the device's space, valid in every kernel of the device, storable in
 * its memory, and open to arithmetic. 0 is no address. On host a DevPtr is an ordinary pointer.
 *
 * Kernels are written in kernel C (codegen/prelude). A kernel takes up to DEV_PARAMS_MAX 64-bit parameters by value and
 * a size of dynamic local memory. On host a group is one work-item (group_size must be 1) and groups are taken by the
 * pool's workers from a counter; elsewhere group_size is what the caller says, at most info.group_max.
 *
 * Order. Work on one queue runs in order; work on different queues may overlap. Everything that takes a queue returns
 * before the work is done, except sync. Memory given to copy_in / copy_out must stay until the queue has passed them
 * (pageable memory is allowed and may be slower or synchronous).
 *
 * Thread rules: a Device may be used from any thread; a queue by one thread at a time. Freeing is not concurrent with
 * use.
 *
 * Errors: 58000 for what the driver reports (message: device id, call, driver's own error name and text), 53200 when
 * device memory is exhausted (with bytes asked for, in use, and limit), 57014 never (cancelling is the caller's), 58030
 * for files, XX000 for misuse. A device that was lost (info.lost) answers every call with 58000 until it is closed.
 */
#ifndef STELE_DEVICE_DEVICE_H
#define STELE_DEVICE_DEVICE_H

#include <stdatomic.h>

#include "base/base.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/pool.h"

enum { DEVICE_VERSION = 4, DEV_PARAMS_MAX = 480 };
typedef uint64_t DevPtr;

typedef enum DeviceKind { DEVICE_HOST, DEVICE_CUDA, DEVICE_OPENCL, DEVICE_NULL } DeviceKind;

typedef struct DeviceInfo {
    char id[32];          /* "host", "cuda:0", "opencl:1", "null" */
    char name[128];       /* "NVIDIA H200", for people */
    char arch[64];        /* what code is compiled for: "sm_90", "avx512"; part of the code cache's key */
    char compiler[128];   /* and by what: "nvrtc 13.0", "gcc 12.2.0", "PoCL 3.1"; part of the key */
    char driver[64];      /* driver version, for people */
    DeviceKind kind;      /* the dialect of its kernels */
    _Atomic bool lost;    /* set by the backend on any thread */
    bool shares_memory;   /* kernels may read any host address directly (host, PoCL): no copies needed */
    bool native_threads;  /* kernels are functions that threads of this process run: a group is one work-item, a DevPtr
                             a pointer, and what the host writes a running kernel sees (host) */
    bool warp_functions;  /* kernel C has votes and shuffles of a warp, which has 32 lanes that make progress of their
                             own: a call of a bulk may have a warp to itself, or wait for another lane's lock (CUDA) */
    bool whole_params;    /* a launch gives all parameters that the kernel's text declares, used or not (CUDA) */
    bool constant_memory; /* DeviceOps.constant: for values that all work-items read, faster than any other (CUDA) */
    bool runs_nothing;    /* work is accepted and counted only: there is nothing to measure (null) */
    bool can_map;         /* map_host works */
    bool concurrent;      /* kernels of different queues run at the same time (channels need it) */
    int64_t span_unit;    /* pieces in which memory grows where it is (span_new); 0: it does not on this device */
    int64_t memory_bytes; /* of the device; host: of the machine */
    int32_t units;        /* multiprocessors, compute units, cores */
    int32_t warp;         /* lanes that run in step; 1 on host */
    int32_t group_max;    /* work-items per group, at most; */
    int32_t group_rows;   /* ... of a simple kernel over rows, where it has no reason for another number; */
    int32_t group_calls;  /* ... where each work-item runs calls of a bulk, which need many registers; 1: one item runs
                             many calls, one after the other */
    int32_t items_per_unit; /* resident work-items a unit can hold (2048 on NVIDIA); 1 on host */
    int64_t local_bytes;    /* dynamic local memory a group may ask for */
    int64_t cache_bytes;    /* last-level cache */
    int64_t measure_bytes;  /* memory that a measurement of its rates goes through: many times its caches */
    double peak_gbps;       /* theoretical memory rate if the driver tells, else 0 */
} DeviceInfo;

typedef struct Device Device;
typedef struct DevQueue DevQueue; /* backends define what they need behind these names */
typedef struct DevEvent DevEvent;
typedef struct DevModule DevModule;
typedef struct DevKernel DevKernel;

typedef struct DevCode { /* compiled kernels as bytes: shared object, cubin, OpenCL program binary */
    void *bytes;
    int64_t n;
    char *log;                  /* compiler's messages, may be NULL */
} DevCode;                      /* malloc'ed; dev_code_free */
void dev_code_free(DevCode *c); /* frees the parts and zeroes *c; NULL is fine */

/* Called now and then (at least every 10 ms) while sync waits; `false` gives up waiting with ST_ERROR and no Err set
 * (the queue is still busy). */
typedef bool (*DevPoll)(void *ctx);

typedef struct DevCopy {
    DevPtr to;
    const void *from;
    int64_t bytes;
} DevCopy;

typedef struct DeviceOps {
    int32_t version; /* DEVICE_VERSION */
    void (*close)(Device *d);

    /* memory: 256-byte aligned, uninitialised */
    Status (*alloc)(Device *d, int64_t bytes, DevPtr *out, Err *e);
    void (*free)(Device *d, DevPtr p, int64_t bytes);
    /* Host memory that copies run from at full speed. `dev` (may be NULL) receives the address under which kernels
     * reach it. */
    Status (*alloc_pinned)(Device *d, int64_t bytes, void **host, DevPtr *dev, Err *e);
    void (*free_pinned)(Device *d, void *host, int64_t bytes);
    /* Makes existing host memory reachable by kernels (and copies from it fast) until unmap_host; contents stay the
     * owner's. 0A000 when the device cannot. */
    Status (*map_host)(Device *d, void *host, int64_t bytes, DevPtr *out, Err *e);
    void (*unmap_host)(Device *d, void *host, int64_t bytes);
    Status (*memory_used)(Device *d, int64_t *free_bytes, int64_t *total,
                          Err *e); /* as the driver sees it, all processes */
    /* Memory that grows where it is, with info.span_unit > 0 only (device_span_* below is for all devices): addresses
     * are kept for *most bytes (made less, down to `bytes`, where there are not so many), and there is memory for the
     * first `bytes`, rounded to units. span_grow gives it `bytes` instead of `had`: what was there stays, new bytes are
     * undefined, work that uses it may be under way. On failure it is as it was. span_shrink leaves it `bytes` of
     * `had`, 0 or more: no work may use what lies behind; the device's account has back what the backend could give
     * back of that, which may be less than the difference. The last size goes to span_free. */
    Status (*span_new)(Device *d, int64_t bytes, int64_t *most, DevPtr *out, Err *e);
    Status (*span_grow)(Device *d, DevPtr p, int64_t had, int64_t bytes, Err *e);
    void (*span_shrink)(Device *d, DevPtr p, int64_t had, int64_t bytes);
    void (*span_free)(Device *d, DevPtr p, int64_t bytes, int64_t most);

    /* queues */
    Status (*queue_new)(Device *d, DevQueue **out, Err *e);
    void (*queue_free)(Device *d, DevQueue *q); /* waits */
    Status (*copy_in)(DevQueue *q, DevPtr dst, const void *src, int64_t n, Err *e);
    Status (*copy_out)(DevQueue *q, void *dst, DevPtr src, int64_t n, Err *e);
    Status (*copy)(DevQueue *q, DevPtr dst, DevPtr src, int64_t n, Err *e);
    Status (*fill)(DevQueue *q, DevPtr dst, uint8_t byte, int64_t n, Err *e);
    Status (*launch)(DevQueue *q, DevKernel *k, int64_t groups, int32_t group_size, int64_t local_bytes,
                     const uint64_t *params, int32_t n_params, Err *e);
    Status (*sync)(DevQueue *q, DevPoll poll, void *ctx, Err *e);   /* poll may be NULL */
    Status (*finish)(DevQueue *q, DevPoll poll, void *ctx, Err *e); /* NULL: sync; see device_finish */

    /* events */
    Status (*event_new)(Device *d, DevEvent **out, Err *e);
    void (*event_free)(Device *d, DevEvent *ev);
    Status (*event_record)(DevQueue *q, DevEvent *ev, Err *e);
    Status (*event_wait)(DevQueue *q, DevEvent *ev, Err *e); /* later work on q starts after ev */
    Status (*event_sync)(Device *d, DevEvent *ev, DevPoll poll, void *ctx, Err *e); /* as sync */
    Status (*event_ns)(Device *d, DevEvent *from, DevEvent *to, int64_t *ns,
                       Err *e); /* both passed; device time between them */

    /* kernels. compile needs no queue and may take seconds; run it on any thread. `source` is kernel C with the prelude
     * already in front; `options` extra compiler options or "". 58000 with the compiler's log in detail on failure. */
    Status (*compile)(Device *d, const char *source, const char *options, DevCode *out, Err *e);
    Status (*load)(Device *d, const void *code, int64_t n, DevModule **out, Err *e);
    void (*unload)(Device *d, DevModule *m);
    Status (*kernel)(DevModule *m, const char *name, DevKernel **out, Err *e); /* dies with the module */
    /* The address of the module's __constant__ array `name` of so many bytes, for copy_in and copy: kernels that run
     * meanwhile must not read it. Who shares the module shares the array. With info.constant_memory only. */
    Status (*constant)(DevModule *m, const char *name, int64_t bytes, DevPtr *out, Err *e);
    /* Groups of that shape that fit on the device at once: the grid of a loop over tiles, and the limit for
     * co-residency (not on host, where the pool may have fewer workers free: there a group may wait for lower ones
     * only). */
    int64_t (*resident_groups)(DevKernel *k, int32_t group_size, int64_t local_bytes);
    /* From now on a unit that has groups of kernels so marked takes groups of k too as soon as registers, items and
     * local memory suffice. Without it a unit may want to be empty first. May cost cache; asking twice costs nothing.
     * NULL: the device promises nothing of the kind. */
    Status (*share_units)(DevKernel *k, Err *e);
    /* copy_in for each, in any order among themselves, with less rest between them than calls of their own would have.
     * NULL: the device knows no such way. */
    Status (*copy_in_many)(DevQueue *q, const DevCopy *copies, int64_t n, Err *e);
} DeviceOps;

struct Device { /* first member of every backend's own struct */
    const DeviceOps *ops;
    DeviceInfo info;
    MemAccount memory;    /* device bytes in use; its limit is device_memory_limit */
    _Atomic int64_t lent; /* bytes of pinned memory that results of bulks hold (txn/device/bulk_memory.c) */
    /* Gives back memory that is only kept in case it is wanted again (exec/device: cached columns), towards room for
     * `bytes` more; false: there is none. NULL: nothing is kept. Set before the device is used, called by any thread
     * that needs memory. */
    bool (*reclaim)(void *ctx, int64_t bytes);
    void *reclaim_ctx;
};

/* ---- for backends (device_common.c) --------------------------------------------------------------- */
/* 58000 "device ... was lost". */
Status device_lost(const Device *d, Err *e);
/* Charges d->memory. 53200 (bytes asked for, in use, limit, setting) when its own limit refuses; what mem_charge says
 * when a parent's does. */
Status device_charge(Device *d, int64_t bytes, Err *e);

/* ---- the machine's devices (registry.c) -------------------------------------------------------- */
/* One entry per device found, and one per backend that found none, with the reason. */
typedef struct DeviceEntry {
    char id[32], name[128];
    char sql_name[32]; /* as SET device has it; filled in by the registry, from the driver or the id */
    bool hidden;       /* likewise: for tests of the layers above, not shown to users */
    char state[256];   /* "ready", or why it cannot be used: "libcuda.so.1: cannot open shared object file" */
    bool usable;
    bool gpu; /* devices_auto may pick it: the first one that is usable, in the order of the registry */
    DeviceKind kind;
    int index;
    int64_t memory_bytes;
    char detail[256]; /* arch, driver, compiler, units */
} DeviceEntry;

typedef struct Devices Devices;
/* Looks for devices of all backends; cheap probing only, nothing is opened for use. Backends whose libraries are
 * missing are entries, not errors. `pool` runs the host device's kernels and must outlive `Devices`. Environment:
 * STELE_DEVICES=host,cuda,opencl,null limits the backends (unset or empty: all); the others become entries that say so.
 * 22023 when it names an unknown one. */
Status devices_open(Pool *pool, MemAccount *account, Devices **out, Err *e);
void devices_close(Devices *ds); /* closes opened devices */
int devices_count(const Devices *ds);
const DeviceEntry *devices_entry(const Devices *ds, int i);
/* Opens (once, then shared; thread-safe) the device named "host", "cuda:N", "opencl:N" or "null". 42704 unknown id,
 * 58000 when it cannot be opened. */
Status devices_get(Devices *ds, const char *id, Device **out, Err *e);
/* The id of the first usable device that executor auto may pick (DeviceDriver.automatic), or NULL. Looks once per
 * process, at no other backend, and costs next to nothing where there is no driver. */
const char *devices_automatic(void);
/* Without looking for devices: how many backends there are; whether SET device may have the name, given such a device;
 * the names of devices that are not hidden, for messages: "cpu, cuda:N or opencl:N". */
int devices_n_backends(void);
bool devices_name_valid(const char *sql_name);
void devices_list_names(char *to, size_t size);
/* The best GPU that is usable ("cuda:0" before "opencl:N" GPUs; never a CPU), or NULL. */
const DeviceEntry *devices_auto(const Devices *ds);

/* Backends, for the registry. probe appends entries; open makes a device. */
typedef struct DeviceDriver {
    int32_t version;
    const char *name;
    /* Calls add for each device, or once with usable = false and the reason. */
    void (*probe)(void (*add)(void *ctx, const DeviceEntry *e), void *ctx);
    Status (*open)(int index, Pool *pool, MemAccount *account, Device **out, Err *e);
    DeviceKind kind;
    const char *sql_name; /* of its only device; NULL: devices are named by their ids, <name>:N */
    bool hidden;          /* DeviceEntry.hidden, of all its devices */
    bool automatic;       /* executor auto may pick its devices: a probe loads nothing that takes long */
} DeviceDriver;
extern const DeviceDriver device_driver_host, device_driver_cuda, device_driver_opencl, device_driver_null;

/* fault/: a device that passes everything on to `inner` (which it does not own) and fails the n-th fallible call (n
 * from 1), once or from then on. Counted: every op that returns Status, or with `only` those of that name ("compile",
 * "launch"). */
typedef struct FaultPlan {
    int64_t fail_at;
    bool sticky;
    bool lose_device;
    const char *only;
    _Atomic int64_t calls;
} FaultPlan;
Status device_fault_new(Device *inner, FaultPlan *plan, Device **out, Err *e);
/* null/: what was asked of it. */
typedef struct NullCounts {
    int64_t allocs, frees, bytes_in_use, copies, bytes_copied, fills, launches, syncs, compiles;
} NullCounts;
const NullCounts *device_null_counts(const Device *d);

#endif
