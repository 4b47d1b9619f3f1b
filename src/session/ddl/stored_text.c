/* stored_text.c - literals of definitions: bound once, and replaced by their values where these could change. */
#include <stdlib.h>

#include "session/ddl/depend.h"
#include "session/ddl/stored_text.h"
#include "sql/bind/bind.h"
#include "sql/parse/parse.h"

static int by_location(const void *a, const void *b) {
    const int64_t x = ((const KeptLiteral *)a)->location, y = ((const KeptLiteral *)b)->location;
    return (x > y) - (x < y);
}

Status stored_text(Arena *a, Slice text, int64_t before, KeptLiterals *kept, const char **out, Err *e) {
    char *done = arena_strdup(a, "");
    int64_t at = 0;
    if (kept->list.len) qsort(kept->list.items, (size_t)kept->list.len, sizeof *kept->list.items, by_location);
    for (int64_t i = 0; done && i < kept->list.len; i++) {
        const KeptLiteral *k = &kept->list.items[i];
        const int64_t start = k->location - 1 - before;
        const int64_t end = start < 0 ? -1 : k->insert ? start : sql_string_end(text, start);
        const bool again = i > 0 && k->location == kept->list.items[i - 1].location;
        if (start >= 0 && (start < at || again)) continue; /* bound more than once */
        if (end < 0 || end > text.len) return err_internal(e, "a literal of a definition is not where it was read");
        int64_t n;
        if (k->insert) {
            done = arena_printf(a, "%s%.*s%s", done, (int)(start - at), text.ptr + at, k->insert);
            at = start;
            continue;
        }
        const char *value = value_to_text_form(a, &k->value, (TextForm){0}, &n);
        done = value ? arena_printf(a, "%s%.*s'%s'%s", done, (int)(start - at), text.ptr + at, value,
                                    k->behind ? k->behind : "")
                     : NULL;
        at = end;
    }
    *out = done ? arena_printf(a, "%s%.*s", done, (int)(text.len - at), text.ptr + at) : NULL;
    return *out ? ST_OK : err_oom(e);
}

/* A context that keeps literals, with an error of its own. */
static void begin(Session *s, Arena *a, PlanCtx *c, KeptLiterals *kept, Err *e) {
    plan_ctx_init(s, a, c);
    c->err = e;
    c->literals = kept;
}
static Status end(Session *s, Arena *a, bool binds, Slice text, int64_t before, KeptLiterals *kept, const char **out,
                  const Err *e) {
    const bool bad_literal = strncmp(e->sqlstate, "22", 2) == 0; /* elsewhere it is read under other settings */
    if (!binds && (bad_literal || gave_up(e))) {
        err_copy(&s->err, e);
        s->err.position = 0;
        return ST_ERROR;
    }
    if (!binds) kept->list.len = 0;
    return stored_text(a, text, before, kept, out, &s->err);
}

char *stored_name_in_literal(Arena *a, const char *name) {
    char *quoted = arena_alloc(a, 2 * (int64_t)strlen(name) + 3), *out, *at;
    if (!quoted) return NULL;
    (void)name_put_quoted(name, quoted);
    if (!(at = out = arena_alloc(a, 2 * (int64_t)strlen(quoted) + 1))) return NULL;
    for (const char *p = quoted; *p; p++) {
        if (*p == '\'') *at++ = '\'';
        *at++ = *p;
    }
    *at = 0;
    return out;
}
char *stored_nextval(Arena *a, const char *sequence) {
    const char *name = stored_name_in_literal(a, sequence);
    return name ? arena_printf(a, "nextval('%s'::regclass)", name) : NULL;
}
/* The literals that name sequences, with their names and their type. */
static Status keep_sequences(Session *s, const PlanCtx *c, int64_t renamed, const char *name, KeptLiterals *kept) {
    for (int64_t i = 0; i < c->sequences.named.len; i++) {
        const NamedSequence *n = &c->sequences.named.items[i];
        const Sequence *q = catalog_sequence_by_id(c->catalog, n->sequence);
        if (!q || n->location == 0) continue;
        const char *text = stored_name_in_literal(c->arena, n->sequence == renamed ? name : q->name);
        if (!text) return err_oom(&s->err);
        const Value v = {.type = type_make(T_TEXT), .u.str = str_make(text, (int64_t)strlen(text))};
        if (!vec_push(c->arena, &kept->list,
                      ((KeptLiteral){.location = n->location, .value = v, .behind = n->typed ? NULL : "::regclass"})))
            return err_oom(&s->err);
    }
    return ST_OK;
}

Status stored_default(Session *s, Arena *a, Slice text, Type type, const char **out) {
    return stored_default_renamed(s, a, text, type, 0, NULL, out);
}
Status stored_default_renamed(Session *s, Arena *a, Slice text, Type type, int64_t sequence, const char *name,
                              const char **out) {
    PlanCtx c;
    KeptLiterals kept = {0};
    AstExpr *x;
    Expr *bound;
    Err e = {0};
    begin(s, a, &c, &kept, &e);
    const bool binds = sql_parse_expr(a, text, &x, &e) == ST_OK && sql_bind_scalar(&c, x, type, &bound) == ST_OK;
    if (binds) TRY(keep_sequences(s, &c, sequence, name, &kept));
    return end(s, a, binds, text, SQL_EXPR_SHIFT, &kept, out, &e);
}

const char *stored_row(Arena *a, int n, const ColumnDef *cols) {
    char *row = arena_strdup(a, "select ");
    for (int i = 0; row && i < n; i++) {
        char type[TYPE_NAME_MAX];
        const char *name = quote_name(a, cols[i].name);
        row = name
                  ? arena_printf(a, "%s%snull::%s as %s", row, i ? ", " : "", type_full_name(cols[i].type, &type), name)
                  : NULL;
    }
    return row;
}

Status stored_expression(Session *s, Arena *a, const char *table, int n_cols, const ColumnDef *cols, Slice text,
                         const char **out) {
    static const char before[] = "select (";
    PlanCtx c;
    KeptLiterals kept = {0};
    AstStmt **list;
    int64_t n;
    BoundStmt *b;
    Err e = {0};
    const char *row = stored_row(a, n_cols, cols), *name = quote_name(a, name_of_key(table));
    const char *sql =
        row && name ? arena_printf(a, "%s%.*s\n) from (%s) as %s", before, (int)text.len, text.ptr, row, name) : NULL;
    if (!sql) return err_oom(&s->err);
    begin(s, a, &c, &kept, &e);
    const bool binds =
        sql_parse(a, slice_of(sql), &list, &n, &e) == ST_OK && sql_bind(&c, list[0], 0, NULL, &b) == ST_OK;
    return end(s, a, binds, text, (int64_t)strlen(before), &kept, out, &e);
}

Status stored_view(Session *s, Arena *a, View *v) {
    PlanCtx c;
    KeptLiterals kept = {0};
    BoundStmt *b;
    Err e = {0};
    const char *out;
    begin(s, a, &c, &kept, &e);
    const bool binds = sql_bind_view(&c, v, &b) == ST_OK;
    TRY(end(s, a, binds, slice_of(v->sql), 0, &kept, &out, &e));
    v->sql = (char *)(uintptr_t)out;
    return ST_OK;
}
