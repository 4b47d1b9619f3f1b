/* storage_options.c - what CREATE TABLE ... WITH (...) and ALTER TABLE ... SET (...) say of a table's storage.
 *
 * expected_rows is ours. What PostgreSQL 15 takes for tables and the tables behind them (toast.) is taken too, whatever
 * its value, and has no effect, so that its dumps load; a name that neither knows is refused as there (22023): a
 * parameter that was mistyped is not silently none.
 */
#include <stdlib.h>
#include <strings.h>

#include "session/core/pg_settings.h"
#include "session/core/session.h"

static const struct {
    const char *name;
    bool toast; /* also of toast. */
} postgres[] = {
    {"fillfactor", false},
    {"toast_tuple_target", false},
    {"parallel_workers", false},
    {"user_catalog_table", false},
    {"vacuum_index_cleanup", true},
    {"vacuum_truncate", true},
    {"autovacuum_enabled", true},
    {"autovacuum_vacuum_threshold", true},
    {"autovacuum_vacuum_scale_factor", true},
    {"autovacuum_vacuum_insert_threshold", true},
    {"autovacuum_vacuum_insert_scale_factor", true},
    {"autovacuum_analyze_threshold", false},
    {"autovacuum_analyze_scale_factor", false},
    {"autovacuum_vacuum_cost_delay", true},
    {"autovacuum_vacuum_cost_limit", true},
    {"autovacuum_freeze_min_age", true},
    {"autovacuum_freeze_max_age", true},
    {"autovacuum_freeze_table_age", true},
    {"autovacuum_multixact_freeze_min_age", true},
    {"autovacuum_multixact_freeze_max_age", true},
    {"autovacuum_multixact_freeze_table_age", true},
    {"log_autovacuum_min_duration", true},
};

static bool is_expected_rows(const AstOption *o) { return !o->space && strcmp(o->name, "expected_rows") == 0; }
static bool is_postgres(const AstOption *o) {
    for (int64_t i = 0; i < ARRAY_LEN(postgres); i++)
        if (strcmp(o->name, postgres[i].name) == 0) return !o->space || postgres[i].toast;
    return false;
}
/* A name without a value is true. */
static const char *value_text(const AstOption *o) {
    return o->value ? o->value : o->n_list > 0 ? o->list[o->n_list - 1] : "true";
}

static Status read_expected_rows(const AstOption *o, int64_t *rows, Err *e) {
    const char *text = value_text(o);
    int128_t n = 0;
    int scale;
    Err why = {0};
    bool is_number = numeric_parse(slice_of(text), 0, &n, &scale, &why) == ST_OK;
    if (!is_number && strcmp(why.sqlstate, ERR_NUMERIC_RANGE) != 0)
        return err_at(e, o->location, ERR_INVALID_PARAMETER, "invalid value for integer option \"%s\": %s", o->name,
                      text);
    if (!is_number || n < 0 || n > EXPECTED_ROWS_MAX) {
        err_at(e, o->location, ERR_INVALID_PARAMETER, "value %s out of bounds for option \"%s\"", text, o->name);
        err_detail(e, "Valid values are between \"0\" and \"%lld\".", (long long)EXPECTED_ROWS_MAX);
        return ST_ERROR;
    }
    *rows = (int64_t)n;
    return ST_OK;
}

/* Old dumps say so. */
static bool is_without_oids(const AstOption *o) {
    const char *text = value_text(o);
    return strcasecmp(text, "false") == 0 || strcasecmp(text, "off") == 0 || strcmp(text, "0") == 0;
}

Status storage_options_read(int64_t n, const AstOption *options, bool create, int64_t *expected_rows, Err *e) {
    for (int64_t i = 0; i < n; i++) {
        const AstOption *o = &options[i];
        if (o->space && strcmp(o->space, "toast") != 0)
            return err_at(e, o->location, ERR_INVALID_PARAMETER, "unrecognized parameter namespace \"%s\"", o->space);
        if (create && !o->space && strcmp(o->name, "oids") == 0) {
            if (is_without_oids(o)) continue;
            return err_at(e, o->location, ERR_FEATURE_NOT_SUPPORTED, "tables declared WITH OIDS are not supported");
        }
        if (!is_expected_rows(o) && !is_postgres(o))
            return err_at(e, o->location, ERR_INVALID_PARAMETER, "unrecognized parameter \"%s\"", o->name);
        for (int64_t k = 0; k < i; k++)
            if (!options[k].space == !o->space && strcmp(options[k].name, o->name) == 0)
                return err_at(e, o->location, ERR_INVALID_PARAMETER, "parameter \"%s\" specified more than once",
                              o->name);
        if (is_expected_rows(o)) TRY(read_expected_rows(o, expected_rows, e));
    }
    return ST_OK;
}

Status storage_options_reset(int64_t n, const AstOption *options, int64_t *expected_rows, Err *e) {
    for (int64_t i = 0; i < n; i++) {
        const AstOption *o = &options[i];
        if (o->value || o->n_list > 0)
            return err_at(e, o->location, ERR_SYNTAX, "RESET must not include values for parameters");
        if (is_expected_rows(o)) *expected_rows = 0;
    }
    return ST_OK;
}

/* ---- indexes: kept and shown, without effect ---- */

typedef struct IndexOption {
    const char *method, *name;
    char kind; /* i integer, b boolean, r real, e one of `most` */
    double least, most;
    const char *values; /* as PostgreSQL lists them */
} IndexOption;
static const IndexOption index_options[] = {
    {"btree", "fillfactor", 'i', 10, 100, NULL},
    {"btree", "deduplicate_items", 'b', 0, 0, NULL},
    {"btree", "vacuum_cleanup_index_scale_factor", 'r', 0, 1e10, NULL},
    {"hash", "fillfactor", 'i', 10, 100, NULL},
    {"gist", "fillfactor", 'i', 10, 100, NULL},
    {"gist", "buffering", 'e', 0, 0, "\"on\", \"off\", and \"auto\""},
    {"spgist", "fillfactor", 'i', 10, 100, NULL},
    {"gin", "fastupdate", 'b', 0, 0, NULL},
    {"gin", "gin_pending_list_limit", 'i', 64, 2097151, NULL},
    {"brin", "pages_per_range", 'i', 1, 131072, NULL},
    {"brin", "autosummarize", 'b', 0, 0, NULL},
};
static const IndexOption *index_option(const char *method, const char *name) {
    for (int64_t i = 0; i < ARRAY_LEN(index_options); i++)
        if (strcmp(index_options[i].method, method) == 0 && strcmp(index_options[i].name, name) == 0)
            return &index_options[i];
    return NULL;
}
static Status check_index_number(const AstOption *o, const IndexOption *x, const char *text, Err *e) {
    char *end;
    const bool whole = x->kind == 'i';
    const double v = strtod(text, &end);
    const bool is_number = end != text && !*end;
    if (!is_number || (whole && strpbrk(text, "xXnN")))
        return err_at(e, o->location, ERR_INVALID_PARAMETER, "invalid value for %s option \"%s\": %s",
                      whole ? "integer" : "floating point", o->name, text);
    if (v >= x->least && v <= x->most) return ST_OK;
    err_at(e, o->location, ERR_INVALID_PARAMETER, "value %s out of bounds for option \"%s\"", text, o->name);
    if (whole) err_detail(e, "Valid values are between \"%.0f\" and \"%.0f\".", x->least, x->most);
    else err_detail(e, "Valid values are between \"%f\" and \"%f\".", x->least, x->most);
    return ST_ERROR;
}
static Status check_index_option(const AstOption *o, const IndexOption *x, Err *e) {
    const char *text = value_text(o), *quoted = NULL;
    bool b;
    switch (x->kind) {
    case 'b':
        if (pg_bool_parse(text, &b)) return ST_OK;
        return err_at(e, o->location, ERR_INVALID_PARAMETER, "invalid value for boolean option \"%s\": %s", o->name,
                      text);
    case 'e':
        if (*text && !strchr(text, '"') && (quoted = strstr(x->values, text)) && quoted[-1] == '"' &&
            quoted[strlen(text)] == '"')
            return ST_OK;
        err_at(e, o->location, ERR_INVALID_PARAMETER, "invalid value for enum option \"%s\": %s", o->name, text);
        err_detail(e, "Valid values are %s.", x->values);
        return ST_ERROR;
    default: return check_index_number(o, x, text, e);
    }
}

/* Those of `old`, which are name=value, that none of the options names. */
static void keep_others(int64_t n, const AstOption *options, int n_old, char *const *old, int *n_out, char **out) {
    for (int k = 0; k < n_old; k++) {
        bool named = false;
        for (int64_t i = 0; i < n; i++) {
            const size_t len = strlen(options[i].name);
            named |= strncmp(old[k], options[i].name, len) == 0 && old[k][len] == '=';
        }
        if (!named) out[(*n_out)++] = old[k];
    }
}
Status storage_options_index(Arena *a, const char *method, int64_t n, const AstOption *options, int n_old,
                             char *const *old, int *n_out, char ***out, Err *e) {
    *n_out = 0;
    if (!(*out = arena_array(a, char *, n_old + n + 1))) return err_oom(e);
    for (int64_t i = 0; i < n; i++)
        if (options[i].space)
            return err_at(e, options[i].location, ERR_INVALID_PARAMETER, "unrecognized parameter namespace \"%s\"",
                          options[i].space);
    keep_others(n, options, n_old, old, n_out, *out);
    for (int64_t i = 0; i < n; i++) {
        const AstOption *o = &options[i];
        const IndexOption *x = index_option(method, o->name);
        if (!x) return err_at(e, o->location, ERR_INVALID_PARAMETER, "unrecognized parameter \"%s\"", o->name);
        for (int64_t k = 0; k < i; k++)
            if (strcmp(options[k].name, o->name) == 0)
                return err_at(e, o->location, ERR_INVALID_PARAMETER, "parameter \"%s\" specified more than once",
                              o->name);
        TRY(check_index_option(o, x, e));
        if (!((*out)[(*n_out)++] = arena_printf(a, "%s=%s", o->name, value_text(o)))) return err_oom(e);
    }
    return ST_OK;
}
Status storage_options_index_reset(Arena *a, int64_t n, const AstOption *options, int n_old, char *const *old,
                                   int *n_out, char ***out, Err *e) {
    *n_out = 0;
    if (!(*out = arena_array(a, char *, n_old + 1))) return err_oom(e);
    for (int64_t i = 0; i < n; i++)
        if (options[i].value || options[i].n_list > 0)
            return err_at(e, options[i].location, ERR_SYNTAX, "RESET must not include values for parameters");
    keep_others(n, options, n_old, old, n_out, *out);
    return ST_OK;
}
