/* sql_names.h - names as they stand in the text of SQL statements. */
#ifndef STELE_CATALOG_SQL_NAMES_H
#define STELE_CATALOG_SQL_NAMES_H

#include "base/mem.h"

char *quote_name(Arena *a, const char *name);   /* "name" for SQL text */
char *quote_string(Arena *a, const char *text); /* 'text', or E'text' with a backslash in it */
/* A relation's key as SQL names it whatever the search path is: "public"."t". */
char *quote_relation(Arena *a, const char *key);

#endif
