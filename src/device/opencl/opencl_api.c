/* opencl_api.c - opening the OpenCL loader, naming its errors, and describing its devices. See opencl_api.h.
 *
 * A device is refused here, with a reason for `SHOW devices`, when it lacks something that every kernel relies on:
 * addresses of 64 bits that can be stored in memory (coarse-grained SVM), 64-bit atomics, doubles, a compiler at run
 * time.
 */
#include "device/opencl/opencl_api.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- loader ------------------------------------------------------------------------------------ */
static const struct {
    const char *name;
    size_t offset;
} functions[] = {
#define CL_ENTRY(result, name, args) {"cl" #name, offsetof(ClApi, name)},
    CL_FUNCTIONS(CL_ENTRY)
#undef CL_ENTRY
};

bool cl_api_open(ClApi *api, char *why, size_t why_size) {
    memset(api, 0, sizeof(*api));
    const char *named = getenv("STELE_LIBOPENCL");
    const char *names[] = {named && *named ? named : "libOpenCL.so.1", named && *named ? NULL : "libOpenCL.so"};
    for (int64_t i = 0; i < ARRAY_LEN(names) && names[i] && !api->library; i++) {
        api->library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
        if (!api->library && i == 0) snprintf(why, why_size, "%s", dlerror());
    }
    if (!api->library) return false;
    for (int64_t i = 0; i < ARRAY_LEN(functions); i++) {
        void *fn = dlsym(api->library, functions[i].name);
        if (!fn) {
            snprintf(why, why_size, "the OpenCL loader has no %s: OpenCL 2.0 is needed", functions[i].name);
            cl_api_close(api);
            return false;
        }
        memcpy((char *)api + functions[i].offset, &fn, sizeof(fn));
    }
    return true;
}

void cl_api_close(ClApi *api) {
    if (api->library) dlclose(api->library);
    memset(api, 0, sizeof(*api));
}

/* ---- error names ------------------------------------------------------------------------------- */
static const struct {
    cl_int code;
    const char *name;
} error_names[] = {
    {0, "CL_SUCCESS"},
    {-1, "CL_DEVICE_NOT_FOUND"},
    {-2, "CL_DEVICE_NOT_AVAILABLE"},
    {-3, "CL_COMPILER_NOT_AVAILABLE"},
    {-4, "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
    {-5, "CL_OUT_OF_RESOURCES"},
    {-6, "CL_OUT_OF_HOST_MEMORY"},
    {-7, "CL_PROFILING_INFO_NOT_AVAILABLE"},
    {-8, "CL_MEM_COPY_OVERLAP"},
    {-9, "CL_IMAGE_FORMAT_MISMATCH"},
    {-10, "CL_IMAGE_FORMAT_NOT_SUPPORTED"},
    {-11, "CL_BUILD_PROGRAM_FAILURE"},
    {-12, "CL_MAP_FAILURE"},
    {-13, "CL_MISALIGNED_SUB_BUFFER_OFFSET"},
    {-14, "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST"},
    {-15, "CL_COMPILE_PROGRAM_FAILURE"},
    {-16, "CL_LINKER_NOT_AVAILABLE"},
    {-17, "CL_LINK_PROGRAM_FAILURE"},
    {-18, "CL_DEVICE_PARTITION_FAILED"},
    {-19, "CL_KERNEL_ARG_INFO_NOT_AVAILABLE"},
    {-30, "CL_INVALID_VALUE"},
    {-31, "CL_INVALID_DEVICE_TYPE"},
    {-32, "CL_INVALID_PLATFORM"},
    {-33, "CL_INVALID_DEVICE"},
    {-34, "CL_INVALID_CONTEXT"},
    {-35, "CL_INVALID_QUEUE_PROPERTIES"},
    {-36, "CL_INVALID_COMMAND_QUEUE"},
    {-37, "CL_INVALID_HOST_PTR"},
    {-38, "CL_INVALID_MEM_OBJECT"},
    {-42, "CL_INVALID_BINARY"},
    {-43, "CL_INVALID_BUILD_OPTIONS"},
    {-44, "CL_INVALID_PROGRAM"},
    {-45, "CL_INVALID_PROGRAM_EXECUTABLE"},
    {-46, "CL_INVALID_KERNEL_NAME"},
    {-47, "CL_INVALID_KERNEL_DEFINITION"},
    {-48, "CL_INVALID_KERNEL"},
    {-49, "CL_INVALID_ARG_INDEX"},
    {-50, "CL_INVALID_ARG_VALUE"},
    {-51, "CL_INVALID_ARG_SIZE"},
    {-52, "CL_INVALID_KERNEL_ARGS"},
    {-53, "CL_INVALID_WORK_DIMENSION"},
    {-54, "CL_INVALID_WORK_GROUP_SIZE"},
    {-55, "CL_INVALID_WORK_ITEM_SIZE"},
    {-56, "CL_INVALID_GLOBAL_OFFSET"},
    {-57, "CL_INVALID_EVENT_WAIT_LIST"},
    {-58, "CL_INVALID_EVENT"},
    {-59, "CL_INVALID_OPERATION"},
    {-61, "CL_INVALID_BUFFER_SIZE"},
    {-63, "CL_INVALID_GLOBAL_WORK_SIZE"},
    {-64, "CL_INVALID_PROPERTY"},
    {-66, "CL_INVALID_COMPILER_OPTIONS"},
    {-67, "CL_INVALID_LINKER_OPTIONS"},
    {-70, "CL_INVALID_DEVICE_QUEUE"},
    {-72, "CL_MAX_SIZE_RESTRICTION_EXCEEDED"},
    {CL_PLATFORM_NOT_FOUND_KHR, "CL_PLATFORM_NOT_FOUND_KHR"},
};

const char *cl_error_name(cl_int code, char buf[32]) {
    for (int64_t i = 0; i < ARRAY_LEN(error_names); i++) {
        if (error_names[i].code == code) return error_names[i].name;
    }
    snprintf(buf, 32, "error %d", code);
    return buf;
}

/* ---- device descriptions ----------------------------------------------------------------------- */
static uint64_t info_number(const ClApi *api, cl_device_id d, cl_uint what) {
    uint64_t v = 0; /* 4-byte answers fill the low half: hosts of this code are little-endian */
    return api->GetDeviceInfo(d, what, sizeof(v), &v, NULL) == CL_SUCCESS ? v : 0;
}

/* Text of unknown length, cut to `size`; trailing and leading blanks taken off. */
static void info_text(const ClApi *api, cl_device_id d, cl_uint what, char *out, size_t size) {
    char text[1024] = "";
    size_t n = 0;
    if (api->GetDeviceInfo(d, what, 0, NULL, &n) != CL_SUCCESS || n == 0 || n > sizeof(text) ||
        api->GetDeviceInfo(d, what, n, text, NULL) != CL_SUCCESS) {
        text[0] = 0;
    }
    text[sizeof(text) - 1] = 0;
    char *s = text;
    while (*s == ' ') s++;
    size_t len = strlen(s);
    while (len > 0 && s[len - 1] == ' ') s[--len] = 0;
    snprintf(out, size, "%.*s", (int)(size - 1), s);
}

static bool has_extension(const ClApi *api, cl_device_id d, const char *name) {
    size_t n = 0, len = strlen(name);
    if (api->GetDeviceInfo(d, CL_DEVICE_EXTENSIONS, 0, NULL, &n) != CL_SUCCESS || n == 0) return false;
    char *text = malloc(n + 1);
    if (!text) return false;
    bool found = false;
    if (api->GetDeviceInfo(d, CL_DEVICE_EXTENSIONS, n, text, NULL) == CL_SUCCESS) {
        text[n] = 0;
        for (char *p = text; !found && (p = strstr(p, name)); p += len) {
            found = (p == text || p[-1] == ' ') && (p[len] == ' ' || p[len] == 0);
        }
    }
    free(text);
    return found;
}

/* "OpenCL 3.0 ..." or "OpenCL C 1.2 ..." after `prefix`, as 300 or 120; 0 when it reads otherwise. */
static int version_of(const char *text, const char *prefix) {
    int major = 0, minor = 0;
    size_t n = strlen(prefix);
    if (strncmp(text, prefix, n) != 0 || sscanf(text + n, "%d.%d", &major, &minor) != 2) return 0;
    return major * 100 + minor * 10;
}

/* The newest OpenCL C the device compiles. 3.0 devices name 1.2 or so in the old query and list the rest in the new
 * one. */
static int language_version(const ClApi *api, cl_device_id d, int device_version) {
    char text[128];
    info_text(api, d, CL_DEVICE_OPENCL_C_VERSION, text, sizeof(text));
    int best = version_of(text, "OpenCL C ");
    cl_name_version list[16];
    size_t n = 0;
    if (device_version >= 300 &&
        api->GetDeviceInfo(d, CL_DEVICE_OPENCL_C_ALL_VERSIONS, sizeof(list), list, &n) == CL_SUCCESS) {
        for (size_t i = 0; i < n / sizeof(list[0]); i++) {
            best = MAX_OF(best, (int)(list[i].version >> 22) * 100 + (int)(list[i].version >> 12 & 0x3ff) * 10);
        }
    }
    return best;
}

static void refuse(ClDeviceDesc *desc, const char *reason) {
    if (!desc->why[0]) snprintf(desc->why, sizeof(desc->why), "%s", reason);
}

static void check_needs(const ClApi *api, ClDeviceDesc *desc, int version, int language) {
    cl_device_id d = desc->device;
    if (!info_number(api, d, CL_DEVICE_AVAILABLE)) refuse(desc, "the driver says that it is not available");
    if (version < 200) {
        char text[100];
        info_text(api, d, CL_DEVICE_VERSION, text, sizeof(text));
        snprintf(desc->why, sizeof(desc->why), "OpenCL 2.0 or later is needed, it has \"%s\"", text);
    }
    if (!info_number(api, d, CL_DEVICE_COMPILER_AVAILABLE)) refuse(desc, "it has no compiler");
    if (info_number(api, d, CL_DEVICE_ADDRESS_BITS) != 64) refuse(desc, "its addresses do not have 64 bits");
    if (!info_number(api, d, CL_DEVICE_ENDIAN_LITTLE)) refuse(desc, "it is big-endian");
    if (!(info_number(api, d, CL_DEVICE_SVM_CAPABILITIES) & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER)) {
        refuse(desc, "it has no shared virtual memory (coarse-grained SVM)");
    }
    if (!info_number(api, d, CL_DEVICE_DOUBLE_FP_CONFIG)) refuse(desc, "it has no double precision");
    /* Atomics on ulong come with the two extensions; OpenCL C 2.x hangs its own 64-bit atomics on the same ones. */
    if (!has_extension(api, d, "cl_khr_int64_base_atomics") ||
        !has_extension(api, d, "cl_khr_int64_extended_atomics")) {
        refuse(desc, "it has no 64-bit atomics (cl_khr_int64_base_atomics and cl_khr_int64_extended_atomics)");
    }
    if (language < 120) refuse(desc, "its compiler does not know OpenCL C 1.2");
}

static void describe(const ClApi *api, ClDeviceDesc *desc) {
    cl_device_id d = desc->device;
    DeviceInfo *info = &desc->info;
    char text[128], driver[64], platform[128] = "";
    info_text(api, d, CL_DEVICE_VERSION, text, sizeof(text));
    int version = version_of(text, "OpenCL ");
    int language = language_version(api, d, version);
    uint64_t type = info_number(api, d, CL_DEVICE_TYPE), svm = info_number(api, d, CL_DEVICE_SVM_CAPABILITIES);
    desc->cpu = type & CL_DEVICE_TYPE_CPU;
    desc->gpu = type & CL_DEVICE_TYPE_GPU;
    desc->svm_fine = svm & CL_DEVICE_SVM_FINE_GRAIN_BUFFER;
    desc->svm_system = svm & CL_DEVICE_SVM_FINE_GRAIN_SYSTEM;
    desc->fp32_exact = info_number(api, d, CL_DEVICE_SINGLE_FP_CONFIG) & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT;
    desc->max_alloc = (int64_t)info_number(api, d, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
    snprintf(desc->std, sizeof(desc->std), "CL%d.%d", (language / 100) % 10, (language / 10) % 10);

    info_text(api, d, CL_DEVICE_NAME, info->name, sizeof(info->name));
    info_text(api, d, CL_DEVICE_NAME, info->arch, sizeof(info->arch));
    info_text(api, d, CL_DRIVER_VERSION, driver, sizeof(driver));
    snprintf(info->driver, sizeof(info->driver), "%s", driver);
    if (api->GetPlatformInfo(desc->platform, CL_PLATFORM_NAME, sizeof(desc->platform_name) - 1, desc->platform_name,
                             NULL) != CL_SUCCESS) {
        snprintf(desc->platform_name, sizeof(desc->platform_name), "unnamed platform");
    }
    char long_text[512] = "";
    if (api->GetPlatformInfo(desc->platform, CL_PLATFORM_VERSION, sizeof(long_text) - 1, long_text, NULL) ==
        CL_SUCCESS) {
        snprintf(platform, sizeof(platform), "%.*s", (int)sizeof(platform) - 1, long_text);
    }
    /* The driver's version first: it must survive the cut, because it keys cached code. */
    snprintf(info->compiler, sizeof(info->compiler), "%.48s, %.77s", driver, platform);

    info->kind = DEVICE_OPENCL;
    /* PoCL's CPU devices run kernels as threads of this process, so that every address is theirs too; it does not claim
     * so. */
    bool pocl = desc->cpu && strcmp(desc->platform_name, "Portable Computing Language") == 0;
    desc->code_is_source = pocl;
    info->shares_memory = desc->svm_system || pocl;
    info->can_map = info->shares_memory;
    info->concurrent = false; /* OpenCL promises no progress of one kernel while another waits for it */
    info->memory_bytes = (int64_t)info_number(api, d, CL_DEVICE_GLOBAL_MEM_SIZE);
    info->units = (int32_t)MAX_OF(info_number(api, d, CL_DEVICE_MAX_COMPUTE_UNITS), 1);
    info->group_max = (int32_t)MIN_OF(info_number(api, d, CL_DEVICE_MAX_WORK_GROUP_SIZE), 1 << 16);
    info->group_rows = 64;
    info->measure_bytes = INT64_C(1) << 30;
    info->local_bytes = (int64_t)info_number(api, d, CL_DEVICE_LOCAL_MEM_SIZE);
    info->cache_bytes = (int64_t)info_number(api, d, CL_DEVICE_GLOBAL_MEM_CACHE_SIZE);
    char vendor[64];
    info_text(api, d, CL_DEVICE_VENDOR, vendor, sizeof(vendor));
    bool nvidia = strstr(vendor, "NVIDIA") != NULL;
    uint64_t multiple = version >= 300 ? info_number(api, d, CL_DEVICE_PREFERRED_WORK_GROUP_SIZE_MULTIPLE) : 0;
    info->warp = desc->cpu ? 1 : multiple ? (int32_t)multiple : 32;
    info->group_calls = info->warp > 1 ? 64 : 1;
    info->items_per_unit = desc->cpu ? 256
                           : nvidia  ? 2048
                                     : 1024; /* OpenCL does not tell: low guesses; CPUs: four groups of 64 */
    check_needs(api, desc, version, language);
}

int cl_devices(const ClApi *api, ClDeviceDesc *out, int max, char *why, size_t why_size) {
    enum { PLATFORMS = 16, DEVICES = 32 };
    cl_platform_id platforms[PLATFORMS];
    cl_uint n_platforms = 0;
    char buf[32];
    cl_int r = api->GetPlatformIDs(PLATFORMS, platforms, &n_platforms);
    if (r == CL_PLATFORM_NOT_FOUND_KHR || (r == CL_SUCCESS && n_platforms == 0)) {
        snprintf(why, why_size, "the OpenCL loader found no platform (no driver is installed)");
        return -1;
    }
    if (r != CL_SUCCESS) {
        snprintf(why, why_size, "clGetPlatformIDs: %s", cl_error_name(r, buf));
        return -1;
    }
    int n = 0;
    for (cl_uint p = 0; p < MIN_OF(n_platforms, PLATFORMS); p++) {
        cl_device_id devices[DEVICES];
        cl_uint n_devices = 0;
        if (api->GetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, DEVICES, devices, &n_devices) != CL_SUCCESS) continue;
        for (cl_uint i = 0; i < MIN_OF(n_devices, DEVICES) && n < max; i++, n++) {
            out[n] = (ClDeviceDesc){.platform = platforms[p], .device = devices[i]};
            describe(api, &out[n]);
            snprintf(out[n].info.id, sizeof(out[n].info.id), "opencl:%d", n);
        }
    }
    if (n == 0) {
        snprintf(why, why_size, "the platforms of OpenCL have no devices");
        return -1;
    }
    return n;
}
