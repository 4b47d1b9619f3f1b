/* parse_int.h - shared by the files of src/sql/parse only. */
#ifndef STELE_SQL_PARSE_PARSE_INT_H
#define STELE_SQL_PARSE_PARSE_INT_H

#include "base/mem.h"
#include "sql/parse/ast.h"
#include "sql/parse/scan.h"

/* ---- forms.c ----------------------------------------------------------------- */

typedef struct FormFile {
    int64_t at; /* 0-based byte of the string in the text */
    const char *path;
} FormFile;
typedef struct FormDescribe {
    int64_t at, end; /* the word */
    bool summarize;
    bool query; /* not a table's name or a file */
} FormDescribe;
typedef struct Forms {
    VEC(FormFile) files; /* in the order of the text */
    VEC(FormDescribe) describes;
} Forms;
/* Rewrites in `copy`, text with a NUL behind it, the forms that the grammar does not have. Fails without memory. */
Status sql_forms(Arena *a, Slice text, char *copy, Forms *out);
const char *forms_file(const Forms *f, int64_t at); /* NULL: no file is named there */
const FormDescribe *forms_describe(const Forms *f, int64_t at);

/* ---- pg_convert.c ------------------------------------------------------------ */

/* The grammar and the conversion. `text` has passed all checks of sql_parse(). */
Status pg_convert(Arena *a, Slice text, AstStmt ***stmts_out, int64_t *n_out, Err *e);

/* ---- similar_keyword.c --------------------------------------------------------- */

/* The keyword that may have been meant by the word at the byte (from 0) at which the grammar stopped, or by the one
 * before it; NULL: none. */
const char *parse_similar_keyword(Slice text, int64_t at);

#endif
