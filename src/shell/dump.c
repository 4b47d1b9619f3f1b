/* dump.c - stele dump: a database as SQL, as pg_dump writes it.
 *
 * Everything is read in one transaction that only reads. Definitions come from stele_list_definitions, data from COPY,
 * row by row to the output, so that memory does not grow with a table beyond what COPY itself takes. The last line says
 * that the dump is complete; a dump without it is not one, and its status is not 0. The database is not saved: its
 * directory keeps the format that it has. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shell/dump_int.h"
#include "shell/packed.h"
#include "shell/subcommand.h"
#include "shell/vars.h"

static const char usage[] =
    "usage: stele dump DATABASE [options]\n"
    "Writes a database directory as SQL, which stele, and PostgreSQL where it knows what is used, can run.\n"
    "  -o, --file FILE    to FILE instead of standard output; a name that ends in .zst: compressed by zstd\n"
    "  -d, --directory DIR   to a new directory: a file for each table, compressed; stele restore reads it\n"
    "  -j, --jobs N       threads that write a directory\n"
    "  -s, --schema-only  no data\n"
    "  -a, --data-only    data only\n"
    "  -t, --table NAME   tables and views of this name only, of any of these names with several -t;\n"
    "                     in a name * stands for any characters, ? for one\n"
    "      --inserts      data as INSERT instead of COPY\n"
    "      --roles        roles first, with what they are members of and their settings\n"
    "  -O, --no-owner     no owners\n"
    "  -x, --no-privileges   no grants\n"
    "  -c, --clean        drop everything first that is made\n"
    "      --if-exists    with --clean: DROP ... IF EXISTS\n"
    "      --memory-limit BYTES   for the tables and the one being written, which goes to temporary files beyond it\n"
    "      --help\n"
    "Restore with: stele restore FILE NEW-DIRECTORY\n"
    "Exit status: 0 the dump is complete, 1 an error, 2 wrong options, 128 + n ended by signal n.\n";

/* ---- options ---------------------------------------------------------------------------------------- */

static const char program[] = "stele dump";

static bool read_option(Dump *d, char **argv, int *i) {
    const char *arg = argv[*i], *value;
    bool missing = false;
    if (option_is(arg, "-s", "--schema-only")) d->schema_only = true;
    else if (option_is(arg, "-a", "--data-only")) d->data_only = true;
    else if (option_is(arg, "-c", "--clean")) d->clean = true;
    else if (option_is(arg, NULL, "--inserts")) d->inserts = true;
    else if (option_is(arg, NULL, "--roles")) d->roles = true;
    else if (option_is(arg, "-O", "--no-owner")) d->no_owner = true;
    else if (option_is(arg, "-x", "--no-privileges") || option_is(arg, NULL, "--no-acl")) d->no_privileges = true;
    else if (option_is(arg, NULL, "--if-exists")) d->if_exists = true;
    else if ((value = option_value(argv, i, "-t", "--table", &missing))) d->patterns[d->n_patterns++] = value;
    else if (!missing && (value = option_value(argv, i, "-o", "--file", &missing))) d->file = value;
    else if (!missing && (value = option_value(argv, i, "-d", "--directory", &missing))) d->directory = value;
    else if (!missing && (value = option_value(argv, i, "-j", "--jobs", &missing)))
        return option_number(program, "number of threads", value, &d->jobs);
    else if (!missing && (value = option_value(argv, i, NULL, "--memory-limit", &missing)))
        return option_number(program, "number of bytes", value, &d->memory_limit);
    else if (missing) return bad_option(program, "option \"%s\" needs a value", arg);
    else if (arg[0] == '-') return bad_option(program, "unrecognized option \"%s\"", arg);
    else if (d->sh.path) return bad_option(program, "too many arguments (first is \"%s\")", arg);
    else d->sh.path = arg;
    return true;
}

static bool read_options(Dump *d, char **argv) {
    for (int i = 2; argv[i]; i++)
        if (!read_option(d, argv, &i)) return false;
    if (!d->sh.path || !*d->sh.path) return bad_option(program, "which database?%s", "");
    if (strcmp(d->sh.path, ":memory:") == 0) return bad_option(program, "\"%s\" is no directory", d->sh.path);
    if (d->schema_only && d->data_only)
        return bad_option(program, "options -s/--schema-only and -a/--data-only cannot be used together%s", "");
    if (d->clean && d->data_only)
        return bad_option(program, "options -c/--clean and -a/--data-only cannot be used together%s", "");
    if (d->directory && d->file)
        return bad_option(program, "options -o/--file and -d/--directory cannot be used together%s", "");
    if (d->directory && d->inserts)
        return bad_option(program, "options -d/--directory and --inserts cannot be used together%s", "");
    if (d->jobs > 0 && !d->directory)
        return bad_option(program, "option -j/--jobs requires option -d/--directory%s", "");
    if (d->if_exists && !d->clean) return bad_option(program, "option --if-exists requires option -c/--clean%s", "");
    return true;
}

/* ---- which objects ---------------------------------------------------------------------------------- */

/* A pattern as psql has them, from p on: letters fold to lower case and * and ? match, but for what is in double
 * quotes. NAME_ENDS: no longer pattern can match either, so the * before it need not be tried further on. */
typedef enum Match { NO_MATCH, MATCH, NAME_ENDS } Match;
static Match match(const char *p, const char *name, bool quoted) {
    while (*p == '"') {
        if (quoted && p[1] == '"') break;
        quoted = !quoted;
        p++;
    }
    if (!*p) return *name ? NO_MATCH : MATCH;
    if (!quoted && *p == '*') {
        do {
            Match m = match(p + 1, name, false);
            if (m != NO_MATCH) return m;
        } while (*name++);
        return NAME_ENDS;
    }
    if (!*name) return NAME_ENDS;
    char c = !quoted && *p >= 'A' && *p <= 'Z' ? (char)(*p | 32) : *p;
    if (c == *name) return match(p + 1 + (*p == '"'), name + 1, quoted);
    if (quoted || c != '?') return NO_MATCH;
    do name++;
    while ((*name & 0xc0) == 0x80);
    return match(p + 1, name, false);
}
/* Before a point outside of quotes is a pattern of schemas. */
static const char *point_of(const char *pattern) {
    bool quoted = false;
    for (const char *p = pattern; *p; p++) {
        quoted ^= *p == '"';
        if (*p == '.' && !quoted) return p;
    }
    return NULL;
}
static bool matches(const char *pattern, const char *schema, const char *name) {
    const char *point = point_of(pattern);
    char of_schema[128];
    if (!point) return match(pattern, name, false) == MATCH;
    snprintf(of_schema, sizeof of_schema, "%.*s", (int)(point - pattern), pattern);
    return match(of_schema, schema, false) == MATCH && match(point + 1, name, false) == MATCH;
}
bool name_matches(const char *pattern, const char *name) { return matches(pattern, "public", name); }

const char *name_and_schema(const char *name, char *schema, size_t size) {
    const char *point = strchr(name, '.');
    if (point) snprintf(schema, size, "%.*s", (int)(point - name), name);
    else snprintf(schema, size, "public");
    return point ? point + 1 : name;
}
bool relation_matches(const char *path, const char *pattern, const char *name) {
    char schema[128], listed[130];
    const char *alone = name_and_schema(name, schema, sizeof schema);
    snprintf(listed, sizeof listed, ",%s,", schema);
    return (point_of(pattern) || strstr(path ? path : ",public,", listed)) && matches(pattern, schema, alone);
}

static bool wanted(const Dump *d, const char *table) {
    bool any = d->n_patterns == 0;
    for (int i = 0; i < d->n_patterns && !any && *table; i++) any = relation_matches(NULL, d->patterns[i], table);
    return any;
}

static char *copy_text(Dump *d, const char *s) {
    char *copy = strdup(s);
    if (!copy) d->out_of_memory = true;
    return copy;
}

/* Of an object of this connection's temporary schema, or ("TABLE name") of what is said of one. */
static bool in_temporary(const char *p) {
    const size_t digits = strncmp(p, "pg_temp_", 8) == 0 ? strspn(p + 8, "0123456789") : 0;
    return digits > 0 && p[8 + digits] == '.';
}
static bool is_temporary(const char *name) {
    for (const char *p = name; p; p = strchr(p, ' ')) {
        p += p != name;
        if (in_temporary(p)) return true;
    }
    return false;
}
static bool each_definition(void *ctx, const stele_definition *x) {
    Dump *d = ctx;
    if (!wanted(d, x->table) || is_temporary(x->name) || is_temporary(x->table)) return false;
    if (d->n == d->cap) {
        size_t cap = d->cap ? d->cap * 2 : 64;
        Object *more = realloc(d->objects, cap * sizeof *more);
        if (!more) return d->out_of_memory = true;
        d->objects = more;
        d->cap = cap;
    }
    d->objects[d->n++] = (Object){.kind = copy_text(d, x->kind),
                                  .name = copy_text(d, x->name),
                                  .table = copy_text(d, x->table),
                                  .target = copy_text(d, x->target),
                                  .create = copy_text(d, x->create_sql),
                                  .drop = copy_text(d, d->if_exists ? x->drop_if_exists_sql : x->drop_sql),
                                  .problem = copy_text(d, x->problem),
                                  .after_data = x->after_data,
                                  .overriding = x->overriding};
    return d->out_of_memory;
}

static void free_dump(Dump *d) {
    for (size_t i = 0; i < d->n; i++) {
        char *const all[] = {d->objects[i].kind,   d->objects[i].name, d->objects[i].table,  d->objects[i].target,
                             d->objects[i].create, d->objects[i].drop, d->objects[i].problem};
        for (size_t k = 0; k < sizeof all / sizeof *all; k++) free(all[k]);
    }
    free(d->objects);
    free(d->patterns);
    free(d->plain);
    free(d->row);
}

/* ---- statements ------------------------------------------------------------------------------------- */

bool dump_failed_memory(void) {
    fprintf(stderr, "stele dump: out of memory\n");
    return false;
}

bool dump_run(Dump *d, const char *sql) {
    statement_begins();
    bool ok = stele_exec(d->sh.conn, sql, NULL, NULL) == STELE_OK;
    statement_ends();
    if (!ok && check_output(&d->sh)) print_error(&d->sh, NULL); /* else COPY has failed because of the output */
    return ok;
}

/* What has been written got where it should, and no signal has come. */
bool dump_goes_on(Dump *d) {
    if (ferror(d->sh.out)) (void)check_output(&d->sh);
    return !d->sh.output.lost && !shell_signal;
}

static void put_title(Dump *d, const Object *x, const char *kind) {
    fputs("--\n-- Name: ", d->sh.out);
    for (const char *p = x->name; *p; p++) fputc(*p == '\n' || *p == '\r' ? ' ' : *p, d->sh.out);
    fprintf(d->sh.out, "; Type: %s\n--\n\n", kind);
}

/* The number that a sequence has given last, which is data. */
static bool is_number(const Object *x) { return strcmp(x->kind, "SEQUENCE SET") == 0; }

static bool is_view_data(const Object *x) { return strcmp(x->kind, "MATERIALIZED VIEW DATA") == 0; }

/* Of a kind that the options leave out. */
static bool is_left_out(const Dump *d, const Object *x) {
    if (strcmp(x->kind, "OWNER") == 0) return d->no_owner;
    return d->no_privileges && (strcmp(x->kind, "ACL") == 0 || strcmp(x->kind, "DEFAULT ACL") == 0);
}

static bool put_definitions(Dump *d, bool after_data) {
    for (size_t i = 0; i < d->n && dump_goes_on(d); i++) {
        const Object *x = &d->objects[i];
        if (is_left_out(d, x)) continue;
        if (x->after_data != after_data || is_number(x) || is_view_data(x)) continue;
        put_title(d, x, x->kind);
        fprintf(d->sh.out, "%s;\n\n\n", x->create);
        if (*x->problem) fprintf(stderr, "stele dump: warning: %s \"%s\": %s\n", x->kind, x->name, x->problem);
    }
    return dump_goes_on(d);
}

static bool put_view_data(Dump *d) {
    for (size_t i = 0; i < d->n && dump_goes_on(d); i++) {
        if (!is_view_data(&d->objects[i])) continue;
        put_title(d, &d->objects[i], d->objects[i].kind);
        fprintf(d->sh.out, "%s;\n\n\n", d->objects[i].create);
    }
    return dump_goes_on(d);
}

/* ---- roles, as pg_dumpall writes them ---- */

/* The last: settings; of a list each value is one by itself. */
static const char *const role_queries[] = {
    "select 'CREATE ROLE ' || quote_ident(rolname) from pg_authid where oid >= 16384 order by oid",
    "select concat_ws(' ', 'ALTER ROLE', quote_ident(rolname), 'WITH', case when rolsuper then 'SUPERUSER' else "
    "'NOSUPERUSER' end, case when rolinherit then 'INHERIT' else 'NOINHERIT' end, case when rolcreaterole then "
    "'CREATEROLE' else 'NOCREATEROLE' end, case when rolcreatedb then 'CREATEDB' else 'NOCREATEDB' end, case when "
    "rolcanlogin then 'LOGIN' else 'NOLOGIN' end, case when rolreplication then 'REPLICATION' else 'NOREPLICATION' "
    "end, case when rolbypassrls then 'BYPASSRLS' else 'NOBYPASSRLS' end, case when rolconnlimit <> -1 then "
    "'CONNECTION LIMIT ' || rolconnlimit end, 'PASSWORD ' || quote_literal(rolpassword), 'VALID UNTIL ' || "
    "quote_literal(rolvaliduntil::text)) from pg_authid where oid >= 16384 order by oid",
    "select 'COMMENT ON ROLE ' || quote_ident(rolname) || ' IS ' || quote_literal(description) from pg_authid join "
    "pg_shdescription on objoid = oid and classoid = 1260 order by oid",
    "select 'GRANT ' || quote_ident(r.rolname) || ' TO ' || quote_ident(m.rolname) || case when admin_option then "
    "' WITH ADMIN OPTION' else '' end from pg_auth_members join pg_authid r on r.oid = roleid join pg_authid m on "
    "m.oid = member where m.oid >= 16384 order by r.oid, m.oid",
    "select concat_ws(' ', 'ALTER ROLE', coalesce(quote_ident(rolname), 'ALL'), 'SET', split_part(x, '=', 1), 'TO', "
    "case when split_part(x, '=', 1) in ('search_path', 'DateStyle', 'disabled_rules') then replace(v, ', ', "
    "''', ''') else v end) from (select setrole, x, quote_literal(substr(x, position('=' in x) + 1)) as v from "
    "pg_db_role_setting, unnest(setconfig) as u (x) where setdatabase = 0) s left join pg_authid on oid = setrole "
    "where setrole = 0 or setrole >= 16384 order by setrole, x",
};
static bool put_line(void *ctx, int64_t n, const char *const *values, const char *const *names) {
    Dump *d = ctx;
    (void)n, (void)names;
    if (values[0]) fprintf(d->sh.out, "%s;\n", values[0]);
    return !dump_goes_on(d);
}
static bool put_roles(Dump *d) {
    fputs("--\n-- Roles\n--\n\n", d->sh.out);
    for (size_t i = 0; i < sizeof role_queries / sizeof *role_queries; i++) {
        statement_begins();
        bool ok = stele_exec(d->sh.conn, role_queries[i], put_line, d) == STELE_OK;
        statement_ends();
        if (!ok && dump_goes_on(d)) print_error(&d->sh, NULL);
        if (!ok) return false;
    }
    fputs("\n\n", d->sh.out);
    return dump_goes_on(d);
}

static bool put_drops(Dump *d) {
    for (size_t i = d->n; i-- > 0;)
        if (*d->objects[i].drop) fprintf(d->sh.out, "%s;\n", d->objects[i].drop);
    fputc('\n', d->sh.out);
    return dump_goes_on(d);
}

/* ---- data as INSERT --------------------------------------------------------------------------------- */

/* Which columns' values need no quotes, by their types: what a domain is called says nothing. Floating point stays
 * quoted: as a literal -0 would lose its sign. */
static bool find_plain(Dump *d, const char *target) {
    const char *end = target; /* of the name; then the columns in brackets, or nothing */
    if (*end == '"') do
            end = strchr(end + 1, '"') + 1;
        while (*end == '"');
    else end += strcspn(end, " ");
    char *sql = NULL;
    d->n_columns = 0;
    const size_t n = strlen(end);
    if (n == 0 ? asprintf(&sql, "select from %s limit 0", target) < 0
               : asprintf(&sql, "select %.*s from %.*s limit 0", (int)n - 3, end + 2, (int)(end - target), target) < 0)
        return dump_failed_memory();
    stele_stmt *st = NULL;
    bool ok = stele_prepare(d->sh.conn, sql, -1, &st, NULL) == STELE_OK;
    free(sql);
    if (!ok) print_error(&d->sh, NULL);
    free(d->plain);
    d->n_columns = ok ? (size_t)stele_column_count(st) : 0;
    d->plain = calloc(d->n_columns + 1, sizeof *d->plain);
    for (size_t i = 0; d->plain && i < d->n_columns; i++) {
        const char *type = stele_column_type(st, (int64_t)i);
        bool floating = strcmp(type, "real") == 0 || strcmp(type, "double precision") == 0;
        d->plain[i] = stele_column_is_number(st, (int64_t)i) && !floating;
    }
    stele_finalize(st);
    return d->plain ? ok : dump_failed_memory();
}

/* NaN and Infinity are none. */
static bool is_plain_number(const char *s, size_t n) {
    size_t i = 0;
    while (i < n && memchr("-.0123456789", s[i], 12)) i++;
    return i == n;
}

/* A field of COPY's text format, as a literal. */
static void put_literal(FILE *f, const char *s, size_t n, bool plain) {
    static const char letters[] = "bfnrtv", bytes[] = "\b\f\n\r\t\v";
    if (n == 2 && memcmp(s, "\\N", 2) == 0) {
        fputs("NULL", f);
        return;
    }
    if (plain && is_plain_number(s, n)) {
        fwrite(s, 1, n, f);
        return;
    }
    bool returns = false; /* has carriage returns, which programs that read the dump may take for an end of line */
    for (size_t i = 0; i + 1 < n; i++) {
        returns |= s[i] == '\\' && s[i + 1] == 'r';
        i += s[i] == '\\';
    }
    fputs(returns ? "E'" : "'", f);
    for (size_t i = 0; i < n; i++) {
        char c = s[i];
        if (c == '\\' && i + 1 < n) {
            const char *at = strchr(letters, s[++i]);
            c = at ? bytes[at - letters] : s[i];
        }
        if (c == '\'' || (returns && c == '\\')) fputc(c, f);
        if (c == '\r') fputs("\\r", f);
        else fputc(c, f);
    }
    fputc('\'', f);
}

static void put_insert(Dump *d) {
    FILE *f = d->sh.out;
    const char *s = d->row, *end = d->row + d->row_len;
    if (d->n_columns == 0) {
        fprintf(f, "INSERT INTO %s DEFAULT VALUES;\n", d->table->target);
        return;
    }
    fprintf(f, "INSERT INTO %s %sVALUES (", d->table->target, d->table->overriding ? "OVERRIDING SYSTEM VALUE " : "");
    for (size_t c = 0; c < d->n_columns; c++) {
        const char *tab = memchr(s, '\t', (size_t)(end - s)), *to = tab ? tab : end;
        if (c) fputs(", ", f);
        put_literal(f, s, (size_t)(to - s), d->plain[c]);
        s = tab ? tab + 1 : end;
    }
    fputs(");\n", f);
}

static bool add_to_row(Dump *d, const char *data, size_t n) {
    if (d->row_len + n + 1 > d->row_cap) {
        size_t cap = (d->row_len + n + 1) * 2;
        char *more = realloc(d->row, cap);
        if (!more) return d->out_of_memory = true, false;
        d->row = more;
        d->row_cap = cap;
    }
    memcpy(d->row + d->row_len, data, n);
    d->row_len += n;
    return true;
}

/* COPY's data: every line is a row. */
static bool write_inserts(void *ctx, const char *data, int64_t size) {
    Dump *d = ctx;
    const char *end = data + size;
    while (data < end) {
        const char *line = memchr(data, '\n', (size_t)(end - data));
        if (!add_to_row(d, data, (size_t)((line ? line : end) - data))) return false;
        if (!line) break;
        put_insert(d);
        d->row_len = 0;
        data = line + 1;
    }
    if (!ferror(d->sh.out)) return true;
    if (!d->sh.output.write_errno) d->sh.output.write_errno = errno;
    return false;
}

/* ---- data ------------------------------------------------------------------------------------------- */

static bool put_table(Dump *d, const Object *x) {
    size_t size = strlen(x->target) + 32;
    char *sql = malloc(size);
    if (!sql) return dump_failed_memory();
    snprintf(sql, size, "copy %s to stdout", x->target);
    d->table = x;
    d->n_columns = 0;
    put_title(d, x, "TABLE DATA");
    if (!d->inserts) fprintf(d->sh.out, "COPY %s FROM stdin;\n", x->target);
    bool ok = dump_goes_on(d);
    ok = ok && (!d->inserts || find_plain(d, x->target)) && dump_run(d, sql);
    if (d->out_of_memory) ok = dump_failed_memory();
    if (ok) fputs(d->inserts ? "\n\n" : "\\.\n\n\n", d->sh.out);
    free(sql);
    return ok && dump_goes_on(d);
}

static bool put_data(Dump *d) {
    for (size_t i = 0; i < d->n; i++)
        if (*d->objects[i].target && !put_table(d, &d->objects[i])) return false;
    return dump_goes_on(d);
}
/* Of sequences: those that they have given last. */
static bool put_numbers(Dump *d) {
    for (size_t i = 0; i < d->n && dump_goes_on(d); i++) {
        if (!is_number(&d->objects[i])) continue;
        put_title(d, &d->objects[i], d->objects[i].kind);
        fprintf(d->sh.out, "%s;\n\n\n", d->objects[i].create);
    }
    return dump_goes_on(d);
}

/* ---- the whole -------------------------------------------------------------------------------------- */

static bool list_objects(Dump *d) {
    if (stele_list_definitions(d->sh.conn, each_definition, d) != STELE_OK) return print_error(&d->sh, NULL), false;
    if (d->out_of_memory) return dump_failed_memory();
    if (d->n > 0 || d->n_patterns == 0) return true;
    fprintf(stderr, "stele dump: no matching tables were found\n");
    return false;
}

/* That values and bodies depend on: those that a fresh session of stele has. */
void dump_put_settings(Dump *d) {
    fprintf(d->sh.out,
            "--\n-- Stele database dump\n--\n\n"
            "-- Dumped by stele %s\n\n"
            "SET statement_timeout = 0;\nSET lock_timeout = 0;\nSET client_encoding = 'UTF8';\n"
            "SET standard_conforming_strings = on;\nSET check_function_bodies = off;\n"
            "SET client_min_messages = warning;\nSET search_path = public;\n\n",
            stele_version());
}
const char *const dump_settings[] = {
    "set local datestyle = iso, mdy",
    "set local intervalstyle = postgres",
    "set local extra_float_digits = 1",
    "set local bytea_output = hex",
    NULL,
};
bool dump_list(Dump *d) {
    if (!dump_run(d, "begin transaction read only")) return false;
    for (const char *const *s = dump_settings; *s; s++)
        if (!dump_run(d, *s)) return false;
    return list_objects(d);
}
bool dump_put_before(Dump *d) {
    if (d->clean && !put_drops(d)) return false;
    if (d->roles && !put_roles(d)) return false;
    return d->data_only || put_definitions(d, false);
}
bool dump_put_after(Dump *d) {
    if (!d->schema_only && !put_numbers(d)) return false;
    if (!d->data_only && !put_definitions(d, true)) return false;
    return d->schema_only || put_view_data(d);
}
void dump_put_end(Dump *d) { fputs("--\n-- Stele database dump complete\n--\n\n", d->sh.out); }

static bool put_all(Dump *d) {
    dump_put_settings(d);
    if (!dump_list(d) || !dump_put_before(d)) return false;
    if (!d->schema_only && !put_data(d)) return false;
    if (!dump_put_after(d) || !dump_run(d, "commit") || !dump_goes_on(d)) return false;
    dump_put_end(d);
    return check_output(&d->sh);
}

static bool open_file(Dump *d) {
    if (!d->file) return true;
    const size_t n = strlen(d->file);
    const bool packed = n > 4 && strcmp(d->file + n - 4, ".zst") == 0;
    d->sh.out = packed ? packed_write(d->file) : fopen(d->file, "w");
    d->sh.output.name = strdup(d->file);
    if (d->sh.out && d->sh.output.name) return true;
    fprintf(stderr, "stele dump: cannot open \"%s\": %s\n", d->file, strerror(errno));
    if (d->sh.out) fclose(d->sh.out);
    free(d->sh.output.name);
    d->sh.output.name = NULL;
    d->sh.out = stdout;
    return false;
}

/* A file is on its disk before the dump is said to be good; what is compressed, when it is closed. */
static bool sync_file(Dump *d) {
    struct stat st;
    if (!d->file || fileno(d->sh.out) < 0 || fstat(fileno(d->sh.out), &st) != 0 || !S_ISREG(st.st_mode)) return true;
    if (fsync(fileno(d->sh.out)) == 0) return true;
    fprintf(stderr, "stele dump: cannot write to \"%s\": %s\n", d->file, strerror(errno));
    return false;
}

static int dump(Dump *d) {
    stele_options opt = {.existing = true, .read_only = true, .memory_limit = d->memory_limit};
    stele_error_info e;
    if (stele_open(d->sh.path, &opt, &d->sh.db, &e) != STELE_OK) {
        say_failure(program, "open", d->sh.path, &e);
        return EXIT_ERROR;
    }
    d->sh.discard = true; /* the directory stays as it is */
    if (stele_connect(d->sh.db, &d->sh.conn) != STELE_OK) {
        (void)dump_failed_memory();
        (void)stele_discard(d->sh.db);
        return EXIT_ERROR;
    }
    catch_signals(&d->sh);
    bool ok = d->directory || open_file(d);
    if (ok && d->directory) {
        ok = dump_to_directory(d);
        if (!ok) fprintf(stderr, "stele dump: the dump is not complete\n");
    } else if (ok) {
        if (d->inserts) stele_set_copy_streams(d->sh.conn, NULL, write_inserts, d);
        else stele_set_copy_streams(d->sh.conn, NULL, write_copy, &d->sh);
        ok = put_all(d) && sync_file(d);
        if (!ok && !d->sh.output.closed_pipe) fprintf(stderr, "stele dump: the dump is not complete\n");
    }
    return leave(&d->sh, ok ? 0 : EXIT_ERROR);
}

bool dump_open_database(Shell *sh, const char *pattern) {
    Dump d = {.sh = *sh};
    if (stele_transaction_state(sh->conn) != 'I') {
        say_error("a transaction is open; a dump is one of its own\n");
        return false;
    }
    if (pattern) {
        d.patterns = calloc(1, sizeof *d.patterns);
        if (!d.patterns) return say_no_memory();
        d.patterns[d.n_patterns++] = pattern;
    }
    stele_set_copy_streams(sh->conn, NULL, write_copy, &d.sh);
    bool ok = put_all(&d);
    stele_set_copy_streams(sh->conn, read_copy, write_copy, sh);
    sh->output = d.sh.output;
    sh->error = d.sh.error;
    if (stele_transaction_state(sh->conn) != 'I') (void)stele_exec(sh->conn, "rollback", NULL, NULL);
    free_dump(&d);
    return ok;
}

int dump_command(int argc, char **argv) {
    Dump d = {.sh = {.out = stdout, .print = {.format = formats, .border = 1}}};
    if (wants_help(argc, argv)) {
        fputs(usage, stdout);
        return check_output(&d.sh) ? 0 : EXIT_ERROR;
    }
    d.patterns = calloc((size_t)argc + 1, sizeof *d.patterns);
    int status = EXIT_USAGE;
    if (!d.patterns) status = (dump_failed_memory(), EXIT_ERROR);
    else if (read_options(&d, argv)) status = dump(&d);
    free_dump(&d);
    return status;
}
