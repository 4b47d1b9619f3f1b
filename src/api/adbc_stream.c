/* adbc_stream.c - results of ADBC's statements as streams that are computed as they are taken, over the library's own
 * (stele_result_arrow_stream), with the error of the one that has failed for AdbcErrorFromArrayStream.
 */
#include <errno.h>

#include "api/adbc_int.h"

typedef struct AdbcStream {
    struct ArrowArrayStream rows;
    stele_conn *conn; /* while `rows` does not say ENOTCONN */
    struct AdbcError error;
    AdbcStatusCode status; /* of the last call */
} AdbcStream;

static int keep_error(AdbcStream *x, int code) {
    if (code == 0) return 0;
    x->status = code == ENOTCONN
                    ? adbc_fail(&x->error, ADBC_STATUS_INVALID_STATE, "%s", x->rows.get_last_error(&x->rows))
                    : adbc_failed(&x->error, x->conn);
    return code;
}

static int stream_schema(struct ArrowArrayStream *s, struct ArrowSchema *out) {
    AdbcStream *x = s->private_data;
    return keep_error(x, x->rows.get_schema(&x->rows, out));
}
static int stream_next(struct ArrowArrayStream *s, struct ArrowArray *out) {
    AdbcStream *x = s->private_data;
    return keep_error(x, x->rows.get_next(&x->rows, out));
}
static const char *stream_error(struct ArrowArrayStream *s) {
    AdbcStream *x = s->private_data;
    return x->rows.get_last_error(&x->rows);
}
static void stream_release(struct ArrowArrayStream *s) {
    AdbcStream *x = s->private_data;
    s->release = NULL;
    if (x->rows.release) x->rows.release(&x->rows);
    if (x->error.release) x->error.release(&x->error);
    mem_free(NULL, x, (int64_t)sizeof *x);
}

AdbcStatusCode adbc_stream_result(const AdbcConn *c, stele_stmt *stmt, struct ArrowArrayStream *out, int64_t *rows,
                                  struct AdbcError *e) {
    AdbcStream *x = mem_calloc(NULL, (int64_t)sizeof *x, NULL);
    if (!x) return adbc_fail(e, ADBC_STATUS_INTERNAL, "out of memory");
    stele_set_stream(stmt, true);
    if (stele_run(stmt) != STELE_DONE) {
        mem_free(NULL, x, (int64_t)sizeof *x);
        return adbc_failed(e, c->conn);
    }
    *rows = stele_column_count(stmt) ? -1 : stele_row_count(stmt);
    if (stele_result_arrow_stream(stmt, &x->rows) != STELE_OK) {
        mem_free(NULL, x, (int64_t)sizeof *x);
        return adbc_failed(e, c->conn);
    }
    x->conn = c->conn;
    x->error.vendor_code = ADBC_ERROR_VENDOR_CODE_PRIVATE_DATA;
    *out = (struct ArrowArrayStream){stream_schema, stream_next, stream_error, stream_release, x};
    return ADBC_STATUS_OK;
}

const struct AdbcError *adbc_error_of_stream(struct ArrowArrayStream *s, AdbcStatusCode *status) {
    if (!s || s->release != stream_release) return NULL;
    const AdbcStream *x = s->private_data;
    if (status) *status = x->status;
    return &x->error;
}
