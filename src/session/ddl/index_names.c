/* index_names.c - columns of indexes, and CREATE INDEX as pg_get_indexdef writes it. See index_names.h. */
#include "session/ddl/index_names.h"

#include "session/ddl/definition.h"
#include "session/system/access_methods.h"
#include "sql/bind/bind.h"
#include "sql/parse/parse.h"

/* Whether a text is the column's name, as index_part_of_column has it. */
static bool is_name(const char *text, const char *column) {
    if (name_is_plain(str_make(column, (int64_t)strlen(column)))) return strcmp(text, column) == 0;
    if (*text++ != '"') return false;
    for (; *column; column++) {
        if (*text++ != *column) return false;
        if (*column == '"' && *text++ != '"') return false;
    }
    return strcmp(text, "\"") == 0;
}
int index_part_column(const Table *t, const char *part) {
    for (int c = 0; c < t->n_cols; c++)
        if (is_name(part, t->cols[c].name)) return c;
    return -1;
}
static const char *part_name(Arena *a, const Table *t, const char *part) {
    const int col = index_part_column(t, part);
    AstExpr *ast;
    Err why = {0};
    if (col >= 0) return t->cols[col].name;
    return sql_parse_expr(a, slice_of(part), &ast, &why) == ST_OK ? sql_index_column_name(ast) : "expr";
}
Status index_column_names(Arena *a, const Table *t, const IndexDef *x, const char ***out) {
    const char **names = arena_array(a, const char *, x->n_parts + x->n_include + 1);
    if (!names) return ST_ERROR;
    for (int i = 0; i < x->n_parts + x->n_include; i++) {
        const char *name = i < x->n_parts ? part_name(a, t, x->parts[i].text) : x->include[i - x->n_parts];
        names[i] = name;
        for (int again = 1, k = 0; k < i; k++) {
            if (strcmp(names[k], names[i]) != 0) continue;
            if (!(names[i] = arena_printf(a, "%s%d", name, again++))) return ST_ERROR;
            k = -1;
        }
    }
    *out = names;
    return ST_OK;
}

/* ---- CREATE INDEX ---- */

/* One part with what is said of it. */
static char *part_text(Arena *a, const IndexDef *x, int i, const char *text) {
    const IndexPart *p = &x->parts[i];
    const AccessMethod *m = access_method(x->method);
    const bool other = p->desc != p->nulls_first && m && m->order; /* than NULLS FIRST with DESC, and LAST without */
    const char *collation = p->collation ? definition_name(a, p->collation) : NULL;
    return arena_printf(a, "%s%s%s%s%s%s%s", text, collation ? " COLLATE " : "", collation ? collation : "",
                        p->opclass ? " " : "", p->opclass ? p->opclass : "", p->desc ? " DESC" : "",
                        !other           ? ""
                        : p->nulls_first ? " NULLS FIRST"
                                         : " NULLS LAST");
}
char *index_option_text(Arena *a, const char *option) {
    const char *value = strchr(option, '=') + 1;
    const Str v = str_make(value, (int64_t)strlen(value));
    if (name_is_plain(v)) return arena_strdup(a, option);
    char *out = arena_printf(a, "%.*s'", (int)(value - option), option);
    for (const char *p = value; out && *p; p++) out = arena_printf(a, "%s%.*s%s", out, 1, p, *p == '\'' ? "'" : "");
    return out ? arena_printf(a, "%s'", out) : NULL;
}
static char *append(Arena *a, char *out, const char *between, const char *text) {
    return out && text ? arena_printf(a, "%s%s%s", out, between, text) : NULL;
}
char *index_text(Arena *a, const IndexDef *x, const char *table, const char *const *parts, const char *where) {
    const char *name = definition_name(a, name_of_key(x->name));
    if (!name || !table) return NULL;
    char *out = arena_printf(a, "CREATE %sINDEX %s ON %s USING %s", x->unique ? "UNIQUE " : "", name, table, x->method);
    for (int i = 0; i < x->n_parts; i++)
        out = append(a, out, i ? ", " : " (", parts[i] ? part_text(a, x, i, parts[i]) : NULL);
    for (int i = 0; i < x->n_include; i++)
        out = append(a, out, i ? ", " : ") INCLUDE (", definition_name(a, x->include[i]));
    out = append(a, out, "", x->nulls_not_distinct ? ") NULLS NOT DISTINCT" : ")");
    for (int i = 0; i < x->n_options; i++)
        out = append(a, out, i ? ", " : " WITH (", index_option_text(a, x->options[i]));
    if (x->n_options) out = append(a, out, "", ")");
    return where ? append(a, out, " WHERE ", where) : out;
}
