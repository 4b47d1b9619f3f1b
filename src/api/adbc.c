/* adbc.c - the ADBC driver (https://arrow.apache.org/adbc, revision 1.1): databases, connections, errors, and the table
 * of functions that AdbcDriverInit fills. Over the public interface; the contracts are adbc.h's.
 *
 * Errors have SQLSTATE and message; a client of revision 1.1 gets detail, hint, context and names as details. Without
 * autocommit a transaction begins with the first statement after the last one ended.
 */
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/adbc_int.h"

char *adbc_copy(const char *text) {
    int64_t n = (int64_t)strlen(text) + 1;
    char *p = mem_alloc(NULL, n, NULL);
    return p ? memcpy(p, text, (size_t)n) : NULL;
}
void adbc_free(char *text) {
    if (text) mem_free(NULL, text, (int64_t)strlen(text) + 1);
}

/* ---- errors ---------------------------------------------------------------------------------------- */

enum { DETAILS = 6 };
typedef struct Details {
    int n;
    const char *keys[DETAILS];
    char *values[DETAILS];
} Details;

static void release_error(struct AdbcError *e) {
    adbc_free(e->message);
    e->message = NULL;
    if (e->vendor_code == ADBC_ERROR_VENDOR_CODE_PRIVATE_DATA && e->private_data) {
        Details *d = e->private_data;
        for (int i = 0; i < d->n; i++) adbc_free(d->values[i]);
        mem_free(NULL, d, (int64_t)sizeof *d);
        e->private_data = NULL;
    }
    e->release = NULL;
}

static void set_error(struct AdbcError *e, const char *sqlstate, const char *message) {
    if (!e) return;
    if (e->release) e->release(e);
    e->message = adbc_copy(message);
    memcpy(e->sqlstate, sqlstate, 5);
    e->release = release_error;
    if (e->vendor_code == ADBC_ERROR_VENDOR_CODE_PRIVATE_DATA) e->private_data = NULL;
}

AdbcStatusCode adbc_fail(struct AdbcError *e, AdbcStatusCode code, const char *fmt, ...) {
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    set_error(e, code == ADBC_STATUS_NOT_IMPLEMENTED ? "0A000" : "HY000", text);
    return code;
}

static AdbcStatusCode code_of(const char *sqlstate) {
    static const struct {
        const char *state; /* a SQLSTATE or a class */
        AdbcStatusCode code;
    } codes[] = {{"42P01", ADBC_STATUS_NOT_FOUND},      {"42703", ADBC_STATUS_NOT_FOUND},
                 {"42883", ADBC_STATUS_NOT_FOUND},      {"42704", ADBC_STATUS_NOT_FOUND},
                 {"58P01", ADBC_STATUS_NOT_FOUND},      {"42P07", ADBC_STATUS_ALREADY_EXISTS},
                 {"42710", ADBC_STATUS_ALREADY_EXISTS}, {"42501", ADBC_STATUS_UNAUTHORIZED},
                 {"57014", ADBC_STATUS_CANCELLED},      {"55P03", ADBC_STATUS_TIMEOUT},
                 {"0A", ADBC_STATUS_NOT_IMPLEMENTED},   {"22", ADBC_STATUS_INVALID_DATA},
                 {"23", ADBC_STATUS_INTEGRITY},         {"25", ADBC_STATUS_INVALID_STATE},
                 {"40", ADBC_STATUS_INVALID_STATE},     {"42", ADBC_STATUS_INVALID_ARGUMENT},
                 {"55", ADBC_STATUS_INVALID_STATE},     {"58", ADBC_STATUS_IO}};
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (strncmp(sqlstate, codes[i].state, strlen(codes[i].state)) == 0) return codes[i].code;
    return ADBC_STATUS_INTERNAL;
}

AdbcStatusCode adbc_failed_info(struct AdbcError *e, const stele_error_info *info) {
    set_error(e, info->sqlstate, info->message);
    if (!e || e->vendor_code != ADBC_ERROR_VENDOR_CODE_PRIVATE_DATA) return code_of(info->sqlstate);
    const char *const keys[DETAILS] = {"detail", "hint", "context", "table_name", "column_name", "constraint_name"};
    const char *const values[DETAILS] = {info->detail,     info->hint,        info->context,
                                         info->table_name, info->column_name, info->constraint_name};
    Details *d = mem_calloc(NULL, (int64_t)sizeof *d, NULL);
    for (int i = 0; d && i < DETAILS; i++) {
        char *copy = *values[i] ? adbc_copy(values[i]) : NULL;
        if (!copy) continue;
        d->keys[d->n] = keys[i];
        d->values[d->n++] = copy;
    }
    e->private_data = d;
    return code_of(info->sqlstate);
}
AdbcStatusCode adbc_failed(struct AdbcError *e, stele_conn *c) {
    stele_error_info info;
    stele_error(c, &info);
    return adbc_failed_info(e, &info);
}

static const Details *details_of(const struct AdbcError *e) {
    return e->vendor_code == ADBC_ERROR_VENDOR_CODE_PRIVATE_DATA && e->release == release_error ? e->private_data
                                                                                                : NULL;
}
int adbc_error_detail_count(const struct AdbcError *e) {
    const Details *d = details_of(e);
    return d ? d->n : 0;
}
struct AdbcErrorDetail adbc_error_detail(const struct AdbcError *e, int i) {
    const Details *d = details_of(e);
    if (!d || i < 0 || i >= d->n) return (struct AdbcErrorDetail){NULL, NULL, 0};
    return (struct AdbcErrorDetail){d->keys[i], (const uint8_t *)d->values[i], strlen(d->values[i])};
}

/* ---- databases ------------------------------------------------------------------------------------- */

static AdbcStatusCode database_new(struct AdbcDatabase *x, struct AdbcError *e) {
    x->private_data = mem_calloc(NULL, (int64_t)sizeof(AdbcDb), NULL);
    return x->private_data ? ADBC_STATUS_OK : adbc_fail(e, ADBC_STATUS_INTERNAL, "out of memory");
}

static AdbcStatusCode database_set_option(struct AdbcDatabase *x, const char *key, const char *value,
                                          struct AdbcError *e) {
    AdbcDb *d = x->private_data;
    bool on = value && strcmp(value, ADBC_OPTION_VALUE_ENABLED) == 0;
    if (!d) return adbc_fail(e, ADBC_STATUS_INVALID_STATE, "the database has not been made");
    if (d->db) return adbc_fail(e, ADBC_STATUS_INVALID_STATE, "option \"%s\": the database is open", key);
    if (strcmp(key, "uri") == 0 || strcmp(key, "path") == 0) {
        adbc_free(d->path);
        d->path = adbc_copy(value ? value : ":memory:");
        return d->path ? ADBC_STATUS_OK : adbc_fail(e, ADBC_STATUS_INTERNAL, "out of memory");
    }
    if (strcmp(key, "stele.threads") == 0) d->options.threads = (int32_t)strtol(value ? value : "0", NULL, 10);
    else if (strcmp(key, "stele.memory_limit") == 0) d->options.memory_limit = strtoll(value ? value : "0", NULL, 10);
    else if (strcmp(key, "stele.read_only") == 0) d->options.read_only = on;
    else if (strcmp(key, "stele.existing") == 0) d->options.existing = on;
    else return adbc_fail(e, ADBC_STATUS_NOT_IMPLEMENTED, "there is no database option \"%s\"", key);
    return ADBC_STATUS_OK;
}

static AdbcStatusCode database_init(struct AdbcDatabase *x, struct AdbcError *e) {
    AdbcDb *d = x->private_data;
    stele_error_info info;
    if (!d || d->db) return adbc_fail(e, ADBC_STATUS_INVALID_STATE, "the database is open, or has not been made");
    return stele_open(d->path, &d->options, &d->db, &info) == STELE_OK ? ADBC_STATUS_OK : adbc_failed_info(e, &info);
}

static AdbcStatusCode database_release(struct AdbcDatabase *x, struct AdbcError *e) {
    AdbcDb *d = x->private_data;
    stele_error_info info;
    if (!d) return adbc_fail(e, ADBC_STATUS_INVALID_STATE, "the database has been released");
    if (stele_close(d->db, &info) != STELE_OK) return adbc_failed_info(e, &info);
    adbc_free(d->path);
    mem_free(NULL, d, (int64_t)sizeof *d);
    x->private_data = NULL;
    return ADBC_STATUS_OK;
}

/* ---- connections ----------------------------------------------------------------------------------- */

static AdbcStatusCode connection_new(struct AdbcConnection *x, struct AdbcError *e) {
    AdbcConn *c = x->private_data = mem_calloc(NULL, (int64_t)sizeof(AdbcConn), NULL);
    if (!c) return adbc_fail(e, ADBC_STATUS_INTERNAL, "out of memory");
    c->autocommit = true;
    return ADBC_STATUS_OK;
}

static AdbcStatusCode simple(AdbcConn *c, const char *sql, struct AdbcError *e) {
    return stele_exec(c->conn, sql, NULL, NULL) == STELE_OK ? ADBC_STATUS_OK : adbc_failed(e, c->conn);
}

static AdbcStatusCode connection_set_option(struct AdbcConnection *x, const char *key, const char *value,
                                            struct AdbcError *e) {
    AdbcConn *c = x->private_data;
    if (!c) return adbc_fail(e, ADBC_STATUS_INVALID_STATE, "the connection has not been made");
    bool on = value && strcmp(value, ADBC_OPTION_VALUE_ENABLED) == 0;
    if (!on && (!value || strcmp(value, ADBC_OPTION_VALUE_DISABLED) != 0))
        return adbc_fail(e, ADBC_STATUS_NOT_IMPLEMENTED, "there is no connection option \"%s\" with that value", key);
    if (strcmp(key, ADBC_CONNECTION_OPTION_AUTOCOMMIT) == 0) {
        if (on && c->conn && stele_transaction_state(c->conn) != 'I') {
            AdbcStatusCode code = simple(c, "commit", e);
            if (code != ADBC_STATUS_OK) return code;
        }
        c->autocommit = on;
        return ADBC_STATUS_OK;
    }
    if (strcmp(key, ADBC_CONNECTION_OPTION_READ_ONLY) == 0) {
        c->read_only = on;
        return c->conn
                   ? simple(c, on ? "set default_transaction_read_only = on" : "reset default_transaction_read_only", e)
                   : ADBC_STATUS_OK;
    }
    return adbc_fail(e, ADBC_STATUS_NOT_IMPLEMENTED, "there is no connection option \"%s\"", key);
}

static AdbcStatusCode connection_init(struct AdbcConnection *x, struct AdbcDatabase *database, struct AdbcError *e) {
    AdbcConn *c = x->private_data;
    const AdbcDb *d = database->private_data;
    if (!c || c->conn || !d || !d->db)
        return adbc_fail(e, ADBC_STATUS_INVALID_STATE, "the connection is open, or the database is not");
    if (stele_connect(d->db, &c->conn) != STELE_OK) return adbc_fail(e, ADBC_STATUS_INTERNAL, "out of memory");
    return c->read_only ? simple(c, "set default_transaction_read_only = on", e) : ADBC_STATUS_OK;
}

static AdbcStatusCode connection_release(struct AdbcConnection *x, struct AdbcError *e) {
    AdbcConn *c = x->private_data;
    if (!c) return adbc_fail(e, ADBC_STATUS_INVALID_STATE, "the connection has been released");
    stele_disconnect(c->conn);
    mem_free(NULL, c, (int64_t)sizeof *c);
    x->private_data = NULL;
    return ADBC_STATUS_OK;
}

static AdbcConn *connected(struct AdbcConnection *x, struct AdbcError *e) {
    AdbcConn *c = x->private_data;
    if (c && c->conn) return c;
    (void)adbc_fail(e, ADBC_STATUS_INVALID_STATE, "the connection is not open");
    return NULL;
}

AdbcStatusCode adbc_begin(AdbcConn *c, struct AdbcError *e) {
    return c->autocommit || stele_transaction_state(c->conn) != 'I' ? ADBC_STATUS_OK : simple(c, "begin", e);
}

static AdbcStatusCode end_transaction(struct AdbcConnection *x, const char *sql, struct AdbcError *e) {
    AdbcConn *c = connected(x, e);
    if (!c) return ADBC_STATUS_INVALID_STATE;
    if (c->autocommit)
        return adbc_fail(e, ADBC_STATUS_INVALID_STATE, "%s: there is no transaction, autocommit is enabled", sql);
    return stele_transaction_state(c->conn) == 'I' ? ADBC_STATUS_OK : simple(c, sql, e);
}
static AdbcStatusCode connection_commit(struct AdbcConnection *x, struct AdbcError *e) {
    return end_transaction(x, "commit", e);
}
static AdbcStatusCode connection_rollback(struct AdbcConnection *x, struct AdbcError *e) {
    return end_transaction(x, "rollback", e);
}

static AdbcStatusCode connection_cancel(struct AdbcConnection *x, struct AdbcError *e) {
    AdbcConn *c = connected(x, e);
    if (!c) return ADBC_STATUS_INVALID_STATE;
    stele_interrupt(c->conn);
    return ADBC_STATUS_OK;
}

static AdbcStatusCode table_types(struct AdbcConnection *x, struct ArrowArrayStream *out, struct AdbcError *e) {
    AdbcConn *c = connected(x, e);
    return c ? adbc_query(c, "select t as table_type from (values ('table'), ('view')) as v (t)", out, e)
             : ADBC_STATUS_INVALID_STATE;
}

static AdbcStatusCode table_schema(struct AdbcConnection *x, const char *catalog, const char *schema, const char *table,
                                   struct ArrowSchema *out, struct AdbcError *e) {
    AdbcConn *c = connected(x, e);
    (void)catalog;
    if (!c) return ADBC_STATUS_INVALID_STATE;
    if (schema && *schema && strcmp(schema, "public") != 0)
        return adbc_fail(e, ADBC_STATUS_NOT_FOUND, "there is no schema \"%s\"", schema);
    Arena *a = arena_new(NULL, NULL);
    char *name = a ? quote_name(a, table) : NULL, *sql = name ? arena_printf(a, "select * from %s", name) : NULL;
    AdbcStatusCode code = sql ? adbc_query_schema(c, sql, out, e) : adbc_fail(e, ADBC_STATUS_INTERNAL, "out of memory");
    arena_free(a);
    return code;
}

/* ---- the driver ------------------------------------------------------------------------------------ */

static AdbcStatusCode driver_release(struct AdbcDriver *d, struct AdbcError *e) {
    (void)d, (void)e;
    return ADBC_STATUS_OK;
}

uint8_t AdbcDriverInit(int version, void *driver, struct AdbcError *e) {
    if (version != ADBC_VERSION_1_0_0 && version != ADBC_VERSION_1_1_0)
        return adbc_fail(e, ADBC_STATUS_NOT_IMPLEMENTED, "revision %d of ADBC is not supported", version);
    struct AdbcDriver *d = driver;
    memset(d, 0, version == ADBC_VERSION_1_0_0 ? ADBC_DRIVER_1_0_0_SIZE : ADBC_DRIVER_1_1_0_SIZE);
    d->release = driver_release;
    d->DatabaseNew = database_new;
    d->DatabaseSetOption = database_set_option;
    d->DatabaseInit = database_init;
    d->DatabaseRelease = database_release;
    d->ConnectionNew = connection_new;
    d->ConnectionSetOption = connection_set_option;
    d->ConnectionInit = connection_init;
    d->ConnectionRelease = connection_release;
    d->ConnectionCommit = connection_commit;
    d->ConnectionRollback = connection_rollback;
    d->ConnectionGetInfo = adbc_get_info;
    d->ConnectionGetObjects = adbc_get_objects;
    d->ConnectionGetTableSchema = table_schema;
    d->ConnectionGetTableTypes = table_types;
    d->StatementNew = adbc_statement_new;
    d->StatementRelease = adbc_statement_release;
    d->StatementSetSqlQuery = adbc_statement_set_sql;
    d->StatementPrepare = adbc_statement_prepare;
    d->StatementSetOption = adbc_statement_set_option;
    d->StatementBind = adbc_statement_bind;
    d->StatementBindStream = adbc_statement_bind_stream;
    d->StatementExecuteQuery = adbc_statement_execute;
    d->StatementGetParameterSchema = adbc_statement_parameters;
    if (version == ADBC_VERSION_1_0_0) return ADBC_STATUS_OK;
    d->ErrorGetDetailCount = adbc_error_detail_count;
    d->ErrorGetDetail = adbc_error_detail;
    d->ConnectionCancel = connection_cancel;
    d->StatementCancel = adbc_statement_cancel;
    d->StatementExecuteSchema = adbc_statement_execute_schema;
    /* NULL stay: partitions (StatementExecutePartitions, ConnectionReadPartition), StatementSetSubstraitPlan,
     * statistics, options that are read back or are no text, and ErrorFromArrayStream. ADBC's driver manager has a list
     * of functions that a driver must have, and refuses one without them; in place of others it puts one that says
     * ADBC_STATUS_NOT_IMPLEMENTED. */
    return ADBC_STATUS_OK;
}

uint8_t AdbcDriverSteleInit(int version, void *driver, struct AdbcError *e) {
    return AdbcDriverInit(version, driver, e);
}
