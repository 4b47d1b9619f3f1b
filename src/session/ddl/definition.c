/* definition.c - the database's objects as the statements that make them (definition.h).
 *
 * What refers to what is found as in depend.c, by binding the catalog's texts: exact, and cheap where definitions are
 * few. A routine says by itself only that it cannot be made yet: it is tried against a catalog that has the views
 * listed so far, since its text may name a view's type anywhere.
 */
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "catalog/sql_names.h"
#include "session/ddl/definition.h"
#include "session/ddl/stored_text.h"
#include "session/ddl/comments_builtin.h"
#include "session/ddl/depend.h"
#include "session/ddl/index_names.h"
#include "sql/bind/bind.h"
#include "sql/parse/parse.h"
#include "sql/pl/pl.h"

/* ---- text ------------------------------------------------------------------------------------------- */

typedef struct Text {
    Arena *a;
    char *p;
    int64_t len, cap;
    bool failed; /* out of memory */
} Text;

static void text_add(Text *t, const char *s, int64_t n) {
    if (t->len + n + 1 > t->cap) {
        int64_t cap = (t->len + n + 1) * 2;
        char *p = arena_alloc(t->a, cap);
        if (!p) t->failed = true;
        if (t->failed) return;
        if (t->len > 0) memcpy(p, t->p, (size_t)t->len);
        t->p = p;
        t->cap = cap;
    }
    memcpy(t->p + t->len, s, (size_t)n);
    t->len += n;
    t->p[t->len] = 0;
}
static void text_put(Text *t, const char *s) { text_add(t, s, (int64_t)strlen(s)); }
static void text_name(Text *t, const char *name) {
    const char *q = definition_name(t->a, name);
    if (q) text_put(t, q);
    else t->failed = true;
}
/* A text of the user's, which may end in a comment: what follows must not be part of it. */
static void text_own(Text *t, const char *sql) {
    const char *line = strrchr(sql, '\n');
    text_put(t, sql);
    if (strstr(line ? line : sql, "--")) text_put(t, "\n");
}
static void text_names(Text *t, int n, char *const *names) {
    text_put(t, "(");
    for (int i = 0; i < n; i++) {
        if (i) text_put(t, ", ");
        text_name(t, names[i]);
    }
    text_put(t, ")");
}
static const char *text_take(const Text *t) { return t->failed ? NULL : t->p ? t->p : ""; }

char *definition_name(Arena *a, const char *name) {
    char *out = arena_alloc(a, 2 * (int64_t)strlen(name) + 3);
    if (out) (void)name_put_quoted(name, out);
    return out;
}

/* ---- the list --------------------------------------------------------------------------------------- */

typedef struct ViewItem {
    const View *v;
    bool done, binds;
    bool needs_key;     /* a GROUP BY relies on a primary key */
    int64_t n_routines; /* that it calls */
    const int64_t *routines;
    int n_sources;
    const ViewSource *sources;
    const char *problem; /* why it does not bind */
} ViewItem;
typedef struct RoutineItem {
    const Routine *r;
    const char *signature;
    bool done;
    const char *problem; /* why it could not be made when it was tried last */
    int64_t n_defaults;
    const int64_t *defaults; /* routines that its parameters' defaults call */
} RoutineItem;

typedef struct Lister {
    Session *s;
    Arena *a;
    const Catalog *k;
    Definitions *out;
    Table **tables;
    const Domain **domains;
    const Sequence **sequences; /* by name */
    ViewItem *views;
    RoutineItem *routines;
    View **listed; /* views listed so far */
    int64_t n_listed;
} Lister;

static Status add(Lister *l, Definition d) {
    const char *const all[] = {d.kind, d.name, d.table, d.target, d.create, d.drop, d.drop_if_exists, d.problem};
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        if (!all[i]) return ST_ERROR; /* out of memory, which the arena has said */
    if (!(d.name = keys_dotted(l->a, d.name)) || !(d.table = keys_dotted(l->a, d.table))) return ST_ERROR;
    return vec_push(l->a, &l->out->list, d) ? ST_OK : ST_ERROR;
}

/* ---- tables ----------------------------------------------------------------------------------------- */

static int by_text(const void *x, const void *y) { return strcmp(*(const char *const *)x, *(const char *const *)y); }
static int by_table_name(const void *x, const void *y) {
    return strcmp((*(Table *const *)x)->name, (*(Table *const *)y)->name);
}
static bool has_row_type(const Table *t, const Table *of) {
    for (int c = 0; c < t->n_cols; c++) {
        const Type x = t->cols[c].type;
        const CompositeType *row = composite_of(x.id == T_ARRAY ? type_element(x) : x);
        if (row && row->kind == COMPOSITE_TABLE && strcmp(row->name, of->name) == 0) return true;
    }
    return false;
}
/* Puts a table behind those that its foreign keys refer to, and whose row types its columns have. Of tables that refer
 * to each other the first one reached comes last. */
static Status place_table(Lister *l, Table **from, bool *seen, int64_t i, int64_t *n) {
    TRY(stack_check(&l->s->err));
    if (seen[i]) return ST_OK;
    seen[i] = true;
    for (int64_t f = 0; f < l->k->n_foreign; f++) {
        if (strcmp(l->k->foreign[f]->table, from[i]->name) != 0) continue;
        for (int64_t j = 0; j < l->k->n_tables; j++)
            if (strcmp(from[j]->name, l->k->foreign[f]->ref_table) == 0) TRY(place_table(l, from, seen, j, n));
    }
    for (int64_t j = 0; j < l->k->n_tables; j++)
        if (has_row_type(from[i], from[j])) TRY(place_table(l, from, seen, j, n));
    l->tables[(*n)++] = from[i];
    return ST_OK;
}
static Status order_tables(Lister *l) {
    int64_t n = l->k->n_tables, at = 0;
    Table **by_name = arena_array(l->a, Table *, n + 1);
    bool *seen = arena_calloc(l->a, n + 1);
    l->tables = arena_array(l->a, Table *, n + 1);
    if (!by_name || !seen || !l->tables) return ST_ERROR;
    for (int64_t i = 0; i < n; i++) by_name[i] = l->k->tables[i];
    qsort(by_name, (size_t)n, sizeof *by_name, by_table_name);
    for (int64_t i = 0; i < n; i++) TRY(place_table(l, by_name, seen, i, &at));
    return ST_OK;
}

/* A default or check of the table calls a routine of the catalog. */
static bool calls_routine(Lister *l, const Table *t, const char *sql) {
    PlanCtx c;
    BoundStmt *b;
    const char *table = quote_relation(l->a, t->name);
    return sql && table && l->k->n_routines > 0 &&
           try_query(l->s, l->a, arena_printf(l->a, "select (%s\n) from %s", sql, table), &c, &b) &&
           c.routine_ids.len > 0;
}
/* CREATE TABLE's DEFAULT takes fewer expressions than ALTER TABLE's SET DEFAULT (`a is null`): the others in
 * parentheses. */
static void add_default(Lister *l, Text *x, const char *sql) {
    AstStmt **list;
    int64_t n;
    Err e = {0};
    const char *text = arena_printf(l->a, "create table x (y int default %s\n)", sql);
    const bool plain = text && sql_parse(l->a, slice_of(text), &list, &n, &e) == ST_OK;
    text_put(x, plain ? " DEFAULT " : " DEFAULT (");
    text_own(x, sql);
    if (!plain) text_put(x, ")");
}
static void add_column(Lister *l, Text *x, const Table *t, int c) {
    char type[TYPE_NAME_MAX];
    const Column *col = &t->cols[c];
    text_name(x, col->name);
    text_put(x, " ");
    const Domain *d = catalog_domain_by_id(l->k, col->domain);
    if (d) text_name(x, d->name);
    else text_put(x, type_name(col->type, &type));
    if (col->kind == COLUMN_GENERATED) {
        text_put(x, " GENERATED ALWAYS AS (");
        text_own(x, col->default_sql);
        text_put(x, ") STORED");
    } else if (col->default_sql && !column_is_identity(col->kind) && !calls_routine(l, t, col->default_sql)) {
        add_default(l, x, col->default_sql);
    }
    if (col->not_null) text_put(x, " NOT NULL");
}
static const char *table_target(Lister *l, const Table *t) {
    Text x = {.a = l->a};
    bool any = false;
    text_name(&x, t->name);
    for (int c = 0; c < t->n_cols; c++) {
        if (t->cols[c].kind == COLUMN_GENERATED) continue;
        text_put(&x, any ? ", " : " (");
        text_name(&x, t->cols[c].name);
        any = true;
    }
    if (any) text_put(&x, ")");
    return text_take(&x);
}
static bool has_always(const Table *t) {
    bool yes = false;
    for (int c = 0; c < t->n_cols; c++) yes |= t->cols[c].kind == COLUMN_ALWAYS;
    return yes;
}
static Status add_table(Lister *l, const Table *t) {
    Text x = {.a = l->a};
    const char *name = definition_name(l->a, t->name);
    bool any = false;
    text_put(&x, t->unlogged ? "CREATE UNLOGGED TABLE " : "CREATE TABLE ");
    text_name(&x, t->name);
    text_put(&x, " (");
    for (int c = 0; c < t->n_cols; c++) {
        text_put(&x, any ? ",\n    " : "\n    ");
        add_column(l, &x, t, c);
        any = true;
    }
    for (int c = 0; c < t->n_checks; c++) {
        if (calls_routine(l, t, t->checks[c].sql)) continue;
        text_put(&x, any ? ",\n    CONSTRAINT " : "\n    CONSTRAINT ");
        text_name(&x, t->checks[c].name);
        text_put(&x, " CHECK (");
        text_own(&x, t->checks[c].sql);
        text_put(&x, ")");
        any = true;
    }
    text_put(&x, any ? "\n)" : ")");
    char rows[64];
    snprintf(rows, sizeof rows, "\nWITH (expected_rows = %lld)", (long long)t->expected_rows);
    if (t->expected_rows > 0) text_put(&x, rows);
    if (t->on_commit == 'd') text_put(&x, "\nON COMMIT DELETE ROWS");
    if (!name) return ST_ERROR;
    return add(l, (Definition){.kind = "TABLE",
                               .name = t->name,
                               .table = t->name,
                               .target = table_target(l, t),
                               .create = text_take(&x),
                               .drop = arena_printf(l->a, "DROP TABLE %s", name),
                               .drop_if_exists = arena_printf(l->a, "DROP TABLE IF EXISTS %s", name),
                               .problem = "",
                               .overriding = has_always(t)});
}

/* What belongs to a table and is made after its data. drop NULL: it goes with the table. */
static Status add_part(Lister *l, const char *kind, const Table *t, const char *name, const Text *x, const char *drop) {
    const char *table = definition_name(l->a, t->name);
    if (!table || x->failed) return ST_ERROR;
    bool constraint = drop && strcmp(drop, "DROP CONSTRAINT") == 0;
    const char *quoted = definition_name(l->a, name);
    if (!quoted) return ST_ERROR;
    Definition d = {.kind = kind,
                    .name = arena_printf(l->a, "%s %s", t->name, name),
                    .table = t->name,
                    .target = "",
                    .create = arena_printf(l->a, "ALTER TABLE %s %s", table, text_take(x)),
                    .drop = "",
                    .drop_if_exists = "",
                    .problem = "",
                    .after_data = true};
    if (constraint) {
        d.drop = arena_printf(l->a, "ALTER TABLE %s DROP CONSTRAINT %s", table, quoted);
        d.drop_if_exists = arena_printf(l->a, "ALTER TABLE IF EXISTS %s DROP CONSTRAINT IF EXISTS %s", table, quoted);
    } else if (drop) {
        d.drop = arena_printf(l->a, "ALTER TABLE %s ALTER COLUMN %s DROP DEFAULT", table, quoted);
        d.drop_if_exists = arena_printf(l->a, "ALTER TABLE IF EXISTS %s ALTER COLUMN %s DROP DEFAULT", table, quoted);
    }
    return add(l, d);
}
static Text begin_constraint(Lister *l, const char *name, const char *what) {
    Text x = {.a = l->a};
    text_put(&x, "ADD CONSTRAINT ");
    text_name(&x, name);
    text_put(&x, " ");
    text_put(&x, what);
    return x;
}
static Status add_index(Lister *l, const Table *t, const char *name, const char *create) {
    const char *quoted = definition_name(l->a, name);
    if (!quoted) return ST_ERROR;
    return add(l, (Definition){.kind = "INDEX",
                               .name = name,
                               .table = t->name,
                               .target = "",
                               .create = create,
                               .drop = arena_printf(l->a, "DROP INDEX %s", quoted),
                               .drop_if_exists = arena_printf(l->a, "DROP INDEX IF EXISTS %s", quoted),
                               .problem = "",
                               .after_data = true});
}
/* What is said of an index behind its CREATE, and goes with it. */
static Status add_of_index(Lister *l, const Table *t, const char *name, const char *sql) {
    return add(l, (Definition){.kind = "INDEX OPTION",
                               .name = name,
                               .table = t->name,
                               .target = "",
                               .create = sql,
                               .drop = "",
                               .drop_if_exists = "",
                               .problem = "",
                               .after_data = true});
}
/* A text of the user's in an index. */
static const char *own_text(Lister *l, const char *sql, bool parentheses) {
    Text x = {.a = l->a};
    if (parentheses) text_put(&x, "(");
    text_own(&x, sql);
    if (parentheses) text_put(&x, ")");
    return text_take(&x);
}
static Status add_index_def(Lister *l, const Table *t, const IndexDef *x) {
    const char *table = definition_name(l->a, t->name), **parts = arena_array(l->a, const char *, x->n_parts + 1);
    if (!parts) return ST_ERROR;
    for (int i = 0; i < x->n_parts; i++) parts[i] = own_text(l, x->parts[i].text, false);
    const char *where = x->where ? own_text(l, x->where, true) : NULL;
    if (x->where && !where) return ST_ERROR;
    TRY(add_index(l, t, x->name, index_text(l->a, x, table, parts, where)));
    for (int i = 0; i < x->n_parts; i++) {
        if (x->parts[i].statistics < 0) continue;
        Text set = {.a = l->a};
        char number[60];
        text_put(&set, "ALTER INDEX ");
        text_name(&set, x->name);
        snprintf(number, sizeof number, " ALTER COLUMN %d SET STATISTICS %d", i + 1, (int)x->parts[i].statistics);
        text_put(&set, number);
        TRY(add_of_index(l, t, x->name, text_take(&set)));
    }
    return ST_OK;
}
static int by_index_name(const void *x, const void *y) {
    return strcmp((*(const IndexDef *const *)x)->name, (*(const IndexDef *const *)y)->name);
}
/* Those that no constraint has made, by name: a table that is made of these statements lists them so. */
static Status add_index_defs(Lister *l, const Table *t) {
    const IndexDef **all = arena_array(l->a, const IndexDef *, l->k->n_index_defs + 1);
    int64_t n = 0;
    if (!all) return ST_ERROR;
    for (int64_t i = 0; i < l->k->n_index_defs; i++)
        if (strcmp(l->k->index_defs[i]->table, t->name) == 0) all[n++] = l->k->index_defs[i];
    if (n > 1) qsort(all, (size_t)n, sizeof *all, by_index_name);
    for (int64_t i = 0; i < n; i++) {
        const int k = table_index_named(t, all[i]->name);
        if (k < 0 || k >= t->n_keys || t->keys[k].is_index) TRY(add_index_def(l, t, all[i]));
    }
    for (int64_t i = 0; i < n; i++) {
        if (!all[i]->clustered) continue;
        Text x = {.a = l->a};
        text_put(&x, "ALTER TABLE ");
        text_name(&x, t->name);
        text_put(&x, " CLUSTER ON ");
        text_name(&x, name_of_key(all[i]->name));
        TRY(add_of_index(l, t, all[i]->name, text_take(&x)));
    }
    return ST_OK;
}
/* INCLUDE (..) WITH (..) of a constraint. */
static void add_key_details(Lister *l, Text *x, const Table *t, const KeyConstraint *key) {
    const IndexDef *def = catalog_index_def(l->k, t->name, key->name);
    if (!def) return;
    if (def->n_include) {
        text_put(x, " INCLUDE ");
        text_names(x, def->n_include, def->include);
    }
    for (int i = 0; i < def->n_options; i++) {
        const char *option = index_option_text(l->a, def->options[i]);
        text_put(x, i ? ", " : " WITH (");
        if (option) text_put(x, option);
        else x->failed = true;
    }
    if (def->n_options) text_put(x, ")");
}
const char *definition_deferral(bool deferrable, bool deferred) {
    return deferred ? " DEFERRABLE INITIALLY DEFERRED" : deferrable ? " DEFERRABLE" : "";
}
static Status add_keys(Lister *l, const Table *t) {
    for (int k = 0; k < t->n_keys; k++) {
        const KeyConstraint *key = &t->keys[k];
        if (key->is_index) continue;
        Text x = begin_constraint(l, name_of_key(key->name), key->primary ? "PRIMARY KEY (" : "UNIQUE (");
        for (int c = 0; c < key->n_cols; c++) {
            if (c) text_put(&x, ", ");
            text_name(&x, t->cols[key->cols[c]].name);
        }
        text_put(&x, ")");
        add_key_details(l, &x, t, key);
        text_put(&x, definition_deferral(key->deferrable, key->deferred));
        TRY(add_part(l, "CONSTRAINT", t, name_of_key(key->name), &x, NULL));
    }
    return add_index_defs(l, t);
}
static Status add_calling_parts(Lister *l, const Table *t) {
    for (int c = 0; c < t->n_cols; c++) {
        if (t->cols[c].kind || !calls_routine(l, t, t->cols[c].default_sql)) continue;
        Text x = {.a = l->a};
        text_put(&x, "ALTER COLUMN ");
        text_name(&x, t->cols[c].name);
        text_put(&x, " SET DEFAULT ");
        text_own(&x, t->cols[c].default_sql);
        TRY(add_part(l, "DEFAULT", t, t->cols[c].name, &x, "DROP DEFAULT"));
    }
    for (int c = 0; c < t->n_checks; c++) {
        if (!calls_routine(l, t, t->checks[c].sql)) continue;
        Text x = begin_constraint(l, t->checks[c].name, "CHECK (");
        text_own(&x, t->checks[c].sql);
        text_put(&x, ")");
        TRY(add_part(l, "CONSTRAINT", t, t->checks[c].name, &x, "DROP CONSTRAINT"));
    }
    return ST_OK;
}

const char *definition_action(char code) {
    switch (code) {
    case 'r': return "RESTRICT";
    case 'c': return "CASCADE";
    case 'n': return "SET NULL";
    case 'd': return "SET DEFAULT";
    default: return NULL; /* NO ACTION */
    }
}
static Status add_foreign(Lister *l, const Table *t, const ForeignKey *f) {
    Text x = begin_constraint(l, f->name, "FOREIGN KEY ");
    text_names(&x, f->n_cols, f->cols);
    text_put(&x, " REFERENCES ");
    text_name(&x, f->ref_table);
    text_names(&x, f->n_cols, f->ref_cols);
    if (f->match_full) text_put(&x, " MATCH FULL");
    if (definition_action(f->on_update)) {
        text_put(&x, " ON UPDATE ");
        text_put(&x, definition_action(f->on_update));
    }
    if (definition_action(f->on_delete)) {
        text_put(&x, " ON DELETE ");
        text_put(&x, definition_action(f->on_delete));
    }
    if (f->n_set_cols > 0) {
        text_put(&x, " ");
        text_names(&x, f->n_set_cols, f->set_cols);
    }
    text_put(&x, definition_deferral(f->deferrable, f->deferred));
    if (f->not_valid) text_put(&x, " NOT VALID");
    return add_part(l, "FK CONSTRAINT", t, f->name, &x, "DROP CONSTRAINT");
}
static Status add_foreigns(Lister *l, const Table *t) {
    for (int64_t i = 0; i < l->k->n_foreign; i++)
        if (strcmp(l->k->foreign[i]->table, t->name) == 0) TRY(add_foreign(l, t, l->k->foreign[i]));
    return ST_OK;
}

/* ---- views ------------------------------------------------------------------------------------------ */

static int by_view_name(const void *x, const void *y) {
    return strcmp(((const ViewItem *)x)->v->name, ((const ViewItem *)y)->v->name);
}

/* Binds a view's query for what it refers to, and where. False: it does not bind, *why says so. */
static bool bind_view(Session *s, Arena *a, const View *v, PlanCtx *c, BoundStmt **b, Err *why) {
    plan_ctx_init(s, a, c);
    c->err = why;
    c->views.keep_sources = c->views.keep_tables = true;
    bool ok = sql_bind_view(c, v, b) == ST_OK;
    c->err = &s->err;
    return ok;
}
static Status read_view(Lister *l, ViewItem *x) {
    PlanCtx c;
    BoundStmt *b;
    Err why = {0};
    x->binds = bind_view(l->s, l->a, x->v, &c, &b, &why);
    if (!x->binds && gave_up(&why)) return err_copy(&l->s->err, &why), ST_ERROR;
    if (!x->binds) return (x->problem = arena_strdup(l->a, why.message)) ? ST_OK : ST_ERROR;
    x->needs_key = c.grouped_keys.len > 0;
    x->n_routines = c.routine_ids.len;
    x->routines = c.routine_ids.items;
    x->n_sources = x->v->n_sources ? x->v->n_sources : (int)c.views.sources.len;
    x->sources = x->v->n_sources ? x->v->sources : c.views.sources.items;
    return ST_OK;
}

static bool name_char(char c) {
    return c == '_' || c == '$' || (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') || (c & 0x80);
}
static bool blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v'; }
/* Behind a block comment; they nest. */
static const char *skip_comment(const char *p) {
    int64_t depth = 0;
    do {
        bool opens = p[0] == '/' && p[1] == '*', closes = p[0] == '*' && p[1] == '/';
        depth += opens ? 1 : closes ? -1 : 0;
        p += opens || closes ? 2 : 1;
    } while (*p && depth > 0);
    return p;
}
/* Behind blanks and comments. */
static const char *skip_blanks(const char *p) {
    for (;;) {
        if (blank(*p)) p++;
        else if (p[0] == '-' && p[1] == '-') p += strcspn(p, "\n");
        else if (p[0] == '/' && p[1] == '*') p = skip_comment(p);
        else return p;
    }
}
static const char *skip_name(const char *p) {
    if ((*p | 32) == 'u' && p[1] == '&' && p[2] == '"') p += 2;
    if (*p != '"') {
        while (name_char(*p)) p++;
        return p;
    }
    for (p++; *p && (p[0] != '"' || p[1] == '"'); p++) p += p[0] == '"';
    return *p ? p + 1 : p;
}
/* Where the word before p begins, when it is this one and only blanks are between; else NULL. */
static const char *word_before(const char *text, const char *p, const char *word) {
    size_t n = strlen(word);
    while (p > text && blank(p[-1])) p--;
    if ((size_t)(p - text) < n || strncasecmp(p - n, word, n) != 0) return NULL;
    return p - n == text || !name_char(p[-(int64_t)n - 1]) ? p - n : NULL;
}

/* What the view has of a relation is what the relation has, under the same names but for those that aliases give. */
static bool same_columns(const ViewTable *t, const ViewSource *q) {
    if (q->n_cols != t->n_cols) return false;
    for (int i = 0; i < q->n_cols; i++)
        if (strcmp(q->cols[i], t->cols[i]) != 0 ||
            (i >= t->from->alias.n_columns && strcmp(q->names[i], q->cols[i]) != 0))
            return false;
    return true;
}
static void add_subquery(Text *x, const ViewSource *q) {
    text_put(x, "(SELECT ");
    for (int i = 0; i < q->n_cols; i++) {
        if (i) text_put(x, ", ");
        text_name(x, q->cols[i]);
        if (strcmp(q->cols[i], q->names[i]) == 0) continue;
        text_put(x, " AS ");
        text_name(x, q->names[i]);
    }
    text_put(x, " FROM public."); /* not a WITH query of that name */
    text_name(x, q->relation);
    text_put(x, ")");
}
/* Behind an alias, which is there: AS name (columns). */
static const char *skip_alias(const char *p, const AstAlias *alias) {
    p = skip_blanks(p);
    if (strncasecmp(p, "as", 2) == 0 && !name_char(p[2])) p = skip_blanks(p + 2);
    p = skip_name(p);
    if (alias->n_columns == 0) return p;
    p = skip_blanks(p) + 1;
    for (int64_t i = 0; i < alias->n_columns; i++) p = skip_blanks(skip_name(skip_blanks(p))) + 1;
    return p;
}
/* All columns of the relation under the names that the view has for them; the others get names that no query uses. */
static void add_aliases(Text *x, const ViewTable *t, const ViewSource *q, int64_t *hidden) {
    text_put(x, "(");
    for (int32_t c = 0; c < t->n_cols; c++) {
        int i = 0;
        char other[40];
        while (i < q->n_cols && strcmp(q->cols[i], t->cols[c]) != 0) i++;
        if (i == q->n_cols) snprintf(other, sizeof other, "(hidden %lld)", (long long)++*hidden);
        if (c) text_put(x, ", ");
        text_name(x, i < q->n_cols ? q->names[i] : other);
    }
    text_put(x, ")");
}

/* How a relation is written whose columns are not those that the view has: as a subquery, or, since that has no keys
 * for a GROUP BY to rely on, under aliases, which `*` sees more of. */
typedef enum Form { FORM_SUBQUERY, FORM_ALIASES } Form;
typedef struct Rewrite {
    Text x;
    const char *sql, *at; /* the view's text, and how far it has been taken over */
    Form form;
    int64_t hidden;
} Rewrite;

/* The text up to and with one of its names of relations. */
static void add_relation(Rewrite *r, const ViewTable *t, const ViewSource *q) {
    const AstFromTable *f = t->from;
    const char *from = r->sql + q->location - 1, *to = skip_name(from);
    if (f->name.schema) to = skip_name(skip_blanks(skip_blanks(to) + 1));
    bool whole = same_columns(t, q), aliases = !whole && r->form == FORM_ALIASES;
    const bool in_schema = key_is_in(q->relation, f->name.schema ? f->name.schema : KEY_PUBLIC);
    if (whole && in_schema && key_is_named(q->relation, f->name.name)) return;
    if (*skip_blanks(to) == '*') to = skip_blanks(to) + 1;
    if (aliases && f->alias.name) to = skip_alias(to, &f->alias);
    const char *only = word_before(r->sql, from, "only"), *table = word_before(r->sql, only ? only : from, "table");
    if (table) from = table;
    else if (only && !whole) from = only;
    text_add(&r->x, r->at, from - r->at);
    if (table) text_put(&r->x, "SELECT * FROM ");
    if (whole || aliases) {
        if (!key_has_schema(q->relation)) text_put(&r->x, "public.");
        text_name(&r->x, q->relation);
    } else {
        add_subquery(&r->x, q);
    }
    if (!f->alias.name || aliases) {
        text_put(&r->x, " AS ");
        text_name(&r->x, f->alias.name ? f->alias.name : f->name.name);
    }
    if (aliases) add_aliases(&r->x, t, q, &r->hidden);
    r->at = to;
}
static int by_location(const void *x, const void *y) {
    int64_t a = ((const ViewSource *)x)->location, b = ((const ViewSource *)y)->location;
    return a < b ? -1 : a > b;
}
static const ViewTable *table_at(const PlanCtx *c, int64_t location) {
    for (int64_t i = 0; i < c->views.tables.len; i++)
        if (c->views.tables.items[i].from->location == location) return &c->views.tables.items[i];
    return NULL;
}
/* The view's sources in the order of its text, each once; those that binding saw nothing of have no table. */
static Status sort_sources(Arena *a, const View *v, ViewSource **out) {
    if (!(*out = arena_array(a, ViewSource, v->n_sources + 1))) return ST_ERROR;
    memcpy(*out, v->sources, sizeof **out * (size_t)v->n_sources);
    qsort(*out, (size_t)v->n_sources, sizeof **out, by_location);
    return ST_OK;
}
/* The same names and types of columns. */
static bool same_result(const PlanCtx *c, const BoundStmt *b, const PlanCtx *c2, const BoundStmt *b2) {
    bool same = b->n_result == b2->n_result;
    for (int32_t i = 0; i < b->n_result && same; i++)
        same = strcmp(b->names[i], b2->names[i]) == 0 &&
               type_eq(c->cols.items[b->result[i]].type, c2->cols.items[b2->result[i]].type);
    return same;
}
/* The text is the view's own where its relations are as they were. Else each relation is written as it is called now,
 * in one of the forms if its columns are others: whichever gives the same columns. */
Status view_query_text(Session *s, Arena *a, const View *v, const char **out) {
    PlanCtx c, c2;
    BoundStmt *b, *b2;
    Err why = {0};
    ViewSource *sources;
    *out = v->sql;
    if (v->n_sources == 0) return ST_OK;
    if (!bind_view(s, a, v, &c, &b, &why)) return gave_up(&why) ? (err_copy(&s->err, &why), ST_ERROR) : ST_OK;
    TRY(sort_sources(a, v, &sources));
    for (Form form = FORM_SUBQUERY; form <= FORM_ALIASES; form++) {
        Rewrite r = {.x.a = a, .sql = v->sql, .at = v->sql, .form = form};
        for (int i = 0; i < v->n_sources; i++) {
            const ViewTable *t = table_at(&c, sources[i].location);
            bool again = i > 0 && sources[i].location == sources[i - 1].location;
            if (t && !again) add_relation(&r, t, &sources[i]);
        }
        if (r.at == v->sql) return ST_OK;
        text_put(&r.x, r.at);
        if (!(*out = text_take(&r.x))) return ST_ERROR;
        View like = {.name = v->name, .sql = r.x.p, .n_cols = v->n_cols, .cols = v->cols};
        if (try_view(s, a, &like, &c2, &b2) && same_result(&c, b, &c2, b2)) return ST_OK;
        if (err_is_set(&s->err)) return ST_ERROR;
    }
    return err_set(&s->err, ERR_FEATURE_NOT_SUPPORTED,
                   "the query of view \"%s\" cannot be written for its relations as they are now", v->name);
}
/* WITH (security_barrier='true') */
static void add_view_options(Text *t, const View *v) {
    for (int i = 0; i < v->n_options; i++) {
        const char *value = strchr(v->options[i], '=');
        text_put(t, i ? ", " : " WITH (");
        text_add(t, v->options[i], value - v->options[i]);
        text_put(t, "='");
        text_put(t, value + 1); /* a word */
        text_put(t, "'");
    }
    if (v->n_options) text_put(t, ")");
}
static Status add_view_defaults(Lister *l, const ViewItem *x, bool after_data) {
    const View *v = x->v;
    PlanCtx c;
    BoundStmt *b;
    if (v->n_defaults == 0 || !try_view(l->s, l->a, v, &c, &b)) return err_is_set(&l->s->err) ? ST_ERROR : ST_OK;
    for (int i = 0; i < v->n_defaults && i < b->n_result; i++) {
        Text t = {.a = l->a};
        if (!v->defaults[i]) continue;
        text_put(&t, "ALTER VIEW ");
        text_name(&t, v->name);
        text_put(&t, " ALTER COLUMN ");
        text_name(&t, b->names[i]);
        text_put(&t, " SET DEFAULT ");
        text_own(&t, v->defaults[i]);
        TRY(add(l, (Definition){.kind = "DEFAULT",
                                .name = arena_printf(l->a, "%s %s", v->name, b->names[i]),
                                .table = v->name,
                                .target = "",
                                .create = text_take(&t),
                                .drop = "",
                                .drop_if_exists = "",
                                .problem = "",
                                .after_data = after_data}));
    }
    return ST_OK;
}
static Status add_view(Lister *l, ViewItem *x, bool after_data, const char *problem) {
    const View *v = x->v;
    const char *sql, *name = definition_name(l->a, v->name);
    Text t = {.a = l->a};
    TRY(view_query_text(l->s, l->a, v, &sql));
    const char *kind = v->materialized ? "MATERIALIZED VIEW" : "VIEW";
    text_put(&t, v->materialized ? "CREATE MATERIALIZED VIEW " : "CREATE VIEW ");
    text_name(&t, v->name);
    if (v->n_cols > 0) {
        text_put(&t, " ");
        text_names(&t, v->n_cols, v->cols);
    }
    add_view_options(&t, v);
    text_put(&t, " AS\n");
    text_own(&t, sql);
    if (v->materialized) text_put(&t, "\nWITH NO DATA"); /* rows: add_view_data */
    x->done = true;
    if (!name) return ST_ERROR;
    for (int64_t i = 0; i < l->k->n_views; i++)
        if (l->k->views[i] == v) l->listed[l->n_listed++] = l->k->views[i];
    TRY(add(l, (Definition){.kind = kind,
                            .name = v->name,
                            .table = v->name,
                            .target = "",
                            .create = text_take(&t),
                            .drop = arena_printf(l->a, "DROP %s %s", kind, name),
                            .drop_if_exists = arena_printf(l->a, "DROP %s IF EXISTS %s", kind, name),
                            .problem = problem,
                            .after_data = after_data}));
    return add_view_defaults(l, x, after_data);
}
/* Their indexes, and their rows where they have some: in the order in which they can be made. */
static Status add_view_data(Lister *l) {
    for (int64_t i = 0; i < l->n_listed; i++) {
        const View *v = l->listed[i];
        const char *name = definition_name(l->a, v->name);
        if (!v->materialized) continue;
        TRY(add_keys(l, catalog_table(l->k, slice_of(v->name))));
        if (!v->populated) continue;
        if (!name) return ST_ERROR;
        TRY(add(l, (Definition){.kind = "MATERIALIZED VIEW DATA",
                                .name = v->name,
                                .table = v->name,
                                .target = "",
                                .create = arena_printf(l->a, "REFRESH MATERIALIZED VIEW %s", name),
                                .drop = "",
                                .drop_if_exists = "",
                                .problem = "",
                                .after_data = true}));
    }
    return ST_OK;
}

/* ---- routines --------------------------------------------------------------------------------------- */

static int by_signature(const void *x, const void *y) {
    return strcmp(((const RoutineItem *)x)->signature, ((const RoutineItem *)y)->signature);
}
static Status read_routine(Lister *l, RoutineItem *x) {
    AstStmt **list;
    int64_t n;
    Err why = {0};
    PlanCtx c;
    plan_ctx_init(l->s, l->a, &c);
    c.err = &why;
    if (routine_is_aggregate(x->r)) {
        (void)sql_bind_aggregate(&c, x->r);
        if (gave_up(&why)) return err_copy(&l->s->err, &why), ST_ERROR;
        x->n_defaults = c.routine_ids.len;
        x->defaults = c.routine_ids.items;
        return ST_OK;
    }
    if (x->r->n_defaults == 0 || sql_parse(l->a, slice_of(x->r->sql), &list, &n, &why) != ST_OK || n != 1 ||
        list[0]->kind != AST_CREATE_FUNCTION)
        return ST_OK;
    const AstCreateFunction *f = AST_AS_CONST(AstCreateFunction, list[0]);
    for (int64_t i = 0; i < f->n_params; i++) {
        Expr *e;
        if (f->params[i].def) (void)sql_bind_scalar(&c, f->params[i].def, type_make(T_UNKNOWN), &e);
        if (gave_up(&why)) return err_copy(&l->s->err, &why), ST_ERROR;
        err_clear(&why);
    }
    x->n_defaults = c.routine_ids.len;
    x->defaults = c.routine_ids.items;
    return ST_OK;
}
const char *definition_routine_kind(const Routine *r) {
    return r->is_procedure ? "PROCEDURE" : routine_is_aggregate(r) ? "AGGREGATE" : "FUNCTION";
}
/* With modes and types, as DROP names it. */
const char *definition_drop_name(Arena *a, const Routine *r) {
    Text x = {.a = a};
    bool any = false;
    text_name(&x, r->name);
    text_put(&x, "(");
    for (int i = 0; i < r->n_params; i++) {
        char m = r->param_modes[i];
        if (!routine_is_arg(r, i)) continue;
        if (any) text_put(&x, ", ");
        any = true;
        if (r->is_procedure && m != 'i') text_put(&x, m == 'o' ? "OUT " : "INOUT ");
        text_put(&x, type_plain_name(r->param_types[i]));
    }
    text_put(&x, !any && routine_is_aggregate(r) ? "*)" : ")");
    return text_take(&x);
}
static Status add_routine(Lister *l, RoutineItem *x, bool after_data, const char *problem) {
    const Routine *r = x->r;
    const char *kind = definition_routine_kind(r), *signature = definition_drop_name(l->a, r);
    Text t = {.a = l->a};
    const bool sets = r->path && *r->path; /* an empty one is in the definition itself */
    const char *sql = r->sql;
    if (sets && !key_has_schema(r->name)) { /* else it would be made in the path's first schema */
        const char *name = arena_printf(l->a, "public.%s", definition_name(l->a, r->name));
        sql = name ? sql_create_named(l->a, slice_of(sql), name) : NULL;
        if (!sql) return ST_ERROR;
    }
    if (sets) text_put(&t, "SET search_path = ");
    if (sets) text_put(&t, r->path);
    if (sets) text_put(&t, ";\n");
    text_own(&t, sql);
    if (sets) text_put(&t, ";\nSET search_path = public");
    x->done = true;
    if (!signature) return ST_ERROR;
    return add(l, (Definition){.kind = kind,
                               .name = x->signature,
                               .table = "",
                               .target = "",
                               .create = text_take(&t),
                               .drop = arena_printf(l->a, "DROP %s %s", kind, signature),
                               .drop_if_exists = arena_printf(l->a, "DROP %s IF EXISTS %s", kind, signature),
                               .problem = problem,
                               .after_data = after_data});
}

/* ---- what can be made by now ------------------------------------------------------------------------ */

static bool routines_done(const Lister *l, int64_t n, const int64_t *ids, const Routine *but) {
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < l->k->n_routines; k++) {
            const RoutineItem *x = &l->routines[k];
            if (x->r->id == ids[i] && !x->done && x->r != but) return false;
        }
    return true;
}
static bool view_ready(const Lister *l, const ViewItem *x, bool keys) {
    if (!x->binds || (x->needs_key && !keys) || !routines_done(l, x->n_routines, x->routines, NULL)) return false;
    for (int i = 0; i < x->n_sources; i++)
        for (int64_t k = 0; k < l->k->n_views; k++)
            if (!l->views[k].done && strcmp(l->views[k].v->name, x->sources[i].relation) == 0) return false;
    return true;
}
static bool routine_ready(Lister *l, RoutineItem *x) {
    if (!routines_done(l, x->n_defaults, x->defaults, x->r)) return false;
    Catalog now = *l->k;
    now.views = l->listed;
    now.n_views = l->n_listed;
    Err why = {0};
    PlFunction *f;
    if (routine_is_aggregate(x->r) || pl_of_routine(l->a, &now, x->r, &f, &why) == ST_OK) return true;
    if (gave_up(&why)) err_copy(&l->s->err, &why); /* definitions_list looks at it */
    x->problem = arena_strdup(l->a, why.message);
    return false;
}
/* All routines and views that can be made, each pass in the order of their names. */
static Status add_ready(Lister *l, bool after_keys) {
    for (bool more = true; more;) {
        more = false;
        for (int64_t i = 0; i < l->k->n_routines; i++) {
            if (l->routines[i].done || !routine_ready(l, &l->routines[i])) continue;
            TRY(add_routine(l, &l->routines[i], after_keys, ""));
            more = true;
        }
        for (int64_t i = 0; i < l->k->n_views; i++) {
            if (l->views[i].done || !view_ready(l, &l->views[i], after_keys)) continue;
            TRY(add_view(l, &l->views[i], after_keys, ""));
            more = true;
        }
    }
    return ST_OK;
}
/* What never could: what it refers to is gone, or they refer to each other. */
static Status add_rest(Lister *l) {
    static const char circle[] = "it and what it refers to refer to each other";
    for (int64_t i = 0; i < l->k->n_routines; i++) {
        RoutineItem *x = &l->routines[i];
        if (!x->done) TRY(add_routine(l, x, true, x->problem ? x->problem : circle));
    }
    for (int64_t i = 0; i < l->k->n_views; i++) {
        ViewItem *x = &l->views[i];
        if (!x->done) TRY(add_view(l, x, true, x->problem ? x->problem : circle));
    }
    return ST_OK;
}

static Status prepare(Lister *l) {
    const Catalog *k = l->k;
    TRY(order_tables(l));
    l->views = arena_calloc(l->a, (int64_t)sizeof *l->views * (k->n_views + 1));
    l->routines = arena_calloc(l->a, (int64_t)sizeof *l->routines * (k->n_routines + 1));
    l->listed = arena_array(l->a, View *, k->n_views + 1);
    if (!l->views || !l->routines || !l->listed) return ST_ERROR;
    for (int64_t i = 0; i < k->n_views; i++) {
        l->views[i].v = k->views[i];
        TRY(read_view(l, &l->views[i]));
    }
    for (int64_t i = 0; i < k->n_routines; i++) {
        l->routines[i].r = k->routines[i];
        if (!(l->routines[i].signature = pl_signature_text(l->a, k->routines[i]))) return ST_ERROR;
        TRY(read_routine(l, &l->routines[i]));
    }
    qsort(l->views, (size_t)k->n_views, sizeof *l->views, by_view_name);
    qsort(l->routines, (size_t)k->n_routines, sizeof *l->routines, by_signature);
    return ST_OK;
}

/* ---- sequences ---- */

static void text_number(Text *x, const char *before, int64_t n) {
    char number[40];
    snprintf(number, sizeof number, " %lld", (long long)n);
    text_put(x, before);
    text_put(x, number);
}
/* As pg_dump writes them, on lines of their own. */
static void add_sequence_options(Text *x, const Sequence *q) {
    const bool up = q->increment > 0;
    int64_t least, most;
    sequence_type_range(q->type, &least, &most);
    text_number(x, "\n    START WITH", q->start);
    text_number(x, "\n    INCREMENT BY", q->increment);
    if (q->min == (up ? 1 : least)) text_put(x, "\n    NO MINVALUE");
    else text_number(x, "\n    MINVALUE", q->min);
    if (q->max == (up ? most : -1)) text_put(x, "\n    NO MAXVALUE");
    else text_number(x, "\n    MAXVALUE", q->max);
    text_number(x, "\n    CACHE", q->cache);
    if (q->cycle) text_put(x, "\n    CYCLE");
}
static int by_sequence_name(const void *x, const void *y) {
    return strcmp((*(const Sequence *const *)x)->name, (*(const Sequence *const *)y)->name);
}
static Status order_sequences(Lister *l) {
    const int64_t n = l->k->n_sequences;
    if (!(l->sequences = arena_array(l->a, const Sequence *, n + 1))) return ST_ERROR;
    for (int64_t i = 0; i < n; i++) l->sequences[i] = l->k->sequences[i];
    if (n > 1) qsort(l->sequences, (size_t)n, sizeof *l->sequences, by_sequence_name);
    return ST_OK;
}
static Status add_sequence_part(Lister *l, const Sequence *q, const char *kind, const Text *x) {
    return add(l, (Definition){.kind = kind,
                               .name = q->name,
                               .table = q->owner_table ? q->owner_table : q->name,
                               .target = "",
                               .create = text_take(x),
                               .drop = "",
                               .drop_if_exists = "",
                               .problem = ""});
}
static Status add_sequences(Lister *l) {
    for (int64_t i = 0; i < l->k->n_sequences; i++) {
        const Sequence *q = l->sequences[i];
        const char *name = definition_name(l->a, q->name);
        Text x = {.a = l->a};
        if (q->identity) continue;
        if (!name) return ST_ERROR;
        text_put(&x, q->unlogged ? "CREATE UNLOGGED SEQUENCE " : "CREATE SEQUENCE ");
        text_put(&x, name);
        if (q->type.id != T_INT8) text_put(&x, q->type.id == T_INT2 ? "\n    AS smallint" : "\n    AS integer");
        add_sequence_options(&x, q);
        TRY(add_sequence_part(l, q, "SEQUENCE", &x));
        if (q->owner_table) continue; /* it goes with its table */
        Definition *d = &l->out->list.items[l->out->list.len - 1];
        d->drop = arena_printf(l->a, "DROP SEQUENCE %s", name);
        d->drop_if_exists = arena_printf(l->a, "DROP SEQUENCE IF EXISTS %s", name);
        if (!d->drop || !d->drop_if_exists) return ST_ERROR;
    }
    return ST_OK;
}
/* Behind the tables: which columns sequences go with. */
static Status add_sequence_owners(Lister *l) {
    for (int64_t i = 0; i < l->k->n_sequences; i++) {
        const Sequence *q = l->sequences[i];
        Text x = {.a = l->a};
        if (!q->owner_table) continue;
        if (q->identity) {
            const Table *t = catalog_table(l->k, slice_of(q->owner_table));
            const bool always = t->cols[table_find_column(t, slice_of(q->owner_column))].kind == COLUMN_ALWAYS;
            text_put(&x, "ALTER TABLE ");
            text_name(&x, q->owner_table);
            text_put(&x, " ALTER COLUMN ");
            text_name(&x, q->owner_column);
            text_put(&x, always ? " ADD GENERATED ALWAYS" : " ADD GENERATED BY DEFAULT");
            text_put(&x, " AS IDENTITY (\n    SEQUENCE NAME ");
            text_name(&x, q->name);
            add_sequence_options(&x, q);
            text_put(&x, "\n)");
        } else {
            text_put(&x, "ALTER SEQUENCE ");
            text_name(&x, q->name);
            text_put(&x, " OWNED BY ");
            text_name(&x, q->owner_table);
            text_put(&x, ".");
            text_name(&x, q->owner_column);
        }
        TRY(add_sequence_part(l, q, q->identity ? "SEQUENCE" : "SEQUENCE OWNED BY", &x));
    }
    return ST_OK;
}
static Status add_sequence_numbers(Lister *l) {
    for (int64_t i = 0; i < l->k->n_sequences; i++) {
        const Sequence *q = l->sequences[i];
        const SequenceValues now = sequence_values(q);
        const char *name = stored_name_in_literal(l->a, q->name);
        Text x = {.a = l->a};
        if (!name) return ST_ERROR;
        text_put(&x, "SELECT pg_catalog.setval('");
        if (!key_has_schema(q->name)) text_put(&x, "public.");
        text_put(&x, name);
        text_number(&x, "',", now.last);
        text_put(&x, now.is_called ? ", true)" : ", false)");
        TRY(add_sequence_part(l, q, "SEQUENCE SET", &x));
    }
    return ST_OK;
}

/* ---- types ---- */

static Status add_type(Lister *l, const char *name, Text *create) {
    const char *shown = definition_name(l->a, name);
    if (!shown) return ST_ERROR;
    return add(l, (Definition){.kind = "TYPE",
                               .name = name,
                               .table = "",
                               .target = "",
                               .create = text_take(create),
                               .drop = arena_printf(l->a, "DROP TYPE %s", shown),
                               .drop_if_exists = arena_printf(l->a, "DROP TYPE IF EXISTS %s", shown),
                               .problem = ""});
}
static int by_enum_name(const void *x, const void *y) {
    return strcmp((*(const EnumType *const *)x)->name, (*(const EnumType *const *)y)->name);
}
static Status add_enums(Lister *l) {
    const EnumType *x;
    VEC(const EnumType *) all = {0};
    for (int64_t i = 0; (x = enum_nth(l->k->enums, i)) != NULL; i++)
        if (!vec_push(l->a, &all, x)) return ST_ERROR;
    if (all.len > 1) qsort(all.items, (size_t)all.len, sizeof *all.items, by_enum_name);
    for (int64_t i = 0; i < all.len; i++) {
        x = all.items[i];
        Text t = {.a = l->a};
        text_put(&t, "CREATE TYPE ");
        text_name(&t, x->name);
        text_put(&t, " AS ENUM (");
        for (int32_t k = 0; k < x->n; k++) {
            text_put(&t, k ? ", '" : "'");
            for (const char *p = x->labels[k].text; *p; p++) {
                if (*p == '\'') text_put(&t, "'");
                text_add(&t, p, 1);
            }
            text_put(&t, "'");
        }
        text_put(&t, ")");
        TRY(add_type(l, x->name, &t));
    }
    return ST_OK;
}

/* Whether a text of a domain, its default or a condition of VALUE, names what is not there yet where domains are made:
 * routines, or other domains. */
static bool domain_waits(Lister *l, const Domain *d, const char *sql) {
    PlanCtx c;
    BoundStmt *b;
    return try_domain_text(l->s, l->a, d, sql, &c, &b) && (c.routine_ids.len > 0 || c.domain_ids.len > 0);
}
static void add_domain_check(Text *x, const DomainCheck *k) {
    text_put(x, "CONSTRAINT ");
    text_name(x, k->name);
    text_put(x, " CHECK (");
    text_own(x, k->sql);
    text_put(x, ")");
    if (k->not_valid) text_put(x, " NOT VALID");
}
/* By name, behind their parents. */
static Status order_domains(Lister *l) {
    const int64_t n = l->k->n_domains;
    bool *placed = arena_calloc(l->a, n + 1);
    l->domains = arena_array(l->a, const Domain *, n + 1);
    if (!placed || !l->domains) return ST_ERROR;
    for (int64_t at = 0; at < n; at++) {
        int64_t best = -1;
        for (int64_t i = 0; i < n; i++) {
            const Domain *d = l->k->domains[i];
            bool ready = !placed[i];
            for (int64_t k = 0; k < n && ready; k++) ready = placed[k] || l->k->domains[k]->id != d->parent;
            if (ready && (best < 0 || strcmp(d->name, l->k->domains[best]->name) < 0)) best = i;
        }
        placed[best] = true;
        l->domains[at] = l->k->domains[best];
    }
    return ST_OK;
}
/* Without texts that wait, and conditions that values need not pass. over_rows: those over composite types, which may
 * have fields of the others. */
static Status add_domains(Lister *l, bool over_rows) {
    for (int64_t i = 0; i < l->k->n_domains; i++) {
        const Type of = l->domains[i]->type;
        if (over_rows != (composite_of(of.id == T_ARRAY ? type_element(of) : of) != NULL)) continue;
        const Domain *d = l->domains[i], *parent = catalog_domain_by_id(l->k, d->parent);
        const char *shown = domain_shown(l->a, d);
        char type[TYPE_NAME_MAX];
        Text t = {.a = l->a};
        if (!shown) return ST_ERROR;
        text_put(&t, "CREATE DOMAIN ");
        text_put(&t, shown);
        text_put(&t, " AS ");
        if (parent) text_name(&t, parent->name);
        else text_put(&t, type_name(d->type, &type));
        if (d->not_null) text_put(&t, " NOT NULL");
        if (d->default_sql && !domain_waits(l, d, d->default_sql)) add_default(l, &t, d->default_sql);
        if (!d->default_sql && parent && parent->default_sql) text_put(&t, " DEFAULT NULL");
        for (int k = 0; k < d->n_checks; k++) {
            if (d->checks[k].not_valid || domain_waits(l, d, d->checks[k].sql)) continue;
            text_put(&t, "\n    ");
            add_domain_check(&t, &d->checks[k]);
        }
        TRY(add(l, (Definition){.kind = "DOMAIN",
                                .name = d->name,
                                .table = "",
                                .target = "",
                                .create = text_take(&t),
                                .drop = arena_printf(l->a, "DROP DOMAIN %s", shown),
                                .drop_if_exists = arena_printf(l->a, "DROP DOMAIN IF EXISTS %s", shown),
                                .problem = ""}));
    }
    return ST_OK;
}
static Status add_domain_part(Lister *l, const Domain *d, const char *kind, const char *part, const Text *t) {
    return add(l, (Definition){.kind = kind,
                               .name = arena_printf(l->a, "%s %s", d->name, part),
                               .table = "",
                               .target = "",
                               .create = text_take(t),
                               .drop = "",
                               .drop_if_exists = "",
                               .problem = "",
                               .after_data = true});
}
/* What add_domains has left out. */
static Status add_domain_parts(Lister *l) {
    for (int64_t i = 0; i < l->k->n_domains; i++) {
        const Domain *d = l->domains[i];
        const char *alter = arena_printf(l->a, "ALTER DOMAIN %s ", domain_shown(l->a, d));
        if (!alter) return ST_ERROR;
        if (domain_waits(l, d, d->default_sql)) {
            Text t = {.a = l->a};
            text_put(&t, alter);
            text_put(&t, "SET DEFAULT ");
            text_own(&t, d->default_sql);
            TRY(add_domain_part(l, d, "DEFAULT", "default", &t));
        }
        for (int k = 0; k < d->n_checks; k++) {
            if (!d->checks[k].not_valid && !domain_waits(l, d, d->checks[k].sql)) continue;
            Text t = {.a = l->a};
            text_put(&t, alter);
            text_put(&t, "ADD ");
            add_domain_check(&t, &d->checks[k]);
            TRY(add_domain_part(l, d, "CONSTRAINT", d->checks[k].name, &t));
        }
    }
    return ST_OK;
}

static int by_range_name(const void *x, const void *y) {
    return strcmp((*(const RangeType *const *)x)->name, (*(const RangeType *const *)y)->name);
}
static Status add_ranges(Lister *l) {
    const RangeType *x;
    VEC(const RangeType *) all = {0};
    for (int64_t i = 0; (x = range_nth(l->k->ranges, i)) != NULL; i++)
        if (!vec_push(l->a, &all, x)) return ST_ERROR;
    if (all.len > 1) qsort(all.items, (size_t)all.len, sizeof *all.items, by_range_name);
    for (int64_t i = 0; i < all.len; i++) {
        x = all.items[i];
        Text t = {.a = l->a};
        char type[TYPE_NAME_MAX];
        text_put(&t, "CREATE TYPE ");
        text_name(&t, x->name);
        text_put(&t, " AS RANGE (\n    subtype = ");
        text_put(&t, type_name(x->subtype, &type));
        text_put(&t, ",\n    multirange_type_name = ");
        text_name(&t, x->multi);
        if (x->collation) {
            text_put(&t, ",\n    collation = ");
            text_name(&t, x->collation);
        }
        if (x->subtype_diff) {
            text_put(&t, ",\n    subtype_diff = ");
            text_name(&t, x->subtype_diff);
        }
        text_put(&t, "\n)");
        TRY(add_type(l, x->name, &t));
    }
    return ST_OK;
}

/* By name, behind those that they have in their fields. */
static Status order_composites(Lister *l, const CompositeType ***out, int64_t *n) {
    *n = composite_count(l->k->rows);
    const CompositeType **all = arena_array(l->a, const CompositeType *, *n + 1);
    bool *placed = arena_calloc(l->a, *n + 1);
    *out = arena_array(l->a, const CompositeType *, *n + 1);
    if (!all || !placed || !*out) return ST_ERROR;
    for (int64_t i = 0; i < *n; i++) all[i] = composite_nth(l->k->rows, i);
    for (int64_t at = 0; at < *n; at++) {
        int64_t best = -1;
        for (int64_t i = 0; i < *n; i++) {
            bool ready = !placed[i];
            for (int64_t k = 0; k < *n && ready; k++)
                ready = placed[k] || k == i || !composite_uses(composite_type(all[i]), all[k]->number);
            if (ready && (best < 0 || strcmp(all[i]->name, all[best]->name) < 0)) best = i;
        }
        placed[best] = true;
        (*out)[at] = all[best];
    }
    return ST_OK;
}
static Status add_composites(Lister *l) {
    const CompositeType **all;
    int64_t n;
    TRY(order_composites(l, &all, &n));
    for (int64_t i = 0; i < n; i++) {
        const CompositeType *x = all[i];
        Text t = {.a = l->a};
        text_put(&t, "CREATE TYPE ");
        text_name(&t, x->name);
        text_put(&t, " AS (");
        for (int32_t k = 0; k < x->n; k++) {
            char type[TYPE_NAME_MAX];
            text_put(&t, k ? ",\n    " : "\n    ");
            text_name(&t, x->fields[k].name);
            text_put(&t, " ");
            const Domain *d = catalog_domain_by_id(l->k, x->fields[k].domain);
            if (d) text_name(&t, d->name);
            else text_put(&t, type_name(x->fields[k].type, &type));
        }
        text_put(&t, x->n ? "\n)" : ")");
        TRY(add_type(l, x->name, &t));
    }
    return ST_OK;
}

/* ---- comments ---- */

/* TABLE t; COLUMN t.a; "": not in a dump. */
static const char *comment_object(Lister *l, const Comment *c) {
    const Slice name = slice_of(c->name);
    Text x = {.a = l->a};
    const char *word = catalog_matview(l->k, name)    ? "MATERIALIZED VIEW "
                       : catalog_table(l->k, name)    ? "TABLE "
                       : catalog_view(l->k, name)     ? "VIEW "
                       : catalog_sequence(l->k, name) ? "SEQUENCE "
                                                      : "INDEX ";
    const Routine *r = NULL;
    switch (c->kind) {
    case COMMENT_RELATION: text_put(&x, word); break;
    case COMMENT_COLUMN: text_put(&x, "COLUMN "); break;
    case COMMENT_CONSTRAINT:
    case COMMENT_DOMAIN_CONSTRAINT:
        text_put(&x, "CONSTRAINT ");
        text_name(&x, c->part);
        text_put(&x, c->kind == COMMENT_CONSTRAINT ? " ON " : " ON DOMAIN ");
        break;
    case COMMENT_TYPE: text_put(&x, catalog_domain(l->k, name) ? "DOMAIN " : "TYPE "); break;
    case COMMENT_ROUTINE:
        if (!(r = catalog_routine_by_id(l->k, c->routine))) return "";
        text_put(&x, definition_routine_kind(r));
        text_put(&x, " ");
        text_put(&x, definition_drop_name(l->a, r));
        return text_take(&x);
    case COMMENT_SCHEMA: text_put(&x, "SCHEMA "); break;
    case COMMENT_BUILTIN: return builtin_comment_object(l->s, l->a, c);
    case COMMENT_ROLE:
    case COMMENT_DATABASE: return ""; /* another one restores it */
    }
    text_name(&x, c->name);
    if (c->kind == COMMENT_COLUMN) {
        text_put(&x, ".");
        text_name(&x, c->part);
    }
    return text_take(&x);
}
static int by_definition_name(const void *x, const void *y) {
    return strcmp(((const Definition *)x)->name, ((const Definition *)y)->name);
}
static Status add_comments(Lister *l) {
    const int64_t from = l->out->list.len;
    for (int64_t i = 0; i < l->k->n_comments; i++) {
        const Comment *c = l->k->comments[i];
        const char *object = comment_object(l, c);
        Text x = {.a = l->a};
        if (!object) return ST_ERROR;
        if (!*object) continue;
        text_put(&x, "COMMENT ON ");
        text_put(&x, object);
        text_put(&x, " IS ");
        const char *text = quote_string(l->a, c->text);
        if (!text) return ST_ERROR;
        text_put(&x, text);
        TRY(add(l, (Definition){.kind = "COMMENT",
                                .name = object,
                                .table = c->name,
                                .target = "",
                                .create = text_take(&x),
                                .drop = "",
                                .drop_if_exists = "",
                                .problem = "",
                                .after_data = true}));
    }
    if (l->out->list.len > from)
        qsort(&l->out->list.items[from], (size_t)(l->out->list.len - from), sizeof(Definition), by_definition_name);
    return ST_OK;
}

static Status add_schemas(Lister *l) {
    const char **names = arena_array(l->a, const char *, l->k->n_schemas + 1);
    if (!names) return ST_ERROR;
    for (int64_t i = 0; i < l->k->n_schemas; i++) names[i] = l->k->schemas[i]->name;
    if (l->k->n_schemas > 1) qsort(names, (size_t)l->k->n_schemas, sizeof *names, by_text);
    for (int64_t i = 0; i < l->k->n_schemas; i++) {
        const char *name = definition_name(l->a, names[i]);
        if (!name) return ST_ERROR;
        TRY(add(l, (Definition){.kind = "SCHEMA",
                                .name = names[i],
                                .table = "",
                                .target = "",
                                .create = arena_printf(l->a, "CREATE SCHEMA %s", name),
                                .drop = arena_printf(l->a, "DROP SCHEMA %s", name),
                                .drop_if_exists = arena_printf(l->a, "DROP SCHEMA IF EXISTS %s", name),
                                .problem = ""}));
    }
    return ST_OK;
}

static bool is_view(const Lister *l, const Table *t) { return catalog_matview(l->k, slice_of(t->name)) != NULL; }
static Status list_all(Session *s, Arena *a, Definitions *out) {
    Catalog seen;
    Lister l = {.s = s, .a = a, .out = out, .k = catalog_seen(&s->db->catalog, a, s->path.temp.name, &seen)};
    if (!l.k) return ST_ERROR;
    int64_t n = l.k->n_tables;
    *out = (Definitions){.a = a};
    TRY(prepare(&l));
    TRY(add_schemas(&l));
    TRY(order_sequences(&l));
    TRY(add_sequences(&l));
    TRY(add_enums(&l));
    TRY(add_ranges(&l));
    TRY(order_domains(&l));
    TRY(add_domains(&l, false));
    TRY(add_composites(&l));
    TRY(add_domains(&l, true));
    for (int64_t i = 0; i < n; i++)
        if (!is_view(&l, l.tables[i])) TRY(add_table(&l, l.tables[i]));
    TRY(add_sequence_owners(&l));
    TRY(add_ready(&l, false));
    TRY(add_sequence_numbers(&l));
    for (int64_t i = 0; i < n; i++)
        if (!is_view(&l, l.tables[i])) TRY(add_keys(&l, l.tables[i]));
    TRY(add_ready(&l, true));
    for (int64_t i = 0; i < n; i++) TRY(add_calling_parts(&l, l.tables[i]));
    TRY(add_domain_parts(&l));
    for (int64_t i = 0; i < n; i++) TRY(add_foreigns(&l, l.tables[i]));
    TRY(add_rest(&l)); /* late: a restore that stops at an object with a problem has all tables and their keys */
    TRY(add_view_data(&l));
    TRY(add_comments(&l));
    TRY(definitions_access(s, a, l.k, out));
    return err_is_set(&s->err) ? ST_ERROR : ST_OK;
}

/* Under public alone, as they are read again. */
Status definitions_list(Session *s, Arena *a, Definitions *out) {
    const SearchPath *path = search_path_use(NULL);
    const Status st = list_all(s, a, out);
    (void)search_path_use(path);
    return st;
}
