/* utility_int.h - what the files of utility statements share: utility.c, create_table.c, alter.c, indexes.c and
 * copy_statement.c; no other file includes it. */
#ifndef STELE_SESSION_DDL_UTILITY_INT_H
#define STELE_SESSION_DDL_UTILITY_INT_H

#include <stdio.h>

#include "session/core/session.h"

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
} TableDraft;

/* ---- create_table.c ---- */
Status create_table(Session *s, Statement *st, const AstCreateTable *x);
Status create_table_as(Session *s, Statement *st, const AstCreateTableAs *x);
/* The draft of an existing table, with room for one more column, key, CHECK and index. */
Status draft_of(Session *s, Arena *a, const Table *t, TableDraft *d);
int draft_column(const TableDraft *d, const char *name);     /* -1: there is none */
Status check_key_type(Session *s, Type t, int64_t location); /* 42704, 0A000: not of a key */
void draft_key_column(TableDraft *d, int col);               /* of a key or foreign key: its type may need a flag */
Status column_type(Session *s, const AstColumnDef *c, Type *out, int64_t *domain); /* *domain: 0, or of which one */
/* The same where serial and its like are types, too. */
Status new_column_type(Session *s, const AstColumnDef *c, Type *out, int64_t *domain);
/* The sequence of a serial column or an identity column of the draft. */
Status add_sequence(Session *s, Arena *a, TableDraft *d, const char *table, const AstColumnDef *c, int column);
/* At most one DEFAULT, and not both NULL and NOT NULL. 42601 */
Status check_column_constraints(Session *s, const char *table, const AstColumnDef *c);
/* Adds a constraint to the draft, which has room for it; column: the one that it was written at, or -1. FOREIGN KEYs
 * are left to foreign_keys(). */
Status add_constraint(Session *s, Arena *a, TableDraft *d, const char *table, const AstConstraint *k, int column);
/* Defines the FOREIGN KEYs of n constraints of a table of the catalog; column: where they were written, or NULL. */
Status foreign_keys(Session *s, Statement *st, const char *table, int64_t n, const AstConstraint *k,
                    const char *column);
/* Binds CHECKs and DEFAULTs once so that a bad one is refused at definition. */
Status try_bind(Session *s, Arena *a, Table *t);
/* Adds all rows of a result, which may come in pieces, to an empty table; *count of them. */
Status fill_table(Session *s, Table *t, RunOutput *r, Arena *a, int64_t *count);

/* ---- alter.c ---- */
Status alter_table(Session *s, Statement *st, const AstAlterTable *x);
Status rename_object(Session *s, Statement *st, const AstRename *x);
/* *rows of a query. */
Status count_rows(Session *s, Statement *st, const char *sql, int64_t *rows);
/* The table is built anew under a draft whose columns are those that it has. 23505 */
Status rebuild_as(Session *s, Statement *st, Table *t, const TableDraft *d);

/* ---- enum_types.c ---- */
Status enum_create(Session *s, Statement *st, const AstCreateEnum *x);
Status enum_alter(Session *s, Statement *st, const AstAlterEnum *x);
bool type_is_builtin(const AstName *n, Type *out);                      /* of Stele's own */
Status type_name_free(Session *s, const AstName *name, const char *as); /* 42710 unless a type may be called `as` */
Status row_type_free(Session *s, const char *relation,
                     int64_t location); /* ... a table or view, whose rows have a type */

/* ---- range_types.c ---- */
Status range_create(Session *s, Statement *st, const AstCreateRange *x);
/* The type, or (multi) its multirange. */
Status range_rename(Session *s, const RangeType *x, bool multi, const char *new_name);

/* ---- composites.c ---- */
Status composite_create(Session *s, Statement *st, const AstCreateComposite *x);
Status composite_alter(Session *s, Statement *st, const AstAlterTable *x);
Status composite_rename_attribute(Session *s, Statement *st, const AstRename *x);
Status composite_rename(Session *s, const CompositeType *x, const char *new_name);
/* 0A000: columns, routines or texts have the table's row type. */
Status row_type_unused(Session *s, Statement *st, const Table *t);
/* Takes an attribute away, because its type goes; a column has no values of it. */
Status composite_drop_attribute(Session *s, Statement *st, const char *type, const char *name);

/* ---- domains.c ---- */
Status domain_create(Session *s, Statement *st, const AstCreateDomain *x);
Status domain_alter(Session *s, Statement *st, const AstAlterDomain *x);
Status type_drop(Session *s, Statement *st, const AstDrop *x); /* DROP TYPE, DROP DOMAIN */

/* Take a condition of a domain, or its default, away, because something that it needs goes. */
Status domain_drop_check(Session *s, Statement *st, const char *name, const char *check);
Status domain_drop_default(Session *s, Statement *st, const char *name);

/* ---- sequences.c ---- */
Status sequence_create(Session *s, Statement *st, const AstSequence *x);
Status sequence_alter(Session *s, Statement *st, const AstSequence *x);
Status sequence_rename(Session *s, Statement *st, const AstRename *x);
Status sequence_drop(Session *s, Statement *st, const AstDrop *x);
/* The options of ALTER SEQUENCE, of a sequence or an identity column. */
Status sequence_alter_options(Session *s, Sequence *q, int64_t n, const AstSequenceOption *options);
/* A sequence for a serial column (identity NULL) or an identity column, whose default, kind and NOT NULL are set. */
Status sequence_of_column(Session *s, Arena *a, const char *table, ColumnDef *col, const AstConstraint *identity);
Status check_identity_type(Session *s, const ColumnDef *col); /* 22023 */
/* Of those that go with the table, or (column not NULL) a column of it: they are dropped; it gets another name;
 * TRUNCATE RESTART IDENTITY. */
Status sequences_drop_of(Session *s, const char *table, const char *column);
Status sequences_rename_owner(Session *s, const char *table, const char *column, const char *new_name);
Status sequences_restart(Session *s, const char *table);

/* ---- indexes.c ---- */
Status create_index(Session *s, Statement *st, const AstCreateIndex *x);
Status drop_index(Session *s, Statement *st, const AstDrop *x);
Status rename_index(Session *s, Statement *st, const AstRename *x);
/* Takes index number k (keys first) out of the draft. */
void draft_remove_index(TableDraft *d, int k);

/* ---- copy_statement.c ---- */
Status copy_statement(Session *s, Statement *st, const AstCopy *x);

/* ---- utility.c ---- */
/* The value of an expression without columns (a DEFAULT, an argument of EXECUTE), in the statement's arena. */
Status run_scalar(Session *s, Statement *st, PlanCtx *c, Expr *e, Type type, Value *out);

#endif
