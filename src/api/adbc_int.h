/* adbc_int.h - the ADBC driver's files: handles and errors (adbc.c), statements (adbc_statement.c), nested arrays
 * (adbc_nested.c), what there is in the database (adbc_objects.c). Included by src/api only. */
#ifndef STELE_API_ADBC_INT_H
#define STELE_API_ADBC_INT_H

#include "api/api_int.h"
#include "arrow-adbc/adbc.h"

typedef struct AdbcDb {
    stele_db *db; /* NULL: not opened yet */
    char *path;
    stele_options options;
} AdbcDb;
typedef struct AdbcConn {
    stele_conn *conn; /* NULL: not connected yet */
    bool autocommit, read_only;
} AdbcConn;

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

/* ---- statements ---- */
AdbcStatusCode adbc_statement_new(struct AdbcConnection *c, struct AdbcStatement *s, struct AdbcError *e);
AdbcStatusCode adbc_statement_release(struct AdbcStatement *s, struct AdbcError *e);
AdbcStatusCode adbc_statement_set_sql(struct AdbcStatement *s, const char *sql, struct AdbcError *e);
AdbcStatusCode adbc_statement_prepare(struct AdbcStatement *s, struct AdbcError *e);
AdbcStatusCode adbc_statement_set_option(struct AdbcStatement *s, const char *key, const char *value,
                                         struct AdbcError *e);
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
 * integers of 2, 4 and 8 bytes, booleans. Values are appended below their parents, then the parent's own. All lies in
 * an arena, which what is exported shares. */
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
bool nested_int(NestedHolder *h, NestedNode *x, int64_t v);
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

#endif
