/* definition.h - the database's objects as the statements that make them, in an order in which these can run.
 *
 *     sequences       without those of identity columns
 *     types
 *     tables          without keys, and without the defaults and checks that call routines
 *     identity        columns with their sequences; which columns sequences go with
 *     routines, views each behind what it refers to, with the defaults of views; materialized ones have no rows yet
 *     numbers         that sequences have given last (SEQUENCE SET)
 *     (the data)
 *     keys            PRIMARY KEY and UNIQUE, indexes
 *     routines, views that need a key: GROUP BY a primary key with other columns of its table
 *     defaults, checks that call routines
 *     foreign keys
 *     unique indexes of materialized views, and their rows (MATERIALIZED VIEW DATA)
 *     comments
 *     owners, grants on objects, default privileges (of roles, which are not the database's)
 *
 * Statements to drop them run in the opposite order. The order depends on names and definitions only, never on when
 * something was made, so that a database made from these statements lists the same ones. */
#ifndef STELE_SESSION_DDL_DEFINITION_H
#define STELE_SESSION_DDL_DEFINITION_H

#include "session/core/session.h"

typedef struct Definition {
    const char *kind;   /* "TABLE", "FUNCTION", "PROCEDURE", "VIEW", "CONSTRAINT", "INDEX", "INDEX OPTION", "DEFAULT",
                         "FK CONSTRAINT", "TYPE", "DOMAIN", "SEQUENCE", "SEQUENCE OWNED BY", "MATERIALIZED VIEW",
                         "COMMENT", "OWNER", "ACL", "DEFAULT ACL"; data, not definitions: "SEQUENCE SET", "MATERIALIZED
                         VIEW DATA" */
    const char *name;   /* as it is called: t; t t_pkey; f(integer) */
    const char *table;  /* the table or view that this is or belongs to, "" for routines */
    const char *target; /* of a table: t (a, b), for COPY and INSERT, without generated columns; else "" */
    const char *create; /* without a semicolon */
    const char *drop, *drop_if_exists; /* "" where it goes with its table */
    const char *problem; /* "", or why `create` fails: it refers to what is gone, or to what comes later */
    bool after_data;
    bool overriding; /* of a table: INSERT of its rows needs OVERRIDING SYSTEM VALUE */
} Definition;
typedef struct Definitions {
    Arena *a;
    VEC(Definition) list;
} Definitions;

/* Needs the shared lock. Texts live in `a`. 0A000 for a view that has no text: its relations were changed so that its
 * query cannot be written for them. */
Status definitions_list(Session *s, Arena *a, Definitions *out);
/* definition_access.c: the last part of the list. */
Status definitions_access(Session *s, Arena *a, const Catalog *c, Definitions *out);
/* A routine with modes and types, as DROP names it. NULL: out of memory. */
const char *definition_drop_name(Arena *a, const Routine *r);
const char *definition_routine_kind(const Routine *r); /* "FUNCTION", .. */
/* A name as SQL text, in double quotes only where it needs them. NULL: out of memory. */
char *definition_name(Arena *a, const char *name);
const char *definition_action(char code); /* of a foreign key's ON DELETE and ON UPDATE; NULL: NO ACTION */
/* " DEFERRABLE", " DEFERRABLE INITIALLY DEFERRED" or "". */
const char *definition_deferral(bool deferrable, bool deferred);
/* A view's query for the names that its relations have now, with the columns that it has of them. */
Status view_query_text(Session *s, Arena *a, const View *v, const char **out);

#endif
