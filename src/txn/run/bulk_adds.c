/* bulk_adds.c - which additions of a bulk commute.
 *
 * An add commutes when no order of the bulk's adds can leave the column's range. For each column that procedures add
 * to, no |value| is greater than a bound that is kept (by a scan at first, then from what is put there and the sums of
 * what is added), and the footprint sums |amount|. If both together, and what statements of this bulk may put there,
 * stay in range, ROW_ADD is an atomic addition. Otherwise the footprints run again with these adds as writes, and
 * ROW_ADD checks each sum.
 */
#include "txn/run/bulk_running.h"

static int128_t magnitude(int128_t v) { return v < 0 ? -v : v; }

/* No |value| that statements of the bulk put there is greater. */
static int128_t put_bound(const Program *p, Reg r) {
    const RegInfo *ri = &p->regs[r];
    if (r == 0 || (ri->is_const && ri->value.is_null)) return 0;
    if (ri->has_range) return MAX_OF(magnitude(ri->min), magnitude(ri->max));
    return ri->phys == PH_I16 ? (int128_t)1 << 15 : ri->phys == PH_I32 ? (int128_t)1 << 31 : INT128_MAX;
}

static bool adds_with_amount(const Proc *proc, int64_t table_id, int32_t col) {
    const Program *p = proc->footprint;
    for (int32_t i = 0; i < proc->n_unbounded; i++)
        if (proc->unbounded[i].col == col && proc->tables[proc->unbounded[i].table].table_id == table_id) return false;
    for (int32_t i = 0; i < p->n_instrs; i++) {
        const ItemSite *it = p->instrs[i].aux;
        if (p->instrs[i].op == OP_ITEM && it->kind == OPK_ADD && it->has_amount && it->col == col &&
            proc->tables[it->table].table_id == table_id)
            return true;
    }
    return false;
}

/* What the bulk's statements may put into a column; INT128_MAX: anything, or an addition that no footprint bounds. */
static int128_t bulk_puts(const Bulk *b, int64_t table_id, int32_t col) {
    int128_t most = 0;
    for (int32_t k = 0; k < b->n_groups; k++) {
        const Proc *proc = b->groups[k].group->proc;
        const Program *p = proc->body;
        for (int32_t i = 0; i < p->n_instrs; i++) {
            const Instr *in = &p->instrs[i];
            int128_t v = 0;
            if (in->op == OP_ROW_PUT || in->op == OP_ROW_ADD) {
                const RowCol *rc = in->aux;
                if (rc->col != col || proc->tables[rc->table].table_id != table_id) continue;
                if (rc->only_null || (rc->bounded && adds_with_amount(proc, table_id, col))) continue;
                if (in->op == OP_ROW_ADD) v = adds_with_amount(proc, table_id, col) ? 0 : INT128_MAX;
                else v = put_bound(p, in->b);
            } else if (in->op == OP_ROW_INSERT) {
                const RowInsert *ins = in->aux;
                if (proc->tables[ins->table].table_id != table_id || col >= ins->n) continue;
                v = put_bound(p, ins->args[col]);
            }
            most = MAX_OF(most, v);
        }
    }
    return most;
}

bool bulk_may_share(const Bulk *b, const ImageEntry *x, int32_t col) {
    return x->image->cols[col].phys != PH_I128 && bulk_puts(b, x->table_id, col) < x->cols[col].hi;
}

static int128_t scan_bound(const Image *im, int32_t col) {
    const ImageColumn *ic = &im->cols[col];
    int64_t n = atomic_load(&im->rows);
    int64_t lo = 0, hi = 0;
    int128_t wide = 0;
#define SCAN(T)                                            \
    for (int64_t i = 0; i < n; i++) {                      \
        if (im->live[i] != ROW_LIVE) continue;             \
        T v = *(const T *)(const void *)image_cell(ic, i); \
        lo = MIN_OF(lo, v);                                \
        hi = MAX_OF(hi, v);                                \
    }                                                      \
    break
    switch (ic->phys) {
    case PH_I16: SCAN(int16_t);
    case PH_I32: SCAN(int32_t);
    case PH_I64: SCAN(int64_t);
    default:
        for (int64_t i = 0; i < n; i++)
            if (im->live[i] == ROW_LIVE)
                wide = MAX_OF(wide, magnitude(*(const int128_t *)(const void *)image_cell(ic, i)));
    }
#undef SCAN
    return MAX_OF(wide, MAX_OF(magnitude(lo), (int128_t)hi));
}

/* Gives slots to the other columns that bulks add to, whose bounds must be kept as well. */
static void number_tracked(Bulk *b) {
    for (int64_t i = 0; i < b->images->n; i++) {
        ImageEntry *x = &b->images->entries[i];
        for (int32_t c = 0; x->image && c < x->image->n_cols; c++)
            if (x->cols[c].tracked && x->cols[c].slot < 0) x->cols[c].slot = b->foot.n_sums++;
    }
}

static Status make_sums(Bulk *b, Err *e) {
    for (int i = 0; i < b->workers; i++) {
        CallSink *k = &b->w[i].sink;
        k->sums = arena_array(b->arena, uint128_t, b->foot.n_sums + 1);
        k->bounds = arena_array(b->arena, int128_t, b->foot.n_sums + 1);
        if (!k->sums || !k->bounds) return err_oom(e);
    }
    return ST_OK;
}

/* ---- what conflicts with nothing ---- */
/* What calls of the bulk do to items of a group of columns, as bits 1 << OPK_*. */
typedef struct GroupUse {
    int64_t table_id;
    uint32_t group;
    uint32_t kinds;
} GroupUse;
static uint32_t kind_here(const ProgRun *pr, int32_t pc) {
    const ItemSite *it = pr->p->instrs[pc].aux;
    if (it->kind > OPK_WRITE || it->covered) return 0;
    if (it->kind == OPK_ADD && pr->add_slot[pc] == ADD_EXCLUSIVE) return 1u << OPK_WRITE;
    return 1u << it->kind;
}
static GroupUse *use_of(GroupUse *uses, int64_t *n, int64_t table_id, uint32_t group) {
    int64_t i = 0;
    while (i < *n && (uses[i].table_id != table_id || uses[i].group != group)) i++;
    if (i == *n) uses[(*n)++] = (GroupUse){.table_id = table_id, .group = group};
    return &uses[i];
}
static bool is_item(const ProgRun *pr, int32_t pc) { return pr->p->instrs[pc].op == OP_ITEM; }
static GroupUse *use_at(GroupUse *uses, int64_t *n, const ProgRun *pr, int32_t pc) {
    const ItemSite *it = pr->p->instrs[pc].aux;
    return use_of(uses, n, pr->proc->tables[it->table].table_id, it->group);
}
/* Two operations conflict only on one item, so of one table and group. Where all calls of the bulk only read, or only
 * add what commutes, none is needed for the order; TPC-B has no others. Without memory all are made. */
static void leave_out(Bulk *b) {
    enum { CALLS_LEAST = 64 }; /* for fewer it does not pay to look at all procedures */
    const bool may = !b->writes_only && !b->foot.all_ops && b->n_calls >= CALLS_LEAST &&
                     b->opt->strategy != STRATEGY_PART && !(b->device && bulk_statement_locks_wanted(b));
    int64_t sites = 0, n = 0;
    for (int32_t k = 0; k < b->n_groups; k++) {
        const ProgRun *pr = b->groups[k].proc->foot;
        memset(pr->left_out, 0, (size_t)pr->p->n_instrs);
        for (int32_t i = 0; i < pr->p->n_instrs; i++) sites += is_item(pr, i);
    }
    GroupUse *uses = may ? arena_array(b->arena, GroupUse, sites + 1) : NULL;
    for (int32_t k = 0; uses && k < b->n_groups; k++) {
        const ProgRun *pr = b->groups[k].proc->foot;
        for (int32_t i = 0; i < pr->p->n_instrs; i++)
            if (is_item(pr, i)) use_at(uses, &n, pr, i)->kinds |= kind_here(pr, i);
    }
    for (int32_t k = 0; uses && k < b->n_groups; k++) {
        const ProgRun *pr = b->groups[k].proc->foot;
        for (int32_t i = 0; i < pr->p->n_instrs; i++) {
            if (!is_item(pr, i) || !kind_here(pr, i)) continue;
            const uint32_t kinds = use_at(uses, &n, pr, i)->kinds;
            pr->left_out[i] = kinds == 1u << OPK_READ || kinds == 1u << OPK_ADD;
        }
    }
}
/* True: some operations were left out that are needed after all. */
static bool null_amounts(Bulk *b) {
    bool some = false;
    for (int i = 0; i < b->workers; i++) some |= b->w[i].sink.null_amount;
    if (some && b->foot.all_ops) return false; /* as it was found before */
    b->foot.all_ops |= some;
    return some;
}

/* ---- additions ---- */
/* Columns with adds get slots; what is known not to commute is planned as writes from the beginning. */
Status bulk_plan_adds(Bulk *b, Err *e) {
    b->foot.n_sums = 0;
    for (int32_t k = 0; k < b->n_groups; k++) {
        ProgRun *pr = b->groups[k].proc->foot;
        for (int32_t i = 0; i < pr->p->n_instrs; i++) {
            pr->add_slot[i] = -1;
            const ItemSite *it = pr->p->instrs[i].aux;
            if (pr->p->instrs[i].op != OP_ITEM || it->kind != OPK_ADD || (it->group >= ITEM_ROWS && !it->has_amount))
                continue;
            pr->add_slot[i] = ADD_EXCLUSIVE;
            if (!it->has_amount) continue;
            TableUse *t = &pr->tables[it->table];
            ColumnUse *u = &t->cols[it->col];
            ImageEntry *x = images_entry(b->images, pr->proc->tables[it->table].table_id);
            if (t->image->cols[it->col].phys == PH_I128) continue; /* there is no atomic addition for it */
            if (!u->tracked || u->slot < 0) {
                u->tracked = true;
                u->slot = b->foot.n_sums++;
                u->shared = !b->writes_only && bulk_may_share(b, x, it->col);
                if (u->shared && x->bound[it->col] < 0) x->bound[it->col] = scan_bound(x->image, it->col);
            }
            if (u->shared) pr->add_slot[i] = u->slot;
        }
    }
    b->foot.all_ops = false;
    leave_out(b);
    number_tracked(b);
    return make_sums(b, e);
}

static int128_t column_sum(const Bulk *b, int32_t slot) {
    uint128_t sum = 0;
    for (int i = 0; i < b->workers; i++) sum = MIN_OF(sum + b->w[i].sink.sums[slot], (uint128_t)INT128_MAX);
    return (int128_t)sum;
}

/* A new bound, by a scan where the newest copy is. */
static bool look_again(ImageEntry *x, int32_t col) {
    uint64_t most;
    if (!device_copy_newer(x->image)) return x->bound[col] = scan_bound(x->image, col), true;
    if (!device_copy_bound(x->image, col, &most)) return false;
    return x->bound[col] = (int128_t)most, true;
}

/* Slots of columns that calls may add to whose footprints failed: the sum is not known. */
static bool in_failed(const Bulk *b, int32_t slot) {
    for (int32_t k = 0; atomic_load(&b->alone) && k < b->n_groups; k++) {
        const ProgRun *foot = b->groups[k].proc->foot;
        bool adds = false, failed = false;
        for (int32_t i = 0; i < foot->p->n_instrs && !adds; i++) adds = foot->add_slot[i] == slot;
        for (int64_t i = 0; adds && !failed && i < b->groups[k].group->n; i++)
            failed = b->foot.failed[group_call(&b->groups[k], i)] != 0;
        if (failed) return true;
    }
    return false;
}

/* Columns whose adds may leave the range are planned as writes. True: some were not before, or operations that were
 * left out are needed. */
bool bulk_demote_adds(Bulk *b) {
    bool any = null_amounts(b);
    for (int64_t i = 0; i < b->images->n; i++) {
        ImageEntry *x = &b->images->entries[i];
        for (int32_t c = 0; x->image && c < x->image->n_cols; c++) {
            ColumnUse *u = &x->cols[c];
            if (!u->tracked || u->slot < 0 || !u->shared) continue;
            int128_t sum = column_sum(b, u->slot), puts = bulk_puts(b, x->table_id, c);
            if (in_failed(b, u->slot)) u->shared = false;
            for (int pass = 0; pass < 2 && u->shared;
                 pass++) { /* a bound that grew with the sums may be far too large: scan again */
                int128_t bound = MAX_OF(x->bound[c], puts);
                if (sum <= u->hi - bound) break;
                if (pass == 1 || puts == bound || !look_again(x, c)) u->shared = false;
            }
            if (u->shared) continue;
            any = true;
            for (int32_t k = 0; k < b->n_groups; k++)
                for (int32_t pc = 0; pc < b->groups[k].proc->foot->p->n_instrs; pc++)
                    if (b->groups[k].proc->foot->add_slot[pc] == u->slot)
                        b->groups[k].proc->foot->add_slot[pc] = ADD_EXCLUSIVE;
        }
    }
    if (any) leave_out(b);
    return any;
}

/* Without footprints every addition is checked; what is tracked stays so. */
Status bulk_plan_alone(Bulk *b, Err *e) {
    b->foot.n_sums = 0;
    number_tracked(b);
    return make_sums(b, e);
}

void bulk_forget_adds(Bulk *b) {
    for (int64_t i = 0; i < b->images->n; i++) {
        ImageEntry *x = &b->images->entries[i];
        for (int32_t c = 0; x->image && c < x->image->n_cols; c++) {
            x->cols[c].slot = -1;
            x->cols[c].shared = false;
        }
    }
}
/* Tables whose columns are tracked have to look at what is inserted. */
void bulk_track_inserts(Bulk *b) {
    for (int32_t k = 0; k < b->n_groups; k++) {
        ProgRun *pr = b->groups[k].proc->body;
        for (int32_t i = 0; i < pr->proc->n_tables; i++)
            for (int32_t c = 0; c < pr->tables[i].image->n_cols; c++)
                pr->tables[i].tracks_inserts |= pr->tables[i].cols[c].tracked;
    }
}
void bulk_note_bounds(Bulk *b) {
    for (int64_t i = 0; i < b->images->n; i++) {
        ImageEntry *x = &b->images->entries[i];
        for (int32_t c = 0; x->image && c < x->image->n_cols; c++) {
            ColumnUse *u = &x->cols[c];
            if (!u->tracked || u->slot < 0 || x->bound[c] < 0) continue;
            for (int k = 0; k < b->workers; k++) x->bound[c] = MAX_OF(x->bound[c], b->w[k].sink.bounds[u->slot]);
            if (u->shared) x->bound[c] += column_sum(b, u->slot);
        }
    }
}

/* Whether the register may be NULL in this bulk: false only when it is computed from arguments without NULLs. */
static bool may_be_null(const CallGroupRun *group, const Program *p, Reg r, int depth) {
    const RegInfo *ri = &p->regs[r];
    if (r == 0 || !ri->nullable || ri->is_const) return r != 0 && ri->is_const && ri->value.is_null;
    const Instr *in = &p->instrs[ri->first];
    if (in->op == OP_LOAD) {
        for (int32_t i = 0; i < p->n_instrs; i++)
            if (p->instrs[i].op == OP_STORE && p->instrs[i].imm == in->imm) return true;
        if (in->imm >= group->proc->proc->n_params) return true;
        const Vec *v = &group->group->params[in->imm];
        return v->valid && memchr(v->valid, 0, v->is_const ? 1 : (size_t)group->group->n);
    }
    if (op_info[in->op].nulls != NN || depth > 8) return true;
    return may_be_null(group, p, in->a, depth + 1) || may_be_null(group, p, in->b, depth + 1) ||
           may_be_null(group, p, in->c, depth + 1);
}

/* Additions that are checked may fail, as may those of a NULL where none may be, and then what the call did before has
 * to be undone. */
void bulk_plan_undo(Bulk *b) {
    for (int32_t k = 0; k < b->n_groups; k++) {
        ProgRun *pr = b->groups[k].proc->body;
        pr->undo = pr->must_undo || b->fetch_adds || b->opt->logged;
        for (int32_t i = 0; pr->proc->undo_adds && !pr->undo && i < pr->p->n_instrs; i++) {
            const RowCol *rc = pr->p->instrs[i].aux;
            if (pr->p->instrs[i].op != OP_ROW_ADD) continue;
            const TableUse *t = &pr->tables[rc->table];
            pr->undo = !t->cols[rc->col].shared ||
                       (!t->image->cols[rc->col].valid && may_be_null(&b->groups[k], pr->p, pr->p->instrs[i].b, 0));
        }
    }
}
