/* cuda_api.h - the part of NVIDIA's driver API that the cuda backend calls, declared by hand from the documented ABI,
 * so that no toolkit is needed to build. Only files of this folder and its tests (the fake driver) include it.
 *
 * The table is filled from libcuda.so.1 by cuda_api_get(); names with a version suffix are the ones that the toolkit's
 * headers map the plain names to since CUDA 4 (64-bit sizes). $STELE_LIBCUDA names another library instead, for tests
 * and unusual installations.
 */
#ifndef STELE_DEVICE_CUDA_API_H
#define STELE_DEVICE_CUDA_API_H

#include "base/base.h"

typedef int CuResult;
typedef int CuDevice;
typedef uint64_t CuDeviceptr;
typedef struct CuCtx_st *CuContext;
typedef struct CuMod_st *CuModule;
typedef struct CuFunc_st *CuFunction;
typedef struct CuStream_st *CuStream;
typedef struct CuEvent_st *CuEvent;

enum { /* CUresult */
       CU_SUCCESS = 0,
       CU_INVALID_VALUE = 1,
       CU_OUT_OF_MEMORY = 2,
       CU_DEINITIALIZED = 4,
       CU_NO_DEVICE = 100,
       CU_INVALID_IMAGE = 200,
       CU_NO_BINARY_FOR_GPU = 209,
       CU_ECC_UNCORRECTABLE = 214,
       CU_INVALID_PTX = 218,
       CU_NVLINK_UNCORRECTABLE = 220,
       CU_UNSUPPORTED_PTX_VERSION = 222,
       CU_CONTAINED = 226,
       CU_NOT_READY = 600,
       CU_ILLEGAL_ADDRESS = 700,
       CU_LAUNCH_TIMEOUT = 702,
       CU_CONTEXT_IS_DESTROYED = 709,
       CU_ASSERT = 710,
       CU_ALREADY_REGISTERED = 712,
       CU_HARDWARE_STACK_ERROR = 714,
       CU_ILLEGAL_INSTRUCTION = 715,
       CU_MISALIGNED_ADDRESS = 716,
       CU_INVALID_ADDRESS_SPACE = 717,
       CU_INVALID_PC = 718,
       CU_LAUNCH_FAILED = 719,
       CU_TENSOR_MEMORY_LEAK = 721,
       CU_NOT_SUPPORTED = 801,
       CU_MPS_RPC_FAILURE = 806,
       CU_MPS_CLIENT_TERMINATED = 810,
       CU_UNKNOWN = 999,
};

enum { /* CUdevice_attribute */
       CU_ATTR_MAX_THREADS_PER_BLOCK = 1,
       CU_ATTR_MAX_SHARED_PER_BLOCK = 8,
       CU_ATTR_WARP_SIZE = 10,
       CU_ATTR_MULTIPROCESSORS = 16,
       CU_ATTR_CAN_MAP_HOST = 19,
       CU_ATTR_COMPUTE_MODE = 20,
       CU_ATTR_CONCURRENT_KERNELS = 31,
       CU_ATTR_MEMORY_CLOCK_KHZ = 36,
       CU_ATTR_MEMORY_BUS_BITS = 37,
       CU_ATTR_L2_BYTES = 38,
       CU_ATTR_THREADS_PER_MULTIPROCESSOR = 39,
       CU_ATTR_UNIFIED_ADDRESSING = 41,
       CU_ATTR_CC_MAJOR = 75,
       CU_ATTR_CC_MINOR = 76,
       CU_ATTR_MAX_SHARED_OPTIN = 97,
       CU_ATTR_HOST_REGISTER = 99,
       CU_ATTR_VIRTUAL_MEMORY = 102,
};
enum { CU_COMPUTEMODE_PROHIBITED = 2 };
enum { CU_FUNC_SHARED_BYTES = 1, CU_FUNC_MAX_DYNAMIC_SHARED_BYTES = 8, CU_FUNC_PREFERRED_SHARED_CARVEOUT = 9 };
enum { CU_STREAM_NON_BLOCKING = 1 };
enum { CU_COPY_SOURCE_IN_STREAM_ORDER = 1 };
typedef struct CuCopyAttributes { /* CUmemcpyAttributes */
    int source_order;
    struct {
        int kind, id;
    } from_hint, to_hint; /* for managed memory */
    unsigned flags;
} CuCopyAttributes;
static_assert(sizeof(CuCopyAttributes) == 24, "as the driver has it");
enum { CU_EVENT_DEFAULT = 0 };
enum { CU_MEMHOSTALLOC_PORTABLE = 1, CU_MEMHOSTALLOC_DEVICEMAP = 2 };
enum { CU_MEMHOSTREGISTER_PORTABLE = 1, CU_MEMHOSTREGISTER_DEVICEMAP = 2 };
/* Virtual memory: CUmemAllocationProp, CUmemAccessDesc. */
enum { CU_ALLOCATION_PINNED = 1, CU_LOCATION_DEVICE = 1, CU_ACCESS_READ_WRITE = 3, CU_GRANULARITY_MINIMUM = 0 };
typedef struct CuLocation {
    int kind, id;
} CuLocation;
typedef struct CuMemoryKind {
    int type, exported_as;
    CuLocation location;
    void *security; /* Windows */
    struct {
        uint8_t compression, rdma;
        uint16_t usage;
        uint8_t reserved[4];
    } flags;
} CuMemoryKind;
typedef struct CuAccess {
    CuLocation location;
    int flags;
} CuAccess;
static_assert(sizeof(CuMemoryKind) == 32 && offsetof(CuMemoryKind, flags) == 24 && sizeof(CuAccess) == 12,
              "as the driver has it");
typedef unsigned long long CuMemory; /* CUmemGenericAllocationHandle */
enum { CUDA_DRIVER_MIN = 12000 };    /* cuDriverGetVersion: CUDA 12.0 */

/* X(member, exported name, parameters): what must be there. */
#define CUDA_REQUIRED(X)                                                                                            \
    X(Init, "cuInit", (unsigned flags))                                                                             \
    X(DriverGetVersion, "cuDriverGetVersion", (int *version))                                                       \
    X(GetErrorName, "cuGetErrorName", (CuResult r, const char **name))                                              \
    X(GetErrorString, "cuGetErrorString", (CuResult r, const char **text))                                          \
    X(DeviceGetCount, "cuDeviceGetCount", (int *count))                                                             \
    X(DeviceGet, "cuDeviceGet", (CuDevice * device, int index))                                                     \
    X(DeviceGetName, "cuDeviceGetName", (char *name, int size, CuDevice device))                                    \
    X(DeviceTotalMem, "cuDeviceTotalMem_v2", (size_t * bytes, CuDevice device))                                     \
    X(DeviceGetAttribute, "cuDeviceGetAttribute", (int *value, int attribute, CuDevice device))                     \
    X(DevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", (CuContext * context, CuDevice device))                   \
    X(DevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2", (CuDevice device))                                   \
    X(CtxGetCurrent, "cuCtxGetCurrent", (CuContext * context))                                                      \
    X(CtxSetCurrent, "cuCtxSetCurrent", (CuContext context))                                                        \
    X(MemGetInfo, "cuMemGetInfo_v2", (size_t * free_bytes, size_t * total))                                         \
    X(MemAlloc, "cuMemAlloc_v2", (CuDeviceptr * p, size_t bytes))                                                   \
    X(MemFree, "cuMemFree_v2", (CuDeviceptr p))                                                                     \
    X(MemGetAllocationGranularity, "cuMemGetAllocationGranularity",                                                 \
      (size_t * bytes, const CuMemoryKind *kind, int option))                                                       \
    X(MemAddressReserve, "cuMemAddressReserve",                                                                     \
      (CuDeviceptr * p, size_t bytes, size_t align, CuDeviceptr hint, unsigned long long flags))                    \
    X(MemAddressFree, "cuMemAddressFree", (CuDeviceptr p, size_t bytes))                                            \
    X(MemCreate, "cuMemCreate", (CuMemory * m, size_t bytes, const CuMemoryKind *kind, unsigned long long flags))   \
    X(MemRelease, "cuMemRelease", (CuMemory m))                                                                     \
    X(MemMap, "cuMemMap", (CuDeviceptr p, size_t bytes, size_t offset, CuMemory m, unsigned long long flags))       \
    X(MemUnmap, "cuMemUnmap", (CuDeviceptr p, size_t bytes))                                                        \
    X(MemSetAccess, "cuMemSetAccess", (CuDeviceptr p, size_t bytes, const CuAccess *access, size_t n))              \
    X(MemHostAlloc, "cuMemHostAlloc", (void **p, size_t bytes, unsigned flags))                                     \
    X(MemFreeHost, "cuMemFreeHost", (void *p))                                                                      \
    X(MemHostGetDevicePointer, "cuMemHostGetDevicePointer_v2", (CuDeviceptr * dev, void *host, unsigned flags))     \
    X(MemHostRegister, "cuMemHostRegister_v2", (void *host, size_t bytes, unsigned flags))                          \
    X(MemHostUnregister, "cuMemHostUnregister", (void *host))                                                       \
    X(MemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2", (CuDeviceptr dst, const void *src, size_t n, CuStream s))            \
    X(MemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2", (void *dst, CuDeviceptr src, size_t n, CuStream s))                  \
    X(MemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2", (CuDeviceptr dst, CuDeviceptr src, size_t n, CuStream s))            \
    X(MemsetD8Async, "cuMemsetD8Async", (CuDeviceptr dst, unsigned char byte, size_t n, CuStream s))                \
    X(StreamCreate, "cuStreamCreate", (CuStream * s, unsigned flags))                                               \
    X(StreamDestroy, "cuStreamDestroy_v2", (CuStream s))                                                            \
    X(StreamQuery, "cuStreamQuery", (CuStream s))                                                                   \
    X(StreamSynchronize, "cuStreamSynchronize", (CuStream s))                                                       \
    X(StreamWaitEvent, "cuStreamWaitEvent", (CuStream s, CuEvent ev, unsigned flags))                               \
    X(EventCreate, "cuEventCreate", (CuEvent * ev, unsigned flags))                                                 \
    X(EventDestroy, "cuEventDestroy_v2", (CuEvent ev))                                                              \
    X(EventRecord, "cuEventRecord", (CuEvent ev, CuStream s))                                                       \
    X(EventQuery, "cuEventQuery", (CuEvent ev))                                                                     \
    X(EventSynchronize, "cuEventSynchronize", (CuEvent ev))                                                         \
    X(EventElapsedTime, "cuEventElapsedTime", (float *ms, CuEvent from, CuEvent to))                                \
    X(ModuleLoadData, "cuModuleLoadData", (CuModule * m, const void *image))                                        \
    X(ModuleUnload, "cuModuleUnload", (CuModule m))                                                                 \
    X(ModuleGetFunction, "cuModuleGetFunction", (CuFunction * f, CuModule m, const char *name))                     \
    X(ModuleGetGlobal, "cuModuleGetGlobal_v2", (CuDeviceptr * p, size_t * bytes, CuModule m, const char *name))     \
    X(FuncGetAttribute, "cuFuncGetAttribute", (int *value, int attribute, CuFunction f))                            \
    X(FuncSetAttribute, "cuFuncSetAttribute", (CuFunction f, int attribute, int value))                             \
    X(OccupancyMaxActiveBlocks, "cuOccupancyMaxActiveBlocksPerMultiprocessor",                                      \
      (int *blocks, CuFunction f, int block_size, size_t dynamic_shared))                                           \
    X(LaunchKernel, "cuLaunchKernel",                                                                               \
      (CuFunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, \
       CuStream s, void **params, void **extra))
/* What newer drivers have (CUDA 12.4: FuncGetParamInfo; 13.0: MemcpyBatchAsync); NULL when they do not. */
#define CUDA_OPTIONAL(X)                                                                                    \
    X(FuncGetParamInfo, "cuFuncGetParamInfo", (CuFunction f, size_t index, size_t * offset, size_t * size)) \
    X(MemcpyBatchAsync, "cuMemcpyBatchAsync_v2",                                                            \
      (CuDeviceptr * to, CuDeviceptr * from, size_t * bytes, size_t n, CuCopyAttributes * attributes,       \
       size_t * first_with, size_t n_attributes, CuStream s))

typedef struct CudaApi {
#define X(member, name, params) CuResult(*member) params;
    CUDA_REQUIRED(X)
    CUDA_OPTIONAL(X)
#undef X
    int version; /* cuDriverGetVersion: 13000 is CUDA 13.0 */
} CudaApi;

/* The driver, opened and initialised; NULL with the reason in `why` when it cannot be used: library or function
 * missing, driver older than CUDA_DRIVER_MIN, cuInit refused. A success is kept for the life of the process, a failure
 * is tried again. Any thread. */
const CudaApi *cuda_api_get(char *why, int64_t why_size);

#endif
