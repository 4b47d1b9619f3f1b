/* test_arrow.c - bulks and Arrow's C data interface: batches of every type in and out, offsets and NULLs, and batches
 * that must be refused. */
#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit_api.h"

static stele_db *db;
static stele_conn *conn;

static void run(const char *sql) { api_run(conn, sql); }
static int set_up(void **state) {
    (void)state;
    if (stele_open(":memory:", &(stele_options){.threads = 1}, &db, NULL) != STELE_OK ||
        stele_connect(db, &conn) != STELE_OK)
        return -1;
    run("create procedure twice(a int, inout b bigint, out c int) language plpgsql as $$ begin b := b * 2; c := a + 1; "
        "if a = 3 then raise exception 'three'; end if; end $$;"
        "create procedure all_types(inout a boolean, inout b smallint, inout c real, inout d double precision, inout e "
        "numeric, inout f text, inout g bytea, inout h date,"
        "  inout i time, inout j timestamp, inout k timestamptz, inout l uuid, inout m int[], inout n text[], inout o "
        "numeric) language plpgsql as $$ begin b := b; end $$;"
        "create procedure one_int(inout a int) language plpgsql as $$ begin a := a + 1; end $$;"
        "create procedure one_text(inout a text) language plpgsql as $$ begin a := a || '!'; end $$;"
        "create procedure one_interval(inout a interval) language plpgsql as $$ begin a := a; end $$;");
    return 0;
}
static int tear_down(void **state) {
    (void)state;
    stele_disconnect(conn);
    return stele_close(db, NULL) == STELE_OK ? 0 : -1;
}

/* ---- batches ------------------------------------------------------------------------------------------ */
enum { COLUMNS = 16 };
typedef struct Batch {
    struct ArrowSchema schema, cols[COLUMNS], items[COLUMNS], *children[COLUMNS], *item_of[COLUMNS];
    struct ArrowArray array, arrays[COLUMNS], item_arrays[COLUMNS], *array_children[COLUMNS], *item_array_of[COLUMNS];
    const void *buffers[COLUMNS][3], *item_buffers[COLUMNS][3], *top[1];
    int n;
} Batch;
static void keep_schema(struct ArrowSchema *s) { s->release = NULL; }
static void keep_array(struct ArrowArray *a) { a->release = NULL; }
static void batch_init(Batch *b, int64_t rows, int64_t offset) {
    memset(b, 0, sizeof *b);
    b->schema = (struct ArrowSchema){.format = "+s", .children = b->children, .release = keep_schema};
    b->array = (struct ArrowArray){.length = rows,
                                   .offset = offset,
                                   .n_buffers = 1,
                                   .buffers = b->top,
                                   .children = b->array_children,
                                   .release = keep_array};
}
static int column(Batch *b, const char *format, int64_t length, int64_t offset, const void *valid, const void *data,
                  const void *bytes) {
    int k = b->n++;
    b->buffers[k][0] = valid, b->buffers[k][1] = data, b->buffers[k][2] = bytes;
    b->cols[k] =
        (struct ArrowSchema){.format = format, .name = "x", .flags = ARROW_FLAG_NULLABLE, .release = keep_schema};
    b->arrays[k] = (struct ArrowArray){.length = length,
                                       .offset = offset,
                                       .null_count = valid ? -1 : 0,
                                       .n_buffers = strcmp(format, "n") == 0    ? 0
                                                    : strchr("uUzZ", format[0]) ? 3
                                                                                : 2,
                                       .buffers = b->buffers[k],
                                       .release = keep_array};
    b->children[k] = &b->cols[k];
    b->array_children[k] = &b->arrays[k];
    b->schema.n_children = b->array.n_children = b->n;
    return k;
}
static void list_of(Batch *b, int k, const char *format, int64_t length, const void *valid, const void *data,
                    const void *bytes) {
    b->item_buffers[k][0] = valid, b->item_buffers[k][1] = data, b->item_buffers[k][2] = bytes;
    b->items[k] = (struct ArrowSchema){.format = format, .name = "item", .release = keep_schema};
    b->item_arrays[k] = (struct ArrowArray){.length = length,
                                            .null_count = valid ? -1 : 0,
                                            .n_buffers = strchr("uU", format[0]) ? 3 : 2,
                                            .buffers = b->item_buffers[k],
                                            .release = keep_array};
    b->item_of[k] = &b->items[k];
    b->item_array_of[k] = &b->item_arrays[k];
    b->cols[k].n_children = b->arrays[k].n_children = 1;
    b->cols[k].children = &b->item_of[k];
    b->arrays[k].children = &b->item_array_of[k];
}

static void values(void **state) {
    (void)state;
    Batch t;
    stele_bulk *b;
    struct ArrowSchema schema;
    struct ArrowArray out;
    const int8_t a[] = {9, 1, 2, 3, 4, 5};
    const int64_t v[] = {9, 9, 10, 20, 30, 40, 50};
    const uint8_t there[] = {0x5f}; /* all but the one at 5 */
    batch_init(&t, 5, 1);
    column(&t, "c", 6, 0, NULL, a, NULL);
    column(&t, "l", 6, 1, there, v, NULL); /* offsets add up */
    assert_int_equal(stele_bulk_new(conn, "twice", &b), STELE_OK);
    assert_int_equal(stele_bulk_get_arrow(b, &schema, &out), STELE_ERROR);
    assert_null(out.release);
    assert_int_equal(stele_bulk_add_arrow(b, &t.schema, &t.array), STELE_OK);
    assert_int_equal(stele_bulk_add(b, (const char *const[]){"7", "70"}), STELE_OK);
    assert_int_equal(stele_bulk_count(b), 6);
    assert_int_equal(stele_bulk_run(b), STELE_OK);
    assert_string_equal(stele_bulk_value(b, 0, 0, NULL), "20");
    assert_int_equal(stele_bulk_get_arrow(b, &schema, &out), STELE_OK);
    stele_bulk_free(b);
    assert_string_equal(schema.format, "+s");
    assert_int_equal(schema.n_children, 4);
    assert_int_equal(out.length, 6);
    assert_string_equal(schema.children[0]->name, "sqlstate");
    assert_string_equal(schema.children[2]->name, "b");
    assert_string_equal(schema.children[2]->format, "l");
    assert_string_equal(schema.children[3]->format, "i");
    assert_int_equal(out.children[0]->null_count, 5);
    const int64_t *at = out.children[1]->buffers[1];
    assert_int_equal(at[3] - at[2], 5);
    assert_memory_equal((const char *)out.children[1]->buffers[2] + at[2], "three", 5);
    assert_int_equal(((const uint8_t *)out.children[0]->buffers[0])[0], 1 << 2);
    assert_int_equal(((const uint8_t *)out.children[2]->buffers[0])[0],
                     0x33); /* the third call failed, the fourth has a NULL */
    assert_int_equal(((const uint8_t *)out.children[3]->buffers[0])[0], 0x3b);
    const int64_t *doubled = out.children[2]->buffers[1];
    assert_int_equal(doubled[1], 40);
    assert_int_equal(doubled[5], 140);
    assert_int_equal(((const int32_t *)out.children[3]->buffers[1])[4], 6);
    /* A part may be taken out and released for itself. */
    struct ArrowArray moved = *out.children[2];
    out.children[2]->release = NULL;
    schema.release(&schema);
    assert_null(schema.release);
    out.release(&out);
    assert_int_equal(((const int64_t *)moved.buffers[1])[1], 40);
    moved.release(&moved);
}

static void all_types(void **state) {
    (void)state;
    Batch t;
    stele_bulk *b;
    struct ArrowSchema schema;
    struct ArrowArray out;
    const uint8_t bools[] = {2};
    const int64_t shorts[] = {-32768, 32767};
    const float f[] = {1.5f, -FLT_MAX};
    const double d[] = {2.25, 1e300};
    const __int128 dec[] = {12345, -((__int128)1 << 80)};
    const int32_t ends[] = {0, 3, 3};
    const int64_t wide[] = {0, 0, 2};
    const int32_t days[] = {0, 20000};
    const int64_t times[] = {0, INT64_C(86399999999)}, stamps[] = {0, 1700000000},
                  micros[] = {1, INT64_C(1700000000000001)};
    const char uuid[] = "0123456789abcdef0123456789abcdef";
    const int32_t lists[] = {1, 3, 3}, items[] = {7, 8, 9, 10}, words[] = {0, 1, 1, 3};
    const uint8_t no_nine[] = {0x0b}, first_only[] = {1};
    batch_init(&t, 2, 0);
    column(&t, "b", 2, 0, NULL, bools, NULL);
    column(&t, "l", 2, 0, NULL, shorts, NULL);
    column(&t, "f", 2, 0, NULL, f, NULL);
    column(&t, "g", 2, 0, NULL, d, NULL);
    column(&t, "d:38,2", 2, 0, first_only, dec, NULL);
    column(&t, "u", 2, 0, NULL, ends, "a\xc3\xa4");
    column(&t, "Z", 2, 0, NULL, wide, "\xff\0");
    column(&t, "tdD", 2, 0, NULL, days, NULL);
    column(&t, "ttu", 2, 0, NULL, times, NULL);
    column(&t, "tss:", 2, 0, NULL, stamps, NULL);
    column(&t, "tsu:Europe/Berlin", 2, 0, NULL, micros, NULL);
    column(&t, "w:16", 2, 0, NULL, uuid, NULL);
    list_of(&t, column(&t, "+l", 2, 0, NULL, lists, NULL), "i", 4, no_nine, items, NULL);
    list_of(&t, column(&t, "+l", 2, 0, NULL, lists, NULL), "u", 3, NULL, words, "xyz");
    column(&t, "S", 2, 0, NULL, "\x05\0\xff\xff", NULL);
    assert_int_equal(stele_bulk_new(conn, "all_types", &b), STELE_OK);
    api_ok(conn, stele_bulk_add_arrow(b, &t.schema, &t.array), "a batch of all types");
    assert_int_equal(stele_bulk_run(b), STELE_OK);
    static const char *const expected[2][15] = {
        {"f", "-32768", "1.5", "2.25", "123.45", "a\xc3\xa4", "\\x", "1970-01-01", "00:00:00", "1970-01-01 00:00:00",
         "1970-01-01 00:00:00.000001+00", "30313233-3435-3637-3839-616263646566", "{8,NULL}", "{\"\",yz}", "5"},
        {"t", "32767", "-3.4028235e+38", "1e+300", NULL, "", "\\xff00", "2024-10-04", "23:59:59.999999",
         "2023-11-14 22:13:20", "2023-11-14 22:13:20.000001+00", "30313233-3435-3637-3839-616263646566", "{}", "{}",
         "65535"}};
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 15; k++) {
            const char *v = stele_bulk_value(b, i, k, NULL);
            if ((v == NULL) != (expected[i][k] == NULL) || (v && strcmp(v, expected[i][k]) != 0))
                fail_msg("row %d column %d: %s, not %s", i, k, v ? v : "NULL",
                         expected[i][k] ? expected[i][k] : "NULL");
        }
    /* and out again: what comes out can go in */
    assert_int_equal(stele_bulk_get_arrow(b, &schema, &out), STELE_OK);
    stele_bulk_free(b);
    assert_string_equal(schema.children[2]->format, "b");
    assert_string_equal(schema.children[12]->format, "tsu:UTC");
    assert_int_equal(((const int64_t *)out.children[11]->buffers[1])[1], INT64_C(1700000000000000));
    assert_int_equal(((const int32_t *)out.children[9]->buffers[1])[1], 20000);
    assert_int_equal(schema.n_children, 17);
    Batch again;
    batch_init(&again, 2, 0);
    for (int k = 0; k < 15; k++) {
        column(&again, "n", 2, 0, NULL, NULL, NULL);
        again.children[k] = schema.children[k + 2];
        again.array_children[k] = out.children[k + 2];
    }
    assert_int_equal(stele_bulk_new(conn, "all_types", &b), STELE_OK);
    assert_int_equal(stele_bulk_add_arrow(b, &again.schema, &again.array), STELE_OK);
    assert_int_equal(stele_bulk_run(b), STELE_OK);
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 15; k++) {
            const char *v = stele_bulk_value(b, i, k, NULL), *x = expected[i][k];
            if ((v == NULL) != (x == NULL) || (v && strcmp(v, x) != 0))
                fail_msg("again: row %d column %d: %s, not %s", i, k, v ? v : "NULL", x ? x : "NULL");
        }
    stele_bulk_free(b);
    schema.release(&schema);
    out.release(&out);
}

static void refuse(const char *routine, Batch *t, const char *sqlstate) {
    stele_bulk *b;
    assert_int_equal(stele_bulk_new(conn, routine, &b), STELE_OK);
    api_refused(conn, stele_bulk_add_arrow(b, &t->schema, &t->array), sqlstate, routine);
    assert_int_equal(stele_bulk_count(b), 0);
    assert_int_equal(stele_bulk_add(b, (const char *const[]){"1", "2"}), STELE_OK); /* it still works */
    assert_int_equal(stele_bulk_run(b), STELE_OK);
    stele_bulk_free(b);
}
static void refused(void **state) {
    (void)state;
    const int32_t ints[] = {1, 2, 3, 4};
    const int64_t big[] = {1, INT64_C(1) << 40, -1, 0};
    const int32_t ends[] = {0, 2, 4, 1}, back[] = {0, 4, 2, 4};
    Batch t;
#define FRESH(format, data, bytes) (batch_init(&t, 3, 0), column(&t, format, 3, 0, NULL, data, bytes))
    FRESH("l", big, NULL), refuse("one_int", &t, "22003");
    FRESH("L", big, NULL), refuse("one_int", &t, "22003");
    FRESH("u", ends, "abcd"), refuse("one_int", &t, "42804");
    FRESH("f", ints, NULL), refuse("one_int", &t, "42804");
    FRESH("e", ints, NULL), refuse("one_int", &t, "42804");
    FRESH("i", ints, NULL), refuse("one_text", &t, "42804");
    FRESH("u", back, "abcd"), refuse("one_text", &t, "22023");
    FRESH("u", ends,
          "ab\xff"
          "d"),
        refuse("one_text", &t, "22021");
    FRESH("u", ends, NULL), refuse("one_text", &t, "22023");
    FRESH("tiQ", ints, NULL), refuse("one_interval", &t, "42804");
    FRESH("i", NULL, NULL), refuse("one_int", &t, "22023");
    FRESH("i", ints, NULL), t.array.length = 4, refuse("one_int", &t, "22023");
    FRESH("i", ints, NULL), t.arrays[0].offset = 1, t.array.offset = 1, refuse("one_int", &t, "22023");
    FRESH("i", ints, NULL), t.arrays[0].offset = INT64_MAX, t.array.offset = INT64_MAX, refuse("one_int", &t, "22023");
    FRESH("i", ints, NULL), t.array.offset = -1, refuse("one_int", &t, "22023");
    FRESH("i", ints, NULL), t.arrays[0].length = -1, refuse("one_int", &t, "22023");
    FRESH("i", ints, NULL), t.arrays[0].null_count = 2, refuse("one_int", &t, "22023");
    FRESH("i", ints, NULL), t.arrays[0].n_buffers = 1, refuse("one_int", &t, "22023");
    FRESH("i", ints, NULL), t.cols[0].release = NULL, refuse("one_int", &t, "22023");
    FRESH("i", ints, NULL), t.array.release = NULL, refuse("one_int", &t, "22023");
    FRESH("i", ints, NULL), t.array_children[0] = NULL, refuse("one_int", &t, "22023");
    FRESH("i", ints, NULL), t.cols[0].dictionary = &t.items[0], refuse("one_int", &t, "22023");
    FRESH("i", ints, NULL), t.schema.format = "i", refuse("one_int", &t, "22023");
    FRESH("i", ints, NULL), refuse("twice", &t, "22023");
    FRESH("i", ints, NULL), t.top[0] = "\x05", t.array.null_count = 1, refuse("one_int", &t, "22023");
    FRESH("i", ints, NULL), t.cols[0].n_children = 1, refuse("one_int", &t, "22023");
    batch_init(&t, 0, 0), column(&t, "i", 0, 0, NULL, NULL, NULL);
    stele_bulk *b;
    assert_int_equal(stele_bulk_new(conn, "one_int", &b), STELE_OK);
    assert_int_equal(stele_bulk_add_arrow(b, &t.schema, &t.array), STELE_OK);
    assert_int_equal(stele_bulk_submit(b), STELE_OK);
    assert_int_equal(stele_bulk_wait(b, -1, NULL), STELE_OK);
    struct ArrowSchema schema;
    struct ArrowArray out;
    assert_int_equal(stele_bulk_get_arrow(b, &schema, &out), STELE_OK);
    assert_int_equal(out.length, 0);
    schema.release(&schema);
    out.release(&out);
    stele_bulk_free(b);
}

/* ---- results of CALL bulk_call, which are columns ---- */
/* The texts of column k, NULL where it is NULL. */
static const char *text_of(const struct ArrowArray *a, int64_t k, int64_t row, char *out, size_t size) {
    const struct ArrowArray *c = a->children[k];
    const uint8_t *bits = c->buffers[0];
    const int64_t *ends = c->buffers[1];
    if (bits && !(bits[row / 8] >> (row % 8) & 1)) return NULL;
    snprintf(out, size, "%.*s", (int)(ends[row + 1] - ends[row]), (const char *)c->buffers[2] + ends[row]);
    return out;
}
static void fetch_calls(const char *sql, int64_t most, struct ArrowSchema *schema, struct ArrowArray *batch,
                        stele_stmt **s) {
    if (!*s) assert_int_equal(stele_prepare(conn, sql, -1, s, NULL), STELE_OK);
    assert_int_equal(stele_fetch_arrow(*s, most, schema, batch), STELE_ROW);
    assert_int_equal(batch->n_children, 9);
}
static void calls(void **state) {
    (void)state;
    enum { CALL, STATE, MESSAGE, DETAIL, HINT, LINE, CONTEXT, B, C };
    char text[200];
    struct ArrowSchema schema;
    struct ArrowArray x;
    stele_stmt *s = NULL;
    const char *sql = "call bulk_call('twice', 'select i, 10 * i from generate_series(1, 5000) g(i) order by i')";
    fetch_calls(sql, 2, &schema, &x, &s);
    assert_int_equal(x.length, 2);
    schema.release(&schema);
    x.release(&x);
    fetch_calls(sql, 0, &schema, &x, &s); /* from the third one on, which fails */
    assert_int_equal(x.length, 4998);
    for (int64_t i = 0; i < x.length; i++) {
        assert_int_equal(((const int64_t *)x.children[CALL]->buffers[1])[i], i + 3);
        const char *state_text = text_of(&x, STATE, i, text, sizeof text);
        if (i == 0) assert_string_equal(state_text, "P0001");
        else assert_null(state_text);
        if (i == 0) continue;
        assert_int_equal(((const int64_t *)x.children[B]->buffers[1])[i], (i + 3) * 20);
        assert_int_equal(((const int32_t *)x.children[C]->buffers[1])[i], i + 4);
    }
    assert_string_equal(text_of(&x, MESSAGE, 0, text, sizeof text), "three");
    assert_int_equal(((const int32_t *)x.children[LINE]->buffers[1])[0], 1);
    for (int k = STATE; k <= CONTEXT; k++)
        assert_int_equal(x.children[k]->null_count, k == DETAIL || k == HINT ? 4998 : 4997);
    assert_int_equal(x.children[B]->null_count, 1);
    assert_int_equal(x.children[C]->null_count, 1);
    schema.release(&schema);
    x.release(&x);
    stele_finalize(s);
    s = NULL;
    /* none fails: columns of errors are one cell for all */
    fetch_calls("call bulk_call('twice', 'select i, null from generate_series(4, 5003) g(i) order by i')", 0, &schema,
                &x, &s);
    assert_int_equal(x.length, 5000);
    for (int k = STATE; k <= B; k++) assert_int_equal(x.children[k]->null_count, 5000);
    assert_int_equal(((const int32_t *)x.children[C]->buffers[1])[4999], 5004);
    schema.release(&schema);
    x.release(&x);
    stele_finalize(s);
    s = NULL;
    /* a value that is none of the parameter's type: its call does not run */
    fetch_calls("call bulk_call('twice', 'values (''7'', ''1''), (''x'', ''2''), (''9'', ''3'')')", 0, &schema, &x, &s);
    assert_string_equal(text_of(&x, STATE, 1, text, sizeof text), "22P02");
    assert_null(text_of(&x, STATE, 0, text, sizeof text));
    assert_int_equal(x.children[B]->null_count, 1);
    assert_int_equal(((const int64_t *)x.children[B]->buffers[1])[2], 6);
    schema.release(&schema);
    x.release(&x);
    stele_finalize(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(values), cmocka_unit_test(all_types), cmocka_unit_test(refused),
                                       cmocka_unit_test(calls)};
    return cmocka_run_group_tests_name("arrow", tests, set_up, tear_down);
}
