/* compile_order.c - does what a procedure leaves in tables depend on the order in which a table happens to have its
 * rows? That order is not among the inputs of a bulk: a table that was loaded from files has another one. So such a
 * procedure cannot be run again elsewhere (Proc.order_line).
 *
 * Rows of a table come in its order where several are found (scan_rows). That does not matter to what takes all of them
 * without regard to it: aggregates (none of floating-point numbers is compiled), groups, which come in the order of
 * their keys, EXISTS, IN and the like, changes of each row by itself, and queries that fail where there is a second
 * row; and foreign keys and unique indexes, which fail where there is one. Cp has the number of those around. Nor does
 * it matter to a sort by keys that tell all rows apart. LIMIT, loops, INTO without STRICT, and INSERT, which numbers
 * rows, take them as they come; and a handler may tell which row an error was about. */
#include "sql/pl/compile_rows.h"

void cp_note_order(Cp *c) {
    if (c->order_line == 0) c->order_line = MAX_OF(c->at.line, 1);
}

static bool is_never_null(const Table *t, int col) {
    bool never = t->cols[col].not_null;
    for (int k = 0; k < t->n_keys; k++)
        for (int i = 0; t->keys[k].primary && i < t->keys[k].n_cols; i++) never |= t->keys[k].cols[i] == col;
    return never;
}
bool cp_order_is_total(Cp *c, const Plan *sort) {
    Conds conds = {0};
    const Plan *scan = sort->children[0];
    for (; scan->kind == LP_PROJECT || scan->kind == LP_FILTER; scan = scan->children[0])
        for (int32_t i = 0; i < scan->n_conds; i++)
            if (cp_conds_add(c, &conds, scan->conds[i]) != ST_OK) return false;
    if (scan->kind != LP_SCAN) return false;
    const Table *t = scan->scan.table;
    bool *known = cp_equal_columns(c, scan, &conds);
    for (int32_t i = 0; known && i < sort->sort.n; i++) {
        const Expr *e = sort->sort.keys[i].expr;
        int32_t col;
        if (e->kind == EX_COL && cp_only_scan(sort->children[0], e->u.col, &col) && is_never_null(t, col))
            known[col] = true;
    }
    for (int k = 0; known && k < t->n_keys; k++)
        if (cp_has_key(&t->keys[k], known)) return true;
    return false;
}
/* Only one table, of which each row comes once. */
bool cp_is_of_one_scan(const Plan *p) {
    while (p->kind == LP_PROJECT || p->kind == LP_FILTER) p = p->children[0];
    return p->kind == LP_SCAN;
}
