/* adbc_statement.c - ADBC statements: queries with and without parameters, and ingestion as appenders do it.
 *
 * Bound batches become cells at once (sql/plan/client_rows.h), in the types that their columns have in SQL; a statement
 * runs once for each of their rows. The result of one run is computed as it is taken (adbc_stream.c); those of several
 * are batches that lie in memory: each is a stream of its own, and they follow each other.
 */
#include <stdio.h>
#include <stdlib.h>

#include "api/adbc_int.h"
#include "io/arrow.h"
#include "api/value_int.h"
#include "sql/plan/client_rows.h"

static Err *err_of(const AdbcStmt *x) { return &x->c->conn->s->err; }

AdbcStatusCode adbc_statement_new(struct AdbcConnection *c, struct AdbcStatement *s, struct AdbcError *e) {
    AdbcConn *conn = c->private_data;
    if (!conn || !conn->conn) return adbc_fail(e, ADBC_STATUS_INVALID_STATE, "the connection is not open");
    AdbcStmt *x = mem_calloc(NULL, (int64_t)sizeof(AdbcStmt), NULL);
    if (x && mutex_init(&x->lock, RANK_ADBC)) {
        x->c = conn;
        s->private_data = x;
        return ADBC_STATUS_OK;
    }
    if (x) mem_free(NULL, x, (int64_t)sizeof *x);
    return adbc_fail(e, ADBC_STATUS_INTERNAL, "out of memory");
}

AdbcStatusCode adbc_statement_release(struct AdbcStatement *s, struct AdbcError *e) {
    AdbcStmt *x = s->private_data;
    if (!x) return adbc_fail(e, ADBC_STATUS_INVALID_STATE, "the statement has been released");
    stele_finalize(x->stmt);
    client_rows_unref(x->rows);
    adbc_free(x->sql);
    adbc_free(x->target);
    adbc_free(x->mode);
    mutex_destroy(&x->lock);
    mem_free(NULL, x, (int64_t)sizeof *x);
    s->private_data = NULL;
    return ADBC_STATUS_OK;
}

static AdbcStatusCode keep(AdbcStmt *x, char **to, const char *text, struct AdbcError *e) {
    char *copy = text ? adbc_copy(text) : NULL;
    if (text && !copy) return adbc_fail(e, ADBC_STATUS_INTERNAL, "out of memory");
    mutex_lock(&x->lock);
    adbc_free(*to);
    *to = copy;
    mutex_unlock(&x->lock);
    return ADBC_STATUS_OK;
}

AdbcStatusCode adbc_statement_set_sql(struct AdbcStatement *s, const char *sql, struct AdbcError *e) {
    AdbcStmt *x = s->private_data;
    stele_finalize(x->stmt);
    x->stmt = NULL;
    (void)keep(x, &x->target, NULL, e);
    return keep(x, &x->sql, sql, e);
}

bool adbc_statement_option(const AdbcStmt *x, const char *key, AdbcOption *out) {
    if (strcmp(key, ADBC_INGEST_OPTION_TARGET_TABLE) == 0)
        *out = (AdbcOption){.kind = ADBC_OPT_TEXT, .text = x->target ? x->target : ""};
    else if (strcmp(key, ADBC_INGEST_OPTION_MODE) == 0)
        *out = (AdbcOption){.kind = ADBC_OPT_TEXT, .text = x->mode ? x->mode : ADBC_INGEST_OPTION_MODE_CREATE};
    else if (strcmp(key, ADBC_INGEST_OPTION_TARGET_CATALOG) == 0)
        *out = (AdbcOption){.kind = ADBC_OPT_TEXT, .text = x->c->conn->s->info.database};
    else if (strcmp(key, ADBC_INGEST_OPTION_TARGET_DB_SCHEMA) == 0)
        *out = (AdbcOption){.kind = ADBC_OPT_TEXT, .text = "public"};
    else if (strcmp(key, ADBC_INGEST_OPTION_TEMPORARY) == 0)
        *out = (AdbcOption){.kind = ADBC_OPT_BOOL, .number = x->temporary};
    else if (strcmp(key, ADBC_STATEMENT_OPTION_INCREMENTAL) == 0) *out = (AdbcOption){.kind = ADBC_OPT_BOOL};
    else if (strcmp(key, ADBC_STATEMENT_OPTION_PROGRESS) == 0)
        *out = (AdbcOption){.kind = ADBC_OPT_DOUBLE, .real = (double)x->c->progress / 1e6};
    else if (strcmp(key, ADBC_STATEMENT_OPTION_MAX_PROGRESS) == 0)
        *out = (AdbcOption){.kind = ADBC_OPT_DOUBLE, .real = 1};
    else return false;
    return true;
}

/* Options with one value that is possible. */
static AdbcStatusCode set_fixed(const AdbcStmt *x, const char *key, const char *value, struct AdbcError *e) {
    AdbcOption o;
    bool on;
    if (!adbc_statement_option(x, key, &o) || o.kind == ADBC_OPT_DOUBLE)
        return adbc_fail(e, ADBC_STATUS_NOT_IMPLEMENTED, "there is no statement option \"%s\" that can be set", key);
    if (o.kind == ADBC_OPT_TEXT && (!value || strcmp(value, o.text) == 0)) return ADBC_STATUS_OK;
    if (o.kind == ADBC_OPT_TEXT)
        return adbc_fail(e, ADBC_STATUS_NOT_FOUND, "option \"%s\" has one value here, \"%s\"", key, o.text);
    if (!value) return ADBC_STATUS_OK;
    if (!adbc_parse_bool(value, &on)) return adbc_bad_value(e, key, value);
    if (!on) return ADBC_STATUS_OK;
    return adbc_fail(e, ADBC_STATUS_NOT_IMPLEMENTED,
                     "incremental execution is of partitioned results, which there are none of");
}

AdbcStatusCode adbc_statement_set_option(struct AdbcStatement *s, const char *key, const char *value,
                                         struct AdbcError *e) {
    AdbcStmt *x = s->private_data;
    if (strcmp(key, ADBC_INGEST_OPTION_TARGET_TABLE) == 0) {
        stele_finalize(x->stmt);
        x->stmt = NULL;
        (void)keep(x, &x->sql, NULL, e);
        return keep(x, &x->target, value, e);
    }
    if (strcmp(key, ADBC_INGEST_OPTION_TEMPORARY) == 0) {
        if (value && !adbc_parse_bool(value, &x->temporary)) return adbc_bad_value(e, key, value);
        return ADBC_STATUS_OK;
    }
    return strcmp(key, ADBC_INGEST_OPTION_MODE) == 0 ? keep(x, &x->mode, value, e) : set_fixed(x, key, value, e);
}

AdbcStatusCode adbc_statement_prepare(struct AdbcStatement *s, struct AdbcError *e) {
    AdbcStmt *x = s->private_data;
    if (x->stmt) return ADBC_STATUS_OK;
    if (!x->sql) return adbc_fail(e, ADBC_STATUS_INVALID_STATE, "the statement has no SQL");
    const char *tail;
    stele_stmt *more = NULL;
    AdbcStatusCode code = adbc_begin(x->c, e);
    if (code != ADBC_STATUS_OK) return code;
    if (stele_prepare(x->c->conn, x->sql, -1, &x->stmt, &tail) != STELE_OK) return adbc_failed(e, x->c->conn);
    if (!x->stmt) return adbc_fail(e, ADBC_STATUS_INVALID_ARGUMENT, "the SQL has no statement");
    if (stele_prepare(x->c->conn, tail, -1, &more, NULL) == STELE_OK && !more) return ADBC_STATUS_OK;
    stele_finalize(more);
    stele_finalize(x->stmt);
    x->stmt = NULL;
    return adbc_fail(e, ADBC_STATUS_INVALID_ARGUMENT, "the SQL has more than one statement");
}

AdbcStatusCode adbc_statement_cancel(struct AdbcStatement *s, struct AdbcError *e) {
    AdbcStmt *x = s->private_data;
    (void)e;
    stele_interrupt(x->c->conn);
    return ADBC_STATUS_OK;
}

/* ---- bound rows ---------------------------------------------------------------------------------- */

/* In place of those that were bound. */
static Status rows_begin(AdbcStmt *x) {
    Err *e = err_of(x);
    err_clear(e);
    client_rows_unref(x->rows);
    x->rows = NULL;
    return client_rows_new(&x->c->conn->s->account, "bound rows of a statement", &x->rows, e);
}

static AdbcStatusCode bound(AdbcStmt *x, Status st, struct AdbcError *e) {
    if (st == ST_OK) return ADBC_STATUS_OK;
    if (!err_is_set(err_of(x))) err_oom(err_of(x));
    AdbcStatusCode code = adbc_failed(e, x->c->conn);
    client_rows_unref(x->rows);
    x->rows = NULL;
    return code;
}

AdbcStatusCode adbc_statement_bind(struct AdbcStatement *s, struct ArrowArray *batch, struct ArrowSchema *schema,
                                   struct AdbcError *e) {
    AdbcStmt *x = s->private_data;
    Status st = rows_begin(x);
    if (st == ST_OK) st = arrow_rows_schema(x->rows, schema, err_of(x));
    if (st == ST_OK) st = arrow_rows_add(x->rows, x->rows->n_cols, schema, batch, err_of(x));
    if (batch->release) batch->release(batch);
    if (schema->release) schema->release(schema);
    return bound(x, st, e);
}

AdbcStatusCode adbc_statement_bind_stream(struct AdbcStatement *s, struct ArrowArrayStream *stream,
                                          struct AdbcError *e) {
    AdbcStmt *x = s->private_data;
    Status st = rows_begin(x);
    if (st == ST_OK) st = arrow_rows_stream(x->rows, stream, err_of(x));
    if (stream && stream->release) stream->release(stream);
    return bound(x, st, e);
}

static Value cell_value(const ClientColumn *c, int64_t row) {
    Value v = {.type = c->type, .is_null = c->nulls && !c->valid[row]};
    int64_t size = phys_size(type_phys(c->type));
    if (!v.is_null) memcpy(value_cell(&v), c->cells + row * size, (size_t)size);
    return v;
}

static AdbcStatusCode bind_row(AdbcStmt *x, int64_t row, struct AdbcError *e) {
    const ClientRows *r = x->rows;
    if (r->n_cols != stele_param_count(x->stmt))
        return adbc_fail(e, ADBC_STATUS_INVALID_ARGUMENT, "%d parameters are bound, but the statement has %lld",
                         (int)r->n_cols, (long long)stele_param_count(x->stmt));
    Arena *a = arena_new(&x->c->conn->s->account, err_of(x));
    AdbcStatusCode code = a ? ADBC_STATUS_OK : adbc_failed(e, x->c->conn);
    for (int32_t i = 0; i < r->n_cols && code == ADBC_STATUS_OK; i++) {
        Value v = cell_value(&r->cols[i], row);
        stele_value out;
        if (value_to_client(&v, a, &out) != ST_OK) err_oom(err_of(x));
        else if (stele_bind_value(x->stmt, i + 1, &out) == STELE_OK) continue;
        code = adbc_failed(e, x->c->conn);
    }
    arena_free(a);
    return code;
}

/* ---- results ------------------------------------------------------------------------------------- */

typedef struct Results {
    int64_t n, room, at;
    struct ArrowArrayStream *items; /* a batch each */
} Results;

static void results_free(Results *r) {
    for (int64_t i = 0; i < r->n; i++)
        if (r->items[i].release) r->items[i].release(&r->items[i]);
    if (r->items) mem_free(NULL, r->items, r->room * (int64_t)sizeof *r->items);
    mem_free(NULL, r, (int64_t)sizeof *r);
}
static int results_schema(struct ArrowArrayStream *s, struct ArrowSchema *out) {
    Results *r = s->private_data;
    return r->items[0].get_schema(&r->items[0], out);
}
static int results_next(struct ArrowArrayStream *s, struct ArrowArray *out) {
    Results *r = s->private_data;
    memset(out, 0, sizeof *out);
    for (; r->at < r->n; r->at++) {
        int code = r->items[r->at].get_next(&r->items[r->at], out);
        if (code != 0 || out->release) return code;
    }
    return 0;
}
static const char *results_error(struct ArrowArrayStream *s) {
    (void)s;
    return "out of memory";
}
static void results_release(struct ArrowArrayStream *s) {
    results_free(s->private_data);
    s->release = NULL;
}

/* The result of a run for one of several rows of parameters as one more batch. */
static AdbcStatusCode take_result(const AdbcConn *c, stele_stmt *stmt, Results *r, struct AdbcError *e) {
    struct ArrowSchema schema;
    struct ArrowArray batch;
    if (r->n == r->room) {
        int64_t room = r->room ? 2 * r->room : 1, size = (int64_t)sizeof *r->items;
        struct ArrowArrayStream *more = mem_realloc(NULL, r->items, r->room * size, room * size, NULL);
        if (!more) return adbc_fail(e, ADBC_STATUS_INTERNAL, "out of memory");
        r->items = more;
        r->room = room;
    }
    if (stele_fetch_arrow(stmt, 0, &schema, &batch) == STELE_ERROR) return adbc_failed(e, c->conn);
    stele_status st = stele_arrow_stream(&schema, &batch, &r->items[r->n]);
    schema.release(&schema);
    batch.release(&batch);
    if (st != STELE_OK) return adbc_fail(e, ADBC_STATUS_INTERNAL, "out of memory");
    r->n++;
    return ADBC_STATUS_OK;
}

/* Runs a prepared statement, and takes its result where there is a place for it. */
static AdbcStatusCode run_once(const AdbcConn *c, stele_stmt *stmt, Results *r, int64_t *rows, struct AdbcError *e) {
    stele_reset(stmt);
    if (stele_run(stmt) != STELE_DONE) return adbc_failed(e, c->conn);
    if (stele_column_count(stmt) == 0) *rows += stele_row_count(stmt);
    else *rows = -1;
    return r ? take_result(c, stmt, r, e) : ADBC_STATUS_OK;
}

static AdbcStatusCode run_all(AdbcStmt *x, Results *r, int64_t *rows, struct AdbcError *e) {
    if (!x->rows) {
        if (stele_param_count(x->stmt) > 0)
            return adbc_fail(e, ADBC_STATUS_INVALID_STATE, "the statement has parameters, and none are bound");
        return run_once(x->c, x->stmt, r, rows, e);
    }
    AdbcStatusCode code = ADBC_STATUS_OK;
    for (int64_t i = 0; i < x->rows->n && code == ADBC_STATUS_OK; i++) {
        code = bind_row(x, i, e);
        if (code == ADBC_STATUS_OK) code = run_once(x->c, x->stmt, r, rows, e);
    }
    if (code == ADBC_STATUS_OK && r && r->n == 0)
        return adbc_fail(e, ADBC_STATUS_INVALID_ARGUMENT, "no row of parameters is bound");
    return code;
}

/* One run whose rows are computed as they are taken. The statement goes with them. */
static AdbcStatusCode stream(AdbcStmt *x, struct ArrowArrayStream *out, int64_t *rows, struct AdbcError *e) {
    if (!x->rows && stele_param_count(x->stmt) > 0)
        return adbc_fail(e, ADBC_STATUS_INVALID_STATE, "the statement has parameters, and none are bound");
    AdbcStatusCode code = x->rows ? bind_row(x, 0, e) : ADBC_STATUS_OK;
    stele_reset(x->stmt);
    if (code == ADBC_STATUS_OK) code = adbc_stream_result(x->c, x->stmt, out, rows, e);
    if (code == ADBC_STATUS_OK) x->stmt = NULL;
    return code;
}

static AdbcStatusCode execute(AdbcStmt *x, struct ArrowArrayStream *out, int64_t *rows, struct AdbcError *e) {
    Results *r = NULL;
    if (out && (!x->rows || x->rows->n == 1)) return stream(x, out, rows, e);
    if (out && !(r = mem_calloc(NULL, (int64_t)sizeof *r, NULL)))
        return adbc_fail(e, ADBC_STATUS_INTERNAL, "out of memory");
    AdbcStatusCode code = run_all(x, r, rows, e);
    stele_reset(x->stmt);
    if (!r) return code;
    if (code != ADBC_STATUS_OK) results_free(r);
    else *out = (struct ArrowArrayStream){results_schema, results_next, results_error, results_release, r};
    return code;
}

/* ---- ingestion ----------------------------------------------------------------------------------- */

/* The table as SQL names it; NULL: no memory. */
static const char *target_name(Arena *a, const AdbcStmt *x) {
    const char *name = a ? quote_name(a, x->target) : NULL;
    return name && x->temporary ? arena_printf(a, "pg_temp.%s", name) : name;
}
static AdbcStatusCode create_table(const AdbcStmt *x, bool replace, bool may_exist, struct AdbcError *e) {
    Arena *a = arena_new(NULL, NULL);
    const ClientRows *r = x->rows;
    const char *table = target_name(a, x), *columns = table ? "" : NULL;
    char type[TYPE_NAME_MAX];
    for (int32_t i = 0; i < r->n_cols && columns; i++) {
        const char *name = quote_name(a, r->cols[i].name);
        columns =
            name ? arena_printf(a, "%s%s%s %s", columns, i ? ", " : "", name, type_full_name(r->cols[i].type, &type))
                 : NULL;
    }
    const char *sql = columns ? arena_printf(a, "%s%s%screate table %s%s (%s)", replace ? "drop table if exists " : "",
                                             replace ? table : "", replace ? "; " : "",
                                             may_exist ? "if not exists " : "", table, columns)
                              : NULL;
    AdbcStatusCode code = ADBC_STATUS_OK;
    if (!sql) code = adbc_fail(e, ADBC_STATUS_INTERNAL, "out of memory");
    else if (stele_exec(x->c->conn, sql, NULL, NULL) != STELE_OK) code = adbc_failed(e, x->c->conn);
    arena_free(a);
    return code;
}

/* Columns by their names; as an appender's rows. */
static AdbcStatusCode append(const AdbcStmt *x, int64_t *rows, struct AdbcError *e) {
    const ClientRows *r = x->rows;
    Arena *a = arena_new(NULL, NULL);
    const char *table = target_name(a, x), *names = table ? "" : NULL;
    for (int32_t i = 0; i < r->n_cols && names; i++) {
        const char *name = quote_name(a, r->cols[i].name);
        names = name ? arena_printf(a, "%s%s%s", names, i ? ", " : "", name) : NULL;
    }
    const char *from = names ? quote_name(a, r->name) : NULL;
    const char *sql = from ? arena_printf(a, "insert into %s (%s) select %s from %s", table, names, names, from) : NULL;
    AdbcStatusCode code = ADBC_STATUS_OK;
    if (!sql) code = adbc_fail(e, ADBC_STATUS_INTERNAL, "out of memory");
    else if (api_insert_rows(x->c->conn, x->rows, sql, rows) != STELE_OK) code = adbc_failed(e, x->c->conn);
    arena_free(a);
    return code;
}

static AdbcStatusCode ingest(const AdbcStmt *x, int64_t *rows, struct AdbcError *e) {
    const char *mode = x->mode ? x->mode : ADBC_INGEST_OPTION_MODE_CREATE;
    bool create = strcmp(mode, ADBC_INGEST_OPTION_MODE_CREATE) == 0,
         both = strcmp(mode, ADBC_INGEST_OPTION_MODE_CREATE_APPEND) == 0,
         replace = strcmp(mode, ADBC_INGEST_OPTION_MODE_REPLACE) == 0;
    if (!create && !both && !replace && strcmp(mode, ADBC_INGEST_OPTION_MODE_APPEND) != 0)
        return adbc_fail(e, ADBC_STATUS_NOT_IMPLEMENTED, "there is no mode \"%s\" of ingestion", mode);
    if (!x->rows) return adbc_fail(e, ADBC_STATUS_INVALID_STATE, "no rows are bound");
    AdbcStatusCode code = ADBC_STATUS_OK;
    if (create || both || replace) code = create_table(x, replace, both, e);
    if (code == ADBC_STATUS_OK && x->rows->n > 0) code = append(x, rows, e);
    return code;
}

/* ---- running ------------------------------------------------------------------------------------- */

AdbcStatusCode adbc_statement_execute(struct AdbcStatement *s, struct ArrowArrayStream *out, int64_t *rows,
                                      struct AdbcError *e) {
    AdbcStmt *x = s->private_data;
    int64_t n = 0;
    if (out) memset(out, 0, sizeof *out);
    stele_calls_begin(x->c->conn); /* one for cancel */
    AdbcStatusCode code = x->target ? adbc_begin(x->c, e) : adbc_statement_prepare(s, e);
    if (code == ADBC_STATUS_OK && !x->target) code = adbc_begin(x->c, e);
    x->c->progress = 0;
    if (code == ADBC_STATUS_OK) code = x->target ? ingest(x, &n, e) : execute(x, out, &n, e);
    stele_calls_end(x->c->conn);
    if (code == ADBC_STATUS_OK) x->c->progress = 1000000;
    if (rows) *rows = code == ADBC_STATUS_OK ? n : -1;
    client_rows_unref(x->rows); /* a binding is for one execution */
    x->rows = NULL;
    return code;
}

static AdbcStatusCode schema_of(const AdbcConn *c, stele_stmt *stmt, struct ArrowSchema *out, struct AdbcError *e) {
    Err *err = &c->conn->s->err;
    const Statement *st = (const Statement *)(const void *)stmt;
    err_clear(err);
    return arrow_out_schema(st->n_cols, st->types, st->names, out, err) == ST_OK ? ADBC_STATUS_OK
                                                                                 : adbc_failed(e, c->conn);
}

AdbcStatusCode adbc_statement_execute_schema(struct AdbcStatement *s, struct ArrowSchema *out, struct AdbcError *e) {
    const AdbcStmt *x = s->private_data;
    AdbcStatusCode code = adbc_statement_prepare(s, e);
    return code == ADBC_STATUS_OK ? schema_of(x->c, x->stmt, out, e) : code;
}

AdbcStatusCode adbc_statement_parameters(struct AdbcStatement *s, struct ArrowSchema *out, struct AdbcError *e) {
    const AdbcStmt *x = s->private_data;
    AdbcStatusCode code = adbc_statement_prepare(s, e);
    if (code != ADBC_STATUS_OK) return code;
    const Statement *st = (const Statement *)(const void *)x->stmt;
    err_clear(err_of(x));
    Arena *a = arena_new(&x->c->conn->s->account, err_of(x));
    const char **names = a ? arena_array(a, const char *, st->n_params + 1) : NULL;
    Status r = names ? ST_OK : ST_ERROR;
    for (int32_t i = 0; i < st->n_params && r == ST_OK; i++)
        if (!(names[i] = arena_printf(a, "%d", (int)i + 1))) r = ST_ERROR;
    memset(out, 0, sizeof *out);
    if (r == ST_OK) r = arrow_out_schema(st->n_params, st->param_types, names, out, err_of(x));
    arena_free(a);
    return r == ST_OK ? ADBC_STATUS_OK : adbc_failed(e, x->c->conn);
}

AdbcStatusCode adbc_query(AdbcConn *c, const char *sql, struct ArrowArrayStream *out, struct AdbcError *e) {
    AdbcStmt x = {.c = c};
    int64_t rows = 0;
    if (stele_prepare(c->conn, sql, -1, &x.stmt, NULL) != STELE_OK) return adbc_failed(e, c->conn);
    AdbcStatusCode code = execute(&x, out, &rows, e);
    stele_finalize(x.stmt);
    return code;
}

AdbcStatusCode adbc_query_schema(AdbcConn *c, const char *sql, struct ArrowSchema *out, struct AdbcError *e) {
    stele_stmt *stmt;
    if (stele_prepare(c->conn, sql, -1, &stmt, NULL) != STELE_OK) return adbc_failed(e, c->conn);
    AdbcStatusCode code = schema_of(c, stmt, out, e);
    stele_finalize(stmt);
    return code;
}
