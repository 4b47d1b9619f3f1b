#!/usr/bin/env python3
"""The figures of GPUTx [§6, App. F, G] with this system: runs stele-bench over the paper's parameters and writes tables, and plots where matplotlib is installed.

  bench/oltp/figures.py --build DIR --out DIR [--figures 3,4,..] [--device cuda:0] [--threads N] [--size small|paper] [--seconds S] [--budget S]
  bench/oltp/figures.py --from FILE.json --out DIR     tables and plots of an earlier run

Writes OUT/gputx.json (every line that stele-bench measured, with the figure it belongs to), OUT/gputx.md and OUT/figN.svg. With --device calls run as kernels there
and, as the paper's baseline, one at a time; without, on this machine's processors. `small` sizes fit a laptop; `paper` are the paper's.

Where this system differs: grouping by type (figure 3) is TPL with the calls of a procedure together (bulk_order = any) against the order of arrival. There is no
figure 12, because grouping is one pass here, with one class for each procedure. Partitions (figure 13) are made of items' names, not of ranges of keys.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

SIZES = {
    # tuples of the micro benchmark, bulk sizes, largest bulk, scale factors of TM-1 (thousand subscribers), arrivals a second
    "small": dict(tuples=1_000_000, bulks=[1_000, 4_000, 16_000, 64_000, 256_000], bulk=256_000, scales=[10, 100, 1000], rate_tm1=1_000_000, rate_micro=400_000, cardinality=[1_000, 10_000, 100_000, 1_000_000]),
    "paper": dict(tuples=8_000_000, bulks=[16_000, 64_000, 256_000, 1_000_000, 4_000_000], bulk=1_000_000, scales=[1000, 2000, 5000, 10000], rate_tm1=10_000_000, rate_micro=40_000_000,
                  cardinality=[10_000, 100_000, 1_000_000, 8_000_000, 16_000_000]),
}
THREE = "kset,tpl,part"


class Runner:
    def __init__(self, o):
        self.o, self.lines, self.began = o, [], time.monotonic()
        self.base = ["SET device = '%s'" % o.device, "SET executor = 'compiled'", "SET device_wait = on"] if o.device else []

    def bench(self, figure, name, *args, variants=None, **point):
        """Runs `stele-bench name`; each line gets the figure and the parameters of `point`."""
        if self.o.budget and time.monotonic() - self.began > self.o.budget:
            print("figure %s: left out, %d s are over" % (figure, self.o.budget))
            return
        sets = list(self.base)
        with tempfile.TemporaryDirectory() as d:
            path = os.path.join(d, "lines.json")
            cmd = [os.path.join(self.o.build, "stele-bench"), name, "--json", path, "--seconds", str(self.o.seconds)] + [str(a) for a in args]
            if self.o.threads and "--threads" not in cmd:
                cmd += ["--threads", str(self.o.threads)]
            if sets:
                cmd += ["--set", "; ".join(sets)]
            for label, sql in variants or []:
                cmd += ["--variant", label + "=" + sql]
            done = subprocess.run(cmd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            if done.returncode:
                print("figure %s: %s" % (figure, done.stdout.strip().splitlines()[-1][:200]))
                return
            with open(path) as f:
                result = json.load(f)
        for line in result["results"]:
            self.lines.append(dict(line, figure=figure, **point))
        print("figure %s: %s %s: %d lines" % (figure, name, " ".join(map(str, args)), len(result["results"])), flush=True)


def micro(r, figure, *args, **kw):
    r.bench(figure, "gputx", *args, **kw)


def fig3(r, z):  # grouping over the number of types, low and high cost
    for work, cost in ((1, "L"), (16, "H")):
        for types in (1, 2, 4, 8, 16):
            micro(r, 3, "--types", types, "--work", work, "--tuples", z["tuples"], "--bulk", z["bulk"], "--strategies", "tpl",
                  variants=[("grouped", "SET bulk_order = 'any'"), ("not grouped", "SET bulk_order = 'timestamp'")], cost=cost)


def fig4(r, z):  # the three strategies over the bulk size
    micro(r, 4, "--work", 16, "--tuples", z["tuples"], "--bulk", ",".join(map(str, z["bulks"])), "--strategies", THREE)


def fig5(r, z):  # time breakdown
    micro(r, 5, "--work", 16, "--tuples", z["tuples"], "--bulk", z["bulk"], "--strategies", THREE)


def fig6(r, z):  # over the skew
    for alpha in (0, 0.0001, 0.001, 0.01, 0.1):
        micro(r, 6, "--work", 16, "--tuples", z["tuples"], "--bulk", z["bulk"] // 4, "--alpha", alpha, "--strategies", THREE)


def fig7(r, z):  # the public benchmarks, as multiples of one processor core
    for name, scale, bulk in (("tm1", z["scales"][-1] // 2, z["bulk"]), ("tpcb", 128, z["bulk"]), ("tpcc", 8, z["bulk"] // 16)):
        cpu = "SET executor = 'auto'; SET device = 'cpu'"
        r.bench(7, name, "--scale", scale, "--bulk", 4000, "--strategies", "serial", variants=[("one core, one at a time", cpu + "; SET threads = 1")])
        r.bench(7, name, "--scale", scale, "--bulk", bulk, "--strategies", "auto", variants=[("processors, bulks", cpu)] + ([("device, bulks", "; ".join(r.base))] if r.o.device else []))


def fig8(r, z):  # TM-1 over the scale factor
    for scale in z["scales"]:
        r.bench(8, "tm1", "--scale", scale, "--bulk", z["bulk"], "--strategies", THREE)


def fig9(r, z):  # response time against throughput, TM-1
    r.bench(9, "tm1", "--scale", z["scales"][1], "--bulk", 4 * z["bulk"], "--arrival", z["rate_tm1"], "--interval", "0.2,0.5,1,2,5,10,20,50,100", "--strategies", "auto")


def fig13(r, z):  # PART over the partition size
    micro(r, 13, "--work", 16, "--tuples", z["tuples"], "--bulk", z["bulk"], "--strategies", "part",
          variants=[("%d" % size, "SET bulk_partitions = %d" % max(1, z["tuples"] // size)) for size in (1, 8, 32, 128, 512, 2048, 8192)])


def fig14(r, z):  # the three strategies over the number of tuples
    for tuples in z["cardinality"]:
        micro(r, 14, "--work", 16, "--tuples", tuples, "--bulk", 256000, "--strategies", THREE)


def fig15(r, z):  # response time against throughput, micro benchmark
    micro(r, 15, "--work", 16, "--tuples", z["tuples"], "--bulk", 4 * z["bulk"], "--arrival", z["rate_micro"], "--interval", "0.2,0.5,1,2,5,10,20,50,100", "--strategies", THREE)


def fig16(r, z):  # memory transfer, TM-1
    for scale in z["scales"]:
        r.bench(16, "tm1", "--scale", scale, "--bulk", z["bulk"], "--strategies", "auto")


def fig17(r, z):  # time breakdown without timestamps
    micro(r, 17, "--work", 16, "--tuples", z["tuples"], "--bulk", z["bulk"], "--strategies", THREE, variants=[("any order", "SET bulk_order = 'any'")])


FIGURES = {3: fig3, 4: fig4, 5: fig5, 6: fig6, 7: fig7, 8: fig8, 9: fig9, 13: fig13, 14: fig14, 15: fig15, 16: fig16, 17: fig17}
# what is drawn: title, x (axis title, key), series key, y (axis title, function), logarithmic x
RATE = ("million calls/s", lambda l: l["calls_per_second"] / 1e6)
SHARES = (("footprints", "footprint_share"), ("schedule", "schedule_share"), ("room", "reserve_share"), ("execution", "run_share"))
PLOTS = {
    3: ("Grouping by type", ("types T", "types"), lambda l: "%s, %s" % (l["variant"], l["cost"]), RATE, True),
    4: ("Strategies over the bulk size", ("calls in a bulk", "bulk_size"), lambda l: l["strategy"], RATE, True),
    5: ("Time breakdown", None, lambda l: l["strategy"], None, False),
    6: ("Strategies over the skew", ("alpha", "alpha"), lambda l: l["strategy"], RATE, False),
    7: ("Public benchmarks", None, lambda l: "%s: %s" % (l["benchmark"], l["variant"]), None, False),
    8: ("TM-1 over the scale factor", ("thousand subscribers", "scale"), lambda l: l["strategy"], RATE, True),
    9: ("TM-1: response time and throughput", ("mean response time, ms", "mean_ms"), lambda l: l["strategy"], RATE, True),
    13: ("PART over the partition size", ("tuples in a partition", lambda l: int(l["variant"])), lambda l: l["strategy"], RATE, True),
    14: ("Strategies over the number of tuples", ("tuples", "tuples"), lambda l: l["strategy"], RATE, True),
    15: ("Micro benchmark: response time and throughput", ("mean response time, ms", "mean_ms"), lambda l: l["strategy"], RATE, True),
    16: ("TM-1: memory transfer", None, lambda l: "%d" % l["scale"], None, False),
    17: ("Time breakdown without timestamps", None, lambda l: l["strategy"], None, False),
}


def table(head, rows):
    return "\n".join(["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)] + ["| " + " | ".join(r) + " |" for r in rows]) + "\n"


def ns_per_call(l, share):
    return l[share] * l["seconds_busy"] * 1e9 / l["calls"]


def figure_table(number, lines):
    title, x, series, y, _ = PLOTS[number]
    out = "## Figure %d: %s\n\n" % (number, title)
    if number in (5, 17):
        rows = [[series(l), "%.0f" % l["depth"]] + ["%.1f" % ns_per_call(l, k) for _, k in SHARES] + ["%.2f" % RATE[1](l)] for l in lines]
        return out + "Nanoseconds of wall time for each call.\n\n" + table(["", "d"] + [n for n, _ in SHARES] + ["million calls/s"], rows)
    if number == 7:
        rows, base = [], {}
        for l in lines:
            base.setdefault(l["benchmark"], l["calls_per_second"])
            rows.append([l["benchmark"], l["variant"], l["executor"], "%.3f" % RATE[1](l), "%.1f" % (l["calls_per_second"] / base[l["benchmark"]])])
        return out + table(["benchmark", "", "executor", "million calls/s", "times the first"], rows)
    if number == 16:
        rows = [[series(l), l["executor"], "%.1f" % l["image_ms"], "%.1f" % (100 * l["transfer_share"]), "%.2f" % RATE[1](l)] for l in lines]
        return out + table(["thousand subscribers", "executor", "initialization ms", "input and output, % of the time", "million calls/s"], rows)
    get = x[1] if callable(x[1]) else (lambda l: l[x[1]])
    if number in (9, 15):
        rows = [[series(l), "%g" % l["interval_ms"], "%.0f" % l["calls_per_bulk"], "%.3f" % l["mean_ms"], "%.3f" % l["p99_ms"], "%.3f" % RATE[1](l)] for l in lines]
        return out + table(["strategy", "interval ms", "calls in a bulk", "mean ms", "p99 ms", "million calls/s"], rows)
    names = list(dict.fromkeys(series(l) for l in lines))
    points = list(dict.fromkeys(get(l) for l in lines))
    cells = {(series(l), get(l)): "%.3f" % y[1](l) for l in lines}
    return out + y[0] + "\n\n" + table([x[0]] + names, [["%g" % p] + [cells.get((n, p), "") for n in names] for p in points])


def draw(number, lines, path, plt):
    title, x, series, y, log = PLOTS[number]
    fig, ax = plt.subplots(figsize=(6, 4))
    names = list(dict.fromkeys(series(l) for l in lines))
    if number in (5, 17):
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
    o = p.parse_args()
    os.makedirs(o.out, exist_ok=True)
    wanted = [int(f) for f in o.figures.split(",")]
    if o.source:
        with open(o.source) as f:
            result = json.load(f)
    else:
        if not o.build:
            p.error("--build or --from is needed")
        r = Runner(o)
        for f in wanted:
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
    for f in wanted:
        lines = [l for l in result["lines"] if l["figure"] == f]
        if not lines:
            continue
        text += figure_table(f, lines) + "\n"
        if plt:
            draw(f, lines, os.path.join(o.out, "fig%d.svg" % f), plt)
    with open(os.path.join(o.out, "gputx.md"), "w") as f:
        f.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
