/* profile.h - what this machine reaches: measured rates of the CPU and of each device, kept in a text file.
 *
 * The yardstick of EXPLAIN ANALYZE (achieved bandwidth as a share of the limit) and the input of placement. `stele
 * calibrate` measures and writes; all others load. A rate of 0 is unknown: not measured, or not possible on that
 * device. Rates are the best of a few runs: limits, not averages.
 *
 * The file: lines `key = value`, `[cpu]` or `[device ID]` before the keys of each, lines that start with `#` are
 * comments.
 *
 *     version = 1
 *     [cpu]
 *     threads = 16
 *     read_gbps_thread = 14.25
 *     [device cuda:0]
 *     name = NVIDIA H200
 *     read_gbps = 4591.25
 *     gather_mps = 1048576:168000, 67108864:80000.5
 *     channel_gbps = 4:16384:16777216:210.5, 16:16384:16777216:350   (sub-channels, bytes of a packet, bytes in all)
 *
 * Unknown keys and sections, repeated ones and bad values are errors that name the line: a mistyped rate must not be
 * taken for an unknown one.
 *
 * Thread rules: none of these functions shares state; a Profile belongs to one thread while it is written.
 */
#ifndef STELE_COST_PROFILE_H
#define STELE_COST_PROFILE_H

#include "base/vfs.h"
#include "device/device.h"

enum { PROFILE_VERSION = 1, PROFILE_DEVICES_MAX = 32, PROFILE_POINTS_MAX = 8, PROFILE_PATH_MAX = 4096 };

/* Million operations per second over working sets of so many bytes, ascending. */
typedef struct ProfileCurve {
    int64_t n;
    int64_t bytes[PROFILE_POINTS_MAX];
    double mps[PROFILE_POINTS_MAX];
} ProfileCurve;

/* Bytes of rows that a kernel hands to one that runs at the same time [GPL §4, Eq. 1]: by sub-channels, bytes of a
 * packet, bytes in all. */
enum { PROFILE_CHANNELS_MAX = 32 };
typedef struct ProfileChannels {
    int64_t n;
    struct {
        int64_t channels, packet_bytes, bytes;
        double gbps;
    } at[PROFILE_CHANNELS_MAX];
} ProfileChannels;

typedef struct CpuProfile {
    double threads;                         /* of the pool that was measured */
    double read_gbps_thread, read_gbps_all; /* summing 64-bit words: one thread, all threads together */
    double bulk_set_min; /* bulks of calls (txn/run/bulk.h) on the virtual machine: from so many calls of a set on
                            average K-SET beats PART */
} CpuProfile;

/* GB = 10^9 bytes. */
typedef struct DeviceProfile {
    char id[32], name[128], arch[64], driver[64];
    double read_gbps;                    /* kernel that only reads the device's memory, 16-byte loads */
    double copy_gbps;                    /* device to device, bytes read and written together */
    double to_device_gbps, to_host_gbps; /* from and to pinned memory */
    double mapped_gbps;                  /* kernel that reads pinned host memory where it lies */
    double launch_us, launch_sync_us;    /* an empty kernel: one of many in a row; one and waiting for it */
    double local_atomic_mps;             /* 32-bit additions over 4 KiB of each group's local memory */
    double compute_gips, latency_ns; /* 32-bit instructions of all items, 10^9 a second; a load from memory that waits
                                        for the one before */
    double pipeline_us, pipeline_kernel_us; /* kernels that run at the same time and have nothing to do, waited for:
                                               without any; each */
    double bulk_set_min, bulk_groups; /* bulks of calls by kernels: from so many calls of a set on average K-SET beats
                                         locks; groups of procedures that calls are brought together in, 65536: all */
    ProfileCurve gather;              /* random 8-byte loads */
    ProfileCurve atomic_add;          /* random 64-bit additions */
    ProfileCurve atomic_cas;          /* random 64-bit compare-and-swap */
    ProfileChannels channels;
} DeviceProfile;

typedef struct Profile {
    CpuProfile cpu;
    int64_t n_devices;
    DeviceProfile devices[PROFILE_DEVICES_MAX];
} Profile;

/* The rates of a device, NULL when it was not measured. `name` (NULL: any) must be that of the device measured under
 * this id: another card's rates are none. */
const DeviceProfile *profile_device(const Profile *p, const char *id, const char *name);
/* The rate at a working set of `bytes`: that of the smallest measured set at least as big, beyond the last one that of
 * the last. 0: unknown. */
double profile_rate_at(const ProfileCurve *c, int64_t bytes);

/* ---- measuring ------------------------------------------------------------------------------------ */
/* Replaces p->cpu. `quick` takes small buffers and few runs (tests): a fraction of a second, and rates of the caches.
 */
Status profile_calibrate_cpu(Pool *pool, bool quick, Profile *p, Err *e);
/* Opens device `id` and adds or replaces its section. Takes up to a quarter of the device's free memory, some seconds.
 * Errors are the device's (and XX000 when it computes a wrong sum); the profile is unchanged then. Nothing else should
 * run meanwhile. */
Status profile_calibrate(Devices *ds, const char *id, bool quick, Profile *p, Err *e);
/* The same for a device that is open. */
Status profile_calibrate_device(Device *d, bool quick, Profile *p, Err *e);

/* ---- the file ------------------------------------------------------------------------------------- */
/* $STELE_PROFILE, else $XDG_CONFIG_HOME/stele/profile, else ~/.config/stele/profile. 22023 when none of the variables
 * is set or the name is too long. */
Status profile_path(char out[PROFILE_PATH_MAX], Err *e);
/* path NULL: profile_path(). A file that is not there gives an empty profile and *found = false. 22023 with path and
 * line when it is malformed. */
Status profile_load(Vfs *v, const char *path, Profile *out, bool *found, Err *e);
/* Makes missing directories; replaces the file in one step. */
Status profile_save(Vfs *v, const char *path, const Profile *p, Err *e);
/* The text form. `text` need not be NUL-terminated; `name` is what messages call it. */
Status profile_parse(const char *name, const char *text, int64_t len, Profile *out, Err *e);
char *profile_text(Arena *a, const Profile *p); /* NULL: out of memory, set in the arena's Err */

#endif
