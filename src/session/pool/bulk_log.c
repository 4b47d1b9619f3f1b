/* bulk_log.c - see bulk_log.h. */
#include "session/pool/bulk_log.h"

#include <stdio.h>

#include "base/log.h"
#include "txn/order/schedule.h"

void bulk_log_init(BulkLog *l) { mutex_init(&l->lock, RANK_BULK_LOG); }
void bulk_log_free(BulkLog *l) { mutex_destroy(&l->lock); }

void bulk_log_add(BulkLog *l, const BulkStats *s, const char *why_cut, const char *sqlstate) {
    BulkLogEntry e = {.ended_ns = clock_ns(),
                      .calls = s->n_calls,
                      .failed = s->n_failed,
                      .depth = s->depth,
                      .footprint_ns = s->footprint_ns,
                      .schedule_ns = s->schedule_ns,
                      .reserve_ns = s->reserve_ns,
                      .run_ns = s->run_ns,
                      .total_ns = s->total_ns,
                      .send_ns = s->send_ns,
                      .transfer_ns = s->transfer_ns,
                      .retries = s->n_retries,
                      .alone = !sqlstate && s->strategy == STRATEGY_SERIAL ? s->n_calls : 0,
                      .any_order = s->any_order,
                      .strategy = sqlstate ? NULL : strategy_name(s->strategy),
                      .log = s->log,
                      .why = s->why,
                      .why_cut = why_cut};
    snprintf(e.executor, sizeof e.executor, "%s", s->executor ? s->executor : "");
    snprintf(e.device, sizeof e.device, "%s", s->device ? s->device : "");
    snprintf(e.reason, sizeof e.reason, "%s", s->reason ? s->reason : "");
    snprintf(e.log_why, sizeof e.log_why, "%s", s->log_why ? s->log_why : "");
    snprintf(e.sqlstate, sizeof e.sqlstate, "%s", sqlstate ? sqlstate : "");
    mutex_lock(&l->lock);
    e.number = ++l->n;
    l->entries[e.number % BULK_LOG_MAX] = e;
    mutex_unlock(&l->lock);
}

int64_t bulk_log_list(BulkLog *l, BulkLogEntry *out, int64_t most) {
    mutex_lock(&l->lock);
    int64_t n = MIN_OF(MIN_OF(l->n, (int64_t)BULK_LOG_MAX), most);
    for (int64_t i = 0; i < n; i++) out[i] = l->entries[(l->n - i) % BULK_LOG_MAX];
    mutex_unlock(&l->lock);
    return n;
}
