/* stored_text.h - texts of definitions, as the catalog keeps them.
 *
 * In PostgreSQL a literal such as '03/04/2020' or 'now' means one value from the moment on that its definition is made:
 * what is kept is the bound expression. Here the text is kept, so literals whose values depend on the session
 * (DateStyle, IntervalStyle, time zone) or on the time are replaced in it by their values in ISO's form, which every
 * session reads alike. The binder reads texts of the catalog under the defaults of these settings: files of older
 * versions have literals as they were written.
 *
 * All results are in `a`. Errors: those of literals (22007 and others of class 22), 53200. A text that does not bind
 * for another reason stays as it is: what defines the object binds it again and reports that.
 */
#ifndef STELE_SESSION_DDL_STORED_TEXT_H
#define STELE_SESSION_DDL_STORED_TEXT_H

#include "session/core/session.h"

/* A DEFAULT of a column or parameter of that type. */
Status stored_default(Session *s, Arena *a, Slice text, Type type, const char **out);
/* ... with another name for a sequence. Literals that name sequences are of regclass in what is kept: nextval('s') is
 * nextval('s'::regclass). */
Status stored_default_renamed(Session *s, Arena *a, Slice text, Type type, int64_t sequence, const char *name,
                              const char **out);
/* A name as it stands in a literal: in double quotes where it needs them, with single ones doubled. NULL: 53200 */
char *stored_name_in_literal(Arena *a, const char *name);
/* nextval('s'::regclass); NULL: out of memory. */
char *stored_nextval(Arena *a, const char *sequence);
/* An expression over a row of a table with these columns: a CHECK, a part or the predicate of an index. */
Status stored_expression(Session *s, Arena *a, const char *table, int n_cols, const ColumnDef *cols, Slice text,
                         const char **out);
/* select null::type as column, ..: what stands in FROM for a table with these columns that is not there yet. NULL: out
 * of memory. */
const char *stored_row(Arena *a, int n, const ColumnDef *cols);
/* v->sql, the query of a view that is not in the catalog yet. */
Status stored_view(Session *s, Arena *a, View *v);
/* The text with those of its literals replaced that were kept when it was bound, behind `before` bytes of other text.
 */
Status stored_text(Arena *a, Slice text, int64_t before, KeptLiterals *kept, const char **out, Err *e);

#endif
