/* number_functions.c - functions on numbers that sessions share: advisory locks, numbers of transactions. They look at
 * nothing of the catalog, and so need no list of its objects. pg_locks. */
#include <unistd.h>

#include "session/core/advisory.h"
#include "session/core/xact.h"
#include "session/pool/callpool.h"
#include "session/system/system_int.h"

static AdvisoryKey key_of(int n, const Value *args) {
    if (n == 1) return (AdvisoryKey){args[0].u.i64, 1};
    const uint64_t high = (uint32_t)args[0].u.i32, low = (uint32_t)args[1].u.i32;
    return (AdvisoryKey){(int64_t)(high << 32 | low), 2};
}

static const struct {
    const char *name;
    bool shared, of_txn, tries;
} locks[] = {
    {"pg_advisory_lock", false, false, false},        {"pg_advisory_lock_shared", true, false, false},
    {"pg_advisory_xact_lock", false, true, false},    {"pg_advisory_xact_lock_shared", true, true, false},
    {"pg_try_advisory_lock", false, false, true},     {"pg_try_advisory_lock_shared", true, false, true},
    {"pg_try_advisory_xact_lock", false, true, true}, {"pg_try_advisory_xact_lock_shared", true, true, true},
};
static Status lock_call(Session *s, const char *name, int n, const Value *args, Value *out, bool *known) {
    const CallPool *pool = session_call_pool(s);
    if (pool && call_pool_runs_on(pool, s)) { /* which is not the caller's */
        *known = true;
        return err_set(&s->err, ERR_FEATURE_NOT_SUPPORTED,
                       "advisory locks in calls that are collected into bulks are not supported");
    }
    for (int64_t i = 0; i < ARRAY_LEN(locks); i++) {
        if (strcmp(locks[i].name, name) != 0) continue;
        const AdvisoryWish w = {key_of(n, args), locks[i].shared, locks[i].of_txn, locks[i].tries};
        bool got;
        *known = true;
        TRY(advisory_lock(s, &w, &got));
        out->u.b = locks[i].tries && got;
        return ST_OK;
    }
    const bool shared = strcmp(name, "pg_advisory_unlock_shared") == 0;
    if ((*known = shared || strcmp(name, "pg_advisory_unlock") == 0))
        return advisory_unlock(s, key_of(n, args), shared, &out->u.b);
    if ((*known = strcmp(name, "pg_advisory_unlock_all") == 0)) return advisory_unlock_all(s);
    return ST_OK;
}
static Status xact_call(Session *s, const char *name, const Value *args, Value *out, bool *known) {
    const char *status;
    *known = true;
    if (strcmp(name, "txid_current") == 0 || strcmp(name, "pg_current_xact_id") == 0) {
        out->u.i64 = xact_number(s);
        return ST_OK;
    }
    if (strcmp(name, "txid_current_if_assigned") == 0 || strcmp(name, "pg_current_xact_id_if_assigned") == 0) {
        out->u.i64 = s->numbers.xact;
        out->is_null = s->numbers.xact == 0;
        return ST_OK;
    }
    *known = strcmp(name, "txid_status") == 0 || strcmp(name, "pg_xact_status") == 0;
    if (!*known) return ST_OK;
    TRY(xact_status(s, args[0].u.i64, &status, &s->err));
    out->is_null = !status;
    if (status) out->u.str = str_make(status, (int64_t)strlen(status));
    return ST_OK;
}

Status system_number_call(Session *s, const char *name, int n, const Value *args, Value *out, bool *known, Err *e) {
    Status st;
    *known = false;
    if (strstr(name, "_advisory_")) st = lock_call(s, name, n, args, out, known);
    else if (strncmp(name, "txid_", 5) == 0 || strstr(name, "_xact_")) st = xact_call(s, name, args, out, known);
    else return ST_OK;
    if (*known && !(strstr(name, "_if_assigned") || strstr(name, "_status"))) out->is_null = false;
    if (st != ST_OK && e != &s->err) err_copy(e, &s->err);
    return st;
}

Status system_fill_locks(Session *s, SystemRows *r) {
    AdvisoryInfo *all;
    int64_t n;
    TRY(advisory_list(s, r->c->arena, &n, &all));
    for (int64_t i = 0; i < n; i++) {
        const AdvisoryInfo *x = &all[i];
        const uint64_t number = (uint64_t)x->key.number;
        const char *own = arena_printf(r->c->arena, "%lld/0", (long long)x->session);
        const char *mode = x->shared ? "ShareLock" : "ExclusiveLock";
        if (!own) return err_oom(r->err);
        TRY(system_row(r, x->granted ? "si-----iiisisbb-" : "si-----iiisisbbi", "advisory", (int64_t)OID_DATABASE,
                       (int64_t)(number >> 32), (int64_t)(uint32_t)number, (int64_t)x->key.parts, own,
                       (int64_t)getpid(), mode, (int)x->granted, 0, x->since_micros));
    }
    return ST_OK;
}
