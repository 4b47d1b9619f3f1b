"""Random expressions and queries, made from rules: a rule is SQL with places such as <int> or <text[]>, which take an expression of that family.

Gen knows the tables that there are (statements.py makes and changes them). What it writes has one right answer: no LIMIT without a total order, no
aggregate that depends on the order of rows, no computed numeric as text (Stele's have a fixed scale), no upper case of other than ASCII letters.
A scope is a list of (sql, family, type), scopes[0] the innermost.
"""
import random
import re

from values import ALL, CAST, INPUT, KEYS, NO_EQUALITY, NO_ORDER, domain, family, quote
import windows

UNITS = ["hour", "day", "week", "month", "quarter", "year", "decade", "century", "millennium"]
FIELDS = ["year", "month", "day", "dow", "isodow", "doy", "week", "quarter", "decade", "century", "isoyear"]
PATTERNS = ["a%", "%b", "%o%", "_b%", "foo%", "%", "", "ab_", "%a%b%", "x\\%y", "abc", "%oo_a%", "日%", "%\\_%"]
REGEXPS = ["^a", "b$", "o+", "[a-c]{2}", "(fo)(o)", "^$", ".", "(a|b)c?", "\\d", "^[^x]*$", "\\s", "x.y", "[[:digit:]]+", "(?i)ABC", "o{2}b", "a*?b", "\\mfoo"]
FORMATS = ["YYYY-MM-DD", "Day DD Mon YYYY", "HH24:MI:SS.MS", "HH12 am", "IYYY-IW", "DDD", "J", "Q", "FMMonth FMDD", "YY CC", "RM", "TMMon", "SSSS", "D ID"]
NUMBER_FORMATS = ["FM9990.00", "000.0", "99999", "S999", "FM999PR", "9.9EEEE", "RN", "999V99", "MI99.9"]

# Rules, separated by semicolons. A place for another family: <i4> a small integer, <asc> ASCII text, <N> 0 to 3, <any> anything that has an order.
RULES = {
    "int": """(<int> + <i4>);(<int> - <i4>);(<i4> * <i4>);(<int> / nullif(<i4>, 0));(<int> % nullif(<i4>, 0));abs(<i4>);(-<i4>);length(<txt>);char_length(<txt>)
        ;extract(<field> from <date>)::int;extract(<field> from <ts>)::int;(<date> - <date>);(<bool>)::int;round(<num>)::int;strpos(<txt>, <txt>);position(<txt> in <txt>)
        ;(<i4> & <i4>);(<i4> <bar> <i4>);(<i4> # <i4>);(<i4> << <N>);(<i4> >> <N>);(~<i4>);floor(<flt>)::int;(<num>)::bigint;(<int>)::bigint;ascii(<txt>);octet_length(<asc>)
        ;array_length(<integer[]>, 1);cardinality(<text[]>);array_ndims(<integer[]>);array_position(<ints>, <i4>);array_upper(<text[]>, 1);array_lower(<integer[]>, 1)
        ;(<integer[]>)[<N>];(<integer[]>)[1][<N>];case when jsonb_typeof(<jsonb>) = 'number' then 1 else <i4> end;length(<bits>);length(<bytea>);bit_length(<asc>)
        ;width_bucket(<num>, 0, 10, 5);lower(<int4range>);upper(<int4range>);lower(<int4multirange>);num_nulls(<any>, <any>);num_nonnulls(<any>, <any>, <any>);gcd(<i4>, <i4>)
        ;lcm(<i4>, <i4>);div(<num>, nullif(<num>, 0))::int;sign(<num>)::int;date_part('<field>', <ts>)::int;(<c0>).a;regexp_count(<txt>, '<re>');regexp_instr(<txt>, '<re>')
        ;extract(<part> from <ival>)::int;mod(<i4>, nullif(<i4>, 0));bit_count(<bytea>);get_bit(<bits> || B'1', 0);array_length(string_to_array(<txt>, 'b'), 1)
        ;json_array_length('[1, 2]'::json);jsonb_array_length(jsonb_build_array(<any>, <any>));(<i4>)::smallint
        ;coalesce((<jsonb> ->> 'n')::numeric, 0)::int;extract(hour from <time>)::int;extract(epoch from <date>)::int;greatest(<int>, <i4>, <int>)""",
    "i4": "(<i4> % 5);length(<asc>);(<bool>)::int;cardinality(<integer[]>);(<i4> + 1);extract(dow from <date>)::int",
    "num": """(<num> + <num>);(<num> - <num>);(<num> * 2);(<num> * 0.5);(<num> * -1.25);(<num> * <i4>);round(<num>, <N>);trunc(<num>, 1);ceil(<num>);floor(<num>);abs(<num>)
        ;(<i4>)::numeric(12,2);(<num> + <int>);(-<num>);round(<num> / nullif(<i4>, 0), 4);(<num> % nullif(<i4>, 0));sign(<num>);lower(<numrange>);upper(<numrange>)
        ;extract(epoch from <ival>);extract(second from <ts>);mod(<num>, 3);round(<num>);to_number('1' || to_char(<i4>, 'FM999'), 'S9999');(<num>)::numeric(30,6);div(<num>, 3)
        ;(<date> - <date>)::numeric;(<int>)::numeric;(<bool>)::int::numeric""",
    "flt": """(<flt> + <flt>);(<flt> - <flt>);(<flt> * 2);(<flt> * 0.5);(<flt> * <i4>);(<i4>)::float8;abs(<flt>);floor(<flt>);ceil(<flt>);round(<flt>);trunc(<flt>);(<num>)::float8
        ;(-<flt>);sqrt(abs(<flt>));sign(<flt>);date_part('<field>', <date>);(<flt> / nullif(<flt>, 0));cbrt(<i4>);power(abs(<i4>), 2);(<i4>)::real;pi()""",
    "txt": """(<txt> || <txt>);upper(<asc>);lower(<asc>);initcap(<asc>);substr(<txt>, <N>, <N>);substring(<txt> from <N>);substring(<txt> from <N> for <N>);left(<txt>, <i4>)
        ;right(<txt>, <i4>);trim(<txt>);ltrim(<txt>, 'a ');rtrim(<txt>, 'bc');btrim(<txt>, 'xo');trim(both 'a' from <txt>);replace(<txt>, 'a', 'xy');(<int>)::text;lpad(<txt>, 4, '*')
        ;rpad(<txt>, <N>, 'ab');reverse(<txt>);split_part(<txt>, 'b', 1);split_part(<txt>, 'o', -1);(<date>)::text;(<ts>)::text;(<tstz>)::text;(<time>)::text;(<ival>)::text;(<uuid>)::text
        ;concat(<txt>, <int>, <bool>);concat_ws('-', <txt>, <date>);translate(<txt>, 'abc', 'xy');repeat(<txt>, <N>);(<bool>)::text;(<txt>)::varchar(3);(<txt>)::char(3)::text
        ;to_char(<date>, '<fmt>');to_char(<ts>, '<fmt>');to_char(<i4>, '<nfmt>');to_char(<num>, 'FM99990.00');regexp_replace(<txt>, '<re>', '[\\&]');regexp_replace(<txt>, '<re>', 'z', 'g')
        ;md5(<txt>);(<chr>)::text;(<chr> || <txt>);overlay(<txt> placing 'ZZ' from 2 for <N>);format('%s-%I-%L', <txt>, 'a b', <txt>);quote_literal(<txt>);quote_ident(<txt>)
        ;quote_nullable(<txt>);to_hex((<i4>)::integer);chr(65 + abs(<i4> % 20));encode(<bytea>, 'hex');encode(<bytea>, 'base64');encode(<bytea>, 'escape');substring(<txt> from '<re>')
        ;array_to_string(<integer[]>, ',', '*');array_to_string(<text[]>, '|');(<text[]>)[<N>];(<enum>)::text;<jsonb> ->> 'a';<jsonb> #>> '{a,b}';(<jsonb>)::text;(<json>)::text
        ;jsonb_typeof(<jsonb>);json_typeof(<json>);(<int4range>)::text;(<tr>)::text;lower(<tr>);(<bits>)::text;regexp_substr(<txt>, '<re>');(<c0>).b;(<c0>)::text;(<integer[]>)::text
        ;(<text[]>)::text;pg_typeof(<any>)::text;to_char(<ival>, 'DD HH24:MI');jsonb_pretty(<jsonb>);(<int4multirange>)::text;(<bytea>)::text;(row(<int>, <txt>, <date>))::text
        ;array_dims(<integer[]>);(<timetz>)::text;string_to_array(<txt>, 'o')::text;(<integer[]>)[1:2]::text;(regexp_match(<txt>, '<re>'))[1];concat(variadic <text[]>)
        ;substring(<txt> similar '%#"o_#"%' escape '#');to_char(<tstz>, 'TZ OF');to_char(<i4>, 'FM000');lower(quote_ident(<asc>));starts_with(<txt>, 'a')::text""",
    "asc": "md5(<txt>);(<date>)::text;(<int>)::text;to_hex((<i4>)::integer);(<bool>)::text;(<uuid>)::text",
    "bool": "<cond>",
    "date": """(<date> + <i4>);(<date> - <i4>);(<ts>)::date;(<date> + <ival>)::date;date_trunc('<unit>', <ts>)::date;lower(<daterange>);make_date(2020, 1 + abs(<i4> % 12), 3)
        ;to_date(to_char(<date>, 'YYYYMMDD'), 'YYYYMMDD');(<c0>).c;(<date[]>)[1];(<tstz>)::date;upper(<datemultirange>)""",
    "ts": """(<ts> + <ival>);(<ts> - <ival>);date_trunc('<unit>', <ts>);(<date>)::timestamp;(<date> + <time>);(<date> + <ival>);(<tstz> at time zone '<tz>');lower(<tsrange>)
        ;date_bin('15 days', <ts>, timestamp '2001-01-01');make_timestamp(2020, 1 + abs(<i4> % 12), 2, 3, 4, 5.5);(<tstz>)::timestamp;(<date> - <ival>)""",
    "tstz": """(<tstz> + <ival>);(<ts> at time zone '<tz>');date_trunc('<unit>', <tstz>);(<ts>)::timestamptz;(<date>)::timestamptz;to_timestamp(<i4> * 1000)
        ;date_trunc('day', <tstz>, '<tz>');timezone('<tz>', <ts>);to_timestamp(to_char(<ts>, 'YYYY-MM-DD HH24'), 'YYYY-MM-DD HH24')""",
    "time": "(<ts>)::time;(<time> + <ival>);(<time> - <ival>);make_time(abs(<i4> % 24), 5, 6.5);(<timetz>)::time;(<ival>)::time",
    "timetz": "(<tstz>)::timetz;(<timetz> at time zone interval '02:00');(<timetz> + <ival>);(<time>)::timetz",
    "ival": """(<ts> - <ts>);(<time> - <time>);(<ival> * 2);(-<ival>);justify_days(<ival>);justify_hours(<ival>);justify_interval(<ival>);age(<ts>, <ts>);make_interval(days => <i4>)
        ;(<ival> + <ival>);(<ival> - <ival>);(<ival> / 2);(<ival> * 1.5);date_trunc('hour', <ival>);(<time>)::interval;(<tstz> - <tstz>);make_interval(months => <i4>, secs => 1.5)""",
    "bytea": """(<bytea> || <bytea>);substring(<bytea> from <N> for 2);decode(to_hex(<N> + 16), 'hex');convert_to(<txt>, 'UTF8');set_byte(<bytea> || '\\x00', 0, 7);overlay(<bytea> placing '\\x00' from 1)
        ;decode(encode(<bytea>, 'base64'), 'base64')""",
    "bits": """(<bits> || <bits>);(~<bits>);(<bits> << <N>);(<bits> >> <N>);substring(<bits> from <N> for 4);((<bits>)::bit(5) & (<bits>)::bit(5));((<bits>)::bit(5) # (<bits>)::bit(5))
        ;(<i4>)::int::bit(9);set_bit(<bits> || B'0', 0, 1);overlay(<bits> placing B'11' from 1)""",
    "json": "row_to_json(row(<int>, <txt>));to_json(<any>);json_build_object('k', <any>, 'v', <any>);json_build_array(<any>, <txt>);array_to_json(<integer[]>);<json> -> 'a';<json> -> 1"
            ";<json> #> '{a,b}';json_strip_nulls(<json>);json_object(array['k', <txt>])",
    "jsonb": """jsonb_build_object('k', <any>, 'v', <any>);jsonb_build_array(<any>, <jsonb>);(<jsonb> || <jsonb>);<jsonb> -> 'a';<jsonb> -> <N>;<jsonb> -> -1;<jsonb> #> '{a,b}'
        ;jsonb_build_object('a', <any>) - 'a';jsonb_build_object('a', <jsonb>) #- '{a}';jsonb_set('{"a": [1, 2]}', '{a,<N>}', <jsonb>);jsonb_set(jsonb_build_object('z', <any>), '{b}', <jsonb>, true)
        ;to_jsonb(<any>);jsonb_strip_nulls(<jsonb>);(<json>)::jsonb;jsonb_insert('[1, 2]', '{1}', <jsonb>);to_jsonb(<c0>);to_jsonb(<integer[]>);(<jsonb>)['a'];jsonb_object(array[<txt>, 'v'])
        ;jsonb_set_lax('{"a": 1}', '{a}', <jsonb>, true, 'use_json_null');(<json>)::jsonb""",
    "int4range": """int4range(<Xi4>, <Xi4> + 3, '[]');int4range(<i4>, null);(<int4range> * <int4range>);range_merge(<int4range>, <int4range>)
        ;range_merge(<int4multirange>);(<int4range>);int4range(<N>, <N> + 9, '()')""",
    "daterange": "daterange(<Xdate>, <Xdate> + 9);(<daterange> * <daterange>);range_merge(<daterange>, <daterange>)",
    "numrange": "(<numrange> * <numrange>);range_merge(<numrange>, <numrange>)",
    "tsrange": "(<tsrange> * <tsrange>);tsrange(<Xts>, <Xts> + '1 day', '(]')",
    "int4multirange": "int4multirange(<int4range>);(<int4multirange> + <int4multirange>);(<int4multirange> - <int4multirange>);(<int4multirange> * <int4multirange>)"
                      ";int4multirange(<int4range>, <int4range>);multirange(<int4range>)",
    "datemultirange": "(<datemultirange> + <datemultirange>);(<datemultirange> * <datemultirange>);datemultirange(<daterange>)",
    "tr": "(<tr> * <tr>);tr(<Xtxt>, <Xtxt> <bar><bar> 'a');range_merge(<tr>, <tr>)",
    "integer[]": """array[<i4>, <i4>];array[<i4>]::integer[];(<integer[]>)[1:2];array_append(<ints>, <i4>);array_remove(<ints>, <i4>);array_replace(<integer[]>, <i4>, <i4>)
        ;array(select generate_series(1, <N>));array_positions(<ints>, <i4>);string_to_array('1,2,' || <N>, ',')::integer[];array_fill(<i4>, array[2]);trim_array(array[1, 2, 3, <i4>], <N>)
        ;array[[<i4>, <i4>], [<i4>, <i4>]];(array[<i4>] || <i4>);(<i4> || array[<i4>, <i4>]);array[<i4>] || array[<i4>];(<integer[]>)[<N>:];array_cat(array[<i4>], array[<i4>])""",
    "text[]": """array[<txt>, <txt>];string_to_array(<txt>, 'o');regexp_split_to_array(<txt>, '<re>');regexp_match(<txt>, '<re>');(<text[]>)[1:2];(array[<txt>] || <txt>)
        ;array_remove(<texts>, 'a');enum_range(null::e0)::text[];string_to_array(<txt>, ',', 'null');array[<txt>, null];array_prepend(<txt>, array[<txt>]);string_to_array(<txt>, null)""",
    "ints": "array[<i4>, <i4>];array(select generate_series(1, <N>));string_to_array('1,2,' || <N>, ',')::integer[];array[<i4>, null]",
    "texts": "array[<txt>, null];string_to_array(<txt>, 'o');regexp_split_to_array(<txt>, '<re>')",
    "date[]": "array[<date>, <date>];(<date[]>)[1:1];array_remove(array[<date>], <date>)",
    "enum": "enum_first(null::e0);enum_last(<enum>);(enum_range(null::e0))[<N>];('red'::text)::e0",
    "c0": "row(<i4>, <txt>, <date>)::c0;(<i4>, <txt>, <date>)::c0;(<c0[]>)[1]",
    "e0[]": "enum_range(<enum>, null);array[<enum>, <enum>]",
    "c0[]": "array[<c0>, <c0>]",
    "int4range[]": "array[<int4range>, <int4range>]",
}
GENERIC = """coalesce(<T>, <T>);case when <bool> then <T> else <T> end;case <i4> when 1 then <T> when <N> then <T> end;case when <bool> then <T> end;nullif(<T>, <T>);greatest(<T>, <T>)
    ;least(<T>, <T>);coalesce(<T>, <T>, <T>);(array[<T>, <T>])[<N>];(array[<T>, null])[1]"""
CONDITIONS = """<T> <cmp> <T>;<T> <cmp> <T>;<T> <cmp> <T>;<T> = <T>;<T> is null;<T> is not null;<T> between <T> and <T>;<T> not between symmetric <T> and <T>;<T> in (<T>, <T>)
    ;<T> not in (<T>, <T>, null);<T> is distinct from <T>;<T> is not distinct from <T>;(<T>, <i4>) <cmp> (<T>, <i4>);(<T>, <any>) = (<T>, null);<T> = any (array[<T>, <T>])
    ;<T> <cmp> all (array[<T>, null]);row(<T>, <txt>) is null;row(<T>, <any>) is not null;(<T>, <i4>) in ((<T>, 1), (<T>, <i4>));<T> = some (array[<T>])"""
MORE_CONDITIONS = """(<cond> and <cond>);(<cond> or <cond>);not (<cond>);(<cond>) is true;(<cond>) is not false;(<cond>) is unknown;(<cond>) = (<cond>)
    ;<txt> like '<pat>';<txt> not like '<pat>';<txt> like '<pat>' escape '!';<asc> ilike '%A%';<txt> ~ '<re>';<txt> !~ '<re>';<asc> ~* 'A|F';<txt> similar to '%(a|o)+_'
    ;starts_with(<txt>, 'f');<txt> ^@ 'a';<int> <cmp> <num>;<int> <cmp> <flt>;<date> <cmp> <ts>;<ts> <cmp> <tstz>;<integer[]> @> array[<i4>];<integer[]> && <integer[]>
    ;<integer[]> <@ array[1, 2, 3];<text[]> @> array['a'];<txt> = any (<text[]>);<i4> <> all (<integer[]>);<txt> like any (array['a%', '%o%']);<int4range> @> <i4>;<i4> <@ <int4range>
    ;<int4range> && <int4range>;<int4range> << <int4range>;<int4range> -<bar>- <int4range>;<int4range> &< <int4range>;isempty(<int4range>);lower_inc(<int4range>);upper_inf(<daterange>)
    ;<daterange> @> <date>;<daterange> && <daterange>;<int4multirange> @> <i4>;<int4multirange> && <int4range>;<numrange> @> <num>;<tsrange> @> <ts>;<tr> @> <txt>;<jsonb> @> <jsonb>
    ;<jsonb> <@ <jsonb>;<jsonb> ? 'a';<jsonb> ?<bar> array['a', 'c'];<jsonb> ?& array['a', 'b'];<jsonb> -> 'a' = '1';(<date>, <date>) overlaps (<date>, <date>);isfinite(<date>);isfinite(<ival>)
    ;(<c0>).a > <i4>;<c0> = <c0>;(<c0>) is null;<c0> is distinct from <c0>;<chr> = <chr>;<chr> <cmp> <txt>;<datemultirange> @> <date>;<c0> <cmp> <c0>;(<i4> % 2) = 0;<bool>;regexp_like(<txt>, '<re>')
    ;(<int>, <txt>) is distinct from (<int>, <txt>);<int4multirange> -<bar>- <int4range>;array_position(<texts>, <txt>) is null;<uuid> <cmp> <uuid>"""


def rules(text):
    return [x.strip() for x in text.replace("\n", " ").split(";") if x.strip()]


RULES = {f: rules(t) for f, t in RULES.items()}
GENERIC, CONDITIONS, MORE_CONDITIONS = rules(GENERIC), rules(CONDITIONS), rules(MORE_CONDITIONS)
HOLE = re.compile(r"<([a-zA-Z][a-zA-Z0-9]*(?:\[\])?)>")
COMPARABLE = ["int", "int", "num", "txt", "txt", "date", "ts", "bool", "flt", "time", "tstz", "uuid", "bytea", "enum", "int4range", "integer[]", "text[]", "jsonb", "varbits", "timetz", "ival"]
COMPARABLE.remove("varbits")
# What has one text, whatever computed it.
PLAIN = ["int", "txt", "date", "ts", "bool", "time", "enum", "uuid", "integer[]", "text[]", "int4range"]
OUTPUT = [f for f in RULES if f not in ("i4", "asc", "ints", "texts")]
TYPE_OF = {"int": "integer", "num": "numeric(10,2)", **CAST}


class Table:
    """cols: [(name, type)]; key: a column without duplicates and NULLs, or None; what: table, view or matview; fixed: columns that are not written."""

    def __init__(self, name, cols, key=None, what="table"):
        self.name, self.cols, self.key, self.what = name, cols, key, what
        self.fixed = {}  # column: "identity", "generated"
        self.unique = []  # lists of columns, of constraints or indexes that ON CONFLICT can name
        self.next = 1
        self.temporary = False
        self.not_null = set()
        self.checked = set()  # columns in conditions
        self.deferrable = False  # a key that is no arbiter of ON CONFLICT
        self.base = None  # of a view: the table


class Gen:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.alias = 0
        self.tables = []
        self.edgy = self.chance(0.25)
        self.level = 0  # of nested queries

    def chance(self, p):
        return self.r.random() < p

    def pick(self, xs):
        return self.r.choice(xs)

    def new_alias(self, p="t"):
        self.alias += 1
        return f"{p}{self.alias}"

    # -- values and expressions
    def value(self, t):
        _, usual, edge = ALL[t]
        return self.pick(edge) if edge and self.edgy and self.chance(0.06) else self.pick(usual)

    def literal(self, f):
        if f == "asc":
            return self.pick(["'abc'", "'Foo Bar'", "'x1'", "''"]) + "::text"
        if f in ("ints", "texts"):
            return self.pick({"ints": ["'{1,2}'::integer[]", "'{}'::integer[]", "'{3,NULL}'::integer[]"], "texts": ["'{a,b}'::text[]", "'{}'::text[]", "'{foo,NULL}'::text[]"]}[f])
        t = CAST.get(f, f)
        v = self.value(t)
        if f in ("int", "i4", "num", "bool"):
            return f"({v})" if v.startswith(("-", "'")) else v
        return v if f == "txt" and self.chance(0.5) else f"({v})::{t}" if v.startswith("-") else f"{v}::{t}"

    def column(self, f, scopes):
        g = "int" if f == "i4" else f
        got = [c for c in scopes[0] if c[1] == g and (f != "i4" or c[2] in ("integer", "smallint"))]
        if (not got or self.chance(0.15)) and len(scopes) > 1:
            got = [c for s in scopes[1:] for c in s if c[1] == g and (f != "i4" or c[2] in ("integer", "smallint"))] or got
        if not got:
            return None
        c = self.pick(got)
        return f"({c[0]})::{ {'d0': 'integer', 'd1': 'text', 'd2': 'integer[]'}[c[2]] }" if domain(c[2]) else c[0]

    def fill(self, rule, scopes, d, f=None):
        same = {}

        def place(m):
            h = m.group(1)
            if h.startswith("X"):  # <Xdate>: the same expression everywhere in the rule
                if h not in same:
                    same[h] = self.expr(f if h == "XT" else h[1:], scopes, d)
                return same[h]
            if h == "T":
                return self.expr(f, scopes, d)
            if h == "any":
                return self.expr(self.pick(PLAIN), scopes, d)
            if h == "cond":
                return self.cond(scopes, d)
            words = {"N": "0 1 1 2 3".split(), "cmp": "= <> < <= > >=".split(), "field": FIELDS, "part": ["year", "month", "day", "hour", "decade", "second"], "unit": UNITS, "pat": PATTERNS, "re": REGEXPS, "fmt": FORMATS, "nfmt": NUMBER_FORMATS,
                     "tz": ["UTC", "Europe/Berlin", "America/New_York", "+03"], "bar": ["|"]}
            if h in words:
                return self.pick(words[h])
            return self.expr(h, scopes, d)
        return HOLE.sub(place, rule)

    def expr(self, f, scopes, d=2):
        if d <= 0 or self.chance(0.3):
            c = self.column(f, scopes) if scopes else None
            return c if c and self.chance(0.85) else self.literal(f)
        k = self.r.random()
        if k < 0.07 and self.tables and self.level < 2 and f in TYPE_OF and f not in ("i4", "asc"):
            return self.scalar(f, scopes)
        if k < 0.30 and f not in NO_EQUALITY and f not in ("asc", "ints", "texts"):
            rule = self.pick(GENERIC[:-2] if "[]" in f else GENERIC)
            return self.fill(rule, scopes, d - 1, f)
        return self.fill(self.pick(RULES[f]), scopes, d - 1) if f in RULES else self.literal(f)

    def any_family(self, scopes):
        got = [c[1] for c in scopes[0] if c[1] in RULES and c[1] not in NO_ORDER] if scopes else []
        return self.pick(got) if got and self.chance(0.7) else self.pick(COMPARABLE)

    def cond(self, scopes, d=2):
        k = self.r.random()
        if k < 0.12 and d >= 1 and self.tables and self.level < 2:
            return self.sub_cond(scopes)
        if k < 0.5:
            f = self.any_family(scopes)
            return self.fill(self.pick(CONDITIONS), scopes, d - 1, f)
        return self.fill(self.pick(MORE_CONDITIONS if d > 0 else MORE_CONDITIONS[7:]), scopes, d - 1)

    def correlation(self, inner, scopes, ops="= = = < <>"):
        pairs = [(a, b) for a in inner for b in scopes[0] if a[1] == b[1] and a[1] in ("int", "txt", "date", "num", "enum")] if scopes else []
        if not pairs:
            return None
        a, b = self.pick(pairs)
        return f"{a[0]} {self.pick(ops.split())} {b[0]}"

    def sub_cond(self, scopes):
        self.level += 1
        try:
            k = self.r.random()
            if k < 0.4:
                return f"{self.pick(['', 'not '])}exists ({self.select(scopes, ['int'])})"
            f = self.pick(["int", "int", "txt", "num", "date", "enum"])
            x = self.expr(f, scopes, 1)
            few = f" order by 1{self.pick(['', ' desc'])}{self.pick([' limit 1', ' limit 2', ' offset 1'])}" if self.chance(0.12) else ""
            if k < 0.7:
                return f"{x} {self.pick(['', 'not '])}in ({self.select(scopes, [f])}{few})"
            if k < 0.78:
                return f"({x}, {self.expr('i4', scopes, 0)}) {self.pick(['', 'not '])}in ({self.select(scopes, [f, 'i4'])})"
            return f"{x} {self.pick(['=', '<>', '<', '<=', '>', '>='])} {self.pick(['any', 'all'])} ({self.select(scopes, [f])})"
        finally:
            self.level -= 1

    def scalar(self, f, scopes):
        self.level += 1
        try:
            src, inner = self.source(scopes, 0)
            sc = [inner] + scopes
            agg = {"int": ["count(*)", "sum((<i4>)::integer)", "min(<int>)", "max(<int>)"], "num": ["sum(<num>)", "min(<num>)", "max(<num>)"],
                   "bool": ["bool_and(<cond>)", "every(<cond>)", "count(*) > 1"]}.get(f, ["min(<T>)", "max(<T>)"] if f in ("txt", "date", "ts", "time", "tstz", "enum", "flt") else [])
            w = f" where {self.cond(sc, 1)}" if self.chance(0.6) else ""
            c = self.correlation(inner, scopes) if self.chance(0.5) else None
            w = (w + " and " if w else " where ") + c if c else w
            if agg and self.chance(0.8):
                return f"(select {self.fill(self.pick(agg), sc, 1, f)} from {src}{w})"
            return f"(select {self.expr(f, sc, 1)} from {src}{w} order by 1{self.pick(['', ' desc', ' nulls first'])} limit 1{self.pick(['', ' offset 1'])})"
        finally:
            self.level -= 1

    # -- FROM
    def table_scope(self, t, a):
        return [(f"{a}.{c}", family(ty), ty) for c, ty in t.cols]

    def source(self, scopes, depth, lateral=False):
        """One FROM item: (sql, scope). lateral: scopes may be used in it."""
        k = self.r.random()
        outer = scopes if lateral else []
        if depth > 0 and k < 0.14:
            self.level += 1
            fams = [self.pick(COMPARABLE) for _ in range(self.r.randint(1, 3))]
            sql = self.select(outer, fams)
            self.level -= 1
            a = self.new_alias("d")
            return f"{'lateral ' if outer else ''}({sql}) {a}({', '.join(f'x{i}' for i in range(len(fams)))})", [(f"{a}.x{i}", f, TYPE_OF.get(f, f)) for i, f in enumerate(fams)]
        if depth > 0 and k < 0.24:
            return self.function(outer)
        if depth > 0 and k < 0.28:
            a = self.new_alias("v")
            fams = [self.pick(COMPARABLE) for _ in range(2)]
            rows = ", ".join("(" + ", ".join(f"({self.expr(f, outer, 1)})::{TYPE_OF.get(f, f)}" for f in fams) + ")" for _ in range(self.r.randint(1, 3)))
            return f"{'lateral ' if outer else ''}(values {rows}) {a}(x0, x1)", [(f"{a}.x{i}", f, TYPE_OF.get(f, f)) for i, f in enumerate(fams)]
        if not self.tables:
            return self.function(outer)
        t = self.pick(self.tables)
        a = self.new_alias()
        return f"{t.name} {a}", self.table_scope(t, a)

    def function(self, scopes):
        """A set-returning function in FROM."""
        a = self.new_alias("f")
        e = lambda rule: self.fill(rule, scopes, 1)  # noqa: E731
        forms = [("generate_series(1, <N> + 2)", ["int"]), ("generate_series(<N>, 7, 2)", ["int"]), ("generate_series(timestamp '2020-01-01', '2020-01-05', '1 day')", ["ts"]),
                 ("generate_series(date '2020-01-01', '2020-01-03', '36 hours')", ["tstz"]), ("generate_series(1.5, 4, 0.5)", ["num"]), ("unnest(<integer[]>)", ["int"]),
                 ("unnest(<text[]>)", ["txt"]), ("jsonb_array_elements(jsonb_build_array(<any>, <any>))", ["jsonb"]), ("string_to_table(<txt>, 'o')", ["txt"]),
                 ("regexp_split_to_table(<txt>, '<re>')", ["txt"]), ("regexp_matches(<txt>, '<re>', 'g')", ["text[]"]), ("unnest(<int4multirange>)", ["int4range"]),
                 ("jsonb_each(jsonb_build_object('a', <any>, 'b', <any>))", ["txt", "jsonb"]), ("json_each_text(json_build_object('k', <txt>))", ["txt", "txt"]),
                 ("unnest(<integer[]>, <text[]>)", ["int", "txt"]), ("rows from (generate_series(1, <N>), unnest(<text[]>))", ["int", "txt"]),
                 ("jsonb_object_keys(jsonb_build_object('a', <any>, 'b', <any>))", ["txt"]), ("generate_subscripts(<integer[]>, 1)", ["int"]),
                 ("json_array_elements_text(json_build_array(<txt>, <txt>))", ["txt"]), ("unnest(array[<c0>, <c0>])", ["int", "txt", "date"]),
                 ("jsonb_to_recordset('[{\"a\": 1, \"b\": \"x\"}, {\"a\": 2}]')", None)]
        sql, fams = self.pick(forms)
        if fams is None:
            return f"{sql} {a}(a integer, b text)", [(f"{a}.a", "int", "integer"), (f"{a}.b", "txt", "text")]
        ordinal = self.chance(0.2)
        names = [f"x{i}" for i in range(len(fams))]
        scope = [(f"{a}.{n}", f, TYPE_OF.get(f, f)) for n, f in zip(names, fams)]
        if ordinal:
            scope.append((f"{a}.o", "int", "bigint"))
        return f"{e(sql)}{' with ordinality' if ordinal else ''} {a}({', '.join(names + ['o'] * ordinal)})", scope

    def join(self, scopes, depth=1):
        sql, scope = self.source(scopes, depth)
        for _ in range(self.pick([0, 0, 0, 1, 1, 2]) if depth else self.pick([0, 0, 1])):
            if self.chance(0.1) and re.fullmatch(r"\w+ t\d+", sql):
                left = {c[0].split(".")[1] for c in scope}
                t = self.pick(self.tables)
                a = self.new_alias()
                shared = [c for c, ty in t.cols if c in left and any(s[0].endswith("." + c) and s[2] == ty for s in scope)]
                if "k" in shared:
                    using = "using (k)" + (self.chance(0.2) and " as u" or "")
                    sql = f"{sql} {self.pick(['join', 'left join', 'right join', 'full join'])} {t.name} {a} {using}"
                    scope = [("k", "int", "integer")] + scope + self.table_scope(t, a)
                    continue
            lateral = self.chance(0.25)
            s2, sc2 = self.source([scope] + scopes, depth, lateral)
            kind = self.pick(["join", "join", "join", "left join", "left join", "right join", "full join", "cross join"])
            if lateral and kind in ("right join", "full join"):
                kind = "left join"
            if kind == "cross join":
                sql = f"{sql} {self.pick(['cross join', ','])} {s2}"
                scope = scope + sc2
                if ", " in sql:
                    return sql, scope
                continue
            on = [x for x in (self.correlation(scope, [sc2], "=") for _ in range(self.pick([1, 1, 2]))) if x] if kind == "full join" or self.chance(0.9) else []
            if kind != "full join" and (not on or self.chance(0.3)):
                on.append(self.cond([scope + sc2] + scopes, 1))
            if not on:
                kind, on = "left join", ["true"]
            sql = f"{sql} {kind} {s2} on {' and '.join(f'({x})' if ' or ' in x else x for x in on)}"
            scope = scope + sc2
        return sql, scope

    # -- aggregates: (sql, family); `out` is no family: shown, and not used by anything
    AGGREGATES = [("count(*)", "int"), ("count(<any>)", "int"), ("count(distinct <any>)", "int"), ("sum(<i4>)", "int"), ("sum(<num>)", "num"), ("sum(distinct <i4>)", "int"),
                  ("sum(<flt>)", "out"), ("avg(<i4>)", "out"), ("avg(<num>)", "out"), ("avg(<flt>)", "out"), ("bool_and(<cond>)", "bool"), ("bool_or(<cond>)", "bool"),
                  ("every(<cond>)", "bool"), ("var_pop(<i4>)", "out"), ("stddev_samp(<num>)", "out"), ("stddev(<flt>)", "out"), ("variance(distinct <i4>)", "out"),
                  ("corr(<i4>, <i4>)", "out"), ("covar_pop(<i4>, <i4>)", "out"), ("regr_slope(<i4>, <i4>)", "out"), ("regr_count(<i4>, <flt>)", "int"), ("bit_and(<i4>)", "int"),
                  ("bit_or(<i4>)", "int"), ("bit_xor(<i4>)", "int"), ("bit_or((<bits>)::bit(5))", "out"), ("min(<T>)", "T"), ("max(<T>)", "T"), ("min(<T>)", "T"), ("max(<T>)", "T"),
                  ("string_agg(distinct <txt>, '-')", "txt"), ("string_agg(<X>, ',' order by <X>)", "X:txt"), ("array_agg(<X> order by <X> desc nulls last)", "X:int"),
                  ("array_agg(distinct <X>::text order by <X>::text)", "X:txt"), ("json_agg(<X> order by <X>)", "X:int"), ("jsonb_agg(<X> order by <X> nulls first)", "X:date"),
                  ("range_agg(<int4range>)", "int4multirange"), ("range_intersect_agg(<int4range>)", "int4range"),
                  ("percentile_disc(0.5) within group (order by <T>)", "T"), ("percentile_cont(0.25) within group (order by <flt>)", "out"),
                  ("percentile_cont(array[0, 0.5, 1]) within group (order by <i4>)", "out"), ("mode() within group (order by <T> desc)", "T"),
                  ("rank(<i4>) within group (order by <i4>)", "int"), ("percent_rank(<txt>) within group (order by <txt>)", "out"), ("dense_rank(1, 'a') within group (order by <i4>, <txt>)", "int"),
                  ("cume_dist(<i4>) within group (order by <i4>)", "out"), ("jsonb_object_agg(<X>, <X> order by <X>)", "X:txt!"), ("count(<c0>)", "int"), ("count(distinct (<i4>, <txt>::text))", "int"),
                  ("percentile_disc(array[0.1, 0.9]) within group (order by <i4>)", "out"), ("array_agg(<X> order by <X>)", "X:enum")]

    def aggregate(self, scopes):
        rule, f = self.pick(self.AGGREGATES)
        if f == "T":
            f = self.pick(["int", "num", "txt", "date", "ts", "time", "tstz", "enum"])
            sql = self.fill(rule, scopes, 1, f)
        elif f.startswith("X:"):
            self.level += 9  # no subqueries: those of DISTINCT and ORDER BY are not known to be the same
            x = self.expr(f[2:].rstrip("!"), scopes, 1)
            self.level -= 9
            if f.endswith("!"):
                x = f"coalesce({x}, '')"
            sql, f = rule.replace("<X>", x), "txt" if rule.startswith("string") else "out"
        else:
            sql = self.fill(rule, scopes, 1)
        if self.chance(0.15) and "within" not in sql:
            sql += f" filter (where {self.cond(scopes, 1)})"
        return sql, f

    # -- SELECT
    def where(self, scopes, scope, outer, d=1):
        cs = [self.cond(scopes, d) for _ in range(self.pick([0, 1, 1, 2]))]
        if outer and self.chance(0.6):
            c = self.correlation(scope, outer)
            cs += [c] if c else []
        return " where " + " and ".join(f"({c})" for c in cs) if cs else ""

    def select(self, outer, fams):
        """A query with columns of these families, perhaps correlated."""
        frm, scope = self.join(outer, 1 if self.level < 2 else 0)
        scopes = [scope] + outer
        w = self.where(scopes, scope, outer)
        if self.chance(0.1) and all(f in ("int", "num", "txt", "date", "ts", "bool", "time") for f in fams):
            items = [self.fill("bool_or(<T>)" if f == "bool" else self.pick(["min(<T>)", "max(<T>)"]), scopes, 1, f) for f in fams]
            g = self.column(self.any_family([scope]), [scope])
            return f"select {', '.join(items)} from {frm}{w}" + (f" group by {g}" if g else "")
        distinct = "distinct " if self.chance(0.1) and not NO_EQUALITY & set(fams) else ""
        return f"select {distinct}{', '.join(self.expr(f, scopes, 1) for f in fams)} from {frm}{w}"

    def plain(self):
        frm, scope = self.join([])
        w = self.where([scope], scope, [], 2)
        if self.chance(0.06):
            return f"select * from {frm}{w}", 0
        fams = [self.pick(OUTPUT) if self.chance(0.3) else self.any_family([scope]) for _ in range(self.r.randint(1, 5))]
        distinct = "distinct " if self.chance(0.12) and not NO_EQUALITY & set(fams) else ""
        items = [self.pick([f"{e}", f"{e} as c{i}"]) for i, e in enumerate(self.expr(f, [scope], 2) for f in fams)]
        return f"select {distinct}{', '.join(items)} from {frm}{w}", 0 if NO_ORDER & set(fams) else len(fams)

    def grouped(self):
        frm, scope = self.join([])
        w = self.where([scope], scope, [])
        groups, items = [], []
        for _ in range(self.pick([0, 1, 1, 2, 3])):
            f = self.any_family([scope])
            g = self.column(f, [scope]) if self.chance(0.7) else self.expr(f, [scope], 1)
            if g and re.search(r"\b[tdfv]\d+\.", g) and "select" not in g and g not in groups and "::d" not in g:
                groups.append(g)
        kinds = list(groups)
        if groups and self.chance(0.3):
            if len(groups) > 1:
                sets = self.pick([f"rollup ({', '.join(groups)})", f"cube ({', '.join(groups)})", f"grouping sets (({', '.join(groups)}), ({groups[0]}), ())",
                                  f"{groups[0]}, rollup ({', '.join(groups[1:])})", f"grouping sets (({groups[0]}), rollup ({', '.join(groups[1:])}))"])
            else:
                sets = self.pick([f"rollup ({groups[0]})", f"grouping sets (({groups[0]}), ())", f"cube ({groups[0]})"])
            items.append(f"grouping({', '.join(groups)})")
            kinds = [sets]
        aggs = [self.aggregate([scope]) for _ in range(self.r.randint(1, 4))]
        items = groups + items + [a for a, _ in aggs]
        having = ""
        if self.chance(0.3):
            a, f = self.aggregate([scope])
            having = " having " + (f"{a} is not null" if f in ("out", "flt") or f not in CAST else f"{a} {self.pick(['>', '<', '<>'])} {self.literal(f)}")
        ordered = all(f != "out" for _, f in aggs)
        return f"select {', '.join(items)} from {frm}{w}" + (f" group by {', '.join(kinds)}" if kinds else "") + having, len(items) if ordered else 0

    def set_operation(self):
        fams = [self.pick(["int", "txt", "date", "num", "bool", "enum", "integer[]", "int4range"]) for _ in range(self.r.randint(1, 3))]
        ops = ["union", "union all", "intersect", "except", "intersect all", "except all"]
        sql = self.select([], fams)
        for _ in range(self.pick([1, 1, 2])):
            other = self.select([], fams)
            sql = f"({sql} {self.pick(ops)} {other})" if self.chance(0.3) else f"{sql} {self.pick(ops)} {other}"
        return sql, len(fams)

    def with_query(self):
        fams = [self.pick(["int", "txt", "date", "num", "bool", "ts", "integer[]"]) for _ in range(self.r.randint(1, 3))]
        w = self.new_alias("w")
        names = [f"x{i}" for i in range(len(fams))]
        head = f"with {w}({', '.join(names)}) as {self.pick(['', '', 'materialized ', 'not materialized '])}({self.select([], fams)}) "
        save = self.tables
        self.tables = save + [Table(w, [(n, TYPE_OF.get(f, f)) for n, f in zip(names, fams)])] * 3
        body, width = self.pick([self.plain, self.plain, self.grouped])()
        self.tables = save
        return head + body, width

    def recursive(self):
        w = self.new_alias("w")
        k = self.r.random()
        depth = self.r.randint(2, 6)
        if k < 0.35 or not self.keyed():
            start, step = self.pick([("1", f"{w}.n + 1"), ("0", f"{w}.n + 2"), ("10", f"{w}.n - 3")])
            sql = (f"with recursive {w}(n, x) as (select {start}, {self.expr('txt', [], 1)}::text {self.pick(['union', 'union all'])} "
                   f"select {step}, left({w}.x || 'a', 6) from {w} where {w}.n between 0 and {depth * 2}) ")
            return head_tail(self, sql, w, [("n", "integer"), ("x", "text")])
        t = self.pick(self.keyed())
        links = [c for c, ty in t.cols if ty == "integer" and c != t.key] or [t.key]
        c = self.pick(links)
        extra = self.pick(["", f" search depth first by {t.key} set ord", f" search breadth first by {t.key} set ord", f" cycle {t.key} set looped using trail",
                           f" cycle {t.key} set looped to 'y' default 'n' using trail", f" search breadth first by {t.key} set ord cycle {t.key} set looped using trail"])
        op = "union all"
        stop = f"lv < {self.r.randint(1, 3)}"
        sql = (f"with recursive {w}({t.key}, p, lv) as (select {t.key}, {c}, 0 from {t.name} where {t.key} < 6 {op} "
               f"select n.{t.key}, n.{c}, {w}.lv + 1 from {w} join {t.name} n on n.{self.pick([c, t.key])} = {w}.{self.pick([t.key, 'p'])} where {stop}){extra} ")
        cols = ["*"] if self.chance(0.5) else [t.key, "lv"] + (["ord"] if "ord" in extra else []) + (["looped"] if "looped" in extra else [])
        return sql + f"select {', '.join(cols)} from {w}", 0

    def keyed(self):
        return [t for t in self.tables if t.key and t.what == "table"]

    def distinct_on(self):
        frm, scope = self.source([], 1)
        cols = [c[0] for c in scope if c[1] not in NO_ORDER]
        if not cols:
            return self.plain()
        a, rest = cols[0], cols[1:]
        self.r.shuffle(rest)
        order = ", ".join([f"{a}{self.pick(['', ' desc', ' nulls first'])}"] + rest)
        return f"select distinct on ({a}) {', '.join(cols)} from {frm}{self.where([scope], scope, [])} order by {order}", -1

    def set_returning(self):
        """Set-returning functions in the select list."""
        frm, scope = self.source([], 0)
        fs = ["generate_series(1, <N>)", "unnest(<integer[]>)", "unnest(<text[]>)", "unnest(array[<txt>, <txt>])", "jsonb_array_elements(jsonb_build_array(<any>, 1))",
              "regexp_split_to_table(<txt>, '<re>')", "(unnest(<integer[]>) + 1)", "unnest(array[<date>])"]
        items = [self.expr(self.any_family([scope]), [scope], 1)] + [self.fill(self.pick(fs), [scope], 1) for _ in range(self.pick([1, 1, 2]))]
        return f"select {', '.join(items)} from {frm}{self.where([scope], scope, [])}", len(items)

    def values_query(self):
        fams = [self.pick(["int", "txt", "date", "num", "integer[]", "enum"]) for _ in range(2)]
        return "values " + ", ".join("(" + ", ".join(f"({self.expr(f, [], 2)})::{TYPE_OF.get(f, f)}" for f in fams) + ")" for _ in range(self.r.randint(1, 4))), 2

    def constants(self):
        """Expressions over constants, edge values among them: one error, if any, for each."""
        save, self.edgy = self.edgy, True
        sql = f"select {self.expr(self.pick(OUTPUT), [], 3)}"
        self.edgy = save
        return sql, 0

    def input_form(self):
        t = self.pick(list(INPUT))
        s = self.pick(INPUT[t])
        if self.chance(0.35) and not re.match("date|time|numeric$|interval|c0", t):  # garbage in those may have another error
            at = self.r.randint(0, len(s))
            s = s[:at] + self.pick(["", "1", " ", "-", ".", "x", ":", ",", "}", "[", '"']) + s[at + self.r.randint(0, 1):]
        return f"select {quote(s)}::{t}"

    # -- what was wrong once: unneeded columns under unions with casts, NULL as a group below outer joins, three-valued ANY and ALL
    def pruned_union(self):
        one = {"int": ["integer", "bigint", "numeric(12,2)", "smallint"], "num": ["numeric(20,4)", "integer", "numeric(8,1)"], "date": ["date", "timestamp"], "txt": ["text", "varchar(20)"],
               "bool": ["boolean"]}
        kinds = [self.pick(list(one)) for _ in range(self.r.randint(2, 5))]
        nulls = set()

        def branch():
            src, sc = self.source([], 0)
            items = []
            for i, k in enumerate(kinds):
                t = self.pick(one[k])
                f = {"timestamp": "ts", "integer": "i4", "bigint": "int", "smallint": "N"}.get(t, k)
                forms = ["1::smallint"] if f == "N" else [f"({self.expr(f, [sc], 1)})::{t}", f"({self.literal(f)})::{t}"]
                if i not in nulls:  # of two, PostgreSQL makes a text
                    forms.append("null")
                items.append(f"{self.pick(forms)} x{i}")
                if items[-1].startswith("null"):
                    nulls.add(i)
            return f"select {', '.join(items)} from {src}" + (f" where {self.cond([sc], 1)}" if self.chance(0.6) else "")
        sql = branch()
        for _ in range(self.pick([1, 1, 2])):
            sql = f"{sql} {self.pick(['union all', 'union all', 'union', 'intersect', 'except', 'except all'])} {branch()}"
        kept = [f"x{i}" for i in range(len(kinds)) if self.chance(0.5)] or ["x0"]
        where = f" where {self.pick(kept)} is {self.pick(['', 'not '])}null" if self.chance(0.2) else ""
        if self.chance(0.6):
            return f"select {self.pick(['', 'distinct '])}{', '.join(kept)} from ({sql}) u{where}", len(kept)
        return f"select {', '.join(kept)}, count(*), count(distinct {self.pick(kept)}) from ({sql}) u{where} group by {', '.join(kept)}", len(kept) + 2

    def null_groups(self):
        src, sc = self.source([], 0)
        scope, sql = list(sc), src
        for _ in range(self.pick([1, 1, 2])):
            inner, isc = self.source([], 0)
            keys = [c for c in isc if c[1] in COMPARABLE][:2]
            if not keys:
                continue
            a = self.new_alias("d")
            group = [(f"{a}.g{i}", c[1], c[2]) for i, c in enumerate(keys)] + [(f"{a}.n", "int", "bigint")]
            on = self.correlation(scope, [group], "=")
            if on:
                heads = ", ".join(f"{c[0]} g{i}" for i, c in enumerate(keys))
                sql += f" {self.pick(['left join', 'left join', 'full join', 'right join', 'join'])} (select {heads}, count(*) n from {inner} group by {', '.join(c[0] for c in keys)}) {a} on {on}"
                scope += group
        cols = [c[0] for c in self.r.sample(scope, min(len(scope), self.r.randint(1, 4))) if c[1] not in NO_ORDER] or ["1"]
        if self.chance(0.5) or cols == ["1"]:
            return f"select {self.pick(['', 'distinct '])}{', '.join(cols)} from {sql}", len(cols)
        return f"select {', '.join(cols)}, count(*) from {sql} group by {', '.join(cols)}", len(cols) + 1

    def three_valued(self):
        src, sc = self.source([], 0)
        k = self.column("int", [sc]) or "1"

        def one():
            f = self.pick(["int", "int", "num", "txt", "date"])
            x = self.expr(f, [sc], 0)
            inner = self.pick([lambda: self.select([sc], [f]), lambda: f"select unnest(array[{self.literal(f)}, null, {self.expr(f, [sc], 0)}])"])()
            return f"({x} {self.pick(['=', '<>', '<', '<=', '>', '>='])} {self.pick(['any', 'all'])} ({inner}))" if self.chance(0.75) else f"({x} {self.pick(['', 'not '])}in ({inner}))"
        self.level += 1
        vs = [one() for _ in range(self.r.randint(1, 3))]
        self.level -= 1
        if self.chance(0.6):
            return f"select {k}, {', '.join(vs)} from {src}", 1 + len(vs)
        c = self.pick([vs[0], f"not {vs[0]}", f"{vs[0]} is {self.pick(['null', 'not true', 'not false'])}", " or ".join(vs)])
        return f"select {k}, {k} from {src} where {c}", 2

    QUERIES = [("plain", 24), ("grouped", 16), ("window", 10), ("set_operation", 7), ("with_query", 6), ("recursive", 3), ("distinct_on", 2), ("set_returning", 4), ("values_query", 1),
               ("constants", 12), ("pruned_union", 3), ("null_groups", 3), ("three_valued", 3)]

    def window(self):
        return windows.query(self)

    def query(self):
        """(sql, whether its order is total, kind)."""
        kind = self.pick([k for k, n in self.QUERIES for _ in range(n)])
        sql, width = getattr(self, kind)()
        if width < 0:
            return sql, True, kind
        return (*self.ordered(sql, width), kind)

    def ordered(self, sql, width):
        """A total order names every column."""
        if not width or not self.chance(0.3):
            return sql, False
        pos = list(range(1, width + 1))
        self.r.shuffle(pos)
        sql += " order by " + ", ".join(f"{p}{self.pick(['', ' desc', ' nulls first', ' desc nulls last', ' asc'])}" for p in pos)
        k = self.r.random()
        if k < 0.3:
            sql += f" limit {self.r.randint(0, 12)}" + (f" offset {self.r.randint(0, 5)}" if self.chance(0.3) else "")
        elif k < 0.4:
            sql += f" offset {self.r.randint(0, 3)} fetch first {self.r.randint(1, 6)} rows {self.pick(['only', 'with ties'])}"
        return sql, True


def head_tail(g, head, w, cols):
    save = g.tables
    g.tables = save + [Table(w, cols)] * 4
    body, width = g.pick([g.plain, g.grouped])()
    g.tables = save
    return head + body, width
