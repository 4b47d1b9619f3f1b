/* index_defs.c - definitions of indexes (catalog/index_def.h) as tables change: they follow new names, and go with
 * their table, their columns and their key. */
#include "session/ddl/comments.h"
#include "session/ddl/depend.h"
#include "session/ddl/index_program.h"
#include "session/ddl/utility_int.h"
#include "session/system/access_methods.h"
#include "sql/bind/bind.h"

/* ---- names ---- */

enum { NAME_BYTES_MAX = 63 };

/* How many of n bytes make whole characters, at most `most` bytes. */
static size_t whole_characters(const char *s, size_t n, size_t most) {
    if (n <= most) return n;
    while (most > 0 && ((unsigned char)s[most] & 0xC0) == 0x80) most--;
    return most;
}
/* PostgreSQL's makeObjectName: the longer of the two is cut. */
static char *object_name(Arena *a, const char *name1, const char *name2, const char *label) {
    size_t n1 = strlen(name1), n2 = name2 ? strlen(name2) : 0;
    const size_t around = strlen(label) + 1 + (name2 ? 1 : 0);
    while (n1 + n2 + around > NAME_BYTES_MAX) *(n1 > n2 ? &n1 : &n2) -= 1;
    n1 = whole_characters(name1, strlen(name1), n1);
    n2 = name2 ? whole_characters(name2, strlen(name2), n2) : 0;
    return arena_printf(a, "%.*s%s%.*s_%s", (int)n1, name1, name2 ? "_" : "", (int)n2, name2 ? name2 : "", label);
}
char *relation_name_choose(const Session *s, Arena *a, const TableDraft *d, const char *name1, const char *name2,
                           const char *label) {
    char *plain = object_name(a, name_of_key(name1), name2, label);
    for (int again = 1; plain; again++) {
        char *name = (char *)(uintptr_t)key_beside(a, name1, plain);
        if (!name) return NULL;
        bool taken = catalog_relation_exists(&s->db->catalog, slice_of(name));
        for (int i = 0; d && i < d->n_keys && !taken; i++) taken = strcmp(d->keys[i].name, name) == 0;
        for (int i = 0; d && i < d->n_index_defs && !taken; i++) taken = strcmp(d->index_defs[i].name, name) == 0;
        if (!taken) return name;
        const char *numbered = arena_printf(a, "%s%d", label, again);
        plain = numbered ? object_name(a, name_of_key(name1), name2, numbered) : NULL;
    }
    return NULL;
}
static bool is_used(int n, const char *const *names, const char *name) {
    for (int i = 0; i < n; i++)
        if (strcmp(names[i], name) == 0) return true;
    return false;
}
char *column_names_joined(Arena *a, int n, const char *const *names) {
    char *out = arena_strdup(a, "");
    const char **used = arena_array(a, const char *, n + 1);
    if (!used) return NULL;
    for (int i = 0; out && i < n && strlen(out) <= NAME_BYTES_MAX; i++) {
        used[i] = names[i];
        for (int k = 1; used[i] && is_used(i, used, used[i]); k++) used[i] = arena_printf(a, "%s%d", names[i], k);
        out = used[i] ? arena_printf(a, "%s%s%s", out, i ? "_" : "", used[i]) : NULL;
    }
    if (out) out[whole_characters(out, strlen(out), NAME_BYTES_MAX)] = 0;
    return out;
}

/* ---- looking up and replacing ---- */

Status index_def_get(const Session *s, Arena *a, const Table *t, const char *name, IndexDef *out) {
    const IndexDef *x = catalog_index_def(&s->db->catalog, t->name, name);
    if (x) return *out = *x, ST_OK;
    return index_def_of_table(a, t, table_index_named(t, name), out);
}
Status index_def_put(Session *s, const Table *t, const char *name, const IndexDef *like) {
    IndexDef *old = catalog_index_def(&s->db->catalog, t->name, name);
    if (old) TRY(session_drop_index(s, old));
    return session_add_index(s, like);
}
Status index_defs_sweep(Session *s) {
    const Catalog *c = &s->db->catalog;
    for (int64_t i = c->n_index_defs - 1; i >= 0; i--) {
        IndexDef *x = c->index_defs[i];
        const Table *t = catalog_table(c, slice_of(x->table));
        if (!t || (x->unique && table_index_named(t, x->name) < 0)) TRY(session_drop_index(s, x));
    }
    return ST_OK;
}

Status index_defs_of_draft(Session *s, const TableDraft *d) {
    for (int i = 0; i < d->n_index_defs; i++) TRY(session_add_index(s, &d->index_defs[i]));
    return ST_OK;
}

/* ---- columns ---- */

static bool uses_column(Session *s, Arena *a, const Table *t, const IndexDef *x, int col) {
    bool uses = x->where && text_uses_column(s, a, t, x->where, col);
    for (int i = 0; i < x->n_parts && !uses; i++) {
        const int plain = index_part_column(t, x->parts[i].text);
        uses = plain >= 0 ? plain == col : text_uses_column(s, a, t, x->parts[i].text, col);
    }
    for (int i = 0; i < x->n_include && !uses; i++) uses = strcmp(x->include[i], t->cols[col].name) == 0;
    return uses;
}
Status index_defs_drop_column(Session *s, Arena *a, const Table *t, int col, TableDraft *d) {
    const Catalog *c = &s->db->catalog;
    for (int64_t i = c->n_index_defs - 1; i >= 0; i--) {
        IndexDef *x = c->index_defs[i];
        if (strcmp(x->table, t->name) != 0) continue;
        const bool uses = uses_column(s, a, t, x, col);
        if (err_is_set(&s->err)) return ST_ERROR;
        if (!uses) continue;
        for (int k = d->n_keys + d->n_exprs - 1; k >= 0; k--)
            if (strcmp(k < d->n_keys ? d->keys[k].name : d->exprs[k - d->n_keys].name, x->name) == 0)
                draft_remove_index(d, k);
        TRY(session_drop_index(s, x));
    }
    return ST_OK;
}

/* One definition under the new name of its table (col -1) or of column `col`. */
static Status renamed(Session *s, Arena *a, const Table *t, int col, const char *new_name, const IndexDef *x,
                      IndexDef *out) {
    *out = *x;
    out->parts = arena_array(a, IndexPart, x->n_parts + 1);
    out->include = arena_array(a, char *, x->n_include + 1);
    if (!out->parts || !out->include) return err_oom(&s->err);
    for (int i = 0; i < x->n_parts; i++) {
        const char *text;
        TRY(rename_in_text(s, a, t, col, new_name, x->parts[i].text, &text));
        out->parts[i] = x->parts[i];
        out->parts[i].text = (char *)(uintptr_t)text;
    }
    for (int i = 0; i < x->n_include; i++) {
        const bool same = col >= 0 && strcmp(x->include[i], t->cols[col].name) == 0;
        out->include[i] = same ? (char *)(uintptr_t)new_name : x->include[i];
    }
    const char *where = NULL;
    if (x->where) TRY(rename_in_text(s, a, t, col, new_name, x->where, &where));
    out->where = (char *)(uintptr_t)where;
    if (col < 0) out->table = (char *)(uintptr_t)new_name;
    return ST_OK;
}
Status index_defs_rename(Session *s, Arena *a, const Table *t, int col, const char *new_name) {
    const Catalog *c = &s->db->catalog;
    for (int64_t i = 0, n = c->n_index_defs; i < n;) {
        IndexDef *x = c->index_defs[i], like;
        if (strcmp(x->table, t->name) != 0) {
            i++;
            continue;
        }
        TRY(renamed(s, a, t, col, new_name, x, &like));
        TRY(session_drop_index(s, x)); /* the new one comes last, behind those that are looked at */
        TRY(session_add_index(s, &like));
        n--;
    }
    return ST_OK;
}

Status index_defs_move(Session *s, Arena *a, const char *table, const char *schema) {
    const Catalog *c = &s->db->catalog;
    for (int64_t i = 0; i < c->n_index_defs; i++) {
        IndexDef *x = c->index_defs[i], like = *x;
        if (strcmp(x->table, table) != 0 || key_is_in(x->name, schema)) continue;
        if (!(like.name = (char *)(uintptr_t)key_make(a, schema, name_of_key(x->name)))) return err_oom(&s->err);
        TRY(comments_rename(s, "r", x->name, NULL, like.name));
        TRY(session_drop_index(s, x)); /* the new one comes last */
        TRY(session_add_index(s, &like));
        i = -1;
    }
    return ST_OK;
}

/* ---- checking ---- */

Status index_expr_type(Session *s, Arena *a, const Table *t, const char *sql, bool predicate, Type *type,
                       int64_t *domain) {
    PlanCtx c;
    Expr *e;
    ColId *ids = arena_array(a, ColId, t->n_cols + 1);
    if (!ids) return err_oom(&s->err);
    plan_ctx_init(s, a, &c);
    c.of_catalog = true;
    TRY(sql_bind_index_text(&c, t, sql, predicate, ids, &e));
    *type = e->type;
    *domain = e->domain;
    return ST_OK;
}
Status index_check_class(Session *s, const AccessMethod *m, Type type, int64_t domain, char **opclass) {
    const SysObjects *o = session_objects(s);
    if (!o) return ST_ERROR;
    const OperatorClass *own = operator_class_default(o, m, type), *x = own;
    if (*opclass) TRY(operator_class_find(o, m, type, domain, *opclass, &x, &s->err));
    if (!x) {
        const char *shown = object_type_shown(o, object_type_oid(o, type, domain), -1, false);
        err_set(&s->err, ERR_UNDEFINED_OBJECT, "data type %s has no default operator class for access method \"%s\"",
                shown ? shown : "", m->name);
        err_hint(&s->err, "You must specify an operator class for the index or define a default operator class for "
                          "the data type.");
        return ST_ERROR;
    }
    if (x == own) *opclass = NULL;
    return ST_OK;
}
Status index_defs_check(Session *s, Arena *a, const Table *t) {
    const Catalog *c = &s->db->catalog;
    for (int64_t i = 0, n = c->n_index_defs; i < n;) {
        IndexDef *x = c->index_defs[i], like = *x;
        const AccessMethod *m = access_method(x->method);
        bool other = false;
        i++;
        if (strcmp(x->table, t->name) != 0 || !m) continue;
        if (!(like.parts = arena_array(a, IndexPart, x->n_parts + 1))) return err_oom(&s->err);
        for (int k = 0; k < x->n_parts; k++) {
            Type type;
            int64_t domain;
            like.parts[k] = x->parts[k];
            TRY(index_expr_type(s, a, t, x->parts[k].text, false, &type, &domain));
            TRY(index_check_class(s, m, type, domain, &like.parts[k].opclass));
            other |= like.parts[k].opclass != x->parts[k].opclass;
        }
        if (x->where) {
            Type type;
            int64_t domain;
            TRY(index_expr_type(s, a, t, x->where, true, &type, &domain));
        }
        if (!other) continue;
        TRY(session_drop_index(s, x));
        TRY(session_add_index(s, &like));
        i--; /* the new one comes last, behind those that are looked at */
        n--;
    }
    return ST_OK;
}
