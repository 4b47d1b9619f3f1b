/* adbc_nested.c - arrays of structs, lists, maps and unions by Arrow's C data interface, for GetObjects and GetInfo.
 *
 * Every struct that is handed out has a reference to the holder, so that children may be moved out of their parents, as
 * the interface allows. See https://arrow.apache.org/docs/format/CDataInterface.html.
 */
#include <stdlib.h>

#include "api/adbc_int.h"
#include "base/stack.h"

NestedHolder *nested_new(void) {
    NestedHolder *h = mem_calloc(NULL, (int64_t)sizeof *h, NULL);
    if (!h) return NULL;
    atomic_init(&h->refs, 1);
    if (!(h->arena = arena_new(NULL, &h->err))) {
        mem_free(NULL, h, (int64_t)sizeof *h);
        return NULL;
    }
    return h;
}
void nested_unref(NestedHolder *h) {
    if (!h || atomic_fetch_sub(&h->refs, 1) > 1) return;
    arena_free(h->arena);
    mem_free(NULL, h, (int64_t)sizeof *h);
}

NestedNode *nested_node(NestedHolder *h, const char *format, const char *name, bool nullable, int n,
                        NestedNode *const *children) {
    for (int i = 0; i < n; i++)
        if (!children[i]) return NULL;
    NestedNode *x = arena_new_of(h->arena, NestedNode);
    NestedNode **own = arena_array(h->arena, NestedNode *, n + 1);
    if (!x || !own) return NULL;
    if (n) memcpy(own, children, sizeof *own * (size_t)n);
    *x = (NestedNode){.format = format, .name = name, .nullable = nullable, .n_children = n, .children = own};
    int32_t zero = 0;
    bool offsets =
        strcmp(format, "u") == 0 || strcmp(format, "z") == 0 || strcmp(format, "+l") == 0 || strcmp(format, "+m") == 0;
    return offsets && !vec_push(h->arena, &x->offsets, zero) ? NULL : x;
}

/* ---- values -------------------------------------------------------------------------------------- */

static bool count(NestedHolder *h, NestedNode *x, bool valid) {
    uint8_t v = valid;
    x->n++;
    x->nulls += !valid;
    return vec_push(h->arena, &x->valid, v);
}
static bool put_bytes(NestedHolder *h, NestedNode *x, const void *p, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        if (!vec_push(h->arena, &x->data, ((const uint8_t *)p)[i])) return false;
    return true;
}
static bool put_end(NestedHolder *h, NestedNode *x, int64_t end) {
    int32_t at = (int32_t)end;
    return vec_push(h->arena, &x->offsets, at);
}
static bool has_bytes(const NestedNode *x) { return x->format[0] == 'u' || x->format[0] == 'z'; }
static int64_t cell_size(const NestedNode *x) {
    switch (x->format[0]) {
    case 's': return 2;
    case 'i':
    case 'I': return 4;
    case 'l':
    case 'L':
    case 'g': return 8;
    default: return 0;
    }
}

bool nested_null(NestedHolder *h, NestedNode *x) {
    static const uint8_t zeros[8];
    if (stack_stop() || !count(h, x, false)) return false;
    if (has_bytes(x)) return put_end(h, x, x->data.len);
    if (x->format[0] == 'b') return put_bytes(h, x, zeros, 1);
    if (x->format[0] != '+') return put_bytes(h, x, zeros, cell_size(x));
    if (x->format[1] != 's') return put_end(h, x, x->children[0]->n);
    for (int i = 0; i < x->n_children; i++)
        if (!nested_null(h, x->children[i])) return false;
    return true;
}
bool nested_text(NestedHolder *h, NestedNode *x, const char *text) {
    return text ? nested_bytes(h, x, text, (int64_t)strlen(text)) : nested_null(h, x);
}
bool nested_bytes(NestedHolder *h, NestedNode *x, const char *p, int64_t n) {
    return put_bytes(h, x, p, n) && put_end(h, x, x->data.len) && count(h, x, true);
}
bool nested_double(NestedHolder *h, NestedNode *x, double v) {
    return put_bytes(h, x, &v, (int64_t)sizeof v) && count(h, x, true);
}
bool nested_int(NestedHolder *h, NestedNode *x, int64_t v) {
    uint8_t b = v != 0; /* booleans: a byte each, until they are exported */
    return (x->format[0] == 'b' ? put_bytes(h, x, &b, 1) : put_bytes(h, x, &v, cell_size(x))) && count(h, x, true);
}
bool nested_row(NestedHolder *h, NestedNode *x) { return count(h, x, true); }
bool nested_list(NestedHolder *h, NestedNode *x) { return put_end(h, x, x->children[0]->n) && count(h, x, true); }
bool nested_kind(NestedHolder *h, NestedNode *x, int8_t kind) {
    return vec_push(h->arena, &x->kinds, kind) && put_end(h, x, x->children[kind]->n - 1) && count(h, x, true);
}

/* ---- out ----------------------------------------------------------------------------------------- */

static void release_schema(struct ArrowSchema *s) {
    NestedHolder *h = s->private_data;
    for (int64_t i = 0; i < s->n_children; i++)
        if (s->children[i]->release) s->children[i]->release(s->children[i]);
    s->release = NULL;
    nested_unref(h);
}
static void release_array(struct ArrowArray *a) {
    NestedHolder *h = a->private_data;
    for (int64_t i = 0; i < a->n_children; i++)
        if (a->children[i]->release) a->children[i]->release(a->children[i]);
    a->release = NULL;
    nested_unref(h);
}

static bool export_schema(NestedHolder *h, const NestedNode *x, struct ArrowSchema *out) {
    memset(out, 0, sizeof *out);
    struct ArrowSchema *of = arena_array(h->arena, struct ArrowSchema, x->n_children + 1);
    struct ArrowSchema **children = arena_array(h->arena, struct ArrowSchema *, x->n_children + 1);
    if (!of || !children || stack_stop()) return false;
    *out = (struct ArrowSchema){.format = x->format,
                                .name = x->name,
                                .flags = x->nullable ? ARROW_FLAG_NULLABLE : 0,
                                .children = children,
                                .release = release_schema,
                                .private_data = h};
    atomic_fetch_add(&h->refs, 1);
    for (int i = 0; i < x->n_children; i++) {
        children[i] = &of[i];
        if (!export_schema(h, x->children[i], &of[i])) {
            if (of[i].release) of[i].release(&of[i]);
            return false;
        }
        out->n_children = i + 1;
    }
    return true;
}

/* Bytes of 0 and 1 to bits. */
static uint8_t *bits_of(NestedHolder *h, const uint8_t *bytes, int64_t n) {
    uint8_t *bits = arena_calloc(h->arena, (n + 7) / 8 + 8);
    for (int64_t i = 0; bits && i < n; i++) bits[i / 8] = (uint8_t)(bits[i / 8] | (bytes[i] << (i % 8)));
    return bits;
}

static bool set_buffers(NestedHolder *h, const NestedNode *x, const void **buffers, int64_t *n) {
    static const uint8_t empty[8];
    const void *valid = NULL;
    if (x->nulls && !(valid = bits_of(h, x->valid.items, x->n))) return false;
    const void *data = x->data.items ? x->data.items : empty,
               *offsets = x->offsets.items ? (const void *)x->offsets.items : empty;
    if (x->format[0] == '+' && x->format[1] == 'u') {
        buffers[0] = x->kinds.items ? (const void *)x->kinds.items : empty;
        buffers[1] = offsets;
        *n = 2;
        return true;
    }
    buffers[0] = valid;
    *n = x->format[0] == '+' && x->format[1] == 's' ? 1 : 2;
    if (*n == 1) return true;
    buffers[1] = x->format[0] == '+' || has_bytes(x) ? offsets : data;
    if (has_bytes(x)) buffers[(*n)++] = data;
    if (x->format[0] == 'b') buffers[1] = bits_of(h, x->data.items, x->n);
    return buffers[1] != NULL;
}

static bool export_array(NestedHolder *h, const NestedNode *x, struct ArrowArray *out) {
    memset(out, 0, sizeof *out);
    struct ArrowArray *of = arena_array(h->arena, struct ArrowArray, x->n_children + 1);
    struct ArrowArray **children = arena_array(h->arena, struct ArrowArray *, x->n_children + 1);
    const void **buffers = arena_array(h->arena, const void *, 3);
    int64_t n_buffers;
    if (!of || !children || !buffers || stack_stop() || !set_buffers(h, x, buffers, &n_buffers)) return false;
    *out = (struct ArrowArray){.length = x->n,
                               .null_count = x->format[1] == 'u' ? 0 : x->nulls,
                               .n_buffers = n_buffers,
                               .buffers = buffers,
                               .children = children,
                               .release = release_array,
                               .private_data = h};
    atomic_fetch_add(&h->refs, 1);
    for (int i = 0; i < x->n_children; i++) {
        children[i] = &of[i];
        if (!export_array(h, x->children[i], &of[i])) {
            if (of[i].release) of[i].release(&of[i]);
            return false;
        }
        out->n_children = i + 1;
    }
    return true;
}

typedef struct NestedStream {
    NestedHolder *h;
    NestedNode *root;
    bool done;
} NestedStream;

static int stream_schema(struct ArrowArrayStream *s, struct ArrowSchema *out) {
    NestedStream *x = s->private_data;
    if (export_schema(x->h, x->root, out)) return 0;
    if (out->release) out->release(out);
    return 12; /* ENOMEM */
}
static int stream_next(struct ArrowArrayStream *s, struct ArrowArray *out) {
    NestedStream *x = s->private_data;
    memset(out, 0, sizeof *out);
    if (x->done) return 0;
    x->done = true;
    if (export_array(x->h, x->root, out)) return 0;
    if (out->release) out->release(out);
    return 12;
}
static const char *stream_error(struct ArrowArrayStream *s) {
    (void)s;
    return "out of memory";
}
static void stream_release(struct ArrowArrayStream *s) {
    NestedStream *x = s->private_data;
    s->release = NULL;
    nested_unref(x->h);
}

bool nested_stream(NestedHolder *h, NestedNode *root, struct ArrowArrayStream *out) {
    NestedStream *x = root ? arena_new_of(h->arena, NestedStream) : NULL;
    if (!x) {
        nested_unref(h);
        return false;
    }
    *x = (NestedStream){h, root, false};
    *out = (struct ArrowArrayStream){stream_schema, stream_next, stream_error, stream_release, x};
    return true;
}
