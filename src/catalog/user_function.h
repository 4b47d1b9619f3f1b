/* user_function.h - functions that a client has registered with an open database (stele_create_scalar and the like).
 *
 * They are no part of the catalog: they are not saved, take part in no transaction, and need no database lock. A name
 * in SQL means one of them when a statement is bound; views and routines refer to them by name, so that in a process
 * that has not registered the name it is unknown (42883).
 *
 * Lifetime. Definitions never change. The registry has a reference, and so has each arena whose plan may call the
 * function: one that is taken out of the registry while statements run, or plans are kept, is freed behind the last of
 * them. Plans that are kept notice by catalog_definitions() that names may mean something else.
 *
 * Locking: UserFunctions.lock (rank FUNCTIONS, a leaf); `free_data` of a function runs without it.
 */
#ifndef STELE_CATALOG_USER_FUNCTION_H
#define STELE_CATALOG_USER_FUNCTION_H

#include "base/mutex.h"
#include "catalog/catalog.h"
#include "types/func.h"

typedef enum UserFunctionKind { USER_SCALAR, USER_AGGREGATE, USER_TABLE } UserFunctionKind;

struct RowStream;
typedef struct UserFunction {
    _Atomic int64_t refs;
    uint8_t kind;      /* UserFunctionKind */
    bool one_thread;   /* called on the thread of the statement only */
    Routine signature; /* name, parameters, result; language "c"; in the catalog it is not */
    FuncDef def;       /* what plans call: def.own is this UserFunction */
    Arena *arena;      /* of all this */
    const void *own;   /* the maker's */
    /* USER_TABLE: the rows for these arguments, in the arena (program/stream.h). args NULL: their columns alone, 0A000
     * where these depend on arguments. def makes an array of a row's rows, each a record: its first argument has the
     * columns' types as bytes. */
    Status (*open)(const struct UserFunction *f, Arena *a, const Value *args, const struct RowStream **out, Err *e);
    void (*free_data)(void *data);
    void *data;
} UserFunction;

typedef struct UserFunctions {
    Mutex lock;
    _Atomic int64_t version; /* grows with every change */
    _Atomic int64_t n;
    int64_t cap;
    UserFunction **items;
    MemAccount *account;
} UserFunctions;

Status user_functions_new(MemAccount *account, UserFunctions **out, Err *e);
void user_functions_free(UserFunctions *u); /* NULL is fine; plans that call some are gone */

/* An empty definition with an arena and one reference, which user_functions_add takes. */
Status user_function_new(UserFunctions *u, UserFunction **out, Err *e);
void user_function_unref(void *f); /* NULL is fine */

/* Takes the place of one with the same name and parameters. 42723: an aggregate or table function has the name and the
 * new one is of another kind. On an error the caller keeps its reference. */
Status user_functions_add(UserFunctions *u, UserFunction *f, Err *e);
/* n_types < 0: all of that name. 42883: there is none. */
Status user_functions_remove(UserFunctions *u, const char *name, int n_types, const Type *types, Err *e);
/* Those of that name, with references that go with the arena. *n 0: none. u may be NULL. */
Status user_functions_find(UserFunctions *u, const char *name, Arena *a, int *n, UserFunction ***out);
/* Whether the first of that name is of the kind; they all are. */
bool user_functions_has(UserFunctions *u, const char *name, UserFunctionKind kind);

#endif
