/* nvrtc.c - the run-time compiler: see nvrtc.h.
 *
 * Options that every kernel gets: C++17 with unmarked functions on the device, __int128, and no contraction of a*b+c,
 * because doubles must equal the CPU's bit for bit.
 */
#include "base/mutex.h"
#include "device/cuda/nvrtc.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"

typedef struct NvrtcProgram_st *NvrtcProgram;
enum { NVRTC_OPTIONS_MAX = 64 };

#define NVRTC_FUNCTIONS(X)                                                                        \
    X(Version, "nvrtcVersion", (int *major, int *minor))                                          \
    X(GetNumSupportedArchs, "nvrtcGetNumSupportedArchs", (int *n))                                \
    X(GetSupportedArchs, "nvrtcGetSupportedArchs", (int *archs))                                  \
    X(CreateProgram, "nvrtcCreateProgram",                                                        \
      (NvrtcProgram * p, const char *source, const char *name, int n, const char *const *headers, \
       const char *const *names))                                                                 \
    X(DestroyProgram, "nvrtcDestroyProgram", (NvrtcProgram * p))                                  \
    X(CompileProgram, "nvrtcCompileProgram", (NvrtcProgram p, int n, const char *const *options)) \
    X(GetPTXSize, "nvrtcGetPTXSize", (NvrtcProgram p, size_t * n))                                \
    X(GetPTX, "nvrtcGetPTX", (NvrtcProgram p, char *out))                                         \
    X(GetCUBINSize, "nvrtcGetCUBINSize", (NvrtcProgram p, size_t * n))                            \
    X(GetCUBIN, "nvrtcGetCUBIN", (NvrtcProgram p, char *out))                                     \
    X(GetProgramLogSize, "nvrtcGetProgramLogSize", (NvrtcProgram p, size_t * n))                  \
    X(GetProgramLog, "nvrtcGetProgramLog", (NvrtcProgram p, char *out))

typedef struct Nvrtc {
#define X(member, name, params) int(*member) params;
    NVRTC_FUNCTIONS(X)
#undef X
    const char *(*GetErrorString)(int r);
    int major, minor;
    int archs[64], n_archs; /* ascending: 75, 80, ... */
} Nvrtc;

static Mutex lock = MUTEX_INITIALIZER(RANK_NVRTC);
static Nvrtc nvrtc;
static bool ready; /* under lock; never reset */

static void *open_library(char *why, size_t why_size) {
    static const char *const names[] = {"libnvrtc.so.13",
                                        "libnvrtc.so.12",
                                        "libnvrtc.so.11.2",
                                        "libnvrtc.so",
                                        "/usr/local/cuda/lib64/libnvrtc.so.13",
                                        "/usr/local/cuda/lib64/libnvrtc.so.12",
                                        "/usr/local/cuda/lib64/libnvrtc.so.11.2",
                                        "/usr/local/cuda/lib64/libnvrtc.so"};
    const char *own = getenv("STELE_NVRTC");
    bool only = own && *own;
    for (int64_t i = 0; i < (only ? 1 : ARRAY_LEN(names)); i++) {
        void *lib = dlopen(only ? own : names[i], RTLD_NOW | RTLD_LOCAL);
        if (lib) return lib;
        const char *text = dlerror();
        if (i == 0) snprintf(why, why_size, "%s", text ? text : "not found");
    }
    return NULL;
}

static int by_number(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

static bool load(void *lib, Nvrtc *v, char *why, size_t why_size) {
    static const struct {
        const char *name;
        size_t offset;
    } symbols[] = {
#define X(member, name, params) {name, offsetof(Nvrtc, member)},
        NVRTC_FUNCTIONS(X)
#undef X
            {"nvrtcGetErrorString", offsetof(Nvrtc, GetErrorString)},
    };
    for (int64_t i = 0; i < ARRAY_LEN(symbols); i++) {
        void *at = dlsym(lib, symbols[i].name);
        if (!at) {
            snprintf(why, why_size, "it has no function %s", symbols[i].name);
            return false;
        }
        memcpy((char *)v + symbols[i].offset, &at, sizeof at);
    }
    int n = 0;
    if (v->Version(&v->major, &v->minor) != 0 || v->GetNumSupportedArchs(&n) != 0 || n < 1 ||
        n > (int)ARRAY_LEN(v->archs) || v->GetSupportedArchs(v->archs) != 0) {
        snprintf(why, why_size, "it does not tell its version and architectures");
        return false;
    }
    qsort(v->archs, (size_t)n, sizeof v->archs[0], by_number);
    v->n_archs = n;
    return true;
}

static const Nvrtc *get(Err *e) {
    char why[256] = "";
    mutex_lock(&lock);
    if (!ready) {
        Nvrtc v = {0};
        void *lib = open_library(why, sizeof why);
        if (lib) {
            ready = load(lib, &v, why, sizeof why);
            if (ready) nvrtc = v;
            else dlclose(lib);
        }
    }
    bool ok = ready;
    mutex_unlock(&lock);
    if (ok) return &nvrtc;
    err_set(e, ERR_SYSTEM, "libnvrtc could not be opened: %s, needed to compile kernels", why);
    return NULL;
}

Status nvrtc_version(int *major, int *minor, Err *e) {
    const Nvrtc *v = get(e);
    if (!v) return ST_ERROR;
    *major = v->major;
    *minor = v->minor;
    return ST_OK;
}

/* The newest architecture the compiler knows up to `sm`; 0 = none. */
static int newest_up_to(const Nvrtc *v, int sm) {
    int best = 0;
    for (int i = 0; i < v->n_archs; i++) {
        if (v->archs[i] <= sm) best = v->archs[i];
    }
    return best;
}

bool nvrtc_supports(int sm, int *oldest) {
    const Nvrtc *v = get(NULL);
    if (!v) return false;
    *oldest = v->archs[0];
    return newest_up_to(v, sm) > 0;
}

static Status failed(const Nvrtc *v, int r, const char *call, Err *e) {
    const char *text = v->GetErrorString(r);
    return err_set(e, ERR_SYSTEM, "nvrtc %d.%d: %s failed: %s", v->major, v->minor, call,
                   text ? text : "unknown error");
}

/* Splits blanks away in place and appends the words. */
static Status split_options(char *text, const char **options, int *n, Err *e) {
    char *p = text;
    for (;;) {
        p += strspn(p, " \t\n");
        if (!*p) return ST_OK;
        if (*n == NVRTC_OPTIONS_MAX) return err_internal(e, "more than %d compiler options", NVRTC_OPTIONS_MAX);
        options[(*n)++] = p;
        p += strcspn(p, " \t\n");
        if (*p) *p++ = 0;
    }
}

/* The compiler's messages, malloc'ed; NULL when there are none (or no memory for them: they are only for people). */
static char *read_log(const Nvrtc *v, NvrtcProgram p) {
    size_t n = 0;
    if (v->GetProgramLogSize(p, &n) != 0 || n <= 1) return NULL;
    char *text = malloc(n + 1);
    if (!text) return NULL;
    if (v->GetProgramLog(p, text) != 0) {
        free(text);
        return NULL;
    }
    text[n] = 0;
    return text;
}

/* From the line of the first error on: warnings before it would fill the detail. */
static const char *first_error(const char *log) {
    const char *at = strstr(log, "error");
    if (!at) return log;
    while (at > log && at[-1] != '\n') at--;
    return at;
}

static Status fetch_code(const Nvrtc *v, NvrtcProgram p, bool ptx, DevCode *out, Err *e) {
    size_t n = 0;
    int r = ptx ? v->GetPTXSize(p, &n) : v->GetCUBINSize(p, &n);
    if (r != 0) return failed(v, r, ptx ? "nvrtcGetPTXSize" : "nvrtcGetCUBINSize", e);
    if (n == 0) return err_set(e, ERR_SYSTEM, "nvrtc %d.%d made no code", v->major, v->minor);
    char *bytes = malloc(n);
    if (!bytes) return err_oom(e);
    r = ptx ? v->GetPTX(p, bytes) : v->GetCUBIN(p, bytes);
    if (r != 0) {
        free(bytes);
        return failed(v, r, ptx ? "nvrtcGetPTX" : "nvrtcGetCUBIN", e);
    }
    out->bytes = bytes;
    out->n = (int64_t)n;
    return ST_OK;
}

static Status compile_words(const Nvrtc *v, const char *source, const char *arch, bool ptx, const char **options,
                            int n_options, DevCode *out, Err *e) {
    NvrtcProgram p = NULL;
    int r = v->CreateProgram(&p, source, "kernel.cu", 0, NULL, NULL);
    if (r != 0) return failed(v, r, "nvrtcCreateProgram", e);
    r = v->CompileProgram(p, n_options, options);
    char *log = read_log(v, p);
    Status st;
    if (r != 0) {
        st = err_set(e, ERR_SYSTEM, "nvrtc %d.%d could not compile a kernel for %s: %s", v->major, v->minor, arch,
                     v->GetErrorString(r));
        if (log) err_detail(e, "%s", first_error(log));
    } else {
        st = fetch_code(v, p, ptx, out, e);
    }
    v->DestroyProgram(&p);
    if (st == ST_OK) out->log = log;
    else free(log);
    return st;
}

Status nvrtc_compile(const char *source, const char *arch, const char *options, DevCode *out, Err *e) {
    *out = (DevCode){0};
    const Nvrtc *v = get(e);
    if (!v) return ST_ERROR;
    char *end = NULL;
    long sm = strncmp(arch, "sm_", 3) == 0 ? strtol(arch + 3, &end, 10) : 0;
    if (sm < 10 || sm > 9999 || !end || *end) return err_internal(e, "\"%s\" is not an architecture", arch);
    int target = newest_up_to(v, (int)sm);
    if (target == 0) {
        return err_set(e, ERR_SYSTEM, "nvrtc %d.%d cannot compile for %s: it supports sm_%d and newer", v->major,
                       v->minor, arch, v->archs[0]);
    }
    bool ptx = target != (int)sm;
    if (ptx) {
        log_write(
            LOG_WARNING,
            "nvrtc %d.%d does not know %s: kernels are compiled to PTX for compute_%d and translated by the driver",
            v->major, v->minor, arch, target);
    }
    char arch_option[48];
    snprintf(arch_option, sizeof arch_option, "--gpu-architecture=%s_%d", ptx ? "compute" : "sm", target);
    const char *words[NVRTC_OPTIONS_MAX] = {arch_option, "-default-device", "--std=c++17", "--device-int128",
                                            "-fmad=false"};
    int n = 5;
    char *more = strdup(options ? options : "");
    if (!more) return err_oom(e);
    Status st = split_options(more, words, &n, e);
    if (st == ST_OK) st = compile_words(v, source, arch, ptx, words, n, out, e);
    free(more);
    return st;
}
