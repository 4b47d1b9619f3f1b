/* func_rows.c - what set-returning functions are made of (sql/bind/bind_rows.c), row counts of LIMIT,
 * and TABLESAMPLE.
 *
 * The rows of a call are numbered from 1, and a value is computed of its number: that of a series from its start and
 * step, others from an array that has all of them. A row of several columns is an element's bytes: an array of the
 * columns' cells, NULLs among them.
 */
#include <stdatomic.h>

#include "base/hash.h"
#include "types/array.h"
#include "types/func_int.h"

static Status zero_step(FuncCtx *ctx, int64_t i) { FAIL(i, ERR_INVALID_PARAMETER, "step size cannot equal zero"); }

/* Numbers of a series; at most 2^64, which no query finishes. */
static int64_t series_length(int128_t lo, int128_t hi, int128_t step) {
    if (step > 0 ? hi < lo : hi > lo) return 0;
    int128_t n = (hi - lo) / step;
    return n < INT64_MAX ? (int64_t)n + 1 : INT64_MAX;
}

KERNEL(series_count_int) {
    KERNEL_UNUSED();
    int64_t *r = out->data;
    for (int64_t i = 0; i < n; i++) {
        r[i] = 0;
        if (!row_valid(out, i)) continue;
        if (AT(int64_t, 2, i) == 0) return zero_step(ctx, i);
        r[i] = series_length(AT(int64_t, 0, i), AT(int64_t, 1, i), AT(int64_t, 2, i));
    }
    return ST_OK;
}

/* The arguments have one scale. */
KERNEL(series_count_numeric) {
    KERNEL_UNUSED();
    int64_t *r = out->data;
    for (int64_t i = 0; i < n; i++) {
        r[i] = 0;
        if (!row_valid(out, i)) continue;
        int128_t step = num_at(&args[2], i);
        if (step == 0) return zero_step(ctx, i);
        r[i] = series_length(num_at(&args[0], i), num_at(&args[1], i), step);
    }
    return ST_OK;
}

/* The value of a number that is none of the series' is never used: it need not be right. */
KERNEL(series_value_int) {
    KERNEL_UNUSED();
    int64_t *r = out->data;
    for (int64_t i = 0; i < n; i++)
        r[i] = (int64_t)((uint64_t)AT(int64_t, 0, i) + (uint64_t)AT(int64_t, 1, i) * (uint64_t)(AT(int64_t, 2, i) - 1));
    return ST_OK;
}

KERNEL(series_value_numeric) {
    KERNEL_UNUSED();
    for (int64_t i = 0; i < n; i++) {
        uint128_t k = (uint128_t)(int128_t)(AT(int64_t, 2, i) - 1);
        int128_t v = (int128_t)((uint128_t)num_at(&args[0], i) + (uint128_t)num_at(&args[1], i) * k);
        if (out->phys == PH_I64) ((int64_t *)out->data)[i] = (int64_t)v;
        else ((int128_t *)out->data)[i] = v;
    }
    return ST_OK;
}

/* One after the other: a month after January 31 is February 28, and one more is March 28. */
KERNEL(series_array) {
    KERNEL_UNUSED();
    Str *r = out->data;
    for (int64_t i = 0; i < n; i++) {
        r[i] = STR0;
        if (!row_valid(out, i)) continue;
        const Interval *step = &AT(Interval, 2, i);
        VEC(int64_t) v = {0};
        int64_t x = AT(int64_t, 0, i), end = AT(int64_t, 1, i);
        int128_t way = interval_cmp_value(step);
        if (way == 0) return zero_step(ctx, i);
        while (way > 0 ? x <= end : x >= end) {
            FAIL_IF(v.len == ARRAY_MAX_ELEMENTS, i, ERR_PROGRAM_LIMIT, "generate_series has more than %d rows",
                    ARRAY_MAX_ELEMENTS);
            if (!vec_push(ctx->arena, &v, x)) return err_oom(ctx->err);
            const bool beyond = args[0].type.id == T_TIMESTAMPTZ
                                    ? timestamptz_add_interval(ctx_zone(ctx), x, step, 1, &x)
                                    : timestamp_add_interval(x, step, 1, &x);
            FAIL_IF(beyond, i, ERR_DATETIME_OVERFLOW, "timestamp out of range");
        }
        if (array_build(ctx->arena, PH_I64, v.len, v.items, NULL, &r[i], ctx->err) != ST_OK) return FAILED(i);
    }
    return ST_OK;
}

/* Column k (from 0) of a row's bytes. */
KERNEL(row_column) {
    KERNEL_UNUSED();
    size_t w = (size_t)phys_size((Phys)out->phys);
    for (int64_t i = 0; i < n; i++) {
        char *cell = (char *)out->data + w * (size_t)i;
        out->valid[i] = 0;
        memset(cell, 0, w);
        if (out->phys == PH_STR) *(Str *)cell = STR0;
        if (arg_null(&args[0], i) || arg_null(&args[1], i)) continue;
        ArrayView row = array_view(AT(Str, 0, i));
        int32_t k = AT(int32_t, 1, i);
        if (k < 0 || k >= row.n || array_is_null(&row, k)) continue;
        Str bytes;
        array_get(&row, k, &bytes);
        if (out->phys == PH_STR) *(Str *)cell = bytes;
        else if (bytes.len == (int64_t)w) memcpy(cell, bytes.ptr, w);
        else continue;
        out->valid[i] = 1;
    }
    return ST_OK;
}

/* A LIMIT (0) or an OFFSET (1) that is computed for each row of an outer query. */
KERNEL(check_limit) {
    KERNEL_UNUSED();
    int64_t *r = out->data;
    for (int64_t i = 0; i < n; i++) {
        bool null = arg_null(&args[0], i);
        int32_t what = AT(int32_t, 1, i);
        r[i] = null ? 0 : AT(int64_t, 0, i);
        out->valid[i] = !null;
        FAIL_IF(r[i] < 0, i, what == 1 ? ERR_INVALID_OFFSET : ERR_INVALID_LIMIT, "%s must not be negative",
                what == 1 ? "OFFSET" : "LIMIT");
    }
    return ST_OK;
}

/* ---- TABLESAMPLE ------------------------------------------------------------------------------------ */

enum { SAMPLE_BLOCK = 128 }; /* rows that SYSTEM takes or leaves together */

double func_sample_seed(const SessionInfo *session) {
    time_reads++; /* the plan is good for once */
    return (double)(random_stream(session) >> 11);
}

/* Whether a row (its rowid) is in the sample: by the hash of the row, or (args[1]) of its block, and the seed. */
KERNEL(sample_row) {
    KERNEL_UNUSED();
    for (int64_t i = 0; i < n; i++) {
        out->valid[i] = 1;
        FAIL_IF(arg_null(&args[2], i), i, ERR_INVALID_SAMPLE_ARGUMENT, "TABLESAMPLE parameter cannot be null");
        FAIL_IF(arg_null(&args[3], i), i, ERR_INVALID_SAMPLE_REPEAT, "TABLESAMPLE REPEATABLE parameter cannot be null");
        double percent = AT(float, 2, i), seed = AT(double, 3, i);
        FAIL_IF(!(percent >= 0 && percent <= 100), i, ERR_INVALID_SAMPLE_ARGUMENT,
                "sample percentage must be between 0 and 100");
        uint64_t bits, row = (uint64_t)AT(int64_t, 0, i);
        if (seed == 0) seed = 0; /* -0 too */
        memcpy(&bits, &seed, sizeof bits);
        uint64_t h = hash_combine(hash_u64(bits), AT(bool, 1, i) ? row / SAMPLE_BLOCK : row);
        ((bool *)out->data)[i] = (double)(h >> 32) < percent * (4294967296.0 / 100);
    }
    return ST_OK;
}

#define INT3 ARGS(T_INT8, T_INT8, T_INT8)
static const FuncDef defs[] = {
    DEF("series_count", SF, T_INT8, 3, INT3, OP_NONE, series_count_int, NULL, "internal: rows of a series"),
    DEF("series_count", SF, T_INT8, 3, ARGS(T_NUMERIC, T_NUMERIC, T_NUMERIC), OP_NONE, series_count_numeric, NULL,
        "internal: rows of a series"),
    DEF("series_value", FN_STRICT, T_INT8, 3, INT3, OP_NONE, series_value_int, NULL, "internal: value of a series"),
    DEF("series_value", FN_STRICT, T_NUMERIC, 3, ARGS(T_NUMERIC, T_NUMERIC, T_INT8), OP_NONE, series_value_numeric,
        tf_first, "internal: value of a series"),
    DEF("series_array", SF, T_ARRAY, 3, ARGS(T_TIMESTAMP, T_TIMESTAMP, T_INTERVAL), OP_NONE, series_array, tf_array_of,
        "internal: the values of a series"),
    DEF("series_array", SF, T_ARRAY, 3, ARGS(T_TIMESTAMPTZ, T_TIMESTAMPTZ, T_INTERVAL), OP_NONE, series_array,
        tf_array_of, "internal: the values of a series"),
    DEF("check_limit", FN_CAN_FAIL, T_INT8, 2, ARGS(T_INT8, T_INT4), OP_NONE, check_limit, NULL,
        "internal: a row count that is not negative"),
    DEF("sample_row", FN_CAN_FAIL, T_BOOL, 4, ARGS(T_INT8, T_BOOL, T_FLOAT4, T_FLOAT8), OP_NONE, sample_row, NULL,
        "internal: the row is in the sample"),
    DEF("row_column", 0, T_BYTEA, 2, ARGS(T_BYTEA, T_INT4), OP_NONE, row_column, NULL,
        "internal: column of a row that is an element's bytes"),
    DEF("row_column", 0, T_BYTEA, 2, ARGS(T_COMPOSITE, T_INT4), OP_NONE, row_column, NULL, "internal: field of a row"),
};
const FuncDefs func_defs_rows = {defs, ARRAY_LEN(defs)};
