/* func_record.c - rows of values and arrays of them, as SEARCH and CYCLE make them (sql/bind/bind_search.c).
 *
 * They are byte strings that compare as the rows do (types TF_RECORD and TF_RECORDS of bytea) and end in what they are
 * shown as:
 *   record      key, text, u32 bytes of the key
 *   record[]    per element 1 and its key; 0; text; per element u32 bytes of its key; u32 number of elements
 *   key         per field 1 and its order-preserving bytes, or 2 for NULL, which is greater than every value
 * No key is the beginning of another one of as many fields of the same types, so that the text only counts where the
 * keys are equal, and then it is the same.
 */
#include "types/array.h"
#include "types/composite.h"
#include "types/func_int.h"

static uint32_t last_u32(Str s) {
    uint32_t v;
    memcpy(&v, s.ptr + s.len - 4, 4);
    return v;
}

typedef struct Record {
    Str key, text;
} Record;
static bool record_read(Str s, Record *r) {
    if (s.len < 4 || last_u32(s) > s.len - 4) return false;
    r->key = str_make(s.ptr, last_u32(s));
    r->text = str_make(s.ptr + r->key.len, s.len - 4 - r->key.len);
    return true;
}

typedef struct Records {
    const char *keys, *lens; /* lens: not aligned */
    uint32_t n;
    int64_t key_bytes; /* with the 1 before each */
    Str text;
} Records;
static uint32_t key_len(const Records *r, uint32_t i) {
    uint32_t v;
    memcpy(&v, r->lens + 4 * (int64_t)i, 4);
    return v;
}
static bool records_read(Str s, Records *r) {
    if (s.len < 4) return false;
    *r = (Records){.keys = s.ptr, .n = last_u32(s)};
    int64_t tail = 4 * ((int64_t)r->n + 1);
    if (tail > s.len) return false;
    r->lens = s.ptr + s.len - tail;
    for (uint32_t i = 0; i < r->n; i++) r->key_bytes += 1 + (int64_t)key_len(r, i);
    if (r->key_bytes + 1 + tail > s.len) return false;
    r->text = str_make(s.ptr + r->key_bytes + 1, s.len - tail - r->key_bytes - 1);
    return true;
}

Str record_shown(Type t, Str s) {
    Record one;
    Records many;
    if (t.flags & TF_RECORDS) return records_read(s, &many) ? many.text : str_make("", 0);
    return record_read(s, &one) ? one.text : str_make("", 0);
}

/* ---- text ------------------------------------------------------------------- */

static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
/* s as a part of an array's text; p NULL: how long that is. */
static int64_t put_element(char *p, Str s) {
    bool quote = s.len == 0;
    int64_t n = 0;
    for (uint32_t i = 0; i < s.len && !quote; i++)
        quote = is_space(s.ptr[i]) || (s.ptr[i] && strchr("\"\\{},", s.ptr[i]));
    if (quote && p) p[n] = '"';
    n += quote;
    for (uint32_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];
        if (c == '"' || c == '\\') {
            if (p) p[n] = '\\';
            n++;
        }
        if (p) p[n] = c;
        n++;
    }
    if (quote && p) p[n] = '"';
    return n + quote;
}

/* ---- rows ----------------------------------------------------------------------- */

/* The row of args[first..], behind a number if depth is not NULL. */
static Status make_record(FuncCtx *ctx, const Vec *args, int first, int nargs, int64_t row, const int64_t *depth,
                          Str *out) {
    Str *texts = arena_array(ctx->arena, Str, nargs + 1);
    KeyOut key = {0};
    char number[24];
    int64_t text = 2, at = 0;
    int n = 0;
    if (!texts) return ST_ERROR;
    if (depth) {
        key.len++;
        func_put_key(&key, PH_I64, depth);
        texts[n] = str_make(number, cell_to_text(type_make(T_INT8), depth, (TextForm){0}, number));
        text += texts[n++].len;
    }
    for (int k = first; k < nargs; k++, n++) {
        const void *c = arg_cell(&args[k], row);
        text += n > 0;
        key.len++;
        texts[n] = (Str){0};
        if (arg_null(&args[k], row)) continue;
        TRY(func_put_value_key(ctx, &key, args[k].type, (Phys)args[k].phys, c));
        TRY(func_cell_output(ctx, args[k].type, c, &texts[n]));
        text += composite_put_field(NULL, texts[n]);
    }
    char *p = ctx_alloc(ctx, key.len + text + 4);
    if (!p) return ST_ERROR;
    uint32_t bytes = (uint32_t)key.len;
    key = (KeyOut){.p = p};
    char *t = p + bytes;
    t[at++] = '(';
    if (depth) {
        p[key.len++] = 1;
        func_put_key(&key, PH_I64, depth);
        memcpy(t + at, number, texts[0].len);
        at += texts[0].len;
    }
    n = depth != NULL;
    for (int k = first; k < nargs; k++, n++) {
        const void *c = arg_cell(&args[k], row);
        bool null = arg_null(&args[k], row);
        if (n > 0) t[at++] = ',';
        p[key.len++] = null ? 2 : 1;
        if (null) continue;
        TRY(func_put_value_key(ctx, &key, args[k].type, (Phys)args[k].phys, c));
        at += composite_put_field(t + at, texts[n]);
    }
    t[at++] = ')';
    memcpy(t + at, &bytes, 4);
    *out = str_make(p, bytes + at + 4);
    return ST_OK;
}

KERNEL(record_of) {
    for (int64_t i = 0; i < n; i++) {
        out->valid[i] = 1;
        if (make_record(ctx, args, 0, nargs, i, NULL, &((Str *)out->data)[i]) != ST_OK) return FAILED(i);
    }
    return ST_OK;
}

/* A row whose first field is one more than that of the first argument. */
KERNEL(record_deeper) {
    for (int64_t i = 0; i < n; i++) {
        Record before;
        int64_t depth = 0;
        out->valid[i] = 1;
        if (!arg_null(&args[0], i) && record_read(AT(Str, 0, i), &before) && before.key.len > 1) {
            const char *p = before.key.ptr + 1;
            if (func_get_key(&p, before.key.ptr + before.key.len, PH_I64, &depth, NULL)) depth++;
        }
        if (make_record(ctx, args, 1, nargs, i, &depth, &((Str *)out->data)[i]) != ST_OK) return FAILED(i);
    }
    return ST_OK;
}

KERNEL(record_first) {
    const int64_t zero = 0;
    for (int64_t i = 0; i < n; i++) {
        out->valid[i] = 1;
        if (make_record(ctx, args, 0, nargs, i, &zero, &((Str *)out->data)[i]) != ST_OK) return FAILED(i);
    }
    return ST_OK;
}

/* ---- arrays ------------------------------------------------------------------------- */

static bool add_record(FuncCtx *ctx, const Records *all, const Record *r, Str *out) {
    int64_t part = put_element(NULL, r->text), text = MAX_OF(all->text.len, 2) + (all->n > 0) + part,
            tail = 4 * ((int64_t)all->n + 2), len = all->key_bytes + 1 + r->key.len + 1 + text + tail;
    uint32_t count = all->n + 1;
    char *p = len <= UINT32_MAX ? ctx_alloc(ctx, len) : NULL, *q = p;
    if (!p) return false;
    if (all->key_bytes) memcpy(q, all->keys, (size_t)all->key_bytes);
    q += all->key_bytes;
    *q++ = 1;
    memcpy(q, r->key.ptr, r->key.len);
    q += r->key.len;
    *q++ = 0;
    *q++ = '{';
    if (all->n) {
        memcpy(q, all->text.ptr + 1, all->text.len - 2);
        q += all->text.len - 2;
        *q++ = ',';
    }
    q += put_element(q, r->text);
    *q++ = '}';
    if (all->n) memcpy(q, all->lens, 4 * (size_t)all->n);
    q += 4 * (int64_t)all->n;
    memcpy(q, &r->key.len, 4);
    memcpy(q + 4, &count, 4);
    *out = str_make(p, len);
    return true;
}

KNF(records_of, Str, STR0, {
    Record one;
    Records none = {0};
    FAIL_IF(!record_read(AT(Str, 0, i), &one), i, ERR_INVALID_PARAMETER, "records_of: the argument is no row");
    if (!add_record(ctx, &none, &one, &z)) return FAILED(i);
})
KNF(records_add, Str, STR0, {
    Record one;
    Records all;
    FAIL_IF(!records_read(AT(Str, 0, i), &all) || !record_read(AT(Str, 1, i), &one), i, ERR_INVALID_PARAMETER,
            "records_add: the arguments are no rows");
    if (!add_record(ctx, &all, &one, &z)) return FAILED(i);
})
KNF(records_have, uint8_t, 0, {
    Record one;
    Records all;
    FAIL_IF(!records_read(AT(Str, 0, i), &all) || !record_read(AT(Str, 1, i), &one), i, ERR_INVALID_PARAMETER,
            "records_have: the arguments are no rows");
    const char *p = all.keys;
    for (uint32_t k = 0; k < all.n && !z; k++) {
        uint32_t len = key_len(&all, k);
        z = len == one.key.len && memcmp(p + 1, one.key.ptr, len) == 0;
        p += 1 + (int64_t)len;
    }
})

#define V_ (FN_VARIADIC | FN_ANY_NUMERIC_SCALE | FN_CAN_FAIL)
static const FuncDef defs[] = {
    DEF("record_of", V_, T_BYTEA, 1, ARGS(T_ANY), OP_NONE, record_of, NULL, "internal: a row"),
    DEF("record_first", V_, T_BYTEA, 1, ARGS(T_ANY), OP_NONE, record_first, NULL, "internal: a row behind depth 0"),
    DEF("record_deeper", V_, T_BYTEA, 2, ARGS(T_BYTEA, T_ANY), OP_NONE, record_deeper, NULL,
        "internal: a row behind the next depth"),
    DEF("records_of", SF, T_BYTEA, 1, ARGS(T_BYTEA), OP_NONE, records_of, NULL, "internal: an array of a row"),
    DEF("records_add", SF, T_BYTEA, 2, ARGS(T_BYTEA, T_BYTEA), OP_NONE, records_add, NULL,
        "internal: an array of rows and one more"),
    DEF("records_have", SF, T_BOOL, 2, ARGS(T_BYTEA, T_BYTEA), OP_NONE, records_have, NULL,
        "internal: whether an array has a row"),
};
const FuncDefs func_defs_record = {defs, ARRAY_LEN(defs)};
