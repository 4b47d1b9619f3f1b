/* plan_window.c - which windows share a sort.
 *
 * Windows stand one above the other. Those from p down whose keys are a prefix of the keys of one among them are
 * computed from rows sorted by that one's keys, in one pass; the rows keep that order.
 */
#include "sql/plan/plan.h"

int32_t plan_window_keys(const Plan *p) { return p->n_exprs + p->sort.n; }
SortKey plan_window_key(const Plan *p, int32_t i) {
    if (i < p->n_exprs) return (SortKey){.expr = p->exprs[i]};
    return p->sort.keys[i - p->n_exprs];
}
static bool is_prefix(const Plan *p, const Plan *of) {
    if (plan_window_keys(p) > plan_window_keys(of)) return false;
    for (int32_t i = 0; i < plan_window_keys(p); i++) {
        SortKey a = plan_window_key(p, i), b = plan_window_key(of, i);
        if (!expr_equal(a.expr, b.expr) || a.desc != b.desc || a.nulls_first != b.nulls_first) return false;
    }
    return true;
}

const Plan *plan_window_sort(const Plan *p, int32_t *n) {
    const Plan *longest = p;
    for (*n = 0; p->kind == LP_WINDOW; p = p->children[0], ++*n) {
        if (is_prefix(longest, p)) longest = p;
        else if (!is_prefix(p, longest)) break;
    }
    return longest;
}
