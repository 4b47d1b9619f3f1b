#!/usr/bin/env python3
"""Random PL/pgSQL procedures and functions, called in Stele and in PostgreSQL on the same data: OUT values, rows of set-returning functions, errors (SQLSTATE and
message), notices and the tables afterwards must agree.

usage: pl.py [--build DIR] [--seconds N] [--seed S] [--rounds N] [--verbose]

Known difference: of a NULL array PostgreSQL does not compute the subscript; here it is, so subscripts do not fail and change nothing.

Every round has a seed of its own: `--seed S --rounds 1` runs one again. A failing round is written to BUILD/diff/. The last line is `N passed, N failed`.
"""
import argparse
import os
import random
import re
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import pg  # noqa: E402
from shell import HANG, Died, Stele  # noqa: E402

SCHEMA = [
    "create table a (id int primary key, x int not null check (x > -1000000), y bigint, s text)",
    "create table b (k int, j int, v int, primary key (k, j))",
    "create table log (n int, what text)",
]
CONDITIONS = ["division_by_zero", "unique_violation", "check_violation", "not_null_violation", "no_data_found", "too_many_rows", "numeric_value_out_of_range",
              "raise_exception", "case_not_found", "others", "sqlstate 'AB123'", "data_exception", "integrity_constraint_violation", "null_value_not_allowed", "syntax_error"]


class Gen:
    def __init__(self, rng):
        self.r = rng
        self.routines = []  # (kind, name)
        self.quiet = False
        self.labels = []  # of blocks and loops around: (name, whether it is a loop's)

    def pick(self, *xs):
        return self.r.choice(xs)

    def int_(self, d=0):
        """An expression of type int over the routine's variables. With subqueries nothing in it may fail: PostgreSQL folds constants first."""
        r = self.r
        if d == 0 and not self.quiet and r.random() < 0.3:
            return self.in_query(lambda: self.int_(0))
        k = r.randrange(14 if d < 3 else 5)
        if k < 2:
            return str(r.choice([0, 1, 2, 3, 5, 7, 10, -1, -4, 100]))
        if k < 5:
            return r.choice(self.ints)
        if k < 8:
            return f"({self.int_(d + 1)} {r.choice('+-' if self.quiet else '+-*')} {self.int_(d + 1)})"
        if k == 8:
            # inside a query PostgreSQL may compute it although no row needs it
            right = self.int_(d + 1)
            if not any(c.isalpha() for c in right):  # PostgreSQL folds constants when it plans: a failing one fails even where it is not reached
                right = f"(v2 + {right})"
            return f"({self.int_(d + 1)} {r.choice('+-' if self.quiet else '/%')} {right})"
        if k == 9:
            return f"coalesce({self.int_(d + 1)}, {self.int_(d + 1)})"
        if k == 10:
            return f"(case when {self.bool_(d + 1)} then {self.int_(d + 1)} else {self.int_(d + 1)} end)"  # PostgreSQL wants the parentheses after IF
        if k == 11:
            return f"greatest({self.int_(d + 1)}, {self.int_(d + 1)})"
        if k == 12:
            fs = [n for kind, n in self.routines if kind == "f"]
            return f"{r.choice(fs)}({self.int_(d + 1)}, {self.int_(d + 1)})" if fs and d < 2 else f"length({self.text(d + 1)})"
        if not self.quiet:
            return "1"
        return f"(select {r.choice(['count(*)::int', 'max(x)', 'min(id)'])} from a where id {r.choice(['=', '<', '>='])} {self.key()})"

    def bool_(self, d=0):
        r = self.r
        if d == 0 and not self.quiet and r.random() < 0.3:
            return self.in_query(lambda: self.bool_(0))
        k = r.randrange(8 if d < 3 else 3)
        if k < 3:
            return f"{self.int_(d + 1)} {r.choice(['<', '>', '=', '<>', '<=', '>='])} {self.int_(d + 1)}"
        if k == 3:
            return f"({self.bool_(d + 1)} {r.choice(['and', 'or'])} {self.bool_(d + 1)})"
        if k == 4:
            return f"not ({self.bool_(d + 1)})"
        if k == 5:
            return f"{r.choice(self.ints)} is {r.choice(['', 'not '])}null"
        if k == 6:
            return "found"
        if not self.quiet:
            return "not found"
        return f"exists (select 1 from b where k = {self.key()} and j < {self.key()})"

    def text(self, d=0):
        r = self.r
        k = r.randrange(6 if d < 3 else 2)
        if k == 0:
            return "'" + r.choice(["", "a", "xy", "hello", "it''s"]) + "'"
        if k == 1:
            return "t"
        if k == 2:
            return f"({self.int_(d + 1)})::text"
        if k == 3:
            return f"({self.text(d + 1)} || {self.text(d + 1)})"
        if k == 4:
            return f"upper({self.text(d + 1)})"
        return f"coalesce({self.text(d + 1)}, 'n')"

    def key(self):
        return self.pick(str(self.r.randrange(8)), self.r.choice(self.ints), f"abs({self.r.choice(self.ints)}) % 8")

    def in_query(self, make):
        was, self.quiet = self.quiet, True
        sql = make()
        self.quiet = was
        return sql

    def dml(self):
        r = self.r
        k = r.randrange(12)
        if k == 0:
            return f"insert into a values ({self.key()}, {self.int_(1)}, {self.int_(1)}, {self.text(1)});"
        if k == 1:
            return f"insert into a values ({self.key()}, {self.int_(1)}, 0, 'u') on conflict (id) do update set x = a.x + excluded.x, s = excluded.s;"
        if k == 2:
            return f"insert into b values ({self.key()}, {self.key()}, {self.int_(1)}) on conflict do nothing;"
        if k == 3:
            return f"update a set x = x + {self.int_(1)} where id = {self.key()};"
        if k == 4:
            return f"update a set y = y + {self.int_(1)}, s = {self.text(1)} where id = {self.key()} returning x into {r.choice(self.ints_set)};"
        if k == 5:
            return f"update a set x = x + 1 where id between {self.key()} and {self.key()};"
        if k == 6:
            return f"delete from a where id = {self.key()};"
        if k == 7:
            return f"delete from b where k = {self.key()} and j = {self.key()} returning v into {r.choice(self.ints_set)};"
        if k == 8:
            return f"update b set v = coalesce(v, 0) + {self.int_(1)} where k = {self.key()} and j = {self.key()} and v > {self.int_(1)};"
        if k == 9:
            return f"insert into log values ({self.int_(1)}, {self.text(1)});"
        if k == 10:
            return f"insert into b select id, {self.key()}, x from a where id < {self.key()} on conflict do nothing;"
        return f"update b set v = v + 1 where k = {self.key()};"

    def query(self):
        r = self.r
        v = r.choice(self.ints_set)
        strict = r.choice(["", "", "strict "])
        k = r.randrange(8)
        if k == 0:
            return f"select x into {strict}{v} from a where id = {self.key()};"
        if k == 1:
            return f"select x, s into {strict}{v}, t from a where id = {self.key()} and x > {self.int_(1)};"
        if k == 2:
            return f"select count(*), max(v) into {v}, {r.choice([x for x in self.ints_set if x != v])} from b where k = {self.key()};"
        if k == 3:
            return f"select x into {strict}{v} from a where id >= {self.key()} order by id;"
        if k == 4:
            return f"select * into rec from a where id = {self.key()}; if found then t := coalesce(rec.s, '-'); {v} := rec.x; end if;"
        if k == 5:
            return f"select a.x + b.v into {v} from a join b on a.id = b.k where b.j = {self.key()} order by a.id, b.j limit 1;"
        if k == 6:
            return f"perform 1 from b where k = {self.key()}; t := t || found;"
        return f"execute 'select x from a where id = $1' into {v} using {self.key()};"

    def stmt(self, d, loop):
        r = self.r
        k = r.randrange(36)
        if k < 3:
            return f"{r.choice(self.ints_set)} := {self.int_()};"
        if k == 3:
            return f"t := left({self.text()}, 40);"
        if k < 7:
            return self.in_query(self.dml if self.may_change else self.query)
        if k < 9:
            return self.in_query(self.query)
        if k == 9:
            # not anywhere: in PostgreSQL an expression with a subquery sets it too
            return f"{self.in_query(self.dml if self.may_change else self.query)} get diagnostics {r.choice(self.ints_set)} = row_count;"
        if k == 10:
            return "o := o || coalesce(t, 'N') || " + " || ".join(f"coalesce({v}::text, 'N') || ','" for v in self.ints_set) + " || found || ';';"
        if k == 11 and (loop or self.labels):
            label, of_loop = r.choice(self.labels) if self.labels and (not loop or r.random() < 0.5) else ("", True)
            return (self.pick("exit", "continue") if of_loop else "exit") + f" {label} when {self.bool_()};"
        if k == 12:
            c = r.randrange(6)
            if c == 0:
                return f"if {self.bool_()} then raise exception 'r % %', {r.choice(self.ints)}, t; end if;"
            if c == 1:
                return f"if {self.bool_()} then raise {r.choice(CONDITIONS[:7])}; end if;"
            if c == 2:
                return f"if {self.bool_()} then raise exception 'c' using errcode = 'AB123'; end if;"
            if c == 3:
                return f"if {self.bool_()} then raise sqlstate 'AB123'; end if;"
            if c == 4:
                return f"assert {r.choice(self.ints)} is null or {r.choice(self.ints)} is not null;"
            return f"raise {self.pick('debug', 'notice', 'warning', 'info')} 'n % of %%, %', {r.choice(self.ints)}, t" + self.pick("", "", " using hint = 'h' || coalesce(t, ''), detail = 'd'") + ";"
        if k == 13 and self.may_change:
            ps = [n for kind, n in self.routines if kind == "p"]
            if ps:
                return f"call {r.choice(ps)}({r.choice(self.ints)} + 1, {r.choice(self.ints)}, t, arr, {r.choice(self.ints_set)}, o);"
        if k == 14 and self.in_function and not self.gives:
            return f"if {self.bool_()} then return {self.int_()}; end if;"
        if k == 14:
            return f"if {self.bool_()} then return; end if;"
        if k == 22 or k == 23:
            v, x = r.choice(self.ints_set), self.int_()
            return self.pick(f"n1 := {x} * 1.25;", f"n1 := n1 + {x};", f"n1 := {x} / 4.0; {v} := n1;", f"b1 := b1 * {x};", f"b1 := {x}; {v} := b1 * 50000;", f"s1 := {x};", f"s1 := s1 + 1; {v} := s1;",
                             f"d1 := {x} / 2.0; {v} := d1;")
        if k == 24 or k == 25:
            return self.pick(f"arr := array_append(arr, {self.int_()});", f"if array_length(arr, 1) >= 3 then arr[1 + abs({self.int_()}) % 3] := {self.int_()}; end if;", f"{r.choice(self.ints_set)} := arr[{r.choice(self.ints)}];",
                             f"{r.choice(self.ints_set)} := coalesce(array_length(arr, 1), -1) + cardinality(arr);", f"{r.choice(self.ints_set)} := array_position(arr, {self.int_()});",
                             f"t := left(array_to_string(arr, ',', 'N'), 30);", f"arr := array[{self.int_()}, {self.int_()}, {r.choice(self.ints)}];")
        if k == 26 and self.may_change:
            v = r.choice(self.ints_set)
            return self.in_query(lambda: self.pick(f"insert into a values ({self.key()}, {self.int_(1)}, 1, 's') returning x + 1 into strict {v};", f"update a set x = x + 1 where id >= {self.key()} returning x into strict {v};",
                                                   f"delete from a where id = {self.key()} returning x, s into strict {v}, t;", f"update b set v = v + 1 where k = {self.key()} returning v into {v};"))
        if k == 27 and self.gives:
            return self.pick(f"c1 := {self.int_()}; c2 := {self.text()}; return next;", "return next;", self.in_query(lambda: f"return query select id, s from a where id < {self.key()} order by id;"),
                             self.in_query(lambda: f"return query execute 'select x, null::text from a where id = $1' using {self.key()};"))
        if k == 28 and self.recursive:
            if self.in_function and not self.gives:
                return f"if p1 > 0 and p1 <= 5 then {r.choice(self.ints_set)} := {self.recursive}(p1 - 1, {self.int_()}); end if;"
            if not self.in_function:
                return f"if p1 > 0 and p1 <= 5 then call {self.recursive}(p1 - 1, {r.choice(self.ints)}, t, arr, {r.choice(self.ints_set)}, o); end if;"
        if d >= 3:
            return "null;"
        body = self.body(d + 1, loop)
        if k == 15 or k == 16:
            e = f" else {self.body(d + 1, loop)}" if r.random() < 0.5 else ""
            return f"if {self.bool_()} then {body}{e} end if;"
        if k == 17:
            e = f" else {self.body(d + 1, loop)}" if r.random() < 0.6 else ""
            return f"case {self.int_(1)} when {r.randrange(4)}, {r.randrange(4, 9)} then {body} when {self.int_(1)} then {self.body(d + 1, loop)}{e} end case;"
        if k == 18:
            v = f"i{d}"
            self.ints.append(v)
            body = self.body(d + 1, True)
            self.ints.remove(v)
            by = r.choice(["", " by 2"])
            if r.random() < 0.3:
                return f"for {v} in reverse {r.randrange(4)}..{r.randrange(-2, 3)}{by} loop {body} end loop;"
            return f"for {v} in {r.choice(['1', '0', str(r.randrange(5))])}..{r.randrange(5)}{by} loop {body} end loop;"
        if k == 19:
            v = f"q{d}"
            self.ints.append(f"{v}.x")
            body = self.body(d + 1, True)
            self.ints.remove(f"{v}.x")
            return f"for {v} in select id, x, s from a where id < {self.key()} order by id loop {body} end loop;"
        if k == 20:
            def handler():
                says = self.pick("o := o || sqlstate || '!';", "o := o || sqlstate || sqlerrm || '!';", "get stacked diagnostics t = message_text; o := o || coalesce(t, 'N');", "raise notice '% %', sqlstate, sqlerrm;")
                again = self.pick("", "", "", f"if {self.bool_()} then raise; end if;")
                return f" when {r.choice(CONDITIONS)}" + self.pick("", f" or {r.choice(CONDITIONS)}") + f" then {says} {self.body(d + 1, loop)} {again}"

            hs = "".join(handler() for _ in range(r.randrange(1, 3)))
            return f"begin {body} exception{hs} end;"
        if k == 29:
            self.labels.append((f"b{d}", False))
            body = self.body(d + 1, loop)
            self.labels.pop()
            return f"<<b{d}>> declare v1 int := {r.choice(self.ints)}; w text := t; begin {body} o := o || coalesce(b{d}.v1::text, 'N') || coalesce(b{d}.w, 'N'); end b{d};"
        if k == 30:
            v = f"i{d}"
            self.ints.append(v)
            self.labels.append((f"l{d}", True))
            body = self.body(d + 1, True)
            self.labels.pop()
            self.ints.remove(v)
            return f"<<l{d}>> for {v} in 0..{r.randrange(1, 4)} loop {body} end loop l{d};"
        if k == 31:
            return f"foreach e{d} in array {self.pick('arr', 'arr', 'array[1, null, 3]')} loop v3 := e{d}; {self.body(d + 1, True)} end loop;"
        if k == 32:
            return self.in_query(lambda: f"for {self.pick('v2', 'v3')}, t in select x, s from a where id < {self.key()} order by id") + f" loop {self.body(d + 1, True)} end loop;"
        if k == 33:
            return self.in_query(lambda: f"for q{d} in execute 'select id, x, s from a where id > $1 order by id' using {self.key()}") + f" loop {self.body(d + 1, True)} end loop;"
        if k == 34:
            return f"case when {self.bool_(1)} then {body} when {self.bool_(1)} then {self.body(d + 1, loop)}" + self.pick("", f" else {self.body(d + 1, loop)}") + " end case;"
        v = f"c{d}"
        return f"{v} := 0; while {v} < {r.randrange(4)} loop {v} := {v} + 1; {self.body(d + 1, True)} end loop;"

    def body(self, d, loop):
        return " ".join(self.stmt(d, loop) for _ in range(self.r.randrange(1, 4 if d else 7)))

    def routine(self, i):
        r = self.r
        self.in_function = r.random() < 0.4
        self.gives = self.in_function and r.random() < 0.4  # rows
        self.may_change = not self.in_function or r.random() < 0.2
        self.ints_set = ["v1", "v2", "v3"]
        self.ints = ["p1", "p2", *self.ints_set]
        self.labels = []
        decl = "declare v1 int; v2 int := 1; v3 int := p1; t text := 't'; rec record; n1 numeric(6,2) := 1; b1 bigint := 7; s1 smallint := 1; d1 double precision; arr int[] := '{1,2}'; "
        decl += " ".join(f"q{d} record; c{d} int; e{d} int;" for d in range(4))
        if self.in_function:
            decl += " o text := '';"
            name = f"{'s' if self.gives else 'f'}{i}"
            self.recursive = name
            body = self.body(0, False)
            # a function's side effects would depend on how often the planner calls it
            if self.gives:
                sql = f"create function {name}(p1 int, p2 int default 3) returns table (c1 int, c2 text) language plpgsql as $$ {decl} begin {body} c1 := v1; c2 := o; return next; end $$"
                self.routines.append(("s", name))
            else:
                sql = f"create function {name}(p1 int, p2 int default 3) returns int language plpgsql as $$ {decl} begin {body} return {self.int_()}; end $$"
                self.routines.append(("f" if not self.may_change else "g", name))
        else:
            name = self.recursive = f"p{i}"
            body = self.body(0, False)
            decl = decl.replace("t text := 't'", "t text := p3").replace("arr int[] := '{1,2}'", "arr int[] := p4")
            sql = f"create procedure {name}(p1 int, p2 int, p3 text, p4 int[], inout res int, inout o text) language plpgsql as $$ {decl} begin {body} res := {self.int_()}; end $$"
            self.routines.append(("p", name))
        return sql


def told(text):
    """What a shell printed, without the notices in it, and those."""
    found = re.findall(r"^(?:DEBUG|INFO|NOTICE|WARNING):  .*\n(?:(?:DETAIL|HINT):  .*\n)*", text, re.M)
    for x in found:
        text = text.replace(x, "", 1)
    return text, [x.rstrip("\n") for x in found]


class Telling(Stele):
    notices = ()

    def raw(self, sql, timeout=HANG):
        text, self.notices = told(super().raw(sql, timeout))
        return text


def canonical(kind, value):
    if kind == "error":
        return kind, (value[0], value[1][:400])  # here a message has at most 1023 bytes, of a value that is no number 511
    return (kind, sorted(value) if kind == "rows" else value)


class Both:
    def __init__(self, server, shell):
        self.server, self.shell = server, shell

    def start(self, limit):
        """limit: seconds that a statement may take in either."""
        c = self.server.connect("template1")
        c.exec("drop database if exists pldiff")
        c.exec("create database pldiff template template0")
        c.close()
        self.pg = self.server.connect("pldiff")
        self.pg.exec(f"set statement_timeout = '{limit}s'")
        self.stele = Telling(self.shell)
        self.stele.raw(f"set statement_timeout = '{limit}s'")

    def stop(self):
        self.pg.close()
        self.stele.close()

    def run(self, sql):
        """None, or how the two differ."""
        mine = self.stele.exec(sql)
        if mine[0] == "rows":
            mine = ("rows", [["" if v is None else v for v in row] for row in mine[1]])
        self.pg.notices.clear()
        try:
            r = self.pg.exec(sql)
            theirs = ("rows", [["" if v is None else v for v in row] for row in r.rows]) if r.types else ("tag", r.tag)
        except pg.Error as e:
            theirs = ("error", (e.state, e.message))
        if mine[0] == "error" and mine[1][0] == "0A000" and theirs[0] != "error":
            return "skip"
        ended = [x[0] == "error" and x[1][0] == "57014" for x in (mine, theirs)]
        if any(ended):
            return "skip" if all(ended) else "slow"
        a, b = (*canonical(*mine), self.stele.notices), (*canonical(*theirs), self.pg.notices)
        return None if a == b else f"Stele: {a}\nPostgreSQL: {b}"


# Loops that never end are ended in both. Where only one has had enough time, the round is run again with time for the slower one: what is left then is a loop that ends in one only.
LIMITS = (10, 300)


def round_(both, seed, build):
    for limit in LIMITS:
        r = run_script(both, seed, build, limit)
        if r != "slow":
            return r
    print(f"seed {seed}: a statement ends in one of the two only (within {limit} s)")
    return "fail"


def run_script(both, seed, build, limit):
    rng = random.Random(seed)
    g = Gen(rng)
    script = list(SCHEMA)
    for i in range(rng.randrange(8)):
        script.append(f"insert into a values ({i}, {rng.randrange(-5, 20)}, {rng.choice(['null', str(rng.randrange(100))])}, {rng.choice(['null', repr('s' + str(i))])})")
    for i in range(rng.randrange(12)):
        script.append(f"insert into b values ({rng.randrange(6)}, {rng.randrange(6)}, {rng.choice(['null', str(rng.randrange(50))])}) on conflict do nothing")
    for i in range(rng.randrange(1, 5)):
        script.append(g.routine(i))
    for i in range(10):
        kind, name = rng.choice(g.routines)
        args = [rng.choice(["null", "0", "1", "2", "3", "5", "-1", "7", "100000", "46341"]) for _ in range(2)]
        if kind == "p":
            text = rng.choice(["null", "'x'", "''"])
            array = rng.choice(["null", "'{}'", "'{1,2,3}'", "'{4,NULL,-5}'", "'{100000}'"])
            script.append(f"call {name}({', '.join(args)}, {text}, {array}, {rng.choice(args)}, '')")
        elif kind == "s":
            script.append(f"select * from {name}({', '.join(args)})")
        else:
            script.append(f"select {name}({', '.join(args)})")
        for t in ("a", "b", "log"):
            script.append(f"select * from {t}")
    done = []

    def failed(why):
        path = os.path.join(build, "diff", f"pl_{seed}.sql")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(";\n".join(done) + ";\n")
        print(f"{why}\n({path})", flush=True)
        return "fail"

    both.start(limit)
    try:
        for sql in script:
            done.append(sql)
            d = both.run(sql)
            if d in ("skip", "slow"):
                return d
            if d:
                return failed(f"seed {seed}: differ at\n{sql[:400]}\n{d}")
    except Died as e:
        return failed(f"seed {seed}: {e}\n{done[-1][:400]}")
    finally:
        both.stop()
    return "pass"


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--build", default="build")
    ap.add_argument("--seconds", type=float, default=60)
    ap.add_argument("--seed", type=int)
    ap.add_argument("--rounds", type=int, default=10**9)
    ap.add_argument("--verbose", action="store_true")
    o = ap.parse_args()
    seed = o.seed if o.seed is not None else int(time.time())
    count = {"pass": 0, "fail": 0, "skip": 0}
    server = pg.Server()
    try:
        both = Both(server, os.path.join(o.build, "stele"))
        end = time.monotonic() + o.seconds
        for i in range(o.rounds):
            if time.monotonic() > end or count["fail"] >= 10:
                break
            r = round_(both, seed + i, o.build)
            count[r] += 1
            if o.verbose:
                print(f"seed {seed + i}: {r}", flush=True)
    finally:
        server.stop()
    if count["skip"]:
        print(f"skipped: {count['skip']}")
    print(f"{count['pass']} passed, {count['fail']} failed")
    sys.exit(count["fail"] > 0)


if __name__ == "__main__":
    main()
