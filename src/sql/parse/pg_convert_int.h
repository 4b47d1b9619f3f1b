/* pg_convert_int.h - what the files share that turn PostgreSQL's tree into Stele's: pg_convert.c, pg_access.c; no other
 * file includes it. */
#ifndef STELE_SQL_PARSE_PG_CONVERT_INT_H
#define STELE_SQL_PARSE_PG_CONVERT_INT_H

#include "postgres.h"

#include "nodes/parsenodes.h"

#include "sql/parse/ast_access.h"
#include "sql/parse/parse_int.h"

typedef struct Conv {
    Arena *a;
    Err *e;
    Slice text;
    Slice stmt; /* the statement being converted, and its offset in text */
    int64_t stmt_offset;
    Forms forms;
} Conv;

/* Functions return NULL or false after setting Conv.e, or after an arena ran out of memory. */
int64_t pos_of(int location);
void *unexpected(Conv *c, Node *n);
void *new_node(Conv *c, int64_t size, AstKind kind, int location);
#define NEW(T, kind, location) ((T *)new_node(c, (int64_t)sizeof(T), (kind), (location)))
void *new_array(Conv *c, int64_t n, int64_t size); /* at least one byte, zeroed */
bool copy_str(Conv *c, const char *s, const char **out);
bool conv_names(Conv *c, List *l, const char ***out, int64_t *n); /* of String nodes */
bool conv_qualified(Conv *c, List *l, int location, AstName *out);
bool conv_rangevar(Conv *c, RangeVar *r, AstName *out);
char routine_kind(ObjectType t); /* as AstDropFunction has it; 0: it is no kind of routine */
bool conv_signature(Conv *c, ObjectWithArgs *o, AstFuncSignature *y);
AstObject object_of(ObjectType t);
/* An object's name where the grammar gives a List of String, a String or a TypeName; NULL: none of these. */
bool object_names(Conv *c, Node *n, AstName *out);
AstStmt *unsupported_stmt(Conv *c, const char *what);
AstStmt *unsupported_on(Conv *c, const char *verb, ObjectType t);
AstStmt *conv_set(Conv *c, VariableSetStmt *s);

/* ---- pg_access.c ---- */
bool is_access_stmt(Node *n);
AstStmt *conv_access(Conv *c, Node *n);
AstStmt *conv_table_owner(Conv *c, AlterTableStmt *s); /* ALTER TABLE and the like, of one OWNER TO */
const AstRoleSpec *conv_new_owner(Conv *c, RoleSpec *r);
AstStmt *conv_drop_policy(Conv *c, DropStmt *s);
AstStmt *conv_rename_policy(Conv *c, RenameStmt *s);
char row_security_command(const AlterTableStmt *s); /* AstPolicy.action of one such command alone; else 0 */
AstStmt *conv_row_security(Conv *c, AlterTableStmt *s);

/* ---- pg_convert.c, for the above ---- */
bool conv_opt_expr(Conv *c, void *n, AstExpr **out);
/* The text within the parentheses behind the word, which stands behind `location`. */
bool copy_clause(Conv *c, int location, const char *word, Slice *out);

#endif
