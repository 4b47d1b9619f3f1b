/* generation.h - the directories and CURRENT of a database (README.md): for those who open it and save it. */
#ifndef STELE_DB_GENERATION_H
#define STELE_DB_GENERATION_H

#include "db/database.h"

/* What CURRENT says. */
typedef struct Current {
    int64_t generation; /* 0: an empty database */
    int64_t database;   /* a random number that its logs have too; 0: an older file, which does not say what follows */
    int64_t timeline;   /* grows with each recovery */
    int64_t lsn;        /* where the generation's log begins */
    bool has_log;
} Current;
enum { FIRST_LSN = 1 << 24 };

/* name NULL: the directory itself. All in the arena; NULL: no memory. generation 0: the database's, `dir`. */
char *generation_file(Arena *a, const char *dir, int64_t generation, const char *name);
char *generation_path(Arena *a, const Database *db, int64_t generation, const char *name);
char *generation_table(Arena *a, const Database *db, int64_t generation, int64_t id);
/* What files of a table go on from (storage/table_parts.h). */
char *generation_part(Arena *a, const Database *db, int64_t generation, int64_t id, uint64_t seal);
char *generation_logged_table(Arena *a, const Database *db, int64_t generation, int64_t lsn, int64_t id);

/* A database without a number gets one. */
Status current_write(const Database *db, Arena *a, Current *c, Err *e);
/* *there: false when there is none. XX001 */
Status current_read(Vfs *vfs, const char *dir, Arena *a, Current *out, bool *there, Err *e);

typedef VEC(int64_t) GenerationList;
/* Those that there are, in ascending order. */
Status generations_list(Vfs *vfs, const char *dir, Arena *a, GenerationList *out, Err *e);
bool generation_of_name(const char *name, int64_t *out); /* false: the name is no such directory's */
/* All of it; or what a checkpoint has written, without the log and files that it names. Best effort: what stays is
 * removed at the next opening. */
void generation_remove(const Database *db, Arena *a, int64_t generation);
void generation_remove_saved(const Database *db, Arena *a, int64_t generation);

#endif
