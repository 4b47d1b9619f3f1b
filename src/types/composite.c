/* composite.c - see composite.h. */
#include "types/composite.h"

#include <math.h>

#include "base/hash.h"
#include "base/stack.h"
#include "types/array.h"
#include "types/dec.h"
#include "types/func.h"
#include "types/numbers.h"
#include "types/type_int.h"

enum { COMPOSITE_TEXT_MAX = 1073741823 }; /* bytes of any text */

/* ---- definitions ---- */

Status composite_space_new(MemAccount *account, CompositeSpace **out, Err *e) {
    CompositeSpace *s = mem_calloc(account, (int64_t)sizeof *s, e);
    if (!s) return ST_ERROR;
    s->account = account;
    mutex_init(&s->lock, RANK_ENUMS);
    *out = s;
    return ST_OK;
}
void composite_space_free(CompositeSpace *s) {
    if (!s) return;
    while (s->made) {
        CompositeType *x = s->made;
        s->made = x->older;
        type_number_put(x->number, NULL);
        mem_free(s->account, x, x->bytes);
    }
    mem_free(s->account, s->items, s->cap * (int64_t)sizeof *s->items);
    mutex_destroy(&s->lock);
    mem_free(s->account, s, (int64_t)sizeof *s);
}

const CompositeType *composite_of(Type t) { return t.id == T_COMPOSITE ? type_number_get(t.length) : NULL; }

static const char *put(char **at, const char *text) {
    const size_t n = strlen(text) + 1;
    char *p = *at;
    memcpy(p, text, n);
    *at += n;
    return p;
}

static int depth_of(int32_t n, const CompositeField *fields) {
    int depth = 0;
    for (int32_t i = 0; i < n; i++) {
        const Type t = fields[i].type;
        const CompositeType *x = composite_of(t.id == T_ARRAY ? type_element(t) : t);
        if (x) depth = MAX_OF(depth, x->depth);
    }
    return depth + 1;
}

/* Not in the space's list yet. */
static CompositeType *make(CompositeSpace *s, CompositeKind kind, int32_t number, const char *name, int32_t n,
                           const CompositeField *fields, Err *e) {
    const int64_t head = (int64_t)sizeof(CompositeType) + n * (int64_t)sizeof(CompositeField);
    const int64_t len = (int64_t)strlen(name);
    int64_t bytes = head + (len + 1) + named_bytes(name);
    const bool known = number != 0;
    const int depth = depth_of(n, fields);
    if (depth > COMPOSITE_DEPTH_MAX) {
        err_set(e, ERR_PROGRAM_LIMIT, "rows are nested more than %d levels deep", COMPOSITE_DEPTH_MAX);
        return NULL;
    }
    if (!known && type_number_new(&number, e) != ST_OK) return NULL;
    for (int32_t i = 0; i < n; i++) bytes += (int64_t)strlen(fields[i].name) + 1;
    CompositeType *x = mem_calloc(s->account, bytes, e);
    if (!x) return NULL;
    char *at = (char *)x + head;
    x->bytes = bytes;
    x->number = number;
    x->kind = (uint8_t)kind;
    x->depth = (uint8_t)depth;
    x->n = n;
    for (int32_t i = 0; i < n; i++)
        x->fields[i] = (CompositeField){put(&at, fields[i].name), fields[i].type, fields[i].domain};
    x->name = put(&at, name);
    named_put(&at, x->name, &x->shown, &x->array_shown);
    if (!known) type_number_put(number, x);
    return x;
}

Status composite_make(CompositeSpace *s, int32_t number, const char *name, int32_t n, const CompositeField *fields,
                      const CompositeType **out, Err *e) {
    CompositeType *x = make(s, COMPOSITE_NAMED, number, name, n, fields, e);
    if (!x) return ST_ERROR;
    mutex_lock(&s->lock);
    x->older = s->made;
    s->made = x;
    mutex_unlock(&s->lock);
    *out = x;
    return ST_OK;
}

Status composite_put(CompositeSpace *s, const CompositeType *from, const CompositeType *to, Err *e) {
    Status st = ST_OK;
    mutex_lock(&s->lock);
    int64_t at = 0;
    while (at < s->n && s->items[at] != from) at++;
    if (at == s->n && s->n == s->cap) {
        const int64_t cap = s->cap ? s->cap * 2 : 8, size = (int64_t)sizeof *s->items;
        const CompositeType **p = mem_realloc(s->account, s->items, s->cap * size, cap * size, e);
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

const CompositeType *composite_find(CompositeSpace *s, Slice name) {
    const CompositeType *found = NULL;
    if (!s) return NULL;
    mutex_lock(&s->lock);
    for (int64_t i = 0; i < s->n && !found; i++)
        if (slice_eq(name, slice_of(s->items[i]->name))) found = s->items[i];
    mutex_unlock(&s->lock);
    return found;
}
int64_t composite_count(CompositeSpace *s) {
    if (!s) return 0;
    mutex_lock(&s->lock);
    const int64_t n = s->n;
    mutex_unlock(&s->lock);
    return n;
}
const CompositeType *composite_nth(CompositeSpace *s, int64_t i) {
    if (!s) return NULL;
    mutex_lock(&s->lock);
    const CompositeType *x = i < s->n ? s->items[i] : NULL;
    mutex_unlock(&s->lock);
    return x;
}

static bool is_that(const CompositeType *x, const char *name, int32_t n, const CompositeField *fields) {
    bool same = x->n == n && (x->kind == COMPOSITE_TABLE) == (name != NULL) && (!name || strcmp(x->name, name) == 0);
    for (int32_t i = 0; i < n && same; i++)
        same = type_eq(x->fields[i].type, fields[i].type) && strcmp(x->fields[i].name, fields[i].name) == 0;
    return same;
}

Status composite_shared(CompositeSpace *s, const char *name, int32_t n, const CompositeField *fields,
                        const CompositeType **out, Err *e) {
    uint64_t h = name ? hash_bytes(name, (int64_t)strlen(name)) : 0;
    for (int32_t i = 0; i < n; i++) {
        h = hash_combine(h, hash_bytes(fields[i].name, (int64_t)strlen(fields[i].name)));
        h = hash_combine(h, hash_bytes(&fields[i].type, (int64_t)sizeof(Type)));
    }
    CompositeType **bucket = &s->shared[h % COMPOSITE_BUCKETS], *x;
    mutex_lock(&s->lock);
    for (x = *bucket; x; x = x->same_hash)
        if (x->hash == h && is_that(x, name, n, fields)) break;
    if (!x &&
        (x = make(s, name ? COMPOSITE_TABLE : COMPOSITE_ANONYMOUS, 0, name ? name : "record", n, fields, e)) != NULL) {
        x->hash = h;
        x->same_hash = *bucket;
        *bucket = x;
        x->older = s->made;
        s->made = x;
    }
    mutex_unlock(&s->lock);
    *out = x;
    return x ? ST_OK : ST_ERROR;
}

Type composite_field_type(Type column) {
    const uint8_t id = column.id == T_ARRAY ? type_element(column).id : column.id;
    if (id == T_DECIMAL || id == T_JSONB) column.flags &= (uint8_t)~TF_LEAST_SCALE;
    return column;
}
Type composite_record_type(Type t) {
    switch ((TypeId)t.id) {
    case T_UNKNOWN: return type_make(T_TEXT);
    case T_ARRAY: return type_array_of(composite_record_type(type_element(t)));
    case T_CHAR:
    case T_BYTEA: /* a row of SEARCH or CYCLE is one by its flags */
    case T_ENUM:
    case T_RANGE:
    case T_MULTIRANGE:
    case T_COMPOSITE: return t;
    case T_NUMERIC: return type_make(T_DECIMAL);
    default: return type_make((TypeId)t.id);
    }
}
bool composite_is_record(Type t) {
    const CompositeType *x = composite_of(t.id == T_ARRAY ? type_element(t) : t);
    return x && x->kind == COMPOSITE_ANONYMOUS;
}
int32_t composite_field(const CompositeType *x, Slice name) {
    for (int32_t i = 0; x && i < x->n; i++)
        if (slice_eq(name, slice_of(x->fields[i].name))) return i;
    return -1;
}
bool composite_uses(Type t, int32_t number) {
    if (t.id == T_ARRAY) t = type_element(t);
    if (t.id == T_COMPOSITE && t.length == number) return true;
    const CompositeType *x = composite_of(t);
    for (int32_t i = 0; x && i < x->n; i++)
        if (composite_uses(x->fields[i].type, number)) return true;
    return false;
}
bool composite_any(Type t, bool (*fn)(Type field)) {
    const CompositeType *x = composite_of(t.id == T_ARRAY ? type_element(t) : t);
    for (int32_t i = 0; x && i < x->n; i++)
        if (fn(x->fields[i].type) || composite_any(x->fields[i].type, fn)) return true;
    return false;
}

/* ---- values ---- */

static Status no_memory(Err *e) { return err_is_set(e) ? ST_ERROR : err_oom(e); }

Status composite_build(Arena *a, int64_t n, const Value *fields, Str *out, Err *e) {
    Str *cells = arena_array(a, Str, n + 1);
    Value *plain = arena_array(a, Value, n + 1);
    uint8_t *valid = arena_array(a, uint8_t, n + 1);
    if (!cells || !plain || !valid) return no_memory(e);
    for (int64_t i = 0; i < n; i++) {
        const Phys p = type_phys(fields[i].type);
        cells[i] = str_make("", 0);
        valid[i] = !fields[i].is_null;
        if (fields[i].is_null) continue;
        plain[i] = fields[i];
        Value *v = &plain[i];
        /* Equal floats get equal bytes, as in arrays. */
        if (p == PH_F64) v->u.f64 = isnan(v->u.f64) ? (double)NAN : v->u.f64 == 0 ? 0 : v->u.f64;
        if (p == PH_F32) v->u.f32 = isnan(v->u.f32) ? NAN : v->u.f32 == 0 ? 0 : v->u.f32;
        cells[i] = p == PH_STR ? v->u.str : str_make((const char *)&v->u, phys_size(p));
    }
    return array_build(a, PH_STR, n, cells, valid, out, e);
}

Status composite_read(const CompositeType *x, Str blob, Value *out, Err *e) {
    ArrayView v;
    TRY(array_view_of(blob, PH_STR, &v, e));
    if (!x || v.n != x->n)
        return err_internal(e, "a row of %lld fields where one of %d is read", (long long)v.n, x ? x->n : 0);
    for (int32_t i = 0; i < x->n; i++) {
        const Phys p = type_phys(x->fields[i].type);
        Str s;
        out[i] = (Value){.type = x->fields[i].type, .is_null = array_is_null(&v, i)};
        if (out[i].is_null) continue;
        array_get(&v, i, &s);
        if (p == PH_STR) out[i].u.str = s;
        else if (s.len == phys_size(p)) memcpy(&out[i].u, s.ptr, s.len);
        else return err_internal(e, "a field of a row has %u bytes, not %lld", s.len, (long long)phys_size(p));
    }
    return ST_OK;
}

bool composite_ok(Type t, Str blob) {
    const CompositeType *x = composite_of(t);
    if (!x || !array_ok(blob, PH_STR)) return false;
    const ArrayView v = array_view(blob);
    bool ok = v.n == x->n;
    for (int32_t i = 0; i < x->n && ok; i++) {
        const Type f = x->fields[i].type;
        const Phys p = type_phys(f);
        Str s;
        if (array_is_null(&v, i)) continue;
        array_get(&v, i, &s);
        if (f.id == T_COMPOSITE) ok = composite_ok(f, s);
        else if (f.id == T_ARRAY) ok = s.len == 0 || array_ok(s, type_phys(type_element(f)));
        else if (p != PH_STR) ok = s.len == phys_size(p);
    }
    return ok;
}

/* ---- text ---- */

static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
int64_t composite_put_field(char *p, Str s) {
    bool quote = s.len == 0;
    int64_t n = 0;
    for (uint32_t i = 0; i < s.len && !quote; i++)
        quote = is_space(s.ptr[i]) || (s.ptr[i] && strchr("\"\\(),", s.ptr[i]));
    if (quote && p) p[n] = '"';
    n += quote;
    for (uint32_t i = 0; i < s.len; i++) {
        const char c = s.ptr[i];
        if (c == '"' || c == '\\') {
            if (p) p[n] = c;
            n++;
        }
        if (p) p[n] = c;
        n++;
    }
    if (quote && p) p[n] = '"';
    return n + quote;
}

Status composite_to_text(Type t, Str blob, TextForm form, Arena *a, Str *out, Err *e) {
    const CompositeType *x = composite_of(t);
    const int32_t n = x ? x->n : 0;
    Value *fields = arena_array(a, Value, n + 1);
    Str *texts = arena_array(a, Str, n + 1);
    if (!fields || !texts) return no_memory(e);
    TRY(stack_check_depth(e));
    TRY(composite_read(x, blob, fields, e));
    int64_t len = 2 + MAX_OF(n - 1, 0), at = 0;
    for (int32_t i = 0; i < n; i++) {
        int64_t bytes;
        if (fields[i].is_null) continue;
        if (fields[i].type.id == T_BOOL) {
            texts[i] = str_make(fields[i].u.b ? "t" : "f", 1);
        } else {
            const char *p = value_to_text_form(a, &fields[i], form, &bytes);
            if (!p) return no_memory(e);
            texts[i] = str_make(p, bytes);
        }
        len += composite_put_field(NULL, texts[i]);
    }
    char *p = len <= COMPOSITE_TEXT_MAX ? arena_alloc(a, len + 1) : NULL;
    if (!p) return no_memory(e);
    p[at++] = '(';
    for (int32_t i = 0; i < n; i++) {
        if (i) p[at++] = ',';
        if (!fields[i].is_null) at += composite_put_field(p + at, texts[i]);
    }
    p[at++] = ')';
    p[at] = 0;
    *out = str_make(p, at);
    return ST_OK;
}

static Status malformed(Slice text, const char *detail, Err *e) {
    err_set(e, ERR_INVALID_TEXT, "malformed record literal: \"%.*s\"", (int)MIN_OF(text.len, 512),
            text.len ? text.ptr : "");
    return err_detail(e, "%s", detail), ST_ERROR;
}

/* The text of a field from *at up to what ends it, unescaped into buf; -1: there is an end of input in it. */
static int64_t field_text(const char **at, const char *end, char *buf) {
    bool quoted = false;
    int64_t n = 0;
    const char *p = *at;
    while (quoted || p == end || !(*p == ',' || *p == ')')) {
        if (p == end) return -1;
        const char c = *p++;
        if (c == '\\') {
            if (p == end) return -1;
            buf[n++] = *p++;
        } else if (c == '"' && quoted && p < end && *p == '"') {
            buf[n++] = *p++;
        } else if (c == '"') {
            quoted = !quoted;
        } else {
            buf[n++] = c;
        }
    }
    *at = p;
    return n;
}

Status type_check_domain(int64_t domain, const Value *v, const struct SessionInfo *session, Err *e) {
    if (!session || !session->check_domain)
        return err_set(e, ERR_FEATURE_NOT_SUPPORTED, "rows with fields of domains cannot be read here");
    return session->check_domain(session->setting_ctx, domain, v, e);
}
/* A value as one of the domain that the field is of, if it is of one. */
static Status check_field(const CompositeField *f, const Value *v, const struct SessionInfo *session, Err *e) {
    return f->domain ? type_check_domain(f->domain, v, session, e) : ST_OK;
}

Status composite_from_text(Type t, Slice text, const struct SessionInfo *session, Arena *a, Str *out, Err *e) {
    const CompositeType *x = composite_of(t);
    if (!x || x->kind == COMPOSITE_ANONYMOUS)
        return err_set(e, ERR_FEATURE_NOT_SUPPORTED, "input of anonymous composite types is not implemented");
    const char *p = text.ptr, *end = text.ptr + text.len;
    Value *fields = arena_array(a, Value, x->n + 1);
    if (!fields) return no_memory(e);
    TRY(stack_check_depth(e));
    while (p < end && is_space(*p)) p++;
    if (p == end || *p++ != '(') return malformed(text, "Missing left parenthesis.", e);
    for (int32_t i = 0; i < x->n; i++) {
        if (i > 0 && (p == end || *p != ',')) return malformed(text, "Too few columns.", e);
        p += i > 0;
        fields[i] = (Value){.type = x->fields[i].type, .is_null = true};
        if (p < end && (*p == ',' || *p == ')')) {
            TRY(check_field(&x->fields[i], &fields[i], session, e));
            continue;
        }
        char *buf = arena_alloc(a, end - p + 1);
        if (!buf) return no_memory(e);
        const int64_t n = field_text(&p, end, buf);
        if (n < 0) return malformed(text, "Unexpected end of input.", e);
        TRY(value_from_text(x->fields[i].type, (Slice){buf, n}, session, a, &fields[i], e));
        fields[i].type = x->fields[i].type;
        TRY(check_field(&x->fields[i], &fields[i], session, e));
    }
    if (p == end || *p++ != ')') return malformed(text, "Too many columns.", e);
    while (p < end && is_space(*p)) p++;
    if (p < end) return malformed(text, "Junk after right parenthesis.", e);
    return composite_build(a, x->n, fields, out, e);
}
