/* func_names.c - names and sizes as texts: parse_ident, pg_size_bytes, pg_size_pretty of numerics, pg_column_size,
 * pg_options_to_table's rows. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "types/func_int.h"
#include "types/json.h"

/* ---- parse_ident ---- */

static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
static bool starts_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (unsigned char)c >= 0x80;
}
static bool continues_name(char c) { return starts_name(c) || (c >= '0' && c <= '9') || c == '$'; }

typedef struct Idents {
    FuncCtx *ctx;
    Str text;
    const char *at, *end;
    VEC(Str) parts;
} Idents;
static Status not_ident(const Idents *x, const char *detail) {
    err_set(x->ctx->err, ERR_INVALID_PARAMETER, "string is not a valid identifier: \"%.*s\"",
            (int)MIN_OF(x->text.len, 512), x->text.ptr);
    if (detail) err_detail(x->ctx->err, "%s", detail);
    return ST_ERROR;
}
static void skip_spaces(Idents *x) {
    while (x->at < x->end && is_space(*x->at)) x->at++;
}
static Status quoted_part(Idents *x) {
    char *out = ctx_alloc(x->ctx, x->end - x->at + 1), *w = out;
    if (!out) return ST_ERROR;
    for (x->at++;; x->at++) {
        if (x->at == x->end) return not_ident(x, "String has unclosed double quotes.");
        if (*x->at == '"' && (x->at + 1 == x->end || x->at[1] != '"')) break;
        if (*x->at == '"') x->at++;
        *w++ = *x->at;
    }
    x->at++;
    if (w == out) return not_ident(x, "Quoted identifier must not be empty.");
    return vec_push(x->ctx->arena, &x->parts, str_make(out, w - out)) ? ST_OK : err_oom(x->ctx->err);
}
static Status plain_part(Idents *x) {
    const char *from = x->at;
    while (x->at < x->end && continues_name(*x->at)) x->at++;
    const int64_t n = x->at - from;
    char *out = ctx_alloc(x->ctx, n);
    if (!out) return ST_ERROR;
    for (int64_t i = 0; i < n; i++) out[i] = (char)(from[i] >= 'A' && from[i] <= 'Z' ? from[i] + 32 : from[i]);
    return vec_push(x->ctx->arena, &x->parts, str_make(out, n)) ? ST_OK : err_oom(x->ctx->err);
}
static Status parse_ident(Idents *x, bool strict) {
    skip_spaces(x);
    for (bool after_dot = false;; after_dot = true) {
        const bool quoted = x->at < x->end && *x->at == '"';
        if (!quoted && (x->at == x->end || !starts_name(*x->at))) {
            if (x->at < x->end && *x->at == '.') return not_ident(x, "No valid identifier before \".\".");
            return not_ident(x, after_dot ? "No valid identifier after \".\"." : NULL);
        }
        TRY(quoted ? quoted_part(x) : plain_part(x));
        skip_spaces(x);
        if (x->at == x->end || *x->at != '.') break;
        x->at++;
        skip_spaces(x);
    }
    return x->at == x->end || !strict ? ST_OK : not_ident(x, NULL);
}
KERNEL(parse_ident_text) {
    for (int64_t i = 0; i < n; i++) {
        ((Str *)out->data)[i] = STR0;
        if (!row_valid(out, i)) continue;
        Idents x = {.ctx = ctx, .text = AT(Str, 0, i)};
        x.at = x.text.ptr;
        x.end = x.at + x.text.len;
        if (parse_ident(&x, nargs < 2 || AT(uint8_t, 1, i)) != ST_OK) return FAILED(i);
        if (array_build(ctx->arena, PH_STR, x.parts.len, x.parts.items, NULL, (Str *)out->data + i, ctx->err) != ST_OK)
            return FAILED(i);
    }
    return ST_OK;
}

/* ---- sizes ---- */

static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB", "PB"};
/* PostgreSQL's: the largest unit of which there are less than 10240 (of the last: any number), halves away from zero.
 */
KERNEL(size_pretty_numeric) {
    KERNEL_UNUSED();
    for (int64_t i = 0; i < n; i++) {
        Str whole;
        ((Str *)out->data)[i] = STR0;
        if (!row_valid(out, i)) continue;
        if (func_cell_output(ctx, args[0].type, arg_cell(&args[0], i), &whole) != ST_OK) return FAILED(i);
        const char *text = arena_strndup(ctx->arena, whole.ptr, whole.len);
        if (!text) return err_oom(ctx->err), FAILED(i);
        double size = strtod(text, NULL);
        int u = 5;
        if (size > -10240 && size < 10240) {
            text = arena_printf(ctx->arena, "%s bytes", text);
        } else if (!isfinite(size)) {
            text = arena_printf(ctx->arena, "%s %s", text, units[u]);
        } else {
            for (size = size / 512, u = 1; u < 5 && (size >= 20479 || size <= -20479); u++) size = size / 1024;
            const double half = trunc(size);
            text = arena_printf(ctx->arena, "%.0f %s", trunc((half + (half > 0 ? 1 : -1)) / 2), units[u]);
        }
        if (!text) return err_oom(ctx->err), FAILED(i);
        if (!ctx_str(ctx, text, (int64_t)strlen(text), (Str *)out->data + i)) return FAILED(i);
    }
    return ST_OK;
}
static Status no_size(FuncCtx *ctx, Str s, Slice unit) {
    err_set(ctx->err, ERR_INVALID_PARAMETER, "invalid size: \"%.*s\"", (int)MIN_OF(s.len, 256), s.ptr);
    if (unit.len == 0) return ST_ERROR;
    err_detail(ctx->err, "Invalid size unit: \"%.*s\".", (int)MIN_OF(unit.len, 64), unit.ptr);
    err_hint(ctx->err, "Valid units are \"bytes\", \"kB\", \"MB\", \"GB\", \"TB\", and \"PB\".");
    return ST_ERROR;
}
/* The end of a number: [+-]digits[.digits][e[+-]digits]; the beginning: there is none. */
static const char *number_end(const char *p, const char *end) {
    const char *const from = p, *digits;
    int n = 0;
    if (p < end && (*p == '+' || *p == '-')) p++;
    for (; p < end && *p >= '0' && *p <= '9'; p++) n++;
    if (p < end && *p == '.')
        for (p++; p < end && *p >= '0' && *p <= '9'; p++) n++;
    if (n == 0) return from;
    digits = p;
    if (p < end && (*p == 'e' || *p == 'E')) {
        if (++p < end && (*p == '+' || *p == '-')) p++;
        if (p == end || *p < '0' || *p > '9') return digits; /* a unit that begins with e */
        while (p < end && *p >= '0' && *p <= '9') p++;
    }
    return p;
}
static Status size_bytes(FuncCtx *ctx, Str s, int64_t *out) {
    const char *p = s.ptr, *end = s.ptr + s.len;
    int128_t v;
    int scale, u = 0;
    while (p < end && is_space(*p)) p++;
    while (end > p && is_space(end[-1])) end--;
    const char *to = number_end(p, end), *unit = to;
    if (to == p) return no_size(ctx, s, (Slice){0});
    TRY(numeric_parse((Slice){p, to - p}, -1, &v, &scale, ctx->err));
    while (unit < end && is_space(*unit)) unit++;
    const int64_t n = end - unit;
    while (n && u < ARRAY_LEN(units) && (strlen(units[u]) != (size_t)n || strncasecmp(units[u], unit, (size_t)n) != 0))
        u++;
    if (u == ARRAY_LEN(units)) return no_size(ctx, s, (Slice){unit, n});
    int128_t whole;
    if (i128_mul_overflow(v, (int128_t)1 << (10 * u), &v) || numeric_rescale(v, scale, 0, &whole) ||
        whole > INT64_MAX || whole < INT64_MIN)
        return err_set(ctx->err, ERR_NUMERIC_RANGE, "bigint out of range");
    *out = (int64_t)whole;
    return ST_OK;
}
KERNEL(size_bytes_text) {
    KERNEL_UNUSED();
    for (int64_t i = 0; i < n; i++) {
        int64_t *z = (int64_t *)out->data + i;
        *z = 0;
        if (row_valid(out, i) && size_bytes(ctx, AT(Str, 0, i), z) != ST_OK) return FAILED(i);
    }
    return ST_OK;
}
/* A string with the four bytes that PostgreSQL has in front of it, in memory. */
KERNEL(column_size_any) {
    KERNEL_UNUSED();
    (void)ctx;
    const Phys phys = (Phys)args[0].phys;
    for (int64_t i = 0; i < n; i++) {
        int64_t bytes = args[0].type.id == T_OID ? 4 : phys_size(phys);
        if (phys == PH_STR && row_valid(out, i)) bytes = (int64_t)AT(Str, 0, i).len + 4;
        ((int32_t *)out->data)[i] = (int32_t)MIN_OF(bytes, INT32_MAX);
    }
    return ST_OK;
}

/* ---- options ---- */

/* {a=1,b} as JSON rows ["a","1"], ["b",null]. */
static Status option_row(FuncCtx *ctx, Str s, Str *out) {
    const char *eq = s.len ? memchr(s.ptr, '=', s.len) : NULL;
    JsonOut o = {.a = ctx->arena};
    json_put_text(&o, "[");
    json_put_string(&o, (Slice){s.ptr, eq ? eq - s.ptr : (int64_t)s.len});
    json_put_text(&o, ",");
    if (eq) json_put_string(&o, (Slice){eq + 1, s.ptr + s.len - eq - 1});
    else json_put_text(&o, "null");
    json_put_text(&o, "]");
    return json_done(&o, out, ctx->err);
}
KERNEL(options_rows) {
    KERNEL_UNUSED();
    for (int64_t i = 0; i < n; i++) {
        Str *z = (Str *)out->data + i;
        *z = STR0;
        if (!row_valid(out, i)) continue;
        ArrayView items;
        if (array_view_of(AT(Str, 0, i), PH_STR, &items, ctx->err) != ST_OK) return FAILED(i);
        Str *rows = arena_array(ctx->arena, Str, items.n + 1);
        if (!rows) return err_oom(ctx->err), FAILED(i);
        for (int64_t k = 0; k < items.n; k++) {
            Str s;
            array_get(&items, k, &s);
            if (option_row(ctx, s, &rows[k]) != ST_OK) return FAILED(i);
        }
        if (array_build(ctx->arena, PH_STR, items.n, rows, NULL, z, ctx->err) != ST_OK) return FAILED(i);
    }
    return ST_OK;
}
static Type tf_jsons(const FuncDef *f, int nargs, const Type *args) {
    (void)f, (void)nargs, (void)args;
    return type_array_of(type_make(T_JSON));
}

static const FuncDef defs[] = {
    DEF("parse_ident", SF, T_ARRAY, 1, ARGS(T_TEXT), OP_NONE, parse_ident_text, tf_texts, "the parts of a name"),
    DEF("parse_ident", SF, T_ARRAY, 2, ARGS(T_TEXT, T_BOOL), OP_NONE, parse_ident_text, tf_texts,
        "the parts of a name; false: something may stand behind it"),
    DEF("pg_size_pretty", SF, T_TEXT, 1, ARGS(T_DECIMAL), OP_NONE, size_pretty_numeric, NULL,
        "a number of bytes with a unit"),
    DEF("pg_size_pretty", SF, T_TEXT, 1, ARGS(T_NUMERIC), OP_NONE, size_pretty_numeric, NULL,
        "a number of bytes with a unit"),
    DEF("pg_size_bytes", SF, T_INT8, 1, ARGS(T_TEXT), OP_NONE, size_bytes_text, NULL, "a size with a unit as bytes"),
    DEF("pg_column_size", FN_STRICT, T_INT4, 1, ARGS(T_ANY), OP_NONE, column_size_any, NULL,
        "bytes that a value takes"),
    DEF("pg_options_to_table_array", SF, T_ARRAY, 1, ARGS(T_TEXTS), OP_NONE, options_rows, tf_jsons,
        "internal: of pg_options_to_table"),
};
const FuncDefs func_defs_names = {defs, ARRAY_LEN(defs)};
