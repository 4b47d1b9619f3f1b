/* devices.c - from the settings executor and device to a device's runtime.
 *
 * The database owns one hub: the machine's devices, looked for when first needed, one code cache, and one runtime per
 * device in use. Everything in it lives until the database closes, so that columns stay on a device and kernels stay
 * compiled between sessions.
 */
#include <stdio.h>
#include <strings.h>

#include "base/mutex.h"
#include "cost/place.h"
#include "base/log.h"
#include "exec/device/dev.h"
#include "session/core/transaction.h"
#include "session/pool/calibrate_bulk.h"

enum { RUNTIMES_MAX = 32 };
typedef struct DeviceHub {
    Database *db;
    MemAccount account;
    Mutex lock;
    Devices *devices;
    CodeCache *cache;
    Profile *profile; /* of the machine; NULL until it is first needed */
    struct {
        char id[32];
        DevRuntime *runtime;
    } runtimes[RUNTIMES_MAX];
    int n;
} DeviceHub;

static void hub_free(DeviceHub *h) {
    for (int i = 0; i < h->n; i++) {
        Device *d = dev_runtime_device(h->runtimes[i].runtime);
        dev_runtime_free(h->runtimes[i].runtime);
        code_cache_drop_device(h->cache, d);
    }
    if (h->cache) code_cache_free(h->cache);
    mem_free(NULL, h->profile, (int64_t)sizeof *h->profile);
    devices_close(h->devices);
    mutex_destroy(&h->lock);
    mem_free(NULL, h, (int64_t)sizeof *h);
}

static const DeviceHubOps hub_ops = {.free = hub_free};

/* Sessions may come at the same time. */
static Status hub_get(Database *db, DeviceHub **out, Err *e) {
    static Mutex making = MUTEX_INITIALIZER(RANK_DEVICE_HUB_MAKING);
    mutex_lock(&making);
    DeviceHub *h = db->device_hub;
    Status st = ST_OK;
    if (!h) {
        st = (h = mem_calloc(NULL, (int64_t)sizeof *h, e)) ? ST_OK : ST_ERROR;
        if (h) {
            h->db = db;
            mem_account_init(&h->account, &db->parts[DB_DEVICES], "devices", 0, NULL);
            mutex_init(&h->lock, RANK_DEVICE_HUB);
            if (devices_open(db->pool, &h->account, &h->devices, e) != ST_OK ||
                code_cache_new(NULL, INT64_C(256) << 20, &h->cache, e) != ST_OK) {
                hub_free(h);
                st = ST_ERROR;
            }
        }
        if (st == ST_OK) {
            db->device_hub_ops = &hub_ops;
            db->device_hub = h;
        }
    }
    *out = h;
    mutex_unlock(&making);
    return st;
}

static Status runtime_get(DeviceHub *h, const char *id, DevRuntime **out, Err *e) {
    Device *d;
    TRY(devices_get(h->devices, id, &d, e));
    mutex_lock(&h->lock);
    int i = 0;
    while (i < h->n && strcmp(h->runtimes[i].id, id) != 0) i++;
    Status st = ST_OK;
    if (i == h->n) {
        if (i == RUNTIMES_MAX)
            st = err_set(e, ERR_LIMIT_EXCEEDED, "more than %d devices are in use", (int)RUNTIMES_MAX);
        else st = dev_runtime_new(d, h->cache, &h->account, &h->runtimes[i].runtime, e);
        if (st == ST_OK) {
            snprintf(h->runtimes[i].id, sizeof h->runtimes[i].id, "%s", id);
            h->n++;
        }
    }
    if (st == ST_OK) *out = h->runtimes[i].runtime;
    mutex_unlock(&h->lock);
    return st;
}

bool device_setting_valid(const char *v) { return !strcasecmp(v, "auto") || devices_name_valid(v); }

static Residence residence_of(const char *v) {
    static const char *const names[] = {"auto", "cached", "serial", "streamed", "mapped"};
    for (int i = 0; i < (int)ARRAY_LEN(names); i++)
        if (strcmp(names[i], v) == 0) return (Residence)i;
    return RES_AUTO;
}

static Status runtime_named(Session *s, const char *id, DevRuntime **out) {
    DeviceHub *h;
    TRY(hub_get(s->db, &h, &s->err));
    if (!strcasecmp(id, "auto")) {
        const DeviceEntry *best = devices_auto(h->devices);
        id = best ? best->id : "host";
    } else if (!strcasecmp(id, "cpu")) {
        id = "host";
    }
    return runtime_get(h, id, out, &s->err);
}

/* What was measured of a device (stele calibrate), NULL when nothing was. A profile that cannot be read is reported
 * once and then ignored. */
static const DeviceProfile *profile_of(DeviceHub *h, const char *id, const char *name) {
    mutex_lock(&h->lock);
    if (!h->profile) {
        Err e = {0};
        bool found;
        h->profile = mem_calloc(NULL, (int64_t)sizeof *h->profile, &e);
        if (h->profile && profile_load(h->db->vfs, NULL, h->profile, &found, &e) != ST_OK) {
            log_write(LOG_WARNING, "the machine's profile is not used: %s", e.message);
            memset(h->profile, 0, sizeof *h->profile);
        }
    }
    const DeviceProfile *p = h->profile ? profile_device(h->profile, id, name) : NULL;
    mutex_unlock(&h->lock);
    return p;
}

/* Executor auto: a device of a backend that it may pick (DeviceDriver.automatic), where the model says that it pays.
 * Other devices, and the system's C compiler, are used only where the setting names them: looking for OpenCL devices,
 * for one, loads their compilers into the process. */
static Status choose(Session *s, const QueryPlan *plan, DeviceUse *out) {
    const Settings *x = &s->settings;
    if (s->read.on_device) return runtime_named(s, s->read.device, &out->runtime);
    if (!strcasecmp(x->device.id, "cpu")) return ST_OK;
    const char *id = strcasecmp(x->device.id, "auto") == 0 ? devices_automatic() : x->device.id;
    if (!id) return ST_OK;
    Placement p;
    place_query(plan, (int)x->exec.threads, NULL, &p);
    if (!p.on_device) {
        if (!s->device.timing) return ST_OK;
        snprintf(s->device.reason, sizeof s->device.reason, "the cpu is estimated at %.3f ms, the device at %.3f ms",
                 p.vm_ms, p.device_ms);
        out->reason = s->device.reason;
        return ST_OK;
    }
    return runtime_named(s, id, &out->runtime);
}

bool session_may_use_device(const Session *s) {
    const Settings *x = &s->settings;
    if (strcmp(x->exec.executor, "vm") == 0) return false;
    if (s->device.override || strcmp(x->exec.executor, "auto") != 0) return true;
    return strcasecmp(x->device.id, "cpu") != 0 &&
           (strcasecmp(x->device.id, "auto") != 0 || devices_automatic() != NULL);
}

bool session_device_keeps_copies(const Session *s) {
    DeviceHub *h = s->db->device_hub;
    if (!session_may_use_device(s)) return false;
    if (s->device.override) return dev_runtime_keeps_copies(s->device.override);
    bool some = false;
    if (!h) return false;
    mutex_lock(&h->lock);
    for (int i = 0; i < h->n && !some; i++) some = dev_runtime_keeps_copies(h->runtimes[i].runtime);
    mutex_unlock(&h->lock);
    return some;
}

Status session_device_use(Session *s, const QueryPlan *plan, DeviceUse *out) {
    const Settings *x = &s->settings;
    *out = (DeviceUse){0};
    if (strcmp(x->exec.executor, "vm") == 0) return ST_OK;
    if (transaction_has_forks(s) && session_may_use_device(s)) TRY(session_read_locked(s)); /* devices read tables */
    bool automatic = strcmp(x->exec.executor, "auto") == 0;
    out->interpreted = strcmp(x->exec.executor, "interpreted") == 0;
    out->shape = strcmp(x->exec.executor, "kernel") == 0      ? SHAPE_SPLIT
                 : strcmp(x->exec.executor, "pipelined") == 0 ? SHAPE_PIPELINED
                                                              : SHAPE_FUSED;
    if (s->device.override) out->runtime = s->device.override;
    else if (automatic) TRY(choose(s, plan, out));
    else TRY(runtime_named(s, x->device.id, &out->runtime));
    if (!out->runtime) return ST_OK;
    dev_runtime_limit(out->runtime, x->device.memory_limit);
    out->residence = residence_of(x->device.residence);
    out->strict = x->device.strict;
    out->wait = x->device.wait;
    out->timing = s->device.timing;
    out->pipeline = (PipelineUse){.in_turn = !x->pipelined.concurrency,
                                  .tile_rows = x->pipelined.tile_rows,
                                  .channels = x->pipelined.channels,
                                  .packet_rows = x->pipelined.packet_rows,
                                  .ring = x->pipelined.ring,
                                  .groups = x->pipelined.groups};
    out->result_cache = x->device.result_cache;
    out->initial_rows = x->device.initial_rows;
    return ST_OK;
}

double session_device_limit(Session *s, const char *id) {
    if (!s->db->device_hub) return 0;
    const DeviceProfile *p = profile_of(s->db->device_hub, id, NULL);
    return p ? p->read_gbps : 0;
}

BulkMeasured session_bulk_measured(Session *s, DevRuntime *r) {
    BulkMeasured m = {0};
    if (r) {
        const Device *d = dev_runtime_device(r);
        const DeviceProfile *p = s->db->device_hub ? profile_of(s->db->device_hub, d->info.id, d->info.name) : NULL;
        return p ? (BulkMeasured){p->bulk_set_min, p->bulk_groups} : m;
    }
    Err e = {0};
    bool found;
    Profile *p = mem_calloc(NULL, (int64_t)sizeof *p, &e);
    if (p && profile_load(s->db->vfs, NULL, p, &found, &e) == ST_OK)
        m.set_min = p->cpu.bulk_set_min; /* a file that cannot be read is no error here */
    mem_free(NULL, p, (int64_t)sizeof *p);
    return m;
}

/* ---- SHOW devices, calibration ------------------------------------------------------------------------- */
static const char *memory_text(Arena *a, int64_t bytes) {
    if (bytes <= 0) return "";
    return bytes < (INT64_C(10) << 30) ? arena_printf(a, "%.1f GB", (double)bytes / (1 << 30))
                                       : arena_printf(a, "%lld GB", (long long)(bytes >> 30));
}

Status session_show_devices(Session *s, Statement *st) {
    DeviceHub *h;
    TRY(hub_get(s->db, &h, &s->err));
    TRY(statement_text_columns(st, 6, (const char *[]){"device", "name", "state", "memory", "details", "calibrated"}));
    for (int i = 0; i < devices_count(h->devices); i++) {
        const DeviceEntry *d = devices_entry(h->devices, i);
        if (d->hidden) continue;
        const DeviceProfile *p = profile_of(h, d->id, d->name);
        const char *rates =
            p ? arena_printf(st->run_arena, "%.0f GB/s read, %.1f GB/s to the device", p->read_gbps, p->to_device_gbps)
              : "no";
        if (rates && p && p->bulk_set_min > 0)
            rates = arena_printf(st->run_arena, "%s, bulks in sets from %.0f calls", rates, p->bulk_set_min);
        if (rates && p && p->bulk_groups > 0)
            rates = arena_printf(st->run_arena,
                                 p->bulk_groups < BULK_GROUPS_ALL ? "%s, in %.0f groups" : "%s, grouped by procedure",
                                 rates, p->bulk_groups);
        const char *memory = memory_text(st->run_arena, d->memory_bytes);
        if (!rates || !memory) return err_oom(&s->err);
        TRY(statement_text_row(st, (const char *[]){d->sql_name, d->name, d->state, memory, d->detail, rates}));
    }
    return ST_OK;
}

Status session_devices(Session *s, Devices **devices, CodeCache **cache) {
    DeviceHub *h;
    TRY(hub_get(s->db, &h, &s->err));
    *devices = h->devices;
    *cache = h->cache;
    return ST_OK;
}

Status session_calibrate(Session *s, const char *device, bool quick) {
    DeviceHub *h;
    TRY(hub_get(s->db, &h, &s->err));
    Profile *p = mem_calloc(NULL, (int64_t)sizeof *p, &s->err);
    if (!p) return ST_ERROR;
    bool found, any = false;
    BulkMeasured bulks = {0};
    Status st = profile_load(s->db->vfs, NULL, p, &found, &s->err);
    if (st == ST_OK && (!device || !strcasecmp(device, "cpu"))) {
        st = profile_calibrate_cpu(s->db->pool, quick, p, &s->err);
        if (st == ST_OK) st = session_calibrate_bulks(s, NULL, quick, &bulks);
        p->cpu.bulk_set_min = bulks.set_min;
        any = true;
    }
    for (int i = 0; st == ST_OK && i < devices_count(h->devices); i++) {
        const DeviceEntry *d = devices_entry(h->devices, i);
        bool named = device && strcasecmp(device, d->sql_name) == 0;
        if (d->hidden || (device ? !named : !d->usable)) continue;
        st = profile_calibrate(h->devices, d->id, quick, p, &s->err);
        if (st == ST_OK) st = session_calibrate_bulks(s, d->sql_name, quick, &bulks);
        for (int64_t k = 0; st == ST_OK && k < p->n_devices; k++) {
            if (strcmp(p->devices[k].id, d->id) != 0) continue;
            p->devices[k].bulk_set_min = bulks.set_min;
            p->devices[k].bulk_groups = bulks.groups;
        }
        any = true;
    }
    if (st == ST_OK && !any) st = err_set(&s->err, ERR_UNDEFINED_OBJECT, "there is no device \"%s\"", device);
    if (st == ST_OK) st = profile_save(s->db->vfs, NULL, p, &s->err);
    mutex_lock(&h->lock);
    Profile *old = h->profile;
    if (st == ST_OK) {
        h->profile = p;
        p = old;
    }
    mutex_unlock(&h->lock);
    mem_free(NULL, p, (int64_t)sizeof *p);
    return st;
}

void session_device_limits(Session *s) {
    DeviceHub *h = s->db->device_hub;
    if (s->device.override) dev_runtime_limit(s->device.override, s->settings.device.memory_limit);
    if (!h) return;
    mutex_lock(&h->lock);
    for (int i = 0; i < h->n; i++) dev_runtime_limit(h->runtimes[i].runtime, s->settings.device.memory_limit);
    mutex_unlock(&h->lock);
}

/* The name of a runtime's device, as SET device has it. */
static const char *sql_name(const DeviceHub *h, DevRuntime *r) {
    const char *id = dev_runtime_device(r)->info.id;
    for (int i = 0; h && i < devices_count(h->devices); i++)
        if (strcmp(devices_entry(h->devices, i)->id, id) == 0) return devices_entry(h->devices, i)->sql_name;
    return id;
}
static bool has_copy(DevRuntime *r, const Table *t, int64_t tablet, int32_t col) {
    if (col >= 0) return dev_runtime_has(r, t, tablet, col);
    for (col = 0; col < t->n_cols; col++)
        if (dev_runtime_has(r, t, tablet, col)) return true;
    return false;
}
static Status add_copy(Session *s, Arena *a, const DeviceHub *h, DevRuntime *r, const char **names) {
    const char *name = sql_name(h, r);
    *names = *names ? arena_printf(a, "%s, %s", *names, name) : arena_strdup(a, name);
    return *names ? ST_OK : err_oom(&s->err);
}
int session_device_runtimes(const Session *s, int most, DevRuntime **out, const char **names) {
    DeviceHub *h = s->db->device_hub;
    int n = 0;
    if (s->device.override) out[n++] = s->device.override;
    if (h) mutex_lock(&h->lock);
    for (int i = 0; h && i < h->n && n < most; i++) out[n++] = h->runtimes[i].runtime;
    if (h) mutex_unlock(&h->lock);
    int own = 0;
    for (int i = 0; i < n; i++)
        if (!dev_runtime_device(out[i])->info.shares_memory) out[own++] = out[i];
    for (int i = 0; i < own; i++) names[i] = sql_name(h, out[i]);
    return own;
}
Status session_device_copies(Session *s, Arena *a, const Table *t, int64_t tablet, int32_t col, const char **names) {
    DeviceHub *h = s->db->device_hub;
    DevRuntime *own = s->device.override;
    *names = NULL;
    if (own && has_copy(own, t, tablet, col)) TRY(add_copy(s, a, h, own, names));
    if (!h) return ST_OK;
    mutex_lock(&h->lock);
    Status st = ST_OK;
    for (int i = 0; st == ST_OK && i < h->n; i++)
        if (has_copy(h->runtimes[i].runtime, t, tablet, col)) st = add_copy(s, a, h, h->runtimes[i].runtime, names);
    mutex_unlock(&h->lock);
    return st;
}

void session_device_forget(Session *s, int64_t table_id) {
    DeviceHub *h = s->db->device_hub;
    if (!h) return;
    mutex_lock(&h->lock);
    for (int i = 0; i < h->n; i++) dev_runtime_forget(h->runtimes[i].runtime, table_id);
    mutex_unlock(&h->lock);
}
