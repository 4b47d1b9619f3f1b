/* err.h - error objects: the story of a failed call.
 *
 * Functions return a Status; the Err they were given holds SQLSTATE, message,
 * detail, hint and position. The first error wins: later err_set() calls on an
 * Err that is already set are appended to `context`. Text is stored inline and
 * truncated on a UTF-8 boundary, so that reporting an error never allocates and
 * "out of memory" is an ordinary error.
 *
 * Messages follow PostgreSQL's style guide: lower case, no full stop, names in
 * double quotes; detail and hint are sentences.
 *
 * Thread rules: an Err belongs to one thread at a time. Workers have their own
 * and the scheduler copies the first one (err_copy).
 */
#ifndef STELE_BASE_ERR_H
#define STELE_BASE_ERR_H

#include <stdarg.h>

#include "base/base.h"
#include "base/errcodes.h"

/* What an error is about, as PostgreSQL tells it beside the message. */
typedef enum ErrField { EF_SCHEMA, EF_TABLE, EF_COLUMN, EF_DATATYPE, EF_CONSTRAINT, ERR_FIELDS } ErrField;
typedef struct ErrNames {
    const char *of[ERR_FIELDS];
} ErrNames; /* NULL = none */

typedef struct Err {
    char sqlstate[6]; /* "" = no error */
    int64_t position; /* 1-based byte offset in the statement text, 0 = none */
    char message[1024];
    char detail[1024];
    char hint[512];
    char context[1024];
    char names[ERR_FIELDS][128]; /* "" = none */
} Err;

static inline bool err_is_set(const Err *e) { return e->sqlstate[0] != 0; }
void err_clear(Err *e);
void err_copy(Err *dst, const Err *src);

/* Records an error and returns ST_ERROR, so that callers write
 * `return err_set(e, ERR_..., "...")`. `sqlstate` is a constant of errcodes.h. */
Status err_set(Err *e, const char *sqlstate, const char *fmt, ...) PRINTF_LIKE(3, 4);
Status err_vset(Err *e, const char *sqlstate, const char *fmt, va_list ap);
/* As err_set, with a byte position (1-based; 0 = none). */
Status err_at(Err *e, int64_t position, const char *sqlstate, const char *fmt, ...) PRINTF_LIKE(4, 5);
/* Completes the error just set; no-ops when none is set. */
void err_detail(Err *e, const char *fmt, ...) PRINTF_LIKE(2, 3);
void err_hint(Err *e, const char *fmt, ...) PRINTF_LIKE(2, 3);
void err_context(Err *e, const char *fmt, ...) PRINTF_LIKE(2, 3);
void err_names(Err *e, const ErrNames *n); /* those that there are */
/* Of a table, by its key: its column, or its constraint. Names that are keys (key.h) are shown as names everywhere. */
void err_of_column(Err *e, const char *table, const char *column);
void err_of_constraint(Err *e, const char *table, const char *constraint);
ErrNames err_names_of(const Err *e); /* borrowed */

/* 53200. */
Status err_oom(Err *e);
/* An errno turned into SQLSTATE and text: "could not <what> file \"path\": reason". */
Status err_errno(Err *e, int errnum, const char *what, const char *path);
/* XX001: what a file has at an offset is not what was written there. */
Status err_corrupted(Err *e, const char *path, int64_t at, const char *reason);
/* XX000: a broken invariant, with its place. */
#define err_internal(e, ...) err_internal_at((e), __FILE__, __LINE__, __VA_ARGS__)
Status err_internal_at(Err *e, const char *file, int line, const char *fmt, ...) PRINTF_LIKE(4, 5);

#endif
