/* unsupported.c - statements that PostgreSQL has and Stele has not: what they name is looked for first. */
#include <sys/stat.h>

#include "catalog/similar_names.h"
#include "session/ddl/utility_int.h"
#include "sql/bind/bind.h"

static Status extension(Session *s, Statement *st, const AstUnsupported *x) {
    if (strcmp(x->extension, "plpgsql") != 0)
        return err_set(&s->err, ERR_FEATURE_NOT_SUPPORTED, "extension \"%s\" is not available", x->extension);
    if (!x->if_exists) return err_set(&s->err, ERR_DUPLICATE_OBJECT, "extension \"%s\" already exists", x->extension);
    session_notice_text(s, "NOTICE", ERR_DUPLICATE_OBJECT, "extension \"%s\" already exists, skipping", x->extension);
    return tag(st, "CREATE EXTENSION"), ST_OK;
}
static Status database(Session *s, Statement *st, const AstUnsupported *x) {
    if (strcmp(x->database, s->info.database) == 0)
        return err_set(&s->err, ERR_OBJECT_IN_USE, "cannot drop the currently open database");
    if (!x->if_exists) return err_set(&s->err, ERR_UNDEFINED_DATABASE, "database \"%s\" does not exist", x->database);
    session_notice_text(s, "NOTICE", "00000", "database \"%s\" does not exist, skipping", x->database);
    return tag(st, "DROP DATABASE"), ST_OK;
}
static Status function(Session *s, Statement *st, const AstUnsupported *x) {
    const Catalog *k = &s->db->catalog;
    Routine *r;
    const char *missing;
    AstName table;
    if (x->table) TRY(session_relation_name(s, st->run_arena, x->table, false, &table));
    if (x->table && !catalog_relation_exists(k, slice_of(table.name)))
        return catalog_no_relation(k, table.name, x->table->location, &s->err);
    TRY(sql_find_routine(k, st->run_arena, 'f', x->function, &r, &missing, &s->err));
    return r ? ST_OK : sql_no_routine('f', x->function, missing, &s->err);
}

Status unsupported_statement(Session *s, Statement *st, const AstUnsupported *x) {
    struct stat info;
    if (x->extension) return extension(s, st, x);
    if (x->database) return database(s, st, x);
    if (x->function) TRY(function(s, st, x));
    if (x->server) return err_set(&s->err, ERR_UNDEFINED_OBJECT, "server \"%s\" does not exist", x->server);
    if (x->file && stat(x->file, &info) != 0)
        return err_set(&s->err, ERR_UNDEFINED_FILE, "could not access file \"%s\": No such file or directory", x->file);
    if (x->directory && stat(x->directory, &info) != 0)
        return err_set(&s->err, ERR_UNDEFINED_FILE, "directory \"%s\" does not exist", x->directory);
    return err_at(&s->err, x->location, ERR_FEATURE_NOT_SUPPORTED, "%s is not supported", x->what);
}
