/* device_common.c - what every backend needs: compiled code's release, the error of a lost device, memory limits. */
#include <stdlib.h>

#include "device/device.h"

void dev_code_free(DevCode *c) {
    if (!c) return;
    free(c->bytes);
    free(c->log);
    *c = (DevCode){0};
}

Status device_lost(const Device *d, Err *e) {
    bool fresh = e && !err_is_set(e);
    err_set(e, ERR_SYSTEM, "device \"%s\" was lost", d->info.id);
    if (fresh) err_hint(e, "The device stays unusable until the database is opened again.");
    return ST_ERROR;
}

Status device_charge(Device *d, int64_t bytes, Err *e) {
    if (LIKELY(bytes >= 0 && mem_try_charge(&d->memory, bytes))) return ST_OK;
    int64_t used = atomic_load(&d->memory.used), limit = atomic_load(&d->memory.limit);
    if (bytes >= 0 && (limit <= 0 || bytes <= limit - used))
        return mem_charge(&d->memory, bytes, e); /* a parent refused: its words */
    bool fresh = e && !err_is_set(e);
    err_set(e, ERR_OUT_OF_MEMORY, "out of memory on device \"%s\"", d->info.id);
    if (fresh) {
        err_detail(e, "Failed on a request of %lld bytes: %lld of %lld bytes are in use.", (long long)bytes,
                   (long long)used, (long long)(limit > 0 ? limit : d->info.memory_bytes));
        if (limit > 0)
            err_hint(e, "Consider increasing the setting \"%s\".",
                     d->memory.setting ? d->memory.setting : "device_memory_limit");
    }
    return ST_ERROR;
}
