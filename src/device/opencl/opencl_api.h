/* opencl_api.h - as much of OpenCL's interface as the backend uses, and the loader that finds it at run time.
 *
 * The declarations are written out here (numbers and signatures are those of the Khronos specification), so that
 * neither building nor starting needs OpenCL: the ICD loader is opened by name when devices are looked for. Only files
 * of this folder and its test include this.
 */
#ifndef STELE_DEVICE_OPENCL_API_H
#define STELE_DEVICE_OPENCL_API_H

#include "base/base.h"
#include "base/err.h"
#include "base/mutex.h"
#include "device/device.h"

typedef struct _cl_platform_id *cl_platform_id;
typedef struct _cl_device_id *cl_device_id;
typedef struct _cl_context *cl_context;
typedef struct _cl_command_queue *cl_command_queue;
typedef struct _cl_program *cl_program;
typedef struct _cl_kernel *cl_kernel;
typedef struct _cl_event *cl_event;
typedef int32_t cl_int;
typedef uint32_t cl_uint;
typedef uint64_t cl_ulong;

enum {
    CL_SUCCESS = 0,
    CL_DEVICE_NOT_FOUND = -1,
    CL_DEVICE_NOT_AVAILABLE = -2,
    CL_MEM_OBJECT_ALLOCATION_FAILURE = -4,
    CL_OUT_OF_RESOURCES = -5,
    CL_OUT_OF_HOST_MEMORY = -6,
    CL_BUILD_PROGRAM_FAILURE = -11,
    CL_INVALID_VALUE = -30,
    CL_PLATFORM_NOT_FOUND_KHR = -1001,

    CL_PLATFORM_VERSION = 0x0901,
    CL_PLATFORM_NAME = 0x0902,

    CL_DEVICE_TYPE = 0x1000,
    CL_DEVICE_MAX_COMPUTE_UNITS = 0x1002,
    CL_DEVICE_MAX_WORK_GROUP_SIZE = 0x1004,
    CL_DEVICE_ADDRESS_BITS = 0x100D,
    CL_DEVICE_MAX_MEM_ALLOC_SIZE = 0x1010,
    CL_DEVICE_SINGLE_FP_CONFIG = 0x101B,
    CL_DEVICE_GLOBAL_MEM_CACHE_SIZE = 0x101E,
    CL_DEVICE_GLOBAL_MEM_SIZE = 0x101F,
    CL_DEVICE_LOCAL_MEM_SIZE = 0x1023,
    CL_DEVICE_ENDIAN_LITTLE = 0x1026,
    CL_DEVICE_AVAILABLE = 0x1027,
    CL_DEVICE_COMPILER_AVAILABLE = 0x1028,
    CL_DEVICE_NAME = 0x102B,
    CL_DEVICE_VENDOR = 0x102C,
    CL_DRIVER_VERSION = 0x102D,
    CL_DEVICE_VERSION = 0x102F,
    CL_DEVICE_EXTENSIONS = 0x1030,
    CL_DEVICE_DOUBLE_FP_CONFIG = 0x1032,
    CL_DEVICE_OPENCL_C_VERSION = 0x103D,
    CL_DEVICE_SVM_CAPABILITIES = 0x1053,
    CL_DEVICE_OPENCL_C_ALL_VERSIONS = 0x1066,
    CL_DEVICE_PREFERRED_WORK_GROUP_SIZE_MULTIPLE = 0x1067,

    CL_DEVICE_TYPE_CPU = 1 << 1,
    CL_DEVICE_TYPE_GPU = 1 << 2,
    CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT = 1 << 7,
    CL_DEVICE_SVM_COARSE_GRAIN_BUFFER = 1 << 0,
    CL_DEVICE_SVM_FINE_GRAIN_BUFFER = 1 << 1,
    CL_DEVICE_SVM_FINE_GRAIN_SYSTEM = 1 << 2,

    CL_MEM_READ_WRITE = 1 << 0,
    CL_MEM_SVM_FINE_GRAIN_BUFFER = 1 << 10,
    CL_QUEUE_PROPERTIES = 0x1093,
    CL_QUEUE_PROFILING_ENABLE = 1 << 1,
    CL_PROGRAM_BINARY_SIZES = 0x1165,
    CL_PROGRAM_BINARIES = 0x1166,
    CL_PROGRAM_BUILD_LOG = 0x1183,
    CL_KERNEL_WORK_GROUP_SIZE = 0x11B0,
    CL_KERNEL_LOCAL_MEM_SIZE = 0x11B2,
    CL_KERNEL_EXEC_INFO_SVM_PTRS = 0x11B6,
    CL_KERNEL_EXEC_INFO_SVM_FINE_GRAIN_SYSTEM = 0x11B7,
    CL_EVENT_COMMAND_EXECUTION_STATUS = 0x11D3,
    CL_COMPLETE = 0,
    CL_PROFILING_COMMAND_END = 0x1283
};
#define CL_DEVICE_TYPE_ALL UINT64_C(0xFFFFFFFF)

typedef struct cl_name_version { /* CL_DEVICE_OPENCL_C_ALL_VERSIONS */
    uint32_t version;            /* major << 22 | minor << 12 | patch */
    char name[64];
} cl_name_version;
static_assert(sizeof(cl_name_version) == 68, "cl_name_version is as the driver writes it");

typedef void (*ClContextNotify)(const char *text, const void *info, size_t n, void *user);
typedef void (*ClBuildNotify)(cl_program program, void *user);

/* X(result, name without cl, arguments): every function used; all must be there. */
#define CL_FUNCTIONS(X)                                                                                               \
    X(cl_int, GetPlatformIDs, (cl_uint max, cl_platform_id * out, cl_uint * n))                                       \
    X(cl_int, GetPlatformInfo, (cl_platform_id p, cl_uint what, size_t size, void *out, size_t *n))                   \
    X(cl_int, GetDeviceIDs, (cl_platform_id p, cl_ulong type, cl_uint max, cl_device_id * out, cl_uint * n))          \
    X(cl_int, GetDeviceInfo, (cl_device_id d, cl_uint what, size_t size, void *out, size_t *n))                       \
    X(cl_context, CreateContext,                                                                                      \
      (const intptr_t *props, cl_uint n, const cl_device_id *d, ClContextNotify fn, void *user, cl_int *err))         \
    X(cl_int, ReleaseContext, (cl_context c))                                                                         \
    X(void *, SVMAlloc, (cl_context c, cl_ulong flags, size_t size, cl_uint alignment))                               \
    X(void, SVMFree, (cl_context c, void *p))                                                                         \
    X(cl_command_queue, CreateCommandQueueWithProperties,                                                             \
      (cl_context c, cl_device_id d, const cl_ulong *props, cl_int *err))                                             \
    X(cl_int, ReleaseCommandQueue, (cl_command_queue q))                                                              \
    X(cl_int, EnqueueSVMMemcpy,                                                                                       \
      (cl_command_queue q, cl_uint blocking, void *dst, const void *src, size_t n, cl_uint n_wait,                    \
       const cl_event *wait, cl_event *ev))                                                                           \
    X(cl_int, EnqueueSVMMemFill,                                                                                      \
      (cl_command_queue q, void *dst, const void *pattern, size_t pattern_n, size_t n, cl_uint n_wait,                \
       const cl_event *wait, cl_event *ev))                                                                           \
    X(cl_int, EnqueueNDRangeKernel,                                                                                   \
      (cl_command_queue q, cl_kernel k, cl_uint dim, const size_t *offset, const size_t *global, const size_t *local, \
       cl_uint n_wait, const cl_event *wait, cl_event *ev))                                                           \
    X(cl_int, EnqueueMarkerWithWaitList, (cl_command_queue q, cl_uint n_wait, const cl_event *wait, cl_event *ev))    \
    X(cl_int, EnqueueBarrierWithWaitList, (cl_command_queue q, cl_uint n_wait, const cl_event *wait, cl_event *ev))   \
    X(cl_int, Flush, (cl_command_queue q))                                                                            \
    X(cl_int, Finish, (cl_command_queue q))                                                                           \
    X(cl_int, GetEventInfo, (cl_event ev, cl_uint what, size_t size, void *out, size_t *n))                           \
    X(cl_int, GetEventProfilingInfo, (cl_event ev, cl_uint what, size_t size, void *out, size_t *n))                  \
    X(cl_int, RetainEvent, (cl_event ev))                                                                             \
    X(cl_int, ReleaseEvent, (cl_event ev))                                                                            \
    X(cl_program, CreateProgramWithSource,                                                                            \
      (cl_context c, cl_uint n, const char *const *text, const size_t *len, cl_int *err))                             \
    X(cl_program, CreateProgramWithBinary,                                                                            \
      (cl_context c, cl_uint n, const cl_device_id *d, const size_t *len, const unsigned char *const *bytes,          \
       cl_int *status, cl_int *err))                                                                                  \
    X(cl_int, BuildProgram,                                                                                           \
      (cl_program p, cl_uint n, const cl_device_id *d, const char *options, ClBuildNotify fn, void *user))            \
    X(cl_int, GetProgramInfo, (cl_program p, cl_uint what, size_t size, void *out, size_t *n))                        \
    X(cl_int, GetProgramBuildInfo, (cl_program p, cl_device_id d, cl_uint what, size_t size, void *out, size_t *n))   \
    X(cl_int, ReleaseProgram, (cl_program p))                                                                         \
    X(cl_kernel, CreateKernel, (cl_program p, const char *name, cl_int *err))                                         \
    X(cl_int, ReleaseKernel, (cl_kernel k))                                                                           \
    X(cl_int, SetKernelArg, (cl_kernel k, cl_uint i, size_t size, const void *value))                                 \
    X(cl_int, SetKernelArgSVMPointer, (cl_kernel k, cl_uint i, const void *p))                                        \
    X(cl_int, SetKernelExecInfo, (cl_kernel k, cl_uint what, size_t size, const void *value))                         \
    X(cl_int, GetKernelWorkGroupInfo, (cl_kernel k, cl_device_id d, cl_uint what, size_t size, void *out, size_t *n))

typedef struct ClApi {
#define CL_MEMBER(result, name, args) result(*name) args;
    CL_FUNCTIONS(CL_MEMBER)
#undef CL_MEMBER
    void *library;
} ClApi;

/* Opens the loader: $STELE_LIBOPENCL when set (and nothing else then), libOpenCL.so.1, libOpenCL.so. False with the
 * reason in `why`. A loader once opened stays mapped, because its drivers start threads. */
bool cl_api_open(ClApi *api, char *why, size_t why_size);
void cl_api_close(ClApi *api);

/* "CL_OUT_OF_RESOURCES"; "error -9999" for codes the specification does not know. Static, or written to `buf`. */
const char *cl_error_name(cl_int code, char buf[32]);

/* What the backend must know about a device, asked once. */
typedef struct ClDeviceDesc {
    cl_platform_id platform;
    cl_device_id device;
    DeviceInfo info; /* its id included */
    char platform_name[128];
    char why[200]; /* why it cannot be used; "" when it can */
    bool cpu, gpu;
    bool code_is_source; /* compiled code is kept as source: see ocl_compile */
    bool svm_fine;       /* fine-grained buffers */
    bool svm_system;     /* every host address, by the driver's word */
    bool fp32_exact;     /* has -cl-fp32-correctly-rounded-divide-sqrt */
    int64_t max_alloc;   /* bytes of one allocation */
    char std[16];        /* "CL3.0" */
} ClDeviceDesc;

/* Devices of all platforms, unusable ones included, in the loader's order: a device's place in it is its number. At
 * most `max` are stored; returns the number stored, or -1 with the reason. Platforms that fail are passed over. */
int cl_devices(const ClApi *api, ClDeviceDesc *out, int max, char *why, size_t why_size);

/* A device. Its test changes `desc` and `api` right after opening, to reach what PoCL has not: memory of its own,
 * errors. */
typedef struct ClDevice {
    Device base;
    ClApi api;
    ClDeviceDesc desc;
    cl_context context;
    MemAccount *account; /* host memory of the backend's own structures */
    Mutex lock;
    void **live; /* start of every live SVM block, ascending */
    int64_t n_live, cap_live;
    uint64_t version; /* of `live`; starts at 1 */
} ClDevice;

#endif
