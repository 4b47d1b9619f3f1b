/* depend.h - what depends on what is to be dropped; what views read. Needs the exclusive lock, and views_fill_sources()
 * before.
 *
 *     dependents_init(&d, s, st);
 *     TRY(dependents_of_table(&d, t));
 *     TRY(dependents_drop(&d, "table t", cascade));    2BP01, or they are gone
 */
#ifndef STELE_SESSION_DDL_DEPEND_H
#define STELE_SESSION_DDL_DEPEND_H

#include "session/core/session.h"
#include "sql/plan/plan.h"

typedef enum DependentKind {
    DEPENDENT_VIEW,
    DEPENDENT_FOREIGN,
    DEPENDENT_DEFAULT,
    DEPENDENT_CHECK,
    DEPENDENT_ROUTINE,
    DEPENDENT_COLUMN,
    DEPENDENT_DOMAIN,
    DEPENDENT_DOMAIN_CHECK,
    DEPENDENT_DOMAIN_DEFAULT,
    DEPENDENT_INDEX,
    DEPENDENT_ATTRIBUTE,
    DEPENDENT_RANGE,
    DEPENDENT_POLICY,
    DEPENDENT_CONTENT /* of a schema, which goes with that */
} DependentKind;
typedef struct Dependent {
    DependentKind kind;
    View *view;
    ForeignKey *foreign;
    Routine *routine;
    Domain *domain;
    const RangeType *range;
    bool direct;              /* of dependents_of_type: its text names the type */
    const char *table, *name; /* of a default's column, a check, an index or a policy; a domain or a composite type
                                 instead of a table */
    const char *what;         /* "view v" */
    const char *line;         /* "view v depends on table t" */
} Dependent;
typedef struct Dependents {
    Session *s;
    Statement *st;
    Arena *a;
    VEC(Dependent) found;
    bool quiet;                     /* dependents_drop says nothing */
    bool renames;                   /* of dependents_of_type: texts with the type's name are found, and no others */
    VEC(const View *) spared_views; /* that the statement drops itself */
    VEC(const Table *) spared_tables;
    VEC(const Domain *) spared_domains;
    VEC(const char *) schemas; /* that the statement drops, with all that is in them */
} Dependents;
void dependents_init(Dependents *d, Session *s, Statement *st);
Status dependents_spare_view(Dependents *d, const View *v);
Status dependents_spare_table(Dependents *d, const Table *t);
/* Each adds what depends on that, and what depends on those. A table's own keys are not among them. */
Status dependents_of_table(Dependents *d, const Table *t);
Status dependents_of_view(Dependents *d, const View *v);
Status dependents_of_column(Dependents *d, const Table *t, int col);
Status dependents_of_key(Dependents *d, const Table *t, int key);
Status dependents_of_routine(Dependents *d, const Routine *r);
/* Defaults, conditions and views that name the sequence. table: NULL, or one that goes, or of which a column goes,
 * whose texts do not count. */
Status dependents_of_sequence(Dependents *d, const Sequence *q, const char *table, const char *column);
/* Columns of the type, routines with parameters of it, domains over it, views, defaults and conditions that name it,
 * and what depends on these. Bodies of routines are texts, as in PostgreSQL. */
Status dependents_of_type(Dependents *d, NamedType x);
/* what: "table s.t", an object of the schema, as dependents_called has it. */
Status dependents_of_schema(Dependents *d, const char *what, const char *schema);
/* What has a text with this label of the type in it, which is not found by another name; NULL: nothing. Texts are those
 * of defaults, conditions, views and indexes. */
Status dependents_naming_label(Dependents *d, const EnumType *x, int32_t code, const char **what);
/* What has a text that knows the fields of the type: one with its name, or (by_name: only those) with values of it.
 * NULL: nothing. Texts are likewise those of defaults, conditions, views and indexes. */
Status dependents_knowing_fields(Dependents *d, const CompositeType *x, bool by_name, const char **what);
/* Whether a text over rows of the table names its column. */
bool text_uses_column(Session *s, Arena *a, const Table *t, const char *sql, int col);
/* "table s.t", as dependents_drop takes it; NULL: no memory. */
const char *dependents_called(Dependents *d, const char *kind, const char *key);
/* Likewise a routine's name with its types. */
const char *dependents_routine(Dependents *d, const Routine *r);
/* Refuses to drop `what` (NULL: several things) because of them, or drops them, with a notice. */
Status dependents_drop(Dependents *d, const char *what, bool cascade);

/* An error that says nothing about the text that was bound: no memory, or the statement was canceled. Not 54001: a view
 * without end is one. */
static inline bool gave_up(const Err *e) {
    static const char *const codes[] = {ERR_OUT_OF_MEMORY, ERR_LIMIT_EXCEEDED, ERR_QUERY_CANCELED};
    for (int i = 0; i < (int)ARRAY_LEN(codes); i++)
        if (strcmp(e->sqlstate, codes[i]) == 0) return true;
    return false;
}
/* Binds a query with text of the catalog in it, or a view's, for what can be learnt from it. False when it does not
 * bind; the session's error is set only where binding gave up. */
bool try_query(Session *s, Arena *a, const char *sql, PlanCtx *c, BoundStmt **b);
bool try_view(Session *s, Arena *a, const View *v, PlanCtx *c, BoundStmt **b);
/* The same of a domain's default, or of a condition of VALUE. */
bool try_domain_text(Session *s, Arena *a, const Domain *x, const char *sql, PlanCtx *c, BoundStmt **b);
bool view_uses_column(Session *s, Arena *a, const View *v, const Table *t, int col);
const bool *view_used_columns(Session *s, Arena *a, const View *v, const Table *t); /* of all; NULL: no memory */

/* Views of older files do not say what they read: as they are bound now. A view that does not bind stays as it is. */
Status views_fill_sources(Session *s, Arena *a);
/* Fills in what a view that does not say so reads. */
Status view_find_sources(Session *s, Arena *a, View *v, Err *e);
/* Puts a copy of `like` in the place of a view of the catalog. */
Status view_replace(Session *s, View *old, const View *like);
/* A column that no view uses is gone; a relation, or (column not NULL) a column of it, has another name. */
Status views_drop_column(Session *s, Arena *a, const char *table, const char *column);
Status views_rename(Session *s, Arena *a, const char *relation, const char *column, const char *new_name);

#endif
