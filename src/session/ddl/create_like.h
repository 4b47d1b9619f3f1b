/* create_like.h - LIKE in CREATE TABLE: for create_table.c. */
#ifndef STELE_SESSION_DDL_CREATE_LIKE_H
#define STELE_SESSION_DDL_CREATE_LIKE_H

#include "session/ddl/utility_int.h"

/* What one LIKE names: its columns, and the table where it is one. */
typedef struct LikeSource {
    const AstTableLike *like;
    const char *name;
    const Table *table; /* NULL: a view, a composite type or a relation of the system */
    int n_cols;
    ColumnDef *cols; /* name, type, domain and NOT NULL */
} LikeSource;
typedef struct LikeIndex { /* an index that has been copied */
    const LikeSource *of;
    const char *from, *to;
} LikeIndex;
typedef struct Likes {
    int n, n_made;
    LikeSource *items;
    LikeIndex *indexes;              /* n_made of them */
    int n_cols, n_checks, n_indexes; /* at most, of all together */
} Likes;

/* Looks the relations up. 42P01, 42809, 3F000 */
Status likes_find(Session *s, Arena *a, const AstCreateTable *x, Likes *out);
/* The columns of one, at the end of the draft, which has room. 42701 */
Status likes_add_columns(Session *s, TableDraft *d, const LikeSource *q);
/* Defaults, keys and indexes of all. */
Status likes_add_keys(Session *s, Arena *a, TableDraft *d, const char *table, Likes *l);
/* CHECKs, which keep their names. 42710 */
Status likes_add_checks(Session *s, Arena *a, TableDraft *d, const char *table, const Likes *l);
/* When the table is there. */
Status likes_copy_comments(Session *s, const char *table, const Likes *l);

#endif
