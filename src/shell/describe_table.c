/* describe_table.c - \d NAME: a table or view with its columns, keys, checks, foreign keys from and to it, view text.
 * The texts of constraints are those of the definitions that a dump would write. */
#include <stdlib.h>
#include <string.h>

#include "shell/describe.h"
#include "shell/vars.h"

typedef struct Column {
    char *name, *type, *def;
    bool not_null;
} Column;
typedef struct Columns {
    Column *items;
    int64_t n, cap;
    bool failed;
} Columns;

static bool each_column(void *ctx, const char *name, const char *type, bool not_null, const char *def,
                        const char *key) {
    (void)key;
    Columns *c = ctx;
    if (c->n == c->cap) {
        int64_t cap = c->cap ? c->cap * 2 : 32;
        Column *more = realloc(c->items, (size_t)cap * sizeof *more);
        if (!more) return c->failed = true;
        c->items = more;
        c->cap = cap;
    }
    Column *to = &c->items[c->n++];
    *to = (Column){strdup(name), strdup(type), strdup(def), not_null};
    return c->failed = !to->name || !to->type || !to->def;
}

static void free_columns(Columns *c) {
    for (int64_t i = 0; i < c->n; i++) {
        free(c->items[i].name);
        free(c->items[i].type);
        free(c->items[i].def);
    }
    free(c->items);
}

static bool each_option(void *ctx, const char *name, const char *value) {
    grid_footer(ctx, "Options: %s=%s", name, value);
    return false;
}

typedef struct ColumnSize {
    int64_t bytes, nulls;
} ColumnSize;

static bool take_size(void *ctx, int64_t n, const char *const *values, const char *const *names) {
    (void)names;
    ColumnSize *to = ctx;
    if (n > 0 && values[0]) to->bytes = atoll(values[0]);
    if (n > 1 && values[1]) to->nulls = atoll(values[1]);
    return false;
}

/* What a column takes, from the system's relation of tablets. */
static void add_size(Shell *sh, Grid *g, const char *relation, const char *column) {
    char *sql = NULL, *table = sql_quoted_text(relation), *name = sql_quoted_text(column), size[32];
    ColumnSize x = {0, 0};
    if (table && name &&
        asprintf(&sql,
                 "select coalesce(sum(bytes), 0)::bigint, coalesce(sum(nulls), 0)::bigint "
                 "from stele_tablet_columns where table_name = %s and column_name = %s",
                 table, name) >= 0)
        (void)stele_exec(sh->conn, sql, take_size, &x);
    free(sql);
    free(table);
    free(name);
    put_size(size, sizeof size, x.bytes);
    grid_cell(g, size);
    grid_cellf(g, "%lld", (long long)x.nulls);
}

/* ---- constraints --------------------------------------------------------------------------------------- */

/* The table's CHECKs, which are elements of its CREATE TABLE: texts between commas outside of quotes and parentheses.
 */
static void add_checks(Grid *g, const char *create) {
    const char *s = strchr(create, '(');
    bool any = false;
    int depth = 0;
    for (const char *from = s ? s + 1 : NULL; from && *from;) {
        const char *p = from + strspn(from, " \n");
        from = p;
        for (depth = 0; *p && !(depth == 0 && (*p == ',' || *p == ')')); p++) {
            if (*p == '\'' || *p == '"') {
                char quote = *p++;
                while (*p && *p != quote) p++;
                if (!*p) return;
            } else {
                depth += *p == '(' ? 1 : *p == ')' ? -1 : 0;
            }
        }
        size_t n = (size_t)(p - from);
        while (n > 0 && (from[n - 1] == ' ' || from[n - 1] == '\n')) n--;
        if (strncmp(from, "CONSTRAINT ", 11) == 0) {
            const char *name = from + 11, *end = behind_name(name);
            if (strncmp(end, " CHECK ", 7) == 0) {
                if (!any) grid_footer(g, "Check constraints:");
                any = true;
                bool quoted = *name == '"';
                grid_footer(g, quoted ? "    %.*s %.*s" : "    \"%.*s\" %.*s", (int)(end - name), name,
                            (int)(from + n - end - 1), end + 1);
            }
        }
        if (*p != ',') return;
        from = p + 1;
    }
}

static void add_indexes(Grid *g, const Definitions *d, const char *table) {
    bool any = false;
    char name[256];
    for (int64_t i = 0; i < d->n; i++) {
        const Defined *x = &d->items[i];
        if (strcmp(x->table, table) != 0 || !is_key(x)) continue;
        if (!any) grid_footer(g, "Indexes:");
        any = true;
        const char *text = constraint_text(x);
        constraint_name(x, name, sizeof name);
        if (strcmp(x->kind, "INDEX") == 0) {
            const char *on = strstr(x->create, " ON "), *open = on ? strchr(on, '(') : NULL;
            const char *method = on ? strstr(on, " USING ") : NULL;
            bool unique = strncmp(x->create, "CREATE UNIQUE", 13) == 0;
            const char *rest = method ? method + 7 : open ? open : x->create;
            grid_footer(g, "    \"%s\"%s %s", name, unique ? " UNIQUE," : "", rest);
        } else if (strncmp(text, "UNIQUE", 6) == 0) {
            grid_footer(g, "    \"%s\" UNIQUE CONSTRAINT%s", name, text + 6);
        } else {
            grid_footer(g, "    \"%s\" %s", name, text);
        }
    }
}

/* A name in a definition, which is in double quotes only where it must be (that depends on the reserved words), is
 * the one of `quoted`. */
static bool is_name_at(const char *s, const char *quoted) {
    size_t n = strlen(quoted), k = (size_t)(behind_name(s) - s);
    if (*s != '"') return k == n - 2 && strncmp(s, quoted + 1, k) == 0;
    return k == n && strncmp(s, quoted, n) == 0;
}

static void add_foreign_keys(Grid *g, const Definitions *d, const char *table) {
    bool any = false;
    char name[256];
    for (int64_t i = 0; i < d->n; i++) {
        const Defined *x = &d->items[i];
        if (strcmp(x->kind, "FK CONSTRAINT") != 0 || strcmp(x->table, table) != 0) continue;
        if (!any) grid_footer(g, "Foreign-key constraints:");
        any = true;
        grid_footer(g, "    \"%s\" %s", constraint_name(x, name, sizeof name), constraint_text(x));
    }
    any = false;
    char *quoted = sql_quoted_always(table);
    for (int64_t i = 0; i < d->n && quoted; i++) {
        const Defined *x = &d->items[i];
        const char *to = strcmp(x->kind, "FK CONSTRAINT") == 0 ? strstr(x->create, " REFERENCES ") : NULL;
        if (!to || !is_name_at(to + 12, quoted)) continue;
        if (!any) grid_footer(g, "Referenced by:");
        any = true;
        grid_footer(g, "    TABLE \"%s\" CONSTRAINT \"%s\" %s", x->table, constraint_name(x, name, sizeof name),
                    constraint_text(x));
    }
    free(quoted);
}

/* Without what a dump has behind the query of a materialized one. */
static void add_view_text(Grid *g, const Definitions *d, const char *view) {
    static const char no_data[] = "\nWITH NO DATA";
    for (int64_t i = 0; i < d->n; i++) {
        const Defined *x = &d->items[i];
        if (!is_view_kind(x->kind) || strcmp(x->table, view) != 0) continue;
        const char *text = strstr(x->create, " AS\n");
        grid_footer(g, "View definition:");
        if (text) text += strlen(" AS\n");
        else text = x->create;
        const size_t n = strlen(text), tail = strlen(no_data);
        const bool is_cut = n > tail && strcmp(text + n - tail, no_data) == 0;
        grid_footer(g, "%.*s;", (int)(is_cut ? n - tail : n), text);
    }
}

/* ---- the whole ---------------------------------------------------------------------------------------------- */

static void add_constraints(Grid *g, const Definitions *d, const char *table) {
    add_indexes(g, d, table);
    for (int64_t i = 0; i < d->n; i++)
        if (strcmp(d->items[i].kind, "TABLE") == 0 && strcmp(d->items[i].table, table) == 0)
            add_checks(g, d->items[i].create);
    add_foreign_keys(g, d, table);
}

/* ---- sequences -------------------------------------------------------------------------------------------- */

typedef struct FoundSequence {
    const char *name;
    Grid *g;
} FoundSequence;
static bool add_sequence(void *ctx, const stele_sequence *s) {
    static const char *const names[] = {"Type", "Start", "Minimum", "Maximum", "Increment", "Cycles?", "Cache"};
    FoundSequence *f = ctx;
    char *title = NULL, full[256];
    if (strcmp(s->name, f->name) != 0) return false;
    if (asprintf(&title, "Sequence \"%s\"", with_schema(s->name, full, sizeof full)) < 0) return true;
    f->g = grid_new(title, 7, names);
    free(title);
    grid_cell(f->g, s->type);
    grid_cellf(f->g, "%lld", (long long)s->start);
    grid_cellf(f->g, "%lld", (long long)s->minimum);
    grid_cellf(f->g, "%lld", (long long)s->maximum);
    grid_cellf(f->g, "%lld", (long long)s->increment);
    grid_cell(f->g, s->cycles ? "yes" : "no");
    grid_cellf(f->g, "%lld", (long long)s->cache);
    for (int i = 1; i < 7; i++)
        if (i != 5) grid_right(f->g, i);
    grid_no_count(f->g);
    if (*s->owner_table)
        grid_footer(f->g, "%s: %s.%s", s->identity ? "Sequence for identity column" : "Owned by",
                    with_schema(s->owner_table, full, sizeof full), s->owner_column);
    return true;
}
bool describe_sequence(Shell *sh, const char *name) {
    FoundSequence f = {name, NULL};
    if (stele_list_sequences(sh->conn, add_sequence, &f) != STELE_OK) return print_error(sh, NULL), false;
    return f.g ? grid_print(sh, f.g) : say_no_memory();
}

static bool is_unlogged(const Definitions *d, const char *name) {
    bool is = false;
    for (int64_t i = 0; i < d->n; i++)
        is = is ||
             (strcmp(d->items[i].table, name) == 0 && strncmp(d->items[i].create, "CREATE UNLOGGED TABLE", 21) == 0);
    return is;
}
bool describe_relation(Shell *sh, const Relation *r, const Definitions *d, bool more) {
    static const char *const names[] = {"Column",  "Type", "Collation", "Nullable",
                                        "Default", "Size", "Nulls",     "Description"};
    static const char *const of_view[] = {"Column", "Type", "Collation", "Nullable", "Default", "Description"};
    const bool comments = more;
    char *title = NULL, size[32], full[256];
    Columns c = {0};
    more = more && !r->view;
    bool ok = stele_list_columns(sh->conn, with_schema(r->name, full, sizeof full), each_column, &c) == STELE_OK;
    if (!ok && (!r->view || r->rows >= 0 || d->n > 0)) print_error(sh, NULL);
    else if (ok && (c.failed || asprintf(&title, "%s \"%s\"",
                                         r->view                   ? "View"
                                         : r->materialized         ? "Materialized view"
                                         : is_unlogged(d, r->name) ? "Unlogged table"
                                                                   : "Table",
                                         with_schema(r->name, full, sizeof full)) < 0))
        ok = say_no_memory();
    Grid *g = ok ? grid_new(title, more ? 8 : comments ? 6 : 5, more ? names : of_view) : NULL;
    free(title);
    for (int64_t i = 0; i < c.n && ok; i++) {
        const Column *x = &c.items[i];
        const char *const cells[] = {x->name, x->type, "", x->not_null ? "not null" : "", x->def};
        for (size_t k = 0; k < sizeof cells / sizeof *cells; k++) grid_cell(g, cells[k]);
        if (more) add_size(sh, g, r->name, x->name);
        if (comments) put_comment(sh, g, r->name, x->name);
    }
    free_columns(&c);
    if (!ok) return false;
    grid_no_count(g);
    if (r->view) {
        add_view_text(g, d, r->name);
        return grid_print(sh, g);
    }
    if (r->materialized) add_view_text(g, d, r->name);
    add_constraints(g, d, r->name);
    if (stele_list_options(sh->conn, r->name, each_option, g) != STELE_OK) print_error(sh, NULL);
    if (more) {
        int64_t bytes = relation_bytes(sh, r->name);
        put_size(size, sizeof size, bytes < 0 ? 0 : bytes);
        grid_right(g, 5);
        grid_right(g, 6);
        grid_footer(g, "Rows: %lld", (long long)r->rows);
        grid_footer(g, "Size: %s", size);
    }
    return grid_print(sh, g);
}
