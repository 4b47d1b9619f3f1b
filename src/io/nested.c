/* nested.c - see nested.h. JSON is written as text first and brought into jsonb's form by types/json.h, which orders
 * members, keeps one of each key and writes numbers as jsonb has them. */
#include "io/nested.h"

#include "base/stack.h"
#include "types/array.h"
#include "types/json.h"

Type nested_type(const NestedField *f) {
    if (f->kind == NESTED_VALUE) return f->type;
    const NestedField *item = f->children;
    if (f->kind == NESTED_LIST && item->kind == NESTED_VALUE && item->type.id != T_ARRAY)
        return type_array_of(item->type);
    return type_make(T_JSONB);
}

/* A union is NULL where its member is. */
static bool is_null(const NestedField *f, const NestedRows *r, int64_t i) {
    while (f->kind == NESTED_UNION) {
        int32_t member = r->members[i];
        i = r->places[i];
        f = &f->children[member];
        r = &r->rows[member];
    }
    return r->valid && !r->valid[i];
}

static Status put(JsonOut *o, const NestedField *f, const NestedRows *r, int64_t i, Err *e);

static Status put_list(JsonOut *o, const NestedField *f, const NestedRows *r, int64_t i, Err *e) {
    json_put_text(o, "[");
    for (int64_t k = nested_start(r, i); k < r->ends[i + 1]; k++) {
        if (k > nested_start(r, i)) json_put_text(o, ",");
        TRY(put(o, f->children, r->rows, k, e));
    }
    json_put_text(o, "]");
    return ST_OK;
}

static Status put_struct(JsonOut *o, const NestedField *f, const NestedRows *r, int64_t i, Err *e) {
    json_put_text(o, "{");
    for (int32_t k = 0; k < f->n_children; k++) {
        if (k > 0) json_put_text(o, ",");
        json_put_string(o, slice_of(f->children[k].name));
        json_put_text(o, ":");
        TRY(put(o, &f->children[k], &r->rows[k], i, e));
    }
    json_put_text(o, "}");
    return ST_OK;
}

static Status put_map(JsonOut *o, const NestedField *f, const NestedRows *r, int64_t i, Err *e) {
    const NestedField *key = &f->children[0];
    bool object = key->kind == NESTED_VALUE && type_is_text(key->type);
    json_put(o, object ? "{" : "[", 1);
    for (int64_t k = nested_start(r, i); k < r->ends[i + 1]; k++) {
        if (is_null(key, &r->rows[0], k)) return err_set(e, ERR_NULL_NOT_ALLOWED, "a key of a map is NULL");
        if (k > nested_start(r, i)) json_put_text(o, ",");
        if (!object) json_put_text(o, "{\"key\":");
        TRY(put(o, key, &r->rows[0], k, e));
        if (object) json_put_text(o, ":");
        else json_put_text(o, ",\"value\":");
        TRY(put(o, &f->children[1], &r->rows[1], k, e));
        if (!object) json_put_text(o, "}");
    }
    json_put(o, object ? "}" : "]", 1);
    return ST_OK;
}

/* Value number i as JSON text. */
static Status put(JsonOut *o, const NestedField *f, const NestedRows *r, int64_t i, Err *e) {
    TRY(stack_check(e));
    if (UNLIKELY(json_is_over(o))) { /* lists that share elements make an endless text of a few bytes */
        Str none;
        return json_done(o, &none, e);
    }
    if (is_null(f, r, i)) {
        json_put_text(o, "null");
        return ST_OK;
    }
    switch (f->kind) {
    case NESTED_LIST: return put_list(o, f, r, i, e);
    case NESTED_STRUCT: return put_struct(o, f, r, i, e);
    case NESTED_MAP: return put_map(o, f, r, i, e);
    case NESTED_UNION: return put(o, &f->children[r->members[i]], &r->rows[r->members[i]], r->places[i], e);
    case NESTED_VALUE: break;
    }
    return json_put_value(o, f->type, (const char *)r->cells + i * phys_size(type_phys(f->type)), e);
}

static Status json_cell(const NestedField *f, const NestedRows *r, int64_t i, Arena *texts, Arena *a, Str *cell,
                        Err *e) {
    JsonOut o = {.a = texts};
    Str text;
    TRY(put(&o, f, r, i, e));
    TRY(json_done(&o, &text, e));
    TRY(jsonb_from_text(texts, (Slice){text.ptr, text.len}, &text, e));
    const char *copy = arena_strndup(a, text.ptr, text.len);
    if (!copy) return err_is_set(e) ? ST_ERROR : err_oom(e);
    *cell = str_make(copy, text.len);
    return ST_OK;
}

/* The elements of a list of scalars as an array. */
static Status array_cell(const NestedField *f, const NestedRows *r, int64_t i, Arena *a, Str *cell, Err *e) {
    const NestedRows *items = r->rows;
    Phys phys = type_phys(f->children->type);
    int64_t from = nested_start(r, i), n = r->ends[i + 1] - from;
    const uint8_t *valid = items->valid ? items->valid + from : NULL;
    return array_build(a, phys, n, (const char *)items->cells + from * phys_size(phys), valid, cell, e);
}

Status nested_cells(const NestedField *f, const NestedRows *r, int64_t from, int64_t n, Arena *a, Str *cells,
                    uint8_t *valid, Err *e) {
    bool array = f->type.id == T_ARRAY;
    Arena *texts = array ? NULL : arena_new(arena_account(a), e);
    Status st = array || texts ? ST_OK : ST_ERROR;
    for (int64_t i = 0; st == ST_OK && i < n; i++) {
        valid[i] = !is_null(f, r, from + i);
        cells[i] = str_make("", 0);
        if (!valid[i]) continue;
        if (array) st = array_cell(f, r, from + i, a, &cells[i], e);
        else st = json_cell(f, r, from + i, texts, a, &cells[i], e);
        if (texts) arena_reset(texts);
    }
    arena_free(texts);
    return st;
}
