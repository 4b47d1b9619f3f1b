/* api_int.h - what the files of src/api share. */
#ifndef STELE_API_API_INT_H
#define STELE_API_API_INT_H

#include "session/core/session.h"
#include "stele/stele.h"

struct stele_db {
    Database *db;
    char *temp_dir;
    _Atomic int64_t connections;
};
struct stele_conn {
    stele_db *owner;
    Session *s;
    void (*notice)(void *ctx, const stele_notice *n);
    void *notice_ctx;
};

/* stele_open, with the files of a Vfs. */
stele_status api_open(const char *path, const stele_options *options, Vfs *vfs, stele_db **db, stele_error_info *error);

/* stele_check and stele_read_log, likewise. */
stele_status api_check(const char *path, Vfs *vfs, void (*file)(void *ctx, const stele_checked_file *f), void *ctx,
                       int64_t *bad, stele_error_info *error);
stele_status api_read_log(const char *path, Vfs *vfs, int64_t from_lsn,
                          bool (*part)(void *ctx, const stele_log_part *p),
                          bool (*row)(void *ctx, const stele_log_row *r), void *ctx, stele_error_info *error);
void api_fill_error(const Err *e, stele_error_info *out); /* out may be NULL; as long-lived as *e */

/* A look at the catalog, from the session's view of it; false: an error. `locked`: under the database lock. */
bool api_look_begin(Session *s, bool locked);
void api_look_end(Session *s, Status r);
/* A relation's name as the interface has it: its key with a dot (base/key.h). NULL: no memory. */
const char *api_dotted(Arena *a, const char *key);
/* The key of what is named so, or by its name alone; a name that nothing has where there is none. NULL: no memory. */
const char *api_key(Session *s, Arena *a, const char *name);
/* Names of all schemas but the system's, public first, in the arena. NULL: no memory. */
const char **api_schemas(Session *s, Arena *a, int64_t *n);

/* ---- rows of the client (sql/plan/client_rows.h) ---- */
struct ClientRows;
/* Columns for `r`, which has none, as the schema has them. 22023, 22021, 0A000, 54011 */
Status arrow_rows_schema(struct ClientRows *r, const struct ArrowSchema *schema, Err *e);
/* More rows for the first n_cols columns of `r`, which have types, from a batch of as many. On an error r->n is what it
 * was. 54000: more than 2^31 - 1 rows. */
Status arrow_rows_add(struct ClientRows *r, int32_t n_cols, const struct ArrowSchema *schema,
                      const struct ArrowArray *batch, Err *e);
/* Columns for `r`, which has none, and all rows of the stream, whose release is the caller's. 58030 where it fails */
Status arrow_rows_stream(struct ClientRows *r, struct ArrowArrayStream *stream, Err *e);
/* Runs a statement that reads the rows by their name; *n: how many it has changed. */
stele_status api_insert_rows(stele_conn *c, struct ClientRows *rows, const char *sql, int64_t *n);

void api_error_names(ErrNames n, stele_error_info *out); /* as long-lived as they are */

#endif
