/* proc_fetch_adds.c - which statements that add to a column and use the result are planned as fetch-adds; see proc.h,
 * Fetch-adds. */
#include "program/proc.h"

/* What a program has of a fetch-add. */
typedef struct Seen {
    int32_t n, reads;
    bool loop;
    const RowCol *cell;
    ItemSite *site;
} Seen;

static int32_t fetch_add_of(const Instr *in) {
    if (in->op == OP_ROW_GET || in->op == OP_ROW_PUT) return ((const RowCol *)in->aux)->fetch_add;
    return in->op == OP_ITEM ? ((const ItemSite *)in->aux)->fetch_add : 0;
}
static void look(const Program *p, Seen *seen) {
    int32_t depth = 0;
    for (int32_t i = 0; i < p->n_instrs; i++) {
        const Instr *in = &p->instrs[i];
        depth += in->op == OP_P_LOOP;
        depth -= in->op == OP_P_ENDLOOP;
        if (fetch_add_of(in) == 0) continue;
        Seen *x = &seen[fetch_add_of(in) - 1];
        x->loop |= depth > 0;
        x->reads += in->op == OP_ROW_GET;
        x->n += in->op != OP_ROW_GET;
        if (in->op == OP_ROW_PUT) x->cell = in->aux;
        if (in->op == OP_ITEM) x->site = (ItemSite *)(uintptr_t)in->aux;
    }
}
/* Something else of the footprint is by the same key on the same columns. */
static bool touched_again(const Program *p, const ItemSite *x) {
    for (int32_t i = 0; i < p->n_instrs; i++) {
        const ItemSite *y = p->instrs[i].aux;
        if (p->instrs[i].op != OP_ITEM || y == x || y->fetch_add || y->kind > OPK_WRITE || y->table != x->table ||
            y->group != x->group || y->n != x->n)
            continue;
        if (memcmp(x->args, y->args, (size_t)x->n * sizeof *x->args) == 0) return true;
    }
    return false;
}
static bool catches(const Program *p) {
    for (int32_t i = 0; i < p->n_instrs; i++)
        if (p->instrs[i].op == OP_P_TRY) return true;
    return false;
}

Status proc_find_fetch_adds(Proc *p, int32_t n) {
    ProcFetchAdd *fetch_adds = arena_array(p->arena, ProcFetchAdd, n + 1);
    Seen *body = arena_array(p->arena, Seen, n + 1), *foot = arena_array(p->arena, Seen, n + 1);
    if (!fetch_adds || !body || !foot) return ST_ERROR;
    p->n_fetch_adds = n;
    p->fetch_adds = fetch_adds;
    look(p->body, body);
    look(p->footprint, foot);
    bool guesses = false;
    for (int32_t t = 0; t < p->n_tables; t++) guesses |= p->tables[t].guessed;
    for (int32_t i = 0; i < n; i++) {
        ItemSite *x = foot[i].site;
        if (!x) continue;
        const Seen *b = &body[i];
        x->why = b->loop || foot[i].loop || foot[i].n > 1 || b->n > 1 ? "it is in a loop"
                 : b->n == 0                                          ? "nothing comes of it"
                 : catches(p->body)                                   ? "there are blocks with EXCEPTION"
                 : guesses                        ? "how many rows a call inserts is not known before it runs"
                 : touched_again(p->footprint, x) ? "the call does something else with the column as well"
                                                  : NULL;
        fetch_adds[i] =
            (ProcFetchAdd){.planned = !x->why && b->cell->table == (int32_t)x->table && b->cell->col == x->col,
                           .table = (int32_t)x->table,
                           .col = x->col};
        p->some_fetch_adds |= fetch_adds[i].planned;
    }
    return ST_OK;
}
