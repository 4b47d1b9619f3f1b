"""The 22 queries of CH-benCHmark (bench/ch/queries) after some transactions of TPC-C, against PostgreSQL's answers.

One warehouse as bench/oltp/tpcc.sql fills it, with bench/ch/schema.sql; then rounds of calls of all five transactions, the same ones each time: in
PostgreSQL one by one, in Stele as bulks. `--record` writes the answers: it runs all of it in PostgreSQL. With --devices queries run there as well,
with device_strict where all that they call is on devices.

Answers are tests/ch/answers/qNN.csv, without NULLs told from empty texts. Of more than 100 rows there is one line: their number, and digests of all
rows sorted and of the columns that ORDER BY names in the order of the result, since it does not say which of equal ones comes first.
"""
import argparse
import csv
import hashlib
import os
import random
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "bench", "tpch"))
sys.path.insert(0, os.path.join(ROOT, "tests", "diff"))
import tpch  # noqa: E402

ANSWERS = os.path.join(ROOT, "tests", "ch", "answers")
ALL = range(1, 23)
ORDER = {2: (2, 1, 3), 3: (3, 4), 10: (2,), 11: (1,), 15: (0,), 16: (3,), 18: (5, 3)}  # columns of ORDER BY where rows may be many or equal in them
MANY = 100
RULES = ["", "join_order,build_side", "runtime_filters,functional_dependencies", "dictionary_codes", "value_ranges"]
AT = "timestamp '2026-01-02'"
OUTS = {"new_order": 5, "payment": 2, "order_status": 6, "delivery": 1, "stock_level": 1}
PARTS = ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"]


def read(*path):
    with open(os.path.join(ROOT, *path)) as f:
        return f.read()


def setup():
    return read("bench", "oltp", "tpcc.sql").replace(":scale", "1") + read("bench", "ch", "schema.sql")


def query(n):
    return read("bench", "ch", "queries", f"q{n:02d}.sql").strip().rstrip(";")


def by_name(r):
    """A customer by the last name (an empty one: by the id)."""
    return "".join(PARTS[r.randrange(10)] for _ in range(3)) if r.randrange(10) < 6 else ""


def new_order(r):
    n = r.randint(5, 15)
    items = r.sample(range(1, 100001), n)
    if r.randrange(50) == 0:
        items[-1] = 100001  # there is none: the call fails
    lists = items, [1] * n, [r.randint(1, 10) for _ in items]
    return f"1, {r.randint(1, 10)}, {r.randint(1, 3000)}, " + ", ".join(f"array{x}" for x in lists) + f", {AT}"


def payment(r):
    d, name = r.randint(1, 10), by_name(r)
    return f"1, {d}, 1, {r.randint(1, 10)}, {0 if name else r.randint(1, 3000)}, '{name}', {r.randint(100, 500000) / 100}, {AT}"


def order_status(r):
    name = by_name(r)
    return f"1, {r.randint(1, 10)}, {0 if name else r.randint(1, 3000)}, '{name}'"


def rounds():
    """Of calls: (procedure, arguments of each), in the order in which they run."""
    r = random.Random(22)
    for _ in range(4):
        yield "new_order", [new_order(r) for _ in range(150)]
        yield "payment", [payment(r) for _ in range(150)]
        yield "order_status", [order_status(r) for _ in range(10)]
        yield "delivery", [f"1, {r.randint(1, 10)}, {AT} + interval '{k} seconds'" for k in range(25)]
        yield "stock_level", [f"1, {r.randint(1, 10)}, {r.randint(10, 20)}" for _ in range(10)]


def digest(rows):
    return hashlib.md5("\n".join("|".join(row) for row in rows).encode()).hexdigest()


def summary(n, rows):
    """What is written down: rows, or of many their digests."""
    rows = [[cell.rstrip() for cell in row] for row in rows]
    if len(rows) <= MANY:
        return rows if n not in ORDER else sorted(rows)
    return [[str(len(rows)), digest(sorted(rows)), digest([[row[k] for k in ORDER[n]] for row in rows])]]


def record():
    import pg
    server = pg.Server()
    try:
        conn = server.connect()
        conn.exec(re.sub(r"\s*WITH \(expected_rows = \d+\)", "", setup()))
        conn.exec("CREATE INDEX ON customer (c_w_id, c_d_id, c_last, c_first, c_id); CREATE INDEX ON orders (o_w_id, o_d_id, o_c_id, o_id); ANALYZE; SET enable_nestloop = off")
        failed = 0
        for name, calls in rounds():
            for arguments in calls:
                try:
                    conn.exec(f"CALL {name}({arguments}{', NULL' * OUTS[name]})")
                except pg.Error as e:
                    if e.state != "P0002":
                        raise
                    failed += 1
        print(f"{failed} calls failed")
        for n in ALL:
            rows = [["" if cell is None else cell for cell in row] for row in conn.exec(query(n)).rows]
            print(f"Q{n}: {len(rows)} rows")
            with open(os.path.join(ANSWERS, f"q{n:02d}.csv"), "w", newline="") as f:
                csv.writer(f, delimiter="|", lineterminator="\n").writerows(summary(n, rows))
    finally:
        server.stop()


class Count:
    ok = bad = 0


def check(sh, n, what):
    with open(os.path.join(ANSWERS, f"q{n:02d}.csv"), newline="") as f:
        want = list(csv.reader(f, delimiter="|"))
    try:
        rows, _ = sh.run(query(n))
        why = tpch.verdict(summary(n, rows), want)
    except RuntimeError as e:
        why = str(e)
    Count.ok += why is None
    Count.bad += why is not None
    if why:
        print(f"Q{n} ({what}): {why}")


WITH_ASCII = (5, 7, 8, 10)  # ascii() is the virtual machine's


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--build", default="build")
    a.add_argument("--devices", default="", help="instead of the virtual machine: devices, with commas (cpu,opencl:0)")
    a.add_argument("--executors", default="compiled", help="with --devices: with commas")
    a.add_argument("--record", action="store_true", help="write the answers, PostgreSQL's")
    o = a.parse_args()
    if o.record:
        return record()
    sh = tpch.Shell(os.path.join(o.build, "stele"))
    sh.run(setup())
    for name, calls in rounds():
        sh.run(f"call bulk_call('{name}', $q$values {', '.join(f'({x})' for x in calls)}$q$)")
    for device in o.devices.split(",") if o.devices else []:
        for executor in o.executors.split(","):
            sh.run(f"set device = '{device}'; set device_wait = on; set executor = '{executor}'")
            for n in ALL:
                sh.run(f"set device_strict = {'off' if n in WITH_ASCII else 'on'}")
                check(sh, n, f"{device}, {executor}")
    for rules in RULES if not o.devices else []:
        sh.run(f"set disabled_rules = '{rules}'")
        for n in ALL:
            check(sh, n, f"rules off: {rules or 'none'}")
    sh.close()
    print(f"{Count.ok} passed, {Count.bad} failed")
    return Count.bad > 0


sys.exit(main())
