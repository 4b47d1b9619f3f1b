/* Functions, operators and casts: resolution by PostgreSQL's rules and evaluation against PostgreSQL's answers.
 *
 * A case is a call in text: name, arguments as "type:text" joined by '|' ("type:NULL"; "unknown:x" is a bare literal),
 * and the result's text, or "!SQLSTATE". Operators are recognised by their symbols. Numerics of fixed scale keep it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "types/func.h"

typedef struct Case {
    const char *name, *args, *want;
} Case;

static MemAccount account;
static Err err;
static const SessionInfo session = {
    .now_micros = INT64_C(762527045678901), .user = "ada", .database = "db", .random = &(RandomSource){7, 0}};

static Type parse_type(Slice s) {
    char name[64] = "";
    int64_t mods[2] = {0}, n = 0;
    const char *paren = memchr(s.ptr, '(', (size_t)s.len);
    int64_t len = paren ? paren - s.ptr : s.len;
    memcpy(name, s.ptr, (size_t)len);
    if (paren) {
        char *end;
        mods[n++] = strtol(paren + 1, &end, 10);
        if (*end == ',') mods[n++] = strtol(end + 1, &end, 10);
    }
    Type t = {0};
    if (strcmp(name, "unknown") == 0) return t;
    err_clear(&err);
    if (type_from_name((Slice){name, len}, (int)n, mods, &t, &err) != ST_OK) fail_msg("type %s: %s", name, err.message);
    return t;
}

static int parse_args(Arena *a, const char *text, Value *v, Type *types) {
    int n = 0;
    while (*text) {
        const char *end = strchr(text, '|');
        if (end && end[1] == '|') end = strchr(end + 2, '|'); /* "||" is a bar in a value */
        int64_t len = end ? end - text : (int64_t)strlen(text);
        const char *colon = memchr(text, ':', (size_t)len);
        assert_non_null(colon);
        types[n] = parse_type((Slice){text, colon - text});
        Slice val = {colon + 1, text + len - colon - 1};
        memset(&v[n], 0, sizeof v[n]);
        v[n].type = types[n];
        if (val.len == 4 && memcmp(val.ptr, "NULL", 4) == 0) v[n].is_null = true;
        else if (types[n].id == T_UNKNOWN) v[n].u.str = str_make(val.ptr, val.len);
        else if (value_from_text(types[n], val, NULL, a, &v[n], &err) != ST_OK)
            fail_msg("value %.*s: %s", (int)val.len, val.ptr, err.message);
        n++;
        text = end ? end + 1 : text + len;
    }
    return n;
}

static Status cast(Arena *a, Value *v, Type to, CastCtx how) {
    if (type_eq(v->type, to)) return ST_OK;
    FuncKernel k = cast_kernel(v->type, to, how);
    if (!k) return err_set(&err, ERR_CANNOT_COERCE, "no cast");
    Value r;
    TRY(func_eval(NULL, k, &session, a, to, 1, v, &r, &err));
    *v = r;
    return ST_OK;
}

static Status run(Arena *a, const Case *c, Value *out) {
    Value v[16];
    Type types[16], coerced[16], ret;
    int n = parse_args(a, c->args, v, types);
    const FuncDef *f;
    bool op = strchr("+-*/<>=~!@#%^&|", c->name[0]) != NULL;
    err_clear(&err);
    TRY(func_resolve(slice_of(c->name), op, n, types, 0, &f, coerced, &ret, &err));
    for (int k = 0; k < n; k++) TRY(cast(a, &v[k], coerced[k], CAST_IMPLICIT));
    const Value *consts[16];
    for (int k = 0; k < n; k++) consts[k] = &v[k];
    ret = func_refine_type(f, n, coerced, consts, ret);
    return func_eval(f, NULL, &session, a, ret, n, v, out, &err);
}

static int check(Arena *a, const Case *c, Status st, const Value *out) {
    char got[512];
    if (st != ST_OK) {
        snprintf(got, sizeof got, "!%s", err.sqlstate);
    } else if (out->is_null) {
        snprintf(got, sizeof got, "NULL");
    } else {
        int64_t len;
        char *t = value_to_text(a, out, &len);
        assert_non_null(t);
        snprintf(got, sizeof got, "%.*s", (int)len, t);
    }
    if (strcmp(got, c->want) == 0) return 0;
    print_error("%s(%s): got %s, want %s%s%s\n", c->name, c->args, got, c->want, st ? ": " : "", st ? err.message : "");
    return 1;
}

static void run_cases(const Case *c, int64_t n) {
    int failed = 0;
    for (int64_t i = 0; i < n; i++) {
        Arena *a = arena_new(&account, &err);
        Value out;
        Status st = run(a, &c[i], &out);
        failed += check(a, &c[i], st, &out);
        arena_free(a);
    }
    assert_int_equal(failed, 0);
}

/* ---- cases begin (checked against PostgreSQL 15) ---- */
static const Case numbers[] = {
    {"+", "int4:2|int4:3", "5"},
    {"+", "int4:2147483647|int4:1", "!22003"},
    {"+", "int2:32767|int2:1", "!22003"},
    {"+", "int2:32767|int4:1", "32768"},
    {"+", "int4:1|int8:9223372036854775807", "!22003"},
    {"-", "int4:-2147483648", "!22003"},
    {"*", "int8:4611686018427387904|int4:2", "!22003"},
    {"/", "int4:7|int4:-2", "-3"},
    {"/", "int4:1|int4:0", "!22012"},
    {"/", "int4:-2147483648|int4:-1", "!22003"},
    {"%", "int4:-7|int4:3", "-1"},
    {"%", "int4:-2147483648|int4:-1", "0"},
    {"+", "numeric(5,2):1.25|numeric(6,3):2.375", "3.625"},
    {"+", "numeric(15,2):1.25|int4:1", "2.25"},
    {"-", "int4:1|numeric(15,2):0.05", "0.95"},
    {"*", "numeric(15,2):12.34|numeric(15,2):0.95", "11.7230"},
    {"*", "numeric(15,2):-12.34|int4:3", "-37.02"},
    {"%", "numeric(5,2):5.50|numeric(5,1):2.0", "1.50"},
    {"/", "numeric(5,2):1.00|int4:0", "!22012"},
    {"+", "float8:1.5|int4:1", "2.5"},
    {"+", "float4:1.5|int4:1", "2.5"},
    {"*", "float8:1e308|float8:10", "!22003"},
    {"/", "float8:1|float8:0", "!22012"},
    {"+", "unknown:2|int4:3", "5"},
    {"+", "unknown:2|unknown:3", "!42725"},
    {"+", "unknown:x|int4:3", "!22P02"},
    {"+", "int4:1|text:a", "!42883"},
    {"^", "int4:2|int4:10", "1024"},
    {"^", "numeric(3,1):2.0|numeric(3,1):3.0", "8.0000000000000000"},
    {"&", "int4:12|int4:10", "8"},
    {"|", "int4:12|int4:10", "14"},
    {"#", "int4:12|int4:10", "6"},
    {"~", "int4:12", "-13"},
    {"<<", "int4:1|int4:4", "16"},
    {">>", "int8:-16|int4:2", "-4"},
    {"@", "int4:-5", "5"},
    {"abs", "numeric(5,2):-1.50", "1.50"},
    {"abs", "int4:-2147483648", "!22003"},
    {"ceil", "numeric(5,2):-1.50", "-1"},
    {"ceil", "float8:1.2", "2"},
    {"floor", "numeric(5,2):-1.50", "-2"},
    {"floor", "float8:-1.2", "-2"},
    {"round", "numeric(5,2):2.50", "3"},
    {"round", "numeric(5,2):-2.50", "-3"},
    {"round", "float8:2.5", "2"},
    {"round", "numeric(6,3):2.345|int4:2", "2.35"},
    {"round", "numeric(6,1):155.5|int4:-1", "160"},
    {"round", "numeric(6,3):2.3|int4:5", "2.30000"},
    {"trunc", "numeric(6,3):-2.345|int4:2", "-2.34"},
    {"trunc", "float8:-2.9", "-2"},
    {"sign", "numeric(5,2):-3.20", "-1"},
    {"sign", "float8:0", "0"},
    {"sqrt", "float8:2", "1.4142135623730951"},
    {"sqrt", "int4:-1", "!2201F"},
    {"exp", "float8:1", "2.718281828459045"},
    {"ln", "float8:0", "!2201E"},
    {"ln", "numeric(5,1):2.0", "0.6931471805599453"},
    {"log", "float8:1000", "3"},
    {"log", "numeric(5,1):2.0|numeric(5,1):64.0", "6.0000000000000000"},
    {"power", "float8:0|float8:-1", "!2201F"},
    {"power", "float8:-8|float8:0.5", "!2201F"},
    {"mod", "int8:10|int4:3", "1"},
    {"div", "numeric(5,1):9.5|numeric(5,1):2.0", "4"},
    {"gcd", "int4:1071|int4:462", "21"},
    {"lcm", "int4:4|int4:6", "12"},
    {"factorial", "int4:20", "2432902008176640000"},
    {"factorial", "int4:-1", "!22003"},
    {"pi", "", "3.141592653589793"},
    {"degrees", "float8:0.5", "28.64788975654116"},
    {"sin", "float8:0", "0"},
    {"acos", "float8:2", "!22003"},
    {"atan2", "float8:1|float8:1", "0.7853981633974483"},
    {"width_bucket", "float8:5.35|float8:0.024|float8:10.06|int4:5", "3"},
    {"width_bucket", "numeric(5,2):5.35|numeric(6,3):0.024|numeric(5,2):10.06|int4:5", "3"},
    {"=", "int4:1|numeric(3,1):1.0", "t"},
    {"<", "float8:NaN|float8:1", "f"},
    {"=", "float8:NaN|float8:NaN", "t"},
    {"=", "float8:-0|float8:0", "t"},
    {">", "int8:5|int2:4", "t"},
    {"<>", "bool:t|bool:f", "t"},
    {"+", "int4:NULL|int4:1", "NULL"},
    {"greatest", "int4:1|numeric(3,1):2.5|int4:NULL", "2.5"},
    {"least", "int4:NULL|int4:NULL", "NULL"},
    {"num_nulls", "int4:NULL|text:x|text:NULL", "2"},
};

static const Case texts[] = {
    {"||", "text:foo|text:bar", "foobar"},
    {"||", "text:n=|int4:42", "n=42"},
    {"||", "bool:t|text:!", "true!"},
    {"||", "unknown:a|unknown:b", "ab"},
    {"||", "int4:1|int4:2", "!42883"},
    {"||", "char(5):ab|text:x", "abx"},
    {"=", "char(5):ab|char(3):ab", "t"},
    {"=", "varchar(5):ab|text:ab", "t"},
    {"<", "text:B|text:a", "t"},
    {"~~", "text:foobar|text:f%b_r", "t"},
    {"~~", "text:foobar|text:f%b", "f"},
    {"!~~", "text:foobar|text:f%b", "t"},
    {"~~*", "text:FooBar|text:%OB%", "t"},
    {"~~", "text:a%b|text:a\\%b", "t"},
    {"like_escape", "text:a#%b|text:#", "a\\%b"},
    {"~", "text:foobar|text:o+b", "t"},
    {"~", "text:foobar|text:^b", "f"},
    {"~*", "text:FOO|text:^fo{2}$", "t"},
    {"!~", "text:foo|text:\\d", "t"},
    {"~", "text:foo|text:(", "!2201B"},
    {"~", "text:a cat sat|text:\\mcat\\M", "t"},
    {"~", "text:concat|text:\\mcat\\M", "f"},
    {"length", "text:h\xc3\xa9llo", "5"},
    {"octet_length", "text:h\xc3\xa9llo", "6"},
    {"bit_length", "text:abc", "24"},
    {"char_length", "char(5):ab", "2"},
    {"lower", "text:HeLLo", "hello"},
    {"upper", "text:hello", "HELLO"},
    {"initcap", "text:hi THOMAS o'neil x9a", "Hi Thomas O'Neil X9a"},
    {"btrim", "text:xyxtrimyyx|text:xyz", "trim"},
    {"ltrim", "text:  a ", "a "},
    {"rtrim", "text:testxxzx|text:xyz", "test"},
    {"substring", "text:Thomas|int4:2|int4:3", "hom"},
    {"substring", "text:Thomas|int4:-1|int4:3", "T"},
    {"substring", "text:Thomas|int4:3", "omas"},
    {"substring", "text:Thomas|int4:1|int4:-1", "!22011"},
    {"substring", "text:Thomas|text:...$", "mas"},
    {"substring", "text:foobar|text:o(.)b", "o"},
    {"substring", "text:foobar|text:z", "NULL"},
    {"substr", "text:alphabet|int4:3|int4:2", "ph"},
    {"strpos", "text:high|text:ig", "2"},
    {"position", "text:high|text:zz", "0"},
    {"left", "text:abcde|int4:-2", "abc"},
    {"right", "text:abcde|int4:2", "de"},
    {"right", "text:abcde|int4:-2", "cde"},
    {"lpad", "text:hi|int4:5|text:xy", "xyxhi"},
    {"rpad", "text:hi|int4:5|text:xy", "hixyx"},
    {"lpad", "text:hello|int4:2", "he"},
    {"repeat", "text:Pg|int4:4", "PgPgPgPg"},
    {"repeat", "text:Pg|int4:-4", ""},
    {"replace", "text:abcdefabcdef|text:cd|text:XX", "abXXefabXXef"},
    {"reverse", "text:abcde", "edcba"},
    {"split_part", "text:abc~@~def~@~ghi|text:~@~|int4:2", "def"},
    {"split_part", "text:abc,def,ghi|text:,|int4:-2", "def"},
    {"split_part", "text:abc|text:,|int4:0", "!22023"},
    {"concat", "text:a|int4:2|text:NULL|bool:t", "a2t"},
    {"concat_ws", "text:,|text:a|text:NULL|int4:22", "a,22"},
    {"concat_ws", "text:NULL|text:a", "NULL"},
    {"chr", "int4:233", "\xc3\xa9"},
    {"chr", "int4:0", "!54000"},
    {"ascii", "text:x", "120"},
    {"translate", "text:12345|text:143|text:ax", "a2x5"},
    {"overlay", "text:Txxxxas|text:hom|int4:2|int4:4", "Thomas"},
    {"starts_with", "text:alphabet|text:alph", "t"},
    {"md5", "text:abc", "900150983cd24fb0d6963f7d28e17f72"},
    {"md5", "text:", "d41d8cd98f00b204e9800998ecf8427e"},
    {"to_hex", "int4:2147483647", "7fffffff"},
    {"to_hex", "int4:-1", "ffffffff"},
    {"regexp_replace", "text:Thomas|text:.[mN]a.|text:M", "ThM"},
    {"regexp_replace", "text:foobarbaz|text:b(..)|text:X\\1Y|text:g", "fooXarYXazY"},
    {"regexp_replace", "text:foobarbaz|text:b..|text:X", "fooXbaz"},
    {"regexp_replace", "text:A PostgreSQL function|text:[aeiou]|text:X|int4:1|int4:3|text:i", "A PostgrXSQL function"},
    {"regexp_count", "text:ABCABCAXYaxy|text:A.", "3"},
    {"regexp_like", "text:Hello World|text:world|text:i", "t"},
    {"regexp_substr", "text:number of your street, town zip, FR|text:[^,]+|int4:1|int4:2", " town zip"},
    {"regexp_instr", "text:number of your street, town zip, FR|text:[^,]+|int4:1|int4:2", "23"},
    {"regexp_like", "text:a|text:a|text:g", "!22023"},
    {"quote_literal", "text:O'Reilly", "'O''Reilly'"},
    {"quote_literal", "text:a\\b", "E'a\\\\b'"},
    {"quote_ident", "text:Foo bar", "\"Foo bar\""},
    {"quote_ident", "text:select", "\"select\""},
    {"quote_ident", "text:abc_1", "abc_1"},
    {"quote_nullable", "text:NULL", "NULL"},
    {"encode", "bytea:\\x313233000102|text:base64", "MTIzAAEC"},
    {"encode", "bytea:\\x313200ff|text:escape", "12\\000\\377"},
    {"encode", "bytea:\\x3132|text:hex", "3132"},
    {"decode", "text:MTIzAAE=|text:base64", "\\x3132330001"},
    {"decode", "text:3132|text:hex", "\\x3132"},
    {"decode", "text:3|text:hex", "!22023"},
    {"format", "text:Hello %s, %1$s|text:World", "Hello World, World"},
    {"format", "text:INSERT INTO %I VALUES(%L)|text:locations|text:C:\\x", "INSERT INTO locations VALUES(E'C:\\\\x')"},
    {"format", "text:x%10s%-5sy|int4:5|bool:t", "x         5t    y"},
    {"format", "text:%s", "!22023"},
    {"format", "text:100%%", "100%"},
    {"length", "bytea:\\x0102", "2"},
    {"lower", "int4:5", "!42883"},
    {"nosuch", "int4:5|unknown:x", "!42883"},
    {"to_char", "numeric(10,3):1234.567|text:9999.99", " 1234.57"},
    {"to_char", "numeric(10,3):-1234.567|text:9,999.9", "-1,234.6"},
    {"to_char", "int4:12|text:99999", "    12"},
    {"to_char", "numeric(2,1):0.5|text:9.99", "  .50"},
    {"to_char", "numeric(2,1):0.5|text:0.99", " 0.50"},
    {"to_char", "int4:12345|text:999", " ###"},
    {"to_char", "int4:485|text:FM999.00", "485.00"},
    {"to_char", "int4:1485|text:9G999D99", " 1,485.00"},
    {"to_char", "int4:-485|text:999S", "485-"},
    {"to_char", "int4:-485|text:999MI", "485-"},
    {"to_char", "int4:485|text:PL999", "+ 485"},
    {"to_char", "int4:-485|text:999PR", "<485>"},
    {"to_char", "int4:485|text:RN", "        CDLXXXV"},
    {"to_char", "int4:482|text:999th", " 482nd"},
    {"to_char", "numeric(4,2):12.45|text:99V9", " 125"},
    {"to_char", "float8:0.0004859|text:9.99EEEE", " 4.86e-04"},
    {"to_char", "int4:0|text:FM999", "0"},
    {"to_char", "int4:-12|text:00099", "-00012"},
    {"to_char", "numeric(3,1):12.1|text:FM99.99", "12.1"},
    {"to_char", "int4:12|text:FM99.99", "12."},
    {"to_char", "numeric(3,1):-0.1|text:99.9", "  -.1"},
    {"to_char", "int4:12|text:S9,999", "   +12"},
    {"to_char", "int4:12|text:0,000", " 0,012"},
    {"to_char", "numeric(3,1):12.5|text:99 9.9", "  1 2.5"},
    {"to_char", "numeric(3,1):12.3|text:FM999.990", "12.300"},
    {"to_char", "float8:125.8|text:999D9", " 125.8"},
    {"to_char", "numeric(4,2):12.45|text:FM99.9", "12.5"},
    {"to_char", "int4:1234567|text:FM9,999,999", "1,234,567"},
    {"to_char", "int8:12|text:9,999,999", "        12"},
    {"to_char", "int4:-5|text:SG99", "- 5"},
    {"to_char", "numeric(4,3):-0.001|text:9.9", "  .0"},
    {"to_char", "numeric(4,2):1.50|text:FM990.00", "1.50"},
    {"to_char", "int4:7|text:09", " 07"},
    {"to_char", "numeric(8,2):-1234.50|text:FM$9,999.00", "$-1,234.50"},
    {"substring", "text:h\xc3\xa9llo|int4:2|int4:2", "\xc3\xa9l"},
    {"overlay", "text:abcdef|text:ZZ|int4:3", "abZZef"},
    {"lpad", "text:x|int4:0", ""},
    {"replace", "text:abc|text:|text:X", "abc"},
    {"regexp_replace", "text:abc|text:|text:-|text:g", "-a-b-c-"},
    {"regexp_count", "text:abc|text:x*", "4"},
    {"split_part", "text:a,b|text:|int4:1", "a,b"},
    {"concat", "date:2024-01-01|interval:1 day|float8:0.1", "2024-01-011 day0.1"},
};

static const Case dates[] = {
    {"+", "date:2024-02-28|int4:2", "2024-03-01"},
    {"-", "date:2024-03-01|int4:1", "2024-02-29"},
    {"-", "date:2024-03-01|date:2023-03-01", "366"},
    {"-", "date:2024-03-01|unknown:2024-02-01", "29"},
    {"+", "date:2024-01-31|interval:1 month", "2024-02-29 00:00:00"},
    {"-", "date:1998-12-01|interval:90 days", "1998-09-02 00:00:00"},
    {"+", "date:2024-01-31|time:03:00", "2024-01-31 03:00:00"},
    {"+", "timestamp:2024-02-29 10:00|interval:1 year 2 hours", "2025-02-28 12:00:00"},
    {"-", "timestamp:2024-03-01 00:00|timestamp:2024-02-28 12:30", "1 day 11:30:00"},
    {"-", "timestamp:2024-03-31 00:00|interval:1 mon", "2024-02-29 00:00:00"},
    {"+", "interval:1 day|interval:2 hours", "1 day 02:00:00"},
    {"*", "interval:1 mon 1 day|float8:1.5", "1 mon 16 days 12:00:00"},
    {"*", "int4:3|interval:1 hour", "03:00:00"},
    {"/", "interval:1 hour|float8:1.5", "00:40:00"},
    {"/", "interval:1 hour|int4:0", "!22012"},
    {"-", "interval:1 day", "-1 days"},
    {"+", "time:23:00|interval:2 hours", "01:00:00"},
    {"-", "time:01:00|time:02:30", "-01:30:00"},
    {"+", "date:2024-01-01|date:2024-01-01", "!42883"},
    {"+", "date:5874897-12-31|int4:1", "!22008"},
    {"=", "date:2024-01-01|timestamp:2024-01-01 00:00", "t"},
    {"<", "interval:1 month|interval:31 days", "t"},
    {"=", "interval:1 month|interval:30 days", "t"},
    {"<=", "date:2024-01-01|unknown:2024-01-01", "t"},
    {"extract_int", "text:year|date:1998-12-01", "1998"},
    {"extract_int", "text:hour|timestamp:2024-02-29 13:04:05", "13"},
    {"extract_num", "text:epoch|timestamp:2024-02-29 13:04:05.5", "1709211845.500000"},
    {"extract_num", "text:second|time:13:04:05.5", "5.500000"},
    {"date_part", "text:doy|date:2024-12-31", "366"},
    {"date_part", "text:week|date:2021-01-03", "53"},
    {"date_part", "text:isoyear|date:2021-01-03", "2020"},
    {"date_part", "text:dow|date:2024-03-03", "0"},
    {"date_part", "text:isodow|date:2024-03-03", "7"},
    {"date_part", "text:quarter|date:2024-05-03", "2"},
    {"date_part", "text:century|date:2001-01-01", "21"},
    {"date_part", "text:millennium|date:2000-12-31", "2"},
    {"date_part", "text:decade|date:1999-12-31", "199"},
    {"date_part", "text:julian|date:2024-01-01", "2460311"},
    {"date_part", "text:milliseconds|time:00:00:01.5", "1500"},
    {"date_part", "text:epoch|interval:1 year 2 months 3 days 04:05:06", "37015506"},
    {"date_part", "text:day|interval:1 month 40 days", "40"},
    {"date_part", "text:foo|date:2024-05-03", "!22023"},
    {"date_part", "text:year|time:01:00", "!0A000"},
    {"date_part", "text:year|timestamp:infinity", "Infinity"},
    {"date_part", "text:month|timestamp:infinity", "NULL"},
    {"extract_num", "text:hour|date:2024-05-03", "!0A000"},
    {"date_trunc", "text:month|timestamp:2024-02-29 13:04", "2024-02-01 00:00:00"},
    {"date_trunc", "text:week|timestamp:2024-02-29 13:04", "2024-02-26 00:00:00"},
    {"date_trunc", "text:quarter|timestamp:2024-06-29 13:04", "2024-04-01 00:00:00"},
    {"date_trunc", "text:century|timestamp:2024-06-29 13:04", "2001-01-01 00:00:00"},
    {"date_trunc", "text:decade|timestamp:2024-06-29 13:04", "2020-01-01 00:00:00"},
    {"date_trunc", "text:hour|date:2024-06-29", "2024-06-29 00:00:00+00"},
    {"date_trunc", "text:hour|interval:3 days 02:47:33", "3 days 02:00:00"},
    {"date_trunc", "text:quarter|interval:16 months 4 days", "1 year 3 mons"},
    {"date_trunc", "text:foo|timestamp:2024-06-29 13:04", "!22023"},
    {"date_bin", "interval:15 minutes|timestamp:2020-02-11 15:44:17|timestamp:2001-01-01", "2020-02-11 15:30:00"},
    {"age", "timestamp:2001-04-10|timestamp:1957-06-13", "43 years 9 mons 27 days"},
    {"age", "timestamp:1957-06-13|timestamp:2001-04-10", "-43 years -9 mons -27 days"},
    {"age", "date:2024-03-01|date:2024-01-31", "1 mon 1 day"},
    {"justify_days", "interval:35 days", "1 mon 5 days"},
    {"justify_hours", "interval:27 hours", "1 day 03:00:00"},
    {"justify_interval", "interval:1 mon -1 hour", "29 days 23:00:00"},
    {"make_date", "int4:2013|int4:7|int4:15", "2013-07-15"},
    {"make_date", "int4:2013|int4:2|int4:29", "!22008"},
    {"make_time", "int4:8|int4:15|float8:23.5", "08:15:23.5"},
    {"make_timestamp", "int4:2013|int4:7|int4:15|int4:8|int4:15|float8:23.5", "2013-07-15 08:15:23.5"},
    {"make_interval", "int4:1|int4:2|int4:1|int4:3", "1 year 2 mons 10 days"},
    {"to_timestamp", "float8:1284352323", "2010-09-13 04:32:03+00"},
    {"isfinite", "date:infinity", "f"},
    {"timezone", "text:UTC|timestamp:2024-01-01 00:00", "2024-01-01 00:00:00+00"},
    {"timezone", "interval:02:00|timestamptz:2024-01-01 00:00+00", "2024-01-01 02:00:00"},
    {"to_char", "timestamp:2024-02-29 13:04:05.678901|text:YYYY-MM-DD HH24:MI:SS.MS US",
     "2024-02-29 13:04:05.678 678901"},
    {"to_char", "timestamp:2024-02-29 13:04:05|text:Day DAY day Dy Month MON Mon FMMonth FMDay",
     "Thursday  THURSDAY  thursday  Thu February  FEB Feb February Thursday"},
    {"to_char", "timestamp:2024-02-29 13:04:05|text:DDD D ID WW IW IYYY Q CC J AM am A.M. HH12 HH RM Y,YYY YY Y",
     "060 5 4 09 09 2024 1 21 2460370 PM pm P.M. 01 01 II   2,024 24 4"},
    {"to_char", "timestamp:2024-02-29 13:04:05|text:DDth FMDDth SSSS \"lit\" W BC", "29th 29th 47045 lit 5 AD"},
    {"to_char", "date:2024-02-09|text:FMMM/FMDD/YY", "2/9/24"},
    {"to_char", "interval:15h 2m 12s|text:HH24:MI:SS", "15:02:12"},
    {"to_date", "text:05 Dec 2000|text:DD Mon YYYY", "2000-12-05"},
    {"to_date", "text:20240229|text:YYYYMMDD", "2024-02-29"},
    {"to_date", "text:2023-02-29|text:YYYY-MM-DD", "!22008"},
    {"to_date", "text:xx|text:YYYY", "!22007"},
    {"to_date", "text:2024-060|text:YYYY-DDD", "2024-02-29"},
    {"to_timestamp", "text:2000-01-01 11:30:05 PM|text:YYYY-MM-DD HH:MI:SS AM", "2000-01-01 23:30:05+00"},
    {"to_timestamp", "text:05 Dec 2000|text:DD Mon YYYY", "2000-12-05 00:00:00+00"},
    {"date_part", "text:year|date:0044-03-15 BC", "-44"},
    {"date_part", "text:century|date:0044-03-15 BC", "-1"},
    {"date_part", "text:epoch|timestamp:1969-12-31 23:59:59.5", "-0.5"},
    {"date_part", "text:week|date:2020-12-31", "53"},
    {"date_part", "text:week|date:2024-12-30", "1"},
    {"date_trunc", "text:millennium|timestamp:2000-06-29 13:04", "1001-01-01 00:00:00"},
    {"date_trunc", "text:week|timestamp:2021-01-03 13:04", "2020-12-28 00:00:00"},
    {"date_trunc", "text:hour|timestamp:1999-06-29 13:04", "1999-06-29 13:00:00"},
    {"age", "timestamp:2024-03-31|timestamp:2024-02-29", "1 mon 2 days"},
    {"age", "timestamp:2024-02-29|timestamp:2024-03-31", "-1 mons -2 days"},
    {"*", "interval:1 year 3 mons|float8:0.3", "4 mons 15 days"},
    {"/", "interval:1 mon|int4:7", "4 days 06:51:25.6896"},
    {"-", "timestamp:infinity|timestamp:2024-01-01", "!22008"},
    {"+", "timestamp:infinity|interval:1 day", "infinity"},
    {"justify_interval", "interval:1 year -40 days 30:00:00", "10 mons 21 days 06:00:00"},
    {"make_date", "int4:-44|int4:3|int4:15", "0044-03-15 BC"},
    {"to_char", "date:0044-03-15 BC|text:YYYY BC", "0044 BC"},
    {"to_date", "text:3/5/21|text:MM/DD/YY", "2021-03-05"},
    {"to_date", "text:March 7, 1999|text:Month DD, YYYY", "1999-03-07"},
    {"to_timestamp", "text:2024-02-29 13:04:05.25|text:YYYY-MM-DD HH24:MI:SS.MS", "2024-02-29 13:04:05.25+00"},
    {"to_number", "text:12,454.8-|text:99G999D9S", "-12454.8"},
    {"to_number", "text:-34,338,492|text:99G999G999", "-34338492"},
};
/* ---- cases end ---- */

/* What Stele fixes differently: static scales, session values. */
static const Case own[] = {
    {"cbrt", "float8:27", "3"},
    {"/", "numeric(5,2):10.00|int4:4", "2.5000000000000000"},
    {"/", "numeric(5,2):1.00|int4:3", "0.3333333333333333"},
    {"sqrt", "numeric(5,1):2.0", "1.414213562373095"},
    {"now", "", "2024-02-29 13:04:05.678901+00"},
    {"current_date", "", "2024-02-29"},
    {"localtime", "", "13:04:05.678901"},
    {"current_user", "", "ada"},
    {"current_database", "", "db"},
    {"age", "timestamp:2024-02-01", "28 days"},
    {"like_escape", "text:a%b|text:a#%b|text:#", "t"},
    {"like_escape", "text:aXb|text:a#%b|text:#", "f"},
    {"pg_typeof", "int4:NULL", "!0A000"}, /* types have oids in a catalog only */
    {"extract_int", "text:month|timestamptz:2024-05-03 00:00+00", "5"},
};

/* from, to, context (i, a, e), value, result */
static const struct {
    const char *from, *to, *ctx, *value, *want;
} casts[] = {
    {"float8", "int4", "a", "2.5", "2"},
    {"float8", "int4", "a", "3.5", "4"},
    {"float8", "int4", "a", "1e10", "!22003"},
    {"float8", "int8", "e", "NaN", "!22003"},
    {"numeric(5,2)", "int4", "a", "2.50", "3"},
    {"numeric(5,2)", "int4", "a", "-2.50", "-3"},
    {"numeric(12,2)", "int4", "a", "2147483647.50", "!22003"},
    {"int8", "int4", "a", "2147483648", "!22003"},
    {"int4", "int2", "a", "40000", "!22003"},
    {"int4", "int2", "i", "4", "!42846"},
    {"int2", "int8", "i", "-5", "-5"},
    {"int4", "numeric(5,2)", "a", "123", "123.00"},
    {"int4", "numeric(5,2)", "a", "1234", "!22003"},
    {"numeric(6,3)", "numeric(5,2)", "a", "1.255", "1.26"},
    {"float8", "numeric(10,3)", "a", "1.2345", "1.235"},
    {"float8", "numeric(10,3)", "a", "NaN", "!22003"},
    {"float4", "float8", "i", "1.5", "1.5"},
    {"float8", "float4", "a", "1e300", "!22003"},
    {"numeric(6,3)", "float8", "i", "1.255", "1.255"},
    {"int4", "bool", "e", "7", "t"},
    {"int4", "bool", "a", "7", "!42846"},
    {"bool", "int4", "e", "t", "1"},
    {"bool", "text", "a", "t", "true"},
    {"text", "bool", "e", "yes", "t"},
    {"text", "int4", "e", " 42 ", "42"},
    {"text", "int4", "a", "42", "!42846"},
    {"text", "int4", "e", "4x", "!22P02"},
    {"int4", "text", "a", "42", "42"},
    {"int4", "text", "i", "42", "!42846"},
    {"numeric(5,2)", "text", "a", "1.50", "1.50"},
    {"text", "varchar(3)", "e", "abcdef", "abc"},
    {"text", "varchar(3)", "a", "abcdef", "!22001"},
    {"text", "varchar(5)", "a", "abc      ", "abc  "},
    {"text", "char(3)", "a", "abcd", "!22001"},
    {"text", "char(3)", "a", "ab   ", "ab "},
    {"text", "char(5)", "e", "ab", "ab   "},
    {"char(5)", "text", "i", "ab", "ab"},
    {"int4", "varchar(2)", "e", "123", "12"},
    {"int4", "varchar(2)", "a", "123", "!22001"},
    {"date", "timestamp", "i", "2024-02-29", "2024-02-29 00:00:00"},
    {"date", "timestamp", "i", "5874897-01-01", "!22008"},
    {"date", "timestamptz", "i", "infinity", "infinity"},
    {"timestamp", "date", "a", "1999-12-31 23:59:59", "1999-12-31"},
    {"timestamp", "time", "a", "1999-12-31 23:59:59", "23:59:59"},
    {"timestamptz", "timestamp", "a", "1999-12-31 23:59:59+00", "1999-12-31 23:59:59"},
    {"timestamp", "timestamp(0)", "a", "1999-12-31 23:59:59.5", "1999-12-31 23:59:59"},
    {"time", "interval", "i", "01:02:03", "01:02:03"},
    {"interval", "time", "a", "1 day 26 hours", "02:00:00"},
    {"text", "date", "e", "2024-02-30", "!22008"},
    {"text", "date", "e", "foo", "!22007"},
    {"unknown", "date", "i", "2024-02-29", "2024-02-29"},
    {"text", "uuid", "e", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"},
    {"bytea", "text", "a", "\\x0102", "\\x0102"},
    {"date", "int4", "e", "2024-01-01", "!42846"},
};

static void test_numbers(void **s) { (void)s, run_cases(numbers, ARRAY_LEN(numbers)); }
static void test_texts(void **s) { (void)s, run_cases(texts, ARRAY_LEN(texts)); }
static void test_dates(void **s) { (void)s, run_cases(dates, ARRAY_LEN(dates)); }
static void test_own(void **s) { (void)s, run_cases(own, ARRAY_LEN(own)); }

static void test_casts(void **s) {
    (void)s;
    int failed = 0;
    for (int64_t i = 0; i < ARRAY_LEN(casts); i++) {
        Arena *a = arena_new(&account, &err);
        Type from = parse_type(slice_of(casts[i].from)), to = parse_type(slice_of(casts[i].to));
        Value v = {.type = from};
        if (from.id == T_UNKNOWN) v.u.str = str_make(casts[i].value, (int64_t)strlen(casts[i].value));
        else assert_int_equal(value_from_text(from, slice_of(casts[i].value), NULL, a, &v, &err), ST_OK);
        err_clear(&err);
        CastCtx how = casts[i].ctx[0] == 'i' ? CAST_IMPLICIT : casts[i].ctx[0] == 'a' ? CAST_ASSIGNMENT : CAST_EXPLICIT;
        Status st = cast(a, &v, to, how);
        Case c = {casts[i].from, casts[i].to, casts[i].want};
        failed += check(a, &c, st, &v);
        arena_free(a);
    }
    assert_int_equal(failed, 0);
}

static void resolve_is(const char *name, bool op, int n, const Type *args, const char *want_ret,
                       const char *want_arg0) {
    const FuncDef *f;
    Type coerced[8], ret;
    char b[TYPE_NAME_MAX];
    err_clear(&err);
    if (func_resolve(slice_of(name), op, n, args, 0, &f, coerced, &ret, &err) != ST_OK)
        fail_msg("%s: %s", name, err.message);
    assert_string_equal(type_name(ret, &b), want_ret);
    if (want_arg0) assert_string_equal(type_name(coerced[0], &b), want_arg0);
}

static void test_types(void **s) {
    (void)s;
    Type i4 = type_make(T_INT4), i8 = type_make(T_INT8), num = type_numeric(15, 2), f4 = type_make(T_FLOAT4),
         d = type_make(T_DATE);
    resolve_is("+", true, 2, (Type[]){num, num}, "numeric(16,2)", "numeric(16,2)");
    resolve_is("-", true, 2, (Type[]){i4, num}, "numeric(16,2)", "numeric(16,2)");
    resolve_is("*", true, 2, (Type[]){num, type_numeric(16, 2)}, "numeric(31,4)", "numeric(15,2)");
    resolve_is("/", true, 2, (Type[]){num, i4}, "numeric(38,16)", "numeric(15,2)");
    resolve_is("=", true, 2, (Type[]){num, i8}, "boolean", "numeric(21,2)");
    resolve_is("+", true, 2, (Type[]){f4, i4}, "double precision", "double precision");
    resolve_is("+", true, 2, (Type[]){f4, f4}, "real", "real");
    resolve_is("sum", false, 1, (Type[]){i4}, "bigint", NULL);
    resolve_is("sum", false, 1, (Type[]){i8}, "numeric(38,0)", NULL);
    resolve_is("sum", false, 1, (Type[]){num}, "numeric(38,2)", NULL);
    resolve_is("avg", false, 1, (Type[]){num}, "numeric(38,16)", NULL);
    resolve_is("avg", false, 1, (Type[]){f4}, "double precision", NULL);
    resolve_is("stddev", false, 1, (Type[]){i4}, "numeric(38,16)", "integer");
    resolve_is("var_pop", false, 1, (Type[]){i8}, "numeric(38,12)", "bigint");
    resolve_is("variance", false, 1, (Type[]){num}, "numeric(38,12)", NULL);
    resolve_is("stddev", false, 1, (Type[]){f4}, "double precision", NULL);
    resolve_is("count", false, 0, NULL, "bigint", NULL);
    resolve_is("min", false, 1, (Type[]){d}, "date", NULL);
    resolve_is("round", false, 1, (Type[]){num}, "numeric(14,0)", NULL);
    resolve_is("+", true, 2, (Type[]){type_make(T_NUMERIC), num}, "numeric", NULL);
    resolve_is("sqrt", false, 1, (Type[]){i4}, "double precision", NULL);
    assert_true(func_is_aggregate(slice_of("string_agg")));
    assert_false(func_is_aggregate(slice_of("lower")));

    Type t;
    assert_true(type_common(i4, num, &t) && t.id == T_NUMERIC && t.precision == 15 && t.scale == 2);
    assert_true(type_common(d, type_make(T_TIMESTAMP), &t) && t.id == T_TIMESTAMP);
    assert_true(type_common((Type){0}, d, &t) && t.id == T_DATE);
    assert_false(type_common(i4, d, &t));
    assert_true(type_common(f4, num, &t) && t.id == T_FLOAT4);
}

static void test_messages(void **s) {
    (void)s;
    Type args[] = {type_make(T_DATE), type_make(T_DATE), type_make(T_INT4), {0}}, out[4], ret;
    const FuncDef *f;
    err_clear(&err);
    assert_int_equal(func_resolve(slice_of("+"), true, 2, args, 9, &f, out, &ret, &err), ST_ERROR);
    assert_string_equal(err.message, "operator does not exist: date + date");
    assert_int_equal(err.position, 9);
    err_clear(&err);
    assert_int_equal(func_resolve(slice_of("foo"), false, 2, args + 2, 0, &f, out, &ret, &err), ST_ERROR);
    assert_string_equal(err.message, "function foo(integer, unknown) does not exist");
    assert_string_equal(
        err.hint, "No function matches the given name and argument types. You might need to add explicit type casts.");
    err_clear(&err);
    assert_int_equal(func_resolve(slice_of("-"), true, 1, args + 3, 0, &f, out, &ret, &err), ST_ERROR);
    assert_string_equal(err.message, "operator is not unique: - unknown");
}

/* Kernels over several rows: constants, NULL rows that would fail, and error_row. */
static void test_vectors(void **s) {
    (void)s;
    Arena *a = arena_new(&account, &err);
    Type i4 = type_make(T_INT4), coerced[2], ret;
    const FuncDef *f;
    err_clear(&err);
    assert_int_equal(func_resolve(slice_of("/"), true, 2, (Type[]){i4, i4}, 0, &f, coerced, &ret, &err), ST_OK);
    int32_t x[] = {100}, y[] = {5, 0, 7, 0}, r[4];
    uint8_t valid[] = {1, 0, 1, 0}, all[] = {1, 0, 1, 1};
    Vec v[] = {{.data = x, .phys = PH_I32, .is_const = true, .type = i4},
               {.data = y, .valid = valid, .phys = PH_I32, .type = i4}};
    Vec out = {.data = r, .valid = valid, .phys = PH_I32, .type = i4};
    FuncCtx ctx = {.arena = a, .state_arena = a, .err = &err, .session = &session, .ret = i4};
    assert_int_equal(f->kernel(&ctx, 4, v, 2, &out), ST_OK);
    assert_int_equal(r[0], 20);
    assert_int_equal(r[2], 14);
    v[1].valid = all;
    out.valid = all;
    assert_int_equal(f->kernel(&ctx, 4, v, 2, &out), ST_ERROR);
    assert_int_equal(ctx.error_row, 3);
    assert_string_equal(err.sqlstate, "22012");
    arena_free(a);
}

/* Every scalar function has a kernel, every name resolves to itself, no duplicates. */
static void test_table(void **s) {
    (void)s;
    int64_t n;
    const FuncDef *t = func_table(&n);
    assert_true(n > 400);
    for (int64_t i = 0; i < n; i++) {
        if (!(t[i].flags & FN_AGGREGATE) && !t[i].kernel) fail_msg("%s has no kernel", t[i].name);
        if ((t[i].flags & FN_AGGREGATE) && !t[i].agg) fail_msg("%s has no kind", t[i].name);
        if (!t[i].doc) fail_msg("%s has no line of documentation", t[i].name);
        if (i > 0 && strcmp(t[i].name, t[i - 1].name) == 0 && t[i].nargs == t[i - 1].nargs &&
            memcmp(t[i].args, t[i - 1].args, sizeof t[i].args) == 0)
            fail_msg("%s is there twice", t[i].name);
    }
}

int main(void) {
    mem_account_init(&account, NULL, "test", 0, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),  cmocka_unit_test(test_texts),   cmocka_unit_test(test_dates),
        cmocka_unit_test(test_own),      cmocka_unit_test(test_casts),   cmocka_unit_test(test_types),
        cmocka_unit_test(test_messages), cmocka_unit_test(test_vectors), cmocka_unit_test(test_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
