#!/usr/bin/env python3
"""PL/pgSQL in bulks against PostgreSQL: the calls of a case run one by one in PostgreSQL, and in Stele one by one and as bulks of every strategy and executor, on the same
data. SQLSTATE, message, detail, hint, names, place (line and statement) and OUT values of every call and all rows of all tables must agree.

usage: postgres.py [--build DIR] [--seconds N] [--seed S] [--rounds N] [--devices cpu,opencl:0] [--verbose]

First the cases of statements.sql, which has every kind of statement and of bad input, then random ones of oracle.py's generator until the time is up. oracle.py's driver compares bulks with calls
one by one, this one compares those with PostgreSQL. `--seed S --rounds 1` runs one random case again. The last line is `N passed, N failed`.

Random cases leave out what differs on purpose: numeric without a scale (Stele computes with 16 digits behind the point and shows no trailing zeros), and what PostgreSQL
computes when it plans, or before it looks for rows: expressions of constants, and conditions of statements without columns, fail there even where they are not reached. Known difference: an error in a variable's initial value is at the block here and
at the variable there.
"""
import os
import random
import re
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "diff"))
import oracle  # noqa: E402
import pg  # noqa: E402

STRATEGIES = ("serial", "kset", "tpl", "part", "auto")


# ---- random cases ---------------------------------------------------------------------------------
class Rng(random.Random):
    def choice(self, xs):
        return super().choice([x for x in xs if x != "numeric"] or xs)


class Gen(oracle.Gen):
    logged = ["min", "max", "count"]

    def __init__(self, seed):
        super().__init__(seed)
        self.r = Rng(seed)

    def num(self, d=0, safe=False):
        s = super().num(d, safe)
        return s if re.search(r"[a-z]", s) or not re.search(r"[/%*+-] ", s) else "3"

    def var_set(self, t):
        return None if t == "numeric" else super().var_set(t)

    def gate(self):
        return self.cond(0, True)


def random_case(seed):
    g = Gen(seed)
    case = g.case()
    case.calls = case.calls[:200]
    # one statement per line; PostgreSQL does not look at the rest of "x or true"
    case.procs = [(name, sql.replace(" or true;", " or p0 is null or p0 is not null;").replace("; ", ";\n")) for name, sql in case.procs]
    return case


# ---- cases by hand -----------------------------------------------------------------------------------
def read_cases(path):
    """[(name, case)] of a file; its head says what it looks like."""
    cases, name, case, sql = [], None, None, ""
    for line in open(path, encoding="utf-8"):
        line = line.rstrip("\n")
        m = re.match(r"-- (case|table|call) ?(.*)", line)
        if m and m.group(1) == "case":
            name, case = m.group(2), oracle.Case([], [], [], [])
            case.expected = []
            cases.append((name, case))
        elif m and m.group(1) == "table":
            case.tables.append(m.group(2))
        elif m and m.group(1) == "call":
            call, _, expected = m.group(2).partition(" => ")
            routine, _, rest = call.partition(" ")
            number = [n for n, _ in case.procs].index(routine)
            case.expected.append(expected)
            case.calls.append((number, [x.strip() for x in rest.split("|")] if rest else []))
        elif line.strip() and not line.startswith("--"):
            sql += line + "\n"
            if line.rstrip().endswith(";") and sql.count("$$") % 2 == 0:
                text = sql.strip().rstrip(";")
                m = re.match(r"create (?:procedure|function) (\w+)", text)
                if m and not text.startswith("create function inner_"):
                    case.procs.append((m.group(1), text))
                else:
                    case.setup.append(text)
                sql = ""
    return cases


def case_text(case, configs):
    out = ["S " + s.replace("\n", "\t") for s in case.setup + [sql for _, sql in case.procs]] + ["T " + t for t in case.tables] + ["R " + n for n, _ in case.procs]
    out += ["C " + "\t".join([str(i), *args]) for i, args in case.calls] + ["V"] + ["G " + g for g in configs]
    return "\n".join(out) + "\n.\n"


def configurations(rng, devices, n):
    out = []
    for s in STRATEGIES:
        cut = str(rng.randrange(1, n)) if n > 1 and rng.random() < 0.3 else "-"
        out.append(f"{s}\t{rng.choice((1, 3, 1024))}\t{rng.choice((1, 4))}\t{cut}\t\t")
    for d in devices:
        out.append(f"{rng.choice(('kset', 'tpl', 'auto'))}\t64\t{rng.choice((1, 4))}\t-\t\tset executor = 'compiled'; set device = '{d}'; set device_wait = on")
    return out


# ---- PostgreSQL --------------------------------------------------------------------------------------
def show(value):
    return "\\N" if value is None else value.replace("\n", " ")


def place_of(context, name):
    """As the driver says it: "4 at RAISE", with the routines that it called behind."""
    lines = (context or "").split("\n")
    for i, line in enumerate(lines):
        m = re.match(rf"PL/pgSQL function {name}\(.*\) line (\d+) (?:at )?(.*)", line)
        if m:
            inner = [x for x in lines[:i] if x.startswith(("PL/pgSQL function ", "SQL function "))]
            return " < ".join([f"{m.group(1)} at {m.group(2)}", *inner])
    return ""


def about_of(e):
    """What the error tells beside its message, as the driver says it; the schema is Stele's."""
    return "|".join(("public" if x == "s" and e.fields[x] == "bulk" else e.fields[x]).replace("\n", " ") for x in "DHstcdn")


def literal(text):
    return "null" if text == "\\N" else "'" + text.replace("'", "''") + "'"


class Postgres:
    def __init__(self):
        self.server = pg.Server()
        self.c = self.server.connect("postgres")

    def close(self):
        self.c.close()
        self.server.stop()

    def run(self, case):
        """[(sqlstate, message, place, outs)] and for each table its rows, sorted."""
        c = self.c
        for sql in ("set client_min_messages = error", "drop schema if exists bulk cascade", "create schema bulk", "set search_path = bulk", "set statement_timeout = '600s'",
                    "set plan_cache_mode = force_generic_plan"):
            c.exec(sql)
        for sql in case.setup + [sql for _, sql in case.procs]:
            if not sql.startswith("set bulk"):
                c.exec(sql)
        shape = []
        for name, _ in case.procs:
            r = c.exec(f"select prokind, coalesce(array_to_string(proargmodes, ''), repeat('i', pronargs)) from pg_proc where proname = '{name}' and pronamespace = 'bulk'::regnamespace")
            shape.append(r.rows[0])
        outcomes = []
        for i, args in case.calls:
            name, (kind, modes) = case.procs[i][0], shape[i]
            given, values = iter(args), []
            for m in modes:
                if m in "ib":
                    values.append(literal(next(given)))
                elif kind == "p":
                    values.append("null")
            try:
                r = c.exec(f"call {name}({', '.join(values)})" if kind == "p" else f"select * from {name}({', '.join(values)})")
                outcomes.append(("", "", "", "", "\t".join(show(v) for v in r.rows[0]) if r.types and r.rows else ""))
            except pg.Error as e:
                outcomes.append((e.state, e.message.replace("\n", " "), place_of(e.context, name), about_of(e), ""))
        tables = []
        for t in case.tables:
            r = c.exec(f"select * from {t}")
            tables.append(sorted("\t".join(show(v) for v in row) for row in r.rows))
        return outcomes, tables


# ---- comparison ----------------------------------------------------------------------------------------
def compare(case, lines, outcomes, tables):
    """What Stele's calls one by one gave against PostgreSQL's: texts of differences."""
    out = []
    mine = [x.split("\t", 4) for k, x in lines if k == "O"]
    if len(mine) != len(case.calls):
        return [f"{len(mine)} calls of {len(case.calls)}"]
    for n, (a, b) in enumerate(zip(mine, outcomes)):
        if a[0] == "23514" and a[3].startswith("|") and b[3].startswith("Failing row"):
            a[3] = b[3]  # not told of a CHECK
        if tuple(a) == b:
            continue
        if a[:2] == list(b[:2]) and b[2].endswith("statement block local variable initialization"):
            continue
        name = case.procs[case.calls[n][0]][0]
        out.append(f"call {n}: {name}({', '.join(case.calls[n][1])}): Stele {' | '.join(a)}; PostgreSQL {' | '.join(b)}")
    for t, rows in enumerate(tables):
        got = sorted(x.split("\t", 1)[1] for k, x in lines if k == "W" and x.split("\t", 1)[0] == str(t))
        if got != rows:
            more, less = [x for x in got if x not in rows][:3], [x for x in rows if x not in got][:3]
            out.append(f"table {case.tables[t]}: Stele has {len(got)} rows, PostgreSQL {len(rows)}; only Stele {more}; only PostgreSQL {less}")
    return out


def one(name, case, driver, server, rng, o):
    configs = configurations(rng, o.devices, len(case.calls))
    lines = driver.run(case_text(case, configs), oracle.HANG)
    wrong = [x for k, x in lines if k in "DXE"]
    if any(getattr(case, "expected", [])):
        got = [x.split("\t") for k, x in lines if k == "O"]
        wrong += [f"call {n}: {' | '.join(g)} instead of {x}" for n, (g, x) in enumerate(zip(got, case.expected)) if (" ".join((g[0], g[2] if " < " in x else g[2].split(" < ")[0])).strip() or "ok") != x]
        wrong += [] if len(got) == len(case.calls) else [f"{len(got)} calls of {len(case.calls)}"]
    else:
        try:
            wrong += compare(case, lines, *server.run(case))
        except pg.Error as e:
            wrong.append(f"no case for PostgreSQL: {e}")
    if not wrong:
        return True
    path = os.path.join(o.build, "bulk", f"postgres_{name}.case".replace(" ", "_"))
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(case_text(case, configs))
    print(f"{name}: {len(wrong)} differences ({path})")
    for x in wrong[:o.show]:
        print("  " + x[:600], flush=True)
    return False


def main():
    ap = oracle.arguments()
    ap.add_argument("--devices", default="cpu", type=lambda s: [x for x in s.split(",") if x])
    ap.add_argument("--show", type=int, default=4, help="differences of a case that are printed")
    ap.add_argument("--case", help="only this one of statements.sql")
    ap.add_argument("--random", action="store_true", help="random cases only")
    o = oracle.parsed(ap)
    seed = o.seed
    driver = oracle.Driver(o.driver)
    passed = failed = 0
    server = Postgres()
    end = time.monotonic() + o.seconds

    def run(name, case, number):
        nonlocal passed, failed
        ok = one(name, case, driver, server, random.Random(number), o)
        passed, failed = passed + ok, failed + (not ok)
        if o.verbose:
            print(f"{name}: {'passed' if ok else 'failed'}", flush=True)

    try:
        for i, (name, case) in enumerate([] if o.random else read_cases(os.path.join(HERE, "statements.sql"))):
            if not o.case or o.case == name:
                run(name, case, i)
        for i in range(0 if o.case else o.rounds):
            if time.monotonic() > end or failed >= 10:
                break
            run(f"seed {seed + i}", random_case(seed + i), seed + i)
    finally:
        driver.close()
        server.close()
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
