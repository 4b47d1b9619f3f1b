/* array_text.c - arrays to and from text.
 *
 * A literal is read twice, as PostgreSQL 15 does it: the first pass (count_items) looks at the braces, quotes and
 * commas and finds the dimensions, the second (read_items) takes the elements. What is malformed is said by the first.
 */
#include "types/array.h"

#include <stdio.h>

#include "types/type_int.h"

static Status no_memory(Err *e) { return err_is_set(e) ? ST_ERROR : err_oom(e); }

/* ---- text in ------------------------------------------------------------------------------ */

static Status malformed(Slice text, const char *detail, Err *e) {
    err_set(e, ERR_INVALID_TEXT, "malformed array literal: \"%.*s\"", (int)MIN_OF(text.len, 512),
            text.len ? text.ptr : "");
    return err_detail(e, "%s", detail), ST_ERROR;
}
static Status unexpected(Slice text, char c, Err *e) {
    char detail[] = "Unexpected \"?\" character.";
    detail[12] = c;
    return malformed(text, detail, e);
}
static Status too_many_dims(int n, Err *e) {
    return err_set(e, ERR_PROGRAM_LIMIT, "number of array dimensions (%d) exceeds the maximum allowed (%d)", n,
                   ARRAY_MAX_DIMS);
}

/* Digits and signs at *p as a number of 32 bits; false when there are none. */
static bool bound(const char **p, const char *end, int64_t *out) {
    const char *q = *p;
    bool neg = q < end && *q == '-';
    if (q < end && (*q == '-' || *q == '+')) q++;
    int64_t v = 0;
    while (q < end && is_digit(*q) && v <= INT32_MAX) v = v * 10 + (*q++ - '0');
    while (q < end && (is_digit(*q) || *q == '-' || *q == '+')) q++;
    bool some = q > *p;
    *p = q;
    *out = neg ? MAX_OF(-v, INT32_MIN) : MIN_OF(v, INT32_MAX);
    return some;
}

/* One "[1:3]" or "[3]" at *at, behind its bracket. */
static Status dimension(Slice text, const char **at, const char *end, ArrayDim *out, Err *e) {
    int64_t low = 1, high;
    const char *p = *at;
    if (!bound(&p, end, &high))
        return malformed(text, "\"[\" must introduce explicitly-specified array dimensions.", e);
    if (p < end && *p == ':') {
        low = high;
        p++;
        if (!bound(&p, end, &high)) return malformed(text, "Missing array dimension value.", e);
    }
    if (p == end || *p != ']') return malformed(text, "Missing \"]\" after array dimensions.", e);
    if (high < low) return err_set(e, ERR_ARRAY_SUBSCRIPT, "upper bound cannot be less than lower bound");
    if (high - low + 1 > INT32_MAX)
        return err_set(e, ERR_PROGRAM_LIMIT, "array size exceeds the maximum allowed (%d)", ARRAY_MAX_ELEMENTS);
    *out = (ArrayDim){(int32_t)(high - low + 1), (int32_t)low};
    *at = p + 1;
    return ST_OK;
}

/* "[1:3][0:1]=" in front of the braces; s->n is 0 without. */
static Status dimensions(Slice text, const char **at, const char *end, ArrayShape *s, Err *e) {
    const char *p = *at;
    s->n = 0;
    for (;;) {
        while (p < end && is_blank(*p)) p++;
        if (p == end || *p != '[') break;
        p++;
        if (s->n == ARRAY_MAX_DIMS) return too_many_dims(ARRAY_MAX_DIMS + 1, e);
        TRY(dimension(text, &p, end, &s->dims[s->n++], e));
    }
    if (s->n > 0) {
        if (p == end || *p != '=') return malformed(text, "Missing \"=\" after array dimensions.", e);
        p++;
        while (p < end && is_blank(*p)) p++;
    }
    *at = p;
    return ST_OK;
}

typedef enum ItemState {
    AT_START,
    LEVEL_STARTED,
    LEVEL_COMPLETED,
    LEVEL_DELIMITED,
    ITEM_STARTED,
    ITEM_DELIMITED,
    QUOTED_STARTED,
    QUOTED_COMPLETED
} ItemState;

/* The first pass over the braces. */
typedef struct Braces {
    Slice text; /* for errors */
    ItemState state;
    int level;                                                   /* open braces */
    ArrayShape shape;                                            /* the lengths found so far, n the deepest level */
    int32_t items[ARRAY_MAX_DIMS], items_before[ARRAY_MAX_DIMS]; /* of this list and the last at its level */
    bool empty;
} Braces;

static Status open_brace(Braces *b, Err *e) {
    if (b->state != AT_START && b->state != LEVEL_STARTED && b->state != LEVEL_DELIMITED)
        return unexpected(b->text, '{', e);
    b->state = LEVEL_STARTED;
    if (b->level == ARRAY_MAX_DIMS) return too_many_dims(b->level + 1, e);
    b->shape.dims[b->level].len = 0;
    b->items[b->level++] = 1;
    b->shape.n = MAX_OF(b->shape.n, b->level);
    return ST_OK;
}
static bool item_ends(ItemState s) { return s == ITEM_STARTED || s == QUOTED_COMPLETED || s == LEVEL_COMPLETED; }
static Status close_brace(Braces *b, Err *e) {
    if (!item_ends(b->state) && !(b->level == 1 && b->state == LEVEL_STARTED)) return unexpected(b->text, '}', e);
    b->state = LEVEL_COMPLETED;
    const int k = --b->level;
    if (b->items_before[k] != 0 && b->items[k] != b->items_before[k])
        return malformed(b->text, "Multidimensional arrays must have sub-arrays with matching dimensions.", e);
    b->items_before[k] = b->items[k];
    if (k > 0) b->shape.dims[k - 1].len++;
    return ST_OK;
}
static Status comma(Braces *b, Err *e) {
    if (!item_ends(b->state)) return unexpected(b->text, ',', e);
    b->state = b->state == LEVEL_COMPLETED ? LEVEL_DELIMITED : ITEM_DELIMITED;
    b->items[b->level - 1]++;
    b->shape.dims[b->shape.n - 1].len++;
    return ST_OK;
}
/* A character of an element. quote: one that begins a quoted element. */
static Status item_starts(Braces *b, bool quote, Err *e) {
    if (b->state != LEVEL_STARTED && b->state != ITEM_DELIMITED && (quote || b->state != ITEM_STARTED))
        return malformed(b->text, "Unexpected array element.", e);
    b->state = quote ? QUOTED_STARTED : ITEM_STARTED;
    b->empty = false;
    return ST_OK;
}
/* A backslash; the character behind it belongs to the element. */
static Status escape(Braces *b, Err *e) {
    if (b->state == LEVEL_STARTED || b->state == ITEM_STARTED || b->state == ITEM_DELIMITED) {
        b->state = ITEM_STARTED;
        b->empty = false;
    } else if (b->state != QUOTED_STARTED) {
        return unexpected(b->text, '\\', e);
    }
    return ST_OK;
}

/* The dimensions that the braces from p on make; shape.n is 0 for an array without elements. */
static Status count_items(Slice text, const char *p, const char *end, ArrayShape *out, Err *e) {
    Braces b = {.text = text, .state = AT_START, .empty = true};
    do {
        if (p == end) return malformed(text, "Unexpected end of input.", e);
        const bool quoted = b.state == QUOTED_STARTED;
        const char c = *p++;
        if (c == '\\') {
            TRY(escape(&b, e));
            if (p++ == end) return malformed(text, "Unexpected end of input.", e);
        } else if (c == '"' && quoted) {
            b.state = QUOTED_COMPLETED;
        } else if (quoted) {
            continue;
        } else if (c == '{') {
            TRY(open_brace(&b, e));
        } else if (c == '}') {
            TRY(close_brace(&b, e));
        } else if (c == ',') {
            TRY(comma(&b, e));
        } else if (!is_blank(c)) {
            TRY(item_starts(&b, c == '"', e));
        }
    } while (b.level > 0);
    b.shape.dims[b.shape.n - 1].len++;
    for (; p < end; p++)
        if (!is_blank(*p)) return malformed(text, "Junk after closing right brace.", e);
    for (int32_t k = 0; k < b.shape.n; k++) b.shape.dims[k].low = 1;
    if (b.empty) b.shape.n = 0;
    *out = b.shape;
    return ST_OK;
}

/* The second pass: the elements one after the other. */
typedef struct Items {
    const ArrayShape *shape;
    int level;                  /* open braces */
    int64_t at[ARRAY_MAX_DIMS]; /* subscripts from 0, by level */
    const char *p, *end;
    char *buf; /* room for the rest of the text without escapes */
} Items;

static int64_t item_place(const Items *r) {
    int64_t place = 0;
    for (int32_t k = 0; k < r->shape->n; k++) place = place * r->shape->dims[k].len + r->at[k];
    return place;
}

/* The next element, unescaped into buf, with the comma or the braces behind it. *place is its place among all, *len its
 * length, -1 for NULL. False when the text ends early. */
static bool next_item(Items *r, int64_t *place, int64_t *len) {
    bool in_quotes = false, quoting = false, leading = true, done = false;
    int64_t n = 0, keep = 0;
    *place = -1;
    while (!done) {
        if (r->p == r->end) return false;
        char c = *r->p++;
        if (c == '\\') {
            if (r->p == r->end) return false;
            r->buf[n++] = *r->p++;
            leading = false;
            quoting = true;
            keep = n;
        } else if (c == '"') {
            in_quotes = !in_quotes;
            quoting = true;
            leading = false;
            if (!in_quotes) keep = n;
        } else if (in_quotes) {
            r->buf[n++] = c;
        } else if (c == '{') {
            if (r->level == r->shape->n) return false;
            r->at[r->level++] = 0;
        } else if (c == '}') {
            if (r->level == 0) return false;
            if (*place < 0) *place = item_place(r);
            r->at[--r->level] = 0;
            if (r->level > 0) r->at[r->level - 1]++;
            done = r->level == 0;
        } else if (c == ',') {
            if (*place < 0) *place = item_place(r);
            r->at[r->shape->n - 1]++;
            done = true;
        } else if (!is_blank(c) || !leading) {
            r->buf[n++] = c;
            leading = false;
            if (!is_blank(c)) keep = n;
        }
    }
    bool null = !quoting && keep == 4;
    for (int i = 0; null && i < 4; i++) null = to_lower(r->buf[i]) == "null"[i];
    *len = null ? -1 : keep;
    return true;
}

static Status read_items(Type element, Slice text, const char *p, const ArrayShape *shape,
                         const struct SessionInfo *session, Arena *a, Str *out, Err *e) {
    Phys phys = type_phys(element);
    int64_t n, w = phys_size(phys), place, len;
    TRY(array_shape_count(shape, &n, e));
    Items r = {.shape = shape, .p = p, .end = text.ptr + text.len, .buf = arena_alloc(a, text.len + 1)};
    char *cells = arena_calloc(a, (n + 1) * w);
    uint8_t *valid = arena_calloc(a, n + 1);
    if (!cells || !r.buf || !valid) return no_memory(e);
    do {
        if (!next_item(&r, &place, &len) || place < 0 || place >= n)
            return malformed(text, "Unexpected end of input.", e);
        valid[place] = len >= 0;
        if (len < 0) continue;
        TRY(cell_from_text(element, (Slice){r.buf, len}, session, a, cells + place * w, e));
        if (phys == PH_STR) r.buf += len; /* the cell may point there */
    } while (r.level > 0);
    return array_build_shaped(a, phys, shape, cells, valid, out, e);
}

/* int2vector, oidvector: elements with blanks between, from subscript 0. */
static Status vector_from_text(Type t, Slice text, const struct SessionInfo *session, Arena *a, Str *out, Err *e) {
    const Type element = type_element(t);
    const int64_t w = phys_size(type_phys(element));
    const char *p = text.ptr, *end = text.ptr + text.len;
    char *cells = arena_calloc(a, (text.len / 2 + 2) * w);
    ArrayShape shape = {.n = 1};
    if (!cells) return no_memory(e);
    for (;;) {
        while (p < end && is_blank(*p)) p++;
        const char *from = p;
        while (p < end && !is_blank(*p)) p++;
        if (p == from) break;
        TRY(cell_from_text(element, (Slice){from, p - from}, session, a, cells + shape.dims[0].len++ * w, e));
    }
    if (shape.dims[0].len == 0) shape.n = 0;
    return array_build_shaped(a, type_phys(element), &shape, cells, NULL, out, e);
}

Status array_from_text(Type t, Slice text, const struct SessionInfo *session, Arena *a, Str *out, Err *e) {
    if (t.flags & TF_VECTOR) return vector_from_text(t, text, session, a, out, e);
    Type element = type_element(t);
    const char *p = text.ptr, *end = text.ptr + text.len;
    ArrayShape given, found;
    TRY(dimensions(text, &p, end, &given, e));
    if (p == end || *p != '{')
        return malformed(text,
                         given.n > 0 ? "Array contents must start with \"{\"."
                                     : "Array value must start with \"{\" or dimension information.",
                         e);
    TRY(count_items(text, p, end, &found, e));
    bool same = given.n == 0 || given.n == found.n;
    for (int32_t k = 0; same && k < given.n; k++) same = given.dims[k].len == found.dims[k].len;
    if (!same) return malformed(text, "Specified array dimensions do not match array contents.", e);
    if (given.n > 0) found = given;
    int64_t n;
    TRY(array_shape_count(&found, &n, e));
    if (n == 0) return array_build(a, type_phys(element), 0, NULL, NULL, out, e);
    return read_items(element, text, p, &found, session, a, out, e);
}

/* ---- text out ------------------------------------------------------------------------------- */

static bool needs_quotes(const char *s, int64_t n) {
    if (n == 0) return true;
    bool null = n == 4;
    for (int i = 0; null && i < 4; i++) null = to_lower(s[i]) == "null"[i];
    for (int64_t i = 0; i < n && !null; i++)
        null = s[i] == '"' || s[i] == '\\' || s[i] == '{' || s[i] == '}' || s[i] == ',' || is_blank(s[i]);
    return null;
}

enum { BOUNDS_MAX = ARRAY_MAX_DIMS * 25 + 2 };
/* "[0:1][1:2]=" of an array that has a dimension which does not begin with 1, else nothing; the length. */
static int64_t put_bounds(const ArrayView *v, char (*out)[BOUNDS_MAX]) {
    int len = 0;
    bool wanted = false;
    for (int32_t k = 0; k < v->n_dims; k++) {
        ArrayDim d = array_dim(v, k);
        wanted |= d.low != 1;
        len += snprintf(*out + len, sizeof *out - (size_t)len, "[%d:%d]", d.low, d.low + d.len - 1);
    }
    if (!wanted) return 0;
    (*out)[len] = '=';
    return len + 1;
}

typedef struct TextOut {
    Arena *a;
    char *p;
    int64_t len, cap;
} TextOut;
static bool room(TextOut *o, int64_t more) {
    if (o->len + more <= o->cap) return true;
    int64_t cap = 2 * (o->len + more) + 64;
    char *p = arena_alloc(o->a, cap);
    if (!p) return false;
    if (o->len) memcpy(p, o->p, (size_t)o->len);
    o->p = p;
    o->cap = cap;
    return true;
}

/* Element i, with what is between it and the one before it: braces where dimensions end and begin, and a comma. */
static bool put_item(TextOut *o, const ArrayView *v, int64_t i, const char *s, int64_t n, bool quote) {
    if (!room(o, 2 * n + 4 + 2 * ARRAY_MAX_DIMS)) return false;
    int64_t step = 1, turns = 0; /* dimensions that begin anew */
    for (int32_t k = v->n_dims - 1; k > 0 && i % (step *= array_dim(v, k).len) == 0; k--) turns++;
    if (i > 0) {
        for (int64_t k = 0; k < turns; k++) o->p[o->len++] = '}';
        o->p[o->len++] = ',';
    }
    for (int64_t k = 0; k < turns; k++) o->p[o->len++] = '{';
    if (quote) o->p[o->len++] = '"';
    for (int64_t k = 0; k < n; k++) {
        if (quote && (s[k] == '"' || s[k] == '\\')) o->p[o->len++] = '\\';
        o->p[o->len++] = s[k];
    }
    if (quote) o->p[o->len++] = '"';
    return true;
}

static Status vector_to_text(Type t, Str blob, Arena *a, Str *out, Err *e) {
    const ArrayView v = array_view(blob);
    const Type element = type_element(t);
    char *p = arena_alloc(a, (v.n + 1) * 24);
    int64_t len = 0;
    if (!p) return no_memory(e);
    for (int64_t i = 0; i < v.n; i++) {
        Value x = {.type = element};
        array_get(&v, i, value_cell(&x));
        if (i > 0) p[len++] = ' ';
        len += cell_to_text(element, value_cell(&x), (TextForm){0}, p + len);
    }
    p[len] = 0;
    *out = str_make(p, len);
    return ST_OK;
}

Status array_to_text(Type t, Str blob, TextForm form, Arena *a, Str *out, Err *e) {
    if (t.flags & TF_VECTOR) return vector_to_text(t, blob, a, out, e);
    ArrayView v = array_view(blob);
    char bounds[BOUNDS_MAX];
    TextOut o = {.a = a, .len = put_bounds(&v, &bounds)};
    int64_t n;
    if (!(o.p = arena_alloc(a, o.cap = sizeof bounds + 64))) return no_memory(e);
    memcpy(o.p, bounds, (size_t)o.len);
    o.p[o.len++] = '{';
    for (int64_t i = 0; i < v.n; i++) {
        const char *s = "NULL";
        n = 4;
        bool quote = false;
        if (!array_is_null(&v, i)) {
            Value x = {.type = type_element(t)};
            array_get(&v, i, value_cell(&x));
            if (!(s = value_to_text_form(a, &x, form, &n))) return no_memory(e);
            quote = needs_quotes(s, n);
        }
        if (!put_item(&o, &v, i, s, n, quote)) return no_memory(e);
    }
    if (!room(&o, ARRAY_MAX_DIMS + 1)) return no_memory(e);
    for (int32_t k = 0; k < MAX_OF(v.n_dims, 1); k++) o.p[o.len++] = '}';
    o.p[o.len] = 0;
    if (o.len > UINT32_MAX) return err_set(e, ERR_LIMIT_EXCEEDED, "text of %lld bytes is too long", (long long)o.len);
    *out = str_make(o.p, o.len);
    return ST_OK;
}
