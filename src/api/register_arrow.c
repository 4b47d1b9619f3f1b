/* register_arrow.c - rows of Arrow streams under a name for FROM (sql/plan/client_rows.h). */
#include <stdio.h>

#include "api/api_int.h"
#include "io/arrow.h"
#include "sql/plan/client_rows.h"

static Status stream_failed(struct ArrowArrayStream *stream, Err *e) {
    const char *why = stream->get_last_error ? stream->get_last_error(stream) : NULL;
    return err_set(e, ERR_IO, "the Arrow stream cannot be read: %s", why ? why : "it does not say why");
}

/* Columns as the schema has them; those without a name, or of one that is there already, cannot be told apart in SQL,
 * which is no error before they are named. */
Status arrow_rows_schema(ClientRows *r, const struct ArrowSchema *s, Err *e) {
    if (!s->release || !s->format || strcmp(s->format, "+s") != 0 || s->n_children < 0 ||
        (s->n_children && !s->children))
        return err_set(e, ERR_INVALID_PARAMETER, "rows in the form of Arrow are structs, format \"+s\"");
    if (s->n_children > 1600) return err_set(e, ERR_TOO_MANY_COLUMNS, "tables can have at most 1600 columns");
    if (!(r->cols = arena_array(r->arena, ClientColumn, s->n_children + 1))) return err_oom(e);
    for (int64_t i = 0; i < s->n_children; i++) {
        const struct ArrowSchema *c = s->children[i];
        if (!c || !c->release) return err_set(e, ERR_INVALID_PARAMETER, "the Arrow batch has been released");
        TRY(arrow_type(c, &r->cols[i].type, e));
        if (c->name && utf8_check(c->name, (int64_t)strlen(c->name)) >= 0)
            return err_set(e, ERR_CHAR_NOT_IN_REPERTOIRE, "invalid byte sequence for encoding \"UTF8\"");
        if (!(r->cols[i].name = arena_strdup(r->arena, c->name ? c->name : ""))) return err_oom(e);
        r->n_cols = (int32_t)i + 1;
    }
    return ST_OK;
}

Status arrow_rows_add(ClientRows *r, int32_t n_cols, const struct ArrowSchema *schema, const struct ArrowArray *batch,
                      Err *e) {
    char where[96], what[TYPE_NAME_MAX];
    TRY(arrow_check_batch(schema, batch, e));
    int64_t n = batch->length;
    if (n > INT32_MAX - r->n) return err_set(e, ERR_PROGRAM_LIMIT, "more than %d rows cannot be registered", INT32_MAX);
    TRY(client_rows_reserve(r, n, e));
    for (int32_t i = 0; i < n_cols; i++) {
        ClientColumn *k = &r->cols[i];
        snprintf(where, sizeof where, "column \"%.60s\"", k->name);
        ArrowColumn c = {.schema = schema->children[i],
                         .array = batch->children[i],
                         .n = n,
                         .type = k->type,
                         .what = type_name(k->type, &what),
                         .where = where};
        c.first = arrow_start(batch->offset, c.array);
        TRY(arrow_check(&c, e));
        if (n == 0) continue;
        int64_t size = phys_size(type_phys(k->type));
        char *cells = k->cells + r->n * size;
        uint8_t *valid = k->valid + r->n;
        /* where all rows have a value each cell is written anyway, in full but for intervals */
        bool all = c.array->n_buffers > 0 && !c.array->buffers[0] && !c.schema->dictionary && k->type.id != T_INTERVAL;
        if (!all) memset(cells, 0, (size_t)(n * size));
        TRY(arrow_convert(&c, r->arena, cells, valid, e));
        k->nulls = k->nulls || memchr(valid, 0, (size_t)n);
    }
    r->n += n;
    return ST_OK;
}

Status arrow_rows_stream(ClientRows *r, struct ArrowArrayStream *stream, Err *e) {
    struct ArrowSchema schema = {0};
    if (!stream || !stream->release) return err_set(e, ERR_INVALID_PARAMETER, "the Arrow stream has been released");
    if (stream->get_schema(stream, &schema) != 0) return stream_failed(stream, e);
    Status st = arrow_rows_schema(r, &schema, e);
    while (st == ST_OK) {
        struct ArrowArray batch = {0};
        if (stream->get_next(stream, &batch) != 0) {
            st = stream_failed(stream, e);
            break;
        }
        if (!batch.release) break;
        st = arrow_rows_add(r, r->n_cols, &schema, &batch, e);
        if (batch.release) batch.release(&batch);
    }
    if (schema.release) schema.release(&schema);
    return st;
}

static ClientRows **find(Session *s, const char *name) {
    ClientRows **r = &s->client.rows;
    while (*r && strcmp((*r)->name, name) != 0) r = &(*r)->next;
    return r;
}

stele_status stele_register_arrow(stele_conn *c, const char *name, struct ArrowArrayStream *stream) {
    Session *s = c->s;
    ClientRows *r = NULL;
    err_clear(&s->err);
    Status st = client_rows_new(&s->account, name, &r, &s->err);
    if (st == ST_OK) st = arrow_rows_stream(r, stream, &s->err);
    if (stream && stream->release) stream->release(stream);
    if (st != ST_OK) {
        client_rows_unref(r);
        if (!err_is_set(&s->err)) (void)err_oom(&s->err);
        return STELE_ERROR;
    }
    stele_unregister(c, name);
    r->next = s->client.rows;
    s->client.rows = r;
    return STELE_OK;
}

void stele_unregister(stele_conn *c, const char *name) {
    ClientRows **at = find(c->s, name), *r = *at;
    if (!r) return;
    *at = r->next;
    client_rows_unref(r);
}

void stele_set_resolver(stele_conn *c, bool (*resolve)(void *ctx, const char *name), void *ctx) {
    c->s->client.resolve = resolve;
    c->s->client.resolve_ctx = ctx;
}
