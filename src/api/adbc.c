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
    AdbcDb *d = mem_calloc(NULL, (int64_t)sizeof(AdbcDb), NULL);
    if (d && mutex_init(&d->lock, RANK_ADBC)) {
        x->private_data = d;
        return ADBC_STATUS_OK;
    }
    if (d) mem_free(NULL, d, (int64_t)sizeof *d);
    return adbc_fail(e, ADBC_STATUS_INTERNAL, "out of memory");
}

bool adbc_database_option(const AdbcDb *d, const char *key, AdbcOption *out) {
    if (strcmp(key, ADBC_OPTION_URI) == 0 || strcmp(key, "path") == 0)
        *out = (AdbcOption){.kind = ADBC_OPT_TEXT, .text = d->path ? d->path : ":memory:"};
    else if (strcmp(key, "stele.threads") == 0) *out = (AdbcOption){.kind = ADBC_OPT_INT, .number = d->options.threads};
    else if (strcmp(key, "stele.memory_limit") == 0)
        *out = (AdbcOption){.kind = ADBC_OPT_INT, .number = d->options.memory_limit};
    else if (strcmp(key, "stele.read_only") == 0)
        *out = (AdbcOption){.kind = ADBC_OPT_BOOL, .number = d->options.read_only};
    else if (strcmp(key, "stele.existing") == 0)
        *out = (AdbcOption){.kind = ADBC_OPT_BOOL, .number = d->options.existing};
    else return false;
    return true;
}

/* A number or a boolean. */
static AdbcStatusCode set_database_value(AdbcDb *d, const char *key, const char *value, struct AdbcError *e) {
    AdbcOption o;
    int64_t n = 0;
    bool on = false, ok = adbc_database_option(d, key, &o);
    if (!ok) return adbc_fail(e, ADBC_STATUS_NOT_IMPLEMENTED, "there is no database option \"%s\"", key);
    ok = o.kind == ADBC_OPT_BOOL ? adbc_parse_bool(value, &on) : adbc_parse_int(value, &n) && n >= 0;
    if (ok && strcmp(key, "stele.threads") == 0) ok = n <= INT32_MAX;
    if (!ok) return adbc_bad_value(e, key, value);
    if (strcmp(key, "stele.threads") == 0) d->options.threads = (int32_t)n;
    else if (strcmp(key, "stele.memory_limit") == 0) d->options.memory_limit = n;
    else if (strcmp(key, "stele.read_only") == 0) d->options.read_only = on;
    else d->options.existing = on;
    return ADBC_STATUS_OK;
}

AdbcStatusCode adbc_database_set_option(struct AdbcDatabase *x, const char *key, const char *value,
                                        struct AdbcError *e) {
    AdbcDb *d = x->private_data;
    if (!d) return adbc_fail(e, ADBC_STATUS_INVALID_STATE, "the database has not been made");
    if (d->db) return adbc_fail(e, ADBC_STATUS_INVALID_STATE, "option \"%s\": the database is open", key);
    bool path = strcmp(key, ADBC_OPTION_URI) == 0 || strcmp(key, "path") == 0;
    char *copy = path ? adbc_copy(value ? value : ":memory:") : NULL;
    if (path && !copy) return adbc_fail(e, ADBC_STATUS_INTERNAL, "out of memory");
    AdbcStatusCode code = ADBC_STATUS_OK;
    mutex_lock(&d->lock);
    if (path) {
        adbc_free(d->path);
        d->path = copy;
    } else {
        code = set_database_value(d, key, value, e);
    }
    mutex_unlock(&d->lock);
    return code;
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
    mutex_destroy(&d->lock);
    mem_free(NULL, d, (int64_t)sizeof *d);
    x->private_data = NULL;
    return ADBC_STATUS_OK;
}

/* ---- connections ----------------------------------------------------------------------------------- */

static AdbcStatusCode connection_new(struct AdbcConnection *x, struct AdbcError *e) {
    AdbcConn *c = mem_calloc(NULL, (int64_t)sizeof(AdbcConn), NULL);
    if (c && mutex_init(&c->lock, RANK_ADBC)) {
        c->autocommit = true;
        x->private_data = c;
        return ADBC_STATUS_OK;
    }
    if (c) mem_free(NULL, c, (int64_t)sizeof *c);
    return adbc_fail(e, ADBC_STATUS_INTERNAL, "out of memory");
}

static AdbcStatusCode simple(const AdbcConn *c, const char *sql, struct AdbcError *e) {
    return stele_exec(c->conn, sql, NULL, NULL) == STELE_OK ? ADBC_STATUS_OK : adbc_failed(e, c->conn);
}

/* Snapshot isolation is PostgreSQL's repeatable read. Levels may give more than their names promise. */
static const struct {
    const char *name, *sql;
} isolations[] = {
    {ADBC_OPTION_ISOLATION_LEVEL_DEFAULT, "reset default_transaction_isolation"},
    {ADBC_OPTION_ISOLATION_LEVEL_READ_UNCOMMITTED, "set default_transaction_isolation = 'read uncommitted'"},
    {ADBC_OPTION_ISOLATION_LEVEL_READ_COMMITTED, "set default_transaction_isolation = 'read committed'"},
    {ADBC_OPTION_ISOLATION_LEVEL_REPEATABLE_READ, "set default_transaction_isolation = 'repeatable read'"},
    {ADBC_OPTION_ISOLATION_LEVEL_SNAPSHOT, "set default_transaction_isolation = 'repeatable read'"},
    {ADBC_OPTION_ISOLATION_LEVEL_SERIALIZABLE, "set default_transaction_isolation = 'serializable'"}};

bool adbc_connection_option(const AdbcConn *c, const char *key, AdbcOption *out) {
    if (strcmp(key, ADBC_CONNECTION_OPTION_AUTOCOMMIT) == 0)
        *out = (AdbcOption){.kind = ADBC_OPT_BOOL, .number = c->autocommit};
    else if (strcmp(key, ADBC_CONNECTION_OPTION_READ_ONLY) == 0)
        *out = (AdbcOption){.kind = ADBC_OPT_BOOL, .number = c->read_only};
    else if (strcmp(key, ADBC_CONNECTION_OPTION_ISOLATION_LEVEL) == 0)
        *out = (AdbcOption){.kind = ADBC_OPT_TEXT, .text = isolations[c->isolation].name};
    else if (strcmp(key, ADBC_CONNECTION_OPTION_CURRENT_CATALOG) == 0 && c->conn)
        *out = (AdbcOption){.kind = ADBC_OPT_TEXT, .text = c->conn->s->info.database};
    else if (strcmp(key, ADBC_CONNECTION_OPTION_CURRENT_DB_SCHEMA) == 0)
        *out = (AdbcOption){.kind = ADBC_OPT_TEXT, .text = "public"};
    else return false;
    return true;
}

static AdbcStatusCode set_autocommit(AdbcConn *c, bool on, struct AdbcError *e) {
    AdbcStatusCode code = ADBC_STATUS_OK;
    if (on && c->conn && stele_transaction_state(c->conn) != 'I') code = simple(c, "commit", e);
    if (code == ADBC_STATUS_OK) c->autocommit = on;
    return code;
}

static AdbcStatusCode set_isolation(AdbcConn *c, const char *value, struct AdbcError *e) {
    int n = (int)(sizeof isolations / sizeof *isolations), i = 0;
    while (i < n && (!value || strcmp(isolations[i].name, value) != 0)) i++;
    if (i == n)
        return adbc_fail(e, ADBC_STATUS_NOT_IMPLEMENTED, "there is no isolation level \"%s\"", value ? value : "");
    AdbcStatusCode code = c->conn ? simple(c, isolations[i].sql, e) : ADBC_STATUS_OK;
    if (code == ADBC_STATUS_OK) c->isolation = i;
    return code;
}

static AdbcStatusCode set_read_only(AdbcConn *c, bool on, struct AdbcError *e) {
    const char *sql = on ? "set default_transaction_read_only = on" : "reset default_transaction_read_only";
    AdbcStatusCode code = c->conn ? simple(c, sql, e) : ADBC_STATUS_OK;
    if (code == ADBC_STATUS_OK) c->read_only = on;
    return code;
}

/* There is one catalog, the database, and one schema. */
static AdbcStatusCode set_current(const AdbcConn *c, const char *key, const char *value, struct AdbcError *e) {
    AdbcOption o;
    if (!adbc_connection_option(c, key, &o))
        return adbc_fail(e, ADBC_STATUS_INVALID_STATE, "option \"%s\": the connection is not open", key);
    if (value && strcmp(value, o.text) == 0) return ADBC_STATUS_OK;
    return adbc_fail(e, ADBC_STATUS_NOT_FOUND, "option \"%s\" has one value here, \"%s\"", key, o.text);
}

AdbcStatusCode adbc_connection_set_option(struct AdbcConnection *x, const char *key, const char *value,
                                          struct AdbcError *e) {
    AdbcConn *c = x->private_data;
    bool on;
    if (!c) return adbc_fail(e, ADBC_STATUS_INVALID_STATE, "the connection has not been made");
    if (strcmp(key, ADBC_CONNECTION_OPTION_ISOLATION_LEVEL) == 0) return set_isolation(c, value, e);
    if (strcmp(key, ADBC_CONNECTION_OPTION_CURRENT_CATALOG) == 0 ||
        strcmp(key, ADBC_CONNECTION_OPTION_CURRENT_DB_SCHEMA) == 0)
        return set_current(c, key, value, e);
    bool autocommit = strcmp(key, ADBC_CONNECTION_OPTION_AUTOCOMMIT) == 0;
    if (!autocommit && strcmp(key, ADBC_CONNECTION_OPTION_READ_ONLY) != 0)
        return adbc_fail(e, ADBC_STATUS_NOT_IMPLEMENTED, "there is no connection option \"%s\"", key);
    if (!adbc_parse_bool(value, &on)) return adbc_bad_value(e, key, value);
    return autocommit ? set_autocommit(c, on, e) : set_read_only(c, on, e);
}

static bool on_progress(void *ctx, double fraction) {
    AdbcConn *c = ctx;
    c->progress = (int64_t)(fraction * 1e6);
    return false;
}

static AdbcStatusCode connection_init(struct AdbcConnection *x, struct AdbcDatabase *database, struct AdbcError *e) {
    AdbcConn *c = x->private_data;
    const AdbcDb *d = database->private_data;
    stele_conn *conn;
    if (!c || c->conn || !d || !d->db)
        return adbc_fail(e, ADBC_STATUS_INVALID_STATE, "the connection is open, or the database is not");
    if (stele_connect(d->db, &conn) != STELE_OK) return adbc_fail(e, ADBC_STATUS_INTERNAL, "out of memory");
    stele_set_progress(conn, on_progress, c);
    mutex_lock(&c->lock);
    c->conn = conn;
    mutex_unlock(&c->lock);
    AdbcStatusCode code = c->read_only ? set_read_only(c, true, e) : ADBC_STATUS_OK;
    return code == ADBC_STATUS_OK && c->isolation ? simple(c, isolations[c->isolation].sql, e) : code;
}

static AdbcStatusCode connection_release(struct AdbcConnection *x, struct AdbcError *e) {
    AdbcConn *c = x->private_data;
    if (!c) return adbc_fail(e, ADBC_STATUS_INVALID_STATE, "the connection has been released");
    stele_disconnect(c->conn);
    mutex_destroy(&c->lock);
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
    Arena *a = arena_new(NULL, NULL);
    const bool in = schema && *schema;
    const char *key = !a ? NULL : in ? key_make(a, schema, table) : table;
    char *name = !key ? NULL
                 : in ? quote_relation(a, key)
                      : quote_name(a, key),
         *sql = name ? arena_printf(a, "select * from %s", name) : NULL;
    AdbcStatusCode code = sql ? adbc_query_schema(c, sql, out, e) : adbc_fail(e, ADBC_STATUS_INTERNAL, "out of memory");
    arena_free(a);
    return code;
}

/* ---- what this driver has not ---------------------------------------------------------------------- */

static AdbcStatusCode execute_partitions(struct AdbcStatement *s, struct ArrowSchema *schema,
                                         struct AdbcPartitions *partitions, int64_t *rows, struct AdbcError *e) {
    (void)s, (void)schema, (void)partitions, (void)rows;
    return adbc_fail(e, ADBC_STATUS_NOT_IMPLEMENTED, "results have no partitions: a database lives in one process");
}
static AdbcStatusCode read_partition(struct AdbcConnection *c, const uint8_t *partition, size_t n,
                                     struct ArrowArrayStream *out, struct AdbcError *e) {
    (void)c, (void)partition, (void)n, (void)out;
    return adbc_fail(e, ADBC_STATUS_NOT_IMPLEMENTED, "results have no partitions: a database lives in one process");
}
static AdbcStatusCode set_substrait(struct AdbcStatement *s, const uint8_t *plan, size_t n, struct AdbcError *e) {
    (void)s, (void)plan, (void)n;
    return adbc_fail(e, ADBC_STATUS_NOT_IMPLEMENTED, "statements are SQL; Substrait plans are not supported");
}

/* ---- the driver ------------------------------------------------------------------------------------ */

static AdbcStatusCode driver_release(struct AdbcDriver *d, struct AdbcError *e) {
    (void)d, (void)e;
    return ADBC_STATUS_OK;
}

/* What revision 1.1 has more. */
static void fill_1_1(struct AdbcDriver *d) {
    d->ErrorGetDetailCount = adbc_error_detail_count;
    d->ErrorGetDetail = adbc_error_detail;
    d->ConnectionCancel = connection_cancel;
    d->StatementCancel = adbc_statement_cancel;
    d->StatementExecuteSchema = adbc_statement_execute_schema;
    d->ErrorFromArrayStream = adbc_error_of_stream;
    d->ConnectionGetStatistics = adbc_get_statistics;
    d->ConnectionGetStatisticNames = adbc_get_statistic_names;
    d->DatabaseGetOption = adbc_database_get_text;
    d->DatabaseGetOptionBytes = adbc_database_get_bytes;
    d->DatabaseGetOptionInt = adbc_database_get_int;
    d->DatabaseGetOptionDouble = adbc_database_get_double;
    d->DatabaseSetOptionBytes = adbc_database_set_bytes;
    d->DatabaseSetOptionInt = adbc_database_set_int;
    d->DatabaseSetOptionDouble = adbc_database_set_double;
    d->ConnectionGetOption = adbc_connection_get_text;
    d->ConnectionGetOptionBytes = adbc_connection_get_bytes;
    d->ConnectionGetOptionInt = adbc_connection_get_int;
    d->ConnectionGetOptionDouble = adbc_connection_get_double;
    d->ConnectionSetOptionBytes = adbc_connection_set_bytes;
    d->ConnectionSetOptionInt = adbc_connection_set_int;
    d->ConnectionSetOptionDouble = adbc_connection_set_double;
    d->StatementGetOption = adbc_statement_get_text;
    d->StatementGetOptionBytes = adbc_statement_get_bytes;
    d->StatementGetOptionInt = adbc_statement_get_int;
    d->StatementGetOptionDouble = adbc_statement_get_double;
    d->StatementSetOptionBytes = adbc_statement_set_bytes;
    d->StatementSetOptionInt = adbc_statement_set_int;
    d->StatementSetOptionDouble = adbc_statement_set_double;
}

uint8_t AdbcDriverInit(int version, void *driver, struct AdbcError *e) {
    if (version != ADBC_VERSION_1_0_0 && version != ADBC_VERSION_1_1_0)
        return adbc_fail(e, ADBC_STATUS_NOT_IMPLEMENTED, "revision %d of ADBC is not supported", version);
    struct AdbcDriver *d = driver;
    memset(d, 0, version == ADBC_VERSION_1_0_0 ? ADBC_DRIVER_1_0_0_SIZE : ADBC_DRIVER_1_1_0_SIZE);
    d->release = driver_release;
    d->DatabaseNew = database_new;
    d->DatabaseSetOption = adbc_database_set_option;
    d->DatabaseInit = database_init;
    d->DatabaseRelease = database_release;
    d->ConnectionNew = connection_new;
    d->ConnectionSetOption = adbc_connection_set_option;
    d->ConnectionReadPartition = read_partition;
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
    d->StatementExecutePartitions = execute_partitions;
    d->StatementSetSubstraitPlan = set_substrait;
    d->StatementGetParameterSchema = adbc_statement_parameters;
    if (version != ADBC_VERSION_1_0_0) fill_1_1(d);
    return ADBC_STATUS_OK;
}

uint8_t AdbcDriverSteleInit(int version, void *driver, struct AdbcError *e) {
    return AdbcDriverInit(version, driver, e);
}
