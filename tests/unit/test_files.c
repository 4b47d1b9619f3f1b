/* test_files.c - files as streams: block borders at every offset, several workers, line numbers of failures, paths,
 * formats of dates, pauses, what is kept of Arrow files. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/pool.h"
#include "io/csv_int.h"
#include "io/date_format.h"

static MemAccount account;
static SessionInfo session;
static FileFinder finder;

static const char *write_bytes(const char *name, const void *bytes, int64_t n) {
    static char path[8][64];
    static int next;
    char *p = path[next++ % 8];
    Err e = {0};
    snprintf(p, 64, "/tmp/stele_files_unit_%s", name);
    assert_int_equal(vfs_write_file(vfs_posix(), p, bytes, n, &e), ST_OK);
    return p;
}
static const char *write_file(const char *name, const char *text) {
    return write_bytes(name, text, (int64_t)strlen(text));
}

static void put_cell(char **w, const Vec *v, int64_t row) {
    if (v->valid && !v->valid[row]) {
        *w += sprintf(*w, "NULL|");
        return;
    }
    if (v->phys == PH_STR) {
        Str s = ((const Str *)v->data)[row];
        *w += sprintf(*w, "%.*s|", (int)s.len, s.ptr);
        return;
    }
    Value x = {.type = v->type};
    char text[VALUE_TEXT_MAX];
    int64_t size = phys_size((Phys)v->phys);
    memcpy(value_cell(&x), (const char *)v->data + row * size, (size_t)size);
    int64_t n = cell_to_text(v->type, value_cell(&x), (TextForm){0}, text);
    *w += sprintf(*w, "%.*s|", (int)n, text);
}

typedef struct Piece {
    int64_t order, seq;
    char *text;
} Piece;
static int by_order(const void *a, const void *b) {
    const Piece *x = a, *y = b;
    if (x->order != y->order) return x->order < y->order ? -1 : 1;
    return x->seq < y->seq ? -1 : 1;
}

/* All rows of the stream as text, read by so many workers in turn; NULL when it fails. */
static char *read_all(const RowStream *s, int workers, const bool *wanted, Err *e) {
    bool all[64];
    memset(all, 1, sizeof all);
    StreamUse use = {.threads = workers,
                     .account = &account,
                     .vfs = vfs_posix(),
                     .session = &session,
                     .wanted = wanted ? wanted : all};
    StreamRun *r;
    assert_int_equal(s->begin(s, &use, &r, e), ST_OK);
    Piece *pieces = calloc(100000, sizeof *pieces);
    int64_t n = 0, left = workers;
    bool *ended = calloc((size_t)workers, sizeof *ended);
    while (left > 0)
        for (int w = 0; w < workers; w++) {
            StreamBatch b;
            if (ended[w]) continue;
            assert_int_equal(r->next(r, w, &b, e), ST_OK);
            if (b.n == 0) {
                ended[w] = true;
                left--;
                continue;
            }
            char *text = malloc((size_t)b.n * 1000), *to = text;
            for (int64_t row = 0; row < b.n; row++) {
                for (int32_t c = 0; c < s->n_cols; c++)
                    if (use.wanted[c]) put_cell(&to, &b.cols[c], row);
                *to++ = '\n';
            }
            *to = 0;
            pieces[n] = (Piece){b.order, n, text};
            n++;
        }
    Status st = r->end(r, e);
    r->free(r);
    qsort(pieces, (size_t)n, sizeof *pieces, by_order);
    int64_t size = 1;
    for (int64_t i = 0; i < n; i++) size += (int64_t)strlen(pieces[i].text);
    char *out = calloc((size_t)size, 1), *w = out;
    for (int64_t i = 0; i < n; i++) {
        w += sprintf(w, "%s", pieces[i].text);
        free(pieces[i].text);
    }
    free(pieces);
    free(ended);
    if (st == ST_OK) return out;
    free(out);
    return NULL;
}

static const RowStream *open_files(Arena *a, const char *function, int32_t n, const char *const *paths, Err *e) {
    const StreamCall call = {.function = function, .n_paths = n, .paths = paths};
    const RowStream *s = NULL;
    return finder.finder.open(&finder.finder, a, &call, &s, e) == ST_OK ? s : NULL;
}

/* ---- tests ---- */

static void test_borders(void **state) {
    (void)state;
    static const char rows[] =
        "1,plain,2020-01-01\n2,\"a\nb\",\n3,\"q\"\"q, \n\n\",2020-02-03\n4,,2020-02-04\n\n5,\"\",2020-02-05";
    static const char want[] = "1|plain|2020-01-01|\n2|a\nb|NULL|\n3|q\"q, \n\n|2020-02-03|\n4|NULL|2020-02-04|\n"
                               "5||2020-02-05|\n";
    char text[400];
    Err e = {0};
    int64_t before = copy_chunk_bytes;
    snprintf(text, sizeof text, "\xEF\xBB\xBFid,\"the text\",day\n%s", rows);
    const char *path = write_file("borders.csv", text);
    for (int64_t chunk = 1; chunk < 140; chunk++)
        for (int workers = 1; workers <= 3; workers++) {
            Arena *a = arena_new(&account, &e);
            copy_chunk_bytes = before; /* the sample is the whole file */
            const RowStream *s = open_files(a, NULL, 1, &path, &e);
            assert_non_null(s);
            assert_int_equal(s->n_cols, 3);
            assert_string_equal(s->names[1], "the text");
            copy_chunk_bytes = chunk;
            char *got = read_all(s, workers, NULL, &e);
            assert_non_null(got);
            assert_string_equal(got, want);
            free(got);
            const bool some[] = {true, false, false};
            got = read_all(s, workers, some, &e);
            assert_string_equal(got, "1|\n2|\n3|\n4|\n5|\n");
            free(got);
            arena_free(a);
        }
    copy_chunk_bytes = before;
}

static void test_json_borders(void **state) {
    (void)state;
    const char *path = write_file("borders.jsonl", "{\"a\": 1, \"b\": \"x\\ny\"}\n\n{\"b\": [1, \"}\"]}\n{\"a\": 3}");
    Err e = {0};
    int64_t before = copy_chunk_bytes;
    for (int64_t chunk = 1; chunk < 70; chunk++) {
        Arena *a = arena_new(&account, &e);
        copy_chunk_bytes = before;
        const RowStream *s = open_files(a, NULL, 1, &path, &e);
        assert_non_null(s);
        copy_chunk_bytes = chunk;
        char *got = read_all(s, 2, NULL, &e);
        assert_non_null(got);
        assert_string_equal(got, "1|x\ny|\nNULL|[1, \"}\"]|\n3|NULL|\n");
        free(got);
        arena_free(a);
    }
    copy_chunk_bytes = before;
}

/* The first failure of the file is the one that is reported, with its line, wherever blocks end. */
static void test_failures(void **state) {
    (void)state;
    const char *path = write_file("fails.csv", "title\n\na,b\n1,\"x\ny\"\n2,z\n3,z,z\nq\n4,z\n");
    Err e = {0};
    int64_t before = copy_chunk_bytes;
    for (int64_t chunk = 1; chunk < 60; chunk++)
        for (int workers = 1; workers <= 3; workers++) {
            Arena *a = arena_new(&account, &e);
            copy_chunk_bytes = before;
            const RowStream *s = open_files(a, NULL, 1, &path, &e);
            assert_non_null(s);
            copy_chunk_bytes = chunk;
            assert_null(read_all(s, workers, NULL, &e));
            assert_string_equal(e.sqlstate, "22P04");
            assert_string_equal(e.message, "extra data after last expected column");
            assert_non_null(strstr(e.context, "line 7: \"3,z,z\""));
            err_clear(&e);
            arena_free(a);
        }
    copy_chunk_bytes = before;
}

static void test_several_files(void **state) {
    (void)state;
    Err e = {0};
    (void)write_file("part1.csv", "a,b\n1,x\n");
    (void)write_file("part2.csv", "a,b\n2,y\n");
    (void)write_file("part3.csv", "a,b\n");
    const char *pattern = "/tmp/stele_files_unit_part[1-3].c?v", *none = "/tmp/stele_files_unit_*.nope";
    Arena *a = arena_new(&account, &e);
    const RowStream *s = open_files(a, "read_csv", 1, &pattern, &e);
    assert_non_null(s);
    char *got = read_all(s, 2, NULL, &e);
    assert_string_equal(got, "1|x|\n2|y|\n");
    free(got);
    assert_null(open_files(a, "read_csv", 1, &none, &e));
    assert_string_equal(e.sqlstate, "58P01");
    err_clear(&e);
    int32_t n;
    const char *const *paths, *dirs = "/t?p/stele_files_unit_part*";
    assert_int_equal(file_paths(vfs_posix(), a, 1, &dirs, &n, &paths, &e), ST_OK);
    assert_int_equal(n, 3);
    assert_string_equal(paths[2], "/tmp/stele_files_unit_part3.csv");
    arena_free(a);
}

static bool parses(const char *format, const char *text, const char *want) {
    int32_t day = 0;
    int64_t micros = 0;
    char out[VALUE_TEXT_MAX + 1];
    if (!date_format_parse(format, slice_of(text), NULL, type_make(T_TIMESTAMP), &day, &micros)) return !want;
    out[cell_to_text(type_make(T_TIMESTAMP), &micros, (TextForm){0}, out)] = 0;
    return want && strcmp(out, want) == 0;
}

static void test_date_formats(void **state) {
    (void)state;
    bool date, time, zone;
    assert_true(date_format_valid("%d.%m.%Y", &date, &time, &zone) && date && !time && !zone);
    assert_true(date_format_valid("%D %R %z", &date, &time, &zone) && date && time && zone);
    assert_true(date_format_valid("%Y %j", &date, &time, &zone) && date);
    assert_false(date_format_valid("%d.%m.", &date, &time, &zone));
    assert_false(date_format_valid("%q", &date, &time, &zone));
    assert_false(date_format_valid("%", &date, &time, &zone));
    assert_true(parses("%d.%m.%Y", "1.2.2020", "2020-02-01 00:00:00"));
    assert_true(parses("%d.%m.%y", "01.02.69", "1969-02-01 00:00:00"));
    assert_true(parses("%d.%m.%Y", "30.02.2020", NULL));
    assert_true(parses("%d.%m.%Y", "1.2.20", NULL));
    assert_true(parses("%d.%m.%Y", "1.2.2020x", NULL));
    assert_true(parses("%F %T", "2020-01-02 03:04:05.67", "2020-01-02 03:04:05.67"));
    assert_true(parses("%m/%d/%Y %I:%M %p", "1/2/2020 12:05 AM", "2020-01-02 00:05:00"));
    assert_true(parses("%m/%d/%Y %I:%M %p", "1/2/2020 12:05 pm", "2020-01-02 12:05:00"));
    assert_true(parses("%m/%d/%Y %I:%M %p", "1/2/2020 13:05 pm", NULL));
    assert_true(parses("%a, %d %b %Y", "Thu, 02 January 2020", "2020-01-02 00:00:00"));
    assert_true(parses("%Y %j", "2020 366", "2020-12-31 00:00:00"));
    assert_true(parses("%Y %j", "2021 366", NULL));
    assert_true(parses("%Y-%m-%d %H:%M", "2020-01-02 24:00", NULL));
}

/* ---- Arrow ---- */

/* Messages of a stream with a column "v" of type string_view: its schema, a batch of 'a' and 'b', and a batch of a text
 * in a buffer of its own and NULL. */
static const uint8_t arrow_schema[] = {
    255, 255, 255, 255, 112, 0, 0, 0, 16, 0, 0,  0, 0, 0, 10,  0, 12, 0, 6, 0, 5, 0, 8, 0,  10, 0, 0,  0, 0,  1,
    4,   0,   12,  0,   0,   0, 8, 0, 8,  0, 0,  0, 4, 0, 8,   0, 0,  0, 4, 0, 0, 0, 1, 0,  0,  0, 20, 0, 0,  0,
    16,  0,   20,  0,   8,   0, 6, 0, 7,  0, 12, 0, 0, 0, 16,  0, 16, 0, 0, 0, 0, 0, 1, 24, 16, 0, 0,  0, 24, 0,
    0,   0,   4,   0,   0,   0, 0, 0, 0,  0, 1,  0, 0, 0, 118, 0, 0,  0, 4, 0, 4, 0, 4, 0,  0,  0, 0,  0, 0,  0};
static const uint8_t arrow_short[] = {
    255, 255, 255, 255, 176, 0, 0, 0, 20, 0, 0, 0, 0,  0, 0, 0, 12, 0, 22, 0, 6,  0, 5,  0, 8, 0, 12, 0, 12, 0, 0,  0,
    0,   3,   4,   0,   28,  0, 0, 0, 32, 0, 0, 0, 0,  0, 0, 0, 0,  0, 14, 0, 28, 0, 16, 0, 4, 0, 8,  0, 0,  0, 12, 0,
    14,  0,   0,   0,   96,  0, 0, 0, 36, 0, 0, 0, 16, 0, 0, 0, 2,  0, 0,  0, 0,  0, 0,  0, 0, 0, 0,  0, 1,  0, 0,  0,
    1,   0,   0,   0,   0,   0, 0, 0, 0,  0, 0, 0, 3,  0, 0, 0, 0,  0, 0,  0, 0,  0, 0,  0, 0, 0, 0,  0, 0,  0, 0,  0,
    0,   0,   0,   0,   0,   0, 0, 0, 32, 0, 0, 0, 0,  0, 0, 0, 32, 0, 0,  0, 0,  0, 0,  0, 0, 0, 0,  0, 0,  0, 0,  0,
    0,   0,   0,   0,   1,   0, 0, 0, 2,  0, 0, 0, 0,  0, 0, 0, 0,  0, 0,  0, 0,  0, 0,  0, 1, 0, 0,  0, 97, 0, 0,  0,
    0,   0,   0,   0,   0,   0, 0, 0, 1,  0, 0, 0, 98, 0, 0, 0, 0,  0, 0,  0, 0,  0, 0,  0};
static const uint8_t arrow_long[] = {
    255, 255, 255, 255, 176, 0,  0,   0,   20,  0,   0,   0,   0,   0,   0,   0,   12,  0,   22,  0,   6,   0,   5,
    0,   8,   0,   12,  0,   12, 0,   0,   0,   0,   3,   4,   0,   28,  0,   0,   0,   64,  0,   0,   0,   0,   0,
    0,   0,   0,   0,   14,  0,  28,  0,   16,  0,   4,   0,   8,   0,   0,   0,   12,  0,   14,  0,   0,   0,   96,
    0,   0,   0,   36,  0,   0,  0,   16,  0,   0,   0,   2,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,
    1,   0,   0,   0,   1,   0,  0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   3,   0,   0,   0,   0,   0,   0,
    0,   0,   0,   0,   0,   1,  0,   0,   0,   0,   0,   0,   0,   8,   0,   0,   0,   0,   0,   0,   0,   32,  0,
    0,   0,   0,   0,   0,   0,  40,  0,   0,   0,   0,   0,   0,   0,   24,  0,   0,   0,   0,   0,   0,   0,   0,
    0,   0,   0,   1,   0,   0,  0,   2,   0,   0,   0,   0,   0,   0,   0,   1,   0,   0,   0,   0,   0,   0,   0,
    1,   0,   0,   0,   0,   0,  0,   0,   24,  0,   0,   0,   108, 111, 110, 103, 0,   0,   0,   0,   0,   0,   0,
    0,   0,   0,   0,   0,   0,  0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   108, 111, 110, 103, 101, 114,
    32,  116, 104, 97,  110, 32, 116, 119, 101, 108, 118, 101, 32,  98,  121, 116, 101, 115};

/* So many short batches, a long one, a short one. */
static const char *write_arrow(const char *name, int64_t n) {
    enum { S = sizeof arrow_schema, SHORT = sizeof arrow_short, LONG = sizeof arrow_long };
    int64_t size = S + (n + 1) * SHORT + LONG;
    uint8_t *bytes = malloc((size_t)size), *p = bytes;
    memcpy(p, arrow_schema, S);
    p += S;
    for (int64_t i = 0; i <= n; i++, p += SHORT) {
        if (i == n) memcpy(p, arrow_long, LONG);
        if (i == n) p += LONG;
        memcpy(p, arrow_short, SHORT);
    }
    const char *path = write_bytes(name, bytes, size);
    free(bytes);
    return path;
}

static void test_arrow(void **state) {
    (void)state;
    Err e = {0};
    Arena *a = arena_new(&account, &e);
    const char *path = write_arrow("views.arrow", 1);
    const RowStream *s = open_files(a, "read_arrow", 1, &path, &e);
    assert_non_null(s);
    for (int workers = 1; workers <= 3; workers++) {
        char *got = read_all(s, workers, NULL, &e);
        assert_non_null(got);
        assert_string_equal(got, "a|\nb|\nlonger than twelve bytes|\nNULL|\na|\nb|\n");
        free(got);
    }
    arena_free(a);
}

/* What a worker keeps does not grow with the batches that it has read. */
static void test_arrow_batches(void **state) {
    (void)state;
    Err e = {0};
    Arena *a = arena_new(&account, &e);
    const char *path = write_arrow("many.arrow", 3000);
    const RowStream *s = open_files(a, "read_arrow", 1, &path, &e);
    StreamRun *r;
    const bool wanted[] = {true};
    StreamUse use = {.threads = 1, .account = &account, .vfs = vfs_posix(), .session = &session, .wanted = wanted};
    assert_non_null(s);
    assert_int_equal(s->begin(s, &use, &r, &e), ST_OK);
    int64_t early = 0;
    for (int i = 0; i < 3000; i++) {
        StreamBatch b;
        assert_int_equal(r->next(r, 0, &b, &e), ST_OK);
        assert_int_equal(b.n, 2);
        if (i == 10) early = atomic_load(&account.used);
    }
    assert_int_equal(atomic_load(&account.used), early);
    r->free(r);
    arena_free(a);
}

/* While a run is paused no `order` is begun, and then it goes on. */
static void test_pause(void **state) {
    (void)state;
    Err e = {0};
    Arena *a = arena_new(&account, &e);
    const char *const paths[] = {write_arrow("pause.arrow", 1), write_file("pause.csv", "v\na\nb\n")};
    for (int i = 0; i < 2; i++) {
        const RowStream *s = open_files(a, NULL, 1, &paths[i], &e);
        StreamRun *r;
        StreamBatch b;
        const bool wanted[] = {true};
        _Atomic bool pause = true;
        StreamUse use = {.threads = 1,
                         .account = &account,
                         .vfs = vfs_posix(),
                         .session = &session,
                         .pause = &pause,
                         .wanted = wanted};
        assert_non_null(s);
        assert_int_equal(s->begin(s, &use, &r, &e), ST_OK);
        assert_int_equal(r->next(r, 0, &b, &e), ST_OK);
        assert_int_equal(b.n, 0);
        atomic_store(&pause, false);
        assert_int_equal(r->next(r, 0, &b, &e), ST_OK);
        assert_int_equal(b.n, 2);
        atomic_store(&pause, true);
        assert_int_equal(r->next(r, 0, &b, &e), ST_OK);
        assert_int_equal(b.n, 0);
        assert_int_equal(r->end(r, &e), ST_OK);
        r->free(r);
    }
    arena_free(a);
}

/* ---- memory ---- */

/* Failing allocations leave nothing behind. */
static void check_memory(const char *path) {
    for (int64_t n = 1;; n++) {
        Err e = {0};
        Arena *a = arena_new(&account, &e);
        mem_fail_at(n);
        const RowStream *s = open_files(a, NULL, 1, &path, &e);
        StreamRun *r = NULL;
        bool wanted[] = {true, true, true, true};
        Err other = {0};
        StreamUse use = {.threads = 2, .account = &account, .vfs = vfs_posix(), .session = &session, .wanted = wanted};
        Status st = s ? s->begin(s, &use, &r, &e) : ST_ERROR;
        if (st == ST_OK) {
            StreamBatch b;
            do {
                assert_int_equal(r->next(r, 0, &b, &other), ST_OK);
            } while (b.n > 0);
            st = r->end(r, &other);
            assert_false(err_is_set(&e)); /* of the beginning: a run must not refer to it any more */
            err_copy(&e, &other);
        }
        bool over = mem_fail_at(0) > 0;
        if (r) r->free(r);
        arena_free(a);
        if (st != ST_OK) assert_string_equal(e.sqlstate, "53200");
        if (over) {
            assert_int_equal(st, ST_OK);
            break;
        }
    }
}
/* A file of the corpus for fuzzing, whose first byte is the target's. */
static const char *corpus_file(const char *name, const char *as) {
    static const char *const roots[] = {".", "..", "../..", "../../.."};
    const char *root = getenv("STELE_SOURCE_DIR");
    char path[1024], bytes[4096];
    FILE *f = NULL;
    for (size_t i = 0; !f && i < sizeof roots / sizeof *roots; i++) {
        snprintf(path, sizeof path, "%s/tests/fuzz/corpus/files/%s", root ? root : roots[i], name);
        f = fopen(path, "rb");
    }
    assert_non_null(f);
    size_t n = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    assert_true(n > 1 && n < sizeof bytes);
    return write_bytes(as, (const uint8_t *)bytes + 1, (int64_t)n - 1);
}
static void test_memory(void **state) {
    (void)state;
    check_memory(corpus_file("parquet_nested", "nested.parquet"));
    check_memory(corpus_file("arrow_nested", "nested.arrow"));
    check_memory(write_file("memory.csv", "a,b\n1,x\n2,\"y\"\"\"\n"));
    check_memory(write_arrow("memory.arrow", 1));
}

static int setup(void **state) {
    (void)state;
    mem_account_init(&account, NULL, "test", 0, NULL);
    file_finder_init(&finder, vfs_posix(), &account, &session);
    return 0;
}
static int teardown(void **state) {
    (void)state;
    assert_int_equal(atomic_load(&account.used), 0);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_borders),       cmocka_unit_test(test_json_borders), cmocka_unit_test(test_failures),
        cmocka_unit_test(test_several_files), cmocka_unit_test(test_date_formats), cmocka_unit_test(test_arrow),
        cmocka_unit_test(test_arrow_batches), cmocka_unit_test(test_pause),        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
