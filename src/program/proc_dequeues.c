/* proc_dequeues.c - which procedures dequeue, and what else is then theirs alone; see proc.h, Queues.
 */
#include "program/proc.h"

/* Of a body: the variable or constant behind a register. */
typedef struct Search {
    Proc *p;
    const Program *body;
} Search;

/* The variable that the register was loaded from; -1 none. */
static int64_t var_of(const Search *o, Reg r) {
    const RegInfo *ri = &o->body->regs[r];
    if (r <= 0 || ri->is_const || ri->first < 0) return -1;
    const Instr *in = &o->body->instrs[ri->first];
    return in->op == OP_LOAD ? in->imm : -1;
}
/* Columns of the program's index, in their order; *unique: it is a key. */
static int32_t index_cols(const Proc *p, const RowKey *k, const int32_t **cols, bool *unique) {
    const ImageNeed *need = &p->tables[k->table].need;
    int32_t keys = need->table->n_keys;
    *unique = k->index < keys;
    if (*unique) return *cols = need->table->keys[k->index].cols, need->table->keys[k->index].n_cols;
    return *cols = need->groups[k->index - keys].cols, need->groups[k->index - keys].n_cols;
}
static int32_t table_of(const Instr *in) {
    switch (in->op) {
    case OP_ROW_FIND:
    case OP_ROW_FIRST:
    case OP_ROW_NEXT: return ((const RowKey *)in->aux)->table;
    case OP_ROW_GET:
    case OP_ROW_PUT:
    case OP_ROW_ADD:
    case OP_ROW_DELETE: return ((const RowCol *)in->aux)->table;
    case OP_ROW_INSERT: return ((const RowInsert *)in->aux)->table;
    default: return -1;
    }
}

/* The queue's key: by column of it, the variable. */
typedef struct QueueKey {
    int32_t n;
    const int32_t *cols;
    int64_t *vars;
} QueueKey;

static bool find_queue(const Search *o, int32_t table, QueueKey *out) {
    const RowKey *first = NULL, *by_key = NULL;
    bool deletes = false;
    for (int32_t i = 0; i < o->body->n_instrs; i++) {
        const Instr *in = &o->body->instrs[i];
        if (table_of(in) != table) continue;
        switch (in->op) {
        case OP_ROW_GET: break;
        case OP_ROW_DELETE: deletes = true; break;
        case OP_ROW_FIRST:
            if (first) return false;
            first = in->aux;
            break;
        case OP_ROW_FIND:
            if (by_key) return false;
            by_key = in->aux;
            break;
        default: return false;
        }
    }
    if (!first || !by_key || !deletes || first->order == 0 || first->bounded) return false;
    const int32_t *cols, *group;
    bool unique, group_unique;
    int32_t n = index_cols(o->p, by_key, &cols, &unique), n_group = index_cols(o->p, first, &group, &group_unique);
    if (!unique || group_unique || n != n_group + 1 || by_key->n != n || first->n != n_group) return false;
    const ImageNeed *need = &o->p->tables[table].need;
    if (need->groups[first->index - need->table->n_keys].order == 0) return false;
    out->n = n;
    out->cols = cols;
    if (!(out->vars = arena_array(o->p->arena, int64_t, n + 1))) return false;
    for (int32_t c = 0; c < n; c++) { /* the group's columns by the same variables, and the order's */
        bool same = cols[c] == first->order - 1;
        if ((out->vars[c] = var_of(o, by_key->args[c])) < 0) return false;
        for (int32_t g = 0; g < n_group; g++) same |= group[g] == cols[c] && var_of(o, first->args[g]) == out->vars[c];
        if (!same) return false;
    }
    return true;
}

/* By which columns of this table its rows have the queue's key; NULL: by none. */
static const int32_t *key_in(const Search *o, const RowKey *k, const QueueKey *q) {
    const int32_t *cols;
    bool unique;
    int32_t n = index_cols(o->p, k, &cols, &unique), *found = arena_array(o->p->arena, int32_t, q->n + 1);
    for (int32_t c = 0; found && c < q->n; c++) {
        found[c] = -1;
        for (int32_t i = 0; i < n && i < k->n && found[c] < 0; i++) {
            bool used = false;
            for (int32_t before = 0; before < c; before++) used |= found[before] == cols[i];
            if (!used && var_of(o, k->args[i]) == q->vars[c]) found[c] = cols[i];
        }
        if (found[c] < 0) return NULL;
    }
    return found;
}
static bool is_keyed(const Search *o, int32_t table, const QueueKey *q) {
    ProcTable *t = &o->p->tables[table];
    bool changes = false;
    const int32_t *all = NULL;
    for (int32_t i = 0; i < o->body->n_instrs; i++) {
        const Instr *in = &o->body->instrs[i];
        if (table_of(in) != table) continue;
        if (in->op == OP_ROW_INSERT || in->op == OP_ROW_DELETE) return false;
        changes |= in->op == OP_ROW_PUT || in->op == OP_ROW_ADD;
        if (in->op != OP_ROW_FIND && in->op != OP_ROW_FIRST) continue;
        const int32_t *found = key_in(o, in->aux, q);
        if (!found || (all && memcmp(found, all, (size_t)q->n * sizeof *found) != 0)) return false;
        all = found;
    }
    t->dequeue_cols = all;
    return changes && all;
}
static bool is_added(const Search *o, int32_t table) {
    const Table *t = o->p->tables[table].need.table;
    bool adds = false;
    for (int32_t i = 0; i < o->body->n_instrs; i++) {
        const Instr *in = &o->body->instrs[i];
        if (table_of(in) != table || in->op == OP_ROW_FIND || in->op == OP_ROW_FIRST) continue;
        const RowCol *rc = in->aux;
        if (in->op == OP_ROW_PUT && rc->only_null) continue; /* changes nothing */
        Phys phys = in->op == OP_ROW_ADD ? type_phys(t->cols[rc->col].type) : PH_BOOL;
        if ((phys != PH_I32 && phys != PH_I64) || !t->cols[rc->col].not_null) return false;
        adds = true;
    }
    return adds;
}

/* A call that may look at the first row without taking it has no place among those that take rows: its footprint reads
 * the group, where theirs write it. */
static bool always_takes(const Proc *p, int32_t table) {
    const Program *foot = p->footprint;
    for (int32_t i = 0; foot && i < foot->n_instrs; i++) {
        const ItemSite *it = foot->instrs[i].op == OP_ITEM ? foot->instrs[i].aux : NULL;
        if (it && (int32_t)it->table == table && it->kind == OPK_READ) return false;
    }
    return true;
}

void proc_find_dequeues(Proc *p) {
    Search o = {p, p->body};
    QueueKey key = {0};
    p->queue = -1;
    for (int32_t t = 0; t < p->n_tables; t++) {
        QueueKey k;
        p->tables[t].dequeue = DEQUEUE_NOT;
        if (!find_queue(&o, t, &k) || !always_takes(p, t)) continue;
        p->queue = p->queue >= 0 ? p->n_tables : t;
        key = k;
    }
    if (p->queue == p->n_tables) p->queue = -1; /* several queues: their rows are taken one call after the other */
    if (p->queue < 0) return;
    for (int32_t t = 0; t < p->n_tables; t++) {
        ProcTable *x = &p->tables[t];
        x->dequeue = t == p->queue           ? DEQUEUE_ROWS
                     : is_keyed(&o, t, &key) ? DEQUEUE_KEYED
                     : is_added(&o, t)       ? DEQUEUE_ADDED
                                             : DEQUEUE_NOT;
        x->n_dequeue_cols = x->dequeue == DEQUEUE_ROWS || x->dequeue == DEQUEUE_KEYED ? key.n : 0;
        if (x->dequeue == DEQUEUE_ROWS) x->dequeue_cols = key.cols;
    }
}
