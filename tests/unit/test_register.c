/* test_register.c - results as Arrow batches (stele_fetch_arrow), and Arrow streams under a name for FROM
 * (stele_register_arrow): all types there and back, forms that only other makers of batches use, who sees the name, how
 * long rows live, and streams that must be refused. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "unit_api.h"

static stele_db *db;
static stele_conn *conn, *other;

static void run(const char *sql) { api_run(conn, sql); }
static void gives(const char *sql, const char *rows) { api_gives(conn, sql, rows); }

static int set_up(void **state) {
    (void)state;
    if (stele_open(":memory:", &(stele_options){.threads = 2}, &db, NULL) != STELE_OK ||
        stele_connect(db, &conn) != STELE_OK || stele_connect(db, &other) != STELE_OK)
        return -1;
    run("create table all_types (a boolean, b smallint, c int, d bigint, e real, f double precision, g numeric(9,2), "
        "h numeric, i text, j varchar(9), k bytea, l date, m time, n timestamp, o timestamptz, p uuid, q int[], r "
        "interval);"
        "insert into all_types values (true, 1, 2, 3, 1.5, -2.5, 12.34, 1e-7, 'some text that is longer than twelve', "
        "'v', "
        "'\\x00ff', '1969-12-31', '12:34:56.789', '2001-02-03 04:05:06.7', '1999-01-01 00:00+02', "
        "'00112233-4455-6677-8899-aabbccddeeff', '{1,null,3}', '1 month 2 days 3 hours'), "
        "(false, -32768, -2147483648, -9223372036854775808, 'nan', 'infinity', -0.01, 12345678901234567890, '', '', "
        "'', "
        "'infinity', '24:00', '-infinity', 'infinity', '00000000-0000-0000-0000-000000000000', '{}', '-1 day');"
        "insert into all_types (c) select i from generate_series(1, 5000) as i;");
    return 0;
}
static int tear_down(void **state) {
    (void)state;
    stele_disconnect(other);
    stele_disconnect(conn);
    return stele_close(db, NULL) == STELE_OK ? 0 : -1;
}

/* ---- streams --------------------------------------------------------------------------------------------- */
typedef struct Source {
    stele_stmt *stmt; /* its result, or else */
    int64_t max_rows, fail_at, n;
    const struct ArrowSchema *schema; /* one batch */
    const struct ArrowArray *batch;
} Source;
static int streams; /* that are not released */
static int get_schema(struct ArrowArrayStream *s, struct ArrowSchema *out) {
    Source *x = s->private_data;
    struct ArrowArray none;
    if (x->fail_at < 0) return 5;
    if (!x->stmt) return *out = *x->schema, 0;
    if (stele_fetch_arrow(x->stmt, 1, out, &none) == STELE_ERROR) return 5;
    none.release(&none);
    stele_reset(x->stmt);
    return 0;
}
static int get_next(struct ArrowArrayStream *s, struct ArrowArray *out) {
    Source *x = s->private_data;
    struct ArrowSchema schema;
    if (x->fail_at && x->n++ == x->fail_at) return 5;
    memset(out, 0, sizeof *out);
    if (!x->stmt) {
        if (x->batch) *out = *x->batch;
        x->batch = NULL;
        return 0;
    }
    stele_status st = stele_fetch_arrow(x->stmt, x->max_rows, &schema, out);
    if (st == STELE_ERROR) return 5;
    schema.release(&schema);
    if (st == STELE_DONE) out->release(out);
    return 0;
}
static const char *last_error(struct ArrowArrayStream *s) {
    (void)s;
    return "it tore";
}
static void release(struct ArrowArrayStream *s) {
    Source *x = s->private_data;
    stele_finalize(x->stmt);
    s->release = NULL;
    streams--;
}
static struct ArrowArrayStream stream_of(Source *x) {
    streams++;
    return (struct ArrowArrayStream){get_schema, get_next, last_error, release, x};
}
static stele_status register_query(stele_conn *c, const char *name, const char *sql, int64_t max_rows,
                                   int64_t fail_at) {
    Source x = {.max_rows = max_rows, .fail_at = fail_at};
    api_ok(conn, stele_prepare(conn, sql, -1, &x.stmt, NULL), sql);
    struct ArrowArrayStream s = stream_of(&x);
    stele_status st = stele_register_arrow(c, name, &s);
    assert_int_equal(streams, 0);
    return st;
}

/* ---- all types --------------------------------------------------------------------------------------------- */
static void there_and_back(void **state) {
    (void)state;
    for (int64_t max_rows = 0; max_rows < 4; max_rows++) {
        assert_int_equal(register_query(conn, "r", "select * from all_types", max_rows * 1000, 0), STELE_OK);
        gives("select count(*) from r", "5002");
        gives("select count(*) from (select a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r::text from "
              "all_types "
              "except all select * from r) as x",
              "0");
        gives("select sum(r.c) from r join all_types as t on r.c = t.c where r.c between 10 and 20", "165");
    }
    run("create table copy as select * from r");
    gives("select count(*) from copy where c > 0", "5001");
    run("insert into copy (c, i) select c, i from r where c = 2");
    gives("select count(*) from copy where c = 2", "4");
    run("drop table copy");
    stele_unregister(conn, "r");
    stele_unregister(conn, "r");
    api_fails(conn, "select * from r", "42P01");
}

/* Results of other shapes: RETURNING, CALL, SHOW, EXPLAIN, no rows, no columns. */
static void shapes(void **state) {
    (void)state;
    static const struct {
        const char *sql;
        int64_t columns, rows;
    } cases[] = {{"update all_types set b = 7 where c in (4, 3, 5) returning c, i, b", 3, 3},
                 {"insert into all_types (c, i) values (-5, 'minus five') returning i, c", 2, 1},
                 {"delete from all_types where c = -5 returning *", 18, 1},
                 {"show vector_size", 1, 1},
                 {"explain select 1", 1, 1},
                 {"select * from all_types where c = -7", 18, 0},
                 {"select c, c from all_types order by c desc limit 3000 offset 10", 2, 3000},
                 {"create view v as select 1", 0, 0},
                 {"drop view v", 0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        stele_stmt *s;
        struct ArrowSchema schema;
        struct ArrowArray batch;
        if (stele_prepare(conn, cases[i].sql, -1, &s, NULL) != STELE_OK) fail_msg("%s", cases[i].sql);
        stele_status st = stele_fetch_arrow(s, 0, &schema, &batch);
        if (st != (cases[i].rows ? STELE_ROW : STELE_DONE) || schema.n_children != cases[i].columns ||
            (cases[i].rows != 1 && batch.length != cases[i].rows))
            fail_msg("%s: status %d, %d columns, %d rows", cases[i].sql, (int)st, (int)schema.n_children,
                     (int)batch.length);
        schema.release(&schema);
        batch.release(&batch);
        assert_int_equal(stele_fetch_arrow(s, 0, &schema, &batch), STELE_DONE);
        assert_int_equal(batch.length, 0);
        stele_finalize(s);
        schema.release(&schema);
        batch.release(&batch);
    }
    stele_stmt *s;
    struct ArrowSchema schema;
    struct ArrowArray batch;
    assert_int_equal(stele_prepare(conn, "select c / 0 from all_types", -1, &s, NULL), STELE_OK);
    assert_int_equal(stele_fetch_arrow(s, 0, &schema, &batch), STELE_ERROR);
    assert_true(!schema.release && !batch.release);
    stele_finalize(s);
    /* steps and batches take turns */
    assert_int_equal(stele_prepare(conn, "select i from generate_series(1, 5) as i order by i", -1, &s, NULL),
                     STELE_OK);
    assert_int_equal(stele_step(s), STELE_ROW);
    assert_int_equal(stele_fetch_arrow(s, 2, &schema, &batch), STELE_ROW);
    assert_int_equal(((const int32_t *)batch.children[0]->buffers[1])[0], 2);
    schema.release(&schema);
    batch.release(&batch);
    assert_int_equal(stele_step(s), STELE_ROW);
    assert_int_equal(stele_column_int64(s, 0), 4);
    stele_finalize(s);
}

/* Streams of a batch, more than one, beyond the batch's own life. */
static void batch_streams(void **state) {
    (void)state;
    stele_stmt *s;
    struct ArrowSchema schema, copy;
    struct ArrowArray batch, moved;
    struct ArrowArrayStream first, second, unread;
    assert_int_equal(
        stele_prepare(conn, "select i, 'text number ' || i as t from generate_series(1, 10) as i", -1, &s, NULL),
        STELE_OK);
    assert_int_equal(stele_fetch_arrow(s, 0, &schema, &batch), STELE_ROW);
    stele_finalize(s);
    assert_int_equal(stele_arrow_stream(&schema, &batch, &first), STELE_OK);
    assert_int_equal(stele_arrow_stream(&schema, &batch, &second), STELE_OK);
    assert_int_equal(stele_arrow_stream(&schema, &batch, &unread), STELE_OK);
    schema.release(&schema);
    batch.release(&batch);
    unread.release(&unread);
    assert_int_equal(stele_register_arrow(conn, "first", &first), STELE_OK);
    gives("select sum(i) || max(t) from first", "55text number 9");
    stele_unregister(conn, "first");
    assert_int_equal(second.get_schema(&second, &copy), 0);
    assert_string_equal(copy.children[1]->name, "t");
    struct ArrowSchema column = *copy.children[0];
    copy.children[0]->release = NULL; /* moved */
    copy.release(&copy);
    assert_int_equal(second.get_next(&second, &batch), 0);
    assert_int_equal(batch.length, 10);
    moved = *batch.children[1];
    batch.children[1]->release = NULL;
    batch.release(&batch);
    assert_int_equal(second.get_next(&second, &batch), 0);
    assert_null(batch.release);
    second.release(&second);
    assert_memory_equal(moved.buffers[2], "text number 1", 13);
    assert_string_equal(column.format, "i");
    moved.release(&moved);
    column.release(&column);
}

/* ---- who sees the name -------------------------------------------------------------------------------------- */
static void scope(void **state) {
    (void)state;
    assert_int_equal(
        register_query(conn, "mine",
                       "select i as a, 'row ' || i || ' of the registered ones' as b from generate_series(1, 100) as i",
                       30, 0),
        STELE_OK);
    gives("select count(*) from mine", "100");
    gives("with mine as (select 1) select count(*) from mine", "1");
    gives("select count(*) from mine as x, lateral (select a from mine where a = x.a) as y", "100");
    gives("select max(x.z) from mine as x (y, z)", "row 99 of the registered ones");
    api_fails(other, "select * from mine", "42P01");
    api_fails(conn, "select * from public.mine", "42P01");
    api_fails(conn, "create view v as select * from mine", "42P01");
    api_fails(conn, "insert into mine values (1, '')", "42P01");
    api_fails(conn, "delete from mine", "42P01");
    run("create function f() returns bigint language plpgsql as $$ begin return (select count(*) from mine); end $$");
    api_fails(conn, "select f()", "42P01");
    run("prepare p as select sum(a) from mine; explain select * from mine");
    char plan[API_TEXT] = "";
    api_ok(conn, stele_exec(conn, "explain select * from mine", api_keep, plan), "explain");
    plan[strcspn(plan, ";")] = 0;
    assert_string_equal(plan, "values of mine, rows 100  (rows 100, cost 0)");
    gives("execute p", "5050");
    gives("select sum(a) from mine", "5050");
    gives("select sum(a) from mine", "5050"); /* the text again */
    /* another shape: nothing of the old one is kept */
    assert_int_equal(register_query(conn, "mine", "select 'x' as a, 2 as c", 0, 0), STELE_OK);
    gives("select a from mine", "x");
    api_fails(conn, "select sum(a) from mine", "42883");
    gives("select c from mine", "2");
    /* tables come first */
    run("create table mine as select 7 as t");
    gives("select * from mine", "7");
    run("drop table mine");
    gives("select c from mine", "2");
    run("begin; insert into all_types (c) select c from mine");
    gives("select count(*) from all_types, mine where all_types.c = mine.c", "3");
    run("rollback; drop function f");
    stele_unregister(conn, "mine");
    api_fails(conn, "select * from mine", "42P01");
}

/* A result stays when the rows that it came of are gone. */
static void lifetime(void **state) {
    (void)state;
    stele_stmt *s;
    assert_int_equal(
        register_query(conn, "gone",
                       "select 'a text of the rows that will be gone, ' || i as b from generate_series(1, 9) as i", 0,
                       0),
        STELE_OK);
    assert_int_equal(stele_prepare(conn, "select b from gone order by b", -1, &s, NULL), STELE_OK);
    assert_int_equal(stele_run(s), STELE_DONE);
    stele_unregister(conn, "gone");
    assert_int_equal(stele_step(s), STELE_ROW);
    assert_string_equal(stele_column_text(s, 0, NULL), "a text of the rows that will be gone, 1");
    stele_reset(s);
    assert_int_equal(stele_step(s), STELE_ERROR);
    stele_finalize(s);
}

/* Names that are made when they are asked for, in the middle of a transaction too. */
static char asked[200];
static bool resolve(void *ctx, const char *name) {
    stele_stmt *s;
    strncat(asked, name, 20);
    strncat(asked, " ", 2);
    if (strcmp(name, "unknown") == 0) return false;
    assert_int_equal(stele_prepare(other, "select 5 as five, 'six' as six", -1, &s, NULL), STELE_OK);
    Source x = {.stmt = s, .fail_at = strcmp(name, "torn") == 0 ? -1 : 0};
    struct ArrowArrayStream stream = stream_of(&x);
    return stele_register_arrow(ctx, name, &stream) == STELE_OK;
}
static void resolver(void **state) {
    (void)state;
    stele_set_resolver(conn, resolve, conn);
    gives("select six from late", "six");
    run("begin; create table kept as select * from later");
    gives("select five from kept join late using (five) limit 1", "5");
    run("explain select * from latest; commit");
    gives("select count(*) from kept", "1");
    assert_string_equal(asked, "late later latest ");
    api_fails(conn, "select * from unknown", "42P01");
    api_fails(conn, "select * from torn", "58030");
    stele_set_resolver(conn, NULL, NULL);
    api_fails(conn, "select * from never", "42P01");
    run("drop table kept");
    stele_unregister(conn, "late");
    stele_unregister(conn, "later");
    stele_unregister(conn, "latest");
}

/* ---- batches of other makers ---------------------------------------------------------------------------------- */
static void no_schema(struct ArrowSchema *s) { s->release = NULL; }
static void no_array(struct ArrowArray *a) { a->release = NULL; }
typedef struct One { /* a batch of one column */
    struct ArrowSchema schema, col, codes, *children[1];
    struct ArrowArray array, data, values, *array_children[1];
    const void *top[1], *buffers[5], *value_buffers[3];
} One;
static One *one(One *b, const char *format, int64_t n, int64_t n_buffers, const void *data, const void *bytes,
                const void *sizes) {
    memset(b, 0, sizeof *b);
    b->buffers[1] = data;
    b->buffers[2] = bytes;
    b->buffers[3] = sizes;
    b->col = (struct ArrowSchema){.format = format, .name = "x", .release = no_schema};
    b->data = (struct ArrowArray){.length = n, .n_buffers = n_buffers, .buffers = b->buffers, .release = no_array};
    b->children[0] = &b->col;
    b->array_children[0] = &b->data;
    b->schema = (struct ArrowSchema){.format = "+s", .n_children = 1, .children = b->children, .release = no_schema};
    b->array = (struct ArrowArray){.length = n,
                                   .n_buffers = 1,
                                   .buffers = b->top,
                                   .n_children = 1,
                                   .children = b->array_children,
                                   .release = no_array};
    return b;
}
static void coded(One *b, const char *format, int64_t n, const void *offsets, const void *bytes) {
    b->value_buffers[1] = offsets;
    b->value_buffers[2] = bytes;
    b->codes = (struct ArrowSchema){.format = format, .name = "", .release = no_schema};
    b->values = (struct ArrowArray){.length = n, .n_buffers = 3, .buffers = b->value_buffers, .release = no_array};
    b->col.dictionary = &b->codes;
    b->data.dictionary = &b->values;
}
static stele_status registered(const One *b) {
    Source x = {.schema = &b->schema, .batch = &b->array};
    struct ArrowArrayStream s = stream_of(&x);
    return stele_register_arrow(conn, "o", &s);
}
static void takes(const One *b, const char *type, const char *texts) {
    char sql[300];
    api_ok(conn, registered(b), b->col.format);
    snprintf(sql, sizeof sql, "select string_agg(coalesce(x::text, '-'), '|') from o");
    gives(sql, texts);
    snprintf(sql, sizeof sql, "create table typed as select x from o; insert into typed select null::%s", type);
    run(sql);
    run("drop table typed");
}
static void refuse(const One *b, const char *sqlstate) {
    api_refused(conn, registered(b), sqlstate, b->col.format);
    assert_int_equal(streams, 0);
}

typedef struct View {
    int32_t len;
    union {
        char text[12];
        struct {
            char prefix[4];
            int32_t buffer, offset;
        } far;
    } u;
} View;

static void forms(void **state) {
    (void)state;
    One b;
    View views[] = {{5, {.text = "short"}}, {20, {.far = {"long", 0, 3}}}, {0, {.text = ""}}};
    const char *bytes = "...long, and a text here";
    const int64_t sizes[] = {24};
    takes(one(&b, "vu", 3, 4, views, bytes, sizes), "text", "short|long, and a text her|");
    takes(one(&b, "vz", 3, 4, views, bytes, sizes), "bytea",
          "\\x73686f7274|\\x6c6f6e672c20616e642061207465787420686572|\\x");
    views[1].u.far.offset = 5, refuse(one(&b, "vu", 3, 4, views, bytes, sizes), "22023");
    views[1].u.far.offset = -1, refuse(one(&b, "vu", 3, 4, views, bytes, sizes), "22023");
    views[1].u.far.offset = 0, views[1].u.far.buffer = 1, refuse(one(&b, "vu", 3, 4, views, bytes, sizes), "22023");
    views[1].len = -1, refuse(one(&b, "vu", 3, 4, views, bytes, sizes), "22023");
    refuse(one(&b, "vu", 3, 2, views, bytes, sizes), "22023");
    refuse(one(&b, "vu", 3, 4, views, NULL, sizes), "22023");

    const int8_t codes[] = {1, 0, 1, 2}, wrong[] = {0, 3};
    const int32_t ends[] = {0, 1, 4, 4};
    one(&b, "c", 4, 2, codes, NULL, NULL), coded(&b, "u", 3, ends, "abcd"), takes(&b, "text", "bcd|a|bcd|");
    b.data.null_count = 1, b.buffers[0] = "\x0b", takes(&b, "text", "bcd|a|-|");
    one(&b, "c", 2, 2, wrong, NULL, NULL), coded(&b, "u", 3, ends, "abcd"), refuse(&b, "22023");
    one(&b, "f", 2, 2, wrong, NULL, NULL), coded(&b, "u", 3, ends, "abcd"), refuse(&b, "22023");
    one(&b, "c", 2, 2, codes, NULL, NULL), coded(&b, "u", 3, ends, "abcd"), b.data.dictionary = NULL,
                                                                            refuse(&b, "22023");

    const int64_t nanos[] = {1500, -1500, 946684800000000499};
    takes(one(&b, "tsn:", 3, 2, nanos, NULL, NULL), "timestamp",
          "1970-01-01 00:00:00.000002|1969-12-31 23:59:59.999998|2000-01-01 00:00:00");
    takes(one(&b, "tDn", 2, 2, nanos, NULL, NULL), "interval", "00:00:00.000002|-00:00:00.000002");
    const int64_t ms[] = {-1, 86400000};
    takes(one(&b, "tdm", 2, 2, ms, NULL, NULL), "date", "1969-12-31|1970-01-02");
    takes(one(&b, "tDs", 2, 2, ms, NULL, NULL), "interval", "-00:00:01|24000:00:00");
    const int32_t seconds[] = {1, 86399};
    takes(one(&b, "tts", 2, 2, seconds, NULL, NULL), "time", "00:00:01|23:59:59");
    takes(one(&b, "tiM", 2, 2, seconds, NULL, NULL), "interval", "1 mon|7199 years 11 mons");
    takes(one(&b, "tiD", 1, 2, seconds, NULL, NULL), "interval", "1 day 00:01:26.399");
    const struct {
        int32_t months, days;
        int64_t nanos;
    } tin[] = {{-1, 2, 3000000}};
    takes(one(&b, "tin", 1, 2, tin, NULL, NULL), "interval", "-1 mons +2 days 00:00:00.003");
    const uint64_t big[] = {UINT64_MAX, 1};
    takes(one(&b, "L", 2, 2, big, NULL, NULL), "numeric(20,0)", "18446744073709551615|1");
    takes(one(&b, "w:3", 2, 2, "abcdef", NULL, NULL), "bytea", "\\x616263|\\x646566");
    takes(one(&b, "u", 1, 3, ends, "ab", NULL), "text", "a");
    const int32_t split[] = {0, 1, 3};
    refuse(one(&b, "u", 2, 3, split, "\xc3\xa4x", NULL), "22021"); /* within a character */
    const int64_t far_away[] = {INT64_MAX, INT64_MIN};
    refuse(one(&b, "tss:", 2, 2, far_away, NULL, NULL), "22003");
    refuse(one(&b, "tts", 2, 2, far_away, NULL, NULL), "22003");
    const uint16_t halves[] = {0x3e00, 0xc000};
    takes(one(&b, "e", 2, 2, halves, NULL, NULL), "real", "1.5|-2");
    refuse(one(&b, "x", 2, 2, seconds, NULL, NULL), "0A000"); /* none of Arrow */
    refuse(one(&b, "+w:2", 2, 1, seconds, NULL, NULL), "0A000");
    refuse(one(&b, "d:40,2,256", 2, 2, seconds, NULL, NULL), "0A000");
    one(&b, "i", 2, 2, seconds, NULL, NULL), b.schema.format = "i", refuse(&b, "22023");
    one(&b, "i", 2, 2, seconds, NULL, NULL), b.array.n_children = 2, refuse(&b, "22023");
    one(&b, "i", 2, 2, seconds, NULL, NULL), b.data.length = 1, refuse(&b, "22023");
    takes(one(&b, "i", 2, 2, seconds, NULL, NULL), "int", "1|86399");
    stele_unregister(conn, "o");
}

typedef struct Within { /* what is within a column: fields of up to three buffers */
    struct ArrowSchema schemas[3], *schema_of[3];
    struct ArrowArray arrays[3], *array_of[3];
    const void *buffers[3][3];
    int n;
} Within;
static int within(Within *w, const char *format, int64_t length, int64_t n_buffers, const void *valid, const void *data,
                  const void *bytes) {
    static const char *const names[] = {"a", "b", "c"};
    int k = w->n++;
    memcpy(w->buffers[k], (const void *[]){valid, data, bytes}, sizeof w->buffers[k]);
    w->schemas[k] = (struct ArrowSchema){.format = format, .name = names[k], .release = no_schema};
    w->arrays[k] = (struct ArrowArray){
        .length = length, .n_buffers = n_buffers, .buffers = w->buffers[k], .null_count = -1, .release = no_array};
    w->schema_of[k] = &w->schemas[k];
    w->array_of[k] = &w->arrays[k];
    return k;
}
/* Fields number `from` to 2 are the children of a column, or of field number k. */
static void put_within(Within *w, int from, struct ArrowSchema *schema, struct ArrowArray *array) {
    schema->n_children = array->n_children = w->n - from;
    schema->children = &w->schema_of[from];
    array->children = &w->array_of[from];
}
/* A column of one kind of lists. */
static One *list(One *b, Within *w, const char *format, int64_t n, const void *offsets) {
    one(b, format, n, offsets ? 2 : 1, offsets, NULL, NULL);
    put_within(w, 0, &b->col, &b->data);
    return b;
}

static void nested(void **state) {
    (void)state;
    One b;
    const int32_t numbers[] = {1, 2, 3, 4}, ends[] = {0, 1, 3}, falling[] = {2, 1, 3}, beyond[] = {0, 1, 5};
    const int32_t bad_ends[] = {0, 1, 2};
    Within w = {.n = 0};
    within(&w, "i", 4, 2, "\x0d", numbers, NULL);
    takes(list(&b, &w, "+w:2", 2, NULL), "int[]", "{1,NULL}|{3,4}");
    refuse(list(&b, &w, "+w:3", 2, NULL), "22023");
    takes(list(&b, &w, "+l", 2, ends), "int[]", "{1}|{NULL,3}");
    refuse(list(&b, &w, "+l", 2, falling), "22023");
    refuse(list(&b, &w, "+l", 2, beyond), "22023");
    refuse(list(&b, &w, "+m", 2, ends), "0A000");

    /* a struct: what is within NULL is not looked at, here a text that is none */
    w = (Within){.n = 0};
    within(&w, "i", 2, 2, NULL, numbers, NULL);
    within(&w, "u", 2, 3, NULL, bad_ends, "x\xff");
    one(&b, "+s", 2, 1, NULL, NULL, NULL), put_within(&w, 0, &b.col, &b.data);
    refuse(&b, "22021");
    b.buffers[0] = "\x01", takes(&b, "jsonb", "{\"a\": 1, \"b\": \"x\"}|-");
    w.arrays[0].length = 1, refuse(&b, "22023");
    w.arrays[0].length = 2, w.schemas[0].format = "x", refuse(&b, "0A000");

    /* unions: members by their numbers, and rows of members */
    w = (Within){.n = 0};
    within(&w, "i", 4, 2, NULL, numbers, NULL);
    within(&w, "u", 2, 3, NULL, ends, "xyz");
    one(&b, "+us:7,3", 2, 1, NULL, NULL, NULL), put_within(&w, 0, &b.col, &b.data);
    b.buffers[0] = "\x07\x03", takes(&b, "jsonb", "1|\"yz\"");
    b.buffers[0] = "\x07\x02", refuse(&b, "22023");
    b.buffers[0] = "\x07\xff", refuse(&b, "22023");
    b.buffers[0] = NULL, refuse(&b, "22023");
    const int32_t places[] = {3, 0}, far[] = {3, 2};
    one(&b, "+ud:7,3", 2, 2, places, NULL, NULL), put_within(&w, 0, &b.col, &b.data);
    b.buffers[0] = "\x07\x03", takes(&b, "jsonb", "4|\"x\"");
    b.buffers[1] = far, refuse(&b, "22023");

    /* maps */
    w = (Within){.n = 0};
    within(&w, "+s", 3, 1, NULL, NULL, NULL);
    within(&w, "i", 3, 2, NULL, numbers, NULL);
    within(&w, "b", 3, 2, NULL, "\x05", NULL);
    put_within(&w, 1, &w.schemas[0], &w.arrays[0]);
    one(&b, "+m", 2, 2, ends, NULL, NULL), w.n = 1, put_within(&w, 0, &b.col, &b.data);
    takes(&b, "jsonb",
          "[{\"key\": 1, \"value\": true}]|[{\"key\": 2, \"value\": false}, {\"key\": 3, \"value\": true}]");
    w.buffers[1][0] = "\x03", refuse(&b, "22004");
    stele_unregister(conn, "o");
}

static void refused(void **state) {
    (void)state;
    stele_error_info e;
    for (int fail_at = -1; fail_at < 3; fail_at++) {
        if (fail_at == 0) continue;
        assert_int_equal(register_query(conn, "torn", "select * from all_types", 1000, fail_at), STELE_ERROR);
        stele_error(conn, &e);
        assert_string_equal(e.sqlstate, "58030");
        assert_string_equal(e.message, "the Arrow stream cannot be read: it tore");
        api_fails(conn, "select * from torn", "42P01");
    }
    struct ArrowArrayStream none = {0};
    assert_int_equal(stele_register_arrow(conn, "none", &none), STELE_ERROR);
    run("set memory_limit = '64MB'; create table wide as select i, i::text || ' and more and more' as t from "
        "generate_series(1, 500000) as i");
    assert_int_equal(
        register_query(conn, "large", "select a.t || b.t as t from wide as a join wide as b on a.i = b.i", 10000, 0),
        STELE_ERROR);
    stele_error(conn, &e);
    assert_string_equal(e.sqlstate, "53400");
    run("reset memory_limit; drop table wide");
}

/* The allocation that fails is each of them in turn: an error, nothing registered, and nothing kept. */
static void no_memory(void **state) {
    (void)state;
    const char *sql = "select * from all_types where c < 300 or c is null";
    for (int64_t step = 1;; step++) {
        stele_stmt *s;
        struct ArrowSchema schema;
        struct ArrowArray batch;
        struct ArrowArrayStream stream = {0};
        stele_error_info e;
        assert_int_equal(stele_prepare(conn, sql, -1, &s, NULL), STELE_OK);
        assert_int_equal(stele_run(s), STELE_DONE);
        mem_fail_at(step);
        stele_status st = stele_fetch_arrow(s, 0, &schema, &batch);
        bool made = st == STELE_ROW;
        if (made) st = stele_arrow_stream(&schema, &batch, &stream);
        bool streams_made = made && st == STELE_OK;
        if (streams_made) st = stele_register_arrow(conn, "scarce", &stream);
        bool over = mem_fail_at(0) > 0;
        if (!made || (streams_made && st == STELE_ERROR)) {
            stele_error(conn, &e);
            if (strcmp(e.sqlstate, made ? "58030" : "53200") != 0) assert_string_equal(e.sqlstate, "53200");
        }
        assert_true(made || (!schema.release && !batch.release));
        assert_null(stream.release);
        stele_finalize(s);
        if (made) {
            schema.release(&schema);
            batch.release(&batch);
        }
        if (st == STELE_OK) gives("select count(*) from scarce", "301");
        else api_fails(conn, "select * from scarce", "42P01");
        stele_unregister(conn, "scarce");
        if (over) {
            assert_int_equal(st, STELE_OK);
            assert_true(step > 20);
            return;
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(there_and_back), cmocka_unit_test(nested),
                                       cmocka_unit_test(shapes),         cmocka_unit_test(scope),
                                       cmocka_unit_test(resolver),       cmocka_unit_test(batch_streams),
                                       cmocka_unit_test(lifetime),       cmocka_unit_test(forms),
                                       cmocka_unit_test(refused),        cmocka_unit_test(no_memory)};
    return cmocka_run_group_tests_name("register", tests, set_up, tear_down);
}
