/* describe_roles.c - \du, \dp, \ddp and \drds: roles and privileges, by queries as psql's. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shell/describe.h"
#include "shell/vars.h"

/* A query's rows whose column `by` matches the pattern, where there is one. */
static bool query_grid(Shell *sh, const char *title, const char *sql, const char *pattern, int64_t by, bool counted) {
    stele_stmt *s = NULL;
    const char *names[8];
    if (stele_prepare(sh->conn, sql, -1, &s, NULL) != STELE_OK) {
        print_error(sh, NULL);
        return false;
    }
    const int64_t n = stele_column_count(s);
    for (int64_t i = 0; i < n; i++) names[i] = stele_column_name(s, i);
    Grid *g = grid_new(title, n, names);
    stele_status st;
    while ((st = stele_step(s)) == STELE_ROW) {
        const char *name = stele_column_text(s, by, NULL);
        if (pattern && !(name && name_matches(pattern, name))) continue;
        for (int64_t i = 0; i < n; i++) {
            const char *text = stele_column_text(s, i, NULL);
            grid_cell(g, text ? text : "");
        }
    }
    if (st != STELE_DONE) print_error(sh, NULL);
    stele_finalize(s);
    if (!counted) grid_no_count(g);
    if (st == STELE_DONE) return grid_print(sh, g);
    grid_free(g);
    return false;
}

bool roles_command(Shell *sh, Args *a) {
    const char *pattern = next_arg(a, ARG_NORMAL);
    const bool more = has_suffix(a, '+');
    char *sql = NULL;
    const int n = asprintf(
        &sql,
        "select rolname as \"Role name\", concat_ws(E'\\n', nullif(concat_ws(', ', case when rolsuper then 'Superuser' "
        "end, case when not rolinherit then 'No inheritance' end, case when rolcreaterole then 'Create role' end, "
        "case when rolcreatedb then 'Create DB' end, case when not rolcanlogin then 'Cannot login' end, "
        "case when rolreplication then 'Replication' end, case when rolbypassrls then 'Bypass RLS' end), ''), "
        "case rolconnlimit when -1 then null when 0 then 'No connections' when 1 then '1 connection' "
        "else rolconnlimit || ' connections' end, 'Password valid until ' || rolvaliduntil) as \"Attributes\", "
        "array(select b.rolname from pg_auth_members m join pg_roles b on m.roleid = b.oid where m.member = r.oid "
        "order by 1)::text as \"Member of\"%s from pg_roles r where %s order by 1",
        more ? ", shobj_description(oid, 'pg_authid') as \"Description\"" : "",
        pattern || has_suffix(a, 'S') ? "true" : "rolname !~ '^pg_'");
    if (n < 0) return say_no_memory();
    const bool ok = query_grid(sh, "List of roles", sql, pattern, 0, false);
    free(sql);
    return ok;
}
bool privileges_command(Shell *sh, Args *a) {
    return query_grid(
        sh, "Access privileges",
        "select n.nspname as \"Schema\", relname as \"Name\", case relkind when 'r' then 'table' when 'v' then 'view' "
        "when 'm' then 'materialized view' else 'sequence' end as \"Type\", array_to_string(relacl, E'\\n') as "
        "\"Access privileges\", array_to_string(array(select attname || E':\\n  ' || array_to_string(attacl, E'\\n  ') "
        "from pg_attribute where attrelid = c.oid and attacl is not null order by attnum), E'\\n') as "
        "\"Column privileges\", '' as \"Policies\" from pg_class c join pg_namespace n on n.oid = relnamespace where "
        "relkind in ('r', 'v', 'm', 'S') and nspname <> 'pg_catalog' and nspname <> 'information_schema' order by 1, 2",
        next_arg(a, ARG_NORMAL), 1, true);
}
bool default_privileges_command(Shell *sh, Args *a) {
    return query_grid(sh, "Default access privileges",
                      "select pg_get_userbyid(defaclrole) as \"Owner\", nspname as \"Schema\", case defaclobjtype when "
                      "'r' then 'table' when 'S' then 'sequence' when 'f' then 'function' when 'T' then 'type' else "
                      "'schema' end as \"Type\", array_to_string(defaclacl, E'\\n') as \"Access privileges\" from "
                      "pg_default_acl left join pg_namespace n on n.oid = defaclnamespace order by 1, 2, 3",
                      next_arg(a, ARG_NORMAL), 0, true);
}
bool role_settings_command(Shell *sh, Args *a) {
    return query_grid(sh, "List of settings",
                      "select rolname as \"Role\", datname as \"Database\", array_to_string(setconfig, E'\\n') as "
                      "\"Settings\" from pg_db_role_setting left join pg_database d on d.oid = setdatabase left join "
                      "pg_roles r on r.oid = setrole order by 1, 2",
                      next_arg(a, ARG_NORMAL), 0, true);
}

static bool take_text(void *ctx, int64_t n, const char *const *values, const char *const *names) {
    (void)names;
    char **out = ctx;
    if (n == 1 && values[0]) *out = strdup(values[0]);
    return true;
}
void put_text(Shell *sh, Grid *g, const char *sql) {
    char *text = NULL;
    (void)stele_exec(sh->conn, sql, take_text, &text);
    grid_cell(g, text ? text : "");
    free(text);
}
void put_owner(Shell *sh, Grid *g, const char *relation) {
    char schema[128], *name = sql_quoted_text(name_and_schema(relation, schema, sizeof schema)),
                      *in = sql_quoted_text(schema), *sql = NULL, *text = NULL;
    if (name && in &&
        asprintf(&sql,
                 "select pg_get_userbyid(relowner) from pg_class c, pg_namespace n where relname = %s and "
                 "relnamespace = n.oid and nspname = %s",
                 name, in) >= 0)
        (void)stele_exec(sh->conn, sql, take_text, &text);
    grid_cell(g, text ? text : "");
    free(name);
    free(in);
    free(sql);
    free(text);
}
