/* unit_nvrtc.h - kernels must compile for CUDA without a warning, where NVRTC is there. */
#ifndef STELE_UNIT_NVRTC_H
#define STELE_UNIT_NVRTC_H

#include "unit.h"

#include <stdlib.h>

#include "codegen/prelude.h"
#include "device/cuda/nvrtc.h"

/* `defines`: whole lines that come before the prelude. Skips the test without NVRTC. */
static inline void compiles_with_nvrtc(const char *defines, const char *kernels) {
    int major, minor;
    Err e = {0};
    if (nvrtc_version(&major, &minor, &e) != ST_OK) {
        print_message("skipped: %s\n", e.message);
        skip();
    }
    size_t n = strlen(defines) + strlen(KERNEL_PRELUDE_INCLUDE) + strlen(kernels) + 1;
    char *text = malloc(n), *full;
    snprintf(text, n, "%s%s%s", defines, KERNEL_PRELUDE_INCLUDE, kernels);
    assert_non_null(full = kernel_source_expand(text));
    DevCode code;
    if (nvrtc_compile(full, "sm_90", "", &code, &e) != ST_OK) fail_msg("%s: %s", e.message, e.detail);
    if (code.log && strstr(code.log, "warning")) fail_msg("%s", code.log);
    dev_code_free(&code);
    free(full);
    free(text);
}

#endif
