/* routine_instance.h - polymorphic routines with actual types in place of their polymorphic ones.
 *
 * A polymorphic routine (one with parameters of anyelement and the like) has no types to compile its body for. A call
 * makes an instance of it: a Routine with the types that this call has, and an id of its own, by which plans, kernels
 * and prepared bodies know it as they know any other. Calls with the same types share one instance.
 *
 * Lifetime. Instances belong to the open database, are never saved, never change, and stay until it is closed: there
 * are few, and plans of any age may name them. When the polymorphic routine is dropped or replaced, which gives it
 * another id, catalog_routine_by_id() finds its instances no more.
 *
 * Locking: RoutineInstances.lock (rank FUNCTIONS, a leaf).
 */
#ifndef STELE_CATALOG_ROUTINE_INSTANCE_H
#define STELE_CATALOG_ROUTINE_INSTANCE_H

#include "base/mutex.h"
#include "catalog/catalog.h"

typedef struct RoutineInstances {
    Mutex lock;
    int64_t n, cap;
    Routine **items; /* the id of items[i] is ROUTINE_INSTANCES + i */
    MemAccount *account;
} RoutineInstances;

enum { ROUTINE_INSTANCES_LOG2 = 62 };
#define ROUTINE_INSTANCES (INT64_C(1) << ROUTINE_INSTANCES_LOG2)
static inline bool routine_is_instance(int64_t id) { return id >= ROUTINE_INSTANCES; }

Status routine_instances_new(MemAccount *account, RoutineInstances **out, Err *e);
void routine_instances_free(RoutineInstances *x); /* NULL is fine; what named some is gone */

/* The instance of r whose parameters have these types (r->n_params) and whose result is `ret`. */
Status routine_instance(RoutineInstances *x, const Routine *r, const Type *types, Type ret, const Routine **out,
                        Err *e);
Routine *routine_instance_by_id(RoutineInstances *x, int64_t id); /* NULL: there is none */

#endif
