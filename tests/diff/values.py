"""Types of columns and their values, for the random statements of grammar.py.

A family is what rules of expressions speak of: all integers are `int`, a range type or an array is a family of its own. Of every type there
are usual values, few, so that joins and groups meet, and edge values, which only some rounds have: with them computations overflow, and which
of several errors comes first is nobody's promise.

Left out on purpose, since the result may be either of two equal values: intervals that are equal and written otherwise ('1 mon', '30 days'),
-0 and NaN among keys, numerics and numbers in jsonb with zeros at the end.
"""
INTS = [str(i) for i in range(-4, 12)]
WORDS = ["", "a", "b", "ab", "abc", "Abc", "foo", "bar", "foobar", "x%y", "x_y", "  sp", "é", "日本", "zz", "0", "10", "a,b", 'q"t', "it's", "back\\slash", "{x}", "null",
         "longer than twelve bytes", "another rather long string value"]
SHORT = [w for w in WORDS if len(w) <= 5]
DATES = ["2020-02-29", "2020-01-01", "1999-12-31", "2020-03-01", "2021-07-15", "2020-01-15", "2019-06-30"]
STAMPS = ["2020-01-01 00:00:00", "2020-01-15 12:30:00", "2020-02-29 23:59:59.5", "1999-12-31 23:59:59.999999", "2021-07-15 06:00:00"]
DOCUMENTS = ['{}', '[]', 'null', 'true', '1', '"a"', '{"a": 1}', '{"a": {"b": [1, 2, 3]}, "c": null}', '[1, "x", null, {"a": 2}]', '{"b": "foo", "a": [true, false]}',
             '{"a": "10", "n": 2.5}', '[[1, 2], [3]]', '"\\u00e9\\n"', '{"": 0}']


def quote(s):
    return "'" + s.replace("'", "''") + "'"


def quoted(*xs):
    return [quote(x) for x in xs]


# type: family, usual values, edge values; all are literals that the type's context reads
TYPES = {
    "smallint": ("int", INTS, ["32767", "-32768"]),
    "integer": ("int", INTS, ["2147483647", "-2147483648"]),
    "bigint": ("int", INTS, ["9223372036854775807", "-9223372036854775808", "4294967296"]),
    "numeric(8,2)": ("num", ["0", "1", "-1", "2.5", "0.01", "-3.75", "10", "123456.78"], ["999999.99", "-999999.99"]),
    "numeric(20,4)": ("num", ["0", "1", "2.5", "-0.0001", "7.1234", "1000000"], ["9999999999999999.9999"]),
    "numeric": ("num", ["0", "1", "2.5", "-1.25", "3", "0.001", "12345678901234567890.5"], ["'NaN'", "'Infinity'", "1e40", "1e-40"]),
    "real": ("flt", ["0", "1", "-0.5", "2.25", "100"], ["'NaN'", "'-Infinity'", "3e38", "1e-40"]),
    "double precision": ("flt", ["0", "1", "-0.5", "2.25", "3.75", "-20"], ["'NaN'", "'Infinity'", "1e308", "5e-324"]),
    "text": ("txt", quoted(*WORDS), quoted("\u00ff" * 3, "tab\there", "line\nbreak", "x" * 300)),
    "varchar(12)": ("txt", quoted(*(w for w in WORDS if len(w) <= 12)), quoted("exactly 12 ch")),
    "char(5)": ("chr", quoted(*SHORT), quoted("abcde", "     ")),
    "boolean": ("bool", ["true", "false"], ["'on'", "'n'"]),
    "date": ("date", quoted(*DATES), quoted("infinity", "-infinity", "4713-01-01 BC", "5874897-12-31")),
    "time": ("time", quoted("00:00:00", "12:30:00", "23:59:59.5", "01:02:03.000004"), quoted("24:00:00", "23:59:60")),
    "timetz": ("timetz", quoted("00:00:00+00", "12:30:00+02", "23:59:59.5-05:30", "08:00:00+00"), quoted("24:00:00+15:59", "00:00:00-15:59")),
    "timestamp": ("ts", quoted(*STAMPS), quoted("infinity", "-infinity", "0044-03-15 BC", "294276-12-31 23:59:59.999999")),
    "timestamptz": ("tstz", [quote(s + z) for s in STAMPS for z in ("+00", "+02")], quoted("infinity", "1900-01-01 00:00:00-05:30")),
    "interval": ("ival", quoted("1 day", "2 days", "03:00:00", "1 mon", "1 year", "-1 day", "5 days 02:30:00", "0", "1 mon -1 day 00:00:01.5"),
                 quoted("178000000 years", "-178000000 years")),
    "uuid": ("uuid", quoted("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "00000000-0000-0000-0000-000000000000", "ffffffff-9c0b-4ef8-bb6d-6bb9bd380a10"),
             quoted("{A0EEBC999C0B4EF8BB6D6BB9BD380A11}")),
    "bytea": ("bytea", quoted("\\x00ff", "\\x", "\\x616263", "\\x61"), quoted("a\\000b\\\\c")),
    "bit(4)": ("bits", [f"B'{i:04b}'" for i in range(0, 16, 3)], ["X'F'"]),
    "varbit": ("bits", ["B''", "B'0'", "B'1'", "B'101'", "B'10000001'", "B'100000010'"], ["X'DEADBEEF'"]),
    "json": ("json", quoted(*DOCUMENTS), quoted(' {"a" :1, "a": 2} ', "[1.0, 1e2]")),
    "jsonb": ("jsonb", quoted(*DOCUMENTS), quoted('{"a": 1, "a": 2}', '"' + "y" * 200 + '"')),
    "int4range": ("int4range", quoted("[1,5)", "[3,8)", "empty", "(,4)", "[2,)", "[1,1]", "[5,9)"), quoted("[-2147483648,2147483647)", "(,)")),
    "numrange": ("numrange", quoted("[1.5,2.5]", "(0,3)", "empty", "[2,)", "(,1.5]"), quoted("(,)")),
    "daterange": ("daterange", quoted("[2020-01-01,2020-02-01)", "[2020-01-15,2020-03-01)", "empty", "[2019-01-01,)"), quoted("(,infinity)")),
    "tsrange": ("tsrange", quoted("[2020-01-01 00:00,2020-01-15 12:30]", "(2019-01-01,2020-01-15)", "empty"), quoted("[,infinity]")),
    "int4multirange": ("int4multirange", quoted("{}", "{[1,3),[5,9)}", "{[2,6)}", "{(,0),[10,)}"), quoted("{(,)}")),
    "datemultirange": ("datemultirange", quoted("{}", "{[2020-01-01,2020-02-01),[2020-03-01,2020-04-01)}", "{[2020-01-15,2020-03-15)}"), quoted("{(,)}")),
    "integer[]": ("integer[]", quoted("{}", "{1,2,3}", "{1,NULL,2}", "{5}", "{{1,2},{3,4}}", "{2,1}"), quoted("[0:1]={7,8}", "{{{1},{2}}}")),
    "text[]": ("text[]", quoted("{}", "{a,b}", '{NULL,"null",""}', '{"a,b","q\\"t"}', "{{a,b},{c,d}}", "{foo}"), quoted("[-1:0]={x,y}")),
    "date[]": ("date[]", quoted("{}", "{2020-01-01,2020-02-29}", "{NULL}"), quoted("{infinity}")),
    "int4range[]": ("int4range[]", quoted("{}", '{"[1,3)",empty}', '{"[2,5)",NULL}'), quoted('{"(,)"}')),
}
# Types that a round makes, each with its statement.
ENUM = ["red", "green", "blue", "a b", "Ä"]
MADE = {
    "e0": ("create type e0 as enum ({labels})", "enum", quoted(*ENUM), []),
    "d0": ("create domain d0 as integer check (value > -100) check (value <> 77)", "int", INTS, ["-101", "77", "2147483647"]),
    "d1": ("create domain d1 as text default 'dom' constraint d1_short check (length(value) < 40)", "txt", quoted(*WORDS), quoted("x" * 41)),
    "d2": ("create domain d2 as integer[] check (coalesce(array_length(value, 1), 0) < 9)", "integer[]", TYPES["integer[]"][1], ["'{1,2,3,4,5,6,7,8,9}'"]),
    "c0": ("create type c0 as (a integer, b text, c date)", "c0", quoted('(1,foo,2020-01-01)', '(,,)', '(2,"a,b",)', '(1,bar,2020-02-29)', '(3,"q""t",1999-12-31)'),
           quoted("(2147483647,,infinity)")),
    "tr": ("create type tr as range (subtype = text)", "tr", quoted("[a,c)", "empty", "(b,)", "[ab,abc]"), quoted("(,)")),
    "e0[]": (None, "e0[]", quoted("{}", "{red,blue}", "{NULL,green}"), []),
    "c0[]": (None, "c0[]", quoted("{}", '{"(1,foo,)","(2,,2020-01-01)"}'), []),
}
WEIGHTS = {"integer": 8, "bigint": 3, "text": 6, "numeric(8,2)": 3, "numeric": 3, "date": 3, "timestamp": 2, "boolean": 2, "jsonb": 2, "double precision": 2, "integer[]": 2,
           "text[]": 2, "e0": 2}
ALL = {**{t: v for t, v in TYPES.items()}, **{t: v[1:] for t, v in MADE.items()}}
PICKED = [t for t in ALL for _ in range(WEIGHTS.get(t, 1))]
# What a family is cast to where a literal stands alone.
CAST = {"int": "integer", "i4": "integer", "num": "numeric(8,2)", "flt": "double precision", "txt": "text", "chr": "char(5)", "bool": "boolean", "time": "time", "ts": "timestamp",
        "tstz": "timestamptz", "ival": "interval", "bits": "varbit", "enum": "e0"}
NO_EQUALITY = {"json"}
NO_ORDER = {"json"}
KEYS = ["integer", "bigint", "text", "date", "numeric(8,2)", "timestamp", "uuid", "e0", "boolean", "integer[]", "char(5)", "bytea", "varbit", "int4range"]


def family(t):
    return ALL[t][0] if t in ALL else t


def domain(t):
    return t in ("d0", "d1", "d2")


# What a type's input function is given: forms that it takes and forms that it refuses.
INPUT = {
    "integer": ["1", " 12 ", "+3", "-0", "1.5", "", "abc", "2147483648", "1e3", "0x10", "1_000", "--1", "9" * 30],
    "smallint": ["32768", "-32769", "7 ", "x1"],
    "bigint": ["9223372036854775808", "-9223372036854775808", "1 2"],
    "numeric": ["1.50", ".5", "5.", "1e5", "1e-5", "NaN", "inf", "-infinity", "1e", "e5", "--5", "1.2.3", " 7 ", "1e200000", "+1.0E+2", "nan x"],
    "numeric(8,2)": ["1.005", "-1.005", "999999.995", "1234567.1", "0.004"],
    "real": ["1e39", "1e-50", "nan", "inf", "-Infinity", "1.5x", "3.4028236e38"],
    "double precision": ["1e309", "1e-400", "NaN", "infinity", "+.5", "1e+", "  2  ", ""],
    "boolean": ["t", "tr", "TRUE", "yes", "y", "on", "of", "off", "0", "1", "2", " f ", "o", "truex", ""],
    "date": ["2020-02-30", "J2451187", "1999 Jan 08", "08-Jan-1999", "January 8, 1999", "19990108", "1999.008", "epoch", "infinity", "4714-11-24 BC", "4714-11-23 BC", "99999-01-01",
             "5874898-01-01", "2020-13-01", "2020-1-1", "1/2/2003", "13/1/2003", "990108", "Mon Jan 08 1999", "", "2020-01-01 10:00", "2020-01-01T10:00Z", "x2020", "20200101x",
             "Feb 29 2019", "0000-01-01", "1999-W01-1", "99-Jan-08"],
    "time": ["04:05:06.789", "04:05", "040506", "04:05 AM", "04:05 PM", "12:00 AM", "13:00 PM", "24:00:00", "24:00:01", "23:59:60", "25:00", "4:5:6", "04:05:06 PST",
             "2003-04-12 04:05:06 America/New_York", "", "1", "12:60"],
    "timetz": ["04:05:06-08", "04:05:06.789-8", "040506+0730", "040506+07:30:00", "04:05:06 PST", "04:05:06 Europe/Berlin", "04:05+16", "x", "12:00 utc"],
    "timestamp": ["1999-01-08 04:05:06", "January 8 04:05:06 1999 PST", "2020-02-29 24:00:00", "2020-02-29 23:59:60", "1999-01-08 04:05:06.1234567", "20200229T101112", "infinity",
                  "294277-01-01", "4714-11-23 BC", "2020-01-01 25:00", "epoch", "2020-01-01 10:00:00 BC", "Wed Jul 17 1996 12:00", "1999-01-08 04:05 PM", "yesterdayx", ""],
    "timestamptz": ["1999-01-08 04:05:06 -8:00", "1999-01-08 04:05:06 Europe/Berlin", "2020-03-29 02:30 Europe/Berlin", "2020-10-25 02:30 Europe/Berlin", "2020-01-01 00:00 EST5EDT",
                    "2020-01-01 12:00+25", "2020-01-01 00:00 Nowhere/City", "1999-01-08T04:05:06Z", "2020-01-01 z"],
    "interval": ["1 day", "1 2:03:04", "1-2", "P1Y2M3DT4H5M6S", "P0001-02-03T04:05:06", "1 mon ago", "@ 1 minute", "1.5 months", "1.5 years 2 hours", "-1 day +2:00", "3 weeks", "1 c",
                 "1 decade 2 ms", "0.5 s", "1:2:3.4567891", "1e3 days", "10 foo", "", "1", "1 day 1 day", "P1Y2", "999999999999 years", "1 y 1 mon 1 d 1 h 1 m 1 s 1 us"],
    "uuid": ["a0eebc999c0b4ef8bb6d6bb9bd380a11", "{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}", "a0eebc99-9c0b-4ef8-bb6d", "A0EE-BC99-9C0B-4EF8-BB6D-6BB9-BD38-0A11", "x", ""],
    "bytea": ["\\x6", "\\xzz", "\\x 61 62", "\\000\\\\", "\\9", "abc", "\\xDEADBEEF", "\\"],
    "varbit": ["101", "b101", "xAF", "12", "", "x1G", "B1"],
    "bit(4)": ["1", "10101", "0000", "xF"],
    "integer[]": ["{1,2}", "{1,{2}}", "{{1,2},{3}}", "{1,,2}", "{}", "{{}}", "[2:3]={1,2}", "[1:3]={1,2}", "{1,2", "1,2}", "{NULL,null}", '{"1"}', "{a}", "{ 1 , 2 }", "{1}x", "[3:1]={}", "[1:1]x{1}"],
    "text[]": ['{a,"b c",NULL,"NULL"}', '{"a', "{a\\,b}", '{a"b"c}', "{,}", "{a b , c}", '{"\\""}', "{{a},{b}}", '{"a"b}'],
    "int4range": ["[1,5]", "(1,5)", "[5,1]", "[1,5", "1,5]", "empty", " empty ", "emptyx", "[,]", "(1,1)", "[a,b]", "[1,2147483647]", "[1,2,3]", '["1","5")', "[ 1 , 5 )"],
    "daterange": ["[2020-01-01,2020-12-31]", "[2021-01-01,2020-01-01]", "(,infinity]", "[today2,)"],
    "numrange": ["[1.0,1.00]", "(1.0,1.00)", "[nan,)", "[1,nan]"],
    "int4multirange": ["{[1,3),[2,5)}", "{[5,9),[1,3)}", "{}", "{[1,2]", "{[1,2],}", "[1,2]", "{empty}", "{[3,1]}", "{[1,2] [3,4]}", " {} ", "{ [1,3) , [7,9] }"],
    "json": ['{"a":1', "{'a':1}", "[1,]", "nul", '{"a" 1}', '"\\u12"', "01", "1.", ".5", "-", "[1 2]", '{"a":1}}', "", '"\t"', '{1:2}', "tru", '"\\ud800"', '{"a":"\\u0000"}'],
    "jsonb": ['{"a":1,"a":2}', '"\\u0000"', "1e400000", "[1,2", '{"b":1,"a":2}', '"\\ud83d\\ude04"', '"\\ud83dx"', "-0", "1.10", "[[[]]]", "{}x"],
    "e0": ["red", "Red", "", "a b", "purple"],
    "d0": ["5", "-100", "77", "x"],
    "c0": ["(1,a,2020-01-01)", "(1,a)", "(1,a,2020-01-01,4)", "1,a,b", "(x,a,)", '(1,"a""b",)', "( 1 , a ,)", "(1,a,2020-02-30)", '(1,"a,)', "(1,a,2020-01-01)x"],
    "char(5)": ["abcdef", "abcde   ", "é日本xy", ""],
    "varchar(12)": ["123456789012 ", "1234567890123"],
}
