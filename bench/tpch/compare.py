"""make bench-tpch: Stele against DuckDB, same data, same threads, same run. Writes bench/results/tpch-*.json.

--device names another processor for Stele (cuda:0, opencl:0; cpu with --executor compiled: the system's C compiler); the time of
compiling kernels is left out by a run that waits for it first."""
import argparse
import json
import math
import os
import platform
import statistics
import subprocess
import sys
import time

import duckdb

import tpch


def cpu_model():
    with open("/proc/cpuinfo") as f:
        for line in f:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor()


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--build", required=True)
    a.add_argument("--data", required=True)
    a.add_argument("--scale", default="1")
    a.add_argument("--threads", type=int, default=2)
    a.add_argument("--runs", type=int, default=5)
    a.add_argument("--out", default=None)
    a.add_argument("--device", default=None)
    a.add_argument("--executor", default=None)
    a.add_argument("--set", action="append", default=[], help="name=value for Stele")
    o = a.parse_args()
    stele = os.path.join(o.build, "stele")
    tpch.generate(o.data, o.scale, sys.executable)
    size = tpch.tbl_bytes(o.data)
    data = os.path.abspath(o.data)

    print(f"DuckDB {duckdb.__version__}: loading ...", flush=True)
    con = duckdb.connect(config={"threads": os.cpu_count()})
    t0 = time.monotonic()
    for statement in tpch.schema().split(";"):
        if statement.strip():
            con.execute(statement)
    for t in tpch.TABLES:
        con.execute(f"copy {t} from '{data}/{t}.tbl' (delimiter '|', header false)")
    duck_load = time.monotonic() - t0
    con.execute(f"set threads={o.threads}")

    print("Stele: loading ...", flush=True)
    sh = tpch.Shell(stele)
    stele_load = tpch.load(sh, o.data)
    rss = sh.rss_bytes()
    sh.run(f"set threads = {o.threads}")
    settings = [x.split("=", 1) for x in o.set]
    if o.device:
        settings += [["device", o.device], ["executor", o.executor or "compiled"], ["device_strict", "on"]]
    for name, value in settings:
        sh.run(f"set {name} = '{value}'")

    rows = []
    print("  query     stele    duckdb   ratio")
    for n in range(1, 23):
        sql = tpch.query(n)
        got, _ = sh.run(sql)
        theirs = [["" if c is None else str(c) for c in r] for r in con.execute(sql).fetchall()]
        known = os.path.exists(os.path.join(tpch.HERE, "answers", f"sf{o.scale}"))
        why = tpch.verdict(got, tpch.answer(n, o.scale) if known else theirs)
        s, d = [], []
        for _ in range(o.runs):  # interleaved, so that noise of the machine hits both
            s.append(sh.run(sql)[1])
            t1 = time.monotonic()
            con.execute(sql).fetchall()
            d.append((time.monotonic() - t1) * 1000)
        ms, md = statistics.median(s), statistics.median(d)
        rows.append({"query": n, "stele_ms": ms, "duckdb_ms": md, "stele_min": min(s), "duckdb_min": min(d), "correct": why is None})
        print(f"  Q{n:<5d} {ms:8.1f}  {md:8.1f}  {ms / md:6.2f}{'' if why is None else '  WRONG: ' + why}", flush=True)
    ts, td = sum(r["stele_ms"] for r in rows), sum(r["duckdb_ms"] for r in rows)
    gs, gd = (math.exp(sum(math.log(r[k]) for r in rows) / 22) for k in ("stele_ms", "duckdb_ms"))
    worst = max(rows, key=lambda r: r["stele_ms"] / r["duckdb_ms"])
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    result = {
        "benchmark": "tpch", "device": o.device or "cpu", "executor": o.executor or ("compiled" if o.device else "vm"), "settings": o.set, "scale": o.scale, "threads": o.threads, "runs": o.runs, "commit": commit, "date": time.strftime("%Y-%m-%d"),
        "hardware": {"cpu": cpu_model(), "processors": os.cpu_count()}, "duckdb": duckdb.__version__,
        "total_ms": {"stele": ts, "duckdb": td, "ratio": ts / td}, "geomean_ms": {"stele": gs, "duckdb": gd, "ratio": gs / gd},
        "worst": {"query": worst["query"], "ratio": worst["stele_ms"] / worst["duckdb_ms"]},
        "load_s": {"stele": stele_load, "duckdb": duck_load, "ratio": stele_load / duck_load},
        "resident": {"bytes": rss, "tbl_bytes": size, "ratio": rss / size}, "queries": rows,
    }
    print(f"\n  total    stele {ts:.1f} ms, duckdb {td:.1f} ms: ratio {ts / td:.3f}, {td / ts:.1f} times faster")
    print(f"  geomean  stele {gs:.2f} ms, duckdb {gd:.2f} ms: ratio {gs / gd:.3f}, {gd / gs:.1f} times faster")
    print(f"  worst    Q{worst['query']}: ratio {worst['stele_ms'] / worst['duckdb_ms']:.3f}, {worst['duckdb_ms'] / worst['stele_ms']:.1f} times faster")
    print(f"  load     stele {stele_load:.1f} s, duckdb {duck_load:.1f} s: {stele_load / duck_load:.2f}")
    print(f"  resident {rss / 1e6:.0f} MB of {size / 1e6:.0f} MB: {rss / size:.2f}")
    if o.out:
        with open(o.out, "w") as f:
            json.dump(result, f, indent=1)
    sh.close()
    return 0 if all(r["correct"] for r in rows) else 1


sys.exit(main())
