/* index_names.h - columns of indexes: which they are, and what they are called. */
#ifndef STELE_SESSION_DDL_INDEX_NAMES_H
#define STELE_SESSION_DDL_INDEX_NAMES_H

#include "catalog/catalog.h"

/* The column that a part of an index is, by its text; -1: an expression. */
int index_part_column(const Table *t, const char *part);
/* What the columns of the index are called, INCLUDE's last: by number, each once. */
Status index_column_names(Arena *a, const Table *t, const IndexDef *x, const char ***out);
/* CREATE INDEX, of the texts of its parts and its predicate (NULL: none). NULL: out of memory. */
char *index_text(Arena *a, const IndexDef *x, const char *table, const char *const *parts, const char *where);
/* A storage parameter, name=value, as SQL: a value that is no name in quotes. NULL: out of memory. */
char *index_option_text(Arena *a, const char *option);

#endif
