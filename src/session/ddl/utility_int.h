/* utility_int.h - what the files of utility statements share: utility.c, create_table.c, alter.c, indexes.c,
 * copy_statement.c and the others of this folder; no other file includes it. */
#ifndef STELE_SESSION_DDL_UTILITY_INT_H
#define STELE_SESSION_DDL_UTILITY_INT_H

#include <stdio.h>

#include "session/core/session.h"
#include "session/ddl/index_names.h"
#include "sql/plan/plan.h"

static inline Status tag(Statement *st, const char *text) {
    snprintf(st->tag, sizeof st->tag, "%s", text);
    return ST_OK;
}

/* The definition of a table that is not there yet, in the statement's arena. */
typedef struct TableDraft {
    ColumnDef *cols;
    int n_cols;
    KeyDef *keys;
    int n_keys;
    CheckDef *checks;
    int n_checks;
    ExprIndexDef *exprs;
    int n_exprs;
    bool unlogged;
    IndexDef *index_defs; /* of new keys with more to say than a key does, for when the table is there */
    int n_index_defs;
    const struct RowChange *rows; /* what has become of composite types of its columns; NULL: nothing */
} TableDraft;

static inline Persistence persistence_of(bool temporary, bool unlogged) {
    return temporary ? PERSISTENCE_TEMPORARY : unlogged ? PERSISTENCE_UNLOGGED : PERSISTENCE_PERMANENT;
}

bool reads_temporary(const PlanCtx *c); /* views.c: what has been bound names a temporary relation */

/* ---- create_table.c ---- */
Status create_table(Session *s, Statement *st, const AstCreateTable *x);
Status create_table_as(Session *s, Statement *st, const AstCreateTableAs *x);
/* The draft of an existing table, with room for one more column, key, CHECK and index. */
Status draft_of(Session *s, Arena *a, const Table *t, TableDraft *d);
int draft_column(const TableDraft *d, const char *name);     /* -1: there is none */
Status check_key_type(Session *s, Type t, int64_t location); /* 42704, 0A000: not of a key */
void draft_key_column(TableDraft *d, int col);               /* of a key or foreign key: its type may need a flag */
bool is_system_column(const char *name);
Status column_name_free(Session *s, const char *name, int64_t location);           /* 42701: a system column has it */
bool is_pseudo_type(const AstTypeName *t);                                         /* by its name: of arguments only */
Status column_type(Session *s, const AstColumnDef *c, Type *out, int64_t *domain); /* *domain: 0, or of which one */
/* The same where serial and its like are types, too. */
Status new_column_type(Session *s, const AstColumnDef *c, Type *out, int64_t *domain);
/* The sequence of a serial column or an identity column of the draft. */
Status add_sequence(Session *s, Arena *a, TableDraft *d, const char *table, const AstColumnDef *c, int column);
/* At most one DEFAULT, and not both NULL and NOT NULL. 42601 */
Status check_column_constraints(Session *s, const char *table, const AstColumnDef *c);
/* Adds a constraint to the draft, which has room for it; column: the one that it was written at, or -1. FOREIGN KEYs
 * are left to foreign_keys(). */
/* DEFAULT of a column. NULL is none, unless it is of a domain, whose default it hides, or cut to a length. */
Status column_default(Session *s, Arena *a, const AstExpr *e, Slice source, ColumnDef *c);
Status add_constraint(Session *s, Arena *a, TableDraft *d, const char *table, const AstConstraint *k, int column);
/* A key, foreign key or CHECK of the name (comments.c). */
bool table_has_constraint(const Catalog *c, const Table *t, const char *name);
/* Defines the FOREIGN KEYs of n constraints of a table of the catalog; column: where they were written, or NULL. */
Status foreign_keys(Session *s, Statement *st, const char *table, int64_t n, const AstConstraint *k,
                    const char *column);
/* Binds CHECKs and DEFAULTs once so that a bad one is refused at definition. */
Status try_bind(Session *s, Arena *a, Table *t);

/* ---- fill.c ---- */
/* Adds all rows of a result, which may come in pieces, to an empty table; *count of them. */
Status fill_table(Session *s, Table *t, RunOutput *r, Arena *a, int64_t *count);
/* Binds a query for the catalog that the session reads (session_catalog); *t gets its rows, and may be of no catalog.
 */
typedef struct FillQuery {
    Status (*bind)(void *ctx, PlanCtx *c, BoundStmt **b, Table **t);
    void *ctx;
} FillQuery;
/* The same beside the tables (ahead.h), with the lock held alone before and behind it. target: the table, if it is one
 * of the catalog. *load: all that is left is load_finish, and load_cancel in any case; NULL: it did not come to that.
 * *again: others have changed what was read, and the target may be gone. On an error the lock is not held. */
struct AheadTries;
Status fill_ahead(Session *s, Statement *st, const FillQuery *q, const Table *target, struct AheadTries *tries,
                  TableLoad **load, bool *again);

/* ---- create_table.c ---- */
/* 42P07; *skip: the relation is there, and that is fine. */
Status name_is_free(Session *s, const AstName *n, bool if_not_exists, bool *skip);
/* A table with the columns of the query, under other names where there are some; options of CREATE TABLE ... WITH. It
 * is of no catalog yet. */
Status table_of_query(Session *s, Arena *a, const AstCreateTableAs *x, const PlanCtx *c, const BoundStmt *b,
                      Table **out);
Status add_new_table(Session *s, Table *t); /* frees it on an error */

/* ---- schemas.c ---- */
Status schema_create(Session *s, Statement *st, const AstCreateSchema *x);
Status schemas_drop(Session *s, Statement *st, const AstDrop *x);
Status schema_rename(Session *s, Statement *st, const AstRename *x);
Status set_schema(Session *s, Statement *st, const AstSetSchema *x); /* ALTER .. SET SCHEMA */
Status schema_empty(Session *s, Statement *st, const char *schema);  /* drops all that is in it, without notices */
struct Dependents;
Status drop_statement(Session *s, Statement *st, const AstDrop *x);   /* utility.c */
Status drop_spared_relations(Session *s, const struct Dependents *d); /* utility.c; what dependents_drop leaves */

/* ---- views.c ---- */
/* 42809: the command is none for such a relation, of which there are `kind`. */
Status alter_refused(Session *s, const char *relation, const char *kind, const AstAlterCmd *k);

/* ---- alter.c ---- */
Status alter_table(Session *s, Statement *st, const AstAlterTable *x);
Status rename_object(Session *s, Statement *st, const AstRename *x);
/* A table of the draft's definition, without rows. */
Status draft_table(Session *s, const TableDraft *d, const char *name, Table **out);
/* *rows of a query. */
Status count_rows(Session *s, Statement *st, const char *sql, int64_t *rows);
/* The table is built anew under a draft whose columns are those that it has. 23505 */
Status rebuild_as(Session *s, Statement *st, Table *t, const TableDraft *d);
/* ... with its rows in the order of a text: " order by a", or "". */
Status rebuild_ordered(Session *s, Statement *st, Table *t, const TableDraft *d, const char *order);
/* The table, with its indexes and sequences, is one of another schema, where its name is free. */
Status table_move(Session *s, Statement *st, const char *table, const char *schema);
/* A text of its definition, such as a CHECK's, when a table, or (col >= 0) a column of it, is about to get another
 * name: its columns without the table's name, and the column under the new one. */
Status rename_in_text(Session *s, Arena *a, const Table *t, int col, const char *new_name, const char *text,
                      const char **out);

/* ---- enum_types.c ---- */
Status enum_create(Session *s, Statement *st, const AstCreateEnum *x);
Status enum_alter(Session *s, Statement *st, const AstAlterEnum *x);
bool type_is_builtin(const AstName *n, Type *out);                          /* of Stele's own */
Status type_name_free(Session *s, const char *key, int64_t location);       /* 42710 unless a type may be called so */
Status type_new_name(Session *s, Arena *a, const AstName *n, AstName *out); /* ... and its key */
/* 0A000: the text of a definition names the type. */
Status type_rename(Session *s, Statement *st, NamedType x, const char *key, int64_t location);
Status type_move(Session *s, Statement *st, NamedType x, const char *schema); /* into another one */
Status row_type_free(Session *s, const char *relation,
                     int64_t location); /* ... a table or view, whose rows have a type */

/* ---- range_types.c ---- */
Status range_create(Session *s, Statement *st, const AstCreateRange *x);
/* ... by the renaming of its schema: a multirange, too. */
Status type_follow(Session *s, Statement *st, NamedType x, const char *schema);
/* The type, or (multi) its multirange. */
Status range_rename(Session *s, const RangeType *x, bool multi, const char *new_name);
/* Those of the schema `from` are of `to`. */
Status range_constructors_move(Session *s, Arena *a, const char *from, const char *to);

/* ---- composites.c ---- */
Status composite_create(Session *s, Statement *st, const AstCreateComposite *x);
Status composite_alter(Session *s, Statement *st, const AstAlterTable *x);
Status composite_rename_attribute(Session *s, Statement *st, const AstRename *x);
Status composite_rename(Session *s, const CompositeType *x, const char *new_name);
/* 0A000: texts know the fields of the table's row type, or (columns) columns have it. */
Status row_type_unused(Session *s, Statement *st, const Table *t, bool columns);

/* What the table's row type, which was `before`, has to become wherever it is. dropped: the column that is gone, or -1.
 */
Status row_type_renewed(Session *s, Statement *st, const char *table, Type before, int dropped);

/* ---- utility.c ---- */
/* The prepared statement that EXECUTE names, which the statement keeps, and its parameters' values. */
Status prepared_values(Session *s, Statement *st, const AstExecute *x, SqlText **out, Value **values);

/* ---- unsupported.c ---- */
/* 0A000, or what PostgreSQL says of something that the statement names and that is not there. */
Status unsupported_statement(Session *s, Statement *st, const AstUnsupported *x);

/* ---- row_types.c ---- */
/* A composite type has another definition: field i of it is field map[i] of the old one, -1: NULL. */
typedef struct RowChange {
    const CompositeType *from, *to;
    const int32_t *map;
    struct RowChange *next;
} RowChange;
/* A type with the new definitions in it. */
Type row_change_type(const RowChange *list, Type t);
/* Makes a value of such a type of the old one, its argument. */
const FuncDef *row_change_func(Arena *a, const RowChange *list);
/* For the map: the old fields in order, less `dropped` (-1: none), and then new ones. */
const int32_t *row_change_map(Arena *a, int32_t n_old, int32_t n_new, int32_t dropped);
bool row_type_used(Session *s, Type t); /* in columns, routines and domains */
/* Puts the new definition (which is in force) in the place of the old one wherever that is: in other types, routines,
 * and columns, whose rows are made anew. */
Status row_type_changed(Session *s, Statement *st, const CompositeType *from, const CompositeType *to,
                        const int32_t *map);
/* Takes an attribute away, because its type goes; a column has no values of it. */
Status composite_drop_attribute(Session *s, Statement *st, const char *type, const char *name);

/* ---- domains.c ---- */
Status domain_create(Session *s, Statement *st, const AstCreateDomain *x);
Status domain_alter(Session *s, Statement *st, const AstAlterDomain *x);
Status type_drop(Session *s, Statement *st, const AstDrop *x); /* DROP TYPE, DROP DOMAIN */
Status type_drop_key(Session *s, const char *key);             /* nothing depends on it; it may have gone already */
Status domain_put_as(Session *s, Statement *st, const Domain *d, const char *key);

/* Take a condition of a domain, or its default, away, because something that it needs goes. */
Status domain_drop_check(Session *s, Statement *st, const char *name, const char *check);
Status domain_drop_default(Session *s, Statement *st, const char *name);

/* ---- sequences.c ---- */
Status sequence_create(Session *s, Statement *st, const AstSequence *x);
Status sequence_alter(Session *s, Statement *st, const AstSequence *x);
Status sequence_rename(Session *s, Statement *st, const AstRename *x);
/* Its name is free in the schema. */
Status sequence_move(Session *s, Statement *st, int64_t sequence, const char *schema);
Status sequence_drop(Session *s, Statement *st, const AstDrop *x);
/* The options of ALTER SEQUENCE, of a sequence or an identity column. */
Status sequence_alter_options(Session *s, Arena *a, Sequence *q, int64_t n, const AstSequenceOption *options);
/* A sequence for a serial column (identity NULL) or an identity column, whose default, kind and NOT NULL are set. */
Status sequence_of_column(Session *s, Arena *a, TableDraft *t, const char *table, int column,
                          const AstConstraint *identity);
Status check_identity_type(Session *s, const ColumnDef *col); /* 22023 */
/* Of those that go with the table, or (column not NULL) a column of it: they are dropped; it gets another name;
 * TRUNCATE RESTART IDENTITY. */
Status sequences_drop_of(Session *s, const char *table, const char *column);
Status sequences_rename_owner(Session *s, const char *table, const char *column, const char *new_name);
Status sequences_restart(Session *s, const char *table);
Status sequences_set_unlogged(Session *s, const char *table, bool unlogged);

/* ---- indexes.c ---- */
Status create_index(Session *s, Statement *st, const AstCreateIndex *x);
Status drop_index(Session *s, Statement *st, const AstDrop *x);
Status rename_index(Session *s, Statement *st, const AstRename *x);
Status alter_index(Session *s, Statement *st, const AstAlterTable *x);
/* Takes index number k (keys first) out of the draft. */
void draft_remove_index(TableDraft *d, int k);

/* ---- index_defs.c ---- */
/* PostgreSQL's name for an object without one: name1_name2_label (name2 NULL: without it), cut to 63 bytes, and a
 * number behind it when it is taken, by a relation or by a key of the draft (NULL: of none). name1 is a key, and so is
 * what comes of it. NULL: out of memory. */
char *relation_name_choose(const Session *s, Arena *a, const TableDraft *d, const char *name1, const char *name2,
                           const char *label);
char *column_names_joined(Arena *a, int n, const char *const *names); /* a_b_c, as relation_name_choose takes it */
/* The definition of an index of the table, which has it: borrowed, or made of the table's. */
Status index_def_get(const Session *s, Arena *a, const Table *t, const char *name, IndexDef *out);
/* In the place of the definition of that name, where there is one. */
Status index_def_put(Session *s, const Table *t, const char *name, const IndexDef *like);
/* Definitions of tables or keys that are gone go. */
Status index_defs_sweep(Session *s);
/* What belongs to objects by their names (definitions of indexes, comments) goes with these, whichever way they went.
 * Nothing when no object has gone since the last time. */
Status parts_sweep(Session *s);
/* ... and is renamed with them: an object of these kinds (comments have them), or (part not NULL) a part of one. */
Status parts_rename(Session *s, const char *kinds, const char *name, const char *part, const char *new_name);
/* A column of the table is about to go: so do the indexes that have it, also out of the draft. */
Status index_defs_drop_column(Session *s, Arena *a, const Table *t, int col, TableDraft *d);
/* The table (col -1), or a column of it, is about to get another name. */
Status index_defs_rename(Session *s, Arena *a, const Table *t, int col, const char *new_name);
/* The table's indexes, under its new key, go to its schema. */
Status index_defs_move(Session *s, Arena *a, const char *table, const char *schema);
/* What new keys of the draft say beside the table's key. */
Status index_defs_of_draft(Session *s, const TableDraft *d);
/* Binds a part of an index, or its predicate. */
Status index_expr_type(Session *s, Arena *a, const Table *t, const char *sql, bool predicate, Type *type,
                       int64_t *domain);
/* The operator class takes the type (42704, 42804); *opclass NULL where it is the type's own. */
struct AccessMethod;
Status index_check_class(Session *s, const struct AccessMethod *m, Type type, int64_t domain, char **opclass);
/* Definitions of the table's indexes are right for the types that its columns have now. */
Status index_defs_check(Session *s, Arena *a, const Table *t);

/* ---- reindex.c ---- */
Status reindex_statement(Session *s, Statement *st, const AstReindex *x);
Status cluster_statement(Session *s, Statement *st, const AstCluster *x);
/* ALTER TABLE CLUSTER ON name, SET WITHOUT CLUSTER (NULL). */
Status cluster_mark(Session *s, Arena *a, const Table *t, const char *name);

/* ---- copy_statement.c ---- */
Status copy_statement(Session *s, Statement *st, const AstCopy *x);

/* ---- alter_routine.c ---- */
Status routine_alter(Session *s, Statement *st, const AstAlterRoutine *x);
/* A routine like that one, in place of `old`, if there is one, with what belongs to it. */
Status routine_replace(Session *s, Routine *old, const Routine *like, Routine **out);
/* 42723: another routine has the key and its parameters' types. */
Status routine_key_free(Session *s, Arena *a, const Routine *r, const char *key);
/* 0A000: texts of other definitions call it. `what` it cannot be. */
Status routine_check_uncalled(Session *s, Statement *st, const Routine *r, const char *what);
/* The routine under another key; from, where its schema gets another name: `to` in its path. */
Status routine_move(Session *s, Arena *a, Routine *r, const char *key, const char *from, const char *to);
/* Settings of a routine: whether they can be set; the text of CREATE FUNCTION with values in place of FROM CURRENT. */
Status routine_settings_check(Session *s, Arena *a, const AstFuncOptions *o);
Status routine_settings_text(Session *s, Arena *a, const AstFuncOptions *o, const char *sql, const char **out);
/* routine.c: SET search_path TO .., FROM CURRENT. */
Status routine_path_of(Session *s, Arena *a, const AstSet *x, SearchPath *out);

/* ---- utility.c ---- */
/* The value of an expression without columns (a DEFAULT, an argument of EXECUTE), in the statement's arena. */
Status run_scalar(Session *s, Statement *st, PlanCtx *c, Expr *e, Type type, Value *out);

#endif
