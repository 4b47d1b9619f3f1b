"""One short table from the JSON files of bench/device/run.sh: summary.py FOLDER."""
import glob
import json
import math
import os
import sys
from collections import defaultdict


def geomean(xs):
    return math.exp(sum(map(math.log, xs)) / len(xs))


def load(path):
    try:
        with open(path) as f:
            return json.load(f)
    except (OSError, ValueError) as e:
        print(f"{os.path.basename(path)}: {e}")
        return None


def by_variant(results, value):
    """Variant -> numbers of the good measurements, and how many were not."""
    good, missing = defaultdict(list), defaultdict(int)
    for r in results:
        x = value(r) if r["status"] == "ok" else None
        if x is None or x <= 0:
            missing[r["variant"]] += 1
        else:
            good[r["variant"]].append(x)
    return good, missing


def lines(title, results, value, form, unit):
    good, missing = by_variant(results, value)
    print(title)
    for v in dict.fromkeys(r["variant"] for r in results):
        note = f"({missing[v]} not available)" if missing[v] else ""
        text = f"{form(good[v]):12.2f} {unit}" if good[v] else "           -"
        print(f"  {v:26s} {text}  {note}".rstrip())


def tpch(d):
    t, g, w = d["total_ms"], d["geomean_ms"], d["worst"]
    wrong = [q["query"] for q in d["queries"] if not q["correct"]]
    print(f"TPC-H scale {d['scale']} on {d['device']}, {d['threads']} threads: total {t['stele']:.1f} ms, DuckDB {t['duckdb']:.1f} ms")
    print(f"  geometric mean {1 / g['ratio']:.2f} times faster, worst Q{w['query']} {1 / w['ratio']:.2f} times; wrong: {wrong or 'none'}")


def virginian(d):
    for rows in sorted({r["rows"] for r in d["results"]}):
        for kind in ("rows", "sums"):
            part = [r for r in d["results"] if r["rows"] == rows and r["form"] == kind]
            lines(f"virginian, {rows:,} rows, {kind}: speed-up over one core, geometric mean of the queries", part, lambda r: r.get("speedup_over_one_core"), geomean, "x")


def join(d):
    for kind in ("rows", "grouped"):
        part = [r for r in d["results"] if r["form"] == kind]
        lines(f"join, {kind}: best rate, million input rows/s", part, lambda r: r.get("rows_per_s", 0) / 1e6, max, "M/s")


def gpl(d):
    part = [r for r in d["results"] if r["part"] == "executors"]
    lines("gpl: Q5, Q7, Q8, Q9, Q14, geometric mean", part, lambda r: r["ms"], geomean, "ms")


def latency(d):
    good = [r for r in d["results"] if "error" not in r]
    if good:
        worst = max(good, key=lambda r: r["host_us"])
        host, wall = sum(r["host_us"] for r in good) / len(good), sum(r["wall_us"] for r in good) / 1e3
        print(f"latency: {len(good)} queries on {d['device']}, host beside kernels mean {host:.1f} us, worst Q{worst['query']} {worst['host_us']:.1f} us; wall, total {wall:.2f} ms")
    for r in d["results"]:
        if "error" in r:
            print(f"  Q{r['query']}: {r['error']}")


def main():
    out = sys.argv[1]
    print("\n==== summary ====")
    for name in ("hardware.txt", "parts.txt"):
        try:
            with open(os.path.join(out, name)) as f:
                print(f.read().rstrip())
        except OSError:
            pass
    kinds = {"tpch": tpch, "virginian": virginian, "join": join, "gpl": gpl, "latency": latency}
    for path in sorted(glob.glob(os.path.join(out, "*.json"))):
        d = load(path)
        if not d or d.get("benchmark") not in kinds:
            continue
        kinds[d["benchmark"]](d)
        wrong = sum(r.get("status") == "wrong" for r in d.get("results", []))
        if wrong:
            print(f"  WRONG ROWS in {wrong} measurements")


main()
