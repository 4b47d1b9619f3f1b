/* parse_int.h - shared by the files of src/sql/parse only. */
#ifndef STELE_SQL_PARSE_PARSE_INT_H
#define STELE_SQL_PARSE_PARSE_INT_H

#include "base/mem.h"
#include "sql/parse/ast.h"
#include "sql/parse/scan.h"

/* ---- pg_convert.c ------------------------------------------------------------ */

/* The grammar and the conversion. `text` has passed all checks of sql_parse(). */
Status pg_convert(Arena *a, Slice text, AstStmt ***stmts_out, int64_t *n_out, Err *e);

#endif
