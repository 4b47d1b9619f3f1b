/* describe.h - definitions of the database as the describing commands need them. */
#ifndef STELE_SHELL_DESCRIBE_H
#define STELE_SHELL_DESCRIBE_H

#include "shell/command.h"

/* One of stele_list_definitions, kept. */
typedef struct Defined {
    char *kind, *name, *table, *create;
} Defined;
typedef struct Definitions {
    Defined *items;
    int64_t n, cap;
    bool failed; /* the list could not be read */
} Definitions;
bool definitions_load(Shell *sh, Definitions *d); /* false: an error, which has been shown; *d is empty */
void definitions_free(Definitions *d);

typedef struct Relation {
    char *name;
    bool view, materialized, sequence; /* materialized: a materialized view, and no view */
    int64_t rows;                      /* -1: a view or sequence */
} Relation;
typedef struct Relations {
    Relation *items; /* by name */
    int64_t n, cap;
    char *path; /* the schemas of search_path, as relation_matches takes them */
    bool failed;
} Relations;
bool relations_load(Shell *sh, Relations *r);
void relations_free(Relations *r);
char *visible_schemas(Shell *sh, bool relations);     /* Relations.path, or that of functions; to be freed */
bool is_view_kind(const char *kind);                  /* of a definition */
bool suggest_relation(Shell *sh, const char *name);   /* says which one may have been meant, if any */
int64_t relation_bytes(Shell *sh, const char *table); /* -1: not known */
void put_size(char *out, size_t size, int64_t bytes); /* as pg_size_pretty */
/* A cell: the comment on a relation, or on its column (NULL: on itself). */
void put_comment(Shell *sh, Grid *g, const char *relation, const char *column);
void grid_name(Grid *g, const char *name); /* two cells: schema, and name */
const char *with_schema(const char *name, char *out, size_t size);
const char *behind_name(const char *s); /* which may be in double quotes */
/* What is behind "ADD CONSTRAINT name " in a definition. */
const char *constraint_text(const Defined *d);
const char *constraint_name(const Defined *d, char *out, size_t size);
bool is_key(const Defined *d); /* a primary key, a unique constraint, or an index */

/* describe_roles.c */
bool roles_command(Shell *sh, Args *a);
bool privileges_command(Shell *sh, Args *a);
bool default_privileges_command(Shell *sh, Args *a);
bool role_settings_command(Shell *sh, Args *a);
void put_text(Shell *sh, Grid *g, const char *sql);       /* a cell: the one that the query has */
void put_owner(Shell *sh, Grid *g, const char *relation); /* likewise */

/* describe_table.c */
bool describe_sequence(Shell *sh, const char *name);
/* ... a table or view */
bool describe_relation(Shell *sh, const Relation *r, const Definitions *d, bool more);

#endif
