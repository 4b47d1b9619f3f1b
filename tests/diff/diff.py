#!/usr/bin/env python3
"""Random schemas, data, queries and changes, run in Stele and in PostgreSQL; the answers must agree.

usage: diff.py [--build DIR] [--seconds N] [--seed S] [--rounds N] [--verbose]

Every round has a seed of its own: `--seed S --rounds 1` runs one again. Results are compared as multisets (in order when
ORDER BY covers all columns); exact numbers and floats numerically with a relative tolerance of 1e-9, because Stele's numeric division has
a fixed scale. Where both fail nothing is reported; where only one fails, it is, unless Stele says 0A000 or runs out of its 40 s (counted as skipped, with the reasons in front of the last line).
A failure is shrunk a little and written to BUILD/diff/. The last line is `N passed, N failed`.
"""
import argparse
import math
import os
import random
import re
import select
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import pg  # noqa: E402
import windows  # noqa: E402

HANG = 900 # seconds without an answer: the shell hangs; a busy machine is slow


class Died(Exception):
    pass


class Stele:
    """A shell that answers one statement after another: rows (None for an error), and the error's SQLSTATE and text."""

    def __init__(self, path, options=()):
        self.p = subprocess.Popen([path, ":memory:", "--csv", *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.n = 0
        self.buf = b""

    def raw(self, sql, timeout=HANG):
        self.n += 1
        mark = f"--end-{self.n}--\n".encode()
        try:
            self.p.stdin.write(sql.encode() + b";\n\\echo " + mark)
            self.p.stdin.flush()
        except BrokenPipeError:
            raise Died("the shell ended") from None
        end = time.monotonic() + timeout
        while not (self.buf.endswith(mark) and (len(self.buf) == len(mark) or self.buf[-len(mark) - 1 : -len(mark)] == b"\n")):
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.p.stdout], [], [], left)[0]:
                raise Died(f"no answer in {timeout} s")
            chunk = os.read(self.p.stdout.fileno(), 1 << 16)
            if not chunk:
                raise Died(f"the shell ended with {self.p.wait()}: {self.buf[-1500:].decode('utf-8', 'replace')}")
            self.buf += chunk
        text = self.buf[: -len(mark)].decode("utf-8", "replace")
        self.buf = b""
        return text

    def exec(self, sql):
        """(kind, value): ("error", (state, text)), ("tag", text) or ("rows", list of rows)."""
        text = self.raw(sql)
        m = re.search(r"^ERROR:  (\w{5}): ([^\n]*)", text, re.M)
        if m and (text.startswith("ERROR") or "\nERROR:  " in text):
            return "error", (m.group(1), m.group(2))
        if re.match(r"^(INSERT 0 \d+|UPDATE \d+|DELETE \d+|[A-Z][A-Z ]+)\n$", text):
            return "tag", text.strip()
        return "rows", parse_csv(text)[1:]

    def close(self):
        self.p.kill()
        self.p.wait()
        self.p.stdin.close()
        self.p.stdout.close()


def parse_csv(text):
    """CSV where an empty field is NULL and a quoted empty field is the empty string."""
    rows, row, i, n = [], [], 0, len(text)
    while i < n:
        if text[i] == '"':
            out = []
            i += 1
            while True:
                k = text.find('"', i)
                if k < 0:
                    raise Died("unterminated CSV")
                out.append(text[i:k])
                if k + 1 < n and text[k + 1] == '"':
                    out.append('"')
                    i = k + 2
                    continue
                i = k + 1
                break
            row.append("".join(out))
        else:
            k = i
            while k < n and text[k] not in ",\n":
                k += 1
            row.append(text[i:k] if k > i else None)
            i = k
        if i < n and text[i] == ",":
            i += 1
            if i == n or text[i] == "\n":
                row.append(None)
                rows.append(row)
                row = []
                i += 1
            continue
        rows.append(row)
        row = []
        i += 1
    return rows


# ---- generation ---------------------------------------------------------------------------------

FAMILY = {
    "smallint": "int", "integer": "int", "bigint": "int", "real": "flt", "double precision": "flt", "text": "txt", "boolean": "bool", "date": "date",
    "time": "time", "timestamp": "ts", "timestamptz": "tstz", "interval": "ival", "uuid": "uuid", "bytea": "bytea", "varbit": "bits", "bit(3)": "bits",
}
WORDS = ["", "a", "b", "ab", "abc", "Abc", "foo", "bar", "foobar", "x%y", "x_y", "  sp", "é", "日本", "zz", "longer than twelve bytes", "another rather long string value", "0", "10"]


def family(t):
    return FAMILY.get(t) or ("num" if t.startswith("numeric") else "chr" if t.startswith("char(") else "txt")


def quote(s):
    return "'" + s.replace("'", "''") + "'"


class Gen:
    def __init__(self, rng):
        self.r = rng
        self.alias = 0
        self.tables = []  # (name, [(col, type)], constraints)

    def chance(self, p):
        return self.r.random() < p

    def pick(self, xs):
        return self.r.choice(xs)

    def new_alias(self, p="t"):
        self.alias += 1
        return f"{p}{self.alias}"

    # -- schema and data
    def type(self):
        r = self.r
        k = r.random()
        if k < 0.30:
            return self.pick(["integer", "integer", "bigint", "smallint"])
        if k < 0.45:
            return self.pick(["numeric(10,2)", "numeric(5,1)", "numeric(20,4)", "numeric(9,0)", "numeric(30,6)", "numeric", "numeric"])
        if k < 0.53:
            return self.pick(["double precision", "real"])
        if k < 0.72:
            return self.pick(["text", "text", "varchar(40)", "char(6)"])
        if k < 0.78:
            return "boolean"
        if k < 0.87:
            return "date"
        return self.pick(["timestamp", "timestamp", "time", "timestamptz", "interval", "uuid", "bytea", "varbit", "bit(3)"])

    def value(self, t):
        """A literal of type t (typed by its context), from a small domain so that joins and groups meet."""
        r = self.r
        f = family(t)
        if f == "int":
            return str(r.randint(0, 5) if self.chance(0.6) else r.randint(-50, 50))
        if f == "num":
            m = re.match(r"numeric\((\d+),(\d+)\)", t)
            p, s = (int(m.group(1)), int(m.group(2))) if m else (12, self.r.choice([0, 1, 3]))
            v = r.randint(-4, 4) * 10**s // 2 if self.chance(0.6) else r.randint(-(10 ** min(p, s + 3)) + 1, 10 ** min(p, s + 3) - 1)
            sign, v = ("-" if v < 0 else ""), abs(v)
            return sign + (f"{v // 10**s}.{v % 10**s:0{s}d}" if s else str(v))
        if f == "flt":
            return str(r.randint(-20, 20) * 0.25)
        if f in ("txt", "chr"):
            ws = [w for w in WORDS if t != "char(6)" or len(w) <= 6]
            return quote(self.pick(ws))
        if f == "bool":
            return self.pick(["true", "false"])
        if f == "date":
            return f"'{r.choice([2019, 2020, 2020, 2021])}-{r.randint(1, 12):02d}-{r.randint(1, 28):02d}'" if self.chance(0.6) else self.pick(["'2020-02-29'", "'2020-01-01'", "'1999-12-31'", "'2020-03-01'"])
        if f == "time":
            return f"'{r.randint(0, 23):02d}:{self.pick(['00', '30', '59'])}:{self.pick(['00', '01.5'])}'"
        if f == "ts":
            return f"'{r.choice([2019, 2020])}-{r.randint(1, 3):02d}-{r.choice([1, 15, 28]):02d} {r.choice(['00:00:00', '12:30:00', '23:59:59.5'])}'"
        if f == "tstz":
            return f"'2020-{r.randint(1, 3):02d}-{r.choice([1, 15, 28]):02d} {r.choice(['00:00:00', '12:30:00'])}{r.choice(['+00', '+02', '-05:30'])}'"
        if f == "ival":
            return self.pick(["'1 day'", "'2 days'", "'03:00:00'", "'1 mon'", "'1 year'", "'-1 day'", "'5 days 02:30:00'", "'0'"])
        if f == "uuid":
            return f"'{r.choice(['a0eebc99', '00000000', 'ffffffff'])}-9c0b-4ef8-bb6d-6bb9bd380a1{r.randint(0, 2)}'"
        if f == "bits":
            return f"B'{r.randint(0, 7):03b}'" if t == "bit(3)" else "B'" + self.pick(["", "0", "1", "10", "101", "0000000", "00000000", "10000001", "100000010"]) + "'"
        return self.pick(["'\\x00ff'", "'\\x'", "'\\x616263'", "'\\x61'"])

    def stored(self, t):
        """A value as INSERT and UPDATE write it: numbers may be quoted."""
        v = self.value(t)
        return quote(v) if family(t) in ("int", "num", "flt") and self.chance(0.25) else v

    def literal(self, f):
        t = {"int": "integer", "num": "numeric(10,2)", "flt": "double precision", "txt": "text", "bool": "boolean", "date": "date", "time": "time",
             "ts": "timestamp", "tstz": "timestamptz", "ival": "interval", "uuid": "uuid", "bytea": "bytea", "chr": "char(6)", "bits": "varbit"}[f]
        v = self.value(t)
        if f in ("int", "num", "bool"):
            return f"({v})" if v.startswith("-") else v
        if f == "flt":
            return f"({v})::float8"
        if f == "bits":
            return v
        if f == "txt":
            return v + "::text" if self.chance(0.3) else v
        return f"{t} {v}" if f != "chr" else f"{v}::char(6)"

    def schema(self):
        """[(name, cols, ddl)], and rows as lists of literals."""
        out = []
        for i in range(self.r.randint(1, 4)):
            name = f"r{i}"
            cols = [("k", "integer")] + [(f"c{j}", self.type()) for j in range(self.r.randint(1, 7))]
            cons = []
            key = None
            defs = []
            for j, (c, t) in enumerate(cols):
                d = f"{c} {t}"
                if j == 0 and self.chance(0.3):
                    d += self.pick([" primary key", " unique"])
                    key = c
                elif self.chance(0.1):
                    d += " not null"
                    cons.append(c)
                defs.append(d)
            if key and defs[0].endswith("primary key"):
                cons.append("k")
            size = self.pick([0, 1, 3, 10, 10, 30, 30, 60, 150, 600]) if self.chance(0.97) else 2000
            if i == 0 and size == 0:
                size = 20
            rows = []
            nulls = self.pick([0, 0.1, 0.1, 0.4])
            for n in range(size):
                row = []
                for c, t in cols:
                    if c == key:
                        row.append(str(n * 2 - 3) if self.chance(0.97) or c in cons else "null")
                    elif c not in cons and self.chance(nulls):
                        row.append("null")
                    else:
                        row.append(self.stored(t))
                rows.append(row)
            out.append((name, cols, f"create table {name}({', '.join(defs)})", rows))
        self.tables = [(n, c) for n, c, _, _ in out]
        return out

    # -- expressions. A scope is a list of (sql, family, type); scopes[0] is the innermost
    def column(self, f, scopes):
        got = [c for c in scopes[0] if c[1] == f]
        if (not got or self.chance(0.15)) and len(scopes) > 1:
            outer = [c for s in scopes[1:] for c in s if c[1] == f]
            got = outer or got
        return self.pick(got)[0] if got else None

    def expr(self, f, scopes, d=2):
        if d <= 0 or self.chance(0.35):
            c = self.column(f, scopes)
            return c if c and self.chance(0.85) else self.literal(f)
        k = self.r.random()
        e = lambda g, dd=d - 1: self.expr(g, scopes, dd)  # noqa: E731
        if k < 0.10:
            return f"coalesce({e(f)}, {e(f)})"
        if k < 0.20:
            return f"case when {self.cond(scopes, d - 1)} then {e(f)} " + (f"else {e(f)} " if self.chance(0.7) else "") + "end"
        if k < 0.24:
            return f"nullif({e(f)}, {e(f)})"
        if k < 0.28 and f not in ("bool",):
            return f"{self.pick(['greatest', 'least'])}({e(f)}, {e(f)})"
        if k < 0.33 and d >= 2 and f in ("int", "num", "txt", "date", "ts") and self.tables:
            return self.scalar(f, scopes)
        if f == "int":
            return self.pick([
                lambda: f"({e(f)}::int {self.pick('+-')} {e(f)})", lambda: f"({e(f)}::int * {self.r.randint(-3, 3)})".replace("* -", "* -"),
                lambda: f"({e(f)} / nullif({e(f)}, 0))", lambda: f"({e(f)} % nullif({e(f)}, 0))", lambda: f"abs({e(f)}::int)", lambda: f"(-({e(f)}::int))",
                lambda: f"length({e('txt')})", lambda: f"extract({self.pick(['year', 'month', 'day', 'dow', 'doy', 'week', 'quarter'])} from {e('date')})::int",
                lambda: f"extract({self.pick(['hour', 'minute', 'year', 'month'])} from {e('ts')})::int", lambda: f"({e('date')} - {e('date')})",
                lambda: f"({e('bool')})::int", lambda: f"round({e('num')})::int", lambda: f"strpos({e('txt')}, {e('txt')})", lambda: f"({e(f)})::bigint",
                lambda: f"({e(f)}::int {self.pick('&|#')} {e(f)}::int)", lambda: f"floor({e('flt')})::int", lambda: f"({e('num')})::bigint",
            ])()
        if f == "num":
            return self.pick([
                lambda: f"({e(f)} {self.pick('+-')} {e(f)})", lambda: f"({e(f)} * {self.pick(['2', '0.5', '-1.25', '100'])})", lambda: f"({e(f, 0)} * {e(f, 0)})",
                lambda: f"round({e(f)}, {self.r.randint(0, 3)})", lambda: f"trunc({e(f)}, 1)", lambda: f"ceil({e(f)})", lambda: f"floor({e(f)})", lambda: f"abs({e(f)})",
                lambda: f"({e('int')})::numeric(12,2)", lambda: f"({e(f)} + {e('int')})", lambda: f"(-{e(f)})", lambda: f"round({e(f, 0)} / nullif({e('int', 0)}, 0), 4)",
                lambda: f"({e(f)} % nullif({e('int')}, 0))", lambda: f"sign({e(f)})",
            ])()
        if f == "flt":
            return self.pick([
                lambda: f"({e(f)} {self.pick('+-')} {e(f)})", lambda: f"({e(f)} * {self.pick(['2', '0.5', '-1.25'])})", lambda: f"({e('int')})::float8", lambda: f"abs({e(f)})",
                lambda: f"floor({e(f)})", lambda: f"round(({e(f)})::float8)", lambda: f"({e('num')})::float8", lambda: f"(-{e(f)})",
            ])()
        if f == "txt":
            return self.pick([
                lambda: f"({e(f)} || {e(f)})", lambda: f"upper(left({e(f)}, 0) || 'aBc')", lambda: f"substr({e(f)}, {self.r.randint(-1, 4)}, {self.r.randint(0, 4)})",
                lambda: f"left({e(f)}, {self.r.randint(-2, 5)})", lambda: f"right({e(f)}, {self.r.randint(-2, 5)})", lambda: f"trim({e(f)})", lambda: f"replace({e(f)}, 'a', 'xy')",
                lambda: f"({e('int')})::text", lambda: f"lpad({e(f)}, 4, '*')", lambda: f"rpad({e(f)}, 4, '*')", lambda: f"reverse({e(f)})", lambda: f"split_part({e(f)}, 'b', 1)",
                lambda: f"({e('date')})::text", lambda: f"concat({e(f)}, {e('int')})", lambda: f"translate({e(f)}, 'abc', 'xy')", lambda: f"repeat({e(f)}, 2)",
                lambda: f"substring({e(f)} from 2)", lambda: f"({e('bool')})::text", lambda: f"({e(f)})::varchar(3)", lambda: f"to_char({e('date')}, 'YYYY-MM')",
                lambda: f"concat_ws('-', {e(f)}, {e(f)})", lambda: f"regexp_replace({e(f)}, 'o+', '0')", lambda: f"md5({e(f)})", lambda: f"({e('chr')})::text", lambda: f"({e('chr')} || {e(f)})",
            ])()
        if f == "bool":
            return "(" + self.cond(scopes, d) + ")"
        if f == "date":
            return self.pick([lambda: f"({e(f)} + {self.r.randint(-40, 40)})", lambda: f"({e('ts')})::date", lambda: f"({e(f)} + {e('ival', 0)})::date",
                              lambda: f"date_trunc('{self.pick(['month', 'year', 'week'])}', {e(f)}::timestamp)::date"])()
        if f == "ts":
            return self.pick([lambda: f"({e(f)} {self.pick('+-')} {e('ival', 0)})", lambda: f"date_trunc('{self.pick(['hour', 'day', 'month', 'quarter', 'year', 'week'])}', {e(f)})",
                              lambda: f"({e('date')})::timestamp", lambda: f"({e('date')} + {e('ival', 0)})", lambda: f"({e('date')} + {e('time', 0)})"])()
        if f == "tstz":
            return f"({e(f)} + {e('ival', 0)})"
        if f == "time":
            return f"({e('ts')})::time"
        if f == "bits":
            return self.pick([lambda: f"({e(f)} || {e(f)})", lambda: f"(~ {e(f)})", lambda: f"({e(f)} {self.pick(['<<', '>>'])} {self.r.randint(-2, 9)})",
                              lambda: f"substring({e(f)} from {self.r.randint(-1, 4)} for {self.r.randint(0, 9)})",
                              lambda: f"(({e(f)})::bit(5) {self.pick('&|#')} ({e(f)})::bit(5))", lambda: f"({e('int')})::int::bit(9)"])()
        c = self.column(f, scopes)
        return c or self.literal(f)

    def any_family(self, scopes):
        return self.pick([c[1] for c in scopes[0]]) if scopes[0] and self.chance(0.7) else self.pick(["int", "num", "txt", "date", "flt", "bool", "ts"])

    def cond(self, scopes, d=2):
        if d <= 0:
            return self.simple_cond(scopes, 0)
        k = self.r.random()
        if k < 0.14:
            return f"({self.cond(scopes, d - 1)} and {self.cond(scopes, d - 1)})"
        if k < 0.28:
            return f"({self.cond(scopes, d - 1)} or {self.cond(scopes, d - 1)})"
        if k < 0.34:
            return f"not ({self.cond(scopes, d - 1)})"
        if k < 0.38:
            return f"({self.cond(scopes, d - 1)}) is {self.pick(['true', 'not true', 'false', 'not false', 'unknown', 'not unknown'])}"
        if k < 0.56 and d >= 2 and len(scopes) < 3:
            return self.sub_cond(scopes)
        return self.simple_cond(scopes, d - 1)

    def simple_cond(self, scopes, d):
        f = self.any_family(scopes)
        e = lambda g: self.expr(g, scopes, d)  # noqa: E731
        k = self.r.random()
        if k < 0.45:
            g = self.pick(["int", "num", "flt"]) if f in ("int", "num", "flt") and self.chance(0.3) else f
            return f"{e(f)} {self.pick(['=', '=', '<>', '<', '<=', '>', '>='])} {e(g)}"
        if k < 0.55:
            return f"{e(f)} is {self.pick(['', 'not '])}null"
        if k < 0.63:
            return f"{e(f)} {self.pick(['', 'not '])}between {e(f)} and {e(f)}"
        if k < 0.73:
            xs = ", ".join(self.literal(f) if self.chance(0.93) else "null" for _ in range(self.r.randint(1, 5)))
            return f"{e(f)} {self.pick(['', '', 'not '])}in ({xs})"
        if k < 0.80:
            g = self.pick(["int", "num", "flt"]) if f in ("int", "num", "flt") and self.chance(0.3) else f
            return f"{e(f)} is {self.pick(['', 'not '])}distinct from {e(g)}"
        if k < 0.92:
            pat = self.pick(["a%", "%b", "%o%", "_b%", "foo%", "%", "", "ab_", "%a%b%", "x\\%y", "abc", "%oo_a%", "日%"])
            x = e("txt")
            return f"({x})::text {self.pick(['', '', 'not '])}like '{pat}'"
        c = self.column("bool", scopes)
        return c if c else f"({e('int')} % 2 = 0)"

    def sub_cond(self, scopes):
        k = self.r.random()
        if k < 0.4:
            s = self.select(scopes, small=True, cols=["int"], exists=True)
            few = self.pick([" limit 2", " offset 1", " limit 3 offset 2", " limit 0"]) if self.chance(0.1) else ""
            return f"{self.pick(['', 'not '])}exists ({s.render()}{few})"
        f = self.pick(["int", "int", "txt", "num", "date"])
        s = self.select(scopes, small=True, cols=[f])
        x = self.expr(f, scopes, 1)
        few = f" order by 1{self.pick(['', ' desc'])}{self.pick([' limit 1', ' limit 2', ' offset 1', ' limit 3 offset 1'])}" if self.chance(0.12) else ""
        if k < 0.75:
            return f"{x} {self.pick(['', 'not '])}in ({s.render()}{few})"
        return f"{x} {self.pick(['=', '<>', '<', '<=', '>', '>='])} {self.pick(['any', 'all'])} ({s.render()})"

    def scalar(self, f, scopes):
        if len(scopes) >= 3:
            return self.literal(f)
        src, inner = self.source(scopes, 1)
        sc = [inner] + scopes
        agg = "count(*)" if f == "int" and self.chance(0.4) else f"{self.pick(['min', 'max'] + (['sum'] if f in ('int', 'num') else []))}({self.expr(f, sc, 1)})"
        if f == "int":
            agg = f"({agg})::int" if self.chance(0.2) else agg
        w = f" where {self.cond(sc, 1)}" if self.chance(0.85) else ""
        if self.chance(0.5) and scopes[0]:  # equality with the outer query: what decorrelation is for
            pairs = [(a, b) for a in inner for b in scopes[0] if a[1] == b[1] and a[1] in ("int", "txt", "date", "num")]
            if pairs:
                a, b = self.pick(pairs)
                w = (w + " and " if w else " where ") + f"{a[0]} = {b[0]}"
        if self.chance(0.2):
            return f"(select {self.expr(f, sc, 1)} from {src}{w} order by 1{self.pick(['', ' desc', ' nulls first'])} limit 1{self.pick(['', ' offset 1', ' offset 2'])})"
        return f"(select {agg} from {src}{w})"

    # -- queries
    def source(self, scopes, depth):
        """One FROM item: (sql, scope)."""
        if depth > 0 and self.chance(0.2):
            s = self.select(scopes[1:] if False else [], small=True)
            a = self.new_alias("d")
            names = [f"x{i}" for i in range(len(s.families))]
            return f"({s.render()}) {a}({', '.join(names)})", [(f"{a}.{n}", f, f) for n, f in zip(names, s.families)]
        name, cols = self.pick(self.tables)
        a = self.new_alias()
        return f"{name} {a}", [(f"{a}.{c}", family(t), t) for c, t in cols]

    def join(self, scopes, depth=1):
        sql, scope = self.source(scopes, depth)
        n = self.pick([0, 0, 1, 1, 1, 2]) if depth else self.pick([0, 0, 1])
        for _ in range(n):
            if self.chance(0.08) and " " in sql and "join" not in sql and "(" not in sql:
                name, cols = self.pick(self.tables)
                a = self.new_alias()
                left = {c[0].split(".")[1]: c for c in scope}
                if "k" in left and any(c == "k" for c, _ in cols):
                    kind = self.pick(["join", "left join", "right join", "full join"])
                    sql = f"{sql} {kind} {name} {a} using (k)"
                    scope = [("k", "int", "integer")] + scope + [(f"{a}.{c}", family(t), t) for c, t in cols]
                    continue
            s2, sc2 = self.source(scopes, depth - 1)
            kind = self.pick(["join", "join", "join", "left join", "left join", "right join", "full join", "cross join"])
            if kind == "cross join":
                sql = f"{sql} cross join {s2}"
            else:
                pairs = [(a, b) for a in scope for b in sc2 if a[1] == b[1]]
                on = []
                if pairs and (kind == "full join" or self.chance(0.9)):
                    for _ in range(self.pick([1, 1, 2])):
                        a, b = self.pick(pairs)
                        on.append(f"{a[0]} = {b[0]}")
                if kind != "full join" and (not on or self.chance(0.3)):
                    on.append(self.cond([scope + sc2] + scopes, 1))
                if not on:
                    kind, on = "left join", ["true"]
                sql = f"{sql} {kind} {s2} on {' and '.join(on)}"
            scope = scope + sc2
        return sql, scope

    def aggregate(self, scopes):
        """(sql, family) of an aggregate call."""
        k = self.pick(["count*", "count", "countd", "sum", "sum", "avg", "minmax", "minmax", "bool", "sumd", "str", "var", "bits"])
        flt = f" filter (where {self.cond(scopes, 1)})" if self.chance(0.15) else ""
        if k == "count*":
            return f"count(*){flt}", "int"
        if k in ("count", "countd"):
            return f"count({'distinct ' if k == 'countd' else ''}{self.expr(self.any_family(scopes), scopes, 1)}){flt}", "int"
        if k in ("sum", "sumd"):
            f = self.pick(["int", "num", "flt"])
            if k == "sumd" and f == "flt":
                f = "int"
            return f"sum({'distinct ' if k == 'sumd' else ''}{self.expr(f, scopes, 1)}){flt}", "num" if f == "num" else f
        if k == "avg":
            f = self.pick(["int", "num", "flt"])
            return f"avg({self.expr(f, scopes, 1)}){flt}", "out"
        if k == "var":
            f = self.pick(["int", "num", "flt"])
            fn = self.pick(["var_pop", "var_samp", "variance", "stddev_pop", "stddev_samp", "stddev"])
            return f"{fn}({'distinct ' if f == 'int' and self.chance(0.2) else ''}{self.expr(f, scopes, 1 if f == 'int' else 0)}){flt}", "out"
        if k == "str":  # the value last, so that the order is total
            x = self.expr("txt", scopes, 1)
            by = f"{self.expr(self.any_family(scopes), scopes, 1)}{self.pick(['', ' desc', ' nulls first', ' desc nulls last'])}, " if self.chance(0.6) else ""
            if self.chance(0.2):
                return f"string_agg(distinct {x}, '-'{self.pick(['', f' order by {x}', f' order by {x} desc'])}){flt}", "txt"
            return f"string_agg({x}, '-' order by {by}{x}{self.pick(['', ' desc'])}){flt}", "txt"
        if k == "bits":
            return f"{self.pick(['bit_and', 'bit_or', 'bit_xor'])}(({self.expr('bits', scopes, 1)})::bit(5)){flt}", "bits"
        if k == "bool":
            return f"{self.pick(['bool_and', 'bool_or'])}({self.cond(scopes, 1)}){flt}", "bool"
        f = self.pick(["int", "num", "flt", "txt", "date", "ts", "time", "tstz"])
        return f"{self.pick(['min', 'max'])}({self.expr(f, scopes, 1)}){flt}", f

    def select(self, outer, small=False, cols=None, exists=False):
        r = self.r
        s = Select()
        s.frm, scope = self.join(outer, 0 if small and self.chance(0.7) else 1)
        scopes = [scope] + outer
        for _ in range(self.pick([0, 1, 1, 2])):
            s.where.append(self.cond(scopes, 1 if small else 2))
        if outer and outer[0] and self.chance(0.6):
            pairs = [(a, b) for a in scope for b in outer[0] if a[1] == b[1]]
            if pairs:
                a, b = self.pick(pairs)
                s.where.append(f"{a[0]} {self.pick(['=', '=', '=', '<', '<>'])} {b[0]}")
        grouped = self.chance(0.1 if cols else 0.35) and not (exists and outer)
        if grouped:
            for _ in range(self.pick([0, 1, 1, 2, 3])):
                f = self.any_family(scopes)
                g = self.column(f, [scope]) if self.chance(0.8) else self.expr(f, [scope], 1)
                if g and re.search(r"\bt\d+\.|\bd\d+\.|\bk\b", g) and "select" not in g:
                    s.group.append(g)
                    s.items.append((g, f))
            if cols:
                s.items = [(self.pick(["bool_and", "bool_or"] if f == "bool" else ["min", "max"]) + f"({self.expr(f, scopes, 1)})", f) for f in cols]
            else:
                for _ in range(r.randint(1, 4)):
                    s.items.append(self.aggregate([scope]))
            if self.chance(0.3):
                a, f = self.aggregate([scope])
                s.having.append(f"{a} is not null" if f in ("out", "flt", "bool", "time", "tstz") else f"{a} {self.pick(['>', '<', '<>'])} {self.literal(f)}")
        else:
            for f in cols or [self.any_family(scopes) for _ in range(r.randint(1, 5))]:
                s.items.append((self.expr(f, scopes, 2 if not small else 1), f))
            if not cols and not small and self.chance(0.08):
                s.items = [("*", None)]
                s.families = None
            elif self.chance(0.12):
                s.distinct = True
        if not (s.items and s.items[0][0] == "*"):
            s.families = [f if f != "out" else "flt" for _, f in s.items]
        return s

    # -- what was wrong once: columns that nothing needs under unions with casts, NULL as a group below outer joins, three-valued ANY and ALL
    def union_input(self, kinds, names):
        """A branch whose columns have types of their own, which have a common one."""
        src, sc = self.source([], 0)
        one = {"int": [("int", "integer"), ("int", "bigint"), ("num", "numeric(12,2)"), ("int", "smallint")], "num": [("num", "numeric(20,4)"), ("int", "integer"), ("num", "numeric(8,1)")],
               "date": [("date", "date"), ("ts", "timestamp")], "txt": [("txt", "text"), ("txt", "varchar(20)")], "bool": [("bool", "boolean")]}
        items = []
        for k, n in zip(kinds, names):
            f, t = self.pick(one[k])
            e = self.pick(["null", f"({self.expr(f, [sc], 1)})::{t}", f"({self.column(f, [sc]) or self.literal(f)})::{t}", f"({self.literal(f)})::{t}"])
            if t == "smallint":
                e = self.pick(["1::smallint", "null::smallint"])
            items.append(f"{e} {n}")
        return f"select {', '.join(items)} from {src}" + (f" where {self.cond([sc], 1)}" if self.chance(0.6) else "")

    def pruned_union(self):
        kinds = [self.pick(["int", "int", "num", "date", "txt", "bool"]) for _ in range(self.r.randint(2, 5))]
        names = [f"x{i}" for i in range(len(kinds))]
        op = lambda: self.pick(["union all", "union all", "union all", "union", "intersect", "except", "except all"])  # noqa: E731
        sql = self.union_input(kinds, names)
        for _ in range(self.pick([1, 1, 2])):
            sql = f"({sql}) {op()} {self.union_input(kinds, names)}" if self.chance(0.3) else f"{sql} {op()} {self.union_input(kinds, names)}"
        u = self.new_alias("u")
        kept = [i for i in range(len(kinds)) if self.chance(0.5)] or [len(kinds) - 1]
        cols = [f"{u}.x{i}" for i in kept]
        where = f" where {self.pick(cols)} is {self.pick(['', 'not '])}null" if self.chance(0.2) else ""
        k = self.r.random()
        if k < 0.5:
            return f"select {self.pick(['', '', 'distinct '])}{', '.join(cols)} from ({sql}) {u}{where}", len(cols)
        if k < 0.75:
            return f"select {', '.join(cols)}, count(*), count(distinct {self.pick(cols)}) from ({sql}) {u}{where} group by {', '.join(cols)}", len(cols) + 2
        numbers = [f"sum({c})" for c, i in zip(cols, kept) if kinds[i] in ("int", "num")] + [f"{self.pick(['min', 'max'])}({c})" for c, i in zip(cols, kept) if kinds[i] != "bool"]
        return f"select {', '.join(numbers + [f'count({self.pick(cols)})'])} from ({sql}) {u}{where}", len(numbers) + 1

    def group_side(self):
        """A grouped subquery over columns that may be NULL: (sql, [(column, family)])."""
        src, sc = self.source([], 0)
        keys = [self.pick(sc) for _ in range(self.pick([1, 1, 2]))]
        cols = [(f"{c[0]} g{i}", f"g{i}", c[1]) for i, c in enumerate(keys)] + [("count(*) n", "n", "int")]
        numbers = [c for c in sc if c[1] in ("int", "num")]
        if numbers and self.chance(0.5):
            c = self.pick(numbers)
            cols.append((f"{self.pick(['min', 'max'])}({c[0]}) m", "m", c[1]))
        where = f" where {self.cond([sc], 1)}" if self.chance(0.3) else ""
        a = self.new_alias("g")
        return f"(select {', '.join(c[0] for c in cols)} from {src}{where} group by {', '.join(c[0] for c in keys)}) {a}", [(f"{a}.{n}", f) for _, n, f in cols]

    def null_groups(self):
        l, ls = self.source([], 0)
        scope = [c[:2] for c in ls]
        sql = l
        for _ in range(self.pick([1, 1, 2])):
            r, rs = self.group_side() if self.chance(0.7) else (lambda x: (x[0], [c[:2] for c in x[1]]))(self.source([], 0))
            pairs = [(a, b) for a in scope for b in rs if a[1] == b[1] and a[1] != "bool"]
            if not pairs:
                continue
            a, b = self.pick(pairs)
            n = [(x, y) for x, y in pairs if y[0].endswith(".n")]
            if n and self.chance(0.6):
                a, b = self.pick(n)
            sql = f"{sql} {self.pick(['left join', 'left join', 'full join', 'right join', 'join'])} {r} on {a[0]} = {b[0]}"
            scope = scope + rs
        cols = [c[0] for c in self.r.sample(scope, min(len(scope), self.r.randint(1, 4)))]
        groups = [c[0] for c in scope if re.match(r"g\d+\.", c[0])]
        cols = list(dict.fromkeys((groups if groups and self.chance(0.6) else []) + cols))
        k = self.r.random()
        if k < 0.4:
            return f"select distinct {', '.join(cols)} from {sql}", len(cols)
        if k < 0.8:
            return f"select {', '.join(cols)}, count(*) from {sql} group by {', '.join(cols)}", len(cols) + 1
        return f"select {', '.join(cols)} from {sql}", len(cols)

    def values_of(self, f, scopes):
        """A subquery of one column with NULLs, perhaps none, perhaps correlated, perhaps a set-returning function."""
        k = self.r.random()
        if f == "int" and k < 0.15:
            return f"select generate_series(1, {self.pick(['3', '0', self.column('int', scopes) or '2'])} % 6)"
        if f == "int" and k < 0.25:
            return f"select {self.column('int', scopes) or 'null::int'} from generate_series(1, {self.r.randint(0, 2)})"
        if f == "int" and k < 0.35:
            return f"select unnest(array[{self.expr('int', scopes, 0)}::int, {self.pick(['null', '1', '2'])}])"
        src, sc = self.source(scopes, 0)
        sql = f"select {self.column(f, [sc]) or self.literal(f)} from {src}"
        if k < 0.7:
            pairs = [(a, b) for a in sc for b in scopes[0] if a[1] == b[1] and a[1] in ("int", "txt", "date", "num")]
            if pairs and self.chance(0.5):
                a, b = self.pick(pairs)
                sql += f" where {a[0]} {self.pick(['=', '=', '=', '<>', '<'])} {b[0]}"
            else:
                sql += f" where {self.cond([sc], 1)}"
        return sql

    def quantified(self, scopes):
        f = self.pick(["int", "int", "int", "num", "txt", "date"])
        x = self.expr(f, scopes, 0)
        if self.chance(0.15):
            x = f"(({self.values_of(f, scopes)}) {self.pick(['union', 'intersect', 'except', 'union all'])} ({self.values_of(f, scopes)}) order by 1 limit 1)"
        if self.chance(0.25):
            return f"({x} {self.pick(['', 'not '])}in ({self.values_of(f, scopes)}))"
        return f"({x} {self.pick(['=', '<>', '<', '<=', '>', '>=', '<=', '>='])} {self.pick(['any', 'all'])} ({self.values_of(f, scopes)}))"

    def three_valued(self):
        src, sc = self.source([], 0)
        k = self.column("int", [sc]) or "1"
        if self.chance(0.5):
            vs = [self.quantified([sc]) for _ in range(self.r.randint(1, 3))]
            return f"select {k}, {', '.join(vs)} from {src}", 1 + len(vs)
        c = self.quantified([sc])
        c = self.pick([c, f"not {c}", f"{c} is {self.pick(['null', 'not true', 'not false', 'not null'])}", f"{c} {self.pick(['and', 'or'])} {self.quantified([sc])}"])
        return f"select {k}, count(*) over_ from {src} where {c} group by {k}".replace(f"group by {k}", f"group by {k}" if k != "1" else "having true"), 2

    def query(self):
        if self.chance(0.15):
            return self.ordered(*windows.query(self))
        if self.chance(0.2):
            sql, width = self.pick([self.pruned_union, self.null_groups, self.three_valued])()
            return self.ordered(sql, width)
        k = self.r.random()
        if k < 0.13:
            fams = [self.pick(["int", "txt", "date", "num", "bool"]) for _ in range(self.r.randint(1, 3))]
            parts = [self.select([], cols=fams) for _ in range(self.pick([2, 2, 3]))]
            ops = [self.pick(["union", "union all", "intersect", "except", "intersect all", "except all"]) for _ in parts[1:]]
            sql = parts[0].render()
            for o, p in zip(ops, parts[1:]):
                sql = f"({sql} {o} {p.render()})" if self.chance(0.3) else f"{sql} {o} {p.render()}"
            return self.ordered(sql, len(fams))
        s = self.select([])
        if k < 0.2 and s.families:
            names = [f"x{i}" for i in range(len(s.families))]
            save = self.tables
            w = self.new_alias("w")
            fam_type = {"int": "integer", "num": "numeric(10,2)", "flt": "double precision", "txt": "text", "bool": "boolean", "date": "date", "ts": "timestamp", "tstz": "timestamptz", "ival": "interval", "chr": "char(6)",
                        "bits": "varbit"}
            head = f"with {w}({', '.join(names)}) as ({s.render()}) "
            self.tables = save + [(w, [(n, fam_type.get(f, f)) for n, f in zip(names, s.families)])] * 2
            body = self.select([])
            self.tables = save
            return self.ordered(head + body.render(), len(body.families) if body.families else 0)
        return self.ordered(s, len(s.families) if s.families else 0)

    def ordered(self, q, width):
        """(query, is ordered). A total order names every column."""
        order = ""
        if width and self.chance(0.35):
            pos = list(range(1, width + 1))
            self.r.shuffle(pos)
            order = " order by " + ", ".join(f"{p}{self.pick(['', ' desc', ' nulls first', ' desc nulls last', ' asc'])}" for p in pos)
            if self.chance(0.5):
                order += f" limit {self.r.randint(0, 12)}" + (f" offset {self.r.randint(0, 5)}" if self.chance(0.3) else "")
            if self.chance(0.1) and "limit" not in order:
                order += f" offset {self.r.randint(0, 5)}"
        if isinstance(q, Select):
            q.order = order
            return q, bool(order)
        return q + order, bool(order)

    # -- changes
    def change(self):
        name, cols = self.pick(self.tables)
        scope = [(c, family(t), t) for c, t in cols]
        k = self.r.random()
        if k < 0.35:
            rows = ", ".join("(" + ", ".join("null" if self.chance(0.1) else str(self.r.randint(-100, 2000)) if c == "k" else self.stored(t) for c, t in cols) + ")" for _ in range(self.r.randint(1, 4)))
            return f"insert into {name} values {rows}"
        if k < 0.42:
            src, sc = self.source([], 0)
            es = ", ".join(self.expr("int", [sc], 1) + " + 5000" if c == "k" else f"({self.expr(family(t), [sc], 1)})::{t}" for c, t in cols)
            return f"insert into {name} select {es} from {src} where {self.cond([sc], 1)}"
        if k < 0.75:
            sets = []
            for c, t in self.r.sample(cols, min(len(cols), self.r.randint(1, 2))):
                if c == "k":
                    continue
                sets.append(f"{c} = ({self.expr(family(t), [scope], 2)})::{t}" if self.chance(0.8) else f"{c} = {self.stored(t)}")
            if not sets:
                return f"update {name} set k = k where {self.cond([scope], 1)}"
            return f"update {name} set {', '.join(sets)} where {self.cond([scope], 2)}"
        return f"delete from {name} where {self.cond([scope], 2)}" + (" and k % 3 = 0" if self.chance(0.6) else "")


class Select:
    def __init__(self):
        self.items, self.frm, self.where, self.group, self.having, self.order, self.distinct, self.families = [], "", [], [], [], "", False, []

    def render(self):
        sql = "select " + ("distinct " if self.distinct else "") + ", ".join(i for i, _ in self.items) + " from " + self.frm
        if self.where:
            sql += " where " + " and ".join(f"({w})" if " or " in w else w for w in self.where)
        if self.group:
            sql += " group by " + ", ".join(self.group)
        if self.having:
            sql += " having " + " and ".join(self.having)
        return sql + self.order

    def smaller(self):
        """Simpler versions of this query."""
        def but(**kw):
            s = Select()
            s.__dict__.update(self.__dict__)
            s.__dict__.update(kw)
            return s
        if self.order:
            yield but(order="")
        for name in ("where", "having"):
            xs = getattr(self, name)
            for i in range(len(xs)):
                yield but(**{name: xs[:i] + xs[i + 1 :]})
        if self.distinct:
            yield but(distinct=False)
        if not self.order and len(self.items) > 1:
            for i in range(len(self.items)):
                yield but(items=self.items[:i] + self.items[i + 1 :])
        for i in range(len(self.group)):
            g = self.group[i]
            if not self.order:
                left = [x for x in self.items if x[0] != g]
                if left:
                    yield but(group=self.group[:i] + self.group[i + 1 :], items=left)


# ---- comparison ----------------------------------------------------------------------------------

NUMBERS = {20, 21, 23, 700, 701, 1700}


def number(v):
    try:
        return float(v)
    except ValueError:
        return None


def close(a, b, oid):
    if a == b:
        return True
    if a is None or b is None or oid not in NUMBERS:
        return False
    x, y = number(a), number(b)
    if x is None or y is None:
        return False
    if math.isnan(x) or math.isnan(y):
        return math.isnan(x) and math.isnan(y)
    if math.isinf(x) or math.isinf(y):
        return x == y
    tol = 1e-5 if oid == 700 else 1e-9
    return abs(x - y) <= tol * max(abs(x), abs(y), 1e-4)


def key(row, oids, digits=5):
    out = []
    for v, o in zip(row, oids):
        n = number(v) if v is not None and o in NUMBERS else None
        out.append((0, "") if v is None else (1, f"{n + 0.0:.{digits}e}") if n is not None else (2, v))
    return out


def difference(mine, theirs, oids, ordered):
    """None, or what differs."""
    if len(mine) != len(theirs):
        return f"{len(mine)} rows, PostgreSQL has {len(theirs)}"
    if not ordered:
        # Rounded sort keys bring nearly equal values together but may tie different ones, exact keys the reverse: one must do.
        exact = sorted(mine, key=lambda r: key(r, oids, 15)), sorted(theirs, key=lambda r: key(r, oids, 15))
        if difference(*exact, oids, True) is None:
            return None
        mine, theirs = sorted(mine, key=lambda r: key(r, oids)), sorted(theirs, key=lambda r: key(r, oids))
    for i, (a, b) in enumerate(zip(mine, theirs)):
        if len(a) != len(b):
            return f"row {i + 1}: {a!r}, PostgreSQL has {b!r}"
        if not all(close(x, y, o) for x, y, o in zip(a, b, oids)):
            return f"row {i + 1}: {a!r}, PostgreSQL has {b!r}"
    return None


class Pair:
    """One database in each system."""

    def __init__(self, stele, server, settings):
        self.s = Stele(stele)
        self.p = server.connect()
        self.p.exec("drop schema if exists public cascade; create schema public; set statement_timeout = '5s'")
        for x in settings:
            self.s.raw(x)
        self.s.raw("set statement_timeout = '40s'")

    def close(self):
        self.s.close()
        self.p.close()

    def compare(self, sql, ordered=False):
        """(verdict, text): "ok", "skip" or "bad"."""
        try:
            theirs, perr = self.p.exec(sql), None
        except pg.Error as e:
            theirs, perr = None, e
        if (perr is not None and perr.state == "57014") or (theirs and len(theirs.rows) > 50000):
            return "skip", ""  # too slow or too large to be worth it
        kind, mine = self.s.exec(sql)
        if kind == "error":
            if mine[0] in ("0A000", "57014"):  # not supported; or slow, with rules off and vectors of one row
                return "skip", mine[1]
            if perr is None:
                return "bad", f"Stele: {mine[0]}: {mine[1]}; PostgreSQL: {theirs.tag}"
            return "ok", ""
        if perr is not None:
            # Names and types that only Stele has (min of a boolean) are extensions.
            return ("skip", "") if perr.state[:2] == "42" else ("bad", f"PostgreSQL: {perr}; Stele has no error")
        if not theirs.types:
            return ("ok", "") if kind == "tag" and mine == theirs.tag else ("bad", f"Stele: {mine!r}; PostgreSQL: {theirs.tag}")
        if kind != "rows":
            return "bad", f"Stele: {mine!r}; PostgreSQL: rows"
        d = difference(mine, theirs.rows, [t[0] for t in theirs.types], ordered)
        return ("bad", d) if d else ("ok", "")


def load(pair, schema):
    for name, _, ddl, rows in schema:
        v, why = pair.compare(ddl)
        if v == "bad":
            return f"{ddl}: {why}"
        for i in range(0, len(rows), 500):
            sql = f"insert into {name} values " + ", ".join("(" + ", ".join(r) + ")" for r in rows[i : i + 500])
            v, why = pair.compare(sql)
            if v == "bad":
                return f"{sql[:2000]}: {why}"
    return None


class Runner:
    def __init__(self, o):
        self.o = o
        self.stele = next((p for p in (os.path.join(o.build, "stele"), os.path.join(o.build, "release", "stele")) if os.path.exists(p)), None)
        if not self.stele:
            raise SystemExit(f"no stele in {o.build}")
        self.passed = self.failed = self.skipped = 0
        self.skip_reasons = {}
        self.out = os.path.join(o.build, "diff")

    def shrink(self, schema, settings, query, ordered, seconds=8):
        """Removes settings, rows and parts of the query while the difference stays."""
        end = time.monotonic() + seconds

        def still(sch, q, st, ordr):
            p = None
            try:
                p = Pair(self.stele, self.server, st)
                if load(p, sch):
                    return None
                v, why = p.compare(q.render() if isinstance(q, Select) else q, ordr)
                return why if v == "bad" else None
            except Died as e:
                return str(e)
            finally:
                if p:
                    p.close()

        why = None
        if settings and (w := still(schema, query, [], ordered)):
            settings, why = [], w
        changed = True
        while changed and isinstance(query, Select) and time.monotonic() < end:
            changed = False
            for q in query.smaller():
                if time.monotonic() > end:
                    break
                w = still(schema, q, settings, ordered and bool(q.order))
                if w and not (w.startswith("Stele: 4") or w.startswith("PostgreSQL: 4")):
                    query, why, changed, ordered = q, w, True, ordered and bool(q.order)
                    break
        text = query.render() if isinstance(query, Select) else query
        used = [t for t in schema if re.search(rf"\b{t[0]}\b", text)]
        if len(used) < len(schema) and (w := still(used, query, settings, ordered)):
            schema, why = used, w
        for i in range(len(schema)):
            step = max(1, len(schema[i][3]) // 2)
            while step and time.monotonic() < end:
                at, cut = 0, False
                while at < len(schema[i][3]) and time.monotonic() < end:
                    name, cols, ddl, rows = schema[i]
                    trial = schema[:i] + [(name, cols, ddl, rows[:at] + rows[at + step :])] + schema[i + 1 :]
                    if w := still(trial, query, settings, ordered):
                        schema, why, cut = trial, w, True
                    else:
                        at += step
                step = step // 2 if not cut or step > 1 else 0
        return schema, settings, query, why

    def report(self, seed, schema, settings, query, ordered, why, changes=()):
        self.failed += 1
        if isinstance(query, Select) or query:
            if not changes:
                schema, settings, query, w = self.shrink(schema, settings, query, ordered)
                why = w or why
        os.makedirs(self.out, exist_ok=True)
        path = os.path.join(self.out, f"seed-{seed}-{self.failed}.sql")
        with open(path, "w", encoding="utf-8") as f:
            f.write(f"-- seed {seed}\n-- {why}\n")
            for s in settings:
                f.write(s + ";\n")
            for name, _, ddl, rows in schema:
                f.write(ddl + ";\n")
                for i in range(0, len(rows), 20):
                    f.write(f"insert into {name} values " + ", ".join("(" + ", ".join(r) + ")" for r in rows[i : i + 20]) + ";\n")
            for c in changes:
                f.write(c + ";\n")
            f.write((query.render() if isinstance(query, Select) else query) + ";\n")
        print(f"seed {seed}: {why}\n    {(query.render() if isinstance(query, Select) else query)[:1500]}\n    {path}", flush=True)

    def round(self, seed):
        rng = random.Random(seed)
        g = Gen(rng)
        schema = g.schema()
        settings = []
        if rng.random() < 0.6:
            settings.append(f"set vector_size = {rng.choice([1, 3, 7, 64, 1024])}")
        if rng.random() < 0.4:
            settings.append(f"set morsel_rows = {rng.choice([1, 7, 100])}")
        if rng.random() < 0.3:
            rules = "constant_folding predicate_pushdown outer_join_simplification join_order build_side functional_dependencies grouping_sets runtime_filters common_subexpressions zone_maps top_n or_factoring dictionary_codes value_ranges".split()
            settings.append(f"set disabled_rules = '{','.join(rng.sample(rules, rng.randint(1, len(rules))))}'")
        pair = Pair(self.stele, self.server, settings)
        try:
            if why := load(pair, schema):
                self.report(seed, schema, settings, "select 1", False, why, ["-- loading failed"])
                return
            changes, in_txn = [], False
            for n in range(self.o.queries):
                if time.monotonic() > self.end or self.failed >= self.o.max_failures:
                    return
                if rng.random() < 0.2:
                    k = rng.random()
                    if not in_txn and k < 0.15:
                        sql = "begin"
                    elif in_txn and k < 0.5:
                        sql = rng.choice(["commit", "rollback", "rollback"])
                    else:
                        sql = g.change()
                    if not in_txn or sql in ("commit", "rollback"):
                        v, why = pair.compare(sql)
                        in_txn = sql == "begin"
                    else:
                        v, why = pair.compare(sql)
                    changes.append(sql)
                    if v == "skip":
                        # Only one side has made the change: the round is over.
                        self.skip(why)
                        return
                    if v == "ok":
                        name, cols = g.pick(g.tables)
                        v, why = pair.compare(f"select * from {name}")
                        if v == "bad":
                            why = f"after changes, {name}: {why}"
                    if v == "bad":
                        self.report(seed, schema, settings, changes[-1], False, why, changes[:-1] or ["-- no changes before"])
                        return
                    self.passed += 1
                    continue
                q, ordered = g.query()
                sql = q.render() if isinstance(q, Select) else q
                if len(sql) > 6000:
                    continue
                if self.o.verbose:
                    print(sql, flush=True)
                v, why = pair.compare(sql, ordered)
                if v == "ok":
                    self.passed += 1
                elif v == "skip":
                    self.skip(why)
                    if in_txn:
                        return
                else:
                    pair.close()
                    self.report(seed, schema, settings, q, ordered, why, changes)
                    return
        except Died as e:
            self.report(seed, schema, settings, q if "q" in locals() else "", False, str(e), changes)
        finally:
            try:
                pair.close()
            except Exception:
                pass

    def skip(self, why):
        self.skipped += 1
        if why:
            self.skip_reasons[why] = self.skip_reasons.get(why, 0) + 1

    def run(self):
        self.server = pg.Server()
        try:
            self.end = time.monotonic() + self.o.seconds
            seed = self.o.seed
            while time.monotonic() < self.end and self.failed < self.o.max_failures and (self.o.rounds == 0 or seed < self.o.seed + self.o.rounds):
                self.round(seed)
                seed += 1
        finally:
            self.server.stop()
        for why, n in sorted(self.skip_reasons.items(), key=lambda x: -x[1])[:12]:
            print(f"not supported ({n}): {why}")
        print(f"{self.skipped} skipped, seeds {self.o.seed} to {seed - 1}")
        print(f"{self.passed} passed, {self.failed} failed")
        return 1 if self.failed else 0


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--build", default="build")
    a.add_argument("--seconds", type=float, default=60)
    a.add_argument("--seed", type=int, default=1)
    a.add_argument("--rounds", type=int, default=0)
    a.add_argument("--queries", type=int, default=60)
    a.add_argument("--max-failures", type=int, default=25)
    a.add_argument("--verbose", action="store_true")
    return Runner(a.parse_args()).run()


if __name__ == "__main__":
    sys.exit(main())
