/* device_common.c - what every backend needs: compiled code's release, the error of a lost device, memory limits,
 * copies in numbers, memory that grows. */
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

Status device_finish(const Device *d, DevQueue *q, DevPoll poll, void *ctx, Err *e) {
    return d->ops->finish ? d->ops->finish(q, poll, ctx, e) : d->ops->sync(q, poll, ctx, e);
}

Status device_copy_in_many(const Device *d, DevQueue *q, const DevCopy *copies, int64_t n, Err *e) {
    if (d->ops->copy_in_many) return d->ops->copy_in_many(q, copies, n, e);
    for (int64_t i = 0; i < n; i++) TRY(d->ops->copy_in(q, copies[i].to, copies[i].from, copies[i].bytes, e));
    return ST_OK;
}

/* ---- memory ---- */
/* Whether the call that failed so is worth another try. */
static bool reclaimed(Device *d, int64_t bytes, const Err *e) {
    bool is_short = strcmp(e->sqlstate, ERR_OUT_OF_MEMORY) == 0 || strcmp(e->sqlstate, ERR_LIMIT_EXCEEDED) == 0;
    return is_short && d->reclaim && d->reclaim(d->reclaim_ctx, bytes);
}

Status device_alloc(Device *d, int64_t bytes, DevPtr *out, Err *e) {
    Err err;
    do {
        err_clear(&err);
        if (d->ops->alloc(d, bytes, out, &err) == ST_OK) return ST_OK;
    } while (reclaimed(d, bytes, &err));
    *out = 0;
    err_copy(e, &err);
    return ST_ERROR;
}

static Status span_new(Device *d, int64_t bytes, DevSpan *s, Err *e) {
    Err err;
    do {
        err_clear(&err);
        if (d->ops->span_new(d, bytes, &s->most, &s->at, &err) == ST_OK) return ST_OK;
    } while (reclaimed(d, bytes, &err));
    err_copy(e, &err);
    return ST_ERROR;
}

static Status span_grow(Device *d, const DevSpan *s, int64_t bytes, Err *e) {
    Err err;
    do {
        err_clear(&err);
        if (d->ops->span_grow(d, s->at, s->bytes, bytes, &err) == ST_OK) return ST_OK;
    } while (reclaimed(d, bytes - s->bytes, &err));
    err_copy(e, &err);
    return ST_ERROR;
}

/* ---- memory that grows ---- */
/* Addresses cost next to nothing, so they are kept for many times the bytes, up to all that the device has. */
enum { SPAN_TIMES = 64 };
#define SPAN_LEAST (INT64_C(1) << 30)

Status device_span_new(Device *d, int64_t bytes, DevSpan *s, Err *e) {
    DevSpan fresh = {.bytes = bytes};
    if (d->info.span_unit > 0 && bytes >= d->info.span_unit && bytes <= INT64_MAX / SPAN_TIMES) {
        fresh.most = MAX_OF(bytes, MIN_OF(MAX_OF(bytes * SPAN_TIMES, SPAN_LEAST), d->info.memory_bytes));
        TRY(span_new(d, bytes, &fresh, e));
    } else {
        TRY(device_alloc(d, bytes, &fresh.at, e));
    }
    *s = fresh;
    return ST_OK;
}

Status device_span_copy(Device *d, DevQueue *q, const DevSpan *from, int64_t bytes, int64_t keep, DevSpan *out,
                        Err *e) {
    TRY(device_span_new(d, bytes, out, e));
    Status st = d->ops->copy(q, out->at, from->at, keep, e), over = d->ops->sync(q, NULL, NULL, st == ST_OK ? e : NULL);
    if (st == ST_OK && over == ST_OK) return ST_OK;
    device_span_free(d, out);
    return ST_ERROR;
}

Status device_span_grow(Device *d, DevQueue *q, DevSpan *s, int64_t bytes, int64_t keep, Err *e) {
    if (bytes <= s->bytes) return ST_OK;
    if (bytes <= s->most) {
        TRY(span_grow(d, s, bytes, e));
        s->bytes = bytes;
        return ST_OK;
    }
    DevSpan fresh = {0};
    TRY(device_span_copy(d, q, s, bytes, keep, &fresh, e));
    device_span_free(d, s);
    *s = fresh;
    return ST_OK;
}

void device_span_free(Device *d, DevSpan *s) {
    if (s->most > 0) d->ops->span_free(d, s->at, s->bytes, s->most);
    else if (s->at) d->ops->free(d, s->at, s->bytes);
    *s = (DevSpan){0};
}
