/* ast_access.h - the tree of statements on roles, privileges and owners. See ast.h. */
#ifndef STELE_SQL_PARSE_AST_ACCESS_H
#define STELE_SQL_PARSE_AST_ACCESS_H

#include "sql/parse/ast.h"

typedef struct AstRoleSpec {
    char what;        /* n: by name; c: CURRENT_ROLE; u: CURRENT_USER; s: SESSION_USER; p: PUBLIC */
    const char *name; /* n */
    int64_t location;
} AstRoleSpec;
typedef struct AstRoleSpecs {
    int64_t n;
    AstRoleSpec *items;
} AstRoleSpecs;

/* As the grammar calls them: superuser, canlogin, connectionlimit, validUntil, addroleto (IN ROLE), rolemembers, ... */
typedef struct AstRoleOption {
    const char *name;
    const char *text; /* password (NULL: none), validUntil */
    bool on;
    int64_t number;
    AstRoleSpecs roles;
    int64_t location;
} AstRoleOption;
/* CREATE, ALTER and DROP of ROLE, USER and GROUP. ALTER ROLE RENAME is AstRename. */
typedef struct AstRole {
    AST_STMT_HEAD;
    char action;        /* c, a, d */
    char word;          /* CREATE: r, u, g as it is spelled */
    AstRoleSpecs roles; /* one, but for DROP */
    AstRoleOption *options;
    int64_t n_options;
    int members; /* ALTER: 1: adds those of the option rolemembers, -1: takes them away */
    bool if_exists;
} AstRole;

/* ALTER ROLE SET and RESET, and ALTER DATABASE SET and RESET. */
typedef struct AstRoleSet {
    AST_STMT_HEAD;
    const AstRoleSpec *role; /* NULL: ALL */
    const char *database;    /* NULL: in all */
    bool is_database;        /* spelled ALTER DATABASE */
    const AstSet *set;
} AstRoleSet;

typedef struct AstPrivilege {
    const char *name; /* select, ...; NULL: ALL, of columns */
    const char **cols;
    int64_t n_cols;
} AstPrivilege;
/* Who gets or loses what. */
typedef struct AstGrantees {
    bool is_grant;
    bool option; /* WITH GRANT OPTION, WITH ADMIN OPTION; GRANT OPTION FOR, ADMIN OPTION FOR */
    bool cascade;
    AstRoleSpecs to;
    const AstRoleSpec *grantor; /* GRANTED BY; NULL: none */
} AstGrantees;
typedef struct AstGrantRole {
    AST_STMT_HEAD;
    AstGrantees grantees;
    AstPrivilege *roles; /* by name */
    int64_t n_roles;
} AstGrantRole;

typedef struct AstGrant {
    AST_STMT_HEAD;
    AstGrantees grantees;
    char object; /* r TABLE, S SEQUENCE, n SCHEMA, D DATABASE, f FUNCTION, p PROCEDURE, o ROUTINE, T TYPE, d DOMAIN */
    char target; /* o: objects, a: all of schemas, d: ALTER DEFAULT PRIVILEGES */
    AstPrivilege *privileges;
    int64_t n_privileges; /* 0: ALL */
    AstName *names;       /* objects; of ALL IN SCHEMA the schemas */
    int64_t n_names;
    struct AstFuncSignature *routines; /* in place of names */
    /* ALTER DEFAULT PRIVILEGES */
    AstRoleSpecs for_roles;
    const char **in_schemas;
    int64_t n_in_schemas;
} AstGrant;

/* ALTER object OWNER TO */
typedef struct AstOwner {
    AST_STMT_HEAD;
    AstObject object;
    AstName name;
    struct AstFuncSignature *routine;
    char what; /* of a routine: f, p, r */
    bool if_exists;
    const AstRoleSpec *owner;
} AstOwner;

/* DROP OWNED, REASSIGN OWNED */
typedef struct AstOwned {
    AST_STMT_HEAD;
    bool drop, cascade;
    AstRoleSpecs roles;
    const AstRoleSpec *to; /* REASSIGN */
} AstOwned;

/* CREATE, ALTER, ALTER .. RENAME and DROP of POLICY; ALTER TABLE .. ROW LEVEL SECURITY. */
typedef struct AstPolicy {
    AST_STMT_HEAD;
    char action; /* c, a, r, d; of the table: e ENABLE, x DISABLE, f FORCE, n NO FORCE */
    AstName table;
    const char *name, *new_name;
    char command; /* CREATE: as Policy.command (catalog/row_security.h) */
    bool restrictive, if_exists;
    AstRoleSpecs roles; /* none: of CREATE PUBLIC, of ALTER as before */
    AstExpr *using_expr, *check_expr;
    Slice using_source, check_source; /* their texts */
} AstPolicy;

#endif
