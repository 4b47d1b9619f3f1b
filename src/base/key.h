/* key.h - names of objects together with the schemas that they are in.
 *
 * The catalog knows an object by its key. In the schema public that is its name; in another one it is
 *
 *     KEY_MARK schema KEY_MARK name
 *
 * No name has the byte KEY_MARK, since names are valid UTF-8: what is a key, and where its name begins, can be told
 * from the text alone. So whatever names objects (foreign keys, comments, files, items of bulks) does so by one text,
 * and a key that is made by adding something to another one ("_pkey") is of the same schema.
 *
 * What is shown is a name, or a name with its schema (name_put_quoted). Messages (err.h) show a key as its name.
 */
#ifndef STELE_BASE_KEY_H
#define STELE_BASE_KEY_H

#include "base/mem.h"

#define KEY_MARK '\xff'
#define KEY_PUBLIC "public"

static inline bool key_has_schema(const char *key) { return key[0] == KEY_MARK; }
const char *name_of_key(const char *key); /* where the name begins */
Slice schema_of_key(const char *key);     /* "public" where it has none */
bool key_is_in(const char *key, const char *schema);
/* Temporary objects are in schemas of this prefix, one for each session that has any; CREATE SCHEMA refuses such names.
 */
#define KEY_TEMPORARY "pg_temp_"
static inline bool schema_is_temporary(const char *schema) {
    return strncmp(schema, KEY_TEMPORARY, sizeof KEY_TEMPORARY - 1) == 0;
}
static inline bool key_is_temporary(const char *key) { return key_has_schema(key) && schema_is_temporary(key + 1); }
static inline bool key_is_named(const char *key, const char *name) { return strcmp(name_of_key(key), name) == 0; }
/* The key of a name in a schema (NULL: public), and in the schema of another key. In the arena; NULL: no memory. The
 * name itself where it is the key. */
const char *key_make(Arena *a, const char *schema, const char *name);
const char *key_beside(Arena *a, const char *key, const char *name);
/* A text in which keys are schema.name, without quotes: how the C interface names objects. The text itself where it has
 * none; NULL: no memory. */
const char *keys_dotted(Arena *a, const char *text);
/* Leaves of the keys in a text their names. */
void key_names_only(char *text);

#endif
