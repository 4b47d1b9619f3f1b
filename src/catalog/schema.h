/* schema.h - schemas, and what names mean by them.
 *
 * Objects are known by their keys (base/key.h), which have their schemas. public, pg_catalog and information_schema are
 * always there; all others are Schema objects of the catalog. A Schema has no list of what is in it.
 *
 * A SearchPath is a setting search_path, taken apart. One is in force on a thread while it works for a session, or
 * makes something of a routine or another text of the catalog (search_path_use): names without a schema are looked for
 * in the schemas that it names, one after the other, and types are shown without a schema that is among these. Texts of
 * the catalog are bound with public alone in force, and name the schemas of what is elsewhere; routines have the path
 * that was in force when they were made.
 *
 * pg_catalog comes first unless the path names it. The database's own name of the user stands for "$user". Schemas that
 * are not there are passed over, so that a path need not be looked at again when one comes or goes.
 *
 * Temporary objects of a session are in a schema of its own (TempSchema), pg_temp_N, whose number no other session of
 * the database ever has; the session calls it pg_temp, too. It is made with the first object in it, and is looked in
 * before all others, unless the path names it, and never for routines. What other sessions have is not found by name,
 * not by their schemas' either. Which session's it is comes with the thread, not with the path (temp_schema_use), since
 * routines see their caller's. Under the path of texts of the catalog, public alone, there is none.
 *
 * Never changed: another Schema takes its place. One block of memory.
 */
#ifndef STELE_CATALOG_SCHEMA_H
#define STELE_CATALOG_SCHEMA_H

#include "base/epoch.h"
#include "base/key.h"
#include "base/search_path.h"

typedef struct Schema {
    EpochNode node; /* once retired */
    int64_t id;     /* never used again; another definition of the schema keeps it */
    char *name;
} Schema;
struct Catalog;
Schema *schema_new(const Schema *like, Err *e); /* a copy */
void schema_free(Schema *x);
void schema_retire(EpochDomain *d, Schema *x); /* as view_retire */
/* Its name is free. The first time the schema gets its id. */
Status catalog_add_schema(struct Catalog *c, Schema *x, Err *e);
void catalog_remove_schema(struct Catalog *c, const Schema *x);     /* without freeing it */
Schema *catalog_schema(const struct Catalog *c, const char *name);  /* NULL: none of the catalog's */
bool catalog_has_schema(const struct Catalog *c, const char *name); /* those that are always there, too */

/* ---- search_path ---- */
/* The setting's text; user: what "$user" stands for. False: it is not a list of names, or too long. */
bool search_path_parse(const char *text, const char *user, SearchPath *out);
/* A text that gives the path; NULL: of public alone, or no memory, which the arena has said. */
const char *search_path_text(const SearchPath *p, Arena *a);
/* Leaves out the names that no schema has. */
void search_path_keep_existing(const struct Catalog *c, SearchPath *p);
/* The schema that objects without one are made in, which may be pg_temp, there or not; NULL: no schema of the path is
 * there. */
const char *search_path_first(const struct Catalog *c);

/* ---- temporary objects ---- */
#define SCHEMA_TEMP "pg_temp" /* as a session calls its own */
typedef struct TempSchema {
    struct TempSchema *next; /* of those that have lost their sessions (db/database.h) */
    char name[32];           /* pg_temp_N */
    bool made;               /* the catalog has it */
} TempSchema;
/* The session's that this thread works for, from here; NULL: none. Returns what was. */
const TempSchema *temp_schema_use(const TempSchema *t);
/* Its name; NULL: there is none, or there must not be any here. What is made from names depends on that. */
const char *temp_schema_now(void);
/* pg_temp is the session's; another name is itself. NULL: there is no pg_temp. */
const char *schema_meant(const char *schema);
/* A temporary schema of another session, and an object in one. */
bool schema_is_others(const char *schema);
bool key_is_others(const char *key);

/* What the name of a relation means. */
typedef struct RelationName {
    int system;      /* the number of a system relation; -1: none */
    const char *key; /* else: of what there is, or one that nothing has */
} RelationName;
/* schema NULL: by the search path. Keys are in the arena where they are not names. */
Status catalog_search(const struct Catalog *c, Arena *a, const char *schema, const char *name, RelationName *out);
/* As a text has the key for this thread: its name, with the schema in front if the name alone means another relation or
 * none; in quotes where they are needed. NULL: no memory. */
char *catalog_shown(const struct Catalog *c, Arena *a, const char *key);

#endif
