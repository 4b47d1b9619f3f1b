/* comments_builtin.h - COMMENT ON what every database has: operators, aggregates, casts, languages and the like. */
#ifndef STELE_SESSION_DDL_COMMENTS_BUILTIN_H
#define STELE_SESSION_DDL_COMMENTS_BUILTIN_H

#include "session/core/session.h"

/* What the statement, of AST_OBJ_OTHER, is on. Errors: PostgreSQL's where there is no such object; 0A000 for a kind
 * that cannot have comments here. *out lies in a. */
Status comment_on_builtin(Session *s, Arena *a, const AstComment *x, Comment *out);
/* A function of the system; *found false: there is none of that name and parameters. 42725 */
Status comment_on_builtin_function(Session *s, Arena *a, const AstFuncSignature *x, Comment *out, bool *found);
/* "OPERATOR +(integer, integer)", as COMMENT ON has it; NULL: no memory. */
const char *builtin_comment_object(Session *s, Arena *a, const Comment *c);

#endif
