/* role_functions.c - functions on roles and privileges: has_table_privilege and its like, pg_has_role, acldefault,
 * makeaclitem, aclexplode's parts. See roles.h. */
#include <strings.h>

#include "session/ddl/access.h"
#include "session/system/functions.h"
#include "session/system/roles.h"
#include "types/array.h"
#include "types/oid.h"

typedef struct Asked {
    Session *s;
    const SysObjects *o;
    int n;
    const Value *args;
    Arena *a;
    Value *out;
    Err *e;
    int64_t role; /* 0: PUBLIC */
} Asked;

static Status answer(const Asked *q, bool yes) { return q->out->is_null = false, q->out->u.b = yes, ST_OK; }
static const char *text_of(const Asked *q, const Value *v) { return arena_strndup(q->a, v->u.str.ptr, v->u.str.len); }
static bool is_text(const Value *v) { return type_phys(v->type) == PH_STR; }

static Status find_role(const Asked *q, const Value *v, bool world, int64_t *out) {
    if (!is_text(v)) return *out = v->u.i64, ST_OK;
    const char *name = text_of(q, v);
    if (!name) return err_oom(q->e);
    if (world && strcmp(name, "public") == 0) return *out = 0, ST_OK;
    const Role *x = catalog_role(q->o->c, name);
    if (!x) return err_set(q->e, ERR_UNDEFINED_OBJECT, "role \"%s\" does not exist", name);
    return *out = x->id, ST_OK;
}

/* ---- texts of privileges ---- */

/* SELECT, INSERT WITH GRANT OPTION: rights, and in the upper half those with their option. Any of them will do. */
static Status read_rights(const Asked *q, const Value *v, uint32_t allowed, uint64_t *out) {
    static const char option[] = " WITH GRANT OPTION";
    char *text = arena_strndup(q->a, v->u.str.ptr, v->u.str.len), *next = text;
    if (!text) return err_oom(q->e);
    for (*out = 0; next;) {
        char *word = next, *comma = strchr(word, ',');
        next = comma ? comma + 1 : NULL;
        if (comma) *comma = 0;
        while (*word == ' ' || *word == '\t' || *word == '\n') word++;
        size_t len = strlen(word);
        while (len && (word[len - 1] == ' ' || word[len - 1] == '\t' || word[len - 1] == '\n')) word[--len] = 0;
        const size_t tail = sizeof option - 1;
        const bool with = len > tail && strcasecmp(word + len - tail, option) == 0;
        char *name = arena_strndup(q->a, word, (int64_t)(with ? len - tail : len));
        if (!name) return err_oom(q->e);
        const bool rule = allowed & ACL_TRIGGER && strcasecmp(name, "RULE") == 0; /* of old: no role has it */
        const uint32_t right = acl_right(name) & allowed;
        if (!right && !rule) return err_set(q->e, ERR_INVALID_PARAMETER, "unrecognized privilege type: \"%s\"", word);
        *out |= with ? acl_options(right) : right;
    }
    return ST_OK;
}
static bool holds(const Asked *q, const Privileges *x, uint64_t wanted) {
    if (role_is_super(q->o->c, q->role)) return wanted != 0;
    return acl_mask(q->o->c, &x->acl, q->role, x->owner, wanted, true) != 0;
}

/* ---- relations ---- */

static Status find_class(const Asked *q, const Value *v, SysClass **out) {
    int64_t oid = is_text(v) ? 0 : v->u.i64;
    if (is_text(v)) TRY(session_oid_find(q->s, OID_CLASS, (Slice){v->u.str.ptr, v->u.str.len}, &oid, q->e));
    *out = object_class(q->o, oid);
    return ST_OK;
}
static Status class_privileges(const Asked *q, const SysClass *k, Privileges *out) {
    const Privileges of = privileges_of_class(k);
    if (!k->system) return privileges_get(q->o->c, q->a, &of, out);
    static AclItem world = {.grantor = ROLE_BOOTSTRAP, .rights = ACL_SELECT};
    *out = of; /* all may read them */
    out->owner = ROLE_BOOTSTRAP;
    out->acl = (Acl){.n = 1, .items = &world};
    return ST_OK;
}
/* pg_read_all_data and pg_write_all_data. */
static bool by_role(const Asked *q, uint64_t wanted) {
    const uint32_t change = ACL_INSERT | ACL_UPDATE | ACL_DELETE;
    return (wanted & ACL_SELECT && role_is_member(q->o->c, q->role, ROLE_READ_ALL_DATA, true)) ||
           (wanted & change && role_is_member(q->o->c, q->role, ROLE_WRITE_ALL_DATA, true));
}
static Status on_class(const Asked *q, const Value *what, const Value *rights, bool sequence) {
    SysClass *k;
    Privileges x;
    uint64_t wanted;
    TRY(read_rights(q, rights, acl_rights_of(sequence ? 'S' : 'r'), &wanted));
    TRY(find_class(q, what, &k));
    if (!k) return ST_OK;
    if (sequence && k->kind != 'S') return err_set(q->e, ERR_WRONG_OBJECT_TYPE, "\"%s\" is not a sequence", k->name);
    TRY(class_privileges(q, k, &x));
    return answer(q, holds(q, &x, wanted) || by_role(q, wanted));
}
static bool column_holds(const Asked *q, const SysClass *k, const char *column, int64_t owner, uint64_t wanted) {
    const Privileges *x = catalog_privileges(
        q->o->c, &(Privileges){.kind = PRIVILEGE_COLUMN, .name = k->key ? k->key : k->name, .part = column});
    return x && acl_mask(q->o->c, &x->acl, q->role, owner, wanted, true) != 0;
}
static Status on_columns(const Asked *q, const Value *what, const Value *column, const Value *rights) {
    SysClass *k;
    Privileges x;
    uint64_t wanted;
    int32_t from = 0, to;
    TRY(read_rights(q, rights, acl_rights_of('c'), &wanted));
    TRY(find_class(q, what, &k));
    if (!k) return ST_OK;
    TRY(object_columns(q->o, k));
    to = k->n_cols;
    if (column) {
        const char *name = is_text(column) ? text_of(q, column) : NULL;
        if (is_text(column) && !name) return err_oom(q->e);
        const int64_t number = name                        ? 0
                               : column->type.id == T_INT2 ? column->u.i16
                               : column->type.id == T_INT4 ? column->u.i32
                                                           : column->u.i64;
        for (from = 0; name && from < k->n_cols && strcmp(k->cols[from].name, name) != 0;) from++;
        if (name && from == k->n_cols)
            return err_set(q->e, ERR_UNDEFINED_COLUMN, "column \"%s\" of relation \"%s\" does not exist", name,
                           k->name);
        if (!name && (number < 1 || number > k->n_cols)) return ST_OK;
        if (!name) from = (int32_t)number - 1;
        to = from + 1;
    }
    TRY(class_privileges(q, k, &x));
    bool yes = holds(q, &x, wanted) || by_role(q, wanted);
    for (int32_t i = from; i < to && !yes; i++) yes = column_holds(q, k, k->cols[i].name, x.owner, wanted);
    return answer(q, yes);
}

/* ---- other objects ---- */

static Status on_schema(const Asked *q, const Value *what, const Value *rights) {
    int64_t oid = is_text(what) ? 0 : what->u.i64;
    uint64_t wanted;
    Privileges x;
    TRY(read_rights(q, rights, acl_rights_of('n'), &wanted));
    if (is_text(what))
        TRY(session_oid_find(q->s, OID_NAMESPACE, (Slice){what->u.str.ptr, what->u.str.len}, &oid, q->e));
    const char *name = object_schema_name(q->o, oid);
    if (!name) return ST_OK;
    const Privileges of = {.kind = PRIVILEGE_SCHEMA, .name = name, .part = ""};
    TRY(privileges_get(q->o->c, q->a, &of, &x));
    const bool system = oid == OID_SCHEMA_CATALOG || oid == OID_SCHEMA_INFORMATION;
    return answer(q, holds(q, &x, wanted) || (wanted & ACL_USAGE && system));
}
static Status on_database(const Asked *q, const Value *what, const Value *rights) {
    uint64_t wanted;
    Privileges x;
    const Privileges of = {.kind = PRIVILEGE_DATABASE, .name = "", .part = ""};
    TRY(read_rights(q, rights, acl_rights_of('D'), &wanted));
    const char *name = is_text(what) ? text_of(q, what) : NULL;
    if (name && strcmp(name, q->s->info.database) != 0)
        return err_set(q->e, ERR_UNDEFINED_DATABASE, "database \"%s\" does not exist", name);
    if (!name && what->u.i64 != OID_DATABASE) return ST_OK;
    TRY(privileges_get(q->o->c, q->a, &of, &x));
    return answer(q, holds(q, &x, wanted));
}
static Status on_function(const Asked *q, const Value *what, const Value *rights) {
    int64_t oid = is_text(what) ? 0 : what->u.i64;
    uint64_t wanted;
    Privileges x = {.owner = ROLE_BOOTSTRAP};
    TRY(read_rights(q, rights, acl_rights_of('f'), &wanted));
    if (is_text(what))
        TRY(session_oid_find(q->s, OID_PROCEDURE, (Slice){what->u.str.ptr, what->u.str.len}, &oid, q->e));
    const Routine *f = object_routine(q->o, oid);
    const Privileges of = f ? privileges_of_routine_id(f->id) : x;
    if (f) TRY(privileges_get(q->o->c, q->a, &of, &x));
    else TRY(acl_default('f', ROLE_BOOTSTRAP, q->a, &x.acl)); /* PostgreSQL's own */
    return answer(q, holds(q, &x, wanted));
}
static Status on_type(const Asked *q, const Value *what, const Value *rights) {
    int64_t oid = is_text(what) ? 0 : what->u.i64;
    uint64_t wanted;
    Privileges x = {.owner = ROLE_BOOTSTRAP};
    TRY(read_rights(q, rights, acl_rights_of('T'), &wanted));
    if (is_text(what)) TRY(session_oid_find(q->s, OID_TYPE, (Slice){what->u.str.ptr, what->u.str.len}, &oid, q->e));
    const SysType *t = object_type(q->o, oid);
    if (!t) return ST_OK;
    const Privileges of = privileges_of_type(q->o, t);
    TRY(privileges_get(q->o->c, q->a, &of, &x));
    if (of.kind == PRIVILEGE_RELATION) TRY(acl_default('T', x.owner, q->a, &x.acl)); /* rows of a table */
    return answer(q, holds(q, &x, wanted));
}
/* Languages may be used by all, and what else there may be by superusers. */
static Status on_other(const Asked *q, const char *kind) {
    return answer(q, strcmp(kind, "language") == 0 || role_is_super(q->o->c, q->role));
}

static Status has_privilege(Asked *q, const char *kind) {
    const bool column = strcmp(kind, "column") == 0;
    const int own = column ? 3 : 2; /* without a role */
    const Value *what = &q->args[q->n - own], *rights = &q->args[q->n - 1];
    q->role = session_role(q->s);
    if (q->n > own) TRY(find_role(q, &q->args[0], true, &q->role));
    if (column) return on_columns(q, what, what + 1, rights);
    if (strcmp(kind, "any_column") == 0) return on_columns(q, what, NULL, rights);
    if (strcmp(kind, "table") == 0) return on_class(q, what, rights, false);
    if (strcmp(kind, "sequence") == 0) return on_class(q, what, rights, true);
    if (strcmp(kind, "schema") == 0) return on_schema(q, what, rights);
    if (strcmp(kind, "database") == 0) return on_database(q, what, rights);
    if (strcmp(kind, "function") == 0) return on_function(q, what, rights);
    if (strcmp(kind, "type") == 0) return on_type(q, what, rights);
    return on_other(q, kind);
}

/* ---- roles ---- */

static Status has_role(Asked *q) {
    const Value *rights = &q->args[q->n - 1];
    int64_t role;
    bool yes = false;
    q->role = session_role(q->s);
    if (q->n > 2) TRY(find_role(q, &q->args[0], false, &q->role));
    TRY(find_role(q, &q->args[q->n - 2], false, &role));
    char *text = arena_strndup(q->a, rights->u.str.ptr, rights->u.str.len), *next = text;
    if (!text) return err_oom(q->e);
    while (next) {
        char *word = next, *comma = strchr(word, ',');
        next = comma ? comma + 1 : NULL;
        if (comma) *comma = 0;
        while (*word == ' ') word++;
        const size_t n = strcspn(word, " ");
        const char *tail = word + n;
        const bool usage = strncasecmp(word, "USAGE", n) == 0 && n == 5,
                   member = strncasecmp(word, "MEMBER", n) == 0 && n == 6;
        const bool admin = strcasecmp(tail, " WITH GRANT OPTION") == 0 || strcasecmp(tail, " WITH ADMIN OPTION") == 0;
        if ((!usage && !member) || (*tail && !admin))
            return err_set(q->e, ERR_INVALID_PARAMETER, "unrecognized privilege type: \"%s\"", word);
        yes = yes || (admin ? role_is_admin(q->o->c, q->role, role) : role_is_member(q->o->c, q->role, role, usage));
    }
    return answer(q, yes);
}

/* ---- aclitems ---- */

static Status put_items(const Asked *q, const Acl *acl) {
    Str *cells = arena_array(q->a, Str, acl->n + 1);
    if (!cells) return err_oom(q->e);
    for (int i = 0; i < acl->n; i++) {
        const char *text = acl_item_text(q->o->c, &acl->items[i], q->a);
        if (!text) return err_oom(q->e);
        cells[i] = str_make(text, (int64_t)strlen(text));
    }
    q->out->is_null = false;
    return array_build(q->a, PH_STR, acl->n, cells, NULL, &q->out->u.str, q->e);
}
static Status default_items(const Asked *q) {
    const char *kind = text_of(q, &q->args[0]);
    Acl acl;
    if (!kind) return err_oom(q->e);
    const char letter = *kind == 's' ? 'S' : *kind == 'd' ? 'D' : *kind;
    if (!strchr("rcSDfnT", letter) || !letter)
        return err_set(q->e, ERR_INTERNAL, "unrecognized object type abbreviation: %s", kind);
    TRY(acl_default(letter, q->args[1].u.i64, q->a, &acl));
    return put_items(q, &acl);
}
static Status make_item(const Asked *q) {
    uint64_t rights;
    TRY(read_rights(q, &q->args[2], ACL_ALL, &rights));
    const uint32_t all = (uint32_t)rights;
    const AclItem x = {q->args[0].u.i64, q->args[1].u.i64, all, q->args[3].u.b ? all : 0};
    const char *text = acl_item_text(q->o->c, &x, q->a);
    if (!text) return err_oom(q->e);
    q->out->is_null = false;
    q->out->u.str = str_make(text, (int64_t)strlen(text));
    return ST_OK;
}

/* For each right of each item a JSON array: grantor, grantee, its name, whether it has grant option. */
static Status explode(const Asked *q) {
    const ArrayView items = array_view(q->args[0].u.str);
    VEC(Str) rows = {0};
    for (int64_t i = 0; i < items.n; i++) {
        Str cell;
        AclItem x;
        if (array_is_null(&items, i))
            return err_set(q->e, ERR_NULL_NOT_ALLOWED, "ACL arrays must not contain null values");
        array_get(&items, i, &cell);
        const char *text = arena_strndup(q->a, cell.ptr, cell.len);
        if (!text) return err_oom(q->e);
        TRY(acl_item_parse(q->o->c, text, q->a, &x, q->e));
        for (uint32_t right = 1; right & ACL_ALL; right <<= 1) {
            if (!(x.rights & right)) continue;
            const char *row = arena_printf(q->a, "[%lld,%lld,\"%s\",%s]", (long long)x.grantor, (long long)x.grantee,
                                           acl_right_name(right), x.options & right ? "true" : "false");
            if (!row || !vec_push(q->a, &rows, str_make(row, (int64_t)strlen(row)))) return err_oom(q->e);
        }
    }
    q->out->is_null = false;
    return array_build(q->a, PH_STR, rows.len, rows.items, NULL, &q->out->u.str, q->e);
}

Status system_privilege_call(Session *s, const SysObjects *o, const char *name, int n, const Value *args, Arena *a,
                             Value *out, bool *known, Err *e) {
    Asked q = {.s = s, .o = o, .n = n, .args = args, .a = a, .out = out, .e = e};
    const size_t len = strlen(name);
    *known = true;
    if (strcmp(name, "pg_has_role") == 0) return has_role(&q);
    if (strcmp(name, "acldefault") == 0) return default_items(&q);
    if (strcmp(name, "makeaclitem") == 0) return make_item(&q);
    if (strcmp(name, "aclexplode_array") == 0) return explode(&q);
    if (len > 14 && strncmp(name, "has_", 4) == 0 && strcmp(name + len - 10, "_privilege") == 0) {
        char *kind = arena_strndup(a, name + 4, (int64_t)len - 14);
        return kind ? has_privilege(&q, kind) : err_oom(e);
    }
    *known = false;
    return ST_OK;
}
