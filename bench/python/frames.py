#!/usr/bin/env python3
"""How long the Python package takes: import, data frames of a million rows in and out, rows, a bulk from a frame.

    bench/python/frames.py [--build build] [--rows 1000000] [--json OUT]

Prints the least of some runs, by the clock and in processor time (of all threads). Nothing else should run.
"""
import argparse
import json
import os
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

LEAST_MS = {}  # by the clock, of processors


def best(what, call, runs=5, before=None):
    clock = cpu = float("inf")
    for _ in range(runs):
        if before:
            before()
        t, c = time.perf_counter(), time.process_time()
        call()
        clock, cpu = min(clock, time.perf_counter() - t), min(cpu, time.process_time() - c)
    LEAST_MS[what] = [clock * 1e3, cpu * 1e3]
    print(f"{what:44s} {clock * 1e3:8.1f} ms {cpu * 1e3:8.1f} ms of processor time", flush=True)


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--build", default=os.path.join(ROOT, "build"))
    a.add_argument("--rows", type=int, default=1_000_000)
    a.add_argument("--json")
    o = a.parse_args()
    os.environ["STELE_LIBRARY"] = os.path.join(os.path.abspath(o.build), "release", "libstele.so.0")
    sys.path.insert(0, os.path.join(ROOT, "python"))
    timed = "import time; t = time.perf_counter(); import stele; print((time.perf_counter() - t) * 1e3)"
    env = {**os.environ, "PYTHONPATH": sys.path[0]}
    times = [float(subprocess.run([sys.executable, "-c", timed], env=env, capture_output=True, check=True).stdout) for _ in range(9)]
    LEAST_MS["import stele"] = [min(times)]
    print(f"{'import stele':44s} {min(times):8.1f} ms")

    import numpy as np
    import pandas as pd
    import stele
    n, rng = o.rows, np.random.default_rng(1)
    df = pd.DataFrame({"id": np.arange(n), "f": rng.random(n), "name": [f"name {i % 1000}" for i in range(n)],
                       "at": pd.date_range("2020-01-01", periods=n, freq="s"), "even": np.arange(n) % 2 == 0})
    con = stele.connect()
    best("pandas into a table", lambda df=df: con.sql("create table t as select * from df"), before=lambda: con.sql("drop table if exists t"))
    best("the table as a data frame of pandas", lambda: con.sql("select * from t").df())
    best("a query over the data frame", lambda df=df: con.sql("select even, count(*), sum(f) from df group by even").df())
    try:
        p = con.sql("select * from t").pl()
        best("polars into a table", lambda p=p: con.sql("create table u as select * from p"), before=lambda: con.sql("drop table if exists u"))
        best("the table as a data frame of polars", lambda: con.sql("select * from t").pl())
        del p
    except stele.InterfaceError as e:
        print(f"skipped: {e}")
    best("two columns as rows (fetchall)", lambda: con.sql("select id, name from t").fetchall(), runs=3)
    con.sql("create table account (id int primary key, balance bigint not null); insert into account select i, 0 from generate_series(0, 9999) as i;"
            "create procedure pay(a int, amount bigint) language plpgsql as $$ begin update account set balance = balance + amount where id = a; end $$")
    calls = pd.DataFrame({"a": rng.integers(0, 10_000, n), "amount": rng.integers(1, 9, n)})
    best("a bulk: a call per row, results as a frame", lambda: con.bulk("pay", calls).df(), runs=3)
    if o.json:
        with open(o.json, "w") as h:
            json.dump({"load": os.getloadavg()[0], "cpus": os.cpu_count(), "rows": n, "least ms": LEAST_MS}, h, indent=1)


if __name__ == "__main__":
    main()
