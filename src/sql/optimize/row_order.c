/* row_order.c - where nothing looks at the order of materialised rows.
 *
 * Rows of CTEs and unions are kept for their readers. Keeping them in the order of their source costs nothing on the
 * virtual machine, but a sort on a device. The order shows in the result (also that of INSERT .. SELECT), under LIMIT,
 * in ties of a sort, which is stable, and in string_agg; rows that stream through filters, projections and the probe
 * side of joins carry it on. An aggregation and the build side of a join take rows in any order: several workers fill
 * them. */
#include "sql/optimize/optimize_int.h"

typedef struct CteOrder {
    struct CteOrder *next;
    int64_t id;
    bool needed;
} CteOrder;

static bool agg_needs_order(const Plan *p) {
    for (int32_t i = 0; i < p->agg.n_calls; i++)
        if (p->agg.calls[i].kind == AGG_STRING_AGG) return true;
    return false;
}
/* needed: something above p looks at the order of its rows. */
static void mark(Plan *p, bool needed, CteOrder *ctes) {
    if (stack_stop()) return;
    switch ((PlanKind)p->kind) {
    case LP_CTE: {
        CteOrder c = {ctes, p->cte.id, false};
        mark(p->children[1], needed, &c);
        p->unordered = !c.needed;
        mark(p->children[0], c.needed, ctes);
        return;
    }
    case LP_CTE_SCAN:
        for (CteOrder *c = ctes; c; c = c->next)
            if (c->id == p->cte.id) c->needed |= needed;
        return;
    case LP_JOIN:
        mark(p->children[p->join.build_left ? 1 : 0], needed, ctes);
        mark(p->children[p->join.build_left ? 0 : 1], false, ctes);
        return;
    case LP_AGG: needed = agg_needs_order(p); break;
    case LP_SORT:
    case LP_WINDOW:
    case LP_LIMIT: needed = true; break;
    case LP_SETOP: p->unordered = !needed; break;
    default: break;
    }
    for (int32_t i = 0; i < p->n_children; i++) mark(p->children[i], needed, ctes);
}
void opt_row_order(Plan *p) { mark(p, true, NULL); }
