/* comments.h - COMMENT ON, and comments as their objects change (catalog/comment.h). */
#ifndef STELE_SESSION_DDL_COMMENTS_H
#define STELE_SESSION_DDL_COMMENTS_H

#include "session/core/session.h"

Status comment_statement(Session *s, Statement *st, const AstComment *x);
/* The comment on an object becomes one on another of its kind; there may be none. */
Status comment_copy(Session *s, CommentKind kind, const char *from, const char *from_part, const char *to,
                    const char *to_part);
/* An object of these kinds, or (part not NULL) a part of one, has another name. */
Status comments_rename(Session *s, const char *kinds, const char *name, const char *part, const char *new_name);
/* Another definition of a routine has taken its place. */
Status comments_of_routine(Session *s, int64_t from, int64_t to);
/* Comments on what is gone go. */
Status comments_sweep(Session *s);

#endif
