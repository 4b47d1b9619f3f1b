/* cuda_api.c - opens NVIDIA's driver library at run time: see cuda_api.h.
 *
 * The library is never closed again once one of its functions was called: the driver keeps threads and exit handlers of
 * its own.
 */
#include "base/mutex.h"
#include "device/cuda/cuda_api.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static Mutex lock = MUTEX_INITIALIZER(RANK_CUDA_API);
static CudaApi api;
static bool ready; /* under lock */

typedef struct Symbol {
    const char *name;
    size_t offset;
    bool required;
} Symbol;

static const Symbol symbols[] = {
#define X(member, name, params) {name, offsetof(CudaApi, member), true},
    CUDA_REQUIRED(X)
#undef X
#define X(member, name, params) {name, offsetof(CudaApi, member), false},
        CUDA_OPTIONAL(X)
#undef X
};

static void *open_library(char *why, size_t why_size) {
    static const char *const names[] = {"libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1", "libcuda.so"};
    const char *own = getenv("STELE_LIBCUDA");
    if (own && *own) {
        void *lib = dlopen(own, RTLD_NOW | RTLD_LOCAL);
        if (!lib) snprintf(why, why_size, "%s", dlerror());
        return lib;
    }
    for (int64_t i = 0; i < ARRAY_LEN(names); i++) {
        void *lib = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
        if (lib) return lib;
        const char *text = dlerror();
        if (i == 0) snprintf(why, why_size, "%s", text ? text : "libcuda.so.1 could not be opened");
    }
    return NULL;
}

static bool load_symbols(void *lib, CudaApi *a, char *why, size_t why_size) {
    for (int64_t i = 0; i < ARRAY_LEN(symbols); i++) {
        void *at = dlsym(lib, symbols[i].name);
        if (!at && symbols[i].required) {
            snprintf(why, why_size, "libcuda has no function %s: the driver is too old, CUDA %d.%d is needed",
                     symbols[i].name, CUDA_DRIVER_MIN / 1000, CUDA_DRIVER_MIN % 1000 / 10);
            return false;
        }
        memcpy((char *)a + symbols[i].offset, &at, sizeof at);
    }
    return true;
}

static const char *result_text(const CudaApi *a, CuResult r, bool name) {
    const char *text = NULL;
    CuResult got = name ? a->GetErrorName(r, &text) : a->GetErrorString(r, &text);
    return got == CU_SUCCESS && text ? text : "unknown error";
}

static bool initialise(CudaApi *a, char *why, size_t why_size) {
    CuResult r = a->DriverGetVersion(&a->version);
    const char *call = "cuDriverGetVersion";
    if (r == CU_SUCCESS) {
        if (a->version < CUDA_DRIVER_MIN) {
            snprintf(why, why_size, "the driver supports CUDA %d.%d, but %d.%d is needed", a->version / 1000,
                     a->version % 1000 / 10, CUDA_DRIVER_MIN / 1000, CUDA_DRIVER_MIN % 1000 / 10);
            return false;
        }
        r = a->Init(0);
        call = "cuInit";
    }
    if (r == CU_SUCCESS) return true;
    snprintf(why, why_size, "%s failed: %s: %s", call, result_text(a, r, true), result_text(a, r, false));
    return false;
}

const CudaApi *cuda_api_get(char *why, int64_t why_size) {
    size_t size = (size_t)why_size;
    mutex_lock(&lock);
    if (!ready) {
        CudaApi a = {0};
        void *lib = open_library(why, size);
        if (lib) {
            if (!load_symbols(lib, &a, why, size)) {
                dlclose(lib); /* nothing of it has run yet */
            } else if (initialise(&a, why, size)) {
                api = a;
                ready = true;
            }
        }
    }
    bool ok = ready;
    mutex_unlock(&lock);
    return ok ? &api : NULL;
}
