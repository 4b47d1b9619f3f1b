/* machine.h - what of the machine this process may use: processors and memory. The limits of the system's groups of
 * processes (cgroup 2, and 1 where it is mounted at the usual place) are respected: a container's are the machine's.
 *
 * Thread rules: from any thread; nothing is kept between calls.
 */
#ifndef STELE_BASE_MACHINE_H
#define STELE_BASE_MACHINE_H

#include "base/base.h"

/* Processors, at least 1: those of the process's affinity, or of a quota if that is less (rounded up). */
int cpu_count(void);
/* Bytes of physical memory, and of the least limit that a cgroup sets (0: none does). */
int64_t machine_memory_bytes(void);
int64_t machine_memory_limit(void);
/* The smaller one of them: what a process can have. */
int64_t machine_memory_usable(void);

/* The same with /proc and /sys looked for below `root` ("" is the machine), for tests. `count` is what there is without
 * quotas. */
int machine_cpu_quota_at(const char *root, int count);
int64_t machine_memory_limit_at(const char *root);

#endif
