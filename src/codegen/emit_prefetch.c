/* emit_prefetch.c - procedures on the host: what calls, and rounds of loops, will look for is fetched beforehand; see
 * emit_proc_int.h. */
#include "codegen/emit_proc_int.h"

/* On the host the calls of a tile meet their cache misses one after the other. So a tile begins with three rounds over
 * its calls: the slots of keys that are known from the arguments are fetched, then the rows that they name, then
 * strings in these. A key made of elements of arguments stands for that of each element. */
typedef struct PrefetchSite {
    int32_t table, index;
    bool rows, enters; /* not only the slot; rows enter an ordered group */
    uint64_t arrays;   /* arguments whose elements are in the key */
    int32_t place;     /* its hash, or what stands for it, among those of the call */
    char keys[256];
} PrefetchSite;
enum {
    PREFETCH_MAX = 16,
    PREFETCH_EACH = 16 /* elements */,
    FETCH_LINE = 64,
    FETCH_NEAR = 32 /* bytes that are likely in the line of the column before, where rows begin anywhere in one */
};

/* The parameter whose element the instruction reads; -1 none. */
static int32_t early_element(const ProcEm *x, const Instr *in) {
    const CallSite *c = in->op == OP_CALL ? in->aux : NULL;
    if (!c || !c->func || !make_has_form(x->p, c)) return -1;
    if (strcmp(c->func->name, "array_subscript") != 0 && strcmp(c->func->name, "array_element") != 0) return -1;
    const Instr *from = &x->p->instrs[x->p->regs[c->args[0]].first];
    if (x->p->regs[c->args[0]].is_const || from->op != OP_LOAD || from->imm >= MIN_OF(x->proc->n_params, 64) ||
        x->stored[from->imm])
        return -1;
    return x->p->regs[in->dst].phys >= PH_I16 && x->p->regs[in->dst].phys <= PH_I64 ? (int32_t)from->imm : -1;
}
/* What a hidden variable keeps that is stored in one place; 0: none. */
static Reg kept_in(const ProcEm *x, const Instr *load) {
    int32_t at;
    return load->op == OP_LOAD && !x->vars[load->imm].name &&
                   count_of(x, 0, x->p->n_instrs, OP_STORE, load->imm, &at) == 1
               ? x->p->instrs[at].a
               : 0;
}
/* The key as an expression of arguments w<n>, elements g<n> of them and constants; false when it depends on more.
 * Appends ", key". */
static bool early_key(ProcEm *x, Reg r, uint64_t *arrays, char *out, int64_t cap, int depth) {
    const Program *p = x->p;
    int64_t n = (int64_t)strlen(out);
    if (!r || depth > 4 || n + 64 > cap) return false;
    if (p->regs[r].is_const) {
        em_use(&x->m, r);
        snprintf(out + n, (size_t)(cap - n), "r%d", (int)r);
        return !p->regs[r].value.is_null;
    }
    const Instr *in = &p->instrs[p->regs[r].first];
    if (in->op == OP_LOAD && in->imm < x->proc->n_params && !x->stored[in->imm]) {
        snprintf(out + n, (size_t)(cap - n), "w%d", (int)in->imm);
        x->early[in->imm] = true;
        return true;
    }
    Reg kept = kept_in(x, in);
    if (kept) return early_key(x, kept, arrays, out, cap, depth + 1);
    int32_t array = early_element(x, in);
    if (array >= 0) {
        snprintf(out + n, (size_t)(cap - n), "g%d", (int)array);
        x->early[array] = true;
        *arrays |= UINT64_C(1) << array;
        return true;
    }
    if (in->op != OP_CVT || in->phys > PH_I32 || in->phys == PH_BOOL || p->regs[r].phys > PH_I64 ||
        p->regs[r].phys < in->phys)
        return false;
    snprintf(out + n, (size_t)(cap - n), "(%s)", c_type[p->regs[r].phys]);
    return early_key(x, in->a, arrays, out, cap, depth + 1);
}
static void prefetch_add(ProcEm *x, int32_t table, int32_t index, int32_t n, const Reg *keys, bool enters,
                         PrefetchSite *sites, int32_t *count) {
    PrefetchSite *a = &sites[*count];
    if (*count == PREFETCH_MAX || n == 0) return;
    *a = (PrefetchSite){.table = table,
                        .index = index,
                        .rows = !enters || x->tables[table].image->indexes[index].order,
                        .enters = enters};
    for (int32_t i = 0; i < n; i++) {
        if (i) snprintf(a->keys + strlen(a->keys), sizeof a->keys - strlen(a->keys), ", ");
        if (!early_key(x, keys[i], &a->arrays, a->keys, (int64_t)sizeof a->keys, 0)) return;
    }
    for (int32_t i = 0; i < *count; i++)
        if (sites[i].table == table && sites[i].index == index && strcmp(sites[i].keys, a->keys) == 0) return;
    ++*count;
}
static int32_t prefetch_find(ProcEm *x, PrefetchSite *sites) {
    const Program *p = x->p;
    int32_t count = 0;
    for (int32_t i = 0; i < p->n_instrs; i++) {
        const Instr *in = &p->instrs[i];
        if (in->op == OP_ROW_FIND || in->op == OP_ROW_FIRST) {
            const RowKey *k = in->aux;
            prefetch_add(x, k->table, x->tables[k->table].index[k->index], k->n, k->args, false, sites, &count);
        } else if (in->op == OP_ROW_INSERT) {
            const RowInsert *ins = in->aux;
            const Image *im = x->tables[ins->table].image;
            for (int32_t k = 0; k < im->n_indexes; k++) {
                Reg keys[PREFETCH_COLS];
                if (proc_insert_key(im, ins, k, keys))
                    prefetch_add(x, ins->table, k, im->indexes[k].n_cols, keys, true, sites, &count);
            }
        }
    }
    return count;
}

/* key_T_I: the hash of a key; of one that may tell its row, what dense_place (kp_rows.h) makes of it. */
static void hash_function(ProcEm *x, int32_t table, int32_t index) {
    const Image *im = x->tables[table].image;
    const ImageIndex *ix = &im->indexes[index];
    if (x->mod.found[x->table_no[table] * INDEXES_MAX + index] & HASH_KEY) return;
    x->mod.found[x->table_no[table] * INDEXES_MAX + index] |= HASH_KEY;
    const bool dense = index_can_be_dense(im, ix);
    out_w(&x->m, &x->mod.funcs, "FN u64 key_%d_%d(%s", x->table_no[table], index,
          dense ? "u64 first, u64 dense, " : "");
    for (int32_t c = 0; c < ix->n_cols; c++)
        out_w(&x->m, &x->mod.funcs, c ? ", %s k%d" : "%s k%d", c_type[im->cols[ix->cols[c]].phys], c);
    out_w(&x->m, &x->mod.funcs, ") {\n");
    proc_key_hash(x, im, ix);
    out_w(&x->m, &x->mod.funcs, "    return %s;\n}\n", dense ? "dense_place(first, dense, (u64)(i64)k0, h)" : "h");
}
/* The call of it, up to the key: "key_T_I(". */
static void key_begin(ProcEm *x, Out *o, int32_t table, int32_t index) {
    const Image *im = x->tables[table].image;
    out_w(&x->m, o, "key_%d_%d(", x->table_no[table], index);
    if (index_can_be_dense(im, &im->indexes[index]))
        out_w(&x->m, o, "%p, %p, ", PARAM(PP_FIRST_KEY, table, index), PARAM(PP_DENSE, table, index));
}
/* Fetches where the search for a key looks first; begin, the key as key_T_I has it, end. */
static void first_look_begin(ProcEm *x, Out *o, int32_t table, int32_t index) {
    const Image *im = x->tables[table].image;
    const int32_t slots = PARAM(PP_SLOTS, table, index);
    if (!index_can_be_dense(im, &im->indexes[index])) out_w(&x->m, o, "FETCH(%p + (", slots);
    else
        out_w(&x->m, o, "FETCH(dense_first_look(%p, %p, %p, %p, ", PARAM(PP_DENSE, table, index),
              PARAM(PP_LIVE, table, 0), slots, PARAM(PP_MASK, table, index));
}
static void first_look_end(ProcEm *x, Out *o, int32_t table, int32_t index) {
    const Image *im = x->tables[table].image;
    if (index_can_be_dense(im, &im->indexes[index])) out_w(&x->m, o, "));\n");
    else out_w(&x->m, o, " & %p) * 8);\n", PARAM(PP_MASK, table, index));
}
/* Declares `row`, which the key leads to, most likely: up to the key as key_T_I has it, behind which comes ");". */
static void row_begin(ProcEm *x, Out *o, int32_t table, int32_t index) {
    const Image *im = x->tables[table].image;
    out_w(&x->m, o, "const i64 row = ");
    if (index_can_be_dense(im, &im->indexes[index]))
        out_w(&x->m, o, "dense_prefetched(%p, ", PARAM(PP_DENSE, table, index));
    else out_w(&x->m, o, "row_prefetched(");
    out_w(&x->m, o, "%p, %p, ", PARAM(PP_SLOTS, table, index), PARAM(PP_MASK, table, index));
}
/* What the body touches of a row of the table. */
static void fetch_row(ProcEm *x, Out *o, int32_t table, int32_t index) {
    const Program *p = x->p;
    const Image *im = x->tables[table].image;
    bool *seen = arena_array(x->m.arena, bool, im->n_cols + 1), writes = false;
    for (int32_t c = 0; seen && c < im->indexes[index].n_cols; c++) seen[im->indexes[index].cols[c]] = true;
    for (int32_t i = 0; seen && i < p->n_instrs; i++) {
        const Instr *in = &p->instrs[i];
        if (in->op != OP_ROW_GET && in->op != OP_ROW_PUT && in->op != OP_ROW_ADD) continue;
        const RowCol *rc = in->aux;
        if (rc->table != table) continue;
        seen[rc->col] = true;
        writes |= in->op != OP_ROW_GET;
    }
    for (const RowPiece *k = im->pieces; seen && k < im->pieces + ROW_PIECES; k++) {
        int64_t near = -FETCH_NEAR; /* where the last one was fetched */
        for (int64_t at = 0, next; at < k->stride; at = next) {
            next = k->stride;
            for (int32_t c = 0; c < im->n_cols; c++) {
                if (!seen[c] || im->pieces + im->cols[c].piece != k) continue;
                int64_t here = im->cols[c].cells - k->rows;
                if (here == at && (k->stride % FETCH_LINE == 0 ? at / FETCH_LINE > near / FETCH_LINE || near < 0
                                                               : at - near >= FETCH_NEAR)) {
                    out_w(&x->m, o, "FETCH(%p + (u64)row * %d);\n", PARAM(PP_CELLS, table, c), (int32_t)k->stride);
                    near = at;
                }
                if (here > at) next = MIN_OF(next, here);
            }
        }
    }
    out_w(&x->m, o, "FETCH(%p + (u64)row);\n", PARAM(PP_LIVE, table, 0));
    if (writes) out_w(&x->m, o, "FETCH(%p + (u64)row);\n", PARAM(PP_DIRTY, table, 0));
}
/* What entering a row touches of an ordered group's anchor. */
static void fetch_anchor(ProcEm *x, Out *o, int32_t table, int32_t index) {
    const ImageIndex *ix = &x->tables[table].image->indexes[index];
    out_w(&x->m, o, "FETCH(%p + (u64)row * 32);\nFETCH(%p + (u64)row * %d);\n", PARAM(PP_NEXT, table, index),
          PARAM(PP_CELLS, table, ix->order - 1), (int32_t)column(x, table, ix->order - 1)->stride);
}
/* Where the search for a new row's place in the group begins. */
static void fetch_entry(ProcEm *x, Out *o, int32_t table, int32_t index) {
    const ImageIndex *ix = &x->tables[table].image->indexes[index];
    int32_t next = PARAM(PP_NEXT, table, index);
    out_w(&x->m, o,
          "const i64 entry = GVOL(i64, %p)[4 * row + 1] - 1;\nif (entry >= 0) {\nFETCH(%p + (u64)entry * "
          "32);\nFETCH(%p + ord_link(entry, ord_height(entry)) * 8);\nFETCH(%p + (u64)entry * %d);\n}\n",
          next, next, next, PARAM(PP_CELLS, table, ix->order - 1), (int32_t)column(x, table, ix->order - 1)->stride);
}
/* Before a loop over a group's rows that looks for another row by the columns of each: what the first rows lead to is
 * fetched, in two rounds as for the keys of a tile. */
typedef struct GroupLoop {
    int32_t loop, end, table;
    int64_t var; /* the loop's row */
} GroupLoop;
/* What makes the number in the register; *in NULL when nothing does: true then for a constant, which is written. */
static bool number_made_by(ProcEm *x, Reg r, Out *o, int depth, const Instr **in) {
    const Program *p = x->p;
    *in = NULL;
    if (!r || depth > 6 || p->regs[r].phys > PH_I64 || p->regs[r].phys == PH_BOOL) return false;
    if (!p->regs[r].is_const) return (*in = made_by(x, r)) != NULL;
    em_use(&x->m, r);
    out_w(&x->m, o, "r%d", r);
    return !p->regs[r].value.is_null;
}
/* The register's value when `row` is the loop's row; false when that is not known. */
static bool group_value(ProcEm *x, const GroupLoop *n, Reg r, const char *row, Out *o, int depth) {
    const Program *p = x->p;
    const Instr *in = NULL;
    bool known = number_made_by(x, r, o, depth, &in);
    if (!in) return known;
    if (in->op == OP_ROW_GET) {
        const RowCol *rc = in->aux;
        const Instr *of = made_by(x, in->a);
        if (rc->table != n->table || !of || of->op != OP_LOAD || of->imm != n->var) return false;
        proc_load_field(x, o, rc->table, rc->col, row);
        return true;
    }
    if (in->op == OP_CVT) {
        if (in->phys > PH_I32 || in->phys == PH_BOOL || p->regs[r].phys < in->phys) return false;
        out_w(&x->m, o, "(%s)", c_type[p->regs[r].phys]);
        return group_value(x, n, in->a, row, o, depth + 1);
    }
    if (in->op != OP_LOAD) return false;
    int32_t at, stores = count_of(x, n->loop, n->end, OP_STORE, in->imm, &at);
    if (stores == 1) return group_value(x, n, p->instrs[at].a, row, o, depth + 1);
    out_w(&x->m, o, "y%d", (int32_t)in->imm);
    return stores == 0;
}
/* The loop that begins behind the lookup, over the rows that it found. */
static bool find_loop(const ProcEm *x, const Instr *in, GroupLoop *n) {
    const Program *p = x->p;
    int64_t var = -1;
    n->loop = -1;
    for (int32_t i = x->m.pc + 1; i < p->n_instrs && n->loop < 0; i++) {
        if (p->instrs[i].op == OP_STORE && p->instrs[i].a == in->dst) var = p->instrs[i].imm;
        if (p->instrs[i].op == OP_P_LOOP) n->loop = i;
        else if (op_is_control(p->instrs[i].op)) return false;
    }
    if (n->loop < 0 || var < 0) return false;
    n->end = p->instrs[n->loop].jump;
    n->var = var;
    for (int32_t i = n->loop; i < n->end; i++) {
        const Instr *of = p->instrs[i].op == OP_ROW_NEXT ? made_by(x, p->instrs[i].a) : NULL;
        if (of && of->op == OP_LOAD && of->imm == var) return true;
    }
    return false;
}
void proc_prefetch_group(ProcEm *x, const Instr *in) {
    const Program *p = x->p;
    const RowKey *group = in->aux;
    GroupLoop n = {.table = group->table};
    if (!find_loop(x, in, &n)) return;
    for (int32_t i = n.loop; i < n.end; i++) {
        if (p->instrs[i].op != OP_ROW_FIND) continue;
        const RowKey *k = p->instrs[i].aux;
        Out key = {0};
        bool known = k->n > 0;
        for (int32_t c = 0; c < k->n && known; c++) {
            if (c) out_w(&x->m, &key, ", ");
            known = group_value(x, &n, k->args[c], "one", &key, 0);
        }
        if (!known) continue;
        int32_t index = x->tables[k->table].index[k->index];
        Out *o = &x->m.text.body;
        hash_function(x, k->table, index);
        W("{\nu64 keys[%d];\ni32 n = 0;\nfor (i64 one = r%d; one >= 0 && n < %d; one = GFRESH(i64, %p)[one] - 1) "
          "{\nkeys[n] = ",
          (int32_t)PREFETCH_EACH, in->dst, (int32_t)PREFETCH_EACH,
          PARAM(PP_NEXT, group->table, x->tables[group->table].index[group->index]));
        key_begin(x, o, k->table, index);
        proc_append(x, o, &key);
        W(");\n");
        first_look_begin(x, o, k->table, index);
        W("keys[n]");
        first_look_end(x, o, k->table, index);
        W("n++;\n}\nfor (i32 e = 0; e < n; e++) {\n");
        row_begin(x, o, k->table, index);
        W("keys[e]);\nif (row < 0) continue;\n");
        fetch_row(x, &x->m.text.body, k->table, index);
        W("}\n}\n");
        return; /* one is enough for the loads that are under way */
    }
}

/* In a loop that counts, what the next rounds look for, or enter, is fetched while those before them run: the slots
 * first, nearer to their turn the rows. */
enum { PREFETCH_SLOTS = 4, PREFETCH_ROWS = 2 /* rounds */, LOOP_SITES = 4 };
static bool loop_around(const ProcEm *x, int32_t pc, GroupLoop *n) {
    int32_t depth = 0;
    for (int32_t i = pc - 1; i >= 0; i--) {
        depth += x->p->instrs[i].op == OP_P_ENDLOOP;
        if (x->p->instrs[i].op != OP_P_LOOP || depth-- > 0) continue;
        *n = (GroupLoop){.loop = i, .end = x->p->instrs[i].jump};
        return true;
    }
    return false;
}
/* The register's value `later` rounds on; false when that is not known. *counts: it is another one then. */
static bool round_value(ProcEm *x, const GroupLoop *n, Reg r, const char *later, Out *o, bool *counts, int depth) {
    const Program *p = x->p;
    const Instr *in = NULL;
    bool known = number_made_by(x, r, o, depth, &in);
    if (!in) return known;
    if (in->op == OP_CVT) {
        if (in->phys > PH_I64 || in->phys == PH_BOOL) return false;
        out_w(&x->m, o, "(%s)", c_type[p->regs[r].phys]);
        return round_value(x, n, in->a, later, o, counts, depth + 1);
    }
    if (in->op != OP_LOAD) return false;
    int32_t at, stores = count_of(x, n->loop, n->end, OP_STORE, in->imm, &at);
    if (stores == 0) return out_w(&x->m, o, "y%d", (int32_t)in->imm), true;
    if (stores > 1) return false;
    const Instr *store = &x->p->instrs[at];
    const Instr *sum = made_by(x, store->a),
                *of = sum && (sum->op == OP_ADD_N || sum->op == OP_SUB_N) ? made_by(x, sum->a) : NULL;
    if (!of || of->op != OP_LOAD || of->imm != in->imm) return round_value(x, n, store->a, later, o, counts, depth + 1);
    bool turns = false;
    /* beyond the type's range it wraps: the compiler must not think that it cannot get there */
    out_w(&x->m, o, "((%s)((u64)y%d %s (u64)(%s) * (u64)", c_type[x->vars[in->imm].phys], (int32_t)in->imm,
          sum->op == OP_ADD_N ? "+" : "-", later);
    if (!round_value(x, n, sum->b, later, o, &turns, depth + 1) || turns) return false;
    out_w(&x->m, o, "))");
    return *counts = true;
}
/* Appends the hash of the key `later` rounds on; false when it is not known, or stays the same. */
static bool round_key(ProcEm *x, const GroupLoop *n, int32_t table, int32_t index, int32_t n_keys, const Reg *keys,
                      const char *later, Out *o) {
    bool counts = false;
    key_begin(x, o, table, index);
    for (int32_t i = 0; i < n_keys; i++) {
        if (i) out_w(&x->m, o, ", ");
        if (!round_value(x, n, keys[i], later, o, &counts, 0)) return false;
    }
    out_w(&x->m, o, ")");
    if (counts) hash_function(x, table, index);
    return counts;
}
void proc_prefetch_loop(ProcEm *x, int32_t table, int32_t index, int32_t n_keys, const Reg *keys, bool enters) {
    GroupLoop n;
    Out slot = {0}, row = {0};
    const ImageIndex *ix = &x->tables[table].image->indexes[index];
    char rounds[2][16];
    snprintf(rounds[0], sizeof rounds[0], "%d", (int)PREFETCH_SLOTS);
    snprintf(rounds[1], sizeof rounds[1], "%d", (int)PREFETCH_ROWS);
    if (!x->dev.host || !x->log.in_loop || x->locks.plain || !loop_around(x, x->m.pc, &n) ||
        !round_key(x, &n, table, index, n_keys, keys, rounds[0], &slot))
        return;
    Out *o = &x->m.text.body;
    first_look_begin(x, o, table, index);
    proc_append(x, o, &slot);
    first_look_end(x, o, table, index);
    if (enters || !round_key(x, &n, table, index, n_keys, keys, rounds[1], &row)) return;
    W("{\n");
    row_begin(x, o, table, index);
    proc_append(x, o, &row);
    W(");\nif (row >= 0) {\n");
    fetch_row(x, o, table, index);
    if (!ix->unique) W("FETCH(%p + (u64)row * %d);\n", PARAM(PP_NEXT, table, index), 8 * (int32_t)image_next_cells(ix));
    W("}\n}\n");
}
/* The slots of the first rounds. */
void proc_loop_begins(ProcEm *x, int32_t loop) {
    const Program *p = x->p;
    GroupLoop n;
    Out done[LOOP_SITES];
    int32_t count = 0;
    for (int32_t i = loop + 1; x->dev.host && !x->locks.plain && i < p->instrs[loop].jump; i++) {
        const Instr *in = &p->instrs[i];
        const RowKey *find = in->op == OP_ROW_FIND || in->op == OP_ROW_FIRST ? in->aux : NULL;
        const RowInsert *ins = in->op == OP_ROW_INSERT ? in->aux : NULL;
        if ((!find && !ins) || !loop_around(x, i, &n) || n.loop != loop) continue;
        int32_t table = find ? find->table : ins->table;
        const Image *im = x->tables[table].image;
        for (int32_t k = 0; k < (find ? 1 : im->n_indexes) && count < LOOP_SITES; k++) {
            Reg keys[PREFETCH_COLS];
            Out *o = &done[count];
            int32_t index = find ? x->tables[table].index[find->index] : k, same = 0;
            *o = (Out){0};
            if (ins && !proc_insert_key(im, ins, k, keys)) continue;
            if (!round_key(x, &n, table, index, find ? find->n : im->indexes[k].n_cols, find ? find->args : keys, "e",
                           o))
                continue;
            while (same < count && (done[same].n != o->n || memcmp(done[same].p, o->p, (size_t)o->n) != 0)) same++;
            if (same < count) continue;
            count++;
            W("for (i64 e = 0; e < %d; e++) ", (int32_t)PREFETCH_SLOTS);
            first_look_begin(x, &x->m.text.body, table, index);
            proc_append(x, &x->m.text.body, o);
            first_look_end(x, &x->m.text.body, table, index);
        }
    }
}

/* Bytes of strings that the body reads from the row of a site. The row's register is that of a lookup with the site's
 * key, or a variable that nothing else is stored in. */
static bool of_site(ProcEm *x, const PrefetchSite *site, Reg row) {
    const Program *p = x->p;
    const Instr *in = made_by(x, row);
    int32_t at;
    if (in && in->op == OP_LOAD)
        in = count_of(x, 0, p->n_instrs, OP_STORE, in->imm, &at) == 1 ? made_by(x, p->instrs[at].a) : NULL;
    if (!in || in->op != OP_ROW_FIND) return false;
    const RowKey *k = in->aux;
    PrefetchSite one[2];
    int32_t count = 0;
    prefetch_add(x, k->table, x->tables[k->table].index[k->index], k->n, k->args, false, one, &count);
    return count == 1 && one[0].table == site->table && one[0].index == site->index &&
           strcmp(one[0].keys, site->keys) == 0;
}
/* The address of the string in a register, as an expression; false when it is not known from arguments and the site's
 * row, at `row`. */
static bool early_text(ProcEm *x, const PrefetchSite *site, Reg r, Out *o, int depth) {
    const Instr *in = made_by(x, r);
    if (x->p->regs[r].is_const) return out_w(&x->m, o, "0"), true;
    if (!in || depth > 32 || stack_stop()) return false;
    if (in->op == OP_ROW_GET) {
        const RowCol *rc = in->aux;
        if ((int32_t)rc->table != site->table || !of_site(x, site, in->a)) return false;
        out_w(&x->m, o, "G(u64, %p + (u64)row * %d)[0]", PARAM(PP_CELLS, rc->table, rc->col),
              (int32_t)column(x, rc->table, rc->col)->stride);
        return true;
    }
    const Instr *test = in->op == OP_SELECT ? made_by(x, in->a) : NULL;
    char key[2][128] = {"", ""};
    uint64_t arrays = 0;
    if (!test || test->op != OP_EQ || x->p->regs[test->a].phys > PH_I64 || x->p->regs[test->b].phys > PH_I64)
        return false;
    if (!early_key(x, test->a, &arrays, key[0], (int64_t)sizeof key[0], 0)) return false;
    if (!early_key(x, test->b, &arrays, key[1], (int64_t)sizeof key[1], 0) || arrays) return false;
    out_w(&x->m, o, "(%s == %s ? ", key[0], key[1]);
    if (!early_text(x, site, in->b, o, depth + 1)) return false;
    out_w(&x->m, o, " : ");
    if (!early_text(x, site, in->c, o, depth + 1)) return false;
    out_w(&x->m, o, ")");
    return true;
}
static void fetch_texts(ProcEm *x, Out *o, const PrefetchSite *site) {
    const Program *p = x->p;
    for (int32_t i = 0; i < p->n_instrs; i++) {
        const Instr *in = &p->instrs[i];
        Out text = {0};
        if ((in->op != OP_ROW_GET && in->op != OP_SELECT) || p->regs[in->dst].phys != PH_STR || x->lazy[in->dst] ||
            !early_text(x, site, in->dst, &text, 0))
            continue;
        out_w(&x->m, o, "FETCH(");
        proc_append(x, o, &text);
        out_w(&x->m, o, ");\n");
    }
}
/* The arguments that are wanted, as w<n>. */
static void early_args(ProcEm *x, Out *o) {
    for (int32_t i = 0; i < x->proc->n_params; i++) {
        if (!x->early[i]) continue;
        char at[32];
        snprintf(at, sizeof at, "(u32)pos * (u32)P(%d)", (int)PARAM(PP_ARG_STEP, i, 0));
        uint8_t phys = x->vars[i].phys;
        int32_t valid = PARAM(PP_ARG_VALID, i, 0);
        out_w(&x->m, o, "const %s w%d = ", c_type[phys], i);
        if (phys == PH_STR)
            out_w(&x->m, o, "%p != 0 && G(u8, %p)[%s] == 0 ? str_none() : ", valid, valid,
                  at); /* a NULL has no bytes */
        proc_load_cell(x, o, phys, PARAM(PP_ARG_CELLS, i, 0), at, phys_size((Phys)phys));
        out_w(&x->m, o, ";\n");
    }
}
/* For the row of each key of a site: `row`. */
static void each_row(ProcEm *x, Out *o, const PrefetchSite *site) {
    int32_t table = site->table, index = site->index;
    if (site->arrays)
        out_w(&x->m, o, "for (i32 e = 0; e < %d && a[%d + e] != 0; e++) {\nconst u64 h = a[%d + e];\n",
              (int32_t)PREFETCH_EACH, site->place, site->place);
    else out_w(&x->m, o, "{\nconst u64 h = a[%d];\n", site->place);
    row_begin(x, o, table, index);
    out_w(&x->m, o, "h);\nif (row >= 0) {\n");
}
/* texts_K: a third round, for bytes of strings in these rows, and what the anchors of ordered groups lead to. */
static void look_for_texts(ProcEm *x, int32_t n, const PrefetchSite *sites) {
    Out args = {0}, body = {0};
    bool *early = x->early;
    x->m.text.top = (Out){0};
    x->m.const_done = arena_array(x->m.arena, bool, x->p->n_regs + 1);
    x->early = arena_array(x->m.arena, bool, x->proc->n_params + 1);
    for (int32_t i = 0; i < n && x->early && x->m.const_done; i++) {
        Out texts = {0};
        if (!sites[i].rows) continue;
        if (sites[i].enters) fetch_entry(x, &texts, sites[i].table, sites[i].index);
        else fetch_texts(x, &texts, &sites[i]);
        if (texts.n == 0) continue;
        x->mod.prefetch_texts = true;
        each_row(x, &body, &sites[i]);
        proc_append(x, &body, &texts);
        out_w(&x->m, &body, "}\n}\n");
    }
    if (x->early) early_args(x, &args);
    out_w(&x->m, &x->mod.funcs, "FN void texts_%d(KP_ARG, const u64 pos, const u64 *a) {\n(void)pos; (void)a;\n",
          x->number);
    proc_append(x, &x->mod.funcs, &x->m.text.top);
    if (body.n > 0) proc_append(x, &x->mod.funcs, &args);
    proc_append(x, &x->mod.funcs, &body);
    out_w(&x->m, &x->mod.funcs, "}\n");
    x->early = early;
}

/* prefetch_K: the keys' hashes, the slots fetched; fetch_K: the rows. Of footprints: foot_prefetch_K, foot_fetch_K. */
void proc_prefetch(ProcEm *x) {
    PrefetchSite *sites = arena_array(x->m.arena, PrefetchSite, PREFETCH_MAX + 1);
    x->early = arena_array(x->m.arena, bool, x->proc->n_params + 1);
    Out slots = {0}, rows = {0}, *o = &slots, top = x->m.text.top; /* constants are the function's own */
    bool *const_done = x->m.const_done;
    x->m.text.top = (Out){0};
    x->m.const_done = arena_array(x->m.arena, bool, x->p->n_regs + 1);
    int32_t n = sites && x->early && x->m.const_done ? prefetch_find(x, sites) : 0;
    if (n > 0) early_args(x, o);
    x->dev.n_prefetched = 0;
    for (int32_t i = 0; i < n; i++) {
        int32_t table = sites[i].table, index = sites[i].index, place = x->dev.n_prefetched;
        bool each = sites[i].arrays != 0;
        sites[i].place = place;
        x->dev.n_prefetched += each ? PREFETCH_EACH : 1;
        x->mod.prefetch_each |= each;
        hash_function(x, table, index);
        if (each) out_w(&x->m, o, "for (i32 e = 0; e < %d; e++) {\na[%d + e] = 0;\n", (int32_t)PREFETCH_EACH, place);
        for (int32_t k = 0; k < x->proc->n_params && k < 64; k++)
            if (sites[i].arrays >> k & 1) {
                uint8_t phys = (uint8_t)type_phys(type_element(x->vars[k].type));
                out_w(&x->m, o, "%s g%d;\nif (!array_get_%s(w%d, e + 1, &g%d)) break;\n", c_type[phys], k, c_name[phys],
                      k, k);
            }
        out_w(&x->m, o, "const u64 h%d = ", i);
        key_begin(x, o, table, index);
        out_w(&x->m, o, "%s);\na[%d%s] = h%d;\n", sites[i].keys, place, each ? " + e" : "", i);
        first_look_begin(x, o, table, index);
        out_w(&x->m, o, "h%d", i);
        first_look_end(x, o, table, index);
        if (each) out_w(&x->m, o, "}\n");
        if (!sites[i].rows) continue;
        each_row(x, &rows, &sites[i]);
        if (sites[i].enters) fetch_anchor(x, &rows, table, index);
        else fetch_row(x, &rows, table, index);
        out_w(&x->m, &rows, "}\n}\n");
    }
    const char *whose = x->foot ? "foot_" : "";
    out_w(&x->m, &x->mod.funcs, "FN void %sprefetch_%d(KP_ARG, const u64 pos, u64 *a) {\n", whose, x->number);
    proc_append(x, &x->mod.funcs, &x->m.text.top);
    proc_append(x, &x->mod.funcs, &slots);
    out_w(&x->m, &x->mod.funcs, "}\nFN void %sfetch_%d(KP_ARG, const u64 *a) {\n", whose, x->number);
    proc_append(x, &x->mod.funcs, &rows);
    out_w(&x->m, &x->mod.funcs, "}\n");
    if (!x->foot) look_for_texts(x, n, sites);
    x->m.text.top = top;
    x->m.const_done = const_done;
}
