/* bulk_arrow.c - bulks and Arrow's C data interface: a record batch becomes calls, results become a record batch. */
#include <stdio.h>

#include "io/arrow.h"
#include "api/bulk_int.h"

stele_status stele_bulk_add_arrow(stele_bulk *b, const struct ArrowSchema *schema, const struct ArrowArray *batch) {
    Session *s = b->conn->s;
    Err *e = &s->err;
    char where[32];
    err_clear(e);
    if (arrow_check_batch(schema, batch, e) != ST_OK) return STELE_ERROR;
    if (schema->n_children != b->n_params)
        return err_set(e, ERR_INVALID_PARAMETER,
                       "the Arrow batch has %lld columns, but the routine takes %d parameters",
                       (long long)schema->n_children, b->n_params),
               STELE_ERROR;
    int64_t n = batch->length;
    if (api_bulk_reserve(b, n) != ST_OK) return STELE_ERROR;
    for (int i = 0; i < b->n_params; i++) { /* calls are there once all columns are */
        BulkParam *p = &b->params[i];
        snprintf(where, sizeof where, "parameter %d", i + 1);
        ArrowColumn c = {.schema = schema->children[i],
                         .array = batch->children[i],
                         .n = n,
                         .type = p->type,
                         .what = b->type_names[i],
                         .where = where};
        c.first = arrow_start(batch->offset, c.array);
        if (arrow_check(&c, e) != ST_OK) return STELE_ERROR;
        if (n == 0) continue;
        uint8_t *cells = p->cells + b->n * phys_size(p->phys), *valid = p->valid + b->n;
        memset(cells, 0, (size_t)(n * phys_size(p->phys)));
        if (arrow_convert(&c, b->texts, cells, valid, e) != ST_OK) return STELE_ERROR;
    }
    b->n += n;
    return STELE_OK;
}

/* SQLSTATE and message of the calls that failed, then the OUT values of the others. */
static Status put_results(const stele_bulk *b, ArrowOut *o, Err *e) {
    Str *states = arena_array(o->a, Str, b->n + 1), *messages = arena_array(o->a, Str, b->n + 1);
    uint8_t *failed = arena_alloc(o->a, b->n + 1), *valid = arena_alloc(o->a, b->n + 1);
    if (!states || !messages || !failed || !valid) return ST_ERROR;
    for (int64_t i = 0; i < b->n; i++) {
        const CallError *x = api_bulk_error(b, i);
        failed[i] = x != NULL;
        if (!x) continue;
        const char *message = x->message ? x->message : "";
        states[i] = str_make(x->sqlstate, (int64_t)strlen(x->sqlstate));
        messages[i] = str_make(message, (int64_t)strlen(message));
    }
    Vec v = {.data = states, .valid = failed, .phys = PH_STR, .type = type_make(T_TEXT)};
    TRY(arrow_out_put(o, 0, b->n, &v, e));
    v.data = messages;
    TRY(arrow_out_put(o, 1, b->n, &v, e));
    for (int k = 0; k < b->n_outs; k++) {
        int64_t first;
        Vec out = api_bulk_outs(b, &first)[k];
        for (int64_t i = 0; i < b->n; i++) valid[i] = !failed[i] && (!out.valid || out.valid[first + i]);
        out.data = (char *)out.data + first * phys_size((Phys)out.phys);
        out.valid = valid;
        TRY(arrow_out_put(o, k + 2, b->n, &out, e));
    }
    return ST_OK;
}

static Status results(stele_bulk *b, ArrowOut *o, struct ArrowSchema *schema, struct ArrowArray *batch, Err *e) {
    if (!api_bulk_ran(b)) return err_set(e, ERR_NOT_IN_STATE, "the calls have not run");
    arena_reset(b->cell);
    Type *types = arena_array(b->cell, Type, b->n_outs + 2);
    const char **names = arena_array(b->cell, const char *, b->n_outs + 2);
    if (!types || !names) return ST_ERROR;
    types[0] = types[1] = type_make(T_TEXT);
    names[0] = "sqlstate";
    names[1] = "message";
    for (int k = 0; k < b->n_outs; k++) {
        types[k + 2] = b->out_types[k];
        names[k + 2] = b->out_names[k];
    }
    TRY(arrow_out_begin(o, NULL, b->n_outs + 2, types, names, b->n, e));
    TRY(put_results(b, o, e));
    return arrow_out_finish(o, schema, batch, e);
}

stele_status stele_bulk_get_arrow(stele_bulk *b, struct ArrowSchema *schema, struct ArrowArray *batch) {
    Err *e = &b->conn->s->err;
    ArrowOut o = {0};
    err_clear(e);
    memset(schema, 0, sizeof *schema);
    memset(batch, 0, sizeof *batch);
    if (results(b, &o, schema, batch, e) == ST_OK) return STELE_OK;
    arrow_out_cancel(&o);
    if (!err_is_set(e)) (void)err_oom(e);
    return STELE_ERROR;
}
