/* describe.c - \d and its like: lists of what the database has, as psql shows them. What there is only one of (the
 * schema) is shown as that one; what there is none of is an empty list. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "shell/describe.h"
#include "shell/vars.h"

/* ---- definitions and relations, kept ----------------------------------------------------------------- */

static bool each_definition(void *ctx, const stele_definition *x) {
    Definitions *d = ctx;
    if (d->n == d->cap) {
        int64_t cap = d->cap ? d->cap * 2 : 64;
        Defined *more = realloc(d->items, (size_t)cap * sizeof *more);
        if (!more) return d->failed = true;
        d->items = more;
        d->cap = cap;
    }
    Defined *to = &d->items[d->n++];
    *to = (Defined){strdup(x->kind), strdup(x->name), strdup(x->table), strdup(x->create_sql)};
    return d->failed = !to->kind || !to->name || !to->table || !to->create;
}

void definitions_free(Definitions *d) {
    for (int64_t i = 0; i < d->n; i++) {
        free(d->items[i].kind);
        free(d->items[i].name);
        free(d->items[i].table);
        free(d->items[i].create);
    }
    free(d->items);
}

bool definitions_load(Shell *sh, Definitions *d) {
    *d = (Definitions){0};
    bool ok = stele_list_definitions(sh->conn, each_definition, d) == STELE_OK;
    if (ok && !d->failed) return true;
    if (ok) (void)say_no_memory();
    else print_error(sh, NULL);
    definitions_free(d);
    *d = (Definitions){0};
    return false;
}

static bool each_relation(void *ctx, const char *name, const char *kind, int64_t rows) {
    Relations *r = ctx;
    if (r->n == r->cap) {
        int64_t cap = r->cap ? r->cap * 2 : 64;
        Relation *more = realloc(r->items, (size_t)cap * sizeof *more);
        if (!more) return r->failed = true;
        r->items = more;
        r->cap = cap;
    }
    Relation *to = &r->items[r->n++];
    *to = (Relation){.name = strdup(name),
                     .view = strcmp(kind, "view") == 0,
                     .materialized = strcmp(kind, "materialized view") == 0,
                     .sequence = strcmp(kind, "sequence") == 0,
                     .rows = rows};
    return r->failed = !to->name;
}
static bool each_sequence(void *ctx, const stele_sequence *s) { return each_relation(ctx, s->name, "sequence", -1); }
static const char *kind_of(const Relation *r) {
    return r->sequence ? "sequence" : r->view ? "view" : r->materialized ? "materialized view" : "table";
}

static int compare_relations(const void *a, const void *b) {
    const Relation *x = a, *y = b;
    return strcmp(x->name, y->name);
}

static bool take_text(void *ctx, int64_t n, const char *const *values, const char *const *names) {
    (void)names;
    char **to = ctx;
    if (n > 0 && values[0] && !*to) *to = strdup(values[0]);
    return false;
}
char *visible_schemas(Shell *sh, bool relations) {
    char *path = NULL;
    const char *sql = relations ? "select ',' || array_to_string(array_remove(current_schemas(true), 'pg_catalog'), "
                                  "',') || ','" /* temporary tables are found without being in search_path */
                                : "select ',' || array_to_string(current_schemas(false), ',') || ','";
    (void)stele_exec(sh->conn, sql, take_text, &path);
    return path;
}
/* Where its schema is in the path; -1: nowhere. */
static int64_t place_in_path(const char *path, const char *name) {
    char schema[128], listed[130];
    (void)name_and_schema(name, schema, sizeof schema);
    snprintf(listed, sizeof listed, ",%s,", schema);
    const char *at = path ? strstr(path, listed) : NULL;
    return at ? at - path : -1;
}
/* Another relation of its name comes first in the path. */
static bool is_hidden(const Relations *all, const char *name) {
    char schema[128], other[128];
    const char *alone = name_and_schema(name, schema, sizeof schema);
    const int64_t place = place_in_path(all->path, name);
    for (int64_t i = 0; i < all->n; i++) {
        const int64_t at = place_in_path(all->path, all->items[i].name);
        if (at >= 0 && at < place && strcmp(name_and_schema(all->items[i].name, other, sizeof other), alone) == 0)
            return true;
    }
    return false;
}
/* The relation is one of those that a pattern (NULL: none) means. */
static bool is_meant(const Relations *all, const char *pattern, const char *name) {
    const bool by_path = !pattern || !strchr(pattern, '.');
    return (!pattern || relation_matches(all->path, pattern, name)) && !(by_path && is_hidden(all, name));
}

void relations_free(Relations *r) {
    for (int64_t i = 0; i < r->n; i++) free(r->items[i].name);
    free(r->items);
    free(r->path);
}

bool relations_load(Shell *sh, Relations *r) {
    *r = (Relations){.path = visible_schemas(sh, true)};
    bool ok = stele_list_tables(sh->conn, each_relation, r) == STELE_OK &&
              (r->failed || stele_list_sequences(sh->conn, each_sequence, r) == STELE_OK);
    if (ok && !r->failed) {
        if (r->n > 0) qsort(r->items, (size_t)r->n, sizeof *r->items, compare_relations);
        return true;
    }
    if (ok) (void)say_no_memory();
    else print_error(sh, NULL);
    relations_free(r);
    *r = (Relations){0};
    return false;
}

/* The relation whose name differs least. */
bool suggest_relation(Shell *sh, const char *name) {
    Relations all;
    const char *best = NULL;
    int64_t least = (int64_t)strlen(name) / 3 + 1;
    if (!relations_load(sh, &all)) return false;
    for (int64_t i = 0; i < all.n; i++) {
        int64_t d = text_distance(name, all.items[i].name);
        if (d <= least) least = d - 1, best = all.items[i].name;
    }
    if (best) fprintf(stderr, "Perhaps you meant \"%s\".\n", best);
    relations_free(&all);
    return best != NULL;
}

static bool take_number(void *ctx, int64_t n, const char *const *values, const char *const *names) {
    (void)names;
    if (n > 0 && values[0]) *(int64_t *)ctx = atoll(values[0]);
    return false;
}

int64_t relation_bytes(Shell *sh, const char *table) {
    char *name = sql_quoted_text(table), *sql = NULL;
    int64_t bytes = -1;
    if (name &&
        asprintf(&sql, "select coalesce(sum(bytes), 0)::bigint from stele_tablets where table_name = %s", name) >= 0)
        (void)stele_exec(sh->conn, sql, take_number, &bytes);
    free(name);
    free(sql);
    return bytes;
}

void put_comment(Shell *sh, Grid *g, const char *relation, const char *column) {
    char schema[128], *name = sql_quoted_text(name_and_schema(relation, schema, sizeof schema)),
                      *part = column ? sql_quoted_text(column) : NULL, *sql = NULL, *text = NULL,
                      *in = sql_quoted_text(schema);
    const int n = !name || !in ? -1
                  : !column    ? asprintf(&sql,
                                          "select obj_description(c.oid, 'pg_class') from pg_class c, pg_namespace n "
                                             "where relname = %s and relnamespace = n.oid and nspname = %s",
                                          name, in)
                               : asprintf(&sql,
                                          "select col_description(attrelid, attnum) from pg_attribute, pg_class c, "
                                             "pg_namespace n where attrelid = c.oid and relname = %s and "
                                             "relnamespace = n.oid and nspname = %s and attname = %s",
                                          name, in, part ? part : "''");
    if (n >= 0) (void)stele_exec(sh->conn, sql, take_text, &text);
    grid_cell(g, text ? text : "");
    free(name);
    free(in);
    free(part);
    free(sql);
    free(text);
}
void grid_name(Grid *g, const char *name) {
    char schema[128];
    const char *alone = name_and_schema(name, schema, sizeof schema);
    grid_cell(g, schema);
    grid_cell(g, alone);
}
const char *with_schema(const char *name, char *out, size_t size) {
    char schema[128];
    const char *alone = name_and_schema(name, schema, sizeof schema);
    snprintf(out, size, "%s.%s", schema, alone);
    return out;
}

void put_size(char *out, size_t size, int64_t bytes) {
    static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB"};
    int unit = 0;
    double x = (double)bytes;
    for (; x >= 10240 && unit < 4; unit++) x /= 1024;
    snprintf(out, size, "%.0f %s", x, units[unit]);
}

/* ---- constraints: texts of definitions ---------------------------------------------------------------- */

const char *behind_name(const char *s) {
    if (*s != '"') return s + strcspn(s, " (");
    for (s++; *s && (*s != '"' || s[1] == '"'); s++) s += *s == '"';
    return s + (*s == '"');
}

const char *constraint_text(const Defined *d) {
    const char *s = strstr(d->create, " ADD CONSTRAINT ");
    if (!s) return d->create;
    s = behind_name(s + strlen(" ADD CONSTRAINT "));
    return s + (*s == ' ');
}

const char *constraint_name(const Defined *d, char *out, size_t size) {
    size_t n = strlen(d->table); /* its name is "table name", that of an index its own */
    bool with_table = strncmp(d->name, d->table, n) == 0 && d->name[n] == ' ';
    char schema[128];
    snprintf(out, size, "%s", with_table ? d->name + n + 1 : name_and_schema(d->name, schema, sizeof schema));
    return out;
}

/* With the schema of its table. */
static const char *index_name(const Defined *d, char *out, size_t size) {
    char schema[128], alone[128];
    (void)name_and_schema(d->table, schema, sizeof schema);
    constraint_name(d, alone, sizeof alone);
    if (strcmp(schema, "public") == 0) snprintf(out, size, "%s", alone);
    else snprintf(out, size, "%s.%s", schema, alone);
    return out;
}

bool is_key(const Defined *d) {
    if (strcmp(d->kind, "INDEX") == 0) return true;
    if (strcmp(d->kind, "CONSTRAINT") != 0) return false;
    const char *text = constraint_text(d);
    return strncmp(text, "PRIMARY KEY", 11) == 0 || strncmp(text, "UNIQUE", 6) == 0;
}

/* ---- lists of relations ------------------------------------------------------------------------------------ */

static const char *owner(void) { return "stele"; }

static void add_relation(Shell *sh, Grid *g, const char *name, const char *type, const char *table, int64_t rows,
                         bool more) {
    char size[32] = "";
    grid_name(g, name);
    grid_cell(g, type);
    put_owner(sh, g, name);
    if (table) grid_cell(g, table);
    if (!more) return;
    int64_t bytes = strcmp(type, "table") == 0 ? relation_bytes(sh, name) : -1;
    if (bytes >= 0) put_size(size, sizeof size, bytes);
    else if (!table) put_size(size, sizeof size, 0);
    if (rows >= 0) grid_cellf(g, "%lld", (long long)rows);
    else grid_cell(g, "");
    grid_cell(g, size);
    put_comment(sh, g, name, NULL);
}

/* \d, \dt, \dv, \di, \ds, \dm, \dE and letters of them together */
static bool list_relations(Shell *sh, const char *pattern, const char *kinds, bool more) {
    static const char *const names[] = {"Schema", "Name", "Type", "Owner", "Rows", "Size", "Description"};
    static const char *const with_table[] = {"Schema", "Name", "Type", "Owner", "Table", "Rows", "Size", "Description"};
    bool indexes = strchr(kinds, 'i') != NULL;
    Relations all;
    Definitions d = {0};
    if (!relations_load(sh, &all)) return false;
    bool ok = !indexes || definitions_load(sh, &d);
    Grid *g = grid_new("List of relations", (indexes ? 5 : 4) + 3 * more, indexes ? with_table : names);
    for (int64_t i = 0; i < all.n; i++) {
        const Relation *r = &all.items[i];
        if (!strchr(kinds, kind_of(r)[0]) || !is_meant(&all, pattern, r->name)) continue;
        add_relation(sh, g, r->name, kind_of(r), indexes ? "" : NULL, r->rows, more);
    }
    for (int64_t i = 0; i < d.n; i++) {
        char name[256];
        if (!is_key(&d.items[i])) continue;
        index_name(&d.items[i], name, sizeof name);
        if (pattern && !relation_matches(all.path, pattern, name)) continue;
        add_relation(sh, g, name, "index", d.items[i].table, -1, more);
    }
    definitions_free(&d);
    relations_free(&all);
    if (more) grid_right(g, indexes ? 5 : 4);
    if (indexes) grid_sort(g, 2);
    if (ok && grid_rows(g) == 0) {
        grid_free(g);
        fflush(sh->out);
        if (pattern) {
            say_error("Did not find any relation named \"%s\".\n", pattern);
            (void)suggest_relation(sh, pattern);
        } else {
            say_error("Did not find any relations.\n");
        }
        return true;
    }
    if (ok) return grid_print(sh, g);
    grid_free(g);
    return false;
}

static bool list_relations_command(Shell *sh, Args *a) {
    char kinds[8];
    size_t n = 0;
    for (const char *c = a->command + 1; *c && n < sizeof kinds - 1; c++)
        if (strchr("tvmsiE", *c)) kinds[n++] = *c;
    kinds[n] = 0;
    return list_relations(sh, next_arg(a, ARG_NORMAL), kinds, has_suffix(a, '+'));
}

/* How much of a part of an index is its column or expression, without order and operator class. */
static size_t key_length(const char *s, size_t n) {
    size_t k = 0;
    if (*s == '"') {
        for (k = 1; k < n && (s[k] != '"' || s[k + 1] == '"'); k++) k += s[k] == '"';
        return k < n ? k + 1 : n;
    }
    while (k < n && s[k] != ' ' && s[k] != '(') k++;
    if (k == n || s[k] == ' ') return k;
    for (int depth = 0; k < n; k++) {
        depth += s[k] == '(' ? 1 : s[k] == ')' ? -1 : 0;
        if (depth == 0) return k + 1;
    }
    return n;
}
/* An index, as a relation of its own. */
static bool describe_index(Shell *sh, const Defined *d) {
    static const char *const names[] = {"Column", "Definition"};
    char name[256], full[256], *title = NULL;
    index_name(d, name, sizeof name);
    if (asprintf(&title, "Index \"%s\"", with_schema(name, full, sizeof full)) < 0) return say_no_memory();
    Grid *g = grid_new(title, 2, names);
    free(title);
    const char *text = constraint_text(d), *open = strchr(text, '(');
    bool primary = strncmp(text, "PRIMARY", 7) == 0, unique = primary || strstr(text, "UNIQUE") != NULL;
    if (strcmp(d->kind, "INDEX") == 0 && open) unique = strncmp(d->create, "CREATE UNIQUE", 13) == 0;
    const char *s = open ? open + 1 : "";
    while (*s && *s != ')') {
        s += strspn(s, " ");
        size_t n = 0;
        int depth = 0;
        bool quoted = false;
        for (; s[n] && (quoted || depth > 0 || (s[n] != ',' && s[n] != ')')); n++) {
            quoted ^= s[n] == '"';
            depth += !quoted && s[n] == '(' ? 1 : !quoted && s[n] == ')' ? -1 : 0;
        }
        const size_t key = key_length(s, n), call = strcspn(s, "(");
        if (*s == '(') grid_cellf(g, "expr");
        else grid_cellf(g, "%.*s", (int)(*s != '"' && call < key ? call : key), s);
        grid_cellf(g, "%.*s", (int)key, s);
        s += n + (s[n] == ',');
    }
    grid_no_count(g);
    grid_footer(g, "%sfor table \"%s\"",
                primary  ? "primary key, "
                : unique ? "unique, "
                         : "",
                with_schema(d->table, full, sizeof full));
    return grid_print(sh, g);
}

/* A relation of the system, which is in no list: the columns of its rows. */
static bool describe_system(Shell *sh, const char *name) {
    static const char *const names[] = {"Column", "Type"};
    stele_stmt *s = NULL;
    char *sql = NULL, *title = NULL;
    bool ok = asprintf(&sql, "select * from %s", name) >= 0 && asprintf(&title, "System relation \"%s\"", name) >= 0;
    ok = ok && strspn(name, "abcdefghijklmnopqrstuvwxyz_") == strlen(name) &&
         stele_prepare(sh->conn, sql, -1, &s, NULL) == STELE_OK;
    Grid *g = ok ? grid_new(title, 2, names) : NULL;
    for (int64_t i = 0; ok && i < stele_column_count(s); i++) {
        grid_cell(g, stele_column_name(s, i));
        grid_cell(g, stele_column_type(s, i));
    }
    grid_no_count(g);
    stele_finalize(s);
    free(sql);
    free(title);
    return ok && grid_print(sh, g);
}

/* \d NAME: all that match, each by itself */
static bool describe_matching(Shell *sh, const char *pattern, bool more) {
    Relations all;
    Definitions d;
    int64_t found = 0;
    if (!relations_load(sh, &all)) return false;
    (void)definitions_load(sh, &d); /* after an error there are none: columns are shown all the same */
    bool ok = true;
    for (int64_t i = 0; i < all.n && ok; i++) {
        if (!is_meant(&all, pattern, all.items[i].name)) continue;
        found++;
        ok = all.items[i].sequence ? describe_sequence(sh, all.items[i].name)
                                   : describe_relation(sh, &all.items[i], &d, more);
    }
    for (int64_t i = 0; i < d.n && ok; i++) {
        char name[256];
        if (!is_key(&d.items[i]) || !relation_matches(all.path, pattern, index_name(&d.items[i], name, sizeof name)))
            continue;
        found++;
        ok = describe_index(sh, &d.items[i]);
    }
    definitions_free(&d);
    relations_free(&all);
    if (!ok || found > 0) return ok;
    if (strncmp(pattern, "stele_", 6) == 0 && describe_system(sh, pattern)) return true;
    fflush(sh->out);
    say_error("Did not find any relation named \"%s\".\n", pattern);
    (void)suggest_relation(sh, pattern);
    return false;
}

static bool describe_command(Shell *sh, Args *a) {
    const char *pattern = next_arg(a, ARG_NORMAL);
    bool more = has_suffix(a, '+');
    return pattern ? describe_matching(sh, pattern, more) : list_relations(sh, NULL, "tvmsE", more);
}

/* ---- functions --------------------------------------------------------------------------------------------- */

typedef struct Functions {
    Grid *g;
    const char *pattern;
    char *path; /* of routines */
    bool more, operators, aggregates;
} Functions;

static bool is_aggregate(const char *name) {
    static const char *const names[] = {"any_value",
                                        "array_agg",
                                        "avg",
                                        "bit_and",
                                        "bit_or",
                                        "bit_xor",
                                        "bool_and",
                                        "bool_or",
                                        "corr",
                                        "count",
                                        "covar_pop",
                                        "covar_samp",
                                        "every",
                                        "max",
                                        "min",
                                        "mode",
                                        "percentile_cont",
                                        "percentile_disc",
                                        "string_agg",
                                        "stddev",
                                        "stddev_pop",
                                        "stddev_samp",
                                        "sum",
                                        "variance",
                                        "var_pop",
                                        "var_samp",
                                        NULL};
    return strncmp(name, "regr_", 5) == 0 || is_one_of(name, names);
}
static bool is_window(const char *name) {
    static const char *const names[] = {"row_number", "rank", "dense_rank",  "percent_rank", "cume_dist", "ntile",
                                        "lag",        "lead", "first_value", "last_value",   "nth_value", NULL};
    return is_one_of(name, names);
}

static bool each_routine(void *ctx, const char *name, const char *kind, const char *args, const char *result,
                         const char *language) {
    Functions *f = ctx;
    if (f->pattern && !relation_matches(f->path, f->pattern, name)) return false;
    grid_name(f->g, name);
    grid_cell(f->g, result);
    grid_cell(f->g, args);
    grid_cell(f->g, strcmp(kind, "procedure") == 0 ? "proc" : strcmp(kind, "aggregate") == 0 ? "agg" : "func");
    if (f->more) grid_cell(f->g, language);
    if (f->more) grid_cell(f->g, "");
    return false;
}

static bool is_operator(const char *name) { return !(((*name | 32) >= 'a' && (*name | 32) <= 'z') || *name == '_'); }

/* Types of any value, by PostgreSQL's names. */
static const char *type_shown(const char *type) {
    return strcmp(type, "void") == 0 ? "any" : strcmp(type, "array") == 0 ? "anyarray" : type;
}
static void types_shown(const char *args, char *out, size_t size) {
    size_t n = 0;
    while (*args && n < size) {
        size_t k = strcspn(args, ",");
        char one[64];
        snprintf(one, sizeof one, "%.*s", (int)k, args);
        n += (size_t)snprintf(out + n, size - n, "%s", type_shown(one));
        args += k;
        if (*args == ',') {
            if (n < size) n += (size_t)snprintf(out + n, size - n, ", ");
            args += 2;
        }
    }
}

static bool each_function(void *ctx, const char *name, const char *args, const char *result, const char *doc) {
    Functions *f = ctx;
    if (is_operator(name) != f->operators || strncmp(doc, "internal", 8) == 0) return false;
    if (f->aggregates && !is_aggregate(name)) return false;
    if (f->pattern && strcmp(f->pattern, name) != 0 && (f->operators || !name_matches(f->pattern, name))) return false;
    char shown[512] = "";
    types_shown(args, shown, sizeof shown);
    args = shown;
    result = type_shown(result);
    grid_cell(f->g, "pg_catalog");
    grid_cell(f->g, name);
    if (f->operators) {
        const char *comma = strstr(args, ", ");
        grid_cellf(f->g, "%.*s", comma ? (int)(comma - args) : 0, args);
        grid_cell(f->g, comma ? comma + 2 : args);
        grid_cell(f->g, result);
        grid_cell(f->g, doc);
        return false;
    }
    grid_cell(f->g, result);
    grid_cell(f->g, args);
    if (f->aggregates) {
        grid_cell(f->g, doc);
        return false;
    }
    grid_cell(f->g, is_aggregate(name) ? "agg" : is_window(name) ? "window" : "func");
    if (f->more) grid_cell(f->g, "internal");
    if (f->more) grid_cell(f->g, doc);
    return false;
}

static bool functions_command(Shell *sh, Args *a) {
    static const char *const names[] = {"Schema", "Name",     "Result data type", "Argument data types",
                                        "Type",   "Language", "Description"};
    bool more = has_suffix(a, '+');
    Functions f = {.pattern = next_arg(a, ARG_NORMAL), .more = more, .path = visible_schemas(sh, false)};
    while (next_arg(a, ARG_NORMAL)) continue; /* types of arguments: the list has them all */
    f.g = grid_new("List of functions", more ? 7 : 5, names);
    bool ok = stele_list_routines(sh->conn, each_routine, &f) == STELE_OK;
    if (!ok) print_error(sh, NULL);
    if (f.pattern || has_suffix(a, 'S')) stele_list_functions(each_function, &f);
    free(f.path);
    grid_sort(f.g, 2);
    return grid_print(sh, f.g) && ok;
}

static bool aggregates_command(Shell *sh, Args *a) {
    static const char *const names[] = {"Schema", "Name", "Result data type", "Argument data types", "Description"};
    Functions f = {.pattern = next_arg(a, ARG_NORMAL), .aggregates = true};
    f.g = grid_new("List of aggregate functions", 5, names);
    if (f.pattern || has_suffix(a, 'S')) stele_list_functions(each_function, &f);
    grid_sort(f.g, 4);
    return grid_print(sh, f.g);
}

static bool operators_command(Shell *sh, Args *a) {
    static const char *const names[] = {"Schema",         "Name",        "Left arg type",
                                        "Right arg type", "Result type", "Description"};
    Functions f = {.pattern = next_arg(a, ARG_NORMAL), .operators = true};
    f.g = grid_new("List of operators", 6, names);
    if (f.pattern || has_suffix(a, 'S')) stele_list_functions(each_function, &f);
    grid_sort(f.g, 2);
    return grid_print(sh, f.g);
}

/* ---- sources --------------------------------------------------------------------------------------------------- */

static void put_source(Shell *sh, const char *text, bool numbers) {
    size_t n = strlen(text);
    if (!numbers) {
        fprintf(sh->out, "%s%s", text, n > 0 && text[n - 1] == '\n' ? "" : "\n");
        return;
    }
    for (int line = 1; *text; line++) {
        size_t k = strcspn(text, "\n");
        fprintf(sh->out, "%-7d %.*s\n", line, (int)k, text);
        text += k + (text[k] == '\n');
    }
}

bool is_view_kind(const char *kind) { return strcmp(kind, "VIEW") == 0 || strcmp(kind, "MATERIALIZED VIEW") == 0; }
/* The definition of a routine (by name, or with its types) or of a view. */
static bool show_source(Shell *sh, Args *a, bool view) {
    const char *name = next_arg(a, ARG_LINE);
    if (!name) {
        say_error("%s name is required\n", view ? "view" : "function");
        return false;
    }
    Definitions d;
    if (!definitions_load(sh, &d)) return false;
    const Defined *found = NULL;
    int64_t n = 0;
    if (strncasecmp(name, "public.", 7) == 0) name += 7;
    bool types = strchr(name, '(') != NULL;
    for (int64_t i = 0; i < d.n; i++) {
        const Defined *x = &d.items[i];
        bool routine = strcmp(x->kind, "FUNCTION") == 0 || strcmp(x->kind, "PROCEDURE") == 0;
        if (view ? !is_view_kind(x->kind) : !routine) continue;
        char plain[256];
        snprintf(plain, sizeof plain, "%.*s", types ? 255 : (int)strcspn(x->name, "("), x->name);
        if (strcasecmp(plain, name) != 0 && !(view && relation_matches(NULL, name, x->table))) continue;
        found = x;
        n++;
    }
    if (n == 1) {
        put_source(sh, found->create, has_suffix(a, '+'));
    } else if (n > 1) {
        say_error("more than one function named \"%s\"; add the types of its arguments: \\%s %s(...)\n", name,
                  a->command, name);
    } else {
        say_error(view ? "relation \"%s\" does not exist, or is no view\n" : "function \"%s\" does not exist\n", name);
    }
    definitions_free(&d);
    return n == 1;
}
static bool function_source_command(Shell *sh, Args *a) { return show_source(sh, a, false); }
static bool view_source_command(Shell *sh, Args *a) { return show_source(sh, a, true); }

/* ---- what there is one of -------------------------------------------------------------------------------------------
 */

typedef struct Schemas {
    Grid *g;
    const char *pattern;
    bool more;
} Schemas;
static bool each_schema(void *ctx, int64_t n, const char *const *values, const char *const *names) {
    (void)names;
    Schemas *of = ctx;
    if (n < 4 || !values[0] || (of->pattern && !name_matches(of->pattern, values[0]))) return false;
    grid_cell(of->g, values[0]);
    grid_cell(of->g, values[2] ? values[2] : "");
    if (of->more) grid_cell(of->g, values[3] ? values[3] : "");
    if (of->more) grid_cell(of->g, values[1] ? values[1] : "");
    return false;
}
static bool schemas_command(Shell *sh, Args *a) {
    static const char *const names[] = {"Name", "Owner", "Access privileges", "Description"};
    Schemas of = {.pattern = next_arg(a, ARG_NORMAL), .more = has_suffix(a, '+')};
    of.g = grid_new("List of schemas", of.more ? 4 : 2, names);
    if (stele_exec(sh->conn,
                   "select nspname, obj_description(oid, 'pg_namespace'), pg_get_userbyid(nspowner), "
                   "array_to_string(nspacl, chr(10)) from pg_namespace where nspname not like 'pg\\_%' "
                   "and nspname <> 'information_schema' order by nspname",
                   each_schema, &of) == STELE_OK)
        return grid_print(sh, of.g);
    print_error(sh, NULL);
    grid_free(of.g);
    return false;
}

static bool databases_command(Shell *sh, Args *a) {
    static const char *const names[] = {"Name",       "Owner",           "Encoding",          "Collate", "Ctype",
                                        "ICU Locale", "Locale Provider", "Access privileges", "Size"};
    const char *pattern = next_arg(a, ARG_NORMAL), *slash = strrchr(sh->path, '/'),
               *name = slash && slash[1] ? slash + 1 : sh->path;
    bool more = has_suffix(a, '+');
    Grid *g = grid_new("List of databases", 8 + more, names);
    if (!pattern || name_matches(pattern, name)) {
        static const char *const cells[] = {"UTF8", "C", "C", "", "libc"};
        grid_cell(g, name);
        put_text(sh, g, "select pg_get_userbyid(datdba) from pg_database");
        for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) grid_cell(g, cells[i]);
        put_text(sh, g, "select array_to_string(datacl, E'\\n') from pg_database");
        int64_t bytes = -1;
        char size[32] = "";
        if (more && stele_exec(sh->conn, "select coalesce(sum(bytes), 0)::bigint from stele_tablets", take_number,
                               &bytes) == STELE_OK)
            put_size(size, sizeof size, bytes);
        if (more) grid_cell(g, size);
    }
    return grid_print(sh, g);
}

static bool languages_command(Shell *sh, Args *a) {
    static const char *const names[] = {"Name", "Owner", "Trusted", "Description"};
    static const char *const rows[][2] = {{"plpgsql", "PL/pgSQL procedural language"},
                                          {"sql", "SQL-language functions"}};
    const char *pattern = next_arg(a, ARG_NORMAL);
    Grid *g = grid_new("List of languages", 4, names);
    for (size_t i = 0; i < 2; i++) {
        if (pattern && !name_matches(pattern, rows[i][0])) continue;
        grid_cell(g, rows[i][0]);
        grid_cell(g, owner());
        grid_cell(g, "t");
        grid_cell(g, rows[i][1]);
    }
    return grid_print(sh, g);
}

/* The types of functions' arguments and results. */
static bool each_type_of(void *ctx, const char *name, const char *args, const char *result, const char *doc) {
    (void)name, (void)args, (void)doc;
    Functions *f = ctx;
    if (strcmp(result, "void") == 0 || strcmp(result, "array") == 0 || strcmp(result, "unknown") == 0) return false;
    if (f->pattern && !name_matches(f->pattern, result)) return false;
    grid_cell(f->g, "pg_catalog");
    grid_cell(f->g, result);
    grid_cell(f->g, "");
    return false;
}
static bool each_type(void *ctx, const stele_definition *d) {
    Functions *f = ctx;
    if ((strcmp(d->kind, "TYPE") != 0 && strcmp(d->kind, "DOMAIN") != 0) ||
        (f->pattern && !name_matches(f->pattern, d->name)))
        return false;
    grid_cell(f->g, "public");
    grid_cell(f->g, d->name);
    grid_cell(f->g, "");
    return false;
}
static bool types_command(Shell *sh, Args *a) {
    static const char *const names[] = {"Schema", "Name", "Description"};
    Functions f = {.pattern = next_arg(a, ARG_NORMAL), .g = grid_new("List of data types", 3, names)};
    if (f.pattern || has_suffix(a, 'S')) stele_list_functions(each_type_of, &f);
    (void)stele_list_definitions(sh->conn, each_type, &f);
    grid_sort(f.g, 2);
    grid_distinct(f.g);
    return grid_print(sh, f.g);
}

static bool each_domain(void *ctx, const char *name, const char *type, bool not_null, const char *default_sql,
                        const char *checks) {
    Functions *f = ctx;
    if (f->pattern && !name_matches(f->pattern, name)) return false;
    const char *const cells[] = {"public", name, type, "", not_null ? "not null" : "", default_sql, checks};
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) grid_cell(f->g, cells[i]);
    return false;
}
static bool domains_command(Shell *sh, Args *a) {
    static const char *const names[] = {"Schema", "Name", "Type", "Collation", "Nullable", "Default", "Check"};
    Functions f = {.pattern = next_arg(a, ARG_NORMAL), .g = grid_new("List of domains", 7, names)};
    (void)stele_list_domains(sh->conn, each_domain, &f);
    grid_sort(f.g, 2);
    return grid_print(sh, f.g);
}

/* ---- what there is none of
 * --------------------------------------------------------------------------------------------- */

static const struct None {
    const char *command, *title, *columns[9];
} none[] = {
    {"dA", "List of access methods", {"Name", "Type"}},
    {"db", "List of tablespaces", {"Name", "Owner", "Location"}},
    {"dc", "List of conversions", {"Schema", "Name", "Source", "Destination", "Default?"}},
    {"dC", "List of casts", {"Source type", "Target type", "Function", "Implicit?"}},
    {"dd", "Object descriptions", {"Schema", "Name", "Object", "Description"}},
    {"des", "List of foreign servers", {"Name", "Owner", "Foreign-data wrapper"}},
    {"det", "List of foreign tables", {"Schema", "Table", "Server"}},
    {"dew", "List of foreign-data wrappers", {"Name", "Owner", "Handler", "Validator"}},
    {"dF", "List of text search configurations", {"Schema", "Name", "Description"}},
    {"dl", "Large objects", {"ID", "Owner", "Description"}},
    {"dO", "List of collations", {"Schema", "Name", "Collate", "Ctype", "ICU Locale", "Provider", "Deterministic?"}},
    {"dRp",
     "List of publications",
     {"Name", "Owner", "All tables", "Inserts", "Updates", "Deletes", "Truncates", "Via root"}},
    {"dRs", "List of subscriptions", {"Name", "Owner", "Enabled", "Publication"}},
    {"dX", "List of extended statistics", {"Schema", "Name", "Definition", "Ndistinct", "Dependencies", "MCV"}},
    {"dx", "List of installed extensions", {"Name", "Version", "Schema", "Description"}},
    {"dy", "List of event triggers", {"Name", "Event", "Owner", "Enabled", "Function", "Tags"}},
};

static bool none_command(Shell *sh, Args *a) {
    (void)next_arg(a, ARG_NORMAL);
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        size_t len = strlen(none[i].command);
        if (strncmp(none[i].command, a->command, len) != 0 ||
            strspn(a->command + len, "S+x") != strlen(a->command + len))
            continue;
        int64_t n = 0;
        while (n < 9 && none[i].columns[n]) n++;
        return grid_print(sh, grid_new(none[i].title, n, none[i].columns));
    }
    return false;
}

/* \dconfig, as \dconfig of psql 15: parameters that match */
static bool config_command(Shell *sh, Args *a) {
    const char *pattern = next_arg(a, ARG_NORMAL);
    stele_stmt *s = NULL;
    static const char *const names[] = {"Parameter", "Value"};
    if (stele_prepare(sh->conn, "show all", -1, &s, NULL) != STELE_OK) {
        print_error(sh, NULL);
        return false;
    }
    Grid *g = grid_new("List of configuration parameters", 2, names);
    while (stele_step(s) == STELE_ROW) {
        const char *name = stele_column_text(s, 0, NULL), *value = NULL;
        if (!name || (pattern && !name_matches(pattern, name))) continue;
        grid_cell(g, name);
        value = stele_column_text(s, 1, NULL);
        grid_cell(g, value ? value : "");
    }
    stele_finalize(s);
    grid_sort(g, 1);
    return grid_print(sh, g);
}

const Command describe_commands[] = {
    {"d", "[NAME]", "tables and views, or one: columns, keys, checks, view text", describe_command, COMMAND_SUFFIX},
    {"da", "[PATTERN]", "aggregate functions", aggregates_command, COMMAND_SUFFIX},
    {"dA", "", NULL, none_command, COMMAND_SUFFIX},
    {"db", "", NULL, none_command, COMMAND_SUFFIX},
    {"dc", "", NULL, none_command, COMMAND_SUFFIX},
    {"dC", "", NULL, none_command, COMMAND_SUFFIX},
    {"dd", "", NULL, none_command, COMMAND_SUFFIX},
    {"dD", "[PATTERN]", "domains", domains_command, COMMAND_SUFFIX},
    {"ddp", "[PATTERN]", "default privileges, by the roles whose objects get them", default_privileges_command,
     COMMAND_SUFFIX},
    {"des", "", NULL, none_command, COMMAND_SUFFIX},
    {"det", "", NULL, none_command, COMMAND_SUFFIX},
    {"dew", "", NULL, none_command, COMMAND_SUFFIX},
    {"dF", "", NULL, none_command, COMMAND_SUFFIX},
    {"dl", "", NULL, none_command, COMMAND_SUFFIX},
    {"dO", "", NULL, none_command, COMMAND_SUFFIX},
    {"drds", "[PATTERN]", "settings of roles", role_settings_command, COMMAND_SUFFIX},
    {"dRp", "", NULL, none_command, COMMAND_SUFFIX},
    {"dRs", "", NULL, none_command, COMMAND_SUFFIX},
    {"dX", "", NULL, none_command, COMMAND_SUFFIX},
    {"dx", "", NULL, none_command, COMMAND_SUFFIX},
    {"dy", "", NULL, none_command, COMMAND_SUFFIX},
    {"dconfig", "[PATTERN]", "settings (SHOW ALL describes them)", config_command, COMMAND_SUFFIX},
    {"df", "[PATTERN]", "functions and procedures; built-in ones with S or a name", functions_command, COMMAND_SUFFIX},
    {"di", "[PATTERN]", "indexes", list_relations_command, COMMAND_SUFFIX},
    {"dL", "[PATTERN]", "languages of routines", languages_command, COMMAND_SUFFIX},
    {"dm", "[PATTERN]", "materialized views", list_relations_command, COMMAND_SUFFIX},
    {"dE", "", NULL, list_relations_command, COMMAND_SUFFIX},
    {"dn", "[PATTERN]", "schemas", schemas_command, COMMAND_SUFFIX},
    {"do", "[PATTERN]", "operators; built-in ones with S or a name", operators_command, COMMAND_SUFFIX},
    {"dp", "[PATTERN]", "privileges on tables, views and sequences", privileges_command, COMMAND_SUFFIX},
    {"z", "", NULL, privileges_command, COMMAND_SUFFIX},
    {"ds", "[PATTERN]", "sequences", list_relations_command, COMMAND_SUFFIX},
    {"dt", "[PATTERN]", "tables", list_relations_command, COMMAND_SUFFIX},
    {"dT", "[PATTERN]", "data types; built-in ones with S or a name", types_command, COMMAND_SUFFIX},
    {"du", "[PATTERN]", "roles", roles_command, COMMAND_SUFFIX},
    {"dg", "", NULL, roles_command, COMMAND_SUFFIX},
    {"dv", "[PATTERN]", "views", list_relations_command, COMMAND_SUFFIX},
    {"l", "[PATTERN]", "databases: the one that is open", databases_command, COMMAND_SUFFIX},
    {"list", "", NULL, databases_command, COMMAND_SUFFIX},
    {"sf", "FUNCTION", "text of a function or procedure", function_source_command, COMMAND_SUFFIX | COMMAND_LINE},
    {"sv", "VIEW", "text of a view", view_source_command, COMMAND_SUFFIX | COMMAND_LINE},
    {0},
};
