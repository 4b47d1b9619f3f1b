/* test_parquet.c - pages of Parquet files: heads whose numbers no page can have, and values at the ends of their
 * ranges.
 */
#include "unit.h"

#include <string.h>

#include "io/parquet_int.h"

static MemAccount account;

/* ---- heads ---- */

typedef struct Bytes {
    uint8_t p[512];
    int64_t n;
} Bytes;

static void put_varint(Bytes *b, uint64_t v) {
    for (; v >= 128; v >>= 7) b->p[b->n++] = (uint8_t)(v | 128);
    b->p[b->n++] = (uint8_t)v;
}
/* The field that is `step` behind the last one, as a number of 32 bits in Thrift's compact protocol. */
static void put_number(Bytes *b, int step, int64_t v) {
    b->p[b->n++] = (uint8_t)(step << 4 | 5);
    put_varint(b, (uint64_t)v << 1 ^ (uint64_t)(v >> 63));
}
static void put_struct(Bytes *b, int step) { b->p[b->n++] = (uint8_t)(step << 4 | 12); }
static void put_body(Bytes *b, const void *body, int64_t n) {
    b->p[b->n++] = 0; /* ends of both structs */
    b->p[b->n++] = 0;
    memcpy(b->p + b->n, body, (size_t)n);
    b->n += n;
}

/* A page of n values. */
static Bytes data_page(int64_t n, int encoding, int64_t size, const void *body, int64_t body_len) {
    Bytes b = {.n = 0};
    put_number(&b, 1, 0);
    put_number(&b, 1, size);
    put_number(&b, 1, body_len);
    put_struct(&b, 2);
    put_number(&b, 1, n);
    put_number(&b, 1, encoding);
    put_body(&b, body, body_len);
    return b;
}
/* The same of version 2. */
static Bytes data_page_2(int64_t n, int64_t levels, int64_t repetitions, const void *body, int64_t body_len) {
    Bytes b = {.n = 0};
    put_number(&b, 1, 3);
    put_number(&b, 1, body_len);
    put_number(&b, 1, body_len);
    put_struct(&b, 5);
    put_number(&b, 1, n);
    put_number(&b, 1, 0);
    put_number(&b, 1, n);
    put_number(&b, 1, PE_PLAIN);
    put_number(&b, 1, levels);
    put_number(&b, 1, repetitions);
    put_body(&b, body, body_len);
    return b;
}

/* The first two values of a page of integers; NULL with an error. */
static const char *read_page(const Bytes *b, Codec codec, Err *e) {
    static const char path[] = "/tmp/stele_parquet_unit_page";
    static char out[64];
    const ParquetColumn c = {
        .physical = PP_INT32, .length = 4, .form = PF_I32, .multiply = 1, .divide = 1, .type = type_make(T_INT4)};
    int32_t cells[2] = {0};
    uint8_t valid[2];
    bool nulls;
    VfsFile *file;
    assert_int_equal(vfs_write_file(vfs_posix(), path, b->p, b->n, e), ST_OK);
    assert_int_equal(vfs_posix()->open(vfs_posix(), path, VFS_READ, &file, e), ST_OK);
    Codecs *codecs = codecs_new(&account, e);
    ParquetPages p = {.c = &c, .account = &account, .codecs = codecs};
    parquet_pages_begin(&p, file, (int32_t)codec, 0, b->n);
    Status st = parquet_pages_ready(&p, e);
    if (st == ST_OK) st = parquet_pages_read(&p, 2, cells, valid, &nulls, e);
    snprintf(out, sizeof out, "%d %d of %lld", (int)cells[0], (int)cells[1], (long long)p.rows + 2);
    parquet_pages_release(&p);
    codecs_free(codecs);
    assert_int_equal(vfs_posix()->close(file, NULL), ST_OK);
    return st == ST_OK ? out : NULL;
}
static void damaged(const Bytes *b, Codec codec) {
    Err e = {0};
    if (read_page(b, codec, &e)) fail_msg("it was read");
    assert_string_equal(e.sqlstate, "22P04");
    assert_string_equal(e.message, "the head of a page is damaged");
}

static void test_heads(void **state) {
    (void)state;
    static const uint8_t plain[] = {7, 0, 0, 0, 255, 255, 255, 255};
    /* blocks of 128 in 4, two values, the first 7; the least difference -8, of widths 0 */
    static const uint8_t delta[] = {128, 1, 4, 2, 14, 15, 0, 0, 0, 0};
    enum { P = sizeof plain, D = sizeof delta };
    const int64_t huge = INT64_C(1) << 61;
    Err e = {0};
    Bytes b = data_page(2, PE_PLAIN, P, plain, P);
    assert_string_equal(read_page(&b, CODEC_NONE, &e), "7 -1 of 2");
    b = data_page_2(2, 0, 0, plain, P);
    assert_string_equal(read_page(&b, CODEC_NONE, &e), "7 -1 of 2");
    b = data_page(2, PE_DELTA_BINARY_PACKED, D, delta, D);
    assert_string_equal(read_page(&b, CODEC_NONE, &e), "7 -1 of 2");
    /* numbers of values that wrap when they are multiplied by 8 */
    b = data_page(huge, PE_DELTA_BINARY_PACKED, D, delta, D);
    damaged(&b, CODEC_NONE);
    b = data_page(huge + 1, PE_DELTA_BINARY_PACKED, D, delta, D);
    damaged(&b, CODEC_NONE);
    /* a size to which nothing can be added */
    b = data_page(2, PE_PLAIN, INT64_MAX - 3, plain, P);
    damaged(&b, CODEC_SNAPPY);
    /* levels whose sum is negative, and small */
    b = data_page_2(2, INT64_MAX, INT64_MAX, plain, P);
    damaged(&b, CODEC_NONE);
    b = data_page_2(2, INT64_MAX, INT64_MAX / 2, plain, P);
    damaged(&b, CODEC_NONE);
}

/* ---- values ---- */

/* A decimal of so many bytes: ones (0xFF or 0) in front of the last byte. NULL: it has too many digits. */
static const char *decimal(int n, uint8_t first, uint8_t rest, uint8_t last) {
    static char out[64];
    const ParquetColumn c = {.physical = PP_BYTE_ARRAY, .form = PF_DECIMAL, .type = type_numeric(38, 0)};
    uint8_t bytes[128 + CODEC_PAD] = {(uint8_t)n};
    const uint8_t *at = bytes;
    int128_t cell = 0;
    Err e = {0};
    memset(bytes + 4, rest, (size_t)n);
    bytes[4] = first;
    bytes[3 + n] = last;
    if (parquet_cells(&c, &at, at + 4 + n, 1, &cell, &e) != ST_OK) {
        assert_string_equal(e.sqlstate, "22P04");
        assert_string_equal(e.message, "a value has more digits than 38");
        return NULL;
    }
    assert_true(at == bytes + 4 + n);
    assert_true(cell >= INT64_MIN && cell <= INT64_MAX);
    snprintf(out, sizeof out, "%lld", (long long)cell);
    return out;
}

static void test_decimals(void **state) {
    (void)state;
    for (int n = 2; n < 100; n++) {
        assert_string_equal(decimal(n, 0, 0, 5), "5");
        assert_string_equal(decimal(n, 255, 255, 251), "-5");
        assert_string_equal(decimal(n, 255, 255, 255), "-1");
    }
    /* the byte of the sign is one of the number's */
    for (int n = 17; n < 100; n++) {
        assert_null(decimal(n, 0, 255, 255));
        assert_null(decimal(n, 255, 0, 0));
    }
}

static Status stamp(int32_t day, int64_t nanos, int64_t *out, Err *e) {
    const ParquetColumn c = {.physical = PP_INT96,
                             .length = 12,
                             .form = PF_INT96,
                             .multiply = 1,
                             .divide = 1,
                             .type = type_make(T_TIMESTAMP)};
    uint8_t bytes[12 + CODEC_PAD] = {0};
    const uint8_t *at = bytes;
    memcpy(bytes, &nanos, 8);
    memcpy(bytes + 8, &day, 4);
    return parquet_cells(&c, &at, at + 12, 1, out, e);
}

static void test_int96(void **state) {
    (void)state;
    const int32_t day_2000 = 2451545, most = INT32_C(106751991); /* days that 64 bits of microseconds have */
    const int32_t beyond[] = {most + 1, -most - 1, 2 * most, -2 * most, INT32_MAX - day_2000, INT32_MIN};
    int64_t micros;
    Err e = {0};
    assert_int_equal(stamp(day_2000, 0, &micros, &e), ST_OK);
    assert_int_equal(micros, 0);
    assert_int_equal(stamp(day_2000 - 1, 86399999999999, &micros, &e), ST_OK);
    assert_int_equal(micros, -1);
    assert_int_equal(stamp(day_2000 + most, 0, &micros, &e), ST_OK);
    assert_int_equal(micros, most * USECS_PER_DAY);
    for (size_t i = 0; i < sizeof beyond / sizeof *beyond; i++) {
        int64_t day = MAX_OF((int64_t)beyond[i] + day_2000, (int64_t)INT32_MIN);
        assert_int_equal(stamp((int32_t)day, 0, &micros, &e), ST_ERROR);
        assert_string_equal(e.sqlstate, "22008");
        err_clear(&e);
    }
    assert_int_equal(stamp(day_2000 + most, INT64_MAX, &micros, &e), ST_ERROR);
    assert_string_equal(e.sqlstate, "22008");
}

static int setup(void **state) {
    (void)state;
    mem_account_init(&account, NULL, "test", 0, NULL);
    return 0;
}
static int teardown(void **state) {
    (void)state;
    assert_int_equal(atomic_load(&account.used), 0);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_heads), cmocka_unit_test(test_decimals),
                                       cmocka_unit_test(test_int96)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
