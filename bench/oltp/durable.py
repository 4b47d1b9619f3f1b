#!/usr/bin/env python3
"""What the redo log costs transactions in bulk: stele-bench in memory, and in a directory with synchronous_commit off
and on, in turns, so that all of them meet the same machine.

    bench/oltp/durable.py --bench build/release/stele-bench --dir /tmp/durable --turns 6 --json bench/results/NAME.json

Each line of the table has medians of the turns, and the ratios of calls a second to memory's.
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys

LINES = [
    ("TPC-B, bulks of 64,000", ["tpcb", "--scale", "10", "--bulk", "64k"]),
    ("TPC-B, bulks of 16,000", ["tpcb", "--scale", "10", "--bulk", "16k"]),
    ("TPC-B, pool, tickets of 1,000, 64 on their way", ["tpcb", "--scale", "10", "--pool", "1000", "--bulk", "64"]),
    ("TPC-C, bulks of 16,000", ["tpcc", "--scale", "2", "--bulk", "16k"]),
    ("TPC-C, pool, tickets of 250, 64 on their way", ["tpcc", "--scale", "2", "--pool", "250", "--bulk", "64"]),
]
MODES = ("memory", "off", "on")


def measure(bench, args, mode, folder, seconds, threads):
    """The record of one run; its directory does not stay."""
    path, out = os.path.join(folder, "db"), os.path.join(folder, "out.json")
    command = [bench, *args, "--strategies", "auto", "--seconds", str(seconds), "--threads", str(threads), "--json", out]
    if mode != "memory":
        command += ["--durable", path, "--set", f"set synchronous_commit = {mode}"]
    shutil.rmtree(path, ignore_errors=True)
    done = subprocess.run(command, capture_output=True, text=True)
    shutil.rmtree(path, ignore_errors=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    with open(out, encoding="utf-8") as f:
        return json.load(f)["results"][-1]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--bench", default="build/release/stele-bench")
    p.add_argument("--dir", required=True, help="for databases; on the disk that is measured")
    p.add_argument("--turns", type=int, default=6)
    p.add_argument("--seconds", type=float, default=2)
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--machine", default="", help="recorded")
    p.add_argument("--json")
    o = p.parse_args()
    os.makedirs(o.dir, exist_ok=True)
    lines = []
    print(f"{'':48} {'calls/s':>10} {'off':>6} {'on':>6}   {'CPU us':>7} {'off':>7} {'on':>7}   bytes a call")
    for name, args in LINES:
        turns = {mode: [] for mode in MODES}
        for _ in range(o.turns):
            for mode in MODES:
                turns[mode].append(measure(o.bench, args, mode, o.dir, o.seconds, o.threads))
        rate = {m: statistics.median(r["calls_per_second"] for r in turns[m]) for m in MODES}
        cpu = {m: statistics.median(r.get("cpu_us_per_call", 0) for r in turns[m]) for m in MODES}
        size = statistics.median(r["log_bytes_per_call"] for r in turns["on"])
        print(f"{name:48} {rate['memory']:10.0f} {rate['off'] / rate['memory']:6.2f} {rate['on'] / rate['memory']:6.2f}   "
              f"{cpu['memory']:7.2f} {cpu['off']:7.2f} {cpu['on']:7.2f}   {size:.1f}", flush=True)
        lines.append({"line": name, "arguments": args, "log_bytes_per_call": round(size, 1),
                      **{m: {"calls_per_second": [round(r["calls_per_second"]) for r in turns[m]],
                             "cpu_us_per_call": [round(r.get("cpu_us_per_call", 0), 3) for r in turns[m]]} for m in MODES}})
    if o.json:
        with open(o.json, "w", encoding="utf-8") as f:
            json.dump({"what": "bench/oltp/durable.py: transactions in bulk with a redo log", "machine": o.machine,
                       "turns": o.turns, "seconds": o.seconds, "threads": o.threads, "lines": lines}, f, indent=1)
            f.write("\n")


if __name__ == "__main__":
    main()
