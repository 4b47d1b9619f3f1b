#!/usr/bin/env python3
"""Random procedures and random bulks of their calls: whatever the strategy, vector, number of threads, executor and cut, the results of all calls and all tables must be
those of calling them one by one.

usage: oracle.py [--build DIR] [--seconds N] [--seed S] [--rounds N] [--verbose] [--big N] [--set "SQL"]

On devices with memory of their own (`bulk_copies`, cuda) bulks are told what comes next, in about half of the configurations; a run of AHEAD_CASES such cases in which no bulk found its footprints made
ahead has not tested that, and counts as a failure.

Every round has a seed of its own: `--seed S --rounds 1` runs one again. A difference is reduced (fewer calls, routines, statements) and written to BUILD/bulk/.
The driver (driver.c) runs the cases. The last line is `N passed, N failed`.
"""
import argparse
import collections
import os
import random
import re
import select
import subprocess
import sys
import time
import zlib

AHEAD_CASES = 20
KEY_CHANGES = 3
HANG = 900 # seconds without an answer: the driver hangs; a busy machine is slow
SMALL_WORDS = ["", "a", "b", "ab", "abc", "x", "foo", "bar", "Abc", "é", "a text of more than twelve bytes", "another rather long text", "0", "7"]


# ---- the driver ---------------------------------------------------------------------------------
class Driver:
    def __init__(self, path, recover=None):
        self.path = path
        self.recover = ["--recover", recover] if recover else []
        self.p = None

    def run(self, text, timeout):
        """The answer's lines; the last one is ('X', why) when the driver died."""
        if self.p is None or self.p.poll() is not None:
            self.p = subprocess.Popen([self.path] + self.recover, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        out, left = b"", text.encode()
        end = time.monotonic() + timeout
        os.set_blocking(self.p.stdin.fileno(), False)
        while not (out == b"=\n" or out.endswith(b"\n=\n")):
            wait = end - time.monotonic()
            if wait <= 0:
                return self.lines(out) + [("X", f"no answer in {timeout} s" + self.kill())]
            r, w, _ = select.select([self.p.stdout], [self.p.stdin] if left else [], [], wait)
            try:
                if w:
                    left = left[os.write(self.p.stdin.fileno(), left[:65536]):]
            except (BlockingIOError, BrokenPipeError):
                left = left if self.p.poll() is None else b""
            if r:
                chunk = os.read(self.p.stdout.fileno(), 1 << 16)
                if not chunk:
                    return self.lines(out) + [("X", "the driver ended" + self.kill())]
                out += chunk
        return self.lines(out)

    @staticmethod
    def lines(out):
        return [(x[:1], x[2:]) for x in out.decode("utf-8", "replace").split("\n") if x and x != "="]

    def kill(self):
        self.p.kill()
        code = self.p.wait()
        err = self.p.stderr.read().decode("utf-8", "replace")
        for f in (self.p.stdin, self.p.stdout, self.p.stderr):
            f.close()
        self.p = None
        return f" ({code}): {err[-3000:]}"

    def close(self):
        if self.p:
            self.kill()


# ---- schemas -------------------------------------------------------------------------------------
class Col:
    def __init__(self, name, type_, not_null):
        self.name, self.type, self.not_null = name, type_, not_null
        self.key = False     # of a unique key
        self.frozen = False  # no UPDATE sets it


class Table:
    pass


def literal(rng, t, domain=10):
    """SQL text of a value."""
    k = rng.random()
    if t == "int":
        return str(rng.randrange(domain)) if k < 0.9 else str(rng.choice([-1, 100, 2000, -7]))
    if t == "smallint":
        return str(rng.randrange(domain)) if k < 0.95 else str(rng.choice([32767, -32768, 300]))
    if t == "bigint":
        return str(rng.randrange(domain)) if k < 0.9 else str(rng.choice([-1, 10**10, 4 * 10**18, -5]))
    if t == "numeric(12,2)":
        return f"{rng.randrange(-200, 2000) / 100:.2f}"
    if t == "numeric":
        return rng.choice(["0", "1.5", "0.001", "-3", "12345678901.5", str(rng.randrange(100))])
    if t == "boolean":
        return rng.choice(["true", "false"])
    if t == "double precision":
        return rng.choice(["0", "1.5", "-2.25", "1e10", "0.1"])
    if t == "date":
        return f"'2020-01-{rng.randrange(1, 29):02d}'"
    return "'" + rng.choice(SMALL_WORDS) + "'"


def key_literal(rng, t, domain):
    n = rng.randrange(min(domain, 3)) if rng.random() < 0.5 else rng.randrange(domain)
    return f"'k{n}'" if t == "text" else str(n)


class Gen:
    logged = ["min", "max", "avg", "count"]  # aggregates whose text is a result
    set_queries = False  # many loops over queries that group, order and combine rows

    def __init__(self, seed, big=0):
        self.r = random.Random(seed)
        self.big = big
        self.parts = self.chance(0.7)  # calls of other routines and subqueries
        self.notices = self.parts and self.chance(0.3)
        self.tables, self.procs, self.setup, self.calls = [], [], [f"set bulk_step_limit = {random.Random(seed + 1).choice([2000, 2000, 2000, 100, 12, 5])}"], []

    def chance(self, p):
        return self.r.random() < p

    # ---- tables ----
    def table(self, number):
        r, t = self.r, Table()
        t.name = f"t{number}"
        t.domain = r.choice([1, 2, 4, 10, 40])
        t.frozen_rows = self.chance(0.4)
        t.cols, t.keys = [], []
        n_key = r.choice([0, 1, 1, 1, 2, 2, 3])
        for i in range(n_key):
            c = Col(f"k{i}", r.choice(["int", "int", "int", "bigint", "text", "smallint"]), True)
            c.key = c.frozen = True
            t.cols.append(c)
        if n_key:
            t.keys.append(list(t.cols))
        else:
            c = Col("g", r.choice(["int", "text"]), False)
            c.frozen = True
            t.cols.append(c)
        for i in range(r.randrange(1, 5)):
            c = Col(f"v{i}", r.choice(["int", "int", "bigint", "bigint", "numeric(12,2)", "numeric", "text", "boolean", "double precision", "date", "smallint"]), self.chance(0.4))
            c.frozen = self.chance(0.3)
            t.cols.append(c)
        if n_key and self.chance(0.3):
            more = []
            for i in range(r.choice([1, 1, 2])):
                c = Col(f"u{i}", r.choice(["int", "text"]), self.chance(0.5))
                c.key = c.frozen = True
                t.cols.append(c)
                more.append(c)
            t.keys.append(more)
        defs = [f"{c.name} {c.type}" + (" not null" if c.not_null and not (n_key and c in t.keys[0]) else "") for c in t.cols]
        if t.keys:
            defs.append(f"primary key ({', '.join(c.name for c in t.keys[0])})")
        for k in t.keys[1:]:
            defs.append(f"unique ({', '.join(c.name for c in k)})")
        for c in t.cols:
            if not c.key and self.chance(0.25):
                if c.type in ("int", "bigint", "smallint", "numeric(12,2)", "numeric"):
                    defs.append(f"check ({c.name} > {r.choice(['-100', '-10', '-1000'])})")
                elif c.type == "text":
                    defs.append(f"check ({c.name} <> 'foo')")
        t.strict = any(c.not_null for c in t.cols) or "check" in " ".join(defs)
        self.setup.append(f"create table {t.name} ({', '.join(defs)})")
        n = r.choice([0, 3, 10, 30]) if n_key else r.choice([0, 5])
        for _ in range(n):
            self.setup.append(f"insert into {t.name} values ({', '.join(self.cell(t, c) for c in t.cols)}) on conflict do nothing")
        self.tables.append(t)

    def cell(self, t, c):
        r = self.r
        if not c.not_null and self.chance(0.12):
            return "null"
        if c.key or c.name == "g":
            return key_literal(r, c.type, t.domain)
        for _ in range(9):
            x = literal(r, c.type)
            if not (c.type == "text" and x == "'foo'") and not x.startswith("-"):
                return x
        return "'ok'" if c.type == "text" else "1"

    # ---- expressions ----
    def var(self, *types):
        xs = [n for n, t in self.vars.items() if t in types]
        return self.r.choice(xs) if xs else None

    def sum(self, a, b):
        """Which cannot overflow."""
        return f"({a} % 1000 {self.r.choice('+-')} {b} % 1000)"

    def num(self, d=0, safe=False):
        """int expression"""
        r = self.r
        if self.again and not safe and self.chance(0.12):  # what was computed before, on another way or of other values maybe
            x = self.before("num")
            if x:
                return x
        if self.array and self.chance(0.12):
            return self.remember("num", f"a[{r.choice(['1', '2', '3', self.var('int') or '1'])}]")
        return self.remember("num", self.number(d, safe))

    def before(self, what):
        """A text that was made before, of what there still is."""
        xs = [x for x in self.recent[what] if all(v in self.vars for v in re.findall(r"\bi\d\b", x))]
        return self.r.choice(xs) if xs else None

    def remember(self, what, text):
        if self.again and (what != "num" or (text[-1:] in ")]" and not re.search(r"select|\bp\d+\(|q\d", text))):
            self.recent[what] = (self.recent[what] + [text])[-6:]
        return text

    def number(self, d, safe):
        r = self.r
        if self.parts and d < 3 and self.chance(0.04):
            return self.scalar("int", "smallint") or "4"
        if self.parts and d < 3 and not safe and not self.in_sql and self.chance(0.03):
            return self.call_expr() or "5"
        k = r.randrange(12 if d < 2 else 5)
        if k < 2:
            return str(r.choice([0, 1, 2, 3, 5, 10, -1, 7]))
        if k < 5:
            return self.var("int") or "1"
        if k < 8:
            return self.sum(self.num(d + 1, True), self.num(d + 1, True)) if safe else f"({self.num(d + 1)} {r.choice('+-*')} {self.num(d + 1)})"
        if k == 8:
            return self.sum(self.num(d + 1, True), self.num(d + 1, True)) if safe else f"({self.num(d + 1)} {r.choice('/%')} {self.num(d + 1)})"
        if k == 9:
            return f"coalesce({self.num(d + 1, safe)}, {self.num(d + 1, safe)})"
        if k == 10:
            return f"(case when {self.cond(d + 1, safe)} then {self.num(d + 1, safe)} else {self.num(d + 1, safe)} end)"
        return r.choice([f"greatest({self.num(d + 1, safe)}, 0)", f"abs({self.num(d + 1, safe)})", f"least({self.num(d + 1, safe)}, 5)", f"coalesce(length({self.expr('text', d + 1, safe)}), 0)"])

    def cond(self, d=0, safe=False):
        """boolean expression"""
        r = self.r
        if self.parts and d < 3 and self.chance(0.06):
            t = r.choice(self.tables)
            cs = [c for c in t.cols if c.type in ("int", "smallint", "bigint")]
            if cs and self.chance(0.4):
                how = r.choice(["in", "not in", "= any", "> any", "<= all", "<> all"])
                return f"{self.num(2, True)} {how} (select z.{r.choice(cs).name} from {t.name} z where {self.where_key(t, 'z')[0]}{self.extra(t, 'z')})"
            return f"{r.choice(['', '', 'not '])}exists (select 1 from {t.name} z where {self.where_key(t, 'z')[0]}{self.extra(t, 'z')})"
        k = r.randrange(9 if d < 2 else 3)
        if k < 3:
            return f"{self.num(d + 1, safe)} {r.choice(['<', '>', '=', '<>', '<=', '>='])} {self.num(d + 1, safe)}"
        if k == 3:
            return f"({self.cond(d + 1, safe)} {r.choice(['and', 'or'])} {self.cond(d + 1, safe)})"
        if k == 4:
            return f"not ({self.cond(d + 1, safe)})"
        if k == 5:
            return f"{self.var('int', 'bigint', 'text', 'numeric')} is {r.choice(['', 'not '])}null"
        if k == 6:
            return "found" if self.use_found else "true"
        if k == 7:
            return f"{self.expr('text', d + 1, safe)} {r.choice(['=', '<', '<>'])} {self.expr('text', d + 1, safe)}"
        return f"{self.var('bigint') or '1'} > {self.expr('bigint', d + 1, safe)}"

    def gate(self):
        """A condition of a statement that looks at none of its columns."""
        return self.cond()

    def scalar(self, *types):
        """A subquery of at most one row; None without a table for it. Aggregates are of one row always."""
        r = self.r
        xs = [(t, c) for t in self.tables for c in t.cols if c.type in types and t.keys]
        if not xs:
            return None
        t, c = r.choice(xs)
        parts, self.parts = self.parts, False
        if self.chance(0.3):
            text = f"(select {r.choice(['max', 'min'])}(z.{c.name}) from {t.name} z where {self.where_key(t, 'z')[0]}{self.extra(t, 'z')})"
        else:
            key = r.choice(t.keys)
            text = f"(select z.{c.name} from {t.name} z where {' and '.join(f'z.{k.name} = {self.key_value(t, k)}' for k in key)}{self.extra(t, 'z')})"
        self.parts = parts
        return text

    def call_args(self, p):
        parts, self.parts = self.parts, False
        args = [self.expr(t, 1) if t != "smallint" else str(self.r.randrange(4)) + "::smallint" for t in p.params.values()]
        self.parts = parts
        if p.array:
            args.append(self.r.choice(["a", "array[1, 2]"] if self.array else ["array[1, 2]", "array[3, null, 1]"]))
        return args

    def call_expr(self):
        """A call of an earlier function: an int."""
        fs = [p for p in self.procs if p.function and p.cost < 3]
        if not fs or self.in_sql or self.calls_left <= 0:
            return None
        p = self.r.choice(fs)
        self.calls_left -= 1
        self.cost = max(self.cost, p.cost + 1)
        return f"{p.name}({', '.join(self.call_args(p))})"

    def call_stmt(self):
        r = self.r
        ps = [p for p in self.procs if p.cost < 3]
        if not ps or self.calls_left <= 0:
            return self.simple()
        p = r.choice(ps)
        if p.function:
            x = self.call_expr()
            k = r.randrange(4)
            v = self.var_set("int")
            if k == 0 or not v:
                return f"perform {x};" + (" " + self.log("found") if self.use_found else "")
            if k == 1:
                return f"select {x}, {self.num(1)} into {v};" if self.chance(0.5) else f"select y.* into {v} from {x} y;"
            return f"{v} := {x}" + (f" + {self.num(1)};" if k == 2 else ";")
        targets = []
        for t in p.outs:
            v = self.var_set(t)
            if not v or v in targets:
                return self.simple()
            targets.append(v)
        self.calls_left -= 1
        self.cost = max(self.cost, p.cost + 1)
        return f"call {p.name}({', '.join(self.call_args(p) + targets)});"

    def expr(self, t, d=0, safe=False):
        r = self.r
        if d == 0 and not safe and self.chance(0.06):
            return "null"
        if t == "int":
            return self.num(d, safe)
        if t == "smallint":
            return f"({self.num(d + 1, safe)})::smallint" if not safe else str(r.randrange(5))
        if t == "boolean":
            return f"({self.cond(d, safe)})"
        if t == "bigint":
            v = self.var("bigint")
            k = r.randrange(5 if d < 2 else 3)
            if k == 0 or not v:
                return f"{self.num(d + 1, safe)}::bigint"
            if k < 3:
                return v
            return self.sum(v, self.expr("bigint", d + 1, True)) if safe else f"({v} {r.choice('+-*/')} {self.expr('bigint', d + 1)})"
        if t == "numeric(12,2)":
            return r.choice([f"{self.num(d + 1, safe)}::numeric(12,2)", f"({self.num(d + 1, safe)} * 0.25)::numeric(12,2)", str(r.randrange(-500, 500) / 100), self.var("numeric(12,2)") or "1.5"])
        if t == "numeric":
            v = self.var("numeric")
            return r.choice([f"{self.num(d + 1, safe)}::numeric", v or "2.5", f"({v or '1.25'} + {self.num(d + 1, safe)})", str(r.randrange(-500, 500) / 100)])
        if t == "double precision":
            return f"{self.num(d + 1, safe)} * 0.5::double precision"
        if t == "date":
            return r.choice(["date '2021-05-05'", f"date '2020-02-02' + ({self.num(2, True)}) % 100"])
        v = self.var("text") or "'v'"
        k = r.randrange(6 if d < 2 else 2)
        if k == 0:
            return literal(r, "text")
        if k < 3:
            return v
        if k == 3:
            return f"left({v} || {self.expr('text', d + 1, safe)}, 30)"
        if k == 4:
            return f"({self.num(d + 1, safe)})::text"
        return r.choice([f"upper({v})", f"coalesce({v}, 'n')"])

    # ---- rows ----
    def key_value(self, t, c, row=None):
        """What a key column is compared with; nothing in it may fail: without rows it need not be computed."""
        if self.again and self.chance(0.55):
            x = self.before((t.name, c.name))
            if x:
                return x
        x = self.new_key_value(t, c, row)
        return x if row else self.remember((t.name, c.name), x)

    def new_key_value(self, t, c, row):
        r = self.r
        if c.type not in ("int", "bigint", "smallint", "text"):
            return self.expr(c.type, 1, True)
        if row and self.chance(0.6):
            xs = [f"{row}.{x.name}" for x in self.rows[row].cols if x.type == c.type]
            if xs:
                return r.choice(xs)
        k = r.random()
        keys = [n for n, tt in self.params.items() if tt == c.type]
        if k < 0.6 and keys:
            return r.choice(keys)
        if k < 0.75:
            return key_literal(r, c.type, t.domain) + ("::smallint" if c.type == "smallint" else "::bigint" if c.type == "bigint" else "")
        if k < 0.9 or c.type == "text":
            return self.var(c.type) or key_literal(r, c.type, t.domain)
        if c.type == "int":
            if self.array and self.chance(0.5):
                return f"a[{self.var('int')}]"
            return f"abs({self.var('int')} % {t.domain})"
        return f"({self.var('int')} % 9)::{c.type}"

    def where_key(self, t, alias="", row=None):
        """(text, whether at most one row matches)"""
        r = self.r
        p = alias + "." if alias else ""
        if self.parts and self.chance(0.05):  # all rows are looked at
            c = r.choice(t.cols)
            return f"{p}{c.name} {r.choice(['>', '<', '<>'])} {self.expr(c.type, 1, True)}", False
        if self.parts and self.chance(0.07):
            x = self.in_query(t, p)
            if x:
                return x, False
        if t.keys and self.chance(0.8):
            k = r.choice(t.keys)
            conds = [f"{p}{c.name} = {self.key_value(t, c, row)}" for c in k]
            r.shuffle(conds)
            return " and ".join(conds), True
        cols = [c for c in t.cols if (c.key or c.frozen) and c.type in ("int", "bigint", "smallint", "text")] or [t.cols[0]]
        conds = [f"{p}{c.name} = {self.key_value(t, c, row)}" for c in r.sample(cols, min(len(cols), r.choice([1, 1, 2])))]
        return " and ".join(conds), False

    def in_query(self, t, p):
        """Columns that are among the rows of a query over another table."""
        r = self.r
        u = r.choice(self.tables)
        same = [(c, x) for c in t.cols for x in u.cols if c.type == x.type and c.type != "double precision"]
        if u is t or not same:
            return None
        pairs = r.sample(same, min(len(same), r.choice([1, 1, 2])))
        parts, self.parts = self.parts, False
        query = f"(select {', '.join('zz.' + x.name for _, x in pairs)} from {u.name} zz where {self.where_key(u, 'zz')[0]}{self.extra(u, 'zz')})"
        self.parts = parts
        names = ", ".join(p + c.name for c, _ in pairs)
        return f"{f'({names})' if len(pairs) > 1 else names} in {query}"

    def extra(self, t, alias=""):
        """A further condition; its columns may be anything."""
        r = self.r
        if self.chance(0.7):
            return ""
        p = alias + "." if alias else ""
        c = r.choice(t.cols)
        if self.chance(0.3):
            return f" and {p}{c.name} is {r.choice(['', 'not '])}null"
        return f" and {p}{c.name} {r.choice(['=', '>', '<', '<>', '>='])} {self.expr(c.type, 1, True)}"

    def target(self, t):
        return self.var_set(t)

    def var_set(self, t):
        xs = [n for n, tt in self.vars.items() if tt == t and n not in self.fixed]
        return self.r.choice(xs) if xs else None

    def into(self, t, cols_max=2):
        """(select list, targets) of columns of t; None when no variable fits."""
        r = self.r
        cols = [c for c in t.cols if self.var_set(c.type)]
        if not cols:
            return None
        cols = r.sample(cols, min(len(cols), r.randrange(1, cols_max + 1)))
        targets, out = [], []
        for c in cols:
            v = self.var_set(c.type)
            if v in targets:
                continue
            targets.append(v)
            out.append(c.name)
        return out, targets

    def set_item(self, t, c, many):
        """SET of a column; many: several rows may be changed: nothing may fail."""
        r = self.r
        numeric = c.type in ("int", "bigint", "numeric(12,2)", "numeric", "smallint")
        k = r.random()
        if numeric and k < 0.55:
            by = self.expr(c.type, 1, many) if c.type != "smallint" else r.choice(["1", "2"])
            if many:
                by = r.choice(["1", "2", f"{self.var('int') or '1'} % 50", f"{self.var('int') or '1'} % 7"])
            elif self.chance(0.5):
                by = r.choice([self.var("int") or "1", "1", "2", self.var(c.type) or "3"])
            return f"{c.name} = {c.name} {r.choice('++-')} {by}" if self.chance(0.9) else f"{c.name} = {by} + {c.name}"
        if k < 0.75:
            other = [x for x in t.cols if x.type == c.type]
            if other and numeric and not many:
                return f"{c.name} = {r.choice(other).name} {r.choice('+-*')} {r.choice(other).name}"
            if other and many is False and self.chance(0.5):
                return f"{c.name} = {r.choice(other).name}"
        return f"{c.name} = {self.expr(c.type, 0, many)}"

    def update(self, row=None):
        self.in_sql = True
        text = self.update_text(row)
        self.in_sql = False
        return text

    def update_text(self, row):
        r = self.r
        ts = [t for t in self.tables if any(not c.frozen for c in t.cols)]
        if not ts:
            return "null;"
        t = r.choice(ts)
        if not row and self.chance(0.08):
            return self.update_from(t)
        where, one = self.where_key(t, "", row)
        if row and not one:
            return "null;"
        cols = [c for c in t.cols if not c.frozen]
        cols = r.sample(cols, min(len(cols), r.choice([1, 1, 1, 2, 3])))
        sets = ", ".join(self.set_item(t, c, not one) for c in cols)
        sql = f"update {t.name} set {sets} where {where}{self.extra(t)}"
        if self.chance(0.3) and not row:
            x = self.into(t)
            if x:
                sql += f" returning {', '.join(x[0])} into {r.choice(['', '', 'strict '])}{', '.join(x[1])}"
        return sql + ";"

    def join_cond(self, t, u, a, b):
        """Rows b of u for a row a of t."""
        r = self.r
        conds = []
        cols = r.choice(u.keys) if u.keys and self.chance(0.8) else [r.choice([c for c in u.cols if c.key or c.name == "g"])]
        for y in cols:
            same = [x for x in t.cols if x.type == y.type]
            conds.append(f"{b}.{y.name} = {a}.{r.choice(same).name}" if same and self.chance(0.7) else f"{b}.{y.name} = {self.key_value(u, y)}")
        return " and ".join(conds)

    def update_from(self, t):
        """A row that meets several is changed once."""
        r = self.r
        cols = [c for c in t.cols if not c.frozen and c.type in ("int", "bigint")]
        u = r.choice(self.tables)
        if not cols:
            return "null;"
        c = r.choice(cols)
        return f"update {t.name} y set {c.name} = {r.choice(['y.' + c.name + ' + ', ''])}{r.choice(['1', '3'])} from {u.name} x where {self.where_key(u, 'x')[0]} and {self.join_cond(u, t, 'x', 'y')};"

    def insert_select(self, t):
        """What is inserted depends on the key alone, so that it makes no difference which row comes first."""
        r = self.r
        u = r.choice([u for u in self.tables if t.keys or u is not t] or [None])
        if not u:
            return "null;"
        where = self.where_key(u, "x")[0]
        vals = []
        for c in t.cols:
            same = [x for x in u.cols if x.type == c.type and x.not_null]
            if c.key or c.name == "g":
                vals.append(f"x.{r.choice(same).name}" if same else key_literal(r, c.type, t.domain) + ("" if c.type == "text" else "::" + c.type))
            else:
                vals.append({"int": "4", "smallint": "5::smallint", "bigint": "6::bigint", "text": "'sel'", "boolean": "true", "date": "date '2022-02-02'"}.get(c.type, "7"))
        return f"insert into {t.name} ({', '.join(c.name for c in t.cols)}) select {', '.join(vals)} from {u.name} x where {where}{self.extra(u, 'x')} on conflict do nothing;"

    def insert(self, row=None):
        self.in_sql = True
        text = self.insert_text(row)
        self.in_sql = False
        return text

    def insert_text(self, row):
        r = self.r
        ts = [t for t in self.tables if not t.frozen_rows]
        if not ts:
            return "null;"
        t = r.choice(ts)
        if not row and len(t.keys) < 2 and self.chance(0.1):
            return self.insert_select(t)
        vals = [self.key_value(t, c, row) if (c.key or c.name == "g") else ("null" if not c.not_null and self.chance(0.1) else self.expr(c.type, 0, bool(row))) for c in t.cols]
        rows = [f"({', '.join(vals)})"]
        sql = f"insert into {t.name} ({', '.join(c.name for c in t.cols)}) values "
        if self.chance(0.07) and not t.keys and not t.strict:  # a statement alone checks its rows column by column and key by key, a bulk row by row, as PostgreSQL does
            rows.append("(" + ", ".join(self.key_value(t, c, row) if (c.key or c.name == "g") else self.expr(c.type, 1) for c in t.cols) + ")")
        sql += ", ".join(rows)
        plain = [c for c in t.cols if not c.key and not c.frozen]
        if self.parts and not row and len(rows) == 1 and t.keys and plain and self.chance(0.35):
            sets = []
            for c in r.sample(plain, min(len(plain), r.choice([1, 1, 2]))):
                numeric = c.type in ("int", "bigint", "numeric(12,2)", "numeric", "smallint")
                v = [f"excluded.{c.name}", self.expr(c.type, 1)] + ([f"{t.name}.{c.name} {r.choice('+-')} excluded.{c.name}", f"coalesce({t.name}.{c.name}, 0) + 1"] if numeric else [])
                sets.append(f"{c.name} = {r.choice(v)}")
            sql += f" on conflict ({', '.join(c.name for c in r.choice(t.keys))}) do update set {', '.join(sets)}"
            if self.chance(0.3):
                c = r.choice(t.cols)
                sql += f" where {t.name}.{c.name} {r.choice(['=', '>', '<', '<>', '>='])} {self.expr(c.type, 1, True)}"
        elif row or self.chance(0.4):
            sql += " on conflict do nothing"
        if self.chance(0.2) and not row and len(rows) == 1:
            x = self.into(t)
            if x:
                sql += f" returning {', '.join(x[0])} into {', '.join(x[1])}"
        return sql + ";"

    def delete(self, row=None):
        self.in_sql = True
        text = self.delete_text(row)
        self.in_sql = False
        return text

    def delete_text(self, row):
        r = self.r
        ts = [t for t in self.tables if not t.frozen_rows]
        if not ts:
            return "null;"
        t = r.choice(ts)
        where, one = self.where_key(t, "", row)
        sql = f"delete from {t.name} where {where}{self.extra(t)}"
        if self.chance(0.25) and one and not row:
            x = self.into(t)
            if x:
                sql += f" returning {', '.join(x[0])} into {', '.join(x[1])}"
        return sql + ";"

    def query(self):
        r = self.r
        t = r.choice(self.tables)
        k = r.randrange(10)
        where, one = self.where_key(t)
        strict = r.choice(["", "", "strict "])
        x = self.into(t, 3)
        if k < 5 and x:
            if not one and not strict:
                strict = "strict "
            tail = f" if not found then {self.simple()} end if;" if self.use_found and self.chance(0.4) and not strict else ""
            return f"select {', '.join(x[0])} into {strict}{', '.join(x[1])} from {t.name} where {where}{self.extra(t)};{tail}"
        if k == 5 and x and t.keys:
            cols = [c.name for c in t.keys[0]]
            r.shuffle(cols)
            if self.chance(0.4):
                cols.insert(0, r.choice(t.cols).name)
            order = ", ".join(c + r.choice(["", "", " desc", " desc nulls last", " nulls first"]) for c in cols)
            return f"select {', '.join(x[0])} into {', '.join(x[1])} from {t.name} where {where}{self.extra(t)} order by {order} limit 1;"
        if k == 6 and one and len(self.rows) == 0:
            return f"select * into rec from {t.name} where {where}; if found then {self.log(f'rec.{r.choice(t.cols).name}')} end if;" if self.use_found else \
                f"select * into rec from {t.name} where {where}; {self.log(f'rec.{r.choice(t.cols).name}')}"
        if k == 7:
            u = r.choice(self.tables)
            conds = self.join_cond(t, u, "x", "y")
            joined = self.where_key(t, "x")[0]
            pair = f"{t.name} x join {u.name} y on {conds}"
            if self.parts and self.chance(0.3):
                pair = f"{u.name} y join {t.name} x on {conds}"
            elif self.parts and u.keys and self.chance(0.3):
                key = r.choice(u.keys)
                same = {c.name: [a for a in t.cols if a.type == c.type] for c in key}
                pair = f"{t.name} x left join {u.name} y on " + " and ".join(f"y.{c.name} = x.{r.choice(same[c.name]).name}" if same[c.name] and self.chance(0.7) else f"y.{c.name} = {self.key_value(u, c)}" for c in key)
            if self.chance(0.4):
                v = self.var_set("bigint")
                counted = r.choice(["*", f"y.{r.choice(u.cols).name}"])
                return f"select count({counted}) into {v} from {pair} where {joined}{self.extra(u, 'y')};" if v else "null;"
            x, y = self.into(t), self.into(u)
            if x and y and not set(x[1]) & set(y[1]):
                items = [f"x.{c}" for c in x[0]] + [f"y.{c}" for c in y[0]]
                return f"select {', '.join(items)} into strict {', '.join(x[1] + y[1])} from {pair} where {joined}{self.extra(u, 'y')};"
        # aggregates
        items, targets = [], []
        for _ in range(r.randrange(1, 4)):
            c = r.choice(t.cols)
            f = r.choice(["count", "max", "min", "sum", *(["avg", "distinct"] if self.parts else [])])
            if f == "count":
                item, ty = r.choice(["count(*)", f"count({c.name})"]), "bigint"
            elif f == "distinct":
                if c.type == "double precision" or any("distinct" in x for x in items):
                    continue
                item, ty = f"count(distinct {c.name})", "bigint"
            elif f == "avg":
                item, ty = f"avg({c.name})", "numeric" if c.type in ("int", "smallint", "bigint", "numeric(12,2)") else None
            elif f == "sum":
                ty = {"int": "bigint", "smallint": "bigint", "bigint": "numeric", "numeric(12,2)": "numeric", "numeric": "numeric"}.get(c.type)
                item = f"sum({c.name})"
            else:
                ty = c.type if c.type != "boolean" else None
                item = f"{f}({c.name})"
            v = self.var_set(ty) if ty else None
            if not v or v in targets:
                continue
            if self.chance(0.1):
                item = f"coalesce({item}, 0)" if ty in ("int", "bigint", "numeric") else item
            items.append(item)
            targets.append(v)
        if not items:
            return "null;"
        return f"select {', '.join(items)} into {', '.join(targets)} from {t.name} where {where}{self.extra(t)};"

    def log(self, text):
        return f"o := left(coalesce(o, '') || coalesce(({text})::text, 'N') || ',', 200);"

    def simple(self):
        r = self.r
        k = r.randrange(6)
        if k == 0:
            return self.log(self.var("int", "bigint", "text", "numeric") or "1")
        if self.array and self.chance(0.2):
            at = r.choice(["1", "2", "3", f"abs({self.var('int') or '1'} % 6) + 1", f"abs({self.var('int') or '1'} % 6)", "coalesce(array_length(a, 1), 0) % 9 + 1", "null"] if self.chance(0.7) else ["1", "2"])
            return f"a[{at}] := {self.expr('int')};"
        t = r.choice(["int", "int", "int", "bigint", "numeric", "text", "boolean"])
        v = self.var_set(t)
        return f"{v} := {self.expr(t)};" if v else "null;"

    # ---- statements ----
    def stmt(self, d, loop):
        r = self.r
        if self.parts and self.chance(0.05):
            return self.call_stmt()
        if self.counts and self.chance(0.08) and self.var_set("bigint"):
            v = self.var_set("bigint")
            return r.choice([self.update(), self.delete(), self.insert(), self.query(), ""]) + f" get diagnostics {v} = row_count; {self.log(v)}"
        if self.traps and d < 3 and self.chance(0.06):
            return self.guarded(d, loop)
        if d == 0 and self.chance(0.08):
            x = self.apart()
            if x:
                return x
        k = 25 if self.set_queries and d < 3 and self.chance(0.4) else r.randrange(28)
        if k < 4:
            return self.simple()
        if k < 9:
            return self.update()
        if k < 12:
            return self.insert()
        if k < 13:
            return self.delete()
        if k < 17:
            return self.query()
        if k == 17:
            c = r.randrange(5 if self.parts else 4)
            if c == 4:
                tail = r.choice(["", "", " using hint = 'look', detail = 'there'", " using errcode = '01004'"]) if self.notices else ""
                return f"raise {r.choice(['debug', 'log', 'notice', 'notice', 'warning', 'info'] if self.notices else ['debug', 'log'])} 'now % %', {self.num(1)}, {self.var('text') or 1}" + tail + ";"
            if c == 0:
                return f"if {self.cond()} then raise exception 'stop % %', {self.var('int') or 1}, {self.var('text') or 1}; end if;"
            if c == 1:
                return f"if {self.cond()} then raise exception 'broken' using errcode = '{r.choice(['22012', 'AB123'])}'; end if;"
            if c == 2:
                return f"assert {self.cond()} or {self.cond()} or true;"
            return f"if {self.cond()} then raise exception 'at %', {self.num(1)}; end if;"
        if k == 18:
            return r.choice([f"if {self.cond()} then return; end if;", self.simple()]) if not self.function else f"if {self.cond()} then return {self.num(1)}; end if;"
        if k == 19 and loop:
            return f"{r.choice(['exit', 'continue'])} when {self.cond()};"
        if k == 20:
            t = r.choice(self.tables)
            return f"perform 1 from {t.name} where {self.where_key(t)[0]}{self.extra(t)};" + (" " + self.log("found") if self.use_found else "")
        if d >= 3:
            return self.simple()
        if k <= 22:
            e = "".join(f" elsif {self.cond()} then {self.body(d + 1, loop)}" for _ in range(r.choice([0, 0, 0, 1])))
            if self.chance(0.5):
                e += f" else {self.body(d + 1, loop)}"
            return f"if {self.cond()} then {self.body(d + 1, loop)}{e} end if;"
        if k == 23:
            e = f" else {self.body(d + 1, loop)}" if self.chance(0.7) else ""
            return f"case {self.num(1)} when 0, 1 then {self.body(d + 1, loop)} when {self.num(2)} then {self.body(d + 1, loop)}{e} end case;"
        if k == 24:
            v = f"i{d}"
            low, high = r.choice(["0", "1", self.num(2)]), r.choice(["2", "3", f"least({self.num(2)}, 4)", "abs(p0) % 4"])
            if self.array and self.chance(0.5):
                low, high = "1", r.choice(["array_length(a, 1)", "coalesce(array_length(a, 1), 0)", "3"])
            if low not in "01":
                low = f"greatest({low}, -2)"
            self.vars[v] = "int"
            self.fixed.add(v)
            body = self.body(d + 1, True)
            del self.vars[v]
            self.fixed.discard(v)
            by = r.choice(["", "", " by 2"])
            if self.chance(0.2):
                return f"for {v} in reverse {high}..{low}{by} loop {body} end loop;"
            return f"for {v} in {low}..{high}{by} loop {body} end loop;"
        if k == 25:
            t = r.choice(self.tables)
            where, one = self.where_key(t)
            q = f"q{d}"
            self.rows[q] = t
            c = r.choice(t.cols)
            text = []
            for _ in range(r.randrange(1, 3)):
                m = r.randrange(5)
                v = self.var_set("bigint")
                if m == 0 and c.type in ("int", "smallint", "bigint") and v:
                    text.append(f"{v} := coalesce({v}, 0) + coalesce({q}.{c.name}, 1) % 1000;")
                elif m == 1 and one:
                    text.append(self.log(f"{q}.{c.name}"))
                elif m == 2:
                    text.append(self.order_free_update(q, t))
                elif v:
                    text.append(f"{v} := coalesce({v}, 0) % 1000000 + 1;")
            del self.rows[q]
            order = ""
            if self.parts and self.chance(0.25):
                return self.groups(t, q, where)
            if self.parts and self.chance(0.6 if self.set_queries else 0.35):
                return self.sets(q)
            if self.parts and t.keys and self.chance(0.4):  # an order that tells all rows apart
                cols = [c.name for c in t.keys[0]]
                r.shuffle(cols)
                if self.chance(0.5):
                    cols.insert(0, r.choice(t.cols).name)
                order = " order by " + ", ".join(c + r.choice(["", "", " desc", " desc nulls last", " nulls first"]) for c in cols)
                order += r.choice(["", "", " limit 2", " limit 3", f" limit {self.var('int') or 1}", " limit 1"])
                order += r.choice(["", "", "", " offset 1", f" offset abs({self.var('int') or 2} % 4)"])
                text.append(self.log(f"{q}.{r.choice(t.cols).name}"))
                if self.chance(0.4):
                    text.append(self.change_of_loop(t, q))
            return f"for {q} in select * from {t.name} where {where}{self.extra(t)}{order} loop {' '.join(text) or 'null;'} end loop;"
        if k == 26:
            v = f"c{d}"
            return f"{v} := 0; while {v} < {r.choice(['3', self.num(2)])} loop {v} := {v} + 1; exit when {v} > 4; {self.body(d + 1, True)} end loop;"
        if self.array and self.chance(0.5):
            v = self.var_set("int")
            if v:
                return f"foreach {v} in array a loop {self.body(d + 1, True)} end loop;"
        v = f"c{d}"
        return f"{v} := 0; loop {v} := {v} + 1; exit when {v} > 4; {self.body(d + 1, True)} exit when {v} >= {r.choice(['2', self.num(2)])}; end loop;"

    def apart(self):
        """A loop each of whose rounds mostly works on a row of its own, and leaves sums and its last values."""
        r, v = self.r, "i0"
        ts = [(t, k[0]) for t in self.tables for k in t.keys if len(k) == 1 and k[0].type in ("int", "bigint")]
        if not ts:
            return None
        t, key = r.choice(ts)
        at = f"a[{v}]" if self.array and self.chance(0.7) else r.choice([v, f"abs(p0 % 5) + {v}", f"{v} * 2", "abs(p0 % 5)"])
        where = f"{key.name} = {at}"
        self.vars[v] = "int"
        self.fixed.add(v)
        own = {n: self.vars.pop(n) for n in ("x0", "x1", "b0", "f0") if n in self.vars}
        text = []
        if self.chance(0.2):
            text.append(f"if {self.cond()} then {r.choice(['continue', 'raise exception ' + repr('broken')])}; end if;")
        ints = [c for c in t.cols if c.type == "int"]
        if ints and self.chance(0.8):
            text.append(f"select {r.choice(ints).name} into x0 from {t.name} where {where};")
            text.append(r.choice(["b0 := b0 + x0;", "b0 := b0 + coalesce(x0, 7);", "if x0 > 1 then b0 := b0 - x0; end if;", "x1 := x0;"]))
        cols = [c for c in t.cols if not c.frozen]
        if cols:
            text.append(f"update {t.name} set {self.set_item(t, r.choice(cols), False)} where {where};")
        if self.chance(0.4):
            text.append(f"if {self.cond()} then f0 := {self.cond()}; x1 := {v}; end if;")
        if self.chance(0.2):
            text.append(f"delete from {t.name} where {where} and {self.gate()};")
        if self.chance(0.2):
            text.append(self.insert())
        del self.vars[v]
        self.fixed.discard(v)
        self.vars.update(own)
        high = "coalesce(array_length(a, 1), 0)" if self.array else r.choice(["2", "4", "abs(p0) % 40", "abs(p0) % 5"])
        return f"for {v} in {r.choice(['1', '0'])}..{high}{r.choice(['', '', ' by 2'])} loop {' '.join(text)} end loop;" if text else None

    def groups(self, t, q, where):
        """A loop over groups, in an order that tells them apart."""
        r = self.r
        keys = [c for c in t.cols if c.type != "double precision"]
        keys = r.sample(keys, min(len(keys), r.choice([1, 1, 2])))
        x = r.choice([c for c in t.cols if c.type in ("int", "smallint", "bigint", "numeric(12,2)")] or [None])
        aggs = ["count(*) n0"] + ([f"sum({x.name}) n1", f"{r.choice(self.logged)}({x.name}) n2"] if x else [])
        names = ", ".join(c.name for c in keys)
        if self.chance(0.2):
            sql = f"select distinct {names} from {t.name} where {where}{self.extra(t)}"
            aggs = []
        else:
            sql = f"select {names}, {', '.join(aggs)} from {t.name} where {where}{self.extra(t)} group by {names}{r.choice(['', '', ' having count(*) > 1'])}"
        order = [c.name + r.choice(["", " desc", " nulls first"]) for c in keys]
        if aggs and self.chance(0.4):
            order.insert(0, r.choice(aggs).split()[-1] + r.choice(["", " desc"]))
        sql += f" order by {', '.join(order)}" + r.choice(["", "", " limit 2", " limit 1", " offset 1", " limit 2 offset 1"])
        body = " ".join(self.log(f"{q}.{n}") for n in [c.name for c in keys] + [a.split()[-1] for a in aggs])
        return f"for {q} in {sql} loop {body} end loop;"

    def change_of_loop(self, t, q):
        """A loop's table changes in it: its rows are those of its start. Perhaps it ends before they do."""
        r = self.r
        row = " and ".join(f"{c.name} = {q}.{c.name}" for c in t.keys[0])
        cols = [c for c in t.cols if not c.frozen and c.type in ("int", "bigint")]
        text = []
        if cols and self.chance(0.8):
            c = r.choice(cols)
            text.append(f"update {t.name} set {c.name} = {r.choice([c.name + ' + 1', '7', f'{q}.{c.name} - 1'])} where {r.choice([row, self.where_key(t)[0]])};")
        if not t.frozen_rows and self.chance(0.5):
            text.append(r.choice([f"delete from {t.name} where {r.choice([row, self.where_key(t)[0]])};", self.insert()]))
        if self.chance(0.2):
            text.append(f"exit when {self.cond()};")
        return " ".join(text) or "null;"

    def sets(self, q):
        """A loop over the rows of a query on two tables, in the order of all its columns."""
        r = self.r
        t, u = r.choice(self.tables), r.choice(self.tables)
        x, y = self.where_key(t, "x")[0], self.where_key(u, "y")[0]
        pairs = [(a, b) for a in t.cols for b in u.cols if a.type == b.type and a.type in ("int", "smallint", "bigint", "text", "boolean", "date", "numeric(12,2)")]
        if not pairs:
            return "null;"
        (a, b), (c, d) = r.choice(pairs), r.choice(pairs)
        on = f"y.{b.name} = x.{a.name}" + r.choice(["", "", f" and y.{d.name} = x.{c.name}", f" and y.{d.name} <= x.{c.name}", f" and x.{c.name} is not null"])
        both = f"x.{c.name} s0, y.{d.name} s1"
        kind = r.randrange(8)
        if kind < 2:
            ops = ["union", "union all", "intersect", "intersect all", "except", "except all"]
            two = f"select x.{a.name} s0, x.{c.name} s1 from {t.name} x where {x} {r.choice(ops)} select y.{b.name}, y.{d.name} from {u.name} y where {y}"
            sql = two if self.chance(0.7) else f"({two}) {r.choice(ops)} select x.{a.name}, x.{c.name} from {t.name} x where {x}"
        elif kind == 2:
            sql = f"select {both} from {t.name} x left join {u.name} y on {on} where {x}" + r.choice(["", "", f" and y.{d.name} is null"])
        elif kind == 3:
            sql = f"select {both} from {t.name} x right join {u.name} y on {on} where {y}"
        elif kind == 4:
            sql = f"select {both} from (select * from {t.name} x where {x}) x full join (select * from {u.name} y where {y}) y on {on}"
        elif kind == 5:
            sql = f"with c as (select x.{a.name} s0, count(*) n from {t.name} x where {x} group by x.{a.name}) select c.s0, e.n s1 from c join c e on {r.choice(['c.n < e.n', 'c.s0 = e.s0', 'true'])}"
        elif kind == 6:
            sql = f"select {both} from {t.name} x{r.choice([',', ' cross join'])} lateral (select y.{d.name} from {u.name} y where y.{b.name} = x.{a.name} order by 1 limit 2) y where {x}"
        else:
            sql = f"select distinct on (x.{a.name}) x.{a.name} s0, x.{c.name} s1 from {t.name} x where {x}"
        sql += f" order by 1{r.choice(['', ' nulls first'])}, 2" + r.choice(["", "", " limit 3", " offset 1"])
        text = [self.log(f"{q}.s0"), self.log(f"{q}.s1")]
        if self.chance(0.3):
            text.append(self.insert() if self.chance(0.5) else self.update())
        return f"for {q} in {sql} loop {' '.join(text)} end loop;"

    def guarded(self, d, loop):
        """A block with handlers. Who ran out of loop iterations is not held up: the two ways to count them differ by one."""
        r = self.r
        text = self.body(d + 1, loop)
        if self.chance(0.4):
            text += " " + r.choice([f"if {self.cond()} then raise exception 'stop % %', {self.var('int') or 1}, {self.var('text') or 1}; end if;",
                                    f"if {self.cond()} then raise exception 'broken' using errcode = '{r.choice(['22012', 'AB123'])}'; end if;"])
        out = []
        names = ["division_by_zero", "unique_violation", "not_null_violation", "check_violation", "no_data_found", "too_many_rows", "numeric_value_out_of_range", "raise_exception", "data_exception",
                 "integrity_constraint_violation", "sqlstate 'AB123'", "assert_failure", "others"]
        for name in sorted(r.sample(names, r.choice([1, 1, 2])), key=lambda n: n == "others"):
            handler = "if sqlstate = '54000' then raise; end if; " if name == "others" else ""
            handler += self.log("sqlstate") if self.chance(0.6) else ""
            handler += " " + self.log("sqlerrm") if name in ("raise_exception", "unique_violation") and self.chance(0.5) else ""
            for v, t in list(self.vars.items()):
                if v not in self.params and t in ("int", "text", "bigint") and self.chance(0.15):
                    handler += " " + self.log(v)
            if self.use_found and self.chance(0.3):
                handler += " " + self.log("found")
            handler += " " + self.body(d + 1, loop) if self.chance(0.6) else ""
            handler += r.choice(["", "", "", "", " raise;"])
            if self.chance(0.15) and name != "others":
                name += " or " + r.choice([n for n in names[:-1] if n != name])
            out.append(f"when {name} then {handler}")
        return f"begin {text} exception {' '.join(out)} end;"

    def order_free_update(self, q, t):
        """A change that may be done for the rows of a query in any order."""
        r = self.r
        ts = [u for u in self.tables if u is not t and u.keys]
        if not ts:
            return "null;"
        u = r.choice(ts)
        cols = [c for c in u.cols if not c.frozen and c.type in ("int", "bigint")]
        if not cols:
            return "null;"
        conds = []
        for b in r.choice(u.keys):
            same = [a for a in t.cols if a.type == b.type]
            conds.append(f"{b.name} = {q}.{r.choice(same).name}" if same and self.chance(0.8) else f"{b.name} = {self.key_value(u, b)}")
        c = r.choice(cols)
        return f"update {u.name} set {c.name} = {c.name} + {r.choice(['1', '2', self.var('int') or '1'])} where {' and '.join(conds)};"

    def body(self, d, loop):
        return " ".join(self.stmt(d, loop) for _ in range(self.r.randrange(1, 4 if d else 7)))

    # ---- routines ----
    def routine(self, number):
        r = self.r
        self.function = self.chance(0.25)
        self.use_found = self.chance(0.5)
        self.array = self.chance(0.25)
        self.again = self.chance(0.4)
        self.recent = collections.defaultdict(list)
        self.params = {"p0": "int"}
        for i in range(1, r.randrange(2, 6)):
            self.params[f"p{i}"] = r.choice(["int", "int", "int", "bigint", "text", "text", "numeric", "smallint"])
        self.vars = dict(self.params)
        self.fixed = set(self.params) if self.chance(0.7) else set()
        self.rows = {}
        self.in_sql = False
        self.calls_left, self.cost = 3, 0
        self.traps = self.parts and self.chance(0.4)
        self.counts = self.parts and not self.traps and self.chance(0.3)
        for v, t in (("x0", "int"), ("x1", "int"), ("b0", "bigint"), ("b1", "bigint"), ("n0", "numeric"), ("s0", "text"), ("f0", "boolean")):
            self.vars[v] = t
        if any(c.type == "numeric(12,2)" for t in self.tables for c in t.cols):
            self.vars["m0"] = "numeric(12,2)"
        if any(c.type == "smallint" for t in self.tables for c in t.cols):
            self.vars["h0"] = "smallint"
        decl = " ".join(f"{v} {t}{r.choice(['', ' := ' + {'int': '1', 'bigint': '2', 'numeric': '0.5', 'text': repr('t'), 'boolean': 'false'}.get(t, '0')])};" for v, t in self.vars.items()
                        if v not in self.params)
        decl += " rec record; " + " ".join(f"q{d} record; c{d} int;" for d in range(4))
        args = [f"{n} {t}" for n, t in self.params.items()]
        if self.array:
            args.append("a int[]")
        name = f"p{number}"
        body = self.body(0, False)
        if self.function:
            sql = f"create function {name}({', '.join(args)}) returns int {'strict ' if self.parts and self.chance(0.2) else ''}language plpgsql as $$ declare {decl} o text := ''; begin {body} return {self.num(1)}; end $$"
        else:
            outs = [f"out o{i} {t}" for i, t in enumerate(self.r.sample(["int", "bigint", "text", "numeric"], self.r.randrange(0, 3)))]
            args += [self.r.choice(["out o text", "inout o text"])] + outs
            ends = " ".join(f"{x.split()[1]} := {self.var(x.split(None, 2)[2])};" for x in outs)
            sql = f"create procedure {name}({', '.join(args)}) language plpgsql as $$ declare {decl} begin {body} {ends} end $$"
        p = Table()
        p.name, p.params, p.array, p.sql = name, dict(self.params), self.array, sql
        p.function, p.cost = self.function, self.cost
        p.outs = [] if self.function else ["text"] + [x.split(None, 2)[2] for x in outs]
        p.inout = not self.function and "inout o text" in args
        self.procs.append(p)

    def argument(self, t):
        r = self.r
        if self.chance(0.04):
            return "\\N"
        if t == "int":
            return str(r.randrange(3)) if self.chance(0.5) else str(r.choice([r.randrange(12), r.randrange(45), -1, 1000, 2147483647, -50, 2])) if self.chance(0.5) else str(r.randrange(6))
        if t == "bigint":
            return str(r.randrange(4)) if self.chance(0.7) else str(r.choice([10, 40, -3, 9 * 10**18, 10**10]))
        if t == "smallint":
            return str(r.randrange(4)) if self.chance(0.8) else str(r.choice([10, 30, -3]))
        if t == "numeric":
            return r.choice(["0", "1", "2.5", "-0.01", "100", "3.141"])
        return f"k{r.randrange(3)}" if self.chance(0.5) else r.choice([f"k{r.randrange(40)}", *SMALL_WORDS])

    def call(self):
        r = self.r
        i = r.randrange(len(self.procs))
        p = self.procs[i]
        args = [self.argument(t) for t in p.params.values()]
        if p.array:
            args.append(r.choice(["\\N", "{}", "{NULL}"]) if self.chance(0.1) else "{" + ",".join(str(r.randrange(6)) if self.chance(0.95) else "NULL" for _ in range(r.randrange(1, 5))) + "}")
        if p.inout:
            args.append(self.argument("text"))
        return (i, args)

    def case(self):
        r = self.r
        for i in range(r.choice([1, 1, 2, 2, 3, 4])):
            self.table(i)
        for i in range(r.choice([1, 1, 2, 3, 5])):
            self.routine(i)
        n = self.big or r.choice([1, 2, 5, 20, 20, 60, 200, 200, 800])
        self.calls = [self.call() for _ in range(n)]
        return Case([*self.setup], [t.name for t in self.tables], [(p.name, p.sql) for p in self.procs], self.calls)


class Calm(Gen):
    """Procedures that hardly ever fail, in bulks of calls that meet all the time: for locks by statement, since there most failures undo the bulk, and then it runs
    without them. Everything fits, all keys of t0 .. are there, and keys of l0 .. come from counters."""

    def key(self, loop):
        ways = ["p0", "p1", "p0", str(self.r.randrange(self.domain)), f"(p0 + p1) % {self.domain}", f"abs(x0) % {self.domain}"] + ([loop] * 6 if loop else [])
        return self.r.choice(ways)

    def value(self):
        r = self.r
        return r.choice(["x0", "x1", "p1", str(r.randrange(9)), "x0 + p1", "x1 % 7 - 3", "(b0 % 100)::int", "c0"])

    def look(self, loop=None):
        """Changes nothing."""
        r = self.r
        t, k = f"t{r.randrange(self.n)}", self.key(loop)
        l = "l" + t[1:]
        return r.choice([
            f"select v0, w0 into x0, b0 from {t} where k0 = {k};",
            f"select x into x1 from {l} where k0 = {k} and k1 = abs(x0); if not found then x1 := p1; end if;",
            f"select count(*)::int, coalesce(sum(x), 0) into x1, b0 from {l} where k0 = {k};",
            f"for r0 in select k1, x from {l} where k0 = {k} loop select v1 into x0 from {t} where k0 = {k}; x1 := ((x1 + r0.x + coalesce(x0, 0)) % 1000 + 1000) % 1000; end loop;", # whatever the order of rows
            f"if {self.value()} % 3 = 1 then {self.look(loop) if self.chance(0.3) else 'x1 := x0;'} end if;",
        ])

    def calm(self, loop=None):
        r = self.r
        t, k = f"t{r.randrange(self.n)}", self.key(loop)
        l = "l" + t[1:]
        way = r.randrange(14)
        if way in (0, 8, 10):
            return self.look(loop)
        if way == 1:
            return f"update {t} set v0 = (v0 * 3 + {self.value()}) % 1000 where k0 = {k};"
        if way <= 3:
            return f"update {t} set w0 = w0 {r.choice('+-')} {r.choice(['1', 'p1', 'x0', 'c0'])} where k0 = {k};"
        if way == 4:
            return f"update {t} set v1 = (v1 + {self.value()}) % 1000, v0 = x0 where k0 = {k} returning v1, w0 + 1 into x1, b0;"
        if way == 5:
            return f"update {t} set v1 = x1, w0 = w0 + v1 where k0 = {k};"
        if way <= 7:
            return f"update {t} set seq = seq + 1 where k0 = {k} returning seq - 1 into s0; insert into {l} values ({k}, s0, {self.value()});"
        if way == 9:
            return f"delete from {l} where k0 = {k} and k1 = abs(x1) % 20;"
        if way == 11:
            return f"c0 := 0; while c0 < {r.choice([3, 40, 300])} loop c0 := c0 + 1; x1 := (x1 * 7 + c0) % 1000; end loop;"
        if way == 12:
            return f"update {l} set x = (x * 3 + {self.value()}) % 1000 where k0 = {k};"
        return f"if {self.value()} % 3 {r.choice(['=', '<>', '>'])} 1 then {self.calm(loop)} else {self.calm(loop)} end if;"

    def case(self):
        r = self.r
        self.n, self.domain = r.choice([1, 1, 2, 3]), r.choice([1, 2, 5, 20])
        tables = []
        for i in range(self.n):
            checks = r.choice(["", ", check (v0 > -2000)", ", check (w0 is not null), check (v1 + v0 < 9000)"])
            self.setup.append(f"create table t{i} (k0 int primary key, v0 int not null, v1 int not null, w0 bigint not null, seq int not null{checks})")
            self.setup.append(f"insert into t{i} select g, g * 7, g, 0, 1 from generate_series(0, {self.domain + 45}) h(g)")
            self.setup.append(f"create table l{i} (k0 int, k1 int, x int not null, primary key (k0, k1))")
            tables += [f"t{i}", f"l{i}"]
        procs = []
        for i in range(r.choice([1, 2, 3])):
            body = "if p0 < 0 then raise exception 'none'; end if; " if self.chance(0.5) else ""
            statement = self.look if i > 0 and self.chance(0.4) else self.calm
            for _ in range(r.randrange(1, 5)):
                if self.chance(0.35):
                    loop, over = ("a[i]", "1 .. array_length(a, 1)") if self.chance(0.7) else ("i", f"1 .. {r.choice(['3', '2 + p1', '40'])}")
                    body += f"for i in {over} loop " + " ".join(statement(loop) for _ in range(r.randrange(1, 4))) + " end loop; "
                else:
                    body += statement() + " "
            procs.append((f"p{i}", f"create procedure p{i}(p0 int, p1 int, a int[], out o text) language plpgsql as $$ declare x0 int := 1; x1 int := 2; s0 int; c0 int := 3; b0 bigint := 4; r0 record; "
                          f"begin {body}o := x0 || ',' || x1 || ',' || b0 || ',' || coalesce(s0, -1); end $$"))
        calls = []
        for _ in range(self.big or r.choice([20, 200, 200, 800])):
            elements = ",".join(str(x) for x in r.sample(range(self.domain + 40), r.randrange(1, 5)))
            number = r.randrange(len(procs))
            calls.append((number, [str(-1 if "raise" in procs[number][1] and self.chance(0.02) else r.randrange(self.domain)), str(r.randrange(self.domain)), "{" + elements + "}"]))
        return Case(["set bulk_step_limit = 100000", *self.setup[1:]], tables, procs, calls)


# ---- queues ---------------------------------------------------------------------------------------
def add_queue(case, seed, big, calm):
    """A queue, its rows' jobs and accounts, and procedures that put, take and look, mixed with the others. Its random numbers are its own: the rest of the case is as without."""
    r = random.Random(seed * 31 + 5)
    if r.random() > 0.4:
        return case
    n_a, n_d, kt, order = r.choice([1, 2, 3]), r.choice([1, 2, 4]), r.choice(["int", "int", "bigint", "smallint"]), r.choice(["", "", "", " desc"])
    bal = r.choice(["int", "bigint", "bigint", "numeric(12,2)"])
    least = -2 if r.random() < 0.2 else 0  # amounts
    case.setup += [f"create table qc (a int, d int, next {kt} not null, primary key (a, d))", f"create table qq (a int, d int, k {kt}, primary key (a, d, k))",
                   f"create table qj (a int, d int, k {kt}, c int not null, amount int{r.choice([' not null', ''])}, who int, primary key ({r.choice(['a, d, k', 'k, d, a', 'd, a, k'])}))",
                   f"create table qa (a int, c int, bal {bal} not null, n int not null, primary key (a, c))",
                   f"insert into qc select a, d, 10 from generate_series(0, {n_a - 1}) g(a), generate_series(1, {n_d}) h(d)",
                   f"insert into qq select a, d, k from generate_series(0, {n_a - 1}) g(a), generate_series(1, {n_d}) h(d), generate_series(1, {r.choice([1, 5, 9])}) i(k)",
                   f"insert into qj (a, d, k, c, amount, who) select a, d, k, k % 3, {least} + k % 5, 0 from generate_series(0, {n_a - 1}) g(a), generate_series(1, {n_d}) h(d), generate_series(1, 9) i(k)",
                   f"insert into qa select a, c, {r.choice(['0', '0', '2147483600'])}, 0 from generate_series(0, {n_a - 1}) g(a), generate_series(0, 2) h(c)"]
    case.tables += ["qc", "qq", "qj", "qa"]
    head = f"(p0 int, p1 int, out o text) language plpgsql as $$ declare o0 {kt}; c0 int; x0 int; d0 int; n0 int := 0; b0 bigint := 0; begin "
    tail = " o := n0 || ',' || b0 || ',' || coalesce(x0, -1) || ',' || coalesce(o0, -1); end $$"

    def take():
        odd = r.choice(["skip", "other", "exit", "before", "after", "between", "twice", "key", "strict", "late", "look"]) if r.random() < 0.3 else ""
        some = r.choice(["p1 % 40 = 3", "p1 % 7 = 3", "o0 % 9 = 4", "x0 = 3"])
        group, row = "a = p0 and d = d0", "a = p0 and d = d0 and k = o0"
        delete = f"delete from qq where {row};"
        body = "if p1 % 40 = 5 then raise exception 'none'; end if; " if odd == "before" else ""
        loop = f"d0 := {'(i + 1) / 2' if odd == 'twice' else 'i'}; select k into o0 from qq where {group} order by k{order} limit 1; continue when o0 is null; "
        if odd == "between":
            loop += f"if {some} then raise exception 'found %', o0; end if; "
        if odd == "exit":
            loop += f"exit when {some}; "
        if odd == "other":
            loop += f"if {some} then o0 := o0 + 1; end if; "
        loop += f"if {some} then n0 := n0; else {delete} end if; " if odd == "skip" else delete + " " if odd != "late" else ""
        if odd == "key":
            loop += f"if {some} then o0 := 2; end if; "
        loop += f"select c, amount into {'strict ' if odd == 'strict' else ''}c0, x0 from qj where {row}; " + (f"update qj set who = p1 where {row}; " if r.random() < 0.8 else "")
        if odd == "late":
            loop += delete + " "
        loop += f"update qa set bal = bal + {r.choice(['x0', 'coalesce(x0, 0)'])}, n = n + 1 where a = p0 and c = c0; "
        if odd == "after":
            loop += f"if {some} then raise exception 'taken %', o0; end if; "
        if odd == "look":
            loop += "select n into x0 from qa where a = p0 and c = c0; "
        if calm and r.random() < 0.2:
            loop += "update t0 set w0 = w0 + 1 where k0 = p0; "
        loop += "n0 := n0 + 1; b0 := b0 * 3 % 100000 + o0;"
        return body + f"for i in {r.choice(['1', '1', '0'])} .. {n_d * (2 if odd == 'twice' else 1)} loop {loop} end loop;"

    def put():
        return (f"update qc set next = next + 1 where a = p0 and d = p1 % {n_d} + 1 returning next - 1 into o0; " + ("if o0 is null then raise exception 'no queue'; end if; " if r.random() < 0.5 else "") +
                f"insert into qj (a, d, k, c, amount, who) values (p0, p1 % {n_d} + 1, o0, p1 % 3, {least} + p1 % 5, 0); insert into qq values (p0, p1 % {n_d} + 1, o0);")

    def look():
        return r.choice([f"select count(*)::int, coalesce(sum(k), 0) into n0, b0 from qq where a = p0 and d = p1 % {n_d} + 1;", f"select k into o0 from qq where a = p0 and d = p1 % {n_d} + 1 order by k limit 1;",
                         "select n, bal::bigint into n0, b0 from qa where a = p0 and c = p1 % 3;", f"select amount, who into x0, n0 from qj where a = p0 and d = p1 % {n_d} + 1 and k = p1 % 20;"])

    kinds = [take] + r.sample([put, look, take, put], r.choice([0, 1, 2, 3]))
    first = len(case.procs)
    for i, kind in enumerate(kinds):
        case.procs.append((f"q{i}", f"create procedure q{i}{head}{kind()}{tail}"))
    n = big or r.choice([5, 20, 60, 200, 400])
    calls = [(first + r.randrange(len(kinds)), ["\\N" if r.random() < 0.01 else str(r.randrange(n_a + (r.random() < 0.03))), str(r.randrange(1000))]) for _ in range(n)]
    case.calls = case.calls[:0 if r.random() < 0.3 else n] + calls
    r.shuffle(case.calls)
    if all(k >= first for k, _ in case.calls) and r.random() < 0.7:  # nothing else is in the module
        case.procs, case.calls = case.procs[first:], [(k - first, a) for k, a in case.calls]
    case.queue = True
    return case


# ---- sums ---------------------------------------------------------------------------------------------
def add_sums(case, seed, big):
    """A table of sums, some of them near what their columns hold, and procedures that add to them what may be exact for the column or not, mixed with the others. Its random numbers are its own."""
    r = random.Random(seed * 37 + 11)
    if r.random() > 0.4:
        return case
    n, null = r.choice([1, 1, 3, 10]), [r.choice([" not null", ""]) for _ in range(5)]
    check = r.choice([", check (n2 < 99999)", "", "", "", ""])
    case.setup.append(f"create table sm (k int primary key, b int not null, n2 numeric(12,2){null[0]}, n1 numeric(6,1){null[1]}, i8 bigint{null[2]}, i4 int{null[3]}, i2 smallint{null[4]}, w int{check})")
    starts = ["0" if check and x[0] == "9" else r.choice(["0", "0", x]) for x in ("9999999990.00", "-99990.0", "9223372036854775000", "-2147483000", "32000")]
    case.setup.append(f"insert into sm select k, k % 2, {', '.join(starts)}, k from generate_series(0, {n - 1}) g(k)")
    case.tables.append("sm")
    numeric = ["h", "h", "h", "h * 0.5", "h / 3", "(h + 1)", "m", "g", "p1", "y", "1.50", "0.125", "x"]
    integers = ["g", "g", "p1", "h", "h * 2", "y", "1", "70000", "x", "m"]

    def item(one):
        c = r.choice(["n2", "n2", "n2", "n1", "i8", "i4", "i4", "i2"] if one else ["n2", "n1"])
        if not one:  # of several sums that fail any is told: they have one message
            return c, f"{c} {r.choice('+-')} {r.choice(['h', 'h', 'm', 'g', 'p1', 'x', 'y', '1', 'h * 0.5', '0.125'])}"
        by = r.choice(numeric if c[0] == "n" else integers)
        base = r.choice([c] * 12 + ([f"{c}::numeric(11,1)"] if c[0] == "n" else [f"{c}::bigint"]))
        value = f"{base} {r.choice('+-')} {by}" if r.random() < 0.9 else f"{by} + {base}"
        return c, f"({value})::numeric(11,1)" if r.random() < 0.06 and c[0] == "n" else f"({value})::smallint" if r.random() < 0.06 and c == "i4" else value

    def update(key):
        cols = {}
        n_items = r.choice([1, 1, 1, 2, 3])
        for _ in range(n_items):
            cols.setdefault(*item(n_items == 1))
        if r.random() < 0.15:
            cols["w"] = r.choice(["p1", "i4", "w + 1"])
        where = f"b = {key} % 2" if r.random() < 0.2 and not check and list(cols) in (["n2"], ["n1"]) else f"k = {key}" + r.choice(["", "", "", "", " and p1 > 2", " and n2 >= 0", " and w > 0"])
        back = f" returning {r.choice(['n2', 'n1'])} into y" if r.random() < 0.08 and where.startswith("k") else ""
        return f"update sm set {', '.join(f'{c} = {v}' for c, v in cols.items())} where {where}{back};"

    def body():
        out = ""
        for _ in range(r.choice([1, 1, 2, 3])):
            way = r.random()
            if way < 0.15:
                out += f"for i in 1 .. {r.choice(['2', 'p1 % 4'])} loop {update(f'(p0 + i) % {n}')} end loop; "
            elif way < 0.25:
                out += f"if {r.choice(['h > 0', 'p1 % 3 = 1', 'x > 2'])} then {update('p0')} else {update('p0')} end if; "
            elif way < 0.35:
                out += f"select {r.choice(['n2, w', 'n1, k'])} into y, x from sm where k = p0; "
            elif way < 0.4:
                out += f"begin {update('p0')} if p1 % 5 = 2 then raise exception 'no'; end if; exception when raise_exception or numeric_value_out_of_range then x := x + 1; end; "
            else:
                out += update("p0") + " "
        return out + r.choice(["", "", "if p1 % 9 = 3 then raise exception 'none'; end if; "])

    first = len(case.procs)
    for i in range(r.choice([1, 1, 2, 3])):
        case.procs.append((f"s{i}", f"create procedure s{i}(p0 int, p1 int, h numeric, g bigint, out o text) language plpgsql as $$ declare m numeric(12,2) := 2; x int := 1; y numeric := 0.5; begin m := h; {body()}o := x || ',' || coalesce(y, 7); end $$"
                           if r.random() < 0.7 else f"create procedure s{i}(p0 int, p1 int, h numeric, g bigint, out o text) language plpgsql as $$ declare m numeric(12,2) := 2; x int; y numeric := h; begin x := p1; {body()}o := 'x'; end $$"))
    rare = r.choice([0, 0.02, 0.3])

    def amounts():
        if r.random() >= rare:
            return [str(r.randrange(-500, 9000) / 100), str(r.randrange(-5, 50))]
        return [r.choice(["\\N", "0.005", "-1.234", "33.3333333333333333", "99999999999", "9999999999.99", "-10000000000", "1e20", "50000", "-0.0000000000000001"]),
                r.choice(["\\N", "2147483648", "-2147483648", "9223372036854775807", "-9223372036854775807", "40000", "3"])]

    count = big or r.choice([5, 20, 60, 200, 400])
    calls = [(first + r.randrange(len(case.procs) - first), [str(r.randrange(n)), str(r.randrange(10)), *amounts()]) for _ in range(count)]
    case.calls = case.calls[:0 if r.random() < 0.4 else count] + calls
    r.shuffle(case.calls)
    if all(k >= first for k, _ in case.calls) and r.random() < 0.8:  # nothing else is in the module
        case.procs, case.calls = case.procs[first:], [(k - first, a) for k, a in case.calls]
    return case


# ---- several unique keys --------------------------------------------------------------------------
def add_keys(case, seed, big, calm):
    """A table with several unique keys, whose values calls know beforehand and often share, and procedures that put, take, change and look by either. Its random numbers are its own, too."""
    r = random.Random(seed * 41 + 13)
    if r.random() > 0.4:
        return case
    n, types = r.choice([3, 6, 20, 60]), [r.choice(["int", "int", "bigint", "text"]) for _ in range(6)]
    keys = r.choice([[[0], [1]], [[0], [1]], [[0], [1], [2]], [[0, 1], [2, 3]], [[0], [1, 2]], [[0, 1], [1, 2]], [[0, 1], [1]], [[0], [1], [2, 3]]])
    used = sorted({c for k in keys for c in k})
    primary = r.random() < 0.8
    nulls = [c for c in used if not (primary and c in keys[0]) and r.random() < 0.5]
    defs = [f"k{c} {types[c]}{'' if c in nulls else ' not null'}" for c in used] + ["g int not null", "v int not null", "w bigint not null"]
    defs += [f"{'primary key' if primary and i == 0 else 'unique'} ({', '.join(f'k{c}' for c in k)})" for i, k in enumerate(keys)]
    cell = {c: f"i * {r.choice([1, 1, 7])} % {r.choice([n, 97])}" for c in used}
    rows = ", ".join((f"'k' || {e}" if types[c] == "text" else e) if c not in nulls or r.random() < 0.7 else f"case when i % 3 > 0 then {e if types[c] != 'text' else repr('k') + ' || ' + e} end" for c, e in cell.items())
    case.setup += [f"create table kk ({', '.join(defs)})", "create table kc (a int primary key, next int not null)", "insert into kc select a, 0 from generate_series(0, 2) g(a)",
                   f"insert into kk select {rows}, i % 4, i, 0 from generate_series(0, {r.choice([-1, n // 2, n])}) g(i) on conflict do nothing"]
    case.tables += ["kk", "kc"]
    names = ", ".join(f"k{c}" for c in used)

    def value(c, late=False):
        """Of column c, by the parameters."""
        x = r.choice([f"p{c % 3}", f"p{c % 3}", f"p{r.randrange(3)}", f"(p{c % 3} + {r.randrange(3)}) % {n}"])
        if late and types[c] in ("int", "bigint"):
            return "x0"
        x = f"'k' || {x}" if types[c] == "text" else f"({x})::bigint" if types[c] == "bigint" else x
        if c in nulls and r.random() < 0.15:
            return r.choice(["null", f"case when p3 % 3 > 0 then {x} end"])
        return x

    def by(key=None):
        return " and ".join(f"k{c} = {value(c)}" for c in key or r.choice(keys)) + (r.choice(["", "", "", f" and v % 3 <> {r.randrange(3)}"]))

    def put(late=False):
        late = r.choice(used) if late else -1
        head = "update kc set next = next + 1 where a = p3 % 3 returning next into x0; " if late >= 0 else ""
        skip = " on conflict do nothing" if r.random() < (0.9 if calm else 0.3) else ""
        return head + f"insert into kk values ({', '.join(value(c, c == late) for c in used)}, {r.choice(['p3 % 4', 'p0 % 4', '1'])}, p3, 0){skip}; "

    def over():
        sets = r.choice(["v = excluded.v", "w = kk.w + 1", "v = kk.v + excluded.v, w = excluded.w + 2", "g = excluded.g"])
        return f"insert into kk values ({', '.join(value(c) for c in used)}, p3 % 4, p3 % 100, 0) on conflict ({', '.join(f'k{c}' for c in r.choice(keys))}) do update set {sets}; "

    def take():
        return f"delete from kk where {by()} returning v into x0; " if r.random() < 0.8 else f"delete from kk where {by()}; n0 := n0 + 1; "

    def part():
        c = r.choice(used)
        return r.choice([f"select coalesce(max(v), 0) into n0 from kk where k{c} = {value(c)}; ", f"delete from kk where g = p3 % 4{r.choice(['', f' and k{c} = {value(c)}'])}; ",
                         f"update kk set w = w + 1 where g = p0 % 4; " if r.random() < 0.5 else f"update kk set w = w + 1 where k{c} = {value(c)}; "])

    def move():
        return f"select v into x0 from kk where {by()}; if x0 is not null then delete from kk where {by(keys[0])}; {put()}end if; "

    def look():
        if r.random() < 0.25:
            return f"select count(*)::int, coalesce(sum(v), 0) into n0, b0 from kk where g = p3 % 4; "
        return r.choice([f"select v, w into x0, b0 from kk where {by()}; ", f"select k{r.choice(used)}::text into t0 from kk where {by()}; ", f"perform 1 from kk where {by()}; if found then n0 := n0 + 1; end if; "])

    def change():
        return f"update kk set {r.choice(['w = w + p3', 'v = (v * 3 + p3) % 1000', 'w = w - 1, v = p3'])} where {by()}; "

    def loop():
        return f"for i in 0 .. {r.choice(['2', 'p3 % 4'])} loop p0 := (p0 + i) % {n}; {r.choice([put, take, look, change])()}end loop; "

    kinds = r.sample([put, put, put, take, take, look, look, change, over, lambda: put(True), move, part, loop], r.choice([1, 1, 2, 2, 3, 4]))
    first = len(case.procs)
    if r.random() < 0.4:  # what each call does is found out by the call
        kinds = [lambda old=tuple(kinds): " ".join(f"if p3 % {len(old)} = {i} then {k()}end if;" for i, k in enumerate(old)) + " "]
    for i, kind in enumerate(kinds):
        body = kind() + (r.choice([put, take, look, change])() if r.random() < 0.3 else "") + ("" if calm or r.random() < 0.8 else "if p3 % 11 = 5 then raise exception 'late %', n0; end if; ")
        case.procs.append((f"k{i}", f"create procedure k{i}(p0 int, p1 int, p2 int, p3 int, out o text) language plpgsql as $$ declare x0 int; n0 int := 0; b0 bigint := 0; t0 text; begin {body}"
                           "o := n0 || ',' || b0 || ',' || coalesce(x0, -1) || ',' || coalesce(t0, '-'); end $$"))
    count = big or r.choice([5, 20, 60, 200, 400])
    spread = r.choice([n, n, 10 * n])
    calls = [(first + r.randrange(len(kinds)), ["\\N" if r.random() < 0.01 else str(r.randrange(spread)) for _ in range(3)] + [str(r.randrange(1000))]) for _ in range(count)]
    case.calls = case.calls[:0 if r.random() < 0.4 else count] + calls
    r.shuffle(case.calls)
    if all(k >= first for k, _ in case.calls) and r.random() < 0.9:
        case.procs, case.calls = case.procs[first:], [(k - first, a) for k, a in case.calls]
        case.queue = False
    case.keys = True
    return case


def add_takes(case, seed, big, calm):
    """Counters that calls take numbers from, with a table of what was done by them; procedures that fail before and behind, take on a condition, twice, of two counters, and others that look, add, put and
    delete. Its random numbers are its own, too."""
    r = random.Random(seed * 43 + 17)
    if r.random() > 0.45:
        return case
    n, type_ = r.choice([1, 2, 2, 4, 30]), r.choice(["int", "int", "bigint", "smallint", "numeric(6,2)", "numeric(12,0)"])
    most = {"int": 2**31 - 1, "bigint": 2**63 - 1, "smallint": 32767, "numeric(6,2)": 9999, "numeric(12,0)": 10**12 - 1}[type_]
    not_null = r.random() < 0.6
    limit = f" check (n {r.choice(['<', '<>'])} {r.choice([7, 50, 1000])})" if r.random() < 0.2 else ""
    start = r.choice(["0", "0", "c * 3", f"{most} - c * 20 - {r.choice([0, 3, 40, 100])}", "-5"])
    if limit:
        start = r.choice(["0", "0", "-c", "-5 - c"])
    if not not_null and r.random() < 0.4:
        start = f"case when c % 3 <> 1 then {start} end"
    keys = r.choice(["", "", "primary key (id)", "primary key (id)", "primary key (k, id)", "primary key (k, id)", "primary key (id, j)", "primary key (id), unique (k, j)", "unique (id)", "unique (k), unique (id)"])
    case.setup += [f"create table tn (c int primary key, n {type_}{' not null' if not_null else ''}{limit}, m bigint not null)", f"insert into tn select c, {start}, c from generate_series(0, {n - 1}) g(c)",
                   f"create table td (id bigint, k int, j int, who int, w int{', ' + keys if keys else ''})"]
    if r.random() < 0.3:
        case.setup += [f"insert into td select i * {r.choice([1, 3, 10])}, i % {n}, 0, -i, 0 from generate_series({r.choice([-3, 1])}, {r.choice([2, 30])}) g(i) on conflict do nothing"]
    case.tables += ["tn", "td"]
    amounts = r.choice([["1"], ["1"], ["1", "p2 % 5"], ["p2"], ["1", "-1"], ["p2 % 7 - 3"], ["case when p3 % 9 > 0 then 1 end"], ["case when p3 % 7 = 0 then 20000 else 1 end"], ["0", "1"]])

    def key():
        return r.choice([f"p0 % {n}", f"p0 % {n}", f"p0 % {n + 1}", f"p1 % {n}", "0"])

    def take(var="x0", where=None):
        amount = r.choice(amounts)
        col = "n" if r.random() < 0.85 else "m"
        back = r.choice([col, col, col, f"{col} - {r.choice([1, 2])}", f"{col}, m" if col == "n" else "m, n"])
        into = f"{var}, b1" if ", " in back else var
        more = r.choice(["", "", "", "", f" and m > {r.randrange(3)}", " and n < 20"])
        return f"update tn set {col} = {r.choice([f'{col} + {amount}', f'{col} + {amount}', f'{amount} + {col}', f'{col} - {amount}'])} where c = {where or key()}{more} returning {back} into {into}; "

    def two():
        return take() + r.choice([take("x1"), take("x1"), put() + take("x1"), take()])

    def maybe():
        return f"if {r.choice(['p3 % 3 = 0', 'p2 > 1', 'p0 <> p1', 'x0 % 2 = 0', 'coalesce(x0, 0) < 10'])} then {r.choice([take, put])()}{r.choice(['', put()])}{r.choice(['', 'else ' + r.choice([take, look])()])}end if; "

    def fail():
        return r.choice(["if p3 % 11 = 5 then raise exception 'told %', p3; end if; ", "if p3 % 40 = 7 then raise exception 'late %', x0; end if; ", "if x0 % 9 = 4 then raise exception 'a bad number %', x0; end if; ",
                         "x1 := 100 / (p3 % 13); ", "x1 := 100 / (coalesce(x0, 1) % 17); ", "assert p3 % 23 <> 3; "])

    def value(c):
        return {"id": r.choice(["x0", "x0", "x0", "x0", "coalesce(x0, -1)", "x0 * 2", "p3 % 50", "x1"]), "k": r.choice([f"p0 % {n}", f"p0 % {n}", "p1", "x0 % 3"]), "j": r.choice(["p3", "p3 % 10", "0"])}[c]

    def put():
        skip = r.choice(["", "", "", "", "", "", " on conflict do nothing"])
        return f"insert into td values ({value('id')}, {value('k')}, {value('j')}, p3, 0){skip}; "

    def puts():
        return f"for i in 0 .. {r.choice(['1', 'p3 % 3'])} loop insert into td values ({value('id')}, {value('k')}, i, p3, i); end loop; "

    def look():
        return r.choice([f"select n into x1 from tn where c = {key()}; ", f"select m into b1 from tn where c = {key()}; ", f"select count(*)::int into x1 from td where k = {value('k')}; ",
                         f"select count(*)::int, coalesce(sum(n), 0) into x1, b1 from tn; "])

    def other():
        return r.choice([f"update tn set n = n + 1 where c = {key()}; ", f"update tn set n = {r.choice(['p3', 'null', 'm'])} where c = {key()}; ", f"update tn set m = m + p2 where c = {key()}; ", f"delete from tn where c = {key()}; ",
                         f"insert into tn values ({key()}, p3, 0) on conflict do nothing; ", f"delete from td where k = {value('k')}; ", f"update td set w = w + 1 where k = {value('k')}; ", f"update tn set n = n * 2 where c = {key()}; "])

    def loop():
        return f"for i in 0 .. p3 % 3 loop {r.choice([take, put])()}end loop; "

    def either():
        """Branches run in another order than calls, and counters have the same numbers."""
        a, b = (f"update tn set n = n + 1 where c = {c} returning n into x0; {put()}" for c in (f"p0 % {n}", f"p1 % {n}"))
        return f"if p3 % 2 = {r.randrange(2)} then {a}else {b}end if; "

    first = len(case.procs)
    for i in range(r.choice([1, 1, 2, 3])):
        kinds = [r.choice([take, take, take, two, either])] + r.sample([put, put, put, puts, maybe, maybe, look, fail, fail, other, loop, take], r.choice([0, 1, 1, 2, 3]))
        if i > 0 and r.random() < 0.4:
            kinds = [r.choice([look, other, put])]
        if r.random() < 0.3:
            kinds.insert(0, fail)
        if calm:
            kinds = [k for k in kinds if k is not fail]
        body = "".join(k() for k in kinds)
        if r.random() < 0.05:
            body = f"begin {body}exception when others then x1 := -7; end; "
        case.procs.append((f"n{i}", f"create procedure n{i}(p0 int, p1 int, p2 int, p3 int, out o text) language plpgsql as $$ declare x0 bigint; x1 bigint; b1 numeric; begin {body}"
                           "o := coalesce(x0, -1) || ',' || coalesce(x1, -1) || ',' || coalesce(b1, -1); end $$"))
    count = big or r.choice([5, 20, 60, 200, 400, 1500])
    mine = len(case.procs) - first
    null = r.choice([0, 0, 0.01, 0.1])
    calls = [(first + r.randrange(mine), [str(r.randrange(r.choice([n, n, 3 * n]))) for _ in range(2)] + ["\\N" if r.random() < null else str(r.randrange(6)), str(r.randrange(1000))]) for _ in range(count)]
    case.calls = case.calls[:0 if r.random() < 0.6 else count] + calls
    r.shuffle(case.calls)
    if all(k >= first for k, _ in case.calls) and r.random() < 0.9:
        case.procs, case.calls = case.procs[first:], [(k - first, a) for k, a in case.calls]
        case.queue = case.keys = False
    case.takes = True
    return case


# ---- SQL between calls ---------------------------------------------------------------------------
DIGESTS = 64  # of all tables, that readers' results are looked up in


def add_foreign(case, seed, big, calm, always=False):
    """Tables that refer to one another, and to themselves, with actions; procedures that put, take, point elsewhere and change keys, one row at a time or several. Its random numbers are its own, too."""
    r = random.Random(seed * 47 + 29)
    if r.random() > 0.35 and not always:
        return case
    n = r.choice([3, 6, 20, 60])
    late = lambda: r.choice(["", "", "", "", " deferrable", " deferrable initially immediate", " not deferrable"])
    action = lambda: r.choice(["", "", " on delete no action", " on delete restrict", " on delete cascade", " on delete cascade", " on delete set null", " on delete set default"])
    moves = lambda: r.choice(["", "", " on update no action", " on update restrict", " on update cascade", " on update set null"])
    wide = r.choice(["int", "int", "int", "bigint", "smallint"])
    two = r.random() < 0.4  # the key of the parent has two columns
    parent = f"create table fp (id int, b int not null, u int, v int not null, {'primary key (id, b)' if two else 'primary key (id)'}, unique (u))"
    to = f"foreign key (r, b) references fp (id, b){r.choice(['', ' match full'])}" if two else "foreign key (r) references fp"
    child = (f"create table fc (id int primary key, r {'int' if two else wide}{r.choice(['', '', ' not null', ' default 1'])}, b int{r.choice(['', ' not null'])}, s int{r.choice(['', ' default 0'])}, w int not null, "
             f"{to}{action()}{moves()}{late()}" + (f", foreign key (s) references fp (u){action()}{moves()}{late()}" if r.random() < 0.5 else "") + ")")
    grand = f"create table fg (id int primary key, c int{r.choice(['', ' not null'])}, w int not null, foreign key (c) references fc{action()}{moves()}{late()})"
    own = f"create table fs (id int primary key, up int, w int not null, foreign key (up) references fs{r.choice(['', ' on delete set null', ' on delete no action', ' on delete cascade'])}{late()})"
    case.setup += [parent, child, grand, own, f"insert into fp select i, i % 2, i, 0 from generate_series(0, {n // 2}) g(i)",
                   f"insert into fc select i, i % {n // 2 + 1}, i % {n // 2 + 1} % 2, null, 0 from generate_series(0, {r.choice([-1, n // 2, n])}) g(i)",
                   f"insert into fg select i, null, 0 from generate_series(0, {r.choice([-1, n])}) g(i)" if "c int not null" not in grand else "insert into fg select id, id, 0 from fc where id % 2 = 0",
                   f"insert into fs select i, nullif(i / 2, i), 0 from generate_series(0, {r.choice([-1, n])}) g(i)"]
    if r.random() < 0.3:
        t, col = r.choice([("fg", "c"), ("fg", "c"), ("fs", "up"), ("fc", "r")])
        case.setup.insert(case.setup.index(own) + 1, f"create unique index f_part on {t} ({col}{r.choice(['', '', ', abs(w)'])}) where w % {r.choice([2, 4, 7])} = 1")
    case.tables += ["fp", "fc", "fg", "fs"]

    def num(nulls=True):
        x = r.choice(["p0", "p0", "p1", "p2", f"(p1 + {r.randrange(3)}) % {n}"])
        return x if calm or not nulls or r.random() < 0.93 else f"case when p3 % 4 > 0 then {x} end"

    def puts(t):
        rows = r.choice([1, 1, 1, 1, 2])
        x = lambda: num(rows == 1)
        cols = {"fp": lambda: f"({x()}, {r.choice(['p0 % 2', '0'])}, {x()}, p3)", "fc": lambda: f"({x()}, {x()}, {r.choice(['p0 % 2', '0', x()])}, {x()}, p3)", "fg": lambda: f"({x()}, {x()}, p3)",
                "fs": lambda: f"({x()}, {x()}, p3)"}[t]
        skip = " on conflict do nothing" if rows > 1 or r.random() < (0.9 if calm else 0.3) else ""
        return f"insert into {t} values {', '.join(cols() for _ in range(rows))}{skip}; "

    def put():
        return puts(r.choice(["fp", "fc", "fc", "fc", "fg", "fs"]))

    def over():
        t, sets = r.choice([("fc", f"r = excluded.r"), ("fc", "w = fc.w + 1"), ("fc", "s = excluded.s, w = excluded.w"), ("fg", "c = excluded.c"), ("fp", "v = excluded.v"), ("fs", "up = excluded.up")])
        return re.sub(r"\), \(.*\);", ");", puts(t)).replace(" on conflict do nothing", "").replace("; ", f" on conflict (id{', b' if t == 'fp' and two else ''}) do update set {sets}; ")

    def by(t):
        return f"id = {num()}" + (f" and b = {r.choice(['p0 % 2', '0'])}" if t == "fp" and two else "")

    def take():
        t = r.choice(["fp", "fp", "fp", "fc", "fc", "fg", "fs", "fs"])
        col = {"fp": "v", "fc": "w", "fg": "w", "fs": "w"}[t]
        return f"delete from {t} where {by(t)} returning {col} into x0; " if r.random() < 0.3 else f"delete from {t} where {by(t)}; if found then n0 := n0 + 1; end if; "

    def takes():
        return r.choice([f"delete from fp where u % 4 = p2 % 4; ", f"delete from fc where r = {num()}; ", f"delete from fc where w % 3 = p0 % 3; ", f"delete from fg where c = {num()}; ", f"delete from fs where id in ({num()}, {num()}); "])

    def point():
        t, sets = r.choice([("fc", f"r = {num()}"), ("fc", f"s = {num()}"), ("fc", f"r = {num()}, b = p0 % 2, w = w + 1"), ("fc", "r = null"), ("fg", f"c = {num()}"), ("fs", f"up = {num()}"), ("fs", "up = id")])
        where = by(t) if r.random() < 0.8 else {"fc": f"w % 4 = p2 % 4", "fg": f"w % 4 = 1", "fs": f"w % 5 = p2 % 5"}[t]
        return f"update {t} set {sets} where {where}; "

    def change():
        return r.choice([f"update fp set v = v + p3 where {by('fp')}; ", f"update fc set w = w + 1 where {by('fc')}; ", f"update fc set w = p3 where r = {num()}; ", f"update fs set w = w - 1 where {by('fs')}; "])

    def rekey():
        return r.choice([f"update fp set id = {num()} where {by('fp')}; ", f"update fp set u = {num()} where {by('fp')}; ", f"update fc set id = {num()} where {by('fc')}; ", f"update fp set id = id + {n} where {by('fp')}; "])

    def look():
        return r.choice([f"select v into x0 from fp where {by('fp')}; ", f"select count(*)::int into n0 from fc where r = {num()}; ", f"select r into x0 from fc where {by('fc')}; ", "select count(*)::int into n0 from fs where up is null; "])

    def safe():
        return f"begin {r.choice([put, take, point])()}exception when foreign_key_violation then n0 := n0 + 100; when unique_violation or not_null_violation then n0 := n0 + 1; end; "

    def loop():
        return f"for i in 0 .. {r.choice(['2', 'p3 % 4'])} loop p0 := (p0 + i) % {n}; {r.choice([put, take, look, change])()}end loop; "

    kinds = r.sample([put, put, put, put, take, take, take, point, point, change, change, look, over, takes, safe, loop] + [rekey] * KEY_CHANGES, r.choice([1, 2, 2, 3, 4]))
    first = len(case.procs)
    if r.random() < 0.3:  # what each call does is found out by the call
        kinds = [lambda old=tuple(kinds): " ".join(f"if p3 % {len(old)} = {i} then {k()}end if;" for i, k in enumerate(old)) + " "]
    for i, kind in enumerate(kinds):
        body = kind() + (r.choice([put, take, look, change])() if r.random() < 0.3 else "") + ("" if calm or r.random() < 0.8 else "if p3 % 11 = 5 then raise exception 'late %', n0; end if; ")
        case.procs.append((f"f{i}", f"create procedure f{i}(p0 int, p1 int, p2 int, p3 int, out o text) language plpgsql as $$ declare x0 int; n0 int := 0; begin {body}o := n0 || ',' || coalesce(x0, -1); end $$"))
    count = big or r.choice([5, 20, 60, 200, 400])
    spread = r.choice([n, n, 2 * n])
    calls = [(first + r.randrange(len(kinds)), ["\\N" if r.random() < 0.01 else str(r.randrange(spread)) for _ in range(3)] + [str(r.randrange(1000))]) for _ in range(count)]
    case.calls = case.calls[:0 if r.random() < 0.6 else count] + calls
    r.shuffle(case.calls)
    if all(k >= first for k, _ in case.calls) and r.random() < 0.9:
        case.procs, case.calls = case.procs[first:], [(k - first, a) for k, a in case.calls]
        case.queue = False
    case.foreign = True
    return case


def columns_of(case, table):
    """Names and types, as the setup defines them."""
    text = next(s for s in case.setup if s.startswith(f"create table {table} ("))
    parts = re.split(r",\s*(?![^(]*\))", text[text.index("(") + 1:-1])
    found = [re.match(r"(\w+) (double precision|numeric\(\d+,\d+\)|\w+)(.*)", x) for x in parts]
    key = re.search(r"primary key \(([^)]*)\)", text)
    never_null = key.group(1).split(", ") if key else []
    return [(m.group(1), m.group(2), "not null" in m.group(3) or "primary key" in m.group(3) or m.group(1) in never_null) for m in found if m and m.group(1) not in ("primary", "unique", "check", "foreign", "constraint")]


class Mixes:
    """SQL of three connections between bulks: 0 runs the calls, 1 changes and looks, 2 has snapshots. It has one result, wherever bulks have left the rows."""

    def __init__(self, case, seed):
        self.case, self.r = case, random.Random(seed * 43 + 17)
        self.columns = {t: columns_of(case, t) for t in case.tables}
        self.out, self.made = [], 0
        self.snapshot = self.block = self.added = None  # until where

    def numbers(self, t):
        return [c for c, type_, _ in self.columns[t] if type_ in ("int", "bigint", "smallint")] or ["1"]

    def look(self):
        r = self.r
        t = r.choice(self.case.tables)
        c = r.choice(self.numbers(t))
        return r.choice([f"select * from {t}", f"select count(*), sum({c}), min({c}), max({c}) from {t}", f"select count(*) from {t} where {c} = {r.randrange(4)}", f"select {c}, count(*) from {t} group by {c}",
                         f"select count(*), sum(a.{c}) from {t} a, {t} b where a.{c} = b.{c}" if c != "1" else f"select count(*) from {t}", f"select * from {t} where {c} % 3 = 1"])

    def cell(self, type_, not_null):
        r = self.r
        if not not_null and r.random() < 0.1:
            return "null"
        start = r.choice(["g", "g", f"g % {r.choice([2, 5, 40])}"])
        return {"text": f"'k' || {start}", "boolean": f"{start} % 2 = 0", "date": f"date '2020-01-01' + ({start})::int % 300", "smallint": f"({start})::smallint"}.get(type_, start)

    def insert(self, t):
        r = self.r
        first, n = r.choice([0, 3, 50, 1000]), r.choice([1, 3, 3, 40, 300])
        return f"insert into {t} ({', '.join(c for c, _, _ in self.columns[t])}) select {', '.join(self.cell(x, n) for _, x, n in self.columns[t])} from generate_series({first}, {first + n - 1}) s(g) on conflict do nothing"

    def delete(self, t):
        c = self.r.choice(self.numbers(t))
        return f"delete from {t} where {c} {self.r.choice(['= 1', '= 3', '% 7 = 2', '> 900'])}"

    def update(self, t):
        r = self.r
        keys = " ".join(s for s in self.case.setup if s.startswith(f"create table {t} "))
        free = [c for c, type_, _ in self.columns[t] if type_ in ("int", "bigint", "smallint") and c[0] not in "kug" and not re.search(rf"(primary key|unique) \([^)]*\b{c}\b", keys) and f"{c} int primary" not in keys]
        c, by = r.choice(free) if free else None, r.choice(self.numbers(t))
        where = r.choice(["", f" where {by} = {r.randrange(3)}", f" where {by} % 3 = 0", f" where {by} between 1 and 4"])
        return f"update {t} set {c} = abs({c} % 1000) + 1{where}{r.choice(['', '', ' returning *'])}" if c else self.delete(t)

    def change(self):
        t = self.r.choice(self.case.tables)
        return self.r.choice([self.insert, self.insert, self.update, self.update, self.delete])(t)

    def define(self):
        """Objects that no call names."""
        r = self.r
        self.made += 1
        name, t = f"x{self.made}", r.choice(self.case.tables)
        return r.choice([[f"create table {name} as select * from {t}", f"select * from {name}"], [f"create view {name} as select count(*) as n from {t}", f"select n from {name}", f"drop view {name}"],
                         [f"create function {name}(a int) returns int language plpgsql as $$ begin return a + 1; end $$", f"select {name}(4)"],
                         [f"create table {name} (a int primary key, b text)", f"insert into {name} values (1, 'a'), (2, 'b')", f"alter table {name} add column c int default 7", f"select * from {name}", f"drop table {name}"],
                         [f"create procedure {name}(arg int) language plpgsql as $$ begin delete from {t} where {r.choice(self.numbers(t))} = arg; end $$", f"call {name}(-12345)", f"drop procedure {name}"]])

    def begin(self, at, connection):
        """A transaction at once."""
        r = self.r
        change = "; ".join([self.change(), self.look(), *([self.change()] if r.random() < 0.5 else []), self.look()])
        end = r.choice(["commit", "rollback"])
        self.out.append((at, connection, f"begin; {change}; {end}"))
        self.out.append((at, connection, "rollback"))  # when it has failed

    def step(self, at, n):
        r = self.r
        what = r.random()
        other = r.choice([0, 0, 1])
        if self.block is not None:  # connection 0 has begun: others change nothing, or it may be refused
            self.out.append((at, *r.choice([(0, self.look()), (1, self.look()), (0, self.delete(r.choice([t for t in self.case.tables if t not in ('fp', 'fc', 'fs')])))])))  # nothing refers to its rows
        elif what < 0.25:
            self.out.append((at, other, self.look()))
        elif what < 0.55:
            self.out.append((at, other, self.change()))
        elif what < 0.65:
            self.begin(at, other)
        elif what < 0.75:
            self.out.append((at, other, r.choice(["vacuum", f"vacuum {r.choice(self.case.tables)}", f"vacuum {r.choice(self.case.tables)}", f"analyze {r.choice(self.case.tables)}"])))
        elif what < 0.82:
            self.out += [(at, other, sql) for sql in self.define()]
        elif what < 0.88 and self.snapshot is None and self.added is None:
            self.added = r.choice(self.case.tables)
            self.out.append((at, other, f"alter table {self.added} add column more int default 3"))
            if r.random() < 0.5:
                self.end_added(at)
        elif what < 0.94 and self.snapshot is None and self.added is None:
            self.snapshot = [self.look() for _ in range(2)] + [f"select * from {t}" for t in self.case.tables]
            self.out.append((at, 2, "begin isolation level repeatable read"))
            self.read_snapshot(at)
        elif at < n:
            self.block = r.choice(["commit", "rollback"])
            self.out.append((at, 0, "begin"))
            if r.random() < 0.5:
                self.out.append((at, 0, self.look()))

    def read_snapshot(self, at):
        self.out += [(at, 2, sql) for sql in self.snapshot]

    def end_added(self, at):
        self.out.append((at, 0, f"alter table {self.added} drop column more"))
        self.added = None

    def end(self, at, always):
        """What is open, maybe ends."""
        r = self.r
        if self.snapshot is not None:
            self.read_snapshot(at)
            if always or r.random() < 0.4:
                self.out.append((at, 2, "commit"))
                self.snapshot = None
        if self.block is not None and (always or r.random() < 0.5):
            self.out.append((at, 0, self.block))
            self.block = None
        if self.block is None and self.added is not None and (always or r.random() < 0.4):
            self.end_added(at)

    def all(self):
        r, n = self.r, len(self.case.calls)
        places = sorted(r.randrange(0, n + 1, self.case.every) for _ in range(r.choice([1, 2, 4, 8])))
        for at in places:
            self.end(at, False)
            for _ in range(r.choice([1, 1, 2, 3])):
                self.step(at, n)
        self.end(n, True)
        return self.out


def add_mixes(case, seed):
    case.every = len(case.calls) // DIGESTS + 1
    if random.Random(seed * 41 + 13).random() < 0.35:
        case.mixes = Mixes(case, seed).all()
    return case


# ---- cases ---------------------------------------------------------------------------------------
class Case:
    queue = keys = takes = foreign = False
    every = 1  # calls, for readers

    def __init__(self, setup, tables, procs, calls, mixes=()):
        self.setup, self.tables, self.procs, self.calls, self.mixes = setup, tables, procs, calls, list(mixes)

    def but(self, **other):
        """With something else."""
        x = Case(self.setup, self.tables, self.procs, self.calls, self.mixes)
        for name, value in other.items():
            setattr(x, name, value)
        return x

    def without_calls(self, first, end):
        return self.but(calls=self.calls[:first] + self.calls[end:], mixes=[(at - max(0, min(at, end) - first), c, sql) for at, c, sql in self.mixes])

    def definitions(self):
        """In half of the cases some routines are compiled before the next ones are there, which then have to fit them or make all be compiled anew."""
        rng = random.Random(zlib.crc32(self.procs[0][1].encode()))
        early = rng.choice([0, rng.random()])
        out = []
        for name, sql in self.procs:
            out.append("S " + sql.replace("; ", ";\t"))
            out += [f"S explain procedure {name}"] * (rng.random() < early)
        return out

    def text(self, configs):
        # a statement of a procedure per line: errors tell theirs
        out = ["S " + s for s in self.setup] + self.definitions() + ["T " + t for t in self.tables] + ["R " + n for n, _ in self.procs]
        out += ["C " + "\t".join([str(i), *args]) for i, args in self.calls]
        out += [f"M {at}\t{c}\t{sql}" for at, c, sql in self.mixes] + [f"E {self.every}"]
        out += ["G " + g for g in configs]
        return "\n".join(out) + "\n.\n"


def with_readers(case, seed, gs):
    """Some of the configurations with readers beside the bulks, which are cut where the reference has digests. What begins a transaction or runs twice does not go with SQL between calls, the second
    not with readers either."""
    rng, every, n = random.Random(seed * 47 + 19), case.every, len(case.calls)
    out = []
    for g in gs:
        strategy, vector, threads, cuts, flags, settings = g.split("\t")
        if case.mixes:
            flags = re.sub("[xtq]", "", flags)
        if rng.random() < 0.3 and not ("o" in flags and every > 1):  # in any order slices end where a routine's calls do
            flags = re.sub("[xm]", "", flags) + rng.choice(["r", "rd", "rd", "c", "rcd"])
            cuts = "-" if cuts == "-" else ",".join(str(x) for x in sorted({int(x) // every * every for x in cuts.split(",")} - {0})) or "-"
            if "bulk_slice_calls" not in settings or every > 1:
                settings += f"; set bulk_slice_calls = {every * rng.choice((1, 2, 5))}"
        out.append("\t".join((strategy, vector, threads, cuts, flags, settings)))
    return out


def configs(rng, n, extra):
    """Strategies, vectors and threads all in turn; cuts and flags at random. Of each strategy's two configurations one tells bulks what comes next."""
    out = []
    def cuts():
        if n < 2 or rng.random() < 0.5:
            return "-"
        return ",".join(str(x) for x in sorted({rng.randrange(1, n) for _ in range(rng.randrange(1, 4))}))
    for strategy in ("serial", "kset", "tpl", "part", "auto"):
        for vector in rng.sample((1, 3, 1024), 2):
            threads = rng.choice((1, 4))
            flags = rng.choice(["", "", "s", "x", "t", "q", "m"])
            flags += "n" if len(out) % 2 != n % 2 else ""
            spread = f"set bulk_partitions = {rng.choice((0, 0, 1, 3, 7))}; " if strategy == "part" else ""
            out.append(f"{strategy}\t{vector}\t{threads}\t{cuts()}\t{flags}\t{spread}{extra}")
    out.append(f"{rng.choice(('serial', 'kset', 'tpl', 'part', 'auto'))}\t{rng.choice((1, 3, 1024))}\t{rng.choice((1, 4))}\t{cuts()}\to{rng.choice(['', 's', 't', 'm', 'x'])}\tset bulk_order = 'any'; {extra}")
    return out


def run(driver, case, gs, timeout):
    lines = driver.run(case.text(gs), timeout)
    return lines


def bad(lines):
    return [x for x in lines if x[0] in "DX"]


def invalid(lines):
    return [x for x in lines if x[0] == "E"]


def split_statements(sql):
    """The top-level pieces of a routine's body, for the reduction: ends of statements that leave the block structure whole."""
    start = sql.index(" begin ") + 7
    end = sql.rindex(" end $$")
    body, out, depth, at = sql[start:end], [], 0, 0
    words, i, quote = "", 0, False
    tokens = []
    while i < len(body):
        c = body[i]
        if c == "'":
            k = body.index("'", i + 1)
            i = k + 1
            continue
        if c.isalnum() or c == "_":
            k = i
            while k < len(body) and (body[k].isalnum() or body[k] == "_"):
                k += 1
            tokens.append((body[i:k], i, k))
            i = k
            continue
        if c == ";":
            tokens.append((";", i, i + 1))
        i += 1
    prev = ""
    for w, a, b in tokens:
        if w in ("if", "case", "loop") and prev != "end":
            depth += 1
        if w == "end":
            depth -= 1
        if w == ";" and depth == 0:
            out.append((start + at, start + b))
            at = b
        prev = w
    return out


def inner_pieces(sql):
    """Places of statements of any depth, each whole."""
    start = sql.index(" begin ") + 7
    end = sql.rindex(" end $$")
    out, stack, i, prev = [], [], start, ""
    at = [start]
    while i < end:
        c = sql[i]
        if c == "'":
            i = sql.index("'", i + 1) + 1
            prev = ""
            continue
        if c.isalpha() or c == "_":
            k = i
            while k < end and (sql[k].isalnum() or sql[k] == "_"):
                k += 1
            w = sql[i:k]
            i = k
            if w in ("if", "case", "loop") and prev != "end":
                stack.append((w, at[-1]))
                if w == "loop":
                    at.append(k)
                else:
                    at.append(None)
            elif w in ("then", "else") and stack:
                at[-1] = k
            elif w == "end" and stack:
                stack.pop()
                at.pop()
            prev = w
            continue
        if c == ";":
            if at[-1] is not None:
                out.append((at[-1], i + 1))
                at[-1] = i + 1
            prev = ";"
        i += 1
    return out


def reduce(driver, case, g, timeout, seconds):
    """Fewer calls, routines, rows and statements that still differ under configuration g."""
    end = time.monotonic() + seconds

    def kind(lines):
        if invalid(lines) or not bad(lines):
            return None
        k, text = bad(lines)[0]
        return k + text.split(" ")[0] if k == "X" else k + ("XX000" if "XX000" in text else "")

    first = kind(run(driver, case, [g], timeout))

    def fails(c):
        return time.monotonic() < end and first is not None and kind(run(driver, c, [g], timeout)) == first

    case = case.but(every=1)
    if not fails(case):
        return case
    for i in reversed(range(len(case.mixes))):
        c = case.but(mixes=case.mixes[:i] + case.mixes[i + 1:])
        if fails(c):
            case = c
    n = 2
    while len(case.calls) > 1 and n <= len(case.calls):  # delta debugging over the calls
        size = -(-len(case.calls) // n)
        for k in range(0, len(case.calls), size):
            c = case.without_calls(k, k + size)
            if fails(c):
                case, n = c, max(n - 1, 2)
                break
        else:
            if size == 1:
                break
            n *= 2
    again = True
    while again and time.monotonic() < end:
        again = False
        for i in reversed(range(len(case.procs))):
            if any(k == i for k, _ in case.calls) or len(case.procs) == 1:
                continue
            c = case.but(procs=case.procs[:i] + case.procs[i + 1:], calls=[(k - (k > i), a) for k, a in case.calls])
            if fails(c):
                case, again = c, True
        for i in range(len(case.procs)):
            done = False
            while not done:
                done = True
                name, sql = case.procs[i]
                for a, b in sorted(inner_pieces(sql), key=lambda x: x[0] - x[1]):
                    for text in ("", " null;"):
                        c = case.but(procs=case.procs[:i] + [(name, sql[:a] + text + sql[b:])] + case.procs[i + 1:])
                        if sql[a:b].strip() != "null;" and fails(c):
                            case, again, done = c, True, False
                            break
                    if not done:
                        break
        for i in reversed(range(len(case.setup))):
            if not case.setup[i].startswith("insert"):
                continue
            c = case.but(setup=case.setup[:i] + case.setup[i + 1:])
            if fails(c):
                case, again = c, True
        for i in reversed(range(len(case.tables))):
            name = case.tables[i]
            c = case.but(setup=[s for s in case.setup if f" {name} " not in s], tables=[t for t in case.tables if t != name])
            if len(case.tables) > 1 and fails(c):
                case, again = c, True
    return case


def round_(driver, seed, o, figures):
    g = (Calm if o.calm else Gen)(seed, o.big)
    if o.sets:
        g.parts = g.set_queries = True
    case = add_takes(add_keys(add_sums(add_queue(g.case(), seed, o.big, o.calm), seed, o.big), seed, o.big, o.calm), seed, o.big, o.calm)
    case = add_foreign(case, seed, o.big, o.calm, o.foreign)
    if o.takes and not case.takes:
        return "none"
    case = add_mixes(case, seed)
    if o.mixed and not case.mixes:
        return "none"
    rng = random.Random(seed * 7 + 1)
    gs = configs(rng, len(case.calls), o.set)
    if case.queue:
        gs += [f"{s}\t1024\t4\t{c}\to\tset bulk_order = 'any'; {o.set}" for s, c in (("tpl", "-"), ("auto", str(max(len(case.calls) // 2, 1))))]
        figures["queues"] += 1
    gs = with_readers(case, seed, gs)
    figures["cases with SQL between calls"] += bool(case.mixes)
    figures["configurations with readers"] += sum("r" in g.split("\t")[4] or "c" in g.split("\t")[4] for g in gs)
    figures["tables with several keys"] += case.keys
    figures["counters"] += case.takes
    figures["foreign keys"] += case.foreign
    lines = run(driver, case, gs, o.timeout)
    for kind, text in lines:
        if kind == "B":
            figures["tables read beside bulks, of one reader each different"] += int(text)
        if kind == "P":
            why = text.split("\t", 1)[1]
            figures["routines"] += 1
            if why:
                why = why.split(": ", 1)[-1] if why.startswith("line") else why
                figures["refused: " + why] += 1
            else:
                figures["compiled"] += 1
        if kind == "A":
            figures["cases with bulks that were told of"] += 1
            for what, number in zip(("configurations with such bulks", "bulks that were told of", "bulks with arguments ahead", "bulks with footprints ahead"), text.split()):
                figures[what] += int(number)
        if kind == ".":
            n, f = text.split()
            figures["calls"] += int(n)
            figures["calls that fail"] += int(f)
    if invalid(lines):
        print(f"seed {seed}: not a case: {invalid(lines)[0][1]}", flush=True)
        return "fail"
    if not bad(lines):
        return "pass"
    kind, text = bad(lines)[0]
    print(f"seed {seed}: {text}", flush=True)
    conf = next((x for x in gs if text.startswith(x)), None)
    if conf is None:  # it died: find out where
        conf = next((x for x in gs if bad(run(driver, case, [x], o.timeout))), gs[0])
    if o.reduce > 0:
        small = reduce(driver, case, conf, o.timeout, o.reduce)
    else:
        small = case
    path = os.path.join(o.build, "bulk", f"{seed}.case")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(small.text([conf]))
    with open(path, encoding="utf-8") as f:
        print(f.read()[:3000])
    for kind, text in bad(run(driver, small, [conf], o.timeout))[:4]:
        print(f"  {text}")
    print(f"({path}; {o.driver} < it)", flush=True)
    return "fail"


def nothing_ahead(figures):
    """Enough bulks could have had their footprints made ahead, and none had."""
    return figures["cases with bulks that were told of"] >= AHEAD_CASES and figures["bulks with footprints ahead"] == 0


def arguments():
    """What postgres.py takes as well."""
    ap = argparse.ArgumentParser()
    ap.add_argument("--build", default="build")
    ap.add_argument("--driver")
    ap.add_argument("--seconds", type=float, default=60)
    ap.add_argument("--seed", type=int)
    ap.add_argument("--rounds", type=int, default=10**9)
    ap.add_argument("--verbose", action="store_true")
    return ap


def parsed(ap):
    o = ap.parse_args()
    o.driver = o.driver or os.path.join(o.build, "release", "bulk_oracle")
    o.seed = o.seed if o.seed is not None else int(time.time())
    return o


def main():
    ap = arguments()
    ap.add_argument("--recover", metavar="DIR", help="databases with a redo log in this directory, which are left and recovered at the end")
    ap.add_argument("--calm", action="store_true", help="procedures that hardly ever fail, for locks by statement")
    ap.add_argument("--takes", action="store_true", help="only cases with counters that numbers are taken from")
    ap.add_argument("--foreign", action="store_true", help="only cases with foreign keys")
    ap.add_argument("--sets", action="store_true", help="many loops over queries that group, order and combine rows")
    ap.add_argument("--mixed", action="store_true", help="only cases with SQL between calls")
    ap.add_argument("--big", type=int, default=0, help="calls in a bulk")
    ap.add_argument("--set", default="", help="SQL before each configuration's bulks")
    ap.add_argument("--timeout", type=float, default=HANG)
    ap.add_argument("--reduce", type=float, default=30, help="seconds to reduce a difference")
    ap.add_argument("--failures", type=int, default=5, help="ends after so many")
    o = parsed(ap)
    seed = o.seed
    driver, figures, count = Driver(o.driver, o.recover), collections.Counter(), collections.Counter()
    end = time.monotonic() + o.seconds
    try:
        for i in range(o.rounds):
            if time.monotonic() > end or count["fail"] >= o.failures:
                break
            r = round_(driver, seed + i, o, figures)
            count[r] += 1
            if o.verbose:
                print(f"seed {seed + i}: {r}", flush=True)
    finally:
        driver.close()
    print(", ".join(f"{n} {k}" for k, n in figures.most_common()))
    if nothing_ahead(figures):
        print(f"no bulk of {figures['cases with bulks that were told of']} cases had its footprints made ahead")
        count["fail"] += 1
    print(f"{count['pass']} passed, {count['fail']} failed")
    sys.exit(count["fail"] > 0)


if __name__ == "__main__":
    main()
