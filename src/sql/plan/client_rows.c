/* client_rows.c - rows that a client has given a name. See client_rows.h. */
#include "sql/plan/client_rows.h"

Status client_rows_new(MemAccount *parent, const char *name, ClientRows **out, Err *e) {
    ClientRows *r = mem_calloc(parent, (int64_t)sizeof *r, e);
    if (!r) return ST_ERROR;
    r->refs = 1;
    mem_account_init(&r->account, parent, "registered rows", 0, "memory_limit");
    r->arena = arena_new(&r->account, e);
    r->name = r->arena ? arena_strdup(r->arena, name) : NULL;
    if (!r->name) {
        client_rows_unref(r);
        return err_is_set(e) ? ST_ERROR : err_oom(e);
    }
    *out = r;
    return ST_OK;
}

void client_rows_unref(void *rows) {
    ClientRows *r = rows;
    if (!r || --r->refs > 0) return;
    for (int32_t i = 0; r->cols && i < r->n_cols; i++) {
        mem_free(&r->account, r->cols[i].cells, r->cols[i].cells_bytes);
        mem_free(&r->account, r->cols[i].valid, r->cols[i].valid_bytes);
    }
    arena_free(r->arena);
    mem_free(r->account.parent, r, (int64_t)sizeof *r);
}

ClientRows *client_rows_find(ClientRows *list, const char *name) {
    while (list && strcmp(list->name, name) != 0) list = list->next;
    return list;
}

/* Room for `bytes` bytes, in steps that double. */
static void *grow(MemAccount *a, void *p, int64_t *have, int64_t bytes, Err *e) {
    int64_t cap = MAX_OF(*have * 2, bytes);
    if (bytes <= *have) return p;
    void *q = mem_realloc(a, p, *have, cap, e);
    if (q) *have = cap;
    return q;
}
Status client_rows_reserve(ClientRows *r, int64_t more, Err *e) {
    for (int32_t i = 0; i < r->n_cols; i++) {
        ClientColumn *c = &r->cols[i];
        int64_t size = phys_size(type_phys(c->type)), rows = MAX_OF(r->n + more, INT64_C(1));
        char *cells = grow(&r->account, c->cells, &c->cells_bytes, rows * size, e);
        if (!cells) return ST_ERROR;
        c->cells = cells;
        uint8_t *valid = grow(&r->account, c->valid, &c->valid_bytes, rows, e);
        if (!valid) return ST_ERROR;
        c->valid = valid;
    }
    return ST_OK;
}
