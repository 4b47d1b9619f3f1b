/* catalog_memory.c - see catalog_memory.h. */
#include "catalog/catalog_memory.h"

#include "catalog/names.h"
#include "catalog/routine_instance.h"
#include "catalog/user_function.h"
#include "types/composite.h"
#include "types/enums.h"
#include "types/range.h"

Status catalog_init(Catalog *c, MemAccount *account, Err *e) {
    c->version = 1;
    if (!(c->arena = arena_new(account, e))) return ST_ERROR;
    TRY(enum_space_new(account, &c->enums, e));
    TRY(composite_space_new(account, &c->rows, e));
    TRY(range_space_new(account, &c->ranges, e));
    TRY(user_functions_new(account, &c->functions, e));
    if (!(c->names = catalog_names_new(e))) return ST_ERROR;
    TRY(routine_instances_new(account, &c->instances, e));
    arena_set_err(c->arena, NULL);
    return ST_OK;
}
void catalog_free_objects(Catalog *c) {
    for (int64_t i = 0; i < c->n_tables; i++) table_free(c->tables[i]);
    for (int64_t i = 0; i < c->n_views; i++) view_free(c->views[i]);
    for (int64_t i = 0; i < c->n_foreign; i++) foreign_free(c->foreign[i]);
    for (int64_t i = 0; i < c->n_routines; i++) routine_free(c->routines[i]);
    for (int64_t i = 0; i < c->n_domains; i++) domain_free(c->domains[i]);
    for (int64_t i = 0; i < c->n_sequences; i++) sequence_free(c->sequences[i]);
    for (int64_t i = 0; i < c->n_index_defs; i++) index_def_free(c->index_defs[i]);
    for (int64_t i = 0; i < c->n_comments; i++) comment_free(c->comments[i]);
    for (int64_t i = 0; i < c->n_roles; i++) role_free(c->roles[i]);
    for (int64_t i = 0; i < c->n_privileges; i++) privileges_free(c->privileges[i]);
    for (int64_t i = 0; i < c->row_security.n; i++) row_security_free(c->row_security.items[i]);
    for (int64_t i = 0; i < c->n_schemas; i++) schema_free(c->schemas[i]);
}
void catalog_release(Catalog *c) {
    user_functions_free(c->functions);
    routine_instances_free(c->instances);
    catalog_names_free(c->names);
    enum_space_free(c->enums);
    composite_space_free(c->rows);
    range_space_free(c->ranges);
    arena_free(c->arena);
}
