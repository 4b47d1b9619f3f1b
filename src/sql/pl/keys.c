/* keys.c - from the touches of all procedures to the keys of items, and from the touches of one to its items: see
 * compile_int.h. */
#include "sql/pl/compile_int.h"

/* ---- keys ------------------------------------------------------------------------------------ */
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
}
static void to_main_key(CpTable *t) {
    for (int64_t i = 0; i < t->sites.len; i++)
        if (t->table->n_keys > 1 && t->sites.items[i].group == rows_groups_end(t))
            t->sites.items[i].group = rows_group(t) + t->main_key;
}
/* From the places that touch a group to its keys: the unique key that is known at most of them, and what is known at
 * all of them. */
enum { CHANGES = 1 << OPK_WRITE | 1 << CP_DELETES };
void cp_make_keys(CpTable *t) {
    choose_main_key(t);
    to_main_key(t);
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

/* All that touch_items and cp_make_keys act by, of the kinds of operations on a group. */
static uint32_t decisions(const CpTable *t, int32_t g) {
    enum { READS = 1 << OPK_READ, ADDS = 1 << OPK_ADD, WRITES = 1 << OPK_WRITE, DELETES = 1 << CP_DELETES };
    const uint8_t fine = t->fine_kinds[g], coarse = t->coarse_kinds[g], all = fine | coarse;
    const bool rows = g >= rows_group(t);
    uint32_t d = (fine != 0) | (uint32_t)(coarse != 0) << 1 | (uint32_t)((coarse & READS) != 0) << 2;
    d |= (uint32_t)(rows && (all == ADDS || all == DELETES)) << 3 | (uint32_t)(rows && coarse & CHANGES) << 4;
    if (coarse) d |= (uint32_t)((fine & READS) != 0) << 5 | (uint32_t)((fine & WRITES) != 0) << 6;
    return d | (uint32_t)((coarse & (ADDS | WRITES | DELETES)) != 0) << 7;
}
bool cp_fit_keys(CpTable *t) {
    to_main_key(t);
    for (int64_t i = 0; i < t->sites.len; i++) {
        const CpSite *s = &t->sites.items[i];
        const uint64_t fine = t->fine[s->group] >= 0 ? key_bits(t->table, t->fine[s->group]) : 0;
        for (int k = 0; k < t->table->n_cols; k++)
            if (t->key[s->group][k] && !(s->known >> k & 1)) return false; /* it is less that is known here */
        if (fine && (s->known & fine) == fine) t->fine_kinds[s->group] |= (uint8_t)(1 << s->kind);
        else t->coarse_kinds[s->group] |= (uint8_t)(1 << s->kind);
    }
    for (int32_t g = 0; g < rows_groups_end(t); g++) {
        const uint32_t now = decisions(t, g);
        const CpTable before = {.table = t->table,
                                .n_groups = t->n_groups,
                                .fine_kinds = t->kept->fine_kinds,
                                .coarse_kinds = t->kept->coarse_kinds};
        if (now != decisions(&before, g)) return false;
    }
    return true;
}

/* ---- items ------------------------------------------------------------------------------------ */
/* The footprint that is made anew, with items. */
typedef struct Items {
    Cp *c;
    VEC(Instr) out;
    VEC(bool) open; /* brackets of touches alone: they stay */
} Items;

/* Whether the columns have a whole unique key of the table. */
static bool whole_key(const Table *t, const bool *cols) {
    for (int k = 0; k < t->n_keys; k++) {
        bool all = t->keys[k].n_cols > 0;
        for (int i = 0; i < t->keys[k].n_cols; i++) all &= cols[t->keys[k].cols[i]];
        if (all) return true;
    }
    return false;
}
static Status push_item(Items *m, CpItem *x) {
    Instr in = {.op = OP_ITEM, .phys = PH_BOOL, .aux = &x->site};
    return vec_push(m->c->arena, &m->out, in) ? ST_OK : cp_oom(m->c);
}
/* Why a fetch-add is planned as a write; NULL: it is not. */
static const char *why_write(const CpTouch *t, uint32_t group, const bool *key) {
    return t->item.why                                                 ? t->item.why
           : t->open                                                   ? "it is in a loop"
           : !whole_key(t->table->table, key) || item_is_coarse(group) ? "its row is not known by a unique key"
           : !t->knows_amount                                          ? "its amount is not known before the call runs"
                                                                       : NULL;
}
/* One item: `group` as the schedule sees it, by the columns `key`. kind: OpKind or CP_DELETES. */
static Status add_item(Items *m, CpTouch *t, uint32_t group, const bool *key, int kind, bool amount) {
    Cp *c = m->c;
    CpItem *x = arena_new_of(c->arena, CpItem);
    Reg *args = arena_array(c->arena, Reg, t->item.n + 2);
    int32_t n = 0;
    if (!x || !args) return cp_oom(c);
    for (int32_t k = 0; k < t->item.n; k++) { /* in the order of columns */
        if (!key[t->cols[k]]) continue;
        t->table->need.cols[t->cols[k]] = true;
        args[n++] = t->foot_args[k];
    }
    bool deletes = kind == CP_DELETES, insert = t->item.does & DOES_INSERT && kind == OPK_WRITE &&
                                                (group == ITEM_ROWS || group >= ITEM_KEY) &&
                                                !whole_key(t->table->table, key);
    const char *why = kind == OPK_WRITE && t->item.fetch_add ? why_write(t, group, key) : NULL;
    *x = (CpItem){.site = {.table = t->item.table,
                           .group = group,
                           .kind = (uint8_t)(deletes ? OPK_READ : kind),
                           .has_amount = kind == OPK_ADD && amount && t->knows_amount,
                           .inexact = t->item.inexact,
                           .insert = insert && t->item.insert,
                           .deletes = deletes,
                           .does = (uint8_t)(t->item.does | (t->group >= rows_group(t->table) ? DOES_ROWS : 0)),
                           .col = amount ? t->item.col : -1,
                           .n = n,
                           .fetch_add = kind == OPK_WRITE && !why ? t->item.fetch_add : 0,
                           .why = why,
                           .args = args},
                  .touch = t,
                  .key = key};
    if (x->site.has_amount || x->site.fetch_add) args[n] = t->foot_args[t->item.n];
    return vec_push(c->arena, &t->items, x) ? push_item(m, x) : cp_oom(c);
}
/* No operation: an amount that is added, or rows that are counted. */
static Status add_count(Items *m, CpTouch *t) {
    CpItem *x = arena_new_of(m->c->arena, CpItem);
    if (!x) return cp_oom(m->c);
    *x = (CpItem){.site = t->item, .touch = t};
    x->site.args = t->foot_args;
    x->site.group = t->item.kind == OPK_INSERTED ? ITEM_ROWS : (uint32_t)t->group;
    x->site.has_amount = x->site.covered = t->item.kind == OPK_ADD;
    x->site.fetch_add = 0;
    x->site.why = NULL;
    if (t->item.kind == OPK_ADD) {
        x->site.does = 0;
        x->site.n = 0;
        x->site.args = &t->foot_args[t->item.n];
    }
    return push_item(m, x);
}

/* The items of a touch, by what is known of it. */
static Status touch_items(Items *m, CpTouch *t) {
    enum { READS = 1 << OPK_READ, ADDS = 1 << OPK_ADD, WRITES = 1 << OPK_WRITE, DELETES = 1 << CP_DELETES };
    CpTable *table = t->table;
    int kind = t->item.kind;
    if (kind == OPK_INSERTED || t->item.covered) return add_count(m, t);
    const bool rows = t->group >= rows_group(table);
    const int32_t group = rows && table->table->n_keys > 1 && t->group == rows_groups_end(table)
                              ? rows_group(table) + table->main_key
                              : t->group;
    const uint8_t fine_kinds = table->fine_kinds[group], coarse_kinds = table->coarse_kinds[group],
                  kinds = fine_kinds | coarse_kinds;
    const int32_t of = rows ? group - rows_group(table) : group;
    if (t->null_key && of != table->main_key) return ST_OK;
    if (rows && (kinds == ADDS || kinds == DELETES))
        return ST_OK; /* rows are inserted, and not looked for; or deleted, by other keys */
    uint32_t name = !rows                   ? (uint32_t)of
                    : of == table->main_key ? ITEM_ROWS
                                            : ITEM_KEY + (uint32_t)of,
             coarse = ITEM_COARSE + 2 * (uint32_t)(of + (rows ? ITEM_GROUPS_MAX : 0));
    const bool *common = table->key[group];
    if (kind == CP_DELETES && coarse_kinds & READS) kind = OPK_WRITE; /* searches by less than a key read as well */
    if (!fine_kinds || !coarse_kinds) return add_item(m, t, name, common, kind, true);
    const KeyConstraint *k = &table->table->keys[table->fine[group]];
    bool fine = true, *key = arena_calloc(m->c->arena, table->table->n_cols + 1);
    if (!key) return cp_oom(m->c);
    for (int i = 0; i < k->n_cols; i++) {
        fine &= t->known[k->cols[i]];
        key[k->cols[i]] = true;
    }
    if (fine) {
        TRY(add_item(m, t, name, key, kind, true));
        if (kind != OPK_READ) return add_item(m, t, coarse, common, OPK_ADD, false);
        return coarse_kinds & (ADDS | WRITES | DELETES) ? add_item(m, t, coarse + 1, common, OPK_ADD, false) : ST_OK;
    }
    if (kind != OPK_READ && fine_kinds & READS)
        TRY(add_item(m, t, coarse + 1, common, kind == CP_DELETES ? CP_DELETES : OPK_WRITE, false));
    if (kind == OPK_ADD && fine_kinds & WRITES) {
        kind = OPK_WRITE;
        if (t->knows_amount) TRY(add_count(m, t));
    }
    return add_item(m, t, coarse, common, kind, true);
}

/* A condition that stands for touches by one key alone, that no part of it is NULL: not for the main key. */
static bool goes(const Cp *c, const Instr *in) {
    return (in->imm & 0xffff) == c->reg_tables.items[in->imm >> 16]->main_key;
}
Status cp_make_items(Cp *c) {
    ProgramBuilder *b = &c->pipe.b;
    Items m = {.c = c};
    for (int64_t i = 0; i < b->instrs.len; i++) {
        Instr in = b->instrs.items[i];
        bool mine = in.flags & CP_FOR_TOUCH, stays = true;
        in.flags &= INSTR_SAFE;
        if (in.op == OP_ITEM) {
            TRY(touch_items(&m, in.aux));
            continue;
        }
        if (mine && in.op == OP_P_IF) {
            stays = !goes(c, &in);
            in.imm = 0;
            if (!vec_push(c->arena, &m.open, stays)) return cp_oom(c);
        } else if (mine && in.op == OP_P_ENDIF) {
            stays = m.open.items[--m.open.len];
        }
        if (stays && !vec_push(c->arena, &m.out, in)) return cp_oom(c);
    }
    b->instrs.items = m.out.items;
    b->instrs.len = m.out.len;
    b->instrs.cap = m.out.cap;
    return ST_OK;
}
