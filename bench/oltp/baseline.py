#!/usr/bin/env python3
"""The figures that a change of the storage has to beat: TPC-C, TPC-B and TM-1 in bulks, loading, bytes per warehouse, bulks beside SQL (stele-beside), TPC-H.

Each figure is the median of --runs runs, each in a process of its own (stele-beside and TPC-H: within one). With several --build the builds alternate within each run, so that noise of the machine
hits all. The short table is printed last and written to OUT/baseline.md, every run to OUT/baseline.json.

  bench/oltp/baseline.py --build build/release --out out                                      # this machine's processors
  bench/oltp/baseline.py --build build/release --out out --device cuda:0                      # and a GPU, with its sizes
  bench/oltp/baseline.py --build old --build new --out out --parts tpcc,memory

Parts: tpcc, tpcb, tm1, memory (loading time and bytes per warehouse), beside, tpch. TPC-H's data is made with tpchgen-cli, which stands beside the python that runs this, unless --data has it.
"""
import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "bench", "tpch"))
import tpch  # noqa: E402

PARTS = ["tpcc", "tpcb", "tm1", "memory", "beside", "tpch"]
# scale and sizes of bulks, on processors and on a GPU
CPU = {"tpcc": (4, "4k,16k"), "tpcb": (50, "16k,64k"), "tm1": (100, "16k,64k")}
GPU = {"tpcc": (64, "64k,256k"), "tpcb": (50, "64k,1M"), "tm1": (10000, "64k,1M")}
NAMES = {"tpcc": "TPC-C, {} warehouses", "tpcb": "TPC-B, {}00 k accounts", "tm1": "TM-1, {} k subscribers"}


class Table:
    """Figures by what they are and by build."""

    def __init__(self):
        self.rows, self.notes = {}, []

    def add(self, what, unit, build, value):
        self.rows.setdefault((what, unit), {}).setdefault(build, []).append(value)

    def lines(self, builds):
        yield "| what | unit | " + " | ".join(builds) + " | runs |"
        yield "| --- | --- |" + " --- |" * (len(builds) + 1)
        for (what, unit), by in self.rows.items():
            cells = [form(statistics.median(by[b])) if by.get(b) else "-" for b in builds]
            yield f"| {what} | {unit} | " + " | ".join(cells) + f" | {max(len(v) for v in by.values())} |"


def form(v):
    return f"{v:,.0f}" if abs(v) >= 100 else f"{v:.3g}"


def settings(executor, device, order):
    return f"set executor = '{executor}'; set device = '{device}'; set device_wait = on; set bulk_order = '{order}'"


def ways(o):
    """What the bulks run on: name, settings, sizes."""
    if o.device:
        return [(o.device, settings("compiled", o.device, o.order) + "; set device_strict = on", GPU)]
    return [("vm", settings("vm", "cpu", o.order), CPU), ("compiled", settings("compiled", "cpu", o.order), CPU)]


def bulks(o, t, name):
    for _ in range(o.runs):
        for way, text, sizes in ways(o):
            scale, bulk = sizes[name]
            if name == "tpcc" and o.warehouses:
                scale = o.warehouses
            for build in o.build:
                path = os.path.join(o.out, "run.json")
                seconds = o.seconds or (0.05 if o.device and name == "tpcc" else 0.5)
                p = subprocess.run([os.path.join(build, "stele-bench"), name, "--scale", str(scale), "--bulk", bulk, "--seconds", str(seconds), "--threads", str(o.threads), "--set", text, "--json", path],
                                   cwd=ROOT, capture_output=True, text=True)
                if p.returncode:
                    t.notes.append(f"{build}: {name} on {way}: " + (p.stderr or p.stdout).strip()[-400:])
                    continue
                with open(path) as f:
                    for line in json.load(f)["results"]:
                        what = f"{NAMES[name].format(scale)}, {way}, bulks of {line['bulk_size'] // 1000} k"
                        if line.get("reason"):
                            t.notes.append(f"{build}: {what}: {line['executor']}, because {line['reason']}")
                        t.add(what, "calls/s", build, line["calls_per_second"])
                        t.add(what + ": CPU time of a call", "us", build, line["cpu_us_per_call"])


def user_s(pid):
    with open(f"/proc/{pid}/stat") as f:
        return int(f.read().rsplit(")", 1)[1].split()[11]) / os.sysconf("SC_CLK_TCK")


def memory(o, t):
    """Loading of 1 and of 5 warehouses: the difference is what four take, without what a process takes anyway and texts that loading needs once."""
    with open(os.path.join(ROOT, "bench", "oltp", "tpcc.sql")) as f:
        text = f.read()
    for _ in range(o.runs):
        for build in o.build:
            took, user, rss = {}, {}, {}
            for scale in (1, 5):
                sh = tpch.Shell(os.path.join(build, "stele"), options=["--threads", str(o.threads)])
                t0 = time.monotonic()
                sh.run(text.replace(":scale", str(scale)))
                took[scale], user[scale], rss[scale] = time.monotonic() - t0, user_s(sh.p.pid), sh.rss_bytes()
                sh.close()
            t.add("TPC-C, loading: 5 warehouses", "s", build, took[5])
            t.add("TPC-C, loading: user time of 5 warehouses", "s", build, user[5])
            t.add("TPC-C, loading: user time of a further warehouse", "s", build, (user[5] - user[1]) / 4)
            t.add("TPC-C, resident memory of a further warehouse", "MB", build, (rss[5] - rss[1]) / 4e6)


def beside(o, t):
    way, text, _ = ways(o)[-1]
    for build in o.build:
        for part in ("memory", "rates", "reads"):
            path = os.path.join(o.out, "run.json")
            p = subprocess.run([os.path.join(build, "stele-beside"), part, "--runs", str(o.runs), "--threads", str(o.threads), "--set", text.replace("; set device_strict = on", ""), "--json", path], cwd=ROOT,
                               capture_output=True, text=True)
            if p.returncode:
                t.notes.append(f"{build}: stele-beside {part}: " + p.stderr.strip()[-400:])
                continue
            with open(path) as f:
                for line in json.load(f)[1:]:
                    if line["what"] == "executor":
                        t.notes.append(f"{build}: stele-beside {part} on {way}: bulks ran: {line['value']}")
                    elif part == "memory" or not line["what"].startswith(("loading", "memory")):
                        t.add(f"beside SQL, 5 M accounts, {way}: {line['what']}", line["unit"], build, line["value"])


def tpc_h(o, t):
    data = o.data or os.path.join(o.out, "sf1")
    try:
        tpch.generate(data, "1", sys.executable)
    except (OSError, subprocess.CalledProcessError) as e:
        t.notes.append(f"TPC-H was not measured: its data cannot be made: {e}")
        return
    executors = [("vm", "cpu"), ("compiled", o.device or "cpu")]
    for build in o.build:
        sh = tpch.Shell(os.path.join(build, "stele"), options=["--threads", str(o.threads)])
        t.add("TPC-H 1: loading", "s", build, tpch.load(sh, data))
        t.add("TPC-H 1: resident memory", "MB", build, sh.rss_bytes() / 1e6)
        for executor, device in executors:
            strict = "on" if device != "cpu" else "off"
            sh.run(f"set executor = '{executor}'; set device = '{device}'; set device_wait = on; set device_strict = {strict}")
            ms = []
            for n in range(1, 23):
                why = tpch.verdict(sh.run(tpch.query(n))[0], tpch.answer(n, "1"))  # not counted: kernels are compiled
                if why:
                    t.notes.append(f"{build}: TPC-H Q{n}, {executor}: WRONG: {why}")
                ms.append(statistics.median(sh.run(tpch.query(n))[1] for _ in range(o.runs)))
            t.add(f"TPC-H 1, {executor} on {device}: sum of the 22 queries' medians", "ms", build, sum(ms))
            t.add(f"TPC-H 1, {executor} on {device}: their geometric mean", "ms", build, math.exp(sum(map(math.log, ms)) / 22))
        sh.close()


def hardware():
    with open("/proc/cpuinfo") as f:
        model = next((line.split(":", 1)[1].strip() for line in f if line.startswith("model name")), "?")
    try:
        gpu = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"], capture_output=True, text=True).stdout.strip()
    except OSError:
        gpu = ""
    return f"{os.cpu_count()} processors, {model}, {os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 1e9:.0f} GB" + (f"; {gpu}" if gpu else "")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--build", action="append", required=True)
    p.add_argument("--out", required=True)
    p.add_argument("--device", help="cuda:0: bulks run there")
    p.add_argument("--parts", default=",".join(PARTS))
    p.add_argument("--runs", type=int, default=5)
    p.add_argument("--seconds", type=float, help="of each line of stele-bench (0.5; TPC-C on a device: 0.05, before tables outgrow their room)")
    p.add_argument("--warehouses", type=int, help="of TPC-C's bulks (4, on a device 64)")
    p.add_argument("--order", choices=["any", "timestamp"], default="any")
    p.add_argument("--threads", type=int, default=os.cpu_count())
    p.add_argument("--data", help="TPC-H's .tbl files at scale 1")
    p.add_argument("--commit", help="of builds, for the record")
    o = p.parse_args()
    unknown = [x for x in o.parts.split(",") if x not in PARTS]
    if unknown:
        p.error("no such part: " + ", ".join(unknown))
    o.build = [os.path.abspath(b) for b in o.build]
    os.makedirs(o.out, exist_ok=True)
    o.out = os.path.abspath(o.out)
    t = Table()
    done = {"tpcc": bulks, "tpcb": bulks, "tm1": bulks}
    for part in o.parts.split(","):
        began = time.monotonic()
        if part in done:
            done[part](o, t, part)
        else:
            {"memory": memory, "beside": beside, "tpch": tpc_h}[part](o, t)
        print(f"{part}: {time.monotonic() - began:.0f} s", flush=True)
    commit = o.commit or subprocess.run(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    head = f"{time.strftime('%Y-%m-%d')}, commit {commit}, {hardware()}, {o.threads} threads, order {o.order}, medians of {o.runs}"
    with open(os.path.join(o.out, "baseline.json"), "w") as f:
        json.dump({"what": head, "arguments": sys.argv[1:], "notes": t.notes, "runs": [{"what": w, "unit": u, "build": b, "values": v} for (w, u), by in t.rows.items() for b, v in by.items()]}, f, indent=1)
    text = [head, "", *(line.replace(ROOT + os.sep, "") for line in t.lines(o.build)), "", *("- " + n for n in dict.fromkeys(t.notes))]
    with open(os.path.join(o.out, "baseline.md"), "w") as f:
        f.write("\n".join(text) + "\n")
    print("\n".join(text))
    return 1 if any("WRONG" in n for n in t.notes) or not t.rows else 0


sys.exit(main())
