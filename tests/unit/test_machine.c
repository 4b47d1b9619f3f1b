/* test_machine.c - limits of processors and memory, read from files as the system has them. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/machine.h"

static char root[64];

/* A file below the root, with the folders that it needs. */
static void put(const char *path, const char *text) {
    char full[512];
    snprintf(full, sizeof full, "%s%s", root, path);
    for (char *at = full + strlen(root) + 1; *at; at++) {
        if (*at != '/') continue;
        *at = 0;
        mkdir(full, 0700);
        *at = '/';
    }
    FILE *f = fopen(full, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static int begin(void **state) {
    (void)state;
    snprintf(root, sizeof root, "/tmp/stele-machine-XXXXXX");
    return mkdtemp(root) ? 0 : -1;
}
static int end(void **state) {
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", root);
    return system(command);
}

static void test_nothing(void **state) {
    (void)state;
    assert_int_equal(machine_cpu_quota_at(root, 6), 6);
    assert_int_equal(machine_cpu_quota_at(root, 0), 1);
    assert_true(machine_memory_limit_at(root) == 0);
    assert_true(cpu_count() >= 1);
    assert_true(machine_memory_usable() > 0 && machine_memory_usable() <= machine_memory_bytes());
}

static void test_groups(void **state) {
    (void)state;
    put("/proc/self/cgroup", "0::/user.slice/job\n");
    put("/sys/fs/cgroup/user.slice/job/cpu.max", "max 100000\n");
    put("/sys/fs/cgroup/user.slice/job/memory.max", "max\n");
    assert_int_equal(machine_cpu_quota_at(root, 6), 6);
    assert_true(machine_memory_limit_at(root) == 0);
    put("/sys/fs/cgroup/user.slice/cpu.max", "250000 100000\n"); /* of the group above */
    put("/sys/fs/cgroup/user.slice/memory.max", "4294967296\n");
    assert_int_equal(machine_cpu_quota_at(root, 6), 3);
    assert_int_equal(machine_cpu_quota_at(root, 2), 2);
    assert_true(machine_memory_limit_at(root) == INT64_C(4) << 30);
    put("/sys/fs/cgroup/user.slice/job/cpu.max", "50000 100000\n"); /* the least one counts */
    put("/sys/fs/cgroup/user.slice/job/memory.max", "1073741824\n");
    assert_int_equal(machine_cpu_quota_at(root, 6), 1);
    assert_true(machine_memory_limit_at(root) == INT64_C(1) << 30);
}

static void test_container(void **state) { /* a namespace of its own: the root's files are its own */
    (void)state;
    put("/proc/self/cgroup", "0::/\n");
    put("/sys/fs/cgroup/cpu.max", "400000 100000\n");
    put("/sys/fs/cgroup/memory.max", "2147483648\n");
    assert_int_equal(machine_cpu_quota_at(root, 6), 4);
    assert_true(machine_memory_limit_at(root) == INT64_C(2) << 30);
}

static void test_version_1(void **state) {
    (void)state;
    put("/proc/self/cgroup", "5:memory:/docker/1234\n");
    put("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "150000\n");
    put("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"); /* none */
    assert_int_equal(machine_cpu_quota_at(root, 6), 2);
    assert_true(machine_memory_limit_at(root) == 0);
    put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "536870912\n");
    assert_true(machine_memory_limit_at(root) == INT64_C(512) << 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_nothing, begin, end),
        cmocka_unit_test_setup_teardown(test_groups, begin, end),
        cmocka_unit_test_setup_teardown(test_container, begin, end),
        cmocka_unit_test_setup_teardown(test_version_1, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
