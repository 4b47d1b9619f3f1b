/* json_parse.c - JSON lines: an object per line, whose members are columns.
 *
 * Numbers are taken as they are written, so that a numeric loses no digits, and values that are objects or arrays as
 * their text; a library that makes values of them has neither. What is nested is checked for its brackets and strings
 * and not looked at further. Everything is a loop: depth costs no stack.
 */
#include "io/copy_int.h"
#include "types/chars.h"

typedef struct JsonColumns {
    bool unknown;
    int64_t *lengths; /* of the columns' names */
    int64_t *seen;    /* by column: the row that had it last, from 1 */
    int64_t rows;     /* that were begun so far */
    int32_t expected; /* the column behind the last one that was found: objects have their keys in the same order */
} JsonColumns;

Status json_columns_init(CopyParser *p, bool unknown, Arena *a) {
    JsonColumns *j = arena_new_of(a, JsonColumns);
    if (!j) return ST_ERROR;
    j->unknown = unknown;
    j->lengths = arena_array(a, int64_t, p->n_cols + 1);
    j->seen = arena_array(a, int64_t, p->n_cols + 1);
    if (!j->lengths || !j->seen) return ST_ERROR;
    for (int i = 0; i < p->n_cols; i++) j->lengths[i] = (int64_t)strlen(p->cols[i].name);
    p->json = j;
    return ST_OK;
}

/* ---- tokens ------------------------------------------------------------------------------------------------------ */

static NOINLINE Status expected(CopyParser *p, const char *at, const char *what) {
    p->fail_col = -1;
    return err_set(&p->err, ERR_BAD_COPY, "expected %s at byte %lld of the line", what,
                   (long long)(at - p->fail_row + 1));
}

static inline bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
static inline const char *skip_blank(const char *s) {
    while (is_blank(*s)) s++;
    return s;
}

static int hex4(const char *s) {
    int v = 0;
    for (int i = 0; i < 4; i++) {
        int d = hex_digit(s[i]);
        if (d < 0) return -1;
        v = v * 16 + d;
    }
    return v;
}

/* The code point of \uXXXX at s, which is left behind it; 0: there is none that a text can have. */
static uint32_t code_point(const char **s, const char *end) {
    int high = end - *s >= 4 ? hex4(*s) : -1;
    if (high <= 0) return 0;
    *s += 4;
    if (high < 0xD800 || high > 0xDFFF) return (uint32_t)high;
    int low = end - *s >= 6 && (*s)[0] == '\\' && (*s)[1] == 'u' ? hex4(*s + 2) : -1;
    if (high > 0xDBFF || low < 0xDC00 || low > 0xDFFF) return 0;
    *s += 6;
    return 0x10000 + ((uint32_t)(high - 0xD800) << 10) + (uint32_t)(low - 0xDC00);
}

static Status unescape(CopyParser *p, const char *s, const char *end, Slice *text) {
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    char *out = arena_alloc(p->arena, end - s + COPY_PAD), *w = out;
    if (!out) return err_oom(&p->err);
    while (s < end) {
        if (*s != '\\') {
            *w++ = *s++;
            continue;
        }
        const char *at = s++;
        const char *plain = *s ? strchr(from, *s) : NULL;
        if (plain) {
            *w++ = to[plain - from];
            s++;
            continue;
        }
        uint32_t c = 0;
        if (*s == 'u') {
            s++;
            c = code_point(&s, end);
        }
        if (c == 0) return expected(p, at, "an escape sequence that a text can have");
        w = utf8_put(w, c);
    }
    memset(w, 0, COPY_PAD);
    *text = (Slice){out, w - out};
    return ST_OK;
}

/* The string at *at, behind its quote; without its escapes if `wanted`. */
static Status string(CopyParser *p, const char **at, const char *end, bool wanted, Slice *text) {
    const char *from = *at, *s = from;
    bool escapes = false;
    for (; *s != '"'; s++) {
        if (*s == '\\') {
            escapes = true;
            s++;
        }
        if (s >= end || *s == '\n') return expected(p, MIN_OF(s, end), "the end of a string");
    }
    *at = s + 1;
    *text = (Slice){from, s - from};
    return escapes && wanted ? unescape(p, from, s, text) : ST_OK;
}

/* An object or array, as its text. */
static Status nested(CopyParser *p, const char **at, const char *end, Slice *text) {
    const char *from = *at, *s = from;
    uint64_t objects[JSON_DEPTH_MAX / 64 + 1] = {0}; /* by depth, a bit */
    int depth = 0;
    do {
        char c = *s;
        if (s >= end || c == '\n') return expected(p, MIN_OF(s, end), "the end of a value");
        s++;
        if (c == '"') {
            Slice skipped;
            TRY(string(p, &s, end, false, &skipped));
        } else if (c == '{' || c == '[') {
            if (depth == JSON_DEPTH_MAX) return expected(p, s, "a value that is nested less deeply");
            objects[depth / 64] &= ~(UINT64_C(1) << depth % 64);
            objects[depth / 64] |= (uint64_t)(c == '{') << depth % 64;
            depth++;
        } else if (c == '}' || c == ']') {
            depth--;
            if ((objects[depth / 64] >> depth % 64 & 1) != (c == '}')) return expected(p, s - 1, "the other bracket");
        }
    } while (depth > 0);
    *at = s;
    *text = (Slice){from, s - from};
    return ST_OK;
}

static bool is_number(Slice t) {
    const char *s = t.ptr, *end = s + t.len;
    if (s < end && *s == '-') s++;
    const char *whole = s;
    while (s < end && *s >= '0' && *s <= '9') s++;
    if (s == whole || (*whole == '0' && s - whole > 1)) return false;
    if (s < end && *s == '.') {
        const char *from = ++s;
        while (s < end && *s >= '0' && *s <= '9') s++;
        if (s == from) return false;
    }
    if (s < end && (*s == 'e' || *s == 'E')) {
        s++;
        if (s < end && (*s == '+' || *s == '-')) s++;
        const char *from = s;
        while (s < end && *s >= '0' && *s <= '9') s++;
        if (s == from) return false;
    }
    return s == end;
}

static Status value(CopyParser *p, const char **at, const char *end, Slice *text, JsonKind *kind) {
    const char *s = *at;
    if (*s == '"') {
        *at = s + 1;
        *kind = JSON_STRING;
        return string(p, at, end, true, text);
    }
    if (*s == '{' || *s == '[') {
        *kind = JSON_NESTED;
        return nested(p, at, end, text);
    }
    while (s < end && *s != ',' && *s != '}' && *s != '\n' && !is_blank(*s)) s++;
    *text = (Slice){*at, s - *at};
    if (slice_eq(*text, slice_of("null"))) *kind = JSON_NULL;
    else if (slice_eq(*text, slice_of("true")) || slice_eq(*text, slice_of("false"))) *kind = JSON_BOOL;
    else if (is_number(*text)) *kind = JSON_NUMBER;
    else return expected(p, *at, "a value");
    *at = s;
    return ST_OK;
}

Status json_member(CopyParser *p, const char **at, const char *end, bool *first, bool *more, Slice *key, Slice *text,
                   JsonKind *kind) {
    const char *s = skip_blank(*at);
    *more = true;
    if (*first) {
        p->fail_row = *at;
        if (*s != '{') {
            expected(p, s, "an object (JSON lines: one in each line)");
            if (*s == '[') err_hint(&p->err, "A file that is one array of objects: read_json(.., format => 'array').");
            return ST_ERROR;
        }
        s = skip_blank(s + 1);
        *more = *s != '}';
    } else if (*s == '}') {
        *more = false;
    } else {
        if (*s != ',') return expected(p, s, "',' or '}'");
        s = skip_blank(s + 1);
    }
    *first = false;
    if (!*more) {
        s = skip_blank(s + 1);
        if (s < end && *s != '\n') return expected(p, s, "the end of the line");
        *at = MIN_OF(s + 1, end);
        return ST_OK;
    }
    if (*s != '"') return expected(p, s, "a key in double quotes");
    s++;
    TRY(string(p, &s, end, true, key));
    s = skip_blank(s);
    if (*s != ':') return expected(p, s, "':'");
    s = skip_blank(s + 1);
    TRY(value(p, &s, end, text, kind));
    *at = s;
    return ST_OK;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static inline bool is_column(const CopyParser *p, int32_t c, Slice key) {
    return p->json->lengths[c] == key.len && memcmp(p->cols[c].name, key.ptr, (size_t)key.len) == 0;
}

static int32_t column_of(const CopyParser *p, Slice key) {
    JsonColumns *j = p->json;
    int32_t c = j->expected < p->n_cols ? j->expected : 0;
    if (p->n_cols == 0) return -1;
    if (!is_column(p, c, key)) {
        for (c = 0; c < p->n_cols && !is_column(p, c, key); c++) continue;
        if (c == p->n_cols) return -1;
    }
    j->expected = c + 1;
    return c;
}

static NOINLINE Status unknown_key(CopyParser *p, Slice key) {
    p->fail_col = -1;
    err_set(&p->err, ERR_BAD_COPY, "key \"%.*s\" was in none of the rows that were looked at",
            (int)MIN_OF(key.len, 100), key.ptr);
    return ST_ERROR;
}

static Status put_member(CopyParser *p, int64_t row, Slice key, Slice text, JsonKind kind) {
    JsonColumns *j = p->json;
    int32_t c = column_of(p, key);
    if (c < 0) return j->unknown ? ST_OK : unknown_key(p, key);
    CopyCol *k = &p->cols[c];
    if (k->kind == CK_SKIP) return ST_OK;
    if (j->seen[c] == j->rows) k->valid[row] = 1; /* twice: the last one counts */
    j->seen[c] = j->rows;
    if (kind == JSON_NULL) {
        copy_set_null(k, row);
        return ST_OK;
    }
    if (k->type.id == T_TEXT) {
        ((Str *)k->cells)[row] = str_make(text.ptr, text.len);
        return ST_OK;
    }
    p->fail_col = c;
    p->fail_value = text;
    TRY(copy_convert(p, k, row, text));
    p->fail_col = -1;
    return ST_OK;
}

static Status put_row(CopyParser *p, int64_t row, const char **at, const char *end) {
    JsonColumns *j = p->json;
    bool first = true, more;
    Slice key, text;
    JsonKind kind;
    j->rows++;
    j->expected = 0;
    for (;;) {
        TRY(json_member(p, at, end, &first, &more, &key, &text, &kind));
        if (!more) break;
        TRY(put_member(p, row, key, text, kind));
    }
    for (int32_t c = 0; c < p->n_cols; c++)
        if (j->seen[c] != j->rows && p->cols[c].kind != CK_SKIP) copy_set_null(&p->cols[c], row);
    return ST_OK;
}

Status json_parse(CopyParser *p, const char **at, const char *end) {
    p->n = 0;
    while (*at < end && p->n < COPY_BATCH) {
        const char *s = skip_blank(*at);
        if (*s == '\n') {
            *at = s + 1;
            continue;
        }
        p->rows[p->n] = p->fail_row = *at;
        for (int32_t c = 0; c < p->n_cols; c++)
            if (p->cols[c].has_nulls) p->cols[c].valid[p->n] = 1;
        TRY(put_row(p, p->n, at, end));
        p->n++;
    }
    return ST_OK;
}
