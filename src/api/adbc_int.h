/* adbc_int.h - the ADBC driver's files: handles and errors (adbc.c), options (adbc_options.c), statements
 * (adbc_statement.c), their results (adbc_stream.c), nested arrays (adbc_nested.c), what there is in the database
 * (adbc_objects.c, adbc_statistics.c). Included by src/api only. */
#ifndef STELE_API_ADBC_INT_H
#define STELE_API_ADBC_INT_H

#include "api/api_int.h"
#include "arrow-adbc/adbc.h"
#include "base/mutex.h"

/* Locks: of what adbc_options.c reads on other threads. */
typedef struct AdbcDb {
    Mutex lock;
    stele_db *db; /* NULL: not opened yet */
    char *path;
    stele_options options;
} AdbcDb;
typedef struct AdbcConn {
    Mutex lock;
    stele_conn *conn; /* NULL: not connected yet */
    _Atomic bool autocommit, read_only;
    _Atomic int isolation;    /* in adbc_isolations */
    _Atomic int64_t progress; /* of the statement that runs or ran last, in millionths */
} AdbcConn;
typedef struct AdbcStmt {
    Mutex lock;
    AdbcConn *c;
    char *sql, *target, *mode;
    stele_stmt *stmt;        /* prepared; NULL: not, or its result has it */
    struct ClientRows *rows; /* bound; NULL: nothing is */
    bool temporary;          /* the target of ingestion is a temporary table */
} AdbcStmt;

/* ---- errors ---- */
AdbcStatusCode adbc_fail(struct AdbcError *e, AdbcStatusCode code, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* The connection's last error. */
AdbcStatusCode adbc_failed(struct AdbcError *e, stele_conn *c);
AdbcStatusCode adbc_failed_info(struct AdbcError *e, const stele_error_info *info);
int adbc_error_detail_count(const struct AdbcError *e);
struct AdbcErrorDetail adbc_error_detail(const struct AdbcError *e, int index);

/* Without autocommit a transaction begins with the first statement. */
AdbcStatusCode adbc_begin(AdbcConn *c, struct AdbcError *e);
char *adbc_copy(const char *text); /* NULL: no memory; adbc_free */
void adbc_free(char *text);

/* ---- options ---- */
typedef enum AdbcOptionKind { ADBC_OPT_TEXT, ADBC_OPT_BOOL, ADBC_OPT_INT, ADBC_OPT_DOUBLE } AdbcOptionKind;
typedef struct AdbcOption {
    AdbcOptionKind kind;
    const char *text;
    int64_t number; /* booleans too */
    double real;
} AdbcOption;
/* The value of an option; false: there is none of that name. Texts are the handle's, under its lock. */
bool adbc_database_option(const AdbcDb *d, const char *key, AdbcOption *out);
bool adbc_connection_option(const AdbcConn *c, const char *key, AdbcOption *out);
bool adbc_statement_option(const AdbcStmt *s, const char *key, AdbcOption *out);
AdbcStatusCode adbc_database_set_option(struct AdbcDatabase *d, const char *key, const char *value,
                                        struct AdbcError *e);
AdbcStatusCode adbc_connection_set_option(struct AdbcConnection *c, const char *key, const char *value,
                                          struct AdbcError *e);
AdbcStatusCode adbc_statement_set_option(struct AdbcStatement *s, const char *key, const char *value,
                                         struct AdbcError *e);
bool adbc_parse_int(const char *text, int64_t *out);
bool adbc_parse_bool(const char *text, bool *out);
AdbcStatusCode adbc_bad_value(struct AdbcError *e, const char *key, const char *value);
#define ADBC_OPTION_FUNCTIONS(name, Handle)                                                                         \
    AdbcStatusCode adbc_##name##_get_text(Handle *h, const char *key, char *value, size_t *n, struct AdbcError *e); \
    AdbcStatusCode adbc_##name##_get_bytes(Handle *h, const char *key, uint8_t *value, size_t *n,                   \
                                           struct AdbcError *e);                                                    \
    AdbcStatusCode adbc_##name##_get_int(Handle *h, const char *key, int64_t *value, struct AdbcError *e);          \
    AdbcStatusCode adbc_##name##_get_double(Handle *h, const char *key, double *value, struct AdbcError *e);        \
    AdbcStatusCode adbc_##name##_set_bytes(Handle *h, const char *key, const uint8_t *value, size_t n,              \
                                           struct AdbcError *e);                                                    \
    AdbcStatusCode adbc_##name##_set_int(Handle *h, const char *key, int64_t value, struct AdbcError *e);           \
    AdbcStatusCode adbc_##name##_set_double(Handle *h, const char *key, double value, struct AdbcError *e)
ADBC_OPTION_FUNCTIONS(database, struct AdbcDatabase);
ADBC_OPTION_FUNCTIONS(connection, struct AdbcConnection);
ADBC_OPTION_FUNCTIONS(statement, struct AdbcStatement);

/* ---- results ---- */
/* Runs a prepared statement. On success it is the stream's; *rows: how many it has changed, -1 of queries. */
AdbcStatusCode adbc_stream_result(const AdbcConn *c, stele_stmt *stmt, struct ArrowArrayStream *out, int64_t *rows,
                                  struct AdbcError *e);
/* NULL: the stream is not one of these. */
const struct AdbcError *adbc_error_of_stream(struct ArrowArrayStream *s, AdbcStatusCode *status);

/* ---- statements ---- */
AdbcStatusCode adbc_statement_new(struct AdbcConnection *c, struct AdbcStatement *s, struct AdbcError *e);
AdbcStatusCode adbc_statement_release(struct AdbcStatement *s, struct AdbcError *e);
AdbcStatusCode adbc_statement_set_sql(struct AdbcStatement *s, const char *sql, struct AdbcError *e);
AdbcStatusCode adbc_statement_prepare(struct AdbcStatement *s, struct AdbcError *e);
AdbcStatusCode adbc_statement_bind(struct AdbcStatement *s, struct ArrowArray *batch, struct ArrowSchema *schema,
                                   struct AdbcError *e);
AdbcStatusCode adbc_statement_bind_stream(struct AdbcStatement *s, struct ArrowArrayStream *stream,
                                          struct AdbcError *e);
AdbcStatusCode adbc_statement_execute(struct AdbcStatement *s, struct ArrowArrayStream *out, int64_t *rows,
                                      struct AdbcError *e);
AdbcStatusCode adbc_statement_execute_schema(struct AdbcStatement *s, struct ArrowSchema *out, struct AdbcError *e);
AdbcStatusCode adbc_statement_parameters(struct AdbcStatement *s, struct ArrowSchema *out, struct AdbcError *e);
AdbcStatusCode adbc_statement_cancel(struct AdbcStatement *s, struct AdbcError *e);
/* The rows of a query without parameters. */
AdbcStatusCode adbc_query(AdbcConn *c, const char *sql, struct ArrowArrayStream *out, struct AdbcError *e);
/* Its columns. */
AdbcStatusCode adbc_query_schema(AdbcConn *c, const char *sql, struct ArrowSchema *out, struct AdbcError *e);

/* ---- nested arrays ----
 * A tree of columns in the making: structs ("+s"), lists ("+l"), maps ("+m"), dense unions ("+ud:0,1,.."), texts ("u"),
 * bytes ("z"), integers of 2, 4 and 8 bytes, doubles, booleans. Values are appended below their parents, then the
 * parent's own. All lies in an arena, which what is exported shares. */
typedef struct NestedNode NestedNode;
typedef struct NestedHolder {
    _Atomic int64_t refs;
    Arena *arena;
    Err err;
} NestedHolder;
struct NestedNode {
    const char *format, *name;
    bool nullable;
    int n_children;
    NestedNode **children;
    int64_t n, nulls;
    VEC(uint8_t) valid; /* a byte each; bits when they are exported */
    VEC(int32_t) offsets;
    VEC(uint8_t) data;
    VEC(int8_t) kinds; /* of a union */
};
NestedHolder *nested_new(void); /* NULL: no memory. Its reference goes to nested_stream, or nested_unref. */
void nested_unref(NestedHolder *h);
NestedNode *nested_node(NestedHolder *h, const char *format, const char *name, bool nullable, int n_children,
                        NestedNode *const *children); /* NULL passes through: one check at the end */
/* false: no memory. */
bool nested_null(NestedHolder *h, NestedNode *x);
bool nested_text(NestedHolder *h, NestedNode *x, const char *text); /* NULL: NULL */
bool nested_bytes(NestedHolder *h, NestedNode *x, const char *p, int64_t n);
bool nested_int(NestedHolder *h, NestedNode *x, int64_t v);
bool nested_double(NestedHolder *h, NestedNode *x, double v);
bool nested_row(NestedHolder *h, NestedNode *x);  /* of a struct whose children have one more each */
bool nested_list(NestedHolder *h, NestedNode *x); /* of a list or map: what was added below since the last one */
bool nested_kind(NestedHolder *h, NestedNode *x, int8_t kind); /* of a union whose child `kind` has one more */
/* A stream of one batch, whose columns are the root's children. Takes the reference also on failure. */
bool nested_stream(NestedHolder *h, NestedNode *root, struct ArrowArrayStream *out);

/* ---- what there is ---- */
AdbcStatusCode adbc_get_objects(struct AdbcConnection *c, int depth, const char *catalog, const char *schema,
                                const char *table, const char **types, const char *column, struct ArrowArrayStream *out,
                                struct AdbcError *e);
AdbcStatusCode adbc_get_info(struct AdbcConnection *c, const uint32_t *codes, size_t n, struct ArrowArrayStream *out,
                             struct AdbcError *e);
AdbcStatusCode adbc_get_statistics(struct AdbcConnection *c, const char *catalog, const char *schema, const char *table,
                                   char approximate, struct ArrowArrayStream *out, struct AdbcError *e);
AdbcStatusCode adbc_get_statistic_names(struct AdbcConnection *c, struct ArrowArrayStream *out, struct AdbcError *e);
/* A name against a search pattern with % and _; NULL matches everything. */
bool adbc_matches(const char *pattern, const char *name);

#endif
