/* compile.c - all procedures: passes, what they write, groups of columns and their keys; variables and expressions of
 * one. */
#include "program/operands.h"
#include "sql/pl/compile_int.h"

#include <stdio.h>

/* ---- registry ---------------------------------------------------------------------------- */
CpTable *registry_table(Registry *r, Table *t) {
    for (int64_t i = 0; i < r->tables.len; i++)
        if (r->tables.items[i]->table == t) return r->tables.items[i];
    CpTable *c = arena_new_of(r->arena, CpTable);
    if (!c) return NULL;
    c->table = t;
    c->written = arena_calloc(r->arena, t->n_cols + 1);
    c->writers = arena_calloc(r->arena, (t->n_cols + 1) * (int64_t)sizeof *c->writers);
    c->group = arena_array(r->arena, int32_t, t->n_cols + 1);
    c->need = (ImageNeed){
        .table = t, .cols = arena_calloc(r->arena, t->n_cols + 1), .adds = arena_calloc(r->arena, t->n_cols + 1)};
    c->need.writes = c->written;
    if (!c->written || !c->writers || !c->group || !c->need.cols || !c->need.adds || !vec_push(r->arena, &r->tables, c))
        return NULL;
    for (int i = 0; i < t->n_cols; i++) c->group[i] = NO_GROUP;
    return c;
}

int32_t registry_group(Registry *r, CpTable *t, int32_t n, const int32_t *cols, int32_t order, bool desc) {
    ImageNeed *d = &t->need;
    for (int32_t g = 0; g < d->n_groups; g++)
        if (d->groups[g].n_cols == n && d->groups[g].order == order && d->groups[g].desc == desc &&
            (n == 0 || memcmp(d->groups[g].cols, cols, (size_t)n * sizeof *cols) == 0))
            return t->table->n_keys + g;
    if (d->n_groups == t->cap_groups) {
        int32_t cap = t->cap_groups * 2 + 4;
        void *more = arena_alloc(r->arena, cap * (int64_t)sizeof *d->groups);
        if (!more) return -1;
        if (d->n_groups) memcpy(more, d->groups, (size_t)d->n_groups * sizeof *d->groups);
        d->groups = more;
        t->cap_groups = cap;
    }
    int32_t *copy = arena_array(r->arena, int32_t, n + 1);
    if (!copy) return -1;
    for (int32_t i = 0; i < n; i++) {
        copy[i] = cols[i];
        d->cols[cols[i]] = true;
    }
    if (order) d->cols[order - 1] = true;
    d->groups[d->n_groups].n_cols = n;
    d->groups[d->n_groups].cols = copy;
    d->groups[d->n_groups].order = order;
    d->groups[d->n_groups].desc = desc;
    return t->table->n_keys + d->n_groups++;
}

/* Columns with the same writers are one group. */
static Status make_groups(Registry *r, CpTable *t) {
    t->n_groups = 0;
    for (int i = 0; i < t->table->n_cols; i++) {
        t->group[i] = NO_GROUP;
        if (!t->written[i]) continue;
        for (int j = 0; j < i; j++)
            if (t->written[j] && t->writers[j] == t->writers[i]) t->group[i] = t->group[j];
        if (t->group[i] == NO_GROUP) t->group[i] = t->n_groups++;
    }
    const int32_t end = rows_groups_end(t);
    t->key = arena_array(r->arena, bool *, end);
    t->fine = arena_array(r->arena, int32_t, end);
    t->fine_kinds = arena_calloc(r->arena, end);
    t->coarse_kinds = arena_calloc(r->arena, end);
    t->sites.len = 0;
    if (!t->key || !t->fine || !t->fine_kinds || !t->coarse_kinds) return ST_ERROR;
    for (int32_t g = 0; g < end; g++)
        if (!(t->key[g] = arena_calloc(r->arena, t->table->n_cols + 1))) return ST_ERROR;
    return ST_OK;
}

/* The key's columns; 0: one of them has no bit. */
static uint64_t key_bits(const Table *t, int k) {
    uint64_t bits = 0;
    for (int i = 0; i < t->keys[k].n_cols; i++) {
        if (t->keys[k].cols[i] >= 64) return 0;
        bits |= UINT64_C(1) << t->keys[k].cols[i];
    }
    return bits;
}
static bool key_has_nulls(const Table *t, int k) {
    bool nulls = false;
    for (int i = 0; i < t->keys[k].n_cols; i++) nulls |= !t->keys[k].primary && !t->cols[t->keys[k].cols[i]].not_null;
    return nulls;
}
/* Places of the group where all these columns are known. */
static int64_t sites_knowing(const CpTable *t, int32_t group, uint64_t bits) {
    int64_t n = 0;
    for (int64_t i = 0; bits && i < t->sites.len; i++)
        n += t->sites.items[i].group == group && (t->sites.items[i].known & bits) == bits;
    return n;
}
/* Several unique keys: one that all rows have, if there is one, and of those the one that is known at most places. Rows
 * that are looked for by no key exist by this one. */
static void choose_main_key(CpTable *t) {
    int64_t best = -1;
    for (int k = 0; k < t->table->n_keys; k++) {
        int64_t hits = sites_knowing(t, rows_group(t) + k, key_bits(t->table, k)) +
                       (key_has_nulls(t->table, k) ? 0 : t->sites.len + 1);
        if (hits > best) best = hits, t->main_key = k;
    }
    for (int64_t i = 0; i < t->sites.len; i++)
        if (t->table->n_keys > 1 && t->sites.items[i].group == rows_groups_end(t))
            t->sites.items[i].group = rows_group(t) + t->main_key;
}
/* From the places that touch a group to its keys: the unique key that is known at most of them, and what is known at
 * all of them. */
static void make_keys(CpTable *t) {
    enum { CHANGES = 1 << OPK_WRITE | 1 << CP_DELETES };
    choose_main_key(t);
    for (int32_t g = 0; g < rows_groups_end(t); g++) {
        bool rows = g >= rows_group(t);
        int only = rows && t->table->n_keys > 1 ? g - rows_group(t) : -1;
        uint64_t all = UINT64_MAX;
        int64_t n = 0, best = 0;
        for (int64_t i = 0; i < t->sites.len; i++)
            if (t->sites.items[i].group == g) all &= t->sites.items[i].known, n++;
        t->fine[g] = -1;
        for (int k = 0; k < t->table->n_keys; k++) {
            bool names = only < 0 ? !key_has_nulls(t->table, k) : k == only;
            int64_t hits = names ? sites_knowing(t, g, key_bits(t->table, k)) : 0;
            if (hits > best) best = hits, t->fine[g] = k;
        }
        uint64_t fine = t->fine[g] >= 0 ? key_bits(t->table, t->fine[g]) : 0;
        for (int64_t i = 0; i < t->sites.len; i++) {
            const CpSite *s = &t->sites.items[i];
            if (s->group != g) continue;
            if (fine && (s->known & fine) == fine) t->fine_kinds[g] |= (uint8_t)(1 << s->kind);
            else t->coarse_kinds[g] |= (uint8_t)(1 << s->kind);
        }
        if (n == 0) all = 0;
        if (fine && best == n) all = fine; /* what is known everywhere may be more than it takes to name a row */
        if (rows && t->table->n_keys > 0 && t->coarse_kinds[g] & CHANGES) all &= key_bits(t->table, MAX_OF(only, 0));
        for (int i = 0; i < t->table->n_cols; i++) t->key[g][i] = i < 64 && (all >> i & 1);
    }
}

/* ---- errors -------------------------------------------------------------------------------- */
Status cp_refuse(Cp *c, const char *fmt, ...) {
    if (c->reason) return ST_ERROR;
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    const CpCall *outer = c->at.call;
    while (outer && outer->up) outer = outer->up;
    if (outer)
        c->reason = arena_printf(c->reg->arena, "line %d: in %s, line %d: %s", (int)outer->line, c->at.f->signature,
                                 (int)c->at.line, text);
    else
        c->reason = c->at.line > 0 ? arena_printf(c->reg->arena, "line %d: %s", (int)c->at.line, text)
                                   : arena_printf(c->reg->arena, "%s", text);
    if (!c->reason) c->oom = true;
    return ST_ERROR;
}
Status cp_oom(Cp *c) {
    c->oom = true;
    return ST_ERROR;
}
Status cp_refuse_error(Cp *c) {
    if (!err_is_set(&c->scratch) || strcmp(c->scratch.sqlstate, ERR_OUT_OF_MEMORY) == 0) return cp_oom(c);
    cp_refuse(c, "%s", c->scratch.message);
    err_clear(&c->scratch);
    return ST_ERROR;
}

Status cp_stack(Cp *c) { return stack_check(&c->scratch) == ST_OK ? ST_OK : cp_refuse_error(c); }

/* ---- instructions ---------------------------------------------------------------------------- */
/* The calls around what is compiled, as the contexts of errors have them, but for the outermost: innermost first. */
static const char *call_context(Cp *c) {
    if (c->from.context && c->from.call == c->at.call && c->from.line == c->at.line && c->from.place == c->at.place)
        return c->from.context;
    const char *t = c->at.line > 0 ? arena_printf(c->reg->arena, "PL/pgSQL function %s line %d at %s",
                                                  c->at.f->signature, (int)c->at.line, c->at.place)
                                   : arena_printf(c->reg->arena, "PL/pgSQL function %s", c->at.f->signature);
    if (t && c->at.f->is_sql)
        t = arena_printf(c->reg->arena, "SQL function \"%s\" statement %d", c->at.f->name, (int)c->at.line);
    for (const CpCall *k = c->at.call; k && t; k = k->up) {
        if (k->statement) t = arena_printf(c->reg->arena, "%s\nSQL statement \"%.200s\"", t, k->statement);
        if (k->up && t)
            t = arena_printf(c->reg->arena, "%s\nPL/pgSQL function %s line %d at %s", t, k->f->signature, (int)k->line,
                             k->place);
    }
    c->from.context = t;
    c->from.call = c->at.call;
    c->from.line = c->at.line;
    c->from.place = c->at.place;
    return t;
}
void cp_mark(Cp *c) {
    if (c->from.lines.len == c->pipe.b.instrs.len) return;
    const CpCall *outer = c->at.call;
    while (outer && outer->up) outer = outer->up;
    int32_t line = outer ? outer->line : c->at.line;
    const char *place = outer ? outer->place : c->at.place, *context = outer ? call_context(c) : NULL;
    while (c->from.lines.len < c->pipe.b.instrs.len) {
        if ((outer && !context) || !vec_push(c->arena, &c->from.lines, line) ||
            !vec_push(c->arena, &c->from.places, place) || !vec_push(c->arena, &c->from.contexts, context)) {
            c->oom = true;
            return;
        }
    }
}
void cp_fresh(Cp *c) {
    for (int64_t k = 0; k < c->pipe.n_pages; k++)
        for (int i = 0; c->pipe.pages[k] && i < COL_PAGE; i++)
            if (c->pipe.pages[k]->at[i].where != CW_REG) c->pipe.pages[k]->at[i].reg = 0;
    c->pipe.computed.len = 0;
}
Status cp_control(Cp *c, Opcode op, Reg a, int64_t imm) {
    Instr *in = builder_emit(&c->pipe.b, op, PH_BOOL, 0, a, 0, 0);
    if (!in) return cp_oom(c);
    in->imm = imm;
    cp_fresh(c);
    cp_mark(c);
    return ST_OK;
}
Status cp_leave(Cp *c, int64_t block, bool to_step) {
    TRY(cp_control(c, OP_P_LEAVE, 0, block));
    c->pipe.b.instrs.items[c->pipe.b.instrs.len - 1].aux = to_step ? (void *)c->at.f : NULL;
    return ST_OK;
}

/* ---- variables --------------------------------------------------------------------------------- */
ColEntry *cp_entry(Cp *c, ColId id) {
    if (id >= c->pipe.n_cols) c->pipe.n_cols = MAX_OF(c->ctx.cols.len + 32, 2 * c->pipe.n_cols);
    ColEntry *x = pipe_col(&c->pipe, id);
    return x == &c->pipe.lost ? (c->oom = true, NULL) : x;
}

int32_t cp_var_new(Cp *c, const char *name, Type type) {
    CpVar v = {.col = plan_new_col(&c->ctx, name ? name : "", type, true), .type = type, .name = name};
    if (!v.col || !vec_push(c->arena, &c->vars, v)) return c->oom = true, -1;
    ColEntry *e = cp_entry(c, v.col);
    if (!e) return -1;
    int32_t number = (int32_t)c->vars.len - 1;
    *e = (ColEntry){.where = CW_SOURCE,
                    .phys = (uint8_t)type_phys(type),
                    .nullable = true,
                    .type = type,
                    .imm = number,
                    .range = range_of_type(type)};
    return number;
}

Reg cp_load(Cp *c, int32_t var) {
    Reg r = lower_col(&c->low, &c->pipe, c->vars.items[var].col);
    if (!r) (void)cp_refuse_error(c);
    return r;
}

Status cp_store(Cp *c, int32_t var, Reg r) {
    if (!r) return ST_ERROR;
    const CpVar *v = &c->vars.items[var];
    uint8_t phys = lower_info(&c->pipe, r)->phys;
    dbg_assert(type_same_cells(cp_entry(c, v->col)->type, lower_info(&c->pipe, r)->type));
    Instr *in = builder_emit(&c->pipe.b, OP_STORE, (Phys)phys, 0, r, 0, 0);
    if (!in) return cp_oom(c);
    in->imm = var;
    cp_fresh(c);
    if (!lower_info(&c->pipe, r)->is_const) cp_entry(c, v->col)->reg = r;
    c->vars.items[var].known = true;
    c->vars.items[var].stamp = ++c->flow.clock;
    return ST_OK;
}
Status cp_store_int(Cp *c, int32_t var, int64_t x) {
    Phys ph = type_phys(c->vars.items[var].type);
    if (ph != PH_BOOL) return cp_store(c, var, lower_int_const(&c->low, &c->pipe, ph, c->vars.items[var].type, x));
    Value v = {.type = type_make(T_BOOL), .u.b = x != 0};
    return cp_store(c, var, lower_const(&c->low, &c->pipe, &v));
}
Status cp_store_null(Cp *c, int32_t var) {
    if (cp_foot(c) && c->flow.blind) return cp_unknown(c, var);
    Value v = {.type = c->vars.items[var].type, .is_null = true};
    return cp_store(c, var, lower_canonical(&c->low, &c->pipe, lower_const(&c->low, &c->pipe, &v), v.type));
}
Status cp_unknown(Cp *c, int32_t var) {
    c->vars.items[var].known = false;
    return ST_OK;
}

Status cp_copy(Cp *c, int32_t to, int32_t from) {
    if (cp_foot(c) && !c->vars.items[from].known) return cp_unknown(c, to);
    return cp_store(c, to, cp_load(c, from));
}

Expr *cp_cast(Cp *c, Expr *e, Type to) {
    if (!e) return NULL;
    if (type_eq(e->type, to)) return e;
    if (e->kind == EX_CONST && e->u.value.is_null) {
        Value v = {.type = to, .is_null = true};
        Expr *n = expr_const(&c->ctx, &v);
        return n ? n : (c->oom = true, NULL);
    }
    if (!cast_exists(e->type, to, CAST_ASSIGNMENT) && e->kind == EX_CONST &&
        type_is_text(e->type)) { /* PL/pgSQL assigns by way of the text */
        Value v;
        if (value_from_text(to, (Slice){e->u.value.u.str.ptr, e->u.value.u.str.len}, c->reg->session, c->arena, &v,
                            &c->scratch) != ST_OK) {
            (void)cp_refuse_error(c);
            return NULL;
        }
        Expr *n = expr_const(&c->ctx, &v);
        return n ? n : (c->oom = true, NULL);
    }
    if (!cast_exists(e->type, to, CAST_ASSIGNMENT)) {
        char name[TYPE_NAME_MAX];
        cp_refuse(c, "an assignment of %s to %s", type_base_name((TypeId)e->type.id), type_name(to, &name));
        return NULL;
    }
    Expr *n = expr_new(&c->ctx, EX_CAST, to, 1);
    if (!n) return c->oom = true, NULL;
    n->cast_ctx = CAST_ASSIGNMENT;
    n->args[0] = e;
    return n;
}

Status cp_assign(Cp *c, int32_t var, Expr *e) {
    Type t = c->vars.items[var].type;
    if (!(e = cp_cast(c, e, t))) return ST_ERROR;
    if (cp_foot(c) && (c->flow.blind || !cp_known(c, e))) return cp_unknown(c, var);
    return cp_store(c, var, cp_lower_as(c, e, t));
}

bool *cp_known_copy(Cp *c) {
    bool *k = arena_calloc(c->arena, c->vars.len + 1);
    if (!k) return c->oom = true, NULL;
    for (int64_t i = 0; i < c->vars.len; i++) k[i] = c->vars.items[i].known;
    k[c->vars.len] = false;
    return k;
}
void cp_known_set(Cp *c, const bool *k, int64_t n) {
    for (int64_t i = 0; i < n; i++) c->vars.items[i].known = k[i];
}
void cp_known_meet(Cp *c, const bool *k, int64_t n) {
    for (int64_t i = 0; i < n; i++) c->vars.items[i].known &= k[i];
}

void cp_forget_since(Cp *c, int64_t clock) {
    for (int64_t i = 0; i < c->vars.len; i++) c->vars.items[i].known &= c->vars.items[i].stamp <= clock;
}
Status cp_known_leaves(Cp *c, CpKnown *k) {
    if (!cp_foot(c)) return ST_OK;
    if (!k->known) {
        k->n = c->vars.len;
        return (k->known = cp_known_copy(c)) ? ST_OK : ST_ERROR;
    }
    for (int64_t i = 0; i < k->n; i++) k->known[i] &= c->vars.items[i].known;
    return ST_OK;
}
void cp_known_arrive(Cp *c, const CpKnown *k) {
    for (int64_t i = 0; k->known && i < c->vars.len; i++) c->vars.items[i].known &= i < k->n && k->known[i];
}
bool cp_skipping(const Cp *c) {
    for (int64_t i = 0; i < c->flow.labels.len; i++)
        if (c->flow.labels.items[i].may_next) return true;
    return false;
}

/* ---- expressions ----------------------------------------------------------------------------------- */
Reg cp_int(Cp *c, Phys phys, int64_t v) {
    Reg r = lower_int_const(&c->low, &c->pipe, phys, type_make(phys == PH_I64 ? T_INT8 : T_INT4), v);
    return r ? r : (c->oom = true, 0);
}
Reg cp_cmp(Cp *c, Opcode op, Phys phys, Reg a, Reg b) {
    if (!a || !b) return 0;
    bool nullable = lower_info(&c->pipe, a)->nullable || lower_info(&c->pipe, b)->nullable;
    Reg r = lower_reg(&c->low, &c->pipe, PH_BOOL, type_make(T_BOOL), nullable, (Range){true, 0, 1});
    if (!r || !builder_emit(&c->pipe.b, op, phys, r, a, b, 0)) return c->oom = true, 0;
    return r;
}

Reg cp_test(Cp *c, Opcode op, Reg a) {
    if (!a) return 0;
    Reg r = lower_reg(&c->low, &c->pipe, PH_BOOL, type_make(T_BOOL), false, (Range){true, 0, 1});
    if (!r || !builder_emit(&c->pipe.b, op, (Phys)lower_info(&c->pipe, a)->phys, r, a, 0, 0)) return c->oom = true, 0;
    return r;
}

bool cp_known(Cp *c, const Expr *e) {
    if (stack_stop()) return false;
    if (!cp_foot(c)) return true;
    if (e->kind == EX_COL) {
        for (int64_t i = 0; i < c->vars.len; i++)
            if (c->vars.items[i].col == e->u.col) return c->vars.items[i].known;
        const ColEntry *x = cp_entry(c, e->u.col);
        if (!x || x->where == CW_NONE) return false;
        return x->where != CW_EXPR || cp_known(c, x->expr);
    }
    if (e->kind == EX_SUBQUERY || expr_is_volatile(e)) return false;
    for (int32_t i = 0; i < e->n_args; i++)
        if (!cp_known(c, e->args[i])) return false;
    return true;
}

Reg cp_lower(Cp *c, Expr *e) {
    Reg r = lower_expr(&c->low, &c->pipe, e);
    if (!r) (void)cp_refuse_error(c);
    return r;
}
Reg cp_lower_as(Cp *c, Expr *e, Type t) {
    Reg r = cp_lower(c, e);
    if (r && !(r = lower_canonical(&c->low, &c->pipe, r, t))) (void)cp_refuse_error(c);
    return r;
}
Reg cp_condition(Cp *c, Expr *e) { return cp_lower_as(c, e, type_make(T_BOOL)); }

Status cp_raise(Cp *c, const char *sqlstate, const char *format, const char *hint) {
    return cp_raise_site(c, &(RaiseSite){.sqlstate = sqlstate, .format = format, .hint = hint});
}
Status cp_raise_site(Cp *c, const RaiseSite *site) {
    RaiseSite *s = arena_new_of(c->arena, RaiseSite);
    Instr *in = s ? builder_emit(&c->pipe.b, OP_RAISE, PH_BOOL, 0, 0, 0, 0) : NULL;
    if (!in) return cp_oom(c);
    *s = *site;
    in->aux = s;
    cp_mark(c);
    return ST_OK;
}

/* ---- binding ------------------------------------------------------------------------------------------ */
/* Variable that a reference means; -1 none. */
int32_t cp_ref(Cp *c, PlRef r) {
    if (!r.field) return c->at.var_of[r.var];
    const CpRecord *x = &c->at.records[r.var];
    for (int32_t i = 0; i < x->n; i++)
        if (strcmp(x->names[i], r.field) == 0) return x->vars[i];
    return -1;
}
static bool field_type(void *ctx, int32_t var, const char *field, Type *out, bool *assigned) {
    Cp *c = ctx;
    *assigned = c->at.records[var].n > 0;
    int32_t v = cp_ref(c, (PlRef){var, field});
    if (v >= 0) *out = c->vars.items[v].type;
    return v >= 0;
}
static Type var_type(void *ctx, int32_t var) {
    Cp *c = ctx;
    return c->at.var_of[var] >= 0 ? c->vars.items[c->at.var_of[var]].type : c->at.f->vars[var].type;
}

/* A hidden copy of a variable as it is now. */
static int32_t snapshot(Cp *c, int32_t var) {
    for (int64_t i = 0; i + 1 < c->at.copies.len; i += 2)
        if (c->at.copies.items[i] == var) return c->at.copies.items[i + 1];
    int32_t copy = cp_var_new(c, NULL, c->vars.items[var].type);
    if (copy < 0 || cp_copy(c, copy, var) != ST_OK) return -1;
    if (!vec_push(c->arena, &c->at.copies, var) || !vec_push(c->arena, &c->at.copies, copy)) return c->oom = true, -1;
    return copy;
}

static bool to_column(void *ctx, Expr *e) {
    Cp *c = ctx;
    /* A bulk's result is that of its calls one by one, wherever it is run again: what depends on the clock or on chance
     * is no part of it. */
    if (e->kind == EX_FUNC && (e->u.func->flags & FN_VOLATILE) && !cp_routine(c, e))
        return cp_refuse(c, "%s() is volatile", e->u.func->name), false;
    if (e->kind == EX_FUNC && e->u.func->own)
        return cp_refuse(c, "%s() is a function of the client", e->u.func->name), false;
    if (e->kind == EX_SUBQUERY) {
        for (int32_t i = 0; i < (e->subquery == SQ_IN ? e->u.sub.n_cols : 0); i++)
            if (!expr_walk(e->u.sub.compare[i], to_column, c)) return false;
        return cp_prepare_plan(c, &e->u.sub.plan, NULL) == ST_OK && cp_plan_columns(c, e->u.sub.plan) == ST_OK;
    }
    if (e->kind != EX_PARAM) return true;
    PlRef r = c->at.names.refs.items[e->u.param - 1];
    int32_t var = cp_ref(c, r);
    if (var < 0) return cp_refuse(c, "variable \"%s\" as a whole", c->at.f->vars[r.var].name), false;
    if (r.var == c->at.f->found) c->found_seen = true;
    if ((c->at.snapshot || (r.var == c->at.f->found && c->at.in_statement)) && (var = snapshot(c, var)) < 0)
        return false;
    ColId col = c->vars.items[var].col;
    e->kind = EX_COL;
    e->u.col = col;
    return true;
}
static Status slot_to_column(void *ctx, Expr **slot) { return expr_walk(*slot, to_column, ctx) ? ST_OK : ST_ERROR; }
Status cp_columns(Cp *c, Expr **slot) { return slot_to_column(c, slot); }
Status cp_plan_columns(Cp *c, Plan *p) {
    TRY(cp_stack(c));
    TRY(plan_each_expr(p, slot_to_column, c));
    for (int64_t r = 0; p->kind == LP_VALUES && r < p->values.n_rows; r++)
        for (int32_t i = 0; i < p->n_out; i++) TRY(slot_to_column(c, &p->values.rows[r][i]));
    for (int32_t i = 0; i < p->n_children; i++) TRY(cp_plan_columns(c, p->children[i]));
    return ST_OK;
}

void cp_names(Cp *c, const PlExpr *x) {
    pl_names_init(&c->at.names, c->arena, c->at.f, x);
    c->at.names.field_type = field_type;
    c->at.names.var_type = var_type;
    c->at.names.ctx = c;
    c->ctx.variables = &c->at.names.hook;
    c->at.site = x;
    c->at.site_calls = 0;
}
BoundStmt *cp_bind(Cp *c, const AstStmt *stmt, const PlExpr *x) {
    cp_names(c, x);
    BoundStmt *b = NULL;
    Status st = sql_bind(&c->ctx, stmt, 0, NULL, &b);
    c->ctx.variables = NULL;
    if (st != ST_OK) return (void)cp_refuse_error(c), NULL;
    if (b->kind == STMT_UTILITY) return (void)cp_refuse(c, "a command that is no query"), NULL;
    if (b->n_members > 0) return (void)cp_refuse(c, "WITH that changes data"), NULL;
    c->at.copies.len = 0;
    bool once = b->plan->kind == LP_AGG; /* UPDATE .. FROM: cp_update looks for it */
    Plan **plan = once ? &b->plan->children[0] : &b->plan;
    if (cp_prepare_plan(c, plan, b->kind == STMT_SELECT ? NULL : b->table) != ST_OK ||
        cp_plan_columns(c, b->plan) != ST_OK || !cp_entry(c, (ColId)c->ctx.cols.len))
        return NULL;
    return b;
}

Expr *cp_expr(Cp *c, const PlExpr *x, Type want) {
    AstSelect *s = arena_new_of(c->arena, AstSelect);
    AstTarget *t = arena_new_of(c->arena, AstTarget);
    if (!s || !t) return c->oom = true, NULL;
    if (!x->ast) return (void)cp_refuse(c, "an expression that is a query"), NULL;
    s->kind = AST_SELECT;
    t->expr = (AstExpr *)(uintptr_t)x->ast;
    s->targets = t;
    s->n_targets = 1;
    BoundStmt *b = cp_bind(c, (AstStmt *)s, x);
    if (!b) return NULL;
    Plan *p = b->plan;
    Expr *e = NULL;
    for (int32_t i = 0; p->kind == LP_PROJECT && i < p->n_exprs; i++)
        if (p->out_cols[i] == b->result[0]) e = p->exprs[i];
    if (!e || p->children[0]->kind != LP_VALUES || p->children[0]->values.routine_id)
        return (void)cp_refuse(c, "an expression that is a query"), NULL;
    const bool *read = cp_tables_read(c, p);
    int64_t from = c->query.write_tables.len;
    if (cp_settle(c, &e) != ST_OK || cp_check_changed(c, read, from) != ST_OK) return NULL;
    return want.id == T_UNKNOWN ? e : cp_cast(c, e, want);
}

Status cp_when(Cp *c, Expr *cond, CpPart part, void *ctx) {
    bool known = cp_known(c, cond), blind = c->flow.blind, *before = cp_foot(c) ? cp_known_copy(c) : NULL;
    int64_t n = c->vars.len;
    if (cp_foot(c) && !before) return ST_ERROR;
    if (known) TRY(cp_control(c, OP_P_IF, cp_condition(c, cond), 0));
    else c->flow.blind = true;
    TRY(part(c, ctx));
    if (known) TRY(cp_control(c, OP_P_ENDIF, 0, 0));
    c->flow.blind = blind;
    if (before) cp_known_meet(c, before, n);
    return ST_OK;
}

/* ---- a pass over one procedure ------------------------------------------------------------------------------ */
/* Whether a statement of that kind, or a block with handlers (PLS_BLOCK), stands in the body. */
static bool body_has(const PlBody *b, PlStmtKind kind) {
    if (stack_stop()) return false;
    for (int32_t i = 0; i < b->n; i++) {
        const PlStmt *s = b->stmts[i];
        if (s->kind == kind && (kind != PLS_BLOCK || s->scope.n_handlers > 0)) return true;
        if (body_has(&s->body, kind)) return true;
        for (int32_t k = 0; k < s->arms.n; k++)
            if (body_has(&s->arms.items[k].body, kind)) return true;
        for (int32_t k = 0; k < s->scope.n_handlers; k++)
            if (body_has(&s->scope.handlers[k].body, kind)) return true;
    }
    return false;
}
Status cp_declare(Cp *c) {
    const PlFunction *f = c->at.f;
    if (f->ret_domain) return cp_refuse(c, "its result is of a domain");
    if (!(c->at.var_of = arena_array(c->arena, int32_t, f->n_vars + 1)) ||
        !(c->at.records = arena_array(c->arena, CpRecord, f->n_vars + 1)))
        return cp_oom(c);
    for (int32_t i = 0; i < f->n_vars; i++) c->at.var_of[i] = -1;
    bool outs = false;
    for (int32_t i = 0; i < f->n_params; i++) outs |= f->param_modes[i] != PL_IN;
    for (int later = 0; later < 2; later++)
        for (int32_t i = 0; i < f->n_vars; i++) {
            const PlVar *v = &f->vars[i];
            bool in = i < f->n_params && f->param_modes[i] != PL_OUT;
            if ((later == 0) != in) continue;
            if (v->domain) return cp_refuse(c, "variable \"%s\" is of a domain", v->name ? v->name : "");
            if (v->kind == PLV_SCALAR && v->type.id == T_UNKNOWN) continue; /* CASE's: made there */
            if (v->kind == PLV_SCALAR) {
                if ((c->at.var_of[i] = cp_var_new(c, v->name, v->type)) < 0) return ST_ERROR;
                c->vars.items[c->at.var_of[i]].known = true; /* a parameter, or NULL */
                continue;
            }
            CpRecord *r = &c->at.records[i];
            if (v->kind != PLV_ROW) continue;
            r->names = v->field_names;
            if (!(r->vars = arena_array(c->arena, int32_t, v->n_fields + 1))) return cp_oom(c);
            for (r->n = 0; r->n < v->n_fields; r->n++) {
                if (v->field_domains[r->n])
                    return cp_refuse(c, "field \"%s\" of \"%s\" is of a domain", v->field_names[r->n], v->name);
                if ((r->vars[r->n] = cp_var_new(c, v->field_names[r->n], v->field_types[r->n])) < 0) return ST_ERROR;
            }
        }
    c->at.ret = f->is_procedure || f->returns_void || outs ? -1 : cp_var_new(c, NULL, f->ret);
    PlBody whole = {1, (PlStmt *[]){f->body}};
    c->at.row_count = body_has(&whole, PLS_DIAGNOSTICS) && !body_has(&whole, PLS_BLOCK)
                          ? cp_var_new(c, NULL, type_make(T_INT8))
                          : -1; /* a statement that fails keeps the old one */
    return c->oom ? ST_ERROR : ST_OK;
}

/* The body without locks, and without what is only there to name their items: the virtual machine's. */
static Status without_locks(Cp *c, const Program *g, int32_t *plain, Program **out) {
    bool *gone = arena_calloc(c->arena, g->n_instrs + 1), *wanted = cp_results(c);
    if (!gone || !wanted) return ST_ERROR;
    for (int32_t i = 0; i < g->n_instrs; i++) gone[i] = g->instrs[i].op == OP_LOCK || g->instrs[i].op == OP_UNLOCK;
    TRY(cp_sweep(c->arena, g->instrs, g->n_instrs, g->n_regs, c->vars.len, wanted, gone));
    ProgramBuilder b;
    builder_init(&b, c->arena);
    b.n_sites = g->n_sites;
    b.regs.len = 0;
    for (int32_t i = 0; i < g->n_regs; i++)
        if (!vec_push(c->arena, &b.regs, g->regs[i])) return ST_ERROR;
    for (int32_t i = 0; i < g->n_instrs; i++) {
        plain[i] = (int32_t)b.instrs.len;
        if (!gone[i] && !vec_push(c->arena, &b.instrs, g->instrs[i])) return ST_ERROR;
    }
    int64_t lines = MIN_OF(c->from.lines.len, (int64_t)g->n_instrs);
    for (int64_t i = 0; i < lines; i++) {
        c->from.lines.items[plain[i]] = c->from.lines.items[i];
        c->from.places.items[plain[i]] = c->from.places.items[i];
        c->from.contexts.items[plain[i]] = c->from.contexts.items[i];
    }
    Err e = {0};
    *out = program_finish(&b, &g->source, &g->sink, &e);
    return *out || strcmp(e.sqlstate, ERR_OUT_OF_MEMORY) != 0 ? ST_OK : ST_ERROR;
}
static ProcVar *vars_of(const Cp *c) {
    ProcVar *vars = arena_array(c->arena, ProcVar, c->vars.len + 1);
    for (int64_t i = 0; vars && i < c->vars.len; i++)
        vars[i] = (ProcVar){c->vars.items[i].name, c->vars.items[i].type, (uint8_t)type_phys(c->vars.items[i].type)};
    return vars;
}
/* It is the same procedure as before, and its locks are where the footprint has them. */
static Status use_locks(Cp *c, Program *g, int32_t own_vars) {
    Proc *proc = c->proc;
    if (own_vars != c->reg->own_vars[proc->number] || c->tables.len != proc->n_tables || c->places.lock_items.len == 0)
        return ST_OK;
    for (int32_t i = 0; i < proc->n_tables; i++)
        if (c->tables.items[i].table_id != proc->tables[i].table_id) return ST_OK;
    int32_t *plain = arena_array(c->arena, int32_t, g->n_instrs + 1);
    Program *p = NULL;
    if (!plain || without_locks(c, g, plain, &p) != ST_OK) return ST_ERROR;
    if (!p) return ST_OK;
    ProcVar *vars = vars_of(c);
    if (!vars) return ST_ERROR;
    proc->n_vars = (int32_t)c->vars.len;
    proc->vars = vars;
    proc->body = p;
    proc->lines = c->from.lines.items;
    proc->places = c->from.places.items;
    proc->contexts = c->from.contexts.items;
    proc->locking_body = g;
    proc->plain = plain;
    proc->n_locks = (int32_t)c->places.lock_items.len;
    proc->locks = c->places.lock_items.items;
    return ST_OK;
}

/* A routine that is STRICT does nothing when an argument is NULL. */
static Status skip_nulls(Cp *c) {
    for (int32_t i = 0; i < c->at.f->n_params; i++) {
        if (c->at.f->param_modes[i] == PL_OUT) continue;
        TRY(cp_control(c, OP_P_IF, cp_test(c, OP_IS_NULL, cp_load(c, c->at.var_of[i])), 0));
        TRY(cp_control(c, OP_P_RETURN, 0, 0));
        TRY(cp_control(c, OP_P_ENDIF, 0, 0));
    }
    return ST_OK;
}

static Status pass(Registry *reg, const PlFunction *f, Proc *proc, CpMode mode, bool dry, CpFootSites *foot,
                   bool *uses_found, const char **reason, Program **out) {
    Arena *a = reg->arena;
    Cp *c = arena_new_of(a, Cp);
    if (!c) return ST_ERROR;
    *c = (Cp){.reg = reg,
              .at = {.f = f, .place = "function", .caught = -1, .found_to = -1, .count_to = -1},
              .proc = proc,
              .mode = mode,
              .dry = dry,
              .arena = a,
              .uses_found = *uses_found,
              .flow.next_block = 1,
              .flow.try_block = -1,
              .places.foot = foot,
              .places.site = -1,
              .locking = mode == CP_BODY && foot};
    c->err = &c->scratch;
    c->ctx = (PlanCtx){.arena = a, .err = &c->scratch, .catalog = reg->catalog, .session = reg->session};
    if (!vec_push(a, &c->ctx.cols, ((ColInfo){0}))) return ST_ERROR;
    c->low = (Lower){.c = &c->ctx, .arena = a, .err = &c->scratch};
    builder_init(&c->pipe.b, a);
    c->pipe.source = (Source){.kind = SRC_CALLS, .id = -1};
    c->query.in_scope = colset_new(&c->ctx);
    int64_t clock = time_reads, zone = zone_reads;
    Status st = cp_declare(c);
    if (st == ST_OK && c->uses_found && c->at.var_of[f->found] >= 0) st = cp_store_int(c, c->at.var_of[f->found], 0);
    if (st == ST_OK && c->at.row_count >= 0) st = cp_store_int(c, c->at.row_count, 0);
    if (st == ST_OK && f->strict) st = skip_nulls(c);
    for (int32_t i = 0; st == ST_OK && mode != CP_BODY && i < proc->n_tables; i++) { /* the numbers are the body's */
        CpTable *t = NULL;
        for (int64_t k = 0; k < reg->tables.len && !t; k++)
            if (reg->tables.items[k]->table->id == proc->tables[i].table_id) t = reg->tables.items[k];
        if (!t || !vec_push(a, &c->tables, proc->tables[i]) || !vec_push(a, &c->reg_tables, t)) return ST_ERROR;
    }
    if (st == ST_OK && f->returns_set) st = cp_refuse(c, "it returns a set");
    PlBody body = {1, (PlStmt *[]){f->body}};
    if (st == ST_OK) st = cp_body(c, &body);
    if (st == ST_OK && f->is_sql && f->result_var >= 0 && c->at.ret >= 0)
        st = c->at.var_of[f->result_var] < 0 ? cp_refuse(c, "its result is a record")
                                             : cp_copy(c, c->at.ret, c->at.var_of[f->result_var]);
    int64_t n = c->pipe.b.instrs.len;
    bool returned = n > 0 && c->pipe.b.instrs.items[n - 1].op == OP_P_RETURN;
    if (st == ST_OK && c->at.ret >= 0 && !f->is_sql && !cp_foot(c) && !returned)
        st = cp_raise(c, ERR_NO_RETURN, "control reached end of function without RETURN", NULL);
    if (st == ST_OK) st = cp_control(c, OP_P_RETURN, 0, 0);
    if (st == ST_OK && time_reads != clock)
        st = cp_refuse(c, "a value depends on the time at which it is read ('now')");
    if (st == ST_OK && zone_reads != zone) st = cp_refuse(c, "a value depends on the time zone in which it is read");
    if (st == ST_OK) cp_mark(c); /* else the calls that it stopped in are gone */
    if (st == ST_OK && c->oom) st = ST_ERROR;
    *uses_found |= c->found_seen;
    if (st != ST_OK) {
        *reason = c->reason;
        return c->reason && !c->oom ? ST_OK : ST_ERROR;
    }
    if (mode == CP_SITES || dry) return ST_OK;
    if (mode == CP_FOOTPRINT) {
        TRY(cp_slice(c));
        TRY(cp_hoist_items(c));
    } else if (c->locking) {
        TRY(cp_hoist_locks(c));
    }
    int32_t own_vars = (int32_t)c->vars.len;
    TRY(cp_reuse(c));
    if (mode == CP_FOOTPRINT) TRY(cp_merge_items(c));
    Sink sink = {.kind = SINK_NONE};
    Program *p = program_finish(&c->pipe.b, &c->pipe.source, &sink, &c->scratch);
    if (!p) {
        *reason = arena_printf(a, "%s", c->scratch.message);
        return ST_OK;
    }
    *out = p;
    if (c->locking) return use_locks(c, p, own_vars);
    int32_t n_vars = (int32_t)c->vars.len;
    ProcVar *vars = vars_of(c);
    if (!vars) return ST_ERROR;
    if (mode == CP_FOOTPRINT) {
        proc->n_foot_vars = n_vars;
        proc->foot_vars = vars;
        proc->n_unbounded = (int32_t)c->unbounded.len;
        proc->unbounded = c->unbounded.items;
        return ST_OK;
    }
    reg->own_vars[proc->number] = own_vars;
    proc->n_vars = n_vars;
    proc->vars = vars;
    proc->lines = c->from.lines.items;
    proc->places = c->from.places.items;
    proc->contexts = c->from.contexts.items;
    proc->tables = c->tables.items;
    proc->n_tables = (int32_t)c->tables.len;
    proc->n_params = 0;
    for (int32_t i = 0; i < f->n_params; i++) proc->n_params += f->param_modes[i] != PL_OUT;
    proc->outs = arena_array(a, int32_t, f->n_params + 1);
    proc->out_names = arena_array(a, const char *, f->n_params + 1);
    if (!proc->outs || !proc->out_names) return ST_ERROR;
    proc->n_outs = 0;
    if (c->at.ret >= 0) {
        proc->out_names[0] = f->name;
        proc->outs[proc->n_outs++] = c->at.ret;
    }
    for (int32_t i = 0; i < f->n_params; i++)
        if (f->param_modes[i] != PL_IN) {
            proc->out_names[proc->n_outs] = f->param_names[i];
            proc->outs[proc->n_outs++] = c->at.var_of[i];
        }
    return ST_OK;
}

/* Something failed after the first change of a call: the change has to be taken back. Loops: a change comes before
 * everything in the loop. */
static bool needs_undo(const Program *p, bool adds_fail) {
    int32_t first = -1, loop = -1, depth = 0;
    for (int32_t i = 0; i < p->n_instrs; i++)
        if (p->instrs[i].op == OP_P_TRY) return true;
    for (int32_t i = 0; i < p->n_instrs && first < 0; i++) {
        uint16_t op = p->instrs[i].op;
        if (op == OP_P_LOOP && depth++ == 0) loop = i;
        if (op == OP_P_ENDLOOP) depth--;
        if (op == OP_ROW_PUT || op == OP_ROW_ADD || op == OP_ROW_INSERT || op == OP_ROW_DELETE)
            first = depth > 0 ? loop : i;
    }
    if (first < 0) return false;
    for (int32_t i = first + (p->instrs[first].op != OP_P_LOOP); i < p->n_instrs; i++) {
        const Instr *in = &p->instrs[i];
        if (!instr_may_fail(in)) continue;
        if (in->op == OP_CALL && !((const CallSite *)in->aux)->can_fail) continue;
        if (in->op == OP_ROW_ADD && !adds_fail) continue;
        return true;
    }
    return false;
}

static bool has_writes(const Program *p) {
    for (int32_t i = 0; i < p->n_instrs; i++) {
        uint16_t op = p->instrs[i].op;
        if (op == OP_ROW_PUT || op == OP_ROW_ADD || op == OP_ROW_INSERT || op == OP_ROW_DELETE) return true;
    }
    return false;
}

/* Rows that a call may insert into each table: their number, or -1 where it depends on the call. */
static void count_inserts(Proc *p) {
    int32_t depth = 0;
    for (int32_t t = 0; t < p->n_tables; t++) p->tables[t].max_inserts = 0;
    for (int32_t i = 0; i < p->body->n_instrs; i++) {
        const Instr *in = &p->body->instrs[i];
        if (in->op == OP_P_LOOP) depth++;
        if (in->op == OP_P_ENDLOOP) depth--;
        if (in->op != OP_ROW_INSERT) continue;
        ProcTable *t = &p->tables[((const RowInsert *)in->aux)->table];
        if (depth > 0) t->max_inserts = -1;
        else if (t->max_inserts >= 0) t->max_inserts++;
    }
}

Status pl_compile(const Catalog *catalog, const SessionInfo *session, int32_t n, const PlFunction *const *functions,
                  Arena *a, Proc **out, Err *e) {
    Registry reg = {.arena = a,
                    .catalog = catalog,
                    .session = session,
                    .n_functions = n,
                    .functions = functions,
                    .own_vars = arena_array(a, int32_t, n + 1),
                    .fetch_adds = arena_array(a, CpFetchAdds, n + 1)};
    Proc *procs = arena_array(a, Proc, n + 1);
    CpFootSites *foot = arena_array(a, CpFootSites, n + 1);
    bool *found = procs ? arena_calloc(a, n + 1) : NULL;
    if (!procs || !found || !foot || !reg.own_vars || !reg.fetch_adds) return err_oom(e);
    for (int32_t i = 0; i < n; i++) procs[i] = (Proc){.name = functions[i]->name, .number = i, .queue = -1, .arena = a};
    /* What is written: of those procedures that can be compiled at all. */
    for (int32_t i = 0; i < n; i++)
        if (pass(&reg, functions[i], &procs[i], CP_BODY, true, NULL, &found[i], &procs[i].reason, NULL) != ST_OK)
            return err_oom(e);
    int64_t before = 0;
    for (bool again = true; again;) { /* a procedure that turns out to be impossible takes its writes with it */
        again = false;
        for (int64_t t = 0; t < reg.tables.len; t++) {
            CpTable *x = reg.tables.items[t];
            memset(x->written, 0, (size_t)x->table->n_cols);
            memset(x->writers, 0, (size_t)x->table->n_cols * sizeof *x->writers);
            x->inserted = x->deleted = false;
            x->need.n_groups = 0;
            memset(x->need.cols, 0, (size_t)x->table->n_cols);
            memset(x->need.adds, 0, (size_t)x->table->n_cols);
            x->need.inserts = false;
        }
        for (int step = 0; step < 2 && !again; step++)
            for (int32_t i = 0; i < n; i++) {
                if (procs[i].reason) continue;
                if (pass(&reg, functions[i], &procs[i], CP_BODY, step == 0, NULL, &found[i], &procs[i].reason,
                         &procs[i].body) != ST_OK)
                    return err_oom(e);
                again |= procs[i].reason != NULL;
            }
        if (again) continue;
        memset(foot, 0, (size_t)n * sizeof *foot);
        for (int32_t i = 0; i < n; i++)
            if (!procs[i].reason) count_inserts(&procs[i]);
        for (int64_t t = 0; t < reg.tables.len; t++)
            if (make_groups(&reg, reg.tables.items[t]) != ST_OK) return err_oom(e);
        for (int step = 0; step < 2 && !again; step++) {
            for (int64_t t = 0; step && t < reg.tables.len; t++) make_keys(reg.tables.items[t]);
            for (int32_t i = 0; i < n; i++) {
                if (procs[i].reason) continue;
                if (pass(&reg, functions[i], &procs[i], step ? CP_FOOTPRINT : CP_SITES, false, step ? &foot[i] : NULL,
                         &found[i], &procs[i].reason, &procs[i].footprint) != ST_OK)
                    return err_oom(e);
                again |= procs[i].reason != NULL;
            }
        }
        if (++before > n + 1) return err_internal(e, "procedures change each other without end");
    }
    for (int32_t i = 0; i < n; i++) {
        Proc *p = &procs[i];
        if (p->reason) {
            p->body = p->footprint = NULL;
            continue;
        }
        for (int32_t t = 0; t < p->n_tables; t++)
            for (int64_t k = 0; k < reg.tables.len; k++)
                if (reg.tables.items[k]->table->id == p->tables[t].table_id)
                    p->tables[t].need = reg.tables.items[k]->need;
        const char *why = NULL;
        Program *locking_body = NULL;
        if (pass(&reg, functions[i], p, CP_BODY, false, &foot[i], &found[i], &why, &locking_body) != ST_OK)
            return err_oom(e);
        proc_find_dequeues(p);
        if (proc_find_fetch_adds(p, (int32_t)reg.fetch_adds[i].list.len) != ST_OK) return err_oom(e);
        p->writes = has_writes(p->body);
        p->undo = needs_undo(p->body, false);
        p->undo_adds = needs_undo(p->body, true);
    }
    *out = procs;
    return ST_OK;
}
