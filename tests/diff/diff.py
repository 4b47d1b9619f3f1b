#!/usr/bin/env python3
"""Random definitions, data, queries and changes (statements.py), run in Stele and in PostgreSQL; the answers must agree.

usage: diff.py [--build DIR] [--rounds N] [--seconds N] [--seed S] [--jobs N] [--reduce SECONDS] [--keep-going] [--strict] [--verbose]

Every round has a seed of its own and about 100 statements: `--seed S --rounds 1` runs one again. Statements go to both systems a list at a time,
at once, in a process for each processor. Compared are rows (as multisets, in order when ORDER BY covers all columns), names of columns, command tags,
and SQLSTATEs of errors. Exact numbers and floats agree to a relative 1e-9, because Stele's numeric division has a fixed scale. What Stele refuses
with 0A000, what takes it 40 s, and (but for --strict) another one of a query's errors is skipped, with the reasons in front of the last line; behind a change that only one has made the round is over.

A disagreement is made as short as possible (reduce.py) and written to BUILD/diff/seed-S.test as SQL for tests/sql/record.py. The last line is
`N passed, N failed`.
"""
import argparse
import concurrent.futures
import math
import multiprocessing
import os
import random
import re
import shutil
import sys
import tempfile
import time
import traceback

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import pg  # noqa: E402
import reduce  # noqa: E402
import statements  # noqa: E402
from shell import Died, Stele  # noqa: E402

RULES = ("constant_folding predicate_pushdown outer_join_simplification join_order build_side functional_dependencies grouping_sets runtime_filters common_subexpressions zone_maps top_n "
         "or_factoring dictionary_codes value_ranges").split()
STRICT = False  # which of several errors in a query is told matters
NUMBERS = {20, 21, 23, 700, 701, 1700}
RECORD = 2249
# Arrays, rows, ranges and documents whose numbers are compared as such.
NESTED = {1231, 1021, 1022, RECORD, 3906, 4532, 114, 3802}
NUMBER = re.compile(r"-?\d+\.\d+(?:e[-+]?\d+)?")


def number(v):
    try:
        return float(v)
    except ValueError:
        return None


def close(a, b, oid):
    if a == b:
        return True
    if a is None or b is None:
        return False
    if oid in NESTED:
        return short(a) == short(b)
    if oid not in NUMBERS:
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


def short(text):
    """Numbers with a point to 9 digits."""
    return NUMBER.sub(lambda m: f"{float(m.group(0)):.9g}", text)


def key(row, oids, digits=5):
    out = []
    for v, o in zip(row, oids):
        n = number(v) if v is not None and o in NUMBERS else None
        out.append((0, "") if v is None else (1, f"{n + 0.0:.{digits}e}") if n is not None else (2, short(v) if o in NESTED else v))
    return out


def difference(mine, theirs, oids, ordered):
    """None, or what differs."""
    if len(mine) != len(theirs):
        return f"{len(mine)} rows, PostgreSQL has {len(theirs)}"
    if mine == theirs:
        return None
    if not ordered:
        # Rounded sort keys bring nearly equal values together but may tie different ones, exact keys the reverse: one must do.
        exact = sorted(mine, key=lambda r: key(r, oids, 15)), sorted(theirs, key=lambda r: key(r, oids, 15))
        if difference(*exact, oids, True) is None:
            return None
        mine, theirs = sorted(mine, key=lambda r: key(r, oids)), sorted(theirs, key=lambda r: key(r, oids))
    for i, (a, b) in enumerate(zip(mine, theirs)):
        if len(a) != len(b) or not all(close(x, y, o) for x, y, o in zip(a, b, oids)):
            return f"row {i + 1}: {a!r}, PostgreSQL has {b!r}"
    return None


class Verdict:
    """kind: ok, skip, or what is wrong in a word, which stays the same while a difference is made smaller."""

    def __init__(self, kind, text=""):
        self.kind, self.text = kind, text


OK = Verdict("ok")


def of_errors(s, mine, perr):
    """Both have failed."""
    if mine[0] in ("0A000", "57014") and mine[0] != perr.state:
        return Verdict("skip", mine[1])
    data = ("21", "22", "23")  # of several rows or values that are wrong, another one may be met first
    if mine[0] != perr.state and mine[0][:2] in data and perr.state[:2] in data and not s.exact:
        return OK
    if mine[0] != perr.state and s.kind in statements.QUERY_KINDS and not STRICT:
        return Verdict("skip", "several errors in one query, of which another one is told")
    if mine[0] != perr.state:
        return Verdict(f"state {mine[0]} {perr.state}", f"Stele: {mine[0]}: {mine[1]}; PostgreSQL: {perr}")
    if s.exact and mine[1] != perr.message:
        return Verdict("message", f"Stele: {mine[0]}: {mine[1]}; PostgreSQL: {perr}")
    return OK


def verdict(s, mine, theirs):
    """What to say of a statement's answers."""
    kind, value = mine
    if isinstance(theirs, pg.Error):
        if theirs.state == "57014":
            return Verdict("skip")  # too slow to be worth it
        if kind == "error":
            return of_errors(s, value, theirs)
        if s.lazy and (theirs.state[:2] == "22" or theirs.state == "21000"):
            return Verdict("skip", "an error of the data that another order of evaluation does not meet")
        if theirs.state == "42883":
            return Verdict("skip", "an operator or function that only Stele has, for arguments of these types")
        return Verdict(f"no error {theirs.state}", f"PostgreSQL: {theirs}; Stele has no error")
    if kind == "error":
        if value[0] in ("0A000", "57014"):
            return Verdict("skip", value[1])
        if (value[0][:2] == "22" and s.lenient) or (value[0] == "21000" and s.lazy):
            return Verdict("skip", "an error of the data that another order of evaluation does not meet")
        return Verdict(f"error {value[0]}", f"Stele: {value[0]}: {value[1]}; PostgreSQL: {theirs.tag}")
    if not theirs.types:
        if kind == "rows" and not value and theirs.tag.startswith("SELECT"):
            return OK  # rows without columns
        return OK if kind == "tag" and value == theirs.tag else Verdict("tag", f"Stele: {value!r}; PostgreSQL: {theirs.tag}")
    if kind != "rows":
        return Verdict("tag", f"Stele: {value!r}; PostgreSQL: rows")
    names = [n or None for n in theirs.names]
    if not value or value[0] != names:
        return Verdict("names", f"Stele's columns: {value[:1]!r}; PostgreSQL's: {names!r}")
    oids = [RECORD if s.kind == "cursor" else t[0] for t in theirs.types]  # a cursor's rows are texts of rows
    d = difference(value[1:], theirs.rows, oids, s.ordered)
    return Verdict("rows", d) if d else OK


class Pair:
    """A database in each system."""

    def __init__(self, stele, conn, settings, folder):
        self.folders = [os.path.join(folder, x) + "/" for x in ("stele", "pg")]
        for f in self.folders:
            shutil.rmtree(f, ignore_errors=True)
            os.mkdir(f)
            os.chmod(f, 0o777)
        self.conn = conn
        for sql in ("rollback", "discard all", "drop schema if exists public cascade; create schema public; set statement_timeout = '5s'; set client_min_messages = error"):
            conn.exec(sql)
        self.s = Stele(stele)
        self.s.exec_all([*settings, "set statement_timeout = '40s'", "set client_min_messages = error"])

    def close(self):
        self.s.close()

    def theirs(self, sql):
        try:
            return self.conn.exec(sql.replace("{DIR}", self.folders[1]))
        except pg.Error as e:
            return e

    def run(self, sts, pool):
        """The verdict of every statement, to the first one behind which only one system has made a change."""
        later = pool.submit(lambda: [self.theirs(s.sql) for s in sts])
        mine, alive = self.s.exec_all([s.sql.replace("{DIR}", self.folders[0]) for s in sts])
        theirs = later.result()
        out = []
        for s, m, t in zip(sts, mine, theirs):
            out.append(self.files(s) if s.kind == "copy to" and m[0] == "tag" and not isinstance(t, pg.Error) else verdict(s, m, t))
            s.failed = isinstance(t, pg.Error)
            if out[-1].kind != "ok" and s.change:
                return out
        if not alive:
            out.append(Verdict("died", f"the shell ended with {self.s.p.poll()}: {getattr(self.s, 'last', '')[-800:]}"))
        return out

    def files(self, s):
        """Of COPY TO: the files must be the same."""
        name = re.search(r"\{DIR\}(\w+)", s.sql).group(1)
        mine, theirs = (open(os.path.join(f, name), "rb").read() for f in self.folders)
        return OK if mine == theirs else Verdict("file", f"Stele wrote {mine[:300]!r}, PostgreSQL {theirs[:300]!r}")


class Worker:
    """Runs rounds in a process of its own."""

    def __init__(self, o, server):
        self.o = o
        self.stele = os.path.join(o.build, "stele")
        if not os.path.exists(self.stele):
            self.stele = os.path.join(o.build, "release", "stele")
        name = f"w{os.getpid()}"
        conn = server.connect()
        conn.exec(f"create database {name}")
        conn.close()
        self.conn = server.connect(name)
        self.pool = concurrent.futures.ThreadPoolExecutor(1)
        self.folder = tempfile.mkdtemp(prefix="stele-diff-")
        os.chmod(self.folder, 0o755)

    @staticmethod
    def settings(seed):
        rng = random.Random(seed)
        out = []
        if rng.random() < 0.6:
            out.append(f"set vector_size = {rng.choice([1, 3, 7, 64, 1024])}")
        if rng.random() < 0.4:
            out.append(f"set morsel_rows = {rng.choice([1, 7, 100])}")
        if rng.random() < 0.3:
            out.append(f"set disabled_rules = '{','.join(rng.sample(RULES, rng.randint(1, len(RULES))))}'")
        return out

    def round(self, seed):
        """(passed, skipped, reasons, [(seed, what is wrong, text)])"""
        passed = skipped = 0
        reasons, found, ran = {}, [], []
        settings = self.settings(seed)
        pair = Pair(self.stele, self.conn, settings, self.folder)
        try:
            for batch in statements.round_of(seed):
                vs = pair.run(batch, self.pool)
                over = False
                for s, v in zip(batch, vs):
                    if self.o.verbose:
                        print(f"{v.kind:8s} {s.sql}", flush=True)
                    ran.append(s)
                    if v.kind == "ok":
                        passed += 1
                    elif v.kind == "skip":
                        skipped += 1
                        reasons[v.text] = reasons.get(v.text, 0) + 1
                    elif not any(x[0].split("\n")[0] == v.kind for x in found):
                        found.append((v.kind, v.text, list(ran)))
                    if not s.change and v.kind not in ("died",):
                        ran.pop()
                        continue
                    over = over or v.kind != "ok"
                if over or (found and not self.o.keep_going):
                    break
        finally:
            pair.close()
        out = [(seed, kind, text, self.report(seed, settings, kind, text, ran, i)) for i, (kind, text, ran) in enumerate(found)]
        return passed, skipped, reasons, out

    def report(self, seed, settings, kind, text, ran, nth):
        """Writes the shortest list of statements that shows it; its path."""
        sample = ran[-1]
        live = []

        def differs(sqls, only_last):
            if not (only_last and live and not sample.change):
                while live:
                    live.pop().close()
                live.append(Pair(self.stele, self.conn, settings, self.folder))
                sts = [statements.Statement(x, kind="copy to" if x.startswith("copy (") else "") for x in sqls[:-1]]
                if sts and any(v.kind == "died" for v in live[0].run(sts, self.pool)):
                    live.pop().close()
                    return None
            s = statements.Statement(sqls[-1], sample.ordered, sample.change, sample.kind, False, sample.exact)
            if "order" not in sqls[-1]:
                s.ordered = sample.ordered and sample.kind in ("cursor", "sequence")
            t = live[0].theirs(s.sql) if only_last else None
            if only_last and isinstance(t, pg.Error) and not (kind.startswith("no error") or kind.startswith("state") or kind in ("message", "died")):
                return None  # both systems are as they were
            v = live[0].run([s], self.pool)[-1]
            if v.kind == "died":
                live.pop().close()
            return None if v.kind in ("ok", "skip") else v.kind

        sqls = [s.sql for s in ran]
        try:
            if self.o.reduce:
                if settings and self.without(settings, differs, sqls, kind):
                    settings = []
                sqls = reduce.reduce(sqls, differs, self.o.reduce, sample.kind in ("catalog", "look"))
        finally:
            while live:
                live.pop().close()
        folder = os.path.join(self.o.build, "diff")
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, f"seed-{seed}" + (f"-{nth}" if nth else "") + ".test")
        with open(path, "w", encoding="utf-8") as f:
            f.write(f"# seed {seed}: {kind}: " + text.replace("\n", "\n# ") + "\n# of " + sample.sql.replace("\n", "\n# ") + "\n\n")
            for s in settings:
                f.write(f"onlyif stele\nstatement ok\n{s}\n\n")
            f.write("\n".join(s.replace("{DIR}", "/tmp/stele_copy_") + ";" for s in sqls) + "\n")
        return path

    @staticmethod
    def without(settings, differs, sqls, kind):
        """Whether it differs without settings: then they are emptied."""
        had = list(settings)
        settings.clear()
        if differs(sqls, False) == kind:
            return True
        settings.extend(had)
        return False


WORKER = None


def start(o, server):
    global WORKER
    WORKER = Worker(o, server)


def one(seed):
    try:
        return WORKER.round(seed)
    except Exception:
        return 0, 0, {}, [(seed, "the test failed", traceback.format_exc()[-1200:], "")]


class Totals:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0
        self.reasons = {}

    def add(self, done):
        passed, skipped, reasons, found = done
        self.passed += passed
        self.skipped += skipped
        for why, n in reasons.items():
            self.reasons[why] = self.reasons.get(why, 0) + n
        for seed, kind, text, path in found:
            self.failed += 1
            print(f"seed {seed}: {kind}: {text[:1500]}\n    {path}", flush=True)


def run(o):
    global STRICT
    STRICT = o.strict
    totals = Totals()
    server = pg.Server()
    end = time.monotonic() + o.seconds if o.seconds else None
    seeds = iter(range(o.seed, o.seed + o.rounds if o.rounds else sys.maxsize))
    jobs = o.jobs or os.cpu_count() or 1
    last = o.seed
    try:
        with concurrent.futures.ProcessPoolExecutor(jobs, multiprocessing.get_context("fork"), start, (o, server)) as pool:
            waiting = set()
            while True:
                while len(waiting) < jobs * 2 and (end is None or time.monotonic() < end) and totals.failed < o.max_failures:
                    seed = next(seeds, None)
                    if seed is None:
                        break
                    last = seed
                    waiting.add(pool.submit(one, seed))
                if not waiting:
                    break
                done, waiting = concurrent.futures.wait(waiting, return_when=concurrent.futures.FIRST_COMPLETED)
                for f in done:
                    totals.add(f.result())
    finally:
        server.stop()
    for why, n in sorted(totals.reasons.items(), key=lambda x: -x[1])[:25]:
        print(f"not compared ({n}): {why}")
    print(f"{totals.skipped} skipped, seeds {o.seed} to {last}")
    print(f"{totals.passed} passed, {totals.failed} failed")
    return 1 if totals.failed else 0


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--build", default="build")
    a.add_argument("--seconds", type=float, default=0)
    a.add_argument("--seed", type=int, default=1)
    a.add_argument("--rounds", type=int, default=0)
    a.add_argument("--jobs", type=int, default=0)
    a.add_argument("--reduce", type=float, default=20)
    a.add_argument("--max-failures", type=int, default=25)
    a.add_argument("--keep-going", action="store_true")
    a.add_argument("--strict", action="store_true")
    a.add_argument("--verbose", action="store_true")
    o = a.parse_args()
    if not o.rounds and not o.seconds:
        o.rounds = 20
    return run(o)


if __name__ == "__main__":
    sys.exit(main())
