/* arrow_out.c - vectors of cells become an Arrow batch.
 *
 * Everything of a batch lies in one arena, which for clients has no account, so that it outlives statement, connection
 * and database; its parts (a column, the schema) may be moved and released one by one, and the last one frees the
 * arena.
 */
#include "io/arrow.h"

#include <errno.h>
#include <stdatomic.h>

#include "base/stack.h"
#include "types/array.h"

enum { EPOCH_DAYS = 10957 }; /* 1970-01-01 to 2000-01-01 */
#define EPOCH_MICROS (INT64_C(946684800) * 1000000)

typedef struct Shared {
    _Atomic int64_t refs;
    Arena *arena;
    struct Shared *of; /* structs of a stream: the batch, which has everything else */
} Shared;

/* Bytes that grow, zero where nothing was put. */
typedef struct Buffer {
    char *p;
    int64_t cap;
} Buffer;

struct ArrowOutColumn {
    Type type;
    MemAccount *account;
    const char *name, *format;
    int64_t n, nulls; /* so far */
    Buffer bits;
    Buffer cells;                /* of fixed width, or offsets */
    Buffer bytes;                /* of strings */
    struct ArrowOutColumn *item; /* of lists: the elements of all rows */
};

static void let_go(Shared *x) {
    while (x && atomic_fetch_sub(&x->refs, 1) == 1) {
        Shared *of = x->of;
        arena_free(x->arena);
        x = of;
    }
}
static void release_schema(struct ArrowSchema *s) {
    for (int64_t i = 0; i < s->n_children; i++)
        if (s->children[i]->release) s->children[i]->release(s->children[i]);
    s->release = NULL;
    let_go(s->private_data);
}
static void release_array(struct ArrowArray *x) {
    for (int64_t i = 0; i < x->n_children; i++)
        if (x->children[i]->release) x->children[i]->release(x->children[i]);
    x->release = NULL;
    let_go(x->private_data);
}

static const char *format_of(Arena *a, Type t) {
    switch ((TypeId)t.id) {
    case T_BOOL: return "b";
    case T_INT2: return "s";
    case T_INT4: return "i";
    case T_INT8: return "l";
    case T_OID: return t.flags & TF_SHOWN ? "U" : "l";
    case T_NUMERIC: return arena_printf(a, "d:%d,%d", t.precision, t.scale);
    case T_FLOAT4: return "f";
    case T_FLOAT8: return "g";
    case T_DATE: return "tdD";
    case T_TIME: return "ttu";
    case T_TIMESTAMP: return "tsu:";
    case T_TIMESTAMPTZ: return "tsu:UTC";
    case T_BYTEA: return "Z";
    case T_UUID: return "w:16";
    case T_ARRAY: return "+L";
    default: return "U"; /* texts, and the text of what Arrow has no type for */
    }
}
static bool is_string(const struct ArrowOutColumn *c) { return c->format[0] == 'U' || c->format[0] == 'Z'; }
static int64_t width(const struct ArrowOutColumn *c) {
    return is_string(c) || c->item ? 8 : c->type.id == T_NUMERIC ? 16 : phys_size(type_phys(c->type));
}

/* Numerics without (p,s) are texts, and in lists decimals, that say so, for Stele to read them back as what they were:
 * one pair of Arrow's metadata (little-endian lengths before key and value). */
const char arrow_numeric_mark[] = "\1\0\0\0\12\0\0\0" ARROW_TYPE_KEY "\7\0\0\0" ARROW_NUMERIC;
static const char *mark_of(Type t, bool element) {
    const bool numeric = t.id == T_DECIMAL || (element && t.id == T_NUMERIC && (t.flags & TF_UNCONSTRAINED));
    return numeric ? arrow_numeric_mark : NULL;
}

static void free_buffers(void *column) {
    struct ArrowOutColumn *c = column;
    mem_free(c->account, c->bits.p, c->bits.cap);
    mem_free(c->account, c->cells.p, c->cells.cap);
    mem_free(c->account, c->bytes.p, c->bytes.cap);
}
static Status need(MemAccount *a, Buffer *b, int64_t bytes, Err *e) {
    if (bytes <= b->cap) return ST_OK;
    int64_t cap = MAX_OF(b->cap * 2, MAX_OF(bytes, INT64_C(64)));
    char *p = mem_realloc(a, b->p, b->cap, cap, e);
    if (!p) return ST_ERROR;
    memset(p + b->cap, 0, (size_t)(cap - b->cap));
    *b = (Buffer){p, cap};
    return ST_OK;
}
/* Room for `more` rows, and for one offset behind them. */
static Status need_rows(struct ArrowOutColumn *c, int64_t more, Err *e) {
    TRY(need(c->account, &c->bits, (c->n + more) / 8 + 8, e));
    return need(c->account, &c->cells, c->type.id == T_BOOL ? (c->n + more) / 8 + 8 : (c->n + more + 1) * width(c), e);
}

static Status column_begin(ArrowOut *o, struct ArrowOutColumn *c, Type type, const char *name, int64_t n, Err *e) {
    *c = (struct ArrowOutColumn){
        .type = type, .account = o->account, .format = format_of(o->a, type), .name = arena_strdup(o->a, name)};
    if (!c->name || !c->format || arena_on_release(o->a, free_buffers, c) != ST_OK) return ST_ERROR;
    if (type.id == T_ARRAY && !(c->item = arena_new_of(o->a, struct ArrowOutColumn))) return ST_ERROR;
    return need_rows(c, n, e);
}
Status arrow_out_begin(ArrowOut *o, MemAccount *account, int n_cols, const Type *types, const char *const *names,
                       int64_t n, Err *e) {
    *o = (ArrowOut){.a = arena_new(account, e), .account = account, .n_cols = n_cols, .n = n};
    if (!o->a || !(o->cols = arena_array(o->a, struct ArrowOutColumn, n_cols + 1))) return ST_ERROR;
    for (int k = 0; k < n_cols; k++) {
        struct ArrowOutColumn *c = &o->cols[k];
        TRY(column_begin(o, c, types[k], names[k], n, e));
        if (c->item) TRY(column_begin(o, c->item, type_element(types[k]), "item", 0, e));
    }
    return ST_OK;
}

static Status put_strings(const ArrowOut *o, struct ArrowOutColumn *c, int64_t n, const Vec *v, Err *e) {
    int64_t *offsets = (int64_t *)(void *)c->cells.p + c->n, size = phys_size((Phys)v->phys);
    bool as_is = type_is_text(c->type) || c->type.id == T_BYTEA;
    Arena *texts = as_is ? NULL : arena_new(o->account, e);
    if (!as_is && !texts) return ST_ERROR;
    Status st = ST_OK;
    for (int64_t i = 0; i < n && st == ST_OK; i++) {
        Slice s = {"", 0};
        offsets[i + 1] = offsets[i];
        if (v->valid && !v->valid[i]) continue;
        if (as_is) {
            const Str *x = (const Str *)v->data + i;
            s = (Slice){x->ptr, x->len};
        } else {
            Value x = {.type = c->type};
            memcpy(value_cell(&x), (const char *)v->data + i * size, (size_t)size);
            if (!(s.ptr = value_to_text_form(texts, &x, o->form, &s.len))) st = ST_ERROR;
        }
        if (st == ST_OK) st = need(c->account, &c->bytes, offsets[i] + s.len, e);
        if (st != ST_OK) break;
        if (s.len) memcpy(c->bytes.p + offsets[i], s.ptr, (size_t)s.len);
        offsets[i + 1] += s.len;
        if (texts && (i & 1023) == 1023) arena_reset(texts);
    }
    arena_free(texts);
    return st;
}

/* Days and microseconds since 2000 to those since 1970; infinities stay at the ends. */
static void put_times(char *to, const char *from, int64_t n, bool day) {
    for (int64_t i = 0; i < n; i++) {
        int32_t d;
        int64_t t;
        if (day) {
            memcpy(&d, from + 4 * i, 4);
            if (d != INT32_MIN) d = d <= INT32_MAX - EPOCH_DAYS ? d + EPOCH_DAYS : INT32_MAX;
            memcpy(to + 4 * i, &d, 4);
        } else {
            memcpy(&t, from + 8 * i, 8);
            if (t != INT64_MIN && __builtin_add_overflow(t, EPOCH_MICROS, &t)) t = INT64_MAX;
            memcpy(to + 8 * i, &t, 8);
        }
    }
}
static void put_numerics(char *to, const char *from, int64_t n, int64_t size) {
    for (int64_t i = 0; i < n; i++) {
        int128_t x;
        int64_t narrow;
        if (size == 16) memcpy(&x, from + 16 * i, 16);
        else memcpy(&narrow, from + 8 * i, 8), x = narrow;
        memcpy(to + 16 * i, &x, 16);
    }
}

static Status put(ArrowOut *o, struct ArrowOutColumn *c, int64_t n, const Vec *v, Err *e);

static Status put_lists(ArrowOut *o, struct ArrowOutColumn *c, int64_t n, const Vec *v, Err *e) {
    int64_t *offsets = (int64_t *)(void *)c->cells.p + c->n;
    Arena *tmp = arena_new(o->account, e);
    Status st = tmp ? stack_check(e) : ST_ERROR;
    for (int64_t i = 0; i < n && st == ST_OK; i++) {
        offsets[i + 1] = offsets[i];
        if (v->valid && !v->valid[i]) continue;
        ArrayView a = array_view(((const Str *)v->data)[i]);
        if (!array_is_plain(&a)) {
            err_set(e, ERR_FEATURE_NOT_SUPPORTED,
                    "an array of several dimensions, or whose first subscript is not 1, has no form in Arrow");
            err_hint(e, "Cast the column to text, or take a[:] of arrays of one dimension.");
            st = ST_ERROR;
            break;
        }
        int64_t size = phys_size(type_phys(c->item->type));
        char *cells = a.n ? arena_calloc(tmp, a.n * size) : NULL;
        Vec items = {.data = cells,
                     .valid = (uint8_t *)(uintptr_t)a.valid,
                     .phys = (uint8_t)type_phys(c->item->type),
                     .type = c->item->type};
        if (a.n && !cells) st = ST_ERROR;
        for (int64_t k = 0; k < a.n && st == ST_OK; k++) array_get(&a, k, cells + k * size);
        if (st == ST_OK && a.n) st = need_rows(c->item, a.n, e);
        if (st == ST_OK && a.n) st = put(o, c->item, a.n, &items, e);
        offsets[i + 1] += a.n;
        arena_reset(tmp);
    }
    arena_free(tmp);
    return st;
}

/* There is room for the rows. */
static Status put(ArrowOut *o, struct ArrowOutColumn *c, int64_t n, const Vec *v, Err *e) {
    char *cells = c->cells.p;
    uint8_t *bits = (uint8_t *)c->bits.p;
    if (is_string(c)) {
        TRY(put_strings(o, c, n, v, e));
    } else if (c->item) {
        TRY(put_lists(o, c, n, v, e));
    } else if (c->type.id == T_BOOL) {
        for (int64_t i = 0; i < n; i++)
            if (((const uint8_t *)v->data)[i])
                cells[(c->n + i) >> 3] = (char)(cells[(c->n + i) >> 3] | 1 << ((c->n + i) & 7));
    } else {
        int64_t w = width(c);
        char *to = cells + c->n * w;
        if (c->type.id == T_NUMERIC) put_numerics(to, v->data, n, phys_size((Phys)v->phys));
        else if (c->type.id == T_DATE) put_times(to, v->data, n, true);
        else if (c->type.id == T_TIMESTAMP || c->type.id == T_TIMESTAMPTZ) put_times(to, v->data, n, false);
        else if (n) memcpy(to, v->data, (size_t)(n * w));
    }
    for (int64_t i = 0; i < n; i++) {
        bool there = !v->valid || v->valid[i];
        bits[(c->n + i) >> 3] = (uint8_t)(bits[(c->n + i) >> 3] | there << ((c->n + i) & 7));
        c->nulls += !there;
    }
    c->n += n;
    return ST_OK;
}
Status arrow_out_put(ArrowOut *o, int col, int64_t n, const Vec *v, Err *e) {
    if (o->cols[col].n + n > o->n) return err_internal(e, "more rows than the Arrow batch was made for");
    return put(o, &o->cols[col], n, v, e);
}

void arrow_out_cancel(ArrowOut *o) {
    arena_free(o->a);
    o->a = NULL;
}

/* A column's structs; those of a list's elements lie behind them. */
static void fill(const struct ArrowOutColumn *c, Shared *shared, const void **buffers, struct ArrowSchema *schema,
                 struct ArrowArray *array, int64_t n_children, struct ArrowSchema **schemas,
                 struct ArrowArray **arrays) {
    buffers[0] = c->bits.p;
    buffers[1] = c->cells.p;
    buffers[2] = c->bytes.p ? c->bytes.p : "";
    *schema = (struct ArrowSchema){.format = c->format,
                                   .name = c->name,
                                   .metadata = mark_of(c->type, schemas == NULL),
                                   .flags = ARROW_FLAG_NULLABLE,
                                   .n_children = n_children,
                                   .children = schemas,
                                   .release = release_schema,
                                   .private_data = shared};
    *array = (struct ArrowArray){.length = c->n,
                                 .null_count = c->nulls,
                                 .n_buffers = is_string(c) ? 3 : 2,
                                 .buffers = buffers,
                                 .n_children = n_children,
                                 .children = arrays,
                                 .release = release_array,
                                 .private_data = shared};
}

Status arrow_out_finish(ArrowOut *o, struct ArrowSchema *schema, struct ArrowArray *batch, Err *e) {
    int n = o->n_cols, at = n; /* the columns, then the elements of lists */
    Arena *a = o->a;
    Shared *shared = arena_new_of(a, Shared);
    struct ArrowSchema *schemas = arena_array(a, struct ArrowSchema, 2 * n + 1);
    struct ArrowArray *arrays = arena_array(a, struct ArrowArray, 2 * n + 1);
    struct ArrowSchema **schema_of = arena_array(a, struct ArrowSchema *, 2 * n + 1);
    struct ArrowArray **array_of = arena_array(a, struct ArrowArray *, 2 * n + 1);
    const void **buffers = arena_array(a, const void *, 6 * n + 1);
    if (!shared || !schemas || !arrays || !schema_of || !array_of || !buffers) return ST_ERROR;
    for (int k = 0; k < n; k++) {
        struct ArrowOutColumn *c = &o->cols[k];
        if (c->n != o->n) return err_internal(e, "fewer rows than the Arrow batch was made for");
        schema_of[k] = &schemas[k];
        array_of[k] = &arrays[k];
        schema_of[at] = &schemas[at];
        array_of[at] = &arrays[at];
        fill(c, shared, buffers + 1 + 3 * k, &schemas[k], &arrays[k], c->item != NULL, &schema_of[at], &array_of[at]);
        if (!c->item) continue;
        fill(c->item, shared, buffers + 1 + 3 * at, &schemas[at], &arrays[at], 0, NULL, NULL);
        at++;
    }
    *shared = (Shared){.arena = a};
    atomic_init(&shared->refs, 2 * ((int64_t)at + 1));
    arena_set_err(a, NULL);
    *schema = (struct ArrowSchema){.format = "+s",
                                   .name = "",
                                   .n_children = n,
                                   .children = schema_of,
                                   .release = release_schema,
                                   .private_data = shared};
    *batch = (struct ArrowArray){.length = o->n,
                                 .n_buffers = 1,
                                 .buffers = buffers,
                                 .n_children = n,
                                 .children = array_of,
                                 .release = release_array,
                                 .private_data = shared};
    return ST_OK;
}

Status arrow_out_schema(int n_cols, const Type *types, const char *const *names, struct ArrowSchema *schema, Err *e) {
    ArrowOut o = {0};
    struct ArrowArray none = {0};
    memset(schema, 0, sizeof *schema);
    if (arrow_out_begin(&o, NULL, n_cols, types, names, 0, e) == ST_OK &&
        arrow_out_finish(&o, schema, &none, e) == ST_OK) {
        none.release(&none);
        return ST_OK;
    }
    arrow_out_cancel(&o);
    return err_is_set(e) ? ST_ERROR : err_oom(e);
}

/* ---- streams of one batch -------------------------------------------------------------------------------------- */
/* Structs of their own for a batch that stays where it is, in an arena that goes with them: of its columns, and of the
 * elements of lists. */
static Shared *share(Shared *of, int64_t n) {
    Arena *a = arena_new(NULL, NULL);
    Shared *x = a ? arena_new_of(a, Shared) : NULL;
    if (!x) {
        arena_free(a);
        return NULL;
    }
    *x = (Shared){.arena = a, .of = of};
    atomic_init(&x->refs, n);
    atomic_fetch_add(&of->refs, 1);
    return x;
}
/* Memory is wanting: nothing is shared. */
static bool share_nothing(Shared *x) {
    if (!x) return false;
    atomic_store(&x->refs, 1);
    let_go(x);
    return false;
}
/* ArrowSchema and ArrowArray have the members that this needs in common. */
#define SHARE(name, T)                                                         \
    static bool name(const struct T *from, struct T *to) {                     \
        int64_t n = from->n_children, all = n;                                 \
        for (int64_t i = 0; i < n; i++) all += from->children[i]->n_children;  \
        Shared *x = share(from->private_data, all + 1);                        \
        struct T *s = x ? arena_array(x->arena, struct T, all + 1) : NULL;     \
        struct T **of = x ? arena_array(x->arena, struct T *, all + 1) : NULL; \
        to->release = NULL;                                                    \
        if (!s || !of) return share_nothing(x);                                \
        for (int64_t i = 0, at = n; i < n; i++) {                              \
            s[i] = *from->children[i];                                         \
            if (s[i].n_children) {                                             \
                s[at] = *s[i].children[0];                                     \
                of[at] = &s[at];                                               \
                s[i].children = &of[at++];                                     \
            }                                                                  \
            of[i] = &s[i];                                                     \
        }                                                                      \
        for (int64_t i = 0; i < all; i++) s[i].private_data = x;               \
        *to = *from;                                                           \
        to->children = of;                                                     \
        to->private_data = x;                                                  \
        return true;                                                           \
    }
SHARE(share_schema, ArrowSchema)
SHARE(share_array, ArrowArray)

typedef struct Stream {
    struct ArrowSchema schema;
    struct ArrowArray batch; /* released: it has been handed over */
} Stream;

static int stream_schema(struct ArrowArrayStream *s, struct ArrowSchema *out) {
    return share_schema(&((Stream *)s->private_data)->schema, out) ? 0 : ENOMEM;
}
static int stream_next(struct ArrowArrayStream *s, struct ArrowArray *out) {
    Stream *x = s->private_data;
    *out = x->batch;
    x->batch.release = NULL;
    return 0;
}
static const char *stream_error(struct ArrowArrayStream *s) {
    (void)s;
    return "out of memory";
}
static void stream_release(struct ArrowArrayStream *s) {
    Stream *x = s->private_data;
    s->release = NULL;
    if (x->schema.release) x->schema.release(&x->schema);
    if (x->batch.release) x->batch.release(&x->batch);
    mem_free(NULL, x, (int64_t)sizeof *x);
}

stele_status stele_arrow_stream(const struct ArrowSchema *schema, const struct ArrowArray *batch,
                                struct ArrowArrayStream *stream) {
    *stream = (struct ArrowArrayStream){0};
    Err ignored = {0}; /* there is nothing but memory that can be wanting */
    Stream *x = mem_calloc(NULL, (int64_t)sizeof *x, &ignored);
    if (!x) return STELE_ERROR;
    *stream = (struct ArrowArrayStream){stream_schema, stream_next, stream_error, stream_release, x};
    if (share_schema(schema, &x->schema) && share_array(batch, &x->batch)) return STELE_OK;
    stream_release(stream);
    return STELE_ERROR;
}
