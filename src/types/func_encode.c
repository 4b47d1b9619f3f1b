/* func_encode.c - texts in other encodings, Unicode's normal forms and escapes, hashes of bytes, LIKE of bytea.
 *
 * The C library converts between encodings (base/encoding.h), utf8proc knows the normal forms.
 */
#include <errno.h>
#include <iconv.h>
#include <stdlib.h>
#include <strings.h>
#include <utf8proc.h>

#include "base/encoding.h"
#include "base/sha256.h"
#include "base/sha512.h"
#include "types/chars.h"
#include "types/func_int.h"
#include "types/like_parts.h"

/* ---- encodings ---------------------------------------------------------------------------------------- */

static Status named(FuncCtx *ctx, int64_t i, Str name, const char *what, const TextEncoding **out) {
    const char *text = arena_strndup(ctx->arena, name.ptr, name.len);
    if (!text) return FAILED(i);
    *out = encoding_named(text);
    FAIL_IF(!*out, i, ERR_INVALID_PARAMETER, "invalid %sencoding name \"%s\"", what, text);
    return ST_OK;
}
static Status invalid_bytes(FuncCtx *ctx, int64_t i, const TextEncoding *x, const char *at, int64_t n) {
    char shown[ENCODING_SHOWN_MAX];
    encoding_show(at, n, !x->iconv, shown);
    FAIL(i, ERR_CHAR_NOT_IN_REPERTOIRE, "invalid byte sequence for encoding \"%s\": %s", x->name, shown);
}
/* One of the two has a name for iconv. */
static Status by_iconv(FuncCtx *ctx, int64_t i, iconv_t cd, Str x, const TextEncoding *from, const TextEncoding *to,
                       Str *out) {
    const size_t room = (size_t)x.len * 4 + 16;
    char *p = ctx_alloc(ctx, (int64_t)room), *in = (char *)(uintptr_t)x.ptr, *at = p;
    size_t left = x.len, space = room;
    if (!p) return FAILED(i);
    const size_t st = iconv(cd, &in, &left, &at, &space);
    const int why = errno;
    if (st != (size_t)-1 && iconv(cd, NULL, NULL, &at, &space) != (size_t)-1)
        return *out = str_make(p, (int64_t)(room - space)), ST_OK;
    if (why == EILSEQ && !from->iconv) {
        char shown[ENCODING_SHOWN_MAX];
        encoding_show(in, (int64_t)left, true, shown);
        FAIL(i, ERR_UNTRANSLATABLE,
             "character with byte sequence %s in encoding \"%s\" has no equivalent in encoding \"%s\"", shown,
             from->name, to->name);
    }
    return invalid_bytes(ctx, i, from, in, (int64_t)left);
}
static Status recode(FuncCtx *ctx, int64_t i, Str x, const TextEncoding *from, const TextEncoding *to, Str *out) {
    if (!from->iconv) {
        const int64_t bad = utf8_check(x.ptr, x.len);
        if (bad >= 0) return invalid_bytes(ctx, i, from, x.ptr + bad, x.len - bad);
    }
    if (from == to || (!from->iconv && !to->iconv)) return *out = x, ST_OK;
    const iconv_t cd = iconv_open(to->iconv ? to->iconv : "UTF-8", from->iconv ? from->iconv : "UTF-8");
    FAIL_IF(cd == (iconv_t)-1, i, ERR_UNDEFINED_FUNCTION,
            "default conversion function for encoding \"%s\" to \"%s\" does not exist", from->name, to->name);
    const Status st = by_iconv(ctx, i, cd, x, from, to, out);
    iconv_close(cd);
    return st;
}
K2F(convert_from_str, Str, Str, Str, STR0, {
    const TextEncoding *from;
    TRY(named(ctx, i, y, "source ", &from));
    TRY(recode(ctx, i, x, from, encoding_named("UTF8"), &z));
})
K2F(convert_to_str, Str, Str, Str, STR0, {
    const TextEncoding *to;
    TRY(named(ctx, i, y, "destination ", &to));
    TRY(recode(ctx, i, x, encoding_named("UTF8"), to, &z));
})
K2F(convert_str, Str, Str, Str, STR0, {
    const TextEncoding *from;
    const TextEncoding *to;
    TRY(named(ctx, i, y, "source ", &from));
    TRY(named(ctx, i, AT(Str, 2, i), "destination ", &to));
    TRY(recode(ctx, i, x, from, to, &z));
})
K2F(length_in, Str, Str, int32_t, 0, {
    const TextEncoding *from;
    Str text;
    TRY(named(ctx, i, y, "", &from));
    TRY(recode(ctx, i, x, from, encoding_named("UTF8"), &text));
    z = (int32_t)utf8_length(text.ptr, text.len);
})

/* ---- Unicode ------------------------------------------------------------------------------------------ */

static Status normal_form(FuncCtx *ctx, int64_t i, Str x, Str form, Str *out) {
    static const struct {
        const char *name;
        utf8proc_option_t options;
    } forms[] = {{"NFC", UTF8PROC_STABLE | UTF8PROC_COMPOSE},
                 {"NFD", UTF8PROC_STABLE | UTF8PROC_DECOMPOSE},
                 {"NFKC", UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT},
                 {"NFKD", UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT}};
    int k = 0;
    while (k < 4 && (form.len != strlen(forms[k].name) || strncasecmp(form.ptr, forms[k].name, form.len) != 0)) k++;
    FAIL_IF(k == 4, i, ERR_INVALID_PARAMETER, "invalid normalization form: %.*s", (int)MIN_OF(form.len, 64u), form.ptr);
    utf8proc_uint8_t *made = NULL;
    const utf8proc_ssize_t n =
        utf8proc_map((const utf8proc_uint8_t *)x.ptr, (utf8proc_ssize_t)x.len, &made, forms[k].options);
    const bool ok = n >= 0 && ctx_str(ctx, (const char *)made, n, out);
    free(made); /* utf8proc takes it from the C library */
    if (!ok && !err_is_set(ctx->err)) err_oom(ctx->err);
    return ok ? ST_OK : FAILED(i);
}
static Str form_of(const Vec *args, int nargs, int64_t i) { return nargs > 1 ? AT(Str, 1, i) : str_make("NFC", 3); }
K1F(normalize_text, Str, Str, STR0, { TRY(normal_form(ctx, i, x, form_of(args, nargs, i), &z)); })
K1F(is_normalized_text, Str, uint8_t, 0, {
    Str made;
    TRY(normal_form(ctx, i, x, form_of(args, nargs, i), &made));
    z = str_eq(x, made);
})

/* The digits of an escape at p, behind the backslash; 0: it is none. */
static int64_t escape_digits(const char *p, const char *end, uint32_t *code, int *skip) {
    const char kind = p < end ? *p : 0;
    const int64_t n = kind == '+' ? 6 : kind == 'U' ? 8 : 4;
    *skip = kind == '+' || kind == 'u' || kind == 'U';
    if (end - p < *skip + n) return 0;
    *code = 0;
    for (int64_t k = 0; k < n; k++) {
        const int d = hex_digit(p[*skip + k]);
        if (d < 0) return 0;
        *code = *code << 4 | (uint32_t)d;
    }
    return *skip + n;
}
static Status bad_escape(FuncCtx *ctx, int64_t i) {
    err_set(ctx->err, ERR_SYNTAX, "invalid Unicode escape");
    err_hint(ctx->err, "Unicode escapes must be \\XXXX, \\+XXXXXX, \\uXXXX, or \\UXXXXXXXX.");
    return FAILED(i);
}
static bool is_high(uint32_t c) { return c >= 0xD800 && c <= 0xDBFF; }
static bool is_low(uint32_t c) { return c >= 0xDC00 && c <= 0xDFFF; }
K1F(unistr_text, Str, Str, STR0, {
    char *p = ctx_alloc(ctx, (int64_t)x.len);
    if (!p) return FAILED(i);
    char *o = p;
    uint32_t first = 0; /* of a surrogate pair */
    for (const char *s = x.ptr, *end = x.ptr + x.len; s < end || first;) {
        uint32_t c = 0;
        int skip;
        const bool escape = s < end && *s == '\\' && !(s + 1 < end && s[1] == '\\');
        FAIL_IF(first && !escape, i, ERR_SYNTAX, "invalid Unicode surrogate pair");
        if (!escape) {
            s += *s == '\\';
            *o++ = *s++;
            continue;
        }
        const int64_t used = escape_digits(s + 1, end, &c, &skip);
        if (used == 0) return bad_escape(ctx, i);
        FAIL_IF(c == 0 || c > 0x10FFFF, i, ERR_INVALID_PARAMETER, "invalid Unicode code point: %04X", c);
        FAIL_IF(first ? !is_low(c) : is_low(c), i, ERR_SYNTAX, "invalid Unicode surrogate pair");
        s += 1 + used;
        if (is_high(c)) {
            first = c;
            continue;
        }
        if (first) c = 0x10000 + ((first & 0x3FF) << 10) + (c & 0x3FF);
        first = 0;
        o = utf8_put(o, c);
    }
    z = str_make(p, o - p);
})

/* ---- hashes of bytes ---------------------------------------------------------------------------------- */

#define SHA(fn, hash, BYTES)                       \
    K1F(fn, Str, Str, STR0, {                      \
        char *p = ctx_alloc(ctx, BYTES);           \
        if (!p) return FAILED(i);                  \
        hash(x.ptr, (int64_t)x.len, (uint8_t *)p); \
        z = str_make(p, BYTES);                    \
    })
SHA(sha224_str, sha224, SHA224_BYTES)
SHA(sha256_str, sha256, SHA256_BYTES)
SHA(sha384_str, sha384, SHA384_BYTES)
SHA(sha512_str, sha512, SHA512_BYTES)

/* ---- LIKE of bytea ------------------------------------------------------------------------------------ */

KERNEL(bytea_like) {
    KERNEL_UNUSED();
    const bool negated = ctx->func->name[0] == '!';
    for (int64_t i = 0; i < n; i++) {
        bool match = false;
        if (row_valid(out, i) && like_stepwise(slice_of_str(AT(Str, 0, i)), slice_of_str(AT(Str, 1, i)), '\\', true,
                                               &match, ctx->err) != ST_OK)
            return FAILED(i);
        ((uint8_t *)out->data)[i] = match != negated;
    }
    return ST_OK;
}

/* ---- table -------------------------------------------------------------------------------------------- */

#define OPF (FN_OPERATOR | SF)
#define TT ARGS(T_TEXT, T_TEXT)
#define BT ARGS(T_BYTEA, T_TEXT)
#define BB ARGS(T_BYTEA, T_BYTEA)
#define SHA_DEF(nm, fn, dc) DEF(nm, SF, T_BYTEA, 1, ARGS(T_BYTEA), OP_NONE, fn, NULL, dc)
static const FuncDef defs[] = {
    DEF("convert_from", SF, T_TEXT, 2, BT, OP_NONE, convert_from_str, NULL, "bytes of an encoding as text"),
    DEF("convert_to", SF, T_BYTEA, 2, TT, OP_NONE, convert_to_str, NULL, "bytes of a text in an encoding"),
    DEF("convert", SF, T_BYTEA, 3, ARGS(T_BYTEA, T_TEXT, T_TEXT), OP_NONE, convert_str, NULL,
        "bytes from one encoding to another"),
    DEF("length", SF, T_INT4, 2, BT, OP_NONE, length_in, NULL, "characters of bytes in an encoding"),
    DEF("normalize", SF, T_TEXT, 1, ARGS(T_TEXT), OP_NONE, normalize_text, NULL, "in Unicode's normal form NFC"),
    DEF("normalize", SF, T_TEXT, 2, TT, OP_NONE, normalize_text, NULL, "in a normal form: NFC, NFD, NFKC or NFKD"),
    DEF("is_normalized", SF, T_BOOL, 1, ARGS(T_TEXT), OP_NONE, is_normalized_text, NULL,
        "whether it is in normal form NFC"),
    DEF("is_normalized", SF, T_BOOL, 2, TT, OP_NONE, is_normalized_text, NULL, "whether it is in a normal form"),
    DEF("unistr", SF, T_TEXT, 1, ARGS(T_TEXT), OP_NONE, unistr_text, NULL, "Unicode escapes as characters"),
    SHA_DEF("sha224", sha224_str, "SHA-224"),
    SHA_DEF("sha256", sha256_str, "SHA-256"),
    SHA_DEF("sha384", sha384_str, "SHA-384"),
    SHA_DEF("sha512", sha512_str, "SHA-512"),
    DEF("~~", OPF, T_BOOL, 2, BB, OP_NONE, bytea_like, NULL, "LIKE"),
    DEF("!~~", OPF, T_BOOL, 2, BB, OP_NONE, bytea_like, NULL, "NOT LIKE"),
    DEF("like", SF, T_BOOL, 2, BB, OP_NONE, bytea_like, NULL, "LIKE"),
};
const FuncDefs func_defs_encode = {defs, ARRAY_LEN(defs)};
