/* storage_options.c - what CREATE TABLE ... WITH (...) and ALTER TABLE ... SET (...) say of a table's storage.
 *
 * expected_rows is ours. What PostgreSQL 15 takes for tables and the tables behind them (toast.) is taken too, whatever
 * its value, and has no effect, so that its dumps load; a name that neither knows is refused as there (22023): a
 * parameter that was mistyped is not silently none.
 */
#include <strings.h>

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

Status storage_options_index(int64_t n, const AstOption *options, Err *e) {
    static const char *const known[] = {"fillfactor", "deduplicate_items"};
    for (int64_t i = 0; i < n; i++) {
        bool ok = false;
        for (int64_t k = 0; k < ARRAY_LEN(known); k++)
            ok |= !options[i].space && strcmp(options[i].name, known[k]) == 0;
        if (!ok)
            return err_at(e, options[i].location, ERR_INVALID_PARAMETER, "unrecognized parameter \"%s\"",
                          options[i].name);
    }
    return ST_OK;
}
