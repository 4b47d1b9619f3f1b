/* bulk_fetch_adds.c - calls of a set with fetch-adds of one item (proc.h, Fetch-adds).
 *
 * The schedule lets fetch-adds of an item share a set, and puts no later call into an earlier set (OPK_FETCH_ADD). So
 * for each set and item there is a sequence of calls in timestamp order, whose amounts are known from their footprints:
 * the prefix sums of the amounts are what each call finds beyond the cell's value at the set's beginning [a segmented
 * prefix sum over (set, item, timestamp)]. The cell stays as it is while the set runs, so the order of execution does
 * not matter; the whole sum is added at the set's end.
 *
 * An INSERT whose key is not known before the call runs, in a procedure with fetch-adds, most often has the fetched
 * number as its key: such inserts share sets as well.
 *
 * All this is speculation. At the set's end each call must have added the amount of its footprint, to the item's one
 * row; and inserts that failed for a key that was there, or that were undone, must have had the only outcome that is
 * possible in timestamp order. Then, by induction over the calls in timestamp order, each has seen what it would have
 * seen one after the other. Else the bulk is undone by the logs of its calls and run again without fetch-adds. (Not the
 * set alone: rows that were inserted stay in the indexes, where they must not come again with other keys; another run
 * gives them other numbers.) When another bulk of these procedures is undone soon after, they run without for a number
 * of bulks that doubles each time.
 *
 * Row numbers of inserts are in the order of calls, so they give the order of two inserts.
 */
#include "base/hash.h"
#include "base/log.h"
#include "txn/run/bulk_running.h"

enum {
    BULKS_WITHOUT = 16 /* bulks run without after an undone one; so many in a row that are not undone end that */,
    DOUBLINGS_MAX = 16
};
#define NO_SEGMENT UINT32_MAX

/* Fetch-adds of an item by calls of a set, in timestamp order. */
typedef struct FetchAddSegment {
    int64_t start, n; /* in BulkFetchAdds.cells */
    Image *image;
    int32_t col;
    bool mixed; /* two items have one name, or sums are too large */
} FetchAddSegment;
typedef struct BulkFetchAdds {
    int64_t n_segments; /* of two calls or more, by set */
    FetchAddSegment *segments;
    FetchAddCell **cells;
    int64_t *set_segment; /* first segment of each set */
    uint8_t *ends;        /* by set: it has an end */
    uint32_t *set_of;     /* by call */
    int64_t ended;        /* sets before this one that have one are through */
    _Atomic bool failed;  /* a call did not do as planned: no more calls run */
} BulkFetchAdds;

/* ---- planning ---- */
void bulk_forget_fetch_adds(Bulk *b) {
    b->fetch_adds = NULL;
    for (int32_t p = 0; p < b->n_groups; p++) {
        ProcEntry *x = b->groups[p].proc;
        x->body->fetch_adds = NULL;
        if (x->foot) x->foot->fetch_adds = NULL;
    }
}
void bulk_plan_fetch_adds(Bulk *b) {
    if (b->device || b->cautious || b->opt->logged ||
        (b->opt->strategy != STRATEGY_AUTO && b->opt->strategy != STRATEGY_KSET))
        return;
    for (int32_t p = 0; p < b->n_groups; p++) {
        const CallGroup *group = b->groups[p].group;
        const Proc *proc = group->proc;
        ProcEntry *x = b->groups[p].proc;
        if (!proc->some_fetch_adds ||
            (b->opt->strategy == STRATEGY_AUTO && x->fetch_adds_wait > 0 && x->fetch_adds_wait-- > 0))
            continue;
        FetchAddUse *use = arena_array(b->arena, FetchAddUse, proc->n_fetch_adds);
        bool room = use != NULL;
        for (int32_t t = 0; room && t < proc->n_fetch_adds; t++)
            room = !proc->fetch_adds[t].planned ||
                   (use[t].cells = arena_alloc(b->arena, (group->n + 1) * (int64_t)sizeof(FetchAddCell)));
        if (room) x->body->fetch_adds = x->foot->fetch_adds = use;
    }
}
void bulk_clear_fetch_adds(Bulk *b) {
    for (int32_t p = 0; p < b->n_groups; p++) {
        const FetchAddUse *use = b->groups[p].proc->foot->fetch_adds;
        for (int32_t t = 0; use && t < b->groups[p].group->proc->n_fetch_adds; t++)
            if (use[t].cells) memset(use[t].cells, 0, (size_t)b->groups[p].group->n * sizeof(FetchAddCell));
    }
}

/* ---- which calls share an item ---- */
typedef struct FetchAddOp {
    FetchAddCell *cell;
    uint32_t call, segment;
} FetchAddOp;
/* While calls are gone through in the order of time: an item's last set, and its segment there. */
typedef struct FetchAddItem {
    uint64_t item;
    uint32_t set, segment;
} FetchAddItem;
typedef struct Sharing {
    Bulk *b;
    BulkFetchAdds *t;
    int64_t n; /* fetch-adds */
    FetchAddOp *ops;
    int64_t n_segments; /* those of one call too */
    FetchAddSegment *segments;
    uint32_t *set, *last; /* by segment: its set; its last call */
    bool *shared;
    int64_t slots;
    FetchAddItem *items;
} Sharing;

static bool inserts_beside(const Proc *p) {
    for (int32_t i = 0; i < p->footprint->n_instrs; i++)
        if (p->footprint->instrs[i].op == OP_ITEM && ((const ItemSite *)p->footprint->instrs[i].aux)->insert)
            return true;
    return false;
}
static const FetchAddUse *fetch_adds_of(const Bulk *b, int32_t group) {
    return b->groups[group].proc->foot->fetch_adds;
}

/* Adds a fetch-add, behind all of earlier calls. */
static void add_op(Sharing *s, uint32_t call, FetchAddCell *cell, Image *im, int32_t col) {
    const uint32_t set = s->t->set_of[call];
    FetchAddItem *x = &s->items[hash_u64(cell->item) & (uint64_t)(s->slots - 1)];
    while (x->segment != NO_SEGMENT && x->item != cell->item)
        if (++x == s->items + s->slots) x = s->items;
    if (x->segment == NO_SEGMENT || x->set != set) {
        *x = (FetchAddItem){cell->item, set, (uint32_t)s->n_segments};
        s->segments[s->n_segments] = (FetchAddSegment){.image = im, .col = col};
        s->set[s->n_segments] = set;
        s->last[s->n_segments++] = call;
    }
    FetchAddSegment *g = &s->segments[x->segment];
    g->n++;
    g->mixed |= g->image != im || g->col != col;
    s->shared[x->segment] |= s->last[x->segment] != call;
    s->last[x->segment] = call;
    s->ops[s->n++] = (FetchAddOp){cell, call, x->segment};
}
static Status find_segments(Sharing *s, Err *e) {
    Bulk *b = s->b;
    int64_t most = 0;
    for (int32_t p = 0; p < b->n_groups; p++)
        for (int32_t t = 0; fetch_adds_of(b, p) && t < b->groups[p].group->proc->n_fetch_adds; t++)
            most += fetch_adds_of(b, p)[t].cells ? b->groups[p].group->n : 0;
    for (s->slots = 16; s->slots < 2 * most;) s->slots *= 2;
    s->ops = arena_alloc(b->arena, (most + 1) * (int64_t)sizeof(FetchAddOp));
    s->segments = arena_alloc(b->arena, (most + 1) * (int64_t)sizeof(FetchAddSegment));
    s->set = arena_alloc(b->arena, (most + 1) * 4);
    s->last = arena_alloc(b->arena, (most + 1) * 4);
    s->shared = arena_calloc(b->arena, most + 1);
    s->items = arena_alloc(b->arena, s->slots * (int64_t)sizeof(FetchAddItem));
    if (!s->ops || !s->segments || !s->set || !s->last || !s->shared || !s->items) return err_oom(e);
    for (int64_t i = 0; i < s->slots; i++) s->items[i].segment = NO_SEGMENT;
    for (int64_t call = 0; call < b->n_calls; call++) {
        const int32_t group = bulk_type(b, (uint32_t)call);
        const FetchAddUse *use = fetch_adds_of(b, group);
        const Proc *proc = b->groups[group].group->proc;
        const int64_t pos = b->pos_of ? b->pos_of[call] : call;
        for (int32_t k = 0; use && k < proc->n_fetch_adds; k++) {
            FetchAddCell *x = use[k].cells ? &use[k].cells[pos] : NULL;
            if (x && x->known)
                add_op(s, (uint32_t)call, x, b->groups[group].proc->body->tables[proc->fetch_adds[k].table].image,
                       proc->fetch_adds[k].col);
        }
    }
    return ST_OK;
}
/* The prefix sums of a segment. */
static void sum_up(FetchAddSegment *g, FetchAddCell **cells) {
    int64_t sum = 0;
    for (int64_t i = g->start; i < g->start + g->n; i++) {
        FetchAddCell *x = cells[i];
        x->before = sum;
        g->mixed |= __builtin_add_overflow(sum, x->amount, &sum);
    }
}
/* Segments of several calls, by set. */
static Status keep_shared(Sharing *s, Err *e) {
    Bulk *b = s->b;
    BulkFetchAdds *t = s->t;
    const int64_t n_sets = b->schedule.n_sets;
    int64_t *number = arena_alloc(b->arena, (s->n_segments + 1) * 8), at = 0;
    t->set_segment = arena_array(b->arena, int64_t, n_sets + 2);
    t->segments = arena_alloc(b->arena, (s->n_segments + 1) * (int64_t)sizeof(FetchAddSegment));
    t->cells = arena_alloc(b->arena, (s->n + 1) * (int64_t)sizeof(FetchAddCell *));
    if (!number || !t->set_segment || !t->segments || !t->cells) return err_oom(e);
    int64_t *next =
        t->set_segment + 1; /* of set k: where its next segment goes; in the end, where the set after it begins */
    for (int64_t i = 0; i < s->n_segments; i++)
        if (s->shared[i] && s->set[i] + INT64_C(1) < n_sets) next[s->set[i] + 1]++;
    for (int64_t k = 1; k < n_sets; k++) next[k] += next[k - 1];
    for (int64_t i = 0; i < s->n_segments; i++) {
        if (!s->shared[i]) continue;
        number[i] = next[s->set[i]]++;
        t->segments[number[i]] = s->segments[i];
        t->ends[s->set[i]] = true;
        t->n_segments++;
    }
    for (int64_t i = 0; i < t->n_segments; i++) {
        t->segments[i].start = at;
        at += t->segments[i].n;
        t->segments[i].n = 0;
    }
    for (int64_t i = 0; i < s->n; i++) {
        FetchAddOp *x = &s->ops[i];
        if (!s->shared[x->segment]) continue;
        FetchAddSegment *g = &t->segments[number[x->segment]];
        x->cell->shared = true;
        t->cells[g->start + g->n++] = x->cell;
    }
    for (int64_t i = 0; i < t->n_segments; i++) sum_up(&t->segments[i], t->cells);
    return ST_OK;
}
/* Sets with several calls whose inserts commute. */
static Status find_inserts(Sharing *s, Err *e) {
    const Bulk *b = s->b;
    bool *inserts = arena_array(b->arena, bool, b->n_groups + 1), any = false;
    if (!inserts) return err_oom(e);
    for (int32_t p = 0; p < b->n_groups; p++)
        any |= inserts[p] = fetch_adds_of(b, p) && inserts_beside(b->groups[p].group->proc);
    for (int64_t k = 0; any && k < b->schedule.n_sets; k++) {
        int n = 0;
        for (int64_t i = b->schedule.set_start[k]; i < b->schedule.set_start[k + 1] && n < 2; i++)
            n += inserts[bulk_type(b, b->schedule.order[i])];
        s->t->ends[k] |= n > 1;
    }
    return ST_OK;
}
bool bulk_fetch_adds_planned(const Bulk *b) {
    for (int32_t p = 0; p < b->n_groups; p++)
        if (b->groups[p].proc->foot && fetch_adds_of(b, p)) return true;
    return false;
}
Status bulk_share_fetch_adds(Bulk *b, Err *e) {
    if (!bulk_fetch_adds_planned(b) || b->schedule.strategy != STRATEGY_KSET) return bulk_forget_fetch_adds(b), ST_OK;
    BulkFetchAdds *t = arena_new_of(b->arena, BulkFetchAdds);
    if (!t || !(t->ends = arena_calloc(b->arena, b->schedule.n_sets + 1)) ||
        !(t->set_of = arena_alloc(b->arena, (b->n_calls + 1) * 4)))
        return err_oom(e);
    for (int64_t k = 0; k < b->schedule.n_sets; k++)
        for (int64_t i = b->schedule.set_start[k]; i < b->schedule.set_start[k + 1]; i++)
            t->set_of[b->schedule.order[i]] = (uint32_t)k;
    Sharing s = {.b = b, .t = t};
    TRY(find_segments(&s, e));
    TRY(keep_shared(&s, e));
    TRY(find_inserts(&s, e));
    if (!memchr(t->ends, true, (size_t)b->schedule.n_sets)) return bulk_forget_fetch_adds(b), ST_OK;
    b->fetch_adds = t;
    return ST_OK;
}

/* ---- the end of a set ---- */
bool bulk_set_fetch_adds(const Bulk *b, int64_t set) { return b->fetch_adds && b->fetch_adds->ends[set]; }

void bulk_drop_fetch_adds(const CallFrame *c) {
    const FetchAddUse *use = c->pr->fetch_adds;
    for (int32_t t = 0; use && t < c->pr->proc->n_fetch_adds; t++)
        for (int64_t i = 0; use[t].cells && i < c->n; i++)
            if (c->goes[i] == GO_FAILED) use[t].cells[call_number(c, i)].fetched = FETCHED_NOTHING;
}

/* Whether all calls have added what was planned, to one row. */
static bool came_out(const FetchAddSegment *g, FetchAddCell *const *cells) {
    const int64_t row = cells[g->start]->row;
    bool all = !g->mixed && row >= 0;
    for (int64_t i = g->start; i < g->start + g->n; i++)
        all &= cells[i]->fetched == FETCHED_AS_PLANNED && cells[i]->row == row;
    return all;
}
/* Whether the row would not have been inserted, or would have been undone, in timestamp order too: no earlier call has
 * left a row with a key that is checked before, or some call has with the key that was there. */
static bool key_came_out(const KeyDoubt *d) {
    const Image *im = d->image;
    for (int32_t i = 0; i < im->n_indexes && im->indexes[i].unique; i++) {
        const ImageIndex *x = &im->indexes[i];
        const void *keys[64];
        bool null = x->n_cols > (int32_t)ARRAY_LEN(keys);
        if (null) return false;
        for (int32_t k = 0; k < x->n_cols; k++) {
            keys[k] = image_cell(&im->cols[x->cols[k]], d->row);
            null |= !image_is_valid(&im->cols[x->cols[k]], d->row);
        }
        const int64_t row = null ? -1 : image_find(im, i, keys);
        const bool before = row >= 0 && row < d->row;
        if (d->key == x->key) return before;
        if (before) return false;
    }
    return true;
}
static bool set_came_out(const Bulk *b, int64_t set) {
    const BulkFetchAdds *t = b->fetch_adds;
    for (int64_t i = t->set_segment[set]; i < t->set_segment[set + 1]; i++)
        if (!came_out(&t->segments[i], t->cells)) return false;
    for (int k = 0; k < b->workers; k++) {
        const CallSink *sink = &b->w[k].sink;
        if (sink->doubtful) return false;
        for (int64_t i = 0; i < sink->doubts.len; i++)
            if (!key_came_out(&sink->doubts.items[i])) return false;
    }
    return true;
}
/* Adds the set's sums to the cells, or (back) subtracts them again. */
static void keep_set(Bulk *b, int worker, int64_t set, bool back) {
    const BulkFetchAdds *t = b->fetch_adds;
    for (int64_t i = t->set_segment[set]; i < t->set_segment[set + 1]; i++) {
        const FetchAddSegment *g = &t->segments[i];
        const ImageColumn *ic = &g->image->cols[g->col];
        const int64_t row = t->cells[g->start]->row;
        int64_t sum = 0, now;
        for (int64_t k = g->start; k < g->start + g->n; k++) sum += t->cells[k]->amount;
        if (!image_is_valid(ic, row)) continue; /* NULL stays NULL */
        if (back) sum = -sum;
        void *cell = image_cell(ic, row);
        if (ic->phys == PH_I16) now = *(int16_t *)cell = (int16_t)(*(int16_t *)cell + sum);
        else if (ic->phys == PH_I32) now = *(int32_t *)cell = (int32_t)(*(int32_t *)cell + sum);
        else now = *(int64_t *)cell += sum;
        g->image->dirty[row] |= DIRTY_UPDATED;
        const ColumnUse *use = &images_entry(b->images, g->image->table->id)->cols[g->col];
        if (use->tracked && use->slot >= 0) {
            int128_t *bound = &b->w[worker].sink.bounds[use->slot];
            *bound = MAX_OF(*bound, now < 0 ? -(int128_t)now : (int128_t)now);
        }
    }
}
void bulk_end_set(Bulk *b, int worker, int64_t set) {
    BulkFetchAdds *t = b->fetch_adds;
    if (atomic_load(&t->failed)) return;
    if (set_came_out(b, set)) {
        keep_set(b, worker, set, false);
        t->ended = set + 1;
    } else {
        atomic_store(&t->failed, true);
    }
    for (int i = 0; i < b->workers; i++) b->w[i].sink.doubts.len = 0;
}
bool bulk_fetch_adds_failed(const Bulk *b) {
    return b->fetch_adds && atomic_load_explicit(&b->fetch_adds->failed, memory_order_relaxed);
}

/* Undoes all sets, the last one first. */
static void take_back_bulk(Bulk *b) {
    const BulkFetchAdds *t = b->fetch_adds;
    for (int64_t k = b->schedule.n_sets - 1; k >= 0; k--) {
        if (k < t->ended && t->ends[k]) keep_set(b, 0, k, true);
        for (int i = 0; i < b->workers; i++)
            for (int32_t p = 0; p < b->n_groups; p++)
                if (b->groups[p].proc->body_frames[i]) undo_set(b->groups[p].proc->body_frames[i], (uint32_t)k);
    }
}
void bulk_end_fetch_adds(Bulk *b) {
    if (!b->fetch_adds) return;
    const bool failed = bulk_fetch_adds_failed(b);
    if (failed) take_back_bulk(b);
    for (int32_t p = 0; p < b->n_groups; p++) {
        ProcEntry *x = b->groups[p].proc;
        for (int i = 0; i < b->workers; i++)
            if (x->body_frames[i]) x->body_frames[i]->n_undo = 0;
        if (!x->body->fetch_adds) continue;
        if (failed) {
            x->fetch_adds_undone =
                x->fetch_adds_in_a_row < BULKS_WITHOUT ? MIN_OF(x->fetch_adds_undone + 1, (int32_t)DOUBLINGS_MAX) : 0;
            x->fetch_adds_wait = x->fetch_adds_undone > 0 ? (int64_t)BULKS_WITHOUT << (x->fetch_adds_undone - 1) : 0;
            x->fetch_adds_in_a_row = 0;
        } else {
            x->fetch_adds_in_a_row++;
        }
    }
    if (!failed) return;
    log_write(
        LOG_INFO,
        "a bulk of %lld calls is undone and run again: a call did not take what its footprint said, or a key was there",
        (long long)b->n_calls);
    b->again = true;
}
