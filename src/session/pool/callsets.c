/* callsets.c - see callsets.h. */
#include "session/pool/callsets.h"

/* Of an entry, also when that is withdrawn or runs. */
typedef struct CallPlan {
    struct CallPlan *prev, *next;
    CallEntry *entry; /* the mutex's; NULL: withdrawn, or taken */
    uint64_t number;
    int64_t n_calls;
    bool inner; /* its calls conflict with each other */
} CallPlan;

static void plan_free(CallSets *z, CallPlan *x) {
    z->n_calls -= x->n_calls;
    mem_free(z->account, x, (int64_t)sizeof *x);
}
static void stop_waiting(CallSets *z, CallPlan *x) {
    if (x->prev) x->prev->next = x->next;
    else z->waiting = x->next;
    if (x->next) x->next->prev = x->prev;
}

/* `ops` are in the order of calls. */
static Status find_inner(const CallEntry *x, int64_t n, const TxnOp *ops, Arena *scratch, bool *inner, Err *e) {
    *inner = false;
    if (x->n < 2 || n == 0) return ST_OK;
    TxnOp *own = arena_array(scratch, TxnOp, n);
    int32_t *depth = arena_array(scratch, int32_t, x->n);
    if (!own || !depth) return err_oom(e);
    for (int64_t i = 0; i < n; i++) own[i] = (TxnOp){ops[i].item, ops[i].call - ops[0].call, ops[i].kind};
    const ScheduleInput in = {
        .n_calls = (int64_t)own[n - 1].call + 1, .n_ops = n, .ops = own, .in_order = true, .workers = 1};
    TRY(schedule_depths(&in, NULL, scratch, depth, e));
    for (int64_t i = 0; i < in.n_calls; i++) *inner |= depth[i] > 0;
    return ST_OK;
}

Status callsets_plan(CallSets *z, CallEntry *x, int64_t n_ops, const TxnOp *ops, Arena *scratch, Err *e) {
    bool inner;
    if (!z->zero && !(z->zero = zerosets_new(z->account, e))) return ST_ERROR;
    TRY(find_inner(x, n_ops, ops, scratch, &inner, e));
    CallPlan *plan = mem_alloc(z->account, (int64_t)sizeof *plan, e);
    if (!plan) return ST_ERROR;
    if (zerosets_add(z->zero, (uint64_t)x->number, plan, n_ops, ops, e) != ST_OK) {
        mem_free(z->account, plan, (int64_t)sizeof *plan);
        return ST_ERROR;
    }
    *plan = (CallPlan){.next = z->waiting, .entry = x, .number = (uint64_t)x->number, .n_calls = x->n, .inner = inner};
    if (plan->next) plan->next->prev = plan;
    z->waiting = plan;
    z->n_calls += x->n;
    x->plan = plan;
    return ST_OK;
}

void callsets_enter(CallSets *z, CallEntry *x) {
    x->next = NULL;
    x->prev = z->last;
    if (z->last) z->last->next = x;
    else z->first = x;
    z->last = x;
}
void callsets_leave(CallSets *z, CallEntry *x) {
    if (x->prev) x->prev->next = x->next;
    else z->first = x->next;
    if (x->next) x->next->prev = x->prev;
    else z->last = x->prev;
    x->plan->entry = NULL;
    x->plan = NULL;
    x->next = x->prev = NULL;
}

CallEntry *callsets_take(CallSets *z, bool *apart) {
    CallEntry *list = NULL, **end = &list;
    void *who;
    uint64_t number;
    *apart = true;
    while (z->zero && zerosets_take(z->zero, 1, &number, &who) == 1) {
        CallPlan *plan = who;
        CallEntry *x = plan->entry;
        stop_waiting(z, plan);
        if (!x) { /* withdrawn: entries that waited for it may run now, and all of them came later */
            plan_free(z, plan);
            zerosets_done(z->zero, 1, &number);
            continue;
        }
        plan->next = z->running;
        z->running = plan;
        *apart &= !plan->inner;
        callsets_leave(z, x);
        *end = x;
        end = &x->next;
    }
    return list;
}

void callsets_done(CallSets *z) {
    for (CallPlan *x; (x = z->running);) {
        uint64_t number = x->number;
        z->running = x->next;
        plan_free(z, x);
        zerosets_done(z->zero, 1, &number);
    }
}

CallEntry *callsets_clear(CallSets *z) {
    CallEntry *list = z->first;
    for (CallEntry *x = list; x; x = x->next) x->plan = NULL;
    for (CallPlan *x; (x = z->running ? z->running : z->waiting);) {
        *(z->running ? &z->running : &z->waiting) = x->next;
        plan_free(z, x);
    }
    zerosets_free(z->zero);
    *z = (CallSets){.account = z->account};
    return list;
}
void callsets_free(CallSets *z) { (void)callsets_clear(z); }
