#!/usr/bin/env python3
"""The figures of GPUTx [§6, App. F, G] with this system: runs stele-bench over the paper's parameters and writes tables, and plots where matplotlib is installed.

  bench/oltp/figures.py --build DIR --out DIR [--figures 3,4,..] [--device cuda:0] [--threads N] [--size small|paper] [--seconds S] [--budget S] [--limit S]
  bench/oltp/figures.py --from FILE.json --out DIR     tables and plots of an earlier run

Writes OUT/gputx.json (every line that stele-bench measured, with the figure it belongs to), OUT/gputx.md and OUT/figN.svg. With --device calls run as kernels there;
without, on this machine's processors. `small` sizes fit a laptop; `paper` are the paper's. Lines over the same tables are one run of stele-bench: figures are measured
in the order in which they are named, but those that share tables together.

One at a time. The paper's "16 to 146 times" (figure 7) is against transactions that one core of the GPU runs one after the other (§6.3), not against a launch for each. Here
that is bulk_strategy = serial with executor = compiled: one work-item runs a bulk's calls in one launch. Figures 3 and 7 have it;
figure 7 also has bulks whose calls need not keep their order (App. G), which matters where they meet as often as TPC-C's.

With a device x stands for 100 * x rounds of a multiplication and an addition (the paper: calls of sinf), without for x: the virtual machine takes so much
longer. Grouping by type (figures 3 and 12) is bulk_group_bits, the upper bits of a call's type that count; without a device the virtual machine needs all
calls of a procedure together: figure 3 compares orders (bulk_order) instead, and figure 12 is made with kernels of the system's C compiler. Partitions (figure 13) are made of items' names, not of ranges of keys,
and by the host, also for calls that run on a device.
What is asked of a device runs there or not at all (device_strict): a strategy that it refuses is in the tables as refused, with the reason below.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time

SIZES = {
    # tuples of the micro benchmark, bulk sizes, usual bulk, scale factors of TM-1 (thousand subscribers), arrivals a second, intervals (ms), calls of a bulk that is run one at a time
    "small": dict(tuples=1_000_000, bulks=[1_000, 4_000, 16_000, 64_000, 256_000], bulk=256_000, scales=[10, 100, 1000], rate_tm1=1_000_000, rate_micro=400_000,
                  intervals="0.2,0.5,1,2,5,10,20,50,100", cardinality=[1_000, 10_000, 100_000, 1_000_000], serial=4_000, tpcb=128, tpcc=8),
    "paper": dict(tuples=8_000_000, bulks=[16_000, 64_000, 256_000, 1_000_000, 4_000_000], bulk=1_000_000, scales=[1000, 2000, 5000, 10000], rate_tm1=10_000_000, rate_micro=40_000_000,
                  intervals="0.5,1,2,5,10,20,50", cardinality=[10_000, 100_000, 1_000_000, 8_000_000, 16_000_000], serial=4_000, tpcb=128, tpcc=8),
    "tiny": dict(tuples=20_000, bulks=[1_000, 4_000], bulk=4_000, scales=[1, 2], rate_tm1=100_000, rate_micro=20_000, intervals="5,20", cardinality=[1_000, 10_000], serial=200, tpcb=2, tpcc=1),
}
TYPES = (1, 2, 4, 8, 16)
STRATEGIES = "kset,tpl,part"
LOW, HIGH = 1, 16  # x
RESET = "SET bulk_order = 'timestamp'; SET bulk_partitions = 0; SET bulk_group_bits = -1"


class Runner:
    def __init__(self, o):
        self.o, self.lines, self.began, self.runs = o, [], time.monotonic(), {}
        self.there = ["SET device = '%s'" % o.device, "SET executor = 'compiled'", "SET device_wait = on", "SET device_strict = on"] if o.device else []
        self.rounds = 100 if o.device else 1

    def point(self, figure, tables, sql="", note="", **p):
        """A line over `tables` (arguments of stele-bench); `note` tells lines of a figure apart, `figure` may be several."""
        if "x" in p:
            p["work"] = p.pop("x") * self.rounds
        figures = [f for f in (figure if isinstance(figure, tuple) else (figure,)) if f in self.o.wanted]
        if figures:
            self.runs.setdefault(tuple(map(str, tables)), []).append((figures, sql, note, p))

    def strategies(self, figure, tables, **p):
        for s in STRATEGIES.split(","):
            self.point(figure, tables, strategy=s, **p)

    def execute(self):
        for tables, points in self.runs.items():
            if self.over("figures %s" % sorted({f for p in points for f in p[0]})):
                continue
            args = []
            if self.o.device and tables[0] == "gputx":  # all kernels at once, before anything is measured
                args += ["--point", "label=warm bulk=1000 strategy=tpl seconds=0.001 types=%d" % max(p[3].get("types", 8) for p in points)]
            for i, (_, sql, _, p) in enumerate(points):
                words = ["%s=%s" % (k, v) for k, v in {"label": "p%d" % i, "seconds": self.o.seconds, **p}.items()]
                args += ["--point", " ".join(words) + ";" + "; ".join(filter(None, [RESET, sql]))]
            lines = self.bench(list(tables), args)
            made = max([line["image_ms"] for line in lines if "refused" not in line], default=0)  # by whoever came first
            for line in lines:
                if not line["variant"].startswith("p"):
                    continue
                figures, _, note, p = points[int(line["variant"][1:])]
                if "refused" in line:  # what it would have been, for its place in the table
                    line.update({"benchmark": tables[0], tables[1].strip("-"): int(tables[2]), "bulk_size": p["bulk"], "strategy": p["strategy"], "types": p.get("types", 8), "alpha": p.get("alpha", 0)})
                for f in figures:
                    self.lines.append(dict(line, figure=f, variant=note, image_ms=made))
            print("  %s: figures %s, %d points, %.0f s" % (" ".join(tables), sorted({f for p in points for f in p[0]}), len(points), time.monotonic() - self.began), flush=True)
        self.runs = {}

    def over(self, what):
        if not self.o.budget or time.monotonic() - self.began <= self.o.budget:
            return False
        print("%s: left out, %d s are over" % (what, self.o.budget), flush=True)
        return True

    def bench(self, tables, args):
        with tempfile.TemporaryDirectory() as d:
            path = os.path.join(d, "lines.json")
            cmd = [os.path.join(self.o.build, "stele-bench"), *tables, "--json", path, *args]
            if self.o.threads:
                cmd += ["--threads", str(self.o.threads)]
            if self.there:
                cmd += ["--set", "; ".join(self.there)]
            try:
                done = subprocess.run(cmd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=self.o.limit or None)
                if done.returncode:
                    print("%s: %s" % (" ".join(tables), "; ".join(x[:200] for x in done.stdout.strip().splitlines()[-3:])), flush=True)
                said = done.stdout
            except subprocess.TimeoutExpired as late:
                print("%s: not finished after %d s" % (" ".join(tables), self.o.limit), flush=True)
                said = (late.stdout or b"").decode(errors="replace")
            refused = []
            for line in said.splitlines():
                if "because" in line or "without device" in line:
                    print("    " + line.strip()[-220:], flush=True)
                m = re.match(r"stele-bench %s: (?:(p\d+): )?(0A000: .*)" % tables[0], line)
                if m:
                    refused.append({"variant": m.group(1) or "", "refused": m.group(2)})
            try:
                with open(path) as f:
                    return json.load(f)["results"] + refused
            except (OSError, ValueError):
                return refused

    def arrivals(self, figure, tables, rate, bulk, intervals, strategies):
        if figure not in self.o.wanted or self.over("figure %d" % figure):
            return
        lines = []
        for strategy in strategies.split(","):
            found = self.bench(list(map(str, tables)), ["--seconds", str(self.o.seconds), "--bulk", str(bulk), "--arrival", str(rate), "--interval", intervals, "--strategies", strategy])
            lines += [dict(line, strategy=strategy) if "refused" in line else line for line in found]
        self.lines += [dict(line, figure=figure) for line in lines]
        print("  figure %d: %d lines, %.0f s" % (figure, len(lines), time.monotonic() - self.began), flush=True)


def micro(z):
    return ("gputx", "--tuples", z["tuples"])


def fig3(r, z):  # grouping over the number of types, low and high cost
    grouped, not_grouped = ("SET bulk_group_bits = 16", "SET bulk_group_bits = 0") if r.o.device else ("SET bulk_order = 'any'", "")
    for x, cost in ((LOW, "L"), (HIGH, "H")):
        for types in TYPES:
            p = dict(types=types, x=x)
            r.point(3, micro(z), not_grouped, "not grouped, " + cost, bulk=z["bulk"], strategy="tpl", **p)
            r.point(3, micro(z), grouped, "grouped, " + cost, bulk=z["bulk"], strategy="tpl", **p)
            r.point(3, micro(z), "", "one at a time, " + cost, bulk=z["serial"], strategy="serial", **{**p, "seconds": r.o.seconds / 4})


def fig4(r, z):  # the three strategies over the bulk size
    for bulk in z["bulks"]:
        r.strategies((4, 5) if bulk == z["bulk"] else 4, micro(z), bulk=bulk, x=HIGH)


def fig5(r, z):  # time breakdown: of figure 4's lines
    if 4 not in r.o.wanted:
        r.strategies(5, micro(z), bulk=z["bulk"], x=HIGH)


def fig6(r, z):  # over the skew
    for alpha in (0, 0.0001, 0.001, 0.01, 0.1):
        r.strategies(6, micro(z), bulk=z["bulk"] // 4, x=HIGH, alpha=alpha)


def fig7(r, z):  # the public benchmarks, as multiples of one processor core
    cpu, there = "SET device_strict = off; SET executor = 'auto'; SET device = 'cpu'; SET threads = %d", "; ".join(r.there)
    for name, scale, bulk in (("tm1", z["scales"][len(z["scales"]) // 2], z["bulk"]), ("tpcb", z["tpcb"], z["bulk"]), ("tpcc", z["tpcc"], z["bulk"] // 16)):
        tables = (name, "--scale", scale)
        r.point(7, tables, cpu % 1, "one core, one at a time", bulk=z["serial"], strategy="serial", seconds=r.o.seconds / 4)
        r.point(7, tables, cpu % (r.o.threads or os.cpu_count()), "processors, bulks", bulk=bulk, strategy="auto")
        if r.o.device:
            r.point(7, tables, there, "device, one at a time", bulk=z["serial"], strategy="serial", seconds=r.o.seconds / 4)
            r.point(7, tables, there, "device, bulks", bulk=bulk, strategy="auto")
            r.point(7, tables, there + "; SET bulk_order = 'any'", "device, bulks, any order", bulk=bulk, strategy="auto")


def fig8(r, z):  # TM-1 over the scale factor
    for scale in z["scales"]:
        r.strategies(8, ("tm1", "--scale", scale), bulk=z["bulk"], sql="; ".join(r.there))


def fig9(r, z):  # response time against throughput, TM-1
    r.arrivals(9, ("tm1", "--scale", z["scales"][1]), z["rate_tm1"], 4 * z["bulk"], z["intervals"], "auto")


def fig12(r, z):  # grouping by the number of partitions, x = 32, T = 16
    kernels = "; ".join(r.there or ["SET device = 'cpu'", "SET executor = 'compiled'", "SET device_wait = on"])
    for bits in range(5):
        r.point(12, micro(z), "%s; SET bulk_group_bits = %d" % (kernels, bits), str(1 << bits), types=16, x=32, bulk=z["bulk"], strategy="tpl")


def fig13(r, z):  # PART over the partition size
    for size in (1, 8, 32, 128, 512, 2048, 8192):
        r.point(13, micro(z), "SET bulk_partitions = %d" % max(1, z["tuples"] // size), str(size), x=HIGH, bulk=z["bulk"], strategy="part")


def fig14(r, z):  # the three strategies over the number of tuples
    for tuples in z["cardinality"]:
        r.strategies(14, ("gputx", "--tuples", tuples), bulk=min(256_000, z["bulk"]), x=HIGH)


def fig15(r, z):  # response time against throughput, micro benchmark
    r.arrivals(15, micro(z) + ("--work", HIGH * r.rounds), z["rate_micro"], 4 * z["bulk"], z["intervals"], STRATEGIES)


def fig16(r, z):  # memory transfer, TM-1
    for scale in z["scales"]:
        r.point(16, ("tm1", "--scale", scale), "; ".join(r.there), bulk=z["bulk"], strategy="auto")


def fig17(r, z):  # time breakdown without timestamps
    r.strategies(17, micro(z), sql="SET bulk_order = 'any'", bulk=z["bulk"], x=HIGH)


FIGURES = {3: fig3, 12: fig12, 4: fig4, 5: fig5, 6: fig6, 13: fig13, 17: fig17, 7: fig7, 14: fig14, 8: fig8, 16: fig16, 9: fig9, 15: fig15}
# what is drawn: title, x (axis title, key), series key, y (axis title, function), logarithmic x
RATE = ("million calls/s", lambda l: l["calls_per_second"] / 1e6)
SHARES = (("arguments to the device", "send_share"), ("footprints", "footprint_share"), ("schedule", "schedule_share"), ("room", "reserve_share"), ("execution", "run_share"))
PLOTS = {
    3: ("Grouping by type", ("types T", "types"), lambda l: l["variant"], RATE, True),
    4: ("Strategies over the bulk size", ("calls in a bulk", "bulk_size"), lambda l: l["strategy"], RATE, True),
    5: ("Time breakdown", None, lambda l: l["strategy"], None, False),
    6: ("Strategies over the skew", ("alpha", "alpha"), lambda l: l["strategy"], RATE, False),
    7: ("Public benchmarks", None, lambda l: "%s: %s" % (l["benchmark"], l["variant"]), None, False),
    8: ("TM-1 over the scale factor", ("thousand subscribers", "scale"), lambda l: l["strategy"], RATE, True),
    9: ("TM-1: response time and throughput", ("mean response time, ms", "mean_ms"), lambda l: l["strategy"], RATE, True),
    12: ("Time breakdown over the number of groups, x = 32, T = 16", ("groups", lambda l: int(l["variant"])), lambda l: l["strategy"], None, True),
    13: ("PART over the partition size", ("tuples in a partition", lambda l: int(l["variant"])), lambda l: l["strategy"], RATE, True),
    14: ("Strategies over the number of tuples", ("tuples", "tuples"), lambda l: l["strategy"], RATE, True),
    15: ("Micro benchmark: response time and throughput", ("mean response time, ms", "mean_ms"), lambda l: l["strategy"], RATE, True),
    16: ("TM-1: memory transfer", None, lambda l: "%d" % l["scale"], None, False),
    17: ("Time breakdown without timestamps", None, lambda l: l["strategy"], None, False),
}


def table(head, rows):
    return "\n".join(["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)] + ["| " + " | ".join(r) + " |" for r in rows]) + "\n"


def times_one_at_a_time(lines):
    """By cost and types: grouped bulks against one at a time."""
    rate = {(l["variant"], l["types"]): l["calls_per_second"] for l in lines}
    rows = []
    for types in sorted({l["types"] for l in lines}):
        row = ["%d" % types]
        for cost in ("L", "H"):
            bulk = [rate[k] for k in ((v + ", " + cost, types) for v in ("grouped", "not grouped")) if k in rate]
            one = rate.get(("one at a time, " + cost, types))
            row.append("%.1f" % (max(bulk) / one) if bulk and one else "")
        rows.append(row)
    return table(["types T", "x = 1", "x = 16"], rows)


def elsewhere(l, lines):
    """A line whose calls did not run on the device, among others that did."""
    return " (on the virtual machine)" if l["executor"] == "vm" and any(o["executor"] == "compiled" for o in lines) else ""


def ns_per_call(l, share):
    return l.get(share, 0) * l["seconds_busy"] * 1e9 / l["calls"]  # results of before arguments were sent ahead have fewer shares


def figure_table(number, every):
    title, x, series, y, _ = PLOTS[number]
    out = "## Figure %d: %s\n\n" % (number, title)
    refused, lines = [l for l in every if "refused" in l], [l for l in every if "refused" not in l]
    out += "".join(sorted({"Refused: %s (%s)\n\n" % (l["strategy"], l["refused"]) for l in refused}))
    if number in (5, 17):
        rows = [[series(l) + elsewhere(l, lines), "%.0f" % l["depth"]] + ["%.1f" % ns_per_call(l, k) for _, k in SHARES] + ["%.2f" % RATE[1](l)] for l in lines]
        rows += [[series(l), "refused"] + [""] * (len(SHARES) + 1) for l in refused]
        return out + "Nanoseconds of wall time for each call.\n\n" + table(["", "d"] + [n for n, _ in SHARES] + ["million calls/s"], rows)
    if number == 7:
        rows, base, one = [], {}, {}
        for l in lines:
            base.setdefault(l["benchmark"], l["calls_per_second"])
            if l["variant"] == "device, one at a time":
                one[l["benchmark"]] = l["calls_per_second"]
        for l in lines:
            rate = l["calls_per_second"]
            ratio = "%.1f" % (rate / one[l["benchmark"]]) if l["variant"].startswith("device") and l["benchmark"] in one else ""
            rows.append([l["benchmark"], l["variant"], l["executor"], "%.3f" % RATE[1](l), "%.1f" % (rate / base[l["benchmark"]]), ratio])
        return out + table(["benchmark", "", "executor", "million calls/s", "times the first", "times the device, one at a time"], rows)
    if number == 16:
        rows = [[series(l), l["executor"], "%.1f" % l["image_ms"], "%.1f" % (100 * l["transfer_share"]), "%.2f" % RATE[1](l)] for l in lines]
        return out + table(["thousand subscribers", "executor", "initialization ms", "input and output, % of the time", "million calls/s"], rows)
    get = x[1] if callable(x[1]) else (lambda l: l[x[1]])
    if number == 12:
        rows = [["%d" % get(l), "%.1f" % ns_per_call(l, "schedule_share"), "%.1f" % ns_per_call(l, "run_share"), "%.2f" % RATE[1](l)] for l in lines]
        return out + "Nanoseconds of wall time for each call.\n\n" + table(["groups", "schedule", "execution", "million calls/s"], rows)
    if number in (9, 15):
        rows = [[series(l), "%g" % l["interval_ms"], "%.0f" % l["calls_per_bulk"], "%.3f" % l["mean_ms"], "%.3f" % l["p99_ms"], "%.3f" % RATE[1](l)] for l in lines]
        rows += [[series(l), "refused", "", "", "", ""] for l in refused]
        return out + table(["strategy", "interval ms", "calls in a bulk", "mean ms", "p99 ms", "million calls/s"], rows)
    names = list(dict.fromkeys(series(l) for l in every))
    points = sorted({get(l) for l in every})
    cells = {(series(l), get(l)): "refused" if "refused" in l else "%.3f" % y[1](l) for l in every}
    out += y[0] + "\n\n" + table([x[0]] + names, [["%g" % p] + [cells.get((n, p), "") for n in names] for p in points])
    if number == 3:
        out += "\nBulks as a multiple of one at a time:\n\n" + times_one_at_a_time(lines)
    return out


def draw(number, lines, path, plt):
    title, x, series, y, log = PLOTS[number]
    fig, ax = plt.subplots(figsize=(6, 4))
    names = list(dict.fromkeys(series(l) for l in lines))
    if number == 12:
        at, base = ["%d" % x[1](l) for l in lines], [ns_per_call(l, "schedule_share") for l in lines]
        ax.bar(at, base, label="schedule")
        ax.bar(at, [ns_per_call(l, "run_share") for l in lines], bottom=base, label="execution")
        ax.set_xlabel(x[0])
        ax.set_ylabel("ns per call")
        ax.legend()
    elif number in (5, 17):
        base = [0.0] * len(lines)
        for label, key in SHARES:
            v = [ns_per_call(l, key) for l in lines]
            ax.bar([series(l) for l in lines], v, bottom=base, label=label)
            base = [a + b for a, b in zip(base, v)]
        ax.set_ylabel("ns per call")
        ax.legend()
    elif x is None:
        ax.barh([series(l) for l in lines], [RATE[1](l) if number == 7 else 100 * l["transfer_share"] for l in lines])
        ax.set_xlabel(RATE[0] if number == 7 else "input and output, % of the time")
    else:
        get = x[1] if callable(x[1]) else (lambda l: l[x[1]])
        for n in names:
            mine = sorted((get(l), y[1](l)) for l in lines if series(l) == n)
            ax.plot([p for p, _ in mine], [v for _, v in mine], marker="o", label=n)
        if log:
            ax.set_xscale("log")
        ax.set_ylim(bottom=0)
        ax.set_xlabel(x[0])
        ax.set_ylabel(y[0])
        ax.legend()
    ax.set_title("GPUTx figure %d: %s" % (number, title))
    fig.tight_layout()
    fig.savefig(path)
    plt.close(fig)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--build")
    p.add_argument("--out", required=True)
    p.add_argument("--from", dest="source")
    p.add_argument("--figures", default=",".join(map(str, FIGURES)))
    p.add_argument("--device")
    p.add_argument("--threads", type=int)
    p.add_argument("--size", choices=sorted(SIZES), default="small")
    p.add_argument("--seconds", type=float, default=1.0, help="of each line")
    p.add_argument("--budget", type=float, default=0, help="seconds after which no run is begun")
    p.add_argument("--limit", type=float, default=0, help="seconds for one run of stele-bench")
    o = p.parse_args()
    os.makedirs(o.out, exist_ok=True)
    wanted = o.wanted = [int(f) for f in o.figures.split(",")]
    if o.source:
        with open(o.source) as f:
            result = json.load(f)
    else:
        if not o.build:
            p.error("--build or --from is needed")
        r = Runner(o)
        for f in wanted:
            if f not in (9, 15):  # arrivals are runs of their own
                FIGURES[f](r, SIZES[o.size])
        r.execute()
        for f in (9, 15):
            if f in wanted:
                FIGURES[f](r, SIZES[o.size])
        result = {"size": o.size, "device": o.device or "cpu", "threads": o.threads or os.cpu_count(), "lines": r.lines}
        with open(os.path.join(o.out, "gputx.json"), "w") as f:
            json.dump(result, f, indent=1)
    try:
        import matplotlib
        matplotlib.use("svg")
        import matplotlib.pyplot as plt
    except ImportError:
        plt = None
        print("no plots: matplotlib is not installed")
    text = "# GPUTx's figures: %s, %s sizes, %s threads\n\n" % (result["device"], result["size"], result["threads"])
    for f in sorted(wanted):
        lines = [l for l in result["lines"] if l["figure"] == f]
        if not lines:
            continue
        text += figure_table(f, lines) + "\n"
        lines = [l for l in lines if "refused" not in l]
        if plt and lines:
            draw(f, lines, os.path.join(o.out, "fig%d.svg" % f), plt)
    with open(os.path.join(o.out, "gputx.md"), "w") as f:
        f.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
