/* compile_unique.c - unique indexes with a predicate or expressions, which images have no index for.
 *
 * Behind a row that has come, or has changed what such an index reads, its key is computed; where its predicate holds
 * and no part is NULL, other rows with that key are looked for: an SQL statement over the table, which is compiled as
 * any other, by an index on those parts that are columns. So what order, undo and kernels need is that of the search:
 * it meets rows that come and go with such a key, or with any, where some are not known before the calls run. */
#include "catalog/sql_names.h"
#include "sql/pl/compile_rows.h"
#include "storage/row_errors.h"

struct CpUnique {
    const Table *table;
    int32_t n;
    const ExprIndex **indexes;
    Expr **row; /* by column of the table that some of them read: variables with its new values */
};

bool cp_unique_reads(const Table *t, int32_t col) {
    for (int i = 0; i < t->n_exprs; i++)
        if (table_index_reads(t, t->n_keys + i, col)) return true;
    return false;
}
int32_t cp_part_column(Arena *a, const Table *t, const char *part) {
    for (int i = 0; i < t->n_cols; i++) {
        const char *name = t->cols[i].name, *quoted = part[0] == '"' ? quote_name(a, name) : name;
        if (quoted && strcmp(quoted, part) == 0) return i;
    }
    return -1;
}
static Status refuse(Cp *c, const Table *t, const ExprIndex *x, const char *why) {
    return cp_refuse(c, "a change of table \"%s\", whose unique index \"%s\" %s", t->name, x->name, why);
}
Status cp_unique_begin(Cp *c, const Table *t, int32_t n_set, const int32_t *set, bool single, CpUnique **out) {
    CpUnique *u = arena_new_of(c->arena, CpUnique);
    *out = NULL;
    if (t->n_exprs == 0) return ST_OK;
    if (!u || !(u->indexes = arena_array(c->arena, const ExprIndex *, t->n_exprs)) ||
        !(u->row = arena_array(c->arena, Expr *, t->n_cols + 1)))
        return cp_oom(c);
    u->table = t;
    for (int i = 0; i < t->n_exprs; i++) {
        const ExprIndex *x = &t->exprs[i];
        bool reads = !set;
        for (int32_t k = 0; k < n_set && set; k++) reads |= table_index_reads(t, t->n_keys + i, set[k]);
        if (!reads) continue;
        bool columns = false;
        for (int k = 0; k < x->n_parts; k++) columns |= cp_part_column(c->arena, t, x->parts[k]) >= 0;
        if (!columns) return refuse(c, t, x, "has only expressions"); /* the table may grow */
        if (x->nulls_not_distinct) return refuse(c, t, x, "has NULLs that are equal");
        if (set && !single) return refuse(c, t, x, "reads what is updated in several rows");
        u->indexes[u->n++] = x;
    }
    if (u->n > 0) *out = u;
    return ST_OK;
}

/* A part of the key, or the predicate, of the new row. */
static Status part_of(Cp *c, const Table *t, const char *sql, bool predicate, Expr *const *now, Expr **out) {
    ColId *ids = arena_array(c->arena, ColId, t->n_cols + 1);
    PlanVariables *variables = c->ctx.variables;
    if (!ids) return cp_oom(c);
    c->ctx.variables = NULL;
    const Status st = sql_bind_index_text(&c->ctx, t, sql, predicate, ids, out);
    c->ctx.variables = variables;
    if (st != ST_OK) return cp_refuse_error(c);
    for (int i = 0; i < t->n_cols; i++) {
        ColEntry *e = cp_entry(c, ids[i]);
        if (!e) return ST_ERROR;
        if (now[i]) *e = (ColEntry){.where = CW_EXPR, .type = now[i]->type, .expr = now[i]};
    }
    return ST_OK;
}
/* The predicate comes first: expressions are only computed of rows that the index has. */
static const char *where_text(Cp *c, const ExprIndex *x) {
    const char *t = x->where ? arena_printf(c->arena, "(%s)", x->where) : "true";
    for (int i = 0; t && i < x->n_parts; i++) t = arena_printf(c->arena, "%s and %s = $%d", t, x->parts[i], i + 1);
    return t;
}
/* The search of one index. */
typedef struct Search {
    const CpUnique *u;
    const ExprIndex *index;
    int32_t *parts; /* variables: the key */
    int32_t own;    /* variable: the row that has it */
} Search;
static Status raise_taken(Cp *c, const Search *s) {
    const ExprIndex *x = s->index;
    KeyDetail *key = arena_new_of(c->arena, KeyDetail);
    Type *types = arena_array(c->arena, Type, x->n_parts);
    const char *names = "";
    RaiseSite site = {.sqlstate = ERR_UNIQUE_VIOLATION,
                      .format = arena_printf(c->arena, ROW_KEY_TEXT, x->name),
                      .n = x->n_parts,
                      .args = arena_array(c->arena, Reg, x->n_parts + 1),
                      .key = key,
                      .names = cp_table_names(c, s->u->table->name, EF_CONSTRAINT, x->name)};
    for (int i = 0; names && i < x->n_parts; i++)
        names = arena_printf(c->arena, "%s%s%s", names, i ? ", " : "", x->parts[i]);
    if (!key || !types || !names || !site.format || !site.args || !site.names) return cp_oom(c);
    for (int i = 0; i < x->n_parts; i++) {
        types[i] = c->vars.items[s->parts[i]].type;
        if (!(site.args[i] = cp_load(c, s->parts[i]))) return ST_ERROR;
    }
    *key = (KeyDetail){.names = names, .after = "already exists.", .types = types};
    return cp_raise_site(c, &site);
}
static Status found_row(Cp *c, void *ctx) {
    const Search *s = ctx;
    const int32_t row = c->query.rows.items[c->query.rows.len - 1];
    TRY(cp_control(c, OP_P_IF, cp_cmp(c, OP_NE, PH_I64, cp_load(c, row), cp_load(c, s->own)), 0));
    TRY(raise_taken(c, s));
    return cp_control(c, OP_P_ENDIF, 0, 0);
}
static Status look_for_others(Cp *c, Search *s) {
    const char *table = quote_relation(c->arena, s->u->table->name), *where = where_text(c, s->index);
    if (!table || !where) return cp_oom(c);
    BoundStmt *b =
        cp_bind_text(c, arena_printf(c->arena, "select 1 from %s where %s", table, where), s->index->n_parts, s->parts);
    if (!b) return c->reason ? ST_ERROR : cp_oom(c);
    const CpQuery was = cp_query_apart(c);
    c->no_locks = true;
    c->any_order++; /* the same error for each of them */
    TRY(cp_rows(c, b->plan, 0, NULL, found_row, s, NULL));
    c->any_order--;
    cp_query_back(c, &was);
    return ST_OK;
}
static Status check_index(Cp *c, const CpUnique *u, const ExprIndex *x, int32_t own) {
    Search *s = arena_new_of(c->arena, Search);
    int32_t open = 0;
    Expr *e;
    if (!s) return cp_oom(c);
    *s = (Search){.u = u, .index = x, .own = own, .parts = arena_array(c->arena, int32_t, x->n_parts)};
    if (!s->parts) return cp_oom(c);
    for (int i = x->where ? -1 : 0; i < x->n_parts; i++) {
        TRY(part_of(c, u->table, i < 0 ? x->where : x->parts[i], i < 0, u->row, &e));
        if (cp_unsettled(c, e)) return refuse(c, u->table, x, "calls functions of the database");
        if (i < 0) {
            TRY(cp_control(c, OP_P_IF, cp_test(c, OP_IS_TRUE, cp_condition(c, e)), 0));
        } else {
            if ((s->parts[i] = cp_var_new(c, NULL, e->type)) < 0) return ST_ERROR;
            TRY(cp_assign(c, s->parts[i], e));
            TRY(cp_control(c, OP_P_IF, cp_test(c, OP_IS_NOT_NULL, cp_load(c, s->parts[i])), 0));
        }
        open++;
    }
    TRY(look_for_others(c, s));
    while (open-- > 0) TRY(cp_control(c, OP_P_ENDIF, 0, 0));
    return ST_OK;
}

Status cp_unique_before(Cp *c, CpUnique *u, Scan *s, ColId rowid, const ColId *now) {
    for (int i = 0; u && i < u->table->n_cols; i++) {
        if (!cp_unique_reads(u->table, i)) continue;
        const Type t = u->table->cols[i].type;
        if (!now[i]) TRY(cp_touch_column(c, s, i));
        Expr *v = now[i] ? cp_cast(c, expr_col(&c->ctx, now[i]), t) : cp_scan_value(c, s, rowid, i);
        const int32_t var = v ? cp_var_new(c, NULL, t) : -1;
        if (var < 0) return ST_ERROR;
        TRY(cp_store(c, var, cp_lower_as(c, v, t)));
        if (!(u->row[i] = expr_col(&c->ctx, c->vars.items[var].col))) return cp_oom(c);
    }
    return ST_OK;
}
Status cp_unique_after(Cp *c, const CpUnique *u, Reg row) {
    if (!u) return ST_OK;
    const int32_t own = cp_var_new(c, NULL, type_make(T_INT8));
    if (own < 0) return ST_ERROR;
    TRY(cp_store(c, own, row));
    for (int32_t i = 0; i < u->n; i++) TRY(check_index(c, u, u->indexes[i], own));
    return ST_OK;
}
