/* registry.c - the machine's devices: see device.h for the contract.
 *
 * Drivers are asked once, when the registry is opened; what they found stays as it was. A device is opened by the first
 * devices_get that names it, under a lock of its own, so that opening one (a GPU's driver takes a good part of a
 * second) does not hold up another, and is closed with the registry. A failed opening is not remembered: the next
 * devices_get tries again.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "base/mutex.h"
#include "device/device.h"

typedef struct Slot {
    DeviceEntry entry;
    const DeviceDriver *driver;
    Mutex lock;     /* guards device */
    Device *device; /* NULL until opened */
} Slot;

struct Devices {
    Pool *pool;
    MemAccount *account;
    Slot **slots;
    int64_t n, cap;
    Err *err;                   /* of a probe that is under way */
    const DeviceDriver *driver; /* which is being probed */
};

/* In the order in which they are listed. */
static const DeviceDriver *const backends[] = {&device_driver_host, &device_driver_cuda, &device_driver_opencl,
                                               &device_driver_null};
enum { N_BACKENDS = sizeof backends / sizeof *backends };

int devices_n_backends(void) { return N_BACKENDS; }

/* "a, b <last> c", of at most N_BACKENDS names; what does not fit is cut off. */
static void put_list(char *to, size_t size, const char *last, int n, char names[][32]) {
    size_t at = 0;
    *to = 0;
    for (int i = 0; i < n && at < size; i++) {
        const char *before = i == 0 ? "" : i == n - 1 ? last : ", ";
        at += (size_t)snprintf(to + at, size - at, "%s%s", before, names[i]);
    }
}
static void list_backends(char *to, size_t size) {
    char names[N_BACKENDS][32];
    for (int i = 0; i < N_BACKENDS; i++) snprintf(names[i], sizeof names[i], "%s", backends[i]->name);
    put_list(to, size, " and ", N_BACKENDS, names);
}
void devices_list_names(char *to, size_t size) {
    char names[N_BACKENDS][32];
    int n = 0;
    for (int i = 0; i < N_BACKENDS; i++) {
        const DeviceDriver *d = backends[i];
        if (d->hidden) continue;
        if (d->sql_name) snprintf(names[n++], sizeof names[0], "%s", d->sql_name);
        else snprintf(names[n++], sizeof names[0], "%s:N", d->name);
    }
    put_list(to, size, " or ", n, names);
}

/* <name>:N, of up to 3 digits. */
static bool is_numbered(const DeviceDriver *d, const char *name) {
    size_t n = strlen(d->name);
    if (strncmp(name, d->name, n) != 0 || name[n] != ':') return false;
    size_t digits = strspn(name + n + 1, "0123456789");
    return digits > 0 && digits < 4 && !name[n + 1 + digits];
}
bool devices_name_valid(const char *sql_name) {
    for (int i = 0; i < N_BACKENDS; i++) {
        const DeviceDriver *d = backends[i];
        if (d->sql_name ? strcasecmp(d->sql_name, sql_name) == 0 : is_numbered(d, sql_name)) return true;
    }
    return false;
}

/* A driver's report; an out of memory is left in ds->err. */
static void add_entry(void *ctx, const DeviceEntry *entry) {
    Devices *ds = ctx;
    if (err_is_set(ds->err)) return;
    if (ds->n == ds->cap) {
        int64_t cap = ds->cap ? ds->cap * 2 : 8, size = (int64_t)sizeof(Slot *);
        Slot **p = mem_realloc(ds->account, ds->slots, ds->cap * size, cap * size, ds->err);
        if (!p) return;
        ds->slots = p;
        ds->cap = cap;
    }
    Slot *s = mem_calloc(ds->account, (int64_t)sizeof *s, ds->err);
    if (!s) return;
    s->entry = *entry;
    s->driver = ds->driver;
    s->entry.hidden = ds->driver->hidden;
    snprintf(s->entry.sql_name, sizeof s->entry.sql_name, "%s",
             ds->driver->sql_name ? ds->driver->sql_name : entry->id);
    mutex_init(&s->lock, RANK_DEVICE_SLOT);
    ds->slots[ds->n++] = s;
}

/* True when the comma-separated `list` has `name`. */
static bool list_has(const char *list, const char *name) {
    size_t n = strlen(name);
    for (const char *p = list; *p;) {
        size_t len = strcspn(p, ",");
        if (len == n && memcmp(p, name, n) == 0) return true;
        p += len + (p[len] == ',');
    }
    return false;
}

/* STELE_DEVICES, or NULL when all backends are wanted. */
static Status wanted_backends(const char **out, Err *e) {
    const char *list = getenv("STELE_DEVICES");
    *out = list && *list ? list : NULL;
    if (!*out) return ST_OK;
    for (const char *p = list; *p;) {
        size_t len = strcspn(p, ",");
        bool known = false;
        for (int64_t i = 0; i < ARRAY_LEN(backends); i++)
            known |= strlen(backends[i]->name) == len && memcmp(backends[i]->name, p, len) == 0;
        if (!known) {
            err_set(e, ERR_INVALID_PARAMETER, "STELE_DEVICES names an unknown backend \"%.*s\"", (int)MIN_OF(len, 64),
                    p);
            char names[256];
            list_backends(names, sizeof names);
            err_hint(e, "The backends are %s, separated by commas.", names);
            return ST_ERROR;
        }
        p += len + (p[len] == ',');
    }
    return ST_OK;
}

Status devices_open(Pool *pool, MemAccount *account, Devices **out, Err *e) {
    Err own = {0};
    *out = NULL;
    const char *wanted;
    TRY(wanted_backends(&wanted, e));
    Devices *ds = mem_calloc(account, (int64_t)sizeof *ds, e);
    if (!ds) return ST_ERROR;
    *ds = (Devices){.pool = pool, .account = account, .err = &own};
    for (int64_t i = 0; i < ARRAY_LEN(backends) && !err_is_set(&own); i++) {
        ds->driver = backends[i];
        if (!wanted || list_has(wanted, backends[i]->name)) {
            ds->driver->probe(add_entry, ds);
            continue;
        }
        DeviceEntry entry = {.kind = backends[i]->kind};
        snprintf(entry.id, sizeof entry.id, "%s", backends[i]->name);
        snprintf(entry.name, sizeof entry.name, "%s backend", backends[i]->name);
        snprintf(entry.state, sizeof entry.state, "left out by STELE_DEVICES");
        add_entry(ds, &entry);
    }
    ds->err = NULL;
    if (err_is_set(&own)) {
        err_copy(e, &own);
        devices_close(ds);
        return ST_ERROR;
    }
    *out = ds;
    return ST_OK;
}

void devices_close(Devices *ds) {
    if (!ds) return;
    for (int64_t i = 0; i < ds->n; i++) {
        Slot *s = ds->slots[i];
        if (s->device) s->device->ops->close(s->device);
        mutex_destroy(&s->lock);
        mem_free(ds->account, s, (int64_t)sizeof *s);
    }
    mem_free(ds->account, ds->slots, ds->cap * (int64_t)sizeof(Slot *));
    mem_free(ds->account, ds, (int64_t)sizeof *ds);
}

int devices_count(const Devices *ds) { return (int)ds->n; }
const DeviceEntry *devices_entry(const Devices *ds, int i) { return i >= 0 && i < ds->n ? &ds->slots[i]->entry : NULL; }

/* 42704, with the devices there are, and with the reason when the backend found none. */
static Status unknown_device(const Devices *ds, const char *id, Err *e) {
    if (e && err_is_set(e)) return err_set(e, ERR_UNDEFINED_OBJECT, "device \"%.64s\" does not exist", id);
    err_set(e, ERR_UNDEFINED_OBJECT, "device \"%.64s\" does not exist", id);
    char list[384] = "";
    size_t at = 0, backend = strcspn(id, ":");
    for (int64_t i = 0; i < ds->n; i++) {
        const DeviceEntry *d = &ds->slots[i]->entry;
        if (d->usable && !d->hidden && at < sizeof list)
            at += (size_t)snprintf(list + at, sizeof list - at, "%s%s", at ? ", " : "", d->sql_name);
        if (!d->usable && strcspn(d->id, ":") == backend && memcmp(d->id, id, backend) == 0)
            err_detail(e, "%s: %s.", d->id, d->state);
    }
    err_hint(e, "Usable devices: %s.", at ? list : "none");
    return ST_ERROR;
}

Status devices_get(Devices *ds, const char *id, Device **out, Err *e) {
    *out = NULL;
    Slot *s = NULL;
    for (int64_t i = 0; i < ds->n && !s; i++) {
        if (strcmp(ds->slots[i]->entry.id, id) == 0) s = ds->slots[i];
    }
    if (!s) return unknown_device(ds, id, e);
    if (!s->entry.usable) return err_set(e, ERR_SYSTEM, "device \"%s\" cannot be used: %s", id, s->entry.state);
    mutex_lock(&s->lock);
    Status st = s->device ? ST_OK : s->driver->open(s->entry.index, ds->pool, ds->account, &s->device, e);
    if (st == ST_OK) {
        *out = s->device;
    } else {
        s->device = NULL;
    }
    mutex_unlock(&s->lock);
    return st;
}

/* By backend: the id of its first usable device, "" none. */
static char automatic_ids[N_BACKENDS][32];
static void keep_first(void *ctx, const DeviceEntry *e) {
    char *id = ctx;
    if (e->usable && !*id) snprintf(id, sizeof automatic_ids[0], "%s", e->id);
}
static void look_for_automatic(void) {
    for (int i = 0; i < N_BACKENDS; i++)
        if (backends[i]->automatic) backends[i]->probe(keep_first, automatic_ids[i]);
}
const char *devices_automatic(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    const char *only = getenv("STELE_DEVICES");
    for (int i = 0; i < N_BACKENDS; i++) {
        if (!backends[i]->automatic || (only && *only && !list_has(only, backends[i]->name))) continue;
        pthread_once(&once, look_for_automatic);
        if (*automatic_ids[i]) return automatic_ids[i];
    }
    return NULL;
}

const DeviceEntry *devices_auto(const Devices *ds) {
    for (int64_t i = 0; i < ds->n; i++) {
        const DeviceEntry *d = &ds->slots[i]->entry;
        if (d->usable && d->gpu) return d;
    }
    return NULL;
}
