/* row_security.h - row level security: whether a table has it, and its policies.
 *
 * Never changed: another one takes its place. One block of memory. A table without an entry has neither.
 */
#ifndef STELE_CATALOG_ROW_SECURITY_H
#define STELE_CATALOG_ROW_SECURITY_H

#include "base/epoch.h"
#include "base/err.h"

typedef struct Policy {
    const char *name;
    char command; /* r SELECT, a INSERT, w UPDATE, d DELETE, * ALL */
    bool restrictive;
    int n_roles; /* 0: PUBLIC */
    const int64_t *roles;
    const char *using_sql, *check_sql; /* over the table's columns; NULL: none */
} Policy;
typedef struct RowSecurity {
    EpochNode node; /* once retired */
    const char *table;
    bool enabled, forced; /* forced: for the table's owner, too */
    int n_policies;
    const Policy *policies; /* in the order in which they were made */
} RowSecurity;

typedef struct RowSecurityList {
    int64_t n, cap;
    RowSecurity **items;
} RowSecurityList;

RowSecurity *row_security_new(const RowSecurity *like, Err *e); /* a copy */
void row_security_free(RowSecurity *x);
void row_security_retire(EpochDomain *d, RowSecurity *x); /* as view_retire */

struct Catalog;
Status catalog_add_row_security(struct Catalog *c, RowSecurity *x, Err *e);
void catalog_remove_row_security(struct Catalog *c, const RowSecurity *x);     /* without freeing it */
RowSecurity *catalog_row_security(const struct Catalog *c, const char *table); /* NULL: the table has no entry */

#endif
