/* bulk_statement_locks.c - locks that calls hold by statement (codegen/emit_proc.h, Statement locks): which bulks use
 * them, the log of all changes, and what is done when a bulk has to be undone.
 *
 * They pay where calls take long and wait for each other: procedures with loops, on a device where many calls run at a
 * time, but not in timestamp order, where few calls find all their locks free (figures: docs/notes/statement-locks.md).
 * The log lies on the device, behind an index of each call's share of it.
 *
 * A bulk that was undone is run again with locks from the beginning of calls to their end. When another bulk of these
 * procedures is undone soon after, they run without for a number of bulks that doubles each time. Names of items are 32
 * bits of hashes; collisions do not undo a bulk, because a lock stands for all items of its name, and a call's
 * operations on any of them are counted together.
 */
#include "base/hash.h"
#include "base/log.h"
#include "txn/device/bulk_device_int.h"

enum {
    LOG_GUESS = 64 /* changes of a call, when nothing is known */,
    BULKS_WITHOUT = 16 /* bulks run without after an undone one; so many in a row that are not undone end that */,
    DOUBLINGS_MAX = 16
};
#define LOG_MAX (INT64_C(16) << 30)

bool bulk_statement_locks_wanted(const Bulk *b) {
    const BulkOptions *o = b->opt;
    bool loops = false;
    if (!b->device->copies || o->release == RELEASE_CALL ||
        (o->strategy != STRATEGY_AUTO && o->strategy != STRATEGY_TPL))
        return false;
    for (int32_t k = 0; k < b->n_groups; k++) {
        const Proc *p = b->groups[k].group->proc;
        if (!p->locking_body) return false;
        for (int32_t i = 0; i < p->body->n_instrs; i++) loops |= p->body->instrs[i].op == OP_P_LOOP;
    }
    return o->release == RELEASE_STATEMENT || (loops && o->any_order);
}
bool bulk_statement_locks_use(const Bulk *b) {
    const BulkCode *c = b->device->code;
    return c->module.by_statement && b->device->foot && !b->cautious &&
           (b->images->bulks >= c->past.locks_after || b->opt->release == RELEASE_STATEMENT);
}

/* ---- queues ---------------------------------------------------------------------------------------------------- */
/* Whether all operations that the procedure has on the group read. */
static bool only_reads(const Proc *p, uint32_t table, uint32_t group) {
    for (int32_t i = 0; i < p->footprint->n_instrs; i++) {
        const ItemSite *it = p->footprint->instrs[i].aux;
        if (p->footprint->instrs[i].op == OP_ITEM && it->kind <= OPK_WRITE && !it->covered && it->table == table &&
            it->group == group && it->kind != OPK_READ)
            return false;
    }
    return true;
}
/* Whether all groups that use the queue's rows come later. */
static bool comes_first(const Bulk *b, int32_t group) {
    const Proc *own = b->groups[group].group->proc;
    for (int32_t k = 0; k < b->n_groups && b->group_order[k] != group; k++) {
        const Proc *p = b->groups[b->group_order[k]].group->proc;
        for (int32_t i = 0; i < p->footprint->n_instrs; i++) {
            const ItemSite *it = p->footprint->instrs[i].aux;
            if (p->footprint->instrs[i].op == OP_ITEM && it->group == ITEM_ROWS &&
                p->tables[it->table].table_id == own->tables[own->queue].table_id)
                return false;
        }
    }
    return true;
}
/* Whether the call group's items of the queue are exactly its groups of rows: then a lock of the queue is that of one
 * group. */
static bool names_groups(const Bulk *b, int32_t group) {
    const Proc *p = b->groups[group].group->proc;
    for (int32_t i = 0; i < p->footprint->n_instrs; i++) {
        const ItemSite *it = p->footprint->instrs[i].aux;
        if (p->footprint->instrs[i].op != OP_ITEM || (int32_t)it->table != p->queue || it->group < ITEM_ROWS) continue;
        if (it->group != ITEM_ROWS || it->n != p->tables[p->queue].n_dequeue_cols - 1) return false;
    }
    return true;
}
/* Chooses the call group whose calls dequeue without waiting for each other: one at most, since a lock of the queue
 * must count nothing else. Operations on rows that a dequeued row gives a call for itself commute with each other and
 * with nothing else: they get the kind RANK_DEQUEUE. */
Status bulk_statement_locks_plan(Bulk *b, Err *e) {
    BulkDevice *v = b->device;
    for (int32_t k = 0; b->group_order && v->statement.dequeue_group < 0 &&
                        b->images->bulks >= v->code->past.dequeues_after && k < b->n_groups;
         k++)
        if (b->groups[k].group->proc->queue >= 0 && names_groups(b, k) && comes_first(b, k))
            v->statement.dequeue_group = k;
    if (v->statement.dequeue_group < 0) return ST_OK;
    const Proc *p = b->groups[v->statement.dequeue_group].group->proc;
    if (!(v->statement.dequeue_kinds = arena_array(b->arena, uint8_t, p->footprint->n_instrs + 1))) return err_oom(e);
    for (int32_t i = 0; i < p->footprint->n_instrs; i++) {
        const ItemSite *it = p->footprint->instrs[i].aux;
        v->statement.dequeue_kinds[i] = DEQUEUE_KIND_NONE;
        if (p->footprint->instrs[i].op != OP_ITEM || it->kind > OPK_WRITE) continue;
        uint8_t use = p->tables[it->table].dequeue;
        if (use == DEQUEUE_ROWS && it->group == ITEM_ROWS)
            v->statement.dequeue_kinds[i] = OPK_WRITE; /* also for calls that only read the queue */
        if ((use == DEQUEUE_KEYED || use == DEQUEUE_ADDED) && !only_reads(p, it->table, it->group))
            v->statement.dequeue_kinds[i] = RANK_DEQUEUE;
    }
    return ST_OK;
}
int64_t bulk_dequeue_table(const Bulk *b) {
    const Proc *p = b->groups[b->device->statement.dequeue_group].group->proc;
    return p->tables[p->queue].table_id;
}

uint64_t bulk_statement_lock_base(const ProgRun *pr, int32_t number) {
    const ItemSite *it = pr->proc->locks[number];
    return hash_combine(hash_u64((uint64_t)pr->proc->tables[it->table].table_id), it->group);
}

/* The next place and the end; places by call; numbers by call; changes. */
Status bulk_statement_locks_start(Bulk *b, Err *e) {
    BulkDevice *v = b->device;
    const DeviceOps *ops = v->d->ops;
    const BulkCode *c = v->code;
    int64_t head = 256, at = align_up(b->n_calls * 8, 256), count = align_up(b->n_calls * 4, 256);
    int64_t items = b->n_calls; /* each of which fills a chunk of the log at least */
    if (v->d->info.warp_functions) items = MIN_OF(items, (int64_t)v->d->info.units * PROC_UNIT_THREADS);
    int64_t chunk = (int64_t)c->module.undo_max * UNDO_ENTRY * LOG_CALLS,
            each = c->past.log_per_call > 0 ? (int64_t)c->past.log_per_call : LOG_GUESS * UNDO_ENTRY;
    int64_t entries = MIN_OF(items * chunk + b->n_calls * each, LOG_MAX);
    DevPtr p;
    TRY(bulk_device_memory(b, BM_LOG, head + at + count + entries, &p, e));
    v->statement.log = p;
    v->statement.log_at = p + (uint64_t)head;
    v->statement.log_n = v->statement.log_at + (uint64_t)at;
    v->statement.log_room[0] = v->statement.log_first = v->statement.log_n + (uint64_t)count;
    v->statement.log_room[1] = v->statement.log_room[0] + (uint64_t)entries;
    TRY(ops->copy_in(v->queue, v->statement.log, v->statement.log_room, sizeof v->statement.log_room, e));
    return ops->fill(v->queue, v->statement.log_n, 0, b->n_calls * 4, e);
}

static const char *failure_name(uint32_t kind) {
    switch (kind) {
    case PF_RAISED: return "an exception was raised";
    case PF_ROWS: return "it inserts more rows than it was given room for";
    case PF_STEPS: return "bulk_step_limit";
    case PF_ROOM: return "there was no room for texts or changes";
    case PF_NULL: return "a NULL where none may be";
    case PF_KEY: return "a key that is there already";
    default: return "an error of data";
    }
}
/* Why a bulk was undone: for the log, and for the bulk's own `why`. The first one that fits. */
#define UNDO_REASON(bit, why) \
    { UINT64_C(1) << (bit), why, why ": the bulk was undone and run again, with locks held to the end of calls" }
typedef struct UndoReason {
    uint64_t stop;
    const char *why, *text;
} UndoReason;
static const UndoReason undo_reasons[] = {
    UNDO_REASON(STOP_ROOM_BIT, "the log of changes had too little room"),
    UNDO_REASON(STOP_QUEUE_BIT, "a call that takes from a queue failed, or did something else with it than to take its "
                                "first row, or with what it has to itself by that"),
    UNDO_REASON(STOP_OVER_BIT, "a call needed an item more often than its footprint said"),
    UNDO_REASON(STOP_SPILT_BIT, "a call failed after it had given up locks"),
    UNDO_REASON(STOP_UNKNOWN_BIT, "a call failed in a way that only the virtual machine can tell"),
    UNDO_REASON(STOP_UNDO_BIT, "a call failed"),
};
static const UndoReason *reason_of(uint64_t stop) {
    size_t k = 0;
    while (k + 1 < ARRAY_LEN(undo_reasons) && (stop & undo_reasons[k].stop) == 0) k++;
    return &undo_reasons[k];
}
/* For a call that failed, the message in the log names its procedure and the line. */
static void note_undone(const Bulk *b, uint64_t stop) {
    BulkCode *c = (BulkCode *)(uintptr_t)b->device->code;
    uint32_t first = (uint32_t)(stop >> 32), number = first >> STOP_PROC_SHIFT,
             at = (first & ((1u << STOP_PROC_SHIFT) - 1)) >> 8;
    const Proc *p = at > 0 && number < (uint32_t)c->n ? c->procs[number] : NULL;
    const char *why = reason_of(stop)->why;
    c->past.undone_why = reason_of(stop)->text;
    if (p)
        log_write(LOG_INFO, "a bulk of %lld calls is undone and run again with locks held by calls: %s; %s line %d: %s",
                  (long long)b->n_calls, why, p->name,
                  at <= (uint32_t)p->body->n_instrs && p->lines ? p->lines[at - 1] : 0, failure_name(first & 255));
    else
        log_write(LOG_INFO, "a bulk of %lld calls is undone and run again with locks held by calls: %s",
                  (long long)b->n_calls, why);
}

Status bulk_statement_locks_finish(Bulk *b, Err *e) {
    BulkDevice *v = b->device;
    BulkCode *c = (BulkCode *)(uintptr_t)v->code;
    const uint64_t stop = v->control.lock_words[GS_STOP];
    double used = (double)(v->control.lock_words[GS_LOG] - v->statement.log_first) / (double)b->n_calls;
    if (stop == 0) {
        c->past.log_per_call = MAX_OF(c->past.log_per_call, used * 1.2);
        c->past.in_a_row++;
        c->past.dequeues_undone -=
            v->statement.dequeue_group >= 0 && c->past.dequeues_undone > 0 && c->past.in_a_row >= BULKS_WITHOUT;
        return ST_OK;
    }
    if (stop & 1 << STOP_ROOM_BIT) {
        c->past.log_per_call = 2 * MAX_OF(c->past.log_per_call, used);
    } else if (stop & 1 << STOP_QUEUE_BIT) { /* statement locks without dequeueing may be fine */
        c->past.dequeues_undone = MIN_OF(c->past.dequeues_undone + 1, (int64_t)DOUBLINGS_MAX);
        c->past.dequeues_after = b->images->bulks + ((int64_t)BULKS_WITHOUT << c->past.dequeues_undone);
        c->past.in_a_row = 0;
    } else if (stop & 1 << STOP_UNDO_BIT) {
        c->past.undone = c->past.in_a_row < BULKS_WITHOUT ? MIN_OF(c->past.undone + 1, (int64_t)DOUBLINGS_MAX) : 0;
        c->past.in_a_row = 0;
        if (c->past.undone > 0) c->past.locks_after = b->images->bulks + ((int64_t)BULKS_WITHOUT << c->past.undone);
    }
    note_undone(b, stop);
    TRY(bulk_foot_drop(b, e));
    v->params.values[PROC_LAUNCH_AT] = (uint64_t)b->n_calls;
    v->params.values[PROC_LAUNCH_AT + 1] = 0;
    TRY(bulk_launch(b, v->queue, v->undo_kernel, 1, e));
    TRY(v->d->ops->sync(v->queue, NULL, NULL, e));
    b->again = true;
    return ST_OK;
}

const char *bulk_device_why(const Bulk *b, const char *why) {
    const BulkCode *c = b->device->code;
    if (b->device->statement.on)
        return b->device->statement.dequeue_group >= 0
                   ? "calls with loops: locks are given up statement by statement, and rows of "
                     "a queue are taken by all at a time"
                   : "calls with loops: locks are given up statement by statement";
    if (b->cautious && c->past.undone_why) return c->past.undone_why;
    return c->module.by_statement && c->past.undone > 0 && b->device->locks.on
               ? "locks are held to the end of calls: lately a bulk had to be undone"
               : why;
}
