#!/usr/bin/env python3
"""Runs everything that CI runs and ends with the line `N passed, N failed`.

Parts: unit tests, the SQL corpus in many configurations, TPC-H answers at scale 0.01, both on the virtual machine and on devices (the system's C
compiler, OpenCL through PoCL), kernels under NVRTC and oclgrind, the differential tests against PostgreSQL, bulks against single calls, the transaction benchmarks with their invariants, the shell's own tests,
installation with examples that are built against it, Debian packages, the Python package, the guide and its examples, short fuzzing.
With --preset asan|tsan: unit tests and corpus of that build. With --quick (`make check`): what finds most in under 4 minutes on 2 cores, for daily work.

Parts run beside each other, one for each processor: most use only one. Compiled kernels are kept under build/cache between configurations and
runs: there are some 2,000 of them.
"""
import argparse
import collections
import concurrent.futures
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

HANG = 3600  # seconds: a part that takes as long hangs; no test depends on how busy the machine is
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PASSED = FAILED = 0

# One corpus, many configurations.
CONFIGS = [
    ("default", []),
    ("one thread", ["--threads", "1"]),
    ("vector 1", ["--set", "vector_size=1"]),
    ("published versions", ["--set", "snapshot=version"]),
    ("vector 3", ["--set", "vector_size=3", "--set", "morsel_rows=7"]),
    ("vector 64", ["--set", "vector_size=64", "--set", "morsel_rows=100"]),
    ("little memory", ["--set", "memory_limit=48MB"]),
    ("tiny memory", ["--set", "memory_limit=24MB"]),
    ("results on disk", ["--set", "result_memory=1", "--set", "vector_size=3"]),
    ("rules off", ["--set", "disabled_rules=constant_folding,predicate_pushdown,outer_join_simplification,join_order,build_side,functional_dependencies,grouping_sets,runtime_filters,common_subexpressions,zone_maps,top_n,or_factoring,dictionary_codes,value_ranges"]),
    ("constant hash", ["--set", "hash_constant=on"]),
    ("baseline instructions", ["--set", "instruction_set=baseline"]),
    ("kept plans", ["--again", "2"]),
    ("tables packed", ["--vacuum", "1"]),
    ("tables patched", ["--vacuum", "changes"]),
    ("tables open", ["--set", "auto_merge=off"]),
    ("recovered from the log", ["--recover", "--set", "synchronous_commit=off", "--set", "log_verify=on"]),
]


# The same on devices. Small: a part of the corpus. Everything runs with device_wait, so that kernels are used as soon as they are asked for.
ALL_FILES, QUERIES, FEW_FILES, FEWER_FILES = range(4)  # QUERIES: what is not about routines, definitions and sessions, of which an interpreter of segments sees nothing
ON_CPU = ["--set", "executor=compiled", "--set", "device=cpu", "--set", "device_wait=on"]
ON_OPENCL = ["--set", "executor=compiled", "--set", "device=opencl:0", "--set", "device_wait=on"]
DEVICE_CONFIGS = [  # name, arguments, files
    ("compiled", ON_CPU, ALL_FILES),
    ("compiled, restarts", [*ON_CPU, "--set", "device_initial_rows=1"], ALL_FILES),
    ("compiled, one thread", [*ON_CPU, "--threads", "1"], FEW_FILES),
    ("compiled, serial", [*ON_CPU, "--set", "device_residence=serial"], FEW_FILES),
    ("compiled, streamed", [*ON_CPU, "--set", "device_residence=streamed"], FEW_FILES),
    ("compiled, little device memory", [*ON_CPU, "--set", "device_memory_limit=1MB"], FEW_FILES),
]
OPENCL_CONFIGS = [
    ("OpenCL, interpreted", ["--set", "executor=interpreted", *ON_OPENCL[2:]], QUERIES),  # one kernel for all: its compiler takes most of the time
    ("OpenCL", ON_OPENCL, FEWER_FILES),
    ("OpenCL, restarts", [*ON_OPENCL, "--set", "device_initial_rows=1"], FEWER_FILES),
]
SMALL = ("select/joins.test", "select/aggregates.test", "select/setops.test", "select/order_limit.test", "errors/sqlstates.test", "errors/data_errors.test", "types/numeric.test", "select/result_cache.test",
         "dml/update_delete.test")
QUADRATIC = ("copy/copy.test", "dml/with_changes.test", "bulk/hoist.test", "bulk/proofs.test", "bulk/merge.test", "bulk/queue_wrong.test", "select/pipelined.test", "session/memory.test",
             "session/system.test")
FEWER = ("types/numeric.test",)  # OpenCL's compiler takes up to two seconds for each statement; TPC-H's queries are compiled by it, too


COUNT_LOCK = threading.Lock()


Cost = collections.namedtuple("Cost", ("seconds", "processor"))  # how long, and the processors' time: what it costs on an idle machine
NOTHING = Cost(0, 0)


def costs(t0, of):
    """Of several commands since t0."""
    return Cost(time.monotonic() - t0, sum(c.processor for c in of))


def count(name, passed, failed, cost, output=""):
    global PASSED, FAILED
    with COUNT_LOCK:
        PASSED += passed
        FAILED += failed
        print(f"  {name:45s} {passed:7d} passed {failed:5d} failed  {cost.seconds:6.1f} s, {cost.processor:6.1f} s of processors", flush=True)
        if failed:
            print("\n".join("      " + line for line in output.strip().splitlines()[-60:]), flush=True)


class Parts:
    """Parts of a run: what is added between two calls of `run` may go beside each other."""

    def __init__(self):
        self.waiting = []

    def add(self, part, *args, **named):
        self.waiting.append((part, args, named))

    def run(self):
        """Ends when all parts have. A part that raises ends the run."""
        with concurrent.futures.ThreadPoolExecutor(max(1, os.cpu_count() or 1)) as pool:
            started = [pool.submit(part, *args, **named) for part, args, named in self.waiting]
            self.waiting = []
            for future in concurrent.futures.as_completed(started):
                future.result()


def run(cmd, env=None):
    """The exit status, what was printed, and the cost: of the command and of all that it has waited for."""
    t0 = time.monotonic()
    with tempfile.TemporaryFile() as out:
        p = subprocess.Popen(cmd, stdout=out, stderr=subprocess.STDOUT, env=env, cwd=ROOT)
        hangs = []
        timer = threading.Timer(HANG, lambda: (hangs.append(True), p.kill()))
        timer.start()
        try:
            _, status, used = os.wait4(p.pid, 0)
        finally:
            timer.cancel()
        p.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        text = out.read().decode("utf-8", "replace")
    if hangs:
        text += f"\nhangs: no end after {HANG} s"
    return p.returncode, text, Cost(time.monotonic() - t0, used.ru_utime + used.ru_stime)


# Kernels that run at the same time and wait for each other: ten times as long beside another part.
ALONE_UNIT = ("test_pipe",)
# Unit tests that take more than 7 s of processor time each, more than half of all together, most of it in compilers: not in --quick. Whoever changes what they test runs them.
SLOW_UNIT = ("test_emit", "test_emit_proc", "test_interp", "test_rank_device", "test_replay")


def unit_program(path, env):
    rc, out, s = run([path], env)
    ok = len(re.findall(r"^\[       OK \]", out, re.M))
    bad = len(set(re.findall(r"^\[  FAILED  \] (\w+)", out, re.M)))
    if rc != 0 and bad == 0:
        bad = 1
    count(os.path.basename(path), ok, bad, s, out)


def unit(parts, build, skip=()):
    for path in sorted(glob.glob(os.path.join(build, "tests", "test_*"))):
        name = os.path.basename(path)
        if os.access(path, os.X_OK) and name not in skip and name not in ALONE_UNIT:
            parts.add(unit_program, path, cache_env(build))


def unit_alone(build):
    for name in ALONE_UNIT:
        unit_program(os.path.join(build, "tests", name), cache_env(build))


def corpus(build, name, args, small=(), env=None):
    """The corpus in one configuration. small: configurations that leave out large tables."""
    use = sorted(glob.glob(os.path.join(ROOT, "tests", "sql", "**", "*.test"), recursive=True))
    if name in ("vector 1", "constant hash", "tables packed", *small):  # quadratic, a vector per row, or packed time and again: not on large tables
        use = [f for f in use if "/big/" not in f]
    if name == "constant hash":  # quadratic, too: 10,000 to 100,000 distinct values
        use = [f for f in use if not f.endswith(QUADRATIC)]
    if name in ("constant hash", "rules off", "tiny memory"):  # 180,000 rows: quadratic; for the last, its tables alone are larger than the limit
        use = [f for f in use if not f.endswith("review_bulk.test")]
    if name == "rules off":  # joins of catalogs as products
        use = [f for f in use if not f.endswith("ddl/catalog_functions.test")]
    if name in ("little memory", "tiny memory"):  # procedures kept prepared, with images of their tables, want 60 MB; levels of recursion more than the stack has
        use = [f for f in use if not f.endswith(("bulk/keys.test", "bulk/recursion.test"))]
    if name == "tiny memory":  # the same: 30 MB; bulks of 50,000 calls; an image of 140,000 rows; a MERGE of 395,000
        use = [f for f in use if not f.endswith(("bulk/again.test", "bulk/part.test", "big/bulk_proofs.test", "ddl/foreign_actions.test"))]
    if name in ("tables packed", "tables patched", "recovered from the log"):  # what shows tablets as they are, and what bulks have of them
        use = [f for f in use if not f.endswith(("session/system.test", "session/memory.test"))]
    if name == "kept plans":  # calls of what changes data or settings cannot be repeated
        use = [f for f in use if "/pl/" not in f and not f.endswith(("bulk/from.test", "bulk/ahead.test", "bulk/undo.test", "bulk/sets.test", "session/set_config.test", "bulk/schemas.test", "ddl/schemas.test", "ddl/sequences.test", "ddl/temporary.test", "ddl/unlogged.test", "bulk/foreign.test", "bulk/decimals.test", "session/advisory.test", "dml/cursors.test", "session/catalog.test"))]
    rc, out, s = run([os.path.join(build, "slt"), *args, *use], env)
    m = re.search(r"(\d+) passed, (\d+) failed\s*$", out)
    ok, bad = (int(m.group(1)), int(m.group(2))) if m else (0, 1)
    if rc != 0 and bad == 0:
        bad = 1
    count("corpus: " + name, ok, bad, s, out)


def cache_env(build, options=""):
    """Where kernels are kept, for all configurations and between runs. options: of the system's compiler, behind ours."""
    env = dict(os.environ)
    if options:
        env["STELE_CC_OPTIONS"] = options
    for name, folder in (("STELE_CACHE_DIR", "code"), ("POCL_CACHE_DIR", "pocl")):
        env[name] = os.path.join(os.path.abspath(build), "cache", folder)
        os.makedirs(env[name], mode=0o700, exist_ok=True)
    return env


def device_corpus(build, configs, env):
    """As corpus(), in one configuration after the other, since most of their kernels are the same and kept. The files are shared out to several
    processes: compilers take most of the time."""
    for name, args, which in configs:
        device_configuration(build, name, args, which, env)


def device_configuration(build, name, args, which, env):
    files = sorted(glob.glob(os.path.join(ROOT, "tests", "sql", "**", "*.test"), recursive=True), key=lambda f: -os.path.getsize(f))
    jobs = max(1, min(os.cpu_count() or 1, 16))
    use = {ALL_FILES: files, QUERIES: [f for f in files if f.split(os.sep)[-2] in ("select", "types", "dml", "big", "errors")], FEW_FILES: [f for f in files if f.endswith(SMALL)], FEWER_FILES: [f for f in files if f.endswith(FEWER)]}[which]
    t0 = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        done = list(pool.map(lambda f: run([os.path.join(build, "slt"), *args, f], env), use))
    ok = bad = 0
    text = []
    for f, (rc, out, _) in zip(use, done):
        m = re.search(r"(\d+) passed, (\d+) failed\s*$", out)
        ok += int(m.group(1)) if m else 0
        lost = int(m.group(2)) if m else 1
        bad += lost or int(rc != 0)
        if rc != 0:
            text.append(out if m else f"{out}\n{f}: ended with {rc}")
    count("corpus: " + name, ok, bad, costs(t0, (c for _, _, c in done)), "\n".join(text))


def has_opencl(build):
    rc, out, _ = run([os.path.join(build, "stele"), "--csv", "-c", "show devices"])
    line = next((x for x in out.splitlines() if x.startswith("opencl:0,")), "")
    return ",ready," in line


# Races that are meant: both lines of a report match one pair (in any order).
RACES = [
    (r"== 0\) \S.* = 1;$", r"== 0\) \S.* = 1;$"),                   # flags that everybody sets to 1
    (r"if \(\(seen & ~\w+\[0\]\) != 0\)", r"KC_ATOMIC\(or_"),         # bits that are only ever set: a stale look costs a needless atomic
    (r"GVOL\(u32, rec\)\[0\] == 0 && ga_xchg_u32", r"KC_ATOMIC\(xchg_"),  # a look before the exchange that decides
    (r"= GVOL\(u64, ", r"atom_cmpxchg"),                             # a look at a slot before the compare-and-swap that decides
    (r"GVOL\(\w+, other \+ ", r"G\(\w+, fresh \+ "),                 # a record is filled before the compare-and-swap that shows it
]


def unexpected(log):
    """oclgrind's reports, without the races that are meant."""
    found = collections.Counter()
    for block in re.split(r"\n(?=Read-write data race|Write-write data race|\S[^\n]*(?:divergen|nvalid|rror|ninitial|nterleav))", log):
        block = block.strip()
        if not block:
            continue
        lines = [x.strip() for x in re.findall(r"At line \d+ \(column \d+\) of input\.cl:\n(.*)", block)]
        if "data race" in block.split("\n")[0] and len(lines) == 2:
            if any(re.search(a, x) and re.search(b, y) for a, b in RACES for x, y in (lines, lines[::-1])):
                continue
            found[block.split("\n")[0].split(" at ")[0] + ": " + " / ".join(lines)] += 1
        else:
            found["\n".join(block.split("\n")[:8])] += 1
    return found


def setup_sql(build, scale):
    """A file that makes and fills TPC-H's tables."""
    data = os.path.join(os.path.abspath(build), "tpch", "sf" + scale)
    sys.path.insert(0, os.path.join(ROOT, "bench", "tpch"))
    import tpch
    tpch.generate(data, scale, sys.executable)
    path = os.path.join(data, "setup.sql")
    with open(path, "w") as f:
        f.write(tpch.schema())
        for t in tpch.TABLES:
            f.write(f"copy {t} from '{os.path.join(data, t + '.tbl')}';\n")
    return path


def nvrtc(what, cmd):
    rc, out, s = run(cmd)
    skipped(what, out) if rc == 77 else tally(what, rc, out, s)


def kernels(parts, build, preset_dir):
    """Generated kernels under NVRTC (all of TPC-H) and oclgrind (a sample)."""
    tool = os.path.join(preset_dir, "kernels")
    small, tiny = setup_sql(build, "0.01"), setup_sql(build, "0.001")
    queries = [os.path.join(ROOT, "bench", "tpch", "queries", f"q{n:02d}.sql") for n in range(1, 23)]
    some = [queries[n - 1] for n in (1, 3, 6, 9, 13, 16, 18, 21)]
    parts.add(oclgrind, "kernels of TPC-H", build, [tool, "oclgrind", tiny, *some])
    parts.add(oclgrind, "ranks of bulks", build, [os.path.join(preset_dir, "tests", "test_rank_device"), "check", "oclgrind", "24"], ["--uniform-writes", "--check-api"])
    parts.add(oclgrind, "pipelines of TPC-H", build, [tool, "--executor", "pipelined", "oclgrind", tiny, queries[4], queries[13]])
    parts.add(nvrtc, "NVRTC: kernels of TPC-H, sm_90", [tool, "nvrtc", "sm_90", small, *queries])
    parts.add(nvrtc, "NVRTC: pipelines of TPC-H, sm_90", [tool, "--executor", "pipelined", "nvrtc", "sm_90", small, *[queries[n - 1] for n in (5, 9, 14)]])
    parts.add(script, "faults of the device, TPC-H", [tool, "faults", "cpu", tiny, *[queries[n - 1] for n in (3, 13, 18)]], cache_env(build))


def oclgrind(what, build, cmd, options=()):
    if not shutil.which("oclgrind"):
        return skipped(f"oclgrind: {what}", "oclgrind is not installed")
    log = os.path.join(build, f"oclgrind-{what.replace(' ', '-')}.log")
    if os.path.exists(log):
        os.remove(log)
    rc, out, s = run(["oclgrind", "--data-races", *options, "--max-errors", "1000000", "--log", log, *cmd])
    if rc == 77:
        return skipped(f"oclgrind: {what}", out)
    tally(f"oclgrind: {what}", rc, out, s)
    with open(log, errors="replace") as f:
        found = unexpected(f.read())
    count(f"oclgrind: {what}, races and divergence", 0 if found else 1, len(found), NOTHING, "\n".join(f"{n} x {x}" for x, n in found.most_common()))


def skipped(name, why):
    print(f"  {name:45s} skipped: {why.strip().removeprefix('skipped: ')}", flush=True)


def script(name, cmd, env=None):
    rc, out, s = run(cmd, env)
    for line in re.findall(r"^skipped: .*", out, re.M):
        skipped(name, line)
    tally(name, rc, out, s)


def tally(name, rc, out, s):
    m = re.search(r"(\d+) passed, (\d+) failed\s*$", out)
    ok, bad = (int(m.group(1)), int(m.group(2))) if m else (0, 1)
    if rc != 0 and bad == 0:
        bad = 1
    count(name, ok, bad, s, out)


def lanes(build, oracle):
    """CUDA kernels, lane by lane on the CPU: tests/lanes."""
    fake = os.path.join(build, "libfake_cuda.so")
    with tempfile.TemporaryDirectory() as tmp:
        env = {**os.environ, "STELE_LIBCUDA": fake, "STELE_NVRTC": fake, "FAKE_CUDA_LANES": os.path.join(ROOT, "tests", "lanes"), "TMPDIR": tmp, "STELE_CACHE_DIR": os.path.join(tmp, "code")}
        os.mkdir(env["STELE_CACHE_DIR"], mode=0o700)
        cuda = "set executor = 'compiled'; set device = 'cuda:0'; set device_wait = on; set bulk_release = 'statement'"
        script("ranks of bulks, CUDA's lanes", [os.path.join(build, "tests", "test_rank_device"), "check", "cuda:0", "3000"], env)
        script("bulk oracle, calls that meet, CUDA's lanes", [*oracle, "--seed", "5", "--calm", "--rounds", "1", "--reduce", "0", "--seconds", "1800", "--set", cuda], env)
        files = []
        for name in ("part", "queue", "parallel_loops"):
            with open(os.path.join(ROOT, "tests", "sql", "bulk", name + ".test")) as f:
                text = f.read()
            assert "device = 'cpu'" in text
            files.append(os.path.join(tmp, name + ".test"))
            with open(files[-1], "w") as f:
                f.write(text.replace("device = 'cpu'", "device = 'cuda:0'"))
        script("partitions, queues, shared loops, CUDA's lanes", [os.path.join(build, "slt"), *files], env)
        with open(os.path.join(tmp, "bulks")) as f:  # a bulk goes on without its device when that cannot be used
            ran = len(f.readlines())
        count("... that ran kernels", int(ran >= 2), int(ran < 2), NOTHING, f"processes with launches of calls: {ran}")  # the oracle's and slt


# The transaction benchmarks, small and with keys that calls meet at: arguments.
OLTP = [("tpcc", "--scale", "1", "--bulk", "1k,2k"), ("tpcc", "--scale", "2", "--bulk", "2k"), ("tpcb", "--scale", "1", "--bulk", "1k,4k"), ("smallbank", "--scale", "1", "--skew", "0.9", "--bulk", "1k,4k"),
        ("tm1", "--scale", "1", "--bulk", "1k,4k"), *(("ycsb", "--workload", w, "--scale", "1", "--skew", "0.99", "--bulk", "2k") for w in "ADEF")]


def oltp(build, env, executor, order, strategies, device="cpu", benchmarks=OLTP):
    """A line that ran where it was asked to is a test, and so is an invariant."""
    ok = bad = 0
    t0, text, used = time.monotonic(), [], []
    for args in benchmarks:
        with tempfile.TemporaryDirectory() as tmp:
            path = os.path.join(tmp, "oltp.json")
            rc, out, cost = run([os.path.join(build, "stele-bench"), *args, "--seconds", "0.1", "--strategies", strategies, "--json", path,
                              "--set", f"set device = '{device}'; set executor = '{executor}'; set device_wait = on; set bulk_order = '{order}'"], env)
            used.append(cost)
            lines = []
            if os.path.exists(path):
                with open(path) as f:
                    lines = json.load(f)["results"]
        held = re.search(r"^  (\d+) invariants? holds?, (\d+) broken$", out, re.M)
        wanted = len(strategies.split(",")) * len(args[-1].split(","))
        there = sum(line["executor"] == executor and line["calls"] > 0 for line in lines)
        lost = (int(held.group(2)) if held else 1) + wanted - there
        ok += (int(held.group(1)) if held else 0) + there
        bad += lost or int(rc != 0)
        if lost or rc:
            text.append(f"{' '.join(args)}, {executor}, order {order}: exit status {rc}, {there} of {wanted} lines\n{out}")
    count(f"transactions: {executor}, order {order}", ok, bad, costs(t0, used), "\n".join(text))


COPIES = "set executor = 'compiled'; set device = 'cpu'; set device_wait = on; set bulk_copies = on; set bulk_slice_calls = 100"
# The same with connections beside them that look at the invariants, and with others that run calls by SQL.
BESIDE = [("tpcc", "--bulk", "500", "--readers", "3", "--callers", "2", "--set", "set bulk_slice_calls = 50"), ("tpcc", "--bulk", "20", "--pool", "20", "--readers", "2", "--callers", "2"),
          ("tpcc", "--bulk", "1k", "--readers", "1", "--set", COPIES), ("tpcb", "--bulk", "2k", "--readers", "2", "--callers", "2", "--set", COPIES),
          ("tpcb", "--bulk", "2k", "--readers", "2", "--callers", "2", "--set", "set bulk_slice_calls = 100"), ("smallbank", "--bulk", "1k", "--readers", "2", "--callers", "2", "--set", COPIES)]


def beside(build, env):
    """A run in which no look of a reader went wrong is a test, and so is an invariant. Every reader goes through all of them twice at least."""
    ok = bad = 0
    t0, text, used = time.monotonic(), [], []
    for args in BESIDE:
        rc, out, cost = run([os.path.join(build, "stele-bench"), *args, "--scale", "1", "--seconds", "0.1"], env)
        used.append(cost)
        looks = re.search(r"^  beside: (\d+) looks by readers;.* (\d+) connections? went wrong$", out, re.M)
        held = re.search(r"^  (\d+) invariants? holds?, (\d+) broken$", out, re.M)
        ok += int(looks is not None) + (int(held.group(1)) if held else 0)
        lost = (int(looks.group(2)) if looks and int(looks.group(1)) > 0 else 1) + (int(held.group(2)) if held else 1)
        bad += lost or int(rc != 0)
        if lost or rc:
            text.append(f"{' '.join(args)}: exit status {rc}\n{out}")
    count("transactions: readers and callers beside", ok, bad, costs(t0, used), "\n".join(text))


def quick(parts, o, build):
    """Each part for what it finds: the corpus where vectors end in the middle of things, where all spills, and where the optimiser does nothing; a few rounds of each random test."""
    py, env = sys.executable, cache_env(o.build)
    compiled = "set executor = 'compiled'; set device = 'cpu'; set device_wait = on"
    for name, args in CONFIGS:
        if name in ("default", "vector 3", "tiny memory", "rules off"):
            parts.add(corpus, build, name, args, small=("rules off",))
    unit(parts, build, SLOW_UNIT)
    parts.add(device_corpus, build, [("compiled", ON_CPU, FEW_FILES)], env)
    parts.add(script, "bulk oracle", [py, "tests/bulk/oracle.py", "--build", o.build, "--seed", "7000", "--rounds", "40", "--seconds", "1800"])
    parts.add(script, "bulk oracle, recovered", [py, "tests/bulk/oracle.py", "--build", o.build, "--seed", "500", "--rounds", "12", "--seconds", "1800", "--recover",
                                                 os.path.join(o.build, "oracle-recover")])
    parts.add(script, "bulk oracle, kernels on cpu", [py, "tests/bulk/oracle.py", "--build", o.build, "--seed", "1", "--rounds", "3", "--seconds", "1800", "--set", compiled], env)
    parts.add(script, "against PostgreSQL", [py, "tests/diff/diff.py", "--build", o.build, "--seed", "7000", "--rounds", "30"])
    parts.add(script, "transactions against PostgreSQL", [py, "tests/diff/transactions.py", "--build", o.build, "--seed", "1", "--rounds", "8", "--seconds", "1800"])
    parts.add(script, "PL/pgSQL against PostgreSQL", [py, "tests/diff/pl.py", "--build", o.build, "--seed", "5000", "--rounds", "40", "--seconds", "1800"])
    shell(parts, o, py)


# Tests that are programs of their own, the longest first.
PROGRAMS = [
    ("install, examples", "tests/install/test_install.py"),
    ("Python package", "python/tests/test_stele.py"),
    ("guide", "tests/guide/test_guide.py"),
    ("ADBC", "python/tests/test_adbc.py"),
    ("what install-deps.sh installs", "tests/install/test_deps.py"),
    ("csv files", "tests/csv/test_sniff.py"),
    ("Parquet and Arrow files", "tests/files/test_files.py"),
    ("shell", "tests/shell/test_shell.py"),
    ("redo log: killed", "tests/crash/kill.py"),
    ("shell: scripts", "tests/shell/test_scripts.py"),
    ("shell: dump", "tests/shell/test_dump.py"),
    ("shell: restore", "tests/shell/test_restore.py"),
    ("shell: check and log", "tests/shell/test_inspect.py"),
    ("shell: doctor", "tests/shell/test_doctor.py"),
    ("shell on a terminal", "tests/shell/test_terminal.py"),
]


def shell(parts, o, py):
    for name, path in PROGRAMS:
        parts.add(script, name, [py, path, "--build", o.build])


def sanitized(parts, o, build):
    """Unit tests and a part of the corpus in a build with a sanitizer."""
    unit(parts, build)
    for name, args in CONFIGS:
        if name in ("default", "vector 3", "little memory"):
            parts.add(corpus, build, name, args)
    oracle = [sys.executable, "tests/bulk/oracle.py", "--build", o.build, "--driver", os.path.join(build, "bulk_oracle")]
    parts.add(script, "bulk oracle", [*oracle, "--seed", "1", "--seconds", "60"])
    parts.add(script, "bulk oracle, large bulks", [*oracle, "--seed", "1", "--big", "1500", "--seconds", "30"])
    if o.preset != "asan":
        return
    env = {**cache_env(o.build), "STELE_CC_OPTIONS": "-O1 -g0"}  # kernels are checked as the library is
    parts.add(device_corpus, build, [("compiled, with kernels checked", ON_CPU, FEW_FILES), ("compiled, restarts", [*ON_CPU, "--set", "device_initial_rows=1"], FEW_FILES)], env)
    if os.path.exists(os.path.join(o.build, "tpch", "sf0.001", ".complete")):  # made by `make test`
        query = os.path.join(ROOT, "bench", "tpch", "queries", "q03.sql")
        parts.add(script, "faults of the device, TPC-H", [os.path.join(build, "kernels"), "faults", "cpu", setup_sql(o.build, "0.001"), query], cache_env(o.build))


def oracles(parts, o, env, devices):
    """Bulks against single calls. A number of rounds, so that the same are run whatever the machine does besides."""
    py = sys.executable
    oracle = [py, "tests/bulk/oracle.py", "--build", o.build, "--seconds", "1800"]
    by_statement = "set executor = 'compiled'; set device = 'cpu'; set device_wait = on; set bulk_copies = on; set bulk_release = 'statement'"
    parts.add(script, "bulk oracle", [*oracle, "--seed", "1", "--rounds", "120"])
    parts.add(script, "bulk oracle, large bulks", [*oracle, "--seed", "1", "--big", "1500", "--rounds", "10"])
    parts.add(script, "bulk oracle, slices", [*oracle, "--seed", "500", "--rounds", "20", "--set", "set bulk_slice_calls = 7"])
    parts.add(script, "bulks on cpu against PostgreSQL", [py, "tests/bulk/postgres.py", "--build", o.build, "--seed", "1000", "--rounds", "10", "--seconds", "1800", "--devices", "cpu"], env)
    for device, rounds in devices:
        parts.add(script, f"bulk oracle, kernels on {device}",
                  [*oracle, "--seed", "1", "--rounds", rounds, "--set", f"set executor = 'compiled'; set device = '{device}'; set device_wait = on"], env)
    parts.add(script, "bulk oracle, locks by statement", [*oracle, "--seed", "2", "--rounds", "6", "--set", by_statement], env)
    parts.add(script, "bulk oracle, calls that meet", [*oracle, "--seed", "5", "--calm", "--big", "800", "--rounds", "6", "--set", by_statement], env)
    parts.add(script, "bulk oracle, failures time and again", [*oracle, "--seed", "31", "--big", "5000", "--rounds", "1", "--set", by_statement], env)
    parts.add(lanes, build_dir(o), [py, "tests/bulk/oracle.py", "--build", o.build])


def build_dir(o):
    return os.path.join(os.path.abspath(o.build), o.preset)


def everything(parts, o, build):
    """The longest parts first, so that no processor waits at the end."""
    py, env = sys.executable, cache_env(o.build)
    fast = cache_env(o.build, "-O1")  # thousands of kernels for a few rows each; TPC-H and the transaction benchmarks run what users run
    opencl = has_opencl(build)
    kernels(parts, o.build, build)
    oracles(parts, o, fast, [("cpu", "10")] + [("opencl:0", "2")] * opencl)
    if opencl:
        parts.add(device_corpus, build, OPENCL_CONFIGS, env)
    else:
        skipped("corpus: OpenCL", "SHOW devices has no opencl:0 that is ready")
    parts.add(device_corpus, build, DEVICE_CONFIGS, fast)
    parts.add(script, "against PostgreSQL", [py, "tests/diff/diff.py", "--build", o.build, "--seed", "1", "--rounds", "180"])  # 20,000 statements
    parts.add(script, "transactions against PostgreSQL", [py, "tests/diff/transactions.py", "--build", o.build, "--seed", "7000", "--rounds", "20", "--seconds", "1800"])
    parts.add(script, "transactions on versions, against PostgreSQL", [py, "tests/diff/transactions.py", "--snapshot", "version", "--build", o.build, "--seed", "9000", "--rounds", "20", "--seconds", "1800"])
    parts.add(script, "transactions that meet, against PostgreSQL", [py, "tests/diff/transactions.py", "--meet", "--build", o.build, "--seed", "7000", "--rounds", "6", "--statements", "100"])
    for executor in ("vm", "compiled"):
        for order in ("timestamp", "any"):
            parts.add(oltp, build, env, executor, order, "kset,tpl,part")
    unit(parts, build)
    for name, args in CONFIGS:  # behind those on devices, whose kernels they find: by default they are compiled beside execution
        parts.add(corpus, build, name, args, env=fast)
    parts.add(beside, build, env)
    parts.add(script, "fuzz", ["tests/fuzz/run.sh", os.path.abspath(o.build), "20"])
    parts.add(script, "PL/pgSQL against PostgreSQL", [py, "tests/diff/pl.py", "--build", o.build, "--seed", "5000", "--seconds", "15"])
    parts.add(script, "numeric against PostgreSQL", [py, "tests/diff/numeric.py", "--build", o.build, "--seconds", "3"])
    parts.add(script, "json against PostgreSQL", [py, "tests/diff/documents.py", "--build", o.build, "--seconds", "2"])
    parts.add(script, "TPC-H answers, scale 0.01", [py, "tests/tpch/check.py", "--build", o.build])
    parts.add(script, "TPC-H answers, compiled", [py, "tests/tpch/check.py", "--build", o.build, "--devices", "cpu"], env)
    parts.add(script, "TPC-H answers, OpenCL", [py, "tests/tpch/check.py", "--build", o.build, "--devices", "opencl:0"], env)
    parts.add(script, "CH-benCHmark answers", [py, "tests/ch/check.py", "--build", o.build])
    parts.add(script, "CH-benCHmark answers, compiled", [py, "tests/ch/check.py", "--build", o.build, "--devices", "cpu"], env)
    parts.add(script, "CH-benCHmark, snapshots beside calls", [os.path.join(build, "stele-bench"), "ch", "--scale", "1", "--calls", "300", "--snapshots", "3"], env)
    parts.add(script, "bulks on copies", [os.path.join(build, "slt"), *ON_CPU, "--set", "bulk_copies=on", *sorted(glob.glob("tests/sql/bulk/*.test"))], fast)
    shell(parts, o, py)
    parts.run()
    script("Debian packages", [py, "tests/install/test_deb.py", "--build", o.build])  # configures the build anew, as the one before does


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--build", default="build")
    a.add_argument("--preset", default="release")
    a.add_argument("--quick", action="store_true")
    o = a.parse_args()
    build = build_dir(o)
    parts = Parts()
    if o.preset == "release":
        parts.add(script, "lint", [sys.executable, "tools/lint.py"])
    unit_alone(build)
    if o.quick:
        quick(parts, o, build)
    elif o.preset != "release":
        sanitized(parts, o, build)
    else:
        everything(parts, o, build)
    parts.run()
    return done()


def done():
    print(f"{PASSED} passed, {FAILED} failed")
    return 1 if FAILED else 0


if __name__ == "__main__":
    sys.exit(main())
