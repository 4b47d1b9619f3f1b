/* search_path.h - the schemas that names without one are looked for in, as a thread has them in force.
 *
 * What a path is good for is the catalog's (catalog/schema.h). It is here because types are shown by it, too: without
 * their schema where that is one of the path.
 */
#ifndef STELE_BASE_SEARCH_PATH_H
#define STELE_BASE_SEARCH_PATH_H

#include "base/key.h"

enum { SEARCH_PATH_NAMES = 64, SEARCH_PATH_BYTES = 512 };
typedef struct SearchPath {
    uint64_t hash; /* of the names; never 0 */
    bool pinned;   /* it is a definition's: what is made under it is good for all sessions */
    int32_t n;
    bool has_catalog; /* it names pg_catalog, which then comes in its place */
    bool has_temp;    /* likewise pg_temp */
    bool no_temp;     /* temporary objects are not looked for */
    uint16_t at[SEARCH_PATH_NAMES];
    char names[SEARCH_PATH_BYTES]; /* one behind the other, each with a NUL */
} SearchPath;
static inline const char *search_path_name(const SearchPath *p, int i) { return p->names + p->at[i]; }
/* public alone, as the path of a routine. */
const SearchPath *search_path_public(void);
/* In force on this thread from here; NULL: public alone, without temporary objects. Returns what was; the caller keeps
 * the path. */
const SearchPath *search_path_use(const SearchPath *p);
const SearchPath *search_path_now(void); /* never NULL */
/* Names no schema: under it all that is shown has its schema. Static. */
const SearchPath *search_path_none(void);
/* The schema is one of the path that is in force: its place there, -1: it is none, or a temporary one. */
int search_path_place(Slice schema);
static inline bool search_path_has(Slice schema) { return search_path_place(schema) >= 0; }

#endif
