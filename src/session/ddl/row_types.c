/* row_types.c - a composite type, or the row type of a table, has another definition: what becomes of values.
 *
 * Rows of a type are read with its definition, so that a table with a column of the type gets another column, each of
 * whose values is made of the old one field by field (RowChange). Types that have it as a field change, too, and so
 * does the row type of such a table: the list of changes grows until nothing is left that has an old one.
 */
#include "session/ddl/depend.h"
#include "session/ddl/utility_int.h"
#include "types/array.h"

static const RowChange *change_of(const RowChange *list, Type t) {
    for (const RowChange *c = list; c; c = c->next)
        if (t.id == T_COMPOSITE && t.length == c->from->number) return c;
    return NULL;
}
Type row_change_type(const RowChange *list, Type t) {
    const RowChange *c = change_of(list, t.id == T_ARRAY ? type_element(t) : t);
    if (!c) return t;
    return t.id == T_ARRAY ? type_array_of(composite_type(c->to)) : composite_type(c->to);
}
static bool changes(const RowChange *list, Type t) { return !type_eq(t, row_change_type(list, t)); }

/* ---- values ------------------------------------------------------------------------------------------- */

static Status convert(FuncCtx *ctx, const RowChange *list, Type t, Str in, Str *out);
static Status convert_array(FuncCtx *ctx, const RowChange *list, Type t, Str in, Str *out) {
    const ArrayView v = array_view(in);
    const ArrayShape shape = array_shape(&v);
    Str *cells = arena_array(ctx->arena, Str, v.n + 1);
    uint8_t *valid = arena_alloc(ctx->arena, v.n + 1);
    if (!cells || !valid) return err_is_set(ctx->err) ? ST_ERROR : err_oom(ctx->err);
    for (int64_t i = 0; i < v.n; i++) {
        cells[i] = str_make("", 0);
        valid[i] = !array_is_null(&v, i);
        if (!valid[i]) continue;
        Str row;
        array_get(&v, i, &row);
        TRY(convert(ctx, list, type_element(t), row, &cells[i]));
    }
    return array_build_shaped(ctx->arena, PH_STR, &shape, cells, valid, out, ctx->err);
}
static Status convert(FuncCtx *ctx, const RowChange *list, Type t, Str in, Str *out) {
    TRY(stack_check(ctx->err));
    if (!changes(list, t)) return *out = in, ST_OK;
    if (t.id == T_ARRAY) return convert_array(ctx, list, t, in, out);
    const RowChange *c = change_of(list, t);
    Value *old = arena_array(ctx->arena, Value, c->from->n + 1), *now = arena_array(ctx->arena, Value, c->to->n + 1);
    if (!old || !now) return err_is_set(ctx->err) ? ST_ERROR : err_oom(ctx->err);
    TRY(composite_read(c->from, in, old, ctx->err));
    for (int32_t i = 0; i < c->to->n; i++) {
        now[i] = c->map[i] >= 0 ? old[c->map[i]] : (Value){.is_null = true};
        if (!now[i].is_null && type_phys(c->to->fields[i].type) == PH_STR)
            TRY(convert(ctx, list, c->from->fields[c->map[i]].type, old[c->map[i]].u.str, &now[i].u.str));
        now[i].type = c->to->fields[i].type;
    }
    return composite_build(ctx->arena, c->to->n, now, out, ctx->err);
}
static Status convert_kernel(FuncCtx *ctx, int64_t n, const Vec *args, int nargs, Vec *out) {
    (void)nargs;
    const RowChange *list = ctx->func->own;
    for (int64_t i = 0; i < n; i++) {
        Str *z = (Str *)out->data + i;
        *z = str_make("", 0);
        if (out->valid && !out->valid[i]) continue;
        if (convert(ctx, list, args[0].type, ((const Str *)args[0].data)[args[0].is_const ? 0 : i], z) != ST_OK)
            return ctx->error_row = i, ST_ERROR;
    }
    return ST_OK;
}
const FuncDef *row_change_func(Arena *a, const RowChange *list) {
    FuncDef *f = arena_new_of(a, FuncDef);
    if (f)
        *f = (FuncDef){.name = "row_changed",
                       .flags = FN_STRICT | FN_CAN_FAIL,
                       .ret = T_COMPOSITE,
                       .nargs = 1,
                       .args = {T_VOID},
                       .kernel = convert_kernel,
                       .doc = "internal: a row under another definition of its type",
                       .own = list};
    return f;
}

const int32_t *row_change_map(Arena *a, int32_t n_old, int32_t n_new, int32_t dropped) {
    int32_t *map = arena_array(a, int32_t, n_new + 1);
    for (int32_t i = 0; map && i < n_new; i++) {
        const int32_t at = i + (dropped >= 0 && i >= dropped);
        map[i] = at < n_old ? at : -1;
    }
    return map;
}

/* ---- whatever has the type ------------------------------------------------------------------------------ */

static Status add(Statement *st, RowChange **list, const CompositeType *from, const CompositeType *to,
                  const int32_t *map) {
    RowChange *c = arena_new_of(st->run_arena, RowChange);
    if (!c || !map) return ST_ERROR;
    *c = (RowChange){.from = from, .to = to, .map = map, .next = *list};
    *list = c;
    return ST_OK;
}
/* A named type with one of them as a field. */
static Status change_type(Session *s, Statement *st, RowChange **list, const CompositeType *x, bool *more) {
    CompositeField *fields = arena_array(st->run_arena, CompositeField, x->n + 1);
    const CompositeType *to;
    bool uses = false;
    if (!fields) return ST_ERROR;
    for (int32_t i = 0; i < x->n; i++) {
        fields[i] = x->fields[i];
        uses |= changes(*list, fields[i].type);
        fields[i].type = row_change_type(*list, fields[i].type);
    }
    if (!uses) return ST_OK;
    TRY(composite_make(s->db->catalog.rows, 0, x->name, x->n, fields, &to, &s->err));
    TRY(session_put_composite(s, x, to));
    *more = true;
    return add(st, list, x, to, row_change_map(st->run_arena, x->n, x->n, -1));
}
/* It is another routine, so that nothing compiled of it is used. */
static Status change_routine(Session *s, const RowChange *list, Routine *r) {
    bool uses = changes(list, r->ret);
    for (int i = 0; i < r->n_params; i++) uses |= changes(list, r->param_types[i]);
    if (!uses) return ST_OK;
    Routine *copy = routine_new(r, &s->err);
    if (!copy) return ST_ERROR;
    copy->id = 0;
    copy->ret = row_change_type(list, copy->ret);
    for (int i = 0; i < copy->n_params; i++) copy->param_types[i] = row_change_type(list, copy->param_types[i]);
    if (session_drop_routine(s, r) != ST_OK || session_add_routine(s, copy) != ST_OK) {
        routine_free(copy);
        return ST_ERROR;
    }
    return ST_OK;
}
/* Its conditions may name fields that go, or have others' names now. */
static Status change_domain(Session *s, const RowChange *list, Domain *d) {
    if (!changes(list, d->type)) return ST_OK;
    if (d->n_checks > 0)
        return err_set(&s->err, ERR_FEATURE_NOT_SUPPORTED, "cannot alter type \"%s\" because domain \"%s\" uses it",
                       name_of_key(change_of(list, d->type)->from->name), name_of_key(d->name));
    Domain *copy = domain_new(d, &s->err);
    if (!copy) return ST_ERROR;
    copy->type = row_change_type(list, copy->type);
    if (session_drop_domain(s, d) == ST_OK) return session_add_domain(s, copy);
    domain_free(copy);
    return ST_ERROR;
}
static Status change_table(Session *s, Statement *st, RowChange **list, Table *t, bool *more) {
    TableDraft d;
    Type before, after;
    bool uses = false;
    TRY(draft_of(s, st->run_arena, t, &d));
    for (int i = 0; i < d.n_cols; i++) {
        if (changes(*list, d.cols[i].type) && d.cols[i].default_sql)
            return err_set(&s->err, ERR_FEATURE_NOT_SUPPORTED,
                           "a change of the type of column \"%s.%s\" is not supported, since it has a default",
                           name_of_key(t->name), d.cols[i].name);
        uses |= changes(*list, d.cols[i].type);
        d.cols[i].type = row_change_type(*list, d.cols[i].type);
    }
    if (!uses) return ST_OK;
    const char *name = arena_strdup(st->run_arena, t->name);
    if (!name) return ST_ERROR;
    TRY(catalog_row_type(&s->db->catalog, t, &before, &s->err));
    d.rows = *list;
    TRY(rebuild_as(s, st, t, &d));
    TRY(catalog_row_type(&s->db->catalog, catalog_table(&s->db->catalog, slice_of(name)), &after, &s->err));
    const CompositeType *from = composite_of(before), *to = composite_of(after);
    *more = true;
    return add(st, list, from, to, row_change_map(st->run_arena, from->n, to->n, -1));
}
bool row_type_used(Session *s, Type t) {
    const Catalog *k = &s->db->catalog;
    bool used = false;
    for (int64_t i = 0; i < k->n_tables; i++)
        for (int c = 0; c < k->tables[i]->n_cols; c++) used |= composite_uses(k->tables[i]->cols[c].type, t.length);
    for (int64_t i = 0; i < k->n_routines; i++) {
        used |= composite_uses(k->routines[i]->ret, t.length);
        for (int p = 0; p < k->routines[i]->n_params; p++)
            used |= composite_uses(k->routines[i]->param_types[p], t.length);
    }
    for (int64_t i = 0; i < k->n_domains; i++) used |= composite_uses(k->domains[i]->type, t.length);
    return used;
}
Status row_type_changed(Session *s, Statement *st, const CompositeType *from, const CompositeType *to,
                        const int32_t *map) {
    const Catalog *k = &s->db->catalog;
    RowChange *list = NULL;
    const CompositeType *x;
    TRY(add(st, &list, from, to, map));
    for (bool more = true; more;) {
        more = false;
        for (int64_t i = 0; !more && (x = composite_nth(k->rows, i)) != NULL; i++)
            TRY(change_type(s, st, &list, x, &more));
        for (int64_t i = 0; !more && i < k->n_tables; i++) TRY(change_table(s, st, &list, k->tables[i], &more));
    }
    for (int64_t i = k->n_domains - 1; i >= 0; i--) TRY(change_domain(s, list, k->domains[i]));
    for (int64_t i = k->n_routines - 1; i >= 0; i--) TRY(change_routine(s, list, k->routines[i]));
    return ST_OK;
}
