#!/usr/bin/env python3
"""Random expressions and queries over numeric without (p,s) in Stele and in PostgreSQL: every digit must agree, and whether there is an
error in the data (not which: where several values are wrong, the order of evaluation decides).

Known difference, kept out: numeric(p,s) to 38 digits holds no NaN (0A000).

usage: numeric.py [--build DIR] [--seconds N] [--seed S] [--rounds N] [--set NAME=VALUE]...

Every round has a seed of its own: `--seed S --rounds 1` runs one again. The last line is `N passed, N failed`.
"""
import argparse
import os
import random
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import pg  # noqa: E402
from shell import Died, Stele  # noqa: E402

BINARY = ["{} + {}", "{} - {}", "{} * {}", "{} / {}", "{} % {}", "div({}, {})", "mod({}, {})", "gcd({}, {})", "lcm({}, {})", "greatest({}, {})", "least({}, {})",
          "coalesce(nullif({}, {}), 7.70)", "log({}, {})", "power({}, {})"]
UNARY = ["-{}", "abs({})", "sign({})", "ceil({})", "floor({})", "round({})", "trunc({})", "sqrt({})", "exp({})", "ln({})", "log({})", "trim_scale({})",
         "{}::numeric(50,5)::numeric", "{}::float8::numeric", "{}::text::numeric", "{}::numeric(60,12)"]
COMPARE = ["=", "<>", "<", "<=", ">", ">=", "is distinct from"]
AGGREGATES = ["sum({})", "avg({})", "min({})", "max({})", "count(distinct {})", "var_pop({})", "var_samp({})", "stddev_pop({})", "stddev_samp({})", "var_pop(distinct trim_scale({}))",
              "stddev_samp(distinct trim_scale({}))", "sum({}) filter (where id % 2 = 0)"]


def digits(r, n):
    return "".join(r.choice("0123456789" if r.random() < 0.8 else "09") for _ in range(n))


def number(r, special=True):
    """A literal of some size; small ones mostly."""
    k = r.random()
    if special and k < 0.04:
        return r.choice(["NaN", "Infinity", "-Infinity"])
    if k < 0.12:
        return r.choice(["0", "0.000", "1", "-1", "1.0", "1.1", "0.9", "-0.5", "1e30", "1e-30"])
    whole, fraction = (r.randint(0, 6), r.randint(0, 6)) if k < 0.7 else (r.randint(0, 45), r.randint(0, 45))
    text = (digits(r, whole) or "0") + ("." + digits(r, fraction) if fraction else "")
    return r.choice(["", "", "-"]) + text + (f"e{r.randint(-9, 9)}" if r.random() < 0.06 else "")


def expression(r, leaves, depth):
    if depth == 0 or r.random() < 0.2:
        return r.choice(leaves) if leaves and r.random() < 0.8 else f"'{number(r)}'::numeric"
    if r.random() < 0.1:
        return f"round({expression(r, leaves, depth - 1)}, {r.randint(-5, 30)})"
    if r.random() < 0.4:
        return r.choice(UNARY).format(f"({expression(r, leaves, depth - 1)})")
    form = r.choice(BINARY)
    return form.format(f"({expression(r, leaves, depth - 1)})", f"({expression(r, leaves, depth - 1)})")


def statements(r):
    rows = ", ".join(f"({i}, {r.randint(1, 3)}, {'null' if r.random() < 0.1 else repr(number(r))}, {repr(number(r, False))})" for i in range(r.randint(1, 12)))
    yield "create table t(id int, g int, x numeric, y numeric)"
    yield f"insert into t values {rows}"
    for _ in range(12):
        yield f"select ({expression(r, [], 3)})::text"
    for _ in range(6):
        yield f"select id, ({expression(r, ['x', 'y'], 2)})::text from t order by id"
    for _ in range(4):
        yield f"select id from t where {expression(r, ['x', 'y'], 1)} {r.choice(COMPARE)} {expression(r, ['x', 'y'], 1)} order by id"
    for _ in range(4):
        a = [r.choice(AGGREGATES).format(r.choice(["x", "y", "x * y", "x + 1.50"])) for _ in range(2)]
        yield f"select g, {', '.join(f'({s})::text' for s in a)} from t group by g order by g"
        yield f"select trim_scale(x)::text, count(*) from t group by x having count(*) {r.choice(['> 0', '> 1'])} order by x"
    yield "select a.id, b.id from t a join t b on a.x = b.y order by 1, 2"
    yield "select id, x::text from t order by x desc, id"
    yield "select id, (sum(y) over (order by x, id))::text, rank() over (order by y) from t order by id"
    yield "select trim_scale(v)::text from (select x v from t union select y from t) s order by v"


def failure(state):
    return ["error", "22" if state.startswith("22") else state]


def ask_postgres(conn, sql):
    try:
        return [list(row) for row in conn.exec(sql).rows]
    except pg.Error as e:
        return failure(e.state)


def ask_stele(st, sql):
    kind, value = st.exec(sql)
    return failure(value[0]) if kind == "error" else [] if kind == "tag" else [list(row) for row in value]


def one_round(seed, st, conn, statements, ask_stele, ask_postgres):
    """How many answers differ."""
    r = random.Random(seed)
    bad = 0
    conn.exec("drop table if exists t")
    st.exec("drop table if exists t")
    for sql in statements(r):
        want = ask_postgres(conn, sql)
        got = ask_stele(st, sql)
        if got != want:
            bad += 1
            print(f"seed {seed}: {sql}\n    PostgreSQL {str(want)[:600]}\n    Stele      {str(got)[:600]}", flush=True)
    return bad


def main(doc, statements, ask_stele, ask_postgres):
    """The program, also of other kinds of values: statements(random) yields those of a round, over a table t."""
    p = argparse.ArgumentParser(description=doc.split("\n")[0])
    p.add_argument("--build", default="build")
    p.add_argument("--seconds", type=float, default=10)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--rounds", type=int)
    p.add_argument("--set", action="append", default=[])
    o = p.parse_args()
    server = pg.Server()
    passed = failed = 0
    try:
        conn = server.connect()
        st = Stele(os.path.join(o.build, "stele"), [x for s in o.set for x in ("--set", s)])
        end = time.monotonic() + o.seconds
        n = 0
        while n < o.rounds if o.rounds else time.monotonic() < end:
            try:
                bad = one_round(o.seed + n, st, conn, statements, ask_stele, ask_postgres)
            except Died as e:
                print(f"seed {o.seed + n}: {e}")
                failed += 1
                break
            failed += bad > 0
            passed += bad == 0
            n += 1
        st.close()
    finally:
        server.stop()
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main(__doc__, statements, ask_stele, ask_postgres))
