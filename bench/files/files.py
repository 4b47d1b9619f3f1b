"""Files as tables: Stele and DuckDB on the same files, in turn, with the same threads; and the shell's start.

    files.py [--stele build/release/stele] [--threads 2] [--runs 5] [--only STATEMENT] [--json OUT] FILE...

FILE: lineitem of TPC-H as a Parquet or CSV file (with a header). Every statement runs in a process of its own; the time
is the statement's, with what it takes to find out what is in the file. Times of processors are what busy machines can
compare; Stele's are of the whole process. The least of the runs is shown, all are in the JSON file. Needs the Python
package duckdb.
"""
import argparse
import json
import os
import platform
import re
import resource
import subprocess
import sys
import time

import duckdb

STATEMENTS = {
    "count": "SELECT count(*) FROM '{f}'",
    "sum of 1": "SELECT sum(l_extendedprice) FROM '{f}'",
    "filter, sum of 2": "SELECT sum(l_extendedprice * l_discount) FROM '{f}' WHERE l_quantity < 24",
    "texts": "SELECT max(l_comment), min(l_shipmode) FROM '{f}' WHERE l_orderkey % 16 <> 5",
    "group by 2 texts": "SELECT l_returnflag, l_linestatus, sum(l_quantity), count(*) FROM '{f}' GROUP BY 1, 2 ORDER BY 1, 2",
    "all columns": "SELECT " + ", ".join(
        f"max({c})" for c in
        "l_orderkey l_partkey l_suppkey l_linenumber l_quantity l_extendedprice l_discount l_tax l_returnflag "
        "l_linestatus l_shipdate l_commitdate l_receiptdate l_shipinstruct l_shipmode l_comment".split()) + " FROM '{f}' WHERE l_orderkey % 16 <> 5",
    "create table as": "CREATE TABLE t AS SELECT * FROM '{f}'",
}


def children_cpu():
    r = resource.getrusage(resource.RUSAGE_CHILDREN)
    return r.ru_utime + r.ru_stime


def run_stele(shell, threads, sql):
    """Seconds of the last statement, and of processors by the whole process."""
    script = f"SET threads = {threads};\n\\timing on\n{sql};\n"
    before = children_cpu()
    p = subprocess.run([shell], input=script, capture_output=True, text=True)
    times = re.findall(r"Time: ([0-9.]+) ms", p.stdout)
    if p.returncode or not times:
        raise SystemExit(f"stele: {p.stderr or p.stdout}")
    return float(times[-1]) / 1000, children_cpu() - before


DUCKDB = """
import duckdb, os, sys, time
c = duckdb.connect()
c.execute("SET threads = " + sys.argv[1])
c.execute("SET enable_progress_bar = false")
cpu, t = time.process_time(), time.monotonic()
c.execute(sys.argv[2]).fetchall()
print(time.monotonic() - t, time.process_time() - cpu)
"""


def run_duckdb(threads, sql):
    p = subprocess.run([sys.executable, "-c", DUCKDB, str(threads), sql], capture_output=True, text=True, check=True)
    wall, cpu = p.stdout.split()
    return float(wall), float(cpu)


def start_of_shell(shell, runs):
    """Seconds from nothing to the end of a shell that was given one statement."""
    times = []
    for _ in range(runs):
        t = time.monotonic()
        subprocess.run([shell, "-c", "SELECT 1"], capture_output=True, check=True)
        times.append(time.monotonic() - t)
    return times


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--stele", default="build/release/stele")
    a.add_argument("--threads", type=int, default=2)
    a.add_argument("--runs", type=int, default=5)
    a.add_argument("--only")
    a.add_argument("--json")
    a.add_argument("files", nargs="+")
    o = a.parse_args()
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    out = {"commit": commit, "hardware": platform.processor() or platform.machine(), "load": os.getloadavg()[0],
           "duckdb": duckdb.__version__, "threads": o.threads, "runs": o.runs, "cpus": os.cpu_count(),
           "when": time.strftime("%Y-%m-%d %H:%M", time.gmtime()), "seconds": {}}
    print(f"{'':42} {'seconds, least':^22}  {'of processors':^22}")
    print(f"{'file':24}{'statement':18}" + f"{'Stele':>8}{'DuckDB':>8}{'ratio':>7} " * 2)
    for f in o.files:
        for name, sql in STATEMENTS.items():
            if o.only and o.only != name:
                continue
            stele, duck = [], []
            for _ in range(o.runs):
                stele.append(run_stele(o.stele, o.threads, sql.format(f=f)))
                duck.append(run_duckdb(o.threads, sql.format(f=f)))
            line = f"{os.path.basename(f):24}{name:18}"
            for k in (0, 1):
                s, d = min(x[k] for x in stele), min(x[k] for x in duck)
                line += f"{s:8.3f}{d:8.3f}{s / d:7.2f} "
            print(line, flush=True)
            out["seconds"].setdefault(os.path.basename(f), {})[name] = {"stele": stele, "duckdb": duck}
    out["start of the shell"] = start_of_shell(o.stele, 5 * o.runs)
    print(f"start of the shell {min(out['start of the shell']) * 1000:8.1f} ms")
    if o.json:
        with open(o.json, "w") as h:
            json.dump(out, h, indent=1)


if __name__ == "__main__":
    main()
