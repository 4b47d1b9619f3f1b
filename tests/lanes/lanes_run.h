/* lanes_run.h - what the driver of tests calls to run a kernel of lanes.h. One at a time. */
#ifndef STELE_TESTS_LANES_RUN_H
#define STELE_TESTS_LANES_RUN_H
#include <stdint.h>

/* Runs groups of `size` lanes, 1024 at most; `params` is the kernel's argument, by reference. */
void lanes_run(void (*run)(const void *), const void *params, unsigned groups, unsigned size);
void lanes_seed(uint64_t seed);
_Noreturn void lanes_stuck(const char *why);
#endif
