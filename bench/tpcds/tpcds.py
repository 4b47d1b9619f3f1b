"""TPC-DS: Stele and DuckDB, each query in turns. See README.md.

    tpcds.py [--scale 1] [--data DIR] [--build build] [--threads 2] [--runs 3] [--only 1,2] [--set SQL]... [--json OUT]

Ends with status 1 if an answer is wrong or a query fails.
"""
import argparse
import decimal
import json
import os
import platform
import subprocess
import sys
import time

import duckdb
import duckdb_extension_tpcds

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOLERANCE = 1e-4


def extension():
    for folder, _, names in os.walk(os.path.dirname(duckdb_extension_tpcds.__file__)):
        if "tpcds.duckdb_extension" in names:
            return os.path.join(folder, "tpcds.duckdb_extension")
    raise SystemExit("duckdb_extension_tpcds has no extension in it")


def open_duckdb(threads, scale, data):
    """The data of `scale`: from Parquet files in `data`, which are made if they are not there."""
    c = duckdb.connect(config={"threads": threads, "allow_unsigned_extensions": "true"})
    c.execute(f"LOAD '{extension()}'")
    done = os.path.join(data, ".complete")
    if not os.path.exists(done):
        os.makedirs(data, exist_ok=True)
        c.execute(f"CALL dsdgen(sf = {scale})")
        for t in tables(c):
            c.execute(f"COPY {t} TO '{data}/{t}.parquet'")
        open(done, "w").close()
    else:
        c.execute("CALL dsdgen(sf = 0)")
        for t in tables(c):
            c.execute(f"INSERT INTO {t} FROM '{data}/{t}.parquet'")
    return c


def tables(c):
    return [t for t, in c.execute("SELECT table_name FROM duckdb_tables() ORDER BY 1").fetchall()]


def open_stele(build, threads, c, data, settings):
    os.environ["STELE_LIBRARY"] = os.path.join(os.path.abspath(build), "release", "libstele.so.0")
    sys.path.insert(0, os.path.join(ROOT, "python"))
    import stele
    con = stele.connect(autocommit=True)
    con.execute(f"SET threads = {threads}")
    for t in tables(c):
        con.execute(f"CREATE TABLE {t} AS SELECT * FROM '{data}/{t}.parquet'")
    for s in settings:
        con.execute(s)
    return con


def timed(c, sql):
    t = time.perf_counter()
    rows = c.execute(sql).fetchall()
    return time.perf_counter() - t, rows


def same_value(a, b):
    if a is None or b is None:
        return a is b
    numbers = (int, float, decimal.Decimal)
    if isinstance(a, numbers) and isinstance(b, numbers):
        return abs(float(a) - float(b)) <= TOLERANCE * max(1.0, abs(float(a)))
    return str(a).rstrip() == str(b).rstrip()


def same_rows(a, b):
    return len(a) == len(b) and all(len(x) == len(y) and all(map(same_value, x, y)) for x, y in zip(a, b))


def in_some_order(rows):
    return sorted(rows, key=lambda r: [(v is None, str(v) if not isinstance(v, (int, float, decimal.Decimal)) else f"{float(v):020.2f}") for v in r])


def arguments():
    a = argparse.ArgumentParser()
    a.add_argument("--scale", type=float, default=1)
    a.add_argument("--data")
    a.add_argument("--build", default=os.path.join(ROOT, "build"))
    a.add_argument("--threads", type=int, default=2)
    a.add_argument("--runs", type=int, default=3)
    a.add_argument("--only")
    a.add_argument("--set", action="append", default=[])
    a.add_argument("--json")
    o = a.parse_args()
    o.data = o.data or os.path.join(o.build, f"tpcds-sf{o.scale:g}")
    o.only = {int(n) for n in o.only.split(",")} if o.only else None
    return o


def run_query(n, sql, stele, duck, runs):
    """Times of both sides and whether the answers agree; None: it failed."""
    times = {"stele": [], "duckdb": []}
    for _ in range(runs):
        t, want = timed(duck, sql)
        times["duckdb"].append(t)
        try:
            t, got = timed(stele, sql)
        except Exception as e:
            print(f"q{n:02d} fails: {e}")
            return None
        times["stele"].append(t)
    right = same_rows(got, want) or same_rows(in_some_order(got), in_some_order(want))
    return {**times, "rows": len(want), "right": right}


def main():
    o = arguments()
    duck = open_duckdb(o.threads, o.scale, o.data)
    stele = open_stele(o.build, o.threads, duck, o.data, o.set)
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, cwd=ROOT).stdout.strip()
    out = {"commit": commit, "hardware": platform.processor() or platform.machine(), "cpus": os.cpu_count(),
           "load": os.getloadavg()[0], "duckdb": duckdb.__version__, "scale": o.scale, "threads": o.threads,
           "runs": o.runs, "set": o.set, "when": time.strftime("%Y-%m-%d %H:%M", time.gmtime()), "queries": {}}
    sums, wrong, slower = [0.0, 0.0], 0, []
    for n, sql in duck.execute("SELECT query_nr, query FROM tpcds_queries() ORDER BY 1").fetchall():
        if o.only and n not in o.only:
            continue
        r = out["queries"][n] = run_query(n, sql, stele, duck, o.runs)
        if not r or not r["right"]:
            wrong += 1
            print(f"q{n:02d} WRONG", flush=True)
            continue
        s, d = min(r["stele"]), min(r["duckdb"])
        sums[0] += s
        sums[1] += d
        if s > 1.5 * d:
            slower.append(n)
        print(f"q{n:02d} {s * 1e3:9.1f} ms {d * 1e3:9.1f} ms  ratio {s / d:5.2f}", flush=True)
    print(f"all {sums[0] * 1e3:9.1f} ms {sums[1] * 1e3:9.1f} ms  ratio {sums[0] / max(sums[1], 1e-9):5.2f}; {wrong} wrong; above 1.5: {slower}")
    if o.json:
        with open(o.json, "w") as f:
            json.dump(out, f, indent=1)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
