/* calibrate.c - measures what the CPU and a device reach and writes the machine's profile, the yardstick of the other benchmarks. */
#include "bench.h"

static const char *device_id(const Bench *b) { return !b->device ? NULL : strcmp(b->device, "cpu") == 0 ? "host" : b->device; }

static Status calibrate(Bench *b, const char *path, Pool *pool, Err *e) {
    MemAccount account;
    Devices *devices = NULL;
    mem_account_init(&account, NULL, "devices", 0, NULL);
    Status s = profile_calibrate_cpu(pool, false, &b->profile, e);
    if (s == ST_OK && b->device) s = profile_save(vfs_posix(), path, &b->profile, e); /* kept when the device fails */
    if (s == ST_OK && b->device) s = devices_open(pool, &account, &devices, e);
    if (s == ST_OK && b->device) s = profile_calibrate(devices, device_id(b), false, &b->profile, e);
    if (devices) devices_close(devices);
    return s == ST_OK ? profile_save(vfs_posix(), path, &b->profile, e) : s;
}

int bench_calibrate(Bench *b, const char *path) {
    Err e = {0};
    Pool *pool = pool_new(b->threads, &e);
    Status s = pool ? calibrate(b, path, pool, &e) : ST_ERROR;
    pool_free(pool);
    if (s != ST_OK) return fprintf(stderr, "stele-bench calibrate: %s%s%s\n", e.message, *e.detail ? ": " : "", e.detail), 1;
    printf("cpu: %.1f GB/s with one thread, %.1f with %d\n", b->profile.cpu.read_gbps_thread, b->profile.cpu.read_gbps_all, b->threads);
    const DeviceProfile *p = b->device ? profile_device(&b->profile, device_id(b), NULL) : NULL;
    if (p)
        printf("%s, %s: memory %.1f GB/s, copy %.1f, to the device %.1f, to the host %.1f, mapped %.1f; launch %.1f us, with waiting %.1f us\n", p->id, p->name, p->read_gbps,
               p->copy_gbps, p->to_device_gbps, p->to_host_gbps, p->mapped_gbps, p->launch_us, p->launch_sync_us);
    return 0;
}
