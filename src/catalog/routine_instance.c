/* routine_instance.c - see routine_instance.h. */
#include "catalog/routine_instance.h"

enum { FIRST_ROOM = 16 };

Status routine_instances_new(MemAccount *account, RoutineInstances **out, Err *e) {
    RoutineInstances *x = mem_calloc(account, (int64_t)sizeof *x, e);
    if (!x) return ST_ERROR;
    if (!mutex_init(&x->lock, RANK_FUNCTIONS)) {
        mem_free(account, x, (int64_t)sizeof *x);
        return err_oom(e);
    }
    x->account = account;
    *out = x;
    return ST_OK;
}

void routine_instances_free(RoutineInstances *x) {
    if (!x) return;
    for (int64_t i = 0; i < x->n; i++) routine_free(x->items[i]);
    if (x->items) mem_free(x->account, x->items, x->cap * (int64_t)sizeof x->items[0]);
    mutex_destroy(&x->lock);
    mem_free(x->account, x, (int64_t)sizeof *x);
}

static bool has_types(const Routine *x, const Type *types, Type ret) {
    bool same = type_eq(x->ret, ret);
    for (int i = 0; same && i < x->n_params; i++) same = type_eq(x->param_types[i], types[i]);
    return same;
}

/* Room for one more. */
static Status grow(RoutineInstances *x, Err *e) {
    if (x->n < x->cap) return ST_OK;
    int64_t cap = x->cap ? 2 * x->cap : FIRST_ROOM, size = (int64_t)sizeof x->items[0];
    Routine **items = mem_alloc(x->account, cap * size, e);
    if (!items) return ST_ERROR;
    if (x->n) memcpy(items, x->items, (size_t)(x->n * size));
    if (x->items) mem_free(x->account, x->items, x->cap * size);
    x->items = items;
    x->cap = cap;
    return ST_OK;
}

static Status add(RoutineInstances *x, const Routine *r, const Type *types, Type ret, Routine **out, Err *e) {
    TRY(grow(x, e));
    Routine like = *r;
    like.param_types = (Type *)(uintptr_t)types; /* copied */
    like.ret = ret;
    like.generic = r->id;
    if (!(*out = routine_new(&like, e))) return ST_ERROR;
    (*out)->id = ROUTINE_INSTANCES + x->n;
    x->items[x->n++] = *out;
    return ST_OK;
}

Status routine_instance(RoutineInstances *x, const Routine *r, const Type *types, Type ret, const Routine **out,
                        Err *e) {
    Routine *found = NULL;
    Status st = ST_OK;
    mutex_lock(&x->lock);
    for (int64_t i = 0; i < x->n && !found; i++)
        if (x->items[i]->generic == r->id && has_types(x->items[i], types, ret)) found = x->items[i];
    if (!found) st = add(x, r, types, ret, &found, e);
    mutex_unlock(&x->lock);
    *out = found;
    return st;
}

Routine *routine_instance_by_id(RoutineInstances *x, int64_t id) {
    if (!x) return NULL;
    mutex_lock(&x->lock);
    int64_t i = id - ROUTINE_INSTANCES;
    Routine *r = i >= 0 && i < x->n ? x->items[i] : NULL;
    mutex_unlock(&x->lock);
    return r;
}
