/* bind_name.c - scopes: which column does a name mean.
 *
 * A name is looked for in the level's own FROM items, then in the levels around it. Within one level an
 * unqualified name must be unique among the visible columns; a join with USING hides the columns it merged.
 */
#include "base/similar.h"
#include "sql/bind/bind_int.h"

Status bind_own(Binder *b, Query *q, ColId id, bool agg) {
    const ColOwner none = {0};
    if (id <= 0) return ST_ERROR;
    if (b->owner.len == 0)
        b->owner_first = id; /* a procedure's statements share the numbers: each one's columns lie side by side, far
                                behind the first ones' */
    if (id < b->owner_first) {
        const int64_t had = b->owner.len, more = b->owner_first - id;
        for (int64_t i = 0; i < more; i++)
            if (!vec_push(b->a, &b->owner, none)) return ST_ERROR;
        memmove(b->owner.items + more, b->owner.items, (size_t)had * sizeof *b->owner.items);
        memset(b->owner.items, 0, (size_t)more * sizeof *b->owner.items);
        b->owner_first = id;
    }
    while (b->owner.len <= id - b->owner_first)
        if (!vec_push(b->a, &b->owner, none)) return ST_ERROR;
    b->owner.items[id - b->owner_first] = (ColOwner){.query = q, .agg = agg};
    return ST_OK;
}

ColOwner bind_owner(const Binder *b, ColId id) {
    const int64_t i = (int64_t)id - b->owner_first;
    return id > 0 && i >= 0 && i < b->owner.len ? b->owner.items[i] : (ColOwner){0};
}

Status bind_add_item(Binder *b, Query *q, const NsItem *item) {
    if (item->name && item->rel_visible)
        for (int64_t i = 0; i < q->ns.len; i++) {
            const NsItem *o = &q->ns.items[i];
            const bool other = o->schema.ptr && item->schema.ptr && !slice_eq(o->schema, item->schema);
            if (o->rel_visible && o->name && strcmp(o->name, item->name) == 0 && !other)
                return err_set(b->err, ERR_DUPLICATE_ALIAS, "table name \"%s\" specified more than once", item->name);
        }
    for (int32_t i = 0; i < item->n_cols; i++) TRY(bind_own(b, q, item->cols[i].id, false));
    return vec_push(b->a, &q->ns, *item) ? ST_OK : ST_ERROR;
}

const char *bind_column_label(Binder *b, const Query *q, ColId id) {
    for (int64_t i = 0; i < q->ns.len; i++) {
        const NsItem *it = &q->ns.items[i];
        for (int32_t k = 0; k < it->n_cols; k++)
            if (it->cols[k].id == id && it->name) {
                const char *s = arena_printf(b->a, "%s.%s", it->name, it->cols[k].name);
                return s ? s : it->cols[k].name;
            }
    }
    return b->c->cols.items[id].name;
}

Expr *bind_item_column(Binder *b, ColId id) {
    for (int64_t i = 0; i < b->computed.len; i++)
        if (b->computed.items[i].id == id) return bind_copy(b, b->computed.items[i].e);
    return expr_col(b->c, id);
}
static Expr *column_ref(Binder *b, ColId id, int64_t location) {
    Expr *e = bind_item_column(b, id);
    if (e) e->location = location;
    NamedColumn name = {location, id};
    if (b->c->keep_columns && !vec_push(b->a, &b->c->columns, name)) return NULL;
    return e;
}

/* Position in an item, -1 none, -2 more than one. */
static int32_t item_find(const NsItem *it, const char *name) {
    int32_t found = -1;
    for (int32_t k = 0; k < it->n_cols; k++)
        if (strcmp(it->cols[k].name, name) == 0) {
            if (found >= 0) return -2;
            found = k;
        }
    return found;
}

static Status ambiguous(Binder *b, const char *name, int64_t location) {
    return err_at(b->err, bind_pos(b, location), ERR_AMBIGUOUS_COLUMN, "column reference \"%s\" is ambiguous", name);
}

static Status lateral_error(Binder *b, const NsItem *it, int64_t location) {
    err_at(b->err, bind_pos(b, location), ERR_INVALID_COLUMN_REFERENCE,
           "invalid reference to FROM-clause entry for table \"%s\"", it->name ? it->name : "join");
    if (it->target) {
        err_hint(b->err, "There is an entry for table \"%s\", but it cannot be referenced from this part of the query.",
                 it->name);
        return ST_ERROR;
    }
    err_detail(b->err, "The combining JOIN type must be INNER or LEFT for a LATERAL reference.");
    return ST_ERROR;
}

ColId bind_local_column(Binder *b, Query *q, const char *name, int64_t location) {
    ColId found = 0;
    for (int64_t i = 0; i < q->ns.len; i++) {
        const NsItem *it = &q->ns.items[i];
        if (!it->cols_visible) continue;
        int32_t k = item_find(it, name);
        if (k == -2 || (k >= 0 && found && found != it->cols[k].id)) {
            ambiguous(b, name, location);
            return -1;
        }
        if (k < 0) continue;
        if (it->lateral_bad) {
            lateral_error(b, it, location);
            return -1;
        }
        found = it->cols[k].id;
    }
    return found;
}

/* ---- errors ------------------------------------------------------------------------- */

static int64_t edit_distance(const char *a, const char *s, int64_t limit) {
    int64_t n = (int64_t)strlen(a), m = (int64_t)strlen(s);
    int64_t row[80];
    if (n > 63 || m > 63 || n - m > limit || m - n > limit) return limit + 1;
    for (int64_t j = 0; j <= m; j++) row[j] = j;
    for (int64_t i = 1; i <= n; i++) {
        int64_t diag = row[0];
        row[0] = i;
        for (int64_t j = 1; j <= m; j++) {
            int64_t up = row[j], best = diag + (a[i - 1] != s[j - 1]);
            best = MIN_OF(best, MIN_OF(up, row[j - 1]) + 1);
            row[j] = best;
            diag = up;
        }
    }
    return row[m];
}

static Status no_column(Binder *b, const Query *q, const AstColumn *col) {
    int64_t pos = bind_pos(b, col->location);
    if (col->table) err_at(b->err, pos, ERR_UNDEFINED_COLUMN, "column %s.%s does not exist", col->table, col->name);
    else err_at(b->err, pos, ERR_UNDEFINED_COLUMN, "column \"%s\" does not exist", col->name);
    int64_t best = MIN_OF(3, (int64_t)strlen(col->name) / 2) + 1;
    const char *t = NULL, *c = NULL;
    for (; q; q = q->outer)
        for (int64_t i = 0; i < q->ns.len; i++) {
            const NsItem *it = &q->ns.items[i];
            if (!it->name || (!it->rel_visible && !it->cols_visible)) continue;
            bool other = col->table && strcmp(it->name, col->table) != 0;
            for (int32_t k = 0; k < it->n_cols; k++) {
                int64_t d = edit_distance(col->name, it->cols[k].name, 3) + other;
                if (other && d > 1) continue;
                if (d < best) {
                    best = d;
                    t = it->name;
                    c = it->cols[k].name;
                }
            }
        }
    if (t) err_hint(b->err, "Perhaps you meant to reference the column \"%s.%s\".", t, c);
    return ST_ERROR;
}

static Status no_table(Binder *b, const Query *q, const char *name, int64_t location) {
    int64_t pos = bind_pos(b, location);
    for (const Query *s = q; s; s = s->outer)
        for (int64_t i = 0; i < s->ns.len; i++) {
            const NsItem *it = &s->ns.items[i];
            if (it->table && it->name && strcmp(name_of_key(it->table->name), name) == 0) {
                err_at(b->err, pos, ERR_UNDEFINED_TABLE, "invalid reference to FROM-clause entry for table \"%s\"",
                       name);
                if (strcmp(it->name, name) != 0)
                    err_hint(b->err, "Perhaps you meant to reference the table alias \"%s\".", it->name);
                return ST_ERROR;
            }
        }
    for (const Query *s = q; s; s = s->outer)
        for (int64_t i = 0; s->sibling && i < s->sibling->ns.len; i++) {
            const NsItem *it = &s->sibling->ns.items[i];
            if (it->name && strcmp(it->name, name) == 0) {
                err_at(b->err, pos, ERR_UNDEFINED_TABLE, "invalid reference to FROM-clause entry for table \"%s\"",
                       name);
                err_hint(b->err,
                         "There is an entry for table \"%s\", but it cannot be referenced from this part of the query.",
                         name);
                return ST_ERROR;
            }
        }
    Similar near;
    similar_init(&near, name);
    for (const Query *s = q; s; s = s->outer)
        for (int64_t i = 0; i < s->ns.len; i++)
            if (s->ns.items[i].name && s->ns.items[i].rel_visible) similar_offer(&near, s->ns.items[i].name);
    err_at(b->err, pos, ERR_UNDEFINED_TABLE, "missing FROM-clause entry for table \"%s\"", name);
    if (near.best) err_hint(b->err, "Perhaps you meant to reference \"%s\".", near.best);
    return ST_ERROR;
}

/* Where a table is defined a subquery stands for its rows, which may be named with the table's schema; whether that is
 * the right one is found out when there is a table. */
static const NsItem *find_item(const Binder *b, const Query *q, const char *given, const char *name) {
    const bool defines = b->c->of_catalog || b->literals;
    const char *schema = given ? schema_meant(given) : NULL;
    if (given && !schema) return NULL;
    for (int64_t i = 0; i < q->ns.len; i++) {
        const NsItem *it = &q->ns.items[i];
        const bool is_row = defines && !it->table && !it->schema.ptr;
        if (schema && !is_row && (!it->schema.ptr || !slice_eq(it->schema, slice_of(schema)))) continue;
        if (it->rel_visible && it->name && strcmp(it->name, name) == 0) return it;
    }
    return NULL;
}
/* Relations of two schemas are called so. */
static bool is_ambiguous(Binder *b, const Query *q, const NsItem *it, const AstColumn *col) {
    for (int64_t i = it - q->ns.items + 1; !col->schema && i < q->ns.len; i++) {
        const NsItem *o = &q->ns.items[i];
        if (!o->rel_visible || !o->name || strcmp(o->name, it->name) != 0) continue;
        err_at(b->err, bind_pos(b, col->location), ERR_AMBIGUOUS_ALIAS, "table reference \"%s\" is ambiguous",
               it->name);
        return true;
    }
    return false;
}

/* What the name means among a routine's variables: 0 nothing, -1 an error is set. */
static int32_t find_variable(Binder *b, const AstColumn *col, bool is_column, Type *type) {
    PlanVariables *v = b->c->variables;
    return v && b->params_ok
               ? v->find(v, NULL, col->table, col->name, is_column, bind_pos(b, col->location), type, b->err)
               : 0;
}
/* A name that is a column of `id`: that column, or the variable of that name when there is one and it goes first. */
static Expr *column_or_variable(Binder *b, const AstColumn *col, ColId id) {
    Type type;
    int32_t k = find_variable(b, col, true, &type);
    if (k < 0) return NULL;
    if (k > 0 && b->c->variables->prefer_variable) return bind_variable(b, k, type, col->location);
    if (k > 0 && !b->c->variables->prefer_column) {
        ambiguous(b, col->name, col->location);
        err_detail(b->err, "It could refer to either a PL/pgSQL variable or a table column.");
        return NULL;
    }
    return column_ref(b, id, col->location);
}

/* schema.table.column is one of a relation in FROM. */
static bool is_known(const Binder *b, const Query *q, const AstColumn *col) {
    for (; q && col->schema; q = q->outer)
        if (find_item(b, q, col->schema, col->table)) return true;
    return !col->schema;
}

/* Whether it names something of the level itself. */
static bool is_local(Binder *b, Query *q, const AstColumn *col) {
    return col->table ? find_item(b, q, col->schema, col->table) != NULL
                      : bind_local_column(b, q, col->name, col->location) != 0;
}

/* The item with a table that tableoid is of, of the level itself; NULL: there is none, or an error is set. */
static NsItem *item_with_oid(Binder *b, Query *q, const AstColumn *col) {
    NsItem *found = NULL;
    for (int64_t i = 0; i < q->ns.len; i++) {
        NsItem *it = &q->ns.items[i];
        if (!it->table || !it->cols_visible || it->lateral_bad) continue;
        if (found) return ambiguous(b, col->name, col->location), NULL;
        found = it;
    }
    return found;
}

Expr *bind_column(Binder *b, Query *q, const AstColumn *col) {
    Type type;
    int32_t variable;
    if (q->no_columns && (variable = find_variable(b, col, false, &type)) != 0)
        return variable > 0 ? bind_variable(b, variable, type, col->location) : NULL;
    if (q->no_columns && is_local(b, q, col)) {
        if (!err_is_set(b->err))
            err_at(b->err, bind_pos(b, col->location), ERR_INVALID_COLUMN_REFERENCE,
                   "argument of %s must not contain variables", q->clause);
        return NULL;
    }
    if (q->is_default) {
        err_at(b->err, bind_pos(b, col->location), ERR_FEATURE_NOT_SUPPORTED,
               "cannot use column reference in DEFAULT expression");
        return NULL;
    }
    if (!is_known(b, q, col)) { /* a record's field in a block may be meant */
        if ((variable = find_variable(b, col, false, &type)) > 0)
            return bind_variable(b, variable, type, col->location);
        if (variable == 0) no_table(b, q, col->table, col->location);
        return NULL;
    }
    if (!col->table) {
        for (Query *s = q; s; s = s->outer) {
            ColId id = bind_local_column(b, s, col->name, col->location);
            if (id < 0) return NULL;
            if (id) return column_or_variable(b, col, id);
        }
        const bool columns_first = b->c->variables && b->c->variables->prefer_column; /* whole rows too */
        if (!columns_first && (variable = find_variable(b, col, false, &type)) != 0)
            return variable > 0 ? bind_variable(b, variable, type, col->location) : NULL;
        for (Query *s = q; s; s = s->outer) {
            const NsItem *it = find_item(b, s, NULL, col->name);
            if (it && it->scalar) return column_ref(b, it->cols[0].id, col->location);
            if (it) return bind_unsupported(b, col->location, "a whole-row reference"), NULL;
        }
        if (columns_first && (variable = find_variable(b, col, false, &type)) != 0)
            return variable > 0 ? bind_variable(b, variable, type, col->location) : NULL;
        for (Query *s = q; s && strcmp(col->name, "tableoid") == 0; s = s->outer) {
            NsItem *it = item_with_oid(b, s, col);
            if (err_is_set(b->err)) return NULL;
            if (it) return bind_tableoid(b, s, it, col->location);
        }
        no_column(b, q, col);
        return NULL;
    }
    for (Query *s = q; s; s = s->outer) {
        const NsItem *it = find_item(b, s, col->schema, col->table);
        if (!it) continue;
        if (is_ambiguous(b, s, it, col)) return NULL;
        int32_t k = item_find(it, col->name);
        if (k == -2) {
            ambiguous(b, col->name, col->location);
            return NULL;
        }
        if (k < 0 && it->table && strcmp(col->name, "tableoid") == 0 && !it->lateral_bad)
            return bind_tableoid(b, s, (NsItem *)(uintptr_t)it, col->location);
        if (k < 0 && !col->schema) {
            AstColumn *row = arena_new_of(b->a, AstColumn);
            if (!row) return NULL;
            *row = (AstColumn){.kind = AST_COLUMN, .location = col->location, .name = col->table};
            Expr *call = bind_field_function(b, q, (AstExpr *)row, col->name, col->location);
            if (call || err_is_set(b->err)) return call;
        }
        if (k < 0) {
            no_column(b, q, col);
            return NULL;
        }
        if (it->lateral_bad) {
            lateral_error(b, it, col->location);
            return NULL;
        }
        return column_or_variable(b, col, it->cols[k].id);
    }
    if ((variable = find_variable(b, col, false, &type)) != 0)
        return variable > 0 ? bind_variable(b, variable, type, col->location) : NULL;
    no_table(b, q, col->table, col->location);
    return NULL;
}

NsItem *bind_whole_row(Binder *b, Query *q, const AstColumn *col, Query **level) {
    Type type;
    bool named = false;
    const bool star = col->kind == AST_STAR; /* t.*, which is no column's name */
    const char *schema = star ? col->schema : NULL, *name = star ? col->table : col->name;
    if ((!star && (col->table || col->schema)) || q->no_columns || q->is_default) return NULL;
    for (const Query *s = q; s && !named; s = s->outer) named = find_item(b, s, schema, name) != NULL;
    if (!named) return star ? (void)no_table(b, q, name, col->location), NULL : NULL;
    for (Query *s = q; s && !star; s = s->outer)
        if (bind_local_column(b, s, name, col->location) != 0) return NULL;
    const bool columns_first = star || (b->c->variables && b->c->variables->prefer_column);
    if (!columns_first && find_variable(b, col, false, &type) != 0) return NULL;
    for (Query *s = q; s; s = s->outer) {
        const NsItem *it = find_item(b, s, schema, name);
        if (!it) continue;
        if (it->lateral_bad) (void)lateral_error(b, it, col->location);
        *level = s;
        return it->scalar || it->lateral_bad ? NULL : &s->ns.items[it - s->ns.items];
    }
    return NULL;
}

Status bind_star(Binder *b, Query *q, const AstColumn *star, StarCol **out, int64_t *n) {
    VEC(StarCol) cols = {0};
    if (star->table) {
        const NsItem *it = NULL;
        if (!is_known(b, q, star)) return no_table(b, q, star->table, star->location);
        for (Query *s = q; s && !it; s = s->outer) {
            it = find_item(b, s, star->schema, star->table);
            if (it && is_ambiguous(b, s, it, star)) return ST_ERROR;
        }
        if (!it) return no_table(b, q, star->table, star->location);
        for (int32_t k = 0; k < it->n_cols - it->n_hidden; k++) {
            StarCol c = {it->cols[k].name, it->cols[k].id};
            if (!vec_push(b->a, &cols, c)) return ST_ERROR;
        }
    } else {
        bool any = false;
        for (int64_t i = 0; i < q->ns.len; i++) {
            const NsItem *it = &q->ns.items[i];
            any = true;
            for (int32_t k = 0; it->cols_visible && k < it->n_cols - it->n_hidden; k++) {
                StarCol c = {it->cols[k].name, it->cols[k].id};
                if (!vec_push(b->a, &cols, c)) return ST_ERROR;
            }
        }
        if (!any)
            return err_at(b->err, bind_pos(b, star->location), ERR_SYNTAX,
                          "SELECT * with no tables specified is not valid");
    }
    *out = cols.items;
    *n = cols.len;
    return ST_OK;
}
