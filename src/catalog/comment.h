/* comment.h - COMMENT ON: texts about objects.
 *
 * A comment names its object, like a foreign key its tables, so that it survives rebuilds; the code that renames the
 * object replaces it. One whose object is gone means nothing (session/ddl/comments.c takes it out).
 *
 * Never changed: another one takes its place. One block of memory.
 */
#ifndef STELE_CATALOG_COMMENT_H
#define STELE_CATALOG_COMMENT_H

#include "base/epoch.h"
#include "base/err.h"

typedef enum CommentKind {
    COMMENT_RELATION = 'r',          /* a table, view, sequence or index */
    COMMENT_COLUMN = 'c',            /* `part` of a relation or composite type */
    COMMENT_CONSTRAINT = 'k',        /* `part` of a table */
    COMMENT_DOMAIN_CONSTRAINT = 'd', /* `part` of a domain */
    COMMENT_TYPE = 't',              /* an enumerated or composite type, or a domain */
    COMMENT_ROUTINE = 'f',           /* by `routine` */
    COMMENT_SCHEMA = 'n',
    COMMENT_DATABASE = 'D', /* this one */
    COMMENT_ROLE = 'u',
    COMMENT_BUILTIN = 'b' /* what every database has: `name` is that of its system catalog, `part` its number there */
} CommentKind;
typedef struct Comment {
    EpochNode node; /* once retired */
    CommentKind kind;
    int64_t routine; /* id; 0: another kind */
    char *name;      /* of the object, "" for routines and the database */
    char *part;      /* "" where there is none */
    char *text;
} Comment;

Comment *comment_new(const Comment *like, Err *e); /* a copy */
void comment_free(Comment *x);
void comment_retire(EpochDomain *d, Comment *x); /* as view_retire */

struct Catalog;
Status catalog_add_comment(struct Catalog *c, Comment *x, Err *e);
void catalog_remove_comment(struct Catalog *c, const Comment *x); /* without freeing it */
/* The comment on the same object; NULL: there is none. */
Comment *catalog_comment(const struct Catalog *c, const Comment *of);

#endif
