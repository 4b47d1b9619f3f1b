/* bulk_order.c - bulk_order = any [GPUTx App. G]: which procedure's calls come first.
 *
 * A bulk becomes deeper each time that an item is used in another way than before: readers after adders, adders after
 * writers. When any order will do, all calls of one procedure come one after the other, and the procedures so that few
 * such changes are left: those that only read first, then always the one that begins the fewest new groups on the
 * columns that its footprint names, of equals the one that goes on with most, then one that dequeues. Calls of one
 * procedure keep their order.
 */
#include "txn/run/bulk_running.h"

enum { READS = 1 << OPK_READ, ADDS = 1 << OPK_ADD, WRITES = 1 << OPK_WRITE };

/* A group of columns of a table; how each call group uses it, and how the group placed last did. */
typedef struct Used {
    int64_t table;
    uint32_t group;
    uint8_t last, *by;
} Used;

static bool runs_on(uint8_t a, uint8_t b) { return a == b && (a == READS || a == ADDS); }
static Used *find_used(Used *used, int64_t *n, int64_t table, uint32_t group) {
    for (int64_t i = 0; i < *n; i++)
        if (used[i].table == table && used[i].group == group) return &used[i];
    used[*n] = (Used){.table = table, .group = group};
    return &used[(*n)++];
}
/* False: out of memory. */
static bool note_uses(Bulk *b, Used *used, int64_t *n) {
    for (int32_t p = 0; p < b->n_groups; p++) {
        const Proc *proc = b->groups[p].group->proc;
        for (int32_t i = 0; i < proc->footprint->n_instrs; i++) {
            const Instr *in = &proc->footprint->instrs[i];
            const ItemSite *it = in->aux;
            if (in->op != OP_ITEM || it->kind > OPK_WRITE || it->covered) continue;
            Used *u = find_used(used, n, proc->tables[it->table].table_id, it->group);
            if (!u->by && !(u->by = arena_calloc(b->arena, b->n_groups))) return false;
            u->by[p] |= (uint8_t)(1 << it->kind);
        }
    }
    return true;
}

/* Calls that dequeue need not wait for each other where no earlier call has inserted into the queue
 * (bulk_statement_locks.c).
 */
static bool dequeues_before(const Bulk *b, int32_t p, int32_t other) {
    return b->groups[p].group->proc->queue >= 0 && b->groups[other].group->proc->queue < 0;
}

Status bulk_order_groups(Bulk *b, Err *e) {
    int64_t sites = 0, n = 0, base = 0;
    for (int32_t p = 0; p < b->n_groups; p++) sites += b->groups[p].group->proc->footprint->n_instrs;
    Used *used = arena_array(b->arena, Used, sites + 1);
    bool *placed = arena_calloc(b->arena, b->n_groups + 1);
    b->group_order = arena_array(b->arena, int32_t, b->n_groups + 1);
    if (!used || !placed || !b->group_order || !note_uses(b, used, &n)) return err_oom(e);
    for (int32_t k = 0; k < b->n_groups; k++) {
        int32_t best = -1;
        int64_t least = 0;
        for (int32_t p = 0; p < b->n_groups; p++) {
            if (placed[p]) continue;
            int64_t cost = b->groups[p].group->proc->writes ? (sites + 1) * (sites + 1) : 0; /* before all else */
            for (int64_t i = 0; i < n; i++)
                if (used[i].by[p] && used[i].last) cost += runs_on(used[i].by[p], used[i].last) ? -1 : sites + 1;
            if (best >= 0 && (cost > least || (cost == least && !dequeues_before(b, p, best)))) continue;
            best = p;
            least = cost;
        }
        placed[best] = true;
        b->group_order[k] = best;
        for (int64_t i = 0; i < n; i++)
            if (used[i].by[best]) used[i].last = used[i].by[best];
        b->groups[best].calls = NULL;
        b->groups[best].base = base;
        base += b->groups[best].group->n;
    }
    return ST_OK;
}
