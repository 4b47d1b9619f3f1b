/* wide_numerics.c - columns of numeric(p,s) that get a NaN.
 *
 * A numeric(p,s) of at most 38 digits is an integer of 64 or 128 bits, which has no NaN. A column that is to get one
 * becomes a numeric(p,s) in the form of numeric without (p,s) (types/dec.h): SQL calls both the same, the table is made
 * anew, and the statement runs once more. What only has numbers stays as it is. Columns of foreign keys stay, too, on
 * both sides: the statement is refused then.
 */
#include "session/ddl/utility_int.h"
#include "types/dec.h"

/* The table that the statement changes, and the names of the columns that it gives values; n < 0: all. */
static const AstName *target_of(Arena *a, const AstStmt *ast, const char ***names, int64_t *n) {
    *n = -1;
    if (ast->kind == AST_MERGE) return &AST_AS_CONST(AstMerge, ast)->table->name;
    if (ast->kind == AST_INSERT) {
        const AstInsert *x = AST_AS_CONST(AstInsert, ast);
        *names = x->columns;
        if (x->n_columns > 0 && !x->on_conflict) *n = x->n_columns;
        return &x->table;
    }
    if (ast->kind != AST_UPDATE) return NULL;
    const AstUpdate *x = AST_AS_CONST(AstUpdate, ast);
    VEC(const char *) all = {0};
    for (int64_t i = 0; i < x->n_set; i++)
        for (int64_t k = 0; k < x->set[i].n_columns; k++)
            if (!vec_push(a, &all, x->set[i].columns[k])) return NULL;
    *names = all.items;
    *n = all.len;
    return &x->table->name;
}
static bool is_named(const char *column, int64_t n, const char *const *names) {
    bool named = n < 0;
    for (int64_t i = 0; i < n; i++) named |= strcmp(names[i], column) == 0;
    return named;
}
static bool is_foreign(const Catalog *k, const Table *t, int column) {
    bool key = false;
    for (int64_t i = 0; i < k->n_foreign; i++) {
        const ForeignKey *f = k->foreign[i];
        for (int c = 0; c < f->n_cols; c++) {
            key |= strcmp(f->table, t->name) == 0 && strcmp(f->cols[c], t->cols[column].name) == 0;
            key |= strcmp(f->ref_table, t->name) == 0 && strcmp(f->ref_cols[c], t->cols[column].name) == 0;
        }
    }
    return key;
}

Status numerics_widen(Session *s, Statement *st, const AstStmt *ast, bool *done) {
    Arena *a = st->run_arena;
    const char **names = NULL;
    int64_t n;
    AstName key;
    TableDraft d;
    Type row;
    const AstName *given = target_of(a, ast, &names, &n);
    *done = false;
    if (!given) return ST_OK;
    TRY(session_relation_name(s, a, given, false, &key));
    Table *t = catalog_table(&s->db->catalog, slice_of(key.name));
    if (!t) return ST_OK;
    TRY(draft_of(s, a, t, &d));
    for (int i = 0; i < d.n_cols; i++) {
        Type *x = &d.cols[i].type;
        if (x->id != T_NUMERIC || x->flags & TF_UNCONSTRAINED || d.cols[i].domain ||
            is_foreign(&s->db->catalog, t, i) || !is_named(d.cols[i].name, n, names))
            continue;
        *x = (Type){.id = T_DECIMAL, .length = dec_typmod(x->precision, x->scale)};
        *done = true;
    }
    if (!*done) return ST_OK;
    TRY(catalog_row_type(&s->db->catalog, t, &row, &s->err));
    TRY(rebuild_as(s, st, t, &d));
    return row_type_renewed(s, st, key.name, row, -1);
}
