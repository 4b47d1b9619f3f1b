/* machine.c - processors and memory that this process may use: see machine.h.
 *
 * cgroup 2 has a tree of groups below /sys/fs/cgroup; /proc/self/cgroup says which one the process is in, and limits of
 * all groups above it apply too. In a container that has a namespace of its own the path is "/", and the files of the
 * root are the container's. cgroup 1 is looked at in its usual place only, and without the path.
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/machine.h"

enum { GROUP_MAX = 1024, PATH_BYTES = 2 * GROUP_MAX };

/* The first numbers of a file: how many there are ("max" reads as none). */
static int read_numbers(const char *path, long long out[2]) {
    FILE *f = fopen(path, "re");
    if (!f) return 0;
    int got = fscanf(f, "%lld %lld", &out[0], &out[1]);
    fclose(f);
    return got > 0 ? got : 0;
}
static long long read_number(const char *root, const char *path) {
    char full[PATH_BYTES];
    long long v[2] = {0};
    snprintf(full, sizeof full, "%s%s", root, path);
    return read_numbers(full, v) > 0 ? v[0] : 0;
}

/* The process's cgroup 2, "" when it is the root or unknown. */
static void own_group(const char *root, char out[GROUP_MAX]) {
    char line[GROUP_MAX], path[PATH_BYTES];
    *out = 0;
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    FILE *f = fopen(path, "re");
    if (!f) return;
    while (fgets(line, sizeof line, f)) {
        if (strncmp(line, "0::", 3) != 0) continue;
        line[strcspn(line, "\n")] = 0;
        snprintf(out, GROUP_MAX, "%s", line + 3);
    }
    fclose(f);
}

/* The least value that `value` makes of `file` in the group and those above it; 0: there is none. */
static int64_t least_limit(const char *root, const char *file, int64_t (*value)(const long long *numbers, int n)) {
    char group[GROUP_MAX], path[PATH_BYTES];
    int64_t least = 0;
    own_group(root, group);
    for (;;) {
        size_t n = strlen(group);
        while (n > 0 && group[n - 1] == '/') group[--n] = 0;
        long long numbers[2] = {0};
        snprintf(path, sizeof path, "%s/sys/fs/cgroup%s/%s", root, group, file);
        int64_t limit = value(numbers, read_numbers(path, numbers));
        if (limit > 0 && (least == 0 || limit < least)) least = limit;
        char *slash = n > 0 ? strrchr(group, '/') : NULL;
        if (!slash) return least;
        *slash = 0;
    }
}

/* ---- processors ------------------------------------------------------------------------------------------ */

static int affinity_count(void) {
    for (int n = 1024; n <= 1 << 20; n *= 2) {
        cpu_set_t *set = CPU_ALLOC((size_t)n);
        if (!set) break;
        size_t size = CPU_ALLOC_SIZE((size_t)n);
        int rc = sched_getaffinity(0, size, set);
        int count = rc == 0 ? CPU_COUNT_S(size, set) : 0;
        CPU_FREE(set);
        if (count > 0) return count;
        if (rc != 0 && errno != EINVAL) break;
    }
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (int)n : 1;
}

/* Whole processors of "quota period". */
static int64_t whole_processors(const long long *v, int n) {
    return n == 2 && v[0] > 0 && v[1] > 0 ? (v[0] + v[1] - 1) / v[1] : 0;
}

int machine_cpu_quota_at(const char *root, int count) {
    int64_t quota = least_limit(root, "cpu.max", whole_processors);
    long long first[2] = {read_number(root, "/sys/fs/cgroup/cpu/cpu.cfs_quota_us"),
                          read_number(root, "/sys/fs/cgroup/cpu/cpu.cfs_period_us")};
    int64_t older = whole_processors(first, 2);
    if (quota > 0 && quota < count) count = (int)quota;
    if (older > 0 && older < count) count = (int)older;
    return count < 1 ? 1 : count;
}

int cpu_count(void) { return machine_cpu_quota_at("", affinity_count()); }

/* ---- memory ---------------------------------------------------------------------------------------------- */

static int64_t plain(const long long *v, int n) { return n > 0 && v[0] > 0 ? v[0] : 0; }

int64_t machine_memory_limit_at(const char *root) {
    int64_t limit = least_limit(root, "memory.max", plain);
    int64_t older = read_number(root, "/sys/fs/cgroup/memory/memory.limit_in_bytes");
    if (older >= INT64_MAX / 4) older = 0; /* no limit: the largest multiple of a page */
    return older > 0 && (limit == 0 || older < limit) ? older : limit;
}

int64_t machine_memory_bytes(void) { return (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE); }
int64_t machine_memory_limit(void) { return machine_memory_limit_at(""); }
int64_t machine_memory_usable(void) {
    int64_t all = machine_memory_bytes(), limit = machine_memory_limit();
    return limit > 0 && limit < all ? limit : all;
}
