/* create_like.c - CREATE TABLE (.., LIKE relation INCLUDING .., ..).
 *
 * Columns take their place among the others. Everything else becomes part of the draft of the new table, as if it had
 * been written there, in PostgreSQL's order, on which chosen names depend: the keys in front of those of the statement,
 * CHECKs behind them. Comments are copied when the table is there.
 */
#include "catalog/similar_names.h"
#include "catalog/system_relation.h"
#include "session/ddl/comments.h"
#include "session/ddl/create_like.h"
#include "session/ddl/depend.h"
#include "sql/bind/bind.h"
#include "sql/parse/parse.h"
#include "types/composite.h"

/* ---- what is copied from ---- */

static Status refuse_kind(Session *s, const AstName *n, const char *kind) {
    err_at(&s->err, n->location, ERR_WRONG_OBJECT_TYPE, "relation \"%s\" is invalid in LIKE clause", n->name);
    err_detail(&s->err, "This operation is not supported for %s.", kind);
    return ST_ERROR;
}
static Status of_fields(Session *s, Arena *a, const CompositeType *x, LikeSource *out) {
    if (!(out->cols = arena_array(a, ColumnDef, x->n + 1))) return err_oom(&s->err);
    out->n_cols = x->n;
    for (int32_t i = 0; i < x->n; i++) out->cols[i] = (ColumnDef){.name = x->fields[i].name, .type = x->fields[i].type};
    return ST_OK;
}
static Status of_system(Session *s, Arena *a, int number, LikeSource *out) {
    const SystemRelation *all;
    int32_t n;
    (void)system_relations(&all);
    const SystemColumn *cols = system_relation_columns(&all[number], a, &n);
    if (!cols || !(out->cols = arena_array(a, ColumnDef, n + 1))) return err_oom(&s->err);
    out->n_cols = n;
    for (int32_t i = 0; i < n; i++)
        out->cols[i] = (ColumnDef){.name = cols[i].name, .type = cols[i].type, .not_null = cols[i].not_null};
    return ST_OK;
}
/* A view: what a query of it has. */
static Status of_view(Session *s, Arena *a, const AstName *n, LikeSource *out) {
    const char *name = quote_relation(a, n->name);
    const char *sql = name ? arena_printf(a, "select * from %s", name) : NULL;
    AstStmt **list;
    int64_t count;
    PlanCtx c;
    BoundStmt *b;
    if (!sql) return err_oom(&s->err);
    plan_ctx_init(s, a, &c);
    TRY(sql_parse(a, slice_of(sql), &list, &count, &s->err));
    TRY(sql_bind(&c, list[0], 0, NULL, &b));
    if (!(out->cols = arena_array(a, ColumnDef, b->n_result + 1))) return err_oom(&s->err);
    out->n_cols = b->n_result;
    for (int32_t i = 0; i < b->n_result; i++) {
        const ColInfo *k = &c.cols.items[b->result[i]];
        out->cols[i] = (ColumnDef){.name = b->names[i], .type = k->type, .domain = k->domain};
    }
    return ST_OK;
}
static Status find_source(Session *s, Arena *a, const AstTableLike *x, LikeSource *out) {
    const Catalog *c = &s->db->catalog;
    RelationName r;
    AstName n;
    TRY(catalog_search(c, a, x->name.schema, x->name.name, &r));
    *out = (LikeSource){.like = x, .name = r.key};
    if (r.system >= 0) return of_system(s, a, r.system, out);
    TRY(session_relation_name(s, a, &x->name, false, &n));
    const Slice name = slice_of(n.name);
    if ((out->table = catalog_table(c, name))) {
        const Table *t = out->table;
        if (!(out->cols = arena_array(a, ColumnDef, t->n_cols + 1))) return err_oom(&s->err);
        out->n_cols = t->n_cols;
        for (int i = 0; i < t->n_cols; i++)
            out->cols[i] = (ColumnDef){.name = t->cols[i].name,
                                       .type = t->cols[i].type,
                                       .not_null = t->cols[i].not_null,
                                       .domain = t->cols[i].domain};
        return ST_OK;
    }
    const CompositeType *row = composite_find(c->rows, name);
    if (catalog_view(c, name)) return of_view(s, a, &n, out);
    if (row) return of_fields(s, a, row, out);
    if (catalog_sequence(c, name)) return refuse_kind(s, &n, "sequences");
    if (catalog_index_exists(c, name, NULL)) return refuse_kind(s, &n, "indexes");
    return catalog_no_relation(c, n.name, n.location, &s->err);
}
Status likes_find(Session *s, Arena *a, const AstCreateTable *x, Likes *out) {
    const Catalog *c = &s->db->catalog;
    *out = (Likes){.n = (int)x->n_likes, .items = arena_array(a, LikeSource, x->n_likes + 1)};
    if (!out->items) return err_oom(&s->err);
    for (int i = 0; i < out->n; i++) {
        LikeSource *q = &out->items[i];
        TRY(find_source(s, a, &x->likes[i], q));
        out->n_cols += q->n_cols;
        if (!q->table) continue;
        out->n_checks += q->table->n_checks;
        out->n_indexes += table_indexes(q->table);
        for (int64_t k = 0; k < c->n_index_defs; k++) out->n_indexes += strcmp(c->index_defs[k]->table, q->name) == 0;
    }
    out->indexes = arena_array(a, LikeIndex, out->n_indexes + 1);
    return out->indexes ? ST_OK : err_oom(&s->err);
}

/* ---- columns ---- */

/* An identity column's sequence, as the options that make one like it. */
static Status identity_like(Session *s, Arena *a, TableDraft *d, const char *table, int column, const Sequence *q,
                            bool always) {
    AstSequenceOption *o = arena_calloc(a, 7 * (int64_t)sizeof *o);
    AstTypeName *type = arena_calloc(a, (int64_t)sizeof *type);
    if (!o || !type) return err_oom(&s->err);
    const struct {
        AstSequenceOptionKind kind;
        int64_t number;
    } numbers[] = {{AST_SEQ_INCREMENT, q->increment},
                   {AST_SEQ_MINVALUE, q->min},
                   {AST_SEQ_MAXVALUE, q->max},
                   {AST_SEQ_START, q->start},
                   {AST_SEQ_CACHE, q->cache}};
    type->name = type_plain_name(q->type);
    o[0] = (AstSequenceOption){.kind = AST_SEQ_AS, .type = type};
    for (int i = 0; i < (int)ARRAY_LEN(numbers); i++)
        o[i + 1] = (AstSequenceOption){.kind = numbers[i].kind, .has_number = true, .number = numbers[i].number};
    o[6] = (AstSequenceOption){.kind = AST_SEQ_CYCLE, .on = q->cycle};
    const AstConstraint identity = {
        .kind = AST_CON_IDENTITY, .identity_always = always, .sequence = o, .n_sequence = 7};
    return sequence_of_column(s, a, d, table, column, &identity);
}
Status likes_add_columns(Session *s, TableDraft *d, const LikeSource *q) {
    for (int i = 0; i < q->n_cols; i++) {
        if (draft_column(d, q->cols[i].name) >= 0)
            return err_at(&s->err, q->like->name.location, ERR_DUPLICATE_COLUMN,
                          "column \"%s\" specified more than once", q->cols[i].name);
        d->cols[d->n_cols++] = q->cols[i];
    }
    return ST_OK;
}
/* DEFAULT, GENERATED and IDENTITY of the columns. */
static Status add_defaults(Session *s, Arena *a, TableDraft *d, const char *table, const LikeSource *q) {
    const uint32_t with = q->like->including;
    for (int i = 0; q->table && i < q->n_cols; i++) {
        const Column *from = &q->table->cols[i];
        ColumnDef *to = &d->cols[draft_column(d, from->name)];
        if (column_is_identity(from->kind) && with & AST_INCLUDING_IDENTITY) {
            const Sequence *x = catalog_sequence_of(&s->db->catalog, q->name, from->name);
            if (x) TRY(identity_like(s, a, d, table, draft_column(d, from->name), x, from->kind == COLUMN_ALWAYS));
        } else if (from->kind == COLUMN_GENERATED && with & AST_INCLUDING_GENERATED) {
            to->kind = COLUMN_GENERATED;
            TRY(rename_in_text(s, a, q->table, -1, NULL, from->default_sql, &to->default_sql));
        } else if (from->kind == COLUMN_PLAIN && with & AST_INCLUDING_DEFAULTS) {
            to->default_sql = from->default_sql;
        }
    }
    return ST_OK;
}

/* ---- keys and indexes ---- */

/* A key of a constraint, as if the statement had it. */
static Status add_constraint_key(Session *s, Arena *a, TableDraft *d, const char *table, const LikeSource *q,
                                 const KeyConstraint *key) {
    const IndexDef *def = catalog_index_def(&s->db->catalog, q->name, key->name);
    AstConstraint k = {.kind = key->primary ? AST_CON_PRIMARY_KEY : AST_CON_UNIQUE, .n_columns = key->n_cols};
    k.deferrable = key->deferrable;
    k.deferred = key->deferred;
    k.columns = arena_array(a, const char *, key->n_cols + 1);
    if (!k.columns) return err_oom(&s->err);
    for (int i = 0; i < key->n_cols; i++) k.columns[i] = q->table->cols[key->cols[i]].name;
    if (def) {
        k.include = (const char **)(uintptr_t)def->include;
        k.n_include = def->n_include;
        k.n_options = def->n_options;
        if (!(k.options = arena_calloc(a, (def->n_options + 1) * (int64_t)sizeof *k.options))) return err_oom(&s->err);
        for (int i = 0; i < def->n_options; i++) {
            const char *is = strchr(def->options[i], '=');
            k.options[i].name = arena_strndup(a, def->options[i], is - def->options[i]);
            k.options[i].value = is + 1;
            if (!k.options[i].name) return err_oom(&s->err);
        }
    }
    return add_constraint(s, a, d, table, &k, -1);
}
/* The definition under the new table and a name that is chosen; texts without the table's name. */
static Status copy_def(Session *s, Arena *a, const TableDraft *d, const char *table, const LikeSource *q,
                       const IndexDef *x, IndexDef *out) {
    const char **names, *where = NULL;
    *out = *x;
    out->table = (char *)(uintptr_t)table;
    out->clustered = false;
    if (!(out->parts = arena_array(a, IndexPart, x->n_parts + 1))) return err_oom(&s->err);
    for (int i = 0; i < x->n_parts; i++) {
        const char *text;
        TRY(rename_in_text(s, a, q->table, -1, NULL, x->parts[i].text, &text));
        out->parts[i] = x->parts[i];
        out->parts[i].text = (char *)(uintptr_t)text;
        out->parts[i].statistics = -1;
    }
    if (x->where) TRY(rename_in_text(s, a, q->table, -1, NULL, x->where, &where));
    out->where = (char *)(uintptr_t)where;
    TRY(index_column_names(a, q->table, x, &names));
    const char *joined = column_names_joined(a, x->n_parts + x->n_include, names);
    out->name = joined ? relation_name_choose(s, a, d, table, joined, "idx") : NULL;
    return out->name ? ST_OK : err_oom(&s->err);
}
/* A unique index is built: as the table's index number k is. */
static Status build_like(Session *s, Arena *a, TableDraft *d, const LikeSource *q, int k, const IndexDef *def) {
    const Table *t = q->table;
    if (k >= t->n_keys) {
        const char **parts = arena_array(a, const char *, def->n_parts + 1);
        if (!parts) return err_oom(&s->err);
        for (int i = 0; i < def->n_parts; i++) parts[i] = def->parts[i].text;
        d->exprs[d->n_exprs++] = (ExprIndexDef){def->name, def->n_parts, parts, def->where, def->nulls_not_distinct};
        return ST_OK;
    }
    const KeyConstraint *key = &t->keys[k];
    int *cols = arena_array(a, int, key->n_cols + 1);
    if (!cols) return err_oom(&s->err);
    for (int i = 0; i < key->n_cols; i++) {
        cols[i] = draft_column(d, t->cols[key->cols[i]].name);
        draft_key_column(d, cols[i]);
    }
    d->keys[d->n_keys++] = (KeyDef){.name = def->name, .n_cols = key->n_cols, .cols = cols, .is_index = true};
    return ST_OK;
}
static Status add_index(Session *s, Arena *a, TableDraft *d, const char *table, const LikeSource *q, Likes *l,
                        const IndexDef *x) {
    IndexDef def, *all = arena_array(a, IndexDef, d->n_index_defs + 1);
    const int k = table_index_named(q->table, x->name);
    if (!all) return err_oom(&s->err);
    TRY(copy_def(s, a, d, table, q, x, &def));
    if (x->unique) TRY(build_like(s, a, d, q, k, &def));
    if (d->n_index_defs) memcpy(all, d->index_defs, sizeof *all * (size_t)d->n_index_defs);
    d->index_defs = all;
    d->index_defs[d->n_index_defs++] = def;
    l->indexes[l->n_made++] = (LikeIndex){q, x->name, def.name};
    return ST_OK;
}
static Status add_indexes(Session *s, Arena *a, TableDraft *d, const char *table, const LikeSource *q, Likes *l) {
    const Catalog *c = &s->db->catalog;
    for (int k = 0; k < q->table->n_keys; k++) {
        if (q->table->keys[k].is_index) continue;
        TRY(add_constraint_key(s, a, d, table, q, &q->table->keys[k]));
        l->indexes[l->n_made++] = (LikeIndex){q, q->table->keys[k].name, d->keys[d->n_keys - 1].name};
    }
    for (int64_t i = 0; i < c->n_index_defs; i++) {
        const IndexDef *x = c->index_defs[i];
        const int k = table_index_named(q->table, x->name);
        const bool constraint = k >= 0 && k < q->table->n_keys && !q->table->keys[k].is_index;
        if (strcmp(x->table, q->name) == 0 && !constraint) TRY(add_index(s, a, d, table, q, l, x));
    }
    return ST_OK;
}
Status likes_add_keys(Session *s, Arena *a, TableDraft *d, const char *table, Likes *l) {
    for (int i = 0; i < l->n; i++) {
        const LikeSource *q = &l->items[i];
        TRY(add_defaults(s, a, d, table, q));
        if (q->table && q->like->including & AST_INCLUDING_INDEXES) TRY(add_indexes(s, a, d, table, q, l));
    }
    return ST_OK;
}

/* ---- CHECKs ---- */

Status likes_add_checks(Session *s, Arena *a, TableDraft *d, const char *table, const Likes *l) {
    for (int i = 0; i < l->n; i++) {
        const LikeSource *q = &l->items[i];
        for (int k = 0; q->table && q->like->including & AST_INCLUDING_CONSTRAINTS && k < q->table->n_checks; k++) {
            const CheckConstraint *from = &q->table->checks[k];
            CheckDef *to = &d->checks[d->n_checks];
            for (int c = 0; c < d->n_checks; c++)
                if (strcmp(d->checks[c].name, from->name) == 0)
                    return err_set(&s->err, ERR_DUPLICATE_OBJECT,
                                   "constraint \"%s\" for relation \"%s\" already exists", from->name, table);
            to->name = from->name;
            TRY(rename_in_text(s, a, q->table, -1, NULL, from->sql, &to->sql));
            d->n_checks++;
        }
    }
    return ST_OK;
}

/* ---- comments ---- */

Status likes_copy_comments(Session *s, const char *table, const Likes *l) {
    for (int i = 0; i < l->n; i++) {
        const LikeSource *q = &l->items[i];
        if (!(q->like->including & AST_INCLUDING_COMMENTS)) continue;
        for (int k = 0; k < q->n_cols; k++)
            TRY(comment_copy(s, COMMENT_COLUMN, q->name, q->cols[k].name, table, q->cols[k].name));
        for (int k = 0; q->table && q->like->including & AST_INCLUDING_CONSTRAINTS && k < q->table->n_checks; k++)
            TRY(comment_copy(s, COMMENT_CONSTRAINT, q->name, q->table->checks[k].name, table,
                             q->table->checks[k].name));
    }
    for (int i = 0; i < l->n_made; i++)
        if (l->indexes[i].of->like->including & AST_INCLUDING_COMMENTS)
            TRY(comment_copy(s, COMMENT_RELATION, l->indexes[i].from, "", l->indexes[i].to, ""));
    return ST_OK;
}
