/* nvrtc.h - kernel C to cubin by NVIDIA's run-time compiler, opened at run time. Needs no device, so that kernels can
 * be checked on any machine.
 *
 * Looked for: $STELE_NVRTC alone when it is set; else libnvrtc.so.13, .12, .11.2 and libnvrtc.so on the loader's path,
 * then in /usr/local/cuda/lib64. Thread rules: any thread, several at once.
 */
#ifndef STELE_DEVICE_CUDA_NVRTC_H
#define STELE_DEVICE_CUDA_NVRTC_H

#include "device/device.h"

/* Major and minor version; ST_ERROR 58000 ("libnvrtc could not be opened: ..., needed to compile kernels") when there
 * is none. */
Status nvrtc_version(int *major, int *minor, Err *e);
/* Compiles for `arch` ("sm_90"): a cubin, or, when the compiler does not know the architecture yet, PTX of the newest
 * one it knows, which the driver translates when it loads the code (said in the log at warning level). `options`: more
 * compiler options, separated by blanks, or "" or NULL. out->log has the compiler's messages. 58000 on failure, with
 * the log (from its first error on) in the detail; *out is then empty. */
Status nvrtc_compile(const char *source, const char *arch, const char *options, DevCode *out, Err *e);
/* Whether nvrtc_compile can make code for "sm_<sm>": false for architectures that the compiler no longer supports, with
 * its oldest one in *oldest. */
bool nvrtc_supports(int sm, int *oldest);

#endif
