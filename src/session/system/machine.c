/* machine.c - stele_settings: what SET takes; stele_machine: what was found on this machine, and what is wrong
 * with it. `stele doctor` shows the latter. Nothing is measured, and no device is opened. */
#include <stdio.h>
#include <unistd.h>

#include "base/machine.h"
#include "codegen/cache.h"
#include "cost/profile.h"
#include "device/device.h"
#include "exec/vm.h"
#include "session/system/system_int.h"

Status system_fill_stele_settings(Session *s, SystemRows *r) {
    for (int64_t i = 0; i < settings_count(); i++) {
        SettingInfo x;
        settings_info(s, r->c->arena, i, &x);
        const char *now = settings_show(s, r->c->arena, x.name, &s->err);
        if (!x.boot || !now) return err_oom(&s->err);
        TRY(system_next_row(r));
        TRY(system_put_text(r, 0, x.name));
        TRY(system_put_text(r, 1, now));
        if (x.unit) TRY(system_put_text(r, 2, x.unit));
        TRY(system_put_text(r, 3, x.type));
        if (x.ranged) system_put_int(r, 4, x.min);
        if (x.ranged && x.max < INT64_MAX / 4) system_put_int(r, 5, x.max); /* beyond, it is no bound */
        if (x.choices) TRY(system_put_text(r, 6, x.choices));
        TRY(system_put_text(r, 7, x.boot));
        TRY(system_put_text(r, 8, x.doc));
    }
    return ST_OK;
}

/* value and problem may be NULL. */
static Status fact(SystemRows *r, const char *topic, const char *item, const char *value, const char *problem) {
    TRY(system_next_row(r));
    TRY(system_put_text(r, 0, topic));
    TRY(system_put_text(r, 1, item));
    if (value) TRY(system_put_text(r, 2, value));
    return problem ? system_put_text(r, 3, problem) : ST_OK;
}
static Status number(SystemRows *r, const char *topic, const char *item, int64_t value) {
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)value);
    return fact(r, topic, item, text, NULL);
}

static Status processors_and_memory(Session *s, SystemRows *r) {
    TRY(number(r, "processor", "online", sysconf(_SC_NPROCESSORS_ONLN)));
    TRY(number(r, "processor", "usable", cpu_count()));
    TRY(number(r, "processor", "threads", s->settings.exec.threads));
    TRY(fact(r, "processor", "instruction_set", vm_isa(), NULL));
    TRY(number(r, "memory", "physical", machine_memory_bytes()));
    if (machine_memory_limit() > 0) TRY(number(r, "memory", "cgroup", machine_memory_limit()));
    TRY(number(r, "memory", "freed_kept", mem_kept()));
    return number(r, "memory", "memory_limit", atomic_load(&s->db->account.limit));
}

static Status devices(SystemRows *r, Devices *ds) {
    for (int i = 0; i < devices_count(ds); i++) {
        const DeviceEntry *d = devices_entry(ds, i);
        char value[sizeof d->name + sizeof d->detail + 2];
        if (d->hidden) continue;
        snprintf(value, sizeof value, "%s%s%s", d->name, *d->detail ? ", " : "", d->detail);
        TRY(fact(r, "device", d->sql_name, value, d->usable ? NULL : d->state));
    }
    return ST_OK;
}

static Status code_cache(SystemRows *r, CodeCache *cache) {
    CodeStats x;
    code_cache_stats(cache, &x);
    TRY(fact(r, "code_cache", "directory", *x.path ? x.path : NULL, x.why));
    return number(r, "code_cache", "bytes", x.disk_bytes);
}

/* Where the rates of this machine are kept, and which devices have some. */
static Status profile(Session *s, SystemRows *r, Devices *ds) {
    char path[PROFILE_PATH_MAX];
    Err e = {0};
    bool found = false;
    if (profile_path(path, &e) != ST_OK) return fact(r, "profile", "file", NULL, e.message);
    Profile *p = mem_calloc(NULL, (int64_t)sizeof *p, &s->err);
    if (!p) return ST_ERROR;
    Status st = profile_load(s->db->vfs, path, p, &found, &e);
    const char *problem = st != ST_OK ? e.message : found ? NULL : "there is none";
    st = fact(r, "profile", "file", path, problem);
    for (int i = 0; st == ST_OK && i < devices_count(ds); i++) {
        const DeviceEntry *d = devices_entry(ds, i);
        if (d->hidden || !d->usable) continue;
        bool measured = profile_device(p, d->id, d->name) != NULL;
        st = fact(r, "profile", d->sql_name, measured ? "measured" : NULL, measured ? NULL : "not measured");
    }
    mem_free(NULL, p, (int64_t)sizeof *p);
    return st;
}

static Status temporary_files(Session *s, SystemRows *r) {
    const char *dir = s->settings.exec.temp_directory;
    Err e = {0};
    if (!*dir) dir = vfs_temp_directory();
    bool ok = temp_directory_check(dir, &e) == ST_OK;
    return fact(r, "temporary_files", "directory", dir, ok ? NULL : e.message);
}

Status system_fill_machine(Session *s, SystemRows *r) {
    Devices *ds;
    CodeCache *cache;
    TRY(session_devices(s, &ds, &cache));
    TRY(processors_and_memory(s, r));
    TRY(devices(r, ds));
    TRY(code_cache(r, cache));
    TRY(profile(s, r, ds));
    return temporary_files(s, r);
}
