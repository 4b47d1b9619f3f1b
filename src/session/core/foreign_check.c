/* foreign_check.c - what is done about an event of a foreign key: looks for parents, looks for rows that refer to what
 * has gone, and actions. See constraints.h for when.
 *
 * New rows look their parents up in the key's index, one by one, or, when they are a large part of their table, all
 * rows of it by one query; so do keys that have gone, when they are many. Rows that refer to keys which have gone are
 * found by a query over the referencing table (there need not be an index on its side): a single key is a condition of
 * it, so that a transaction has read no more than the rows with that key; several are a relation of it. Actions are
 * statements made in the same way.
 */
#include "catalog/foreign_key.h"
#include "session/core/changes.h"
#include "session/core/constraints_int.h"
#include "session/core/transaction.h"
#include "sql/bind/bind.h"
#include "sql/parse/parse.h"
#include "sql/plan/client_rows.h"

enum { ROWS_ONE_BY_ONE = 4096 }; /* as many are always looked up by themselves */

/* ---- errors -------------------------------------------------------------------------------------------- */

static Status mixed_nulls(Session *s, const ForeignKey *f) {
    err_set(&s->err, ERR_FOREIGN_KEY_VIOLATION,
            "insert or update on table \"%s\" violates foreign key constraint \"%s\"", f->table, f->name);
    err_of_constraint(&s->err, f->table, f->name);
    err_detail(&s->err, "MATCH FULL does not allow mixing of null and nonnull key values.");
    return ST_ERROR;
}
/* "(a, b)=(1, 2)" */
static const char *key_text(Arena *a, int n, char *const *names, const Value *vals) {
    const char *cols = "", *texts = "";
    for (int i = 0; cols && texts && i < n; i++) {
        int64_t len;
        const char *v = vals[i].is_null ? "null" : value_to_text(a, &vals[i], &len);
        cols = arena_printf(a, "%s%s%s", cols, i ? ", " : "", names[i]);
        texts = v ? arena_printf(a, "%s%s%s", texts, i ? ", " : "", v) : NULL;
    }
    return cols && texts ? arena_printf(a, "(%s)=(%s)", cols, texts) : NULL;
}
static Status no_parent(Session *s, Arena *a, const ForeignKey *f, const Value *vals) {
    const char *key = key_text(a, f->n_cols, f->cols, vals);
    if (!key) return err_oom(&s->err);
    err_set(&s->err, ERR_FOREIGN_KEY_VIOLATION,
            "insert or update on table \"%s\" violates foreign key constraint \"%s\"", f->table, f->name);
    err_of_constraint(&s->err, f->table, f->name);
    err_detail(&s->err, "Key %s is not present in table \"%s\".", key, f->ref_table);
    return ST_ERROR;
}
static Status still_referenced(Session *s, Arena *a, const ForeignKey *f, const Value *vals) {
    const char *key = key_text(a, f->n_cols, f->ref_cols, vals);
    if (!key) return err_oom(&s->err);
    err_set(&s->err, ERR_FOREIGN_KEY_VIOLATION,
            "update or delete on table \"%s\" violates foreign key constraint \"%s\" on table \"%s\"", f->ref_table,
            f->name, f->table);
    err_of_constraint(&s->err, f->table, f->name);
    err_detail(&s->err, "Key %s is still referenced from table \"%s\".", key, f->table);
    return ST_ERROR;
}

/* ---- text ------------------------------------------------------------------------------------------------ */

/* f's columns, each as "before column between", joined by sep. */
static char *each_col(Arena *a, const ForeignKey *f, const char *before, const char *between, const char *sep) {
    char *t = arena_strdup(a, "");
    for (int i = 0; t && i < f->n_cols; i++)
        t = arena_printf(a, "%s%s%s%s%s", t, i ? sep : "", before, quote_name(a, f->cols[i]), between);
    return t;
}
/* "c.a = p.x and .." */
static char *same_key(Arena *a, const ForeignKey *f) {
    char *t = arena_strdup(a, "");
    for (int i = 0; t && i < f->n_cols; i++)
        t = arena_printf(a, "%s%sc.%s = p.%s", t, i ? " and " : "", quote_name(a, f->cols[i]),
                         quote_name(a, f->ref_cols[i]));
    return t;
}

/* ---- every row of the referencing table ------------------------------------------------------------------ */

static Status bind_text(Session *s, Arena *a, PlanCtx *c, const char *sql, int32_t n, const Value *params,
                        BoundStmt **b) {
    AstStmt **list;
    int64_t n_stmts;
    Type *types = arena_array(a, Type, n + 1);
    if (!sql || !types) return err_oom(&s->err);
    for (int32_t i = 0; i < n; i++) types[i] = params[i].type;
    TRY(sql_parse(a, slice_of(sql), &list, &n_stmts, &s->err));
    TRY(sql_bind(c, list[0], n, types, b));
    return n > 0 ? sql_bind_params(c, *b, n, params) : ST_OK;
}
/* The first row of a query, at most; *found: there is one, and its cells are in out. */
static Status first_row(Session *s, Statement *st, PlanCtx *c, BoundStmt *b, Value *out, bool *found) {
    RunOutput r;
    TRY(session_run_plan(s, c, b, b->n_result, b->result, &st->account, &r));
    Status done = ST_OK;
    *found = rows_count(r.rows) > 0;
    for (int32_t i = 0; done == ST_OK && *found && i < b->n_result; i++) {
        const void *cell;
        Value v = {.type = rows_layout(r.rows)->cols[i].type};
        done = rows_cell(r.rows, 0, i, &cell, &v.is_null, &s->err);
        if (done != ST_OK) break;
        if (!v.is_null) memcpy(value_cell(&v), cell, (size_t)phys_size(type_phys(v.type)));
        if (value_copy(c->arena, &v, &out[i]) != ST_OK) done = err_oom(&s->err);
        out[i].type = v.type;
    }
    query_free(r.query);
    return done;
}

/* A row of the table without parent, or (mixed) with NULLs in some of its columns; *found: there is one, and its
 * columns are in row. */
static Status find_orphan(Session *s, Statement *st, const ForeignKey *f, bool mixed, Value *row, bool *found) {
    Arena *a = st->run_arena;
    char *cols = each_col(a, f, "c.", "", ", "), *set = each_col(a, f, "c.", " is not null", " and "),
         *some = each_col(a, f, "c.", " is not null", " or "), *same = same_key(a, f),
         *table = quote_relation(a, f->table), *ref = quote_relation(a, f->ref_table);
    PlanCtx c;
    BoundStmt *b;
    if (!cols || !set || !some || !same || !table || !ref) return err_oom(&s->err);
    const char *where = mixed ? arena_printf(a, "(%s) and not (%s)", some, set)
                              : arena_printf(a, "%s and not exists (select 1 from %s as p where %s)", set, ref, same);
    if (!where) return err_oom(&s->err);
    plan_ctx_init(s, a, &c);
    TRY(bind_text(s, a, &c, arena_printf(a, "select %s from %s as c where %s limit 1", cols, table, where), 0, NULL,
                  &b));
    return first_row(s, st, &c, b, row, found);
}
Status foreign_check_all(Session *s, Statement *st, const ForeignKey *f) {
    Value row[32];
    bool found;
    TRY(find_orphan(s, st, f, false, row, &found));
    if (found) return no_parent(s, st->run_arena, f, row);
    if (!f->match_full) return ST_OK;
    TRY(find_orphan(s, st, f, true, row, &found));
    return found ? mixed_nulls(s, f) : ST_OK;
}

/* ---- new rows ---------------------------------------------------------------------------------------------- */

/* A value of a referencing column as one of the parent's; false when no such value exists there. */
static bool as_parent(const Value *from, Type to, Value *out) {
    const Phys p = type_phys(to), q = type_phys(from->type);
    *out = (Value){.type = to};
    if (q == p) {
        memcpy(value_cell(out), value_cell_const(from), (size_t)phys_size(p));
        return true;
    }
    int128_t v;
    int64_t narrow;
    if (q == PH_I128) memcpy(&v, value_cell_const(from), sizeof v);
    else if (cell_as_i64(q, value_cell_const(from), &narrow)) v = narrow;
    else return false;
    switch (p) {
    case PH_I16: out->u.i16 = (int16_t)v; return v == out->u.i16;
    case PH_I32: out->u.i32 = (int32_t)v; return v == out->u.i32;
    case PH_I64: out->u.i64 = (int64_t)v; return v == out->u.i64;
    case PH_I128: out->u.i128 = v; return true;
    default: return false;
    }
}

/* Both sides of a foreign key. */
typedef struct Sides {
    const ForeignKey *f;
    const Table *child, *parent;
    int key;                 /* of the parent */
    int cols[32];            /* of the child */
    int in_key[32], ref[32]; /* by column of the key: which of f's that is; the parent's columns, in f's order */
} Sides;
static Status sides_of(Session *s, const ForeignKey *f, Sides *x) {
    const Catalog *k = session_catalog(s);
    *x = (Sides){
        .f = f, .child = catalog_table(k, slice_of(f->table)), .parent = catalog_table(k, slice_of(f->ref_table))};
    x->key = x->child && x->parent ? foreign_parent_key(x->parent, f) : -1;
    if (x->key < 0) return err_internal(&s->err, "foreign key \"%s\" refers to no key", f->name);
    for (int i = 0; i < f->n_cols; i++) {
        x->cols[i] = table_find_column(x->child, slice_of(f->cols[i]));
        x->ref[i] = table_find_column(x->parent, slice_of(f->ref_cols[i]));
    }
    for (int j = 0; j < f->n_cols; j++)
        while (x->ref[x->in_key[j]] != x->parent->keys[x->key].cols[j]) x->in_key[j]++;
    return ST_OK;
}
/* So many rows or keys that one query over the referencing table is less work than each of them by itself. */
static bool is_many(int64_t n, const Sides *x) { return n > ROWS_ONE_BY_ONE && n > x->child->live_rows / 8; }
/* Whether the parent has a row with these values, in f's order and of f's columns' types; the transaction has read it.
 */
static Status has_parent(Session *s, const Sides *x, const Value *vals, bool *yes) {
    Value key[32];
    bool fits = true;
    for (int j = 0; j < x->f->n_cols; j++) {
        const Type t = x->parent->cols[x->parent->keys[x->key].cols[j]].type;
        fits = as_parent(&vals[x->in_key[j]], t, &key[j]) && fits;
    }
    *yes = fits && table_lookup(x->parent, x->key, key) >= 0;
    if (!fits) return ST_OK;
    return *yes ? transaction_refers_to(s, x->parent, x->key, key) : transaction_reads_key(s, x->parent, x->key, key);
}

static Status check_row(Session *s, Statement *st, const Sides *x, int64_t row) {
    Value vals[32];
    int nulls = 0;
    bool yes;
    if (!table_has_row(x->child, row)) return ST_OK; /* it has gone since */
    for (int i = 0; i < x->f->n_cols; i++) {
        table_value(x->child, row, x->cols[i], &vals[i]);
        nulls += vals[i].is_null;
    }
    if (x->f->match_full && nulls > 0 && nulls < x->f->n_cols) return mixed_nulls(s, x->f);
    if (nulls > 0) return ST_OK;
    TRY(has_parent(s, x, vals, &yes));
    return yes ? ST_OK : no_parent(s, st->run_arena, x->f, vals);
}
Status foreign_check_written(Session *s, Statement *st, const ForeignKey *f, const KeyEvent *e) {
    Sides x;
    int64_t n = 0;
    TRY(sides_of(s, f, &x));
    for (int64_t i = 0; i < e->rows.len; i++) n += e->rows.items[i].n;
    if (is_many(n, &x) && !f->not_valid) return foreign_check_all(s, st, f);
    for (int64_t i = 0; i < e->rows.len; i++)
        for (int64_t k = 0; k < e->rows.items[i].n; k++) {
            TRY(check_row(s, st, &x, e->rows.items[i].first + k));
            if (atomic_load(&s->cancel))
                return err_set(&s->err, ERR_QUERY_CANCELED, "canceling statement due to user request");
        }
    return ST_OK;
}

/* ---- keys that have gone --------------------------------------------------------------------------------------- */

/* Keys of an event in a statement: of one its values are parameters, several are rows of a relation k with the columns
 * i (a number), o0, o1 .. (before) and s0, s1 .. (after). */
typedef struct Keys {
    Session *s;
    Arena *a;
    const Sides *x;
    int64_t n;
    const Value *old, *set; /* set NULL: there are none */
    ClientRows *rows;       /* NULL: one key */
} Keys;

static Status put_keys(Keys *k) {
    ClientRows *r = k->rows;
    const int n = k->x->f->n_cols;
    r->n_cols = 1 + n * (k->set ? 2 : 1);
    if (!(r->cols = arena_calloc(r->arena, r->n_cols * (int64_t)sizeof *r->cols))) return err_oom(&k->s->err);
    r->cols[0] = (ClientColumn){.name = "i", .type = type_make(T_INT8)};
    for (int c = 1; c < r->n_cols; c++) {
        const int i = (c - 1) % n;
        r->cols[c].name = arena_printf(r->arena, "%c%d", c > n ? 's' : 'o', i);
        r->cols[c].type = k->x->parent->cols[k->x->ref[i]].type;
        if (!r->cols[c].name) return err_oom(&k->s->err);
    }
    TRY(client_rows_reserve(r, k->n, &k->s->err));
    for (int64_t row = 0; row < k->n; row++)
        for (int c = 0; c < r->n_cols; c++) {
            const Value number = {.type = r->cols[0].type, .u.i64 = row};
            const int i = (c - 1) % n;
            const Value *v = c == 0 ? &number : c > n ? &k->set[row * n + i] : &k->old[row * n + i];
            const int64_t size = phys_size(type_phys(r->cols[c].type));
            r->cols[c].valid[row] = !v->is_null;
            r->cols[c].nulls |= v->is_null;
            memcpy(r->cols[c].cells + row * size, value_cell_const(v), (size_t)size);
        }
    r->n = k->n;
    return ST_OK;
}
static Status keys_begin(Keys *k, Session *s, Arena *a, const Sides *x, int64_t n, const Value *old, const Value *set) {
    const char *name = "keys";
    *k = (Keys){.s = s, .a = a, .x = x, .n = n, .old = old, .set = set};
    if (n == 1) return ST_OK;
    while (name && catalog_relation_exists(session_catalog(s), slice_of(name))) name = arena_printf(a, "%s_", name);
    if (!name) return err_oom(&s->err);
    TRY(client_rows_new(&s->account, name, &k->rows, &s->err));
    return put_keys(k);
}
static void keys_end(Keys *k) { client_rows_unref(k->rows); }

/* Value i of a key in the statement's text. */
static const char *key_value(const Keys *k, int i, bool set) {
    if (k->rows) return arena_printf(k->a, "k.%c%d", set ? 's' : 'o', i);
    return arena_printf(k->a, "$%d", (set ? k->x->f->n_cols : 0) + i + 1);
}
static const char *key_condition(const Keys *k) {
    const char *t = "";
    for (int i = 0; t && i < k->x->f->n_cols; i++) {
        const char *v = key_value(k, i, false), *col = quote_name(k->a, k->x->f->cols[i]);
        t = v && col ? arena_printf(k->a, "%s%sc.%s = %s", t, i ? " and " : "", col, v) : NULL;
    }
    return t;
}
/* The relation of keys behind `word`; nothing of one key. */
static const char *key_relation(const Keys *k, const char *word) {
    return k->rows ? arena_printf(k->a, "%s%s as k", word, quote_name(k->a, k->rows->name)) : "";
}
static Status bind_keys(Keys *k, PlanCtx *c, const char *sql, BoundStmt **b) {
    const int n = k->x->f->n_cols;
    Value *params = arena_array(k->a, Value, 2 * n);
    if (!params) return err_oom(&k->s->err);
    plan_ctx_init(k->s, k->a, c);
    if (k->rows) {
        c->client_rows = &k->rows;
        return bind_text(k->s, k->a, c, sql, 0, NULL, b);
    }
    memcpy(params, k->old, (size_t)n * sizeof *params);
    if (k->set) memcpy(params + n, k->set, (size_t)n * sizeof *params);
    return bind_text(k->s, k->a, c, sql, k->set ? 2 * n : n, params, b);
}

/* Keys of the event that no row has now. */
static Status keys_gone(Session *s, Arena *a, const Sides *x, const KeyEvent *e, int64_t *n, Value **out) {
    const int w = x->f->n_cols;
    *n = 0;
    if (!(*out = arena_array(a, Value, e->n * w + 1))) return err_oom(&s->err);
    for (int64_t i = 0; i < e->n; i++) {
        bool there;
        TRY(has_parent(s, x, e->old + i * w, &there));
        if (!there) memcpy(*out + (*n)++ * w, e->old + i * w, (size_t)w * sizeof **out);
    }
    return ST_OK;
}
static Status look_for_rows(Session *s, Statement *st, Keys *k) {
    const ForeignKey *f = k->x->f;
    const char *where = key_condition(k), *table = quote_relation(k->a, f->table), *keys = key_relation(k, ", ");
    PlanCtx c;
    BoundStmt *b;
    Value first;
    bool found;
    if (!where || !table || !keys) return err_oom(&s->err);
    TRY(bind_keys(k, &c,
                  arena_printf(k->a, "select %s from %s as c%s where %s%s limit 1", k->rows ? "k.i" : "0::bigint",
                               table, keys, where, k->rows ? " order by k.i" : ""),
                  &b));
    TRY(first_row(s, st, &c, b, &first, &found));
    return found ? still_referenced(s, k->a, f, k->old + first.u.i64 * f->n_cols) : ST_OK;
}
Status foreign_check_gone(Session *s, Statement *st, const ForeignKey *f, const KeyEvent *e, bool restricts) {
    Sides x;
    Keys k;
    int64_t n = e->n;
    Value *old = e->old;
    TRY(sides_of(s, f, &x));
    if (!restricts && is_many(n, &x)) { /* most often there is no orphan at all */
        Value row[32];
        bool found;
        TRY(find_orphan(s, st, f, false, row, &found));
        if (!found) return ST_OK;
    }
    if (!restricts) TRY(keys_gone(s, st->run_arena, &x, e, &n, &old));
    if (n == 0) return ST_OK;
    Status done = keys_begin(&k, s, st->run_arena, &x, n, old, NULL);
    if (done == ST_OK) done = look_for_rows(s, st, &k);
    keys_end(&k);
    return done;
}

/* ---- actions ------------------------------------------------------------------------------------------------------
 */

static const char *assignments(const Keys *k, const KeyEvent *e, char action) {
    const ForeignKey *f = k->x->f;
    const bool some = e->kind == KEY_DELETED && f->n_set_cols > 0;
    const char *set = "";
    for (int i = 0; set && i < (some ? f->n_set_cols : f->n_cols); i++) {
        const char *col = quote_name(k->a, some ? f->set_cols[i] : f->cols[i]), *v = action == 'c'
                                                                                         ? key_value(k, i, true)
                                                                                     : action == 'n' ? "null"
                                                                                                     : "default";
        set = col && v ? arena_printf(k->a, "%s%s%s = %s", set, i ? ", " : "", col, v) : NULL;
    }
    return set;
}
static Status run_action(Session *s, Statement *st, Keys *k, const KeyEvent *e, char action) {
    const ForeignKey *f = k->x->f;
    const char *where = key_condition(k), *table = quote_relation(k->a, f->table);
    const bool deletes = e->kind == KEY_DELETED && action == 'c';
    const char *set = deletes ? "" : assignments(k, e, action), *keys = key_relation(k, deletes ? " using " : " from ");
    PlanCtx c;
    BoundStmt *b;
    if (!where || !table || !set || !keys) return err_oom(&s->err);
    const char *sql = deletes ? arena_printf(k->a, "delete from %s as c%s where %s", table, keys, where)
                              : arena_printf(k->a, "update %s as c set %s%s where %s", table, set, keys, where);
    bool made = false;
    TRY(bind_keys(k, &c, sql, &b));
    if (transaction_forks_serial(s) && transaction_can_fork(s, b->table)) TRY(transaction_fork(s, b->table, &made));
    if (made) TRY(bind_keys(k, &c, sql, &b));
    Statement sub = {.session = s, .run_arena = k->a};
    mem_account_init(&sub.account, &st->account, "foreign key", 0, NULL);
    Status done = session_dml(s, &sub, &c, b);
    query_free(sub.query);
    return done;
}
/* In memory of its own: actions may follow each other without end. */
Status foreign_act(Session *s, Statement *st, const ForeignKey *f, const KeyEvent *e, char action) {
    Sides x;
    Keys k;
    TRY(stack_check(&s->err));
    TRY(sides_of(s, f, &x));
    Arena *a = arena_new(&st->account, &s->err);
    if (!a) return ST_ERROR;
    const bool cascades = action == 'c' && e->kind == KEY_UPDATED;
    Status done = keys_begin(&k, s, a, &x, e->n, e->old, cascades ? e->set : NULL);
    if (done == ST_OK) done = run_action(s, st, &k, e, action);
    keys_end(&k);
    arena_free(a);
    /* A row may have had the default before: nothing has become of its key. */
    return done == ST_OK && action == 'd' ? foreign_check_gone(s, st, f, e, false) : done;
}
