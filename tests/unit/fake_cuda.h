/* fake_cuda.h - what test_cuda.c steers the fake driver with: see fake_cuda.c. */
#ifndef STELE_TESTS_UNIT_FAKE_CUDA_H
#define STELE_TESTS_UNIT_FAKE_CUDA_H

#include <stdatomic.h>
#include <stdint.h>

typedef struct FakeCuda {
    int version, devices, init_result, compute_mode;
    _Atomic int64_t calls; /* fallible calls so far */
    int64_t fail_at;       /* this call fails (from 1), 0 = none */
    int fail_result;       /* with this */
    _Atomic int sticky;    /* what every call returns, 0 = nothing wrong */
    int64_t memory_limit;  /* of the device; 0 = none */
    int64_t address_limit; /* of one reservation of addresses; 0 = none */
    int busy;              /* how often a stream says "not ready" after a launch; -1 = always */
    int no_virtual;        /* the device has no virtual memory management */
    int param_info;        /* 0: cuFuncGetParamInfo fails as for a kernel without parameters */
    /* what is alive: must be 0 again in the end */
    _Atomic int64_t chunks, device_bytes, pinned, regions, reserved, mappings, memories, streams, events, modules,
        contexts, programs;
    _Atomic int64_t chunk_calls, pinned_calls, raise_calls, batches,
        no_context; /* counters; no_context: calls without the right context */
    unsigned launched_groups, launched_size, launched_local;
    char options[2048]; /* of the last compilation, separated by '\n' */
} FakeCuda;

#endif
