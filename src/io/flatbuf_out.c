/* flatbuf_out.c - see flatbuf_out.h. */
#include "io/flatbuf_out.h"

enum { FIELDS_MAX = 16 };

/* Bytes of zeros at the end whose byte number `ahead` is aligned; where they are. */
static int64_t put(FlatbufOut *f, int64_t bytes, int64_t ahead, int64_t align) {
    int64_t at = align_up(f->n + ahead, align) - ahead, end = at + bytes;
    if (f->failed) return 0;
    if (end > f->cap) {
        int64_t cap = MAX_OF(f->cap * 2, MAX_OF(end, INT64_C(1024)));
        uint8_t *p = mem_realloc(f->account, f->p, f->cap, cap, f->e);
        if (!p) {
            f->failed = true;
            return 0;
        }
        f->p = p;
        f->cap = cap;
    }
    memset(f->p + f->n, 0, (size_t)(end - f->n));
    f->n = end;
    return at;
}

void fbo_begin(FlatbufOut *f) {
    f->n = 0;
    (void)put(f, 4, 0, 4);
}

void fbo_release(FlatbufOut *f) {
    mem_free(f->account, f->p, f->cap);
    f->p = NULL;
    f->cap = 0;
}

void fbo_set(FlatbufOut *f, int64_t at, uint64_t v, int size) {
    if (!f->failed) memcpy(f->p + at, &v, (size_t)size);
}

void fbo_table(FlatbufOut *f, int64_t from, int n, const uint8_t *sizes, int64_t *fields) {
    int64_t offsets[FIELDS_MAX], bytes = 4;
    for (int i = 0; i < n; i++) {
        offsets[i] = sizes[i] ? align_up(bytes, sizes[i]) : 0;
        if (sizes[i]) bytes = offsets[i] + sizes[i];
    }
    int64_t vtable = put(f, 4 + 2 * n, 0, 2), table = put(f, bytes, 0, 8);
    fbo_set(f, from, (uint64_t)(table - from), 4);
    fbo_set(f, vtable, (uint64_t)(4 + 2 * n), 2);
    fbo_set(f, vtable + 2, (uint64_t)bytes, 2);
    fbo_set(f, table, (uint64_t)(table - vtable), 4);
    for (int i = 0; i < n; i++) {
        fbo_set(f, vtable + 4 + 2 * i, (uint64_t)offsets[i], 2);
        fields[i] = sizes[i] ? table + offsets[i] : 0;
    }
}

void fbo_string(FlatbufOut *f, int64_t from, const char *s, int64_t len) {
    int64_t at = put(f, 4 + len + 1, 0, 4);
    fbo_set(f, from, (uint64_t)(at - from), 4);
    fbo_set(f, at, (uint64_t)len, 4);
    if (!f->failed && len) memcpy(f->p + at + 4, s, (size_t)len);
}

int64_t fbo_vector(FlatbufOut *f, int64_t from, int64_t n, int64_t size) {
    int64_t at = put(f, 4 + n * size, 4, MIN_OF(size, INT64_C(8)));
    fbo_set(f, from, (uint64_t)(at - from), 4);
    fbo_set(f, at, (uint64_t)n, 4);
    return at + 4;
}
