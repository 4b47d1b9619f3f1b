/* copy_parse.c - records of text, CSV and .tbl files to cells.
 *
 * One loop over records and columns, compiled once per format. Each column first tries the fast path of its
 * type directly at the field's first byte: digits eight at a time in a 64-bit word, dates by a table of
 * months, strings by a vector search for the bytes that can end them. A fast path either consumes exactly
 * the field or does nothing; then the field is cut out by the format's rules and goes through cell_from_text, which
 * also words the errors. So fast paths accept less than the type's syntax, never more.
 */
#include "io/copy_int.h"
#include "io/date_format.h"
#include "types/chars.h"

#include <stdlib.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "digits are read as little-endian words");

static const uint64_t ten[20] = {UINT64_C(1),
                                 UINT64_C(10),
                                 UINT64_C(100),
                                 UINT64_C(1000),
                                 UINT64_C(10000),
                                 UINT64_C(100000),
                                 UINT64_C(1000000),
                                 UINT64_C(10000000),
                                 UINT64_C(100000000),
                                 UINT64_C(1000000000),
                                 UINT64_C(10000000000),
                                 UINT64_C(100000000000),
                                 UINT64_C(1000000000000),
                                 UINT64_C(10000000000000),
                                 UINT64_C(100000000000000),
                                 UINT64_C(1000000000000000),
                                 UINT64_C(10000000000000000),
                                 UINT64_C(100000000000000000),
                                 UINT64_C(1000000000000000000),
                                 UINT64_C(10000000000000000000)};

#define BYTES(b) (UINT64_C(0x0101010101010101) * (b))

/* ---- fast paths: the end of what was read, or NULL ------------------------------------------------ */

/* Up to eight digits at p: their number, and their value in *v. */
ALWAYS_INLINE int digits8(const char *p, uint64_t *v) {
    uint64_t t;
    memcpy(&t, p, 8);
    t ^= BYTES(0x30);
    /* Bytes above 9 get their high bit; a carry only reaches bytes after the first such byte. */
    uint64_t bad = ((t + BYTES(0x76)) | t) & BYTES(0x80);
    int n = bad ? __builtin_ctzll(bad) >> 3 : 8;
    if (n == 0) {
        *v = 0;
        return 0;
    }
    t <<= 64 - 8 * n; /* the digits become the last ones of eight, zeros before them */
    t = (t * 10 + (t >> 8)) & UINT64_C(0x00FF00FF00FF00FF);
    t = (t * 100 + (t >> 16)) & UINT64_C(0x0000FFFF0000FFFF);
    *v = (t * 10000 + (t >> 32)) & UINT64_C(0xFFFFFFFF);
    return n;
}
/* At least one and at most 16 digits. */
ALWAYS_INLINE const char *read_unsigned(const char *p, uint64_t *v, int *n) {
    *n = digits8(p, v);
    if (LIKELY(*n < 8)) return *n ? p + *n : NULL;
    uint64_t more;
    int m = digits8(p + 8, &more);
    if (m == 8 && (uint8_t)(p[16] - '0') <= 9) return NULL;
    *v = *v * ten[m] + more;
    *n += m;
    return p + *n;
}
ALWAYS_INLINE const char *read_int(const char *p, int64_t *v) {
    int n;
    uint64_t u;
    bool neg = *p == '-';
    const char *q = read_unsigned(p + neg, &u, &n);
    *v = neg ? -(int64_t)u : (int64_t)u;
    return q;
}
/* digits[.digits] with no more decimals than the scale; *whole * 10^scale + *part is the value. */
ALWAYS_INLINE const char *read_decimal(const char *p, int scale, uint64_t *whole, uint64_t *part, int *digits,
                                       bool *neg) {
    *neg = *p == '-';
    const char *q = read_unsigned(p + *neg, whole, digits);
    if (UNLIKELY(!q)) return NULL;
    *part = 0;
    if (*q == '.') {
        int m = digits8(q + 1, part);
        if (UNLIKELY(m > scale || (m == 8 && (uint8_t)(q[9] - '0') <= 9))) return NULL;
        *part *= ten[scale - m]; /* below 10^scale, and scale <= 18 */
        q += m + 1;
    }
    return q;
}
ALWAYS_INLINE const char *read_num64(const char *p, int precision, int scale, int64_t *v) {
    uint64_t whole, part;
    int digits;
    bool neg;
    const char *q = read_decimal(p, scale, &whole, &part, &digits, &neg);
    if (UNLIKELY(!q || digits + scale > 18)) return NULL;
    uint64_t u = whole * ten[scale] + part;
    if (UNLIKELY(u >= ten[precision])) return NULL;
    *v = neg ? -(int64_t)u : (int64_t)u;
    return q;
}
static const char *read_num128(const char *p, int precision, int scale, int128_t *v) {
    uint64_t whole, part = 0;
    int digits;
    bool neg = *p == '-';
    const char *q = read_unsigned(p + neg, &whole, &digits);
    if (!q || digits + scale > 38) return NULL;
    int128_t x = (int128_t)whole * pow10_i128[scale];
    if (*q == '.') {
        int m;
        const char *after = read_unsigned(q + 1, &part, &m);
        if (!after || m > scale) return NULL;
        x += (int128_t)part * pow10_i128[scale - m];
        q = after;
    }
    if (numeric_exceeds(x, precision)) return NULL;
    *v = neg ? -x : x;
    return q;
}
ALWAYS_INLINE const char *read_date(const char *p, const CopyMonths *months, int32_t *v) {
    uint64_t t;
    memcpy(&t, p, 8); /* YYYY-MM- */
    if (UNLIKELY((t & UINT64_C(0xFF0000FF00000000)) != UINT64_C(0x2D00002D00000000))) return NULL;
    t ^= UINT64_C(0x2D30302D30303030);
    uint32_t d1 = (uint8_t)(p[8] - '0'), d2 = (uint8_t)(p[9] - '0');
    if (UNLIKELY((((t + BYTES(0x76)) | t) & BYTES(0x80)) || d1 > 9 || d2 > 9)) return NULL;
    uint32_t year = (uint32_t)((t & 0xFF) * 1000 + (t >> 8 & 0xFF) * 100 + (t >> 16 & 0xFF) * 10 + (t >> 24 & 0xFF));
    uint32_t month = (uint32_t)((t >> 40 & 0xFF) * 10 + (t >> 48 & 0xFF));
    int32_t day = (int32_t)(d1 * 10 + d2);
    if (UNLIKELY(year - COPY_YEAR0 >= COPY_YEARS || month - 1 >= 12)) return NULL;
    const int32_t *m = &months->before[(year - COPY_YEAR0) * 12 + month - 1];
    if (UNLIKELY(day == 0 || m[0] + day > m[1])) return NULL;
    *v = m[0] + day;
    return p + 10;
}
/* YYYY-MM-DD HH:MM:SS[.f to .ffffff] */
static const char *read_timestamp(const char *p, const CopyMonths *months, int64_t *v) {
    int32_t day;
    uint64_t h, m, s, f = 0;
    p = read_date(p, months, &day);
    if (!p || (*p != ' ' && *p != 'T')) return NULL;
    if (digits8(p + 1, &h) != 2 || p[3] != ':' || digits8(p + 4, &m) != 2 || p[6] != ':' || digits8(p + 7, &s) != 2)
        return NULL;
    if (h > 23 || m > 59 || s > 59) return NULL;
    p += 9;
    if (*p == '.') {
        int n = digits8(p + 1, &f);
        if (n < 1 || n > 6) return NULL;
        f *= ten[6 - n];
        p += n + 1;
    }
    *v = day * USECS_PER_DAY + (int64_t)((h * 60 + m) * 60 + s) * USECS_PER_SEC + (int64_t)f;
    return p;
}
static const char *read_bool(const char *p, uint8_t *v) {
    if (*p != 't' && *p != 'f') return NULL;
    *v = *p == 't';
    return p + 1;
}

/* First of four bytes at or after s; one of them comes (every block ends with a line end). */
ALWAYS_INLINE const char *find4(const char *s, char a, char b, char c, char d) {
#if defined(__SSE2__)
    const __m128i va = _mm_set1_epi8(a), vb = _mm_set1_epi8(b), vc = _mm_set1_epi8(c), vd = _mm_set1_epi8(d);
    for (;; s += 16) {
        __m128i x = _mm_loadu_si128((const __m128i *)(const void *)s);
        __m128i hit = _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(x, va), _mm_cmpeq_epi8(x, vb)),
                                   _mm_or_si128(_mm_cmpeq_epi8(x, vc), _mm_cmpeq_epi8(x, vd)));
        unsigned m = (unsigned)_mm_movemask_epi8(hit);
        if (m) return s + __builtin_ctz(m);
    }
#else
    while (*s != a && *s != b && *s != c && *s != d) s++;
    return s;
#endif
}

/* ---- set-up ----------------------------------------------------------------------------------- */

void copy_months_init(CopyMonths *m) {
    for (int i = 0; i <= COPY_YEARS * 12; i++) m->before[i] = date_from_ymd(COPY_YEAR0 + i / 12, i % 12 + 1, 1) - 1;
}

static CopyKind kind_of(Type t) {
    switch ((TypeId)t.id) {
    case T_BOOL: return CK_BOOL;
    case T_INT2: return CK_I16;
    case T_INT4: return CK_I32;
    case T_INT8: return CK_I64;
    case T_NUMERIC: return type_phys(t) == PH_I64 ? CK_NUM64 : CK_NUM128;
    case T_DATE: return CK_DATE;
    case T_TIMESTAMP: return t.precision == 6 ? CK_TIMESTAMP : CK_OTHER;
    case T_CHAR:
    case T_VARCHAR:
    case T_TEXT: return CK_STR;
    default: return CK_OTHER;
    }
}

/* A NULL text among the column's own that a value's fast path could take. */
static bool has_odd_null(const CopyCol *k) {
    for (int32_t i = 0; i < k->n_nulls; i++)
        if (k->nulls[i].len > 0 && strchr("+-.0123456789tf", k->nulls[i].ptr[0])) return true;
    return false;
}

Status copy_parser_init(CopyParser *p, const CopyOptions *o, int n_cols, CopyCol *cols, const CopyMonths *months,
                        const SessionInfo *session, Arena *a) {
    p->o = o;
    p->delimiter = o->delimiter;
    p->eol = '\n';
    p->crlf = o->format == COPY_TBL;
    p->sentinel = false;
    p->n_cols = n_cols;
    p->cols = cols;
    p->n = 0;
    p->extra_lines = 0;
    p->skip_blank = p->pad = false;
    p->session = session;
    p->months = months;
    p->fail_col = -1;
    p->err.sqlstate[0] = 0;
    /* A NULL text that looks like a value must be seen before the value's fast path. */
    bool odd_null = o->null_len > 0 && o->null_text[0] != '\\';
    for (int c = 0; c < n_cols; c++) {
        CopyCol *k = &cols[c];
        k->kind = (uint8_t)kind_of(k->type);
        if (odd_null && k->kind != CK_STR) k->kind = CK_OTHER;
        if (k->kind != CK_STR && (k->comma || k->format || has_odd_null(k))) k->kind = CK_OTHER;
        if (k->skip) k->kind = CK_SKIP;
        k->scale = k->type.scale;
        k->precision = k->type.precision;
        k->trim = k->type.id == T_CHAR;
        k->max_len = (k->type.id == T_CHAR || k->type.id == T_VARCHAR) && k->type.length > 0 ? (int64_t)k->type.length
                                                                                             : (int64_t)UINT32_MAX;
        k->force_not_null = o->force_not_null && o->force_not_null[c];
        k->force_null = o->force_null && o->force_null[c];
        k->has_nulls = false;
        k->cell_size = phys_size(type_phys(k->type));
        k->cells = arena_calloc(a, k->cell_size * COPY_BATCH);
        k->valid = arena_alloc(a, COPY_BATCH);
        if (!k->cells || !k->valid) return ST_ERROR;
        memset(k->valid, 1, COPY_BATCH);
    }
    return ST_OK;
}

/* ---- errors ------------------------------------------------------------------------------------- */

static NOINLINE Status stray_line_end(CopyParser *p, bool in_csv) {
    const char *what = p->eol == '\n' ? "carriage return" : "newline";
    err_set(&p->err, ERR_BAD_COPY, "%s %s found in data", in_csv ? "unquoted" : "literal", what);
    if (in_csv) err_hint(&p->err, "Use quoted CSV field to represent %s.", what);
    else err_hint(&p->err, "Use \"\\%c\" to represent %s.", p->eol == '\n' ? 'r' : 'n', what);
    p->fail_col = -1;
    return ST_ERROR;
}
static NOINLINE Status bad_utf8(CopyParser *p, const char *s, int64_t len, int64_t at) {
    err_set(&p->err, ERR_CHAR_NOT_IN_REPERTOIRE, "invalid byte sequence for encoding \"UTF8\": 0x%02x",
            at < len ? (unsigned)(uint8_t)s[at] : 0);
    p->fail_col = -1;
    return ST_ERROR;
}

/* ---- fields by the book --------------------------------------------------------------------------- */

static inline bool at_line_end(const CopyParser *p, const char *s) {
    return *s == p->eol || (p->crlf && *s == '\r' && s[1] == '\n');
}
static inline bool is_null_text(const CopyOptions *o, const char *s, int64_t len) {
    return len == o->null_len && memcmp(s, o->null_text, (size_t)len) == 0;
}
static bool is_null_of(const CopyCol *k, const char *s, int64_t len) {
    if (!type_is_text(k->type)) {
        for (; len > 0 && *s == ' '; len--) s++;
        while (len > 0 && s[len - 1] == ' ') len--;
    }
    for (int32_t i = 0; i < k->n_nulls; i++)
        if (k->nulls[i].len == len && memcmp(k->nulls[i].ptr, s, (size_t)len) == 0) return true;
    return false;
}

static Status unescape(CopyParser *p, const char *s, const char *end, Slice *text) {
    char *out = arena_alloc(p->arena, end - s + COPY_PAD), *w = out;
    if (!out) return err_oom(&p->err);
    bool coded = false; /* bytes given by number: may be anything */
    while (s < end) {
        char c = *s++;
        if (c != '\\' || s == end) {
            *w++ = c;
            continue;
        }
        c = *s++;
        switch (c) {
        case 'b': c = '\b'; break;
        case 'f': c = '\f'; break;
        case 'n': c = '\n'; break;
        case 'r': c = '\r'; break;
        case 't': c = '\t'; break;
        case 'v': c = '\v'; break;
        case 'x':
            if (s < end && hex_digit(*s) >= 0) {
                int v = hex_digit(*s++);
                if (s < end && hex_digit(*s) >= 0) v = v * 16 + hex_digit(*s++);
                c = (char)v;
                coded = true;
            }
            break;
        case '0':
        case '1':
        case '2':
        case '3':
        case '4':
        case '5':
        case '6':
        case '7': {
            int v = c - '0';
            for (int i = 0; i < 2 && s < end && *s >= '0' && *s <= '7'; i++) v = v * 8 + (*s++ - '0');
            c = (char)v;
            coded = true;
            break;
        }
        default: break;
        }
        *w++ = c;
    }
    memset(w, 0, COPY_PAD);
    *text = (Slice){out, w - out};
    if (!coded) return ST_OK;
    int64_t at = utf8_check(out, text->len);
    return at < 0 ? ST_OK : bad_utf8(p, out, text->len, at);
}

static Status text_field(CopyParser *p, const char **at, const char *end, Slice *text, bool *is_null) {
    const char *s = *at, *data_end = end - p->sentinel;
    char other = p->eol == '\n' ? '\r' : '\n';
    bool escapes = false;
    for (;;) {
        s = find4(s, p->delimiter, p->eol, '\\', other);
        if (*s != '\\') {
            if (*s == other && !at_line_end(p, s)) return stray_line_end(p, false);
            break;
        }
        escapes = true;
        if (++s >= data_end) break;
        if (*s == p->eol) p->extra_lines++;
        s++;
    }
    *text = (Slice){*at, s - *at};
    *at = s;
    *is_null = is_null_text(p->o, text->ptr, text->len);
    return *is_null || !escapes ? ST_OK : unescape(p, text->ptr, s, text);
}

static Status csv_field(CopyParser *p, const CopyCol *k, const char **at, const char *end, Slice *text, bool *is_null) {
    const char *s = *at, *data_end = end - p->sentinel;
    char quote = p->o->quote, escape = p->o->escape, *out = NULL, *w = NULL;
    char other = p->eol == '\n' ? '\r' : '\n';
    bool quoted = false;
    int64_t cap = 0;
    /* Runs of bytes that stand for themselves are appended as they end; a field that is one run is borrowed. */
    const char *run = NULL;
    int64_t run_len = 0;
#define PUT(from, n)                                          \
    do {                                                      \
        const char *from_ = (from);                           \
        int64_t n_ = (n);                                     \
        if (n_ > 0 && !run && !out) {                         \
            run = from_;                                      \
            run_len = n_;                                     \
        } else if (n_ > 0) {                                  \
            int64_t have_ = out ? w - out : run_len;          \
            if (!out || have_ + n_ + COPY_PAD > cap) {        \
                cap = (have_ + n_ + COPY_PAD) * 2;            \
                char *big_ = arena_alloc(p->arena, cap);      \
                if (!big_) return err_oom(&p->err);           \
                memcpy(big_, out ? out : run, (size_t)have_); \
                out = big_;                                   \
                w = out + have_;                              \
            }                                                 \
            memcpy(w, from_, (size_t)n_);                     \
            w += n_;                                          \
        }                                                     \
    } while (0)
    for (;;) {
        const char *q = find4(s, p->delimiter, p->eol, quote, other);
        PUT(s, q - s);
        s = q;
        if (*s == p->delimiter) break;
        if (*s != quote) {
            if (*s == other && !at_line_end(p, s)) return stray_line_end(p, true);
            break;
        }
        quoted = true;
        s++;
        for (;;) { /* inside quotes */
            const char *from = s;
            while (s < data_end && *s != quote && *s != escape) s++;
            PUT(from, s - from);
            if (s >= data_end) {
                err_set(&p->err, ERR_BAD_COPY, "unterminated CSV quoted field");
                p->fail_col = -1;
                return ST_ERROR;
            }
            if (*s == escape && s + 1 < data_end && (s[1] == escape || s[1] == quote)) {
                PUT(s + 1, 1);
                s += 2;
                continue;
            }
            if (*s == quote) break;
            PUT(s, 1);
            s++;
        }
        s++;
    }
#undef PUT
    if (out) {
        memset(w, 0, COPY_PAD);
        *text = (Slice){out, w - out};
    } else {
        *text = run ? (Slice){run, run_len} : (Slice){*at, 0};
    }
    *at = s;
    *is_null = is_null_text(p->o, text->ptr, text->len) && (quoted ? k && k->force_null : !k || !k->force_not_null);
    return ST_OK;
}

Status copy_next_field(CopyParser *p, const CopyCol *k, const char **at, const char *end, Slice *text, bool *is_null) {
    switch (p->o->format) {
    case COPY_TEXT: return text_field(p, at, end, text, is_null);
    case COPY_CSV: return csv_field(p, k, at, end, text, is_null);
    case COPY_JSON:
    case COPY_PARQUET:
    case COPY_ARROW:
    case COPY_TBL: break;
    }
    const char *s = find4(*at, p->delimiter, p->eol, p->eol, p->eol);
    *text = (Slice){*at, s - *at};
    if (*s == p->eol && text->len > 0 && s[-1] == '\r') text->len--;
    *at = text->ptr + text->len;
    *is_null = is_null_text(p->o, text->ptr, text->len);
    return ST_OK;
}

static Status convert_format(CopyParser *p, const CopyCol *k, Slice text, void *cell) {
    int64_t micros;
    int32_t day;
    if (date_format_parse(k->format, text, p->session, k->type, &day, &micros)) {
        memcpy(cell, k->type.id == T_DATE ? (const void *)&day : &micros, (size_t)k->cell_size);
        return ST_OK;
    }
    char type[TYPE_NAME_MAX];
    return err_set(&p->err, "22007", "invalid input syntax for type %s in format \"%s\": \"%.*s\"",
                   type_name(k->type, &type), k->format, (int)MIN_OF(text.len, 200), text.ptr);
}

/* 1.234,5 as 1234.5 */
static Status with_point(CopyParser *p, Slice *text) {
    char *to = arena_alloc(p->arena, text->len + COPY_PAD), *w = to;
    if (!to) return err_oom(&p->err);
    for (int64_t i = 0; i < text->len; i++)
        if (text->ptr[i] != '.') *w++ = text->ptr[i] == ',' ? '.' : text->ptr[i];
    memset(w, 0, COPY_PAD);
    *text = (Slice){to, w - to};
    return ST_OK;
}

/* A type that was guessed must not lose digits. */
static Status check_scale(CopyParser *p, const CopyCol *k, Slice text) {
    const char *point = memchr(text.ptr, '.', (size_t)text.len), *end = text.ptr + text.len;
    int digits = 0, n = 0;
    for (const char *s = point ? point + 1 : end; s < end && *s >= '0' && *s <= '9'; s++) {
        digits++;
        if (*s != '0') n = digits;
    }
    if (n <= k->scale) return ST_OK;
    char type[TYPE_NAME_MAX];
    return err_set(&p->err, ERR_INVALID_TEXT, "more digits behind the point than %s has: \"%.*s\"",
                   type_name(k->type, &type), (int)MIN_OF(text.len, 100), text.ptr);
}

Status copy_convert(CopyParser *p, CopyCol *k, int64_t row, Slice text) {
    void *cell = (char *)k->cells + row * k->cell_size;
    if (k->format) return convert_format(p, k, text, cell);
    if (k->comma) TRY(with_point(p, &text));
    if (k->strict && k->type.id == T_NUMERIC) TRY(check_scale(p, k, text));
    const char *q = NULL, *end = text.ptr + text.len;
    int64_t v = 0;
    switch ((CopyKind)k->kind) {
    case CK_I16:
        q = read_int(text.ptr, &v);
        if (q != end || v != (int16_t)v) break;
        *(int16_t *)cell = (int16_t)v;
        return ST_OK;
    case CK_I32:
        q = read_int(text.ptr, &v);
        if (q != end || v != (int32_t)v) break;
        *(int32_t *)cell = (int32_t)v;
        return ST_OK;
    case CK_I64:
        q = read_int(text.ptr, &v);
        if (q != end) break;
        *(int64_t *)cell = v;
        return ST_OK;
    case CK_NUM64:
        q = read_num64(text.ptr, k->precision, k->scale, &v);
        if (q != end) break;
        *(int64_t *)cell = v;
        return ST_OK;
    case CK_DATE:
        if (text.len != 10 || read_date(text.ptr, p->months, (int32_t *)cell) != end) break;
        return ST_OK;
    case CK_OTHER:
    case CK_BOOL:
    case CK_NUM128:
    case CK_TIMESTAMP:
    case CK_SKIP:
    case CK_STR: break;
    }
    return cell_from_text(k->type, text, p->session, p->arena, cell, &p->err);
}

void copy_set_null(CopyCol *k, int64_t row) {
    k->valid[row] = 0;
    k->has_nulls = true;
    char *cell = (char *)k->cells + row * k->cell_size;
    memset(cell, 0, (size_t)k->cell_size);
    if (type_phys(k->type) == PH_STR) *(Str *)(void *)cell = str_make("", 0);
}

/* A field that no fast path took. */
static NOINLINE Status field_slow(CopyParser *p, int c, int64_t row, const char **at, const char *end) {
    CopyCol *k = &p->cols[c];
    const CopyOptions *o = p->o;
    const char *after = *at + MAX_OF(o->null_len, 0);
    if (o->null_len >= 0 && !k->force_not_null && after < end && (*after == p->delimiter || *after == p->eol) &&
        memcmp(*at, o->null_text, (size_t)o->null_len) == 0) {
        copy_set_null(k, row);
        *at = after;
        return ST_OK;
    }
    Slice text;
    bool is_null, quoted = o->format == COPY_CSV && **at == o->quote;
    TRY(copy_next_field(p, k, at, end, &text, &is_null));
    if (k->kind == CK_SKIP) return ST_OK;
    if (!is_null && k->n_nulls && !(quoted && k->kind == CK_STR)) is_null = is_null_of(k, text.ptr, text.len);
    if (is_null) {
        copy_set_null(k, row);
        return ST_OK;
    }
    p->fail_col = c;
    p->fail_value = text;
    TRY(copy_convert(p, k, row, text));
    p->fail_col = -1;
    return ST_OK;
}

static NOINLINE Status missing_data(CopyParser *p, int c) {
    p->fail_col = -1;
    return err_set(&p->err, ERR_BAD_COPY, "missing data for column \"%s\"", p->cols[c].name);
}
static NOINLINE Status extra_data(CopyParser *p) {
    p->fail_col = -1;
    return err_set(&p->err, ERR_BAD_COPY, "extra data after last expected column");
}

/* ---- the loop ------------------------------------------------------------------------------------- */

#define ENDS(q) (*(q) == delim || *(q) == eol)
/* q is the end of a value v just read: keep it when it is the whole field. */
#define KEEP(T, cond, v)                  \
    if (LIKELY(q && ENDS(q) && (cond))) { \
        ((T *)k->cells)[row] = (T)(v);    \
        s = q;                            \
        goto next;                        \
    }                                     \
    break

ALWAYS_INLINE Status parse_rows(CopyParser *p, const char **at, const char *end, const CopyFormat format) {
    const char delim = p->delimiter, eol = p->eol, quote = p->o->quote, other = eol == '\n' ? '\r' : '\n';
    const bool plain_quotes = p->o->quote == p->o->escape;
    const int64_t null_len = p->o->null_len;
    const int last = p->n_cols - 1;
    const char *s = *at;
    int64_t row = 0;
    Status st = ST_ERROR;
    for (; s < end && row < COPY_BATCH; row++) {
        p->rows[row] = s;
        for (int c = 0; c <= last; c++) {
            CopyCol *k = &p->cols[c];
            const char *q;
            int64_t v;
            switch ((CopyKind)k->kind) {
            case CK_I16: q = read_int(s, &v); KEEP(int16_t, v == (int16_t)v, v);
            case CK_I32: q = read_int(s, &v); KEEP(int32_t, v == (int32_t)v, v);
            case CK_I64: q = read_int(s, &v); KEEP(int64_t, true, v);
            case CK_NUM64: q = read_num64(s, k->precision, k->scale, &v); KEEP(int64_t, true, v);
            case CK_NUM128: {
                int128_t x = 0;
                q = read_num128(s, k->precision, k->scale, &x);
                KEEP(int128_t, true, x);
            }
            case CK_DATE: {
                int32_t d = 0;
                q = read_date(s, p->months, &d);
                KEEP(int32_t, true, d);
            }
            case CK_TIMESTAMP: q = read_timestamp(s, p->months, &v); KEEP(int64_t, true, v);
            case CK_BOOL: {
                uint8_t b = 0;
                q = read_bool(s, &b);
                KEEP(uint8_t, true, b);
            }
            case CK_SKIP:
            case CK_STR: {
                const char *from = s, *after;
                if (format == COPY_CSV && *s == quote) {
                    if (!plain_quotes) break;
                    from = s + 1;
                    q = memchr(from, quote, (size_t)(end - from));
                    if (!q || !ENDS(q + 1)) break;
                    after = q + 1;
                } else {
                    q = after = format == COPY_TBL    ? find4(s, delim, eol, eol, eol)
                                : format == COPY_TEXT ? find4(s, delim, eol, '\\', other)
                                                      : find4(s, delim, eol, quote, other);
                    if (UNLIKELY(!ENDS(q))) break;
                    if (format == COPY_TBL && UNLIKELY(*q == eol)) break;
                }
                int64_t len = q - from;
                if (k->kind == CK_SKIP) {
                    s = after;
                    goto next;
                }
                if (UNLIKELY(len > k->max_len)) break;
                if (UNLIKELY(k->n_nulls) && from == s && is_null_of(k, from, len)) break;
                if (UNLIKELY(len == null_len) && memcmp(from, p->o->null_text, (size_t)len) == 0) break;
                if (k->trim)
                    while (len > 0 && from[len - 1] == ' ') len--;
                ((Str *)k->cells)[row] = str_make(from, len);
                s = after;
                goto next;
            }
            case CK_OTHER: break;
            }
            if (UNLIKELY(field_slow(p, c, row, &s, end) != ST_OK)) goto done;
        next:
            if (c == last) break;
            if (UNLIKELY(*s != delim)) {
                if (c == 0 && p->skip_blank && s == p->rows[row] && at_line_end(p, s)) {
                    s += *s == eol ? 1 : 2;
                    k->valid[row] = 1; /* the empty field was NULL */
                    row--;
                    goto next_row;
                }
                if (p->pad && at_line_end(p, s)) {
                    while (++c <= last) copy_set_null(&p->cols[c], row);
                    break;
                }
                missing_data(p, c + 1);
                goto done;
            }
            s++;
            if (format == COPY_TBL && UNLIKELY(at_line_end(p, s))) { /* that delimiter ended the record */
                missing_data(p, c + 1);
                goto done;
            }
        }
        if (format == COPY_TBL && *s == delim) s++;
        if (UNLIKELY(*s != eol)) {
            if (!at_line_end(p, s)) {
                extra_data(p);
                goto done;
            }
            s++;
        }
        s++;
    next_row:;
    }
    st = ST_OK;
done:
    if (st != ST_OK) p->fail_row = p->rows[row];
    p->n = row;
    *at = s;
    return st;
}

Status copy_parse(CopyParser *p, const char **at, const char *end) {
    for (int c = 0; c < p->n_cols; c++) {
        if (!p->cols[c].has_nulls) continue;
        memset(p->cols[c].valid, 1, COPY_BATCH);
        p->cols[c].has_nulls = false;
    }
    p->fail_col = -1;
    switch (p->o->format) {
    case COPY_TBL: return parse_rows(p, at, end, COPY_TBL);
    case COPY_CSV: return parse_rows(p, at, end, COPY_CSV);
    case COPY_JSON: return json_parse(p, at, end);
    case COPY_PARQUET:
    case COPY_ARROW:
    case COPY_TEXT: break;
    }
    return parse_rows(p, at, end, COPY_TEXT);
}

/* ---- records -------------------------------------------------------------------------------------- */

const char *copy_record_end(const CopyParser *p, const char *s, const char *end) {
    bool csv = p->o->format == COPY_CSV, text = p->o->format == COPY_TEXT, in_quote = false, escaped = false;
    char quote = p->o->quote, escape = p->o->escape == quote ? 0 : p->o->escape;
    for (; s < end; s++) {
        char c = *s;
        if (csv) {
            if (escape && in_quote && c == escape) escaped = !escaped;
            if (c == quote && !escaped) in_quote = !in_quote;
            if (!escape || c != escape) escaped = false;
        }
        if (c == p->eol && !in_quote && !(text && escaped)) return s;
        if (text) escaped = c == '\\' && !escaped;
    }
    return end;
}

Status copy_skip_header(CopyParser *p, const char **at, const char *end) {
    if (*at >= end) return ST_OK;
    const char *s = *at, *stop = copy_record_end(p, s, end);
    p->fail_row = s;
    p->fail_col = -1;
    if (p->o->header_match) {
        int n = 0;
        for (;;) {
            Slice text;
            bool is_null;
            TRY(copy_next_field(p, NULL, &s, end, &text, &is_null));
            if (n < p->n_cols) {
                const char *want = p->cols[n].name;
                if (is_null)
                    return err_set(
                        &p->err, ERR_BAD_COPY,
                        "column name mismatch in header line field %d: got null value (\"%.*s\"), expected \"%s\"",
                        n + 1, (int)p->o->null_len, p->o->null_text, want);
                if (!slice_eq(text, slice_of(want)))
                    return err_set(&p->err, ERR_BAD_COPY,
                                   "column name mismatch in header line field %d: got \"%.*s\", expected \"%s\"", n + 1,
                                   (int)MIN_OF(text.len, 200), text.ptr, want);
            }
            n++;
            if (*s != p->delimiter) break;
            s++;
            if (p->o->format == COPY_TBL && at_line_end(p, s)) break;
        }
        if (n != p->n_cols)
            return err_set(&p->err, ERR_BAD_COPY, "wrong number of fields in header line: got %d, expected %d", n,
                           p->n_cols);
    }
    if (p->o->format == COPY_TEXT)
        for (s = *at; s < stop; s++) p->extra_lines += *s == p->eol;
    *at = MIN_OF(stop + 1, end);
    return ST_OK;
}

/* ---- cutting blocks at record ends ------------------------------------------------------------------ */

/* Bit i: byte i is c. */
static inline uint64_t byte_mask(const char *s, char c) {
#if defined(__SSE2__)
    const __m128i v = _mm_set1_epi8(c);
    uint64_t m = 0;
    for (int i = 0; i < 4; i++) {
        __m128i x = _mm_loadu_si128((const __m128i *)(const void *)(s + 16 * i));
        m |= (uint64_t)(unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(x, v)) << (16 * i);
    }
    return m;
#else
    uint64_t m = 0;
    for (int i = 0; i < 64; i++) m |= (uint64_t)(s[i] == c) << i;
    return m;
#endif
}

/* Quotes that are doubled to escape them toggle twice, so the parity of all quotes before tells whether a byte is
 * inside. */
static void cut_csv(CopyCut *c, char quote, char eol, const char *buf, int64_t len) {
    int64_t i = c->scanned;
    for (; i + 64 <= len; i += 64) {
        uint64_t q = byte_mask(buf + i, quote), n = byte_mask(buf + i, eol), inside = q;
        inside ^= inside << 1;
        inside ^= inside << 2;
        inside ^= inside << 4;
        inside ^= inside << 8;
        inside ^= inside << 16;
        inside ^= inside << 32;
        if (c->in_quote) inside = ~inside;
        uint64_t out = n & ~inside;
        if (out) {
            int top = 63 - __builtin_clzll(out);
            c->cut = i + top + 1;
            c->cut_lines = c->lines + __builtin_popcountll(n & (UINT64_MAX >> (63 - top)));
        }
        c->lines += __builtin_popcountll(n);
        c->in_quote = inside >> 63;
    }
    for (; i < len; i++) {
        if (buf[i] == quote) c->in_quote = !c->in_quote;
        if (buf[i] != eol) continue;
        c->lines++;
        if (c->in_quote) continue;
        c->cut = i + 1;
        c->cut_lines = c->lines;
    }
    c->scanned = len;
}

void copy_cut_scan(CopyCut *c, const CopyOptions *o, char eol, const char *buf, int64_t len) {
    if (o->format == COPY_CSV && o->quote == o->escape) {
        cut_csv(c, o->quote, eol, buf, len);
        return;
    }
    if (o->format == COPY_CSV) {
        for (int64_t i = c->scanned; i < len; i++) {
            char x = buf[i];
            if (c->in_quote && x == o->escape) c->escaped = !c->escaped;
            if (x == o->quote && !c->escaped) c->in_quote = !c->in_quote;
            if (x != o->escape) c->escaped = false;
            if (x != eol) continue;
            c->lines++;
            if (c->in_quote) continue;
            c->cut = i + 1;
            c->cut_lines = c->lines;
        }
        c->scanned = len;
        return;
    }
    for (int64_t stop = len; stop > c->scanned;) {
        const char *q = memrchr(buf + c->scanned, eol, (size_t)(stop - c->scanned));
        if (!q) break;
        int64_t at = q - buf, back = at;
        if (o->format == COPY_TEXT)
            while (back > 0 && buf[back - 1] == '\\') back--;
        if ((at - back) % 2 == 0) {
            c->cut = at + 1;
            break;
        }
        stop = at;
    }
    c->scanned = len;
}

int64_t copy_find_marker(const CopyOptions *o, const char *buf, int64_t len, bool at_eof) {
    if (o->format == COPY_TBL || o->format == COPY_JSON) return -1;
    for (int64_t i = 0; i + 1 < len;) {
#if defined(__SSE2__)
        if (i + 17 <= len) {
            __m128i x = _mm_loadu_si128((const __m128i *)(const void *)(buf + i));
            __m128i y = _mm_loadu_si128((const __m128i *)(const void *)(buf + i + 1));
            unsigned m = (unsigned)_mm_movemask_epi8(
                _mm_and_si128(_mm_cmpeq_epi8(x, _mm_set1_epi8('\\')), _mm_cmpeq_epi8(y, _mm_set1_epi8('.'))));
            if (!m) {
                i += 16;
                continue;
            }
            i += __builtin_ctz(m);
        }
#endif
        bool hit = buf[i] == '\\' && buf[i + 1] == '.' && (i == 0 || buf[i - 1] == '\n' || buf[i - 1] == '\r') &&
                   (i + 2 == len ? at_eof : buf[i + 2] == '\n' || buf[i + 2] == '\r');
        if (hit && i > 0 && o->format == COPY_TEXT && i > 1) hit = buf[i - 2] != '\\';
        if (hit && i > 0 && o->format == COPY_CSV) {
            CopyCut c = {0};
            copy_cut_scan(&c, o, buf[i - 1], buf, i);
            hit = !c.in_quote;
        }
        if (hit) return i;
        i++;
    }
    return -1;
}

CopyEol copy_detect_eol(const CopyOptions *o, const char *buf, int64_t len, bool at_eof) {
    if (o->format == COPY_TBL || o->format == COPY_JSON) return EOL_LF;
    bool in_quote = false, escaped = false;
    for (int64_t i = 0; i < len; i++) {
        char c = buf[i];
        if (o->format == COPY_CSV) {
            if (o->escape != o->quote && in_quote && c == o->escape) escaped = !escaped;
            if (c == o->quote && !escaped) in_quote = !in_quote;
            if (c != o->escape) escaped = false;
            if (in_quote) continue;
        } else if (escaped) {
            escaped = false;
            continue;
        } else if (c == '\\') {
            escaped = true;
        }
        if (c == '\n') return EOL_LF;
        if (c != '\r') continue;
        if (i + 1 < len) return buf[i + 1] == '\n' ? EOL_CRLF : EOL_CR;
        return at_eof ? EOL_CR : EOL_UNKNOWN;
    }
    return at_eof ? EOL_LF : EOL_UNKNOWN;
}
