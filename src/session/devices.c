/* devices.c - from the settings executor and device to a device's runtime.
 *
 * The database owns one hub: the machine's devices, looked for when a session first asks, one code cache, and one runtime per device in use. Everything
 * in it lives until the database closes, so that columns stay on a device and kernels stay compiled between sessions.
 */
#include <stdio.h>
#include <strings.h>

#include "exec/device/dev.h"
#include "session/session.h"

enum { RUNTIMES_MAX = 32 };
typedef struct DeviceHub {
    Database *db;
    MemAccount account;
    pthread_mutex_t lock;
    Devices *devices;
    CodeCache *cache;
    struct { char id[32]; DevRuntime *runtime; } runtimes[RUNTIMES_MAX];
    int n;
} DeviceHub;

static void hub_free(void *p) {
    DeviceHub *h = p;
    for (int i = 0; i < h->n; i++) {
        Device *d = dev_runtime_device(h->runtimes[i].runtime);
        dev_runtime_free(h->runtimes[i].runtime);
        code_cache_drop_device(h->cache, d);
    }
    if (h->cache) code_cache_free(h->cache);
    devices_close(h->devices);
    pthread_mutex_destroy(&h->lock);
    mem_free(NULL, h, (int64_t)sizeof *h);
}

/* Sessions may come at the same time. */
static Status hub_get(Database *db, DeviceHub **out, Err *e) {
    static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&making);
    DeviceHub *h = db->device_hub;
    Status st = ST_OK;
    if (!h) {
        st = (h = mem_calloc(NULL, (int64_t)sizeof *h, e)) ? ST_OK : ST_ERROR;
        if (h) {
            h->db = db;
            mem_account_init(&h->account, &db->account, "devices", 0, NULL);
            pthread_mutex_init(&h->lock, NULL);
            if (devices_open(db->pool, &h->account, &h->devices, e) != ST_OK || code_cache_new(NULL, INT64_C(256) << 20, &h->cache, e) != ST_OK) {
                hub_free(h);
                st = ST_ERROR;
            }
        }
        if (st == ST_OK) {
            db->device_hub = h;
            db->device_hub_free = hub_free;
        }
    }
    *out = h;
    pthread_mutex_unlock(&making);
    return st;
}

static Status runtime_get(DeviceHub *h, const char *id, DevRuntime **out, Err *e) {
    Device *d;
    TRY(devices_get(h->devices, id, &d, e));
    pthread_mutex_lock(&h->lock);
    int i = 0;
    while (i < h->n && strcmp(h->runtimes[i].id, id) != 0) i++;
    Status st = ST_OK;
    if (i == h->n) {
        if (i == RUNTIMES_MAX) st = err_set(e, ERR_LIMIT_EXCEEDED, "more than %d devices are in use", (int)RUNTIMES_MAX);
        else st = dev_runtime_new(d, h->cache, &h->account, &h->runtimes[i].runtime, e);
        if (st == ST_OK) {
            snprintf(h->runtimes[i].id, sizeof h->runtimes[i].id, "%s", id);
            h->n++;
        }
    }
    if (st == ST_OK) *out = h->runtimes[i].runtime;
    pthread_mutex_unlock(&h->lock);
    return st;
}

bool device_setting_valid(const char *v) {
    if (!strcasecmp(v, "auto") || !strcasecmp(v, "cpu") || !strcasecmp(v, "null")) return true;
    const char *colon = strchr(v, ':');
    if (!colon || ((size_t)(colon - v) != 4 && (size_t)(colon - v) != 6)) return false;
    if (strncmp(v, "cuda:", 5) != 0 && strncmp(v, "opencl:", 7) != 0) return false;
    size_t digits = strspn(colon + 1, "0123456789");
    return digits > 0 && digits < 4 && !colon[1 + digits];
}

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

Status session_device_use(Session *s, DeviceUse *out) {
    const Settings *x = &s->settings;
    *out = (DeviceUse){0};
    out->interpreted = strcmp(x->executor, "interpreted") == 0;
    out->shape = strcmp(x->executor, "kernel") == 0 ? SHAPE_SPLIT : strcmp(x->executor, "pipelined") == 0 ? SHAPE_PIPELINED : SHAPE_FUSED;
    if (strcmp(x->executor, "compiled") != 0 && !out->interpreted && out->shape == SHAPE_FUSED) return ST_OK;
    if (s->device_override) out->runtime = s->device_override;
    else TRY(runtime_named(s, x->device, &out->runtime));
    atomic_store(&dev_runtime_device(out->runtime)->memory.limit, x->device_memory_limit);
    out->residence = residence_of(x->device_residence);
    out->strict = x->device_strict;
    out->wait = x->device_wait;
    out->timing = s->device_timing;
    out->pipeline = (PipelineUse){.in_turn = !x->pipelined_concurrency, .tile_rows = x->pipelined_tile_rows, .channels = x->pipelined_channels,
                                  .packet_rows = x->pipelined_packet_rows, .ring = x->pipelined_ring, .groups = x->pipelined_groups};
    out->initial_rows = x->device_initial_rows;
    return ST_OK;
}

void session_device_forget(Session *s, int64_t table_id) {
    DeviceHub *h = s->db->device_hub;
    if (!h) return;
    pthread_mutex_lock(&h->lock);
    for (int i = 0; i < h->n; i++) dev_runtime_forget(h->runtimes[i].runtime, table_id);
    pthread_mutex_unlock(&h->lock);
}
