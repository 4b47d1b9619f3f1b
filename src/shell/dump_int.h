/* dump_int.h - what the files of stele dump share: dump.c writes SQL, dump_dir.c a directory. */
#ifndef STELE_SHELL_DUMP_INT_H
#define STELE_SHELL_DUMP_INT_H

#include "shell/shell.h"

/* What stele_list_definitions has; texts are owned. */
typedef struct Object {
    char *kind, *name, *table, *target, *create, *drop, *problem;
    bool after_data, overriding;
} Object;

typedef struct Dump {
    Shell sh;
    const char *file;      /* -o; NULL: standard output */
    const char *directory; /* --directory; NULL: one file */
    int64_t jobs;          /* threads that write a directory; 0: as many as there are processors, up to 8 */
    const char **patterns;
    int n_patterns;
    int64_t memory_limit; /* 0: the library's */
    bool schema_only, data_only, inserts, clean, if_exists, roles, no_owner, no_privileges;
    Object *objects;
    size_t n, cap;
    bool out_of_memory;
    /* --inserts: of the table being written */
    const Object *table;
    bool *plain; /* per column: values need no quotes */
    size_t n_columns;
    char *row; /* the line of COPY that has not ended */
    size_t row_len, row_cap;
} Dump;

bool dump_failed_memory(void);           /* false */
bool dump_run(Dump *d, const char *sql); /* on the dump's own connection */
bool dump_goes_on(Dump *d);              /* what has been written got where it should, and no signal has come */
/* Settings of a session that reads data for a dump, one by one; NULL ends them. */
extern const char *const dump_settings[];
/* The objects, in a transaction that only reads, which has begun. */
bool dump_list(Dump *d);
/* SQL to d->sh.out: settings; all that comes before data, and all behind it. */
void dump_put_settings(Dump *d);
bool dump_put_before(Dump *d);
bool dump_put_after(Dump *d);
void dump_put_end(Dump *d);
/* d->directory. */
bool dump_to_directory(Dump *d);

#endif
