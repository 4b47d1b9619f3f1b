/* user_function.c - see user_function.h. */
#include "catalog/user_function.h"

enum { FIRST_ROOM = 16 };

Status user_functions_new(MemAccount *account, UserFunctions **out, Err *e) {
    UserFunctions *u = mem_calloc(account, (int64_t)sizeof *u, e);
    if (!u) return ST_ERROR;
    if (!mutex_init(&u->lock, RANK_FUNCTIONS)) {
        mem_free(account, u, (int64_t)sizeof *u);
        return err_oom(e);
    }
    u->account = account;
    *out = u;
    return ST_OK;
}

void user_functions_free(UserFunctions *u) {
    if (!u) return;
    for (int64_t i = 0; i < u->n; i++) user_function_unref(u->items[i]);
    if (u->items) mem_free(u->account, u->items, u->cap * (int64_t)sizeof u->items[0]);
    mutex_destroy(&u->lock);
    mem_free(u->account, u, (int64_t)sizeof *u);
}

Status user_function_new(UserFunctions *u, UserFunction **out, Err *e) {
    Arena *a = arena_new(u->account, e);
    UserFunction *f = a ? arena_new_of(a, UserFunction) : NULL;
    if (!f) {
        arena_free(a);
        return ST_ERROR;
    }
    atomic_init(&f->refs, 1);
    f->arena = a;
    f->def.own = f;
    *out = f;
    return ST_OK;
}

void user_function_unref(void *p) {
    UserFunction *f = p;
    if (!f || atomic_fetch_sub(&f->refs, 1) > 1) return;
    if (f->free_data) f->free_data(f->data);
    arena_free(f->arena);
}

static bool same_types(const Routine *r, int n, const Type *types) {
    if (r->n_args != n) return false;
    for (int i = 0; i < n; i++)
        if (r->param_types[i].id != types[i].id) return false;
    return true;
}

/* A place for one more, under the lock. */
static Status reserve(UserFunctions *u, Err *e) {
    if (u->n < u->cap) return ST_OK;
    int64_t cap = u->cap ? 2 * u->cap : FIRST_ROOM, size = (int64_t)sizeof u->items[0];
    UserFunction **more = mem_realloc(u->account, u->items, u->cap * size, cap * size, e);
    if (!more) return ST_ERROR;
    u->items = more;
    u->cap = cap;
    return ST_OK;
}

static Status add(UserFunctions *u, UserFunction *f, UserFunction **old, Err *e) {
    const Routine *r = &f->signature;
    int64_t at = -1;
    for (int64_t i = 0; i < u->n; i++) {
        const UserFunction *x = u->items[i];
        if (strcmp(x->signature.name, r->name) != 0) continue;
        if (x->kind != f->kind) {
            err_set(e, ERR_DUPLICATE_FUNCTION, "function \"%s\" is registered already, and is not of the same kind",
                    r->name);
            err_hint(e, "Drop it first, or use another name.");
            return ST_ERROR;
        }
        if (same_types(&x->signature, r->n_args, r->param_types)) at = i;
    }
    if (at < 0) TRY(reserve(u, e));
    if (at < 0) at = u->n++;
    else *old = u->items[at];
    u->items[at] = f;
    u->version++;
    return ST_OK;
}

Status user_functions_add(UserFunctions *u, UserFunction *f, Err *e) {
    UserFunction *old = NULL;
    mutex_lock(&u->lock);
    Status st = add(u, f, &old, e);
    mutex_unlock(&u->lock);
    user_function_unref(old);
    return st;
}

Status user_functions_remove(UserFunctions *u, const char *name, int n_types, const Type *types, Err *e) {
    bool any = false;
    for (;;) {
        UserFunction *f = NULL;
        mutex_lock(&u->lock);
        for (int64_t i = 0; i < u->n && !f; i++) {
            const Routine *r = &u->items[i]->signature;
            if (strcmp(r->name, name) != 0 || (n_types >= 0 && !same_types(r, n_types, types))) continue;
            f = u->items[i];
            memmove(u->items + i, u->items + i + 1, (size_t)(u->n - i - 1) * sizeof u->items[0]);
            u->n--;
            u->version++;
        }
        mutex_unlock(&u->lock);
        if (!f) break;
        any = true;
        user_function_unref(f);
    }
    return any ? ST_OK : err_set(e, ERR_UNDEFINED_FUNCTION, "could not find a registered function named \"%s\"", name);
}

Status user_functions_find(UserFunctions *u, const char *name, Arena *a, int *n, UserFunction ***out) {
    *n = 0;
    if (!u || u->n == 0) return ST_OK;
    Status st = ST_OK;
    mutex_lock(&u->lock);
    int64_t hits = 0;
    for (int64_t i = 0; i < u->n; i++) hits += strcmp(u->items[i]->signature.name, name) == 0;
    if (hits && !(*out = arena_array(a, UserFunction *, hits))) st = ST_ERROR;
    for (int64_t i = 0; i < u->n && hits && st == ST_OK; i++) {
        UserFunction *f = u->items[i];
        if (strcmp(f->signature.name, name) != 0) continue;
        if ((st = arena_on_release(a, user_function_unref, f)) != ST_OK) break;
        atomic_fetch_add(&f->refs, 1);
        (*out)[(*n)++] = f;
    }
    mutex_unlock(&u->lock);
    return st;
}

bool user_functions_has(UserFunctions *u, const char *name, UserFunctionKind kind) {
    bool found = false;
    if (!u || u->n == 0) return false;
    mutex_lock(&u->lock);
    for (int64_t i = 0; i < u->n && !found; i++)
        found = u->items[i]->kind == kind && strcmp(u->items[i]->signature.name, name) == 0;
    mutex_unlock(&u->lock);
    return found;
}
