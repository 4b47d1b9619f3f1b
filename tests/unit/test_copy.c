/* test_copy.c - COPY: options, the three formats in and out, error places, block borders at every offset. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "base/pool.h"
#include "io/copy_int.h"

static MemAccount account;
static Arena *arena;
static Pool *pool;
static SessionInfo session;

/* ---- a table, a source, a dump ---- */

static Table *make_table(const char *shape) { /* i l s n(15,2) N d t v5 c3 b T B f, upper-case '!' before = NOT NULL */
    static const char *names[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    ColumnDef defs[8];
    int n = 0;
    bool not_null = false;
    for (const char *s = shape; *s; s++) {
        if (*s == '!') {
            not_null = true;
            continue;
        }
        Type t = *s == 'i'   ? type_make(T_INT4)
                 : *s == 's' ? type_make(T_INT2)
                 : *s == 'l' ? type_make(T_INT8)
                 : *s == 'n' ? type_numeric(15, 2)
                 : *s == 'N' ? type_make(T_NUMERIC)
                 : *s == 'd' ? type_make(T_DATE)
                 : *s == 't' ? type_make(T_TEXT)
                 : *s == 'v' ? type_make(T_VARCHAR)
                 : *s == 'c' ? type_make(T_CHAR)
                 : *s == 'b' ? type_make(T_BOOL)
                 : *s == 'T' ? type_make(T_TIMESTAMP)
                 : *s == 'B' ? type_make(T_BYTEA)
                             : type_make(T_FLOAT8);
        if (*s == 'v') t.length = 5;
        if (*s == 'c') t.length = 3;
        defs[n] = (ColumnDef){.name = names[n], .type = t, .not_null = not_null};
        n++;
        not_null = false;
    }
    Table *t = NULL;
    Err e = {0};
    assert_int_equal(table_new(&account, "t", n, defs, 0, NULL, 0, NULL, &t, &e), ST_OK);
    return t;
}

typedef struct Input {
    const char *s;
    int64_t len, step;
} Input;
static int64_t source_read(void *ctx, char *buf, int64_t size) {
    Input *s = ctx;
    if (s->len < 0) return -1;
    int64_t n = MIN_OF(MIN_OF(size, s->len), s->step);
    memcpy(buf, s->s, (size_t)n);
    s->s += n;
    s->len -= n;
    return n;
}

typedef struct Opt {
    const char *name, *value;
} Opt;
static AstCopy *statement(bool from, const char *path, int n, const Opt *opts) {
    AstCopy *c = arena_new_of(arena, AstCopy);
    c->from = from;
    c->path = path;
    c->n_options = n;
    c->options = arena_array(arena, AstOption, n + 1);
    for (int i = 0; i < n; i++) {
        c->options[i].name = opts[i].name;
        if (strncmp(opts[i].name, "force_", 6) == 0) {
            c->options[i].star = strcmp(opts[i].value, "*") == 0;
            if (c->options[i].star) continue;
            c->options[i].list = arena_array(arena, const char *, 1);
            c->options[i].list[0] = opts[i].value;
            c->options[i].n_list = 1;
        } else {
            c->options[i].value = opts[i].value;
        }
    }
    return c;
}

static char *dump(const Table *t) {
    char *out = arena_strdup(arena, "");
    for (int64_t i = 0; i < t->n_tablets; i++)
        for (int64_t r = 0; r < t->tablets[i]->rows; r++) {
            for (int c = 0; c < t->n_cols; c++) {
                Value v = {.type = t->cols[c].type};
                uint8_t valid = 1;
                bool nulls = false;
                tablet_decode(t, t->tablets[i], c, r, NULL, 1, (uint8_t)type_phys(v.type), value_cell(&v), &valid,
                              &nulls);
                char *text = nulls && !valid ? arena_strdup(arena, "~") : value_to_text(arena, &v, NULL);
                out = arena_printf(arena, "%s%s%s", out, c ? "|" : "", text);
            }
            out = arena_printf(arena, "%s\n", out);
        }
    return out;
}

static const char *table_names[] = {"a", "b", "c", "d", "e", "f", "g", "h"};

static Status load_into(Table *t, const char *path, const char *text, int64_t len, int64_t step, int threads, int n,
                        const Opt *opts, Err *e) {
    CopyOptions o;
    int cols[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    AstCopy *c = statement(true, path, n, opts);
    TRY(copy_options(c, t->n_cols, table_names, arena, &o, e));
    CopyTarget g = {.table = t,
                    .n_cols = t->n_cols,
                    .cols = cols,
                    .session = &session,
                    .pool = threads > 1 ? pool : NULL,
                    .threads = threads,
                    .account = &account};
    Input s = {text, len, step};
    int64_t rows = -1;
    Status st = copy_from(&g, &o, vfs_posix(), path, path ? NULL : source_read, &s, NULL, &rows, e);
    if (st == ST_OK) assert_int_equal(rows, t->live_rows);
    else assert_int_equal(t->live_rows, 0);
    return st;
}

/* The dump, or "SQLSTATE message / context". Tried with every block size: all must agree. */
static const char *load_n(const char *shape, const char *text, int64_t len, int n, const Opt *opts) {
    const char *first = NULL;
    for (int64_t size = 1; size <= len + 2; size += size < 200 ? 1 : 37) {
        for (int threads = 1; threads <= 3; threads += 2) {
            Table *t = make_table(shape);
            Err e = {0};
            copy_chunk_bytes = size;
            Status st = load_into(t, NULL, text, len, size % 5 + 1, threads, n, opts, &e);
            const char *got =
                st == ST_OK ? dump(t) : arena_printf(arena, "%s %s / %s", e.sqlstate, e.message, e.context);
            table_free(t);
            if (!first) first = got;
            if (strcmp(first, got) != 0) printf("block size %d, %d threads\n", (int)size, threads);
            assert_string_equal(got, first);
        }
    }
    copy_chunk_bytes = 1 << 20;
    return first;
}
#define LOAD(shape, text, ...)                                                                        \
    load_n(shape, text, (int64_t)sizeof(text) - 1, (int)(sizeof((Opt[]){__VA_ARGS__}) / sizeof(Opt)), \
           (Opt[]){__VA_ARGS__})
#define TEXT \
    { "format", "text" }
#define CSV \
    { "format", "csv" }
#define TBL \
    { "format", "tbl" }

/* ---- options ---- */

static const char *option_error(bool from, int n, const Opt *opts) {
    static const char *names[] = {"a", "b"};
    CopyOptions o;
    Err e = {0};
    if (copy_options(statement(from, NULL, n, opts), 2, names, arena, &o, &e) == ST_OK) return "ok";
    return arena_printf(arena, "%s %s", e.sqlstate, e.message);
}
#define OPTION_ERROR(from, ...) \
    option_error(from, (int)(sizeof((Opt[]){__VA_ARGS__}) / sizeof(Opt)), (Opt[]){__VA_ARGS__})

static void test_options(void **state) {
    (void)state;
    CopyOptions o;
    Err e = {0};
    assert_int_equal(copy_options(statement(true, "x/y.tbl", 0, NULL), 0, NULL, arena, &o, &e), ST_OK);
    assert_int_equal(o.format, COPY_TBL);
    assert_int_equal(o.delimiter, '|');
    assert_int_equal(o.null_len, -1);
    assert_int_equal(copy_options(statement(true, "y.CSV", 0, NULL), 0, NULL, arena, &o, &e), ST_OK);
    assert_int_equal(o.format, COPY_CSV);
    assert_int_equal(copy_options(statement(true, "y.tbl", 1, (Opt[]){CSV}), 0, NULL, arena, &o, &e), ST_OK);
    assert_int_equal(o.format, COPY_CSV);
    assert_int_equal(copy_options(statement(true, "y", 0, NULL), 0, NULL, arena, &o, &e), ST_OK);
    assert_int_equal(o.format, COPY_TEXT);
    assert_string_equal(o.null_text, "\\N");
    assert_string_equal(OPTION_ERROR(true, {"wat", "1"}), "42601 option \"wat\" not recognized");
    assert_string_equal(OPTION_ERROR(true, CSV, CSV), "42601 conflicting or redundant options");
    assert_string_equal(OPTION_ERROR(true, {"format", "binary"}), "ok");
    assert_string_equal(OPTION_ERROR(true, {"format", "xml"}), "22023 COPY format \"xml\" not recognized");
    assert_string_equal(OPTION_ERROR(true, {"delimiter", "ab"}),
                        "0A000 COPY delimiter must be a single one-byte character");
    assert_string_equal(OPTION_ERROR(true, {"delimiter", "\n"}),
                        "22023 COPY delimiter cannot be newline or carriage return");
    assert_string_equal(OPTION_ERROR(true, {"delimiter", "x"}), "22023 COPY delimiter cannot be \"x\"");
    assert_string_equal(OPTION_ERROR(true, {"quote", "'"}), "0A000 COPY quote available only in CSV mode");
    assert_string_equal(OPTION_ERROR(true, {"escape", "'"}), "0A000 COPY escape available only in CSV mode");
    assert_string_equal(OPTION_ERROR(true, CSV, {"quote", ","}), "22023 COPY delimiter and quote must be different");
    assert_string_equal(OPTION_ERROR(true, CSV, {"null", "a,b"}),
                        "22023 COPY delimiter must not appear in the NULL specification");
    assert_string_equal(OPTION_ERROR(true, CSV, {"null", "\""}),
                        "22023 CSV quote character must not appear in the NULL specification");
    assert_string_equal(OPTION_ERROR(true, {"header", "maybe"}), "42601 header requires a Boolean value or \"match\"");
    assert_string_equal(OPTION_ERROR(false, CSV, {"header", "match"}),
                        "0A000 cannot use \"match\" with HEADER in COPY TO");
    assert_string_equal(OPTION_ERROR(true, CSV, {"force_quote", "a"}),
                        "0A000 COPY force quote only available using COPY TO");
    assert_string_equal(OPTION_ERROR(true, CSV, {"force_null", "z"}),
                        "42P10 FORCE_NULL column \"z\" not referenced by COPY");
    assert_string_equal(OPTION_ERROR(false, CSV, {"force_not_null", "a"}),
                        "0A000 COPY force not null only available using COPY FROM");
    assert_string_equal(OPTION_ERROR(false, {"force_quote", "*"}), "0A000 COPY force quote available only in CSV mode");
    assert_string_equal(OPTION_ERROR(true, {"encoding", "UTF8"}), "ok");
    assert_string_equal(OPTION_ERROR(true, {"encoding", "LATIN1"}), "ok");
    assert_string_equal(OPTION_ERROR(true, {"encoding", "klingon"}),
                        "22023 argument to option \"encoding\" must be a valid encoding name");
    assert_string_equal(OPTION_ERROR(false, CSV, {"header", NULL}, {"force_quote", "*"}), "ok");
}

/* ---- reading ---- */

static void test_tbl(void **state) {
    (void)state;
    assert_string_equal(LOAD("int", "1|12.34|x y|\n-22|-0.5||\n333|7|z|\n", TBL),
                        "1|12.34|x y\n-22|-0.50|\n333|7.00|z\n");
    assert_string_equal(LOAD("it", "1|a|\r\n2|b|\r\n3|c", TBL), "1|a\n2|b\n3|c\n");
    assert_string_equal(LOAD("ti", "a|1\r\nb|2\n", TBL), "a|1\nb|2\n");
    assert_string_equal(LOAD("d", "1996-02-29|\n2100-01-01|\n1850-12-31|\n", TBL),
                        "1996-02-29\n2100-01-01\n1850-12-31\n");
    assert_string_equal(LOAD("vc", "abcde|xyz|\n\xc3\xa4\xc3\xb6\xc3\xbc\xc3\x9f\xc3\xa9|a  |\nabc    |x     |\n", TBL),
                        "abcde|xyz\n\xc3\xa4\xc3\xb6\xc3\xbc\xc3\x9f\xc3\xa9|a  \nabc  |x  \n");
    assert_string_equal(LOAD("i", "", TBL), "");
    assert_string_equal(LOAD("t", "\\N|\n", TBL), "\\N\n");
    assert_string_equal(LOAD("it", "-|x|\n", TBL, {"null", "-"}), "~|x\n");
    assert_string_equal(LOAD("ii", "1|2|\n3|\n", TBL), "22P04 missing data for column \"b\" / COPY t, line 2: \"3|\"");
    assert_string_equal(LOAD("it", "1|2|\n3\n", TBL), "22P04 missing data for column \"b\" / COPY t, line 2: \"3\"");
    assert_string_equal(LOAD("ii", "1|2|\n3|4|5|\n", TBL),
                        "22P04 extra data after last expected column / COPY t, line 2: \"3|4|5|\"");
    assert_string_equal(LOAD("i", "1|\n|\n", TBL),
                        "22P02 invalid input syntax for type integer: \"\" / COPY t, line 2, column a: \"\"");
    assert_string_equal(LOAD("ii", "1|2|\n3|x4|\ny|1|\n", TBL),
                        "22P02 invalid input syntax for type integer: \"x4\" / COPY t, line 2, column b: \"x4\"");
}

static void test_numbers(void **state) {
    (void)state;
    assert_string_equal(LOAD("sil",
                             "32767\t2147483647\t9223372036854775807\n-32768\t-2147483648\t-9223372036854775808\n 7 "
                             "\t+8\t00000000000000000009\n",
                             TEXT),
                        "32767|2147483647|9223372036854775807\n-32768|-2147483648|-9223372036854775808\n7|8|9\n");
    assert_string_equal(
        LOAD("s", "1\n32768\n", TEXT),
        "22003 value \"32768\" is out of range for type smallint / COPY t, line 2, column a: \"32768\"");
    assert_string_equal(LOAD("l", "12345678\n123456789\n1234567890123456\n12345678901234567\n-0\n", TEXT),
                        "12345678\n123456789\n1234567890123456\n12345678901234567\n0\n");
    assert_string_equal(
        LOAD("n", "0.005\n.5\n5.\n1e2\n-9999999999999.99\n-0.00\n12345678.9\n123456789.01\n0.1234567891\n", TEXT),
        "0.01\n0.50\n5.00\n100.00\n-9999999999999.99\n0.00\n12345678.90\n123456789.01\n0.12\n");
    assert_true(strncmp(LOAD("n", "99999999999999\n", TEXT), "22003 ", 6) == 0);
    assert_string_equal(LOAD("N", "1.5\n-123456789012345678.25\n0\n12345678.1234567812345678\n", TEXT),
                        "1.5\n-123456789012345678.25\n0\n12345678.1234567812345678\n");
    assert_string_equal(
        LOAD("dT", "2024-02-29\t2024-02-29 12:34:56\n1999-12-31\t1999-12-31T23:59:59.123456\ninfinity\t2000-01-01\n",
             TEXT),
        "2024-02-29|2024-02-29 12:34:56\n1999-12-31|1999-12-31 23:59:59.123456\ninfinity|2000-01-01 00:00:00\n");
    assert_true(strncmp(LOAD("d", "2024-02-29\n2023-02-29\n", TEXT), "22008 ", 6) == 0);
    assert_true(strncmp(LOAD("d", "2024-00-10\n", TEXT), "22008 ", 6) == 0);
    assert_string_equal(LOAD("bf", "t\t1.5\nfalse\t-2e10\nyes\tNaN\n", TEXT), "t|1.5\nf|-20000000000\nt|NaN\n");
}

static void test_text(void **state) {
    (void)state;
    assert_string_equal(LOAD("it", "1\tone\n\\N\t\\N\n3\t\n", TEXT), "1|one\n~|~\n3|\n");
    assert_string_equal(LOAD("t", "a\\tb\\\\c\\n\\x41\\x4g\\101\\1\\q\\.x\n", TEXT), "a\tb\\c\nA\x04gA\x01q.x\n");
    assert_string_equal(LOAD("ti", "a\\\nb\t1\nc\\\td\t2\n", TEXT), "a\nb|1\nc\td|2\n");
    assert_string_equal(LOAD("ti", "a\\\\\t1\nb\t2\n", TEXT), "a\\|1\nb|2\n");
    assert_string_equal(LOAD("i", "1\n2\n\\.\nx\n", TEXT), "1\n2\n");
    assert_string_equal(LOAD("i", "1\n\\.", TEXT), "1\n");
    assert_string_equal(LOAD("i", "\\.\n", TEXT), "");
    assert_string_equal(LOAD("ti", "a\t1\r\nb\t2\r\n", TEXT), "a|1\nb|2\n");
    assert_string_equal(LOAD("ti", "a\t1\rb\t2\r", TEXT), "a|1\nb|2\n");
    assert_string_equal(LOAD("it", "1\tx\n2\ty", TEXT), "1|x\n2|y\n");
    assert_string_equal(LOAD("t", "x\nend\\", TEXT), "x\nend\\\n");
    assert_string_equal(LOAD("ti", "a\t1\nb\rc\t2\n", TEXT),
                        "22P04 literal carriage return found in data / COPY t, line 2: \"b\rc\t2\"");
    assert_string_equal(LOAD("it", "0,x\n1,0\n", TEXT, {"delimiter", ","}, {"null", "0"}), "~|x\n1|~\n");
    assert_string_equal(LOAD("it", "\tx\n1\t\n", TEXT, {"null", ""}), "~|x\n1|~\n");
    assert_string_equal(LOAD("it", "h\tk\n1\tx\n", TEXT, {"header", "true"}), "1|x\n");
    assert_string_equal(LOAD("it", "a\tb\n1\tx\n", TEXT, {"header", "match"}), "1|x\n");
    assert_string_equal(
        LOAD("it", "a\tz\n1\tx\n", TEXT, {"header", "match"}),
        "22P04 column name mismatch in header line field 2: got \"z\", expected \"b\" / COPY t, line 1: \"a\tz\"");
    assert_string_equal(LOAD("it", "a\n1\tx\n", TEXT, {"header", "match"}),
                        "22P04 wrong number of fields in header line: got 1, expected 2 / COPY t, line 1: \"a\"");
    assert_string_equal(LOAD("ti", "a\\\nb\t1\nc\td\n", TEXT),
                        "22P02 invalid input syntax for type integer: \"d\" / COPY t, line 3, column b: \"d\"");
    assert_string_equal(LOAD("v", "abc\nabcdef\n", TEXT),
                        "22001 value too long for type character varying(5) / COPY t, line 2, column a: \"abcdef\"");
    assert_string_equal(LOAD("B", "\\\\x0041\n", TEXT), "\\x0041\n");
    assert_string_equal(
        LOAD("!i!t", "1\tx\n2\t\\N\n\\N\ty\n", TEXT),
        "23502 null value in column \"b\" of relation \"t\" violates not-null constraint / COPY t, line 2: \"2\t\\N\"");
    assert_string_equal(
        LOAD("!i", "1\n\\N\nx\n", TEXT),
        "23502 null value in column \"a\" of relation \"t\" violates not-null constraint / COPY t, line 2: \"\\N\"");
    assert_string_equal(LOAD("i", "1\n\n2\n", TEXT),
                        "22P02 invalid input syntax for type integer: \"\" / COPY t, line 2, column a: \"\"");
}

static void test_encoding(void **state) {
    (void)state;
    assert_string_equal(LOAD("t", "\xe2\x82\xac\nok\n", TEXT), "\xe2\x82\xac\nok\n");
    assert_true(strncmp(LOAD("t", "ok\nb\xff\nx\n", TEXT),
                        "22021 invalid byte sequence for encoding \"UTF8\": 0xff / COPY t, line 2", 70) == 0);
    assert_true(strncmp(LOAD("ti", "ok\t1\nb\tx\nc\xff\t1\n", TEXT), "22P02 ", 6) == 0);
    assert_true(strncmp(LOAD("t", "ok\nb\0b\n", TEXT),
                        "22021 invalid byte sequence for encoding \"UTF8\": 0x00 / COPY t, line 2", 70) == 0);
    assert_true(strncmp(LOAD("t", "\\xff\n", TEXT), "22021 ", 6) == 0);
    assert_true(strncmp(LOAD("t", "a\\000b\n", TEXT), "22021 ", 6) == 0);
    assert_string_equal(LOAD("t", "\\xe2\\x82\\xac\n", TEXT), "\xe2\x82\xac\n");
    assert_true(strncmp(LOAD("ti", "\"a\nb\",1\n\"x\n\xff\",2\n", CSV), "22021 ", 6) == 0);
}

static void test_csv(void **state) {
    (void)state;
    assert_string_equal(LOAD("it", "1,one\n2,\"two, \"\"2\"\"\"\n3,\"\"\n4,\n", CSV), "1|one\n2|two, \"2\"\n3|\n4|~\n");
    assert_string_equal(LOAD("ti", "\"a\nb\n\",1\n\"\",\"2\"\n\"\n\",3\n", CSV), "a\nb\n|1\n|2\n\n|3\n");
    assert_string_equal(LOAD("ti", "a\"b,\"c,1\n\"x\"y\"z\",2\n", CSV), "ab,c|1\nxyz|2\n");
    assert_string_equal(LOAD("ti", "\"a\",1\r\n\"b\r\nc\",2\r\n", CSV), "a|1\nb\r\nc|2\n");
    assert_string_equal(LOAD("ti", "'a\\'b',1\n'c\\\\',2\n'd\\e\n',3\n", CSV, {"quote", "'"}, {"escape", "\\"}),
                        "a'b|1\nc\\|2\nd\\e\n|3\n");
    assert_string_equal(LOAD("ti", "NULL,NULL\n\"NULL\",1\n", CSV, {"null", "NULL"}), "~|~\nNULL|1\n");
    assert_string_equal(LOAD("tt", ",\"\"\n\"\",\n", CSV, {"force_not_null", "a"}), "|\n|~\n");
    assert_string_equal(LOAD("tt", ",\"\"\n\"\",\n", CSV, {"force_null", "b"}), "~|~\n|~\n");
    assert_string_equal(LOAD("ti", "x;1\n\"y;\n\";2\n", CSV, {"delimiter", ";"}, {"header", "true"}), "y;\n|2\n");
    assert_string_equal(LOAD("ti", "\"a\n\",b\nx,1\n", CSV, {"header", "true"}), "x|1\n");
    assert_string_equal(LOAD("ti", "a,1\n\\.\nb,2\n", CSV), "a|1\n");
    assert_string_equal(LOAD("ti", "\"a\n\\.\n\",1\nb,2", CSV), "a\n\\.\n|1\nb|2\n");
    assert_string_equal(LOAD("ti", "a,1\n\"b,2\nc,3\n", CSV),
                        "22P04 unterminated CSV quoted field / COPY t, line 4: \"\"b,2\nc,3\n\"");
    assert_string_equal(LOAD("ti", "\"a\nb\",1\nc,x\n", CSV),
                        "22P02 invalid input syntax for type integer: \"x\" / COPY t, line 3, column b: \"x\"");
    assert_string_equal(LOAD("ti", "a,1\nb\rc,2\n", CSV),
                        "22P04 unquoted carriage return found in data / COPY t, line 2: \"b\rc,2\"");
    assert_string_equal(LOAD("ti", "a\n", CSV), "22P04 missing data for column \"b\" / COPY t, line 1: \"a\"");
    assert_string_equal(LOAD("i", "1,2\n", CSV),
                        "22P04 extra data after last expected column / COPY t, line 1: \"1,2\"");
    assert_string_equal(LOAD("nd", "\"12.50\",\"2020-01-02\"\n1,2020-01-03\n", CSV),
                        "12.50|2020-01-02\n1.00|2020-01-03\n");
}

/* Many rows: several batches per block, several tablets' pieces; order and line numbers must hold. */
static void test_large(void **state) {
    (void)state;
    enum { N = 200000 };
    char *text = malloc(N * 40), *w = text;
    for (int i = 0; i < N; i++)
        w += sprintf(w, "%d,\"row %d\n\",%d.%02d,2001-02-%02d\n", i, i % 777, i / 100, i % 100, i % 28 + 1);
    for (int threads = 1; threads <= 3; threads += 2) {
        Table *t = make_table("itnd");
        Err e = {0};
        copy_chunk_bytes = 64 << 10;
        assert_int_equal(load_into(t, NULL, text, w - text, 1 << 20, threads, 1, (Opt[]){CSV}, &e), ST_OK);
        assert_int_equal(table_verify(t, &e), ST_OK);
        int64_t at = 0;
        for (int64_t i = 0; i < t->n_tablets; i++)
            for (int64_t r = 0; r < t->tablets[i]->rows; r++, at++) {
                int32_t v, d;
                int64_t n;
                bool nulls;
                tablet_decode(t, t->tablets[i], 0, r, NULL, 1, PH_I32, &v, NULL, &nulls);
                tablet_decode(t, t->tablets[i], 2, r, NULL, 1, PH_I64, &n, NULL, &nulls);
                tablet_decode(t, t->tablets[i], 3, r, NULL, 1, PH_I32, &d, NULL, &nulls);
                if (v != at || n != at || d != date_from_ymd(2001, 2, (int)(at % 28) + 1)) assert_int_equal(v, at);
            }
        assert_int_equal(at, N);
        table_free(t);
    }
    char *bad = strstr(text, "123456,");
    bad[2] = 'x';
    Table *t = make_table("itnd");
    Err e = {0};
    assert_int_equal(load_into(t, NULL, text, w - text, 1 << 20, 3, 1, (Opt[]){CSV}, &e), ST_ERROR);
    assert_string_equal(e.context, "COPY t, line 246914, column a: \"12x456\"");
    copy_chunk_bytes = 1 << 20;
    table_free(t);
    free(text);
}

static void test_sources(void **state) {
    (void)state;
    Table *t = make_table("i");
    Err e = {0};
    assert_int_equal(load_into(t, "/nonexistent/x.csv", NULL, 0, 0, 1, 0, NULL, &e), ST_ERROR);
    assert_string_equal(e.sqlstate, "58P01");
    assert_string_equal(e.message, "could not open file \"/nonexistent/x.csv\" for reading: No such file or directory");
    err_clear(&e);
    assert_int_equal(load_into(t, "/tmp", NULL, 0, 0, 1, 0, NULL, &e), ST_ERROR);
    assert_string_equal(e.sqlstate, "42809");
    assert_string_equal(e.message, "\"/tmp\" is a directory");
    err_clear(&e);
    assert_int_equal(load_into(t, NULL, "", -1, 1, 1, 0, NULL, &e), ST_ERROR);
    assert_string_equal(e.sqlstate, "08006");
    err_clear(&e);
    char path[] = "/tmp/stele-test-copy-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, "1\n2\n3", 5) == 5);
    close(fd);
    assert_int_equal(load_into(t, path, NULL, 0, 0, 2, 0, NULL, &e), ST_OK);
    assert_string_equal(dump(t), "1\n2\n3\n");
    unlink(path);
    table_free(t);
    /* cancelled */
    t = make_table("i");
    _Atomic bool cancel = true;
    CopyOptions o;
    int cols[] = {0};
    assert_int_equal(copy_options(statement(true, NULL, 0, NULL), 1, table_names, arena, &o, &e), ST_OK);
    CopyTarget g = {.table = t, .n_cols = 1, .cols = cols, .account = &account, .cancel = &cancel};
    Input s = {"1\n", 2, 9};
    int64_t rows;
    assert_int_equal(copy_from(&g, &o, vfs_posix(), NULL, source_read, &s, NULL, &rows, &e), ST_ERROR);
    assert_string_equal(e.sqlstate, "57014");
    table_free(t);
}

/* The text as gzip in two members, or as zstd in two frames. */
static int64_t compressed(const char *text, bool zstd, char *out, int64_t room) {
    int64_t len = (int64_t)strlen(text), at = 0;
    for (int part = 0; part < 2; part++) {
        const char *from = text + (part ? len / 2 : 0);
        int64_t n = part ? len - len / 2 : len / 2;
        if (zstd) {
            at += (int64_t)ZSTD_compress(out + at, (size_t)(room - at), from, (size_t)n, 3);
            continue;
        }
        z_stream z = {.next_in = (Bytef *)(uintptr_t)from,
                      .avail_in = (uInt)n,
                      .next_out = (Bytef *)out + at,
                      .avail_out = (uInt)(room - at)};
        assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
        assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
        at += (int64_t)z.total_out;
        deflateEnd(&z);
    }
    return at;
}

static void test_compressed(void **state) {
    (void)state;
    for (int zstd = 0; zstd < 2; zstd++) {
        char out[400], path[] = "/tmp/stele-test-copy-XXXXXX";
        int64_t n = compressed("1\n2\n3\n4444\n5\n6\n", zstd, out, (int64_t)sizeof out);
        int fd = mkstemp(path);
        assert_int_equal(write(fd, out, (size_t)n), n);
        for (copy_chunk_bytes = 1; copy_chunk_bytes < 24; copy_chunk_bytes++) {
            Err e = {0};
            Table *t = make_table("i");
            assert_int_equal(load_into(t, path, NULL, 0, 0, 2, 0, NULL, &e), ST_OK);
            assert_string_equal(dump(t), "1\n2\n3\n4444\n5\n6\n");
            table_free(t);
        }
        copy_chunk_bytes = 1 << 20;
        /* cut off, and broken: these frames of zstd have no checksum */
        for (int damage = 0; damage < 2 - zstd; damage++) {
            Err e = {0};
            Table *t = make_table("i");
            if (damage) assert_int_equal(pwrite(fd, "\xFF\xFF\xFF\xFF", 4, n / 2 - 6), 4);
            assert_int_equal(ftruncate(fd, damage ? n : n - 3), 0);
            assert_int_equal(load_into(t, path, NULL, 0, 0, 1, 0, NULL, &e), ST_ERROR);
            assert_string_equal(e.sqlstate, "22P04");
            assert_int_equal(strncmp(e.message, "could not decompress file \"/tmp/", 32), 0);
            table_free(t);
            assert_int_equal(pwrite(fd, out, (size_t)n, 0), n);
        }
        close(fd);
        unlink(path);
    }
}

static void test_columns_and_defaults(void **state) {
    (void)state;
    Table *t = make_table("itn");
    CopyOptions o;
    Err e = {0};
    int cols[] = {2, 0};
    const char *names[] = {"c", "a"};
    Value defaults[3] = {
        {.is_null = true}, {.type = type_make(T_TEXT), .u.str = str_make("dflt", 4)}, {.is_null = true}};
    assert_int_equal(copy_options(statement(true, NULL, 0, NULL), 2, names, arena, &o, &e), ST_OK);
    CopyTarget g = {.table = t,
                    .n_cols = 2,
                    .cols = cols,
                    .defaults = defaults,
                    .session = &session,
                    .account = &account,
                    .threads = 1};
    Input s = {"1.5\t7\n\\N\t8\n", 11, 3};
    int64_t rows;
    assert_int_equal(copy_from(&g, &o, vfs_posix(), NULL, source_read, &s, NULL, &rows, &e), ST_OK);
    assert_string_equal(dump(t), "7|dflt|1.50\n8|dflt|~\n");
    table_free(t);
}

/* ---- writing ---- */

typedef struct Output {
    char *s;
} Output;
static bool sink_write(void *ctx, const char *data, int64_t n) {
    Output *k = ctx;
    k->s = arena_printf(arena, "%s%.*s", k->s, (int)n, data);
    return true;
}

static int64_t failing; /* the allocation of copy_to that fails; 0: none does */
static bool has_failed; /* it came to that */

static const char *written(const char *shape, const char *text, const char *path, int n, const Opt *opts) {
    Table *t = make_table(shape);
    Err e = {0};
    assert_int_equal(load_into(t, NULL, text, (int64_t)strlen(text), 1 << 20, 1, 1, (Opt[]){CSV}, &e), ST_OK);
    CellSpec specs[8];
    Type types[8];
    Vec vecs[8];
    int64_t rows = t->live_rows, count;
    for (int c = 0; c < t->n_cols; c++) {
        types[c] = t->cols[c].type;
        specs[c] = (CellSpec){.phys = (uint8_t)type_phys(types[c]), .type = types[c], .nullable = true};
        vecs[c] = (Vec){.phys = specs[c].phys,
                        .type = types[c],
                        .data = arena_calloc(arena, 16 * rows),
                        .valid = arena_calloc(arena, rows)};
        memset(vecs[c].valid, 1, (size_t)rows);
        bool nulls;
        tablet_decode(t, t->tablets[0], c, 0, NULL, rows, specs[c].phys, vecs[c].data, vecs[c].valid, &nulls);
    }
    RowLayout layout;
    RowStore *store;
    assert_int_equal(row_layout_init(&layout, arena, t->n_cols, specs, 0), ST_OK);
    assert_int_equal(rows_new(&layout, 1, &account, vfs_posix(), NULL, &store, &e), ST_OK);
    assert_int_equal(rows_append(store, 0, 0, rows, vecs, &e), ST_OK);
    assert_int_equal(rows_finish(store, true, &e), ST_OK);
    CopyOptions o;
    assert_int_equal(copy_options(statement(false, path, n, opts), t->n_cols, table_names, arena, &o, &e), ST_OK);
    Output k = {arena_strdup(arena, "")};
    const CopySource from = {
        .rows = store, .n_cols = t->n_cols, .types = types, .names = table_names, .account = &account};
    mem_fail_at(failing);
    Status st = copy_to(&from, &o, vfs_posix(), path, path ? NULL : sink_write, &k, &count, &e);
    has_failed = mem_fail_at(0) <= 0;
    if (st == ST_OK) assert_int_equal(count, rows);
    rows_free(store);
    table_free(t);
    return st == ST_OK ? k.s : arena_printf(arena, "%s %s", e.sqlstate, e.message);
}
#define WRITTEN(shape, text, ...) \
    written(shape, text, NULL, (int)(sizeof((Opt[]){__VA_ARGS__}) / sizeof(Opt)), (Opt[]){__VA_ARGS__})

static void test_write(void **state) {
    (void)state;
    assert_string_equal(WRITTEN("itnb", "1,a,1.5,t\n-2,,,f\n,\"x\ty\\\n\",-0.05,\n", TEXT),
                        "1\ta\t1.50\tt\n-2\t\\N\t\\N\tf\n\\N\tx\\ty\\\\\\n\t-0.05\t\\N\n");
    assert_string_equal(WRITTEN("it", "1,\"a,b\"\"c\"\n2,\n3,\"\"\n4,\"x\ny\"\n", CSV, {"header", "true"}),
                        "a,b\n1,\"a,b\"\"c\"\n2,\n3,\"\"\n4,\"x\ny\"\n");
    assert_string_equal(WRITTEN("ti", "a,1\n", CSV, {"force_quote", "*"}), "\"a\",\"1\"\n");
    assert_string_equal(WRITTEN("ti", "a,1\n", CSV, {"force_quote", "b"}), "a,\"1\"\n");
    assert_string_equal(WRITTEN("t", "a'b\n", CSV, {"quote", "'"}, {"escape", "\\"}), "'a\\'b'\n");
    assert_string_equal(WRITTEN("idcT", "1,2020-01-02,ab,2020-01-02 03:04:05\n", TBL),
                        "1|2020-01-02|ab|2020-01-02 03:04:05|\n");
    assert_string_equal(WRITTEN("ct", "ab,\\x\n", TEXT), "ab \t\\\\x\n");
    assert_string_equal(WRITTEN("lNB", "-9223372036854775808,1.25,\\x00ff\n", TEXT),
                        "-9223372036854775808\t1.25\t\\\\x00ff\n");
    assert_string_equal(WRITTEN("t", "a|b\n", TBL),
                        "22P04 a value with a delimiter cannot be written in COPY format \"tbl\"");
    assert_string_equal(WRITTEN("it", "1,\n", TBL), "22004 a NULL cannot be written in COPY format \"tbl\"");
    assert_string_equal(WRITTEN("it", "1,\n", TBL, {"null", ""}), "1||\n");
    char dir[] = "/tmp/stele-test-copy-XXXXXX";
    assert_non_null(mkdtemp(dir));
    const char *path = arena_printf(arena, "%s/x.csv", dir);
    written("it", "1,a\n2,b\n", path, 0, NULL);
    Table *t = make_table("it");
    Err e = {0};
    assert_int_equal(load_into(t, path, NULL, 0, 0, 1, 0, NULL, &e), ST_OK);
    assert_string_equal(dump(t), "1|a\n2|b\n");
    table_free(t);
    unlink(path);
    assert_int_equal(rmdir(dir), 0); /* no temporary file is left */
    assert_true(strncmp(written("i", "1\n", "/nonexistent/y.csv", 0, NULL),
                        "58P01 could not open file \"/nonexistent/y.csv\" for writing", 58) == 0);
}

/* Every allocation of a writer fails once: 53200, and no file. */
static void check_written_without_memory(const char *end) {
    char dir[] = "/tmp/stele-test-copy-XXXXXX";
    assert_non_null(mkdtemp(dir));
    const char *path = arena_printf(arena, "%s/x.%s", dir, end);
    failing = 0;
    do {
        failing++;
        const char *got =
            written("itnbdTNB", "1,abc,1.50,t,2020-01-02,2020-01-02 03:04:05,1.25,\\x00ff\n,,,,,,,\n", path, 0, NULL);
        if (*got) assert_memory_equal(got, "53200", 5);
        if (atomic_load(&account.used) != 0)
            fail_msg("%s, allocation %d: %d bytes are left", end, (int)failing, (int)account.used);
        assert_int_equal(unlink(path), *got ? -1 : 0);
    } while (has_failed);
    assert_true(failing > 5);
    failing = 0;
    assert_int_equal(rmdir(dir), 0); /* no temporary file is left */
}
static void test_write_without_memory(void **state) {
    (void)state;
    check_written_without_memory("csv");
    check_written_without_memory("arrow");
    check_written_without_memory("parquet");
}

static void test_failing_memory(void **state) {
    (void)state;
    for (int64_t n = 1; n < 400; n++) {
        Table *t = make_table("it");
        Err e = {0};
        copy_chunk_bytes = 8;
        mem_fail_at(n);
        CopyOptions o = {
            .format = COPY_TEXT, .delimiter = '\t', .quote = '"', .escape = '"', .null_text = "\\N", .null_len = 2};
        int cols[] = {0, 1};
        CopyTarget g = {.table = t, .n_cols = 2, .cols = cols, .session = &session, .account = &account, .threads = 1};
        Input s = {"1\ta\\tb\n2\tb\n3\tcdefghijklmnopqrstuvwxyz\n4\td\n", 42, 7};
        int64_t rows;
        Status st = copy_from(&g, &o, vfs_posix(), NULL, source_read, &s, NULL, &rows, &e);
        mem_fail_at(0);
        if (st == ST_OK) {
            assert_int_equal(t->live_rows, 4);
        } else {
            assert_string_equal(e.sqlstate, "53200");
            assert_int_equal(t->live_rows, 0);
        }
        table_free(t);
    }
    copy_chunk_bytes = 1 << 20;
}

static int setup(void **state) {
    (void)state;
    mem_account_init(&account, NULL, "test", 0, NULL);
    pool = pool_new(3, NULL);
    return 0;
}
static int before(void **state) {
    (void)state;
    arena = arena_new(NULL, NULL);
    return 0;
}
static int after(void **state) {
    (void)state;
    arena_free(arena);
    assert_int_equal(account.used, 0);
    return 0;
}
static int teardown(void **state) {
    (void)state;
    pool_free(pool);
    return 0;
}

int main(void) {
#define T(f) cmocka_unit_test_setup_teardown(f, before, after)
    const struct CMUnitTest tests[] = {
        T(test_options),        T(test_tbl),
        T(test_numbers),        T(test_text),
        T(test_encoding),       T(test_csv),
        T(test_large),          T(test_sources),
        T(test_compressed),     T(test_columns_and_defaults),
        T(test_write),          T(test_write_without_memory),
        T(test_failing_memory),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
