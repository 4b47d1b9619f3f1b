/* catalog.h - named objects of a database: tables, views, sequences, foreign keys, indexes, routines, domains.
 *
 * Independent of transactions, locks and files: a caller that changes a catalog must have exclusive access, and undoes
 * changes by opposite ones (objects are taken out without being freed).
 */
#ifndef STELE_CATALOG_CATALOG_H
#define STELE_CATALOG_CATALOG_H

#include <stdatomic.h>

#include "base/epoch.h"
#include "catalog/comment.h"
#include "catalog/index_def.h"
#include "catalog/privilege.h"
#include "catalog/role.h"
#include "catalog/row_security.h"
#include "catalog/schema.h"
#include "catalog/sequence.h"
#include "storage/table.h"

/* A place in a view's query that names a table or view: which one it is and which columns it has there, under the names
 * that the query has for them. What the relation gets later is not seen there, and when it or its columns are renamed,
 * only this changes, not the text. */
typedef struct ViewSource {
    int64_t location; /* of the name in the text: 1-based byte */
    char *relation;   /* as it is called now */
    int n_cols;
    char **cols;  /* as they are called now */
    char **names; /* as the query calls them */
} ViewSource;

/* Never changed: another one takes its place. */
typedef struct View {
    EpochNode node; /* once retired */
    char *name;
    char *sql; /* the SELECT's text */
    int n_cols;
    char **cols; /* given column names or NULL */
    int n_defaults;
    char **defaults; /* of its first columns, for changes through the view: texts, or NULL */
    int n_options;
    char **options;    /* "name=value", as pg_class.reloptions has them */
    bool materialized; /* its rows are those of the table of its name */
    bool populated;    /* (materialized) they have been computed */
    int n_sources;
    ViewSource *sources; /* none: of an older file, names mean what they mean now (and code that changes a definition
                            fills them in first) */
} View;

/* Columns and tables by name: both tables may be rebuilt. */
typedef struct ForeignKey {
    EpochNode node; /* once retired */
    char *name;
    char *table, *ref_table;
    int64_t id; /* never used again by this process; a changed definition keeps it */
    int n_cols;
    char **cols, **ref_cols;
    char on_delete, on_update; /* PostgreSQL's codes: a no action, r restrict, c cascade, n set null, d set default */
    bool match_full;           /* all of a row's columns are NULL, or none (else: MATCH SIMPLE) */
    bool deferrable, deferred; /* deferred: INITIALLY DEFERRED */
    bool not_valid;            /* rows that were there when it came need not have a parent */
    int n_set_cols;            /* columns that ON DELETE SET NULL and SET DEFAULT set; 0: all of them */
    char **set_cols;
} ForeignKey;

/* A function or procedure. Its body is text: what is compiled from it (sql/pl) is kept by its makers, by `id`. */
typedef struct Routine {
    EpochNode node; /* once retired */
    int64_t id;     /* never used again */
    char *name;
    bool is_procedure;
    bool returns_set, returns_void, returns_record, strict;
    bool may_write;     /* its body changes data, or calls something that may */
    bool variadic;      /* its last IN parameter is an array whose elements callers may give one by one */
    char volatility;    /* 'i', 's', 'v' */
    int n_params;       /* all: IN, OUT, INOUT, TABLE, result columns */
    char **param_names; /* NULL: none */
    char *param_modes;  /* PostgreSQL's codes: i in, o out, b inout, t table; c: a column of the result without a
                           variable (RETURNS tablename) */
    Type *param_types;
    int n_args;                         /* that callers of a function give: IN and INOUT; of a procedure: all of them */
    int n_defaults;                     /* the last n of them */
    Type ret;                           /* T_VOID for procedures and void functions */
    int64_t *param_domains, ret_domain; /* that they are of; 0: none */
    char *language;
    char *sql;  /* the CREATE statement */
    char *path; /* the schemas that names in it and in its body are looked for in, as a search_path; NULL: public */
    int64_t generic; /* an instance (routine_instance.h): the id of the polymorphic routine; else 0 */
} Routine;

typedef struct DomainCheck {
    char *name, *sql; /* of the value, which it calls VALUE */
    bool not_valid;   /* values that were there when it came need not pass */
} DomainCheck;
/* A type with conditions. Values are held, computed and shown as those of its base type, which all that runs knows of
 * it; the conditions are looked at where a value becomes one of the domain (sql/bind/bind_domain.c). Columns, routines
 * and expressions have its id beside their type. */
typedef struct Domain {
    EpochNode node; /* once retired */
    int64_t id;     /* never used again; another definition of the domain keeps it */
    char *name;
    Type type;      /* no domain's: that of its parents, too */
    int64_t parent; /* the domain that it is one of; 0: none */
    int64_t
        element; /* the domain of its elements: the type is that of arrays of it, and comes and goes with it; else 0 */
    bool not_null;
    char *default_sql; /* NULL: none; a new domain takes over its parent's */
    int n_checks;
    DomainCheck *checks; /* its own */
} Domain;

struct UserFunctions;
typedef struct CatalogRoom {
    int64_t index_defs, comments, roles, privileges, schemas;
} CatalogRoom;
typedef struct Catalog {
    Arena *arena;
    _Atomic int64_t version;            /* grows with every change: what is kept checks it (catalog_definitions) */
    struct EnumSpace *enums;            /* enumerated types, which all versions share (types/enums.h) */
    struct CompositeSpace *rows;        /* composite types, likewise (types/composite.h) */
    struct RangeSpace *ranges;          /* range types, likewise (types/range.h) */
    struct UserFunctions *functions;    /* of clients, of the same database (user_function.h); NULL: none */
    struct CatalogNames *names;         /* what changed when, which all versions share (names.h); NULL: not known */
    struct RoutineInstances *instances; /* of polymorphic routines, which all versions share (routine_instance.h) */
    int64_t next_id;
    int64_t n_tables, cap_tables;
    Table **tables;
    int64_t n_views, cap_views;
    View **views;
    int64_t n_foreign, cap_foreign;
    ForeignKey **foreign;
    uint64_t foreign_tables[64]; /* bits by hashes of the names of their tables, of both sides */
    int64_t n_routines, cap_routines;
    Routine **routines;
    int64_t n_domains, cap_domains;
    Domain **domains; /* by id: behind their parents */
    int64_t n_sequences, cap_sequences;
    Sequence **sequences;
    int64_t n_index_defs;
    IndexDef **index_defs;
    int64_t n_comments;
    Comment **comments;
    int64_t n_roles;
    Role **roles; /* by id */
    int64_t n_privileges;
    Privileges **privileges;
    int64_t n_schemas;
    Schema **schemas; /* but for those that are always there */
    CatalogRoom room; /* of these five arrays */
    RowSecurityList row_security;
} Catalog;

/* Without temporary objects, but for those of one schema (NULL: of none). The same objects in lists in the arena, or
 * `c` where it has none; NULL: no memory, which the arena has said. */
const Catalog *catalog_seen(const Catalog *c, Arena *a, const char *temp, Catalog *room);

/* Names what the catalog and the functions of clients define: it is another number whenever a name may mean something
 * else. Which names that are, names.h knows. */
enum { USER_FUNCTIONS_SHIFT = 40 };
#define USER_FUNCTIONS_VERSION (INT64_C(1) << USER_FUNCTIONS_SHIFT) /* one more version of the functions of clients */
int64_t catalog_definitions(const Catalog *c);

Table *catalog_table(const Catalog *c, Slice name);  /* NULL when absent; names are exact (already folded) */
View *catalog_view(const Catalog *c, Slice name);    /* but for materialized ones, which are found as tables: */
View *catalog_matview(const Catalog *c, Slice name); /* NULL: the name is no materialized view's */
Status catalog_add_table(Catalog *c, Table *t, Err *e);
/* Takes the table out without freeing it (undo may put it back). */
Table *catalog_remove_table(Catalog *c, Slice name);
Status catalog_add_view(Catalog *c, View *v, Err *e);
void catalog_remove_view(Catalog *c, const View *v);             /* without freeing it */
void catalog_replace_view(Catalog *c, const View *old, View *v); /* its new name, if it has one, is free */
View *view_new(const View *like, Err *e);                        /* a copy */
void view_free(View *v);
char view_check_option(const View *v); /* 'l' LOCAL, 'c' CASCADED; 0: none */
/* Instead of freeing one that readers without the lock may still have (db/published.h): it is in no catalog any more.
 */
void view_retire(EpochDomain *d, View *v);
void foreign_retire(EpochDomain *d, ForeignKey *f);
void routine_retire(EpochDomain *d, Routine *r);
void domain_retire(EpochDomain *d, Domain *x);
/* False: no foreign key has the table, on either side. Cheap: single-row statements ask. */
bool catalog_may_have_foreign(const Catalog *c, const char *table);
/* Names of foreign keys are per table and not checked here. */
Status catalog_add_foreign(Catalog *c, ForeignKey *f, Err *e);
void catalog_remove_foreign(Catalog *c, const ForeignKey *f); /* without freeing it */
ForeignKey *foreign_new(const ForeignKey *like, Err *e);      /* a copy */
void foreign_free(ForeignKey *f);

/* Overloads are not checked here (session/ddl/routine.c). The first time the routine gets its id. */
Status catalog_add_routine(Catalog *c, Routine *r, Err *e);
void catalog_remove_routine(Catalog *c, const Routine *r);    /* without freeing it */
Routine *catalog_routine_by_id(const Catalog *c, int64_t id); /* NULL: gone */
Routine *routine_new(const Routine *like, Err *e);            /* a copy */
void routine_free(Routine *r);
/* Its name is free. The first time the domain gets its id. */
Status catalog_add_domain(Catalog *c, Domain *d, Err *e);
void catalog_remove_domain(Catalog *c, const Domain *d);        /* without freeing it */
Domain *catalog_domain(const Catalog *c, Slice name);           /* NULL: there is none */
Domain *catalog_domain_by_id(const Catalog *c, int64_t domain); /* NULL: gone, or 0 */
Domain *domain_new(const Domain *like, Err *e);                 /* a copy */
void domain_free(Domain *d);
/* Its name as the thread shows it (named_text). NULL: no memory. */
char *domain_shown(Arena *a, const Domain *d);
/* Its name is free. The first time the sequence gets its id. */
Status catalog_add_sequence(Catalog *c, Sequence *q, Err *e);
void catalog_remove_sequence(Catalog *c, const Sequence *q);          /* without freeing it */
Sequence *catalog_sequence(const Catalog *c, Slice name);             /* NULL: there is none */
Sequence *catalog_sequence_by_id(const Catalog *c, int64_t sequence); /* NULL: gone */
/* The sequence that goes with the column, an identity column's first; NULL: none does. */
Sequence *catalog_sequence_of(const Catalog *c, const char *table, const char *column);
/* A table, view, sequence or index has the name: they share one space of names. */
bool catalog_relation_exists(const Catalog *c, Slice name);
/* Whether the domain is x, or has it among its parents. */
bool domain_is_of(const Catalog *c, const Domain *d, const Domain *x);
/* The type of the table's rows. */
Status catalog_row_type(const Catalog *c, const Table *t, Type *out, Err *e);
/* The parameter that is VARIADIC, the last of IN; -1: none. */
static inline int routine_variadic_param(const Routine *r) {
    int last = -1;
    for (int i = 0; r->variadic && i < r->n_params; i++)
        if (r->param_modes[i] == 'i') last = i;
    return last;
}
/* CREATE AGGREGATE: what it is made of stands in that statement. */
static inline bool routine_is_aggregate(const Routine *r) { return strcmp(r->language, "internal") == 0; }
/* Whether a parameter has a polymorphic type. */
static inline bool routine_is_polymorphic(const Routine *r) {
    bool is = false;
    for (int i = 0; i < r->n_params; i++) is = is || type_is_poly(r->param_types[i]);
    return is;
}
/* True when parameter i is one that callers give a value for; overloads differ in these. */
static inline bool routine_is_arg(const Routine *r, int i) {
    return r->param_modes[i] == 'i' || r->param_modes[i] == 'b' || (r->is_procedure && r->param_modes[i] == 'o');
}

#endif
