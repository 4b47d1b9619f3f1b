/* func_text.c - text and bytea functions: LIKE, trimming, cutting, padding, searching, quoting, encoding.
 *
 * Positions and lengths count characters, as in PostgreSQL. Results that are part of an argument borrow its
 * bytes; others are in ctx->arena. char(n) arrives without its trailing blanks (type.h). Upper and lower case
 * follow Unicode's simple mappings whatever the locale. Regular expressions are in func_regex.c.
 */
#include <stdio.h>
#include <utf8proc.h>

#include "base/hash.h"
#include "base/key.h"
#include "base/stack.h"
#include "types/bits.h"
#include "types/dec.h"
#include "types/array.h"
#include "types/chars.h"
#include "types/composite.h"
#include "types/func_int.h"
#include "types/oid.h"
#include "types/range.h"

#define TEXT_FN(fn, ...) KNF(fn, Str, STR0, const Str x = AT(Str, 0, i); __VA_ARGS__)
#define NEW(p, bytes, i)               \
    char *p = ctx_alloc(ctx, (bytes)); \
    if (UNLIKELY(!p)) return FAILED(i)

static inline bool is_cont(char c) { return ((unsigned char)c & 0xC0) == 0x80; }
static inline int64_t char_bytes(const char *p, int64_t len) {
    int64_t k = 1;
    while (k < len && is_cont(p[k])) k++;
    return k;
}
/* Bytes of the last character of p[0..len). */
static inline int64_t last_char_bytes(const char *p, int64_t len) {
    int64_t k = 1;
    while (k < len && is_cont(p[len - k])) k++;
    return k;
}
static inline int64_t chars(Str s) { return utf8_length(s.ptr, s.len); }
static inline int64_t prefix(Str s, int64_t n_chars) {
    return n_chars <= 0 ? 0 : utf8_prefix_bytes(s.ptr, s.len, n_chars);
}

/* Characters [from, to) of s, counted from 0. */
static Str cut(Str s, int64_t from, int64_t to) {
    int64_t a = prefix(s, from);
    if (to <= from) return str_make(s.ptr + a, 0);
    int64_t b = to - from >= s.len ? s.len - a : utf8_prefix_bytes(s.ptr + a, s.len - a, to - from);
    return str_make(s.ptr + a, b);
}

/* ---- output of any value ------------------------------------------------------------ */

static void hex_bytes(const char *p, int64_t len, char *o) {
    static const char digit[] = "0123456789abcdef";
    for (int64_t k = 0; k < len; k++) {
        o[2 * k] = digit[(unsigned char)p[k] >> 4];
        o[2 * k + 1] = digit[p[k] & 15];
    }
}

/* Its text is the same whatever the settings are. */
static bool is_free_of_form(Type t) {
    return type_is_integer(t) || t.id == T_NUMERIC || t.id == T_UUID || t.id == T_TIME || t.id == T_TIMETZ ||
           t.id == T_LSN || t.id == T_MONEY;
}

static Status bytea_output(FuncCtx *ctx, Str s, Str *out) {
    int64_t n = 2 + 2 * (int64_t)s.len;
    char *p;
    if (ctx_form(ctx).bytea_escape) {
        if (!(p = bytea_escaped(ctx->arena, s, &n))) return err_oom(ctx->err);
    } else {
        if (!(p = ctx_alloc(ctx, n))) return ST_ERROR;
        memcpy(p, "\\x", 2);
        hex_bytes(s.ptr, s.len, p + 2);
    }
    *out = str_make(p, n);
    return ST_OK;
}

/* Names of objects; of arrays of such, too. */
static Status oid_output(FuncCtx *ctx, Type t, const void *cell, Str *out) {
    if (t.id == T_OID)
        return ctx->session->oid_name(ctx->session->setting_ctx, t.precision, *(const int64_t *)cell, ctx->arena, out,
                                      ctx->err);
    TRY(stack_check_depth(ctx->err));
    Type element = type_element(t);
    element.flags |= TF_SHOWN;
    const Type shown = type_array_of(element);
    Value v = {.type = t, .u.str = *(const Str *)cell}, names;
    TRY(func_eval(NULL, cast_kernel(t, shown, CAST_EXPLICIT), ctx->session, ctx->arena, shown, 1, &v, &names,
                  ctx->err));
    return array_to_text(shown, names.u.str, ctx_form(ctx), ctx->arena, out, ctx->err);
}

Status func_cell_output(FuncCtx *ctx, Type t, const void *cell, Str *out) {
    if (oid_has_name(t) && ctx->session && ctx->session->oid_name) return oid_output(ctx, t, cell, out);
    if (t.id == T_ARRAY) return array_to_text(t, *(const Str *)cell, ctx_form(ctx), ctx->arena, out, ctx->err);
    if (type_is_range(t)) return range_to_text(t, *(const Str *)cell, ctx_form(ctx), ctx->arena, out, ctx->err);
    if (t.id == T_COMPOSITE) return composite_to_text(t, *(const Str *)cell, ctx_form(ctx), ctx->arena, out, ctx->err);
    if (type_phys(t) == PH_STR) {
        Str s = *(const Str *)cell;
        if (type_is_record(t)) return *out = record_shown(t, s), ST_OK;
        if (t.id == T_DECIMAL) {
            Dec d;
            TRY(dec_decode(ctx->arena, s, &d, ctx->err));
            return dec_format(ctx->arena, &d, out, ctx->err);
        }
        if (t.id == T_BYTEA) return bytea_output(ctx, s, out);
        if (type_is_bits(t)) {
            const int64_t n = bits_length(s);
            char *p = ctx_alloc(ctx, n);
            if (!p) return ST_ERROR;
            bits_to_text(s, p);
            return *out = str_make(p, n), ST_OK;
        }
        int64_t pad = t.id == T_CHAR && t.length > 0 ? t.length - chars(s) : 0;
        if (pad > 0) {
            char *p = ctx_alloc(ctx, s.len + pad);
            if (!p) return ST_ERROR;
            if (s.len) memcpy(p, s.ptr, s.len);
            memset(p + s.len, ' ', (size_t)pad);
            s = str_make(p, s.len + pad);
        }
        *out = s;
        return ST_OK;
    }
    if (t.id == T_BOOL) {
        *out = *(const uint8_t *)cell ? str_make("t", 1) : str_make("f", 1);
        return ST_OK;
    }
    char buf[VALUE_TEXT_MAX];
    int64_t len = cell_to_text(t, cell, is_free_of_form(t) ? (TextForm){0} : ctx_form(ctx), buf);
    return ctx_str(ctx, buf, len, out) ? ST_OK : ST_ERROR;
}

/* ---- LIKE ------------------------------------------------------------------------------- */

/* The compiled pattern of a constant lives as long as the call site, others as long as the batch. */
static Status like_run(FuncCtx *ctx, int64_t n, const Vec *args, int nargs, Vec *out, bool fold, bool negate) {
    uint8_t *r = out->data;
    bool constant = args[1].is_const && (nargs < 3 || args[2].is_const);
    const LikePattern *p = constant ? ctx->state : NULL;
    Str last = STR0;
    int last_escape = -1;
    for (int64_t i = 0; i < n; i++) {
        r[i] = 0;
        if (!row_valid(out, i)) continue;
        if (!p || !constant) {
            Str pat = AT(Str, 1, i);
            char escape = '\\';
            if (nargs > 2) {
                Str e = AT(Str, 2, i);
                if (e.len > 1) {
                    err_set(ctx->err, ERR_INVALID_ESCAPE, "invalid escape string");
                    err_hint(ctx->err, "Escape string must be empty or one character.");
                    return FAILED(i);
                }
                escape = e.len ? e.ptr[0] : 0;
            }
            if (!p || escape != last_escape || !str_eq(pat, last)) {
                if (!fold && like_ends_in_escape(slice_of_str(pat), escape)) {
                    const Slice text = slice_of_str(AT(Str, 0, i));
                    bool match;
                    if (like_stepwise(text, slice_of_str(pat), escape, false, &match, ctx->err) != ST_OK)
                        return FAILED(i);
                    r[i] = match != negate;
                    continue;
                }
                p = like_compile(constant ? ctx->state_arena : ctx->arena, slice_of_str(pat), escape, fold, ctx->err);
                if (!p) return FAILED(i);
                last = pat;
                last_escape = escape;
                if (constant) ctx->state = (void *)(uintptr_t)p;
            }
        }
        Str s = AT(Str, 0, i);
        r[i] = like_match(p, s.ptr, s.len) != negate;
    }
    return ST_OK;
}
KERNEL(like_op) { return like_run(ctx, n, args, nargs, out, false, false); }
KERNEL(not_like_op) { return like_run(ctx, n, args, nargs, out, false, true); }
KERNEL(ilike_op) { return like_run(ctx, n, args, nargs, out, true, false); }
KERNEL(not_ilike_op) { return like_run(ctx, n, args, nargs, out, true, true); }

/* like_escape(pattern, escape): the pattern with backslash as its escape character. */
TEXT_FN(like_escape_text, {
    Str e = AT(Str, 1, i);
    if (e.len > 0 && char_bytes(e.ptr, e.len) != e.len) {
        err_set(ctx->err, ERR_INVALID_ESCAPE, "invalid escape string");
        err_hint(ctx->err, "Escape string must be empty or one character.");
        return FAILED(i);
    }
    if (e.len == 1 && e.ptr[0] == '\\') {
        z = x;
    } else {
        NEW(p, 2 * (int64_t)x.len, i);
        int64_t o = 0;
        bool after = false;
        for (int64_t k = 0; k < x.len;) {
            if (e.len && !after && x.len - k >= e.len && memcmp(x.ptr + k, e.ptr, e.len) == 0) {
                p[o++] = '\\';
                k += e.len;
                after = true;
                continue;
            }
            if (x.ptr[k] == '\\' && !after) p[o++] = '\\';
            p[o++] = x.ptr[k++];
            after = false;
        }
        z = str_make(p, o);
    }
})

/* ---- concatenation ------------------------------------------------------------------------ */

static bool join(FuncCtx *ctx, Str a, Str b, Str *out) {
    int64_t len = (int64_t)a.len + b.len;
    char *p = ctx_alloc(ctx, len);
    if (!p) return false;
    if (a.len) memcpy(p, a.ptr, a.len);
    if (b.len) memcpy(p + a.len, b.ptr, b.len);
    *out = str_make(p, len);
    return true;
}
K2F(cat_text, Str, Str, Str, STR0, {
    if (!join(ctx, x, y, &z)) return FAILED(i);
})

/* The text of an argument as a cast to text gives it. */
static Status cast_text(FuncCtx *ctx, const Vec *v, int64_t i, Str *out) {
    if (v->type.id == T_CHAR) return *out = *(const Str *)arg_cell(v, i), ST_OK;
    if (v->type.id == T_BOOL)
        return *out = *(const uint8_t *)arg_cell(v, i) ? str_make("true", 4) : str_make("false", 5), ST_OK;
    return func_cell_output(ctx, v->type, arg_cell(v, i), out);
}
KNF(cat_any, Str, STR0, {
    Str a;
    Str b;
    if (cast_text(ctx, &args[0], i, &a) != ST_OK || cast_text(ctx, &args[1], i, &b) != ST_OK) return FAILED(i);
    if (!join(ctx, a, b, &z)) return FAILED(i);
})

/* A string that grows in ctx->arena. */
typedef struct Buf {
    FuncCtx *ctx;
    char *p;
    int64_t len, cap;
} Buf;
static bool buf_room(Buf *b, int64_t more) {
    if (b->len + more <= b->cap) return true;
    int64_t cap = MAX_OF(b->len + more, 2 * b->cap + 64);
    if (cap > STR_MAX_BYTES && b->len + more <= STR_MAX_BYTES) cap = STR_MAX_BYTES;
    char *p = ctx_alloc(b->ctx, cap);
    if (!p) return false;
    if (b->len) memcpy(p, b->p, (size_t)b->len);
    b->p = p;
    b->cap = cap;
    return true;
}
static bool buf_add(Buf *b, const char *s, int64_t len) {
    if (!buf_room(b, len)) return false;
    if (len) memcpy(b->p + b->len, s, (size_t)len);
    b->len += len;
    return true;
}
static bool buf_fill(Buf *b, char c, int64_t count) {
    if (count <= 0) return true;
    if (!buf_room(b, count)) return false;
    memset(b->p + b->len, c, (size_t)count);
    b->len += count;
    return true;
}
static Str buf_str(const Buf *b) { return b->len ? str_make(b->p, b->len) : STR0; }

static Status concat_row(FuncCtx *ctx, int64_t i, const Vec *args, int nargs, int first, Str sep, Str *z) {
    Buf b = {.ctx = ctx};
    bool any = false;
    for (int k = first; k < nargs; k++) {
        if (arg_null(&args[k], i)) continue;
        Str s;
        TRY(func_cell_output(ctx, args[k].type, arg_cell(&args[k], i), &s));
        if (any && !buf_add(&b, sep.ptr, sep.len)) return ST_ERROR;
        if (!buf_add(&b, s.ptr, s.len)) return ST_ERROR;
        any = true;
    }
    *z = buf_str(&b);
    return ST_OK;
}
KERNEL(concat_any) {
    for (int64_t i = 0; i < n; i++) {
        out->valid[i] = 1;
        if (concat_row(ctx, i, args, nargs, 0, STR0, &((Str *)out->data)[i]) != ST_OK) return FAILED(i);
    }
    return ST_OK;
}
KERNEL(concat_ws_any) {
    for (int64_t i = 0; i < n; i++) {
        Str *z = &((Str *)out->data)[i];
        *z = STR0;
        out->valid[i] = !arg_null(&args[0], i);
        if (out->valid[i] && concat_row(ctx, i, args, nargs, 1, AT(Str, 0, i), z) != ST_OK) return FAILED(i);
    }
    return ST_OK;
}

/* ---- length and case ------------------------------------------------------------------------ */

K1(length_text, Str, int32_t, utf8_length(x.ptr, x.len))
K1(octet_length_str, Str, int32_t, x.len)
K1F(bit_length_str, Str, int32_t, 0, {
    FAIL_IF(x.len > INT32_MAX / 8, i, ERR_NUMERIC_RANGE, "integer out of range");
    z = (int32_t)(x.len * 8);
})

static bool is_ascii(Str s) {
    unsigned char m = 0;
    for (uint32_t k = 0; k < s.len; k++) m |= (unsigned char)s.ptr[k];
    return m < 0x80;
}
static inline char ascii_upper(char c) { return c >= 'a' && c <= 'z' ? (char)(c - 32) : c; }
static inline char ascii_lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c; }
enum { CASE_LOWER, CASE_UPPER, CASE_TITLE };

static bool word_char(utf8proc_int32_t c) {
    utf8proc_category_t g = utf8proc_category(c);
    return (g >= UTF8PROC_CATEGORY_LU && g <= UTF8PROC_CATEGORY_LO) || g == UTF8PROC_CATEGORY_ND;
}
static bool change_case(FuncCtx *ctx, Str x, int mode, Str *z) {
    bool ascii = is_ascii(x), start = true;
    char *p = ctx_alloc(ctx, ascii ? x.len : 4 * (int64_t)x.len);
    if (!p) return false;
    if (ascii) {
        for (uint32_t k = 0; k < x.len; k++) {
            char c = x.ptr[k];
            p[k] = mode == CASE_UPPER || (mode == CASE_TITLE && start) ? ascii_upper(c) : ascii_lower(c);
            start = !((c >= '0' && c <= '9') || (ascii_lower(c) >= 'a' && ascii_lower(c) <= 'z'));
        }
        *z = str_make(p, x.len);
        return true;
    }
    int64_t o = 0;
    for (int64_t k = 0; k < x.len;) {
        utf8proc_int32_t c;
        utf8proc_ssize_t w = utf8proc_iterate((const utf8proc_uint8_t *)x.ptr + k, (utf8proc_ssize_t)(x.len - k), &c);
        if (w <= 0) {
            p[o++] = x.ptr[k++];
            continue;
        }
        k += w;
        utf8proc_int32_t d =
            mode == CASE_UPPER || (mode == CASE_TITLE && start) ? utf8proc_toupper(c) : utf8proc_tolower(c);
        start = !word_char(c);
        o += utf8proc_encode_char(d, (utf8proc_uint8_t *)p + o);
    }
    *z = str_make(p, o);
    return true;
}
TEXT_FN(lower_text, {
    if (!change_case(ctx, x, CASE_LOWER, &z)) return FAILED(i);
})
TEXT_FN(upper_text, {
    if (!change_case(ctx, x, CASE_UPPER, &z)) return FAILED(i);
})
TEXT_FN(initcap_text, {
    if (!change_case(ctx, x, CASE_TITLE, &z)) return FAILED(i);
})

/* ---- trimming --------------------------------------------------------------------------------- */

static bool in_set(Str set, const char *p, int64_t len) {
    for (int64_t k = 0; k < set.len;) {
        int64_t w = char_bytes(set.ptr + k, set.len - k);
        if (w == len && memcmp(set.ptr + k, p, (size_t)len) == 0) return true;
        k += w;
    }
    return false;
}
static Str trim(Str s, Str set, bool left, bool right) {
    const char *p = s.ptr;
    int64_t len = s.len;
    while (left && len > 0) {
        int64_t w = char_bytes(p, len);
        if (!in_set(set, p, w)) break;
        p += w;
        len -= w;
    }
    while (right && len > 0) {
        int64_t w = last_char_bytes(p, len);
        if (!in_set(set, p + len - w, w)) break;
        len -= w;
    }
    return str_make(p, len);
}
#define BLANK str_make(" ", 1)
K1S(btrim1, Str, Str, trim(x, BLANK, true, true))
K1S(ltrim1, Str, Str, trim(x, BLANK, true, false))
K1S(rtrim1, Str, Str, trim(x, BLANK, false, true))
K2S(btrim2, Str, Str, Str, trim(x, y, true, true))
K2S(ltrim2, Str, Str, Str, trim(x, y, true, false))
K2S(rtrim2, Str, Str, Str, trim(x, y, false, true))

static Str trim_bytes(Str x, Str set, bool left, bool right) {
    while (left && x.len && memchr(set.ptr, *x.ptr, set.len)) x = str_make(x.ptr + 1, x.len - 1);
    while (right && x.len && memchr(set.ptr, x.ptr[x.len - 1], set.len)) x = str_make(x.ptr, x.len - 1);
    return x;
}
K2S(bytea_btrim, Str, Str, Str, trim_bytes(x, y, true, true))
K2S(bytea_ltrim, Str, Str, Str, trim_bytes(x, y, true, false))
K2S(bytea_rtrim, Str, Str, Str, trim_bytes(x, y, false, true))

/* ---- cutting ------------------------------------------------------------------------------------ */

static Str cut_bytes(Str s, int64_t from, int64_t to) {
    from = MIN_OF(MAX_OF(from, 0), s.len);
    to = MIN_OF(MAX_OF(to, from), s.len);
    return str_make(s.ptr + from, to - from);
}
K2S(substr2, Str, int32_t, Str, cut(x, MAX_OF((int64_t)y - 1, 0), INT64_MAX / 2))
TEXT_FN(substr3, {
    int64_t from = AT(int32_t, 1, i);
    int64_t len = AT(int32_t, 2, i);
    FAIL_IF(len < 0, i, ERR_SUBSTRING, "negative substring length not allowed");
    z = cut(x, MAX_OF(from - 1, 0), MAX_OF(from - 1 + len, 0));
})
K2S(bytea_substr2, Str, int32_t, Str, cut_bytes(x, (int64_t)y - 1, x.len))
TEXT_FN(bytea_substr3, {
    int64_t from = AT(int32_t, 1, i);
    int64_t len = AT(int32_t, 2, i);
    FAIL_IF(len < 0, i, ERR_SUBSTRING, "negative substring length not allowed");
    z = cut_bytes(x, from - 1, from - 1 + len);
})
K2S(left_text, Str, int32_t, Str, y >= 0 ? cut(x, 0, y) : cut(x, 0, MAX_OF(chars(x) + y, 0)))
static Str right_of(Str x, int32_t k) {
    if (k == INT32_MIN) return x; /* it has no opposite: PostgreSQL leaves out nothing */
    int64_t skip = k >= 0 ? MAX_OF(chars(x) - k, 0) : -(int64_t)k;
    return cut(x, skip, INT64_MAX / 2);
}
K2S(right_text, Str, int32_t, Str, right_of(x, y))

/* overlay(x placing y from p for l), of characters or bytes */
static Status overlay(FuncCtx *ctx, int64_t i, Str (*part)(Str, int64_t, int64_t), Str x, Str y, int64_t p, int64_t l,
                      Str *z) {
    FAIL_IF(p <= 0, i, ERR_SUBSTRING, "negative substring length not allowed");
    FAIL_IF(p + l > INT32_MAX, i, ERR_NUMERIC_RANGE, "integer out of range");
    Str head = part(x, 0, p - 1), tail = part(x, MAX_OF(p - 1 + l, 0), INT64_MAX / 2), t;
    if (!join(ctx, head, y, &t) || !join(ctx, t, tail, z)) return FAILED(i);
    return ST_OK;
}
TEXT_FN(overlay3, {
    Str y = AT(Str, 1, i);
    TRY(overlay(ctx, i, cut, x, y, AT(int32_t, 2, i), chars(y), &z));
})
TEXT_FN(overlay4, { TRY(overlay(ctx, i, cut, x, AT(Str, 1, i), AT(int32_t, 2, i), AT(int32_t, 3, i), &z)); })
TEXT_FN(bytea_overlay3, {
    Str y = AT(Str, 1, i);
    TRY(overlay(ctx, i, cut_bytes, x, y, AT(int32_t, 2, i), y.len, &z));
})
TEXT_FN(bytea_overlay4,
        { TRY(overlay(ctx, i, cut_bytes, x, AT(Str, 1, i), AT(int32_t, 2, i), AT(int32_t, 3, i), &z)); })

/* ---- searching ------------------------------------------------------------------------------------ */

static const char *find(const char *p, int64_t len, Str needle) {
    return needle.len == 0 ? p : len < needle.len ? NULL : memmem(p, (size_t)len, needle.ptr, needle.len);
}
static int32_t position(Str s, Str needle) {
    const char *p = find(s.ptr, s.len, needle);
    return p ? (int32_t)utf8_length(s.ptr, p - s.ptr) + 1 : 0;
}
K2(position_text, Str, Str, int32_t, position(x, y))
static int32_t byte_position(Str s, Str sub) {
    const char *p = sub.len ? memmem(s.ptr, s.len, sub.ptr, sub.len) : s.ptr;
    return p ? (int32_t)(p - s.ptr) + 1 : 0;
}
K2(position_bytea, Str, Str, int32_t, byte_position(x, y))
K2(starts_with_text, Str, Str, uint8_t, x.len >= y.len && (y.len == 0 || memcmp(x.ptr, y.ptr, y.len) == 0))

TEXT_FN(replace_text, {
    Str from = AT(Str, 1, i);
    Str to = AT(Str, 2, i);
    const char *hit = from.len ? find(x.ptr, x.len, from) : NULL;
    if (!hit) {
        z = x;
    } else {
        Buf b = {.ctx = ctx};
        const char *p = x.ptr;
        const char *end = x.ptr + x.len;
        if (!buf_room(&b, x.len)) return FAILED(i);
        for (; hit; hit = find(p, end - p, from)) {
            if (!buf_add(&b, p, hit - p) || !buf_add(&b, to.ptr, to.len)) return FAILED(i);
            p = hit + from.len;
        }
        if (!buf_add(&b, p, end - p)) return FAILED(i);
        z = buf_str(&b);
    }
})

/* The k-th field (1-based; negative from the end) of s. */
static Str split_part(Str s, Str d, int64_t k) {
    if (d.len == 0) return k == 1 || k == -1 ? s : STR0;
    if (k < 0) {
        int64_t fields = 1;
        const char *end = s.ptr + s.len;
        for (const char *p = find(s.ptr, s.len, d); p; p = find(p + d.len, end - p - d.len, d)) fields++;
        k = fields + k + 1;
        if (k < 1) return STR0;
    }
    const char *p = s.ptr, *end = s.ptr + s.len;
    for (;;) {
        const char *hit = s.len ? find(p, end - p, d) : NULL;
        if (--k == 0) return str_make(p, (hit ? hit : end) - p);
        if (!hit) return STR0;
        p = hit + d.len;
    }
}
TEXT_FN(split_part_text, {
    int32_t k = AT(int32_t, 2, i);
    FAIL_IF(k == 0, i, ERR_INVALID_PARAMETER, "field position must not be zero");
    z = split_part(x, AT(Str, 1, i), k);
})

TEXT_FN(translate_text, {
    Str from = AT(Str, 1, i);
    Str to = AT(Str, 2, i);
    NEW(p, 4 * (int64_t)x.len, i);
    int64_t o = 0;
    for (int64_t k = 0; k < x.len;) {
        int64_t w = char_bytes(x.ptr + k, x.len - k);
        int64_t f = 0;
        int64_t idx = 0;
        bool hit = false;
        while (f < from.len && !hit) {
            int64_t fw = char_bytes(from.ptr + f, from.len - f);
            hit = fw == w && memcmp(from.ptr + f, x.ptr + k, (size_t)w) == 0;
            if (!hit) idx++;
            f += fw;
        }
        Str with = hit ? cut(to, idx, idx + 1) : str_make(x.ptr + k, w);
        if (with.len) memcpy(p + o, with.ptr, with.len);
        o += with.len;
        k += w;
    }
    z = str_make(p, o);
})

/* ---- building --------------------------------------------------------------------------------------- */

K2F(repeat_text, Str, int32_t, Str, STR0, {
    if (y > 0 && x.len > 0) {
        NEW(p, (int64_t)x.len * y, i);
        for (int64_t k = 0; k < y; k++) memcpy(p + k * x.len, x.ptr, x.len);
        z = str_make(p, (int64_t)x.len * y);
    }
})
TEXT_FN(reverse_text, {
    NEW(p, x.len, i);
    int64_t o = x.len;
    for (int64_t k = 0; k < x.len;) {
        int64_t w = char_bytes(x.ptr + k, x.len - k);
        o -= w;
        memcpy(p + o, x.ptr + k, (size_t)w);
        k += w;
    }
    z = str_make(p, x.len);
})
static bool pad(FuncCtx *ctx, Str x, int32_t want, Str fill, bool left, Str *z) {
    int64_t have = chars(x);
    if (want <= 0) return *z = STR0, true;
    if (have >= want || fill.len == 0) return *z = cut(x, 0, want), true;
    int64_t need = want - have, per = chars(fill), whole = need / per, rest = prefix(fill, need % per);
    int64_t fill_bytes = whole * fill.len + rest;
    char *p = ctx_alloc(ctx, fill_bytes + x.len);
    if (!p) return false;
    char *f = left ? p : p + x.len;
    for (int64_t k = 0; k < whole; k++) memcpy(f + k * fill.len, fill.ptr, fill.len);
    if (rest) memcpy(f + whole * fill.len, fill.ptr, (size_t)rest);
    if (x.len) memcpy(left ? p + fill_bytes : p, x.ptr, x.len);
    *z = str_make(p, fill_bytes + x.len);
    return true;
}
K2F(lpad2, Str, int32_t, Str, STR0, {
    if (!pad(ctx, x, y, BLANK, true, &z)) return FAILED(i);
})
K2F(rpad2, Str, int32_t, Str, STR0, {
    if (!pad(ctx, x, y, BLANK, false, &z)) return FAILED(i);
})
TEXT_FN(lpad3, {
    if (!pad(ctx, x, AT(int32_t, 1, i), AT(Str, 2, i), true, &z)) return FAILED(i);
})
TEXT_FN(rpad3, {
    if (!pad(ctx, x, AT(int32_t, 1, i), AT(Str, 2, i), false, &z)) return FAILED(i);
})

K1F(ascii_text, Str, int32_t, 0, {
    utf8proc_int32_t c = 0;
    if (x.len) {
        utf8proc_iterate((const utf8proc_uint8_t *)x.ptr, (utf8proc_ssize_t)x.len, &c);
        z = c < 0 ? (unsigned char)x.ptr[0] : c;
    }
})
K1F(chr_int, int32_t, Str, STR0, {
    FAIL_IF(x < 0, i, ERR_INVALID_PARAMETER, "character number must be positive");
    FAIL_IF(x == 0, i, ERR_PROGRAM_LIMIT, "null character not permitted");
    FAIL_IF(x > 0x10FFFF, i, ERR_PROGRAM_LIMIT, "requested character too large for encoding: %u", (unsigned)x);
    FAIL_IF(x >= 0xD800 && x < 0xE000, i, ERR_PROGRAM_LIMIT, "requested character not valid for encoding: %d", x);
    NEW(p, 4, i);
    z = str_make(p, utf8proc_encode_char(x, (utf8proc_uint8_t *)p));
})
static bool to_hex(FuncCtx *ctx, uint64_t v, Str *z) {
    char b[20];
    int w = snprintf(b, sizeof b, "%llx", (unsigned long long)v);
    return ctx_str(ctx, b, w, z);
}
K1F(to_hex_i32, int32_t, Str, STR0, {
    if (!to_hex(ctx, (uint32_t)x, &z)) return FAILED(i);
})
K1F(to_hex_i64, int64_t, Str, STR0, {
    if (!to_hex(ctx, (uint64_t)x, &z)) return FAILED(i);
})

/* ---- quoting and format() ------------------------------------------------------------------------------ */

static bool quote_literal(Buf *b, Str s) {
    bool backslash = s.len && memchr(s.ptr, '\\', s.len);
    if (!buf_add(b, "E'" + !backslash, 1 + backslash)) return false;
    for (uint32_t k = 0; k < s.len; k++) {
        if ((s.ptr[k] == '\'' || s.ptr[k] == '\\') && !buf_add(b, s.ptr + k, 1)) return false;
        if (!buf_add(b, s.ptr + k, 1)) return false;
    }
    return buf_add(b, "'", 1);
}
/* PostgreSQL's keywords that cannot stand as a bare name, sorted. */
static const char *const reserved[] = {"all",
                                       "analyse",
                                       "analyze",
                                       "and",
                                       "any",
                                       "array",
                                       "as",
                                       "asc",
                                       "asymmetric",
                                       "authorization",
                                       "between",
                                       "bigint",
                                       "binary",
                                       "bit",
                                       "boolean",
                                       "both",
                                       "case",
                                       "cast",
                                       "char",
                                       "character",
                                       "check",
                                       "coalesce",
                                       "collate",
                                       "collation",
                                       "column",
                                       "concurrently",
                                       "constraint",
                                       "create",
                                       "cross",
                                       "current_catalog",
                                       "current_date",
                                       "current_role",
                                       "current_schema",
                                       "current_time",
                                       "current_timestamp",
                                       "current_user",
                                       "dec",
                                       "decimal",
                                       "default",
                                       "deferrable",
                                       "desc",
                                       "distinct",
                                       "do",
                                       "else",
                                       "end",
                                       "except",
                                       "exists",
                                       "extract",
                                       "false",
                                       "fetch",
                                       "float",
                                       "for",
                                       "foreign",
                                       "freeze",
                                       "from",
                                       "full",
                                       "grant",
                                       "greatest",
                                       "group",
                                       "grouping",
                                       "having",
                                       "ilike",
                                       "in",
                                       "initially",
                                       "inner",
                                       "inout",
                                       "int",
                                       "integer",
                                       "intersect",
                                       "interval",
                                       "into",
                                       "is",
                                       "isnull",
                                       "join",
                                       "lateral",
                                       "leading",
                                       "least",
                                       "left",
                                       "like",
                                       "limit",
                                       "localtime",
                                       "localtimestamp",
                                       "national",
                                       "natural",
                                       "nchar",
                                       "none",
                                       "normalize",
                                       "not",
                                       "notnull",
                                       "null",
                                       "nullif",
                                       "numeric",
                                       "offset",
                                       "on",
                                       "only",
                                       "or",
                                       "order",
                                       "out",
                                       "outer",
                                       "overlaps",
                                       "overlay",
                                       "placing",
                                       "position",
                                       "precision",
                                       "primary",
                                       "real",
                                       "references",
                                       "returning",
                                       "right",
                                       "row",
                                       "select",
                                       "session_user",
                                       "setof",
                                       "similar",
                                       "smallint",
                                       "some",
                                       "substring",
                                       "symmetric",
                                       "table",
                                       "tablesample",
                                       "then",
                                       "time",
                                       "timestamp",
                                       "to",
                                       "trailing",
                                       "treat",
                                       "trim",
                                       "true",
                                       "union",
                                       "unique",
                                       "user",
                                       "using",
                                       "values",
                                       "varchar",
                                       "variadic",
                                       "verbose",
                                       "when",
                                       "where",
                                       "window",
                                       "with",
                                       "xmlattributes"};
static bool is_reserved(Str s) {
    int64_t from = 0, to = ARRAY_LEN(reserved);
    while (from < to) {
        int64_t mid = from + (to - from) / 2, len = (int64_t)strlen(reserved[mid]);
        int order = memcmp(s.ptr, reserved[mid], (size_t)MIN_OF(len, (int64_t)s.len));
        if (order == 0) order = s.len < len ? -1 : s.len > len;
        if (order == 0) return true;
        if (order < 0) to = mid;
        else from = mid + 1;
    }
    return false;
}
bool name_is_plain(Str s) {
    bool plain = s.len > 0 && ((s.ptr[0] >= 'a' && s.ptr[0] <= 'z') || s.ptr[0] == '_');
    for (uint32_t k = 0; k < s.len && plain; k++) {
        char c = s.ptr[k];
        plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
    }
    return plain && !is_reserved(s);
}
static int64_t quote_name_part(Str s, char *out) {
    char *p = out;
    *p++ = '"';
    for (uint32_t k = 0; k < s.len; k++) {
        if (s.ptr[k] == '"') *p++ = '"';
        *p++ = s.ptr[k];
    }
    *p++ = '"';
    return p - out;
}
static int64_t put_name_part(Str s, char *out) {
    if (!name_is_plain(s)) return quote_name_part(s, out);
    memcpy(out, s.ptr, s.len);
    return s.len;
}
/* The name, of a key behind its schema and a dot. */
static int64_t put_parts(Str s, char *out, int64_t (*part)(Str s, char *out)) {
    const char *mark = s.len > 1 && s.ptr[0] == KEY_MARK ? memchr(s.ptr + 1, KEY_MARK, s.len - 1) : NULL;
    if (!mark) return part(s, out);
    const int64_t n = mark - s.ptr, in = part(str_make(s.ptr + 1, n - 1), out);
    out[in] = '.';
    return in + 1 + part(str_make(mark + 1, (int64_t)s.len - n - 1), out + in + 1);
}
int64_t name_quote(Str s, char *out) { return put_parts(s, out, quote_name_part); }
int64_t name_put_quoted(const char *name, char *out) {
    const int64_t n = put_parts(str_make(name, (int64_t)strlen(name)), out, put_name_part);
    out[n] = 0;
    return n + 1;
}
static bool quote_ident(Buf *b, Str s) {
    if (name_is_plain(s)) return buf_add(b, s.ptr, s.len);
    if (!buf_room(b, 2 * (int64_t)s.len + 2)) return false;
    b->len += name_quote(s, b->p + b->len);
    return true;
}
TEXT_FN(quote_literal_text, {
    Buf b = {.ctx = ctx};
    if (!quote_literal(&b, x)) return FAILED(i);
    z = buf_str(&b);
})
KERNEL(quote_literal_any) {
    KERNEL_UNUSED();
    for (int64_t i = 0; i < n; i++) {
        Buf b = {.ctx = ctx};
        Str s;
        ((Str *)out->data)[i] = STR0;
        if (!row_valid(out, i)) continue;
        if (func_cell_output(ctx, args[0].type, arg_cell(&args[0], i), &s) != ST_OK || !quote_literal(&b, s))
            return FAILED(i);
        ((Str *)out->data)[i] = buf_str(&b);
    }
    return ST_OK;
}
TEXT_FN(quote_ident_text, {
    Buf b = {.ctx = ctx};
    if (!quote_ident(&b, x)) return FAILED(i);
    z = buf_str(&b);
})
KERNEL(quote_nullable_text) {
    KERNEL_UNUSED();
    for (int64_t i = 0; i < n; i++) {
        Buf b = {.ctx = ctx};
        out->valid[i] = 1;
        Str s = STR0;
        const bool null = arg_null(&args[0], i);
        if (!null && func_cell_output(ctx, args[0].type, arg_cell(&args[0], i), &s) != ST_OK) return FAILED(i);
        if (!(null ? buf_add(&b, "NULL", 4) : quote_literal(&b, s))) return FAILED(i);
        ((Str *)out->data)[i] = buf_str(&b);
    }
    return ST_OK;
}

/* A width given as argument `arg`: NULL is none. */
static Status format_width(FuncCtx *ctx, int64_t i, const Vec *v, int64_t *width) {
    Str s;
    Value w;
    *width = 0;
    if (arg_null(v, i)) return ST_OK;
    TRY(func_cell_output(ctx, v->type, arg_cell(v, i), &s));
    if (value_from_text(type_make(T_INT4), (Slice){s.ptr, s.len}, NULL, ctx->arena, &w, ctx->err) != ST_OK)
        return FAILED(i);
    FAIL_IF(w.u.i32 == INT32_MIN, i, ERR_NUMERIC_RANGE, "number is out of range");
    *width = w.u.i32;
    return ST_OK;
}

/* %[n$][-][width]{s|I|L} and %%; the width is a number, * (the next argument) or *n$ */
static Status format_row(FuncCtx *ctx, int64_t i, const Vec *args, int nargs, Str *z) {
    Str f = AT(Str, 0, i);
    Buf b = {.ctx = ctx};
    int next = 1;
    for (int64_t k = 0; k < f.len; k++) {
        if (f.ptr[k] != '%') {
            int64_t run = k;
            while (run < f.len && f.ptr[run] != '%') run++;
            if (!buf_add(&b, f.ptr + k, run - k)) return ST_ERROR;
            k = run - 1;
            continue;
        }
#define MORE() FAIL_IF(++k >= f.len, i, ERR_INVALID_PARAMETER, "unterminated format() type specifier")
        MORE();
        if (f.ptr[k] == '%') {
            if (!buf_add(&b, "%", 1)) return ST_ERROR;
            continue;
        }
        int64_t width = 0, arg = -1, num = 0;
        bool left = false, have = false, star = false;
        while (f.ptr[k] >= '0' && f.ptr[k] <= '9') {
            num = num * 10 + (f.ptr[k] - '0');
            have = true;
            FAIL_IF(num > INT32_MAX, i, ERR_NUMERIC_RANGE, "number is out of range");
            MORE();
        }
        if (have && f.ptr[k] == '$') {
            FAIL_IF(num == 0, i, ERR_INVALID_PARAMETER,
                    "format specifies argument 0, but arguments are numbered from 1");
            arg = num;
            num = 0, have = false;
            MORE();
        }
        if (!have) {
            while (f.ptr[k] == '-') {
                left = true;
                MORE();
            }
            star = f.ptr[k] == '*';
            if (star) MORE();
            for (have = false; f.ptr[k] >= '0' && f.ptr[k] <= '9'; have = true) {
                num = num * 10 + (f.ptr[k] - '0');
                FAIL_IF(num > INT32_MAX, i, ERR_NUMERIC_RANGE, "number is out of range");
                MORE();
            }
        }
        width = num;
        if (star) {
            FAIL_IF(have && f.ptr[k] != '$', i, ERR_INVALID_PARAMETER,
                    "width argument position must be ended by \"$\"");
            FAIL_IF(have && num == 0, i, ERR_INVALID_PARAMETER,
                    "format specifies argument 0, but arguments are numbered from 1");
            if (have) MORE();
            int64_t from = have ? num : next;
            FAIL_IF(from >= nargs, i, ERR_INVALID_PARAMETER, "too few arguments for format()");
            TRY(format_width(ctx, i, &args[from], &width));
            next = (int)from + 1;
            left |= width < 0;
            if (width < 0) width = -width;
        }
#undef MORE
        char kind = f.ptr[k];
        if (kind != 's' && kind != 'I' && kind != 'L') {
            err_set(ctx->err, ERR_INVALID_PARAMETER, "unrecognized format() type specifier \"%c\"", kind);
            err_hint(ctx->err, "For a single \"%%\" use \"%%%%\".");
            return FAILED(i);
        }
        if (arg < 0) arg = next;
        next = (int)arg + 1;
        FAIL_IF(arg >= nargs, i, ERR_INVALID_PARAMETER, "too few arguments for format()");
        Buf part = {.ctx = ctx};
        if (arg_null(&args[arg], i)) {
            FAIL_IF(kind == 'I', i, ERR_NULL_NOT_ALLOWED, "null values cannot be formatted as an SQL identifier");
            if (kind == 'L' && !buf_add(&part, "NULL", 4)) return ST_ERROR;
        } else {
            Str s;
            TRY(func_cell_output(ctx, args[arg].type, arg_cell(&args[arg], i), &s));
            bool ok = kind == 's'   ? buf_add(&part, s.ptr, s.len)
                      : kind == 'I' ? quote_ident(&part, s)
                                    : quote_literal(&part, s);
            if (!ok) return ST_ERROR;
        }
        int64_t fill = width - utf8_length(part.len ? part.p : "", part.len);
        if (!left && !buf_fill(&b, ' ', fill)) return ST_ERROR;
        if (!buf_add(&b, part.p, part.len)) return ST_ERROR;
        if (left && !buf_fill(&b, ' ', fill)) return ST_ERROR;
    }
    *z = buf_str(&b);
    return ST_OK;
}
KERNEL(format_any) {
    for (int64_t i = 0; i < n; i++) {
        Str *z = &((Str *)out->data)[i];
        *z = STR0;
        out->valid[i] = !arg_null(&args[0], i);
        if (out->valid[i] && format_row(ctx, i, args, nargs, z) != ST_OK) return FAILED(i);
    }
    return ST_OK;
}

/* ---- encode, decode, md5 ---------------------------------------------------------------------------------- */

static const char base64_digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static bool name_is(Str s, const char *name) {
    if (strlen(name) != s.len) return false;
    for (uint32_t k = 0; k < s.len; k++)
        if (ascii_lower(s.ptr[k]) != name[k]) return false;
    return true;
}
K2F(encode_bytea, Str, Str, Str, STR0, {
    if (name_is(y, "hex")) {
        NEW(p, 2 * (int64_t)x.len, i);
        hex_bytes(x.ptr, x.len, p);
        z = str_make(p, 2 * (int64_t)x.len);
    } else if (name_is(y, "base64")) {
        NEW(p, ((int64_t)x.len + 2) / 3 * 4 + x.len / 57 + 1, i);
        int64_t o = 0;
        int64_t line = 0;
        for (uint32_t k = 0; k < x.len; k += 3) {
            if (line == 76) p[o++] = '\n', line = 0;
            uint32_t v = (uint32_t)(unsigned char)x.ptr[k] << 16;
            if (k + 1 < x.len) v |= (uint32_t)(unsigned char)x.ptr[k + 1] << 8;
            if (k + 2 < x.len) v |= (unsigned char)x.ptr[k + 2];
            p[o++] = base64_digits[v >> 18];
            p[o++] = base64_digits[(v >> 12) & 63];
            p[o++] = k + 1 < x.len ? base64_digits[(v >> 6) & 63] : '=';
            p[o++] = k + 2 < x.len ? base64_digits[v & 63] : '=';
            line += 4;
        }
        z = str_make(p, o);
    } else if (name_is(y, "escape")) {
        NEW(p, 4 * (int64_t)x.len, i);
        int64_t o = 0;
        for (uint32_t k = 0; k < x.len; k++) {
            unsigned char c = (unsigned char)x.ptr[k];
            if (c == 0 || c >= 0x80) {
                p[o++] = '\\';
                p[o++] = (char)('0' + (c >> 6));
                p[o++] = (char)('0' + ((c >> 3) & 7));
                p[o++] = (char)('0' + (c & 7));
            } else {
                if (c == '\\') p[o++] = '\\';
                p[o++] = (char)c;
            }
        }
        z = str_make(p, o);
    } else {
        FAIL(i, ERR_INVALID_PARAMETER, "unrecognized encoding: \"%.*s\"", (int)MIN_OF(y.len, 64u), y.ptr);
    }
})
static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

static Status decode_base64(FuncCtx *ctx, int64_t i, Str x, char *p, int64_t *o) {
    uint32_t v = 0;
    int have = 0, ends = 0;
    for (uint32_t k = 0; k < x.len; k++) {
        char c = x.ptr[k];
        if (is_space(c)) continue;
        const char *d = c ? strchr(base64_digits, c) : NULL;
        if (c == '=') {
            FAIL_IF(have < 2, i, ERR_INVALID_PARAMETER, "unexpected \"=\" while decoding base64 sequence");
            ends++;
            v <<= 6;
        } else {
            FAIL_IF(!d || ends, i, ERR_INVALID_PARAMETER,
                    "invalid symbol \"%.*s\" found while decoding base64 sequence",
                    (int)char_bytes(x.ptr + k, x.len - k), x.ptr + k);
            v = v << 6 | (uint32_t)(d - base64_digits);
        }
        if (++have == 4) {
            p[(*o)++] = (char)(v >> 16);
            if (ends < 2) p[(*o)++] = (char)(v >> 8);
            if (ends < 1) p[(*o)++] = (char)v;
            v = 0, have = 0;
        }
    }
    if (have) {
        err_set(ctx->err, ERR_INVALID_PARAMETER, "invalid base64 end sequence");
        err_hint(ctx->err, "Input data is missing padding, is truncated, or is otherwise corrupted.");
        return FAILED(i);
    }
    return ST_OK;
}
K2F(decode_text, Str, Str, Str, STR0, {
    NEW(p, x.len, i);
    int64_t o = 0;
    if (name_is(y, "hex")) {
        int hi = -1;
        for (uint32_t k = 0; k < x.len; k++) {
            if (is_space(x.ptr[k])) continue;
            int h = hex_digit(x.ptr[k]);
            FAIL_IF(h < 0, i, ERR_INVALID_PARAMETER, "invalid hexadecimal digit: \"%.*s\"",
                    (int)char_bytes(x.ptr + k, x.len - k), x.ptr + k);
            if (hi < 0) {
                hi = h;
            } else {
                p[o++] = (char)(hi << 4 | h);
                hi = -1;
            }
        }
        FAIL_IF(hi >= 0, i, ERR_INVALID_PARAMETER, "invalid hexadecimal data: odd number of digits");
    } else if (name_is(y, "base64")) {
        TRY(decode_base64(ctx, i, x, p, &o));
    } else if (name_is(y, "escape")) {
        for (uint32_t k = 0; k < x.len; k++) {
            if (x.ptr[k] != '\\') {
                p[o++] = x.ptr[k];
            } else if (k + 1 < x.len && x.ptr[k + 1] == '\\') {
                p[o++] = '\\';
                k++;
            } else {
                bool ok = k + 3 < x.len && x.ptr[k + 1] >= '0' && x.ptr[k + 1] <= '3';
                for (uint32_t q = 2; ok && q < 4; q++) ok = x.ptr[k + q] >= '0' && x.ptr[k + q] <= '7';
                FAIL_IF(!ok, i, ERR_INVALID_TEXT, "invalid input syntax for type %s", "bytea");
                p[o++] = (char)((x.ptr[k + 1] - '0') << 6 | (x.ptr[k + 2] - '0') << 3 | (x.ptr[k + 3] - '0'));
                k += 3;
            }
        }
    } else {
        FAIL(i, ERR_INVALID_PARAMETER, "unrecognized encoding: \"%.*s\"", (int)MIN_OF(y.len, 64u), y.ptr);
    }
    z = str_make(p, o);
})

/* RFC 1321. */
static uint32_t rotl32(uint32_t v, int k) { return v << k | v >> (32 - k); }
static void md5_block(uint32_t h[4], const unsigned char *p) {
    static const uint32_t K[64] = {
        0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
        0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
        0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
        0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
        0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
        0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
        0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
        0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391};
    static const int R[16] = {7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21};
    uint32_t w[16], a = h[0], b = h[1], c = h[2], d = h[3];
    memcpy(w, p, 64);
    for (int k = 0; k < 64; k++) {
        uint32_t f;
        int g;
        if (k < 16) f = (b & c) | (~b & d), g = k;
        else if (k < 32) f = (d & b) | (~d & c), g = (5 * k + 1) & 15;
        else if (k < 48) f = b ^ c ^ d, g = (3 * k + 5) & 15;
        else f = c ^ (b | ~d), g = (7 * k) & 15;
        uint32_t t = d;
        d = c;
        c = b;
        b += rotl32(a + f + K[k] + w[g], R[(k >> 4) * 4 + (k & 3)]);
        a = t;
    }
    h[0] += a, h[1] += b, h[2] += c, h[3] += d;
}
TEXT_FN(md5_str, {
    uint32_t h[4] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
    uint32_t k = 0;
    for (; x.len - k >= 64; k += 64) md5_block(h, (const unsigned char *)x.ptr + k);
    unsigned char tail[128] = {0};
    uint32_t rest = x.len - k;
    uint32_t end = rest < 56 ? 64 : 128;
    if (rest) memcpy(tail, x.ptr + k, rest);
    tail[rest] = 0x80;
    uint64_t bits = (uint64_t)x.len * 8;
    memcpy(tail + end - 8, &bits, 8);
    for (uint32_t q = 0; q < end; q += 64) md5_block(h, tail + q);
    char raw[16];
    memcpy(raw, h, 16);
    NEW(p, 32, i);
    hex_bytes(raw, 16, p);
    z = str_make(p, 32);
})

K1(hashtext_str, Str, int32_t, (uint32_t)hash_bytes(x.ptr, x.len))
/* Bytes and bits of a bytea; bit 0 is the lowest of the first byte. */
static bool in_bytes(Str x, int64_t bit) { return bit >= 0 && bit < (int64_t)x.len * 8; }
#define BYTE_RANGE(i)                                                                                              \
    FAIL_IF(y < 0 || (uint32_t)y >= x.len, i, ERR_ARRAY_SUBSCRIPT, "index %d out of valid range, 0..%lld", (int)y, \
            (long long)x.len - 1)
#define BIT_RANGE(i)                                                                                         \
    FAIL_IF(!in_bytes(x, y), i, ERR_ARRAY_SUBSCRIPT, "index %lld out of valid range, 0..%lld", (long long)y, \
            (long long)x.len * 8 - 1)
#define NEW_COPY(p, i)         \
    NEW(p, (int64_t)x.len, i); \
    memcpy(p, x.ptr, x.len)
K2F(get_byte_str, Str, int32_t, int32_t, 0, {
    BYTE_RANGE(i);
    z = (unsigned char)x.ptr[y];
})
K2F(set_byte_str, Str, int32_t, Str, STR0, {
    BYTE_RANGE(i);
    NEW_COPY(p, i);
    p[y] = (char)AT(int32_t, 2, i);
    z = str_make(p, x.len);
})
K2F(get_bit_str, Str, int64_t, int32_t, 0, {
    BIT_RANGE(i);
    z = (unsigned char)x.ptr[y / 8] >> (y % 8) & 1;
})
K2F(set_bit_str, Str, int64_t, Str, STR0, {
    BIT_RANGE(i);
    const int32_t bit = AT(int32_t, 2, i);
    FAIL_IF(bit != 0 && bit != 1, i, ERR_INVALID_PARAMETER, "new bit must be 0 or 1");
    NEW_COPY(p, i);
    const unsigned mask = 1U << (y % 8);
    p[y / 8] = (char)(bit ? (unsigned char)p[y / 8] | mask : (unsigned char)p[y / 8] & ~mask);
    z = str_make(p, x.len);
})
K1F(bit_count_str, Str, int64_t, 0, {
    for (uint32_t k = 0; k < x.len; k++) z += __builtin_popcount((unsigned char)x.ptr[k]);
})

/* ---- table ---------------------------------------------------------------------------------------------------- */

#define OPF (FN_OPERATOR | SF)
#define OPS (FN_OPERATOR | S_)
#define TT ARGS(T_TEXT, T_TEXT)
#define TTT ARGS(T_TEXT, T_TEXT, T_TEXT)
#define TI ARGS(T_TEXT, T_INT4)
#define BB ARGS(T_BYTEA, T_BYTEA)
#define TII ARGS(T_TEXT, T_INT4, T_INT4)
static const FuncDef defs[] = {
    DEF("~~", OPF, T_BOOL, 2, TT, OP_LIKE, like_op, NULL, "LIKE"),
    DEF("!~~", OPF, T_BOOL, 2, TT, OP_NONE, not_like_op, NULL, "NOT LIKE"),
    DEF("~~*", OPF, T_BOOL, 2, TT, OP_LIKE, ilike_op, NULL, "ILIKE"),
    DEF("!~~*", OPF, T_BOOL, 2, TT, OP_NONE, not_ilike_op, NULL, "NOT ILIKE"),
    DEF("like", SF, T_BOOL, 2, TT, OP_NONE, like_op, NULL, "LIKE"),
    DEF("like_escape", SF, T_TEXT, 2, TT, OP_NONE, like_escape_text, NULL, "pattern with backslash as its escape"),
    DEF("like_escape", SF, T_BOOL, 3, TTT, OP_NONE, like_op, NULL, "LIKE ... ESCAPE"),
    DEF("ilike_escape", SF, T_BOOL, 3, TTT, OP_NONE, ilike_op, NULL, "ILIKE ... ESCAPE"),
    DEF("||", OPF, T_TEXT, 2, TT, OP_NONE, cat_text, NULL, "concatenation"),
    DEF("||", OPF, T_TEXT, 2, ARGS(T_TEXT, T_ANY), OP_NONE, cat_any, NULL, "concatenation"),
    DEF("||", OPF, T_TEXT, 2, ARGS(T_ANY, T_TEXT), OP_NONE, cat_any, NULL, "concatenation"),
    DEF("||", OPF, T_BYTEA, 2, ARGS(T_BYTEA, T_BYTEA), OP_NONE, cat_text, NULL, "concatenation"),
    DEF("concat", FN_VARIADIC | FN_CAN_FAIL, T_TEXT, 1, ARGS(T_ANY), OP_NONE, concat_any, NULL,
        "arguments joined, NULLs skipped"),
    DEF("concat_ws", FN_VARIADIC | FN_CAN_FAIL, T_TEXT, 2, ARGS(T_TEXT, T_ANY), OP_NONE, concat_ws_any, NULL,
        "arguments joined with a separator, NULLs skipped"),
    DEF("length", S_, T_INT4, 1, ARGS(T_TEXT), OP_NONE, length_text, NULL, "characters"),
    DEF("char_length", S_, T_INT4, 1, ARGS(T_TEXT), OP_NONE, length_text, NULL, "characters"),
    DEF("character_length", S_, T_INT4, 1, ARGS(T_TEXT), OP_NONE, length_text, NULL, "characters"),
    DEF("length", S_, T_INT4, 1, ARGS(T_BYTEA), OP_NONE, octet_length_str, NULL, "bytes"),
    DEF("octet_length", S_, T_INT4, 1, ARGS(T_TEXT), OP_NONE, octet_length_str, NULL, "bytes"),
    DEF("octet_length", S_, T_INT4, 1, ARGS(T_BYTEA), OP_NONE, octet_length_str, NULL, "bytes"),
    DEF("bit_length", SF, T_INT4, 1, ARGS(T_TEXT), OP_NONE, bit_length_str, NULL, "bits"),
    DEF("bit_length", SF, T_INT4, 1, ARGS(T_BYTEA), OP_NONE, bit_length_str, NULL, "bits"),
    DEF("lower", SF, T_TEXT, 1, ARGS(T_TEXT), OP_NONE, lower_text, NULL, "in lower case"),
    DEF("upper", SF, T_TEXT, 1, ARGS(T_TEXT), OP_NONE, upper_text, NULL, "in upper case"),
    DEF("initcap", SF, T_TEXT, 1, ARGS(T_TEXT), OP_NONE, initcap_text, NULL, "words capitalised"),
    DEF("btrim", S_, T_TEXT, 1, ARGS(T_TEXT), OP_NONE, btrim1, NULL, "without blanks at both ends"),
    DEF("trim", S_, T_TEXT, 1, ARGS(T_TEXT), OP_NONE, btrim1, NULL, "without blanks at both ends"),
    DEF("ltrim", S_, T_TEXT, 1, ARGS(T_TEXT), OP_NONE, ltrim1, NULL, "without blanks at the start"),
    DEF("rtrim", S_, T_TEXT, 1, ARGS(T_TEXT), OP_NONE, rtrim1, NULL, "without blanks at the end"),
    DEF("btrim", S_, T_TEXT, 2, TT, OP_NONE, btrim2, NULL, "without the given characters at both ends"),
    DEF("trim", S_, T_TEXT, 2, TT, OP_NONE, btrim2, NULL, "without the given characters at both ends"),
    DEF("ltrim", S_, T_TEXT, 2, TT, OP_NONE, ltrim2, NULL, "without the given characters at the start"),
    DEF("rtrim", S_, T_TEXT, 2, TT, OP_NONE, rtrim2, NULL, "without the given characters at the end"),
    DEF("btrim", S_, T_BYTEA, 2, BB, OP_NONE, bytea_btrim, NULL, "without the given bytes at both ends"),
    DEF("trim", S_, T_BYTEA, 2, BB, OP_NONE, bytea_btrim, NULL, "without the given bytes at both ends"),
    DEF("ltrim", S_, T_BYTEA, 2, BB, OP_NONE, bytea_ltrim, NULL, "without the given bytes at the start"),
    DEF("rtrim", S_, T_BYTEA, 2, BB, OP_NONE, bytea_rtrim, NULL, "without the given bytes at the end"),
    DEF("substring", S_, T_TEXT, 2, TI, OP_NONE, substr2, NULL, "from a position on"),
    DEF("substr", S_, T_TEXT, 2, TI, OP_NONE, substr2, NULL, "from a position on"),
    DEF("substring", SF, T_TEXT, 3, TII, OP_NONE, substr3, NULL, "from a position, some characters"),
    DEF("substr", SF, T_TEXT, 3, TII, OP_NONE, substr3, NULL, "from a position, some characters"),
    DEF("substring", S_, T_BYTEA, 2, ARGS(T_BYTEA, T_INT4), OP_NONE, bytea_substr2, NULL, "from a position on"),
    DEF("substr", S_, T_BYTEA, 2, ARGS(T_BYTEA, T_INT4), OP_NONE, bytea_substr2, NULL, "from a position on"),
    DEF("substring", SF, T_BYTEA, 3, ARGS(T_BYTEA, T_INT4, T_INT4), OP_NONE, bytea_substr3, NULL,
        "part of a byte string"),
    DEF("substr", SF, T_BYTEA, 3, ARGS(T_BYTEA, T_INT4, T_INT4), OP_NONE, bytea_substr3, NULL, "part of a byte string"),
    DEF("substring", NF, T_TEXT, 2, TT, OP_NONE, func_substring_regex, NULL, "what matches a regular expression"),
    DEF("position", S_, T_INT4, 2, TT, OP_NONE, position_text, NULL,
        "position of the second in the first, 0 if absent"),
    DEF("position", S_, T_INT4, 2, ARGS(T_BYTEA, T_BYTEA), OP_NONE, position_bytea, NULL,
        "position of the second in the first, 0 if absent"),
    DEF("strpos", S_, T_INT4, 2, TT, OP_NONE, position_text, NULL, "position of the second in the first, 0 if absent"),
    DEF("left", S_, T_TEXT, 2, TI, OP_NONE, left_text, NULL, "first n characters"),
    DEF("right", S_, T_TEXT, 2, TI, OP_NONE, right_text, NULL, "last n characters"),
    DEF("lpad", SF, T_TEXT, 2, TI, OP_NONE, lpad2, NULL, "filled on the left"),
    DEF("rpad", SF, T_TEXT, 2, TI, OP_NONE, rpad2, NULL, "filled on the right"),
    DEF("lpad", SF, T_TEXT, 3, ARGS(T_TEXT, T_INT4, T_TEXT), OP_NONE, lpad3, NULL, "filled on the left"),
    DEF("rpad", SF, T_TEXT, 3, ARGS(T_TEXT, T_INT4, T_TEXT), OP_NONE, rpad3, NULL, "filled on the right"),
    DEF("repeat", SF, T_TEXT, 2, TI, OP_NONE, repeat_text, NULL, "repeated n times"),
    DEF("replace", SF, T_TEXT, 3, TTT, OP_NONE, replace_text, NULL, "all occurrences replaced"),
    DEF("reverse", SF, T_TEXT, 1, ARGS(T_TEXT), OP_NONE, reverse_text, NULL, "characters in reverse order"),
    DEF("split_part", SF, T_TEXT, 3, ARGS(T_TEXT, T_TEXT, T_INT4), OP_NONE, split_part_text, NULL, "n-th field"),
    DEF("translate", SF, T_TEXT, 3, TTT, OP_NONE, translate_text, NULL, "characters replaced one by one"),
    DEF("overlay", SF, T_TEXT, 3, ARGS(T_TEXT, T_TEXT, T_INT4), OP_NONE, overlay3, NULL, "part replaced"),
    DEF("overlay", SF, T_TEXT, 4, ARGS(T_TEXT, T_TEXT, T_INT4, T_INT4), OP_NONE, overlay4, NULL, "part replaced"),
    DEF("overlay", SF, T_BYTEA, 3, ARGS(T_BYTEA, T_BYTEA, T_INT4), OP_NONE, bytea_overlay3, NULL, "part replaced"),
    DEF("overlay", SF, T_BYTEA, 4, ARGS(T_BYTEA, T_BYTEA, T_INT4, T_INT4), OP_NONE, bytea_overlay4, NULL,
        "part replaced"),
    DEF("starts_with", S_, T_BOOL, 2, TT, OP_NONE, starts_with_text, NULL, "whether the first starts with the second"),
    DEF("^@", OPS, T_BOOL, 2, TT, OP_NONE, starts_with_text, NULL, "whether the first starts with the second"),
    DEF("ascii", S_, T_INT4, 1, ARGS(T_TEXT), OP_NONE, ascii_text, NULL, "code point of the first character"),
    DEF("chr", SF, T_TEXT, 1, ARGS(T_INT4), OP_NONE, chr_int, NULL, "character of a code point"),
    DEF("to_hex", SF, T_TEXT, 1, ARGS(T_INT4), OP_NONE, to_hex_i32, NULL, "hexadecimal"),
    DEF("to_hex", SF, T_TEXT, 1, ARGS(T_INT8), OP_NONE, to_hex_i64, NULL, "hexadecimal"),
    DEF("md5", SF, T_TEXT, 1, ARGS(T_TEXT), OP_NONE, md5_str, NULL, "MD5 in hexadecimal"),
    DEF("md5", SF, T_TEXT, 1, ARGS(T_BYTEA), OP_NONE, md5_str, NULL, "MD5 in hexadecimal"),
    DEF("hashtext", S_, T_INT4, 1, ARGS(T_TEXT), OP_NONE, hashtext_str, NULL, "hash"),
    DEF("quote_literal", SF, T_TEXT, 1, ARGS(T_TEXT), OP_NONE, quote_literal_text, NULL, "as an SQL literal"),
    DEF("quote_literal", SF, T_TEXT, 1, ARGS(T_ANY), OP_NONE, quote_literal_any, NULL, "as an SQL literal"),
    DEF("quote_nullable", FN_CAN_FAIL, T_TEXT, 1, ARGS(T_ANY), OP_NONE, quote_nullable_text, NULL,
        "as an SQL literal, NULL as NULL"),
    DEF("quote_nullable", FN_CAN_FAIL, T_TEXT, 1, ARGS(T_TEXT), OP_NONE, quote_nullable_text, NULL,
        "as an SQL literal, or NULL"),
    DEF("quote_ident", SF, T_TEXT, 1, ARGS(T_TEXT), OP_NONE, quote_ident_text, NULL, "as an SQL name"),
    DEF("format", FN_CAN_FAIL, T_TEXT, 1, ARGS(T_TEXT), OP_NONE, format_any, NULL, "formatted by %s, %I, %L"),
    DEF("format", FN_CAN_FAIL | FN_VARIADIC, T_TEXT, 2, ARGS(T_TEXT, T_ANY), OP_NONE, format_any, NULL,
        "formatted by %s, %I, %L"),
    DEF("encode", SF, T_TEXT, 2, ARGS(T_BYTEA, T_TEXT), OP_NONE, encode_bytea, NULL, "as hex, base64 or escape"),
    DEF("decode", SF, T_BYTEA, 2, TT, OP_NONE, decode_text, NULL, "from hex, base64 or escape"),
    DEF("get_byte", SF, T_INT4, 2, ARGS(T_BYTEA, T_INT4), OP_NONE, get_byte_str, NULL, "n-th byte"),
    DEF("set_byte", SF, T_BYTEA, 3, ARGS(T_BYTEA, T_INT4, T_INT4), OP_NONE, set_byte_str, NULL,
        "with another n-th byte"),
    DEF("get_bit", SF, T_INT4, 2, ARGS(T_BYTEA, T_INT8), OP_NONE, get_bit_str, NULL, "n-th bit"),
    DEF("set_bit", SF, T_BYTEA, 3, ARGS(T_BYTEA, T_INT8, T_INT4), OP_NONE, set_bit_str, NULL, "with another n-th bit"),
    DEF("bit_count", S_, T_INT8, 1, ARGS(T_BYTEA), OP_NONE, bit_count_str, NULL, "number of bits that are set"),
};
const FuncDefs func_defs_text = {defs, ARRAY_LEN(defs)};
