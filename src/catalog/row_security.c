/* row_security.c - see row_security.h. */
#include "catalog/row_security.h"

#include "catalog/catalog_int.h"
#include "catalog/names.h"

static int64_t text_bytes(const char *s) { return s ? (int64_t)strlen(s) + 1 : 0; }
static int64_t row_security_bytes(const RowSecurity *x) {
    int64_t n = (int64_t)sizeof *x + x->n_policies * (int64_t)sizeof(Policy) + text_bytes(x->table);
    for (int i = 0; i < x->n_policies; i++) {
        const Policy *p = &x->policies[i];
        n += p->n_roles * (int64_t)sizeof *p->roles + text_bytes(p->name) + text_bytes(p->using_sql) +
             text_bytes(p->check_sql);
    }
    return n;
}
RowSecurity *row_security_new(const RowSecurity *like, Err *e) {
    RowSecurity *x = mem_calloc(NULL, row_security_bytes(like), e);
    if (!x) return NULL;
    Policy *policies = (Policy *)(void *)(x + 1);
    int64_t *roles = (int64_t *)(void *)(policies + like->n_policies);
    *x = *like;
    x->node = (EpochNode){0};
    x->policies = policies;
    for (int i = 0; i < x->n_policies; i++) {
        policies[i] = like->policies[i];
        policies[i].roles = roles;
        if (policies[i].n_roles) memcpy(roles, like->policies[i].roles, (size_t)policies[i].n_roles * sizeof *roles);
        roles += policies[i].n_roles;
    }
    char *at = (char *)roles;
    x->table = catalog_put_text(&at, like->table);
    for (int i = 0; i < x->n_policies; i++) {
        policies[i].name = catalog_put_text(&at, policies[i].name);
        policies[i].using_sql = catalog_put_text(&at, policies[i].using_sql);
        policies[i].check_sql = catalog_put_text(&at, policies[i].check_sql);
    }
    return x;
}
void row_security_free(RowSecurity *x) {
    if (x) mem_free(NULL, x, row_security_bytes(x));
}
static void reclaim(EpochNode *n) { row_security_free((RowSecurity *)(void *)n); }
void row_security_retire(EpochDomain *d, RowSecurity *x) { epoch_retire(d, &x->node, row_security_bytes(x), reclaim); }

Status catalog_add_row_security(Catalog *c, RowSecurity *x, Err *e) {
    RowSecurityList *l = &c->row_security;
    TRY(catalog_room(c, &l->items, l->n, &l->cap, e));
    l->items[l->n++] = x;
    catalog_changed(c, x->table, NULL, 0);
    return ST_OK;
}
void catalog_remove_row_security(Catalog *c, const RowSecurity *x) {
    RowSecurityList *l = &c->row_security;
    for (int64_t i = 0; i < l->n; i++) {
        if (l->items[i] != x) continue;
        memmove(&l->items[i], &l->items[i + 1], (size_t)(--l->n - i) * sizeof *l->items);
        catalog_changed(c, x->table, NULL, 0);
        return;
    }
}
RowSecurity *catalog_row_security(const Catalog *c, const char *table) {
    for (int64_t i = 0; i < c->row_security.n; i++)
        if (strcmp(c->row_security.items[i]->table, table) == 0) return c->row_security.items[i];
    return NULL;
}
