/* range_text.c - text of ranges and multiranges, as PostgreSQL's range_in and multirange_in read it; see range.h. */
#include <strings.h>

#include "base/stack.h"
#include "types/range.h"
#include "types/type_int.h"

enum { RANGE_TEXT_MAX = 1 << 30, SHOWN_MAX = 512 };

static Status no_memory(Err *e) { return err_is_set(e) ? ST_ERROR : err_oom(e); }
static Status malformed(const char *kind, Slice text, const char *detail, Err *e) {
    err_set(e, ERR_INVALID_TEXT, "malformed %s literal: \"%.*s\"", kind, (int)MIN_OF(text.len, (int64_t)SHOWN_MAX),
            text.len ? text.ptr : "");
    return err_detail(e, "%s", detail), ST_ERROR;
}

Status range_flags(Slice text, bool *lower, bool *upper, Err *e) {
    *lower = text.len == 2 && text.ptr[0] == '[';
    *upper = text.len == 2 && text.ptr[1] == ']';
    if (text.len == 2 && (*lower || text.ptr[0] == '(') && (*upper || text.ptr[1] == ')')) return ST_OK;
    err_set(e, ERR_SYNTAX, "invalid range bound flags");
    return err_hint(e, "Valid values are \"[]\", \"[)\", \"(]\", and \"()\"."), ST_ERROR;
}

/* ---- in ---- */

typedef struct Reader {
    const RangeType *x;
    const struct SessionInfo *session;
    Arena *a;
    Err *e;
} Reader;

static const char *skip_blanks(const char *p, const char *end) {
    while (p < end && is_blank(*p)) p++;
    return p;
}
static bool is_empty_word(const char *p, const char *end) { return end - p >= 5 && strncasecmp(p, "empty", 5) == 0; }

/* A bound's text at *at without its quotes and escapes; none at all: infinite. */
static Status bound_text(const Reader *r, Slice all, const char **at, const char *end, bool *infinite, Slice *out) {
    const char *p = *at;
    bool quoted = false;
    int64_t n = 0;
    *infinite = p < end && (*p == ',' || *p == ')' || *p == ']');
    if (*infinite) return ST_OK;
    char *buf = arena_alloc(r->a, end - p + 1);
    if (!buf) return no_memory(r->e);
    while (quoted || p == end || !(*p == ',' || *p == ')' || *p == ']')) {
        if (p == end) return malformed("range", all, "Unexpected end of input.", r->e);
        const char c = *p++;
        if (c == '\\') {
            if (p == end) return malformed("range", all, "Unexpected end of input.", r->e);
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
    *out = (Slice){buf, n};
    return ST_OK;
}
static Status read_bound(const Reader *r, Slice text, bool infinite, bool inclusive, RangeBound *out) {
    Value v;
    *out = (RangeBound){.infinite = infinite};
    if (infinite) return ST_OK;
    TRY(value_from_text(r->x->subtype, text, r->session, r->a, &v, r->e));
    return range_bound(r->x, &v, inclusive, r->a, out, r->e);
}

static Status read_range(const Reader *r, Slice text, RangeParts *room, RangeList *out) {
    const char *p = text.ptr, *end = text.ptr + text.len;
    RangeParts parts;
    Slice texts[2] = {{"", 0}, {"", 0}};
    bool infinite[2], inclusive[2];
    p = skip_blanks(p, end);
    if (is_empty_word(p, end)) {
        *out = (RangeList){0, room};
        if (skip_blanks(p + 5, end) == end) return ST_OK;
        return malformed("range", text, "Junk after \"empty\" key word.", r->e);
    }
    if (p == end || (*p != '[' && *p != '('))
        return malformed("range", text, "Missing left parenthesis or bracket.", r->e);
    inclusive[0] = *p++ == '[';
    TRY(bound_text(r, text, &p, end, &infinite[0], &texts[0]));
    if (p == end || *p++ != ',') return malformed("range", text, "Missing comma after lower bound.", r->e);
    TRY(bound_text(r, text, &p, end, &infinite[1], &texts[1]));
    if (*p == ',') return malformed("range", text, "Too many commas.", r->e);
    inclusive[1] = *p++ == ']';
    if (skip_blanks(p, end) != end) return malformed("range", text, "Junk after right parenthesis or bracket.", r->e);
    TRY(read_bound(r, texts[0], infinite[0], inclusive[0], &parts.lower));
    TRY(read_bound(r, texts[1], infinite[1], inclusive[1], &parts.upper));
    return range_canonical(r->x, &parts, room, r->a, out, r->e);
}

/* The end of the range that begins at p, behind its bracket; NULL: there is none. Blanks between its characters do not
 * end an escape, as in PostgreSQL. */
static const char *range_end(const char *p, const char *end) {
    bool quoted = false, escaped = false;
    for (p++; p < end; p++) {
        if (is_blank(*p)) continue;
        if (escaped) {
            escaped = false;
        } else if (*p == '\\') {
            escaped = true;
        } else if (*p == '"') {
            if (quoted && p + 1 < end && p[1] == '"') p++;
            else quoted = !quoted;
        } else if (!quoted && (*p == ']' || *p == ')')) {
            return p + 1;
        }
    }
    return NULL;
}
static Status read_multirange(const Reader *r, Slice text, RangeList *out) {
    const char *p = skip_blanks(text.ptr, text.ptr + text.len), *end = text.ptr + text.len;
    bool first = true;
    int64_t commas = 1;
    for (const char *q = p; q < end; q++) commas += *q == ','; /* as many ranges, or more */
    *out = (RangeList){0, arena_array(r->a, RangeParts, commas + 1)};
    if (!out->items) return no_memory(r->e);
    if (p == end || *p++ != '{') return malformed("multirange", text, "Missing left brace.", r->e);
    for (;; first = false) {
        RangeParts room;
        RangeList one = {0, &room};
        p = skip_blanks(p, end);
        if (p == end) return malformed("multirange", text, "Unexpected end of input.", r->e);
        if (*p == '}' && first) break;
        if (*p == '[' || *p == '(') {
            const char *to = range_end(p, end);
            if (!to) return malformed("multirange", text, "Unexpected end of input.", r->e);
            TRY(read_range(r, (Slice){p, to - p}, &room, &one));
            p = to;
        } else if (is_empty_word(p, end)) {
            p += 5;
        } else {
            return malformed("multirange", text, "Expected range start.", r->e);
        }
        if (one.n > 0) out->items[out->n++] = room;
        p = skip_blanks(p, end);
        if (p == end) return malformed("multirange", text, "Unexpected end of input.", r->e);
        if (*p == '}') break;
        if (*p++ != ',') return malformed("multirange", text, "Expected comma or end of multirange.", r->e);
    }
    if (skip_blanks(p + 1, end) != end) return malformed("multirange", text, "Junk after closing right brace.", r->e);
    range_list_canonical(out);
    return ST_OK;
}

Status range_from_text(Type t, Slice text, const struct SessionInfo *session, Arena *a, Str *out, Err *e) {
    const Reader r = {range_of(t), session, a, e};
    RangeParts room;
    RangeList l;
    TRY(stack_check_depth(e));
    if (!r.x) return err_internal(e, "a range of a type that is not known");
    TRY(t.id == T_RANGE ? read_range(&r, text, &room, &l) : read_multirange(&r, text, &l));
    return range_write(t, &l, a, out, e);
}

/* ---- out ---- */

/* The text in quotes where it needs them; p NULL: only how long that is. */
static int64_t put_bound(char *p, Slice s) {
    bool quote = s.len == 0;
    int64_t n = 0;
    for (int64_t i = 0; i < s.len && !quote; i++)
        quote = is_blank(s.ptr[i]) || (s.ptr[i] && strchr("\"\\()[],", s.ptr[i]));
    if (quote && p) p[n] = '"';
    n += quote;
    for (int64_t i = 0; i < s.len; i++) {
        const bool twice = s.ptr[i] == '"' || s.ptr[i] == '\\';
        if (p) p[n] = s.ptr[i];
        if (p && twice) p[n + 1] = s.ptr[i];
        n += 1 + twice;
    }
    if (quote && p) p[n] = '"';
    return n + quote;
}
static Status bound_to_text(const RangeType *x, const RangeBound *b, TextForm form, Arena *a, Slice *out, Err *e) {
    Value v;
    *out = (Slice){"", 0};
    if (b->infinite) return ST_OK;
    TRY(range_bound_value(x, b, a, &v, e));
    out->ptr = value_to_text_form(a, &v, form, &out->len);
    return out->ptr ? ST_OK : no_memory(e);
}

Status range_to_text(Type t, Str value, TextForm form, Arena *a, Str *out, Err *e) {
    TRY(stack_check_depth(e));
    const RangeType *x = range_of(t);
    const bool multi = t.id == T_MULTIRANGE;
    RangeParts room;
    RangeList l;
    TRY(range_read(t, value, a, &room, &l, e));
    Slice *texts = arena_array(a, Slice, 2 * l.n + 1);
    int64_t most = 8 + 4 * l.n, n = 0;
    if (!texts) return no_memory(e);
    for (int64_t i = 0; i < 2 * l.n; i++) {
        const RangeBound *b = i % 2 ? &l.items[i / 2].upper : &l.items[i / 2].lower;
        TRY(bound_to_text(x, b, form, a, &texts[i], e));
        most += b->infinite ? 0 : put_bound(NULL, texts[i]);
    }
    char *p = most <= RANGE_TEXT_MAX ? arena_alloc(a, most) : NULL;
    if (!p) return no_memory(e);
    if (multi) p[n++] = '{';
    if (!multi && l.n == 0) {
        memcpy(p, "empty", 5);
        n = 5;
    }
    for (int64_t i = 0; i < l.n; i++) {
        const RangeParts *r = &l.items[i];
        if (i) p[n++] = ',';
        p[n++] = r->lower.inclusive ? '[' : '(';
        if (!r->lower.infinite) n += put_bound(p + n, texts[2 * i]);
        p[n++] = ',';
        if (!r->upper.infinite) n += put_bound(p + n, texts[2 * i + 1]);
        p[n++] = r->upper.inclusive ? ']' : ')';
    }
    if (multi) p[n++] = '}';
    p[n] = 0;
    *out = str_make(p, n);
    return ST_OK;
}
