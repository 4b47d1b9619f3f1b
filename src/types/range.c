/* range.c - definitions of range types; see range.h. */
#include "types/range.h"

#include "types/func.h"
#include "types/numbers.h"

/* ---- PostgreSQL's own ---- */

#define BUILTIN(n, sub, one, many)                                                                                    \
    {                                                                                                                 \
        .number = (n), .subtype = {.id = (sub), .precision = (sub) == T_TIMESTAMP || (sub) == T_TIMESTAMPTZ ? 6 : 0}, \
        .name = one, .shown = one, .array_shown = one "[]", .multi = many, .multi_shown = many,                       \
        .multi_array = many "[]", .make = one, .make_multi = many                                                     \
    }
static const RangeType builtins[] = {
    BUILTIN(RANGE_INT4, T_INT4, "int4range", "int4multirange"),
    BUILTIN(RANGE_INT8, T_INT8, "int8range", "int8multirange"),
    BUILTIN(RANGE_NUM, T_DECIMAL, "numrange", "nummultirange"),
    BUILTIN(RANGE_TS, T_TIMESTAMP, "tsrange", "tsmultirange"),
    BUILTIN(RANGE_TSTZ, T_TIMESTAMPTZ, "tstzrange", "tstzmultirange"),
    BUILTIN(RANGE_DATE, T_DATE, "daterange", "datemultirange"),
};

const RangeType *range_builtin_nth(int64_t i) { return i < ARRAY_LEN(builtins) ? &builtins[i] : NULL; }
const RangeType *range_builtin(Slice name, bool *multi) {
    for (int64_t i = 0; i < ARRAY_LEN(builtins); i++) {
        *multi = slice_eq(name, slice_of(builtins[i].multi));
        if (*multi || slice_eq(name, slice_of(builtins[i].name))) return &builtins[i];
    }
    return NULL;
}

const RangeType *range_of(Type t) {
    if (!type_is_range(t)) return NULL;
    if (t.length >= TYPE_NUMBER_FIRST) return type_number_get(t.length);
    return t.length > 0 ? range_builtin_nth(t.length - 1) : NULL;
}

static uint8_t properties(Type subtype) {
    const uint8_t id = subtype.id;
    const bool keyed = id == T_DECIMAL || id == T_FLOAT4 || id == T_FLOAT8 || id == T_INTERVAL || id == T_JSONB;
    return (uint8_t)((keyed ? RANGE_KEYED : 0) | (type_has_zone(subtype) ? RANGE_ZONED : 0));
}
static Type type_with(TypeId id, const RangeType *x) {
    return (Type){.id = (uint8_t)id, .precision = properties(x->subtype), .length = x->number};
}
Type range_type(const RangeType *x) { return type_with(T_RANGE, x); }
Type multirange_type(const RangeType *x) { return type_with(T_MULTIRANGE, x); }

bool range_subtype_ok(Type t) {
    return t.id != T_ARRAY && t.id != T_COMPOSITE && !type_is_range(t) && t.id != T_UNKNOWN && t.id != T_VOID &&
           !type_is_unordered(t);
}

/* ---- the types of a database ---- */

Status range_space_new(MemAccount *account, RangeSpace **out, Err *e) {
    RangeSpace *s = mem_calloc(account, (int64_t)sizeof *s, e);
    if (!s) return ST_ERROR;
    s->account = account;
    mutex_init(&s->lock, RANK_ENUMS);
    *out = s;
    return ST_OK;
}
void range_space_free(RangeSpace *s) {
    if (!s) return;
    while (s->made) {
        RangeType *x = s->made;
        s->made = x->older;
        type_number_put(x->number, NULL);
        mem_free(s->account, x, x->bytes);
    }
    mem_free(s->account, s->items, s->cap * (int64_t)sizeof *s->items);
    mutex_destroy(&s->lock);
    mem_free(s->account, s, (int64_t)sizeof *s);
}

static int64_t text_bytes(const char *name) { return name ? (int64_t)strlen(name) + 1 : 0; }
static const char *put(char **at, const char *text) {
    const int64_t n = text_bytes(text);
    char *p = *at;
    if (n) memcpy(p, text, (size_t)n);
    *at += n;
    return n ? p : NULL;
}
Status range_make(RangeSpace *s, int32_t number, const RangeType *like, const RangeType **out, Err *e) {
    if (number == 0) TRY(type_number_new(&number, e));
    const int64_t name = text_bytes(like->name), multi = text_bytes(like->multi);
    const int64_t quoted = named_bytes(like->name) + named_bytes(like->multi);
    const char *make = like->make ? like->make : like->name;
    const char *make_multi = like->make_multi ? like->make_multi : like->multi;
    const int64_t bytes = (int64_t)sizeof(RangeType) + name + multi + quoted + text_bytes(make) +
                          text_bytes(make_multi) + text_bytes(like->collation) + text_bytes(like->subtype_diff);
    RangeType *x = mem_calloc(s->account, bytes, e);
    if (!x) return ST_ERROR;
    char *at = (char *)x + sizeof *x;
    x->bytes = bytes;
    x->number = number;
    x->subtype = like->subtype;
    x->name = put(&at, like->name);
    x->multi = put(&at, like->multi);
    x->make = put(&at, make);
    x->make_multi = put(&at, make_multi);
    x->collation = put(&at, like->collation);
    x->subtype_diff = put(&at, like->subtype_diff);
    named_put(&at, x->name, &x->shown, &x->array_shown);
    named_put(&at, x->multi, &x->multi_shown, &x->multi_array);
    mutex_lock(&s->lock);
    x->older = s->made;
    s->made = x;
    mutex_unlock(&s->lock);
    *out = x;
    return ST_OK;
}

Status range_put(RangeSpace *s, const RangeType *from, const RangeType *to, Err *e) {
    Status st = ST_OK;
    mutex_lock(&s->lock);
    int64_t at = 0;
    while (at < s->n && s->items[at] != from) at++;
    if (at == s->n && s->n == s->cap) {
        const int64_t cap = s->cap ? s->cap * 2 : 8, size = (int64_t)sizeof *s->items;
        const RangeType **p = mem_realloc(s->account, s->items, s->cap * size, cap * size, e);
        if (p) s->items = p, s->cap = cap;
        else st = ST_ERROR;
    }
    if (st == ST_OK && to) {
        if (at == s->n) s->n++;
        s->items[at] = to;
        type_number_put(to->number, to);
    } else if (st == ST_OK && at < s->n) { /* its number stays known: older snapshots may have values */
        s->n--;
        memmove(&s->items[at], &s->items[at + 1], sizeof *s->items * (size_t)(s->n - at));
    }
    mutex_unlock(&s->lock);
    return st;
}

const RangeType *range_find(RangeSpace *s, Slice name, bool *multi) {
    const RangeType *found = NULL;
    *multi = false;
    if (!s) return NULL;
    mutex_lock(&s->lock);
    for (int64_t i = 0; i < s->n && !found; i++) {
        *multi = slice_eq(name, slice_of(s->items[i]->multi));
        if (*multi || slice_eq(name, slice_of(s->items[i]->name))) found = s->items[i];
    }
    mutex_unlock(&s->lock);
    return found;
}
const RangeType *range_constructor(RangeSpace *s, Slice name, bool *multi) {
    const RangeType *found = NULL;
    *multi = false;
    if (!s) return NULL;
    mutex_lock(&s->lock);
    for (int64_t i = 0; i < s->n && !found; i++) {
        *multi = slice_eq(name, slice_of(s->items[i]->make_multi));
        if (*multi || slice_eq(name, slice_of(s->items[i]->make))) found = s->items[i];
    }
    mutex_unlock(&s->lock);
    return found;
}
int64_t range_count(RangeSpace *s) {
    if (!s) return 0;
    mutex_lock(&s->lock);
    const int64_t n = s->n;
    mutex_unlock(&s->lock);
    return n;
}
const RangeType *range_nth(RangeSpace *s, int64_t i) {
    if (!s) return NULL;
    mutex_lock(&s->lock);
    const RangeType *x = i < s->n ? s->items[i] : NULL;
    mutex_unlock(&s->lock);
    return x;
}
